/* loss.c: how far a prediction is from its target.
 *
 * A loss is computed in float32 at least, element by element, then reduced; only the end is rounded. The class of
 * a target is picked with GATHER, of one logit a row. Its gradient is no scatter: GRAD_THROUGH sends the gradient
 * through the sum of the classes that equal the target, which is a comparison inside the kernel that needs the
 * gradient anyway. Options that a loss does not have are refused, as is a target of another shape: broadcasting one
 * is nearly always a mistake, (N, 1) beside (N).
 * Tests: tests/values/nn.txt through tests/unit/values_ops.c; tests/unit/loss.c (kernels, words for misuse) */
#include "tensor/internal.h"

#include <math.h>

static const uop *add(struct tg *g, const uop *x, const uop *y) { return tg_op2(g, OP_ADD, x, y); }
static const uop *sub(struct tg *g, const uop *x, const uop *y) { return tg_op2(g, OP_SUB, x, y); }
static const uop *mul(struct tg *g, const uop *x, const uop *y) { return tg_op2(g, OP_MUL, x, y); }
static const uop *mul_k(struct tg *g, const uop *x, double k) {
    return k == 1 ? x : tg_op_k(g, OP_MUL, x, k);
}
static const uop *where(struct tg *g, const uop *c, const uop *x, const uop *y) {
    return tg_op3(g, OP_WHERE, c, x, y);
}
static const uop *one_minus(struct tg *g, const uop *x) { return sub(g, tg_like(g, x, 1), x); }

/* ---- what all losses share -------------------------------------------------------------------------------- */

/* dt: what the loss is computed in; out: what it is rounded to. */
struct loss_frame {
    struct tg *g;
    const struct t_loss *o;
    enum dtype dt, out;
    const uop *x, *t;
};

static bool has(const char *options, char c) { return strchr(options, c) != NULL; }

static void check_options(struct tg *g, const struct t_loss *o, const char *options) {
    const char *bad = o->weight && !has(options, 'w')           ? "weight"
                      : o->pos_weight && !has(options, 'p')     ? "pos_weight"
                      : o->smoothing != 0 && !has(options, 's') ? "label_smoothing"
                      : o->ignore && !has(options, 'i')         ? "ignore_index"
                      : o->delta != 0 && !has(options, 'd')     ? "delta"
                                                                : NULL;
    if (bad) tg_bad(g, "this loss has no %s; leave it out", bad);
    if (!(o->smoothing >= 0 && o->smoothing <= 1))
        tg_bad(g, "label_smoothing of %g; expected a share, 0 to 1", o->smoothing);
    if (!(o->delta >= 0)) tg_bad(g, "delta of %g; expected a number above 0 (0 stands for 1)", o->delta);
    if (o->reduction > T_EACH)
        tg_bad(g, "there is no reduction number %d; use RG_MEAN, RG_SUM or RG_EACH", (int)o->reduction);
}

static struct loss_frame begin(struct tg *g, const uop *x, const uop *t, const struct t_loss *o) {
    x = tg_float(g, x), t = tg_value(g, t);
    enum dtype out =
        dt_is_float((enum dtype)t->dt) ? t_promote((enum dtype)x->dt, (enum dtype)t->dt) : (enum dtype)x->dt;
    return (struct loss_frame){
        .g = g, .o = o, .out = out, .dt = out == DT_F64 ? DT_F64 : DT_F32, .x = x, .t = t};
}

/* Both as numbers of one shape, for losses that go element by element. */
static struct loss_frame pairs(struct tg *g, const uop *x, const uop *t, const struct t_loss *o) {
    struct loss_frame f = begin(g, x, t, o);
    if (tg_shape(g, f.x) != tg_shape(g, f.t))
        tg_bad(
            g,
            "a prediction of shape %s and a target of %s; expected one shape (reshape or expand one of them)",
            tg_dims(g, f.x), tg_dims(g, f.t));
    f.x = t_cast(g, f.x, f.dt), f.t = t_cast(g, f.t, f.dt);
    return f;
}

/* y beside the loss of each element. */
static const uop *scaled(const struct loss_frame *f, const uop *each, const uop *y, const char *name) {
    if (!y) return each;
    const struct shape *s = tg_shape(f->g, each), *q = tg_shape(f->g, y);
    bool fits = q->n <= s->n;
    for (uint32_t i = 0; fits && i < q->n; i++)
        fits = q->d[q->n - 1 - i] == 1 || q->d[q->n - 1 - i] == s->d[s->n - 1 - i];
    if (!fits)
        tg_bad(f->g, "a %s of shape %s; expected one that broadcasts to %s", name, tg_dims(f->g, y),
               tg_dims(f->g, each));
    return mul(f->g, each, tg_to_shape(f->g, t_cast(f->g, y, f->dt), s));
}

