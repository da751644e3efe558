/* math.c: elementwise functions.
 *
 * Operands are promoted and broadcast, then written with the ops of ops.def. Functions that have no op are built from
 * those that do, so that gradients of any order come from the rules and every kernel can fuse them; how far they may
 * be off is said beside each and in docs/semantics.md. Two rules keep gradients finite where values are: what is
 * computed on the side of a WHERE that is not taken gets a harmless argument (0 * inf is NaN), and a tie is broken in
 * the way that PyTorch breaks it, by the comparison used.
 * Tests: tests/unit/tensor.c (structure), tests/unit/tensor_grad.c (values and gradients), tests/unit/tensor_errors.c */
#include "tensor/internal.h"

#include <math.h>

/* ---- operands ----------------------------------------------------------------------------------------- */

const uop *tg_value(struct tg *g, const uop *x) {
    if (x->dt == DT_VOID) tg_bad(g, "a tensor was expected, found %s", op_info[x->op].name);
    return x->dt == DT_IDX ? t_cast(g, x, DT_I64) : x;
}

const uop *tg_float(struct tg *g, const uop *x) {
    x = tg_value(g, x);
    return dt_is_float((enum dtype)x->dt) ? x : t_cast(g, x, DT_F32);
}

const uop *tg_wide(struct tg *g, const uop *x) {
    x = tg_float(g, x);
    return tg_is_half(x) ? t_cast(g, x, DT_F32) : x;
}

const uop *tg_bool(struct tg *g, const uop *x) {
    x = tg_value(g, x);
    return x->dt == DT_BOOL ? x : tg_op2(g, OP_NE, x, tg_like(g, x, 0));
}

/* One dtype, one shape. */
static void same(struct tg *g, const uop **x, uint32_t n) {
    enum dtype dt = DT_VOID;
    for (uint32_t i = 0; i < n; i++) x[i] = tg_value(g, x[i]), dt = t_promote(dt, (enum dtype)x[i]->dt);
    for (uint32_t i = 0; i < n; i++) x[i] = t_cast(g, x[i], dt);
    tg_broadcast(g, x, n);
}

/* Both as floats. */
static void same_float(struct tg *g, const uop **x) {
    same(g, x, 2);
    x[0] = tg_float(g, x[0]), x[1] = tg_float(g, x[1]);
}

static bool is_float_node(const uop *x) { return dt_is_float((enum dtype)x->dt); }

static void no_floats(struct tg *g, const uop *x, const char *what, bool bools) {
    bool ok = dt_is_int((enum dtype)x->dt) || (bools && x->dt == DT_BOOL);
    if (!ok)
        tg_bad(g, "%s of dtype %s; expected integers%s (cast it)", what, tg_dt(x), bools ? " or bool" : "");
}

static const uop *add(struct tg *g, const uop *x, const uop *y) { return tg_op2(g, OP_ADD, x, y); }
static const uop *sub(struct tg *g, const uop *x, const uop *y) { return tg_op2(g, OP_SUB, x, y); }
static const uop *mul(struct tg *g, const uop *x, const uop *y) { return tg_op2(g, OP_MUL, x, y); }
static const uop *add_k(struct tg *g, const uop *x, double k) { return tg_op_k(g, OP_ADD, x, k); }
static const uop *mul_k(struct tg *g, const uop *x, double k) { return tg_op_k(g, OP_MUL, x, k); }
static const uop *neg(struct tg *g, const uop *x) { return tg_op1(g, OP_NEG, x); }
static const uop *k_sub(struct tg *g, double k, const uop *x) { return sub(g, tg_like(g, x, k), x); }
static const uop *where(struct tg *g, const uop *c, const uop *x, const uop *y) {
    return tg_op3(g, OP_WHERE, c, x, y);
}
static const uop *below(struct tg *g, const uop *x, double k) { return tg_op_k(g, OP_LT, x, k); }
static const uop *above(struct tg *g, const uop *x, double k) {
    return tg_op2(g, OP_LT, tg_like(g, x, k), x);
}

/* ---- one op ----------------------------------------------------------------------------------------------- */

#define FLOAT_OP(name, op) \
    const uop *t_##name(struct tg *g, const uop *x) { return tg_op1(g, op, tg_float(g, x)); }
FLOAT_OP(sqrt, OP_SQRT)
FLOAT_OP(rsqrt, OP_RSQRT)
FLOAT_OP(recip, OP_RECIP)
/* Functions: those of the libm column of ops.def. */
#define FN_NONE(name, op)
#define FN_ALU(name, op)
#define FN_DIV(name, op)
#define FN_FN2(name, op)
#define FN_EX2(name, op) FLOAT_OP(name, op)
#define FN_FN(name, op) FLOAT_OP(name, op)
#define OP(name, min, max, dt, lanes, arg, flags, unit, weight, flops, ulp, libm, doc) \
    FN_##unit(libm, OP_##name)
#include "ir/ops.def"
#undef OP

/* Integers are whole already. */
#define WHOLE_OPS(X) X(floor, FLOOR) X(ceil, CEIL) X(trunc, TRUNC) X(round, ROUND)
#define X(name, op)                                          \
    const uop *t_##name(struct tg *g, const uop *x) {        \
        x = tg_value(g, x);                                  \
        return is_float_node(x) ? tg_op1(g, OP_##op, x) : x; \
    }
WHOLE_OPS(X)
#undef X

