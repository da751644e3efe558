/* Values and gradients of the front end, through the oracle (ref_graph).
 *
 * Every function is differentiated and compared with finite differences in float64, and its gradient once more. The
 * points where a choice has to be made (ties, corners, zeros) are tested by value, accuracy near 0 against libm. */
#include "irtest.h"
#include "ref/ref.h"
#include "tensor/internal.h"
#include "tensor/tensor.h"

enum { BUFS = 6, MOST = 64 };
struct fix {
    struct ir_test t;
    struct tg g;
    double data[BUFS][MOST]; /* what BUFFER i holds, as doubles */
    const uop *buf[BUFS];
    int64_t var[2];
    uint32_t n;
};

static void open_fix(struct fix *f) {
    memset(f, 0, sizeof *f);
    ir_test_open(&f->t);
    tg_init(&f->g, &f->t.ir, &f->t.arena);
}
static void close_fix(struct fix *f) { ir_test_close(&f->t); }

#define D(...) (int64_t[]){__VA_ARGS__}, (uint32_t)RG_COUNT(((int64_t[]){__VA_ARGS__}))

static const uop *add_buf(struct fix *f, enum dtype dt, const int64_t *d, uint32_t n) {
    CHECK(f->n < BUFS);
    return f->buf[f->n] = t_buffer(&f->g, dt, d, n, f->n), f->buf[f->n++];
}

static int64_t size_of(struct fix *f, const uop *n) { return shape_size(tg_shape(&f->g, n)); }

/* Evaluates nodes and gives their elements, one after the other, as doubles. */
static void eval(struct fix *f, const uop *const *nodes, uint32_t n, double *out) {
    struct ref_buf bufs[BUFS] = {0};
    struct ref_tensor r[8];
    struct arena a;
    arena_init(&a, &f->t.err);
    for (uint32_t i = 0; i < f->n; i++) {
        enum dtype dt = (enum dtype)f->buf[i]->dt;
        int64_t m = size_of(f, f->buf[i]);
        bufs[i] = (struct ref_buf){.p = arena_alloc(&a, (size_t)m * 8 + 8),
                                   .bytes = (size_t)m * dtype_info[dt].bytes};
        for (int64_t k = 0; k < m; k++) {
            union ref_val v = {.i = (int64_t)f->data[i][k]};
            if (dt_is_float(dt)) v.f = ref_round(dt, f->data[i][k]);
            ref_write(dt, (char *)bufs[i].p + k * dtype_info[dt].bytes, v);
        }
    }
    const uop *graph = uop_new(&f->t.ir, OP_GRAPH, DT_VOID, 1, nodes, n, ARG_NONE);
    if (ref_graph(&f->t.err, &a, &f->t.ir, graph, bufs, f->n, f->var, false, 0, r)) FAIL("%s", f->t.err.msg);
    for (uint32_t i = 0; i < n; i++)
        for (int64_t k = 0; k < shape_size(r[i].shape); k++)
            *out++ =
                ref_number(r[i].dt, ref_read(r[i].dt, (char *)r[i].data + k * dtype_info[r[i].dt].bytes));
    arena_free(&a);
}

static double eval1(struct fix *f, const uop *n) {
    double v;
    CHECK_EQ(size_of(f, n), 1);
    eval(f, &n, 1, &v);
    return v;
}

/* ---- finite differences ------------------------------------------------------------------------------------ */

/* A number that depends on every element of n in its own way. */
static const uop *mix(struct fix *f, const uop *n) {
    struct tg *g = &f->g;
    const struct shape *s = tg_shape(g, n);
    const uop *w =
        t_sin(g, t_add(g, t_arange(g, DT_F64, 1, (double)shape_size(s) + 1, 1), t_number(g, DT_F64, 0.3)));
    return t_sum(g, t_mul(g, n, t_reshape(g, w, s->d, s->n)), NULL, 0, false);
}

static void compare(struct fix *f, const char *name, int order, const uop *of, const uop *const *wrt,
                    uint32_t n) {
    const uop *grad[BUFS];
    double got[BUFS * MOST];
    t_grad(&f->g, of, NULL, wrt, n, grad);
    eval(f, grad, n, got);
    const double *at = got;
    for (uint32_t i = 0; i < n; i++) {
        CHECK(tg_shape(&f->g, grad[i]) == tg_shape(&f->g, wrt[i]));
        CHECK_EQ(grad[i]->dt, wrt[i]->dt);
        double *x = f->data[wrt[i]->arg.i];
        for (int64_t k = 0; k < size_of(f, wrt[i]); k++, at++) {
            double keep = x[k], h = 1e-5, up, down;
            x[k] = keep + h, up = eval1(f, of);
            x[k] = keep - h, down = eval1(f, of);
            x[k] = keep;
            double want = (up - down) / (2 * h);
            if (!(fabs(*at - want) <= 2e-6 * (1 + fabs(want))))
                FAIL("%s, order %d: gradient %u[%lld] is %.12g, finite differences give %.12g", name, order,
                     i, (long long)k, *at, want);
        }
    }
}

/* First and second order. */
static void differentiate(struct fix *f, const char *name, const uop *y, const uop *const *wrt, uint32_t n) {
    const uop *of = mix(f, y), *grad[BUFS];
    compare(f, name, 1, of, wrt, n);
    t_grad(&f->g, of, NULL, wrt, n, grad);
    const uop *sum = mix(f, grad[0]);
    for (uint32_t i = 1; i < n; i++) sum = t_add(&f->g, sum, mix(f, grad[i]));
    compare(f, name, 2, sum, wrt, n);
}

static const uop *k_(struct fix *f, double v) { return t_number(&f->g, DT_F64, v); }

static const uop *box_assign(struct fix *f, const uop *to, const uop *v, const uop *row, int64_t size) {
    struct ir *ir = &f->t.ir;
    const uop *src[] = {
        to, v, row, uop_idx(ir, size), uop_idx(ir, 1), uop_idx(ir, 0), uop_idx(ir, 2), uop_idx(ir, 2)};
    return uop_new(ir, OP_ASSIGN, DT_F64, 1, src, 8, ARG_NONE);
}

static const uop *op3(struct fix *f, enum op op, const uop *a, const uop *b, const uop *c) {
    return uop3(&f->t.ir, op, a, b, c);
}

static const uop *pad_by(struct fix *f, const uop *x, const uop *v) {
    int64_t num[] = {1, 0, 2, 0, 1, 1};
    const uop *src[8] = {x, v};
    for (int i = 0; i < 6; i++) src[2 + i] = uop_idx(&f->t.ir, num[i]);
    return uop_new(&f->t.ir, OP_PAD, DT_F64, 1, src, 8, ARG_NONE);
}

