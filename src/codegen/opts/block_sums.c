/* block_sums.c: blocked summation. A float32 sum in one accumulator loses up to half a unit in the last place with every
 * addition, so a long chain (MOST_ADDS) becomes blocks of about BLOCK_ADDS, each from 0 in an accumulator of its own, whose
 * results the next level adds; that one is cut in the same way. n additions in blocks of b are levels of chains of b: the error
 * grows with log(n), at 1/BLOCK_ADDS more additions (docs/semantics.md has the bound).
 *
 *     REDUCE(x, k)      becomes      REDUCE(REDUCE(x, k), k%64)       k of 64 values, the last block of what is left
 *
 * REG, VEC and THREAD pieces have accumulators of their own and stay with the outermost level. Register tiles (a GEMM) have
 * longer blocks: the accumulators of the level around leave registers. Running sums are float64 inside. Not blocked: sums of
 * tensor cores and of tiles in shared memory, whose loops are pipelines, and those that STREAM rescales.
 * Requires: sched_finish. Gives: the same graph with more levels. Tests: tests/unit/sums.c */
#include "codegen/internal.h"
#include "model/model.h"

#include <stdlib.h>

enum {
    MOST_ADDS = 64,       /* in one accumulator: of equal terms at most 21 units of 2^-24 off */
    MOST_ADDS_MANY = 128, /* 43 units: within the bound from MANY_TERMS on */
    MANY_TERMS = 2048,
    BLOCK_ADDS = 64,
    MOST_ADDS_TILE = 192, /* of a register tile */
    BLOCK_ADDS_TILE = 128,
    FEW_ACCUMULATORS = 8,   /* more are a register tile */
    MOST_ACCUMULATORS = 16, /* of a thread of a GPU that may have them twice */
    FEW_UNROLLED = 8,       /* elements of a running sum: each in float64 */
    COOP_THREADS = 256, /* threads that share a cooperative loop, or more; columns have a share of a block */
    MOST_POSITIONS = 250
};

struct blocking {
    struct sched *s;
    bool threads;    /* of a GPU: a vector is several registers */
    uop_vec no_coop; /* each thread runs all of these cooperative loops */
    struct free_ranges fr;
    uop_vec topo;
};

/* Where a sum is split: `inner` become a level of their own; tile: first cut this one into blocks of n. */
struct cut {
    uop_vec inner;
    const uop *tile;
    int64_t n;
};

static bool runs_alone(const struct blocking *b, const uop *r) {
    for (uint32_t i = 0; i < b->no_coop.n; i++)
        if (b->no_coop.p[i]->arg.range.cls == r->arg.range.cls) return true;
    return false;
}

/* Do the threads of a block share the loop r of the sum n? Inside another cooperative loop each runs all of it. */
static bool is_shared(struct blocking *b, const uop *n, const uop *r) {
    if (r->arg.range.kind != AX_COOP || runs_alone(b, r)) return false;
    const uop_vec *around = free_of(&b->fr, n);
    for (uint32_t i = 0; i < around->n; i++)
        if (around->p[i]->arg.range.kind == AX_COOP && !runs_alone(b, around->p[i])) return false;
    return true;
}

static int64_t members(const struct blocking *b) {
    return b->s->columns ? GPU_BLOCK_THREADS / b->s->columns : COOP_THREADS;
}

/* Additions that a loop makes in one accumulator. */
static int64_t adds_of(struct blocking *b, const uop *n, const uop *r) {
    int64_t size = r->src[0]->hi;
    return is_shared(b, n, r) ? (size + members(b) - 1) / members(b) : size;
}

static int64_t times(int64_t a, int64_t b) { return b > 0 && a > INT64_MAX / b ? INT64_MAX : a * b; }

/* Accumulators of a sum in one thread, or vectors of them. */
static int64_t accumulators(struct blocking *b, const uop *n) {
    const uop_vec *free = free_of(&b->fr, n);
    int64_t many = 1;
    for (uint32_t i = 0; i < free->n + n->nsrc - 1; i++) {
        const uop *r = i < free->n ? free->p[i] : n->src[1 + i - free->n];
        enum axis_kind k = (enum axis_kind)r->arg.range.kind;
        bool own = i >= free->n;
        if (k == AX_REG || (k == AX_VEC && b->threads) || ((k == AX_UNROLL || k == AX_MMA) && !own))
            many = times(many, r->src[0]->hi);
    }
    return many;
}

