/* Tests of activation checkpointing (src/tensor/recompute.c, rg_checkpoint, rg_nn_checkpoint): the gradients are those without it, and
 * the values between kernels take less memory. */
#include "simgpu.h"
#include "test.h"

#include <ridge.h>
#include <stdio.h>

enum { BLOCKS = 8, ROWS = 8, WIDTH = 8, HIDDEN = 64 };

static rg_tensor block(rg_module *m, rg_tensor x, void *user) {
    rg_tensor y = rg_nn_forward(rg_nn_child(m, "up"), rg_nn_forward(rg_nn_child(m, "norm"), x));
    y = rg_mul(rg_gelu(y), rg_sigmoid(y));
    if (user) y = rg_dropout(y, 0.25);
    return rg_add(x, rg_nn_forward(rg_nn_child(m, "down"), y));
}

static rg_module *network(rg_ctx *c, bool checkpoint, bool dropout) {
    rg_module *list[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) {
        list[i] = rg_nn_module(c, block, dropout ? c : NULL);
        rg_nn_add(list[i], "norm", rg_nn_layernorm(c, RG_SHAPE(WIDTH)));
        rg_nn_add(list[i], "up", rg_nn_linear(c, WIDTH, HIDDEN));
        rg_nn_add(list[i], "down", rg_nn_linear(c, HIDDEN, WIDTH));
        CHECK_EQ(rg_nn_checkpoint(list[i], checkpoint), 0);
    }
    return rg_nn_sequential(c, (rg_modules){list, BLOCKS});
}

struct run {
    float loss, x[ROWS * WIDTH], weight[HIDDEN * WIDTH], bias[WIDTH];
    rg_plan_stats stats;
};

/* Loss, gradients by the input and by two parameters of the first and the last block, all planned together. */
static void run_limited(const char *device, bool checkpoint, bool dropout, int64_t limit, struct run *r) {
    rg_ctx *c = rg_open(device);
    CHECK_EQ(rg_limit_temporaries(c, limit), 0);
    rg_seed(c, 5);
    rg_module *net = network(c, checkpoint, dropout);
    rg_tensor p = rg_param(rg_randn(c, RG_F32, RG_SHAPE(ROWS, WIDTH)));
    CHECK_EQ(rg_realize_all(rg_nn_params(net)), 0);
    rg_tensor loss = rg_mean(rg_square(rg_nn_forward(net, p)));
    rg_backward(loss);
    rg_tensor weight = rg_param_grad(rg_nn_get(net, "0.up.weight")),
              bias = rg_param_grad(rg_nn_get(net, "7.down.bias")), x = rg_param_grad(p);
    CHECK_EQ(rg_schedule_stats(RG_TENSORS(loss, x, weight, bias), &r->stats), 0);
    if (!strcmp(device, "NULL")) {
        rg_close(c);
        return;
    }
    CHECK_EQ(rg_realize_all(RG_TENSORS(loss, x, weight, bias)), 0);
    r->loss = (float)rg_item(loss);
    rg_read(x, r->x, sizeof r->x), rg_read(weight, r->weight, sizeof r->weight);
    rg_read(bias, r->bias, sizeof r->bias);
    if (rg_status_of(c)) FAIL("%s", rg_error(c));
    rg_close(c);
}

static void run_once(const char *device, bool checkpoint, bool dropout, struct run *r) {
    run_limited(device, checkpoint, dropout, 0, r);
}

static void near(const float *a, const float *b, size_t n, const char *what) {
    double most = 0;
    for (size_t i = 0; i < n; i++) most = fmax(most, fabs((double)b[i]));
    CHECK(most > 0);
    for (size_t i = 0; i < n; i++)
        if (!(fabs((double)a[i] - (double)b[i]) <= 1e-5 * most))
            FAIL("%s[%zu] is %g with checkpoints, %g without", what, i, (double)a[i], (double)b[i]);
}

TEST(checkpoint_gradients_are_the_same) {
    static struct run with, without;
    for (int dropout = 0; dropout < 2; dropout++) {
        run_once("REF", true, dropout, &with);
        run_once("REF", false, dropout, &without);
        near(&with.loss, &without.loss, 1, "loss");
        near(with.x, without.x, ROWS * WIDTH, "x");
        near(with.weight, without.weight, HIDDEN * WIDTH, "weight");
        near(with.bias, without.bias, WIDTH, "bias");
    }
}

