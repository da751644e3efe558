/* resnet.c: a residual network learns to tell pictures apart.
 *
 *     build/examples/resnet                                    ResNet-20 on pictures of 32 x 32 that it makes up
 *     build/examples/resnet --images train.npy --labels labels.npy              your own: (N, C, H, W) and (N), npy or idx
 *     build/examples/resnet --model 50 --size 224 --classes 1000 --batch 64 --dtype bf16 --device CUDA --steps 20
 *
 * Depths 20, 32 and 56 are those for small pictures (three stages of 3 x 3 convolutions), 18, 34 and 50 those for large ones (a stem of
 * 7 x 7 and four stages; 50 with bottlenecks). Convolution, batch norm and ReLU are modules; a step is recorded once and replayed. */
#include <ridge.h>

#include "bar.h"
#include "flags.h"

struct resnet {
    rg_ctx *c;
    int model, size, classes, batch, steps, seed;
    double lr;
    const char *images, *labels, *dtype, *device;
    rg_module *net;
    rg_optim *optim;
    rg_tensor x, y; /* (N, C, H, W) and (N): what it learns */
    int64_t held;   /* of them, the last ones: not learnt, to judge by */
};

/* ---- the model ---------------------------------------------------------------------------------------------- */

static rg_module *conv(rg_ctx *c, int64_t in, int64_t out, int64_t size, int64_t stride) {
    return rg_nn_conv2d(c, in, out, RG_SHAPE(size), .stride = RG_SHAPE(stride), .padding = RG_SHAPE(size / 2),
                        .no_bias = true);
}

static rg_module *relu(rg_ctx *c) { return rg_nn_function(c, "relu", rg_relu); }

/* relu(body(x) + shortcut(x)) */
static rg_tensor residual(rg_module *m, rg_tensor x, void *user) {
    (void)user;
    rg_module *cut = rg_nn_child(m, "shortcut");
    return rg_relu(rg_add(rg_nn_forward(rg_nn_child(m, "body"), x), cut ? rg_nn_forward(cut, x) : x));
}

static rg_module *block(rg_ctx *c, int64_t in, int64_t out, int64_t stride, bool bottleneck) {
    rg_module *m = rg_nn_module(c, residual, NULL), *body;
    int64_t mid = out / 4;
    if (bottleneck)
        body = rg_nn_sequential(c, RG_MODULES(conv(c, in, mid, 1, 1), rg_nn_batchnorm(c, mid), relu(c),
                                              conv(c, mid, mid, 3, stride), rg_nn_batchnorm(c, mid), relu(c),
                                              conv(c, mid, out, 1, 1), rg_nn_batchnorm(c, out)));
    else
        body = rg_nn_sequential(c, RG_MODULES(conv(c, in, out, 3, stride), rg_nn_batchnorm(c, out), relu(c),
                                              conv(c, out, out, 3, 1), rg_nn_batchnorm(c, out)));
    rg_nn_add(m, "body", body);
    if (stride != 1 || in != out)
        rg_nn_add(m, "shortcut",
                  rg_nn_sequential(c, RG_MODULES(conv(c, in, out, 1, stride), rg_nn_batchnorm(c, out))));
    return m;
}

static rg_tensor stem_pool(rg_tensor x) {
    return rg_max_pool2d(x, RG_SHAPE(3), .stride = RG_SHAPE(2), .padding = RG_SHAPE(1));
}

static rg_tensor average(rg_tensor x) { return rg_mean(x, RG_AXES(2, 3)); }

/* Blocks in each stage, and channels of the first; NULL: no such model. */
static const int *stages(int model) {
    static const int table[][6] = {{20, 16, 3, 3, 3, 0}, {32, 16, 5, 5, 5, 0}, {56, 16, 9, 9, 9, 0},
                                   {18, 64, 2, 2, 2, 2}, {34, 64, 3, 4, 6, 3}, {50, 64, 3, 4, 6, 3}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i][0] == model) return table[i];
    return NULL;
}