/* May r be cut? Rows of a tile have a pitch, and a tile is as large as its ranges. */
static bool may_tile(const struct blocking *b, const uop *r, bool divides) {
    for (uint32_t i = 0; i < b->topo.n; i++) {
        const uop *n = b->topo.p[i];
        for (uint32_t k = 1; k < n->nsrc && (n->op == OP_SCAN || n->op == OP_STAGE); k++)
            if (n->src[k] == r && (n->op == OP_SCAN || n->arg.mem.row || (k > 1 && !divides))) return false;
    }
    return true;
}

/* The divisor of n nearest to `want`, more than half of it and at most `most`; else want, and the last block is shorter. */
static int64_t block_of(int64_t n, int64_t want, int64_t most) {
    for (int64_t d = 0; d <= want; d++) {
        if (want - d > want / 2 && n % (want - d) == 0) return want - d;
        if (want + d <= most && n % (want + d) == 0) return want + d;
    }
    return want;
}

static bool is_sum(const uop *n) {
    return n->op == OP_REDUCE && n->arg.i == OP_ADD && n->dt == DT_F32 && n->src[0]->op != OP_DECAY;
}

/* Additions to an accumulator by the MMA instructions of a CPU along r. */
static int64_t mma_adds(const struct sched *s, const uop *r) {
    const struct mma_info *i = &mma_info[s->tc[0].instr];
    return r->src[0]->hi / (i->sum == MMA_ODD_PAIRS ? 2 : i->sum == MMA_PAIR_SUMS ? i->size[MMA_K] : 1);
}

/* The loops of a sum, outermost first; returns the additions of what is unrolled in one accumulator. */
static int64_t loops_of(struct blocking *b, const uop *n, uop_vec *loops, struct cut *c) {
    int64_t unrolled = 1;
    for (uint32_t i = 1; i < n->nsrc; i++) {
        enum axis_kind k = (enum axis_kind)n->src[i]->arg.range.kind;
        if (axis_is_loop(k)) vec_push(b->s->ir->arena, loops, n->src[i]);
        if (k != AX_UNROLL && k != AX_MMA) continue;
        unrolled *= k == AX_MMA ? mma_adds(b->s, n->src[i]) : n->src[i]->src[0]->hi;
        vec_push(b->s->ir->arena, &c->inner, n->src[i]);
    }
    if (loops->n) qsort(loops->p, loops->n, sizeof *loops->p, range_by_pos);
    return unrolled;
}

static bool has_many_terms(const uop *n) {
    int64_t terms = 1;
    for (uint32_t i = 1; i < n->nsrc; i++) terms = times(terms, n->src[i]->src[0]->hi);
    return terms >= MANY_TERMS;
}

/* Takes loops from the innermost on while they are a block, then a part of the next. False: nothing to cut. */
static bool find_cut(struct blocking *b, const uop *n, struct cut *c) {
    uop_vec loops = {0};
    int64_t adds = loops_of(b, n, &loops, c), all = adds, many = accumulators(b, n);
    bool tile = many > FEW_ACCUMULATORS;
    int64_t most = tile ? MOST_ADDS_TILE : MOST_ADDS, want = tile ? BLOCK_ADDS_TILE : BLOCK_ADDS;
    for (uint32_t i = 0; i < loops.n; i++) all = times(all, adds_of(b, n, loops.p[i]));
    if (all <= most || (all <= MOST_ADDS_MANY && has_many_terms(n)) ||
        (many > MOST_ACCUMULATORS && b->threads))
        return false;
    uint32_t i = loops.n;
    while (i > 0 && times(adds, adds_of(b, n, loops.p[i - 1])) <= most) {
        adds *= adds_of(b, n, loops.p[--i]);
        vec_push(b->s->ir->arena, &c->inner, loops.p[i]);
    }
    if (2 * adds > want && c->inner.n) return i > 0;
    const uop *r = loops.p[i - 1], *size = r->src[0];
    int64_t unit = is_shared(b, n, r) ? members(b) : 1, block = RG_MAX(want / adds, 2) * unit;
    if (uop_is_const(size) && unit == 1) block = block_of(size->arg.i, block, most / adds);
    if (!may_tile(b, r, uop_is_const(size) && size->arg.i % block == 0)) return i < loops.n && c->inner.n;
    c->tile = r, c->n = block;
    return true;
}

