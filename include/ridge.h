/* ridge.h: tensors that know what they cost. The public API of libridge; this file is its manual.
 *
 *     #include <ridge.h>
 *     int main(void) {
 *         rg_ctx *c = rg_open(NULL);
 *         rg_tensor a = rg_from(c, RG_I32, (int[]){1, 2}, RG_SHAPE(2));
 *         rg_tensor b = rg_from(c, RG_I32, (int[]){3, 4}, RG_SHAPE(2));
 *         int r;
 *         if (rg_read(rg_dot(a, b), &r, sizeof r)) return fprintf(stderr, "%s\n", rg_error(c)), 1;
 *         printf("%d\n", r);                                             // 11
 *         return rg_close(c);
 *     }
 *
 * 1. NOTHING RUNS UNTIL YOU ASK. rg_add and friends note down what to compute. rg_read, rg_item and rg_realize
 *    plan all of it into few kernels, compile them (once), and run them.
 *
 * 2. A TENSOR IS A VALUE. `rg_tensor` is a number that you copy, pass and return freely. It denotes the value it had
 *    when it was made. The only calls that change what a handle denotes are rg_assign, rg_assign_slice and rg_set_scalar,
 *    and they change that one handle: tensors computed from it before, views included, keep the old value (PyTorch's views would
 *    see the new one). docs/tensors.md has the rules.
 *
 * 3. SCOPES FREE. Everything made after RG_SCOPE(c) is freed when the block ends, by break and return too:
 *
 *         for (int i = 0; i < 70; i++) {
 *             RG_SCOPE(c);
 *             rg_tensor loss = rg_mean(rg_square(rg_sub(rg_matmul(x, w), y)));
 *             rg_backward(loss);
 *             rg_assign(w, rg_sub(w, rg_mul(rg_param_grad(w), 0.1)));
 *             rg_zero_grad(c);
 *             if (i % 10 == 0) printf("%g\n", rg_item(loss));
 *         }
 *
 *    rg_keep moves one tensor to the enclosing scope. What is made with no scope open lives until rg_close. The inner calls of
 *    a nested expression, rg_mul in rg_add(rg_mul(a, b), c), leave nothing behind: the call that takes them frees them.
 *    A handle that was freed, or that belongs to another context, is an error message and never a crash. So that the macros can
 *    tell a nested call, names that begin with rg_ are reserved for Ridge.
 *
 * 4. ERRORS STAY. The first error of a context is kept with the place of your call, "train.c:31: rg_matmul: ...";
 *    the call that failed returns a tensor that poisons what is computed from it, and later calls do nothing
 *    until rg_clear_error. So write expressions nested and check once, where you read. Calls that do work
 *    return rg_status, 0 for success. No call prints, exits or aborts because of what you pass in.
 *
 * 5. SMALL SYNTAX. RG_SHAPE(2, 3), RG_AXES(0, -1), RG_TENSORS(a, b) and RG_SLICES(...) write lists; RG_LIST(p, n), RG_ARRAY(p, n)
 *    and RG_PARTS(p, n) take them from arrays (braces, as in (rg_ints){p, n}, would be split at their comma by the macros). Operands marked
 *    rg_value may be plain numbers: rg_add(x, 2), rg_sub(1.0, x). Trailing options are named and may be left
 *    out: rg_sum(x), rg_sum(x, RG_AXES(1)), rg_sum(x, .keep = true). Axes may be negative: -1 is the last.
 *    Every macro has a plain function behind it: bindings and C++ see rg_sum(x, (rg_reduce_opts){...}).
 *
 * 6. THREADS. A context is used by one thread at a time; contexts are independent of each other. Only rg_free may be
 *    called from any thread at any time (finalizers of bindings do).
 *
 * Environment: DEVICE=CPU|REF|NULL picks the device of rg_open(NULL), DEBUG=2 prints a line per operation; `ridge env`
 * lists all variables. Broadcasting and promotion follow PyTorch; docs/semantics.md has the tables. */
#ifndef RIDGE_H
#define RIDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RG_VERSION "0.2.0"
#define RG_API __attribute__((visibility("default")))
#define RG_FN RG_API /* a function that records where it was called; tools/callsites looks for this word */

/* clang-format off */

/* ---- types ------------------------------------------------------------------------------------------------------------ */

