/* trig.c: sine, cosine and tangent as IR, right for every argument.
 *
 * Up to trig_max: x = k pi + r, |r| <= pi/2 (cosine: k is an odd multiple of 1/2; tangent: multiples of
 * pi/2), by three FMAs with pi split in three. The first is exact: product and x are multiples of the same
 * power of two and the difference is below 2, so it fits. sin x = sin(+-r), a single odd polynomial: one
 * reduction to half a period and one polynomial cost less than the usual quarter period and two.
 * Beyond: the fraction of x/(2 pi) in integers (Payne and Hanek). x = m 2^e with integer m; the digits of
 * 1/(2 pi) before position e make whole turns, those far after do not matter, so a window of three words,
 * picked by a barrel shifter over constants, is multiplied by m and the overflow dropped. The result, a
 * fixed-point number of turns, is folded into a quarter turn exactly and only then becomes a float.
 * That part is under UNLIKELY: code generators may branch around it, and in practice it never runs.
 * Tests: tests/unit/math.c, tests/math.c */
#include "rules/math_build.h"

#include "rules/math_coef.h"

/* ---- the long way: turns of a circle in fixed point ---------------------------------------------- */

/* w[i] = w[i + bit] where bit is set, so that after all bits w[0] is the word the index names. `n` words
 * are wanted in the end; the first steps choose between constants. */
static void barrel(struct mb *b, val *w, int n, val index, int bits) {
    for (int k = bits - 1; k >= 0; k--) {
        int step = 1 << k, need = n + step - 1;
        enum dtype dt = (enum dtype)index->dt;
        val set = ne(b, and_(b, index, uop_int(b->ir, dt, step)), uop_int(b->ir, dt, 0));
        for (int i = 0; i < need; i++) w[i] = where(b, set, w[i + step], w[i]);
    }
}

/* n words of the bit string w shifted left by sh < width; shifting in two steps keeps sh = 0 right. */
static void funnel(struct mb *b, val *w, int n, val sh, int width) {
    val back = rw2(b->rw, OP_SUB, ku(b, (uint64_t)width - 1), sh);
    for (int i = 0; i < n; i++) {
        val low = rw2(b->rw, OP_SHR, shr(b, w[i + 1], 1), back);
        w[i] = or_(b, rw2(b->rw, OP_SHL, w[i], sh), low);
    }
}

/* A fraction of a full turn (2 pi): hi * 2^-64 + lo * 2^-128, modulo 1. lo is NULL for float32. */
struct turns {
    val hi, lo; /* u64 */
};

static struct turns turns_f32(struct mb *b, val ax) {
    val u = bits_u(b, ax), pos = sub(b, shr(b, u, 23), ku(b, 150 - 8)); /* the words begin with 8 zeros */
    val m = or_(b, and_(b, u, ku(b, 0x7fffff)), ku(b, 0x800000)), w[7];
    for (int i = 0; i < 7; i++) w[i] = ku(b, inv_2pi_f32[i]);
    barrel(b, w, 4, shr(b, pos, 5), 2);
    funnel(b, w, 3, and_(b, pos, ku(b, 31)), 32);
    for (int i = 0; i < 3; i++) w[i] = cast(b, w[i], DT_U64);
    m = cast(b, m, DT_U64);
    val high = add(b, shl(b, mul(b, m, w[0]), 32), mul(b, m, w[1]));
    return (struct turns){add(b, high, shr(b, mul(b, m, w[2]), 32)), NULL};
}

static val low32(struct mb *b, val x) { return and_(b, x, ku(b, 0xffffffff)); }

/* The upper 64 bits of x*y for x < 2^53. */
static val mul_high(struct mb *b, val x, val y) {
    val xl = low32(b, x), xh = shr(b, x, 32), yl = low32(b, y), yh = shr(b, y, 32);
    val mid = add(b, mul(b, xh, yl), shr(b, mul(b, xl, yl), 32)); /* xh < 2^21: no overflow */
    val mid2 = add(b, mul(b, xl, yh), low32(b, mid));
    return add(b, add(b, mul(b, xh, yh), shr(b, mid, 32)), shr(b, mid2, 32));
}

