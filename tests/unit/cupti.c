/* Tests of src/device/cuda/cupti.c that need no GPU: one library pretends to be the driver, another CUPTI (tests/fake), and
 * writes records of what the first one is asked to run. What they say must come out of the profile: names, times on the
 * host's clock, streams, launches; and whatever CUPTI does, the program runs on. */
#include "cuda.h"
#include "analyze/analyze.h"
#include "base/base.h"
#include "event/event.h"
#include "fake/beside.h"
#include "fake/fake.h"
#include "report/report.h"

#include <ridge.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <test.h>
#include <time.h>
#include <unistd.h>

static struct err err;
static struct fake *driver;
static struct fake_cupti *cupti;
static char file[64];

static rg_ctx *open_with(const char *name) {
    char path[600];
    void *lib = beside("/fake/libcuda.so", path);
    setenv("RIDGE_CUDA", path, 1), setenv("RIDGE_NVRTC", path, 1), setenv("RIDGE_CACHE", "0", 1);
    driver = os_dlsym(lib, "fake_state");
    lib = beside(name, path);
    setenv("RIDGE_CUPTI", path, 1), setenv("RIDGE_MULTI", "0", 1);
    env_reload();
    cupti = os_dlsym(lib, "fake_cupti");
    *(struct fake **)os_dlsym(lib, "fake_driver") = driver;
    strcpy(file, "/tmp/ridge-cupti-XXXXXX");
    close(mkstemp(file));
    rg_ctx *c = rg_open("CUDA");
    if (rg_status_of(c)) FAIL("%s", rg_error(c));
    return c;
}

/* Five kernels: one, two that need it, one that needs both, and a function of the device's that is several. */
static rg_status step(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)user;
    rg_tensor a = rg_contiguous(rg_add(in[0], 1)), b = rg_contiguous(rg_exp(a)),
              d = rg_contiguous(rg_sqrt(a));
    out[0] = rg_sort(rg_contiguous(rg_add(b, d)), 0);
    return RG_OK;
}
enum { UNITS = 5 }; /* launches of a step */

static struct trace t;

static void read_back(void) {
    memset(&t, 0, sizeof t);
    if (trace_read(&t, &err, file)) FAIL("%s", err.msg);
}

static uint32_t count(int kind, bool apart) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < t.n; i++) n += t.ev[i].kind == kind && t.lanes.p[t.ev[i].lane].async == apart;
    return n;
}

static rg_jit *jit;

/* Runs the step: `before` times without a recording, `times` with. */
static void run_steps(rg_ctx *c, int before, int times) {
    static rg_tensor in, out;
    enum { N = 4200 }; /* a sort of few elements is one kernel */
    static float x[N], y[N];
    for (int i = 0; i < N; i++) x[i] = (float)i;
    if (!jit) in = rg_from(c, RG_F32, x, RG_SHAPE(N)), jit = rg_jit_new(c, step, NULL, 1);
    for (int i = 0; i < before; i++)
        if (rg_jit_call(jit, (rg_tensors){&in, 1}, &out)) FAIL("%s", rg_error(c));
    if (rg_profile_start(c, file)) FAIL("%s", rg_error(c));
    for (int i = 0; i < times; i++)
        if (rg_jit_call(jit, (rg_tensors){&in, 1}, &out)) FAIL("%s", rg_error(c));
    CHECK(!rg_read(out, y, sizeof y));
    if (rg_profile_stop(c)) FAIL("%s", rg_error(c));
    read_back();
}

static void done(rg_ctx *c) {
    trace_free(&t);
    rg_close(c);
    CHECK_EQ(cupti->subscribers, 0);
    CHECK_EQ(cupti->enabled, 0);
    CHECK_EQ(cupti->buffers, 0);
    CHECK_EQ(driver->graphs, 0);
    unlink(file);
}

/* The clock of records is another than ours. */
static int64_t between_clocks(void) {
    struct timespec r;
    clock_gettime(CLOCK_REALTIME, &r);
    return (int64_t)r.tv_sec * 1000000000 + r.tv_nsec - (int64_t)os_now_ns();
}