/* Eight blocks: what is kept is one block's activations and the inputs of all. */
TEST(checkpoint_takes_less_memory) {
    static struct run with, without;
    run_once("CPU", true, false, &with);
    run_once("CPU", false, false, &without);
    near(with.weight, without.weight, HIDDEN * WIDTH, "weight");
    TEST_INFO("%lld bytes between kernels, %lld without checkpoints; %.2f of the operations",
              (long long)with.stats.scratch, (long long)without.stats.scratch,
              with.stats.ops / without.stats.ops);
    CHECK(with.stats.scratch < without.stats.scratch / 2);
    CHECK(with.stats.ops < 1.5 * without.stats.ops);
}

/* Logits in parts, each with a checkpoint. Their kernels have the same sizes and share a
 * weight, but a kernel for all parts would need the logits of all. */
TEST(checkpoint_parts_are_kept_apart) {
    enum { PARTS = 4, EACH = 4096, WORDS = 50304, INNER = 768 };
    simgpu_add();
    rg_ctx *c = rg_open("SIM90");
    rg_tensor x = rg_param(rg_randn(c, RG_BF16, RG_SHAPE(PARTS * EACH, INNER))),
              w = rg_param(rg_randn(c, RG_BF16, RG_SHAPE(WORDS, INNER))), sum = RG_NONE,
              next = rg_randint(c, RG_I64, 0, WORDS, RG_SHAPE(PARTS * EACH));
    for (int k = 0; k < PARTS; k++) {
        rg_tensor part = rg_narrow(x, 0, k * EACH, EACH),
                  logits = rg_cast(rg_linear(part, w, RG_NONE), RG_F32);
        rg_tensor loss = rg_cross_entropy(logits, rg_narrow(next, 0, k * EACH, EACH), .reduction = RG_SUM);
        loss = rg_checkpoint(loss, part);
        sum = k ? rg_add(sum, loss) : loss;
    }
    rg_backward(sum);
    rg_plan_stats stats;
    CHECK_EQ(rg_schedule_stats(RG_TENSORS(sum, rg_param_grad(x), rg_param_grad(w)), &stats), 0);
    int64_t logits = (int64_t)EACH * WORDS * 2;
    TEST_INFO("%.2f times the logits of a part", (double)stats.scratch / (double)logits);
    CHECK(stats.scratch < 4 * logits);
    rg_close(c);
}

static void note_warning(void *user, const char *text) { snprintf(user, 400, "%s", text); }

/* With a limit of bytes as few checkpoints are used as meet it; with one that cannot be met all, and a warning says how much is
 * missing. */
TEST(checkpoint_meets_a_limit) {
    static struct run all, none, r;
    char said[400] = "", want[100];
    run_once("NULL", true, false, &all), run_once("NULL", false, false, &none);
    int64_t least = all.stats.scratch, most = none.stats.scratch;
    double ops = 0;
    rg_on_warning(note_warning, said);
    for (int part = 4; part >= 0; part--) { /* from the whole to the least */
        int64_t limit = least + (most - least) * part / 4;
        run_limited("NULL", true, false, limit, &r);
        if (r.stats.scratch > limit || r.stats.ops < ops)
            FAIL("limit %lld: %lld bytes, %g operations after %g", (long long)limit,
                 (long long)r.stats.scratch, r.stats.ops, ops);
        if (part == 4) CHECK(r.stats.scratch == most && r.stats.ops == none.stats.ops);
        if (part == 2) CHECK(r.stats.ops > none.stats.ops && r.stats.ops < all.stats.ops);
        ops = r.stats.ops;
    }
    CHECK(!*said);
    run_limited("NULL", true, false, 1000, &r);
    rg_on_warning(NULL, NULL);
    CHECK_EQ(r.stats.scratch, least);
    snprintf(want, sizeof want, "take %lld bytes, %lld more than the limit of 1000, with all 8",
             (long long)least, (long long)least - 1000);
    if (!strstr(said, want)) FAIL("expected \"%s\", found \"%s\"", want, said);
    run_limited("CPU", true, false, (least + most) / 2, &r), run_once("REF", false, false, &none);
    near(r.weight, none.weight, HIDDEN * WIDTH, "weight");
    near(r.x, none.x, ROWS * WIDTH, "x");
    rg_ctx *c = rg_open("REF");
    CHECK_EQ(rg_limit_temporaries(c, -1), RG_EINVAL);
    CHECK(strstr(rg_error(c), "expected 1 or more"));
    rg_close(c);
}

