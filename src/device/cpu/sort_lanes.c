/* sort_lanes.c: short rows sorted side by side: a sorting network, one row in each SIMD lane.
 *
 * A batch of rows is transposed to 64 bytes of lanes for each position in a row. A compare-exchange of two positions is a
 * minimum and a maximum of all lanes: no branch and no address depends on values. The network is Batcher's odd-even
 * mergesort; for the first k it sorts blocks and keeps the least of each and of those so far, which are bitonic then; or
 * selects them one by one: what has the fewest compare-exchanges. Keys are those of sort.c, as wide as the
 * element. With indices, the index stands below the key in a wider word, or beside a key of 64 bits in lanes of its own.
 * NaN and -0 share a key with others: where a row has some, they are copied from it again, in its order.
 * With AVX-512, rows are transposed and positions sorted in registers (sort_registers.c).
 * Tests: tests/unit/call.c; speed: bench/sort.c */
#include "device/cpu/internal.h"

#define VECTOR 64 /* bytes of lanes for one position: rows of a batch, at most */
#ifdef __clang__
#define VECTORIZED _Pragma("clang loop unroll(disable) vectorize(enable)")
#else
#define VECTORIZED
#endif
#define UNROLLED _Pragma("GCC unroll 16")
#define LANES(W) ((uint32_t)(VECTOR / sizeof(W)))

/* Vectors as wide as registers: compilers have comparisons of them everywhere. */
#define VECTORS(suffix, BYTES)                                                                         \
    typedef uint8_t vec_uint8_t##suffix __attribute__((vector_size(BYTES), aligned(16), may_alias));   \
    typedef uint16_t vec_uint16_t##suffix __attribute__((vector_size(BYTES), aligned(16), may_alias)); \
    typedef uint32_t vec_uint32_t##suffix __attribute__((vector_size(BYTES), aligned(16), may_alias)); \
    typedef uint64_t vec_uint64_t##suffix __attribute__((vector_size(BYTES), aligned(16), may_alias));
#define EACH_VECTOR                                           \
    for (uint32_t i = 0; i < n; i++, v += VECTOR / sizeof *v) \
    UNROLLED for (uint32_t l = 0; l < VECTOR / sizeof *v; l++)

/* Positions i and i + q of a stage, which are in one run of 2p; both are powers of two. */
#define EACH_PAIR                                         \
    for (uint32_t j = q & (p - 1); j + q < n; j += 2 * q) \
        if (!((j ^ (j + q)) & -(2 * p)))                  \
            for (uint32_t i = j; i < RG_MIN(j + q, n - q); i++)

/* Elements in lanes of W to words of key and index, and keys back to elements. A lane of `again` counts NaN and -0. */
#define KEYS(W, TARGET, suffix)                                                                            \
    TARGET static void keys_##W##suffix(void *lanes, uint32_t n, const struct key_form *f, void *again) {  \
        typedef vec_##W##suffix vec;                                                                       \
        W top = (W)f->top, inf = (W)f->inf, turn = (W)(top ^ f->flip), rest = inf ? (W)(f->all ^ top) : 0; \
        W last = (W)(f->all ^ f->flip), zero = turn, low = (W)f->low, below = low != 0;                    \
        vec *v = lanes, some[VECTOR / sizeof(vec)] = {0}; /* not in memory, where they are a chain */      \
        if (!inf) {                                                                                        \
            EACH_VECTOR v[l] = (v[l] ^ turn) << low | (W)((W)i * below);                                   \
            return;                                                                                        \
        }                                                                                                  \
        EACH_VECTOR {                                                                                      \
            vec x = v[l], mag = x & (W)(top - 1), nan = (vec)(mag > inf), less = (vec)(x == top);          \
            vec key = x ^ ((vec)((x & top) != 0) & rest) ^ turn;                                           \
            key = (key & ~(nan | less)) | (nan & last) | (less & zero);                                    \
            some[l] |= nan | less;                                                                         \
            v[l] = key << low | (W)((W)i * below);                                                         \
        }                                                                                                  \
        memcpy(again, some, sizeof some);                                                                  \
    }                                                                                                      \
    TARGET static void elements_##W##suffix(void *lanes, uint32_t n, const struct key_form *f) {           \
        typedef vec_##W##suffix vec;                                                                       \
        W top = (W)f->top, rest = f->inf ? (W)(f->all ^ f->top) : 0, flip = (W)f->flip;                    \
        vec *v = lanes;                                                                                    \
        EACH_VECTOR {                                                                                      \
            vec x = v[l] ^ (W)(flip ^ top);                                                                \
            v[l] = x ^ ((vec)((x & top) != 0) & rest);                                                     \
        }                                                                                                  \
    }

