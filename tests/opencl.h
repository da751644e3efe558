/* opencl.h: for tests of the OpenCL device. They are skipped, with the reason, where there is no OpenCL. PoCL, which CI
 * has, compiles each kernel in a quarter of a second and keeps what it compiled in the home directory: here it is told to do
 * so beside the test's own cache, and not to compile a kernel again for each size of a block. It is a CPU; kernels are those
 * of a GPU all the same unless a test says otherwise (opencl_cpu_* in opencl.c). */
#ifndef RIDGE_TEST_OPENCL_H
#define RIDGE_TEST_OPENCL_H

#include "engine/engine.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Before OpenCL is first used in this process. */
static inline void opencl_settle(void) {
    char dir[600];
    const char *cache = getenv("RIDGE_CACHE_DIR");
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    SKIP("OpenCL's loader opens drivers in a way (RTLD_DEEPBIND) that sanitizers refuse");
#endif
    if (cache)
        snprintf(dir, sizeof dir, "%s/pocl", cache);
    else
        snprintf(dir, sizeof dir, "/tmp/ridge-pocl-%u", (unsigned)getuid());
    setenv("POCL_CACHE_DIR", dir, 0);
    setenv("RIDGE_OPENCL_CPU", "0", 0); /* kernels for a GPU, which PoCL stands for */
    env_reload();
    setenv("POCL_WORK_GROUP_SPECIALIZATION", "0", 0);
}

/* Where there are many kernels and their results do not depend on how well they are compiled: half of the time. */
static inline void opencl_hurry(void) { setenv("POCL_EXTRA_BUILD_FLAGS", "-cl-opt-disable", 0); }

static inline struct engine *opencl_engine(void) {
    struct err e = {0};
    opencl_settle();
    struct engine *en = engine_open(&e, &device_opencl[0]);
    if (!en) NO_OPENCL(e.msg);
    return en;
}

#endif
