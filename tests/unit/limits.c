/* Every public function that takes integers, with the least and greatest there are: a status, never a crash.
 * MODE=asan sees the overflow that a release build gets away with. */
#include <ridge.h>
#include <stdio.h>
#include <test.h>

#define BIG ((int64_t)1 << 31)

static const int64_t value[] = {
    INT64_MIN, INT64_MIN + 1, -BIG - 1,      -BIG,          -3,       -1, 0, 1, 2, 3, BIG - 1,
    BIG,       2 * BIG,       INT64_MAX / 2, INT64_MAX - 1, INT64_MAX};

struct at {
    rg_ctx *c;
    rg_tensor x, m, v, i, p; /* (2, 3, 4), (3, 3), (4), indices (2, 3, 4), planes (1, 2, 6, 6) */
    rg_tensor l, w, u;       /* (1, 2, 6), weights (2, 2, 3), (2, 2, 3, 3) */
    rg_tensor out[4];
};

struct row {
    const char *name;
    uint32_t n; /* integers that it takes */
    bool small; /* what comes out is read: at most as much as went in */
    rg_tensor (*fn)(struct at *, const int64_t *);
};

static rg_tensor of_status(rg_status s, rg_tensor t) { return s ? RG_NONE : t; }

static rg_tensor assigned(struct at *t, rg_range r) {
    rg_tensor y = rg_add(t->v, 1);
    return of_status(rg_assign_slice(y, 7, RG_SLICES(r)), y);
}

/* ROW: what comes out may be large and is not read; SMALL: it is. a, b, d: the integers. */
#define FN(name, expr)                                                \
    static rg_tensor do_##name(struct at *t, const int64_t *k) {      \
        __attribute__((unused)) int64_t a = k[0], b = k[1], d = k[2]; \
        __attribute__((unused)) rg_ctx *c = t->c;                     \
        return expr;                                                  \
    }
