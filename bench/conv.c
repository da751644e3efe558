/* conv.c: convolutions, both their gradients, and a training step made of them.
 *
 *   conv [--only NAME] [--runs N] [--batch N] [--cpu]
 *
 * The layers of a small network for 28 x 28 images, one row for each direction: the convolution with bias and relu, its
 * gradient with respect to the image (x) and to the filters (w); layers with padding and with steps of two; the
 * linear layer; and `net`, the network's loss with all gradients. What counts is the time of all kernels that a row
 * takes (run_ns of the engine). GFLOPS are those of the convolutions and GEMMs alone, without the zeros of the halo.
 * bench/peers/conv.py measures the same rows with PyTorch. --cpu counts the processor's time of one thread (set
 * RIDGE_THREADS=1): for a machine that others use too. */
#include "engine/engine.h"

#include <ridge.h>

#include "api/internal.h" /* the engine of a context, which the public header does not show */

#include <stdlib.h>
#include <time.h>

enum { RUNS_MAX = 201, OUTPUTS = 16 };

struct layer {
    const char *name;
    int64_t in, out, size, kernel, step, pad;
};
static const struct layer layers[] = {
    {"conv1", 1, 32, 28, 5, 1, 0},  {"conv2", 32, 32, 24, 5, 1, 0}, {"conv3", 32, 64, 10, 3, 1, 0},
    {"conv4", 64, 64, 8, 3, 1, 0},  {"pad", 32, 32, 16, 3, 1, 1},   {"step", 32, 64, 17, 3, 2, 0},
    {"down", 64, 128, 56, 3, 2, 1},
};

struct bench {
    rg_ctx *c;
    int64_t batch;
    int runs;
    const char *only;
    bool cpu;
    double ms[RUNS_MAX];
};

struct job {
    const struct layer *l;
    rg_tensor in[24], out[OUTPUTS];
    size_t n;
};

static uint32_t seed = 1;
static rg_tensor numbers(struct bench *b, rg_ints shape) {
    int64_t n = 1;
    for (size_t i = 0; i < shape.n; i++) n *= shape.d[i];
    float *x = malloc((size_t)n * sizeof *x + 1);
    if (!x) exit(fprintf(stderr, "conv: out of memory\n"));
    for (int64_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (float)((int32_t)seed >> 8) * 0x1p-26f;
    }
    rg_tensor t = rg_from(b->c, RG_F32, x, shape);
    free(x);
    return t;
}

/* ---- measuring --------------------------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static uint64_t cpu_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void row(struct bench *b, const char *name, struct job *j, void (*build)(struct bench *, struct job *),
                double flops) {
    uint32_t kernels = 0;
    if (b->only && strncmp(b->only, name, strlen(b->only))) return;
    for (int r = -1; r < b->runs; r++) { /* the first compiles */
        struct realize_stats before = engine_totals(b->c->engine);
        rg_usage usage;
        RG_SCOPE(b->c);
        build(b, j);
        uint64_t start = cpu_ns();
        rg_realize_all(RG_ARRAY(j->out, j->n));
        uint64_t used = cpu_ns() - start;
        struct realize_stats s = engine_totals(b->c->engine);
        if (r >= 0) b->ms[r] = (double)(b->cpu ? used : s.run_ns - before.run_ns) * 1e-6;
        kernels = (uint32_t)(s.kernels - before.kernels);
        for (size_t i = 0; i < j->n; i++) rg_free(j->out[i]);
        rg_stats(b->c, &usage); /* collects: the next time these are new values, not known ones */
    }
    qsort(b->ms, (size_t)b->runs, sizeof *b->ms, by_value);
    double median = b->ms[b->runs / 2];
    printf("%-8s %9.3f ms  least %9.3f  %7.1f GFLOPS  %3u kernels\n", name, median, b->ms[0],
           flops / median * 1e-6, kernels);
    fflush(stdout);
}

/* ---- one layer --------------------------------------------------------------------------------------------------- */