static const uop *scan_min(struct fix *f, const uop *x) {
    return uop_new(&f->t.ir, OP_SCAN_AXIS, DT_F64, 1, (const uop *[]){x, uop_idx(&f->t.ir, 1)}, 2,
                   ARG_INT(OP_MIN));
}

/* x, y: (2, 3); r: (3); s: (); i: i32 indices 0 1 of shape (2, 3); v: an idx variable, 1 now. */
/* clang-format off */
/*    name          from   to    expression */
#define CASES(X)                                                                                               \
    X(neg,          -2,    2,    t_neg(g, x))                                                                  \
    X(add,          -2,    2,    t_add(g, x, r))                                                               \
    X(sub,          -2,    2,    t_sub(g, r, x))                                                               \
    X(mul,          -2,    2,    t_mul(g, t_mul(g, x, y), t_mul(g, r, s)))                                     \
    X(square,       -2,    2,    t_square(g, x))                                                               \
    X(div,          0.5,   2,    t_div(g, t_div(g, x, r), t_div(g, s, y)))                                     \
    X(fma,          -2,    2,    op3(f, OP_FMA, x, y, s))                                                   \
    X(recip,        0.5,   2,    t_recip(g, x))                                                                \
    X(sqrt,         0.5,   2,    t_sqrt(g, x))                                                                 \
    X(rsqrt,        0.5,   2,    t_rsqrt(g, x))                                                                \
    X(abs,          -2,    2,    t_abs(g, x))                                                                  \
    X(sign,         -2,    2,    t_mul(g, t_sign(g, x), y))                                                    \
    X(floor,        -2,    2,    t_mul(g, t_floor(g, x), y))                                                   \
    X(exp,          -2,    2,    t_exp(g, x))                                                                  \
    X(exp2,         -2,    2,    t_exp2(g, x))                                                                 \
    X(expm1,        -2,    2,    t_expm1(g, x))                                                                \
    X(log,          0.5,   2,    t_log(g, x))                                                                  \
    X(log2,         0.5,   2,    t_log2(g, x))                                                                 \
    X(log10,        0.5,   2,    t_log10(g, x))                                                                \
    X(log1p,        -0.5,  2,    t_log1p(g, x))                                                                \
    X(sin,          -2,    2,    t_sin(g, x))                                                                  \
    X(cos,          -2,    2,    t_cos(g, x))                                                                  \
    X(tan,          -1,    1,    t_tan(g, x))                                                                  \
    X(sinh,         -2,    2,    t_sinh(g, x))                                                                 \
    X(cosh,         -2,    2,    t_cosh(g, x))                                                                 \
    X(tanh,         -2,    2,    t_tanh(g, x))                                                                 \
    X(asin,         -0.9,  0.9,  t_asin(g, x))                                                                 \
    X(acos,         -0.9,  0.9,  t_acos(g, x))                                                                 \
    X(atan,         -3,    3,    t_atan(g, x))                                                                 \
    X(erf,          -2,    2,    t_erf(g, x))                                                                  \
    X(relu,         -2,    2,    t_mul(g, t_relu(g, x), t_relu(g, x)))                                         \
    X(relu6,        -2,    9,    t_mul(g, t_relu6(g, x), x))                                                   \
    X(sigmoid,      -2,    2,    t_sigmoid(g, x))                                                              \
    X(logsigmoid,   -2,    2,    t_logsigmoid(g, x))                                                           \
    X(silu,         -2,    2,    t_silu(g, x))                                                                 \
    X(gelu,         -2,    2,    t_gelu(g, x))                                                                 \
    X(gelu_tanh,    -2,    2,    t_gelu_tanh(g, x))                                                            \
    X(softplus,     -2,    2,    t_softplus(g, x))                                                             \
    X(mish,         -2,    2,    t_mish(g, x))                                                                 \
    X(hardswish,    -4,    4,    t_hardswish(g, x))                                                            \
    X(softsign,     -2,    2,    t_softsign(g, x))                                                             \
    X(leaky_relu,   -2,    2,    t_mul(g, x, t_leaky_relu(g, x, 0.1)))                                         \
    X(elu,          -2,    2,    t_elu(g, x, 1.5))                                                             \
    X(hardtanh,     -2,    2,    t_mul(g, y, t_hardtanh(g, x, -1, 1)))                                         \
    X(mod,          0.5,   2,    t_mod(g, t_mul(g, x, k_(f, 7)), y))                                           \
    X(fmod,         -2,    -0.5, t_fmod(g, t_mul(g, x, k_(f, 7)), y))                                          \
    X(floordiv,     0.5,   2,    t_mul(g, y, t_floordiv(g, x, y)))                                             \
    X(pow,          0.5,   2,    t_pow(g, x, y))                                                               \
    X(pow_0,        0.5,   2,    t_mul(g, y, t_pow(g, x, k_(f, 0))))                                           \
    X(pow_2,        -2,    2,    t_pow(g, x, k_(f, 2)))                                                        \
    X(pow_3,        -2,    2,    t_pow(g, x, k_(f, 3)))                                                        \
    X(pow_4,        -2,    2,    t_pow(g, x, k_(f, 4)))                                                        \
    X(pow_half,     0.5,   2,    t_pow(g, x, k_(f, -1.5)))                                                     \
    X(pow_of_2,     0.5,   2,    t_pow(g, k_(f, 2), x))                                                        \
    X(maximum,      -2,    2,    t_mul(g, x, t_maximum(g, x, r)))                                              \
    X(minimum,      -2,    2,    t_mul(g, x, t_minimum(g, x, r)))                                              \
    X(copysign,     -2,    2,    t_mul(g, x, t_copysign(g, x, y)))                                             \
    X(logaddexp,    -2,    2,    t_logaddexp(g, x, r))                                                         \
    X(where,        -2,    2,    t_where(g, t_lt(g, x, y), t_mul(g, x, x), t_mul(g, y, s)))                    \
    X(rare,         -2,    2,    op3(f, OP_UNLIKELY, t_lt(g, x, y), t_mul(g, x, x), t_mul(g, y, y)))               \
    X(clamp,        -2,    2,    t_mul(g, t_clamp(g, x, s, y), x))                                             \
    X(lerp,         -2,    2,    t_lerp(g, x, y, r))                                                           \
    X(detach,       -2,    2,    t_mul(g, t_mul(g, y, y), t_detach(g, t_cast(g, t_lt(g, y, x), DT_F64))))      \
    X(contiguous,   -2,    2,    t_square(g, t_contiguous(g, t_exp(g, x))))                                    \
    X(cast,         -2,    2,    t_cast(g, t_mul(g, x, t_cast(g, t_lt(g, x, y), DT_F64)), DT_F64))             \
    X(reshape,      -2,    2,    t_square(g, t_reshape(g, x, D(3, 2))))                                        \
    X(permute,      -2,    2,    t_square(g, t_permute(g, t_reshape(g, x, D(2, 1, 3)), D(2, 0, 1))))           \
    X(expand,       -2,    2,    t_exp(g, t_expand(g, t_unsqueeze(g, x, 1), D(2, 2, 4, 3))))                   \
    X(windows,      -2,    2,    t_square(g, t_windows(g, x, (int64_t[]){2}, (int64_t[]){1}, (int64_t[]){1}, 1)))  \
    X(windows_2d,   -2,    2,    t_exp(g, t_windows(g, x, (int64_t[]){2, 2}, (int64_t[]){1, 1}, (int64_t[]){1, 2}, 2))) \
    X(windows_far,  -2,    2,    t_exp(g, t_windows(g, x, (int64_t[]){1}, (int64_t[]){2}, (int64_t[]){1}, 1)))  \
    X(convolution,  -2,    2,    conv(g, x, y))                                                                \
    X(conv_strided, -2,    2,    t_conv(g, t_reshape(g, x, D(1, 1, 6)), t_reshape(g, y, D(2, 1, 3)), 1, &strided)) \
    X(conv_back,    -2,    2,    t_conv_transpose(g, t_reshape(g, x, D(1, 2, 3)), t_reshape(g, y, D(2, 1, 3)), 1, &strided)) \
    X(max_pool,     -2,    2,    t_square(g, t_max_pool(g, t_reshape(g, x, D(1, 1, 6)), 1, &overlapping)))    \
    X(avg_pool,     -2,    2,    t_exp(g, t_avg_pool(g, t_reshape(g, x, D(1, 1, 6)), 1, &overlapping)))       \
    X(interpolate,  -2,    2,    t_exp(g, t_interpolate(g, t_reshape(g, x, D(1, 2, 3)), D(5), T_RESIZE_LINEAR, false))) \
    X(nearest,      -2,    2,    t_exp(g, t_interpolate(g, t_reshape(g, x, D(1, 2, 3)), D(5), T_RESIZE_NEAREST, false))) \
    X(adaptive,     -2,    2,    t_exp(g, t_adaptive_avg_pool(g, t_reshape(g, x, D(1, 1, 6)), D(4))))         \
    X(pad_reflect,  -2,    2,    t_exp(g, t_pad_with(g, x, (int64_t[]){0, 1, 2, 1}, 2, T_PAD_REFLECT)))       \
    X(inlined,      -2,    2,    t_inline(g, t_exp(g, x)))                                                     \
    X(grad_stored,  -2,    2,    t_square(g, uop1(g->ir, OP_GRAD_STORED, t_exp(g, x))))                        \
    X(via,          -2,    2,    t_grad_through(g, t_square(g, x), t_mul(g, t_add(g, x, t_number(g, DT_F64, 1)), t_sub(g, x, t_number(g, DT_F64, 1)))))\
    X(flip,         -2,    2,    t_square(g, t_flip(g, x, D(1))))                                              \
    X(pad,          -2,    2,    t_exp(g, t_pad(g, x, (int64_t[]){1, 2, -1, 1}, 2, 0.5)))                      \
    X(pad_value,    -2,    2,    t_exp(g, pad_by(f, x, s)))                                                    \
    X(slice,        -2,    2,    t_exp(g, t_slice(g, x, (struct t_slice[]){{0, 1, 1, NULL}, {2, T_END, -2, NULL}}, 2))) \
    X(slice_var,    -2,    2,    t_exp(g, t_slice(g, t_cat(g, (const uop *[]){x, y}, 2, 0), (struct t_slice[]){{0, 2, 2, v}, {1, 3, 1, NULL}}, 2))) \
    X(slice_empty,  -2,    2,    t_add(g, y, t_sum(g, t_exp(g, t_slice(g, x, (struct t_slice[]){{1, 1, 1, NULL}}, 1)), NULL, 0, false))) \
    X(cat,          -2,    2,    t_square(g, t_cat(g, (const uop *[]){x, t_unsqueeze(g, r, 0), y}, 3, 0)))     \
    X(stack,        -2,    2,    t_square(g, t_stack(g, (const uop *[]){x, y}, 2, 1)))                         \
    X(repeat,       -2,    2,    t_square(g, t_repeat(g, x, D(2, 3))))                                         \
    X(assign_all,   -2,    2,    t_exp(g, uop2(&f->t.ir, OP_ASSIGN, x, t_mul(g, y, y))))                       \
    X(assign_box,   -2,    2,    t_exp(g, box_assign(f, x, t_slice(g, t_mul(g, y, y), (struct t_slice[]){{0, 1, 1, NULL}, {0, 2, 1, NULL}}, 2), uop_idx(&f->t.ir, 1), 1))) \
    X(assign_var,   -2,    2,    t_exp(g, box_assign(f, x, t_slice(g, t_mul(g, y, y), (struct t_slice[]){{0, 1, 1, NULL}, {0, 2, 1, NULL}}, 2), v, 1))) \
    X(sum,          -2,    2,    t_exp(g, t_sum(g, x, D(0), false)))                                           \
    X(prod,         -2,    2,    t_prod(g, t_stack(g, (const uop *[]){x, y}, 2, 0), D(0, 2), false))           \
    X(max,          -2,    2,    t_square(g, t_max(g, x, D(1), true)))                                         \
    X(min,          -2,    2,    t_square(g, t_min(g, x, NULL, 0, false)))                                     \
    X(mean,         -2,    2,    t_exp(g, t_mean(g, x, D(1), true)))                                           \
    X(var,          -2,    2,    t_var(g, x, D(1), false, 1))                                                  \
    X(std,          -2,    2,    t_std(g, x, NULL, 0, false, 0))                                               \
    X(logsumexp,    -2,    2,    t_logsumexp(g, x, D(0), false))                                               \
    X(softmax,      -2,    2,    t_softmax(g, x, 1))                                                           \
    X(log_softmax,  -2,    2,    t_log_softmax(g, x, 0))                                                       \
    X(layernorm,    -2,    2,    t_layernorm(g, x, r, t_mul(g, r, s), 1, 1e-5))                                \
    X(rmsnorm,      -2,    2,    t_rmsnorm(g, x, r, 1e-5))                                                     \
    X(cumsum,       -2,    2,    t_exp(g, t_cumsum(g, x, 0)))                                                  \
    X(decayed,      -2,    2,    tg_decayed(g, x, y, 0))                                                       \
    X(cumprod,      -2,    2,    t_cumprod(g, t_stack(g, (const uop *[]){x, y, x}, 3, 0), 0))                  \
    X(cummax,       -2,    2,    t_square(g, t_cummax(g, x, 1)))                                               \
    X(cummin,       -2,    2,    t_square(g, scan_min(f, x)))                                                  \
    X(matmul,       -2,    2,    t_matmul(g, x, t_transpose(g, y, 0, 1)))                                      \
    X(matvec,       -2,    2,    t_matmul(g, x, r))                                                            \
    X(outer,        -2,    2,    t_outer(g, r, t_exp(g, r)))                                                   \
    X(linear,       -2,    2,    t_linear(g, x, t_mul(g, y, y), t_sum(g, y, D(1), false)))                     \
    X(gather,       -2,    2,    t_square(g, t_gather(g, x, 0, i)))                                            \
    X(take,         -2,    2,    t_square(g, t_take(g, r, 0, i)))                                              \
    X(scatter_add,  -2,    2,    t_square(g, t_scatter_add(g, x, 1, i, y)))
