/* sort.c: sort, argsort, topk and topk_index of rows, as functions with the form of a kernel: one iteration, one row.
 *
 * An element becomes an unsigned number whose order is the order wanted: signs flipped, negative floats inverted, all NaN
 * the greatest number, 0 and -0 one number, all bits inverted where the greatest comes first. For argsort and the like,
 * the index stands below the number in the same word, so that words are never equal and ties go to the lower index.
 * Rows of words are sorted by rank or by insertion if they are short, else by an LSD radix sort, which is
 * stable; top-k selects candidates first (sort_few.c). Sorted keys are turned back into elements; only what
 * several elements share a key for (NaN, zeros) is copied from the row again, in its order.
 * Short rows are sorted side by side, where there are several (sort_lanes.c), longer ones in SIMD vectors where the machine
 * packs them (sort_vectors.c); elements of 1 and 2 bytes are counted in long rows.
 * A row that is alone is cut among the threads, whose parts are merged; the cuts of a merge are found by bisection.
 * Tests: tests/unit/call.c, tests/values/index.txt; speed: bench/sort.c */
#include "device/cpu/internal.h"

#define TINY 16            /* elements of up to 8 bytes that are sorted by rank .. */
#define SHORT 40           /* .. by insertion */
#define WIDE_DIGITS 4096   /* elements from which on digits have 11 bits, not 8 */
#define PARALLEL (1 << 16) /* elements of a row that is worth several threads */
#define PARTS 16
#define WHOLE 128 /* elements of a row that are sorted for its first few */

typedef uint32_t word32;
typedef uint64_t word64;
typedef unsigned __int128 word128;

struct parts { /* a sort that several threads do */
    void *a, *b;
    uint32_t *bound; /* [n + 1] */
    uint32_t n, step;
    int low, bits;
};

static uint32_t digit_bits(uint32_t n) { return n < WIDE_DIGITS ? 8 : 11; }

/* Leading bits of a key that tell most of n apart: an exponent, and some more than there are elements; whole digits. */
static int first_bits(uint32_t n) {
    int d = (int)digit_bits(n), bits = 14;
    for (; n > 1; n /= 2) bits++;
    return (bits + d - 1) / d * d;
}

static bool vectors_word32(word32 *a, word32 *b, uint32_t n) { return cpu_sort_words32(a, b, n); }
static bool vectors_word64(word64 *a, word64 *b, uint32_t n) { return cpu_sort_words64(a, b, n); }
static bool vectors_word128(word128 *a, word128 *b, uint32_t n) { return (void)a, (void)b, (void)n, false; }

