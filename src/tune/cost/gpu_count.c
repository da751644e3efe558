/* gpu_count.c: the work of a block, counted from a linear program: input of gpu_time.c for kernels that gpu_gemm.c does not
 * describe.
 *
 * Statements count by the extents of their loops, in warp instructions. For an access the addresses of the 32 lanes of a warp
 * are evaluated and the 32-byte sectors among them counted; lanes are neighbours along the grid, a cooperative loop or a
 * THREAD axis. An address that depends on memory, or on a vector, has a sector per lane.
 * Tests: tests/unit/tune_gpu.c (hand counts) */
#include "tune/tune.h"

#include <math.h>

enum { WARP = 32, SECTOR = 32, MAX_DEPTH = 64, SHARED_UNROLL = 4, LONE_WARPS = 8 };

struct counter {
    const struct linear *l;
    struct gpu_work *w;
    const uop *lane; /* the range that consecutive lanes of a warp differ in; NULL: none */
    int64_t at;      /* its value .. */
    int64_t *value;  /* .. and of nodes that depend on it, by id */
    uint32_t *stamp, now;
    double threads; /* that execute a statement outside of cooperative loops, per grid iteration */
    double flight;  /* bytes that a thread loads in this loop body */
    bool inside;    /* a cooperative loop that threads share */
};

/* ---- addresses ---------------------------------------------------------------------------------------------- */

static bool value_of(struct counter *c, const uop *n, int64_t *out);

static bool compute(struct counter *c, const uop *n, int64_t *out) {
    int64_t v[3] = {0, 0, 0};
    if (n->lanes > 1 || n->nsrc > 3) return false;
    if (n->op == OP_CONST) return *out = n->arg.i, dt_is_int((enum dtype)n->dt) || n->dt == DT_IDX;
    if (n->op == OP_RANGE) return *out = n == c->lane ? c->at : 0, true;
    if (n->op == OP_VAR) return *out = 0, true;
    if (n->op == OP_LOAD || n->op == OP_PRED_LOAD || n->op == OP_ACC) return false;
    for (uint32_t i = 0; i < n->nsrc; i++)
        if (!value_of(c, n->src[i], &v[i])) return false;
    switch (n->op) {
    case OP_CAST: *out = v[0]; return true;
    case OP_ADD: *out = v[0] + v[1]; return true;
    case OP_SUB: *out = v[0] - v[1]; return true;
    case OP_MUL: *out = v[0] * v[1]; return true;
    case OP_IDIV: *out = v[1] > 0 ? v[0] / v[1] : 0; return v[0] >= 0;
    case OP_MOD: *out = v[1] > 0 ? v[0] % v[1] : 0; return v[0] >= 0;
    case OP_SHL: *out = v[0] << (v[1] & 63); return true;
    case OP_SHR: *out = v[0] >> (v[1] & 63); return true;
    case OP_AND: *out = v[0] & v[1]; return true;
    case OP_OR: *out = v[0] | v[1]; return true;
    case OP_XOR: *out = v[0] ^ v[1]; return true;
    case OP_MAX: *out = RG_MAX(v[0], v[1]); return true;
    case OP_MIN: *out = RG_MIN(v[0], v[1]); return true;
    case OP_LT: *out = v[0] < v[1]; return true;
    case OP_WHERE: *out = v[0] ? v[1] : v[2]; return true;
    default: return false;
    }
}

static bool value_of(struct counter *c, const uop *n, int64_t *out) {
    if (c->stamp[n->id] == c->now) return *out = c->value[n->id], true;
    if (!compute(c, n, out)) return false;
    c->stamp[n->id] = c->now, c->value[n->id] = *out;
    return true;
}

