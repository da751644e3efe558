/* reduce.c: sums, extremes, scans, softmax.
 *
 * REDUCE_AXES keeps its axes with size 1; dropping them is a RESHAPE. A sum of 16-bit floats is accumulated in float32 and
 * rounded once by every target, so a plain sum stays in its dtype; formulas of several steps (mean, var, softmax ..)
 * are computed in float32 from the first step to the last and rounded at the end, as in PyTorch.
 * Reducing nothing gives the identity; the greatest of nothing is an error. It is a node like any other reduction, which the planner
 * folds: a constant would forget the parameters that lead to it, and gradients of 0 would become errors.
 * Tests: tests/unit/tensor.c, tests/unit/tensor_errors.c, tests/unit/tensor_grad.c */
#include "tensor/internal.h"

#include <math.h>

/* ---- nodes ---------------------------------------------------------------------------------------------- */

static int64_t count_of(const struct shape *s, uint32_t mask) {
    int64_t n = 1;
    for (uint32_t i = 0; i < s->n; i++) n *= mask >> i & 1 ? s->d[i] : 1;
    return n;
}

static const struct shape *kept_shape(struct tg *g, const struct shape *s, uint32_t mask) {
    int64_t d[SHAPE_MAX];
    for (uint32_t i = 0; i < s->n; i++) d[i] = mask >> i & 1 ? 1 : s->d[i];
    return shape_make(&g->shapes, d, s->n);
}

const uop *tg_reduce(struct tg *g, enum op op, const uop *x, uint32_t mask) {
    const struct shape *s = tg_shape(g, x);
    int64_t axis[SHAPE_MAX];
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n; i++)
        if (mask >> i & 1 && s->d[i] != 1) axis[n++] = i;
    return n ? tg_nums(g, OP_REDUCE_AXES, x, axis, n, ARG_INT(op)) : x;
}

const uop *t_reaches(struct tg *g, const uop *value, const uop *x) {
    if (!dt_is_float((enum dtype)value->dt) || !dt_is_float((enum dtype)x->dt) || tg_uniform(x) || x == value)
        return value;
    const uop *none = tg_drop(g, tg_reduce(g, OP_ADD, tg_wide(g, x), UINT32_MAX), UINT32_MAX, false);
    enum dtype dt = (enum dtype)value->dt, in = tg_is_f8(dt) ? DT_BF16 : dt; /* no sums of 8 bits */
    const uop *sum = tg_op2(g, OP_ADD, t_cast(g, value, in), t_cast(g, none, in));
    return t_grad_through(g, value, t_cast(g, sum, dt));
}

const uop *tg_drop(struct tg *g, const uop *x, uint32_t mask, bool keep) {
    const struct shape *s = tg_shape(g, x);
    int64_t d[SHAPE_MAX];
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n; i++)
        if (keep || !(mask >> i & 1)) d[n++] = s->d[i];
    return tg_reshape(g, x, shape_make(&g->shapes, d, n));
}

/* y, of x's shape with reduced axes of size 1, beside x. */
static const uop *beside(struct tg *g, const uop *y, const uop *x) {
    return tg_shape(g, y)->n ? tg_to_shape(g, y, tg_shape(g, x)) : y;
}

const uop *tg_keep_op(struct tg *g, enum op op, const uop *x, const uop *y) {
    return tg_op2(g, op, x, beside(g, y, x));
}

/* What sums of up to n elements of x are computed in: narrow integers whose sums fit in 32 bits need no more. */
static enum dtype sum_in(const uop *x, int64_t n) {
    int64_t most = x->dt == DT_BOOL                     ? 1
                   : x->dt == DT_I8 || x->dt == DT_U8   ? 255
                   : x->dt == DT_I16 || x->dt == DT_U16 ? 65535
                                                        : INT64_MAX;
    return n > 1 && n <= INT32_MAX / most ? DT_I32 : t_sum_dtype((enum dtype)x->dt);
}

/* ---- plain reductions ------------------------------------------------------------------------------------- */

const uop *t_sum(struct tg *g, const uop *x, const int64_t *axes, uint32_t n, bool keep) {
    x = tg_value(g, x);
    uint32_t mask = tg_axes(g, x, axes, n);
    const uop *in = t_cast(g, x, sum_in(x, count_of(tg_shape(g, x), mask)));
    return t_cast(g, tg_drop(g, tg_reduce(g, OP_ADD, in, mask), mask, keep), t_sum_dtype((enum dtype)x->dt));
}

