/* math.h: vector math as IR. What decomp.rules calls to take EXP, SIN, POW .. apart.
 *
 * Each function takes a node of its op (any lanes, float32 or float64) and gives an expression of simple
 * arithmetic with the same value: within 2 units in the last place (POW: 4), right at zeros, infinities,
 * NaN and subnormal numbers, for every argument however large. There are no tables in memory and no
 * calls, so the result works on every back end and in any loop; one lane gives the same bits as four.
 * docs/math.md: methods, measured errors and speed.
 * Tests: tests/unit/math.c, tests/math.c (all 2^32 floats: make test-math); speed: bench/math.c */
#ifndef RIDGE_MATH_H
#define RIDGE_MATH_H

#include "ir/ir.h"

/* math.c */
const uop *math_exp(struct rw *, const uop *n);
const uop *math_exp2(struct rw *, const uop *n);
const uop *math_log(struct rw *, const uop *n);
const uop *math_log2(struct rw *, const uop *n);
const uop *math_log10(struct rw *, const uop *n);
const uop *math_tanh(struct rw *, const uop *n);
const uop *math_sigmoid(struct rw *, const uop *n);
const uop *math_erf(struct rw *, const uop *n);
const uop *math_erf_up(struct rw *, const uop *n, const uop *x); /* n: erf(x) + 1 of float32, within 2^-22 */
/* Is 2^(p a) erfc(k a), as that makes it, a no more than 8/k? k, or 0. */
double math_erfc_factor(const uop *p, const uop *a);
/* n: x/2 (erf(kx) + 1), erfc |kx| = 2^(p a) */
const uop *math_gelu(struct rw *, const uop *n, const uop *x, const uop *a, const uop *p);
const uop *math_rsqrt(struct rw *, const uop *n);

/* pow.c */
const uop *math_pow(struct rw *, const uop *n);

/* trig.c */
const uop *math_sin(struct rw *, const uop *n);
const uop *math_cos(struct rw *, const uop *n);
const uop *math_tan(struct rw *, const uop *n);

/* threefry.c: exact. The two words are computed in u32 and put together; rules take apart what is not used. */
const uop *math_threefry(struct rw *, const uop *n);

/* half.c: the same op on float32 sources, rounded back to the half type (comparisons stay bool). */
bool math_is_half(const uop *n); /* a float of fewer than 32 bits */
/* .. whose op the target does not have for that type. */
bool math_lacks(const struct rw *, const uop *n);
bool math_is_f64(const uop *n);
const uop *math_half(struct rw *, const uop *n);

/* Expands an op of unit EX2 or FN. */
typedef const uop *math_fn(struct rw *, const uop *n);
const uop *math_expand(struct rw *, const uop *n);
bool math_has(enum op); /* is there an expansion? */

#endif
