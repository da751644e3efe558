/* networks.c: steps of whole networks: ResNet-18 and -50, ViT-B/16 and -S/16, BERT-base, GPT-2 124M, Llama of 60M, 350M
 * and 1B, a UNet, an LSTM of 128 steps.
 *
 *   networks NAME [BATCH [STEPS [bf16|f32 [forward|decode]]]]      on the device of the environment (DEVICE=CUDA)
 *
 * A step is forward, backward and AdamW in an rg_jit, bf16 as mixed precision; forward: without gradients, norms as in
 * evaluation, parameters in bf16; decode: a token of a Llama by its cache. Prints the first call (planned and compiled), then
 * best and median of single steps that are waited for, the mean of steps that are not, memory, and in decode the rate at
 * which all parameters are read. With 0 STEPS each line of stdin is a step, answered by its
 * seconds of clock and CPU. bench/networks_vs_torch.py runs the same networks in PyTorch's modes,
 * bench/networks_cpu.py both in turn. */
#include <ridge.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    STEPS_MOST = 256,
    BLOCKS_MOST = 64,
    WARM = 8
}; /* the ninth run of a plan is sampled, kernel by kernel */

static rg_tensor through(rg_module *m, const char *name, rg_tensor x) {
    return rg_nn_forward(rg_nn_child(m, name), x);
}

/* ---- residual networks ---------------------------------------------------------------------------------------- */

static rg_module *conv(rg_ctx *c, int64_t in, int64_t out, int64_t size, int64_t stride) {
    return rg_nn_conv2d(c, in, out, RG_SHAPE(size), .stride = RG_SHAPE(stride), .padding = RG_SHAPE(size / 2),
                        .no_bias = true);
}

static rg_tensor residual(rg_module *m, rg_tensor x, void *user) {
    (void)user;
    return rg_relu(rg_add(through(m, "body", x), rg_nn_child(m, "cut") ? through(m, "cut", x) : x));
}

static rg_module *relu(rg_ctx *c) { return rg_nn_function(c, "relu", rg_relu); }

static rg_module *bottleneck(rg_ctx *c, int64_t in, int64_t out, int64_t stride) {
    int64_t mid = out / 4;
    return rg_nn_sequential(c, RG_MODULES(conv(c, in, mid, 1, 1), rg_nn_batchnorm(c, mid), relu(c),
                                          conv(c, mid, mid, 3, stride), rg_nn_batchnorm(c, mid), relu(c),
                                          conv(c, mid, out, 1, 1), rg_nn_batchnorm(c, out)));
}

static rg_module *basic(rg_ctx *c, int64_t in, int64_t out, int64_t stride) {
    return rg_nn_sequential(c, RG_MODULES(conv(c, in, out, 3, stride), rg_nn_batchnorm(c, out), relu(c),
                                          conv(c, out, out, 3, 1), rg_nn_batchnorm(c, out)));
}

static rg_tensor stem_pool(rg_tensor x) {
    return rg_max_pool2d(x, RG_SHAPE(3), .stride = RG_SHAPE(2), .padding = RG_SHAPE(1));
}

static rg_tensor average(rg_tensor x) { return rg_mean(x, RG_AXES(2, 3)); }

static rg_module *resnet(rg_ctx *c, int depth) {
    static const int blocks[2][4] = {{2, 2, 2, 2}, {3, 4, 6, 3}};
    rg_module *list[BLOCKS_MOST];
    size_t n = 0;
    bool deep = depth == 50;
    list[n++] = conv(c, 3, 64, 7, 2), list[n++] = rg_nn_batchnorm(c, 64), list[n++] = relu(c);
    list[n++] = rg_nn_function(c, "max_pool", stem_pool);
    int64_t in = 64;
    for (int stage = 0; stage < 4; stage++)
        for (int i = 0; i < blocks[deep][stage]; i++) {
            int64_t out = (int64_t)(64 << stage) * (deep ? 4 : 1), stride = stage && !i ? 2 : 1;
            rg_module *m = list[n++] = rg_nn_module(c, residual, NULL);
            rg_nn_add(m, "body", (deep ? bottleneck : basic)(c, in, out, stride));
            if (stride != 1 || in != out)
                rg_nn_add(
                    m, "cut",
                    rg_nn_sequential(c, RG_MODULES(conv(c, in, out, 1, stride), rg_nn_batchnorm(c, out))));
            in = out;
        }
    list[n++] = rg_nn_function(c, "average", average), list[n++] = rg_nn_linear(c, in, 1000);
    return rg_nn_sequential(c, (rg_modules){list, n});
}

