/* tensor.h: the front end: functions that build the tensor graph, and gradients. The only header of src/tensor.
 *
 * Each function takes nodes and returns a node; nothing is computed. Shapes and dtypes are checked here, before any
 * node is made, and misuse is thrown as RG_EINVAL with words for the user: what was expected, what was found (both
 * shapes, both dtypes), what to do. The message names neither the public function nor the source line; the api puts
 * "file:line: rg_add: " before it. Broadcasting and promotion are explicit: the nodes that come out obey shape.c.
 * Axes may be negative (counted from the end). Sizes of a reshape may be -1 once.
 * The graph is hash-consed, so building the same expression twice gives the same node.
 * Tests: tests/unit/tensor*.c; values in tests/values through the api */
#ifndef RIDGE_TENSOR_H
#define RIDGE_TENSOR_H

#include "rules/rules.h"

/* ---- provenance (prov.c) ------------------------------------------------------------------------ */

/* Which call of the user a node came from. Not part of a node's identity: a side table by node id. */
struct site {
    const char *file, *fn, *module; /* interned in the table's arena or static; module: nn path or NULL */
    int line;
    uint8_t part;   /* SITE_BACKWARD .. */
    uint32_t alone; /* the number of the set of this site only; 0: not made yet */
};
enum { SITE_BACKWARD = 1, SITE_OPTIMISER = 2 };
struct prov_node {
    uint32_t set, epoch; /* epoch: when it was asked for last */
};
struct prov {
    struct arena *arena;
    VEC(struct site) site;     /* by site number; 0 is "unknown" */
    struct map site_map;       /* hash of a site -> number */
    VEC(const uint32_t *) set; /* interned sorted sets: {n, site...}; set 0 is empty */
    struct map set_map;
    VEC(struct prov_node) of; /* by node id */
    uint32_t epoch;           /* programs that ran so far */
};
void prov_init(struct prov *, struct arena *);
uint32_t prov_site(struct prov *, const char *file, int line, const char *fn, const char *module,
                   uint8_t part);
void prov_add(struct prov *, uint32_t node_id, uint32_t site);
/* The site asked for a node that another call had made. What asked for it before the last program ran got its value then. */
void prov_again(struct prov *, uint32_t node_id, uint32_t site);
void prov_copy(struct prov *, uint32_t to, uint32_t from); /* `to` is `from`, written otherwise */
bool prov_is_new(const struct prov *, uint32_t node_id);   /* asked for since the last program ran */
uint32_t prov_set_of(const struct prov *, uint32_t node_id);
/* Nodes [first, last) get all sites of `from`, marked backward if asked. */
void prov_inherit(struct prov *, uint32_t first, uint32_t last, uint32_t from, bool backward);
/* The same of n nodes that were there, as prov_again. */
void prov_inherit_again(struct prov *, const uint32_t *node, uint32_t n, uint32_t from, bool backward);
uint32_t prov_union(struct prov *, uint32_t set_a, uint32_t set_b);
/* "dot dot.c:6", "softmax, gelu model.c:31 (backward)", "conv2d net.0 mnist.c:31": short, for one line of DEBUG=2; at most `max` sites, then ".." */
void prov_print(struct str *, const struct prov *, uint32_t set, int max);

/* ---- the builder -------------------------------------------------------------------------------- */

struct tg {
    struct ir *ir; /* its err receives what is thrown */
    struct shapes shapes;
    struct prov prov;
    VEC(uint8_t) named;   /* node id of a view: see tg_name() */
    const uop *chain;     /* collective that the next one comes after, or NULL; the caller keeps it alive */
    uint64_t collectives; /* that looked like one before */
};
void tg_init(struct tg *, struct ir *, struct arena *);
/* A view of a view is one view of what is below, unless a tensor of the user's shows the view between: gradients with respect to
 * it may be asked for. tg_name says so of n; it does not throw. */
void tg_name(struct tg *, const uop *n);
bool tg_is_named(const struct tg *, const uop *n);
static inline const struct shape *tg_shape(struct tg *g, const uop *n) { return shape_of(&g->shapes, n); }

