/* Tests on the simulated GPU (tests/simgpu.h): whole programs through the planner, the opts and the lowering of a GPU, each kernel
 * interpreted with all checks, against the oracle. SIM90S has few SMs, so that small products get the forms of large ones.
 * The sample of `make test` is fixed; `make test-simgpu` draws more (RIDGE_SIM_SEED, RIDGE_SIM_RUNS). */
#include "base/base.h"

#include "engine/engine.h"
#include "simgpu.h"
#include "test.h"

#include <ridge.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MOST_IN = 6, MOST_OUT = 8, MOST_AXES = 5 };

/* A program: values and, if asked for, gradients with respect to all inputs of floats. */
struct sim_case {
    const char *name;
    rg_tensor (*fn)(const struct sim_case *, rg_ctx *, const rg_tensor *in);
    struct {
        rg_dtype dt;
        int64_t d[MOST_AXES]; /* shape, up to the first 0 */
        double
            scale; /* of random numbers from -1 to 1; i8 whole ones, other integers and f64: from 0 on. 0: 1 */
    } in[MOST_IN];
    int64_t n[6]; /* what the function likes */
    double most;  /* distance from the oracle, of size and root mean square of an output; 0: 2e-5 */
    bool grads, jit;
};

static int inputs(const struct sim_case *s) {
    int n = 0;
    while (n < MOST_IN && s->in[n].d[0]) n++;
    return n;
}

static bool floats(rg_dtype dt) { return dt == RG_F32 || dt == RG_F16 || dt == RG_BF16; }

static rg_tensor make_input(const struct sim_case *s, rg_ctx *c, int i, uint64_t seed) {
    size_t rank = 0, n = 1;
    while (rank < MOST_AXES && s->in[i].d[rank]) n *= (size_t)s->in[i].d[rank++];
    float *p = malloc(n * sizeof *p);
    double scale = s->in[i].scale != 0 ? s->in[i].scale : 1;
    for (size_t k = 0; k < n; k++) {
        double x = (double)(hash_u64(k * 16 + (uint64_t)i + (seed << 40)) >> 40) / (1 << 24);
        if (floats(s->in[i].dt) || s->in[i].dt == RG_I8) x = 2 * x - 1;
        p[k] = (float)(floats(s->in[i].dt) ? scale * x : floor(scale * x));
    }
    rg_tensor f = rg_from(c, RG_F32, p, RG_LIST(s->in[i].d, rank)), t = rg_cast(f, s->in[i].dt);
    if (rg_realize(t)) FAIL("%s: input %d: %s", s->name, i, rg_error(c));
    free(p);
    return t;
}

struct sim_run {
    const struct sim_case *s;
    rg_ctx *c;
};

static int outputs(const struct sim_case *s) {
    int n = 1;
    for (int i = 0; i < inputs(s) && s->grads; i++) n += floats(s->in[i].dt);
    return n;
}

static rg_status body(void *user, const rg_tensor *in, rg_tensor *out) {
    const struct sim_run *r = user;
    rg_tensor wrt[MOST_IN];
    size_t n = 0;
    out[0] = r->s->fn(r->s, r->c, in);
    if (!r->s->grads) return rg_status_of(r->c);
    for (int i = 0; i < inputs(r->s); i++)
        if (floats(r->s->in[i].dt)) wrt[n++] = in[i];
    return rg_grad(rg_mean(rg_square(rg_cast(out[0], RG_F32))), ((rg_tensors){wrt, n}), out + 1,
                   .unused_ok = true);
}

/* All outputs, one after the other, as floats. */
struct sim_values {
    size_t n[MOST_OUT], all;
    float *p;
};

static void read_all(const struct sim_run *r, const char *device, const rg_tensor *out,
                     struct sim_values *v) {
    v->all = 0;
    for (int i = 0; i < outputs(r->s); i++) {
        v->n[i] = (size_t)rg_size(out[i]);
        v->p = realloc(v->p, (v->all + v->n[i] + 1) * sizeof *v->p);
        if (rg_read(rg_cast(out[i], RG_F32), v->p + v->all, v->n[i] * sizeof *v->p))
            FAIL("%s on %s, output %d: %s", r->s->name, device, i, rg_error(r->c));
        v->all += v->n[i];
    }
}

static void compare(const struct sim_case *s, const char *device, int call, const struct sim_values *got,
                    const struct sim_values *want) {
    const float *g = got->p, *w = want->p;
    double most = s->most != 0 ? s->most : 2e-5;
    for (int i = 0; i < outputs(s); g += got->n[i], w += want->n[i], i++) {
        double sum = 0;
        CHECK_EQ(got->n[i], want->n[i]);
        for (size_t k = 0; k < want->n[i]; k++) sum += (double)w[k] * w[k];
        double rms = sqrt(sum / (double)RG_MAX(want->n[i], (size_t)1));
        for (size_t k = 0; k < want->n[i]; k++)
            if (!(fabs((double)g[k] - w[k]) <= most * (fabs(w[k]) + rms) || g[k] == w[k]))
                FAIL("%s on %s, call %d, output %d: element %zu of %zu is %.9g, expected %.9g (rms %g)",
                     s->name, device, call, i, k, want->n[i], g[k], w[k], rms);
    }
}

