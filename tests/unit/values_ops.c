/* values_ops.c: every op of the public API against values made outside Ridge (tests/values/ops.txt and its kin, written
 * by make_ops.py .. with NumPy, PyTorch and mpmath), forward and gradient, on each device of a list.
 *
 * A case names an op, its inputs as stored and as seen through views, its parameters, what must come out
 * and how far off it may be. The table below says how each op is called. Many cases are computed by one
 * rg_wait, so that a device that compiles does so in few batches; if that fails, the cases run one by one
 * and the guilty are named. Gradients are checked twice: against PyTorch's, and (f64) against differences
 * of the function itself. */
#include "unit/values_file.h"
#include "opencl.h"
#include "tensor/tensor.h"
#include "ridge.h"

/* Where the cases run, how many go into one plan, and which: all, or the first of each op and then every n-th. A
 * device that compiles needs some 30 ms for a case that it has not seen, so `make test` takes a sample there. */
struct device_run {
    const char *device;
    uint32_t batch, every;
    uint32_t part, parts; /* of several processes that share the cases */
};

struct run {
    rg_ctx *c;
    struct vf_file file;
    struct arena *arena;
    int64_t cases, elements, failed;
};

/* ops.txt has the functions of one or two operands and what was there first; the others are called as their script is. */
static void read_files(struct vf_file *f, struct arena *arena) {
    static const char *const path[] = {"tests/values/ops.txt", "tests/values/index.txt",
                                       "tests/values/nn.txt"};
    for (size_t i = 0; i < RG_COUNT(path); i++) vf_read(f, arena, path[i]);
}

/* ---- lists from parameters ---------------------------------------------------------------------- */

enum { LIST = 32 };
struct list {
    int64_t v[LIST];
    rg_ints ints;
};

static rg_ints list_of(struct list *l, const char *text) {
    l->ints = (rg_ints){l->v, vf_list(text, l->v, LIST)};
    return l->ints;
}

/* "1/7/2,-1/e/-1": start, stop (e: the end) and step of each axis */
static rg_ranges ranges_of(rg_range *r, const char *text) {
    size_t n = 0;
    while (text && *text && n < LIST) {
        char stop[24];
        long long start, step;
        int used;
        if (sscanf(text, "%lld/%23[-0-9e]/%lld%n", &start, stop, &step, &used) != 3)
            FAIL("bad slice: %s", text);
        int64_t to = *stop == 'e' ? RG_END : strtoll(stop, NULL, 10);
        r[n++] = (rg_range){.start = start, .stop = to, .step = step};
        text += used + (text[used] == ',');
    }
    return (rg_ranges){r, n};
}

/* A macro would split a list in braces at its commas. */
static rg_tensors tensors(const rg_tensor *t, int n) { return (rg_tensors){t, (size_t)n}; }

static rg_dtype dtype_named(const char *name) {
    for (int t = 0; t < RG_DTYPES; t++)
        if (!strcmp(rg_dtype_name((rg_dtype)t), name)) return (rg_dtype)t;
    FAIL("ridge has no dtype '%s'", name);
}
static rg_dtype dtype_par(const struct vf_case *c) { return dtype_named(vf_par(c, "dtype")); }
static int64_t axis_par(const struct vf_case *c) {
    const char *v = vf_par(c, "axis");
    return v ? strtoll(v, NULL, 10) : RG_ALL;
}

static int64_t int_par(const struct vf_case *c, const char *key) {
    const char *v = vf_par(c, key);
    return v ? strtoll(v, NULL, 10) : 0;
}

/* A number written as an operand: with a point it is a double, else an integer. */
static rg_operand operand(const struct vf_case *c, const char *key, rg_tensor t) {
    const char *v = vf_par(c, key);
    if (!v) return (rg_operand){.t = t};
    if (strchr(v, '.')) return (rg_operand){.kind = 2, .v = {.f = strtod(v, NULL)}};
    return (rg_operand){.kind = 1, .v = {.i = strtoll(v, NULL, 10)}};
}

/* ---- how each op is called ---------------------------------------------------------------------- */

#define MAYBE __attribute__((unused))
#define SPECIAL(name)                                                                \
    static rg_tensor call_##name(MAYBE struct run *r, MAYBE const struct vf_case *c, \
                                 MAYBE const rg_tensor *in)