/* dtype.c: docs/semantics.md has the table. */
enum dtype t_promote(enum dtype, enum dtype); /* PyTorch's lattice, no weak types */
enum dtype t_sum_dtype(enum dtype);           /* of sums: bool and ints -> i64; u64 and floats stay */
/* A number beside a tensor takes the tensor's dtype unless its kind is higher: int beside bool -> i64, float beside
 * int or bool -> f32. */
enum dtype t_number_dtype(enum dtype tensor, bool is_float);

/* create.c */
const uop *t_buffer(struct tg *, enum dtype, const int64_t *dims, uint32_t n, uint32_t number);
const uop *t_number(struct tg *, enum dtype, double); /* rank 0 */
const uop *t_int(struct tg *, enum dtype, int64_t);   /* rank 0 */
const uop *t_full(struct tg *, const uop *rank0, const int64_t *dims, uint32_t n);
const uop *t_arange(struct tg *, enum dtype, double start, double stop, double step);
const uop *t_linspace(struct tg *, enum dtype, double start, double stop, int64_t n);
const uop *t_eye(struct tg *, enum dtype, int64_t n, int64_t m);

/* move.c */
const uop *t_reshape(struct tg *, const uop *, const int64_t *dims, uint32_t n);
const uop *t_permute(struct tg *, const uop *, const int64_t *axes, uint32_t n);
const uop *t_transpose(struct tg *, const uop *, int64_t a, int64_t b);
/* Broadcasts: new axes in front, -1 keeps. */
const uop *t_expand(struct tg *, const uop *, const int64_t *dims, uint32_t n);
/* As Python's: stop T_END is to the end; step 0 means 1 and may be negative. var: a start known at run time (an idx
 * VAR), then stop - start is the size. Axes beyond n: all of them. */
#define T_END INT64_MAX
struct t_slice {
    int64_t start, stop, step;
    const uop *var;
};
const uop *t_slice(struct tg *, const uop *, const struct t_slice *, uint32_t n);
/* Pairs for n axes, from the FIRST axis on; negative crops. */
const uop *t_pad(struct tg *, const uop *, const int64_t *before_after, uint32_t n, double value);
const uop *t_flip(struct tg *, const uop *, const int64_t *axes, uint32_t n);
const uop *t_squeeze(struct tg *, const uop *, int64_t axis); /* an axis of size 1; T_END: all of them */
const uop *t_unsqueeze(struct tg *, const uop *, int64_t axis);
const uop *t_flatten(struct tg *, const uop *, int64_t first, int64_t last);
const uop *t_cat(struct tg *, const uop *const *, uint32_t n, int64_t axis);
const uop *t_stack(struct tg *, const uop *const *, uint32_t n, int64_t axis);
const uop *t_repeat(struct tg *, const uop *, const int64_t *times, uint32_t n);
/* Windows over the last m axes: (.., i1..im) to (.., o1..om, k1..km); at (o, k) is x at o*stride + k*dilation. As many windows o as
 * fit. */
const uop *t_windows(struct tg *, const uop *, const int64_t *size, const int64_t *stride,
                     const int64_t *dilation, uint32_t m);

/* parts.c */
const uop *t_unflatten(struct tg *, const uop *, int64_t axis, const int64_t *sizes, uint32_t n);
const uop *t_repeat_interleave(struct tg *, const uop *, int64_t times, int64_t axis); /* T_END: flattened */
/* No axes: one shift, flattened. */
const uop *t_roll(struct tg *, const uop *, const int64_t *shift, uint32_t n, const int64_t *axis,
                  uint32_t naxes);
void t_split(struct tg *, const uop *, int64_t axis, const int64_t *sizes, uint32_t n, const uop **out);
const uop *t_diagonal(struct tg *, const uop *, int64_t k, int64_t a, int64_t b); /* as the last axis */
const uop *t_diag(struct tg *, const uop *, int64_t k);
const uop *t_tril(struct tg *, const uop *, int64_t k);
const uop *t_triu(struct tg *, const uop *, int64_t k);

