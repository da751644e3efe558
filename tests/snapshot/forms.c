/* forms.c: small programs of every kind, planned and compiled one after the other on the device that DEVICE names, for tools/snapshot.
 *
 *     forms [NAME..]          these; none: all
 *     forms --like WORD..     those whose names contain one of the words
 *     forms --list            their names
 *
 * It uses the public header alone, so that it stays as it is when the compiler is rearranged. "== NAME" on stderr begins what DEBUG says
 * about a form; its inputs are made before that. Nothing is read back: the devices are NULL and a driver that runs nothing.
 * Tests: tests/cli/snapshot.sh */
#include <ridge.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INPUTS = 8, OUTPUTS = 8 };

/* ---- what forms are written with ------------------------------------------------------------------------------ */

static size_t one(rg_tensor *out, rg_tensor y) { return out[0] = y, 1; }
static size_t two(rg_tensor *out, rg_tensor y, rg_tensor z) { return out[0] = y, out[1] = z, 2; }

/* The gradients of y by the first n inputs, where dy is y's. */
static size_t grads(rg_tensor *out, const rg_tensor *x, size_t n, rg_tensor y, rg_tensor dy) {
    rg_grad(y, RG_ARRAY(x, n), out, .seed = dy);
    return n;
}

static rg_tensor transposed(rg_tensor x) { return rg_transpose(x, -2, -1); }

static rg_tensor mlp(const rg_tensor *x) {
    rg_tensor h = rg_gelu(rg_add(rg_matmul(x[0], x[1]), x[2]));
    return rg_add(x[0], rg_matmul(h, x[3]));
}

static rg_tensor accumulated(rg_tensor x, rg_tensor y) {
    return rg_matmul(rg_cast(x, RG_F32), rg_cast(y, RG_F32));
}

/* In place, with numbers that change from step to step. */
static size_t adam(rg_tensor *out, const rg_tensor *x) {
    rg_tensor rate = rg_scalar(rg_ctx_of(x[0]), RG_F32, 1e-3);
    rg_tensor m = rg_add(rg_mul(x[2], 0.9), rg_mul(x[1], 0.1));
    rg_tensor v = rg_add(rg_mul(x[3], 0.999), rg_mul(rg_square(x[1]), 0.001));
    rg_assign(x[0], rg_sub(x[0], rg_mul(rate, rg_div(m, rg_add(rg_sqrt(v), 1e-8)))));
    rg_assign(x[2], m);
    rg_assign(x[3], v);
    return out[0] = x[0], out[1] = x[2], out[2] = x[3], 3;
}

static size_t batchnorm(rg_tensor *out, const rg_tensor *x) {
    rg_tensor mean = rg_mean(x[0], RG_AXES(0, 2, 3)),
              var = rg_var(x[0], RG_AXES(0, 2, 3), .population = true);
    return grads(out, x, 3, rg_batchnorm(x[0], mean, var, x[1], x[2]), x[3]);
}

static rg_tensor noise(rg_tensor x) { return rg_add(x, rg_dropout(x, 0.1)); }

/* ---- the forms ------------------------------------------------------------------------------------------------ */

