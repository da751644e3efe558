/* analyze.c: readers and the verdict on real captures, each with one planted bottleneck; damaged, empty and
 * foreign files. The captures in tests/traces were made on an H200 with PyTorch 2.11 and JAX. */
#include "analyze/analyze.h"
#include "event/event.h"
#include "test.h"

#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

static const struct {
    const char *file, *verdict;
    int regime; /* -1: not planted */
    int format;
    uint32_t kernels;
} captures[] = {
    {"compute_bound_gemm.pt.trace.json.gz", "healthy", REGIME_COMPUTE, TRACE_TORCH, 23},
    {"memory_bound_elementwise.pt.trace.json.gz", "memory_traffic", REGIME_MEMORY, TRACE_TORCH, 96},
    {"overhead_small_kernels.pt.trace.json.gz", "small_kernels", REGIME_OVERHEAD, TRACE_TORCH, 1800},
    {"transfer_pageable.pt.trace.json.gz", "transfer.pageable", -1, TRACE_TORCH, 12},
    {"dataloader_bound.pt.trace.json.gz", "host.dataloader", -1, TRACE_TORCH, 81},
    {"mnist_train_eager.pt.trace.json.gz", "dispatch", -1, TRACE_TORCH, 372},
    {"cuda_graph_infer.pt.trace.json.gz", "healthy", -1, TRACE_TORCH, 213},
    {"jax_compute_bound.trace.json.gz", "healthy", REGIME_COMPUTE, TRACE_JAX, 8},
    {"jax_compute_bound.xplane.pb", "healthy", REGIME_COMPUTE, TRACE_XPLANE, 8},
    {"jax_overhead.trace.json.gz", "small_kernels", REGIME_OVERHEAD, TRACE_JAX, 804},
    {"memory_leak.snapshot.pickle", "memory.growth", -1, TRACE_SNAPSHOT, 0},
};

struct both {
    struct err e;
    struct trace t;
    struct diag d;
};
static void open_capture(struct both *b, const char *file) {
    char path[200];
    snprintf(path, sizeof path, "tests/traces/%s", file);
    memset(b, 0, sizeof *b);
    if (trace_read(&b->t, &b->e, path)) FAIL("%s: %s", path, b->e.msg);
    if (diagnose(&b->d, &b->t, &b->e)) FAIL("%s: %s", path, b->e.msg);
}
static void close_capture(struct both *b) {
    diag_free(&b->d);
    trace_free(&b->t);
}
static int64_t budget_sum(const struct diag *d) {
    int64_t s = 0;
    for (int k = 0; k < BUDGET_KEYS; k++) s += d->budget[k];
    return s;
}

TEST(analyze_captures_get_their_planted_cause) {
    static struct both b;
    for (size_t i = 0; i < RG_COUNT(captures); i++) {
        open_capture(&b, captures[i].file);
        const char *got = b.d.healthy ? "healthy" : cause_text(b.d.verdict);
        if (strcmp(got, captures[i].verdict))
            FAIL("%s: %s, planted %s", captures[i].file, got, captures[i].verdict);
        if (captures[i].regime >= 0) CHECK_EQ(b.d.regime, captures[i].regime);
        CHECK_EQ(b.t.format, captures[i].format);
        CHECK_EQ(b.d.kernel_count, captures[i].kernels);
        CHECK_EQ(b.t.lost + b.t.dropped + b.t.repaired, 0);
        CHECK_EQ(budget_sum(&b.d), b.d.wall_ns);
        if (captures[i].format != TRACE_SNAPSHOT)
            CHECK(50 * (b.d.budget[BUDGET_OTHER] + b.d.budget[BUDGET_UNEXPLAINED]) <= b.d.wall_ns);
        close_capture(&b);
    }
    TEST_COUNT(RG_COUNT(captures), "captures with planted causes");
}

