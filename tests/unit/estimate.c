/* Tests of src/codegen/estimate.c: operations and bytes of kernels beside counts made by hand, work by unit, cache lines. */
#include "codegen/codegen.h"

#include <ridge.h>
#include <test.h>

/* ---- thirty kernels, counted by hand ------------------------------------------------------------------------------ */

/* Values differ: equal ones would be one buffer. */
static rg_tensor f32(rg_ctx *c, double v, rg_ints shape) {
    return rg_contiguous(rg_full(c, RG_F32, v, shape));
}

#define N 1000
#define VECTORS rg_tensor x = in[0], y = in[1], z = in[2], m = in[3], v = in[4], w = in[5]
#define UNUSED (void)x, (void)y, (void)z, (void)m, (void)v, (void)w

/* x, y, z: N floats; m (64, 32); v (32); w (32, 48).
 *   name           operations                         bytes                          expression */
#define KERNELS(K)                                                                                           \
    K(add, N, 3 * 4 * N, rg_add(x, y))                                                                       \
    K(scale, N, 2 * 4 * N, rg_mul(x, 2))                                                                     \
    K(square, N, 2 * 4 * N, rg_mul(x, x))                                                                    \
    K(mul_add, 2 * N, 4 * 4 * N, rg_add(rg_mul(x, y), z))                                                    \
    K(axpy, 2 * N, 3 * 4 * N, rg_add(x, rg_mul(y, 3)))                                                       \
    K(three, 3 * N, 4 * 4 * N, rg_sub(rg_add(rg_mul(x, y), z), x))                                           \
    K(sub, N, 3 * 4 * N, rg_sub(x, y))                                                                       \
    K(maximum, N, 3 * 4 * N, rg_maximum(x, y))                                                               \
    K(exponent, N, 2 * 4 * N, rg_exp(x))                                                                     \
    K(root, N, 2 * 4 * N, rg_sqrt(x))                                                                        \
    K(sine_twice, 2 * N, 2 * 4 * N, rg_sin(rg_sin(x)))                                                       \
    K(total, N, 4 * N + 4, rg_sum(x))                                                                        \
    K(greatest, N, 4 * N + 4, rg_max(x))                                                                     \
    K(dot, 2 * N, 2 * 4 * N + 4, rg_dot(x, y))                                                               \
    K(sum_squares, 2 * N, 4 * N + 4, rg_sum(rg_mul(x, x)))                                                   \
    K(sum_exp, 2 * N, 4 * N + 4, rg_sum(rg_exp(x)))                                                          \
    K(row_sums, 64 * 32, 4 * (64 * 32 + 64), rg_sum(m, RG_AXES(1)))                                          \
    K(column_sums, 64 * 32, 4 * (64 * 32 + 32), rg_sum(m, RG_AXES(0)))                                       \
    K(row_max, 64 * 32, 4 * (64 * 32 + 64), rg_max(m, RG_AXES(1)))                                           \
    K(row_broadcast, 64 * 32, 4 * (2 * 64 * 32 + 32), rg_add(m, v))                                          \
    K(matmul, 2 * 64 * 32 * 48, 4 * (64 * 32 + 32 * 48 + 64 * 48), rg_matmul(m, w))                          \
    K(matvec, 2 * 64 * 32, 4 * (64 * 32 + 32 + 64), rg_matmul(m, v))                                         \
    K(gram, 2 * 32 * 32 * 64, 4 * (64 * 32 + 32 * 32), rg_matmul(rg_transpose(m, 0, 1), m))                  \
    K(matmul_add, 2 * 64 * 32 * 48 + 64 * 48, 4 * (64 * 32 + 32 * 48 + 64 * 48), rg_add(rg_matmul(m, w), 1)) \
    K(outer, 32 * 32, 4 * (32 + 32 * 32), rg_outer(v, v))                                                    \
    K(transposed, 0, 2 * 4 * 64 * 32, rg_contiguous(rg_transpose(m, 0, 1)))                                  \
    K(every_other, 0, 2 * 4 * N / 2, rg_contiguous(rg_slice(x, RG_SLICES({.stop = N, .step = 2}))))          \
    K(backwards, 0, 2 * 4 * N, rg_contiguous(rg_flip(x, RG_AXES(0))))                                        \
    K(padded, 0, 4 * (N + N + 4), rg_contiguous(rg_pad(x, RG_SHAPE(2, 2), 0)))                               \
    K(wider, 0, (4 + 8) * N, rg_contiguous(rg_cast(x, RG_F64)))                                              \
    K(running_sum, N, 2 * 4 * N, rg_cumsum(x, 0))                                                            \
    K(columns_scaled, 2 * 64 * 32, 4 * (64 * 32 + 32 + 64), rg_sum(rg_mul(m, v), RG_AXES(1)))

#define K(name, ops, bytes, expr)                         \
    static rg_tensor kernel_##name(const rg_tensor *in) { \
        VECTORS;                                          \
        UNUSED;                                           \
        return expr;                                      \
    }
KERNELS(K)
#undef K

