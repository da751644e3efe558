/* uop.c: nodes (interning, operand order, import, walks, free ranges), types and evaluation. */
#include "irtest.h"

#include <time.h>

/* ---- interning --------------------------------------------------------------------------------- */

TEST(uop_equal_nodes_are_one) {
    struct ir_test t;
    ir_test_open(&t);
    struct ir *ir = &t.ir;
    const uop *a = test_range(ir, "a", AX_LOOP, 0, 0, 8), *b = test_range(ir, "b", AX_LOOP, 1, 0, 8);
    CHECK(a == test_range(ir, "a", AX_LOOP, 0, 0, 8));
    CHECK(a != test_range(ir, "a", AX_LOOP, 0, 1, 8) && a != test_range(ir, "a", AX_GRID, 0, 0, 8));
    CHECK(uop2(ir, OP_ADD, a, b) == uop2(ir, OP_ADD, b, a));
    CHECK(uop2(ir, OP_SUB, a, b) != uop2(ir, OP_SUB, b, a));
    CHECK(uop_int(ir, DT_I8, 300) == uop_int(ir, DT_I8, 44)); /* brought into the type */
    CHECK(uop_int(ir, DT_I32, 1) != uop_int(ir, DT_I64, 1));
    CHECK(uop_flt(ir, DT_F32, 0.1) == uop_flt(ir, DT_F32, (double)0.1f));
    CHECK(uop_flt(ir, DT_F32, 0.0) != uop_flt(ir, DT_F32, -0.0));
    CHECK(uop_flt(ir, DT_F32, NAN) == uop_flt(ir, DT_F32, -NAN));
    CHECK(uop_cast(ir, a, DT_IDX) == a && uop_cast(ir, a, DT_I32)->op == OP_CAST);
    CHECK(uop_identity(ir, OP_MIN, DT_U64)->arg.u == UINT64_MAX);
    CHECK(uop_identity(ir, OP_MAX, DT_F16)->arg.f == -INFINITY);
    for (uint32_t i = 0; i < ir->n; i++) CHECK_EQ(ir->node[i]->id, i);
    ir_test_close(&t);
}

TEST(uop_index_constants_are_one_however_spelled) {
    struct ir_test t;
    ir_test_open(&t);
    for (int64_t v = -70; v <= 70; v++) {
        const uop *spelled = v % 2 ? uop_int(&t.ir, DT_IDX, v) : NULL, *index = uop_idx(&t.ir, v);
        CHECK(index->op == OP_CONST && index->dt == DT_IDX && index->arg.i == v);
        CHECK(index == (spelled ? spelled : uop_int(&t.ir, DT_IDX, v)) && index == uop_idx(&t.ir, v));
    }
    ir_test_close(&t);
}

TEST(uop_constants_go_right_then_rank) {
    struct ir_test t;
    ir_test_open(&t);
    struct ir *ir = &t.ir;
    const uop *r = test_range(ir, "r", AX_LOOP, 0, 0, 8), *c = uop_idx(ir, 3);
    const uop *m = uop2(ir, OP_MUL, c, r);
    CHECK(m->src[0] == r && m->src[1] == c);
    const uop *s = uop2(ir, OP_ADD, uop2(ir, OP_MOD, r, c), m); /* MUL stands before MOD in ops.def */
    CHECK(s->src[0] == m);
    CHECK(uop2(ir, OP_ADD, m, r)->src[0] == r);
    const uop *x = test_param(ir, DT_F32, 1, "x", 8), *y = test_param(ir, DT_F32, 0, "y", 8);
    const uop *lx = uop1(ir, OP_LOAD, uop2(ir, OP_INDEX, x, r)),
              *ly = uop1(ir, OP_LOAD, uop2(ir, OP_INDEX, y, r));
    CHECK(uop2(ir, OP_ADD, lx, ly)->src[0] == ly); /* by slot */
    ir_test_close(&t);
}

