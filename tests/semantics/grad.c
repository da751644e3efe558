/* Semantics: parameters, gradients, optimiser steps. */
#include "sem.h"

CASE(grad_of_a_square) {
    rg_tensor x = V(1, 2, 3), g;
    CHECK_EQ(rg_grad(rg_sum(rg_square(x)), RG_TENSORS(x), &g), 0);
    IS(g, 2, 4, 6);
}
CASE(grad_of_several) {
    rg_tensor x = V(1, 2), y = V(3, 4), g[2];
    rg_grad(rg_sum(rg_mul(x, y)), RG_TENSORS(x, y), g);
    IS(g[0], 3, 4);
    IS(g[1], 1, 2);
}
CASE(grad_of_grad) {
    rg_tensor x = V(1, 2), g, h;
    rg_grad(rg_sum(rg_mul(rg_square(x), x)), RG_TENSORS(x), &g);
    rg_grad(rg_sum(g), RG_TENSORS(x), &h);
    IS(g, 3, 12);
    IS(h, 6, 12);
}
CASE(grad_third_order) {
    rg_tensor x = V(2), g, h, k;
    rg_grad(rg_pow(x, 4), RG_TENSORS(x), &g);
    rg_grad(g, RG_TENSORS(x), &h);
    rg_grad(h, RG_TENSORS(x), &k);
    IS(g, 32);
    IS(h, 48);
    IS(k, 48);
}
CASE(grad_with_seed) {
    rg_tensor x = V(1, 2, 3), g;
    rg_grad(rg_square(x), RG_TENSORS(x), &g, .seed = V(1, 10, 100));
    IS(g, 2, 40, 600);
}
CASE(grad_of_many_needs_a_seed) {
    rg_tensor x = V(1, 2, 3), g;
    CHECK_EQ(rg_grad(rg_square(x), RG_TENSORS(x), &g), RG_EINVAL);
    CHECK(!rg_is_alive(g));
    FAILS(RG_EINVAL, "rg_grad");
}
CASE(grad_of_what_does_not_lead_there) {
    rg_tensor x = V(1), y = V(2), g[2];
    rg_grad(rg_square(x), RG_TENSORS(x, y), g);
    FAILS(RG_EINVAL, "tensor 3 does not lead|unused_ok");
    rg_grad(rg_square(x), RG_TENSORS(x, y), g, .unused_ok = true);
    IS(g[0], 2);
    IS(g[1], 0);
}
CASE(grad_with_respect_to_a_value_in_between) {
    rg_tensor x = V(1, 2), h = rg_mul(x, 3), g;
    rg_grad(rg_sum(rg_square(h)), RG_TENSORS(h), &g);
    IS(g, 6, 12);
}
/* A view is a value like another, whatever reads it: also another view, or a function that reshapes what it gets. */
CASE(grad_with_respect_to_a_view) {
    rg_tensor x = V(1, 2, 3, 4), v = rg_reshape(x, RG_SHAPE(2, 2)), g;
    CHECK_EQ(rg_grad(rg_sum(rg_square(rg_reshape(v, RG_SHAPE(4, 1)))), RG_TENSORS(v), &g), 0);
    IS(g, 2, 4, 6, 8);
    CHECK_EQ(rg_grad(rg_sum(rg_square(rg_unsqueeze(v, 0))), RG_TENSORS(v), &g), 0);
    IS(g, 2, 4, 6, 8);
    rg_tensor loss =
        rg_add(rg_sum(rg_square(rg_reshape(v, RG_SHAPE(4)))), rg_sum(x)); /* x is read beside it */
    CHECK_EQ(rg_grad(loss, RG_TENSORS(v), &g), 0);
    IS(g, 2, 4, 6, 8);
    CHECK_EQ(rg_grad(loss, RG_TENSORS(x), &g), 0);
    IS(g, 3, 5, 7, 9);
}
/* Zeros, whether the loss was realized before or not. */
CASE(grad_of_steps_is_zero_realized_or_not) {
    for (int how = 0; how < 4; how++) {
        rg_tensor x = V(1, -2), p = rg_param(x), loss = rg_sum(rg_mul(rg_sign(p), x)), g;
        if (how & 1) rg_realize(loss);
        if (how & 2) {
            loss = rg_add(rg_mul(loss, 2), rg_sum(x));
            rg_realize(loss);
        }
        CHECK_EQ(rg_backward(loss), 0);
        IS(rg_param_grad(p), 0, 0);
        CHECK_EQ(rg_grad(loss, RG_TENSORS(p), &g), 0);
        IS(g, 0, 0);
        CHECK_EQ(rg_grad(loss, RG_TENSORS(rg_mul(x, 3)), &g), RG_EINVAL);
        FAILS(RG_EINVAL, "does not lead");
        rg_free(p);
    }
}
CASE(grad_stops_at_detach) {
    rg_tensor x = V(3), g;
    rg_grad(rg_mul(x, rg_detach(x)), RG_TENSORS(x), &g);
    IS(g, 3);
    rg_grad(rg_detach(x), RG_TENSORS(x), &g);
    FAILS(RG_EINVAL, "does not lead");
}
CASE(grad_after_reading_says_so) {
    rg_tensor x = V(3), y = rg_square(x), g;
    IS(y, 9);
    rg_grad(y, RG_TENSORS(x), &g);
    FAILS(RG_EINVAL, "tensor 2 does not lead|ask for gradients first");
}
CASE(grad_of_a_broadcast) {
    rg_tensor b = V(1, 2), g;
    rg_grad(rg_sum(rg_add(rg_zeros(c, RG_F32, RG_SHAPE(3, 2)), b)), RG_TENSORS(b), &g);
    IS(g, 3, 3);
}
CASE(grad_of_a_diamond) {
    rg_tensor x = V(2), h = rg_square(x), g;
    rg_grad(rg_add(rg_mul(h, 3), rg_mul(h, h)), RG_TENSORS(x), &g);
    IS(g, 44);
}