typedef struct rg_ctx rg_ctx;                      /* a device and all tensors on it */
typedef struct rg_tensor { uint64_t id; } rg_tensor; /* context:8, generation:24, slot:32; 0 is no tensor */
typedef struct rg_scope { uint64_t id; } rg_scope;   /* an open scope */
typedef rg_tensor rg_value;                        /* a parameter that may be a plain number too (in C, through the macros) */

#define RG_NONE ((rg_tensor){0})                   /* for operands that may be left out */

/* The order is the order of promotion within a kind. BF16 and F16 are stored as 16 bits and computed in F32. */
typedef enum rg_dtype {
    RG_BOOL, RG_I8, RG_I16, RG_I32, RG_I64, RG_U8, RG_U16, RG_U32, RG_U64, RG_F16, RG_BF16, RG_F32, RG_F64,
    RG_DTYPES
} rg_dtype;

#ifndef RIDGE_BASE_H /* inside the library the same codes come from a table */
typedef enum rg_status {
    RG_OK = 0,
    RG_EINVAL = 1,        /* you passed something that does not fit: shapes, dtypes, handles, sizes */
    RG_EPARSE = 2,        /* a file's text does not parse */
    RG_EVERIFY = 3,       /* a kernel is not legal; a gather out of range on REF */
    RG_EOPT = 4,          /* an opt is not legal for its kernel */
    RG_ENOMEM = 5,        /* out of memory, yours or the device's */
    RG_EIO = 6,           /* a file could not be read or written */
    RG_ECOMPILE = 7,      /* the C compiler failed or is missing */
    RG_EDEVICE = 8,       /* the device failed */
    RG_ELIMIT = 9,        /* a limit was passed */
    RG_EUNSUPPORTED = 10, /* not supported on this device */
    RG_EINTERNAL = 11     /* a bug in ridge: please report it */
} rg_status;
#endif

/* Lists. In C write them with the macros below; they live until the end of the enclosing block. */
typedef struct rg_ints { const int64_t *d; size_t n; } rg_ints;
typedef struct rg_tensors { const rg_tensor *t; size_t n; } rg_tensors;
typedef struct rg_range {  /* a part of one axis, as start:stop:step in Python */
    int64_t start, stop;   /* negative: from the end; cut to what there is */
    int64_t step;          /* 0 means 1; negative runs backwards */
    rg_tensor at;          /* an rg_index: the start is known at run time only, start..stop is added to it */
} rg_range;
typedef struct rg_ranges { const rg_range *r; size_t n; } rg_ranges;

#define RG_END INT64_MAX  /* of a range: to the end (backwards: through the first) */
#define RG_ALL INT64_MAX  /* of an axis: all of them */

#define RG_INTS(...)    ((rg_ints){(const int64_t[]){0, __VA_ARGS__} + 1, sizeof((const int64_t[]){0, __VA_ARGS__}) / sizeof(int64_t) - 1})
#define RG_SHAPE(...)   RG_INTS(__VA_ARGS__)     /* RG_SHAPE() is a scalar */
#define RG_AXES(...)    RG_INTS(__VA_ARGS__)
#define RG_TENSORS(...) ((rg_tensors){(const rg_tensor[]){__VA_ARGS__}, sizeof((const rg_tensor[]){__VA_ARGS__}) / sizeof(rg_tensor)})
#define RG_ARRAY(p, n)  ((rg_tensors){(p), (n)}) /* n tensors at p */
#define RG_LIST(p, n)   ((rg_ints){(p), (n)})    /* n numbers, int64_t, at p: a shape or axes that are known at run time only */
#define RG_SLICES(...)  ((rg_ranges){(const rg_range[]){__VA_ARGS__}, sizeof((const rg_range[]){__VA_ARGS__}) / sizeof(rg_range)})
#define RG_PARTS(p, n)  ((rg_ranges){(p), (n)})  /* n ranges at p */
#define RG_WHOLE           ((rg_range){.stop = RG_END})                          /* [:]     */
#define RG_FROM(a)         ((rg_range){.start = (a), .stop = RG_END})            /* [a:]    */
#define RG_TO(b)           ((rg_range){.stop = (b)})                             /* [:b]    */
#define RG_RANGE(a, b)     ((rg_range){.start = (a), .stop = (b)})               /* [a:b]   */
#define RG_STEP(a, b, s)   ((rg_range){.start = (a), .stop = (b), .step = (s)})  /* [a:b:s] */
#define RG_WINDOW(i, size) ((rg_range){.stop = (size), .at = (i)})               /* [i:i+size], i an rg_index */

