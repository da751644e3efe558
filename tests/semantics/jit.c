/* Semantics: replay. Each row calls a jit several times: the first call runs, the second records, later ones replay. */
#include "sem.h"

#include <math.h>

struct step {
    rg_ctx *c;
    rg_tensor w, m, lr;
    int runs; /* how often the function itself ran */
};

static rg_status twice(void *user, const rg_tensor *in, rg_tensor *out) {
    struct step *s = user;
    s->runs++;
    out[0] = rg_mul(in[0], 2);
    return RG_OK;
}
CASE(jit_replays_on_new_inputs) {
    struct step s = {.c = c};
    rg_jit *j = rg_jit_new(c, twice, &s, 1);
    for (int i = 0; i < 5; i++) {
        rg_tensor x = V(i, i + 1), y;
        CHECK_EQ(rg_jit_call(j, RG_TENSORS(x), &y), 0);
        IS(y, 2 * i, 2 * i + 2);
        IS(x, i, i + 1);
    }
    CHECK_EQ(s.runs, 2);
    rg_jit_stats st;
    CHECK_EQ(rg_jit_info(j, &st), 0);
    CHECK_EQ(st.calls, 5);
    CHECK_EQ(st.replays, 3);
}

CASE(jit_inputs_may_be_lazy_or_views) {
    struct step s = {.c = c};
    rg_jit *j = rg_jit_new(c, twice, &s, 1);
    rg_tensor y, m = M(2, 2, 1, 2, 3, 4);
    for (int i = 0; i < 4; i++) {
        CHECK_EQ(rg_jit_call(j, RG_TENSORS(rg_add(V(1, 2), i)), &y), 0);
        IS(y, 2 + 2 * i, 4 + 2 * i);
    }
    CHECK_EQ(rg_jit_call(j, RG_TENSORS(rg_select(m, 1, 0)), &y), 0);
    IS(y, 2, 6);
    CHECK_EQ(rg_jit_call(j, RG_TENSORS(rg_select(m, 0, 1)), &y), 0);
    IS(y, 6, 8);
}

/* Training and evaluation alternate: the second is recorded while results of the first's recording are there. */
CASE(jit_alternates_with_another) {
    struct step s = {.c = c}, t = {.c = c};
    rg_jit *j = rg_jit_new(c, twice, &s, 1), *k = rg_jit_new(c, twice, &t, 1);
    for (int i = 0; i < 4; i++) {
        rg_tensor y, z;
        CHECK_EQ(rg_jit_call(j, RG_TENSORS(V(i, 1)), &y), 0);
        CHECK_EQ(rg_jit_call(k, RG_TENSORS(y), &z), 0);
        IS(z, 4 * i, 4);
        IS(y, 2 * i, 2);
    }
    CHECK_EQ(s.runs, 2);
    CHECK_EQ(t.runs, 2);
}

/* w -= lr * w: a step that assigns. */
static rg_status decay(void *user, const rg_tensor *in, rg_tensor *out) {
    struct step *s = user;
    (void)in;
    s->runs++;
    out[0] = rg_sum(s->w);
    return rg_assign(s->w, rg_sub(s->w, rg_mul(s->w, s->lr)));
}
CASE(jit_assigns_in_each_call) {
    struct step s = {.c = c, .w = V(8, 16), .lr = rg_scalar(c, RG_F32, 0.5)};
    rg_jit *j = rg_jit_new(c, decay, &s, 1);
    rg_tensor y;
    for (int i = 0; i < 5; i++) {
        CHECK_EQ(rg_jit_call(j, (rg_tensors){0}, &y), 0);
        IS(y, 24 / pow(2, i));
    }
    IS(s.w, 8.0 / 32, 16.0 / 32);
    CHECK_EQ(s.runs, 2);
}

CASE(jit_scalars_have_their_present_value) {
    struct step s = {.c = c, .w = V(8, 16), .lr = rg_scalar(c, RG_F32, 0.5)};
    rg_jit *j = rg_jit_new(c, decay, &s, 1);
    rg_tensor y;
    for (int i = 0; i < 3; i++) CHECK_EQ(rg_jit_call(j, (rg_tensors){0}, &y), 0);
    IS(s.w, 1, 2);
    rg_set_scalar(s.lr, 0);
    CHECK_EQ(rg_jit_call(j, (rg_tensors){0}, &y), 0);
    IS(s.w, 1, 2);
    rg_set_scalar(s.lr, -1);
    CHECK_EQ(rg_jit_call(j, (rg_tensors){0}, &y), 0);
    IS(s.w, 2, 4);
}

