/* Tests of realize.c, plan_cache.c, key.c, debug.c and the devices without code: what is planned once, what is bound
 * anew, what is in the key, and that nothing is half-made when memory runs out. */
#include "engine/internal.h"
#include "event/event.h"
#include "test.h"

#include <stdlib.h>
#include <unistd.h>

static struct err err;
static struct arena arena;
static struct engine *en;
static struct realize_stats st;

static void settings(const char *name, const char *value) {
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
    env_reload();
}

static void setup(const struct device_ops *ops) {
    arena_init(&arena, &err);
    settings("RIDGE_MODEL", "tests/machine.txt");
    if (!ops && !os_find_program(&arena, "clang") && !os_find_program(&arena, "gcc") &&
        !os_find_program(&arena, "cc"))
        SKIP("no C compiler");
    en = engine_open(&err, ops);
    if (!en) FAIL("%s", err.msg);
}

/* ---- graphs ----------------------------------------------------------------------------------------------- */

struct prog { /* one tensor program in an ir of its own, as the api would import it */
    struct err err;
    struct arena arena;
    struct ir ir;
    struct realize r;
    void *buf[8], *result[8];
    int64_t var[4];
};

static void prog_open(struct prog *p) {
    memset(p, 0, sizeof *p);
    arena_init(&p->arena, &p->err);
    ir_init(&p->ir, &p->arena);
    p->r = (struct realize){.ir = &p->ir, .buf = p->buf, .result = p->result, .var = p->var};
}
static void prog_close(struct prog *p) { arena_free(&p->arena); }

static const uop *buffer(struct prog *p, int number, int64_t n) {
    const uop *dim = uop_idx(&p->ir, n);
    return uop_new(&p->ir, OP_BUFFER, DT_F32, 1, &dim, 1, ARG_INT(number));
}
static const uop *var(struct prog *p, uint32_t slot, const char *name) {
    const uop *bounds[2] = {uop_flt(&p->ir, DT_F32, -1000), uop_flt(&p->ir, DT_F32, 1000)};
    return uop_new(&p->ir, OP_VAR, DT_F32, 1, bounds, 2,
                   (union arg){.param = {slot, ir_sym(&p->ir, name, strlen(name))}});
}
static const uop *sum(struct prog *p, const uop *x) {
    const uop *src[2] = {x, uop_idx(&p->ir, 0)};
    return uop_new(&p->ir, OP_REDUCE_AXES, (enum dtype)x->dt, 1, src, 2, ARG_INT(OP_ADD));
}
static const uop *spread(struct prog *p, const uop *x, int64_t n) {
    return uop_mk(&p->ir, OP_EXPAND, (const uop *[]){x, uop_idx(&p->ir, n)}, 2, ARG_NONE);
}
static const uop *assign(struct prog *p, const uop *to, const uop *v) {
    return uop2(&p->ir, OP_ASSIGN, to, v);
}
static void want(struct prog *p, const uop *const *v, uint32_t n) {
    p->r.graph = uop_mk(&p->ir, OP_GRAPH, v, n, ARG_NONE);
}
#define WANT(p, ...) \
    want(p, (const uop *[]){__VA_ARGS__}, sizeof((const uop *[]){__VA_ARGS__}) / sizeof(const uop *))

static float *floats(int64_t n, float first, float step) {
    float *x = engine_alloc(en, &err, (size_t)n * sizeof *x);
    for (int64_t i = 0; i < n; i++) x[i] = first + step * (float)i;
    return x;
}
static void run(struct prog *p) {
    if (engine_realize(en, &err, &p->r, &st)) FAIL("%s", err.msg);
}

/* a*k + b over n elements with the number k in it */
static const uop *affine(struct prog *p, int64_t n, double k) {
    return uop2(&p->ir, OP_ADD, uop2(&p->ir, OP_MUL, buffer(p, 0, n), uop_flt(&p->ir, DT_F32, k)),
                buffer(p, 1, n));
}

/* Runs a*k + b on fresh memory and checks every element. */
static void affine_once(int64_t n, double k, bool cached) {
    struct prog p;
    prog_open(&p);
    WANT(&p, affine(&p, n, k));
    float *a = floats(n, 1, 1), *b = floats(n, 5, -1), *out = floats(n, 0, 0);
    p.buf[0] = a, p.buf[1] = b, p.result[0] = out;
    run(&p);
    CHECK_EQ(st.cached, cached);
    for (int64_t i = 0; i < n; i++) CHECK_NEAR(out[i], a[i] * k + b[i], 0);
    engine_free(en, a, (size_t)n * 4);
    engine_free(en, b, (size_t)n * 4);
    engine_free(en, out, (size_t)n * 4);
    prog_close(&p);
}

