/* jit.c: what a replay does not do: it makes no nodes, allocates nothing, and memory stays as it is; and what kernels
 * cost, as rg_kernels tells it. What replays mean is tests/semantics/jit.c. */
#include "base/base.h"

#include <ridge.h>
#include <test.h>

#include <math.h>
#include <stdlib.h>

struct net {
    rg_ctx *c;
    rg_tensor w[2], m[2], lr;
};

static rg_status step(void *user, const rg_tensor *in, rg_tensor *out) {
    struct net *n = user;
    rg_tensor h = rg_relu(rg_matmul(in[0], n->w[0]));
    rg_tensor loss = rg_mean(rg_square(rg_sub(rg_matmul(h, n->w[1]), in[1])));
    rg_backward(loss);
    for (int i = 0; i < 2; i++) {
        rg_assign(n->m[i], rg_add(rg_mul(n->m[i], 0.9), rg_param_grad(n->w[i])));
        rg_assign(n->w[i], rg_sub(n->w[i], rg_mul(n->m[i], n->lr)));
    }
    rg_zero_grad(n->c);
    out[0] = loss;
    return RG_OK;
}

static float ramp(int i) { return (float)((i * 37) % 101) / 101 - 0.5f; }

static rg_tensor ramps(rg_ctx *c, int64_t rows, int64_t cols) {
    float *p = malloc((size_t)(rows * cols) * sizeof *p);
    for (int i = 0; i < rows * cols; i++) p[i] = ramp(i);
    rg_tensor t = rg_from(c, RG_F32, p, RG_SHAPE(rows, cols));
    free(p);
    return t;
}

static void net_open(struct net *n) {
    rg_ctx *c = n->c = rg_open("CPU");
    n->w[0] = rg_param(ramps(c, 16, 32)), n->w[1] = rg_param(ramps(c, 32, 4));
    n->m[0] = rg_contiguous(rg_zeros(c, RG_F32, RG_SHAPE(16, 32)));
    n->m[1] = rg_contiguous(rg_zeros(c, RG_F32, RG_SHAPE(32, 4)));
    n->lr = rg_scalar(c, RG_F32, 0.01);
    CHECK_EQ(rg_realize_all(RG_TENSORS(n->m[0], n->m[1])), 0);
}

TEST(jit_replay_makes_nothing) {
    struct net n;
    net_open(&n);
    rg_ctx *c = n.c;
    rg_tensor x = ramps(c, 8, 16), t = ramps(c, 8, 4), loss;
    rg_jit *j = rg_jit_new(c, step, &n, 1);
    rg_jit_stats st;
    double first = 0, last = 0;
    for (int i = 0; i < 10; i++) {
        CHECK_EQ(rg_jit_call(j, RG_TENSORS(x, t), &loss), 0);
        CHECK_EQ(rg_jit_info(j, &st), 0);
        last = rg_item(loss);
        if (!i) first = last;
        if (i < 3) continue; /* the first replay gives new names to what was recorded */
        CHECK_EQ(st.nodes, 0);
        CHECK_EQ(st.allocations, 0);
    }
    CHECK(last < first);
    CHECK(st.kernels > 2 && st.bytes > 0 && st.ops > 0);
    CHECK_EQ(st.replays, 8);
    CHECK_EQ(rg_close(c), 0);
}

struct rnn {
    rg_tensor w, u, z;
    int steps;
};

/* An unrolled recurrence and the gradients of its weights, which every step adds to. */
static rg_status rnn_step(void *user, const rg_tensor *in, rg_tensor *out) {
    struct rnn *r = user;
    rg_tensor h = rg_mul(rg_narrow(in[0], 0, 0, 1), 0.0);
    for (int t = 0; t < r->steps; t++) {
        rg_tensor x = rg_narrow(in[0], 0, t, 1), mix = rg_sigmoid(rg_matmul(h, r->z));
        rg_tensor next = rg_tanh(rg_add(rg_matmul(x, r->w), rg_matmul(h, r->u)));
        h = rg_add(rg_mul(mix, h), rg_mul(rg_sub(1.0, mix), next));
    }
    rg_grad(rg_sum(rg_square(h)), RG_TENSORS(r->w, r->u, r->z), out);
    return RG_OK;
}

