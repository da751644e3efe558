/* recurrent.c: rg_lstm, rg_gru and their layers: against PyTorch's values, against the same nets unrolled (random sizes, both
 * directions, gradients of all operands, second derivatives, on REF, CPU and the simulated GPU), in jits, and what planning them costs:
 * one step, however many there are. */
#include "base/base.h"
#include "ridge.h"
#include "simgpu.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>

/* ---- PyTorch's values ----------------------------------------------------------------------------------------- */

struct sample {
    bool lstm;
    int64_t layers;
    bool both, bias;
    const char *const *name;
    size_t names;
    const double *value;
    size_t values;
};
#include "recurrent_sample.h"

enum { T = 4, N = 2, IN = 3, HIDDEN = 2, MOST = 64 };

static rg_tensor number(rg_ctx *c, rg_ints shape, int which) {
    float v[MOST];
    size_t n = 1;
    for (size_t i = 0; i < shape.n; i++) n *= (size_t)shape.d[i];
    CHECK(n <= MOST);
    for (size_t i = 0; i < n; i++) v[i] = (float)(0.8 * sin(0.37 * (double)i + which + 1));
    return rg_from(c, RG_F32, v, shape);
}

static size_t compare(rg_tensor x, const double *want, const char *what) {
    float got[MOST];
    size_t n = (size_t)rg_size(x);
    CHECK(n <= MOST && !rg_read(x, got, n * sizeof *got));
    for (size_t i = 0; i < n; i++)
        if (!(fabs(got[i] - want[i]) <= 2e-6 + 2e-5 * fabs(want[i])))
            FAIL("%s, element %zu: %.9g, PyTorch has %.9g", what, i, (double)got[i], want[i]);
    return n;
}

static void check_sample(const char *device, const struct sample *s, bool batch_first) {
    rg_ctx *c = rg_open(device);
    rg_recurrent_opts o = {
        .layers = s->layers, .bidirectional = s->both, .no_bias = !s->bias, .batch_first = batch_first};
    rg_module *m = s->lstm ? rg_nn_lstm_at(__FILE__, __LINE__, c, IN, HIDDEN, o)
                           : rg_nn_gru_at(__FILE__, __LINE__, c, IN, HIDDEN, o);
    rg_tensor wrt[MOST], grad[MOST];
    CHECK(m);
    wrt[0] = number(c, RG_SHAPE(T, N, IN), 0);
    for (size_t i = 0; i < s->names; i++) {
        int64_t d[2];
        rg_tensor w = rg_nn_get(m, s->name[i]);
        int64_t rank = rg_shape_of(w, d, 2);
        rg_assign(w, number(c, (rg_ints){d, (size_t)rank}, (int)i + 1));
        wrt[1 + i] = w;
    }
    rg_tensor y = rg_nn_forward(m, batch_first ? rg_transpose(wrt[0], 0, 1) : wrt[0]);
    if (batch_first) y = rg_transpose(y, 0, 1);
    int64_t width = HIDDEN * (s->both ? 2 : 1);
    rg_tensor loss = rg_sum(rg_mul(y, number(c, RG_SHAPE(T, N, width), 99)));
    rg_grad(loss, ((rg_tensors){wrt, s->names + 1}), grad);
    if (rg_status_of(c)) FAIL("%s", rg_error(c));
    size_t at = compare(y, s->value, "y");
    for (size_t i = 0; i <= s->names; i++)
        at += compare(grad[i], s->value + at, i ? s->name[i - 1] : "gradient of x");
    CHECK(at == s->values);
    CHECK(!rg_close(c));
}

TEST(recurrent_pytorch) {
    for (size_t i = 0; i < RG_COUNT(samples); i++) {
        check_sample("REF", &samples[i], i % 2 == 0);
        check_sample("CPU", &samples[i], i % 2 != 0);
    }
}

/* ---- the same, unrolled ----------------------------------------------------------------------------------------- */

enum { OPERANDS = 6, RESULTS = 1 + OPERANDS };
struct sizes {
    int64_t t, n, in, h;
    bool lstm, reverse, second, jit;
};
struct recurrent_job {
    rg_ctx *c;
    const struct sizes *s;
    bool unrolled;
};