/* A stage of the network on n positions, `all` in front of indices; the least of positions i below p and of those from `block` to
 * `end`, which fill it up from its end; and a selection. */
#define STAGES(name, W, TARGET, suffix)                                                                      \
    TARGET static void stage_##name##suffix(void *lanes, uint32_t n, uint32_t all, uint32_t p, uint32_t q) { \
        W *v = lanes;                                                                                        \
        EACH_PAIR exchange_##name##suffix(v + i * LANES(W), v + (i + q) * LANES(W), all * LANES(W));         \
    }                                                                                                        \
    TARGET static void fold_##name##suffix(void *lanes, uint32_t p, uint32_t block, uint32_t end,            \
                                           uint32_t all) {                                                   \
        W *v = lanes;                                                                                        \
        for (uint32_t i = block; i < end; i++)                                                               \
            exchange_##name##suffix(v + (p - 1 - (i - block)) * LANES(W), v + i * LANES(W), all * LANES(W)); \
    }                                                                                                        \
    TARGET static void select_##name##suffix(void *lanes, uint32_t n, uint32_t k) {                          \
        W *v = lanes;                                                                                        \
        for (uint32_t j = 0; j < k; j++)                                                                     \
            for (uint32_t i = j + 1; i < n; i++)                                                             \
                exchange_##name##suffix(v + j * LANES(W), v + i * LANES(W), n * LANES(W));                   \
    }
#define NETWORK(W, TARGET, suffix, PARTS)                                                 \
    KEYS(W, TARGET, suffix)                                                               \
    TARGET static inline void least_first_##W##suffix(W *restrict a, W *restrict b) {     \
        VECTORIZED for (uint32_t l = 0; l < LANES(W) / PARTS; l++) {                      \
            W x = a[l], y = b[l];                                                         \
            a[l] = x < y ? x : y;                                                         \
            b[l] = x < y ? y : x;                                                         \
        }                                                                                 \
    }                                                                                     \
    TARGET static inline void exchange_##W##suffix(W *a, W *b, uint32_t all) {            \
        (void)all;                                                                        \
        _Pragma("GCC unroll 4") for (uint32_t l = 0; l < LANES(W); l += LANES(W) / PARTS) \
            least_first_##W##suffix(a + l, b + l);                                        \
    }                                                                                     \
    STAGES(W, W, TARGET, suffix)

/* Keys of 64 bits; their indices stand behind all keys. */
#define PAIRS(TARGET, suffix)                                                                     \
    TARGET static inline void exchange_pair##suffix(void *a, void *b, uint32_t all) {             \
        typedef vec_uint64_t##suffix vec;                                                         \
        vec *x = a, *y = b, *i = (vec *)((uint64_t *)a + all), *j = (vec *)((uint64_t *)b + all); \
        for (uint32_t l = 0; l < VECTOR / sizeof *x; l++) {                                       \
            vec swap = (vec)(x[l] > y[l]);                                                        \
            swap |= (vec)(x[l] == y[l]) & (vec)(i[l] > j[l]);                                     \
            vec keys = (x[l] ^ y[l]) & swap, indices = (i[l] ^ j[l]) & swap;                      \
            x[l] ^= keys, y[l] ^= keys, i[l] ^= indices, j[l] ^= indices;                         \
        }                                                                                         \
    }                                                                                             \
    STAGES(pair, uint64_t, TARGET, suffix)

