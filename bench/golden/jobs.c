/* jobs.c: the table of jobs, their memory and data, and the plain loops that judge the results.
 *
 * The judges are written for being obviously right: double accumulation, libm, no blocking. A judge that would
 * take seconds at full size looks at the first, the last and some rows between.
 * Invariant: what a judge needs of the state before the run it computes with task_first, never from memory
 * that a run has touched. */
#include "jobs.h"

#include <math.h>

/* ---- memory and data ------------------------------------------------------------------------------- */

static double fill_value(enum fill f, uint64_t seed, int64_t limit, int64_t i) {
    uint64_t h = hash_u64(seed * 0x9e3779b97f4a7c15u + (uint64_t)i);
    double u = (double)(h >> 40) * 0x1p-24;
    switch (f) {
    case F_ZERO: return 0;
    case F_UNIFORM: return 2 * u - 1;
    case F_WIDE: return 16 * u - 8;
    case F_UNIT: return u;
    case F_TIES: return floor(u * 1000);
    case F_INDEX: /* a few lie outside: they must be clamped */
        return i % 1021 == 7 ? (double)(i & 1 ? -5 : limit + 3) : (double)((h >> 32) % (uint64_t)limit);
    }
    return 0;
}

double task_first(const struct buf *b, int64_t i) { return fill_value(b->fill, b->seed, b->limit, i); }

struct filler {
    const struct buf *b;
    void *p;
};
enum { FILL_PART = 65536 };

static void fill_parts(void *arg, uint32_t t0, uint32_t t1, int worker) {
    const struct filler *f = arg;
    (void)worker;
    for (int64_t i = (int64_t)t0 * FILL_PART; i < RG_MIN((int64_t)t1 * FILL_PART, f->b->n); i++) {
        double v = task_first(f->b, i);
        if (f->b->fill == F_INDEX)
            ((int32_t *)f->p)[i] = (int32_t)v;
        else
            ((float *)f->p)[i] = (float)v;
    }
}

static void fill(const struct buf *b, void *p) {
    struct filler f = {b, p};
    if (b->fill == F_ZERO)
        memset(p, 0, sizeof(float) * (size_t)b->n);
    else
        pool_run(pool_get(), fill_parts, &f, (uint32_t)((b->n + FILL_PART - 1) / FILL_PART), 1);
}

static struct buf *add(struct task *t, const char *name, enum access access, enum fill fl, int64_t n) {
    struct buf *b = &t->buf[t->nbuf++];
    *b = (struct buf){
        .name = name, .access = access, .fill = fl, .n = n, .limit = 1, .seed = (uint64_t)t->nbuf};
    return b;
}

static void add_var(struct task *t, const char *name, double value) {
    t->var[t->nvar++] = (struct var){name, value};
}

struct buf *task_buf(struct task *t, const char *name) {
    for (int i = 0; i < t->nbuf; i++)
        if (!strcmp(t->buf[i].name, name)) return &t->buf[i];
    return NULL;
}

static float *get(struct task *t, const char *name, int side) { return task_buf(t, name)->p[side]; }

int task_open(struct err *e, struct task *t, const struct job *job, const int *shape) {
    *t = (struct task){.job = job, .s = shape};
    job->make(t);
    bool ok = true;
    for (int i = 0; i < t->nbuf; i++)
        for (int s = 0; s < SIDES; s++) {
            struct buf *b = &t->buf[i];
            bool shared = s && b->access == IN;
            b->p[s] = shared ? b->p[0] : os_pages(sizeof(float) * (size_t)b->n);
            ok = ok && b->p[s];
        }
    if (t->scratch_n) ok = (t->scratch = os_pages(sizeof(float) * t->scratch_n)) && ok;
    if (!ok) {
        task_close(t);
        return err_set(e, RG_ENOMEM, "%s: not enough memory for its buffers", job->name);
    }
    for (int i = 0; i < t->nbuf; i++)
        if (t->buf[i].access == IN) fill(&t->buf[i], t->buf[i].p[0]);
    task_reset(t);
    return 0;
}