/* Options. All zero is the default; name the fields you want: rg_sum(x, RG_AXES(1), .keep = true). */
typedef struct rg_reduce_opts {
    int zero_;             /* leave it out */
    rg_ints axes;          /* which axes; none: all */
    bool keep;             /* reduced axes stay, with size 1 */
    bool population;       /* rg_var, rg_std: divide by n instead of n - 1 */
} rg_reduce_opts;
typedef struct rg_norm_opts {
    int zero_;
    double eps;            /* 0: 1e-5 */
    uint32_t axes;         /* rg_layernorm: how many of the last axes; 0: as many as the weight has, or 1 */
} rg_norm_opts;
typedef struct rg_grad_opts {
    int zero_;
    rg_tensor seed;        /* gradient of what is differentiated; RG_NONE: ones, and then it must have one element */
    bool unused_ok;        /* a tensor that nothing leads to gets zeros; otherwise it is an error */
} rg_grad_opts;

/* ---- contexts and errors ---------------------------------------------------------------------------------------------- */

/* "CPU", "REF" (slow and obvious: every element computed by plain loops), "NULL" (plans and counts, computes nothing: reads
 * give zeros). NULL: DEVICE from the environment, else the best there is. Never returns NULL: if the device
 * cannot be opened, the context says why in rg_error, all calls on it fail with that error, and rg_close works. */
RG_API rg_ctx *rg_open(const char *device);
RG_API rg_status rg_close(rg_ctx *c);               /* frees everything; returns the error that was set, 0 if none. NULL is fine */
RG_API rg_status rg_status_of(rg_ctx *c);           /* the first error since rg_open or rg_clear_error; 0: none */
RG_API const char *rg_error(rg_ctx *c);             /* its words, "" if none; valid until the next call */
RG_API rg_status rg_clear_error(rg_ctx *c);         /* go on; tensors that failed stay poisoned, and asynchronous reads that were still waiting
                                                       are dropped: ask again. Not 0: the context cannot be mended */
RG_API const char *rg_status_text(int code);        /* "invalid argument" */
RG_API const char *rg_device(rg_ctx *c);            /* "CPU" */
RG_API const char *rg_version(void);                /* of the library; RG_VERSION is the header's */

/* ---- scopes ----------------------------------------------------------------------------------------------------------- */

#define RG_SCOPE(c) RG_SCOPE_(c, __LINE__)          /* declares: all that is made from here to the end of the block is freed there */
RG_API rg_scope rg_begin(rg_ctx *c);                /* the same by hand, for bindings and compilers without `cleanup` */
RG_API void rg_end(rg_scope s);                     /* closes it, and those opened inside that were forgotten */
RG_FN rg_tensor rg_keep(rg_tensor x);               /* moves x to the enclosing scope; returns x */
RG_API void rg_free(rg_tensor x);                   /* at once; from any thread; twice is fine */

/* ---- data in and out -------------------------------------------------------------------------------------------------- */

RG_FN rg_tensor rg_from(rg_ctx *c, rg_dtype dt, const void *data, rg_ints shape);     /* copies row-major data now */
RG_FN rg_status rg_read(rg_tensor x, void *out, size_t bytes);                        /* computes and copies out; bytes: room in out */
RG_FN double rg_item(rg_tensor x);                                                    /* the one element as a double; NaN on error */
RG_FN rg_status rg_read_async(rg_tensor x, void *out, size_t bytes);                  /* out is filled by the next realize, read or rg_wait: many reads, one plan */
RG_FN rg_status rg_wait(rg_ctx *c);                                                   /* until all of them are done */
RG_FN rg_status rg_realize(rg_tensor x);                                              /* computes now and keeps the result */
RG_FN rg_status rg_realize_all(rg_tensors xs);                                        /* several in one plan */
RG_FN rg_tensor rg_copy_to(rg_ctx *c, rg_tensor x);                                   /* x computed and copied to another context: another device */

/* ---- making tensors --------------------------------------------------------------------------------------------------- */

