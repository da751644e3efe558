/* norm.c: lengths of vectors, and the normalisations: what is divided by a deviation or a length.
 *
 * Halves are computed in float32 from the first step to the last and rounded at the end, as in PyTorch. Gradients
 * come from the rules; where a length is 0 its gradient is 0, because the root is taken of a harmless number there.
 * Tests: tests/values/nn.txt through tests/unit/values_ops.c; tests/unit/loss.c (kernels, words for misuse) */
#include "tensor/internal.h"

#include <math.h>

/* ---- lengths ----------------------------------------------------------------------------------------------- */

static const uop *where0(struct tg *g, const uop *zero, double at_zero, const uop *x) {
    return tg_op3(g, OP_WHERE, zero, tg_like(g, x, at_zero), x);
}

/* s^(1/p) with no slope at 0. */
static const uop *root(struct tg *g, const uop *s, double p) {
    const uop *none = tg_op_k(g, OP_EQ, s, 0), *safe = where0(g, none, 1, s);
    const uop *r = p == 2 ? tg_op1(g, OP_SQRT, safe) : t_pow(g, safe, tg_like(g, safe, 1 / p));
    return where0(g, none, p < 0 ? INFINITY : 0, r);
}

/* |x|^p with no slope at 0. */
static const uop *power(struct tg *g, const uop *x, double p) {
    const uop *a = tg_op1(g, OP_ABS, x), *none = tg_op_k(g, OP_EQ, a, 0);
    return where0(g, none, p < 0 ? INFINITY : 0, t_pow(g, where0(g, none, 1, a), tg_like(g, a, p)));
}

static const uop *norm_wide(struct tg *g, const uop *x, double p, uint32_t mask) {
    if (isnan(p)) tg_bad(g, "a norm of order NaN; expected 0, 1, 2 .. or INFINITY");
    if (isinf(p)) return tg_extreme(g, tg_op1(g, OP_ABS, x), mask, p > 0);
    if (p == 0) return tg_reduce(g, OP_ADD, t_cast(g, tg_op_k(g, OP_NE, x, 0), (enum dtype)x->dt), mask);
    if (p == 1) return tg_reduce(g, OP_ADD, tg_op1(g, OP_ABS, x), mask);
    const uop *q = p == 2 ? tg_op2(g, OP_MUL, x, x) : power(g, x, p);
    return root(g, tg_reduce(g, OP_ADD, q, mask), p);
}

const uop *t_norm(struct tg *g, const uop *x, double p, const int64_t *axes, uint32_t n, bool keep) {
    x = tg_float(g, x);
    uint32_t mask = tg_axes(g, x, axes, n);
    return t_cast(g, tg_drop(g, norm_wide(g, tg_wide(g, x), p, mask), mask, keep), (enum dtype)x->dt);
}

const uop *t_normalize(struct tg *g, const uop *x, double p, int64_t axis) {
    x = tg_float(g, x);
    const uop *w = tg_wide(g, x), *s = norm_wide(g, w, p, (uint32_t)1 << tg_axis(g, x, axis));
    const uop *least = tg_like(g, s, 1e-12);
    s = tg_op3(g, OP_WHERE, tg_op2(g, OP_LT, s, least), least, s);
    return t_cast(g, tg_keep_op(g, OP_FDIV, w, s), (enum dtype)x->dt);
}

/* ---- over the last axes -------------------------------------------------------------------------------------- */

static const uop *affine_part(struct tg *g, const uop *x, enum op op, const uop *p, const char *name,
                              uint32_t n_axes) {
    if (!p) return x;
    const struct shape *s = tg_shape(g, x), *q = tg_shape(g, p);
    bool fits = q->n == n_axes;
    for (uint32_t i = 0; fits && i < n_axes; i++) fits = q->d[i] == s->d[s->n - n_axes + i];
    if (!fits)
        tg_bad(g, "the %s has shape %s; expected the last %u axes of %s", name, tg_dims(g, p), n_axes,
               tg_dims(g, x));
    return tg_op2(g, op, x, tg_to_shape(g, t_cast(g, p, (enum dtype)x->dt), s));
}

static uint32_t last_axes(struct tg *g, const uop *x, uint32_t n) {
    uint32_t rank = tg_shape(g, x)->n;
    if (!n || n > rank)
        tg_bad(g, "a norm over the last %u axes of shape %s: expected 1 to %u", n, tg_dims(g, x), rank);
    return (((uint32_t)1 << n) - 1) << (rank - n);
}

/* (x - mean) / deviation over some axes. */
static const uop *standard(struct tg *g, const uop *x, uint32_t mask, double eps) {
    const uop *d = tg_keep_op(g, OP_SUB, x, tg_mean(g, x, mask));
    const uop *v = tg_mean(g, tg_op2(g, OP_MUL, d, d), mask);
    return tg_keep_op(g, OP_MUL, d, tg_op1(g, OP_RSQRT, tg_op_k(g, OP_ADD, v, eps)));
}