static rg_tensor part(rg_tensor x, int64_t k, int64_t h) { return rg_narrow(x, 1, k * h, h); }

static rg_tensor lstm_step(rg_tensor gi, rg_tensor gh, rg_tensor *cell, int64_t h) {
    rg_tensor g = rg_add(gi, gh), in = rg_mul(rg_sigmoid(part(g, 0, h)), rg_tanh(part(g, 2, h)));
    *cell = rg_add(rg_mul(rg_sigmoid(part(g, 1, h)), *cell), in);
    return rg_mul(rg_sigmoid(part(g, 3, h)), rg_tanh(*cell));
}

static rg_tensor gru_step(rg_tensor gi, rg_tensor gh, rg_tensor state, int64_t h) {
    rg_tensor r = rg_sigmoid(rg_add(part(gi, 0, h), part(gh, 0, h)));
    rg_tensor z = rg_sigmoid(rg_add(part(gi, 1, h), part(gh, 1, h)));
    rg_tensor n = rg_tanh(rg_add(part(gi, 2, h), rg_mul(r, part(gh, 2, h))));
    return rg_add(rg_mul(rg_sub(1, z), n), rg_mul(z, state));
}

static rg_tensor unrolled(const struct sizes *s, const rg_tensor *in) {
    rg_tensor all[2][MOST + 1], h = rg_select(in[1], 0, 0), cell = s->lstm ? rg_select(in[1], 0, 1) : h;
    all[0][s->reverse ? s->t : 0] = h, all[1][s->reverse ? s->t : 0] = cell;
    for (int64_t i = 0; i < s->t; i++) {
        int64_t t = s->reverse ? s->t - 1 - i : i, to = s->reverse ? t : t + 1;
        rg_tensor gi = rg_linear(rg_select(in[0], 0, t), in[2], in[4]), gh = rg_linear(h, in[3], in[5]);
        h = s->lstm ? lstm_step(gi, gh, &cell, s->h) : gru_step(gi, gh, h, s->h);
        all[0][to] = h, all[1][to] = cell;
    }
    rg_tensor y[2];
    for (int i = 0; i < 2; i++) y[i] = rg_stack(((rg_tensors){all[i], (size_t)s->t + 1}), 0);
    return rg_stack(((rg_tensors){y, s->lstm ? 2 : 1}), 0);
}

static rg_status compute(void *user, const rg_tensor *in, rg_tensor *out) {
    struct recurrent_job *j = user;
    const struct sizes *s = j->s;
    rg_tensor w[4], wrt[OPERANDS];
    memcpy(w, in + 2, sizeof w), memcpy(wrt, in, sizeof wrt);
    rg_recurrent_opts o = {.reverse = s->reverse};
    rg_tensors list = {w, 4}, all = {wrt, OPERANDS};
    out[0] = j->unrolled ? unrolled(s, in)
             : s->lstm   ? rg_lstm_at(__FILE__, __LINE__, in[0], in[1], list, o)
                         : rg_gru_at(__FILE__, __LINE__, in[0], in[1], list, o);
    if (rg_grad(rg_sum(rg_mul(rg_square(out[0]), in[OPERANDS])), all, out + 1)) return rg_status_of(j->c);
    if (!s->second) return RG_OK;
    rg_tensor sum = rg_sum(rg_square(out[1]));
    for (int i = 1; i < OPERANDS; i++) sum = rg_add(sum, rg_sum(rg_square(out[1 + i])));
    return rg_grad(sum, all, out + 1);
}

/* Operands and the weights of the results, the same on every device. Weights of the net are as small as PyTorch's: larger ones make
 * a chaotic system, in which rounding grows by a fifth at each step. */