/* ---- transformers --------------------------------------------------------------------------------------------- */

/* Norms before (ViT, GPT-2) or after (BERT) what they are for. */
static rg_tensor pre_norm(rg_module *m, rg_tensor x, void *user) {
    (void)user;
    x = rg_add(x, through(m, "attention", through(m, "norm1", x)));
    return rg_add(x, through(m, "mlp", through(m, "norm2", x)));
}

static rg_tensor post_norm(rg_module *m, rg_tensor x, void *user) {
    (void)user;
    x = through(m, "norm1", rg_add(x, through(m, "attention", x)));
    return through(m, "norm2", rg_add(x, through(m, "mlp", x)));
}

static rg_module *blocks(rg_ctx *c, int n, int64_t width, bool causal, rg_forward_fn *fn, rg_unary_fn *act) {
    rg_module *list[BLOCKS_MOST];
    for (int i = 0; i < n; i++) {
        rg_module *m = list[i] = rg_nn_module(c, fn, NULL);
        rg_nn_add(m, "norm1", rg_nn_layernorm(c, RG_SHAPE(width)));
        rg_nn_add(m, "attention", rg_nn_attention(c, width, width / 64, .causal = causal));
        rg_nn_add(m, "norm2", rg_nn_layernorm(c, RG_SHAPE(width)));
        rg_nn_add(
            m, "mlp",
            rg_nn_sequential(c, RG_MODULES(rg_nn_linear(c, width, 4 * width), rg_nn_function(c, "gelu", act),
                                           rg_nn_linear(c, 4 * width, width))));
    }
    return rg_nn_sequential(c, (rg_modules){list, (size_t)n});
}

static rg_tensor vit(rg_module *m, rg_tensor x, void *user) {
    (void)user;
    int64_t n = rg_dim(x, 0), width = rg_dim(rg_nn_get(m, "position"), 1);
    x = rg_transpose(rg_flatten(through(m, "patches", x), 2, 3), 1, 2);
    rg_tensor first = rg_expand(rg_cast(rg_nn_get(m, "class"), rg_dtype_of(x)), RG_SHAPE(n, 1, width));
    x = rg_add(rg_cat(RG_TENSORS(first, x), 1), rg_nn_get(m, "position"));
    return through(m, "head", rg_select(through(m, "norm", through(m, "blocks", x)), 1, 0));
}

static rg_tensor small(rg_ctx *c, rg_ints shape) { return rg_normal(c, RG_F32, 0, 0.02, shape); }

static rg_module *vit_new(rg_ctx *c, int64_t w) {
    rg_module *m = rg_nn_module(c, vit, NULL);
    rg_nn_add(m, "patches", rg_nn_conv2d(c, 3, w, RG_SHAPE(16), .stride = RG_SHAPE(16)));
    rg_nn_param(m, "class", small(c, RG_SHAPE(1, 1, w)));
    rg_nn_param(m, "position", small(c, RG_SHAPE(197, w)));
    rg_nn_add(m, "blocks", blocks(c, 12, w, false, pre_norm, rg_gelu));
    rg_nn_add(m, "norm", rg_nn_layernorm(c, RG_SHAPE(w)));
    rg_nn_add(m, "head", rg_nn_linear(c, w, 1000));
    return m;
}

