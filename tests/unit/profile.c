/* Tests of recording and of the account of a Ridge program: a budget known beforehand, what a recorded program says about its
 * lines, which steps are recorded, a program that is killed, the tables and the trace. */
#include "event/event.h"
#include "report/report.h"

#include <ridge.h>
#include <test.h>

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static char path[64];
static struct trace t;
static struct diag d;
static struct err err;

static const char *fresh_path(void) {
    snprintf(path, sizeof path, "/tmp/ridge-profile-%d", (int)getpid());
    return path;
}

static void read_profile(void) {
    if (trace_read(&t, &err, path) || diagnose(&d, &t, &err)) FAIL("%s", err.msg);
    CHECK_EQ(t.format, TRACE_RIDGE);
    CHECK_EQ(d.residual, 0);
    int64_t sum = 0;
    for (int k = 0; k < BUDGET_KEYS; k++) {
        CHECK(d.budget[k] >= 0);
        sum += d.budget[k];
    }
    CHECK_EQ(sum, d.wall_ns);
    /* the pieces that it is made of: in order, beside each other, and of each key as much as it says */
    int64_t of[BUDGET_KEYS] = {0};
    for (uint32_t i = 0; i < d.idle_n; i++) {
        CHECK(d.idle[i].t0 < d.idle[i].t1 && (!i || d.idle[i - 1].t1 <= d.idle[i].t0));
        of[d.idle[i].cause] += d.idle[i].t1 - d.idle[i].t0;
    }
    for (int k = 0; k < BUDGET_KEYS; k++) CHECK_EQ(of[k], k == BUDGET_KERNELS ? 0 : d.budget[k]);
}

static void forget_profile(void) {
    diag_free(&d);
    trace_free(&t);
}

/* ---- the budget --------------------------------------------------------------------------------------- */

static uint64_t seed;
static uint64_t draw(uint64_t n) { return (seed = hash_u64(seed + 1)) % n; }

static int64_t want[BUDGET_KEYS];

/* A record and what lies inside it; returns nothing, but adds its own time to `want`. Planning and compiling take in what
 * runs inside them. */
static void nest(uint64_t t0, uint64_t t1, int outer, int depth) {
    static const struct {
        enum event_kind kind;
        int budget;
    } of[] = {{EVENT_CALL, BUDGET_DISPATCH},    {EVENT_RUN, BUDGET_DISPATCH},
              {EVENT_PLAN, BUDGET_PLAN},        {EVENT_LOWER, BUDGET_PLAN},
              {EVENT_BUILD, BUDGET_COMPILE},    {EVENT_COMPILE, BUDGET_COMPILE},
              {EVENT_WAIT, BUDGET_SYNC},        {EVENT_COPY, BUDGET_EXPOSED},
              {EVENT_KERNEL, BUDGET_KERNELS},   {EVENT_RANGE, -1},
              {EVENT_PROFILER, BUDGET_PROFILER}};
    int64_t own = (int64_t)(t1 - t0);
    for (uint64_t now = t0; depth && now < t1;) {
        uint64_t a = now + draw(40), b = a + 1 + draw(300);
        if (b > t1) break;
        size_t k = draw(RG_COUNT(of));
        bool sticky = outer == BUDGET_PLAN || outer == BUDGET_COMPILE;
        int budget = of[k].budget < 0 || (sticky && of[k].budget != BUDGET_PROFILER) ? outer : of[k].budget;
        event_add(of[k].kind, event_name("x"), a, b, 1, 1);
        bool leaf = of[k].kind == EVENT_KERNEL || of[k].kind == EVENT_COPY || of[k].kind == EVENT_PROFILER;
        own -= (int64_t)(b - a);
        nest(a, b, budget, leaf ? 0 : depth - 1);
        now = b;
    }
    want[outer] += own;
}

