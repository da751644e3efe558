/* Tests on the simulated GPU (tests/simcase.h): recurrent nets, products, reductions, sorts, forms of the heuristic, the device
 * itself. Others: simgpu_attention.c, simgpu_conv.c, simgpu_sums.c.
 * The sample of `make test` is fixed; `make test-simgpu` draws more (SEED, SEEDS). */
#include "simcase.h"

/* ---- recurrent nets --------------------------------------------------------------------------------------- */

static rg_tensor part_of(rg_tensor x, int64_t k, int64_t width) { return rg_narrow(x, 1, k * width, width); }

/* in: x (steps, batch, width), weights of input and state, biases; n: LSTM? */
static rg_tensor rnn(const struct sim_case *s, rg_ctx *c, const rg_tensor *in) {
    int64_t steps = s->in[0].d[0], batch = s->in[0].d[1], w = s->in[2].d[1];
    rg_tensor h = rg_zeros(c, s->in[0].dt, RG_SHAPE(batch, w)), cell = h, all[128];
    for (int64_t t = 0; t < steps; t++) {
        rg_tensor gi = rg_linear(rg_select(in[0], 0, t), in[1], in[3]), gh = rg_linear(h, in[2], in[4]);
        if (s->n[0]) {
            rg_tensor g = rg_add(gi, gh), i = rg_sigmoid(part_of(g, 0, w)), f = rg_sigmoid(part_of(g, 1, w));
            cell = rg_add(rg_mul(f, cell), rg_mul(i, rg_tanh(part_of(g, 2, w))));
            h = rg_mul(rg_sigmoid(part_of(g, 3, w)), rg_tanh(cell));
        } else {
            rg_tensor r = rg_sigmoid(rg_add(part_of(gi, 0, w), part_of(gh, 0, w)));
            rg_tensor z = rg_sigmoid(rg_add(part_of(gi, 1, w), part_of(gh, 1, w)));
            rg_tensor u = rg_tanh(rg_add(part_of(gi, 2, w), rg_mul(r, part_of(gh, 2, w))));
            h = rg_add(rg_mul(rg_sub(1, z), u), rg_mul(z, h));
        }
        all[t] = h;
    }
    return rg_stack(((rg_tensors){all, (size_t)steps}), 0);
}

#define RNN(type, steps, batch, inw, w, g)                \
    .fn = rnn, .grads = true, .jit = true, .n = {g == 4}, \
    .in = {{type, {steps, batch, inw}},                   \
           {type, {g * w, inw}, 0.3},                     \
           {type, {g * w, w}, 0.3},                       \
           {type, {g * w}, 0.3},                          \
           {type, {g * w}, 0.3}}

TEST_SLOW(simgpu_gru, 200) {
    const struct sim_case s[] = {{"gru 128 x 2 x 8, 8", RNN(RG_F32, 128, 2, 8, 8, 3), .most = 2e-4}};
    check_all(s, RG_COUNT(s), "SIM90");
    say(0, 0, 0, 0);
}
TEST_SLOW(simgpu_lstm, 200) {
    const struct sim_case s[] = {{"lstm 32 x 2 x 8, 8", RNN(RG_F32, 32, 2, 8, 8, 4), .most = 2e-4}};
    check_all(s, RG_COUNT(s), "SIM90");
    say(0, 0, 0, 0);
}
TEST_SLOW(simgpu_rnn_forms, 200) { /* few steps, wide: products by tensor cores */
    const struct sim_case s[] = {{"gru 3 x 32 x 32, 32 bf16", RNN(RG_BF16, 3, 32, 32, 32, 3), .most = 6e-2},
                                 {"lstm 2 x 32 x 32, 32", RNN(RG_F32, 2, 32, 32, 32, 4), .most = 1e-4}};
    check_all(s, RG_COUNT(s), "SIM80 SIM90S");
    say(40, 10, 0, 0);
}

/* ---- products --------------------------------------------------------------------------------------------- */

