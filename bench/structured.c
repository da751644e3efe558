/* structured.c: how planning time grows with the size of graphs of one structure.
 *
 *   structured [MOST [NAME]]
 *
 * Chains, diamonds, ladders, trees, values that share one operand, unrolled recurrences with and without products, sums of many
 * reductions, a GRU with gradients, random graphs: each at about 10, 100 .. MOST (100000) nodes, planned on the device NULL,
 * which runs nothing. Prints CPU seconds of building and of planning, kernels, their predicted time, and the exponent of a
 * line fitted to log(time) over log(nodes) of all sizes from 1000 nodes
 * on. The exit status is 1 if a plan fails or takes more than LIMIT seconds. The same structures, with counters instead of a
 * clock: tests/unit/plan_visits.c. */
#include "usage.h"

#include <ridge.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LIMIT = 10, SIDE = 16, FITTED_FROM = 1000 };

typedef rg_tensor structure_fn(rg_ctx *c, rg_tensor x, long nodes);

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* others may use the machine */
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static rg_tensor chain(rg_ctx *c, rg_tensor x, long nodes) {
    (void)c;
    for (long i = 0; i < nodes; i++) x = i % 2 ? rg_sin(x) : rg_neg(x);
    return x;
}

static rg_tensor diamonds(rg_ctx *c, rg_tensor x, long nodes) {
    (void)c;
    for (long i = 0; i < nodes; i += 3) x = rg_mul(rg_sin(x), rg_cos(x));
    return x;
}

static rg_tensor ladder(rg_ctx *c, rg_tensor x, long nodes) {
    rg_tensor y = rg_exp(x);
    (void)c;
    for (long i = 0; i < nodes; i += 2) {
        rg_tensor z = rg_add(x, y);
        y = rg_mul(x, y), x = z;
    }
    return rg_add(x, y);
}

static rg_tensor tree(rg_ctx *c, rg_tensor x, long nodes) {
    long n = nodes / 2 + 1;
    rg_tensor *leaf = calloc((size_t)n, sizeof *leaf);
    (void)c;
    for (long i = 0; i < n; i++) leaf[i] = rg_mul(x, (double)i + 2);
    for (; n > 1; n = (n + 1) / 2)
        for (long i = 0; i < n; i += 2) leaf[i / 2] = i + 1 < n ? rg_add(leaf[i], leaf[i + 1]) : leaf[i];
    x = leaf[0];
    free(leaf);
    return x;
}

/* Values of constants alone, each used twice. */
static rg_tensor constants(rg_ctx *c, rg_tensor x, long nodes) {
    rg_tensor y = rg_arange(c, RG_F32, 0, SIDE, 1);
    for (long i = 0; i < nodes; i += 2) y = rg_add(rg_mul(y, y), 0.5);
    return rg_mul(x, y);
}

static rg_tensor recurrence(rg_ctx *c, rg_tensor x, long nodes) {
    rg_tensor h = rg_mul(x, 0.5);
    (void)c;
    for (long i = 0; i < nodes; i += 5) h = rg_tanh(rg_add(rg_mul(h, 0.9), rg_mul(x, rg_sigmoid(h))));
    return h;
}

static rg_tensor rnn(rg_ctx *c, rg_tensor x, long nodes) {
    rg_tensor h = x;
    (void)c;
    for (long i = 0; i < nodes; i += 8) h = rg_tanh(rg_add(rg_matmul(h, x), x));
    return h;
}

static rg_tensor reductions(rg_ctx *c, rg_tensor x, long nodes) {
    (void)c;
    for (long i = 0; i < nodes; i += 4) x = rg_sub(x, rg_mean(x, .axes = RG_SHAPE(1), .keep = true));
    return x;
}

static rg_tensor part_of(rg_tensor x, int k) { return rg_narrow(x, 1, (int64_t)k * SIDE, SIDE); }

/* A GRU of nodes / 75 steps and the gradients of its weights. */
static rg_tensor gru(rg_ctx *c, rg_tensor x, long nodes) {
    long steps = nodes / 75 + 1;
    rg_tensor w = rg_cat(RG_TENSORS(x, x, x), 0), u = rg_mul(w, 0.5), g[2], h = x;
    rg_tensor in =
        rg_contiguous(rg_expand(rg_reshape(x, RG_SHAPE(1, SIDE, SIDE)), RG_SHAPE(steps, SIDE, SIDE)));
    rg_tensor *all = calloc((size_t)steps, sizeof *all);
    w = rg_contiguous(w), u = rg_contiguous(u);
    rg_realize_all(RG_TENSORS(w, u, in));
    for (long t = 0; t < steps; t++) {
        rg_tensor gi = rg_linear(rg_select(in, 0, t), w, RG_NONE), gh = rg_linear(h, u, RG_NONE);
        rg_tensor r = rg_sigmoid(rg_add(part_of(gi, 0), part_of(gh, 0)));
        rg_tensor z = rg_sigmoid(rg_add(part_of(gi, 1), part_of(gh, 1)));
        rg_tensor n = rg_tanh(rg_add(part_of(gi, 2), rg_mul(r, part_of(gh, 2))));
        all[t] = h = rg_add(rg_mul(rg_sub(1, z), n), rg_mul(z, h));
    }
    rg_grad(rg_sum(rg_square(rg_stack(((rg_tensors){all, (size_t)steps}), 0))), RG_TENSORS(w, u), g);
    free(all);
    (void)c;
    return rg_add(g[0], g[1]);
}

