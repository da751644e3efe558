/* peers_row.c: hand-written row kernels: softmax, log-softmax, layer norm and its gradient, argmax, cumsum.
 *
 * A row of 4096 floats is 16 KiB and stays in L1 (64 KiB) over its passes; while the arithmetic of one row
 * runs, the next row is prefetched (past the last row too: a prefetch never faults), so that memory time hides
 * behind arithmetic. Reductions use eight independent accumulators: an add has a latency of two to four cycles
 * and there are four pipes. Tests: `golden --check`. */
#include "peers.h"
#include "vec.h"

#include <math.h>

#define PREFETCH_L1(p) __builtin_prefetch((p), 0, 3)
#define PREFETCH_L2(p) __builtin_prefetch((p), 0, 2)

struct rows {
    const float *x;
    float *out;
    int rows, cols;
    const float *gamma, *beta, *dy, *mean_in, *rstd_in;
    float *mean, *rstd, *part;
    float eps;
    int32_t *index;
};

/* ---- softmax -------------------------------------------------------------------------------------- */

static float row_max(const float *x, int n) {
    vf m[8];
    for (int u = 0; u < 8; u++) m[u] = v_ld(x + 4 * u);
    for (int i = 32; i < n; i += 32)
        for (int u = 0; u < 8; u++) m[u] = v_max(m[u], v_ld(x + i + 4 * u));
    for (int u = 0; u < 4; u++) m[u] = v_max(m[u], m[u + 4]);
    return v_hmax(v_max(v_max(m[0], m[1]), v_max(m[2], m[3])));
}

/* Sum of exp(x - max), written to e unless it is NULL; `next` (may be NULL) is fetched on the way. */
INLINE float row_exp(const float *x, float max, float *e, int n, const float *next) {
    vf s[4] = {v_set(0), v_set(0), v_set(0), v_set(0)}, m = v_set(max);
    for (int i = 0; i < n; i += 32) {
        if (next) PREFETCH_L1(next + i), PREFETCH_L1(next + i + 16);
        vf y[8];
        for (int u = 0; u < 8; u++) y[u] = v_exp_low(v_sub(v_ld(x + i + 4 * u), m));
        for (int u = 0; u < 8; u++) s[u & 3] = v_add(s[u & 3], y[u]);
        if (e)
            for (int u = 0; u < 8; u++) v_st(e + i + 4 * u, y[u]);
    }
    return v_hsum(v_add(v_add(s[0], s[1]), v_add(s[2], s[3])));
}

static void softmax_rows(void *arg, uint32_t t0, uint32_t t1, int worker) {
    struct rows *a = arg;
    (void)worker;
    for (uint32_t r = t0; r < t1; r++) {
        const float *x = a->x + (size_t)r * a->cols;
        float *o = a->out + (size_t)r * a->cols;
        float sum = row_exp(x, row_max(x, a->cols), o, a->cols, r + 1 < t1 ? x + a->cols : NULL);
        vf k = v_set(1 / sum);
        for (int i = 0; i < a->cols; i += 32)
            for (int u = 0; u < 8; u++) v_st(o + i + 4 * u, v_mul(v_ld(o + i + 4 * u), k));
    }
}

void peer_softmax(struct pool *pool, const float *x, float *out, int rows, int cols) {
    struct rows a = {.x = x, .out = out, .rows = rows, .cols = cols};
    peer_run(pool, softmax_rows, &a, (uint32_t)rows, 64);
}

static void log_softmax_rows(void *arg, uint32_t t0, uint32_t t1, int worker) {
    struct rows *a = arg;
    (void)worker;
    for (uint32_t r = t0; r < t1; r++) {
        const float *x = a->x + (size_t)r * a->cols;
        float *o = a->out + (size_t)r * a->cols, max = row_max(x, a->cols);
        float sum = row_exp(x, max, NULL, a->cols, r + 1 < t1 ? x + a->cols : NULL);
        vf m = v_set(max), l = v_set(logf(sum));
        for (int i = 0; i < a->cols; i += 32)
            for (int u = 0; u < 8; u++) v_st(o + i + 4 * u, v_sub(v_sub(v_ld(x + i + 4 * u), m), l));
    }
}

