/* Tests of src/schedule/implicit_gemm.c: convolutions of every form with both
 * gradients on simulated GPUs with few SMs, planned, lowered and interpreted,
 * against the oracle. Operands are small integers, so that sums are exact.
 * SEEDS and SEED draw others. */
#include "irtest.h"
#include "simgpu.h"

#include <ridge.h>
#include <stdlib.h>

struct drawn_conv {
    int64_t rank, n, in, out, size[3], taps[3], stride, dilation, pad, groups;
    bool transposed;
    rg_dtype dt;
    unsigned with;
};
enum { BIAS = 1, SWAPPED = 2 }; /* SWAPPED: the last two axes of the images in memory */

static rg_tensor convolved(const struct drawn_conv *d, rg_tensor x, rg_tensor w, rg_tensor bias) {
#define FORM                                                                                       \
    .stride = RG_SHAPE(d->stride), .dilation = RG_SHAPE(d->dilation), .padding = RG_SHAPE(d->pad), \
    .groups = d->groups, .bias = bias
    if (d->transposed)
        return d->rank == 1   ? rg_conv_transpose1d(x, w, FORM)
               : d->rank == 2 ? rg_conv_transpose2d(x, w, FORM)
                              : rg_conv_transpose3d(x, w, FORM);
    return d->rank == 1   ? rg_conv1d(x, w, FORM)
           : d->rank == 2 ? rg_conv2d(x, w, FORM)
                          : rg_conv3d(x, w, FORM);
#undef FORM
}

static const char *words(const struct drawn_conv *d, char *buf, size_t n) {
    snprintf(buf, n,
             "%s%lld-D, n %lld, %lld -> %lld channels in %lld groups, "
             "%lldx%lldx%lld, taps %lldx%lldx%lld, "
             "stride %lld, "
             "dilation %lld, padding %lld",
             d->transposed ? "transposed " : "", (long long)d->rank, (long long)d->n, (long long)d->in,
             (long long)d->out, (long long)d->groups, (long long)d->size[0], (long long)d->size[1],
             (long long)d->size[2], (long long)d->taps[0], (long long)d->taps[1], (long long)d->taps[2],
             (long long)d->stride, (long long)d->dilation, (long long)d->pad);
    return buf;
}

static rg_tensor small_integers(rg_ctx *c, rg_dtype dt, const int64_t *dims, size_t rank, uint64_t seed) {
    size_t n = 1;
    for (size_t i = 0; i < rank; i++) n *= (size_t)dims[i];
    float *p = malloc(n * sizeof *p);
    for (size_t i = 0; i < n; i++) p[i] = (float)(int)(hash_u64(i + (seed << 40)) % 3) - 1;
    rg_tensor t = rg_cast(rg_from(c, RG_F32, p, RG_LIST(dims, rank)), dt);
    rg_realize(t);
    free(p);
    return t;
}

/* The result and both gradients, one after the other. */
static float *values(const struct drawn_conv *d, const char *device, size_t *n) {
    rg_ctx *c = rg_open(device);
    char what[256];
    int64_t x[5] = {d->n, d->in},
            w[5] = {d->transposed ? d->in : d->out, (d->transposed ? d->out : d->in) / d->groups}, y[5];
    size_t rank = (size_t)d->rank + 2;
    for (int i = 0; i < d->rank; i++) x[2 + i] = d->size[i], w[2 + i] = d->taps[i];
    rg_tensor in[2], out[3], images, bias = RG_NONE;
    int64_t last = x[rank - 1];
    if (d->with & SWAPPED) x[rank - 1] = x[rank - 2], x[rank - 2] = last;
    in[0] = images = small_integers(c, d->dt, x, rank, 1), in[1] = small_integers(c, d->dt, w, rank, 2);
    if (d->with & SWAPPED) images = rg_transpose(images, (int64_t)rank - 2, (int64_t)rank - 1);
    if (d->with & BIAS) bias = small_integers(c, d->dt, &d->out, 1, 4);
    out[0] = convolved(d, images, in[1], bias);
    if (rg_shape_of(out[0], y, 5) < 0) FAIL("%s", rg_error(c));
    rg_tensor seed = small_integers(c, d->dt, y, rank, 3);
    rg_grad(out[0], ((rg_tensors){in, 2}), out + 1, .seed = seed);
    size_t size[3], all = 0;
    for (int i = 0; i < 3; i++) all += size[i] = (size_t)rg_size(out[i]);
    float *p = malloc(all * sizeof *p), *at = p;
    for (int i = 0; i < 3; at += size[i++])
        if (rg_read(rg_cast(out[i], RG_F32), at, size[i] * sizeof *at))
            FAIL("%s on %s: %s", words(d, what, sizeof what), device, rg_error(c));
    rg_close(c);
    *n = all;
    return p;
}