/* Recording gives inputs other memory; the program, and so its plan, must not depend on it. */
TEST(jit_second_call_of_an_rnn_plans_nothing) {
    for (int steps = 2; steps <= 16; steps *= 2) {
        rg_ctx *c = rg_open("NULL");
        struct rnn r = {ramps(c, 16, 16), ramps(c, 16, 16), ramps(c, 16, 16), steps};
        rg_tensor x = ramps(c, 16, 16), g[3];
        rg_jit *j = rg_jit_new(c, rnn_step, &r, 3);
        rg_usage before, after;
        CHECK_EQ(rg_jit_call(j, RG_TENSORS(x), g), 0);
        CHECK_EQ(rg_stats(c, &before), 0);
        CHECK_EQ(rg_jit_call(j, RG_TENSORS(x), g), 0);
        CHECK_EQ(rg_stats(c, &after), 0);
        CHECK_EQ(after.cached - before.cached, after.realizes - before.realizes);
        CHECK(after.realizes > before.realizes);
        CHECK_EQ(rg_close(c), 0);
    }
}

enum { GRU_BATCH = 4, GRU_WIDTH = 8 };

static rg_tensor part_of(rg_tensor x, int k) { return rg_narrow(x, 1, k * GRU_WIDTH, GRU_WIDTH); }

struct gru {
    rg_tensor par[4]; /* weights and biases of input and state */
    int steps, kind;  /* kind: what the parameters are */
};
enum { GRU_INPUTS, GRU_PARAMS, GRU_BACKWARD, GRU_STATES, GRU_KINDS };

/* Outputs: the loss, and the gradients of both weights and both biases. */
static rg_status gru_step(void *user, const rg_tensor *in, rg_tensor *out) {
    struct gru *r = user;
    const rg_tensor *p = r->kind == GRU_INPUTS ? in + 1 : r->par;
    rg_tensor h = rg_zeros(rg_ctx_of(in[0]), RG_F32, RG_SHAPE(GRU_BATCH, GRU_WIDTH)), all[16], wrt[4];
    for (int t = 0; t < r->steps; t++) {
        rg_tensor gi = rg_linear(rg_select(in[0], 0, t), p[0], p[2]), gh = rg_linear(h, p[1], p[3]);
        rg_tensor reset = rg_sigmoid(rg_add(part_of(gi, 0), part_of(gh, 0)));
        rg_tensor z = rg_sigmoid(rg_add(part_of(gi, 1), part_of(gh, 1)));
        rg_tensor n = rg_tanh(rg_add(part_of(gi, 2), rg_mul(reset, part_of(gh, 2))));
        all[t] = h = rg_add(rg_mul(rg_sub(1, z), n), rg_mul(z, h));
    }
    rg_tensor stack = rg_stack(((rg_tensors){all, (size_t)r->steps}), 0);
    out[0] = rg_mean(rg_square(stack));
    memcpy(wrt, p, sizeof wrt);
    if (r->kind == GRU_STATES) {
        out[1] = stack, out[2] = h, out[3] = all[0], out[4] = out[0];
        return RG_OK;
    }
    if (r->kind != GRU_BACKWARD) return rg_grad(out[0], ((rg_tensors){wrt, 4}), out + 1);
    rg_status st = rg_backward(out[0]);
    for (int i = 0; i < 4 && !st; i++) out[1 + i] = rg_param_grad(r->par[i]);
    rg_zero_grad(rg_ctx_of(in[0]));
    return st;
}

static void check_gru(int kind, int steps) {
    static const float bias[3 * GRU_WIDTH] = {0.5f, 0.25f};
    rg_ctx *c = rg_open("NULL");
    struct gru r = {.steps = steps, .kind = kind};
    rg_tensor x = rg_contiguous(rg_zeros(c, RG_F32, RG_SHAPE(steps, GRU_BATCH, GRU_WIDTH))), in[5] = {x},
              g[5];
    CHECK_EQ(rg_realize(x), 0);
    for (int i = 0; i < 4; i++) {
        rg_tensor w =
            i < 2 ? ramps(c, 3 * GRU_WIDTH, GRU_WIDTH) : rg_from(c, RG_F32, bias, RG_SHAPE(3 * GRU_WIDTH));
        in[1 + i] = r.par[i] = kind == GRU_INPUTS ? w : rg_param(w);
    }
    rg_jit *j = rg_jit_new(c, gru_step, &r, 5);
    rg_tensors inputs = {in, kind == GRU_INPUTS ? 5 : 1};
    rg_usage before, after;
    if (rg_jit_call(j, inputs, g)) FAIL("%s", rg_error(c));
    CHECK_EQ(rg_stats(c, &before), 0);
    CHECK_EQ(rg_jit_call(j, inputs, g), 0);
    CHECK_EQ(rg_stats(c, &after), 0);
    if (after.cached - before.cached != after.realizes - before.realizes)
        FAIL("kind %d, %d steps: the second call is another program", kind, steps);
    CHECK_EQ(rg_close(c), 0);
}

TEST(jit_second_call_of_a_gru_plans_nothing) {
    for (int kind = 0; kind < GRU_KINDS; kind++)
        for (int steps = 2; steps <= 16; steps *= 2) check_gru(kind, steps);
}