/* Tokens (B, T) to logits (B, T, words): BERT with its head for masked words, GPT-2 with logits by its table. */
static rg_tensor language(rg_module *m, rg_tensor x, void *user) {
    (void)user;
    x = rg_add(through(m, "words", x), rg_narrow(rg_nn_get(m, "position"), 0, 0, rg_dim(x, 1)));
    if (rg_nn_child(m, "first")) x = through(m, "first", x);
    x = through(m, "norm", through(m, "blocks", x));
    if (rg_nn_child(m, "head")) return through(m, "head", x);
    rg_dtype dt = rg_nn_precision_of(m);
    rg_tensor table = rg_cast(rg_nn_get(m, "words.weight"), dt);
    return rg_matmul(rg_cast(x, dt), rg_transpose(table, 0, 1));
}

static rg_module *language_new(rg_ctx *c, bool bert) {
    rg_module *m = rg_nn_module(c, language, NULL);
    int64_t words = bert ? 30522 : 50304, w = 768;
    rg_nn_add(m, "words", rg_nn_embedding(c, words, w));
    rg_assign(rg_nn_get(m, "words.weight"), small(c, RG_SHAPE(words, w)));
    rg_nn_param(m, "position", small(c, RG_SHAPE(bert ? 512 : 1024, w)));
    if (bert) rg_nn_add(m, "first", rg_nn_layernorm(c, RG_SHAPE(w)));
    rg_nn_add(m, "blocks",
              blocks(c, 12, w, !bert, bert ? post_norm : pre_norm, bert ? rg_gelu : rg_gelu_tanh));
    rg_module *last = rg_nn_layernorm(c, RG_SHAPE(w));
    rg_nn_add(m, "norm",
              bert ? rg_nn_sequential(
                         c, RG_MODULES(rg_nn_linear(c, w, w), rg_nn_function(c, "gelu", rg_gelu), last))
                   : last);
    if (bert) rg_nn_add(m, "head", rg_nn_linear(c, w, words));
    return m;
}

/* ---- Llama ---------------------------------------------------------------------------------------------------- */

enum { LLAMA_WORDS = 32000 };

struct llama {
    int64_t width, heads, kv, hidden, layers, context;
    rg_tensor cos, sin, pos; /* pos: an rg_index, when a token is decoded */
};

static struct llama
    llama_350m = {.width = 1024, .heads = 16, .kv = 4, .hidden = 2816, .layers = 24, .context = 2048},
    llama_1b = {.width = 2048, .heads = 32, .kv = 8, .hidden = 5632, .layers = 22, .context = 2048},
    llama_60m = {.width = 512, .heads = 8, .kv = 4, .hidden = 1408, .layers = 9, .context = 256};

static void angles(rg_ctx *c, struct llama *g) {
    int64_t half = g->width / g->heads / 2;
    rg_tensor power = rg_mul(rg_arange(c, RG_F32, 0, (double)half, 1), -log(10000) / (double)half);
    rg_tensor at = rg_reshape(rg_arange(c, RG_F32, 0, (double)g->context, 1), RG_SHAPE(g->context, 1));
    rg_tensor angle = rg_mul(at, rg_exp(power));
    g->cos = rg_cos(angle), g->sin = rg_sin(angle);
    rg_realize_all(RG_TENSORS(g->cos, g->sin));
}

static rg_tensor heads_of(rg_tensor x, int64_t heads) {
    rg_ints shape = RG_SHAPE(rg_dim(x, 0), rg_dim(x, 1), heads, rg_dim(x, 2) / heads);
    return rg_transpose(rg_reshape(x, shape), 1, 2);
}