/* Device span and idle time as an independent script (the prototype of the study) computes them, in us. */
TEST(analyze_idle_time_agrees_with_the_prototype) {
    static const struct {
        const char *file;
        double span, idle;
    } want[] = {
        {"compute_bound_gemm.pt.trace.json.gz", 31749.9, 71.0},
        {"cuda_graph_infer.pt.trace.json.gz", 3516.6, 113.3},
        {"dataloader_bound.pt.trace.json.gz", 37006.5, 34909.2},
        {"memory_bound_elementwise.pt.trace.json.gz", 48558.3, 165.1},
        {"mnist_train_eager.pt.trace.json.gz", 21196.2, 12963.3},
        {"overhead_small_kernels.pt.trace.json.gz", 28864.6, 27223.7},
        {"transfer_pageable.pt.trace.json.gz", 193970.1, 2877.9},
    };
    static struct both b;
    for (size_t i = 0; i < RG_COUNT(want); i++) {
        open_capture(&b, want[i].file);
        CHECK_NEAR((double)b.d.wall_ns / 1e3, want[i].span, 0.2);
        CHECK_NEAR((double)(b.d.wall_ns - b.d.busy_ns) / 1e3, want[i].idle, 0.2);
        close_capture(&b);
    }
}

TEST(analyze_both_forms_of_a_jax_trace_agree) {
    static struct both a, b;
    open_capture(&a, "jax_compute_bound.trace.json.gz");
    open_capture(&b, "jax_compute_bound.xplane.pb");
    CHECK(llabs(a.d.wall_ns - b.d.wall_ns) <= 2);
    for (int k = 0; k < BUDGET_KEYS; k++) CHECK(llabs(a.d.budget[k] - b.d.budget[k]) <= 40);
    /* The occupancy that XLA wrote for this kernel is 18.75 %. */
    CHECK(b.d.kernels.p[0].has_occ || a.d.kernels.n);
    close_capture(&a);
    close_capture(&b);
}

TEST(analyze_flops_of_recorded_shapes) {
    static struct both b;
    open_capture(&b, "compute_bound_gemm.pt.trace.json.gz");
    const struct kernel_row *k = &b.d.kernels.p[0];
    CHECK_NEAR(k->flops, 2.0 * 8192 * 8192 * 8192, 1);
    CHECK_NEAR(k->bytes, 3.0 * 8192 * 8192 * 2, 1);
    CHECK(k->roof > 0.75 && k->roof < 0.9);
    CHECK_NEAR(b.d.modelled, 1, 1e-9); /* carry-over kernels took the cost of their like */
    close_capture(&b);
    open_capture(&b, "memory_bound_elementwise.pt.trace.json.gz");
    CHECK_NEAR(b.d.kernels.p[0].bytes, 2.0 * (1 << 30), 1);
    close_capture(&b);
    open_capture(&b, "mnist_train_eager.pt.trace.json.gz");
    bool conv = false; /* 512x32x24x24 by 32x32x5x5: 20x20 results */
    for (uint32_t i = 0; i < b.d.kernels.n; i++)
        conv |=
            b.d.kernels.p[i].cls == KC_CONV && b.d.kernels.p[i].flops == 2.0 * 512 * 32 * 20 * 20 * 32 * 25;
    CHECK(conv);
    close_capture(&b);
}

/* The program is in the file: custom-call.0 multiplies two matrices, custom-call.1 one by itself. */
TEST(analyze_costs_of_a_jax_program) {
    static struct both b;
    open_capture(&b, "jax_compute_bound.xplane.pb");
    CHECK_EQ(b.d.kernels.n, 2);
    for (uint32_t i = 0; i < b.d.kernels.n; i++) {
        const struct kernel_row *k = &b.d.kernels.p[i];
        CHECK_NEAR(k->flops, 2.0 * 8192 * 8192 * 8192, 1);
        CHECK(k->m == 8192 && k->n == 8192 && k->k == 8192 && k->batch == 1);
        CHECK(k->roof > 0.75 && k->roof < 0.9 && k->bound == BOUND_COMPUTE);
    }
    double matrix = 8192.0 * 8192 * 2;
    CHECK_NEAR(b.d.kernels.p[0].bytes + b.d.kernels.p[1].bytes, 5 * matrix, 1);
    CHECK_NEAR(b.d.modelled, 1, 1e-9);
    close_capture(&b);
}

