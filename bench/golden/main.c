/* main.c: `golden`: Ridge's golden kernels beside hand-written C for the same jobs, in one run.
 *
 *   golden [NAME...] [--runs N] [--threads N] [--peer-only] [--check] [--cpu] [--dir DIR] [--heuristic]
 *
 * For each job: one run of each side is judged by plain loops, then the two sides alternate, N times (9 by
 * default), and the medians are compared. `ratio` is peer time / Ridge time: 0.8 is the bar, above 1 Ridge is
 * faster. The floor is the longer of bytes / bandwidth and flops / peak, both measured at the start of this run
 * with this many threads; `floor` is its share of a side's time (small matrices in cache may pass bandwidth,
 * never peak). A wrong result, or a kernel that does not compile, makes the exit status 1; a slow one does not.
 * --cpu times with one thread by the processor's time it used: for a machine that others use at the same time.
 * --heuristic ignores the opts of the files and takes what opts_heuristic chooses for this many threads.
 * --check compares every peer, and Ridge where the file has that shape, with plain loops and times nothing. */
#include "engine/engine.h"
#include "side.h"
#include "tune/search/search.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

enum { MAX_RUNS = 101, BATCH_NS = 2000000 };

struct options {
    int runs, threads;
    bool peer_only, check, cpu, heuristic;
    const char *dir;
    const char *name[64];
    int names;
};
struct machine {
    double copy, read, write, fma, fma1; /* bytes/s, flops/s; fma1: one thread */
};
struct timing {
    double median, low, high; /* seconds */
};
struct session {
    struct options o;
    struct machine m;
    struct engine *engine;
    int failed, slow, measured;
};

/* ---- arithmetic on times ------------------------------------------------------------------------------ */

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static struct timing timing_of(double *t, int n) {
    qsort(t, (size_t)n, sizeof *t, by_value);
    return (struct timing){n % 2 ? t[n / 2] : (t[n / 2 - 1] + t[n / 2]) / 2, t[0], t[n - 1]};
}

static double floor_of(const struct machine *m, const struct task *t) {
    double both = fmin(t->read, t->write);
    double move = 2 * both / m->copy + (t->read - both) / m->read + (t->write - both) / m->write;
    return fmax(move, t->flops / (t->job->one_thread ? m->fma1 : m->fma));
}

