/* Tests of src/device/cuda that need no GPU: a library pretends to be the driver (tests/fake), counts what is asked of it
 * and fails when it is told to. What kernels compute is not seen here. */
#include "fake/fake.h"
#include "base/base.h"
#include "engine/engine.h"

#include <ridge.h>
#include <stdlib.h>
#include <test.h>
#include <unistd.h>

static struct err err;

/* The library lies beside the test program. */
static struct fake *fake(void) {
    char path[600];
    ssize_t n = readlink("/proc/self/exe", path, 500);
    CHECK(n > 0);
    path[n] = 0;
    strcpy(strrchr(path, '/'), "/fake/libcuda.so");
    setenv("RIDGE_CUDA", path, 1), setenv("RIDGE_NVRTC", path, 1), setenv("RIDGE_CACHE", "0", 1);
    env_reload();
    void *lib = os_dlopen(&err, path);
    if (!lib) FAIL("%s", err.msg);
    struct fake *f = os_dlsym(lib, "fake_state");
    CHECK(f);
    return f;
}

/* Everything was given back. */
static void check_empty(const struct fake *f) {
    CHECK_EQ(f->used, 0);
    CHECK_EQ(f->pinned, 0);
    CHECK_EQ(f->streams, 0);
    CHECK_EQ(f->events, 0);
    CHECK_EQ(f->modules, 0);
    CHECK_EQ(f->graphs, 0);
    CHECK_EQ(f->contexts, 0);
}

static rg_ctx *fake_open(struct fake *f) {
    setenv("RIDGE_MULTI", "0", 1);
    env_reload();
    (void)f;
    rg_ctx *c = rg_open("CUDA");
    if (rg_status_of(c)) FAIL("%s", rg_error(c));
    return c;
}

static rg_tensor ramp(rg_ctx *c, int n) {
    float x[64];
    for (int i = 0; i < n; i++) x[i] = (float)i;
    return rg_from(c, RG_F32, x, RG_SHAPE(n));
}

/* ---- replays ------------------------------------------------------------------------------------------------- */

/* Four kernels: one, two that need it, one that needs both. */
static rg_status diamond(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)user;
    rg_tensor a = rg_contiguous(rg_add(in[0], 1)), b = rg_contiguous(rg_exp(a)),
              d = rg_contiguous(rg_sqrt(a));
    out[0] = rg_add(b, d);
    return RG_OK;
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
    CHECK_EQ(f->changes, 1);    /* it was recorded with a copy of the input */
    for (int i = 0; i < 4; i++) /* another input: the one kernel that reads it is told */
        CHECK(!rg_jit_call(j, (rg_tensors){&in[i < 2], 1}, &y));
    CHECK_EQ(f->changes, 3);
    CHECK_EQ(f->replays, 7);
    CHECK_EQ(f->nodes, 4);
    uint32_t allocs = f->allocs;
    for (int i = 0; i < 100; i++) CHECK(!rg_jit_call(j, (rg_tensors){&in[i % 2], 1}, &y));
    CHECK_EQ(f->allocs - allocs, 0);
    rg_close(c);
    check_empty(f);
}

/* A function of the host in the middle: what is before it and behind it are graphs, or launches. */
static rg_status with_sort(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)user;
    rg_tensor a = rg_contiguous(rg_exp(rg_contiguous(rg_add(in[0], 1)))), s;
    s = rg_sort(a, 0);
    out[0] = rg_sqrt(rg_contiguous(rg_add(s, 1)));
    return RG_OK;
}

TEST(cuda_fake_graphs_stop_at_the_host) {
    struct fake *f = fake();
    rg_ctx *c = fake_open(f);
    rg_tensor x = ramp(c, 64), y;
    rg_jit *j = rg_jit_new(c, with_sort, NULL, 1);
    if (rg_jit_call(j, (rg_tensors){&x, 1}, &y)) FAIL("%s", rg_error(c));
    CHECK_EQ(f->launches, 4);
    CHECK(!rg_jit_call(j, (rg_tensors){&x, 1}, &y));
    uint32_t copies = f->copies;
    CHECK(!rg_jit_call(j, (rg_tensors){&x, 1}, &y));
    CHECK_EQ(f->launches, 4);
    CHECK_EQ(f->copies - copies, 2); /* of what is sorted, out and in */
    CHECK_EQ(f->replays, 4);
    CHECK_EQ(f->nodes, 4);
    CHECK_EQ(f->edges, 2);
    rg_close(c);
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
    CHECK_EQ(f->changes, 1 + 3); /* the input, once; the number, in calls 3, 4, 5 */
    rg_close(c);
    check_empty(f);
}