/* A value that was read has memory; the recorded program takes the number all the same. */
CASE(jit_scalars_that_were_read_have_their_present_value) {
    const rg_dtype dt[] = {RG_F32, RG_F16};
    for (int n = 0; n < 2; n++) {
        struct step s = {.c = c, .w = V(8, 16), .lr = rg_scalar(c, dt[n], 0.5)};
        rg_jit *j = rg_jit_new(c, decay, &s, 1);
        rg_tensor y, same = rg_reshape(s.lr, RG_SHAPE(1));
        for (int i = 0; i < 3; i++) {
            CHECK_EQ(rg_item(s.lr), 0.5);
            CHECK_EQ(rg_item(same), 0.5);
            CHECK_EQ(rg_jit_call(j, (rg_tensors){0}, &y), 0);
        }
        IS(s.w, 1, 2);
        rg_set_scalar(s.lr, -1);
        CHECK_EQ(rg_jit_call(j, (rg_tensors){0}, &y), 0);
        IS(s.w, 2, 4);
    }
}

CASE(jit_input_may_be_a_scalar) {
    struct step s = {.c = c};
    rg_jit *j = rg_jit_new(c, twice, &s, 1);
    rg_tensor y, x = rg_scalar(c, RG_F32, 0), h = rg_scalar(c, RG_F16, 0);
    for (int i = 0; i < 5; i++) {
        CHECK_EQ(rg_set_scalar(x, i), 0);
        if (i % 2) CHECK_EQ(rg_item(x), i);
        CHECK_EQ(rg_jit_call(j, RG_TENSORS(x), &y), 0);
        IS(y, 2 * i);
    }
    CHECK_EQ(s.runs, 2);
    j = rg_jit_new(c, twice, &s, 1);
    for (int i = 0; i < 5; i++) {
        CHECK_EQ(rg_set_scalar(h, i), 0);
        if (i % 2) CHECK_EQ(rg_item(h), i);
        CHECK_EQ(rg_jit_call(j, RG_TENSORS(h), &y), 0);
        IS(rg_cast(y, RG_F32), 2 * i);
    }
}

CASE(jit_sees_what_was_assigned_between_calls) {
    struct step s = {.c = c, .w = V(8, 16), .lr = rg_scalar(c, RG_F32, 0.5)};
    rg_jit *j = rg_jit_new(c, decay, &s, 1);
    rg_tensor y;
    for (int i = 0; i < 6; i++) {
        rg_assign(s.w, rg_mul(V(2, 4), i + 1)); /* from outside, each time */
        CHECK_EQ(rg_jit_call(j, (rg_tensors){0}, &y), 0);
        IS(y, 6 * (i + 1));
        IS(s.w, i + 1, 2 * (i + 1));
    }
}

CASE(jit_follows_a_tensor_that_moved) {
    struct step s = {.c = c, .w = V(8, 16), .lr = rg_scalar(c, RG_F32, 0.5)};
    rg_jit *j = rg_jit_new(c, decay, &s, 1);
    rg_tensor y;
    for (int i = 0; i < 3; i++) CHECK_EQ(rg_jit_call(j, (rg_tensors){0}, &y), 0);
    rg_tensor view = rg_flip(s.w, RG_AXES(0)); /* keeps the old value: the new one goes elsewhere */
    rg_assign(s.w, V(64, 32));
    IS(s.w, 64, 32);
    CHECK_EQ(rg_jit_call(j, (rg_tensors){0}, &y), 0);
    IS(y, 96);
    IS(s.w, 32, 16);
    IS(view, 2, 1);
    CHECK_EQ(rg_jit_call(j, (rg_tensors){0}, &y), 0);
    IS(s.w, 16, 8);
}

CASE(jit_follows_a_tensor_that_moved_while_nothing_waits) {
    struct step s = {.c = c, .w = V(8, 16), .lr = rg_scalar(c, RG_F32, 0.5)};
    rg_jit *j = rg_jit_new(c, decay, &s, 1);
    rg_tensor y;
    for (int i = 0; i < 3; i++) CHECK_EQ(rg_jit_call(j, (rg_tensors){0}, &y), 0);
    rg_tensor view = rg_flip(s.w, RG_AXES(0));
    rg_assign(s.w, V(64, 32));
    IS(s.w, 64, 32);
    rg_free(view);
    rg_collect(c);
    CHECK_EQ(rg_jit_call(j, (rg_tensors){0}, &y), 0);
    IS(y, 96);
    IS(s.w, 32, 16);
}