static void run(const struct sim_case *s, const char *device, uint64_t seed, int calls, struct sim_values *v,
                const struct sim_values *want) {
    struct sim_run r = {s, rg_open(device)};
    rg_tensor in[MOST_IN], out[MOST_OUT];
    size_t n = (size_t)inputs(s);
    if (rg_status_of(r.c)) FAIL("%s", rg_error(r.c));
    for (size_t i = 0; i < n; i++) in[i] = make_input(s, r.c, (int)i, seed);
    rg_jit *j = calls > 1 ? rg_jit_new(r.c, body, &r, (size_t)outputs(s)) : NULL;
    for (int call = 0; call < calls; call++) {
        rg_status bad = j ? rg_jit_call(j, (rg_tensors){in, n}, out) : body(&r, in, out);
        if (bad) FAIL("%s on %s: %s", s->name, device, rg_error(r.c));
        read_all(&r, device, out, v);
        if (want) compare(s, device, call, v, want);
    }
    rg_close(r.c);
}

/* On each of the devices (names separated by spaces), against the oracle. */
static void check_seed(const struct sim_case *s, const char *devices, uint64_t seed) {
    struct sim_values want = {0}, got = {0};
    char name[16];
    int at = 0;
    simgpu_add();
    run(s, "REF", seed, 1, &want, NULL);
    for (const char *p = devices; sscanf(p, "%15s%n", name, &at) == 1; p += at)
        run(s, name, seed, s->jit ? 3 : 1, &got, &want);
    free(want.p), free(got.p);
}

static void check_all(const struct sim_case *s, size_t n, const char *devices) {
    for (size_t i = 0; i < n; i++) {
        double before = simgpu_count.total;
        clock_t t0 = clock();
        check_seed(&s[i], devices, 1);
        if (getenv("RIDGE_SIM_TIMES"))
            test_info("%-28s %7.2f s %9.1fM evaluations", s[i].name, (double)(clock() - t0) / CLOCKS_PER_SEC,
                      (simgpu_count.total - before) / 1e6);
    }
}

struct sim_draw {
    uint64_t s;
};
static int64_t draw(struct sim_draw *d, int64_t lo, int64_t hi) {
    return lo + (int64_t)(hash_u64(d->s += 0x9e3779b97f4a7c15u) % (uint64_t)(hi - lo + 1));
}
/* Often a multiple of something, sometimes anything. */
static int64_t draw_size(struct sim_draw *d, int64_t most) {
    static const int64_t step[] = {1, 1, 8, 16, 32, 64};
    int64_t by = step[draw(d, 0, 5)];
    return by * draw(d, 1, RG_MAX(most / by, 1));
}

/* What the group ran; of block programs and instructions of tensor cores at least n each. */
static void say(unsigned blocks, unsigned mma, unsigned wgmma, unsigned tma) {
    const struct simgpu_count *c = &simgpu_count;
    TEST_INFO(
        "%u launches, %u by threads of a block, %u with mma, %u with wgmma, %u with TMA; %.0fM evaluations, "
        "slowest %s %.0fM",
        c->launches, c->blocks, c->mma, c->wgmma, c->tma, c->total / 1e6, c->most, c->cost / 1e6);
    CHECK(c->blocks >= blocks && c->mma >= mma && c->wgmma >= wgmma && c->tma >= tma);
}

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

/* n: transposes of a and b, relu of the result plus bias */
static rg_tensor gemm(const struct sim_case *s, rg_ctx *c, const rg_tensor *in) {
    (void)c;
    rg_tensor a = s->n[0] ? rg_transpose(in[0], -2, -1) : in[0],
              b = s->n[1] ? rg_transpose(in[1], -2, -1) : in[1];
    rg_tensor y = rg_matmul(a, b);
    return s->n[2] ? rg_relu(rg_add(y, in[2])) : y;
}

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

/* ---- attention --------------------------------------------------------------------------------------------- */

enum { PLAIN, CAUSAL, MASKED, GROUPED, BIASED };
/* in: q (.., T, D), k and v (.., S, D), a mask of numbers, or what is added to the scores; n: how */
static rg_tensor attention(const struct sim_case *s, rg_ctx *c, const rg_tensor *in) {
    (void)c;
    rg_tensor mask = s->n[0] == MASKED   ? rg_lt(in[3], 0.5)
                     : s->n[0] == BIASED ? in[3]
                                         : RG_NONE,
              k = in[1], v = in[2];
    if (s->n[0] == GROUPED) { /* each key serves several heads */
        int64_t b = s->in[0].d[0], kv = s->in[1].d[1], each = s->in[0].d[1] / kv, t = s->in[1].d[2],
                d = s->in[1].d[3];
        rg_tensor *x[] = {&k, &v};
        for (int i = 0; i < 2; i++)
            *x[i] = rg_reshape(
                rg_expand(rg_reshape(*x[i], RG_SHAPE(b, kv, 1, t, d)), RG_SHAPE(b, kv, each, t, d)),
                RG_SHAPE(b, kv * each, t, d));
    }
    return rg_attention(in[0], k, v, .causal = s->n[0] == CAUSAL || s->n[0] == GROUPED, .mask = mask);
}

