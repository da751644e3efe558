/* Tests of src/schedule/peak.c: calls that run later, sooner or again so that fewer bytes live at once. Programs are planned as for an
 * H200, and small ones interpreted. tests/unit/schedule.c has random ones. */
#include "planned.h"
#include "test.h"

struct peak_case {
    struct err err;
    struct arena arena;
    struct ir ir;
    const char *text;
    struct sched_opts opts;
    struct planned_run run;
    struct str why;
    bool values, ok;
};

static void case_run(void *arg) {
    struct peak_case *c = arg;
    struct program p;
    ir_init(&c->ir, &c->arena);
    str_init(&c->why, &c->arena);
    ir_parse(&c->ir, c->text, strlen(c->text), "case.uop", &p);
    c->opts.model = planned_h200(), c->opts.gpu = true;
    c->run =
        (struct planned_run){.arena = &c->arena, .ir = &c->ir, .opts = &c->opts, .from = OPTS_GPU, .seed = 7};
    c->run.graph = p.kernel.p[0].sink;
    if (c->values) c->run.data = graph_fill(&c->arena, &c->ir, c->run.graph, 7, true);
    planned_plan(&c->run);
    if (!c->values) return;
    planned_memory(&c->run);
    planned_interpret(&c->run);
    c->ok = planned_check(&c->run, &c->why, NULL, NULL);
}

static void plan(struct peak_case *c) {
    if (err_guard(&c->err, case_run, c)) FAIL("%s\n%s", c->err.msg, c->text);
    if (c->values && !c->ok) FAIL("%s\n%s", c->why.p, c->text);
}

/* n x n products x that are kept, larger values w that are made from a row of x, and what reads x in the end. */
static const char *kept(struct arena *a, const char *n, const char *rows_of, const char *end) {
    static const char text[] =
        "kernel g\na = (EXPAND (RESHAPE (BUFFER<bf16>[0] # #) # 1 #) # # #)\n"
        "b = (EXPAND (RESHAPE (BUFFER<bf16>[1] # #) 1 # #) # # #)\n"
        "x = (CONTIGUOUS (RESHAPE (CAST<bf16> (REDUCE_AXES[ADD] (CAST<f32> (MUL a b)) 2)) # #))\n"
        "t = (CONTIGUOUS (PERMUTE x 1 0))\n"
        "s = (CONTIGUOUS (REDUCE_AXES[MAX] %s 1))\n"
        "w = (CONTIGUOUS (MAX (EXPAND (RESHAPE s 1 # 1) 4 # #) (BUFFER<bf16>[2] 4 # #)))\n"
        "v = (CONTIGUOUS (REDUCE_AXES[MAX] w 1 2))\n"
        "m = (CONTIGUOUS (REDUCE_AXES[MAX] (MIN w (EXPAND v 4 # #)) 0 1 2))\n"
        "c = (EXPAND (CONTIGUOUS (MUL (BUFFER<bf16>[3] 1 64 #) (EXPAND m 1 64 #))) # 64 #)\n"
        "d = (EXPAND (BUFFER<bf16>[3] 1 64 #) # 64 #)\n%s\n";
    struct str s;
    str_init(&s, a);
    for (const char *p = arena_printf(a, text, rows_of, end); *p; p++)
        if (*p == '#')
            str_add(&s, n);
        else
            str_addc(&s, *p);
    return s.p;
}

#define BY(x, y) "(REDUCE_AXES[ADD] (CAST<f32> (MUL (EXPAND (RESHAPE " x " # 1 #) # 64 #) " y ")) 2)"

#define LATER "(GRAPH " BY("x", "c") " " BY("t", "c") ")"
#define SOONER "(GRAPH m " BY("x", "d") ")"

/* A transposition that the end alone reads is made there; one that the beginning reads too is made again, but not where that moves a
 * twelfth of all bytes; a product with x runs before larger values are made. In elements of x: what lives at once. */
TEST(schedule_lowers_peak) {
    static const struct {
        const char *rows_of, *end;
        bool lean;
        uint32_t calls;
        double most;
    } job[] = {{"x", LATER, false, 12, 5.1},
               {"t", LATER, false, 12, 6.1},
               {"t", LATER, true, 13, 5.1},
               {"x", SOONER, false, 9, 4.1}};
    for (uint32_t i = 0; i < RG_COUNT(job); i++) {
        struct peak_case c = {.opts.lean = job[i].lean};
        arena_init(&c.arena, &c.err);
        c.text = kept(&c.arena, "2048", job[i].rows_of, job[i].end);
        plan(&c);
        CHECK_EQ(c.run.sched.call.n, job[i].calls);
        double most = (double)c.run.sched.temp_bytes / (2048 * 2048 * 2);
        if (most > job[i].most || most < job[i].most - 0.2) FAIL("program %u: %.2f values at once", i, most);
        arena_free(&c.arena);
    }
}

/* The same computes what it should. */
TEST(schedule_low_peak_values) {
    static const char *const end[] = {LATER, LATER, SOONER}, *const rows_of[] = {"x", "t", "x"};
    for (uint32_t i = 0; i < RG_COUNT(end); i++) {
        struct peak_case c = {.opts.lean = true, .values = true};
        arena_init(&c.arena, &c.err);
        c.text = kept(&c.arena, "32", rows_of[i], end[i]);
        plan(&c);
        arena_free(&c.arena);
    }
}