const uop *t_contiguous(struct tg *, const uop *);
const uop *t_inline(struct tg *, const uop *); /* never stored between kernels */
/* recompute.c: y, whose gradient computes what lies between x and y again; never: an idx VAR that is 0 */
const uop *t_recompute(struct tg *, const uop *y, const uop *x, const uop *never);
/* collective.c: an exchange with other ranks, after g->chain, which it becomes: x flattened to a vector of `elements`. */
const uop *t_collective(struct tg *, struct collective, const uop *x, int64_t elements);
/* Value's value; gradients flow to back. */
const uop *t_grad_through(struct tg *, const uop *value, const uop *back);
/* The value, which does not depend on x because x is empty: gradients, of 0, reach x all the same. */
const uop *t_reaches(struct tg *, const uop *value, const uop *x);
const uop *t_detach(struct tg *, const uop *);
const uop *t_cast(struct tg *, const uop *, enum dtype);
const uop *t_bitcast(struct tg *, const uop *, enum dtype);

/* math.c: elementwise. Binary functions broadcast and promote; div is true division (ints become f32). */
/* clang-format off */
/*        name          what                                                                      */
#define T_UNARY(X)                                                                                 \
    X(neg, "-x")                                                                                   \
    X(abs, "|x|")                                                                                  \
    X(sign, "-1, 0 or 1; NaN stays")                                                               \
    X(square, "x*x")                                                                               \
    X(sqrt, "square root")                                                                         \
    X(rsqrt, "1/sqrt(x)")                                                                          \
    X(recip, "1/x")                                                                                \
    X(exp, "e^x")                                                                                  \
    X(exp2, "2^x")                                                                                 \
    X(expm1, "e^x - 1, accurate near 0")                                                           \
    X(log, "natural logarithm")                                                                    \
    X(log2, "base 2 logarithm")                                                                    \
    X(log10, "base 10 logarithm")                                                                  \
    X(log1p, "log(1 + x), accurate near 0")                                                        \
    X(sin, "sine")                                                                                 \
    X(cos, "cosine")                                                                               \
    X(tan, "tangent")                                                                              \
    X(sinh, "hyperbolic sine")                                                                     \
    X(cosh, "hyperbolic cosine")                                                                   \
    X(tanh, "hyperbolic tangent")                                                                  \
    X(asin, "arc sine")                                                                            \
    X(acos, "arc cosine")                                                                          \
    X(atan, "arc tangent")                                                                         \
    X(asinh, "inverse of sinh")                                                                    \
    X(acosh, "inverse of cosh")                                                                    \
    X(atanh, "inverse of tanh")                                                                    \
    X(erf, "error function")                                                                       \
    X(floor, "largest integer not above")                                                          \
    X(ceil, "smallest integer not below")                                                          \
    X(trunc, "integer part")                                                                       \
    X(round, "nearest integer, ties to even")                                                      \
    X(isnan, "is it NaN")                                                                          \
    X(isinf, "is it an infinity")                                                                  \
    X(isfinite, "is it a finite number")                                                           \
    X(logical_not, "x == 0")                                                                       \
    X(bitwise_not, "bits flipped; logical for bool")                                               \
    X(relu, "max(x, 0)")                                                                           \
    X(relu6, "x clamped to 0..6")                                                                  \
    X(sigmoid, "1/(1+e^-x)")                                                                       \
    X(logsigmoid, "log(sigmoid(x)), without overflow")                                             \
    X(silu, "x*sigmoid(x)")                                                                        \
    X(gelu, "x*Phi(x), with erf")                                                                  \
    X(gelu_tanh, "x*Phi(x), the tanh approximation")                                               \
    X(softplus, "log(1+e^x), without overflow")                                                    \
    X(mish, "x*tanh(softplus(x))")                                                                 \
    X(hardswish, "x*relu6(x+3)/6")                                                                 \
    X(softsign, "x/(1+|x|)")                                                                       \
    X(selu, "elu that keeps mean 0 and variance 1")                                                \
    X(hardsigmoid, "relu6(x+3)/6")                                                                 \
    X(quick_gelu, "x*sigmoid(1.702 x)")
