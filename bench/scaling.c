/* scaling.c: how kernels scale with threads, what fork and join cost, and what is left of it on a busy machine.
 *
 *   scaling [--only NAME] [--threads LIST] [--rounds N] [--busy N]
 *
 * The pool has as many threads as a process began with, so each column is a process of its own, with RIDGE_THREADS set. Clocks
 * drift and neighbours come and go: in each round every process is asked in turn, and figures are medians of rounds. Two of them,
 * both of the last column:
 *
 *   scaling   time of the first column / time of the last / ratio of threads. One thread alone has the clock, caches and memory
 *             of the whole machine, so that no program reaches 1: "registers only", which has no memory and one fork and join,
 *             shows what is left of it by power and shared cores.
 *   rate      the same beside as many copies of the kernel as there are threads, one thread each and each on a CPU of its own,
 *             that run at once: what grid, packing, imbalance and the joins cost, with the machine as busy on both sides.
 *
 * "fork and join": a job with a part of 5 us for each thread; the time beyond that, of 2000 jobs at a time: least, median, mean.
 * --busy N: the MNIST step again, alone and beside N processes that count, each with its share of the time. */
#include "base/base.h"

#include <ridge.h>

#include "mnist_net.h"
#include "usage.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { INPUTS = 4, COLUMNS = 8, MOST_COPIES = 64, MOST_ROUNDS = 99, CALLS = 4000 };
enum { TURN_MS = 40, BUSY_MS = 1500, JOBS = 2000, PART_NS = 5000, FORK_ROW = -1, NO_ROW = -2 };

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
    {"registers only", NULL, 0, {{0}}, 0},
};

/* ---- one process ----------------------------------------------------------------------------------------------------------- */

static double now_ms(void) { return (double)os_now_ns() * 1e-6; }

static volatile float sink;

/* Sixteen independent chains of a product and a sum each, in registers. */
#define REGISTER_PART(name, lanes, ...)                                                                \
    __VA_ARGS__ static void name(void *arg, uint32_t t0, uint32_t t1, int worker) {                    \
        typedef float vec __attribute__((vector_size(4 * lanes)));                                     \
        enum { CHAINS = 16, STEPS = 20000 };                                                           \
        vec x[CHAINS];                                                                                 \
        (void)arg, (void)worker;                                                                       \
        for (uint32_t t = t0; t < t1; t++) {                                                           \
            for (int i = 0; i < CHAINS; i++) x[i] = (vec){(float)i, 1, 2, (float)t};                   \
            for (int k = 0; k < STEPS; k++)                                                            \
                _Pragma("GCC unroll 16") for (int i = 0; i < CHAINS; i++) x[i] = x[i] * 0.999f + 0.5f; \
            for (int i = 0; i < CHAINS; i++) sink = x[i][i % 4];                                       \
        }                                                                                              \
    }
REGISTER_PART(register_part, 4)
#if defined(__x86_64__)
REGISTER_PART(register_part_avx512, 16, __attribute__((target("avx512f"))))
#endif

typedef void part_fn(void *arg, uint32_t t0, uint32_t t1, int worker);
static part_fn *best_register_part(void) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) return register_part_avx512;
#endif
    return register_part;
}

/* A row that is ready to run. */
struct ready {
    const struct row *row;
    struct side side;
    rg_tensor in[INPUTS];
    size_t n;
    rg_jit *jit;
};

static bool call(struct ready *r) {
    rg_tensor out[2];
    if (!r->row->fn) {
        pool_run(pool_get(), best_register_part(), NULL, 256, 1);
        return true;
    }
    if (rg_jit_call(r->jit, RG_ARRAY(r->in, r->n), out)) return false;
    if (r->row->fn == mnist) rg_item(out[0]);
    return true;
}

