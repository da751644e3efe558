/* loss.c: losses, and norms by channels. A row of T_LOSS (tensor.h) is a function here.
 * Tests: values in tests/values/nn.txt, kernels and misuse in tests/unit/loss.c */
#include "internal.h"

#pragma GCC diagnostic error "-Wmissing-prototypes"

#define AT const char *file, int line

/* ---- losses ---------------------------------------------------------------------------------------------- */

static struct t_loss options(const struct api_call *k) {
    const rg_loss_opts *o = k->p;
    return (struct t_loss){.reduction = (enum t_reduction)o->reduction,
                           .weight = k->u[2],
                           .pos_weight = k->u[3],
                           .smoothing = o->label_smoothing,
                           .delta = o->delta,
                           .ignore = o->ignore,
                           .ignore_index = o->ignore_index};
}

#define X(name, what)                                                                                      \
    static const uop *b_##name(struct api_call *k) {                                                       \
        struct t_loss o = options(k);                                                                      \
        return t_##name(k->g, k->u[0], k->u[1], &o);                                                       \
    }                                                                                                      \
    rg_tensor rg_##name##_at(AT, rg_tensor x, rg_tensor target, rg_loss_opts o) {                          \
        return call_tensor(CALL(name,                                                                      \
                                .in = {TENSOR(x), TENSOR(target), TENSOR(o.weight), TENSOR(o.pos_weight)}, \
                                .n = 4, .may = 12, .p = &o, .build = b_##name));                           \
    }
T_LOSS(X)
#undef X

/* ---- norms by channels -------------------------------------------------------------------------------------- */

static double eps_of(const struct api_call *k) { return k->f[0] != 0 ? k->f[0] : 1e-5; }

static const uop *b_groupnorm(struct api_call *k) {
    return t_groupnorm(k->g, k->u[0], k->i[0], k->u[1], k->u[2], eps_of(k));
}
rg_tensor rg_groupnorm_at(AT, rg_tensor x, int64_t groups, rg_tensor weight, rg_tensor bias, rg_norm_opts o) {
    return call_tensor(CALL(groupnorm, .in = {TENSOR(x), TENSOR(weight), TENSOR(bias)}, .n = 3, .may = 6,
                            .i = {groups}, .f = {o.eps}, .build = b_groupnorm));
}

static const uop *b_instancenorm(struct api_call *k) {
    return t_instancenorm(k->g, k->u[0], k->u[1], k->u[2], eps_of(k));
}
rg_tensor rg_instancenorm_at(AT, rg_tensor x, rg_tensor weight, rg_tensor bias, rg_norm_opts o) {
    return call_tensor(CALL(instancenorm, .in = {TENSOR(x), TENSOR(weight), TENSOR(bias)}, .n = 3, .may = 6,
                            .f = {o.eps}, .build = b_instancenorm));
}

static const uop *b_batchnorm(struct api_call *k) {
    return t_batchnorm(k->g, k->u[0], k->u[1], k->u[2], k->u[3], k->u[4], eps_of(k));
}
rg_tensor rg_batchnorm_at(AT, rg_tensor x, rg_tensor mean, rg_tensor var, rg_tensor weight, rg_tensor bias,
                          rg_norm_opts o) {
    return call_tensor(CALL(batchnorm,
                            .in = {TENSOR(x), TENSOR(mean), TENSOR(var), TENSOR(weight), TENSOR(bias)},
                            .n = 5, .may = 24, .f = {o.eps}, .build = b_batchnorm));
}
