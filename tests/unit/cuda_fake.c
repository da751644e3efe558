/* Tests of src/device/cuda that need no GPU: a library pretends to be the driver (tests/fake), counts what is asked of it
 * and fails when it is told to. What kernels compute is not seen here. Search: cuda_fake_search.c. */
#include "fake/cuda.h"
#include "engine/internal.h"

#include <ridge.h>
#include <stdlib.h>
#include <test.h>
#include <unistd.h>

static struct err err;

static rg_tensor ramp(rg_ctx *c, int n) {
    float x[64];
    for (int i = 0; i < n; i++) x[i] = (float)i;
    return rg_from(c, RG_F32, x, RG_SHAPE(n));
}

/* ---- replays ------------------------------------------------------------------------------------------------- */

struct bench_jit {
    rg_jit *j;
    rg_tensor x;
};
static void call_jit(rg_ctx *c, void *user) {
    struct bench_jit *b = user;
    rg_tensor y;
    (void)c, rg_jit_call(b->j, (rg_tensors){&b->x, 1}, &y);
}

TEST(cuda_fake_replays_as_a_graph) {
    struct fake *f = fake();
    rg_ctx *c = fake_open(f);
    rg_tensor in[2] = {ramp(c, 64), ramp(c, 64)}, y;
    rg_jit *j = rg_jit_new(c, diamond, NULL, 1);
    CHECK(!rg_jit_call(j, (rg_tensors){&in[0], 1}, &y));
    CHECK_EQ(f->launches, 4);
    CHECK_EQ(f->nodes, 0);
    for (int i = 0; i < 3; i++)
        if (rg_jit_call(j, (rg_tensors){&in[0], 1}, &y)) FAIL("%s", rg_error(c));
    CHECK_EQ(f->launches, 4);
    CHECK_EQ(f->replays, 3);
    CHECK_EQ(f->launched_nodes, 12);
    CHECK_EQ(f->nodes, 4);
    CHECK_EQ(f->edges, 4);
    CHECK_EQ(f->early, 4);
    CHECK_EQ(f->changes, 0);    /* it was recorded where the input is */
    for (int i = 0; i < 4; i++) /* another input: the one kernel that reads it is told */
        CHECK(!rg_jit_call(j, (rg_tensors){&in[i < 2], 1}, &y));
    CHECK_EQ(f->changes, 2);
    CHECK_EQ(f->replays, 7);
    CHECK_EQ(f->nodes, 4);
    uint32_t allocs = f->allocs;
    for (int i = 0; i < 100; i++) CHECK(!rg_jit_call(j, (rg_tensors){&in[i % 2], 1}, &y));
    CHECK_EQ(f->allocs - allocs, 0);
    rg_close(c);
    check_empty(f);
}

/* rg_kernels has the device's times, 1 us for each kernel here, also of runs that are graphs: not the time of asking. */
TEST(cuda_fake_kernel_costs_by_the_device) {
    struct fake *f = fake();
    rg_ctx *c = fake_open(f);
    rg_tensor x = ramp(c, 64), y;
    rg_jit *j = rg_jit_new(c, diamond, NULL, 1);
    CHECK(!rg_kernels_reset(c));
    for (int i = 0; i < 20; i++)
        if (rg_jit_call(j, (rg_tensors){&x, 1}, &y)) FAIL("%s", rg_error(c));
    CHECK_EQ(f->replays, 18); /* the first and the ninth are samples */
    rg_kernel_cost k[8];
    size_t n = rg_kernels(c, k, 8);
    CHECK(n >= 1 && n <= 4);
    uint64_t calls = 0;
    for (size_t i = 0; i < n; i++) {
        CHECK(fabs(k[i].seconds - (double)k[i].calls * 1e-6) < 1e-9);
        calls += k[i].calls;
    }
    CHECK_EQ(calls, 80);
    rg_benchmark_result r;
    struct bench_jit b = {j, x};
    if (rg_benchmark(c, call_jit, &b, &r, .samples = 5)) FAIL("%s", rg_error(c));
    CHECK(r.device_clock && r.kernels == 4);
    rg_close(c);
    check_empty(f);
}

/* Neither the launch into an empty stream nor the events themselves are time of a kernel. */
TEST(cuda_fake_kernel_costs_without_the_launch) {
    struct fake *f = fake();
    f->pair = 0.00128f, f->latency = 0.003f;
    rg_ctx *c = fake_open(f);
    rg_tensor x = ramp(c, 64), y;
    rg_jit *j = rg_jit_new(c, diamond, NULL, 1);
    CHECK(!rg_kernels_reset(c));
    for (int i = 0; i < 20; i++)
        if (rg_jit_call(j, (rg_tensors){&x, 1}, &y)) FAIL("%s", rg_error(c));
    rg_kernel_cost k[8];
    size_t n = rg_kernels(c, k, 8);
    CHECK(n >= 1 && f->delays > 0);
    for (size_t i = 0; i < n && i < 8; i++)
        CHECK(fabs(k[i].seconds / (double)k[i].calls - 1e-6) < 2e-9); /* a float of milliseconds */
    rg_close(c);
    check_empty(f);
    f->pair = f->latency = 0;
}