SPECIAL(where) { return rg_where(in[0], in[1], in[2]); }
SPECIAL(lerp) { return rg_lerp(in[0], in[1], in[2]); }
SPECIAL(clamp) {
    if (vf_has(c, "lo")) return rg_clamp(in[0], in[1], RG_NONE);
    if (vf_has(c, "hi")) return rg_clamp(in[0], RG_NONE, in[1]);
    return rg_clamp(in[0], in[1], in[2]);
}
SPECIAL(leaky_relu) { return rg_leaky_relu(in[0], vf_num(c, "slope", 0)); }
SPECIAL(elu) { return rg_elu(in[0], vf_num(c, "alpha", 0)); }
SPECIAL(hardtanh) { return rg_hardtanh(in[0], vf_num(c, "lo", 0), vf_num(c, "hi", 0)); }
SPECIAL(cast) { return rg_cast(in[0], dtype_par(c)); }
SPECIAL(bitcast) { return rg_bitcast(in[0], dtype_par(c)); }
SPECIAL(layernorm) {
    bool has = vf_has(c, "weight");
    return rg_layernorm(in[0], has ? in[1] : RG_NONE, has ? in[2] : RG_NONE, .eps = vf_num(c, "eps", 0),
                        .axes = (uint32_t)vf_num(c, "n", 0));
}
SPECIAL(rmsnorm) {
    return rg_rmsnorm(in[0], vf_has(c, "weight") ? in[1] : RG_NONE, .eps = vf_num(c, "eps", 0));
}
SPECIAL(groupnorm) {
    bool has = vf_has(c, "weight");
    return rg_groupnorm(in[0], (int64_t)vf_num(c, "groups", 0), has ? in[1] : RG_NONE, has ? in[2] : RG_NONE,
                        .eps = vf_num(c, "eps", 0));
}
SPECIAL(instancenorm) {
    bool has = vf_has(c, "weight");
    return rg_instancenorm(in[0], has ? in[1] : RG_NONE, has ? in[2] : RG_NONE, .eps = vf_num(c, "eps", 0));
}
SPECIAL(batchnorm) {
    bool has = vf_has(c, "weight");
    return rg_batchnorm(in[0], in[1], in[2], has ? in[3] : RG_NONE, has ? in[4] : RG_NONE,
                        .eps = vf_num(c, "eps", 0));
}
SPECIAL(norm) {
    struct list l;
    return rg_norm(in[0], vf_num(c, "p", 2), list_of(&l, vf_par(c, "axes")),
                   .keep = vf_num(c, "keep", 0) != 0);
}
SPECIAL(normalize) { return rg_normalize(in[0], vf_num(c, "p", 2), axis_par(c)); }
SPECIAL(celu) { return rg_celu(in[0], vf_num(c, "alpha", 0)); }
/* Inputs: the prediction, the target, then the weights that `has` names. */
static rg_loss_opts loss_opts(const struct vf_case *c, const rg_tensor *in) {
    const char *how = vf_par(c, "reduction");
    rg_loss_opts o = {.label_smoothing = vf_num(c, "smoothing", 0), .delta = vf_num(c, "delta", 0)};
    o.reduction = !how || !strcmp(how, "mean") ? RG_MEAN : !strcmp(how, "sum") ? RG_SUM : RG_EACH;
    o.ignore = vf_par(c, "ignore") != NULL;
    o.ignore_index = (int64_t)vf_num(c, "ignore", 0);
    int k = 2;
    if (vf_has(c, "class_weight")) o.weight = in[k++];
    if (vf_has(c, "pos")) o.pos_weight = in[k];
    return o;
}
SPECIAL(linear) { return rg_linear(in[0], in[1], vf_has(c, "bias") ? in[2] : RG_NONE); }
SPECIAL(gather) { return rg_gather(in[0], axis_par(c), in[1]); }
SPECIAL(take) { return rg_take(in[0], axis_par(c), in[1]); }
SPECIAL(scatter_add) { return rg_scatter_add(in[0], axis_par(c), in[1], in[2]); }
SPECIAL(cat) { return rg_cat(tensors(in, c->nin), axis_par(c)); }
SPECIAL(stack) { return rg_stack(tensors(in, c->nin), axis_par(c)); }
SPECIAL(reshape) { return rg_reshape(in[0], list_of(&(struct list){0}, vf_par(c, "dims"))); }
SPECIAL(expand) { return rg_expand(in[0], list_of(&(struct list){0}, vf_par(c, "dims"))); }
SPECIAL(permute) { return rg_permute(in[0], list_of(&(struct list){0}, vf_par(c, "axes"))); }
SPECIAL(flip) { return rg_flip(in[0], list_of(&(struct list){0}, vf_par(c, "axes"))); }
SPECIAL(repeat) { return rg_repeat(in[0], list_of(&(struct list){0}, vf_par(c, "times"))); }
SPECIAL(pad) { return rg_pad(in[0], list_of(&(struct list){0}, vf_par(c, "pads")), vf_num(c, "value", 0)); }
SPECIAL(slice) { return rg_slice(in[0], ranges_of((rg_range[LIST]){0}, vf_par(c, "slices"))); }
SPECIAL(narrow) {
    return rg_narrow(in[0], axis_par(c), (int64_t)vf_num(c, "start", 0), (int64_t)vf_num(c, "size", 0));
}
SPECIAL(select) { return rg_select(in[0], axis_par(c), (int64_t)vf_num(c, "at", 0)); }
SPECIAL(transpose) { return rg_transpose(in[0], (int64_t)vf_num(c, "a", 0), (int64_t)vf_num(c, "b", 0)); }
SPECIAL(flatten) { return rg_flatten(in[0], (int64_t)vf_num(c, "first", 0), (int64_t)vf_num(c, "last", 0)); }
SPECIAL(arange) {
    return rg_arange(r->c, dtype_par(c), vf_num(c, "start", 0), vf_num(c, "stop", 0), vf_num(c, "step", 0));
}
SPECIAL(linspace) {
    return rg_linspace(r->c, dtype_par(c), vf_num(c, "start", 0), vf_num(c, "stop", 0),
                       (int64_t)vf_num(c, "n", 0));
}
SPECIAL(eye) { return rg_eye(r->c, dtype_par(c), (int64_t)vf_num(c, "n", 0), (int64_t)vf_num(c, "m", 0)); }
SPECIAL(full) {
    return rg_full(r->c, dtype_par(c), vf_num(c, "value", 0), list_of(&(struct list){0}, vf_par(c, "dims")));
}
SPECIAL(full_like) { return rg_full_like(in[0], vf_num(c, "value", 0)); }

