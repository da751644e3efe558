/* gpu.c: programs on the CUDA device beside what the GPU can do and, for products, beside cuBLAS in the same run.
 *
 *     make bench-gpu            the table, and build/bench/results-gpu.json
 *     bench/gpu [NAME ..]       rows with one of these in their names
 *     bench/gpu --from NAME     rows from the first with NAME in it
 *     RIDGE_TF32=1 bench/gpu "^3 f32"     products of floats by TF32, cuBLAS's too
 *     bench/gpu --beam N        each row once more, with kernels that search found (BEAM=N): how long they take, and what part
 *                               of the time of the kernels without search that is
 *
 * A time is wall time of many replays with one wait at the end, the best of several rounds, ours, searched and the peer's in
 * turns, since a GPU that was busy is slower than one that rested; where a call takes less than the host needs to ask for it, the host is what is measured. A floor is the longer of bytes at
 * the rate of a plain doubling of 64 M numbers in the same run, and operations at the rate that the GPU's units and clock
 * allow. Prints nothing but a reason where there is no GPU. */
#include "base/base.h"

#include <ridge.h>

#include "cublas.h"
#include "mnist_net.h"
#include "usage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

struct data {
    rg_ctx *c;
    rg_tensor x, y, z, m, n, w, b, h, g, one; /* 64 M; 8192 x 8192; 8192; 2048 x 2048 in f32 and bf16; 1 */
    rg_tensor da, db, ea, eb;                 /* 512 x 65536 and 1024 x 8192 bf16, and transposed */
    rg_tensor k, q, v[7], u[7]; /* 14336 x 4096 bf16 and i8; 2^i rows of 4096 and of 14336, bf16 */
    rg_tensor p;                /* 4096 x 4096 */
    rg_tensor p16, pb;          /* the same in float16 and bfloat16 */
    rg_tensor o, ob, bias;      /* 4095 x 4095, bf16, 4096 */
    rg_tensor cx, cw, cd;       /* images 64 x 64 x 56 x 56, weights 64 x 64 x 3 x 3, gradients like images */
    /* 4097 and 1793 squared, 32 x 1024 x 1024, all bf16; 4096 x 4096 i8, 4096 x 1 */
    rg_tensor o7, o1, many, w8, scale;
    /* second factors: 4096, 4095, 4097, 1793 squared, 32 x 1024 x 1024, all bf16; 4095 squared */
    rg_tensor other, ob2, o72, o12, many2, o2;
    rg_tensor e8, f8;                /* 4096 squared, f8e4m3 */
    rg_tensor cxb, cwb, cdb, ca, cb; /* the convolution's in bf16; 200704 x 576 and 576 x 64 */
    rg_tensor cw28;                  /* 128 x 128 x 3 x 3; images of it are those of cxb, reshaped */
    rg_tensor token, grad;           /* 16384 numbers below 50304, (16384, 768) */
};
enum { INPUTS = 21 };
typedef void row_fn(struct data *, rg_tensor *out);

static void twice(struct data *d, rg_tensor *out) { out[0] = rg_mul(d->x, 2); }
static void pointwise(struct data *d, rg_tensor *out) {
    out[0] = rg_mul(rg_relu(rg_add(rg_mul(d->x, d->y), d->z)), 2);
}
static void two_outputs(struct data *d, rg_tensor *out) {
    rg_tensor s = rg_add(d->x, d->y);
    out[0] = rg_add(s, d->z), out[1] = rg_mul(s, d->z);
}
static void coscos(struct data *d, rg_tensor *out) { out[0] = rg_cos(rg_cos(d->x)); }
static void sum_all(struct data *d, rg_tensor *out) { out[0] = rg_sum(d->x); }
static void sum_rows(struct data *d, rg_tensor *out) { out[0] = rg_sum(d->m, RG_AXES(1)); }
static void sum_columns(struct data *d, rg_tensor *out) { out[0] = rg_sum(d->m, RG_AXES(0)); }
static void softmax(struct data *d, rg_tensor *out) { out[0] = rg_softmax(d->m, -1); }
static void layernorm(struct data *d, rg_tensor *out) { out[0] = rg_layernorm(d->m, d->w, d->b); }
static void transpose_add(struct data *d, rg_tensor *out) { out[0] = rg_add(rg_transpose(d->m, 0, 1), d->n); }
static void product(struct data *d, rg_tensor *out) { out[0] = rg_matmul(d->h, d->h); }
static void product_bf16(struct data *d, rg_tensor *out) { out[0] = rg_matmul(d->g, d->g); }

