/* mnist_net.h: the network of examples/mnist.c again, for what measures it: bench/mnist_steps.c, tests/unit/mnist.c. The example
 * has its own, so that it can be read alone. */
#ifndef BENCH_MNIST_NET_H
#define BENCH_MNIST_NET_H

#include <ridge.h>

static rg_module *mnist_network(rg_ctx *c) {
    return rg_nn_sequential(
        c, RG_MODULES(rg_nn_conv2d(c, 1, 32, RG_SHAPE(5)), rg_nn_function(c, "relu", rg_relu),
                      rg_nn_conv2d(c, 32, 32, RG_SHAPE(5)), rg_nn_function(c, "relu", rg_relu),
                      rg_nn_batchnorm(c, 32), rg_nn_max_pool2d(c, RG_SHAPE(2)),
                      rg_nn_conv2d(c, 32, 64, RG_SHAPE(3)), rg_nn_function(c, "relu", rg_relu),
                      rg_nn_conv2d(c, 64, 64, RG_SHAPE(3)), rg_nn_function(c, "relu", rg_relu),
                      rg_nn_batchnorm(c, 64), rg_nn_max_pool2d(c, RG_SHAPE(2)), rg_nn_flatten(c, 1),
                      rg_nn_linear(c, 576, 10)));
}

#endif
