/* gpu_count.c: what a block of a GPU does when it runs a linear program: the other way, besides the heuristic's tables, to ask
 * gpu_time.c for a time.
 *
 * Statements are counted with the lengths of their loops, in instructions of warps. What an access to memory costs is found
 * by computing the addresses of 32 threads beside each other, one after the other, and counting the sectors of 32 bytes
 * that they lie in: neighbours are neighbours along the grid, along a loop that a block shares, or along the threads of a
 * block program. An address that comes from memory, or from a vector, is anywhere.
 * Tests: tests/unit/tune_gpu.c (hand counts) */
#include "tune/tune.h"

enum { WARP = 32, SECTOR = 32, DEEP = 64 };

struct counter {
    const struct linear *l;
    struct gpu_work *w;
    const uop *near; /* neighbouring threads have neighbouring values of it; NULL: all do the same */
    int64_t at;      /* its value .. */
    int64_t *value;  /* .. and those of nodes under it, by id */
    uint32_t *stamp, now;
    double threads; /* that run a statement outside of shared loops, for each grid iteration */
    double asked;   /* bytes that a thread loads in the body at hand */
};

/* ---- addresses ---------------------------------------------------------------------------------------------- */

static bool value_of(struct counter *c, const uop *n, int64_t *out);

static bool compute(struct counter *c, const uop *n, int64_t *out) {
    int64_t v[3] = {0, 0, 0};
    if (n->lanes > 1 || n->nsrc > 3) return false;
    if (n->op == OP_CONST) return *out = n->arg.i, dt_is_int((enum dtype)n->dt) || n->dt == DT_IDX;
    if (n->op == OP_RANGE) return *out = n == c->near ? c->at : 0, true;
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
    int64_t count = c->near ? RG_MIN(c->near->src[0]->hi, WARP) : 1;
    for (int64_t t = 0; t < count; t++) {
        int64_t at, sector, last;
        c->at = t, c->now++;
        if (index->src[1]->lanes > 1 || !value_of(c, index->src[1], &at)) return (double)count * each;
        sector = (int64_t)((double)at * bytes) / SECTOR;
        last = (int64_t)((double)(at + index->lanes) * bytes - 1) / SECTOR;
        for (; sector <= last && n < (int)RG_COUNT(seen); sector++) {
            int k = 0;
            while (k < n && seen[k] != sector) k++;
            if (k == n) seen[n++] = sector;
        }
    }
    return n;
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
    if (!store) c->asked += bytes;
}

static void count_matrix(struct counter *c, const uop *n, double warps) {
    enum mma instr = (enum mma)n->arg.mma.instr;
    const struct mma_info *m = &mma_info[instr];
    double ops = 2.0 * m->size[0] * m->size[1] * m->size[2];
    c->w->matrix += ops * warps * WARP / mma_lanes(instr);
    c->w->issue += warps * m->count;
    c->w->matrix_share = mma_is_wgmma(instr) ? 1 : gpu_cost.mma_sync_peak;
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
    case OP_MMA: count_matrix(c, n, warps); break;
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

/* Registers that live as long as the loops: accumulators, and some for addresses. */
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

static void count_all(struct counter *c) {
    struct {
        const uop *near;
        double warps, asked;
    } up[DEEP];
    uint32_t depth = 0;
    bool shared = c->threads > 1 && !c->l->threads; /* a block shares loops */
    double warps = c->threads / WARP, flight = 0;
    for (uint32_t i = 0; i < c->l->n && depth + 1 < DEEP; i++) {
        const uop *n = c->l->u[i];
        if (n->op == OP_RANGE || n->op == OP_IF) {
            up[depth].near = c->near, up[depth].warps = warps, up[depth++].asked = c->asked;
            if (n->op == OP_IF) continue;
            enum axis_kind kind = (enum axis_kind)n->arg.range.kind;
            warps *= (double)n->src[0]->hi;
            if (kind == AX_THREAD) c->near = n;
            if (kind == AX_GRID && !shared && !c->l->threads) c->near = n;
            if (kind == AX_COOP && shared) c->near = n, warps /= c->threads;
            c->asked = 0;
        } else if (n->op == OP_ELSE) {
            warps = 0;
        } else if (n->op == OP_END && depth) {
            flight = RG_MAX(flight, c->asked);
            depth--;
            c->near = up[depth].near, warps = up[depth].warps, c->asked = up[depth].asked;
        } else {
            count_node(c, n, warps);
        }
    }
    c->w->flight = RG_MAX(flight, c->asked);
}

void gpu_work_of(struct arena *a, const struct linear *l, uint32_t block, uint32_t teams,
                 struct gpu_work *w) {
    enum { PLAIN = 256 }; /* threads of a block in which each runs an iteration */
    double grid = (double)RG_MAX(l->grid, 1);
    bool alone = !block;
    *w = (struct gpu_work){.threads = alone ? PLAIN : (int)block,
                           .blocks = alone ? grid / PLAIN : grid / RG_MAX(teams, 1u),
                           .shared = (int)l->shared,
                           .steps = 1,
                           .ahead = 1,
                           .matrix_share = 1,
                           .dram = l->est.bytes,
                           .registers = registers_of(a, l)};
    struct counter c = {.l = l,
                        .w = w,
                        .value = arena_array(a, int64_t, l->ir->n + 1),
                        .stamp = arena_array(a, uint32_t, l->ir->n + 1),
                        .threads = alone || l->threads ? 1 : (double)block / RG_MAX(teams, 1u)};
    count_all(&c);
    double *sum[] = {&w->matrix, &w->fma, &w->special, &w->issue, &w->shared_bytes, &w->fill, &w->out};
    w->blocks = RG_MAX((double)(int64_t)(w->blocks + 0.999), 1);
    for (size_t i = 0; i < RG_COUNT(sum); i++) *sum[i] /= w->blocks;
}