TEST(analyze_names_what_the_capture_lacks) {
    static struct both b;
    open_capture(&b, "cuda_graph_infer.pt.trace.json.gz");
    bool graph = false, noted = false;
    for (uint32_t i = 0; i < b.d.capture.n; i++) graph |= !strcmp(b.d.capture.p[i].id, "graph");
    for (uint32_t i = 0; i < b.d.causes.n; i++)
        noted |= b.d.causes.p[i].id == CAUSE_GRAPH && b.d.causes.p[i].note;
    CHECK(graph && noted);
    close_capture(&b);
    open_capture(&b, "transfer_pageable.pt.trace.json.gz");
    bool stacks = false, mem = false;
    for (uint32_t i = 0; i < b.d.capture.n; i++) {
        stacks |= !strcmp(b.d.capture.p[i].setting, "with_stack=True");
        mem |= !strcmp(b.d.capture.p[i].setting, "profile_memory=True");
    }
    CHECK(stacks && mem);
    close_capture(&b);
}

/* ---- damage ---------------------------------------------------------------------------------------------- */

static char *read_all(struct arena *a, struct err *e, const char *path, size_t *n) {
    gzFile f = gzopen(path, "rb");
    CHECK(f != NULL);
    struct str s;
    str_init(&s, a);
    char buf[65536];
    int k;
    while ((k = gzread(f, buf, sizeof buf)) > 0) str_addn(&s, buf, (size_t)k);
    gzclose(f);
    (void)e;
    *n = s.n;
    return s.p;
}

TEST(analyze_reads_a_cut_file_up_to_the_cut) {
    struct err e = {0};
    struct arena a;
    static struct trace t;
    arena_init(&a, &e);
    size_t n;
    char *p = read_all(&a, &e, "tests/traces/dataloader_bound.pt.trace.json.gz", &n);
    uint32_t last = 0;
    for (int tenth = 2; tenth <= 10; tenth++) {
        CHECK_EQ(trace_read_mem(&t, &e, p, n * (size_t)tenth / 10, 0), 0);
        CHECK_EQ(t.truncated, tenth < 10);
        CHECK(t.n > last);
        last = t.n;
        trace_free(&t);
    }
    CHECK_EQ(last, 7481);
    /* The same through gzip: a cut stream gives what was inflated. */
    size_t zn;
    char *z;
    CHECK_EQ(os_read_file(&e, &a, "tests/traces/dataloader_bound.pt.trace.json.gz", 1 << 20, &z, &zn), 0);
    CHECK_EQ(trace_read_mem(&t, &e, z, zn / 2, 0), 0);
    CHECK(t.truncated && t.n > 1000 && t.n < 7481);
    trace_free(&t);
    arena_free(&a);
}

TEST(analyze_skips_broken_events_and_counts_them) {
    struct err e = {0};
    static struct trace t;
    static const char text[] =
        "{\"traceEvents\": [\n"
        "  {\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"good one\", \"pid\": 1, \"tid\": 1, \"ts\": 1.5, "
        "\"dur\": 2},\n"
        "  {\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"a \"quoted\" word\", \"pid\": 1, \"tid\": 1, "
        "\"ts\": 9, \"dur\": 2},\n"
        "  {\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": no quotes at all here},\n"
        "  {\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"C:\\Users\\x\", \"pid\": 1, \"tid\": 1, \"ts\": "
        "20, \"dur\": 2, "
        "\"args\": {\"x\": N/A, \"y\": NaN, \"z\": Infinity, }},\n"
        "  {\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"cut\", \"pid\": 1, , \"ts\" 3},\n"
        "  {\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"pid\": 0, \"tid\": \"stream 7\", \"ts\": "
        "1e2, \"dur\": 0.25},\n"
        "  {\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"endless\", \"pid\": 0, \"tid\": 7, \"ts\": 1, "
        "\"dur\": 999999999999999},\n"
        "], \"record_shapes\": 1}";
    CHECK_EQ(trace_read_mem(&t, &e, text, sizeof text - 1, 0), 0);
    CHECK_EQ(t.n, 4);
    CHECK_EQ(t.lost, 2);
    CHECK_EQ(t.dropped, 1);
    CHECK(t.repaired > 0);
    CHECK_EQ(t.with_shapes, 1); /* the header after the events */
    CHECK_STR(trace_str(&t, t.ev[1].name), "a \"quoted\" word");
    CHECK_STR(trace_str(&t, t.ev[2].name), "C:\\Users\\x");
    CHECK_EQ(t.ev[3].t0 + t.base, 100000);
    CHECK_EQ(t.ev[3].dur, 250);
    trace_free(&t);
}

