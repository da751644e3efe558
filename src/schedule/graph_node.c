/* graph_node.c: small nodes that passes over the planner's graph (plan_graph.c, split.c, repack.c, scatter_*.c) make or ask for.
 * Tests: tests/unit/schedule.c */
#include "schedule/internal.h"

const uop *graph_shaped(struct ir *ir, enum op op, const uop *n, const int64_t *d, uint32_t k) {
    const uop *src[1 + SHAPE_MAX] = {n};
    for (uint32_t i = 0; i < k; i++) src[1 + i] = uop_idx(ir, d[i]);
    return uop_mk(ir, op, src, 1 + k, ARG_NONE);
}

const uop *graph_slice(struct ir *ir, struct shapes *sh, const uop *n, uint32_t axis, int64_t start,
                       int64_t size) {
    const struct shape *s = shape_of(sh, n);
    const uop *src[1 + 3 * SHAPE_MAX] = {n};
    for (uint32_t i = 0; i < s->n; i++) {
        src[1 + 3 * i] = uop_idx(ir, i == axis ? start : 0);
        src[2 + 3 * i] = uop_idx(ir, i == axis ? size : s->d[i]);
        src[3 + 3 * i] = uop_idx(ir, 1);
    }
    return uop_mk(ir, OP_SHRINK, src, 1 + 3 * s->n, ARG_NONE);
}

const uop *graph_pad(struct ir *ir, struct shapes *sh, const uop *n, const uop *value, uint32_t axis,
                     int64_t before, int64_t after) {
    const struct shape *s = shape_of(sh, n);
    const uop *src[2 + 3 * SHAPE_MAX] = {n, value}, *zero = uop_idx(ir, 0);
    for (uint32_t i = 0; i < s->n; i++) {
        src[2 + 3 * i] = i == axis ? uop_idx(ir, before) : zero;
        src[3 + 3 * i] = i == axis ? uop_idx(ir, after) : zero;
        src[4 + 3 * i] = zero;
    }
    return uop_mk(ir, OP_PAD, src, 2 + 3 * s->n, ARG_NONE);
}

bool graph_is_zero(const uop *n) {
    while (op_is_movement((enum op)n->op)) n = n->src[0];
    return n->op == OP_CONST && n->arg.f == 0;
}

bool graph_is_rounded_view(const uop *n) {
    return n->op == OP_RESHAPE || n->op == OP_PERMUTE || n->op == OP_SHRINK ||
           (n->op == OP_PAD && graph_is_zero(n->src[1]));
}

bool graph_pads_before(const uop *n) {
    bool before = false;
    for (uint32_t i = 2; n->op == OP_PAD && i < n->nsrc; i += 3) before |= !uop_is_int_const(n->src[i], 0);
    return before;
}

const uop *graph_contraction(struct shapes *sh, const uop *n) {
    if (n->op != OP_REDUCE_AXES || n->arg.i != OP_ADD) return NULL;
    const uop *m = n->src[0];
    while (m->op == OP_CAST || m->op == OP_RESHAPE || m->op == OP_PERMUTE) m = m->src[0];
    if (m->op != OP_MUL || !shape_is_outer_product(sh, m)) return NULL;
    return 2 * shape_size(shape_of(sh, n)) <= shape_size(shape_of(sh, m)) ? m : NULL;
}

static const uop *base_of(const uop *n) {
    while (n->op == OP_ASSIGN || op_is_movement((enum op)n->op)) n = n->src[0];
    return n;
}

bool graph_reads_itself(const uop *to, const uop *value) {
    if (value->op != OP_BUFFER && value->op != OP_ASSIGN && !op_is_movement((enum op)value->op)) return false;
    const uop *a = base_of(to), *b = base_of(value);
    return b->op == OP_BUFFER && a->arg.u == b->arg.u;
}