static void prepare(rg_ctx *c, struct ready *r, const struct row *row) {
    *r = (struct ready){.row = row, .side = {.c = c}};
    for (; r->n < INPUTS && row->shape[r->n][0]; r->n++) {
        size_t rank = 0;
        while (rank < 5 && row->shape[r->n][rank]) rank++;
        r->in[r->n] = rg_contiguous(rg_uniform(c, RG_F32, 0, 1, RG_LIST(row->shape[r->n], rank)));
        rg_realize(r->in[r->n]);
    }
    if (row->fn) r->jit = rg_jit_new(c, row->fn, &r->side, row->outputs);
    for (int i = 0; i < 3; i++) /* compile, record, warm */
        if (!call(r)) fprintf(stderr, "scaling: %s: %s\n", row->name, rg_error(c));
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median call of some milliseconds. */
static double median_call(struct ready *r, double ms) {
    static double took[CALLS];
    int n = 0;
    for (double start = now_ms(), t0 = start; n < CALLS && (!n || t0 - start < ms); n++) {
        if (!call(r)) return 0;
        double t1 = now_ms();
        took[n] = t1 - t0, t0 = t1;
    }
    qsort(took, (size_t)n, sizeof *took, by_value);
    return took[n / 2];
}

static void wait_part(void *arg, uint32_t t0, uint32_t t1, int worker) {
    (void)arg, (void)t0, (void)t1, (void)worker;
    for (uint64_t end = os_now_ns() + PART_NS; os_now_ns() < end;) {}
}

/* Least, median and mean of fork and join, us. */
static void measure_fork(double figure[3]) {
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
    figure[0] = us[0], figure[1] = us[JOBS / 2], figure[2] = sum / JOBS;
}

/* What a process is asked: a row (FORK_ROW: fork and join; NO_ROW: to end) for some ms; 0: only to get ready. It answers three
 * figures. */
struct question {
    int row;
    double ms;
};
struct process {
    pid_t pid;
    int ask, answer;
};

static void serve(int ask, int answer) {
    rg_ctx *c = rg_open(NULL);
    struct question q;
    struct ready *r = calloc(RG_COUNT(rows), sizeof *r);
    while (read(ask, &q, sizeof q) == sizeof q && q.row != NO_ROW) {
        double figure[3] = {0};
        if (q.row == FORK_ROW)
            measure_fork(figure);
        else if (!r[q.row].row)
            prepare(c, &r[q.row], &rows[q.row]);
        if (q.row != FORK_ROW && q.ms > 0) figure[0] = median_call(&r[q.row], q.ms);
        if (write(answer, figure, sizeof figure) != sizeof figure) break;
    }
    _exit(0);
}

static void pin(int cpu) { /* to the nth that this process may use */
    cpu_set_t all, one;
    if (sched_getaffinity(0, sizeof all, &all)) return;
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &all) && cpu-- == 0) {
            CPU_ZERO(&one);
            CPU_SET(i, &one);
            sched_setaffinity(0, sizeof one, &one);
        }
}

/* cpu: to run on that one alone; -1: on any. */
static struct process start(int threads, int cpu) {
    int ask[2], answer[2];
    char text[16];
    if (pipe(ask) || pipe(answer)) exit(1);
    struct process p = {fork(), ask[1], answer[0]};
    if (p.pid < 0) exit(1);
    if (!p.pid) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(ask[1]), close(answer[0]);
        snprintf(text, sizeof text, "%d", threads);
        setenv("RIDGE_THREADS", text, 1);
        if (cpu >= 0) pin(cpu);
        serve(ask[0], answer[1]);
    }
    close(ask[0]), close(answer[1]);
    return p;
}

static void ask(const struct process *p, int row, double ms) {
    struct question q = {row, ms};
    if (write(p->ask, &q, sizeof q) != sizeof q) fprintf(stderr, "scaling: a process has ended\n");
}

static double answer(const struct process *p, double figure[3]) {
    double mine[3] = {0};
    if (read(p->answer, mine, sizeof mine) != sizeof mine) fprintf(stderr, "scaling: a process has ended\n");
    if (figure) memcpy(figure, mine, sizeof mine);
    return mine[0];
}

static void stop(const struct process *p) {
    ask(p, NO_ROW, 0);
    close(p->ask), close(p->answer);
    waitpid(p->pid, NULL, 0);
}

/* ---- the table ----------------------------------------------------------------------------------------------------------- */

struct table {
    int columns, threads[COLUMNS], rounds, copies;
    struct process column[COLUMNS], copy[MOST_COPIES];
};

static double median(double *x, int n) {
    qsort(x, (size_t)n, sizeof *x, by_value);
    return x[n / 2];
}

/* The mean of the copies' median calls, all at once. */
static double ask_copies(struct table *t, int row, double ms) {
    double sum = 0;
    for (int i = 0; i < t->copies; i++) ask(&t->copy[i], row, ms);
    for (int i = 0; i < t->copies; i++) sum += answer(&t->copy[i], NULL);
    return sum / t->copies;
}