/* clang-format on */

/* x (2, 3) as two channels, y as two filters of 3 x 1 .. no padding: windows, product, sum. */
static const uop *conv(struct tg *g, const uop *x, const uop *y) {
    const uop *w = t_windows(g, t_unsqueeze(g, x, 0), (int64_t[]){2}, (int64_t[]){1}, (int64_t[]){1}, 1);
    const uop *k =
        t_slice(g, t_unsqueeze(g, y, 2), (struct t_slice[]){{0, T_END, 1, NULL}, {0, 2, 1, NULL}}, 2);
    /* (1, channel, o, tap) by (filter, 1 .. tap) */
    const uop *filters = t_reshape(g, k, D(2, 1, 1, 2));
    return t_sum(g, t_mul(g, w, filters), D(1, 3), false);
}

static const struct t_conv strided = {.stride = {(int64_t[]){2}, 1}, .padding = {(int64_t[]){2}, 1}};
static const struct t_pool overlapping = {
    .size = {(int64_t[]){3}, 1}, .stride = {(int64_t[]){2}, 1}, .padding = {(int64_t[]){1}, 1}};

struct op_case {
    const char *name;
    double lo, hi;
    const uop *(*make)(struct fix *, struct tg *, const uop *x, const uop *y, const uop *r, const uop *s,
                       const uop *i, const uop *v);
};
#define X(name, lo, hi, expr)                                                                            \
    static const uop *make_##name(struct fix *f, struct tg *g, const uop *x, const uop *y, const uop *r, \
                                  const uop *s, const uop *i, const uop *v) {                            \
        (void)f, (void)g, (void)x, (void)y, (void)r, (void)s, (void)i, (void)v;                          \
        return expr;                                                                                     \
    }