static struct turns turns_f64(struct mb *b, val ax) {
    val u = bits_u(b, ax), pos = sub(b, shr(b, u, 52), ku(b, 1075 - 32));
    val m = or_(b, and_(b, u, ku(b, 0xfffffffffffff)), ku(b, 0x10000000000000)), w[19];
    for (int i = 0; i < 19; i++) w[i] = ku(b, inv_2pi_f64[i]);
    barrel(b, w, 4, shr(b, pos, 6), 4);
    funnel(b, w, 3, and_(b, pos, ku(b, 63)), 64);
    val mid = mul(b, m, w[1]), lo = add(b, mid, mul_high(b, m, w[2]));
    val carry = cast(b, lt(b, lo, mid), DT_U64);
    return (struct turns){add(b, add(b, mul(b, m, w[0]), mul_high(b, m, w[1])), carry), lo};
}

/* Turns (signed now, at most a quarter) to radians, accurate however close to zero: r and what it lacks. */
static val radians(struct mb *b, struct turns v, val *low) {
    const double *c = b->t->two_pi;
    val s = to(b, OP_BITCAST, v.hi, DT_I64), h = cast(b, s, b->t->f), unit = kf(b, ldexp(c[0], -64));
    val rest = cast(b, sub(b, s, cast(b, h, DT_I64)), b->t->f); /* what the conversion lost */
    if (v.lo) rest = mad(b, cast(b, v.lo, b->t->f), kf(b, 0x1p-64), rest);
    rest = mad(b, rest, unit, mul(b, h, kf(b, ldexp(c[1], -64))));
    val r = mad(b, h, unit, rest);
    if (low) *low = add(b, mad(b, h, unit, neg(b, r)), rest);
    return r;
}

static struct turns turns_of(struct mb *b, val ax) {
    return b->t->f == DT_F32 ? turns_f32(b, ax) : turns_f64(b, ax);
}
static val u64(struct mb *b, uint64_t x) { return uop_int(b->ir, DT_U64, (int64_t)x); }

/* r in [-pi/2, pi/2] with sin r = sin |x| or cos x; NaN for infinite x. */
static val sin_far(struct mb *b, val ax, bool cosine) {
    struct turns v = turns_of(b, ax);
    if (cosine) v.hi = add(b, v.hi, u64(b, (uint64_t)1 << 62));
    /* Past a quarter turn either way (the two top bits differ): sin(half turn - v) = sin v. */
    val past = to(b, OP_BITCAST, xor_(b, v.hi, shl(b, v.hi, 1)), DT_I64);
    past = lt(b, past, uop_int(b->ir, DT_I64, 0));
    v.hi = where(b, past, rw2(b->rw, OP_SUB, u64(b, INT64_MAX), v.hi), v.hi);
    if (v.lo) v.lo = where(b, past, rw1(b->rw, OP_NOT, v.lo), v.lo);
    return where(b, lt(b, ax, kf(b, INFINITY)), radians(b, v, NULL), kf(b, NAN));
}

/* ---- the common way ------------------------------------------------------------------------------ */

/* x - k*c with c in three parts. */
static val reduce(struct mb *b, val x, val k, const double *c) {
    for (int i = 0; i < 3; i++) x = mad(b, k, kf(b, -c[i]), x);
    return x;
}

/* sin r for |r| <= pi/2, a hair more allowed. The last steps are Horner's: pairs would round once more.
 * The coefficients for float32 were chosen so that no result passes 1 (every argument was tried); in float64,
 * where one in some millions would, two comparisons see to it. */
static val sin_poly(struct mb *b, val r) {
    const double *c = b->t->sin.c;
    val r2 = mul(b, r, r), p = poly_eval(b, b->t->sin, 3, r2);
    p = mad(b, mad(b, p, r2, kf(b, c[2])), r2, kf(b, c[1]));
    val y = mad(b, p, mul(b, r2, r), r);
    return b->t->f == DT_F32 ? y : most(b, least(b, y, kf(b, 1)), kf(b, -1));
}

static int top_bit(struct mb *b) { return b->t->mant == 23 ? 31 : 63; }

