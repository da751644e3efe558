/* analyze_fuzz.c: mutated inputs for every reader: no crash, no hang, no unbounded memory.
 *
 * Seeds are the captures, small synthetic traces and hand-made files; a mutation flips, overwrites, cuts,
 * repeats and splices bytes, with a dictionary of words that mean something to a reader. Every result that
 * reads is diagnosed too. `make test` runs a few thousand; `make fuzz` runs 200,000 for each reader, meant
 * for MODE=asan. */
#include "event/event.h"
#include "mutate.h"
#include "report/report.h"
#include "synth.h"
#include "test.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

static const char *const words[] = {"\"ph\"",
                                    "\"X\"",
                                    "\"ts\"",
                                    "\"dur\"",
                                    "\"args\"",
                                    "\"traceEvents\"",
                                    "[",
                                    "]",
                                    "{",
                                    "}",
                                    ",",
                                    ":",
                                    "\"",
                                    "\\",
                                    "\\u0000",
                                    "-1",
                                    "1e999",
                                    "9223372036854775807",
                                    "-9223372036854775808",
                                    "0",
                                    "NaN",
                                    "null",
                                    "\"kernel\"",
                                    "\"cpu_op\"",
                                    "\"correlation\"",
                                    "\"Input Dims\"",
                                    "[[8192,8192],[8192,8192]]",
                                    "[[[[[[",
                                    "\"grid\"",
                                    "[0,0,0]",
                                    "[4294967295,4294967295,4294967295]",
                                    "\"ProfilerStep#1\"",
                                    "\"deviceProperties\"",
                                    "\"M\"",
                                    "\"thread_name\"",
                                    "\n",
                                    "\x80\x04",
                                    "(",
                                    "}",
                                    "]",
                                    "u",
                                    "e",
                                    "t",
                                    "\x94",
                                    "h\x01",
                                    "q\x01",
                                    "R",
                                    "c",
                                    "\x93",
                                    "\x8a\xff",
                                    "X\xff\xff\xff\xff",
                                    "\x0a\xff\xff\xff\xff\x0f",
                                    "\x12",
                                    "\x1a",
                                    "\x22",
                                    "\x08\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
                                    "/host:CPU",
                                    "/device:GPU:0",
                                    "Stream #14",
                                    "RIDGEPRF"};

#define CAP 65536

struct pool_of {
    struct bytes seed[8];
    int n;
};

static void add_file(struct arena *a, struct pool_of *s, const char *path, size_t most) {
    gzFile f = gzopen(path, "rb"); /* plain files too */
    CHECK(f != NULL);
    char *p = arena_raw(a, most);
    int n = gzread(f, p, (unsigned)most);
    gzclose(f);
    CHECK(n > 0);
    s->seed[s->n++] = (struct bytes){p, (size_t)n};
}

/* An input without end must say which it is, not eat the hours of a long run. */
#define LIMIT_S 10
static uint64_t running; /* the state from which the input at hand was made */
static void too_long(int sig) {
    (void)sig;
    char b[80];
    int n = snprintf(b, sizeof b, "no end after %d s: state %llu\n", LIMIT_S, (unsigned long long)running);
    if (write(STDERR_FILENO, b, (size_t)n) != n) _exit(2);
    _exit(1);
}

