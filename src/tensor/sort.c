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

/* x with the axis behind all others, whose order stays: a batch of transposes of matrices. back: with the last axis there again. */
static const uop *turn(struct tg *g, const uop *x, uint32_t axis, bool back) {
    const struct shape *s = tg_shape(g, x);
    int64_t order[SHAPE_MAX], d[SHAPE_MAX], rest = 1;
    uint32_t last = s->n - 1, from = back ? last : axis, to = back ? axis : last;
    for (uint32_t i = 0; i < s->n; i++) order[i] = i;
    for (uint32_t i = from; i != to; i += back ? UINT32_MAX : 1) order[i] = back ? i - 1 : i + 1;
    order[to] = from;
    for (uint32_t i = 0; i < s->n; i++) d[i] = s->d[order[i]];
    for (uint32_t i = RG_MIN(from, to); i <= RG_MAX(from, to); i++) rest *= i == from ? 1 : s->d[i];
    return rest == 1 || s->d[from] == 1 ? t_reshape(g, x, d, s->n) : t_permute(g, x, order, s->n);
}

/* x with the axis last; a number has one element in a row. */
static const uop *rows(struct tg *g, const uop *x, int64_t axis) {
    x = tg_value(g, x);
    if (!tg_shape(g, x)->n && (axis == 0 || axis == -1)) return t_unsqueeze(g, x, 0);
    uint32_t at = tg_axis(g, x, axis);
    if (tg_shape(g, x)->d[at] > UINT32_MAX)
        tg_bad(g, "axis %u of %s is too long to be sorted; at most 2^32 - 1 elements", at, tg_dims(g, x));
    return turn(g, x, at, false);
}

static const uop *back(struct tg *g, const uop *rows, const uop *x, int64_t axis, bool scalar_stays) {
    if (tg_shape(g, x)->n) return turn(g, rows, tg_axis(g, x, axis), true);
    return scalar_stays ? t_squeeze(g, rows, 0) : rows;
}

/* ---- short rows: a sorting network, fused with what is around it ------------------------------------------ */

enum { SHORT = 8, SHORTEST = 3 };

/* Element i of the axis: its value and, if asked for, its index. */
struct ranked {
    const uop *value, *index;
};

/* Does b come before a, which stands before it? NaN is the greatest; equal ones stay as they are. */
static const uop *out_of_order(struct tg *g, const uop *a, const uop *b, bool descending) {
    const uop *x = descending ? b : a, *y = descending ? a : b; /* x > y */
    if (!dt_is_float((enum dtype)a->dt)) return tg_op2(g, OP_LT, y, x);
    const uop *more = tg_op1(g, OP_NOT, tg_op2(g, OP_LE, x, y));
    return tg_op2(g, OP_AND, more, tg_op2(g, OP_EQ, y, y));
}

static void exchange(struct tg *g, struct ranked *a, struct ranked *b, bool descending) {
    const uop *swap = out_of_order(g, a->value, b->value, descending);
    struct ranked x = *a, y = *b;
    a->value = tg_op3(g, OP_WHERE, swap, y.value, x.value);
    b->value = tg_op3(g, OP_WHERE, swap, x.value, y.value);
    if (!x.index) return;
    a->index = tg_op3(g, OP_WHERE, swap, y.index, x.index);
    b->index = tg_op3(g, OP_WHERE, swap, x.index, y.index);
}

static bool is_short(struct tg *g, const uop *x, int64_t axis) {
    const struct shape *s = tg_shape(g, x);
    return s->n && shape_size(s) && s->d[tg_axis(g, x, axis)] <= SHORT;
}

static const uop *pick(struct tg *g, const uop *x, uint32_t axis, int64_t i) {
    struct t_slice s[SHAPE_MAX];
    for (uint32_t k = 0; k <= axis; k++) s[k] = (struct t_slice){.stop = T_END};
    s[axis] = (struct t_slice){.start = i, .stop = i + 1};
    return t_squeeze(g, t_slice(g, x, s, axis + 1), axis);
}