#define QKV(type, heads, kv, t, s, d)                  \
    {type, {1, heads, t, d}}, {type, {1, kv, s, d}}, { \
        type, { 1, kv, s, d }                          \
    }

/* Head sizes that are padded to whole panels: wgmma in all kernels. */
TEST_SLOW(simgpu_attention_head_sizes, 300) {
    const struct sim_case s[] = {
        {"attention bf16 80 grads", .fn = attention, .n = {CAUSAL}, .grads = true,
         .in = {QKV(RG_BF16, 1, 1, 64, 64, 80)}, .most = 3e-2},
        {"attention f16 40", .fn = attention, .in = {QKV(RG_F16, 1, 1, 40, 70, 40)}, .most = 1e-2},
        {"attention bf16 136", .fn = attention, .in = {QKV(RG_BF16, 1, 1, 64, 64, 136)}, .most = 2e-2},
        {"attention bf16 192 grads", .fn = attention, .grads = true, .in = {QKV(RG_BF16, 1, 1, 64, 80, 192)},
         .most = 3e-2},
        {"attention bf16 200", .fn = attention, .in = {QKV(RG_BF16, 1, 1, 64, 64, 200)}, .most = 2e-2},
    };
    check_all(s, RG_COUNT(s), "SIM90");
    say(8, 8, 8, 0); /* dK and dV of heads of 192 are a kernel each: their sums would take all registers */
}

/* Heads of 136 to 256, whose dK and dV are kernels of their own: a tile of padded heads or keys is read by two GEMMs, and row statistics
 * that threads read are pipelined, through more blocks than there are stages if rows are whole blocks. */
static struct sim_case draw_wide_heads(struct sim_draw *d, int mask, char name[64]) {
    bool whole = mask == PLAIN;
    int64_t w = 8 * draw(d, 17, whole ? 24 : 32), t = whole ? 192 : draw(d, 129, 150),
            u = mask == MASKED ? draw(d, 129, 150) : t;
    struct sim_case s = {.name = name,
                         .fn = attention,
                         .n = {mask},
                         .grads = true,
                         .most = 6e-2,
                         .in = {QKV(RG_BF16, 1, 1, t, u, w), {RG_F32, {t, u}}}};
    if (mask != MASKED) s.in[3].d[0] = 0;
    snprintf(name, 64, "%lld over %lld keys of %lld, %s", (long long)t, (long long)u, (long long)w,
             mask == MASKED   ? "masked"
             : mask == CAUSAL ? "causal"
                              : "no mask");
    return s;
}

/* SEED and SEEDS choose others. */
TEST_SLOW(simgpu_attention_wide_heads, 600) {
    uint64_t first = getenv("SEED") ? strtoull(getenv("SEED"), NULL, 10) : 1;
    unsigned n = getenv("SEEDS") ? (unsigned)strtoull(getenv("SEEDS"), NULL, 10) : 1;
    for (uint64_t i = 0; i < 3 * n; i++) {
        struct sim_draw d = {first + i / 3};
        char name[64];
        d.s += i % 3 * 1000;
        struct sim_case s = draw_wide_heads(&d, (int)(i % 3), name);
        check_all(&s, 1, "SIM90");
    }
    say(15 * n, 15 * n, 15 * n, 4 * n); /* forward, for the result alone, too; dQ, dK and dV */
}

/* As many keys as columns, of which no pass over the keys is one over the columns. */
TEST_SLOW(simgpu_attention_of_square_keys, 300) {
    struct sim_draw d = {1};
    for (int mask = PLAIN; mask <= MASKED; mask++) {
        int64_t w = 8 * draw(&d, 4, 12), t = draw(&d, 40, 90);
        struct sim_case s = {.name = "keys as columns",
                             .fn = attention,
                             .n = {mask},
                             .grads = true,
                             .most = 6e-2,
                             .in = {QKV(RG_BF16, 2, 2, mask == CAUSAL ? w : t, w, w), {RG_F32, {t, w}}}};
        if (mask != MASKED) s.in[3].d[0] = 0;
        check_all(&s, 1, "CPU SIM90");
    }
    say(12, 12, 12, 0);
}

/* No streaming form: GEMMs and a softmax over stored scores. */
TEST_SLOW(simgpu_attention_plain, 300) {
    const struct sim_case s[] = {
        {"attention f32 128 grads", .fn = attention, .n = {CAUSAL}, .grads = true,
         .in = {QKV(RG_F32, 1, 1, 180, 190, 128)}, .most = 5e-5},
        {"attention f32 groups masked", .fn = attention, .n = {MASKED},
         .in = {QKV(RG_F32, 2, 1, 130, 170, 100), {RG_F32, {130, 170}}}, .most = 5e-5},
    };
    unsigned before = simgpu_count.launches;
    check_all(s, RG_COUNT(s), "SIM90");
    CHECK(simgpu_count.launches - before > 12); /* not one kernel each */
}

