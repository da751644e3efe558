/* half.c: arithmetic of half types through float32.
 *
 * bf16 has no arithmetic anywhere we run, f16 not everywhere: the sources are cast up, the op works in
 * float32 and the result is cast down, so every node's value is still rounded to its own type. For
 * + - * / and square root the two roundings give what one would (24 digits >= 2*11 + 2), and for the
 * functions of math.c the error is that of the last rounding. An FMA is the exception: it
 * is a float64 sum, made odd in its last digit where it is not exact, after which rounding again is right.
 * Where the target has them (struct decomp_for), + - * / and FMA of vectors of f16 stay.
 * Tests: tests/unit/math.c */
#include "rules/math_build.h"
#include "rules/rules.h"

bool math_is_half(const uop *n) { return dt_is_float((enum dtype)n->dt) && dtype_info[n->dt].bytes < 4; }
/* Narrower vectors are no registers; maxima, roots and functions are exact, or as fast, in float32. */
bool math_lacks(const struct rw *rw, const uop *n) {
    const struct decomp_for *has = rw->cx;
    enum { LEAST_LANES = 4 };
    if (!math_is_half(n->src[0])) return false;
    return !has || !has->native_f16 || n->dt != DT_F16 || n->lanes < LEAST_LANES;
}

bool math_is_f64(const uop *n) { return n->dt == DT_F64; }

/* x*y+z of half values, in float64: where the sum is not exact, the neighbour with an odd last digit. */
static val fma_sticky(struct mb *b, const uop *n) {
    val v[3];
    for (int i = 0; i < 3; i++) v[i] = cast(b, n->src[i], b->t->f);
    val p = mul(b, v[0], v[1]); /* exact: at most 22 digits */
    val s = add(b, p, v[2]), bb = sub(b, s, p);
    val lost = add(b, sub(b, p, sub(b, s, bb)), sub(b, v[2], bb)); /* p + z - s, exactly */
    val i = bits_i(b, s), zero = kf(b, 0);
    /* One step in the direction of `lost`: away from zero where the signs agree. */
    val away = eq(b, lt(b, lost, zero), lt(b, s, zero));
    val step = where(b, away, ki(b, 1), ki(b, -1));
    val even = eq(b, and_(b, i, ki(b, 1)), ki(b, 0));
    val inexact = lt(b, zero, mag(b, lost)); /* false for NaN: s is infinite or NaN then */
    return bits_f(b, where(b, and_(b, even, inexact), add(b, i, step), i));
}

const uop *math_half(struct rw *rw, const uop *n) {
    struct mb b = math_builder(rw, n->op == OP_FMA ? DT_F64 : DT_F32);
    const uop *src[3], *r;
    for (uint32_t i = 0; i < n->nsrc && i < 3; i++)
        src[i] = math_is_half(n->src[i]) ? cast(&b, n->src[i], DT_F32) : n->src[i];
    if (n->op == OP_FMA)
        r = fma_sticky(&b, n);
    else
        r = rw_mk(rw, (enum op)n->op, src, n->nsrc, n->arg);
    return math_is_half(n) ? cast(&b, r, (enum dtype)n->dt) : r;
}