/* The same random expression built in two orders, with other nodes between. */
static const uop *random_sum(struct ir *ir, uint64_t seed, bool other_way) {
    struct rnd r = {seed};
    const uop *n[40];
    static const enum op ops[] = {OP_ADD, OP_MUL, OP_MAX, OP_MIN, OP_XOR};
    const char *const name[] = {"a", "b", "c", "d", "e", "f"};
    for (uint32_t i = 0; i < 6; i++) {
        uint32_t j = other_way ? 5 - i : i;
        if (other_way) test_range(ir, name[j], AX_LOOP, 9, 9, 100 + i);
        n[j] = test_range(ir, name[j], AX_LOOP, 0, 0, 5);
    }
    for (uint32_t i = 6; i < 40; i++) {
        const uop *a = n[rnd_below(&r, i)], *b = n[rnd_below(&r, i)];
        enum op op = ops[rnd_below(&r, RG_COUNT(ops))];
        n[i] = other_way ? uop2(ir, op, b, a) : uop2(ir, op, a, b);
    }
    return n[39];
}

TEST(uop_text_does_not_depend_on_history) {
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct ir_test a, b, c;
        struct str sa, sb, sc;
        ir_test_open(&a), ir_test_open(&b), ir_test_open(&c);
        str_init(&sa, &a.arena), str_init(&sb, &b.arena), str_init(&sc, &c.arena);
        const uop *x = random_sum(&a.ir, seed, false), *y = random_sum(&b.ir, seed, true);
        const uop *z = ir_import(&c.ir, &b.ir, y);
        ir_print(&sa, &a.ir, x);
        ir_print(&sb, &b.ir, y);
        ir_print(&sc, &c.ir, z);
        CHECK_STR(sa.p, sb.p);
        CHECK_STR(sa.p, sc.p);
        CHECK(ir_import(&c.ir, &a.ir, x) == z);
        ir_test_close(&a), ir_test_close(&b), ir_test_close(&c);
    }
}

static void wrong_arity(void *ir) { uop_mk(ir, OP_ADD, (const uop *[]){uop_idx(ir, 1)}, 1, ARG_NONE); }
static void no_dtype(void *ir) { uop1(ir, OP_CAST, uop_idx(ir, 1)); }

TEST(uop_wrong_calls_are_reported) {
    struct ir_test t;
    ir_test_open(&t);
    CHECK_EQ(err_guard(&t.err, wrong_arity, &t.ir), RG_EINTERNAL);
    CHECK(strstr(t.err.msg, "ADD takes 2 to 2 sources, found 1"));
    err_clear(&t.err);
    CHECK_EQ(err_guard(&t.err, no_dtype, &t.ir), RG_EINTERNAL);
    CHECK(strstr(t.err.msg, "CAST"));
    ir_test_close(&t);
}

TEST(uop_with_keeps_what_is_spelled) {
    struct ir_test t;
    ir_test_open(&t);
    struct ir *ir = &t.ir;
    const uop *p = test_param(ir, DT_F32, 0, "p", 64), *q = test_param(ir, DT_F16, 1, "q", 64);
    const uop *i = uop_idx(ir, 3), *lanes = uop_new(ir, OP_LANES, DT_IDX, 4, NULL, 0, ARG_NONE);
    const uop *x = uop_new(ir, OP_INDEX, DT_F32, 8, (const uop *[]){p, i}, 2, ARG_NONE);
    const uop *y = uop_with(ir, x, (const uop *[]){q, uop_idx(ir, 4)});
    CHECK(y->dt == DT_F16 && y->lanes == 8);
    CHECK_EQ(uop_with(ir, uop2(ir, OP_INDEX, p, i), (const uop *[]){p, lanes})->lanes, 4);
    const uop *c = uop_cast(ir, i, DT_F32);
    CHECK(uop_with(ir, c, (const uop *[]){lanes})->lanes == 4 &&
          uop_with(ir, c, (const uop *[]){lanes})->dt == DT_F32);
    CHECK_EQ(uop1(ir, OP_LOAD, x)->lanes, 8);
    CHECK_EQ(uop2(ir, OP_ADD, lanes, i)->lanes, 4); /* scalars broadcast */
    ir_test_close(&t);
}

/* ---- walks ------------------------------------------------------------------------------------- */

TEST(uop_topo_of_a_deep_graph) {
    struct ir_test t;
    ir_test_open(&t);
    const uop *x = test_range(&t.ir, "r", AX_LOOP, 0, 0, 2), *k = test_range(&t.ir, "k", AX_REDUCE, 1, 0, 2);
    for (int i = 0; i < 300000; i++) x = uop2(&t.ir, OP_XOR, x, i % 2 ? k : uop_idx(&t.ir, i));
    uop_vec v = {0};
    uop_topo(&t.arena, &x, 1, &v);
    uint8_t *seen = arena_array(&t.arena, uint8_t, t.ir.n);
    for (uint32_t i = 0; i < v.n; i++) {
        for (uint32_t j = 0; j < v.p[i]->nsrc; j++) CHECK(seen[v.p[i]->src[j]->id]);
        CHECK(!seen[v.p[i]->id]++);
    }
    CHECK(v.p[v.n - 1] == x);
    struct free_ranges f;
    free_init(&f, &t.ir, &t.arena);
    CHECK_EQ(free_of(&f, x)->n, 2);
    ir_test_close(&t);
}