static rg_module *network(rg_ctx *c, int model, int64_t in, int64_t classes) {
    const int *s = stages(model);
    rg_module *list[64];
    size_t n = 0;
    bool large = s[1] == 64, bottleneck = model == 50;
    int64_t width = s[1];
    list[n++] = large ? conv(c, in, width, 7, 2) : conv(c, in, width, 3, 1);
    list[n++] = rg_nn_batchnorm(c, width);
    list[n++] = relu(c);
    if (large) list[n++] = rg_nn_function(c, "max_pool", stem_pool);
    in = width;
    for (int stage = 0; stage < 4; stage++)
        for (int i = 0; i < s[2 + stage]; i++) {
            int64_t out = (width << stage) * (bottleneck ? 4 : 1);
            list[n++] = block(c, in, out, stage && !i ? 2 : 1, bottleneck);
            in = out;
        }
    list[n++] = rg_nn_function(c, "average", average);
    list[n++] = rg_nn_linear(c, in, classes);
    return rg_nn_sequential(c, (rg_modules){list, n});
}

/* ---- pictures ------------------------------------------------------------------------------------------------- */

/* Each class is a pattern of waves; pictures of it are shifted, dimmed and noisy. */
static void make_up(struct resnet *r) {
    rg_ctx *c = r->c;
    int64_t n = 40 * r->batch < 4000 ? 40 * r->batch : 4000, s = r->size;
    n = n * s * s > 1 << 25 ? (1 << 25) / (s * s) : n;
    rg_tensor y = rg_randint(c, RG_I64, 0, r->classes, RG_SHAPE(n));
    rg_tensor rate =
        rg_uniform(c, RG_F32, 2, 12, RG_SHAPE(r->classes, 3, 2, 1, 1)); /* of a class: waves of each color */
    rg_tensor mine = rg_take(rate, 0, y), shift = rg_uniform(c, RG_F32, 0, 6.28, RG_SHAPE(n, 1, 2, 1, 1));
    rg_tensor at = rg_div(rg_arange(c, RG_F32, 0, (double)s, 1), (double)s);
    rg_tensor down = rg_mul(rg_reshape(at, RG_SHAPE(s, 1)), rg_select(mine, 2, 0));
    rg_tensor across = rg_mul(at, rg_select(mine, 2, 1));
    rg_tensor wave =
        rg_mul(rg_sin(rg_add(down, rg_select(shift, 2, 0))), rg_cos(rg_add(across, rg_select(shift, 2, 1))));
    rg_tensor noise = rg_mul(rg_randn(c, RG_F32, RG_SHAPE(n, 3, s, s)), 0.5);
    r->x = rg_add(rg_mul(wave, rg_uniform(c, RG_F32, 0.5, 1, RG_SHAPE(n, 1, 1, 1))), noise), r->y = y;
}

static rg_tensor load(rg_ctx *c, const char *path) {
    size_t n = strlen(path);
    return n > 4 && !strcmp(path + n - 4, ".npy") ? rg_load_npy(c, path) : rg_load_idx(c, path);
}

/* Pictures with mean 0 and deviation 1 in each channel. */
static void pictures(struct resnet *r) {
    if (r->images) {
        r->x = rg_cast(load(r->c, r->images), RG_F32), r->y = rg_cast(load(r->c, r->labels), RG_I64);
        if (rg_rank(r->x) == 3) r->x = rg_unsqueeze(r->x, 1);
        if (!rg_status_of(r->c)) r->classes = 1 + (int)rg_item(rg_max(r->y));
    } else {
        make_up(r);
    }
    rg_tensor mean = rg_mean(r->x, RG_AXES(0, 2, 3), .keep = true);
    rg_tensor deviation = rg_add(rg_std(r->x, RG_AXES(0, 2, 3), .keep = true), 1e-6);
    r->x = rg_div(rg_sub(r->x, mean), deviation);
    rg_realize_all(RG_TENSORS(r->x, r->y));
    r->held = rg_dim(r->x, 0) / 10;
}

/* ---- training --------------------------------------------------------------------------------------------------- */

static rg_tensor right(rg_tensor logits, rg_tensor y) {
    return rg_mean(rg_cast(rg_eq(rg_argmax(logits, RG_AXES(1)), y), RG_F32));
}

static rg_status step(void *user, const rg_tensor *in, rg_tensor *out) {
    struct resnet *r = user;
    (void)in;
    rg_tensor pick = rg_randint(r->c, RG_I64, 0, rg_dim(r->x, 0) - r->held, RG_SHAPE(r->batch));
    rg_tensor y = rg_take(r->y, 0, pick), logits = rg_nn_forward(r->net, rg_take(r->x, 0, pick));
    out[0] = rg_cross_entropy(logits, y), out[1] = right(logits, y);
    rg_backward(out[0]);
    return rg_optim_step(r->optim);
}

