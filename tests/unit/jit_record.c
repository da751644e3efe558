/* jit_record.c: what the recording call of a jit computes and how much memory it takes: what the function asks for and no
 * more. Counts of bytes and kernels, by rg_stats. */
#include <ridge.h>
#include <test.h>

#include <math.h>

enum { MB = 1 << 20 };

struct work {
    rg_tensor w, t;
};

static rg_usage usage(rg_ctx *c) {
    rg_usage u;
    CHECK_EQ(rg_stats(c, &u), 0);
    return u;
}
static rg_tensor ramp(rg_ctx *c, int64_t n) {
    rg_tensor x = rg_contiguous(rg_arange(c, RG_F32, 0, (double)n, 1));
    rg_realize(x);
    return x;
}

static rg_status twice(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)user;
    out[0] = rg_sum(rg_mul(in[0], 2));
    return RG_OK;
}
TEST(jit_record_copies_no_input) {
    rg_ctx *c = rg_open("CPU");
    rg_jit *j = rg_jit_new(c, twice, NULL, 1);
    rg_tensor x = ramp(c, 4 * MB), z = rg_add(ramp(c, 4 * MB), 1), y;
    rg_realize(z);
    CHECK_EQ(rg_jit_call(j, RG_TENSORS(x), &y), 0);
    rg_usage before = usage(c);
    CHECK_EQ(rg_jit_call(j, RG_TENSORS(x), &y), 0);
    rg_usage after = usage(c);
    CHECK_EQ(after.buffers, before.buffers);
    CHECK_EQ(after.bytes, before.bytes);
    CHECK_EQ(after.peak, before.peak);
    CHECK_EQ(rg_jit_call(j, RG_TENSORS(z), &y), 0);
    double n = 4.0 * MB;
    CHECK(fabs(rg_item(y) / (n * (n - 1) + 2 * n) - 1) < 1e-3);
    rg_free(z);
    CHECK_EQ(usage(c).bytes, before.bytes - 16 * MB);
    CHECK_EQ(rg_close(c), 0);
}

/* An input that the call also assigns: the one case with a copy. */
static rg_status shift(void *user, const rg_tensor *in, rg_tensor *out) {
    struct work *k = user;
    rg_assign(k->w, rg_add(k->w, 1));
    out[0] = rg_sub(k->w, in[0]);
    return RG_OK;
}
TEST(jit_record_copies_an_input_that_it_writes) {
    rg_ctx *c = rg_open("CPU");
    struct work k = {.w = ramp(c, 100)};
    rg_jit *j = rg_jit_new(c, shift, &k, 1);
    for (int i = 0; i < 5; i++) {
        rg_tensor y;
        CHECK_EQ(rg_jit_call(j, RG_TENSORS(k.w), &y), 0);
        CHECK_EQ(rg_item(rg_sum(y)), 100);
    }
    CHECK_EQ(rg_item(rg_sum(k.w)), 4950 + 500);
    CHECK_EQ(rg_close(c), 0);
}

/* Freed inside the function, an input is there until the call ends. */
static rg_status free_input(void *user, const rg_tensor *in, rg_tensor *out) {
    struct work *k = user;
    rg_free(k->t);
    rg_tensor h = rg_mul(in[0], 2);
    rg_realize(h);
    out[0] = rg_add(h, in[0]);
    return RG_OK;
}
TEST(jit_record_holds_its_inputs) {
    rg_ctx *c = rg_open("CPU");
    struct work k;
    rg_jit *j = rg_jit_new(c, free_input, &k, 1);
    for (int i = 0; i < 4; i++) {
        rg_tensor y;
        k.t = ramp(c, 10);
        CHECK_EQ(rg_jit_call(j, RG_TENSORS(k.t), &y), 0);
        CHECK_EQ(rg_item(rg_sum(y)), 135);
        rg_free(k.t);
    }
    CHECK_EQ(rg_close(c), 0);
}

/* ---- tensors from outside --------------------------------------------------------------------------------- */

