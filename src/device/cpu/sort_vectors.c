/* sort_vectors.c: one row of unsigned words sorted in SIMD vectors: quicksort whose parts end in a sorting network.
 *
 * A vector is compared with the pivot and packed twice: lesser words over what was read of the row, the others to a second
 * array, from where they are copied behind the lesser ones. No branch depends on a comparison. Up to SMALLEST vectors are
 * sorted in registers: each lane's column, then columns merged in pairs by bitonic merges (word i of lane l of V vectors
 * stands for position l * V + i), at last the interleaving of the columns. Equal words are not told apart: who needs their
 * order has an index in them.
 * A row whose pivots are bad too often is given up: the caller sorts by digits.
 * Tests: tests/unit/call.c; speed: bench/sort.c */
#include "device/cpu/internal.h"

#ifdef __x86_64__
#include <immintrin.h>

#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,popcnt")))
#define INLINE TARGET static inline __attribute__((always_inline))
#define UNROLLED _Pragma("GCC unroll 16")

enum { SMALLEST = 16 }; /* vectors: with what is computed of them they fit the registers */

typedef __m512i vec;

/* B: bits of a word; W: its type; L: lanes. */
#define OPS(B, W, L)                                                                                     \
    INLINE vec lanes_##B(void) {                                                                         \
        W n[L];                                                                                          \
        UNROLLED for (uint32_t l = 0; l < L; l++) n[l] = l;                                              \
        return _mm512_loadu_si512(n);                                                                    \
    }                                                                                                    \
    INLINE void exchange_##B(vec *a, vec *b) {                                                           \
        vec x = *a, y = *b;                                                                              \
        *a = _mm512_min_epu##B(x, y), *b = _mm512_max_epu##B(x, y);                                      \
    }                                                                                                    \
    /* The network's last stages: vectors n/2, n/4 .. 1 apart. */                                        \
    INLINE void apart_##B(vec *v, const uint32_t n, const uint32_t apart) {                              \
        UNROLLED for (uint32_t i = 0; i < n; i++) if (!(i & apart)) exchange_##B(v + i, v + i + apart);  \
    }                                                                                                    \
    INLINE void bitonic_##B(vec *v, const uint32_t n, const uint32_t of) {                               \
        if (of > 8) apart_##B(v, n, 8);                                                                  \
        if (of > 4) apart_##B(v, n, 4);                                                                  \
        if (of > 2) apart_##B(v, n, 2);                                                                  \
        if (of > 1) apart_##B(v, n, 1);                                                                  \
    }                                                                                                    \
    /* Columns of 2 * run from sorted ones of `run`. */                                                  \
    INLINE void runs_##B(vec *v, const uint32_t n, const uint32_t run) {                                 \
        UNROLLED for (uint32_t i = 0; i < n; i++) if (!(i & run))                                        \
            exchange_##B(v + i, v + (i ^ (2 * run - 1)));                                                \
        bitonic_##B(v, n, run);                                                                          \
    }                                                                                                    \
    /* Lanes that are `apart`. */                                                                        \
    INLINE void across_##B(vec *v, const uint32_t n, const uint32_t apart) {                             \
        const vec lane = lanes_##B(), other = _mm512_xor_si512(lane, _mm512_set1_epi##B(apart));         \
        const __mmask##L upper = _mm512_test_epi##B##_mask(lane, _mm512_set1_epi##B(apart));             \
        UNROLLED for (uint32_t i = 0; i < n; i++) {                                                      \
            vec x = v[i], y = _mm512_permutexvar_epi##B(other, x);                                       \
            v[i] = _mm512_mask_max_epu##B(_mm512_min_epu##B(x, y), upper, x, y);                         \
        }                                                                                                \
    }                                                                                                    \
    /* Runs of 2 * run columns from sorted ones of `run`. */                                             \
    INLINE void columns_##B(vec *v, const uint32_t n, const uint32_t run) {                              \
        const vec lane = lanes_##B(), mirror = _mm512_xor_si512(lane, _mm512_set1_epi##B(2 * run - 1));  \
        const __mmask##L upper = _mm512_test_epi##B##_mask(lane, _mm512_set1_epi##B(run)),               \
                         lower = (__mmask##L) ~upper;                                                    \
        UNROLLED for (uint32_t i = 0; i < (n + 1) / 2; i++) {                                            \
            vec x = v[i], y = _mm512_permutexvar_epi##B(mirror, v[n - 1 - i]);                           \
            vec least = _mm512_min_epu##B(x, y), most = _mm512_max_epu##B(x, y);                         \
            v[i] = _mm512_mask_mov_epi##B(least, upper, most);                                           \
            if (n == 1) continue;                                                                        \
            y = _mm512_mask_mov_epi##B(least, lower, most);                                              \
            v[n - 1 - i] = _mm512_permutexvar_epi##B(mirror, y);                                         \
        }                                                                                                \
        if (run > 4) across_##B(v, n, 4);                                                                \
        if (run > 2) across_##B(v, n, 2);                                                                \
        if (run > 1) across_##B(v, n, 1);                                                                \
        bitonic_##B(v, n, n);                                                                            \
    }                                                                                                    \
    /* Words of the first half of the vectors before those of the second. */                             \
    INLINE void zip_##B(vec *v, const uint32_t n) {                                                      \
        vec lane = lanes_##B(), half = _mm512_srli_epi##B(lane, 1), t[SMALLEST];                         \
        vec low = _mm512_or_si512(                                                                       \
            half, _mm512_slli_epi##B(_mm512_and_si512(lane, _mm512_set1_epi##B(1)), L == 16 ? 4 : 3));   \
        vec high = _mm512_or_si512(low, _mm512_set1_epi##B(L / 2));                                      \
        UNROLLED for (uint32_t i = 0; i < n / 2; i++) {                                                  \
            t[2 * i] = _mm512_permutex2var_epi##B(v[i], low, v[i + n / 2]);                              \
            t[2 * i + 1] = _mm512_permutex2var_epi##B(v[i], high, v[i + n / 2]);                         \
        }                                                                                                \
        UNROLLED for (uint32_t i = 0; i < n; i++) v[i] = t[i];                                           \
    }                                                                                                    \
    INLINE void network_##B(W *a, const uint32_t vectors, uint32_t n) {                                  \
        vec v[SMALLEST];                                                                                 \
        UNROLLED for (uint32_t i = 0; i < vectors; i++) {                                                \
            uint32_t rest = n > i * L ? n - i * L : 0;                                                   \
            __mmask##L here = (__mmask##L)(rest < L ? (1u << rest) - 1 : (1u << L) - 1);                 \
            v[i] = _mm512_mask_loadu_epi##B(_mm512_set1_epi##B(-1), here, a + i * L);                    \
        }                                                                                                \
        if (vectors > 1) runs_##B(v, vectors, 1);                                                        \
        if (vectors > 2) runs_##B(v, vectors, 2);                                                        \
        if (vectors > 4) runs_##B(v, vectors, 4);                                                        \
        if (vectors > 8) runs_##B(v, vectors, 8);                                                        \
        columns_##B(v, vectors, 1);                                                                      \
        columns_##B(v, vectors, 2);                                                                      \
        columns_##B(v, vectors, 4);                                                                      \
        if (L > 8) columns_##B(v, vectors, 8);                                                           \
        for (uint32_t i = 1; i < vectors; i *= 2) zip_##B(v, vectors);                                   \
        UNROLLED for (uint32_t i = 0; i < vectors; i++) {                                                \
            uint32_t rest = n > i * L ? n - i * L : 0;                                                   \
            __mmask##L here = (__mmask##L)(rest < L ? (1u << rest) - 1 : (1u << L) - 1);                 \
            _mm512_mask_storeu_epi##B(a + i * L, here, v[i]);                                            \
        }                                                                                                \
    }                                                                                                    \
    TARGET static __attribute__((noinline)) void small_##B(W *a, uint32_t n) {                           \
        if (n <= L)                                                                                      \
            network_##B(a, 1, n);                                                                        \
        else if (n <= 2 * L)                                                                             \
            network_##B(a, 2, n);                                                                        \
        else if (n <= 4 * L)                                                                             \
            network_##B(a, 4, n);                                                                        \
        else if (n <= 8 * L)                                                                             \
            network_##B(a, 8, n);                                                                        \
        else                                                                                             \
            network_##B(a, 16, n);                                                                       \
    }                                                                                                    \
    /* Words below the pivot come first: how many they are. b has room for all. */                       \
    TARGET static uint32_t partition_##B(W *a, W *b, uint32_t n, W pivot) {                              \
        vec p = _mm512_set1_epi##B((int##B##_t)pivot);                                                   \
        uint32_t less = 0, other = 0, i = 0;                                                             \
        for (; i + L <= n; i += L) {                                                                     \
            vec x = _mm512_loadu_si512(a + i);                                                           \
            __mmask##L below = _mm512_cmplt_epu##B##_mask(x, p);                                         \
            uint32_t count = (uint32_t)__builtin_popcount(below);                                        \
            _mm512_storeu_si512(a + less, _mm512_maskz_compress_epi##B(below, x));                       \
            _mm512_storeu_si512(b + other, _mm512_maskz_compress_epi##B((__mmask##L) ~below, x));        \
            less += count, other += L - count;                                                           \
        }                                                                                                \
        for (; i < n; i++) {                                                                             \
            W x = a[i];                                                                                  \
            a[less] = b[other] = x;                                                                      \
            less += x < pivot, other += x >= pivot;                                                      \
        }                                                                                                \
        memcpy(a + less, b, other * sizeof *a);                                                          \
        return less;                                                                                     \
    }                                                                                                    \
    TARGET static W pivot_##B(const W *a, uint32_t n) {                                                  \
        W sample[4 * L];                                                                                 \
        uint32_t samples = n < 64 * L ? L : 4 * L;                                                       \
        for (uint32_t i = 0; i < samples; i++) sample[i] = a[(uint64_t)n * (2 * i + 1) / (2 * samples)]; \
        small_##B(sample, samples);                                                                      \
        return sample[samples / 2];                                                                      \
    }                                                                                                    \
    TARGET static bool sort_##B(W *a, W *b, uint32_t n, uint32_t depth) {                                \
        while (n > SMALLEST * L) {                                                                       \
            if (!depth--) return false;                                                                  \
            W pivot = pivot_##B(a, n);                                                                   \
            uint32_t less = partition_##B(a, b, n, pivot);                                               \
            if (less) {                                                                                  \
                if (!sort_##B(a, b, less, depth)) return false;                                          \
            } else if (++pivot) { /* the least: its equals are sorted */                                 \
                less = partition_##B(a, b, n, pivot);                                                    \
            } else {                                                                                     \
                return true;                                                                             \
            }                                                                                            \
            a += less, n -= less;                                                                        \
        }                                                                                                \
        small_##B(a, n);                                                                                 \
        return true;                                                                                     \
    }
