/* scaling.c: how kernels scale with threads, what fork and join cost, and what is left of it on a busy machine.
 *
 *   scaling [--only NAME] [--threads LIST] [--busy N]
 *
 * The pool has as many threads as a process began with, so each column is a process of its own, with RIDGE_THREADS set. Rows: the
 * best of some calls of a recorded function, after two to compile and record it. The last figure of a row is the speedup of the last
 * column over the first, as a fraction of the threads. "registers only" has no memory and no grid: what the cores themselves do, which
 * share power and execution units. "fork and join": a job with a part of 5 us for each thread; the time beyond
 * that, of 2000 jobs at a time: least, median, mean.
 * --busy N: the MNIST step again, alone and beside N processes that count, each with its share of the time. */
#include "base/base.h"

#include <ridge.h>

#include "mnist_net.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { INPUTS = 4, COLUMNS = 8, JOBS = 2000, PART_NS = 5000 };

struct side {
    rg_ctx *c;
    rg_module *net;
    rg_optim *optim;
};
struct row {
    const char *name;
    rg_jit_fn *fn;
    size_t outputs;
    int64_t shape[INPUTS][5];
    double flops;
};

/* ---- rows ----------------------------------------------------------------------------------------------------------- */

static rg_status gemm(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)user;
    out[0] = rg_matmul(in[0], in[1]);
    return RG_OK;
}

static rg_status gemm_gelu(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)user;
    out[0] = rg_gelu(rg_add(rg_matmul(in[0], in[1]), in[2]));
    return RG_OK;
}

static rg_status conv(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)user;
    out[0] = rg_conv2d(in[0], in[1]);
    return RG_OK;
}

static rg_status conv_padded(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)user;
    out[0] = rg_conv2d(in[0], in[1], .padding = RG_SHAPE(1));
    return RG_OK;
}

static rg_status conv_data(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)user;
    return rg_grad(rg_conv2d(in[0], in[1]), RG_TENSORS(in[0]), out, .seed = in[2]);
}

static rg_status conv_weight(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)user;
    return rg_grad(rg_conv2d(in[0], in[1]), RG_TENSORS(in[1]), out, .seed = in[2]);
}

static rg_status attention(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)user;
    out[0] = rg_attention(in[0], in[1], in[2]);
    return RG_OK;
}

static rg_status cosines(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)user;
    out[0] = rg_cos(rg_cos(rg_exp(in[0])));
    return RG_OK;
}

static rg_status mnist(void *user, const rg_tensor *in, rg_tensor *out) {
    struct side *s = user;
    if (!s->net) {
        s->net = mnist_network(s->c);
        s->optim = rg_adam(rg_nn_params(s->net));
    }
    out[0] = rg_cross_entropy(rg_nn_forward(s->net, in[0]), rg_cast(rg_mul(in[1], 10), RG_I64));
    rg_backward(out[0]);
    return rg_optim_step(s->optim);
}

static const struct row rows[] = {
    {"sgemm 256", gemm, 1, {{256, 256}, {256, 256}}, 2 * 256e0 * 256 * 256},
    {"sgemm 512", gemm, 1, {{512, 512}, {512, 512}}, 2 * 512e0 * 512 * 512},
    {"sgemm 2048", gemm, 1, {{2048, 2048}, {2048, 2048}}, 2 * 2048e0 * 2048 * 2048},
    {"sgemm 64x768x3072", gemm, 1, {{64, 3072}, {3072, 768}}, 2 * 64e0 * 768 * 3072},
    {"gemm+bias+gelu", gemm_gelu, 1, {{512, 768}, {768, 3072}, {3072}}, 2 * 512e0 * 768 * 3072},
    {"conv 5x5", conv, 1, {{64, 32, 24, 24}, {32, 32, 5, 5}}, 2 * 64e0 * 32 * 32 * 400 * 25},
    {"conv 3x3 padded", conv_padded, 1, {{8, 64, 56, 56}, {64, 64, 3, 3}}, 2 * 8e0 * 64 * 64 * 3136 * 9},
    {"conv 3x3 one image", conv_padded, 1, {{1, 64, 56, 56}, {64, 64, 3, 3}}, 2 * 64e0 * 64 * 3136 * 9},
    {"conv 5x5 data",
     conv_data,
     1,
     {{64, 32, 24, 24}, {32, 32, 5, 5}, {64, 32, 20, 20}},
     2 * 64e0 * 32 * 32 * 400 * 25},
    {"conv 5x5 weights",
     conv_weight,
     1,
     {{64, 32, 24, 24}, {32, 32, 5, 5}, {64, 32, 20, 20}},
     2 * 64e0 * 32 * 32 * 400 * 25},
    {"attention T=1024",
     attention,
     1,
     {{1, 12, 1024, 64}, {1, 12, 1024, 64}, {1, 12, 1024, 64}},
     4 * 12e0 * 1024 * 1024 * 64},
    {"cos(cos(exp))", cosines, 1, {{512, 512}}, 0},
    {"mnist step", mnist, 1, {{512, 1, 28, 28}, {512}}, 0},
};

