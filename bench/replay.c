/* replay.c: what rg_jit_call costs beyond the kernels.
 *
 * A function of n kernels on one element each (every result is stored), with one input and one parameter that it assigns:
 * its kernels take about as long as the call of a C function, so that the time of a replay is the cost of
 * replaying. The same without a jit: graph, key, plan found, bound, run. */
#include "usage.h"

#include <ridge.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

struct work {
    int kernels;
    rg_tensor w;
};

static rg_status chain(void *user, const rg_tensor *in, rg_tensor *out) {
    struct work *k = user;
    rg_tensor x = in[0];
    for (int i = 0; i < k->kernels - 2; i++) x = rg_contiguous(rg_sub(x, k->w));
    rg_assign(k->w, rg_mul(k->w, 0.5));
    out[0] = rg_add(x, 1);
    return RG_OK;
}

int main(int argc, char **argv) {
    if (bench_help(argc, argv, "")) return 0;
    setenv("RIDGE_MULTI", "0", 1); /* one output per kernel: as many kernels as values */
    printf("kernels   replay, us each   without a jit, us each   nodes  allocations\n");
    for (int n = 10; n <= 1000; n *= 10) {
        rg_ctx *c = rg_open("CPU");
        struct work k = {n, rg_contiguous(rg_ones(c, RG_F32, RG_SHAPE(1)))};
        rg_tensor x = rg_from(c, RG_F32, (float[]){1}, RG_SHAPE(1)), y;
        rg_realize(k.w);
        rg_jit *j = rg_jit_new(c, chain, &k, 1);
        rg_jit_stats st = {0};
        double best = 1e9, plain = 1e9;
        for (int i = 0; i < 3; i++) rg_jit_call(j, RG_TENSORS(x), &y);
        for (int r = 0; r < 9; r++) {
            int times = 20000 / n;
            double t0 = now();
            for (int i = 0; i < times; i++) rg_jit_call(j, RG_TENSORS(x), &y);
            double t = (now() - t0) / times;
            best = t < best ? t : best;
        }
        rg_jit_info(j, &st);
        for (int r = 0; r < 9; r++) {
            RG_SCOPE(c);
            double t0 = now();
            chain(&k, &x, &y);
            rg_realize(y);
            double t = now() - t0;
            plain = t < plain ? t : plain;
        }
        if (rg_status_of(c)) return fprintf(stderr, "replay: %s\n", rg_error(c)), 1;
        printf("%7llu   %15.3f   %22.3f   %5llu  %11llu\n", (unsigned long long)st.kernels,
               best * 1e6 / (double)st.kernels, plain * 1e6 / (double)st.kernels,
               (unsigned long long)st.nodes, (unsigned long long)st.allocations);
        rg_close(c);
    }
    return 0;
}
