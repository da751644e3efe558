/* ref_graph.c: the oracle of the tensor graph: values worked out by hand for every row, then what its bounds promise
 * (sums in many orders, functions at the edge of their error, every decision), then every error. */
#include "irtest.h"
#include "ref/ref.h"

#include <float.h>
#include <stdlib.h>

/* ---- programs ------------------------------------------------------------------------------------------- */

static const char leaves[] = "kernel k\n"
                             "x = (BUFFER<f32>[0] 2 3)\n"  /* 1 2 3 4 5 6 */
                             "n = (BUFFER<f32>[1] 4)\n"    /* nan 1 -2 inf */
                             "i = (BUFFER<i64>[2] 2 2)\n"  /* 0 2 1 1 */
                             "k = (BUFFER<i32>[3] 3)\n"    /* -7 7 100 */
                             "h = (BUFFER<f16>[4] 3)\n"    /* 2048 1 1 */
                             "c = (BUFFER<bool>[5] 2 3)\n" /* 1 0 1 0 0 1 */
                             "e = (BUFFER<f32>[6] 2 0)\n"
                             "z = (BUFFER<f32>[7])\n"      /* 2.5 */
                             "u = (BUFFER<u8>[8] 3)\n"     /* 250 5 255 */
                             "t = (BUFFER<f32>[9] 10)\n"   /* ten times 0.1 */
                             "b = (BUFFER<bf16>[10] 3)\n"  /* 256 1 1 */
                             "s = (VAR<idx>[0 s] 0 2)\n"   /* 1 */
                             "w = (VAR<f32>[1 w] 0 10)\n"; /* 2.5 */

struct run {
    struct ir_test t;
    const char *text;
    const uop *graph;
    struct ref_buf bufs[11];
    int64_t var[2];
    struct ref_tensor out[4];
};

static void put_buffer(struct run *r, uint32_t number, enum dtype dt, uint32_t n, const double *v) {
    char *p = arena_alloc(&r->t.arena, 64);
    for (uint32_t i = 0; i < n; i++) {
        union ref_val x = {.i = (int64_t)v[i]};
        if (dt_is_float(dt)) x.f = ref_round(dt, v[i]);
        ref_write(dt, p + i * dtype_info[dt].bytes, x);
    }
    r->bufs[number] = (struct ref_buf){.p = p, .bytes = n * dtype_info[dt].bytes};
}

static void parse_run(void *arg) {
    struct run *r = arg;
    struct program p;
    ir_parse(&r->t.ir, r->text, strlen(r->text), "t.uop", &p);
    r->graph = p.kernel.p[0].sink;
}

static void run_open(struct run *r, const char *graph) {
    float w = 2.5f;
    ir_test_open(&r->t);
    r->text = arena_printf(&r->t.arena, "%s(GRAPH %s)\n", leaves, graph);
    if (err_guard(&r->t.err, parse_run, r)) FAIL("%s", r->t.err.msg);
    put_buffer(r, 0, DT_F32, 6, (double[]){1, 2, 3, 4, 5, 6});
    put_buffer(r, 1, DT_F32, 4, (double[]){NAN, 1, -2, INFINITY});
    put_buffer(r, 2, DT_I64, 4, (double[]){0, 2, 1, 1});
    put_buffer(r, 3, DT_I32, 3, (double[]){-7, 7, 100});
    put_buffer(r, 4, DT_F16, 3, (double[]){2048, 1, 1});
    put_buffer(r, 5, DT_BOOL, 6, (double[]){1, 0, 1, 0, 0, 1});
    put_buffer(r, 6, DT_F32, 0, NULL);
    put_buffer(r, 7, DT_F32, 1, (double[]){2.5});
    put_buffer(r, 8, DT_U8, 3, (double[]){250, 5, 255});
    put_buffer(r, 9, DT_F32, 10, (double[]){.1, .1, .1, .1, .1, .1, .1, .1, .1, .1});
    put_buffer(r, 10, DT_BF16, 3, (double[]){256, 1, 1});
    r->var[0] = 1, r->var[1] = 0;
    memcpy(&r->var[1], &w, sizeof w);
}
static void run_close(struct run *r) { ir_test_close(&r->t); }

static int run_graph(struct run *r, bool bounds, size_t limit) {
    return ref_graph(&r->t.err, &r->t.arena, &r->t.ir, r->graph, r->bufs, RG_COUNT(r->bufs), r->var, bounds,
                     limit, r->out);
}

static double at(const struct ref_tensor *t, int64_t i) {
    return ref_number(t->dt, ref_read(t->dt, (char *)t->data + i * dtype_info[t->dt].bytes));
}

/* "(2, 3) 1 2 3 4 5 6" */
static const char *say(struct run *r, const struct ref_tensor *t) {
    struct str s;
    str_init(&s, &r->t.arena);
    shape_print(&s, t->shape);
    for (int64_t i = 0; i < shape_size(t->shape); i++) {
        if (isnan(at(t, i)))
            str_add(&s, " nan");
        else
            str_printf(&s, dt_is_float(t->dt) ? " %.9g" : " %.0f", at(t, i));
    }
    return s.p;
}

struct row {
    const char *expr, *value;
};
static void check_rows(const struct row *row, size_t n) {
    for (size_t k = 0; k < n; k++)
        for (int bounds = 0; bounds < 2; bounds++) {
            struct run r;
            run_open(&r, row[k].expr);
            if (run_graph(&r, bounds, 0)) FAIL("%s: %s", row[k].expr, r.t.err.msg);
            const char *got = say(&r, &r.out[0]);
            if (strcmp(got, row[k].value) != 0) FAIL("%s is %s, expected %s", row[k].expr, got, row[k].value);
            CHECK(!r.out[0].bound == !bounds && !r.out[0].unsure == !bounds);
            run_close(&r);
        }
}