/* The first k elements of each row, in order: adjacent ones are exchanged, which keeps equal ones in theirs. */
static const uop *short_rows(struct tg *g, const uop *x, int64_t axis, bool descending, int64_t k,
                             bool indices) {
    uint32_t at = tg_axis(g, x, axis);
    int64_t n = tg_shape(g, x)->d[at];
    tg_no_f8(g, OP_CALL, x);
    struct ranked e[SHORT];
    const uop *out[SHORT];
    for (int64_t i = 0; i < n; i++) {
        e[i] = (struct ranked){.value = pick(g, x, at, i)};
        if (indices) e[i].index = uop_int(g->ir, DT_I32, i);
    }
    for (int64_t first = 0; first < RG_MIN(k, n - 1); first++)
        for (int64_t i = n - 1; i > first; i--) exchange(g, &e[i - 1], &e[i], descending);
    for (int64_t i = 0; i < k; i++) out[i] = indices ? t_cast(g, e[i].index, DT_I64) : e[i].value;
    return t_stack(g, out, (uint32_t)k, at);
}

static const uop *values(struct tg *g, const char *name, const char *indices, const uop *r,
                         const int64_t *num, uint32_t n) {
    const uop *v = call(g, name, (enum dtype)r->dt, r, num, n);
    if (!dt_is_float((enum dtype)r->dt)) return v;
    return t_grad_through(g, v, t_gather(g, r, -1, call(g, indices, DT_I64, r, num, n)));
}

/* The values by their indices; of very few elements picked from all of them, whose gradient is as plain. */
static const uop *short_values(struct tg *g, const uop *x, int64_t axis, bool descending, int64_t k) {
    const uop *v = short_rows(g, x, axis, descending, k, false), *out[SHORT];
    if (!dt_is_float((enum dtype)x->dt)) return v;
    uint32_t at = tg_axis(g, x, axis);
    const uop *index = short_rows(g, x, axis, descending, k, true);
    if (tg_shape(g, x)->d[at] > SHORTEST) return t_grad_through(g, v, t_gather(g, x, axis, index));
    for (int64_t i = 0; i < k; i++) {
        const uop *which = pick(g, index, at, i);
        out[i] = pick(g, x, at, 0);
        for (int64_t j = 1; j < tg_shape(g, x)->d[at]; j++)
            out[i] = tg_op3(g, OP_WHERE, tg_op2(g, OP_EQ, which, uop_int(g->ir, DT_I64, j)),
                            pick(g, x, at, j), out[i]);
    }
    return t_grad_through(g, v, t_stack(g, out, (uint32_t)k, at));
}

static bool is_one(struct tg *g, const uop *r) { return tg_shape(g, r)->d[tg_shape(g, r)->n - 1] == 1; }

const uop *t_sort(struct tg *g, const uop *x, int64_t axis, bool descending) {
    int64_t down = descending;
    const uop *r = rows(g, x, axis);
    if (!is_one(g, r) && is_short(g, tg_value(g, x), axis))
        return short_values(g, tg_value(g, x), axis, descending, tg_shape(g, r)->d[tg_shape(g, r)->n - 1]);
    return is_one(g, r) ? tg_value(g, x) : back(g, values(g, "sort", "argsort", r, &down, 1), x, axis, true);
}

const uop *t_argsort(struct tg *g, const uop *x, int64_t axis, bool descending) {
    int64_t down = descending;
    const uop *r = rows(g, x, axis);
    const struct shape *s = tg_shape(g, tg_value(g, x));
    if (is_one(g, r)) return t_full(g, uop_int(g->ir, DT_I64, 0), s->d, s->n);
    if (is_short(g, tg_value(g, x), axis))
        return short_rows(g, tg_value(g, x), axis, descending, s->d[tg_axis(g, x, axis)], true);
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
    if (k && is_short(g, tg_value(g, x), axis)) return short_values(g, tg_value(g, x), axis, !smallest, k);
    return back(g, values(g, "topk", "topk_index", r, (int64_t[]){!smallest, k}, 2), x, axis, k == 1);
}

const uop *t_topk_index(struct tg *g, const uop *x, int64_t k, int64_t axis, bool smallest) {
    const uop *r = top_rows(g, x, k, axis);
    const struct shape *s = tg_shape(g, tg_value(g, x));
    if (k == 1 && is_one(g, r)) return t_full(g, uop_int(g->ir, DT_I64, 0), s->d, s->n);
    if (k && is_short(g, tg_value(g, x), axis))
        return short_rows(g, tg_value(g, x), axis, !smallest, k, true);
    return back(g, call(g, "topk_index", DT_I64, r, (int64_t[]){!smallest, k}, 2), x, axis, k == 1);
}
