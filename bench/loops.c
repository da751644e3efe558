/* loops.c: rg_benchmark beside the loop that one would write by hand, over 20 kernels.
 *
 *     build/release/bench/loops [DEVICE [KIND]]      CPU and all kinds, 0 to 4, by default
 *
 * On CUDA the loop is timed by events in the stream that the kernels run in, else by the clock around rg_sync. A turn is a
 * sample of each, of the same length, and neighbours are compared, so that a change of clock rates meets both; turns go on until
 * the median of their ratios is known to one percent (95 %), whatever it is. How far the loop is from itself shows what
 * the machine allows to be told. Exit status 1 if any differs by more than 2 %: only a machine that runs nothing else can tell. */
#include "base/base.h"

#include <ridge.h> /* before what is internal: calls with their sites */

#include "api/internal.h"
#include "device/cuda/internal.h"
#include "engine/internal.h"
#include "usage.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KINDS = 5, SIZES = 4, TURNS_LEAST = 15, TURNS_MOST = 101 };
#define KNOWN 0.01 /* half the interval that the median of the ratios lies in */

struct loop_work {
    rg_ctx *c;
    rg_tensor a, b;
    int kind;
    struct cuda_device *gpu; /* NULL: the host's clock */
    cu_event begin, end;
};

static rg_tensor build(const struct loop_work *w) {
    switch (w->kind) {
    case 0: return rg_matmul(w->a, w->b);
    case 1: return rg_relu(rg_add(rg_mul(w->a, w->b), 1.0));
    case 2: return rg_softmax(w->a, 1);
    case 3: return rg_sum(w->a);
    default: return rg_exp(rg_add(w->a, rg_permute(w->b, RG_SHAPE(1, 0))));
    }
}

static void one_call(rg_ctx *c, void *user) {
    (void)c;
    rg_realize(build(user));
}

static double by_events(const struct loop_work *w, int calls) {
    float ms = 0;
    const struct cuda_driver *cu = w->gpu->cu;
    for (int i = -2; i < calls; i++) {
        RG_SCOPE(w->c);
        if (i == 0) cu->event_record(w->begin, w->gpu->stream);
        rg_realize(build(w));
    }
    cu->event_record(w->end, w->gpu->stream);
    cu->event_wait(w->end);
    cu->event_between(&ms, w->begin, w->end);
    return ms * 1e-3 / calls;
}

static double by_clock(const struct loop_work *w, int calls) {
    rg_sync(w->c);
    uint64_t t0 = os_now_ns();
    for (int i = 0; i < calls; i++) {
        RG_SCOPE(w->c);
        rg_realize(build(w));
    }
    rg_sync(w->c);
    return (double)(os_now_ns() - t0) * 1e-9 / calls;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double *t, int n) {
    qsort(t, (size_t)n, sizeof *t, by_value);
    return t[n / 2];
}

/* Half of the 95 % confidence interval of the median, by order statistics: nothing is assumed of how the ratios are spread. */
static double half_interval(const double *ratio, int n) {
    double t[TURNS_MOST];
    int k = (int)(n / 2.0 - 0.98 * sqrt(n));
    memcpy(t, ratio, (size_t)n * sizeof *t);
    qsort(t, (size_t)n, sizeof *t, by_value);
    return k < 0 ? INFINITY : (t[n - 1 - k] - t[k]) / 2;
}

static double written_loop(const struct loop_work *w, int calls) {
    return w->gpu ? by_events(w, calls) : by_clock(w, calls);
}

static double benchmark(struct loop_work *w) {
    rg_benchmark_result r = {0};
    if (!rg_benchmark(w->c, one_call, w, &r, .samples = 1)) return r.median;
    printf("%s\n", rg_error(w->c));
    exit(1);
}

/* The difference, as a share of the loop's time: the median of the ratios of neighbours, the loop before and after in turns. */
static double compare(struct loop_work *w, int64_t size) {
    double bench[TURNS_MOST], loop[TURNS_MOST], ratio[TURNS_MOST], same[TURNS_MOST];
    int calls = (int)RG_MAX(2.0, RG_MIN(1000.0, 0.012 / benchmark(w))), n = 0;
    double was = written_loop(w, calls), half = INFINITY;
    while (n < TURNS_LEAST || (n < TURNS_MOST && half > KNOWN)) {
        double before = n % 2 ? written_loop(w, calls) : 0;
        bench[n] = benchmark(w), loop[n] = n % 2 ? before : written_loop(w, calls);
        ratio[n] = bench[n] / loop[n], same[n] = loop[n] / was, was = loop[n], n++;
        half = half_interval(ratio, n);
    }
    double off = median(ratio, n) - 1;
    printf("kind %d size %5lld: rg_benchmark %9.2f us, loop %9.2f us, %+.1f%% +- %.1f (%d turns), the loop "
           "beside itself %+.1f%%\n",
           w->kind, (long long)size, median(bench, n) * 1e6, median(loop, n) * 1e6, off * 100, half * 100, n,
           (median(same, n) - 1) * 100);
    fflush(stdout);
    return off;
}

int main(int argc, char **argv) {
    if (bench_help(argc, argv, "[DEVICE [KIND]]")) return 0;
    rg_ctx *c = rg_open(argc > 1 ? argv[1] : "CPU");
    const int64_t many[SIZES] = {2048, 2560, 3072, 4096}, few[SIZES] = {512, 640, 768, 1024};
    struct loop_work w = {.c = c};
    if (c->engine && c->engine->ops->text == DEV_CUDA) {
        w.gpu = cuda_of(c->engine->dev);
        w.gpu->cu->event_new(&w.begin, 0), w.gpu->cu->event_new(&w.end, 0);
    }
    int within = 0, first = argc > 2 ? (int)RG_MIN(strtoul(argv[2], NULL, 10), KINDS - 1ul) : 0,
        last = argc > 2 ? first : KINDS - 1, all = (last - first + 1) * SIZES;
    for (w.kind = first; w.kind <= last; w.kind++)
        for (int s = 0; s < SIZES; s++) {
            RG_SCOPE(c);
            int64_t n = (w.gpu ? many : few)[s] * (w.kind ? 4 : 1);
            w.a = rg_contiguous(rg_rand(c, RG_F32, RG_SHAPE(n, n)));
            w.b = rg_contiguous(rg_rand(c, RG_F32, RG_SHAPE(n, n)));
            rg_realize(w.a), rg_realize(w.b);
            double off = compare(&w, n);
            within += off < 0.02 && off > -0.02;
        }
    printf("%s: %d of %d within 2%%\n", argc > 1 ? argv[1] : "CPU", within, all);
    return rg_close(c) || within < all;
}