/* ---- known programs ------------------------------------------------------------------------------------------ */

TEST(realize_plans_once_and_binds_anew) {
    setup(NULL);
    affine_once(100, 2, false);
    CHECK(st.plan_ns && st.compile_ns && st.kernels == 1 && st.reads == 2 && st.writes == 1 &&
          st.bytes == 1200);
    uint64_t compiled = engine_stats(en).compiled + engine_stats(en).disk_hits;
    for (int i = 0; i < 5; i++) affine_once(100, 2, true);
    CHECK_EQ(st.compile_ns, 0);
    CHECK_EQ(engine_stats(en).compiled + engine_stats(en).disk_hits, compiled);
    CHECK_EQ(engine_totals(en).kernels, 6);
    CHECK_EQ(engine_totals(en).distinct, 1);
    CHECK_NEAR(engine_totals(en).bytes, 6 * 1200, 0);
    engine_close(en);
}

TEST(realize_key_has_the_whole_structure) {
    setup(NULL);
    affine_once(100, 2, false);
    affine_once(101, 2, false); /* another shape */
    affine_once(100, 3, false); /* another number */
    affine_once(100, 3, true);
    struct prog p;
    prog_open(&p);
    ir_sym(&p.ir, "a name that shifts the numbers of all others", 12); /* names count, not their numbers */
    const uop *x = buffer(&p, 0, 8), *v = var(&p, 0, "rate");
    WANT(&p, uop2(&p.ir, OP_MUL, x, v));
    float *a = floats(8, 1, 1), *out = floats(8, 0, 0), rate[2] = {3, -0.5f};
    p.buf[0] = a, p.result[0] = out;
    for (int i = 0; i < 2; i++) {
        memcpy(&p.var[0], &rate[i], 4); /* a number that changes is no new plan */
        run(&p);
        CHECK_EQ(st.cached, i);
        for (int k = 0; k < 8; k++) CHECK_NEAR(out[k], a[k] * rate[i], 0);
    }
    struct prog q;
    prog_open(&q);
    WANT(&q, uop2(&q.ir, OP_MUL, buffer(&q, 0, 8), var(&q, 0, "rate")));
    q.buf[0] = a, q.result[0] = out, q.var[0] = p.var[0];
    run(&q);
    CHECK(st.cached);
    prog_close(&p);
    prog_close(&q);
    engine_free(en, a, 32);
    engine_free(en, out, 32);
    engine_close(en);
}

TEST(realize_key_has_every_setting) {
    char threads[16]; /* other than what the machine has, and nothing from outside */
    snprintf(threads, sizeof threads, "%d", os_cores() + 1);
    settings("RIDGE_THREADS", NULL);
    setup(NULL);
    affine_once(64, 2, false);
    const char *const change[][2] = {{"RIDGE_NOOPT", "1"},           {"RIDGE_FASTMATH", "1"},
                                     {"RIDGE_RULE_OFF", "add_zero"}, {"RIDGE_MULTI", "0"},
                                     {"RIDGE_PLAN_RANK", "1"},       {"RIDGE_SPLIT", "0"},
                                     {"RIDGE_BATCH", "0"},           {"RIDGE_PLAN", "store"},
                                     {"RIDGE_PLAN", "fuse"},         {"RIDGE_THREADS", threads}};
    for (size_t i = 0; i < RG_COUNT(change); i++) {
        settings(change[i][0], change[i][1]);
        affine_once(64, 2, false);
        settings(change[i][0], NULL);
        affine_once(64, 2, true);
    }
    struct model m; /* another machine */
    model_guess(&m);
    strcpy(m.name, "another-machine");
    char *dir, path[300];
    CHECK(!os_temp_dir(&err, &arena, &dir));
    snprintf(path, sizeof path, "%s/machine", dir);
    CHECK(!model_save(&err, &arena, path, &m));
    settings("RIDGE_MODEL", path);
    affine_once(64, 2, false);
    settings("RIDGE_MODEL", "tests/machine.txt");
    affine_once(64, 2, true);
    settings("RIDGE_PLAN", "guess");
    struct prog p;
    prog_open(&p);
    WANT(&p, affine(&p, 64, 2));
    CHECK_EQ(engine_realize(en, &err, &p.r, &st), RG_EINVAL);
    CHECK_STR(err.msg, "RIDGE_PLAN=guess: expected cost, store or fuse");
    prog_close(&p);
    os_remove_tree(dir);
    engine_close(en);
}