/* ---- values -------------------------------------------------------------------------------------------------- */

TEST(ref_graph_leaves_and_movement) {
    static const struct row row[] = {
        {"x", "(2, 3) 1 2 3 4 5 6"},
        {"z", "() 2.5"},
        {"e", "(2, 0)"},
        {"7.5", "() 7.5"},
        {"s", "() 1"},
        {"w", "() 2.5"},
        {"(IOTA<f32> 3)", "(3) 0 1 2"},
        {"(REDUCE_AXES[MAX] (IOTA<u8> 300) 0)", "(1) 255"},
        {"(RESHAPE x 3 2)", "(3, 2) 1 2 3 4 5 6"},
        {"(RESHAPE z 1 1)", "(1, 1) 2.5"},
        {"(RESHAPE e 0 4)", "(0, 4)"},
        {"(PERMUTE x 1 0)", "(3, 2) 1 4 2 5 3 6"},
        {"(RESHAPE (PERMUTE x 1 0) 6)", "(6) 1 4 2 5 3 6"},
        {"(RESHAPE (PERMUTE (RESHAPE x 1 2 3) 0 2 1) 3 1 2)", "(3, 1, 2) 1 4 2 5 3 6"},
        {"(RESHAPE (SHRINK x 0 2 1 0 2 2) 4)", "(4) 1 3 4 6"},
        {"(EXPAND (RESHAPE z 1 1) 2 2)", "(2, 2) 2.5 2.5 2.5 2.5"},
        {"(RESHAPE (EXPAND (RESHAPE k 3 1) 3 2) 6)", "(6) -7 -7 7 7 100 100"},
        {"(EXPAND (RESHAPE z 1) 0)", "(0)"},
        {"(PAD x -1 1 0 0 0 1 1)", "(3, 6) -1 -1 -1 -1 -1 -1 1 -1 2 -1 3 -1 4 -1 5 -1 6 -1"},
        {"(PAD (EXPAND (RESHAPE z 1 1) 2 3) 0 1 0 0 0 0 0)", "(3, 3) 0 0 0 2.5 2.5 2.5 2.5 2.5 2.5"},
        {"(PAD e z 0 0 0 1 1 5)", "(2, 2) 2.5 2.5 2.5 2.5"},
        {"(PAD z 9)", "() 2.5"},
        {"(SHRINK x 0 2 1 0 2 2)", "(2, 2) 1 3 4 6"},
        {"(SHRINK x 1 1 1 s 1 1)", "(1, 1) 5"},
        {"(SHRINK x 0 0 1 2 1 1)", "(0, 1)"},
        {"(FLIP x 1)", "(2, 3) 3 2 1 6 5 4"},
        {"(FLIP x 0 1)", "(2, 3) 6 5 4 3 2 1"},
        {"(FLIP e 1)", "(2, 0)"},
        {"(RESHAPE (FLIP x 0 1) 6)", "(6) 6 5 4 3 2 1"},
        {"(SHRINK (FLIP (PERMUTE x 1 0) 0) 0 2 2 1 1 1)", "(2, 1) 6 4"},
        {"(CONTIGUOUS (PERMUTE x 1 0))", "(3, 2) 1 4 2 5 3 6"},
        {"(DETACH k)", "(3) -7 7 100"},
    };
    check_rows(row, RG_COUNT(row));
}

TEST(ref_graph_elementwise) {
    static const struct row row[] = {
        {"(ADD x x)", "(2, 3) 2 4 6 8 10 12"},
        {"(ADD z 1)", "() 3.5"},
        {"(SUB 1 x)", "(2, 3) 0 -1 -2 -3 -4 -5"},
        {"(MUL (RESHAPE (PERMUTE x 1 0) 2 3) x)", "(2, 3) 1 8 6 20 15 36"},
        {"(FMA x x z)", "(2, 3) 3.5 6.5 11.5 18.5 27.5 38.5"},
        {"(MUL z w)", "() 6.25"},
        {"(FDIV x 0)", "(2, 3) inf inf inf inf inf inf"},
        {"(IDIV k 2)", "(3) -4 3 50"},
        {"(MOD k 4)", "(3) 1 3 0"},
        {"(IDIV k 0)", "(3) 0 0 0"},
        {"(ADD u u)", "(3) 244 10 254"},
        {"(SHL u 9)", "(3) 0 0 0"},
        {"(MAX n 0)", "(4) nan 1 0 inf"},
        {"(MIN 0 n)", "(4) nan 0 -2 0"},
        {"(LT n 1)", "(4) 0 0 1 0"},
        {"(NE n n)", "(4) 1 0 0 0"},
        {"(WHERE c x 0)", "(2, 3) 1 0 3 0 0 6"},
        {"(WHERE true x z)", "(2, 3) 1 2 3 4 5 6"},
        {"(UNLIKELY c 0 x)", "(2, 3) 0 2 0 4 5 0"},
        {"(NOT c)", "(2, 3) 0 1 0 1 1 0"},
        {"(CAST<i32> (MUL x 0.5))", "(2, 3) 0 1 1 2 2 3"},
        {"(CAST<i32> n)", "(4) 0 1 -2 2147483647"},
        {"(CAST<u8> k)", "(3) 249 7 100"},
        {"(CAST<bool> k)", "(3) 1 1 1"},
        {"(ADD h h)", "(3) 4096 2 2"},
        {"(ADD h 0.75)", "(3) 2048 1.75 1.75"},
        {"(BITCAST<u32> (RESHAPE z 1))", "(1) 1075838976"},
        {"(SQRT (EXPAND (RESHAPE 4.0 1) 3))", "(3) 2 2 2"},
        {"(EXP e)", "(2, 0)"},
        {"(ADD (EXPAND (RESHAPE z 1 1) 2 3) (EXPAND (RESHAPE (CAST<f32> k) 1 3) 2 3))",
         "(2, 3) -4.5 9.5 102.5 -4.5 9.5 102.5"},
    };
    check_rows(row, RG_COUNT(row));
}

