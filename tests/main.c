/* main.c: the test runner. Each test runs in a forked child, several at once, with a time limit and its
 * output caught; only what a failed test wrote is shown. Shell scripts given with -x are tests too: exit
 * status 0 passes, 77 skips, and anything else fails.
 *
 *     ridge-test [-l] [-v] [-t] [-a] [-j N] [-n N] [-s N] [-c FILE] [-x SCRIPT]... [SUBSTRING]...
 *
 * -l lists, -v prints every test with its time, and every ten seconds what is under way, -t prints at the end which 30 tests (-n says how many)
 * took most CPU time (user and system, with the compilers they started), -a takes in the manual tests, -s multiplies time
 * limits (an emulated machine is slow). On a busy machine they are longer by its load a core: they find hangs, not slowness. The last line is always `N passed, M failed` with `, K skipped` where there were any; the exit status is 0
 * only if none failed and at least one ran.
 *
 * A child says more than pass or fail through marked lines in its output: \1 starts an info line for the
 * summary. Tests that are known to take long start first (-c, unless given tests/costs.txt: seconds and name a line), then those of the
 * longest time limits, so that a slow test is not left for last. Tests that must be alone (they fill a device, or look at how full it
 * is) run one by one after all others. */
#include "base/base.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { EXIT_SKIP = 77, MAX_JOBS = 64, MAX_OUTPUT = 1 << 20 };

static struct test *tests; /* all that registered, and the scripts */
static int n_tests;

struct job {
    struct test *test; /* NULL: free */
    pid_t pid;
    int fd;
    double start;
    double used; /* of its time limit */
    bool late;   /* killed for its time limit */
    char *out;
    size_t n;
};

struct cost {
    const struct test *test;
    double cpu; /* seconds, user and system */
};

static struct {
    int passed, failed, skipped;
    char *info;
    size_t n_info;
    bool verbose;
    int slower;        /* time limits are this many times as long */
    struct cost *cost; /* of those that ended */
    int n_cost;
} run = {.slower = 1};

/* The leak check of ASan walks 2^28 regions at the end of every process on aarch64: three seconds each.
 * There it is for those who ask: ASAN_OPTIONS=detect_leaks=1. mem_live() finds leaks in any build. */
#ifdef __aarch64__
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "detect_leaks=0"; }
#endif

/* Children of a program with threads start threads of their own here: api_fork_beside_a_thread. A report ends its test. */
__attribute__((visibility("default"))) const char *__tsan_default_options(void);
const char *__tsan_default_options(void) { return "die_after_fork=0:halt_on_error=1"; }

/* ---- inside the child ---------------------------------------------------------------------------- */

void test_add(struct test *t) {
    t->next = tests;
    tests = t;
    n_tests++;
}

void test_fail(const char *file, int line, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    printf("%s:%d: ", file, line);
    vprintf(fmt, ap);
    printf("\n");
    va_end(ap);
    fflush(NULL);
    _exit(1); /* not exit: a test that ends half-way leaks by design */
}

void test_skip(const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
    fflush(NULL);
    _exit(EXIT_SKIP);
}

void test_info(const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    printf("\1");
    vprintf(fmt, ap);
    printf("\n");
    va_end(ap);
}

static void child(struct test *t, int write_end) {
    setpgid(0, 0);                      /* a time-out ends its children too */
    setenv("RIDGE_PLAN_BOUND", "1", 0); /* plans of every test are checked */
    dup2(write_end, 1);
    dup2(write_end, 2);
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null >= 0) dup2(null, 0);
    if (!t->fn) {
        execl(t->name, t->name, (char *)NULL);
        printf("cannot run %s: %s\n", t->name, strerror(errno));
        fflush(NULL);
        _exit(1);
    }
    t->fn();
    fflush(NULL);
    exit(0); /* with atexit handlers and the leak check */
}

/* ---- the parent ---------------------------------------------------------------------------------- */

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void die(const char *what) {
    perror(what);
    exit(2);
}

static void start_job(struct job *j, struct test *t) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC)) die("pipe");
    fflush(NULL);
    *j = (struct job){.test = t, .fd = ends[0], .start = now()};
    j->pid = fork();
    if (j->pid < 0) die("fork");
    if (j->pid == 0) child(t, ends[1]);
    setpgid(j->pid, j->pid);
    close(ends[1]);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
}

static void append(char **p, size_t *n, const char *s, size_t k) {
    *p = realloc(*p, *n + k + 1);
    if (!*p) die("realloc");
    memcpy(*p + *n, s, k);
    *n += k;
    (*p)[*n] = 0;
}

/* Takes what the child wrote so far; false at the end of its output. */
static bool read_output(struct job *j) {
    char buf[65536];
    ssize_t k;
    while ((k = read(j->fd, buf, sizeof buf)) > 0)
        if (j->n < MAX_OUTPUT) append(&j->out, &j->n, buf, (size_t)k);
    return k < 0 && (errno == EAGAIN || errno == EINTR);
}