/* ---- parameters ----------------------------------------------------------------------------------------- */

CASE(param_has_a_gradient) {
    rg_tensor p = rg_param(V(1, 2));
    rg_backward(rg_sum(rg_square(p)));
    IS(rg_param_grad(p), 2, 4);
}
CASE(param_gradient_is_zero_at_first) {
    rg_tensor p = rg_param(V(1, 2));
    IS(rg_param_grad(p), 0, 0);
}
CASE(param_gradients_accumulate) {
    rg_tensor p = rg_param(V(1, 2));
    for (int i = 0; i < 3; i++) {
        RG_SCOPE(c);
        rg_backward(rg_sum(rg_square(p)));
    }
    IS(rg_param_grad(p), 6, 12);
    rg_zero_grad(c);
    IS(rg_param_grad(p), 0, 0);
}
CASE(param_gradient_read_between) {
    rg_tensor p = rg_param(V(1, 2));
    rg_backward(rg_sum(p));
    IS(rg_param_grad(p), 1, 1);
    rg_backward(rg_sum(p));
    IS(rg_param_grad(p), 2, 2);
}
CASE(param_belongs_to_no_scope) {
    rg_tensor p;
    {
        RG_SCOPE(c);
        p = rg_param(V(1, 2));
    }
    IS(p, 1, 2);
    rg_free(p);
    CHECK_EQ(sem_usage(c).handles, 0);
}
CASE(param_is_a_copy) {
    rg_tensor x = V(1, 2), p = rg_param(x);
    rg_assign(p, 0);
    IS(x, 1, 2);
    IS(p, 0, 0);
}
CASE(param_of_a_view_can_be_assigned) {
    rg_tensor p = rg_param(rg_reshape(rg_arange(c, RG_F32, 0, 4, 1), RG_SHAPE(2, 2)));
    rg_assign(p, rg_add(p, 1));
    IS(p, 1, 2, 3, 4);
}
CASE(param_integers_are_an_error) {
    rg_param(VI(1, 2));
    FAILS(RG_EINVAL, "rg_param|float|i32");
}
CASE(param_grad_of_another_tensor_is_an_error) {
    rg_param_grad(V(1, 2));
    FAILS(RG_EINVAL, "not a parameter");
}
CASE(backward_without_a_parameter_is_an_error) {
    rg_backward(rg_sum(V(1, 2)));
    FAILS(RG_EINVAL, "no parameter leads to the loss");
}
CASE(
    backward_of_a_sum_of_nothing_is_zero) { /* folded to a constant; a loss that never saw a parameter is still an error */
    rg_tensor p = rg_param(V(1, 2, 3)), none = rg_param(rg_zeros(c, RG_F32, RG_SHAPE(0, 3))), g[2];
    rg_tensor loss = rg_sum(rg_mul(none, p));
    CHECK_EQ(rg_backward(loss), 0);
    IS(rg_param_grad(p), 0, 0, 0);
    CHECK_EQ(rg_grad(loss, RG_TENSORS(p, none), g), 0);
    IS(g[0], 0, 0, 0);
    CHECK_EQ(rg_size(g[1]), 0);
    CHECK_EQ(rg_backward(rg_sum(rg_gather(rg_sum(rg_mul(none, p), RG_AXES(0)), 0, VI(2, 0)))), 0);
    CHECK_EQ(rg_backward(rg_sum(rg_softmax(rg_sum(none, RG_AXES(0)), 0))), 0);
    rg_backward(rg_add(loss, rg_sum(p)));
    IS(rg_param_grad(p), 1, 1, 1);
    rg_backward(rg_sum(rg_detach(p)));
    FAILS(RG_EINVAL, "no parameter leads to the loss");
}
/* The value does not depend on the parameter, since an axis is empty; what led to it is remembered all the same, also by what is
 * realized on the way. */
