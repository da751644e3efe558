/* cmd_bench.c: ridge bench -- PROGRAM ARGS: runs a Ridge program several times and shows what repeats: its steps, start-up and
 * kernels, each with median, least, most and spread over the runs.
 *
 * A first run fills the cache and is not counted. Each run is recorded, so times are the device's own; the program's output is left
 * out. Steps are told apart as in `ridge profile` (src/analyze/phases.c). Tests: tests/cli/bench_program.sh */
#include "cli.h"
#include "report/report.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum { MOST_RUNS = 1000, ROWS = 64 };

/* One figure, run by run, in ns. */
struct bench_row {
    char what[200];
    double *ns;
    uint32_t n, count; /* runs that have it; steps or calls of a run */
};
struct bench {
    const char *path;
    int64_t runs, warmup, kernels;
    bool json;
    struct arena arena;
    struct bench_row row[ROWS];
    uint32_t rows;
    char device[64];
    bool contended;
};

static void add(struct bench *b, double ns, uint32_t count, const char *fmt, ...) RG_FMT(4, 5);
static void add(struct bench *b, double ns, uint32_t count, const char *fmt, ...) {
    char what[200];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    uint32_t i = 0;
    while (i < b->rows && strcmp(b->row[i].what, what)) i++;
    if (i == ROWS) return;
    struct bench_row *r = &b->row[i];
    if (i == b->rows) {
        b->rows++;
        memcpy(r->what, what, sizeof what);
        r->ns = arena_array(&b->arena, double, (size_t)b->runs);
    }
    r->count = count;
    if (r->n < b->runs) r->ns[r->n++] = ns;
}

static void take(struct bench *b, struct diag *d) {
    snprintf(b->device, sizeof b->device, "%s", d->device_name);
    add(b, (double)d->wall_ns, 1, "all of it");
    if (d->phases.n) add(b, (double)d->startup.wall_ns, 1, "start-up");
    for (uint32_t i = 0; i < d->phases.n && i < 8; i++)
        add(b, (double)d->phases.p[i].median_ns, d->phases.p[i].steps, "step at %s",
            d->phases.p[i].line ? trace_str(d->t, d->phases.p[i].line) : "(no line)");
    struct kernel_sum *k;
    uint32_t n = diag_kernels(d, &k);
    for (uint32_t i = 0; i < n && i < b->kernels; i++)
        add(b, (double)k[i].ns / (double)RG_MAX(k[i].calls, 1u), (uint32_t)k[i].calls, "%.60s %.8s",
            trace_str(d->t, k[i].name), trace_str(d->t, k[i].key));
    for (uint32_t i = 0; i < d->capture.n; i++) b->contended |= !strcmp(d->capture.p[i].id, "contended");
}

static void take_guarded(void *arg) {
    void **x = arg;
    take(x[0], x[1]);
}

/* Its own output would stand between the figures; errors are shown. */
static void record_silently(void *path) {
    int fd = open("/dev/null", O_WRONLY);
    setenv("RIDGE_PROFILE", path, 1);
    if (fd >= 0) dup2(fd, STDOUT_FILENO);
}