static rg_tensor conv_of(struct job *j) {
    return rg_conv2d(j->in[0], j->in[1], .stride = RG_SHAPE(j->l->step), .padding = RG_SHAPE(j->l->pad));
}

static void forward(struct bench *b, struct job *j) {
    (void)b;
    j->out[0] = rg_relu(rg_conv2d(j->in[0], j->in[1], .bias = j->in[3], .stride = RG_SHAPE(j->l->step),
                                  .padding = RG_SHAPE(j->l->pad)));
    j->n = 1;
}
static void grad_x(struct bench *b, struct job *j) {
    (void)b;
    rg_grad(conv_of(j), RG_TENSORS(j->in[0]), j->out, .seed = j->in[2]);
    j->n = 1;
}
static void grad_w(struct bench *b, struct job *j) {
    (void)b;
    rg_grad(conv_of(j), RG_TENSORS(j->in[1]), j->out, .seed = j->in[2]);
    j->n = 1;
}

static void conv_rows(struct bench *b, const struct layer *l) {
    struct job j = {.l = l};
    int64_t o = (l->size + 2 * l->pad - l->kernel) / l->step + 1;
    double flops = 2.0 * (double)(b->batch * l->out * o * o * l->in * l->kernel * l->kernel);
    char name[32];
    j.in[0] = numbers(b, RG_SHAPE(b->batch, l->in, l->size, l->size));
    j.in[1] = numbers(b, RG_SHAPE(l->out, l->in, l->kernel, l->kernel));
    j.in[2] = numbers(b, RG_SHAPE(b->batch, l->out, o, o));
    j.in[3] = numbers(b, RG_SHAPE(l->out));
    row(b, l->name, &j, forward, flops);
    snprintf(name, sizeof name, "%s.x", l->name);
    if (l->in > 1) row(b, name, &j, grad_x, flops);
    snprintf(name, sizeof name, "%s.w", l->name);
    row(b, name, &j, grad_w, flops);
    for (int i = 0; i < 4; i++) rg_free(j.in[i]);
}

static void linear(struct bench *b, struct job *j) {
    (void)b;
    j->out[0] = rg_linear(j->in[0], j->in[1], j->in[3]);
    j->n = 1;
}
static void linear_x(struct bench *b, struct job *j) {
    (void)b;
    rg_grad(rg_linear(j->in[0], j->in[1], j->in[3]), RG_TENSORS(j->in[0]), j->out, .seed = j->in[2]);
    j->n = 1;
}
static void linear_w(struct bench *b, struct job *j) {
    (void)b;
    rg_grad(rg_linear(j->in[0], j->in[1], j->in[3]), RG_TENSORS(j->in[1]), j->out, .seed = j->in[2]);
    j->n = 1;
}

static void linear_rows(struct bench *b) {
    struct job j = {0};
    double flops = 2.0 * 576 * 10 * (double)b->batch;
    j.in[0] = numbers(b, RG_SHAPE(b->batch, 576));
    j.in[1] = numbers(b, RG_SHAPE(10, 576));
    j.in[2] = numbers(b, RG_SHAPE(b->batch, 10));
    j.in[3] = numbers(b, RG_SHAPE(10));
    row(b, "linear", &j, linear, flops);
    row(b, "linear.x", &j, linear_x, flops);
    row(b, "linear.w", &j, linear_w, flops);
}

/* ---- the network -------------------------------------------------------------------------------------------------- */

enum {
    IMAGES,
    LABELS,
    PARAMS,
    NPARAMS = 14
}; /* four convolutions, two norms, a linear layer: weight and bias each */

static rg_tensor normalised(rg_tensor x, rg_tensor weight, rg_tensor bias) {
    rg_tensor mean = rg_mean(x, RG_AXES(0, 2, 3)), m = rg_reshape(mean, RG_SHAPE(1, -1, 1, 1));
    rg_tensor var = rg_mean(rg_square(rg_sub(x, m)), RG_AXES(0, 2, 3));
    return rg_batchnorm(x, mean, var, weight, bias);
}