/* 2 (x - mean(x)), every value stored: temporaries */
static void centre_once(int64_t n, bool cached) {
    struct prog p;
    prog_open(&p);
    const uop *x = buffer(&p, 0, n), *share = uop_flt(&p.ir, DT_F32, 1.0 / (double)n);
    const uop *mean = uop2(&p.ir, OP_MUL, sum(&p, x), share);
    const uop *centred = uop2(&p.ir, OP_SUB, x, spread(&p, mean, n));
    WANT(&p, uop2(&p.ir, OP_MUL, centred, uop_flt(&p.ir, DT_F32, 2)));
    float *a = floats(n, 0, 1), *out = floats(n, 0, 0);
    p.buf[0] = a, p.result[0] = out;
    run(&p);
    CHECK_EQ(st.cached, cached);
    CHECK_EQ(st.kernels, 4);
    CHECK(st.scratch >= (n + 1) * 4);
    for (int64_t i = 0; i < n; i++) CHECK_NEAR(out[i], 2 * ((double)i - (double)(n - 1) / 2), 0);
    engine_free(en, a, (size_t)n * 4);
    engine_free(en, out, (size_t)n * 4);
    prog_close(&p);
}

TEST(realize_temporaries_are_shared) {
    setup(NULL);
    settings("RIDGE_PLAN", "store");
    centre_once(64, false);
    CHECK_EQ(en->plans.temp_bytes, st.scratch);
    centre_once(4096, false); /* more: another block */
    size_t most = en->plans.temp_bytes;
    CHECK(most >= 4096 * 4);
    centre_once(64, true); /* bound to the new one */
    centre_once(4096, true);
    CHECK_EQ(en->plans.temp_bytes, most);
    engine_close(en);
}

TEST(realize_results_that_are_elsewhere) {
    setup(NULL);
    struct prog p;
    prog_open(&p);
    const uop *x = buffer(&p, 0, 6), *dims[2] = {uop_idx(&p.ir, 2), uop_idx(&p.ir, 3)};
    const uop *view = uop_mk(&p.ir, OP_RESHAPE, (const uop *[]){x, dims[0], dims[1]}, 3, ARG_NONE);
    const uop *twice = uop2(&p.ir, OP_ADD, x, x);
    WANT(&p, twice, view, x, twice); /* a view of a buffer, the buffer, the same value again */
    float *a = floats(6, 1, 1), *o0 = floats(6, 0, 0), *o1 = floats(6, 0, 0), *o3 = floats(6, 0, 0);
    p.buf[0] = a, p.result[0] = o0, p.result[1] = o1, p.result[3] = o3;
    for (int round = 0; round < 2; round++) {
        memset(o0, 0, 24), memset(o1, 0, 24), memset(o3, 0, 24);
        run(&p);
        CHECK_EQ(st.cached, round);
        for (int i = 0; i < 6; i++) CHECK(o0[i] == 2 * a[i] && o1[i] == a[i] && o3[i] == 2 * a[i]);
    }
    prog_close(&p);
    engine_close(en);
}

TEST(realize_nothing_to_do) {
    setup(NULL);
    struct prog p;
    prog_open(&p);
    const uop *x = buffer(&p, 0, 3), *empty = buffer(&p, 1, 0);
    WANT(&p, x, uop2(&p.ir, OP_ADD, empty, empty));
    float *a = floats(3, 1, 1), *none = floats(1, 7, 0);
    p.buf[0] = a, p.buf[1] = none, p.result[1] = none;
    for (int i = 0; i < 2; i++) {
        run(&p);
        CHECK(st.cached == i && a[2] == 3 && none[0] == 7);
    }
    CHECK_EQ(engine_stats(en).compiled + engine_stats(en).disk_hits, st.kernels);
    prog_close(&p);
    engine_close(en);
}