RG_FN rg_tensor rg_number(rg_ctx *c, rg_dtype dt, double v);                          /* a constant scalar: kernels are compiled for it */
RG_FN rg_tensor rg_integer(rg_ctx *c, rg_dtype dt, int64_t v);                        /* the same, exact beyond 2^53 */
RG_FN rg_tensor rg_full(rg_ctx *c, rg_dtype dt, double v, rg_ints shape);
RG_FN rg_tensor rg_zeros(rg_ctx *c, rg_dtype dt, rg_ints shape);
RG_FN rg_tensor rg_ones(rg_ctx *c, rg_dtype dt, rg_ints shape);
RG_FN rg_tensor rg_arange(rg_ctx *c, rg_dtype dt, double start, double stop, double step);
RG_FN rg_tensor rg_linspace(rg_ctx *c, rg_dtype dt, double start, double stop, int64_t n); /* both ends included */
RG_FN rg_tensor rg_eye(rg_ctx *c, rg_dtype dt, int64_t rows, int64_t columns);
RG_FN rg_tensor rg_full_like(rg_tensor x, double v);                                  /* with x's shape and dtype */
RG_FN rg_tensor rg_zeros_like(rg_tensor x);
RG_FN rg_tensor rg_ones_like(rg_tensor x);

/* A scalar that changes without recompiling: a learning rate, a step count. rg_set_scalar rebinds s to the new value;
 * what was computed from s before keeps the old one. An rg_index is an I64 scalar within bounds, for RG_WINDOW and masks. */
RG_FN rg_tensor rg_scalar(rg_ctx *c, rg_dtype dt, double v);
RG_FN rg_tensor rg_index(rg_ctx *c, int64_t least, int64_t greatest, int64_t v);
RG_FN rg_status rg_set_scalar(rg_tensor s, double v);

/* ---- assignment ------------------------------------------------------------------------------------------------------- */

/* x becomes v, in place if nothing alive needs the old value. Nothing runs yet: the store is queued, and the next realize, read or
 * wait runs the queue with what it was asked for. Tensors that were computed from x's old value keep it. v is broadcast to x's shape and converted to its dtype, but not from float to integer or to bool.
 * x must be a tensor of its own, not a view (made by rg_reshape, rg_slice, rg_expand ..): assign to a part with rg_assign_slice.
 * a[1:] = a[:-1] and a, b = b, a do what they say; no temporary of yours is needed. */
RG_FN rg_status rg_assign(rg_tensor x, rg_value v);
RG_FN rg_status rg_assign_slice(rg_tensor x, rg_value v, rg_ranges part);              /* x[part] = v; axes beyond the list: whole */

/* ---- gradients -------------------------------------------------------------------------------------------------------- */

/* rg_grad: d of / d wrt.t[i] into out[i], ordinary tensors that can be differentiated again. Call it before you realize or read
 * values in between: a realized value is a constant to rg_grad, unless it was computed from a parameter's present value.
 * rg_param: a new tensor with x's value that has a gradient. It belongs to no scope (rg_free it, or rg_close does).
 * rg_backward: adds d loss / d p to the gradient of every parameter p that leads to loss. */
RG_FN rg_status rg_grad(rg_tensor of, rg_tensors wrt, rg_tensor *out, rg_grad_opts o);
RG_FN rg_tensor rg_param(rg_tensor x);
RG_FN rg_status rg_backward(rg_tensor loss);
RG_FN rg_tensor rg_param_grad(rg_tensor p);                                           /* the gradient so far; zeros before any */
RG_FN rg_status rg_zero_grad(rg_ctx *c);                                              /* forgets the gradients of all parameters */
RG_FN rg_tensor rg_detach(rg_tensor x);                                               /* the same value; no gradient flows through */

/* ---- asking about a tensor: nothing is computed ------------------------------------------------------------------------ */

RG_FN rg_dtype rg_dtype_of(rg_tensor x);                                              /* RG_DTYPES on error */
RG_FN int64_t rg_rank(rg_tensor x);                                                   /* number of axes; -1 on error, as in the next ones */
RG_FN int64_t rg_dim(rg_tensor x, int64_t axis);
RG_FN int64_t rg_size(rg_tensor x);                                                   /* elements */
RG_FN int64_t rg_bytes(rg_tensor x);                                                  /* what rg_read needs */
RG_FN int64_t rg_shape_of(rg_tensor x, int64_t *dims, size_t room);                   /* fills up to room sizes, returns the rank */
RG_API rg_ctx *rg_ctx_of(rg_tensor x);                                                /* NULL if it is closed */
RG_API bool rg_is_alive(rg_tensor x);                                                 /* false: freed, poisoned, or of a closed context */
RG_API size_t rg_dtype_size(rg_dtype dt);                                             /* bytes of an element */
RG_API const char *rg_dtype_name(rg_dtype dt);                                        /* "f32" */