/* Everything for one width of words. The key is the `bits` bits above the lowest `low`. */
#define SORTS(W)                                                                                             \
    static inline void insert_##W(W *a, uint32_t n) {                                                        \
        for (uint32_t i = 1; i < n; i++) {                                                                   \
            W x = a[i];                                                                                      \
            uint32_t k = i;                                                                                  \
            for (; k && a[k - 1] > x; k--) a[k] = a[k - 1];                                                  \
            a[k] = x;                                                                                        \
        }                                                                                                    \
    }                                                                                                        \
    /* Each word goes where as many lesser ones are: no branch depends on the values. */                     \
    static W *rank_##W(const W *a, W *b, uint32_t n) {                                                       \
        for (uint32_t i = 0; i < n; i++) {                                                                   \
            W x = a[i];                                                                                      \
            uint32_t before = 0;                                                                             \
            for (uint32_t k = 0; k < i; k++) before += a[k] <= x;                                            \
            for (uint32_t k = i + 1; k < n; k++) before += a[k] < x;                                         \
            b[before] = x;                                                                                   \
        }                                                                                                    \
        return b;                                                                                            \
    }                                                                                                        \
    /* Sorted in a or in b: which of them is returned. */                                                    \
    static __attribute__((noinline)) W *digits_##W(W *a, W *b, uint32_t n, int low, int bits) {              \
        uint32_t d = digit_bits(n), passes = ((uint32_t)bits + d - 1) / d, mask = (1u << d) - 1;             \
        uint32_t count[8][2048];                                                                             \
        for (uint32_t p = 0; p < passes; p++) memset(count[p], 0, (mask + 1) * sizeof count[p][0]);          \
        for (uint32_t i = 0; i < n; i++)                                                                     \
            for (uint32_t p = 0; p < passes; p++)                                                            \
                count[p][(uint32_t)(a[i] >> (low + (int)(p * d))) & mask]++;                                 \
        for (uint32_t p = 0; p < passes; p++) {                                                              \
            int at = low + (int)(p * d);                                                                     \
            uint32_t *c = count[p], sum = 0;                                                                 \
            if (c[(uint32_t)(a[0] >> at) & mask] == n) continue; /* the same digit everywhere */             \
            for (uint32_t k = 0; k <= mask; k++) {                                                           \
                uint32_t here = c[k];                                                                        \
                c[k] = sum;                                                                                  \
                sum += here;                                                                                 \
            }                                                                                                \
            for (uint32_t i = 0; i < n; i++) b[c[(uint32_t)(a[i] >> at) & mask]++] = a[i];                   \
            W *was = a;                                                                                      \
            a = b, b = was;                                                                                  \
        }                                                                                                    \
        return a;                                                                                            \
    }                                                                                                        \
    /* Wide keys differ in their first digits mostly: sorted by those, then each run of equal ones alone. */ \
    static W *leading_##W(W *a, W *b, uint32_t n, int low, int bits) {                                       \
        W differ = 0;                                                                                        \
        int first = first_bits(n), width = 0;                                                                \
        for (uint32_t i = 1; i < n; i++) differ |= a[i] ^ a[0];                                              \
        while (width < bits && differ >> (low + width)) width++;                                             \
        if (width <= first) return width ? digits_##W(a, b, n, low, width) : a;                              \
        int rest = low + width - first;                                                                      \
        W *s = digits_##W(a, b, n, rest, first), *other = s == a ? b : a;                                    \
        for (uint32_t i = 0, end; i < n; i = end) {                                                          \
            for (end = i + 1; end < n && !((s[end] ^ s[i]) >> rest);) end++;                                 \
            if (end - i <= SHORT) {                                                                          \
                insert_##W(s + i, end - i);                                                                  \
                continue;                                                                                    \
            }                                                                                                \
            W *t = digits_##W(s + i, other + i, end - i, low, rest - low);                                   \
            if (t != s + i) memcpy(s + i, t, (end - i) * sizeof *t);                                         \
        }                                                                                                    \
        return s;                                                                                            \
    }                                                                                                        \
    static inline W *sort_##W(W *a, W *b, uint32_t n, int low, int bits) {                                   \
        if (vectors_##W(a, b, n)) return a;                                                                  \
        if (n > SHORT) return (bits > 32 ? leading_##W : digits_##W)(a, b, n, low, bits);                    \
        if (n <= TINY && sizeof(W) < 16) return rank_##W(a, b, n);                                           \
        insert_##W(a, n);                                                                                    \
        return a;                                                                                            \
    }                                                                                                        \
    /* The k least of a short row, in order: no branch depends on the values. */                             \
    static __attribute__((unused)) void pick_##W(W *a, uint32_t n, uint32_t k) {                             \
        for (uint32_t j = 0; j < k; j++) {                                                                   \
            W least = a[j];                                                                                  \
            uint32_t at = j;                                                                                 \
            for (uint32_t i = j + 1; i < n; i++) {                                                           \
                bool less = a[i] < least;                                                                    \
                least = less ? a[i] : least, at = less ? i : at;                                             \
            }                                                                                                \
            a[at] = a[j], a[j] = least;                                                                      \
        }                                                                                                    \
    }                                                                                                        \
    static void part_##W(void *arg, uint32_t t0, uint32_t t1, int worker) {                                  \
        const struct parts *p = arg;                                                                         \
        (void)worker;                                                                                        \
        for (; t0 < t1; t0++) {                                                                              \
            uint32_t first = p->bound[t0], n = p->bound[t0 + 1] - first;                                     \
            W *a = (W *)p->a + first, *s = sort_##W(a, (W *)p->b + first, n, p->low, p->bits);               \
            if (s != a) memcpy(a, s, n * sizeof *a);                                                         \
        }                                                                                                    \
    }                                                                                                        \
    /* How many of the first `of` words of the merged rows come from x; equal ones from x first. */          \
    static uint32_t share_##W(const W *x, uint32_t nx, const W *y, uint32_t ny, uint32_t of) {               \
        uint32_t lo = of > ny ? of - ny : 0, hi = RG_MIN(of, nx);                                            \
        while (lo < hi) {                                                                                    \
            uint32_t mid = lo + (hi - lo) / 2;                                                               \
            if (x[mid] <= y[of - mid - 1])                                                                   \
                lo = mid + 1;                                                                                \
            else                                                                                             \
                hi = mid;                                                                                    \
        }                                                                                                    \
        return lo;                                                                                           \
    }                                                                                                        \
    /* Parts are merged in pairs of `step` each; a pair has as many tasks as parts. */                       \
    static void merge_##W(void *arg, uint32_t t0, uint32_t t1, int worker) {                                 \
        const struct parts *p = arg;                                                                         \
        (void)worker;                                                                                        \
        for (; t0 < t1; t0++) {                                                                              \
            uint32_t tasks = 2 * p->step, pair = t0 / tasks * tasks, piece = t0 % tasks;                     \
            uint32_t first = p->bound[pair], middle = p->bound[pair + p->step],                              \
                     end = p->bound[pair + tasks];                                                           \
            const W *x = (const W *)p->a + first, *y = (const W *)p->a + middle;                             \
            uint32_t nx = middle - first, ny = end - middle, n = end - first;                                \
            uint32_t from = (uint32_t)((uint64_t)n * piece / tasks),                                         \
                     to = (uint32_t)((uint64_t)n * (piece + 1) / tasks);                                     \
            uint32_t i = share_##W(x, nx, y, ny, from), j = from - i;                                        \
            W *out = (W *)p->b + first;                                                                      \
            for (uint32_t k = from; k < to; k++) {                                                           \
                bool take_x = j == ny || (i < nx && x[i] <= y[j]);                                           \
                out[k] = take_x ? x[i] : y[j];                                                               \
                i += take_x, j += !take_x;                                                                   \
            }                                                                                                \
        }                                                                                                    \
    }                                                                                                        \
    /* The same as sort_, on all threads. */                                                                 \
    static W *sort_all_##W(W *a, W *b, uint32_t n, int low, int bits) {                                      \
        uint32_t bound[PARTS + 1], parts = 1;                                                                \
        while (n >= PARALLEL && parts < PARTS && 2 * parts <= (uint32_t)pool_threads(pool_get()))            \
            parts *= 2;                                                                                      \
        if (parts == 1) return sort_##W(a, b, n, low, bits);                                                 \
        for (uint32_t i = 0; i <= parts; i++) bound[i] = (uint32_t)((uint64_t)n * i / parts);                \
        struct parts p = {.a = a, .b = b, .bound = bound, .n = parts, .step = 1, .low = low, .bits = bits};  \
        pool_run(pool_get(), part_##W, &p, parts, 1);                                                        \
        for (; p.step < parts; p.step *= 2) {                                                                \
            pool_run(pool_get(), merge_##W, &p, parts, 1);                                                   \
            void *was = p.a;                                                                                 \
            p.a = p.b, p.b = was;                                                                            \
        }                                                                                                    \
        return p.a;                                                                                          \
    }
SORTS(word32)
SORTS(word64)
SORTS(word128)

/* ---- elements and numbers ------------------------------------------------------------------------------------- */

/* Of an element's bits: top is its sign, inf the bits of infinity (0: not a float). */
#define IS_NAN(x, top, inf) ((inf) && ((x) & (top - 1)) > (inf))
#define IS_ZERO(x, top) (((x) & (top - 1)) == 0)
#define KEY(x, all, top, inf, is_signed)  \
    (!(is_signed)          ? (x)          \
     : !(inf)              ? (x) ^ (top)  \
     : IS_NAN(x, top, inf) ? (all)        \
     : IS_ZERO(x, top)     ? (top)        \
     : (x) & (top)         ? ~(x) & (all) \
                           : (x) | (top))
#define UNKEY(x, all, top, inf, is_signed) \
    (!(is_signed) ? (x) : !(inf) ? (x) ^ (top) : (x) & (top) ? (x) ^ (top) : ~(x) & (all))

/* A row of elements of type T (bits as U) to numbers K, to words P with the index below the number, and back. */
#define ELEMENTS(T, U, K, P, P_LOW, all, top, inf, is_signed)                                              \
    static bool numbers_##T(const void *row, uint32_t n, bool down, void *to) {                            \
        const U *x = row;                                                                                  \
        K *out = to, flip = down ? (all) : 0, again = 0;                                                   \
        for (uint32_t i = 0; i < n; i++) {                                                                 \
            K v = x[i];                                                                                    \
            out[i] = (K)(KEY(v, (K)(all), (K)(top), (K)(inf), is_signed)) ^ flip;                          \
            again |= (inf) && (IS_NAN(v, (K)(top), (K)(inf)) || IS_ZERO(v, (K)(top)));                     \
        }                                                                                                  \
        return again;                                                                                      \
    }                                                                                                      \
    static void words_##T(const void *row, uint32_t n, bool down, void *to) {                              \
        const U *x = row;                                                                                  \
        K flip = down ? (all) : 0;                                                                         \
        P *out = to;                                                                                       \
        for (uint32_t i = 0; i < n; i++) {                                                                 \
            K v = x[i];                                                                                    \
            out[i] = (P)((K)(KEY(v, (K)(all), (K)(top), (K)(inf), is_signed)) ^ flip) << P_LOW | i;        \
        }                                                                                                  \
    }                                                                                                      \
    static uint32_t below_##T(const K *x, uint32_t n, K v) {                                               \
        uint32_t lo = 0, hi = n;                                                                           \
        while (lo < hi) {                                                                                  \
            uint32_t mid = lo + (hi - lo) / 2;                                                             \
            if (x[mid] < v)                                                                                \
                lo = mid + 1;                                                                              \
            else                                                                                           \
                hi = mid;                                                                                  \
        }                                                                                                  \
        return lo;                                                                                         \
    }                                                                                                      \
    static void elements_##T(const void *sorted, const void *row, uint32_t n, bool down, bool again,       \
                             void *to) {                                                                   \
        const K *s = sorted;                                                                               \
        const U *x = row;                                                                                  \
        U *out = to;                                                                                       \
        K flip = down ? (all) : 0, zero = (K)(top) ^ flip, nan = (K)(all) ^ flip;                          \
        uint32_t z = 0, q = 0;                                                                             \
        if (again) z = below_##T(s, n, zero), q = below_##T(s, n, nan);                                    \
        for (uint32_t i = 0; i < n; i++) {                                                                 \
            K v = s[i] ^ flip;                                                                             \
            out[i] = (U)(UNKEY(v, (K)(all), (K)(top), (K)(inf), is_signed));                               \
        }                                                                                                  \
        for (uint32_t i = 0; again && i < n; i++) {                                                        \
            K v = x[i];                                                                                    \
            if (IS_NAN(v, (K)(top), (K)(inf)))                                                             \
                out[q++] = x[i];                                                                           \
            else if (IS_ZERO(v, (K)(top)))                                                                 \
                out[z++] = x[i];                                                                           \
        }                                                                                                  \
    }                                                                                                      \
    /* Words of n candidates. */                                                                           \
    static void chosen_##T(const void *row, const uint32_t *index, uint32_t n, bool down, void *to) {      \
        K flip = down ? (all) : 0;                                                                         \
        P *out = to;                                                                                       \
        for (uint32_t i = 0; i < n; i++) {                                                                 \
            K v = ((const U *)row)[index[i]];                                                              \
            out[i] = (P)((K)(KEY(v, (K)(all), (K)(top), (K)(inf), is_signed)) ^ flip) << P_LOW | index[i]; \
        }                                                                                                  \
    }                                                                                                      \
    static void picked_##T(const void *words, const void *row, uint32_t n, void *to) {                     \
        const P *w = words;                                                                                \
        for (uint32_t i = 0; i < n; i++) ((U *)to)[i] = ((const U *)row)[(uint32_t)w[i]];                  \
    }

