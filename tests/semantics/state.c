/* Semantics: state has no history, integers lead to no parameter, RG_NO_GRAD. */
#include "sem.h"

#include <math.h>

struct decode {
    rg_ctx *c;
    rg_tensor w, k, v, pos, next;
};

/* A cache that is written at a position by values that lead to a parameter, and then attended to. */
static rg_status attend(void *user, const rg_tensor *in, rg_tensor *out) {
    struct decode *d = user;
    rg_tensor x = rg_mul(in[0], d->w);
    rg_assign_slice(d->k, rg_mul(x, 2), RG_SLICES(RG_WHOLE, RG_WHOLE, RG_WINDOW(d->pos, 1)));
    rg_assign_slice(d->v, rg_add(x, d->pos), RG_SLICES(RG_WHOLE, RG_WHOLE, RG_WINDOW(d->pos, 1)));
    rg_tensor mask = rg_le(rg_arange(d->c, RG_I64, 0, 4, 1), d->pos);
    out[0] = rg_attention(x, d->k, d->v, .mask = mask);
    return RG_OK;
}
CASE(state_cache_of_a_jit_leads_to_a_parameter) {
    struct decode d = {.c = c, .w = rg_param(rg_ones(c, RG_F32, RG_SHAPE(2))), .pos = rg_index(c, 0, 3, 0)};
    d.k = rg_contiguous(rg_zeros(c, RG_F32, RG_SHAPE(1, 1, 4, 2)));
    d.v = rg_contiguous(rg_zeros(c, RG_F32, RG_SHAPE(1, 1, 4, 2)));
    rg_tensor x = rg_contiguous(rg_ones(c, RG_F32, RG_SHAPE(1, 1, 1, 2))), y;
    rg_realize_all(RG_TENSORS(d.w, d.k, d.v, x));
    rg_jit *j = rg_jit_new(c, attend, &d, 1);
    for (int i = 0; i < 4; i++) { /* equal keys: the mean of 1 .. i + 1 */
        rg_set_scalar(d.pos, i);
        CHECK_EQ(rg_jit_call(j, RG_TENSORS(x), &y), 0);
        IS(y, 1 + i / 2.0, 1 + i / 2.0);
    }
    IS(d.v, 1, 1, 2, 2, 3, 3, 4, 4);
}

static rg_status choose(void *user, const rg_tensor *in, rg_tensor *out) {
    struct decode *d = user;
    out[0] = rg_mul(in[0], d->w);
    return rg_assign(d->next, rg_argmax(out[0], RG_AXES(-1)));
}
CASE(state_of_an_argmax_leads_to_a_parameter) {
    struct decode d = {
        .c = c, .w = rg_param(V(1, -1, 2)), .next = rg_contiguous(rg_zeros(c, RG_I64, RG_SHAPE(1)))};
    rg_realize_all(RG_TENSORS(d.w, d.next));
    rg_jit *j = rg_jit_new(c, choose, &d, 1);
    for (int i = 0; i < 4; i++) {
        rg_tensor y, x = rg_from(c, RG_F32, ((float[]){1, (float)(i - 2) * 8, 0}), RG_SHAPE(1, 3));
        CHECK_EQ(rg_jit_call(j, RG_TENSORS(x), &y), 0);
        IS(d.next, i < 2 ? 1 : 0);
    }
}

/* An output may read the state that the call replaces: its memory is the jit's, without a history. */
static rg_status shift(void *user, const rg_tensor *in, rg_tensor *out) {
    struct decode *d = user;
    out[0] = rg_mul(d->k, d->w);
    return rg_assign(d->k, rg_add(rg_mul(in[0], d->w), d->k));
}
CASE(state_read_by_an_output_before_it_is_assigned) {
    struct decode d = {.c = c, .w = rg_param(V(2, 2)), .k = V(0, 1)};
    rg_jit *j = rg_jit_new(c, shift, &d, 1);
    rg_tensor x = V(1, 1), y;
    for (int i = 0; i < 5; i++) {
        CHECK_EQ(rg_jit_call(j, RG_TENSORS(x), &y), 0);
        IS(y, 4 * i, 4 * i + 2);
    }
    IS(d.k, 10, 11);
}

CASE(state_that_leads_to_a_parameter_is_updated_in_place) {
    rg_tensor w = rg_param(V(1, 2, 3, 4)), state = rg_contiguous(rg_zeros(c, RG_F32, RG_SHAPE(4)));
    rg_realize_all(RG_TENSORS(w, state));
    rg_usage first = {0};
    for (int i = 0; i < 20; i++) {
        RG_SCOPE(c);
        rg_assign(state, rg_add(state, rg_mul(w, 2)));
        rg_realize(state);
        if (i == 1) first = sem_usage(c);
    }
    CHECK_EQ(sem_usage(c).bytes, first.bytes);
    CHECK_EQ(sem_usage(c).peak, first.peak);
    CHECK_EQ(sem_usage(c).nodes, first.nodes);
    IS(state, 40, 80, 120, 160);
}