/* The loop over the blocks of c->tile, at its position, and the loop over a block, at the next. */
static struct range_subst blocks_of(struct sched *s, const struct cut *c) {
    struct ir *ir = s->ir;
    const uop *r = c->tile, *n = uop_idx(ir, c->n), *size = r->src[0], *len = n;
    char name[80];
    int k = snprintf(name, sizeof name, "%.60s%%%lld", ir_name(ir, r->arg.range.cls), (long long)c->n);
    union arg arg = r->arg;
    arg.range.cls = ir_sym(ir, name, (size_t)k);
    if (arg.range.kind == AX_COOP) arg.range.kind = AX_REDUCE;
    const uop *up = rw2(&s->rw, OP_ADD, size, uop_idx(ir, c->n - 1)), *blocks = rw2(&s->rw, OP_IDIV, up, n);
    const uop *outer = uop_new(ir, OP_RANGE, DT_IDX, 1, &blocks, 1, arg),
              *from = rw2(&s->rw, OP_MUL, outer, n);
    if (!uop_is_const(size) || size->arg.i % c->n)
        len = rw2(&s->rw, OP_MIN, n, rw2(&s->rw, OP_SUB, size, from));
    arg = r->arg, arg.range.pos++;
    const uop *inner = uop_new(ir, OP_RANGE, DT_IDX, 1, &len, 1, arg);
    return (struct range_subst){r, rw2(&s->rw, OP_ADD, from, inner), {outer, inner}, 2};
}

/* c->tile becomes blocks; what is inside moves on by one position. */
static const uop *tile_range(struct blocking *b, const struct cut *c) {
    struct sched *s = b->s;
    VEC(struct range_subst) sub = {0};
    vec_push(s->ir->arena, &sub, blocks_of(s, c));
    for (uint32_t i = 0; i < b->topo.n; i++) {
        const uop *x = b->topo.p[i];
        if (x->op != OP_RANGE || x == c->tile || x->arg.range.pos <= c->tile->arg.range.pos) continue;
        const uop *size = sched_subst(s, x->src[0], sub.p, sub.n);
        union arg arg = x->arg;
        if (arg.range.pos >= MOST_POSITIONS)
            err_throw(s->ir->err, RG_ELIMIT, "kernel %s: more than %d axes", s->kernel->name, MOST_POSITIONS);
        arg.range.pos++;
        const uop *moved = uop_new(s->ir, OP_RANGE, DT_IDX, 1, &size, 1, arg);
        vec_push(s->ir->arena, &sub, ((struct range_subst){x, moved, {moved, NULL}, 1}));
    }
    return sched_subst(s, s->sink, sub.p, sub.n);
}

/* The sum n as two levels. */
static const uop *in_levels(struct ir *ir, const uop *n, const struct cut *c) {
    uop_vec in = {0}, out = {0};
    vec_push(ir->arena, &in, n->src[0]);
    vec_push(ir->arena, &out, n->src[0]);
    for (uint32_t i = 1; i < n->nsrc; i++) {
        bool inside = false;
        for (uint32_t k = 0; k < c->inner.n; k++) inside |= c->inner.p[k] == n->src[i];
        vec_push(ir->arena, inside ? &in : &out, n->src[i]);
    }
    out.p[0] = uop_new(ir, OP_REDUCE, n->dt, n->lanes, in.p, in.n, n->arg);
    return uop_new(ir, OP_REDUCE, n->dt, n->lanes, out.p, out.n, n->arg);
}

/* Cuts the first sum that is too long; false: there is none. */
static bool block_one(struct blocking *b) {
    struct ir *ir = b->s->ir;
    b->topo.n = 0;
    free_init(&b->fr, ir, ir->arena);
    uop_topo(ir->arena, &b->s->sink, 1, &b->topo);
    for (uint32_t i = 0; i < b->topo.n; i++) {
        struct cut c = {0};
        const uop *n = b->topo.p[i];
        if (!is_sum(n) || !find_cut(b, n, &c)) continue;
        if (c.tile) {
            b->s->sink = tile_range(b, &c);
        } else {
            const uop *to = in_levels(ir, n, &c);
            b->s->sink = rw_subst(&b->s->rw, b->s->sink, &n, &to, 1);
        }
        return true;
    }
    return false;
}

