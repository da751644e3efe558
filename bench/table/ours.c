/* ours.c: Ridge's side of the bench table, through the public API: each row is a function that an rg_jit replays.
 *
 *   ours               answers table.py (serve.h)
 *   ours first ROW     prints the seconds of the first call, and of a later one: for a process of its own
 *   ours list          the rows
 * Rows have the names of table.py; shapes and models are those of torch_rows.py and tinygrad_rows.py. */
#include <ridge.h>

#include "serve.h"

enum {
    INPUTS = 4,
    OUTPUTS = 16,
    WIDTH = 768,
    HEADS = 12,
    LAYERS = 12,
    VOCAB = 50257,
    WEIGHTS = 12,
    TINY = 1000
};

struct side {
    rg_ctx *c;
    rg_dtype dt;
    rg_jit *jit;
    rg_tensor in[INPUTS], out[OUTPUTS];
    size_t inputs;
    /* models */
    rg_module *net;
    rg_optim *optim;
    rg_tensor layer[LAYERS][WEIGHTS], words, positions, norm[2], state;
};

struct row {
    const char *name;
    rg_jit_fn *fn;
    size_t outputs;
    void (*prepare)(struct side *); /* more than float inputs of these shapes */
    int64_t shape[INPUTS][5];       /* 0 ends a shape */
};

static rg_tensor stored(const struct side *s, rg_tensor x) { return rg_contiguous(rg_cast(x, s->dt)); }

/* ---- flat ------------------------------------------------------------------------------------------------------ */

#define ROW(name, expression)                                                \
    static rg_status name(void *user, const rg_tensor *in, rg_tensor *out) { \
        (void)user;                                                          \
        out[0] = expression;                                                 \
        return RG_OK;                                                        \
    }
ROW(sgemm, rg_matmul(in[0], in[1]))
ROW(gemm_nt, rg_matmul(in[0], rg_transpose(in[1], 0, 1)))
ROW(gemm_tn, rg_matmul(rg_transpose(in[0], 0, 1), in[1]))
ROW(gemm_i8, rg_matmul(rg_cast(in[0], RG_I32), rg_cast(in[1], RG_I32)))
ROW(mul_add, rg_add(rg_mul(in[0], in[1]), in[2]))
ROW(relu_chain, rg_mul(rg_relu(rg_add(rg_mul(in[0], in[1]), in[2])), in[0]))
ROW(exponential, rg_exp(in[0]))
ROW(cos_cos, rg_cos(rg_cos(in[0])))
ROW(sum_all, rg_sum(in[0]))
ROW(sum_columns, rg_sum(in[0], RG_AXES(0)))
ROW(sum_rows, rg_sum(in[0], RG_AXES(1)))
ROW(softmax, rg_softmax(in[0], 1))
ROW(layernorm, rg_layernorm(in[0], in[1], in[2]))
ROW(transpose, rg_contiguous(rg_transpose(in[0], 0, 1)))
ROW(conv, rg_conv2d(in[0], in[1]))
ROW(conv_padded, rg_conv2d(in[0], in[1], .padding = RG_SHAPE(1)))
ROW(conv_stride_2, rg_conv2d(in[0], in[1], .padding = RG_SHAPE(1), .stride = RG_SHAPE(2)))
ROW(conv_depthwise, rg_conv2d(in[0], in[1], .padding = RG_SHAPE(1), .groups = 128))
ROW(conv_stem, rg_conv2d(in[0], in[1], .padding = RG_SHAPE(3), .stride = RG_SHAPE(2)))
ROW(attention, rg_attention(in[0], in[1], in[2], .causal = true))

static rg_status conv_grad(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)user;
    return rg_grad(rg_conv2d(in[0], in[1]), RG_ARRAY(in, 2), out, .seed = in[2]);
}

static rg_status conv_padded_grad(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)user;
    return rg_grad(rg_conv2d(in[0], in[1], .padding = RG_SHAPE(1)), RG_ARRAY(in, 2), out, .seed = in[2]);
}

/* One element, many kernels: every value is stored (and RIDGE_MULTI=0 keeps them apart, see table.py). */
static rg_status tiny(void *user, const rg_tensor *in, rg_tensor *out) {
    struct side *s = user;
    rg_tensor x = in[0];
    for (int i = 0; i < TINY; i++) x = rg_contiguous(rg_sub(x, s->state));
    out[0] = x;
    return RG_OK;
}

