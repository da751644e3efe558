/* peers_flat.c: the hand-written memory-bound peers, and the probes that measure what memory and FMA units give.
 *
 * All of these move more bytes than they compute. What matters: full cache lines, a few independent read
 * streams per core (one stream reaches 28 GB/s, four 35), prefetch where the hardware cannot guess (gather,
 * scatter, columns of a transpose), and no second pass. Tests: `golden --check`. */
#include "peers.h"
#include "vec.h"

/* Into L2: fetching far ahead into L1 throws out what is in use, and measures slower everywhere. */
#define PREFETCH(p) __builtin_prefetch((p), 0, 2)

/* ---- Adam over many tensors ------------------------------------------------------------------------ */

enum { ADAM_PART = 16384 };
struct adam {
    const struct adam_tensor *t;
    int count;
    struct adam_hyper h;
};

INLINE vf adam_one(const struct adam_hyper *h, vf p, vf g, vf *m, vf *v) {
    *m = v_fma(v_mul(*m, v_set(h->b1)), g, v_set(1 - h->b1));
    *v = v_fma(v_mul(*v, v_set(h->b2)), v_mul(g, g), v_set(1 - h->b2));
    vf d = v_add(v_sqrt(v_mul(*v, v_set(1 / h->c2))), v_set(h->eps));
    return v_fms(p, v_set(h->lr / h->c1), v_div(*m, d));
}

static void adam_part(const struct adam_tensor *t, int64_t i, int64_t end, const struct adam_hyper *hyper) {
    struct adam_hyper h = *hyper;
    for (; i + 16 <= end; i += 16)
        for (int u = 0; u < 16; u += 4) {
            vf m = v_ld(t->m + i + u), v = v_ld(t->v + i + u);
            v_st(t->p + i + u, adam_one(&h, v_ld(t->p + i + u), v_ld(t->g + i + u), &m, &v));
            v_st(t->m + i + u, m), v_st(t->v + i + u, v);
        }
    for (; i < end; i++) {
        vf m = v_set(t->m[i]), v = v_set(t->v[i]), p = v_set(t->p[i]);
        float out[4];
        v_st(out, adam_one(&h, p, v_set(t->g[i]), &m, &v)), t->p[i] = out[0];
        v_st(out, m), t->m[i] = out[0];
        v_st(out, v), t->v[i] = out[0];
    }
}

/* Tasks number the parts of all tensors in order, so that small tensors share a fork-join with large ones. */
static void adam_tasks(void *arg, uint32_t t0, uint32_t t1, int worker) {
    struct adam *a = arg;
    int64_t first = 0;
    (void)worker;
    for (int k = 0; k < a->count && first < t1; k++) {
        int64_t n = a->t[k].n, parts = (n + ADAM_PART - 1) / ADAM_PART;
        for (int64_t i = RG_MAX(first, (int64_t)t0); i < RG_MIN(first + parts, (int64_t)t1); i++)
            adam_part(&a->t[k], (i - first) * ADAM_PART, RG_MIN((i - first + 1) * ADAM_PART, n), &a->h);
        first += parts;
    }
}

void peer_adam(struct pool *pool, const struct adam_tensor *t, int count, struct adam_hyper h) {
    struct adam a = {t, count, h};
    int64_t tasks = 0;
    for (int k = 0; k < count; k++) tasks += (t[k].n + ADAM_PART - 1) / ADAM_PART;
    peer_run(pool, adam_tasks, &a, (uint32_t)tasks, 4);
}

/* ---- transpose and add ------------------------------------------------------------------------------ */

/* A tile of TI rows x TJ columns of a goes transposed into a buffer in L1; then TJ rows of b and out are
 * walked TI floats at a time. With n a power of two the rows of a fall into the same few cache sets, so each
 * line of a must be used up at its first touch: TJ is whole lines. */
enum { TI = 64, TJ = 64 };
struct transpose {
    const float *a, *b;
    float *out;
    int n;
};

static void transpose_tiles(void *arg, uint32_t t0, uint32_t t1, int worker) {
    struct transpose *s = arg;
    size_t n = (size_t)s->n, per_row = n / TI;
    _Alignas(64) float buf[TJ][TI];
    (void)worker;
    for (uint32_t t = t0; t < t1; t++) {
        size_t j0 = t / per_row * TJ, i0 = t % per_row * TI;
        const float *next = s->a + (i0 + TI < n ? i0 + TI : i0) * n + j0;
        for (size_t i = 0; i < TI; i += 4) {
            const float *a = s->a + (i0 + i) * n + j0;
            for (size_t j = i; j < i + 4; j++)
                for (size_t q = 0; q < TI; q += 16) PREFETCH(s->b + (j0 + j) * n + i0 + q);
            for (size_t j = 0; j < TJ; j += 4) {
                vf r[4] = {v_ld(a + j), v_ld(a + n + j), v_ld(a + 2 * n + j), v_ld(a + 3 * n + j)};
                v_transpose(r);
                for (size_t k = 0; k < 4; k++) v_st(&buf[j + k][i], r[k]);
            }
        }
        for (size_t j = 0; j < TJ; j++) {
            const float *b = s->b + (j0 + j) * n + i0;
            float *out = s->out + (j0 + j) * n + i0;
            for (size_t k = 0; k < TJ; k += 16) PREFETCH(next + j * n + k);
            for (size_t i = 0; i < TI; i += 4) v_st(out + i, v_add(v_ld(&buf[j][i]), v_ld(b + i)));
        }
    }
}

