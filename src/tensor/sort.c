/* sort.c: sorting along an axis.
 *
 * The device has the functions (CALL) and they work along the last axis: another axis is moved there and back. A sorted
 * value has the gradient of gathering the same elements by their indices (GRAD_THROUGH): argsort, then a scatter.
 * Nothing else is needed for gradients of gradients, since indices have none. Only gradients ask for the indices.
 * Tests: tests/values/index.txt, tests/unit/call.c */
#include "tensor/internal.h"

static const uop *call(struct tg *g, const char *name, enum dtype dt, const uop *x, const int64_t *num,
                       uint32_t n) {
    const uop *src[4] = {x};
    tg_no_f8(g, OP_CALL, x);
    union arg arg = {.u = ir_sym(g->ir, name, strlen(name))};
    for (uint32_t i = 0; i < n; i++) src[1 + i] = uop_idx(g->ir, num[i]);
    return uop_new(g->ir, OP_CALL, dt, 1, src, 1 + n, arg);
}

/* x with the axis last; a number has one element in a row. */
static const uop *rows(struct tg *g, const uop *x, int64_t axis) {
    x = tg_value(g, x);
    if (!tg_shape(g, x)->n && (axis == 0 || axis == -1)) return t_unsqueeze(g, x, 0);
    uint32_t at = tg_axis(g, x, axis);
    if (tg_shape(g, x)->d[at] > UINT32_MAX)
        tg_bad(g, "axis %u of %s is too long to be sorted; at most 2^32 - 1 elements", at, tg_dims(g, x));
    return t_transpose(g, x, at, -1);
}

static const uop *back(struct tg *g, const uop *rows, const uop *x, int64_t axis, bool scalar_stays) {
    if (tg_shape(g, x)->n) return t_transpose(g, rows, axis, -1);
    return scalar_stays ? t_squeeze(g, rows, 0) : rows;
}

static const uop *values(struct tg *g, const char *name, const char *indices, const uop *r,
                         const int64_t *num, uint32_t n) {
    const uop *v = call(g, name, (enum dtype)r->dt, r, num, n);
    if (!dt_is_float((enum dtype)r->dt)) return v;
    return t_grad_through(g, v, t_gather(g, r, -1, call(g, indices, DT_I64, r, num, n)));
}

static bool is_one(struct tg *g, const uop *r) { return tg_shape(g, r)->d[tg_shape(g, r)->n - 1] == 1; }

const uop *t_sort(struct tg *g, const uop *x, int64_t axis, bool descending) {
    int64_t down = descending;
    const uop *r = rows(g, x, axis);
    return is_one(g, r) ? tg_value(g, x) : back(g, values(g, "sort", "argsort", r, &down, 1), x, axis, true);
}

const uop *t_argsort(struct tg *g, const uop *x, int64_t axis, bool descending) {
    int64_t down = descending;
    const uop *r = rows(g, x, axis);
    const struct shape *s = tg_shape(g, tg_value(g, x));
    if (is_one(g, r)) return t_full(g, uop_int(g->ir, DT_I64, 0), s->d, s->n);
    return back(g, call(g, "argsort", DT_I64, r, &down, 1), x, axis, true);
}

static const uop *top_rows(struct tg *g, const uop *x, int64_t k, int64_t axis) {
    const uop *r = rows(g, x, axis);
    const struct shape *s = tg_shape(g, r);
    if (k < 0 || k > s->d[s->n - 1])
        tg_bad(g, "the first %lld of axis %lld of %s: expected 0 to %lld", (long long)k, (long long)axis,
               tg_dims(g, x), (long long)s->d[s->n - 1]);
    return r;
}

const uop *t_topk(struct tg *g, const uop *x, int64_t k, int64_t axis, bool smallest) {
    const uop *r = top_rows(g, x, k, axis);
    if (k == 1 && is_one(g, r)) return tg_value(g, x);
    return back(g, values(g, "topk", "topk_index", r, (int64_t[]){!smallest, k}, 2), x, axis, k == 1);
}

const uop *t_topk_index(struct tg *g, const uop *x, int64_t k, int64_t axis, bool smallest) {
    const uop *r = top_rows(g, x, k, axis);
    const struct shape *s = tg_shape(g, tg_value(g, x));
    if (k == 1 && is_one(g, r)) return t_full(g, uop_int(g->ir, DT_I64, 0), s->d, s->n);
    return back(g, call(g, "topk_index", DT_I64, r, (int64_t[]){!smallest, k}, 2), x, axis, k == 1);
}