void peer_log_softmax(struct pool *pool, const float *x, float *out, int rows, int cols) {
    struct rows a = {.x = x, .out = out, .rows = rows, .cols = cols};
    peer_run(pool, log_softmax_rows, &a, (uint32_t)rows, 64);
}

/* ---- layer norm ------------------------------------------------------------------------------------ */

static float row_sum(const float *x, int n) {
    vf s[8];
    for (int u = 0; u < 8; u++) s[u] = v_ld(x + 4 * u);
    for (int i = 32; i < n; i += 32)
        for (int u = 0; u < 8; u++) s[u] = v_add(s[u], v_ld(x + i + 4 * u));
    for (int u = 0; u < 4; u++) s[u] = v_add(s[u], s[u + 4]);
    return v_hsum(v_add(v_add(s[0], s[1]), v_add(s[2], s[3])));
}

static float row_squares(const float *x, float mean, int n) {
    vf s[8], m = v_set(mean);
    for (int u = 0; u < 8; u++) s[u] = v_set(0);
    for (int i = 0; i < n; i += 32)
        for (int u = 0; u < 8; u++) {
            vf d = v_sub(v_ld(x + i + 4 * u), m);
            s[u] = v_fma(s[u], d, d);
        }
    for (int u = 0; u < 4; u++) s[u] = v_add(s[u], s[u + 4]);
    return v_hsum(v_add(v_add(s[0], s[1]), v_add(s[2], s[3])));
}

/* gamma, beta, x and out together fill L1, so the next row is fetched into L2 only. */
static void row_normalise(const float *x, const float *gamma, const float *beta, float *restrict out,
                          float mean, float rstd, int n) {
    vf m = v_set(mean), k = v_set(rstd);
    for (int i = 0; i < n; i += 16) {
        PREFETCH_L2(x + n + i);
        vf y[4];
        for (int u = 0; u < 4; u++) {
            vf d = v_mul(v_sub(v_ld(x + i + 4 * u), m), k);
            y[u] = v_fma(v_ld(beta + i + 4 * u), d, v_ld(gamma + i + 4 * u));
        }
        for (int u = 0; u < 4; u++) v_st(out + i + 4 * u, y[u]);
    }
}

static void layernorm_rows(void *arg, uint32_t t0, uint32_t t1, int worker) {
    struct rows *a = arg;
    int n = a->cols;
    (void)worker;
    for (uint32_t r = t0; r < t1; r++) {
        const float *x = a->x + (size_t)r * n;
        float mean = row_sum(x, n) / (float)n;
        float var = row_squares(x, mean, n) / (float)n;
        float rstd = 1 / sqrtf(var + a->eps);
        a->mean[r] = mean, a->rstd[r] = rstd;
        row_normalise(x, a->gamma, a->beta, a->out + (size_t)r * n, mean, rstd, n);
    }
}

void peer_layernorm(struct pool *pool, const float *x, const float *gamma, const float *beta, float *out,
                    float *mean, float *rstd, int rows, int cols, float eps) {
    struct rows a = {.x = x,
                     .out = out,
                     .rows = rows,
                     .cols = cols,
                     .gamma = gamma,
                     .beta = beta,
                     .mean = mean,
                     .rstd = rstd,
                     .eps = eps};
    peer_run(pool, layernorm_rows, &a, (uint32_t)rows, 64);
}

/* ---- layer norm, gradient -------------------------------------------------------------------------- */

/* Four rows: their two row sums, and what they add to the column sums. One load and store of the column
 * sums serves four rows. */