/* Found by the fuzzer: the reader looked for the key of the events, found the one that it could not read,
 * and so on without end. */
TEST(analyze_reads_on_where_the_key_of_the_events_is_broken) {
    static const struct {
        const char *head;
        uint32_t events;
    } cases[] = {{"{\"a\": 1, \"traceEvents\": , ", 2},         {"{\"traceEvents\":}", 2},
                 {"{\"traceEvents\":, \"traceEvents\": [", 2},  {"{\"traceEvents\" [", 0},
                 {"{\"traceEvents\" 7, \"traceEvents\": [", 0}, {"{,traceEvents \"traceEvents\"", 0}};
    for (size_t i = 0; i < RG_COUNT(cases); i++) {
        static struct trace t;
        struct err e = {0};
        char text[400];
        int n = snprintf(text, sizeof text,
                         "%s{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"a\", \"pid\": 1, \"tid\": 1, "
                         "\"ts\": 1, \"dur\": 2}, {\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", "
                         "\"pid\": 0, \"tid\": 7, \"ts\": 4, \"dur\": 2}]}",
                         cases[i].head);
        int rc = trace_read_mem(&t, &e, text, (size_t)n, 0);
        if (rc ? cases[i].events || e.code != RG_EPARSE : t.n != cases[i].events || !t.lost)
            FAIL("%s: %s, %u events, %llu lost", cases[i].head, rc ? e.msg : "read", rc ? 0 : t.n,
                 rc ? 0ull : (unsigned long long)t.lost);
        if (!rc) trace_free(&t);
    }
}

TEST(analyze_times_are_exact_nanoseconds) {
    struct err e = {0};
    static struct trace t;
    /* Epoch microseconds with a fraction that a double cannot hold. */
    static const char text[] = "[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":"
                               "1790857026000123.457,\"dur\":0.001},"
                               "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"b\",\"pid\":1,\"tid\":1,\"ts\":"
                               "1790857026000123.458,\"dur\":1},"
                               "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"c\",\"pid\":1,\"tid\":1,\"ts\":"
                               "\"1790857026000124.5\",\"dur\":1.5e3}]";
    CHECK_EQ(trace_read_mem(&t, &e, text, sizeof text - 1, 0), 0);
    CHECK_EQ(t.base, 1790857026000123457);
    CHECK_EQ(t.ev[0].dur, 1);
    CHECK_EQ(t.ev[1].t0, 1);
    CHECK_EQ(t.ev[2].t0, 1043);
    CHECK_EQ(t.ev[2].dur, 1500000);
    trace_free(&t);
}

