/* sort_few.c: the first few of a long row: candidates by a bound, compared in vectors.
 *
 * The elements are dealt to groups, twice as many as are wanted or more; the least of each group is found in vectors. A bound
 * that as many of these as are wanted do not exceed leaves few candidates: their indices are collected in one more pass, and
 * sorted by rank if they are few. A long row goes piece by piece: the candidates of the first give the bound of the others,
 * and whenever they have become many, they are reduced to those below a lower one. Of equal ones, the first stay.
 * Keys are those of sort.c as signed numbers, as wide as the element.
 * Tests: tests/unit/call.c; speed: bench/sort.c */
#include "device/cpu/internal.h"
#ifdef __x86_64__
#include <immintrin.h>
#endif

enum {
    FIRST = 1 << 11, /* elements of a long row that give a bound, or .. */
    PER_WANTED = 16, /* .. for each that is wanted */
    PIECE = 1 << 14, /* of the others, which are compared with it */
    MANY = 256,      /* candidates above those wanted that are worth a lower bound */
    AT_ONCE = 64,    /* vectors whose matches are counted in lanes of a byte */
};

struct first_few {
    const void *x;
    void *keys;          /* room for n of them */
    uint32_t *candidate; /* room for n and a vector */
    uint32_t n, k, count;
    int64_t inf, top,
        down; /* of floats: infinity; unsigned: the sign bit; all bits: the greatest come first */
};

/* Lanes that are -1, counted: four times 16 bits, or two times 32. */
static inline uint32_t sum_words(const uint64_t *w, uint32_t n, uint32_t bytes) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += bytes == 1   ? (w[i] & 0x00ff00ff00ff00ffu) + (w[i] >> 8 & 0x00ff00ff00ff00ffu)
               : bytes == 2 ? (w[i] & 0x0000ffff0000ffffu) + (w[i] >> 16 & 0x0000ffff0000ffffu)
               : bytes == 4 ? (w[i] & 0xffffffffu) + (w[i] >> 32)
                            : w[i];
    if (bytes == 1) sum = (sum & 0x0000ffff0000ffffu) + (sum >> 16 & 0x0000ffff0000ffffu);
    return (uint32_t)(bytes <= 2 ? (sum & 0xffffffffu) + (sum >> 32) : sum);
}

/* Indices of the lanes whose key is at most the bound: those of others are overwritten. */
#define APPEND_LANES(S, VB)                                \
    uint64_t word[VB / 8], some = 0;                       \
    memcpy(word, &hit, sizeof word);                       \
    for (uint32_t w = 0; w < VB / 8; w++) some |= word[w]; \
    if (!some) continue;                                   \
    S lane[VB / sizeof(S)];                                \
    memcpy(lane, &hit, sizeof lane);                       \
    for (uint32_t l = 0; l < VB / sizeof(S); l++) to[count] = i + l, count += (uint32_t)-lane[l];
#define APPEND_MASK(S, VB)                                                                    \
    uint64_t mask = sizeof(S) == 1   ? (uint64_t)_mm512_movepi8_mask((__m512i)hit)            \
                    : sizeof(S) == 2 ? (uint64_t)_mm512_movepi16_mask((__m512i)hit)           \
                    : sizeof(S) == 4 ? (uint64_t)_mm512_movepi32_mask((__m512i)hit)           \
                                     : (uint64_t)_mm512_movepi64_mask((__m512i)hit);          \
    if (!mask) continue;                                                                      \
    for (uint32_t l = 0; l < VB / sizeof(S); l += 16, mask >>= 16) {                          \
        __m512i index = _mm512_add_epi32(first, _mm512_set1_epi32((int)(i + l)));             \
        _mm512_storeu_si512(to + count, _mm512_maskz_compress_epi32((__mmask16)mask, index)); \
        count += (uint32_t)__builtin_popcount((uint32_t)mask & 0xffff);                       \
    }
#define NO_LANES
#define FIRST_LANES \
    const __m512i first = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);

