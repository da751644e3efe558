/* slow_forms.c: which form a GPU's kernels get. Reductions, scans, norms and selections of awkward shapes, forward and with
 * gradients, are planned against the library that stands in for the driver (tests/fake): no kernel may have given up a fast
 * form (render_shape.why, the line `slow form` of DEBUG=3). Code: src/render/gpu_coop.c, src/tune/choose/gpu_heuristic.c,
 * src/schedule/price.c, src/schedule/split.c */
#include "captured.h"
#include "fake/cuda.h"
#include "irtest.h"

#include <math.h>

typedef rg_tensor program(rg_tensor x);
static rg_tensor sum0(rg_tensor x) { return rg_sum(x, .axes = RG_AXES(0)); }
static rg_tensor sum1(rg_tensor x) { return rg_sum(x, .axes = RG_AXES(1)); }
static rg_tensor less1(rg_tensor x) { return rg_sum(rg_neg(x), .axes = RG_AXES(1)); }
static rg_tensor running_less(rg_tensor x) { return rg_cumsum(rg_neg(x), 1); }
static rg_tensor bce(rg_tensor x) { return rg_bce(x, x); }
static rg_tensor var_all(rg_tensor x) { return rg_var(x); }
static rg_tensor std0(rg_tensor x) { return rg_std(x, .axes = RG_AXES(0)); }
static rg_tensor var1(rg_tensor x) { return rg_var(x, .axes = RG_AXES(1)); }
static rg_tensor most(rg_tensor x) { return rg_argmax(x, .axes = RG_AXES(1)); }
static rg_tensor most0(rg_tensor x) { return rg_argmax(x, .axes = RG_AXES(0)); }
static rg_tensor lse0(rg_tensor x) { return rg_logsumexp(x, .axes = RG_AXES(0)); }
static rg_tensor softmax(rg_tensor x) { return rg_softmax(x, 1); }
static rg_tensor running0(rg_tensor x) { return rg_cumsum(x, 0); }
static rg_tensor running1(rg_tensor x) { return rg_cummax(x, 1); }
static rg_tensor layernorm(rg_tensor x) {
    rg_ctx *c = rg_ctx_of(x);
    rg_tensor w = rg_ones(c, rg_dtype_of(x), RG_SHAPE(rg_dim(x, 1)));
    rg_tensor p = rg_param(w), q = rg_param(x), y = rg_layernorm(q, p, RG_NONE);
    rg_backward(rg_sum(
        rg_mul(rg_cast(y, RG_F32),
               rg_cast(rg_contiguous(rg_rand(c, RG_F32, RG_SHAPE(rg_dim(x, 0), rg_dim(x, 1)))), RG_F32))));
    rg_realize_all(RG_TENSORS(rg_param_grad(p), rg_param_grad(q)));
    return y;
}

static rg_tensor attention(rg_tensor x) {
    int64_t t = rg_dim(x, 0) / 4, d = rg_dim(x, 1);
    rg_tensor q = rg_reshape(x, RG_SHAPE(1, 4, t, d)), g[3];
    rg_tensor k = rg_contiguous(rg_neg(q)), v = rg_contiguous(rg_exp(q));
    rg_grad(rg_attention(q, k, v, .causal = true), RG_TENSORS(q, k, v), g, .seed = rg_contiguous(rg_sin(q)));
    rg_realize_all(RG_TENSORS(g[0], g[1], g[2]));
    return rg_attention(q, k, v,
                        .mask = rg_contiguous(rg_gt(rg_rand(rg_ctx_of(x), RG_F32, RG_SHAPE(t, t)), 0.5)));
}

/* Three of four results of the image gradient are zeros: its GEMM is over the fourth, 28 x 28. */
static rg_tensor strided_1x1(rg_tensor x) {
    rg_ctx *c = rg_ctx_of(x);
    rg_tensor w = rg_contiguous(rg_cast(rg_rand(c, RG_F32, RG_SHAPE(128, 64, 1, 1)), RG_BF16)), g;
    rg_tensor image = rg_reshape(x, RG_SHAPE(64, 64, 56, 56));
    rg_tensor y = rg_conv2d(image, w, .stride = RG_SHAPE(2));
    rg_tensor dy = rg_contiguous(rg_cast(rg_rand(c, RG_F32, RG_SHAPE(64, 128, 28, 28)), RG_BF16));
    rg_realize_all(RG_TENSORS(w, dy));
    rg_grad(y, RG_TENSORS(image), &g, .seed = dy);
    return g;
}
#define WITH_ZEROS "r_64_64_56_56_128"

