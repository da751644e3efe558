/* Convolutions and padded rows on the simulated GPU (tests/simcase.h). */
#include "simcase.h"

TEST_SLOW(simgpu_conv, 300) {
    const struct sim_case s[] = {
        {"conv 1x1", CONV(RG_F32, 2, 8, 9, 8, 1)},
        {"conv 3x3", CONV(RG_F32, 2, 8, 10, 8, 3), .n = {1, 1}},
        {"conv 5x5", CONV(RG_F32, 1, 4, 12, 8, 5), .n = {1, 2}},
        {"conv strided", CONV(RG_F32, 2, 4, 11, 8, 3), .n = {2, 1}},
        {"conv dilated", CONV(RG_F32, 1, 4, 12, 4, 3), .n = {1, 2, 2}},
        {"conv grouped", .fn = conv, .grads = true, .n = {1, 1, 1, 4},
         .in = {{RG_F32, {2, 8, 8, 8}}, {RG_F32, {8, 2, 3, 3}}}},
        {"conv depthwise", .fn = conv, .grads = true, .n = {1, 1, 1, 8},
         .in = {{RG_F32, {2, 8, 8, 8}}, {RG_F32, {8, 1, 3, 3}}}},
        {"conv transposed", .fn = conv, .grads = true, .n = {2, 1, 1, 1, 1},
         .in = {{RG_F32, {1, 8, 6, 6}}, {RG_F32, {8, 4, 4, 4}}}},
        {"conv bias", .fn = conv, .grads = true, .n = {1, 1},
         .in = {{RG_F32, {2, 3, 8, 8}}, {RG_F32, {8, 3, 3, 3}}, {RG_F32, {8}}}},
        {"conv bf16 1x1", CONV(RG_BF16, 2, 32, 8, 32, 1), .most = 2e-2},
        {"conv bf16 3x3", CONV(RG_BF16, 2, 16, 8, 16, 3), .n = {1, 1}, .most = 2e-2},
        {"conv bf16 strided", CONV(RG_BF16, 2, 16, 8, 16, 3), .n = {2, 1}, .most = 2e-2},
        {"conv f16 odd", CONV(RG_F16, 1, 5, 7, 9, 3), .n = {1, 1}, .most = 1e-2},
    };
    check_all(s, RG_COUNT(s), "SIM80 SIM90S");
    say(0, 0, 0, 0);
}

TEST_SLOW(simgpu_conv_forms, 300) { /* as large as tensor cores ask for; unsplit sums, as large images have */
    const struct sim_case s[] = {
        {"conv bf16 64 channels", .fn = conv, .grads = true, .n = {1, 1},
         .in = {{RG_BF16, {1, 64, 16, 8}}, {RG_BF16, {64, 64, 3, 3}, 0.1}}, .most = 2e-2},
        {"conv bf16 odd rows", .fn = conv, .n = {1, 1},
         .in = {{RG_BF16, {1, 64, 10, 10}}, {RG_BF16, {64, 64, 3, 3}, 0.1}}, .most = 2e-2},
        {"conv bf16 1x1 128 channels", .fn = conv,
         .in = {{RG_BF16, {2, 128, 16, 8}}, {RG_BF16, {64, 128, 1, 1}, 0.1}}, .most = 2e-2},
        {"conv f32 32 channels", .fn = conv, .n = {1, 1},
         .in = {{RG_F32, {1, 32, 16, 8}}, {RG_F32, {32, 32, 3, 3}, 0.1}}},
    };
    setenv("RIDGE_SPLIT", "0", 1), env_reload();
    check_all(s, RG_COUNT(s), "SIM80S SIM90S");
    say(6, 3, 3, 0);
}

/* A tile of images and halo for all taps, where both operands have the channel; the gradient of weights: rows are threads. */
TEST_SLOW(simgpu_conv_depthwise, 300) {
    const struct sim_case s[] = {
        {"7x7", .fn = conv, .grads = true, .n = {1, 3, 1, 16},
         .in = {{RG_F32, {4, 16, 24, 24}}, {RG_F32, {16, 1, 7, 7}}}},
        {"7x7 bf16", .fn = conv, .grads = true, .n = {1, 3, 1, 32},
         .in = {{RG_BF16, {4, 32, 14, 14}}, {RG_BF16, {32, 1, 7, 7}, 0.2}}, .most = 3e-2},
        {"7x7 f16, stride 2", .fn = conv, .n = {2, 3, 1, 40},
         .in = {{RG_F16, {4, 40, 28, 28}}, {RG_F16, {40, 1, 7, 7}, 0.2}}, .most = 1e-2},
    };
    setenv("RIDGE_SPLIT", "0", 1), env_reload();
    check_all(s, RG_COUNT(s), "SIM90S");
    say(6, 0, 0, 0);
}

/* Rows of 49 positions: values between convolutions have their channels last, also where they are added, sliced or a result. */
static rg_tensor residuals(const struct sim_case *s, rg_ctx *c, const rg_tensor *in) {
    (void)s, (void)c;
    rg_tensor x = rg_relu(rg_conv2d(in[0], in[1])), y = rg_relu(rg_conv2d(x, in[2], .padding = RG_SHAPE(1)));
    y = rg_relu(rg_add(x, rg_conv2d(y, in[3])));
    rg_tensor z = rg_conv2d(y, in[1], .stride = RG_SHAPE(2)),
              mean = rg_mean(y, .axes = RG_SHAPE(2, 3), .keep = true);
    return rg_add(rg_mul(rg_add(y, rg_conv2d(y, in[3])), mean),
                  rg_max(z, .axes = RG_SHAPE(2, 3), .keep = true));
}