static void train(struct resnet *r) {
    rg_jit *j = rg_jit_new(r->c, step, r, 2);
    double began = now(), best = 1e9;
    for (int i = 1; i <= r->steps; i++) {
        RG_SCOPE(r->c);
        rg_tensor out[2];
        double t0 = now();
        rg_optim_set_lr(r->optim, rg_lr_one_cycle(r->lr, i - 1, r->steps, 0.3));
        if (rg_jit_call(j, RG_TENSORS(), out)) return;
        double loss = rg_item(out[0]), s = now() - t0;
        best = s < best ? s : best;
        bar(i, r->steps, "loss %.4f  right %3.0f %%  %.1f ms  %.0f pictures/s", loss, 100 * rg_item(out[1]),
            s * 1e3, r->batch / s);
    }
    rg_memory mem;
    if (!rg_memory_of(r->c, &mem))
        printf("trained in %.1f s, best step %.2f ms, memory %.2f GB at most\n", now() - began, best * 1e3,
               (double)mem.peak * 1e-9);
}

/* Pictures that it has not learnt, by the running statistics of the batch norms. */
static void judge(struct resnet *r) {
    RG_NO_GRAD(r->c);
    rg_nn_train(r->net, false);
    double sum = 0;
    int64_t n = rg_dim(r->x, 0), part = r->batch < r->held ? r->batch : r->held, parts = 0;
    for (int64_t at = n - r->held; part && at + part <= n; at += part, parts++) {
        RG_SCOPE(r->c);
        sum +=
            rg_item(right(rg_nn_forward(r->net, rg_narrow(r->x, 0, at, part)), rg_narrow(r->y, 0, at, part)));
    }
    if (parts)
        printf("%.1f %% of %lld pictures that it has never seen\n", 100 * sum / (double)parts,
               (long long)(parts * part));
}

int main(int argc, char **argv) {
    /* clang-format off */
    struct resnet r = {.model = 20, .size = 32, .classes = 10, .batch = 64, .steps = 60, .seed = 1, .lr = 0.2, .dtype = "f32"};
    const struct flag flag[] = {
        {"model", .i = &r.model, .help = "layers: 20, 32, 56; 18, 34, 50 for large pictures"},
        {"images", .s = &r.images, .help = "npy or idx, (N, H, W) or (N, C, H, W); else it makes them up"},
        {"labels", .s = &r.labels, .help = "their classes, (N)"},
        {"size", .i = &r.size, .help = "of pictures made up"},  {"classes", .i = &r.classes, .help = "of pictures made up"},
        {"batch", .i = &r.batch, .help = "pictures a step"},    {"steps", .i = &r.steps, .help = "of training"},
        {"lr", .f = &r.lr, .help = "learning rate at most"},    {"dtype", .s = &r.dtype, .help = "of convolutions: f32 or bf16"},
        {"seed", .i = &r.seed, .help = "of random numbers"},    {"device", .s = &r.device, .help = "CPU, CUDA or OPENCL"}};
    /* clang-format on */
    int done = flags_read(argc, argv, "resnet", flag, sizeof flag / sizeof *flag);
    if (done >= 0) return done;
    if (!stages(r.model) || r.size < 8 || r.classes < 2 || r.batch < 1 || r.steps < 1 ||
        !r.images != !r.labels)
        return fprintf(stderr,
                       "resnet: models 20, 32, 56, 18, 34, 50; size 8 or more; images come with labels\n"),
               2;
    rg_ctx *c = r.c = rg_open(r.device);
    rg_seed(c, (uint64_t)r.seed);
    pictures(&r);
    if (!rg_status_of(c)) {
        r.net = network(c, r.model, rg_dim(r.x, 1), r.classes);
        if (!strcmp(r.dtype, "bf16")) rg_nn_precision(r.net, RG_BF16);
        r.optim = rg_sgd(rg_nn_params(r.net), .lr = r.lr, .momentum = 0.9, .weight_decay = 5e-4);
        train(&r);
        judge(&r);
    }
    if (rg_status_of(c)) fprintf(stderr, "%s\n", rg_error(c));
    return rg_close(c) != RG_OK;
}
