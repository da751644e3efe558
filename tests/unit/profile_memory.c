/* Tests of what a profile says about device memory: planted streams with sums counted by hand, a network whose parameters and
 * state are known, what grows, snapshots, the flight recorder, pprof; and of programs that end badly while they record. */
#include "event/event.h"
#include "report/report.h"

#include <ridge.h>
#include <test.h>

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static char path[64];
static struct trace t;
static struct diag d;
static struct err err;

static const char *fresh_path(void) {
    snprintf(path, sizeof path, "/tmp/ridge-memory-%d", (int)getpid());
    return path;
}

/* Kinds and rows sum to the peak, always. */
static void read_profile(void) {
    int64_t kinds = 0, rows = 0;
    if (trace_read(&t, &err, path) || diagnose(&d, &t, &err)) FAIL("%s", err.msg);
    CHECK_EQ(t.format, TRACE_RIDGE);
    for (int k = 0; k < HEAP_KINDS; k++) {
        CHECK(d.heap.kind[k] >= 0);
        kinds += d.heap.kind[k];
    }
    for (uint32_t i = 0; i < d.heap.peak.n; i++) rows += d.heap.peak.p[i].bytes;
    CHECK_EQ(kinds, d.mem_peak);
    CHECK_EQ(rows, d.mem_peak);
}

static void forget_profile(void) {
    diag_free(&d);
    trace_free(&t);
    unlink(path);
}

static void save_events(void) {
    struct arena a;
    struct event_list l;
    arena_init(&a, &err);
    event_snapshot(&a, &l);
    CHECK_EQ(event_save(&err, &a, fresh_path(), &l), 0);
    arena_free(&a);
}

/* ---- planted streams ------------------------------------------------------------------------------------- */

static void block(enum event_kind kind, uint64_t at, int64_t bytes, int64_t number, const char *owner) {
    event_add_info(kind, event_name("CPU"), event_name(owner), at, at, bytes, number);
}

static void value(const char *plan, int64_t bytes, uint64_t first, uint64_t last, const char *owner) {
    event_add_info(EVENT_PLANNED, event_name(plan), event_name(owner), 1000, 1000, bytes,
                   (int64_t)(first << 32 | last));
}

static void run(uint64_t t0, uint64_t t1, const char *plan, int64_t in) {
    event_add_info(EVENT_RUN, event_name("CPU"), event_name(plan), t0, t1, 3, 2 + 256 * in);
}

/* A block of 4096 for 1000 asked, 8192 of plans (8000 asked) with values that live apart, and one from before. At call 1
 * of plan 2 a (3200) and b (1984, asked 1950) are alive, at call 2 b and c. */
TEST(profile_memory_of_a_planted_stream) {
    event_reset();
    event_add(EVENT_RECORD, 0, 1000, 1000, 1, 0);
    block(EVENT_ALLOC, 2000, 4096, 7, "parameters\t1000\tweight net.0 a.c:3\tf32(250)");
    block(EVENT_ALLOC, 2100, 8192, 8, "planned block\t8000\tvalues between kernels");
    block(EVENT_ALLOC, 2150, 4096, 7, "parameters\t1000\tweight net.0 a.c:3\tf32(250)"); /* told again */
    block(EVENT_FREE, 9000, 512, 3, "");                                                 /* from before */
    block(EVENT_FREE, 9500, 4096, 7, "");
    value("plan 1", 640, 0, 2, "temporaries\t640\texp a.c:9\tf32(160)");
    value("plan 2", 3200, 0, 1, "activations\t3200\trelu net.1 a.c:4\tf32(8,100)\t0");
    value("plan 2", 1984, 1, 2, "gradients\t1950\tmatmul net.2 a.c:5 (backward)\tf32(2)\t3200");
    value("plan 2", 64, 2, 2, "temporaries\t64\tsum a.c:6\tf32(16)\t0");
    run(3000, 4000, "plan 1", 8);
    run(4000, 5000, "plan 2", 8);
    event_add(EVENT_RECORD, 0, 10000, 10000, 0, 0);
    save_events();
    read_profile();
    CHECK_EQ(d.mem_peak, 4096 + 8192 + 512);
    CHECK_EQ(d.heap.kind[HEAP_PARAMETER], 1000);
    CHECK_EQ(d.heap.kind[HEAP_ACTIVATION], 3200);
    CHECK_EQ(d.heap.kind[HEAP_GRADIENT], 1950);
    CHECK_EQ(d.heap.kind[HEAP_TEMPORARY], 0); /* lives at another call */
    CHECK_EQ(d.heap.kind[HEAP_GAP], 8000 - 3200 - 1984);
    CHECK_EQ(d.heap.kind[HEAP_ROUNDING], 3096 + 192 + 34);
    CHECK_EQ(d.heap.kind[HEAP_BEFORE], 512);
    CHECK_EQ(d.mem_last, 8192);
    const struct heap_row *top = NULL;
    for (uint32_t i = 0; i < d.heap.peak.n && !top; i++)
        if (d.heap.peak.p[i].kind == HEAP_ACTIVATION) top = &d.heap.peak.p[i];
    CHECK(top && top->planned);
    CHECK_STR(trace_str(&t, top->op), "relu");
    CHECK_STR(trace_str(&t, top->module), "net.1");
    CHECK_STR(trace_str(&t, top->where), "a.c:4");
    CHECK_STR(trace_str(&t, top->shape), "f32(8,100)");
    struct str s;
    str_init(&s, &d.arena);
    report_memory(&s, &d, GROUP_MODULE, 10);
    CHECK(strstr(s.p, "          3200        1  net.1\n") && strstr(s.p, "         12800           sum\n"));
    forget_profile();
}

