/* layers.c: the library's layers: how each is made, and goes forward.
 *
 * Names, shapes and first values of weights are PyTorch's, so that state dicts can be exchanged: weights and biases of products and
 * convolutions are uniform within +-1/sqrt(fan_in), embeddings normal, norms 1 and 0. With rg_nn_precision products and
 * convolutions convert what they read to the half type (the parameters stay F32, and so do their gradients), and norms convert to F32; the
 * result of a norm of images (batch, group, instance) has its input's type.
 * Tests: tests/unit/nn_layers.c */
#include "nn.h"

#include <math.h>

/* ---- what layers share ---------------------------------------------------------------------------------- */

/* For products: the type they compute in. */
static rg_tensor narrow(AT, const rg_module *m, rg_tensor t) {
    return m->half == RG_DTYPES || !t.id ? t : rg_cast_at(HERE, t, m->half);
}

/* For norms. */
static rg_tensor wide(AT, const rg_module *m, rg_tensor t) {
    return m->half == RG_DTYPES ? t : rg_cast_at(HERE, t, RG_F32);
}

static struct nn_ints copy_list(AT, const char *fn, rg_ctx *c, rg_ints list) {
    struct nn_ints out = {.n = list.n};
    if (list.n > NN_LIST || (list.n && !list.d)) {
        api_fail(c, HERE, fn, RG_EINVAL, "a list of %zu numbers%s; at most %d are needed here", list.n,
                 list.d ? "" : " at NULL", NN_LIST);
        return (struct nn_ints){0};
    }
    for (size_t i = 0; i < list.n; i++) out.v[i] = list.d[i];
    return out;
}

/* What rg_layer_opts had in 0.3; an option behind it is read here alone. */
enum { LAYER_OPTS_0_3 = 104 };

static rg_module *make(AT, const char *fn, rg_ctx *c, const struct nn_layer *layer, rg_layer_opts o) {
    rg_module *m = nn_new(c, HERE, fn, layer);
    if (!m) return NULL;
    m->a = (struct nn_args){.stride = copy_list(HERE, fn, c, o.stride),
                            .padding = copy_list(HERE, fn, c, o.padding),
                            .dilation = copy_list(HERE, fn, c, o.dilation),
                            .groups = o.groups ? o.groups : 1,
                            .eps = o.eps,
                            .momentum = o.momentum != 0 ? o.momentum : 0.1,
                            .dropout = o.dropout,
                            .causal = o.causal,
                            .world = OPTS_HAS(o, world, LAYER_OPTS_0_3) ? o.world : NULL,
                            .split = OPTS_HAS(o, split, LAYER_OPTS_0_3) ? o.split : RG_REPLICATED};
    return m;
}

/* A size of the user's that must be 1 to 2^31 - 1; 0 after an error, so that nothing is made of it. */
static int64_t positive(AT, const char *fn, rg_ctx *c, const char *what, int64_t v) {
    if (v >= 1 && v <= INT32_MAX) return v;
    api_fail(c, HERE, fn, RG_EINVAL,
             v < 1 ? "%s is %lld; it must be at least 1" : "%s is %lld; it must be at most 2^31 - 1", what,
             (long long)v);
    return 0;
}

/* weight of this shape and bias of `out` elements, both uniform within 1 / sqrt(fan_in). */
static void weights(AT, rg_module *m, const int64_t *shape, size_t rank, double fan_in, int64_t out,
                    bool bias) {
    double bound = fan_in > 0 ? 1 / sqrt(fan_in) : 0;
    if (rg_status_of(m->c)) return;
    rg_tensor w = rg_uniform_at(HERE, m->c, RG_F32, -bound, bound, (rg_ints){shape, rank});
    rg_nn_param_at(HERE, m, "weight", w);
    api_drop(w);
    if (!bias || rg_status_of(m->c)) return;
    rg_tensor b = rg_uniform_at(HERE, m->c, RG_F32, -bound, bound, (rg_ints){&out, 1});
    rg_nn_param_at(HERE, m, "bias", b);
    api_drop(b);
}