/* clang-format off */
#define MATMULS(F) \
    F(matmul_bf16_nn,      "bf16 1024x1024, bf16 1024x1024",           one(out, rg_matmul(x[0], x[1]))) \
    F(matmul_bf16_nt,      "bf16 4096x1024, bf16 4096x1024",           one(out, rg_matmul(x[0], transposed(x[1])))) \
    F(matmul_bf16_tn,      "bf16 2048x2048, bf16 2048x2048",           one(out, rg_matmul(transposed(x[0]), x[1]))) \
    F(matmul_bf16_tt,      "bf16 512x768, bf16 1024x512",              one(out, rg_matmul(transposed(x[0]), transposed(x[1])))) \
    F(matmul_bf16_odd,     "bf16 1000x3000, bf16 3000x2000",           one(out, rg_matmul(x[0], x[1]))) \
    F(matmul_bf16_uneven,  "bf16 4095x4095, bf16 4095x4095",           one(out, rg_matmul(x[0], x[1]))) \
    F(matmul_bf16_deep,    "bf16 512x16384, bf16 512x16384",           one(out, rg_matmul(x[0], transposed(x[1])))) \
    F(matmul_bf16_skinny,  "bf16 64x8192, bf16 8192x8192",             one(out, rg_matmul(x[0], transposed(x[1])))) \
    F(matmul_bf16_rows,    "bf16 8x4096, bf16 11008x4096",             one(out, rg_matmul(x[0], transposed(x[1])))) \
    F(matmul_bf16_vector,  "bf16 1x4096, bf16 4096x4096",              one(out, rg_matmul(x[0], transposed(x[1])))) \
    F(matmul_bf16_batch,   "bf16 48x512x64, bf16 48x512x64",           one(out, rg_matmul(x[0], transposed(x[1])))) \
    F(matmul_bf16_f32,     "bf16 2048x1024, bf16 1024x2048",           one(out, accumulated(x[0], x[1]))) \
    F(matmul_bf16_mlp,     "bf16 1024x768, bf16 768x3072, bf16 3072, bf16 3072x768", one(out, mlp(x))) \
    F(matmul_bf16_grad,    "bf16 2048x768, bf16 768x2304, bf16 2048x2304", grads(out, x, 2, rg_matmul(x[0], x[1]), x[2])) \
    F(matmul_f16_nt,       "f16 2048x1024, f16 4096x1024",             one(out, rg_matmul(x[0], transposed(x[1])))) \
    F(matmul_f16_small,    "f16 64x64, f16 64x64",                     one(out, rg_matmul(x[0], x[1]))) \
    F(matmul_f8_e4m3,      "f8e4m3 2048x2048, f8e4m3 2048x2048",       one(out, accumulated(x[0], transposed(x[1])))) \
    F(matmul_f8_e5m2,      "f8e5m2 1024x4096, f8e4m3 1024x4096",       one(out, accumulated(x[0], transposed(x[1])))) \
    F(matmul_f32_nn,       "f32 1024x1024, f32 1024x1024",             one(out, rg_matmul(x[0], x[1]))) \
    F(matmul_f32_nt,       "f32 4096x512, f32 1024x512",               one(out, rg_matmul(x[0], transposed(x[1])))) \
    F(matmul_f32_odd,      "f32 2047x2047, f32 2047x2047",             one(out, rg_matmul(x[0], x[1]))) \
    F(matmul_f32_deep,     "f32 512x8192, f32 8192x512",               one(out, rg_matmul(x[0], x[1]))) \
    F(matmul_f32_vector,   "f32 1x1024, f32 1024x1024",                one(out, rg_matmul(x[0], x[1]))) \
    F(matmul_f32_batch,    "f32 16x128x64, f32 16x64x128",             one(out, rg_matmul(x[0], x[1]))) \
    F(matmul_f32_mlp,      "f32 512x256, f32 256x1024, f32 1024, f32 1024x256", one(out, mlp(x))) \
    F(matmul_f32_grad,     "f32 512x784, f32 784x128, f32 512x128",    grads(out, x, 2, rg_matmul(x[0], x[1]), x[2])) \
    F(matmul_f64,          "f64 256x256, f64 256x256",                 one(out, rg_matmul(x[0], x[1]))) \
    F(matmul_i32,          "i32 256x256, i32 256x256",                 one(out, rg_matmul(x[0], x[1]))) \
    F(einsum_f32,          "f32 8x64x32, f32 8x32x16",                 one(out, rg_einsum("bij,bjk->ik", RG_ARRAY(x, 2))))

