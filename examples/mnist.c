/* mnist.c: a convolutional network learns to read digits.
 *
 *     build/examples/mnist [--steps 70] [--batch 512] [--device CPU] [--seed 1] [--lr 0.002] [--no-jit] [--data data/mnist] [--world [--shards 8]] [--f64]
 *
 * Two pairs of convolutions, each with a batch norm and a maximum pool after it, and one linear layer: about 88,000
 * parameters. A step draws a batch, computes loss and gradients and lets Adam update the parameters; it is one
 * function, recorded once and then replayed. At the end come the accuracy on 10,000 images that it has never seen, and where the
 * time went. With --world the ranks of `ridge run -n 4 -- build/examples/mnist --world`, or of mpirun, share each batch. With
 * --shards 8 there are eight ranks in any number of processes, threads with contexts of their own: 1, 2, 4 and 8 processes
 * have the same losses, bit for bit. */
#include <ridge.h>

#include "bar.h"

#include <pthread.h>
#include <stdlib.h>

enum { SHARDS_MOST = 64 };

struct flags {
    int steps, batch, shards;
    long long seed;
    double lr;
    const char *device, *data;
    bool jit, world, f64;
};

struct trainer {
    rg_ctx *c;
    rg_module *net;
    rg_optim *optim;
    rg_tensor images, labels; /* U8 (60000, 1, 28, 28), I64 (60000) */
    rg_tensor at;             /* test: an index that changes */
    int batch;
    rg_world *world; /* NULL: alone */
    rg_dtype dt;     /* that it computes in */
};

static rg_module *network(rg_ctx *c) {
    return rg_nn_sequential(
        c, RG_MODULES(rg_nn_conv2d(c, 1, 32, RG_SHAPE(5)), rg_nn_function(c, "relu", rg_relu),
                      rg_nn_conv2d(c, 32, 32, RG_SHAPE(5)), rg_nn_function(c, "relu", rg_relu),
                      rg_nn_batchnorm(c, 32), rg_nn_max_pool2d(c, RG_SHAPE(2)),
                      rg_nn_conv2d(c, 32, 64, RG_SHAPE(3)), rg_nn_function(c, "relu", rg_relu),
                      rg_nn_conv2d(c, 64, 64, RG_SHAPE(3)), rg_nn_function(c, "relu", rg_relu),
                      rg_nn_batchnorm(c, 64), rg_nn_max_pool2d(c, RG_SHAPE(2)), rg_nn_flatten(c, 1),
                      rg_nn_linear(c, 576, 10)));
}

static rg_tensor pixels(const struct trainer *t, rg_tensor images) {
    return rg_div(rg_cast(images, t->dt), 255);
}

static rg_tensor accuracy(rg_tensor logits, rg_tensor labels) {
    return rg_mean(rg_cast(rg_eq(rg_argmax(logits, RG_AXES(1)), labels), RG_F32));
}

/* One step of training: out is the loss and the share of the batch that was right. */
static rg_status step(void *user, const rg_tensor *in, rg_tensor *out) {
    struct trainer *t = user;
    (void)in;
    rg_tensor pick = rg_randint(t->c, RG_I64, 0, rg_dim(t->images, 0), RG_SHAPE(t->batch));
    int64_t first, share = rg_world_share(t->world, t->batch, &first); /* all ranks draw the same batch */
    if (t->world) pick = rg_narrow(pick, 0, first, share);
    rg_tensor labels = rg_take(t->labels, 0, pick);
    rg_tensor logits = rg_nn_forward(t->net, pixels(t, rg_take(t->images, 0, pick)));
    out[0] = rg_cross_entropy(logits, labels);
    out[1] = accuracy(logits, labels);
    rg_backward(out[0]);
    if (t->world) {
        rg_nn_reduce_grads(t->net);
        for (int i = 0; i < 2; i++) out[i] = rg_all_reduce(rg_detach(out[i]), t->world, RG_COMBINE_MEAN);
    }
    return rg_optim_step(t->optim);
}

/* Accuracy on PART images from index `at` on. */
enum { PART = 500 };
static rg_status judge(void *user, const rg_tensor *in, rg_tensor *out) {
    struct trainer *t = user;
    (void)in;
    rg_tensor images = rg_slice(t->images, RG_SLICES(RG_WINDOW(t->at, PART)));
    out[0] = accuracy(rg_nn_forward(t->net, pixels(t, images)),
                      rg_slice(t->labels, RG_SLICES(RG_WINDOW(t->at, PART))));
    return RG_OK;
}

static rg_tensor load(rg_ctx *c, const char *dir, const char *name, bool images) {
    char path[1000];
    snprintf(path, sizeof path, "%s/%s-ubyte.gz", dir, name);
    rg_tensor t = rg_load_idx(c, path);
    return images ? rg_contiguous(rg_unsqueeze(t, 1)) : rg_contiguous(rg_cast(t, RG_I64));
}