/* For one width of elements, in vectors of VB bytes. */
#define FEW(S, VB, TARGET, BEGIN, APPEND, suffix)                                                               \
    typedef S vec_##S##suffix __attribute__((vector_size(VB), aligned(sizeof(S)), may_alias));                  \
    /* Nearly the key: -0 is below 0, and NaN is where its bits are: below -inf with a sign, else above inf. */ \
    TARGET static inline vec_##S##suffix key_##S##suffix(const struct first_few *f, const S *x) {               \
        vec_##S##suffix v = *(const vec_##S##suffix *)x;                                                        \
        if (f->inf) v ^= (v < 0) & (S)(((uint64_t)1 << (8 * sizeof(S) - 1)) - 1);                               \
        return v ^ (S)(f->top ^ f->down);                                                                       \
    }                                                                                                           \
    TARGET static S key_of_##S##suffix(const struct first_few *f, uint32_t i) {                                 \
        S x = ((const S *)f->x)[i], most = (S)(((uint64_t)1 << (8 * sizeof(S) - 1)) - 1), mag = x & most;       \
        S key = x ^ (S)f->top;                                                                                  \
        if (f->inf && x < 0) key ^= most;                                                                       \
        if (f->inf && mag == 0) key = 0;                                                                        \
        if (f->inf && mag > (S)f->inf) key = most;                                                              \
        return key ^ (S)f->down;                                                                                \
    }                                                                                                           \
    TARGET static inline vec_##S##suffix least_##S##suffix(vec_##S##suffix a, vec_##S##suffix b) {              \
        return a ^ ((a ^ b) & (b < a));                                                                         \
    }                                                                                                           \
    /* The least of each group: element i is in group i % groups. The last elements may be in none. */          \
    TARGET static void minima_##S##suffix(const struct first_few *f, uint32_t n, uint32_t groups,               \
                                          S *least) {                                                           \
        enum { L = VB / sizeof(S) };                                                                            \
        typedef vec_##S##suffix vec;                                                                            \
        const S *x = f->x;                                                                                      \
        uint32_t i = groups;                                                                                    \
        for (uint32_t g = 0; g < groups; g += L) *(vec *)(least + g) = key_##S##suffix(f, x + g);               \
        if (groups == 4 * L) {                                                                                  \
            vec m[4];                                                                                           \
            memcpy(m, least, sizeof m);                                                                         \
            for (; i + 4 * L <= n; i += 4 * L)                                                                  \
                for (uint32_t g = 0; g < 4; g++)                                                                \
                    m[g] = least_##S##suffix(m[g], key_##S##suffix(f, x + i + g * L));                          \
            memcpy(least, m, sizeof m);                                                                         \
        }                                                                                                       \
        for (uint32_t g = 0; i + L <= n; i += L, g = g + L < groups ? g + L : 0)                                \
            *(vec *)(least + g) = least_##S##suffix(*(vec *)(least + g), key_##S##suffix(f, x + i));            \
    }                                                                                                           \
    /* How many of n keys, whole vectors, are at most the bound. */                                             \
    TARGET static uint32_t at_most_##S##suffix(const S *key, uint32_t n, S bound) {                             \
        enum { L = VB / sizeof(S) };                                                                            \
        uint32_t count = 0;                                                                                     \
        for (uint32_t i = 0; i < n; i += AT_ONCE * L) {                                                         \
            vec_##S##suffix some = {0};                                                                         \
            uint64_t word[VB / 8];                                                                              \
            for (uint32_t j = i; j < RG_MIN(n, i + AT_ONCE * L); j += L)                                        \
                some -= *(const vec_##S##suffix *)(key + j) <= bound;                                           \
            memcpy(word, &some, sizeof word);                                                                   \
            count += sum_words(word, VB / 8, sizeof(S));                                                        \
        }                                                                                                       \
        return count;                                                                                           \
    }                                                                                                           \
    /* A bound of at least k of n keys and not many more, where they are not equal; *many: how many. */         \
    TARGET static S bound_##S##suffix(const S *key, uint32_t n, uint32_t k, uint32_t *many) {                   \
        enum { L = VB / sizeof(S) };                                                                            \
        vec_##S##suffix low = *(const vec_##S##suffix *)key, high = low;                                        \
        for (uint32_t i = L; i < n; i += L) {                                                                   \
            vec_##S##suffix v = *(const vec_##S##suffix *)(key + i);                                            \
            low = least_##S##suffix(low, v), high = ~least_##S##suffix(~high, ~v);                              \
        }                                                                                                       \
        S lo = low[0], hi = high[0];                                                                            \
        for (uint32_t l = 1; l < L; l++) lo = RG_MIN(lo, low[l]), hi = RG_MAX(hi, high[l]);                     \
        *many = n, low = lo - (vec_##S##suffix){0};                                                             \
        while (lo<hi && * many> k + k / 4) {                                                                    \
            S mid = (S)((lo & hi) + ((lo ^ hi) >> 1));                                                          \
            uint32_t here = at_most_##S##suffix(key, n, mid);                                                   \
            if (here >= k)                                                                                      \
                hi = mid, *many = here;                                                                         \
            else                                                                                                \
                lo = (S)(mid + 1);                                                                              \
        }                                                                                                       \
        high = low; /* the greatest of those */                                                                 \
        for (uint32_t i = 0; i < n; i += L) {                                                                   \
            vec_##S##suffix v = *(const vec_##S##suffix *)(key + i), above = v > hi;                            \
            high = ~least_##S##suffix(~high, ~((v & ~above) | (low & above)));                                  \
        }                                                                                                       \
        S most = high[0];                                                                                       \
        for (uint32_t l = 1; l < L; l++) most = RG_MAX(most, high[l]);                                          \
        return most;                                                                                            \
    }                                                                                                           \
    /* Indices from `i` to `end` with a key that is at most the bound, and perhaps zeros and NaN. */            \
    TARGET static void collect_##S##suffix(struct first_few *f, uint32_t i, uint32_t end, S bound) {            \
        uint32_t *to = f->candidate, count = f->count;                                                          \
        const S *x = f->x;                                                                                      \
        S most = (S)(((uint64_t)1 << (8 * sizeof(S) - 1)) - 1), low = bound, high = most;                       \
        if (f->inf && f->down) { /* NaN is below any bound, -0 not above 0 */                                   \
            low = RG_MAX(bound, (S)(~f->inf - 1)), high = (S)f->inf;                                            \
            if (low == -1) low = 0;                                                                             \
        }                                                                                                       \
        BEGIN                                                                                                   \
        for (; i + VB / sizeof(S) <= end; i += VB / sizeof(S)) {                                                \
            vec_##S##suffix key = key_##S##suffix(f, x + i), hit = (key <= low) | (key > high);                 \
            APPEND(S, VB)                                                                                       \
        }                                                                                                       \
        for (; i < end; i++) to[count] = i, count += key_of_##S##suffix(f, i) <= bound;                         \
        f->count = count;                                                                                       \
    }                                                                                                           \
    /* The keys of the candidates, and the greatest number behind them, up to whole vectors. */                 \
    TARGET static uint32_t gather_##S##suffix(struct first_few *f) {                                            \
        enum { L = VB / sizeof(S) };                                                                            \
        S *key = f->keys;                                                                                       \
        uint32_t i = 0;                                                                                         \
        for (; i < f->count; i++) key[i] = key_of_##S##suffix(f, f->candidate[i]);                              \
        for (; i % L; i++) key[i] = (S)(((uint64_t)1 << (8 * sizeof(S) - 1)) - 1);                              \
        return i;                                                                                               \
    }                                                                                                           \
    /* Candidates below a lower bound, or the first at it: k of them or not many more. Returns the bound. */    \
    TARGET static S reduce_##S##suffix(struct first_few *f) {                                                   \
        const S *key = f->keys;                                                                                 \
        uint32_t all = f->count, many, less = 0;                                                                \
        S bound = bound_##S##suffix(key, gather_##S##suffix(f), f->k, &many);                                   \
        for (uint32_t i = 0; i < all; i++) less += key[i] < bound;                                              \
        uint32_t equal = many > f->k + f->k / 4 ? f->k - less : all; /* the bound is the k-th then */           \
        f->count = 0;                                                                                           \
        for (uint32_t i = 0; i < all; i++) {                                                                    \
            bool here = key[i] == bound && equal > 0;                                                           \
            f->candidate[f->count] = f->candidate[i];                                                           \
            f->count += here || key[i] < bound, equal -= here;                                                  \
        }                                                                                                       \
        return bound;                                                                                           \
    }                                                                                                           \
    /* Each goes where as many lesser ones are, and equal ones before it. */                                    \
    TARGET static void rank_##S##suffix(struct first_few *f) {                                                  \
        enum { L = VB / sizeof(S) };                                                                            \
        uint32_t from[MOST_RANKED], n = f->count;                                                               \
        const S *key = f->keys;                                                                                 \
        vec_##S##suffix lane;                                                                                   \
        gather_##S##suffix(f);                                                                                  \
        memcpy(from, f->candidate, n * sizeof *from);                                                           \
        for (uint32_t l = 0; l < L; l++) lane[l] = (S)l;                                                        \
        for (uint32_t i = 0; i < n; i += L) {                                                                   \
            vec_##S##suffix v = *(const vec_##S##suffix *)(key + i), before = {0};                              \
            uint32_t j = 0;                                                                                     \
            for (; j < i; j++) before -= v >= key[j];                                                           \
            for (; j < RG_MIN(n, i + L); j++)                                                                   \
                before -= (v > key[j]) | ((v == key[j]) & (lane > (S)(j - i)));                                 \
            for (; j < n; j++) before -= v > key[j];                                                            \
            for (uint32_t l = 0; l < RG_MIN(L, n - i); l++) f->candidate[(uint32_t)before[l]] = from[i + l];    \
        }                                                                                                       \
    }                                                                                                           \
    TARGET static bool few_##S##suffix(struct first_few *f) {                                                   \
        enum { L = VB / sizeof(S) };                                                                            \
        uint32_t first = RG_MIN(f->n, RG_MAX((uint32_t)FIRST, PER_WANTED * f->k)), many;                        \
        uint32_t groups = RG_MAX((2 * f->k + L - 1) / L, 1) * L;                                                \
        if (groups < 4 * L && first >= 8 * L) groups = 4 * L;                                                   \
        if (groups > first) groups = first / L * L;                                                             \
        S most = (S)(((uint64_t)1 << (8 * sizeof(S) - 1)) - 1), bound = most;                                   \
        if (groups >= f->k) {                                                                                   \
            minima_##S##suffix(f, first, groups, f->keys);                                                      \
            bound = bound_##S##suffix(f->keys, groups, f->k, &many);                                            \
            if (f->inf && !f->down && bound == -1) bound = 0;                                                   \
            if (f->inf && !f->down && at_most_##S##suffix(f->keys, groups, (S)(~f->inf - 1))) bound = most;     \
        }                                                                                                       \
        collect_##S##suffix(f, 0, first, bound);                                                                \
        for (uint32_t i = first, end; i < f->n; i = end) {                                                      \
            end = f->n - i < PIECE ? f->n : i + PIECE;                                                          \
            if (f->count > f->k + RG_MAX(f->k, (uint32_t)MANY) || i == first) {                                 \
                bound = reduce_##S##suffix(f);                                                                  \
                if (bound == (S)((uint64_t)1 << (8 * sizeof(S) - 1))) break;                                    \
                bound--; /* later ones must be less */                                                          \
            }                                                                                                   \
            collect_##S##suffix(f, i, end, bound);                                                              \
        }                                                                                                       \
        if (f->count > MOST_RANKED && f->count > f->k + f->k / 4) reduce_##S##suffix(f);                        \
        if (f->count > MOST_RANKED) return false;                                                               \
        rank_##S##suffix(f);                                                                                    \
        return true;                                                                                            \
    }