struct network {
    void (*keys)(void *lanes, uint32_t n, const struct key_form *, void *again);
    void (*elements)(void *lanes, uint32_t n, const struct key_form *);
    void (*stage)(void *lanes, uint32_t n, uint32_t all, uint32_t p, uint32_t q);
    void (*fold)(void *lanes, uint32_t p, uint32_t block, uint32_t end, uint32_t all);
    void (*select)(void *lanes, uint32_t n, uint32_t k);
};
#define ROW(name, W, suffix)                                                               \
    {                                                                                      \
        keys_##W##suffix, elements_##W##suffix, stage_##name##suffix, fold_##name##suffix, \
            select_##name##suffix                                                          \
    }
/* BYTES of a register; PARTS: loops that are unrolled, each of them vectorized. */
#define NETWORKS(TARGET, suffix, BYTES, PARTS)                                                           \
    VECTORS(suffix, BYTES)                                                                               \
    NETWORK(uint8_t, TARGET, suffix, PARTS)                                                              \
    NETWORK(uint16_t, TARGET, suffix, PARTS)                                                             \
    NETWORK(uint32_t, TARGET, suffix, PARTS)                                                             \
    NETWORK(uint64_t, TARGET, suffix, PARTS)                                                             \
    PAIRS(TARGET, suffix)                                                                                \
    static const struct network networks##suffix[] = {                                                   \
        ROW(uint8_t, uint8_t, suffix), ROW(uint16_t, uint16_t, suffix), ROW(uint32_t, uint32_t, suffix), \
        ROW(uint64_t, uint64_t, suffix), ROW(pair, uint64_t, suffix)};
NETWORKS(, , 16, 2)
#ifdef __x86_64__ /* its least instruction set has no minimum of unsigned numbers, AVX2 none of 64 bits */
NETWORKS(__attribute__((target("avx2"))), _avx2, 32, 2)
#ifdef __clang__ /* prefers them as asked for, and ignores a target that it does not know as a whole */
NETWORKS(__attribute__((target("avx512f,avx512bw,avx512vl"))), _avx512, 64, 1)
#else
NETWORKS(__attribute__((target("avx512f,avx512bw,avx512vl,prefer-vector-width=512"))), _avx512, 64, 1)
#endif
#endif
enum { PAIR = 4, MOST_BATCHES = 2 * COLUMN_BYTES / VECTOR };

static const struct network *network_of(uint32_t width) {
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
        return &networks_avx512[width];
    if (__builtin_cpu_supports("avx2")) return &networks_avx2[width];
#endif
    return &networks[width];
}

/* ---- rows to lanes and back --------------------------------------------------------------------------------------- */

#ifdef __clang__
#define ZIP(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define ZIP(a, b, ...) __builtin_shuffle(a, b, (__typeof__(a)){__VA_ARGS__})
#endif
#define LOW_uint8_t 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define HIGH_uint8_t 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#define LOW_uint16_t 0, 8, 1, 9, 2, 10, 3, 11
#define HIGH_uint16_t 4, 12, 5, 13, 6, 14, 7, 15
#define LOW_uint32_t 0, 4, 1, 5
#define HIGH_uint32_t 2, 6, 3, 7
#define LOW_uint64_t 0, 2
#define HIGH_uint64_t 1, 3