/* The kernel that delays is in no recording. */
TEST(cuda_fake_recordings_have_no_delay) {
    struct fake *f = fake();
    f->pair = 0.00128f, f->latency = 0.003f;
    rg_ctx *c = fake_open(f);
    rg_tensor x = ramp(c, 64);
    rg_tensor y = rg_add(x, 1);
    if (rg_realize(y)) FAIL("%s", rg_error(c)); /* the delay is there */
    uint32_t delays = f->delays;
    CHECK(delays > 0);
    char path[64];
    snprintf(path, sizeof path, "/tmp/ridge-delay-%d", (int)getpid());
    CHECK(!rg_profile_start(c, path));
    rg_tensor z = rg_mul(x, 3);
    if (rg_realize(z)) FAIL("%s", rg_error(c));
    CHECK_EQ(f->delays, delays); /* not in a recording */
    CHECK(!rg_profile_stop(c));
    unlink(path);
    rg_close(c);
    check_empty(f);
    f->pair = f->latency = 0;
}

static float two_ms(const char *kernel, unsigned launches) {
    (void)kernel, (void)launches;
    return 2;
}

/* The event before a sample stands behind a call: what is timed begins while the device is busy. */
TEST(cuda_fake_benchmark_times_a_busy_device) {
    struct fake *f = fake();
    rg_ctx *c = fake_open(f);
    rg_tensor x = ramp(c, 64), y;
    rg_jit *j = rg_jit_new(c, diamond, NULL, 1);
    for (int i = 0; i < 20; i++)
        if (rg_jit_call(j, (rg_tensors){&x, 1}, &y)) FAIL("%s", rg_error(c));
    uint32_t before = f->replays;
    f->clock = two_ms; /* one call is a sample */
    rg_benchmark_result r;
    struct bench_jit b = {j, x};
    if (rg_benchmark(c, call_jit, &b, &r, .warmup = 3, .samples = 5)) FAIL("%s", rg_error(c));
    CHECK_EQ(f->replays - before, 3 + 2 + 5 * 2);
    CHECK(r.calls == 5 && r.kernels == 4 && fabs(r.median - 2e-3) < 1e-9);
    f->clock = NULL;
    rg_close(c);
    check_empty(f);
}

/* What a result has in common with its operand is copied by a kernel: the driver's copy takes longer than a launch, and is no node of
 * a graph. */
static rg_status copies(void *user, const rg_tensor *in, rg_tensor *out) {
    rg_ctx *c = user;
    out[0] = rg_contiguous(in[0]);
    out[1] = rg_reshape(in[0], RG_SHAPE(-1));
    out[2] = rg_sort(rg_unsqueeze(in[0], 0), 0);
    return rg_error(c)[0] ? RG_EINVAL : RG_OK;
}

TEST(cuda_fake_copies_by_kernels) {
    struct fake *f = fake();
    rg_ctx *c = fake_open(f);
    rg_tensor x = rg_contiguous(rg_zeros(c, RG_F32, RG_SHAPE(33, 5))), y[3];
    CHECK(!rg_realize(x));
    rg_jit *j = rg_jit_new(c, copies, c, 3);
    for (int k = 0; k < 2; k++)
        if (rg_jit_call(j, (rg_tensors){&x, 1}, y)) FAIL("%s", rg_error(c));
    uint32_t copied = f->copies, launched = f->launches + f->launched_nodes;
    if (rg_jit_call(j, (rg_tensors){&x, 1}, y)) FAIL("%s", rg_error(c));
    CHECK_EQ(f->copies, copied);
    CHECK(f->launches + f->launched_nodes > launched);
    rg_close(c);
    check_empty(f);
}

/* One kernel is started by itself, if it has few blocks before what it waits for is done; two are a graph .. */
static rg_status chain(void *user, const rg_tensor *in, rg_tensor *out) {
    const int *kernels = user;
    rg_tensor a = rg_add(in[0], 1);
    out[0] = *kernels == 1 ? a : rg_exp(rg_contiguous(a));
    return RG_OK;
}

/* Not in the first run of a plan, in which each kernel is timed. */
TEST(cuda_fake_few_kernels_are_started_early) {
    static const struct {
        int size, kernels;
        uint32_t soon, replays;
        uint32_t launches;
    } cases[] = {{64, 1, 2, 0, 3}, {64, 2, 0, 2, 2}, {1 << 22, 1, 0, 0, 3}, {1 << 22, 2, 0, 2, 2}};
    struct fake *f = fake();
    for (size_t i = 0; i < RG_COUNT(cases); i++) {
        rg_ctx *c = fake_open(f);
        int kernels = cases[i].kernels;
        rg_tensor x = rg_contiguous(rg_zeros(c, RG_F32, RG_SHAPE(cases[i].size))), y;
        CHECK(!rg_realize(x));
        uint32_t soon = f->soon, replays = f->replays, launches = f->launches;
        rg_jit *j = rg_jit_new(c, chain, &kernels, 1);
        for (int k = 0; k < 3; k++)
            if (rg_jit_call(j, (rg_tensors){&x, 1}, &y)) FAIL("%s", rg_error(c));
        CHECK_EQ(f->soon - soon, cases[i].soon);
        CHECK_EQ(f->launches - launches, cases[i].launches);
        CHECK_EQ(f->replays - replays, cases[i].replays);
        rg_close(c);
    }
    check_empty(f);
}

/* .. unless the first moves much, and the second little and has few blocks: few rows by a matrix, in parts, and what adds the parts.
 * 512 x 512 x 65536 is split-K too, but its reduction reads 16 MB and could not start early. 1793 x 1793 x 1793 begins with a kernel
 * that repacks the operands to longer rows, which is the shorter of the two. */
static rg_status product(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)user;
    out[0] = rg_matmul(in[0], in[1]);
    return RG_OK;
}

