/* The public API and memory: training loops that do not grow, out of memory at every allocation. */
#include "base/base.h"

#include <ridge.h>
#include <test.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* A small network: forward, backward, momentum. Returns the loss. */
struct net {
    rg_ctx *c;
    rg_tensor w1, b1, w2, m1, m2, rate;
};

static rg_tensor init(rg_ctx *c, int64_t n, int64_t m) {
    return rg_mul(rg_sin(rg_reshape(rg_arange(c, RG_F32, 0, (double)(n * m), 1), RG_SHAPE(n, m))), 0.5);
}

static void net_open(struct net *n, const char *device) {
    rg_ctx *c = n->c = rg_open(device);
    n->w1 = rg_param(init(c, 3, 8));
    n->b1 = rg_param(rg_zeros(c, RG_F32, RG_SHAPE(8)));
    n->w2 = rg_param(init(c, 8, 1));
    n->m1 = rg_zeros(c, RG_F32, RG_SHAPE(3, 8));
    n->m2 = rg_zeros(c, RG_F32, RG_SHAPE(8, 1));
    n->rate = rg_scalar(c, RG_F32, 0.05);
}

static rg_tensor model(struct net *n, rg_tensor x) {
    rg_tensor h = rg_relu(rg_add(rg_matmul(x, n->w1), n->b1)); /* has a name: lives as long as the scope */
    return rg_matmul(h, n->w2);
}

static float net_step(struct net *n, int step) {
    RG_SCOPE(n->c);
    float data[4][3], loss_now = NAN;
    for (int i = 0; i < 12; i++) data[i / 3][i % 3] = (float)((i * 7 + step * 5) % 11) / 11;
    rg_tensor x = rg_from(n->c, RG_F32, data, RG_SHAPE(4, 3));
    rg_tensor y = rg_sum(rg_mul(x, x), RG_AXES(1), .keep = true);
    rg_tensor loss = rg_mean(rg_square(rg_sub(model(n, x), y)));
    rg_zero_grad(n->c);
    rg_backward(loss);
    rg_set_scalar(n->rate, 0.05 / (1 + step * 0.01));
    rg_assign(n->m1, rg_add(rg_mul(n->m1, 0.9), rg_param_grad(n->w1)));
    rg_assign(n->m2, rg_add(rg_mul(n->m2, 0.9), rg_param_grad(n->w2)));
    rg_assign(n->w1, rg_sub(n->w1, rg_mul(n->m1, n->rate)));
    rg_assign(n->w2, rg_sub(n->w2, rg_mul(n->m2, n->rate)));
    rg_assign(n->b1, rg_sub(n->b1, rg_mul(rg_param_grad(n->b1), n->rate)));
    rg_read(loss, &loss_now, sizeof loss_now);
    return loss_now;
}

static void train_flat(const char *device, int steps) {
    struct net n;
    net_open(&n, device);
    rg_usage early = {0}, late;
    int64_t blocks = 0;
    float first = 0, last = 0;
    for (int i = 0; i < steps; i++) {
        float l = net_step(&n, i);
        if (rg_status_of(n.c)) FAIL("step %d: %s", i, rg_error(n.c));
        if (i < 10) first += l;
        if (i >= steps - 10) last += l;
        if (i == steps / 10) {
            CHECK_EQ(rg_stats(n.c, &early), 0);
            blocks = mem_live();
        }
    }
    CHECK_EQ(rg_stats(n.c, &late), 0);
    CHECK_EQ(late.handles, early.handles);
    CHECK_EQ(late.nodes, early.nodes);
    CHECK_EQ(late.buffers, early.buffers);
    CHECK_EQ(late.bytes, early.bytes);
    CHECK_EQ(late.peak, early.peak);
    CHECK(late.nodes_held < 20000);
    CHECK(mem_live() <= blocks + 8); /* blocks of arenas */
    CHECK(last < 0.2f * first);
    CHECK_EQ(late.realizes, (uint64_t)steps);
    if (!strcmp(device, "CPU")) CHECK(late.cached >= (uint64_t)steps - 4);
    CHECK_EQ(rg_close(n.c), 0);
}

