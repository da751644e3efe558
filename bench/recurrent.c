/* recurrent.c: training steps of an LSTM or a GRU: how long the first takes, which is planned and compiled, and how long the others.
 *
 *   recurrent [DEVICE [STEPS [BATCH [HIDDEN [gru] [bf16] [forward]]]]]      (the default device, 128, 16, 64)
 *
 * One layer, inputs as wide as states, mean square of all outputs, SGD, in an rg_jit. RIDGE_CACHE=0 keeps kernels and plans of
 * earlier runs out. The planner's part alone: DEBUG=1. Beside it: torch.nn.LSTM (docs/measurements/2026-11-17-networks.md). */
#include "usage.h"

#include <ridge.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TIMED = 10 };

struct job {
    rg_module *net;
    rg_optim *optim; /* NULL: forward alone */
};

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static rg_status step(void *user, const rg_tensor *in, rg_tensor *out) {
    struct job *j = user;
    out[0] = rg_mean(rg_square(rg_nn_forward(j->net, in[0])));
    if (!j->optim) return RG_OK;
    rg_backward(out[0]);
    return rg_optim_step(j->optim);
}

static bool has(int argc, char **argv, const char *word) {
    for (int i = 5; i < argc; i++)
        if (!strcmp(argv[i], word)) return true;
    return false;
}

/* Seconds of n calls, waited for. */
static double run(rg_jit *jit, rg_tensor x, int n, double *loss) {
    rg_tensor out = RG_NONE;
    double t = now();
    for (int i = 0; i < n; i++) rg_jit_call(jit, RG_TENSORS(x), &out);
    *loss = rg_item(out);
    return now() - t;
}

int main(int argc, char **argv) {
    if (bench_help(argc, argv, "[DEVICE [STEPS [BATCH [HIDDEN [gru] [bf16] [forward]]]]]")) return 0;
    int64_t steps = argc > 2 ? atoll(argv[2]) : 128, batch = argc > 3 ? atoll(argv[3]) : 16,
            hidden = argc > 4 ? atoll(argv[4]) : 64;
    if (steps < 1 || batch < 1 || hidden < 1)
        return fprintf(stderr, "usage: recurrent [DEVICE [STEPS [BATCH [HIDDEN [gru] [bf16] [forward]]]]]\n"),
               2;
    rg_ctx *c = rg_open(argc > 1 ? argv[1] : NULL);
    rg_seed(c, 1);
    struct job j = {.net = has(argc, argv, "gru") ? rg_nn_gru(c, hidden, hidden)
                                                  : rg_nn_lstm(c, hidden, hidden)};
    if (has(argc, argv, "bf16")) rg_nn_precision(j.net, RG_BF16);
    if (!has(argc, argv, "forward")) j.optim = rg_sgd(rg_nn_params(j.net), .lr = 1e-3);
    rg_tensor x = rg_randn(c, RG_F32, RG_SHAPE(steps, batch, hidden));
    rg_realize_all(RG_TENSORS(x));
    rg_realize_all(rg_nn_params(j.net));
    rg_jit *jit = rg_jit_new(c, step, &j, 1);
    double loss, first = run(jit, x, 1, &loss);
    run(jit, x, 2, &loss);
    double each = run(jit, x, TIMED, &loss) / TIMED;
    printf("%lld steps, batch %lld, hidden %lld: first call %.2f s, then %.2f ms; loss %.6f\n",
           (long long)steps, (long long)batch, (long long)hidden, first, each * 1e3, loss);
    if (rg_status_of(c)) fprintf(stderr, "%s\n", rg_error(c));
    return rg_close(c) != RG_OK;
}