CASES(X)
#undef X
static const struct op_case cases[] = {
#define X(name, lo, hi, expr) {#name, lo, hi, make_##name},
    CASES(X)
#undef X
};

struct run {
    struct fix f;
    const struct op_case *c;
};

static void run_case(void *arg) {
    struct run *run = arg;
    struct fix *f = &run->f;
    struct rnd rnd = {.s = 7};
    const uop *in[4] = {add_buf(f, DT_F64, D(2, 3)), add_buf(f, DT_F64, D(2, 3)), add_buf(f, DT_F64, D(3)),
                        add_buf(f, DT_F64, NULL, 0)};
    const uop *i = add_buf(f, DT_I32, D(2, 3)), *v = test_var(&f->t.ir, DT_IDX, 0, "v", 0, 1);
    f->var[0] = 1;
    for (int b = 0; b < 4; b++)
        for (int k = 0; k < 6; k++)
            f->data[b][k] =
                run->c->lo + (run->c->hi - run->c->lo) * ((double)(rnd_next(&rnd) >> 11) * 0x1p-53);
    for (int k = 0; k < 6; k++) f->data[4][k] = k % 2;
    differentiate(f, run->c->name, run->c->make(f, &f->g, in[0], in[1], in[2], in[3], i, v), in, 4);
}

/* Casts of floats cast back what flows; bits read as another float pass nothing on, and are no error. */
static void casts_and_bits(void) {
    struct fix f;
    open_fix(&f);
    const uop *x = add_buf(&f, DT_F16, D(2)), *d;
    t_grad(&f.g, t_sum(&f.g, t_bitcast(&f.g, x, DT_BF16), NULL, 0, false), NULL, &x, 1, &d);
    CHECK(d == t_full(&f.g, t_number(&f.g, DT_F16, 0), D(2)));
    const uop *y = t_mul(&f.g, t_cast(&f.g, x, DT_F32), t_cast(&f.g, x, DT_F64));
    double v[2];
    f.data[0][0] = 3, f.data[0][1] = -0.5;
    t_grad(&f.g, t_sum(&f.g, y, NULL, 0, false), NULL, &x, 1, &d);
    CHECK_EQ(d->dt, DT_F16);
    eval(&f, &d, 1, v);
    CHECK(v[0] == 6 && v[1] == -1);
    close_fix(&f);
}

struct once {
    struct fix f;
    const uop *x, *d;
};

static void twice(void *arg) {
    struct once *o = arg;
    t_grad(&o->f.g, t_sum(&o->f.g, t_square(&o->f.g, o->d), NULL, 0, false), NULL, &o->x, 1, &o->d);
}

/* ONCE_DIFF passes on what flows, and what flows has no gradient: an error, whether or not anything would come of it. */
static void only_once(void) {
    struct once o;
    open_fix(&o.f);
    double v[2];
    o.x = add_buf(&o.f, DT_F64, D(2));
    o.f.data[0][0] = 3, o.f.data[0][1] = -0.5;
    const uop *y = t_square(&o.f.g, uop1(&o.f.t.ir, OP_ONCE_DIFF, t_square(&o.f.g, o.x)));
    t_grad(&o.f.g, t_sum(&o.f.g, y, NULL, 0, false), NULL, &o.x, 1, &o.d);
    eval(&o.f, &o.d, 1, v);
    CHECK(v[0] == 4 * 27 && v[1] == -0.5);
    CHECK_EQ(err_guard(&o.f.t.err, twice, &o), RG_EUNSUPPORTED);
    close_fix(&o.f);
}

/* Every rule of the set `grad` takes part, and every case is right to second order. */
TEST_SLOW(tensor_grad_finite_differences, 240) {
    for (size_t c = 0; c < RG_COUNT(cases); c++) {
        struct run run = {.c = &cases[c]};
        open_fix(&run.f);
        if (err_guard(&run.f.t.err, run_case, &run)) FAIL("%s: %s", cases[c].name, run.f.t.err.msg);
        close_fix(&run.f);
    }
    casts_and_bits();
    only_once();
    unsigned rules = 0;
    for (unsigned r = 0; r < rule_count; r++)
        if (!strcmp(rule_info[r].set, "grad")) {
            rules++;
            if (!rule_hits(r)) FAIL("no case uses rule %s", rule_info[r].name);
        }
    CHECK(rules > 40);
    TEST_COUNT(RG_COUNT(cases), "functions differentiated twice");
}