static void print_row(struct table *t, int row) {
    double ms[COLUMNS][MOST_ROUNDS], scaling[MOST_ROUNDS], rate[MOST_ROUNDS];
    int last = t->columns - 1;
    for (int k = 0; k <= last; k++) ask(&t->column[k], row, 0), answer(&t->column[k], NULL);
    ask_copies(t, row, 0);
    for (int i = 0; i < t->rounds; i++) {
        for (int k = 0; k <= last; k++)
            ask(&t->column[k], row, TURN_MS), ms[k][i] = answer(&t->column[k], NULL);
        scaling[i] = ms[0][i] / ms[last][i] * t->threads[0] / t->threads[last];
        rate[i] = ask_copies(t, row, TURN_MS) / ms[last][i] / t->threads[last];
    }
    printf("%-26s", rows[row].name);
    for (int k = 0; k <= last; k++) {
        double m = median(ms[k], t->rounds);
        printf("%10.3f", m);
        rows[row].flops > 0 ? printf(" %6.0f", rows[row].flops / m * 1e-6) : printf("%7s", "");
    }
    printf("%10.2f%8.2f\n", median(scaling, t->rounds), median(rate, t->rounds));
    fflush(stdout);
}

static void print_forks(struct table *t) {
    static const char *const name[3] = {"least", "median", "mean"};
    double us[COLUMNS][3];
    for (int k = 0; k < t->columns; k++) ask(&t->column[k], FORK_ROW, 0), answer(&t->column[k], us[k]);
    for (int i = 0; i < 3; i++) {
        printf("fork and join, %-6s us    ", name[i]);
        for (int k = 0; k < t->columns; k++) printf("%7.3f%10s", us[k][i], "");
        printf("\n");
    }
}

static void print_table(struct table *t, const char *only) {
    printf("%-26s", "ms (GFLOPS) by threads");
    for (int k = 0; k < t->columns; k++) printf("%17d", t->threads[k]);
    printf("   scaling    rate\n");
    for (int i = 0; i < (int)RG_COUNT(rows); i++)
        if (!only || strstr(rows[i].name, only)) print_row(t, i);
    if (!only || strstr("fork and join", only)) print_forks(t);
}

static int busy(int n) {
    int row = 0;
    double ms[2];
    pid_t pid[256];
    while (rows[row].fn != mnist) row++;
    struct process p = start(os_cpus(), -1);
    ask(&p, row, 0), answer(&p, NULL);
    ask(&p, row, BUSY_MS), ms[0] = answer(&p, NULL);
    for (int i = 0; i < n; i++)
        if ((pid[i] = fork()) == 0)
            for (volatile uint64_t x = 0;; x++) {}
    ask(&p, row, BUSY_MS), ms[1] = answer(&p, NULL);
    for (int i = 0; i < n; i++)
        if (pid[i] > 0) kill(pid[i], SIGKILL), waitpid(pid[i], NULL, 0);
    stop(&p);
    printf("mnist step: %.1f ms alone, %.1f ms beside %d busy processes: %.2f of its speed\n", ms[0], ms[1],
           n, ms[0] / ms[1]);
    return !(ms[0] > 0 && ms[1] > 0);
}

int main(int argc, char **argv) {
    if (bench_help(argc, argv, "[--only NAME] [--threads LIST] [--rounds N] [--busy N]")) return 0;
    struct table t = {.rounds = 5};
    const char *only = NULL;
    char list[] = "1,2,4,8,16", *threads = list;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--only")) only = argv[i + 1];
        if (!strcmp(argv[i], "--threads")) threads = argv[i + 1];
        if (!strcmp(argv[i], "--rounds")) t.rounds = RG_MAX(RG_MIN(atoi(argv[i + 1]), MOST_ROUNDS), 1);
        if (!strcmp(argv[i], "--busy")) return busy(RG_MIN(atoi(argv[i + 1]), 256));
    }
    for (char *s = strtok(threads, ","); s && t.columns < COLUMNS; s = strtok(NULL, ","))
        t.threads[t.columns++] = RG_MAX(atoi(s), 1);
    if (!t.columns) return fprintf(stderr, "scaling: --threads expects numbers like 1,16\n"), 1;
    for (int k = 0; k < t.columns; k++) t.column[k] = start(t.threads[k], -1);
    t.copies = RG_MIN(t.threads[t.columns - 1], MOST_COPIES);
    for (int i = 0; i < t.copies; i++) t.copy[i] = start(1, i);
    print_table(&t, only);
    for (int k = 0; k < t.columns; k++) stop(&t.column[k]);
    for (int i = 0; i < t.copies; i++) stop(&t.copy[i]);
    return 0;
}