SPECIAL(tril) { return rg_tril(in[0], int_par(c, "k")); }
SPECIAL(triu) { return rg_triu(in[0], int_par(c, "k")); }
SPECIAL(diag) { return rg_diag(in[0], int_par(c, "k")); }
SPECIAL(diagonal) { return rg_diagonal(in[0], int_par(c, "k"), int_par(c, "a"), int_par(c, "b")); }
SPECIAL(roll) {
    return rg_roll(in[0], list_of(&(struct list){0}, vf_par(c, "shifts")),
                   list_of(&(struct list){0}, vf_par(c, "axes")));
}
SPECIAL(repeat_interleave) { return rg_repeat_interleave(in[0], int_par(c, "times"), axis_par(c)); }
SPECIAL(unflatten) {
    return rg_unflatten(in[0], axis_par(c), list_of(&(struct list){0}, vf_par(c, "sizes")));
}
SPECIAL(split) {
    rg_tensor part[LIST];
    rg_split(in[0], axis_par(c), list_of(&(struct list){0}, vf_par(c, "sizes")), part);
    return part[int_par(c, "part")];
}
SPECIAL(chunk) {
    rg_tensor part[LIST] = {{0}};
    rg_chunk(in[0], axis_par(c), int_par(c, "n"), part);
    return part[int_par(c, "part")];
}
SPECIAL(meshgrid) {
    rg_tensor part[VF_MAX_IN];
    rg_meshgrid(tensors(in, c->nin), part);
    return part[int_par(c, "part")];
}
SPECIAL(masked_fill) { return rg_masked_fill_at(__FILE__, __LINE__, in[0], in[1], operand(c, "v", in[2])); }
SPECIAL(one_hot) { return rg_one_hot(in[0], int_par(c, "classes")); }
SPECIAL(embedding) { return rg_embedding(in[0], in[1]); }
SPECIAL(isclose) { return rg_isclose(in[0], in[1], vf_num(c, "rtol", 0), vf_num(c, "atol", 0)); }
SPECIAL(scatter) {
    return rg_scatter_at(__FILE__, __LINE__, in[0], axis_par(c), in[1], operand(c, "v", in[2]));
}
SPECIAL(scatter_reduce) {
    return rg_scatter_reduce(in[0], axis_par(c), in[1], in[2], .how = (rg_combine)int_par(c, "how"),
                             .exclude_self = int_par(c, "exclude") != 0);
}
SPECIAL(masked_select) { return rg_masked_select(in[0], in[1], int_par(c, "size")); }
SPECIAL(nonzero) { return rg_nonzero(in[0], int_par(c, "size")); }
SPECIAL(sort) { return rg_sort(in[0], axis_par(c), .descending = int_par(c, "down") != 0); }
SPECIAL(argsort) { return rg_argsort(in[0], axis_par(c), .descending = int_par(c, "down") != 0); }
SPECIAL(topk) {
    return rg_topk(in[0], int_par(c, "k"), axis_par(c), .smallest = int_par(c, "smallest") != 0);
}
SPECIAL(topk_index) {
    return rg_topk_index(in[0], int_par(c, "k"), axis_par(c), .smallest = int_par(c, "smallest") != 0);
}
SPECIAL(einsum) { return rg_einsum(vf_par(c, "f"), tensors(in, c->nin)); }