/* ---- a network ---------------------------------------------------------------------------------------------- */

enum { IN = 64, HIDDEN = 300, OUT = 10, ROWS = 128, STEPS = 6 };
enum { WEIGHTS = IN * HIDDEN + HIDDEN + HIDDEN * OUT + OUT };

struct net {
    rg_ctx *c;
    rg_module *m;
    rg_optim *o;
    rg_tensor x, y;
};
static int line_of_forward;

static rg_status net_step(void *user, const rg_tensor *in, rg_tensor *out) {
    struct net *n = user;
    (void)in;
    line_of_forward = __LINE__ + 1;
    out[0] = rg_mse_loss(rg_nn_forward(n->m, n->x), n->y);
    rg_backward(out[0]);
    return rg_optim_step(n->o);
}

static void net_open(struct net *n) {
    static float data[ROWS * IN];
    for (int i = 0; i < ROWS * IN; i++) data[i] = (float)(i % 13) * 0.1f;
    n->x = rg_from(n->c, RG_F32, data, RG_SHAPE(ROWS, IN));
    n->y = rg_from(n->c, RG_F32, data, RG_SHAPE(ROWS, OUT));
    n->m = rg_nn_sequential(n->c,
                            RG_MODULES(rg_nn_linear(n->c, IN, HIDDEN), rg_nn_function(n->c, "relu", rg_relu),
                                       rg_nn_linear(n->c, HIDDEN, OUT)));
    n->o = rg_adam(rg_nn_params(n->m));
}

/* At each point the kinds sum to what is held; what lasts is all there from some point on. */
static void check_over_time(void) {
    int64_t weights = 0;
    for (uint32_t i = 0; i < d.mem.n; i++) {
        int64_t sum = 0;
        for (int k = 0; k < HEAP_KINDS; k++) {
            CHECK(d.mem_kind[i][k] >= 0);
            sum += d.mem_kind[i][k];
        }
        CHECK_EQ(sum, d.mem.p[i].bytes);
        weights = RG_MAX(weights, d.mem_kind[i][HEAP_PARAMETER]);
    }
    CHECK_EQ(weights, d.heap.kind[HEAP_PARAMETER]);
}