CASE(state_that_did_not_run_passes_gradients) {
    rg_tensor w = rg_param(V(1, 2)), state = V(5, 5);
    rg_assign(state, rg_mul(w, w));
    rg_backward(rg_sum(rg_mul(state, 3)));
    IS(rg_param_grad(w), 6, 12);
    IS(state, 1, 4);
}
CASE(state_slice_that_did_not_run_passes_gradients) {
    rg_tensor w = rg_param(V(1, 2)), state = V(5, 5, 5);
    rg_assign_slice(state, rg_mul(w, w), RG_SLICES(RG_RANGE(1, 3)));
    rg_backward(rg_sum(rg_mul(state, V(2, 3, 4))));
    IS(rg_param_grad(w), 6, 16);
}
CASE(state_that_ran_has_no_gradient_and_says_so) {
    rg_tensor w = rg_param(V(1, 2)), u = rg_param(V(3, 4)), state = V(5, 5);
    rg_assign(state, rg_mul(w, w));
    rg_realize(state);
    rg_backward(rg_sum(rg_mul(state, u)));
    FAILS(RG_EINVAL, "rg_backward|state|rg_from|state.c|rg_detach");
    rg_tensor g;
    rg_grad(rg_sum(rg_mul(state, u)), RG_TENSORS(u), &g);
    FAILS(RG_EINVAL, "rg_grad|state|rg_detach");
    rg_backward(rg_sum(rg_mul(rg_detach(state), u)));
    IS(rg_param_grad(u), 1, 4);
}
CASE(state_carried_over_an_optimizer_step_is_a_constant) {
    rg_tensor w = rg_param(V(1, 2)), state = V(1, 1);
    for (int i = 0; i < 3; i++) { /* truncated backpropagation through time */
        RG_SCOPE(c);
        rg_assign(state, rg_mul(state, w));
        rg_tensor loss = rg_sum(state);
        rg_zero_grad(c);
        rg_backward(loss);
        rg_assign(w, rg_sub(w, rg_param_grad(w)));
        rg_realize_all(RG_TENSORS(w, state));
        CHECK_EQ(rg_status_of(c), 0);
    }
    IS(state, 0, -2);
}

/* ---- integers ------------------------------------------------------------------------------------------- */

CASE(integers_keep_no_history) {
    rg_tensor w = rg_param(V(1, 3, 2)), t = V(0, 0, 0);
    rg_realize(w);
    rg_tensor i = rg_argmax(rg_add(w, t), RG_AXES(0));
    IS(i, 1);
    uint64_t buffers = sem_usage(c).buffers;
    rg_free(t); /* only the history of i read it */
    CHECK_EQ(sem_usage(c).buffers, buffers - 1);
}

/* ---- RG_NO_GRAD ----------------------------------------------------------------------------------------- */

CASE(no_grad_leads_to_no_parameter) {
    rg_tensor w = rg_param(V(1, 2)), y, z;
    {
        RG_NO_GRAD(c);
        y = rg_mul(w, w);
        z = rg_add(y, rg_mul(w, 2));
    }
    rg_tensor loss = rg_sum(rg_mul(rg_add(y, z), w));
    IS(z, 3, 8);
    rg_backward(loss);
    IS(rg_param_grad(w), 4, 12); /* y + z: factors */
    rg_backward(rg_sum(z));
    FAILS(RG_EINVAL, "no parameter leads to the loss");
}
CASE(no_grad_equal_expressions_inside_and_outside) {
    rg_tensor w = rg_param(V(1, 2)), inside, outside = rg_mul(w, w);
    {
        RG_NO_GRAD(c);
        inside = rg_mul(w, w);
    }
    IS(inside, 1, 4);
    rg_backward(rg_sum(outside));
    IS(rg_param_grad(w), 2, 4);
}
CASE(no_grad_keeps_no_history) {
    rg_tensor w = rg_param(V(1, 2)), t = V(3, 4), y;
    rg_realize(w);
    {
        RG_NO_GRAD(c);
        y = rg_mul(rg_exp(rg_mul(t, 0)), w);
    }
    IS(y, 1, 2);
    uint64_t buffers = sem_usage(c).buffers;
    rg_free(t);
    CHECK_EQ(sem_usage(c).buffers, buffers - 1);
}
CASE(no_grad_nests_and_ends_with_the_block) {
    rg_tensor w = rg_param(V(1, 2));
    for (int i = 0; i < 2; i++) {
        RG_NO_GRAD(c);
        {
            RG_NO_GRAD(c);
            rg_mul(w, 2);
        }
        rg_backward(rg_sum(rg_mul(w, 2)));
        FAILS(RG_EINVAL, "no parameter");
        if (i == 1) break;
    }
    rg_scope old = rg_begin_no_grad(c);
    rg_end_no_grad(old);
    rg_scope now = rg_begin_no_grad(c);
    rg_end_no_grad(old); /* over already: ends nothing */
    rg_backward(rg_sum(w));
    FAILS(RG_EINVAL, "no parameter");
    rg_end_no_grad(now);
    rg_backward(rg_sum(rg_mul(w, 2)));
    IS(rg_param_grad(w), 2, 2);
}
CASE(no_grad_gradients_of_what_was_made_outside) {
    rg_tensor w = rg_param(V(1, 2)), loss = rg_sum(rg_mul(rg_mul(w, w), w)), g;
    {
        RG_NO_GRAD(c);
        rg_grad(loss, RG_TENSORS(w), &g);
    }
    IS(g, 3, 12);
    rg_backward(rg_sum(g)); /* it is a constant */
    FAILS(RG_EINVAL, "no parameter");
}
CASE(no_grad_manual_update) {
    rg_tensor w = rg_param(V(1, 2));
    for (int i = 0; i < 3; i++) {
        RG_SCOPE(c);
        rg_zero_grad(c);
        rg_backward(rg_sum(rg_mul(w, w)));
        RG_NO_GRAD(c);
        rg_assign(w, rg_sub(w, rg_mul(rg_param_grad(w), 0.25)));
        rg_realize(w);
    }
    IS(w, 0.125, 0.25);
}