TEST(cuda_fake_split_k) {
    static const struct {
        int m, n, k;
        uint32_t soon, replays; /* of a call */
    } cases[] = {{4, 4096, 14336, 2, 0}, {16, 4096, 14336, 2, 0}, {64, 4096, 14336, 2, 0},
                 {64, 4096, 4096, 2, 0}, {512, 512, 65536, 0, 1}, {1793, 1793, 1793, 0, 1}};
    struct fake *f = fake();
    for (size_t i = 0; i < RG_COUNT(cases); i++) {
        rg_ctx *c = fake_open(f);
        uint32_t soon = 0, replays = 0;
        rg_tensor x[2] = {rg_contiguous(rg_zeros(c, RG_BF16, RG_SHAPE(cases[i].m, cases[i].k))),
                          rg_contiguous(rg_zeros(c, RG_BF16, RG_SHAPE(cases[i].k, cases[i].n)))},
                  y;
        CHECK(!rg_realize(x[0]) && !rg_realize(x[1]));
        rg_jit *j = rg_jit_new(c, product, NULL, 1);
        for (int k = 0; k < 4; k++) {
            soon = f->soon, replays = f->replays;
            if (rg_jit_call(j, (rg_tensors){x, 2}, &y)) FAIL("%s", rg_error(c));
        }
        CHECK_EQ(f->soon - soon, cases[i].soon);
        CHECK_EQ(f->replays - replays, cases[i].replays);
        rg_close(c);
    }
    check_empty(f);
}

/* The gradient of the weights behind an attention, (B, H, T, D) by (B, T, N): no copy of heads or of what flows back, at
 * most a product and the sum of its splits. */
TEST(cuda_fake_heads_in_place) {
    struct fake *f = fake();
    rg_ctx *c = fake_open(f);
    rg_plan_stats plan;
    rg_tensor heads = rg_contiguous(rg_zeros(c, RG_BF16, RG_SHAPE(16, 12, 1024, 64))),
              flow = rg_contiguous(rg_zeros(c, RG_BF16, RG_SHAPE(16, 1024, 768))),
              w = rg_contiguous(rg_zeros(c, RG_BF16, RG_SHAPE(768, 768))), g;
    CHECK(!rg_realize_all(RG_TENSORS(heads, flow, w)));
    rg_tensor y = rg_matmul(rg_reshape(rg_transpose(heads, 1, 2), RG_SHAPE(16, 1024, 768)), w);
    CHECK(!rg_grad(y, RG_TENSORS(w), &g, .seed = flow));
    if (rg_schedule_stats(RG_TENSORS(g), &plan)) FAIL("%s", rg_error(c));
    CHECK(plan.kernels <= 2);
    rg_close(c);
    check_empty(f);
}

/* Large kernels wait for each other as usual: 4 M elements are more blocks than SMs. */
TEST(cuda_fake_large_kernels_wait) {
    struct fake *f = fake();
    rg_ctx *c = fake_open(f);
    rg_tensor x = rg_zeros(c, RG_F32, RG_SHAPE(1 << 22)), y;
    CHECK(!rg_realize(x));
    rg_jit *j = rg_jit_new(c, diamond, NULL, 1);
    for (int i = 0; i < 3; i++)
        if (rg_jit_call(j, (rg_tensors){&x, 1}, &y)) FAIL("%s", rg_error(c));
    CHECK_EQ(f->edges, 4);
    CHECK_EQ(f->early, 0);
    rg_close(c);
    check_empty(f);
}

/* A function in the middle: 4200 elements are too many for one kernel, so that it is eight, each a node that waits for the one
 * before. */
static rg_status with_sort(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)user;
    rg_tensor a = rg_contiguous(rg_exp(rg_contiguous(rg_add(in[0], 1)))), s;
    s = rg_sort(a, 0);
    out[0] = rg_sqrt(rg_contiguous(rg_add(s, 1)));
    return RG_OK;
}

TEST(cuda_fake_functions_are_nodes) {
    struct fake *f = fake();
    rg_ctx *c = fake_open(f);
    rg_tensor x = rg_contiguous(rg_full(c, RG_F32, 2, RG_SHAPE(4200))), y;
    rg_jit *j = rg_jit_new(c, with_sort, NULL, 1);
    CHECK(!rg_realize(x));
    f->launches = 0;
    if (rg_jit_call(j, (rg_tensors){&x, 1}, &y)) FAIL("%s", rg_error(c));
    CHECK_EQ(f->launches, 10);
    CHECK(!rg_jit_call(j, (rg_tensors){&x, 1}, &y));
    uint32_t copies = f->copies;
    CHECK(!rg_jit_call(j, (rg_tensors){&x, 1}, &y));
    CHECK_EQ(f->launches, 10);
    CHECK_EQ(f->copies - copies, 0);
    CHECK_EQ(f->replays, 2);
    CHECK_EQ(f->nodes, 10);
    CHECK_EQ(f->edges, 9);
    rg_close(c);
    check_empty(f);
}

/* Short rows, and the first few of long ones, are one kernel without scratch memory; the first of one very long row are not. */
TEST(cuda_fake_selects) {
    struct fake *f = fake();
    rg_ctx *c = fake_open(f);
    static const struct {
        int64_t rows, len, first;
        uint32_t launches;
    } row[] = {{3, 2048, 0, 1}, {40, 5000, 50, 1}, {1, 50257, 256, 1}, {40, 5000, 257, 6}, {1, 70000, 10, 6}};
    for (size_t i = 0; i < RG_COUNT(row); i++) {
        rg_tensor x = rg_contiguous(rg_ones(c, RG_F32, RG_SHAPE(row[i].rows, row[i].len)));
        CHECK(!rg_realize(x));
        uint32_t before = f->launches;
        if (rg_realize(row[i].first ? rg_topk(x, row[i].first, 1) : rg_sort(x, 1))) FAIL("%s", rg_error(c));
        CHECK_EQ(f->launches - before, row[i].launches);
    }
    rg_close(c);
    check_empty(f);
}