TEST(ref_graph_reductions_and_scans) {
    static const struct row row[] = {
        {"(REDUCE_AXES[ADD] x 1)", "(2, 1) 6 15"},
        {"(REDUCE_AXES[ADD] x 0)", "(1, 3) 5 7 9"},
        {"(REDUCE_AXES[ADD] x 0 1)", "(1, 1) 21"},
        {"(REDUCE_AXES[ADD] (FLIP (PERMUTE x 1 0) 0) 1)", "(3, 1) 9 7 5"},
        {"(REDUCE_AXES[MUL] x 1)", "(2, 1) 6 120"},
        {"(REDUCE_AXES[MAX] x 0)", "(1, 3) 4 5 6"},
        {"(REDUCE_AXES[MIN] x 1 0)", "(1, 1) 1"},
        {"(REDUCE_AXES[MAX] n 0)", "(1) nan"},
        {"(REDUCE_AXES[MIN] (SHRINK n 1 3 1) 0)", "(1) -2"},
        {"(REDUCE_AXES[ADD] (SHRINK n 1 3 1) 0)", "(1) inf"},
        {"(REDUCE_AXES[ADD] n 0)", "(1) nan"},
        {"(REDUCE_AXES[ADD] (MUL n (FLIP n 0)) 0)", "(1) nan"},
        {"(REDUCE_AXES[ADD] e 1)", "(2, 1) 0 0"},
        {"(REDUCE_AXES[MUL] e 1)", "(2, 1) 1 1"},
        {"(REDUCE_AXES[MAX] e 0)", "(1, 0)"},
        {"(REDUCE_AXES[ADD] c 1)", "(2, 1) 1 1"},
        {"(REDUCE_AXES[MUL] c 1)", "(2, 1) 0 0"},
        {"(REDUCE_AXES[ADD] u 0)", "(1) 254"},
        {"(REDUCE_AXES[MUL] k 0)", "(1) -4900"},
        {"(REDUCE_AXES[MAX] u 0)", "(1) 255"},
        {"(REDUCE_AXES[ADD] h 0)", "(1) 2050"}, /* f16 alone would stay at 2048 */
        {"(REDUCE_AXES[ADD] b 0)", "(1) 258"},
        {"(REDUCE_AXES[MUL] (EXPAND (RESHAPE 300.0:f16 1) 2) 0)", "(1) inf"},
        {"(SCAN_AXIS[ADD] x 1)", "(2, 3) 1 3 6 4 9 15"},
        {"(SCAN_AXIS[MUL] x 0)", "(2, 3) 1 2 3 4 10 18"},
        {"(SCAN_AXIS[MAX] (FLIP x 1) 1)", "(2, 3) 3 3 3 6 6 6"},
        {"(SCAN_AXIS[MIN] n 0)", "(4) nan nan nan nan"},
        {"(SCAN_AXIS[ADD] h 0)", "(3) 2048 2048 2050"}, /* 2049 is not an f16 */
        {"(SCAN_AXIS[ADD] (EXPAND (RESHAPE k 1 3) 2 3) 0)", "(2, 3) -7 7 100 -14 14 200"},
        {"(SCAN_AXIS[ADD] e 1)", "(2, 0)"},
    };
    check_rows(row, RG_COUNT(row));
}

TEST(ref_graph_indexing_and_assignment) {
    static const struct row row[] = {
        {"(GATHER[1] x i)", "(2, 2) 1 3 5 5"},
        {"(GATHER[0] x (RESHAPE (MOD (IOTA<i32> 3) 2) 1 3))", "(1, 3) 1 5 3"},
        {"(GATHER[0] k (MOD (IOTA<u8> 5) 3))", "(5) -7 7 100 -7 7"},
        {"(GATHER[0] (PERMUTE x 1 0) (PERMUTE i 1 0))", "(2, 2) 1 5 3 5"},
        {"(SCATTER[1] x i (RESHAPE (CAST<f32> (IOTA<i32> 4)) 2 2))", "(2, 3) 1 2 4 4 10 6"},
        {"(SCATTER[0] u (MUL (IOTA<i32> 3) 0) u)", "(3) 248 5 255"},
        {"(SCATTER[1] e (BUFFER<i32>[6] 2 0) e)", "(2, 0)"},
        {"(ASSIGN x (FLIP x 1))", "(2, 3) 3 2 1 6 5 4"},
        {"(ASSIGN x (RESHAPE z 1 1) 1 1 1 s 1 1)", "(2, 3) 1 2 3 4 2.5 6"},
        {"(ASSIGN x (EXPAND (RESHAPE z 1 1) 2 2) 0 2 1 0 2 2)", "(2, 3) 2.5 2 2.5 2.5 5 2.5"},
        {"(ASSIGN (ASSIGN x (NEG x)) (RESHAPE z 1 1) 0 1 1 0 1 1)", "(2, 3) 2.5 -2 -3 -4 -5 -6"},
        {"(ADD x (ASSIGN x (NEG x)))", "(2, 3) 0 0 0 0 0 0"}, /* readers of x see it as it was */
        {"(ASSIGN z 4)", "() 4"},
    };
    check_rows(row, RG_COUNT(row));
}

