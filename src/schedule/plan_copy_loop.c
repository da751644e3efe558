/* plan_copy_loop.c: loops that are a part of another: the same steps of the same operands, with fewer states.
 *
 * The gradient of a loop is taken of a call like it that leaves more values in its result (tensor/loop_keep.c), while the rest of the
 * program has the call as it was. Only the larger one runs: the other's result is what its own begins with.
 * Requires: the caller's program. Gives: the larger calls before all others, and for each node the call that it is a part of.
 * Tests: tests/unit/recurrent.c (recurrent_plans_one_step) */
#include "schedule/plan_copy.h"

/* Have the calls the operands and the numbers of a loop and of one with more states? */
static bool may_be_part(const struct ir *ir, const uop *part, const uop *n) {
    uint32_t values = call_values(ir, part), all = call_values(ir, n), more = all - values;
    if (all <= values || part->dt != n->dt) return false;
    const uop *const *p = part->src + values, *const *q = n->src + all;
    uint32_t states = (uint32_t)p[1]->arg.i;
    if (p[0] != q[0] || p[2] != q[2] || p[3] != q[3] || states + more != (uint32_t)q[1]->arg.i) return false;
    for (uint32_t i = 0; i < values; i++)
        if (part->src[i] != n->src[i < states ? i : i + more]) return false;
    return true;
}

/* Are the first of y's next states those of x? Equal nodes of one ir are one. */
static bool is_begin_of(struct arena *a, const struct loop_call *x, const struct loop_call *y) {
    const uop **to = loop_copy(x, a, y->ir, loop_leaves(x, a, y->ir, y->states - x->states));
    for (uint32_t i = 0; i < x->states; i++)
        if (to[x->graph->src[i]->id] != y->graph->src[i]) return false;
    return true;
}

void find_larger_loops(struct copy *c, struct ir *from, const uop *graph) {
    struct shapes sh;
    uop_vec loops = {0}, roots = {0};
    c->larger = arena_array(c->g->a, const uop *, from->n);
    for (uint32_t i = 0; i < c->topo.n; i++)
        if (c->topo.p[i]->op == OP_CALL && call_of(from, c->topo.p[i]) == CALL_loop)
            vec_push(c->g->a, &loops, c->topo.p[i]);
    if (loops.n < 2) return;
    shapes_init(&sh, from, c->g->a);
    for (uint32_t i = 0; i < loops.n; i++)
        for (uint32_t k = 0; k < loops.n; k++) {
            const uop *part = loops.p[i], *n = loops.p[k], *best = c->larger[part->id];
            if (!may_be_part(from, part, n) || (best && best->nsrc >= n->nsrc)) continue;
            if (is_begin_of(c->g->a, loop_open(c->g->a, &sh, part), loop_open(c->g->a, &sh, n)))
                c->larger[part->id] = n;
        }
    for (uint32_t i = 0; i < loops.n; i++)
        if (c->larger[loops.p[i]->id]) vec_push(c->g->a, &roots, c->larger[loops.p[i]->id]);
    if (!roots.n) return;
    vec_push(c->g->a, &roots, graph);
    c->topo = (uop_vec){0};
    uop_topo(c->g->a, roots.p, roots.n, &c->topo);
}

const uop *copy_part(struct copy *c, const uop *n) {
    struct ir *ir = c->g->ir;
    const uop *size = uop_idx(ir, n->src[n->nsrc - 1]->arg.i);
    const uop *src[4] = {c->to[c->larger[n->id]->id], uop_idx(ir, 0), size, uop_idx(ir, 1)};
    return uop_mk(ir, OP_SHRINK, src, 4, ARG_NONE);
}
