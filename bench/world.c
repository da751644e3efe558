/* world.c: a sum over ranks of 64 MB through shared memory, beside what memory allows.
 *
 *     ridge run -n 2 -- build/release/bench/world [MEGABYTES [TIMES]]
 *
 * Prints, from rank 0: time of the best run, bytes of the tensor per second, and the floor: each rank reads its tensor and writes the sum
 * once, at the rate at which all ranks together copy memory of that size here (memcpy, at the same time, in the same run). */
#include "usage.h"

#include <ridge.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv) {
    if (bench_help(argc, argv, "[MEGABYTES [TIMES]]")) return 0;
    size_t bytes = (size_t)((argc > 1 ? atof(argv[1]) : 64) * 1e6) & ~(size_t)63;
    int times = argc > 2 ? atoi(argv[2]) : 10;
    rg_ctx *c = rg_open("CPU");
    rg_world *w = rg_world_open(c);
    rg_tensor x =
        rg_contiguous(rg_full(c, RG_F32, 1 + (double)rg_world_rank(w), RG_SHAPE((int64_t)(bytes / 4))));
    char *a = malloc(bytes), *b = malloc(bytes);
    double best = 1e9, copy = 1e9;
    rg_realize(x);
    memset(a, 1, bytes), memset(b, 2, bytes);
    for (int i = 0; i < times && !rg_status_of(c); i++) {
        RG_SCOPE(c);
        rg_barrier(w);
        double t0 = now();
        memcpy(i % 2 ? a : b, i % 2 ? b : a, bytes);
        double t1 = now();
        copy = t1 - t0 < copy ? t1 - t0 : copy;
        rg_barrier(w);
        t0 = now();
        rg_realize(rg_all_reduce(x, w, RG_COMBINE_SUM));
        t1 = now();
        best = t1 - t0 < best ? t1 - t0 : best;
    }
    if (rg_status_of(c)) return fprintf(stderr, "%s\n", rg_error(c)), 1;
    if (!rg_world_rank(w))
        printf("%lld ranks, %.1f MB: all_reduce %.2f ms, %.2f GB/s; copy %.2f ms; share of the floor %.2f\n",
               (long long)rg_world_size(w), (double)bytes * 1e-6, best * 1e3, (double)bytes / best * 1e-9,
               copy * 1e3, copy / best);
    free(a), free(b);
    return rg_close(c);
}
