/* gpt2.c: GPT-2: trains on the bytes of a text and writes one; or runs weights from a file.
 *
 *     build/examples/gpt2                                      a model of 2 layers learns docs/tensors.md, then writes
 *     build/examples/gpt2 --layers 12 --width 768 --heads 12 --vocab 50257 --context 64 --steps 0 --write 0 \
 *                   --weights gpt2.safetensors --tokens in.npy --logits out.npy
 *
 * Modules and their names are those of the published weights (h.0.attn.c_attn.weight ..), so that a safetensors file of
 * any GPT-2 loads as it is. The output layer is the embedding again. */
#include <ridge.h>

#include "bar.h"

#include <math.h>
#include <stdlib.h>

struct gpt {
    rg_ctx *c;
    int layers, heads, width, vocab, context, batch, steps, write;
    double lr, temperature;
    long long seed;
    const char *text, *weights, *tokens, *logits, *device, *save;
    rg_module *net;
    rg_optim *optim;
    rg_tensor data, pos; /* the text, as numbers; how many tokens there are when writing */
};

/* ---- the model ---------------------------------------------------------------------------------------------- */

static rg_module *child(rg_module *m, const char *name) { return rg_nn_child(m, name); }

/* x @ weight + bias: the weight is (in, out), as in the published files. */
static rg_tensor affine(rg_module *m, rg_tensor x, void *user) {
    (void)user;
    return rg_add(rg_matmul(x, rg_nn_get(m, "weight")), rg_nn_get(m, "bias"));
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

/* Tokens (B, T) to logits (B, T, vocab). */
static rg_tensor gpt(rg_module *m, rg_tensor tokens, void *user) {
    (void)user;
    rg_tensor words = rg_nn_get(m, "wte.weight");
    rg_tensor places = rg_narrow(rg_nn_get(m, "wpe.weight"), 0, 0, rg_dim(tokens, 1));
    rg_tensor x = rg_add(rg_embedding(tokens, words), places);
    x = rg_nn_forward(child(m, "h"), x);
    return rg_linear(rg_nn_forward(child(m, "ln_f"), x), words, RG_NONE);
}

static rg_module *table(rg_ctx *c, int64_t rows, int64_t width, double deviation) {
    rg_module *m = rg_nn_module(c, NULL, NULL);
    rg_nn_param(m, "weight", rg_normal(c, RG_F32, 0, deviation, RG_SHAPE(rows, width)));
    return m;
}

static rg_module *gpt_new(struct gpt *g) {
    rg_ctx *c = g->c;
    rg_module *m = rg_nn_module(c, gpt, g), *h[256];
    for (int i = 0; i < g->layers; i++) h[i] = block_new(g);
    rg_nn_add(m, "wte", table(c, g->vocab, g->width, 0.02));
    rg_nn_add(m, "wpe", table(c, g->context, g->width, 0.01));
    rg_nn_add(m, "h", rg_nn_sequential(c, (rg_modules){h, (size_t)g->layers}));
    rg_nn_add(m, "ln_f", rg_nn_layernorm(c, RG_SHAPE(g->width)));
    return m;
}

/* ---- training ------------------------------------------------------------------------------------------------- */

static rg_tensor read_text(rg_ctx *c, const char *path, int64_t least) {
    FILE *f = fopen(path, "rb");
    static char bytes[1 << 24];
    size_t n = f ? fread(bytes, 1, sizeof bytes, f) : 0;
    if (f) fclose(f);
    if ((int64_t)n < least) {
        fprintf(stderr, "gpt2: %s: %s\n", path, f ? "shorter than a batch needs" : "cannot be read");
        return RG_NONE;
    }
    return rg_from(c, RG_U8, bytes, RG_SHAPE((int64_t)n));
}

/* Pieces of the text from random places: each token is to be told from those before it. */
static rg_status step(void *user, const rg_tensor *in, rg_tensor *out) {
    struct gpt *g = user;
    (void)in;
    rg_tensor from = rg_randint(g->c, RG_I64, 0, rg_size(g->data) - g->context, RG_SHAPE(g->batch, 1));
    rg_tensor at = rg_add(from, rg_arange(g->c, RG_I64, 0, g->context + 1, 1));
    rg_tensor text = rg_cast(rg_take(g->data, 0, at), RG_I64);
    rg_tensor logits = rg_nn_forward(g->net, rg_narrow(text, 1, 0, g->context));
    rg_tensor next = rg_narrow(text, 1, 1, g->context);
    out[0] = rg_cross_entropy(rg_flatten(logits, 0, 1), rg_flatten(next, 0, 1));
    rg_backward(out[0]);
    rg_clip_grad_norm(rg_nn_params(g->net), 1);
    return rg_optim_step(g->optim);
}

static void train(struct gpt *g) {
    rg_ctx *c = g->c;
    g->data = read_text(c, g->text, g->context + 2);
    if (!g->data.id || !g->steps) return;
    g->optim = rg_adamw(rg_nn_params(g->net), .lr = g->lr);
    rg_jit *j = rg_jit_new(c, step, g, 1);
    double began = now();
    for (int i = 1; i <= g->steps; i++) {
        RG_SCOPE(c);
        rg_tensor loss;
        double t0 = now();
        rg_optim_set_lr(g->optim, i < 20 ? rg_lr_warmup(g->lr, i - 1, 20)
                                         : rg_lr_cosine(g->lr, i, g->steps, g->lr / 10));
        if (rg_jit_call(j, (rg_tensors){0}, &loss)) return;
        double l = rg_item(loss), s = now() - t0;
        bar(i, g->steps, "loss %6.4f  %6.0f tokens/s  %5.1f s", l, g->batch * g->context / s, now() - began);
    }
    rg_jit_free(j);
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
            "  --layers N  --heads N  --width N  --vocab N  --context N    the model (2, 4, 128, 256, 64)\n"
            "  --text FILE     what it learns, byte by byte (docs/tensors.md)\n"
            "  --steps N  --batch N  --lr X   training (300, 16, 0.002); 0 steps: none\n"
            "  --write N       bytes to write afterwards (300)   --temperature X  (0.8)\n"
            "  --weights FILE  safetensors to begin with          --save FILE  where to put them afterwards\n"
            "  --tokens FILE   npy of integers (B, T): its logits are computed  --logits FILE  and saved "
            "there, npy\n"
            "  --device D  --seed N\n");
    return status;
}