#define ELEMENTS32(T, U, all, top, inf, is_signed) \
    ELEMENTS(T, U, word32, word64, 32, all, top, inf, is_signed)
#define ELEMENTS64(T, U, all, top, inf, is_signed) \
    ELEMENTS(T, U, word64, word128, 64, all, top, inf, is_signed)
ELEMENTS32(u8, uint8_t, 0xffu, 0x80u, 0, false)
ELEMENTS32(i8, uint8_t, 0xffu, 0x80u, 0, true)
ELEMENTS32(u16, uint16_t, 0xffffu, 0x8000u, 0, false)
ELEMENTS32(i16, uint16_t, 0xffffu, 0x8000u, 0, true)
ELEMENTS32(u32, uint32_t, 0xffffffffu, 0x80000000u, 0, false)
ELEMENTS32(i32, uint32_t, 0xffffffffu, 0x80000000u, 0, true)
ELEMENTS32(f16, uint16_t, 0xffffu, 0x8000u, 0x7c00u, true)
ELEMENTS32(bf16, uint16_t, 0xffffu, 0x8000u, 0x7f80u, true)
ELEMENTS32(f32, uint32_t, 0xffffffffu, 0x80000000u, 0x7f800000u, true)
ELEMENTS64(u64, uint64_t, UINT64_MAX, (uint64_t)1 << 63, 0, false)
ELEMENTS64(i64, uint64_t, UINT64_MAX, (uint64_t)1 << 63, 0, true)
ELEMENTS64(f64, uint64_t, UINT64_MAX, (uint64_t)1 << 63, (uint64_t)0x7ff << 52, true)

