/* nn_state.c: modules in files, in other dtypes and on other contexts. */
#include "base/base.h"
#include "unit/layer_values.h"

#include <unistd.h>

#define OK(c) \
    if (rg_status_of(c)) FAIL("%s", rg_error(c))

static rg_tensor twice(rg_module *m, rg_tensor x, void *user) {
    *(int *)user += 1;
    rg_tensor y = rg_nn_forward(rg_nn_child(m, "net"), x);
    return rg_mul(y, rg_nn_get(m, "gain"));
}

static int uses;
static rg_module *small_net(rg_ctx *c) {
    rg_module *m = rg_nn_module(c, twice, &uses);
    rg_nn_param(m, "gain", rg_full(c, RG_F32, 2, RG_SHAPE(3)));
    rg_nn_add(m, "net",
              rg_nn_sequential(c, RG_MODULES(rg_nn_linear(c, 4, 6), rg_nn_batchnorm(c, 6),
                                             rg_nn_function(c, "relu", rg_relu), rg_nn_linear(c, 6, 3))));
    OK(c);
    return m;
}

static void temp_name(char *path) {
    strcpy(path, "/tmp/ridge-nn-XXXXXX");
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    close(fd);
}

/* All entries have the same bits. */
static void same_entries(rg_module *a, rg_module *b) {
    CHECK_EQ(rg_nn_entries(a), rg_nn_entries(b));
    for (size_t i = 0; i < rg_nn_entries(a); i++) {
        const char *x, *y;
        char p[1024], q[1024];
        rg_tensor s = rg_nn_entry(a, i, &x), t = rg_nn_entry(b, i, &y);
        CHECK_STR(x, y);
        CHECK_EQ(rg_dtype_of(s), rg_dtype_of(t));
        CHECK_EQ(rg_bytes(s), rg_bytes(t));
        CHECK_EQ(rg_read(s, p, sizeof p), 0);
        CHECK_EQ(rg_read(t, q, sizeof q), 0);
        if (memcmp(p, q, (size_t)rg_bytes(s))) FAIL("%s differs", x);
    }
}

TEST(nn_save_and_load) {
    char path[40];
    temp_name(path);
    rg_ctx *c = rg_open(NULL);
    rg_module *a = small_net(c), *b = small_net(c);
    rg_tensor x = rg_randn(c, RG_F32, RG_SHAPE(5, 4));
    rg_realize(rg_nn_forward(a, x)); /* running statistics that are not the first ones */
    CHECK_EQ(rg_nn_save(a, path), 0);
    CHECK_EQ(rg_nn_load(b, path, false), 0);
    same_entries(a, b);
    rg_nn_train(a, false), rg_nn_train(b, false);
    CHECK_NEAR(rg_item(rg_max(rg_abs(rg_sub(rg_nn_forward(a, x), rg_nn_forward(b, x))))), 0, 0);
    CHECK_NEAR(rg_item(rg_nn_get(b, "net.1.num_batches_tracked")), 1, 0);
    rg_file *f = rg_file_open(c, path);
    CHECK_EQ(rg_file_count(f), rg_nn_entries(a));
    rg_tensor w = rg_file_get(f, "net.0.weight");
    CHECK_EQ(rg_dim(w, 1), 4);
    rg_file_close(f);
    remove(path);
    CHECK_EQ(rg_close(c), 0);
}