static const uop *total(struct tg *g, const uop *x) {
    return tg_drop(g, tg_reduce(g, OP_ADD, x, UINT32_MAX), UINT32_MAX, false);
}

/* The end of every loss. `parts`: what the mean divides by, a number or (not NULL) a sum of it. */
static const uop *finish(const struct loss_frame *f, const uop *each, const uop *share, double parts) {
    if (f->o->reduction == T_EACH) return t_cast(f->g, each, f->out);
    const uop *s = total(f->g, each);
    if (f->o->reduction == T_MEAN)
        s = share ? tg_op2(f->g, OP_FDIV, s, total(f->g, share)) : tg_op_k(f->g, OP_FDIV, s, parts);
    return t_cast(f->g, s, f->out);
}

static const uop *finish_all(const struct loss_frame *f, const uop *each) {
    return finish(f, each, NULL, (double)shape_size(tg_shape(f->g, each)));
}

/* ---- classes ----------------------------------------------------------------------------------------------- */

/* One number of each row of x along the class axis, the target's; that axis stays with size 1. */
static const uop *pick(struct tg *g, const uop *x, const uop *target, uint32_t axis) {
    const uop *value = t_gather(g, x, axis, target);
    const struct shape *s = tg_shape(g, x);
    const uop *c = t_cast(g, tg_iota(g, s->d[axis], s->n, axis), (enum dtype)target->dt);
    const uop *hit = tg_op2(g, OP_EQ, tg_to_shape(g, target, s), tg_to_shape(g, c, s));
    return t_grad_through(g, value,
                          tg_reduce(g, OP_ADD, where(g, hit, x, tg_like(g, x, 0)), (uint32_t)1 << axis));
}

static uint32_t class_axis(struct tg *g, const uop *x) {
    const struct shape *s = tg_shape(g, x);
    if (!s->n) tg_bad(g, "a number has no classes; expected (C), (N, C) or (N, C, ..)");
    uint32_t axis = s->n > 1;
    if (!s->d[axis]) tg_bad(g, "shape %s has no classes; expected one at least", tg_dims(g, x));
    return axis;
}

/* The weights of classes along the class axis of x; NULL stays. */
static const uop *class_weight(const struct loss_frame *f, const uop *x, uint32_t axis) {
    const uop *w = f->o->weight;
    if (!w) return NULL;
    const struct shape *s = tg_shape(f->g, x), *q = tg_shape(f->g, w);
    if (q->n != 1 || q->d[0] != s->d[axis])
        tg_bad(f->g, "a weight of shape %s; expected (%lld), one number for each class of %s",
               tg_dims(f->g, w), (long long)s->d[axis], tg_dims(f->g, x));
    int64_t d[SHAPE_MAX];
    for (uint32_t i = 0; i < s->n; i++) d[i] = i == axis ? s->d[axis] : 1;
    return tg_reshape(f->g, t_cast(f->g, w, f->dt), shape_make(&f->g->shapes, d, s->n));
}

/* The target (N, ..) as (N, 1, ..) beside x (N, C, ..). */
static const uop *class_target(struct tg *g, const uop *x, const uop *t, uint32_t axis) {
    const struct shape *s = tg_shape(g, x), *q = tg_shape(g, t);
    bool fits = q->n + 1 == s->n;
    for (uint32_t i = 0; fits && i < q->n; i++) fits = q->d[i] == s->d[i + (i >= axis)];
    if (!fits)
        tg_bad(g, "classes of shape %s for %s; expected the same without the class axis, axis %u",
               tg_dims(g, t), tg_dims(g, x), axis);
    return t_unsqueeze(g, t, axis);
}

/* Which targets count. */
static const uop *counts(const struct loss_frame *f, const uop *t) {
    struct tg *g = f->g;
    const uop *ok = tg_op2(g, OP_NE, t, t_int(g, (enum dtype)t->dt, -100));
    if (!f->o->ignore || f->o->ignore_index == -100) return ok;
    return tg_op2(g, OP_AND, ok, tg_op2(g, OP_NE, t, t_int(g, (enum dtype)t->dt, f->o->ignore_index)));
}

/* Rows: what a class costs is rest - x there. For log-probabilities rest is 0; for logits it is their logsumexp, so that
 * the log-softmax is not made for classes that are not asked for. */