TEST_SLOW(simgpu_gemm, 200) {
    const struct sim_case s[] = {
        {"f32 nn", .fn = gemm, .in = {{RG_F32, {96, 80}}, {RG_F32, {80, 72}}}},
        {"f64 few of many terms", .fn = gemm, .in = {{RG_F64, {11, 17001}, 4}, {RG_F64, {17001, 20}, 4}}},
        {"f32 odd", .fn = gemm, .grads = true, .in = {{RG_F32, {33, 17}}, {RG_F32, {17, 45}}}},
        {"f32 bias relu", .fn = gemm, .n = {0, 1, 1}, .grads = true,
         .in = {{RG_F32, {64, 64}}, {RG_F32, {48, 64}}, {RG_F32, {48}}}},
        {"f32 split-K", .fn = gemm, .in = {{RG_F32, {16, 4096}}, {RG_F32, {4096, 16}}}},
        {"f32 split-K, a rest", .fn = gemm, .n = {1}, .in = {{RG_F32, {4099, 16}}, {RG_F32, {4099, 9}}}},
        {"f32 split-K of tiles, a rest", .fn = gemm, .in = {{RG_F32, {40, 5003}}, {RG_F32, {5003, 48}}}},
        {"f32 vector", .fn = gemm, .in = {{RG_F32, {1, 512}}, {RG_F32, {512, 64}}}},
        {"f32 batch", .fn = gemm, .grads = true, .in = {{RG_F32, {3, 20, 24}}, {RG_F32, {3, 24, 28}}}},
        {"f64", .fn = gemm, .in = {{RG_F64, {70, 66}, 9}, {RG_F64, {66, 72}, 9}}},
        {"bf16 nn", .fn = gemm, .in = {{RG_BF16, {128, 128}}, {RG_BF16, {128, 128}}}, .most = 1e-2},
        {"bf16 nt grads", .fn = gemm, .n = {0, 1}, .grads = true,
         .in = {{RG_BF16, {64, 64}}, {RG_BF16, {128, 64}}}, .most = 1e-2},
        {"bf16 tn", .fn = gemm, .n = {1, 0}, .in = {{RG_BF16, {64, 128}}, {RG_BF16, {64, 64}}}, .most = 1e-2},
        {"bf16 odd", .fn = gemm, .n = {0, 0, 1}, .grads = true,
         .in = {{RG_BF16, {70, 50}}, {RG_BF16, {50, 90}}, {RG_BF16, {90}}}, .most = 1e-2},
        {"bf16 split-K", .fn = gemm, .in = {{RG_BF16, {64, 1024}}, {RG_BF16, {1024, 64}}}, .most = 1e-2},
        {"bf16 split-K, a rest", .fn = gemm, .n = {1}, .in = {{RG_BF16, {4099, 33}}, {RG_BF16, {4099, 40}}},
         .most = 1e-2},
        {"bf16 skinny", .fn = gemm, .n = {0, 1}, .in = {{RG_BF16, {2, 512}}, {RG_BF16, {128, 512}}},
         .most = 1e-2},
        {"f16 nn", .fn = gemm, .n = {0, 0, 1},
         .in = {{RG_F16, {128, 64}}, {RG_F16, {64, 128}}, {RG_F16, {128}}}, .most = 4e-3},
        {"f16 batch", .fn = gemm, .grads = true, .in = {{RG_F16, {2, 64, 32}}, {RG_F16, {2, 32, 64}}},
         .most = 4e-3},
    };
    check_all(s, 8, "SIM80S SIM90 SIM90S"); /* of floats */
    check_all(s + 8, RG_COUNT(s) - 8, "SIM80S SIM90S");
    say(10, 5, 1, 1);
}