/* ---- where a choice is made: corners, ties, zeros -------------------------------------------------------------- */

/* The gradient of sum(y) with respect to buffer 0, whose elements are given. */
static void grad_at(struct fix *f, const uop *y, double *out) {
    const uop *x = f->buf[0], *d;
    t_grad(&f->g, t_sum(&f->g, y, NULL, 0, false), NULL, &x, 1, &d);
    eval(f, &d, 1, out);
}

#define CHECK_GRAD(expr, ...)                                                                   \
    do {                                                                                        \
        double got_[MOST], want_[] = {__VA_ARGS__};                                             \
        grad_at(&f, expr, got_);                                                                \
        for (size_t i_ = 0; i_ < RG_COUNT(want_); i_++) CHECK_NEAR(got_[i_], want_[i_], 1e-12); \
    } while (0)
#define CHECK_VALUE(expr, ...)                                                                  \
    do {                                                                                        \
        const uop *n_ = (expr);                                                                 \
        double got_[MOST], want_[] = {__VA_ARGS__};                                             \
        CHECK_EQ(size_of(&f, n_), RG_COUNT(want_));                                             \
        eval(&f, &n_, 1, got_);                                                                 \
        for (size_t i_ = 0; i_ < RG_COUNT(want_); i_++) CHECK_NEAR(got_[i_], want_[i_], 1e-12); \
    } while (0)

static const uop *given(struct fix *f, const double *v, uint32_t n) {
    const uop *x = add_buf(f, DT_F64, D(n));
    memcpy(f->data[f->n - 1], v, n * sizeof *v);
    return x;
}
#define GIVEN(...) given(&f, (double[]){__VA_ARGS__}, (uint32_t)RG_COUNT(((double[]){__VA_ARGS__})))

TEST(tensor_grad_corners) {
    struct fix f;
    open_fix(&f);
    struct tg *g = &f.g;
    const uop *x = GIVEN(0, -1, 1, 6, NAN);
    CHECK_GRAD(t_relu(g, x), 0, 0, 1, 1, 1);
    CHECK_GRAD(t_relu6(g, x), 0, 0, 1, 0, 1);
    CHECK_GRAD(t_abs(g, x), 0, -1, 1, 1);
    CHECK_GRAD(t_clamp(g, x, k_(&f, -1), k_(&f, 1)), 1, 1, 1, 0, 1);
    CHECK_GRAD(t_hardtanh(g, x, -1, 1), 1, 0, 0, 0);
    CHECK_GRAD(t_leaky_relu(g, x, 0.1), 0.1, 0.1, 1, 1);
    CHECK_GRAD(t_elu(g, x, 2), 2, 2 * exp(-1), 1, 1);
    CHECK_GRAD(t_softplus(g, x), 0.5, 1 / (1 + exp(1)), 1 / (1 + exp(-1)));
    CHECK_GRAD(t_maximum(g, x, k_(&f, 1)), 0, 0, 0.5, 1);
    CHECK_GRAD(t_minimum(g, x, k_(&f, 1)), 1, 1, 0.5, 0);
    CHECK_GRAD(t_sqrt(g, t_mul(g, x, x)), NAN, -1, 1); /* inf * 0, as in PyTorch */
    CHECK_GRAD(t_sqrt(g, x), INFINITY, NAN, 0.5);
    CHECK_GRAD(t_sign(g, x), 0, 0, 0);
    CHECK_GRAD(t_pow(g, x, k_(&f, 0)), 0, 0, 0, 0, 0);
    CHECK_GRAD(t_pow(g, x, k_(&f, 0.5)), INFINITY, NAN, 0.5);
    CHECK_GRAD(t_pow(g, k_(&f, 0), x), 0, -INFINITY, 0, 0);
    CHECK_GRAD(t_pow(g, x, x), 0, NAN, 1);
    CHECK_GRAD(t_atan(g, x), 1, 0.5, 0.5, 1.0 / 37);
    CHECK_GRAD(t_acos(g, x), -1, -INFINITY, -INFINITY, NAN);
    CHECK_GRAD(t_asin(g, x), 1, INFINITY, INFINITY, NAN);
    close_fix(&f);
}

TEST(tensor_grad_ties_and_zeros) {
    struct fix f;
    open_fix(&f);
    struct tg *g = &f.g;
    const uop *x = GIVEN(3, 1, 3, 0, 3);
    CHECK_GRAD(t_max(g, x, NULL, 0, false), 1.0 / 3, 0, 1.0 / 3, 0, 1.0 / 3);
    CHECK_GRAD(t_min(g, x, NULL, 0, false), 0, 0, 0, 1, 0);
    CHECK_GRAD(t_prod(g, x, NULL, 0, false), 0, 0, 0, 27, 0);
    CHECK_GRAD(t_cumprod(g, x, 0), 1 + 1 + 3, 3 + 9, 3, 9 + 27, 0);
    CHECK_GRAD(t_cummax(g, x, 0), 2, 0, 2, 0, 1); /* the latest of equals, as in PyTorch */
    CHECK_GRAD(t_std(g, t_mul(g, x, k_(&f, 0)), NULL, 0, false, 1), 0, 0, 0, 0, 0);
    CHECK_GRAD(t_logaddexp(g, x, k_(&f, 3)), 0.5, 1 / (1 + exp(2)), 0.5, 1 / (1 + exp(3)), 0.5);
    f.data[0][1] = 0; /* two zeros: nothing flows to first order, but to second it does */
    CHECK_GRAD(t_prod(g, x, NULL, 0, false), 0, 0, 0, 0, 0);
    const uop *d;
    t_grad(g, t_prod(g, x, NULL, 0, false), NULL, &x, 1, &d);
    CHECK_GRAD(d, 0, 27, 0, 27, 0);
    close_fix(&f);
}