/* The rest have one of a few signatures. The lists of tensor.h are used so that a new row there without a case in the
 * file fails here. */
/* clang-format off */
#define AXIS_OPS(X) \
    X(cumsum) X(cumprod) X(cummax) X(cummin) X(logcumsumexp) X(glu) X(softmax) X(log_softmax) X(squeeze) X(unsqueeze)
#define SPECIAL_OPS(X)                                                                                 \
    X(where) X(lerp) X(clamp) X(leaky_relu) X(elu) X(hardtanh) X(cast) X(bitcast) X(layernorm)         \
    X(rmsnorm) X(linear) X(gather) X(take) X(scatter_add) X(cat) X(stack) X(reshape) X(expand)         \
    X(permute) X(flip) X(repeat) X(pad) X(slice) X(narrow) X(select) X(transpose) X(flatten) X(arange) \
    X(linspace) X(eye) X(full) X(full_like) X(tril) X(triu) X(diag) X(diagonal) X(roll)                \
    X(repeat_interleave) X(unflatten) X(split) X(chunk) X(meshgrid) X(masked_fill) X(one_hot)          \
    X(embedding) X(isclose) X(einsum) X(groupnorm) X(instancenorm) X(batchnorm) X(norm) X(normalize)   \
    X(celu)
#define SORT_OPS(X) \
    X(sort) X(argsort) X(topk) X(topk_index) X(scatter) X(scatter_reduce) X(masked_select) X(nonzero)
#define MORE_UNARY(X) X(contiguous, "") X(detach, "") X(zeros_like, "") X(ones_like, "")
#define MORE_REDUCE(X) X(var, "") X(std, "") X(argmax, "") X(argmin, "")
#define PAIR_OPS(X) X(matmul) X(dot) X(outer)
/* clang-format on */

static const struct op_row {
    const char *name;
    rg_tensor (*unary)(rg_tensor);
    rg_tensor (*binary)(const char *file, int line, rg_operand, rg_operand);
    rg_tensor (*pair)(rg_tensor, rg_tensor);
    rg_tensor (*reduce)(rg_tensor, rg_reduce_opts);
    rg_tensor (*axis)(rg_tensor, int64_t);
    rg_tensor (*loss)(rg_tensor, rg_tensor, rg_loss_opts);
    rg_tensor (*special)(struct run *, const struct vf_case *, const rg_tensor *);
} op_table[] = {
#define X(id, what) {.name = #id, .unary = rg_##id},
    T_UNARY(X) MORE_UNARY(X)
#undef X
#define X(id, what) {.name = #id, .binary = rg_##id##_at},
        T_BINARY(X)
#undef X
#define X(id, what) {.name = #id, .reduce = rg_##id},
            T_REDUCE(X) MORE_REDUCE(X)
#undef X
#define X(id, what) {.name = #id, .loss = rg_##id},
                T_LOSS(X)
#undef X
#define X(id) {.name = #id, .pair = rg_##id},
                    PAIR_OPS(X)
#undef X
#define X(id) {.name = #id, .axis = rg_##id},
                        AXIS_OPS(X)
#undef X
#define X(id) {.name = #id, .special = call_##id},
                            SPECIAL_OPS(X) SORT_OPS(X)
#undef X
};
enum { OPS = (int)RG_COUNT(op_table) };

static const struct op_row *op_named(const char *name) {
    for (int i = 0; i < OPS; i++)
        if (!strcmp(op_table[i].name, name)) return &op_table[i];
    FAIL("tests/values: op %s has no row in this test", name);
}

static rg_tensor call(struct run *r, const struct vf_case *c, const rg_tensor *in) {
    const struct op_row *op = op_named(c->op);
    if (op->unary) return op->unary(in[0]);
    if (op->pair) return op->pair(in[0], in[1]);
    if (op->axis) return op->axis(in[0], axis_par(c));
    if (op->loss) return op->loss(in[0], in[1], loss_opts(c, in));
    if (op->special) return op->special(r, c, in);
    if (op->binary) { /* one input: the other operand is a number */
        rg_tensor x = in[0], y = vf_par(c, "x") ? in[0] : in[1];
        return op->binary(__FILE__, __LINE__, operand(c, "x", x), operand(c, "y", y));
    }
    struct list l;
    rg_ints axes = list_of(&l, vf_par(c, "axes"));
    if (vf_par(c, "axis")) axes = list_of(&l, vf_par(c, "axis"));
    return op->reduce(in[0], (rg_reduce_opts){.axes = axes,
                                              .keep = vf_num(c, "keep", 0) != 0,
                                              .population = vf_num(c, "correction", 1) == 0});
}

/* ---- building and checking cases ---------------------------------------------------------------- */