static void prepare_tiny(struct side *s) {
    s->state = rg_contiguous(rg_ones(s->c, RG_F32, RG_SHAPE(1)));
    rg_realize(s->state);
}

/* ---- MNIST: the network of examples/mnist.c ---------------------------------------------------------------------- */

static rg_tensor max_pool(rg_tensor x) { return rg_max_pool2d(x, RG_SHAPE(2)); }

static void prepare_mnist(struct side *s) {
    rg_ctx *c = s->c;
    s->net = rg_nn_sequential(
        c, RG_MODULES(rg_nn_conv2d(c, 1, 32, RG_SHAPE(5)), rg_nn_function(c, "relu", rg_relu),
                      rg_nn_conv2d(c, 32, 32, RG_SHAPE(5)), rg_nn_function(c, "relu", rg_relu),
                      rg_nn_batchnorm(c, 32), rg_nn_function(c, "max_pool", max_pool),
                      rg_nn_conv2d(c, 32, 64, RG_SHAPE(3)), rg_nn_function(c, "relu", rg_relu),
                      rg_nn_conv2d(c, 64, 64, RG_SHAPE(3)), rg_nn_function(c, "relu", rg_relu),
                      rg_nn_batchnorm(c, 64), rg_nn_function(c, "max_pool", max_pool), rg_nn_flatten(c, 1),
                      rg_nn_linear(c, 576, 10)));
    s->optim = rg_adam(rg_nn_params(s->net));
    s->in[1] = rg_randint(c, RG_I64, 0, 10, RG_SHAPE(512));
    s->inputs = 2;
    rg_realize(s->in[1]);
}

static rg_status mnist(void *user, const rg_tensor *in, rg_tensor *out) {
    struct side *s = user;
    out[0] = rg_cross_entropy(rg_nn_forward(s->net, in[0]), in[1]);
    rg_backward(out[0]);
    return rg_optim_step(s->optim);
}

/* ---- GPT-2 --------------------------------------------------------------------------------------------------------- */

/* The weights of a block, in this order: norm, joint projection, projection, norm, two layers; each with its bias. */
static void make_layer(struct side *s, rg_tensor *w) {
    static const int64_t size[WEIGHTS][2] = {
        {WIDTH, 0}, {WIDTH, 0}, {WIDTH, 3 * WIDTH}, {3 * WIDTH, 0}, {WIDTH, WIDTH},     {WIDTH, 0},
        {WIDTH, 0}, {WIDTH, 0}, {WIDTH, 4 * WIDTH}, {4 * WIDTH, 0}, {4 * WIDTH, WIDTH}, {WIDTH, 0}};
    for (int i = 0; i < WEIGHTS; i++)
        w[i] = stored(s, rg_normal(s->c, RG_F32, 0, 0.02, RG_LIST(size[i], size[i][1] ? 2 : 1)));
    rg_realize_all(RG_ARRAY(w, WEIGHTS));
}

static rg_tensor affine(rg_tensor x, const rg_tensor *w) { return rg_add(rg_matmul(x, w[0]), w[1]); }

static rg_tensor heads(rg_tensor qkv, int64_t which) {
    rg_tensor part = rg_narrow(qkv, 2, which * WIDTH, WIDTH);
    return rg_transpose(rg_reshape(part, RG_SHAPE(1, -1, HEADS, WIDTH / HEADS)), 1, 2);
}

static rg_tensor block(rg_tensor x, const rg_tensor *w) {
    rg_tensor qkv = affine(rg_layernorm(x, w[0], w[1]), w + 2);
    rg_tensor y = rg_attention(heads(qkv, 0), heads(qkv, 1), heads(qkv, 2), .causal = true);
    x = rg_add(x, affine(rg_flatten(rg_transpose(y, 1, 2), 2, 3), w + 4));
    rg_tensor wide = rg_gelu_tanh(affine(rg_layernorm(x, w[6], w[7]), w + 8));
    return rg_add(x, affine(wide, w + 10));
}

static void prepare_block(struct side *s) { make_layer(s, s->layer[0]); }

static rg_status block_forward(void *user, const rg_tensor *in, rg_tensor *out) {
    struct side *s = user;
    out[0] = block(in[0], s->layer[0]);
    return RG_OK;
}

