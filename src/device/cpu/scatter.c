/* scatter.c: scatter along a row: what several elements do to one index: the last writer (winner), maximum, minimum,
 * product, sum; the indices of a mask's true elements (nonzero), and what is there (select). One iteration is one row, in order: the result does not
 * depend on threads. An index out of range is clamped, as a gather's is. 16-bit floats are rounded each time, as additions to
 * memory are.
 * Tests: tests/unit/call.c, tests/values/index.txt */
#include "device/cpu/internal.h"

#include <endian.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

static inline int64_t clamp_index(int64_t i, int64_t size) { return i < 0 ? 0 : i < size ? i : size - 1; }

/* A function by rows: n elements of `in` to `size` of `out`. var: n, size. */
#define ROWS(name, T, U, IN, ...)                                                                           \
    static void name##_##T(void *const *buf, const int64_t *var, uint32_t t0, uint32_t t1, void *scratch) { \
        int64_t n = var[0], size = var[1];                                                                  \
        (void)scratch;                                                                                      \
        for (; t0 < t1; t0++) {                                                                             \
            U *out = (U *)buf[0] + t0 * size;                                                               \
            const IN *in = (const IN *)buf[1] + t0 * n;                                                     \
            __VA_ARGS__                                                                                     \
        }                                                                                                   \
    }

/* in: an index; out: targets. */
#define WINNER(T, U)                                                                    \
    ROWS(winner, T, U, int64_t, memset(out, 0xff, (size_t)size * sizeof *out); /* -1 */ \
         for (int64_t j = 0; j < n; j++) out[clamp_index(in[j], size)] = (U)j;)
WINNER(i32, int32_t)
WINNER(i64, int64_t)

enum { COMPACTED = 1 << 14 }; /* elements of a row that are worth a table */

/* For each mask of 8 elements: which are true, first ones first. */
static void table_of_masks(uint8_t (*table)[8]) {
    memset(table, 0, 256 * sizeof *table);
    for (uint32_t mask = 0; mask < 256; mask++)
        for (uint8_t i = 0, n = 0; i < 8; i++)
            if (mask >> i & 1) table[mask][n++] = i;
}

/* Eight bools as bits; the lowest address is the lowest bit. *count: how many are true; not every machine counts bits. */
static inline uint32_t mask_of(const uint8_t *p, int64_t *count) {
    uint64_t x;
    memcpy(&x, p, sizeof x);
    x = le64toh(x) & 0x0101010101010101u;
    *count = (int64_t)(x * 0x0101010101010101u >> 56);
    return (uint32_t)(x * 0x0102040810204080u >> 56);
}

typedef uint8_t bytes8 __attribute__((vector_size(8)));
typedef int32_t vec8_i32 __attribute__((vector_size(32)));
typedef int64_t vec8_i64 __attribute__((vector_size(64)));

/* The first indices of a row's true elements, by eight: what follows the true ones is overwritten. *at: how many there are. */
#define COMPACT(T, U)                                                                             \
    static int64_t compact_##T(const uint8_t *in, int64_t n, U *out, int64_t size, int64_t *at) { \
        uint8_t table[256][8];                                                                    \
        int64_t j = 0, found = *at, more;                                                         \
        table_of_masks(table);                                                                    \
        for (; j + 8 <= n && found + 8 <= size; j += 8, found += more) {                          \
            bytes8 which;                                                                         \
            memcpy(&which, table[mask_of(in + j, &more)], sizeof which);                          \
            vec8_##T index = __builtin_convertvector(which, vec8_##T) + (U)j;                     \
            memcpy(out + found, &index, sizeof index);                                            \
        }                                                                                         \
        *at = found;                                                                              \
        return j;                                                                                 \
    }