/* Each element of x gathers from up to four windows: several neighbours a thread, 16 bytes a store. */
static rg_tensor pool_gradient(rg_tensor x) {
    rg_tensor image = rg_reshape(x, RG_SHAPE(64, 64, 112, 112)), g;
    rg_tensor y = rg_max_pool2d(image, RG_SHAPE(3), .stride = RG_SHAPE(2), .padding = RG_SHAPE(1));
    rg_tensor dy = rg_contiguous(rg_cast(rg_rand(rg_ctx_of(x), RG_F32, RG_SHAPE(64, 64, 56, 56)), RG_BF16));
    rg_realize(dy);
    rg_grad(y, RG_TENSORS(image), &g, .seed = dy);
    return g;
}
#define GATHERED "b0 bf16[51380224] <- b1 u8[12845056], b2 bf16[12845056]; grid 6422528"

/* The GEMM of the image gradient runs by phases of the stride, whatever is computed with its results. */
static rg_tensor strided_3x3(rg_tensor x) {
    rg_ctx *c = rg_ctx_of(x);
    rg_tensor w = rg_contiguous(rg_cast(rg_rand(c, RG_F32, RG_SHAPE(128, 64, 3, 3)), RG_BF16)), g;
    rg_tensor image = rg_reshape(x, RG_SHAPE(64, 64, 56, 56));
    rg_tensor y = rg_conv2d(image, w, .stride = RG_SHAPE(2), .padding = RG_SHAPE(1));
    rg_tensor dy = rg_contiguous(rg_cast(rg_rand(c, RG_F32, RG_SHAPE(64, 128, 28, 28)), RG_BF16));
    rg_realize_all(RG_TENSORS(w, dy));
    rg_grad(y, RG_TENSORS(image), &g, .seed = dy);
    return rg_mul(rg_add(g, image), image);
}
#define BY_PHASES "r_64_2_2_64_29_29_2_2_128"

/* 64 terms are one tile by wgmma, where tiles are many. */
static rg_tensor pointwise(rg_tensor x) {
    rg_ctx *c = rg_ctx_of(x);
    rg_tensor w = rg_contiguous(rg_cast(rg_rand(c, RG_F32, RG_SHAPE(256, 64, 1, 1)), RG_BF16));
    rg_realize(w);
    return rg_conv2d(rg_reshape(x, RG_SHAPE(64, 64, 56, 56)), w);
}
#define ONE_K_TILE "k3+k3_t+k3_t_t"

/* What is computed is stored before it is copied channels-last with a halo. */
static rg_tensor halo(rg_tensor x) {
    rg_ctx *c = rg_ctx_of(x);
    rg_tensor w = rg_contiguous(rg_cast(rg_rand(c, RG_F32, RG_SHAPE(128, 64, 3, 3)), RG_BF16)),
              z = rg_contiguous(rg_neg(x));
    rg_realize_all(RG_TENSORS(w, z));
    rg_tensor image = rg_reshape(rg_relu(rg_add(rg_mul(x, z), z)), RG_SHAPE(64, 64, 56, 56));
    return rg_conv2d(image, w, .stride = RG_SHAPE(2), .padding = RG_SHAPE(1));
}
#define COPIED "b0 bf16[13307904] <- b1 bf16[12845056]; grid"

/* Images and positions are one loop: a warp a part would walk through 16 images alone. */
static rg_tensor channel_sums(rg_tensor x) {
    return rg_sum(rg_reshape(x, RG_SHAPE(64, 64, 56, 56)), .axes = RG_AXES(0, 2, 3));
}
#define ONE_LOOP "r_16_64_4_3136            opts: JOIN(k2,k3,k2_j)"

/* Statistics of channels and what is stored by channels are passes of one length, by vectors of 4 of 196 positions. */
static rg_tensor norm_by_channels(rg_tensor x) {
    rg_tensor y = rg_cast(rg_reshape(x, RG_SHAPE(64, 1024, 14, 14)), RG_F32),
              mean = rg_mean(y, .axes = RG_AXES(0, 2, 3), .keep = true);
    rg_tensor z = rg_cast(rg_relu(rg_sub(y, mean)), RG_BF16);
    return rg_contiguous(rg_reshape(rg_transpose(z, 0, 1), RG_SHAPE(1024, 12544)));
}
#define ONE_LENGTH "COOP(i1) TILE(k2_j,4,k2_j_v) VEC(k2_j_v) COOP(k2_j)"