/* Everything that is made of a diagnosis; what is written to files only now and then. */
static void print_all(struct diag *d, struct err *e, bool files) {
    struct str o;
    struct diff f;
    struct arena a;
    int64_t sum = 0;
    const char *const path[2] = {"fuzz", "fuzz"};
    str_init(&o, &d->arena);
    report_text(&o, d, "fuzz");
    report_json(&o, d, "fuzz");
    arena_init(&a, e);
    diag_diff(&a, d, d, &(struct diff_how){.skip = d->t->format == TRACE_RIDGE && d->steps.n > 1}, &f);
    for (uint32_t i = 0; i < f.rows.n; i++) sum += f.rows.p[i].delta;
    if (f.delta || sum != f.budget[BUDGET_KERNELS] - f.overlap) FAIL("a profile differs from itself");
    report_diff(&o, &f, path, 5);
    report_diff_json(&o, &f, path);
    arena_free(&a);
    report_html(&o, d, "fuzz");
    if (d->t->format != TRACE_RIDGE) return;
    for (int by = 0; by < GROUPS; by++) report_table(&o, d, by, by % SORTS, 5);
    for (int by = GROUP_OP; by <= GROUPS; by++)
        if (by != GROUP_CLASS) report_memory(&o, d, by, 5);
    report_kernels(&o, d, 5);
    report_kernels_json(&o, d, 5);
    char out[80];
    snprintf(out, sizeof out, "/tmp/ridge-fuzz-%d.out", (int)getpid());
    for (int k = 0; k < EXPORTS && files; k++)
        if (report_export(e, d, k, out, NULL)) FAIL("%s", e->msg);
    if (files) unlink(out);
}

static void run(const struct pool_of *s, int64_t times, const char *what) {
    static struct trace t;
    static struct diag d;
    char *buf = malloc(CAP);
    int64_t read = 0;
    uint64_t slowest = 0, most = 0;
    CHECK(buf != NULL);
    signal(SIGALRM, too_long);
    for (int64_t i = 0; i < times; i++) {
        struct err e = {0};
        uint64_t before = running = state;
        alarm(LIMIT_S);
        size_t n = mutate(&s->seed[rnd() % (uint64_t)s->n], &s->seed[rnd() % (uint64_t)s->n], buf, CAP, words,
                          RG_COUNT(words));
        uint64_t t0 = os_now_ns();
        if (!trace_read_mem(&t, &e, buf, n, 20000)) {
            read++;
            /* Memory must follow the size of the input, whatever it claims. */
            most = RG_MAX(most, t.arena.reserved);
            if (t.arena.reserved > (64u << 20))
                FAIL("%s: state %llu: %zu bytes of memory for an input of %zu", what,
                     (unsigned long long)before, t.arena.reserved, n);
            if (!diagnose(&d, &t, &e)) {
                int64_t sum = 0;
                for (int k = 0; k < BUDGET_KEYS; k++) sum += d.budget[k];
                if (sum != d.wall_ns)
                    FAIL("%s: state %llu: the budget does not sum", what, (unsigned long long)before);
                if (i % 16 == 0) print_all(&d, &e, i % 1024 == 0);
                diag_free(&d);
            } else if (e.code == RG_EINTERNAL) {
                FAIL("%s: state %llu: %s", what, (unsigned long long)before, e.msg);
            }
            trace_free(&t);
        } else if (e.code == RG_EINTERNAL || !*e.msg) {
            FAIL("%s: state %llu: %s", what, (unsigned long long)before, e.msg);
        }
        slowest = RG_MAX(slowest, os_now_ns() - t0);
    }
    alarm(0);
    free(buf);
    TEST_INFO("%s: %lld mutated inputs, %lld of them readable; slowest %.1f ms, at most %.1f MB", what,
              (long long)times, (long long)read, (double)slowest / 1e6, (double)most / 1e6);
}

/* ---- one pool of seeds for each reader -------------------------------------------------------------------- */