static void check_on(const struct drawn_conv *d, const char *device) {
    size_t n, m;
    char what[256];
    float *got = values(d, device, &n), *want = values(d, "REF", &m);
    CHECK_EQ(n, m);
    for (size_t i = 0; i < n; i++)
        if (got[i] != want[i])
            FAIL("%s on %s: number %zu of %zu is %g, not %g", words(d, what, sizeof what), device, i, n,
                 got[i], want[i]);
    free(got), free(want);
}

static double fmas(const struct drawn_conv *d) {
    double n = (double)(d->n * d->in * d->out / d->groups);
    for (int i = 0; i < d->rank; i++) {
        int64_t reach = (d->taps[i] - 1) * d->dilation + 1,
                out = (d->size[i] + 2 * d->pad - reach) / d->stride + 1;
        n *= (double)(d->taps[i] * (d->transposed ? d->size[i] : out));
    }
    return n;
}

static void draw_form(struct drawn_conv *d, struct rnd *r) {
    static const int64_t channels[] = {3, 16, 17, 24, 32, 40, 64}, taps[] = {1, 2, 3, 3, 3, 4, 5};
    *d = (struct drawn_conv){.rank = rnd_range(r, 1, 3),
                             .n = rnd_range(r, 1, 3),
                             .stride = rnd_range(r, 1, 3),
                             .dilation = rnd_range(r, 1, 2),
                             .groups = 1,
                             .transposed = rnd_below(r, 3) == 0,
                             .dt = rnd_below(r, 3) ? RG_BF16 : RG_F16};
    d->in = channels[rnd_below(r, RG_COUNT(channels))], d->out = channels[rnd_below(r, RG_COUNT(channels))];
    if (d->in % 8 == 0 && d->out % 8 == 0 && rnd_below(r, 3) == 0) d->groups = rnd_below(r, 2) ? 2 : 8;
    d->with = rnd_below(r, 2) * BIAS + (rnd_below(r, 3) == 0) * SWAPPED;
    d->pad = rnd_below(r, 3);
    for (int i = 0; i < d->rank; i++) {
        d->taps[i] = taps[rnd_below(r, RG_COUNT(taps) - (d->rank == 3 ? 2 : 0))];
        int64_t reach = (d->taps[i] - 1) * d->dilation;
        d->size[i] = reach + 1 + rnd_range(r, d->rank == 1 ? 40 : 3, d->rank == 1 ? 200 : 16);
        if (d->transposed) d->pad = RG_MIN(d->pad, reach);
    }
}

/* Enough work for tiles on four SMs, and little more. */
static void draw(struct drawn_conv *d, uint64_t seed) {
    struct rnd r = {seed};
    do draw_form(d, &r);
    while (fmas(d) < 1.3e6 || fmas(d) > 2e6);
}