TEST(analyze_reads_the_format_of_2021) {
    struct err e = {0};
    static struct trace t;
    static struct diag d;
    static const char text[] = "{\"schemaVersion\": 1, \"traceEvents\": ["
                               "{\"ph\":\"X\",\"cat\":\"Operator\",\"name\":\"ProfilerStep#5\",\"pid\":9,"
                               "\"tid\":\"9\",\"ts\":0,\"dur\":400,\"args\":{}},"
                               "{\"ph\":\"X\",\"cat\":\"Operator\",\"name\":\"aten::mm\",\"pid\":9,\"tid\":"
                               "\"9\",\"ts\":1,\"dur\":30,"
                               "\"args\":{\"Input dims\":[[64,64],[64,64]]}},"
                               "{\"ph\":\"X\",\"cat\":\"Runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":9,"
                               "\"tid\":\"9\",\"ts\":5,\"dur\":9,"
                               "\"args\":{\"correlation\":77,\"external id\":77}},"
                               "{\"ph\":\"X\",\"cat\":\"Kernel\",\"name\":\"volta_sgemm\",\"pid\":0,\"tid\":"
                               "\"stream 7\",\"ts\":20,\"dur\":100,"
                               "\"args\":{\"device\":0,\"stream\":7,\"correlation\":77}},"
                               "{\"ph\":\"X\",\"cat\":\"Memcpy\",\"name\":\"Memcpy HtoD (Pageable -> "
                               "Device)\",\"pid\":0,\"tid\":\"stream 7\","
                               "\"ts\":130,\"dur\":270,\"args\":{\"bytes\":1000}}]}";
    CHECK_EQ(trace_read_mem(&t, &e, text, sizeof text - 1, 0), 0);
    CHECK_EQ(diagnose(&d, &t, &e), 0);
    CHECK_EQ(d.steps.n, 1);
    CHECK_EQ(d.kernel_count, 1);
    CHECK_EQ(d.wall_ns, 380000);
    CHECK_EQ(d.budget[BUDGET_PAGEABLE], 270000);
    CHECK_STR(trace_str(&t, d.kernels.p[0].op), "aten::mm");
    diag_free(&d);
    trace_free(&t);
}

static void refused(const void *p, size_t n, const char *words) {
    struct err e = {0};
    static struct trace t;
    int rc = trace_read_mem(&t, &e, p, n, 0);
    if (!rc) FAIL("read without an error; expected one with \"%s\"", words);
    if (!strstr(e.msg, words)) FAIL("the error says \"%s\"; expected \"%s\" in it", e.msg, words);
}

TEST(analyze_refuses_what_it_cannot_read) {
    refused("", 0, "empty");
    refused("hello, world", 12, "not a trace");
    refused("SQLite format 3\0....", 20, "SQLite");
    refused("PK\3\4.............", 16, "zip");
    refused("{}", 2, "no trace events");
    refused("[]", 2, "no trace events");
    refused("{\"traceEvents\": [", 17, "before its first");
    refused("[{\"ph\":\"X\",\"name\":\"x\",\"ts\":1,\"dur\":1,\"pid\":1,\"tid\":1}]", 55,
            "neither of PyTorch");
    /* Two packets of Perfetto: 8 timestamp, 10 sequence, no slice. */
    refused("\x0a\x04\x40\x05\x50\x01\x0a\x04\x40\x06\x50\x01", 12, "Perfetto");
    refused("{\"rocprofiler-sdk-tool\": [{\"metadata\": {}}]}", 43, "rocprofv3");
    static char zeros[100000];
    refused(zeros, sizeof zeros, "zeros");
    refused("\x1f\x8b\x08\x00", 4, "cut short");
    /* pickles that name or call code */
    refused("\x80\x04"
            "cos\nsystem\n(S'true'\ntR.",
            24, "GLOBAL");
    refused("\x80\x04\x8c\x02os\x8c\x06system\x93.", 16, "STACK_GLOBAL");
    refused("\x80\x04)R.", 5, "REDUCE");
    refused("\x80\x04}.", 4, "no memory snapshot");
    refused("\x80\x04]", 3, "cut short");
    struct err e = {0};
    static struct trace t;
    CHECK(trace_read(&t, &e, "tests/traces/no-such-file.json") == RG_EIO);
    err_clear(&e);
    CHECK(trace_read(&t, &e, "tests/traces") != 0);
    CHECK(strstr(e.msg, "directory") != NULL);
}

TEST(analyze_stops_at_the_hole_of_a_sparse_file) {
    char path[] = "/tmp/ridge-sparse-XXXXXX";
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    static const char head[] =
        "{\"traceEvents\": [{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1,"
        "\"dur\":1},\n";
    CHECK_EQ(write(fd, head, sizeof head - 1), sizeof head - 1);
    CHECK_EQ(ftruncate(fd, 50000000000), 0);
    close(fd);
    struct err e = {0};
    static struct trace t;
    int rc = trace_read(&t, &e, path);
    unlink(path);
    CHECK_EQ(rc, 0);
    CHECK_EQ(t.n, 1);
    CHECK(t.truncated);
    CHECK(t.bytes_read < 100000000);
    trace_free(&t);
}

