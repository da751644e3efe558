/* overlap.c: how much of a data parallel step's exchanges is hidden behind its backward pass.
 *
 *     RIDGE_WORLD_LINK=1.25,1000 ridge run -n 2 -- build/release/bench/overlap [WIDTH [LAYERS [BATCH [BUCKET_MB [STEPS]]]]]
 *
 * Linear layers with ReLU and SGD; BUCKET_MB 0: the size that rg_nn_data_parallel chooses. Prints, from rank 0, the median step in ms, and what of
 * processor time a step takes, its exchanges included: a rank with one core cannot hide more than the difference. With PROFILE, `ridge diagnose` of all ranks' files says what is hidden. RIDGE_OVERLAP=0: the same step with nothing hidden. */
#include "usage.h"

#include <ridge.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { LAYERS_MOST = 32, STEPS_MOST = 1000 };

struct trainer {
    rg_ctx *c;
    rg_module *net;
    rg_optim *optim;
    rg_tensor x;
};

static double now(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static rg_status step(void *user, const rg_tensor *in, rg_tensor *out) {
    struct trainer *t = user;
    (void)in;
    out[0] = rg_mean(rg_square(rg_nn_forward(t->net, t->x)));
    rg_backward(out[0]);
    rg_nn_reduce_grads(t->net);
    out[0] = rg_detach(out[0]);
    return rg_optim_step(t->optim);
}

static rg_module *network(rg_ctx *c, int64_t width, int layers) {
    rg_module *m[2 * LAYERS_MOST];
    for (int i = 0; i < layers; i++)
        m[2 * i] = rg_nn_linear(c, width, width), m[2 * i + 1] = rg_nn_function(c, "relu", rg_relu);
    return rg_nn_sequential(c, (rg_modules){m, (size_t)(2 * layers)});
}

int main(int argc, char **argv) {
    if (bench_help(argc, argv, "[WIDTH [LAYERS [BATCH [BUCKET_MB [STEPS]]]]]")) return 0;
    double arg[] = {1024, 6, 256, 0, 15};
    for (int i = 1; i < argc && i <= 5; i++) arg[i - 1] = atof(argv[i]);
    int layers = (int)(arg[1] < LAYERS_MOST ? arg[1] : LAYERS_MOST),
        steps = (int)(arg[4] < STEPS_MOST ? arg[4] : STEPS_MOST);
    double took[STEPS_MOST], cpu = 0;
    rg_ctx *c = rg_open(NULL);
    rg_world *w = rg_world_open(c);
    struct trainer t = {.c = c, .net = network(c, (int64_t)arg[0], layers)};
    rg_nn_data_parallel(t.net, w, .bucket_mb = arg[3]);
    t.optim = rg_sgd(rg_nn_params(t.net), 1e-3);
    t.x = rg_contiguous(rg_randn(c, RG_F32, RG_SHAPE((int64_t)arg[2], (int64_t)arg[0])));
    rg_realize(t.x);
    rg_jit *j = rg_jit_new(c, step, &t, 1);
    for (int i = 0; i < steps + 3 && !rg_status_of(c); i++) {
        RG_SCOPE(c);
        rg_tensor loss;
        double t0 = now(CLOCK_MONOTONIC);
        if (i == 3) cpu = now(CLOCK_PROCESS_CPUTIME_ID);
        if (rg_jit_call(j, (rg_tensors){0}, &loss)) break;
        rg_item(loss);
        if (i >= 3) took[i - 3] = now(CLOCK_MONOTONIC) - t0;
    }
    if (rg_status_of(c)) return fprintf(stderr, "%s\n", rg_error(c)), 1;
    cpu = (now(CLOCK_PROCESS_CPUTIME_ID) - cpu) / steps;
    qsort(took, (size_t)steps, sizeof *took, by_size);
    if (!rg_world_rank(w))
        printf("%lld ranks, %d layers of %g, batch %g, bucket %g MB: step %.2f ms (least %.2f), processor "
               "time %.2f\n",
               (long long)rg_world_size(w), layers, arg[0], arg[2], arg[3], took[steps / 2] * 1e3,
               took[0] * 1e3, cpu * 1e3);
    return rg_close(c);
}