TEST(uop_free_ranges) {
    struct ir_test t;
    ir_test_open(&t);
    struct ir *ir = &t.ir;
    struct free_ranges f;
    free_init(&f, ir, &t.arena);
    const uop *r = test_range(ir, "r", AX_GRID, 0, 0, 8), *k = test_range(ir, "k", AX_REDUCE, 2, 0, 8);
    const uop *j = test_range(ir, "j", AX_LOOP, 1, 0, 8), *x = test_param(ir, DT_F32, 0, "x", 512);
    const uop *row = uop2(ir, OP_ADD, uop2(ir, OP_MUL, r, uop_idx(ir, 64)), k);
    const uop *ld =
        uop1(ir, OP_LOAD, uop2(ir, OP_INDEX, x, uop2(ir, OP_ADD, row, uop2(ir, OP_MUL, j, uop_idx(ir, 8)))));
    const uop_vec *v = free_of(&f, ld);
    CHECK(v->n == 3 && v->p[0] == r && v->p[1] == j && v->p[2] == k); /* by position */
    const uop *red = uop_mk(ir, OP_REDUCE, (const uop *[]){ld, k}, 2, ARG_INT(OP_ADD));
    CHECK(free_of(&f, red)->n == 2 && !free_has(&f, red, k) && free_has(&f, red, j));
    CHECK(free_of(&f, uop1(ir, OP_EXP, red)) == free_of(&f, red)); /* equal sets are shared */
    union arg mem = {.mem = {ir_sym(ir, "s", 1), SPACE_SCRATCH}};
    const uop *st = uop_mk(ir, OP_STAGE, (const uop *[]){red, j}, 2, mem);
    CHECK(free_of(&f, st)->n == 1 && free_has(&f, st, r));
    CHECK(free_of(&f, uop2(ir, OP_INDEX, st, j))->n == 2);
    const uop *inner = uop_new(ir, OP_RANGE, DT_IDX, 1, (const uop *[]){uop2(ir, OP_ADD, r, uop_idx(ir, 1))},
                               1, (union arg){.range = {ir_sym(ir, "i", 1), AX_REDUCE, 3, 0}});
    CHECK(free_of(&f, inner)->n == 2); /* its size is inside r */
    ir_test_close(&t);
}

/* ---- types ------------------------------------------------------------------------------------- */

/* Every half against the bits; the rounding of doubles between them by the two neighbours. */
TEST(uop_half_types_round_to_nearest_even) {
    for (int type = 0; type < 2; type++) {
        enum dtype dt = type ? DT_BF16 : DT_F16;
        uint32_t inf = type ? 0x7f80 : 0x7c00;
        double last = 0;
        for (uint32_t b = 0; b < inf; b++) {
            union val in = {.i = b}, x, back;
            CHECK(op_eval(OP_BITCAST, dt, DT_U16, &in, &x));
            CHECK(op_eval(OP_BITCAST, DT_U16, dt, &x, &back));
            CHECK_EQ(back.i, b);
            double want = type ? (double)(union {
                                     uint32_t u;
                                     float f;
                                 }){b << 16}
                                     .f
                          : b >> 10 ? ldexp(1024 + (b & 1023), (int)(b >> 10) - 25)
                                    : ldexp(b, -24);
            CHECK(x.f == want && dt_round(dt, x.f) == x.f);
            if (b) { /* the middle goes to the even one, a hair to either side to the nearer one */
                double mid = last / 2 + x.f / 2;
                CHECK(dt_round(dt, mid) == (b % 2 ? last : x.f));
                CHECK(dt_round(dt, nextafter(mid, 0)) == last &&
                      dt_round(dt, -nextafter(mid, INFINITY)) == -x.f);
            }
            last = x.f;
        }
        double ulp = ldexp(1, type ? 120 : 5);
        CHECK(dt_round(dt, last + ulp / 2 * 0.999) == last && dt_round(dt, last + ulp / 2) == INFINITY);
    }
    CHECK(dt_round(DT_F32, 1e39) == INFINITY && isnan(dt_round(DT_F16, NAN)) &&
          signbit(dt_round(DT_F16, -1e-30)));
}