static rg_status train(struct trainer *t, const struct flags *f, bool speaks) {
    rg_machine m = {0};
    rg_jit *j = f->jit ? rg_jit_new(t->c, step, t, 2) : NULL;
    rg_machine_of(t->c, &m);
    double began = now(), ops = 0; /* of one step: they are all alike */
    for (int i = 1; i <= f->steps; i++) {
        RG_SCOPE(t->c);
        rg_tensor out[2];
        float v[2];
        double wide = 0;
        rg_usage u;
        double t0 = now();
        rg_optim_set_lr(t->optim, rg_lr_cosine(f->lr, i - 1, f->steps, f->lr / 20));
        if (j ? rg_jit_call(j, (rg_tensors){0}, out) : step(t, NULL, out)) break;
        rg_read_async(out[0], f->f64 ? (void *)&wide : &v[0], f->f64 ? sizeof wide : sizeof v[0]);
        rg_read_async(out[1], &v[1], sizeof v[1]);
        if (rg_wait(t->c)) break;
        double s = now() - t0;
        if (i == 1 && !rg_stats(t->c, &u)) ops = u.ops;
        double flops = ops / s;
        if (!speaks) continue;
        bar(i, f->steps, "loss %.*f  accuracy %5.1f %%  %5.2f steps/s  %6.1f GFLOPS  %2.0f %% of peak",
            f->f64 || f->shards ? 10 : 4, f->f64 ? wide : (double)v[0], 100 * v[1], 1 / s, flops * 1e-9,
            m.flops ? 100 * flops / m.flops : 0);
    }
    rg_status st = rg_status_of(t->c);
    if (!speaks) return st;
    if (!st) printf("trained in %.1f s", now() - began);
    rg_jit_stats s;
    if (!st && j && !rg_jit_info(j, &s) && s.kernels)
        printf("; a step is %llu kernels, %.1f GFLOP, %.2f GB", (unsigned long long)s.kernels, s.ops * 1e-9,
               s.bytes * 1e-9);
    printf("\n");
    return st;
}

static rg_status test(struct trainer *t, const char *data) {
    RG_SCOPE(t->c);
    t->images = load(t->c, data, "t10k-images-idx3", true),
    t->labels = load(t->c, data, "t10k-labels-idx1", false);
    int64_t n = rg_dim(t->images, 0) / PART * PART;
    double sum = 0, t0 = now();
    t->at = rg_index(t->c, 0, n - PART, 0);
    rg_nn_train(t->net, false);
    rg_jit *j = rg_jit_new(t->c, judge, t, 1);
    for (int64_t i = 0; i < n; i += PART) {
        RG_SCOPE(t->c);
        rg_tensor right;
        rg_set_scalar(t->at, (double)i);
        if (rg_jit_call(j, (rg_tensors){0}, &right)) return rg_status_of(t->c);
        sum += rg_item(right) * PART;
    }
    if (rg_status_of(t->c)) return rg_status_of(t->c);
    printf("test accuracy %.2f %% of %lld images, %.1f s\n", 100 * sum / (double)n, (long long)n, now() - t0);
    return RG_OK;
}

/* The ten kernels that took longest. */
static void profile(rg_ctx *c) {
    rg_kernel_cost k[512];
    size_t n = rg_kernels(c, k, 512);
    double all = 0;
    n = n < 512 ? n : 512;
    for (size_t i = 0; i < n; i++) all += k[i].seconds;
    printf("\nwhere the time went (%zu kernels, %.1f s)\n", n, all);
    printf("share  calls  ms each  GFLOPS   GB/s  of roof  kernel, and who asked for it\n");
    for (size_t i = 0; i < n && i < 10; i++)
        printf("%4.1f %%  %5llu  %7.2f  %6.1f  %5.1f  %5.0f %%  %-22s %s\n", 100 * k[i].seconds / all,
               (unsigned long long)k[i].calls, 1e3 * k[i].seconds / (double)k[i].calls,
               k[i].ops / k[i].seconds * 1e-9, k[i].bytes / k[i].seconds * 1e-9,
               100 * k[i].roof / k[i].seconds, k[i].name, k[i].where);
}

static int usage(const char *problem) {
    if (problem) fprintf(stderr, "mnist: %s\n", problem);
    fprintf(problem ? stderr : stdout,
            "usage: mnist [options]\n"
            "  --steps N     training steps (70)\n"
            "  --batch N     images per step (512)\n"
            "  --device D    CPU, REF, NULL (the environment's DEVICE, else CPU)\n"
            "  --seed N      of the weights and of the order of images (1)\n"
            "  --lr X        Adam's learning rate at the start; it falls by half a cosine (0.002)\n"
            "  --no-jit      build the graph in every step instead of replaying it\n"
            "  --f64         compute in double precision\n"
            "  --world       one rank of several: ridge run -n 4 -- mnist --world, mpirun, srun\n"
            "  --shards N    with --world: N ranks, divided among the processes as threads; the same bits "
            "for 1, 2, 4 ..\n"
            "  --data DIR    the four files of MNIST (data/mnist)\n");
    return problem ? 2 : 0;
}

