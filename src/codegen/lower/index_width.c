/* index_width.c: the width and the shape of index arithmetic.
 *
 * Up to here indices are IDX, exact integers. Scalars become i64, the natural width of addresses on a CPU.
 * Vectors of indices become i32 where their bounds allow (four lanes per register instead of two), and for a GPU, whose
 * registers have 32 bits, scalars too: an operation is narrow if its result and all it is made of fit.
 * An address is rebuilt as a sum with the terms of outer loops first, so that linearize can move the longest
 * possible prefix out of the inner loops; and the axes of the grid become quotients of its one counter. x + y*-1 is
 * written as x - y, one operation.
 * Requires: tree_coalesce, decompositions. Gives: no IDX. Keeps: statements and their order. */
#include "codegen/internal.h"

struct width {
    struct ir *ir;
    struct free_ranges fr;
    const uop **now; /* by id */
    uint32_t cap;
    bool gpu; /* scalars become i32 too */
};

static bool fits_i32(const uop *n) { return n->lo >= INT32_MIN && n->hi <= INT32_MAX; }

static int depth_of(struct width *w, const uop *n) {
    const uop_vec *f = free_of(&w->fr, n);
    int d = -1;
    for (uint32_t i = 0; i < f->n; i++) d = RG_MAX(d, f->p[i]->arg.range.pos);
    return d;
}

/* Sum with the terms of outer loops first. */
static const uop *sort_sum(struct width *w, const uop *n) {
    if (n->op != OP_ADD || n->lanes > 1) return n;
    struct affine a = affine_of(w->ir->arena, n);
    for (uint32_t i = 1; i < a.n; i++)
        for (uint32_t k = i; k > 0 && depth_of(w, a.t[k].atom) < depth_of(w, a.t[k - 1].atom); k--) {
            struct term t = a.t[k];
            a.t[k] = a.t[k - 1], a.t[k - 1] = t;
        }
    return affine_build(w->ir, &a, DT_IDX);
}

static const uop *to_type(struct ir *ir, const uop *n, enum dtype dt) {
    if (n->dt == dt) return n;
    if (n->op == OP_CONST) return uop_int(ir, dt, n->arg.i);
    if (n->op == OP_LANES) return uop_new(ir, OP_LANES, dt, n->lanes, NULL, 0, ARG_NONE);
    if (n->op == OP_INVALID) return uop_int(ir, dt, 0);
    return uop_cast(ir, n, dt);
}

/* One width for all index sources of n: i32 only if values and result all fit. */
static enum dtype pick(const struct width *w, const uop *n, const uop *const *src) {
    bool vec = w->gpu || n->lanes > 1, fit = !dt_is_int((enum dtype)n->dt) || fits_i32(n);
    for (uint32_t i = 0; i < n->nsrc; i++) {
        vec |= src[i]->lanes > 1;
        if (n->src[i]->dt == DT_IDX) fit &= fits_i32(n->src[i]);
    }
    return vec && fit ? DT_I32 : DT_I64;
}

/* y if n is y times -1. */
static const uop *negated(const uop *n) {
    return n->op == OP_MUL && uop_is_int_const(n->src[1], -1) ? n->src[0] : NULL;
}

static const uop *narrow(struct width *w, const uop *n) {
    struct ir *ir = w->ir;
    const uop **src = arena_array(ir->arena, const uop *, n->nsrc + 1);
    bool index = n->dt == DT_IDX;
    for (uint32_t i = 0; i < n->nsrc; i++) {
        src[i] = w->now[n->src[i]->id];
        index |= n->src[i]->dt == DT_IDX;
    }
    if (n->dt == DT_IDX && n->nsrc == 0 && n->op != OP_ACC)
        return n->op == OP_LANES ? to_type(ir, n, DT_I32) : to_type(ir, n, DT_I64);
    if (n->op == OP_ACC) index = n->dt == DT_IDX; /* coordinates are names, not values */
    bool keep = n->op == OP_RANGE || n->op == OP_INDEX || n->op == OP_PARAM || n->op == OP_LOCAL ||
                n->op == OP_PARAMS || n->op == OP_VAR || n->op == OP_FOR || n->op == OP_CAST ||
                n->op == OP_BITCAST || n->op == OP_ACC;
    enum dtype dt = n->dt == DT_IDX ? DT_I64 : (enum dtype)n->dt;
    if (n->op == OP_RANGE && w->gpu && fits_i32(n) && fits_i32(n->src[0]))
        dt = DT_I32, src[0] = to_type(ir, src[0], dt);
    if (index && !keep) {
        enum dtype want = pick(w, n, src);
        for (uint32_t i = 0; i < n->nsrc; i++)
            if (n->src[i]->dt == DT_IDX && n->op != OP_SET) src[i] = to_type(ir, src[i], want);
        if (n->op == OP_SET)
            src[1] = to_type(ir, src[1], (enum dtype)src[0]->dt); /* an accumulator keeps one width */
        if (n->dt == DT_IDX) dt = want;
    }
    if (n->op == OP_ACC)
        for (uint32_t i = 0; i < n->nsrc; i++) src[i] = n->src[i];
    for (int i = 0; n->op == OP_ADD && n->dt == DT_IDX && i < 2; i++)
        if (negated(src[i])) return uop2(ir, OP_SUB, src[1 - i], negated(src[i]));
    return uop_new(ir, (enum op)n->op, dt, n->lanes, src, n->nsrc, n->arg);
}