TEST(realize_assigns_in_place) {
    setup(NULL);
    struct prog p;
    prog_open(&p);
    const uop *x = buffer(&p, 0, 100), *y = buffer(&p, 1, 100);
    WANT(&p, assign(&p, x, uop2(&p.ir, OP_ADD, x, y)));
    float *a = floats(100, 0, 1), *b = floats(100, 10, 0);
    p.buf[0] = a, p.buf[1] = b;
    for (int i = 1; i <= 3; i++) {
        run(&p);
        for (int k = 0; k < 100; k++) CHECK_NEAR(a[k], k + 10 * i, 0);
    }
    prog_close(&p);
    engine_close(en);
}

TEST(realize_evicts_what_was_not_used_for_longest) {
    setup(NULL);
    affine_once(10, 2, false);
    en->plans.most = 4;
    int64_t live = 0;
    for (int round = 0; round < 3; round++) {
        for (int64_t n = 20; n < 30; n++) {
            affine_once(n, 2, false);
            affine_once(10, 2, true); /* used all the time: stays */
            CHECK(en->plans.n <= 4);
        }
        if (round) CHECK_EQ(mem_live(), live); /* flat */
        live = mem_live();
    }
    CHECK_EQ(en->plans.evicted, 30 - 3);
    CHECK(en->plans.bytes <= en->plans.n * (16 << 10)); /* a thousand plans of small programs are a few MB */
    en->plans.most_bytes = 1;                           /* the newest always stays: it is about to run */
    affine_once(11, 2, false);
    CHECK_EQ(en->plans.n, 1);
    affine_once(11, 2, true);
    engine_close(en);
    settings("RIDGE_PLANS", "0");
    en = engine_open(&err, NULL);
    for (int i = 0; i < 3; i++) affine_once(11, 2, false);
    CHECK_EQ(en->plans.n, 1);
    engine_close(en);
}

/* ---- planning only ---------------------------------------------------------------------------------------------- */

TEST(realize_plan_runs_nothing) {
    setup(NULL);
    struct prog p;
    prog_open(&p);
    WANT(&p, affine(&p, 1000, 2));
    if (engine_plan(en, &err, &p.r, &st)) FAIL("%s", err.msg);
    CHECK(st.kernels == 1 && st.distinct == 1 && st.reads == 2 && st.writes == 1 && st.bytes == 12000 &&
          st.ops == 2000);
    CHECK(st.predicted > 0 && !st.cached && !st.run_ns && !st.compile_ns);
    CHECK_EQ(engine_stats(en).compiled + engine_stats(en).disk_hits, 0);
    CHECK_EQ(engine_totals(en).kernels, 0);
    prog_close(&p);
    affine_once(1000, 2, false); /* a plan that only counted is none to run */
    prog_open(&p);
    WANT(&p, affine(&p, 1000, 2));
    CHECK(!engine_plan(en, &err, &p.r, &st) && st.cached && st.bytes == 12000);
    prog_close(&p);
    engine_close(en);
}

TEST(realize_null_plans_what_fits_nowhere) {
    setup(&device_null);
    struct prog p;
    prog_open(&p);
    int64_t n = (int64_t)1 << 36; /* a quarter of a terabyte */
    WANT(&p, affine(&p, n, 2));
    p.buf[0] = engine_alloc(en, &err, 64), p.buf[1] = p.buf[0], p.result[0] = floats(16, 7, 0);
    run(&p);
    CHECK(st.kernels == 1 && st.bytes == 12.0 * (double)n && !st.run_ns);
    CHECK_EQ(((float *)p.result[0])[3], 7);
    run(&p);
    CHECK(st.cached);
    CHECK_EQ(engine_stats(en).compiled, 0);
    prog_close(&p);
    engine_close(en);
}

TEST(realize_ref_computes_without_a_plan) {
    setup(&device_ref);
    struct prog p;
    prog_open(&p);
    const uop *x = buffer(&p, 0, 5), *y = buffer(&p, 1, 5), *swap_x = assign(&p, x, y),
              *swap_y = assign(&p, y, x);
    WANT(&p, swap_x, uop2(&p.ir, OP_ADD, x, y), swap_y, sum(&p, x), x);
    float *a = floats(5, 0, 1), *b = floats(5, 10, 1), *both = floats(5, 0, 0), *total = floats(1, 0, 0);
    p.buf[0] = a, p.buf[1] = b, p.result[1] = both, p.result[3] = total;
    run(&p);
    for (int i = 0; i < 5; i++) CHECK(a[i] == 10 + i && b[i] == i && both[i] == 10 + 2 * i);
    CHECK_EQ(total[0], 10);
    CHECK_EQ(st.kernels, 0);
    prog_close(&p);
    engine_close(en);
}

