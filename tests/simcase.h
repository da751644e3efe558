/* simcase.h: cases of the tests on the simulated GPU (tests/simgpu.h): a program, its inputs and what it is compared with. Whole
 * programs go through the planner, the opts and the lowering of a GPU, each kernel interpreted with all checks, against the
 * oracle. SIM90S has few SMs, so that small products get the forms of large ones. */
#ifndef RIDGE_TEST_SIMCASE_H
#define RIDGE_TEST_SIMCASE_H

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

static inline int inputs(const struct sim_case *s) {
    int n = 0;
    while (n < MOST_IN && s->in[n].d[0]) n++;
    return n;
}

static inline bool floats(rg_dtype dt) { return dt == RG_F32 || dt == RG_F16 || dt == RG_BF16; }

static inline rg_tensor make_input(const struct sim_case *s, rg_ctx *c, int i, uint64_t seed) {
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

static inline int outputs(const struct sim_case *s) {
    int n = 1;
    for (int i = 0; i < inputs(s) && s->grads; i++) n += floats(s->in[i].dt);
    return n;
}

static inline rg_status body(void *user, const rg_tensor *in, rg_tensor *out) {
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

static inline void read_all(const struct sim_run *r, const char *device, const rg_tensor *out,
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

static inline void compare(const struct sim_case *s, const char *device, int call,
                           const struct sim_values *got, const struct sim_values *want) {
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

static inline void run(const struct sim_case *s, const char *device, uint64_t seed, int calls,
                       struct sim_values *v, const struct sim_values *want) {
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
static inline void check_seed(const struct sim_case *s, const char *devices, uint64_t seed) {
    struct sim_values want = {0}, got = {0};
    char name[16];
    int at = 0;
    simgpu_add();
    run(s, "REF", seed, 1, &want, NULL);
    for (const char *p = devices; sscanf(p, "%15s%n", name, &at) == 1; p += at)
        run(s, name, seed, s->jit ? 3 : 1, &got, &want);
    free(want.p), free(got.p);
}

static inline void check_all(const struct sim_case *s, size_t n, const char *devices) {
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
static inline int64_t draw(struct sim_draw *d, int64_t lo, int64_t hi) {
    return lo + (int64_t)(hash_u64(d->s += 0x9e3779b97f4a7c15u) % (uint64_t)(hi - lo + 1));
}
/* Often a multiple of something, sometimes anything. */
static inline int64_t draw_size(struct sim_draw *d, int64_t most) {
    static const int64_t step[] = {1, 1, 8, 16, 32, 64};
    int64_t by = step[draw(d, 0, 5)];
    return by * draw(d, 1, RG_MAX(most / by, 1));
}

/* What the group ran; of block programs and instructions of tensor cores at least n each. */
static inline void say(unsigned blocks, unsigned mma, unsigned wgmma, unsigned tma) {
    const struct simgpu_count *c = &simgpu_count;
    TEST_INFO(
        "%u launches, %u by threads of a block, %u with mma, %u with wgmma, %u with TMA; %.0fM evaluations, "
        "slowest %s %.0fM",
        c->launches, c->blocks, c->mma, c->wgmma, c->tma, c->total / 1e6, c->most, c->cost / 1e6);
    CHECK(c->blocks >= blocks && c->mma >= mma && c->wgmma >= wgmma && c->tma >= tma);
}

/* ---- programs of several files ------------------------------------------------------------------------------ */

/* n: transposes of a and b, relu of the result plus bias */
static inline rg_tensor gemm(const struct sim_case *s, rg_ctx *c, const rg_tensor *in) {
    (void)c;
    rg_tensor a = s->n[0] ? rg_transpose(in[0], -2, -1) : in[0],
              b = s->n[1] ? rg_transpose(in[1], -2, -1) : in[1];
    rg_tensor y = rg_matmul(a, b);
    return s->n[2] ? rg_relu(rg_add(y, in[2])) : y;
}

enum { PLAIN, CAUSAL, MASKED, GROUPED, BIASED };
/* in: q (.., T, D), k and v (.., S, D), a mask of numbers, or what is added to the scores; n: how */
static inline rg_tensor attention(const struct sim_case *s, rg_ctx *c, const rg_tensor *in) {
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

/* n: stride, padding, dilation, groups, transposed */
static inline rg_tensor conv(const struct sim_case *s, rg_ctx *c, const rg_tensor *in) {
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

#endif