static void full(AT, rg_module *m, const char *name, double v, rg_ints shape, bool param) {
    if (rg_status_of(m->c)) return;
    rg_tensor t = rg_full_at(HERE, m->c, RG_F32, v, shape);
    if (param)
        rg_nn_param_at(HERE, m, name, t);
    else
        rg_nn_state_at(HERE, m, name, t);
    api_drop(t);
}

/* ---- tensor parallel --------------------------------------------------------------------------------------- */

/* A parameter becomes this rank's slice of it along `axis`: every rank drew the same weights. */
static void slice(AT, const char *fn, rg_module *m, const char *name, int64_t axis) {
    rg_world *w = m->a.world;
    rg_tensor t = nn_own(m, name);
    if (rg_status_of(m->c)) return;
    int64_t ranks = rg_world_size(w), whole = rg_dim_at(HERE, t, axis), elements = rg_size_at(HERE, t);
    if (whole % ranks) {
        api_fail(m->c, HERE, fn, RG_EINVAL,
                 "axis %lld of %s has %lld elements, which %lld ranks cannot share", (long long)axis, name,
                 (long long)whole, (long long)ranks);
        return;
    }
    rg_scope scope = rg_begin(m->c);
    rg_tensor x = rg_narrow_at(HERE, t, axis, whole / ranks * rg_world_rank(w), whole / ranks);
    api_become(HERE, t, rg_contiguous_at(HERE, x));
    rg_end(scope);
    api_set_shard(HERE, t, (struct api_shard){SPLIT_TENSOR, w, elements});
}

/* ---- products -------------------------------------------------------------------------------------------- */

static rg_tensor forward_linear(AT, rg_module *m, rg_tensor x) {
    rg_tensor w = narrow(HERE, m, nn_own(m, "weight")), b = narrow(HERE, m, nn_own(m, "bias"));
    if (!m->a.world || m->a.split != RG_ROWWISE) return rg_linear_at(HERE, narrow(HERE, m, x), w, b);
    rg_tensor sum = rg_linear_at(HERE, narrow(HERE, m, x), w, RG_NONE);
    sum = rg_all_reduce_at(HERE, sum, m->a.world, RG_COMBINE_SUM);
    return b.id ? rg_add_at(HERE, TENSOR(sum), TENSOR(b)) : sum;
}
static const struct nn_layer linear = {"linear", forward_linear};

rg_module *rg_nn_linear_at(AT, rg_ctx *c, int64_t in, int64_t out, rg_layer_opts o) {
    const char *fn = "rg_nn_linear";
    rg_module *m = make(HERE, fn, c, &linear, o);
    if (!m) return NULL;
    int64_t shape[2] = {positive(HERE, fn, c, "the size of outputs", out),
                        positive(HERE, fn, c, "the size of inputs", in)};
    weights(HERE, m, shape, 2, (double)in, out, !o.no_bias);
    if (m->a.world && m->a.split == RG_COLWISE) {
        slice(HERE, fn, m, "weight", 0);
        if (!o.no_bias) slice(HERE, fn, m, "bias", 0);
    }
    if (m->a.world && m->a.split == RG_ROWWISE) slice(HERE, fn, m, "weight", 1);
    return nn_done(m);
}

/* Rows of other ranks are zeros here, and come with the sum. */
static rg_tensor forward_embedding(AT, rg_module *m, rg_tensor x) {
    rg_tensor w = nn_own(m, "weight");
    if (!m->a.world) return rg_embedding_at(HERE, x, w);
    int64_t rows = rg_dim_at(HERE, w, 0);
    rg_tensor at = rg_sub_at(HERE, TENSOR(x), INTEGER(rows * rg_world_rank(m->a.world)));
    rg_tensor near = rg_clamp_at(HERE, at, INTEGER(0), INTEGER(rows - 1));
    rg_tensor mine = rg_unsqueeze_at(HERE, rg_eq_at(HERE, TENSOR(at), TENSOR(near)), -1);
    rg_tensor y = rg_where_at(HERE, TENSOR(mine), TENSOR(rg_embedding_at(HERE, near, w)), NUMBER(0));
    return rg_all_reduce_at(HERE, y, m->a.world, RG_COMBINE_SUM);
}
static const struct nn_layer embedding = {"embedding", forward_embedding};