#define T_BINARY(X)                                                                                \
    X(add, "x + y")                                                                                \
    X(sub, "x - y")                                                                                \
    X(mul, "x * y")                                                                                \
    X(div, "x / y, as floats")                                                                     \
    X(floordiv, "floor(x / y)")                                                                    \
    X(mod, "x - floor(x/y)*y: the sign of y")                                                      \
    X(fmod, "x - trunc(x/y)*y: the sign of x")                                                     \
    X(pow, "x to the power y")                                                                     \
    X(maximum, "the greater; NaN if either is")                                                    \
    X(minimum, "the lesser; NaN if either is")                                                     \
    X(eq, "x == y")                                                                                \
    X(ne, "x != y")                                                                                \
    X(lt, "x < y")                                                                                 \
    X(le, "x <= y")                                                                                \
    X(gt, "x > y")                                                                                 \
    X(ge, "x >= y")                                                                                \
    X(logical_and, "both not 0")                                                                   \
    X(logical_or, "one of them not 0")                                                             \
    X(logical_xor, "exactly one of them not 0")                                                    \
    X(bitwise_and, "and of bits")                                                                  \
    X(bitwise_or, "or of bits")                                                                    \
    X(bitwise_xor, "exclusive or of bits")                                                         \
    X(shl, "x << y")                                                                               \
    X(shr, "x >> y")                                                                               \
    X(copysign, "|x| with the sign of y")                                                          \
    X(logaddexp, "log(e^x + e^y), without overflow")
/* clang-format on */
#define X(name, what) const uop *t_##name(struct tg *, const uop *);
T_UNARY(X)
#undef X
#define X(name, what) const uop *t_##name(struct tg *, const uop *, const uop *);
T_BINARY(X)
#undef X
const uop *t_where(struct tg *, const uop *cond, const uop *x, const uop *y);
const uop *t_clamp(struct tg *, const uop *, const uop *lo, const uop *hi); /* either may be NULL */
const uop *t_lerp(struct tg *, const uop *a, const uop *b, const uop *w);
const uop *t_leaky_relu(struct tg *, const uop *, double slope);
const uop *t_elu(struct tg *, const uop *, double alpha);
const uop *t_celu(struct tg *, const uop *, double alpha);
const uop *t_glu(struct tg *, const uop *, int64_t axis); /* first half * sigmoid(second half) */
const uop *t_hardtanh(struct tg *, const uop *, double lo, double hi);
const uop *t_isclose(struct tg *, const uop *x, const uop *y, double rtol, double atol);
const uop *t_masked_fill(struct tg *, const uop *, const uop *mask, const uop *v); /* keeps x's dtype */

/* reduce.c. axes NULL, n 0: all axes. keep: reduced axes stay with size 1. */
/* clang-format off */
#define T_REDUCE(X)                                                                                \
    X(sum, "sum; of nothing 0")                                                                    \
    X(prod, "product; of nothing 1")                                                               \
    X(max, "greatest; NaN if one is; of nothing an error")                                         \
    X(min, "least; NaN if one is; of nothing an error")                                            \
    X(mean, "arithmetic mean")                                                                     \
    X(any, "is one of them not 0")                                                                 \
    X(all, "are all of them not 0")                                                                \
    X(logsumexp, "log of the sum of e^x, without overflow")
/* clang-format on */
#define X(name, what) \
    const uop *t_##name(struct tg *, const uop *, const int64_t *axes, uint32_t n, bool keep);
