/* Tests of src/analyze/phases.c on made-up recordings: a program that loads, compiles, trains, loads again and evaluates. Start-up
 * and steps are apart, training and evaluation too, the verdict is that of the steps, and everything sums. */
#include "event/event.h"
#include "recorded.h"
#include "report/report.h"

#include <test.h>

#include <unistd.h>

static struct trace traces[2];
static struct diag diags[2];
static int at; /* which recording */
#define t traces[at]
#define d diags[at]
static struct err err;
static struct arena arena;
static uint64_t now;

static void begin(void) {
    arena_init(&arena, &err);
    event_reset();
    now = 1000;
    event_add(EVENT_RECORD, 0, now, now, 1, 0);
    event_add(EVENT_ALLOC, event_name("CPU"), now, now, 64, 64);
}

static void end(void) {
    event_add(EVENT_RECORD, 0, now, now, 0, (int64_t)now);
    diagnose_recorded(&arena, &t, &d);
}

static void forget(void) { forget_recorded(&arena, &t, &d); }

/* A call of the user at `line` that runs `plan`: how 0 plans and compiles before the kernel, 2 replays. In us. */
static void run(const char *line, const char *plan, int how, uint64_t compile, uint64_t kernel,
                uint64_t user) {
    uint64_t t0 = now;
    if (compile) event_add(EVENT_COMPILE, event_name("cc"), t0, t0 + compile * 1000, 1, 1);
    uint64_t k0 = t0 + compile * 1000, k1 = k0 + kernel * 1000;
    event_add_info(
        EVENT_KERNEL, event_name(plan),
        event_name("matmul net.0 m.c:5\t500000\tcompute\t\tk\t0\t0\t0\tissued=9 moved=9 lines=9 f32=500000 "
                   "vector=500000\t"),
        k0, k1, 1000, 10);
    event_add_info(EVENT_RUN, event_name("CPU"), event_name(plan), t0, k1, 1, how);
    event_add_info(EVENT_CALL, event_name("rg_jit_call"), event_name(line), t0, k1, 0, 0);
    now = k1 + user * 1000;
}

static int64_t sum(const int64_t *budget) {
    int64_t ns = 0;
    for (int k = 0; k < BUDGET_KEYS; k++) ns += budget[k];
    return ns;
}

/* Training compiles, then takes `us` a step; evaluation of a test set that is loaded before it. */
static void train_and_test(uint64_t compile, uint64_t us) {
    begin();
    run("m.c:92", "train", 0, compile, us, 20);
    for (int i = 0; i < 40; i++) run("m.c:92", "train", 2, 0, us, 20);
    now += 50000000; /* loads the test set */
    run("m.c:125", "test", 0, 300000, 400, 10);
    for (int i = 0; i < 19; i++) run("m.c:125", "test", 2, 0, 400, 10);
    end();
}

/* Two recordings of which one compiles longer and has slower steps: both are said, apart. */
TEST(phases_are_apart_in_a_diff) {
    at = 0, train_and_test(900000, 1000);
    arena_free(&arena);
    at = 1, train_and_test(100000, 1500);
    struct diff f;
    diag_diff(&arena, &diags[0], &diags[1], &(struct diff_how){.by = GROUP_KERNEL}, &f);
    struct str s, j;
    str_init(&s, &arena);
    str_init(&j, &arena);
    report_diff(&s, &f, (const char *const[]){"a", "b"}, 9);
    report_diff_json(&j, &f, (const char *const[]){"a", "b"});
    CHECK(strstr(s.p, "STEPS  at m.c:92: 1.020 -> 1.520 ms (+49.0%), medians of 40 and 40"));
    CHECK(strstr(s.p, "STEPS  at m.c:125: 0.410 -> 0.410 ms (+0.0%), medians of 19 and 19"));
    CHECK_EQ(diags[0].startup.wall_ns - diags[1].startup.wall_ns, 800000000 - 500000);
    CHECK(strstr(s.p, "START-UP  ") && strstr(j.p, "\"startup_ns\":["));
    diag_free(&diags[0]);
    trace_free(&traces[0]);
    forget();
    at = 0;
}