#define CONVS(F) \
    F(conv_f32_3x3,        "f32 32x64x56x56, f32 64x64x3x3",           one(out, rg_conv2d(x[0], x[1], .padding = RG_INTS(1)))) \
    F(conv_f32_first,      "f32 16x3x224x224, f32 64x3x7x7",           one(out, rg_conv2d(x[0], x[1], .stride = RG_INTS(2), .padding = RG_INTS(3)))) \
    F(conv_f32_1x1,        "f32 32x256x14x14, f32 512x256x1x1",        one(out, rg_conv2d(x[0], x[1]))) \
    F(conv_f32_depthwise,  "f32 8x96x28x28, f32 96x1x3x3",             one(out, rg_conv2d(x[0], x[1], .padding = RG_INTS(1), .groups = 96))) \
    F(conv_f32_groups,     "f32 8x64x28x28, f32 64x16x3x3",            one(out, rg_conv2d(x[0], x[1], .padding = RG_INTS(1), .groups = 4))) \
    F(conv_f32_dilated,    "f32 4x32x32x32, f32 32x32x3x3",            one(out, rg_conv2d(x[0], x[1], .dilation = RG_INTS(2)))) \
    F(conv_f32_relu,       "f32 512x32x24x24, f32 32x32x5x5, f32 32",  one(out, rg_relu(rg_conv2d(x[0], x[1], .bias = x[2])))) \
    F(conv_f32_grad,       "f32 64x32x24x24, f32 64x32x3x3, f32 64x64x22x22", grads(out, x, 2, rg_conv2d(x[0], x[1]), x[2])) \
    F(conv_f32_stride_grad, "f32 16x64x28x28, f32 128x64x3x3, f32 16x128x14x14", grads(out, x, 2, rg_conv2d(x[0], x[1], .stride = RG_INTS(2), .padding = RG_INTS(1)), x[2])) \
    F(conv_bf16_3x3,       "bf16 32x64x56x56, bf16 64x64x3x3",         one(out, rg_conv2d(x[0], x[1], .padding = RG_INTS(1)))) \
    F(conv_bf16_stride,    "bf16 32x128x28x28, bf16 256x128x3x3",      one(out, rg_conv2d(x[0], x[1], .stride = RG_INTS(2), .padding = RG_INTS(1)))) \
    F(conv_bf16_wide,      "bf16 16x256x32x32, bf16 256x256x3x3",      one(out, rg_conv2d(x[0], x[1], .padding = RG_INTS(1)))) \
    F(conv_bf16_1x1,       "bf16 32x256x14x14, bf16 512x256x1x1",      one(out, rg_conv2d(x[0], x[1]))) \
    F(conv_bf16_grad,      "bf16 32x64x28x28, bf16 128x64x3x3, bf16 32x128x28x28", grads(out, x, 2, rg_conv2d(x[0], x[1], .padding = RG_INTS(1)), x[2])) \
    F(conv_f16_3x3,        "f16 16x128x14x14, f16 128x128x3x3",        one(out, rg_conv2d(x[0], x[1], .padding = RG_INTS(1)))) \
    F(conv1d_f32,          "f32 8x80x1500, f32 384x80x3",              one(out, rg_conv1d(x[0], x[1], .padding = RG_INTS(1)))) \
    F(conv3d_f32,          "f32 2x8x16x16x16, f32 16x8x3x3x3",         one(out, rg_conv3d(x[0], x[1]))) \
    F(conv_transpose_f32,  "f32 8x64x14x14, f32 64x32x4x4",            one(out, rg_conv_transpose2d(x[0], x[1], .stride = RG_INTS(2), .padding = RG_INTS(1)))) \
    F(max_pool,            "f32 64x32x20x20",                          one(out, rg_max_pool2d(x[0], RG_SHAPE(2)))) \
    F(max_pool_grad,       "f32 64x32x20x20, f32 64x32x10x10",         grads(out, x, 1, rg_max_pool2d(x[0], RG_SHAPE(2)), x[1])) \
    F(avg_pool,            "f32 64x32x20x20",                          one(out, rg_avg_pool2d(x[0], RG_SHAPE(3), .stride = RG_INTS(2), .padding = RG_INTS(1)))) \
    F(interpolate,         "f32 4x16x20x20",                           one(out, rg_interpolate(x[0], RG_SHAPE(40, 40), .mode = RG_RESIZE_LINEAR)))