static rg_tensor rotate(const struct llama *g, rg_tensor x) {
    int64_t half = rg_dim(x, 3) / 2;
    rg_range at = g->pos.id ? RG_WINDOW(g->pos, 1) : RG_RANGE(0, rg_dim(x, 2));
    rg_tensor cos = rg_cast(rg_slice(g->cos, RG_SLICES(at)), rg_dtype_of(x));
    rg_tensor sin = rg_cast(rg_slice(g->sin, RG_SLICES(at)), rg_dtype_of(x));
    rg_tensor a = rg_narrow(x, 3, 0, half), b = rg_narrow(x, 3, half, half);
    return rg_cat(RG_TENSORS(rg_sub(rg_mul(a, cos), rg_mul(b, sin)), rg_add(rg_mul(b, cos), rg_mul(a, sin))),
                  3);
}

static rg_tensor cached(const struct llama *g, rg_module *m, const char *name, rg_tensor x) {
    rg_tensor cache = rg_nn_get(m, name);
    rg_assign_slice(cache, x, RG_SLICES(RG_WHOLE, RG_WHOLE, RG_WINDOW(g->pos, 1)));
    return cache;
}

static rg_tensor llama_block(rg_module *m, rg_tensor x, void *user) {
    const struct llama *g = user;
    rg_tensor y = through(m, "norm1", x), q = rotate(g, heads_of(through(m, "q", y), g->heads)),
              k = rotate(g, heads_of(through(m, "k", y), g->kv)), v = heads_of(through(m, "v", y), g->kv),
              seen = RG_NONE;
    if (g->pos.id) {
        k = cached(g, m, "keys", k), v = cached(g, m, "values", v);
        seen = rg_le(rg_arange(rg_nn_ctx(m), RG_I64, 0, (double)g->context, 1), g->pos);
    }
    y = rg_attention(q, k, v, .causal = !g->pos.id, .mask = seen);
    x = rg_add(x, through(m, "o", rg_flatten(rg_transpose(y, 1, 2), 2, 3)));
    y = through(m, "norm2", x);
    return rg_add(
        x, through(m, "down_proj", rg_mul(rg_silu(through(m, "gate_proj", y)), through(m, "up_proj", y))));
}

static rg_module *llama_block_new(rg_ctx *c, struct llama *g) {
    int64_t w = g->width, keys = w / g->heads * g->kv;
    const struct {
        const char *name;
        int64_t in, out;
    } part[] = {{"q", w, w},
                {"k", w, keys},
                {"v", w, keys},
                {"o", w, w},
                {"gate_proj", w, g->hidden},
                {"up_proj", w, g->hidden},
                {"down_proj", g->hidden, w}};
    rg_module *m = rg_nn_module(c, llama_block, g);
    rg_nn_add(m, "norm1", rg_nn_rmsnorm(c, w)), rg_nn_add(m, "norm2", rg_nn_rmsnorm(c, w));
    for (size_t k = 0; k < sizeof part / sizeof *part; k++)
        rg_nn_add(m, part[k].name, rg_nn_linear(c, part[k].in, part[k].out, .no_bias = true));
    return m;
}

static rg_module *llama_new(rg_ctx *c, struct llama *g) {
    rg_module *list[BLOCKS_MOST];
    size_t n = 0;
    list[n++] = rg_nn_embedding(c, LLAMA_WORDS, g->width);
    for (int i = 0; i < g->layers; i++) list[n++] = llama_block_new(c, g);
    list[n++] = rg_nn_rmsnorm(c, g->width),
    list[n++] = rg_nn_linear(c, g->width, LLAMA_WORDS, .no_bias = true);
    angles(c, g);
    return rg_nn_sequential(c, (rg_modules){list, n});
}

/* Caches of a batch; a token is at pos from here on. */
static void decodes(rg_ctx *c, rg_module *net, struct llama *g, rg_dtype dt, int64_t batch) {
    rg_ints shape = RG_SHAPE(batch, g->kv, g->context, g->width / g->heads);
    for (int i = 1; i <= g->layers; i++) {
        char name[16];
        snprintf(name, sizeof name, "%d", i);
        rg_module *m = rg_nn_child(net, name);
        rg_nn_state(m, "keys", rg_zeros(c, dt, shape));
        rg_nn_state(m, "values", rg_zeros(c, dt, shape));
    }
    g->pos = rg_index(c, 0, g->context - 1, 0);
}

