/* Tests of `ridge diff`: profiles with changes that are known, 200 random pairs whose parts sum to the nanosecond, traces of
 * other tools. */
#include "event/event.h"
#include "recorded.h"
#include "report/report.h"

#include <test.h>

#include <stdlib.h>
#include <unistd.h>

static struct err err;
static struct arena arena;
static struct trace t[2];
static struct diag d[2];
static struct diff f;

static uint64_t seed;
static uint64_t draw(uint64_t n) { return (seed = hash_u64(seed + 1)) % n; }

/* A step: kernels of these names and lengths, then the user's code; in a call that takes 5 us more than they do. */
struct kernel_of {
    const char *name;
    int calls, us;
};
struct recording {
    struct kernel_of kernel[6];
    int steps, user_us;
    bool marked; /* steps are */
};

static void load(int side) { diagnose_recorded(&arena, &t[side], &d[side]); }

static void make(int side, const struct recording *r) {
    uint64_t at = 1000000;
    event_reset();
    event_add(EVENT_RECORD, 0, at, at, 1, 0);
    for (int s = 0; s < r->steps; s++) {
        uint64_t began = at;
        for (const struct kernel_of *k = r->kernel; k->name; k++)
            for (int c = 0; c < k->calls; c++, at += (uint64_t)k->us * 1000)
                event_add_info(EVENT_KERNEL, event_name(k->name), event_name("exp net a.c:40\t100\tmemory"),
                               at, at + (uint64_t)k->us * 1000, 1, 1);
        at += 5000;
        event_add_info(EVENT_CALL, event_name("rg_realize"), event_name("a.c:12"), began, at, 0, 0);
        at += (uint64_t)r->user_us * 1000;
        if (r->marked) event_add(EVENT_STEP, event_name("step"), began, at, s, 0);
    }
    event_add(EVENT_RECORD, 0, at, at, 0, 0);
    load(side);
}

static void forget(void) {
    for (int i = 0; i < 2; i++) diag_free(&d[i]), trace_free(&t[i]);
    arena_free(&arena);
}

static void check_sums(void) {
    int64_t causes = 0, rows = f.overlap;
    for (int k = 0; k < BUDGET_KEYS; k++) causes += f.budget[k];
    for (uint32_t i = 0; i < f.rows.n; i++) {
        CHECK_EQ(f.rows.p[i].by_calls + f.rows.p[i].by_time, f.rows.p[i].delta);
        rows += f.rows.p[i].delta;
    }
    CHECK_EQ(causes, f.delta);
    CHECK_EQ(rows, diff_kernels(&f));
    CHECK(llabs(f.wall[1] - f.wall[0] - f.delta) <= 1); /* three numbers, rounded each for itself */
}

static const struct diff_row *row(const char *name) {
    for (uint32_t i = 0; i < f.rows.n; i++)
        if (!strcmp(f.rows.p[i].name, name)) return &f.rows.p[i];
    FAIL("no row for %s", name);
}

