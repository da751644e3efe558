/* expand.c: unrolls and vectorizes: the axes of kind UNROLL, REG and VEC are expanded.
 *
 * UNROLL and REG: the statement is repeated with each value instead of the RANGE; interning shares what the
 * copies have in common, so an 8 x 12 tile of a GEMM loads each operand once. VEC: the RANGE becomes
 * LANES and everything that depends on it a vector. An address that grows by one from lane to lane becomes
 * consecutive elements; any other stays an index for each lane (coalesce.c makes the best of it).
 *
 * A product that is added to an accumulator becomes one FMA here and nowhere else: rounding once is allowed in a
 * sum-reduction only (docs/internals/ir.md, rounding).
 * Requires: predicates moved into PRED_LOAD and STORE (rules_predicate). Gives: no RANGE of kind UNROLL, REG or VEC. */
#include "codegen/internal.h"

struct expand {
    struct rw *rw;
    struct free_ranges fr;
    uop_vec topo;         /* of the current statement */
    uop_vec range;        /* its written-out ranges */
    const uop **to;       /* what stands for each of them in this copy */
    VEC(const uop *) now; /* by id: the node in this copy */
};

/* Base of an address that is base + LANES, or NULL. */
static const uop *unit_stride(struct rw *rw, const uop *index) {
    struct affine a = affine_of(rw->ir->arena, index);
    uint32_t keep = 0;
    bool unit = false;
    for (uint32_t i = 0; i < a.n; i++) {
        if (a.t[i].atom->op == OP_LANES) {
            if (a.t[i].coef != 1) return NULL;
            unit = true;
        } else if (a.t[i].atom->lanes > 1)
            return NULL;
        else
            a.t[keep++] = a.t[i];
    }
    a.n = keep;
    return unit ? rw_post(rw, affine_build(rw->ir, &a, (enum dtype)index->dt)) : NULL;
}

static const uop *copy_index(struct expand *x, const uop *n, const uop *const *src) {
    const uop *i = src[1];
    if (i->lanes == 1) return mk_index(x->rw->ir, src[0], i, n->lanes);
    const uop *base = unit_stride(x->rw, i);
    return base ? mk_index(x->rw->ir, src[0], base, i->lanes) : mk_index(x->rw->ir, src[0], i, i->lanes);
}

static const uop *copy_acc(struct expand *x, const uop *n, const uop **src) {
    unsigned lanes = n->lanes;
    for (uint32_t i = 0; i < n->nsrc; i++)
        if (src[i]->op == OP_LANES) lanes = src[i]->lanes, src[i] = uop_idx(x->rw->ir, 0);
    return uop_new(x->rw->ir, OP_ACC, (enum dtype)n->dt, lanes, src, n->nsrc, n->arg);
}

/* One address under a predicate, or with another value beside it, for each lane: loaded if any lane wants it, then given to
 * those that do. */
static const uop *copy_pred_load(struct expand *x, const uop *const *src) {
    struct ir *ir = x->rw->ir;
    bool many = src[2]->lanes > src[0]->lanes;
    const uop *any = many ? uop_mk(ir, OP_VEC_REDUCE, &src[2], 1, ARG_INT(OP_MAX)) : src[2];
    bool wide = src[1]->lanes > src[0]->lanes;
    const uop *otherwise = wide ? uop_identity(ir, OP_ADD, (enum dtype)src[0]->dt) : src[1];
    const uop *load = rw3(x->rw, OP_PRED_LOAD, src[0], otherwise, any);
    return rw3(x->rw, OP_WHERE, src[2], load, src[1]);
}

static const uop *copy_node(struct expand *x, const uop *n) {
    struct ir *ir = x->rw->ir;
    for (uint32_t i = 0; i < x->range.n; i++)
        if (x->range.p[i] == n) return x->to[i];
    const uop **src = arena_array(ir->arena, const uop *, n->nsrc + 1);
    bool same = true;
    for (uint32_t i = 0; i < n->nsrc; i++) {
        src[i] = x->now.p[n->src[i]->id];
        same &= src[i] == n->src[i];
    }
    if (same) return n;
    if (n->op == OP_INDEX) return copy_index(x, n, src);
    if (n->op == OP_ACC) return copy_acc(x, n, src);
    if (n->op == OP_PRED_LOAD && RG_MAX(src[1]->lanes, src[2]->lanes) > src[0]->lanes)
        return copy_pred_load(x, src);
    return rw_with(x->rw, n, src);
}

static bool is_zero(const uop *n) { return n->op == OP_CONST && n->arg.f == 0; }

/* acc + a*b is one rounding where acc is the cell that the statement writes. So is acc + (predicate ? a*b : 0): the predicate of a
 * halo or of padding is there in one opt list and proved away in another, and both must round alike. */