CASE(jit_leaves_gradients_of_what_it_assigns) {
    struct step s = {.c = c, .w = rg_param(V(8, 16)), .lr = rg_scalar(c, RG_F32, 0.5)};
    rg_jit *j = rg_jit_new(c, decay, &s, 1);
    rg_tensor y;
    for (int i = 0; i < 5; i++) {
        rg_zero_grad(c);
        rg_backward(rg_sum(rg_square(s.w)));
        CHECK_EQ(rg_jit_call(j, (rg_tensors){0}, &y), 0);
        IS(rg_param_grad(s.w), 16 / pow(2, i), 32 / pow(2, i));
        IS(s.w, 8 / pow(2, i + 1), 16 / pow(2, i + 1));
    }
}

CASE(jit_leaves_tensors_made_before_as_they_were) {
    struct step s = {.c = c, .w = V(8, 16), .lr = rg_scalar(c, RG_F32, 0.5)};
    rg_jit *j = rg_jit_new(c, decay, &s, 1);
    rg_tensor y, lazy[6], view[6];
    for (int i = 0; i < 6; i++) { /* before the first, the recorded and replayed calls */
        lazy[i] = rg_add(s.w, 1), view[i] = rg_reshape(s.w, RG_SHAPE(2, 1));
        CHECK_EQ(rg_jit_call(j, (rg_tensors){0}, &y), 0);
    }
    for (int i = 0; i < 6; i++) {
        double w = 8 / pow(2, i);
        IS(lazy[i], w + 1, 2 * w + 1);
        IS(view[i], w, 2 * w);
    }
}

CASE(jit_same_expression_after_a_replay_is_computed_anew) {
    struct step s = {.c = c, .w = V(8, 16), .lr = rg_scalar(c, RG_F32, 0.5)};
    rg_jit *j = rg_jit_new(c, decay, &s, 1);
    rg_tensor y;
    for (int i = 0; i < 6; i++) {
        CHECK_EQ(rg_jit_call(j, (rg_tensors){0}, &y), 0);
        rg_tensor t = rg_sum(rg_mul(s.w, 3));
        IS(t, 72 / pow(2, i + 1));
        IS(rg_sum(rg_mul(y, 2)), 48 / pow(2, i));
    }
}

CASE(jit_outputs_are_stale_after_the_next_call) {
    struct step s = {.c = c};
    rg_jit *j = rg_jit_new(c, twice, &s, 1);
    rg_tensor y[5], copy[5];
    for (int i = 0; i < 5; i++) {
        CHECK_EQ(rg_jit_call(j, RG_TENSORS(V(i, 1)), &y[i]), 0);
        copy[i] = rg_contiguous(y[i]); /* lazy: computed before the next call overwrites it */
    }
    for (int i = 0; i < 5; i++) IS(copy[i], 2 * i, 2);
    IS(y[4], 8, 2);
    for (int i = 0; i < 4; i++) {
        rg_neg(y[i]);
        FAILS(RG_EINVAL, "stale");
    }
    rg_tensor last = y[4];
    CHECK_EQ(rg_jit_call(j, RG_TENSORS(V(9, 1)), &y[0]), 0);
    rg_free(y[0]);
    rg_neg(last);
    FAILS(RG_EINVAL, "stale|rg_jit_call|rg_contiguous");
}

static rg_status feed(void *user, const rg_tensor *in, rg_tensor *out) {
    struct step *s = user;
    s->runs++;
    rg_assign(s->w, rg_add(s->w, in[0]));
    out[0] = rg_sum(in[0]);
    return RG_OK;
}
CASE(jit_input_that_the_step_writes) {
    struct step s = {.c = c, .w = V(1, 2)};
    rg_jit *j = rg_jit_new(c, feed, &s, 1);
    rg_tensor y;
    for (int i = 0; i < 5; i++) { /* w += w */
        CHECK_EQ(rg_jit_call(j, RG_TENSORS(s.w), &y), 0);
        IS(y, 3 * pow(2, i));
        IS(s.w, pow(2, i + 1), 2 * pow(2, i + 1));
    }
    CHECK_EQ(rg_jit_call(j, RG_TENSORS(V(-1, -1)), &y), 0);
    IS(s.w, 31, 63);
}