static const uop *by_index(const struct loss_frame *f, const uop *x, const uop *rest, uint32_t axis) {
    struct tg *g = f->g;
    const uop *t = class_target(g, x, f->t, axis);
    t = t_cast(g, t, DT_I64); /* which has a -100 */
    const uop *ok = counts(f, t), *at = where(g, ok, t, tg_like(g, t, 0)), *zero = tg_like(g, x, 0);
    const uop *w = class_weight(f, x, axis), *each = tg_op1(g, OP_NEG, pick(g, x, at, axis));
    if (rest) each = add(g, rest, each);
    const uop *share = NULL;
    if (w) {
        const struct shape *s = tg_shape(g, x);
        share = pick(g, tg_to_shape(g, w, s), at, axis);
        each = mul(g, each, share);
    }
    double e = f->o->smoothing, n = (double)tg_shape(g, x)->d[axis];
    if (e > 0) { /* a share e of the target is spread over all classes */
        uint32_t mask = (uint32_t)1 << axis;
        const uop *all = w ? tg_keep_op(g, OP_MUL, x, w) : x;
        const uop *sum = tg_op1(g, OP_NEG, tg_reduce(g, OP_ADD, all, mask));
        if (rest)
            sum = add(g, sum,
                      w ? mul(g, rest, tg_to_shape(g, tg_reduce(g, OP_ADD, w, mask), tg_shape(g, rest)))
                        : mul_k(g, rest, n));
        each = add(g, mul_k(g, each, 1 - e), mul_k(g, sum, e / n));
    }
    share = share ? where(g, ok, share, zero) : t_cast(g, ok, f->dt);
    each = tg_drop(g, where(g, ok, each, zero), (uint32_t)1 << axis, false);
    return finish(f, each, tg_drop(g, share, (uint32_t)1 << axis, false), 0);
}

/* Targets that are probabilities of every class. */
static const uop *by_share(const struct loss_frame *f, const uop *x, const uop *rest, uint32_t axis) {
    struct tg *g = f->g;
    const struct shape *s = tg_shape(g, x);
    if (tg_shape(g, f->t) != s)
        tg_bad(g,
               "targets of dtype %s are probabilities and have the shape of the prediction, %s; found %s "
               "(classes are integers)",
               tg_dt(f->t), tg_dims(g, x), tg_dims(g, f->t));
    if (f->o->ignore)
        tg_bad(g, "ignore_index names a class, and targets of dtype %s are probabilities", tg_dt(f->t));
    double e = f->o->smoothing, n = (double)s->d[axis];
    const uop *p = t_cast(g, f->t, f->dt), *w = class_weight(f, x, axis);
    if (e > 0) p = tg_op_k(g, OP_ADD, mul_k(g, p, 1 - e), e / n);
    if (w) p = tg_keep_op(g, OP_MUL, p, w);
    const uop *cost = rest ? tg_keep_op(g, OP_SUB, x, rest) : x;
    uint32_t mask = (uint32_t)1 << axis;
    const uop *each = tg_op1(g, OP_NEG, tg_reduce(g, OP_ADD, mul(g, p, cost), mask));
    return finish(f, tg_drop(g, each, mask, false), NULL, (double)shape_size(s) / n);
}

const uop *t_cross_entropy(struct tg *g, const uop *x, const uop *target, const struct t_loss *o) {
    check_options(g, o, "wsi");
    struct loss_frame f = begin(g, x, target, o);
    uint32_t axis = class_axis(g, f.x);
    const uop *w = t_cast(g, f.x, f.dt), *rest = tg_logsumexp(g, w, (uint32_t)1 << axis);
    return dt_is_float((enum dtype)f.t->dt) ? by_share(&f, w, rest, axis) : by_index(&f, w, rest, axis);
}

const uop *t_nll_loss(struct tg *g, const uop *x, const uop *target, const struct t_loss *o) {
    check_options(g, o, "wi");
    struct loss_frame f = begin(g, x, target, o);
    if (dt_is_float((enum dtype)f.t->dt))
        tg_bad(g, "targets of dtype %s; expected classes, integers", tg_dt(f.t));
    return by_index(&f, t_cast(g, f.x, f.dt), NULL, class_axis(g, f.x));
}

/* ---- yes or no ---------------------------------------------------------------------------------------------- */

/* (1 - t) x + c log(1 + e^-x), c = 1 + (w - 1) t with w = pos_weight. For x <= 0 the linear parts cancel to -w t x, and are not computed: beside
 * a large -x the loss of a sure answer would be lost. */