/* Large and infinite arguments: no NaN where the limit is a number. */
TEST(tensor_grad_no_overflow) {
    struct fix f;
    open_fix(&f);
    struct tg *g = &f.g;
    const double inf = INFINITY;
    const uop *x = GIVEN(1000, -1000, inf, -inf);
    CHECK_VALUE(t_softplus(g, x), 1000, 0, inf, 0);
    CHECK_GRAD(t_softplus(g, x), 1, 0, 1, 0);
    CHECK_VALUE(t_logsigmoid(g, x), 0, -1000, 0, -inf);
    CHECK_GRAD(t_logsigmoid(g, x), 0, 1, 0, 1);
    CHECK_VALUE(t_logaddexp(g, x, k_(&f, 1000)), 1000 + log(2), 1000, inf, 1000);
    CHECK_VALUE(t_logaddexp(g, x, x), 1000 + log(2), -1000 + log(2), inf, -inf);
    CHECK_GRAD(t_elu(g, x, 1), 1, 0, 1, 0);
    CHECK_VALUE(t_expm1(g, x), inf, -1, inf, -1);
    CHECK_GRAD(t_expm1(g, x), inf, 0, inf, 0);
    CHECK_VALUE(t_log1p(g, x), log(1001), NAN, inf, NAN);
    CHECK_GRAD(t_atan(g, x), 1 / (1 + 1e6), 1 / (1 + 1e6), 0, 0);
    CHECK_VALUE(t_atan(g, x), atan(1000), -atan(1000), M_PI_2, -M_PI_2);
    CHECK_VALUE(t_sinh(g, x), inf, -inf, inf, -inf);
    CHECK_VALUE(t_logsumexp(g, x, NULL, 0, false), inf);
    CHECK_VALUE(t_logsumexp(g, GIVEN(-inf, -inf), NULL, 0, false), -inf);
    CHECK_VALUE(t_logsumexp(g, GIVEN(1000, 1000), NULL, 0, false), 1000 + log(2));
    CHECK_VALUE(t_softmax(g, GIVEN(1000, -1000, 1000), 0), 0.5, 0, 0.5);
    CHECK_VALUE(t_log_softmax(g, f.buf[3], 0), -log(2), -2000 - log(2), -log(2));
    close_fix(&f);
}

/* ---- values ------------------------------------------------------------------------------------------------------- */

TEST(tensor_values_nan_and_zero) {
    struct fix f;
    open_fix(&f);
    struct tg *g = &f.g;
    const uop *x = GIVEN(2, NAN, -3, NAN, 2), *y = GIVEN(-0.0, 0, 5, -5);
    CHECK_VALUE(t_max(g, x, NULL, 0, false), NAN);
    CHECK_VALUE(t_argmax(g, x, 0, false), 1);
    CHECK_VALUE(t_argmin(g, x, 0, false), 1);
    CHECK_VALUE(t_argmax(g, GIVEN(1, 3, 3, 0), 0, false), 1);
    CHECK_VALUE(t_argmin(g, f.buf[2], T_END, false), 3);
    CHECK_VALUE(t_sign(g, x), 1, NAN, -1, NAN, 1);
    CHECK_VALUE(t_relu(g, x), 2, NAN, 0, NAN, 2);
    CHECK_VALUE(t_clamp(g, x, k_(&f, 0), NULL), 2, NAN, 0, NAN, 2);
    CHECK_VALUE(
        t_clamp(g, k_(&f, 1), t_squeeze(g, t_slice(g, x, (struct t_slice[]){{1, 2, 1, NULL}}, 1), 0), NULL),
        NAN);
    CHECK_VALUE(t_isnan(g, x), 0, 1, 0, 1, 0);
    CHECK_VALUE(t_copysign(g, k_(&f, 3), y), -3, 3, 3, -3);
    double c[9];
    const uop *cat = t_cat(g, (const uop *[]){y, x}, 2, 0);
    eval(&f, &cat, 1, c);
    CHECK(signbit(c[0]) && c[0] == 0 && !signbit(c[1]) && c[1] == 0 && isnan(c[5]) && c[6] == -3);
    CHECK_VALUE(t_mean(g, t_slice(g, x, (struct t_slice[]){{0, 0, 1, NULL}}, 1), NULL, 0, false), NAN);
    CHECK_VALUE(t_var(g, k_(&f, 3), NULL, 0, false, 1), NAN);
    CHECK_VALUE(t_any(g, x, NULL, 0, false), 1);
    CHECK_VALUE(t_all(g, y, NULL, 0, false), 0);
    close_fix(&f);
}

TEST(tensor_values_division) {
    struct fix f;
    open_fix(&f);
    struct tg *g = &f.g;
    const uop *a = add_buf(&f, DT_I32, D(5)), *b = add_buf(&f, DT_I32, D(5));
    const double x[] = {7, -7, 7, -7, 5}, y[] = {3, 3, -3, -3, 0};
    memcpy(f.data[0], x, sizeof x), memcpy(f.data[1], y, sizeof y);
    CHECK_VALUE(t_floordiv(g, a, b), 2, -3, -3, 2, 0);
    CHECK_VALUE(t_mod(g, a, b), 1, 2, -2, -1, 0);
    CHECK_VALUE(t_fmod(g, a, b), 1, -1, 1, -1, 0);
    CHECK_VALUE(t_pow(g, a, t_int(g, DT_I32, 3)), 343, -343, 343, -343, 125);
    CHECK_VALUE(t_pow(g, a, b), 343, -343, 0, 0, 1);
    CHECK_VALUE(t_pow(g, a, t_int(g, DT_I32, 0)), 1, 1, 1, 1, 1);
    CHECK_VALUE(t_pow(g, a, t_int(g, DT_I32, -1)), 0, 0, 0, 0, 0);
    CHECK_VALUE(t_pow(g, t_int(g, DT_I32, -1), b), -1, -1, -1, -1, 1);
    const uop *c = GIVEN(7.5, -7.5, 7.5, -7.5, 1, 1e17), *d = GIVEN(2, 2, -2, -2, INFINITY, 3);
    CHECK_VALUE(t_fmod(g, c, d), 1.5, -1.5, 1.5, -1.5, 1, fmod(1e17, 3));
    CHECK_VALUE(t_mod(g, c, d), 1.5, 0.5, -0.5, -1.5, 1, fmod(1e17, 3));
    CHECK_VALUE(t_floordiv(g, c, d), 3, -4, -4, 3, 0, floor(1e17 / 3));
    CHECK_VALUE(t_floordiv(g, k_(&f, 1), k_(&f, 0)), INFINITY);
    /* a quotient that rounds up to a whole number */
    CHECK_VALUE(t_fmod(g, GIVEN(1), k_(&f, 0.1)), fmod(1, 0.1));
    CHECK_VALUE(t_floordiv(g, f.buf[4], k_(&f, 0.1)), 9);
    close_fix(&f);
}

TEST(tensor_values_sequences) {
    struct fix f;
    open_fix(&f);
    struct tg *g = &f.g;
    CHECK_VALUE(t_arange(g, DT_I64, 5, -1, -2), 5, 3, 1);
    CHECK_VALUE(t_arange(g, DT_F64, 0, 1, 0.25), 0, 0.25, 0.5, 0.75);
    CHECK_VALUE(t_linspace(g, DT_F64, 0, 1, 5), 0, 0.25, 0.5, 0.75, 1);
    CHECK_VALUE(t_eye(g, DT_F32, 2, 3), 1, 0, 0, 0, 1, 0);
    CHECK_VALUE(t_repeat(g, GIVEN(1, 2), D(2, 2)), 1, 2, 1, 2, 1, 2, 1, 2);
    CHECK_VALUE(t_slice(g, t_arange(g, DT_I32, 0, 10, 1), (struct t_slice[]){{-2, 1, -3, NULL}}, 1), 8, 5, 2);
    /* rounded once: 0.1f, and not a sum of roundings */
    double v[1000];
    const uop *r = t_arange(g, DT_F32, 0, 100, 0.1);
    eval(&f, &r, 1, v);
    for (int i = 0; i < 1000; i++) CHECK(v[i] == (double)(float)(0.1 * i));
    close_fix(&f);
}

