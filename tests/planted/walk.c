/* walk.c: MNIST from a naive program to a fast one, a fault less at each level; the walk of docs/profiling.md.
 *
 *     walk LEVEL [STEPS] [DIR]
 *
 *   0  the whole training set goes to the device in every step
 *   1  it is there, but batches are put together by the host
 *   2  batches are taken on the device; the graph is built anew in every step, and all outputs are read
 *   3  the step is recorded, and pixels are floats once and for all; but the mean of all images is computed in each step
 *   4  the mean is computed once
 * Every level trains the same network on the same batches. DIR holds MNIST's files (data/mnist). */
#include <ridge.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BATCH = 64, PIXELS = 784, HIDDEN = 32, CLASSES = 10 };

struct walk {
    rg_ctx *c;
    int level;
    int64_t images;
    unsigned char *pixels; /* of all images, on the host */
    int64_t *labels;
    rg_tensor all, marks; /* the same on the device */
    rg_tensor at, mean;
    rg_module *net;
    rg_optim *optim;
    float *batch, logits[BATCH * CLASSES];
    int64_t want[BATCH];
};

static rg_tensor whole_set(struct walk *w) {
    return rg_from(w->c, RG_U8, w->pixels, RG_SHAPE(w->images, PIXELS));
}

#define MEAN 0.1307 /* of all pixels, known from elsewhere */

static rg_status learn(struct walk *w, rg_tensor x, rg_tensor y, rg_tensor *out) {
    out[0] = rg_nn_forward(w->net, x);
    out[1] = rg_cross_entropy(out[0], y);
    rg_backward(out[1]);
    return rg_optim_step(w->optim);
}

/* The batch from index `at` on, taken on the device. */
static rg_status step(void *user, const rg_tensor *in, rg_tensor *out) {
    struct walk *w = user;
    (void)in;
    rg_tensor x = rg_slice(w->all, RG_SLICES(RG_WINDOW(w->at, BATCH))),
              y = rg_slice(w->marks, RG_SLICES(RG_WINDOW(w->at, BATCH)));
    if (w->level < 3) return learn(w, rg_sub(rg_div(rg_cast(x, RG_F32), 255), MEAN), y, out);
    return learn(w, rg_sub(x, w->level == 3 ? rg_mean(w->all) : w->mean), y, out);
}

/* The same by the host, pixel by pixel. */
static rg_status host_step(struct walk *w, int64_t at, rg_tensor *out) {
    for (int r = 0; r < 4; r++) /* four small shifts are averaged: an augmentation */
        for (int64_t i = 0; i < BATCH * PIXELS; i++)
            w->batch[i] = (r ? w->batch[i] : 0) +
                          (float)(w->pixels[at * PIXELS + (i + r) % (BATCH * PIXELS)] / 255.0 - MEAN) / 4;
    for (int i = 0; i < BATCH; i++) w->want[i] = w->labels[at + i];
    return learn(w, rg_from(w->c, RG_F32, w->batch, RG_SHAPE(BATCH, PIXELS)),
                 rg_from(w->c, RG_I64, w->want, RG_SHAPE(BATCH)), out);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void load(struct walk *w, const char *dir) {
    char path[1000];
    RG_SCOPE(w->c);
    snprintf(path, sizeof path, "%s/train-images-idx3-ubyte.gz", dir);
    rg_tensor x = rg_load_idx(w->c, path);
    snprintf(path, sizeof path, "%s/train-labels-idx1-ubyte.gz", dir);
    rg_tensor y = rg_cast(rg_load_idx(w->c, path), RG_I64);
    if (rg_status_of(w->c)) return;
    w->images = rg_dim(x, 0);
    w->pixels = malloc((size_t)(w->images * PIXELS));
    w->labels = malloc((size_t)w->images * sizeof *w->labels);
    rg_read(x, w->pixels, (size_t)(w->images * PIXELS));
    rg_read(y, w->labels, (size_t)w->images * sizeof *w->labels);
}

static rg_status train(struct walk *w, int steps) {
    rg_jit *j = w->level >= 3 ? rg_jit_new(w->c, step, w, 2) : NULL;
    double t0 = now(), loss = 0;
    for (int i = 0; i < steps; i++) {
        {
            RG_SCOPE(w->c);
            rg_tensor out[2];
            int64_t at = (int64_t)i * BATCH % (w->images - BATCH);
            rg_set_scalar(w->at, (double)at);
            if (w->level == 0) w->all = whole_set(w);
            if (w->level == 1 ? host_step(w, at, out)
                : j           ? rg_jit_call(j, (rg_tensors){0}, out)
                              : step(w, NULL, out))
                break;
            if (w->level < 3) rg_read(out[0], w->logits, sizeof w->logits);
            if (w->level < 3 || i % 20 == 0) loss = rg_item(out[1]);
        }
        rg_profile_step(w->c);
    }
    printf("level %d: %.2f ms a step, loss %.3f\n", w->level, 1e3 * (now() - t0) / steps, loss);
    return rg_status_of(w->c);
}

int main(int argc, char **argv) {
    struct walk w = {.level = argc > 1 ? atoi(argv[1]) : 0, .c = rg_open(NULL)};
    int steps = argc > 2 ? atoi(argv[2]) : 100;
    load(&w, argc > 3 ? argv[3] : "data/mnist");
    w.batch = malloc(BATCH * PIXELS * sizeof *w.batch);
    rg_seed(w.c, 1);
    w.net = rg_nn_sequential(w.c, RG_MODULES(rg_nn_linear(w.c, PIXELS, HIDDEN),
                                             rg_nn_function(w.c, "relu", rg_relu),
                                             rg_nn_linear(w.c, HIDDEN, CLASSES)));
    w.optim = rg_adam(rg_nn_params(w.net), .lr = 1e-3);
    if (!rg_status_of(w.c)) {
        w.at = rg_index(w.c, 0, w.images - BATCH, 0);
        w.marks = rg_from(w.c, RG_I64, w.labels, RG_SHAPE(w.images));
        if (w.level > 1) w.all = whole_set(&w);
        if (w.level > 2) rg_realize(w.all = rg_contiguous(rg_div(rg_cast(w.all, RG_F32), 255)));
        if (w.level > 3) rg_realize(w.mean = rg_contiguous(rg_mean(w.all)));
        train(&w, steps > 0 ? steps : 100);
    }
    if (rg_status_of(w.c)) fprintf(stderr, "walk: %s\n", rg_error(w.c));
    free(w.pixels), free(w.labels), free(w.batch);
    return rg_close(w.c) != RG_OK;
}