static void torch_seeds(struct arena *a, struct pool_of *s) {
    struct synth y;
    synth_begin(&y, a, 7);
    y.stacks = true;
    synth_step(&y, CAUSE_SYNC, 1);
    synth_step(&y, CAUSE_PAGEABLE, 1);
    synth_step(&y, CAUSE_GROWTH, 1);
    synth_end(&y);
    s->seed[s->n++] = (struct bytes){y.out.p, RG_MIN(y.out.n, (size_t)9000)};
    synth_begin(&y, a, 8);
    synth_step(&y, CAUSE_TRAFFIC, 1);
    synth_step(&y, CAUSE_LOADER, 1);
    synth_end(&y);
    s->seed[s->n++] = (struct bytes){y.out.p, RG_MIN(y.out.n, (size_t)12000)};
    add_file(a, s, "tests/traces/cuda_graph_infer.pt.trace.json.gz", 6000);
    add_file(a, s, "tests/traces/mnist_train_eager.pt.trace.json.gz", 9000);
    add_file(a, s, "tests/traces/transfer_pageable.pt.trace.json.gz", 12000);
}
static void jax_seeds(struct arena *a, struct pool_of *s) {
    add_file(a, s, "tests/traces/jax_compute_bound.trace.json.gz", 9000);
    add_file(a, s, "tests/traces/jax_overhead.trace.json.gz", 6000);
}
static void xplane_seeds(struct arena *a, struct pool_of *s) {
    add_file(a, s, "tests/traces/jax_compute_bound.xplane.pb", 60000);
}
static void pickle_seeds(struct arena *a, struct pool_of *s) {
    add_file(a, s, "tests/traces/memory_leak.snapshot.pickle", 62000);
    static char small[] = "\x80\x04\x95\x20\0\0\0\0\0\0\0}\x94(\x8c\x08segments\x94]\x94\x8c\x0d"
                          "device_traces\x94]\x94]\x94}\x94"
                          "(\x8c\x06"
                          "action\x94\x8c\x05"
                          "alloc\x94\x8c\x04size\x94K\x05\x8c\x04"
                          "addr\x94K\x07uaau.";
    s->seed[s->n++] = (struct bytes){small, sizeof small - 1};
}
static void ridge_seeds(struct arena *a, struct pool_of *s) {
    struct err e = {0};
    struct event_list l;
    uint32_t graph = event_name("kernel E_4\n(SINK x)"), source = event_name("void E_4(void *const *buf) {}");
    char whole[200];
    snprintf(whole, sizeof whole,
             "exp net.1 b.c:7\t900\tmemory\tf32(4)\tabcd0123\t800\t%u\t%u\tissued=16 f32=40\tTILE(i,4,u)",
             graph, source);
    event_reset();
    event_add(EVENT_RANGE, graph, 1000000, 1000000, 0, 0);
    event_add(EVENT_RANGE, source, 1000000, 1000000, 0, 0);
    for (uint64_t i = 0, t = 1000000; i < 60; i++, t += 50000) {
        event_add((enum event_kind)(i % EVENT_KINDS), event_name("E_64"), t, t + 40000, 1 << 10, 1 << 12);
        event_add(EVENT_LAUNCH, event_name("r_8"), t + 1000, t + 3000, (int64_t)i, 1);
        event_add(EVENT_KERNEL, event_name("r_8"), t + 3000, t + 30000, 1 << 20, 1 << 22);
        event_add_info(EVENT_KERNEL, event_name("E_4"),
                       event_name("exp, sum net.1 a b.c:7 (backward), ..\t900\tmemory"), t + 31000, t + 32000,
                       4, 8);
        event_add_info(EVENT_KERNEL, event_name("E_4"), event_name(whole), t + 32000, t + 33000, 4, 8);
        event_add_info(EVENT_CALL, event_name("rg_read"), event_name("some/where/a.c:12"), t + 500, t + 35000,
                       0, 0);
        event_add_row(EVENT_KERNEL, event_name("r_8"), event_name(whole), event_row(i % 3, 7 + i % 5),
                      (uint32_t)i, t + 3000, t + 41000, 4, 8);
        event_add_row(EVENT_COPY, event_name("r_8"), 0, event_row(0, 9), 0, t + 30000, t + 90000, 4, 1);
        event_add(EVENT_COPY, event_name("r_8"), t + 33000, t + 34000, 4, (int64_t)(i % 7));
        if (i % 20 == 7) event_add(EVENT_RECORD, 0, t, t, i % 40 == 7, (int64_t)i << 20);
    }
    event_snapshot(a, &l);
    char path[] = "/tmp/ridge-fuzz-XXXXXX", *p;
    size_t n;
    close(mkstemp(path));
    CHECK_EQ(event_save(&e, a, path, &l), 0);
    CHECK_EQ(os_read_file(&e, a, path, 1 << 20, &p, &n), 0);
    unlink(path);
    s->seed[s->n++] = (struct bytes){p, n};
}