/* ---- shapes: views, which cost nothing --------------------------------------------------------------------------------- */

RG_FN rg_tensor rg_reshape(rg_tensor x, rg_ints shape);                               /* one size may be -1: what is left */
RG_FN rg_tensor rg_permute(rg_tensor x, rg_ints axes);                                /* axis i of the result is axis axes[i] of x */
RG_FN rg_tensor rg_transpose(rg_tensor x, int64_t a, int64_t b);                      /* two axes swapped */
RG_FN rg_tensor rg_expand(rg_tensor x, rg_ints shape);                                /* broadcast; -1 keeps a size */
RG_FN rg_tensor rg_slice(rg_tensor x, rg_ranges part);                                /* rg_slice(x, RG_SLICES(RG_FROM(1), RG_TO(-1))) */
RG_FN rg_tensor rg_narrow(rg_tensor x, int64_t axis, int64_t start, int64_t size);    /* start..start+size-1 of one axis */
RG_FN rg_tensor rg_select(rg_tensor x, int64_t axis, int64_t at);                     /* one place of an axis, which goes: x[at] */
RG_FN rg_tensor rg_flip(rg_tensor x, rg_ints axes);
RG_FN rg_tensor rg_squeeze(rg_tensor x, int64_t axis);                                /* drops an axis of size 1; RG_ALL: all such */
RG_FN rg_tensor rg_unsqueeze(rg_tensor x, int64_t axis);                              /* a new axis of size 1 there */
RG_FN rg_tensor rg_flatten(rg_tensor x, int64_t first, int64_t last);                 /* axes first..last become one */
RG_FN rg_tensor rg_pad(rg_tensor x, rg_ints before_after, double v);                  /* pairs from the first axis on; negative crops */
RG_FN rg_tensor rg_cat(rg_tensors xs, int64_t axis);                                  /* along an axis that exists */
RG_FN rg_tensor rg_stack(rg_tensors xs, int64_t axis);                                /* along a new one */
RG_FN rg_tensor rg_repeat(rg_tensor x, rg_ints times);                                /* tiles, as torch.repeat */
RG_FN rg_tensor rg_contiguous(rg_tensor x);                                           /* a copy with memory of its own */
RG_FN rg_tensor rg_cast(rg_tensor x, rg_dtype dt);                                    /* float to integer truncates and saturates, NaN is 0 */
RG_FN rg_tensor rg_bitcast(rg_tensor x, rg_dtype dt);                                 /* same bits, same width */

/* ---- elementwise, one operand ------------------------------------------------------------------------------------------ */

