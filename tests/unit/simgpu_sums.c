/* Sums, extremes and transposes on the simulated GPU (tests/simcase.h). */
#include "simcase.h"

/* Sums of negatives, by row and all the way. */
static rg_tensor less(const struct sim_case *s, rg_ctx *c, const rg_tensor *in) {
    (void)s, (void)c;
    rg_tensor last =
        rg_reshape(rg_sum(rg_neg(rg_exp(in[0])), .axes = RG_AXES(1)), RG_SHAPE(rg_dim(in[0], 0), 1));
    return rg_add(last, rg_cumsum(rg_neg(in[0]), 1));
}

TEST(simgpu_sums_of_negatives) {
    const struct sim_case s[] = {
        {"negatives", .fn = less, .in = {{RG_F32, {3, 700}}}},
        {"negatives f16", .fn = less, .in = {{RG_F16, {2, 1030}}}, .most = 2e-2},
    };
    check_all(s, RG_COUNT(s), "SIM80 SIM90");
}

/* Extremes of extremes: one reduction over all their axes, also where the inner ones are rounded to 16 bits, or are NaN. */
static rg_tensor extremes(const struct sim_case *s, rg_ctx *c, const rg_tensor *in) {
    (void)c;
    rg_dtype between = (rg_dtype)s->n[0];
    rg_tensor x = in[0];
    if (s->n[1]) x = rg_where(rg_gt(x, 0.995), rg_sqrt(rg_sub(-2.0, x)), x);
    rg_tensor y = rg_max(rg_cast(rg_max(x, .axes = RG_AXES(2)), between), .axes = RG_AXES(1));
    rg_tensor z = rg_min(rg_cast(rg_min(x, .axes = RG_AXES(1)), between), .axes = RG_AXES(1));
    y = rg_cast(y, RG_F32), z = rg_cast(z, RG_F32);
    return rg_add(rg_where(rg_ne(y, y), 7.0, y), rg_where(rg_ne(z, z), 100.0, z));
}

TEST(simgpu_extremes_of_extremes) {
    const struct sim_case s[] = {
        {"extremes", .fn = extremes, .in = {{RG_F32, {3, 37, 259}}}, .n = {RG_F32}, .most = 1e-9},
        {"extremes bf16", .fn = extremes, .in = {{RG_F32, {2, 300, 41}}}, .n = {RG_BF16}, .most = 1e-9},
        {"extremes f16", .fn = extremes, .in = {{RG_F16, {5, 9, 33}}}, .n = {RG_F16}, .most = 1e-9},
        {"extremes, NaN", .fn = extremes, .in = {{RG_F32, {4, 6, 77}}}, .n = {RG_BF16, 1}, .most = 1e-9},
        {"extremes i8", .fn = extremes, .in = {{RG_I8, {4, 70, 70}, 100}}, .n = {RG_I32}, .most = 1e-9},
    };
    check_all(s, RG_COUNT(s), "CPU SIM90");
}

/* ---- loops with a period ------------------------------------------------------------------------------------ */

/* in: x (B, C, H, W), p (N, C). The channels of x one after the other, less the sums of p. */
static rg_tensor by_channel(const struct sim_case *s, rg_ctx *c, const rg_tensor *in) {
    (void)c;
    int64_t ch = s->in[0].d[1], each = s->in[0].d[0] * s->in[0].d[2] * s->in[0].d[3];
    rg_tensor x = rg_reshape(rg_transpose(in[0], 0, 1), RG_SHAPE(ch, each));
    rg_tensor sums = rg_reshape(rg_sum(rg_cast(in[1], RG_F32), .axes = RG_AXES(0)), RG_SHAPE(ch, 1));
    return rg_cast(rg_sub(rg_cast(x, RG_F32), sums), s->in[0].dt);
}

TEST(simgpu_loops_with_a_period) {
    const struct sim_case s[] = {
        {"period 196 bf16", .fn = by_channel, .in = {{RG_BF16, {4, 3, 14, 14}}, {RG_F32, {64, 3}}},
         .most = 1e-2},
        {"period 35", .fn = by_channel, .in = {{RG_F32, {9, 5, 5, 7}}, {RG_F32, {33, 5}}}},
        {"period 64", .fn = by_channel, .in = {{RG_F32, {32, 2, 8, 8}}, {RG_F32, {40, 2}}}},
    };
    check_all(s, RG_COUNT(s), "SIM80 SIM90");
}

/* Sums over images and positions, which one loop of a block's threads runs through: mean and variance of each channel. */
static rg_tensor by_images(const struct sim_case *s, rg_ctx *c, const rg_tensor *in) {
    (void)s, (void)c;
    rg_tensor x = rg_cast(in[0], RG_F32), mean = rg_mean(x, .axes = RG_AXES(0, 2, 3));
    return rg_add(mean, rg_var(x, .axes = RG_AXES(0, 2, 3)));
}