static int one_run(struct bench *b, char **argv, bool counts) {
    static struct trace t;
    static struct diag d;
    struct err e = {0};
    bool ran;
    int status = cli_run("bench", argv, record_silently, (void *)b->path, &ran);
    if (status) {
        if (ran) fprintf(stderr, "ridge bench: %s ended with exit status %d\n", argv[0], status);
        return status;
    }
    if (access(b->path, R_OK))
        return fprintf(stderr, "ridge bench: %s recorded nothing: is it a Ridge program?\n", argv[0]),
               EXIT_FAILED;
    int bad = trace_read(&t, &e, b->path);
    if (!bad && !(bad = diagnose(&d, &t, &e))) {
        if (counts) bad = err_guard(&e, take_guarded, (void *[]){b, &d});
        diag_free(&d);
    }
    trace_free(&t);
    unlink(b->path);
    return bad ? cli_error("bench", &e) : EXIT_OK;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void print_time(double ns) {
    if (ns < 1e4)
        printf(" %9.2f us", ns / 1e3);
    else
        printf(ns < 1e7 ? " %9.4f ms" : " %9.2f ms", ns / 1e6);
}

/* Spread: half of the runs lie within that share of the median. */
static void print_rows(struct bench *b) {
    if (!b->json) printf("%12s %12s %12s %7s %7s  what\n", "median", "least", "most", "spread", "x");
    for (uint32_t i = 0; i < b->rows; i++) {
        struct bench_row *r = &b->row[i];
        qsort(r->ns, r->n, sizeof *r->ns, by_value);
        double median = r->ns[r->n / 2],
               spread = (r->ns[(3 * r->n) / 4] - r->ns[r->n / 4]) / RG_MAX(median, 1);
        if (b->json) {
            printf("%s{\"what\":\"%s\",\"runs\":%u,\"count\":%u,\"median_ns\":%.0f,\"least_ns\":%.0f,\"most_"
                   "ns\":%.0f,\"spread\":%.4g}",
                   i ? ",\n" : "[", r->what, r->n, r->count, median, r->ns[0], r->ns[r->n - 1], spread);
            continue;
        }
        print_time(median), print_time(r->ns[0]), print_time(r->ns[r->n - 1]);
        printf(" %6.1f%% %7u  %s%s\n", 100 * spread, r->count, r->what,
               r->n < b->runs ? "  (not in every run)" : "");
    }
    if (b->json) printf("]\n");
    if (b->contended && !b->json)
        printf("BUSY   other programs had the machine: the least is nearer to the truth than the median\n");
}

static int bench(struct bench *b, char **argv) {
    char path[64];
    struct err e = {0};
    int status = EXIT_OK;
    snprintf(path, sizeof path, "/tmp/ridge-bench-%ld", (long)getpid());
    b->path = path;
    arena_init(&b->arena, &e);
    for (int64_t i = 0; i < b->warmup + b->runs && !status; i++) status = one_run(b, argv, i >= b->warmup);
    if (!status && !b->json)
        printf("%s: %lld runs, %lld before them to warm up, device %s\n", argv[0], (long long)b->runs,
               (long long)b->warmup, b->device);
    if (!status) print_rows(b);
    arena_free(&b->arena);
    return status;
}

int cmd_bench(int argc, char **argv) {
    static struct bench b = {.runs = 5, .warmup = 1, .kernels = 8};
    const struct arg_spec spec[] = {
        {"runs", ARG_NUMBER, &b.runs, "N", "runs that count (5)"},
        {"warmup", ARG_NUMBER, &b.warmup, "N", "runs before them, which fill the cache (1)"},
        {"kernels", ARG_NUMBER, &b.kernels, "N", "the N dearest kernels (8)"},
        {"json", ARG_FLAG, &b.json, NULL, "a JSON array, times in ns"},
    };
    struct args a = {
        .command = "bench",
        .operands = "-- PROGRAM ARGS",
        .about =
            "Runs a Ridge program several times: its steps, start-up and kernels by the device's clock,\n"
            "with median, least, most and spread over the runs.",
        .spec = spec,
        .nspec = RG_COUNT(spec),
        .min_operands = 0,
        .max_operands = 0};
    char **program;
    int status = args_program(&a, argc, argv, &program);
    if (status >= 0) return status;
    if ((status = args_range(&a, "runs", b.runs, 1, MOST_RUNS)) >= 0) return status;
    if ((status = args_range(&a, "warmup", b.warmup, 0, MOST_RUNS)) >= 0) return status;
    if ((status = args_range(&a, "kernels", b.kernels, 0, 40)) >= 0) return status;
    return bench(&b, program);
}
