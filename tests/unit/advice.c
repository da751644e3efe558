/* Tests of src/analyze/advice.c and roof.c on made-up recordings: which unit limits a kernel and why, which cause a kernel counts
 * for, what the advice is and what it may bring. Real programs with planted faults are run by tests/cli/planted.sh. */
#include "event/event.h"
#include "recorded.h"
#include "report/report.h"

#include <test.h>

static struct trace t;
static struct diag d;
static struct err err;
static struct arena arena;

/* One second: kernels of 100 ms each with this name and work, nothing else. */
static void record(const char *name, const char *info, double flops, double bytes) {
    arena_init(&arena, &err);
    event_reset();
    event_add(EVENT_RECORD, 0, 1000, 1000, 1, 0);
    event_add(EVENT_ALLOC, event_name("CPU"), 1000, 1000, 64, 64);
    for (uint64_t i = 0; i < 10; i++)
        event_add_info(EVENT_KERNEL, event_name(name), event_name(info), 1000 + i * 100000000,
                       1000 + (i + 1) * 100000000, (int64_t)flops, (int64_t)bytes);
    event_add(EVENT_RECORD, 0, 1000001000, 1000001000, 0, 1000000000);
    diagnose_recorded(&arena, &t, &d);
    CHECK_EQ(d.wall_ns, 1000000000);
}

static void forget(void) { forget_recorded(&arena, &t, &d); }

TEST(advice_by_kernel) {
    static const struct {
        const char *name, *info;
        double flops, bytes;
        const char *verdict; /* or "healthy" */
        int bound, gain_ms;  /* gain: 0 not looked at */
        const char *why, *fix;
    } of[] = {
        /* the vector unit works for 80 of 100 ms, and nothing is wasted */
        {"r_64_64_64",
         "matmul a.c:1\t80000000\tcompute\t\tk\t0\t0\t0\tissued=1000 moved=10 lines=10 int=5 f32=80000000 "
         "vector=80000000\t",
         1000, 10, "healthy", BOUND_COMPUTE, 0, "the vector unit is busy 80%", ""},
        {"E_1000",
         "add a.c:1\t85000000\tmemory\t\tk\t0\t0\t0\tissued=10 moved=1000 lines=1000 int=5 memory=85000000\t",
         10, 1000, "healthy", BOUND_MEMORY, 0, "memory is busy 85%", ""},
        /* a sixteenth of what comes from memory is used: 15/16 of a second may go, but not below the roof of 50 ms */
        {"r_1000",
         "sum a.c:1\t5000000\tmemory\t\tk\t0\t0\t0\tissued=250 moved=1000 lines=16000 int=5 "
         "memory=90000000\t",
         250, 1000, "layout", BOUND_MEMORY, 937, "memory is busy 90% of its time; strided accesses move 16x",
         "rg_contiguous"},
        /* seven columns: at 35 of 70 % that even sizes reach, 8 columns take 0.35 / 0.7 * 8 / 7 of the time */
        {"r_100_64_7_64",
         "matmul a.c:1\t35000000\tcompute\t\tk\t0\t0\t0\tissued=1000 moved=100 lines=100 int=5 "
         "vector=40000000\t",
         1000, 100, "shape.alignment", BOUND_INEFFICIENT, 429,
         "no unit is busy, the vector unit most with 40%", "make it 8"},
        {"r_100_64_8_64",
         "matmul a.c:1\t35000000\tcompute\t\tk\t0\t0\t0\tissued=1000 moved=100 lines=100 int=5 "
         "vector=40000000\t",
         1000, 100, "below_roof", BOUND_INEFFICIENT, 650, "it waits for results of its own", "BEAM=4"},
        {"r_100_64_8_64",
         "matmul a.c:1\t35000000\tcompute\t\tk\t0\t0\t0\tissued=3000 moved=100 lines=100 int=5 "
         "vector=95000000\t",
         1000, 100, "below_roof", BOUND_COMPUTE, 650, "it computes 3.0x what was asked for", "BEAM=4"},
        {"E_4",
         "add a.c:1\t20000000\toverhead\t\tk\t0\t0\t0\tissued=4 moved=48 lines=48 int=5 launch=60000000 "
         "L2=1\t",
         4, 48, "small_work", BOUND_LATENCY, 800, "starting it takes 60%", "larger batch"},
    };
    for (size_t i = 0; i < RG_COUNT(of); i++) {
        record(of[i].name, of[i].info, of[i].flops, of[i].bytes);
        const struct kernel_row *k = &d.kernels.p[0];
        const char *got = d.healthy ? "healthy" : cause_text(d.verdict);
        if (strcmp(got, of[i].verdict)) FAIL("row %zu: planted %s, the verdict is %s", i, of[i].verdict, got);
        CHECK_EQ(k->bound, of[i].bound);
        if (!strstr(k->why, of[i].why)) FAIL("row %zu: '%s' is not in: %s", i, of[i].why, k->why);
        if (of[i].gain_ms) CHECK_NEAR((double)d.causes.p[0].gain_ns * 1e-6, of[i].gain_ms, 1);
        if (*of[i].fix && !strstr(d.causes.p[0].fix, of[i].fix))
            FAIL("row %zu: '%s' is not in: %s", i, of[i].fix, d.causes.p[0].fix);
        struct str s;
        str_init(&s, &d.arena);
        report_text(&s, &d, "x");
        CHECK(strstr(s.p, "AT BEST") && strstr(s.p, "you take 1000.0"));
        forget();
    }
}

/* What all kernels would take: ten times 80 ms. */
TEST(advice_at_best_is_the_sum_of_roofs) {
    record("r_8", "sum a.c:1\t80000000\tcompute\t\tk\t0\t0\t0\tissued=1000 vector=80000000\t", 1000, 10);
    CHECK_EQ(ridge_at_best(&d), 800000000);
    forget();
    record("r_8", "sum a.c:1\t300000000\tcompute", 1000, 10); /* faster than its roof: what it took */
    CHECK_EQ(ridge_at_best(&d), 1000000000);
    forget();
}