T_REDUCE(X)
#undef X
const uop *t_var(struct tg *, const uop *, const int64_t *axes, uint32_t n, bool keep, double correction);
const uop *t_std(struct tg *, const uop *, const int64_t *axes, uint32_t n, bool keep, double correction);
/* i64: the first of equals, NaN before all; axis T_END: of all, flattened. */
const uop *t_argmax(struct tg *, const uop *, int64_t axis, bool keep);
const uop *t_argmin(struct tg *, const uop *, int64_t axis, bool keep);
const uop *t_cumsum(struct tg *, const uop *, int64_t axis);
const uop *t_cumprod(struct tg *, const uop *, int64_t axis);
const uop *t_cummax(struct tg *, const uop *, int64_t axis);
const uop *t_cummin(struct tg *, const uop *, int64_t axis);
const uop *t_logcumsumexp(struct tg *, const uop *, int64_t axis);
const uop *t_softmax(struct tg *, const uop *, int64_t axis);
const uop *t_log_softmax(struct tg *, const uop *, int64_t axis);

/* norm.c. weight and bias may be NULL; layernorm is over the last n axes, rmsnorm over the last one, the others go by the
 * channels of (N, C, ..) and have one number for each. */
const uop *t_norm(struct tg *, const uop *, double p, const int64_t *axes, uint32_t n, bool keep);
const uop *t_normalize(struct tg *, const uop *, double p, int64_t axis); /* x / max(norm, 1e-12) */
const uop *t_layernorm(struct tg *, const uop *, const uop *weight, const uop *bias, uint32_t n_axes,
                       double eps);
const uop *t_rmsnorm(struct tg *, const uop *, const uop *weight, double eps);
const uop *t_groupnorm(struct tg *, const uop *, int64_t groups, const uop *weight, const uop *bias,
                       double eps);
const uop *t_instancenorm(struct tg *, const uop *, const uop *weight, const uop *bias, double eps);
const uop *t_batchnorm(struct tg *, const uop *, const uop *mean, const uop *var, const uop *weight,
                       const uop *bias, double eps);

/* loss.c: of a prediction and a target, in float32 at least; the dtype is that of both together. */
enum t_reduction { T_MEAN, T_SUM, T_EACH };
struct t_loss {
    enum t_reduction reduction;
    const uop *weight, *pos_weight; /* or NULL */
    double smoothing, delta;        /* delta: 0 means 1 */
    bool ignore;
    int64_t ignore_index;
};
/* clang-format off */
#define T_LOSS(X)                                                                                  \
    X(cross_entropy, "of logits and classes, or shares of classes")                                \
    X(nll_loss, "of log-probabilities and classes")                                                \
    X(bce_with_logits, "yes or no, of logits")                                                     \
    X(bce, "yes or no, of probabilities")                                                          \
    X(mse_loss, "square of the difference")                                                        \
    X(l1_loss, "size of the difference")                                                           \
    X(smooth_l1_loss, "a parabola up to delta, then slope 1")                                      \
    X(huber_loss, "a parabola up to delta, then slope delta")                                      \
    X(kl_div, "of log-probabilities and probabilities")
/* clang-format on */
#define X(name, options) \
    const uop *t_##name(struct tg *, const uop *x, const uop *target, const struct t_loss *);
T_LOSS(X)
#undef X

/* product.c: 16-bit floats accumulate in f32, integers in their own type */
const uop *t_matmul(struct tg *, const uop *, const uop *); /* NumPy's rules: 1-D operands, batches */
const uop *t_dot(struct tg *, const uop *, const uop *);    /* 1-D . 1-D is a scalar; else matmul */
const uop *t_outer(struct tg *, const uop *, const uop *);
/* x @ weight.T + bias, as PyTorch; bias may be NULL. */
const uop *t_linear(struct tg *, const uop *x, const uop *weight, const uop *bias);

/* recurrent.c: x (T, N, in), state (states, N, H) or NULL: all states, (states, T + 1, N, H); LSTM: h and c; GRU: h. Row 0 of time is
 * what it begins with; backwards row T. */