/* Each kernel that is no part of a function is at its time, under its name, on the stream that it was started on: the driver runs
 * branches of a graph on others. */
static uint32_t check_kernels(void) {
    uint32_t found = 0;
    int64_t apart = between_clocks();
    for (uint32_t i = 0; i < t.n; i++) {
        const struct trace_event *e = &t.ev[i];
        const struct trace_lane *l = &t.lanes.p[e->lane];
        if (e->kind != TK_KERNEL) continue;
        CHECK(l->async && l->device == 0);
        for (uint32_t k = 0; k < cupti->kernels; k++) {
            const char *name = trace_str(&t, e->name);
            int64_t late = e->t0 + t.base + apart - (int64_t)cupti->ran[k].t0;
            if (late < -200000 || late > 200000 || strncmp(cupti->ran[k].name, name, strlen(name))) continue;
            if (l->stream != 13 || e->dur != 1000) continue;
            found++;
            break;
        }
    }
    return found;
}

TEST(cupti_times_of_replayed_graphs) {
    rg_ctx *c = open_with("/fake/libcupti.so");
    run_steps(c, 3, 4); /* the graph was made ready before */
    CHECK_EQ(driver->replays, 2 + 4);
    rg_jit_stats st;
    CHECK(!rg_jit_info(jit, &st));
    CHECK_EQ(st.kernels, UNITS);
    CHECK_EQ(count(TK_KERNEL, true), 4 * UNITS); /* a function of several kernels counts as one */
    CHECK_EQ(count(TK_KERNEL, false), 0);
    CHECK(cupti->kernels > 4 * UNITS);
    CHECK_EQ(cupti->ran[1].stream, 15);
    CHECK_EQ(check_kernels(), 4 * (UNITS - 1));
    CHECK_EQ(count(TK_LAUNCH, false), 4);
    for (uint32_t i = 0; i < t.n; i++) { /* every kernel has its launch, its call and its line */
        const struct trace_event *e = &t.ev[i];
        if (e->kind != TK_KERNEL) continue;
        CHECK(e->link && t.ev[e->link - 1].kind == TK_LAUNCH);
        CHECK(e->aux && !strcmp(trace_str(&t, t.ev[e->aux - 1].name), "rg_jit_call"));
        const struct trace_kernel_args *a = trace_blob(&t, e->args, sizeof *a);
        CHECK(a && a->where && strstr(trace_str(&t, a->where), "cupti.c:"));
        CHECK(a->bytes > 0);
    }
    CHECK_EQ(count(TK_COPY, true), 1); /* the read; the host's side of it is a call */
    CHECK_EQ(t.notes.n, 1);
    CHECK(!t.notes.p[0].todo && strstr(trace_str(&t, t.notes.p[0].what), "CUPTI (version 130001)"));
    done(c);
}

TEST(cupti_times_of_launches) {
    setenv("RIDGE_RECORD", "0", 1);
    rg_ctx *c = open_with("/fake/libcupti.so");
    run_steps(c, 1, 3);
    CHECK_EQ(driver->replays, 0);
    CHECK_EQ(count(TK_KERNEL, true), 3 * UNITS);
    CHECK_EQ(count(TK_LAUNCH, false), 3 * UNITS);
    CHECK_EQ(check_kernels(), 3 * (UNITS - 1));
    done(c);
}

/* Nothing is waited for but what is read; the recording may go on and off. */
TEST(cupti_on_and_off) {
    rg_ctx *c = open_with("/fake/libcupti.so");
    float x[64] = {1};
    rg_tensor in = rg_from(c, RG_F32, x, RG_SHAPE(64)), out;
    rg_jit *j = rg_jit_new(c, step, NULL, 1);
    CHECK(!rg_profile_start(c, file, .wait = 2, .warmup = 1, .active = 2));
    for (int i = 0; i < 11; i++) { /* 2, 1, 2; 2, 1, 2; 1 */
        CHECK(!rg_jit_call(j, (rg_tensors){&in, 1}, &out));
        CHECK_EQ(cupti->subscribers, i % 5 >= 2 && i < 10);
        CHECK(!rg_profile_step(c));
    }
    CHECK(!rg_profile_stop(c));
    read_back();
    CHECK_EQ(count(TK_KERNEL, true), 4 * UNITS);
    done(c);
}