TEST(profile_memory_of_a_network_is_that_of_the_allocator) {
    for (int jit = 0; jit < 2; jit++) {
        struct net n = {.c = rg_open("CPU")};
        rg_memory m;
        CHECK_EQ(rg_profile_start(n.c, fresh_path()), RG_OK);
        net_open(&n);
        rg_jit *j = jit ? rg_jit_new(n.c, net_step, &n, 1) : NULL;
        for (int i = 0; i < STEPS; i++) {
            RG_SCOPE(n.c);
            rg_tensor loss;
            CHECK_EQ(j ? rg_jit_call(j, (rg_tensors){0}, &loss) : net_step(&n, NULL, &loss), RG_OK);
            CHECK(rg_item(loss) > 0);
            rg_profile_step(n.c);
        }
        CHECK_EQ(rg_memory_of(n.c, &m), RG_OK);
        CHECK_EQ(rg_profile_stop(n.c), RG_OK);
        read_profile();
        CHECK_EQ(d.mem_peak, m.peak); /* to the byte */
        CHECK_EQ(d.mem_last, m.held);
        CHECK(m.bytes <= m.held && m.held <= m.peak && d.mem_reserved >= d.mem_peak);
        CHECK_EQ(d.heap.kind[HEAP_PARAMETER], 4 * WEIGHTS);
        CHECK_EQ(d.heap.kind[HEAP_STATE], 2 * 4 * WEIGHTS + 4); /* and the number of steps */
        CHECK(d.heap.kind[HEAP_DATA] >= 4 * ROWS * (IN + OUT));
        CHECK(d.heap.kind[HEAP_ACTIVATION] >= 4 * ROWS * HIDDEN); /* what relu stores */
        CHECK(d.heap.kind[HEAP_ACTIVATION] < 3 * 4 * ROWS * HIDDEN);
        CHECK_EQ(d.heap.kind[HEAP_BEFORE], 0);
        CHECK(!d.mem_leak && !d.heap.grows.n);
        check_over_time();
        bool weight = false, hidden = false;
        char line[40];
        snprintf(line, sizeof line, "profile_memory.c:%d", line_of_forward);
        for (uint32_t i = 0; i < d.heap.peak.n; i++) {
            const struct heap_row *x = &d.heap.peak.p[i];
            const char *shape = trace_str(&t, x->shape), *module = trace_str(&t, x->module);
            weight |= x->kind == HEAP_PARAMETER && !strcmp(shape, "f32(300,64)") &&
                      !strcmp(module, "net.0") && !strcmp(trace_str(&t, x->op), "weight");
            hidden |= x->kind == HEAP_ACTIVATION && !strcmp(shape, "f32(128,300)") &&
                      !strncmp(module, "net.", 4) && !strcmp(trace_str(&t, x->where), line);
        }
        struct str s;
        str_init(&s, &d.arena);
        report_memory(&s, &d, GROUPS, 50);
        if (!weight || !hidden) FAIL("owners are missing:\n%s", s.p);
        CHECK(strstr(s.p, "activations"));
        str_init(&s, &d.arena);
        report_text(&s, &d, path);
        CHECK(strstr(s.p, "MEMORY  peak ") && strstr(s.p, "parameters 0.1") && strstr(s.p, "RECORDING  "));
        forget_profile();
        CHECK_EQ(rg_close(n.c), RG_OK);
    }
}

TEST(profile_memory_functions_count) {
    rg_ctx *c = rg_open("CPU");
    rg_memory m, after;
    static float data[100000];
    CHECK_EQ(rg_memory_of(c, &m), RG_OK);
    CHECK_EQ(m.bytes, 0);
    {
        RG_SCOPE(c);
        rg_from(c, RG_F32, data, RG_SHAPE(100000));
        rg_memory_of(c, &m);
        CHECK_EQ(m.bytes, 400000);
        CHECK(m.held >= 400000 && m.held < 500000 && m.blocks == 1 && m.peak == m.held && m.cached == 0);
    }
    rg_usage u;
    rg_stats(c, &u); /* collects */
    CHECK_EQ(rg_memory_of(c, &after), RG_OK);
    CHECK(after.bytes == 0 && after.held == 0 && after.peak == m.peak && after.cached == m.held);
    CHECK_EQ(rg_memory_reset_peak(c), RG_OK);
    rg_memory_of(c, &after);
    CHECK_EQ(after.peak, 0);
    CHECK(rg_memory_of(NULL, &m) && rg_memory_of(c, NULL) && rg_memory_reset_peak(NULL));
    rg_close(c);
}

/* A tensor of 40,000 bytes is kept in each step; the profile names its line. */
TEST(profile_memory_that_grows_names_its_line) {
    rg_ctx *c = rg_open("CPU");
    static float data[10000];
    int line = 0;
    rg_tensor x = rg_from(c, RG_F32, data, RG_SHAPE(10000));
    CHECK_EQ(rg_profile_start(c, fresh_path()), RG_OK);
    for (int i = 0; i < 8; i++) {
        RG_SCOPE(c);
        line = __LINE__ + 1;
        rg_tensor kept = rg_keep(rg_exp(rg_add(x, i)));
        CHECK_EQ(rg_realize(kept), RG_OK);
        rg_item(rg_sum(kept)); /* this one is freed */
        rg_profile_step(c);
    }
    rg_close(c); /* frees them: they were alive */
    CHECK_EQ(event_record_stop(&err), 0);
    read_profile();
    char want[40];
    snprintf(want, sizeof want, "profile_memory.c:%d", line);
    CHECK(d.mem_leak);
    CHECK_EQ(d.heap.grows.n, 1);
    CHECK_STR(trace_str(&t, d.heap.grows.p[0].where), want);
    CHECK_EQ(d.heap.grows.p[0].bytes, 40000);
    CHECK(d.heap.grows.p[0].steps >= 6);
    CHECK(d.heap.closed && d.heap.left.n >= 2);
    CHECK_EQ(d.heap.left.p[0].count, 8);
    CHECK_STR(trace_str(&t, d.heap.left.p[0].where), want);
    CHECK_EQ(d.mem_last, 0);
    struct str s;
    str_init(&s, &d.arena);
    report_memory(&s, &d, GROUP_LINE, 5);
    CHECK(strstr(s.p, "ALIVE AT rg_close") && strstr(s.p, "GROWS IN EACH STEP"));
    forget_profile();
}