/* ---- UNet ----------------------------------------------------------------------------------------------------- */

static rg_tensor unet_block(rg_module *m, rg_tensor x, void *user) {
    (void)user;
    rg_tensor y = through(m, "conv1", rg_silu(through(m, "norm1", x)));
    y = through(m, "conv2", rg_silu(through(m, "norm2", y)));
    return rg_add(rg_nn_child(m, "skip") ? through(m, "skip", x) : x, y);
}

static rg_module *unet_block_new(rg_ctx *c, int64_t in, int64_t out) {
    rg_module *m = rg_nn_module(c, unet_block, NULL);
    rg_nn_add(m, "norm1", rg_nn_groupnorm(c, 32, in)), rg_nn_add(m, "conv1", conv(c, in, out, 3, 1));
    rg_nn_add(m, "norm2", rg_nn_groupnorm(c, 32, out)), rg_nn_add(m, "conv2", conv(c, out, out, 3, 1));
    if (in != out) rg_nn_add(m, "skip", conv(c, in, out, 1, 1));
    return m;
}

static rg_tensor unet(rg_module *m, rg_tensor x, void *user) {
    (void)user;
    rg_tensor a = through(m, "block1", through(m, "stem", x)),
              b = through(m, "block2", through(m, "shrink", a));
    rg_tensor pixels = rg_transpose(rg_flatten(through(m, "norm", b), 2, 3), 1, 2);
    rg_tensor y = rg_transpose(through(m, "attention", pixels), 1, 2);
    b = rg_add(b, rg_reshape(y, RG_SHAPE(rg_dim(b, 0), rg_dim(b, 1), rg_dim(b, 2), rg_dim(b, 3))));
    b = rg_interpolate(through(m, "block3", b), RG_SHAPE(2 * rg_dim(b, 2), 2 * rg_dim(b, 3)));
    return through(m, "head", through(m, "block4", rg_cat(RG_TENSORS(b, a), 1)));
}

static rg_module *unet_new(rg_ctx *c) {
    rg_module *m = rg_nn_module(c, unet, NULL);
    rg_nn_add(m, "stem", conv(c, 3, 128, 3, 1)), rg_nn_add(m, "block1", unet_block_new(c, 128, 128));
    rg_nn_add(m, "shrink", conv(c, 128, 256, 3, 2)), rg_nn_add(m, "block2", unet_block_new(c, 256, 256));
    rg_nn_add(m, "norm", rg_nn_groupnorm(c, 32, 256));
    rg_nn_add(m, "attention", rg_nn_attention(c, 256, 4));
    rg_nn_add(m, "block3", unet_block_new(c, 256, 256)), rg_nn_add(m, "block4", unet_block_new(c, 384, 128));
    rg_nn_add(m, "head", conv(c, 128, 3, 3, 1));
    return m;
}

/* ---- steps ---------------------------------------------------------------------------------------------------- */

enum { LSTM_STEPS = 128 };

struct job {
    rg_ctx *c;
    rg_module *net;
    rg_optim *optim; /* NULL: forward alone */
    rg_tensor x, y;
    struct llama *decode; /* or NULL */
    int at;               /* tokens decoded */
};

static const struct network {
    const char *name;
    int batch, size; /* size: of pictures, tokens of a piece of text, or states */
    int64_t words;   /* of a language; 0: pictures */
    struct llama *llama;
} networks[] = {{"resnet18", 64, 224, 0, 0},
                {"resnet50", 64, 224, 0, 0},
                {"vit", 64, 224, 0, 0},
                {"vit-s", 8, 224, 0, 0},
                {"bert", 32, 512, 30522, 0},
                {"bert-128", 2, 128, 30522, 0},
                {"gpt2", 16, 1024, 50304, 0},
                {"llama", 4, 2048, LLAMA_WORDS, &llama_350m},
                {"llama-1b", 1, 2048, LLAMA_WORDS, &llama_1b},
                {"llama-60m", 2, 256, LLAMA_WORDS, &llama_60m},
                {"unet", 32, 64, 0, 0},
                {"lstm-64", 16, 64, 0, 0},
                {"lstm-256", 32, 256, 0, 0}};

