/* gpt2.c: GPT-2: trains on the bytes of a text and writes one; or runs weights from a file.
 *
 *     build/examples/gpt2                                      a model of 2 layers learns docs/tensors.md, then writes
 *     build/examples/gpt2 --model 124M --dtype bf16 --text synthetic --device CUDA      a training step, timed
 *     ridge run -n 4 -- build/examples/gpt2 --world --shard 3                           on four ranks, ZeRO 3
 *     build/examples/gpt2 --layers 12 --width 768 --heads 12 --vocab 50257 --context 64 --steps 0 --write 0 \
 *                   --weights gpt2.safetensors --tokens in.npy --logits out.npy
 *
 * Modules and their names are those of the published weights (h.0.attn.c_attn.weight ..), so that a safetensors file of
 * any GPT-2 loads as it is. The output layer is the embedding again. With --dtype bf16 products compute in BF16 and all else in F32
 * (rg_nn_precision); the modules here that multiply ask for it by rg_nn_precision_of.
 * bench/gpt2_train_vs_torch.py holds the losses of training to PyTorch's. */
#include <ridge.h>

#include "bar.h"

#include <math.h>
#include <stdlib.h>

struct gpt {
    rg_ctx *c;
    int layers, heads, width, vocab, context, batch, steps, write, every, checkpoint, limit;
    double lr, temperature;
    long long seed;
    const char *text, *weights, *tokens, *logits, *device, *save, *dtype, *model;
    bool clip, ranks;
    int shard;       /* 0, 1 or 3: ZeRO */
    rg_world *world; /* NULL: alone */
    rg_module *net;
    rg_optim *optim;
    rg_tensor data, pos; /* the text, as numbers; how many tokens there are when writing */
    rg_tensor next;      /* with checkpoints, while training: the tokens to be told */
};

/* ---- the model ---------------------------------------------------------------------------------------------- */

static rg_module *child(rg_module *m, const char *name) { return rg_nn_child(m, name); }

/* x @ weight + bias: the weight is (in, out), as in the published files. */
static rg_tensor affine(rg_module *m, rg_tensor x, void *user) {
    (void)user;
    rg_dtype dt = rg_nn_precision_of(m);
    rg_tensor weight = rg_cast(rg_nn_get(m, "weight"), dt), bias = rg_cast(rg_nn_get(m, "bias"), dt);
    return rg_add(rg_matmul(rg_cast(x, dt), weight), bias);
}

static rg_module *affine_new(rg_ctx *c, int64_t in, int64_t out, double deviation) {
    rg_module *m = rg_nn_module(c, affine, NULL);
    rg_nn_param(m, "weight", rg_normal(c, RG_F32, 0, deviation, RG_SHAPE(in, out)));
    rg_nn_param(m, "bias", rg_zeros(c, RG_F32, RG_SHAPE(out)));
    return m;
}

/* (B, T, width) to (B, heads, T, width / heads). */
static rg_tensor split_heads(rg_tensor x, int64_t at, int heads) {
    int64_t b = rg_dim(x, 0), t = rg_dim(x, 1), w = rg_dim(x, 2) / 3;
    rg_tensor part = rg_narrow(x, 2, at * w, w);
    return rg_transpose(rg_reshape(part, RG_SHAPE(b, t, heads, w / heads)), 1, 2);
}

static rg_tensor attention(rg_module *m, rg_tensor x, void *user) {
    const struct gpt *g = user;
    rg_tensor qkv = rg_nn_forward(child(m, "c_attn"), x);
    rg_tensor q = split_heads(qkv, 0, g->heads), k = split_heads(qkv, 1, g->heads),
              v = split_heads(qkv, 2, g->heads);
    rg_tensor y = rg_transpose(rg_attention(q, k, v, .causal = true), 1, 2);
    return rg_nn_forward(child(m, "c_proj"), rg_flatten(y, 2, 3));
}

static rg_tensor mlp(rg_module *m, rg_tensor x, void *user) {
    (void)user;
    return rg_nn_forward(child(m, "c_proj"), rg_gelu_tanh(rg_nn_forward(child(m, "c_fc"), x)));
}