/* The state is written before the input is read. */
static rg_status feed_late(void *user, const rg_tensor *in, rg_tensor *out) {
    struct step *s = user;
    rg_assign(s->w, rg_add(s->w, 1));
    rg_realize(s->w);
    out[0] = rg_mul(in[0], 2);
    return RG_OK;
}
CASE(jit_input_that_is_read_after_the_step_wrote_it) {
    struct step s = {.c = c, .w = V(1, 2)};
    rg_jit *j = rg_jit_new(c, feed_late, &s, 1);
    rg_tensor y;
    for (int i = 0; i < 5; i++) {
        CHECK_EQ(rg_jit_call(j, RG_TENSORS(s.w), &y), 0);
        IS(y, 2 * (i + 1), 2 * (i + 2));
        IS(s.w, i + 2, i + 3);
    }
}

static rg_status writes_input(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)user;
    rg_assign(in[0], rg_mul(in[0], 10));
    out[0] = rg_add(in[0], 1);
    return RG_OK;
}
CASE(jit_function_has_its_own_handles_for_inputs) {
    rg_jit *j = rg_jit_new(c, writes_input, NULL, 1);
    for (int i = 0; i < 4; i++) {
        rg_tensor x = V(i, 2), y;
        CHECK_EQ(rg_jit_call(j, RG_TENSORS(x), &y), 0);
        IS(y, 10 * i + 1, 21);
        IS(x, i, 2);
    }
}

CASE(jit_output_fed_back_as_input) {
    struct step s = {.c = c};
    rg_jit *j = rg_jit_new(c, twice, &s, 1);
    rg_tensor x = V(1, 3);
    for (int i = 0; i < 5; i++) {
        rg_tensor y;
        CHECK_EQ(rg_jit_call(j, RG_TENSORS(x), &y), 0);
        x = rg_contiguous(y);
    }
    IS(x, 32, 96);
}

CASE(jit_refuses_another_shape_or_dtype) {
    struct step s = {.c = c};
    rg_jit *j = rg_jit_new(c, twice, &s, 1);
    rg_tensor y;
    for (int i = 0; i < 3; i++) CHECK_EQ(rg_jit_call(j, RG_TENSORS(V(1, 2)), &y), 0);
    CHECK_EQ(rg_jit_call(j, RG_TENSORS(V(1, 2, 3)), &y), RG_EINVAL);
    FAILS(RG_EINVAL, "input 1 is f32 (3)|recorded as f32 (2)|rg_jit");
    CHECK_EQ(rg_jit_call(j, RG_TENSORS(VI(1, 2)), &y), RG_EINVAL);
    FAILS(RG_EINVAL, "i32");
    CHECK_EQ(rg_jit_call(j, RG_TENSORS(V(1, 2), V(1, 2)), &y), RG_EINVAL);
    FAILS(RG_EINVAL, "2 inputs|recorded with 1");
    CHECK_EQ(rg_jit_call(j, RG_TENSORS(V(5, 6)), &y), 0); /* goes on as before */
    IS(y, 10, 12);
}

static rg_status reads(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)user;
    out[0] = rg_mul(in[0], rg_item(rg_sum(in[0])));
    return rg_status_of(rg_ctx_of(in[0]));
}
CASE(jit_reading_while_recording_is_an_error) {
    rg_jit *j = rg_jit_new(c, reads, NULL, 1);
    rg_tensor y;
    CHECK_EQ(rg_jit_call(j, RG_TENSORS(V(1, 2)), &y), 0);
    IS(y, 3, 6);
    CHECK_EQ(rg_jit_call(j, RG_TENSORS(V(1, 2)), &y), RG_EINVAL);
    FAILS(RG_EINVAL, "rg_item|recorded|output");
}

static rg_status fresh_state(void *user, const rg_tensor *in, rg_tensor *out) {
    struct step *s = user;
    if (s->runs++ == 1) s->m = rg_param(rg_zeros(s->c, RG_F32, RG_SHAPE(2)));
    out[0] = rg_add(in[0], s->m.id ? s->m : in[0]);
    return rg_status_of(s->c);
}
CASE(jit_state_made_while_recording_is_an_error) {
    struct step s = {.c = c};
    rg_jit *j = rg_jit_new(c, fresh_state, &s, 1);
    rg_tensor y;
    CHECK_EQ(rg_jit_call(j, RG_TENSORS(V(1, 2)), &y), 0);
    CHECK_EQ(rg_jit_call(j, RG_TENSORS(V(1, 2)), &y), RG_EINVAL);
    FAILS(RG_EINVAL, "rg_param|each replay");
}