/* An embedding's gradient: keys of the index, one radix pass, offsets of the segments, sums; or zeros and additions. */
TEST(cuda_fake_scatter_adds) {
    struct fake *f = fake();
    for (int atomics = 0; atomics < 2; atomics++) {
        setenv("RIDGE_ATOMICS", atomics ? "1" : "0", 1);
        rg_ctx *c = fake_open(f);
        rg_tensor at = rg_contiguous(rg_zeros(c, RG_I64, RG_SHAPE(300, 1))),
                  x = rg_contiguous(rg_ones(c, RG_F32, RG_SHAPE(300, 8)));
        CHECK(!rg_realize_all(RG_TENSORS(at, x)));
        uint32_t before = f->launches;
        rg_tensor y =
            rg_scatter_add(rg_zeros(c, RG_F32, RG_SHAPE(10, 8)), 0, rg_expand(at, RG_SHAPE(300, 8)), x);
        if (rg_realize(y)) FAIL("%s", rg_error(c));
        CHECK_EQ(f->launches - before, atomics ? 2 : 4);
        rg_close(c);
    }
    check_empty(f);
}

/* What must wait in a plain chain, and a value that changes. */
static rg_status scaled(void *user, const rg_tensor *in, rg_tensor *out) {
    rg_tensor *s = user;
    out[0] = in[0];
    for (int i = 0; i < 100; i++) out[0] = rg_contiguous(i == 50 ? rg_mul(out[0], *s) : rg_sub(out[0], 1));
    return RG_OK;
}

TEST(cuda_fake_numbers_change) {
    struct fake *f = fake();
    rg_ctx *c = fake_open(f);
    rg_tensor x = ramp(c, 8), s = rg_scalar(c, RG_F32, 2), y;
    rg_jit *j = rg_jit_new(c, scaled, &s, 1);
    for (int i = 0; i < 5; i++) {
        CHECK(!rg_set_scalar(s, 2 + i));
        if (rg_jit_call(j, (rg_tensors){&x, 1}, &y)) FAIL("%s", rg_error(c));
    }
    CHECK_EQ(f->nodes, 100);
    CHECK_EQ(f->edges, 99);
    CHECK_EQ(f->changes, 3); /* the number, in calls 3, 4, 5 */
    rg_close(c);
    check_empty(f);
}

/* ---- TMA descriptors ------------------------------------------------------------------------------------------- */

/* A kernel with a map: encoded once for an address, again for another, kept; told to a graph when the address changes. */
TEST(cuda_fake_tensor_maps) {
    struct fake *f = fake();
    struct engine *en = engine_open(&err, &device_cuda[0]);
    if (!en) FAIL("%s", err.msg);
    struct etext t = {.name = "boxes", .text = "void boxes(", .grid = 1, .block = 128, .nbuf = 1, .nmap = 1};
    t.map[0] = (struct dev_map){
        .slot = 0, .rank = 2, .bytes = 2, .size = {64, 16}, .step = {1, 64}, .box = {64, 16}};
    const struct ekernel *k;
    if (engine_compile_text(en, &err, &t, 1, &k)) FAIL("%s", err.msg);
    void *buf[2] = {engine_alloc(en, &err, 4096), engine_alloc(en, &err, 4096)};
    struct engine_list *one = engine_list_new(en, &err), *two = engine_list_new(en, &err);
    CHECK(!engine_list_add(one, &err, k, &buf[0], NULL));
    for (int i = 0; i < 6; i++) { /* alone: launched */
        engine_list_bufs(one, 0)[0] = buf[i % 2];
        if (engine_list_run(one, &err)) FAIL("%s", err.msg);
        CHECK_EQ(f->map_at, (uintptr_t)buf[i % 2]);
        CHECK_EQ(f->map_of, (uintptr_t)buf[i % 2]);
    }
    CHECK_EQ(f->maps, 2);
    for (uint32_t i = 0; i < 2; i++) {
        CHECK(!engine_list_add(two, &err, k, &buf[0], NULL));
        CHECK(!engine_list_uses(two, &err, i, (uint8_t[]){USE_LOADED}, (size_t[]){4096}));
    }
    for (int i = 0; i < 4; i++) { /* a graph from the second run on */
        engine_list_bufs(two, 1)[0] = buf[i > 1];
        if (engine_list_run(two, &err)) FAIL("%s", err.msg);
    }
    CHECK_EQ(f->replays, 3);
    CHECK_EQ(f->changes, 1);
    CHECK_EQ(f->maps, 2);
    engine_list_bufs(one, 0)[0] = (char *)buf[0] + 8;
    CHECK_EQ(engine_list_run(one, &err), RG_EDEVICE);
    CHECK(strstr(err.msg, "multiple of 16 bytes"));
    engine_list_free(one), engine_list_free(two);
    engine_free(en, buf[0], 4096), engine_free(en, buf[1], 4096);
    engine_close(en);
    check_empty(f);
}

static int target_capability(const struct engine *en) {
    struct lower_opts how = {0};
    prog_target(en, &how);
    CHECK(how.target.gpu == &en->gpu);
    return how.target.capability;
}