RG_FN rg_tensor rg_neg(rg_tensor x);
RG_FN rg_tensor rg_abs(rg_tensor x);
RG_FN rg_tensor rg_sign(rg_tensor x);          /* -1, 0 or 1; NaN stays */
RG_FN rg_tensor rg_square(rg_tensor x);
RG_FN rg_tensor rg_sqrt(rg_tensor x);
RG_FN rg_tensor rg_rsqrt(rg_tensor x);         /* 1 / sqrt(x) */
RG_FN rg_tensor rg_recip(rg_tensor x);         /* 1 / x */
RG_FN rg_tensor rg_exp(rg_tensor x);
RG_FN rg_tensor rg_exp2(rg_tensor x);
RG_FN rg_tensor rg_expm1(rg_tensor x);         /* e^x - 1, accurate near 0 */
RG_FN rg_tensor rg_log(rg_tensor x);
RG_FN rg_tensor rg_log2(rg_tensor x);
RG_FN rg_tensor rg_log10(rg_tensor x);
RG_FN rg_tensor rg_log1p(rg_tensor x);         /* log(1 + x), accurate near 0 */
RG_FN rg_tensor rg_sin(rg_tensor x);
RG_FN rg_tensor rg_cos(rg_tensor x);
RG_FN rg_tensor rg_tan(rg_tensor x);
RG_FN rg_tensor rg_sinh(rg_tensor x);
RG_FN rg_tensor rg_cosh(rg_tensor x);
RG_FN rg_tensor rg_tanh(rg_tensor x);
RG_FN rg_tensor rg_asin(rg_tensor x);
RG_FN rg_tensor rg_acos(rg_tensor x);
RG_FN rg_tensor rg_atan(rg_tensor x);
RG_FN rg_tensor rg_erf(rg_tensor x);
RG_FN rg_tensor rg_floor(rg_tensor x);
RG_FN rg_tensor rg_ceil(rg_tensor x);
RG_FN rg_tensor rg_trunc(rg_tensor x);
RG_FN rg_tensor rg_round(rg_tensor x);         /* ties to even */
RG_FN rg_tensor rg_isnan(rg_tensor x);         /* these give RG_BOOL */
RG_FN rg_tensor rg_isinf(rg_tensor x);
RG_FN rg_tensor rg_isfinite(rg_tensor x);
RG_FN rg_tensor rg_logical_not(rg_tensor x);
RG_FN rg_tensor rg_bitwise_not(rg_tensor x);
RG_FN rg_tensor rg_relu(rg_tensor x);
RG_FN rg_tensor rg_relu6(rg_tensor x);
RG_FN rg_tensor rg_sigmoid(rg_tensor x);
RG_FN rg_tensor rg_logsigmoid(rg_tensor x);
RG_FN rg_tensor rg_silu(rg_tensor x);          /* x * sigmoid(x) */
RG_FN rg_tensor rg_gelu(rg_tensor x);          /* with erf */
RG_FN rg_tensor rg_gelu_tanh(rg_tensor x);     /* the tanh approximation */
RG_FN rg_tensor rg_softplus(rg_tensor x);
RG_FN rg_tensor rg_mish(rg_tensor x);
RG_FN rg_tensor rg_hardswish(rg_tensor x);
RG_FN rg_tensor rg_softsign(rg_tensor x);
RG_FN rg_tensor rg_leaky_relu(rg_tensor x, double slope);
RG_FN rg_tensor rg_elu(rg_tensor x, double alpha);
RG_FN rg_tensor rg_hardtanh(rg_tensor x, double lo, double hi);

/* ---- elementwise, two and three operands: they broadcast and promote ---------------------------------------------------- */

RG_FN rg_tensor rg_add(rg_value x, rg_value y);
RG_FN rg_tensor rg_sub(rg_value x, rg_value y);
RG_FN rg_tensor rg_mul(rg_value x, rg_value y);
RG_FN rg_tensor rg_div(rg_value x, rg_value y);        /* true division: integers become F32 */
RG_FN rg_tensor rg_floordiv(rg_value x, rg_value y);   /* floor(x / y); an integer divided by 0 is 0 */
RG_FN rg_tensor rg_mod(rg_value x, rg_value y);        /* has the sign of y, as Python's % */
RG_FN rg_tensor rg_fmod(rg_value x, rg_value y);       /* has the sign of x, as C's */
RG_FN rg_tensor rg_pow(rg_value x, rg_value y);
RG_FN rg_tensor rg_maximum(rg_value x, rg_value y);    /* NaN if either is */
RG_FN rg_tensor rg_minimum(rg_value x, rg_value y);
RG_FN rg_tensor rg_eq(rg_value x, rg_value y);         /* comparisons give RG_BOOL */
RG_FN rg_tensor rg_ne(rg_value x, rg_value y);
RG_FN rg_tensor rg_lt(rg_value x, rg_value y);
RG_FN rg_tensor rg_le(rg_value x, rg_value y);
RG_FN rg_tensor rg_gt(rg_value x, rg_value y);
RG_FN rg_tensor rg_ge(rg_value x, rg_value y);
RG_FN rg_tensor rg_logical_and(rg_value x, rg_value y);
RG_FN rg_tensor rg_logical_or(rg_value x, rg_value y);
RG_FN rg_tensor rg_logical_xor(rg_value x, rg_value y);
RG_FN rg_tensor rg_bitwise_and(rg_value x, rg_value y);
RG_FN rg_tensor rg_bitwise_or(rg_value x, rg_value y);
RG_FN rg_tensor rg_bitwise_xor(rg_value x, rg_value y);
RG_FN rg_tensor rg_shl(rg_value x, rg_value y);
RG_FN rg_tensor rg_shr(rg_value x, rg_value y);
RG_FN rg_tensor rg_copysign(rg_value x, rg_value y);
RG_FN rg_tensor rg_logaddexp(rg_value x, rg_value y);
RG_FN rg_tensor rg_where(rg_value cond, rg_value x, rg_value y);
RG_FN rg_tensor rg_clamp(rg_tensor x, rg_value lo, rg_value hi); /* either may be RG_NONE */
RG_FN rg_tensor rg_lerp(rg_value a, rg_value b, rg_value w);     /* a + (b - a) * w */