/* Large enough for tensor cores. */
TEST_SLOW(simgpu_tensor_cores, 300) {
    const struct sim_case s[] = {
        {"bf16 mma", .fn = gemm, .n = {0, 1}, .in = {{RG_BF16, {256, 64}}, {RG_BF16, {128, 64}}},
         .most = 1e-2},
        {"bf16 wgmma", .fn = gemm, .n = {0, 1}, .in = {{RG_BF16, {512, 192}}, {RG_BF16, {256, 192}}},
         .most = 1e-2},
        {"bf16 wgmma bias relu", .fn = gemm, .n = {0, 0, 1},
         .in = {{RG_BF16, {520, 200}}, {RG_BF16, {200, 264}}, {RG_BF16, {264}}}, .most = 1e-2},
        {"f32", .fn = gemm, .in = {{RG_F32, {128, 64}}, {RG_F32, {64, 128}}}},
        {"f64", .fn = gemm, .in = {{RG_F64, {256, 64}, 9}, {RG_F64, {64, 128}, 9}}},
        {"f64 nt odd", .fn = gemm, .n = {0, 1}, .in = {{RG_F64, {259, 75}, 9}, {RG_F64, {131, 75}, 9}}},
    };
    check_all(s, RG_COUNT(s), "SIM80 SIM90 SIM90S");
    for (uint64_t i = 0; i < 4; i++) { /* few terms */
        struct sim_draw d = {i};
        int64_t k = draw(&d, 17, 63), m = draw(&d, 300, 500), n = draw(&d, 8, 40), t = draw(&d, 0, 1);
        rg_dtype dt = i % 2 ? RG_BF16 : RG_F16;
        struct sim_case few = {"few terms", .fn = gemm, .n = {0, t},
                               .in = {{dt, {m, k}}, {dt, {t ? n : k, t ? k : n}}}, .most = 1e-2};
        check_seed(&few, "SIM90S", i);
    }
    say(8, 10, 3, 3);
}

/* n: transposes of a and b, sums in i32 that do not wrap */
static rg_tensor byte_gemm(const struct sim_case *s, rg_ctx *c, const rg_tensor *in) {
    rg_tensor wide[2] = {rg_cast(in[0], RG_I32), rg_cast(in[1], RG_I32)};
    return gemm(s, c, s->n[3] ? wide : in);
}

/* 8-bit integers: mma.sync adds them in i32. K-major tiles, so that MN-major operands are transposed. Exact. */
TEST_SLOW(simgpu_bytes, 300) {
    struct sim_draw d = {7};
    const struct sim_case fixed[] = {
        {"i8 nn", .fn = byte_gemm, .in = {{RG_I8, {256, 128}, 128}, {RG_I8, {128, 128}, 128}}},
        {"i8 nt into i32", .fn = byte_gemm, .n = {0, 1, 0, 1},
         .in = {{RG_I8, {256, 192}, 128}, {RG_I8, {128, 192}, 128}}},
        {"u8 tn into i32", .fn = byte_gemm, .n = {1, 0, 0, 1},
         .in = {{RG_U8, {96, 200}, 256}, {RG_U8, {96, 72}, 256}}},
        {"i8 repacked", .fn = byte_gemm, .in = {{RG_I8, {130, 259}, 128}, {RG_I8, {259, 131}, 128}}},
    };
    check_all(fixed, RG_COUNT(fixed), "CPU SIM80S SIM90 SIM90S");
    for (int i = 0; i < 6; i++) {
        int64_t m = draw_size(&d, 256), n = draw_size(&d, 256), k = draw_size(&d, 320);
        rg_dtype dt = draw(&d, 0, 1) ? RG_I8 : RG_U8;
        struct sim_case s = {"random", .fn = byte_gemm};
        for (int j = 0; j < 4; j++) s.n[j] = j != 2 && draw(&d, 0, 1);
        s.in[0].dt = s.in[1].dt = dt, s.in[0].scale = s.in[1].scale = dt == RG_I8 ? 128 : 256;
        s.in[0].d[0] = s.n[0] ? k : m, s.in[0].d[1] = s.n[0] ? m : k;
        s.in[1].d[0] = s.n[1] ? n : k, s.in[1].d[1] = s.n[1] ? k : n;
        check_seed(&s, "CPU SIM90S", (uint64_t)i);
    }
    say(12, 12, 0, 0);
}

/* ---- the rest ------------------------------------------------------------------------------------------------ */