#define ROWS(F) \
    F(attention_bf16,      "bf16 4x12x1024x64, bf16 4x12x1024x64, bf16 4x12x1024x64", one(out, rg_attention(x[0], x[1], x[2]))) \
    F(attention_bf16_causal, "bf16 2x16x2048x128, bf16 2x16x2048x128, bf16 2x16x2048x128", one(out, rg_attention(x[0], x[1], x[2], .causal = true))) \
    F(attention_bf16_grouped, "bf16 2x16x512x64, bf16 2x4x512x64, bf16 2x4x512x64", one(out, rg_attention(x[0], x[1], x[2], .causal = true))) \
    F(attention_bf16_decode, "bf16 8x16x1x128, bf16 8x16x2048x128, bf16 8x16x2048x128", one(out, rg_attention(x[0], x[1], x[2]))) \
    F(attention_bf16_grad, "bf16 4x12x1024x64, bf16 4x12x1024x64, bf16 4x12x1024x64, bf16 4x12x1024x64", grads(out, x, 3, rg_attention(x[0], x[1], x[2], .causal = true), x[3])) \
    F(attention_f32,       "f32 2x4x256x64, f32 2x4x256x64, f32 2x4x256x64", one(out, rg_attention(x[0], x[1], x[2]))) \
    F(attention_f32_mask,  "f32 2x4x256x64, f32 2x4x256x64, f32 2x4x256x64, f32 1x1x256x256", one(out, rg_attention(x[0], x[1], x[2], .mask = x[3]))) \
    F(attention_f32_grad,  "f32 2x4x128x32, f32 2x4x128x32, f32 2x4x128x32, f32 2x4x128x32", grads(out, x, 3, rg_attention(x[0], x[1], x[2], .causal = true), x[3])) \
    F(softmax,             "f32 4096x1000",                            one(out, rg_softmax(x[0], 1))) \
    F(softmax_bf16,        "bf16 4096x1024",                           one(out, rg_softmax(x[0], 1))) \
    F(softmax_long,        "f32 8x131072",                             one(out, rg_softmax(x[0], 1))) \
    F(softmax_columns,     "f32 512x512",                              one(out, rg_softmax(x[0], 0))) \
    F(softmax_grad,        "f32 1024x1000, f32 1024x1000",             grads(out, x, 1, rg_softmax(x[0], 1), x[1])) \
    F(log_softmax_grad,    "f32 1024x1000, f32 1024x1000",             grads(out, x, 1, rg_log_softmax(x[0], 1), x[1])) \
    F(cross_entropy,       "f32 512x1000, i64 512",                    one(out, rg_cross_entropy(x[0], x[1]))) \
    F(cross_entropy_grad,  "bf16 2048x50304, i64 2048, bf16 scalar",   grads(out, x, 1, rg_cross_entropy(x[0], x[1]), x[2])) \
    F(layernorm,           "f32 4096x768, f32 768, f32 768",           one(out, rg_layernorm(x[0], x[1], x[2]))) \
    F(layernorm_bf16,      "bf16 4096x768, bf16 768, bf16 768",        one(out, rg_layernorm(x[0], x[1], x[2]))) \
    F(layernorm_grad,      "f32 4096x768, f32 768, f32 768, f32 4096x768", grads(out, x, 3, rg_layernorm(x[0], x[1], x[2]), x[3])) \
    F(rmsnorm_grad,        "f32 1024x512, f32 512, f32 1024x512",      grads(out, x, 2, rg_rmsnorm(x[0], x[1]), x[2])) \
    F(groupnorm,           "f32 8x32x16x16, f32 32, f32 32",           one(out, rg_groupnorm(x[0], 4, x[1], x[2]))) \
    F(batchnorm_grad,      "f32 64x32x12x12, f32 32, f32 32, f32 64x32x12x12", batchnorm(out, x)) \
    F(sum_all,             "f32 16777216",                             one(out, rg_sum(x[0]))) \
    F(sum_rows,            "f32 4096x4096",                            one(out, rg_sum(x[0], RG_AXES(1)))) \
    F(sum_columns,         "f32 4096x4096",                            one(out, rg_sum(x[0], RG_AXES(0)))) \
    F(sum_bf16,            "bf16 4096x4096",                           one(out, rg_sum(x[0], RG_AXES(0)))) \
    F(sum_i32,             "i32 1000x1000",                            one(out, rg_sum(x[0], RG_AXES(1)))) \
    F(mean_var,            "f32 2048x1000",                            two(out, rg_mean(x[0], RG_AXES(1)), rg_var(x[0], RG_AXES(1)))) \
    F(max_middle,          "f32 64x200x64",                            one(out, rg_max(x[0], RG_AXES(1)))) \
    F(argmax,              "f32 4096x1000",                            one(out, rg_argmax(x[0], RG_AXES(1)))) \
    F(logsumexp,           "f32 4096x1000",                            one(out, rg_logsumexp(x[0], RG_AXES(1)))) \
    F(norm,                "f32 1048576",                              one(out, rg_norm(x[0], 2))) \
    F(any_columns,         "bool 512x512",                             one(out, rg_any(x[0], RG_AXES(0)))) \
    F(prod_f64,            "f64 256x100",                              one(out, rg_prod(x[0], RG_AXES(1)))) \
    F(cumsum,              "f32 512x2048",                             one(out, rg_cumsum(x[0], 1))) \
    F(cumsum_long,         "f32 1048576",                              one(out, rg_cumsum(x[0], 0))) \
    F(cummax,              "f32 64x300",                               one(out, rg_cummax(x[0], 1)))