/* ---- reductions: rg_sum(x), rg_sum(x, RG_AXES(-1)), rg_sum(x, RG_AXES(0, 1), .keep = true) ------------------------------ */

RG_FN rg_tensor rg_sum(rg_tensor x, rg_reduce_opts o);        /* integers and bool sum to I64 (U64 stays); of nothing 0 */
RG_FN rg_tensor rg_prod(rg_tensor x, rg_reduce_opts o);       /* of nothing 1 */
RG_FN rg_tensor rg_max(rg_tensor x, rg_reduce_opts o);        /* NaN if one is; of nothing an error */
RG_FN rg_tensor rg_min(rg_tensor x, rg_reduce_opts o);
RG_FN rg_tensor rg_mean(rg_tensor x, rg_reduce_opts o);
RG_FN rg_tensor rg_any(rg_tensor x, rg_reduce_opts o);
RG_FN rg_tensor rg_all(rg_tensor x, rg_reduce_opts o);
RG_FN rg_tensor rg_logsumexp(rg_tensor x, rg_reduce_opts o);
RG_FN rg_tensor rg_var(rg_tensor x, rg_reduce_opts o);        /* variance, divided by n - 1 unless .population */
RG_FN rg_tensor rg_std(rg_tensor x, rg_reduce_opts o);
RG_FN rg_tensor rg_argmax(rg_tensor x, rg_reduce_opts o);     /* along one axis, or of all, flattened; the first of equals; I64 */
RG_FN rg_tensor rg_argmin(rg_tensor x, rg_reduce_opts o);
RG_FN rg_tensor rg_cumsum(rg_tensor x, int64_t axis);
RG_FN rg_tensor rg_cumprod(rg_tensor x, int64_t axis);
RG_FN rg_tensor rg_cummax(rg_tensor x, int64_t axis);
RG_FN rg_tensor rg_softmax(rg_tensor x, int64_t axis);
RG_FN rg_tensor rg_log_softmax(rg_tensor x, int64_t axis);
RG_FN rg_tensor rg_layernorm(rg_tensor x, rg_tensor weight, rg_tensor bias, rg_norm_opts o); /* weight, bias may be RG_NONE */
RG_FN rg_tensor rg_rmsnorm(rg_tensor x, rg_tensor weight, rg_norm_opts o);                   /* over the last axis */

/* ---- products, and picking by index -------------------------------------------------------------------------------------- */

RG_FN rg_tensor rg_matmul(rg_tensor x, rg_tensor y);                                  /* NumPy's rules: vectors, broadcast batches */
RG_FN rg_tensor rg_dot(rg_tensor x, rg_tensor y);                                     /* of vectors a scalar; else rg_matmul */
RG_FN rg_tensor rg_outer(rg_tensor x, rg_tensor y);
RG_FN rg_tensor rg_linear(rg_tensor x, rg_tensor weight, rg_tensor bias);             /* x @ weight.T + bias; bias may be RG_NONE */
RG_FN rg_tensor rg_gather(rg_tensor x, int64_t axis, rg_tensor index);                /* torch.gather */
RG_FN rg_tensor rg_take(rg_tensor x, int64_t axis, rg_tensor index);                  /* numpy.take: rows of an embedding */
RG_FN rg_tensor rg_scatter_add(rg_tensor x, int64_t axis, rg_tensor index, rg_tensor src);

/* ---- what it costs -------------------------------------------------------------------------------------------------------- */

typedef struct rg_plan_stats {  /* what realizing would take, counted on the kernels that would run */
    uint64_t kernels;           /* launches */
    uint64_t distinct;          /* different kernels among them */
    uint64_t reads, writes;     /* buffers loaded and stored, summed over the launches */
    double bytes;               /* distinct bytes moved */
    double ops;                 /* operations asked for: a sum of n is n, a product-and-sum two */
    int64_t scratch;            /* bytes of temporaries between kernels */
    double predicted;           /* seconds, by the machine model */
} rg_plan_stats;
RG_FN rg_status rg_schedule_stats(rg_tensors xs, rg_plan_stats *out);                 /* plans these (and the queue); runs nothing */