/* More than 2^31 elements, none of them in memory. */
TEST(ref_graph_huge_broadcasts) {
    static const struct row row[] = {
        {"(REDUCE_AXES[ADD] (EXPAND (RESHAPE 1.5 1) 3221225472) 0)", "(1) 4.83183821e+09"},
        {"(REDUCE_AXES[ADD] (EXPAND (RESHAPE 3:i32 1) 3221225472) 0)", "(1) 1073741824"},
        {"(REDUCE_AXES[MUL] (EXPAND (RESHAPE -1:i32 1) 3221225473) 0)", "(1) -1"},
        {"(REDUCE_AXES[MAX] (EXPAND (RESHAPE z 1) 3221225472) 0)", "(1) 2.5"},
        {"(REDUCE_AXES[ADD] (EXPAND (RESHAPE true 1) 4294967296) 0)", "(1) 1"},
        {"(REDUCE_AXES[ADD] (EXPAND (RESHAPE 1:u8 1) 4294967296) 0)", "(1) 0"},
        {"(REDUCE_AXES[ADD] (MUL (EXPAND (RESHAPE x 2 3 1) 2 3 2147483648) 0.5) 1 2)",
         "(2, 1, 1) 6.44245094e+09 1.61061274e+10"},
        {"(REDUCE_AXES[ADD] (RESHAPE (EXP2 (EXPAND (RESHAPE 1.0 1) 1099511627776)) 1048576 1048576) 0 1)",
         "(1, 1) 2.19902326e+12"},
        {"(REDUCE_AXES[ADD] (PAD (EXPAND (RESHAPE x 2 3 1) 2 3 2147483648) 1 1 0 0 0 0 0 0 0 0) 0 2)",
         "(1, 3, 1) 1.28849019e+10 1.71798692e+10 2.14748365e+10"},
        {"(SHRINK (EXPAND (RESHAPE k 3 1) 3 1099511627776) 1 2 1 1099511627775 1 1)", "(2, 1) 7 100"},
    };
    check_rows(row, RG_COUNT(row));
}

TEST(ref_graph_several_outputs_share_a_node) {
    struct run r;
    run_open(&r, "(ADD x 1) (REDUCE_AXES[ADD] (ADD x 1) 1) x (ADD x 1)");
    CHECK_EQ(run_graph(&r, false, 0), 0);
    CHECK_STR(say(&r, &r.out[0]), "(2, 3) 2 3 4 5 6 7");
    CHECK_STR(say(&r, &r.out[1]), "(2, 1) 9 18");
    CHECK_STR(say(&r, &r.out[2]), "(2, 3) 1 2 3 4 5 6");
    CHECK(r.out[0].data != r.out[3].data && r.out[2].data != r.bufs[0].p);
    CHECK_STR(say(&r, &r.out[3]), "(2, 3) 2 3 4 5 6 7");
    run_close(&r);
}

TEST(ref_graph_does_not_write_buffers) {
    struct run r;
    char before[24];
    run_open(&r, "(ASSIGN x (NEG x)) (SCATTER[1] x i (GATHER[1] x i))");
    memcpy(before, r.bufs[0].p, sizeof before);
    CHECK_EQ(run_graph(&r, true, 0), 0);
    CHECK(!memcmp(before, r.bufs[0].p, sizeof before));
    run_close(&r);
}

TEST(ref_graph_deep_programs_free_as_they_go) {
    struct run r;
    run_open(&r, "x");
    const uop *n = r.graph->src[0];
    for (int i = 0; i < 30000; i++) n = uop1(&r.t.ir, i % 2 ? OP_NEG : OP_ABS, n);
    r.graph = uop_mk(&r.t.ir, OP_GRAPH, &n, 1, ARG_NONE);
    int64_t live = mem_live();
    CHECK_EQ(run_graph(&r, false, 256), 0); /* two tensors of 24 bytes at a time */
    CHECK_STR(say(&r, &r.out[0]), "(2, 3) -1 -2 -3 -4 -5 -6");
    CHECK(mem_live() <= live + 2);
    run_close(&r);
}

/* ---- bounds: sums ------------------------------------------------------------------------------------------------ */

enum { TERMS = 1000 };
struct terms {
    struct ir_test t;
    float x[TERMS], y[TERMS];
    struct ref_tensor out[1];
};

static void evaluate_terms(struct terms *s, const char *expr) {
    struct run r = {.t = s->t};
    const char *text =
        arena_printf(&s->t.arena, "kernel k\nx = (BUFFER<f32>[0] %d)\ny = (BUFFER<f32>[1] %d)\n(GRAPH %s)\n",
                     TERMS, TERMS, expr);
    struct program p;
    ir_parse(&s->t.ir, text, strlen(text), "t.uop", &p);
    r.bufs[0] = (struct ref_buf){.p = s->x, .bytes = sizeof s->x};
    r.bufs[1] = (struct ref_buf){.p = s->y, .bytes = sizeof s->y};
    if (ref_graph(&s->t.err, &s->t.arena, &s->t.ir, p.kernel.p[0].sink, r.bufs, 2, NULL, true, 0, s->out))
        FAIL("%s", s->t.err.msg);
}

static int by_size(const void *a, const void *b) {
    float x = fabsf(*(const float *)a), y = fabsf(*(const float *)b);
    return (x > y) - (x < y);
}

static float pairwise(const float *x, int n) {
    return n == 1 ? x[0] : pairwise(x, n / 2) + pairwise(x + n / 2, n - n / 2);
}