void task_close(struct task *t) {
    for (int i = 0; i < t->nbuf; i++)
        for (int s = 0; s < SIDES; s++)
            if (t->buf[i].p[s] && !(s && t->buf[i].access == IN))
                os_pages_free(t->buf[i].p[s], sizeof(float) * (size_t)t->buf[i].n);
    if (t->scratch) os_pages_free(t->scratch, sizeof(float) * t->scratch_n);
    *t = (struct task){0};
}

void task_reset(struct task *t) {
    for (int i = 0; i < t->nbuf; i++)
        for (int s = 0; s < SIDES; s++)
            if (t->buf[i].access != IN) fill(&t->buf[i], t->buf[i].p[s]);
}

/* ---- errors ---------------------------------------------------------------------------------------- */

static double off(double got, double want) {
    double d = fabs(got - want) / fmax(fabs(want), 1);
    return isnan(d) ? HUGE_VAL : d;
}

static void note(double *worst, double got, double want) { *worst = fmax(*worst, off(got, want)); }

double task_compare(struct task *t) {
    double worst = 0;
    for (int i = 0; i < t->nbuf; i++) {
        struct buf *b = &t->buf[i];
        if (b->access == IN) continue;
        if (!strcmp(t->job->file, "argmax")) {
            int32_t *p = b->p[PEER], *q = b->p[RIDGE];
            for (int64_t k = 0; k < b->n; k++) note(&worst, q[k], p[k]);
        } else {
            float *p = b->p[PEER], *q = b->p[RIDGE];
            for (int64_t k = 0; k < b->n; k++) note(&worst, q[k], p[k]);
        }
    }
    return worst;
}

/* The rows a judge looks at: about 64 of them, the first and the last included. */
static int next_row(int r, int rows) {
    int step = RG_MAX(rows / 64, 1);
    return r == rows - 1 ? rows : RG_MIN(r + step, rows - 1);
}
#define FOR_ROWS(r, rows) for (int r = 0; r < (rows); r = next_row(r, (rows)))

/* ---- softmax, log-softmax ---------------------------------------------------------------------------- */

static void make_rows(struct task *t) {
    int64_t n = (int64_t)t->s[0] * t->s[1];
    add(t, "x", IN, F_WIDE, n);
    add(t, "out", OUT, F_ZERO, n);
    t->read = t->write = 4.0 * (double)n;
}

static void run_softmax(struct task *t, struct pool *pool) {
    peer_softmax(pool, get(t, "x", 0), get(t, "out", PEER), t->s[0], t->s[1]);
}

static void run_log_softmax(struct task *t, struct pool *pool) {
    peer_log_softmax(pool, get(t, "x", 0), get(t, "out", PEER), t->s[0], t->s[1]);
}

static double judge_softmaxes(struct task *t, int side, bool log_form) {
    double worst = 0;
    FOR_ROWS(r, t->s[0]) {
        const float *x = get(t, "x", 0) + (size_t)r * t->s[1], *o = get(t, "out", side) + (size_t)r * t->s[1];
        double max = -HUGE_VAL, sum = 0;
        for (int i = 0; i < t->s[1]; i++) max = fmax(max, x[i]);
        for (int i = 0; i < t->s[1]; i++) sum += exp(x[i] - max);
        for (int i = 0; i < t->s[1]; i++)
            if (log_form)
                note(&worst, o[i], x[i] - max - log(sum));
            else /* probabilities are small: judged relative to themselves */
                note(&worst, o[i] / (exp(x[i] - max) / sum), 1);
    }
    return worst;
}

static double judge_softmax(struct task *t, int side) { return judge_softmaxes(t, side, false); }
static double judge_log_softmax(struct task *t, int side) { return judge_softmaxes(t, side, true); }

/* ---- layer norm --------------------------------------------------------------------------------------- */

