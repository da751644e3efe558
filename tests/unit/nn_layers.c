/* nn_layers.c: each layer with PyTorch's weights against PyTorch's outputs, gradients and state; training and not; first
 * values; mixed precision. */
#include "unit/layer_values.h"

#define OK(c) \
    if (rg_status_of(c)) FAIL("%s", rg_error(c))

/* ---- against PyTorch ----------------------------------------------------------------------------------- */

/* Gives m the weights layer.NAME.w.*; the file must have all of them. */
static void set_weights(rg_module *m, const char *layer) {
    for (size_t i = 0; i < rg_nn_entries(m); i++) {
        const char *name;
        char key[120];
        int64_t d[8];
        rg_tensor t = rg_nn_entry(m, i, &name);
        size_t rank = (size_t)rg_shape_of(t, d, 8);
        snprintf(key, sizeof key, "layer.%s.w.%s", layer, name);
        rg_tensor v = lv_tensor(rg_nn_ctx(m), key, rg_dtype_of(t), RG_LIST(d, rank));
        CHECK_EQ(rg_assign(t, v), 0);
        rg_free(v);
    }
}

static void check_entries(rg_module *m, const char *layer, double tol) {
    rg_tensors all = rg_nn_params(m);
    size_t found = 0;
    for (size_t i = 0; i < rg_nn_entries(m); i++) {
        const char *name;
        char key[120];
        rg_tensor t = rg_nn_entry(m, i, &name);
        bool param = found < all.n && all.t[found].id == t.id;
        found += param;
        snprintf(key, sizeof key, "layer.%s.%s.%s", layer, param ? "gw" : "s", name);
        if (param)
            lv_is(rg_param_grad(t), key, tol);
        else
            lv_is(t, key, tol);
    }
    CHECK_EQ(found, all.n);
}

static void check_layer(rg_module *m, const char *layer, rg_ints shape, double tol) {
    if (!m) FAIL("%s was not made", layer);
    rg_ctx *c = rg_nn_ctx(m);
    char key[120];
    bool index = !strcmp(layer, "embedding");
    set_weights(m, layer);
    snprintf(key, sizeof key, "layer.%s.x", layer);
    rg_tensor v = lv_tensor(c, key, index ? RG_I64 : RG_F32, shape), x = index ? v : rg_param(v);
    rg_tensor y = rg_nn_forward(m, x);
    OK(c);
    int64_t d[8];
    size_t rank = (size_t)rg_shape_of(y, d, 8);
    snprintf(key, sizeof key, "layer.%s.g", layer);
    rg_tensor g = lv_tensor(c, key, RG_F32, RG_LIST(d, rank));
    rg_backward(rg_sum(rg_mul(y, g)));
    snprintf(key, sizeof key, "layer.%s.y", layer);
    lv_is(y, key, tol);
    snprintf(key, sizeof key, "layer.%s.gx", layer);
    if (!index) lv_is(rg_param_grad(x), key, tol);
    check_entries(m, layer, tol);
    OK(c);
}