/* A driver that cannot make maps: products are written without boxes, and a kernel with one is refused. */
TEST(cuda_fake_without_tensor_maps) {
    struct fake *f = fake();
    struct engine *hopper = engine_open(&err, &device_cuda[0]);
    if (!hopper) FAIL("%s", err.msg);
    CHECK_EQ(target_capability(hopper), 90);
    engine_close(hopper);
    f->major = 8;
    struct engine *en = engine_open(&err, &device_cuda[0]);
    if (!en) FAIL("%s", err.msg);
    CHECK_EQ(target_capability(en), 80);
    struct etext t = {.name = "boxes", .text = "void boxes(", .grid = 1, .block = 128, .nbuf = 1, .nmap = 1};
    const struct ekernel *k;
    CHECK(!engine_compile_text(en, &err, &t, 1, &k));
    void *buf = engine_alloc(en, &err, 4096);
    struct engine_list *l = engine_list_new(en, &err);
    CHECK(!engine_list_add(l, &err, k, &buf, NULL));
    CHECK_EQ(engine_list_run(l, &err), RG_EUNSUPPORTED);
    CHECK(strstr(err.msg, "compute capability 9.0"));
    engine_list_free(l);
    engine_free(en, buf, 4096);
    engine_close(en);
    check_empty(f);
}

/* ---- batches ----------------------------------------------------------------------------------------------------- */

static int fill_numbers(void *user, uint64_t number, void *const *buf) {
    float *x = buf[0];
    int32_t *y = buf[1];
    (void)user;
    for (int i = 0; i < 100; i++) x[i] = (float)number + (float)i / 128;
    *y = (int32_t)number;
    return number >= 20;
}

/* Every batch in order and whole; all are copied by the GPU itself, from pinned memory. */
TEST(cuda_fake_loader) {
    struct fake *f = fake();
    rg_ctx *c = fake_open(f);
    static const int64_t hundred[] = {100};
    static const rg_batch_part part[] = {{RG_F32, {hundred, 1}}, {RG_I32, {NULL, 0}}};
    size_t pinned = f->pinned;
    for (uint32_t ahead = 0; ahead < 4; ahead++) {
        rg_loader *l = rg_loader_new(c, part, 2, fill_numbers, NULL, .ahead = ahead);
        CHECK_EQ(f->pinned - pinned, (ahead ? ahead + 1 : 3) * (448 + 64));
        bool end = false;
        for (int i = 0; i < 20; i++) {
            RG_SCOPE(c);
            rg_tensor t[2];
            float x[100];
            int32_t y = -1;
            if (rg_loader_next(l, t, &end) || end) FAIL("%s", rg_error(c));
            CHECK(!rg_read(t[0], x, sizeof x) && !rg_read(t[1], &y, sizeof y));
            for (int k = 0; k < 100; k++) CHECK(x[k] == (float)i + (float)k / 128);
            CHECK_EQ(y, i);
        }
        rg_tensor none[2];
        CHECK(!rg_loader_next(l, none, &end) && end && !none[0].id);
        rg_loader_free(l);
        CHECK_EQ(f->pinned, pinned);
    }
    rg_close(c);
    check_empty(f);
}

/* Freed with a batch on its way; without pinned memory; a copy that does not begin. */
TEST(cuda_fake_loader_errors) {
    struct fake *f = fake();
    rg_ctx *c = fake_open(f);
    static const int64_t hundred[] = {100};
    static const rg_batch_part part[] = {{RG_F32, {hundred, 1}}, {RG_I32, {NULL, 0}}};
    rg_tensor t[2];
    rg_loader *l = rg_loader_new(c, part, 2, fill_numbers, NULL);
    CHECK(!rg_loader_next(l, t, NULL));
    usleep(20000); /* the next two are prepared */
    CHECK(!rg_loader_next(l, t, NULL));
    rg_loader_free(l);
    f->fail = "cuMemHostAlloc", f->code = 2;
    CHECK(!rg_loader_new(c, part, 2, fill_numbers, NULL));
    CHECK_EQ(rg_status_of(c), RG_ENOMEM);
    CHECK(!rg_clear_error(c));
    f->fail = NULL;
    l = rg_loader_new(c, part, 2, fill_numbers, NULL);
    f->fail = "cuMemcpyHtoDAsync_v2", f->code = 1;
    CHECK_EQ(rg_loader_next(l, t, NULL), RG_EDEVICE);
    CHECK(strstr(rg_error(c), "Fake GPU failed at a copy to the GPU"));
    CHECK(!rg_clear_error(c));
    f->fail = NULL; /* and the batch is not lost */
    int32_t y = -1;
    if (rg_loader_next(l, t, NULL) || rg_read(t[1], &y, sizeof y)) FAIL("%s", rg_error(c));
    CHECK_EQ(y, 0);
    rg_close(c);
    check_empty(f);
}

/* ---- what may go wrong ---------------------------------------------------------------------------------------------- */

static void check_refused(const char *words) {
    rg_ctx *c = rg_open("CUDA");
    if (rg_status_of(c) != RG_EDEVICE || !strstr(rg_error(c), words)) FAIL("%s", rg_error(c));
    CHECK_EQ(cuda_is_missing(rg_error(c)),
             !strcmp(words, "finds no GPU")); /* all others fail tests of a GPU */
    rg_close(c);
    float x = 0; /* others go on */
    c = rg_open("CPU");
    CHECK(!rg_read(rg_add(rg_full(c, RG_F32, 1, RG_SHAPE(1)), 2), &x, sizeof x) && x == 3);
    rg_close(c);
}