#ifdef __x86_64__
/* The same by 64, with an instruction that packs the lanes of a mask. */
#define COMPACT_AVX512(T, U, LANES, START, ADD, SET, PACK)                                           \
    __attribute__((target("avx512f,avx512bw,popcnt"))) static int64_t compact_avx512_##T(            \
        const uint8_t *in, int64_t n, U *out, int64_t size, int64_t *at) {                           \
        int64_t j = 0, found = *at;                                                                  \
        for (; j + 64 <= n && found + 64 <= size; j += 64) {                                         \
            __m512i x = _mm512_loadu_si512(in + j), index = ADD(START, SET((U)j));                   \
            for (uint64_t mask = _mm512_test_epi8_mask(x, x), k = 0; k < 64 / LANES; k++) {          \
                _mm512_storeu_si512(out + found, PACK((uint32_t)mask & ((1u << LANES) - 1), index)); \
                found += __builtin_popcount((uint32_t)mask & ((1u << LANES) - 1));                   \
                index = ADD(index, SET(LANES)), mask >>= LANES;                                      \
            }                                                                                        \
        }                                                                                            \
        *at = found;                                                                                 \
        return j;                                                                                    \
    }
#define PACK_I32(m, v) _mm512_maskz_compress_epi32((__mmask16)(m), v)
#define PACK_I64(m, v) _mm512_maskz_compress_epi64((__mmask8)(m), v)
COMPACT_AVX512(i32, int32_t, 16, _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
               _mm512_add_epi32, _mm512_set1_epi32, PACK_I32)
COMPACT_AVX512(i64, int64_t, 8, _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7), _mm512_add_epi64,
               _mm512_set1_epi64, PACK_I64)
#define COMPACT_WIDE(T)                                       \
    if (n >= COMPACTED && __builtin_cpu_supports("avx512bw")) \
        j = compact_avx512_##T(in, n, out, size, &found);
#else
#define COMPACT_WIDE(T) \
    if (false) {}
#endif

/* in: a mask. A false element is overwritten by the next: no branch. */
#define NONZERO(T, U)                                                                        \
    COMPACT(T, U)                                                                            \
    ROWS(nonzero, T, U, uint8_t, int64_t found = 0, j = 0, at;                               \
         COMPACT_WIDE(T) else if (n >= COMPACTED) j = compact_##T(in, n, out, size, &found); \
         for (at = found; j < n && at < size; j++) out[at] = (U)j, at += in[j] != 0;         \
         memset(out + at, 0xff, (size_t)(size - at) * sizeof *out);                          \
         /* -1 */)
NONZERO(i32, int32_t)
NONZERO(i64, int64_t)

/* ---- elements where a mask is true --------------------------------------------------------------------------------- */

/* The first elements of a row, in vectors; what follows the true ones is overwritten. *at: how many they are. */
#ifdef __aarch64__
#include <arm_neon.h>

static const uint8_t each2[16] = {0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7},
                     part2[16] = {0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1},
                     each4[16] = {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3},
                     part4[16] = {0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3};