#define ELEMENTS(F) \
    F(add,                 "f32 1048576, f32 1048576",                 one(out, rg_add(x[0], x[1]))) \
    F(add_broadcast,       "f32 1000x777, f32 777",                    one(out, rg_mul(rg_add(x[0], x[1]), 2))) \
    F(bf16_scale,          "bf16 1048576, bf16 1048576",               one(out, rg_add(rg_mul(x[0], 0.5), x[1]))) \
    F(gelu,                "f32 4096x1024",                            one(out, rg_gelu(x[0]))) \
    F(gelu_bf16_grad,      "bf16 4096x1024, bf16 4096x1024",           grads(out, x, 1, rg_gelu_tanh(x[0]), x[1])) \
    F(exp_log,             "f32 65536",                                two(out, rg_exp(x[0]), rg_log1p(x[0]))) \
    F(sin_cos,             "f32 65536",                                two(out, rg_sin(x[0]), rg_cos(x[0]))) \
    F(tan_pow,             "f32 65536, f32 65536",                     two(out, rg_tanh(x[0]), rg_pow(x[0], x[1]))) \
    F(tan_log,             "f32 65536",                                two(out, rg_tan(x[0]), rg_log10(x[0]))) \
    F(f64_trig,            "f64 65536",                                two(out, rg_sin(x[0]), rg_tan(x[0]))) \
    F(f64_math,            "f64 65536",                                two(out, rg_exp(x[0]), rg_atan(x[0]))) \
    F(f16_math,            "f16 65536",                                two(out, rg_exp(x[0]), rg_sigmoid(x[0]))) \
    F(int_math,            "i32 65536, i32 65536",                     two(out, rg_floordiv(x[0], x[1]), rg_mod(x[0], 7))) \
    F(bits,                "u32 65536, u32 65536",                     two(out, rg_shl(rg_bitwise_xor(x[0], x[1]), 3), rg_shr(x[0], 5))) \
    F(casts,               "f32 65536",                                two(out, rg_cast(x[0], RG_BF16), rg_cast(x[0], RG_F8E4M3))) \
    F(casts_int,           "f32 65536, u8 65536",                      two(out, rg_cast(x[0], RG_I8), rg_cast(x[1], RG_F16))) \
    F(casts_bool,          "f32 65536, i32 65536",                     two(out, rg_cast(x[0], RG_BOOL), rg_logical_and(x[1], x[0]))) \
    F(where,               "f32 1000x1000, f32 1000x1000",             one(out, rg_where(rg_lt(x[0], x[1]), x[0], 0))) \
    F(adam,                "f32 100000, f32 100000, f32 100000, f32 100000", adam(out, x)) \
    F(dropout,             "f32 512x512",                              one(out, noise(x[0]))) \
    F(normal,              "f32 1000",                                 one(out, rg_randn_like(x[0]))) \
    F(transpose,           "f32 2048x2048",                            one(out, rg_contiguous(transposed(x[0])))) \
    F(transpose_bf16,      "bf16 2048x2048",                           one(out, rg_contiguous(transposed(x[0])))) \
    F(transpose_add,       "f32 1000x1000, f32 1000x1000",             one(out, rg_add(transposed(x[0]), x[1]))) \
    F(permute,             "f32 8x128x12x64",                          one(out, rg_contiguous(rg_permute(x[0], RG_AXES(0, 2, 1, 3))))) \
    F(channels_last,       "f32 8x64x28x28",                           one(out, rg_contiguous(rg_permute(x[0], RG_AXES(0, 2, 3, 1))))) \
    F(cat,                 "f32 100x64, f32 200x64, f32 50x64",        one(out, rg_cat(RG_ARRAY(x, 3), 0))) \
    F(pad,                 "f32 100x100",                              one(out, rg_pad(x[0], RG_INTS(1, 2, 3, 4), 0.5))) \
    F(pad_reflect,         "f32 100x100",                              one(out, rg_pad_with(x[0], RG_INTS(2, 2, 2, 2), RG_PAD_REFLECT))) \
    F(flip_roll,           "f32 100x100",                              one(out, rg_flip(rg_roll(x[0], RG_INTS(3), RG_AXES(1)), RG_AXES(0)))) \
    F(slice_step,          "f32 1000x100",                             one(out, rg_contiguous(rg_slice(x[0], RG_SLICES(RG_STEP(1, RG_END, 3)))))) \
    F(tril,                "f32 512x512",                              one(out, rg_tril(x[0], 0)))