/* Bytes between kernels of attention with gradients, T queries and keys; planned only. */
static int64_t attention_scratch(rg_ctx *c, int64_t t, bool is_causal) {
    RG_SCOPE(c);
    rg_plan_stats s = {0};
    rg_tensor x[3], g[3];
    float *zeros = calloc((size_t)t * 64, sizeof *zeros);
    for (int i = 0; i < 3; i++) x[i] = rg_from(c, RG_F32, zeros, RG_SHAPE(1, 1, t, 64));
    free(zeros);
    rg_tensor y = rg_attention(x[0], x[1], x[2], .causal = is_causal);
    if (rg_grad(rg_sum(rg_square(y)), RG_ARRAY(x, 3), g)) FAIL("%s", rg_error(c));
    if (rg_schedule_stats(RG_TENSORS(y, g[0], g[1], g[2]), &s)) FAIL("%s", rg_error(c));
    return s.scratch;
}

/* Scores above the limit: blocks of queries, computed again for the gradient. */
TEST_SLOW(simgpu_attention_blocks, 300) {
    const struct sim_case s[] = {
        {"attention f32 128 grads", .fn = attention, .n = {CAUSAL}, .grads = true,
         .in = {QKV(RG_F32, 1, 1, 180, 190, 128)}, .most = 5e-5},
        {"attention f32 groups masked", .fn = attention, .n = {MASKED},
         .in = {QKV(RG_F32, 2, 1, 130, 170, 100), {RG_F32, {130, 170}}}, .most = 5e-5},
    };
    setenv("RIDGE_SCORES", "0", 1);
    env_reload();
    check_all(s, RG_COUNT(s), "SIM90");
    setenv("RIDGE_SCORES", "4", 1);
    env_reload();
    rg_ctx *c = rg_open("SIM90");
    for (int is_causal = 0; is_causal < 2; is_causal++) {
        int64_t once = attention_scratch(c, 2048, is_causal), twice = attention_scratch(c, 4096, is_causal);
        TEST_INFO("%lld and %lld bytes between kernels", (long long)once, (long long)twice);
        CHECK(twice < (int64_t)4096 * 4096 * 4 / 2 && twice < 3 * once);
    }
    rg_close(c);
    unsetenv("RIDGE_SCORES");
    env_reload();
}

/* Heads of q that share keys: dK and dV are tensor-core kernels too. */
TEST_SLOW(simgpu_attention_groups, 300) {
    const struct sim_case s[] = {
        {"attention bf16 groups grads", .fn = attention, .n = {CAUSAL}, .grads = true,
         .in = {QKV(RG_BF16, 2, 1, 72, 72, 64)}, .most = 6e-2},
        {"attention bf16 groups grads, all keys", .fn = attention, .grads = true,
         .in = {QKV(RG_BF16, 4, 2, 136, 136, 64)}, .most = 6e-2},
        {"attention f32 groups grads", .fn = attention, .grads = true, .in = {QKV(RG_F32, 6, 2, 19, 23, 8)},
         .most = 5e-5},
    };
    check_all(s, RG_COUNT(s), "SIM90");
    say(12, 12, 12, 0);
}

TEST_SLOW(simgpu_attention, 300) {
    const struct sim_case s[] = {
        {"attention f32", .fn = attention, .grads = true, .in = {QKV(RG_F32, 2, 2, 24, 24, 16)},
         .most = 5e-5},
        {"attention masked", .fn = attention, .n = {MASKED}, .grads = true,
         .in = {QKV(RG_F32, 2, 2, 20, 28, 16), {RG_F32, {20, 28}}}, .most = 5e-5},
        {"attention odd causal", .fn = attention, .n = {CAUSAL}, .grads = true,
         .in = {QKV(RG_F32, 1, 1, 37, 37, 24)}, .most = 5e-5},
        {"attention grouped bf16", .fn = attention, .n = {GROUPED}, .in = {QKV(RG_BF16, 4, 2, 64, 64, 64)},
         .most = 2e-2},
        {"attention bf16 grads", .fn = attention, .n = {CAUSAL}, .grads = true,
         .in = {QKV(RG_BF16, 1, 1, 64, 64, 64)}, .most = 6e-2},
        {"attention bf16 odd", .fn = attention, .in = {QKV(RG_BF16, 2, 2, 70, 90, 64)}, .most = 2e-2},
        {"attention f16 128", .fn = attention, .n = {CAUSAL}, .in = {QKV(RG_F16, 1, 1, 64, 64, 128)},
         .most = 1e-2},
    };
    check_all(s, 3, "SIM80 SIM90"); /* of floats */
    check_all(s + 3, RG_COUNT(s) - 3, "SIM80 SIM90S");
    say(2, 2, 2, 0);
}