rg_module *rg_nn_embedding_at(AT, rg_ctx *c, int64_t rows, int64_t size) {
    const char *fn = "rg_nn_embedding";
    rg_module *m = make(HERE, fn, c, &embedding, (rg_layer_opts){0});
    if (!m) return NULL;
    int64_t shape[2] = {positive(HERE, fn, c, "the number of rows", rows),
                        positive(HERE, fn, c, "the size of a row", size)};
    if (!rg_status_of(c)) {
        rg_tensor w = rg_normal_at(HERE, c, RG_F32, 0, 1, (rg_ints){shape, 2});
        rg_nn_param_at(HERE, m, "weight", w);
        api_drop(w);
    }
    return nn_done(m);
}

rg_module *rg_nn_embedding_parallel_at(AT, rg_ctx *c, int64_t rows, int64_t size, rg_world *w) {
    const char *fn = "rg_nn_embedding_parallel";
    rg_module *m = rg_nn_embedding_at(HERE, c, rows, size);
    if (!m || !w) return m;
    m->a.world = w;
    int64_t part = nn_part(rows, w), more = part * rg_world_size(w) - rows;
    rg_tensor t = nn_own(m, "weight");
    if (more) api_become(HERE, t, rg_pad_at(HERE, t, (rg_ints){(const int64_t[]){0, more, 0, 0}, 4}, 0));
    slice(HERE, fn, m, "weight", 0);
    return nn_done(m);
}

/* ---- convolutions ------------------------------------------------------------------------------------------ */

typedef rg_tensor conv_fn(AT, rg_tensor x, rg_tensor weight, rg_conv_opts o);

static rg_tensor convolve(AT, rg_module *m, rg_tensor x, conv_fn *conv) {
    const struct nn_args *a = &m->a;
    return conv(HERE, narrow(HERE, m, x), narrow(HERE, m, nn_own(m, "weight")),
                (rg_conv_opts){.bias = narrow(HERE, m, nn_own(m, "bias")),
                               .stride = nn_list(&a->stride),
                               .padding = nn_list(&a->padding),
                               .dilation = nn_list(&a->dilation),
                               .groups = a->groups});
}

static rg_tensor forward_conv1d(AT, rg_module *m, rg_tensor x) { return convolve(HERE, m, x, rg_conv1d_at); }
static rg_tensor forward_conv2d(AT, rg_module *m, rg_tensor x) { return convolve(HERE, m, x, rg_conv2d_at); }
static rg_tensor forward_conv3d(AT, rg_module *m, rg_tensor x) { return convolve(HERE, m, x, rg_conv3d_at); }
static rg_tensor forward_conv_transpose2d(AT, rg_module *m, rg_tensor x) {
    return convolve(HERE, m, x, rg_conv_transpose2d_at);
}
static const struct nn_layer conv1d = {"conv1d", forward_conv1d}, conv2d = {"conv2d", forward_conv2d},
                             conv3d = {"conv3d", forward_conv3d},
                             conv_transpose2d = {"conv_transpose2d", forward_conv_transpose2d};

static rg_module *make_conv(AT, const char *fn, rg_ctx *c, const struct nn_layer *layer, size_t axes,
                            int64_t in, int64_t out, rg_ints size, rg_layer_opts o) {
    rg_module *m = make(HERE, fn, c, layer, o);
    if (!m) return NULL;
    bool back = layer == &conv_transpose2d;
    int64_t g = m->a.groups, shape[5] = {positive(HERE, fn, c, "the number of channels out", out),
                                         positive(HERE, fn, c, "the number of channels in", in)};
    struct nn_ints k = copy_list(HERE, fn, c, size);
    if (k.n != 1 && k.n != axes)
        api_fail(c, HERE, fn, RG_EINVAL, "the size has %zu numbers; 1 or %zu are needed", k.n, axes);
    if (positive(HERE, fn, c, "the number of groups", g) && (in % g || out % g))
        api_fail(c, HERE, fn, RG_EINVAL, "%lld channels in and %lld out cannot be cut into %lld equal groups",
                 (long long)in, (long long)out, (long long)g);
    if (rg_status_of(c)) return nn_done(m);
    if (back) shape[0] = in, shape[1] = out;
    double fan_in = (double)(shape[1] /= g);
    for (size_t i = 0; i < axes; i++) {
        shape[2 + i] = positive(HERE, fn, c, "the size of the window", k.v[k.n == 1 ? 0 : i]);
        fan_in *= (double)shape[2 + i];
    }
    weights(HERE, m, shape, 2 + axes, fan_in, out, !o.no_bias);
    return nn_done(m);
}