/* A square of as many vectors as a vector has elements: each stage zips its two parts. */
#define SQUARE(U) ((uint32_t)(16 / sizeof(U)))
#define TRANSPOSE(U)                                                                     \
    static inline vec_##U some_##U(const U *x) {                                         \
        vec_##U v;                                                                       \
        return memcpy(&v, x, sizeof v), v;                                               \
    }                                                                                    \
    static inline void zip_##U(const vec_##U *from, vec_##U *to) {                       \
        UNROLLED for (uint32_t i = 0; i < SQUARE(U) / 2; i++) {                          \
            to[2 * i] = ZIP(from[i], from[i + SQUARE(U) / 2], LOW_##U);                  \
            to[2 * i + 1] = ZIP(from[i], from[i + SQUARE(U) / 2], HIGH_##U);             \
        }                                                                                \
    }                                                                                    \
    static inline void transpose_##U(vec_##U *square) {                                  \
        vec_##U t[SQUARE(U)], s[SQUARE(U)];                                              \
        zip_##U(square, t);                                                              \
        if (SQUARE(U) > 2) zip_##U(t, s);                                                \
        if (SQUARE(U) > 4) zip_##U(s, t);                                                \
        if (SQUARE(U) > 8) zip_##U(t, s);                                                \
        bool odd = SQUARE(U) == 2 || SQUARE(U) == 8;                                     \
        UNROLLED for (uint32_t i = 0; i < SQUARE(U); i++) square[i] = odd ? t[i] : s[i]; \
    }
/* A vector to W, which is as wide or wider. */
#define WIDEN(U, W)                                                                        \
    static inline void widen_##U##_##W(vec_##U x, W *restrict to) {                        \
        U part[SQUARE(U)];                                                                 \
        memcpy(sizeof(U) == sizeof(W) ? (void *)to : part, &x, sizeof x);                  \
        for (uint32_t i = 0; i < SQUARE(U) && sizeof(U) < sizeof(W); i++) to[i] = part[i]; \
    }
WIDEN(uint8_t, uint8_t)
WIDEN(uint16_t, uint16_t)
WIDEN(uint32_t, uint32_t)
WIDEN(uint64_t, uint64_t)
WIDEN(uint8_t, uint16_t)
WIDEN(uint16_t, uint32_t)
WIDEN(uint32_t, uint64_t)
WIDEN(uint16_t, uint64_t)
TRANSPOSE(uint8_t)
TRANSPOSE(uint16_t)
TRANSPOSE(uint32_t)
TRANSPOSE(uint64_t)

/* Squares begin at multiples of their size, the last one of a row at its end. */
#define EACH_SQUARE(U, n)         \
    for (uint32_t i = 0; i < (n); \
         i = i + SQUARE(U) < (n) && i + 2 * SQUARE(U) > (n) ? (n)-SQUARE(U) : i + SQUARE(U))

/* Rows of 2 to 4 elements are taken apart by instructions, where there are such. */
#define FOR_SHORT(n, function, from, to)  \
    switch (n) {                          \
    case 2: function(from, 2, to); break; \
    case 3: function(from, 3, to); break; \
    case 4: function(from, 4, to); break; \
    default: function(from, n, to);       \
    }

/* Lanes without a row take the last one. */
#define LOAD(U, W)                                                                                  \
    static inline void load_rows_##U##_##W(const U *restrict x, uint32_t n, W *restrict v) {        \
        for (uint32_t i = 0; i < n; i++)                                                            \
            for (uint32_t l = 0; l < LANES(W); l++) v[i * LANES(W) + l] = x[l * n + i];             \
    }                                                                                               \
    static void load_##U##_##W(const void *rows, uint32_t count, uint32_t n, void *lanes) {         \
        const U *x = rows;                                                                          \
        W *v = lanes;                                                                               \
        vec_##U square[SQUARE(U)];                                                                  \
        if (n < SQUARE(U) && count == LANES(W)) {                                                   \
            FOR_SHORT(n, load_rows_##U##_##W, x, v)                                                 \
            return;                                                                                 \
        }                                                                                           \
        for (uint32_t l = 0; l < LANES(W) && n < SQUARE(U); l++)                                    \
            for (uint32_t i = 0; i < n; i++) v[i * LANES(W) + l] = x[RG_MIN(l, count - 1) * n + i]; \
        for (uint32_t l = 0; l < LANES(W) && n >= SQUARE(U); l += SQUARE(U)) EACH_SQUARE(U, n) {    \
                UNROLLED for (uint32_t r = 0; r < SQUARE(U); r++) square[r] =                       \
                    some_##U(x + (size_t)RG_MIN(l + r, count - 1) * n + i);                         \
                transpose_##U(square);                                                              \
                UNROLLED for (uint32_t c = 0; c < SQUARE(U); c++)                                   \
                    widen_##U##_##W(square[c], v + (i + c) * LANES(W) + l);                         \
            }                                                                                       \
    }
