/* Tests of src/event/nvtx.c: a library stands in for a tool of NVIDIA's (tests/fake/nvtx.c) and notes the ranges it is told of. */
#include "base/base.h"
#include "event/event.h"
#include "fake/beside.h"
#include "fake/fake.h"

#include <ridge.h>
#include <stdlib.h>
#include <test.h>
#include <unistd.h>

static struct fake_nvtx *tool(void) {
    char path[600];
    void *lib = beside("/fake/libnvtx.so", path);
    setenv("NVTX_INJECTION64_PATH", path, 1);
    return os_dlsym(lib, "fake_nvtx");
}

static rg_ctx *gpu(void) {
    char path[600];
    beside("/fake/libcuda.so", path);
    setenv("RIDGE_CUDA", path, 1), setenv("RIDGE_NVRTC", path, 1), setenv("RIDGE_CACHE", "0", 1);
    setenv("RIDGE_PLAN", "store", 1); /* two kernels in the step below */
    env_reload();
    rg_ctx *c = rg_open("CUDA");
    if (rg_status_of(c)) FAIL("%s", rg_error(c));
    return c;
}

static int find(const struct fake_nvtx *f, const char *a, const char *b) {
    for (uint32_t i = 0; i < f->pushed && i < FAKE_RANGES; i++)
        if (strstr(f->text[i], a) && strstr(f->text[i], b)) return (int)i;
    return -1;
}

static rg_status step(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)user;
    out[0] = rg_sqrt(rg_contiguous(rg_exp(in[0])));
    return RG_OK;
}

TEST(nvtx_ranges) {
    struct fake_nvtx *f = tool();
    rg_ctx *c = gpu();
    float x[8] = {1};
    rg_tensor in = rg_from(c, RG_F32, x, RG_SHAPE(8)), out;
    f->pushed = 0;
    rg_range_push("forward");
    CHECK(!rg_realize(rg_exp(in)));
    rg_range_pop();
    CHECK_EQ(f->version, 3);
    CHECK_STR(f->text[0], "forward");
    int call = find(f, "rg_realize", "nvtx.c:"), kernel = find(f, "E_", "exp nvtx.c:");
    CHECK(call > 0 && kernel > call); /* the range, in it the call, in it the kernel with its line */
    CHECK_EQ(f->depth[call], 1);
    CHECK_EQ(f->depth[kernel], 2);
    rg_jit *j = rg_jit_new(c, step, NULL, 1);
    f->pushed = 0;
    for (int i = 0; i < 4; i++) {
        CHECK(!rg_jit_call(j, (rg_tensors){&in, 1}, &out));
        CHECK(!rg_profile_step(c));
    }
    CHECK(find(f, "graph of 2 kernels", "") >= 0);
    CHECK_EQ(f->starts, 4);
    CHECK_EQ(f->ends, 3);
    CHECK_STR(f->started, "step 4");
    for (int i = 0; i < 100; i++) rg_range_push("deep");
    for (int i = 0; i < 100; i++) rg_range_pop();
    rg_range_pop();
    CHECK(rg_realize(rg_reshape(in, RG_SHAPE(3)))); /* an error ends its range too */
    rg_close(c);
    CHECK_EQ(f->open, 0);
}

TEST(nvtx_tool_that_refuses) {
    struct fake_nvtx *f = tool();
    f->refuse = 1;
    rg_range_push("a");
    rg_range_pop();
    CHECK_EQ(f->pushed, 0);
    CHECK(!event_nvtx());
}

TEST(nvtx_tool_that_is_none) {
    setenv("NVTX_INJECTION64_PATH", "/nowhere/tool.so", 1);
    rg_range_push("a");
    rg_range_pop();
    CHECK(!event_nvtx());
    CHECK_EQ(event_nvtx_start("b"), 0);
    event_nvtx_end(0);
}

TEST(nvtx_library_that_is_no_tool) {
    char path[600];
    beside("/fake/libcuda.so", path);
    setenv("NVTX_INJECTION64_PATH", path, 1);
    event_nvtx_push("a");
    event_nvtx_pop();
    CHECK(!event_nvtx());
}