/* The sum of x in many orders and groupings: all of them are within the bound, and it is not idle. */
static void check_orders(const struct ref_tensor *t, const float *x, const float *a, const float *b,
                         double *worst) {
    float sorted[TERMS], lane[8] = {0}, up = 0, down = 0, fused = 0, asc = 0, desc = 0;
    memcpy(sorted, x, sizeof sorted);
    qsort(sorted, TERMS, sizeof *sorted, by_size);
    for (int i = 0; i < TERMS; i++) {
        up += x[i], down += x[TERMS - 1 - i], lane[i % 8] += x[i];
        asc += sorted[i], desc += sorted[TERMS - 1 - i];
        fused = a ? fmaf(a[i], b[i], fused) : fused + x[i];
    }
    float all[] = {up,
                   down,
                   fused,
                   asc,
                   desc,
                   pairwise(x, TERMS),
                   pairwise(lane, 8),
                   (lane[0] + lane[4]) + (lane[1] + lane[5]) + (lane[2] + lane[6]) + (lane[3] + lane[7])};
    for (size_t i = 0; i < RG_COUNT(all); i++) {
        double off = fabs(all[i] - at(t, 0));
        if (!(off <= t->bound[0])) FAIL("order %d is off by %g, bound %g", (int)i, off, t->bound[0]);
        *worst = fmax(*worst, off / t->bound[0]);
    }
}

TEST(ref_graph_bound_covers_sums_in_any_order) {
    double worst = 0;
    for (uint64_t seed = 0; seed < 60; seed++) {
        struct terms s;
        struct rnd g = {seed};
        float product[TERMS];
        ir_test_open(&s.t);
        for (int i = 0; i < TERMS; i++) {
            double scale = seed % 3 == 1 ? ldexp(1, (int)rnd_below(&g, 20)) : 1; /* terms of many sizes */
            s.x[i] = (float)((double)rnd_range(&g, -1000000, 1000000) / 1e6 * scale);
            if (seed % 3 == 2) s.x[i] = fabsf(s.x[i]);
            s.y[i] = (float)rnd_range(&g, -1000, 1000) / 999;
            product[i] = s.x[i] * s.y[i];
        }
        evaluate_terms(&s, "(REDUCE_AXES[ADD] x 0)");
        check_orders(&s.out[0], s.x, NULL, NULL, &worst);
        evaluate_terms(&s, "(REDUCE_AXES[ADD] (MUL x y) 0)");
        check_orders(&s.out[0], product, s.x, s.y, &worst);
        ir_test_close(&s.t);
    }
    CHECK(worst > 1e-3);
    TEST_INFO("sums of %d terms in 8 orders reach %.1f %% of their bound", TERMS, 100 * worst);
}

TEST(ref_graph_sums_of_integers_are_exact) {
    struct terms s;
    ir_test_open(&s.t);
    for (int i = 0; i < TERMS; i++) s.x[i] = (float)(i % 17 - 8), s.y[i] = (float)(i % 5);
    evaluate_terms(&s, "(REDUCE_AXES[ADD] (MUL x y) 0)");
    CHECK(s.out[0].bound[0] == 0);
    evaluate_terms(&s, "(FLOOR (FDIV (REDUCE_AXES[ADD] x 0) 7.0))");
    CHECK(s.out[0].bound[0] == 0 && !s.out[0].unsure[0]);
    evaluate_terms(&s, "(REDUCE_AXES[ADD] (MUL x 16777216.0) 0)"); /* passes 2^24 */
    CHECK(s.out[0].bound[0] > 0);
    ir_test_close(&s.t);
}

/* Rows of a softmax and a layer norm in float, with the C library's functions and sums of eight lanes. */
static float lanes_sum(const float *x, int n) {
    float lane[8] = {0};
    for (int i = 0; i < n; i++) lane[i % 8] += x[i];
    return pairwise(lane, 8);
}

TEST(ref_graph_bound_covers_chains) {
    struct terms s;
    double worst = 0;
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct rnd g = {seed + 100};
        float e[TERMS], m = -INFINITY, d[TERMS], sq[TERMS];
        ir_test_open(&s.t);
        for (int i = 0; i < TERMS; i++)
            s.x[i] = (float)rnd_range(&g, -4000, 4000) / 512, m = fmaxf(m, s.x[i]);
        evaluate_terms(&s,
                       "(FDIV (EXP (SUB x (EXPAND (REDUCE_AXES[MAX] x 0) 1000))) (EXPAND (REDUCE_AXES[ADD] "
                       "(EXP (SUB x (EXPAND (REDUCE_AXES[MAX] x 0) 1000))) 0) 1000))");
        for (int i = 0; i < TERMS; i++) e[i] = expf(s.x[i] - m);
        float sum = lanes_sum(e, TERMS);
        for (int i = 0; i < TERMS; i++) {
            double off = fabs(e[i] / sum - at(&s.out[0], i));
            CHECK(off <= s.out[0].bound[i] && s.out[0].bound[i] < 1e-3 * at(&s.out[0], i) + 1e-30);
            worst = fmax(worst, off / s.out[0].bound[i]);
        }
        evaluate_terms(
            &s, "(MUL (SUB x (EXPAND (MUL (REDUCE_AXES[ADD] x 0) 0.001) 1000)) (EXPAND (RSQRT (ADD (MUL "
                "(REDUCE_AXES[ADD] (MUL (SUB x (EXPAND (MUL (REDUCE_AXES[ADD] x 0) 0.001) 1000)) (SUB x "
                "(EXPAND (MUL (REDUCE_AXES[ADD] x 0) 0.001) 1000))) 0) 0.001) 0.00001)) 1000))");
        float mean = lanes_sum(s.x, TERMS) * 0.001f;
        for (int i = 0; i < TERMS; i++) d[i] = s.x[i] - mean, sq[i] = d[i] * d[i];
        float scale = 1 / sqrtf(lanes_sum(sq, TERMS) * 0.001f + 0.00001f);
        for (int i = 0; i < TERMS; i++) {
            double off = fabs(d[i] * scale - at(&s.out[0], i));
            CHECK(off <= s.out[0].bound[i] && s.out[0].bound[i] < 2e-3);
            worst = fmax(worst, off / s.out[0].bound[i]);
        }
        ir_test_close(&s.t);
    }
    CHECK(worst > 1e-3);
}