/* "T1,0+S0/e/2": what is stored, seen through views. */
static rg_tensor see(rg_tensor t, const char *views) {
    while (*views && *views != '-') {
        char kind = *views, text[128];
        size_t n = strcspn(++views, "+");
        snprintf(text, sizeof text, "%.*s", (int)n, views);
        struct list l;
        if (kind == 'S')
            t = rg_slice(t, ranges_of((rg_range[LIST]){0}, text));
        else
            t = (kind == 'T'   ? rg_permute
                 : kind == 'F' ? rg_flip
                 : kind == 'E' ? rg_expand
                               : rg_reshape)(t, list_of(&l, text));
        views += n + (views[n] == '+');
    }
    return t;
}

struct job {
    const struct vf_case *c;
    rg_tensor stored[VF_MAX_IN], out, grad[VF_MAX_IN];
    void *got, *ggot[VF_MAX_IN];
};

static void differs(struct run *r, const struct vf_case *c, const char *what, const char *msg) {
    if (r->failed++ < 60)
        fprintf(stderr, "%s:%d: %s on %s: %s%s\n", c->path, c->line, c->name, rg_device(r->c), what, msg);
}

static rg_tensor from(struct run *r, const struct vf_tensor *t) {
    rg_ints shape = {t->dim, (size_t)t->rank};
    return rg_from(r->c, dtype_named(vf_info[t->type].name), vf_bytes(r->arena, t), shape);
}

static void build(struct run *r, struct job *j, const struct vf_case *c) {
    rg_tensor in[VF_MAX_IN] = {{0}};
    *j = (struct job){.c = c};
    for (int k = 0; k < c->nin; k++) {
        j->stored[k] = from(r, &c->in[k]);
        in[k] = see(j->stored[k], c->in[k].views);
    }
    j->out = call(r, c, in);
    if (!c->has_seed) return;
    rg_tensor wrt[VF_MAX_IN];
    bool unused = !strcmp(c->op, "detach");
    for (int k = 0; k < c->ngrad; k++) {
        wrt[k] = j->stored[c->grad[k].input];
        unused |= c->grad[k].n == 0; /* nothing leads from an empty tensor to anything */
    }
    rg_grad(j->out, tensors(wrt, c->ngrad), j->grad, .seed = from(r, &c->seed), .unused_ok = unused);
}

/* Does the tensor have the type and shape that the file says? */
static bool same_form(struct run *r, const struct vf_case *c, rg_tensor t, const struct vf_tensor *w,
                      const char *what) {
    char msg[200];
    int64_t dim[VF_MAX_DIMS], rank = rg_shape_of(t, dim, VF_MAX_DIMS);
    rg_dtype dt = rg_dtype_of(t);
    bool same = rank == w->rank && !memcmp(dim, w->dim, (size_t)rank * sizeof *dim);
    if (dt == dtype_named(vf_info[w->type].name) && same) return true;
    int n = snprintf(msg, sizeof msg, " is %s[", rg_dtype_name(dt));
    for (int k = 0; k < rank; k++)
        n += snprintf(msg + n, sizeof msg - (size_t)n, k ? ",%lld" : "%lld", (long long)dim[k]);
    n += snprintf(msg + n, sizeof msg - (size_t)n, "], expected %s[", vf_info[w->type].name);
    for (int k = 0; k < w->rank; k++)
        n += snprintf(msg + n, sizeof msg - (size_t)n, k ? ",%lld" : "%lld", (long long)w->dim[k]);
    snprintf(msg + n, sizeof msg - (size_t)n, "]");
    return differs(r, c, what, msg), false;
}

/* Asks for the result; it arrives with rg_wait. */
static void *ask(struct run *r, const struct vf_case *c, rg_tensor t, const struct vf_tensor *w,
                 const char *what) {
    if (!same_form(r, c, t, w, what)) return NULL;
    size_t bytes = (size_t)(w->n * vf_info[w->type].bytes);
    void *p = arena_alloc(r->arena, bytes + 1);
    memset(p, 0xa5, bytes); /* what is not written shows */
    rg_read_async(t, p, bytes);
    return p;
}

static void compare(struct run *r, const struct vf_case *c, const void *got, const struct vf_tensor *w,
                    const char *what) {
    char msg[256];
    if (!got) return;
    r->elements += w->n;
    if (vf_compare(w, got, msg, sizeof msg) >= 0) differs(r, c, what, msg);
}

static bool failed(struct run *r, const struct vf_case *c) {
    if (!rg_status_of(r->c)) return false;
    differs(r, c, "", rg_error(r->c));
    rg_clear_error(r->c);
    return true;
}

static const char *const grad_name[] = {"gradient 0", "gradient 1", "gradient 2"};

