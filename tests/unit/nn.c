/* nn.c: modules: names, paths, lists, ownership, your own forward functions, tables, module paths in profiles, errors. */
#include "unit/layer_values.h"

#define OK(c) \
    if (rg_status_of(c)) FAIL("%s", rg_error(c))

/* The context has this error, with all these words; it is cleared. */
static void fails(rg_ctx *c, const char *words) {
    char copy[400], *save = NULL;
    if (!rg_status_of(c)) FAIL("no error; expected \"%s\"", words);
    snprintf(copy, sizeof copy, "%s", words);
    for (char *w = strtok_r(copy, "|", &save); w; w = strtok_r(NULL, "|", &save))
        if (!strstr(rg_error(c), w)) FAIL("the error says\n  %s\nexpected \"%s\" in it", rg_error(c), w);
    rg_clear_error(c);
}

static rg_module *small_net(rg_ctx *c) {
    rg_module *inner =
        rg_nn_sequential(c, RG_MODULES(rg_nn_linear(c, 36, 8), rg_nn_layernorm(c, RG_SHAPE(8))));
    return rg_nn_sequential(c,
                            RG_MODULES(rg_nn_conv2d(c, 1, 4, RG_SHAPE(3)), rg_nn_function(c, "relu", rg_relu),
                                       rg_nn_batchnorm(c, 4), rg_nn_max_pool2d(c, RG_SHAPE(2)),
                                       rg_nn_flatten(c, 1), inner, rg_nn_linear(c, 8, 2, .no_bias = true)));
}

/* ---- names ------------------------------------------------------------------------------------------------- */

static void names_are(rg_module *m, const char *key) {
    char got[1000] = "";
    for (size_t i = 0; i < rg_nn_entries(m); i++) {
        const char *name;
        rg_nn_entry(m, i, &name);
        snprintf(got + strlen(got), sizeof got - strlen(got), " %s", name);
    }
    const char *want = lv_find(key), *end = strchr(want, '\n');
    char text[1000];
    snprintf(text, sizeof text, "%.*s", (int)(end - want), want);
    CHECK_STR(got, text);
}

TEST(nn_names_are_pytorchs) {
    rg_ctx *c = rg_open("NULL");
    rg_module *m = small_net(c);
    if (!m) FAIL("%s", rg_error(c));
    names_are(m, "names.net");
    names_are(rg_nn_attention(c, 8, 2), "names.attention");
    const char *name = "?";
    CHECK_EQ(rg_nn_entry(m, 1000, &name).id, 0);
    CHECK(!name);
    CHECK_EQ(rg_close(c), 0);
}

TEST(nn_params_are_in_order_of_entries) {
    rg_ctx *c = rg_open("NULL");
    rg_module *m = small_net(c);
    rg_tensors p = rg_nn_params(m);
    size_t at = 0;
    for (size_t i = 0; i < rg_nn_entries(m); i++) at += at < p.n && rg_nn_entry(m, i, NULL).id == p.t[at].id;
    CHECK_EQ(at, p.n);
    CHECK_EQ(p.n, 9); /* all but the three of the batch norm */
    CHECK_EQ(p.t[0].id, rg_nn_get(m, "0.weight").id);
    CHECK_EQ(p.t[8].id, rg_nn_get(m, "6.weight").id);
    CHECK_EQ(rg_close(c), 0);
}

TEST(nn_paths) {
    rg_ctx *c = rg_open("NULL");
    rg_module *m = small_net(c);
    CHECK(rg_nn_child(m, "5.0") && rg_nn_child(m, "") == m);
    CHECK(rg_nn_child(rg_nn_child(m, "5"), "0") == rg_nn_child(m, "5.0"));
    CHECK(!rg_nn_child(m, "5.2") && !rg_nn_child(m, "50") && !rg_nn_child(m, "x.y") &&
          !rg_nn_child(NULL, "0"));
    CHECK_EQ(rg_dim(rg_nn_get(m, "5.0.weight"), 1), 36);
    CHECK(rg_nn_ctx(m) == c);
    OK(c);
    CHECK(!rg_is_alive(rg_nn_get(m, "5.0.wait")));
    fails(c, "nn.c|rg_nn_get|\"5.0.wait\"");
    CHECK(!rg_is_alive(rg_nn_get(m, NULL)));
    fails(c, "rg_nn_get");
    CHECK_EQ(rg_close(c), 0);
}

/* ---- your own -------------------------------------------------------------------------------------------------- */

static rg_tensor affine(rg_module *m, rg_tensor x, void *user) {
    int *calls = user;
    ++*calls;
    rg_tensor unused = rg_mul(x, 3), y = rg_mul(x, rg_nn_get(m, "scale"));
    rg_square(unused);
    return rg_add(y, rg_nn_get(m, "shift"));
}

static rg_tensor residual(rg_module *m, rg_tensor x, void *user) {
    (void)user;
    return rg_add(x, rg_nn_forward(rg_nn_child(m, "in"), x));
}