#define FEWS(VB, TARGET, BEGIN, APPEND, suffix)                                                         \
    FEW(int8_t, VB, TARGET, BEGIN, APPEND, suffix)                                                      \
    FEW(int16_t, VB, TARGET, BEGIN, APPEND, suffix)                                                     \
    FEW(int32_t, VB, TARGET, BEGIN, APPEND, suffix)                                                     \
    FEW(int64_t, VB, TARGET, BEGIN, APPEND, suffix)                                                     \
    static bool (*const fews##suffix[])(struct first_few *) = {few_int8_t##suffix, few_int16_t##suffix, \
                                                               few_int32_t##suffix, few_int64_t##suffix};
FEWS(16, , NO_LANES, APPEND_LANES, )
#ifdef __x86_64__
FEWS(32, __attribute__((target("avx2"))), NO_LANES, APPEND_LANES, _avx2)
FEWS(64, __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,popcnt"))), FIRST_LANES, APPEND_MASK,
     _avx512)
#endif

static bool (*few_of(uint32_t bytes))(struct first_few *) {
    uint32_t width = (uint32_t)__builtin_ctz(bytes);
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        return fews_avx512[width];
    if (__builtin_cpu_supports("avx2")) return fews_avx2[width];
#endif
    return fews[width];
}

enum { OVER = 128 }; /* bytes that a last vector may take */

static size_t candidate_bytes(uint32_t n) { return ((size_t)n * 4 + OVER) / OVER * OVER + OVER; }

size_t cpu_sort_few_scratch(uint32_t n, uint32_t bytes) {
    return candidate_bytes(n) + ((size_t)n * bytes + OVER) / OVER * OVER + OVER;
}

uint32_t cpu_sort_few(const struct lane_sort *s, bool *sorted) {
    uint64_t all = UINT64_MAX >> (64 - 8 * s->bytes);
    struct first_few f = {.x = s->x,
                          .keys = (char *)s->scratch + candidate_bytes(s->n),
                          .candidate = s->scratch,
                          .n = s->n,
                          .k = s->k,
                          .inf = (int64_t)s->inf,
                          .top = s->is_signed ? 0 : (int64_t)(all ^ all >> 1),
                          .down = s->down ? -1 : 0};
    *sorted = few_of(s->bytes)(&f);
    return f.count;
}
