/* math.c: exponentials, logarithms and what is made of them, as IR.
 *
 * Exponentials: x = k ln 2 + r with |r| <= ln 2 / 2, so e^x = p(r) * 2^i * 2^(k-i), i about k/2. Two
 * multiplications by powers of two, whose bits fall out of the rounding (see `scale_by`), give overflow to
 * infinity and correctly rounded subnormal results with no test; x is only clamped so that k stays in range.
 * Logarithms: x = 2^e m, m in [sqrt(1/2), sqrt(2)), and a polynomial in f = m - 1, which is exact.
 * tanh uses e^2x - 1, sigmoid e^-|x|, so that neither cancels; erf is 1 - e^-q(x), where q = -ln(1 - erf) is
 * smooth enough for a polynomial.
 * All of it is straight-line code on nodes of any lanes. Error analysis and tables: docs/math.md.
 * Tests: tests/unit/math.c, tests/math.c */
#include "rules/math_build.h"

#include "rules/math_coef.h"

#define POLY(name) \
    { name, sizeof(name) / sizeof(name[0]) }
#define TYPE_ROWS(s)                                                                                  \
    .exp2 = POLY(exp2_##s), .expm1 = POLY(expm1_##s), .log = POLY(log_##s), .log2 = POLY(log2_##s),   \
    .log10 = POLY(log10_##s), .sin = POLY(sin_##s), .tan = POLY(tan_##s), .atanh = POLY(atanh_##s),   \
    .pi = pi_##s, .half_pi = half_pi_##s, .two_pi = two_pi_##s, .ln2 = ln2_##s, .log2e2 = log2e2_##s, \
    .log10_2 = log10_2_##s, .third = third_##s, .log2e = log2e_##s, .log10e = log10e_##s

/* A polynomial or constants that one function uses, in its type. */
#define OF_TYPE(b, name) ((b)->t->f == DT_F64 ? (struct poly)POLY(name##_f64) : (struct poly)POLY(name##_f32))

static const struct fmt fmt_f32 = {
    .f = DT_F32,
    .i = DT_I32,
    .u = DT_U32,
    .mant = 23,
    .bias = 127,
    .magic = 0x1.8p23,
    .least = 0x1p-126,
    TYPE_ROWS(f32),
    .exp_lo = -176,
    .exp_hi = 89,
    .exp2_lo = -254,
    .exp2_hi = 129,
    .trig_max = 0x1p17,
    .tanh_max = 9.1,
    .tanh_small = 0.28,
};
static const struct fmt fmt_f64 = {
    .f = DT_F64,
    .i = DT_I64,
    .u = DT_U64,
    .mant = 52,
    .bias = 1023,
    .magic = 0x1.8p52,
    .least = 0x1p-1022,
    TYPE_ROWS(f64),
    .tanh = POLY(tanh_f64),
    .exp_lo = -1418,
    .exp_hi = 710,
    .exp2_lo = -2046,
    .exp2_hi = 1025,
    .trig_max = 0x1p30,
    .tanh_max = 19.1,
    .tanh_small = 0.4,
};

struct mb math_builder(struct rw *rw, enum dtype dt) {
    return (struct mb){rw, rw->ir, dt == DT_F64 ? &fmt_f64 : &fmt_f32};
}

/* Horner's rule in x^2 over pairs c[k] + c[k+1] x: half the chain, and half as many additions of a constant,
 * each of which is a copy more where the FMA overwrites its addend. Rounds once more than
 * the plain rule, so what is left to it are the small terms. */
val poly_eval(struct mb *b, struct poly p, int from, val x) {
    int pairs = (p.n - from) / 2, top = from + 2 * pairs;
    if (p.n - from < 5) {
        val r = kf(b, p.c[p.n - 1]);
        for (int k = p.n - 2; k >= from; k--) r = mad(b, r, x, kf(b, p.c[k]));
        return r;
    }
    val x2 = mul(b, x, x), r = top < p.n ? kf(b, p.c[top]) : NULL;
    for (int k = top - 2; k >= from; k -= 2) {
        val pair = mad(b, x, kf(b, p.c[k + 1]), kf(b, p.c[k]));
        r = r ? mad(b, r, x2, pair) : pair;
    }
    return r;
}

/* x * (head + p(y)), where p begins with what rounding the head lost: one rounding of the large part. */
static val poly_tail(struct mb *b, struct poly p, double head, val x, val y) {
    return mad(b, x, kf(b, head), mul(b, x, poly_eval(b, p, 0, y)));
}

/* ---- exponentials ------------------------------------------------------------------------------- */

/* round(x * by) as a float, and 2^that: as one power (`two` NULL), or as the product of two, so that results
 * beyond the range of one overflow and underflow as they should. Adding 1.5*2^mant rounds to an integer
 * that stands in the low bits of the sum; with the exponent bias added too, a shift makes them a float. */
static val scale_by(struct mb *b, val x, double by, val *one, val *two) {
    val magic = kf(b, b->t->magic + b->t->bias * (two ? 2 : 1));
    val t = mad(b, x, kf(b, by), magic), i = bits_i(b, t), half = i;
    if (two) {
        half = shr(b, i, 1);
        *two = bits_f(b, shl(b, sub(b, i, half), b->t->mant));
    }
    *one = bits_f(b, shl(b, half, b->t->mant));
    return sub(b, t, magic);
}

/* e^r - 1 and 2^k with x = k ln 2 + r, |r| <= ln 2 / 2. */
static val expm1_core(struct mb *b, val x, val *one, val *two) {
    const struct fmt *t = b->t;
    val k = scale_by(b, x, 1 / t->ln2[0], one, two);
    val r = mad(b, k, kf(b, -t->ln2[0]), x); /* exact */
    r = mad(b, k, kf(b, -t->ln2[1]), r);
    return mad(b, poly_eval(b, t->expm1, 1, r), mul(b, r, r), r);
}

/* e^x for x in [exp_lo, exp_hi] or NaN. */
static val exp_core(struct mb *b, val x) {
    val s1, s2, p = expm1_core(b, x, &s1, &s2);
    return mul(b, mad(b, p, s1, s1), s2);
}

const uop *math_exp(struct rw *rw, const uop *n) {
    struct mb b = math_builder(rw, (enum dtype)n->dt);
    val x = most(&b, n->src[0], kf(&b, b.t->exp_lo));
    return exp_core(&b, least(&b, x, kf(&b, b.t->exp_hi)));
}

val exp2_core(struct mb *b, val hi, val lo) {
    val s1, s2, k = scale_by(b, hi, 1, &s1, &s2), r = sub(b, hi, k); /* exact */
    if (lo) r = add(b, r, lo);
    val p = mad(b, poly_eval(b, b->t->exp2, 1, r), r, kf(b, 1));
    return mul(b, mul(b, p, s1), s2);
}

const uop *math_exp2(struct rw *rw, const uop *n) {
    struct mb b = math_builder(rw, (enum dtype)n->dt);
    val x = most(&b, n->src[0], kf(&b, b.t->exp2_lo));
    return exp2_core(&b, least(&b, x, kf(&b, b.t->exp2_hi)), NULL);
}

/* With h = (e^2|x| - 1) / 2: tanh |x| = q = h / (1+h). Where h is small that would come to 2.3 ulp: there
 * q = h - h*q in float32, where every argument was tried, and a polynomial in float64. */
const uop *math_tanh(struct rw *rw, const uop *n) {
    struct mb b = math_builder(rw, (enum dtype)n->dt);
    val x = n->src[0], a = least(&b, mag(&b, x), kf(&b, b.t->tanh_max)), half = kf(&b, 0.5), small;
    val s, p = expm1_core(&b, add(&b, a, a), &s, NULL), s2 = mul(&b, s, half);
    val h = mad(&b, p, s2, sub(&b, s2, half));
    val q = quo(&b, h, add(&b, h, kf(&b, 1)));
    if (b.t->f == DT_F32) {
        small = mad(&b, neg(&b, h), q, h);
    } else {
        val a2 = mul(&b, a, a);
        small = mad(&b, poly_eval(&b, b.t->tanh, 1, a2), mul(&b, a2, a), a);
    }
    return flip(&b, where(&b, lt(&b, a, kf(&b, b.t->tanh_small)), small, q), sign_of(&b, x));
}

/* With e = e^-|x|: 1/(1+e) for x >= 0; below, q = e/(1+e), and e - e*q is the same and loses less. */
const uop *math_sigmoid(struct rw *rw, const uop *n) {
    struct mb b = math_builder(rw, (enum dtype)n->dt);
    val x = n->src[0], one = kf(&b, 1), below = lt(&b, x, kf(&b, 0));
    val e = exp_core(&b, most(&b, neg(&b, mag(&b, x)), kf(&b, b.t->exp_lo)));
    val q = quo(&b, where(&b, below, e, one), add(&b, e, one));
    return where(&b, below, mad(&b, neg(&b, e), q, e), q);
}

/* 1 - e^-q, q = -ln(1 - erf): q is smooth, and where it is small its relative error is that of erf. */
const uop *math_erf(struct rw *rw, const uop *n) {
    struct mb b = math_builder(rw, (enum dtype)n->dt);
    double one_from = b.t->f == DT_F64 ? 5.94 : 3.95;
    val x = n->src[0], a = least(&b, mag(&b, x), kf(&b, one_from));
    val q = poly_tail(&b, OF_TYPE(&b, erf), OF_TYPE(&b, erf0).c[0], a, a);
    val s, p = expm1_core(&b, neg(&b, q), &s, NULL);
    val y = mad(&b, neg(&b, p), s, sub(&b, kf(&b, 1), s));
    return flip(&b, y, sign_of(&b, x));
}

enum { TERMS = sizeof erfc_f32 / sizeof *erfc_f32 };

/* Of its coefficients, a power of k for each. */
static val erfc_poly(struct mb *b, val a, double k) {
    double power = pow(k, TERMS);
    val p = kf(b, erfc_f32[TERMS - 1] * power);
    for (int i = TERMS - 2; i >= 0; i--) power /= k, p = mad(b, p, a, kf(b, erfc_f32[i] * power));
    return p;
}

/* 1 + erf x is erfc |x| below 0 and 2 - erfc |x| above, erfc = 2^p: the error is that of one rounding of a number near 1, and
 * where the sum is small it does not cancel. Beyond 8, 2^p is 0. A factor of x, which gelu has, is one of the coefficients. */
const uop *math_erf_up(struct rw *rw, const uop *n, const uop *x) {
    struct mb b = math_builder(rw, (enum dtype)n->dt);
    bool by =
        x->op == OP_MUL && uop_is_const(x->src[1]) && x->src[1]->arg.f > 0x1p-10 && x->src[1]->arg.f < 0x1p10;
    double k = by ? x->src[1]->arg.f : 1;
    if (by) x = x->src[0];
    val a = least(&b, mag(&b, x), kf(&b, 8 / k));
    val e = rw1(rw, OP_EXP2, mul(&b, erfc_poly(&b, a, k), a));
    return where(&b, lt(&b, x, kf(&b, 0)), e, sub(&b, kf(&b, 2), e));
}

double math_erfc_factor(const uop *p, const uop *a) {
    double coef[TERMS], k = 0, power = 1;
    for (int i = 0; i < TERMS; i++) {
        bool last = i == TERMS - 1;
        if (!last && (p->op != OP_FMA || p->src[1] != a)) return 0;
        const uop *c = last ? p : p->src[2];
        if (!uop_is_const(c)) return 0;
        coef[i] = c->arg.f;
        if (!last) p = p->src[0]; /* a constant has no operands */
    }
    k = coef[0] / erfc_f32[0];
    for (int i = 0; i < TERMS; i++) {
        power *= k;
        if (!(fabs(coef[i] - erfc_f32[i] * power) <= fabs(coef[i]) * 0x1p-18)) return 0;
    }
    return k;
}

/* x/2 below 0 times erfc |x|, above 0 times 2 less that: max(x, 0) - |x|/2 erfc |x| is the same and needs no choice. x/2 + |x|/2 is
 * max(x, 0), and at -inf what x/2 times 0 is: not a number. */
const uop *math_gelu(struct rw *rw, const uop *n, const uop *x, const uop *a, const uop *p) {
    struct mb b = math_builder(rw, (enum dtype)n->dt);
    val half = rw1(rw, OP_EXP2, mad(&b, p, a, kf(&b, -1)));
    val up = mad(&b, mag(&b, x), kf(&b, 0.5), mul(&b, x, kf(&b, 0.5)));
    return mad(&b, neg(&b, a), half, up);
}

/* ---- logarithms --------------------------------------------------------------------------------- */

struct split split_exponent(struct mb *b, val x) {
    const struct fmt *t = b->t;
    int64_t root_half = t->mant == 23 ? 0x3f3504f3 : 0x3fe6a09e667f3bcd;
    val tiny = lt(b, x, kf(b, t->least));
    val ix = bits_i(b, where(b, tiny, mul(b, x, kf(b, ldexp(1, t->mant))), x));
    val off = sub(b, ix, ki(b, root_half));
    val e = cast(b, shr(b, off, t->mant), t->f);
    val m = sub(b, ix, and_(b, off, ki(b, -((int64_t)1 << t->mant))));
    return (struct split){bits_f(b, m), sub(b, e, where(b, tiny, kf(b, t->mant), kf(b, 0)))};
}

/* y = log x for positive finite x becomes right for all others. */
static val log_edges(struct mb *b, val x, val y) {
    val zero = kf(b, 0), inf = kf(b, INFINITY);
    y = where(b, lt(b, x, inf), y, inf);
    return where(b, lt(b, zero, x), y, where(b, eq(b, x, zero), kf(b, -INFINITY), kf(b, NAN)));
}

const uop *math_log(struct rw *rw, const uop *n) {
    struct mb b = math_builder(rw, (enum dtype)n->dt);
    const double *ln2 = b.t->ln2;
    struct split s = split_exponent(&b, n->src[0]);
    val f = sub(&b, s.m, kf(&b, 1));
    val y = mad(&b, mul(&b, f, f), poly_eval(&b, b.t->log, 1, f), f);
    if (b.t->f != DT_F32) y = mad(&b, s.e, kf(&b, ln2[1]), y); /* in float32 0.06 ulp */
    y = mad(&b, s.e, kf(&b, ln2[0]), y);
    return log_edges(&b, n->src[0], y);
}

const uop *math_log2(struct rw *rw, const uop *n) {
    struct mb b = math_builder(rw, (enum dtype)n->dt);
    struct split s = split_exponent(&b, n->src[0]);
    val f = sub(&b, s.m, kf(&b, 1));
    return log_edges(&b, n->src[0], add(&b, poly_tail(&b, b.t->log2, b.t->log2e[0], f, f), s.e));
}

const uop *math_log10(struct rw *rw, const uop *n) {
    struct mb b = math_builder(rw, (enum dtype)n->dt);
    const double *lg2 = b.t->log10_2;
    struct split s = split_exponent(&b, n->src[0]);
    val f = sub(&b, s.m, kf(&b, 1));
    val y = mad(&b, s.e, kf(&b, lg2[1]), mul(&b, f, poly_eval(&b, b.t->log10, 0, f)));
    y = mad(&b, f, kf(&b, b.t->log10e[0]), y);
    return log_edges(&b, n->src[0], mad(&b, s.e, kf(&b, lg2[0]), y));
}

const uop *math_rsqrt(struct rw *rw, const uop *n) {
    struct mb b = math_builder(rw, (enum dtype)n->dt);
    return quo(&b, kf(&b, 1), rw1(rw, OP_SQRT, n->src[0]));
}

/* By op; trig.c and pow.c have the others. */
static math_fn *const expand[OP_COUNT] = {
    [OP_EXP] = math_exp,   [OP_EXP2] = math_exp2,   [OP_SIGMOID] = math_sigmoid, [OP_LOG] = math_log,
    [OP_LOG2] = math_log2, [OP_LOG10] = math_log10, [OP_SIN] = math_sin,         [OP_COS] = math_cos,
    [OP_TAN] = math_tan,   [OP_TANH] = math_tanh,   [OP_ERF] = math_erf,
};

bool math_has(enum op op) { return expand[op]; }
const uop *math_expand(struct rw *rw, const uop *n) { return expand[n->op](rw, n); }
