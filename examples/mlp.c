/* mlp.c: two linear layers learn to read digits, from batches that a thread prepares meanwhile.
 *
 *     build/examples/mlp [STEPS]
 *
 * What it shows beside examples/mnist.c: a loader that fills batches in the background, a learning rate by step number, and saving a model. */
#include <ridge.h>

#include "bar.h"

#include <stdlib.h>

enum { BATCH = 256, PIXELS = 784, CLASSES = 10 };

/* ---- data: on the host, where the loader's thread reads it --------------------------------------------------- */

struct data {
    int64_t n;
    uint8_t *pixels, *labels;
};

static rg_status read_data(rg_ctx *c, const char *images, const char *labels, struct data *d) {
    RG_SCOPE(c);
    rg_tensor x = rg_load_idx(c, images), y = rg_load_idx(c, labels);
    d->n = rg_size(y);
    if (rg_status_of(c)) return rg_status_of(c);
    d->pixels = malloc((size_t)rg_bytes(x)), d->labels = malloc((size_t)rg_bytes(y));
    if (!d->pixels || !d->labels) return RG_ENOMEM;
    rg_read_async(x, d->pixels, (size_t)rg_bytes(x));
    rg_read_async(y, d->labels, (size_t)rg_bytes(y));
    return rg_wait(c);
}

/* Batch number `step`: rows picked by a small generator of its own, so that a step's batch is always the same. */
static int fill(void *user, uint64_t step, void *const *buf) {
    const struct data *d = user;
    float *x = buf[0];
    int64_t *y = buf[1];
    for (int64_t i = 0; i < BATCH; i++) {
        uint64_t z = (step * BATCH + (uint64_t)i + 1) * 0x9e3779b97f4a7c15u;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        int64_t row = (int64_t)((z ^ z >> 27) % (uint64_t)d->n);
        for (int k = 0; k < PIXELS; k++) x[i * PIXELS + k] = (float)d->pixels[row * PIXELS + k] / 255;
        y[i] = d->labels[row];
    }
    return 0;
}

/* ---- training --------------------------------------------------------------------------------------------------- */

struct trainer {
    rg_module *net;
    rg_optim *optim;
};

static rg_status step(void *user, const rg_tensor *in, rg_tensor *out) {
    struct trainer *t = user;
    out[0] = rg_cross_entropy(rg_nn_forward(t->net, in[0]), in[1], .label_smoothing = 0.05);
    rg_backward(out[0]);
    rg_clip_grad_norm(rg_nn_params(t->net), 1);
    return rg_optim_step(t->optim);
}

static void train(rg_ctx *c, struct trainer *t, struct data *d, int steps) {
    const rg_batch_part part[2] = {{RG_F32, RG_SHAPE(BATCH, PIXELS)}, {RG_I64, RG_SHAPE(BATCH)}};
    rg_loader *l = rg_loader_new(c, part, 2, fill, d, .ahead = 3);
    rg_jit *j = rg_jit_new(c, step, t, 1);
    double began = now();
    for (int i = 1; i <= steps; i++) {
        RG_SCOPE(c);
        rg_tensor batch[2], loss;
        bool end = false;
        rg_optim_set_lr(t->optim, rg_lr_one_cycle(0.01, i - 1, steps, 0.2));
        if (rg_loader_next(l, batch, &end) || end || rg_jit_call(j, RG_ARRAY(batch, 2), &loss)) break;
        bar(i, steps, "loss %6.4f  learning rate %.4f  %4.0f steps/s", rg_item(loss), rg_optim_lr(t->optim),
            i / (now() - began));
    }
    rg_loader_free(l);
    rg_jit_free(j);
}

static double test(rg_ctx *c, rg_module *net, const struct data *d) {
    RG_SCOPE(c);
    rg_nn_train(net, false);
    rg_tensor x = rg_div(rg_cast(rg_from(c, RG_U8, d->pixels, RG_SHAPE(d->n, PIXELS)), RG_F32), 255);
    rg_tensor y = rg_from(c, RG_U8, d->labels, RG_SHAPE(d->n));
    return rg_item(rg_mean(rg_cast(rg_eq(rg_argmax(rg_nn_forward(net, x), RG_AXES(1)), y), RG_F32)));
}

int main(int argc, char **argv) {
    int steps = argc > 1 ? atoi(argv[1]) : 1000;
    if (steps < 1) return fprintf(stderr, "usage: mlp [STEPS]\n"), 2;
    rg_ctx *c = rg_open(NULL);
    struct data seen = {0}, unseen = {0};
    struct trainer t = {0};
    rg_seed(c, 1);
    rg_status st =
        read_data(c, "data/mnist/train-images-idx3-ubyte.gz", "data/mnist/train-labels-idx1-ubyte.gz", &seen);
    if (!st)
        st = read_data(c, "data/mnist/t10k-images-idx3-ubyte.gz", "data/mnist/t10k-labels-idx1-ubyte.gz",
                       &unseen);
    if (!st) {
        t.net =
            rg_nn_sequential(c, RG_MODULES(rg_nn_linear(c, PIXELS, 256), rg_nn_function(c, "relu", rg_relu),
                                           rg_nn_dropout(c, 0.2), rg_nn_linear(c, 256, CLASSES)));
        t.optim = rg_adamw(rg_nn_params(t.net));
        train(c, &t, &seen, steps);
        double right = test(c, t.net, &unseen);
        if (!rg_status_of(c)) printf("test accuracy %.2f %%\n", 100 * right);
        if (!rg_nn_save(t.net, "build/mlp.safetensors")) printf("saved as build/mlp.safetensors\n");
    }
    if (rg_status_of(c)) fprintf(stderr, "%s\n", rg_error(c));
    free(seen.pixels), free(seen.labels), free(unseen.pixels), free(unseen.labels);
    return rg_close(c) != RG_OK;
}
