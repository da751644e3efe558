/* Losses and norms by channels: how many kernels they take, forward and backward. Values are in values_ops.c. */
#include <ridge.h>
#include <test.h>

static uint64_t kernels_of(rg_ctx *c, rg_tensors xs) {
    rg_plan_stats s = {0};
    if (rg_schedule_stats(xs, &s)) FAIL("%s", rg_error(c));
    return s.kernels;
}

static rg_tensor data(rg_ctx *c, rg_dtype dt, rg_ints shape) { return rg_contiguous(rg_zeros(c, dt, shape)); }

static rg_ctx *open_null(void) {
    rg_ctx *c = rg_open("NULL");
    if (rg_status_of(c)) FAIL("%s", rg_error(c));
    return c;
}

/* Rows are picked by index inside the kernel that reduces them: no one-hot, no stored log-softmax. */
TEST(loss_cross_entropy_is_few_kernels) {
    rg_ctx *c = open_null();
    rg_tensor x = data(c, RG_F32, RG_SHAPE(512, 10)), t = data(c, RG_I64, RG_SHAPE(512)), g;
    rg_realize_all(RG_TENSORS(x, t));
    rg_tensor loss = rg_cross_entropy(x, t);
    rg_grad(loss, RG_TENSORS(x), &g);
    uint64_t forward = kernels_of(c, RG_TENSORS(loss)), both = kernels_of(c, RG_TENSORS(loss, g));
    TEST_INFO("cross entropy of (512, 10): %d kernels, with the gradient %d", (int)forward, (int)both);
    CHECK(forward <= 2);
    CHECK(both <= 3);
    CHECK_EQ(rg_close(c), 0);
}

/* Statistics of the batch in one pass over x, and one more that uses them. */
TEST(loss_batchnorm_is_few_kernels) {
    rg_ctx *c = open_null();
    rg_tensor x = data(c, RG_F32, RG_SHAPE(512, 32, 20, 20)), w = data(c, RG_F32, RG_SHAPE(32)),
              b = data(c, RG_F32, RG_SHAPE(32)), dy = data(c, RG_F32, RG_SHAPE(512, 32, 20, 20)), g[3];
    rg_realize_all(RG_TENSORS(x, w, b, dy));
    rg_tensor mean = rg_mean(x, RG_AXES(0, 2, 3)), var = rg_var(x, RG_AXES(0, 2, 3), .population = true);
    rg_tensor y = rg_relu(rg_batchnorm(x, mean, var, w, b));
    rg_grad(y, RG_TENSORS(x, w, b), g, .seed = dy);
    uint64_t stats = kernels_of(c, RG_TENSORS(mean, var)), forward = kernels_of(c, RG_TENSORS(y, mean, var));
    uint64_t both = kernels_of(c, RG_TENSORS(y, mean, var, g[0], g[1], g[2]));
    rg_realize_all(RG_TENSORS(mean, var));
    uint64_t back = kernels_of(c, RG_TENSORS(g[0], g[1], g[2]));
    TEST_INFO("batchnorm of (512, 32, 20, 20): statistics %d kernels, forward %d, backward %d, both %d",
              (int)stats, (int)forward, (int)back, (int)both);
    CHECK_EQ(stats, 1);
    CHECK(forward <= 2);
    CHECK(back <= 3);
    CHECK_EQ(rg_close(c), 0);
}