static const uop *with_ranges(struct ir *ir, enum op op, enum dtype dt, const uop *x, const uop_vec *r,
                              enum op of) {
    uop_vec src = {0};
    if (x->op == OP_DECAY) x = uop2(ir, OP_DECAY, uop_cast(ir, x->src[0], dt), uop_cast(ir, x->src[1], dt));
    vec_push(ir->arena, &src, uop_cast(ir, x, dt));
    for (uint32_t i = 0; i < r->n; i++) vec_push(ir->arena, &src, r->p[i]);
    return uop_new(ir, op, dt, 1, src.p, src.n, ARG_INT(of));
}

static bool is_coop_scan(const uop *n) {
    bool coop = false, unrolled = false;
    for (uint32_t i = 1; i < n->nsrc; i++) {
        coop |= n->src[i]->arg.range.kind == AX_COOP;
        unrolled |= !axis_is_loop((enum axis_kind)n->src[i]->arg.range.kind);
    }
    return coop && unrolled;
}

/* A running sum is one chain by nature: it runs in float64, whose additions take as long. Where its axis is unrolled only the sums
 * of whole iterations do, and float32 running sums within an iteration start from them. So do all scans that threads share: they
 * combine one value per iteration (render/gpu_scan.c). */
static const uop *widen_scan(struct sched *s, const uop *n, bool f64) {
    struct ir *ir = s->ir;
    uop_vec loops = {0}, all = {0}, unrolled = {0};
    int64_t adds = 1;
    enum op op = (enum op)n->arg.i;
    enum dtype dt = (enum dtype)n->dt, wide = f64 && op == OP_ADD && dt == DT_F32 ? DT_F64 : dt;
    for (uint32_t i = 1; i < n->nsrc; i++) {
        bool loop = axis_is_loop((enum axis_kind)n->src[i]->arg.range.kind);
        vec_push(ir->arena, &all, n->src[i]);
        vec_push(ir->arena, loop ? &loops : &unrolled, n->src[i]);
        if (!loop) adds *= n->src[i]->src[0]->hi;
    }
    if (n->src[0]->op == OP_DECAY || (adds < FEW_UNROLLED && !is_coop_scan(n)))
        return uop_cast(ir, with_ranges(ir, OP_SCAN, wide, n->src[0], &all, op), dt);
    const uop *sum = with_ranges(ir, OP_REDUCE, dt, n->src[0], &unrolled, op);
    const uop *before = uop1(ir, OP_BEFORE, with_ranges(ir, OP_SCAN, wide, sum, &loops, op));
    const uop *begin = rw2(&s->rw, OP_EQ, linear_index(&s->rw, unrolled.p, unrolled.n), uop_idx(ir, 0));
    const uop *first = uop2(ir, op, n->src[0], uop_cast(ir, before, dt));
    const uop *x = uop_mk(ir, OP_WHERE, (const uop *[]){begin, first, n->src[0]}, 3, ARG_NONE);
    return with_ranges(ir, OP_SCAN, dt, x, &unrolled, op);
}

static bool is_read_before(const uop_vec *topo, const uop *n) {
    for (uint32_t i = 0; i < topo->n; i++)
        if (topo->p[i]->op == OP_BEFORE && topo->p[i]->src[0] == n) return true;
    return false;
}

static bool is_long_scan(const uop_vec *topo, const uop *n, bool f64) {
    int64_t adds = 1;
    if (n->op != OP_SCAN || (!is_coop_scan(n) && (!f64 || n->arg.i != OP_ADD || n->dt != DT_F32)))
        return false;
    if (is_read_before(topo, n)) return false;
    for (uint32_t i = 1; i < n->nsrc; i++) adds = times(adds, n->src[i]->src[0]->hi);
    return adds > MOST_ADDS || is_coop_scan(n);
}

/* ---- the greatest of 16-bit floats so far ------------------------------------------------------------------------- */

/* Along lanes it is that of their bits as integers, else it runs in float32: not a conversion each way for each step. */
struct extreme {
    struct rw *rw;
    enum op op;
    enum dtype dt, in;
};

static bool is_narrow_extreme(const uop_vec *topo, const uop *n, struct extreme *e) {
    bool lanes = false;
    if (n->op != OP_SCAN || (n->arg.i != OP_MAX && n->arg.i != OP_MIN)) return false;
    if ((n->dt != DT_F16 && n->dt != DT_BF16) || is_read_before(topo, n)) return false;
    for (uint32_t i = 1; i < n->nsrc; i++) lanes |= n->src[i]->arg.range.kind == AX_VEC;
    e->op = (enum op)n->arg.i, e->dt = (enum dtype)n->dt, e->in = lanes ? DT_I16 : DT_F32;
    return true;
}

