/* llama.c: a Llama learns the bytes of a text and writes one: RMSNorm, rotary positions, grouped queries, SwiGLU.
 *
 *     build/examples/llama                                     2 layers learn docs/tensors.md, then write
 *     build/examples/llama --layers 12 --width 768 --heads 12 --kv-heads 4 --context 1024 --dtype bf16 --device CUDA
 *
 * Modules and their names are those of the published weights (model.layers.0.self_attn.q_proj.weight ..). Training and writing
 * run the same modules. When it writes, one token at a time goes in: its keys and values are stored into a cache by
 * rg_assign_slice at an rg_index, and attention reads the cache; the step is recorded once (rg_jit) and keeps no history
 * (RG_NO_GRAD). */
#include <ridge.h>

#include "bar.h"
#include "flags.h"

struct llama {
    rg_ctx *c;
    int layers, heads, kv_heads, width, context, batch, steps, write, seed, checkpoint;
    double lr, temperature;
    const char *text, *device, *dtype;
    rg_module *net;
    rg_optim *optim;
    rg_tensor data;     /* U8: the text */
    rg_tensor cos, sin; /* (context, head size / 2) */
    rg_tensor pos;      /* an rg_index: the token that is written; none while training */
};

/* ---- the model ---------------------------------------------------------------------------------------------- */

static rg_tensor through(rg_module *m, const char *name, rg_tensor x) {
    return rg_nn_forward(rg_nn_child(m, name), x);
}

/* Rotary positions: pairs (i, i + D/2) of x (B, H, T, D) turn by an angle that grows with the position. */
static rg_tensor rotate(const struct llama *g, rg_tensor x) {
    int64_t half = rg_dim(x, 3) / 2;
    rg_range at = g->pos.id ? RG_WINDOW(g->pos, 1) : RG_RANGE(0, rg_dim(x, 2));
    rg_tensor cos = rg_cast(rg_slice(g->cos, RG_SLICES(at)), rg_dtype_of(x));
    rg_tensor sin = rg_cast(rg_slice(g->sin, RG_SLICES(at)), rg_dtype_of(x));
    rg_tensor a = rg_narrow(x, 3, 0, half), b = rg_narrow(x, 3, half, half);
    return rg_cat(RG_TENSORS(rg_sub(rg_mul(a, cos), rg_mul(b, sin)), rg_add(rg_mul(b, cos), rg_mul(a, sin))),
                  3);
}

static void angles(struct llama *g) {
    int64_t half = g->width / g->heads / 2;
    rg_tensor power = rg_div(rg_arange(g->c, RG_F32, 0, (double)half, 1), (double)-half);
    rg_tensor rate = rg_pow(rg_full(g->c, RG_F32, 10000, RG_SHAPE(1)), power);
    rg_tensor at = rg_reshape(rg_arange(g->c, RG_F32, 0, g->context, 1), RG_SHAPE(g->context, 1));
    rg_tensor angle = rg_mul(at, rate);
    g->cos = rg_cos(angle), g->sin = rg_sin(angle);
    rg_realize_all(RG_TENSORS(g->cos, g->sin));
}

static rg_tensor heads_of(rg_tensor x, int64_t heads) { /* (B, T, heads * D) to (B, heads, T, D) */
    return rg_transpose(rg_reshape(x, RG_SHAPE(rg_dim(x, 0), rg_dim(x, 1), heads, rg_dim(x, 2) / heads)), 1,
                        2);
}

/* Stores x (1, H, 1, D) at its position and returns the cache. */
static rg_tensor cached(const struct llama *g, rg_module *m, const char *name, rg_tensor x) {
    rg_tensor cache = rg_nn_get(m, name);
    rg_assign_slice(cache, x, RG_SLICES(RG_WHOLE, RG_WHOLE, RG_WINDOW(g->pos, 1)));
    return cache;
}

static rg_tensor attention(rg_module *m, rg_tensor x, void *user) {
    const struct llama *g = user;
    rg_tensor q = rotate(g, heads_of(through(m, "q_proj", x), g->heads)), seen = RG_NONE;
    rg_tensor k = rotate(g, heads_of(through(m, "k_proj", x), g->kv_heads));
    rg_tensor v = heads_of(through(m, "v_proj", x), g->kv_heads);
    if (g->pos.id) {
        k = cached(g, m, "keys", k), v = cached(g, m, "values", v);
        seen = rg_le(rg_arange(g->c, RG_I64, 0, g->context, 1), g->pos);
    }
    rg_tensor y = rg_attention(q, k, v, .causal = !g->pos.id, .mask = seen);
    return through(m, "o_proj", rg_flatten(rg_transpose(y, 1, 2), 2, 3));
}

static rg_tensor mlp(rg_module *m, rg_tensor x, void *user) {
    (void)user;
    return through(m, "down_proj", rg_mul(rg_silu(through(m, "gate_proj", x)), through(m, "up_proj", x)));
}

static rg_tensor block(rg_module *m, rg_tensor x, void *user) {
    (void)user;
    rg_tensor y = rg_add(x, through(m, "self_attn", through(m, "input_layernorm", x)));
    return rg_add(y, through(m, "mlp", through(m, "post_attention_layernorm", y)));
}