typedef struct rg_usage {
    uint64_t handles;           /* alive */
    uint64_t nodes;             /* of the graph that can be reached from them */
    uint64_t nodes_held;        /* kept in memory, garbage included; collected from time to time */
    uint64_t buffers, bytes;    /* device memory in use */
    uint64_t peak;              /* most bytes at any time */
    uint64_t realizes;          /* plans run */
    uint64_t kernels;           /* launches */
    uint64_t cached;            /* plans that were known already */
    double moved, ops;          /* bytes and operations of all launches */
    double seconds;             /* spent running kernels */
} rg_usage;
RG_FN rg_status rg_stats(rg_ctx *c, rg_usage *out);                                   /* works on a context with an error too */

/* clang-format on */

/* ---- behind the macros ------------------------------------------------------------------------------------------------ */

#define RG_SCOPE_(c, line) RG_SCOPE__(c, line)
#define RG_SCOPE__(c, line) \
    __attribute__((cleanup(rg_end_scope_), unused)) rg_scope rg_scope_##line##_ = rg_begin(c)
static inline __attribute__((unused)) void rg_end_scope_(rg_scope *s) { rg_end(*s); }

/* An operand as the library sees it: a tensor or a number. */
typedef struct rg_operand {
    rg_tensor t;
    int kind; /* 0 tensor, 1 integer, 2 float */
    union {
        int64_t i;
        double f;
    } v;
} rg_operand;

#if !defined __cplusplus && !defined RG_NO_SITES
/* An argument that is itself a call, rg_add(rg_mul(a, b), c), has no name: nobody can use it again. The call that takes
 * it frees it (it says so in a bit of the handle); so expressions leave no temporaries behind. It must be a call and
 * nothing else: the first parenthesis closes at the very end, which `rg_rank(a) == 1 ? a : rg_abs(b)` does not. Text
 * with quotes is not looked into; what is not freed here ends with its scope. */
static inline __attribute__((unused)) bool rg_is_call_(const char *text) {
    int depth = 0;
    for (; *text; text++) {
        if (*text == '"' || *text == '\'') return false;
        depth += (*text == '(') - (*text == ')');
        if (*text == ')' && depth == 0) return text[1] == 0;
        if (depth == 0 && *text != '_' && *text != ' ' && !(*text >= 'a' && *text <= 'z') &&
            !(*text >= '0' && *text <= '9'))
            return false;
    }
    return false;
}
#define RG_IS_TEMP(text)                                                      \
    (!__builtin_strncmp(text, "rg_", 3) && (text)[sizeof(text) - 2] == ')' && \
     __builtin_strncmp(text, "rg_keep(", 8) && __builtin_strncmp(text, "rg_param(", 9) && rg_is_call_(text))
#define RG_ARG(x, text) rg_arg_(x, RG_IS_TEMP(text))
static inline __attribute__((unused)) rg_tensor rg_arg_(rg_tensor t, bool temporary) {
    t.id |= (uint64_t)(temporary && t.id) << 31;
    return t;
}
static inline __attribute__((unused)) rg_operand rg_operand_t_(rg_tensor t, bool temporary) {
    return (rg_operand){.t = rg_arg_(t, temporary)};
}
static inline __attribute__((unused)) rg_operand rg_operand_i_(int64_t i, bool temporary) {
    return (void)temporary, (rg_operand){.kind = 1, .v = {.i = i}};
}
static inline __attribute__((unused)) rg_operand rg_operand_f_(double f, bool temporary) {
    return (void)temporary, (rg_operand){.kind = 2, .v = {.f = f}};
}
#define RG_OPERAND(x, text)               \
    _Generic((x), rg_tensor               \
             : rg_operand_t_, float       \
             : rg_operand_f_, double      \
             : rg_operand_f_, long double \
             : rg_operand_f_, default     \
             : rg_operand_i_)(x, RG_IS_TEMP(text))
#define RG_HERE __FILE__, __LINE__
#endif
#include "ridge_calls.h" /* written by tools/callsites from the lines above: each function with its call site */

#ifdef __cplusplus
}
#endif
#endif