enum t_cell { T_LSTM, T_GRU };
struct t_recurrent {
    enum t_cell cell;
    const uop *w[4]; /* w_ih, w_hh, b_ih, b_hh; biases may be NULL */
    bool backwards;
};
const uop *t_recurrent(struct tg *, const uop *x, const uop *state, const struct t_recurrent *);

/* einsum.c: "bij,bjk->bik", as NumPy's and PyTorch's */
const uop *t_einsum(struct tg *, const char *formula, const uop *const *, uint32_t n);

/* conv.c, pool.c: x (N, C, spatial axes..), 1 to 3 of them. A list holds one number for all axes, or one each; of padding also
 * before and after of each. An empty list: stride, dilation 1, padding 0; of pooling the stride is the size. */
struct t_ints {
    const int64_t *d;
    uint32_t n;
};
struct t_conv {
    const uop *bias; /* (out), or NULL */
    struct t_ints stride, padding, dilation, output_padding;
    int64_t groups;
};
struct t_pool {
    struct t_ints size, stride, padding, dilation;
    bool ceil, exclude_padding;
};
/* weight (out, C / groups, k..); transposed: (C, out / groups, k..). 16-bit floats accumulate in f32 and are rounded once. */
const uop *t_conv(struct tg *, const uop *x, const uop *weight, uint32_t axes, const struct t_conv *);
const uop *t_conv_transpose(struct tg *, const uop *x, const uop *weight, uint32_t axes,
                            const struct t_conv *);
const uop *t_max_pool(struct tg *, const uop *, uint32_t axes, const struct t_pool *);
const uop *t_max_pool_index(struct tg *, const uop *, uint32_t axes, const struct t_pool *); /* i64, flat */
const uop *t_avg_pool(struct tg *, const uop *, uint32_t axes, const struct t_pool *);
/* Scatters each element to its index in a plane of h*w, 0 elsewhere; the mean of several at one index (equal where windows
 * overlap). */
const uop *t_max_unpool(struct tg *, const uop *, const uop *index, int64_t h, int64_t w);

/* resize.c */
enum t_pad_mode { T_PAD_CONSTANT, T_PAD_REFLECT, T_PAD_REPLICATE, T_PAD_CIRCULAR };
enum t_resize_mode { T_RESIZE_NEAREST, T_RESIZE_NEAREST_EXACT, T_RESIZE_LINEAR };
const uop *t_pad_with(struct tg *, const uop *, const int64_t *before_after, uint32_t n, enum t_pad_mode);
const uop *t_unfold(struct tg *, const uop *, int64_t axis, int64_t size, int64_t step);
/* x (N, C, n axes) to these sizes. */
const uop *t_interpolate(struct tg *, const uop *, const int64_t *size, uint32_t n, enum t_resize_mode,
                         bool align_corners);
const uop *t_adaptive_avg_pool(struct tg *, const uop *, const int64_t *size, uint32_t axes);

/* attention.c: softmax(q k^T * scale + mask) v; see rg_attention. */
struct t_attention {
    const uop *mask; /* may be NULL */
    bool causal;
    bool stream;   /* its kernels stream one head of q each: a GPU's */
    bool gemms;    /* .. are GEMMs with MMA instructions and packed operands: a CPU's */
    bool wgmma;    /* .. and multiply 16-bit floats of head sizes up to 256 in multiples of 8 by wgmma */
    int sms;       /* that should have work */
    int vec_bytes; /* of a CPU's vectors */
    bool mma_bf16; /* a CPU multiplies bfloat16 by MMA instructions */
    double scale, dropout;
    int64_t
        scores; /* bytes of them that may be stored; above it they are computed by blocks of queries, or in kept rows */
    const uop *(*never)(void *user); /* an idx VAR that is 0, for t_recompute */
    void *user;
};
struct t_rng; /* only asked with dropout */
const uop *t_attention(struct tg *, struct t_rng *, const uop *q, const uop *k, const uop *v,
                       const struct t_attention *);