static void make_layernorm(struct task *t) {
    int64_t n = (int64_t)t->s[0] * t->s[1];
    make_rows(t);
    add(t, "gamma", IN, F_UNIFORM, t->s[1]);
    add(t, "beta", IN, F_UNIFORM, t->s[1]);
    add(t, "mean", OUT, F_ZERO, t->s[0]);
    add(t, "rstd", OUT, F_ZERO, t->s[0]);
    t->flops = 8.0 * (double)n;
}

static void run_layernorm(struct task *t, struct pool *pool) {
    peer_layernorm(pool, get(t, "x", 0), get(t, "gamma", 0), get(t, "beta", 0), get(t, "out", PEER),
                   get(t, "mean", PEER), get(t, "rstd", PEER), t->s[0], t->s[1], 1e-5f);
}

static void moments(const float *x, int n, double *mean, double *rstd) {
    double s = 0, q = 0;
    for (int i = 0; i < n; i++) s += x[i];
    s /= n;
    for (int i = 0; i < n; i++) q += (x[i] - s) * (x[i] - s);
    *mean = s, *rstd = 1 / sqrt(q / n + 1e-5);
}

static double judge_layernorm(struct task *t, int side) {
    double worst = 0;
    const float *gamma = get(t, "gamma", 0), *beta = get(t, "beta", 0);
    FOR_ROWS(r, t->s[0]) {
        const float *x = get(t, "x", 0) + (size_t)r * t->s[1], *o = get(t, "out", side) + (size_t)r * t->s[1];
        double mean, rstd;
        moments(x, t->s[1], &mean, &rstd);
        note(&worst, get(t, "mean", side)[r], mean);
        note(&worst, get(t, "rstd", side)[r], rstd);
        for (int i = 0; i < t->s[1]; i++) note(&worst, o[i], (x[i] - mean) * rstd * gamma[i] + beta[i]);
    }
    return worst;
}

static void make_layernorm_bwd(struct task *t) {
    int64_t n = (int64_t)t->s[0] * t->s[1];
    add(t, "x", IN, F_UNIFORM, n);
    add(t, "dy", IN, F_UNIFORM, n);
    add(t, "gamma", IN, F_UNIFORM, t->s[1]);
    /* any numbers do for the arithmetic; these are near the true ones of [-1, 1) */
    add(t, "mean", IN, F_ZERO, t->s[0]);
    add(t, "rstd", IN, F_UNIT, t->s[0]);
    add(t, "dx", OUT, F_ZERO, n);
    add(t, "dgamma", OUT, F_ZERO, t->s[1]);
    add(t, "dbeta", OUT, F_ZERO, t->s[1]);
    t->scratch_n = (size_t)2 * LN_BLOCKS * (size_t)t->s[1];
    t->read = 8.0 * (double)n, t->write = 4.0 * (double)n, t->flops = 16.0 * (double)n;
}

static void run_layernorm_bwd(struct task *t, struct pool *pool) {
    peer_layernorm_bwd(pool, get(t, "x", 0), get(t, "dy", 0), get(t, "gamma", 0), get(t, "mean", 0),
                       get(t, "rstd", 0), get(t, "dx", PEER), get(t, "dgamma", PEER), get(t, "dbeta", PEER),
                       t->scratch, t->s[0], t->s[1]);
}

static double judge_layernorm_bwd(struct task *t, int side) {
    double worst = 0;
    int rows = t->s[0], n = t->s[1];
    const float *x = get(t, "x", 0), *dy = get(t, "dy", 0), *gamma = get(t, "gamma", 0);
    const float *mean = get(t, "mean", 0), *rstd = get(t, "rstd", 0), *dx = get(t, "dx", side);
    FOR_ROWS(r, rows) {
        double s1 = 0, s2 = 0;
        size_t at = (size_t)r * n;
        for (int i = 0; i < n; i++) {
            double g = (double)dy[at + i] * gamma[i];
            s1 += g / n, s2 += g * (x[at + i] - mean[r]) * rstd[r] / n;
        }
        for (int i = 0; i < n; i++) {
            double h = ((double)x[at + i] - mean[r]) * rstd[r];
            note(&worst, dx[at + i], rstd[r] * ((double)dy[at + i] * gamma[i] - s1 - h * s2));
        }
    }
    FOR_ROWS(c, n) {
        double dg = 0, db = 0;
        for (int r = 0; r < rows; r++) {
            size_t at = (size_t)r * n + c;
            db += dy[at], dg += (double)dy[at] * (x[at] - mean[r]) * rstd[r];
        }
        note(&worst, get(t, "dgamma", side)[c], dg);
        note(&worst, get(t, "dbeta", side)[c], db);
    }
    return worst;
}