static rg_tensor block(rg_module *m, rg_tensor x, void *user) {
    (void)user;
    rg_tensor y = rg_add(x, rg_nn_forward(child(m, "attn"), rg_nn_forward(child(m, "ln_1"), x)));
    return rg_add(y, rg_nn_forward(child(m, "mlp"), rg_nn_forward(child(m, "ln_2"), y)));
}

static rg_module *block_new(struct gpt *g) {
    rg_ctx *c = g->c;
    double small = 0.02 / sqrt(2 * g->layers);
    rg_module *m = rg_nn_module(c, block, g), *a = rg_nn_module(c, attention, g),
              *f = rg_nn_module(c, mlp, g);
    rg_nn_add(m, "ln_1", rg_nn_layernorm(c, RG_SHAPE(g->width)));
    rg_nn_add(m, "attn", a);
    rg_nn_add(a, "c_attn", affine_new(c, g->width, 3 * g->width, 0.02));
    rg_nn_add(a, "c_proj", affine_new(c, g->width, g->width, small));
    rg_nn_add(m, "ln_2", rg_nn_layernorm(c, RG_SHAPE(g->width)));
    rg_nn_add(m, "mlp", f);
    rg_nn_add(f, "c_fc", affine_new(c, g->width, 4 * g->width, 0.02));
    rg_nn_add(f, "c_proj", affine_new(c, 4 * g->width, g->width, small));
    return m;
}

enum { PARTS = 4 };

/* The loss of x (B * T, width), whose logits are there for one part at a time, and again for its gradient. */
static rg_tensor loss_in_parts(rg_tensor x, rg_tensor words, rg_tensor next) {
    int64_t all = rg_dim(x, 0), size = (all + PARTS - 1) / PARTS;
    rg_tensor sum = RG_NONE;
    for (int64_t at = 0; at < all; at += size) {
        int64_t n = all - at < size ? all - at : size;
        rg_tensor part = rg_narrow(x, 0, at, n), logits = rg_cast(rg_linear(part, words, RG_NONE), RG_F32);
        rg_tensor loss = rg_cross_entropy(logits, rg_narrow(next, 0, at, n), .reduction = RG_SUM);
        loss = rg_checkpoint(loss, part);
        sum = at ? rg_add(sum, loss) : loss;
    }
    return rg_div(sum, (double)all);
}

/* Tokens (B, T) to logits (B, T, vocab); or, with checkpoints, to the loss. */
static rg_tensor gpt(rg_module *m, rg_tensor tokens, void *user) {
    struct gpt *g = user;
    rg_tensor words = rg_nn_get(m, "wte.weight");
    rg_tensor positions = rg_narrow(rg_nn_get(m, "wpe.weight"), 0, 0, rg_dim(tokens, 1));
    rg_tensor x = rg_add(rg_embedding(tokens, words), positions);
    x = rg_nn_forward(child(m, "h"), x);
    rg_dtype dt = rg_nn_precision_of(m);
    x = rg_cast(rg_nn_forward(child(m, "ln_f"), x), dt), words = rg_cast(words, dt);
    return g->next.id ? loss_in_parts(rg_flatten(x, 0, 1), words, g->next) : rg_linear(x, words, RG_NONE);
}

static rg_module *table(rg_ctx *c, int64_t rows, int64_t width, double deviation) {
    rg_module *m = rg_nn_module(c, NULL, NULL);
    rg_nn_param(m, "weight", rg_normal(c, RG_F32, 0, deviation, RG_SHAPE(rows, width)));
    return m;
}

static rg_module *gpt_new(struct gpt *g) {
    rg_ctx *c = g->c;
    rg_module *m = rg_nn_module(c, gpt, g), *h[256];
    for (int i = 0; i < g->layers; i++) rg_nn_checkpoint(h[i] = block_new(g), g->checkpoint || g->limit);
    rg_limit_temporaries(c, (int64_t)g->limit * 1000000);
    rg_nn_add(m, "wte", table(c, g->vocab, g->width, 0.02));
    rg_nn_add(m, "wpe", table(c, g->context, g->width, 0.01));
    rg_nn_add(m, "h", rg_nn_sequential(c, (rg_modules){h, (size_t)g->layers}));
    rg_nn_add(m, "ln_f", rg_nn_layernorm(c, RG_SHAPE(g->width)));
    return m;
}