TEST(realize_ref_writes_assigns_that_are_not_read) {
    setup(&device_ref);
    struct prog p;
    prog_open(&p);
    const uop *x = buffer(&p, 0, 4), *one = uop_flt(&p.ir, DT_F32, 1);
    const uop *first = assign(&p, x, uop2(&p.ir, OP_ADD, x, one)); /* x+1, then from that 2(x+1) */
    const uop *second = assign(&p, first, uop2(&p.ir, OP_ADD, first, first));
    WANT(&p, uop2(&p.ir, OP_ADD, first, one), uop2(&p.ir, OP_MUL, second, second), first);
    float *a = floats(4, 0, 1), *o0 = floats(4, 0, 0), *o1 = floats(4, 0, 0);
    p.buf[0] = a, p.result[0] = o0, p.result[1] = o1;
    run(&p);
    for (int i = 0; i < 4; i++)
        CHECK(a[i] == 2 * (i + 1) && o0[i] == i + 2 && o1[i] == 4 * (i + 1) * (i + 1));
    prog_close(&p);
    engine_close(en);
}

/* ---- failures ------------------------------------------------------------------------------------------------------ */

struct life {
    const struct device_ops *ops;
    struct prog p;
    struct err err;
    float a[50], b[50], out[50];
    int runs; /* that went well */
};

static void build(void *arg) {
    struct life *l = arg;
    struct prog *p = &l->p;
    ir_init(&p->ir, &p->arena);
    const uop *x = buffer(p, 0, 50), *mean = uop1(&p->ir, OP_CONTIGUOUS, sum(p, x));
    WANT(p, uop2(&p->ir, OP_SUB, x, spread(p, mean, 50)), assign(p, buffer(p, 1, 50), x));
    p->buf[0] = l->a, p->buf[1] = l->b, p->result[0] = l->out;
    for (int i = 0; i < 50; i++) l->a[i] = (float)i, l->b[i] = 0, l->out[i] = 0;
}

static int realize_twice(struct life *l, struct engine *e) {
    memset(&l->p, 0, sizeof l->p);
    arena_init(&l->p.arena, &l->p.err);
    l->p.r = (struct realize){.ir = &l->p.ir, .buf = l->p.buf, .result = l->p.result, .var = l->p.var};
    int code = err_guard(&l->p.err, build, l);
    for (int i = 0; i < 2 && !code; i++) {
        code = engine_realize(e, &l->err, &l->p.r, NULL);
        l->runs += !code;
    }
    arena_free(&l->p.arena);
    if (!code && l->ops != &device_null)
        for (int i = 0; i < 50; i++) CHECK(l->out[i] == (float)i - 1225 && l->b[i] == (float)i);
    return code;
}

static int whole_life(struct life *l) {
    struct engine *e = engine_open(&l->err, l->ops);
    int code = e ? realize_twice(l, e) : l->err.code;
    engine_close(e);
    return code;
}

/* Out of memory at every allocation from opening to closing: an error that says so, nothing lost. */
static int sweep(const struct device_ops *ops) {
    struct life l = {.ops = ops};
    for (int i = 0; i < 2; i++) { /* fills the disk cache, and what is made once per process */
        err_clear(&l.err);
        if (whole_life(&l)) FAIL("%s%s", l.err.msg, l.p.err.msg);
    }
    int64_t at = 1, live = mem_live();
    for (int code = RG_ENOMEM; code; at++) {
        l.err = (struct err){0};
        mem_fail_at(at);
        code = whole_life(&l);
        mem_fail_at(-1);
        if (code && code != RG_ENOMEM)
            FAIL("allocation %lld fails: status %d, %s", (long long)at, code, l.err.msg);
        CHECK_EQ(mem_live(), live);
        CHECK(at < 5000);
    }
    return (int)at;
}

TEST_SLOW(realize_out_of_memory, 300) {
    setup(NULL);
    engine_close(en);
    int n = sweep(NULL);
    settings("RIDGE_PLAN", "store"); /* temporaries */
    n += sweep(NULL);
    settings("RIDGE_MODEL", NULL); /* a model that is not read from a file we name */
    n += sweep(NULL) + sweep(&device_null) + sweep(&device_ref);
    CHECK(n > 60);
    TEST_COUNT(n, "allocations made to fail while realizing");
}