rg_module *rg_nn_conv1d_at(AT, rg_ctx *c, int64_t in, int64_t out, rg_ints size, rg_layer_opts o) {
    return make_conv(HERE, "rg_nn_conv1d", c, &conv1d, 1, in, out, size, o);
}
rg_module *rg_nn_conv2d_at(AT, rg_ctx *c, int64_t in, int64_t out, rg_ints size, rg_layer_opts o) {
    return make_conv(HERE, "rg_nn_conv2d", c, &conv2d, 2, in, out, size, o);
}
rg_module *rg_nn_conv3d_at(AT, rg_ctx *c, int64_t in, int64_t out, rg_ints size, rg_layer_opts o) {
    return make_conv(HERE, "rg_nn_conv3d", c, &conv3d, 3, in, out, size, o);
}
rg_module *rg_nn_conv_transpose2d_at(AT, rg_ctx *c, int64_t in, int64_t out, rg_ints size, rg_layer_opts o) {
    return make_conv(HERE, "rg_nn_conv_transpose2d", c, &conv_transpose2d, 2, in, out, size, o);
}

/* ---- norms --------------------------------------------------------------------------------------------------- */

static rg_norm_opts norm_opts(const rg_module *m) { return (rg_norm_opts){.eps = m->a.eps}; }

static rg_tensor forward_layernorm(AT, rg_module *m, rg_tensor x) {
    rg_norm_opts o = norm_opts(m);
    o.axes = (uint32_t)m->a.size.n;
    return rg_layernorm_at(HERE, wide(HERE, m, x), nn_own(m, "weight"), nn_own(m, "bias"), o);
}
static rg_tensor forward_rmsnorm(AT, rg_module *m, rg_tensor x) {
    return rg_rmsnorm_at(HERE, wide(HERE, m, x), nn_own(m, "weight"), norm_opts(m));
}
static rg_tensor forward_groupnorm(AT, rg_module *m, rg_tensor x) {
    return rg_groupnorm_at(HERE, x, m->a.groups, nn_own(m, "weight"), nn_own(m, "bias"), norm_opts(m));
}
static rg_tensor forward_instancenorm(AT, rg_module *m, rg_tensor x) {
    return rg_instancenorm_at(HERE, x, nn_own(m, "weight"), nn_own(m, "bias"), norm_opts(m));
}
static const struct nn_layer layernorm = {"layernorm", forward_layernorm},
                             rmsnorm = {"rmsnorm", forward_rmsnorm},
                             groupnorm = {"groupnorm", forward_groupnorm},
                             instancenorm = {"instancenorm", forward_instancenorm};

static void affine(AT, const char *fn, rg_module *m, rg_ints shape, bool weight, bool bias) {
    for (size_t i = 0; i < shape.n; i++) positive(HERE, fn, m->c, "the size", shape.d[i]);
    if (weight) full(HERE, m, "weight", 1, shape, true);
    if (bias) full(HERE, m, "bias", 0, shape, true);
}