/* ---- training ------------------------------------------------------------------------------------------------- */

enum { MOST = 1 << 24 }; /* bytes of text, or tokens */

/* Tokens without a text: the same on every machine, small ones more often than great ones. */
static rg_tensor synthetic(rg_ctx *c, uint32_t vocab) {
    static uint16_t token[1 << 20];
    uint32_t state = 1;
    if (vocab > 50257) vocab = 50257; /* what is more pads the table */
    for (size_t i = 0; i < sizeof token / sizeof *token; i++) {
        state = state * 1664525u + 1013904223u;
        uint64_t r = state >> 16;
        token[i] = (uint16_t)(r * r * r / 65536 * vocab >> 32);
    }
    return rg_from(c, RG_U16, token, RG_SHAPE((int64_t)(sizeof token / sizeof *token)));
}

/* A text is read byte by byte; a file whose name ends in .bin holds tokens of 16 bits, the lower byte first. */
static rg_tensor read_text(struct gpt *g) {
    size_t len = strlen(g->text), wide = len > 4 && !strcmp(g->text + len - 4, ".bin") ? 2 : 1;
    static uint16_t room[MOST];
    if (!strcmp(g->text, "synthetic")) return synthetic(g->c, (uint32_t)g->vocab);
    FILE *f = fopen(g->text, "rb");
    size_t n = f ? fread(room, wide, MOST, f) : 0, most = 0;
    if (f) fclose(f);
    for (size_t i = 0; i < n; i++) {
        size_t v = wide == 2 ? room[i] : ((const unsigned char *)room)[i];
        most = v > most ? v : most;
    }
    if ((int64_t)n < g->context + 2 || (int64_t)most >= g->vocab) {
        fprintf(stderr, "gpt2: %s: ", g->text);
        if (f && n >= (size_t)g->context + 2)
            fprintf(stderr, "token %zu, and the model has %d (--vocab)\n", most, g->vocab);
        else
            fprintf(stderr, f ? "%zu tokens; %d are needed at least\n" : "cannot be read\n", n,
                    g->context + 2);
        return RG_NONE;
    }
    return rg_from(g->c, wide == 2 ? RG_U16 : RG_U8, room, RG_SHAPE((int64_t)n));
}

/* in: where in the text each piece of the batch begins; each token is to be told from those before it. */
static rg_status step(void *user, const rg_tensor *in, rg_tensor *out) {
    struct gpt *g = user;
    int64_t share = g->batch / rg_world_size(g->world); /* all ranks know the same batch */
    rg_tensor from = rg_narrow(in[0], 0, rg_world_rank(g->world) * share, share);
    rg_tensor at = rg_add(from, rg_arange(g->c, RG_I64, 0, g->context + 1, 1));
    rg_tensor text = rg_contiguous(rg_cast(rg_take(g->data, 0, at), RG_I64));
    rg_tensor next = rg_flatten(rg_narrow(text, 1, 1, g->context), 0, 1);
    if (g->checkpoint || g->limit) g->next = next;
    rg_tensor y = rg_nn_forward(g->net, rg_narrow(text, 1, 0, g->context));
    out[0] = g->next.id ? y : rg_cross_entropy(rg_flatten(y, 0, 1), next);
    g->next = RG_NONE;
    rg_backward(out[0]);
    if (g->world) {
        rg_nn_reduce_grads(g->net);
        out[0] = rg_all_reduce(rg_detach(out[0]), g->world, RG_COMBINE_MEAN);
    }
    if (g->clip) rg_clip_grad_norm(rg_nn_params(g->net), 1);
    return rg_optim_step(g->optim);
}

/* Offsets of the sequences of a step: scattered over the text by a linear congruence, so that other programs can use the same. */
static rg_tensor offsets(struct gpt *g, int step) {
    int64_t at[4096], room = rg_size(g->data) - g->context;
    uint32_t state = (uint32_t)(g->seed * 9781 + step);
    for (int i = 0; i < g->batch; i++) {
        state = state * 1664525u + 1013904223u;
        at[i] = (int64_t)((uint64_t)state * (uint64_t)room >> 32);
    }
    return rg_from(g->c, RG_I64, at, RG_SHAPE(g->batch, 1));
}