/* Negative ones have the other bits inverted: the order of the numbers, and back. */
static const uop *by_sign(struct rw *w, const uop *i) {
    const uop *sign = rw2(w, OP_SHR, i, uop_int(w->ir, DT_I16, 15));
    return rw2(w, OP_XOR, i, rw2(w, OP_AND, sign, uop_int(w->ir, DT_I16, INT16_MAX)));
}

/* NaN beyond the infinity that would lose is inverted: it stays then, as that beyond the other one does. */
static const uop *extreme_in(const struct extreme *e, const uop *x) {
    struct ir *ir = e->rw->ir;
    if (e->in == DT_F32) return uop_cast(ir, x, DT_F32);
    const uop *key = by_sign(e->rw, uop_new(ir, OP_BITCAST, DT_I16, 1, &x, 1, ARG_NONE));
    int inf = e->dt == DT_F16 ? 0x7c00 : 0x7f80;
    const uop *bound = uop_int(ir, DT_I16, e->op == OP_MAX ? ~inf : inf);
    const uop *lost = e->op == OP_MAX ? rw2(e->rw, OP_LT, key, bound) : rw2(e->rw, OP_LT, bound, key);
    return rw2(e->rw, OP_XOR, key,
               rw3(e->rw, OP_WHERE, lost, uop_int(ir, DT_I16, -1), uop_int(ir, DT_I16, 0)));
}

static const uop *extreme_out(const struct extreme *e, const uop *x) {
    if (e->in == DT_F32) return uop_cast(e->rw->ir, x, e->dt);
    const uop *i = by_sign(e->rw, x);
    return uop_new(e->rw->ir, OP_BITCAST, e->dt, 1, &i, 1, ARG_NONE);
}

static const uop *extreme_scan(const struct extreme *e, const uop *n) {
    uop_vec all = {0};
    for (uint32_t i = 1; i < n->nsrc; i++) vec_push(e->rw->ir->arena, &all, n->src[i]);
    return with_ranges(e->rw->ir, OP_SCAN, e->in, extreme_in(e, n->src[0]), &all, e->op);
}

/* Such a scan, or one with what comes before it (schedule/split_scan.c); NULL: neither. */
static const uop *narrow_extreme(struct sched *s, const uop_vec *topo, const uop *n) {
    struct extreme e = {.rw = &s->rw};
    if (is_narrow_extreme(topo, n, &e)) return extreme_out(&e, extreme_scan(&e, n));
    for (uint32_t i = 0; i < 2 && (n->op == OP_MAX || n->op == OP_MIN); i++)
        if (is_narrow_extreme(topo, n->src[i], &e) && e.op == (enum op)n->op)
            return extreme_out(&e,
                               rw2(e.rw, e.op, extreme_in(&e, n->src[1 - i]), extreme_scan(&e, n->src[i])));
    return NULL;
}

static void widen_scans(struct sched *s, bool f64, bool threads) {
    for (bool found = true; found;) {
        uop_vec topo = {0};
        uop_topo(s->ir->arena, &s->sink, 1, &topo);
        found = false;
        for (uint32_t i = topo.n; i-- > 0 && !found;) { /* users first */
            const uop *n = topo.p[i], *to = NULL;
            if (is_long_scan(&topo, n, f64))
                to = widen_scan(s, n, f64);
            else if (!threads)
                to = narrow_extreme(s, &topo, n);
            if ((found = to != NULL)) s->sink = rw_subst(&s->rw, s->sink, &n, &to, 1);
        }
    }
}

static bool has_shared_tile(const uop_vec *topo) {
    for (uint32_t i = 0; i < topo->n; i++)
        if (topo->p[i]->op == OP_STAGE && topo->p[i]->arg.mem.space == SPACE_SHARED) return true;
    return false;
}

const uop *sched_block_sums(struct sched *s, const struct target *t) {
    struct blocking b = {.s = s, .threads = target_is_gpu(t) || sched_has_threads(s), .no_coop = t->no_coop};
    widen_scans(s, !t->no_f64, b.threads);
    uop_topo(s->ir->arena, &s->sink, 1, &b.topo);
    if ((s->ntc && !mma_is_cpu(s->tc[0].instr)) || has_shared_tile(&b.topo)) return s->sink;
    while (block_one(&b)) {}
    return s->sink;
}