rg_module *rg_nn_layernorm_at(AT, rg_ctx *c, rg_ints shape, rg_layer_opts o) {
    rg_module *m = make(HERE, "rg_nn_layernorm", c, &layernorm, o);
    if (!m) return NULL;
    m->a.size = copy_list(HERE, "rg_nn_layernorm", c, shape);
    if (!m->a.size.n) api_fail(c, HERE, "rg_nn_layernorm", RG_EINVAL, "the shape has no axes");
    affine(HERE, "rg_nn_layernorm", m, nn_list(&m->a.size), !o.no_affine, !o.no_affine);
    return nn_done(m);
}
rg_module *rg_nn_rmsnorm_at(AT, rg_ctx *c, int64_t size, rg_layer_opts o) {
    rg_module *m = make(HERE, "rg_nn_rmsnorm", c, &rmsnorm, o);
    if (!m) return NULL;
    affine(HERE, "rg_nn_rmsnorm", m, (rg_ints){&size, 1}, !o.no_affine, false);
    return nn_done(m);
}
rg_module *rg_nn_groupnorm_at(AT, rg_ctx *c, int64_t groups, int64_t channels, rg_layer_opts o) {
    rg_module *m = make(HERE, "rg_nn_groupnorm", c, &groupnorm, o);
    if (!m) return NULL;
    m->a.groups = positive(HERE, "rg_nn_groupnorm", c, "the number of groups", groups);
    if (m->a.groups && channels % groups)
        api_fail(c, HERE, "rg_nn_groupnorm", RG_EINVAL, "%lld channels cannot be cut into %lld equal groups",
                 (long long)channels, (long long)groups);
    affine(HERE, "rg_nn_groupnorm", m, (rg_ints){&channels, 1}, !o.no_affine, !o.no_affine);
    return nn_done(m);
}
rg_module *rg_nn_instancenorm_at(AT, rg_ctx *c, int64_t channels, rg_layer_opts o) {
    rg_module *m = make(HERE, "rg_nn_instancenorm", c, &instancenorm, o);
    if (!m) return NULL;
    affine(HERE, "rg_nn_instancenorm", m, (rg_ints){&channels, 1}, !o.no_affine, !o.no_affine);
    return nn_done(m);
}

/* ---- batch norm ------------------------------------------------------------------------------------------------ */

/* state = state * (1 - share) + v * share; no gradient leads through what is remembered. */
static void blend(AT, rg_tensor state, rg_tensor v, double share) {
    rg_tensor old = rg_mul_at(HERE, TENSOR(state), NUMBER(1 - share));
    rg_tensor add = rg_mul_at(HERE, TENSOR(rg_detach_at(HERE, v)), NUMBER(share));
    rg_assign_at(HERE, state, TENSOR(rg_add_at(HERE, TENSOR(old), TENSOR(add))));
}

/* Of all ranks, whose shares may differ: sums and the number of values travel together. d: x's shape, which it takes; *unbiased: the
 * variance by one value less. */
static rg_tensor spread_of_ranks(AT, rg_module *m, rg_tensor x, int64_t *d, rg_reduce_opts o, rg_tensor *mean,
                                 rg_tensor *unbiased) {
    rg_world *w = m->parallel.world;
    size_t rank = o.axes.n + 1;
    int64_t channels = d[1];
    double n = (double)(rg_size_at(HERE, x) / channels);
    rg_tensor own = rg_full_at(HERE, m->c, rg_dtype_of_at(HERE, x), n, (rg_ints){(const int64_t[]){1}, 1});
    rg_tensor both[] = {rg_sum_at(HERE, x, o), own};
    rg_tensor all = rg_all_reduce_at(HERE, rg_cat_at(HERE, (rg_tensors){both, 2}, 0), w, RG_COMBINE_SUM);
    rg_tensor count = rg_detach_at(HERE, rg_narrow_at(HERE, all, 0, channels, 1));
    *mean = rg_div_at(HERE, TENSOR(rg_narrow_at(HERE, all, 0, 0, channels)), TENSOR(count));
    for (size_t i = 0; i < rank; i++) d[i] = i == 1 ? channels : 1;
    rg_tensor off = rg_sub_at(HERE, TENSOR(x), TENSOR(rg_reshape_at(HERE, *mean, (rg_ints){d, rank})));
    rg_tensor square = rg_all_reduce_at(HERE, rg_sum_at(HERE, rg_square_at(HERE, off), o), w, RG_COMBINE_SUM);
    *unbiased = rg_div_at(HERE, TENSOR(square), TENSOR(rg_sub_at(HERE, TENSOR(count), NUMBER(1))));
    return rg_div_at(HERE, TENSOR(square), TENSOR(count));
}