static rg_status block_both(void *user, const rg_tensor *in, rg_tensor *out) {
    struct side *s = user;
    rg_tensor wrt[1 + WEIGHTS] = {in[0]};
    memcpy(wrt + 1, s->layer[0], sizeof s->layer[0]);
    out[0] = block(in[0], s->layer[0]);
    return rg_grad(out[0], RG_ARRAY(wrt, 1 + WEIGHTS), out + 1, .seed = in[1]);
}

static void prepare_gpt(struct side *s) {
    rg_ctx *c = s->c;
    for (int i = 0; i < LAYERS; i++) make_layer(s, s->layer[i]);
    s->words = stored(s, rg_normal(c, RG_F32, 0, 0.02, RG_SHAPE(VOCAB, WIDTH)));
    s->positions = stored(s, rg_normal(c, RG_F32, 0, 0.01, RG_SHAPE(64, WIDTH)));
    for (int i = 0; i < 2; i++) s->norm[i] = stored(s, rg_normal(c, RG_F32, 0, 0.1, RG_SHAPE(WIDTH)));
    s->in[0] = rg_randint(c, RG_I64, 0, VOCAB, RG_SHAPE(1, 64));
    s->inputs = 1;
    rg_realize_all(RG_TENSORS(s->words, s->positions, s->norm[0], s->norm[1], s->in[0]));
}

static rg_status gpt_forward(void *user, const rg_tensor *in, rg_tensor *out) {
    struct side *s = user;
    rg_tensor x = rg_add(rg_embedding(in[0], s->words), s->positions);
    for (int i = 0; i < LAYERS; i++) x = block(x, s->layer[i]);
    out[0] = rg_linear(rg_layernorm(x, s->norm[0], s->norm[1]), s->words, RG_NONE);
    return RG_OK;
}

/* ---- the rows -------------------------------------------------------------------------------------------------------- */

#define BIG \
    { 4096, 4096 }
static const struct row rows[] = {
    {"sgemm", sgemm, 1, NULL, {{0}}}, /* "sgemm 512", "sgemm 127x129x131": shapes from the name */
    {"bf16 gemm", sgemm, 1, NULL, {{0}}},
    {"i8 gemm", gemm_i8, 1, NULL, {{0}}},
    {"f64 gemm", sgemm, 1, NULL, {{0}}},
    {"nt gemm", gemm_nt, 1, NULL, {{0}}},
    {"tn gemm", gemm_tn, 1, NULL, {{0}}},
    {"a*b+c", mul_add, 1, NULL, {BIG, BIG, BIG}},
    {"relu(a*b+c)*a", relu_chain, 1, NULL, {BIG, BIG, BIG}},
    {"exp", exponential, 1, NULL, {BIG}},
    {"cos(cos(x))", cos_cos, 1, NULL, {BIG}},
    {"sum all", sum_all, 1, NULL, {BIG}},
    {"sum axis 0", sum_columns, 1, NULL, {BIG}},
    {"sum axis 1", sum_rows, 1, NULL, {BIG}},
    {"softmax", softmax, 1, NULL, {BIG}},
    {"layernorm", layernorm, 1, NULL, {BIG, {4096}, {4096}}},
    {"transpose", transpose, 1, NULL, {BIG}},
    {"conv mnist forward", conv, 1, NULL, {{512, 32, 24, 24}, {32, 32, 5, 5}}},
    {"conv mnist backward", conv_grad, 2, NULL, {{512, 32, 24, 24}, {32, 32, 5, 5}, {512, 32, 20, 20}}},
    {"conv resnet forward", conv_padded, 1, NULL, {{8, 64, 56, 56}, {64, 64, 3, 3}}},
    {"conv resnet backward", conv_padded_grad, 2, NULL, {{8, 64, 56, 56}, {64, 64, 3, 3}, {8, 64, 56, 56}}},
    {"conv 1x1 forward", conv, 1, NULL, {{8, 64, 56, 56}, {256, 64, 1, 1}}},
    {"conv stride 2 forward", conv_stride_2, 1, NULL, {{8, 64, 56, 56}, {128, 64, 3, 3}}},
    {"conv depthwise forward", conv_depthwise, 1, NULL, {{8, 128, 56, 56}, {128, 1, 3, 3}}},
    {"conv stem forward", conv_stem, 1, NULL, {{8, 3, 224, 224}, {64, 3, 7, 7}}},
    {"attention T=1024", attention, 1, NULL, {{1, 12, 1024, 64}, {1, 12, 1024, 64}, {1, 12, 1024, 64}}},
    {"mnist step", mnist, 1, prepare_mnist, {{512, 1, 28, 28}}},
    {"gpt2 block forward", block_forward, 1, prepare_block, {{1, 256, WIDTH}}},
    {"gpt2 block forward+backward",
     block_both,
     2 + WEIGHTS,
     prepare_block,
     {{1, 256, WIDTH}, {1, 256, WIDTH}}},
    {"gpt2 124M forward T=64", gpt_forward, 1, prepare_gpt, {{0}}},
    {"1000 tiny kernels", tiny, 1, prepare_tiny, {{1}}},
};