static void bwd_sums(const struct rows *a, uint32_t r, float *pg, float *pb, float s1[4], float s2[4]) {
    int n = a->cols;
    const float *x = a->x + (size_t)r * n, *dy = a->dy + (size_t)r * n;
    vf t1[4], t2[4], m[4], k[4];
    for (int j = 0; j < 4; j++) {
        t1[j] = t2[j] = v_set(0);
        m[j] = v_set(a->mean_in[r + (uint32_t)j]), k[j] = v_set(a->rstd_in[r + (uint32_t)j]);
    }
    for (int i = 0; i < n; i += 4) {
        vf g = v_ld(a->gamma + i), cg = v_ld(pg + i), cb = v_ld(pb + i);
        for (int j = 0; j < 4; j++) {
            vf d = v_ld(dy + (size_t)j * n + i);
            vf h = v_mul(v_sub(v_ld(x + (size_t)j * n + i), m[j]), k[j]), dg = v_mul(d, g);
            cb = v_add(cb, d);
            cg = v_fma(cg, d, h);
            t1[j] = v_add(t1[j], dg);
            t2[j] = v_fma(t2[j], dg, h);
        }
        v_st(pg + i, cg), v_st(pb + i, cb);
    }
    for (int j = 0; j < 4; j++) s1[j] = v_hsum(t1[j]) / (float)n, s2[j] = v_hsum(t2[j]) / (float)n;
}

static void bwd_dx(const float *x, const float *dy, const float *gamma, float *restrict dx, int n, float mean,
                   float rstd, float s1, float s2, size_t ahead) {
    vf m = v_set(mean), k = v_set(rstd), v1 = v_set(s1), v2 = v_set(s2);
    for (int i = 0; i < n; i += 16) {
        vf y[4];
        PREFETCH_L2(x + ahead + i), PREFETCH_L2(dy + ahead + i);
        for (int u = 0; u < 4; u++) {
            vf h = v_mul(v_sub(v_ld(x + i + 4 * u), m), k);
            vf d = v_sub(v_mul(v_ld(dy + i + 4 * u), v_ld(gamma + i + 4 * u)), v1);
            y[u] = v_mul(v_fms(d, h, v2), k);
        }
        for (int u = 0; u < 4; u++) v_st(dx + i + 4 * u, y[u]);
    }
}

static void bwd_block(void *arg, uint32_t t0, uint32_t t1, int worker) {
    struct rows *a = arg;
    int n = a->cols;
    (void)worker;
    for (uint32_t t = t0; t < t1; t++) {
        float *pg = a->part + (size_t)2 * t * n, *pb = pg + n, s1[4], s2[4];
        memset(pg, 0, sizeof(float) * 2 * (size_t)n);
        uint32_t fours = (uint32_t)a->rows / 4;
        uint32_t end = fours * (t + 1) / LN_BLOCKS * 4;
        for (uint32_t r = fours * t / LN_BLOCKS * 4; r < end; r += 4) {
            bwd_sums(a, r, pg, pb, s1, s2);
            for (uint32_t j = 0; j < 4; j++) {
                size_t at = (size_t)(r + j) * n;
                bwd_dx(a->x + at, a->dy + at, a->gamma, a->out + at, n, a->mean_in[r + j], a->rstd_in[r + j],
                       s1[j], s2[j], 4 * (size_t)n);
            }
        }
    }
}

void peer_layernorm_bwd(struct pool *pool, const float *x, const float *dy, const float *gamma,
                        const float *mean, const float *rstd, float *dx, float *dgamma, float *dbeta,
                        float *scratch, int rows, int cols) {
    struct rows a = {.x = x,
                     .out = dx,
                     .rows = rows,
                     .cols = cols,
                     .gamma = gamma,
                     .dy = dy,
                     .mean_in = mean,
                     .rstd_in = rstd,
                     .part = scratch};
    peer_run(pool, bwd_block, &a, LN_BLOCKS, 1);
    for (int i = 0; i < cols; i += 4) {
        vf g = v_ld(scratch + i), b = v_ld(scratch + cols + i);
        for (int t = 1; t < LN_BLOCKS; t++) {
            g = v_add(g, v_ld(scratch + (size_t)2 * t * cols + i));
            b = v_add(b, v_ld(scratch + (size_t)(2 * t + 1) * cols + i));
        }
        v_st(dgamma + i, g), v_st(dbeta + i, b);
    }
}