/* Named forms first, those of networks in small. */
TEST_SLOW(implicit_gemm_forms, 120) {
    static const struct drawn_conv forms[] = {
        /* strided; the stem; transposed; grouped */
        {2, 2, 32, 48, {13, 12}, {3, 3}, 2, 1, 1, 1, false, RG_BF16, 0},
        {2, 1, 3, 32, {35, 33}, {7, 7}, 2, 1, 3, 1, false, RG_BF16, 0},
        {2, 2, 32, 32, {7, 6}, {4, 4}, 2, 1, 1, 1, true, RG_BF16, 0},
        {2, 1, 64, 64, {8, 9}, {3, 3}, 1, 1, 1, 2, false, RG_F16, 0},
        /* 1-D, dilated, channels that are no whole chunks; 3-D */
        {1, 4, 20, 36, {101}, {5}, 1, 2, 4, 1, false, RG_BF16, 0},
        {3, 1, 16, 16, {5, 6, 7}, {3, 3, 3}, 1, 1, 1, 1, false, RG_BF16, 0},
        /* phases and taps of three axes: one axis of K is left to split */
        {3, 2, 8, 8, {6, 7, 60}, {4, 4, 4}, 2, 1, 1, 1, true, RG_BF16, 0},
    };
    simgpu_add();
    for (size_t i = 0; i < RG_COUNT(forms); i++) check_on(&forms[i], i % 2 ? "SIM80S" : "SIM90S");
    TEST_INFO("%u kernels by MMA instructions", simgpu_count.mma);
    CHECK(simgpu_count.mma >= 3 * RG_COUNT(forms) - 2); /* gradients with short rows have too little work */
}

/* Few output channels, of a convolution or of a group, and phases of a transposed convolution that get nothing. */
TEST_SLOW(implicit_gemm_few_channels, 120) {
    static const struct drawn_conv forms[] = {
        {2, 5, 64, 3, {13, 12}, {3, 3}, 1, 1, 1, 1, false, RG_BF16, BIAS},
        {2, 4, 64, 16, {13, 12}, {3, 3}, 1, 1, 1, 4, false, RG_F16, SWAPPED},
        {2, 3, 32, 32, {7, 6}, {4, 3}, 2, 2, 1, 1, true, RG_BF16, BIAS},
        {2, 3, 32, 32, {7, 6}, {3, 3}, 3, 2, 1, 1, true, RG_F16, 0},
    };
    simgpu_add();
    for (size_t i = 0; i < RG_COUNT(forms); i++) check_on(&forms[i], i % 2 ? "SIM80S" : "SIM90S");
    TEST_INFO("%u kernels by MMA instructions", simgpu_count.mma);
    CHECK(simgpu_count.mma >= 2 * RG_COUNT(forms));
}

TEST_SLOW(implicit_gemm_random, 200) {
    int64_t seeds = getenv("SEEDS") ? atoll(getenv("SEEDS")) : 2,
            first = getenv("SEED") ? atoll(getenv("SEED")) : 1;
    simgpu_add();
    for (int64_t i = 0; i < seeds; i++) {
        struct drawn_conv d;
        draw(&d, (uint64_t)(first + i));
        check_on(&d, (first + i) % 2 ? "SIM90S" : "SIM80S");
    }
    CHECK(simgpu_count.launches > 0);
}

/* fp32 by FMAs: direct convolutions of few channels, of one image, of sizes without divisors, which are padded. */
TEST_SLOW(implicit_gemm_direct, 200) {
    static const struct drawn_conv forms[] = {
        {2, 1, 8, 8, {67, 64}, {5, 5}, 1, 1, 2, 1, false, RG_F32, 0},
        {2, 2, 32, 3, {41, 37}, {3, 3}, 1, 1, 1, 1, false, RG_F32, BIAS | SWAPPED},
        {2, 1, 16, 17, {29, 31}, {3, 3}, 1, 1, 1, 1, false, RG_F32, BIAS},
        {1, 3, 24, 3, {6 * 1021}, {3}, 1, 1, 1, 1, false, RG_F32, 0},
        {1, 2, 1, 24, {7001}, {4}, 1, 2, 0, 1, false, RG_F32, BIAS},
    };
    static const int64_t channels[] = {1, 3, 5, 8, 17, 24}, taps[] = {2, 3, 3, 4, 5};
    int64_t seeds = getenv("SEEDS") ? atoll(getenv("SEEDS")) : 2,
            first = getenv("SEED") ? atoll(getenv("SEED")) : 1;
    simgpu_add();
    for (size_t i = 0; i < RG_COUNT(forms); i++) check_on(&forms[i], i % 2 ? "SIM80S" : "SIM90S");
    for (int64_t i = 0; i < seeds; i++) {
        struct drawn_conv d;
        struct rnd r = {(uint64_t)(first + i)};
        do {
            draw_form(&d, &r);
            d.rank = RG_MIN(d.rank, 2), d.groups = 1, d.dt = RG_F32;
            d.in = channels[rnd_below(&r, RG_COUNT(channels))],
            d.out = channels[rnd_below(&r, RG_COUNT(channels))];
            for (int k = 0; k < d.rank; k++) {
                d.taps[k] = taps[rnd_below(&r, RG_COUNT(taps))];
                d.size[k] = d.rank == 1 ? rnd_range(&r, 500, 9000) : rnd_range(&r, 20, 90);
            }
            d.pad = d.transposed ? 0 : rnd_below(&r, 3);
        } while (fmas(&d) < 1.3e6 || fmas(&d) > 4e6);
        check_on(&d, (first + i) % 2 ? "SIM90S" : "SIM80S");
    }
    TEST_INFO("%u kernels by threads of a block", simgpu_count.blocks);
    CHECK(simgpu_count.blocks >= RG_COUNT(forms));
}