/* Sectors of one access by a warp. */
static double sectors(struct counter *c, const uop *index) {
    int64_t seen[WARP * 4];
    int n = 0;
    double bytes = dtype_info[index->dt].bytes, each = RG_MAX(index->lanes * bytes / SECTOR, 1);
    int64_t most = c->l->columns ? c->l->columns : WARP;
    int64_t count = c->lane ? RG_MIN(c->lane->src[0]->hi, most) : 1;
    double rows = (double)WARP / (double)most; /* columns: of a warp, each with sectors of its own */
    for (int64_t t = 0; t < count; t++) {
        int64_t at, sector, last;
        c->at = t, c->now++;
        if (index->src[1]->lanes > 1 || !value_of(c, index->src[1], &at)) return rows * (double)count * each;
        sector = (int64_t)((double)at * bytes) / SECTOR;
        last = (int64_t)((double)(at + index->lanes) * bytes - 1) / SECTOR;
        for (; sector <= last && n < (int)RG_COUNT(seen); sector++) {
            int k = 0;
            while (k < n && seen[k] != sector) k++;
            if (k == n) seen[n++] = sector;
        }
    }
    return rows * n;
}

/* ---- statements ---------------------------------------------------------------------------------------------- */

static void count_access(struct counter *c, const uop *index, bool store, double warps) {
    const uop *buf = index->src[0];
    double lanes = index->lanes, bytes = lanes * dtype_info[index->dt].bytes;
    c->w->issue += warps * RG_MAX(bytes / 16, 1);
    if (buf->op == OP_LOCAL) {
        if (buf->arg.mem.space == SPACE_SHARED) c->w->shared_bytes += warps * RG_MAX(bytes, 4) * WARP;
        return;
    }
    *(store ? &c->w->out : &c->w->fill) += warps * sectors(c, index) * SECTOR;
    if (!store) c->flight += bytes;
}

static void count_mma(struct counter *c, const uop *n, double warps) {
    enum mma instr = (enum mma)n->arg.mma.instr;
    const struct mma_info *m = &mma_info[instr];
    double ops = 2.0 * m->size[0] * m->size[1] * m->size[2];
    c->w->mma += ops * warps * WARP / mma_lanes(instr);
    c->w->issue += warps * m->count;
    c->w->mma_peak = mma_is_wgmma(instr) ? 1 : gpu_cost.mma_sync_peak;
}

static void count_node(struct counter *c, const uop *n, double warps) {
    switch (n->op) {
    case OP_LOAD:
    case OP_PRED_LOAD: count_access(c, n->src[0], false, warps); break;
    case OP_STORE: count_access(c, n->src[0], true, warps); break;
    case OP_STORE_ADD: count_access(c, n->src[0], true, 2 * warps); break;
    case OP_CP_ASYNC:
        count_access(c, n->src[1], false, warps);
        c->w->shared_bytes += warps * 16 * WARP;
        break;
    case OP_MMA: count_mma(c, n, warps); break;
    case OP_LDMATRIX: c->w->issue += warps, c->w->shared_bytes += warps * 512; break;
    case OP_SET: break;
    case OP_FMA:
        c->w->fma += warps * WARP * n->lanes;
        c->w->issue += warps * n->lanes;
        break;
    case OP_FDIV:
    case OP_RECIP:
    case OP_SQRT:
        c->w->special += warps * WARP * n->lanes;
        c->w->issue += 8 * warps * n->lanes;
        break;
    default: c->w->issue += warps * n->lanes; break;
    }
}

/* Live across the loops: accumulators, and some for addresses. */
static int registers_of(struct arena *a, const struct linear *l) {
    enum { OTHERS = 28 };
    uop_vec acc = {0};
    double n = OTHERS;
    for (uint32_t i = 0; i < l->n; i++) {
        const uop *s = l->u[i];
        uint32_t k = 0;
        if (s->op != OP_SET) continue;
        while (k < acc.n && acc.p[k] != s->src[0]) k++;
        if (k < acc.n) continue;
        vec_push(a, &acc, s->src[0]);
        n += s->src[0]->lanes * RG_MAX(dtype_info[s->src[0]->dt].bytes / 4.0, 1);
    }
    return (int)RG_MIN(n, 255);
}

/* Threads share the outermost cooperative loop; inside it each runs all iterations of the others. */
/* A loop around: what goes on after its end. */
struct scope {
    const uop *lane;
    double warps, flight, serial;
    double loads; /* iterations whose loads are in flight at once .. */
    bool coop;    /* .. of a loop that threads share, which ends with a reduction */
};

