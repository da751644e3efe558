/* math_build.h: short names for building arithmetic, private to math.c, pow.c, trig.c and half.c.
 *
 * A `struct mb` is a builder for one float type: the type, its integer companions, the layout of its
 * bits and its polynomials. Names read as the arithmetic they build: fma(b, x, y, z) is x*y+z rounded
 * once. Constants are scalars and broadcast. Everything goes through rw_*, so it is normal at birth. */
#ifndef RIDGE_MATH_BUILD_H
#define RIDGE_MATH_BUILD_H

#include "rules/math.h"

#include <math.h>

struct poly {
    const double *c; /* lowest power first */
    int n;           /* coefficients */
};

/* What differs between float32 and float64. */
struct fmt {
    enum dtype f, i, u; /* the type, signed and unsigned integers of its width */
    int mant, bias;     /* stored digits, exponent bias */
    double magic;       /* 1.5 * 2^mant: adding it rounds to an integer that then stands in the low bits */
    double least;       /* smallest normal number */
    struct poly exp2, expm1, log, log2, log10, sin, tan, tanh, atanh;
    const double *pi, *half_pi, *two_pi, *ln2, *log2e2, *log10_2, *third, *log2e, *log10e;
    /* e^x and 2^x are 0, infinite beyond. At the lower bounds both powers of scale_by are 0, so that -inf, which a mask leaves,
     * underflows in no multiplication: some CPUs take 150 cycles for that. */
    double exp_lo, exp_hi, exp2_lo, exp2_hi;
    double trig_max;   /* beyond it sin, cos and tan take the long way */
    double tanh_max;   /* 1 from here on */
    double tanh_small; /* below: another formula */
};

struct mb {
    struct rw *rw;
    struct ir *ir;
    const struct fmt *t;
};
struct mb math_builder(struct rw *, enum dtype); /* f32 or f64 */

typedef const uop *val;

static inline val kf(struct mb *b, double x) { return uop_flt(b->ir, b->t->f, x); }
static inline val ki(struct mb *b, int64_t x) { return uop_int(b->ir, b->t->i, x); }
static inline val ku(struct mb *b, uint64_t x) { return uop_int(b->ir, b->t->u, (int64_t)x); }

static inline val add(struct mb *b, val x, val y) { return rw2(b->rw, OP_ADD, x, y); }
static inline val sub(struct mb *b, val x, val y) { return rw2(b->rw, OP_SUB, x, y); }
static inline val mul(struct mb *b, val x, val y) { return rw2(b->rw, OP_MUL, x, y); }
static inline val quo(struct mb *b, val x, val y) { return rw2(b->rw, OP_FDIV, x, y); }
static inline val neg(struct mb *b, val x) { return rw1(b->rw, OP_NEG, x); }
static inline val mag(struct mb *b, val x) { return rw1(b->rw, OP_ABS, x); }
static inline val mad(struct mb *b, val x, val y, val z) { return rw3(b->rw, OP_FMA, x, y, z); }
static inline val lt(struct mb *b, val x, val y) { return rw2(b->rw, OP_LT, x, y); }
static inline val le(struct mb *b, val x, val y) { return rw2(b->rw, OP_LE, x, y); }
static inline val eq(struct mb *b, val x, val y) { return rw2(b->rw, OP_EQ, x, y); }
static inline val ne(struct mb *b, val x, val y) { return rw2(b->rw, OP_NE, x, y); }
static inline val and_(struct mb *b, val x, val y) { return rw2(b->rw, OP_AND, x, y); }
static inline val or_(struct mb *b, val x, val y) { return rw2(b->rw, OP_OR, x, y); }
static inline val xor_(struct mb *b, val x, val y) { return rw2(b->rw, OP_XOR, x, y); }
static inline val where(struct mb *b, val c, val x, val y) { return rw3(b->rw, OP_WHERE, c, x, y); }
static inline val rare(struct mb *b, val c, val x, val y) { return rw3(b->rw, OP_UNLIKELY, c, x, y); }
static inline val least(struct mb *b, val x, val y) { return rw2(b->rw, OP_MIN, x, y); }
static inline val most(struct mb *b, val x, val y) { return rw2(b->rw, OP_MAX, x, y); }
static inline val to(struct mb *b, enum op op, val x, enum dtype dt) {
    return rw_new(b->rw, op, dt, x->lanes, &x, 1, ARG_NONE);
}
static inline val cast(struct mb *b, val x, enum dtype dt) { return to(b, OP_CAST, x, dt); }
static inline val bits_i(struct mb *b, val x) { return to(b, OP_BITCAST, x, b->t->i); }
static inline val bits_u(struct mb *b, val x) { return to(b, OP_BITCAST, x, b->t->u); }
static inline val bits_f(struct mb *b, val x) { return to(b, OP_BITCAST, x, b->t->f); }
/* Shifts by a constant: the count has the type of x. */
static inline val shl(struct mb *b, val x, int by) {
    return rw2(b->rw, OP_SHL, x, uop_int(b->ir, (enum dtype)x->dt, by));
}
static inline val shr(struct mb *b, val x, int by) {
    return rw2(b->rw, OP_SHR, x, uop_int(b->ir, (enum dtype)x->dt, by));
}
/* The bit that makes a float negative, as an unsigned constant; the sign of x; x with its sign flipped
 * where `sign` has that bit. */
static inline val sign_bit(struct mb *b) { return ku(b, (uint64_t)1 << (b->t->mant == 23 ? 31 : 63)); }
static inline val sign_of(struct mb *b, val x) { return and_(b, bits_u(b, x), sign_bit(b)); }
static inline val flip(struct mb *b, val x, val sign) { return bits_f(b, xor_(b, bits_u(b, x), sign)); }

/* Coefficients from power `from` on, as a polynomial in x: c[from] + c[from+1] x + .. */
val poly_eval(struct mb *, struct poly, int from, val x);

/* 2^(hi+lo) for |hi| in the range of EXP2; lo is a correction or NULL. */
val exp2_core(struct mb *, val hi, val lo);

/* x > 0 as m * 2^e with sqrt(1/2) <= m < sqrt(2), e a float; subnormal x too. */
struct split {
    val m, e;
};
struct split split_exponent(struct mb *, val x);

#endif
