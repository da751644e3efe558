/* clip.c: gradients made smaller before a step, and learning rates by step number. Formulas are PyTorch's.
 * Tests: tests/unit/nn_optim.c */
#include "nn.h"

#include <math.h>

static rg_ctx *whose(AT, const char *fn, rg_tensors params, double most) {
    rg_ctx *c = params.n && params.t ? rg_ctx_of(params.t[0]) : NULL;
    if (!c || rg_status_of(c)) return c;
    if (!(most >= 0)) api_fail(c, HERE, fn, RG_EINVAL, "the most is %g; it must be at least 0", most);
    for (size_t i = 0; i < params.n; i++)
        if (rg_ctx_of(params.t[i]) != c || !api_is_param(params.t[i]))
            api_fail(c, HERE, fn, RG_EINVAL, "tensor %zu is not a parameter of this context, or was freed",
                     i + 1);
    return c;
}

rg_tensor rg_clip_grad_norm_at(AT, rg_tensors params, double most) {
    rg_ctx *c = whose(HERE, "rg_clip_grad_norm", params, most);
    if (!c || rg_status_of(c)) return api_poison(c);
    rg_scope scope = rg_begin(c);
    rg_tensor total = rg_number_at(HERE, c, RG_F32, 0), parts = RG_NONE;
    rg_world *w = NULL;
    for (size_t i = 0; i < params.n; i++) {
        if (!api_has_grad(params.t[i])) continue;
        rg_tensor g = rg_param_grad_at(HERE, params.t[i]);
        if (rg_dtype_of_at(HERE, g) != RG_F64) g = rg_cast_at(HERE, g, RG_F32);
        rg_tensor sum = rg_sum_at(HERE, rg_square_at(HERE, g), (rg_reduce_opts){0});
        struct api_shard s = api_shard_of(params.t[i]);
        if (!s.split)
            total = rg_add_at(HERE, TENSOR(total), TENSOR(sum));
        else
            parts = parts.id ? rg_add_at(HERE, TENSOR(parts), TENSOR(sum)) : sum, w = s.world;
    }
    /* of gradients that ranks divide, each has its part */
    if (w) total = rg_add_at(HERE, TENSOR(total), TENSOR(rg_all_reduce_at(HERE, parts, w, RG_COMBINE_SUM)));
    rg_tensor norm = rg_sqrt_at(HERE, total);
    rg_tensor factor = rg_div_at(HERE, NUMBER(most), TENSOR(rg_add_at(HERE, TENSOR(norm), NUMBER(1e-6))));
    factor = rg_contiguous_at(HERE, rg_minimum_at(HERE, TENSOR(factor), NUMBER(1)));
    for (size_t i = 0; i < params.n; i++) {
        if (!api_has_grad(params.t[i])) continue;
        rg_tensor g = rg_param_grad_at(HERE, params.t[i]);
        rg_tensor small = rg_mul_at(HERE, TENSOR(g), TENSOR(factor));
        api_set_grad(HERE, params.t[i], rg_cast_at(HERE, small, rg_dtype_of_at(HERE, g)));
    }
    return api_result(HERE, scope, norm);
}

rg_status rg_clip_grad_value_at(AT, rg_tensors params, double most) {
    rg_ctx *c = whose(HERE, "rg_clip_grad_value", params, most);
    if (!c) return params.n ? RG_EINVAL : RG_OK;
    if (rg_status_of(c)) return rg_status_of(c);
    rg_scope scope = rg_begin(c);
    for (size_t i = 0; i < params.n; i++) {
        if (!api_has_grad(params.t[i])) continue;
        rg_tensor g = rg_param_grad_at(HERE, params.t[i]);
        api_set_grad(HERE, params.t[i], rg_clamp_at(HERE, g, NUMBER(-most), NUMBER(most)));
    }
    rg_end(scope);
    return rg_status_of(c);
}

/* ---- learning rates ------------------------------------------------------------------------------------ */

double rg_lr_step(double lr, int64_t step, int64_t every, double factor) {
    return every > 0 && step > 0 ? lr * pow(factor, (double)(step / every)) : lr;
}

/* Half a cosine from a (share 0) to b (share 1). */
static double between(double a, double b, double share) {
    share = share < 0 ? 0 : share > 1 ? 1 : share;
    return b + (a - b) / 2 * (1 + cos(M_PI * share));
}

double rg_lr_cosine(double lr, int64_t step, int64_t steps, double least) {
    return between(lr, least, steps > 0 ? (double)step / (double)steps : 1);
}

double rg_lr_warmup(double lr, int64_t step, int64_t steps) {
    if (step < 0) step = 0;
    return step < steps ? lr * (double)(step + 1) / (double)steps : lr;
}

double rg_lr_one_cycle(double most, int64_t step, int64_t steps, double share) {
    double up = share * (double)steps - 1, last = (double)steps - 1, at = (double)step;
    if (at <= up && up > 0) return between(most / 25, most, at / up);
    return between(most, most / 250000, last > up ? (at - up) / (last - up) : 1);
}