/* ---- what may be wrong ------------------------------------------------------------------------------------------- */

/* The present way: each kernel is waited for, and it is said why. */
static void check_one_by_one(const char *why) {
    CHECK_EQ(count(TK_KERNEL, false), 2 * UNITS);
    CHECK_EQ(count(TK_KERNEL, true), 0);
    CHECK_EQ(t.notes.n, 1);
    CHECK(t.notes.p[0].todo);
    CHECK(strstr(trace_str(&t, t.notes.p[0].what), "timed one by one"));
    if (!strstr(trace_str(&t, t.notes.p[0].what), why))
        FAIL("%s\n  expected %s", trace_str(&t, t.notes.p[0].what), why);
    struct diag d;
    struct arena a;
    struct str s;
    arena_init(&a, &err);
    str_init(&s, &a);
    CHECK(!diagnose(&d, &t, &err));
    report_text(&s, &d, file);
    CHECK(strstr(s.p, "CAPTURE  ") && strstr(s.p, "timed one by one"));
    diag_free(&d);
    arena_free(&a);
}

TEST(cupti_that_is_not_there) {
    rg_ctx *c = open_with("/fake/libcupti.so");
    setenv("RIDGE_CUPTI", "/nowhere/libcupti.so", 1), env_reload();
    run_steps(c, 1, 2);
    check_one_by_one("RIDGE_CUPTI names no library that loads");
    trace_free(&t);
    setenv("RIDGE_CUPTI", "0", 1), env_reload();
    run_steps(c, 0, 2);
    check_one_by_one("RIDGE_CUPTI is 0");
    done(c);
}

TEST(cupti_without_a_function) {
    rg_ctx *c = open_with("/fake/libcupti_old.so");
    run_steps(c, 1, 2);
    check_one_by_one("has no function cuptiGetGraphNodeId");
    done(c);
}

TEST(cupti_of_another_version) {
    static const uint32_t version[] = {14, 12040, 140000, 0};
    rg_ctx *c = open_with("/fake/libcupti.so");
    for (size_t i = 0; i < RG_COUNT(version); i++) {
        char why[40];
        cupti->version = version[i];
        run_steps(c, i == 0, 2);
        snprintf(why, sizeof why, "has version %u; known are", version[i]);
        check_one_by_one(why);
        trace_free(&t);
    }
    cupti->version = 28; /* CUDA 12.9 */
    run_steps(c, 0, 2);
    CHECK_EQ(count(TK_KERNEL, true), 2 * UNITS);
    done(c);
}

/* nsys, for one, has it already. */
TEST(cupti_that_refuses) {
    static const char *const fn[] = {"cuptiSubscribe", "cuptiEnableCallback",
                                     "cuptiActivityRegisterCallbacks", "cuptiActivityEnable"};
    rg_ctx *c = open_with("/fake/libcupti.so");
    for (size_t i = 0; i < RG_COUNT(fn); i++) {
        cupti->fail = fn[i];
        run_steps(c, i == 0, 2);
        check_one_by_one("CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED (39)");
        CHECK_EQ(cupti->subscribers, 0);
        trace_free(&t);
    }
    cupti->fail = NULL;
    run_steps(c, 0, 2);
    CHECK_EQ(count(TK_KERNEL, true), 2 * UNITS);
    done(c);
}

static uint32_t lost_noted(void) {
    unsigned n = 0;
    for (uint32_t i = 0; i < t.notes.n; i++)
        if (t.notes.p[i].todo) sscanf(trace_str(&t, t.notes.p[i].what), "CUPTI lost the times of %u", &n);
    return n;
}

TEST(cupti_drops_records) {
    rg_ctx *c = open_with("/fake/libcupti.so");
    cupti->drops = 17;
    run_steps(c, 1, 2);
    CHECK_EQ(count(TK_KERNEL, true), 2 * UNITS);
    CHECK_EQ(lost_noted(), 17);
    done(c);
}