enum { SUM, MEAN_VAR, SOFTMAX, LAYERNORM, CUMSUM, SORT, ARGMAX, TOPK, POOL, LOGSUMEXP, FLIP, PROD };
/* n: what, axis */
static rg_tensor along(const struct sim_case *s, rg_ctx *c, const rg_tensor *in) {
    int64_t axis = s->n[1];
    rg_tensor x = in[0];
    (void)c;
    switch (s->n[0]) {
    case SUM: return rg_sum(x, RG_AXES(axis));
    case MEAN_VAR: return rg_add(rg_mean(x, RG_AXES(axis)), rg_var(x, RG_AXES(axis)));
    case SOFTMAX: return rg_softmax(x, axis);
    case LAYERNORM: return rg_layernorm(x, in[1], in[2]);
    case CUMSUM: return rg_cumsum(x, axis);
    case SORT: return rg_sort(x, axis);
    case ARGMAX: return rg_cast(rg_argmax(x, RG_AXES(axis)), RG_F32);
    case TOPK: return rg_topk(x, 3, axis);
    case POOL: return rg_max_pool2d(x, RG_SHAPE(3, 3), .stride = RG_SHAPE(2, 2), .padding = RG_SHAPE(1, 1));
    case LOGSUMEXP: return rg_logsumexp(x, RG_AXES(axis));
    case FLIP: return rg_mul(rg_flip(x, RG_AXES(axis)), rg_transpose(rg_transpose(x, 0, 1), 0, 1));
    default: return rg_cumprod(x, axis);
    }
}

/* in: index, table */
static rg_tensor embed(const struct sim_case *s, rg_ctx *c, const rg_tensor *in) {
    (void)s, (void)c;
    return rg_embedding(in[0], in[1]);
}

/* in: logits, classes */
static rg_tensor classify(const struct sim_case *s, rg_ctx *c, const rg_tensor *in) {
    (void)s, (void)c;
    return rg_cross_entropy(in[0], in[1]);
}

/* in: x, index, src */
static rg_tensor scatter(const struct sim_case *s, rg_ctx *c, const rg_tensor *in) {
    (void)s, (void)c;
    return rg_scatter_add(in[0], 0, in[1], in[2]);
}

/* in: x, three parts of the index, src: the parts are the same along the axis */
static rg_tensor scatter_stacked(const struct sim_case *s, rg_ctx *c, const rg_tensor *in) {
    (void)s, (void)c;
    return rg_scatter_add(in[0], 1, rg_stack(RG_TENSORS(in[1], in[2], in[3]), 1), in[4]);
}

/* A block of a network, trained for a step: in: x, two weights, norm's weight */
static rg_tensor mlp(const struct sim_case *s, rg_ctx *c, const rg_tensor *in) {
    (void)s, (void)c;
    rg_tensor h = rg_rmsnorm(in[0], in[3]);
    return rg_add(in[0], rg_matmul(rg_gelu(rg_matmul(h, in[1])), in[2]));
}