static void draw(rg_ctx *c, const struct sizes *s, rg_tensor *in) {
    int64_t gates = s->lstm ? 4 : 3, states = s->lstm ? 2 : 1, rows = gates * s->h;
    const int64_t d[OPERANDS + 1][4] = {
        {s->t, s->n, s->in},           {states, s->n, s->h}, {rows, s->in}, {rows, s->h}, {rows}, {rows},
        {states, s->t + 1, s->n, s->h}};
    static const size_t rank[OPERANDS + 1] = {3, 3, 2, 2, 1, 1, 4};
    for (int i = 0; i <= OPERANDS; i++) {
        size_t n = 1;
        for (size_t k = 0; k < rank[i]; k++) n *= (size_t)d[i][k];
        float *p = malloc(n * sizeof *p);
        float most = i == 2 || i == 3 ? 1 / sqrtf((float)d[i][1]) : 1;
        for (size_t k = 0; k < n; k++)
            p[k] = most * ((float)(hash_u64(8 * k + (uint64_t)i) >> 40) / (1 << 23) - 1);
        in[i] = rg_from(c, RG_F32, p, (rg_ints){d[i], rank[i]});
        free(p);
    }
    if (rg_realize_all((rg_tensors){in, OPERANDS + 1})) FAIL("%s", rg_error(c));
}

/* All results of one way to compute them. */
static float *results(const char *device, const struct sizes *s, bool unroll, size_t *size) {
    rg_ctx *c = rg_open(device);
    rg_tensor in[OPERANDS + 1], out[RESULTS];
    struct recurrent_job j = {.c = c, .s = s, .unrolled = unroll};
    float *p = NULL;
    size_t n = 0;
    draw(c, s, in);
    rg_jit *jit = rg_jit_new(c, compute, &j, RESULTS);
    for (int call = 0; call < (s->jit ? 3 : 0); call++)
        if (rg_jit_call(jit, (rg_tensors){in, OPERANDS + 1}, out)) FAIL("%s: %s", device, rg_error(c));
    if (!s->jit && compute(&j, in, out)) FAIL("%s: %s", device, rg_error(c));
    for (int i = 0; i < RESULTS; i++) {
        size[i] = (size_t)rg_size(out[i]);
        p = realloc(p, (n + size[i]) * sizeof *p);
        if (rg_read(out[i], p + n, size[i] * sizeof *p)) FAIL("%s: %s", device, rg_error(c));
        n += size[i];
    }
    CHECK(!rg_close(c));
    return p;
}

/* The loop on a device, the unrolled net by the oracle. */
static void check_unrolled(const char *device, const struct sizes *s) {
    size_t size[RESULTS];
    float *want = results("REF", s, true, size), *got = results(device, s, false, size);
    for (size_t i = 0, at = 0; i < RESULTS; at += size[i++]) {
        double off = 0, most = 1;
        for (size_t k = at; k < at + size[i]; k++) {
            off = RG_MAX(off, fabs((double)got[k] - want[k]));
            most = RG_MAX(most, fabs(want[k]));
            if (!(fabs(got[k]) < INFINITY)) off = INFINITY;
        }
        if (!(off <= 2e-5 * most))
            FAIL("%s, %s %lld x %lld x %lld, %lld%s%s: result %zu is off by %g of %g", device,
                 s->lstm ? "lstm" : "gru", (long long)s->t, (long long)s->n, (long long)s->in,
                 (long long)s->h, s->reverse ? " reverse" : "", s->second ? " second" : "", i, off, most);
    }
    free(want), free(got);
}

/* Sizes from 1 on, of which few are multiples of what memory is aligned to. */
static void check_random(const char *device, uint64_t first, int count, uint64_t most) {
    for (int i = 0; i < count; i++) {
        uint64_t r = hash_u64(first + (uint64_t)i);
        struct sizes s = {.t = 1 + (int64_t)(r % 5),
                          .n = 1 + (int64_t)((r >> 8) % most),
                          .in = 1 + (int64_t)((r >> 16) % most),
                          .h = 1 + (int64_t)((r >> 24) % most),
                          .lstm = r >> 32 & 1,
                          .reverse = r >> 33 & 1,
                          .jit = r >> 34 & 1};
        check_unrolled(device, &s);
    }
}