static int64_t ev(enum op op, enum dtype dt, int64_t a, int64_t b) {
    union val s[3] = {{.i = a}, {.i = b}, {.i = 7}}, out;
    CHECK(op_eval(op, dt, dt, s, &out));
    return out.i;
}
static double evf(enum op op, enum dtype dt, double a, double b) {
    union val s[3] = {{.f = a}, {.f = b}, {.f = 0}}, out;
    CHECK(op_eval(op, dt, dt, s, &out));
    return out.f;
}
static union val cast(enum dtype to, enum dtype from, union val x) {
    union val out;
    CHECK(op_eval(OP_CAST, to, from, &x, &out));
    return out;
}

TEST(uop_eval_integers) {
    CHECK_EQ(ev(OP_IDIV, DT_I32, -7, 2), -4);
    CHECK_EQ(ev(OP_MOD, DT_I32, -7, 2), 1);
    CHECK_EQ(ev(OP_IDIV, DT_I32, 7, -2), -4);
    CHECK_EQ(ev(OP_MOD, DT_I32, 7, -2), -1);
    CHECK_EQ(ev(OP_IDIV, DT_I32, 7, 0), 0);
    CHECK_EQ(ev(OP_MOD, DT_I32, 7, 0), 0);
    CHECK_EQ(ev(OP_IDIV, DT_I32, INT32_MIN, -1), INT32_MIN);
    CHECK_EQ(ev(OP_IDIV, DT_I64, INT64_MIN, -1), INT64_MIN);
    CHECK_EQ(ev(OP_MOD, DT_I64, INT64_MIN, -1), 0);
    CHECK_EQ(ev(OP_ADD, DT_I8, 127, 1), -128);
    CHECK_EQ(ev(OP_SUB, DT_U8, 3, 4), 255);
    CHECK_EQ(ev(OP_MUL, DT_U32, 0x10001, 0x10001), 0x20001);
    CHECK_EQ(ev(OP_ADD, DT_BOOL, 1, 1), 1);
    CHECK_EQ(ev(OP_SHL, DT_I32, 1, 31), INT32_MIN);
    CHECK_EQ(ev(OP_SHL, DT_I32, 1, 32), 0);
    CHECK_EQ(ev(OP_SHR, DT_I32, -8, 1), -4);
    CHECK_EQ(ev(OP_SHR, DT_I32, -8, 40), -1);
    CHECK_EQ(ev(OP_SHR, DT_U32, 0xffffffff, 40), 0);
    CHECK_EQ(ev(OP_SHR, DT_U64, -1, 60), 15);
    CHECK_EQ(ev(OP_IDIV, DT_U64, -1, 2), INT64_MAX);
    CHECK_EQ(ev(OP_MOD, DT_U64, -1, 10), 5); /* 18446744073709551615 */
    CHECK_EQ(ev(OP_MAX, DT_U64, -1, 3), -1);
    CHECK_EQ(ev(OP_NOT, DT_U8, 1, 0), 254);
    CHECK_EQ(ev(OP_NOT, DT_BOOL, 1, 0), 0);
    CHECK_EQ(ev(OP_ABS, DT_I8, -128, 0), -128);
    CHECK_EQ(ev(OP_FMA, DT_I8, 100, 2), -49); /* 207 */
    union val s[2] = {{.i = INT64_MAX}, {.i = 1}}, out;
    CHECK(!op_eval(OP_ADD, DT_IDX, DT_IDX, s, &out)); /* idx is exact: this is not defined */
    CHECK(op_eval(OP_ADD, DT_I64, DT_I64, s, &out) && out.i == INT64_MIN);
    CHECK(op_eval(OP_LT, DT_BOOL, DT_U64, (union val[]){{.i = 1}, {.i = -1}}, &out) && out.i == 1);
    CHECK(op_eval(OP_LT, DT_BOOL, DT_I64, (union val[]){{.i = 1}, {.i = -1}}, &out) && out.i == 0);
    CHECK(!op_eval(OP_LOAD, DT_F32, DT_F32, s, &out) && !op_eval(OP_CONST, DT_F32, DT_F32, s, &out));
}