/* The same engine goes on after each failure: no half-made plan is in its cache. */
TEST_SLOW(realize_goes_on_after_failures, 300) {
    setup(NULL);
    struct life l = {0};
    if (realize_twice(&l, en)) FAIL("%s", l.err.msg);
    int failed = 0;
    for (int64_t at = 1; at < 60; at++) {
        engine_close(en);
        err_clear(&err);
        en = engine_open(&err, NULL);
        CHECK(en);
        l.err = (struct err){0};
        mem_fail_at(at);
        int code = realize_twice(&l, en);
        mem_fail_at(-1);
        failed += code != 0;
        uint32_t plans = en->plans.n;
        l.err = (struct err){0};
        if (realize_twice(&l, en)) FAIL("after allocation %lld failed: %s", (long long)at, l.err.msg);
        CHECK(plans <= 1 && en->plans.n == 1);
    }
    CHECK(failed > 5);
    engine_close(en);
}

/* A number that changes at each call: said once, with the line, after some plans. */
TEST(realize_warns_about_numbers_that_change) {
    setup(NULL);
    for (int i = 0; i < 8; i++) affine_once(16, 2 + i, false);
    CHECK_STR(engine_warnings(en), "");
    affine_once(16, 0.25, false);
    const char *said = engine_warnings(en);
    CHECK(strstr(said, "because a number in it changes (now 0.25); make it an rg_scalar"));
    size_t n = strlen(said);
    for (int i = 0; i < 9; i++) affine_once(16, 100 + i, false);
    CHECK_EQ(strlen(engine_warnings(en)), n);
    engine_close(en);
}

TEST(realize_graph_errors_are_the_callers) {
    setup(NULL);
    struct prog p;
    prog_open(&p);
    const uop *bad = uop2(&p.ir, OP_ADD, buffer(&p, 0, 4), buffer(&p, 1, 5)); /* shapes that do not agree */
    WANT(&p, bad);
    CHECK(engine_realize(en, &err, &p.r, &st) == RG_EVERIFY && strstr(err.msg, "ADD"));
    CHECK_EQ(en->plans.n, 0);
    err_clear(&err);
    prog_close(&p);
    affine_once(4, 2, false);
    engine_close(en);
}

/* ---- what it says ---------------------------------------------------------------------------------------------------- */

static void site(void *cx, struct str *s, const uint32_t *node, uint32_t n) {
    struct prog *p = cx;
    bool add = false;
    for (uint32_t i = 0; i < n; i++) add |= p->ir.node[node[i]]->op == OP_ADD;
    if (add) str_add(s, "affine model.c:31");
}

/* Runs a*2 + b twice with DEBUG at the level; what was printed to stderr. */
static char *said(const char *level, const struct device_ops *ops) {
    char path[] = "/tmp/ridge-said-XXXXXX", *text;
    int fd = mkstemp(path), old = dup(2);
    size_t n;
    CHECK(fd >= 0);
    fflush(stderr);
    dup2(fd, 2);
    settings("RIDGE_DEBUG", level);
    arena_free(&arena); /* what the call before said */
    setup(ops);
    for (int i = 0; i < 2; i++) {
        struct prog p;
        prog_open(&p);
        if (i)
            ir_sym(&p.ir, "other numbers", 13), uop_flt(&p.ir, DT_F64, 3); /* ids differ, the site must not */
        WANT(&p, affine(&p, 256, 2));
        p.r.site = site, p.r.cx = &p;
        p.buf[0] = floats(256, 0, 1), p.buf[1] = floats(256, 0, 1), p.result[0] = floats(256, 0, 1);
        int code = engine_copy(en, &err, COPY_IN, p.buf[0], p.buf[1], 1024);
        if (!code) code = engine_realize(en, &err, &p.r, NULL);
        if (!code) code = engine_copy(en, &err, COPY_OUT, p.buf[1], p.result[0], 1024);
        prog_close(&p);
        if (code) break;
    }
    engine_close(en);
    settings("RIDGE_DEBUG", NULL);
    dup2(old, 2);
    struct err e = {0};
    if (os_read_file(&e, &arena, path, 16 << 20, &text, &n)) FAIL("%s", e.msg);
    os_remove(path);
    if (err.code) FAIL("%s", err.msg);
    return text;
}