/* A number for each score, in rows of any length: a tile in shared memory beside those of keys and values. */
TEST_SLOW(simgpu_attention_bias, 300) {
    for (uint64_t i = 0; i < 6; i++) {
        struct sim_draw d = {70 + i};
        rg_dtype dt = i % 2 ? RG_F16 : RG_BF16;
        int64_t t = draw(&d, 70, 190), u = i % 3 ? draw(&d, 90, 200) : t, w = i % 3 == 1 ? 128 : 64,
                h = 1 + i % 2;
        char name[80];
        struct sim_case s = {.name = name,
                             .fn = attention,
                             .n = {i == 4 ? MASKED : BIASED},
                             .grads = i % 2 == 0 && i < 4,
                             .in = {{dt, {1, h, t, w}},
                                    {dt, {1, h, u, w}},
                                    {dt, {1, h, u, w}},
                                    {i == 4 ? RG_F32 : dt, {1, i < 3 ? h : 1, t, u}}},
                             .most = 4e-2};
        snprintf(name, sizeof name, "attention bias, %lld by %lld, head %lld", (long long)t, (long long)u,
                 (long long)w);
        check_seed(&s, "SIM90", i + 1);
    }
    say(6, 6, 6, 0);
}

/* Heads that wgmma does not take are padded; blocks of causal queries do not look at hidden keys. */
TEST_SLOW(simgpu_attention_forms, 300) {
    const struct sim_case s[] = {
        {"attention of 20", .fn = attention, .grads = true, .in = {QKV(RG_BF16, 4, 2, 230, 250, 20)},
         .most = 6e-2},
        {"attention of 36, masked", .fn = attention, .n = {MASKED}, .grads = true,
         .in = {QKV(RG_F16, 1, 1, 350, 350, 36), {RG_F32, {350, 350}}}, .most = 2e-2},
        {"attention in blocks", .fn = attention, .n = {CAUSAL}, .grads = true,
         .in = {QKV(RG_F32, 2, 2, 520, 540, 16)}, .most = 1e-4},
    };
    check_all(s, 2, "CPU SIM90");
    say(6, 6, 6, 0);
    check_all(s + 2, 1, "CPU SIM90S");
    say(12, 6, 6, 0);
}

/* Few queries over many keys: scores and weights of one to sixteen queries are stored; those of more are cut into chunks of keys. */
TEST_SLOW(simgpu_attention_decode, 300) {
    const struct sim_case s[] = {
        {"decode bf16", .fn = attention, .grads = true, .in = {QKV(RG_BF16, 3, 3, 1, 256, 64)}, .most = 4e-2},
        {"decode", .fn = attention, .n = {CAUSAL}, .in = {QKV(RG_F32, 2, 2, 1, 300, 40)}, .most = 1e-4},
        {"decode grouped", .fn = attention,
         .in = {{RG_BF16, {1, 8, 1, 64}}, {RG_BF16, {1, 2, 512, 64}}, {RG_BF16, {1, 2, 512, 64}}},
         .most = 2e-2},
        {"decode grouped, a line for each key", .fn = attention,
         .in = {{RG_BF16, {1, 16, 1, 64}}, {RG_BF16, {1, 8, 520, 64}}, {RG_BF16, {1, 8, 520, 64}}},
         .most = 2e-2},
        {"decode chunks", .fn = attention, .grads = true, .in = {QKV(RG_BF16, 1, 1, 20, 384, 64)},
         .most = 4e-2},
        {"decode chunks grouped", .fn = attention,
         .in = {{RG_BF16, {1, 24, 1, 64}}, {RG_BF16, {1, 1, 512, 64}}, {RG_BF16, {1, 1, 512, 64}}},
         .most = 2e-2},
    };
    check_all(s, RG_COUNT(s), "SIM90");
    say(1, 1, 1, 0);
}

/* Sums of negatives, by row and all the way. */
static rg_tensor less(const struct sim_case *s, rg_ctx *c, const rg_tensor *in) {
    (void)s, (void)c;
    rg_tensor last =
        rg_reshape(rg_sum(rg_neg(rg_exp(in[0])), .axes = RG_AXES(1)), RG_SHAPE(rg_dim(in[0], 0), 1));
    return rg_add(last, rg_cumsum(rg_neg(in[0]), 1));
}

TEST(simgpu_sums_of_negatives) {
    const struct sim_case s[] = {
        {"negatives", .fn = less, .in = {{RG_F32, {3, 700}}}},
        {"negatives f16", .fn = less, .in = {{RG_F16, {2, 1030}}}, .most = 2e-2},
    };
    check_all(s, RG_COUNT(s), "SIM80 SIM90");
}

/* Extremes of extremes: one reduction over all their axes, also where the inner ones are rounded to 16 bits, or are NaN. */
static rg_tensor extremes(const struct sim_case *s, rg_ctx *c, const rg_tensor *in) {
    (void)c;
    rg_dtype between = (rg_dtype)s->n[0];
    rg_tensor x = in[0];
    if (s->n[1]) x = rg_where(rg_gt(x, 0.995), rg_sqrt(rg_sub(-2.0, x)), x);
    rg_tensor y = rg_max(rg_cast(rg_max(x, .axes = RG_AXES(2)), between), .axes = RG_AXES(1));
    rg_tensor z = rg_min(rg_cast(rg_min(x, .axes = RG_AXES(1)), between), .axes = RG_AXES(1));
    y = rg_cast(y, RG_F32), z = rg_cast(z, RG_F32);
    return rg_add(rg_where(rg_ne(y, y), 7.0, y), rg_where(rg_ne(z, z), 100.0, z));
}

