/* graphs.c: the random programs of tests/graphs.c are legal, reproducible and varied, and the oracle evaluates them;
 * what the comparison accepts and refuses. */
#include "graphs.h"
#include "irtest.h"

static const struct graph_gen kinds[] = {
    {.exact = true},
    {.exact = true, .all_dtypes = true, .assigns = true, .vars = true},
    {.assigns = false},
    {.all_dtypes = true, .assigns = true, .vars = true, .max_outputs = 5, .max_ops = 30},
    {.exact = true, .max_elements = 64, .assigns = true, .no_index = true, .max_outputs = 1},
};

struct job {
    struct ir_test t;
    uint64_t seed;
    const struct graph_gen *o;
    const uop *graph;
};
static void make_graph(void *arg) {
    struct job *j = arg;
    j->graph = graph_random(&j->t.ir, &j->t.arena, j->seed, j->o);
}
static void open_graph(struct job *j, uint64_t seed) {
    ir_test_open(&j->t);
    j->seed = seed, j->o = &kinds[seed % RG_COUNT(kinds)];
    if (err_guard(&j->t.err, make_graph, j)) FAIL("seed %d: %s", (int)seed, j->t.err.msg);
}

/* Evaluates; the outputs. */
static struct ref_tensor *oracle(struct job *j, bool bounds, struct graph_data *data) {
    struct ref_tensor *out = arena_array(&j->t.arena, struct ref_tensor, j->graph->nsrc);
    *data = graph_fill(&j->t.arena, &j->t.ir, j->graph, j->seed, j->o->exact);
    if (ref_graph(&j->t.err, &j->t.arena, &j->t.ir, j->graph, data->bufs, data->nbuf, data->var, bounds, 0,
                  out)) {
        struct str s;
        str_init(&s, &j->t.arena);
        ir_print(&s, &j->t.ir, j->graph);
        FAIL("seed %d: %s\n%s", (int)j->seed, j->t.err.msg, s.p);
    }
    return out;
}

TEST_SLOW(graphs_random_programs_evaluate, 240) {
    static uint64_t rows[OP_COUNT];
    uint64_t elements = 0, unsure = 0, wide = 0, whole = 0;
    for (uint64_t seed = 0; seed < 500; seed++) {
        struct job j;
        struct graph_data data;
        open_graph(&j, seed);
        struct ref_tensor *out = oracle(&j, true, &data);
        uop_vec all = {0};
        uop_topo(&j.t.arena, &j.graph, 1, &all);
        for (uint32_t i = 0; i < all.n; i++) rows[all.p[i]->op]++;
        for (uint32_t i = 0; i < j.graph->nsrc; i++)
            for (int64_t k = 0; k < shape_size(out[i].shape); k++) {
                double v = ref_number(
                    out[i].dt, ref_read(out[i].dt, (char *)out[i].data + k * dtype_info[out[i].dt].bytes));
                CHECK(out[i].bound[k] >= 0 && isfinite(out[i].bound[k]));
                if (j.o->exact && (out[i].bound[k] != 0 || out[i].unsure[k] || v != rint(v)))
                    FAIL("seed %d: output %u is not exact: %g within %g", (int)seed, i, v, out[i].bound[k]);
                elements++, unsure += out[i].unsure[k], whole += j.o->exact;
                wide += !out[i].unsure[k] && out[i].bound[k] > 0.01 * fabs(v) && out[i].bound[k] > 1e-3;
            }
        ir_test_close(&j.t);
    }
    for (int op = 0; op < OP_COUNT; op++) {
        bool expect = op_is_movement((enum op)op) || op == OP_REDUCE_AXES || op == OP_SCAN_AXIS ||
                      op == OP_IOTA || op == OP_GATHER || op == OP_SCATTER || op == OP_ASSIGN ||
                      op == OP_VAR || op == OP_EXP || op == OP_WHERE || op == OP_CAST || op == OP_FDIV ||
                      op == OP_POW || op == OP_CONTIGUOUS;
        if (expect && rows[op] < 10) FAIL("%s was made %d times", op_info[op].name, (int)rows[op]);
    }
    CHECK(unsure * 50 < elements - whole);
    CHECK(wide * 20 < elements - whole);
    TEST_INFO(
        "500 random programs: %llu elements, %.2f %% of the inexact ones unsure, %.2f %% with a wide bound",
        (unsigned long long)elements, 100.0 * (double)unsure / (double)(elements - whole),
        100.0 * (double)wide / (double)(elements - whole));
}