TEST_SLOW(simgpu_along, 300) {
    const struct sim_case s[] = {
        {"sum rows", .fn = along, .n = {SUM, 1}, .grads = true, .in = {{RG_F32, {5, 3000}}}},
        {"sum columns", .fn = along, .n = {SUM, 0}, .grads = true, .in = {{RG_F32, {1500, 7}}}},
        {"sum all bf16", .fn = along, .n = {SUM, 0}, .in = {{RG_BF16, {20000}}}, .most = 1e-2},
        {"var", .fn = along, .n = {MEAN_VAR, 1}, .grads = true, .in = {{RG_F32, {40, 70}}}, .most = 1e-4},
        {"softmax", .fn = along, .n = {SOFTMAX, 1}, .grads = true, .in = {{RG_F32, {9, 1030}}}, .most = 1e-4},
        {"softmax columns", .fn = along, .n = {SOFTMAX, 0}, .grads = true, .in = {{RG_F32, {67, 33}}},
         .most = 1e-4},
        {"layernorm", .fn = along, .n = {LAYERNORM, 1}, .grads = true,
         .in = {{RG_F32, {33, 128}}, {RG_F32, {128}}, {RG_F32, {128}}}, .most = 1e-4},
        {"layernorm bf16", .fn = along, .n = {LAYERNORM, 1}, .grads = true,
         .in = {{RG_BF16, {17, 96}}, {RG_BF16, {96}}, {RG_BF16, {96}}}, .most = 4e-2},
        {"cumsum", .fn = along, .n = {CUMSUM, 1}, .grads = true, .in = {{RG_F32, {3, 500}}}, .most = 1e-4},
        {"cumsum long", .fn = along, .n = {CUMSUM, 0}, .in = {{RG_F32, {9000}}}, .most = 1e-4},
        {"cumprod", .fn = along, .n = {PROD, 1}, .in = {{RG_F32, {7, 20}}}, .most = 1e-4},
        {"sort", .fn = along, .n = {SORT, 1}, .grads = true, .in = {{RG_F32, {6, 100}}}},
        {"topk", .fn = along, .n = {TOPK, 1}, .grads = true, .in = {{RG_F32, {6, 50}}}},
        {"argmax", .fn = along, .n = {ARGMAX, 1}, .in = {{RG_F32, {30, 333}}}},
        {"max pool", .fn = along, .n = {POOL}, .grads = true, .in = {{RG_F32, {2, 3, 9, 9}}}},
        {"logsumexp", .fn = along, .n = {LOGSUMEXP, 1}, .grads = true, .in = {{RG_F32, {8, 90}}},
         .most = 1e-4},
        {"flip", .fn = along, .n = {FLIP, 1}, .grads = true, .in = {{RG_F32, {50, 41}}}},
        {"embedding", .fn = embed, .grads = true, .in = {{RG_I64, {40}, 30}, {RG_F32, {30, 24}}},
         .most = 1e-4},
        {"embedding bf16", .fn = embed, .grads = true, .in = {{RG_I32, {5, 9}, 11}, {RG_BF16, {11, 32}}},
         .most = 4e-2},
        {"cross entropy", .fn = classify, .grads = true, .in = {{RG_F32, {20, 60}}, {RG_I64, {20}, 60}},
         .most = 1e-4},
        {"scatter add", .fn = scatter, .grads = true,
         .in = {{RG_F32, {9, 4}}, {RG_I64, {15, 4}, 9}, {RG_F32, {15, 4}}}, .most = 1e-4},
        {"scatter add, stacked index", .fn = scatter_stacked,
         .in = {{RG_F32, {9, 4}}, {RG_I64, {9}, 4}, {RG_I64, {9}, 4}, {RG_I64, {9}, 4}, {RG_F32, {9, 3}}},
         .most = 1e-4},
        {"scatter add, stacked index, rows", .fn = scatter_stacked,
         .in = {{RG_F32, {1, 5}}, {RG_I64, {1}, 5}, {RG_I64, {1}, 5}, {RG_I64, {1}, 5}, {RG_F32, {1, 3}}},
         .most = 1e-4},
        {"mlp", .fn = mlp, .grads = true, .jit = true,
         .in = {{RG_F32, {24, 32}}, {RG_F32, {32, 64}, 0.2}, {RG_F32, {64, 32}, 0.2}, {RG_F32, {32}}},
         .most = 1e-4},
        {"mlp bf16", .fn = mlp, .grads = true,
         .in = {{RG_BF16, {32, 32}}, {RG_BF16, {32, 64}, 0.2}, {RG_BF16, {64, 32}, 0.2}, {RG_BF16, {32}}},
         .most = 6e-2},
    };
    check_all(s, RG_COUNT(s), "SIM90 SIM100");
    say(0, 0, 0, 0);
}