TEST(cuda_fake_drivers_that_do_not_serve) {
    setenv("RIDGE_CUDA", "/nowhere/libcuda.so", 1);
    env_reload();
    check_refused("RIDGE_CUDA names no NVIDIA driver: /nowhere/libcuda.so cannot be loaded");
    setenv("RIDGE_CUDA", "libm.so.6", 1);
    env_reload();
    check_refused("libm.so.6 has no function cuInit: it is older than CUDA 11.4");
    struct fake *f = fake();
    f->gpus = 0;
    check_refused("finds no GPU");
    f->gpus = 1, f->fail = "cuInit", f->code = 803;
    check_refused("does not start: CUDA_ERROR_FAKE (as it was told)");
    f->fail = NULL, f->version = 11030;
    check_refused("the NVIDIA driver is for CUDA 11.3; CUDA 11.4 or newer is needed");
    f->version = 13000, f->major = 6;
    check_refused("Fake GPU has compute capability 6.0; 7.0 or newer is needed");
    f->major = 9;
    CHECK(!rg_close(fake_open(f)));
    check_empty(f);
}

/* Each call of opening fails in turn: the error names what failed, and nothing is left behind. */
TEST(cuda_fake_opening_fails) {
    static const char *const call[] = {"cuDeviceGetCount", "cuDevicePrimaryCtxRetain", "cuStreamCreate",
                                       "cuEventCreate", "cuMemHostAlloc"};
    struct fake *f = fake();
    for (size_t i = 0; i < RG_COUNT(call); i++)
        for (int after = 0; after < 3; after++) {
            f->fail = call[i], f->after = after, f->code = 304;
            rg_ctx *c = rg_open("CUDA");
            if (rg_status_of(c) && !strstr(rg_error(c), "failed at")) FAIL("%s", rg_error(c));
            CHECK(rg_status_of(c) || (after && (i < 2 || (i == 2 && after == 2))));
            rg_close(c);
            f->fail = NULL;
            check_empty(f);
        }
}

/* Memory: what is kept is given back when there is no more, and only then is it an error. */
TEST(cuda_fake_out_of_memory) {
    struct fake *f = fake();
    f->memory = 100 << 20;
    struct engine *en = engine_open(&err, &device_cuda[0]);
    CHECK(en);
    void *a = engine_alloc(en, &err, 40 << 20), *b = engine_alloc(en, &err, 40 << 20);
    CHECK(a && b);
    engine_free(en, a, 40 << 20);
    uint32_t allocs = f->allocs;
    CHECK(engine_alloc(en, &err, 40 << 20) == a); /* kept: the driver is not asked */
    CHECK_EQ(f->allocs, allocs);
    engine_free(en, a, 40 << 20);
    void *c = engine_alloc(en, &err, 56 << 20); /* fits only without it */
    CHECK(c && f->used == (96 << 20));
    CHECK(!engine_alloc(en, &err, 40 << 20) && err.code == RG_ENOMEM);
    CHECK_STR(err.msg, "the CUDA device has no 41943040 bytes of memory left");
    err_clear(&err);
    engine_free(en, b, 40 << 20), engine_free(en, c, 56 << 20);
    c = engine_alloc(en, &err, 96 << 20);
    CHECK(c);
    engine_free(en, c, 96 << 20);
    engine_close(en);
    check_empty(f);
}

static const struct ekernel *text_kernel(struct engine *en, const char *name) {
    char text[200];
    const struct ekernel *k;
    snprintf(text, sizeof text, "extern \"C\" __global__ void %s(f32 *b0, u64 n, char *s, u64 d) { }\n",
             name);
    struct etext t = {.name = name, .text = text, .grid = 1, .nbuf = 1};
    if (engine_compile_text(en, &err, &t, 1, &k)) FAIL("%s", err.msg);
    return k;
}

/* A launch that the driver refuses is an error like others; a fault takes the device away, and says so from then on. */
TEST(cuda_fake_lost) {
    struct fake *f = fake();
    fake_loses();
    struct engine *en = engine_open(&err, &device_cuda[0]);
    CHECK(en);
    struct engine_list *tame = engine_list_new(en, &err), *wild = engine_list_new(en, &err);
    void *p = engine_alloc(en, &err, 4);
    CHECK(p && !engine_list_add(tame, &err, text_kernel(en, "tame"), &p, NULL));
    CHECK(!engine_list_add(wild, &err, text_kernel(en, "wild"), &p, NULL));
    f->fail = "cuLaunchKernel", f->code = 701;
    CHECK_EQ(engine_list_run(tame, &err), RG_EDEVICE);
    CHECK_STR(err.msg, "Fake GPU failed at starting a kernel: CUDA_ERROR_FAKE (as it was told)");
    err_clear(&err);
    f->fail = NULL;
    CHECK(!engine_list_run(tame, &err));
    CHECK(!engine_list_run(wild, &err)); /* the fault shows later */
    float x;
    CHECK_EQ(engine_copy(en, &err, COPY_OUT, &x, p, 4), RG_EDEVICE);
    CHECK(strstr(err.msg, "Fake GPU was lost: CUDA_ERROR_ILLEGAL_ADDRESS"));
    err_clear(&err);
    CHECK_EQ(engine_list_run(tame, &err), RG_EDEVICE);
    CHECK(strstr(err.msg, "was lost earlier"));
    err_clear(&err);
    CHECK(!engine_alloc(en, &err, 1 << 20) && err.code == RG_EDEVICE);
    engine_list_free(tame), engine_list_free(wild);
    engine_close(en);
    CHECK_EQ(f->contexts, 0);
}

/* Where the driver gives a lost device back, it can be used again after rg_close. A context from before the loss that is
 * closed later takes nothing from newer ones. */