const uop *t_prod(struct tg *g, const uop *x, const int64_t *axes, uint32_t n, bool keep) {
    x = tg_value(g, x);
    uint32_t mask = tg_axes(g, x, axes, n);
    return tg_drop(g, tg_reduce(g, OP_MUL, t_cast(g, x, t_sum_dtype((enum dtype)x->dt)), mask), mask, keep);
}

static void not_empty(struct tg *g, const uop *x, uint32_t mask, const char *what) {
    const struct shape *s = tg_shape(g, x);
    for (uint32_t i = 0; i < s->n; i++)
        if (mask >> i & 1 && !s->d[i])
            tg_bad(g,
                   "%s over axis %u of shape %s: there is none of nothing; reduce another axis or give it "
                   "elements",
                   what, i, tg_dims(g, x));
}

/* Of bools the greatest is or (ADD) and the least and (MUL). */
const uop *tg_extreme(struct tg *g, const uop *x, uint32_t mask, bool greatest) {
    not_empty(g, x, mask, greatest ? "max" : "min");
    enum op op = x->dt == DT_BOOL ? (greatest ? OP_ADD : OP_MUL) : greatest ? OP_MAX : OP_MIN;
    return tg_reduce(g, op, x, mask);
}

const uop *t_max(struct tg *g, const uop *x, const int64_t *axes, uint32_t n, bool keep) {
    x = tg_value(g, x);
    uint32_t mask = tg_axes(g, x, axes, n);
    return tg_drop(g, tg_extreme(g, x, mask, true), mask, keep);
}

const uop *t_min(struct tg *g, const uop *x, const int64_t *axes, uint32_t n, bool keep) {
    x = tg_value(g, x);
    uint32_t mask = tg_axes(g, x, axes, n);
    return tg_drop(g, tg_extreme(g, x, mask, false), mask, keep);
}

/* Numbers that are 0 where x is, as wide as x: their extremes tell whether any or all are not. Bits of floats without a
 * sign; of a truth that was cast, itself. */
static const uop *truth_bits(struct tg *g, const uop *x) {
    static const enum dtype of_bytes[] = {DT_U8,  DT_U8,  DT_U16, DT_U16, DT_U32,
                                          DT_U32, DT_U32, DT_U32, DT_U64};
    uint32_t bytes = dtype_info[x->dt].bytes;
    if (x->dt == DT_BOOL || x->op == OP_CONST || (x->op == OP_CAST && x->src[0]->dt == DT_BOOL) ||
        (bytes == 1 && dt_is_float((enum dtype)x->dt)))
        return tg_bool(g, x);
    enum dtype dt = of_bytes[bytes];
    const uop *bits = t_bitcast(g, x, dt);
    if (!dt_is_float((enum dtype)x->dt)) return bits;
    return tg_op2(g, OP_AND, bits, uop_int(g->ir, dt, (int64_t)(UINT64_MAX >> (65 - 8 * bytes))));
}

static const uop *truth(struct tg *g, const uop *x, uint32_t mask, bool any) {
    x = tg_value(g, x);
    const uop *bits =
        shape_size(tg_shape(g, x)) ? truth_bits(g, x) : tg_bool(g, x); /* nothing has no extreme */
    enum op op = bits->dt == DT_BOOL ? (any ? OP_ADD : OP_MUL) : any ? OP_MAX : OP_MIN;
    return tg_bool(g, tg_reduce(g, op, bits, mask));
}

const uop *t_any(struct tg *g, const uop *x, const int64_t *axes, uint32_t n, bool keep) {
    uint32_t mask = tg_axes(g, x, axes, n);
    return tg_drop(g, truth(g, x, mask, true), mask, keep);
}

const uop *t_all(struct tg *g, const uop *x, const int64_t *axes, uint32_t n, bool keep) {
    uint32_t mask = tg_axes(g, x, axes, n);
    return tg_drop(g, truth(g, x, mask, false), mask, keep);
}

/* ---- means and variances, in float32 at least --------------------------------------------------------------- */