TEST(profile_memory_snapshot_is_what_is_in_use) {
    struct net n = {.c = rg_open("CPU")};
    rg_memory m;
    net_open(&n);
    rg_tensor loss;
    CHECK_EQ(net_step(&n, NULL, &loss), RG_OK);
    CHECK(rg_item(loss) > 0);
    CHECK_EQ(rg_memory_snapshot(n.c, fresh_path()), RG_OK);
    CHECK_EQ(rg_memory_of(n.c, &m), RG_OK);
    read_profile();
    CHECK_EQ(d.mem_peak, m.held);
    CHECK_EQ(d.heap.blocks, m.blocks);
    CHECK_EQ(d.heap.kind[HEAP_PARAMETER], 4 * WEIGHTS);
    struct str s;
    str_init(&s, &d.arena);
    report_memory(&s, &d, GROUPS, 50);
    CHECK(strstr(s.p, "optimiser state"));
    str_init(&s, &d.arena);
    report_text(&s, &d, path);
    CHECK(strstr(s.p, "MEMORY  peak"));
    forget_profile();
    CHECK(rg_memory_snapshot(n.c, "/nowhere/at/all") != RG_OK);
    CHECK(strstr(rg_error(n.c), "/nowhere/at/all"));
    rg_clear_error(n.c);
    CHECK(rg_memory_snapshot(n.c, "") != RG_OK && rg_memory_snapshot(NULL, "x") != RG_OK);
    rg_close(n.c);
}

/* ---- pprof ------------------------------------------------------------------------------------------------------ */

static uint64_t get(const uint8_t **p) {
    uint64_t x = 0;
    for (int s = 0;; s += 7) {
        uint8_t b = *(*p)++;
        x |= (uint64_t)(b & 127) << s;
        if (!(b & 128)) return x;
    }
}

/* The stored blocks of a gzip file, one after another. */
static size_t unzip(const uint8_t *p, size_t n, uint8_t *out) {
    size_t at = 10, len = 0;
    CHECK(n > 18 && p[0] == 0x1f && p[1] == 0x8b && p[2] == 8);
    for (bool last = false; !last;) {
        last = p[at] & 1;
        size_t part = p[at + 1] | (size_t)p[at + 2] << 8;
        CHECK_EQ(p[at + 3] | p[at + 4] << 8, (int)(~part & 0xffff));
        memcpy(out + len, p + at + 5, part);
        len += part, at += 5 + part;
    }
    uint32_t size;
    memcpy(&size, p + at + 4, 4);
    CHECK_EQ(size, len);
    CHECK_EQ(at + 8, n);
    return len;
}