TEST(cuda_fake_lost_and_opened_again) {
    struct fake *f = fake();
    fake_loses();
    f->mends = 1;
    struct engine *en = engine_open(&err, &device_cuda[0]);
    CHECK(en);
    rg_ctx *old = rg_open("CUDA"), *c;
    rg_tensor x = ramp(old, 8);
    CHECK(!rg_realize(rg_add(x, 1)));
    struct engine_list *wild = engine_list_new(en, &err);
    void *p = engine_alloc(en, &err, 4);
    CHECK(p && !engine_list_add(wild, &err, text_kernel(en, "wild"), &p, NULL));
    CHECK(!engine_list_run(wild, &err));
    float out[8];
    CHECK_EQ(rg_read(rg_add(x, 2), out, sizeof out), RG_EDEVICE); /* the one beside it sees the loss too */
    CHECK(strstr(rg_error(old), "was lost") && strstr(rg_error(old), "rg_close"));
    CHECK(engine_copy(en, &err, COPY_OUT, out, p, 4));
    engine_list_free(wild);
    engine_close(en);
    CHECK_EQ(f->resets, 1);
    c = rg_open("CUDA");
    if (rg_status_of(c)) FAIL("%s", rg_error(c));
    rg_tensor y = ramp(c, 8);
    CHECK(!rg_realize(rg_add(y, 1)));
    CHECK_EQ(rg_close(old), RG_EDEVICE);
    CHECK_EQ(f->resets, 1);
    CHECK(!rg_read(rg_add(y, 2), out, sizeof out));
    CHECK_EQ(rg_close(c), 0);
    f->sticky = 700, f->mends = 0;
    c = rg_open("CUDA"); /* where it does not, that is an error with words */
    CHECK_EQ(rg_status_of(c), RG_EDEVICE);
    CHECK(strstr(rg_error(c), "CUDA_ERROR_ILLEGAL_ADDRESS"));
    rg_close(c);
}

/* Tiles that do not fit into what the blocks of this GPU share: another list. What asks for too much by its text is told. */
TEST(cuda_fake_shared_memory) {
    struct fake *f = fake();
    static const int room[] = {227 << 10, 16 << 10};
    for (int i = 0; i < 2; i++) {
        f->shared = room[i], f->shared_asked = 0, f->grants = 0;
        rg_ctx *c = fake_open(f);
        rg_tensor x = rg_ones(c, RG_BF16, RG_SHAPE(1024, 1024));
        for (int again = 0; again < 3; again++) /* it is asked for once */
            if (rg_realize(rg_matmul(rg_contiguous(x), rg_contiguous(rg_mul(x, 2))))) FAIL("%s", rg_error(c));
        CHECK(i ? f->shared_asked <= 16 << 10 : f->shared_asked > 48 << 10);
        CHECK_EQ(f->grants, i ? 0 : 1);
        rg_close(c);
    }
    struct engine *en = engine_open(&err, &device_cuda[0]);
    const char *text = "extern \"C\" __global__ void much(f32 *b0, u64 n, char *s, u64 d) { }\n";
    const struct ekernel *k;
    struct etext t = {.name = "much", .text = text, .grid = 1, .nbuf = 1, .block = 32, .shared = 20000};
    if (engine_compile_text(en, &err, &t, 1, &k)) FAIL("%s", err.msg);
    struct engine_list *l = engine_list_new(en, &err);
    void *p = engine_alloc(en, &err, 4);
    CHECK(p && !engine_list_add(l, &err, k, &p, NULL));
    CHECK_EQ(engine_list_run(l, &err), RG_ELIMIT);
    CHECK_STR(
        err.msg,
        "a kernel whose blocks share 20000 bytes; Fake GPU has 16384 for a block: choose smaller tiles");
    err_clear(&err);
    engine_list_free(l);
    engine_free(en, p, 4);
    engine_close(en);
    check_empty(f);
}

/* A driver without a compiler: the device opens, and the first kernel that is new says what is missing. */
TEST(cuda_fake_without_nvrtc) {
    struct fake *f = fake();
    setenv("RIDGE_NVRTC", "/nowhere/libnvrtc.so", 1);
    rg_ctx *c = fake_open(f);
    float x;
    CHECK_EQ(rg_read(rg_sum(ramp(c, 8)), &x, sizeof x), RG_ECOMPILE);
    if (!strstr(rg_error(c), "RIDGE_NVRTC names no compiler of NVIDIA's")) FAIL("%s", rg_error(c));
    rg_close(c);
    check_empty(f);
}

/* Every row is there, and all that it took is given back; figures come from a GPU only. */
TEST(cuda_fake_ceilings) {
    static const char *const want[] = {"memory read",   "memory write",   "memory copy", "L2 read",   "f32",
                                       "bf16 mma.sync", "pinned copy in", "launch",      "graph node"};
    struct fake *f = fake();
    f->memory = 256 << 20;
    struct engine *en = engine_open(&err, &device_cuda[0]);
    struct arena a;
    struct ceilings c;
    arena_init(&a, &err);
    if (!en || engine_ceilings(en, &err, &a, &c)) FAIL("%s", err.msg);
    CHECK_EQ(c.n, RG_COUNT(want));
    for (uint32_t i = 0; i < c.n; i++) {
        CHECK_STR(c.row[i].name, want[i]);
        CHECK(c.row[i].all > 0);
    }
    CHECK_EQ(c.threads, 132);
    CHECK_NEAR(c.row[4].theory_all, 132 * 1.98 * 256, 1); /* GFLOP/s of float32 */
    CHECK_NEAR(c.row[0].theory_all, 3.125 * 2 * 6144 / 8, 1);
    CHECK_EQ(f->nodes, 1000);
    engine_close(en);
    arena_free(&a);
    check_empty(f);
}