static rg_status bias_step(void *user, const rg_tensor *in, rg_tensor *out) {
    rg_tensor *w = user;
    return rg_grad(rg_sum(rg_square(rg_linear(in[0], *w, in[1]))), RG_TENSORS(in[1]), out);
}

/* A view of a view is a view of what is behind both; an input that is one is a value of its own all the same. */
TEST(jit_gradient_of_an_input_that_is_a_view) {
    rg_ctx *c = rg_open("REF");
    rg_tensor w = ramps(c, 6, 4), x = ramps(c, 3, 4), bias = rg_reshape(ramps(c, 1, 6), RG_SHAPE(6)), g;
    rg_jit *j = rg_jit_new(c, bias_step, &w, 1);
    float first[6], now[6];
    for (int call = 0; call < 4; call++) {
        if (rg_jit_call(j, RG_TENSORS(x, bias), &g)) FAIL("call %d: %s", call, rg_error(c));
        CHECK_EQ(rg_read(g, call ? now : first, sizeof now), 0);
        for (int i = 0; i < 6 && call; i++) CHECK(now[i] == first[i]);
    }
    CHECK(first[0] != 0);
    CHECK_EQ(rg_close(c), 0);
}

TEST_SLOW(jit_ten_thousand_replays_leave_memory_flat, 120) {
    struct net n;
    net_open(&n);
    rg_ctx *c = n.c;
    rg_tensor x = ramps(c, 8, 16), t = ramps(c, 8, 4), loss;
    rg_jit *j = rg_jit_new(c, step, &n, 1);
    rg_usage a, b;
    rg_jit_stats st;
    uint64_t kernels = 0;
    for (int i = 0; i < 10000; i++) {
        CHECK_EQ(rg_jit_call(j, RG_TENSORS(x, t), &loss), 0);
        CHECK_EQ(rg_jit_info(j, &st), 0);
        if (i > 20 && i % 100 > 1 && st.allocations + st.nodes)
            FAIL("replay %d made %llu nodes and %llu allocations", i, (unsigned long long)st.nodes,
                 (unsigned long long)st.allocations);
        if (i % 100 == 0) rg_set_scalar(n.lr, 0.01 / (1 + i)); /* a schedule, now and then */
        if (i == 1000) CHECK_EQ(rg_stats(c, &a), 0);
        if (i == 1000) kernels = st.kernels;
    }
    CHECK_EQ(rg_stats(c, &b), 0);
    CHECK_EQ(a.bytes, b.bytes);
    CHECK_EQ(a.peak, b.peak);
    CHECK_EQ(a.temporaries, b.temporaries);
    CHECK_EQ(a.buffers, b.buffers);
    CHECK_EQ(a.handles, b.handles);
    CHECK(b.nodes_held < a.nodes_held + 5000);
    CHECK_EQ(st.kernels, kernels);
    CHECK(isfinite(rg_item(loss)));
    CHECK_EQ(rg_close(c), 0);
}

TEST(costs_say_where_the_time_went) {
    rg_ctx *c = rg_open("CPU");
    rg_tensor x = ramps(c, 64, 64), s = rg_scalar(c, RG_F32, 0);
    rg_machine m;
    CHECK_EQ(rg_machine_of(c, &m), 0);
    CHECK(m.flops > 1e9 && m.bytes > 1e8 && m.threads >= 1);
    CHECK_EQ(rg_kernels(c, NULL, 0), 0);
    for (int i = 0; i < 3; i++) {
        RG_SCOPE(c);
        rg_set_scalar(s, i);
        CHECK_EQ(rg_realize(rg_matmul(x, rg_add(x, s))), 0);
    }
    rg_kernel_cost k[8];
    size_t n = rg_kernels(c, k, 8);
    CHECK(n >= 1 && n <= 2);
    bool product = false;
    for (size_t i = 0; i < n; i++) {
        CHECK_EQ(k[i].calls, 3);
        CHECK(k[i].seconds > 0 && k[i].roof > 0 && k[i].bytes >= 3 * 64 * 64 * 4);
        CHECK(i == 0 || k[i].seconds <= k[i - 1].seconds);
        product |=
            strstr(k[i].where, "matmul") && strstr(k[i].where, "jit.c:") && k[i].ops >= 3 * 2 * 64. * 64 * 64;
    }
    CHECK(product);
    CHECK_EQ(rg_kernels_reset(c), 0);
    CHECK_EQ(rg_kernels(c, k, 8), 0);
    CHECK_EQ(rg_close(c), 0);
}