TEST(recurrent_unrolled_ref) { check_random("REF", 1, 12, 6); }
TEST_SLOW(recurrent_unrolled_cpu, 200) { check_random("CPU", 100, 3, 20); }
/* Matrices of 4,096 elements and more are read in panels. */
TEST_SLOW(recurrent_panels_cpu, 200) {
    check_unrolled("CPU", &(struct sizes){.t = 9, .n = 5, .in = 3, .h = 36, .lstm = true, .jit = true});
    check_unrolled("CPU", &(struct sizes){.t = 8, .n = 4, .in = 5, .h = 48, .reverse = true});
}
TEST_SLOW(recurrent_unrolled_gpu, 200) {
    simgpu_add();
    check_random("SIM90S", 200, 2, 5);
    check_unrolled("SIM80S", &(struct sizes){.t = 2, .n = 16, .in = 16, .h = 16, .lstm = true, .jit = true});
}
TEST_MANUAL(cuda_gpu_recurrent, 200) {
    check_random("CUDA", 300, 6, 40);
    for (int lstm = 0; lstm < 2; lstm++)
        check_unrolled("CUDA",
                       &(struct sizes){.t = 20, .n = 32, .in = 64, .h = 64, .lstm = lstm, .jit = true});
}
TEST(recurrent_second_derivatives) {
    check_unrolled("REF", &(struct sizes){.t = 3, .n = 2, .in = 3, .h = 2, .lstm = true, .second = true});
    check_unrolled("REF", &(struct sizes){.t = 3, .n = 2, .in = 3, .h = 5, .reverse = true, .second = true});
}

/* ---- what it costs ------------------------------------------------------------------------------------------------- */

static rg_plan_stats stats_of(const char *device, int64_t steps, bool lstm) {
    rg_ctx *c = rg_open(device);
    struct sizes s = {.t = steps, .n = 4, .in = 16, .h = 16, .lstm = lstm};
    struct recurrent_job j = {.c = c, .s = &s};
    rg_tensor in[OPERANDS + 1], out[RESULTS];
    rg_plan_stats st;
    draw(c, &s, in);
    if (compute(&j, in, out) || rg_schedule_stats((rg_tensors){out, RESULTS}, &st)) FAIL("%s", rg_error(c));
    rg_usage u;
    CHECK(!rg_stats(c, &u) && u.nodes < 1500);
    CHECK(!rg_close(c));
    return st;
}

/* The kernels of a step, some copies and the sums over all steps: as many for 512 steps as for 64. The steps forward run once: the rest of
 * the program reads what the loop of the gradient leaves. */
TEST(recurrent_plans_one_step) {
    for (int lstm = 0; lstm < 2; lstm++) {
        rg_plan_stats a = stats_of("NULL", 64, lstm), b = stats_of("NULL", 512, lstm);
        if (a.distinct > 30 || b.distinct > a.distinct + 2)
            FAIL("%llu different kernels of 64 steps, %llu of 512", (unsigned long long)a.distinct,
                 (unsigned long long)b.distinct);
        CHECK_EQ(b.kernels - a.kernels, 448 * 4);
        CHECK(b.bytes < 9 * a.bytes && b.scratch < 9 * a.scratch);
    }
}

/* ---- the layer ---------------------------------------------------------------------------------------------------- */

struct layer_job {
    rg_module *m;
    rg_optim *optim;
};

static rg_status train(void *user, const rg_tensor *in, rg_tensor *out) {
    struct layer_job *j = user;
    out[0] = rg_mse_loss(rg_nn_forward(j->m, in[0]), in[1]);
    rg_backward(out[0]);
    return rg_optim_step(j->optim);
}