/* No axis has parts enough for a GPU: images and rows are split. */
static rg_tensor odd_channels(rg_tensor x) {
    return rg_sum(rg_reshape(x, RG_SHAPE(24, 4, 35, 32, 43)), .axes = RG_AXES(0, 2, 3, 4));
}
#define BY_ROWS "b0 f32[672] <- b1 f32[4623360]; grid 672"

/* Rows of 163 elements are read whole, by a block for each channel and row of all images. */
static rg_tensor prime_rows(rg_tensor x) {
    rg_tensor y = rg_contiguous(rg_neg(rg_reshape(x, RG_SHAPE(8, 16, 61, 163))));
    rg_realize(y);
    return rg_sum(y, .axes = RG_AXES(0, 2, 3));
}
#define WHOLE_ROWS "b0 f32[976] <- b1 f32[1272704]; grid 976"

/* 3 is no number of parts for a sum of 3 x 65,537: chunks of the longer axis, by tensor cores. */
static rg_tensor odd_tokens(rg_tensor x) {
    rg_tensor dy = rg_contiguous(rg_reshape(x, RG_SHAPE(3, 65537, 127))), g;
    rg_tensor w = rg_contiguous(rg_cast(rg_rand(rg_ctx_of(x), RG_F32, RG_SHAPE(7, 127)), RG_BF16));
    rg_tensor in = rg_contiguous(rg_cast(rg_rand(rg_ctx_of(x), RG_F32, RG_SHAPE(3, 65537, 7)), RG_BF16));
    rg_realize_all(RG_TENSORS(w, in, dy));
    rg_grad(rg_matmul(in, w), RG_TENSORS(w), &g, .seed = dy);
    return g;
}
#define CHUNKS_OF_TOKENS "r_256_127_7_3_256"

/* A block of threads shares a reduction of several axes: one for all elements would be priced as high as 80. */
static rg_tensor transposed_max(rg_tensor x) {
    return rg_max(rg_transpose(rg_reshape(x, RG_SHAPE(1024, 40, 31)), 0, 2));
}
#define BLOCKS "b0 i16[80] <- b1 i16[1269760]; grid 80"

/* Each tensor that is read transposed has a tile. */
static rg_tensor transposed_sum(rg_tensor x) {
    rg_tensor y = rg_contiguous(rg_neg(x));
    rg_realize(y);
    return rg_contiguous(rg_transpose(rg_add(x, y), 0, 1));
}
/* One query, and one of a group, over many keys. */
static rg_tensor decode(rg_tensor x) {
    int64_t n = rg_dim(x, 0) / 8, d = rg_dim(x, 1);
    rg_tensor k = rg_reshape(x, RG_SHAPE(1, 8, n, d)), v = rg_contiguous(rg_neg(k));
    rg_tensor q = rg_contiguous(rg_exp(rg_slice(k, RG_SLICES(RG_WHOLE, RG_WHOLE, RG_RANGE(0, 1)))));
    rg_tensor some = rg_contiguous(rg_exp(
        rg_reshape(rg_slice(k, RG_SLICES(RG_WHOLE, RG_WHOLE, RG_RANGE(0, 4))), RG_SHAPE(1, 32, 1, d))));
    rg_realize_all(RG_TENSORS(v, q, some));
    rg_realize(rg_attention(q, k, v));
    return rg_attention(some, k, v);
}

#define TWO_TILES "VEC(b2_v) STAGE(b1,"

/* 3 x 3, norm, 1 x 1 of x by x pixels: the result of the first is stored as the operand of the second, (channels, images x positions) in
 * rows with padding at 7 x 7. All by tensor cores. */
static rg_tensor bottleneck(rg_tensor x) {
    rg_ctx *c = rg_ctx_of(x);
    int64_t n = rg_dim(x, 1) == 49 ? 7 : 14, ch = rg_dim(x, 0) / 64;
    rg_tensor w[3], image = rg_reshape(x, RG_SHAPE(64, ch, n, n));
    for (int i = 0; i < 3; i++) {
        int64_t taps = i ? 1 : 3, out = i == 1 ? 4 * ch : ch;
        w[i] = rg_cast(rg_rand(c, RG_F32, RG_SHAPE(out, i == 2 ? 4 * ch : ch, taps, taps)), RG_BF16);
        rg_realize(w[i]);
    }
    rg_tensor y = rg_relu(rg_mul(rg_conv2d(image, w[0], .padding = RG_SHAPE(1)), 0.5));
    return rg_conv2d(rg_relu(rg_conv2d(y, w[1])), w[2]);
}