static const struct element {
    const char *name;
    uint32_t bytes;
    bool (*numbers)(const void *row, uint32_t n, bool down, void *to); /* are there zeros or NaN? */
    void (*words)(const void *row, uint32_t n, bool down, void *to);
    void (*chosen)(const void *row, const uint32_t *index, uint32_t n, bool down, void *to);
    void (*elements)(const void *sorted, const void *row, uint32_t n, bool down, bool again, void *to);
    void (*picked)(const void *words, const void *row, uint32_t n, void *to);
    bool is_signed;
    uint64_t inf;
} element[] = {
#define X(T, size, is_signed, inf) \
    {#T, size, numbers_##T, words_##T, chosen_##T, elements_##T, picked_##T, is_signed, inf},
#define TYPES(X)             \
    X(u8, 1, false, 0)       \
    X(i8, 1, true, 0)        \
    X(u16, 2, false, 0)      \
    X(i16, 2, true, 0)       \
    X(u32, 4, false, 0)      \
    X(i32, 4, true, 0)       \
    X(f16, 2, true, 0x7c00)  \
    X(bf16, 2, true, 0x7f80) \
    X(f32, 4, true, 0x7f800000) X(u64, 8, false, 0) X(i64, 8, true, 0) X(f64, 8, true, (uint64_t)0x7ff << 52)
    TYPES(X)
#undef X
};
enum { T_u8, T_i8, T_u16, T_i16, T_u32, T_i32, T_f16, T_bf16, T_f32, T_u64, T_i64, T_f64 };

/* ---- one row ------------------------------------------------------------------------------------------------------ */

struct sort_row {
    const struct element *e;
    const char *x;
    char *out, *scratch;
    uint32_t n, k; /* elements; wanted */
    bool down, alone;
};

enum { COUNTED_8 = 256, COUNTED_16 = 1 << 16, PER_STORE = 32, TABLES_8 = 8 };

static bool is_counted(uint32_t n, uint32_t bytes) {
    return (bytes == 1 && n >= COUNTED_8) || (bytes == 2 && n >= COUNTED_16);
}

static inline uint32_t element_of(uint32_t key, const struct key_form *f) {
    uint32_t k = key ^ (uint32_t)f->flip, all = (uint32_t)f->all, top = (uint32_t)f->top;
    return UNKEY(k, all, top, f->inf, top);
}

/* Keys of eight neighbours are those of eight elements, in either direction. */
static inline bool any_of_eight(const uint32_t *count) {
    uint64_t pair[4];
    memcpy(pair, count, sizeof pair);
    return pair[0] | pair[1] | pair[2] | pair[3];
}

#define UNROLLED _Pragma("GCC unroll 8")

/* A row of narrow elements: the number of each, then each as often, in order. Eight counters of a byte, so that equal ones in a
 * row do not wait for each other. Elements that share a key are counted as one of them: has_again. */
#define COUNTED(U, BITS)                                                                                    \
    static void counted_##U(const struct lane_sort *s, const struct key_form *f, uint32_t *count) {         \
        enum { ALL = 1 << BITS, TABLES = BITS == 8 ? TABLES_8 : 1 };                                        \
        const U *x = s->x;                                                                                  \
        U *out = s->out;                                                                                    \
        uint32_t n = s->n, i = 0, at = 0;                                                                   \
        memset(count, 0, (size_t)ALL *TABLES * sizeof *count);                                              \
        for (; i + TABLES <= n; i += TABLES)                                                                \
            UNROLLED for (uint32_t t = 0; t < TABLES; t++) count[t * ALL + x[i + t]]++;                     \
        for (; i < n; i++) count[x[i]]++;                                                                   \
        for (uint32_t v = 0; v < ALL; v++)                                                                  \
            for (uint32_t t = 1; t < TABLES; t++) count[v] += count[t * ALL + v];                           \
        for (uint32_t mag = (uint32_t)f->inf + 1; f->inf && mag < f->top; mag++) /* NaN */                  \
            if (mag + 1 < f->top) count[f->top - 1] += count[mag], count[mag] = 0;                          \
        for (uint32_t mag = (uint32_t)f->inf + 1; f->inf && mag < f->top; mag++)                            \
            count[f->top - 1] += count[f->top | mag], count[f->top | mag] = 0;                              \
        if (f->inf) count[0] += count[f->top], count[f->top] = 0;                                           \
        for (uint32_t k = 0; k < ALL; k++) {                                                                \
            U v = element_of(k, f);                                                                         \
            if (!(k % 8) && !any_of_eight(count + (v & ~7u))) {                                             \
                k += 7;                                                                                     \
                continue;                                                                                   \
            }                                                                                               \
            uint32_t end = at + count[v];                                                                   \
            U equal[PER_STORE];                                                                             \
            for (uint32_t l = 0; l < PER_STORE; l++) equal[l] = v;                                          \
            for (; at < end && at + PER_STORE <= n; at += PER_STORE) memcpy(out + at, equal, sizeof equal); \
            for (at = RG_MIN(at, end); at < end; at++) out[at] = v;                                         \
        }                                                                                                   \
    }