/* One message names all that does not fit, and nothing is changed. */
TEST(nn_load_says_all_that_is_wrong) {
    char path[40];
    temp_name(path);
    rg_ctx *c = rg_open(NULL);
    rg_module *a = rg_nn_sequential(c, RG_MODULES(rg_nn_linear(c, 4, 6), rg_nn_linear(c, 6, 3)));
    rg_module *b = rg_nn_sequential(
        c, RG_MODULES(rg_nn_linear(c, 4, 6), rg_nn_linear(c, 6, 2, .no_bias = true), rg_nn_linear(c, 1, 1)));
    CHECK_EQ(rg_nn_save(a, path), 0);
    double before = rg_item(rg_sum(rg_nn_get(b, "0.weight")));
    CHECK_EQ(rg_nn_load(b, path, false), RG_EINVAL);
    const char *const words[] = {"nn_state.c:",
                                 "rg_nn_load",
                                 "1.weight has shape (2, 6) here and (3, 6) in the file",
                                 "2.weight is missing in the file",
                                 "2.bias is missing in the file",
                                 "1.bias is in the file only",
                                 "partial"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strstr(rg_error(c), words[i])) FAIL("the error is\n%s\nexpected \"%s\"", rg_error(c), words[i]);
    rg_clear_error(c);
    CHECK_NEAR(rg_item(rg_sum(rg_nn_get(b, "0.weight"))), before, 0);
    CHECK_EQ(rg_nn_load(b, path, true), RG_EINVAL); /* a wrong shape is wrong all the same */
    CHECK(strstr(rg_error(c), "1.weight") && !strstr(rg_error(c), "missing"));
    rg_clear_error(c);
    rg_module *part = rg_nn_sequential(c, RG_MODULES(rg_nn_linear(c, 4, 6)));
    CHECK_EQ(rg_nn_load(part, path, true), 0);
    CHECK_NEAR(rg_item(rg_sum(rg_nn_get(part, "0.weight"))), rg_item(rg_sum(rg_nn_get(a, "0.weight"))), 0);
    CHECK_EQ(rg_nn_load(a, "/nonexistent/file", false), RG_EIO);
    rg_clear_error(c);
    CHECK_EQ(rg_nn_save(NULL, path), RG_EINVAL);
    CHECK_EQ(rg_nn_load(NULL, path, false), RG_EINVAL);
    CHECK_EQ(rg_nn_save(rg_nn_flatten(c, 1), path), RG_EINVAL);
    CHECK(strstr(rg_error(c), "nothing to save"));
    rg_clear_error(c);
    remove(path);
    CHECK_EQ(rg_close(c), 0);
}

TEST(nn_to_another_context) {
    rg_ctx *c = rg_open("CPU"), *r = rg_open("REF");
    rg_module *a = small_net(c);
    rg_nn_train(a, false);
    rg_module *b = rg_nn_to(a, r);
    if (!b) FAIL("%s", rg_error(r));
    CHECK(rg_nn_ctx(b) == r && rg_nn_user(b) == &uses && !rg_nn_is_training(b));
    same_entries(a, b);
    CHECK_EQ(rg_nn_params(a).n, rg_nn_params(b).n);
    rg_tensor x = rg_randn(c, RG_F32, RG_SHAPE(5, 4));
    rg_tensor there = rg_nn_forward(b, rg_copy_to(r, x)), back = rg_copy_to(c, there);
    uses = 0;
    CHECK(rg_item(rg_max(rg_abs(rg_sub(rg_nn_forward(a, x), back)))) < 1e-5);
    CHECK_EQ(uses, 1);
    rg_assign(rg_nn_get(b, "gain"), 0); /* nothing is shared */
    CHECK_NEAR(rg_item(rg_sum(rg_nn_get(a, "gain"))), 6, 0);
    CHECK(!rg_nn_to(NULL, r));
    CHECK_EQ(rg_clear_error(r), 0);
    CHECK_EQ(rg_close(r), 0);
    CHECK_EQ(rg_close(c), 0);
}

/* Handles stay what they are; whole numbers stay whole. */
TEST(nn_cast) {
    rg_ctx *c = rg_open(NULL);
    rg_module *m = small_net(c);
    rg_tensor w = rg_nn_get(m, "net.0.weight");
    double sum = rg_item(rg_sum(w));
    CHECK_EQ(rg_nn_cast(m, RG_BF16), 0);
    CHECK_EQ(rg_nn_get(m, "net.0.weight").id, w.id);
    CHECK_EQ(rg_dtype_of(w), RG_BF16);
    CHECK_EQ(rg_dtype_of(rg_nn_get(m, "net.1.num_batches_tracked")), RG_I64);
    CHECK_NEAR(rg_item(rg_sum(rg_cast(w, RG_F32))), sum, 0.02);
    rg_tensor x = rg_cast(rg_randn(c, RG_F32, RG_SHAPE(5, 4)), RG_BF16);
    rg_tensor y = rg_nn_forward(m, x);
    CHECK_EQ(rg_dtype_of(y), RG_BF16);
    rg_backward(rg_sum(y));
    CHECK_EQ(rg_dtype_of(rg_param_grad(w)), RG_BF16);
    rg_optim *o = rg_adam(rg_nn_params(m), .lr = 0.1); /* state of 16-bit parameters is F32 */
    CHECK_EQ(rg_dtype_of(rg_optim_entry(o, 0, NULL)), RG_F32);
    double before = rg_item(rg_sum(rg_cast(w, RG_F32)));
    CHECK_EQ(rg_optim_step(o), 0);
    CHECK(fabs(rg_item(rg_sum(rg_cast(w, RG_F32))) - before) > 0.1);
    CHECK_EQ(rg_dtype_of(w), RG_BF16);
    CHECK_EQ(rg_nn_cast(m, RG_F64), 0);
    CHECK_EQ(rg_dtype_of(w), RG_F64);
    CHECK_EQ(rg_nn_cast(m, RG_I32), RG_EINVAL);
    CHECK_EQ(rg_nn_cast(NULL, RG_F32), RG_EINVAL);
    rg_clear_error(c);
    CHECK_EQ(rg_close(c), 0);
}

