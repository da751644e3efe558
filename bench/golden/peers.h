/* peers.h: what a C programmer would write for the golden kernels: the bar Ridge is measured against.
 *
 * Every function computes one job of the golden benchmark on row-major float32 data. `pool` may be NULL:
 * then it runs in the caller alone. The shapes are arguments; what a shape must be a multiple of is said
 * beside the function (the benchmark's own shapes all are, and tails would only blur the comparison).
 * `scratch` is memory of at least the given size that the caller allocates once, so that no peer pays for
 * an allocation inside its timing. Nothing is kept between calls.
 * Tests: `golden --check` compares each of them with what the oracle computes, on several shapes. */
#ifndef RIDGE_GOLDEN_PEERS_H
#define RIDGE_GOLDEN_PEERS_H

#include "base/base.h"

/* A parallel loop over [0, n) in chunks; in the caller when pool is NULL. */
typedef void peer_fn(void *arg, uint32_t t0, uint32_t t1, int worker);
static inline void peer_run(struct pool *pool, peer_fn *fn, void *arg, uint32_t n, uint32_t chunk) {
    if (pool)
        pool_run(pool, fn, arg, n, chunk);
    else
        fn(arg, 0, n, 0);
}
#define PEER_WORKERS 64 /* scratch that is per worker has this many parts */

/* ---- peers_row.c: one row at a time stays in L1 -------------------------------------------------- */

void peer_softmax(struct pool *, const float *x, float *out, int rows, int cols);     /* cols: of 32 */
void peer_log_softmax(struct pool *, const float *x, float *out, int rows, int cols); /* cols: of 32 */
void peer_layernorm(struct pool *, const float *x, const float *gamma, const float *beta, float *out,
                    float *mean, float *rstd, int rows, int cols, float eps); /* cols: of 32 */
/* rows: of 4, cols: of 16. scratch: 2 * LN_BLOCKS * cols floats */
#define LN_BLOCKS 16
void peer_layernorm_bwd(struct pool *, const float *x, const float *dy, const float *gamma, const float *mean,
                        const float *rstd, float *dx, float *dgamma, float *dbeta, float *scratch, int rows,
                        int cols);
void peer_argmax(struct pool *, const float *x, int32_t *out, int rows, int cols); /* cols: of 256 */
void peer_cumsum(struct pool *, const float *x, float *out, int rows, int cols);   /* cols: of 16 */

/* ---- peers_gemm.c: packed panels, a tile of 8 x 12 in registers ---------------------------------- */

/* out[m][n] = a[m][k] b[k][n]; with bias, gelu(. + bias[n]) in tanh form. Any m, n, k.
 * scratch: gemm_scratch(n, k) floats. */
size_t gemm_scratch(int n, int k);
void peer_matmul(struct pool *, const float *a, const float *b, const float *bias, float *out, int m, int n,
                 int k, float *scratch);
/* out[n][co][h-kh+1][w-kw+1], valid, stride 1; w-kw+1: of 4, co: of 8.
 * scratch: co * ci * kh * kw floats (the weights in panels of 8 channels). */
struct conv_shape {
    int n, ci, h, w, co, kh, kw;
};
void peer_conv(struct pool *, const float *x, const float *w, float *out, struct conv_shape, float *scratch);

/* ---- peers_flat.c: memory-bound ------------------------------------------------------------------ */

struct adam_tensor {
    float *p, *m, *v;
    const float *g;
    int64_t n;
};
struct adam_hyper {
    float lr, b1, b2, eps, c1, c2; /* c1 = 1 - b1^t, c2 = 1 - b2^t */
};
void peer_adam(struct pool *, const struct adam_tensor *, int count, struct adam_hyper);
void peer_transpose_add(struct pool *, const float *a, const float *b, float *out, int n); /* n: of 64 */
void peer_two_outputs(struct pool *, const float *a, const float *b, const float *c, const float *d,
                      float *o1, float *o2, int64_t n);   /* n: of 16 */
float peer_sum(struct pool *, const float *x, int64_t n); /* n: of 4096 */
void peer_gather(struct pool *, const float *table, const int32_t *idx, float *out, int table_rows, int rows,
                 int cols); /* cols: of 32 */
/* out[out_rows] += x at idx (clamped). scratch: rows + out_rows + 1 int32 */
void peer_scatter_add(struct pool *, const float *x, const int32_t *idx, float *out, int out_rows, int rows,
                      int cols, int32_t *scratch); /* cols: of 64 */

const char *peer_compiler(void); /* that made these files */
/* What this machine can do: the caller times them. Buffers of `n` floats (of 4096). */
void probe_copy(struct pool *, const float *x, float *out, int64_t n);
void probe_write(struct pool *, float *out, int64_t n); /* to read: peer_sum */
double probe_fma(struct pool *, int threads);           /* in registers only; how many flops */

#endif