/* fp64 by MMA instructions that gather, a halo too. */
TEST_SLOW(implicit_gemm_f64, 200) {
    static const struct drawn_conv forms[] = {
        {2, 2, 32, 32, {9, 10}, {3, 3}, 1, 1, 1, 1, false, RG_F64, BIAS},
        {1, 2, 24, 16, {117}, {5}, 1, 2, 3, 1, true, RG_F64, SWAPPED},
        {2, 1, 16, 48, {13, 11}, {3, 4}, 2, 1, 2, 1, false, RG_F64, 0},
    };
    simgpu_add();
    for (size_t i = 0; i < RG_COUNT(forms); i++) check_on(&forms[i], "SIM90S");
    TEST_INFO("%u kernels by MMA instructions", simgpu_count.mma);
    CHECK(simgpu_count.mma >= 2 * RG_COUNT(forms));
}

/* fp32 by TF32 instructions where K is the channels: the convolution and the gradient of its images. */
TEST_SLOW(implicit_gemm_tf32, 200) {
    static const struct drawn_conv forms[] = {
        {2, 2, 32, 48, {13, 12}, {3, 3}, 1, 1, 1, 1, false, RG_F32, 0},
        {2, 1, 64, 64, {8, 9}, {3, 3}, 2, 1, 1, 1, false, RG_F32, 0},
        {2, 1, 3, 32, {35, 33}, {7, 7}, 2, 1, 3, 1, false, RG_F32, 0},
        {1, 4, 20, 36, {101}, {5}, 1, 2, 4, 1, false, RG_F32, 0},
        {2, 2, 32, 32, {7, 6}, {4, 4}, 2, 1, 1, 1, true, RG_F32, 0},
    };
    int64_t seeds = getenv("SEEDS") ? atoll(getenv("SEEDS")) : 1,
            first = getenv("SEED") ? atoll(getenv("SEED")) : 1;
    setenv("RIDGE_TF32", "1", 1);
    env_reload();
    simgpu_add();
    for (size_t i = 0; i < RG_COUNT(forms); i++) check_on(&forms[i], i % 2 ? "SIM80S" : "SIM90S");
    TEST_INFO("%u kernels by MMA instructions", simgpu_count.mma);
    CHECK(simgpu_count.mma >= RG_COUNT(forms));
    for (int64_t i = 0; i < seeds; i++) {
        struct drawn_conv d;
        draw(&d, (uint64_t)(first + i));
        d.dt = RG_F32;
        check_on(&d, (first + i) % 2 ? "SIM90S" : "SIM80S");
    }
}

/* ---- one tap ------------------------------------------------------------------------------------------------------ */

/* Images whose channels are whole panels are loaded as they are; others have one copy for the convolution and both gradients. */
TEST_SLOW(implicit_gemm_one_tap, 120) {
    static const struct drawn_conv forms[] = {
        {2, 2, 128, 64, {8, 16}, {1, 1}, 1, 1, 0, 1, false, RG_BF16, 0},
        {2, 4, 192, 64, {7, 7}, {1, 1}, 1, 1, 0, 1, false, RG_BF16, 0},
    };
    simgpu_add();
    for (size_t i = 0; i < RG_COUNT(forms); i++) check_on(&forms[i], "SIM90S");
    CHECK(simgpu_count.tma > 0);
}