TEST(diff_names_what_was_changed) {
    const struct recording
        a = {{{"same", 3, 10}, {"slow", 2, 20}, {"often", 1, 30}, {"gone", 1, 40}}, 10, 50, true},
        b = {{{"same", 3, 10}, {"slow", 2, 27}, {"often", 3, 30}, {"new", 2, 9}}, 20, 80, true};
    arena_init(&arena, &err);
    make(0, &a);
    make(1, &b);
    diag_diff(&arena, &d[0], &d[1], &(struct diff_how){0}, &f);
    check_sums();
    CHECK(f.per_step && f.steps[0] == 10 && f.steps[1] == 20);
    CHECK_EQ(f.wall[0], (30 + 40 + 30 + 40 + 5 + 50) * 1000);
    CHECK_EQ(f.wall[1], (30 + 54 + 90 + 18 + 5 + 80) * 1000);
    CHECK_EQ(f.delta, 82000);
    CHECK_EQ(f.budget[BUDGET_KERNELS], 52000);
    CHECK_EQ(f.budget[BUDGET_USER], 30000);
    CHECK_EQ(f.overlap, 0);
    static const struct {
        const char *name;
        int what;
        int64_t calls, time;
    } want[] = {{"same", DIFF_SAME, 0, 0},
                {"slow", DIFF_SLOWER, 0, 14000},
                {"often", DIFF_MORE, 60000, 0},
                {"gone", DIFF_GONE, -40000, 0},
                {"new", DIFF_NEW, 18000, 0}};
    for (size_t i = 0; i < RG_COUNT(want); i++) {
        const struct diff_row *x = row(want[i].name);
        CHECK_STR(diff_text(x->what), diff_text(want[i].what));
        CHECK_EQ(x->by_calls, want[i].calls);
        CHECK_EQ(x->by_time, want[i].time);
    }
    CHECK_STR(f.rows.p[0].name, "often"); /* the largest first */
    struct str s;
    const char *const path[2] = {"dir/a.profile", "b.profile"};
    str_init(&s, &arena);
    report_diff(&s, &f, path, 2);
    static const char *const words[] = {"a.profile -> b.profile",
                                        "slower: 195.00 -> 277.00 us (+82.00, +42.1%) a step",
                                        "+60.00 us  more calls  often",
                                        "x1 -> x3, 30.0 us -> 30.0 us",
                                        "(2 more)",
                                        "1 did not change",
                                        "a.c:40"};
    for (size_t i = 0; i < RG_COUNT(words); i++)
        if (!strstr(s.p, words[i])) FAIL("'%s' is not in\n%s", words[i], s.p);
    diag_diff(&arena, &d[0], &d[1], &(struct diff_how){.by = GROUP_LINE}, &f); /* one line has it all */
    check_sums();
    CHECK_EQ(f.rows.n, 1);
    CHECK_EQ(row("a.c:40")->delta, 52000);
    forget();
}

/* Steps that are not marked: each run would be one, but there are none; then it is all against all. */
TEST(diff_without_steps_compares_all_of_it) {
    const struct recording a = {{{"k", 1, 10}}, 4, 0, false}, b = {{{"k", 1, 10}}, 6, 0, true};
    arena_init(&arena, &err);
    make(0, &a);
    make(1, &b);
    diag_diff(&arena, &d[0], &d[1], &(struct diff_how){0}, &f);
    check_sums();
    CHECK(!f.per_step);
    CHECK_EQ(f.delta, 2 * 15000);
    CHECK_EQ(row("k")->what, DIFF_MORE);
    struct str s;
    const char *const path[2] = {"a", "b"};
    str_init(&s, &arena);
    report_diff_json(&s, &f, path);
    CHECK(strstr(s.p, "\"per\":\"recording\",\"skip\":0,\"delta_ns\":30000,\"change\":0.500000"));
    CHECK(strstr(s.p, "{\"name\":\"k\",\"what\":\"more calls\",\"where\":\"a.c:40\",\"delta_ns\":20000,"));
    forget();
}

/* The first step compiles for 5 ms, and something is loaded before it: neither is in the steps after it. */
TEST(diff_leaves_out_the_first_steps) {
    arena_init(&arena, &err);
    for (int side = 0; side < 2; side++) {
        uint64_t at = 1000000;
        event_reset();
        event_add(EVENT_RECORD, 0, at, at, 1, 0);
        event_add_info(EVENT_CALL, event_name("rg_load_npy"), event_name("a.c:3"), at, at + 3000000, 0, 0);
        at += 3000000;
        for (int s = 0; s < 5; s++) {
            uint64_t began = at;
            if (!s) event_add(EVENT_BUILD, event_name("compile"), at, at + 5000000, 1, 0), at += 5000000;
            event_add(EVENT_KERNEL, event_name("k"), at, at + 20000 + 1000 * (uint64_t)side, 1, 1);
            at += 30000;
            event_add(EVENT_STEP, event_name("step"), began, at, s, 0);
        }
        event_add(EVENT_RECORD, 0, at, at, 0, 0);
        load(side);
    }
    diag_diff(&arena, &d[0], &d[1], &(struct diff_how){.skip = 1}, &f);
    check_sums();
    CHECK(f.steps[0] == 4 && f.wall[0] == 30000 && f.wall[1] == 30000);
    CHECK_EQ(f.budget[BUDGET_KERNELS], 1000);
    CHECK_EQ(f.budget[BUDGET_USER], -1000);
    CHECK_EQ(f.of_budget[0][BUDGET_COMPILE], 0);
    CHECK_EQ(f.of_budget[0][BUDGET_LOADER], 0);
    CHECK_EQ(row("k")->calls[1], 4);
    CHECK_EQ(f.overlap, 0);
    struct str o;
    const char *const path[2] = {"a", "b"};
    str_init(&o, &arena);
    diag_diff(&arena, &d[0], &d[1], &(struct diff_how){0}, &f);
    report_diff(&o, &f, path, 5);
    CHECK(strstr(o.p, "--skip 1 leaves them out"));
    forget();
}

