/* benchmark.c: rg_benchmark: how long a piece of a program takes.
 *
 * A sample is as many calls as last some milliseconds, between two looks at one clock: the device's own where it has one (CUDA
 * events), so that launches overlap kernels as in a program. There a call goes before the first look: an empty stream would
 * count the time until the first launch. Cold: before each call all caches are overwritten by a kernel on all cores; the
 * clock starts after it.
 * Tests: tests/unit/benchmark.c */
#include "internal.h"

#include <math.h>
#include <stdlib.h>

/* A sample lasts as long at least: the clock and the start of the first kernel are small then. By the host's clock longer,
 * so that what interrupts all loops now and then is in every sample, as in a loop that is timed as a whole. */
#define SAMPLE_DEVICE_NS 1e6
#define SAMPLE_HOST_NS 1e7
#define SAMPLES_LEAST 5
#define SAMPLES_MOST 10000
#define CALLS_MOST 100000
#define FLUSH_MOST ((size_t)1 << 30)

struct bench {
    rg_ctx *c;
    rg_benchmark_fn *fn;
    void *user;
    const char *file;
    int line;
    rg_tensor flush; /* RG_NONE: warm */
    uint64_t ns;     /* of the last sample */
};

static void do_span_begin(struct api_call *k) {
    if (engine_span(k->c->engine, &k->c->err, NULL))
        err_throw(&k->c->err, k->c->err.code, "starting the clock");
}

static void do_span_end(struct api_call *k) {
    if (engine_span(k->c->engine, &k->c->err, k->p))
        err_throw(&k->c->err, k->c->err.code, "waiting for the device");
}

static void clock_at(struct bench *b, uint64_t *ns) {
    const char *file = b->file;
    int line = b->line;
    call_work(CALL(benchmark, .c = b->c, .p = ns), ns ? do_span_end : do_span_begin);
}

/* Nothing that the call makes outlives it. */
static void call_once(struct bench *b) {
    rg_scope s = rg_begin(b->c);
    b->fn(b->c, b->user);
    rg_end(s);
}

static void overwrite_caches(struct bench *b) {
    rg_scope s = rg_begin(b->c);
    rg_tensor next =
        rg_add_at(b->file, b->line, (rg_operand){.t = b->flush}, (rg_operand){.kind = 2, .v = {.f = 1}});
    rg_assign_at(b->file, b->line, b->flush, (rg_operand){.t = next});
    rg_realize_at(b->file, b->line, b->flush);
    rg_end(s);
}

static bool sample(struct bench *b, int calls) {
    if (b->flush.id)
        overwrite_caches(b);
    else if (engine_has_clock(b->c->engine))
        call_once(b);
    clock_at(b, NULL);
    for (int i = 0; i < calls && !b->c->err.code; i++) call_once(b);
    clock_at(b, &b->ns);
    return !b->c->err.code;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void summarize(double *t, int n, rg_benchmark_result *out) {
    qsort(t, (size_t)n, sizeof *t, by_value);
    out->median = n % 2 ? t[n / 2] : (t[n / 2 - 1] + t[n / 2]) / 2;
    out->least = t[0], out->most = t[n - 1];
    out->spread = out->median > 0 ? (t[(3 * n) / 4] - t[n / 4]) / out->median : 0;
    out->samples = n;
}

/* Twice what the caches hold, of all cores. */
static void do_flush_bytes(struct api_call *k) {
    const struct model *m = engine_model(k->c->engine, &k->c->err);
    if (!m) err_throw(&k->c->err, k->c->err.code, "no machine model");
    double all =
        model_value(m, MODEL_L3_SIZE) +
        model_value(m, MODEL_CORES) * (model_value(m, MODEL_L1_SIZE) + model_value(m, MODEL_L2_SIZE));
    *(size_t *)k->p = (size_t)RG_MIN(2 * all, (double)FLUSH_MOST);
}

static bool make_flush(struct bench *b) {
    const char *file = b->file;
    int line = b->line;
    size_t bytes = 0;
    if (call_work(CALL(benchmark, .c = b->c, .p = &bytes), do_flush_bytes)) return false;
    int64_t n = (int64_t)(bytes / 4);
    b->flush = rg_contiguous_at(file, line, rg_zeros_at(file, line, b->c, RG_F32, (rg_ints){&n, 1}));
    return !rg_realize_at(file, line, b->flush);
}

/* Calls that make a sample long enough. */
static int calls_of(struct bench *b) {
    int n = 1;
    double least = engine_has_clock(b->c->engine) ? SAMPLE_DEVICE_NS : SAMPLE_HOST_NS;
    while (sample(b, n) && (double)b->ns < least && n < CALLS_MOST)
        n = (int)RG_MIN(CALLS_MOST, RG_MAX(2.0 * n, ceil(1.2 * least / RG_MAX((double)b->ns, 1) * n)));
    return n;
}

static rg_status measure(struct bench *b, const rg_benchmark_opts *o, rg_benchmark_result *out) {
    rg_ctx *c = b->c;
    double budget = (o->seconds > 0 ? o->seconds : 0.5) * 1e9;
    int warmup = o->warmup > 0 ? o->warmup : 3,
        most = RG_MIN(o->samples > 0 ? o->samples : SAMPLES_MOST, SAMPLES_MOST);
    for (int i = 0; i < warmup && !c->err.code; i++) call_once(b);
    if (c->err.code || (o->cold && !make_flush(b))) return (rg_status)c->err.code;
    int calls = o->cold ? 1 : calls_of(b);
    double *t = mem_alloc((size_t)most * sizeof *t);
    if (!t)
        return (rg_status)err_set(&c->err, RG_ENOMEM, "%s:%d: rg_benchmark: out of memory", b->file, b->line);
    uint64_t began = os_now_ns(), kernels = c->kernels;
    int n = 0;
    while (n < most && (n < SAMPLES_LEAST || o->samples > 0 || (double)(os_now_ns() - began) < budget) &&
           sample(b, calls))
        t[n++] = (double)b->ns * 1e-9 / calls;
    if (!c->err.code) {
        summarize(t, n, out);
        out->calls = (uint64_t)n * (uint64_t)calls;
        out->device_clock = engine_has_clock(c->engine);
        uint64_t before = out->device_clock && !o->cold ? (uint64_t)n : 0; /* calls outside of the clock */
        out->kernels =
            (double)(c->kernels - kernels - (o->cold ? (uint64_t)n : 0)) / (double)(out->calls + before);
    }
    mem_free(t);
    return (rg_status)c->err.code;
}

static void do_check(struct api_call *k) {
    const struct bench *b = k->p;
    if (!b->fn) call_fail(k, RG_EINVAL, "the function is NULL");
    call_not_recording(k);
}

static void do_no_kernel(struct api_call *k) {
    call_fail(k, RG_EINVAL,
              "the function launched no kernel: it must compute, by rg_realize, rg_jit_call or rg_read");
}

rg_status rg_benchmark_at(const char *file, int line, rg_ctx *c, rg_benchmark_fn *fn, void *user,
                          rg_benchmark_result *out, rg_benchmark_opts o) {
    struct bench b = {.c = c, .fn = fn, .user = user, .file = file ? file : "unknown file", .line = line};
    if (!c || !out) return RG_EINVAL;
    *out = (rg_benchmark_result){0};
    if (call_work(CALL(benchmark, .c = c, .p = &b), do_check)) return (rg_status)c->err.code;
    rg_scope s = rg_begin(c);
    rg_status bad = measure(&b, &o, out);
    rg_end(s);
    return bad || out->kernels > 0 ? bad : call_work(CALL(benchmark, .c = c), do_no_kernel);
}
