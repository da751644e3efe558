/* main.c: bench/sweep: programs at random over the public API, each against REF and against the least time it could take.
 *
 *     build/release/bench/sweep [--device CPU] [--seed 1] [--n 200] [--family NAMES] [--row NAME] [--seconds S]
 *         [--jobs N] [--peer PYTHON] [--json FILE] ..
 *
 * Draws run in a child process: one that crashes or hangs ends its child, and the sweep goes on with another. With --jobs
 * N children compile and check first, into a cache of their own; then one times what they prepared. What is printed:
 * docs/performance.md. */
#include "sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BATCH = 256, JOBS_MOST = 64 }; /* draws of a child; children */
#define TIMING 0.1                    /* seconds that are left for each draw that --jobs prepared */
#define ASKING 0.4                    /* and for the peer's, eager; compiled: */
#define ASKING_COMPILED 8.0
#define MEASURING 15.0 /* and for the rates of the machine */
#define LATE 4.0       /* seconds after which a draw that was begun is given up */

static int usage(void) {
    puts("sweep: programs at random over the public API: result, time, share of the least possible time\n"
         "  --device NAME    CPU (default), CUDA ..\n"
         "  --seed N         draws of another seed are others; 1\n"
         "  --n N            how many draws; 200\n"
         "  --seconds S      stop after so long\n"
         "  --family NAMES   only these: elementwise math reduction scan sort product convolution attention "
         "norm\n"
         "                   index movement pooling loss random chain\n"
         "  --row NAME       only this operation\n"
         "  --list FILE      the programs of a file instead of random ones: bench/sweep/table.txt\n"
         "  --draw N         only this draw, in this process, with what went into its floor\n"
         "  --top N          how many of the worst to print; 20\n"
         "  --most OPS       operations of a draw; 2e9, on a GPU 4e11\n"
         "  --limit S        seconds that a first run may take; 20\n"
         "  --cpu-time       one thread, by the CPU time of the process: for a machine that is busy\n"
         "  --plans          what the planner predicts instead of times; no check\n"
         "  --check          results against REF only: no times\n"
         "  --views          operands are computed, reordered, reversed, sliced and expanded views, with "
         "axes of 1\n"
         "  --least          the least of a draw's samples instead of their median\n"
         "  --verbose        each draw as it is done\n"
         "  --jobs N         N processes compile and check first, then one times\n"
         "  --peer PYTHON    PyTorch beside it, eager and compiled\n"
         "  --peers N        PyTorch beside the first N only\n"
         "  --eager          PyTorch only eager\n"
         "  --graphs         PyTorch eager, and the same captured in a CUDA graph\n"
         "  --json FILE      all draws as JSON");
    return 2;
}

static bool parse(int argc, char **argv, struct options *o, bool *serve) {
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i], *v = i + 1 < argc ? argv[i + 1] : NULL;
        if (!strcmp(a, "--cpu-time")) {
            o->cpu_time = true;
        } else if (!strcmp(a, "--least")) {
            o->least = true;
        } else if (!strcmp(a, "--verbose")) {
            o->verbose = true;
        } else if (!strcmp(a, "--eager")) {
            o->eager = true;
        } else if (!strcmp(a, "--graphs")) {
            o->graphs = true;
        } else if (!strcmp(a, "--plans")) {
            o->plans = true;
        } else if (!strcmp(a, "--check")) {
            o->check = true;
        } else if (!strcmp(a, "--views")) {
            o->views = true;
        } else if (!strcmp(a, "--serve")) {
            *serve = true;
        } else if (!v || strncmp(a, "--", 2) != 0) {
            return false;
        } else {
            const struct {
                const char *name;
                const char **text;
                double *number;
                int *count;
            } known[] = {{"--device", &o->device, 0, 0},   {"--family", &o->family, 0, 0},
                         {"--row", &o->row, 0, 0},         {"--json", &o->json, 0, 0},
                         {"--peer", &o->peer, 0, 0},       {"--rates", &o->work, 0, 0},
                         {"--seconds", 0, &o->seconds, 0}, {"--most", 0, &o->most, 0},
                         {"--limit", 0, &o->limit, 0},     {"--n", 0, 0, &o->n},
                         {"--draw", 0, 0, &o->only},       {"--top", 0, 0, &o->top},
                         {"--jobs", 0, 0, &o->jobs},       {"--peers", 0, 0, &o->peers},
                         {"--list", &o->list, 0, 0}};
            size_t k = 0;
            bool seed = !strcmp(a, "--seed");
            while (!seed && k < RG_COUNT(known) && strcmp(a, known[k].name) != 0) k++;
            if (!seed && k == RG_COUNT(known)) return false;
            if (seed)
                o->seed = strtoull(v, NULL, 10);
            else if (known[k].text)
                *known[k].text = v;
            else if (known[k].number)
                *known[k].number = atof(v);
            else
                *known[k].count = atoi(v);
            i++;
        }
    }
    return true;
}