#define LAYER(name, make, ...)                                  \
    TEST(nn_layer_##name) {                                     \
        static const char *const device[] = {"CPU", "REF"};     \
        for (int i = 0; i < 2; i++) {                           \
            rg_ctx *c = rg_open(device[i]);                     \
            rg_module *m = make;                                \
            if (!m) FAIL("%s", rg_error(c));                    \
            check_layer(m, #name, RG_SHAPE(__VA_ARGS__), 2e-5); \
            CHECK_EQ(rg_close(c), 0);                           \
        }                                                       \
    }

static rg_module *in_eval(rg_module *m) { return rg_nn_train(m, false), m; }

LAYER(linear, rg_nn_linear(c, 4, 3), 2, 4)
LAYER(linear_plain, rg_nn_linear(c, 4, 3, .no_bias = true), 2, 5, 4)
LAYER(conv1d, rg_nn_conv1d(c, 4, 6, RG_SHAPE(3), .stride = RG_SHAPE(2), .padding = RG_SHAPE(1), .groups = 2),
      2, 4, 9)
LAYER(conv2d,
      rg_nn_conv2d(c, 2, 4, RG_SHAPE(3, 2), .stride = RG_SHAPE(1, 2), .padding = RG_SHAPE(1, 0),
                   .dilation = RG_SHAPE(2, 1)),
      2, 2, 6, 5)
LAYER(conv3d, rg_nn_conv3d(c, 1, 2, RG_SHAPE(2)), 1, 1, 3, 3, 4)
LAYER(conv_transpose2d,
      rg_nn_conv_transpose2d(c, 3, 2, RG_SHAPE(3), .stride = RG_SHAPE(2), .padding = RG_SHAPE(1)), 2, 3, 3, 4)
LAYER(batchnorm, rg_nn_batchnorm(c, 3), 4, 3, 2, 3)
LAYER(batchnorm1d, rg_nn_batchnorm(c, 3, .momentum = 0.3, .eps = 1e-3), 5, 3)
LAYER(batchnorm_eval, in_eval(rg_nn_batchnorm(c, 3)), 4, 3, 2, 3)
LAYER(batchnorm_plain, rg_nn_batchnorm(c, 3, .no_affine = true), 4, 3, 2, 3)
LAYER(layernorm, rg_nn_layernorm(c, RG_SHAPE(3, 4)), 2, 3, 4)
LAYER(groupnorm, rg_nn_groupnorm(c, 2, 4), 2, 4, 3)
LAYER(instancenorm, rg_nn_instancenorm(c, 3), 2, 3, 3, 2)
LAYER(rmsnorm, rg_nn_rmsnorm(c, 6), 2, 3, 6)
LAYER(embedding, rg_nn_embedding(c, 7, 3), 2, 3)
LAYER(attention, rg_nn_attention(c, 8, 2), 2, 5, 8)
LAYER(attention_causal, rg_nn_attention(c, 8, 4, .causal = true), 2, 4, 8)

/* Fewer heads of keys and values: the same as giving each of them to two heads of queries. */
TEST(nn_layer_attention_grouped) {
    rg_ctx *c = rg_open("CPU");
    rg_module *few = rg_nn_attention(c, 8, 4, .kv_heads = 2), *all = rg_nn_attention(c, 8, 4);
    rg_tensor w = rg_nn_get(few, "in_proj_weight"), big = rg_nn_get(all, "in_proj_weight");
    CHECK_EQ(rg_dim(w, 0), 16);
    rg_tensor kv = rg_reshape(rg_narrow(w, 0, 8, 8), RG_SHAPE(4, 2, 8));
    rg_tensor twice = rg_reshape(rg_repeat_interleave(kv, 2, 0), RG_SHAPE(16, 8));
    rg_assign(big, rg_cat(RG_TENSORS(rg_narrow(w, 0, 0, 8), twice), 0));
    rg_assign(rg_nn_get(all, "out_proj.weight"), rg_nn_get(few, "out_proj.weight"));
    rg_tensor x = rg_randn(c, RG_F32, RG_SHAPE(2, 3, 8));
    rg_tensor far = rg_max(rg_abs(rg_sub(rg_nn_forward(few, x), rg_nn_forward(all, x))));
    CHECK(rg_item(far) < 1e-5);
    CHECK_EQ(rg_close(c), 0);
}

/* ---- training and not -------------------------------------------------------------------------------------- */

TEST(nn_layer_dropout_only_while_training) {
    rg_ctx *c = rg_open(NULL);
    rg_module *m = rg_nn_sequential(c, RG_MODULES(rg_nn_dropout(c, 0.5)));
    rg_tensor x = rg_ones(c, RG_F32, RG_SHAPE(1000));
    CHECK(rg_nn_is_training(m));
    double kept = rg_item(rg_sum(rg_ne(rg_nn_forward(m, x), 0)));
    CHECK(kept > 400 && kept < 600);
    CHECK_EQ(rg_nn_train(m, false), 0);
    CHECK(!rg_nn_is_training(m) && !rg_nn_is_training(rg_nn_child(m, "0")));
    CHECK_NEAR(rg_item(rg_sum(rg_nn_forward(m, x))), 1000, 0);
    /* what came out is a handle of its own: the call that takes it may free it */
    CHECK_NEAR(rg_item(rg_sum(rg_mul(rg_nn_forward(m, x), 2))), 2000, 0);
    CHECK(rg_is_alive(x));
    CHECK_EQ(rg_close(c), 0);
}

/* Statistics do not tie the module to its past: nothing grows without an optimiser either. */
TEST(nn_layer_batchnorm_state_has_no_history) {
    rg_ctx *c = rg_open(NULL);
    rg_module *m = rg_nn_batchnorm(c, 4);
    rg_tensor w = rg_param(rg_ones(c, RG_F32, RG_SHAPE(4, 4)));
    rg_tensor x = rg_randn(c, RG_F32, RG_SHAPE(8, 4));
    rg_realize(x);
    rg_usage u[2];
    for (int i = 0; i < 40; i++) {
        RG_SCOPE(c);
        rg_realize(rg_nn_forward(m, rg_matmul(x, w)));
        if (i == 10) rg_stats(c, &u[0]);
        if (i == 39) rg_stats(c, &u[1]);
    }
    OK(c);
    CHECK_EQ(u[0].nodes, u[1].nodes);
    CHECK_EQ(u[0].bytes, u[1].bytes);
    CHECK_EQ(u[0].handles, u[1].handles);
    CHECK_NEAR(rg_item(rg_nn_get(m, "num_batches_tracked")), 40, 0);
    CHECK_EQ(rg_close(c), 0);
}

/* ---- first values --------------------------------------------------------------------------------------------- */

static void check_uniform(rg_tensor t, double bound) {
    CHECK(rg_item(rg_max(rg_abs(t))) <= bound);
    CHECK(rg_item(rg_max(rg_abs(t))) > 0.9 * bound);
    CHECK_NEAR(rg_item(rg_std(t)), bound / sqrt(3), 0.1 * bound);
}

TEST(nn_layer_first_values) {
    rg_ctx *c = rg_open(NULL);
    rg_module *l = rg_nn_linear(c, 64, 100), *k = rg_nn_conv2d(c, 8, 32, RG_SHAPE(3), .groups = 2);
    check_uniform(rg_nn_get(l, "weight"), 1 / 8.0);
    check_uniform(rg_nn_get(l, "bias"), 1 / 8.0);
    check_uniform(rg_nn_get(k, "weight"), 1 / 6.0);
    CHECK_EQ(rg_dim(rg_nn_get(k, "weight"), 1), 4);
    rg_module *back = rg_nn_conv_transpose2d(c, 6, 16, RG_SHAPE(4));
    check_uniform(rg_nn_get(back, "weight"),
                  1 / 16.0); /* PyTorch takes the second axis, channels out, for fan_in */
    rg_tensor e = rg_nn_get(rg_nn_embedding(c, 100, 50), "weight");
    CHECK_NEAR(rg_item(rg_mean(e)), 0, 0.1);
    CHECK_NEAR(rg_item(rg_std(e)), 1, 0.05);
    rg_module *n = rg_nn_batchnorm(c, 5);
    CHECK_NEAR(rg_item(rg_sum(rg_nn_get(n, "weight"))), 5, 0);
    CHECK_NEAR(rg_item(rg_sum(rg_nn_get(n, "bias"))), 0, 0);
    CHECK_NEAR(rg_item(rg_sum(rg_nn_get(n, "running_var"))), 5, 0);
    rg_module *a = rg_nn_attention(c, 32, 4);
    check_uniform(rg_nn_get(a, "in_proj_weight"), sqrt(6.0 / (32 + 96)));
    CHECK_NEAR(rg_item(rg_sum(rg_abs(rg_nn_get(a, "out_proj.bias")))), 0, 0);
    OK(c);
    CHECK_EQ(rg_close(c), 0);
}

/* ---- mixed precision ----------------------------------------------------------------------------------------------- */

static void train_half(rg_dtype dt, double scale) {
    rg_ctx *c = rg_open(NULL);
    rg_seed(c, 3);
    rg_module *m = rg_nn_sequential(c, RG_MODULES(rg_nn_linear(c, 8, 32), rg_nn_function(c, "tanh", rg_tanh),
                                                  rg_nn_layernorm(c, RG_SHAPE(32)), rg_nn_linear(c, 32, 1)));
    CHECK_EQ(rg_nn_precision(m, dt), 0);
    rg_optim *o = rg_adam(rg_nn_params(m), .lr = 0.01, .loss_scale = scale);
    rg_tensor x = rg_randn(c, RG_F32, RG_SHAPE(64, 8));
    rg_realize(x);
    rg_tensor y = rg_sin(rg_sum(x, RG_AXES(1), .keep = true));
    rg_realize(y);
    double first = 0, last = 0;
    for (int i = 0; i < 150; i++) {
        RG_SCOPE(c);
        rg_tensor out = rg_nn_forward(m, x);
        CHECK_EQ(rg_dtype_of(out), RG_F32);
        rg_tensor loss = rg_mean(rg_square(rg_sub(out, y)));
        rg_backward(rg_optim_scale(o, loss));
        rg_optim_step(o);
        last = rg_item(loss);
        OK(c);
        if (!i) first = last;
    }
    CHECK(last < 0.1 * first);
    for (size_t i = 0; i < rg_nn_entries(m); i++) CHECK_EQ(rg_dtype_of(rg_nn_entry(m, i, NULL)), RG_F32);
    CHECK_EQ(rg_close(c), 0);
}
TEST(nn_precision_bf16_trains) { train_half(RG_BF16, 0); }
TEST(nn_precision_f16_trains) { train_half(RG_F16, 1024); }

/* Statistics are updated in place from the first step on: the second one has the same plan. */
TEST(nn_batchnorm_plans_once) {
    rg_ctx *c = rg_open("NULL");
    rg_module *n = rg_nn_batchnorm(c, 3);
    rg_tensor x = rg_zeros(c, RG_F32, RG_SHAPE(16, 3, 5, 5));
    rg_usage u[2];
    CHECK_EQ(rg_realize_all(RG_TENSORS(x, rg_nn_get(n, "running_mean"))), 0);
    for (int i = 0; i < 2; i++) {
        RG_SCOPE(c);
        CHECK_EQ(rg_realize(rg_nn_forward(n, x)), 0);
        CHECK_EQ(rg_stats(c, &u[i]), 0);
    }
    CHECK_EQ(u[1].cached - u[0].cached, u[1].realizes - u[0].realizes);
    CHECK_EQ(rg_close(c), 0);
}

/* (N, C, H, W) through a norm in mixed precision. */
static rg_tensor half_norm(rg_module *n, rg_tensor x, bool training, rg_dtype dt) {
    CHECK_EQ(rg_nn_train(n, training), 0);
    rg_tensor y = rg_nn_forward(n, x);
    CHECK_EQ(rg_dtype_of(y), dt);
    return rg_cast(y, RG_F32);
}

static void norm_keeps_the_type(rg_ctx *c, rg_module *n) {
    rg_module *m = rg_nn_sequential(c, RG_MODULES(n));
    rg_tensor x = rg_cast(rg_add(rg_randn(c, RG_F32, RG_SHAPE(16, 3, 5, 5)), 100), RG_BF16);
    CHECK_EQ(rg_nn_precision(m, RG_BF16), 0);
    for (int training = 1; training >= 0; training--) {
        rg_tensor half = half_norm(n, x, training, RG_BF16),
                  full = half_norm(n, rg_cast(x, RG_F32), training, RG_F32);
        rg_tensor off = rg_sub(half, rg_cast(rg_cast(full, RG_BF16), RG_F32));
        CHECK_NEAR(rg_item(rg_max(rg_abs(off))), 0, 0); /* rounded once, at the end */
    }
    CHECK_EQ(rg_dtype_of(rg_nn_forward(m, x)), RG_F32);
    OK(c);
}

TEST(nn_precision_norms_of_images_keep_the_type) {
    rg_ctx *c = rg_open(NULL);
    rg_module *batch = rg_nn_batchnorm(c, 3);
    norm_keeps_the_type(c, batch);
    CHECK_EQ(rg_dtype_of(rg_nn_get(batch, "running_var")), RG_F32);
    norm_keeps_the_type(c, rg_nn_groupnorm(c, 1, 3));
    norm_keeps_the_type(c, rg_nn_instancenorm(c, 3));
    CHECK_EQ(rg_close(c), 0);
}

TEST(nn_precision_products_are_half) {
    rg_ctx *c = rg_open(NULL);
    rg_module *l = rg_nn_linear(c, 4, 4), *n = rg_nn_layernorm(c, RG_SHAPE(4)),
              *m = rg_nn_sequential(c, RG_MODULES(l, n));
    rg_tensor x = rg_ones(c, RG_F32, RG_SHAPE(2, 4));
    CHECK_EQ(rg_nn_precision_of(m), RG_F32);
    CHECK_EQ(rg_nn_precision_of(NULL), RG_F32);
    CHECK_EQ(rg_nn_precision(m, RG_BF16), 0);
    CHECK_EQ(rg_nn_precision_of(m), RG_BF16);
    CHECK_EQ(rg_dtype_of(rg_nn_forward(l, x)), RG_BF16);
    CHECK_EQ(rg_dtype_of(rg_nn_forward(n, rg_nn_forward(l, x))), RG_F32);
    CHECK_EQ(rg_dtype_of(rg_nn_forward(m, x)), RG_F32);
    CHECK_EQ(rg_nn_precision(m, RG_F32), 0);
    CHECK_EQ(rg_nn_precision_of(m), RG_F32);
    CHECK_EQ(rg_dtype_of(rg_nn_forward(l, x)), RG_F32);
    CHECK_EQ(rg_nn_precision(m, RG_I32), RG_EINVAL);
    CHECK(strstr(rg_error(c), "RG_BF16"));
    rg_clear_error(c);
    CHECK_EQ(rg_close(c), 0);
}
