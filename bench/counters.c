/* counters.c: a few programs on the CUDA device, for bench/counters.py, which reads hardware counters of their kernels.
 *
 *     bench/counters [NAME ..]         each program with a NAME in its name, for half a second, and how long a call takes
 *     bench/counters --once [NAME ..]  each once between cuProfilerStart and cuProfilerStop: what `ncu
 *                                      --profile-from-start off` looks at
 *
 * Data is random normal numbers: a GPU that is limited by power slows down with them, and with zeros it does not. Both ways a
 * program has run before, so that nothing is planned or compiled. Lines are `row NAME | kernels | from | to | us`; times are of
 * the clock of the day, so that what nvidia-smi says can be put beside them. */
#include "usage.h"

#include <ridge.h>

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static double now(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

typedef rg_status program(void *user, const rg_tensor *in, rg_tensor *out);

static rg_status product(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)user;
    out[0] = rg_matmul(in[0], in[1]);
    return RG_OK;
}
static rg_status transposed(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)user;
    out[0] = rg_matmul(in[0], rg_transpose(in[1], 0, 1));
    return RG_OK;
}
static rg_status softmax(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)user;
    out[0] = rg_softmax(in[0], -1);
    return RG_OK;
}
static rg_status conv(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)user;
    out[0] = rg_conv2d(in[0], in[1], .padding = RG_INTS(1));
    return RG_OK;
}
static rg_status attention(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)user;
    out[0] = rg_attention(in[0], in[1], in[2]);
    return RG_OK;
}
static rg_status attention_back(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)user;
    out[0] = rg_attention(in[0], in[1], in[2]);
    return rg_grad(out[0], RG_TENSORS(in[0], in[1], in[2]), out + 1, .seed = in[3]);
}

static const struct row {
    const char *name;
    program *fn;
    rg_dtype dt;
    int inputs, outputs;
    int64_t shape[4][4];
} rows[] = {
    {"product 4096^3 bf16", product, RG_BF16, 2, 1, {{4096, 4096}, {4096, 4096}}},
    {"product 8192^3 bf16", product, RG_BF16, 2, 1, {{8192, 8192}, {8192, 8192}}},
    {"product 512 x 512 x 65536 bf16", product, RG_BF16, 2, 1, {{512, 65536}, {65536, 512}}},
    {"product 4096^3 f32", product, RG_F32, 2, 1, {{4096, 4096}, {4096, 4096}}},
    {"16 x 4096 by (14336 x 4096)^T bf16", transposed, RG_BF16, 2, 1, {{16, 4096}, {14336, 4096}}},
    {"softmax 8192 x 8192 f32", softmax, RG_F32, 1, 1, {{8192, 8192}}},
    {"conv 3x3 64->64 56^2 batch 64 f32", conv, RG_F32, 2, 1, {{64, 64, 56, 56}, {64, 64, 3, 3}}},
    {"conv 3x3 64->64 56^2 batch 64 bf16", conv, RG_BF16, 2, 1, {{64, 64, 56, 56}, {64, 64, 3, 3}}},
    {"attention B4 H32 T4096 D128 forward",
     attention,
     RG_BF16,
     3,
     1,
     {{4, 32, 4096, 128}, {4, 32, 4096, 128}, {4, 32, 4096, 128}}},
    {"attention B4 H32 T4096 D128 both",
     attention_back,
     RG_BF16,
     4,
     4,
     {{4, 32, 4096, 128}, {4, 32, 4096, 128}, {4, 32, 4096, 128}, {4, 32, 4096, 128}}},
};

static struct { int (*start)(void), (*stop)(void); } profiler;

static int wait_for(rg_tensor one) {
    float x;
    return rg_read(one, &x, sizeof x); /* what was launched before it is done by then */
}

static int run(rg_ctx *c, rg_tensor one, const struct row *r, bool once) {
    enum { HOLD_MS = 500, BATCH_MS = 20 };
    RG_SCOPE(c);
    rg_tensor in[4], out[4];
    rg_jit_stats st = {0};
    for (int i = 0; i < r->inputs; i++) {
        int rank = 0;
        while (rank < 4 && r->shape[i][rank]) rank++;
        in[i] = rg_contiguous(rg_cast(rg_randn(c, RG_F32, (rg_ints){r->shape[i], rank}), r->dt));
    }
    if (rg_realize_all(RG_ARRAY(in, r->inputs))) return 1;
    rg_jit *j = rg_jit_new(c, r->fn, NULL, r->outputs);
    for (int i = 0; i < 3; i++)
        if (rg_jit_call(j, RG_ARRAY(in, r->inputs), out)) return 1;
    if (wait_for(one)) return 1;
    if (once) profiler.start();
    double from = now(CLOCK_REALTIME), t0 = now(CLOCK_MONOTONIC);
    long calls = 0, batch = 1;
    do {
        for (long i = 0; i < batch; i++)
            if (rg_jit_call(j, RG_ARRAY(in, r->inputs), out)) return 1;
        calls += batch;
        if (wait_for(one)) return 1;
        double took = 1e3 * (now(CLOCK_MONOTONIC) - t0);
        if (took < BATCH_MS) batch *= 2;
    } while (!once && 1e3 * (now(CLOCK_MONOTONIC) - t0) < HOLD_MS);
    double each = (now(CLOCK_MONOTONIC) - t0) / (double)calls;
    if (once) profiler.stop();
    rg_jit_info(j, &st);
    printf("row %s | %llu | %.6f | %.6f | %.2f\n", r->name, (unsigned long long)st.kernels, from,
           now(CLOCK_REALTIME), 1e6 * each);
    fflush(stdout);
    rg_jit_free(j);
    return 0;
}

static bool asked_for(const char *name, char **only, int n) {
    for (int i = 0; i < n; i++)
        if (strstr(name, only[i])) return true;
    return !n;
}

int main(int argc, char **argv) {
    if (bench_help(argc, argv, "[--once] [NAME ..]")) return 0;
    bool once = argc > 1 && !strcmp(argv[1], "--once");
    void *lib = dlopen("libcuda.so.1", RTLD_NOW);
    if (lib) *(void **)&profiler.start = dlsym(lib, "cuProfilerStart");
    if (lib) *(void **)&profiler.stop = dlsym(lib, "cuProfilerStop");
    rg_ctx *c = rg_open("CUDA");
    if (rg_status_of(c)) return printf("%s\n", rg_error(c)), rg_close(c), 0;
    if (!profiler.start || !profiler.stop) return printf("the driver has no cuProfilerStart\n"), 1;
    rg_tensor one = rg_randn(c, RG_F32, RG_SHAPE(1));
    int bad = rg_realize(one) != 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows && !bad; i++)
        if (asked_for(rows[i].name, argv + 1 + once, argc - 1 - once)) bad = run(c, one, &rows[i], once);
    if (bad) fprintf(stderr, "%s\n", rg_error(c));
    return rg_close(c) || bad;
}