#define ROWS(ROW, SMALL)                                                                                  \
    ROW(zeros, 3, rg_zeros(c, RG_F32, RG_SHAPE(a, b, d)))                                                 \
    ROW(ones, 2, rg_ones(c, RG_I8, RG_SHAPE(a, b)))                                                       \
    ROW(full, 2, rg_full(c, RG_F64, 3, RG_SHAPE(a, b)))                                                   \
    ROW(linspace, 1, rg_linspace(c, RG_F32, 0, 1, a))                                                     \
    ROW(eye, 2, rg_eye(c, RG_F32, a, b))                                                                  \
    SMALL(integer, 1, rg_integer(c, RG_I64, a))                                                           \
    SMALL(index, 3, rg_index(c, a, b, d))                                                                 \
    ROW(rand, 2, rg_rand(c, RG_F32, RG_SHAPE(a, b)))                                                      \
    ROW(randn, 2, rg_randn(c, RG_F32, RG_SHAPE(a, b)))                                                    \
    ROW(uniform, 2, rg_uniform(c, RG_F32, 0, 1, RG_SHAPE(a, b)))                                          \
    ROW(normal, 2, rg_normal(c, RG_F32, 0, 1, RG_SHAPE(a, b)))                                            \
    SMALL(randint, 2, rg_randint(c, RG_I64, a, b, RG_SHAPE(4)))                                           \
    ROW(randint_shape, 2, rg_randint(c, RG_I64, 0, 5, RG_SHAPE(a, b)))                                    \
    ROW(randperm, 1, rg_randperm(c, RG_I64, a))                                                           \
    ROW(glorot, 2, rg_glorot_uniform(c, RG_F32, RG_SHAPE(a, b)))                                          \
    ROW(kaiming, 3, rg_kaiming_uniform(c, RG_F32, 0, RG_SHAPE(a, b, d)))                                  \
    ROW(kaiming_normal, 2, rg_kaiming_normal(c, RG_F32, 0, RG_SHAPE(a, b)))                               \
    ROW(multinomial, 1, rg_multinomial(t->v, a, true))                                                    \
    ROW(multinomial_once, 1, rg_multinomial(t->v, a, false))                                              \
    SMALL(reshape, 3, rg_reshape(t->x, RG_SHAPE(a, b, d)))                                                \
    SMALL(permute, 3, rg_permute(t->x, RG_AXES(a, b, d)))                                                 \
    SMALL(transpose, 2, rg_transpose(t->x, a, b))                                                         \
    ROW(expand, 2, rg_expand(rg_reshape(t->v, RG_SHAPE(4, 1)), RG_SHAPE(a, b)))                           \
    SMALL(slice, 3, rg_slice(t->v, RG_SLICES({.start = a, .stop = b, .step = d})))                        \
    SMALL(slice_rows, 3, rg_slice(t->x, RG_SLICES(RG_WHOLE, {.start = a, .stop = b, .step = d})))         \
    SMALL(window, 1, rg_slice(t->v, RG_SLICES(RG_WINDOW(rg_index(c, 0, 2, 1), a))))                       \
    SMALL(assign_slice, 3, assigned(t, (rg_range){.start = a, .stop = b, .step = d}))                     \
    SMALL(dim, 1, rg_integer(c, RG_I64, rg_dim(t->x, a)))                                                 \
    SMALL(narrow, 3, rg_narrow(t->x, a, b, d))                                                            \
    SMALL(select, 2, rg_select(t->x, a, b))                                                               \
    SMALL(flip, 2, rg_flip(t->x, RG_AXES(a, b)))                                                          \
    SMALL(squeeze, 1, rg_squeeze(rg_reshape(t->v, RG_SHAPE(1, 4)), a))                                    \
    SMALL(unsqueeze, 1, rg_unsqueeze(t->x, a))                                                            \
    SMALL(flatten, 2, rg_flatten(t->x, a, b))                                                             \
    ROW(pad, 3, rg_pad(t->x, RG_INTS(a, b, 0, d), 1))                                                     \
    ROW(pad_reflect, 2, rg_pad_with(t->l, RG_INTS(0, 0, 0, 0, a, b), RG_PAD_REFLECT))                     \
    ROW(pad_replicate, 2, rg_pad_with(t->l, RG_INTS(0, 0, 0, 0, a, b), RG_PAD_REPLICATE))                 \
    ROW(pad_circular, 2, rg_pad_with(t->l, RG_INTS(0, 0, 0, 0, a, b), RG_PAD_CIRCULAR))                   \
    SMALL(cat, 1, rg_cat(RG_TENSORS(t->x, t->x), a))                                                      \
    SMALL(stack, 1, rg_stack(RG_TENSORS(t->x, t->x), a))                                                  \
    ROW(repeat, 3, rg_repeat(t->x, RG_INTS(a, b, d)))                                                     \
    SMALL(unflatten, 3, rg_unflatten(t->x, a, RG_SHAPE(b, d)))                                            \
    SMALL(unfold, 3, rg_unfold(t->x, a, b, d))                                                            \
    SMALL(roll, 2, rg_roll(t->x, RG_INTS(a), RG_AXES(b)))                                                 \
    SMALL(roll_two, 2, rg_roll(t->x, RG_INTS(a, b), RG_AXES(0, 1)))                                       \
    ROW(repeat_interleave, 2, rg_repeat_interleave(t->x, a, b))                                           \
    SMALL(tril, 1, rg_tril(t->m, a))                                                                      \
    SMALL(triu, 1, rg_triu(t->m, a))                                                                      \
    ROW(diag, 1, rg_diag(t->v, a))                                                                        \
    SMALL(diag_of, 1, rg_diag(t->m, a))                                                                   \
    SMALL(diagonal, 3, rg_diagonal(t->x, a, b, d))                                                        \
    SMALL(split, 3, of_status(rg_split(t->x, a, RG_INTS(b, d), t->out), t->out[0]))                       \
    SMALL(chunk, 2, b > 4 ? RG_NONE : of_status(rg_chunk(t->x, a, b, t->out), t->out[0]))                 \
    SMALL(glu, 1, rg_glu(t->x, a))                                                                        \
    SMALL(sum, 2, rg_sum(t->x, .axes = RG_AXES(a, b)))                                                    \
    SMALL(max, 2, rg_max(t->x, .axes = RG_AXES(a, b)))                                                    \
    SMALL(var, 2, rg_var(t->x, .axes = RG_AXES(a, b), .keep = true))                                      \
    SMALL(logsumexp, 1, rg_logsumexp(t->x, .axes = RG_AXES(a)))                                           \
    SMALL(argmax, 1, rg_argmax(t->x, .axes = RG_AXES(a)))                                                 \
    SMALL(norm, 1, rg_norm(t->x, 2, .axes = RG_AXES(a)))                                                  \
    SMALL(cumsum, 1, rg_cumsum(t->x, a))                                                                  \
    SMALL(cumprod, 1, rg_cumprod(t->x, a))                                                                \
    SMALL(cummax, 1, rg_cummax(t->x, a))                                                                  \
    SMALL(logcumsumexp, 1, rg_logcumsumexp(t->x, a))                                                      \
    SMALL(softmax, 1, rg_softmax(t->x, a))                                                                \
    SMALL(log_softmax, 1, rg_log_softmax(t->x, a))                                                        \
    SMALL(groupnorm, 1, rg_groupnorm(t->l, a, RG_NONE, RG_NONE))                                          \
    SMALL(normalize, 1, rg_normalize(t->x, 2, a))                                                         \
    SMALL(sort, 1, rg_sort(t->x, a))                                                                      \
    SMALL(argsort, 1, rg_argsort(t->x, a))                                                                \
    SMALL(topk, 2, rg_topk(t->x, a, b))                                                                   \
    SMALL(topk_index, 2, rg_topk_index(t->x, a, b))                                                       \
    SMALL(gather, 1, rg_gather(t->x, a, t->i))                                                            \
    SMALL(take, 1, rg_take(t->x, a, t->i))                                                                \
    SMALL(scatter, 1, rg_scatter(t->x, a, t->i, t->x))                                                    \
    SMALL(scatter_add, 1, rg_scatter_add(t->x, a, t->i, t->x))                                            \
    SMALL(scatter_reduce, 1, rg_scatter_reduce(t->x, a, t->i, t->x, .how = RG_COMBINE_MAX))               \
    ROW(one_hot, 1, rg_one_hot(t->i, a))                                                                  \
    ROW(masked_select, 1, rg_masked_select(t->x, rg_gt(t->x, 0), a))                                      \
    ROW(nonzero, 1, rg_nonzero(t->x, a))                                                                  \
    ROW(conv1d, 3,                                                                                        \
        rg_conv1d(t->l, t->w, .stride = RG_INTS(a), .padding = RG_INTS(b), .dilation = RG_INTS(d)))       \
    ROW(conv1d_sides, 3, rg_conv1d(t->l, t->w, .padding = RG_INTS(a, b), .groups = d))                    \
    ROW(conv2d, 3,                                                                                        \
        rg_conv2d(t->p, t->u, .stride = RG_INTS(a), .padding = RG_INTS(b), .dilation = RG_INTS(1, d)))    \
    ROW(conv_transpose1d, 3,                                                                              \
        rg_conv_transpose1d(t->l, t->w, .stride = RG_INTS(a), .padding = RG_INTS(b),                      \
                            .dilation = RG_INTS(d)))                                                      \
    ROW(conv_transpose2d, 3,                                                                              \
        rg_conv_transpose2d(t->p, t->u, .stride = RG_INTS(a), .output_padding = RG_INTS(b), .groups = d)) \
    ROW(max_pool1d, 3, rg_max_pool1d(t->l, RG_SHAPE(a), .stride = RG_INTS(b), .padding = RG_INTS(d)))     \
    ROW(max_pool1d_ceil, 3,                                                                               \
        rg_max_pool1d(t->l, RG_SHAPE(a), .stride = RG_INTS(b), .dilation = RG_INTS(d), .ceil = true))     \
    ROW(max_pool2d, 2, rg_max_pool2d(t->p, RG_SHAPE(2), .padding = RG_INTS(a, b, a, b)))                  \
    ROW(max_pool2d_index, 3,                                                                              \
        rg_max_pool2d_index(t->p, RG_SHAPE(a), .stride = RG_INTS(b), .padding = RG_INTS(d)))              \
    ROW(max_unpool2d, 2, rg_max_unpool2d(t->p, rg_zeros(c, RG_I64, RG_SHAPE(1, 2, 6, 6)), a, b))          \
    ROW(avg_pool1d, 3,                                                                                    \
        rg_avg_pool1d(t->l, RG_SHAPE(a), .stride = RG_INTS(b), .padding = RG_INTS(d), .ceil = true))      \
    ROW(avg_pool2d, 3,                                                                                    \
        rg_avg_pool2d(t->p, RG_SHAPE(a), .dilation = RG_INTS(b), .padding = RG_INTS(d),                   \
                      .exclude_padding = true))                                                           \
    ROW(adaptive_avg_pool2d, 2, rg_adaptive_avg_pool2d(t->p, a, b))                                       \
    ROW(interpolate, 2, rg_interpolate(t->p, RG_SHAPE(a, b)))                                             \
    ROW(interpolate_linear, 2, rg_interpolate(t->p, RG_SHAPE(a, b), .mode = RG_RESIZE_LINEAR))            \
    SMALL(cross_entropy, 1,                                                                               \
          rg_cross_entropy(t->m, rg_cast(rg_slice(t->v, RG_SLICES(RG_TO(3))), RG_I64), .ignore_index = a))