/* Escape time of z = z * z + c: steps that do nothing where |z| > 2. */
static rg_tensor escape(rg_ctx *c, rg_tensor x, long nodes) {
    rg_tensor z = x;
    (void)c;
    for (long i = 0; i < nodes; i += 4) z = rg_where(rg_lt(rg_abs(z), 2), rg_add(rg_mul(z, z), x), z);
    return z;
}

/* Values of two earlier ones, most of them recent; some are reduced. */
static rg_tensor random_graph(rg_ctx *c, rg_tensor x, long nodes) {
    rg_tensor *v = calloc((size_t)nodes + 1, sizeof *v), y = x;
    uint64_t state = 1;
    (void)c;
    v[0] = x;
    for (long i = 0; i < nodes; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        uint64_t draw = state >> 33;
        long recent = i < 16 ? i : 16, a = i - (long)(draw / 8 % (uint64_t)(recent + 1));
        long b = draw % 8 ? i - (long)(draw / 256 % (uint64_t)(recent + 1))
                          : (long)(draw / 256 % (uint64_t)(i + 1));
        switch (draw / 8192 % 6) {
        case 0: v[i + 1] = rg_mul(v[a], v[b]); break;
        case 1: v[i + 1] = rg_maximum(v[a], v[b]); break;
        case 2: v[i + 1] = rg_tanh(v[a]); break;
        case 3:
            v[i + 1] = draw % 32 ? rg_sub(v[a], v[b])
                                 : rg_sub(v[a], rg_mean(v[b], .axes = RG_SHAPE(1), .keep = true));
            break;
        default: v[i + 1] = rg_add(v[a], v[b]);
        }
    }
    for (long i = nodes > 16 ? nodes - 16 : 0; i <= nodes; i++) y = rg_add(y, v[i]);
    free(v);
    return y;
}

static const struct structure {
    const char *name;
    structure_fn *fn;
} structure[] = {
    {"chain", chain}, {"diamonds", diamonds},     {"ladder", ladder},
    {"tree", tree},   {"constants", constants},   {"recurrence", recurrence},
    {"rnn", rnn},     {"reductions", reductions}, {"escape", escape},
    {"gru", gru},     {"random", random_graph},
};

/* Seconds of planning; below 0: it failed. */
static double plan(const struct structure *s, long nodes) {
    rg_ctx *c = rg_open("NULL");
    rg_tensor x = rg_uniform(c, RG_F32, 0, 1, RG_SHAPE(SIDE, SIDE));
    rg_plan_stats st = {0};
    rg_usage use = {0};
    rg_realize(x);
    double t0 = now();
    rg_tensor y = s->fn(c, x, nodes);
    double t1 = now();
    rg_status e = rg_schedule_stats(RG_TENSORS(y), &st);
    double t2 = now();
    rg_stats(c, &use);
    printf("%-12s %8llu nodes  build %8.4f s  plan %8.4f s  %6llu kernels, %5llu distinct, %9.1f us "
           "predicted%s%s\n",
           s->name, (unsigned long long)use.nodes, t1 - t0, t2 - t1, (unsigned long long)st.kernels,
           (unsigned long long)st.distinct, st.predicted * 1e6, e ? ": " : "", e ? rg_error(c) : "");
    fflush(stdout);
    rg_close(c);
    return e ? -1 : t2 - t1;
}

int main(int argc, char **argv) {
    if (bench_help(argc, argv, "[MOST [NAME]]")) return 0;
    long most = argc > 1 ? atol(argv[1]) : 100000;
    int failed = 0;
    for (size_t i = 0; i < sizeof structure / sizeof *structure; i++) {
        if (argc > 2 && strcmp(argv[2], structure[i].name)) continue;
        double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
        for (long nodes = 10; nodes <= most; nodes *= 10) {
            double seconds = plan(&structure[i], nodes);
            failed |= seconds < 0 || seconds > LIMIT;
            if (nodes < FITTED_FROM || seconds <= 0) continue;
            double x = log((double)nodes), y = log(seconds);
            n++, sx += x, sy += y, sxx += x * x, sxy += x * y;
        }
        if (n > 1)
            printf("%-12s time ~ nodes^%.2f\n", structure[i].name, (n * sxy - sx * sy) / (n * sxx - sx * sx));
    }
    return failed;
}