/* The first kernel of such a program without tensor cores, or NULL. */
static const char *without_tensor_cores(const char *text, const char *name) {
    const char *p = strstr(text, name), *end = p ? strstr(p, "\nprogram ") : NULL;
    for (p = p ? strstr(p, "\nr_") : NULL; p && end && p < end; p = strstr(p + 1, "\nr_")) {
        const char *tc = strstr(p, " TC("), *line = strchr(p + 1, '\n');
        if (!tc || tc > line) return p + 1;
    }
    return NULL;
}

/* Thirty tiles by MMA instructions, not 69,120 threads of 1,170 terms. */
static rg_tensor weights_of_one_image(rg_tensor x) {
    rg_ctx *c = rg_ctx_of(x);
    rg_tensor w = rg_contiguous(rg_cast(rg_rand(c, RG_F32, RG_SHAPE(96, 16, 3, 3)), RG_F16)), g;
    rg_tensor dy = rg_contiguous(rg_cast(rg_rand(c, RG_F32, RG_SHAPE(1, 96, 86, 65)), RG_F16));
    rg_realize_all(RG_TENSORS(w, dy));
    rg_tensor y = rg_conv2d(rg_reshape(x, RG_SHAPE(1, 16, 86, 65)), w, .padding = RG_SHAPE(1));
    rg_grad(y, RG_TENSORS(w), &g, .seed = dy);
    return g;
}
#define FEW_TILES "r_5_96_3_48_18_65         opts: JOIN("

/* A block for each of 32 sums of 1,792 terms. */
static rg_tensor one_filter(rg_tensor x) {
    rg_ctx *c = rg_ctx_of(x);
    rg_tensor w = rg_contiguous(rg_cast(rg_rand(c, RG_F32, RG_SHAPE(1, 64, 2, 7, 2)), RG_BF16));
    rg_realize(w);
    return rg_conv3d(rg_reshape(x, RG_SHAPE(1, 64, 5, 7, 3)), w, .stride = RG_INTS(1, 2, 1),
                     .padding = RG_INTS(0, 3, 0));
}
#define FEW_SUMS "r_4_4_2_64_2_7_2          opts: JOIN("

/* 20 columns are padded to a tile: a thread would load 1,024 terms. */
static rg_tensor few_columns(rg_tensor x) {
    rg_tensor w = rg_contiguous(rg_rand(rg_ctx_of(x), RG_F32, RG_SHAPE(2048, 20)));
    rg_realize(w);
    return rg_matmul(x, w);
}
/* The first result is stored in rows of 288, as the second product reads it: 277 of them are computed, by tiles. */
static rg_tensor odd_hidden(rg_tensor x) {
    rg_ctx *c = rg_ctx_of(x);
    rg_tensor w[2] = {rg_contiguous(rg_rand(c, RG_F32, RG_SHAPE(257, 277))),
                      rg_contiguous(rg_rand(c, RG_F32, RG_SHAPE(277, 257)))};
    rg_realize_all(RG_TENSORS(w[0], w[1]));
    return rg_matmul(rg_silu(rg_matmul(x, w[0])), w[1]);
}
#define PADDED_ROWS "r_65536_288_288           opts: TILE("

/* Heads are stored side by side, rows of images one after the other: the product has one axis of 8 x 197 rows. */
static rg_tensor heads_of(rg_tensor x) {
    int64_t w = rg_dim(x, 1);
    return rg_transpose(rg_reshape(x, RG_SHAPE(8, rg_dim(x, 0) / 8, w / 64, 64)), 1, 2);
}
static rg_tensor heads(rg_tensor x) {
    int64_t n = rg_dim(x, 0), width = rg_dim(x, 1);
    rg_tensor k = rg_contiguous(rg_neg(x)), v = rg_contiguous(rg_exp(x)),
              w = rg_contiguous(rg_cast(rg_rand(rg_ctx_of(x), RG_F32, RG_SHAPE(width, width)), RG_BF16));
    rg_realize_all(RG_TENSORS(k, v, w));
    rg_tensor y = rg_attention(heads_of(x), heads_of(k), heads_of(v));
    return rg_matmul(rg_reshape(rg_transpose(y, 1, 2), RG_SHAPE(n, width)), w);
}
#define MERGED_ROWS "r_1576_192_192            opts: TILE("