/* ---- argmax ---------------------------------------------------------------------------------------- */

enum { ARG_BLOCK = 256 };

/* The greatest value of each block of 256; only the first block that holds the row's maximum is searched. */
static int row_argmax(const float *x, int n) {
    float best = 0;
    int at = 0;
    for (int b = 0; b < n; b += ARG_BLOCK) {
        vf m[8];
        for (int i = 0; i < ARG_BLOCK; i += 16) PREFETCH_L2(x + n + b + i);
        for (int u = 0; u < 8; u++) m[u] = v_ld(x + b + 4 * u);
        for (int i = 32; i < ARG_BLOCK; i += 32)
            for (int u = 0; u < 8; u++) m[u] = v_max(m[u], v_ld(x + b + i + 4 * u));
        for (int u = 0; u < 4; u++) m[u] = v_max(m[u], m[u + 4]);
        float v = v_hmax(v_max(v_max(m[0], m[1]), v_max(m[2], m[3])));
        if (!b || v > best) best = v, at = b;
    }
    vf want = v_set(best);
    int end = at + ARG_BLOCK;
    while (at < end - 4 && !v_any_equal(v_ld(x + at), want)) at += 4;
    while (at < end - 1 && x[at] != best) at++;
    return at;
}

static void argmax_rows(void *arg, uint32_t t0, uint32_t t1, int worker) {
    struct rows *a = arg;
    (void)worker;
    for (uint32_t r = t0; r < t1; r++) a->index[r] = row_argmax(a->x + (size_t)r * a->cols, a->cols);
}

void peer_argmax(struct pool *pool, const float *x, int32_t *out, int rows, int cols) {
    struct rows a = {.x = x, .rows = rows, .cols = cols, .index = out};
    peer_run(pool, argmax_rows, &a, (uint32_t)rows, 64);
}

/* ---- cumsum ---------------------------------------------------------------------------------------- */

/* Sixteen elements: four vectors summed up on their own, then their totals; the chain from one sixteen to
 * the next is a single add. */
static void row_cumsum(const float *x, float *restrict out, int n) {
    vf carry = v_set(0);
    for (int i = 0; i < n; i += 16) {
        vf v[4], t[4];
        PREFETCH_L2(x + n + i);
        for (int u = 0; u < 4; u++) {
            v[u] = v_ld(x + i + 4 * u);
            v[u] = v_add(v[u], v_shift_in(v[u], 1));
            v[u] = v_add(v[u], v_shift_in(v[u], 2));
            t[u] = v_last(v[u]);
        }
        vf t01 = v_add(t[0], t[1]), t012 = v_add(t01, t[2]), all = v_add(t01, v_add(t[2], t[3]));
        v_st(out + i, v_add(carry, v[0]));
        v_st(out + i + 4, v_add(carry, v_add(t[0], v[1])));
        v_st(out + i + 8, v_add(carry, v_add(t01, v[2])));
        v_st(out + i + 12, v_add(carry, v_add(t012, v[3])));
        carry = v_add(carry, all);
    }
}

static void cumsum_rows(void *arg, uint32_t t0, uint32_t t1, int worker) {
    struct rows *a = arg;
    size_t n = (size_t)a->cols;
    (void)worker;
    for (uint32_t r = t0; r < t1; r++) row_cumsum(a->x + r * n, a->out + r * n, a->cols);
}

void peer_cumsum(struct pool *pool, const float *x, float *out, int rows, int cols) {
    struct rows a = {.x = x, .out = out, .rows = rows, .cols = cols};
    peer_run(pool, cumsum_rows, &a, (uint32_t)rows, 64);
}