TEST(simgpu_extremes_of_extremes) {
    const struct sim_case s[] = {
        {"extremes", .fn = extremes, .in = {{RG_F32, {3, 37, 259}}}, .n = {RG_F32}, .most = 1e-9},
        {"extremes bf16", .fn = extremes, .in = {{RG_F32, {2, 300, 41}}}, .n = {RG_BF16}, .most = 1e-9},
        {"extremes f16", .fn = extremes, .in = {{RG_F16, {5, 9, 33}}}, .n = {RG_F16}, .most = 1e-9},
        {"extremes, NaN", .fn = extremes, .in = {{RG_F32, {4, 6, 77}}}, .n = {RG_BF16, 1}, .most = 1e-9},
        {"extremes i8", .fn = extremes, .in = {{RG_I8, {4, 70, 70}, 100}}, .n = {RG_I32}, .most = 1e-9},
    };
    check_all(s, RG_COUNT(s), "CPU SIM90");
}

/* ---- loops with a period ------------------------------------------------------------------------------------ */

/* in: x (B, C, H, W), p (N, C). The channels of x one after the other, less the sums of p. */
static rg_tensor by_channel(const struct sim_case *s, rg_ctx *c, const rg_tensor *in) {
    (void)c;
    int64_t ch = s->in[0].d[1], each = s->in[0].d[0] * s->in[0].d[2] * s->in[0].d[3];
    rg_tensor x = rg_reshape(rg_transpose(in[0], 0, 1), RG_SHAPE(ch, each));
    rg_tensor sums = rg_reshape(rg_sum(rg_cast(in[1], RG_F32), .axes = RG_AXES(0)), RG_SHAPE(ch, 1));
    return rg_cast(rg_sub(rg_cast(x, RG_F32), sums), s->in[0].dt);
}

TEST(simgpu_loops_with_a_period) {
    const struct sim_case s[] = {
        {"period 196 bf16", .fn = by_channel, .in = {{RG_BF16, {4, 3, 14, 14}}, {RG_F32, {64, 3}}},
         .most = 1e-2},
        {"period 35", .fn = by_channel, .in = {{RG_F32, {9, 5, 5, 7}}, {RG_F32, {33, 5}}}},
        {"period 64", .fn = by_channel, .in = {{RG_F32, {32, 2, 8, 8}}, {RG_F32, {40, 2}}}},
    };
    check_all(s, RG_COUNT(s), "SIM80 SIM90");
}

/* Sums over images and positions, which one loop of a block's threads runs through: mean and variance of each channel. */
static rg_tensor by_images(const struct sim_case *s, rg_ctx *c, const rg_tensor *in) {
    (void)s, (void)c;
    rg_tensor x = rg_cast(in[0], RG_F32), mean = rg_mean(x, .axes = RG_AXES(0, 2, 3));
    return rg_add(mean, rg_var(x, .axes = RG_AXES(0, 2, 3)));
}

TEST(simgpu_sums_over_images) {
    const struct sim_case s[] = {
        {"images of 14 x 14 bf16", .fn = by_images, .grads = true, .in = {{RG_BF16, {12, 3, 14, 14}}},
         .most = 1e-2},
        {"images of 7 x 7", .fn = by_images, .grads = true, .in = {{RG_F32, {33, 5, 7, 7}}}, .most = 1e-4},
        {"images of 16 x 16", .fn = by_images, .in = {{RG_F32, {64, 2, 16, 16}}}, .most = 1e-4},
    };
    check_all(s, RG_COUNT(s), "SIM80 SIM90");
}

/* Sums down columns, of one tensor or of products with another and a number for each row: gradients of biases and of norms. */
static rg_tensor by_columns(const struct sim_case *s, rg_ctx *c, const rg_tensor *in) {
    (void)c;
    rg_tensor x = rg_cast(in[0], RG_F32), sum = rg_sum(x, .axes = RG_AXES(0, 1));
    if (inputs(s) == 1) return sum;
    return rg_add(sum, rg_sum(rg_mul(x, rg_mul(in[1], in[2])), .axes = RG_AXES(0, 1)));
}

TEST(simgpu_sums_of_columns) {
    const struct sim_case s[] = {
        {"columns bf16", .fn = by_columns, .in = {{RG_BF16, {3, 100, 256}}}, .most = 1e-4},
        {"columns", .fn = by_columns, .in = {{RG_F32, {1, 333, 160}}}, .most = 1e-4},
        {"columns of two", .fn = by_columns,
         .in = {{RG_BF16, {2, 130, 256}}, {RG_F32, {2, 130, 256}}, {RG_F32, {2, 130, 1}}}, .most = 1e-4},
        {"columns of no whole line", .fn = by_columns, .in = {{RG_F16, {4, 70, 200}}}, .most = 1e-4},
    };
    check_all(s, RG_COUNT(s), "SIM80S SIM90S");
    say(1, 0, 0, 0);
}