/* A program may be killed, and a disk be full, at any byte. */
TEST(analyze_ridge_profile_cut_anywhere) {
    static struct trace t;
    static struct diag d;
    struct err e = {0};
    struct arena a;
    struct pool_of s = {0};
    int refused = 0, cut = 0;
    arena_init(&a, &e);
    ridge_seeds(&a, &s);
    for (size_t n = 0; n <= s.seed[0].n; n++) {
        struct err why = {0};
        char *part = malloc(n + 1); /* of its own, so that reading past it is seen */
        memcpy(part, s.seed[0].p, n);
        if (trace_read_mem(&t, &why, part, n, 0)) {
            CHECK(*why.msg && why.code != RG_EINTERNAL);
            refused++;
        } else {
            CHECK_EQ(diagnose(&d, &t, &why), 0);
            cut += t.truncated;
            diag_free(&d);
            trace_free(&t);
        }
        free(part);
    }
    CHECK(refused >= 16 && cut > 100);
    TEST_INFO("%zu lengths: %d refused with words, %d read as cut short", s.seed[0].n, refused, cut);
    arena_free(&a);
}

static void gzip_seeds(struct arena *a, struct pool_of *s) {
    struct err e = {0};
    char *p;
    size_t n;
    CHECK_EQ(os_read_file(&e, a, "tests/traces/transfer_pageable.pt.trace.json.gz", 1 << 20, &p, &n), 0);
    s->seed[s->n++] = (struct bytes){p, n};
}

static const struct {
    const char *name;
    void (*seeds)(struct arena *, struct pool_of *);
} readers[] = {{"torch", torch_seeds},   {"jax", jax_seeds},   {"xplane", xplane_seeds},
               {"pickle", pickle_seeds}, {"gzip", gzip_seeds}, {"ridge", ridge_seeds}};

/* FUZZ_SLICE=2/8 runs an eighth of a long run; each slice draws its own inputs, always the same. */
static void fuzz(int which, int64_t times) {
    struct err e = {0};
    int slice = 1, slices = 1;
    const char *env = getenv("FUZZ_SLICE");
    if (env && sscanf(env, "%d/%d", &slice, &slices) == 2 && slices > 0) times /= slices;
    struct arena a;
    struct pool_of s = {0};
    arena_init(&a, &e);
    readers[which].seeds(&a, &s);
    state = 88172645463325252u + (uint64_t)which * 977 + (uint64_t)slice * 1000003;
    run(&s, times, readers[which].name);
    arena_free(&a);
}

TEST(analyze_mutated_torch) { fuzz(0, 400); }
TEST(analyze_mutated_jax) { fuzz(1, 300); }
TEST(analyze_mutated_xplane) { fuzz(2, 1000); }
TEST(analyze_mutated_pickle) { fuzz(3, 1000); }
TEST(analyze_mutated_gzip) { fuzz(4, 500); }
TEST(analyze_mutated_ridge) { fuzz(5, 1000); }

TEST_MANUAL(fuzz_reader_torch, 7200) { fuzz(0, 200000); }
TEST_MANUAL(fuzz_reader_jax, 7200) { fuzz(1, 200000); }
TEST_MANUAL(fuzz_reader_xplane, 7200) { fuzz(2, 200000); }
TEST_MANUAL(fuzz_reader_pickle, 7200) { fuzz(3, 200000); }
TEST_MANUAL(fuzz_reader_gzip, 7200) { fuzz(4, 200000); }
TEST_MANUAL(fuzz_reader_ridge, 7200) { fuzz(5, 200000); }
