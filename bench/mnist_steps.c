/* mnist_steps.c: the network of examples/mnist.c, step by step, for comparison with PyTorch.
 *
 *     mnist_steps DIR STEPS
 *
 * Takes init.safetensors (parameters) and batches.safetensors (x0, y0, x1 ..) from DIR, and leaves there grads.safetensors
 * (of the first step) and after.safetensors (the parameters after each step, "3.0.weight"). bench/mnist_vs_torch.py makes the files,
 * runs this and compares. */
#include <ridge.h>

#include "mnist_net.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct run {
    rg_ctx *c;
    rg_module *net;
    rg_optim *optim;
    const char *dir;
    bool save_grads;
};

/* The names of the parameters as rg_nn_params lists them. */
static size_t names_of(struct run *r, const char **out) {
    rg_tensors p = rg_nn_params(r->net);
    size_t n = 0;
    for (size_t i = 0; i < rg_nn_entries(r->net); i++) {
        const char *name;
        rg_tensor t = rg_nn_entry(r->net, i, &name);
        for (size_t k = 0; k < p.n; k++)
            if (p.t[k].id == t.id) out[n++] = name;
    }
    return n;
}

static void save_grads(struct run *r) {
    const char *name[64];
    char path[1000];
    rg_tensor grad[64];
    rg_tensors p = rg_nn_params(r->net);
    size_t n = names_of(r, name);
    for (size_t i = 0; i < n; i++) grad[i] = rg_param_grad(p.t[i]);
    snprintf(path, sizeof path, "%s/grads.safetensors", r->dir);
    rg_save(path, name, RG_ARRAY(grad, n));
}

static rg_status step(void *user, const rg_tensor *in, rg_tensor *out) {
    struct run *r = user;
    out[0] = rg_cross_entropy(rg_nn_forward(r->net, in[0]), in[1]);
    rg_backward(out[0]);
    if (r->save_grads) save_grads(r);
    r->save_grads = false;
    return rg_optim_step(r->optim);
}

int main(int argc, char **argv) {
    if (argc != 3) return fprintf(stderr, "usage: mnist_steps DIR STEPS\n"), 2;
    int steps = atoi(argv[2]);
    char path[1000];
    rg_ctx *c = rg_open(NULL);
    struct run r = {.c = c, .net = mnist_network(c), .dir = argv[1], .save_grads = true};
    snprintf(path, sizeof path, "%s/init.safetensors", argv[1]);
    rg_nn_load(r.net, path, true);
    r.optim = rg_adam(rg_nn_params(r.net));
    snprintf(path, sizeof path, "%s/batches.safetensors", argv[1]);
    rg_file *f = rg_file_open(c, path);
    rg_jit *j = rg_jit_new(c, step, &r, 1);
    const char *name[64];
    size_t n = names_of(&r, name), kept = 0;
    static char label[64 * 64][64];
    static const char *all[64 * 64];
    static rg_tensor value[64 * 64];
    for (int i = 0; i < steps && i < 64 && !rg_status_of(c); i++) {
        char x[16], y[16];
        snprintf(x, sizeof x, "x%d", i), snprintf(y, sizeof y, "y%d", i);
        rg_tensor in[2] = {rg_file_get(f, x), rg_file_get(f, y)}, loss;
        struct timespec a, b;
        clock_gettime(CLOCK_MONOTONIC, &a);
        if (rg_jit_call(j, RG_ARRAY(in, 2), &loss)) break;
        double l = rg_item(loss);
        clock_gettime(CLOCK_MONOTONIC, &b);
        printf("%d %.9g %.3f\n", i, l,
               (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) * 1e-9);
        rg_tensors p = rg_nn_params(r.net);
        for (size_t k = 0; k < n; k++, kept++) {
            snprintf(label[kept], sizeof *label, "%d.%s", i, name[k]);
            all[kept] = label[kept], value[kept] = rg_mul(p.t[k], 1);
        }
        rg_realize_all(RG_ARRAY(value, kept));
    }
    snprintf(path, sizeof path, "%s/after.safetensors", argv[1]);
    if (!rg_status_of(c)) rg_save(path, all, RG_ARRAY(value, kept));
    if (rg_status_of(c)) fprintf(stderr, "mnist_steps: %s\n", rg_error(c));
    return rg_close(c) != RG_OK;
}