TEST(phases_training_and_evaluation) {
    train_and_test(900000, 1000);
    CHECK_EQ(d.residual, 0);
    CHECK_EQ(d.phases.n, 2);
    CHECK_EQ(d.phases.p[0].steps, 40);
    CHECK_EQ(d.phases.p[1].steps, 19);
    CHECK_STR(trace_str(&t, d.phases.p[0].line), "m.c:92");
    CHECK_STR(trace_str(&t, d.phases.p[1].line), "m.c:125");
    CHECK_EQ(d.phases.p[0].median_ns, 1020000);
    CHECK_EQ(d.phases.p[1].median_ns, 410000);
    CHECK_EQ(d.phases.p[0].budget[BUDGET_KERNELS], 40 * 1000000);
    CHECK_EQ(d.phases.p[1].budget[BUDGET_KERNELS], 19 * 400000);
    CHECK_EQ(d.steady.budget[BUDGET_COMPILE], 0);
    CHECK_EQ(d.startup.budget[BUDGET_COMPILE], 1200000000);
    CHECK_EQ(d.steady.wall_ns + d.startup.wall_ns, d.wall_ns);
    CHECK_EQ(sum(d.steady.budget), d.steady.wall_ns);
    CHECK_EQ(sum(d.startup.budget), d.startup.wall_ns);
    CHECK_EQ(sum(d.phases.p[0].budget) + sum(d.phases.p[1].budget), d.steady.wall_ns);
    /* the budget of it all would say "compile"; no step compiles, and kernels are at half of their roof */
    if (d.healthy || d.verdict != CAUSE_ROOF)
        FAIL("the verdict is %s", d.healthy ? "healthy" : cause_text(d.verdict));
    for (uint32_t i = 0; i < d.causes.n; i++)
        CHECK(d.causes.p[i].id != CAUSE_COMPILE && d.causes.p[i].id != CAUSE_BUILD &&
              d.causes.p[i].id != CAUSE_DISPATCH);
    struct str s;
    str_init(&s, &d.arena);
    report_text(&s, &d, "x");
    CHECK(strstr(s.p, "STEPS  40 of 1.02 ms (median) at m.c:92"));
    CHECK(strstr(s.p, "19 of 0.41 ms (median) at m.c:125"));
    CHECK(strstr(s.p, "start-up"));
    static const char *const asked[] = {"bottleneck", "transfers", "small kernels", "waits",     "layout",
                                        "precision",  "memory",    "allocation",    "batch size"};
    CHECK_EQ(d.checks.n, RG_COUNT(asked));
    for (size_t i = 0; i < RG_COUNT(asked); i++) {
        CHECK_STR(d.checks.p[i].id, asked[i]);
        CHECK(strstr(s.p, d.checks.p[i].answer));
    }
    CHECK(!d.checks.p[0].fine && d.checks.p[1].fine && d.checks.p[3].fine);
    CHECK(strstr(d.checks.p[2].answer, "0 of 59 under 10 us"));
    for (uint32_t i = 0; i < d.causes.n; i++) CHECK(d.causes.p[i].bound && d.causes.p[i].confirm);
    forget();
}

/* Where every step compiles, that is the steps' fault. */
TEST(phases_steps_that_compile_each) {
    begin();
    for (int i = 0; i < 20; i++) {
        char plan[16];
        snprintf(plan, sizeof plan, "p%d", i);
        run("m.c:9", plan, 0, 5000, 1000, 10);
    }
    end();
    CHECK_EQ(d.residual, 0);
    CHECK(!d.healthy);
    CHECK_EQ(d.verdict, CAUSE_COMPILE);
    CHECK_EQ(d.steady.wall_ns + d.startup.wall_ns, d.wall_ns);
    forget();
}

/* A recording of kernels alone says nothing of the host: no cause, and the way to record it. */
TEST(phases_kernels_alone_have_no_host_cause) {
    begin();
    for (int i = 0; i < 20; i++) {
        event_add_info(EVENT_KERNEL, event_name("r_9"), event_name("sum m.c:5\t9000\tcompute"), now,
                       now + 10000, 1000, 10);
        now += 1000000;
    }
    event_add_info(EVENT_RUN, event_name("CPU"), 0, 1000, now - 1000000, 1, 0);
    event_add_info(EVENT_NOTE, event_name("not recorded: calls compiler"), event_name("record all"), now, now,
                   0, 0);
    end();
    CHECK_EQ(d.budget[BUDGET_DISPATCH], 0);
    CHECK_EQ(d.budget[BUDGET_USER], 0);
    CHECK_EQ(d.budget[BUDGET_OTHER], d.wall_ns - 200000);
    for (uint32_t i = 0; i < d.causes.n; i++)
        CHECK(d.causes.p[i].id == CAUSE_ROOF || d.causes.p[i].id == CAUSE_TINY);
    bool told = false;
    for (uint32_t i = 0; i < d.capture.n; i++)
        told |= strstr(d.capture.p[i].why, "not recorded: calls") != NULL;
    CHECK(told);
    forget();
}

/* A GPU that notes its own times, a step that is replayed and two reads after each: the reads are no programs that ran, and the
 * advice is not to record what is recorded. */