TEST(profile_budget_of_200_random_streams_is_exact) {
    static const char *const keys[] = {"kernels",          "plan",     "compile", "dispatch", "sync",
                                       "transfer.exposed", "host.user"};
    int64_t seen[BUDGET_KEYS] = {0};
    for (seed = 0; seed < 200ull << 32; seed = ((seed >> 32) + 1) << 32) {
        uint64_t keep = seed;
        struct arena a;
        struct event_list l;
        uint64_t t0 = 1000000, t1 = t0 + 2000 + draw(20000);
        arena_init(&a, &err);
        event_reset();
        memset(want, 0, sizeof want);
        event_add(EVENT_RECORD, 0, t0, t0, 1, 0);
        event_add(EVENT_RECORD, 0, t1, t1, 0, 0);
        nest(t0, t1, BUDGET_USER, 4);
        event_snapshot(&a, &l);
        CHECK_EQ(event_save(&err, &a, fresh_path(), &l), 0);
        read_profile();
        CHECK_EQ(d.wall_ns, (int64_t)(t1 - t0));
        for (int k = 0; k < BUDGET_KEYS; k++) {
            if (d.budget[k] != want[k])
                FAIL("stream %llu: %s is %lld, expected %lld", (unsigned long long)(keep >> 32),
                     budget_key(k), (long long)d.budget[k], (long long)want[k]);
            seen[k] += want[k];
        }
        forget_profile();
        arena_free(&a);
        seed = keep;
    }
    unlink(path);
    for (size_t i = 0; i < RG_COUNT(keys); i++)
        for (int k = 0; k < BUDGET_KEYS; k++)
            if (!strcmp(budget_key(k), keys[i])) CHECK(seen[k] > 0);
}

/* Records may overlap in a damaged file; time that was not recorded does not count. */
TEST(profile_budget_counts_recorded_time_only) {
    struct arena a;
    struct event_list l;
    arena_init(&a, &err);
    event_reset();
    event_add(EVENT_RECORD, 0, 1000, 1000, 1, 0);
    event_add(EVENT_CALL, event_name("rg_read"), 1100, 1500, 0, 0);
    event_add(EVENT_KERNEL, event_name("E_4"), 1400, 1900, 0, 0); /* longer than the call around it */
    event_add(EVENT_RECORD, 0, 2000, 2000, 0, 0);
    event_add(EVENT_KERNEL, event_name("E_4"), 2100, 2900, 0, 0); /* begins in the pause */
    event_add(EVENT_RECORD, 0, 2500, 2500, 1, 0);
    event_add(EVENT_CALL, event_name("rg_load_npy"), 2900, 3000, 0, 0);
    event_snapshot(&a, &l);
    CHECK_EQ(event_save(&err, &a, fresh_path(), &l), 0);
    read_profile();
    CHECK_EQ(d.wall_ns, 1000 + 500);
    CHECK_EQ(d.budget[BUDGET_KERNELS], 500 + 400);
    CHECK_EQ(d.budget[BUDGET_DISPATCH], 300);
    CHECK_EQ(d.budget[BUDGET_LOADER], 100);
    CHECK_EQ(d.budget[BUDGET_USER], 200);
    CHECK(t.unfinished);
    forget_profile();
    unlink(path);
    arena_free(&a);
}

