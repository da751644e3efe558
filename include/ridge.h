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
 * 1. NOTHING RUNS UNTIL YOU ASK. rg_add and friends note down what to compute. rg_read, rg_item and
 *    rg_realize plan all of it into few kernels, compile them (once), and run them.
 *
 * 2. A TENSOR IS A VALUE. `rg_tensor` is a number that you copy, pass and return freely. It denotes the value
 *    it had when it was made. The only calls that change what a handle denotes are rg_assign, rg_assign_slice
 *    and rg_set_scalar, and they change that one handle: tensors computed from it before, views included,
 *    keep the old value (PyTorch's views would see the new one). docs/tensors.md has the rules.
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
 *    rg_keep moves one tensor to the enclosing scope. What is made with no scope open lives until rg_close.
 *    The inner calls of a nested expression, rg_mul in rg_add(rg_mul(a, b), c), leave nothing behind: the
 *    call that takes them frees them. A handle that was freed, or that belongs to another context, is an
 *    error message and never a crash. So that the macros can tell a nested call, names that begin with rg_
 *    are reserved for Ridge.
 *
 * 4. ERRORS STAY. The first error of a context is kept with the source line of your call, "train.c:31:
 *    rg_matmul: ..."; the call that failed returns a tensor that poisons what is computed from it, and later
 *    calls do nothing until rg_clear_error. So write expressions nested and check once, where you read. Calls
 *    that do work return rg_status, 0 for success. No call prints, exits or aborts because of what you pass
 *    in.
 *
 * 5. SMALL SYNTAX. RG_SHAPE(2, 3), RG_AXES(0, -1), RG_TENSORS(a, b) and RG_SLICES(...) write lists;
 *    RG_LIST(p, n), RG_ARRAY(p, n) and RG_PARTS(p, n) take them from arrays (braces, as in (rg_ints){p, n},
 *    would be split at their comma by the macros). Operands marked rg_value may be plain numbers: rg_add(x,
 *    2), rg_sub(1.0, x). Trailing options are named and may be left out: rg_sum(x), rg_sum(x, RG_AXES(1)),
 *    rg_sum(x, .keep = true). Axes may be negative: -1 is the last. Every macro has a plain function behind
 *    it: bindings and C++ see rg_sum(x, (rg_reduce_opts){...}).
 *
 * 6. THREADS. A context is used by one thread at a time; contexts are independent of each other. Only rg_free
 *    may be called from any thread at any time (finalizers of bindings do).
 *
 * Environment: DEVICE=CPU|CUDA|OPENCL|REF|NULL picks the device of rg_open(NULL), DEBUG=2 prints a line per
 * operation; `ridge env` lists all variables. Broadcasting and promotion follow PyTorch; docs/semantics.md
 * has the tables. */
#ifndef RIDGE_H
#define RIDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RG_VERSION "0.3.0"
#define RG_VERSION_MAJOR 0
#define RG_VERSION_MINOR 3
#define RG_VERSION_PATCH 0
#define RG_VERSION_NUMBER (RG_VERSION_MAJOR * 10000 + RG_VERSION_MINOR * 100 + RG_VERSION_PATCH)
#define RG_API __attribute__((visibility("default")))
#define RG_FN RG_API /* a function that records where it was called; tools/callsites looks for this word */

/* clang-format off */

/* ---- types --------------------------------------------------------------------------------------------- */

typedef struct rg_ctx rg_ctx; /* a device and all tensors on it */
typedef struct rg_tensor { uint64_t id; } rg_tensor; /* context:8, generation:24, slot:32; 0 is no tensor */
typedef struct rg_scope { uint64_t id; } rg_scope; /* an open scope */
typedef rg_tensor rg_value;   /* a parameter that may be a plain number too (in C, through the macros) */

#define RG_NONE ((rg_tensor){0})                   /* for operands that may be left out */

/* The order is the order of promotion within a kind. BF16 and F16 are stored as 16 bits and computed in F32.
 * F8E4M3 and F8E5M2 have 8 bits, for storage and for operands of matmul: cast them to compute; what is too
 * large for E4M3 becomes 448. */
typedef enum rg_dtype {
    RG_BOOL, RG_I8, RG_I16, RG_I32, RG_I64, RG_U8, RG_U16, RG_U32, RG_U64, RG_F16, RG_BF16, RG_F32, RG_F64,
    RG_F8E4M3, RG_F8E5M2,
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

#define RG_INTS(...)                                        \
    ((rg_ints){(const int64_t[]){0, __VA_ARGS__} + 1,       \
               sizeof((const int64_t[]){0, __VA_ARGS__}) / sizeof(int64_t) - 1})
#define RG_SHAPE(...)   RG_INTS(__VA_ARGS__)     /* RG_SHAPE() is a scalar */
#define RG_AXES(...)    RG_INTS(__VA_ARGS__)
#define RG_TENSORS(...)                                     \
    ((rg_tensors){(const rg_tensor[]){__VA_ARGS__},         \
                  sizeof((const rg_tensor[]){__VA_ARGS__}) / sizeof(rg_tensor)})
#define RG_ARRAY(p, n)  ((rg_tensors){(p), (n)}) /* n tensors at p */
/* n numbers, int64_t, at p: a shape or axes that are known at run time only */
#define RG_LIST(p, n)   ((rg_ints){(p), (n)})
#define RG_SLICES(...)                                      \
    ((rg_ranges){(const rg_range[]){__VA_ARGS__},           \
                 sizeof((const rg_range[]){__VA_ARGS__}) / sizeof(rg_range)})
#define RG_PARTS(p, n)  ((rg_ranges){(p), (n)})                       /* n ranges at p */
#define RG_WHOLE           ((rg_range){.stop = RG_END})               /* [:]     */
#define RG_FROM(a)         ((rg_range){.start = (a), .stop = RG_END}) /* [a:]    */
#define RG_TO(b)           ((rg_range){.stop = (b)})                  /* [:b]    */
#define RG_RANGE(a, b)     ((rg_range){.start = (a), .stop = (b)})    /* [a:b]   */
#define RG_STEP(a, b, s)   ((rg_range){.start = (a), .stop = (b), .step = (s)}) /* [a:b:s] */
#define RG_WINDOW(i, size) ((rg_range){.stop = (size), .at = (i)})    /* [i:i+size], i an rg_index */

/* Options. All zero is the default; name the fields you want: rg_sum(x, RG_AXES(1), .keep = true). Each begins
 * with its size, so that it can grow (docs/abi.md): the macros and C++14 set it; 0 is the size it had in 0.3. */
#if defined __cplusplus && __cplusplus >= 201402L
#define RG_SIZE_(type) int size_ = (int)sizeof(type)
#else
#define RG_SIZE_(type) int size_
#endif
typedef struct rg_reduce_opts {
    RG_SIZE_(rg_reduce_opts);
    rg_ints axes;          /* which axes; none: all */
    bool keep;             /* reduced axes stay, with size 1 */
    bool population;       /* rg_var, rg_std: divide by n instead of n - 1 */
} rg_reduce_opts;
typedef struct rg_norm_opts {
    RG_SIZE_(rg_norm_opts);
    double eps;            /* 0: 1e-5 */
    uint32_t axes;         /* rg_layernorm: how many of the last axes; 0: as many as the weight has, or 1 */
} rg_norm_opts;
typedef struct rg_grad_opts {
    RG_SIZE_(rg_grad_opts);
    rg_tensor seed; /* gradient of what is differentiated; RG_NONE: ones, and then it must have one element */
    bool unused_ok; /* a tensor that nothing leads to gets zeros; otherwise it is an error */
} rg_grad_opts;

typedef struct rg_conv_opts {
    RG_SIZE_(rg_conv_opts);
    rg_tensor bias;         /* (out), or RG_NONE */
    rg_ints stride;         /* one number for all axes, or one each; none: 1 */
    /* zeros around: one number, one for each axis, or before and after of each axis; negative crops */
    rg_ints padding;
    rg_ints dilation;       /* distance between the weight's elements */
    rg_ints output_padding; /* rg_conv_transpose*: added at the end of each axis */
    int64_t groups;         /* number of independent groups of channels; 0: 1 */
} rg_conv_opts;
typedef struct rg_pool_opts {
    RG_SIZE_(rg_pool_opts);
    rg_ints size;          /* of the window: one number for all axes, or one each */
    rg_ints stride;        /* none: the size */
    rg_ints padding;       /* as rg_conv_opts'; windows over it see -inf (max) or 0 (average) */
    rg_ints dilation;
    bool ceil;             /* a window that reaches past the end counts too, as PyTorch's ceil_mode */
    bool exclude_padding;  /* averages divide by the elements that are there (count_include_pad=False) */
} rg_pool_opts;
typedef enum rg_pad_mode { RG_PAD_CONSTANT, RG_PAD_REFLECT, RG_PAD_REPLICATE, RG_PAD_CIRCULAR } rg_pad_mode;
typedef enum rg_resize_mode { RG_RESIZE_NEAREST, RG_RESIZE_NEAREST_EXACT, RG_RESIZE_LINEAR } rg_resize_mode;
typedef struct rg_resize_opts {
    RG_SIZE_(rg_resize_opts);
    rg_resize_mode mode;   /* LINEAR is bilinear on two axes, trilinear on three */
    bool align_corners;
} rg_resize_opts;
typedef enum rg_combine {
    RG_COMBINE_SUM, RG_COMBINE_PROD, RG_COMBINE_MEAN, RG_COMBINE_MAX, RG_COMBINE_MIN
} rg_combine;
typedef struct rg_scatter_opts {
    RG_SIZE_(rg_scatter_opts);
    rg_combine how;
    bool exclude_self;     /* elements that are written to do not start from x */
} rg_scatter_opts;
typedef struct rg_sort_opts {
    RG_SIZE_(rg_sort_opts);
    bool descending;       /* rg_sort, rg_argsort */
    bool smallest;         /* rg_topk, rg_topk_index */
} rg_sort_opts;
typedef struct rg_attention_opts {
    RG_SIZE_(rg_attention_opts);
    rg_tensor mask;        /* broadcasts to (.., T, S): bool, true is seen; or a float that is added */
    bool causal;           /* query i sees keys 0..i; with S > T the queries are the last T */
    double scale;          /* 0: 1/sqrt(D) */
    double dropout;        /* share of the weights that is dropped */
} rg_attention_opts;
typedef struct rg_recurrent_opts {
    RG_SIZE_(rg_recurrent_opts);
    bool reverse;          /* rg_lstm, rg_gru: from the last step to the first */
    bool no_bias;          /* the layers rg_nn_lstm, rg_nn_gru, from here on */
    bool batch_first;      /* (N, T, in) in and out */
    bool bidirectional;    /* and a second one from the last step on; out has both, side by side */
    int64_t layers;        /* one upon the other; 0: 1 */
    double dropout;        /* between layers, while training */
} rg_recurrent_opts;
typedef enum rg_reduction { RG_MEAN, RG_SUM, RG_EACH } rg_reduction; /* of a loss: over all, or none */
typedef struct rg_loss_opts {
    RG_SIZE_(rg_loss_opts);
    rg_reduction reduction;
    rg_tensor weight;      /* one number per class; rg_bce*: broadcasts to the target */
    rg_tensor pos_weight;  /* rg_bce_with_logits: of the positive examples */
    double label_smoothing; /* rg_cross_entropy */
    bool ignore;           /* targets equal to ignore_index do not count. (-100 never counts) */
    int64_t ignore_index;
    double delta;          /* rg_huber_loss, rg_smooth_l1_loss (beta); 0: 1 */
} rg_loss_opts;

/* ---- contexts and errors ------------------------------------------------------------------------------- */

/* Opens a device: "CPU"; "CUDA", an NVIDIA GPU ("CUDA:1" the second); "OPENCL", any OpenCL 1.2 device
 * ("OPENCL:1" the second); "REF", the oracle: plain loops, slow; "NULL": plans and counts, computes nothing,
 * reads give zeros. NULL: what DEVICE in the environment says, else "CPU". Never returns NULL: if the device
 * cannot be opened, rg_error says why, all calls on the context fail with that error, and rg_close works. */
RG_API rg_ctx *rg_open(const char *device);
/* rg_open for a program that was compiled with a header of that version: an error if the library is older or of
 * another ABI. The macro passes it */
RG_API rg_ctx *rg_open_for(const char *device, int version);
#define rg_open(device) rg_open_for(device, RG_VERSION_NUMBER)
/* frees everything; returns the error that was set, 0 if none. NULL is fine */
RG_API rg_status rg_close(rg_ctx *c);
RG_API rg_status rg_status_of(rg_ctx *c);    /* the first error since rg_open or rg_clear_error; 0: none */
RG_API const char *rg_error(rg_ctx *c);      /* its words, "" if none; valid until the next call */
/* go on; tensors that failed stay poisoned, and asynchronous reads that were still waiting are dropped: ask
 * again. Not 0: the context cannot be mended */
RG_API rg_status rg_clear_error(rg_ctx *c);
RG_API const char *rg_status_text(int code); /* "invalid argument" */
/* Warnings: what works, but probably not as it was meant (a disk cache that cannot be used, a jit that copies data
 * while it is recorded, a graph that only grows, a number that makes programs compile again). They go to fn,
 * and to stderr with DEBUG=1; without both nowhere: the library prints nothing by itself. For the whole
 * process; fn is called by the thread that a call runs in and must not call the library. NULL: no longer */
typedef void rg_warning_fn(void *user, const char *text);
RG_API void rg_on_warning(rg_warning_fn *fn, void *user);
RG_API const char *rg_device(rg_ctx *c);     /* "CPU" */
RG_API const char *rg_version(void);         /* of the library; RG_VERSION is the header's */

/* ---- scopes -------------------------------------------------------------------------------------------- */

/* declares: all that is made from here to the end of the block is freed there */
#define RG_SCOPE(c) RG_SCOPE_(c, __LINE__)
RG_API rg_scope rg_begin(rg_ctx *c);  /* the same as a call, for bindings and compilers without `cleanup` */
RG_API void rg_end(rg_scope s);       /* closes it, and those opened inside that were forgotten */
RG_FN rg_tensor rg_keep(rg_tensor x); /* moves x to the enclosing scope; returns x */
/* from any thread; twice is fine. Its memory is free for the next tensor from the context's next call on */
RG_API void rg_free(rg_tensor x);

/* ---- data in and out ----------------------------------------------------------------------------------- */

/* copies row-major data now */
RG_FN rg_tensor rg_from(rg_ctx *c, rg_dtype dt, const void *data, rg_ints shape);
/* computes and copies out; bytes: room in out */
RG_FN rg_status rg_read(rg_tensor x, void *out, size_t bytes);
RG_FN double rg_item(rg_tensor x);             /* the one element as a double; NaN on error */
/* out is filled by the next realize, read or rg_wait: many reads, one plan */
RG_FN rg_status rg_read_async(rg_tensor x, void *out, size_t bytes);
RG_FN rg_status rg_wait(rg_ctx *c);            /* until all of them are done */
/* until everything that was launched is done: before looking at a clock. A device may work on its own after
 * rg_realize; rg_read and rg_item wait by themselves */
RG_FN rg_status rg_sync(rg_ctx *c);
RG_FN rg_status rg_realize(rg_tensor x);       /* computes now and keeps the result */
RG_FN rg_status rg_realize_all(rg_tensors xs); /* several in one plan */
/* x computed and copied to another context: another device */
RG_FN rg_tensor rg_copy_to(rg_ctx *c, rg_tensor x);

/* Without copies. rg_expose: computes x and says where its elements lie, row-major, in the device's memory (CPU
 * and REF: the host's); read only. The tensor that it returns has x's value and holds the memory: until it is
 * freed nothing is written there, and assignments to x go elsewhere. A parameter's value, and what a jit's
 * replays write, is copied first.
 * rg_borrow: a tensor of memory that stays yours. It must not change, and is there until release(user) is
 * called, by a call of the context or by rg_close; release must not call the library. (If the call fails,
 * release is not called.) On CUDA the data is the device's, and there when kernels of the context run. */
typedef void rg_release_fn(void *user);
RG_FN rg_tensor rg_expose(rg_tensor x, const void **data);
RG_FN rg_tensor rg_borrow(rg_ctx *c, rg_dtype dt, const void *data, rg_ints shape, rg_release_fn *release,
                          void *user); /* release may be NULL */

/* ---- making tensors ------------------------------------------------------------------------------------ */

/* a constant scalar: kernels are compiled for it */
RG_FN rg_tensor rg_number(rg_ctx *c, rg_dtype dt, double v);
RG_FN rg_tensor rg_integer(rg_ctx *c, rg_dtype dt, int64_t v); /* the same, exact beyond 2^53 */
RG_FN rg_tensor rg_full(rg_ctx *c, rg_dtype dt, double v, rg_ints shape);
RG_FN rg_tensor rg_zeros(rg_ctx *c, rg_dtype dt, rg_ints shape);
RG_FN rg_tensor rg_ones(rg_ctx *c, rg_dtype dt, rg_ints shape);
RG_FN rg_tensor rg_arange(rg_ctx *c, rg_dtype dt, double start, double stop, double step);
/* both ends included */
RG_FN rg_tensor rg_linspace(rg_ctx *c, rg_dtype dt, double start, double stop, int64_t n);
RG_FN rg_tensor rg_eye(rg_ctx *c, rg_dtype dt, int64_t rows, int64_t columns);
RG_FN rg_tensor rg_full_like(rg_tensor x, double v);           /* with x's shape and dtype */
RG_FN rg_tensor rg_zeros_like(rg_tensor x);
RG_FN rg_tensor rg_ones_like(rg_tensor x);

/* A scalar that changes without recompiling: a learning rate, a step count. rg_set_scalar rebinds s to the
 * new value; what was computed from s before keeps the old one. An rg_index is an I64 scalar within bounds,
 * for RG_WINDOW and masks. */
RG_FN rg_tensor rg_scalar(rg_ctx *c, rg_dtype dt, double v);
RG_FN rg_tensor rg_index(rg_ctx *c, int64_t least, int64_t greatest, int64_t v);
RG_FN rg_status rg_set_scalar(rg_tensor s, double v);

/* ---- assignment ---------------------------------------------------------------------------------------- */

/* x becomes v, in place if nothing alive needs the old value. Nothing runs yet: the store is queued, and the
 * next realize, read or wait runs the queue with what it was asked for. Tensors that were computed from x's
 * old value keep it. v is broadcast to x's shape and converted to its dtype, but not from float to integer or
 * to bool. x must be a tensor of its own, not a view (made by rg_reshape, rg_slice, rg_expand ..): assign to
 * a part with rg_assign_slice. a[1:] = a[:-1] and a, b = b, a do what they say; no temporary of yours is
 * needed. */
RG_FN rg_status rg_assign(rg_tensor x, rg_value v);
/* x[part] = v; axes beyond the list: whole */
RG_FN rg_status rg_assign_slice(rg_tensor x, rg_value v, rg_ranges part);

/* ---- gradients ----------------------------------------------------------------------------------------- */

/* rg_grad: d of / d wrt.t[i] into out[i], ordinary tensors that can be differentiated again. Call it before
 * you realize or read values in between: a realized value is a constant to rg_grad, unless it was computed
 * from a parameter's present value.
 * rg_param: a new tensor with x's value that has a gradient. It belongs to no scope (rg_free it, or rg_close
 * does).
 * rg_backward: adds d loss / d p to the gradient of every parameter p that leads to loss. */
RG_FN rg_status rg_grad(rg_tensor of, rg_tensors wrt, rg_tensor *out, rg_grad_opts o);
RG_FN rg_tensor rg_param(rg_tensor x);
RG_FN rg_status rg_backward(rg_tensor loss);
RG_FN rg_tensor rg_param_grad(rg_tensor p); /* the gradient so far; zeros before any */
RG_API bool rg_has_grad(rg_tensor p);       /* there was one */
RG_FN rg_status rg_set_grad(rg_tensor p, rg_tensor g); /* instead of what rg_backward left; RG_NONE: forget it */
RG_FN rg_status rg_zero_grad(rg_ctx *c);    /* forgets the gradients of all parameters */
RG_FN rg_tensor rg_detach(rg_tensor x);     /* the same value; no gradient flows through */
/* y, for whose gradient nothing is kept of what was computed from x to y: it is computed again from x. Less memory, more
 * time; modules: rg_nn_checkpoint */
RG_FN rg_tensor rg_checkpoint(rg_tensor y, rg_tensor x);
/* bytes that values between the kernels of a program (rg_plan_stats.scratch) are to take at most, from now on:
 * checkpoints are used as far as that takes, or all of them and a warning by how much it does not. 0: no limit,
 * each checkpoint is used */
RG_FN rg_status rg_limit_temporaries(rg_ctx *c, int64_t bytes);
/* declares: what is made from here to the end of the block leads to no parameter, as if every operand were
 * detached: values that are computed need no history. It frees nothing (RG_SCOPE does) */
#define RG_NO_GRAD(c) RG_NO_GRAD_(c, __LINE__)
RG_API rg_scope rg_begin_no_grad(rg_ctx *c); /* the same as a call */
RG_API void rg_end_no_grad(rg_scope s);

/* ---- asking about a tensor: nothing is computed -------------------------------------------------------- */

RG_FN rg_dtype rg_dtype_of(rg_tensor x);       /* RG_DTYPES on error */
RG_FN int64_t rg_rank(rg_tensor x);            /* number of axes; -1 on error, as in the next ones */
RG_FN int64_t rg_dim(rg_tensor x, int64_t axis);
RG_FN int64_t rg_size(rg_tensor x);            /* elements */
RG_FN int64_t rg_bytes(rg_tensor x);           /* what rg_read needs */
/* fills up to room sizes, returns the rank */
RG_FN int64_t rg_shape_of(rg_tensor x, int64_t *dims, size_t room);
RG_API rg_ctx *rg_ctx_of(rg_tensor x);         /* NULL if it is closed */
RG_API bool rg_is_alive(rg_tensor x);          /* false: freed, poisoned, or of a closed context */
RG_API size_t rg_dtype_size(rg_dtype dt);      /* bytes of an element */
RG_API const char *rg_dtype_name(rg_dtype dt); /* "f32" */

/* ---- shapes: views, which cost nothing ----------------------------------------------------------------- */

RG_FN rg_tensor rg_reshape(rg_tensor x, rg_ints shape); /* one size may be -1: what is left */
RG_FN rg_tensor rg_permute(rg_tensor x, rg_ints axes); /* axis i of the result is axis axes[i] of x */
RG_FN rg_tensor rg_transpose(rg_tensor x, int64_t a, int64_t b); /* two axes swapped */
RG_FN rg_tensor rg_expand(rg_tensor x, rg_ints shape); /* broadcast; -1 keeps a size */
RG_FN rg_tensor rg_slice(rg_tensor x, rg_ranges part); /* rg_slice(x, RG_SLICES(RG_FROM(1), RG_TO(-1))) */
/* start..start+size-1 of one axis */
RG_FN rg_tensor rg_narrow(rg_tensor x, int64_t axis, int64_t start, int64_t size);
/* x[at]: one index of an axis, which is dropped */
RG_FN rg_tensor rg_select(rg_tensor x, int64_t axis, int64_t at);
RG_FN rg_tensor rg_flip(rg_tensor x, rg_ints axes);
RG_FN rg_tensor rg_squeeze(rg_tensor x, int64_t axis); /* drops an axis of size 1; RG_ALL: all such */
RG_FN rg_tensor rg_unsqueeze(rg_tensor x, int64_t axis); /* a new axis of size 1 there */
RG_FN rg_tensor rg_flatten(rg_tensor x, int64_t first, int64_t last); /* axes first..last become one */
/* pairs from the first axis on; negative crops */
RG_FN rg_tensor rg_pad(rg_tensor x, rg_ints before_after, double v);
RG_FN rg_tensor rg_cat(rg_tensors xs, int64_t axis);  /* along an axis that exists */
RG_FN rg_tensor rg_stack(rg_tensors xs, int64_t axis); /* along a new one */
RG_FN rg_tensor rg_repeat(rg_tensor x, rg_ints times); /* tiles, as torch.repeat */
/* reflect, replicate, circular */
RG_FN rg_tensor rg_pad_with(rg_tensor x, rg_ints before_after, rg_pad_mode mode);
/* one axis becomes several; one size may be -1 */
RG_FN rg_tensor rg_unflatten(rg_tensor x, int64_t axis, rg_ints sizes);
/* windows along an axis, as a new last axis */
RG_FN rg_tensor rg_unfold(rg_tensor x, int64_t axis, int64_t size, int64_t step);
RG_FN rg_tensor rg_roll(rg_tensor x, rg_ints shifts, rg_ints axes); /* no axes: of all elements, flattened */
/* each element `times` times in a row; RG_ALL: flattened */
RG_FN rg_tensor rg_repeat_interleave(rg_tensor x, int64_t times, int64_t axis);
RG_FN rg_tensor rg_tril(rg_tensor x, int64_t k);      /* 0 above diagonal k of the last two axes */
RG_FN rg_tensor rg_triu(rg_tensor x, int64_t k);      /* 0 below it */
RG_FN rg_tensor rg_diag(rg_tensor x, int64_t k);      /* of a vector a matrix, of a matrix its diagonal k */
/* of axes a and b, as the last axis */
RG_FN rg_tensor rg_diagonal(rg_tensor x, int64_t k, int64_t a, int64_t b);
RG_FN rg_status rg_split(rg_tensor x, int64_t axis, rg_ints sizes, rg_tensor *out); /* parts of these sizes */
/* n equal parts; the last may be smaller, or empty */
RG_FN rg_status rg_chunk(rg_tensor x, int64_t axis, int64_t n, rg_tensor *out);
RG_FN rg_status rg_meshgrid(rg_tensors xs, rg_tensor *out); /* vectors to grids, out[i] varies along axis i */
RG_FN rg_tensor rg_contiguous(rg_tensor x);           /* a copy with memory of its own */
RG_FN rg_tensor rg_cast(rg_tensor x, rg_dtype dt);    /* float to integer truncates and saturates, NaN is 0 */
RG_FN rg_tensor rg_bitcast(rg_tensor x, rg_dtype dt); /* same bits, same width */

/* ---- elementwise, one operand -------------------------------------------------------------------------- */

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
RG_FN rg_tensor rg_asinh(rg_tensor x);
RG_FN rg_tensor rg_acosh(rg_tensor x);
RG_FN rg_tensor rg_atanh(rg_tensor x);
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
RG_FN rg_tensor rg_celu(rg_tensor x, double alpha);
RG_FN rg_tensor rg_selu(rg_tensor x);
RG_FN rg_tensor rg_hardsigmoid(rg_tensor x);
RG_FN rg_tensor rg_quick_gelu(rg_tensor x);    /* x * sigmoid(1.702 x) */
RG_FN rg_tensor rg_glu(rg_tensor x, int64_t axis); /* first half * sigmoid(second half) */
RG_FN rg_tensor rg_hardtanh(rg_tensor x, double lo, double hi);

/* ---- elementwise, two and three operands: they broadcast and promote ----------------------------------- */

RG_FN rg_tensor rg_add(rg_value x, rg_value y);
RG_FN rg_tensor rg_sub(rg_value x, rg_value y);
RG_FN rg_tensor rg_mul(rg_value x, rg_value y);
RG_FN rg_tensor rg_div(rg_value x, rg_value y);              /* true division: integers become F32 */
RG_FN rg_tensor rg_floordiv(rg_value x, rg_value y);         /* floor(x / y); an integer divided by 0 is 0 */
RG_FN rg_tensor rg_mod(rg_value x, rg_value y);              /* has the sign of y, as Python's % */
RG_FN rg_tensor rg_fmod(rg_value x, rg_value y);             /* has the sign of x, as C's */
RG_FN rg_tensor rg_pow(rg_value x, rg_value y);
RG_FN rg_tensor rg_maximum(rg_value x, rg_value y);          /* NaN if either is */
RG_FN rg_tensor rg_minimum(rg_value x, rg_value y);
RG_FN rg_tensor rg_eq(rg_value x, rg_value y);               /* comparisons give RG_BOOL */
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
/* |x| with y's sign, -0 is negative, NaN positive */
RG_FN rg_tensor rg_copysign(rg_value x, rg_value y);
RG_FN rg_tensor rg_logaddexp(rg_value x, rg_value y);
RG_FN rg_tensor rg_where(rg_value cond, rg_value x, rg_value y);
RG_FN rg_tensor rg_clamp(rg_tensor x, rg_value lo, rg_value hi); /* either may be RG_NONE */
RG_FN rg_tensor rg_lerp(rg_value a, rg_value b, rg_value w); /* a + (b - a) * w */

/* |x - y| <= atol + rtol * |y|; equal infinities are close */
RG_FN rg_tensor rg_isclose(rg_value x, rg_value y, double rtol, double atol);
RG_FN rg_tensor rg_masked_fill(rg_tensor x, rg_tensor mask, rg_value v); /* v where the mask is true */

/* ---- reductions: rg_sum(x), rg_sum(x, RG_AXES(-1)), rg_sum(x, RG_AXES(0, 1), .keep = true) ------------- */

/* integers and bool sum to I64 (U64 stays); of nothing 0 */
RG_FN rg_tensor rg_sum(rg_tensor x, rg_reduce_opts o);
RG_FN rg_tensor rg_prod(rg_tensor x, rg_reduce_opts o); /* of nothing 1 */
RG_FN rg_tensor rg_max(rg_tensor x, rg_reduce_opts o);  /* NaN if one is; of nothing an error */
RG_FN rg_tensor rg_min(rg_tensor x, rg_reduce_opts o);
RG_FN rg_tensor rg_mean(rg_tensor x, rg_reduce_opts o);
RG_FN rg_tensor rg_any(rg_tensor x, rg_reduce_opts o);
RG_FN rg_tensor rg_all(rg_tensor x, rg_reduce_opts o);
RG_FN rg_tensor rg_logsumexp(rg_tensor x, rg_reduce_opts o);
RG_FN rg_tensor rg_var(rg_tensor x, rg_reduce_opts o);  /* variance, divided by n - 1 unless .population */
RG_FN rg_tensor rg_std(rg_tensor x, rg_reduce_opts o);
/* along one axis, or of all, flattened; the first of equals; I64 */
RG_FN rg_tensor rg_argmax(rg_tensor x, rg_reduce_opts o);
RG_FN rg_tensor rg_argmin(rg_tensor x, rg_reduce_opts o);
RG_FN rg_tensor rg_cumsum(rg_tensor x, int64_t axis);
/* dtype as rg_prod; the gradient is right with zeros in x */
RG_FN rg_tensor rg_cumprod(rg_tensor x, int64_t axis);
RG_FN rg_tensor rg_cummax(rg_tensor x, int64_t axis);
RG_FN rg_tensor rg_cummin(rg_tensor x, int64_t axis);
RG_FN rg_tensor rg_logcumsumexp(rg_tensor x, int64_t axis);
/* (sum |x|^p)^(1/p); INFINITY: the greatest |x| */
RG_FN rg_tensor rg_norm(rg_tensor x, double p, rg_reduce_opts o);
RG_FN rg_tensor rg_softmax(rg_tensor x, int64_t axis);
RG_FN rg_tensor rg_log_softmax(rg_tensor x, int64_t axis);
/* weight, bias may be RG_NONE */
RG_FN rg_tensor rg_layernorm(rg_tensor x, rg_tensor weight, rg_tensor bias, rg_norm_opts o);
RG_FN rg_tensor rg_rmsnorm(rg_tensor x, rg_tensor weight, rg_norm_opts o); /* over the last axis */
/* x (N, C, ..); weight (C) */
RG_FN rg_tensor rg_groupnorm(rg_tensor x, int64_t groups, rg_tensor weight, rg_tensor bias, rg_norm_opts o);
/* each channel of each example */
RG_FN rg_tensor rg_instancenorm(rg_tensor x, rg_tensor weight, rg_tensor bias, rg_norm_opts o);
/* with these statistics, (C) each; x (N, C, ..) */
RG_FN rg_tensor rg_batchnorm(rg_tensor x, rg_tensor mean, rg_tensor var, rg_tensor weight, rg_tensor bias,
                             rg_norm_opts o);
RG_FN rg_tensor rg_normalize(rg_tensor x, double p, int64_t axis); /* x / max(norm, 1e-12) */

/* ---- sorting: stable; NaN is the greatest, as in PyTorch and NumPy ------------------------------------- */

RG_FN rg_tensor rg_sort(rg_tensor x, int64_t axis, rg_sort_opts o);
RG_FN rg_tensor rg_argsort(rg_tensor x, int64_t axis, rg_sort_opts o); /* the indices they come from, I64 */
/* the k greatest (.smallest: least), sorted */
RG_FN rg_tensor rg_topk(rg_tensor x, int64_t k, int64_t axis, rg_sort_opts o);
RG_FN rg_tensor rg_topk_index(rg_tensor x, int64_t k, int64_t axis, rg_sort_opts o); /* their indices, I64 */

/* ---- matmul, gather and scatter ------------------------------------------------------------------------ */

RG_FN rg_tensor rg_matmul(rg_tensor x, rg_tensor y); /* NumPy's rules: vectors, broadcast batches */
RG_FN rg_tensor rg_dot(rg_tensor x, rg_tensor y);    /* of vectors a scalar; else rg_matmul */
RG_FN rg_tensor rg_outer(rg_tensor x, rg_tensor y);
/* x @ weight.T + bias; bias may be RG_NONE */
RG_FN rg_tensor rg_linear(rg_tensor x, rg_tensor weight, rg_tensor bias);
RG_FN rg_tensor rg_gather(rg_tensor x, int64_t axis, rg_tensor index); /* torch.gather */
RG_FN rg_tensor rg_take(rg_tensor x, int64_t axis, rg_tensor index); /* numpy.take: rows of an embedding */
RG_FN rg_tensor rg_scatter_add(rg_tensor x, int64_t axis, rg_tensor index, rg_tensor src);
/* overwrites; the last of several to one index wins */
RG_FN rg_tensor rg_scatter(rg_tensor x, int64_t axis, rg_tensor index, rg_value src);
RG_FN rg_tensor rg_scatter_reduce(rg_tensor x, int64_t axis, rg_tensor index, rg_tensor src,
                                  rg_scatter_opts o);
/* rows of weight (V, D): (.., D); an index outside 0..V-1 is clamped, an error on REF */
RG_FN rg_tensor rg_embedding(rg_tensor index, rg_tensor weight);
/* I64 (.., classes); an index out of range gives zeros */
RG_FN rg_tensor rg_one_hot(rg_tensor index, int64_t classes);
/* the first `size` elements where true, 0 after them */
RG_FN rg_tensor rg_masked_select(rg_tensor x, rg_tensor mask, int64_t size);
/* I64 (size, rank): indices of the first elements not 0; -1 after them */
RG_FN rg_tensor rg_nonzero(rg_tensor x, int64_t size);
/* "bij,bjk->bik"; "..." and repeated letters too */
RG_FN rg_tensor rg_einsum(const char *formula, rg_tensors xs);

/* ---- convolution and pooling: x (N, C, L), (N, C, H, W) or (N, C, D, H, W) ----------------------------- */

RG_FN rg_tensor rg_conv1d(rg_tensor x, rg_tensor weight, rg_conv_opts o); /* weight (out, C / groups, k) */
/* weight (out, C / groups, kh, kw) */
RG_FN rg_tensor rg_conv2d(rg_tensor x, rg_tensor weight, rg_conv_opts o);
RG_FN rg_tensor rg_conv3d(rg_tensor x, rg_tensor weight, rg_conv_opts o);
/* weight (C, out / groups, k) */
RG_FN rg_tensor rg_conv_transpose1d(rg_tensor x, rg_tensor weight, rg_conv_opts o);
RG_FN rg_tensor rg_conv_transpose2d(rg_tensor x, rg_tensor weight, rg_conv_opts o);
RG_FN rg_tensor rg_conv_transpose3d(rg_tensor x, rg_tensor weight, rg_conv_opts o);
RG_FN rg_tensor rg_max_pool1d(rg_tensor x, rg_pool_opts o); /* rg_max_pool1d(x, RG_SHAPE(2)) */
RG_FN rg_tensor rg_max_pool2d(rg_tensor x, rg_pool_opts o); /* the gradient goes to the first of equals */
RG_FN rg_tensor rg_max_pool3d(rg_tensor x, rg_pool_opts o);
/* where in its H*W plane each maximum was, I64 */
RG_FN rg_tensor rg_max_pool2d_index(rg_tensor x, rg_pool_opts o);
/* back to those indices, 0 elsewhere */
RG_FN rg_tensor rg_max_unpool2d(rg_tensor x, rg_tensor index, int64_t h, int64_t w);
RG_FN rg_tensor rg_avg_pool1d(rg_tensor x, rg_pool_opts o);
RG_FN rg_tensor rg_avg_pool2d(rg_tensor x, rg_pool_opts o);
RG_FN rg_tensor rg_avg_pool3d(rg_tensor x, rg_pool_opts o);
RG_FN rg_tensor rg_adaptive_avg_pool2d(rg_tensor x, int64_t h, int64_t w); /* to this size */
/* the axes after C to these sizes */
RG_FN rg_tensor rg_interpolate(rg_tensor x, rg_ints size, rg_resize_opts o);

/* ---- attention and losses ------------------------------------------------------------------------------ */

/* softmax(q k^T * scale + mask) v. q (.., Hq, T, D), k (.., Hk, S, D), v (.., Hk, S, Dv); Hk divides Hq
 * (grouped queries). One kernel where no T x S value is stored, in the gradient neither; where storing them is
 * faster they are at most RIDGE_SCORES MiB. A query that sees no key gives 0, with gradient 0. It can be
 * differentiated once. */
RG_FN rg_tensor rg_attention(rg_tensor q, rg_tensor k, rg_tensor v, rg_attention_opts o);
/* x (T, N, in); weights: w_ih, w_hh and, or not, b_ih, b_hh, of PyTorch's shapes and order of rows; state, or
 * RG_NONE for zeros: (2, N, H), h and c; of a GRU (1, N, H). Gives the states of all times, (2, T + 1, N, H) or
 * (1, T + 1, N, H), 0 being what it began with (.reverse: T). Planned and compiled for one step, whatever T is. */
RG_FN rg_tensor rg_lstm(rg_tensor x, rg_tensor state, rg_tensors weights, rg_recurrent_opts o);
RG_FN rg_tensor rg_gru(rg_tensor x, rg_tensor state, rg_tensors weights, rg_recurrent_opts o);
/* logits (N, C, ..); target (N, ..) classes, or probabilities of logits' shape */
RG_FN rg_tensor rg_cross_entropy(rg_tensor logits, rg_tensor target, rg_loss_opts o);
/* the same of log-probabilities */
RG_FN rg_tensor rg_nll_loss(rg_tensor log_probs, rg_tensor target, rg_loss_opts o);
/* binary cross entropy of sigmoid(x) */
RG_FN rg_tensor rg_bce_with_logits(rg_tensor x, rg_tensor target, rg_loss_opts o);
/* of probabilities; logarithms end at -100 */
RG_FN rg_tensor rg_bce(rg_tensor p, rg_tensor target, rg_loss_opts o);
RG_FN rg_tensor rg_mse_loss(rg_tensor x, rg_tensor target, rg_loss_opts o);
RG_FN rg_tensor rg_l1_loss(rg_tensor x, rg_tensor target, rg_loss_opts o);
RG_FN rg_tensor rg_smooth_l1_loss(rg_tensor x, rg_tensor target, rg_loss_opts o);
RG_FN rg_tensor rg_huber_loss(rg_tensor x, rg_tensor target, rg_loss_opts o);
/* target: probabilities. RG_MEAN is over all elements, as PyTorch's */
RG_FN rg_tensor rg_kl_div(rg_tensor log_probs, rg_tensor target, rg_loss_opts o);

/* ---- random: the same numbers on every device for a seed ----------------------------------------------- */

/* Numbers depend on the seed and on how many were drawn before, in order of the calls; not on when they are
 * computed. A replayed rg_jit draws new ones each time. Threefry-2x32, 20 rounds; floats have 24 random bits
 * (f64 53, f16 11, bf16 8), in [0, 1). */
RG_FN rg_status rg_seed(rg_ctx *c, uint64_t seed);               /* begins again; a context begins with 0 */
RG_FN rg_tensor rg_rand(rg_ctx *c, rg_dtype dt, rg_ints shape);  /* uniform in [0, 1) */
RG_FN rg_tensor rg_randn(rg_ctx *c, rg_dtype dt, rg_ints shape); /* normal, mean 0, deviation 1 */
RG_FN rg_tensor rg_uniform(rg_ctx *c, rg_dtype dt, double lo, double hi, rg_ints shape);
RG_FN rg_tensor rg_normal(rg_ctx *c, rg_dtype dt, double mean, double deviation, rg_ints shape);
/* lo .. hi-1, each as likely */
RG_FN rg_tensor rg_randint(rg_ctx *c, rg_dtype dt, int64_t lo, int64_t hi, rg_ints shape);
RG_FN rg_tensor rg_randperm(rg_ctx *c, rg_dtype dt, int64_t n);  /* 0 .. n-1 in random order */
RG_FN rg_tensor rg_rand_like(rg_tensor x);
RG_FN rg_tensor rg_randn_like(rg_tensor x);
/* (out, in, ..): +-sqrt(6 / (fan_in + fan_out)) */
RG_FN rg_tensor rg_glorot_uniform(rg_ctx *c, rg_dtype dt, rg_ints shape);
/* (out, in, ..): +-sqrt(6 / ((1 + slope^2) fan_in)) */
RG_FN rg_tensor rg_kaiming_uniform(rg_ctx *c, rg_dtype dt, double slope, rg_ints shape);
RG_FN rg_tensor rg_kaiming_normal(rg_ctx *c, rg_dtype dt, double slope, rg_ints shape);
RG_FN rg_tensor rg_dropout(rg_tensor x, double p);               /* 0 with probability p, else x / (1 - p) */
RG_FN rg_tensor rg_bernoulli(rg_tensor p);                       /* 1 with probability p, else 0; p's dtype */
/* (.., k): n indices drawn by weight, I64 (.., n) */
RG_FN rg_tensor rg_multinomial(rg_tensor weights, int64_t n, bool replace);

/* ---- replay: a step that is planned once --------------------------------------------------------------- */

/* The first call of a jit runs fn as it is (state is made), the second runs it and records what it launched,
 * later ones launch that again: no graph is built and nothing is allocated. What fn reads and is not an input
 * (parameters, state, rg_scalars) has its present value at each call; what fn assigns is assigned at each
 * call. fn must do the same each time: ifs of C are decided while recording. Inputs of another shape or
 * dtype, a read inside fn, or storing a fresh tensor's first value while recording, are errors. Data copied
 * in by rg_from while recording is the same in each replay (a warning says so: rg_on_warning). Outputs live in
 * memory of the jit: the next call makes the old handles stale (rg_contiguous before it keeps a copy). fn
 * gets handles of its own for the inputs. JIT=0 switches recording off. */
typedef struct rg_jit rg_jit;
/* fills out; not 0 stops the call */
typedef rg_status rg_jit_fn(void *user, const rg_tensor *in, rg_tensor *out);
#define RG_AS_FILLED SIZE_MAX /* of outputs: as many as the first call fills (256 at most; `out` has room for them) */
/* freed by rg_jit_free or rg_close; NULL on error */
RG_FN rg_jit *rg_jit_new(rg_ctx *c, rg_jit_fn *fn, void *user, size_t outputs);
RG_FN rg_status rg_jit_call(rg_jit *j, rg_tensors in, rg_tensor *out);
RG_API void rg_jit_free(rg_jit *j);
typedef struct rg_jit_stats {
    uint64_t calls, replays;
    uint64_t kernels;           /* launches of one replay */
    double bytes, ops;          /* that one replay moves and computes */
    double least;               /* as in rg_plan_stats */
    uint64_t nodes, allocations; /* made by the library during the latest call: 0 in a replay */
} rg_jit_stats;
RG_API rg_status rg_jit_info(const rg_jit *j, rg_jit_stats *out);

/* ---- layers -------------------------------------------------------------------------------------------- */

/* A module holds parameters, state and other modules, each under a name, and knows how to go forward. The
 * library's layers, and yours:
 *
 *     static rg_tensor block(rg_module *m, rg_tensor x, void *user) {
 *         return rg_add(x, rg_nn_forward(rg_nn_child(m, "mlp"), rg_nn_forward(rg_nn_child(m, "norm"), x)));
 *     }
 *     rg_module *b = rg_nn_module(c, block, NULL);
 *     rg_nn_add(b, "norm", rg_nn_layernorm(c, RG_SHAPE(64)));
 *     rg_nn_add(b, "mlp", rg_nn_linear(c, 64, 64));
 *
 * Names of weights are joined with dots, "h.0.mlp.weight", as PyTorch's state dicts have them; profiles and
 * DEBUG=2 show the same paths. A module belongs to its context: rg_nn_free or rg_close frees it with all it
 * holds. Functions that make one return NULL after an error. docs/nn.md */
typedef struct rg_module rg_module;
typedef rg_tensor rg_forward_fn(rg_module *m, rg_tensor x, void *user);
typedef rg_tensor rg_unary_fn(rg_tensor x);
typedef struct rg_modules { rg_module *const *m; size_t n; } rg_modules;
#define RG_MODULES(...)                                     \
    ((rg_modules){(rg_module *const[]){__VA_ARGS__},        \
                  sizeof((rg_module *const[]){__VA_ARGS__}) / sizeof(rg_module *)})
typedef struct rg_world rg_world;
/* Tensor parallel: how the ranks of a world divide the weight of a layer. All ranks make the layer with the same seed, and each keeps
 * its slice. RG_COLWISE gives every rank a slice of the outputs, which an RG_ROWWISE layer takes and sums over ranks.
 * Loss and gradients: rg_nn_data_parallel over the same world, all ranks with the same batch. */
typedef enum rg_layer_split { RG_REPLICATED, RG_COLWISE, RG_ROWWISE } rg_layer_split;
typedef struct rg_layer_opts {
    RG_SIZE_(rg_layer_opts);
    bool no_bias;               /* linear, convolutions, attention */
    bool no_affine;             /* norms: neither weight nor bias */
    rg_ints stride, padding, dilation; /* convolutions, as rg_conv_opts */
    int64_t groups;
    double eps;                 /* norms; 0: 1e-5 */
    double momentum;            /* batchnorm: share of the new statistics; 0: 0.1 */
    int64_t kv_heads;           /* attention: heads of keys and values; 0: as many as of queries */
    bool causal;                /* attention */
    double dropout;             /* attention: of its weights */
    rg_world *world;            /* linear, attention: ranks that divide it; NULL: none */
    rg_layer_split split;          /* linear with .world; attention divides its heads */
} rg_layer_opts;
/* weight (out, in), bias (out) */
RG_FN rg_module *rg_nn_linear(rg_ctx *c, int64_t in, int64_t out, rg_layer_opts o);
RG_FN rg_module *rg_nn_conv1d(rg_ctx *c, int64_t in, int64_t out, rg_ints size, rg_layer_opts o);
/* size: one number or one each */
RG_FN rg_module *rg_nn_conv2d(rg_ctx *c, int64_t in, int64_t out, rg_ints size, rg_layer_opts o);
RG_FN rg_module *rg_nn_conv3d(rg_ctx *c, int64_t in, int64_t out, rg_ints size, rg_layer_opts o);
RG_FN rg_module *rg_nn_conv_transpose2d(rg_ctx *c, int64_t in, int64_t out, rg_ints size, rg_layer_opts o);
/* of (N, C, ..): batch statistics while training, running ones else */
RG_FN rg_module *rg_nn_batchnorm(rg_ctx *c, int64_t channels, rg_layer_opts o);
/* over the last axes, which have this shape */
RG_FN rg_module *rg_nn_layernorm(rg_ctx *c, rg_ints shape, rg_layer_opts o);
RG_FN rg_module *rg_nn_groupnorm(rg_ctx *c, int64_t groups, int64_t channels, rg_layer_opts o);
RG_FN rg_module *rg_nn_instancenorm(rg_ctx *c, int64_t channels, rg_layer_opts o);
RG_FN rg_module *rg_nn_rmsnorm(rg_ctx *c, int64_t size, rg_layer_opts o);
RG_FN rg_module *rg_nn_embedding(rg_ctx *c, int64_t count, int64_t size); /* of indices (..): (.., size) */
/* the same, its rows divided among the ranks of w */
RG_FN rg_module *rg_nn_embedding_parallel(rg_ctx *c, int64_t count, int64_t size, rg_world *w);
/* self-attention of (N, T, size): q, k, v, out */
RG_FN rg_module *rg_nn_attention(rg_ctx *c, int64_t size, int64_t heads, rg_layer_opts o);
/* of (T, N, in): h of each step, (T, N, H); entries weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0 .. */
RG_FN rg_module *rg_nn_lstm(rg_ctx *c, int64_t in, int64_t hidden, rg_recurrent_opts o);
RG_FN rg_module *rg_nn_gru(rg_ctx *c, int64_t in, int64_t hidden, rg_recurrent_opts o);
RG_FN rg_module *rg_nn_dropout(rg_ctx *c, double p); /* only while training */
/* rg_nn_function(c, "relu", rg_relu) */
RG_FN rg_module *rg_nn_function(rg_ctx *c, const char *name, rg_unary_fn *fn);
RG_FN rg_module *rg_nn_max_pool2d(rg_ctx *c, rg_pool_opts o);
RG_FN rg_module *rg_nn_flatten(rg_ctx *c, int64_t first); /* axes first.. become one */
RG_FN rg_module *rg_nn_sequential(rg_ctx *c, rg_modules list); /* one after the other; named "0", "1" .. */
/* your own; fn NULL: it only holds parameters and modules */
RG_FN rg_module *rg_nn_module(rg_ctx *c, rg_forward_fn *fn, void *user);
/* a child has one parent, which frees it */
RG_FN rg_status rg_nn_add(rg_module *m, const char *name, rg_module *child);
/* makes a parameter of m with this value; returns it */
RG_FN rg_tensor rg_nn_param(rg_module *m, const char *name, rg_tensor value);
/* the same without a gradient: saved, not trained */
RG_FN rg_tensor rg_nn_state(rg_module *m, const char *name, rg_tensor value);
RG_FN rg_tensor rg_nn_forward(rg_module *m, rg_tensor x);
RG_API rg_module *rg_nn_child(rg_module *m, const char *path); /* "h.0.mlp"; NULL if there is none */
RG_FN rg_tensor rg_nn_get(rg_module *m, const char *path); /* a parameter or state: "h.0.mlp.weight" */
RG_API void *rg_nn_user(rg_module *m);
RG_API rg_ctx *rg_nn_ctx(rg_module *m);
/* For bindings that have modules of their own: calls from here on are shown as made in the module of that path
 * ("h.0.mlp"; NULL: none), which must live until the next rg_in_module. Returns the path before */
RG_API const char *rg_in_module(rg_ctx *c, const char *path);
/* dropout, batch norms; modules begin as training. Gradients flow in both (RG_NO_GRAD stops them) */
RG_FN rg_status rg_nn_train(rg_module *m, bool train);
RG_API bool rg_nn_is_training(const rg_module *m);
/* on: each forward pass through m while it trains is an rg_checkpoint. For the blocks of a deep network, one each */
RG_FN rg_status rg_nn_checkpoint(rg_module *m, bool on);
RG_FN rg_tensors rg_nn_params(rg_module *m); /* all parameters below m, in order; valid until m changes */
RG_API size_t rg_nn_entries(rg_module *m);   /* parameters and state below m */
/* one of them; name may be NULL, is valid until m changes */
RG_API rg_tensor rg_nn_entry(rg_module *m, size_t i, const char **name);
RG_FN rg_status rg_nn_save(rg_module *m, const char *path); /* all entries, as safetensors */
/* shapes must agree; partial: missing and unknown names are fine */
RG_FN rg_status rg_nn_load(rg_module *m, const char *path, bool partial);
RG_FN rg_status rg_nn_cast(rg_module *m, rg_dtype dt); /* all float entries to dt */
RG_FN rg_module *rg_nn_to(rg_module *m, rg_ctx *c); /* a copy on another device */
/* Mixed precision: parameters stay F32 (the optimiser works on them), matmuls and convolutions of m compute
 * in dt (F16 or BF16), norms and losses in F32. F16 needs rg_optim_scale. */
RG_FN rg_status rg_nn_precision(rg_module *m, rg_dtype dt);
/* F32 if none was asked for. A module of your own casts the operands of its matmuls to it */
RG_API rg_dtype rg_nn_precision_of(const rg_module *m);
/* a table: path, layer, shape, parameters; as snprintf */
RG_API int rg_nn_describe(rg_module *m, char *out, size_t room);
RG_API void rg_nn_free(rg_module *m);

/* ---- optimisers ---------------------------------------------------------------------------------------- */

/* rg_optim_step takes the gradients that rg_backward left, queues the new values of parameters and state, and
 * forgets the gradients. Nothing runs before the next read or realize; then all parameters are updated by one
 * or two kernels. The learning rate is a number that changes: setting it compiles nothing and takes effect in
 * replays too. */
typedef struct rg_optim rg_optim;
typedef struct rg_optim_opts {
    RG_SIZE_(rg_optim_opts);
    double lr;                /* 0: 1e-3 */
    double momentum;          /* sgd */
    bool nesterov;            /* sgd */
    double beta1, beta2, eps; /* adam; 0: 0.9, 0.999, 1e-8 */
    /* sgd, adam: added to the gradient; adamw: of the parameter itself (0: 0.01, negative: none) */
    double weight_decay;
    double loss_scale;        /* for F16: the first scale, 0: no scaling; grows and shrinks by itself */
} rg_optim_opts;
RG_FN rg_optim *rg_sgd(rg_tensors params, rg_optim_opts o);
RG_FN rg_optim *rg_adam(rg_tensors params, rg_optim_opts o);
RG_FN rg_optim *rg_adamw(rg_tensors params, rg_optim_opts o);
RG_FN rg_status rg_optim_step(rg_optim *o); /* one update; a parameter without a gradient stays as it is */
RG_FN rg_status rg_optim_set_lr(rg_optim *o, double lr);
RG_API double rg_optim_lr(const rg_optim *o);
/* loss times the scale: what to differentiate; a step whose gradients overflow is left out */
RG_FN rg_tensor rg_optim_scale(rg_optim *o, rg_tensor loss);
RG_API size_t rg_optim_entries(rg_optim *o); /* its state, for saving: "m.0", "v.0", "step" .. */
RG_API rg_tensor rg_optim_entry(rg_optim *o, size_t i, const char **name);
RG_FN rg_status rg_optim_save(rg_optim *o, const char *path);
RG_FN rg_status rg_optim_load(rg_optim *o, const char *path);
RG_API void rg_optim_free(rg_optim *o);
/* scales all gradients so that their common norm is at most that; returns the norm before */
RG_FN rg_tensor rg_clip_grad_norm(rg_tensors params, double most);
RG_FN rg_status rg_clip_grad_value(rg_tensors params, double most); /* each element to -most .. most */
/* Learning rates by step number, for rg_optim_set_lr. */
/* times factor each `every` steps */
RG_API double rg_lr_step(double lr, int64_t step, int64_t every, double factor);
/* half a cosine down to least */
RG_API double rg_lr_cosine(double lr, int64_t step, int64_t steps, double least);
RG_API double rg_lr_warmup(double lr, int64_t step, int64_t steps); /* grows from lr / steps, then stays */
/* up from most / 25 in share of the steps, down to most / 250000 */
RG_API double rg_lr_one_cycle(double most, int64_t step, int64_t steps, double share);

/* ---- files: they may come from anywhere; whatever is in them, the answer is a tensor or an error ------- */

RG_FN rg_tensor rg_load_npy(rg_ctx *c, const char *path); /* NumPy's array file */
RG_FN rg_status rg_save_npy(rg_tensor x, const char *path);
RG_FN rg_tensor rg_load_idx(rg_ctx *c, const char *path); /* MNIST's format, also compressed (.gz) */
typedef struct rg_file rg_file; /* an open safetensors file: its header is read, tensors when you get them */
RG_FN rg_file *rg_file_open(rg_ctx *c, const char *path); /* NULL on error; rg_close closes it too */
RG_API void rg_file_close(rg_file *f); /* tensors taken from it stay */
RG_API size_t rg_file_count(const rg_file *f);
RG_API const char *rg_file_name(const rg_file *f, size_t i); /* of tensor i; NULL past the end */
RG_FN rg_tensor rg_file_get(rg_file *f, const char *name); /* copied to the device */
/* of its metadata; NULL if there is none */
RG_API const char *rg_file_note(const rg_file *f, const char *key);
/* a safetensors file of one tensor or more; written whole or not at all */
RG_FN rg_status rg_save(const char *path, const char *const *names, rg_tensors xs);
/* A loader prepares batches in a thread of its own while you compute. fill writes batch number `step` to
 * buf[i], one for each tensor that was described, and returns 0; positive: there is no such batch, the data
 * ends; negative: an error, which rg_loader_next reports. It runs in that thread, one call after the other,
 * and must not use the context. On a GPU buf[i] is pinned memory, and each batch is copied to the device
 * while you compute on the one before it: ask for a batch, then start the work on it, and the copy costs
 * nothing as long as it is shorter than that work. */
typedef struct rg_loader rg_loader;
typedef int rg_fill_fn(void *user, uint64_t step, void *const *buf);
typedef struct rg_batch_part { rg_dtype dtype; rg_ints shape; } rg_batch_part;
typedef struct rg_loader_opts {
    RG_SIZE_(rg_loader_opts);
    uint32_t ahead;             /* batches prepared in advance; 0: 2 */
    uint64_t first;             /* the first step's number */
} rg_loader_opts;
RG_FN rg_loader *rg_loader_new(rg_ctx *c, const rg_batch_part *part, size_t parts, rg_fill_fn *fill,
                               void *user, rg_loader_opts o);
/* the next batch as tensors; end: there is none (may be NULL: then that is an error) */
RG_FN rg_status rg_loader_next(rg_loader *l, rg_tensor *out, bool *end);
RG_API void rg_loader_free(rg_loader *l); /* waits for fill to return; rg_close frees it too */

/* ---- worlds: several processes or contexts, one program each ------------------------------------------- */

/* A world is a group of ranks that run the same program on their share of the data; docs/distributed.md. Ranks are
 * processes (`ridge run -n 4 -- prog`, mpirun, torchrun, srun: each finds its rank in the environment) or, with
 * .backend = "local", contexts of one process in threads of their own. Collectives are lazy like everything else, can
 * be differentiated and stand in jits; all ranks of a world make the same ones in the same order, which is the order
 * of the calls: running one runs those called before it. Each runs once. A rank that calls another one (kind, dtype,
 * size), ends, or does not come within the time limit is an error that names it, on every rank; the world is of no
 * use then. Sums are a tree over ranks: the same bits on every rank and in every run. */
typedef struct rg_world_opts {
    RG_SIZE_(rg_world_opts);
    const char *backend;        /* "shm": one host; "mpi"; "local"; NULL: RIDGE_WORLD_BACKEND, else what fits */
    const char *name;           /* who gives the same name meets; NULL: the launcher's job */
    int64_t rank, size;         /* size 0: as the launcher says; without one rank 0 of 1 */
    double timeout;             /* seconds that a collective waits for a rank; 0: RIDGE_WORLD_TIMEOUT, 30 */
    int64_t contexts, context;  /* ranks of each process, a context and a thread each; which of them this is (0: 1) */
} rg_world_opts;
/* rg_world_open(c); rg_world_open(c, "local", "test", rank, 4). Waits for all ranks. Freed by rg_world_free or rg_close */
RG_FN rg_world *rg_world_open(rg_ctx *c, rg_world_opts o);
/* some ranks of w as a world of their own, numbered in this order; NULL on the others. All of w call it */
RG_FN rg_world *rg_world_group(rg_world *w, rg_ints ranks);
RG_API void rg_world_free(rg_world *w); /* runs the collectives that wait */
RG_API int64_t rg_world_rank(const rg_world *w); /* 0 .. size-1 */
RG_API int64_t rg_world_size(const rg_world *w);
RG_API int64_t rg_world_local_rank(const rg_world *w); /* among the ranks of this host */
RG_API const char *rg_world_backend(const rg_world *w);
/* how many of n rows of a batch are this rank's, in the order of the ranks; first: where they begin (may be NULL) */
RG_API int64_t rg_world_share(const rg_world *w, int64_t n, int64_t *first);
/* x of all ranks combined, element by element. Gradients: of sums, means, maxima and minima */
RG_FN rg_tensor rg_all_reduce(rg_tensor x, rg_world *w, rg_combine how);
/* this rank's part of that: the first axis is divided among the ranks */
RG_FN rg_tensor rg_reduce_scatter(rg_tensor x, rg_world *w, rg_combine how);
RG_FN rg_tensor rg_all_gather(rg_tensor x, rg_world *w); /* x of all ranks, along the first axis */
RG_FN rg_tensor rg_broadcast(rg_tensor x, rg_world *w, int64_t root); /* root's x */
RG_FN rg_tensor rg_all_to_all(rg_tensor x, rg_world *w); /* part i of the first axis goes to rank i */
/* now; up to 128 kB it does not wait for the other rank. No gradient */
RG_FN rg_status rg_send(rg_tensor x, rg_world *w, int64_t to);
RG_FN rg_tensor rg_recv(rg_tensor like, rg_world *w, int64_t from); /* a tensor of like's dtype and shape */
RG_FN rg_status rg_barrier(rg_world *w); /* runs all that were called; returns when all ranks did */
/* Data parallel training of m: each rank computes the loss of its share of a batch, shares of one size.
 *     rg_nn_data_parallel(net, w);                                  once: all ranks get rank 0's parameters and state
 *     rg_backward(loss); rg_nn_reduce_grads(net); rg_optim_step(o); each step; several rg_backward accumulate
 * Batch norms of m take their statistics over all ranks from then on. w must live as long as m is used. */
typedef enum rg_shard {
    RG_SHARD_NONE,
    RG_SHARD_OPTIMISER,         /* ZeRO 1: state of optimisers that are made afterwards */
    RG_SHARD_PARAMETERS,        /* ZeRO 3, FSDP: parameters and gradients too, gathered where they are used; rg_nn_get gives them whole */
} rg_shard;
typedef struct rg_parallel_opts {
    RG_SIZE_(rg_parallel_opts);
    rg_dtype wire;              /* dtype in which gradients travel: RG_F32, RG_BF16, RG_F16; 0: as they are */
    double bucket_mb;           /* gradients that travel together; 0: by latency and rate of the world, at most 25 */
    rg_shard shard;             /* what each rank keeps only its part of */
} rg_parallel_opts;
RG_FN rg_status rg_nn_data_parallel(rg_module *m, rg_world *w, rg_parallel_opts o);
/* Checkpoint of m and o (NULL: of m alone), written by all ranks of w (NULL: one process), each its part, to files whose names
 * begin with path; path itself is renamed last: it names a whole checkpoint, the old or the new one. Any number of
 * ranks reads it, with the same .shard. */
RG_FN rg_status rg_nn_save_sharded(rg_module *m, rg_optim *o, rg_world *w, const char *path);
RG_FN rg_status rg_nn_load_sharded(rg_module *m, rg_optim *o, rg_world *w, const char *path);
RG_FN rg_status rg_nn_reduce_grads(rg_module *m); /* the mean over ranks of all gradients of m */

/* ---- what it costs ------------------------------------------------------------------------------------- */

typedef struct rg_plan_stats { /* what realizing would take, counted on the kernels that would run */
    uint64_t kernels; /* launches */
    uint64_t distinct; /* different kernels among them */
    uint64_t reads, writes; /* buffers loaded and stored, summed over the launches */
    double bytes; /* distinct bytes moved */
    double least; /* of them, what the plan cannot do without: each stored value written once and read once */
    double ops;   /* operations asked for: a sum of n is n, an FMA is two */
    int64_t scratch; /* bytes of temporaries between kernels */
    double predicted; /* seconds, by the machine model */
} rg_plan_stats;
/* plans these (and the queue); runs nothing */
RG_FN rg_status rg_schedule_stats(rg_tensors xs, rg_plan_stats *out);

typedef struct rg_usage {
    uint64_t handles;           /* alive */
    uint64_t nodes;             /* of the graph that can be reached from them */
    uint64_t nodes_held;        /* kept in memory, garbage included; collected from time to time */
    uint64_t buffers, bytes;    /* device memory of tensors */
    uint64_t temporaries;       /* bytes held for values between the kernels of a plan: the neediest so far */
    uint64_t peak;              /* most bytes of tensors at any time, and the temporaries */
    uint64_t realizes;          /* plans run */
    uint64_t kernels;           /* launches */
    uint64_t cached;            /* plans that were known already */
    double moved, ops;          /* bytes and operations of all launches */
    double seconds;             /* spent running kernels */
} rg_usage;
RG_FN rg_status rg_stats(rg_ctx *c, rg_usage *out); /* works on a context with an error too */

/* Device memory, in bytes. */
typedef struct rg_memory {
    uint64_t bytes;             /* asked for and in use: tensors, values between kernels, scratch */
    uint64_t held;              /* of the blocks that they lie in, which are rounded up */
    uint64_t peak;              /* most held at any time since rg_open or rg_memory_reset_peak */
    uint64_t cached;            /* of blocks that are kept for the next who asks */
    uint64_t blocks;
} rg_memory;
RG_FN rg_status rg_memory_of(rg_ctx *c, rg_memory *out); /* works on a context with an error too */
RG_FN rg_status rg_memory_reset_peak(rg_ctx *c);
/* frees what no handle reaches, and gives what the allocator keeps back to the device (docs/tensors.md) */
RG_FN rg_status rg_collect(rg_ctx *c);
/* what is in use now, and whose it is; `ridge report PATH --memory` shows it */
RG_FN rg_status rg_memory_snapshot(rg_ctx *c, const char *path);

/* What each kernel cost since rg_open or rg_kernels_reset, the costliest first. Kernels of one code and one
 * source line are one row. */
typedef struct rg_kernel_cost {
    /* "r_512_32_25"; "conv2d model.c:31", perhaps with a module's path; valid until the next call */
    const char *name, *where;
    uint64_t calls;
    /* all calls together; also ops and bytes. On a device that works on its own (a GPU): calls times what the
     * kernel took, by the device's clock, in the second run of its plan (the first, if there was no second) */
    double seconds;
    double ops, bytes;
    double roof;                /* seconds that the machine model allows at best */
    const char *bound;          /* what limits it then: "DRAM", "FMA" .. */
} rg_kernel_cost;
/* fills up to room rows; returns how many there are */
RG_FN size_t rg_kernels(rg_ctx *c, rg_kernel_cost *out, size_t room);
RG_FN rg_status rg_kernels_reset(rg_ctx *c);

/* How long a function takes: rg_benchmark(c, step, &net, &r, .cold = true). It is called in a scope of its own, some
 * times to warm up (which also compiles), then in samples of calls that last some milliseconds together. */
typedef void rg_benchmark_fn(rg_ctx *c, void *user);
typedef struct rg_benchmark_opts {
    RG_SIZE_(rg_benchmark_opts);
    int warmup;                 /* calls before the clock starts; 0: 3 */
    int samples;                /* 0: as many as fit into .. */
    double seconds;             /* .. this time, 5 at least; 0: 0.5 */
    bool cold;                  /* caches are flushed before each call; a sample is one call */
} rg_benchmark_opts;
typedef struct rg_benchmark_result {
    double median, least, most; /* seconds of a call */
    double spread;              /* the middle half of the samples, from end to end, by the median */
    int samples;
    uint64_t calls;             /* in all samples */
    double kernels;             /* launched by a call */
    bool device_clock;          /* by the device's clock; else by the host's, around work that was waited for */
} rg_benchmark_result;
RG_FN rg_status rg_benchmark(rg_ctx *c, rg_benchmark_fn *fn, void *user, rg_benchmark_result *out,
                             rg_benchmark_opts o);
/* F32 operations and DRAM bytes per second at best; half: F16 and BF16 tensor cores, 0: none */
typedef struct rg_machine { double flops, bytes; int threads; double half; } rg_machine;
RG_FN rg_status rg_machine_of(rg_ctx *c, rg_machine *out);

/* ---- profiling: where the time went -----------------------------------------------------------------------
 *
 * A profile holds every call, stage of the compiler, kernel, copy and wait of the process, with the lines of
 * your program. PROFILE=1 in the environment records a whole run without a change to the program; these
 * functions record a part of it. `ridge report FILE` shows the file, which is readable at any moment: a
 * program that is killed leaves what it did until then. One recording at a time. */

typedef struct rg_profile_opts {
    RG_SIZE_(rg_profile_opts);
    int wait;                   /* rg_profile_step ends a step: this many are not recorded .. */
    int warmup;                 /* .. then this many warm up the recorder, and are not recorded either .. */
    int active;                 /* .. then this many are; 0: all are, from the start */
    int repeat;                 /* how often that; 0: until rg_profile_stop */
    uint32_t activities;        /* RG_RECORD_CALLS | ..; 0: all. Steps and ranges are always recorded */
} rg_profile_opts;
typedef enum rg_activity {
    RG_RECORD_CALLS = 1,        /* your calls, with line, module and shapes */
    RG_RECORD_KERNELS = 2,
    RG_RECORD_WORKERS = 4,      /* what each thread did of a kernel (CPU) */
    RG_RECORD_COPIES = 8,       /* and waits */
    RG_RECORD_MEMORY = 16,      /* blocks of device memory, and values between kernels, with their owners */
    RG_RECORD_COMPILER = 32     /* planning, lowering, compiling, the cache */
} rg_activity;
/* rg_profile_start(c, "run.profile", .wait = 2, .active = 3) */
RG_FN rg_status rg_profile_start(rg_ctx *c, const char *path, rg_profile_opts o);
RG_FN rg_status rg_profile_step(rg_ctx *c); /* a step ends here, and the next begins */
RG_FN rg_status rg_profile_stop(rg_ctx *c);
/* marks a part of this thread's work in the profile; up to 64 deep */
RG_API void rg_range_push(const char *name);
RG_API void rg_range_pop(void);
typedef enum rg_profile_by {
    RG_BY_KERNEL, RG_BY_OP, RG_BY_LINE, RG_BY_MODULE, RG_BY_SHAPE, RG_BY_CLASS
} rg_profile_by;
typedef enum rg_profile_sort {
    RG_SORT_DEVICE,             /* time of kernels whose work comes from there */
    RG_SORT_TOTAL,              /* time of kernels that ran under calls from there */
    RG_SORT_HOST,               /* time of calls from there */
    RG_SORT_CALLS, RG_SORT_MEMORY, RG_SORT_FLOPS, RG_SORT_BYTES
} rg_profile_sort;
typedef struct rg_table_opts {
    RG_SIZE_(rg_table_opts);
    rg_profile_by by;
    rg_profile_sort sort;
    int rows;                   /* at most; 0: all */
} rg_table_opts;
/* What a profile cost, as text: rg_profile_table(c, "run.profile", text, sizeof text, .by = RG_BY_LINE);
 * returns its length. */
RG_FN size_t rg_profile_table(rg_ctx *c, const char *path, char *out, size_t room, rg_table_opts o);
/* The flight recorder is always on: the last 16,384 events of each thread, with the lines that kernels come
 * from. Writes them as a profile; from any thread, also when a context has an error. */
RG_API rg_status rg_flight_dump(const char *path);

/* clang-format on */

/* ---- behind the macros --------------------------------------------------------------------------------- */

#define RG_SCOPE_(c, line) RG_SCOPE__(c, line)
#define RG_SCOPE__(c, line) \
    __attribute__((cleanup(rg_end_scope_), unused)) rg_scope rg_scope_##line##_ = rg_begin(c)
static inline __attribute__((unused)) void rg_end_scope_(rg_scope *s) { rg_end(*s); }
#define RG_NO_GRAD_(c, line) RG_NO_GRAD__(c, line)
#define RG_NO_GRAD__(c, line) \
    __attribute__((cleanup(rg_end_no_grad_), unused)) rg_scope rg_no_grad_##line##_ = rg_begin_no_grad(c)
static inline __attribute__((unused)) void rg_end_no_grad_(rg_scope *s) { rg_end_no_grad(*s); }

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
/* An argument that is itself a call, rg_add(rg_mul(a, b), c), has no name, so it cannot be used again. The
 * call that takes it frees it (it says so in a bit of the handle); so expressions leave no temporaries
 * behind. It must be a call and nothing else: the first parenthesis closes at the very end, which `rg_rank(a)
 * == 1 ? a : rg_abs(b)` does not. Text with quotes is not looked into; what is not freed here ends with its
 * scope. */
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
#include "ridge_calls.h" /* written by tools/callsites from the above: each function with its call site */

#ifdef __cplusplus
}
#endif
#endif