TEST(analyze_reads_a_ridge_profile_back) {
    struct err e = {0};
    struct arena a;
    struct event_list l;
    static struct trace t;
    static struct diag d;
    arena_init(&a, &e);
    event_reset();
    uint32_t k = event_name("E_256");
    uint64_t t0 = 1000000;
    for (int i = 0; i < 50; i++, t0 += 100000) {
        event_add(EVENT_LAUNCH, k, t0, t0 + 5000, i, 1);
        event_add(EVENT_KERNEL, k, t0 + 5000, t0 + 95000, 1 << 20, 1 << 22);
    }
    event_snapshot(&a, &l);
    char path[] = "/tmp/ridge-profile-XXXXXX";
    close(mkstemp(path));
    CHECK_EQ(event_save(&e, &a, path, &l), 0);
    CHECK_EQ(trace_read(&t, &e, path), 0);
    unlink(path);
    CHECK_EQ(t.format, TRACE_RIDGE);
    CHECK_EQ(t.n, 100);
    CHECK_EQ(diagnose(&d, &t, &e), 0);
    CHECK_EQ(d.kernel_count, 50);
    CHECK_EQ(d.wall_ns, 49 * 100000 + 95000);
    CHECK_EQ(d.budget[BUDGET_KERNELS], 50 * 90000);
    CHECK_EQ(d.budget[BUDGET_DISPATCH], 50 * 5000);
    CHECK_EQ(d.budget[BUDGET_USER], 49 * 5000);
    CHECK_EQ(budget_sum(&d), d.wall_ns);
    diag_free(&d);
    trace_free(&t);
    arena_free(&a);
}

/* A device that works by itself: kernels count first, then copies, then what the host does while it is idle. Counted by hand. */
TEST(analyze_device_rows) {
    struct err e = {0};
    struct arena a;
    struct event_list l;
    static struct trace t;
    static struct diag d;
    arena_init(&a, &e);
    event_reset();
    const uint64_t z = 1000000;
    uint32_t k = event_name("E_256"), info = event_name("exp net.0 a.c:7\t500\tmemory");
    event_add(EVENT_CALL, event_name("rg_jit_call"), z, z + 1000, 0, 0);
    event_add(EVENT_LAUNCH, event_name("graph"), z + 100, z + 200, 2, 5);
    event_add_row(EVENT_KERNEL, k, info, event_row(0, 13), 5, z + 300, z + 1300, 1 << 20, 1 << 22);
    event_add_row(EVENT_KERNEL, k, info, event_row(0, 13), 5, z + 1000, z + 1500, 1 << 20, 1 << 22);
    event_add_row(EVENT_COPY, event_name("copy from the GPU"), 0, event_row(0, 14), 0, z + 1400, z + 2000,
                  4096, 1);
    event_add(EVENT_CALL, event_name("rg_read"), z + 2500, z + 3000, 0, 0);
    event_add(EVENT_WAIT, event_name("CUDA"), z + 2600, z + 2900, 0, 0);
    event_add_row(EVENT_KERNEL, event_name("of another library"), 0, event_row(0, 13), 0, z + 2700, z + 2800,
                  0, 0);
    event_add(EVENT_COPY, event_name("CUDA"), z + 2950, z + 2980, 4096,
              1 + 4); /* the call that asked for it */
    event_add_info(EVENT_NOTE, event_name("all is well"), 0, z, z, 0, 0);
    event_snapshot(&a, &l);
    char path[] = "/tmp/ridge-profile-XXXXXX";
    close(mkstemp(path));
    CHECK_EQ(event_save(&e, &a, path, &l), 0);
    CHECK_EQ(trace_read(&t, &e, path), 0);
    unlink(path);
    CHECK_EQ(t.dropped, 0);
    CHECK_EQ(diagnose(&d, &t, &e), 0);
    CHECK_EQ(d.wall_ns, 3000);
    CHECK_EQ(d.kernel_count, 3);
    CHECK_EQ(d.budget[BUDGET_KERNELS], 1200 + 100);
    CHECK_EQ(d.budget[BUDGET_EXPOSED], 500 + 30);
    CHECK_EQ(d.budget[BUDGET_DISPATCH], 300 + 100 + 70);
    CHECK_EQ(d.budget[BUDGET_SYNC], 200);
    CHECK_EQ(d.budget[BUDGET_USER], 500);
    CHECK_EQ(budget_sum(&d), d.wall_ns);
    uint32_t linked = 0, stream13 = 0;
    for (uint32_t i = 0; i < t.n; i++) {
        const struct trace_lane *lane = &t.lanes.p[t.ev[i].lane];
        if (t.ev[i].kind == TK_KERNEL) linked += t.ev[i].link && t.ev[i].corr == 5;
        if (lane->async) stream13 += lane->stream == 13;
        if (lane->async) CHECK_EQ(lane->device, 0);
    }
    CHECK_EQ(linked, 2);
    CHECK_EQ(stream13, 3);
    CHECK_EQ(t.notes.n, 1);
    CHECK_STR(trace_str(&t, t.notes.p[0].what), "all is well");
    diag_free(&d);
    trace_free(&t);
    arena_free(&a);
}