COUNTED(uint8_t, 8)
COUNTED(uint16_t, 16)

/* Is there an element that shares its key? */
static bool has_again(const struct lane_sort *s, const struct key_form *f) {
    const uint16_t *x = s->x;
    uint32_t some = 0, inf = (uint32_t)f->inf, top = (uint32_t)f->top;
    if (!inf) return false;
    for (uint32_t i = 0; i < s->n; i++) some |= (x[i] & (top - 1)) > inf || x[i] == top;
    return some;
}

static void sort_counted(const struct lane_sort *s) {
    struct key_form f = cpu_key_form(s);
    (s->bytes == 1 ? counted_uint8_t : counted_uint16_t)(s, &f, s->scratch);
    if (has_again(s, &f)) cpu_sort_again(s, &f);
}

/* A row of numbers, in words of 4 bytes, or of 8 for elements of 8. The result's memory is half of the room, where its
 * elements are as wide as the words. */
static void row_values(const struct sort_row *r) {
    bool wide = r->e->bytes == 8, same = r->e->bytes == (wide ? 8 : 4);
    size_t size = (size_t)r->n * (wide ? 8 : 4);
    void *a = r->scratch, *b = same ? r->out : r->scratch + size, *s;
    bool again = r->e->numbers(r->x, r->n, r->down, a);
    int bits = (int)r->e->bytes * 8;
    if (wide)
        s = (r->alone ? sort_all_word64 : sort_word64)(a, b, r->n, 0, bits);
    else
        s = (r->alone ? sort_all_word32 : sort_word32)(a, b, r->n, 0, bits);
    r->e->elements(s, r->x, r->n, r->down, again, r->out);
}