static rg_status keeps(void *user, const rg_tensor *in, rg_tensor *out) {
    struct step *s = user;
    out[0] = rg_neg(in[0]);
    s->m = rg_keep(rg_abs(in[0]));
    return RG_OK;
}
CASE(jit_keeping_a_tensor_of_the_recording_is_an_error) {
    struct step s = {.c = c};
    rg_jit *j = rg_jit_new(c, keeps, &s, 1);
    rg_tensor y;
    CHECK_EQ(rg_jit_call(j, RG_TENSORS(V(1, -2)), &y), 0);
    IS(s.m, 1, 2);
    CHECK_EQ(rg_jit_call(j, RG_TENSORS(V(1, 2)), &y), RG_EINVAL);
    FAILS(RG_EINVAL, "rg_abs|output");
}

static rg_status two_realizes(void *user, const rg_tensor *in, rg_tensor *out) {
    struct step *s = user;
    rg_tensor a = rg_square(in[0]);
    rg_realize(a);
    rg_assign(s->w, rg_add(s->w, a));
    rg_realize(s->w);
    out[0] = rg_sum(a);
    out[1] = rg_add(s->w, 0.5);
    return RG_OK;
}
CASE(jit_function_may_realize) {
    struct step s = {.c = c, .w = V(0, 0)};
    rg_jit *j = rg_jit_new(c, two_realizes, &s, 2);
    rg_tensor y[2];
    double w = 0;
    for (int i = 0; i < 5; i++) {
        CHECK_EQ(rg_jit_call(j, RG_TENSORS(V(i, 1)), y), 0);
        w += i * i;
        IS(y[0], i * i + 1);
        IS(y[1], w + 0.5, i + 1.5);
        IS(s.w, w, i + 1);
    }
}

static rg_status fails(void *user, const rg_tensor *in, rg_tensor *out) {
    struct step *s = user;
    out[0] = rg_neg(in[0]);
    return s->runs++ == 1 ? RG_ELIMIT : RG_OK;
}
CASE(jit_function_that_stops_is_asked_again) {
    struct step s = {.c = c};
    rg_jit *j = rg_jit_new(c, fails, &s, 1);
    rg_tensor y;
    CHECK_EQ(rg_jit_call(j, RG_TENSORS(V(1, 2)), &y), 0);
    CHECK_EQ(rg_jit_call(j, RG_TENSORS(V(1, 2)), &y), RG_ELIMIT);
    CHECK_EQ(rg_status_of(c), 0);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(rg_jit_call(j, RG_TENSORS(V(i, 2)), &y), 0);
        IS(y, -i, -2);
    }
    CHECK_EQ(s.runs, 3);
}

static rg_status train(void *user, const rg_tensor *in, rg_tensor *out) {
    struct step *s = user;
    rg_tensor loss = rg_mean(rg_square(rg_sub(rg_matmul(in[0], s->w), in[1])));
    rg_backward(loss);
    rg_tensor g = rg_param_grad(s->w);
    rg_assign(s->m, rg_add(rg_mul(s->m, 0.5), g)); /* momentum */
    rg_assign(s->w, rg_sub(s->w, rg_mul(s->m, s->lr)));
    rg_zero_grad(s->c);
    out[0] = loss;
    return RG_OK;
}
/* The same steps without a jit. */
CASE(jit_training_is_what_it_is_without) {
    rg_tensor x = M(3, 2, 1, 2, 3, 4, 5, 6), t = V(1, 2, 4);
    double loss[2][6], w[2][2];
    for (int jit = 0; jit < 2; jit++) {
        struct step s = {
            .c = c, .w = rg_param(V(0.5, -0.5)), .m = rg_contiguous(rg_zeros(c, RG_F32, RG_SHAPE(2)))};
        s.lr = rg_scalar(c, RG_F32, 0.01);
        rg_jit *j = rg_jit_new(c, train, &s, 1);
        for (int i = 0; i < 6; i++) {
            rg_tensor out;
            rg_set_scalar(s.lr, i < 3 ? 0.01 : 0.005);
            RG_SCOPE(c);
            if (jit)
                CHECK_EQ(rg_jit_call(j, RG_TENSORS(x, t), &out), 0);
            else
                CHECK_EQ(train(&s, (rg_tensor[]){x, t}, &out), 0);
            loss[jit][i] = rg_item(out);
        }
        float v[2];
        CHECK_EQ(rg_read(s.w, v, sizeof v), 0);
        w[jit][0] = v[0], w[jit][1] = v[1];
        rg_jit_free(j);
        rg_free(s.w);
    }
    for (int i = 0; i < 6; i++) CHECK(fabs(loss[0][i] - loss[1][i]) <= 1e-6);
    CHECK(loss[0][5] < loss[0][0]);
    CHECK(fabs(w[0][0] - w[1][0]) <= 1e-6 && fabs(w[0][1] - w[1][1]) <= 1e-6);
}