TEST(phases_reads_are_no_runs) {
    begin();
    for (int i = 0; i < 40; i++) {
        uint64_t t0 = now;
        event_add(EVENT_LAUNCH, event_name("graph"), t0 + 1000, t0 + 2000, 1, i + 1);
        event_add_row(EVENT_KERNEL, event_name("r_9"), event_name("sum m.c:5\t90000\tcompute"),
                      event_row(0, 1), (uint32_t)i + 1, t0 + 500000, t0 + 600000, 1000, 10);
        event_add_info(EVENT_RUN, event_name("CUDA"), event_name("step"), t0, t0 + 500000, 1, 2);
        event_add_info(EVENT_CALL, event_name("rg_jit_call"), event_name("m.c:92"), t0, t0 + 500000, 0, 0);
        for (uint64_t k = 0; k < 2; k++)
            event_add(EVENT_COPY, event_name("CUDA"), t0 + 600000 + 2000 * k, t0 + 601000 + 2000 * k, 4, 1);
        now = t0 + 610000;
    }
    end();
    CHECK(t.async);
    bool dispatch = false;
    for (uint32_t i = 0; i < d.causes.n; i++) {
        dispatch |= d.causes.p[i].id == CAUSE_DISPATCH;
        if (strstr(d.causes.p[i].fix, "rg_jit_new")) FAIL("a replayed step: %s", d.causes.p[i].fix);
    }
    CHECK(dispatch);
    forget();
}

/* Kernels that run beside one another take longer in sum than in the budget: the difference is said. */
TEST(phases_kernels_beside_one_another) {
    begin();
    for (int i = 0; i < 10; i++) {
        for (uint32_t k = 0; k < 2; k++)
            event_add_row(EVENT_KERNEL, event_name(k ? "r_9" : "E_9"),
                          event_name("sum m.c:5\t90000\tcompute"), event_row(0, 1 + k), 0, now + 50000 * k,
                          now + 50000 * k + 100000, 1000, 10);
        now += 200000;
    }
    end();
    CHECK_EQ(d.budget[BUDGET_KERNELS], 10 * 150000);
    struct str s;
    str_init(&s, &d.arena);
    report_text(&s, &d, "x");
    CHECK(strstr(s.p, "KERNELS  2.0 ms in 2 different ones, 0.5 ms of it beside other kernels"));
    forget();
}

/* What is cut to the width of the screen keeps its end: the line number. */
TEST(phases_long_paths_keep_their_line_number) {
    const char *path =
        "a_folder_with_a_long_name_that_holds_all_of_the_models_of_the_group_transformer_blocks.c:12345";
    begin();
    for (int i = 0; i < 10; i++) {
        char info[300];
        snprintf(
            info, sizeof info,
            "matmul net.0 %s\t500000\tcompute\t\tk\t0\t0\t0\tissued=9 moved=9 lines=9 f32=500000 vector=9\t",
            path);
        event_add_info(EVENT_KERNEL, event_name("r_512_32_24_24_32_5_5_with_more"), event_name(info), now,
                       now + 3000000, 1000, 10);
        event_add_info(EVENT_RUN, event_name("CPU"), event_name("train"), now, now + 3000000, 1, 2);
        event_add_info(EVENT_CALL, event_name("rg_jit_call"), event_name(path), now, now + 3000000, 0, 0);
        now += 3100000;
    }
    end();
    struct str s;
    str_init(&s, &d.arena);
    report_text(&s, &d, "x");
    uint32_t kept = 0, wide = 0;
    for (const char *p = s.p; *p; p += strcspn(p, "\n"), p += *p == '\n') {
        size_t n = strcspn(p, "\n");
        wide += n > 100;
        kept += n > 6 && memmem(p, n, ":12345", 6) != NULL;
    }
    CHECK_EQ(wide, 0);
    CHECK(kept >= 3); /* the fix, the kernel, the steps */
    forget();
}

/* A schedule that records steps and leaves others out: the page gets when, and opens on the first. */
TEST(phases_page_knows_what_was_not_recorded) {
    begin();
    run("m.c:92", "train", 2, 0, 100, 0);
    event_add(EVENT_RECORD, 0, now, now, 0, 0);
    now += 5000000;
    event_add(EVENT_RECORD, 0, now, now, 1, 0);
    run("m.c:92", "train", 2, 0, 100, 0);
    end();
    struct str s;
    str_init(&s, &d.arena);
    report_html(&s, &d, "x");
    CHECK(strstr(s.p, "\"recorded\":[[0,100000],[5100000,5200000]]"));
    CHECK(strstr(s.p, "not recorded"));
    forget();
}