static void add_input(struct side *s, const int64_t *shape) {
    size_t rank = 0;
    while (rank < 5 && shape[rank]) rank++;
    if (!rank) return;
    double most = s->dt == RG_I8 ? 127 : 1;
    rg_tensor x = stored(s, rg_uniform(s->c, RG_F32, -most, most, RG_LIST(shape, rank)));
    rg_realize(x);
    s->in[s->inputs++] = x;
}

static const struct row *find(const char *name) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t n = strlen(rows[i].name);
        const char *size = strstr(rows[i].name, "gemm") && !strncmp(name, rows[i].name, n) ? name + n : "";
        if (!strcmp(rows[i].name, name) || *size == ' ') return &rows[i];
    }
    return NULL;
}

/* Everything but the first call. "bf16 ROW": with inputs and weights in bfloat16. */
static const char *prepare(struct side *s, const char *name) {
    bool half = !strncmp(name, "bf16 ", 5), bytes = !strncmp(name, "i8 ", 3),
         wide = !strncmp(name, "f64 ", 4);
    const struct row *r = find(name);
    if (!r && half) r = find(name + 5);
    if (!r) return "Ridge has no such row";
    if (s->c) rg_close(s->c);
    *s = (struct side){.c = rg_open(NULL), .dt = half ? RG_BF16 : bytes ? RG_I8 : wide ? RG_F64 : RG_F32};
    long long m = 0, n = 0, k = 0;
    const char *size = strstr(name, "gemm ");
    int got = size ? sscanf(size, "gemm %lldx%lldx%lld", &m, &n, &k) : 0;
    if (got == 1) n = k = m;
    if (got > 0) {
        bool tn = r->fn == gemm_tn, nt = r->fn == gemm_nt;
        add_input(s, tn ? (int64_t[5]){k, m} : (int64_t[5]){m, k});
        add_input(s, nt ? (int64_t[5]){n, k} : (int64_t[5]){k, n});
    }
    for (int i = 0; i < INPUTS; i++) add_input(s, r->shape[i]);
    if (r->prepare) r->prepare(s);
    s->jit = rg_jit_new(s->c, r->fn, s, r->outputs);
    return rg_status_of(s->c) ? rg_error(s->c) : NULL;
}

static void run(void *user) {
    struct side *s = user;
    rg_jit_call(s->jit, RG_ARRAY(s->in, s->inputs), s->out);
}

static const char *open_row(void *user, const char *name) {
    struct side *s = user;
    const char *why = prepare(s, name);
    for (int i = 0; !why && i < 4; i++) {
        run(s);
        if (rg_status_of(s->c)) why = rg_error(s->c);
    }
    return why;
}

static double seconds(struct side *s) {
    double t0 = serve_now();
    run(s);
    rg_item(rg_sum(s->out[0])); /* a result has been seen */
    return serve_now() - t0;
}

int main(int argc, char **argv) {
    static struct side s;
    if (argc == 2 && !strcmp(argv[1], "list")) {
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) puts(rows[i].name);
        return 0;
    }
    if (argc == 3 && !strcmp(argv[1], "first")) {
        const char *why = prepare(&s, argv[2]);
        double first = why ? 0 : seconds(&s), later = 0;
        for (int i = 0; !why && i < 4; i++) later = seconds(&s);
        if (why || rg_status_of(s.c)) return fprintf(stderr, "ours: %s\n", why ? why : rg_error(s.c)), 1;
        printf("%.9g %.9g\n", first, later);
        return 0;
    }
    int status = argc == 1 ? serve(&s, open_row, run) : 2;
    if (s.c) rg_close(s.c);
    return status;
}