/* Kernels that ran for 10 ms while the process got 2 ms of all cores: the machine was not its own. */
TEST(profile_of_a_shared_machine_says_so) {
    for (int shared = 0; shared < 2; shared++) {
        struct arena a;
        struct event_list l;
        struct str s;
        arena_init(&a, &err);
        event_reset();
        event_add(EVENT_RECORD, 0, 1000000, 1000000, 1, 5000000);
        event_add(EVENT_ALLOC, event_name("CPU"), 1000000, 1000000, 64, 1);
        event_add_info(EVENT_KERNEL, event_name("r_8"), event_name("sum a.c:7\t2000000\tmemory"), 1000000,
                       11000000, 8, 8);
        event_add(EVENT_RECORD, 0, 11000000, 11000000, 0, shared ? 7000000 : 15000000);
        event_snapshot(&a, &l);
        CHECK_EQ(event_save(&err, &a, fresh_path(), &l), 0);
        read_profile();
        CHECK_EQ(t.cpu_ns, shared ? 2000000 : 10000000);
        CHECK_EQ(d.verdict, CAUSE_ROOF);
        CHECK_EQ(d.causes.p[0].lost_ns, 8000000); /* at best 2 of 10 ms */
        CHECK_STR(d.causes.p[0].where, "a.c:7");
        CHECK_EQ(d.capture.n, shared);
        str_init(&s, &d.arena);
        report_text(&s, &d, path);
        CHECK_EQ(!!strstr(s.p, "other programs had the machine"), shared);
        CHECK(strstr(s.p, "20% of roof, memory"));
        forget_profile();
        unlink(path);
        arena_free(&a);
    }
}

/* ---- recorded programs ----------------------------------------------------------------------------------- */

enum { LINE_OF_STEP = __LINE__ + 3 };
static rg_status step(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)user;
    out[0] = rg_sum(rg_exp(rg_matmul(in[0], in[0])), RG_AXES(1));
    return RG_OK;
}

static rg_tensor square(rg_ctx *c) {
    static float p[64 * 64];
    for (int i = 0; i < 64 * 64; i++) p[i] = 1e-3f * (float)(i % 97);
    return rg_from(c, RG_F32, p, RG_SHAPE(64, 64));
}

static uint32_t count_kind(int kind) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < t.n; i++) n += t.ev[i].kind == kind;
    return n;
}

TEST(profile_of_a_replayed_program_names_its_lines) {
    rg_ctx *c = rg_open("CPU");
    float v[64];
    CHECK_EQ(rg_profile_start(c, fresh_path()), RG_OK);
    rg_tensor x = square(c), y;
    rg_jit *j = rg_jit_new(c, step, NULL, 1);
    for (int i = 0; i < 10; i++) {
        rg_range_push("ten times");
        CHECK_EQ(rg_jit_call(j, RG_TENSORS(x), &y), RG_OK);
        CHECK_EQ(rg_read(y, v, sizeof v), RG_OK);
        rg_range_pop();
        CHECK_EQ(rg_profile_step(c), RG_OK);
    }
    CHECK_EQ(rg_profile_stop(c), RG_OK);
    CHECK(!event_recording());
    rg_range_pop(); /* one too many does nothing */
    read_profile();
    CHECK(!t.unfinished);
    CHECK_EQ(count_kind(TK_ANNOT), 10);
    CHECK_EQ(d.steps.n, 10);
    CHECK(d.kernel_count >= 10);
    CHECK(d.mem.n > 0 && d.mem_peak >= 64 * 64 * 4);
    char line[40];
    snprintf(line, sizeof line, "profile.c:%d", LINE_OF_STEP);
    for (uint32_t i = 0; i < d.kernels.n; i++) {
        const struct kernel_row *k = &d.kernels.p[i];
        CHECK_STR(trace_str(&t, k->where), line);
        CHECK(k->modelled && k->roof > 0 && k->limit);
        const struct trace_kernel_args *a = trace_blob(&t, k->args, sizeof *a);
        char head[80], fn[80];
        snprintf(head, sizeof head, "kernel %s\n", trace_str(&t, k->name));
        snprintf(fn, sizeof fn, "void %s(", trace_str(&t, k->name));
        CHECK(!strncmp(trace_str(&t, a->graph), head, strlen(head)));
        CHECK(strstr(trace_str(&t, a->graph), "STORE") && strstr(trace_str(&t, a->source), fn));
        CHECK(a->predicted_ns > 0 && trace_str_len(&t, a->key) == 64);
    }
    CHECK_EQ(t.sources.n, 1); /* all calls are in this file, whose path is known */
    CHECK_STR(trace_str(&t, t.sources.p[0].name), "profile.c");
    CHECK_STR(trace_str(&t, t.sources.p[0].path), __FILE__);
    int64_t all = 0, steps = 0;
    for (uint32_t i = 0; i < d.kernels.n; i++) all += d.kernels.p[i].ns;
    for (uint32_t i = 0; i < d.steps.n; i++) steps += d.steps.p[i].device_ns;
    CHECK_EQ(steps, all); /* every kernel belongs to a step */
    for (int by = 0; by < GROUPS; by++) {
        struct group_row *row;
        int64_t sum = 0;
        for (uint32_t n = diag_group(&d, by, SORT_DEVICE, &row), i = 0; i < n; i++) sum += row[i].ns;
        CHECK_EQ(sum, all);
    }
    forget_profile();
    unlink(path);
    CHECK_EQ(rg_close(c), RG_OK);
}

