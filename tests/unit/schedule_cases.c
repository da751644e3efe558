/* Programs that random ones do not reach, or reached once and were planned wrongly: written as text, planned, and run
 * by the interpreter against the oracle under every way to plan and to lower. Random programs are small; what begins
 * with large tensors (reductions in two levels, tables of tasks) is here. */
#include "planned.h"
#include "test.h"

struct text_case {
    struct err err;
    struct arena arena;
    struct ir ir;
    const char *text;
    struct sched_opts opts;
    struct planned_run run;
    struct str why;
    bool exact, ok;
};

static void case_run(void *arg) {
    struct text_case *c = arg;
    struct program p;
    ir_init(&c->ir, &c->arena);
    str_init(&c->why, &c->arena);
    ir_parse(&c->ir, c->text, strlen(c->text), "case.uop", &p);
    c->run.arena = &c->arena, c->run.ir = &c->ir, c->run.opts = &c->opts, c->run.seed = 7;
    c->run.graph = p.kernel.p[0].sink;
    c->run.data = graph_fill(&c->arena, &c->ir, c->run.graph, 7, c->exact);
    planned_plan(&c->run);
    planned_memory(&c->run);
    planned_interpret(&c->run);
    c->ok = planned_check(&c->run, &c->why, NULL, NULL);
}

/* One plan of a program; returns how many calls it has. */
static uint32_t plan_as(const char *text, bool exact, enum plan_mode mode, enum opts_from from,
                        bool no_batch) {
    struct text_case c = {.text = text, .exact = exact, .run = {.from = from}};
    arena_init(&c.arena, &c.err);
    c.opts = (struct sched_opts){.model = planned_model(), .mode = mode, .no_batch = no_batch};
    if (err_guard(&c.err, case_run, &c)) FAIL("%s\n%s", c.err.msg, text);
    if (!c.ok) FAIL("%s\n%s", c.why.p, text);
    uint32_t calls = c.run.sched.call.n;
    arena_free(&c.arena);
    return calls;
}

/* All ways; calls of the best plan. */
static uint32_t planned(const char *text, bool exact) {
    plan_as(text, exact, PLAN_STORE_ALL, OPTS_NONE, true);
    plan_as(text, exact, PLAN_COST, OPTS_HEURISTIC, false);
    plan_as(text, exact, PLAN_COST, OPTS_RANDOM, false);
    return plan_as(text, exact, PLAN_COST, OPTS_NONE, false);
}

/* ---- batches ---------------------------------------------------------------------------------------------- */

/* Ten tensors, or numbers, are doubled: one call, or as many as a device with few parameters needs. */
TEST(schedule_cases_batches_fit_a_kernel) {
    static const struct {
        uint32_t most, calls;
    } row[] = {{0, 1}, {20, 1}, {8, 3}, {7, 4}, {2, 10}, {0, 1}, {8, 3}};
    for (size_t i = 0; i < RG_COUNT(row); i++) {
        struct text_case c = {.exact = true};
        struct str s;
        arena_init(&c.arena, &c.err);
        str_init(&s, &c.arena);
        str_add(&s, "kernel k\n(GRAPH");
        for (int k = 0; k < 10; k++)
            str_printf(&s, " (MUL (BUFFER<f32>[%d] %d) 2.0)", k, i < 5 ? 100 + k : 1);
        str_add(&s, ")\n");
        c.text = s.p;
        c.opts = (struct sched_opts){.model = planned_model(), .most_buffers = row[i].most};
        if (err_guard(&c.err, case_run, &c)) FAIL("%s", c.err.msg);
        if (!c.ok) FAIL("%s", c.why.p);
        CHECK_EQ(c.run.sched.call.n, row[i].calls);
        arena_free(&c.arena);
    }
}

/* ---- predicates ------------------------------------------------------------------------------------------------ */

/* What the second SHRINK takes is padding only: its load would have an index that is never valid. */
TEST(schedule_cases_a_load_that_never_happens) {
    planned("kernel k\n"
            "b1 = (BUFFER<f32>[1] 1 16 12)\n"
            "%6 = (REDUCE_AXES[MAX] b1 0 2)\n"
            "%8 = (PAD %6 0.0 0 1 0 1 2 0 0 0 0)\n"
            "%10 = (SHRINK %8 1 1 1 1 10 1 0 1 1)\n"
            "%14 = (PAD (SHRINK %10 0 1 2 0 5 1 0 1 1) 1.0 1 0 0 0 0 0 0 0 2)\n"
            "%15 = (REDUCE_AXES[MAX] %14 0 1 2)\n"
            "%18 = (PAD %10 0.0 0 0 0 0 0 0 1 1 0)\n"
            "(GRAPH (MUL (RESHAPE %15) %8) (MUL (CAST<u32> %18) 2) (FLOOR %18))\n",
            true);
}