static const uop *rewrite(struct width *w, const uop *root, const uop *(*fn)(struct width *, const uop *)) {
    uop_vec topo = {0};
    uop_topo(w->ir->arena, &root, 1, &topo);
    w->cap = w->ir->n;
    w->now = arena_array(w->ir->arena, const uop *, w->cap);
    for (uint32_t i = 0; i < topo.n; i++) w->now[topo.p[i]->id] = fn(w, topo.p[i]);
    return w->now[root->id];
}

static const uop *order_index(struct width *w, const uop *n) {
    const uop **src = arena_array(w->ir->arena, const uop *, n->nsrc + 1);
    bool same = true;
    for (uint32_t i = 0; i < n->nsrc; i++) {
        src[i] = w->now[n->src[i]->id];
        if (n->op == OP_INDEX && i == 1) src[i] = sort_sum(w, src[i]);
        same &= src[i] == n->src[i];
    }
    return same ? n : uop_new(w->ir, (enum op)n->op, (enum dtype)n->dt, n->lanes, src, n->nsrc, n->arg);
}

/* The grid's loops as one: its counter is taken apart by division. */
static const uop *flatten_grid(struct rw *rw, const uop *tree) {
    struct ir *ir = rw->ir;
    uop_vec axis = {0}, value = {0};
    int64_t grid = 1;
    const uop *body = tree;
    while (body->nsrc == 1 && body->src[0]->op == OP_FOR &&
           for_range(body->src[0])->arg.range.kind == AX_GRID) {
        const uop *r = for_range(body->src[0]);
        vec_push(ir->arena, &axis, r);
        if (__builtin_mul_overflow(grid, range_size(r)->lo, &grid) || grid > INT32_MAX)
            err_throw(ir->err, RG_ELIMIT,
                      "the grid has more than 2^31 iterations; use TILE to make them larger");
        body = for_body(body->src[0]);
    }
    if (!axis.n) return tree;
    const uop *size = uop_idx(ir, grid);
    union arg arg = {.range = {ir_sym(ir, "grid", 4), AX_GRID, 0, 0}};
    const uop *t = uop_new(ir, OP_RANGE, DT_IDX, 1, &size, 1, arg);
    int64_t stride = grid;
    for (uint32_t i = 0; i < axis.n; i++) {
        int64_t n = axis.p[i]->src[0]->lo;
        stride /= n;
        const uop *q = rw2(rw, OP_IDIV, t, uop_idx(ir, stride));
        vec_push(ir->arena, &value, i ? rw2(rw, OP_MOD, q, uop_idx(ir, n)) : q);
    }
    body = rw_subst(rw, body, axis.p, value.p, axis.n);
    const uop *loop = uop2(ir, OP_FOR, t, body);
    return uop_mk(ir, OP_BLOCK, &loop, 1, ARG_NONE);
}

const uop *tree_index(struct rw *rw, const uop *tree, const struct target *target) {
    struct width w = {.ir = rw->ir, .gpu = target_is_gpu(target)};
    tree = flatten_grid(rw, tree);
    free_init(&w.fr, w.ir, w.ir->arena);
    tree = rewrite(&w, tree, order_index);
    free_init(&w.fr, w.ir, w.ir->arena);
    return rewrite(&w, tree, narrow);
}