#define ONE(name, n, expr) FN(name, expr)
ROWS(ONE, ONE)
#define LARGE_ROW(name, n, expr) {#name, n, false, do_##name},
#define SMALL_ROW(name, n, expr) {#name, n, true, do_##name},
static const struct row rows[] = {ROWS(LARGE_ROW, SMALL_ROW)};
#undef ONE

static void one_call(struct at *t, const struct row *r, const int64_t *k, uint32_t *good) {
    char text[4096];
    rg_scope s = rg_begin(t->c);
    rg_tensor y = r->fn(t, k);
    int64_t size = rg_status_of(t->c) ? -1 : y.id ? rg_size(y) : 0;
    if (size >= 0 && rg_bytes(y) <= (int64_t)sizeof text && r->small) rg_read(y, text, sizeof text);
    rg_status bad = rg_status_of(t->c);
    bool known = !bad || bad == RG_EINVAL || bad == RG_ELIMIT || bad == RG_EUNSUPPORTED;
    if (!known || size < -1)
        FAIL("%s(%lld, %lld, %lld): status %d, %lld elements: %s", r->name, (long long)k[0], (long long)k[1],
             (long long)k[2], bad, (long long)size, rg_error(t->c));
    *good += !bad;
    if (bad && rg_clear_error(t->c)) FAIL("%s: the error cannot be cleared", r->name);
    rg_end(s);
}