TEST(simgpu_sums_over_images) {
    const struct sim_case s[] = {
        {"images of 14 x 14 bf16", .fn = by_images, .grads = true, .in = {{RG_BF16, {12, 3, 14, 14}}},
         .most = 1e-2},
        {"images of 7 x 7", .fn = by_images, .grads = true, .in = {{RG_F32, {33, 5, 7, 7}}}, .most = 1e-4},
        {"images of 16 x 16", .fn = by_images, .in = {{RG_F32, {64, 2, 16, 16}}}, .most = 1e-4},
    };
    check_all(s, RG_COUNT(s), "SIM80 SIM90");
}

/* Sums down columns, of one tensor or of products with another and a number for each row: gradients of biases and of norms. */
static rg_tensor by_columns(const struct sim_case *s, rg_ctx *c, const rg_tensor *in) {
    (void)c;
    rg_tensor x = rg_cast(in[0], RG_F32), sum = rg_sum(x, .axes = RG_AXES(0, 1));
    if (inputs(s) == 1) return sum;
    return rg_add(sum, rg_sum(rg_mul(x, rg_mul(in[1], in[2])), .axes = RG_AXES(0, 1)));
}

TEST(simgpu_sums_of_columns) {
    const struct sim_case s[] = {
        {"columns bf16", .fn = by_columns, .in = {{RG_BF16, {3, 100, 256}}}, .most = 1e-4},
        {"columns", .fn = by_columns, .in = {{RG_F32, {1, 333, 160}}}, .most = 1e-4},
        {"columns of two", .fn = by_columns,
         .in = {{RG_BF16, {2, 130, 256}}, {RG_F32, {2, 130, 256}}, {RG_F32, {2, 130, 1}}}, .most = 1e-4},
        {"columns of no whole line", .fn = by_columns, .in = {{RG_F16, {4, 70, 200}}}, .most = 1e-4},
    };
    check_all(s, RG_COUNT(s), "SIM80S SIM90S");
    say(1, 0, 0, 0);
}

/* in: x (B, T, I), y (B, T, O). The products over B and T, as of a layer's weights: chunks of T, if B is too short. */
static rg_tensor over_tokens(const struct sim_case *s, rg_ctx *c, const rg_tensor *in) {
    (void)c;
    const int64_t *x = s->in[0].d, *y = s->in[1].d;
    rg_tensor a = rg_reshape(rg_cast(in[0], RG_F32), RG_SHAPE(x[0], x[1], x[2], 1));
    rg_tensor b = rg_reshape(rg_cast(in[1], RG_F32), RG_SHAPE(y[0], y[1], 1, y[2]));
    return rg_sum(rg_mul(a, b), .axes = RG_AXES(0, 1));
}

/* in: x (N, C, H, W). Channels, whose rows are read whole. */
static rg_tensor of_channels(const struct sim_case *s, rg_ctx *c, const rg_tensor *in) {
    (void)c, (void)s;
    return rg_sum(in[0], .axes = RG_AXES(0, 2, 3));
}

TEST(simgpu_sums_in_odd_parts) {
    const struct sim_case s[] = {
        {"odd tokens", .fn = over_tokens, .in = {{RG_F32, {3, 1031, 7}}, {RG_F32, {3, 1031, 127}}},
         .most = 2e-3},
        {"odd tokens bf16", .fn = over_tokens, .in = {{RG_BF16, {3, 739, 7}}, {RG_BF16, {3, 739, 127}}},
         .most = 2e-3},
        {"rows of prime length", .fn = of_channels, .in = {{RG_F32, {4, 8, 61, 163}}}, .most = 2e-3},
        {"prime rows", .fn = of_channels, .in = {{RG_F32, {2, 9, 163, 61}}}, .most = 2e-3},
    };
    check_all(s, RG_COUNT(s), "SIM90");
}

/* A transposition that is fused with what computes its operand reads three tensors transposed. */
static rg_tensor transposed(const struct sim_case *s, rg_ctx *c, const rg_tensor *in) {
    (void)s, (void)c;
    return rg_contiguous(rg_transpose(rg_add(rg_mul(in[0], in[1]), in[2]), 1, 2));
}

TEST(simgpu_transposes_of_several) {
    const struct sim_case s[] = {
        {"transposed sums", .fn = transposed,
         .in = {{RG_F32, {1, 260, 264}}, {RG_F32, {1, 260, 264}}, {RG_F32, {1, 260, 264}}}},
        {"transposed sums bf16", .fn = transposed,
         .in = {{RG_BF16, {3, 150, 152}}, {RG_BF16, {3, 150, 152}}, {RG_BF16, {3, 150, 152}}}, .most = 1e-2},
        {"few columns", .fn = transposed,
         .in = {{RG_F32, {2, 11002, 3}}, {RG_F32, {2, 11002, 3}}, {RG_F32, {2, 11002, 3}}}},
        {"few columns bf16", .fn = transposed,
         .in = {{RG_BF16, {1, 33000, 9}}, {RG_BF16, {1, 33000, 9}}, {RG_BF16, {1, 33000, 9}}}, .most = 1e-2},
    };
    check_all(s, RG_COUNT(s), "SIM90 SIM90S");
    say(1, 0, 0, 0);
}