static void linear(rg_module *m, const char *name, int64_t in, int64_t out) {
    rg_module *l = rg_nn_linear(rg_nn_ctx(m), in, out, .no_bias = true);
    rg_nn_add(m, name, l);
    rg_assign(rg_nn_get(l, "weight"), rg_normal(rg_nn_ctx(m), RG_F32, 0, 0.02, RG_SHAPE(out, in)));
}

static rg_module *block_new(struct llama *g) {
    rg_ctx *c = g->c;
    int64_t w = g->width, size = w / g->heads, hidden = (w * 8 / 3 + 31) / 32 * 32;
    rg_module *m = rg_nn_module(c, block, g), *a = rg_nn_module(c, attention, g),
              *f = rg_nn_module(c, mlp, g);
    rg_nn_add(m, "input_layernorm", rg_nn_rmsnorm(c, w)), rg_nn_add(m, "self_attn", a);
    rg_nn_add(m, "post_attention_layernorm", rg_nn_rmsnorm(c, w)), rg_nn_add(m, "mlp", f);
    linear(a, "q_proj", w, w), linear(a, "o_proj", w, w);
    linear(a, "k_proj", w, size * g->kv_heads), linear(a, "v_proj", w, size * g->kv_heads);
    linear(f, "gate_proj", w, hidden), linear(f, "up_proj", w, hidden), linear(f, "down_proj", hidden, w);
    return m;
}

/* The caches are made when they are needed, of the type that attention computes in. */
static void make_caches(struct llama *g) {
    for (int i = 0; i < g->layers; i++) {
        char path[60];
        snprintf(path, sizeof path, "model.layers.%d.self_attn", i);
        rg_module *a = rg_nn_child(g->net, path);
        rg_ints shape = RG_SHAPE(1, g->kv_heads, g->context, g->width / g->heads);
        rg_nn_state(a, "keys", rg_zeros(g->c, rg_nn_precision_of(a), shape));
        rg_nn_state(a, "values", rg_zeros(g->c, rg_nn_precision_of(a), shape));
    }
}

/* Tokens (B, T) to logits (B, T, 256). */
static rg_tensor model(rg_module *m, rg_tensor tokens, void *user) {
    (void)user;
    rg_tensor x = through(m, "model.layers", through(m, "model.embed_tokens", tokens));
    return through(m, "lm_head", through(m, "model.norm", x));
}

static rg_module *llama_new(struct llama *g) {
    rg_ctx *c = g->c;
    rg_module *m = rg_nn_module(c, model, g), *inner = rg_nn_module(c, NULL, NULL), *h[64];
    for (int i = 0; i < g->layers; i++) rg_nn_checkpoint(h[i] = block_new(g), g->checkpoint);
    rg_nn_add(m, "model", inner);
    rg_nn_add(inner, "embed_tokens", rg_nn_embedding(c, 256, g->width));
    rg_assign(rg_nn_get(m, "model.embed_tokens.weight"),
              rg_normal(c, RG_F32, 0, 0.02, RG_SHAPE(256, g->width)));
    rg_nn_add(inner, "layers", rg_nn_sequential(c, (rg_modules){h, (size_t)g->layers}));
    rg_nn_add(inner, "norm", rg_nn_rmsnorm(c, g->width));
    linear(m, "lm_head", g->width, 256);
    angles(g);
    return m;
}

/* ---- training ------------------------------------------------------------------------------------------------- */

/* Draws pieces of the text; each byte is to be told from those before it. */
static rg_status step(void *user, const rg_tensor *in, rg_tensor *out) {
    struct llama *g = user;
    (void)in;
    rg_tensor from = rg_randint(g->c, RG_I64, 0, rg_size(g->data) - g->context, RG_SHAPE(g->batch, 1));
    rg_tensor at = rg_add(from, rg_arange(g->c, RG_I64, 0, g->context + 1, 1));
    rg_tensor text = rg_contiguous(rg_cast(rg_take(g->data, 0, at), RG_I64));
    rg_tensor logits = rg_nn_forward(g->net, rg_narrow(text, 1, 0, g->context));
    out[0] = rg_cross_entropy(rg_flatten(logits, 0, 1), rg_flatten(rg_narrow(text, 1, 1, g->context), 0, 1));
    rg_backward(out[0]);
    rg_clip_grad_norm(rg_nn_params(g->net), 1);
    return rg_optim_step(g->optim);
}

static void train(struct llama *g) {
    rg_ctx *c = g->c;
    g->optim = rg_adamw(rg_nn_params(g->net), .lr = g->lr);
    rg_jit *j = rg_jit_new(c, step, g, 1);
    double began = now();
    for (int i = 1; i <= g->steps; i++) {
        RG_SCOPE(c);
        rg_tensor loss;
        double t0 = now(), lr = rg_lr_cosine(g->lr, i, g->steps, g->lr / 10);
        rg_optim_set_lr(g->optim, i < 20 ? rg_lr_warmup(g->lr, i - 1, 20) : lr);
        if (rg_jit_call(j, RG_TENSORS(), &loss)) return;
        double l = rg_item(loss), s = now() - t0;
        bar(i, g->steps, "loss %.4f  %.1f ms  %.0f tokens/s", l, s * 1e3, g->batch * g->context / s);
    }
    rg_memory mem = {0};
    rg_memory_of(c, &mem);
    printf("trained in %.1f s, memory %.2f GB at most\n", now() - began, (double)mem.peak * 1e-9);
}