static void one_row(struct at *t, const struct row *r) {
    uint32_t m = sizeof value / sizeof *value, all = 1, good = 0;
    for (uint32_t i = 0; i < r->n; i++) all *= m;
    for (uint32_t n = 0; n < all; n++) {
        int64_t k[3] = {value[n % m], value[n / m % m], value[n / m / m % m]};
        one_call(t, r, k, &good);
    }
    if (!good) FAIL("%s: every integer is refused", r->name);
}

static void all_rows(uint32_t part, uint32_t parts) {
    rg_ctx *c = rg_open("REF");
    struct at t = {.c = c,
                   .x = rg_reshape(rg_arange(c, RG_F32, 0, 24, 1), RG_SHAPE(2, 3, 4)),
                   .m = rg_reshape(rg_arange(c, RG_F32, 0, 9, 1), RG_SHAPE(3, 3)),
                   .v = rg_arange(c, RG_F32, 0, 4, 1),
                   .i = rg_zeros(c, RG_I64, RG_SHAPE(2, 3, 4)),
                   .p = rg_reshape(rg_arange(c, RG_F32, 0, 72, 1), RG_SHAPE(1, 2, 6, 6)),
                   .l = rg_reshape(rg_arange(c, RG_F32, 0, 12, 1), RG_SHAPE(1, 2, 6)),
                   .w = rg_ones(c, RG_F32, RG_SHAPE(2, 2, 3)),
                   .u = rg_ones(c, RG_F32, RG_SHAPE(2, 2, 3, 3))};
    for (uint32_t i = part; i < sizeof rows / sizeof *rows; i += parts) {
        printf("row %s\n", rows[i].name);
        fflush(stdout);
        one_row(&t, &rows[i]);
    }
    CHECK_EQ(rg_close(c), 0);
}
/* Layers own memory: sizes here are wrong, nothing, or more than there can be. */
static const int64_t layer_size[] = {INT64_MIN, INT64_MIN + 1, -1, 0, 3, INT64_MAX - 1, INT64_MAX};