/* Moves the \1 lines of a job's output to the summary, and prints the others if `show`. */
static void sort_output(struct job *j, bool show) {
    for (char *line = j->out, *end; line && *line; line = end) {
        size_t k = strcspn(line, "\n");
        end = line + k + (line[k] == '\n');
        if (*line == '\1') {
            char text[600];
            int n = snprintf(text, sizeof text, "%s: %.*s\n", j->test->name, (int)k - 1, line + 1);
            append(&run.info, &run.n_info, text, n < (int)sizeof text ? (size_t)n : sizeof text - 1);
        } else if (show) {
            printf("    %.*s\n", (int)k, line);
        }
    }
}

static double cpu_seconds(const struct rusage *u) {
    return (double)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) +
           1e-6 * (double)(u->ru_utime.tv_usec + u->ru_stime.tv_usec);
}

static void finish(struct job *j, int status, const struct rusage *used) {
    double took = now() - j->start;
    run.cost[run.n_cost++] = (struct cost){j->test, cpu_seconds(used)};
    read_output(j);
    close(j->fd);
    bool skip = WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SKIP;
    bool ok = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (ok) {
        run.passed++;
        if (run.verbose)
            printf("ok    %-44s %8.1f ms, CPU %.2f s\n", j->test->name, took * 1e3, cpu_seconds(used));
    } else if (skip) {
        run.skipped++;
        printf("skip  %s: %.*s\n", j->test->name, (int)strcspn(j->out ? j->out : "", "\n"),
               j->out ? j->out : "");
    } else {
        run.failed++;
        printf("FAIL  %s", j->test->name);
        if (j->test->fn) printf(" (%s:%d)", j->test->file, j->test->line);
        if (j->late)
            printf(": stopped after its %d seconds\n", j->test->seconds);
        else if (WIFSIGNALED(status))
            printf(": %s\n", strsignal(WTERMSIG(status)));
        else
            printf(": exit status %d\n", WEXITSTATUS(status));
    }
    sort_output(j, !ok && !skip);
    fflush(stdout);
    kill(-j->pid, SIGKILL); /* what it may have left running; its own process group, no other */
    free(j->out);
    j->test = NULL;
}

/* Runnable processes a core, at least 1: a second of the clock is that much less for each. */
static double load_of_a_core(void) {
    double load = 0;
    if (getloadavg(&load, 1) != 1) return 1;
    load /= (double)sysconf(_SC_NPROCESSORS_ONLN);
    return load > 1 ? load : 1;
}

/* One look at all running jobs: output, ends, time limits. */
static void watch(struct job *jobs, int n) {
    static double last;
    struct pollfd p[MAX_JOBS];
    double passed = last ? now() - last : 0;
    last = now();
    passed /= load_of_a_core() * run.slower;
    for (int i = 0; i < n; i++)
        p[i] = (struct pollfd){.fd = jobs[i].test ? jobs[i].fd : -1, .events = POLLIN};
    poll(p, (nfds_t)n, 50);
    for (int i = 0; i < n; i++) {
        struct job *j = &jobs[i];
        if (!j->test) continue;
        int status;
        bool more = read_output(j);
        struct rusage used;
        pid_t got = wait4(j->pid, &status, more ? WNOHANG : 0, &used);
        if (got == j->pid) {
            finish(j, status, &used);
        } else if (!j->late && (j->used += passed) > j->test->seconds) {
            j->late = true;
            kill(-j->pid, SIGKILL);
        }
    }
}

/* A line for who waits: how many are done, and what runs since when. */
static void progress(const struct job *jobs, int n, int total, double began) {
    printf("..    %d of %d tests after %.0f s; running:", run.passed + run.failed + run.skipped, total,
           now() - began);
    for (int i = 0; i < n; i++)
        if (jobs[i].test) printf(" %s (%.0f s)", jobs[i].test->name, now() - jobs[i].start);
    printf("\n");
    fflush(stdout);
}

static void run_all(struct test **list, int n, int jobs) {
    struct job job[MAX_JOBS] = {0};
    double began = now(), told = began;
    for (int next = 0, busy = 0; next < n || busy;) {
        for (int i = 0; i < jobs && next < n && !(busy && list[next]->alone); i++) {
            if (job[i].test) continue;
            busy++;
            start_job(&job[i], list[next++]);
        }
        watch(job, jobs);
        busy = 0;
        for (int i = 0; i < jobs; i++) busy += job[i].test != NULL;
        if (run.verbose && now() - told >= 10) {
            told = now();
            progress(job, jobs, n, began);
        }
    }
}

/* How long tests took when that was last written down. A name that is no test any more is no error. */
static void read_costs(const char *path, struct test **list, int n) {
    char name[256];
    double seconds;
    FILE *f = fopen(path, "re");
    for (int got; f && (got = fscanf(f, "%lf %255s", &seconds, name)) != EOF;) {
        for (int i = 0; i < n && got == 2; i++)
            if (!strcmp(list[i]->name, name)) list[i]->cost = seconds;
        if (got != 2 && fscanf(f, "%*[^\n]") == EOF) break; /* a comment */
    }
    if (f) fclose(f);
}