/* Seconds since some moment: of the world, or of this thread's time on a processor. */
static double now(const struct options *o) {
    struct timespec t;
    if (!o->cpu) return (double)os_now_ns() * 1e-9;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

#define BEST(rate, work, ...)                         \
    do {                                              \
        double start = now(o);                        \
        __VA_ARGS__;                                  \
        rate = fmax(rate, (work) / (now(o) - start)); \
    } while (0)

/* Best of a few: these are limits. */
static void probe(const struct options *o, struct machine *m) {
    enum { N = 1 << 24, TIMES = 7 };
    struct pool *pool = pool_get();
    float *x = os_pages(sizeof(float) * N), *y = os_pages(sizeof(float) * N);
    double flops, bytes = sizeof(float) * (double)N;
    if (x && y) {
        memset(x, 0, sizeof(float) * N);
        memset(y, 0, sizeof(float) * N);
        for (int i = 0; i < TIMES; i++) {
            BEST(m->copy, 2 * bytes, probe_copy(pool, x, y, N));
            BEST(m->read, bytes, y[0] = peer_sum(pool, x, N));
            BEST(m->write, bytes, probe_write(pool, y, N));
            BEST(m->fma, flops, flops = probe_fma(pool, pool_threads(pool)));
            BEST(m->fma1, flops, flops = probe_fma(NULL, 1));
        }
    }
    if (x) os_pages_free(x, sizeof(float) * N);
    if (y) os_pages_free(y, sizeof(float) * N);
}

/* ---- one job ------------------------------------------------------------------------------------------- */

static int run_side(struct task *t, struct side *ridge, int side, struct err *e) {
    if (side == RIDGE) return side_run(ridge, e);
    t->job->peer(t, t->job->one_thread ? NULL : pool_get());
    return 0;
}

/* Seconds of one run, from `inner` runs at once. */
static double time_side(const struct options *o, struct task *t, struct side *ridge, int side, int inner,
                        struct err *e) {
    double start = now(o);
    for (int i = 0; i < inner; i++)
        if (run_side(t, ridge, side, e)) return 0;
    return (now(o) - start) / inner;
}

/* Takes turns, so that a neighbour's noise or a clock that moves hits both sides alike. */
static int measure(const struct options *o, struct task *t, struct side *ridge, struct timing out[SIDES],
                   struct err *e) {
    double times[SIDES][MAX_RUNS], first = time_side(o, t, NULL, PEER, 1, e);
    int inner = (int)fmax(1, ceil(BATCH_NS * 1e-9 / fmax(first, 1e-9)));
    if (ridge) time_side(o, t, ridge, RIDGE, 1, e);
    for (int i = 0; i < o->runs && !e->code; i++)
        for (int s = 0; s < (ridge ? SIDES : 1); s++) times[s][i] = time_side(o, t, ridge, s, inner, e);
    if (e->code) return e->code;
    for (int s = 0; s < (ridge ? SIDES : 1); s++) out[s] = timing_of(times[s], o->runs);
    return 0;
}

static void print_side(const struct task *t, const struct timing *x, double floor_s) {
    printf(" %8.3f [%7.3f %8.3f] ", x->median * 1e3, x->low * 1e3, x->high * 1e3);
    bool compute = t->flops > 100 * (t->read + t->write) / 4 || t->job->file[0] == 'm';
    printf("%6.1f %-6s %4.0f%%", (compute ? t->flops : t->read + t->write) / x->median * 1e-9,
           compute ? "GFLOPS" : "GB/s", 100 * floor_s / x->median);
}

static void fail(struct session *s, const char *job, const char *what) {
    printf("%-17s FAILED: %s\n", job, what);
    s->failed++;
}

/* One run of a side from the start, judged. */
static bool judged(struct session *s, struct task *t, struct side *ridge, int side, double *err_max) {
    struct err e = {0};
    char text[200];
    if (run_side(t, ridge, side, &e)) {
        fail(s, t->job->name, e.msg);
        return false;
    }
    *err_max = t->job->judge(t, side);
    if (*err_max <= t->job->tol) return true;
    snprintf(text, sizeof text, "%s is off by %.3g from plain loops; %.3g is allowed",
             side == PEER ? "the peer" : "Ridge", *err_max, t->job->tol);
    fail(s, t->job->name, text);
    return false;
}

static void bench_job(struct session *s, const struct job *job) {
    struct err e = {0};
    struct task t;
    struct side *ridge = NULL;
    double off[SIDES] = {0, 0}, between = 0;
    struct timing x[SIDES];
    if (task_open(&e, &t, job, job->full)) {
        fail(s, job->name, e.msg);
        return;
    }
    if (s->engine && !(ridge = side_open(&e, s->engine, &t, s->o.dir, s->o.heuristic)))
        fail(s, job->name, e.msg);
    bool ok = judged(s, &t, NULL, PEER, &off[PEER]) && (!ridge || judged(s, &t, ridge, RIDGE, &off[RIDGE]));
    err_clear(&e);
    if (ok && !s->o.check) {
        task_reset(&t);
        if (measure(&s->o, &t, ridge, x, &e)) {
            fail(s, job->name, e.msg);
        } else {
            double floor_s = floor_of(&s->m, &t);
            printf("%-17s", job->name);
            print_side(&t, &x[PEER], floor_s);
            if (ridge) {
                double ratio = x[PEER].median / x[RIDGE].median;
                between = task_compare(&t);
                print_side(&t, &x[RIDGE], floor_s);
                printf(" %6.2f%s", ratio, ratio < 0.8 ? " <" : "  ");
                s->slow += ratio < 0.8, s->measured++;
            }
            printf("  %.1e\n", fmax(off[PEER], fmax(off[RIDGE], between)));
            if (between > 10 * job->tol) fail(s, job->name, "the two sides drift apart");
        }
    } else if (ok) {
        printf("%-17s full  peer %.1e", job->name, off[PEER]);
        if (ridge) printf("  ridge %.1e", off[RIDGE]);
        printf("\n");
    }
    fflush(stdout);
    side_close(ridge);
    task_close(&t);
}

/* The odd small shape, peer only: the .uop files have the full one. With and without threads. */
static void check_small(struct session *s, const struct job *job) {
    for (int one = 0; one < 2; one++) {
        struct err e = {0};
        struct task t;
        double off = 0;
        struct job j = *job;
        j.one_thread = one;
        if (task_open(&e, &t, &j, job->small)) {
            fail(s, job->name, e.msg);
            return;
        }
        if (judged(s, &t, NULL, PEER, &off)) printf("%-17s small peer %.1e\n", job->name, off);
        task_close(&t);
    }
}

/* ---- the program ------------------------------------------------------------------------------------------ */

static int usage(const char *why) {
    fprintf(stderr,
            "golden: %s\nusage: golden [NAME...] [--runs N] [--threads N] [--peer-only] [--check] [--cpu] "
            "[--dir DIR] [--heuristic]\njobs:",
            why);
    for (int i = 0; i < job_count; i++) fprintf(stderr, " %s", jobs[i].name);
    fprintf(stderr, "\n");
    return 2;
}

static bool is_job(const char *name) {
    for (int i = 0; i < job_count; i++)
        if (!strcmp(jobs[i].name, name)) return true;
    return false;
}

static const char *parse(struct options *o, int argc, char **argv) {
    *o = (struct options){.runs = 9, .dir = "tests/golden"};
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i], *v = i + 1 < argc ? argv[i + 1] : NULL;
        if (!strcmp(a, "--peer-only")) {
            o->peer_only = true;
        } else if (!strcmp(a, "--check")) {
            o->check = true;
        } else if (!strcmp(a, "--heuristic")) {
            o->heuristic = true;
        } else if (!strcmp(a, "--cpu")) {
            o->cpu = true;
        } else if (!strcmp(a, "--runs") || !strcmp(a, "--threads") || !strcmp(a, "--dir")) {
            if (!v) return "an option at the end lacks its value";
            if (a[2] == 'd')
                o->dir = v;
            else if (a[2] == 'r')
                o->runs = atoi(v);
            else if ((o->threads = atoi(v)) < 1)
                return "--threads: expected a number from 1";
            i++;
        } else if (a[0] == '-') {
            return "an option that does not exist";
        } else if (!is_job(a) || o->names == (int)RG_COUNT(o->name)) {
            return "a job that does not exist";
        } else {
            o->name[o->names++] = a;
        }
    }
    return o->runs < 1 || o->runs > MAX_RUNS ? "--runs: expected 1 to 101" : NULL;
}