/* ---- matmul, convolution ------------------------------------------------------------------------------ */

static void make_matmul(struct task *t) /* shape: m, n, k */
{
    int64_t m = t->s[0], n = t->s[1], k = t->s[2];
    add(t, "a", IN, F_UNIFORM, m * k);
    add(t, "b", IN, F_UNIFORM, k * n);
    add(t, "out", OUT, F_ZERO, m * n);
    t->scratch_n = gemm_scratch((int)n, (int)k);
    t->read = 4.0 * (double)(m * k + k * n), t->write = 4.0 * (double)(m * n);
    t->flops = 2.0 * (double)m * (double)n * (double)k;
}

static void make_matmul_gelu(struct task *t) {
    make_matmul(t);
    add(t, "bias", IN, F_UNIFORM, t->s[1]);
}

static void run_matmul(struct task *t, struct pool *pool) {
    struct buf *bias = task_buf(t, "bias");
    peer_matmul(pool, get(t, "a", 0), get(t, "b", 0), bias ? bias->p[0] : NULL, get(t, "out", PEER), t->s[0],
                t->s[1], t->s[2], t->scratch);
}

static double judge_matmul(struct task *t, int side) {
    double worst = 0;
    int m = t->s[0], n = t->s[1], k = t->s[2];
    const float *a = get(t, "a", 0), *b = get(t, "b", 0), *o = get(t, "out", side);
    struct buf *bias = task_buf(t, "bias");
    FOR_ROWS(r, m)
    FOR_ROWS(c, n) {
        double s = 0;
        for (int i = 0; i < k; i++) s += (double)a[(size_t)r * k + i] * b[(size_t)i * n + c];
        if (bias) {
            s += ((float *)bias->p[0])[c];
            s = 0.5 * s * (1 + tanh(0.79788456 * (s + 0.044715 * s * s * s)));
        }
        note(&worst, o[(size_t)r * n + c], s);
    }
    return worst;
}

static struct conv_shape conv_of(const struct task *t) {
    const int *s = t->s;
    return (struct conv_shape){s[0], s[1], s[2], s[3], s[4], s[5], s[6]};
}

static void make_conv(struct task *t) {
    struct conv_shape s = conv_of(t);
    int64_t taps = (int64_t)s.ci * s.kh * s.kw, pixels = (int64_t)(s.h - s.kh + 1) * (s.w - s.kw + 1);
    add(t, "x", IN, F_UNIFORM, (int64_t)s.n * s.ci * s.h * s.w);
    add(t, "w", IN, F_UNIFORM, s.co * taps);
    add(t, "out", OUT, F_ZERO, s.n * s.co * pixels);
    t->scratch_n = (size_t)(s.co * taps);
    t->read = 4.0 * (double)((int64_t)s.n * s.ci * s.h * s.w + s.co * taps);
    t->write = 4.0 * (double)(s.n * s.co * pixels);
    t->flops = 2.0 * (double)(s.n * s.co * pixels) * (double)taps;
}

static void run_conv(struct task *t, struct pool *pool) {
    peer_conv(pool, get(t, "x", 0), get(t, "w", 0), get(t, "out", PEER), conv_of(t), t->scratch);
}

