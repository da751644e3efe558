/* math.c: elementwise functions, reductions and matmul, from the tables of tensor.h: a row there is a function here.
 * That ridge.h declares each of them is checked by the compiler (missing prototypes are errors in this file).
 * Tests: values in tests/values and tests/semantics, misuse in tests/unit/api.c */
#include "internal.h"

#pragma GCC diagnostic error "-Wmissing-prototypes"

#define AT const char *file, int line

/* ---- elementwise --------------------------------------------------------------------------------------- */

#define X(name, what)                                                                  \
    static const uop *b_##name(struct api_call *k) { return t_##name(k->g, k->u[0]); } \
    rg_tensor rg_##name##_at(AT, rg_tensor x) {                                        \
        return call_tensor(CALL(name, .in = {TENSOR(x)}, .n = 1, .build = b_##name));  \
    }
T_UNARY(X)
#undef X

#define X(name, what)                                                                           \
    static const uop *b_##name(struct api_call *k) { return t_##name(k->g, k->u[0], k->u[1]); } \
    rg_tensor rg_##name##_at(AT, rg_operand x, rg_operand y) {                                  \
        return call_tensor(CALL(name, .in = {x, y}, .n = 2, .build = b_##name));                \
    }
T_BINARY(X)
#undef X

static const uop *b_where(struct api_call *k) { return t_where(k->g, k->u[0], k->u[1], k->u[2]); }
rg_tensor rg_where_at(AT, rg_operand cond, rg_operand x, rg_operand y) {
    return call_tensor(CALL(where, .in = {cond, x, y}, .n = 3, .values = 1, .build = b_where));
}

static const uop *b_clamp(struct api_call *k) { return t_clamp(k->g, k->u[0], k->u[1], k->u[2]); }
rg_tensor rg_clamp_at(AT, rg_tensor x, rg_operand lo, rg_operand hi) {
    return call_tensor(CALL(clamp, .in = {TENSOR(x), lo, hi}, .n = 3, .may = 6, .build = b_clamp));
}

static const uop *b_lerp(struct api_call *k) { return t_lerp(k->g, k->u[0], k->u[1], k->u[2]); }
rg_tensor rg_lerp_at(AT, rg_operand a, rg_operand b, rg_operand w) {
    return call_tensor(CALL(lerp, .in = {a, b, w}, .n = 3, .build = b_lerp));
}

static const uop *b_leaky_relu(struct api_call *k) { return t_leaky_relu(k->g, k->u[0], k->f[0]); }
rg_tensor rg_leaky_relu_at(AT, rg_tensor x, double slope) {
    return call_tensor(CALL(leaky_relu, .in = {TENSOR(x)}, .n = 1, .f = {slope}, .build = b_leaky_relu));
}

static const uop *b_elu(struct api_call *k) { return t_elu(k->g, k->u[0], k->f[0]); }
rg_tensor rg_elu_at(AT, rg_tensor x, double alpha) {
    return call_tensor(CALL(elu, .in = {TENSOR(x)}, .n = 1, .f = {alpha}, .build = b_elu));
}

static const uop *b_celu(struct api_call *k) { return t_celu(k->g, k->u[0], k->f[0]); }
rg_tensor rg_celu_at(AT, rg_tensor x, double alpha) {
    return call_tensor(CALL(celu, .in = {TENSOR(x)}, .n = 1, .f = {alpha}, .build = b_celu));
}

static const uop *b_hardtanh(struct api_call *k) { return t_hardtanh(k->g, k->u[0], k->f[0], k->f[1]); }
rg_tensor rg_hardtanh_at(AT, rg_tensor x, double lo, double hi) {
    return call_tensor(CALL(hardtanh, .in = {TENSOR(x)}, .n = 1, .f = {lo, hi}, .build = b_hardtanh));
}

/* ---- reductions ------------------------------------------------------------------------------------------ */

/* No axes means all of them. */
static const int64_t *axes_of(const struct api_call *k) { return k->reduce.axes.n ? k->reduce.axes.d : NULL; }
static uint32_t naxes_of(struct api_call *k) {
    if (k->reduce.axes.n > SHAPE_MAX)
        call_fail(k, RG_EINVAL, "%zu axes; a tensor has at most %d", k->reduce.axes.n, SHAPE_MAX);
    if (k->reduce.axes.n && !k->reduce.axes.d) call_fail(k, RG_EINVAL, "the list of axes is NULL");
    return (uint32_t)k->reduce.axes.n;
}

#define X(name, what)                                                                              \
    static const uop *b_##name(struct api_call *k) {                                               \
        return t_##name(k->g, k->u[0], axes_of(k), naxes_of(k), k->reduce.keep);                   \
    }                                                                                              \
    rg_tensor rg_##name##_at(AT, rg_tensor x, rg_reduce_opts o) {                                  \
        return call_tensor(CALL(name, .in = {TENSOR(x)}, .n = 1, .reduce = o, .build = b_##name)); \
    }
T_REDUCE(X)
#undef X

#define MOMENT(name)                                                                               \
    static const uop *b_##name(struct api_call *k) {                                               \
        double correction = k->reduce.population ? 0 : 1;                                          \
        return t_##name(k->g, k->u[0], axes_of(k), naxes_of(k), k->reduce.keep, correction);       \
    }                                                                                              \
    rg_tensor rg_##name##_at(AT, rg_tensor x, rg_reduce_opts o) {                                  \
        return call_tensor(CALL(name, .in = {TENSOR(x)}, .n = 1, .reduce = o, .build = b_##name)); \
    }
MOMENT(var)
MOMENT(std)

#define ARG_REDUCE(name)                                                                               \
    static const uop *b_##name(struct api_call *k) {                                                   \
        if (naxes_of(k) > 1) call_fail(k, RG_EINVAL, "one axis or none; found %zu", k->reduce.axes.n); \
        return t_##name(k->g, k->u[0], axes_of(k) ? k->reduce.axes.d[0] : T_END, k->reduce.keep);      \
    }                                                                                                  \
    rg_tensor rg_##name##_at(AT, rg_tensor x, rg_reduce_opts o) {                                      \
        return call_tensor(CALL(name, .in = {TENSOR(x)}, .n = 1, .reduce = o, .build = b_##name));     \
    }
ARG_REDUCE(argmax)
ARG_REDUCE(argmin)

#define ALONG(name)                                                                                \
    static const uop *b_##name(struct api_call *k) { return t_##name(k->g, k->u[0], k->i[0]); }    \
    rg_tensor rg_##name##_at(AT, rg_tensor x, int64_t axis) {                                      \
        return call_tensor(CALL(name, .in = {TENSOR(x)}, .n = 1, .i = {axis}, .build = b_##name)); \
    }
ALONG(cumsum)
ALONG(cumprod)
ALONG(cummax)
ALONG(cummin)
ALONG(logcumsumexp)
ALONG(softmax)
ALONG(log_softmax)
ALONG(glu)

static const uop *b_norm(struct api_call *k) {
    return t_norm(k->g, k->u[0], k->f[0], axes_of(k), naxes_of(k), k->reduce.keep);
}
rg_tensor rg_norm_at(AT, rg_tensor x, double p, rg_reduce_opts o) {
    return call_tensor(CALL(norm, .in = {TENSOR(x)}, .n = 1, .f = {p}, .reduce = o, .build = b_norm));
}

static const uop *b_normalize(struct api_call *k) { return t_normalize(k->g, k->u[0], k->f[0], k->i[0]); }
rg_tensor rg_normalize_at(AT, rg_tensor x, double p, int64_t axis) {
    return call_tensor(
        CALL(normalize, .in = {TENSOR(x)}, .n = 1, .f = {p}, .i = {axis}, .build = b_normalize));
}

static const uop *b_layernorm(struct api_call *k) {
    int64_t axes = k->i[0] ? k->i[0] : k->u[1] ? tg_shape(k->g, k->u[1])->n : 1;
    return t_layernorm(k->g, k->u[0], k->u[1], k->u[2], (uint32_t)axes, k->f[0] != 0 ? k->f[0] : 1e-5);
}
rg_tensor rg_layernorm_at(AT, rg_tensor x, rg_tensor weight, rg_tensor bias, rg_norm_opts o) {
    return call_tensor(CALL(layernorm, .in = {TENSOR(x), TENSOR(weight), TENSOR(bias)}, .n = 3, .may = 6,
                            .i = {o.axes}, .f = {o.eps}, .build = b_layernorm));
}

static const uop *b_rmsnorm(struct api_call *k) {
    return t_rmsnorm(k->g, k->u[0], k->u[1], k->f[0] != 0 ? k->f[0] : 1e-5);
}
rg_tensor rg_rmsnorm_at(AT, rg_tensor x, rg_tensor weight, rg_norm_opts o) {
    return call_tensor(
        CALL(rmsnorm, .in = {TENSOR(x), TENSOR(weight)}, .n = 2, .may = 2, .f = {o.eps}, .build = b_rmsnorm));
}

/* ---- matmul and indices ---------------------------------------------------------------------------------- */

#define MATMUL(name)                                                                             \
    static const uop *b_##name(struct api_call *k) { return t_##name(k->g, k->u[0], k->u[1]); }  \
    rg_tensor rg_##name##_at(AT, rg_tensor x, rg_tensor y) {                                     \
        return call_tensor(CALL(name, .in = {TENSOR(x), TENSOR(y)}, .n = 2, .build = b_##name)); \
    }
MATMUL(matmul)
MATMUL(dot)
MATMUL(outer)

static const uop *b_linear(struct api_call *k) { return t_linear(k->g, k->u[0], k->u[1], k->u[2]); }
rg_tensor rg_linear_at(AT, rg_tensor x, rg_tensor weight, rg_tensor bias) {
    return call_tensor(
        CALL(linear, .in = {TENSOR(x), TENSOR(weight), TENSOR(bias)}, .n = 3, .may = 4, .build = b_linear));
}

static const uop *b_gather(struct api_call *k) { return t_gather(k->g, k->u[0], k->i[0], k->u[1]); }
rg_tensor rg_gather_at(AT, rg_tensor x, int64_t axis, rg_tensor index) {
    return call_tensor(
        CALL(gather, .in = {TENSOR(x), TENSOR(index)}, .n = 2, .i = {axis}, .build = b_gather));
}

static const uop *b_take(struct api_call *k) { return t_take(k->g, k->u[0], k->i[0], k->u[1]); }
rg_tensor rg_take_at(AT, rg_tensor x, int64_t axis, rg_tensor index) {
    return call_tensor(CALL(take, .in = {TENSOR(x), TENSOR(index)}, .n = 2, .i = {axis}, .build = b_take));
}

static const uop *b_scatter_add(struct api_call *k) {
    return t_scatter_add(k->g, k->u[0], k->i[0], k->u[1], k->u[2]);
}
rg_tensor rg_scatter_add_at(AT, rg_tensor x, int64_t axis, rg_tensor index, rg_tensor src) {
    return call_tensor(CALL(scatter_add, .in = {TENSOR(x), TENSOR(index), TENSOR(src)}, .n = 3, .i = {axis},
                            .build = b_scatter_add));
}
