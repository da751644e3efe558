/* nn_optim.c: optimisers against PyTorch's trajectories, what a step costs, clipping, loss scaling, learning rates. */
#include "unit/layer_values.h"

#include <unistd.h>

#define OK(c) \
    if (rg_status_of(c)) FAIL("%s", rg_error(c))

/* The problem of make_layers.py: three parameters, loss sum of a/2 (p - t)^2 + sin(p). */
struct problem {
    rg_ctx *c;
    rg_tensor p[3], t[3], a[3];
};

static rg_ints shape_of(int i) {
    static const int64_t d0[] = {3, 4}, d1[] = {5}, d2[] = {2, 2, 3};
    return i == 0 ? RG_LIST(d0, 2) : i == 1 ? RG_LIST(d1, 1) : RG_LIST(d2, 3);
}

static struct problem start(const char *device, rg_dtype dt) {
    struct problem q = {.c = rg_open(device)};
    for (int i = 0; i < 3; i++) {
        char name[40];
        rg_ints s = shape_of(i);
        snprintf(name, sizeof name, "optim.p.%d", i);
        rg_tensor first = lv_tensor(q.c, name, dt, s);
        q.p[i] = rg_param(first);
        rg_free(first);
        name[6] = 't', q.t[i] = lv_tensor(q.c, name, dt, s);
        name[6] = 'a', q.a[i] = lv_tensor(q.c, name, dt, s);
    }
    OK(q.c);
    return q;
}

static rg_tensor term(const struct problem *q, int i) {
    rg_tensor square = rg_mul(rg_mul(q->a[i], 0.5), rg_square(rg_sub(q->p[i], q->t[i])));
    return rg_sum(rg_add(square, rg_sin(q->p[i])));
}
static rg_tensor loss_of(const struct problem *q) {
    return rg_add(rg_add(term(q, 0), term(q, 1)), term(q, 2));
}

static void follow(struct problem *q, const char *kind, rg_optim *o, double tol) {
    if (!o) FAIL("%s: %s", kind, rg_error(q->c));
    for (int step = 1; step <= 10; step++) {
        RG_SCOPE(q->c);
        rg_backward(loss_of(q));
        if (!strcmp(kind, "clip")) {
            double want[16];
            lv_get("optim.clip.norms", want);
            CHECK_NEAR(rg_item(rg_clip_grad_norm(RG_ARRAY(q->p, 3), 0.7)), want[step - 1],
                       1e-5 * want[step - 1]);
        }
        if (!strcmp(kind, "clip_value")) CHECK_EQ(rg_clip_grad_value(RG_ARRAY(q->p, 3), 0.3), 0);
        CHECK_EQ(rg_optim_step(o), 0);
        for (int i = 0; i < 3; i++) {
            char name[60];
            snprintf(name, sizeof name, "optim.%s.%d.%d", kind, step, i);
            lv_is(q->p[i], name, tol);
        }
    }
    rg_optim_free(o);
    CHECK_EQ(rg_close(q->c), 0);
}