TEST(profile_memory_for_pprof_sums_to_the_peak) {
    struct net n = {.c = rg_open("CPU")};
    struct arena a;
    char *file;
    size_t bytes;
    uint64_t wrote;
    CHECK_EQ(rg_profile_start(n.c, fresh_path()), RG_OK);
    net_open(&n);
    rg_tensor loss;
    net_step(&n, NULL, &loss);
    CHECK(rg_item(loss) > 0);
    CHECK_EQ(rg_profile_stop(n.c), RG_OK);
    read_profile();
    char out[80];
    snprintf(out, sizeof out, "%s.pb.gz", path);
    CHECK_EQ(report_export(&err, &d, EXPORT_HEAP, out, &wrote), 0);
    arena_init(&a, &err);
    CHECK_EQ(os_read_file(&err, &a, out, (size_t)1 << 24, &file, &bytes), 0);
    CHECK_EQ(wrote, bytes);
    uint8_t *p = arena_raw(&a, bytes);
    size_t len = unzip((const uint8_t *)file, bytes, p);
    int64_t sum = 0;
    uint32_t samples = 0, strings = 0, functions = 0, locations = 0;
    bool found = false;
    for (const uint8_t *at = p, *end = p + len; at < end;) {
        uint64_t key = get(&at), size = get(&at); /* every field but one is bytes; that one is a number */
        if ((key & 7) == 0) continue;
        CHECK_EQ(key & 7, 2);
        const uint8_t *in = at, *stop = at + size;
        at = stop;
        if (key >> 3 == 2) { /* a sample: locations, then two values */
            samples++;
            CHECK_EQ(get(&in), 1 << 3 | 2);
            uint64_t ids = get(&in);
            CHECK(ids > 0);
            in += ids;
            CHECK_EQ(get(&in), 2 << 3 | 2);
            (void)get(&in);
            (void)get(&in); /* objects */
            sum += (int64_t)get(&in);
            CHECK(in == stop);
        }
        functions += key >> 3 == 5, locations += key >> 3 == 4, strings += key >> 3 == 6;
        found |= key >> 3 == 6 && size == 11 && !memcmp(in, "f32(300,64)", 11);
    }
    CHECK_EQ(sum, d.mem_peak);
    CHECK_EQ(samples, d.heap.peak.n);
    CHECK(strings > 10 && functions == locations && functions > 5 && found);
    unlink(out);
    arena_free(&a);
    forget_profile();
    rg_close(n.c);
}

/* ---- recording --------------------------------------------------------------------------------------------------- */

static uint32_t count_kind(int kind) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < t.n; i++) n += t.ev[i].kind == kind;
    return n;
}

TEST(profile_of_chosen_activities_has_nothing_else) {
    static const struct {
        uint32_t activities;
        bool calls, kernels, copies, memory, compiler;
    } of[] = {{0, 1, 1, 1, 1, 1},
              {RG_RECORD_KERNELS, 0, 1, 0, 0, 0},
              {RG_RECORD_CALLS | RG_RECORD_COPIES, 1, 0, 1, 0, 0},
              {RG_RECORD_MEMORY, 0, 0, 0, 1, 0},
              {RG_RECORD_COMPILER | RG_RECORD_WORKERS, 0, 0, 0, 0, 1}};
    for (size_t i = 0; i < RG_COUNT(of); i++) {
        rg_ctx *c = rg_open("CPU");
        float v[16] = {1}, out[16];
        CHECK_EQ(rg_profile_start(c, fresh_path(), .activities = of[i].activities), RG_OK);
        CHECK_EQ(rg_read(rg_exp(rg_from(c, RG_F32, v, RG_SHAPE(16))), out, sizeof out), RG_OK);
        rg_profile_step(c);
        CHECK_EQ(rg_profile_stop(c), RG_OK);
        read_profile();
        CHECK_EQ(count_kind(TK_OP) > 0, of[i].calls);
        CHECK_EQ(count_kind(TK_KERNEL) > 0, of[i].kernels);
        CHECK_EQ(count_kind(TK_COPY) > 0, of[i].copies);
        CHECK_EQ(t.blocks.n > 0, of[i].memory);
        CHECK_EQ(count_kind(TK_PLAN) > 0, of[i].compiler);
        CHECK_EQ(count_kind(TK_STEP), 1);
        forget_profile();
        rg_close(c);
    }
}

/* Each worker says what it did; together that is the grid. A call has its shapes. */
TEST(profile_has_the_parts_of_workers_and_the_shapes_of_calls) {
    rg_ctx *c = rg_open("CPU");
    static float data[1 << 20];
    rg_tensor x = rg_from(c, RG_F32, data, RG_SHAPE(1024, 1024));
    CHECK_EQ(rg_profile_start(c, fresh_path()), RG_OK);
    CHECK_EQ(rg_realize(rg_exp(x)), RG_OK);
    CHECK_EQ(rg_profile_stop(c), RG_OK);
    read_profile();
    bool shapes = false;
    int64_t first = INT64_MAX, last = 0, k0 = 0, k1 = 0;
    for (uint32_t i = 0; i < t.n; i++) {
        const struct trace_event *e = &t.ev[i];
        if (e->kind == TK_OP && !strcmp(trace_str(&t, e->name), "rg_exp"))
            shapes = !strcmp(trace_str(&t, e->aux), "\tf32(1024,1024) -> f32(1024,1024)");
        if (e->kind == TK_KERNEL) k0 = e->t0, k1 = trace_end(e);
        if (e->kind != TK_PART) continue;
        CHECK(e->args > 0 && e->corr < 256);
        first = RG_MIN(first, e->t0), last = RG_MAX(last, trace_end(e));
    }
    CHECK(shapes);
    if (pool_threads(pool_get()) > 1) CHECK(count_kind(TK_PART) >= 1 && first >= k0 && last <= k1);
    forget_profile();
    rg_close(c);
}