/* By eight: a byte of the table says which; the bytes of its element are looked up. */
static int64_t pack_lanes(const uint8_t *x, const uint8_t *mask, int64_t n, uint8_t *out, int64_t size,
                          uint32_t bytes, int64_t *at) {
    uint8_t table[256][8];
    int64_t j = 0, found = *at, more;
    if (bytes > 4 || n < COMPACTED) return 0;
    table_of_masks(table);
    for (; j + 8 <= n && found + 8 <= size; j += 8, found += more) {
        uint8x16_t which = vcombine_u8(vld1_u8(table[mask_of(mask + j, &more)]), vdup_n_u8(0)), index;
        const uint8_t *from = x + j * bytes;
        uint8_t *to = out + found * bytes;
        if (bytes == 1) {
            vst1_u8(to, vtbl1_u8(vld1_u8(from), vget_low_u8(which)));
        } else if (bytes == 2) {
            index = vaddq_u8(vshlq_n_u8(vqtbl1q_u8(which, vld1q_u8(each2)), 1), vld1q_u8(part2));
            vst1q_u8(to, vqtbl1q_u8(vld1q_u8(from), index));
        } else {
            uint8x16x2_t all = {{vld1q_u8(from), vld1q_u8(from + 16)}};
            for (uint8_t half = 0; half < 2; half++) {
                index = vqtbl1q_u8(which, vaddq_u8(vld1q_u8(each4), vdupq_n_u8((uint8_t)(4 * half))));
                index = vaddq_u8(vshlq_n_u8(index, 2), vld1q_u8(part4));
                vst1q_u8(to + 16 * half, vqtbl2q_u8(all, index));
            }
        }
    }
    *at = found;
    return j;
}
#elif defined(__x86_64__)
/* By 64, with an instruction that packs the lanes of a mask. */
#define PACK(U, LANES, TARGET, COMPRESS)                                                                 \
    __attribute__((target("avx512f,avx512bw,popcnt," TARGET))) static int64_t pack_##U(                  \
        const void *from, const uint8_t *mask, int64_t n, void *to, int64_t size, int64_t *at) {         \
        const U *x = from;                                                                               \
        U *out = to;                                                                                     \
        int64_t j = 0, found = *at;                                                                      \
        for (; j + 64 <= n && found + 64 <= size; j += 64) {                                             \
            __m512i m = _mm512_loadu_si512(mask + j);                                                    \
            uint64_t bits = _mm512_test_epi8_mask(m, m);                                                 \
            for (uint32_t k = 0; k < 64 / LANES; k++) {                                                  \
                uint64_t here =                                                                          \
                    LANES == 64 ? bits : bits >> (k * LANES % 64) & (((uint64_t)1 << LANES % 64) - 1);   \
                _mm512_storeu_si512(out + found, COMPRESS(here, _mm512_loadu_si512(x + j + k * LANES))); \
                found += __builtin_popcountll(here);                                                     \
            }                                                                                            \
        }                                                                                                \
        *at = found;                                                                                     \
        return j;                                                                                        \
    }
#define PACK_8(m, v) _mm512_maskz_compress_epi8((__mmask64)(m), v)
#define PACK_16(m, v) _mm512_maskz_compress_epi16((__mmask32)(m), v)
PACK(uint8_t, 64, "avx512vbmi2", PACK_8)
PACK(uint16_t, 32, "avx512vbmi2", PACK_16)
PACK(uint32_t, 16, "avx512f", PACK_I32)
PACK(uint64_t, 8, "avx512f", PACK_I64)

/* The same of narrow elements in lanes of 32 bits, by 16, where no instruction packs them as they are. */
#define PACK_WIDENED(U, WIDEN, NARROW)                                                           \
    __attribute__((target("avx512f,avx512bw,avx512vl,popcnt"))) static int64_t pack_widened_##U( \
        const void *from, const uint8_t *mask, int64_t n, void *to, int64_t size, int64_t *at) { \
        const U *x = from;                                                                       \
        U *out = to;                                                                             \
        int64_t j = 0, found = *at;                                                              \
        for (; j + 16 <= n && found + 16 <= size; j += 16) {                                     \
            __m128i m = _mm_loadu_si128((const void *)(mask + j));                               \
            __mmask16 here = _mm_test_epi8_mask(m, m);                                           \
            __m512i packed = _mm512_maskz_compress_epi32(here, WIDEN(x + j));                    \
            NARROW(out + found, packed);                                                         \
            found += __builtin_popcount(here);                                                   \
        }                                                                                        \
        *at = found;                                                                             \
        return j;                                                                                \
    }
#define WIDEN_8(p) _mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)(p)))
#define WIDEN_16(p) _mm512_cvtepu16_epi32(_mm256_loadu_si256((const void *)(p)))
#define NARROW_8(p, v) _mm_storeu_si128((void *)(p), _mm512_cvtepi32_epi8(v))
#define NARROW_16(p, v) _mm256_storeu_si256((void *)(p), _mm512_cvtepi32_epi16(v))
PACK_WIDENED(uint8_t, WIDEN_8, NARROW_8)
PACK_WIDENED(uint16_t, WIDEN_16, NARROW_16)