TEST(jit_record_leaves_lazy_tensors_alone) {
    rg_ctx *c = rg_open("CPU");
    rg_jit *j = rg_jit_new(c, twice, NULL, 1);
    rg_tensor x = ramp(c, 10), y, big = ramp(c, MB);
    rg_tensor lazy = rg_exp(rg_mul(big, 0)), view = rg_reshape(big, RG_SHAPE(2, MB / 2)),
              of_view = rg_sum(view, RG_AXES(0));
    CHECK_EQ(rg_jit_call(j, RG_TENSORS(x), &y), 0);
    rg_usage before = usage(c);
    for (int i = 0; i < 4; i++) CHECK_EQ(rg_jit_call(j, RG_TENSORS(x), &y), 0);
    CHECK_EQ(rg_item(y), 90);
    rg_usage after = usage(c);
    CHECK_EQ(after.bytes, before.bytes);
    CHECK_EQ(after.peak, before.peak);
    rg_jit_stats st;
    CHECK_EQ(rg_jit_info(j, &st), 0);
    CHECK_EQ(after.kernels - before.kernels, 4 * st.kernels);
    CHECK_EQ(st.nodes, 0); /* a replay makes nothing, also while something lazy is alive */
    CHECK_EQ(rg_item(rg_sum(lazy)), MB);
    CHECK(rg_item(rg_max(of_view)) == 3.0 * MB / 2 - 2);
    CHECK_EQ(rg_close(c), 0);
}

/* What it reads of them is computed once and is not part of the recording. */
static rg_status use_outer(void *user, const rg_tensor *in, rg_tensor *out) {
    struct work *k = user;
    out[0] = rg_add(in[0], k->t);
    return RG_OK;
}
TEST(jit_record_computes_what_it_reads_once) {
    rg_ctx *c = rg_open("CPU");
    struct work k = {.w = ramp(c, 3)};
    k.t = rg_mul(rg_exp(rg_mul(k.w, 0)), 5);
    rg_tensor twin = rg_mul(rg_exp(rg_mul(k.w, 0)), 5), y;
    rg_jit *j = rg_jit_new(c, use_outer, &k, 1);
    uint64_t before = usage(c).kernels;
    for (int i = 0; i < 5; i++) {
        CHECK_EQ(rg_jit_call(j, RG_TENSORS(k.w), &y), 0);
        CHECK_EQ(rg_item(rg_sum(y)), 18);
    }
    CHECK_EQ(rg_item(rg_sum(twin)), 15);
    rg_jit_stats st;
    CHECK_EQ(rg_jit_info(j, &st), 0);
    CHECK_EQ(st.kernels, 1);
    CHECK(usage(c).kernels - before <= 5 + 6 + 2); /* calls, sums, and the value: once or twice */
    CHECK_EQ(rg_assign(k.t, 1), 0);
    CHECK_EQ(rg_jit_call(j, RG_TENSORS(k.w), &y), 0);
    CHECK_EQ(rg_item(rg_sum(y)), 6);
    CHECK_EQ(rg_close(c), 0);
}

/* The same expression outside, computed and alive: the recording has its own computation. */
static rg_status square(void *user, const rg_tensor *in, rg_tensor *out) {
    struct work *k = user;
    (void)in;
    out[0] = rg_mul(k->w, k->w);
    return RG_OK;
}
TEST(jit_record_does_not_take_values_from_outside) {
    for (int param = 0; param < 2; param++)
        for (int lazy = 0; lazy < 2; lazy++) {
            rg_ctx *c = rg_open("CPU");
            struct work k = {.w = param ? rg_param(ramp(c, 3)) : ramp(c, 3)};
            rg_tensor outside = rg_mul(k.w, k.w), y;
            if (!lazy) rg_realize(outside);
            rg_jit *j = rg_jit_new(c, square, &k, 1);
            for (int i = 0; i < 3; i++) CHECK_EQ(rg_jit_call(j, (rg_tensors){0}, &y), 0);
            CHECK_EQ(rg_assign(k.w, 3), 0);
            CHECK_EQ(rg_jit_call(j, (rg_tensors){0}, &y), 0);
            CHECK_EQ(rg_item(rg_sum(y)), 27);
            CHECK_EQ(rg_item(rg_sum(outside)), 5);
            CHECK_EQ(rg_close(c), 0);
        }
}

