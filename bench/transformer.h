/* transformer.h: the model that benches share: a decoder-only transformer as GPT-2 has it, through the public API.
 *
 * Tokens and positions are looked up and added; each layer is x += attention(norm(x)), x += mlp(norm(x)) with
 * a causal mask and the tanh form of gelu; a last norm, logits against the token table itself, cross entropy by
 * log_softmax and gather. bench/peers/tinygrad_transformer.py is the same model, call by call.
 * Weights are realized when the model is made, so that a plan of a step holds nothing of their making. */
#ifndef RIDGE_BENCH_TRANSFORMER_H
#define RIDGE_BENCH_TRANSFORMER_H

#include <ridge.h>

#include <math.h>
#include <stddef.h>

struct tf_sizes {
    int64_t layers, batch, tokens, width, heads, vocabulary;
};
#define TF_GPT2_SMALL ((struct tf_sizes){12, 2, 256, 768, 12, 5000})

enum { TF_LAYERS = 48, TF_PER_LAYER = 12, TF_PARAMS = 4 + TF_PER_LAYER * TF_LAYERS };
struct tf_norm {
    rg_tensor weight, bias;
};
struct tf_linear {
    rg_tensor weight, bias; /* weight: [out, in] */
};
struct tf_layer {
    struct tf_norm norm1, norm2;
    struct tf_linear qkv, out, up, down;
};
struct tf_model {
    struct tf_sizes size;
    rg_tensor token, position; /* the two tables */
    struct tf_norm norm;
    struct tf_layer layer[TF_LAYERS];
    rg_tensor param[TF_PARAMS]; /* all of the above */
    size_t params;
    rg_tensor input, target; /* I32 [batch, tokens] */
};

/* Values that differ from each other and need no memory here: amplitude * sin(1), sin(2) .. */
static inline rg_tensor tf_param(struct tf_model *m, rg_ctx *c, double amplitude, double offset,
                                 rg_ints shape) {
    double n = 1;
    for (size_t i = 0; i < shape.n; i++) n *= (double)shape.d[i];
    rg_tensor wave = rg_mul(rg_sin(rg_arange(c, RG_F32, 1, n + 1, 1)), amplitude);
    rg_tensor p = rg_param(rg_reshape(rg_add(wave, offset), shape));
    rg_free(wave);
    return m->param[m->params++] = p;
}

static inline struct tf_norm tf_norm_new(struct tf_model *m, rg_ctx *c) {
    struct tf_norm n = {.weight = tf_param(m, c, 0.1, 1, RG_SHAPE(m->size.width))};
    n.bias = tf_param(m, c, 0.1, 0, RG_SHAPE(m->size.width));
    return n;
}

static inline struct tf_linear tf_linear_new(struct tf_model *m, rg_ctx *c, int64_t in, int64_t out) {
    struct tf_linear l = {.weight = tf_param(m, c, 1 / sqrt((double)in), 0, RG_SHAPE(out, in))};
    l.bias = tf_param(m, c, 0.1, 0, RG_SHAPE(out));
    return l;
}

/* On error the context says why. */
static inline rg_status tf_make(struct tf_model *m, rg_ctx *c, struct tf_sizes z) {
    int64_t d = z.width, rows = z.batch * z.tokens;
    RG_SCOPE(c);
    *m = (struct tf_model){.size = z};
    m->token = tf_param(m, c, 0.02, 0, RG_SHAPE(z.vocabulary, d));
    m->position = tf_param(m, c, 0.02, 0, RG_SHAPE(z.tokens, d));
    m->norm = tf_norm_new(m, c);
    for (int64_t i = 0; i < z.layers && i < TF_LAYERS; i++) {
        struct tf_layer *l = &m->layer[i];
        l->norm1 = tf_norm_new(m, c);
        l->norm2 = tf_norm_new(m, c);
        l->qkv = tf_linear_new(m, c, d, 3 * d);
        l->out = tf_linear_new(m, c, d, d);
        l->up = tf_linear_new(m, c, d, 4 * d);
        l->down = tf_linear_new(m, c, 4 * d, d);
    }
    rg_tensor count = rg_arange(c, RG_I32, 0, (double)rows, 1);
    rg_ints shape = RG_SHAPE(z.batch, z.tokens);
    m->input = rg_keep(rg_contiguous(rg_reshape(rg_mod(rg_mul(count, 7), z.vocabulary), shape)));
    m->target = rg_keep(rg_contiguous(rg_reshape(rg_mod(rg_add(rg_mul(count, 7), 7), z.vocabulary), shape)));
    rg_status bad = rg_realize_all(RG_ARRAY(m->param, m->params));
    return bad ? bad : rg_realize_all(RG_TENSORS(m->input, m->target));
}

/* One third of the joint projection as [batch, heads, tokens, width / heads]. */
static inline rg_tensor tf_heads(const struct tf_sizes *z, rg_tensor qkv, int64_t which) {
    rg_tensor part = rg_narrow(qkv, -1, which * z->width, z->width);
    return rg_transpose(rg_reshape(part, RG_SHAPE(z->batch, z->tokens, z->heads, z->width / z->heads)), 1, 2);
}

static inline rg_tensor tf_attention(const struct tf_sizes *z, const struct tf_layer *l, rg_tensor x,
                                     rg_tensor mask) {
    rg_tensor qkv = rg_linear(x, l->qkv.weight, l->qkv.bias);
    rg_tensor q = tf_heads(z, qkv, 0), k = tf_heads(z, qkv, 1), v = tf_heads(z, qkv, 2);
    rg_tensor score = rg_mul(rg_matmul(q, rg_transpose(k, -2, -1)), 1 / sqrt((double)(z->width / z->heads)));
    rg_tensor mixed = rg_matmul(rg_softmax(rg_where(mask, score, -INFINITY), -1), v);
    rg_tensor joined = rg_reshape(rg_transpose(mixed, 1, 2), RG_SHAPE(z->batch, z->tokens, z->width));
    return rg_linear(joined, l->out.weight, l->out.bias);
}

static inline rg_tensor tf_block(const struct tf_sizes *z, const struct tf_layer *l, rg_tensor x,
                                 rg_tensor mask) {
    x = rg_add(x, tf_attention(z, l, rg_layernorm(x, l->norm1.weight, l->norm1.bias), mask));
    rg_tensor up = rg_linear(rg_layernorm(x, l->norm2.weight, l->norm2.bias), l->up.weight, l->up.bias);
    return rg_add(x, rg_linear(rg_gelu_tanh(up), l->down.weight, l->down.bias));
}

/* The mean cross entropy over all tokens: a scalar, nothing computed yet. */
static inline rg_tensor tf_loss(const struct tf_model *m) {
    const struct tf_sizes *z = &m->size;
    rg_ctx *c = rg_ctx_of(m->input);
    RG_SCOPE(c);
    rg_tensor at = rg_arange(c, RG_I32, 0, (double)z->tokens, 1);
    rg_tensor mask = rg_ge(rg_unsqueeze(at, 1), at);
    rg_tensor x = rg_add(rg_take(m->token, 0, m->input), m->position);
    for (int64_t i = 0; i < z->layers; i++) x = tf_block(z, &m->layer[i], x, mask);
    rg_tensor logits = rg_linear(rg_layernorm(x, m->norm.weight, m->norm.bias), m->token, RG_NONE);
    rg_tensor all = rg_log_softmax(logits, -1);
    return rg_keep(rg_neg(rg_mean(rg_gather(all, -1, rg_unsqueeze(m->target, -1)))));
}

#endif
