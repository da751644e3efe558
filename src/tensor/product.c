/* product.c: matmul and its kind, as a broadcast multiplication and a reduction.
 *
 * x (.., M, 1, K) times w (.., 1, N, K), summed over the last axis: the form in which the scheduler sees a contraction.
 * Both operands are only moved, never stored in that shape. 16-bit floats become fp32 before they are multiplied: their
 * product is exact, the sum is a float32, and it is rounded once at the end. Integers wrap in their own dtype; bools
 * give "is there a k with both".
 * Tests: tests/unit/tensor.c, tests/unit/tensor_errors.c */
#include "tensor/internal.h"

static void promote(struct tg *g, const uop **v, uint32_t n) {
    enum dtype dt = DT_VOID;
    for (uint32_t i = 0; i < n; i++)
        if (v[i]) v[i] = tg_value(g, v[i]), dt = t_promote(dt, (enum dtype)v[i]->dt);
    for (uint32_t i = 0; i < n; i++)
        if (v[i]) v[i] = t_cast(g, v[i], dt);
}

static const uop *widen(struct tg *g, const uop *x) { return tg_is_half(x) ? t_cast(g, x, DT_F32) : x; }

const uop *tg_contract(struct tg *g, const uop *x, const uop *w, uint32_t axes) {
    const uop *v[2] = {widen(g, x), widen(g, w)};
    tg_broadcast(g, v, 2);
    const uop *p = tg_op2(g, OP_MUL, v[0], v[1]);
    uint32_t last = (((uint32_t)1 << axes) - 1) << (tg_shape(g, p)->n - axes);
    return last ? tg_drop(g, tg_reduce(g, OP_ADD, p, last), last, false) : p;
}

static const uop *contract(struct tg *g, const uop *x, const uop *w) { return tg_contract(g, x, w, 1); }

static void inner_check(struct tg *g, const uop *x, const uop *y, int64_t k, int64_t l, const char *where) {
    if (k != l)
        tg_bad(g,
               "matrix product of %s and %s: the last axis of the first has size %lld, the %s of the second "
               "%lld; they must be equal",
               tg_dims(g, x), tg_dims(g, y), (long long)k, where, (long long)l);
}

static void batch_check(struct tg *g, const uop *x, const uop *y) {
    const struct shape *a = tg_shape(g, x), *b = tg_shape(g, y);
    for (uint32_t i = 3; i <= a->n && i <= b->n; i++) {
        int64_t p = a->d[a->n - i], q = b->d[b->n - i];
        if (p != q && p != 1 && q != 1)
            tg_bad(g,
                   "matrix product of %s and %s: batch axes of size %lld and %lld; they must be equal or 1",
                   tg_dims(g, x), tg_dims(g, y), (long long)p, (long long)q);
    }
}

const uop *t_matmul(struct tg *g, const uop *x, const uop *y) {
    const uop *v[2] = {x, y};
    promote(g, v, 2);
    const struct shape *a = tg_shape(g, x), *b = tg_shape(g, y);
    enum dtype dt =
        tg_is_f8((enum dtype)v[0]->dt) ? DT_F32 : (enum dtype)v[0]->dt; /* few sums fit in 8 bits */
    if (!a->n || !b->n)
        tg_bad(g, "matrix product of %s and %s: both need an axis; use mul for single numbers", tg_dims(g, x),
               tg_dims(g, y));
    inner_check(g, x, y, a->d[a->n - 1], b->d[b->n == 1 ? 0 : b->n - 2], b->n == 1 ? "axis" : "last but one");
    batch_check(g, x, y);
    if (a->n == 1 && b->n == 1) return t_cast(g, contract(g, v[0], v[1]), dt);
    if (b->n == 1) return t_cast(g, contract(g, v[0], v[1]), dt); /* (.., K) . (K) */
    const uop *w = t_transpose(g, v[1], -1, -2);                  /* (.., N, K) */
    if (a->n == 1) return t_cast(g, contract(g, v[0], w), dt);    /* (K) . (.., N, K) */
    return t_cast(g, contract(g, t_unsqueeze(g, v[0], -2), t_unsqueeze(g, w, -3)), dt);
}

const uop *t_dot(struct tg *g, const uop *x, const uop *y) { return t_matmul(g, x, y); }

const uop *t_outer(struct tg *g, const uop *x, const uop *y) {
    if (tg_shape(g, x)->n != 1 || tg_shape(g, y)->n != 1)
        tg_bad(g, "outer product of %s and %s: both must have one axis; flatten them", tg_dims(g, x),
               tg_dims(g, y));
    return t_mul(g, t_unsqueeze(g, x, 1), y);
}

/* The bias is added before the result is rounded to 16 bits. */
const uop *t_linear(struct tg *g, const uop *x, const uop *weight, const uop *bias) {
    const uop *v[3] = {x, weight, bias};
    promote(g, v, 3);
    const struct shape *a = tg_shape(g, x), *w = tg_shape(g, weight), *b = bias ? tg_shape(g, bias) : NULL;
    if (!a->n || !w->n || w->n > 2 || a->d[a->n - 1] != w->d[w->n - 1])
        tg_bad(g, "linear of %s with weight %s: expected x (.., in) and weight (out, in)", tg_dims(g, x),
               tg_dims(g, weight));
    if (b && (b->n != w->n - 1 || (b->n && b->d[0] != w->d[0])))
        tg_bad(g, "linear with weight %s and bias %s: expected bias %s", tg_dims(g, weight), tg_dims(g, bias),
               tg_list(g, w->d, w->n - 1));
    const uop *y = contract(g, w->n == 2 ? t_unsqueeze(g, v[0], -2) : v[0], v[1]);
    return t_cast(g, b ? t_add(g, y, widen(g, v[2])) : y, (enum dtype)v[0]->dt);
}
