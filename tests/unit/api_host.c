/* Programs that Ridge is a guest in: kernels are compiled whatever their signals and descriptors are. */
#include "base/base.h"

#ifndef RG_NO_SITES
#define RG_NO_SITES
#endif
#include <ridge.h>
#include <test.h>

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static void compiles(void) {
    float sum = 0;
    rg_ctx *c = rg_open("CPU");
    setenv("RIDGE_CACHE", "0", 1);
    env_reload();
    rg_tensor x = rg_ones(c, RG_F32, (rg_ints){(const int64_t[]){30, 100}, 2});
    if (rg_read(rg_sum(rg_exp(x), (rg_reduce_opts){0}), &sum, sizeof sum)) FAIL("%s", rg_error(c));
    CHECK_NEAR(sum, 3000 * 2.718281828, 0.1);
    CHECK_EQ(rg_close(c), 0);
}

TEST(api_host_ignores_its_children) {
    signal(SIGCHLD, SIG_IGN);
    compiles();
}

TEST(api_host_has_no_standard_descriptors) {
    int kept[3];
    for (int i = 0; i < 3; i++) kept[i] = dup(i), close(i);
    compiles();
    for (int i = 0; i < 3; i++) dup2(kept[i], i);
}

TEST(api_host_has_no_path) {
    unsetenv("PATH");
    compiles();
}