OPS(32, uint32_t, 16)
OPS(64, uint64_t, 8)

/* ---- elements and words ----------------------------------------------------------------------------------------- */

static const uint32_t all_lanes = 0xffff;

/* Up to 16 elements of 1, 2 or 4 bytes in lanes of 32 bits, and back. */
INLINE vec load_narrow(const char *x, uint32_t bytes, __mmask16 here) {
    if (bytes == 1) return _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(here, x));
    if (bytes == 2) return _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(here, x));
    return _mm512_maskz_loadu_epi32(here, x);
}

INLINE void store_narrow(char *to, uint32_t bytes, __mmask16 here, vec v) {
    if (bytes == 1)
        _mm_mask_storeu_epi8(to, here, _mm512_cvtepi32_epi8(v));
    else if (bytes == 2)
        _mm256_mask_storeu_epi16(to, here, _mm512_cvtepi32_epi16(v));
    else
        _mm512_mask_storeu_epi32(to, here, v);
}

/* Bits of elements to keys, which are unsigned, and back. again: lanes with a NaN or -0, which share a key with others. */
#define KEYS(B, L)                                                                                           \
    INLINE vec key_##B(vec x, const struct key_form *f, __mmask##L *again) {                                 \
        const vec top = _mm512_set1_epi##B((int##B##_t)f->top),                                              \
                  all = _mm512_set1_epi##B((int##B##_t)f->all);                                              \
        const vec flip = _mm512_set1_epi##B((int##B##_t)f->flip);                                            \
        if (!f->inf) return _mm512_xor_si512(x, _mm512_xor_si512(top, flip));                                \
        vec magnitude = _mm512_andnot_si512(top, x);                                                         \
        __mmask##L nan = _mm512_cmpgt_epu##B##_mask(magnitude, _mm512_set1_epi##B((int##B##_t)f->inf));      \
        __mmask##L zero = _mm512_cmpeq_epi##B##_mask(x, top), negative = _mm512_test_epi##B##_mask(x, top);  \
        vec key = _mm512_xor_si512(x, _mm512_mask_mov_epi##B(top, negative, all));                           \
        key = _mm512_mask_mov_epi##B(_mm512_mask_mov_epi##B(key, nan, all), zero, top);                      \
        *again |= nan | zero;                                                                                \
        return _mm512_xor_si512(key, flip);                                                                  \
    }                                                                                                        \
    INLINE vec element_##B(vec key, const struct key_form *f) {                                              \
        const vec top = _mm512_set1_epi##B((int##B##_t)f->top),                                              \
                  all = _mm512_set1_epi##B((int##B##_t)f->all);                                              \
        key = _mm512_xor_si512(key, _mm512_set1_epi##B((int##B##_t)f->flip));                                \
        if (!f->inf) return _mm512_xor_si512(key, top);                                                      \
        return _mm512_xor_si512(key, _mm512_mask_mov_epi##B(all, _mm512_test_epi##B##_mask(key, top), top)); \
    }
KEYS(32, 16)
KEYS(64, 8)

#define EACH_VECTOR(L)         \
    for (uint32_t i = 0, here; \
         i < n && (here = n - i < L ? (1u << (n - i)) - 1 : all_lanes >> (16 - L), true); i += L)

TARGET static bool keys32(const struct lane_sort *s, const struct key_form *f, uint32_t *to) {
    uint32_t n = s->n;
    __mmask16 again = 0;
    EACH_VECTOR(16) {
        vec x = load_narrow((const char *)s->x + (size_t)i * s->bytes, s->bytes, (__mmask16)here);
        _mm512_mask_storeu_epi32(to + i, (__mmask16)here, key_32(x, f, &again));
    }
    return again;
}

TARGET static bool keys64(const struct lane_sort *s, const struct key_form *f, uint64_t *to) {
    uint32_t n = s->n;
    __mmask8 again = 0;
    EACH_VECTOR(8) {
        vec x = _mm512_maskz_loadu_epi64((__mmask8)here, (const uint64_t *)s->x + i);
        _mm512_mask_storeu_epi64(to + i, (__mmask8)here, key_64(x, f, &again));
    }
    return again;
}

TARGET static void elements32(const struct lane_sort *s, const struct key_form *f, const uint32_t *from) {
    uint32_t n = s->k;
    EACH_VECTOR(16) {
        vec x = element_32(_mm512_maskz_loadu_epi32((__mmask16)here, from + i), f);
        store_narrow((char *)s->out + (size_t)i * s->bytes, s->bytes, (__mmask16)here, x);
    }
}

TARGET static void elements64(const struct lane_sort *s, const struct key_form *f, const uint64_t *from) {
    uint32_t n = s->k;
    EACH_VECTOR(8) {
        vec x = element_64(_mm512_maskz_loadu_epi64((__mmask8)here, from + i), f);
        _mm512_mask_storeu_epi64((uint64_t *)s->out + i, (__mmask8)here, x);
    }
}

/* Keys of up to 16 bits with an index of 16 below, or of up to 32 with one of 32. */
TARGET static void words32(const struct lane_sort *s, const struct key_form *f, uint32_t *to) {
    uint32_t n = s->n;
    __mmask16 again = 0;
    EACH_VECTOR(16) {
        vec x = load_narrow((const char *)s->x + (size_t)i * s->bytes, s->bytes, (__mmask16)here);
        vec index = _mm512_add_epi32(lanes_32(), _mm512_set1_epi32((int)i));
        x = _mm512_or_si512(_mm512_slli_epi32(key_32(x, f, &again), 16), index);
        _mm512_mask_storeu_epi32(to + i, (__mmask16)here, x);
    }
}

TARGET static void words64(const struct lane_sort *s, const struct key_form *f, uint64_t *to) {
    uint32_t n = s->n;
    __mmask16 again = 0;
    EACH_VECTOR(8) {
        vec x = load_narrow((const char *)s->x + (size_t)i * s->bytes, s->bytes, (__mmask16)here);
        x = _mm512_cvtepu32_epi64(_mm512_castsi512_si256(key_32(x, f, &again)));
        vec index = _mm512_add_epi64(lanes_64(), _mm512_set1_epi64(i));
        _mm512_mask_storeu_epi64(to + i, (__mmask8)here, _mm512_or_si512(_mm512_slli_epi64(x, 32), index));
    }
}

TARGET static void indices32(const struct lane_sort *s, const uint32_t *from) {
    uint32_t n = s->k;
    EACH_VECTOR(8) {
        vec x = _mm512_cvtepu32_epi64(_mm256_maskz_loadu_epi32((__mmask8)here, from + i));
        _mm512_mask_storeu_epi64((int64_t *)s->out + i, (__mmask8)here,
                                 _mm512_and_si512(x, _mm512_set1_epi64(0xffff)));
    }
}

TARGET static void indices64(const struct lane_sort *s, const uint64_t *from) {
    uint32_t n = s->k;
    EACH_VECTOR(8) {
        vec x = _mm512_maskz_loadu_epi64((__mmask8)here, from + i);
        _mm512_mask_storeu_epi64((int64_t *)s->out + i, (__mmask8)here,
                                 _mm512_and_si512(x, _mm512_set1_epi64(0xffffffff)));
    }
}

bool cpu_has_sort_vectors(void) {
    return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}

static uint32_t depth_of(uint32_t n) { return 2 * (32 - (uint32_t)__builtin_clz(n | 1)); }

bool cpu_sort_words32(uint32_t *a, uint32_t *b, uint32_t n) {
    return cpu_has_sort_vectors() && sort_32(a, b, n, depth_of(n));
}
bool cpu_sort_words64(uint64_t *a, uint64_t *b, uint32_t n) {
    return cpu_has_sort_vectors() && sort_64(a, b, n, depth_of(n));
}

bool cpu_sort_vectors(const struct lane_sort *s) {
    struct key_form f = cpu_key_form(s);
    bool same =
        s->k == s->n && (s->indices || s->bytes >= 4); /* the result is as long as the words, or longer */
    void *a = s->scratch,
         *b = same ? s->out : (char *)a + (size_t)s->n * (s->indices || s->bytes == 8 ? 8 : 4);
    bool again;
    if (!cpu_has_sort_vectors() || (s->indices && s->bytes == 8)) return false;
    if (s->indices && s->bytes <= 2 && s->n <= 1 << 16) {
        words32(s, &f, a);
        if (!sort_32(a, b, s->n, depth_of(s->n))) return false;
        indices32(s, a);
    } else if (s->indices) {
        words64(s, &f, a);
        if (!sort_64(a, b, s->n, depth_of(s->n))) return false;
        indices64(s, a);
    } else if (s->bytes == 8) {
        again = keys64(s, &f, a);
        if (!sort_64(a, b, s->n, depth_of(s->n))) return false;
        elements64(s, &f, a);
        if (again) cpu_sort_again(s, &f);
    } else {
        again = keys32(s, &f, a);
        if (!sort_32(a, b, s->n, depth_of(s->n))) return false;
        elements32(s, &f, a);
        if (again) cpu_sort_again(s, &f);
    }
    return true;
}
#else
bool cpu_has_sort_vectors(void) { return false; }
bool cpu_sort_words32(uint32_t *a, uint32_t *b, uint32_t n) { return (void)a, (void)b, (void)n, false; }
bool cpu_sort_words64(uint64_t *a, uint64_t *b, uint32_t n) { return (void)a, (void)b, (void)n, false; }
bool cpu_sort_vectors(const struct lane_sort *s) { return (void)s, false; }
#endif