/* index.c: by integer tensors (GATHER, SCATTER) */
/* torch.gather; and index_select with an index of any shape, NumPy's take. */
const uop *t_gather(struct tg *, const uop *, int64_t axis, const uop *index);
const uop *t_take(struct tg *, const uop *, int64_t axis, const uop *index);
const uop *t_scatter_add(struct tg *, const uop *, int64_t axis, const uop *index, const uop *src);
const uop *t_embedding(struct tg *, const uop *index, const uop *weight);
const uop *t_one_hot(struct tg *, const uop *index, int64_t classes); /* i64 */

/* random.c: Threefry. The caller supplies the counters: `take` reserves n of them, never given out again, and returns the first
 * and the key; both u64 of rank 0, known only at run time. Shapes and arguments are checked before anything is taken. */
struct t_rng {
    void (*take)(struct t_rng *, int64_t counters, const uop **base, const uop **key);
};
const uop *t_rand(struct tg *, struct t_rng *, enum dtype, const int64_t *dims, uint32_t n);
const uop *t_randn(struct tg *, struct t_rng *, enum dtype, const int64_t *dims, uint32_t n);
const uop *t_uniform(struct tg *, struct t_rng *, enum dtype, double lo, double hi, const int64_t *dims,
                     uint32_t n);
const uop *t_normal(struct tg *, struct t_rng *, enum dtype, double mean, double deviation,
                    const int64_t *dims, uint32_t n);
const uop *t_randint(struct tg *, struct t_rng *, enum dtype, int64_t lo, int64_t hi, const int64_t *dims,
                     uint32_t n);
const uop *t_randperm(struct tg *, struct t_rng *, enum dtype, int64_t n);
/* Shapes (out, in, ..); what follows the first two axes counts to both fans, as in PyTorch. */
const uop *t_glorot_uniform(struct tg *, struct t_rng *, enum dtype, const int64_t *dims, uint32_t n);
const uop *t_kaiming_uniform(struct tg *, struct t_rng *, enum dtype, double slope, const int64_t *dims,
                             uint32_t n);
const uop *t_kaiming_normal(struct tg *, struct t_rng *, enum dtype, double slope, const int64_t *dims,
                            uint32_t n);
const uop *t_dropout(struct tg *, struct t_rng *, const uop *, double p);
const uop *t_bernoulli(struct tg *, struct t_rng *, const uop *p);
const uop *t_multinomial(struct tg *, struct t_rng *, const uop *weights, int64_t n, bool replace);

/* scatter.c: written (the last of several; src may have rank 0) or combined; picked by a mask, `size` elements */
enum t_combine { T_COMBINE_SUM, T_COMBINE_PROD, T_COMBINE_MEAN, T_COMBINE_MAX, T_COMBINE_MIN };
const uop *t_scatter(struct tg *, const uop *, int64_t axis, const uop *index, const uop *src);
const uop *t_scatter_reduce(struct tg *, const uop *, int64_t axis, const uop *index, const uop *src,
                            enum t_combine, bool exclude_self);
const uop *t_masked_select(struct tg *, const uop *, const uop *mask, int64_t size);
const uop *t_nonzero(struct tg *, const uop *, int64_t size); /* i64 (size, rank) */

/* sort.c: stable; NaN is the greatest */
const uop *t_sort(struct tg *, const uop *, int64_t axis, bool descending);
const uop *t_argsort(struct tg *, const uop *, int64_t axis, bool descending); /* i64 */
const uop *t_topk(struct tg *, const uop *, int64_t k, int64_t axis, bool smallest);
const uop *t_topk_index(struct tg *, const uop *, int64_t k, int64_t axis, bool smallest); /* i64 */

/* grad.c: gradients of `of` (any shape; NULL seed: ones, and then `of` must have one element) with respect to wrt[n];
 * out[i] has the shape and dtype of wrt[i], zeros where nothing flows. wrt are nodes of the graph; what lies below
 * them is not differentiated through. Rules: src/tensor/grad.rules. The nodes made inherit provenance, marked backward. */
void t_grad(struct tg *, const uop *of, const uop *seed, const uop *const *wrt, uint32_t n, const uop **out);

#endif