TEST(analyze_an_event_is_small) {
    CHECK(sizeof(struct trace_event) + sizeof(uint32_t) <= 48);
    struct err e = {0};
    static struct trace t;
    /* The limit on events is kept, and told. */
    struct arena a;
    arena_init(&a, &e);
    size_t n;
    char *p = read_all(&a, &e, "tests/traces/overhead_small_kernels.pt.trace.json.gz", &n);
    CHECK_EQ(trace_read_mem(&t, &e, p, n, 1000), 0);
    CHECK_EQ(t.n, 1000);
    CHECK(t.capped && t.dropped > 0);
    trace_free(&t);
    arena_free(&a);
}

TEST(analyze_leaks_nothing_when_memory_runs_out) {
    for (int64_t nth = 1; nth < 60; nth++) {
        struct err e = {0};
        static struct trace t;
        static struct diag d;
        mem_fail_at(nth);
        int rc = trace_read(&t, &e, "tests/traces/transfer_pageable.pt.trace.json.gz");
        if (!rc) {
            rc = diagnose(&d, &t, &e);
            if (!rc) diag_free(&d);
            trace_free(&t);
        }
        mem_fail_at(-1);
        CHECK(rc == 0 || rc == RG_ENOMEM);
    }
}

TEST(analyze_a_trace_without_a_device) {
    struct err e = {0};
    static struct trace t;
    static struct diag d;
    static const char text[] = "[{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#1\","
                               "\"pid\":1,\"tid\":1,\"ts\":0,\"dur\":10000},"
                               "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":1,\"tid\":1,"
                               "\"ts\":1000,\"dur\":4000},"
                               "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"enumerate(DataLoader)#"
                               "x\",\"pid\":1,\"tid\":1,\"ts\":6000,\"dur\":3000}]";
    CHECK_EQ(trace_read_mem(&t, &e, text, sizeof text - 1, 0), 0);
    CHECK_EQ(diagnose(&d, &t, &e), 0);
    CHECK_EQ(d.wall_ns, 10000000);
    CHECK_EQ(budget_sum(&d), d.wall_ns);
    CHECK_EQ(d.budget[BUDGET_KERNELS], 4000000);
    CHECK_EQ(d.budget[BUDGET_LOADER], 3000000);
    CHECK_EQ(d.budget[BUDGET_USER], 3000000);
    bool told = false;
    for (uint32_t i = 0; i < d.capture.n; i++) told |= !strcmp(d.capture.p[i].id, "no_device");
    CHECK(told);
    diag_free(&d);
    trace_free(&t);
}