LOAD(uint8_t, uint8_t)
LOAD(uint16_t, uint16_t)
LOAD(uint32_t, uint32_t)
LOAD(uint64_t, uint64_t)
LOAD(uint8_t, uint16_t)
LOAD(uint16_t, uint32_t)
LOAD(uint32_t, uint64_t)

/* The first k positions; of words with an index its bits. */
#define STORE(W, T)                                                                                  \
    static inline void store_rows_##W##_##T(const W *restrict v, uint32_t k, T *restrict to) {       \
        for (uint32_t l = 0; l < LANES(W); l++)                                                      \
            for (uint32_t i = 0; i < k; i++) to[l * k + i] = (T)v[i * LANES(W) + l];                 \
    }                                                                                                \
    static void store_##W##_##T(void *lanes, uint32_t count, uint32_t k, uint64_t mask, void *out) { \
        W *v = lanes;                                                                                \
        T *to = out;                                                                                 \
        vec_##W square[SQUARE(W)];                                                                   \
        for (uint32_t i = 0; i < k * LANES(W) && (W)~mask; i += SQUARE(W)) {                         \
            square[0] = some_##W(v + i) & (W)mask;                                                   \
            memcpy(v + i, square, sizeof *square);                                                   \
        }                                                                                            \
        if (k < SQUARE(W) && count == LANES(W)) {                                                    \
            FOR_SHORT(k, store_rows_##W##_##T, v, to)                                                \
            return;                                                                                  \
        }                                                                                            \
        for (uint32_t l = 0; l < count && k < SQUARE(W); l++)                                        \
            for (uint32_t i = 0; i < k; i++) to[l * k + i] = (T)v[i * LANES(W) + l];                 \
        for (uint32_t l = 0; l < count && k >= SQUARE(W); l += SQUARE(W)) EACH_SQUARE(W, k) {        \
                UNROLLED for (uint32_t c = 0; c < SQUARE(W); c++) square[c] =                        \
                    some_##W(v + (i + c) * LANES(W) + l);                                            \
                transpose_##W(square);                                                               \
                for (uint32_t r = 0; r < RG_MIN(SQUARE(W), count - l); r++)                          \
                    widen_##W##_##T(square[r], to + (size_t)(l + r) * k + i);                        \
            }                                                                                        \
    }
STORE(uint8_t, uint8_t)
STORE(uint16_t, uint16_t)
STORE(uint32_t, uint32_t)
STORE(uint64_t, uint64_t)
STORE(uint16_t, uint64_t)
STORE(uint32_t, uint64_t)

/* What shares its key: NaN and zeros of a row, as they come, behind what is less. */
#define AGAIN(U)                                                                                          \
    static void again_##U(const void *row, uint32_t n, uint32_t k, const struct key_form *f, void *out) { \
        const U *x = row;                                                                                 \
        U top = (U)f->top, magnitude = (U)(top - 1), inf = (U)f->inf;                                     \
        uint32_t nans = 0, zeros = 0, negative = 0;                                                       \
        for (uint32_t i = 0; i < n; i++) {                                                                \
            nans += (x[i] & magnitude) > inf;                                                             \
            zeros += (x[i] & magnitude) == 0;                                                             \
            negative += x[i] > top && (x[i] & magnitude) <= inf;                                          \
        }                                                                                                 \
        uint32_t nan = f->flip ? 0 : n - nans, zero = f->flip ? n - negative - zeros : negative;          \
        for (uint32_t i = 0; i < n; i++) {                                                                \
            bool is_nan = (x[i] & magnitude) > inf;                                                       \
            if (!is_nan && x[i] & magnitude) continue;                                                    \
            uint32_t at = is_nan ? nan++ : zero++;                                                        \
            if (at < k) ((U *)out)[at] = x[i];                                                            \
        }                                                                                                 \
    }