/* Patches are stored with their channels last, whose norm, behind that of a token before them, is one pass over rows. */
static rg_tensor patches(rg_tensor x) {
    rg_ctx *c = rg_ctx_of(x);
    int64_t width = 384, n = rg_dim(x, 0);
    rg_tensor w = rg_contiguous(rg_cast(rg_rand(c, RG_F32, RG_SHAPE(width, 3, 16, 16)), RG_BF16)),
              token = rg_contiguous(rg_cast(rg_rand(c, RG_F32, RG_SHAPE(1, 1, width)), RG_BF16)),
              scale = rg_contiguous(rg_cast(rg_rand(c, RG_F32, RG_SHAPE(width)), RG_BF16));
    rg_realize_all(RG_TENSORS(w, token, scale));
    rg_tensor y = rg_conv2d(rg_reshape(x, RG_SHAPE(n, 3, 80, 112)), w, .stride = RG_SHAPE(16));
    y = rg_transpose(rg_flatten(y, 2, 3), 1, 2);
    return rg_layernorm(rg_cat(RG_TENSORS(rg_expand(token, RG_SHAPE(n, 1, width)), y), 1), scale, RG_NONE);
}
#define CHANNELS_LAST "r_64_36_384               opts: RESIDENT(i2,loads) TILE(i2,8,i2_v) VEC(i2_v) COOP(i2)"

/* What is sorted along its first axis is one matrix that is transposed, however many axes are behind it. */
static rg_tensor sorted0(rg_tensor x) { return rg_sort(rg_reshape(x, RG_SHAPE(128, 160, 20)), 0); }
static rg_tensor scanned0(rg_tensor x) { return rg_logcumsumexp(rg_reshape(x, RG_SHAPE(16384, 240, 4)), 0); }
#define SCANNED "E_960_16384               opts: PADTO(i1,64) TILE(i1,64,i1_t0)"
/* Of a few columns that are transposed a thread has those of several rows. */
static rg_tensor transposed(rg_tensor x) { return rg_contiguous(rg_transpose(x, 0, 1)); }
#define FEW_TRANSPOSED "E_3_1048576               opts: REG(i0) TILE(i1,4,i1_v) VEC(i1_v)"
/* Three elements are compared, and nothing is scattered by their indices. */
static rg_tensor sorted3(rg_tensor x) {
    rg_tensor g = x,
              w = rg_contiguous(rg_cast(rg_rand(rg_ctx_of(x), RG_F32, RG_SHAPE(rg_dim(x, 0), 3)), RG_BF16));
    rg_realize(w);
    rg_grad(rg_sort(x, 1), RG_TENSORS(x), &g, .seed = w);
    return g;
}
#define SCATTERED "scatter_sum_500000_3"
#define ONE_MATRIX "E_3200_128                opts: PADTO(i1,64) TILE(i1,64,i1_t0)"

/* A residual block of convolutions with norms of given statistics, whose shortcut is one, too: what is stored for the sum of both is
 * rounded, whatever moves the planner has left for a region of that many values. */
static rg_tensor given_norm(rg_tensor x, uint64_t seed) {
    rg_ctx *c = rg_ctx_of(x);
    rg_tensor v[4];
    for (int i = 0; i < 4; i++)
        v[i] = rg_cast(rg_add(rg_rand(c, RG_F32, RG_SHAPE(1, rg_dim(x, 1), 1, 1)), (double)seed), RG_BF16);
    rg_realize_all(RG_TENSORS(v[0], v[1], v[2], v[3]));
    rg_tensor scale = rg_cast(rg_rsqrt(rg_add(rg_cast(v[1], RG_F32), 1e-5)), RG_BF16);
    return rg_add(rg_mul(rg_mul(rg_sub(x, v[0]), scale), v[2]), v[3]);
}
static rg_tensor shortcut(rg_tensor x) {
    rg_ctx *c = rg_ctx_of(x);
    rg_tensor w[5], y = rg_reshape(x, RG_SHAPE(64, 64, 28, 28)), z = RG_NONE;
    for (int i = 0; i < 5; i++) {
        w[i] = rg_cast(rg_rand(c, RG_F32, RG_SHAPE(i % 2 ? 64 : 256, i == 0 || i % 2 == 0 ? 64 : 256, 1, 1)),
                       RG_BF16);
        rg_realize(w[i]);
    }
    z = given_norm(rg_conv2d(y, w[0]), 1);
    y = rg_relu(rg_add(given_norm(rg_conv2d(y, w[2]), 2), z));
    z = rg_relu(given_norm(rg_conv2d(y, w[1]), 3));
    y = rg_relu(rg_add(given_norm(rg_conv2d(z, w[4]), 4), y));
    return rg_relu(given_norm(rg_conv2d(y, w[3]), 5));
}
#define WIDE_SUM "b0 f32[12845056]"