/* A graph that cannot be made is an error of that call; later calls try again. */
TEST(cuda_fake_graph_fails) {
    static const char *const call[] = {"cuGraphCreate", "cuGraphAddKernelNode", "cuGraphInstantiateWithFlags",
                                       "cuGraphLaunch", "cuGraphExecKernelNodeSetParams"};
    struct fake *f = fake();
    for (size_t i = 0; i < RG_COUNT(call); i++) {
        rg_ctx *c = fake_open(f);
        rg_tensor x = ramp(c, 64), other = ramp(c, 64), y;
        rg_jit *j = rg_jit_new(c, diamond, NULL, 1);
        CHECK(!rg_jit_call(j, (rg_tensors){&x, 1}, &y));
        f->fail = call[i], f->after = 0, f->code = 304;
        rg_status st = rg_jit_call(j, (rg_tensors){&x, 1}, &y);
        if (!st) st = rg_jit_call(j, (rg_tensors){&other, 1}, &y); /* another address: parameters change */
        CHECK_EQ(st, RG_EDEVICE);
        CHECK(!rg_clear_error(c));
        f->fail = NULL;
        for (int k = 0; k < 3; k++)
            if (rg_jit_call(j, (rg_tensors){&x, 1}, &y)) FAIL("%s: %s", call[i], rg_error(c));
        rg_close(c);
        check_empty(f);
    }
}

/* ---- units and limits ---------------------------------------------------------------------------------------- */

/* Of two units one does not compile: that is an error, and the other is not compiled again. */
TEST(cuda_fake_one_unit_fails) {
    struct fake *f = fake();
    struct err e = {0};
    setenv("RIDGE_CC_JOBS", "2", 1);
    env_reload();
    struct engine *en = engine_open(&err, &device_cuda[0]);
    CHECK(en);
    static const char
        good[] = "extern \"C\" __global__ void f(float *b0, u64 n, char *s, u64 d) { b0[0] = 1; }\n",
        bad[] = "#error\nextern \"C\" __global__ void g(float *b0, u64 n, char *s, u64 d) { b0[0] = 2; }\n";
    struct etext t[] = {{.name = "f", .text = good, .grid = 1, .nbuf = 1},
                        {.name = "g", .text = bad, .grid = 1, .nbuf = 1}};
    const struct ekernel *k[2] = {NULL, NULL};
    CHECK_EQ(engine_compile_text(en, &e, t, 2, k), RG_ECOMPILE);
    uint32_t before = f->compiled;
    err_clear(&e);
    if (engine_compile_text(en, &e, t, 1, k)) FAIL("%s", e.msg);
    CHECK(k[0]);
    CHECK_EQ(f->compiled, before);
    CHECK_EQ(engine_compile_text(en, &e, t + 1, 1, k + 1), RG_ECOMPILE);
    engine_close(en);
    check_empty(f);
}

/* A kernel whose launches are timed, and end after 3 ms of waiting at the latest. */
struct timed_launch {
    struct engine *en;
    void *buf;
    uint64_t ns;
    struct dev_launch l;
};

static void timed_open(struct timed_launch *t) {
    static const char text[] =
        "extern \"C\" __global__ void f(float *b0, u64 n, char *s, u64 d) { b0[0] = 1; }\n";
    struct etext source = {.name = "f", .text = text, .grid = 1, .nbuf = 1};
    const struct ekernel *k;
    fake_loses();
    *t = (struct timed_launch){.en = engine_open(&err, &device_cuda[0])};
    CHECK(t->en);
    if (engine_compile_text(t->en, &err, &source, 1, &k)) FAIL("%s", err.msg);
    t->buf = engine_alloc(t->en, &err, 64);
    t->l = (struct dev_launch){
        .fn = k->fn, .buf = &t->buf, .grid = 1, .nbuf = 1, .ns = &t->ns, .limit = 3000000};
}

static void timed_close(struct timed_launch *t) {
    engine_free(t->en, t->buf, 64);
    engine_close(t->en);
}

/* A kernel that does not end is told, and nothing waits for it any more. */
TEST(cuda_fake_hangs) {
    struct fake *f = fake();
    struct timed_launch t;
    struct err e = {0};
    timed_open(&t);
    CHECK(!device_cuda[0].launch(t.en->dev, &e, &t.l));
    f->hangs = 1;
    CHECK_EQ(device_cuda[0].launch(t.en->dev, &e, &t.l), RG_EDEVICE);
    if (!strstr(e.msg, "was not done after")) FAIL("%s", e.msg);
    err_clear(&e);
    CHECK_EQ(device_cuda[0].launch(t.en->dev, &e, &t.l), RG_EDEVICE);
    f->hangs = 0;
    timed_close(&t);
}

/* .. nor does what is launched before the first kernel that is timed. */
TEST(cuda_fake_hangs_before_a_timed_kernel) {
    struct fake *f = fake();
    struct timed_launch t;
    struct err e = {0};
    timed_open(&t);
    f->hangs = 1, f->stuck = 0;
    CHECK_EQ(device_cuda[0].launch(t.en->dev, &e, &t.l), RG_EDEVICE);
    if (!strstr(e.msg, "was not done after")) FAIL("%s", e.msg);
    CHECK_EQ(f->stuck, 0);
    f->hangs = 0;
    timed_close(&t);
}
