/* conv.c: convolutions, pooling and resizing.
 * Tests: tests/unit/conv.c, values in tests/values/conv.txt */
#include "internal.h"

#pragma GCC diagnostic error "-Wmissing-prototypes"

#define AT const char *file, int line

static struct t_ints list_of(struct call *k, rg_ints l, const char *what) {
    if (l.n > 2 * SHAPE_MAX) call_fail(k, RG_ELIMIT, "%zu numbers for %s", l.n, what);
    if (l.n && !l.d) call_fail(k, RG_EINVAL, "the list for %s is NULL", what);
    return (struct t_ints){l.d, (uint32_t)l.n};
}

/* ---- convolution ---------------------------------------------------------------------------------------- */

static struct t_conv conv_of(struct call *k) {
    const rg_conv_opts *o = k->p;
    return (struct t_conv){
        .bias = k->u[2],
        .stride = list_of(k, o->stride, "stride"),
        .padding = list_of(k, o->padding, "padding"),
        .dilation = list_of(k, o->dilation, "dilation"),
        .output_padding = list_of(k, o->output_padding, "output padding"),
        .groups = o->groups,
    };
}

#define CONV(name, of, axes)                                                                               \
    static const uop *b_##name(struct call *k) {                                                           \
        struct t_conv o = conv_of(k);                                                                      \
        return of(k->g, k->u[0], k->u[1], axes, &o);                                                       \
    }                                                                                                      \
    rg_tensor rg_##name##_at(AT, rg_tensor x, rg_tensor weight, rg_conv_opts o) {                          \
        return call_tensor(CALL(name, .in = {TENSOR(x), TENSOR(weight), TENSOR(o.bias)}, .n = 3, .may = 4, \
                                .p = &o, .build = b_##name));                                              \
    }
CONV(conv1d, t_conv, 1)
CONV(conv2d, t_conv, 2)
CONV(conv3d, t_conv, 3)
CONV(conv_transpose1d, t_conv_transpose, 1)
CONV(conv_transpose2d, t_conv_transpose, 2)
CONV(conv_transpose3d, t_conv_transpose, 3)

/* ---- pooling -------------------------------------------------------------------------------------------- */

static struct t_pool pool_of(struct call *k) {
    const rg_pool_opts *o = k->p;
    return (struct t_pool){
        .size = list_of(k, o->size, "size"),
        .stride = list_of(k, o->stride, "stride"),
        .padding = list_of(k, o->padding, "padding"),
        .dilation = list_of(k, o->dilation, "dilation"),
        .ceil = o->ceil,
        .exclude_padding = o->exclude_padding,
    };
}

#define POOL(name, of, axes)                                                                   \
    static const uop *b_##name(struct call *k) {                                               \
        struct t_pool o = pool_of(k);                                                          \
        return of(k->g, k->u[0], axes, &o);                                                    \
    }                                                                                          \
    rg_tensor rg_##name##_at(AT, rg_tensor x, rg_pool_opts o) {                                \
        return call_tensor(CALL(name, .in = {TENSOR(x)}, .n = 1, .p = &o, .build = b_##name)); \
    }
POOL(max_pool1d, t_max_pool, 1)
POOL(max_pool2d, t_max_pool, 2)
POOL(max_pool3d, t_max_pool, 3)
POOL(max_pool2d_index, t_max_pool_index, 2)
POOL(avg_pool1d, t_avg_pool, 1)
POOL(avg_pool2d, t_avg_pool, 2)
POOL(avg_pool3d, t_avg_pool, 3)