#define REACHES_NOTHING(EXPR)                                                                   \
    do {                                                                                        \
        rg_tensor y = EXPR;                                                                     \
        rg_zero_grad(c);                                                                        \
        rg_realize(y);                                                                          \
        CHECK_EQ(rg_backward(rg_sum(rg_add(y, data))), 0);                                      \
        IS(rg_param_grad(p), 0, 0, 0);                                                          \
        CHECK_EQ(rg_size(rg_param_grad(none)), 0);                                              \
        CHECK_EQ(rg_grad(rg_sum(rg_cumsum(rg_flatten(y, 0, -1), 0)), RG_TENSORS(none), &g), 0); \
    } while (0)
CASE(backward_through_products_of_nothing_is_zero) {
    rg_tensor p = rg_param(V(1, 2, 3)), none = rg_param(rg_zeros(c, RG_F32, RG_SHAPE(3, 0))), g, data = V(7);
    rg_tensor both = rg_mul(rg_reshape(p, RG_SHAPE(3, 1)), none), row = rg_reshape(both, RG_SHAPE(1, 0, 3));
    REACHES_NOTHING(rg_matmul(both, rg_transpose(both, 0, 1)));
    REACHES_NOTHING(rg_linear(both, both, RG_NONE));
    REACHES_NOTHING(rg_cummax(rg_linear(both, both, RG_NONE), -1));
    REACHES_NOTHING(rg_einsum("ij,kj->ik", RG_TENSORS(both, both)));
    REACHES_NOTHING(rg_matmul(V(1, 2, 3), rg_matmul(both, rg_zeros(c, RG_F32, RG_SHAPE(0, 2)))));
    REACHES_NOTHING(rg_conv1d(row, rg_reshape(both, RG_SHAPE(3, 0, 1))));
    REACHES_NOTHING(rg_prod(both, RG_AXES(1)));
    REACHES_NOTHING(rg_logsumexp(both, RG_AXES(1)));
}
static rg_tensor assign_nothing(rg_tensor x, rg_tensor v) {
    rg_assign_slice(x, v, RG_SLICES(RG_RANGE(2, 2)));
    return x;
}
CASE(backward_beside_a_copy_of_a_parameter_that_is_overwritten) {
    rg_tensor v = M(1, 1, 1), p = rg_param(M(1, 1, 3));
    rg_optim *first = rg_sgd(RG_TENSORS(p), .lr = 0.125);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(rg_backward(rg_sum(rg_square(rg_sub(p, v)))), 0);
        CHECK_EQ(rg_optim_step(first), 0);
    }
    rg_tensor copy = rg_contiguous(p);
    rg_assign(copy, v);
    rg_tensor q = rg_param(rg_mul(v, 2));
    rg_optim *then = rg_sgd(RG_TENSORS(q), .lr = 0.125);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(rg_backward(rg_sum(rg_square(rg_sub(q, copy)))), 0);
        CHECK_EQ(rg_optim_step(then), 0);
    }
    IS(copy, 1);
    IS(q, 1.421875);
    rg_optim_free(first), rg_optim_free(then);
}
CASE(backward_through_an_assignment_of_nothing_is_zero) {
    rg_tensor p = rg_param(V(1, 2, 3)), none = rg_param(rg_zeros(c, RG_F32, RG_SHAPE(3, 0))), g;
    rg_tensor flat = rg_flatten(rg_mul(rg_reshape(p, RG_SHAPE(3, 1)), none), 0, -1), stored = V(1, 2, 3), y;
    rg_tensor lazy = rg_mul(V(1, 2, 3), 2);
    for (int i = 0; i < 2; i++) {
        y = assign_nothing(i ? lazy : stored, flat);
        CHECK_EQ(rg_grad(rg_sum(rg_cumsum(y, 0)), RG_TENSORS(none), &g), 0);
        rg_zero_grad(c);
        CHECK_EQ(rg_backward(rg_sum(rg_mul(y, y))), 0);
        IS(rg_param_grad(p), 0, 0, 0);
        CHECK_EQ(rg_size(g), 0);
    }
    IS(stored, 1, 2, 3);
    IS(lazy, 2, 4, 6);
    rg_assign_slice(stored, 5, RG_SLICES(RG_RANGE(1, 2))); /* goes on in its own memory */
    IS(stored, 1, 5, 3);
}
CASE(backward_through_what_an_empty_axis_leaves_out_is_zero) {
    rg_tensor p = rg_param(V(1, 2, 3)), none = rg_param(rg_zeros(c, RG_F32, RG_SHAPE(3, 0))), g, data = V(7);
    rg_tensor both = rg_mul(rg_reshape(p, RG_SHAPE(3, 1)), none), flat = rg_flatten(both, 0, -1);
    rg_tensor index = rg_zeros(c, RG_I64, RG_SHAPE(0)), keys = rg_reshape(both, RG_SHAPE(0, 3));
    REACHES_NOTHING(rg_cat(RG_TENSORS(V(1, 2), flat), 0));
    REACHES_NOTHING(rg_scatter(V(1, 2), 0, index, flat));
    REACHES_NOTHING(rg_scatter_add(V(1, 2), 0, index, flat));
    REACHES_NOTHING(rg_diag(flat, -2));
    REACHES_NOTHING(rg_masked_select(flat, rg_gt(flat, 0), 2));
    REACHES_NOTHING(rg_pad(flat, RG_INTS(1, 2), 0));
    REACHES_NOTHING(rg_attention(rg_reshape(V(1, 2, 3), RG_SHAPE(1, 3)), keys, keys));
    rg_zero_grad(c);
    rg_tensor dropped = rg_dropout(p, 1);
    rg_realize(dropped);
    CHECK_EQ(rg_backward(rg_sum(rg_add(dropped, data))), 0);
    IS(rg_param_grad(p), 0, 0, 0);
}
#undef REACHES_NOTHING
CASE(
    grad_of_a_broadcast_with_an_extreme_as_its_seed) { /* the sum over the broadcast axis of the greatest, not of all */
    rg_tensor x = rg_reshape(V(1, 2), RG_SHAPE(1, 1, 2)),
              z = rg_reshape(rg_arange(c, RG_F32, 0, 12, 1), RG_SHAPE(2, 3, 2)), g;
    rg_tensor y = rg_expand(x, RG_SHAPE(2, 1, 2));
    CHECK_EQ(rg_grad(y, RG_TENSORS(x), &g, .seed = rg_max(z, RG_AXES(1), .keep = true)), 0);
    IS(g, 4 + 10, 5 + 11);
    CHECK_EQ(rg_grad(y, RG_TENSORS(x), &g, .seed = rg_prod(z, RG_AXES(1), .keep = true)), 0);
    IS(g, 480, 1 * 3 * 5 + 7 * 9 * 11);
    CHECK_EQ(rg_grad(y, RG_TENSORS(x), &g, .seed = rg_sum(z, RG_AXES(1), .keep = true)), 0);
    IS(g, 30, 36);
}
CASE(backward_after_reading_the_loss) { /* printing first is what people do */
    rg_tensor p = rg_param(V(1, 2)), loss = rg_sum(rg_square(p));
    IS(loss, 5);
    rg_backward(loss);
    IS(rg_param_grad(p), 2, 4);
}
CASE(backward_through_a_realized_activation) {
    rg_tensor p = rg_param(V(1, 2)), h = rg_mul(p, 3);
    IS(h, 3, 6);
    rg_tensor loss = rg_sum(rg_square(h));
    rg_realize(loss);
    rg_backward(loss);
    IS(rg_param_grad(p), 18, 36);
}
CASE(backward_of_an_old_value_is_an_error) {
    rg_tensor p = rg_param(V(1, 2)), loss = rg_sum(rg_square(p));
    rg_assign(p, 0);
    rg_backward(loss);
    FAILS(RG_EINVAL, "rg_backward|before rg_");
    IS(p, 0, 0);
    rg_backward(loss);
    FAILS(RG_EINVAL, "no parameter leads to the loss");
    IS(loss, 5);
}
CASE(backward_with_old_weights_in_a_penalty) {
    rg_tensor p = rg_param(V(1, 2)), old = rg_detach(p);
    rg_assign(p, rg_add(p, 1));
    rg_backward(rg_sum(rg_square(rg_sub(p, old))));
    IS(rg_param_grad(p), 2, 2);
}
CASE(backward_twice_between_steps) {
    rg_tensor p = rg_param(V(4)), x = V(2);
    rg_backward(rg_mul(p, x));
    rg_assign(p, rg_sub(p, rg_param_grad(p)));
    rg_zero_grad(c);
    rg_backward(rg_square(p));
    IS(rg_param_grad(p), 4);
    IS(p, 2);
}
CASE(
    backward_after_a_step_and_a_changed_input) { /* an input assigned in place between forward and backward */
    rg_tensor p = rg_param(V(1, 2)), x = V(3, 4), h = rg_mul(p, x);
    IS(h, 3, 8);
    rg_assign(x, 0);
    IS(x, 0, 0);
    rg_backward(rg_sum(h));
    IS(rg_param_grad(p), 3, 4); /* of the x that h was computed with */
}