/* Half types: float32 accumulators in any order, one rounding at the end. */
TEST(ref_graph_bound_covers_half_sums) {
    static const char *const type[] = {"f16", "bf16"};
    for (int k = 0; k < 2; k++)
        for (uint64_t seed = 0; seed < 20; seed++) {
            struct terms s;
            struct rnd g = {seed + 7};
            enum dtype dt = k ? DT_BF16 : DT_F16;
            float h[TERMS], back[TERMS];
            ir_test_open(&s.t);
            for (int i = 0; i < TERMS; i++) {
                s.x[i] = (float)rnd_range(&g, -1000, 1000) / 300;
                h[i] = (float)ref_round(dt, s.x[i]), back[TERMS - 1 - i] = h[i];
            }
            evaluate_terms(&s, arena_printf(&s.t.arena, "(REDUCE_AXES[ADD] (CAST<%s> x) 0)", type[k]));
            CHECK(fabs(ref_round(dt, lanes_sum(h, TERMS)) - at(&s.out[0], 0)) <= s.out[0].bound[0]);
            CHECK(fabs(ref_round(dt, lanes_sum(back, TERMS)) - at(&s.out[0], 0)) <= s.out[0].bound[0]);
            CHECK(s.out[0].bound[0] < 0.02 * fabs(at(&s.out[0], 0)) + 0.1);
            ir_test_close(&s.t);
        }
}

/* ---- bounds: functions --------------------------------------------------------------------------------------------- */

/* r = op(x) for x known up to a bound: any other x within it, rounded once more and off by 2 ulp, is within r's. */
TEST(ref_graph_bound_covers_functions) {
    static const enum op ops[] = {OP_NEG,  OP_ABS,  OP_RECIP, OP_SQRT,   OP_RSQRT, OP_EXP,
                                  OP_EXP2, OP_LOG,  OP_LOG2,  OP_LOG10,  OP_SIN,   OP_COS,
                                  OP_TAN,  OP_TANH, OP_ERF,   OP_SIGMOID};
    uint64_t sure = 0, all = 0;
    for (size_t k = 0; k < RG_COUNT(ops); k++)
        for (uint64_t seed = 0; seed < 4; seed++) {
            struct terms s;
            struct rnd g = {seed};
            ir_test_open(&s.t);
            for (int i = 0; i < TERMS; i++) {
                s.x[i] = (float)rnd_range(&g, -8000, 8000) / 1000;
                s.y[i] = (float)(rnd_range(&g, -8000, 8000) / 1000.0 / (seed + 1));
            }
            struct ref_tensor in;
            const char *sum = "(SCAN_AXIS[ADD] (RESHAPE (SHRINK x 0 1000 1) 100 10) 1)"; /* has bounds */
            evaluate_terms(&s, sum);
            in = s.out[0];
            evaluate_terms(&s, arena_printf(&s.t.arena, "(%s %s)", op_info[ops[k]].name, sum));
            for (int i = 0; i < TERMS; i++) {
                for (int corner = -2; corner <= 2; corner++) {
                    double x = ref_round(DT_F32, at(&in, i) + in.bound[i] * corner / 2);
                    if (fabs(x - at(&in, i)) > in.bound[i]) continue; /* rounded to beyond it */
                    union ref_val src[3] = {{.f = x}}, r;
                    CHECK(ref_eval(ops[k], DT_F32, DT_F32, src, &r));
                    all++;
                    if (s.out[0].unsure[i]) continue;
                    sure++;
                    double want = at(&s.out[0], i);
                    bool fits =
                        isnan(want) ? isnan(r.f) : r.f == want || fabs(r.f - want) <= s.out[0].bound[i];
                    if (!fits)
                        FAIL("%s of %.9g is %.9g, of %.9g within %g it is %.9g within %g",
                             op_info[ops[k]].name, x, r.f, at(&in, i), in.bound[i], want, s.out[0].bound[i]);
                }
            }
            ir_test_close(&s.t);
        }
    CHECK(sure * 100 > all * 98);
}

TEST(ref_graph_exact_values_have_no_bound) {
    static const char *const expr[] = {
        "x",
        "(ADD x 0.1)",
        "(MUL x x)",
        "(FDIV x 3.0)",
        "(SQRT x)",
        "(PAD x 0.5 1 0 0 0 0 0)",
        "(GATHER[1] x i)",
        "(CAST<f16> (FDIV x 3.0))",
        "(WHERE c x 0.25)",
        "(MAX n 0)",
        "(REDUCE_AXES[MAX] x 1)",
        "(ASSIGN x (NEG x))",
        "(IDIV k 3)",
        "(CAST<i32> (FDIV x 3.0))",
        "(FLOOR (MUL x 0.3))",
        "(LT (FDIV x 3.0) 1)",
        "(EXP (CAST<f32> n))",
    };
    for (size_t k = 0; k < RG_COUNT(expr); k++) {
        struct run r;
        run_open(&r, expr[k]);
        CHECK_EQ(run_graph(&r, true, 0), 0);
        for (int64_t i = 0; i < shape_size(r.out[0].shape); i++) {
            bool function =
                k + 1 == RG_COUNT(expr) && isfinite(at(&r.out[0], i)); /* only inf and NaN are exact */
            if (function ? r.out[0].bound[i] <= 0 : r.out[0].bound[i] != 0 || r.out[0].unsure[i])
                FAIL("%s: element %d has the bound %g", expr[k], (int)i, r.out[0].bound[i]);
        }
        run_close(&r);
    }
}