static rg_tensor forward_batchnorm(AT, rg_module *m, rg_tensor x) {
    const char *fn = "rg_nn_batchnorm";
    rg_tensor weight = nn_own(m, "weight"), bias = nn_own(m, "bias");
    rg_tensor mean = nn_own(m, "running_mean"), var = nn_own(m, "running_var");
    int64_t d[NN_RANK], axes[NN_RANK], rank = rg_shape_of_at(HERE, x, d, NN_RANK), n, used = 0;
    if (!m->training) return rg_batchnorm_at(HERE, x, mean, var, weight, bias, norm_opts(m));
    rg_tensor given = x; /* its type is the result's, as in PyTorch's autocast */
    x = wide(HERE, m, x);
    if (rank < 2 || rank > NN_RANK || d[1] != rg_size_at(HERE, mean)) {
        api_fail(m->c, HERE, fn, RG_EINVAL, "the input must be (N, %lld, ..); found %lld axes, %lld channels",
                 (long long)rg_size_at(HERE, mean), (long long)rank, (long long)(rank > 1 ? d[1] : 0));
        return api_poison(m->c);
    }
    for (int64_t i = 0; i < rank; i++)
        if (i != 1) axes[used++] = i;
    n = d[1] ? rg_size_at(HERE, x) / d[1] : 0;
    bool ranks = m->parallel.world && rg_world_size(m->parallel.world) > 1;
    if (n < (ranks ? 1 : 2)) {
        api_fail(m->c, HERE, fn, RG_EINVAL,
                 "while training each channel needs %s; found %lld (rg_nn_train(m, false) uses "
                 "the running statistics)",
                 ranks ? "a value on each rank" : "more than 1 value", (long long)n);
        return api_poison(m->c);
    }
    rg_reduce_opts o = {.axes = {axes, (size_t)used}, .population = true};
    rg_tensor now, spread, unbiased;
    if (ranks) {
        spread = spread_of_ranks(HERE, m, x, d, o, &now, &unbiased);
    } else {
        now = rg_mean_at(HERE, x, o), spread = rg_var_at(HERE, x, o);
        unbiased = rg_mul_at(HERE, TENSOR(spread), NUMBER((double)n / (double)(n - 1)));
    }
    rg_tensor batches = nn_own(m, "num_batches_tracked");
    blend(HERE, mean, now, m->a.momentum);
    blend(HERE, var, unbiased, m->a.momentum);
    rg_assign_at(HERE, batches, TENSOR(rg_add_at(HERE, TENSOR(batches), INTEGER(1))));
    return rg_batchnorm_at(HERE, given, now, spread, weight, bias, norm_opts(m));
}
static const struct nn_layer batchnorm = {"batchnorm", forward_batchnorm};

rg_module *rg_nn_batchnorm_at(AT, rg_ctx *c, int64_t channels, rg_layer_opts o) {
    rg_module *m = make(HERE, "rg_nn_batchnorm", c, &batchnorm, o);
    if (!m) return NULL;
    rg_ints shape = {&channels, 1};
    affine(HERE, "rg_nn_batchnorm", m, shape, !o.no_affine, !o.no_affine);
    full(HERE, m, "running_mean", 0, shape, false);
    full(HERE, m, "running_var", 1, shape, false);
    if (!rg_status_of(c)) {
        rg_tensor zero = rg_integer_at(HERE, c, RG_I64, 0);
        rg_nn_state_at(HERE, m, "num_batches_tracked", zero);
        api_drop(zero);
    }
    return nn_done(m);
}

/* ---- attention --------------------------------------------------------------------------------------------------- */