static rg_tensor doubled(rg_tensor x) { return rg_mul(x, 2); }

/* The same program from two lines is planned once; each run names its own. */
TEST(profile_of_a_known_plan_names_the_line_of_today) {
    rg_ctx *c = rg_open("CPU");
    rg_tensor x = square(c);
    CHECK_EQ(rg_profile_start(c, fresh_path()), RG_OK);
    int first = __LINE__ + 1;
    rg_realize(rg_exp(x));
    int second = __LINE__ + 1;
    rg_realize(rg_exp(square(c)));
    rg_realize(doubled(x));
    CHECK_EQ(rg_profile_stop(c), RG_OK);
    read_profile();
    int found = 0;
    for (uint32_t i = 0; i < d.kernels.n; i++) {
        char a[40], b[40];
        snprintf(a, sizeof a, "profile.c:%d", first);
        snprintf(b, sizeof b, "profile.c:%d", second);
        const char *w = trace_str(&t, d.kernels.p[i].where);
        found |= !strcmp(w, a) ? 1 : !strcmp(w, b) ? 2 : 0;
    }
    CHECK_EQ(found, 3);
    forget_profile();
    unlink(path);
    rg_close(c);
}

TEST(profile_records_the_steps_it_was_asked_for) {
    static const struct {
        int wait, warmup, active, repeat, steps, expect;
    } of[] = {{0, 0, 0, 0, 5, 5}, {2, 0, 1, 0, 9, 3}, {2, 0, 1, 2, 12, 2}, {0, 0, 2, 1, 6, 2},
              {3, 0, 2, 1, 4, 1}, {1, 2, 1, 0, 9, 2}, {0, 1, 1, 3, 10, 3}};
    rg_ctx *c = rg_open("CPU");
    for (size_t i = 0; i < RG_COUNT(of); i++) {
        CHECK_EQ(rg_profile_start(c, fresh_path(), .wait = of[i].wait, .warmup = of[i].warmup,
                                  .active = of[i].active, .repeat = of[i].repeat),
                 RG_OK);
        for (int s = 0; s < of[i].steps; s++) {
            RG_SCOPE(c);
            rg_realize(rg_sqrt(square(c)));
            CHECK_EQ(rg_profile_step(c), RG_OK);
        }
        CHECK_EQ(rg_profile_stop(c), RG_OK);
        read_profile();
        CHECK_EQ(count_kind(TK_STEP), of[i].expect);
        CHECK_EQ(d.kernel_count, of[i].expect);
        forget_profile();
    }
    unlink(path);
    CHECK_EQ(rg_close(c), RG_OK);
}