TEST(ref_graph_decisions_within_the_bound_are_unsure) {
    /* S is a sum of ten tenths: 1, give or take; E is exp(0), 1 within 2 ulp. */
#define S "(REDUCE_AXES[ADD] t 0)"
#define E "(EXP (MUL t 0))"
#define IDX "(CAST<i32> (FLOOR " S "))"
    static const struct {
        const char *expr;
        int unsure; /* of the first element */
    } row[] = {
        {"(LT " S " 1)", 1},
        {"(LT " S " 1.001)", 0},
        {"(EQ " S " 1)", 1},
        {"(LE 2 " S ")", 0},
        {"(EQ " E " 1)", 1},
        {"(EQ t 0.1)", 0},
        {"(FLOOR " S ")", 1},
        {"(FLOOR (ADD " S " 0.5))", 0},
        {"(ROUND " S ")", 0},
        {"(ROUND (ADD " S " 0.5))", 1},
        {"(TRUNC " S ")", 1},
        {"(CEIL (MUL " S " 0.9))", 0},
        {"(CAST<i32> " S ")", 1},
        {"(CAST<i32> (MUL " S " 1.5))", 0},
        {"(CAST<bool> (SUB " S " 1))", 1},
        {"(CAST<bool> " S ")", 0},
        {"(BITCAST<i32> " S ")", 1},
        {"(WHERE (LT " S " 1) 1.0 (RESHAPE z 1))", 1},
        {"(WHERE (LT " S " 2) 1.0 (FLOOR " S "))", 0},
        {"(WHERE (LT " S " 2) (FLOOR " S ") 1.0)", 1},
        {"(MAX " S " 1)", 0}, /* close, whichever it is */
        {"(ADD (FLOOR " S ") 1)", 1},
        {"(REDUCE_AXES[MAX] (EXPAND (FLOOR " S ") 3) 0)", 1},
        {"(GATHER[0] k " IDX ")", 1},
        {"(SCATTER[0] k " IDX " (RESHAPE 1:i32 1))", 1},
        {"(SCATTER[0] k (RESHAPE 1:i32 1) (RESHAPE 1:i32 1))", 0},
        {"(RECIP (SUB " S " 1))", 1},
        {"(FDIV 1.0 " S ")", 0},
        {"(FDIV 1.0 (MUL t 0))", 1}, /* the sign of a zero */
        {"(SQRT (SUB " S " 1))", 1},
        {"(SQRT (SUB " S " 2))", 0}, /* NaN for certain */
        {"(LOG (SUB " S " 1))", 1},
        {"(POW (SUB " S " 1) 0.5)", 1},
        {"(POW " S " 0.5)", 0},
        {"(TAN (MUL " S " 1.5707963))", 1},
        {"(EXP2 (MUL " S " 128))", 1}, /* infinite or nearly */
        {"(EXP2 (MUL " S " 127))", 0},
        {"(EXP2 (MUL " S " 130))", 0},
        {"(CAST<f16> (MUL " S " 65519))", 1},
        {"(MUL (CAST<f16> " S ") 60000)", 0},
        {"(REDUCE_AXES[ADD] (MUL (SUB t 0.6) 3e38) 0)", 1}, /* may overflow on the way */
    };
    for (size_t k = 0; k < RG_COUNT(row); k++) {
        struct run r;
        run_open(&r, row[k].expr);
        if (run_graph(&r, true, 0)) FAIL("%s: %s", row[k].expr, r.t.err.msg);
        if (r.out[0].unsure[0] != row[k].unsure)
            FAIL("%s is %s: %g within %g", row[k].expr, row[k].unsure ? "sure" : "unsure", at(&r.out[0], 0),
                 r.out[0].bound[0]);
        run_close(&r);
    }
}

/* ---- errors ------------------------------------------------------------------------------------------------------------ */

TEST(ref_graph_errors) {
    static const struct {
        const char *expr;
        int code;
        const char *words;
    } row[] = {
        {"(BUFFER<f32>[11] 2)", RG_EINVAL, "buffer number 11 is missing"},
        {"(BUFFER<f32>[-1] 2)", RG_EINVAL, "buffer number -1 is missing"},
        {"(BUFFER<f64>[0] 2 3)", RG_EINVAL, "buffer number 0 has 24 bytes, expected 6 elements of 8"},
        {"(VAR<idx>[0 s] 2 5)", RG_EINVAL, "VAR number 0 is 1; the program was made for 2 to 5"},
        {"(GATHER[1] x (ADD i 1))", RG_EVERIFY, "index 3 is out of range: axis 1 has size 3"},
        {"(GATHER[1] x (SUB i 1))", RG_EVERIFY, "index -1 is out of range"},
        {"(SCATTER[1] x (MUL i 2) (GATHER[1] x i))", RG_EVERIFY, "index 4 is out of range"},
        {"(REDUCE_AXES[MAX] e 1)", RG_EVERIFY, "the MAX of nothing has no value"},
        {"(REDUCE_AXES[MIN] e 0 1)", RG_EVERIFY, "the MIN of nothing has no value"},
        {"(ADD x n)", RG_EVERIFY, "sources of different shapes"},
        {"(EXPAND (RESHAPE z 1) 3221225472)", RG_ELIMIT, "use smaller tensors or a greater limit"},
        {"(SCAN_AXIS[ADD] (EXPAND (RESHAPE z 1) 3221225472) 0)", RG_ELIMIT, "more bytes for a tensor"},
        {"(IOTA<i64> 4611686018427387904)", RG_ELIMIT, "more bytes for a tensor"},
    };
    for (size_t k = 0; k < RG_COUNT(row); k++) {
        struct run r;
        run_open(&r, row[k].expr);
        int64_t live = mem_live();
        int code = run_graph(&r, true, 0);
        if (code != row[k].code || !strstr(r.t.err.msg, row[k].words))
            FAIL("%s gives %d: %s\nexpected %d: %s", row[k].expr, code, r.t.err.msg, row[k].code,
                 row[k].words);
        CHECK(mem_live() <= live + 1); /* blocks of the arena only */
        run_close(&r);
    }
}