static void net(struct bench *b, struct job *j) {
    const rg_tensor *p = j->in + PARAMS;
    (void)b;
    rg_tensor x = rg_relu(rg_conv2d(j->in[IMAGES], p[0], .bias = p[1]));
    x = rg_relu(rg_conv2d(x, p[2], .bias = p[3]));
    x = rg_max_pool2d(normalised(x, p[4], p[5]), RG_SHAPE(2));
    x = rg_relu(rg_conv2d(x, p[6], .bias = p[7]));
    x = rg_relu(rg_conv2d(x, p[8], .bias = p[9]));
    x = rg_max_pool2d(normalised(x, p[10], p[11]), RG_SHAPE(2));
    x = rg_linear(rg_reshape(x, RG_SHAPE(rg_dim(x, 0), -1)), p[12], p[13]);
    j->out[0] = rg_cross_entropy(x, j->in[LABELS]);
    rg_grad(j->out[0], RG_ARRAY(p, NPARAMS), j->out + 1);
    j->n = 1 + NPARAMS;
}

static void net_row(struct bench *b) {
    struct job j = {0};
    double flops = 0;
    int32_t *label = malloc((size_t)b->batch * sizeof *label + 1);
    if (!label) exit(fprintf(stderr, "conv: out of memory\n"));
    for (int64_t i = 0; i < b->batch; i++) label[i] = (int32_t)(i % 10);
    j.in[IMAGES] = numbers(b, RG_SHAPE(b->batch, 1, 28, 28));
    j.in[LABELS] = rg_from(b->c, RG_I32, label, RG_SHAPE(b->batch));
    free(label);
    rg_tensor *p = j.in + PARAMS;
    static const int at[] = {0, 2, 6, 8};
    for (int i = 0; i < 4; i++) {
        const struct layer *l = &layers[i];
        int64_t o = l->size - l->kernel + 1;
        p[at[i]] = numbers(b, RG_SHAPE(l->out, l->in, l->kernel, l->kernel));
        p[at[i] + 1] = numbers(b, RG_SHAPE(l->out));
        flops += (i ? 6.0 : 4.0) * (double)(b->batch * l->out * o * o * l->in * l->kernel * l->kernel);
    }
    for (int i = 0; i < 2; i++) p[4 + i] = numbers(b, RG_SHAPE(32)), p[10 + i] = numbers(b, RG_SHAPE(64));
    p[12] = numbers(b, RG_SHAPE(10, 576)), p[13] = numbers(b, RG_SHAPE(10));
    row(b, "net", &j, net, flops);
}

int main(int argc, char **argv) {
    struct bench b = {.batch = 512, .runs = 7};
    for (int i = 1; i < argc; i++) {
        bool more = i + 1 < argc;
        if (!strcmp(argv[i], "--cpu"))
            b.cpu = true;
        else if (!strcmp(argv[i], "--only") && more)
            b.only = argv[++i];
        else if (!strcmp(argv[i], "--runs") && more)
            b.runs = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--batch") && more)
            b.batch = atoi(argv[++i]);
        else
            return fprintf(stderr, "usage: conv [--only NAME] [--runs N] [--batch N] [--cpu]\n"), 2;
    }
    b.runs = RG_MIN(RG_MAX(b.runs, 1), RUNS_MAX), b.batch = RG_MAX(b.batch, 1);
    if (b.cpu && pool_threads(pool_get()) > 1)
        return fprintf(stderr, "conv: --cpu counts one thread: set RIDGE_THREADS=1\n"), 2;
    b.c = rg_open("CPU");
    printf("batch %lld, %d threads, %s\n", (long long)b.batch, pool_threads(pool_get()),
           b.cpu ? "time of the processor" : "wall time");
    for (size_t i = 0; i < RG_COUNT(layers); i++) conv_rows(&b, &layers[i]);
    linear_rows(&b);
    net_row(&b);
    if (rg_status_of(b.c)) fprintf(stderr, "conv: %s\n", rg_error(b.c));
    return rg_close(b.c);
}