AGAIN(uint16_t)
AGAIN(uint32_t)
AGAIN(uint64_t)

/* ---- batches ------------------------------------------------------------------------------------------------------ */

/* By the bytes of an element (log2). A row of more than `longest` elements is sorted faster alone. */
static const struct batch_form {
    uint32_t width, bytes, longest,
        beside_vectors; /* network; bytes of a lane; elements, .. if sort_vectors.c can */
    void (*load)(const void *rows, uint32_t count, uint32_t n, void *lanes);
    void (*store)(void *lanes, uint32_t count, uint32_t k, uint64_t mask, void *out);
    void (*again)(const void *row, uint32_t n, uint32_t k, const struct key_form *, void *out);
} value_form[] = {{0, 1, 1024, 1024, load_uint8_t_uint8_t, store_uint8_t_uint8_t, NULL},
                  {1, 2, 1024, 1024, load_uint16_t_uint16_t, store_uint16_t_uint16_t, again_uint16_t},
                  {2, 4, 1024, 48, load_uint32_t_uint32_t, store_uint32_t_uint32_t, again_uint32_t},
                  {3, 8, 512, 512, load_uint64_t_uint64_t, store_uint64_t_uint64_t, again_uint64_t}},
  index_form[] = {{1, 2, 256, 256, load_uint8_t_uint16_t, store_uint16_t_uint64_t, NULL},
                  {2, 4, 1024, 48, load_uint16_t_uint32_t, store_uint32_t_uint64_t, NULL},
                  {3, 8, 256, 48, load_uint32_t_uint64_t, store_uint64_t_uint64_t, NULL},
                  {PAIR, 8, 64, 64, load_uint64_t_uint64_t, store_uint64_t_uint64_t, NULL}};

static const struct batch_form *form_of(const struct lane_sort *s) {
    return (s->indices ? index_form : value_form) + __builtin_ctz(s->bytes);
}

/* Compare-exchanges of Batcher's network for n elements. */
static uint64_t exchanges(uint64_t n) {
    uint64_t lg = 0;
    while ((uint64_t)1 << lg < n) lg++;
    return n * lg * (lg + 1) / 4;
}

static uint32_t block_of(uint32_t k) {
    uint32_t p = 1;
    while (p < k) p *= 2;
    return p;
}

/* .. of its blocks, with what joins their first ones. */
static uint64_t exchanges_blocks(uint64_t n, uint32_t k) {
    uint32_t p = block_of(k);
    return n / p * exchanges(p) + n + n / 2 * (uint64_t)__builtin_ctz(p);
}

static bool in_registers(uint32_t width) { return width != PAIR && cpu_has_sort_registers(); }

static void sort_positions(const struct network *net, uint32_t width, void *lanes, uint32_t n, uint32_t all) {
    if (in_registers(width)) {
        cpu_sort_registers(lanes, n, width);
        return;
    }
    for (uint32_t p = 1; p < n; p *= 2)
        for (uint32_t q = p; q; q /= 2) net->stage(lanes, n, all, p, q);
}

/* The least p are bitonic. */
static void merge_positions(const struct network *net, uint32_t width, void *lanes, uint32_t p,
                            uint32_t all) {
    if (in_registers(width)) {
        if (p > 1) cpu_merge_registers(lanes, p, width);
        return;
    }
    for (uint32_t q = p / 2; q; q /= 2) net->stage(lanes, p, all, q, q);
}