/* n: k, smallest, values?, of logarithms: those of negative numbers are NaN */
static rg_tensor top(const struct sim_case *s, rg_ctx *c, const rg_tensor *in) {
    (void)c;
    rg_tensor x = s->n[3] ? rg_log(in[0]) : in[0];
    if (s->n[2]) return rg_topk(x, s->n[0], -1, .smallest = s->n[1]);
    return rg_cast(rg_topk_index(x, s->n[0], -1, .smallest = s->n[1]), RG_F32);
}

/* The first of few long rows: of chunks, then of what these found; equal elements in the order of the row. */
TEST_SLOW(simgpu_topk_of_long_rows, 200) {
    const struct sim_case s[] = {
        {"indices of equal numbers", .fn = top, .n = {200}, .in = {{RG_I32, {2, 131075}, 30}}},
        {"the least bytes", .fn = top, .n = {7, 1}, .in = {{RG_I8, {140001}, 128}}},
        {"indices where half is NaN", .fn = top, .n = {30, 1, 0, 1}, .in = {{RG_F32, {131073}}}},
        {"indices of NaN", .fn = top, .n = {30, 0, 0, 1}, .in = {{RG_BF16, {131073}}}},
        {"gradient", .fn = top, .n = {40, 0, 1}, .grads = true, .in = {{RG_F32, {1, 150000}}}},
    };
    check_all(s, RG_COUNT(s), "CPU SIM90");
    say(0, 0, 0, 0);
}

/* ---- pairs of operands, rows of any length, several values of a thread ----------------------------------------- */

enum { DISTANCES, NEAREST, PRODUCT, SUMS, EXTREMES, NORM, WINDOWS, PICKED, MASK, FORMS };

/* n: form, rows that are parts of longer ones, K-major */
static rg_tensor form(const struct sim_case *s, rg_ctx *c, const rg_tensor *in) {
    (void)c;
    rg_tensor x = in[0], y = s->n[0] > PRODUCT ? RG_NONE : s->n[2] ? in[1] : rg_transpose(in[1], 0, 1);
    if (s->n[1]) x = rg_narrow(x, -1, 2, s->in[0].d[1] - 3);
    switch (s->n[0]) {
    case SUMS: return rg_sum(rg_square(rg_cast(x, RG_F32)), .axes = RG_AXES(-1));
    case EXTREMES: return rg_max(x, .axes = RG_AXES(-1));
    case NORM: return rg_sub(x, rg_mean(x, .axes = RG_AXES(-1), .keep = true));
    case MASK: return rg_where(rg_gt(x, 0.25), rg_mul(x, 3.0), rg_neg(x));
    case WINDOWS: return rg_max_pool1d(rg_unsqueeze(x, 0), RG_SHAPE(3), .stride = RG_SHAPE(2));
    case PICKED: return rg_take(x, 0, in[1]);
    case PRODUCT: return rg_matmul(x, rg_transpose(y, 0, 1));
    }
    rg_tensor d = rg_sub(rg_unsqueeze(x, 1), rg_unsqueeze(y, 0));
    if (s->n[0] == NEAREST) return rg_max(rg_abs(d), .axes = RG_AXES(-1));
    return rg_sum(rg_square(rg_cast(d, RG_F32)), .axes = RG_AXES(-1));
}