TEST(profile_errors_are_told) {
    static const struct {
        const char *path;
        rg_profile_opts o;
        const char *words;
    } of[] = {{"/nowhere/at/all", {0}, "cannot create /nowhere/at/all: No such file"},
              {"", {0}, "path of the profile is empty"},
              {NULL, {0}, "path of the profile is empty"},
              {"/tmp/x", {.wait = -1}, "numbers of steps"},
              {"/tmp/x", {.wait = 1}, "nothing would be recorded"},
              {"/tmp/x", {.warmup = 1}, "nothing would be recorded"},
              {"/tmp/x", {.activities = 64}, "activities is 0x40"}};
    rg_ctx *c = rg_open("CPU");
    for (size_t i = 0; i < RG_COUNT(of); i++) {
        CHECK(rg_profile_start_at("f.c", 1, c, of[i].path, of[i].o) != RG_OK);
        if (!strstr(rg_error(c), of[i].words)) FAIL("'%s' is not in: %s", of[i].words, rg_error(c));
        rg_clear_error(c);
    }
    CHECK(rg_profile_stop(c) != RG_OK);
    CHECK(strstr(rg_error(c), "no profile is being recorded"));
    rg_clear_error(c);
    CHECK_EQ(rg_profile_start(c, fresh_path()), RG_OK);
    CHECK(rg_profile_start(c, "/tmp/another") != RG_OK);
    CHECK(strstr(rg_error(c), "recorded already"));
    rg_clear_error(c);
    CHECK_EQ(rg_profile_stop(c), RG_OK);
    CHECK_EQ(rg_profile_table(c, "/nowhere/at/all", NULL, 0), 0);
    CHECK(strstr(rg_error(c), "No such file"));
    rg_clear_error(c);
    CHECK_EQ(rg_profile_table(c, path, NULL, 0, .by = (rg_profile_by)77), 0);
    CHECK(strstr(rg_error(c), "no group number 77"));
    rg_clear_error(c);
    CHECK_EQ(rg_profile_table(c, path, NULL, 0, .sort = (rg_profile_sort)77), 0);
    CHECK(strstr(rg_error(c), "no order number 77"));
    rg_clear_error(c);
    CHECK_EQ(rg_profile_table(c, path, NULL, 0, .rows = -1), 0);
    CHECK(strstr(rg_error(c), "rows is -1"));
    CHECK(rg_profile_start(NULL, "x") != RG_OK);
    unlink(path);
    rg_close(c);
}

/* ---- planted streams: the verdict names what was planted, and its line ------------------------------------------- */

/* Eight steps of 1 ms: a call of `lost` us that is of one kind, then a kernel, then the user's code. */
struct planted {
    const char *call;
    enum event_kind
        kind; /* EVENT_CALL: the call itself; EVENT_KERNEL: the kernel; EVENT_RANGE: the user's code */
    int kernel_us, roof_us;
    const char *verdict, *where;
};

static void plant(const struct planted *p) {
    uint64_t at = 1000000;
    uint32_t kernel = event_name(p->roof_us ? "r_64_64" : "E_8");
    char info[80];
    snprintf(info, sizeof info, "matmul net.1 a.c:40\t%d\tcompute",
             1000 * (p->roof_us ? p->roof_us : p->kernel_us));
    event_reset();
    event_add(EVENT_RECORD, 0, at, at, 1, 0);
    for (int i = 0; i < 8; i++, at += 1000000) {
        uint64_t kernel_ns = (uint64_t)p->kernel_us * 1000,
                 lost = p->kind == EVENT_RANGE ? 1000 : 990000 - kernel_ns;
        event_add_info(EVENT_CALL, event_name(p->call), event_name("a.c:12"), at, at + lost + kernel_ns, 0,
                       0);
        if (p->kind != EVENT_CALL && p->kind != EVENT_KERNEL && p->kind != EVENT_RANGE)
            event_add(p->kind, event_name("x"), at + 1000, at + lost, 1000, 0);
        event_add_info(EVENT_KERNEL, kernel, event_name(info), at + lost, at + lost + kernel_ns, 1000, 1000);
    }
    event_add(EVENT_RECORD, 0, at, at, 0, 0);
}

