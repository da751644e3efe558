/* nn_decode.c: token by token through a Llama-like network of rg_nn modules, with caches of keys and values as state: the
 * same tokens with and without a jit, and memory that stays as it is for a thousand tokens. */
#include "base/base.h"

#include <ridge.h>
#include <test.h>

#include <stdio.h>

enum { LAYERS = 2, SIZE = 16, HEADS = 2, HIDDEN = 32, WORDS = 24, PLACES = 16, TOKENS = 1000 };

struct llama {
    rg_ctx *c;
    rg_module *net;
    rg_tensor k[LAYERS], v[LAYERS], pos, token;
};

static rg_tensor go(struct llama *l, int layer, const char *name, rg_tensor x) {
    char path[32];
    snprintf(path, sizeof path, "h%d.%s", layer, name);
    return rg_nn_forward(rg_nn_child(l->net, path), x);
}

static rg_tensor heads(rg_tensor x) { return rg_reshape(x, RG_SHAPE(1, HEADS, 1, SIZE / HEADS)); }

static rg_tensor block(struct llama *l, int i, rg_tensor x) {
    rg_tensor n = go(l, i, "norm1", x);
    rg_ranges here = RG_SLICES(RG_WHOLE, RG_WHOLE, RG_WINDOW(l->pos, 1));
    rg_assign_slice(l->k[i], heads(go(l, i, "k", n)), here);
    rg_assign_slice(l->v[i], heads(go(l, i, "v", n)), here);
    rg_tensor seen = rg_le(rg_arange(l->c, RG_I64, 0, PLACES, 1), l->pos);
    rg_tensor a = rg_attention(heads(go(l, i, "q", n)), l->k[i], l->v[i], .mask = seen);
    x = rg_add(x, go(l, i, "o", rg_reshape(a, RG_SHAPE(1, SIZE))));
    n = go(l, i, "norm2", x);
    return rg_add(x, go(l, i, "down", rg_mul(rg_silu(go(l, i, "gate", n)), go(l, i, "up", n))));
}

static rg_status step(void *user, const rg_tensor *in, rg_tensor *out) {
    struct llama *l = user;
    rg_tensor x = rg_nn_forward(rg_nn_child(l->net, "embed"), in[0]);
    for (int i = 0; i < LAYERS; i++) x = block(l, i, x);
    out[0] = rg_nn_forward(rg_nn_child(l->net, "head"), x);
    return rg_assign(l->token, rg_argmax(out[0], RG_AXES(-1)));
}

static void open_layer(struct llama *l, int i) {
    char name[8];
    rg_ctx *c = l->c;
    rg_module *m = rg_nn_module(c, NULL, NULL);
    const char *square[] = {"q", "k", "v", "o"};
    for (int s = 0; s < 4; s++) rg_nn_add(m, square[s], rg_nn_linear(c, SIZE, SIZE, .no_bias = true));
    rg_nn_add(m, "gate", rg_nn_linear(c, SIZE, HIDDEN, .no_bias = true));
    rg_nn_add(m, "up", rg_nn_linear(c, SIZE, HIDDEN, .no_bias = true));
    rg_nn_add(m, "down", rg_nn_linear(c, HIDDEN, SIZE, .no_bias = true));
    rg_nn_add(m, "norm1", rg_nn_rmsnorm(c, SIZE));
    rg_nn_add(m, "norm2", rg_nn_rmsnorm(c, SIZE));
    snprintf(name, sizeof name, "h%d", i);
    rg_nn_add(l->net, name, m);
    l->k[i] = rg_contiguous(rg_zeros(c, RG_F32, RG_SHAPE(1, HEADS, PLACES, SIZE / HEADS)));
    l->v[i] = rg_contiguous(rg_zeros(c, RG_F32, RG_SHAPE(1, HEADS, PLACES, SIZE / HEADS)));
    rg_realize_all(RG_TENSORS(l->k[i], l->v[i]));
}

static void open_net(struct llama *l) {
    rg_ctx *c = l->c = rg_open("CPU");
    rg_seed(c, 7);
    l->net = rg_nn_module(c, NULL, NULL);
    rg_nn_add(l->net, "embed", rg_nn_embedding(c, WORDS, SIZE));
    rg_nn_add(l->net, "head", rg_nn_linear(c, SIZE, WORDS, .no_bias = true));
    for (int i = 0; i < LAYERS; i++) open_layer(l, i);
    rg_nn_train(l->net, false);
    l->pos = rg_index(c, 0, PLACES - 1, 0);
    l->token = rg_contiguous(rg_zeros(c, RG_I64, RG_SHAPE(1)));
    rg_realize(l->token);
    rg_realize_all(rg_nn_params(l->net));
    if (rg_status_of(c)) FAIL("%s", rg_error(c));
}

static void check_flat(const rg_usage *early, const rg_usage *late) {
    CHECK_EQ(late->handles, early->handles);
    CHECK_EQ(late->nodes, early->nodes);
    CHECK_EQ(late->buffers, early->buffers);
    CHECK_EQ(late->bytes, early->bytes);
    CHECK_EQ(late->peak, early->peak);
    CHECK(late->nodes_held < 20000);
}

static rg_status one_token(struct llama *l, rg_jit *j) {
    RG_SCOPE(l->c);
    rg_tensor y;
    return j ? rg_jit_call(j, RG_TENSORS(l->token), &y) : step(l, &l->token, &y) || rg_realize(y);
}

static void decode(bool jit, int *word) {
    struct llama l = {0};
    open_net(&l);
    rg_jit *j = jit ? rg_jit_new(l.c, step, &l, 1) : NULL;
    rg_usage early = {0}, late;
    int64_t blocks = 0;
    for (int i = 0; i < TOKENS; i++) {
        rg_set_scalar(l.pos, i % PLACES);
        if (one_token(&l, j)) FAIL("token %d: %s", i, rg_error(l.c));
        word[i] = (int)rg_item(l.token);
        if (i != TOKENS / 10) continue;
        CHECK_EQ(rg_stats(l.c, &early), 0);
        blocks = mem_live();
    }
    CHECK_EQ(rg_stats(l.c, &late), 0);
    check_flat(&early, &late);
    CHECK(mem_live() <= blocks + 8);
    CHECK_EQ(rg_close(l.c), 0);
}

TEST(nn_decode_1000_tokens_with_and_without_a_jit) {
    static int word[2][TOKENS];
    int kinds = 0;
    decode(false, word[0]);
    decode(true, word[1]);
    for (int i = 0; i < TOKENS; i++) CHECK_EQ(word[1][i], word[0][i]);
    for (int i = 1; i < TOKENS; i++) kinds += word[0][i] != word[0][i - 1];
    CHECK(kinds > 10); /* it says something */
}