/* FLOPs of the GEMMs: 2 per weight and token, 6 with the gradient; causal attention computes half of the pairs. */
static double step_ops(const struct gpt *g, double weights) {
    double tokens = (double)g->batch * g->context, pairs = tokens * (g->context + 1) / 2;
    return 6 * tokens * (weights - (double)g->context * g->width) + 12 * pairs * g->width * g->layers;
}

/* False: there is nothing to learn from. */
static bool train(struct gpt *g, double weights) {
    rg_ctx *c = g->c;
    g->data = read_text(g);
    if (!g->data.id) return false;
    g->optim = rg_adamw(rg_nn_params(g->net), .lr = g->lr);
    rg_jit *j = rg_jit_new(c, step, g, 1);
    rg_machine m = {0};
    rg_memory mem = {0};
    rg_machine_of(c, &m);
    double peak = strcmp(g->dtype, "f32") && m.half ? m.half : m.flops, ops = step_ops(g, weights);
    double began = now(), best = 0;
    for (int i = 1; i <= g->steps; i++) {
        RG_SCOPE(c);
        rg_tensor loss;
        double t0 = now();
        rg_optim_set_lr(g->optim, i < 20 ? rg_lr_warmup(g->lr, i - 1, 20)
                                         : rg_lr_cosine(g->lr, i, g->steps, g->lr / 10));
        if (rg_jit_call(j, RG_TENSORS(offsets(g, i)), &loss)) return true;
        double l = rg_item(loss), s = now() - t0;
        best = best == 0 || s < best ? s : best;
        char line[160];
        snprintf(line, sizeof line, "loss %7.5f  %7.1f ms  %7.0f tokens/s  %5.1f TFLOPS  %2.0f %% of peak", l,
                 s * 1e3, g->batch * g->context / s, ops / s * 1e-12, peak > 0 ? 100 * ops / s / peak : 0);
        if (!g->every)
            bar(i, g->steps, "%s", line);
        else if (i % g->every == 0 || i == g->steps)
            printf("%3d/%d  %s\n", i, g->steps, line);
    }
    rg_jit_stats s;
    if (rg_memory_of(c, &mem) || rg_jit_info(j, &s)) return true;
    printf("trained in %.1f s, best step %.2f ms", now() - began, best * 1e3);
    if (s.kernels)
        printf("; a step is %llu kernels, %.2f TFLOP, %.2f GB moved", (unsigned long long)s.kernels,
               s.ops * 1e-12, s.bytes * 1e-9);
    printf("; memory %.2f GB at most\n", (double)mem.peak * 1e-9);
    rg_jit_free(j);
    return true;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* in: the last `context` tokens and how many of them there are; out: the next one. */
static rg_status next(void *user, const rg_tensor *in, rg_tensor *out) {
    struct gpt *g = user;
    rg_tensor logits = rg_nn_forward(g->net, in[0]);
    rg_tensor last = rg_select(rg_slice(logits, RG_SLICES(RG_WHOLE, RG_WINDOW(g->pos, 1))), 1, 0);
    out[0] = rg_multinomial(rg_softmax(rg_div(last, g->temperature), 1), 1, true);
    return RG_OK;
}

static void write_text(struct gpt *g) {
    rg_ctx *c = g->c;
    int64_t *tokens = calloc((size_t)(g->context + g->write + 1), sizeof *tokens), n = 1;
    tokens[0] = '\n';
    g->pos = rg_index(c, 0, g->context - 1, 0);
    rg_nn_train(g->net, false);
    rg_jit *j = rg_jit_new(c, next, g, 1);
    double t0 = now();
    for (int i = 0; i < g->write; i++, n++) {
        RG_SCOPE(c);
        rg_tensor out;
        int64_t from = n > g->context ? n - g->context : 0, token = 0;
        rg_set_scalar(g->pos, (double)(n - from - 1));
        rg_tensor in = rg_from(c, RG_I64, tokens + from, RG_SHAPE(1, g->context));
        if (rg_jit_call(j, RG_TENSORS(in), &out) || rg_read(out, &token, sizeof token)) break;
        tokens[n] = token;
        if (g->vocab <= 256)
            putchar((int)token);
        else
            printf("%lld ", (long long)token);
        fflush(stdout);
    }
    if (!rg_status_of(c)) printf("\n(%d tokens, %.0f a second)\n", g->write, g->write / (now() - t0));
    free(tokens);
}

/* ---- the command line ------------------------------------------------------------------------------------------------ */

static int usage(int status) {
    fprintf(status ? stderr : stdout,
            "usage: gpt2 [options]\n"
            "  --layers N  --heads N  --width N  --vocab N  --context N    the model (2, 4, 128, 256, 64); "
            "--seq is --context\n"
            "  --model 124M    those of GPT-2 124M: 12, 12, 768, 50304, 1024; sizes after it change it\n"
            "  --text FILE     what it learns, byte by byte (docs/tensors.md); NAME.bin: tokens of 16 bits; "
            "synthetic: made up\n"
            "  --steps N  --batch N  --lr X   training (300, 16, 0.002); 0 steps: none\n"
            "  --every N       a line every N steps instead of a bar\n"
            "  --checkpoint N  1: activations within a block are computed again for the gradient (0)\n"
            "  --limit MB      that temporaries may take: as many blocks are checkpointed as that needs\n"
            "  --clip N        1: gradients are scaled to a norm of at most 1 (1); 0: as they are\n"
            "  --dtype D       f32, or bf16: products in BF16, weights and the optimiser in F32 (f32)\n"
            "  --write N       bytes to write afterwards (300)   --temperature X  (0.8)\n"
            "  --weights FILE  safetensors to begin with          --save FILE  where to put them afterwards\n"
            "  --tokens FILE   npy of integers (B, T): its logits are computed  --logits FILE  and saved "
            "there, npy\n"
            "  --world         one rank of several (ridge run, mpirun, srun), which share each batch\n"
            "  --shard N       with --world: 1: ZeRO 1, 3: ZeRO 3 (0)\n"
            "  --device D  --seed N\n");
    return status;
}

static int parse(int argc, char **argv, struct gpt *g) {
    int clip = g->clip;
    struct {
        const char *name;
        int *i;
        double *f;
        const char **s;
    } option[] = {{"--layers", .i = &g->layers},   {"--heads", .i = &g->heads},
                  {"--width", .i = &g->width},     {"--vocab", .i = &g->vocab},
                  {"--context", .i = &g->context}, {"--batch", .i = &g->batch},
                  {"--steps", .i = &g->steps},     {"--write", .i = &g->write},
                  {"--lr", .f = &g->lr},           {"--temperature", .f = &g->temperature},
                  {"--text", .s = &g->text},       {"--weights", .s = &g->weights},
                  {"--tokens", .s = &g->tokens},   {"--logits", .s = &g->logits},
                  {"--device", .s = &g->device},   {"--save", .s = &g->save},
                  {"--seq", .i = &g->context},     {"--dtype", .s = &g->dtype},
                  {"--model", .s = &g->model},     {"--clip", .i = &clip},
                  {"--every", .i = &g->every},     {"--checkpoint", .i = &g->checkpoint},
                  {"--limit", .i = &g->limit},     {"--shard", .i = &g->shard}};
    for (int i = 1; i < argc; i += 2) {
        size_t o = 0, n = sizeof option / sizeof *option;
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) return usage(0) - 1;
        if (!strcmp(argv[i], "--world")) {
            g->ranks = true, i--;
            continue;
        }
        if (i + 1 < argc && !strcmp(argv[i], "--seed")) {
            g->seed = atoll(argv[i + 1]);
            continue;
        }
        while (o < n && strcmp(argv[i], option[o].name)) o++;
        if (o == n || i + 1 == argc)
            return fprintf(stderr, "gpt2: %s: not an option, or without a value\n", argv[i]), usage(2);
        if (option[o].i) *option[o].i = atoi(argv[i + 1]);
        if (option[o].f) *option[o].f = atof(argv[i + 1]);
        if (option[o].s) *option[o].s = argv[i + 1];
        if (option[o].s == &g->model && !strcmp(g->model, "124M"))
            g->layers = g->heads = 12, g->width = 768, g->vocab = 50304, g->context = 1024;
    }
    g->clip = clip;
    if (strcmp(g->dtype, "f32") && strcmp(g->dtype, "bf16"))
        return fprintf(stderr, "gpt2: --dtype %s: f32 or bf16\n", g->dtype), 2;
    if (g->model && strcmp(g->model, "124M")) return fprintf(stderr, "gpt2: --model %s: 124M\n", g->model), 2;
    if (g->shard != 0 && g->shard != 1 && g->shard != 3)
        return fprintf(stderr, "gpt2: --shard %d: 0, 1 or 3\n", g->shard), 2;
    bool fits = g->layers >= 1 && g->layers <= 256 && g->heads >= 1 && g->width >= 1 &&
                g->width % g->heads == 0 && g->vocab >= 1 && g->vocab <= 65536 && g->context >= 1 &&
                g->batch >= 1 && g->batch <= 4096;
    return fits ? 0
                : (fprintf(stderr, "gpt2: sizes are 1 or more (layers up to 256, batch 4096, vocab 65536), "
                                   "and heads divide the "
                                   "width\n"),
                   2);
}