static void build_and_ask(struct run *r, struct job *j, const struct vf_case *c) {
    build(r, j, c);
    if (rg_status_of(r->c)) return;
    j->got = ask(r, c, j->out, &c->out, "");
    for (int g = 0; g < c->ngrad; g++)
        j->ggot[g] = ask(r, c, j->grad[g], &c->grad[g], grad_name[RG_MIN(c->grad[g].input, 2)]);
}

static void compare_job(struct run *r, const struct job *j) {
    compare(r, j->c, j->got, &j->c->out, "");
    for (int g = 0; g < j->c->ngrad; g++)
        compare(r, j->c, j->ggot[g], &j->c->grad[g], grad_name[RG_MIN(j->c->grad[g].input, 2)]);
}

/* Builds, computes and compares n cases. False: something failed (rg_error says what) and nothing was
 * compared. */
static bool run_batch(struct run *r, struct vf_case *const *cases, uint32_t n) {
    struct arena_mark mark = arena_mark(r->arena);
    RG_SCOPE(r->c);
    struct job *jobs = arena_array(r->arena, struct job, n);
    for (uint32_t k = 0; k < n; k++) build_and_ask(r, &jobs[k], cases[k]);
    rg_wait(r->c);
    bool ok = !rg_status_of(r->c);
    for (uint32_t k = 0; k < n && ok; k++) compare_job(r, &jobs[k]);
    arena_release(r->arena, mark);
    return ok;
}

static void run_many(struct run *r, struct vf_case *const *cases, uint32_t n) {
    int64_t differing = r->failed;
    if (run_batch(r, cases, n)) return;
    r->failed = differing; /* found again below */
    rg_clear_error(r->c);
    for (uint32_t k = 0; k < n; k++)
        if (!run_batch(r, cases + k, 1)) failed(r, cases[k]);
}

/* What an index out of range does depends on the device: REF refuses to compute it, others clamp. */
static bool refused_at_run(const struct run *r, const struct vf_case *c) {
    return strstr(c->name, ".out_of_range.") && !strcmp(rg_device(r->c), "REF");
}

static void run_refusals(struct run *r) {
    for (uint32_t k = 0; k < r->file.cases.n; k++) {
        struct vf_case *c = r->file.cases.p[k];
        bool late = refused_at_run(r, c);
        if (!c->refuse && !late) continue;
        RG_SCOPE(r->c);
        struct job j;
        build(r, &j, c);
        r->cases++;
        if (late && !rg_status_of(r->c)) rg_realize(j.out);
        rg_status got = rg_status_of(r->c);
        if (got != (late ? RG_EVERIFY : RG_EINVAL))
            differs(r, c, "was not refused as it should be; status: ", rg_status_text((int)got));
        rg_clear_error(r->c);
    }
}

static void open_run(struct run *r, struct arena *arena, const char *device) {
    *r = (struct run){.arena = arena, .c = rg_open(device)};
    if (rg_status_of(r->c) && !strcmp(device, "OPENCL")) NO_OPENCL(rg_error(r->c));
    if (rg_status_of(r->c)) NO_CUDA(rg_error(r->c));
    read_files(&r->file, arena);
}

static void run_all(struct run *r, const struct device_run *p) {
    VEC(struct vf_case *) todo = {0};
    bool seen[OPS] = {false};
    for (uint32_t k = 0; k < r->file.cases.n; k++) {
        struct vf_case *c = r->file.cases.p[k];
        if (c->refuse || refused_at_run(r, c)) continue;
        bool *known = &seen[op_named(c->op) - op_table];
        if (!*known || k % p->every == 0) vec_push(r->arena, &todo, c);
        *known = true;
    }
    uint32_t from = todo.n * p->part / p->parts, to = todo.n * (p->part + 1) / p->parts;
    for (uint32_t k = from; k < to; k += p->batch) run_many(r, todo.p + k, RG_MIN(p->batch, to - k));
    r->cases += to - from;
}

static void run_on(const struct device_run *p) {
    struct err err = {0};
    struct arena arena;
    struct run r;
    arena_init(&arena, &err);
    open_run(&r, &arena, p->device);
    run_all(&r, p);
    if (!p->part) run_refusals(&r);
    if (r.failed) FAIL("%lld of %lld cases differ on %s", (long long)r.failed, (long long)r.cases, p->device);
    TEST_INFO("%lld cases and %lld numbers from outside agree on %s", (long long)r.cases,
              (long long)r.elements, p->device);
    rg_close(r.c);
    arena_free(&arena);
}

TEST(values_ops_agree_on_ref) { run_on(&(struct device_run){"REF", 64, 1, 0, 1}); }

TEST_SLOW(values_ops_agree_on_cpu, 600) { run_on(&(struct device_run){"CPU", 64, 31, 0, 1}); }

TEST_MANUAL(values_ops_agree_on_cpu_all, 3600) { run_on(&(struct device_run){"CPU", 64, 1, 0, 1}); }