TEST(profile_of_the_flight_recorder_names_lines) {
    rg_ctx *c = rg_open("CPU");
    float v[100] = {0}, out[100];
    event_reset();
    int line = __LINE__ + 1;
    CHECK_EQ(rg_read(rg_exp(rg_from(c, RG_F32, v, RG_SHAPE(100))), out, sizeof out), RG_OK);
    CHECK(!event_recording());
    CHECK_EQ(rg_flight_dump(fresh_path()), RG_OK);
    read_profile();
    char want[40];
    snprintf(want, sizeof want, "profile_memory.c:%d", line);
    CHECK_EQ(d.kernel_count, 1);
    CHECK_STR(trace_str(&t, d.kernels.p[0].where), want);
    CHECK_STR(trace_str(&t, d.kernels.p[0].op), "exp");
    CHECK_EQ(t.missing_records, 0);
    forget_profile();
    for (int i = 0; i < EVENT_RING + 10; i++) event_add(EVENT_RANGE, 0, 1000, 1000, 0, 0);
    CHECK_EQ(rg_flight_dump(path), RG_OK);
    read_profile();
    CHECK(t.missing_records >= 10); /* overwritten, and said so */
    forget_profile();
    CHECK(rg_flight_dump("/nowhere/at/all") != RG_OK && rg_flight_dump("") != RG_OK &&
          rg_flight_dump(NULL) != RG_OK);
    rg_close(c);
}

/* ---- programs that end badly --------------------------------------------------------------------------------------- */

enum ending { BY_SEGV, BY_ABORT, BY_EXIT, BY_RETURN_OF_FULL_DISK };

static void program(enum ending how) {
    rg_ctx *c = rg_open("CPU");
    float v[16] = {1}, out[16];
    if (rg_profile_start(c, path)) _exit(3);
    for (int i = 0; i < 5; i++) rg_read(rg_exp(rg_from(c, RG_F32, v, RG_SHAPE(16))), out, sizeof out);
    if (how == BY_SEGV) raise(SIGSEGV); /* as a bad store would: sanitizers keep those to themselves */
    if (how == BY_ABORT) abort();
    if (how == BY_EXIT) exit(7);
    uint64_t now = os_now_ns();
    for (int i = 0; i < 100000; i++) event_add(EVENT_RANGE, 0, now, now, i, 0); /* 4.8 MB */
    rg_read(rg_exp(rg_from(c, RG_F32, v, RG_SHAPE(16))), out, sizeof out);
    if (rg_status_of(c)) _exit(4); /* the program does not notice */
    if (rg_profile_stop(c) == RG_OK || !strstr(rg_error(c), "the profile ends early")) _exit(5);
    _exit(9);
}

TEST(profile_of_programs_that_end_badly_is_readable) {
    static const int expect[] = {
        [BY_SEGV] = -SIGSEGV, [BY_ABORT] = -SIGABRT, [BY_EXIT] = 7, [BY_RETURN_OF_FULL_DISK] = 9};
    fresh_path();
    for (int how = 0; how < (int)RG_COUNT(expect); how++) {
        pid_t pid = fork();
        if (!pid) {
            struct rlimit small = {1 << 20, 1 << 20}, no_core = {0, 0};
            setrlimit(RLIMIT_CORE, &no_core);
            signal(SIGXFSZ, SIG_IGN), signal(SIGSEGV, SIG_DFL), signal(SIGABRT, SIG_DFL);
            if (how == BY_RETURN_OF_FULL_DISK) setrlimit(RLIMIT_FSIZE, &small);
            program((enum ending)how);
        }
        int st;
        CHECK_EQ(waitpid(pid, &st, 0), pid);
        int got = WIFSIGNALED(st) ? -WTERMSIG(st) : WEXITSTATUS(st);
        if (got != expect[how]) FAIL("ending %d: status %d, expected %d", how, got, expect[how]);
        read_profile();
        CHECK_EQ(d.kernel_count, 5);
        CHECK(t.unfinished || how == BY_RETURN_OF_FULL_DISK);
        if (how == BY_RETURN_OF_FULL_DISK) CHECK(t.missing_records > 50000 && count_kind(TK_ANNOT) > 1000);
        forget_profile();
    }
}