static rg_module *make(rg_ctx *c, const struct network *n) {
    if (n->llama) return llama_new(c, n->llama);
    if (!strncmp(n->name, "vit", 3)) return vit_new(c, n->name[3] ? 384 : 768);
    if (!strncmp(n->name, "lstm", 4)) return rg_nn_lstm(c, n->size, n->size);
    if (!strcmp(n->name, "unet")) return unet_new(c);
    if (!strncmp(n->name, "resnet", 6)) return resnet(c, atoi(n->name + 6));
    return language_new(c, !strncmp(n->name, "bert", 4));
}

static void data(struct job *j, const struct network *n, int64_t batch) {
    rg_ints pictures = RG_SHAPE(batch, 3, n->size, n->size), text = RG_SHAPE(batch, j->decode ? 1 : n->size),
            series = RG_SHAPE(LSTM_STEPS, batch, n->size);
    bool lstm = !strncmp(n->name, "lstm", 4);
    j->x = n->words ? rg_randint(j->c, RG_I64, 0, n->words, text)
                    : rg_randn(j->c, RG_F32, lstm ? series : pictures);
    if (lstm || !strcmp(n->name, "unet"))
        j->y = rg_randn(j->c, RG_F32, lstm ? series : pictures);
    else
        j->y = rg_randint(j->c, RG_I64, 0, n->words ? n->words : 1000,
                          n->words ? RG_SHAPE(batch * n->size) : RG_SHAPE(batch));
    rg_realize_all(RG_TENSORS(j->x, j->y));
}

static rg_status step(void *user, const rg_tensor *in, rg_tensor *out) {
    struct job *j = user;
    (void)in;
    rg_tensor y = rg_nn_forward(j->net, j->x);
    if (j->decode)
        out[0] = rg_argmax(rg_flatten(rg_cast(y, RG_F32), 0, 1), RG_AXES(1));
    else if (rg_dtype_of(j->y) == RG_F32)
        out[0] = rg_mse_loss(rg_cast(y, RG_F32), j->y);
    else
        out[0] = rg_cross_entropy(rg_rank(y) == 3 ? rg_flatten(y, 0, 1) : y, j->y);
    if (!j->optim) return RG_OK;
    rg_backward(out[0]);
    return rg_optim_step(j->optim);
}