static bool wanted(const struct options *o, const char *name) {
    for (int i = 0; i < o->names; i++)
        if (!strcmp(o->name[i], name)) return true;
    return !o->names;
}

static void heading(const struct session *s) {
    const struct machine *m = &s->m;
    int threads = pool_threads(pool_get());
    printf("%s, %d thread%s, %s; peers by %s\n", os_cpu()->model, threads, threads == 1 ? "" : "s",
           s->o.cpu ? "processor time" : "wall time", peer_compiler());
    printf("measured now: copy %.1f GB/s, read %.1f, write %.1f, FMA %.1f GFLOPS (1 thread %.1f)\n",
           m->copy * 1e-9, m->read * 1e-9, m->write * 1e-9, m->fma * 1e-9, m->fma1 * 1e-9);
    printf("%-17s %-48s%s\n", "", "peer: ms [least greatest], rate, floor",
           s->engine ? "ridge                                           ratio    error" : "error");
    fflush(stdout);
}

int main(int argc, char **argv) {
    struct session s = {0};
    struct err e = {0};
    const char *bad = parse(&s.o, argc, argv);
    if (bad) return usage(bad);
    char text[16];
    if (s.o.cpu) s.o.threads = 1;
    snprintf(text, sizeof text, "%d", s.o.threads);
    if (s.o.threads) setenv("RIDGE_THREADS", text, 1); /* before the pool starts */
    if (pool_threads(pool_get()) > PEER_WORKERS) return usage("more than 64 threads; say --threads 64");
    if (!s.o.peer_only && !(s.engine = search_engine_open(&e, NULL))) {
        fprintf(stderr, "golden: %s\n", e.msg);
        return 1;
    }
    if (!s.o.check) {
        probe(&s.o, &s.m);
        heading(&s);
    }
    for (int i = 0; i < job_count; i++) {
        if (!wanted(&s.o, jobs[i].name)) continue;
        if (s.o.check) check_small(&s, &jobs[i]);
        bench_job(&s, &jobs[i]);
    }
    if (s.engine) engine_close(s.engine);
    if (s.measured) printf("%d of %d at 0.8 of the peer or better\n", s.measured - s.slow, s.measured);
    if (s.failed) printf("%d failed\n", s.failed);
    return s.failed ? 1 : 0;
}