static void product_4k(struct data *d, rg_tensor *out) { out[0] = rg_matmul(d->p, d->p); }
static void product_4k_f16(struct data *d, rg_tensor *out) { out[0] = rg_matmul(d->p16, d->p16); }
static void product_4k_bf16(struct data *d, rg_tensor *out) { out[0] = rg_matmul(d->pb, d->pb); }
static void product_gelu(struct data *d, rg_tensor *out) {
    out[0] = rg_gelu(rg_add(rg_matmul(d->pb, d->pb), d->bias));
}
static void product_odd(struct data *d, rg_tensor *out) { out[0] = rg_matmul(d->o, d->o2); }
static void product_odd_bf16(struct data *d, rg_tensor *out) { out[0] = rg_matmul(d->ob, d->ob2); }
static rg_tensor transposed(rg_tensor x) { return rg_transpose(x, -1, -2); }
static void odd_nt(struct data *d, rg_tensor *out) { out[0] = rg_matmul(d->ob, transposed(d->ob2)); }
static void odd7(struct data *d, rg_tensor *out) { out[0] = rg_matmul(d->o7, d->o72); }
static void odd7_nt(struct data *d, rg_tensor *out) { out[0] = rg_matmul(d->o7, transposed(d->o72)); }
static void odd1(struct data *d, rg_tensor *out) { out[0] = rg_matmul(d->o1, d->o12); }
static void odd1_nt(struct data *d, rg_tensor *out) { out[0] = rg_matmul(d->o1, transposed(d->o12)); }
static void product_4k_nt(struct data *d, rg_tensor *out) { out[0] = rg_matmul(d->pb, transposed(d->other)); }
static void batched(struct data *d, rg_tensor *out) { out[0] = rg_matmul(d->many, d->many2); }
static void batched_nt(struct data *d, rg_tensor *out) { out[0] = rg_matmul(d->many, transposed(d->many2)); }
static void product_residual(struct data *d, rg_tensor *out) {
    out[0] = rg_add(rg_gelu(rg_add(rg_matmul(d->pb, transposed(d->other)), d->bias)), d->other);
}
static void product_f8(struct data *d, rg_tensor *out) {
    out[0] = rg_cast(rg_matmul(d->e8, transposed(d->f8)), RG_BF16);
}
static void product_f8_nn(struct data *d, rg_tensor *out) {
    out[0] = rg_cast(rg_matmul(d->e8, d->f8), RG_BF16);
}
static void product_i8(struct data *d, rg_tensor *out) {
    out[0] = rg_matmul(d->pb, transposed(rg_cast(d->w8, RG_BF16)));
}
static void product_i8_scaled(struct data *d, rg_tensor *out) {
    out[0] = rg_matmul(d->pb, transposed(rg_mul(rg_cast(d->w8, RG_BF16), d->scale)));
}
static void conv(struct data *d, rg_tensor *out) { out[0] = rg_conv2d(d->cx, d->cw, .padding = RG_INTS(1)); }
/* Its gradients: of images, which does not depend on them, and of weights. */
static void conv_grad(struct data *d, rg_tensor wrt, rg_tensor seed, rg_tensor *out) {
    rg_tensor y = rg_conv2d(d->cx, d->cw, .padding = RG_INTS(1));
    rg_grad(y, RG_ARRAY(&wrt, 1), out, .seed = seed);
}
static void conv_images(struct data *d, rg_tensor *out) { conv_grad(d, d->cx, d->cx, out); }
static void conv_weights(struct data *d, rg_tensor *out) { conv_grad(d, d->cw, d->cd, out); }
/* The same in 16-bit floats, and a plain GEMM of the same M, N and K. */
static void conv_grad_bf16(struct data *d, rg_tensor wrt, rg_tensor seed, rg_tensor *out) {
    rg_tensor y = rg_conv2d(d->cxb, d->cwb, .padding = RG_INTS(1));
    rg_grad(y, RG_ARRAY(&wrt, 1), out, .seed = seed);
}
static void conv_bf16(struct data *d, rg_tensor *out) {
    out[0] = rg_conv2d(d->cxb, d->cwb, .padding = RG_INTS(1));
}
static void conv_images_bf16(struct data *d, rg_tensor *out) { conv_grad_bf16(d, d->cxb, d->cxb, out); }
static void conv_weights_bf16(struct data *d, rg_tensor *out) { conv_grad_bf16(d, d->cwb, d->cdb, out); }
static rg_tensor as_28(rg_tensor x) { return rg_reshape(x, RG_SHAPE(128, 128, 28, 28)); }
static void conv_28(struct data *d, rg_tensor *out) {
    out[0] = rg_conv2d(as_28(d->cxb), d->cw28, .padding = RG_INTS(1));
}
static void conv_28_weights(struct data *d, rg_tensor *out) {
    rg_tensor y = rg_conv2d(as_28(d->cxb), d->cw28, .padding = RG_INTS(1));
    rg_grad(y, RG_TENSORS(d->cw28), out, .seed = as_28(d->cdb));
}
static void product_conv(struct data *d, rg_tensor *out) { out[0] = rg_matmul(d->ca, d->cb); }
static void softmax_bf16(struct data *d, rg_tensor *out) {
    out[0] = rg_softmax(rg_reshape(d->k, RG_SHAPE(7168, 8192)), -1);
}
static void log_softmax(struct data *d, rg_tensor *out) { out[0] = rg_log_softmax(d->m, -1); }
static void sort_long(struct data *d, rg_tensor *out) {
    out[0] = rg_sort(rg_reshape(d->p, RG_SHAPE(1 << 24)), 0);
}
static void argsort_long(struct data *d, rg_tensor *out) {
    out[0] = rg_argsort(rg_reshape(d->p, RG_SHAPE(1 << 24)), 0);
}
static void sort_rows(struct data *d, rg_tensor *out) { out[0] = rg_sort(d->m, 1); }
static void topk_rows(struct data *d, rg_tensor *out) { out[0] = rg_topk(d->m, 50, 1); }
/* What comes back to the embedding of GPT-2 from 16 texts of 1024 tokens. */
static void embedding_grad(struct data *d, rg_tensor *out) {
    rg_tensor at = rg_expand(rg_unsqueeze(d->token, 1), RG_SHAPE(16384, 768));
    out[0] = rg_scatter_add(rg_zeros(d->c, RG_F32, RG_SHAPE(50304, 768)), 0, at, d->grad);
}
static void softmax_768(struct data *d, rg_tensor *out) {
    out[0] = rg_softmax(rg_reshape(rg_slice(d->x, RG_SLICES(RG_TO(87040 * 768))), RG_SHAPE(87040, 768)), -1);
}
/* Few rows by a matrix of 117 MB, as it is and transposed; of bytes, with a scale for each result. */
#define FEW_ROWS(m, i)                                         \
    static void rows##m##_nt(struct data *d, rg_tensor *out) { \
        out[0] = rg_matmul(d->v[i], rg_transpose(d->k, 0, 1)); \
    }                                                          \
    static void rows##m##_nn(struct data *d, rg_tensor *out) { out[0] = rg_matmul(d->u[i], d->k); }
FEW_ROWS(1, 0)
FEW_ROWS(4, 2)
FEW_ROWS(8, 3)
FEW_ROWS(16, 4)
FEW_ROWS(32, 5)
FEW_ROWS(64, 6)
static void bytes16_nt(struct data *d, rg_tensor *out) {
    out[0] = rg_mul(rg_matmul(d->v[4], rg_transpose(rg_cast(d->q, RG_BF16), 0, 1)), 0.5);
}
static void bytes16_nn(struct data *d, rg_tensor *out) {
    out[0] = rg_mul(rg_matmul(d->u[4], rg_cast(d->q, RG_BF16)), d->bias);
}

/* Few tiles of results, long sums. */
static void product_deep(struct data *d, rg_tensor *out) { out[0] = rg_matmul(d->da, d->db); }
static void product_less_deep(struct data *d, rg_tensor *out) { out[0] = rg_matmul(d->ea, d->eb); }
static void product_64(struct data *d, rg_tensor *out) { out[0] = rg_matmul(d->v[6], d->pb); }