static const uop *fuse(struct ir *ir, const uop *stmt) {
    if (stmt->op != OP_SET && stmt->op != OP_STORE) return stmt;
    const uop *v = stmt->src[1];
    if (v->op != OP_ADD || !dt_is_float((enum dtype)v->dt)) return stmt;
    for (int i = 0; i < 2; i++) {
        const uop *acc = v->src[i], *mul = v->src[1 - i];
        bool own = stmt->op == OP_SET
                       ? acc == stmt->src[0] || (acc->op == OP_ACC && acc->arg.i == stmt->src[0]->arg.i)
                       : acc->op == OP_LOAD && acc->src[0] == stmt->src[0] && access_buf(acc)->op == OP_LOCAL;
        const uop *pred = mul->op == OP_WHERE && is_zero(mul->src[2]) ? mul->src[0] : NULL;
        if (pred) mul = mul->src[1];
        if (!own || mul->op != OP_MUL) continue;
        const uop *fma = uop3(ir, OP_FMA, mul->src[0], mul->src[1], acc);
        if (pred) fma = uop3(ir, OP_WHERE, pred, fma, acc);
        return stmt->nsrc == 3 ? uop3(ir, (enum op)stmt->op, stmt->src[0], fma, stmt->src[2])
                               : uop2(ir, (enum op)stmt->op, stmt->src[0], fma);
    }
    return stmt;
}

static void one_copy(struct expand *x, uop_vec *out) {
    struct ir *ir = x->rw->ir;
    for (uint32_t i = 0; i < x->topo.n; i++) {
        const uop *n = x->topo.p[i];
        x->now.p[n->id] = copy_node(x, n);
    }
    const uop *stmt = x->now.p[x->topo.p[x->topo.n - 1]->id];
    if (stmt->op == OP_BLOCK && !stmt->nsrc) return; /* a store that a false predicate took away */
    vec_push(ir->arena, out, fuse(ir, stmt));
}

/* Ranges that the target of a SET or MMA does not mention go outermost: the same accumulators are then revisited
 * only after all others were touched, which hides the latency of the additions. */
static bool in_target(struct expand *x, const uop *stmt, const uop *r) {
    return (stmt->op != OP_SET && stmt->op != OP_MMA && stmt->op != OP_WARP_REDUCE) ||
           free_has(&x->fr, stmt->src[0], r);
}

/* Of the others one with many values is not innermost if another has fewer: in a register tile what the inner one selects stays in
 * registers, and an operand of the outer one is there for its row alone. (14 rows of two vectors, vectors outermost: clang spills,
 * 41 ms of a convolution; 28.) */
static void order_tile(uop_vec *range, uint32_t from) {
    enum { MANY = 8 };
    if (range->n < from + 2 || range->p[range->n - 1]->src[0]->hi <= MANY) return;
    for (uint32_t i = from + 1; i < range->n; i++)
        for (uint32_t k = i; k > from && range->p[k - 1]->src[0]->hi < range->p[k]->src[0]->hi; k--) {
            const uop *r = range->p[k];
            range->p[k] = range->p[k - 1], range->p[k - 1] = r;
        }
}

static void expand_leaf(void *cx, const uop *stmt, uop_vec *out) {
    struct expand *x = cx;
    struct ir *ir = x->rw->ir;
    x->range.n = x->topo.n = 0;
    const uop_vec *free = free_of(&x->fr, stmt);
    for (int target = 0; target < 2; target++) {
        uint32_t from = x->range.n;
        for (uint32_t i = 0; i < free->n; i++) {
            const uop *r = free->p[i];
            if (axis_is_expanded((enum axis_kind)r->arg.range.kind) && in_target(x, stmt, r) == (bool)target)
                vec_push(ir->arena, &x->range, r);
        }
        if (target && stmt->op == OP_SET) order_tile(&x->range, from);
    }
    uop_topo(ir->arena, &stmt, 1, &x->topo);
    vec_need(ir->arena, &x->now, ir->n);
    x->to = arena_array(ir->arena, const uop *, x->range.n + 1);
    int64_t *at = arena_array(ir->arena, int64_t, x->range.n + 1);
    for (;;) {
        for (uint32_t i = 0; i < x->range.n; i++) {
            const uop *r = x->range.p[i];
            x->to[i] = r->arg.range.kind == AX_VEC
                           ? uop_new(ir, OP_LANES, DT_IDX, (unsigned)r->src[0]->hi, NULL, 0, ARG_NONE)
                           : uop_idx(ir, at[i]);
        }
        one_copy(x, out);
        uint32_t i = x->range.n;
        while (i-- > 0) { /* the last range runs fastest; a vector axis has one value */
            const uop *r = x->range.p[i];
            if (r->arg.range.kind != AX_VEC && ++at[i] < r->src[0]->hi) break;
            at[i] = 0;
        }
        if (i == UINT32_MAX) return;
    }
}

const uop *tree_expand(struct rw *rw, const uop *tree) {
    struct expand x = {.rw = rw};
    free_init(&x.fr, rw->ir, rw->ir->arena);
    return tree_map_leaves(rw->ir, tree, expand_leaf, &x);
}