static struct rates *map_rates(const char *path, bool make) {
    int fd = open(path, make ? O_RDWR | O_CREAT | O_TRUNC : O_RDWR, 0600);
    if (fd < 0 || (make && ftruncate(fd, sizeof(struct rates)))) return NULL;
    void *p = mmap(NULL, sizeof(struct rates), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return p == MAP_FAILED ? NULL : p;
}

/* ---- the child: requests come in, results go out; draw -1 asks for the machine's rates ---- */

struct request {
    int draw;
    enum part part;
};

static bool transfer(int fd, void *data, size_t n, bool out) {
    for (size_t at = 0; at < n;) {
        ssize_t k = out ? write(fd, (char *)data + at, n - at) : read(fd, (char *)data + at, n - at);
        if (k <= 0 && errno == EINTR) continue;
        if (k <= 0) return false;
        at += (size_t)k;
    }
    return true;
}

static int serve(const struct options *o) {
    struct rates *rates = map_rates(o->work, false);
    struct request q;
    int in = dup(0), out = dup(1);
    if (!rates || in < 0 || out < 0 || dup2(2, 1) < 0) return 1;
    rg_ctx *device = rg_open(o->device), *ref = rg_open("REF");
    while (transfer(in, &q, sizeof q, false)) {
        struct result r = {.draw = q.draw};
        struct err e = {0};
        if (rg_status_of(device) && rg_clear_error(device)) {
            snprintf(r.text, sizeof r.text, "%s", rg_error(device));
            r.outcome = FAILED;
        } else if (q.draw < 0) {
            if (floor_measure(device, o, rates, &e))
                r.outcome = FAILED, memcpy(r.text, e.msg, sizeof r.text - 1);
        } else {
            work_draw(device, ref, o, rates, q.draw, q.part, &r);
        }
        if (!transfer(out, &r, sizeof r, true)) return 1;
    }
    rg_close(ref);
    return rg_close(device);
}

/* ---- the parent ---- */

struct sweep {
    struct options o;
    const char *const *argv; /* of a child */
    struct os_child child;
    int done;      /* draws of this child */
    uint64_t stop; /* no answer is waited for after it, nor counted; 0: --limit is the only one */
};

static bool ask(struct sweep *s, int index, enum part part, struct result *r) {
    struct err e = {0};
    struct request q = {index, part};
    *r = (struct result){.draw = index};
    if (s->child.fd >= 0 && s->done >= BATCH) os_child_stop(&s->child), s->child.fd = -1;
    if (s->child.fd < 0) {
        s->done = 0;
        if (os_child_start(&e, s->argv, &s->child)) return fprintf(stderr, "sweep: %s\n", e.msg), false;
    }
    s->done++;
    uint64_t until = os_now_ns() + (uint64_t)(s->o.patience * 1e9);
    if (s->stop) until = RG_MIN(until, s->stop);
    enum os_talk how = os_child_send(&s->child, &q, sizeof q, until);
    if (how == OS_TALK_DONE) how = os_child_receive(&s->child, r, sizeof *r, until);
    if (how == OS_TALK_DONE) return true;
    *r = (struct result){.draw = index, .outcome = how == OS_TALK_LATE ? HUNG : CRASHED};
    int signal = os_child_stop(&s->child);
    s->child.fd = -1;
    if (how == OS_TALK_LATE && s->stop && until == s->stop) return false;
    if (how == OS_TALK_LATE)
        snprintf(r->text, sizeof r->text, "not done after %.0f s", s->o.patience);
    else
        snprintf(r->text, sizeof r->text, "the process ended by signal %d", signal);
    return true;
}

static void print_draw(const struct options *o, const struct result *r) {
    char text[TEXT_MOST];
    struct draw d;
    draw_make(&d, o, r->draw, o->most);
    draw_describe(&d, text, sizeof text);
    printf("%s\n", text);
    if (r->text[0]) printf("  %s\n", r->text);
    if (r->outcome == FAILED) return; /* there is no time */
    printf("  %.3g us in %g launches; floor %.3g us, share %.3f (bytes %.3g us, ops %.3g us, functions %.3g "
           "us); first run "
           "%.2f s; error %.2g of the tolerance\n",
           1e6 * r->seconds, r->launches, 1e6 * r->floor, r->seconds > 0 ? r->floor / r->seconds : 0,
           1e6 * r->by_bytes, 1e6 * r->by_ops, 1e6 * r->by_functions, r->first, r->error);
    if (r->eager > 0) printf("  PyTorch %.3g us, compiled %.3g us\n", 1e6 * r->eager, 1e6 * r->compiled);
}

/* In this process: for DEBUG and debuggers. */
static int run_alone(const struct options *o, struct rates *rates) {
    struct result r = {0};
    struct err e = {0};
    struct draw d;
    rg_ctx *device = rg_open(o->device), *ref = rg_open("REF");
    struct peer *peer = o->peer ? peer_start(o) : NULL;
    draw_make(&d, o, o->only, o->most);
    if (!d.row) return fprintf(stderr, "sweep: no operation of that family or name\n"), 2;
    if (rg_status_of(device)) return fprintf(stderr, "sweep: %s\n", rg_error(device)), 1;
    if (floor_measure(device, o, rates, &e)) return fprintf(stderr, "sweep: %s\n", e.msg), 1;
    work_draw(device, ref, o, rates, o->only, o->plans ? PLAN : o->check ? CHECK : WHOLE, &r);
    if (peer) peer_ask(peer, &d, 0, &r), peer_end(peer);
    print_draw(o, &r);
    rg_close(ref);
    return rg_close(device) || r.outcome != FINE;
}

/* Draws that several children prepare, each asked by a thread. */
struct preparation {
    const struct sweep *s;
    struct result *r;
    atomic_int next, ready;
    uint64_t end; /* of all; 0: there is none */
};

/* No draw is begun after it: what is left then is what timing the prepared ones takes. 0: there is no end. */
static uint64_t prepare_until(struct preparation *p) {
    const struct options *o = &p->s->o;
    int ready = atomic_load(&p->ready), asked = o->peer ? RG_MIN(ready, o->peers) : 0;
    double each = o->eager || o->graphs ? ASKING : ASKING_COMPILED;
    double need = RG_MIN(MEASURING, 0.2 * o->seconds) + TIMING * ready + each * asked;
    return p->end ? p->end - (uint64_t)(RG_MIN(need, 0.6 * o->seconds) * 1e9) : 0;
}

static void *prepare_some(void *user) {
    struct preparation *p = user;
    struct sweep mine = {.o = p->s->o, .argv = p->s->argv, .child = {.fd = -1}};
    for (;;) {
        uint64_t until = prepare_until(p);
        if (until && os_now_ns() > until) break;
        if (until) mine.stop = until + (uint64_t)(LATE * 1e9);
        int i = atomic_fetch_add(&p->next, 1);
        if (i >= mine.o.n || !ask(&mine, i, PREPARE, &p->r[i])) break;
        p->r[i].prepared = true;
        atomic_fetch_add(&p->ready, 1);
    }
    if (mine.child.fd >= 0) os_child_stop(&mine.child);
    return NULL;
}

static void prepare(const struct sweep *s, struct result *r, uint64_t began) {
    struct preparation p = {.s = s, .r = r};
    pthread_t thread[JOBS_MOST];
    int n = 0;
    if (s->o.seconds > 0) p.end = began + (uint64_t)(s->o.seconds * 1e9);
    while (n < RG_MIN(s->o.jobs, JOBS_MOST) && !pthread_create(&thread[n], NULL, prepare_some, &p)) n++;
    int jobs = n;
    while (n > 0) pthread_join(thread[--n], NULL);
    printf("%d draws prepared in %.1f s by %d processes\n", atomic_load(&p.ready),
           1e-9 * (double)(os_now_ns() - began), jobs);
    fflush(stdout);
}

/* What the first run and the check said stays; times are those of the child that runs alone. */
static bool time_prepared(struct sweep *s, struct result *r) {
    struct result first = *r;
    if (first.outcome != FINE && first.outcome != WRONG) return true;
    if (!ask(s, first.draw, TIME, r)) return *r = first, false;
    r->first = first.first, r->error = first.error;
    if (first.outcome == WRONG) r->outcome = WRONG, memcpy(r->text, first.text, sizeof r->text);
    return true;
}

/* The results of draws that were begun; those that were prepared and not timed have no seconds. */
static int run_all(struct sweep *s, struct result *r, struct peer *peer, uint64_t began) {
    struct options *o = &s->o;
    struct draw d;
    int n = 0, asked = 0;
    bool late = false;
    for (int i = 0; i < o->n && !(late && !o->jobs); i++) {
        if (o->jobs && !r[i].prepared) continue;
        r[n] = r[i];
        late |= o->seconds > 0 && i > 0 && 1e-9 * (double)(os_now_ns() - began) > o->seconds;
        if (!late)
            late = o->jobs ? !time_prepared(s, &r[n])
                           : !ask(s, i,
                                  o->plans   ? PLAN
                                  : o->check ? CHECK
                                             : WHOLE,
                                  &r[n]);
        if (late && !o->jobs) break;
        n++;
        if (o->check && o->verbose) print_draw(o, &r[n - 1]), fflush(stdout);
        if (late || r[n - 1].seconds <= 0) continue;
        draw_make(&d, o, i, o->most);
        if (peer && asked++ < o->peers) peer_ask(peer, &d, s->stop, &r[n - 1]);
        if (o->verbose) print_draw(o, &r[n - 1]), fflush(stdout);
    }
    return n;
}

static int run(struct sweep *s, struct rates *rates) {
    struct options *o = &s->o;
    struct result *r = calloc((size_t)RG_MAX(o->n, 1), sizeof *r), first;
    struct peer *peer = o->peer ? peer_start(o) : NULL;
    uint64_t began = os_now_ns();
    struct draw d;
    int bad = 0;
    draw_make(&d, o, 0, o->most);
    if (!r || !d.row) return fprintf(stderr, "sweep: no operation of that family or name\n"), 2;
    if (o->seconds > 0 && o->jobs) s->stop = began + (uint64_t)((o->seconds + LATE) * 1e9);
    if (o->jobs) prepare(s, r, began);
    if (!ask(s, -1, WHOLE, &first) || first.outcome) return fprintf(stderr, "sweep: %s\n", first.text), 1;
    int n = run_all(s, r, peer, began);
    for (int i = 0; i < n; i++) bad += r[i].outcome != FINE && r[i].outcome != REFUSED;
    if (s->child.fd >= 0) os_child_stop(&s->child);
    if (peer) peer_end(peer);
    report(o, rates, r, n);
    int failed = o->json ? report_json(o, rates, r, n) : 0;
    free(r);
    return failed || bad ? 1 : 0;
}

/* Children that prepare leave what they compiled to the one that times. */
static int run_cached(struct sweep *s, struct rates *rates) {
    struct err e = {0};
    struct arena a;
    char *cache = NULL;
    arena_init(&a, &e);
    if (s->o.jobs && os_temp_dir(&e, &a, &cache)) {
        arena_free(&a);
        return fprintf(stderr, "sweep: %s\n", e.msg), 1;
    }
    if (cache) setenv("RIDGE_CACHE", "1", 1), setenv("RIDGE_CACHE_DIR", cache, 1);
    int status = run(s, rates);
    if (cache) os_remove_tree(cache);
    arena_free(&a);
    return status;
}

int main(int argc, char **argv) {
    static char self[PATH_MAX], path[] = "/tmp/ridge-sweep-XXXXXX";
    static const char *child[64];
    struct sweep s = {.o = {.seed = 1, .n = 200, .only = -1, .top = 20, .limit = 20, .peers = INT_MAX},
                      .child = {.fd = -1}};
    bool is_child = false;
    if (!parse(argc, argv, &s.o, &is_child)) return usage();
    if (s.o.list && !(s.o.n = list_read(s.o.list))) return usage();
    if (!s.o.device) s.o.device = getenv("RIDGE_DEVICE") ? getenv("RIDGE_DEVICE") : "CPU";
    bool gpu = strncmp(s.o.device, "CPU", 3) != 0;
    if (s.o.most <= 0) s.o.most = gpu ? 4e11 : 2e9;
    s.o.elements = gpu ? 67108864 : 33554432;
    s.o.patience = 4 * s.o.limit;
    if (s.o.cpu_time) setenv("RIDGE_THREADS", "1", 1);
    setenv("RIDGE_CACHE", "0", 0); /* a first run is one */
    if (is_child) return serve(&s.o);
    if (argc > 56 || readlink("/proc/self/exe", self, sizeof self - 1) <= 0) return usage();
    int fd = mkstemp(path);
    if (fd < 0) return perror("sweep"), 1;
    close(fd);
    struct rates *rates = map_rates(path, true);
    if (!rates) return perror("sweep"), 1;
    memcpy(child, argv, (size_t)argc * sizeof *argv);
    child[0] = self;
    child[argc] = "--serve", child[argc + 1] = "--rates", child[argc + 2] = path;
    s.argv = child;
    int status = s.o.only >= 0 ? run_alone(&s.o, rates) : run_cached(&s, rates);
    unlink(path);
    return status;
}