/* ---- steps ------------------------------------------------------------------------------------------------ */

CASE(step_loss_read_after_the_step) {
    rg_tensor p = rg_param(V(3)), loss = rg_square(p);
    rg_backward(loss);
    rg_assign(p, rg_sub(p, rg_mul(rg_param_grad(p), 0.5)));
    IS(p, 0);
    IS(loss, 9);
}
CASE(step_loss_read_with_the_step) {
    rg_tensor p = rg_param(V(3)), loss = rg_square(p);
    rg_backward(loss);
    rg_assign(p, rg_sub(p, rg_mul(rg_param_grad(p), 0.5)));
    IS(loss, 9);
    IS(p, 0);
}
CASE(step_losses_kept_and_read_once) {
    enum { STEPS = 100 };
    rg_tensor p = rg_param(V(1)), loss[STEPS];
    for (int i = 0; i < STEPS; i++) {
        RG_SCOPE(c);
        loss[i] = rg_keep(rg_mul(p, 2));
        rg_assign(p, rg_add(p, 1));
        rg_realize(p);
    }
    for (int i = 0; i < STEPS; i += 33) IS(loss[i], 2 * (i + 1));
    IS(p, STEPS + 1);
}
CASE(step_losses_kept_unrealized_and_read_once) {
    enum { STEPS = 30 };
    rg_tensor p = rg_param(V(1)), loss[STEPS];
    float out[STEPS];
    for (int i = 0; i < STEPS; i++) {
        RG_SCOPE(c);
        loss[i] = rg_keep(rg_mul(p, 2));
        rg_assign(p, rg_add(p, 1));
    }
    for (int i = 0; i < STEPS; i++) rg_read_async(loss[i], out + i, sizeof *out);
    CHECK_EQ(rg_wait(c), 0);
    CHECK_EQ(sem_usage(c).realizes, 1);
    for (int i = 0; i < STEPS; i++) CHECK_EQ(out[i], 2 * (i + 1));
}
CASE(step_momentum) {
    rg_tensor p = rg_param(V(1)), m = rg_zeros(c, RG_F32, RG_SHAPE(1));
    for (int i = 0; i < 3; i++) {
        RG_SCOPE(c);
        rg_zero_grad(c);
        rg_backward(rg_square(p));
        rg_assign(m, rg_add(rg_mul(m, 0.5), rg_param_grad(p)));
        rg_assign(p, rg_sub(p, rg_mul(m, 0.25)));
        rg_realize_all(RG_TENSORS(p, m));
    }
    /* worked by hand: m = m/2 + 2p and p -= m/4: m is 2, 2, 1 and p 0.5, 0, -0.25 */
    IS(m, 1);
    IS(p, -0.25);
}
CASE(step_linear_regression) {
    rg_tensor x = M(4, 2, 1, 0, 0, 1, 1, 1, 2, 1),
              y = rg_from(c, RG_F32, (float[]){1, 2, 3, 4}, RG_SHAPE(4, 1));
    rg_tensor w = rg_param(rg_zeros(c, RG_F32, RG_SHAPE(2, 1)));
    for (int i = 0; i < 200; i++) {
        RG_SCOPE(c);
        rg_zero_grad(c);
        rg_backward(rg_mean(rg_square(rg_sub(rg_matmul(x, w), y))));
        rg_assign(w, rg_sub(w, rg_mul(rg_param_grad(w), 0.3)));
        if (rg_realize(w)) break;
    }
    rg_tensor want = M(2, 1, 1, 2);
    CHECK(rg_item(rg_max(rg_abs(rg_sub(w, want)))) < 1e-3);
}
CASE(step_accumulator_does_not_grow) {
    rg_tensor p = rg_param(V(1)), total = V(0);
    uint64_t nodes = 0;
    for (int i = 0; i < 20; i++) {
        RG_SCOPE(c);
        rg_tensor loss = rg_square(p), sum = rg_keep(rg_add(total, loss));
        rg_zero_grad(c);
        rg_backward(loss);
        rg_assign(p, rg_sub(p, rg_mul(rg_param_grad(p), 0.1)));
        rg_realize_all(RG_TENSORS(p, sum));
        rg_free(total);
        total = sum;
        if (i == 10) nodes = sem_usage(c).nodes;
    }
    CHECK(sem_usage(c).nodes <= nodes);
    CHECK_NEAR(rg_item(p), 0.011529215, 1e-6);
}

