/* parts.c: what is concatenated of equal parts that have sums in common (rotary positions of a product with a vector: each part
 * needs both) is stored part by part in one iteration, which computes each sum once and has no predicates.
 * Requires: a SINK over raw ranges. Gives: another one, and a shorter range in r->dim.
 * Tests: tests/unit/schedule.c (schedule_parts_that_share_sums_are_stored_together) */
#include "schedule/internal.h"

enum { PARTS_GRID = 64 }; /* iterations of the grid that remain */

/* Into how many equal parts, of which each predicate on the range takes whole ones, 2 .. PARTS_MOST? 0: none. */
static int64_t equal_parts(const uop_vec *topo, const uop *range) {
    int64_t size = range->src[0]->arg.i;
    bool cut[PARTS_MOST + 1] = {0}, any = false;
    for (int64_t n = 2; n <= PARTS_MOST; n++) cut[n] = size % n == 0;
    for (uint32_t i = 0; i < topo->n; i++) {
        const uop *n = topo->p[i];
        if (n->op != OP_LT || (n->src[0] != range && n->src[1] != range)) continue;
        const uop *with = n->src[n->src[0] == range];
        if (!uop_is_const(with)) return 0;
        int64_t at = with->arg.i + (n->src[1] == range); /* the first value on the other side */
        any = true;
        for (int64_t k = 2; k <= PARTS_MOST; k++) cut[k] = cut[k] && at % (size / k) == 0;
    }
    for (int64_t n = 2; n <= PARTS_MOST && any; n++)
        if (cut[n]) return n;
    return 0;
}

/* Does a reduction over range x depend on one over y? */
static bool is_after(struct rangeify *r, const uop_vec *topo, const uop *x, const uop *y) {
    for (uint32_t i = 0; i < topo->n; i++) {
        uop_vec below = {0};
        if (topo->p[i]->op != OP_REDUCE || topo->p[i]->src[1] != x) continue;
        uop_topo(r->a, &topo->p[i], 1, &below);
        for (uint32_t k = 0; k < below.n; k++)
            if (below.p[k]->op == OP_REDUCE && below.p[k]->src[1] == y) return true;
    }
    return false;
}

/* Reductions of one size that do not wait for each other get one range: one loop, and equal ones become one node. */
static const uop *share_ranges(struct rangeify *r, const uop *sink) {
    uop_vec topo = {0};
    uop_topo(r->a, &sink, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++)
        for (uint32_t k = 0; k < i; k++) {
            if (topo.p[i]->op != OP_REDUCE || topo.p[k]->op != OP_REDUCE || topo.p[i]->nsrc != 2 ||
                topo.p[k]->nsrc != 2)
                continue;
            const uop *x = topo.p[k]->src[1], *y = topo.p[i]->src[1];
            if (x == y || x->src[0] != y->src[0] || is_after(r, &topo, x, y) || is_after(r, &topo, y, x))
                continue;
            return share_ranges(r, rw_subst(&r->rw, sink, &y, &x, 1));
        }
    return sink;
}

static uint32_t count_sums(const uop_vec *topo) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < topo->n; i++) {
        if (topo->p[i]->op == OP_STAGE || topo->p[i]->op == OP_SCAN || topo->p[i]->op == OP_STORE_ADD)
            return 0;
        n += topo->p[i]->op == OP_REDUCE;
    }
    return n;
}

/* The stores of all n parts of output axis i, each without predicates on it, in an iteration of `part`, which is n times as short. */
static const uop *store_parts(struct rangeify *r, const uop *sink, uint32_t i, const uop *part, int64_t n) {
    VEC(const uop *) stores = {0};
    for (int64_t k = 0; k < n; k++) {
        const uop *at = rw2(&r->rw, OP_ADD, part, uop_idx(r->ir, k * part->src[0]->arg.i));
        const uop *moved = rw_subst(&r->rw, sink, &r->dim[i], &at, 1);
        for (uint32_t s = 0; s < moved->nsrc; s++) vec_push(r->a, &stores, moved->src[s]);
    }
    return share_ranges(r, uop_new(r->ir, OP_SINK, DT_VOID, 1, stores.p, stores.n, (union arg){0}));
}

static int64_t grid_size(const struct rangeify *r, const bool *grid) {
    int64_t n = 1;
    for (uint32_t i = 0; i < r->dims; i++)
        if (grid[i] && r->dim[i]->op == OP_RANGE) n *= r->dim[i]->src[0]->arg.i;
    return n;
}

const uop *rangeify_parts(struct rangeify *r, const uop *sink) {
    bool grid[SHAPE_MAX], known = false;
    for (uint32_t i = 0; i < r->dims; i++) {
        uop_vec topo = {0}, after = {0};
        if (r->dim[i]->op != OP_RANGE) continue;
        uop_topo(r->a, &sink, 1, &topo);
        if (!count_sums(&topo)) return sink;
        if (!known) rangeify_grid(r, &topo, grid);
        known = true;
        int64_t n = grid[i] ? equal_parts(&topo, r->dim[i]) : 0;
        if (!n) continue;
        const uop *size = uop_idx(r->ir, r->dim[i]->src[0]->arg.i / n);
        const uop *part = uop_new(r->ir, OP_RANGE, DT_IDX, 1, &size, 1, r->dim[i]->arg);
        const uop *parts = store_parts(r, sink, i, part, n);
        uop_topo(r->a, &parts, 1, &after);
        if (count_sums(&after) > count_sums(&topo) || grid_size(r, grid) < n * PARTS_GRID) continue;
        r->dim[i] = part, sink = parts;
    }
    return sink;
}