/* ---- one column --------------------------------------------------------------------------------------------------------- */

static double now_ms(void) { return (double)os_now_ns() * 1e-6; }

static double best_call(rg_jit *j, const rg_tensor *in, size_t n, const struct row *r) {
    double best = 1e30, start = now_ms();
    rg_tensor out[2];
    for (int i = -2; i < 3 || (i < 400 && now_ms() - start < 400); i++) {
        double t0 = now_ms();
        if (rg_jit_call(j, RG_ARRAY(in, n), out)) return 0;
        if (r->fn == mnist) rg_item(out[0]);
        if (i >= 0) best = RG_MIN(best, now_ms() - t0);
        if (i < 0) start = now_ms();
    }
    return best;
}

static void measure(rg_ctx *c, const struct row *r) {
    RG_SCOPE(c);
    struct side s = {.c = c};
    rg_tensor in[INPUTS];
    size_t n = 0;
    for (; n < INPUTS && r->shape[n][0]; n++) {
        size_t rank = 0;
        while (rank < 5 && r->shape[n][rank]) rank++;
        in[n] = rg_contiguous(rg_uniform(c, RG_F32, 0, 1, RG_LIST(r->shape[n], rank)));
        rg_realize(in[n]);
    }
    rg_jit *j = rg_jit_new(c, r->fn, &s, r->outputs);
    double ms = best_call(j, in, n, r);
    if (rg_status_of(c)) fprintf(stderr, "scaling: %s: %s\n", r->name, rg_error(c));
    printf("%s\t%.6f\n", r->name, ms);
    fflush(stdout);
    rg_jit_free(j);
}

typedef float vec4 __attribute__((vector_size(16)));
static volatile float sink;

/* Sixteen independent chains of a product and a sum each, in registers. */
static void register_part(void *arg, uint32_t t0, uint32_t t1, int worker) {
    enum { CHAINS = 16, STEPS = 20000 };
    vec4 x[CHAINS];
    (void)arg, (void)worker;
    for (uint32_t t = t0; t < t1; t++) {
        for (int i = 0; i < CHAINS; i++) x[i] = (vec4){(float)i, 1, 2, (float)t};
        for (int k = 0; k < STEPS; k++)
#pragma GCC unroll 16
            for (int i = 0; i < CHAINS; i++) x[i] = x[i] * 0.999f + 0.5f;
        for (int i = 0; i < CHAINS; i++) sink = x[i][i % 4];
    }
}

static void measure_registers(void) {
    double best = 1e30;
    for (int i = 0; i < 20; i++) {
        double t0 = now_ms();
        pool_run(pool_get(), register_part, NULL, 256, 1);
        best = RG_MIN(best, now_ms() - t0);
    }
    printf("registers only\t%.6f\n", best);
}