static int parse(int argc, char **argv, struct gpt *g) {
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
                  {"--device", .s = &g->device},   {"--save", .s = &g->save}};
    for (int i = 1; i < argc; i += 2) {
        size_t o = 0, n = sizeof option / sizeof *option;
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) return usage(0) - 1;
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
    }
    bool fits = g->layers >= 1 && g->layers <= 256 && g->heads >= 1 && g->width >= 1 &&
                g->width % g->heads == 0 && g->vocab >= 1 && g->context >= 1 && g->batch >= 1;
    return fits ? 0
                : (fprintf(stderr,
                           "gpt2: sizes are 1 or more (layers up to 256), and heads divide the width\n"),
                   2);
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
                    .text = "docs/tensors.md"};
    int stop = parse(argc, argv, &g);
    if (stop) return stop < 0 ? 0 : stop;
    rg_ctx *c = g.c = rg_open(g.device);
    rg_seed(c, (uint64_t)g.seed);
    g.net = gpt_new(&g);
    if (g.weights) rg_nn_load(g.net, g.weights, true);
    int64_t n = 0;
    rg_tensors p = rg_nn_params(g.net);
    for (size_t i = 0; i < p.n; i++) n += rg_size(p.t[i]);
    if (!rg_status_of(c))
        printf("GPT-2, %d layers, %.1f million parameters, device %s\n", g.layers, (double)n * 1e-6,
               rg_device(c));
    if (g.tokens && g.logits)
        rg_save_npy(rg_nn_forward(g.net, rg_cast(rg_load_npy(c, g.tokens), RG_I64)), g.logits);
    if (g.steps) train(&g);
    if (g.save) rg_nn_save(g.net, g.save);
    if (g.write && !rg_status_of(c)) write_text(&g);
    if (rg_status_of(c)) fprintf(stderr, "%s\n", rg_error(c));
    return rg_close(c) != RG_OK;
}