static bool is_few(uint32_t n, uint32_t k) { return n > SHORT && k && k <= n / 4; }

static size_t word_bytes(const struct element *e) { return e->bytes == 8 ? 16 : 8; }

static void *few_words(const struct sort_row *r) {
    struct lane_sort s = {.x = r->x,
                          .scratch = r->scratch,
                          .n = r->n,
                          .k = r->k,
                          .bytes = r->e->bytes,
                          .inf = r->e->inf,
                          .is_signed = r->e->is_signed,
                          .down = r->down};
    bool sorted;
    uint32_t n = cpu_sort_few(&s, &sorted);
    char *a = r->scratch + cpu_sort_few_scratch(r->n, r->e->bytes), *b = a + n * word_bytes(r->e);
    int bits = (int)r->e->bytes * 8;
    r->e->chosen(r->x, s.scratch, sorted ? r->k : n, r->down, a);
    if (sorted) return a;
    return r->e->bytes == 8 ? (void *)sort_word128((word128 *)(void *)a, (word128 *)(void *)b, n, 64, bits)
                            : sort_word64((word64 *)(void *)a, (word64 *)(void *)b, n, 32, bits);
}

/* The first k words of the row in order, in a or in b, which has as much room. */
static void *row_words(const struct sort_row *r, void *a, void *b) {
    bool wide = r->e->bytes == 8;
    int bits = (int)r->e->bytes * 8;
    bool pick = r->n <= SHORT && 2 * r->k <= r->n && !wide;
    r->e->words(r->x, r->n, r->down, a);
    if (pick) return pick_word64(a, r->n, r->k), a;
    if (wide) return (r->alone ? sort_all_word128 : sort_word128)(a, b, r->n, 64, bits);
    return (r->alone ? sort_all_word64 : sort_word64)(a, b, r->n, 32, bits);
}