/* A product for the peer: C (m, n) = A (m, k) B; nt: B is given transposed. */
struct gemm {
    enum cublas_type t;
    int m, n, k, nt, batch;
};
/*   name, function, bytes moved at least (MB), operations (G), the peer's product */
static const struct row {
    const char *name;
    row_fn *fn;
    double mb, gop;
    struct gemm peer; /* m 0: there is none */
} rows[] = {
    {"x*2, 64 M f32", twice, 536.9, 0, {0}},
    {"relu(x*y+z)*2, 64 M f32", pointwise, 1073.7, 0, {0}},
    {"two outputs of three inputs, 64 M", two_outputs, 1342.2, 0, {0}},
    {"cos(cos(x)), 64 M f32", coscos, 536.9, 0, {0}},
    {"sum of 64 M f32", sum_all, 268.4, 0, {0}},
    {"row sums 8192 x 8192", sum_rows, 268.4, 0, {0}},
    {"column sums 8192 x 8192", sum_columns, 268.4, 0, {0}},
    {"softmax 8192 x 8192", softmax, 536.9, 0, {0}},
    {"layernorm 8192 x 8192", layernorm, 536.9, 0, {0}},
    {"softmax 7168 x 8192 bf16", softmax_bf16, 234.9, 0, {0}},
    {"log_softmax 8192 x 8192", log_softmax, 536.9, 0, {0}},
    {"softmax 87040 x 768", softmax_768, 534.8, 0, {0}},
    {"1 x 4096 by (14336 x 4096)^T bf16", rows1_nt, 117.5, 0.117, {CUBLAS_BF16, 1, 14336, 4096, 1, 0}},
    {"1 x 14336 by 14336 x 4096 bf16", rows1_nn, 117.5, 0.117, {CUBLAS_BF16, 1, 4096, 14336, 0, 0}},
    {"4 x 4096 by (14336 x 4096)^T bf16", rows4_nt, 117.6, 0.47, {CUBLAS_BF16, 4, 14336, 4096, 1, 0}},
    {"4 x 14336 by 14336 x 4096 bf16", rows4_nn, 117.6, 0.47, {CUBLAS_BF16, 4, 4096, 14336, 0, 0}},
    {"8 x 4096 by (14336 x 4096)^T bf16", rows8_nt, 117.7, 0.94, {CUBLAS_BF16, 8, 14336, 4096, 1, 0}},
    {"8 x 14336 by 14336 x 4096 bf16", rows8_nn, 117.7, 0.94, {CUBLAS_BF16, 8, 4096, 14336, 0, 0}},
    {"16 x 4096 by (14336 x 4096)^T bf16", rows16_nt, 118.0, 1.88, {CUBLAS_BF16, 16, 14336, 4096, 1, 0}},
    {"16 x 14336 by 14336 x 4096 bf16", rows16_nn, 118.0, 1.88, {CUBLAS_BF16, 16, 4096, 14336, 0, 0}},
    {"32 x 4096 by (14336 x 4096)^T bf16", rows32_nt, 118.6, 3.76, {CUBLAS_BF16, 32, 14336, 4096, 1, 0}},
    {"32 x 14336 by 14336 x 4096 bf16", rows32_nn, 118.6, 3.76, {CUBLAS_BF16, 32, 4096, 14336, 0, 0}},
    {"64 x 4096 by (14336 x 4096)^T bf16", rows64_nt, 119.8, 7.52, {CUBLAS_BF16, 64, 14336, 4096, 1, 0}},
    {"64 x 14336 by 14336 x 4096 bf16", rows64_nn, 119.8, 7.52, {CUBLAS_BF16, 64, 4096, 14336, 0, 0}},
    {"16 x 4096 by (14336 x 4096)^T i8", bytes16_nt, 59.3, 1.88, {0}},
    {"16 x 14336 by 14336 x 4096 i8, scaled", bytes16_nn, 59.3, 1.88, {0}},
    {"64 x 4096 by 4096 x 4096 bf16", product_64, 34.6, 2.15, {CUBLAS_BF16, 64, 4096, 4096, 0, 0}},
    {"product 512 x 512 x 65536 bf16", product_deep, 134.7, 34.36, {CUBLAS_BF16, 512, 512, 65536, 0, 0}},
    {"product 1024 x 1024 x 8192 bf16",
     product_less_deep,
     35.7,
     17.18,
     {CUBLAS_BF16, 1024, 1024, 8192, 0, 0}},
    {"transpose + add 8192 x 8192", transpose_add, 805.3, 0, {0}},
    {"product 2048^3 f32", product, 50.3, 17.18, {CUBLAS_F32, 2048, 2048, 2048, 0, 0}},
    {"product 2048^3 bf16", product_bf16, 25.2, 17.18, {CUBLAS_BF16, 2048, 2048, 2048, 0, 0}},
    {"product 4096^3 f32", product_4k, 201.3, 137.44, {CUBLAS_F32, 4096, 4096, 4096, 0, 0}},
    {"product 4096^3 f16", product_4k_f16, 100.7, 137.44, {CUBLAS_F16, 4096, 4096, 4096, 0, 0}},
    {"product 4096^3 bf16", product_4k_bf16, 100.7, 137.44, {CUBLAS_BF16, 4096, 4096, 4096, 0, 0}},
    {"product 4096^3 bf16, b transposed",
     product_4k_nt,
     100.7,
     137.44,
     {CUBLAS_BF16, 4096, 4096, 4096, 1, 0}},
    {"32 products 1024^3 bf16", batched, 201.3, 68.72, {CUBLAS_BF16, 1024, 1024, 1024, 0, 32}},
    {"32 products 1024^3 bf16, b transposed",
     batched_nt,
     201.3,
     68.72,
     {CUBLAS_BF16, 1024, 1024, 1024, 1, 32}},
    {"gelu(product 4096^3 + bias) bf16", product_gelu, 100.7, 137.44, {0}},
    {"gelu(product 4096^3^T + bias) + c bf16", product_residual, 134.2, 137.44, {0}},
    {"product 4096^3 f8e4m3 to bf16", product_f8_nn, 67.1, 137.44, {0}},
    {"product 4096^3 f8e4m3 to bf16, b transposed",
     product_f8,
     67.1,
     137.44,
     {CUBLAS_F8E4M3, 4096, 4096, 4096, 1, 0}},
    {"product 4096^3 bf16 by (i8 as bf16)^T", product_i8, 83.9, 137.44, {0}},
    {"product 4096^3 bf16 by (i8 * scale)^T", product_i8_scaled, 83.9, 137.44, {0}},
    {"product 4095^3 f32", product_odd, 201.2, 137.34, {CUBLAS_F32, 4095, 4095, 4095, 0, 0}},
    {"product 4095^3 bf16", product_odd_bf16, 100.6, 137.34, {CUBLAS_BF16, 4095, 4095, 4095, 0, 0}},
    {"product 4095^3 bf16, b transposed", odd_nt, 100.6, 137.34, {CUBLAS_BF16, 4095, 4095, 4095, 1, 0}},
    {"product 4097^3 bf16", odd7, 100.7, 137.54, {CUBLAS_BF16, 4097, 4097, 4097, 0, 0}},
    {"product 4097^3 bf16, b transposed", odd7_nt, 100.7, 137.54, {CUBLAS_BF16, 4097, 4097, 4097, 1, 0}},
    {"product 1793^3 bf16", odd1, 19.3, 11.53, {CUBLAS_BF16, 1793, 1793, 1793, 0, 0}},
    {"product 1793^3 bf16, b transposed", odd1_nt, 19.3, 11.53, {CUBLAS_BF16, 1793, 1793, 1793, 1, 0}},
    {"conv 3x3 64->64 56^2 batch 64 f32", conv, 102.9, 14.80, {0}},
    {"the same, gradient of the images", conv_images, 102.9, 14.80, {0}},
    {"the same, gradient of the weights", conv_weights, 102.9, 14.80, {0}},
    {"conv 3x3 64->64 56^2 batch 64 bf16", conv_bf16, 51.5, 14.80, {0}},
    {"bf16, gradient of the images", conv_images_bf16, 51.5, 14.80, {0}},
    {"bf16, gradient of the weights", conv_weights_bf16, 51.5, 14.80, {0}},
    {"conv 3x3 128->128 28^2 batch 128 bf16", conv_28, 51.7, 29.59, {0}},
    {"28^2 bf16, gradient of the weights", conv_28_weights, 51.7, 29.59, {0}},
    {"product 200704 x 64 x 576 bf16", product_conv, 257.0, 14.80, {CUBLAS_BF16, 200704, 64, 576, 0, 0}},
    {"sort of 16 M f32", sort_long, 134.2, 0, {0}},
    {"argsort of 16 M f32", argsort_long, 201.3, 0, {0}},
    {"sort of rows 8192 x 8192 f32", sort_rows, 536.9, 0, {0}},
    {"the 50 greatest of rows 8192 x 8192", topk_rows, 270.0, 0, {0}},
    {"embedding gradient 16384 x 768", embedding_grad, 204.9, 0, {0}},
};