/* Heads first..first+n-1 of (.., T, all * d) as (.., n, T, d). */
static rg_tensor heads(AT, rg_tensor x, int64_t first, int64_t n, int64_t d) {
    int64_t s[NN_RANK + 2], rank = rg_shape_of_at(HERE, x, s, NN_RANK);
    x = rg_narrow_at(HERE, x, -1, first * d, n * d);
    if (rank < 2 || rank > NN_RANK) return x;
    s[rank - 1] = n, s[rank] = d;
    return rg_transpose_at(HERE, rg_reshape_at(HERE, x, (rg_ints){s, (size_t)rank + 1}), -3, -2);
}

static rg_tensor forward_attention(AT, rg_module *m, rg_tensor x) {
    const struct nn_args *a = &m->a;
    rg_tensor all = rg_linear_at(HERE, narrow(HERE, m, x), narrow(HERE, m, nn_own(m, "in_proj_weight")),
                                 narrow(HERE, m, nn_own(m, "in_proj_bias")));
    int64_t d = a->first, rank = rg_rank_at(HERE, x);
    if (rank >= 0 && (rank < 2 || rank >= NN_RANK)) {
        api_fail(m->c, HERE, "rg_nn_attention", RG_EINVAL, "the input must be (.., T, size); found %lld axes",
                 (long long)rank);
        return api_poison(m->c);
    }
    rg_tensor q = heads(HERE, all, 0, a->heads, d), k = heads(HERE, all, a->heads, a->kv_heads, d),
              v = heads(HERE, all, a->heads + a->kv_heads, a->kv_heads, d);
    rg_attention_opts o = {.causal = a->causal, .dropout = m->training ? a->dropout : 0};
    rg_tensor y = rg_transpose_at(HERE, rg_attention_at(HERE, q, k, v, o), -3, -2);
    return rg_nn_forward_at(HERE, rg_nn_child(m, "out_proj"), rg_flatten_at(HERE, y, -2, -1));
}
static const struct nn_layer attention = {"attention", forward_attention};

/* This rank's heads of queries, keys and values: with grouped queries the three have different sizes. */
static void slice_heads(AT, rg_module *m, bool bias) {
    struct nn_args *a = &m->a;
    static const char *const name[] = {"in_proj_weight", "in_proj_bias"};
    int64_t ranks = rg_world_size(a->world), me = rg_world_rank(a->world), d = a->first;
    for (int i = 0; i < 1 + bias && !rg_status_of(m->c); i++) {
        rg_tensor t = nn_own(m, name[i]), part[3];
        int64_t q = a->heads * d / ranks, k = a->kv_heads * d / ranks, elements = rg_size_at(HERE, t);
        rg_scope scope = rg_begin(m->c);
        part[0] = rg_narrow_at(HERE, t, 0, q * me, q);
        part[1] = rg_narrow_at(HERE, t, 0, q * ranks + k * me, k);
        part[2] = rg_narrow_at(HERE, t, 0, (q + k) * ranks + k * me, k);
        api_become(HERE, t, rg_contiguous_at(HERE, rg_cat_at(HERE, (rg_tensors){part, 3}, 0)));
        rg_end(scope);
        api_set_shard(HERE, t, (struct api_shard){SPLIT_TENSOR, a->world, elements});
    }
    a->heads /= ranks, a->kv_heads /= ranks;
}