/* ---- writing ---------------------------------------------------------------------------------------------------- */

/* in: a token (1, 1); out: the one after it. */
static rg_status next(void *user, const rg_tensor *in, rg_tensor *out) {
    struct llama *g = user;
    rg_tensor logits = rg_cast(rg_nn_forward(g->net, in[0]), RG_F32);
    out[0] = rg_multinomial(rg_softmax(rg_div(rg_select(logits, 1, 0), g->temperature), 1), 1, true);
    return RG_OK;
}

static void write_text(struct llama *g) {
    rg_ctx *c = g->c;
    RG_NO_GRAD(c);
    rg_nn_train(g->net, false);
    make_caches(g);
    g->pos = rg_index(c, 0, g->context - 1, 0);
    rg_jit *j = rg_jit_new(c, next, g, 1);
    int64_t token = '\n';
    int n = g->write < g->context ? g->write : g->context;
    double t0 = now();
    for (int i = 0; i < n; i++) {
        RG_SCOPE(c);
        rg_tensor out;
        rg_set_scalar(g->pos, i);
        rg_jit_call(j, RG_TENSORS(rg_from(c, RG_I64, &token, RG_SHAPE(1, 1))), &out);
        if (rg_read(out, &token, sizeof token)) return;
        putchar((int)token), fflush(stdout);
    }
    printf("\n(%d tokens, %.0f a second)\n", n, n / (now() - t0));
}

static rg_tensor read_text(struct llama *g) {
    static unsigned char room[1 << 24];
    FILE *f = fopen(g->text, "rb");
    size_t n = f ? fread(room, 1, sizeof room, f) : 0;
    if (f) fclose(f);
    if (n > (size_t)g->context + 1) return rg_from(g->c, RG_U8, room, RG_SHAPE((int64_t)n));
    fprintf(stderr, f ? "llama: %s: %zu bytes; %d are needed at least\n" : "llama: %s: cannot be read\n",
            g->text, n, g->context + 2);
    return RG_NONE;
}

int main(int argc, char **argv) {
    /* clang-format off */
    struct llama g = {.layers = 2, .width = 128, .heads = 4, .kv_heads = 2, .context = 128, .batch = 16, .steps = 300,
                      .write = 128, .lr = 3e-3, .temperature = 0.8, .seed = 1, .text = "docs/tensors.md", .dtype = "f32"};
    const struct flag flag[] = {
        {"layers", .i = &g.layers, .help = "of the model"},     {"width", .i = &g.width, .help = "of the model"},
        {"heads", .i = &g.heads, .help = "of queries"},         {"kv-heads", .i = &g.kv_heads, .help = "of keys and values"},
        {"context", .i = &g.context, .help = "bytes it sees"},  {"text", .s = &g.text, .help = "file it learns"},
        {"steps", .i = &g.steps, .help = "of training"},        {"batch", .i = &g.batch, .help = "pieces of text a step"},
        {"lr", .f = &g.lr, .help = "learning rate"},            {"dtype", .s = &g.dtype, .help = "of products: f32 or bf16"},
        {"checkpoint", .i = &g.checkpoint, .help = "1: keep no activations within a block"},
        {"write", .i = &g.write, .help = "bytes written, up to the context"}, {"temperature", .f = &g.temperature, .help = "of them"},
        {"seed", .i = &g.seed, .help = "of random numbers"},    {"device", .s = &g.device, .help = "CPU, CUDA or OPENCL"}};
    /* clang-format on */
    int done = flags_read(argc, argv, "llama", flag, sizeof flag / sizeof *flag);
    if (done >= 0) return done;
    bool sizes = g.layers > 0 && g.layers <= 64 && g.heads > 0 && g.kv_heads > 0 && g.context > 0 &&
                 g.batch > 0 && g.width > 0 && g.width % (2 * g.heads) == 0 && g.heads % g.kv_heads == 0;
    if (!sizes)
        return fprintf(stderr, "llama: 2 * heads must divide width, and kv-heads heads; layers <= 64\n"), 2;
    rg_ctx *c = g.c = rg_open(g.device);
    rg_seed(c, (uint64_t)g.seed);
    g.net = llama_new(&g);
    if (!strcmp(g.dtype, "bf16")) rg_nn_precision(g.net, RG_BF16);
    g.data = read_text(&g);
    if (g.steps && g.data.id) train(&g);
    if (g.write && g.data.id && !rg_status_of(c)) write_text(&g);
    if (rg_status_of(c)) fprintf(stderr, "%s\n", rg_error(c));
    return rg_close(c) != RG_OK || !g.data.id;
}