/* ---- reductions in two levels -------------------------------------------------------------------------------- */

TEST(schedule_cases_split_sum) {
    uint32_t calls =
        planned("kernel k\nb0 = (BUFFER<f32>[0] 512 512)\n(GRAPH (REDUCE_AXES[ADD] b0 0 1))\n", true);
    CHECK_EQ(calls, 2);
}

/* No block divides a prime: the last one is padded with the identity. All elements are negative. */
TEST(schedule_cases_split_of_a_prime) {
    planned("kernel k\nb0 = (BUFFER<f32>[0] 262147)\n(GRAPH (REDUCE_AXES[MAX] (SUB b0 9.0) 0))\n", true);
    planned("kernel k\nb0 = (BUFFER<i32>[0] 262147)\n(GRAPH (REDUCE_AXES[ADD] b0 0))\n", true);
}

TEST(schedule_cases_split_of_one_axis) {
    planned("kernel k\nb0 = (BUFFER<i32>[0] 3 50000 2)\n(GRAPH (REDUCE_AXES[ADD] b0 1))\n", true);
}

/* Axes on both sides of the split one are reduced. */
TEST(schedule_cases_split_among_axes) {
    planned("kernel k\nb0 = (BUFFER<i32>[0] 2 3 9000 5)\n(GRAPH (REDUCE_AXES[ADD] b0 0 2 3))\n", true);
}

/* Partial sums are large and cancel: rounded to bf16 they would not. */
TEST(schedule_cases_split_sum_of_bf16) {
    planned("kernel k\nb0 = (BUFFER<bf16>[0] 131072)\n"
            "(GRAPH (REDUCE_AXES[ADD] (WHERE (LT (IOTA<i32> 131072) 65536) (ABS b0) (NEG (ABS b0))) 0))\n",
            true);
}

/* The blocks' means differ: most of the variance is between blocks. */
TEST(schedule_cases_split_variance) {
    planned("kernel k\nb0 = (BUFFER<f32>[0] 131072)\n"
            "x = (ADD b0 (MUL (CAST<f32> (IOTA<i32> 131072)) 0.001))\n"
            "m = (MUL (REDUCE_AXES[ADD] x 0) 0.00000762939453125)\n"
            "d = (SUB x (EXPAND m 131072))\n"
            "(GRAPH (REDUCE_AXES[ADD] (MUL d d) 0))\n",
            false);
}

/* ---- the same update of many tensors ---------------------------------------------------------------------------- */

/* Sizes: less than a task, one task and a bit, several. All share one number in memory. */
static const char updates[] =
    "kernel k\n"
    "s = (BUFFER<f32>[9])\n"
    "a = (BUFFER<f32>[0] 17)\nb = (BUFFER<f32>[1] 130 127)\nc = (BUFFER<f32>[2] 40000)\n"
    "x = (BUFFER<f32>[3] 17)\ny = (BUFFER<f32>[4] 130 127)\nz = (BUFFER<f32>[5] 40000)\n"
    "(GRAPH (NEG s) (ASSIGN a (ADD a (MUL x s))) (ASSIGN b (ADD b (MUL y s)))\n"
    "  (ASSIGN c (ADD c (MUL z s))))\n";

TEST(schedule_cases_one_kernel_for_many_updates) {
    CHECK_EQ(planned(updates, true), 2);
    CHECK_EQ(plan_as(updates, true, PLAN_COST, OPTS_NONE, true), 4);
}

/* Two pairs of tensors, each with a number of its own: the kernels are alike but for what they share. */
TEST(schedule_cases_updates_by_different_numbers) {
    planned("kernel k\n"
            "s = (BUFFER<f32>[9])\nt = (BUFFER<f32>[8])\n"
            "a = (BUFFER<f32>[0] 17)\nb = (BUFFER<f32>[1] 130)\nc = (BUFFER<f32>[2] 40)\nd = (BUFFER<f32>[3] "
            "50)\n"
            "(GRAPH (NEG s) (NEG t) (ASSIGN a (MUL a s)) (ASSIGN b (MUL b s)) (ASSIGN c (MUL c t)) (ASSIGN d "
            "(MUL d t)))\n",
            true);
}