static int parse(int argc, char **argv, struct flags *f) {
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i], *v = i + 1 < argc ? argv[i + 1] : NULL;
        char text[120];
        if (!strcmp(a, "--help") || !strcmp(a, "-h")) return usage(NULL) + 1;
        if (!strcmp(a, "--no-jit") || !strcmp(a, "--world") || !strcmp(a, "--f64")) {
            *(a[2] == 'w' ? &f->world : a[2] == 'f' ? &f->f64 : &f->jit) = a[2] != 'n';
            continue;
        }
        snprintf(text, sizeof text, v ? "%.60s is no option" : "%.60s: an option without a value, or none",
                 a);
        if (!v) return usage(text);
        if (!strcmp(a, "--steps"))
            f->steps = atoi(v);
        else if (!strcmp(a, "--batch"))
            f->batch = atoi(v);
        else if (!strcmp(a, "--shards"))
            f->shards = atoi(v);
        else if (!strcmp(a, "--device"))
            f->device = v;
        else if (!strcmp(a, "--seed"))
            f->seed = atoll(v);
        else if (!strcmp(a, "--lr"))
            f->lr = atof(v);
        else if (!strcmp(a, "--data"))
            f->data = v;
        else
            return usage(text);
        i++;
    }
    if (f->steps < 1 || f->batch < 1) return usage("--steps and --batch are 1 or more");
    if (f->shards < 0 || f->shards > SHARDS_MOST || (f->shards && !f->world))
        return usage("--shards is 1 to 64, with --world");
    return 0;
}

/* One rank; `contexts` of them are in this process. */
static int run(const struct flags *f, int64_t contexts, int64_t context) {
    rg_ctx *c = rg_open(f->device);
    rg_seed(c, (uint64_t)f->seed);
    struct trainer t = {.c = c, .batch = f->batch, .dt = f->f64 ? RG_F64 : RG_F32};
    t.images = load(c, f->data, "train-images-idx3", true),
    t.labels = load(c, f->data, "train-labels-idx1", false);
    t.net = network(c);
    if (f->f64) rg_nn_cast(t.net, RG_F64);
    if (f->world) t.world = rg_world_open(c, .contexts = contexts, .context = context);
    if (t.world) rg_nn_data_parallel(t.net, t.world);
    bool speaks = !rg_world_rank(t.world); /* rank 0 */
    t.optim = rg_adam(rg_nn_params(t.net), .lr = f->lr);
    int64_t weights = 0;
    rg_tensors params = rg_nn_params(t.net);
    for (size_t i = 0; i < params.n; i++) weights += rg_size(params.t[i]);
    if (f->batch % rg_world_size(t.world)) return usage("--batch is not a multiple of the number of ranks");
    if (!rg_status_of(c) && speaks)
        printf("%lld images, %lld parameters, batch %d, device %s; the first step compiles\n",
               (long long)rg_dim(t.images, 0), (long long)weights, f->batch, rg_device(c));
    if (!train(&t, f, speaks) && speaks && !test(&t, f->data)) profile(c);
    if (rg_status_of(c)) fprintf(stderr, "%s\n", rg_error(c));
    return rg_close(c) != RG_OK;
}

struct shard {
    const struct flags *f;
    int64_t contexts, context;
    int result;
};

static void *run_shard(void *arg) {
    struct shard *s = arg;
    s->result = run(s->f, s->contexts, s->context);
    return NULL;
}

/* This process's part of f->shards ranks. */
static int run_shards(const struct flags *f) {
    struct shard s[SHARDS_MOST];
    pthread_t thread[SHARDS_MOST];
    rg_ctx *c = rg_open(f->device);
    rg_world *w = rg_world_open(c);
    int64_t processes = rg_world_size(w), n = f->shards / processes;
    bool opened = w;
    if (!w) fprintf(stderr, "%s\n", rg_error(c));
    rg_close(c);
    if (!opened) return 1;
    if (n * processes != f->shards) return usage("--shards is not a multiple of the number of processes");
    int bad = 0;
    for (int64_t i = 0; i < n; i++)
        s[i] = (struct shard){f, n, i, 1}, pthread_create(&thread[i], NULL, run_shard, &s[i]);
    for (int64_t i = 0; i < n; i++) pthread_join(thread[i], NULL), bad |= s[i].result;
    return bad;
}

int main(int argc, char **argv) {
    struct flags f = {.steps = 70, .batch = 512, .seed = 1, .lr = 2e-3, .data = "data/mnist", .jit = true};
    int stop = parse(argc, argv, &f);
    if (stop) return stop == 1 ? 0 : stop;
    return f.shards ? run_shards(&f) : run(&f, 1, 0);
}