TEST(estimate_of_thirty_kernels_is_the_hand_count) {
    static const struct {
        const char *name;
        double ops, bytes;
        rg_tensor (*make)(const rg_tensor *);
    } of[] = {
#define K(name, ops, bytes, expr) {#name, ops, bytes, kernel_##name},
        KERNELS(K)
#undef K
    };
    rg_ctx *c = rg_open("NULL");
    rg_tensor in[] = {f32(c, 1, RG_SHAPE(N)),      f32(c, 2, RG_SHAPE(N)),  f32(c, 3, RG_SHAPE(N)),
                      f32(c, 4, RG_SHAPE(64, 32)), f32(c, 5, RG_SHAPE(32)), f32(c, 6, RG_SHAPE(32, 48))};
    CHECK_EQ(rg_realize_all(RG_ARRAY(in, RG_COUNT(in))), RG_OK);
    for (size_t i = 0; i < RG_COUNT(of); i++) {
        RG_SCOPE(c);
        rg_plan_stats s;
        rg_tensor y = of[i].make(in);
        if (rg_schedule_stats(RG_TENSORS(y), &s)) FAIL("%s: %s", of[i].name, rg_error(c));
        if (s.kernels != 1 || s.ops != of[i].ops || s.bytes != of[i].bytes)
            FAIL("%s: %llu kernels, %.0f operations, %.0f bytes; expected 1, %.0f, %.0f", of[i].name,
                 (unsigned long long)s.kernels, s.ops, s.bytes, of[i].ops, of[i].bytes);
    }
    TEST_COUNT(RG_COUNT(of), "kernels with hand counts");
    CHECK_EQ(rg_close(c), RG_OK);
}

/* ---- units and lines ------------------------------------------------------------------------------------------------ */

static struct err err;
static struct arena arena;

static struct estimate estimate_of(const char *text) {
    struct ir ir;
    struct program p;
    struct linear lin;
    arena_init(&arena, &err);
    ir_init(&ir, &arena);
    ir_parse(&ir, text, strlen(text), "text", &p);
    lower(&ir, &p.kernel.p[0], &(struct lower_opts){.opts = ""}, &lin);
    return lin.est;
}

TEST(estimate_splits_work_by_unit) {
    struct estimate e = estimate_of(
        "kernel mm\na = (PARAM<bf16>[0 a] 64)\nb = (PARAM<bf16>[1 b] 64)\ny = (PARAM<f32>[2 y] 64)\n"
        "m = (RANGE[m GRID 0] 8)\nn = (RANGE[n GRID 1] 8)\nk = (RANGE[k REDUCE 2] 8)\n"
        "(SINK (STORE (INDEX y (ADD (MUL m 8) n)) (REDUCE[ADD] (MUL (CAST<f32> (LOAD (INDEX a (ADD (MUL m 8) "
        "k)))) "
        "(CAST<f32> (LOAD (INDEX b (ADD (MUL k 8) n))))) k)))\n");
    CHECK_EQ((int64_t)e.asked[WORK_MATRIX], 2 * 8 * 8 * 8); /* a tensor cores could do all of it */
    CHECK_EQ((int64_t)e.asked[WORK_F32], 0);
    CHECK_EQ((int64_t)e.flops, 2 * 8 * 8 * 8);
    CHECK(e.issued[WORK_F32] >= 2 * 8 * 8 * 8); /* but the vector unit does */
    CHECK(e.issued[WORK_INT] > 0);              /* addresses */
    arena_free(&arena);
    e = estimate_of(
        "kernel mix\na = (PARAM<f64>[0 a] 100)\nb = (PARAM<i32>[1 b] 100)\nx = (PARAM<f64>[2 x] 100)\n"
        "y = (PARAM<i32>[3 y] 100)\ni = (RANGE[i GRID 0] 100)\nu = (LOAD (INDEX a i))\nv = (LOAD (INDEX b "
        "i))\n"
        "(SINK (STORE (INDEX x i) (MUL (ADD u u) u)) (STORE (INDEX y i) (ADD v 1)))\n");
    CHECK_EQ((int64_t)e.asked[WORK_F64], 200);
    CHECK_EQ((int64_t)e.asked[WORK_INT], 100);
    CHECK_EQ((int64_t)e.bytes, 100 * (8 + 4) * 2);
    arena_free(&arena);
}

/* A column of a matrix of 16 floats a row lies in a cache line for each row; half a row in half of the lines' bytes. */
TEST(estimate_counts_cache_lines) {
    static const struct {
        const char *index;
        int64_t lines; /* of what is read */
    } of[] = {{"(ADD (MUL i 16) 3)", 1024 * 64},
              {"(ADD (MUL i 32) 3)", 1024 * 64},
              {"(MUL i 2)", 2047 * 4},
              {"i", 1024 * 4},
              {"(ADD (MUL i -1) 1023)", 1024 * 4}};
    for (size_t k = 0; k < RG_COUNT(of); k++) {
        char text[400];
        snprintf(text, sizeof text,
                 "kernel col\nx = (PARAM<f32>[0 x] 32768)\ny = (PARAM<f32>[1 y] 1024)\ni = (RANGE[i GRID 0] "
                 "1024)\n"
                 "(SINK (STORE (INDEX y i) (LOAD (INDEX x %s))))\n",
                 of[k].index);
        struct estimate e = estimate_of(text);
        CHECK_EQ((int64_t)e.bytes, 2 * 4 * 1024);
        if ((int64_t)e.lines != of[k].lines + 4 * 1024)
            FAIL("%s: %.0f bytes of lines, expected %lld", of[k].index, e.lines,
                 (long long)of[k].lines + 4 * 1024);
        arena_free(&arena);
    }
}