const uop *tg_mean(struct tg *g, const uop *x, uint32_t mask) {
    double n = (double)count_of(tg_shape(g, x), mask);
    const uop *s = tg_reduce(g, OP_ADD, x, mask);
    return n == 1 ? s : tg_op_k(g, OP_FDIV, s, n);
}

/* Two passes, corrected (Chan, Golub, LeVeque): sum(d^2) - sum(d)^2 / n with d = x - mean does not depend on the mean, so neither its
 * rounding nor its gradient matters: of 1e7 + N(0, 1) the mean is half a unit off, and d is exact. Rounding may leave it below 0. */
static const uop *var_wide(struct tg *g, const uop *x, uint32_t mask, double correction) {
    double n = (double)count_of(tg_shape(g, x), mask);
    const uop *d = tg_keep_op(g, OP_SUB, x, t_detach(g, tg_mean(g, x, mask)));
    const uop *s = tg_reduce(g, OP_ADD, d, mask), *q = tg_reduce(g, OP_ADD, tg_op2(g, OP_MUL, d, d), mask);
    const uop *v = tg_op2(g, OP_SUB, q, tg_op_k(g, OP_FDIV, tg_op2(g, OP_MUL, s, s), n));
    v = tg_op3(g, OP_WHERE, tg_op_k(g, OP_LT, v, 0), tg_like(g, v, 0), v);
    return tg_op_k(g, OP_FDIV, v, RG_MAX(n - correction, 0));
}

const uop *t_mean(struct tg *g, const uop *x, const int64_t *axes, uint32_t n, bool keep) {
    x = tg_float(g, x);
    uint32_t mask = tg_axes(g, x, axes, n);
    return t_cast(g, tg_drop(g, tg_mean(g, tg_wide(g, x), mask), mask, keep), (enum dtype)x->dt);
}

const uop *t_var(struct tg *g, const uop *x, const int64_t *axes, uint32_t n, bool keep, double correction) {
    x = tg_float(g, x);
    uint32_t mask = tg_axes(g, x, axes, n);
    return t_cast(g, tg_drop(g, var_wide(g, tg_wide(g, x), mask, correction), mask, keep), (enum dtype)x->dt);
}

/* A square root whose gradient at 0 is 0 and not infinite: the deviation of equal numbers has PyTorch's gradient. */
const uop *t_std(struct tg *g, const uop *x, const int64_t *axes, uint32_t n, bool keep, double correction) {
    x = tg_float(g, x);
    uint32_t mask = tg_axes(g, x, axes, n);
    const uop *v = var_wide(g, tg_wide(g, x), mask, correction), *zero = tg_like(g, v, 0);
    const uop *none = tg_op2(g, OP_EQ, v, zero);
    const uop *s = tg_op1(g, OP_SQRT, tg_op3(g, OP_WHERE, none, tg_like(g, v, 1), v));
    return t_cast(g, tg_drop(g, tg_op3(g, OP_WHERE, none, zero, s), mask, keep), (enum dtype)x->dt);
}

/* ---- exponentials ----------------------------------------------------------------------------------------------- */

/* The greatest is taken out first, so nothing overflows; it is a constant for the gradient, to which it adds nothing.
 * An infinite one is left in: inf - inf is NaN, and -inf everywhere must give -inf. */
const uop *tg_logsumexp(struct tg *g, const uop *x, uint32_t mask) {
    const uop *m = t_detach(g, tg_extreme(g, x, mask, true));
    const uop *finite = tg_op_k(g, OP_LT, tg_op1(g, OP_ABS, m), INFINITY);
    m = tg_op3(g, OP_WHERE, finite, m, tg_like(g, m, 0));
    const uop *e = tg_op1(g, OP_EXP, tg_keep_op(g, OP_SUB, x, m));
    return tg_op2(g, OP_ADD, tg_op1(g, OP_LOG, tg_reduce(g, OP_ADD, e, mask)), m);
}

const uop *t_logsumexp(struct tg *g, const uop *x, const int64_t *axes, uint32_t n, bool keep) {
    x = tg_float(g, x);
    uint32_t mask = tg_axes(g, x, axes, n);
    if (!count_of(tg_shape(g, x), mask)) { /* log 0 */
        const uop *none = tg_to_shape(g, tg_like(g, x, -INFINITY), kept_shape(g, tg_shape(g, x), mask));
        return t_reaches(g, tg_drop(g, none, mask, keep), x);
    }
    return t_cast(g, tg_drop(g, tg_logsumexp(g, tg_wide(g, x), mask), mask, keep), (enum dtype)x->dt);
}