static double judge_conv(struct task *t, int side) {
    struct conv_shape s = conv_of(t);
    int oh = s.h - s.kh + 1, ow = s.w - s.kw + 1;
    const float *x = get(t, "x", 0), *w = get(t, "w", 0), *o = get(t, "out", side);
    double worst = 0;
    for (int64_t at = 0; at < (int64_t)s.n * s.co * oh * ow; at += 97) { /* 97 is prime: meets every index */
        int px = (int)(at % ow), py = (int)(at / ow % oh), c = (int)(at / ow / oh % s.co);
        int n = (int)(at / ow / oh / s.co);
        double sum = 0;
        for (int i = 0; i < s.ci; i++)
            for (int ky = 0; ky < s.kh; ky++)
                for (int kx = 0; kx < s.kw; kx++)
                    sum += (double)x[(((size_t)n * s.ci + i) * s.h + py + ky) * s.w + px + kx] *
                           w[(((size_t)c * s.ci + i) * s.kh + ky) * s.kw + kx];
        note(&worst, o[at], sum);
    }
    return worst;
}

/* ---- Adam --------------------------------------------------------------------------------------------- */

/* The parameters of a small convolutional network and two large matrices. */
static const int adam_sizes[] = {800, 32, 25600, 32, 18432, 64, 36864, 64, 5760, 10, 1048576, 2359296};
enum { ADAM_TENSORS = (int)RG_COUNT(adam_sizes) };
static const char *const adam_names[4][ADAM_TENSORS] = {
    {"p[0]", "p[1]", "p[2]", "p[3]", "p[4]", "p[5]", "p[6]", "p[7]", "p[8]", "p[9]", "p[10]", "p[11]"},
    {"g[0]", "g[1]", "g[2]", "g[3]", "g[4]", "g[5]", "g[6]", "g[7]", "g[8]", "g[9]", "g[10]", "g[11]"},
    {"m[0]", "m[1]", "m[2]", "m[3]", "m[4]", "m[5]", "m[6]", "m[7]", "m[8]", "m[9]", "m[10]", "m[11]"},
    {"v[0]", "v[1]", "v[2]", "v[3]", "v[4]", "v[5]", "v[6]", "v[7]", "v[8]", "v[9]", "v[10]", "v[11]"},
};
static const struct adam_hyper adam_hyper = {
    .lr = 1e-3f, .b1 = 0.9f, .b2 = 0.999f, .eps = 1e-8f, .c1 = 1 - 0.729f, .c2 = 1 - 0.997002999f};

static void make_adam(struct task *t) /* shape: the number of tensors left out, from the last */
{
    const struct adam_hyper *h = &adam_hyper;
    int count = ADAM_TENSORS - t->s[0];
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < count; i++)
            add(t, adam_names[k][i], k == 1 ? IN : INOUT, k == 3 ? F_UNIT : F_UNIFORM, adam_sizes[i]);
    add_var(t, "lr", h->lr), add_var(t, "b1", h->b1), add_var(t, "b2", h->b2);
    add_var(t, "eps", h->eps), add_var(t, "c1", h->c1), add_var(t, "c2", h->c2);
    double n = 0;
    for (int i = 0; i < count; i++) n += adam_sizes[i];
    t->read = 16 * n, t->write = 12 * n, t->flops = 14 * n;
}

static void run_adam(struct task *t, struct pool *pool) {
    struct adam_tensor a[ADAM_TENSORS];
    int count = t->nbuf / 4;
    for (int i = 0; i < count; i++)
        a[i] = (struct adam_tensor){.p = t->buf[i].p[PEER],
                                    .g = t->buf[count + i].p[PEER],
                                    .m = t->buf[2 * count + i].p[PEER],
                                    .v = t->buf[3 * count + i].p[PEER],
                                    .n = t->buf[i].n};
    peer_adam(pool, a, count, adam_hyper);
}