/* The last record is the copy of the read, 96 bytes, of which 72 are read; the one before a kernel, 216, of which
 * 160 are. A record that is gone as a whole is missed only if it was a kernel's. */
TEST(cupti_cuts_a_buffer) {
    static const int cut[] = {1, 24, 25, 90, 95, 96 + 1, 96 + 57, 96 + 200};
    rg_ctx *c = open_with("/fake/libcupti.so");
    for (size_t i = 0; i < RG_COUNT(cut); i++) {
        cupti->cut = cut[i];
        run_steps(c, i ? 0 : 3, 2);
        CHECK_EQ(count(TK_COPY, true), cut[i] <= 24);
        CHECK_EQ(lost_noted(), cut[i] <= 24 ? 0 : cut[i] < 96 ? 1 : cut[i] <= 96 + 56 ? 0 : 1);
        CHECK_EQ(count(TK_KERNEL, true), 2 * UNITS - (cut[i] > 96 + 56));
        trace_free(&t);
    }
    read_back();
    done(c);
}

TEST(cupti_says_nonsense) {
    rg_ctx *c = open_with("/fake/libcupti.so");
    cupti->odd = 1;
    run_steps(c, 1, 2);
    CHECK_EQ(count(TK_KERNEL, true), 2 * UNITS);
    CHECK_EQ(lost_noted(), 2 * cupti->kernels);
    done(c);
}

/* Kernels of a graph whose nodes are not known have the names that their code has, and their launch. */
TEST(cupti_does_not_say_nodes) {
    rg_ctx *c = open_with("/fake/libcupti.so");
    cupti->silent = 1;
    run_steps(c, 3, 2);
    CHECK_EQ(count(TK_KERNEL, true), cupti->kernels);
    for (uint32_t i = 0; i < t.n; i++)
        if (t.ev[i].kind == TK_KERNEL) CHECK(t.ev[i].link && t.ev[t.ev[i].link - 1].kind == TK_LAUNCH);
    CHECK_EQ(lost_noted(), 0);
    done(c);
}

/* The time to write a kernel's times is measured when recording begins, by kernels that are in no recording. */
TEST(cupti_cost_of_a_record_is_measured) {
    setenv("RIDGE_RECORD", "0", 1);
    rg_ctx *c = open_with("/fake/libcupti.so");
    driver->pair = 0.064f, driver->record = 0.0015f;
    run_steps(c, 1, 3);
    CHECK(driver->delays > 0);
    CHECK(t.kernel_record_ns >= 1499 && t.kernel_record_ns <= 1501); /* a float of milliseconds */
    CHECK_EQ(t.notes.n, 1);
    CHECK_EQ(count(TK_KERNEL, true), 3 * UNITS);
    CHECK_EQ(lost_noted(), 0);
    driver->pair = driver->record = 0;
    done(c);
}

/* A launch that fails leaves nothing behind. */
TEST(cupti_and_a_launch_that_fails) {
    rg_ctx *c = open_with("/fake/libcupti.so");
    float x[64] = {1};
    rg_tensor in = rg_from(c, RG_F32, x, RG_SHAPE(64));
    CHECK(!rg_profile_start(c, file));
    rg_tensor before = rg_mul(in, 2);
    CHECK(!rg_realize(before)); /* CUPTI is on */
    driver->fail = "cuLaunchKernel", driver->after = 1, driver->code = 1;
    CHECK(rg_realize(rg_contiguous(rg_exp(rg_contiguous(rg_add(in, 1))))));
    driver->fail = NULL;
    rg_clear_error(c);
    CHECK(!rg_profile_stop(c));
    read_back();
    CHECK_EQ(count(TK_KERNEL, true), 2);
    CHECK_EQ(lost_noted(), 0);
    done(c);
}

/* A child that ends by exit() takes nothing down: what it inherited is the parent's. */
TEST(cupti_and_a_forked_child) {
    rg_ctx *c = open_with("/fake/libcupti.so");
    float x[8] = {1};
    int status = 1;
    rg_tensor in = rg_from(c, RG_F32, x, RG_SHAPE(8));
    CHECK(!rg_profile_start(c, file));
    CHECK(!rg_realize(rg_exp(in)));
    pid_t child = fork();
    if (!child) exit(cupti->subscribers != 1);
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status));
    CHECK(!rg_realize(rg_sqrt(in)));
    CHECK(!rg_profile_stop(c));
    read_back();
    CHECK_EQ(count(TK_KERNEL, true), 2);
    done(c);
}