/* ---- results ---------------------------------------------------------------------------------------------------- */

struct bench {
    const char *program;
    char *const *only; /* rows with one of these in their names; none: all */
    int nonly;
    const char *from; /* rows from the first with this in its name; NULL: all, or it was there */
    int beam;         /* forms of each kernel that search tries; 0: no search */
    uint32_t below;   /* rows on which search wins more than a fifth */
    double searching; /* seconds, in all */
    FILE *json;
    int written;
    bool peers;  /* cuBLAS is there */
    double copy; /* bytes per second, of the first row */
    struct tiny {
        double best, alone; /* seconds of a replay; alone: with a read after each */
        uint64_t kernels;
    } tiny;
};

static bool wanted(struct bench *b, const char *name) {
    if (b->from && strstr(name, b->from)) b->from = NULL;
    bool named = !b->nonly;
    for (int i = 0; i < b->nonly; i++) named |= strstr(name, b->only[i]) != NULL;
    return !b->from && named;
}

/* While it is on, programs that are new are searched. */
static void set_beam(int n) {
    char text[16];
    snprintf(text, sizeof text, "%d", n);
    setenv("RIDGE_BEAM", text, 1);
    env_reload();
}

/* Seconds; searched, peer and floor 0: there is none. */
static void result(struct bench *b, const char *name, double ours, double searched, double peer, double least,
                   const char *note) {
    char text[5][32] = {"", "", "", "", ""};
    if (peer > 0) snprintf(text[0], 32, "%.1f", peer * 1e6), snprintf(text[1], 32, "%.2f", peer / ours);
    if (least > 0) snprintf(text[2], 32, "%.0f%%", 100 * least / ours);
    if (searched > 0)
        snprintf(text[3], 32, "%.2f", searched * 1e6), snprintf(text[4], 32, "%.2f", searched / ours);
    printf("%-38s %11.2f ", name, ours * 1e6);
    if (b->beam) printf("%11s %6s ", text[3], text[4]);
    printf("%11s %8s %8s  %s\n", text[0], text[1], text[2], note);
    fflush(stdout);
    b->below += searched > 0 && searched < 0.8 * ours;
    if (!b->json) return;
    fprintf(b->json, "%s\n {\"row\": \"%s\", \"unit\": \"us\", \"ours\": %.4g, ", b->written++ ? "," : "",
            name, ours * 1e6);
    if (peer > 0)
        fprintf(b->json, "\"peer\": %.4g, \"peer_name\": \"cuBLAS\", \"ratio\": %.4g, ", peer * 1e6,
                peer / ours);
    else
        fprintf(b->json, "\"peer\": null, \"peer_name\": null, \"ratio\": null, ");
    if (searched > 0) fprintf(b->json, "\"searched\": %.4g, ", searched * 1e6);
    if (least > 0)
        fprintf(b->json, "\"floor\": %.4g, \"share\": %.4g}", least * 1e6, least / ours);
    else
        fprintf(b->json, "\"floor\": null, \"share\": null}");
    fflush(b->json);
}

/* Operations a second of an H200: 132 SMs at 1.98 GHz, 256 of float32 a clock, 8192 of 16-bit floats by the tensor cores at the
 * 1.83 GHz of NVIDIA's data sheet, twice as many of 8-bit floats, half as many of TF32. */
static double peak(enum cublas_type t) {
    if (t == CUBLAS_F8E4M3) return 1979e12;
    return t != CUBLAS_F32 ? 989.5e12 : cublas.tf32 ? 494.7e12 : 132 * 1.98e9 * 256;
}

/* ---- rows of the table -------------------------------------------------------------------------------------------- */

struct job {
    struct data *d;
    row_fn *fn;
};