static rg_status drops(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)user;
    out[0] = rg_dropout(in[0], 0.5);
    out[1] = rg_rand(rg_ctx_of(in[0]), RG_F32, RG_SHAPE(3));
    return RG_OK;
}
CASE(jit_random_numbers_differ_in_each_replay) {
    float v[2][6][64], r[6][3];
    for (int again = 0; again < 2; again++) {
        rg_seed(c, 7);
        rg_jit *j = rg_jit_new(c, drops, NULL, 2);
        for (int i = 0; i < 6; i++) {
            rg_tensor y[2];
            CHECK_EQ(rg_jit_call(j, RG_TENSORS(rg_ones(c, RG_F32, RG_SHAPE(64))), y), 0);
            CHECK_EQ(rg_read(y[0], v[again][i], sizeof v[again][i]), 0);
            CHECK_EQ(rg_read(y[1], r[i], sizeof r[i]), 0);
            for (int k = 0; k < i; k++) {
                CHECK(memcmp(v[again][i], v[again][k], sizeof v[again][i]) != 0);
                CHECK(r[i][0] != r[k][0]);
            }
        }
        rg_jit_free(j);
    }
    CHECK(!memcmp(v[0], v[1], sizeof v[0])); /* and are the same for a seed, with and without replay */
    rg_seed(c, 7);
    for (int i = 0; i < 4; i++) {
        rg_tensor y[2];
        float w[64];
        CHECK_EQ(drops(NULL, (rg_tensor[]){rg_ones(c, RG_F32, RG_SHAPE(64))}, y), 0);
        CHECK_EQ(rg_read(y[0], w, sizeof w), 0);
        CHECK(!memcmp(w, v[0][i], sizeof w));
    }
}

static rg_status nested(void *user, const rg_tensor *in, rg_tensor *out) {
    return rg_jit_call(user, RG_TENSORS(in[0]), out);
}
CASE(jit_inside_a_jit_is_an_error) {
    struct step s = {.c = c};
    rg_jit *inner = rg_jit_new(c, twice, &s, 1), *outer = rg_jit_new(c, nested, inner, 1);
    rg_tensor y;
    CHECK_EQ(rg_jit_call(outer, RG_TENSORS(V(1, 2)), &y), 0);
    IS(y, 2, 4);
    CHECK_EQ(rg_jit_call(outer, RG_TENSORS(V(1, 2)), &y), RG_EINVAL);
    FAILS(RG_EINVAL, "rg_jit_call|recorded");
}

CASE(jit_freed_while_outputs_live) {
    struct step s = {.c = c};
    rg_jit *j = rg_jit_new(c, twice, &s, 1);
    rg_tensor y;
    for (int i = 0; i < 3; i++) CHECK_EQ(rg_jit_call(j, RG_TENSORS(V(i, 2)), &y), 0);
    rg_jit_free(j);
    rg_neg(y);
    FAILS(RG_EINVAL, "stale");
    rg_jit_free(NULL);
    CHECK_EQ(rg_jit_call(NULL, (rg_tensors){0}, &y), RG_EINVAL);
}

static rg_status gives_state(void *user, const rg_tensor *in, rg_tensor *out) {
    struct step *s = user;
    rg_assign(s->w, rg_add(s->w, in[0]));
    out[0] = s->w, out[1] = in[0], out[2] = rg_number(s->c, RG_F32, 7);
    return RG_OK;
}
CASE(jit_outputs_may_be_state_inputs_and_numbers) {
    struct step s = {.c = c, .w = V(1, 1)};
    rg_jit *j = rg_jit_new(c, gives_state, &s, 3);
    rg_tensor y[3];
    for (int i = 1; i < 6; i++) {
        CHECK_EQ(rg_jit_call(j, RG_TENSORS(V(1, 2)), y), 0);
        IS(y[0], 1 + i, 1 + 2 * i);
        IS(y[1], 1, 2);
        IS(y[2], 7);
        rg_assign(s.w, rg_add(s.w, 0));
        IS(s.w, 1 + i, 1 + 2 * i);
    }
}