#define TEST_PART(k) \
    TEST_MANUAL(cuda_gpu_values_ops_##k, 120) { run_on(&(struct device_run){"CUDA", 256, 1, k, 16}); }
/* clang-format off */
TEST_PART(0) TEST_PART(1) TEST_PART(2) TEST_PART(3) TEST_PART(4) TEST_PART(5) TEST_PART(6) TEST_PART(7)
TEST_PART(8) TEST_PART(9) TEST_PART(10) TEST_PART(11) TEST_PART(12) TEST_PART(13) TEST_PART(14) TEST_PART(15)
/* clang-format on */
#undef TEST_PART

TEST_SLOW(opencl_values_ops, 600) {
    opencl_settle();
    opencl_hurry();
    run_on(&(struct device_run){"OPENCL", 64, 400, 0, 1});
}

/* What has no slope anywhere: its result is no float, does not depend on its inputs, or is a step. */
static bool has_slope(const char *op) {
    static const char none[] =
        " isnan isinf isfinite logical_not bitwise_not floordiv bitwise_and bitwise_or bitwise_xor shl "
        "shr eq ne lt le gt ge logical_and logical_or logical_xor isclose bitcast any all argmax argmin "
        "one_hot zeros_like ones_like full_like arange linspace eye full argsort topk_index nonzero ";
    char word[64];
    snprintf(word, sizeof word, " %s ", op);
    return !strstr(none, word);
}

/* Every function of the front end is in the files, and the gradient of every one that has one. */
TEST(values_ops_cover_all) {
    struct err err = {0};
    struct arena arena;
    struct vf_file file = {0};
    arena_init(&arena, &err);
    read_files(&file, &arena);
    int64_t forward[OPS] = {0}, backward[OPS] = {0}, gradients = 0;
    struct map variants;
    map_init(&variants, &arena);
    for (uint32_t k = 0; k < file.cases.n; k++) {
        const struct vf_case *c = file.cases.p[k];
        forward[op_named(c->op) - op_table] += !c->refuse;
        backward[op_named(c->op) - op_table] += c->has_seed;
        gradients += c->has_seed;
        size_t n =
            strlen(c->op) + 1; /* op.variant, without the dtypes; each pair of promoted dtypes is not one */
        n += strcspn(c->name + n, ".");
        if (!strstr(c->name, ".promote_")) map_put(&variants, hash_bytes(c->name, n, 0), 1);
    }
    for (int k = 0; k < OPS; k++)
        if (!forward[k])
            FAIL("tests/values has no values for rg_%s: add them to a script there", op_table[k].name);
        else if (!backward[k] && has_slope(op_table[k].name))
            FAIL("tests/values has no gradient of rg_%s: add one to a script there", op_table[k].name);
    TEST_INFO(
        "%d ops of the public API in %u variants have outside values, %u cases, %lld of them with gradients",
        OPS, variants.n, file.cases.n, (long long)gradients);
    arena_free(&arena);
}

/* ---- differences
 * --------------------------------------------------------------------------------
 */

/* A function of a case's inputs to a number. */
typedef rg_tensor (*scalar_fn)(struct run *, const struct vf_case *, const rg_tensor *stored);

static rg_tensor weighted(struct run *r, rg_tensor t, const struct vf_tensor *w) {
    return rg_sum(rg_mul(t, from(r, w)));
}

/* The output, weighted by the seed of the gradient. */
static rg_tensor first_order(struct run *r, const struct vf_case *c, const rg_tensor *stored) {
    rg_tensor in[VF_MAX_IN] = {{0}};
    for (int k = 0; k < c->nin; k++) in[k] = see(stored[k], c->in[k].views);
    return weighted(r, call(r, c, in), &c->seed);
}

/* The gradient, weighted by the outside gradient (any fixed numbers would do). */
static rg_tensor second_order(struct run *r, const struct vf_case *c, const rg_tensor *stored) {
    rg_tensor wrt[VF_MAX_IN], g[VF_MAX_IN] = {{0}}, sum = RG_NONE;
    for (int k = 0; k < c->ngrad; k++) wrt[k] = stored[c->grad[k].input];
    rg_grad(first_order(r, c, stored), tensors(wrt, c->ngrad), g, .unused_ok = true);
    for (int k = 0; k < c->ngrad; k++) {
        rg_tensor s = weighted(r, rg_mul(g[k], g[k]), &c->grad[k]);
        sum = k ? rg_add(sum, s) : s;
    }
    return sum;
}

struct probe {
    const struct vf_case *c;
    double *dir[VF_MAX_IN], *g[VF_MAX_IN], plus, minus;
};
static const double STEP = 1e-5;

/* The inputs moved by `step` along the direction. */
static void moved(struct run *r, const struct probe *p, double step, rg_tensor *stored) {
    for (int k = 0; k < p->c->nin; k++) {
        struct vf_tensor t = p->c->in[k];
        if (t.f) {
            t.f = arena_array(r->arena, double, t.n + 1);
            for (int64_t e = 0; e < t.n; e++)
                t.f[e] = p->c->in[k].f[e] + step * (p->dir[k] ? p->dir[k][e] : 0);
        }
        stored[k] = from(r, &t);
    }
}

static void probe_build(struct run *r, struct probe *p, const struct vf_case *c, scalar_fn fn,
                        uint64_t *random) {
    rg_tensor stored[VF_MAX_IN], wrt[VF_MAX_IN], g[VF_MAX_IN] = {{0}};
    *p = (struct probe){.c = c};
    for (int k = 0; k < c->ngrad; k++) {
        const struct vf_tensor *t = &c->in[c->grad[k].input];
        double *d = p->dir[c->grad[k].input] = arena_array(r->arena, double, t->n + 1);
        for (int64_t e = 0; e < t->n; e++) {
            *random = *random * 6364136223846793005u + 1442695040888963407u;
            d[e] = (double)(int64_t)(*random >> 11) / 4503599627370496.0 - 1;
        }
    }
    moved(r, p, STEP, stored);
    rg_read_async(fn(r, c, stored), &p->plus, sizeof p->plus);
    moved(r, p, -STEP, stored);
    rg_read_async(fn(r, c, stored), &p->minus, sizeof p->minus);
    moved(r, p, 0, stored);
    for (int k = 0; k < c->ngrad; k++) wrt[k] = stored[c->grad[k].input];
    rg_grad(fn(r, c, stored), tensors(wrt, c->ngrad), g, .unused_ok = true);
    for (int k = 0; k < c->ngrad; k++) {
        p->g[k] = arena_array(r->arena, double, c->grad[k].n + 1);
        rg_read_async(g[k], p->g[k], (size_t)c->grad[k].n * sizeof(double));
    }
}

static void probe_check(struct run *r, const struct probe *p) {
    double dot = 0, size = 1;
    char msg[200];
    for (int k = 0; k < p->c->ngrad; k++)
        for (int64_t e = 0; e < p->c->grad[k].n; e++) {
            double term = p->g[k][e] * p->dir[p->c->grad[k].input][e];
            dot += term;
            size += fabs(term);
            r->elements++;
        }
    double slope = (p->plus - p->minus) / (2 * STEP);
    snprintf(msg, sizeof msg, "the gradient says a slope of %.12g, differences say %.12g", dot, slope);
    if (!(fabs(dot - slope) <= 1e-6 * (size + fabs(p->plus)))) differs(r, p->c, "", msg);
}

/* A gradient in f64 of something that has one there: not at corners, not of NaN, and detach lies on
 * purpose. */
static bool differentiable(const struct vf_case *c) {
    static const char *const not [] = {"ties", "kinks", "zero_base", "hides_nan", "detach."};
    for (size_t k = 0; k < RG_COUNT(not ); k++)
        if (strstr(c->name, not [k])) return false;
    if (!c->has_seed) return false;
    for (int k = 0; k < c->nin; k++)
        if (vf_is_float(c->in[k].type) && c->in[k].type != VF_f64) return false;
    return c->out.type == VF_f64 && c->out.n > 0;
}

static void by_differences(scalar_fn fn, const char *what) {
    struct err err = {0};
    struct arena arena;
    struct run r;
    uint64_t random = 12345;
    arena_init(&arena, &err);
    open_run(&r, &arena, "REF");
    for (uint32_t k = 0; k < r.file.cases.n; k++) {
        const struct vf_case *c = r.file.cases.p[k];
        if (!differentiable(c)) continue;
        /* docs/semantics.md: gradients of a product by index have none themselves */
        if (fn == second_order && !strcmp(c->op, "scatter_reduce") && strstr(c->name, "prod_")) continue;
        struct arena_mark mark = arena_mark(&arena);
        RG_SCOPE(r.c);
        struct probe p;
        probe_build(&r, &p, c, fn, &random);
        if (!rg_status_of(r.c)) rg_wait(r.c);
        if (!failed(&r, c)) probe_check(&r, &p);
        r.cases++;
        arena_release(&arena, mark);
    }
    if (r.failed) FAIL("%lld of %lld cases differ", (long long)r.failed, (long long)r.cases);
    TEST_INFO("%lld cases: %s agree with differences", (long long)r.cases, what);
    rg_close(r.c);
    arena_free(&arena);
}

TEST(values_ops_gradients_by_differences) { by_differences(first_order, "gradients"); }

TEST(values_ops_second_gradients_by_differences) { by_differences(second_order, "gradients of gradients"); }