/* A checkpoint in a checkpoint, a second input that is no checkpoint's, and a gradient of a gradient. */
TEST(checkpoint_nested_and_twice) {
    rg_ctx *c = rg_open("REF");
    rg_tensor x = rg_from(c, RG_F32, (float[]){0.5f, -1, 2}, RG_SHAPE(3)),
              w = rg_from(c, RG_F32, (float[]){3, 0.25f, -2}, RG_SHAPE(3)), d[2], dd, e[2], ee;
    float a[3], b[3];
    for (int on = 0; on < 2; on++) {
        rg_tensor y = rg_sin(rg_mul(x, w)), z, s;
        y = on ? rg_checkpoint(y, x) : y;
        z = rg_mul(rg_exp(y), rg_add(y, w));
        z = on ? rg_checkpoint(z, x) : z;
        s = rg_sum(rg_square(z));
        rg_tensor *first = on ? d : e;
        CHECK_EQ(rg_grad(s, RG_TENSORS(x, w), first), 0);
        CHECK_EQ(rg_grad(rg_sum(rg_mul(first[0], first[1])), RG_TENSORS(x), on ? &dd : &ee), 0);
    }
    const rg_tensor with[] = {d[0], d[1], dd}, without[] = {e[0], e[1], ee};
    for (int i = 0; i < 3; i++) {
        CHECK(!rg_read(with[i], a, sizeof a) && !rg_read(without[i], b, sizeof b));
        near(a, b, 3, "gradient");
    }
    rg_close(c);
}

struct stepper {
    rg_module *net;
    rg_optim *optim;
};

static rg_status step(void *user, const rg_tensor *in, rg_tensor *out) {
    struct stepper *s = user;
    out[0] = rg_mean(rg_square(rg_sub(rg_nn_forward(s->net, in[0]), 1)));
    rg_backward(out[0]);
    return rg_optim_step(s->optim);
}

/* Replayed steps train as they do without. */
TEST(checkpoint_in_a_jit) {
    float loss[2][5];
    for (int on = 0; on < 2; on++) {
        rg_ctx *c = rg_open("REF");
        rg_seed(c, 1);
        struct stepper s = {.net = network(c, on, false)};
        s.optim = rg_sgd(rg_nn_params(s.net), .lr = 0.1);
        rg_jit *j = rg_jit_new(c, step, &s, 1);
        for (int i = 0; i < 5; i++) {
            rg_tensor out, x = rg_randn(c, RG_F32, RG_SHAPE(4, WIDTH));
            rg_realize(x);
            if (rg_jit_call(j, RG_TENSORS(x), &out)) FAIL("%s", rg_error(c));
            loss[on][i] = (float)rg_item(out);
        }
        rg_close(c);
    }
    near(loss[1], loss[0], 5, "loss");
    CHECK(loss[1][4] < loss[1][0]);
}

static void says(rg_ctx *c, const char *words) {
    if (rg_status_of(c) != RG_EINVAL || !strstr(rg_error(c), words)) FAIL("%s", rg_error(c));
    rg_clear_error(c);
}

TEST(checkpoint_says_what_is_wrong) {
    rg_ctx *c = rg_open("REF");
    rg_tensor x = rg_from(c, RG_F32, (float[]){1, 2}, RG_SHAPE(2)),
              y = rg_add(rg_ones(c, RG_F32, RG_SHAPE(2)), 1);
    rg_checkpoint(y, x);
    says(c, "was not computed from tensor 2");
    rg_tensor state = rg_contiguous(rg_zeros(c, RG_F32, RG_SHAPE(2)));
    rg_realize(state);
    rg_tensor z = rg_exp(x);
    rg_assign(state, rg_mul(z, 2));
    rg_checkpoint(rg_add(z, state), x);
    says(c, "is assigned to");
    CHECK_EQ(rg_nn_checkpoint(NULL, true), RG_EINVAL);
    RG_NO_GRAD(
        c); /* there is no gradient: a cache of keys may be written in a module that has checkpoints in training */
    float got[2];
    CHECK(!rg_read(rg_checkpoint(rg_add(z, state), x), got, sizeof got));
    CHECK(fabsf(got[0] - 3 * expf(1)) < 1e-4f);
    rg_close(c);
}
