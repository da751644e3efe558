/* nn_optim.c: optimisers against PyTorch's trajectories, what a step costs, clipping, loss scaling, learning rates. */
#include "unit/layer_values.h"

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