static rg_status call(void *user, const rg_tensor *in, rg_tensor *out) {
    struct job *j = user;
    j->d->x = in[0], j->d->m = in[1], j->d->h = in[2], j->d->g = in[3], j->d->k = in[4];
    j->d->p = in[5], j->d->p16 = in[6], j->d->pb = in[7];
    j->d->o = in[8], j->d->ob = in[9], j->d->cx = in[10], j->d->q = in[11];
    j->d->o7 = in[12], j->d->o1 = in[13], j->d->many = in[14], j->d->e8 = in[16];
    j->d->grad = in[15], j->d->da = in[17], j->d->ea = in[18], j->d->cxb = in[19];
    j->d->ca = in[20];
    j->fn(j->d, out);
    return RG_OK;
}

/* With one matrix and another in turns, as ours. */
static double peer_round(int calls) {
    if (cublas_next_buffers() || cublas.wait()) return 0;
    double t0 = now();
    for (int i = 0; i < calls; i++)
        if (cublas_next_buffers() || cublas_run()) return 0;
    return cublas.wait() ? 0 : (now() - t0) / calls;
}

typedef rg_tensor inputs[2][INPUTS];

/* A row on one context. */
struct runner {
    struct job job;
    rg_tensor (*in)[INPUTS];
    rg_jit *j;
    double best;
};

/* False: it failed, or there is no such context. */
static bool start(struct runner *w, struct data *d, inputs in, const struct row *r) {
    rg_tensor out[2];
    *w = (struct runner){.job = {d, r->fn}, .in = in, .best = 1e9};
    if (!d) return false;
    w->j = rg_jit_new(d->c, call, &w->job, r->fn == two_outputs ? 2 : 1);
    for (int i = 0; i < 3; i++)
        if (rg_jit_call(w->j, (rg_tensors){in[i % 2], INPUTS}, out)) return false;
    return true;
}

/* Replays, with one set of inputs and another in turns. False: it failed. */
static bool replay(struct runner *w, int calls) {
    rg_tensor out[2];
    float probe;
    rg_read(w->job.d->one, &probe, sizeof probe); /* waits for all before it */
    double t0 = now();
    for (int k = 0; k < calls; k++) rg_jit_call(w->j, (rg_tensors){w->in[k % 2], INPUTS}, out);
    if (rg_read(w->job.d->one, &probe, sizeof probe)) return false;
    double t = (now() - t0) / calls;
    if (t < w->best) w->best = t;
    return true;
}

struct measured {
    double ours, searched, peer; /* seconds; 0: there is none */
    uint64_t kernels;
};

/* The searched row has a context and memory of its own: what one finds the other must not know. */
static struct measured measure(struct bench *b, struct data *d, inputs in, struct data *e, inputs in2,
                               const struct row *r) {
    enum { CALLS = 20, ROUNDS = 5 };
    struct runner ours, searched;
    struct measured m = {0};
    rg_jit_stats st = {0};
    bool ok = start(&ours, d, in, r);
    double t0 = now();
    set_beam(b->beam);
    bool both = start(&searched, e, in2, r);
    set_beam(0);
    if (e) b->searching += now() - t0;
    rg_jit_info(ours.j, &st);
    bool peers = b->peers && r->peer.m &&
                 cublas_begin(r->peer.t, r->peer.m, r->peer.n, r->peer.k, r->peer.nt, r->peer.batch);
    if (peers) m.peer = peer_round(3);
    for (int i = 0; i < ROUNDS && ok; i++) {
        ok = replay(&ours, CALLS) && (!both || replay(&searched, CALLS));
        double t = peers ? peer_round(CALLS) : 0;
        if (t > 0 && t < m.peer) m.peer = t;
        if (ours.best > 0.02) break; /* seconds: once is enough */
    }
    if (peers) cublas_end();
    rg_jit_free(ours.j);
    if (e) rg_jit_free(searched.j);
    m.kernels = st.kernels;
    m.ours = ok ? ours.best : 0, m.searched = ok && both ? searched.best : 0;
    return m;
}

