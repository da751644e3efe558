/* internal.h: what the files of src/tensor share: words for errors, broadcasting, and constructors that are normal at
 * birth. Nothing outside this folder includes it. */
#ifndef RIDGE_TENSOR_INTERNAL_H
#define RIDGE_TENSOR_INTERNAL_H

#include "tensor/tensor.h"

/* ---- errors and axes (create.c) ------------------------------------------------------------------ */

void tg_bad(struct tg *, const char *fmt, ...) RG_FMT(2, 3) RG_NORETURN; /* throws RG_EINVAL */
const char *tg_dims(struct tg *, const uop *);                           /* "(2, 3)", for messages */
const char *tg_list(struct tg *, const int64_t *, uint32_t n);           /* the same of plain numbers */
static inline const char *tg_dt(const uop *n) { return dtype_info[n->dt].name; }
void tg_check_dims(struct tg *, const int64_t *, uint32_t n); /* throws unless they are sizes of a tensor */
void tg_rank(struct tg *, uint32_t n);                        /* throws if that many axes are too many */
uint32_t tg_axis(struct tg *, const uop *, int64_t axis);     /* 0 .. rank-1; negative counts from the end */
/* A bit for each axis; each may be given once. n 0 with axes NULL: all of them. */
uint32_t tg_axes(struct tg *, const uop *, const int64_t *axes, uint32_t n);

/* ---- nodes (create.c, move.c) --------------------------------------------------------------------- */

/* Elementwise on operands that fit already (one shape, or rank 0; one dtype). Constants fold. */
const uop *tg_op1(struct tg *, enum op, const uop *);
const uop *tg_op2(struct tg *, enum op, const uop *, const uop *);
const uop *tg_op3(struct tg *, enum op, const uop *, const uop *, const uop *);
const uop *tg_uniform(const uop *); /* the number that all elements are, where that is plain; else NULL */
const uop *tg_like(struct tg *, const uop *x, double);         /* the number, in x's dtype, rank 0 */
const uop *tg_op_k(struct tg *, enum op, const uop *, double); /* op(x, number) */
/* A node whose sources after x are numbers: movement, REDUCE_AXES, SCAN_AXIS. Not normalised. */
const uop *tg_nums(struct tg *, enum op, const uop *x, const int64_t *num, uint32_t n, union arg);
/* Is x a view of this kind that another one of it looks through? */
static inline bool tg_is_merged(const struct tg *g, const uop *x, enum op op) {
    return x->op == op && !tg_is_named(g, x);
}
const uop *tg_reshape(struct tg *, const uop *, const struct shape *);
const uop *tg_to_shape(struct tg *, const uop *, const struct shape *); /* broadcast, known to fit */
void tg_broadcast(struct tg *, const uop **x, uint32_t n); /* to one shape; rank 0 stays as it is */
const uop *tg_pad_node(struct tg *, const uop *, const uop *value,
                       const int64_t *num);                         /* 3 numbers an axis */
const uop *tg_box(struct tg *, const uop *, const uop *const *box); /* SHRINK: start, size, step an axis */
/* I32 if it fits, else i64; size 1 elsewhere. */
const uop *tg_iota(struct tg *, int64_t n, uint32_t rank, uint32_t axis);

/* reduce.c: a running sum that is multiplied by `by`, of the same shape, before each element is added. */
const uop *tg_decayed(struct tg *, const uop *x, const uop *by, int64_t axis);

/* product.c: the sum over the last axes of x * w, which broadcast; of 16-bit floats it is float32. */
const uop *tg_contract(struct tg *, const uop *x, const uop *w, uint32_t axes);

/* index.c: checks an index of x's rank; returns the axis. */
uint32_t tg_index_check(struct tg *, const char *what, const uop *x, int64_t axis, const uop *index);

/* ---- dtypes (math.c) ------------------------------------------------------------------------------- */

static inline bool tg_is_half(const uop *n) {
    return dt_is_float((enum dtype)n->dt) && dtype_info[n->dt].bytes < 4;
}
void tg_no_f8(struct tg *, enum op, const uop *x); /* throws, with what to do, if x has a type of 8 bits */
static inline bool tg_is_f8(enum dtype d) { return dt_is_float(d) && dtype_info[d].bytes == 1; }
const uop *tg_value(struct tg *, const uop *);         /* an idx VAR becomes i64; a statement is refused */
const uop *tg_float(struct tg *, const uop *);         /* integers and bool become f32 */
const uop *tg_wide(struct tg *, const uop *);          /* as tg_float, and halves become f32 */
const uop *tg_softplus_tail(struct tg *, const uop *); /* log(1 + e^-|x|) */
const uop *tg_bool(struct tg *, const uop *);          /* x != 0 */
/* Axes stay with size 1; of nothing: the identity. */
const uop *tg_reduce(struct tg *, enum op, const uop *, uint32_t mask);
const uop *tg_scan(struct tg *, enum op, const uop *, int64_t axis, enum dtype); /* computed in that dtype */
const uop *tg_drop(struct tg *, const uop *, uint32_t mask, bool keep); /* reduced axes go unless kept */

/* ---- collectives (collective.c) --------------------------------------------------------------------- */

const uop *grad_collective(struct tg *, const uop *n, const uop *dy);

/* ---- windows (conv.c) ------------------------------------------------------------------------------- */

enum { SPATIAL_MAX = 3 };
/* One number for all axes, one each, or none. Each at least `least`. */
void tg_per_axis(struct tg *, struct t_ints, uint32_t axes, const char *what, int64_t none, int64_t least,
                 int64_t *out);
/* The same of padding, as pairs: before and after of each axis. */
void tg_padding(struct tg *, struct t_ints, uint32_t axes, int64_t *out);
/* Padding of the last axes. */
const uop *tg_pad_last(struct tg *, const uop *, const int64_t *pairs, uint32_t axes, const uop *value);
/* FOLD of d, added over its windows and the other axes of the mask, which stay with size 1; num: size, stride, dilation of
 * each of the m axes. Written so that a sum of products stays one (grad_movement.c). */
const uop *tg_spread_sum(struct tg *, const uop *d, const int64_t *num, uint32_t m, uint32_t mask);
void tg_spatial(struct tg *, const uop *x, uint32_t axes); /* throws unless x is (N, C, and `axes` more) */

/* ---- reductions that keep their axes, of float32 at least (reduce.c) -------------------------------- */

/* Y has x's shape, or 1 where axes were reduced. */
const uop *tg_keep_op(struct tg *, enum op, const uop *x, const uop *y);
const uop *tg_mean(struct tg *, const uop *, uint32_t mask);
/* Any dtype; of nothing an error. */
const uop *tg_extreme(struct tg *, const uop *, uint32_t mask, bool greatest);
const uop *tg_logsumexp(struct tg *, const uop *, uint32_t mask);

/* RECOMPUTE n (recompute.c): d[i] flows to to[i], count of them; wanted: by node id, what leads to a wrt. */
uint32_t grad_recompute(struct tg *, struct arena *, const uop *n, const uop *dy, const bool *wanted,
                        const uop *const **to, const uop ***d);

#endif