/* Another process has the GPU for 1.8 ms of each step, always under the fourth kernel: its time is not that of kernels. */
TEST(phases_kernels_without_slices_of_others) {
    const char *info =
        "matmul net.0 m.c:5\t80000\tcompute\t\tk\t0\t0\t0\tissued=9 moved=9 lines=9 f32=9 vector=9\t";
    for (int shared = 0; shared < 2; shared++) {
        begin();
        now += 1000000;
        for (int s = 0; s < 30; s++) {
            uint64_t t0 = now;
            for (int k = 0; k < 10; k++) {
                uint64_t ns = shared && k == 3 ? 1900000 : 100000;
                event_add_row(EVENT_KERNEL, event_name("k"), event_name(info), event_row(0, 1),
                              (uint32_t)(1 + s), now, now + ns, 1000, 10);
                now += ns + 1000;
            }
            event_add(EVENT_LAUNCH, event_name("graph"), t0 - 3000, t0 - 1000, 10, 1 + s);
            event_add_info(EVENT_RUN, event_name("CUDA"), event_name("train"), t0 - 4000, t0, 10, 2);
            event_add_info(EVENT_CALL, event_name("rg_jit_call"), event_name("m.c:92"), t0 - 4000, t0, 0, 0);
            now += 5000;
        }
        end();
        CHECK_EQ(d.residual, 0);
        CHECK_EQ(d.slices, shared ? 30 : 0);
        CHECK_EQ(d.budget[BUDGET_KERNELS], 30 * 1000000);
        CHECK_EQ(d.budget[BUDGET_QUEUED], shared * 30 * 1800000);
        CHECK_EQ(sum(d.steady.budget), d.steady.wall_ns);
        CHECK_NEAR(d.roof, 0.8, 1e-9);
        CHECK_EQ(d.causes.n && d.causes.p[0].id == CAUSE_SHARED, shared);
        forget();
    }
}

/* A GPU that times its own kernels: what that takes is no part of the steps, and the roof is that of their kernels. */
TEST(phases_steps_without_their_recording) {
    const char *fast =
        "matmul net.0 m.c:5\t40000\tcompute\t\tk\t0\t0\t0\tissued=9 moved=9 lines=9 f32=9 vector=9\t";
    const char *slow = "fill m.c:4\t400\tcompute\t\tq\t0\t0\t0\tissued=9 moved=9 lines=9 f32=9 vector=9\t";
    begin();
    event_add_info(EVENT_NOTE, event_name("kernel record 2000 50"), 0, now, now, 0, 0);
    now += 1000000;
    event_add_row(EVENT_KERNEL, event_name("q"), event_name(slow), event_row(0, 1), 1, now, now + 4000000, 9,
                  9); /* start-up */
    now += 5000000;
    for (int s = 0; s < 10; s++) { /* 20 kernels of 50 us, 2.5 us apart, and 15 us more to the next */
        uint64_t t0 = now;
        for (int k = 0; k < 20; k++, now += 52500)
            event_add_row(EVENT_KERNEL, event_name("k"), event_name(fast), event_row(0, 1), (uint32_t)(2 + s),
                          now, now + 50000, 1000, 10);
        event_add(EVENT_LAUNCH, event_name("graph"), t0 - 13000, t0 - 1000, 20, 2 + s);
        event_add_info(EVENT_RUN, event_name("CUDA"), event_name("train"), t0 - 14000, t0, 20, 2);
        event_add_info(EVENT_CALL, event_name("rg_jit_call"), event_name("m.c:92"), t0 - 14000, t0, 0, 0);
        now += 15000;
    }
    end();
    CHECK(t.kernel_record_ns == 2000 && t.launch_ns == 50);
    CHECK_EQ(d.residual, 0);
    CHECK_EQ(d.phases.n, 1);
    CHECK_EQ(d.phases.p[0].budget[BUDGET_PROFILER], 0);
    /* 1065 us by the clock, of which each of 19 gaps has 2 of recording, and the launch of 20 kernels, which takes 12, 10 */
    CHECK_EQ(d.phases.p[0].median_ns, 20 * 52500 + 15000 - 19 * 2000 - 10000);
    double busy = (double)d.steady.budget[BUDGET_KERNELS] / (double)d.steady.wall_ns;
    CHECK(busy > 0.98 && busy < 0.99); /* 1000 of 1017 us; 94 % with the recording */
    CHECK_EQ(sum(d.steady.budget), d.steady.wall_ns);
    CHECK_EQ(sum(d.startup.budget) + sum(d.steady.budget), d.wall_ns);
    CHECK_NEAR(d.roof, 0.8, 1e-9); /* 40 of 50 us; the kernel of start-up does not count */
    forget();
}