/* The indices in the low bits of words, as i64; over the words themselves where those have 8 bytes. */
static void write_indices(const void *words, bool wide, uint32_t n, int64_t *out) {
    for (uint32_t i = 0; i < n; i++)
        out[i] = wide ? (int64_t)((const word128 *)words)[i] : (int64_t)(uint32_t)((const word64 *)words)[i];
}

enum sort_what { SORT, ARGSORT, TOPK, TOPK_INDEX };

static void run(const struct element *e, enum sort_what what, bool alone, void *const *buf,
                const int64_t *var, uint32_t t0, uint32_t t1, void *scratch) {
    struct sort_row r = {.e = e,
                         .n = (uint32_t)var[0],
                         .k = (uint32_t)var[1],
                         .down = var[2] != 0,
                         .alone = alone,
                         .scratch = scratch};
    bool indices = what == ARGSORT || what == TOPK_INDEX;
    size_t step = indices ? 8 : e->bytes;
    struct lane_sort side_by_side = {.x = (const char *)buf[1] + (size_t)t0 * r.n * e->bytes,
                                     .out = (char *)buf[0] + (size_t)t0 * r.k * step,
                                     .scratch = scratch,
                                     .n = r.n,
                                     .k = r.k,
                                     .bytes = e->bytes,
                                     .inf = e->inf,
                                     .is_signed = e->is_signed,
                                     .down = r.down,
                                     .indices = indices};
    bool whole = what == SORT || what == ARGSORT ? !alone || r.n < PARALLEL || pool_threads(pool_get()) == 1
                                                 : r.n <= WHOLE;
    for (t0 += cpu_sort_lanes(&side_by_side, t1 - t0); t0 < t1; t0++) {
        r.x = (const char *)buf[1] + (size_t)t0 * r.n * e->bytes;
        r.out = (char *)buf[0] + (size_t)t0 * r.k * step;
        side_by_side.x = r.x, side_by_side.out = r.out;
        if (what == SORT && is_counted(r.n, e->bytes)) {
            sort_counted(&side_by_side);
            continue;
        }
        if (whole && cpu_sort_vectors(&side_by_side)) continue;
        if (what == SORT) {
            row_values(&r);
            continue;
        }
        char *a = scratch, *b = what == ARGSORT && e->bytes < 8 ? r.out : a + r.n * word_bytes(e);
        void *w = is_few(r.n, r.k) ? few_words(&r) : row_words(&r, a, b);
        if (indices)
            write_indices(w, e->bytes == 8, r.k, (int64_t *)(void *)r.out);
        else
            e->picked(w, r.x, r.k, r.out);
    }
}

/* num[2] is a struct sorted_columns, packed (ir.h). */
static struct lane_sort columns_of(const struct element *e, const int64_t *num) {
    int64_t width = num[2] >> 10;
    return (struct lane_sort){.n = (uint32_t)(num[0] / width),
                              .k = (uint32_t)(num[1] / width),
                              .bytes = e->bytes,
                              .inf = e->inf,
                              .is_signed = e->is_signed,
                              .down = num[2] & 1,
                              .indices = num[2] & 2,
                              .pitch = (size_t)width};
}