#define INDEXED(F) \
    F(gather,              "f32 512x1000, i64 512x10",                 one(out, rg_gather(x[0], 1, x[1]))) \
    F(embedding,           "f32 50304x768, i64 16x128",                one(out, rg_embedding(x[1], x[0]))) \
    F(embedding_grad,      "f32 5000x256, i64 16x128, f32 16x128x256", grads(out, x, 1, rg_embedding(x[1], x[0]), x[2])) \
    F(embedding_bf16_grad, "bf16 50304x768, i64 4x1024, bf16 4x1024x768", grads(out, x, 1, rg_embedding(x[1], x[0]), x[2])) \
    F(scatter,             "f32 100x64, i64 30x64, f32 30x64",         one(out, rg_scatter(x[0], 0, x[1], x[2]))) \
    F(scatter_add,         "f32 1000x64, i64 5000x64, f32 5000x64",    one(out, rg_scatter_add(x[0], 0, x[1], x[2]))) \
    F(scatter_max,         "f32 100x64, i64 300x64, f32 300x64",       one(out, rg_scatter_reduce(x[0], 0, x[1], x[2], .how = RG_COMBINE_MAX))) \
    F(one_hot,             "i64 512",                                  one(out, rg_one_hot(x[0], 10))) \
    F(sort,                "f32 64x1000",                              one(out, rg_sort(x[0], 1))) \
    F(sort_long,           "f32 100000",                               one(out, rg_sort(x[0], 0))) \
    F(argsort,             "i32 64x1000",                              one(out, rg_argsort(x[0], 1))) \
    F(topk,                "f32 64x1000",                              two(out, rg_topk(x[0], 10, 1), rg_topk_index(x[0], 10, 1))) \
    F(nonzero,             "f32 10000",                                one(out, rg_nonzero(x[0], 100))) \
    F(multinomial,         "f32 16x1000",                              one(out, rg_multinomial(x[0], 4, true)))

#define FORMS(F) MATMULS(F) CONVS(F) ROWS(F) ELEMENTS(F) INDEXED(F)
/* clang-format on */

#define FUNCTION(name, inputs, expression) \
    static size_t form_##name(const rg_tensor *x, rg_tensor *out) { return expression; }
FORMS(FUNCTION)

static const struct form {
    const char *name, *inputs;
    size_t (*fn)(const rg_tensor *x, rg_tensor *out);
} forms[] = {
#define ROW(name, inputs, expression) {#name, inputs, form_##name},
    FORMS(ROW)};

/* ---- running them ----------------------------------------------------------------------------------------------- */

static rg_dtype dtype_named(const char *name) {
    for (int dt = 0; dt < RG_DTYPES; dt++)
        if (!strcmp(name, rg_dtype_name((rg_dtype)dt))) return (rg_dtype)dt;
    fprintf(stderr, "forms: no dtype is called %s\n", name);
    exit(1);
}

/* "f32 64x100": memory of its own. Equal inputs would be one: each has another value. */
static rg_tensor input(rg_ctx *c, const char *text, int number) {
    char type[16], size[64];
    int64_t d[8];
    size_t n = 0;
    if (sscanf(text, "%15s %63s", type, size) != 2) exit(1);
    for (char *at = size; *at >= '0' && *at <= '9'; at += *at == 'x') d[n++] = strtoll(at, &at, 10);
    rg_tensor x = rg_contiguous(rg_cast(rg_full(c, RG_I32, number, RG_LIST(d, n)), dtype_named(type)));
    rg_realize(x);
    return x;
}

static int run(const struct form *f) {
    rg_tensor x[INPUTS], out[OUTPUTS];
    int n = 0;
    rg_ctx *c = rg_open(NULL);
    for (const char *at = f->inputs; at && n < INPUTS; at = strchr(at, ','), at = at ? at + 1 : NULL, n++)
        x[n] = input(c, at, n);
    fprintf(stderr, "== %s\n", f->name);
    size_t outputs = f->fn(x, out);
    rg_realize_all(RG_ARRAY(out, outputs));
    fprintf(stderr, "== end\n");
    if (!rg_status_of(c)) return rg_close(c), 0;
    fprintf(stderr, "forms: %s: %s\n", f->name, rg_error(c));
    rg_close(c);
    return 1;
}

int main(int argc, char **argv) {
    int failed = 0, list = argc == 2 && !strcmp(argv[1], "--list"),
        like = argc > 1 && !strcmp(argv[1], "--like");
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const char *name = forms[i].name;
        int wanted = argc == 1;
        for (int k = 1 + like; k < argc; k++)
            wanted |= like ? strstr(name, argv[k]) != NULL : !strcmp(name, argv[k]);
        if (list) puts(name);
        if (wanted) failed |= run(&forms[i]);
    }
    return failed;
}