TEST(api_memory_1000_steps_are_flat) { train_flat("REF", 1000); }
TEST(api_memory_1000_steps_are_flat_on_the_cpu) { train_flat("CPU", 1000); }

TEST(api_memory_building_without_reading_is_flat) {
    rg_ctx *c = rg_open("REF");
    rg_tensor a = rg_ones(c, RG_F32, RG_SHAPE(4));
    int64_t blocks = 0;
    for (int i = 0; i < 40000; i++) {
        RG_SCOPE(c);
        rg_exp(rg_add(rg_mul(a, i), rg_sum(a)));
        if (i == 10000) blocks = mem_live();
    }
    rg_usage u;
    CHECK_EQ(rg_stats(c, &u), 0);
    CHECK_EQ(u.handles, 1);
    CHECK(u.nodes_held < 40000);
    CHECK(mem_live() <= blocks + 8);
    CHECK_EQ(rg_close(c), 0);
}

TEST(api_memory_unread_data_is_flat) { /* 2 GB in all; 64 MB may wait */
    rg_ctx *c = rg_open("REF");
    enum { MB = 1 << 20 };
    void *data = calloc(1, 8 * MB);
    for (int i = 0; i < 256; i++) {
        RG_SCOPE(c);
        rg_from(c, RG_U8, data, RG_SHAPE(8 * MB));
    }
    rg_usage u;
    CHECK_EQ(rg_stats(c, &u), 0);
    CHECK(u.peak <= 96 * (uint64_t)MB);
    CHECK_EQ(u.bytes, 0);
    free(data);
    CHECK_EQ(rg_close(c), 0);
}

static int64_t resident(void) {
    FILE *f = fopen("/proc/self/statm", "r");
    long pages = 0;
    CHECK(f && fscanf(f, "%*d %ld", &pages) == 1);
    fclose(f);
    return (int64_t)pages * sysconf(_SC_PAGESIZE);
}

/* Handle, node, store, block and what the context keeps of each. */
static void live_scalars(int n) {
    rg_ctx *c = rg_open("CPU");
    rg_tensor t = RG_NONE;
    float one = 1;
    for (int i = 0; i < 100; i++) t = rg_from(c, RG_F32, &one, RG_SHAPE(1));
    CHECK_EQ(rg_item(t), 1);
    int64_t before = resident();
    rg_memory m[2];
    CHECK_EQ(rg_memory_of(c, &m[0]), 0);
    for (int i = 0; i < n; i++) {
        one = (float)i;
        t = rg_from(c, RG_F32, &one, RG_SHAPE(1));
    }
    CHECK_EQ(rg_item(t), n - 1);
    CHECK_EQ(rg_memory_of(c, &m[1]), 0);
    CHECK_EQ(m[1].bytes - m[0].bytes, 4 * (uint64_t)n);
    CHECK_EQ(m[1].held - m[0].held, 64 * (uint64_t)n);
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
    double each = (double)(resident() - before) / n;
    if (each > 600) FAIL("%d live scalars take %.0f bytes each, expected at most 600", n, each);
#endif
    CHECK_EQ(rg_close(c), 0);
}
TEST(api_memory_of_live_scalars) { live_scalars(130000); } /* just above a power of two */
TEST_SLOW(api_memory_of_a_million_live_scalars, 120) { live_scalars(1000000); }

/* Shapes of 12 axes, 1 or `size` each: few elements, and no two calls alike. */
static void one_shape(rg_ctx *c, unsigned bits, int64_t size) {
    RG_SCOPE(c);
    int64_t d[12], n = 1;
    float data[1296] = {0}, got = 1; /* 6^4 */
    for (int i = 0; i < 12; i++) n *= d[i] = bits >> i & 1 ? size : 1;
    rg_tensor x = rg_from(c, RG_F32, data, (rg_ints){d, 12});
    CHECK_EQ(rg_read(rg_sum(rg_mul(rg_exp(x), 2)), &got, sizeof got), 0);
    CHECK_EQ(got, 2 * n);
}