/* A second round of updates reads what the first wrote: two calls, the second after the first. */
TEST(schedule_cases_updates_that_wait_for_updates) {
    uint32_t calls = planned("kernel k\n"
                             "a = (BUFFER<f32>[0] 17)\nb = (BUFFER<f32>[1] 1000)\n"
                             "u = (ASSIGN a (MUL a 2.0))\nv = (ASSIGN b (MUL b 2.0))\n"
                             "(GRAPH (ASSIGN u (MUL u 2.0)) (ASSIGN v (MUL v 2.0)))\n",
                             true);
    CHECK_EQ(calls, 2);
}

/* ---- sums of 16-bit floats ------------------------------------------------------------------------------------------ */

/* A running sum of small numbers in bf16 would stay at 256, in f16 at 2048. */
TEST(schedule_cases_16bit_sums_accumulate_in_float) {
    planned("kernel k\nb0 = (BUFFER<bf16>[0] 3 384)\n"
            "(GRAPH (REDUCE_AXES[ADD] (ABS b0) 1) (REDUCE_AXES[ADD] (CAST<f16> (MUL (ABS b0) 3.0)) 1))\n",
            true);
}

/* ---- regions ------------------------------------------------------------------------------------------------------- */

/* Parts of a program that look alike are planned once; these look alike but for a number, a view, an operation. */
TEST(schedule_cases_regions_that_are_nearly_alike) {
    planned("kernel k\na = (BUFFER<f32>[0] 40 3)\nb = (BUFFER<f32>[1] 40 3)\nc = (BUFFER<f32>[2] 40 3)\n"
            "d = (BUFFER<f32>[3] 40 3)\ne = (BUFFER<f32>[4] 40 3)\nf = (BUFFER<f32>[5] 40 3)\n"
            "(GRAPH (MUL a 2.0) (MUL b 3.0) (REDUCE_AXES[MAX] c 0) (REDUCE_AXES[MIN] d 0)\n"
            "  (NEG (SHRINK e 0 20 1 0 3 1)) (NEG (SHRINK f 20 20 1 0 3 1)))\n",
            true);
}

/* ---- rows that are alike --------------------------------------------------------------------------------------- */

/* Through views: 8 x 4 rows are alike, with ones beside them, times a matrix; one row is computed, then expanded. */
TEST(schedule_cases_sums_alike_rows_once) {
#define ALIKE_ROWS "(RESHAPE (PAD (EXPAND (BUFFER<f32>[1] 1 60 1) 32 60 1) 1.0 0 0 0 1 3 0 0 0 0) 4 8 64 1)"
#define ALIKE "(EXPAND (PERMUTE (ADD " ALIKE_ROWS " 1.0) 1 0 2 3) 8 4 64 16)"
#define MATRIX "(RESHAPE (BUFFER<f32>[0] 64 16) 1 1 64 16)"
    const char *text =
        "kernel k\n(GRAPH (REDUCE_AXES[ADD] (MUL " ALIKE " (EXPAND " MATRIX " 8 4 64 16)) 2))\n";
    CHECK_EQ(planned(text, true), 2);
}
TEST(schedule_cases_sums_alike_in_part) {
    /* an axis that is half of a merged one: the other half varies, or is reduced */
    planned("kernel k\nx = (RESHAPE (EXPAND (BUFFER<f32>[0] 1 16 64) 64 16 64) 1024 64)\n"
            "(GRAPH (REDUCE_AXES[ADD] x 1) (REDUCE_AXES[MAX] (RESHAPE x 64 16 64) 1 2))\n",
            true);
    planned("kernel k\nx = (RESHAPE (EXPAND (BUFFER<f32>[0] 1 1 128) 64 16 128) 32 32 128)\n"
            "(GRAPH (REDUCE_AXES[ADD] x 1) (REDUCE_AXES[MAX] (FLIP x 0 2) 2) (REDUCE_AXES[ADD] x 0 1))\n",
            true);
    planned("kernel k\nx = (SHRINK (EXPAND (BUFFER<f32>[0] 1 130) 300 130) 7 280 1 1 64 2)\n"
            "y = (EXPAND (RESHAPE (REDUCE_AXES[ADD] x 1) 280 1) 280 200)\n"
            "(GRAPH (REDUCE_AXES[ADD] (MUL y (EXPAND (BUFFER<f32>[1] 1 200) 280 200)) 1) "
            "(REDUCE_AXES[MAX] (PAD x 0.0 2 0 0 0 0 0) 1))\n",
            true);
}