/* One rank of several; all draw the same weights and texts, and rank 0 speaks. */
static bool join(struct gpt *g) {
    if (!g->ranks) return true;
    g->world = rg_world_open(g->c);
    if (g->world)
        rg_nn_data_parallel(g->net, g->world,
                            .shard = g->shard == 3   ? RG_SHARD_PARAMETERS
                                     : g->shard == 1 ? RG_SHARD_OPTIMISER
                                                     : RG_SHARD_NONE);
    if (rg_status_of(g->c)) return fprintf(stderr, "%s\n", rg_error(g->c)), false;
    if (g->batch % rg_world_size(g->world))
        return fprintf(stderr, "gpt2: %lld ranks do not divide a batch of %d\n",
                       (long long)rg_world_size(g->world), g->batch),
               false;
    return !rg_world_rank(g->world) || freopen("/dev/null", "w", stdout);
}

int main(int argc, char **argv) {
    struct gpt g = {.layers = 2,
                    .heads = 4,
                    .width = 128,
                    .vocab = 256,
                    .context = 64,
                    .batch = 16,
                    .steps = 300,
                    .write = 300,
                    .lr = 2e-3,
                    .temperature = 0.8,
                    .seed = 1,
                    .text = "docs/tensors.md",
                    .dtype = "f32",
                    .clip = true};
    int stop = parse(argc, argv, &g);
    if (stop) return stop < 0 ? 0 : stop;
    rg_ctx *c = g.c = rg_open(g.device);
    rg_seed(c, (uint64_t)g.seed);
    g.net = gpt_new(&g);
    if (!strcmp(g.dtype, "bf16")) rg_nn_precision(g.net, RG_BF16);
    if (g.weights) rg_nn_load(g.net, g.weights, true);
    int64_t n = 0;
    rg_tensors p = rg_nn_params(g.net);
    for (size_t i = 0; i < p.n; i++) n += rg_size(p.t[i]);
    if (!join(&g)) return rg_close(c), 1;
    if (!rg_status_of(c))
        printf("GPT-2, %d layers, %.1f million parameters, device %s\n", g.layers, (double)n * 1e-6,
               rg_device(c));
    if (g.tokens && g.logits)
        rg_save_npy(rg_nn_forward(g.net, rg_cast(rg_load_npy(c, g.tokens), RG_I64)), g.logits);
    if (g.steps && !train(&g, (double)n)) return rg_close(c), 1;
    if (g.save) g.world ? rg_nn_save_sharded(g.net, g.optim, g.world, g.save) : rg_nn_save(g.net, g.save);
    if (g.write && !rg_status_of(c)) write_text(&g);
    if (rg_status_of(c)) fprintf(stderr, "%s\n", rg_error(c));
    return rg_close(c) != RG_OK;
}