/* The text and the data do not depend on the machine or on what was made before. */
TEST(graphs_are_reproducible) {
    uint64_t h = 0;
    for (uint64_t seed = 0; seed < 40; seed++) {
        struct job a, b;
        struct str s, t;
        struct graph_data x, y;
        open_graph(&a, seed), open_graph(&b, seed);
        str_init(&s, &a.t.arena), str_init(&t, &b.t.arena);
        ir_print(&s, &a.t.ir, a.graph), ir_print(&t, &b.t.ir, b.graph);
        CHECK_STR(s.p, t.p);
        x = graph_fill(&a.t.arena, &a.t.ir, a.graph, seed, true);
        y = graph_fill(&b.t.arena, &b.t.ir, b.graph, seed, true);
        CHECK_EQ(x.nbuf, y.nbuf);
        for (uint32_t i = 0; i < x.nbuf; i++) {
            CHECK_EQ(x.bufs[i].bytes, y.bufs[i].bytes);
            if (x.bufs[i].bytes) CHECK(!memcmp(x.bufs[i].p, y.bufs[i].p, x.bufs[i].bytes));
            if (x.bufs[i].bytes) h = hash_bytes(x.bufs[i].p, x.bufs[i].bytes, h);
        }
        h = hash_bytes(s.p, s.n, h);
        ir_test_close(&a.t), ir_test_close(&b.t);
    }
    TEST_INFO("the first 40 programs have the fingerprint %016llx", (unsigned long long)h);
}

TEST(graphs_compare_accepts_and_refuses) {
    struct ir_test t;
    struct shapes sh;
    struct str why;
    ir_test_open(&t);
    str_init(&why, &t.arena);
    shapes_init(&sh, &t.ir, &t.arena);
    float want[4] = {1, NAN, -0.0f, 100}, got[4] = {1, NAN, 0.0f, 100};
    double bound[4] = {0, 0, 0, 0.5};
    uint8_t unsure[4] = {0, 0, 0, 0};
    uint64_t left = 0, done = 0;
    struct ref_tensor w = {DT_F32, shape_make(&sh, (int64_t[]){2, 2}, 2), want, NULL, NULL};
    CHECK(graph_compare(&why, &w, got, &left, &done));
    got[3] = 100.25f;
    CHECK(!graph_compare(&why, &w, got, &left, &done));
    CHECK_STR(why.p, "element [1, 1] of a f32 (2, 2) is 100.25, expected 100; 1 of 4 elements are wrong");
    w.bound = bound, w.unsure = unsure;
    CHECK(graph_compare(&why, &w, got, &left, &done));
    got[3] = 100.75f;
    CHECK(!graph_compare(&why, &w, got, &left, &done));
    unsure[3] = 1;
    CHECK(graph_compare(&why, &w, got, &left, &done));
    CHECK_EQ(left, 1);
    CHECK_EQ(done, 19);
    got[1] = 0; /* a number where NaN is expected */
    CHECK(!graph_compare(&why, &w, got, NULL, NULL));
    int64_t a[2] = {1, (int64_t)1 << 60}, b[2] = {1, ((int64_t)1 << 60) + 1};
    struct ref_tensor i = {DT_I64, shape_make(&sh, (int64_t[]){2}, 1), a, NULL, NULL};
    CHECK(graph_compare(&why, &i, a, NULL, NULL) && !graph_compare(&why, &i, b, NULL, NULL));
    ir_test_close(&t);
}