/* Built functions against libm, in units of the last place of float32. */
static void accuracy(const char *name, const uop *(*fn)(struct tg *, const uop *), double (*exact)(double),
                     double lo, double hi, double limit) {
    struct fix f;
    open_fix(&f);
    const uop *x = add_buf(&f, DT_F32, D(MOST)), *y = fn(&f.g, x);
    double got[MOST], worst = 0, at = 0;
    struct rnd rnd = {.s = 11};
    for (int round = 0; round < 60; round++) {
        for (int i = 0; i < MOST; i++) { /* all magnitudes down to 2^-40 of the interval */
            double u = (double)(rnd_next(&rnd) >> 11) * 0x1p-53, e = ldexp(1, -(int)rnd_below(&rnd, 40));
            f.data[0][i] =
                (double)(float)(round % 2 ? lo + (hi - lo) * u : (rnd_below(&rnd, 2) ? hi : lo) * u * e);
        }
        eval(&f, &y, 1, got);
        for (int i = 0; i < MOST; i++) {
            double want = exact(f.data[0][i]), ulp = ldexp(1, RG_MAX(ilogb(want), -126) - 23);
            double off = want == 0 ? fabs(got[i]) / 0x1p-149 : fabs(got[i] - want) / ulp;
            if (off > worst) worst = off, at = f.data[0][i];
        }
    }
    if (!(worst <= limit)) FAIL("%s: off by %.2f ulp at %.9g, expected at most %.1f", name, worst, at, limit);
    close_fix(&f);
}

static double softplus_exact(double x) { return x > 30 ? x : log1p(exp(x)); }
static double logsigmoid_exact(double x) { return -softplus_exact(-x); }

/* Derivatives that autodiff makes of a built function may cancel where its value does not. */
static const uop *derivative(struct tg *g, const uop *x, const uop *y, int order) {
    for (; order; order--) t_grad(g, t_sum(g, y, NULL, 0, false), NULL, &x, 1, &y);
    return y;
}
static const uop *sinh_2(struct tg *g, const uop *x) { return derivative(g, x, t_sinh(g, x), 2); }
static const uop *cosh_1(struct tg *g, const uop *x) { return derivative(g, x, t_cosh(g, x), 1); }
static const uop *asinh_2(struct tg *g, const uop *x) { return derivative(g, x, t_asinh(g, x), 2); }
static const uop *atanh_2(struct tg *g, const uop *x) { return derivative(g, x, t_atanh(g, x), 2); }
static double asinh_2_exact(double x) { return -x / pow(1 + x * x, 1.5); }
static double atanh_2_exact(double x) { return 2 * x / ((1 - x * x) * (1 - x * x)); }

TEST(tensor_grad_accuracy_near_zero) {
    accuracy("sinh''", sinh_2, sinh, -3, 3, 16);
    accuracy("cosh'", cosh_1, sinh, -3, 3, 16);
    accuracy("asinh''", asinh_2, asinh_2_exact, -3, 3, 16);
    accuracy("atanh''", atanh_2, atanh_2_exact, -0.9, 0.9, 32);
}

TEST(tensor_values_accuracy) {
    accuracy("expm1", t_expm1, expm1, -3, 3, 4);
    accuracy("log1p", t_log1p, log1p, -0.9, 3, 3);
    accuracy("sinh", t_sinh, sinh, -3, 3, 5);
    accuracy("asin", t_asin, asin, -1, 1, 6);
    accuracy("acos", t_acos, acos, -1, 1, 6);
    accuracy("atan", t_atan, atan, -4, 4, 6);
    accuracy("softplus", t_softplus, softplus_exact, -20, 20, 4);
    accuracy("logsigmoid", t_logsigmoid, logsigmoid_exact, -20, 20, 4);
}

/* ---- the walk -------------------------------------------------------------------------------------------------------- */

/* 100,000 nodes deep, each used twice. */
TEST(tensor_grad_deep_chain) {
    struct fix f;
    open_fix(&f);
    struct tg *g = &f.g;
    const uop *x = GIVEN(0.5, 2), *y = x, *d, *half = k_(&f, 0.5);
    for (int i = 0; i < 40000; i++) y = t_mul(g, t_add(g, y, t_add(g, y, k_(&f, i % 3))), half);
    uint32_t before = f.t.ir.n;
    CHECK(before >= 100000);
    t_grad(g, t_sum(g, y, NULL, 0, false), NULL, &x, 1, &d);
    CHECK(f.t.ir.n - before < 4 * before);
    double v[2];
    eval(&f, &d, 1, v);
    CHECK(v[0] == 1 && v[1] == 1);
    close_fix(&f);
}

TEST(tensor_grad_only_where_asked) {
    struct fix f;
    open_fix(&f);
    struct tg *g = &f.g;
    const uop *x = GIVEN(1, 2), *y = GIVEN(3, 4), *z = GIVEN(5, 6), *h = t_exp(g, x), *out[3];
    const uop *loss = t_sum(g, t_mul(g, h, t_sin(g, y)), NULL, 0, false);
    uint64_t cos_before = f.t.ir.n;
    t_grad(g, loss, NULL, (const uop *[]){x}, 1, out);
    for (uint32_t i = (uint32_t)cos_before; i < f.t.ir.n; i++)
        CHECK(f.t.ir.node[i]->op != OP_COS); /* y was not asked for */
    /* a node in the middle is a leaf: nothing goes below it; what is not used gets zeros */
    t_grad(g, loss, NULL, (const uop *[]){h, x, z}, 3, out);
    CHECK_VALUE(out[0], sin(3), sin(4));
    CHECK_VALUE(out[1], 0, 0);
    CHECK_VALUE(out[2], 0, 0);
    /* a seed */
    t_grad(g, t_mul(g, x, y), t_add(g, z, z), (const uop *[]){x}, 1, out);
    CHECK_VALUE(out[0], 30, 48);
    /* the gradient of a tensor with respect to itself is the seed */
    t_grad(g, x, z, &x, 1, out);
    CHECK(out[0] == z);
    t_grad(g, t_mul(g, x, t_detach(g, x)), z, &x, 1, out);
    CHECK_VALUE(out[0], 5, 12);
    close_fix(&f);
}