TEST(ref_graph_misuse) {
    struct run r;
    run_open(&r, "(SHRINK x 1 1 1 s 1 1)");
    CHECK_EQ(ref_graph(&r.t.err, &r.t.arena, &r.t.ir, r.graph, r.bufs, 11, NULL, false, 0, r.out), RG_EINVAL);
    CHECK(strstr(r.t.err.msg, "VAR number 0 has no value") != NULL);
    err_clear(&r.t.err);
    CHECK_EQ(ref_graph(&r.t.err, &r.t.arena, &r.t.ir, r.graph->src[0], r.bufs, 11, r.var, false, 0, r.out),
             RG_EVERIFY);
    CHECK(strstr(r.t.err.msg, "expected a tensor program (GRAPH ..), found SHRINK") != NULL);
    err_clear(&r.t.err);
    /* records of their own: the caller's gets the words, the others stay clean */
    struct err mine = {0};
    CHECK_EQ(ref_graph(&mine, &r.t.arena, &r.t.ir, r.graph, r.bufs, 0, r.var, false, 0, r.out), RG_EINVAL);
    CHECK(strstr(mine.msg, "buffer number 0 is missing") != NULL && r.t.err.code == 0);
    err_clear(&mine);
    CHECK_EQ(ref_graph(&mine, &r.t.arena, &r.t.ir, r.graph, r.bufs, 11, r.var, false, 0, r.out), 0);
    run_close(&r);
}

TEST(ref_graph_out_of_memory) {
    int failed = 0;
    for (int64_t nth = 0;; nth++) {
        struct run r;
        run_open(&r, "(SCATTER[1] (ASSIGN x (EXP x)) i (GATHER[1] x i)) (REDUCE_AXES[ADD] x 1)");
        int64_t live = mem_live();
        mem_fail_at(nth);
        int code = run_graph(&r, true, 0);
        mem_fail_at(-1);
        CHECK(code == 0 || code == RG_ENOMEM);
        CHECK(mem_live() <= live + 2);
        run_close(&r);
        if (code == 0) break;
        failed++;
    }
    CHECK(failed > 20);
}

/* Programs with other numbers, other ops and other operands: an answer or an error, never a crash, and soon. */
TEST(ref_graph_mutated_programs_never_crash) {
    static const char *const seeds[] = {
        "(PAD (SHRINK (FLIP x 1) 0 2 1 1 2 1) 0 1 2 0 0 1 2) (SCAN_AXIS[ADD] (EXPAND (RESHAPE x 2 3 1) 2 3 "
        "4) 2)",
        "(SCATTER[1] x i (GATHER[1] x i)) (ASSIGN (ASSIGN x x) (RESHAPE k 1 3) s 1 1 0 3 1)",
        "(REDUCE_AXES[MUL] (MUL (EXPAND (RESHAPE x 2 3 1) 2 3 9) 2.5) 0 2) (CAST<i32> (REDUCE_AXES[ADD] t "
        "0))",
        "(WHERE c (POW x 2.5) (FDIV x (SUB z 2.5))) (RESHAPE (PERMUTE (RESHAPE x 2 3 1) 2 1 0) 3 2) "
        "(IOTA<u8> 300)",
    };
    static const char *const piece[] = {"0",
                                        "1",
                                        "2",
                                        "3",
                                        "9",
                                        "99",
                                        "-1",
                                        "x",
                                        "k",
                                        "c",
                                        "e",
                                        "z",
                                        "s",
                                        "i",
                                        "u8",
                                        "1099511627776",
                                        "9223372036854775807",
                                        "nan",
                                        "MAX",
                                        "ADD",
                                        "EXPAND"};
    struct rnd g = {5};
    int legal = 0, answers = 0;
    for (int round = 0; round < 6000; round++) {
        struct run r;
        char text[512] = "", *to = text;
        const char *from = seeds[round % RG_COUNT(seeds)];
        run_open(&r, "x");
        while (*from) { /* words are replaced now and then */
            size_t n = strcspn(from, " ()<>[]");
            const char *other = piece[rnd_below(&g, RG_COUNT(piece))];
            if (n && rnd_below(&g, 16) == 0)
                to += snprintf(to, 64, "%s", other);
            else
                memcpy(to, from, n), to += n;
            from += n;
            if (*from) *to++ = *from++;
        }
        r.text = arena_printf(&r.t.arena, "%s(GRAPH %s)\n", leaves, text);
        bool parsed = err_guard(&r.t.err, parse_run, &r) == 0;
        legal += parsed && r.graph->nsrc <= RG_COUNT(r.out);
        if (parsed && r.graph->nsrc <= RG_COUNT(r.out)) answers += run_graph(&r, round % 2, 1 << 16) == 0;
        run_close(&r);
    }
    CHECK(legal > 500 && answers > 100 && answers < legal);
}