static double clock_of(clockid_t which) {
    struct timespec t;
    clock_gettime(which, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double now(void) { return clock_of(CLOCK_MONOTONIC); }

/* Seconds of n steps, waited for; tokens are decoded in the second half of their context. */
static double run(struct job *j, rg_jit *jit, int n, double *loss) {
    rg_tensor out = RG_NONE;
    double t = now();
    for (int i = 0; i < n; i++) {
        if (j->decode) {
            int64_t half = j->decode->context / 2;
            rg_set_scalar(j->decode->pos, half + j->at++ % half);
        }
        rg_jit_call(jit, RG_TENSORS(), &out);
    }
    *loss = rg_item(rg_size(out) == 1 ? out : rg_select(out, 0, 0));
    return now() - t;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* A step for each line of stdin. */
static void served(struct job *j, rg_jit *jit) {
    double loss;
    for (int ch; (ch = getchar()) != EOF;)
        if (ch == '\n') {
            double cpu = clock_of(CLOCK_PROCESS_CPUTIME_ID), wall = run(j, jit, 1, &loss);
            printf("%.9f %.9f\n", wall, clock_of(CLOCK_PROCESS_CPUTIME_ID) - cpu), fflush(stdout);
        }
}

/* What a token must read: all but the rows of the embedding. */
static double parameter_bytes(rg_module *net) {
    rg_tensors p = rg_nn_params(net);
    double bytes = 0;
    for (size_t i = 1; i < p.n; i++)
        bytes += (double)rg_size(p.t[i]) * (double)rg_dtype_size(rg_dtype_of(p.t[i]));
    return bytes;
}

static void measure(struct job *j, const char *name, int64_t batch, int steps) {
    rg_jit *jit = rg_jit_new(j->c, step, j, 1);
    double loss, last, each[STEPS_MOST], first = run(j, jit, 1, &loss), second = run(j, jit, 1, &last);
    for (int i = 0; i < WARM; i++) run(j, jit, 1, &last);
    if (!steps) {
        printf("ready %.2f\n", first), fflush(stdout);
        served(j, jit);
        return;
    }
    double mean = run(j, jit, steps, &last) / steps;
    for (int i = 0; i < steps; i++) each[i] = run(j, jit, 1, &last);
    qsort(each, (size_t)steps, sizeof *each, ascending);
    rg_memory mem = {0};
    rg_jit_stats info = {0};
    rg_memory_of(j->c, &mem), rg_jit_info(jit, &info);
    printf("%s %lld: best %.3f ms, median %.3f, mean of %d %.3f; first %.2f s, second %.2f; ", name,
           (long long)batch, each[0] * 1e3, each[steps / 2] * 1e3, steps, mean * 1e3, first, second);
    printf("%.2f GB; %llu kernels; ", (double)mem.peak * 1e-9, (unsigned long long)info.kernels);
    if (j->decode)
        printf("%.0f GB/s of parameters\n", parameter_bytes(j->net) / mean * 1e-9);
    else
        printf("loss %.4f, then %.4f\n", loss, last);
}

int main(int argc, char **argv) {
    const struct network *n = NULL;
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++)
        if (argc > 1 && !strcmp(argv[1], networks[i].name)) n = &networks[i];
    int64_t batch = argc > 2 && atoi(argv[2]) > 0 ? atoi(argv[2]) : n ? n->batch : 0;
    int steps = argc > 3 ? atoi(argv[3]) : 10;
    bool decode = argc > 5 && !strcmp(argv[5], "decode");
    if (!n || steps < 0 || steps > STEPS_MOST || (decode && !n->llama))
        return fprintf(stderr, "usage: networks "
                               "resnet18|resnet50|vit|vit-s|bert|bert-128|gpt2|llama|llama-1b|llama-60m|unet|"
                               "lstm-64|lstm-256 [BATCH [STEPS [bf16|f32 [forward|decode]]]]\n"),
               2;
    struct job j = {.c = rg_open(NULL), .decode = decode ? n->llama : NULL};
    rg_seed(j.c, 1);
    j.net = make(j.c, n);
    rg_dtype dt = argc > 4 && !strcmp(argv[4], "f32") ? RG_F32 : RG_BF16;
    if (argc < 6 && dt == RG_BF16) rg_nn_precision(j.net, dt);
    if (argc >= 6) rg_nn_cast(j.net, dt);
    if (argc < 6) j.optim = rg_adamw(rg_nn_params(j.net), .lr = 1e-4);
    if (decode) decodes(j.c, j.net, n->llama, dt, batch);
    data(&j, n, batch);
    if (argc >= 6 && !n->words) j.x = rg_cast(j.x, dt), rg_realize(j.x);
    rg_realize_all(rg_nn_params(j.net));
    rg_nn_train(j.net, j.optim);
    rg_scope none = j.optim ? (rg_scope){0} : rg_begin_no_grad(j.c);
    measure(&j, n->name, batch, steps);
    if (!j.optim) rg_end_no_grad(none);
    if (rg_status_of(j.c)) fprintf(stderr, "%s\n", rg_error(j.c));
    return rg_close(j.c) != RG_OK;
}