static void make_data(rg_ctx *c, struct data *d, inputs in) {
    int64_t big = 64 << 20, side = 8192;
    *d = (struct data){.c = c,
                       .x = rg_randn(c, RG_F32, RG_SHAPE(big)),
                       .y = rg_randn(c, RG_F32, RG_SHAPE(big)),
                       .z = rg_randn(c, RG_F32, RG_SHAPE(big)),
                       .m = rg_randn(c, RG_F32, RG_SHAPE(side, side)),
                       .n = rg_randn(c, RG_F32, RG_SHAPE(side, side)),
                       .w = rg_randn(c, RG_F32, RG_SHAPE(side)),
                       .b = rg_randn(c, RG_F32, RG_SHAPE(side)),
                       .h = rg_randn(c, RG_F32, RG_SHAPE(2048, 2048)),
                       .p = rg_randn(c, RG_F32, RG_SHAPE(4096, 4096)),
                       .one = rg_randn(c, RG_F32, RG_SHAPE(1))};
    d->g = rg_cast(d->h, RG_BF16), d->p16 = rg_cast(d->p, RG_F16), d->pb = rg_cast(d->p, RG_BF16);
    d->k = rg_randn(c, RG_BF16, RG_SHAPE(14336, 4096));
    d->da = rg_randn(c, RG_BF16, RG_SHAPE(512, 65536)), d->db = rg_randn(c, RG_BF16, RG_SHAPE(65536, 512));
    d->ea = rg_randn(c, RG_BF16, RG_SHAPE(1024, 8192)), d->eb = rg_randn(c, RG_BF16, RG_SHAPE(8192, 1024));
    rg_realize_all(RG_TENSORS(d->da, d->db, d->ea, d->eb));
    d->q = rg_randint(c, RG_I8, -127, 128, RG_SHAPE(14336, 4096));
    for (int i = 0; i < 7; i++) {
        d->v[i] = rg_randn(c, RG_BF16, RG_SHAPE(1 << i, 4096));
        d->u[i] = rg_randn(c, RG_BF16, RG_SHAPE(1 << i, 14336));
        rg_realize_all(RG_TENSORS(d->v[i], d->u[i]));
    }
    d->o = rg_randn(c, RG_F32, RG_SHAPE(4095, 4095)), d->ob = rg_cast(d->o, RG_BF16);
    d->bias = rg_randn(c, RG_BF16, RG_SHAPE(4096));
    d->cx = rg_randn(c, RG_F32, RG_SHAPE(64, 64, 56, 56));
    d->cw = rg_randn(c, RG_F32, RG_SHAPE(64, 64, 3, 3));
    d->cd = rg_randn(c, RG_F32, RG_SHAPE(64, 64, 56, 56));
    d->o7 = rg_randn(c, RG_BF16, RG_SHAPE(4097, 4097)), d->o1 = rg_randn(c, RG_BF16, RG_SHAPE(1793, 1793));
    d->many = rg_randn(c, RG_BF16, RG_SHAPE(32, 1024, 1024));
    d->scale = rg_randn(c, RG_BF16, RG_SHAPE(4096, 1));
    d->w8 = rg_randint(c, RG_I8, -127, 128, RG_SHAPE(4096, 4096));
    rg_realize_all(
        RG_TENSORS(d->o, d->ob, d->bias, d->cx, d->cw, d->cd, d->o7, d->o1, d->many, d->w8, d->scale));
    d->other = rg_randn(c, RG_BF16, RG_SHAPE(4096, 4096)),
    d->ob2 = rg_randn(c, RG_BF16, RG_SHAPE(4095, 4095));
    d->o72 = rg_randn(c, RG_BF16, RG_SHAPE(4097, 4097)), d->o12 = rg_randn(c, RG_BF16, RG_SHAPE(1793, 1793));
    d->many2 = rg_randn(c, RG_BF16, RG_SHAPE(32, 1024, 1024)),
    d->o2 = rg_randn(c, RG_F32, RG_SHAPE(4095, 4095));
    d->e8 = rg_cast(d->p, RG_F8E4M3), d->f8 = rg_cast(rg_randn(c, RG_F32, RG_SHAPE(4096, 4096)), RG_F8E4M3);
    rg_realize_all(RG_TENSORS(d->e8, d->f8, d->other, d->ob2, d->o72, d->o12, d->many2, d->o2));
    rg_realize_all(
        RG_TENSORS(d->x, d->y, d->z, d->m, d->n, d->w, d->b, d->h, d->g, d->one, d->p, d->p16, d->pb));
    rg_realize_all(RG_TENSORS(d->k, d->q));
    d->cxb = rg_cast(d->cx, RG_BF16), d->cwb = rg_cast(d->cw, RG_BF16), d->cdb = rg_cast(d->cd, RG_BF16);
    d->ca = rg_randn(c, RG_BF16, RG_SHAPE(200704, 576)), d->cb = rg_randn(c, RG_BF16, RG_SHAPE(576, 64));
    d->cw28 = rg_randn(c, RG_BF16, RG_SHAPE(128, 128, 3, 3));
    rg_realize_all(RG_TENSORS(d->cxb, d->cwb, d->cdb, d->ca, d->cb, d->cw28));
    d->token = rg_randint(c, RG_I64, 0, 50304, RG_SHAPE(16384));
    d->grad = rg_randn(c, RG_F32, RG_SHAPE(16384, 768));
    rg_realize_all(RG_TENSORS(d->token, d->grad));
    rg_tensor h2 = rg_add(d->h, 1), p2 = rg_neg(d->p),
              set[2][INPUTS] = {{d->x,    d->m,    d->h,  d->g,  d->k,  d->p,   d->p16,
                                 d->pb,   d->o,    d->ob, d->cx, d->q,  d->o7,  d->o1,
                                 d->many, d->grad, d->e8, d->da, d->ea, d->cxb, d->ca},
                                {rg_neg(d->x),         rg_neg(d->m),           h2,
                                 rg_cast(h2, RG_BF16), rg_neg(d->k),           p2,
                                 rg_cast(p2, RG_F16),  rg_cast(p2, RG_BF16),   rg_neg(d->o),
                                 rg_neg(d->ob),        rg_neg(d->cx),          rg_neg(d->q),
                                 rg_neg(d->o7),        rg_neg(d->o1),          rg_neg(d->many),
                                 rg_neg(d->grad),      rg_cast(p2, RG_F8E4M3), rg_neg(d->da),
                                 rg_neg(d->ea),        rg_neg(d->cxb),         rg_neg(d->ca)}};
    memcpy(in, set, sizeof set);
    rg_realize_all((rg_tensors){in[1], INPUTS});
}

static int table(struct bench *b) {
    rg_ctx *c = rg_open("CUDA"), *other = b->beam ? rg_open("CUDA") : NULL;
    struct data d, e;
    inputs in, in2;
    make_data(c, &d, in);
    if (other) make_data(other, &e, in2);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char note[80];
        if (i && !wanted(b, rows[i].name)) continue;
        struct measured m = measure(b, &d, in, other ? &e : NULL, in2, &rows[i]);
        if (rg_status_of(c)) return fprintf(stderr, "%s: %s\n", rows[i].name, rg_error(c)), 1;
        if (other && rg_status_of(other))
            return fprintf(stderr, "%s, searched: %s\n", rows[i].name, rg_error(other)), 1;
        if (!m.kernels) { /* what it computes does not depend on what changes from replay to replay */
            fprintf(stderr, "%s: a replay runs no kernel, so there is nothing to measure\n", rows[i].name);
            return 1;
        }
        if (!i) b->copy = rows[i].mb * 1e6 / m.ours;
        double least = rows[i].mb * 1e6 / b->copy, work = rows[i].gop * 1e9 / peak(rows[i].peer.t);
        snprintf(note, sizeof note, "%.0f GB/s, %.1f TFLOP/s, %llu kernels", rows[i].mb * 1e-3 / m.ours,
                 rows[i].gop * 1e-3 / m.ours, (unsigned long long)m.kernels);
        bool epilogue = rows[i].gop > 10 && !rows[i].peer.m; /* of what else there is no floor is known */
        result(b, rows[i].name, m.ours, m.searched, m.peer, epilogue ? 0 : work > least ? work : least, note);
    }
    rg_close(c);
    if (other) rg_close(other);
    return 0;
}

/* Is any row of the table wanted? Its data takes a while to make. */
static bool any_wanted(const struct bench *b) {
    struct bench now = *b;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (wanted(&now, rows[i].name)) return true;
    return false;
}

/* ---- rows of their own ---------------------------------------------------------------------------------------------- */

/* Many small kernels that wait for each other, replayed. */
static rg_status chain(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)user;
    out[0] = in[0];
    for (int i = 0; i < 1000; i++) out[0] = rg_contiguous(rg_sub(out[0], 1));
    return RG_OK;
}

