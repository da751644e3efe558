/* Concatenations, and results without anything in common, that are stored part by part beside other results of a part's
 * shape, in one iteration (store_output in src/schedule/rangeify.c): random shapes, planned for a CPU and for an H200, and
 * interpreted. */
#include "planned.h"
#include "test.h"

#include <stdlib.h>

struct parts_case {
    struct err err;
    struct arena arena;
    struct ir ir;
    const char *text;
    struct sched_opts opts;
    struct planned_run run;
    struct str why;
    bool ok;
};

static void case_run(void *arg) {
    struct parts_case *c = arg;
    struct program p;
    ir_init(&c->ir, &c->arena);
    str_init(&c->why, &c->arena);
    ir_parse(&c->ir, c->text, strlen(c->text), "case.uop", &p);
    c->opts.model = c->opts.gpu ? planned_h200() : planned_model();
    c->run = (struct planned_run){.arena = &c->arena,
                                  .ir = &c->ir,
                                  .opts = &c->opts,
                                  .from = c->opts.gpu ? OPTS_GPU : OPTS_HEURISTIC,
                                  .seed = 7};
    c->run.graph = p.kernel.p[0].sink;
    c->run.data = graph_fill(&c->arena, &c->ir, c->run.graph, 7, true);
    planned_plan(&c->run);
    planned_memory(&c->run);
    planned_interpret(&c->run);
    c->ok = planned_check(&c->run, &c->why, NULL, NULL);
}

static uint64_t state;
static uint32_t rnd(uint32_t n) { return (uint32_t)(hash_u64(state += 0x9e3779b97f4a7c15u) >> 33) % n; }

/* Part k of n along an axis, with zeros before and after it. */
static const char *padded(struct arena *a, const char *part, int k, int n, int axis, const int *d) {
    int before = k * d[axis], after = (n - 1 - k) * d[axis];
    return axis ? arena_printf(a, "(PAD %s -0.0 0 0 0 %d %d 0)", part, before, after)
                : arena_printf(a, "(PAD %s -0.0 %d %d 0 0 0 0)", part, before, after);
}

/* Parts of a state and what is made of them: n parts side by side, rounded or not, and a result that all parts have in common. */
static const char *program(struct arena *a, int n, int axis, const int *d, bool rounded) {
    static const char *const part[] = {"(ADD h x)", "(MUL h y)", "(MAX h z)", "(SUB x h)", "(NEG h)"};
    const char *cat = padded(a, part[0], 0, n, axis, d);
    for (int k = 1; k < n; k++) cat = arena_printf(a, "(ADD %s %s)", cat, padded(a, part[k], k, n, axis, d));
    return arena_printf(
        a,
        "kernel g\nx = (BUFFER<f32>[0] %d %d)\ny = (BUFFER<f32>[1] %d %d)\nz = (BUFFER<f32>[2] %d %d)\n"
        "h = (MUL (ADD x y) z)\n(GRAPH %s%s%s h)\n",
        d[0], d[1], d[0], d[1], d[0], d[1], rounded ? "(CAST<bf16> " : "", cat, rounded ? ")" : "");
}

TEST(schedule_stores_parts_together) {
    uint32_t count = getenv("SEEDS") ? (uint32_t)atoi(getenv("SEEDS")) : 40;
    for (uint32_t seed = 0; seed < count; seed++) {
        state = seed + (getenv("SEED") ? strtoull(getenv("SEED"), NULL, 10) : 1) * 1000;
        int n = 2 + (int)rnd(4), axis = (int)rnd(2), d[2] = {1 + (int)rnd(40), 2 + (int)rnd(80)};
        bool rounded = rnd(2);
        for (int gpu = 0; gpu < 2; gpu++) {
            struct parts_case c = {.opts.gpu = gpu};
            arena_init(&c.arena, &c.err);
            c.text = program(&c.arena, n, axis, d, rounded);
            if (err_guard(&c.err, case_run, &c)) FAIL("%s\n%s", c.err.msg, c.text);
            if (!c.ok) FAIL("%s\n%s", c.why.p, c.text);
            if (d[axis] > 1 && n <= 4) CHECK_EQ(c.run.sched.call.n, 1);
            arena_free(&c.arena);
        }
    }
}

/* A kernel of parts writes all of them: 4 and what they have in common, of three that are read. */
TEST(schedule_parts_are_priced_whole) {
    struct parts_case c = {0};
    arena_init(&c.arena, &c.err);
    c.text = program(&c.arena, 4, 1, (const int[]){32, 256}, false);
    if (err_guard(&c.err, case_run, &c)) FAIL("%s\n%s", c.err.msg, c.text);
    CHECK_EQ(c.run.sched.call.n, 1);
    CHECK_EQ((int64_t)c.run.sched.prog.p[0].bytes, (int64_t)(4 + 1 + 3) * 32 * 256 * 4);
    arena_free(&c.arena);
}

