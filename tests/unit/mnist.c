/* mnist.c: what the training step of examples/mnist.c becomes: kernels and bytes, planned on the NULL device.
 *
 * The bytes that no plan can do without, counted by hand for a batch of 512 (MB; w written, r read by a kernel that cannot be the one
 * before, because it needs a whole reduction or is another contraction):
 *   a1 37.7: w, r conv2, r its filter's gradient, r relu's mask          151
 *   a2 26.2: w, r statistics, r normalise, r sums of the gradient, r it  131
 *   da2 26.2: w, r two gradients of conv2     79     da1 37.7: w, r       75
 *   a3 8.4: as a1   34     a4 4.7: as a2  24     their gradients     14 + 25
 *   pooled and its gradient 6.5: w, r twice each   39     images, the second pool, Adam   14
 * 586 MB in all. */
#include <ridge.h>
#include <test.h>

#include "../../bench/mnist_net.h"

struct trainer {
    rg_ctx *c;
    rg_module *net;
    rg_optim *optim;
};

static rg_status step(void *user, const rg_tensor *in, rg_tensor *out) {
    struct trainer *t = user;
    rg_tensor logits = rg_nn_forward(t->net, in[0]);
    out[0] = rg_cross_entropy(logits, in[1]);
    out[1] = rg_mean(rg_cast(rg_eq(rg_argmax(logits, RG_AXES(1)), in[1]), RG_F32));
    rg_backward(out[0]);
    return rg_optim_step(t->optim);
}

TEST(mnist_step_is_few_kernels_that_move_little) {
    rg_ctx *c = rg_open("NULL");
    struct trainer t = {.c = c, .net = mnist_network(c)};
    t.optim = rg_adam(rg_nn_params(t.net));
    rg_jit *j = rg_jit_new(c, step, &t, 2);
    rg_tensor x = rg_zeros(c, RG_F32, RG_SHAPE(512, 1, 28, 28)), y = rg_zeros(c, RG_I64, RG_SHAPE(512)),
              out[2];
    rg_jit_stats s;
    for (int i = 0; i < 3; i++)
        if (rg_jit_call(j, RG_TENSORS(x, y), out)) FAIL("%s", rg_error(c));
    CHECK_EQ(rg_jit_info(j, &s), 0);
    TEST_INFO("%llu kernels, %.1f GFLOP, %.3f GB: %.2f times what must move, %.2f times each value once",
              (unsigned long long)s.kernels, s.ops * 1e-9, s.bytes * 1e-9, s.bytes / 586e6,
              s.bytes / s.least);
    CHECK(s.kernels > 10 && s.kernels <= 45);
    CHECK(s.bytes <= 1.4 * 586e6);
    CHECK_EQ(rg_close(c), 0);
}