static void wait_part(void *arg, uint32_t t0, uint32_t t1, int worker) {
    (void)arg, (void)t0, (void)t1, (void)worker;
    for (uint64_t end = os_now_ns() + PART_NS; os_now_ns() < end;) {}
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure_fork(void) {
    static double us[JOBS];
    struct pool *p = pool_get();
    uint32_t n = (uint32_t)pool_threads(p);
    double sum = 0;
    for (int i = -100; i < JOBS; i++) {
        uint64_t t0 = os_now_ns();
        pool_run(p, wait_part, NULL, n, 1);
        if (i >= 0) sum += us[i] = (double)(os_now_ns() - t0 - PART_NS) * 1e-3;
    }
    qsort(us, JOBS, sizeof *us, by_value);
    printf("fork and join, least, us\t%.6f\nfork and join, median, us\t%.6f\nfork and join, mean, us\t%.6f\n",
           us[0], us[JOBS / 2], sum / JOBS);
}

static int child(const char *only) {
    rg_ctx *c = rg_open(NULL);
    for (size_t i = 0; i < RG_COUNT(rows) && !rg_status_of(c); i++)
        if (!only || strstr(rows[i].name, only)) measure(c, &rows[i]);
    if (!only || strstr("registers only", only)) measure_registers();
    if (!only || strstr("fork and join", only)) measure_fork();
    return rg_close(c) != RG_OK;
}

/* ---- the table ----------------------------------------------------------------------------------------------------------- */

struct table {
    int columns, threads[COLUMNS], n;
    char name[RG_COUNT(rows) + 4][128];
    double ms[RG_COUNT(rows) + 4][COLUMNS];
};

/* Runs this program with the column's number of threads and keeps what it prints. */
static bool run_column(struct table *t, int column, const char *only) {
    char line[128], command[600], self[400];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n < 0) return false;
    self[n] = 0;
    snprintf(command, sizeof command, "RIDGE_THREADS=%d '%s' --child%s%s%s", t->threads[column], self,
             only ? " '" : "", only ? only : "", only ? "'" : "");
    FILE *f = popen(command, "r");
    t->n = 0;
    while (f && fgets(line, sizeof line, f) && t->n < (int)RG_COUNT(t->name)) {
        char *tab = strchr(line, '\t');
        if (!tab) continue;
        *tab = 0;
        snprintf(t->name[t->n], sizeof *t->name, "%s", line);
        t->ms[t->n++][column] = atof(tab + 1);
    }
    return f && pclose(f) == 0 && t->n;
}

static double flops_of(const char *name) {
    for (size_t i = 0; i < RG_COUNT(rows); i++)
        if (!strcmp(rows[i].name, name)) return rows[i].flops;
    return 0;
}

static void print_table(const struct table *t) {
    printf("%-26s", "ms (GFLOPS) by threads");
    for (int k = 0; k < t->columns; k++) printf("%17d", t->threads[k]);
    printf("   scaling\n");
    for (int i = 0; i < t->n; i++) {
        double flops = flops_of(t->name[i]), last = t->ms[i][t->columns - 1];
        printf("%-26s", t->name[i]);
        for (int k = 0; k < t->columns; k++) {
            printf("%10.3f", t->ms[i][k]);
            flops > 0 ? printf(" %6.0f", flops / t->ms[i][k] * 1e-6) : printf("%7s", "");
        }
        if (strncmp(t->name[i], "fork", 4))
            printf("%10.2f", t->ms[i][0] / last * t->threads[0] / t->threads[t->columns - 1]);
        printf("\n");
    }
}

static int busy(int n) {
    struct table t = {.columns = 2, .threads = {os_cpus(), os_cpus()}};
    pid_t pid[256];
    bool ok = run_column(&t, 0, "mnist");
    for (int i = 0; i < n; i++)
        if ((pid[i] = fork()) == 0)
            for (volatile uint64_t x = 0;; x++) {}
    ok = run_column(&t, 1, "mnist") && ok;
    for (int i = 0; i < n; i++)
        if (pid[i] > 0) kill(pid[i], SIGKILL), waitpid(pid[i], NULL, 0);
    printf("mnist step: %.1f ms alone, %.1f ms beside %d busy processes: %.2f of its speed\n", t.ms[0][0],
           t.ms[0][1], n, t.ms[0][0] / t.ms[0][1]);
    return !ok;
}

int main(int argc, char **argv) {
    struct table t = {.columns = 0};
    const char *only = NULL;
    char list[] = "1,2,4,8,16", *threads = list;
    if (argc > 1 && !strcmp(argv[1], "--child")) return child(argc > 2 ? argv[2] : NULL);
    for (int i = 1; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--only")) only = argv[i + 1];
        if (!strcmp(argv[i], "--threads")) threads = argv[i + 1];
        if (!strcmp(argv[i], "--busy")) return busy(RG_MIN(atoi(argv[i + 1]), 256));
    }
    for (char *s = strtok(threads, ","); s && t.columns < COLUMNS; s = strtok(NULL, ","))
        t.threads[t.columns++] = atoi(s);
    for (int k = 0; k < t.columns; k++)
        if (!run_column(&t, k, only))
            return fprintf(stderr, "scaling: the run with %d threads failed\n", t.threads[k]), 1;
    print_table(&t);
    return 0;
}