TEST(profile_verdicts_of_planted_streams) {
    static const struct planted of[] = {
        {"rg_realize", EVENT_CALL, 5, 0, "small_kernels", "a.c:12, rg_realize"},
        {"rg_realize", EVENT_CALL, 50, 0, "dispatch", "a.c:12, rg_realize"},
        {"rg_from", EVENT_COPY, 50, 0, "transfer.exposed", "a.c:12, rg_from"},
        {"rg_read", EVENT_WAIT, 50, 0, "sync", "a.c:12, rg_read"},
        {"rg_realize", EVENT_PLAN, 50, 0, "plan", "a.c:12, rg_realize"},
        {"rg_realize", EVENT_LOWER, 50, 0, "plan", "a.c:12, rg_realize"},
        {"rg_realize", EVENT_BUILD, 50, 0, "compile", "a.c:12, rg_realize"},
        {"rg_load_npy", EVENT_CALL, 50, 0, "host.dataloader", "a.c:12, rg_load_npy"},
        {"rg_realize", EVENT_RANGE, 50, 0, "host.user", ""},
        {"rg_realize", EVENT_KERNEL, 985, 200, "below_roof", "a.c:40"},
        {"rg_realize", EVENT_KERNEL, 985, 950, "healthy", ""},
    };
    for (size_t i = 0; i < RG_COUNT(of); i++) {
        struct arena a;
        struct event_list l;
        struct str s;
        arena_init(&a, &err);
        plant(&of[i]);
        event_snapshot(&a, &l);
        CHECK_EQ(event_save(&err, &a, fresh_path(), &l), 0);
        read_profile();
        CHECK_EQ(d.wall_ns, 8000000);
        str_init(&s, &d.arena);
        report_text(&s, &d, path);
        const char *got = d.healthy ? "healthy" : cause_text(d.verdict);
        if (strcmp(got, of[i].verdict)) FAIL("planted %s, the verdict is %s\n%s", of[i].verdict, got, s.p);
        if (!d.healthy) CHECK_STR(d.causes.p[0].where, of[i].where);
        CHECK(strstr(s.p, "VERDICT") && strstr(s.p, " 100.0%") && strstr(s.p, "a.c:40"));
        forget_profile();
        unlink(path);
        arena_free(&a);
    }
}

/* ---- processes that end ------------------------------------------------------------------------------------ */

/* One reading of the clock: arguments are evaluated in either order, and a range that ends before it begins is damage. */
static void mark(const char *name, int64_t a) {
    uint64_t now = os_now_ns();
    event_add(EVENT_RANGE, event_name(name), now, now, a, 0);
}

TEST(profile_of_a_killed_program_is_readable) {
    enum { RUNS = 20000 }; /* more than one block */
    pid_t pid = fork();
    if (!pid) {
        rg_ctx *c = rg_open("CPU");
        snprintf(path, sizeof path, "/tmp/ridge-profile-%d", (int)getppid());
        if (rg_profile_start(c, path)) _exit(1);
        rg_realize(rg_exp(square(c)));
        for (int i = 0; i < RUNS; i++) mark("many", i);
        kill(getpid(), SIGKILL);
    }
    int st;
    CHECK_EQ(waitpid(pid, &st, 0), pid);
    CHECK(WIFSIGNALED(st) && WTERMSIG(st) == SIGKILL);
    fresh_path();
    read_profile();
    CHECK(t.unfinished && !t.truncated);
    CHECK_EQ(d.kernel_count, 1);
    CHECK_EQ(count_kind(TK_ANNOT), RUNS); /* to the last record */
    struct str s;
    str_init(&s, &d.arena);
    report_text(&s, &d, path);
    CHECK(strstr(s.p, "the recording has no end"));
    forget_profile();
    unlink(path);
}

