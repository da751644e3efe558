/* cuda.h: what tests of the CUDA device share that run on the library which stands in for the driver (driver.c). */
#ifndef RIDGE_TEST_FAKE_CUDA_H
#define RIDGE_TEST_FAKE_CUDA_H

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif
#include "base/base.h"
#include "fake/beside.h"
#include "fake/fake.h"

#include <ridge.h>
#include <stdlib.h>
#include <test.h>

static inline struct fake *fake(void) {
    char path[BESIDE_PATH];
    void *lib = beside("/fake/libcuda.so", path);
    setenv("RIDGE_CUDA", path, 1), setenv("RIDGE_NVRTC", path, 1), setenv("RIDGE_CACHE", "0", 1);
    setenv("RIDGE_CUPTI", "0", 1); /* NVIDIA's, where it is, does not know this driver */
    env_reload();
    struct fake *f = os_dlsym(lib, "fake_state");
    CHECK(f);
    return f;
}

/* From here on a test loses its device: what the driver had handed out is not given back, and no leak of ours. */
static inline void fake_loses(void) {
#ifdef __SANITIZE_ADDRESS__
    __lsan_disable();
#endif
}

/* Everything was given back. */
static inline void check_empty(const struct fake *f) {
    CHECK_EQ(f->used, 0);
    CHECK_EQ(f->pinned, 0);
    CHECK_EQ(f->streams, 0);
    CHECK_EQ(f->events, 0);
    CHECK_EQ(f->modules, 0);
    CHECK_EQ(f->graphs, 0);
    CHECK_EQ(f->contexts, 0);
}

static inline rg_ctx *fake_open(struct fake *f) {
    setenv("RIDGE_MULTI", "0", 1);
    env_reload();
    (void)f;
    rg_ctx *c = rg_open("CUDA");
    if (rg_status_of(c)) FAIL("%s", rg_error(c));
    return c;
}

/* Four kernels: one, two that need it, one that needs both. */
static inline rg_status diamond(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)user;
    rg_tensor a = rg_contiguous(rg_add(in[0], 1)), b = rg_contiguous(rg_exp(a)),
              d = rg_contiguous(rg_sqrt(a));
    out[0] = rg_add(b, d);
    return RG_OK;
}

#endif