#define FOLLOW(kind, fn, dt, tol, ...)                             \
    do {                                                           \
        struct problem q = start(NULL, dt);                        \
        follow(&q, #kind, fn(RG_ARRAY(q.p, 3), __VA_ARGS__), tol); \
    } while (0)

TEST(nn_optim_sgd) {
    FOLLOW(sgd, rg_sgd, RG_F32, 2e-6, .lr = 0.1);
    FOLLOW(sgd_decay, rg_sgd, RG_F32, 2e-6, .lr = 0.1, .weight_decay = 0.05);
    FOLLOW(sgd_momentum, rg_sgd, RG_F32, 2e-6, .lr = 0.05, .momentum = 0.9);
    FOLLOW(sgd_nesterov, rg_sgd, RG_F32, 2e-6, .lr = 0.05, .momentum = 0.9, .nesterov = true,
           .weight_decay = 0.01);
}
TEST(nn_optim_adam) {
    FOLLOW(adam, rg_adam, RG_F32, 3e-6, .lr = 0.05);
    FOLLOW(adam_decay, rg_adam, RG_F32, 3e-6, .lr = 0.05, .beta1 = 0.8, .beta2 = 0.95, .eps = 1e-3,
           .weight_decay = 0.1);
}
TEST(nn_optim_adamw) {
    FOLLOW(adamw, rg_adamw, RG_F32, 3e-6, .lr = 0.05);
    FOLLOW(adamw_decay, rg_adamw, RG_F32, 3e-6, .lr = 0.05, .weight_decay = 0.3);
    FOLLOW(adamw_none, rg_adamw, RG_F32, 3e-6, .lr = 0.05, .weight_decay = -1);
}
/* Numbers of F64 parameters are not rounded to F32 on the way. */
TEST(nn_optim_f64) {
    FOLLOW(adam, rg_adam, RG_F64, 1e-13, .lr = 0.05);
    FOLLOW(sgd_nesterov, rg_sgd, RG_F64, 1e-13, .lr = 0.05, .momentum = 0.9, .nesterov = true,
           .weight_decay = 0.01);
}
TEST(nn_optim_clip) {
    FOLLOW(clip, rg_sgd, RG_F32, 3e-6, .lr = 0.5);
    FOLLOW(clip_value, rg_sgd, RG_F32, 3e-6, .lr = 0.5);
}
TEST(nn_optim_rates) {
    double want[64];
    size_t n = lv_get("lr.step", want);
    for (size_t i = 0; i < n; i++) CHECK_NEAR(rg_lr_step(0.3, (int64_t)i, 7, 0.5), want[i], 1e-14);
    n = lv_get("lr.cosine", want);
    for (size_t i = 0; i < n; i++) CHECK_NEAR(rg_lr_cosine(0.3, (int64_t)i, 20, 0.01), want[i], 1e-14);
    CHECK_NEAR(rg_lr_cosine(0.3, 50, 20, 0.01), 0.01, 0);
    n = lv_get("lr.warmup", want);
    for (size_t i = 0; i < n; i++) CHECK_NEAR(rg_lr_warmup(0.3, (int64_t)i, 10), want[i], 1e-14);
    n = lv_get("lr.one_cycle", want);
    for (size_t i = 0; i < n; i++) CHECK_NEAR(rg_lr_one_cycle(0.5, (int64_t)i, 40, 0.3), want[i], 1e-14);
    n = lv_get("lr.one_cycle_short", want);
    for (size_t i = 0; i < n; i++) CHECK_NEAR(rg_lr_one_cycle(0.5, (int64_t)i, 10, 0.25), want[i], 1e-14);
}

/* ---- what a step costs ----------------------------------------------------------------------------------------- */

/* The parameters of the MNIST example's network, and gradients that are there. */
enum { MNIST = 14 };
static const int64_t mnist_size[MNIST] = {800, 32, 25600, 32, 32, 32, 18432, 64, 36864, 64, 64, 64, 5760, 10};

static void mnist_params(rg_ctx *c, rg_tensor *p, rg_tensor *g) {
    for (int i = 0; i < MNIST; i++) {
        p[i] = rg_param(rg_full(c, RG_F32, 0.01 * (i + 1), RG_SHAPE(mnist_size[i])));
        g[i] = rg_contiguous(rg_add(rg_mul(rg_arange(c, RG_F32, 0, (double)mnist_size[i], 1), 1e-4), i));
    }
    rg_realize_all(RG_ARRAY(g, MNIST));
}

/* Gradients that are in memory: what remains is the step. */
static void given_gradients(rg_ctx *c, rg_tensor *p, rg_tensor *g) {
    RG_SCOPE(c);
    rg_tensor got[MNIST];
    for (int i = 0; i < MNIST; i++) {
        rg_backward(rg_sum(rg_mul(p[i], g[i])));
        got[i] = rg_param_grad(p[i]);
    }
    CHECK_EQ(rg_realize_all(RG_ARRAY(got, MNIST)), 0);
}

static uint64_t step_kernels(rg_optim *o, rg_tensor *p, rg_tensor *g) {
    rg_plan_stats s = {0};
    if (!o) FAIL("%s", rg_error(rg_ctx_of(p[0])));
    given_gradients(rg_ctx_of(p[0]), p, g);
    CHECK_EQ(rg_optim_step(o), 0);
    CHECK_EQ(rg_schedule_stats(RG_ARRAY(p, MNIST), &s), 0);
    CHECK_EQ(rg_realize_all(RG_ARRAY(p, MNIST)), 0);
    rg_optim_free(o);
    return s.kernels;
}

/* The step counter and all parameters: one kernel for what they share, one for the tensors. */
TEST(nn_optim_kernels) {
    rg_ctx *c = rg_open(NULL);
    rg_tensor p[MNIST], g[MNIST];
    mnist_params(c, p, g);
    CHECK_EQ(step_kernels(rg_sgd(RG_ARRAY(p, MNIST)), p, g), 1);
    CHECK_EQ(step_kernels(rg_sgd(RG_ARRAY(p, MNIST), .momentum = 0.9), p, g), 1);
    CHECK(step_kernels(rg_sgd(RG_ARRAY(p, MNIST), .momentum = 0.9, .weight_decay = 1e-4), p, g) <= 2);
    CHECK_EQ(step_kernels(rg_adam(RG_ARRAY(p, MNIST)), p, g), 2);
    CHECK_EQ(step_kernels(rg_adamw(RG_ARRAY(p, MNIST)), p, g), 2);
    CHECK_EQ(rg_close(c), 0);
}

/* A learning rate is a kernel parameter: 50 rates, one plan. */
TEST(nn_optim_rate_compiles_nothing) {
    struct problem q = start(NULL, RG_F32);
    rg_optim *o = rg_adam(RG_ARRAY(q.p, 3), .lr = 0.1);
    rg_usage u[2];
    CHECK_NEAR(rg_optim_lr(o), 0.1, 0);
    double moved = 0, before = rg_item(rg_sum(q.p[0]));
    for (int i = 0; i < 50; i++) {
        RG_SCOPE(q.c);
        CHECK_EQ(rg_optim_set_lr(o, rg_lr_cosine(0.1, i, 50, 0)), 0);
        rg_backward(loss_of(&q));
        rg_optim_step(o);
        CHECK_EQ(rg_realize_all(RG_ARRAY(q.p, 3)), 0);
        if (i == 0) rg_stats(q.c, &u[0]);
    }
    rg_stats(q.c, &u[1]);
    CHECK_EQ(u[1].realizes - u[0].realizes, 49);
    CHECK_EQ(u[1].cached - u[0].cached, 49);
    moved = fabs(rg_item(rg_sum(q.p[0])) - before);
    CHECK(moved > 0.1);
    rg_optim_set_lr(o, 0); /* and it is the one that was set */
    before = rg_item(rg_sum(q.p[0]));
    rg_backward(loss_of(&q));
    rg_optim_step(o);
    CHECK_NEAR(rg_item(rg_sum(q.p[0])), before, 0);
    CHECK_EQ(rg_close(q.c), 0);
}

/* ---- many steps -------------------------------------------------------------------------------------------------- */

TEST(nn_optim_memory_is_flat) {
    struct problem q = start(NULL, RG_F32);
    rg_optim *o = rg_adamw(RG_ARRAY(q.p, 3), .lr = 0.01);
    rg_usage u[2];
    for (int i = 0; i < 1000; i++) {
        RG_SCOPE(q.c);
        rg_tensor loss = loss_of(&q);
        rg_backward(loss);
        rg_optim_step(o);
        rg_item(loss);
        if (i == 20 || i == 999) rg_stats(q.c, &u[i == 999]);
    }
    CHECK_EQ(u[0].handles, u[1].handles);
    CHECK_EQ(u[0].bytes, u[1].bytes);
    CHECK_EQ(u[0].nodes, u[1].nodes);
    CHECK_EQ(u[0].peak, u[1].peak);
    CHECK_EQ(rg_close(q.c), 0);
}

/* ---- loss scaling -------------------------------------------------------------------------------------------------- */

static double entry_of(rg_optim *o, const char *name) {
    for (size_t i = 0; i < rg_optim_entries(o); i++) {
        const char *n;
        rg_tensor t = rg_optim_entry(o, i, &n);
        if (!strcmp(n, name)) return rg_item(t);
    }
    FAIL("the optimiser has no %s", name);
}

/* Scaled gradients give the same steps; one that overflows changes nothing but the scale. */
TEST(nn_optim_scale) {
    struct problem q = start(NULL, RG_F32);
    rg_optim *o = rg_adam(RG_ARRAY(q.p, 3), .lr = 0.05, .loss_scale = 1024);
    for (int step = 1; step <= 10; step++) {
        if (step == 4) { /* the loss is infinite once */
            rg_tensor p0 = rg_contiguous(q.p[0]), bad = rg_div(rg_sum(q.p[0]), 0);
            rg_realize(p0);
            rg_backward(rg_optim_scale(o, bad));
            CHECK_EQ(rg_optim_step(o), 0);
            CHECK_NEAR(rg_item(rg_sum(rg_ne(p0, q.p[0]))), 0, 0);
            CHECK_NEAR(entry_of(o, "step"), 3, 0);
            CHECK_NEAR(entry_of(o, "scale"), 512, 0);
            CHECK_NEAR(entry_of(o, "growth"), 0, 0);
        }
        RG_SCOPE(q.c);
        rg_backward(rg_optim_scale(o, loss_of(&q)));
        CHECK_EQ(rg_optim_step(o), 0);
        for (int i = 0; i < 3; i++) {
            char name[60];
            snprintf(name, sizeof name, "optim.adam.%d.%d", step, i);
            lv_is(q.p[i], name, 3e-6);
        }
    }
    CHECK_NEAR(entry_of(o, "growth"), 7, 0);
    rg_assign(rg_optim_entry(o, rg_optim_entries(o) - 1, NULL), 1999.0); /* the growth counter */
    rg_backward(rg_optim_scale(o, loss_of(&q)));
    rg_optim_step(o);
    CHECK_NEAR(entry_of(o, "scale"), 1024, 0);
    CHECK_NEAR(entry_of(o, "growth"), 0, 0);
    CHECK_EQ(rg_close(q.c), 0);
}

/* ---- state ------------------------------------------------------------------------------------------------------------ */

/* Five steps, saved and loaded into another optimiser, five more: as ten. */
TEST(nn_optim_save_and_load) {
    char path[] = "/tmp/ridge-optim-XXXXXX";
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    close(fd);
    struct problem q = start(NULL, RG_F32);
    rg_optim *o = rg_adam(RG_ARRAY(q.p, 3), .lr = 0.05);
    for (int step = 1; step <= 10; step++) {
        RG_SCOPE(q.c);
        if (step == 6) {
            CHECK_EQ(rg_optim_save(o, path), 0);
            rg_optim_free(o);
            o = rg_adam(RG_ARRAY(q.p, 3), .lr = 0.05);
            CHECK_EQ(rg_optim_load(o, path), 0);
            CHECK_NEAR(entry_of(o, "step"), 5, 0);
        }
        rg_backward(loss_of(&q));
        rg_optim_step(o);
    }
    lv_is(q.p[0], "optim.adam.10.0", 3e-6);
    rg_optim *other = rg_adam(RG_ARRAY(q.p, 2), .lr = 0.05);
    CHECK_EQ(rg_optim_load(other, path), RG_EINVAL);
    CHECK(strstr(rg_error(q.c), "rg_optim_load") && strstr(rg_error(q.c), "v.2 is in the file only"));
    remove(path);
    rg_close(q.c);
}

/* A parameter that has no gradient is left alone, as PyTorch does. */
TEST(nn_optim_skips_what_has_no_gradient) {
    struct problem q = start(NULL, RG_F32);
    rg_optim *o = rg_adam(RG_ARRAY(q.p, 3), .lr = 0.05, .weight_decay = 0.5);
    double before = rg_item(rg_sum(q.p[1])), moving = rg_item(rg_sum(q.p[0]));
    rg_backward(term(&q, 0));
    CHECK_EQ(rg_optim_step(o), 0);
    CHECK_NEAR(rg_item(rg_sum(q.p[1])), before, 0);
    CHECK(rg_item(rg_sum(q.p[0])) != moving);
    CHECK_EQ(rg_optim_step(o), RG_EINVAL); /* gradients were used up */
    CHECK(strstr(rg_error(q.c), "nn_optim.c:") && strstr(rg_error(q.c), "rg_backward"));
    rg_close(q.c);
}

static void refuses(rg_ctx *c, rg_optim *o, const char *words) {
    CHECK(!o);
    if (!strstr(rg_error(c), words)) FAIL("the error says \"%s\"; expected \"%s\"", rg_error(c), words);
    rg_clear_error(c);
}

TEST(nn_optim_errors) {
    struct problem q = start("NULL", RG_F32), r = start("NULL", RG_F32);
    refuses(q.c, rg_adam(RG_TENSORS(q.p[0], q.t[1])), "rg_adam: tensor 2 is not a parameter");
    refuses(q.c, rg_sgd(RG_TENSORS(q.p[0], r.p[0])), "rg_sgd: tensor 2 belongs to another context");
    refuses(q.c, rg_adamw(RG_TENSORS(q.p[0], q.p[0])), "rg_adamw: tensor 2 is in the list twice");
    refuses(q.c, rg_sgd(RG_TENSORS(q.p[0]), .lr = -1), "lr is -1");
    refuses(q.c, rg_adam(RG_TENSORS(q.p[0]), .beta2 = 1), "beta2 is 1");
    refuses(q.c, rg_sgd(RG_TENSORS(q.p[0]), .nesterov = true), ".nesterov needs .momentum");
    CHECK(!rg_adam((rg_tensors){0}));
    CHECK_EQ(rg_optim_step(NULL), RG_EINVAL);
    CHECK_EQ(rg_optim_set_lr(NULL, 1), RG_EINVAL);
    CHECK(isnan(rg_optim_lr(NULL)));
    CHECK_EQ(rg_optim_entries(NULL), 0);
    rg_optim *o = rg_sgd(RG_ARRAY(q.p, 3));
    CHECK_EQ(rg_optim_set_lr(o, NAN), RG_EINVAL);
    rg_clear_error(q.c);
    rg_clip_grad_norm(RG_TENSORS(q.p[0]), -1);
    CHECK(strstr(rg_error(q.c), "rg_clip_grad_norm: the most is -1"));
    rg_clear_error(q.c);
    CHECK_EQ(rg_clip_grad_value(RG_TENSORS(q.t[0]), 1), RG_EINVAL);
    rg_clear_error(q.c);
    CHECK_NEAR(rg_item(rg_clip_grad_norm(RG_ARRAY(q.p, 3), 1)), 0, 0); /* no gradients: 0 */
    CHECK(!rg_is_alive(rg_optim_scale(NULL, q.p[0])));
    rg_clear_error(q.c);
    rg_optim_free(NULL);
    CHECK_EQ(rg_close(r.c), 0);
    CHECK_EQ(rg_close(q.c), 0);
}

/* ---- recorded ----------------------------------------------------------------------------------------------------- */

struct recorded {
    struct problem *q;
    rg_optim *o;
};

static rg_status one_step(void *user, const rg_tensor *in, rg_tensor *out) {
    struct recorded *r = user;
    (void)in;
    out[0] = loss_of(r->q);
    rg_backward(rg_optim_scale(r->o, out[0]));
    return rg_optim_step(r->o);
}

/* A step that is replayed is PyTorch's too: the counter goes on, and a rate that is set in between counts. */
static void replayed(rg_optim_opts opts) {
    struct problem q = start(NULL, RG_F32);
    struct recorded r = {&q, rg_adam_at(__FILE__, __LINE__, RG_ARRAY(q.p, 3), opts)};
    if (!r.o) FAIL("%s", rg_error(q.c));
    rg_jit *j = rg_jit_new(q.c, one_step, &r, 1);
    rg_tensor loss;
    for (int step = 1; step <= 10; step++) {
        CHECK_EQ(rg_optim_set_lr(r.o, 0.05), 0);
        if (rg_jit_call(j, (rg_tensors){0}, &loss)) FAIL("%s", rg_error(q.c));
        for (int i = 0; i < 3; i++) {
            char name[60];
            snprintf(name, sizeof name, "optim.adam.%d.%d", step, i);
            lv_is(q.p[i], name, 3e-6);
        }
    }
    double before = rg_item(rg_sum(q.p[1]));
    CHECK_EQ(rg_optim_set_lr(r.o, 0), 0);
    CHECK_EQ(rg_jit_call(j, (rg_tensors){0}, &loss), 0);
    CHECK_NEAR(rg_item(rg_sum(q.p[1])), before, 0);
    rg_jit_stats s;
    CHECK_EQ(rg_jit_info(j, &s), 0);
    CHECK(s.replays >= 8);
    CHECK_EQ(rg_close(q.c), 0);
}
TEST(nn_optim_replayed) {
    replayed((rg_optim_opts){.lr = 1});
    replayed((rg_optim_opts){.lr = 1, .loss_scale = 256});
}