static void random_side(int side) {
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    static const enum event_kind kinds[] = {EVENT_KERNEL, EVENT_KERNEL, EVENT_COPY,
                                            EVENT_WAIT,   EVENT_PLAN,   EVENT_CALL};
    uint64_t at = 1000, began = at;
    event_reset();
    event_add(EVENT_RECORD, 0, at, at, 1, 0);
    int steps = (int)draw(12);
    for (int s = 0; s < steps; s++, began = at) {
        for (int n = (int)draw(30); n; n--) {
            uint64_t a = at + draw(50), b = a + draw(3000);
            event_add(kinds[draw(RG_COUNT(kinds))], event_name(names[draw(RG_COUNT(names))]), a, b, 1, 1);
            at = draw(8) ? b : a; /* some overlap */
        }
        at += draw(500);
        event_add(EVENT_STEP, event_name("step"), began, at, s, 0);
    }
    at += 10;
    event_add(EVENT_RECORD, 0, at, at, 0, 0);
    load(side);
}

TEST(diff_of_200_random_pairs_sums_exactly) {
    int new = 0, gone = 0, overlap = 0, skipped = 0;
    for (uint64_t i = 0; i < 200; i++) {
        seed = i << 32;
        arena_init(&arena, &err);
        random_side(0);
        random_side(1);
        for (int by = 0; by < GROUPS; by++) {
            diag_diff(&arena, &d[0], &d[1], &(struct diff_how){.by = by}, &f);
            check_sums();
        }
        diag_diff(&arena, &d[0], &d[1], &(struct diff_how){0}, &f);
        for (uint32_t k = 0; k < f.rows.n; k++)
            new += f.rows.p[k].what == DIFF_NEW, gone += f.rows.p[k].what == DIFF_GONE;
        overlap += f.overlap != 0;
        uint32_t skip = 1 + (uint32_t)draw(3);
        if (d[0].steps.n > skip && d[1].steps.n > skip) {
            diag_diff(&arena, &d[0], &d[1], &(struct diff_how){.skip = skip}, &f);
            check_sums();
            skipped++;
            diag_diff(&arena, &d[0], &d[1], &(struct diff_how){0}, &f);
        }
        /* the other way round it is the opposite */
        int64_t there = f.delta;
        diag_diff(&arena, &d[1], &d[0], &(struct diff_how){0}, &f);
        CHECK_EQ(f.delta, -there);
        diag_diff(&arena, &d[0], &d[0], &(struct diff_how){0}, &f);
        CHECK_EQ(f.delta, 0);
        forget();
    }
    CHECK(new > 20 && gone > 20 && overlap > 20 && skipped > 50);
}

TEST(diff_of_other_tools_traces_sums) {
    static const char *const files[] = {
        "mnist_train_eager.pt.trace.json.gz", "overhead_small_kernels.pt.trace.json.gz",
        "jax_compute_bound.trace.json.gz", "transfer_pageable.pt.trace.json.gz"};
    for (size_t i = 0; i < RG_COUNT(files); i++)
        for (size_t k = 0; k < RG_COUNT(files); k++) {
            size_t of[2] = {i, k};
            arena_init(&arena, &err);
            for (int s = 0; s < 2; s++) {
                char path[100];
                snprintf(path, sizeof path, "tests/traces/%s", files[of[s]]);
                if (trace_read(&t[s], &err, path) || diagnose(&d[s], &t[s], &err)) FAIL("%s", err.msg);
            }
            diag_diff(&arena, &d[0], &d[1], &(struct diff_how){0}, &f);
            check_sums();
            CHECK(i != k || !f.delta);
            forget();
        }
}