#define LAYERS(X)                                                         \
    X(linear, rg_nn_linear(c, a, b))                                      \
    X(conv1d, rg_nn_conv1d(c, a, b, RG_SHAPE(3)))                         \
    X(conv2d, rg_nn_conv2d(c, 3, a, RG_SHAPE(3), .groups = b))            \
    X(conv2d_size, rg_nn_conv2d(c, 3, 3, RG_SHAPE(a, b)))                 \
    X(conv_transpose2d, rg_nn_conv_transpose2d(c, a, 3, RG_SHAPE(b)))     \
    X(batchnorm, rg_nn_batchnorm(c, a))                                   \
    X(layernorm, rg_nn_layernorm(c, RG_SHAPE(a, b)))                      \
    X(groupnorm, rg_nn_groupnorm(c, a, b))                                \
    X(rmsnorm, rg_nn_rmsnorm(c, a))                                       \
    X(embedding, rg_nn_embedding(c, a, b))                                \
    X(attention, rg_nn_attention(c, a, b))                                \
    X(attention_kv, rg_nn_attention(c, 12, a, .kv_heads = b))             \
    X(max_pool2d, rg_nn_max_pool2d(c, RG_SHAPE(a), .stride = RG_INTS(b))) \
    X(flatten, rg_nn_flatten(c, a))
#define X(name, expr) \
    static rg_module *make_##name(rg_ctx *c, int64_t a, __attribute__((unused)) int64_t b) { return expr; }
LAYERS(X)
#undef X
#define X(name, expr) {#name, make_##name},
static const struct layer {
    const char *name;
    rg_module *(*make)(rg_ctx *, int64_t, int64_t);
} layers[] = {LAYERS(X)};
#undef X

TEST(limits_of_layers) {
    enum { M = sizeof layer_size / sizeof *layer_size };
    for (uint32_t n = 0; n < M * M * (sizeof layers / sizeof *layers); n++) {
        const struct layer *l = &layers[n / (M * M)];
        int64_t a = layer_size[n % M], b = layer_size[n / M % M];
        rg_ctx *c = rg_open("REF");
        rg_module *m = l->make(c, a, b);
        rg_status bad = rg_status_of(c);
        bool known = !bad || bad == RG_EINVAL || bad == RG_ELIMIT || bad == RG_ENOMEM;
        if (!known || !m != !!bad)
            FAIL("%s(%lld, %lld): status %d: %s", l->name, (long long)a, (long long)b, bad, rg_error(c));
        rg_clear_error(c);
        rg_close(c);
    }
}

TEST(limits_of_integers_0) { all_rows(0, 4); }
TEST(limits_of_integers_1) { all_rows(1, 4); }
TEST(limits_of_integers_2) { all_rows(2, 4); }
TEST(limits_of_integers_3) { all_rows(3, 4); }