TEST_SLOW(simgpu_conv_channels_last, 300) {
    const struct sim_case s[] = {
        {"residuals of 7 x 7", .fn = residuals,
         .in = {{RG_BF16, {2, 32, 7, 7}},
                {RG_BF16, {32, 32, 1, 1}, 0.2},
                {RG_BF16, {32, 32, 3, 3}, 0.1},
                {RG_BF16, {32, 32, 1, 1}, 0.2}},
         .most = 3e-2},
        {"residuals of 5 x 7, float16, other channels", .fn = residuals, .jit = true,
         .in = {{RG_F16, {1, 24, 5, 7}},
                {RG_F16, {24, 24, 1, 1}, 0.2},
                {RG_F16, {24, 24, 3, 3}, 0.1},
                {RG_F16, {24, 24, 1, 1}, 0.2}},
         .most = 1e-2},
    };
    check_all(s, RG_COUNT(s), "SIM80 SIM90S");
    say(0, 4, 0, 0);
}

/* f32 where no direct convolution fits: implicit GEMM by FMAs, of gathered operands. */
/* A product or a convolution whose channels are stored as rows (channels, images x positions), padded by n[5] and n[3] (no
 * convolution has both): as the operand of a GEMM after it is. */
static rg_tensor padded_rows(const struct sim_case *s, rg_ctx *c, const rg_tensor *in) {
    bool images = rg_rank(in[0]) == 4;
    rg_tensor y = rg_relu(images ? rg_transpose(conv(s, c, in), 0, 1) : gemm(s, c, in));
    if (images) y = rg_flatten(y, 1, 3);
    return rg_contiguous(rg_pad(y, RG_SHAPE(0, images ? 0 : s->n[3], 0, s->n[5]), 0));
}

TEST_SLOW(simgpu_padded_rows, 300) {
    const struct sim_case s[] = {
        {"product in padded rows", .fn = padded_rows, .n = {[5] = 4},
         .in = {{RG_BF16, {64, 128}}, {RG_BF16, {128, 60}}}, .most = 1e-2},
        {"product in padded rows and columns", .fn = padded_rows, .n = {[1] = 1, [3] = 3, [5] = 2},
         .in = {{RG_F32, {45, 40}}, {RG_F32, {62, 40}}}},
        {"1x1 convolution of 7 x 7", .fn = padded_rows, .n = {1, 0, [5] = 6},
         .in = {{RG_BF16, {2, 64, 7, 7}}, {RG_BF16, {64, 64, 1, 1}, 0.1}}, .most = 2e-2},
        {"3x3 convolution of 7 x 7", .fn = padded_rows, .n = {1, 1, [5] = 13},
         .in = {{RG_BF16, {3, 64, 7, 7}}, {RG_BF16, {64, 64, 3, 3}, 0.1}}, .most = 2e-2},
        {"3x3 convolution of 14 x 14, not padded", .fn = padded_rows, .n = {1, 1},
         .in = {{RG_BF16, {2, 64, 14, 14}}, {RG_BF16, {64, 64, 3, 3}, 0.1}}, .most = 2e-2},
        {"3x3 convolution of stride 2", .fn = padded_rows, .n = {2, 1, [5] = 3},
         .in = {{RG_F16, {2, 32, 9, 9}}, {RG_F16, {48, 32, 3, 3}, 0.1}}, .most = 1e-2},
        {"f32 3x3 convolution", .fn = padded_rows, .n = {1, 1, [5] = 2},
         .in = {{RG_F32, {2, 16, 8, 7}}, {RG_F32, {24, 16, 3, 3}, 0.1}}},
    };
    setenv("RIDGE_SPLIT", "0", 1), env_reload();
    check_all(s, RG_COUNT(s), "SIM80S SIM90S");
    say(6, 2, 2, 0);
}

TEST_SLOW(simgpu_conv_gathered, 300) {
    struct sim_draw d = {3};
    for (int i = 0; i < 8; i++) {
        int64_t ci = 8 * draw(&d, 2, 4) + draw(&d, 0, 1), co = 16 + draw(&d, 0, 20), hw = draw(&d, 9, 15),
                k = draw(&d, 1, 3);
        struct sim_case s = {"random", CONV(RG_F32, 2, ci, hw, co, k), .most = 1e-4};
        s.n[0] = draw(&d, 1, 3), s.n[1] = draw(&d, 0, k - 1), s.n[2] = draw(&d, 1, 2), s.n[3] = 1;
        if ((s.n[4] = i % 2)) s.in[1].d[0] = ci, s.in[1].d[1] = co;
        check_seed(&s, "CPU SIM90S", (uint64_t)i);
    }
    say(8, 0, 0, 0);
}

/* Two products: what is computed of the first is stored in the rows that the second reads, with padding. */
static rg_tensor two_products(const struct sim_case *s, rg_ctx *c, const rg_tensor *in) {
    (void)s, (void)c;
    return rg_matmul(rg_silu(rg_matmul(in[0], in[1])), in[2]);
}

TEST_SLOW(simgpu_products_in_padded_rows, 300) {
    static const rg_dtype dt[] = {RG_F32, RG_BF16, RG_F32, RG_F16};
    struct sim_draw d = {5};
    for (int i = 0; i < 4; i++) {
        int64_t m = draw(&d, 128, 200), k = draw(&d, 33, 80), h = draw(&d, 33, 90), n = draw(&d, 33, 80);
        rg_dtype t = dt[i % 4];
        struct sim_case s = {.name = "two products",
                             .fn = two_products,
                             .in = {{t, {m, k}, 0}, {t, {k, h}, 0}, {t, {h, n}, 0}},
                             .most = t == RG_F32 ? 1e-4 : 2e-2,
                             .grads = i % 2};
        check_seed(&s, i < 2 ? "CPU SIM90S" : "SIM90S SIM90", (uint64_t)i);
    }
    say(4, 0, 0, 0);
}