rg_module *rg_nn_attention_at(AT, rg_ctx *c, int64_t size, int64_t n, rg_layer_opts o) {
    const char *fn = "rg_nn_attention";
    rg_module *m = make(HERE, fn, c, &attention, o);
    if (!m) return NULL;
    int64_t kv = o.kv_heads ? o.kv_heads : n;
    if (!positive(HERE, fn, c, "the size", size) || !positive(HERE, fn, c, "the number of heads", n) ||
        !positive(HERE, fn, c, "the number of heads of keys", kv))
        return nn_done(m);
    if (size % n || n % kv)
        api_fail(
            c, HERE, fn, RG_EINVAL,
            "%lld heads of queries and %lld of keys and values do not fit a size of %lld: heads divide the "
            "size, heads of keys those of queries",
            (long long)n, (long long)kv, (long long)size);
    if (o.dropout < 0 || o.dropout >= 1)
        api_fail(c, HERE, fn, RG_EINVAL, "dropout is a share from 0 to less than 1; found %g", o.dropout);
    if (rg_status_of(c)) return nn_done(m);
    m->a.heads = n, m->a.kv_heads = kv, m->a.first = size / n;
    int64_t rows = (n + 2 * kv) * m->a.first;
    rg_tensor w = rg_glorot_uniform_at(HERE, c, RG_F32, (rg_ints){(int64_t[]){rows, size}, 2});
    rg_nn_param_at(HERE, m, "in_proj_weight", w);
    api_drop(w);
    if (!o.no_bias) full(HERE, m, "in_proj_bias", 0, (rg_ints){&rows, 1}, true);
    int64_t ranks = rg_world_size(m->a.world);
    if (n % ranks || kv % ranks)
        api_fail(c, HERE, fn, RG_EINVAL, "%lld ranks cannot share %lld heads of queries and %lld of keys",
                 (long long)ranks, (long long)n, (long long)kv);
    if (m->a.world) slice_heads(HERE, m, !o.no_bias);
    rg_layer_opts inner = {.size_ = sizeof inner,
                           .no_bias = o.no_bias,
                           .world = m->a.world,
                           .split = m->a.world ? RG_ROWWISE : RG_REPLICATED};
    rg_module *out = rg_nn_linear_at(HERE, c, size, size, inner);
    if (out && !o.no_bias) rg_assign_at(HERE, nn_own(out, "bias"), NUMBER(0));
    if (out) rg_nn_add_at(HERE, m, "out_proj", out);
    return nn_done(m);
}

/* ---- without weights ------------------------------------------------------------------------------------------------ */

static rg_tensor forward_dropout(AT, rg_module *m, rg_tensor x) {
    return m->training ? rg_dropout_at(HERE, x, m->a.dropout) : x;
}
static const struct nn_layer dropout = {"dropout", forward_dropout};

rg_module *rg_nn_dropout_at(AT, rg_ctx *c, double p) {
    if (!(p >= 0 && p <= 1))
        return api_fail(c, HERE, "rg_nn_dropout", RG_EINVAL, "the share is %g; it must be from 0 to 1", p),
               NULL;
    rg_module *m = make(HERE, "rg_nn_dropout", c, &dropout, (rg_layer_opts){.dropout = p});
    return nn_done(m);
}

static rg_tensor forward_max_pool2d(AT, rg_module *m, rg_tensor x) {
    const struct nn_args *a = &m->a;
    return rg_max_pool2d_at(HERE, x,
                            (rg_pool_opts){.size = nn_list(&a->size),
                                           .stride = nn_list(&a->stride),
                                           .padding = nn_list(&a->padding),
                                           .dilation = nn_list(&a->dilation),
                                           .ceil = a->ceil});
}
static const struct nn_layer max_pool2d = {"max_pool2d", forward_max_pool2d};

rg_module *rg_nn_max_pool2d_at(AT, rg_ctx *c, rg_pool_opts o) {
    rg_layer_opts same = {.stride = o.stride, .padding = o.padding, .dilation = o.dilation};
    rg_module *m = make(HERE, "rg_nn_max_pool2d", c, &max_pool2d, same);
    if (!m) return NULL;
    m->a.size = copy_list(HERE, "rg_nn_max_pool2d", c, o.size);
    m->a.ceil = o.ceil;
    if (!m->a.size.n) api_fail(c, HERE, "rg_nn_max_pool2d", RG_EINVAL, "the window has no size");
    return nn_done(m);
}

static rg_tensor forward_flatten(AT, rg_module *m, rg_tensor x) {
    return rg_flatten_at(HERE, x, m->a.first, -1);
}
static const struct nn_layer flatten = {"flatten", forward_flatten};

rg_module *rg_nn_flatten_at(AT, rg_ctx *c, int64_t first) {
    rg_module *m = make(HERE, "rg_nn_flatten", c, &flatten, (rg_layer_opts){0});
    if (m) m->a.first = first;
    return nn_done(m);
}