const uop *t_bce_with_logits(struct tg *g, const uop *x, const uop *target, const struct t_loss *o) {
    check_options(g, o, "wp");
    struct loss_frame f = pairs(g, x, target, o);
    const uop *tail = tg_softplus_tail(g, f.x), *hit = f.t;
    if (o->pos_weight) {
        hit = scaled(&f, f.t, t_cast(g, o->pos_weight, f.dt), "pos_weight");
        tail = mul(g, tail, add(g, one_minus(g, f.t), hit));
    }
    const uop *slope =
        where(g, tg_op2(g, OP_LT, tg_like(g, f.x, 0), f.x), one_minus(g, f.t), tg_op1(g, OP_NEG, hit));
    const uop *low = t_detach(g, mul_k(g, tg_op_k(g, OP_MIN, f.x, 0), 0)); /* of -inf NaN, as PyTorch's */
    return finish_all(&f, scaled(&f, add(g, mul(g, slope, f.x), add(g, tail, low)), o->weight, "weight"));
}

/* A logarithm that ends at -100. Its slope is PyTorch's, (p - t) / max(p (1 - p), 1e-12) when both logarithms are
 * summed: near 0 and 1 those of the parabolas here. */
static const uop *log_share(struct tg *g, const uop *p, bool of_rest) {
    const uop *edge = tg_op2(g, OP_LT, mul(g, p, one_minus(g, p)), tg_like(g, p, 1e-12));
    const uop *v = of_rest ? t_log1p(g, tg_op1(g, OP_NEG, p)) : tg_op1(g, OP_LOG, p),
              *end = tg_like(g, p, -100);
    const uop *safe = where(g, edge, tg_like(g, p, 0.5), p), *half = mul_k(g, mul(g, p, p), 0.5);
    const uop *in = of_rest ? t_log1p(g, tg_op1(g, OP_NEG, safe)) : tg_op1(g, OP_LOG, safe);
    const uop *out = of_rest ? tg_op1(g, OP_NEG, half) : sub(g, p, half);
    return t_grad_through(g, where(g, tg_op2(g, OP_LT, v, end), end, v),
                          where(g, edge, mul_k(g, out, 1e12), in));
}

const uop *t_bce(struct tg *g, const uop *x, const uop *target, const struct t_loss *o) {
    check_options(g, o, "w");
    struct loss_frame f = pairs(g, x, target, o);
    const uop *yes = mul(g, f.t, log_share(g, f.x, false)),
              *no = mul(g, one_minus(g, f.t), log_share(g, f.x, true));
    return finish_all(&f, scaled(&f, tg_op1(g, OP_NEG, add(g, yes, no)), o->weight, "weight"));
}

/* ---- distances ------------------------------------------------------------------------------------------------ */

const uop *t_mse_loss(struct tg *g, const uop *x, const uop *target, const struct t_loss *o) {
    check_options(g, o, "");
    struct loss_frame f = pairs(g, x, target, o);
    const uop *d = sub(g, f.x, f.t);
    return finish_all(&f, mul(g, d, d));
}

const uop *t_l1_loss(struct tg *g, const uop *x, const uop *target, const struct t_loss *o) {
    check_options(g, o, "");
    struct loss_frame f = pairs(g, x, target, o);
    return finish_all(&f, tg_op1(g, OP_ABS, sub(g, f.x, f.t)));
}

/* A parabola up to delta, then straight, joined without a corner. Huber's has delta times the slope. */
static const uop *bent(struct tg *g, const uop *x, const uop *target, const struct t_loss *o, bool huber) {
    check_options(g, o, "d");
    struct loss_frame f = pairs(g, x, target, o);
    double k = o->delta != 0 ? o->delta : 1;
    const uop *d = sub(g, f.x, f.t), *a = tg_op1(g, OP_ABS, d);
    const uop *near = mul_k(g, mul(g, d, d), huber ? 0.5 : 0.5 / k);
    const uop *far = mul_k(g, tg_op_k(g, OP_ADD, a, -0.5 * k), huber ? k : 1);
    return finish_all(&f, where(g, tg_op2(g, OP_LE, a, tg_like(g, a, k)), near, far));
}
const uop *t_smooth_l1_loss(struct tg *g, const uop *x, const uop *target, const struct t_loss *o) {
    return bent(g, x, target, o, false);
}
const uop *t_huber_loss(struct tg *g, const uop *x, const uop *target, const struct t_loss *o) {
    return bent(g, x, target, o, true);
}

/* t (log t - x); a probability of 0 costs nothing. */
const uop *t_kl_div(struct tg *g, const uop *x, const uop *target, const struct t_loss *o) {
    check_options(g, o, "");
    struct loss_frame f = pairs(g, x, target, o);
    const uop *none = tg_op_k(g, OP_EQ, f.t, 0), *safe = where(g, none, tg_like(g, f.t, 1), f.t);
    const uop *own = where(g, none, tg_like(g, f.t, 0), mul(g, f.t, tg_op1(g, OP_LOG, safe)));
    return finish_all(&f, sub(g, own, mul(g, f.t, f.x)));
}