TEST(nn_own_modules) {
    rg_ctx *c = rg_open(NULL);
    int calls = 0;
    rg_module *in = rg_nn_module(c, affine, &calls), *out = rg_nn_module(c, residual, NULL);
    rg_nn_param(in, "scale", rg_full(c, RG_F32, 2, RG_SHAPE(3)));
    rg_tensor shift = rg_nn_state(in, "shift", rg_full(c, RG_F32, 10, RG_SHAPE(3)));
    CHECK_EQ(rg_nn_add(out, "in", in), 0);
    CHECK(rg_nn_user(in) == &calls && !rg_nn_user(out));
    rg_tensor x = rg_from(c, RG_F32, (float[]){1, 2, 3}, RG_SHAPE(3));
    rg_usage u[2];
    rg_stats(c, &u[0]);
    rg_tensor y = rg_nn_forward(out, x);
    rg_stats(c, &u[1]);
    CHECK_EQ(u[1].handles, u[0].handles + 1); /* what the functions made on the way is gone */
    float got[3];
    rg_backward(rg_sum(y));
    CHECK_EQ(rg_read(y, got, sizeof got), 0);
    CHECK(got[0] == 13 && got[1] == 16 && got[2] == 19);
    CHECK_EQ(rg_read(rg_param_grad(rg_nn_get(out, "in.scale")), got, sizeof got), 0);
    CHECK(got[0] == 1 && got[2] == 3);
    CHECK_EQ(rg_nn_params(out).n, 1); /* state is not trained */
    CHECK_EQ(calls, 1);
    rg_assign(shift, 0);
    CHECK_EQ(rg_read(rg_nn_forward(out, x), got, sizeof got), 0);
    CHECK(got[0] == 3);
    CHECK_EQ(rg_close(c), 0);
}

static rg_tensor give_weight(rg_module *m, rg_tensor x, void *user) {
    (void)x, (void)user;
    return rg_nn_get(m, "w");
}

/* A call that takes a nested one frees its result; a parameter that comes out of a module survives that. */
TEST(nn_results_may_be_freed) {
    rg_ctx *c = rg_open(NULL);
    rg_module *m = rg_nn_module(c, give_weight, NULL);
    rg_nn_param(m, "w", rg_full(c, RG_F32, 2, RG_SHAPE(3)));
    rg_tensor x = rg_ones(c, RG_F32, RG_SHAPE(3));
    CHECK_NEAR(rg_item(rg_sum(rg_nn_forward(m, x))), 6, 0);
    CHECK_NEAR(rg_item(rg_sum(rg_nn_entry(m, 0, NULL))), 6, 0);
    CHECK_NEAR(rg_item(rg_sum(rg_nn_forward(m, rg_nn_entry(m, 0, NULL)))), 6, 0);
    CHECK(rg_is_alive(rg_nn_get(m, "w")));
    rg_module *none = rg_nn_sequential(c, (rg_modules){0});
    CHECK_NEAR(rg_item(rg_sum(rg_nn_forward(none, x))), 3, 0);
    CHECK(rg_is_alive(x));
    CHECK_EQ(rg_close(c), 0);
}

/* ---- ownership -------------------------------------------------------------------------------------------------- */

TEST(nn_free_frees_all) {
    rg_ctx *c = rg_open(NULL);
    rg_usage u[2];
    rg_stats(c, &u[0]);
    rg_module *m = small_net(c), *inner = rg_nn_child(m, "5");
    rg_tensor w = rg_nn_get(m, "5.0.weight"), first = rg_nn_get(m, "0.weight");
    CHECK_EQ(rg_realize_all(rg_nn_params(m)), 0);
    CHECK(rg_is_alive(w));
    size_t before = rg_nn_entries(m);
    rg_nn_free(inner); /* a child leaves its parent */
    CHECK(!rg_is_alive(w) && rg_is_alive(first));
    CHECK(!rg_nn_child(m, "5") && rg_nn_entries(m) == before - 4);
    rg_nn_free(m);
    rg_nn_free(NULL);
    CHECK(!rg_is_alive(first));
    rg_stats(c, &u[1]);
    CHECK_EQ(u[0].handles, u[1].handles);
    CHECK_EQ(u[1].bytes, u[0].bytes);
    CHECK_EQ(rg_close(c), 0);
}

/* ---- tables and module paths ------------------------------------------------------------------------------------------ */

