/* conv.c: convolutions, written as a product over windows and one sum.
 *
 * x (N, g, 1, C/g, o.., k..), the windows, times the weight (1, g, O/g, C/g, 1.., k..), added over C/g and k..: the form in
 * which the scheduler sees a contraction. The windows are only moved, never stored. The bias is added before the result
 * is rounded to 16 bits. The gradient with respect to x is a sum over O/g and k.. of FOLD(dy) * weight, that with respect to
 * the weight a sum over N and o.. of windows * dy: contractions again (grad_movement.c lets FOLD and UNFOLD into the product).
 * A transposed convolution is the first of these, written forward.
 * Tests: tests/unit/conv.c, values in tests/values/conv.txt */
#include "tensor/internal.h"

/* ---- lists ------------------------------------------------------------------------------------------------ */

void tg_per_axis(struct tg *g, struct t_ints list, uint32_t axes, const char *what, int64_t none,
                 int64_t least, int64_t *out) {
    if (list.n > 1 && list.n != axes)
        tg_bad(g, "%u numbers for the %s, %s; expected one for all axes or %u, one for each", list.n, what,
               tg_list(g, list.d, list.n), axes);
    for (uint32_t i = 0; i < axes; i++) {
        out[i] = !list.n ? none : list.d[list.n == 1 ? 0 : i];
        if (out[i] < least || out[i] > INT32_MAX)
            tg_bad(g, "%s %lld; expected %lld to 2^31 - 1", what, (long long)out[i], (long long)least);
    }
}

void tg_padding(struct tg *g, struct t_ints list, uint32_t axes, int64_t *out) {
    if (list.n > 1 && list.n != axes && list.n != 2 * axes)
        tg_bad(
            g,
            "%u numbers for the padding, %s; expected one for all axes, %u, one for each, or %u, before and "
            "after each",
            list.n, tg_list(g, list.d, list.n), axes, 2 * axes);
    for (uint32_t i = 0; i < 2 * axes; i++) {
        out[i] = !list.n ? 0 : list.d[list.n == 1 ? 0 : list.n == axes ? i / 2 : i];
        if (out[i] < -INT32_MAX || out[i] > INT32_MAX)
            tg_bad(g, "padding %lld; expected -(2^31 - 1) to 2^31 - 1", (long long)out[i]);
    }
}

const uop *tg_pad_last(struct tg *g, const uop *x, const int64_t *pairs, uint32_t axes, const uop *value) {
    const struct shape *s = tg_shape(g, x);
    int64_t num[3 * SHAPE_MAX] = {0};
    const uop *box[3 * SHAPE_MAX];
    for (uint32_t i = 0; i < s->n; i++) {
        bool last = i >= s->n - axes;
        int64_t before = last ? pairs[2 * (i + axes - s->n)] : 0,
                after = last ? pairs[2 * (i + axes - s->n) + 1] : 0;
        int64_t size = s->d[i] + RG_MIN(before, 0) + RG_MIN(after, 0);
        if (size < 0)
            tg_bad(g, "padding (%lld, %lld) takes more from axis %u of shape %s than there is",
                   (long long)before, (long long)after, i, tg_dims(g, x));
        num[3 * i] = RG_MAX(before, 0), num[3 * i + 1] = RG_MAX(after, 0);
        box[3 * i] = uop_idx(g->ir, RG_MAX(-before, 0)), box[3 * i + 1] = uop_idx(g->ir, size);
        box[3 * i + 2] = uop_idx(g->ir, 1);
    }
    return tg_pad_node(g, tg_box(g, x, box), value, num);
}

void tg_spatial(struct tg *g, const uop *x, uint32_t axes) {
    static const char *const expected[] = {"(N, C, L)", "(N, C, H, W)", "(N, C, D, H, W)"};
    if (tg_shape(g, x)->n != axes + 2)
        tg_bad(g, "x has shape %s; expected %u axes, %s", tg_dims(g, x), axes + 2, expected[axes - 1]);
}

/* ---- what both kinds share ----------------------------------------------------------------------------------- */

struct conv_call {
    struct tg *g;
    const uop *x, *w, *bias; /* of one dtype, 16-bit floats widened */
    enum dtype dt;           /* of the result */
    uint32_t m;
    int64_t n, groups, in, out; /* channels of one group */
    int64_t size[SPATIAL_MAX], stride[SPATIAL_MAX], dilation[SPATIAL_MAX], extra[SPATIAL_MAX],
        pad[2 * SPATIAL_MAX];
};

static const uop *operand(struct tg *g, const uop *x, enum dtype dt) {
    x = t_cast(g, x, dt);
    return tg_is_half(x) ? t_cast(g, x, DT_F32) : x;
}