/* A transposition that is fused with what computes its operand reads three tensors transposed. */
static rg_tensor transposed(const struct sim_case *s, rg_ctx *c, const rg_tensor *in) {
    (void)s, (void)c;
    return rg_contiguous(rg_transpose(rg_add(rg_mul(in[0], in[1]), in[2]), 1, 2));
}

TEST(simgpu_transposes_of_several) {
    const struct sim_case s[] = {
        {"transposed sums", .fn = transposed,
         .in = {{RG_F32, {1, 260, 264}}, {RG_F32, {1, 260, 264}}, {RG_F32, {1, 260, 264}}}},
        {"transposed sums bf16", .fn = transposed,
         .in = {{RG_BF16, {3, 150, 152}}, {RG_BF16, {3, 150, 152}}, {RG_BF16, {3, 150, 152}}}, .most = 1e-2},
    };
    check_all(s, RG_COUNT(s), "SIM90");
    say(1, 0, 0, 0);
}

/* ---- convolutions ------------------------------------------------------------------------------------------- */

/* n: stride, padding, dilation, groups, transposed */
static rg_tensor conv(const struct sim_case *s, rg_ctx *c, const rg_tensor *in) {
    (void)c;
    rg_ints stride = RG_LIST(&s->n[0], s->n[0] > 0), pad = RG_LIST(&s->n[1], 1),
            dil = RG_LIST(&s->n[2], s->n[2] > 0);
    if (s->n[4])
        return rg_conv_transpose2d(in[0], in[1], .stride = stride, .padding = pad, .dilation = dil,
                                   .groups = s->n[3]);
    return rg_conv2d(in[0], in[1], .stride = stride, .padding = pad, .dilation = dil, .groups = s->n[3],
                     .bias = inputs(s) > 2 ? in[2] : RG_NONE);
}
#define CONV(type, b, ci, hw, co, k) \
    .fn = conv, .grads = true, .in = {{type, {b, ci, hw, hw}}, {type, {co, ci, k, k}, 0.3}}

TEST_SLOW(simgpu_conv, 300) {
    const struct sim_case s[] = {
        {"conv 1x1", CONV(RG_F32, 2, 8, 9, 8, 1)},
        {"conv 3x3", CONV(RG_F32, 2, 8, 10, 8, 3), .n = {1, 1}},
        {"conv 5x5", CONV(RG_F32, 1, 4, 12, 8, 5), .n = {1, 2}},
        {"conv strided", CONV(RG_F32, 2, 4, 11, 8, 3), .n = {2, 1}},
        {"conv dilated", CONV(RG_F32, 1, 4, 12, 4, 3), .n = {1, 2, 2}},
        {"conv grouped", .fn = conv, .grads = true, .n = {1, 1, 1, 4},
         .in = {{RG_F32, {2, 8, 8, 8}}, {RG_F32, {8, 2, 3, 3}}}},
        {"conv depthwise", .fn = conv, .grads = true, .n = {1, 1, 1, 8},
         .in = {{RG_F32, {2, 8, 8, 8}}, {RG_F32, {8, 1, 3, 3}}}},
        {"conv transposed", .fn = conv, .grads = true, .n = {2, 1, 1, 1, 1},
         .in = {{RG_F32, {1, 8, 6, 6}}, {RG_F32, {8, 4, 4, 4}}}},
        {"conv bias", .fn = conv, .grads = true, .n = {1, 1},
         .in = {{RG_F32, {2, 3, 8, 8}}, {RG_F32, {8, 3, 3, 3}}, {RG_F32, {8}}}},
        {"conv bf16 1x1", CONV(RG_BF16, 2, 32, 8, 32, 1), .most = 2e-2},
        {"conv bf16 3x3", CONV(RG_BF16, 2, 16, 8, 16, 3), .n = {1, 1}, .most = 2e-2},
        {"conv bf16 strided", CONV(RG_BF16, 2, 16, 8, 16, 3), .n = {2, 1}, .most = 2e-2},
        {"conv f16 odd", CONV(RG_F16, 1, 5, 7, 9, 3), .n = {1, 1}, .most = 1e-2},
    };
    check_all(s, RG_COUNT(s), "SIM80 SIM90S");
    say(0, 0, 0, 0);
}

TEST_SLOW(simgpu_conv_forms, 300) { /* as large as tensor cores ask for; unsplit sums, as large images have */
    const struct sim_case s[] = {
        {"conv bf16 64 channels", .fn = conv, .grads = true, .n = {1, 1},
         .in = {{RG_BF16, {1, 64, 16, 8}}, {RG_BF16, {64, 64, 3, 3}, 0.1}}, .most = 2e-2},
        {"conv bf16 odd rows", .fn = conv, .n = {1, 1},
         .in = {{RG_BF16, {1, 64, 10, 10}}, {RG_BF16, {64, 64, 3, 3}, 0.1}}, .most = 2e-2},
        {"conv bf16 1x1 128 channels", .fn = conv,
         .in = {{RG_BF16, {2, 128, 16, 8}}, {RG_BF16, {64, 128, 1, 1}, 0.1}}, .most = 2e-2},
        {"conv f32 32 channels", .fn = conv, .n = {1, 1},
         .in = {{RG_F32, {1, 32, 16, 8}}, {RG_F32, {32, 32, 3, 3}, 0.1}}},
    };
    setenv("RIDGE_SPLIT", "0", 1), env_reload();
    check_all(s, RG_COUNT(s), "SIM80S SIM90S");
    say(6, 3, 3, 0);
}