static int64_t pack_lanes(const uint8_t *x, const uint8_t *mask, int64_t n, uint8_t *out, int64_t size,
                          uint32_t bytes, int64_t *at) {
    bool narrow = __builtin_cpu_supports("avx512vbmi2");
    if (!__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512vl")) return 0;
    return (bytes == 1   ? narrow ? pack_uint8_t : pack_widened_uint8_t
            : bytes == 2 ? narrow ? pack_uint16_t : pack_widened_uint16_t
            : bytes == 4 ? pack_uint32_t
                         : pack_uint64_t)(x, mask, n, out, size, at);
}
#else
static int64_t pack_lanes(const uint8_t *x, const uint8_t *mask, int64_t n, uint8_t *out, int64_t size,
                          uint32_t bytes, int64_t *at) {
    (void)x, (void)mask, (void)n, (void)out, (void)size, (void)bytes, (void)at;
    return 0;
}
#endif

/* in: x, a mask of it. A false element is overwritten by the next: no branch. var: n, size. */
#define SELECT(U)                                                                                           \
    static void select_##U(void *const *buf, const int64_t *var, uint32_t t0, uint32_t t1, void *scratch) { \
        int64_t n = var[0], size = var[1];                                                                  \
        (void)scratch;                                                                                      \
        for (; t0 < t1; t0++) {                                                                             \
            U *out = (U *)buf[0] + t0 * size;                                                               \
            const U *x = (const U *)buf[1] + t0 * n;                                                        \
            const uint8_t *mask = (const uint8_t *)buf[2] + t0 * n;                                         \
            int64_t at = 0,                                                                                 \
                    j = pack_lanes((const uint8_t *)x, mask, n, (uint8_t *)out, size, sizeof(U), &at);      \
            for (; j < n && at < size; j++) out[at] = x[j], at += mask[j] != 0;                             \
            memset(out + at, 0, (size_t)(size - at) * sizeof *out);                                         \
        }                                                                                                   \
    }
SELECT(uint8_t)
SELECT(uint16_t)
SELECT(uint32_t)
SELECT(uint64_t)

#define PLAIN(x) (x)

/* NaN if either is; bits are chosen, so that no branch depends on values. */
#define GREATER(C, a, b) ((((a) > (b)) | ((a) != (a))) ? (a) : (b))
#define LESSER(C, a, b) ((((a) < (b)) | ((a) != (a))) ? (a) : (b))
#define PRODUCT(C, a, b) ((a) * (b))
#define PRODUCT_INT(C, a, b) ((C)((uint64_t)(a) * (uint64_t)(b))) /* wraps */

enum { TINY_ROW = 256 }; /* bytes of rows that are copied at once, not each by a call */

/* Pieces of several elements: one block of their columns. */
#define PIECES(name, T, U, C, GET, PUT, COMBINE)                                                      \
    static void name##_pieces_##T(void *const *buf, const int64_t *var, uint32_t t, uint8_t *known) { \
        int64_t w = dev_scatter_width(var[2]), n = var[0] / w, size = var[1] / w;                     \
        int64_t blocks = dev_scatter_blocks(var[2]), row = t / blocks, at = t % blocks * w / blocks,  \
                end = (t % blocks + 1) * w / blocks;                                                  \
        U *out = (U *)buf[0] + row * var[1];                                                          \
        const U *x = (const U *)buf[1] + row * var[1], *src = (const U *)buf[3] + row * var[0];       \
        const int64_t *index = (const int64_t *)buf[2] + row * n;                                     \
        memset(known, 0, (size_t)size);                                                               \
        for (int64_t i = 0; i < size; i++)                                                            \
            memcpy(out + i * w + at, x + i * w + at, (size_t)(end - at) * sizeof *out);               \
        for (int64_t j = 0; j < n; j++) {                                                             \
            int64_t i = clamp_index(index[j], size);                                                  \
            U *to = out + i * w;                                                                      \
            const U *from = src + j * w;                                                              \
            bool first = dev_scatter_forgets(var[2]) && !known[i];                                    \
            known[i] = 1;                                                                             \
            if (first) memcpy(to + at, from + at, (size_t)(end - at) * sizeof *to);                   \
            for (int64_t k = at; k < end && !first; k++) {                                            \
                C a = GET(to[k]), b = GET(from[k]);                                                   \
                to[k] = PUT(COMBINE(C, a, b));                                                        \
            }                                                                                         \
        }                                                                                             \
    }