/* Time for each kernel; the GPU's clock is up after a while only. Planned with one output per kernel, so that there are as
 * many kernels as values: settings are read once, so this is a process of its own, before anything else is opened. */
static struct tiny tiny_here(void) {
    enum { CALLS = 10, ROUNDS = 30 };
    struct tiny r = {1e9, 1e9, 0};
    setenv("RIDGE_MULTI", "0", 1);
    rg_ctx *c = rg_open("CUDA");
    rg_tensor in[2] = {rg_ones(c, RG_F32, RG_SHAPE(1)), rg_zeros(c, RG_F32, RG_SHAPE(1))}, y;
    rg_realize_all((rg_tensors){in, 2});
    rg_jit *j = rg_jit_new(c, chain, NULL, 1);
    float v = 0;
    for (int i = 0; i < ROUNDS; i++) {
        double t0 = now();
        if (rg_jit_call(j, (rg_tensors){&in[i % 2], 1}, &y) || rg_read(y, &v, sizeof v)) break;
        double t1 = now();
        if (i > 2 && t1 - t0 < r.alone) r.alone = t1 - t0;
        for (int k = 0; k < CALLS; k++) rg_jit_call(j, (rg_tensors){&in[k % 2], 1}, &y);
        if (rg_read(y, &v, sizeof v)) break;
        double t = (now() - t1) / CALLS;
        if (i > 2 && t < r.best) r.best = t;
    }
    rg_jit_stats st = {0};
    rg_jit_info(j, &st);
    if (!rg_status_of(c) && v == -1000) r.kernels = st.kernels;
    rg_close(c);
    return r;
}

static struct tiny tiny_apart(void) {
    struct tiny r = {0};
    int pipes[2];
    if (pipe(pipes)) return r;
    pid_t child = fork();
    if (!child) {
        r = tiny_here();
        _exit(write(pipes[1], &r, sizeof r) != sizeof r);
    }
    close(pipes[1]);
    if (child < 0 || read(pipes[0], &r, sizeof r) != sizeof r) r.kernels = 0;
    if (child > 0) waitpid(child, NULL, 0);
    close(pipes[0]);
    return r;
}

static int tiny(struct bench *b) {
    char note[80];
    if (!b->tiny.kernels) return 0;
    double n = (double)b->tiny.kernels;
    snprintf(note, sizeof note, "%llu kernels; %.2f with a read after each replay",
             (unsigned long long)b->tiny.kernels, b->tiny.alone * 1e6 / n);
    result(b, "dependent tiny kernels, each", b->tiny.best / n, 0, 0, 0, note);
    return 0;
}

struct trainer {
    rg_module *net;
    rg_optim *optim;
};
static rg_status step(void *user, const rg_tensor *in, rg_tensor *out) {
    struct trainer *t = user;
    out[0] = rg_cross_entropy(rg_nn_forward(t->net, in[0]), in[1]);
    rg_backward(out[0]);
    return rg_optim_step(t->optim);
}

/* The network of examples/mnist.c on random images: the first step, which plans, compiles and searches, and replays. */
static int mnist_run(int beam, double *best, double *first, rg_jit_stats *st) {
    enum { BATCH = 512, CALLS = 20, ROUNDS = 5 };
    rg_ctx *c = rg_open("CUDA");
    struct trainer t = {mnist_network(c), NULL};
    t.optim = rg_adam(rg_nn_params(t.net), .lr = 0.002);
    rg_tensor x = rg_randn(c, RG_F32, RG_SHAPE(BATCH, 1, 28, 28)),
              y = rg_randint(c, RG_I64, 0, 10, RG_SHAPE(BATCH)), loss;
    rg_realize_all(RG_TENSORS(x, y));
    rg_jit *j = rg_jit_new(c, step, &t, 1);
    float v;
    double t0 = now();
    *best = 1e9;
    set_beam(beam);
    int bad = rg_jit_call(j, RG_TENSORS(x, y), &loss) || rg_read(loss, &v, sizeof v);
    set_beam(0);
    if (bad) return fprintf(stderr, "mnist: %s\n", rg_error(c)), 1;
    *first = now() - t0;
    for (int r = 0; r < ROUNDS; r++) {
        t0 = now();
        for (int i = 0; i < CALLS; i++) rg_jit_call(j, RG_TENSORS(x, y), &loss);
        if (rg_read(loss, &v, sizeof v)) break;
        double s = (now() - t0) / CALLS;
        if (r && s < *best) *best = s;
    }
    rg_jit_info(j, st);
    if (rg_status_of(c)) return fprintf(stderr, "mnist: %s\n", rg_error(c)), 1;
    rg_close(c);
    return 0;
}

static int mnist(struct bench *b) {
    rg_jit_stats st = {0};
    double best, first, searched = 0, search;
    char note[80];
    if (mnist_run(0, &best, &first, &st)) return 1;
    if (b->beam) {
        if (mnist_run(b->beam, &searched, &search, &st)) return 1;
        b->searching += search;
    }
    snprintf(note, sizeof note, "%llu kernels, %.2f TFLOP/s", (unsigned long long)st.kernels,
             st.ops / best * 1e-12);
    result(b, "mnist step, 512 images, replayed", best, searched, 0, st.ops / peak(CUBLAS_F32), note);
    result(b, "mnist step, the first, nothing cached", first, 0, 0, 0, "");
    return 0;
}

struct steps {
    double first, best, gb; /* seconds */
    unsigned long long kernels;
};

/* examples/gpt2, beside this program: the best of twelve steps, and the first. bench/gpt2_train_vs_torch.py has PyTorch's. */
static bool gpt2_run(const struct bench *b, struct steps *s) {
    const char *end = strrchr(b->program, '/');
    double ms = 0;
    char line[400];
    *s = (struct steps){0};
    snprintf(line, sizeof line,
             "%.*s/../examples/gpt2 --model 124M --dtype bf16 --text synthetic --device CUDA --write 0 "
             "--clip 0 --every 1 "
             "--steps 12",
             end ? (int)(end - b->program) : 1, end ? b->program : ".");
    FILE *f = popen(line, "r");
    while (f && fgets(line, sizeof line, f)) {
        const char *at = strstr(line, "best step"), *kern = strstr(line, "a step is"),
                   *mem = strstr(line, "memory");
        if (sscanf(line, " 1/12 loss %*f %lf ms", &ms) == 1) s->first = ms * 1e-3;
        if (at && sscanf(at, "best step %lf", &ms) == 1) s->best = ms * 1e-3;
        if (kern) sscanf(kern, "a step is %llu", &s->kernels);
        if (mem) sscanf(mem, "memory %lf", &s->gb);
    }
    return f && !pclose(f) && s->best > 0;
}

