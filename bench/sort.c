/* sort.c: how fast rows are sorted: one long row, many rows, few of many. NumPy beside it: bench/peers/sort.py. */
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

/* A copy each time: what was computed once is not computed again. */
static void show(const char *what, rg_tensor (*fn)(rg_tensor), rg_tensor x) {
    double best = 1e9;
    rg_ctx *c = rg_ctx_of(x);
    rg_tensor one = rg_scalar(c, rg_dtype_of(x), 0);
    for (int i = 0; i < 7; i++) {
        RG_SCOPE(c);
        rg_set_scalar(one, i);
        rg_tensor y = rg_contiguous(rg_add(x, one));
        rg_realize(y);
        double t = now();
        if (rg_realize(fn(y))) break;
        t = now() - t;
        best = t < best ? t : best;
    }
    if (rg_status_of(c)) fprintf(stderr, "%s\n", rg_error(c)), exit(1);
    printf("%-9s of %8lld x %8lld %s: %9.3f ms\n", what, (long long)rg_dim(x, 0), (long long)rg_dim(x, 1),
           rg_dtype_name(rg_dtype_of(x)), best * 1e3);
}

static rg_tensor f_sort(rg_tensor x) { return rg_sort(x, 1); }
static rg_tensor f_argsort(rg_tensor x) { return rg_argsort(x, 1); }
static rg_tensor f_top(rg_tensor x) { return rg_topk(x, 10, 1); }

int main(int argc, char **argv) {
    if (bench_help(argc, argv, "")) return 0;
    static const struct {
        int64_t rows, n;
        rg_dtype dt;
    } size[] = {{1, 1000000, RG_F32},  {1, 1000000, RG_F64}, {1, 1000000, RG_I32},
                {1, 10000000, RG_F32}, {1000, 1000, RG_F32}, {100000, 10, RG_F32}};
    rg_ctx *c = rg_open("CPU");
    for (size_t k = 0; k < sizeof size / sizeof *size; k++) {
        RG_SCOPE(c);
        size_t n = (size_t)(size[k].rows * size[k].n);
        float *v = malloc(n * sizeof *v);
        srand(1);
        for (size_t i = 0; i < n; i++) v[i] = (float)rand() / (float)RAND_MAX - 0.5f;
        rg_tensor x = rg_from(c, RG_F32, v, RG_SHAPE(size[k].rows, size[k].n));
        if (size[k].dt != RG_F32) x = rg_contiguous(rg_cast(rg_mul(x, 1e9), size[k].dt));
        rg_realize(x);
        show("sort", f_sort, x);
        show("argsort", f_argsort, x);
        show("top 10", f_top, x);
        free(v);
    }
    return rg_close(c);
}