TEST(recurrent_layer_learns) {
    rg_ctx *c = rg_open("CPU");
    double first = 0, last = 0;
    rg_seed(c, 3);
    struct layer_job j = {rg_nn_gru(c, 3, 8, .layers = 2, .batch_first = true), NULL};
    j.optim = rg_adam(rg_nn_params(j.m), .lr = 2e-2);
    rg_tensor x = rg_randn(c, RG_F32, RG_SHAPE(4, 10, 3)),
              y = rg_tanh(rg_cumsum(rg_mean(x, RG_AXES(2), .keep = true), 1)), loss;
    y = rg_contiguous(rg_expand(y, RG_SHAPE(4, 10, 8)));
    rg_realize_all(RG_TENSORS(x, y));
    rg_jit *jit = rg_jit_new(c, train, &j, 1);
    for (int i = 0; i < 60; i++) {
        if (rg_jit_call(jit, RG_TENSORS(x, y), &loss)) FAIL("%s", rg_error(c));
        last = rg_item(loss);
        if (i == 0) first = last;
    }
    if (!(last < 0.2 * first)) FAIL("loss %g, then %g", first, last);
    CHECK(!rg_close(c));
}

TEST(recurrent_precision) { /* products in bf16: near the float32 net, and not equal to it */
    rg_ctx *c = rg_open("CPU");
    rg_seed(c, 5);
    rg_module *m = rg_nn_lstm(c, 16, 16);
    rg_tensor x = rg_randn(c, RG_F32, RG_SHAPE(6, 3, 16)), w = rg_nn_get(m, "weight_hh_l0"), g[2], y[2];
    rg_realize(x);
    for (int i = 0; i < 2; i++) {
        if (i) rg_nn_precision(m, RG_BF16);
        y[i] = rg_nn_forward(m, x);
        CHECK(rg_dtype_of(y[i]) == RG_F32);
        rg_grad(rg_sum(rg_square(y[i])), RG_TENSORS(w), &g[i]);
    }
    double off = rg_item(rg_max(rg_abs(rg_sub(y[0], y[1])))), most = rg_item(rg_max(rg_abs(g[0])));
    double goff = rg_item(rg_max(rg_abs(rg_sub(g[0], g[1]))));
    if (rg_status_of(c)) FAIL("%s", rg_error(c));
    if (!(off > 0 && off < 0.02 && goff < 0.05 * most))
        FAIL("off by %g, gradient by %g of %g", off, goff, most);
    CHECK(!rg_close(c));
}

static void refused(rg_ctx *c, const char *text) {
    CHECK(rg_status_of(c) == RG_EINVAL);
    if (!strstr(rg_error(c), text)) FAIL("expected \"%s\", found \"%s\"", text, rg_error(c));
    rg_clear_error(c);
}

TEST(recurrent_errors) {
    rg_ctx *c = rg_open("REF");
    rg_tensor x = rg_zeros(c, RG_F32, RG_SHAPE(5, 2, 3)), w = rg_zeros(c, RG_F32, RG_SHAPE(16, 3)),
              u = rg_zeros(c, RG_F32, RG_SHAPE(16, 4));
    CHECK(rg_size(rg_lstm(x, RG_NONE, RG_TENSORS(w, u))) == 2 * 6 * 2 * 4);
    rg_gru(x, RG_NONE, RG_TENSORS(w, u));
    refused(c, "expected (3 * H, H)");
    rg_lstm(x, RG_NONE, RG_TENSORS(u, u));
    refused(c, "expected (16, 3)");
    rg_lstm(x, x, RG_TENSORS(w, u));
    refused(c, "expected (2, 2, 4)");
    rg_lstm(x, RG_NONE, RG_TENSORS(w));
    refused(c, "expected 2 (w_ih, w_hh) or 4");
    rg_lstm(x, RG_NONE, RG_TENSORS(w, u, w, u));
    refused(c, "bias 1 is (16, 3)");
    rg_lstm(rg_zeros(c, RG_F32, RG_SHAPE(0, 2, 3)), RG_NONE, RG_TENSORS(w, u));
    refused(c, "T at least 1");
    CHECK(!rg_nn_lstm(c, 3, 0));
    refused(c, "at least 1");
    CHECK(!rg_nn_gru(c, 3, 4, .reverse = true));
    refused(c, "rg_flip");
    rg_module *m = rg_nn_gru(c, 3, 4);
    rg_nn_forward(m, w);
    refused(c, "(T, N, in)");
    CHECK(!rg_close(c));
}