/*       function  op   operands swapped */
#define COMPARISONS(X) X(eq, EQ, 0) X(ne, NE, 0) X(lt, LT, 0) X(le, LE, 0) X(gt, LT, 1) X(ge, LE, 1)
#define X(name, op, swap)                                           \
    const uop *t_##name(struct tg *g, const uop *x, const uop *y) { \
        const uop *v[2] = {x, y};                                   \
        same(g, v, 2);                                              \
        return tg_op2(g, OP_##op, v[swap], v[!swap]);               \
    }
COMPARISONS(X)
#undef X

#define LOGIC(X) X(logical_and, AND) X(logical_or, OR) X(logical_xor, XOR)
#define X(name, op)                                                 \
    const uop *t_##name(struct tg *g, const uop *x, const uop *y) { \
        const uop *v[2] = {tg_bool(g, x), tg_bool(g, y)};           \
        tg_broadcast(g, v, 2);                                      \
        return tg_op2(g, OP_##op, v[0], v[1]);                      \
    }
LOGIC(X)
#undef X

#define BITS(X)               \
    X(bitwise_and, AND, true) \
    X(bitwise_or, OR, true) X(bitwise_xor, XOR, true) X(shl, SHL, false) X(shr, SHR, false)
#define X(name, op, bools)                                                  \
    const uop *t_##name(struct tg *g, const uop *x, const uop *y) {         \
        const uop *v[2] = {tg_value(g, x), tg_value(g, y)};                 \
        no_floats(g, v[0], #name, bools), no_floats(g, v[1], #name, bools); \
        same(g, v, 2);                                                      \
        no_floats(g, v[0], #name, bools); /* u64 beside a signed type */    \
        return tg_op2(g, OP_##op, v[0], v[1]);                              \
    }
BITS(X)
#undef X

const uop *t_logical_not(struct tg *g, const uop *x) { return tg_op1(g, OP_NOT, tg_bool(g, x)); }

const uop *t_bitwise_not(struct tg *g, const uop *x) {
    x = tg_value(g, x);
    no_floats(g, x, "bitwise_not", true);
    return tg_op1(g, OP_NOT, x);
}

const uop *t_neg(struct tg *g, const uop *x) {
    x = tg_value(g, x);
    if (x->dt == DT_BOOL) tg_bad(g, "neg of bool; use logical_not, or cast it to a number");
    return neg(g, x);
}

const uop *t_abs(struct tg *g, const uop *x) {
    x = tg_value(g, x);
    return x->dt == DT_BOOL || dtype_info[x->dt].kind == DK_UINT ? x : tg_op1(g, OP_ABS, x);
}

/* What is neither above nor below 0 stays: zeros and NaN. */
const uop *t_sign(struct tg *g, const uop *x) {
    x = tg_value(g, x);
    if (x->dt == DT_BOOL) return x;
    if (dtype_info[x->dt].kind == DK_UINT) return t_cast(g, tg_bool(g, x), (enum dtype)x->dt);
    const uop *pos = where(g, above(g, x, 0), tg_like(g, x, 1), t_detach(g, x));
    return where(g, below(g, x, 0), tg_like(g, x, -1), pos);
}

const uop *t_square(struct tg *g, const uop *x) { return x = tg_value(g, x), mul(g, x, x); }

const uop *t_isnan(struct tg *g, const uop *x) { return x = tg_value(g, x), tg_op2(g, OP_NE, x, x); }

const uop *t_isinf(struct tg *g, const uop *x) {
    x = tg_value(g, x);
    if (!is_float_node(x)) return tg_op2(g, OP_NE, x, x); /* never, with x's shape */
    return tg_op_k(g, OP_EQ, tg_op1(g, OP_ABS, x), INFINITY);
}

const uop *t_isfinite(struct tg *g, const uop *x) {
    x = tg_value(g, x);
    if (!is_float_node(x)) return tg_op2(g, OP_EQ, x, x);
    return below(g, tg_op1(g, OP_ABS, x), INFINITY);
}

/* ---- exponentials and logarithms --------------------------------------------------------------------------- */

/* Near 0 the series x + x^2/2 + x^3/6 .., elsewhere e^x - 1, whose gradient is e^x. At most 4 ulp. */
const uop *t_expm1(struct tg *g, const uop *x) {
    x = tg_float(g, x);
    const uop *in = tg_wide(g, x), *near = below(g, tg_op1(g, OP_ABS, in), 0.35), *z = tg_like(g, in, 0);
    const uop *s = where(g, near, in, z);
    int terms = in->dt == DT_F64 ? 14 : 9;
    double c[16] = {0, 1};
    for (int i = 2; i <= terms; i++) c[i] = c[i - 1] / i;
    const uop *p = tg_like(g, in, c[terms]);
    for (int i = terms - 1; i >= 2; i--) p = add_k(g, mul(g, p, s), c[i]);
    p = add(g, s, mul(g, mul(g, s, s), p));
    return t_cast(g, where(g, near, p, add_k(g, tg_op1(g, OP_EXP, in), -1)), (enum dtype)x->dt);
}

/* With u = 1 + x as rounded, log(1 + x) = log u + log((1+x)/u), and the second term is what rounding lost, over u: a
 * constant for the gradient, which is 1/u. At most 4 ulp. Where log u is not finite there is nothing to correct. */
const uop *t_log1p(struct tg *g, const uop *x) {
    x = tg_float(g, x);
    const uop *in = tg_wide(g, x), *u = add_k(g, in, 1), *l = tg_op1(g, OP_LOG, u);
    const uop *lost = tg_op2(g, OP_FDIV, sub(g, in, add_k(g, u, -1)), u);
    const uop *fix = where(g, below(g, tg_op1(g, OP_ABS, l), INFINITY), lost, tg_like(g, in, 0));
    return t_cast(g, add(g, l, t_detach(g, fix)), (enum dtype)x->dt);
}

/* log(1 + e^-|x|) of a wide x: the exponential never overflows. The slope of -|x| at 0 is 1, where that of max(x, 0) is 0: together the
 * 1/2 that softplus has there. */
const uop *tg_softplus_tail(struct tg *g, const uop *x) {
    return t_log1p(g, tg_op1(g, OP_EXP, where(g, above(g, x, 0), neg(g, x), x)));
}

static const uop *softplus(struct tg *g, const uop *x) {
    return add(g, tg_op_k(g, OP_MAX, x, 0), tg_softplus_tail(g, x));
}

const uop *t_softplus(struct tg *g, const uop *x) {
    x = tg_float(g, x);
    return t_cast(g, softplus(g, tg_wide(g, x)), (enum dtype)x->dt);
}

const uop *t_logsigmoid(struct tg *g, const uop *x) {
    x = tg_float(g, x);
    return t_cast(g, neg(g, softplus(g, neg(g, tg_wide(g, x)))), (enum dtype)x->dt);
}

/* The difference of equals is 0 even where both are infinite. */
const uop *t_logaddexp(struct tg *g, const uop *x, const uop *y) {
    const uop *v[2] = {x, y};
    same_float(g, v);
    enum dtype dt = (enum dtype)v[0]->dt;
    v[0] = tg_wide(g, v[0]), v[1] = tg_wide(g, v[1]);
    const uop *d = where(g, tg_op2(g, OP_EQ, v[0], v[1]), tg_like(g, v[0], 0), sub(g, v[0], v[1]));
    const uop *tail = t_log1p(g, tg_op1(g, OP_EXP, neg(g, tg_op1(g, OP_ABS, d))));
    return t_cast(g, add(g, tg_op2(g, OP_MAX, v[0], v[1]), tail), dt);
}

/* Hyperbolic functions are differences of exponentials or logarithms of one. Written so that the value does not cancel, a derivative
 * still may: the second of sinh is sinh, but comes out as e^x - e^-x. Near 0 they are their Taylor series, whose derivatives
 * are series too: sum of c[i] x^2i, times x if the function is odd, from c[0] = 1 and the ratio of c[i + 1] to c[i]. */
enum { SERIES_TERMS_F32 = 6, SERIES_TERMS_F64 = 11 }; /* |x| <= 1/8: the next one is below the last bit */

static double sinh_ratio(double i) { return 1 / ((2 * i + 2) * (2 * i + 3)); }
static double cosh_ratio(double i) { return 1 / ((2 * i + 1) * (2 * i + 2)); }
static double asinh_ratio(double i) { return -(2 * i + 1) * (2 * i + 1) / ((2 * i + 2) * (2 * i + 3)); }
static double atanh_ratio(double i) { return (2 * i + 1) / (2 * i + 3); }

static const uop *near_zero(struct tg *g, const uop *x, bool odd, double (*ratio)(double), const uop *y) {
    int n = x->dt == DT_F64 ? SERIES_TERMS_F64 : SERIES_TERMS_F32;
    double c[SERIES_TERMS_F64] = {1};
    for (int i = 1; i < n; i++) c[i] = c[i - 1] * ratio(i - 1);
    const uop *near = tg_op2(g, OP_LE, tg_op1(g, OP_ABS, x), tg_like(g, x, 0.125));
    const uop *a = where(g, near, x, tg_like(g, x, 0)), *s = mul(g, a, a), *sum = tg_like(g, x, c[n - 1]);
    for (int i = n - 2; i >= 0; i--) sum = add_k(g, mul(g, sum, s), c[i]);
    return where(g, near, odd ? mul(g, a, sum) : sum, y);
}

/* e^x - 1 and 1 - e^-x have one sign, so nothing cancels. Overflows where e^x does. */
static const uop *sinh_wide(struct tg *g, const uop *x) {
    const uop *d = sub(g, t_expm1(g, x), t_expm1(g, neg(g, x)));
    return near_zero(g, x, true, sinh_ratio, mul_k(g, d, 0.5));
}

static const uop *cosh_wide(struct tg *g, const uop *x) {
    const uop *s = add(g, tg_op1(g, OP_EXP, x), tg_op1(g, OP_EXP, neg(g, x)));
    return near_zero(g, x, false, cosh_ratio, mul_k(g, s, 0.5));
}

/* ---- inverse circular functions ------------------------------------------------------------------------------ */

/* |x| <= 1. Halving the angle twice, atan x = 2 atan(x / (1 + sqrt(1 + x^2))), leaves |x| <= tan(pi/16), where the
 * series is short; gradients of the halving and of the series are those of atan. At most 6 ulp. */
static const uop *atan_core(struct tg *g, const uop *x) {
    for (int i = 0; i < 2; i++) {
        const uop *r = tg_op1(g, OP_SQRT, add_k(g, mul(g, x, x), 1));
        x = tg_op2(g, OP_FDIV, x, add_k(g, r, 1));
    }
    int terms = x->dt == DT_F64 ? 11 : 5;
    const uop *s = mul(g, x, x), *p = tg_like(g, x, (terms % 2 ? -1.0 : 1.0) / (2 * terms + 1));
    for (int i = terms - 1; i >= 1; i--) p = add_k(g, mul(g, p, s), (i % 2 ? -1.0 : 1.0) / (2 * i + 1));
    return mul_k(g, add(g, x, mul(g, mul(g, x, s), p)), 4);
}

/* Beyond 1 it is a right angle less the arc tangent of 1/x. */
const uop *t_atan(struct tg *g, const uop *x) {
    x = tg_float(g, x);
    const uop *in = tg_wide(g, x), *far = tg_op2(g, OP_LT, tg_like(g, in, 1), tg_op1(g, OP_ABS, in));
    const uop *big = tg_op1(g, OP_RECIP, where(g, far, in, tg_like(g, in, 1)));
    const uop *a = atan_core(g, where(g, far, big, in));
    const uop *right = where(g, below(g, in, 0), tg_like(g, in, -M_PI_2), tg_like(g, in, M_PI_2));
    return t_cast(g, where(g, far, sub(g, right, a), a), (enum dtype)x->dt);
}

/* Up to 1/2 sqrt(1 - x^2), whose gradients are odd and even in x as they should be; above sqrt(1-x) sqrt(1+x): no
 * cancellation, and at +-1 the gradient is an infinity and not 0 times one. `small` is x up to 1/2, else 0. */
static const uop *cosine_of(struct tg *g, const uop *x, const uop *near, const uop *small) {
    const uop *beyond = where(g, near, tg_like(g, x, 0), x);
    const uop *far = mul(g, tg_op1(g, OP_SQRT, k_sub(g, 1, beyond)), tg_op1(g, OP_SQRT, add_k(g, beyond, 1)));
    return where(g, near, tg_op1(g, OP_SQRT, k_sub(g, 1, mul(g, small, small))), far);
}

static const uop *is_small(struct tg *g, const uop *x) {
    return tg_op2(g, OP_LE, tg_op1(g, OP_ABS, x), tg_like(g, x, 0.5));
}

const uop *t_asin(struct tg *g, const uop *x) {
    x = tg_float(g, x);
    const uop *in = tg_wide(g, x), *near = is_small(g, in);
    const uop *c = cosine_of(g, in, near, where(g, near, in, tg_like(g, in, 0)));
    return t_cast(g, mul_k(g, atan_core(g, tg_op2(g, OP_FDIV, in, add_k(g, c, 1))), 2), (enum dtype)x->dt);
}

/* Up to 1/2 a right angle less the arc sine; above 2 atan(sqrt(1-a)/sqrt(1+a)) of a = |x|, and its supplement where x is
 * negative. */
const uop *t_acos(struct tg *g, const uop *x) {
    x = tg_float(g, x);
    const uop *in = tg_wide(g, x), *zero = tg_like(g, in, 0), *near = is_small(g, in),
              *left = below(g, in, 0);
    const uop *small = where(g, near, in, zero), *beyond = where(g, near, tg_like(g, in, 0.5), in);
    const uop *c = tg_op1(g, OP_SQRT, k_sub(g, 1, mul(g, small, small)));
    const uop *a = where(g, left, neg(g, beyond), beyond);
    const uop *q = tg_op2(g, OP_FDIV, tg_op1(g, OP_SQRT, k_sub(g, 1, a)), tg_op1(g, OP_SQRT, add_k(g, a, 1)));
    const uop *t = mul_k(g, atan_core(g, where(g, near, tg_op2(g, OP_FDIV, small, add_k(g, c, 1)), q)), 2);
    const uop *whole = where(g, near, tg_like(g, in, M_PI_2), where(g, left, tg_like(g, in, M_PI), zero));
    return t_cast(g, where(g, tg_op2(g, OP_OR, near, left), sub(g, whole, t), t), (enum dtype)x->dt);
}

/* ---- inverse hyperbolic functions ---------------------------------------------------------------------------- */

/* Odd functions are those of |x| with x's sign, written so that the slope at 0 is that of the positive side. */
static const uop *odd(struct tg *g, const uop *x, const uop *(*f)(struct tg *, const uop *)) {
    const uop *left = below(g, x, 0), *y = f(g, where(g, left, neg(g, x), x));
    return where(g, left, neg(g, y), y);
}

/* Where squares would overflow both are log(2x), as far as the type can tell. */
static const uop *far(struct tg *g, const uop *x) { return above(g, x, x->dt == DT_F64 ? 0x1p28 : 0x1p13); }
static const uop *or_log2x(struct tg *g, const uop *big, const uop *x, const uop *y) {
    return where(g, big, add_k(g, tg_op1(g, OP_LOG, where(g, big, x, tg_like(g, x, 1))), M_LN2), y);
}

/* log(x + sqrt(x^2 + 1)) of 0 and more. */
static const uop *asinh_core(struct tg *g, const uop *x) {
    const uop *big = far(g, x), *a = where(g, big, tg_like(g, x, 0), x), *s = mul(g, a, a);
    const uop *r = add_k(g, tg_op1(g, OP_SQRT, add_k(g, s, 1)), 1);
    return or_log2x(g, big, x, t_log1p(g, add(g, a, tg_op2(g, OP_FDIV, s, r))));
}
static const uop *asinh_wide(struct tg *g, const uop *x) {
    return near_zero(g, x, true, asinh_ratio, odd(g, x, asinh_core));
}

static const uop *acosh_wide(struct tg *g, const uop *x) {
    const uop *big = far(g, x), *a = where(g, big, tg_like(g, x, 2), x), *t = add_k(g, a, -1);
    const uop *r = mul(g, tg_op1(g, OP_SQRT, t), tg_op1(g, OP_SQRT, add_k(g, a, 1)));
    return or_log2x(g, big, x, t_log1p(g, add(g, t, r)));
}

static const uop *atanh_core(struct tg *g, const uop *x) {
    return mul_k(g, t_log1p(g, tg_op2(g, OP_FDIV, mul_k(g, x, 2), k_sub(g, 1, x))), 0.5);
}
static const uop *atanh_wide(struct tg *g, const uop *x) {
    return near_zero(g, x, true, atanh_ratio, odd(g, x, atanh_core));
}

#define HYPERBOLIC(X) X(sinh) X(cosh) X(asinh) X(acosh) X(atanh)
#define X(name)                                                             \
    const uop *t_##name(struct tg *g, const uop *x) {                       \
        x = tg_float(g, x);                                                 \
        return t_cast(g, name##_wide(g, tg_wide(g, x)), (enum dtype)x->dt); \
    }
HYPERBOLIC(X)
#undef X

/* ---- activations ------------------------------------------------------------------------------------------------ */

/* Below: gradients at the corners are PyTorch's, which the comparisons decide; NaN comes out as NaN. */
const uop *t_relu(struct tg *g, const uop *x) { return x = tg_value(g, x), tg_op_k(g, OP_MAX, x, 0); }

static const uop *cap(struct tg *g, const uop *x, double hi) { /* the corner belongs to the constant */
    const uop *k = tg_like(g, x, hi);
    return where(g, tg_op2(g, OP_LE, k, x), k, x);
}

const uop *t_relu6(struct tg *g, const uop *x) { return cap(g, t_relu(g, x), 6); }

const uop *t_hardtanh(struct tg *g, const uop *x, double lo, double hi) {
    x = tg_value(g, x);
    if (!(lo <= hi)) tg_bad(g, "hardtanh from %g to %g: expected the lesser number first", lo, hi);
    const uop *k = tg_like(g, x, lo);
    return where(g, tg_op2(g, OP_LE, x, k), k, cap(g, x, hi));
}

const uop *t_leaky_relu(struct tg *g, const uop *x, double slope) {
    x = tg_float(g, x);
    return where(g, above(g, x, 0), x, mul_k(g, x, slope));
}

/* scale * x above 0, scale * alpha * (e^(x / width) - 1) below. */
static const uop *elu(struct tg *g, const uop *x, double alpha, double width, double scale) {
    x = tg_float(g, x);
    const uop *in = tg_wide(g, x), *pos = above(g, in, 0), *low = where(g, pos, tg_like(g, in, 0), in);
    if (width != 1) low = tg_op_k(g, OP_FDIV, low, width);
    const uop *up = scale == 1 ? in : mul_k(g, in, scale);
    return t_cast(g, where(g, pos, up, mul_k(g, t_expm1(g, low), alpha * scale)), (enum dtype)x->dt);
}

const uop *t_elu(struct tg *g, const uop *x, double alpha) { return elu(g, x, alpha, 1, 1); }

const uop *t_celu(struct tg *g, const uop *x, double alpha) {
    if (alpha == 0 || alpha != alpha) tg_bad(g, "celu with alpha %g; expected a number that is not 0", alpha);
    return elu(g, x, alpha, alpha, 1);
}

/* The two numbers make the mean 0 and the variance 1 a fixed point (Klambauer et al. 2017). */
const uop *t_selu(struct tg *g, const uop *x) { return elu(g, x, 1.6732632423543772, 1, 1.0507009873554805); }

/* Formulas of several ops: 16-bit floats are computed in float32 and rounded once, as in PyTorch. */
static const uop *silu(struct tg *g, const uop *x) { return mul(g, x, tg_op1(g, OP_SIGMOID, x)); }

static const uop *gelu(struct tg *g, const uop *x) {
    const uop *e = tg_op1(g, OP_ERF, mul_k(g, x, M_SQRT1_2));
    return mul(g, mul_k(g, x, 0.5), add_k(g, e, 1));
}

/* x (1 + tanh u) / 2, which is x sigmoid(2 u): where x is far below 0 nothing cancels. */
static const uop *gelu_tanh(struct tg *g, const uop *x) {
    const uop *in = add(g, x, mul_k(g, mul(g, mul(g, x, x), x), 0.044715));
    return mul(g, x, tg_op1(g, OP_SIGMOID, mul_k(g, in, 2 * M_2_SQRTPI * M_SQRT1_2)));
}

static const uop *mish(struct tg *g, const uop *x) { return mul(g, x, tg_op1(g, OP_TANH, softplus(g, x))); }

static const uop *hardsigmoid(struct tg *g, const uop *x) {
    return tg_op_k(g, OP_FDIV, t_relu6(g, add_k(g, x, 3)), 6);
}

/* Divided before it is multiplied: 6 * x may overflow where x does not. */
static const uop *hardswish(struct tg *g, const uop *x) { return mul(g, x, hardsigmoid(g, x)); }

static const uop *quick_gelu(struct tg *g, const uop *x) {
    return mul(g, x, tg_op1(g, OP_SIGMOID, mul_k(g, x, 1.702)));
}

static const uop *softsign(struct tg *g, const uop *x) {
    return tg_op2(g, OP_FDIV, x, add_k(g, tg_op1(g, OP_ABS, x), 1));
}

#define WIDE(X) X(silu) X(gelu) X(gelu_tanh) X(mish) X(hardsigmoid) X(hardswish) X(quick_gelu) X(softsign)
#define X(name)                                                      \
    const uop *t_##name(struct tg *g, const uop *x) {                \
        x = tg_float(g, x);                                          \
        return t_cast(g, name(g, tg_wide(g, x)), (enum dtype)x->dt); \
    }
WIDE(X)
#undef X

const uop *t_glu(struct tg *g, const uop *x, int64_t axis) {
    x = tg_float(g, x);
    uint32_t at = tg_axis(g, x, axis), rank = tg_shape(g, x)->n;
    int64_t n = tg_shape(g, x)->d[at];
    if (n % 2)
        tg_bad(g, "glu splits axis %u of shape %s in two, but its size is odd; expected an even one", at,
               tg_dims(g, x));
    struct t_slice part[SHAPE_MAX];
    for (uint32_t i = 0; i < rank; i++) part[i] = (struct t_slice){.stop = T_END};
    part[at].stop = n / 2;
    const uop *w = tg_wide(g, x), *a = t_slice(g, w, part, rank);
    part[at] = (struct t_slice){.start = n / 2, .stop = n};
    return t_cast(g, mul(g, a, tg_op1(g, OP_SIGMOID, t_slice(g, w, part, rank))), (enum dtype)x->dt);
}

/* ---- arithmetic ------------------------------------------------------------------------------------------------- */

#define ARITHMETIC(X) X(add, ADD) X(mul, MUL)
#define X(name, op)                                                 \
    const uop *t_##name(struct tg *g, const uop *x, const uop *y) { \
        const uop *v[2] = {x, y};                                   \
        same(g, v, 2);                                              \
        return tg_op2(g, OP_##op, v[0], v[1]);                      \
    }
ARITHMETIC(X)
#undef X

const uop *t_sub(struct tg *g, const uop *x, const uop *y) {
    const uop *v[2] = {x, y};
    same(g, v, 2);
    if (v[0]->dt == DT_BOOL) tg_bad(g, "sub of bool and bool; use logical_xor, or cast to a number");
    return sub(g, v[0], v[1]);
}

/* Greatest and least of bools are or and and. */
static const uop *extreme(struct tg *g, enum op op, enum op of_bool, const uop *x, const uop *y) {
    const uop *v[2] = {x, y};
    same(g, v, 2);
    return tg_op2(g, v[0]->dt == DT_BOOL ? of_bool : op, v[0], v[1]);
}
const uop *t_maximum(struct tg *g, const uop *x, const uop *y) { return extreme(g, OP_MAX, OP_OR, x, y); }
const uop *t_minimum(struct tg *g, const uop *x, const uop *y) { return extreme(g, OP_MIN, OP_AND, x, y); }

const uop *t_div(struct tg *g, const uop *x, const uop *y) {
    const uop *v[2] = {x, y};
    same_float(g, v);
    return tg_op2(g, OP_FDIV, v[0], v[1]);
}

/* r is not 0 and on the other side of 0 than x. */
static const uop *sign_differs(struct tg *g, const uop *r, const uop *x) {
    const uop *zero = tg_like(g, r, 0);
    const uop *sides = tg_op2(g, OP_NE, tg_op2(g, OP_LT, r, zero), tg_op2(g, OP_LT, x, zero));
    return tg_op2(g, OP_AND, tg_op2(g, OP_NE, r, zero), sides);
}

/* x - q*y with q the whole part of x/y as rounded; *quotient: q. One fused multiply-subtract makes it exact: where q has n bits and
 * x/y more, what is left is below y * ulp(q) and a multiple of ulp(y) * ulp(q). */
static const uop *reduce_once(struct tg *g, const uop *x, const uop *y, const uop **quotient) {
    const uop *q = *quotient = tg_op1(g, OP_TRUNC, tg_op2(g, OP_FDIV, x, y));
    const uop *r = tg_op3(g, OP_FMA, neg(g, q), y, x);
    return where(g, tg_op2(g, OP_EQ, q, tg_like(g, x, 0)), x, r); /* an infinite y: 0 * inf is no remainder */
}

/* Negated where s is below 0: its own inverse. */
static const uop *by_sign_of(struct tg *g, const uop *s, const uop *x) {
    return where(g, below(g, s, 0), neg(g, x), x);
}

/* x - trunc(x/y)*y of floats that are not negative, or of -0.0. Each reduction takes 23 bits off the quotient (52 in f64): exact while
 * |x/y| is below 2^69 (2^104), which all integers are. The last may be one off when the quotient is close to a whole number, which
 * the remainder shows by its sign or size. */
static const uop *fmod_positive(struct tg *g, const uop *x, const uop *y) {
    const uop *rest, *r = reduce_once(g, x, y, &rest);
    for (int i = x->dt == DT_F64 ? 1 : 0; i < 2; i++) r = reduce_once(g, r, y, &rest);
    const uop *over = below(g, r, 0), *under = tg_op2(g, OP_LE, y, r);
    return where(g, over, add(g, r, y), where(g, under, sub(g, r, y), r));
}

/* With the sign of x, a zero too, as C's. 16-bit floats are computed in float32. */
static const uop *fmod_float(struct tg *g, const uop *x, const uop *y) {
    return by_sign_of(g, x, fmod_positive(g, by_sign_of(g, x, x), by_sign_of(g, y, y)));
}

/* With the sign of y, a zero too, as Python's: a remainder below 0 is one y short, and -0.0 + 0 is 0. */
static const uop *mod_float(struct tg *g, const uop *x, const uop *y) {
    const uop *size = by_sign_of(g, y, y), *m = fmod_float(g, by_sign_of(g, y, x), size);
    return by_sign_of(g, y, add(g, where(g, below(g, m, 0), size, tg_like(g, m, 0)), m));
}

/* The quotient of what is a multiple, so rounding finds it, one less where the remainder has the other sign (the
 * remainder itself would be infinite beside an infinite y); x/0 is an infinity or NaN, a finite x by too small a y an infinity, and a
 * quotient of 0 has its sign. No gradient, as of a floor. */
static const uop *floordiv_float(struct tg *g, const uop *x, const uop *y) {
    const uop *m = fmod_float(g, x, y), *q = tg_op1(g, OP_ROUND, tg_op2(g, OP_FDIV, sub(g, x, m), y));
    const uop *zero = tg_like(g, y, 0), *by_zero = tg_op2(g, OP_EQ, y, zero);
    const uop *ratio = t_detach(g, tg_op2(g, OP_FDIV, x, y));
    const uop *over = tg_op2(g, OP_AND, t_isfinite(g, x), t_isinf(g, ratio));
    q = where(g, sign_differs(g, m, y), add_k(g, q, -1), q);
    q = where(g, tg_op2(g, OP_EQ, q, zero), mul(g, ratio, zero), q);
    return where(g, tg_op2(g, OP_OR, by_zero, over), ratio, q);
}

static const uop *fmod_int(struct tg *g, const uop *x, const uop *y) {
    const uop *m = tg_op2(g, OP_MOD, x, y);
    return dtype_info[x->dt].kind == DK_UINT ? m : where(g, sign_differs(g, m, x), sub(g, m, y), m);
}
static const uop *mod_int(struct tg *g, const uop *x, const uop *y) { return tg_op2(g, OP_MOD, x, y); }
static const uop *floordiv_int(struct tg *g, const uop *x, const uop *y) { return tg_op2(g, OP_IDIV, x, y); }

#define DIVISIONS(X) X(floordiv) X(mod) X(fmod)
#define X(name)                                                                              \
    const uop *t_##name(struct tg *g, const uop *x, const uop *y) {                          \
        const uop *v[2] = {x, y};                                                            \
        same(g, v, 2);                                                                       \
        if (v[0]->dt == DT_BOOL) tg_bad(g, #name " of bool and bool; cast one to a number"); \
        if (!is_float_node(v[0])) return name##_int(g, v[0], v[1]);                          \
        enum dtype dt = (enum dtype)v[0]->dt;                                                \
        return t_cast(g, name##_float(g, tg_wide(g, v[0]), tg_wide(g, v[1])), dt);           \
    }
DIVISIONS(X)
#undef X

/* ---- powers -------------------------------------------------------------------------------------------------------- */

/* x^n by squaring; n >= 1. */
static const uop *power(struct tg *g, const uop *x, int64_t n) {
    const uop *r = NULL;
    for (; n; n >>= 1) {
        if (n & 1) r = r ? mul(g, r, x) : x;
        if (n > 1) x = mul(g, x, x);
    }
    return r;
}

/* Integers wrap. A negative exponent leaves 1/x cut to a whole number: 1 and -1 have one, all others give 0. */
static const uop *pow_int(struct tg *g, const uop *x, const uop *e) {
    bool sign = dtype_info[x->dt].kind == DK_INT;
    const uop *one = tg_like(g, x, 1), *zero = tg_like(g, x, 0), *r = one, *square = x;
    if (uop_is_int_const(e, 0)) return tg_to_shape(g, one, tg_shape(g, x));
    if (e->op == OP_CONST && e->arg.i > 0) return power(g, x, e->arg.i);
    int bits = dtype_info[x->dt].bytes * 8 - sign;
    for (int i = 0; i < bits; i++) {
        const uop *bit = tg_op2(g, OP_AND, tg_op2(g, OP_SHR, e, tg_like(g, e, i)), one);
        r = mul(g, r, where(g, tg_op2(g, OP_EQ, bit, one), square, one));
        if (i + 1 < bits) square = mul(g, square, square);
    }
    if (!sign) return r;
    const uop *odd = tg_op2(g, OP_EQ, tg_op2(g, OP_AND, e, one), one), *minus = tg_like(g, x, -1);
    const uop *inverse = where(g, tg_op2(g, OP_EQ, x, one), one,
                               where(g, tg_op2(g, OP_EQ, x, minus), where(g, odd, minus, one), zero));
    return where(g, tg_op2(g, OP_LT, e, zero), inverse, r);
}

/* x^2 and x^3 are products, as in PyTorch; x^1 is x. */
const uop *t_pow(struct tg *g, const uop *x, const uop *e) {
    const uop *v[2] = {x, e};
    same(g, v, 2);
    if (v[0]->dt == DT_BOOL) tg_bad(g, "pow of bool and bool; cast one to a number");
    if (!is_float_node(v[0])) return pow_int(g, v[0], v[1]);
    double k = v[1]->op == OP_CONST ? v[1]->arg.f : 0;
    if (k == 1 || k == 2) return power(g, v[0], (int64_t)k);
    if (k == 3) return t_cast(g, power(g, tg_wide(g, v[0]), 3), (enum dtype)v[0]->dt);
    return tg_op2(g, OP_POW, v[0], v[1]);
}

/* The sign of a zero shows in its reciprocal, that of an infinity in itself. */
const uop *t_copysign(struct tg *g, const uop *x, const uop *y) {
    const uop *v[2] = {x, y};
    same_float(g, v);
    const uop *a = tg_op1(g, OP_ABS, v[0]);
    const uop *negative = tg_op2(g, OP_OR, below(g, v[1], 0), below(g, tg_op1(g, OP_RECIP, v[1]), 0));
    return where(g, negative, neg(g, a), a);
}

/* ---- choices -------------------------------------------------------------------------------------------------------- */

const uop *t_where(struct tg *g, const uop *c, const uop *x, const uop *y) {
    const uop *v[3] = {c, x, y};
    if (c->dt != DT_BOOL)
        tg_bad(g, "a condition of dtype %s; expected bool: compare it with something", tg_dt(c));
    same(g, v + 1, 2);
    tg_broadcast(g, v, 3);
    return where(g, v[0], v[1], v[2]);
}

/* Where x is a bound already the gradient passes; a bound that is NaN gives NaN. hi wins over lo. */
static const uop *clamp_side(struct tg *g, const uop *x, const uop *bound, bool low) {
    const uop *v[2] = {x, bound};
    tg_broadcast(g, v, 2);
    const uop *past = low ? tg_op2(g, OP_LT, v[0], v[1]) : tg_op2(g, OP_LT, v[1], v[0]);
    if (is_float_node(bound) && bound->op != OP_CONST)
        past = tg_op2(g, OP_OR, past, tg_op2(g, OP_NE, v[1], v[1]));
    return where(g, past, v[1], v[0]);
}

const uop *t_clamp(struct tg *g, const uop *x, const uop *lo, const uop *hi) {
    if (!lo && !hi) tg_bad(g, "clamp without bounds; give lo, hi or both");
    x = tg_value(g, x);
    enum dtype dt = (enum dtype)x->dt;
    if (lo) dt = t_promote(dt, (enum dtype)lo->dt);
    if (hi) dt = t_promote(dt, (enum dtype)hi->dt);
    x = t_cast(g, x, dt);
    if (lo) x = clamp_side(g, x, t_cast(g, lo, dt), true);
    if (hi) x = clamp_side(g, x, t_cast(g, hi, dt), false);
    return x;
}

/* From the nearer end, so that w = 1 gives b exactly. */
const uop *t_lerp(struct tg *g, const uop *a, const uop *b, const uop *w) {
    const uop *v[3] = {a, b, w};
    same(g, v, 3);
    enum dtype dt = (enum dtype)tg_float(g, v[0])->dt;
    for (int i = 0; i < 3; i++) v[i] = tg_wide(g, v[i]);
    const uop *d = sub(g, v[1], v[0]);
    const uop *from_a = add(g, v[0], mul(g, v[2], d)), *from_b = sub(g, v[1], mul(g, d, k_sub(g, 1, v[2])));
    const uop *near_a = below(g, tg_op1(g, OP_ABS, v[2]), 0.5);
    if (near_a->op == OP_CONST) return t_cast(g, near_a->arg.i ? from_a : from_b, dt);
    return t_cast(g, where(g, near_a, from_a, from_b), dt);
}

/* The difference is compared in float64 for integers, in float32 for 16-bit floats. An infinite one is close to nothing, so that
 * infinities are close only where they are equal; NaN never is. */
const uop *t_isclose(struct tg *g, const uop *x, const uop *y, double rtol, double atol) {
    const uop *v[2] = {x, y};
    if (!(rtol >= 0) || !(atol >= 0)) tg_bad(g, "tolerances %g and %g; expected 0 or more", rtol, atol);
    same(g, v, 2);
    const uop *equal = tg_op2(g, OP_EQ, v[0], v[1]);
    for (int i = 0; i < 2; i++) v[i] = is_float_node(v[i]) ? tg_wide(g, v[i]) : t_cast(g, v[i], DT_F64);
    const uop *off = tg_op1(g, OP_ABS, sub(g, v[0], v[1]));
    const uop *room = add_k(g, mul_k(g, tg_op1(g, OP_ABS, v[1]), rtol), atol);
    const uop *near = tg_op2(g, OP_AND, below(g, off, INFINITY), tg_op2(g, OP_LE, off, room));
    return tg_op2(g, OP_OR, equal, near);
}

const uop *t_masked_fill(struct tg *g, const uop *x, const uop *mask, const uop *v) {
    x = tg_value(g, x), v = tg_value(g, v);
    if (mask->dt != DT_BOOL) tg_bad(g, "a mask of dtype %s; expected bool (compare it)", tg_dt(mask));
    if (x->dt == DT_BOOL && v->op == OP_CONST) v = tg_bool(g, v);
    if (t_promote((enum dtype)x->dt, (enum dtype)v->dt) != (enum dtype)x->dt)
        tg_bad(g, "filling %s with a value of %s would lose digits; cast one of them", tg_dt(x), tg_dt(v));
    return t_where(g, mask, t_cast(g, v, (enum dtype)x->dt), x);
}