TEST(profile_is_not_written_by_forked_children) {
    rg_ctx *c = rg_open("CPU");
    CHECK_EQ(rg_profile_start(c, fresh_path()), RG_OK);
    mark("parent", 0);
    pid_t pid = fork();
    if (!pid) {
        for (int i = 0; i < 10; i++) mark("child", 0);
        _exit(event_recording());
    }
    int st;
    waitpid(pid, &st, 0);
    CHECK(WIFEXITED(st) && !WEXITSTATUS(st));
    mark("parent", 0);
    CHECK_EQ(rg_profile_stop(c), RG_OK);
    read_profile();
    CHECK_EQ(count_kind(TK_ANNOT), 2);
    forget_profile();
    unlink(path);
    rg_close(c);
}

/* ---- tables and exports -------------------------------------------------------------------------------------- */

TEST(profile_table_and_trace_agree_with_the_profile) {
    rg_ctx *c = rg_open("CPU");
    CHECK_EQ(rg_profile_start(c, fresh_path()), RG_OK);
    rg_module *fc = rg_nn_linear(c, 64, 32);
    for (int i = 0; i < 3; i++) {
        RG_SCOPE(c);
        rg_realize(rg_relu(rg_nn_forward(fc, square(c))));
    }
    CHECK_EQ(rg_profile_stop(c), RG_OK);
    static char text[20000];
    static const char *const words[] = {"r_", "linear", "profile.c:", "net", "f32(64,32)", "gemm"};
    for (int by = RG_BY_KERNEL; by <= RG_BY_CLASS; by++) {
        size_t n = rg_profile_table(c, path, text, sizeof text, .by = (rg_profile_by)by);
        CHECK(n > 0 && n == strlen(text));
        if (!strstr(text, words[by])) FAIL("'%s' is not in the table:\n%s", words[by], text);
        CHECK(strstr(text, "  sum\n"));
        char few[50];
        CHECK_EQ(rg_profile_table(c, path, few, sizeof few, .by = (rg_profile_by)by),
                 n); /* what it would take */
        CHECK_EQ(strlen(few), sizeof few - 1);
    }
    read_profile();
    struct str s;
    static struct trace back;
    static struct diag other;
    char json[80];
    snprintf(json, sizeof json, "%s.json", path);
    CHECK_EQ(report_export(&err, &d, EXPORT_TRACE, json, NULL), 0);
    CHECK_EQ(trace_read(&back, &err, json), 0); /* the reader of PyTorch's traces */
    unlink(json);
    CHECK_EQ(diagnose(&other, &back, &err), 0);
    CHECK_EQ(other.kernel_count, d.kernel_count);
    int64_t mine = 0, theirs = 0;
    for (uint32_t i = 0; i < d.kernels.n; i++) mine += d.kernels.p[i].ns;
    for (uint32_t i = 0; i < other.kernels.n; i++) theirs += other.kernels.p[i].ns;
    CHECK_EQ(mine, theirs);
    diag_free(&other);
    trace_free(&back);
    str_init(&s, &d.arena);
    report_html(&s, &d, path);
    CHECK(strstr(s.p, "kernels of thread"));
    forget_profile();
    unlink(path);
    CHECK_EQ(rg_close(c), RG_OK);
}

TEST(profile_cost_of_a_record) {
    struct err e = {0};
    uint32_t name = event_name("x");
    uint64_t best = UINT64_MAX;
    CHECK_EQ(event_record_start(&e, fresh_path(), UINT32_MAX), 0);
    for (int round = 0; round < 20; round++) {
        uint64_t t0 = os_now_ns();
        for (int i = 0; i < 10000; i++) event_add(EVENT_KERNEL, name, t0, t0, i, i);
        best = RG_MIN(best, os_now_ns() - t0);
    }
    CHECK_EQ(event_record_stop(&e), 0);
    unlink(path);
    TEST_INFO("%.1f ns per record that goes to a file",
              (double)best / 1e4); /* a number to read, never a verdict */
}