/* ---- a whole model ---------------------------------------------------------------------------------------------- */

/* Convolutions, batch norms and pooling learn something, and nothing grows. */
TEST_SLOW(nn_trains_a_small_convolution, 300) {
    rg_ctx *c = rg_open(NULL);
    rg_seed(c, 1);
    rg_module *m =
        rg_nn_sequential(c, RG_MODULES(rg_nn_conv2d(c, 1, 4, RG_SHAPE(3)), rg_nn_batchnorm(c, 4),
                                       rg_nn_function(c, "relu", rg_relu), rg_nn_max_pool2d(c, RG_SHAPE(2)),
                                       rg_nn_flatten(c, 1), rg_nn_linear(c, 36, 2)));
    rg_optim *o = rg_adam(rg_nn_params(m), .lr = 0.02);
    /* is the left half brighter than the right one? */
    rg_tensor x = rg_randn(c, RG_F32, RG_SHAPE(64, 1, 8, 8));
    rg_realize(x);
    rg_tensor left = rg_sum(rg_narrow(x, 3, 0, 4), RG_AXES(1, 2, 3)),
              right = rg_sum(rg_narrow(x, 3, 4, 4), RG_AXES(1, 2, 3));
    rg_tensor y = rg_cast(rg_gt(left, right), RG_I64);
    rg_realize(y);
    rg_free(left), rg_free(right);
    double first = 0, last = 0;
    rg_usage u[2];
    for (int i = 0; i < 60; i++) {
        RG_SCOPE(c);
        rg_tensor loss = rg_cross_entropy(rg_nn_forward(m, x), y);
        rg_backward(loss);
        rg_optim_step(o);
        last = rg_item(loss);
        OK(c);
        if (!i) first = last;
        if (i == 5 || i == 59) rg_stats(c, &u[i == 59]);
    }
    CHECK(last < 0.3 * first);
    CHECK_EQ(u[0].bytes, u[1].bytes);
    CHECK_EQ(u[0].handles, u[1].handles);
    CHECK_EQ(u[0].nodes, u[1].nodes);
    CHECK_EQ(u[1].cached - u[0].cached, 54); /* every later step is the plan of an earlier one */
    rg_nn_train(m, false);
    rg_tensor hits = rg_eq(rg_argmax(rg_nn_forward(m, x), RG_AXES(1)), y);
    CHECK(rg_item(rg_sum(hits)) > 55);
    CHECK_EQ(rg_close(c), 0);
}

/* ---- memory that runs out --------------------------------------------------------------------------------------- */

static bool build_all(rg_ctx *c) {
    rg_module *m = rg_nn_sequential(
        c, RG_MODULES(rg_nn_linear(c, 4, 3), rg_nn_function(c, "relu", rg_relu), rg_nn_batchnorm(c, 3)));
    rg_optim *o = rg_adam(rg_nn_params(m));
    rg_tensor x = rg_ones(c, RG_F32, RG_SHAPE(2, 4));
    rg_backward(rg_sum(rg_nn_forward(m, x)));
    rg_optim_step(o);
    return !rg_status_of(c) && m && o && rg_nn_entries(m) == 7;
}

/* Whichever allocation fails, the answer is an error, and closing frees all. */
TEST_SLOW(nn_survives_every_failed_allocation, 300) {
    int64_t failed = 0, before = 0;
    bool ok = false;
    for (int64_t n = -1; n <= 0 || !ok; n++, failed++) { /* first one that goes well: it makes what lasts */
        rg_ctx *c = rg_open("NULL");
        mem_fail_at(n);
        ok = build_all(c);
        mem_fail_at(-1);
        CHECK(ok || rg_status_of(c) == RG_ENOMEM);
        CHECK(ok || n >= 0);
        rg_close(c);
        if (n < 0) before = mem_live();
        if (mem_live() != before)
            FAIL("allocation %lld: %lld are left over", (long long)n, (long long)(mem_live() - before));
    }
    TEST_COUNT(failed - 2, "allocations failed in turn");
    CHECK(failed > 50);
}