/* Rows of 196 positions are not aligned: between convolutions channels are last, and images and positions one axis of 12,544 rows. */
static rg_tensor residuals(rg_tensor x) {
    rg_ctx *c = rg_ctx_of(x);
    rg_tensor w[3], y = rg_reshape(x, RG_SHAPE(64, 256, 14, 14)), z = rg_relu(rg_add(y, 1));
    for (int i = 0; i < 3; i++) {
        int64_t taps = i == 1 ? 3 : 1;
        w[i] = rg_cast(rg_rand(c, RG_F32, RG_SHAPE(i == 2 ? 256 : 128, i ? 128 : 256, taps, taps)), RG_BF16);
        rg_realize(w[i]);
    }
    for (int i = 0; i < 2; i++) {
        y = rg_relu(rg_conv2d(rg_relu(rg_conv2d(z, w[0])), w[1], .padding = RG_SHAPE(1)));
        z = rg_relu(rg_add(z, rg_conv2d(y, w[2])));
    }
    return z;
}
#define ROWS_OF_CHANNELS "r_12544_128_256           opts: TILE(i0,"

#define FEW_COLUMNS "r_4096_20_2048            opts: REG(i1) TILE(i0,"

static const struct {
    const char *name;
    program *fn;
    rg_dtype dt;
    int64_t rows, n;
} row[] = {
    {"sums of negatives", less1, RG_F32, 1286, 16384},
    {"running sums of negatives", running_less, RG_F32, 64, 50257},
    {"binary cross entropy", bce, RG_F16, 162129, 13},
    {"sum of columns, prime", sum0, RG_F32, 1000003, 17},
    {"sum of columns, bf16", sum0, RG_BF16, 100003, 96},
    {"sums of few long rows", sum1, RG_F32, 70, 300007},
    {"variance of all, odd", var_all, RG_F32, 1, 10000019},
    {"deviation of columns", std0, RG_F32, 50021, 103},
    {"variance of rows", var1, RG_F32, 512, 50001},
    {"argmax of one bf16 row", most, RG_BF16, 1, 32003},
    {"argmax of rows", most, RG_F32, 300, 50257},
    {"argmax of columns", most0, RG_F32, 50257, 31},
    {"logsumexp of columns", lse0, RG_F32, 50257, 31},
    {"softmax of bf16 rows", softmax, RG_BF16, 300, 50257},
    {"one running sum", running0, RG_F32, 3000017, 1},
    {"running sums of columns", running0, RG_F32, 20011, 33},
    {"running maxima of rows", running1, RG_F32, 64, 50257},
    {"attention of float32", attention, RG_F32, 4096, 64},
    {"attention of float32, odd", attention, RG_F32, 4 * 1053, 256},
    {"attention of bf16, odd heads", attention, RG_BF16, 2048, 60},
    {"attention of float32, small", attention, RG_F32, 4 * 128, 16},
    {"decoding bf16", decode, RG_BF16, 8 * 1024, 64},
    {"decoding", decode, RG_F32, 8 * 2048, 128},
    {"1x1 convolution of stride 2", strided_1x1, RG_BF16, 4096, 3136},
    {"1x1 convolution of 64 channels", pointwise, RG_BF16, 4096, 3136},
    {"3x3 convolution of stride 2", strided_3x3, RG_BF16, 4096, 3136},
    {"convolution of stride 2 of what is computed", halo, RG_BF16, 4096, 3136},
    {"bottleneck of 7 x 7", bottleneck, RG_BF16, 64 * 512, 49},
    {"bottleneck of 14 x 14", bottleneck, RG_BF16, 64 * 256, 196},
    {"sums of channels", channel_sums, RG_BF16, 4096, 3136},
    {"norm by channels", norm_by_channels, RG_BF16, 65536, 196},
    {"sums of odd channels", odd_channels, RG_F32, 96, 48160},
    {"sums of channels, rows of prime length", prime_rows, RG_F32, 8 * 16 * 61, 163},
    {"weights of a layer over odd tokens", odd_tokens, RG_BF16, 3 * 65537, 127},
    {"maximum of a transposed tensor", transposed_max, RG_I16, 1024, 1240},
    {"transposed sum", transposed_sum, RG_BF16, 4096, 2048},
    {"gradient of max pooling", pool_gradient, RG_BF16, 4096, 12544},
    {"layer norm, many short rows", layernorm, RG_BF16, 262144, 96},
    {"weights of one image", weights_of_one_image, RG_F16, 16, 86 * 65},
    {"a convolution to one channel", one_filter, RG_BF16, 64, 105},
    {"product of 20 columns", few_columns, RG_F32, 4096, 2048},
    {"products of odd rows", odd_hidden, RG_F32, 65536, 257},
    {"shortcut with norms", shortcut, RG_BF16, 64, 64 * 784},
    {"residuals of 14 x 14", residuals, RG_BF16, 64 * 256, 196},
    {"heads of odd rows", heads, RG_BF16, 8 * 197, 192},
    {"norm of patches", patches, RG_BF16, 64, 3 * 80 * 112},
    {"a sort along the first axis", sorted0, RG_F32, 128, 3200},
    {"sums of exponentials along the first axis", scanned0, RG_F32, 16384, 960},
    {"a transposition of three columns", transposed, RG_F32, 1 << 20, 3},
    {"gradient of a sort of three", sorted3, RG_BF16, 500000, 3},
    {"layer norm, odd", layernorm, RG_F32, 100003, 65},
};