void peer_transpose_add(struct pool *pool, const float *a, const float *b, float *out, int n) {
    struct transpose s = {a, b, out, n};
    peer_run(pool, transpose_tiles, &s, (uint32_t)(n / TI) * (uint32_t)(n / TJ), (uint32_t)(n / TI));
}

/* ---- pointwise, sum --------------------------------------------------------------------------------- */

enum { FLAT_PART = 16384 };
struct flat {
    const float *a, *b, *c, *d;
    float *o1, *o2, *part;
    int64_t n;
};

static void two_outputs_parts(void *arg, uint32_t t0, uint32_t t1, int worker) {
    struct flat *f = arg;
    (void)worker;
    int64_t end = RG_MIN((int64_t)t1 * FLAT_PART, f->n);
    for (int64_t i = (int64_t)t0 * FLAT_PART; i < end; i += 16)
        for (int u = 0; u < 16; u += 4) {
            vf s = v_add(v_ld(f->a + i + u), v_ld(f->b + i + u));
            v_st(f->o1 + i + u, v_add(s, v_ld(f->c + i + u)));
            v_st(f->o2 + i + u, v_add(s, v_ld(f->d + i + u)));
        }
}

void peer_two_outputs(struct pool *pool, const float *a, const float *b, const float *c, const float *d,
                      float *o1, float *o2, int64_t n) {
    struct flat f = {.a = a, .b = b, .c = c, .d = d, .o1 = o1, .o2 = o2, .n = n};
    peer_run(pool, two_outputs_parts, &f, (uint32_t)((n + FLAT_PART - 1) / FLAT_PART), 8);
}

enum { SUM_PARTS = 64 };

static float sum_streams(const float *x, int64_t n) {
    vf s[4][2];
    int64_t q = n / 4;
    for (int k = 0; k < 4; k++) s[k][0] = s[k][1] = v_set(0);
    for (int64_t i = 0; i < q; i += 16)
        for (int k = 0; k < 4; k++)
            for (int u = 0; u < 4; u++) s[k][u & 1] = v_add(s[k][u & 1], v_ld(x + k * q + i + 4 * u));
    for (int k = 0; k < 4; k++) s[k][0] = v_add(s[k][0], s[k][1]);
    return v_hsum(v_add(v_add(s[0][0], s[1][0]), v_add(s[2][0], s[3][0])));
}

static void sum_parts(void *arg, uint32_t t0, uint32_t t1, int worker) {
    struct flat *f = arg;
    (void)worker;
    for (uint32_t t = t0; t < t1; t++)
        f->part[t] = sum_streams(f->a + f->n / SUM_PARTS * t, f->n / SUM_PARTS);
}

float peer_sum(struct pool *pool, const float *x, int64_t n) {
    float part[SUM_PARTS], sum = 0;
    struct flat f = {.a = x, .n = n, .part = part};
    peer_run(pool, sum_parts, &f, SUM_PARTS, 1);
    for (int i = 0; i < SUM_PARTS; i++) sum += part[i];
    return sum;
}

/* ---- gather and scatter of rows ---------------------------------------------------------------------- */

struct gather {
    const float *x;
    const int32_t *idx;
    float *out;
    int table_rows, rows, cols;
    const int32_t *order, *first; /* scatter: rows of x sorted by target, where each target begins */
};

static int clamp_row(int32_t i, int n) { return i < 0 ? 0 : i >= n ? n - 1 : i; }

static void gather_rows(void *arg, uint32_t t0, uint32_t t1, int worker) {
    enum { AHEAD = 6 };
    struct gather *g = arg;
    size_t n = (size_t)g->cols;
    (void)worker;
    for (uint32_t r = t0; r < t1; r++) {
        const float *src = g->x + (size_t)clamp_row(g->idx[r], g->table_rows) * n;
        const float *soon = g->x + (size_t)clamp_row(g->idx[RG_MIN(r + AHEAD, t1 - 1)], g->table_rows) * n;
        float *dst = g->out + r * n;
        for (size_t i = 0; i < n; i += 16) PREFETCH(soon + i);
        memcpy(dst, src, 4 * n);
    }
}

void peer_gather(struct pool *pool, const float *table, const int32_t *idx, float *out, int table_rows,
                 int rows, int cols) {
    struct gather g = {
        .x = table, .idx = idx, .out = out, .table_rows = table_rows, .rows = rows, .cols = cols};
    peer_run(pool, gather_rows, &g, (uint32_t)rows, 256);
}

/* The rows of x that belong to one row of out are summed in registers, 64 columns at a time; meanwhile the
 * rows of the next target are fetched, piece by piece. */
