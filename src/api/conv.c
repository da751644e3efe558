/* conv.c: convolutions, pooling and resizing.
 * Tests: tests/unit/conv.c, values in tests/values/conv.txt */
#include "internal.h"

#pragma GCC diagnostic error "-Wmissing-prototypes"

#define AT const char *file, int line

static struct t_ints list_of(struct api_call *k, rg_ints l, const char *what) {
    if (l.n > 2 * SHAPE_MAX) call_fail(k, RG_ELIMIT, "%zu numbers for %s", l.n, what);
    if (l.n && !l.d) call_fail(k, RG_EINVAL, "the list for %s is NULL", what);
    return (struct t_ints){l.d, (uint32_t)l.n};
}

/* ---- convolution ---------------------------------------------------------------------------------------- */

static struct t_conv conv_of(struct api_call *k) {
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
    static const uop *b_##name(struct api_call *k) {                                                       \
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

static struct t_pool pool_of(struct api_call *k) {
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
    static const uop *b_##name(struct api_call *k) {                                           \
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

static const uop *b_max_unpool2d(struct api_call *k) {
    return t_max_unpool(k->g, k->u[0], k->u[1], k->i[0], k->i[1]);
}
rg_tensor rg_max_unpool2d_at(AT, rg_tensor x, rg_tensor index, int64_t h, int64_t w) {
    return call_tensor(
        CALL(max_unpool2d, .in = {TENSOR(x), TENSOR(index)}, .n = 2, .i = {h, w}, .build = b_max_unpool2d));
}

static const uop *b_adaptive_avg_pool2d(struct api_call *k) {
    return t_adaptive_avg_pool(k->g, k->u[0], k->i, 2);
}
rg_tensor rg_adaptive_avg_pool2d_at(AT, rg_tensor x, int64_t h, int64_t w) {
    return call_tensor(
        CALL(adaptive_avg_pool2d, .in = {TENSOR(x)}, .n = 1, .i = {h, w}, .build = b_adaptive_avg_pool2d));
}

/* ---- other sizes ------------------------------------------------------------------------------------------ */

static const uop *b_interpolate(struct api_call *k) {
    static const enum t_resize_mode modes[] = {[RG_RESIZE_NEAREST] = T_RESIZE_NEAREST,
                                               [RG_RESIZE_NEAREST_EXACT] = T_RESIZE_NEAREST_EXACT,
                                               [RG_RESIZE_LINEAR] = T_RESIZE_LINEAR};
    const rg_resize_opts *o = k->p;
    struct t_ints size = list_of(k, k->ints, "sizes");
    if ((unsigned)o->mode >= RG_COUNT(modes))
        call_fail(k, RG_EINVAL, "there is no mode number %d; use RG_RESIZE_NEAREST ..", (int)o->mode);
    return t_interpolate(k->g, k->u[0], size.d, size.n, modes[o->mode], o->align_corners);
}
rg_tensor rg_interpolate_at(AT, rg_tensor x, rg_ints size, rg_resize_opts o) {
    return call_tensor(
        CALL(interpolate, .in = {TENSOR(x)}, .n = 1, .ints = size, .p = &o, .build = b_interpolate));
}

static const uop *b_pad_with(struct api_call *k) {
    static const enum t_pad_mode modes[] = {[RG_PAD_CONSTANT] = T_PAD_CONSTANT,
                                            [RG_PAD_REFLECT] = T_PAD_REFLECT,
                                            [RG_PAD_REPLICATE] = T_PAD_REPLICATE,
                                            [RG_PAD_CIRCULAR] = T_PAD_CIRCULAR};
    struct t_ints pairs = list_of(k, k->ints, "padding");
    if (pairs.n % 2)
        call_fail(k, RG_EINVAL, "padding is given as pairs, before and after each axis; found %u numbers",
                  pairs.n);
    if ((uint64_t)k->i[0] >= RG_COUNT(modes))
        call_fail(k, RG_EINVAL, "there is no mode number %d; use RG_PAD_REFLECT ..", (int)k->i[0]);
    return t_pad_with(k->g, k->u[0], pairs.d, pairs.n / 2, modes[k->i[0]]);
}
rg_tensor rg_pad_with_at(AT, rg_tensor x, rg_ints before_after, rg_pad_mode mode) {
    return call_tensor(CALL(pad_with, .in = {TENSOR(x)}, .n = 1, .ints = before_after, .i = {(int64_t)mode},
                            .build = b_pad_with));
}

static const uop *b_unfold(struct api_call *k) { return t_unfold(k->g, k->u[0], k->i[0], k->i[1], k->i[2]); }
rg_tensor rg_unfold_at(AT, rg_tensor x, int64_t axis, int64_t size, int64_t step) {
    return call_tensor(
        CALL(unfold, .in = {TENSOR(x)}, .n = 1, .i = {axis, size, step}, .view = true, .build = b_unfold));
}