/* What gave up a fast form, and of which program. */
static void check_fast(char *text) {
    const char *slow = strstr(text, "slow form"), *from = slow;
    while (from && from > text && strncmp(from, "program ", 8)) from--;
    while (slow && slow > text && slow[-1] != '\n') slow--; /* the kernel's name */
    if (slow) FAIL("%.*s: %.*s", (int)strcspn(from, "\n"), from, (int)strcspn(slow, "\n"), slow);
}

TEST(slow_forms_none) {
    struct fake *f = fake();
    struct err e = {0};
    struct arena arena;
    struct captured said = capture_start();
    char *text;
    f->memory = (size_t)16 << 30; /* asked for, not touched */
    unsetenv("RIDGE_MODEL");      /* the GPU's own */
    rg_ctx *c = fake_open(f);
    setenv("RIDGE_MULTI", "1", 1); /* 16-bit attention stores its sums beside its result */
    env_reload();
    for (size_t i = 0; i < RG_COUNT(row); i++) {
        RG_SCOPE(c);
        rg_tensor x = rg_cast(rg_rand(c, RG_F32, RG_SHAPE(row[i].rows, row[i].n)), row[i].dt);
        rg_realize(x);
        fprintf(stderr, "program %s\n", row[i].name);
        rg_realize(row[i].fn(x));
    }
    capture_stop(&said);
    if (rg_status_of(c)) FAIL("%s", rg_error(c));
    CHECK(!rg_close(c));
    arena_init(&arena, &e);
    capture_text(&said, &e, &arena, &text);
    CHECK(strstr(text, "program layer norm, odd") && strstr(text, "COOP("));
    CHECK(strstr(text, "r_64_64_784_128") && !strstr(text, WITH_ZEROS));
    CHECK(strstr(text, GATHERED) && strstr(text, ONE_LOOP) && strstr(text, BY_ROWS) && strstr(text, BLOCKS));
    CHECK(strstr(text, WHOLE_ROWS) && strstr(text, CHUNKS_OF_TOKENS));
    CHECK(strstr(text, TWO_TILES) && strstr(text, BY_PHASES) && strstr(text, COPIED));
    CHECK(strstr(text, ONE_LENGTH) && strstr(text, ONE_K_TILE));
    const char *plain[] = {without_tensor_cores(text, "program bottleneck of 7"),
                           without_tensor_cores(text, "program bottleneck of 14")};
    for (int i = 0; i < 2; i++)
        if (plain[i]) FAIL("%.*s", (int)strcspn(plain[i], "\n"), plain[i]);

    CHECK(strstr(text, FEW_TILES));
    const char *few = strstr(text, "r_4_4_2_64_2_7_2 ");
    if (!strstr(text, FEW_SUMS)) FAIL("%.200s", few ? few : "no such kernel");
    CHECK(strstr(text, FEW_COLUMNS) && !strstr(text, WIDE_SUM) && strstr(text, ROWS_OF_CHANNELS));
    CHECK(strstr(text, PADDED_ROWS) && strstr(text, MERGED_ROWS) && strstr(text, CHANNELS_LAST));
    CHECK(strstr(text, ONE_MATRIX) && strstr(text, SCANNED));
    CHECK(strstr(text, FEW_TRANSPOSED) && !strstr(text, SCATTERED));
    check_fast(text);
    arena_free(&arena);
}