/* var: row size of src, of the result, how (device.h). */
#define SCATTER(name, T, U, C, GET, PUT, COMBINE)                                                           \
    static void name##_##T(void *const *buf, const int64_t *var, uint32_t t0, uint32_t t1, void *scratch) { \
        int64_t size = var[1], w = dev_scatter_width(var[2]), n = var[0] / w;                               \
        bool forget = dev_scatter_forgets(var[2]);                                                          \
        uint8_t *known = scratch;                                                                           \
        if (w > 1) {                                                                                        \
            for (; t0 < t1; t0++) name##_pieces_##T(buf, var, t0, known);                                   \
            return;                                                                                         \
        }                                                                                                   \
        bool tiny = size * (int64_t)sizeof(U) <= TINY_ROW;                                                  \
        if (tiny)                                                                                           \
            memcpy((U *)buf[0] + t0 * size, (const U *)buf[1] + t0 * size,                                  \
                   (size_t)((t1 - t0) * size) * sizeof(U));                                                 \
        for (; t0 < t1; t0++) {                                                                             \
            U *out = (U *)buf[0] + t0 * size;                                                               \
            const int64_t *index = (const int64_t *)buf[2] + t0 * n;                                        \
            const U *src = (const U *)buf[3] + t0 * var[0];                                                 \
            if (!tiny) memcpy(out, (const U *)buf[1] + t0 * size, (size_t)size * sizeof *out);              \
            if (forget) memset(known, 0, (size_t)size);                                                     \
            for (int64_t j = 0; j < n; j++) {                                                               \
                int64_t i = clamp_index(index[j], size);                                                    \
                C a = GET(out[i]), b = GET(src[j]);                                                         \
                bool first = forget && !known[i];                                                           \
                out[i] = first ? src[j] : PUT(COMBINE(C, a, b));                                            \
                if (first) known[i] = 1;                                                                    \
            }                                                                                               \
        }                                                                                                   \
    }
/* The last of what is written to a target stays. var: row size of the index, targets. */
#define SET(U)                                                                                           \
    static void set_##U(void *const *buf, const int64_t *var, uint32_t t0, uint32_t t1, void *scratch) { \
        int64_t n = var[0], size = var[1];                                                               \
        U *out = (U *)buf[0] + t0 * size;                                                                \
        const int64_t *index = (const int64_t *)buf[2] + t0 * n;                                         \
        const U *src = (const U *)buf[3] + t0 * n;                                                       \
        (void)scratch;                                                                                   \
        memcpy(out, (const U *)buf[1] + t0 * size, (size_t)((t1 - t0) * size) * sizeof(U));              \
        for (; t0 < t1; t0++, out += size, index += n, src += n)                                         \
            for (int64_t j = 0; j < n; j++) out[clamp_index(index[j], size)] = src[j];                   \
    }
SET(uint8_t)
SET(uint16_t)
SET(uint32_t)
SET(uint64_t)

#define ALL(T, U, C, GET, PUT, MUL)                  \
    PIECES(scatter_max, T, U, C, GET, PUT, GREATER)  \
    PIECES(scatter_min, T, U, C, GET, PUT, LESSER)   \
    PIECES(scatter_prod, T, U, C, GET, PUT, MUL)     \
    SCATTER(scatter_max, T, U, C, GET, PUT, GREATER) \
    SCATTER(scatter_min, T, U, C, GET, PUT, LESSER)  \
    SCATTER(scatter_prod, T, U, C, GET, PUT, MUL)