TEST(nn_describe) {
    rg_ctx *c = rg_open("NULL");
    rg_module *m = small_net(c);
    char text[2000], little[20];
    int n = rg_nn_describe(m, text, sizeof text);
    CHECK_EQ(n, strlen(text));
    CHECK(strstr(text, "\n0     conv2d      weight (4, 1, 3, 3), bias (4)  40\n"));
    CHECK(strstr(text, "\n1     relu      \n"));
    CHECK(strstr(text, "num_batches_tracked ()  8\n"));
    CHECK(strstr(text, "\n5.0   linear      weight (8, 36), bias (8)  296\n"));
    CHECK(strstr(text, "\n376 parameters\n"));
    CHECK_EQ(rg_nn_describe(m, little, sizeof little), n);
    CHECK_EQ(strlen(little), sizeof little - 1);
    CHECK_EQ(rg_nn_describe(m, NULL, 0), n);
    CHECK_EQ(rg_nn_describe(NULL, text, sizeof text), 0);
    CHECK_STR(text, "");
    CHECK_EQ(rg_close(c), 0);
}

/* ---- errors -------------------------------------------------------------------------------------------------------------- */

TEST(nn_errors) {
    rg_ctx *c = rg_open("NULL"), *other = rg_open("NULL");
    rg_tensor x = rg_ones(c, RG_F32, RG_SHAPE(2, 4)), far = rg_ones(other, RG_F32, RG_SHAPE(2, 4));
    rg_module *l = rg_nn_linear(c, 4, 3), *k = rg_nn_linear(other, 4, 3),
              *m = rg_nn_sequential(c, RG_MODULES(l));
    OK(c);
    CHECK(!rg_is_alive(rg_nn_forward(NULL, x)));
    fails(c, "nn.c:|rg_nn_forward|NULL");
    rg_nn_forward(m, rg_ones(c, RG_F32, RG_SHAPE(2, 5)));
    fails(c, "nn.c:|rg_linear|in net.0|5|4"); /* the user's line, and where in the model */
    rg_nn_forward(m, far);
    fails(c, "rg_nn_forward|another context");
    CHECK_EQ(rg_nn_add(m, "again", l), RG_EINVAL);
    fails(c, "rg_nn_add|has a parent already|\"0\"");
    CHECK_EQ(rg_nn_add(m, "k", k), RG_EINVAL);
    fails(c, "rg_nn_add|another context|rg_nn_to");
    CHECK_EQ(rg_nn_add(m, "none", NULL), RG_EINVAL);
    fails(c, "rg_nn_add|NULL");
    CHECK_EQ(rg_nn_add(m, "m", m), RG_EINVAL);
    fails(c, "its own child");
    rg_module *spare = rg_nn_flatten(c, 1);
    CHECK_EQ(rg_nn_add(m, "0", spare), RG_EINVAL);
    fails(c, "already has something called \"0\"");
    CHECK_EQ(rg_nn_add(m, "a.b", spare), RG_EINVAL);
    fails(c, "without a dot");
    CHECK_EQ(rg_nn_add(m, "", spare), RG_EINVAL);
    fails(c, "no name");
    CHECK(!rg_is_alive(rg_nn_param(l, "weight", x)));
    fails(c, "rg_nn_param|already has");
    CHECK(!rg_is_alive(rg_nn_param(l, "w2", far)));
    fails(c, "rg_nn_param|another context");
    CHECK(!rg_is_alive(rg_nn_param(l, "w3", rg_integer(c, RG_I64, 3))));
    fails(c, "float dtype");
    CHECK(!rg_nn_linear(c, 0, 3));
    fails(c, "nn.c:|rg_nn_linear|size of inputs is 0");
    CHECK(!rg_nn_conv2d(c, 4, 6, RG_SHAPE(3), .groups = 4));
    fails(c, "rg_nn_conv2d|4 channels in and 6 out|4 equal groups");
    CHECK(!rg_nn_conv2d(c, 4, 6, RG_SHAPE(3, 3, 3)));
    fails(c, "3 numbers; 1 or 2");
    CHECK(!rg_nn_attention(c, 8, 3));
    fails(c, "rg_nn_attention|3 heads");
    CHECK(!rg_nn_dropout(c, 1.5));
    fails(c, "rg_nn_dropout|1.5");
    CHECK(!rg_nn_groupnorm(c, 3, 4) && !rg_nn_linear(c, 1, 1)); /* an error stays */
    fails(c, "rg_nn_groupnorm");
    rg_nn_forward(rg_nn_module(c, NULL, NULL), x);
    fails(c, "rg_nn_forward|made without a function");
    CHECK(!rg_nn_sequential(c, RG_MODULES(NULL)));
    fails(c, "module 0 of the list is NULL");
    CHECK(!rg_nn_linear(NULL, 1, 1));
    rg_nn_forward(rg_nn_batchnorm(c, 4), rg_ones(c, RG_F32, RG_SHAPE(1, 4)));
    fails(c, "rg_nn_batchnorm|more than 1 value");
    rg_nn_forward(rg_nn_batchnorm(c, 3), x);
    fails(c, "rg_nn_batchnorm|(N, 3, ..)");
    CHECK_EQ(rg_nn_params(NULL).n, 0);
    CHECK(!rg_nn_is_training(NULL) && !rg_nn_ctx(NULL) && !rg_nn_user(NULL));
    CHECK_EQ(rg_close(other), 0);
    CHECK_EQ(rg_close(c), 0);
}