static void conv_init(struct conv_call *c, struct tg *g, const uop *x, const uop *w, uint32_t m,
                      const struct t_conv *o, bool transposed) {
    *c = (struct conv_call){.g = g, .m = m, .groups = o->groups ? o->groups : 1};
    x = tg_value(g, x), w = tg_value(g, w);
    tg_spatial(g, x, m);
    const struct shape *s = tg_shape(g, x), *k = tg_shape(g, w);
    if (k->n != m + 2)
        tg_bad(g, "the weight has shape %s; expected %u axes: %s and a size for each spatial axis of x %s",
               tg_dims(g, w), m + 2, transposed ? "(C, out / groups)" : "(out, C / groups)", tg_dims(g, x));
    if (c->groups < 0 || c->groups > RG_MAX(s->d[1], 1))
        tg_bad(g, "%lld groups; expected 1 to the channels of x %s (axis 1)", (long long)c->groups,
               tg_dims(g, x));
    int64_t shared = k->d[transposed ? 0 : 1] * (transposed ? 1 : c->groups);
    if (shared != s->d[1])
        tg_bad(g, "x %s has %lld channels (axis 1), weight %s in %lld groups takes %lld (axis %d)",
               tg_dims(g, x), (long long)s->d[1], tg_dims(g, w), (long long)c->groups, (long long)shared,
               transposed ? 0 : 1);
    if (k->d[0] % c->groups)
        tg_bad(g, "axis 0 of the weight %s does not divide into %lld groups", tg_dims(g, w),
               (long long)c->groups);
    c->n = s->d[0], c->in = s->d[1] / c->groups, c->out = transposed ? k->d[1] : k->d[0] / c->groups;
    if (o->bias && (tg_shape(g, o->bias)->n != 1 || tg_shape(g, o->bias)->d[0] != c->out * c->groups))
        tg_bad(g, "the bias has shape %s; expected (%lld), one number for each channel of the result",
               tg_dims(g, o->bias), (long long)(c->out * c->groups));
    tg_per_axis(g, o->stride, m, "stride", 1, 1, c->stride);
    tg_per_axis(g, o->dilation, m, "dilation", 1, 1, c->dilation);
    tg_per_axis(g, o->output_padding, m, "output padding", 0, 0, c->extra);
    tg_padding(g, o->padding, m, c->pad);
    for (uint32_t i = 0; i < m; i++) {
        c->size[i] = k->d[2 + i];
        if (c->size[i] < 1 || c->size[i] > INT32_MAX || s->d[2 + i] > INT32_MAX)
            tg_bad(g, "axis %u of the weight %s and of x %s; expected sizes of 1 to 2^31 - 1", 2 + i,
                   tg_dims(g, w), tg_dims(g, x));
    }
    c->dt = t_promote((enum dtype)x->dt, (enum dtype)w->dt);
    if (o->bias) c->dt = t_promote(c->dt, (enum dtype)tg_value(g, o->bias)->dt);
    c->x = operand(g, x, c->dt), c->w = operand(g, w, c->dt);
    c->bias = o->bias ? operand(g, tg_value(g, o->bias), c->dt) : NULL;
}

static const uop *shaped(struct tg *g, const uop *x, const int64_t *d, uint32_t n) {
    return tg_reshape(g, x, shape_make(&g->shapes, d, n));
}

/* (N, g, 1, C/g, axes of x from the third on). */
static const uop *grouped(struct conv_call *c, const uop *x) {
    const struct shape *s = tg_shape(c->g, x);
    int64_t d[SHAPE_MAX] = {c->n, c->groups, 1, c->in};
    for (uint32_t i = 0; i < c->m; i++) d[4 + i] = s->d[2 + i];
    return shaped(c->g, x, d, 4 + c->m);
}

/* x (N, g, 1, C/g, p.., k..) times the weight, added over the axes of the mask, which stay with size 1. */
static const uop *contract(struct conv_call *c, const uop *x, const uop *w, uint32_t mask) {
    int64_t d[SHAPE_MAX] = {1, c->groups, c->out, c->in};
    for (uint32_t i = 0; i < c->m; i++) d[4 + i] = 1, d[4 + c->m + i] = c->size[i];
    const uop *v[2] = {x, shaped(c->g, w, d, 4 + 2 * c->m)};
    tg_broadcast(c->g, v, 2);
    return tg_reduce(c->g, OP_ADD, tg_op2(c->g, OP_MUL, v[0], v[1]), mask);
}

static const uop *finish(struct conv_call *c, const uop *y) {
    int64_t d[SHAPE_MAX] = {c->out * c->groups, 1, 1, 1};
    if (c->bias) y = t_add(c->g, y, shaped(c->g, c->bias, d, 1 + c->m));
    return t_cast(c->g, y, c->dt);
}

static uint32_t window_axes(const struct conv_call *c) { return ((1u << c->m) - 1) << (4 + c->m); }

/* ---- convolution ------------------------------------------------------------------------------------------------ */

static void conv_fits(struct conv_call *c, const uop *padded) {
    for (uint32_t i = 0; i < c->m; i++) {
        int64_t have = tg_shape(c->g, padded)->d[2 + i], need = (c->size[i] - 1) * c->dilation[i] + 1;
        if (have < need)
            tg_bad(c->g,
                   "axis %u of x %s has %lld elements with its padding, the weight %s with dilation %lld "
                   "covers %lld; "
                   "expected at least as many",
                   2 + i, tg_dims(c->g, c->x), (long long)have, tg_dims(c->g, c->w),
                   (long long)c->dilation[i], (long long)need);
    }
}