/* Streams are rows of the trace; what overlaps is on rows of its own, so that slices nest. */
TEST(cupti_rows_of_the_trace) {
    rg_ctx *c = open_with("/fake/libcupti.so");
    char out[80];
    struct arena a;
    struct diag d;
    char *text;
    size_t n;
    arena_init(&a, &err);
    run_steps(c, 3, 3);
    CHECK(!diagnose(&d, &t, &err));
    snprintf(out, sizeof out, "%s.json", file);
    CHECK(!report_export(&err, &d, EXPORT_TRACE, out, NULL));
    CHECK(!os_read_file(&err, &a, out, (size_t)1 << 24, &text, &n));
    CHECK(strstr(text, "\"GPU 0 stream 13\""));
    CHECK(strstr(text, "\"GPU 0 stream 13, beside 1\""));
    CHECK(!strstr(text, "stream 15"));
    CHECK(strstr(text, "\"stream\":13,\"correlation\":"));
    int64_t sum = 0; /* the budget is of the GPU: two overlapping kernels are one time */
    for (int k = 0; k < BUDGET_KEYS; k++) sum += d.budget[k];
    CHECK_EQ(sum, d.wall_ns);
    int64_t all = 0;
    for (uint32_t i = 0; i < t.n; i++) all += t.ev[i].kind == TK_KERNEL ? t.ev[i].dur : 0;
    CHECK(d.budget[BUDGET_KERNELS] > 0 && d.budget[BUDGET_KERNELS] < all);
    diag_free(&d);
    arena_free(&a);
    unlink(out);
    done(c);
}

/* ---- the real one: make test-gpu -------------------------------------------------------------------------------------- */

TEST_MANUAL(cuda_gpu_profile_of_graphs, 60) {
    enum { STEPS = 6 };
    rg_ctx *c = cuda_open();
    strcpy(file, "/tmp/ridge-cupti-XXXXXX");
    close(mkstemp(file));
    run_steps(c, 3, STEPS);
    if (t.notes.n && t.notes.p[0].todo) SKIP("%s", trace_str(&t, t.notes.p[0].what));
    rg_jit_stats st;
    int64_t to = 0;
    CHECK(!rg_jit_info(jit, &st));
    CHECK_EQ(count(TK_KERNEL, true), STEPS * st.kernels);
    CHECK_EQ(count(TK_KERNEL, false), 0);
    CHECK_EQ(count(TK_LAUNCH, false), STEPS);
    CHECK_EQ(lost_noted(), 0);
    for (uint32_t i = 0; i < t.n; i++)
        if (t.ev[i].kind == TK_SYNC) to = RG_MAX(to, trace_end(&t.ev[i]));
    for (uint32_t i = 0; i < t.n; i++) {
        const struct trace_event *e = &t.ev[i];
        if (e->kind != TK_KERNEL) continue;
        const struct trace_kernel_args *a = trace_blob(&t, e->args, sizeof *a);
        CHECK(a && a->where && strstr(trace_str(&t, a->where), "cupti.c:"));
        CHECK(e->link && t.ev[e->link - 1].kind == TK_LAUNCH);
        /* it runs after it was asked for and before the wait for it ends, by clocks that agree to a
         * millisecond at worst; how long it takes depends on who else has the GPU */
        CHECK(e->t0 > t.ev[e->link - 1].t0 - 1000000 && trace_end(e) < to + 1000000);
        CHECK(e->dur > 300);
    }
    struct diag d;
    CHECK(!diagnose(&d, &t, &err));
    int64_t sum = 0;
    for (int k = 0; k < BUDGET_KEYS; k++) sum += d.budget[k];
    CHECK_EQ(sum, d.wall_ns);
    CHECK(d.budget[BUDGET_KERNELS] > 0);
    diag_free(&d);
    trace_free(&t);
    rg_close(c);
    unlink(file);
}