/* What a context keeps of shapes that are gone: the names of who owned their memory, as many as may be idle. */
TEST(api_memory_of_many_shapes) {
    rg_ctx *c = rg_open("REF");
    int64_t blocks = 0, bytes = 0, shapes = 0;
    for (int64_t size = 2; size < 7; size++)
        for (unsigned bits = 0; bits < 4096; bits++) {
            if (__builtin_popcount(bits) > 4) continue;
            one_shape(c, bits, size);
            if (++shapes == 2000) blocks = mem_live(), bytes = resident();
        }
    rg_usage u;
    CHECK_EQ(rg_stats(c, &u), 0);
    CHECK_EQ(u.bytes, 0);
    CHECK(u.nodes_held < 20000);
    CHECK(mem_live() < blocks + 40);
    CHECK(shapes > 3900);
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
    double each = (double)(resident() - bytes) / (double)(shapes - 2000);
    if (each > 1024) FAIL("%.0f bytes stay of each shape, expected at most 1024", each);
    TEST_COUNT((size_t)each, "bytes stay of a shape");
#endif
    CHECK_EQ(rg_close(c), 0);
}

TEST(api_memory_growing_graph_warns_once) {
    char text[2000] = "";
    setenv("DEBUG", "1", 1);
    env_reload();
    FILE *log = freopen("/dev/null", "w", stderr), *f = tmpfile();
    CHECK(log && f && dup2(fileno(f), 2) == 2);
    rg_ctx *c = rg_open("REF");
    rg_tensor x = rg_from(c, RG_F32, (float[]){1}, RG_SHAPE(1)), sum = rg_neg(x);
    int line = 0;
    for (int i = 0; i < 30; i++) {
        RG_SCOPE(c);
        for (int j = 0; j < 500; j++) {
            line = __LINE__ + 1;
            rg_tensor next = rg_keep(rg_add(sum, i * 1000 + j + 0.5));
            rg_free(sum);
            sum = next;
        }
        rg_realize(rg_add(x, i));
    }
    CHECK_EQ(rg_close(c), 0);
    rewind(f);
    size_t n = fread(text, 1, sizeof text - 1, f);
    text[n] = 0;
    char want[200];
    snprintf(want, sizeof want, "warning: %s:%d: rg_add: this tensor waits for ", __FILE__, line);
    const char *at = strstr(text, want);
    if (!at) FAIL("no warning in\n%s", text);
    CHECK(!strstr(at + 1, "warning: "));
    fclose(f);
}

/* ---- out of memory at every allocation ---------------------------------------------------------------------- */

/* Opens, trains three steps, closes. Returns whether all went well; what fails must fail cleanly. */
static bool oom_run(int64_t nth) {
    struct net n;
    mem_fail_at(nth);
    net_open(&n, "REF");
    for (int i = 0; i < 3; i++) net_step(&n, i);
    rg_status st = rg_status_of(n.c);
    if (st && st != RG_ENOMEM) FAIL("allocation %lld: status %d, %s", (long long)nth, st, rg_error(n.c));
    mem_fail_at(-1);
    if (st && rg_clear_error(n.c) == RG_OK) { /* the context can be used again */
        rg_tensor a = rg_from(n.c, RG_F32, (float[]){1, 2}, RG_SHAPE(2));
        double v = rg_item(rg_sum(rg_add(a, 1)));
        if (v != 5)
            FAIL("allocation %lld: %g after the error was cleared, expected 5: %s", (long long)nth, v,
                 rg_error(n.c));
        if (rg_is_alive(n.rate) && rg_is_alive(n.m2) && !isfinite(net_step(&n, 3)))
            FAIL("allocation %lld: the loop does not go on: %s", (long long)nth, rg_error(n.c));
    }
    rg_close(n.c);
    return !st;
}

TEST(api_memory_fails_at_every_allocation) {
    CHECK(oom_run(-1)); /* what a process makes once */
    int64_t before = mem_live(), nth = 1;
    for (; !oom_run(nth); nth++) {
        if (mem_live() != before)
            FAIL("allocation %lld: %lld blocks leak", (long long)nth, (long long)(mem_live() - before));
        if (nth > 5000) FAIL("no end");
    }
    TEST_COUNT(nth - 1, "allocations of a training loop failed, one after the other");
}