TEST(uop_eval_floats) {
    CHECK(isnan(evf(OP_MAX, DT_F32, NAN, 1)) && isnan(evf(OP_MIN, DT_F32, 1, NAN)));
    CHECK(evf(OP_ROUND, DT_F32, 2.5, 0) == 2 && evf(OP_ROUND, DT_F32, -3.5, 0) == -4);
    CHECK(evf(OP_ADD, DT_F32, 16777216, 1) == 16777216 && evf(OP_ADD, DT_F16, 2048, 1) == 2048);
    CHECK(evf(OP_ADD, DT_F64, 16777216, 1) == 16777217);
    CHECK(evf(OP_MUL, DT_F16, 256, 256) == INFINITY && isnan(evf(OP_MUL, DT_F32, 0, INFINITY)));
    CHECK(evf(OP_POW, DT_F32, 2, 0.5) == (double)(float)sqrt(2) && evf(OP_RSQRT, DT_F32, 4, 0) == 0.5);
    CHECK_NEAR(evf(OP_SIGMOID, DT_F64, 1, 0), 0.7310585786300049, 1e-15);
    CHECK_NEAR(evf(OP_ERF, DT_F64, 0.5, 0), 0.5204998778130465, 1e-15);
    union val fma_in[3] = {{.f = 1 + 0x1p-12}, {.f = 1 + 0x1p-12}, {.f = -1}}, out;
    CHECK(op_eval(OP_FMA, DT_F32, DT_F32, fma_in, &out) && out.f == 0x1p-11 + 0x1p-24); /* rounded once */
    CHECK_EQ(cast(DT_I8, DT_F32, (union val){.f = 300}).i, 127);
    CHECK_EQ(cast(DT_U8, DT_F32, (union val){.f = -3}).i, 0);
    CHECK_EQ(cast(DT_I32, DT_F32, (union val){.f = -2.9}).i, -2);
    CHECK_EQ(cast(DT_I32, DT_F32, (union val){.f = NAN}).i, 0);
    CHECK_EQ(cast(DT_I64, DT_F32, (union val){.f = 1e30}).i, INT64_MAX);
    CHECK_EQ(cast(DT_U64, DT_F32, (union val){.f = 1e30}).i, -1);
    CHECK_EQ(cast(DT_BOOL, DT_F32, (union val){.f = 0.25}).i, 1);
    CHECK_EQ(cast(DT_BOOL, DT_I32, (union val){.i = 256}).i, 1);
    CHECK_EQ(cast(DT_U8, DT_I32, (union val){.i = -1}).i, 255);
    CHECK(cast(DT_F32, DT_U64, (union val){.i = -1}).f == 0x1p64);
    CHECK(cast(DT_F32, DT_I64, (union val){.i = 16777217}).f == 16777216);
    CHECK(cast(DT_BF16, DT_I64, (union val){.i = ((int64_t)1 << 62) + ((int64_t)1 << 54) + 1}).f ==
          0x1p62 + 0x1p55);
    CHECK(cast(DT_F16, DT_I32, (union val){.i = 65520}).f == INFINITY);
}

TEST(uop_tables_are_consistent) {
    for (int i = 0; i < OP_COUNT; i++) {
        const struct op_info *o = &op_info[i];
        CHECK(o->name && *o->doc && o->min_src <= o->max_src);
        CHECK_EQ(op_parse(o->name, strlen(o->name)), i);
        if (o->flags & OPF_C) CHECK(o->min_src == 2 && o->max_src == 2);
        if (o->flags & OPF_A) CHECK(o->flags & OPF_C);
    }
    CHECK_EQ(op_parse("ADDX", 4), OP_COUNT);
    for (int i = 0; i < DT_COUNT; i++) CHECK_EQ(dt_parse(dtype_info[i].name, strlen(dtype_info[i].name)), i);
    CHECK(dt_parse("f3", 2) == DT_COUNT && dt_min(DT_I8) == -128 && dt_max(DT_U32) == UINT32_MAX);
}