static int times(const char *text, const char *what) {
    int n = 0;
    for (const char *s = text; (s = strstr(s, what)); s++) n++;
    return n;
}

TEST(realize_debug_levels) {
    CHECK_STR(said("0", NULL), "");
    char *t = said("1", NULL);
    CHECK(times(t, "opened device CPU from pid:") == 1 && times(t, "scheduled     1 kernels in") == 2);
    CHECK(times(t, "cache miss") == 1 && times(t, "cache hit") == 1 && times(t, "***") == 0);
    CHECK(times(t, "avg:") == 1 && strstr(t, "total:     8 operations     2 kernels"));
    t = said("2", NULL);
    CHECK(times(t, "\n*** ") == 8 && times(t, "*** CPU        2 E_") == 1 &&
          times(t, "*** CPU        6 E_") == 1);
    CHECK(times(t, "copy     1024 B,     CPU <- EXT") == 2 &&
          times(t, "copy     1024 B,     EXT <- CPU") == 2);
    CHECK(times(t, "*** EXT        3 synchronize  ") == 1 && times(t, " synchronize  ") == 2);
    CHECK(times(t, "% of roof, overhead  [affine model.c:31]\n") == 2 && times(t, "opts:") == 0);
    CHECK(times(t, "\033") == 0);
    t = said("3", NULL);
    CHECK(times(t, "opts:") == 1 && times(t, "<- ") >= 5 && times(t, "void E_") == 0);
    t = said("4", NULL);
    CHECK(times(t, "void E_") >= 1 && times(t, "(SINK") == 0);
    t = said("5", NULL);
    CHECK(times(t, "kernel E_") >= 1 && times(t, "; after") == 0);
    t = said("6", NULL);
    CHECK(times(t, "; after loop-tree") == 1 && times(t, "; after linearize") == 1 && times(t, ".text") == 0);
    CHECK(times(said("7", NULL), ".text") >= 1);
}

TEST(realize_debug_on_devices_without_code) {
    char *t = said("7", &device_null);
    CHECK(strstr(t, "opened device NULL") && strstr(t, "opts:") && strstr(t, "void E_"));
    CHECK(strstr(t, "the NULL device has no assembly") && !strstr(t, "of roof"));
    t = said("2", &device_ref);
    CHECK(strstr(t, "*** REF        2 graph of 1 values") && !strstr(t, "scheduled"));
}

/* On an empty cache a program is planned and lowered; a second engine finds its plan on disk and only runs. */
TEST(realize_leaves_events) {
    char dir[] = "/tmp/ridge-events-XXXXXX";
    CHECK(mkdtemp(dir) != NULL);
    settings("RIDGE_CACHE_DIR", dir);
    for (int warm = 0; warm < 2; warm++) {
        setup(NULL);
        event_reset();
        affine_once(33, 2, false);
        affine_once(33, 2, true);
        struct event_list ev;
        event_snapshot(&arena, &ev);
        int plans = 0, kernels = 0, passes = 0;
        for (size_t i = 0; i < ev.n; i++) {
            plans += ev.p[i].kind == EVENT_PLAN && !strcmp(event_name_text(ev.p[i].name), "schedule") &&
                     ev.p[i].b == 1;
            passes += ev.p[i].kind == EVENT_PASS && ev.p[i].b > 0;
            kernels += ev.p[i].kind == EVENT_KERNEL && ev.p[i].a == 66 && ev.p[i].b == 396;
        }
        CHECK_EQ(kernels, 2);
        CHECK_EQ(plans, !warm);
        CHECK(warm ? passes == 0 : passes > 5);
        engine_close(en);
        arena_free(&arena);
    }
    os_remove_tree(dir);
}

TEST(device_by_name) {
    struct err e = {0};
    settings("RIDGE_DEVICE", NULL);
    settings("DEVICE", NULL);
    CHECK(device_find(&e, NULL) == &device_cpu && device_find(&e, "cpu") == &device_cpu);
    CHECK(device_find(&e, "REF") == &device_ref && device_find(&e, "Null") == &device_null);
    settings("RIDGE_DEVICE", "ref");
    CHECK(device_find(&e, NULL) == &device_ref && device_find(&e, "CPU") == &device_cpu && !e.code);
    settings("RIDGE_DEVICE", "TPU");
    CHECK(!device_find(&e, "") && e.code == RG_EINVAL &&
          strstr(e.msg, "RIDGE_DEVICE: no device is called \"TPU\""));
}