static void scatter_targets(void *arg, uint32_t t0, uint32_t t1, int worker) {
    enum { W = 16 };
    struct gather *g = arg;
    size_t n = (size_t)g->cols;
    (void)worker;
    for (uint32_t t = t0; t < t1; t++) {
        int32_t lo = g->first[t], hi = g->first[t + 1], ahead = hi - lo;
        for (size_t c = 0; c < n; c += 4 * W) {
            float *out = g->out + t * n + c;
            vf s[W];
            for (int u = 0; u < W; u++) s[u] = v_ld(out + 4 * u);
            for (int32_t i = lo; i < hi; i++) {
                const float *x = g->x + (size_t)g->order[i] * n + c;
                const float *soon = g->x + (size_t)g->order[RG_MIN(i + ahead, g->rows - 1)] * n + c;
                PREFETCH(soon), PREFETCH(soon + 16), PREFETCH(soon + 32), PREFETCH(soon + 48);
                for (int u = 0; u < W; u++) s[u] = v_add(s[u], v_ld(x + 4 * u));
            }
            for (int u = 0; u < W; u++) v_st(out + 4 * u, s[u]);
        }
    }
}

/* Counting sort by target, then each target row has one owner: no atomics, and the order of additions is
 * that of the plain loop. */
void peer_scatter_add(struct pool *pool, const float *x, const int32_t *idx, float *out, int out_rows,
                      int rows, int cols, int32_t *scratch) {
    int32_t *order = scratch, *first = scratch + rows;
    memset(first, 0, sizeof *first * ((size_t)out_rows + 1));
    for (int i = 0; i < rows; i++) first[clamp_row(idx[i], out_rows)]++;
    for (int32_t i = 0, sum = 0; i <= out_rows; i++) {
        int32_t count = first[i];
        first[i] = sum += i < out_rows ? count : 0;
    }
    for (int i = rows - 1; i >= 0; i--) order[--first[clamp_row(idx[i], out_rows)]] = i;
    struct gather g = {.x = x, .out = out, .rows = rows, .cols = cols, .order = order, .first = first};
    peer_run(pool, scatter_targets, &g, (uint32_t)out_rows, 64);
}

/* ---- probes ------------------------------------------------------------------------------------------ */

static void copy_parts(void *arg, uint32_t t0, uint32_t t1, int worker) {
    struct flat *f = arg;
    (void)worker;
    int64_t i = (int64_t)t0 * FLAT_PART, end = RG_MIN((int64_t)t1 * FLAT_PART, f->n);
    memcpy(f->o1 + i, f->a + i, sizeof(float) * (size_t)(end - i));
}

static void write_parts(void *arg, uint32_t t0, uint32_t t1, int worker) {
    struct flat *f = arg;
    (void)worker;
    int64_t end = RG_MIN((int64_t)t1 * FLAT_PART, f->n);
    for (int64_t i = (int64_t)t0 * FLAT_PART; i < end; i += 16)
        for (int u = 0; u < 16; u += 4) v_st(f->o1 + i + u, v_set(1));
}

void probe_copy(struct pool *pool, const float *x, float *out, int64_t n) {
    struct flat f = {.a = x, .o1 = out, .n = n};
    peer_run(pool, copy_parts, &f, (uint32_t)((n + FLAT_PART - 1) / FLAT_PART), 8);
}

void probe_write(struct pool *pool, float *out, int64_t n) {
    struct flat f = {.o1 = out, .n = n};
    peer_run(pool, write_parts, &f, (uint32_t)((n + FLAT_PART - 1) / FLAT_PART), 8);
}

/* The factors are zero: a register that is known to be zero costs no read port, and on some cores the ports,
 * not the multipliers, would be the limit of a loop that reads the same two registers all the time. */
enum { FMA_CHAINS = 24, FMA_STEPS = 20000 };

static void fma_loop(void *arg, uint32_t t0, uint32_t t1, int worker) {
    float *sink = arg;
    for (uint32_t t = t0; t < t1; t++) {
        vf c[FMA_CHAINS], k = v_opaque_zero(), d = v_opaque_zero();
        for (int u = 0; u < FMA_CHAINS; u++) c[u] = v_set((float)u);
        for (int i = 0; i < FMA_STEPS; i++) {
            for (int u = 0; u < FMA_CHAINS; u++) c[u] = v_fma(c[u], d, k);
            __asm__ volatile("" ::: "memory"); /* keeps the loop a loop */
        }
        for (int u = 1; u < FMA_CHAINS; u++) c[0] = v_add(c[0], c[u]);
        sink[(size_t)worker * 16] += v_hsum(c[0]);
    }
}

double probe_fma(struct pool *pool, int threads) {
    static float sink[PEER_WORKERS * 16];
    uint32_t tasks = 8 * (uint32_t)threads;
    peer_run(pool, fma_loop, sink, tasks, 1);
    return 2.0 * 4 * FMA_CHAINS * FMA_STEPS * tasks;
}

const char *peer_compiler(void) {
#if defined(__clang__)
    return "clang " __clang_version__;
#else
    return "gcc " __VERSION__;
#endif
}