/* Of |x|, with the sign put back at the end: so -0 stays -0. */
const uop *math_sin(struct rw *rw, const uop *n) {
    struct mb b = math_builder(rw, (enum dtype)n->dt);
    val x = n->src[0], ax = mag(&b, x), magic = kf(&b, b.t->magic);
    val t = mad(&b, ax, kf(&b, 1 / b.t->pi[0]), magic); /* low bit: k is odd */
    val r = reduce(&b, ax, sub(&b, t, magic), b.t->pi);
    r = flip(&b, r, shl(&b, bits_u(&b, t), top_bit(&b)));
    r = rare(&b, le(&b, kf(&b, b.t->trig_max), ax), sin_far(&b, ax, false), r);
    return flip(&b, sin_poly(&b, r), sign_of(&b, x));
}

const uop *math_cos(struct rw *rw, const uop *n) {
    struct mb b = math_builder(rw, (enum dtype)n->dt);
    val x = n->src[0], ax = mag(&b, x), magic = kf(&b, b.t->magic), half = kf(&b, 0.5);
    val t = add(&b, mad(&b, ax, kf(&b, 1 / b.t->pi[0]), half), magic);
    val k = sub(&b, sub(&b, t, magic), half); /* x = (k + 1/2) pi + r */
    val r = reduce(&b, ax, k, b.t->pi);
    r = flip(&b, r, shl(&b, bits_u(&b, t), top_bit(&b)));
    r = rare(&b, le(&b, kf(&b, b.t->trig_max), ax), sin_far(&b, ax, true), r);
    return sin_poly(&b, r);
}

/* tan(r + low), or -1/tan where `odd`: r is measured from the nearest multiple of pi/2. The quotient is put
 * right by what rounding tan and dividing lost, or the two would come to 1.9 ulp. */
static val tan_poly(struct mb *b, val r, val low, val odd) {
    val r2 = mul(b, r, r), one = kf(b, 1);
    low = mad(b, low, r2, low); /* times the slope, nearly */
    val q = mad(b, poly_eval(b, b->t->tan, 1, r2), mul(b, r2, r), low), p = add(b, r, q);
    val rest = sub(b, q, sub(b, p, r)); /* r + q - p, exactly */
    val y = quo(b, kf(b, -1), p), lost = mad(b, y, rest, mad(b, y, p, one));
    return where(b, odd, mad(b, y, lost, y), p);
}

static val tan_far(struct mb *b, val ax) {
    struct turns v = turns_of(b, ax);
    val q = shr(b, add(b, v.hi, u64(b, (uint64_t)1 << 61)), 62); /* nearest quarter turn */
    v.hi = sub(b, v.hi, shl(b, q, 62));
    val odd = ne(b, and_(b, q, u64(b, 1)), u64(b, 0)), low, r = radians(b, v, &low);
    return where(b, lt(b, ax, kf(b, INFINITY)), tan_poly(b, r, low, odd), kf(b, NAN));
}

/* Twice the digits of r are kept: errors of r, of the polynomial and of 1/.. would sum to more than 2 ulp. */
const uop *math_tan(struct rw *rw, const uop *n) {
    struct mb b = math_builder(rw, (enum dtype)n->dt);
    val x = n->src[0], ax = mag(&b, x), magic = kf(&b, b.t->magic);
    const double *c = b.t->half_pi;
    val t = mad(&b, ax, kf(&b, 1 / c[0]), magic), k = sub(&b, t, magic);
    val big = mad(&b, k, kf(&b, -c[0]), ax); /* exact */
    val p = mul(&b, k, kf(&b, -c[1])), r = add(&b, big, p), v = sub(&b, r, big);
    val low = add(&b, sub(&b, big, sub(&b, r, v)), sub(&b, p, v)); /* big + p - r, exactly */
    low = add(&b, low, mad(&b, k, kf(&b, -c[1]), neg(&b, p)));     /* what the product lost */
    low = mad(&b, k, kf(&b, -c[2]), low);
    val odd = ne(&b, and_(&b, bits_u(&b, t), ku(&b, 1)), ku(&b, 0));
    val y = rare(&b, le(&b, kf(&b, b.t->trig_max), ax), tan_far(&b, ax), tan_poly(&b, r, low, odd));
    return flip(&b, y, sign_of(&b, x));
}