static double judge_adam(struct task *t, int side) {
    const struct adam_hyper *h = &adam_hyper;
    int count = t->nbuf / 4;
    double worst = 0;
    for (int k = 0; k < count; k++) {
        const struct buf *p = &t->buf[k], *g = p + count, *m = g + count, *v = m + count;
        for (int64_t i = 0; i < p->n; i++) {
            double gi = task_first(g, i);
            double mi = h->b1 * (float)task_first(m, i) + (1 - h->b1) * gi;
            double vi = h->b2 * (float)task_first(v, i) + (1 - h->b2) * gi * gi;
            double pi = (float)task_first(p, i) - h->lr * (mi / h->c1) / (sqrt(vi / h->c2) + h->eps);
            note(&worst, ((float *)m->p[side])[i], mi);
            note(&worst, ((float *)v->p[side])[i], vi);
            note(&worst, ((float *)p->p[side])[i], pi);
        }
    }
    return worst;
}

/* ---- the memory-bound ones ------------------------------------------------------------------------------ */

static void make_transpose_add(struct task *t) {
    int64_t n = (int64_t)t->s[0] * t->s[0];
    add(t, "a", IN, F_UNIFORM, n);
    add(t, "b", IN, F_UNIFORM, n);
    add(t, "out", OUT, F_ZERO, n);
    t->read = 8.0 * (double)n, t->write = 4.0 * (double)n, t->flops = (double)n;
}

static void run_transpose_add(struct task *t, struct pool *pool) {
    peer_transpose_add(pool, get(t, "a", 0), get(t, "b", 0), get(t, "out", PEER), t->s[0]);
}

static double judge_transpose_add(struct task *t, int side) {
    double worst = 0;
    size_t n = (size_t)t->s[0];
    const float *a = get(t, "a", 0), *b = get(t, "b", 0), *o = get(t, "out", side);
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < n; i++) note(&worst, o[j * n + i], (double)a[i * n + j] + b[j * n + i]);
    return worst;
}

static void make_two_outputs(struct task *t) {
    static const char *const in[] = {"a", "b", "c", "d"};
    for (int i = 0; i < 4; i++) add(t, in[i], IN, F_UNIFORM, t->s[0]);
    add(t, "o1", OUT, F_ZERO, t->s[0]);
    add(t, "o2", OUT, F_ZERO, t->s[0]);
    t->read = 16.0 * t->s[0], t->write = 8.0 * t->s[0], t->flops = 3.0 * t->s[0];
}

static void run_two_outputs(struct task *t, struct pool *pool) {
    peer_two_outputs(pool, get(t, "a", 0), get(t, "b", 0), get(t, "c", 0), get(t, "d", 0), get(t, "o1", PEER),
                     get(t, "o2", PEER), t->s[0]);
}

static double judge_two_outputs(struct task *t, int side) {
    double worst = 0;
    const float *a = get(t, "a", 0), *b = get(t, "b", 0), *c = get(t, "c", 0), *d = get(t, "d", 0);
    const float *o1 = get(t, "o1", side), *o2 = get(t, "o2", side);
    for (int i = 0; i < t->s[0]; i++) {
        note(&worst, o1[i], (double)a[i] + b[i] + c[i]);
        note(&worst, o2[i], (double)a[i] + b[i] + d[i]);
    }
    return worst;
}

static void make_sum(struct task *t) {
    add(t, "x", IN, F_UNIT, t->s[0]);
    add(t, "out", OUT, F_ZERO, 1);
    t->read = 4.0 * t->s[0], t->flops = t->s[0];
}

static void run_sum(struct task *t, struct pool *pool) {
    get(t, "out", PEER)[0] = peer_sum(pool, get(t, "x", 0), t->s[0]);
}

static double judge_sum(struct task *t, int side) {
    double s = 0;
    for (int i = 0; i < t->s[0]; i++) s += get(t, "x", 0)[i];
    return off(get(t, "out", side)[0], s);
}

static void make_argmax(struct task *t) {
    add(t, "x", IN, F_TIES, (int64_t)t->s[0] * t->s[1]);
    add(t, "out", OUT, F_ZERO, t->s[0]);
    t->read = 4.0 * t->s[0] * t->s[1], t->flops = (double)t->s[0] * t->s[1];
}