static int by_time_then_name(const void *pa, const void *pb) {
    const struct test *a = *(struct test *const *)pa, *b = *(struct test *const *)pb;
    if (a->alone != b->alone) return a->alone - b->alone;
    if (a->cost != b->cost) return a->cost < b->cost ? 1 : -1;
    if (a->seconds != b->seconds) return b->seconds - a->seconds;
    return strcmp(a->name, b->name);
}

static int by_cpu(const void *a, const void *b) {
    double x = ((const struct cost *)a)->cpu, y = ((const struct cost *)b)->cpu;
    return (x < y) - (x > y);
}

/* Which tests cost most, and what share of all that is. */
static void print_costs(int most_lines) {
    double all = 0, most = 0;
    for (int i = 0; i < run.n_cost; i++) all += run.cost[i].cpu;
    qsort(run.cost, (size_t)run.n_cost, sizeof *run.cost, by_cpu);
    int n = run.n_cost < most_lines ? run.n_cost : most_lines;
    for (int i = 0; i < n; i++) {
        printf("%8.2f s  %s\n", run.cost[i].cpu, run.cost[i].test->name);
        most += run.cost[i].cpu;
    }
    printf("%8.2f s  of %.2f s of CPU time in these %d of %d tests\n", most, all, n, run.n_cost);
}

static bool selected(const struct test *t, bool all, char **words, int n) {
    if (!t->fn) return true;
    if (t->manual && !all) return false;
    for (int i = 0; i < n; i++)
        if (strstr(t->name, words[i])) return true;
    return n == 0;
}

static void add_script(char *path) {
    struct test *t = calloc(1, sizeof *t);
    if (!t) die("calloc");
    *t = (struct test){.name = path, .file = path, .seconds = 300};
    test_add(t);
}

/* What tests leave on purpose (sources that a compiler refused) goes with the run. */
static void own_tmp(char *path, size_t size) {
    const char *top = getenv("TMPDIR");
    int n = snprintf(path, size, "%s/ridge-tests-XXXXXX", top && *top ? top : "/tmp");
    if (n < 0 || (size_t)n >= size || !mkdtemp(path)) die("mkdtemp");
    chmod(path, 01777); /* tests of other users */
    setenv("TMPDIR", path, 1);
}

int main(int argc, char **argv) {
    long jobs = sysconf(_SC_NPROCESSORS_ONLN);
    bool list = false, all = false, costs = false;
    int lines = 30;
    const char *known = "tests/costs.txt";
    for (int c; (c = getopt(argc, argv, "lvtaj:n:s:c:x:")) != -1;) {
        switch (c) {
        case 'l': list = true; break;
        case 'v': run.verbose = true; break;
        case 't': costs = true; break;
        case 'a': all = true; break;
        case 'j': jobs = strtol(optarg, NULL, 10); break;
        case 'n': lines = atoi(optarg); break;
        case 's': run.slower = atoi(optarg); break;
        case 'c': known = optarg; break;
        case 'x': add_script(optarg); break;
        default:
            fprintf(stderr, "ridge-test [-l] [-v] [-t] [-a] [-j N] [-n N] [-s N] [-c FILE] [-x SCRIPT]... "
                            "[SUBSTRING]...\n");
            return 2;
        }
    }
    jobs = jobs < 1 ? 1 : jobs > MAX_JOBS ? MAX_JOBS : jobs;
    struct test **chosen = calloc((size_t)n_tests + 1, sizeof *chosen);
    run.cost = calloc((size_t)n_tests + 1, sizeof *run.cost);
    if (!chosen || !run.cost) die("calloc");
    int n = 0;
    for (struct test *t = tests; t; t = t->next)
        if (selected(t, all, argv + optind, argc - optind)) chosen[n++] = t;
    read_costs(known, chosen, n);
    qsort(chosen, (size_t)n, sizeof *chosen, by_time_then_name);
    if (list) {
        for (int i = 0; i < n; i++) printf("%s\n", chosen[i]->name);
        free(run.cost);
        free(chosen);
        return 0;
    }
    char *model =
        realpath("tests/machine.txt", NULL); /* plans must not depend on what `ridge ceilings` wrote here */
    if (model) setenv("RIDGE_MODEL", model, 0);
    free(model);
    char tmp[PATH_MAX];
    own_tmp(tmp, sizeof tmp);
    run_all(chosen, n, (int)jobs);
    os_remove_tree(tmp);
    if (run.info) printf("%s", run.info);
    if (costs) print_costs(lines);
    printf("%d passed, %d failed", run.passed, run.failed);
    if (run.skipped) printf(", %d skipped", run.skipped);
    printf("\n");
    free(run.info);
    free(run.cost);
    free(chosen);
    return run.failed || !(run.passed + run.skipped);
}