static void sort_batch(const struct network *net, uint32_t width, void *lanes, uint32_t n, uint32_t k) {
    uint64_t whole = exchanges(n), blocks = k < n ? exchanges_blocks(n, k) : UINT64_MAX;
    uint32_t p = block_of(k), end;
    if (in_registers(width) && k < n && cpu_select_registers(lanes, n, k, width)) return;
    if ((uint64_t)n * k <= RG_MIN(whole, blocks)) {
        net->select(lanes, n, k);
        return;
    }
    if (whole <= blocks) {
        sort_positions(net, width, lanes, n, n);
        return;
    }
    for (uint32_t i = 0; i < n; i = end) {
        end = RG_MIN(i + p, n);
        sort_positions(net, width, (char *)lanes + (size_t)i * VECTOR, end - i, n);
        if (!i) continue;
        net->fold(lanes, p, i, end, n);
        merge_positions(net, width, lanes, p, n);
    }
}

static void number_positions(uint64_t *v, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t l = 0; l < LANES(uint64_t); l++) v[i * LANES(uint64_t) + l] = i;
}

static bool any(const uint8_t *lanes) {
    uint64_t word[VECTOR / 8], some = 0;
    memcpy(word, lanes, sizeof word);
    for (uint32_t i = 0; i < RG_COUNT(word); i++) some |= word[i];
    return some;
}

/* Of a batch. */
static size_t lanes_bytes(const struct batch_form *f, uint32_t n) {
    return (size_t)n * VECTOR * (f->width == PAIR ? 2 : 1);
}

/* Lanes of elements to those of the first k, or of words with their indices; again: lanes whose NaN and zeros share their key. */
static void sort_elements(const struct lane_sort *s, const struct batch_form *f, const struct key_form *key,
                          char *v, uint8_t *again) {
    const struct network *net = network_of(f->width);
    uint32_t width = f->width == PAIR ? 3 : f->width;
    if (!cpu_has_sort_registers() || !cpu_keys_registers(v, s->n, key, width, again))
        net->keys(v, s->n, key, again);
    if (f->width == PAIR) number_positions((uint64_t *)(void *)(v + (size_t)s->n * VECTOR), s->n);
    sort_batch(net, f->width, v, s->n, s->k);
    if (!s->indices) net->elements(v, s->k, key);
}

static uint64_t index_mask(const struct key_form *key) {
    return key->low ? ((uint64_t)1 << key->low) - 1 : UINT64_MAX;
}

static void batch(const struct lane_sort *s, const struct batch_form *f, const struct key_form *key,
                  const char *x, char *out, uint32_t count) {
    _Alignas(VECTOR) uint8_t again[VECTOR] = {0};
    char *v = s->scratch, *sorted = v + (f->width == PAIR ? (size_t)s->n * VECTOR : 0);
    bool registers = cpu_has_sort_registers();
    if (registers)
        cpu_load_registers(x, count, s->n, v, s->bytes, f->bytes);
    else
        f->load(x, count, s->n, v);
    sort_elements(s, f, key, v, again);
    if (registers)
        cpu_store_registers(sorted, count, s->k, index_mask(key), out, f->bytes, s->indices ? 8 : s->bytes);
    else
        f->store(sorted, count, s->k, index_mask(key), out);
    if (s->indices || !any(again)) return;
    for (uint32_t l = 0; l < count; l++)
        if (again[l * f->bytes])
            f->again(x + (size_t)l * s->n * s->bytes, s->n, s->k, key, out + (size_t)l * s->k * s->bytes);
}

struct key_form cpu_key_form(const struct lane_sort *s) {
    uint64_t all = UINT64_MAX >> (64 - 8 * s->bytes);
    return (struct key_form){
        .all = all, .top = s->is_signed ? all ^ all >> 1 : 0, .inf = s->inf, .flip = s->down ? all : 0};
}

void cpu_sort_again(const struct lane_sort *s, const struct key_form *key) {
    value_form[__builtin_ctz(s->bytes)].again(s->x, s->n, s->k, key, s->out);
}