/* Found by the fuzzer: grids, blocks and shapes of any size, as a damaged file has them, overflow nothing. */
TEST(analyze_numbers_too_large_to_multiply) {
    struct err e = {0};
    static struct trace t;
    static struct diag d;
    static const char text[] =
        "{\"deviceProperties\": [{\"id\": 0, \"name\": \"NVIDIA H200\", \"computeMajor\": 9, "
        "\"computeMinor\": 0, "
        "\"maxThreadsPerMultiprocessor\": 2048, \"numSms\": 132, \"regsPerMultiprocessor\": 65536, "
        "\"sharedMemPerMultiprocessor\": 233472}], \"traceEvents\": ["
        "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::bmm\", \"pid\": 1, \"tid\": 1, \"ts\": 0, "
        "\"dur\": 9, "
        "\"args\": {\"External id\": 3, \"Input type\": [\"float\", \"float\"], "
        "\"Input Dims\": [[999999999999, 999999999999, 8], [999999999999, 8, 999999999999]]}},"
        "{\"ph\": \"X\", \"cat\": \"cuda_driver\", \"name\": \"cuLaunchKernelEx\", \"pid\": 1, \"tid\": 1, "
        "\"ts\": 2, \"dur\": 3, \"args\": {\"External id\": 3, \"correlation\": 5}},"
        "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"sm90_gemm_16x16_nn\", \"pid\": 0, \"tid\": 7, "
        "\"ts\": 6, \"dur\": 100, \"args\": {\"External id\": 3, \"correlation\": 5, \"registers per "
        "thread\": 32, "
        "\"shared memory\": 0, \"grid\": [4294967295, 4294967295, 4294967295], \"block\": [256, 1, 1]}}]}";
    CHECK_EQ(trace_read_mem(&t, &e, text, sizeof text - 1, 0), 0);
    CHECK_EQ(diagnose(&d, &t, &e), 0);
    CHECK_EQ(d.kernels.n, 1);
    CHECK(d.kernels.p[0].m > 0 && d.kernels.p[0].has_occ);
    CHECK_NEAR(d.kernels.p[0].occ.waves, (double)((int64_t)1 << 40) / (8 * 132), 1);
    diag_free(&d);
    trace_free(&t);
}

/* Thirty rounds of one small kernel and an .item(): most of the idle time is the wait and its copy. */
TEST(analyze_item_in_a_loop_is_a_sync) {
    struct err e = {0};
    struct arena a;
    static struct trace t;
    static struct diag d;
    struct str s;
    arena_init(&a, &e);
    str_init(&s, &a);
    str_addc(&s, '[');
    for (int i = 0; i < 30; i++) {
        int t0 = i * 100;
        str_printf(&s,
                   "%s{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mul\",\"pid\":1,\"tid\":1,\"ts\":%d,"
                   "\"dur\":12},"
                   "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,"
                   "\"ts\":%d,\"dur\":5,\"args\":{\"correlation\":%d}},"
                   "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":%d,\"dur\":3,"
                   "\"args\":{\"correlation\":%d}},"
                   "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::item\",\"pid\":1,\"tid\":1,\"ts\":%d,"
                   "\"dur\":70},"
                   "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaMemcpyAsync\",\"pid\":1,\"tid\":1,"
                   "\"ts\":%d,\"dur\":20,\"args\":{\"correlation\":%d}},"
                   "{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"Memcpy DtoH (Device -> "
                   "Pageable)\",\"pid\":0,\"tid\":7,\"ts\":%d,\"dur\":2,"
                   "\"args\":{\"correlation\":%d,\"bytes\":4}},"
                   "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaStreamSynchronize\",\"pid\":1,"
                   "\"tid\":1,\"ts\":%d,\"dur\":30,\"args\":{\"correlation\":%d}}",
                   i ? "," : "", t0, t0 + 5, 3 * i + 1, t0 + 13, 3 * i + 1, t0 + 20, t0 + 25, 3 * i + 2,
                   t0 + 40, 3 * i + 2, t0 + 55, 3 * i + 3);
    }
    str_addc(&s, ']');
    CHECK_EQ(trace_read_mem(&t, &e, s.p, s.n, 0), 0);
    CHECK_EQ(diagnose(&d, &t, &e), 0);
    CHECK(!d.healthy);
    CHECK_STR(cause_text(d.verdict), "sync");
    CHECK_EQ(budget_sum(&d), d.wall_ns);
    diag_free(&d);
    trace_free(&t);
    arena_free(&a);
}
