/* pow.c: x to the power y as IR, with C's rules for every special case.
 *
 * |x|^y = 2^(y log2 |x|), and y may be as large as the logarithm is small, so log2 |x| is needed to more
 * than twice the digits that the result shows after the point: it is carried as a sum of two floats,
 * head and tail, each operation on it written with FMAs (the same code serves float32 and
 * float64). log2 m = 2 log2(e) atanh(s), s = (m-1)/(m+1): the series in s^2 <= 0.03 loses so much weight
 * from term to term that only s and s^3/3 need a tail.
 * Signs and specials: infinities and zeros pass through the logarithm as -inf and +inf; what is left are
 * |x| = 1, y = 0, negative x, and NaN.
 * Tests: tests/unit/math.c, tests/math.c */
#include "rules/math_build.h"

struct two {
    val h, l; /* the number is h + l, |l| <= half a digit of h */
};

/* a + b for |a| >= |b| or a = 0. */
static struct two fast_sum(struct mb *b, val x, val y) {
    val h = add(b, x, y);
    return (struct two){h, sub(b, y, sub(b, h, x))};
}

static struct two product(struct mb *b, val x, val y) {
    val h = mul(b, x, y);
    return (struct two){h, mad(b, x, y, neg(b, h))};
}

/* (x.h + x.l) * (y.h + y.l), less x.l*y.l. */
static struct two product2(struct mb *b, struct two x, struct two y) {
    struct two p = product(b, x.h, y.h);
    return (struct two){p.h, mad(b, x.h, y.l, mad(b, x.l, y.h, p.l))};
}

/* log2 x for 0 < x < inf. */
static struct two log2_two(struct mb *b, val x) {
    const struct fmt *t = b->t;
    struct split sp = split_exponent(b, x);
    val f = sub(b, sp.m, kf(b, 1));
    struct two g = fast_sum(b, kf(b, 2), f); /* m + 1 */
    val inv = quo(b, kf(b, 1), g.h);
    struct two s;
    s.h = mul(b, f, inv);
    val left = mad(b, neg(b, s.h), g.l, mad(b, neg(b, s.h), g.h, f)); /* f - s.h*(m+1) */
    s.l = mul(b, left, inv);

    struct two z = product(b, s.h, s.h); /* s^2 */
    z.l = mad(b, add(b, s.h, s.h), s.l, z.l);
    struct two third = {kf(b, t->third[0]), kf(b, t->third[1])};
    struct two u = product2(b, z, third);
    val tail = mul(b, mul(b, z.h, z.h), poly_eval(b, t->atanh, 0, z.h));
    struct two v = fast_sum(b, u.h, tail); /* atanh(s)/s - 1 = s^2/3 + s^4 .. */
    v.l = add(b, v.l, u.l);
    /* s + s*v, then times 2 log2(e), then plus e; the larger first */
    struct two w = product2(b, s, v), a = fast_sum(b, s.h, w.h);
    a.l = add(b, a.l, add(b, s.l, w.l));
    struct two log2e = {kf(b, t->log2e2[0]), kf(b, t->log2e2[1])};
    struct two lg = product2(b, a, log2e);
    struct two sum = fast_sum(b, sp.e, lg.h); /* e = 0 or |e| >= 1/2 >= |lg.h| */
    sum.l = add(b, sum.l, lg.l);
    return fast_sum(b, sum.h, sum.l);
}

const uop *math_pow(struct rw *rw, const uop *n) {
    struct mb B = math_builder(rw, (enum dtype)n->dt), *b = &B;
    val x = n->src[0], y = n->src[1], ax = mag(b, x);
    val zero = kf(b, 0), one = kf(b, 1), inf = kf(b, INFINITY), half = kf(b, 0.5);

    struct two lg = log2_two(b, ax);
    val finite = and_(b, lt(b, zero, ax), lt(b, ax, inf));
    lg.h = where(b, finite, lg.h, where(b, eq(b, ax, zero), kf(b, -INFINITY), ax)); /* NaN stays */
    struct two p = product(b, y, lg.h);
    p.l = mad(b, y, lg.l, p.l);
    /* Out of range the tail is NaN or meaningless. */
    val in = and_(b, lt(b, p.h, kf(b, b->t->exp2_hi)), lt(b, kf(b, b->t->exp2_lo), p.h));
    val hi = least(b, most(b, p.h, kf(b, b->t->exp2_lo)), kf(b, b->t->exp2_hi));
    val r = exp2_core(b, hi, where(b, in, p.l, zero));
    r = where(b, eq(b, ax, one), one, r); /* also to the power of infinity */

    val yh = mul(b, y, half), whole = eq(b, rw1(rw, OP_TRUNC, y), y);
    val odd = and_(b, whole, ne(b, rw1(rw, OP_TRUNC, yh), yh));
    r = flip(b, r, where(b, odd, sign_of(b, x), ku(b, 0)));
    val bad = and_(b, and_(b, lt(b, x, zero), lt(b, ax, inf)), ne(b, rw1(rw, OP_TRUNC, y), y));
    r = where(b, bad, kf(b, NAN), r);
    r = where(b, eq(b, y, y), r, y);
    return where(b, or_(b, eq(b, y, zero), eq(b, x, one)), one, r);
}