/* ---- random: reading on the way changes no gradient --------------------------------------------------------- */

static uint32_t next(uint64_t *seed, uint32_t n) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33) % n;
}

/* A random expression of two parameters and an input. noisy: values are read, and the input is overwritten, on the way. */
static void random_grads(rg_ctx *c, uint64_t seed, bool noisy, float *g) {
    RG_SCOPE(c);
    rg_tensor p = rg_param(V(0.5, -1, 2)), q = rg_param(V(1, 0.25, -0.5)), x = V(0.1, 0.2, 0.3);
    rg_tensor v[16] = {p, q, rg_mul(x, 1)};
    uint64_t noise = seed + 1;
    for (int i = 3; i < 16; i++) {
        rg_tensor a = v[next(&seed, (uint32_t)i)], b = v[next(&seed, (uint32_t)i)];
        switch (next(&seed, 6)) {
        case 0: v[i] = rg_add(a, b); break;
        case 1: v[i] = rg_mul(rg_tanh(a), b); break;
        case 2: v[i] = rg_sub(rg_sigmoid(a), rg_mul(b, 0.5)); break;
        case 3: v[i] = rg_flip(a, RG_AXES(0)); break;
        case 4: v[i] = rg_mul(rg_mean(a), rg_tanh(b)); break;
        default: v[i] = rg_add(rg_mul(a, x), rg_detach(b)); break;
        }
        if (!noisy || next(&noise, 2)) continue;
        float out[3];
        if (next(&noise, 2)) CHECK_EQ(rg_read(v[next(&noise, (uint32_t)i + 1)], out, sizeof out), 0);
        if (next(&noise, 3) == 0) { /* the same values in other memory: what was read keeps its own */
            rg_tensor keep = rg_mul(x, 1);
            rg_assign(x, rg_zeros_like(x));
            CHECK_EQ(rg_realize(x), 0);
            x = keep;
        }
    }
    rg_tensor loss = rg_add(rg_sum(v[15]), rg_add(rg_sum(rg_mul(v[14], p)), rg_sum(rg_mul(v[13], q))));
    if (noisy) CHECK(isfinite(rg_item(loss)));
    CHECK_EQ(rg_backward(loss), 0);
    CHECK_EQ(rg_read(rg_param_grad(p), g, 3 * sizeof *g), 0);
    CHECK_EQ(rg_read(rg_param_grad(q), g + 3, 3 * sizeof *g), 0);
    rg_free(p);
    rg_free(q);
}

CASE(grad_does_not_depend_on_what_was_read) {
    int seeds = strcmp(rg_device(c), "REF") ? 3 : 150;
    for (int s = 1; s <= seeds; s++) {
        float quiet[6], noisy[6];
        random_grads(c, (uint64_t)s * 7919, false, quiet);
        random_grads(c, (uint64_t)s * 7919, true, noisy);
        for (int i = 0; i < 6; i++) CHECK_NEAR(noisy[i], quiet[i], 1e-4 * fmax(1, fabs(quiet[i])));
    }
}