/* f32 where no direct convolution fits: implicit GEMM by FMAs, of gathered operands. */
/* A product or a convolution whose channels are stored as rows (channels, images x positions), padded by n[5] and n[3] (no
 * convolution has both): as the operand of a GEMM after it is. */
static rg_tensor padded_rows(const struct sim_case *s, rg_ctx *c, const rg_tensor *in) {
    bool images = rg_rank(in[0]) == 4;
    rg_tensor y = rg_relu(images ? rg_transpose(conv(s, c, in), 0, 1) : gemm(s, c, in));
    if (images) y = rg_flatten(y, 1, 3);
    return rg_contiguous(rg_pad(y, RG_SHAPE(0, images ? 0 : s->n[3], 0, s->n[5]), 0));
}

TEST_SLOW(simgpu_padded_rows, 300) {
    const struct sim_case s[] = {
        {"product in padded rows", .fn = padded_rows, .n = {[5] = 4},
         .in = {{RG_BF16, {64, 128}}, {RG_BF16, {128, 60}}}, .most = 1e-2},
        {"product in padded rows and columns", .fn = padded_rows, .n = {[1] = 1, [3] = 3, [5] = 2},
         .in = {{RG_F32, {45, 40}}, {RG_F32, {62, 40}}}},
        {"1x1 convolution of 7 x 7", .fn = padded_rows, .n = {1, 0, [5] = 6},
         .in = {{RG_BF16, {2, 64, 7, 7}}, {RG_BF16, {64, 64, 1, 1}, 0.1}}, .most = 2e-2},
        {"3x3 convolution of 7 x 7", .fn = padded_rows, .n = {1, 1, [5] = 13},
         .in = {{RG_BF16, {3, 64, 7, 7}}, {RG_BF16, {64, 64, 3, 3}, 0.1}}, .most = 2e-2},
        {"3x3 convolution of 14 x 14, not padded", .fn = padded_rows, .n = {1, 1},
         .in = {{RG_BF16, {2, 64, 14, 14}}, {RG_BF16, {64, 64, 3, 3}, 0.1}}, .most = 2e-2},
        {"3x3 convolution of stride 2", .fn = padded_rows, .n = {2, 1, [5] = 3},
         .in = {{RG_F16, {2, 32, 9, 9}}, {RG_F16, {48, 32, 3, 3}, 0.1}}, .most = 1e-2},
        {"f32 3x3 convolution", .fn = padded_rows, .n = {1, 1, [5] = 2},
         .in = {{RG_F32, {2, 16, 8, 7}}, {RG_F32, {24, 16, 3, 3}, 0.1}}},
    };
    setenv("RIDGE_SPLIT", "0", 1), env_reload();
    check_all(s, RG_COUNT(s), "SIM80S SIM90S");
    say(6, 2, 2, 0);
}

TEST_SLOW(simgpu_conv_gathered, 300) {
    struct sim_draw d = {3};
    for (int i = 0; i < 8; i++) {
        int64_t ci = 8 * draw(&d, 2, 4) + draw(&d, 0, 1), co = 16 + draw(&d, 0, 20), hw = draw(&d, 9, 15),
                k = draw(&d, 1, 3);
        struct sim_case s = {"random", CONV(RG_F32, 2, ci, hw, co, k), .most = 1e-4};
        s.n[0] = draw(&d, 1, 3), s.n[1] = draw(&d, 0, k - 1), s.n[2] = draw(&d, 1, 2), s.n[3] = 1;
        if ((s.n[4] = i % 2)) s.in[1].d[0] = ci, s.in[1].d[1] = co;
        check_seed(&s, "CPU SIM90S", (uint64_t)i);
    }
    say(8, 0, 0, 0);
}

/* Two products: what is computed of the first is stored in the rows that the second reads, with padding. */
static rg_tensor two_products(const struct sim_case *s, rg_ctx *c, const rg_tensor *in) {
    (void)s, (void)c;
    return rg_matmul(rg_silu(rg_matmul(in[0], in[1])), in[2]);
}

TEST_SLOW(simgpu_products_in_padded_rows, 300) {
    static const rg_dtype dt[] = {RG_F32, RG_BF16, RG_F32, RG_F16};
    struct sim_draw d = {5};
    for (int i = 0; i < 6; i++) {
        int64_t m = draw(&d, 128, 200), k = draw(&d, 33, 80), h = draw(&d, 33, 90), n = draw(&d, 33, 80);
        rg_dtype t = dt[i % 4];
        struct sim_case s = {.name = "two products",
                             .fn = two_products,
                             .in = {{t, {m, k}, 0}, {t, {k, h}, 0}, {t, {h, n}, 0}},
                             .most = t == RG_F32 ? 1e-4 : 2e-2,
                             .grads = i % 2};
        check_seed(&s, "CPU SIM90S SIM90", (uint64_t)i);
    }
    say(4, 0, 0, 0);
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