static rg_tensor zeros(rg_ctx *c, rg_ints shape) {
    size_t n = 1;
    for (size_t i = 0; i < shape.n; i++) n *= (size_t)shape.d[i];
    void *data = calloc(n, 2);
    rg_tensor x = rg_from(c, RG_BF16, data, shape);
    free(data);
    return x;
}

/* Bytes that a 1 x 1 convolution of relu(x) and its gradients move, in those of x. */
static double moved(rg_ctx *c, int64_t n, int64_t wide, int64_t size) {
    rg_tensor in[] = {zeros(c, RG_SHAPE(n, wide, size, size)), zeros(c, RG_SHAPE(wide / 4, wide, 1, 1))},
              g[2];
    rg_tensor y = rg_conv2d(rg_relu(in[0]), in[1], RG_NONE);
    rg_grad(y, ((rg_tensors){in, 2}), g, .seed = zeros(c, RG_SHAPE(n, wide / 4, size, size)));
    rg_plan_stats s = {0};
    CHECK_EQ(rg_schedule_stats(RG_TENSORS(y, g[0], g[1]), &s), 0);
    return s.bytes / (double)(2 * rg_size(in[0]));
}

TEST(implicit_gemm_one_tap_copies) {
    simgpu_add();
    rg_ctx *c = rg_open("SIM90");
    double large = moved(c, 8, 256, 56), small = moved(c, 64, 1024, 14);
    TEST_INFO("bytes at 56 x 56: %.2f of the images, at 14 x 14: %.2f", large, small);
    CHECK(large < 8.6); /* 8.9 with a copy of the images */
    CHECK(small < 10);  /* 13.4 with one for each product */
    CHECK_EQ(rg_close(c), 0);
}

/* Rows of a tile that overlap go through L1: windows do, pixels do not. */
TEST_SLOW(implicit_gemm_windows_through_l1, 60) {
    static const struct drawn_conv stem = {2, 1, 3, 32, {35, 33}, {7, 7}, 2, 1, 3, 1, false, RG_BF16, 0},
                                   pixels = {2, 4, 64, 64, {8, 9}, {1, 1}, 1, 1, 0, 1, false, RG_BF16, 0};
    simgpu_add();
    check_on(&pixels, "SIM80S");
    CHECK_EQ(simgpu_count.cached, 0);
    check_on(&stem, "SIM80S");
    CHECK(simgpu_count.cached >= 1);
}

/* What a 3 x 3 convolution of bf16 and its gradients take, by the model. */
static rg_plan_stats planned(rg_ctx *c, int64_t n, int64_t channels, int64_t filters, int64_t size,
                             bool gradients) {
    rg_tensor in[] = {zeros(c, RG_SHAPE(n, channels, size, size)),
                      zeros(c, RG_SHAPE(filters, channels, 3, 3))},
              g[2];
    rg_tensor y = rg_conv2d(in[0], in[1], .padding = RG_SHAPE(1));
    rg_plan_stats s = {0};
    if (gradients) rg_grad(y, ((rg_tensors){in, 2}), g, .seed = zeros(c, RG_SHAPE(n, filters, size, size)));
    CHECK_EQ(rg_schedule_stats(gradients ? RG_TENSORS(g[0], g[1]) : RG_TENSORS(y), &s), 0);
    return s;
}

/* 64 channels are read where they are; from 128 by 128 on a copy with the channels last costs less than it saves. */
TEST(implicit_gemm_of_many_channels) {
    simgpu_add();
    rg_ctx *c = rg_open("SIM90");
    CHECK_EQ(planned(c, 64, 64, 64, 56, false).kernels, 2);
    CHECK_EQ(planned(c, 32, 128, 64, 64, false).kernels, 2);
    CHECK_EQ(planned(c, 32, 128, 128, 64, false).kernels, 3);
    CHECK_EQ(planned(c, 32, 384, 128, 64, false).kernels, 3);
    CHECK_EQ(rg_close(c), 0);
}