/* What the recording overwrites is read first by those who need the old value. */
static rg_status count(void *user, const rg_tensor *in, rg_tensor *out) {
    struct work *k = user;
    (void)in;
    rg_assign(k->w, rg_add(k->w, 1));
    out[0] = rg_sum(k->w);
    return RG_OK;
}
TEST(jit_record_computes_what_needs_old_values_first) {
    rg_ctx *c = rg_open("CPU");
    struct work k = {.w = ramp(c, 3)};
    rg_tensor y, other = ramp(c, 3), unused = rg_exp(other);
    rg_jit *j = rg_jit_new(c, count, &k, 1);
    CHECK_EQ(rg_jit_call(j, (rg_tensors){0}, &y), 0);
    rg_tensor old = rg_mul(k.w, 10), view = rg_flip(k.w, RG_AXES(0));
    for (int i = 0; i < 3; i++) CHECK_EQ(rg_jit_call(j, (rg_tensors){0}, &y), 0);
    CHECK_EQ(rg_item(y), 3 + 12);
    CHECK_EQ(rg_item(rg_sum(old)), 60);
    CHECK_EQ(rg_item(rg_sum(rg_mul(view, view))), 14);
    CHECK(rg_item(rg_sum(unused)) > 11);
    CHECK_EQ(rg_close(c), 0);
}

/* ---- gradients -------------------------------------------------------------------------------------------- */

/* Gradients that are not zeroed accumulate and outlive the call, with the inputs that they read. */
static rg_status backward(void *user, const rg_tensor *in, rg_tensor *out) {
    struct work *k = user;
    out[0] = rg_sum(rg_mul(rg_mul(k->w, k->w), in[0]));
    return rg_backward(out[0]);
}
TEST(jit_record_leaves_gradients) {
    rg_ctx *c = rg_open("CPU");
    struct work k = {.w = rg_param(ramp(c, 3))};
    rg_jit *j = rg_jit_new(c, backward, &k, 1);
    for (int i = 0; i < 2; i++) {
        rg_tensor x = ramp(c, 3), y;
        CHECK_EQ(rg_jit_call(j, RG_TENSORS(x), &y), 0);
        rg_free(x);
    }
    CHECK_EQ(rg_item(rg_sum(rg_param_grad(k.w))), 2 * 10);
    CHECK_EQ(rg_close(c), 0);
}

static rg_status through_outer(void *user, const rg_tensor *in, rg_tensor *out) {
    struct work *k = user;
    out[0] = rg_sum(rg_mul(rg_mul(k->t, k->w), in[0]));
    return rg_backward(out[0]);
}
TEST(jit_record_gradient_through_a_tensor_from_outside_is_an_error) {
    rg_ctx *c = rg_open("CPU");
    struct work k = {.w = rg_param(ramp(c, 3))};
    k.t = rg_exp(k.w);
    rg_jit *j = rg_jit_new(c, through_outer, &k, 1);
    rg_tensor x = ramp(c, 3), y;
    CHECK_EQ(rg_jit_call(j, RG_TENSORS(x), &y), 0);
    CHECK_EQ(rg_jit_call(j, RG_TENSORS(x), &y), RG_EINVAL);
    CHECK(strstr(rg_error(c), "rg_exp") && strstr(rg_error(c), "rg_detach"));
    CHECK_EQ(rg_clear_error(c), 0);
    rg_zero_grad(c);
    CHECK_EQ(rg_backward(rg_sum(k.t)), 0); /* outside it still has its history */
    CHECK(fabs(rg_item(rg_sum(rg_param_grad(k.w))) - (1 + exp(1) + exp(2))) < 1e-4);
    CHECK_EQ(rg_close(c), 0);
}