static struct sim_case draw_form(struct sim_draw *d, char name[100]) {
    static const char *const form_name[] = {"distances", "nearest", "product", "sums", "extremes",
                                            "norm",      "windows", "picked",  "mask"};
    static const rg_dtype type[] = {RG_F32, RG_BF16, RG_F16};
    rg_dtype dt = type[draw(d, 0, 2)];
    int64_t what = draw(d, 0, FORMS - 1);
    struct sim_case s = {.name = name, .fn = form, .n = {what}, .most = dt == RG_F32 ? 1e-4 : 3e-2};
    int64_t k = draw_size(d, 40), m = draw(d, 1, 300), n = draw(d, 100, 2500);
    for (int i = 0; i < 2; i++) s.in[i].dt = dt;
    if (what <= PRODUCT) {
        s.n[2] = draw(d, 0, 1);
        s.in[0].d[0] = RG_MAX(RG_MIN(m, 600000 / (k * n)), 2), s.in[0].d[1] = k;
        s.in[1].d[!s.n[2]] = n, s.in[1].d[s.n[2]] = k;
    } else {
        s.n[1] = draw(d, 0, 1);
        int64_t cols = draw(d, 0, 2) ? draw(d, 33, 800) : 8 * draw(d, 4, 40);
        s.in[0].d[0] = RG_MAX(draw(d, 40000, 90000) / cols, 1), s.in[0].d[1] = cols + 3 * s.n[1];
        if (what == PICKED)
            s.in[1].dt = RG_I64, s.in[1].d[0] = draw(d, 30, 200), s.in[1].scale = (double)s.in[0].d[0];
    }
    snprintf(name, 100, "%s %s of %lld x %lld and %lld x %lld", rg_dtype_name(dt), form_name[what],
             (long long)s.in[0].d[0], (long long)s.in[0].d[1], (long long)s.in[1].d[0],
             (long long)s.in[1].d[1]);
    return s;
}

TEST_SLOW(simgpu_forms, 300) {
    uint64_t first = getenv("SEED") ? strtoull(getenv("SEED"), NULL, 10) : 1;
    uint64_t n = getenv("SEEDS") ? strtoull(getenv("SEEDS"), NULL, 10) : 24;
    for (uint64_t i = 0; i < n; i++) {
        struct sim_draw d = {first + i};
        char name[100];
        struct sim_case s = draw_form(&d, name);
        if (getenv("SEEDS")) printf("seed %llu: %s\n", (unsigned long long)(first + i), name), fflush(stdout);
        check_seed(&s, i % 2 ? "SIM90S" : "SIM80S", first + i);
    }
}

/* ---- the device itself --------------------------------------------------------------------------------------- */

TEST(simgpu_memory_knows_what_it_holds) {
    struct err e = {0};
    char x[64] = {0};
    simgpu_add();
    struct engine *en = engine_open(&e, device_find(&e, "SIM90"));
    if (!en) FAIL("%s", e.msg);
    char *a = engine_alloc(en, &e, 64), *b = engine_alloc(en, &e, 64);
    CHECK_EQ(engine_copy(en, &e, COPY_IN, a, x, 32), 0);
    CHECK_EQ(engine_copy(en, &e, COPY_WITHIN, b, a, 64), 0);
    CHECK_EQ(engine_copy(en, &e, COPY_OUT, x, b, 32), 0);
    CHECK_EQ(engine_copy(en, &e, COPY_OUT, x, b, 33), RG_EVERIFY);
    CHECK(strstr(e.msg, "byte 32 of 33 was never written"));
    engine_free(en, a, 64);
    CHECK(engine_alloc(en, &e, 64) == a); /* used again: it holds nothing */
    CHECK_EQ(engine_copy(en, &e, COPY_OUT, x, a, 1), RG_EVERIFY);
    CHECK_EQ(engine_copy(en, &e, COPY_IN, b, x, 1 << 20), RG_EVERIFY);
    engine_close(en);
}

/* Independent kernels of a recorded list come in another order, and the results stay. */
static rg_tensor two_sums(const struct sim_case *s, rg_ctx *c, const rg_tensor *in) {
    (void)s, (void)c;
    rg_tensor a = rg_softmax(in[0], 1), b = rg_cumsum(rg_exp(in[1]), 0);
    return rg_add(rg_sum(rg_matmul(a, b)), rg_sum(rg_matmul(b, a)));
}

TEST(simgpu_replays_in_another_order) {
    const struct sim_case s[] = {{"two sums", .fn = two_sums, .grads = true, .jit = true,
                                  .in = {{RG_F32, {40, 40}}, {RG_F32, {40, 40}}}, .most = 1e-4}};
    check_all(s, 1, "SIM90");
    CHECK(simgpu_count.replayed >= 1 && simgpu_count.moved >= 1);
}

/* ---- random shapes: make test-simgpu -------------------------------------------------------------------------- */