TEST(uop_functions_have_their_columns) {
    for (int o = 0; o < OP_COUNT; o++) {
        const struct op_info *i = &op_info[o];
        union val x = {.f = 0.5}, r;
        CHECK_EQ(i->unit != OPU_NONE, op_is_pure((enum op)o));
        CHECK(i->weight + i->flops == 0 || op_is_pure((enum op)o));
        if (op_is_fn((enum op)o) && !(i->weight > 30 && i->ulp >= 2)) FAIL("%s: weight or ulp", i->name);
        if (!op_is_fn1((enum op)o)) continue;
        if (i->min_src != 1 || !op_eval((enum op)o, DT_F64, DT_F64, &x, &r)) FAIL("%s: libm", i->name);
    }
    CHECK(op_is_fn(OP_POW) && !op_is_fn1(OP_POW) && op_is_slow(OP_SQRT) && !op_is_fn(OP_SQRT));
}

static uint32_t observed, observed_nodes;
static void observe(const char *pass, uint64_t t0, uint64_t t1, uint32_t before, uint32_t after) {
    CHECK(*pass && t0 <= t1 && before == (observed ? 4 : 0));
    observed++, observed_nodes += after;
}

TEST(uop_pass_log) {
    struct ir_test t;
    struct str dump;
    struct pass_log log = {.which = "one,three", .observe = observe};
    ir_test_open(&t);
    str_init(&dump, &t.arena);
    log.dump = &dump;
    const uop *x = uop2(&t.ir, OP_ADD, test_range(&t.ir, "r", AX_LOOP, 0, 0, 4), uop_idx(&t.ir, 1));
    for (int i = 0; i < 100; i++) {
        pass_begin(&log, i == 0 ? "one" : i == 1 ? "two" : "more");
        pass_end(&log, &t.ir, x);
    }
    CHECK_EQ(log.n, RG_COUNT(log.rec)); /* full, not overrun */
    CHECK_EQ(log.rec[0].nodes, 4);
    CHECK(observed == log.n && observed_nodes == 4 * log.n);
    CHECK_STR(log.rec[1].name, "two");
    CHECK(strstr(dump.p, "; after one: 4 nodes") && !strstr(dump.p, "after two"));
    CHECK(pass_wants_dump(&log, "three") && !pass_wants_dump(&log, "thre"));
    ir_test_close(&t);
}

/* ---- cost -------------------------------------------------------------------------------------- */

enum { BENCH_NODES = 100000 };

struct choice {
    uint32_t a, b, op;
};

static void bench_choose(struct choice *c) {
    struct rnd r = {1};
    static const enum op ops[] = {OP_ADD, OP_MUL, OP_SUB, OP_MAX, OP_IDIV, OP_MOD};
    for (uint32_t i = 64; i < BENCH_NODES; i++) {
        uint32_t near = RG_MIN(i, 1000u); /* as passes do: sources were touched not long ago */
        c[i] = (struct choice){i - 1 - rnd_below(&r, near), i - 1 - rnd_below(&r, near),
                               ops[rnd_below(&r, RG_COUNT(ops))]};
    }
}

static void bench_build(struct ir *ir, const struct choice *c, const uop **n) {
    for (uint32_t i = 0; i < 64; i++) n[i] = test_range(ir, "r", AX_LOOP, i, 0, 1000);
    for (uint32_t i = 64; i < BENCH_NODES; i++) n[i] = uop2(ir, (enum op)c[i].op, n[c[i].a], n[c[i].b]);
}

/* Of this thread: other processes do not count. */
static uint64_t cpu_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

TEST(uop_cost_of_interning) {
    static struct choice choice[BENCH_NODES];
    double miss = 1e9, hit = 1e9;
    bench_choose(choice);
    for (int round = 0; round < 5; round++) {
        struct ir_test t;
        ir_test_open(&t);
        const uop **a = arena_array(&t.arena, const uop *, BENCH_NODES),
                  **b = arena_array(&t.arena, const uop *, BENCH_NODES);
        uint64_t t0 = cpu_ns();
        bench_build(&t.ir, choice, a);
        uint64_t t1 = cpu_ns();
        uint32_t made = t.ir.n;
        bench_build(&t.ir, choice, b);
        uint64_t t2 = cpu_ns();
        CHECK_EQ(t.ir.n, made); /* the second time all are hits */
        CHECK(!memcmp(a, b, sizeof *a * BENCH_NODES));
        miss = RG_MIN(miss, (double)(t1 - t0) / BENCH_NODES);
        hit = RG_MIN(hit, (double)(t2 - t1) / BENCH_NODES);
        ir_test_close(&t);
    }
    TEST_INFO("uop: at 100,000 nodes a new node costs %.0f ns, one that exists %.0f ns", miss, hit);
}