static void run_argmax(struct task *t, struct pool *pool) {
    peer_argmax(pool, get(t, "x", 0), task_buf(t, "out")->p[PEER], t->s[0], t->s[1]);
}

static double judge_argmax(struct task *t, int side) {
    double worst = 0;
    const int32_t *o = task_buf(t, "out")->p[side];
    for (int r = 0; r < t->s[0]; r++) {
        const float *x = get(t, "x", 0) + (size_t)r * t->s[1];
        int best = 0;
        for (int i = 1; i < t->s[1]; i++)
            if (x[i] > x[best]) best = i;
        note(&worst, o[r], best);
    }
    return worst;
}

static void make_cumsum(struct task *t) {
    int64_t n = (int64_t)t->s[0] * t->s[1];
    add(t, "x", IN, F_UNIT, n);
    add(t, "out", OUT, F_ZERO, n);
    t->read = t->write = 4.0 * (double)n, t->flops = (double)n;
}

static void run_cumsum(struct task *t, struct pool *pool) {
    peer_cumsum(pool, get(t, "x", 0), get(t, "out", PEER), t->s[0], t->s[1]);
}

static double judge_cumsum(struct task *t, int side) {
    double worst = 0;
    for (int r = 0; r < t->s[0]; r++) {
        double s = 0;
        const float *x = get(t, "x", 0) + (size_t)r * t->s[1], *o = get(t, "out", side) + (size_t)r * t->s[1];
        for (int i = 0; i < t->s[1]; i++) s += x[i], note(&worst, o[i], s);
    }
    return worst;
}

static void make_gather(struct task *t) /* shape: rows of the table, rows of the result, columns */
{
    double moved = 4.0 * t->s[1] * t->s[2];
    add(t, "table", IN, F_UNIFORM, (int64_t)t->s[0] * t->s[2]);
    add(t, "idx", IN, F_INDEX, t->s[1])->limit = t->s[0];
    add(t, "out", OUT, F_ZERO, (int64_t)t->s[1] * t->s[2]);
    t->read = RG_MIN(moved, 4.0 * t->s[0] * t->s[2]) + 4.0 * t->s[1], t->write = moved;
}

static void run_gather(struct task *t, struct pool *pool) {
    peer_gather(pool, get(t, "table", 0), task_buf(t, "idx")->p[0], get(t, "out", PEER), t->s[0], t->s[1],
                t->s[2]);
}

static double judge_gather(struct task *t, int side) {
    double worst = 0;
    const int32_t *idx = task_buf(t, "idx")->p[0];
    size_t n = (size_t)t->s[2];
    for (int r = 0; r < t->s[1]; r++) {
        size_t row = (size_t)RG_MIN(RG_MAX(idx[r], 0), t->s[0] - 1);
        for (size_t i = 0; i < n; i++)
            note(&worst, get(t, "out", side)[(size_t)r * n + i], get(t, "table", 0)[row * n + i]);
    }
    return worst;
}

static void make_scatter(struct task *t) /* shape: rows of the result, rows of x, columns */
{
    add(t, "x", IN, F_UNIFORM, (int64_t)t->s[1] * t->s[2]);
    add(t, "idx", IN, F_INDEX, t->s[1])->limit = t->s[0];
    add(t, "out", INOUT, F_UNIFORM, (int64_t)t->s[0] * t->s[2]);
    t->scratch_n = (size_t)t->s[1] + (size_t)t->s[0] + 1;
    t->read = 4.0 * t->s[2] * (t->s[1] + t->s[0]) + 4.0 * t->s[1], t->write = 4.0 * t->s[0] * t->s[2];
    t->flops = (double)t->s[1] * t->s[2];
}

static void run_scatter(struct task *t, struct pool *pool) {
    peer_scatter_add(pool, get(t, "x", 0), task_buf(t, "idx")->p[0], get(t, "out", PEER), t->s[0], t->s[1],
                     t->s[2], (int32_t *)t->scratch);
}