TEST(tensor_grad_provenance) {
    struct fix f;
    open_fix(&f);
    struct tg *g = &f.g;
    const uop *x = GIVEN(1, 2), *y = t_sin(g, x), *loss = t_sum(g, y, NULL, 0, false), *d;
    prov_add(&g->prov, y->id, prov_site(&g->prov, "net.c", 12, "sin", NULL, false));
    t_grad(g, loss, NULL, &x, 1, &d);
    struct str s;
    str_init(&s, &f.t.arena);
    prov_print(&s, &g->prov, prov_set_of(&g->prov, d->id), 4);
    CHECK_STR(s.p, "sin net.c:12 (backward)");
    close_fix(&f);
}

/* Scratch memory does not stay, not even after an error. */
TEST(tensor_grad_gives_memory_back) {
    struct fix f;
    open_fix(&f);
    struct tg *g = &f.g;
    const uop *x = GIVEN(1, 2), *y = t_sum(g, t_exp(g, x), NULL, 0, false), *d;
    t_grad(g, y, NULL, &x, 1, &d);
    int64_t live = mem_live();
    size_t used = f.t.arena.used;
    for (int i = 0; i < 100; i++) t_grad(g, y, NULL, &x, 1, &d);
    CHECK_EQ(mem_live(), live);
    CHECK_EQ(f.t.arena.used, used); /* the same nodes again */
    close_fix(&f);
}

/* ---- rounding --------------------------------------------------------------------------------------------------------- */

/* The gradient of sum(fn(x) * w) computed in `dt`, as far from that in float64 as this many units of its greatest element. */
static double rounding(const uop *(*fn)(struct tg *, const uop *), enum dtype dt, double middle) {
    double out[2][MOST], worst = 0, most = 0;
    for (int k = 0; k < 2; k++) {
        struct fix f;
        open_fix(&f);
        struct rnd rnd = {.s = 3};
        enum dtype in = k ? DT_F64 : dt;
        const uop *x = add_buf(&f, in, D(2, 16)), *w = add_buf(&f, in, D(2, 16)), *d;
        for (int i = 0; i < 32; i++) {
            f.data[0][i] = ref_round(dt, middle + (double)rnd_range(&rnd, -300, 300) / 100);
            f.data[1][i] = ref_round(dt, (double)rnd_range(&rnd, -100, 100) / 100);
        }
        t_grad(&f.g, t_sum(&f.g, t_mul(&f.g, fn(&f.g, x), w), NULL, 0, false), NULL, &x, 1, &d);
        eval(&f, &d, 1, out[k]);
        close_fix(&f);
    }
    for (int i = 0; i < 32; i++)
        most = fmax(most, fabs(out[1][i])), worst = fmax(worst, fabs(out[0][i] - out[1][i]));
    return worst / most * (dt == DT_F32 ? 0x1p24 : 0x1p11);
}

static const uop *softmax_row(struct tg *g, const uop *x) { return t_softmax(g, x, 1); }
static const uop *log_softmax_row(struct tg *g, const uop *x) { return t_log_softmax(g, x, 1); }
static const uop *logsumexp_row(struct tg *g, const uop *x) {
    return t_add(g, t_logsumexp(g, x, D(1), true), t_mul(g, x, t_number(g, (enum dtype)x->dt, 0)));
}
static const uop *layernorm_row(struct tg *g, const uop *x) { return t_layernorm(g, x, NULL, NULL, 1, 1e-5); }
static const uop *rmsnorm_row(struct tg *g, const uop *x) { return t_rmsnorm(g, x, NULL, 1e-5); }
static const uop *var_row(struct tg *g, const uop *x) {
    return t_mul(g, x, t_expand(g, t_var(g, x, D(1), true, 1), D(-1, 16)));
}

/* What the rules make of these functions loses no more than a formula written by hand would: a few roundings of the
 * largest element, also where all x are about 1000 and only differences matter (layernorm's mean, rounded at 1000, is then
 * large beside the deviation that it divides by); of 16-bit floats, that of the result. */
TEST(tensor_grad_rounding) {
    static const struct {
        const char *name;
        const uop *(*fn)(struct tg *, const uop *);
        double f32, far, f16; /* at most: about 0; about 1000; float16 about 0 */
    } row[] = {
        {"softmax", softmax_row, 4, 4, 2},     {"log_softmax", log_softmax_row, 4, 4, 2},
        {"logsumexp", logsumexp_row, 4, 4, 3}, {"layernorm", layernorm_row, 6, 300, 2},
        {"rmsnorm", rmsnorm_row, 4, 6, 2},     {"var", var_row, 4, 4, 3},
    };
    for (size_t i = 0; i < RG_COUNT(row); i++) {
        double a = rounding(row[i].fn, DT_F32, 0), b = rounding(row[i].fn, DT_F32, 1000),
               c = rounding(row[i].fn, DT_F16, 0);
        if (!(a <= row[i].f32 && b <= row[i].far && c <= row[i].f16))
            FAIL("%s: %.2f, about 1000 %.2f, f16 %.2f units of its largest element", row[i].name, a, b, c);
    }
}

/* ---- out of memory ------------------------------------------------------------------------------------------------------ */

static void build_and_differentiate(void *arg) {
    struct ir_test *t = arg;
    struct tg g;
    ir_init(&t->ir, &t->arena);
    tg_init(&g, &t->ir, &t->arena);
    const uop *x = t_buffer(&g, DT_F32, D(64, 64), 0), *w = t_buffer(&g, DT_F32, D(64, 64), 1), *h = x,
              *out[2];
    for (int i = 0; i < 400; i++) h = t_layernorm(&g, t_gelu(&g, t_matmul(&g, h, w)), NULL, NULL, 1, 1e-5);
    t_grad(&g, t_mean(&g, t_log_softmax(&g, h, 1), NULL, 0, false), NULL, (const uop *[]){x, w}, 2, out);
    CHECK(tg_shape(&g, out[1]) == tg_shape(&g, w));
}

/* Each allocation fails once: an error, and nothing is left behind. */
TEST(tensor_grad_out_of_memory) {
    int64_t live = mem_live(), at = 1;
    for (int code = RG_ENOMEM; code; at++) {
        struct ir_test t = {0};
        arena_init(&t.arena, &t.err);
        mem_fail_at(at);
        code = err_guard(&t.err, build_and_differentiate, &t);
        mem_fail_at(-1);
        if (code && code != RG_ENOMEM) FAIL("allocation %lld fails: %s", (long long)at, t.err.msg);
        arena_free(&t.arena);
        CHECK_EQ(mem_live(), live);
        CHECK(at < 10000);
    }
    CHECK(at > 10); /* arenas take large blocks */
}
