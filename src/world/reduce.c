/* reduce.c: sums of the ranks' elements by a binary tree over ranks: (0 + 1) + (2 + 3). The order depends on the number of ranks
 * alone, never on who came first or on how the elements are divided.
 * Tests: tests/unit/world.c (world_values, world_dtypes) */
#include "world/internal.h"

enum { BLOCK = 512, TREE = SEGMENT_RANKS / 2 * BLOCK }; /* elements of a block, of all blocks of a tree */

#define SAME(x) (x)

/* Two sources, mostly: blocks of one size by way of an array of their own, which compilers turn into vector instructions at any level. */

/* Integers wrap: added as unsigned. */
#define ADD_F(W, a, b) ((a) + (b))
#define MUL_F(W, a, b) ((a) * (b))
#define ADD_I(W, a, b) ((W)((uint64_t)(a) + (uint64_t)(b)))
#define MUL_I(W, a, b) ((W)((uint64_t)(a) * (uint64_t)(b)))
#define MAX_(W, a, b) ((a) > (b) || (a) != (a) ? (a) : (b)) /* NaN if either is */
#define MIN_(W, a, b) ((a) < (b) || (a) != (a) ? (a) : (b))

#define COMBINE(T, name, U, W, GET, PUT, OP)                                                    \
    static void name##_##T(void *out, const void *const *in, uint32_t sources, size_t n) {      \
        W t[TREE];                                                                              \
        uint32_t half = (sources + 1) / 2;                                                      \
        size_t block = RG_MIN(TREE / half, (size_t)BLOCK);                                      \
        const U *first = in[0], *second = sources == 2 ? in[1] : NULL;                          \
        size_t at = 0;                                                                          \
        for (; second && n - at >= BLOCK; at += BLOCK) {                                        \
            U sum[BLOCK];                                                                       \
            for (size_t k = 0; k < BLOCK; k++)                                                  \
                sum[k] = (U)PUT(OP(W, (W)GET(first[at + k]), (W)GET(second[at + k])));          \
            memcpy((U *)out + at, sum, sizeof sum);                                             \
        }                                                                                       \
        for (; at < n; at += block) {                                                           \
            size_t m = RG_MIN(n - at, block);                                                   \
            for (uint32_t i = 0; i < half; i++) {                                               \
                W *sum = t + i * block;                                                         \
                const U *a = (const U *)in[2 * i] + at;                                         \
                const U *b = 2 * i + 1 < sources ? (const U *)in[2 * i + 1] + at : NULL;        \
                for (size_t k = 0; b && k < m; k++) sum[k] = OP(W, (W)GET(a[k]), (W)GET(b[k])); \
                for (size_t k = 0; !b && k < m; k++) sum[k] = (W)GET(a[k]);                     \
            }                                                                                   \
            for (uint32_t s = 1; s < half; s *= 2)                                              \
                for (uint32_t i = 0; i + s < half; i += 2 * s)                                  \
                    for (size_t k = 0; k < m; k++)                                              \
                        t[i * block + k] = OP(W, t[i * block + k], t[(i + s) * block + k]);     \
            for (size_t k = 0; k < m; k++) ((U *)out)[at + k] = (U)PUT(t[k]);                   \
        }                                                                                       \
    }
#define TYPE(T, U, W, GET, PUT, ADD, MUL)      \
    COMBINE(T, sum, U, W, GET, PUT, ADD)       \
    COMBINE(T, product, U, W, GET, PUT, MUL)   \
    COMBINE(T, greatest, U, W, GET, PUT, MAX_) \
    COMBINE(T, least, U, W, GET, PUT, MIN_)
/* clang-format off */
#define TYPES(X)                                           \
    X(BOOL, uint8_t, uint8_t, SAME, SAME, ADD_I, MUL_I)    \
    X(I8, int8_t, int8_t, SAME, SAME, ADD_I, MUL_I)        \
    X(I16, int16_t, int16_t, SAME, SAME, ADD_I, MUL_I)     \
    X(I32, int32_t, int32_t, SAME, SAME, ADD_I, MUL_I)     \
    X(I64, int64_t, int64_t, SAME, SAME, ADD_I, MUL_I)     \
    X(U8, uint8_t, uint8_t, SAME, SAME, ADD_I, MUL_I)      \
    X(U16, uint16_t, uint16_t, SAME, SAME, ADD_I, MUL_I)   \
    X(U32, uint32_t, uint32_t, SAME, SAME, ADD_I, MUL_I)   \
    X(U64, uint64_t, uint64_t, SAME, SAME, ADD_I, MUL_I)   \
    X(F16, uint16_t, float, f16_get, f16_put, ADD_F, MUL_F)   \
    X(BF16, uint16_t, float, bf16_get, bf16_put, ADD_F, MUL_F) \
    X(F32, float, float, SAME, SAME, ADD_F, MUL_F)         \
    X(F64, double, double, SAME, SAME, ADD_F, MUL_F)
/* clang-format on */
TYPES(TYPE)

typedef void combine_fn(void *out, const void *const *in, uint32_t sources, size_t n);
static combine_fn *const combine[DT_COUNT][COLLECTIVE_REDUCES] = {
#define X(T, ...) [DT_##T] = {sum_##T, product_##T, greatest_##T, least_##T},
    TYPES(X)
#undef X
};

void reduce_tree(enum dtype dt, enum collective_reduce how, void *out, const void *const *in,
                 uint32_t sources, size_t n) {
    combine[dt][how](out, in, sources, n);
}
