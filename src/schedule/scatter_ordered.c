/* scatter_ordered.c: scatter-adds in a fixed order, by a builtin kernel (devices without it: scatter_fixed_point.c).
 *
 * Parallel scatter-adds add in another order in every run, so the last bits of floats differ. CALL[scatter_sum] adds in the order
 * of the index: results are reproducible. It adds rows: the index of an embedding's gradient does not vary along the axes after
 * the scattered one. Where it does vary, index and values are permuted so that the scattered axis is the last, and rows are
 * single elements. Where x is 0 the sums are the result; else they are added to x.
 * Tests: tests/unit/call.c (call_sums_*, cuda_gpu_call_sums) */
#include "schedule/internal.h"

struct ordered_scatter {
    struct ir *ir;
    struct shapes *sh;
};

/* Movement ops only where they change something: a builtin kernel reads a copy of what is moved. */
static const uop *expand_to(struct ordered_scatter *j, const uop *n, const int64_t *d, uint32_t k) {
    const struct shape *s = shape_of(j->sh, n);
    return s->n == k && !memcmp(s->d, d, k * sizeof *d) ? n : graph_shaped(j->ir, OP_EXPAND, n, d, k);
}
static const uop *permute(struct ordered_scatter *j, const uop *n, const int64_t *order, uint32_t k) {
    uint32_t same = 0;
    while (same < k && order[same] == same) same++;
    return same == k ? n : graph_shaped(j->ir, OP_PERMUTE, n, order, k);
}

/* The index before it was broadcast along the axes after `axis`; NULL: it varies there, or that is not known. */
static const uop *invariant_index(struct ordered_scatter *j, const uop *index, uint32_t axis) {
    const struct shape *s = shape_of(j->sh, index);
    const uop *n = index;
    while (n->op == OP_CAST) n = n->src[0];
    bool varies = false;
    const struct shape *from = n->op == OP_EXPAND ? shape_of(j->sh, n->src[0]) : s;
    for (uint32_t i = axis + 1; i < s->n; i++) varies |= from->d[i] != 1;
    return varies ? NULL : n->op == OP_EXPAND ? n->src[0] : n;
}

static const uop *sum(struct ordered_scatter *j, const uop *add, const uop *index, int64_t size) {
    static const char name[] = "scatter_sum";
    const uop *src[3] = {add, uop_cast(j->ir, index, DT_I64), uop_idx(j->ir, size)};
    return uop_new(j->ir, OP_CALL, (enum dtype)add->dt, 1, src, 3,
                   (union arg){.u = ir_sym(j->ir, name, sizeof name - 1)});
}

/* Rows are all elements after the axis. */
static const uop *by_rows(struct ordered_scatter *j, const uop *add, const uop *index, uint32_t axis,
                          int64_t size, const uop **call) {
    const struct shape *s = shape_of(j->sh, add);
    int64_t d[SHAPE_MAX], inner = 1;
    for (uint32_t i = 0; i < s->n; i++) d[i] = i <= axis ? s->d[i] : 1;
    index = expand_to(j, index, d, s->n);
    index = graph_shaped(j->ir, OP_RESHAPE, index, d, axis + 1);
    for (uint32_t i = axis + 1; i < s->n; i++) inner *= s->d[i];
    d[axis] = s->d[axis] * inner;
    *call = sum(j, graph_shaped(j->ir, OP_RESHAPE, add, d, axis + 1), index, size);
    for (uint32_t i = 0; i < s->n; i++) d[i] = i == axis ? size : s->d[i];
    return graph_shaped(j->ir, OP_RESHAPE, *call, d, s->n);
}

/* The axis last: rows are single elements. */
static const uop *by_elements(struct ordered_scatter *j, const uop *add, const uop *index, uint32_t axis,
                              int64_t size, const uop **call) {
    const struct shape *s = shape_of(j->sh, add);
    int64_t there[SHAPE_MAX], back[SHAPE_MAX];
    for (uint32_t i = 0; i < s->n; i++) {
        there[i] = i + 1 == s->n ? axis : i < axis ? i : i + 1;
        back[there[i]] = i;
    }
    *call = sum(j, permute(j, add, there, s->n), permute(j, index, there, s->n), size);
    return permute(j, *call, back, s->n);
}

struct ordered_sum ordered_sum(struct ir *ir, struct shapes *sh, const uop *const src[3], int64_t axis) {
    struct ordered_scatter j = {ir, sh};
    struct ordered_sum o;
    const struct shape *x = shape_of(sh, src[0]), *i = shape_of(sh, src[1]);
    uint32_t a = (uint32_t)axis;
    const uop *same = invariant_index(&j, src[1], a), *r, *pad[2 + 3 * SHAPE_MAX];
    r = same ? by_rows(&j, src[2], same, a, x->d[a], &o.call)
             : by_elements(&j, src[2], src[1], a, x->d[a], &o.call);
    bool smaller = false;
    pad[0] = r, pad[1] = uop_flt(ir, (enum dtype)r->dt, 0);
    for (uint32_t k = 0; k < x->n; k++) {
        int64_t more = k == a ? 0 : x->d[k] - i->d[k];
        pad[2 + 3 * k] = uop_idx(ir, 0), pad[3 + 3 * k] = uop_idx(ir, more), pad[4 + 3 * k] = uop_idx(ir, 0);
        smaller |= more > 0;
    }
    if (smaller) r = uop_mk(ir, OP_PAD, pad, 2 + 3 * x->n, ARG_NONE);
    o.result = graph_is_zero(src[0]) ? r : uop2(ir, OP_ADD, src[0], r);
    return o;
}