/* Statements in a loop that a thread runs `serial` times in all wait for each other. */
static void open_loop(struct counter *c, const uop *n, struct scope *s, double *warps, double *serial) {
    enum axis_kind kind = (enum axis_kind)n->arg.range.kind;
    double size = (double)n->src[0]->hi;
    bool shared = c->threads > 1 && !c->l->threads,
         grid = kind == AX_GRID && !c->l->threads; /* shared: cooperative loops */
    bool coop = kind == AX_COOP && shared && !c->inside;
    if (kind == AX_THREAD || (grid && (!shared || c->l->columns)) || (coop && !c->l->columns)) c->lane = n;
    *warps *= size;
    c->flight = 0;
    if (coop) {
        c->inside = s->coop = true;
        *warps /= c->threads, size = ceil(size / c->threads);
        s->loads = RG_MIN(size, SHARED_UNROLL);
    }
    if (kind == AX_THREAD || kind == AX_GRID) return;
    *serial *= size;
    c->w->chain += *serial * gpu_cost.thread_term;
}

static double close_loop(struct counter *c, const struct scope *s) {
    double flight = c->flight * (s->coop ? s->loads : 1);
    if (s->coop) c->w->chain += s->serial * gpu_cost.block_reduction, c->inside = false;
    c->lane = s->lane, c->flight = s->flight;
    return flight;
}

static void count_all(struct counter *c) {
    struct scope up[MAX_DEPTH];
    uint32_t depth = 0;
    double warps = c->threads / WARP, flight = 0, serial = 1;
    for (uint32_t i = 0; i < c->l->n && depth + 1 < MAX_DEPTH; i++) {
        const uop *n = c->l->u[i];
        if (n->op == OP_RANGE || n->op == OP_IF) {
            struct scope *s = &up[depth++];
            *s = (struct scope){c->lane, warps, c->flight, serial, 1, false};
            if (n->op == OP_RANGE) open_loop(c, n, s, &warps, &serial);
        } else if (n->op == OP_ELSE) {
            warps = 0;
        } else if (n->op == OP_END && depth) {
            const struct scope *s = &up[--depth];
            double own = close_loop(c, s);
            flight = RG_MAX(flight, own);
            warps = s->warps, serial = s->serial;
        } else {
            count_node(c, n, warps);
        }
    }
    c->w->flight = RG_MAX(flight, c->flight);
}

void gpu_work_of(struct arena *a, const struct linear *l, uint32_t threads, uint32_t iterations,
                 struct gpu_work *w) {
    const struct gpu_spec *g = l->gpu ? l->gpu : gpu_spec_default();
    double grid = (double)RG_MAX(l->grid, 1);
    bool alone = !threads;
    int lone = (int)(WARP * RG_MIN(ceil(grid / (WARP * g->sms)), LONE_WARPS)); /* device/cuda/cuda.c */
    *w = (struct gpu_work){.threads = alone ? lone : (int)threads,
                           .blocks = grid / (alone ? lone : (double)RG_MAX(iterations, 1u)),
                           .shared = (int)l->shared,
                           .steps = 1,
                           .ahead = 1,
                           .mma_peak = 1,
                           .dram = l->est.bytes,
                           .registers = registers_of(a, l)};
    struct counter c = {.l = l,
                        .w = w,
                        .value = arena_array(a, int64_t, l->ir->n + 1),
                        .stamp = arena_array(a, uint32_t, l->ir->n + 1),
                        .threads = alone || l->threads ? 1 : (double)threads / RG_MAX(iterations, 1u)};
    count_all(&c);
    double *sum[] = {&w->mma, &w->fma, &w->special, &w->issue, &w->shared_bytes, &w->fill, &w->out};
    w->blocks = RG_MAX((double)(int64_t)(w->blocks + 0.999), 1);
    for (size_t i = 0; i < RG_COUNT(sum); i++) *sum[i] /= w->blocks;
    w->chain *= g->ghz * 1e9;
}