static rg_tensor std1(rg_tensor x) { return rg_std(x, .axes = RG_AXES(1)); }
static rg_tensor lse1(rg_tensor x) { return rg_logsumexp(x, .axes = RG_AXES(1)); }
static rg_tensor softmax0(rg_tensor x) { return rg_log_softmax(x, 0); }
static rg_tensor rms(rg_tensor x) { return rg_rmsnorm(x, RG_NONE); }
static rg_tensor transposed_std(rg_tensor x) { return rg_std(rg_transpose(x, 0, 1), .axes = RG_AXES(1)); }

/* Rows and columns of any size and type that are read once, twice or three times. SEEDS and SEED draw others. */
TEST(slow_forms_of_random_rows) {
    static program *const fn[] = {var1, std1, lse1, softmax,  layernorm, rms,
                                  most, std0, lse0, softmax0, most0,     transposed_std};
    static const rg_dtype type[] = {RG_F32, RG_BF16, RG_F16, RG_F64};
    int64_t draws = getenv("SEEDS") ? atoll(getenv("SEEDS")) : 150;
    struct rnd r = {getenv("SEED") ? (uint64_t)atoll(getenv("SEED")) : 1};
    struct fake *f = fake();
    struct err e = {0};
    struct arena arena;
    struct captured said = capture_start();
    char *text;
    f->memory = (size_t)16 << 30; /* asked for, not touched */
    unsetenv("RIDGE_MODEL");      /* the GPU's own */
    rg_ctx *c = fake_open(f);
    for (int64_t i = 0; i < draws; i++) {
        RG_SCOPE(c);
        size_t which = (size_t)rnd_below(&r, RG_COUNT(fn));
        int64_t n = (int64_t)exp2(1 + 0.01 * (double)rnd_below(&r, 1500)); /* 2 to 64,000 */
        int64_t rows = (int64_t)((1 << 25) / n >> rnd_below(&r, 12)) + 1;
        if (rnd_below(&r, 3) == 0) n = n / 2 * 2;
        rg_dtype dt = type[rnd_below(&r, RG_COUNT(type))];
        rg_tensor x = rg_cast(rg_rand(c, RG_F32, RG_SHAPE(rows, n)), dt);
        rg_realize(x);
        fprintf(stderr, "program %lld: function %zu of %lld x %lld %s\n", (long long)i, which,
                (long long)rows, (long long)n, rg_dtype_name(dt));
        rg_realize(fn[which](x));
    }
    capture_stop(&said);
    if (rg_status_of(c)) FAIL("%s", rg_error(c));
    CHECK(!rg_close(c));
    arena_init(&arena, &e);
    capture_text(&said, &e, &arena, &text);
    CHECK(strstr(text, "program 0") && strstr(text, "COOP("));
    check_fast(text);
    arena_free(&arena);
}

/* Without opts a thread has a row of attention's weights in memory, however many threads there are. */
TEST(slow_forms_of_rows_in_memory) {
    struct fake *f = fake();
    struct err e = {0};
    struct arena arena;
    struct captured said = capture_start();
    char *text;
    f->memory = (size_t)16 << 30; /* asked for, not touched */
    unsetenv("RIDGE_MODEL");
    rg_ctx *c = fake_open(f);
    setenv("NOOPT", "1", 1);
    env_reload();
    rg_tensor x = rg_contiguous(rg_rand(c, RG_BF16, RG_SHAPE(16 * 12 * 1024, 64)));
    rg_tensor q = rg_reshape(x, RG_SHAPE(16, 12, 1024, 64));
    rg_realize(rg_attention(q, rg_neg(q), q));
    capture_stop(&said);
    if (rg_status_of(c)) FAIL("%s", rg_error(c));
    CHECK(!rg_close(c));
    arena_init(&arena, &e);
    capture_text(&said, &e, &arena, &text);
    CHECK(strstr(text, "slow form: thread loops of ") && strstr(text, " bytes in memory"));
    arena_free(&arena);
}