static void run_columns(const struct element *e, void *const *buf, const int64_t *num, uint32_t t0,
                        uint32_t t1, void *scratch) {
    struct lane_sort s = columns_of(e, num);
    size_t most = RG_MIN((size_t)(num[2] >> 2 & 255) * 64, COLUMN_BYTES) / e->bytes,
           blocks = (s.pitch + most - 1) / most, step = s.indices ? 8 : e->bytes;
    s.scratch = scratch;
    for (uint32_t t = t0; t < t1; t++) {
        size_t outer = t / blocks, first = t % blocks * most;
        s.x = (const char *)buf[1] + (outer * s.n * s.pitch + first) * e->bytes;
        s.out = (char *)buf[0] + (outer * s.k * s.pitch + first) * step;
        cpu_sort_columns(&s, (uint32_t)RG_MIN(most, s.pitch - first));
    }
}

/* ---- functions by name -------------------------------------------------------------------------------------------- */

#define FN(T, what, alone, suffix)                                                                 \
    static void what##_##T##suffix(void *const *buf, const int64_t *var, uint32_t t0, uint32_t t1, \
                                   void *scratch) {                                                \
        run(&element[T_##T], what, alone, buf, var, t0, t1, scratch);                              \
    }
#define COLUMNS(T)                                                                                           \
    static void COLUMNS_##T(void *const *buf, const int64_t *var, uint32_t t0, uint32_t t1, void *scratch) { \
        run_columns(&element[T_##T], buf, var, t0, t1, scratch);                                             \
    }
#define X(T, ...)           \
    COLUMNS(T)              \
    FN(T, SORT, false, )    \
    FN(T, ARGSORT, false, ) \
    FN(T, TOPK, false, ) FN(T, TOPK_INDEX, false, ) FN(T, SORT, true, _alone) FN(T, ARGSORT, true, _alone)
TYPES(X)
#undef X

static dev_fn *const function[][7] = {
#define X(T, ...) \
    {SORT_##T, ARGSORT_##T, TOPK_##T, TOPK_INDEX_##T, SORT_##T##_alone, ARGSORT_##T##_alone, COLUMNS_##T},
    TYPES(X)
#undef X
};

bool cpu_sort_fn(const struct dev_call *c, struct dev_builtin *out) {
    static const char *const name[] = {"sort", "argsort", "topk", "topk_index", "columns"};
    enum { ALL_COLUMNS = 4, FN_COLUMNS = 6 };
    const char *type = strcmp(c->type[1], "bool") ? c->type[1] : "u8";
    uint32_t what = 0, t = 0;
    while (what < RG_COUNT(name) && strcmp(name[what], c->name)) what++;
    while (t < RG_COUNT(element) && strcmp(element[t].name, type)) t++;
    if (what == RG_COUNT(name) || t == RG_COUNT(element)) return false;
    if (what == ALL_COLUMNS) {
        struct lane_sort s = columns_of(&element[t], c->num);
        out->fn = function[t][FN_COLUMNS];
        out->scratch = (int64_t)cpu_sort_columns_scratch(&s);
        return true;
    }
    bool alone = c->rows == 1 && what <= ARGSORT;
    out->fn = function[t][what + (alone ? 4 : 0)];
    size_t word = what == SORT ? RG_MAX(element[t].bytes, 4) : word_bytes(&element[t]);
    bool half = word == (what == SORT      ? element[t].bytes
                         : what == ARGSORT ? 8
                                           : 0); /* the result is the other */
    struct lane_sort side_by_side = {.n = (uint32_t)c->num[0],
                                     .bytes = element[t].bytes,
                                     .indices = what == ARGSORT || what == TOPK_INDEX};
    int64_t n = c->num[0], k = c->num[1], alike = (int64_t)cpu_sort_lanes_scratch(&side_by_side);
    out->scratch = n * (int64_t)word * (half ? 1 : 2);
    if (is_few((uint32_t)n, (uint32_t)k))
        out->scratch = (int64_t)cpu_sort_few_scratch((uint32_t)n, element[t].bytes) +
                       2 * (int64_t)word * RG_MAX(2 * k, MOST_RANKED);
    out->scratch = RG_MAX(RG_MAX(out->scratch, alike), RG_MAX(n, TABLES_8 * 256) * 8);
    if (what >= TOPK && n <= WHOLE) out->scratch = RG_MAX(out->scratch, 2 * n * 8);
    return true;
}
