/* Tests of `ridge kernels`: kernels of one code are one, whichever lines asked for them; what is known of each is said. */
#include "event/event.h"
#include "recorded.h"
#include "report/report.h"

#include <ridge.h>
#include <test.h>

#include <stdlib.h>
#include <unistd.h>

static struct err err;
static struct arena arena;
static struct trace t;
static struct diag d;

static void load(void) {
    arena_init(&arena, &err);
    diagnose_recorded(&arena, &t, &d);
}

static void forget(void) { forget_recorded(&arena, &t, &d); }

/* Two calls of one code from two lines, one of another code of the same name, one of which nothing is known. */
static void fill(void) {
    uint32_t graph = event_name("kernel r_8\n(SINK x)"),
             source = event_name("void r_8(void) { /* first */ }");
    char a[200], b[200], other[200];
    snprintf(a, sizeof a,
             "sum net.1 a.c:7\t2000\tmemory\tf32(8)\tabcd0123\t4000\t%u\t%u\tissued=16 f32=400 "
             "none=1500 registers=40 spills=2\tTILE(i,4,u) "
             "REG(u)",
             graph, source);
    snprintf(b, sizeof b,
             "max a.c:9 (backward)\t2000\tmemory\tf32(8)\tabcd0123\t4000\t%u\t%u\tissued=16 f32=400 "
             "l2=1500\tTILE(i,4,u) REG(u)",
             graph, source);
    snprintf(other, sizeof other, "sum a.c:7\t100\tcompute\t\tbeef\t0\t0\t4294967295\t\t");
    event_reset();
    event_add(EVENT_RANGE, graph, 0, 0, 0, 0); /* so that the texts are in the file */
    event_add(EVENT_RANGE, source, 0, 0, 0, 0);
    event_add_info(EVENT_KERNEL, event_name("r_8"), event_name(a), 1000, 11000, 8000, 64000);
    event_add_info(EVENT_KERNEL, event_name("r_8"), event_name(b), 20000, 26000, 8000, 64000);
    event_add_info(EVENT_KERNEL, event_name("r_8"), event_name(other), 30000, 30500, 10, 20);
    event_add(EVENT_KERNEL, event_name("E_1"), 40000, 40100, 1, 1);
    load();
}

static void has(const char *text, const char *words) {
    if (!strstr(text, words)) FAIL("'%s' is not in\n%s", words, text);
}

TEST(kernels_of_one_code_are_one) {
    struct kernel_sum *k;
    fill();
    CHECK_EQ(diag_kernels(&d, &k), 3);
    CHECK_STR(trace_str(&t, k[0].key), "abcd0123");
    CHECK_EQ(k[0].calls, 2);
    CHECK_EQ(k[0].ns, 16000);
    CHECK_EQ(k[0].min_ns, 6000);
    CHECK_EQ(k[0].max_ns, 10000);
    CHECK_EQ(k[0].rows.n, 2);
    CHECK(k[0].predicted_ns == 8000 && k[0].predicted_of == 16000 && k[0].roof_ns == 4000);
    CHECK_STR(trace_str(&t, k[0].opts), "TILE(i,4,u) REG(u)");
    CHECK_STR(trace_str(&t, k[0].graph), "kernel r_8\n(SINK x)");
    CHECK_STR(trace_str(&t, k[0].source), "void r_8(void) { /* first */ }");
    CHECK_EQ(k[1].ns, 500);
    CHECK_STR(trace_str(&t, k[1].graph), ""); /* a number that stands for nothing */
    CHECK_STR(trace_str(&t, k[1].source), "");
    CHECK_EQ(k[2].key, 0);
    struct str s;
    str_init(&s, &arena);
    report_kernel(&s, &d, &k[0]);
    has(s.p, "measured  8.00 us each, 2 calls (least 6.00, most 10.00)");
    has(s.p, "predicted 4.00 us by the planner: measured is 2.00 times that");
    has(s.p, "roof      2.00 us by the machine model, set by memory: 25% of it reached");
    has(s.p, "work      0.008 MFLOP, 0.064 MB: 1.00 GFLOPS, 8.00 GB/s");
    has(s.p, "units     f32 0.40 us\n");
    has(s.p, "registers 40 of a thread, 2 instructions for what did not fit\n");
    has(s.p, "stores    f32(8)\n");
    has(s.p, "a.c:7, sum in net.1: x1, 10.00 us each");
    has(s.p, "a.c:9, max, backward: x1, 6.00 us each");
    str_init(&s, &arena);
    report_kernels(&s, &d, 1);
    has(s.p, " 96.4%        2        0.016        8.00     2.00x     25% memory");
    has(s.p, "2 more: --rows 3");
    str_init(&s, &arena);
    report_kernels_json(&s, &d, 1);
    has(s.p, "\"graph\":\"kernel r_8\\u000a(SINK x)\"");
    has(s.p, "\"lines\":[[\"a.c:7\",\"sum\",\"net.1\",1,10000],[\"a.c:9\",\"max\",\"\",1,6000]]");
    forget();
}