static uint32_t one_axis(struct tg *g, const uop *x, int64_t axis) {
    if (!tg_shape(g, x)->n && (axis == 0 || axis == -1)) return 0; /* one number is a row of one */
    return (uint32_t)1 << tg_axis(g, x, axis);
}

const uop *t_softmax(struct tg *g, const uop *x, int64_t axis) {
    x = tg_float(g, x);
    uint32_t mask = one_axis(g, x, axis);
    if (!count_of(tg_shape(g, x), mask)) return x;
    const uop *w = tg_wide(g, x),
              *e = tg_op1(g, OP_EXP, tg_keep_op(g, OP_SUB, w, t_detach(g, tg_extreme(g, w, mask, true))));
    /* one division per row, then products: half a unit in the last place for 8 % of the time */
    const uop *scale = tg_op1(g, OP_RECIP, tg_reduce(g, OP_ADD, e, mask));
    return t_cast(g, tg_keep_op(g, OP_MUL, e, scale), (enum dtype)x->dt);
}

const uop *t_log_softmax(struct tg *g, const uop *x, int64_t axis) {
    x = tg_float(g, x);
    uint32_t mask = one_axis(g, x, axis);
    if (!count_of(tg_shape(g, x), mask)) return x;
    const uop *w = tg_wide(g, x), *d = tg_keep_op(g, OP_SUB, w, t_detach(g, tg_extreme(g, w, mask, true)));
    const uop *s = tg_op1(g, OP_LOG, tg_reduce(g, OP_ADD, tg_op1(g, OP_EXP, d), mask));
    return t_cast(g, tg_keep_op(g, OP_SUB, d, s), (enum dtype)x->dt);
}

/* ---- positions --------------------------------------------------------------------------------------------------- */

/* The least position whose value is the extreme, or that is NaN: then the extreme is NaN too and equals nothing. */
static const uop *arg_extreme(struct tg *g, const uop *x, int64_t axis, bool keep, bool greatest) {
    x = tg_value(g, x);
    const struct shape *whole = tg_shape(g, x);
    bool all = axis == T_END;
    if (all) x = t_flatten(g, x, 0, -1), axis = 0;
    if (x->dt == DT_BOOL) x = t_cast(g, x, DT_U8);
    uint32_t rank = tg_shape(g, x)->n, at = tg_axis(g, x, axis), mask = (uint32_t)1 << at;
    int64_t n = tg_shape(g, x)->d[at];
    not_empty(g, x, mask, greatest ? "argmax" : "argmin");
    const uop *hit = tg_keep_op(g, OP_EQ, x, tg_extreme(g, x, mask, greatest));
    if (dt_is_float((enum dtype)x->dt)) hit = tg_op2(g, OP_OR, hit, tg_op2(g, OP_NE, x, x));
    const uop *i = tg_iota(g, n, rank, at);
    i = tg_op3(g, OP_WHERE, hit, tg_to_shape(g, i, tg_shape(g, x)), tg_like(g, i, (double)(n - 1)));
    const uop *r = t_cast(g, tg_reduce(g, OP_MIN, i, mask), DT_I64);
    if (!all) return tg_drop(g, r, mask, keep);
    return tg_reshape(g, r, keep ? kept_shape(g, whole, UINT32_MAX) : shape_make(&g->shapes, NULL, 0));
}

const uop *t_argmax(struct tg *g, const uop *x, int64_t axis, bool keep) {
    return arg_extreme(g, x, axis, keep, true);
}
const uop *t_argmin(struct tg *g, const uop *x, int64_t axis, bool keep) {
    return arg_extreme(g, x, axis, keep, false);
}

/* ---- running sums -------------------------------------------------------------------------------------------------- */