/* The gradient of x then comes by phases of the stride, or with zeros between its elements. */
static bool is_strided(const struct conv_call *c) {
    for (uint32_t i = 0; i < c->m; i++)
        if (c->stride[i] > 1) return true;
    return false;
}

const uop *t_conv(struct tg *g, const uop *x, const uop *weight, uint32_t axes, const struct t_conv *o) {
    struct conv_call c;
    conv_init(&c, g, x, weight, axes, o, false);
    if (is_strided(&c) && dt_is_float((enum dtype)x->dt)) /* stored, in the order of x */
        conv_init(&c, g, uop1(g->ir, OP_GRAD_STORED, x), weight, axes, o, false);
    if (o->output_padding.n) tg_bad(g, "output padding is for transposed convolutions");
    const uop *p = tg_pad_last(g, c.x, c.pad, axes, tg_like(g, c.x, 0));
    conv_fits(&c, p);
    const uop *win = t_windows(g, grouped(&c, p), c.size, c.stride, c.dilation, axes);
    const uop *y = contract(&c, win, c.w, window_axes(&c) | 1u << 3);
    int64_t d[SHAPE_MAX] = {c.n, c.out * c.groups};
    for (uint32_t i = 0; i < axes; i++) d[2 + i] = tg_shape(g, y)->d[4 + i];
    return finish(&c, shaped(g, y, d, 2 + axes));
}

/* ---- transposed --------------------------------------------------------------------------------------------------- */

/* (C, out/g, k..) as (g, out/g, C/g, k..). */
static const uop *weight_transposed(struct conv_call *c) {
    int64_t d[SHAPE_MAX] = {c->groups, c->in, c->out}, order[SHAPE_MAX] = {0, 2, 1};
    for (uint32_t i = 0; i < c->m; i++) d[3 + i] = c->size[i], order[3 + i] = 3 + i;
    return t_permute(c->g, shaped(c->g, c->w, d, 3 + c->m), order, 3 + c->m);
}

/* By phases of the stride. Gradients are those of the sum as it is defined: convolutions of dy over the positions of x, whose sums have
 * no zeros of phases, and none of what is cropped. (Of 48 x 8 channels, 16 x 17 x 10 positions, crop 1, 2, 3, the sum of
 * the weights' gradient had 18 x 21 x 16 terms, predicates on both factors.) One channel of x alone has no axis of its own in them. */
static const uop *spread_sum(struct conv_call *c, const uop *y, const int64_t *num) {
    const uop *sum = tg_spread_sum(c->g, y, num, c->m, window_axes(c));
    if (!is_strided(c) && c->in == 1) return sum;
    y = tg_nums(c->g, OP_FOLD, y, num, 3 * c->m, ARG_NONE);
    return t_grad_through(c->g, sum, tg_reduce(c->g, OP_ADD, y, window_axes(c)));
}

const uop *t_conv_transpose(struct tg *g, const uop *x, const uop *weight, uint32_t axes,
                            const struct t_conv *o) {
    struct conv_call c;
    int64_t num[3 * SPATIAL_MAX], d[SHAPE_MAX], to[SHAPE_MAX];
    conv_init(&c, g, x, weight, axes, o, true);
    to[0] = c.n, to[1] = c.out * c.groups;
    for (uint32_t i = 0; i < axes; i++) {
        int64_t n = tg_shape(g, c.x)->d[2 + i], *p = num + 3 * i;
        if (n < 1) tg_bad(g, "axis %u of x %s is empty", 2 + i, tg_dims(g, x));
        if (c.extra[i] && c.extra[i] >= RG_MAX(c.stride[i], c.dilation[i]))
            tg_bad(
                g,
                "output padding %lld on axis %u with stride %lld and dilation %lld; expected less than one "
                "of them",
                (long long)c.extra[i], 2 + i, (long long)c.stride[i], (long long)c.dilation[i]);
        p[0] = to[2 + i] = (n - 1) * c.stride[i] + (c.size[i] - 1) * c.dilation[i] + 1 + c.extra[i];
        p[1] = c.stride[i], p[2] = c.dilation[i];
        c.pad[2 * i] = -c.pad[2 * i], c.pad[2 * i + 1] = -c.pad[2 * i + 1]; /* it crops */
    }
    const uop *v = grouped(&c, c.x);
    for (uint32_t i = 0; i < 4 + 2 * axes; i++) d[i] = i < 4 + axes ? tg_shape(g, v)->d[i] : 1;
    const uop *y = contract(&c, shaped(g, v, d, 4 + 2 * axes), weight_transposed(&c), 1u << 3);
    y = shaped(g, spread_sum(&c, y, num), to, 2 + axes);
    return finish(&c, tg_pad_last(g, y, c.pad, axes, tg_like(g, y, 0)));
}