static rg_tensor rows(rg_ctx *c) {
    static const float x[64 * 64];
    return rg_sum(rg_exp(rg_from(c, RG_F32, x, RG_SHAPE(64, 64))), RG_AXES(1));
}

/* A plan that was made before the recording, and in a second recording. */
TEST(kernels_of_a_recorded_program_are_whole) {
    char path[64];
    struct kernel_sum *k;
    static float y[64];
    snprintf(path, sizeof path, "/tmp/ridge-kernels-%d", (int)getpid());
    rg_ctx *c = rg_open("CPU");
    CHECK_EQ(rg_read(rows(c), y, sizeof y), RG_OK);
    for (int round = 0; round < 2; round++) {
        CHECK_EQ(rg_profile_start(c, path), RG_OK);
        CHECK_EQ(rg_read(rows(c), y, sizeof y), RG_OK);
        CHECK_EQ(rg_profile_stop(c), RG_OK);
        if (trace_read(&t, &err, path) || diagnose(&d, &t, &err)) FAIL("%s", err.msg);
        CHECK_EQ(diag_kernels(&d, &k), 1);
        CHECK_STR(trace_str(&t, k[0].name), "r_64_64");
        char opts[400];
        snprintf(opts, sizeof opts, "kernel r_64_64\nopts %.300s\n", trace_str(&t, k[0].opts));
        has(trace_str(&t, k[0].graph), opts);
        has(trace_str(&t, k[0].graph), "(EXP");
        has(trace_str(&t, k[0].source), "void r_64_64(");
        CHECK(k[0].predicted_ns > 0 && k[0].roof_ns > 0);
        diag_free(&d);
        trace_free(&t);
    }
    unlink(path);
    CHECK_EQ(rg_close(c), RG_OK);
}

/* A recording while kernels are searched for: what stands in it is what won, as a later program finds it. */
TEST_SLOW(kernels_of_a_search_are_recorded_as_they_won, 300) {
    char path[64], dir[] = "/tmp/ridge-kernels-XXXXXX", key[2][80], opts[2][800];
    static float x[192 * 192];
    struct kernel_sum *k;
    CHECK(mkdtemp(dir) != NULL);
    setenv("RIDGE_CACHE_DIR", dir, 1);
    snprintf(path, sizeof path, "%s.profile", dir);
    for (int again = 0; again < 2; again++) {
        setenv("RIDGE_BEAM", again ? "0" : "2", 1);
        env_reload();
        rg_ctx *c = rg_open("CPU");
        rg_tensor a = rg_from(c, RG_F32, x, RG_SHAPE(192, 192));
        CHECK_EQ(rg_profile_start(c, path), RG_OK);
        rg_realize(rg_matmul(a, a));
        CHECK_EQ(rg_profile_stop(c), RG_OK);
        CHECK_EQ(rg_close(c), RG_OK);
        if (trace_read(&t, &err, path) || diagnose(&d, &t, &err)) FAIL("%s", err.msg);
        CHECK_EQ(diag_kernels(&d, &k), 1);
        snprintf(key[again], sizeof key[0], "%s", trace_str(&t, k[0].key));
        snprintf(opts[again], sizeof opts[0], "%s", trace_str(&t, k[0].opts));
        has(trace_str(&t, k[0].graph), opts[again]);
        diag_free(&d);
        trace_free(&t);
    }
    CHECK_EQ(strlen(key[0]), 64);
    CHECK_STR(key[0], key[1]);
    CHECK_STR(opts[0], opts[1]);
    unlink(path);
    os_remove_tree(dir);
}