/* Sums of 16-bit floats run in float32; only what comes out is rounded. */
const uop *tg_scan(struct tg *g, enum op op, const uop *x, int64_t axis, enum dtype dt) {
    x = t_cast(g, x, dt);
    if (!tg_shape(g, x)->n && (axis == 0 || axis == -1)) return x;
    int64_t at = tg_axis(g, x, axis);
    if (tg_shape(g, x)->d[at] <= 1) return x;
    const uop *in = tg_is_half(x) && op != OP_MAX && op != OP_MIN ? t_cast(g, x, DT_F32) : x;
    return t_cast(g, tg_nums(g, OP_SCAN_AXIS, in, &at, 1, ARG_INT(op)), dt);
}

const uop *t_cumsum(struct tg *g, const uop *x, int64_t axis) {
    x = tg_value(g, x);
    const struct shape *s = tg_shape(g, x);
    int64_t n = s->n ? s->d[tg_axis(g, x, axis)] : 1;
    return t_cast(g, tg_scan(g, OP_ADD, x, axis, sum_in(x, n)), t_sum_dtype((enum dtype)x->dt));
}

const uop *t_cumprod(struct tg *g, const uop *x, int64_t axis) {
    x = tg_value(g, x);
    return tg_scan(g, OP_MUL, x, axis, t_sum_dtype((enum dtype)x->dt));
}

const uop *t_cummax(struct tg *g, const uop *x, int64_t axis) {
    x = tg_value(g, x);
    return tg_scan(g, x->dt == DT_BOOL ? OP_ADD : OP_MAX, x, axis, (enum dtype)x->dt);
}

const uop *t_cummin(struct tg *g, const uop *x, int64_t axis) {
    x = tg_value(g, x);
    return tg_scan(g, x->dt == DT_BOOL ? OP_MUL : OP_MIN, x, axis, (enum dtype)x->dt);
}

/* s_i = s_i-1 by_i + x_i along an axis. */
const uop *tg_decayed(struct tg *g, const uop *x, const uop *by, int64_t axis) {
    const uop *src[3] = {x, uop_idx(g->ir, axis), by};
    return uop_new(g->ir, OP_SCAN_AXIS, (enum dtype)x->dt, 1, src, 3, ARG_INT(OP_ADD));
}

/* A running sum of e^(x - m) with one m for the whole axis is 0 wherever the numbers so far are much smaller than m. So m is the
 * running maximum, and the sum decays by e^(m before - m) where it grows: of this and e^(x - m) one is 1, where x and the maxima are
 * infinite too. One exponential and one logarithm per element. The gradient is that of e^(x - m) with constant maxima; infinite
 * ones are left in. */
static const uop *running_exp_sum(struct tg *g, const uop *x, const uop *m, uint32_t axis) {
    int64_t pad[2 * SHAPE_MAX] = {0};
    pad[2 * axis] = 1, pad[2 * axis + 1] = -1;
    const uop *before = t_pad(g, m, pad, tg_shape(g, x)->n, -INFINITY), *fixed = t_detach(g, x);
    const uop *e = tg_op1(g, OP_EXP, tg_op2(g, OP_SUB, tg_op2(g, OP_MIN, fixed, before), m));
    const uop *one = tg_like(g, e, 1), *finite = tg_op_k(g, OP_LT, tg_op1(g, OP_ABS, m), INFINITY);
    const uop *term = tg_op3(g, OP_WHERE, tg_op2(g, OP_EQ, fixed, m), one, e);
    const uop *by = tg_op3(g, OP_WHERE, tg_op2(g, OP_EQ, before, m), one, e);
    const uop *less = tg_op2(g, OP_SUB, x, tg_op3(g, OP_WHERE, finite, m, tg_like(g, m, 0)));
    return tg_decayed(g, t_grad_through(g, term, tg_op1(g, OP_EXP, less)), by, axis);
}

const uop *t_logcumsumexp(struct tg *g, const uop *x, int64_t axis) {
    x = tg_float(g, x);
    if (!tg_shape(g, x)->n && (axis == 0 || axis == -1)) return x;
    uint32_t at = tg_axis(g, x, axis);
    if (tg_shape(g, x)->d[at] <= 1 || !shape_size(tg_shape(g, x))) return x;
    const uop *w = tg_wide(g, x), *m = tg_scan(g, OP_MAX, t_detach(g, w), at, (enum dtype)w->dt);
    const uop *sum = running_exp_sum(g, w, m, at);
    return t_cast(g, tg_op2(g, OP_ADD, tg_op1(g, OP_LOG, sum), m), (enum dtype)x->dt);
}