/* clang-format off */
#define TYPES(X)                                          \
    X(i8, int8_t, int8_t, PLAIN, PLAIN, PRODUCT_INT)      \
    X(i16, int16_t, int16_t, PLAIN, PLAIN, PRODUCT_INT)   \
    X(i32, int32_t, int32_t, PLAIN, PLAIN, PRODUCT_INT)   \
    X(i64, int64_t, int64_t, PLAIN, PLAIN, PRODUCT_INT)   \
    X(u8, uint8_t, uint8_t, PLAIN, PLAIN, PRODUCT_INT)    \
    X(u16, uint16_t, uint16_t, PLAIN, PLAIN, PRODUCT_INT) \
    X(u32, uint32_t, uint32_t, PLAIN, PLAIN, PRODUCT_INT) \
    X(u64, uint64_t, uint64_t, PLAIN, PLAIN, PRODUCT_INT) \
    X(f16, uint16_t, float, f16_get, f16_put, PRODUCT)    \
    X(bf16, uint16_t, float, bf16_get, bf16_put, PRODUCT) \
    X(f32, float, float, PLAIN, PLAIN, PRODUCT)           \
    X(f64, double, double, PLAIN, PLAIN, PRODUCT)
/* clang-format on */
TYPES(ALL)

/* var: row size of the index, row size of the result, targets. 16-bit floats are added in fp32. */
#define SUM(T, U, C, GET, PUT)                                                                  \
    static void scatter_sum_##T(void *const *buf, const int64_t *var, uint32_t t0, uint32_t t1, \
                                void *scratch) {                                                \
        int64_t n = var[0], size = var[2], w = var[1] / size;                                   \
        C *sum = scratch;                                                                       \
        for (; t0 < t1; t0++) {                                                                 \
            const U *src = (const U *)buf[1] + t0 * n * w;                                      \
            const int64_t *index = (const int64_t *)buf[2] + t0 * n;                            \
            for (int64_t i = 0; i < var[1]; i++) sum[i] = 0;                                    \
            for (int64_t j = 0; j < n; j++)                                                     \
                for (int64_t k = 0; k < w; k++)                                                 \
                    sum[clamp_index(index[j], size) * w + k] += GET(src[j * w + k]);            \
            for (int64_t i = 0; i < var[1]; i++) ((U *)buf[0])[t0 * var[1] + i] = PUT(sum[i]);  \
        }                                                                                       \
    }
SUM(f16, uint16_t, float, f16_get, f16_put)
SUM(bf16, uint16_t, float, bf16_get, bf16_put)
SUM(f32, float, float, PLAIN, PLAIN)
SUM(f64, double, double, PLAIN, PLAIN)

static const struct {
    const char *name, *type;
    dev_fn *fn;
} function[] = {{"winner", "i32", winner_i32},
                {"winner", "i64", winner_i64},
                {"nonzero", "i32", nonzero_i32},
                {"nonzero", "i64", nonzero_i64},
                {"scatter_sum", "f16", scatter_sum_f16},
                {"scatter_sum", "bf16", scatter_sum_bf16},
                {"scatter_sum", "f32", scatter_sum_f32},
                {"scatter_sum", "f64", scatter_sum_f64},
#define BY_WIDTH(name, U)               \
    (sizeof(U) == 1   ? name##_uint8_t  \
     : sizeof(U) == 2 ? name##_uint16_t \
     : sizeof(U) == 4 ? name##_uint32_t \
                      : name##_uint64_t)
#define X(T, U, C, GET, PUT, MUL)                                                   \
    {"select", #T, BY_WIDTH(select, U)}, {"scatter_set", #T, BY_WIDTH(set, U)},     \
        {"scatter_max", #T, scatter_max_##T}, {"scatter_min", #T, scatter_min_##T}, \
        {"scatter_prod", #T, scatter_prod_##T},
                TYPES(X)
#undef X
};

bool cpu_scatter_fn(const struct dev_call *c, struct dev_builtin *out) {
    const char *type = strcmp(c->type[0], "bool") ? c->type[0] : "u8"; /* the same: 0 and 1 */
    for (size_t i = 0; i < RG_COUNT(function); i++) {
        if (strcmp(function[i].name, c->name) || strcmp(function[i].type, type)) continue;
        *out = (struct dev_builtin){.fn = function[i].fn, .scratch = c->nbuf > 2 ? c->num[1] * 8 : 0};
        return true;
    }
    return false;
}
