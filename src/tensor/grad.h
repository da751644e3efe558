/* grad.h: what grad.rules is made of. Only the matcher that rulegen writes from that file includes it, besides
 * grad.c and grad_movement.c; the matcher is a part of this folder that happens to be generated. rw->cx is the struct tg. */
#ifndef RIDGE_TENSOR_GRAD_H
#define RIDGE_TENSOR_GRAD_H

#include "rules/rules.h"

/* Generated: fills out[i] for each source i with bit i of `want`, unless nothing flows there. False: no rule. */
bool rules_grad(struct rw *, const uop *n, const uop *g, uint32_t want, const uop **out);

/* ---- what right sides are built with (grad.c): nodes of the tensor graph; constants fold --------------- */

const uop *grad1(struct rw *, enum op, const uop *);
const uop *grad2(struct rw *, enum op, const uop *, const uop *);
const uop *grad3(struct rw *, enum op, const uop *, const uop *, const uop *);
const uop *grad_new(struct rw *, enum op, enum dtype, unsigned lanes, const uop *const *src, uint32_t n,
                    union arg);
const uop *grad_mk(struct rw *, enum op, const uop *const *src, uint32_t n, union arg);
const uop *grad_int(struct rw *, unsigned dt, int64_t);
const uop *grad_flt(struct rw *, unsigned dt, double);
static inline const uop *grad_node(struct rw *rw, unsigned dt, const uop *n) {
    (void)rw, (void)dt;
    return n;
}
#define GRAD_VALUE(rw, dt, x) \
    _Generic((x), const uop * : grad_node, double : grad_flt, default : grad_int)((rw), (dt), (x))

/* ---- what does not fit in a line (grad_movement.c); n is the node, g what flows to it ------------------------ */

const uop *grad_zeros(struct rw *, const uop *like);
const uop *grad_pow(struct rw *, const uop *a, double k);
const uop *grad_reshape(struct rw *, const uop *g, const uop *a); /* to a's shape */
const uop *grad_expand(struct rw *, const uop *g, const uop *a);  /* repeated to a's shape */
const uop *grad_stored(struct rw *, const uop *g, const uop *a);  /* the same, in memory */
const uop *grad_sum_to(struct rw *, const uop *g, const uop *a);  /* summed to a's shape */
const uop *grad_permute(struct rw *, const uop *g, const uop *n);
const uop *grad_flip(struct rw *, const uop *g, const uop *n);
const uop *grad_unpad(struct rw *, const uop *g, const uop *n);
const uop *grad_pad_value(struct rw *, const uop *g, const uop *n); /* sum over what PAD added */
const uop *grad_unshrink(struct rw *, const uop *g, const uop *n);  /* zeros around, and between steps */
const uop *grad_fold(struct rw *, const uop *g, const uop *n);      /* adjoint of UNFOLD */
const uop *grad_unfold(struct rw *, const uop *g, const uop *n);
const uop *grad_outside(struct rw *, const uop *g, const uop *n); /* g, but 0 where ASSIGN wrote */
const uop *grad_inside(struct rw *, const uop *g, const uop *n);  /* g where ASSIGN wrote */
const uop *grad_product(struct rw *, const uop *g, const uop *n);
const uop *grad_extreme(struct rw *, const uop *g, const uop *n);
const uop *grad_cumsum(struct rw *, const uop *g, const uop *n);
const uop *grad_decayed(struct rw *, const uop *g, const uop *n);
const uop *grad_decay(struct rw *, const uop *g, const uop *n);
const uop *grad_cumprod(struct rw *, const uop *g, const uop *n);
const uop *grad_cumextreme(struct rw *, const uop *g, const uop *n);

#endif