/* The line of one kernel of rg_kernels must be among those between `first` and `last`. */
static void lines_within(rg_ctx *c, int first, int last) {
    rg_kernel_cost k[16];
    size_t n = rg_kernels(c, k, 16);
    CHECK(n >= 1 && n <= 16);
    for (size_t i = 0; i < n; i++)
        for (const char *p = k[i].where; (p = strstr(p, "jit.c:")); p++)
            if (atoi(p + 6) < first || atoi(p + 6) > last)
                FAIL("%s is charged to '%s', not to lines %d to %d", k[i].name, k[i].where, first, last);
}

/* Nodes of the graph are shared: the draw of a batch and an argmax find index grids and numbers that the initialisation made, and
 * a second loss the first one's. Only lines that asked since the last program ran are charged. */
TEST(costs_charge_the_lines_of_the_step) {
    rg_ctx *c = rg_open("CPU");
    rg_tensor w = rg_uniform(c, RG_F32, -1, 1, RG_SHAPE(16, 10));
    rg_tensor x = rg_contiguous(rg_cast(rg_arange(c, RG_I32, 0, 640, 1), RG_F32));
    rg_tensor data = rg_contiguous(rg_reshape(x, RG_SHAPE(40, 16))),
              y = rg_argmax(rg_matmul(data, w), RG_AXES(1));
    CHECK_EQ(rg_realize_all(RG_TENSORS(w, data, y)), 0);
    int first = __LINE__;
    for (int i = 0; i < 2; i++) {
        RG_SCOPE(c);
        CHECK_EQ(rg_kernels_reset(c), 0);
        rg_tensor pick = rg_randint(c, RG_I64, 0, 40, RG_SHAPE(8));
        rg_tensor got = rg_argmax(rg_matmul(rg_take(data, 0, pick), w), RG_AXES(1));
        CHECK_EQ(rg_realize(rg_mean(rg_cast(rg_eq(got, rg_take(y, 0, pick)), RG_F32))), 0);
        lines_within(c, first, __LINE__);
    }
    CHECK_EQ(rg_close(c), 0);
}

/* One plan, two lines that run it. */
TEST(costs_of_a_shared_plan_go_to_the_line_that_ran_it) {
    rg_ctx *c = rg_open("CPU");
    rg_tensor x = ramps(c, 32, 32), y = ramps(c, 32, 32);
    rg_kernel_cost k[4];
    for (int i = 0; i < 3; i++) {
        RG_SCOPE(c);
        CHECK_EQ(rg_realize(rg_exp(x)), 0);
        if (i) CHECK_EQ(rg_realize(rg_exp(y)), 0);
    }
    int first = __LINE__ - 3;
    CHECK_EQ(rg_kernels(c, k, 4), 2);
    for (int i = 0; i < 2; i++) {
        const char *at = strstr(k[i].where, "jit.c:");
        CHECK(at && (atoi(at + 6) == first || atoi(at + 6) == first + 1));
        CHECK_EQ(k[i].calls, at && atoi(at + 6) == first ? 3 : 2);
    }
    CHECK_EQ(rg_close(c), 0);
}

/* Whichever allocation fails between the first call and the third, the answer is an error, nothing leaks, and after
 * rg_clear_error the jit goes on: it records again if it had not. */
TEST_SLOW(jit_survives_every_failed_allocation, 300) {
    int64_t nth = 0, live = 0;
    for (bool failed = true; failed || nth == 1; nth++) { /* the first goes well: it makes what lasts */
        struct net n;
        net_open(&n);
        rg_ctx *c = n.c;
        rg_tensor x = ramps(c, 8, 16), t = ramps(c, 8, 4), loss;
        rg_jit *j = rg_jit_new(c, step, &n, 1);
        CHECK(j);
        failed = false;
        mem_fail_at(nth ? nth : -1);
        for (int i = 0; i < 4 && !failed; i++) failed = rg_jit_call(j, RG_TENSORS(x, t), &loss) != 0;
        mem_fail_at(-1);
        if (failed) {
            CHECK_EQ(rg_status_of(c), RG_ENOMEM);
            CHECK_EQ(rg_clear_error(c), 0);
            rg_zero_grad(c);
        }
        for (int i = 0; i < 4; i++)
            if (rg_jit_call(j, RG_TENSORS(x, t), &loss))
                FAIL("allocation %lld: %s", (long long)nth, rg_error(c));
        CHECK(isfinite(rg_item(loss)));
        CHECK_EQ(rg_close(c), 0);
        if (!nth) live = mem_live();
        if (mem_live() != live)
            FAIL("allocation %lld: %lld are left over", (long long)nth, (long long)(mem_live() - live));
    }
    CHECK(nth > 10);
    TEST_COUNT((size_t)nth, "allocations failed in turn");
}