/* One column at a time, so that the plain loop needs no copy of the result. */
static double judge_scatter(struct task *t, int side) {
    double worst = 0, sum[4096];
    const int32_t *idx = task_buf(t, "idx")->p[0];
    const struct buf *out = task_buf(t, "out");
    int rows = t->s[0], n = t->s[2];
    FOR_ROWS(c, n) {
        for (int r = 0; r < rows; r++) sum[r] = (float)task_first(out, (int64_t)r * n + c);
        for (int i = 0; i < t->s[1]; i++)
            sum[RG_MIN(RG_MAX(idx[i], 0), rows - 1)] += get(t, "x", 0)[(size_t)i * n + c];
        for (int r = 0; r < rows; r++) note(&worst, ((float *)out->p[side])[(size_t)r * n + c], sum[r]);
    }
    return worst;
}

/* ---- the table ------------------------------------------------------------------------------------------ */

/* clang-format off */
#define ROWS {4096, 4096}, {13, 96}
const struct job jobs[] = {
    /* name                file                full shape                  small shape          tol   one thread  memory               peer                judge */
    {"softmax",            "softmax",          ROWS,                                            1e-5, false, make_rows,           run_softmax,        judge_softmax},
    {"log_softmax",        "log_softmax",      ROWS,                                            1e-5, false, make_rows,           run_log_softmax,    judge_log_softmax},
    {"layernorm",          "layernorm",        ROWS,                                            1e-5, false, make_layernorm,      run_layernorm,      judge_layernorm},
    {"layernorm_bwd",      "layernorm_bwd",    {4096, 1024},               {68, 48},            1e-4, false, make_layernorm_bwd,  run_layernorm_bwd,  judge_layernorm_bwd},
    {"matmul_bias_gelu",   "matmul_bias_gelu", {1024, 1024, 1024},         {67, 41, 39},        1e-4, false, make_matmul_gelu,    run_matmul,         judge_matmul},
    {"matmul_2048",        "matmul_2048",      {2048, 2048, 2048},         {129, 131, 771},     1e-4, false, make_matmul,         run_matmul,         judge_matmul},
    {"matmul_256",         "matmul_256",       {256, 256, 256},            {8, 12, 4},          1e-4, false, make_matmul,         run_matmul,         judge_matmul},
    {"matmul_256_1t",      "matmul_256",       {256, 256, 256},            {1, 1, 1},           1e-4, true,  make_matmul,         run_matmul,         judge_matmul},
    {"conv5x5",            "conv5x5",          {64, 32, 24, 24, 64, 5, 5}, {5, 3, 9, 10, 16, 4, 3}, 1e-4, false, make_conv,       run_conv,           judge_conv},
    {"adam",               "adam",             {0},                        {2},                 1e-5, false, make_adam,           run_adam,           judge_adam},
    {"transpose_add",      "transpose_add",    {4096},                     {192},               1e-6, false, make_transpose_add,  run_transpose_add,  judge_transpose_add},
    {"two_outputs",        "two_outputs",      {16777216},                 {16400},             1e-6, false, make_two_outputs,    run_two_outputs,    judge_two_outputs},
    {"sum_split",          "sum_split",        {16777216},                 {4096},              1e-5, false, make_sum,            run_sum,            judge_sum},
    {"argmax",             "argmax",           {4096, 4096},               {12, 2048},           0,    false, make_argmax,         run_argmax,         judge_argmax},
    {"cumsum",             "cumsum",           {4096, 4096},               {12, 48},            1e-4, false, make_cumsum,         run_cumsum,         judge_cumsum},
    {"gather",             "gather",           {32768, 65536, 256},        {7, 33, 64},         0,    false, make_gather,         run_gather,         judge_gather},
    {"scatter_add",        "scatter_add",      {4096, 65536, 256},         {9, 70, 64},         1e-5, false, make_scatter,        run_scatter,        judge_scatter},
};
/* clang-format on */
const int job_count = (int)RG_COUNT(jobs);
