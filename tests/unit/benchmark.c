/* rg_benchmark, rg_sync and the loops that users write instead: counts, not times. */
#include "ridge.h"
#include "test.h"

struct work {
    rg_tensor x, y;
    int calls;
};

static void relu_step(rg_ctx *c, void *user) {
    struct work *w = user;
    (void)c;
    w->calls++;
    rg_realize(rg_relu(rg_add(rg_mul(w->x, w->y), 1.0)));
}

static struct work open_work(rg_ctx *c) {
    struct work w = {.x = rg_rand(c, RG_F32, RG_SHAPE(1000)), .y = rg_rand(c, RG_F32, RG_SHAPE(1000))};
    CHECK_EQ(rg_realize_all(RG_TENSORS(w.x, w.y)), 0);
    return w;
}

static uint64_t kernels_of(rg_ctx *c) {
    rg_usage u;
    CHECK_EQ(rg_stats(c, &u), 0);
    return u.kernels;
}

/* A loop that realizes the same expression computes it each time: nothing that was freed is found again. */
TEST(benchmark_loop_launches_each_time) {
    rg_ctx *c = rg_open("CPU");
    struct work w = open_work(c);
    uint64_t before = kernels_of(c);
    for (int i = 0; i < 105; i++) {
        RG_SCOPE(c);
        relu_step(c, &w);
        CHECK_EQ(rg_sync(c), 0);
    }
    CHECK_EQ(kernels_of(c) - before, 105);
    CHECK_EQ(rg_close(c), 0);
}

TEST(benchmark_counts_calls_and_kernels) {
    rg_ctx *c = rg_open("CPU");
    struct work w = open_work(c);
    rg_usage a, b;
    CHECK_EQ(rg_stats(c, &a), 0);
    for (int cold = 0; cold < 2; cold++) {
        rg_benchmark_result r;
        w.calls = 0;
        if (rg_benchmark(c, relu_step, &w, &r, .warmup = 2, .samples = 7, .cold = cold))
            FAIL("%s", rg_error(c));
        CHECK_EQ(r.samples, 7);
        CHECK(r.kernels == 1);
        CHECK(!r.device_clock);
        CHECK(r.least > 0 && r.least <= r.median && r.median <= r.most && r.spread >= 0);
        CHECK(r.calls % 7 == 0 && (uint64_t)w.calls >= r.calls + 2);
        if (cold) CHECK_EQ(w.calls, 9);
    }
    CHECK_EQ(rg_stats(c, &b), 0);
    CHECK_EQ(b.handles, a.handles);
    CHECK_EQ(b.buffers, a.buffers);
    CHECK_EQ(rg_close(c), 0);
}

static void lazy_step(rg_ctx *c, void *user) {
    struct work *w = user;
    (void)c;
    rg_relu(w->x);
}

static void failing_step(rg_ctx *c, void *user) {
    struct work *w = user;
    (void)c;
    rg_realize(rg_matmul(w->x, rg_reshape(w->y, RG_SHAPE(10, 100))));
}

TEST(benchmark_errors) {
    rg_ctx *c = rg_open("CPU");
    struct work w = open_work(c);
    rg_benchmark_result r;
    CHECK_EQ(rg_benchmark(c, lazy_step, &w, &r, .samples = 5), RG_EINVAL);
    CHECK(strstr(rg_error(c), "benchmark.c:") && strstr(rg_error(c), "launched no kernel"));
    CHECK_EQ(rg_clear_error(c), 0);
    CHECK(rg_benchmark(c, failing_step, &w, &r) != RG_OK);
    CHECK(strstr(rg_error(c), "rg_matmul"));
    CHECK_EQ(rg_clear_error(c), 0);
    CHECK_EQ(rg_benchmark(c, NULL, &w, &r), RG_EINVAL);
    CHECK_EQ(rg_clear_error(c), 0);
    CHECK_EQ(rg_benchmark(NULL, relu_step, &w, &r), RG_EINVAL);
    CHECK_EQ(rg_sync(NULL), RG_EINVAL);
    CHECK_EQ(rg_close(c), 0);
}