static struct sim_case draw_case(struct sim_draw *d, char name[100]) {
    static const rg_dtype type[] = {RG_F32, RG_BF16, RG_F16};
    rg_dtype dt = type[draw(d, 0, 2)];
    struct sim_case s = {.name = name,
                         .grads = draw(d, 0, 2) > 0,
                         .jit = !draw(d, 0, 3),
                         .most = dt == RG_F32   ? 2e-4
                                 : dt == RG_F16 ? 1.5e-2
                                                : 6e-2};
    int64_t k = draw(d, 0, 2);
    for (int i = 0; i < 4; i++) s.in[i].dt = dt, s.in[i].scale = 0.5;
    if (k == 0) {
        int64_t m = draw_size(d, 256), n = draw_size(d, 256), t = draw_size(d, 320);
        s.fn = gemm, s.n[0] = draw(d, 0, 1), s.n[1] = draw(d, 0, 1), s.n[2] = draw(d, 0, 1);
        s.in[0].d[0] = s.n[0] ? t : m, s.in[0].d[1] = s.n[0] ? m : t;
        s.in[1].d[0] = s.n[1] ? n : t, s.in[1].d[1] = s.n[1] ? t : n;
        if (s.n[2]) s.in[2].d[0] = n;
    } else if (k == 1) {
        int64_t t = draw_size(d, 96), u = draw_size(d, 96), w = draw(d, 0, 1) ? 64 : draw_size(d, 64),
                h = draw(d, 1, 2);
        s.fn = attention, s.n[0] = draw(d, 0, 2);
        if (s.n[0] == CAUSAL) u = t;
        int64_t shape[3][4] = {{1, h, t, w}, {1, h, u, w}, {1, h, u, w}};
        for (int i = 0; i < 3; i++) memcpy(s.in[i].d, shape[i], sizeof shape[i]);
        if (s.n[0] == MASKED) s.in[3].d[0] = t, s.in[3].d[1] = u, s.in[3].dt = RG_F32;
    } else {
        int64_t ci = draw_size(d, 64), co = draw_size(d, 64), hw = draw(d, 5, 16), f = 2 * draw(d, 0, 2) + 1;
        s.fn = conv, s.n[0] = draw(d, 1, 2), s.n[1] = draw(d, 0, f / 2), s.n[2] = 1;
        int64_t x[4] = {draw(d, 1, 3), ci, hw, hw}, w[4] = {co, ci, f, f};
        memcpy(s.in[0].d, x, sizeof x), memcpy(s.in[1].d, w, sizeof w);
    }
    snprintf(name, 100, "%s %s%s%s of %lld x %lld x %lld x %lld and %lld x %lld x %lld", rg_dtype_name(dt),
             k == 0   ? "gemm"
             : k == 1 ? "attention"
                      : "conv",
             s.grads ? " grads" : "", s.jit ? " jit" : "", (long long)s.in[0].d[0], (long long)s.in[0].d[1],
             (long long)s.in[0].d[2], (long long)s.in[0].d[3], (long long)s.in[1].d[0],
             (long long)s.in[1].d[1], (long long)s.in[1].d[2]);
    return s;
}

/* SEED and SEEDS choose others. */
TEST_MANUAL(simgpu_more_shapes, 3600) {
    static const char *const device[] = {"SIM80", "SIM80S", "SIM89", "SIM90", "SIM90S", "SIM100"};
    uint64_t first = getenv("SEED") ? strtoull(getenv("SEED"), NULL, 10) : 1;
    uint64_t n = getenv("SEEDS") ? strtoull(getenv("SEEDS"), NULL, 10) : 200;
    for (uint64_t i = 0; i < n; i++) {
        struct sim_draw d = {first + i};
        char name[100];
        const char *where = device[draw(&d, 0, RG_COUNT(device) - 1)];
        struct sim_case s = draw_case(&d, name);
        printf("seed %llu: %s on %s\n", (unsigned long long)(first + i), name, where);
        fflush(stdout);
        check_seed(&s, where, first + i);
    }
    say(n >= 100, n >= 100, n >= 100, 0);
}