/* Prices are those of MMA instructions, with padding or without, in place or over copies. */
TEST(implicit_gemm_of_channels_is_priced) {
    struct rnd r = {20261119};
    setenv("RIDGE_MODEL", "share/machines/h200.txt", 1);
    simgpu_add();
    rg_ctx *c = rg_open("SIM90");
    double worst = 0;
    for (int i = 0; i < 40; i++) {
        int64_t channels = 64 * rnd_range(&r, 1, 8), filters = 64 * rnd_range(&r, 1, 8),
                size = 8 * rnd_range(&r, 2, 8);
        int64_t n = RG_MAX(1, (int64_t)3e9 / (channels * filters * 9 * size * size));
        bool gradients = rnd_below(&r, 2);
        rg_plan_stats s = planned(c, n, channels, filters, size, gradients);
        double floor = s.ops / 990e12 + s.bytes / 4.8e12 + 2e-6 * (double)s.kernels;
        if (s.predicted > 2 * floor)
            FAIL("%lld x %lld x %lld^2, %lld filters: %.0f us, %.0f at the roof", (long long)n,
                 (long long)channels, (long long)size, (long long)filters, s.predicted * 1e6, floor * 1e6);
        worst = RG_MAX(worst, s.predicted / floor);
    }
    TEST_INFO("at most %.1f x what the roof allows", worst);
    CHECK_EQ(rg_close(c), 0);
}

/* ---- products of heads ------------------------------------------------------------------------------------------ */

/* The product behind an attention of heads (B, H, T, D), and what flows to its weights: sums over images and positions. */
static void behind_heads(rg_ctx *c, rg_tensor heads, rg_tensor w, rg_tensor flow, rg_tensor out[2]) {
    int64_t wide = rg_dim(heads, 1) * rg_dim(heads, 3);
    rg_tensor rows =
        rg_reshape(rg_transpose(heads, 1, 2), RG_SHAPE(rg_dim(heads, 0), rg_dim(heads, 2), wide));
    rg_tensor y = rg_matmul(rows, w);
    if (rg_grad(y, RG_TENSORS(w), &out[1], .seed = flow)) FAIL("%s", rg_error(c));
    out[0] = rg_cast(y, RG_F32), out[1] = rg_cast(out[1], RG_F32);
}

/* Heads are read where they lie, by TMA if a tile lies within an image. */
TEST_SLOW(implicit_gemm_heads, 60) {
    static const int64_t shape[][5] = {{2, 3, 128, 64, 128}, {3, 3, 96, 64, 64}, {2, 4, 64, 72, 80}};
    simgpu_add();
    for (size_t i = 0; i < RG_COUNT(shape); i++) {
        const int64_t *s = shape[i], heads[4] = {s[0], s[1], s[2], s[3]}, flow[3] = {s[0], s[2], s[4]},
                      w[2] = {s[1] * s[3], s[4]};
        size_t n[2] = {(size_t)(s[0] * s[2] * s[4]), (size_t)(w[0] * w[1])};
        float *got[2] = {malloc((n[0] + n[1]) * sizeof(float)), malloc((n[0] + n[1]) * sizeof(float))};
        for (int d = 0; d < 2; d++) {
            rg_ctx *c = rg_open(d ? "REF" : "SIM90S");
            rg_tensor y[2];
            behind_heads(c, small_integers(c, RG_BF16, heads, 4, i), small_integers(c, RG_BF16, w, 2, i + 5),
                         small_integers(c, RG_BF16, flow, 3, i + 9), y);
            if (rg_read(y[0], got[d], n[0] * sizeof(float)) ||
                rg_read(y[1], got[d] + n[0], n[1] * sizeof(float)))
                FAIL("%s", rg_error(c));
            rg_close(c);
        }
        CHECK(!memcmp(got[0], got[1], (n[0] + n[1]) * sizeof(float)));
        free(got[0]), free(got[1]);
    }
    TEST_INFO("%u kernels by TMA", simgpu_count.tma);
    CHECK(simgpu_count.tma >= 2);
}
