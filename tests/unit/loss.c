/* Losses and norms by channels: how many kernels they take, forward and backward, and their words for misuse. Values are in
 * values_ops.c. */
#include "simgpu.h"

#include <ridge.h>
#include <stdlib.h>
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

/* On a GPU a block has a channel of all images, whose rows are short: nothing is split, and no statistics are combined. */
TEST(loss_batchnorm_of_images_on_a_gpu) {
    simgpu_add();
    rg_ctx *c = rg_open("SIM90");
    rg_ints shape = RG_SHAPE(64, 1024, 14, 14);
    void *zeros = calloc((size_t)64 * 1024 * 14 * 14, 2);
    rg_tensor x = rg_from(c, RG_BF16, zeros, shape), dy = rg_from(c, RG_BF16, zeros, shape), g;
    rg_tensor wide = rg_cast(x, RG_F32), mean = rg_mean(wide, RG_AXES(0, 2, 3)),
              var = rg_var(wide, RG_AXES(0, 2, 3), .population = true),
              y = rg_batchnorm(x, mean, var, RG_NONE, RG_NONE);
    rg_grad(y, RG_TENSORS(x), &g, .seed = dy);
    uint64_t stats = kernels_of(c, RG_TENSORS(mean, var)), both = kernels_of(c, RG_TENSORS(y, g));
    TEST_INFO("batchnorm of (64, 1024, 14, 14) on a GPU: statistics %d kernels, forward and backward %d",
              (int)stats, (int)both);
    CHECK_EQ(stats, 1);
    CHECK(both <= 3);
    CHECK_EQ(rg_close(c), 0);
    free(zeros);
}

static void refused(rg_ctx *c, rg_tensor x, const char *words) {
    CHECK(!rg_is_alive(x));
    if (!strstr(rg_error(c), words)) FAIL("\"%s\" does not say \"%s\"", rg_error(c), words);
    CHECK_EQ(rg_status_of(c), RG_EINVAL);
    CHECK_EQ(rg_clear_error(c), 0);
}

TEST(loss_words_for_misuse) {
    rg_ctx *c = open_null();
    rg_tensor x = data(c, RG_F32, RG_SHAPE(4, 3)), t = data(c, RG_I64, RG_SHAPE(3)),
              w = data(c, RG_F32, RG_SHAPE(4));
    refused(c, rg_cross_entropy(x, t),
            "rg_cross_entropy: classes of shape (3) for (4, 3); expected the same without the class axis, "
            "axis 1");
    refused(c, rg_cross_entropy(x, w),
            "targets of dtype f32 are probabilities and have the shape of the prediction, "
            "(4, 3); found (4) (classes are integers)");
    rg_tensor y = data(c, RG_I64, RG_SHAPE(4));
    refused(c, rg_cross_entropy(x, y, .weight = w),
            "a weight of shape (4); expected (3), one number for each class of (4, 3)");
    refused(c, rg_cross_entropy(x, y, .label_smoothing = 2),
            "label_smoothing of 2; expected a share, 0 to 1");
    refused(c, rg_cross_entropy(x, y, .reduction = (rg_reduction)7),
            "there is no reduction number 7; use RG_MEAN");
    refused(c, rg_nll_loss(x, y, .label_smoothing = 0.1), "this loss has no label_smoothing; leave it out");
    refused(c, rg_mse_loss(w, rg_unsqueeze(w, 1)),
            "a prediction of shape (4) and a target of (4, 1); expected one shape (reshape or expand one of "
            "them)");
    refused(c, rg_bce_with_logits(w, w, .pos_weight = rg_ones(c, RG_F32, RG_SHAPE(3))),
            "a pos_weight of shape (3); expected one that broadcasts to (4)");
    refused(c, rg_huber_loss(w, w, .delta = NAN), "delta of nan; expected a number above 0");
    refused(c, rg_groupnorm(x, 2, RG_NONE, RG_NONE),
            "2 groups of the 3 channels of (4, 3); expected a number that divides them");
    refused(c, rg_instancenorm(w, RG_NONE, RG_NONE), "a tensor of shape (4); expected (N, C, ..)");
    refused(c, rg_batchnorm(x, w, w, RG_NONE, RG_NONE),
            "the mean has shape (4); expected (3), one number for each channel of (4, 3)");
    refused(c, rg_batchnorm(x, RG_NONE, RG_NONE, RG_NONE, RG_NONE),
            "tensor 2 is RG_NONE; a tensor is needed here");
    refused(c, rg_norm(x, NAN), "a norm of order NaN");
    refused(c, rg_normalize(x, 2, 2), "axis 2");
    refused(c, rg_glu(x, 1),
            "glu splits axis 1 of shape (4, 3) in two, but its size is odd; expected an even one");
    refused(c, rg_celu(x, 0), "celu with alpha 0");
    refused(c, rg_logcumsumexp(x, 5), "axis 5");
    CHECK_EQ(rg_close(c), 0);
}

/* A sure answer has a small loss: nothing as large as the logit is added and taken away again. */
TEST(loss_of_sure_answers) {
    const float x[] = {-8.920273f, 9.5f, -30, 30, -2.5f, 0}, t[] = {0.001f, 0.999f, 0, 1, 0.25f, 0.5f};
    for (int weighted = 0; weighted < 2; weighted++) {
        rg_ctx *c = rg_open("REF");
        rg_tensor w = weighted ? rg_full(c, RG_F32, 3, RG_SHAPE()) : RG_NONE;
        float got[6];
        CHECK_EQ(
            rg_read(rg_bce_with_logits(rg_from(c, RG_F32, x, RG_SHAPE(6)), rg_from(c, RG_F32, t, RG_SHAPE(6)),
                                       .pos_weight = w, .reduction = RG_EACH),
                    got, sizeof got),
            0);
        for (int i = 0; i < 6; i++) {
            double a = x[i], p = t[i], k = weighted ? 3 : 1;
            double want = p * k * log1p(exp(-a)) + (1 - p) * log1p(exp(a));
            CHECK_NEAR(got[i] / want, 1, 5e-7);
        }
        CHECK_EQ(rg_close(c), 0);
    }
}