size_t cpu_sort_lanes_scratch(const struct lane_sort *s) {
    const struct batch_form *f = form_of(s);
    return s->n > f->longest ? 0 : lanes_bytes(f, s->n);
}

enum { WORTH = 12 }; /* rows that are sorted faster side by side than each in vectors */

/* A batch costs the same for any number of rows: it needs more of them where the network has more stages. */
static bool is_worth(const struct lane_sort *s, const struct batch_form *f, uint32_t rows) {
    bool vectors = s->k == s->n && cpu_has_sort_vectors() && f->width != PAIR;
    if (s->n < 2 || s->n > (vectors ? f->beside_vectors : f->longest) || rows < 2) return false;
    return rows >= (vectors ? RG_MIN(WORTH, VECTOR / f->bytes * 3 / 4) : exchanges(s->n) / s->n / 4);
}

uint32_t cpu_sort_lanes(const struct lane_sort *s, uint32_t rows) {
    const struct batch_form *f = form_of(s);
    struct key_form key = cpu_key_form(s);
    if (s->indices && f->width != PAIR) key.low = 8 * s->bytes;
    uint32_t done = 0, count;
    for (; is_worth(s, f, rows - done); done += count) {
        count = RG_MIN(VECTOR / f->bytes, rows - done);
        batch(s, f, &key, (const char *)s->x + (size_t)done * s->n * s->bytes,
              (char *)s->out + (size_t)done * s->k * (s->indices ? 8 : s->bytes), count);
    }
    return done;
}

/* ---- columns -------------------------------------------------------------------------------------------------------- */

/* NaN and zeros of a column, through rows. */
static void again_column(const struct lane_sort *s, const struct batch_form *f, const struct key_form *key,
                         uint32_t column, char *row) {
    const char *x = (const char *)s->x + (size_t)column * s->bytes;
    char *out = (char *)s->out + (size_t)column * s->bytes, *sorted = row + (size_t)s->n * s->bytes;
    size_t step = s->pitch * s->bytes;
    cpu_copy_column(x, step, row, s->bytes, s->n, s->bytes);
    cpu_copy_column(out, step, sorted, s->bytes, s->k, s->bytes);
    f->again(row, s->n, s->k, key, sorted);
    cpu_copy_column(sorted, s->bytes, out, step, s->k, s->bytes);
}

/* Batches of lanes, which are loaded and stored row by row together; then a row and its sorted elements. */
size_t cpu_sort_columns_scratch(const struct lane_sort *s) {
    const struct batch_form *f = form_of(s);
    return COLUMN_BYTES / s->bytes * f->bytes / VECTOR * lanes_bytes(f, s->n) + 2 * (size_t)s->n * s->bytes;
}

void cpu_sort_columns(const struct lane_sort *s, uint32_t columns) {
    const struct batch_form *f = form_of(s);
    struct key_form key = cpu_key_form(s);
    uint32_t lanes = VECTOR / f->bytes, batches = (columns + lanes - 1) / lanes;
    size_t each = lanes_bytes(f, s->n);
    char *v = s->scratch;
    _Alignas(VECTOR) uint8_t again[MOST_BATCHES][VECTOR] = {{0}};
    if (s->indices && f->width != PAIR) key.low = 8 * s->bytes;
    cpu_load_columns(s, columns, v, each, f->bytes);
    for (uint32_t b = 0; b < batches; b++) sort_elements(s, f, &key, v + b * each, again[b]);
    cpu_store_columns(s, columns, v + (f->width == PAIR ? (size_t)s->n * VECTOR : 0), each, index_mask(&key),
                      f->bytes);
    for (uint32_t b = 0; b < batches && !s->indices; b++)
        for (uint32_t l = 0; l < RG_MIN(lanes, columns - b * lanes) && any(again[b]); l++)
            if (again[b][l * f->bytes]) again_column(s, f, &key, b * lanes + l, v + batches * each);
}