/* heads x size products of a matrix by vector x, with rotary positions or without. */
static const char *product(struct arena *a, int matrix, int heads, int size, int depth, bool rotary) {
    const char *y = arena_printf(
        a, "(RESHAPE (REDUCE_AXES[ADD] (MUL (CAST<f32> (BUFFER<bf16>[%d] %d %d)) (EXPAND x %d %d)) 1) %d %d)",
        matrix, heads * size, depth, heads * size, depth, heads, size);
    int half = size / 2;
    if (!rotary) return y;
    const char *l = arena_printf(a, "(SHRINK %s 0 %d 1 0 %d 1)", y, heads, half),
               *h = arena_printf(a, "(SHRINK %s 0 %d 1 %d %d 1)", y, heads, half, half),
               *c = arena_printf(a, "(EXPAND (BUFFER<f32>[4] 1 %d) %d %d)", half, heads, half),
               *s = arena_printf(a, "(EXPAND (BUFFER<f32>[5] 1 %d) %d %d)", half, heads, half);
    return arena_printf(a,
                        "(ADD (PAD (SUB (MUL %s %s) (MUL %s %s)) -0.0 0 0 0 0 %d 0) "
                        "(PAD (ADD (MUL %s %s) (MUL %s %s)) -0.0 0 0 0 %d 0 0))",
                        l, c, h, s, half, h, c, l, s, half);
}

/* Queries of `group` heads for each of keys and values, as (heads x group, size) or apart. */
static const char *projections(struct arena *a, int heads, int group, int size, int depth, bool rotary,
                               bool apart, bool norm) {
    const char *x = arena_printf(a, "(CAST<f32> (BUFFER<bf16>[0] 1 %d))", depth);
    if (norm)
        x = arena_printf(a,
                         "(MUL %s (EXPAND (RECIP (SQRT (ADD (REDUCE_AXES[ADD] (MUL %s %s) 1) "
                         "1.0))) 1 %d))",
                         x, x, x, depth);
    const char *q = product(a, 1, heads * group, size, depth, rotary),
               *k = product(a, 2, heads, size, depth, rotary), *v = product(a, 3, heads, size, depth, false);
    if (apart) q = arena_printf(a, "(RESHAPE %s %d %d %d)", q, heads, group, size);
    return arena_printf(a, "kernel g\nx = %s\n(GRAPH (CAST<bf16> %s) (CAST<bf16> %s) (CAST<bf16> %s))\n", x,
                        q, k, v);
}

/* Of equal sizes they are one kernel; of others, with rotary positions, values are right however they are cut. */
TEST(schedule_products_of_one_vector) {
    uint32_t count = getenv("SEEDS") ? (uint32_t)atoi(getenv("SEEDS")) : 16;
    for (uint32_t seed = 0; seed < count; seed++) {
        state = seed + (getenv("SEED") ? strtoull(getenv("SEED"), NULL, 10) : 1) * 1000;
        int heads = 2 + (int)rnd(7), group = 1 + (int)rnd(5), size = 2 * (16 + (int)rnd(32)),
            depth = (1 << 18) / (heads * group * size) + 1 + (int)rnd(100); /* of a GEMV */
        bool rotary = rnd(2), apart = rnd(2), norm = rnd(2);
        for (int gpu = 0; gpu < 2; gpu++) {
            struct parts_case c = {.opts = {.gpu = gpu, .mode = PLAN_FUSE_ALL}};
            arena_init(&c.arena, &c.err);
            c.text = projections(&c.arena, heads, group, size, depth, rotary, apart, norm);
            if (err_guard(&c.err, case_run, &c)) FAIL("%s\n%s", c.err.msg, c.text);
            if (!c.ok) FAIL("%s\n%s", c.why.p, c.text);
            if (gpu && group == 1 && c.run.sched.call.n != 1)
                FAIL("%u calls, group %d, norm %d, rotary %d\n%s", c.run.sched.call.n, group, norm, rotary,
                     c.text);
            arena_free(&c.arena);
        }
    }
}

/* Results that have nothing in common but that each takes no longer than a launch, one of them up to five times as large. What
 * waits for one of them, or takes longer, is a kernel of its own. */
TEST(schedule_joins_short_calls) {
    uint32_t count = getenv("SEEDS") ? (uint32_t)atoi(getenv("SEEDS")) : 40;
    for (uint32_t seed = 0; seed < count; seed++) {
        state = seed + (getenv("SEED") ? strtoull(getenv("SEED"), NULL, 10) : 1) * 1000;
        int x = 2 + (int)rnd(20), y = 2 + (int)rnd(70), parts = 1 + (int)rnd(5), where = (int)rnd(3);
        int d[3] = {x, y, parts}, order[3][3] = {{2, 0, 1}, {0, 2, 1}, {0, 1, 2}};
        for (int gpu = 0; gpu < 2; gpu++) {
            struct parts_case c = {.opts.gpu = gpu};
            arena_init(&c.arena, &c.err);
            const char *s = arena_printf(&c.arena, "%d %d %d", d[order[where][0]], d[order[where][1]],
                                         d[order[where][2]]);
            c.text = arena_printf(
                &c.arena,
                "kernel g\na = (CONTIGUOUS (NEG (BUFFER<f32>[0] %d %d)))\n"
                "b = (CONTIGUOUS (REDUCE_AXES[ADD] (BUFFER<f32>[1] 3 %d %d) 0))\n"
                "c = (CONTIGUOUS (MUL (BUFFER<bf16>[2] %s) (BUFFER<bf16>[3] %s)))\n(GRAPH a b c)\n",
                x, y, x, y, s, s);
            if (err_guard(&c.err, case_run, &c)) FAIL("%s\n%s", c.err.msg, c.text);
            if (!c.ok) FAIL("%s\n%s", c.why.p, c.text);
            if (gpu && c.run.sched.call.n != (parts > 4 ? 2u : 1u))
                FAIL("%u calls\n%s", c.run.sched.call.n, c.text);
            arena_free(&c.arena);
        }
    }
}