const uop *t_layernorm(struct tg *g, const uop *x, const uop *weight, const uop *bias, uint32_t n_axes,
                       double eps) {
    x = tg_float(g, x);
    const uop *y = standard(g, tg_wide(g, x), last_axes(g, x, n_axes), eps);
    y = affine_part(g, y, OP_MUL, weight, "weight", n_axes);
    return t_cast(g, affine_part(g, y, OP_ADD, bias, "bias", n_axes), (enum dtype)x->dt);
}

const uop *t_rmsnorm(struct tg *g, const uop *x, const uop *weight, double eps) {
    x = tg_float(g, x);
    uint32_t mask = last_axes(g, x, 1);
    const uop *w = tg_wide(g, x), *v = tg_mean(g, tg_op2(g, OP_MUL, w, w), mask);
    const uop *y = tg_keep_op(g, OP_MUL, w, tg_op1(g, OP_RSQRT, tg_op_k(g, OP_ADD, v, eps)));
    return t_cast(g, affine_part(g, y, OP_MUL, weight, "weight", 1), (enum dtype)x->dt);
}

/* ---- by channels: axis 1 of (N, C, ..) --------------------------------------------------------------------------- */

static int64_t channels(struct tg *g, const uop *x) {
    if (tg_shape(g, x)->n < 2)
        tg_bad(g, "a tensor of shape %s; expected (N, C, ..): examples, channels, and what each channel has",
               tg_dims(g, x));
    return tg_shape(g, x)->d[1];
}

/* One number for each channel, beside x; NULL stays. */
static const uop *by_channel(struct tg *g, const uop *p, const uop *x, const char *name) {
    if (!p) return NULL;
    const struct shape *s = tg_shape(g, x), *q = tg_shape(g, p);
    if (q->n != 1 || q->d[0] != s->d[1])
        tg_bad(g, "the %s has shape %s; expected (%lld), one number for each channel of %s", name,
               tg_dims(g, p), (long long)s->d[1], tg_dims(g, x));
    int64_t d[SHAPE_MAX];
    for (uint32_t i = 0; i < s->n; i++) d[i] = i == 1 ? s->d[1] : 1;
    return tg_reshape(g, t_cast(g, p, (enum dtype)x->dt), shape_make(&g->shapes, d, s->n));
}

const uop *t_groupnorm(struct tg *g, const uop *x, int64_t groups, const uop *weight, const uop *bias,
                       double eps) {
    x = tg_float(g, x);
    int64_t c = channels(g, x);
    if (groups < 1 || c % groups)
        tg_bad(g, "%lld groups of the %lld channels of %s; expected a number that divides them",
               (long long)groups, (long long)c, tg_dims(g, x));
    const uop *w = tg_wide(g, x);
    const struct shape *s = tg_shape(g, x);
    weight = by_channel(g, weight, w, "weight"), bias = by_channel(g, bias, w, "bias");
    const uop *y = w;
    if (shape_size(s)) {
        int64_t d[3] = {s->d[0], groups, shape_size(s) / (s->d[0] * groups)};
        y = standard(g, tg_reshape(g, w, shape_make(&g->shapes, d, 3)), 4, eps);
        y = tg_reshape(g, y, s);
    }
    if (weight) y = tg_keep_op(g, OP_MUL, y, weight);
    if (bias) y = tg_keep_op(g, OP_ADD, y, bias);
    return t_cast(g, y, (enum dtype)x->dt);
}

const uop *t_instancenorm(struct tg *g, const uop *x, const uop *weight, const uop *bias, double eps) {
    int64_t c = channels(g, x);
    return t_groupnorm(g, x, RG_MAX(c, 1), weight, bias, eps);
}

/* The factor of a channel is one number: computed once where a kernel keeps it, and cheap where it does not. */
const uop *t_batchnorm(struct tg *g, const uop *x, const uop *mean, const uop *var, const uop *weight,
                       const uop *bias, double eps) {
    x = tg_float(g, x);
    channels(g, x);
    const uop *w = tg_wide(g, x);
    mean = by_channel(g, mean, w, "mean"), var = by_channel(g, var, w, "variance");
    weight = by_channel(g, weight, w, "weight"), bias = by_channel(g, bias, w, "bias");
    const uop *scale = tg_op1(g, OP_RSQRT, tg_op_k(g, OP_ADD, var, eps));
    if (weight) scale = tg_op2(g, OP_MUL, scale, weight);
    const uop *y = tg_keep_op(g, OP_MUL, tg_keep_op(g, OP_SUB, w, mean), scale);
    if (bias) y = tg_keep_op(g, OP_ADD, y, bias);
    return t_cast(g, y, (enum dtype)x->dt);
}