static int gpt2(struct bench *b) {
    const double tflop = 13.3;
    struct steps s, searched = {0};
    char note[80];
    bool ok = gpt2_run(b, &s);
    if (ok && b->beam) {
        set_beam(b->beam); /* the environment of what is started */
        ok = gpt2_run(b, &searched);
        set_beam(0);
        b->searching += searched.first;
    }
    if (!ok) return printf("GPT-2: examples/gpt2 did not run\n"), 1;
    snprintf(note, sizeof note, "%llu kernels, %.0f TFLOP/s, %.1f GB", s.kernels, tflop / s.best, s.gb);
    result(b, "GPT-2 124M step, 16 x 1024, bf16", s.best, searched.best, 0, tflop * 1e12 / peak(CUBLAS_BF16),
           note);
    result(b, "GPT-2 124M step, the first", s.first, 0, 0, 0, "");
    return 0;
}

/* A step on a batch of 256 MiB that a loader brings: the copy runs beside the step before it. */
struct stream {
    rg_ctx *c;
    rg_tensor w;
};
static int prepared(void *user, uint64_t number, void *const *buf) {
    (void)user, (void)buf; /* what was written once is as good as new */
    return number >= 40;
}
static rg_status work(void *user, const rg_tensor *in, rg_tensor *out) {
    rg_tensor w = ((struct stream *)user)->w;
    for (int i = 0; i < 40; i++) w = rg_contiguous(rg_mul(rg_add(w, 1), 0.5));
    out[0] = rg_add(rg_sum(in[0]), rg_sum(w));
    return RG_OK;
}
enum { COPIES, WORK, BOTH };

/* Seconds a step: of copies alone, of work on one batch again and again, of both. */
static double streamed(struct stream *s, rg_jit *j, int what) {
    enum { WARM = 8, STEPS = 24 };
    int64_t n = 64 << 20;
    rg_loader *l = rg_loader_new(s->c, (&(rg_batch_part){RG_F32, {&n, 1}}), 1, prepared, s);
    rg_tensor x = rg_zeros(s->c, RG_F32, RG_SHAPE(n)), y = RG_NONE;
    double t0 = 0;
    float v;
    rg_realize(x);
    for (int i = 0; i < WARM + STEPS; i++) {
        RG_SCOPE(s->c);
        rg_tensor batch = x;
        if (i == WARM) rg_read(s->w, &v, sizeof v), t0 = now();
        if (what != WORK && rg_loader_next(l, &batch, NULL)) return 0;
        if (what != COPIES && rg_jit_call(j, RG_TENSORS(batch), &y)) return 0;
        if (i + 1 == WARM + STEPS && rg_read(what == COPIES ? s->w : y, &v, sizeof v)) return 0;
    }
    double t = (now() - t0) / STEPS;
    rg_loader_free(l);
    rg_free(x);
    return t;
}

static int batches(struct bench *b) {
    struct stream s = {.c = rg_open("CUDA")};
    s.w = rg_zeros(s.c, RG_F32, RG_SHAPE(1));
    rg_realize(s.w);
    struct stream big = {s.c, rg_randn(s.c, RG_F32, RG_SHAPE(64 << 20))};
    rg_realize(big.w);
    rg_jit *j = rg_jit_new(s.c, work, &big, 1);
    double copies = streamed(&s, j, COPIES), alone = streamed(&s, j, WORK), both = streamed(&s, j, BOTH);
    if (rg_status_of(s.c)) return fprintf(stderr, "batches: %s\n", rg_error(s.c)), 1;
    char note[100];
    snprintf(note, sizeof note, "copy alone %.0f us (%.1f GB/s), step alone %.0f us", copies * 1e6,
             0.268435456 / copies, alone * 1e6);
    result(b, "step on a pinned batch of 256 MiB", both, 0, 0, copies > alone ? copies : alone, note);
    rg_close(s.c);
    return 0;
}

int main(int argc, char **argv) {
    if (bench_help(argc, argv, "[--json FILE] [--beam N] [--from NAME] [NAME ..]")) return 0;
    static const struct {
        const char *name;
        int (*fn)(struct bench *);
    } own[] = {{"dependent tiny kernels", tiny},
               {"mnist step", mnist},
               {"step on a pinned batch", batches},
               {"GPT-2 124M step", gpt2}};
    struct bench b = {.program = argv[0], .beam = (int)env_int(ENV_BEAM)};
    const char *file = NULL;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--json") && i + 1 < argc)
            file = argv[++i];
        else if (!strcmp(argv[i], "--beam") && i + 1 < argc)
            b.beam = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--from") && i + 1 < argc)
            b.from = argv[++i];
        else
            argv[1 + b.nonly++] = argv[i];
    }
    b.only = argv + 1;
    setenv("RIDGE_CACHE", "0", 0); /* a first step is one: nothing is there before it */
    set_beam(0);
    if (wanted(&b, "dependent tiny kernels")) b.tiny = tiny_apart();
    rg_ctx *c = rg_open("CUDA");
    if (rg_status_of(c)) return printf("skipped: %s\n", rg_error(c)), 0;
    b.peers = cublas_open();
    cublas.tf32 = getenv("RIDGE_TF32") && atoi(getenv("RIDGE_TF32")); /* then both may round floats */
    if (file && !(b.json = fopen(file, "w"))) return perror(file), 1;
    if (b.json) fprintf(b.json, "[");
    printf("%-38s %11s ", "row", "us");
    if (b.beam) printf("%11s %6s ", "searched", "of us");
    printf("%11s %8s %8s\n", "cuBLAS", "ratio", "of floor");
    int bad = any_wanted(&b) ? table(&b) : 0;
    for (size_t i = 0; i < sizeof own / sizeof *own && !bad; i++)
        if (wanted(&b, own[i].name)) bad = own[i].fn(&b);
    if (b.json) fprintf(b.json, "\n]\n"), fclose(b.json);
    if (b.beam)
        printf("search (BEAM=%d, warm caches): %.1f s; %u rows on which it takes less than 0.8 of the time "
               "without\n",
               b.beam, b.searching, b.below);
    rg_close(c);
    return bad;
}