/* ---- columns ------------------------------------------------------------------------------------------------- */

enum {
    COLUMN_SOFTMAX,
    COLUMN_VAR,
    COLUMN_EXTREMES,
    COLUMN_ARGMAX,
    COLUMN_PRODUCT,
    COLUMN_LOGSUMEXP,
    COLUMN_FORMS
};

/* n: form, the axis. Of more columns than a thread each would fill the GPU with: blocks read several side by side. */
static rg_tensor of_columns(const struct sim_case *s, rg_ctx *c, const rg_tensor *in) {
    (void)c;
    rg_ints axis = RG_AXES(s->n[1]);
    rg_tensor x = in[0], wide = rg_cast(x, RG_F32);
    switch (s->n[0]) {
    case COLUMN_SOFTMAX: return rg_softmax(rg_mul(x, 3.0), s->n[1]);
    case COLUMN_VAR: return rg_add(rg_var(wide, .axes = axis), rg_sum(wide, .axes = axis));
    case COLUMN_EXTREMES: return rg_sub(rg_max(x, .axes = axis), rg_min(x, .axes = axis));
    case COLUMN_ARGMAX: return rg_cast(rg_argmax(x, .axes = axis), RG_F32);
    case COLUMN_PRODUCT: return rg_prod(rg_add(rg_mul(wide, 0.01), 1.0), .axes = axis);
    default: return rg_logsumexp(wide, .axes = axis);
    }
}

/* Columns of any number and length on a GPU with few SMs. */
TEST_SLOW(simgpu_columns, 300) {
    static const rg_dtype type[] = {RG_F32, RG_BF16, RG_F16};
    uint64_t first = getenv("SEED") ? strtoull(getenv("SEED"), NULL, 10) : 1;
    uint64_t n = getenv("SEEDS") ? strtoull(getenv("SEEDS"), NULL, 10) : 18;
    for (uint64_t i = 0; i < n; i++) {
        struct sim_draw d = {first + i};
        rg_dtype dt = type[draw(&d, 0, 2)];
        int64_t what = (int64_t)(i % COLUMN_FORMS), rows = draw(&d, 40, 700),
                cols = draw(&d, 65, 40000 / rows + 70);
        struct sim_case s = {.name = "columns",
                             .fn = of_columns,
                             .n = {what, draw(&d, 0, 1)},
                             .grads = what == COLUMN_SOFTMAX && draw(&d, 0, 1),
                             .most = dt == RG_F32 ? 1e-4 : 3e-2};
        int64_t shape[2][3] = {{rows, cols}, {2, rows, cols}};
        memcpy(s.in[0].d, shape[s.n[1]], sizeof shape[0]);
        s.in[0].dt = dt;
        if (getenv("SEEDS"))
            printf("seed %llu: %s form %lld of %lld x %lld\n", (unsigned long long)(first + i),
                   rg_dtype_name(dt), (long long)what, (long long)rows, (long long)cols);
        check_seed(&s, "SIM90S", first + i);
    }
    TEST_INFO("%u kernels of columns", simgpu_count.columns);
    CHECK(simgpu_count.columns >= n / 2);
}

/* ---- a mean of rows beside loops over their elements --------------------------------------------------------- */

/* Gradients of a mean of losses of rows, and long rows of which a block has one: neither is a loop of a single thread. */
static rg_tensor loss_of_rows(const struct sim_case *s, rg_ctx *c, const rg_tensor *in) {
    (void)c;
    if (s->n[0]) return rg_mul(rg_groupnorm(in[0], s->n[0], RG_NONE, RG_NONE), in[1]);
    return rg_cross_entropy(in[0], in[1]);
}

TEST(simgpu_sums_beside_loops) {
    const struct sim_case s[] = {
        {"cross entropy", .fn = loss_of_rows, .grads = true, .in = {{RG_F32, {110, 42}}, {RG_I64, {110}, 42}},
         .most = 1e-4},
        {"cross entropy of few classes", .fn = loss_of_rows, .grads = true,
         .in = {{RG_F32, {301, 7}}, {RG_I64, {301}, 7}}, .most = 1e-4},
        {"groups", .fn = loss_of_rows, .grads = true, .n = {2},
         .in = {{RG_F32, {1, 4, 33, 29, 20}}, {RG_F32, {1, 4, 33, 29, 20}}}, .most = 1e-3},
        {"groups bf16", .fn = loss_of_rows, .grads = true, .n = {3},
         .in = {{RG_BF16, {2, 3, 57, 400}}, {RG_BF16, {2, 3, 57, 400}}}, .most = 3e-2},
    };
    check_all(s, RG_COUNT(s), "SIM90 SIM90S");
}
