/* text.c: the text form. What is printed parses back to the same nodes, hostile text never crashes, and
 * messages say where and what. */
#include "irtest.h"
#include "ir/node.h"
#include "decimal_comma.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>

/* ---- helpers ----------------------------------------------------------------------------------- */

struct parse_job {
    struct ir *ir;
    const char *text;
    size_t n;
    struct program prog;
};
static void parse_it(void *arg) {
    struct parse_job *j = arg;
    ir_parse(j->ir, j->text, j->n, "t.uop", &j->prog);
}
static int parse_text(struct ir_test *t, const char *text, size_t n, struct program *out) {
    struct parse_job j = {.ir = &t->ir, .text = text, .n = n};
    int code = err_guard(&t->err, parse_it, &j);
    *out = j.prog;
    return code;
}

static const char *print_program(struct arena *a, const struct ir *ir, const struct program *p) {
    struct str s;
    str_init(&s, a);
    for (uint32_t i = 0; i < p->kernel.n; i++) ir_print_kernel(&s, ir, &p->kernel.p[i]);
    return s.n ? s.p : "";
}

/* parse(print(x)) is x in the same ir and has the same text in a fresh one. */
static void round_trip(struct ir_test *t, const struct program *p) {
    const char *text = print_program(&t->arena, &t->ir, p);
    struct program again, other;
    struct ir_test fresh;
    if (parse_text(t, text, strlen(text), &again)) FAIL("%s\nin\n%s", t->err.msg, text);
    CHECK_EQ(again.kernel.n, p->kernel.n);
    for (uint32_t i = 0; i < p->kernel.n; i++) {
        if (again.kernel.p[i].sink != p->kernel.p[i].sink) FAIL("another node after\n%s", text);
        CHECK_STR(again.kernel.p[i].name, p->kernel.p[i].name);
        CHECK_STR(again.kernel.p[i].opts, p->kernel.p[i].opts);
    }
    ir_test_open(&fresh);
    if (parse_text(&fresh, text, strlen(text), &other)) FAIL("%s\nin\n%s", fresh.err.msg, text);
    CHECK_STR(print_program(&fresh.arena, &fresh.ir, &other), text);
    ir_test_close(&fresh);
}

/* Calls fn with each .uop file of a folder; returns how many. */
static int each_file(const char *dir, void (*fn)(const char *path, const char *text, size_t n, void *),
                     void *arg) {
    DIR *d = opendir(dir);
    int count = 0;
    if (!d) return 0;
    for (struct dirent *e; (e = readdir(d));) {
        size_t len = strlen(e->d_name);
        if (len < 4 || strcmp(e->d_name + len - 4, ".uop") != 0) continue;
        struct err err = {0};
        struct arena a;
        char path[512], *text;
        size_t n;
        arena_init(&a, &err);
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        CHECK(os_read_file(&err, &a, path, 1 << 20, &text, &n) == 0);
        fn(path, text, n, arg);
        count++;
        arena_free(&a);
    }
    closedir(d);
    return count;
}

static void file_round_trip(const char *path, const char *text, size_t n, void *arg) {
    struct ir_test t;
    struct program p;
    (void)arg;
    ir_test_open(&t);
    if (parse_text(&t, text, n, &p)) FAIL("%s: %s", path, t.err.msg);
    CHECK(p.kernel.n > 0);
    round_trip(&t, &p);
    ir_test_close(&t);
}

TEST(text_round_trip_of_golden_files) {
    int n = each_file("tests/golden", file_round_trip, NULL) +
            each_file("tests/golden/small", file_round_trip, NULL);
    CHECK(n >= 10);
}

/* ---- random graphs ----------------------------------------------------------------------------- */

enum { POOL = 96 };
struct gen {
    struct ir *ir;
    struct rnd r;
    const uop *n[POOL];
    uint32_t count;
    uint64_t *made; /* per op */
};

static enum dtype random_type(struct gen *g) { return (enum dtype)(1 + rnd_below(&g->r, DT_COUNT - 1)); }

static double random_float(struct gen *g, enum dtype dt) {
    static const double special[] = {0.0,       -0.0, 1,      -1,    0.1,   1e-5,  INFINITY,
                                     -INFINITY, NAN,  5e-324, 65504, 1e-40, 3.4e38};
    uint64_t b = rnd_next(&g->r);
    double v;
    float f;
    uint32_t w = (uint32_t)b;
    switch (rnd_below(&g->r, 3)) {
    case 0: return dt_round(dt, special[rnd_below(&g->r, RG_COUNT(special))]);
    case 1: memcpy(&v, &b, 8); break;
    default: memcpy(&f, &w, 4), v = (double)f;
    }
    return dt_round(dt, v);
}

static const uop *random_const(struct gen *g, enum dtype dt) {
    if (dt_is_float(dt)) return uop_flt(g->ir, dt, random_float(g, dt));
    return uop_int(g->ir, dt, rnd_int(&g->r, dt));
}

/* A node of the pool that fits, or NULL. */
static const uop *pool_pick(struct gen *g, enum dtype dt, unsigned lanes, enum op op) {
    for (int i = 0; i < 24 && g->count; i++) {
        const uop *n = g->n[rnd_below(&g->r, g->count)];
        bool value = n->dt != DT_VOID && !(op_info[n->op].flags & OPF_M) && n->op != OP_INDEX;
        if (op != OP_COUNT ? n->op != op : !value) continue;
        if ((dt != DT_COUNT && n->dt != dt) || (lanes && n->lanes != 1 && n->lanes != lanes)) continue;
        return n;
    }
    return NULL;
}

static const uop *value_of(struct gen *g, enum dtype dt, unsigned lanes) {
    const uop *n = rnd_below(&g->r, 4) ? pool_pick(g, dt, lanes, OP_COUNT) : NULL;
    return n ? n : random_const(g, dt == DT_COUNT ? random_type(g) : dt);
}

static const uop *memory_of(struct gen *g) {
    for (int i = 0; i < 24 && g->count; i++) {
        const uop *n = g->n[rnd_below(&g->r, g->count)];
        if (op_info[n->op].flags & OPF_M) return n;
    }
    return NULL;
}

static const uop *statement_of(struct gen *g) {
    for (int i = 0; i < 24 && g->count; i++) {
        const uop *n = g->n[rnd_below(&g->r, g->count)];
        if (n->dt == DT_VOID && n->op != OP_SINK) return n;
    }
    return NULL;
}

/* A source that suits the op most of the time; node_check decides. */
static const uop *source_of(struct gen *g, enum op op, uint32_t i, const uop *const *src, enum dtype dt,
                            unsigned lanes) {
    switch (op) {
    case OP_PARAM:
    case OP_PARAMS:
    case OP_LOCAL:
    case OP_RANGE: return value_of(g, rnd_below(&g->r, 4) ? DT_IDX : DT_I64, 1);
    case OP_ACC: return value_of(g, DT_IDX, 1);
    case OP_VAR: return value_of(g, dt, 1);
    case OP_INDEX: return i == 0 ? memory_of(g) : value_of(g, rnd_below(&g->r, 2) ? DT_IDX : DT_I32, lanes);
    case OP_LOAD:
    case OP_LDMATRIX:
    case OP_MBAR_INIT:
    case OP_MBAR_ARRIVE:
    case OP_MBAR_WAIT:
    case OP_PREFETCH: return pool_pick(g, DT_COUNT, 0, OP_INDEX);
    case OP_TENSOR_MAP: return i ? value_of(g, DT_IDX, 1) : pool_pick(g, DT_COUNT, 0, OP_PARAM);
    case OP_TMA_LOAD:
    case OP_TMA_STORE:
        if (i == 1) return pool_pick(g, DT_COUNT, 0, OP_TENSOR_MAP);
        return i == 0 || (i == 2 && op == OP_TMA_LOAD) ? pool_pick(g, DT_COUNT, 0, OP_INDEX)
                                                       : value_of(g, DT_IDX, 1);
    case OP_DSMEM_STORE:
        if (i == 0) return pool_pick(g, DT_COUNT, 0, OP_INDEX);
        return i == 1 ? value_of(g, DT_IDX, 1) : src[0] ? value_of(g, (enum dtype)src[0]->dt, 1) : NULL;
    case OP_CP_ASYNC: return i < 2 ? pool_pick(g, DT_COUNT, 0, OP_INDEX) : value_of(g, DT_BOOL, 0);
    case OP_PIN_REG:
    case OP_MMA: return pool_pick(g, DT_COUNT, 0, OP_ACC);
    case OP_WARP_REDUCE: return i ? value_of(g, DT_IDX, 1) : pool_pick(g, DT_COUNT, 0, OP_ACC);
    case OP_BEFORE: return pool_pick(g, DT_COUNT, 0, OP_SCAN);
    case OP_PRED_LOAD:
    case OP_STORE:
    case OP_STORE_ADD:
        if (i == 0) return pool_pick(g, DT_COUNT, 0, OP_INDEX);
        return src[0] ? value_of(g, i == 2 ? DT_BOOL : (enum dtype)src[0]->dt, src[0]->lanes) : NULL;
    case OP_STAGE:
    case OP_REDUCE:
    case OP_SCAN: return i == 0 ? value_of(g, DT_COUNT, 0) : pool_pick(g, DT_COUNT, 0, OP_RANGE);
    case OP_SINK:
    case OP_BLOCK: return statement_of(g);
    case OP_FOR: return pool_pick(g, DT_COUNT, 0, i ? OP_BLOCK : OP_RANGE);
    case OP_IF: return i ? pool_pick(g, DT_COUNT, 0, OP_BLOCK) : value_of(g, DT_BOOL, 0);
    case OP_SET:
        return i ? value_of(g, src[0] ? (enum dtype)src[0]->dt : DT_COUNT, 0)
                 : pool_pick(g, DT_COUNT, 0, OP_ACC);
    case OP_END: return pool_pick(g, DT_COUNT, 0, rnd_below(&g->r, 2) ? OP_RANGE : OP_IF);
    case OP_ELSE: return pool_pick(g, DT_COUNT, 0, OP_IF);
    case OP_WHERE:
    case OP_UNLIKELY:
        return value_of(g, i == 0 ? DT_BOOL : i == 2 && src[1] ? (enum dtype)src[1]->dt : DT_COUNT, lanes);
    case OP_GRAPH: return value_of(g, DT_COUNT, 0);
    case OP_BUFFER:
    case OP_IOTA: return value_of(g, DT_IDX, 1);
    case OP_RESHAPE:
    case OP_PERMUTE:
    case OP_EXPAND:
    case OP_PAD:
    case OP_SHRINK:
    case OP_FLIP:
    case OP_REDUCE_AXES:
    case OP_SCAN_AXIS:
    case OP_ASSIGN:
        if (i == 1 && (op == OP_PAD || op == OP_ASSIGN)) return value_of(g, (enum dtype)src[0]->dt, 1);
        return value_of(g, i ? DT_IDX : DT_COUNT, 1);
    default: return value_of(g, i && src[0] ? (enum dtype)src[0]->dt : DT_COUNT, lanes);
    }
}

static union arg random_arg(struct gen *g, enum op op) {
    static const char *const names[] = {"x",  "k",        "out",      "acc.t", "a b", "inf",
                                        "%3", "quote\"d", "\xc3\xa4", "data",  "r"};
    static const enum op combine[] = {OP_ADD, OP_MUL, OP_MAX, OP_MIN};
    const char *s = names[rnd_below(&g->r, RG_COUNT(names))];
    uint32_t sym = ir_sym(g->ir, s, strlen(s));
    union arg a = ARG_NONE;
    switch (op_info[op].arg) {
    case OPA_INT: return ARG_INT(rnd_below(&g->r, 4) ? rnd_below(&g->r, 4) : rnd_range(&g->r, -9, 1 << 20));
    case OPA_OP: return ARG_INT(combine[rnd_below(&g->r, 4)]);
    case OPA_PARAM: a.param.slot = rnd_below(&g->r, 40), a.param.name = sym; return a;
    case OPA_MEM: a.mem.name = sym, a.mem.space = rnd_below(&g->r, SPACE_COUNT); return a;
    case OPA_SYM: a.u = sym; return a;
    case OPA_RANGE:
        do a.range.kind = (uint8_t)rnd_below(&g->r, AX_COUNT);
        while (!axis_name[a.range.kind]);
        a.range.cls = sym;
        a.range.pos = (uint8_t)rnd_below(&g->r, 9), a.range.id = (uint16_t)rnd_below(&g->r, 3);
        return a;
    default: return a;
    }
}

static const uop *random_node(struct gen *g, enum op op) {
    const struct op_info *o = &op_info[op];
    const uop *src[16] = {NULL};
    unsigned lanes = rnd_below(&g->r, 3) ? 1 : 1u << rnd_below(&g->r, 5), row;
    enum dtype dt = random_type(g), inferred;
    uint32_t most = RG_MIN(o->max_src, o->min_src + 3u),
             nsrc = o->min_src + rnd_below(&g->r, most - o->min_src + 1);
    if (op == OP_CONST) return NULL; /* constants come as sources */
    for (uint32_t i = 0; i < nsrc; i++)
        if (!(src[i] = source_of(g, op, i, src, dt, lanes))) return NULL;
    node_infer(op, src, nsrc, &inferred, &row);
    if (inferred != DT_COUNT && !(o->dt == OPD_IDX && rnd_below(&g->r, 8) == 0)) dt = inferred;
    if (op == OP_CALL && rnd_below(&g->r, 4) == 0) dt = DT_VOID;
    if (o->lanes != OPL_SELF || op == OP_BUILD || (op == OP_INDEX && row > 1)) lanes = row;
    char why[WHY_MAX];
    int at;
    union arg arg = random_arg(g, op);
    if (!node_check(g->ir, op, dt, lanes, src, nsrc, arg, why, &at)) return NULL;
    return uop_new(g->ir, op, dt, lanes, src, nsrc, arg);
}

/* Values get a STORE so that they are below the sink. */
static const uop *keep_value(struct gen *g, const uop *n) {
    if (n->op == OP_INDEX) n = uop1(g->ir, OP_LOAD, n);
    if (op_info[n->op].flags & OPF_M) n = uop1(g->ir, OP_LOAD, uop2(g->ir, OP_INDEX, n, uop_idx(g->ir, 0)));
    const uop *p = test_param(g->ir, (enum dtype)n->dt, 0, "keep", 64);
    const uop *x = uop_new(g->ir, OP_INDEX, (enum dtype)n->dt, n->lanes,
                           (const uop *[]){p, uop_idx(g->ir, 0)}, 2, ARG_NONE);
    return uop2(g->ir, OP_STORE, x, n);
}

static const uop *random_graph(struct gen *g, uint32_t size) {
    const uop *keep[POOL];
    uint32_t n = 0;
    static const enum op leaves[] = {OP_PARAM, OP_RANGE, OP_LOCAL, OP_ACC,
                                     OP_LANES, OP_VAR,   OP_INDEX, OP_INVALID};
    for (int tries = 0; g->count < size && tries < 4000; tries++) {
        enum op op = g->count < 8 ? leaves[g->count] : (enum op)rnd_below(&g->r, OP_COUNT);
        const uop *u = op == OP_SINK ? NULL : random_node(g, op);
        if (!u) continue;
        g->made[u->op]++;
        g->n[g->count++] = u;
    }
    for (uint32_t i = 0; i < g->count; i++)
        if (g->n[i]->op != OP_SINK) keep[n++] = g->n[i]->dt == DT_VOID ? g->n[i] : keep_value(g, g->n[i]);
    return uop_mk(g->ir, OP_SINK, keep, n, ARG_NONE);
}

TEST_SLOW(text_round_trip_of_random_graphs, 240) {
    static uint64_t made[OP_COUNT];
    for (uint64_t seed = 0; seed < 16000; seed++) {
        struct ir_test t;
        ir_test_open(&t);
        struct gen g = {.ir = &t.ir, .r = {seed * 31 + 7}, .made = made};
        struct kernel k = {.name = seed % 7 ? "k" : "odd name", .opts = seed % 3 ? "" : "TILE(a,4,b) VEC(b)"};
        k.sink = random_graph(&g, 8 + rnd_below(&g.r, 40));
        struct program p = {0};
        vec_push(&t.arena, &p.kernel, k);
        round_trip(&t, &p);
        ir_test_close(&t);
    }
    for (int op = 0; op < OP_COUNT; op++)
        if (op != OP_CONST && op != OP_SINK && made[op] < 100)
            FAIL("%s was made %d times", op_info[op].name, (int)made[op]);
}

TEST(text_floats_read_back) {
    struct ir_test t;
    struct rnd r = {5};
    static const enum dtype types[] = {DT_F16, DT_BF16, DT_F32, DT_F64};
    ir_test_open(&t);
    struct gen g = {.ir = &t.ir, .r = r};
    for (int i = 0; i < 40000; i++) {
        enum dtype dt = types[i % 4];
        double v = random_float(&g, dt);
        struct str s;
        const uop *n = uop_flt(&t.ir, dt, v), *st = keep_value(&g, uop1(&t.ir, OP_NEG, n));
        struct kernel k = {.name = "k", .opts = "", .sink = uop_mk(&t.ir, OP_SINK, &st, 1, ARG_NONE)};
        str_init(&s, &t.arena);
        ir_print_kernel(&s, &t.ir, &k);
        struct program p;
        if (parse_text(&t, s.p, s.n, &p)) FAIL("%s in %s", t.err.msg, s.p);
        if (p.kernel.p[0].sink != k.sink) FAIL("%.17g became another number in %s", v, s.p);
        if (i % 1000 == 999) {
            ir_test_close(&t);
            ir_test_open(&t);
        }
    }
    ir_test_close(&t);
}

TEST(text_does_not_depend_on_the_locale) {
    decimal_comma();
    struct ir_test t;
    struct program p;
    ir_test_open(&t);
    const char *text = "kernel k\no = (PARAM<f32>[0 o] 1)\n(SINK (STORE (INDEX o 0) (NEG 1.5)))\n";
    CHECK_EQ(parse_text(&t, text, strlen(text), &p), 0);
    CHECK(strstr(print_program(&t.arena, &t.ir, &p), "(NEG 1.5)"));
    ir_test_close(&t);
}

/* ---- syntax ------------------------------------------------------------------------------------ */

static const uop *stored(struct ir_test *t, const char *lines, const char *value) {
    struct program p;
    struct str s;
    str_init(&s, &t->arena);
    str_printf(
        &s,
        "kernel k\no = (PARAM<f32>[0 o] 9)\nh = (PARAM<f16>[1 h] 9)\nr = (RANGE[r GRID 0] 9)\n%s\n(SINK %s)",
        lines, value);
    if (parse_text(t, s.p, s.n, &p)) FAIL("%s in\n%s", t->err.msg, s.p);
    return p.kernel.p[0].sink->src[0]->src[1];
}

TEST(text_numbers_take_the_type_of_their_operand) {
    struct ir_test t;
    ir_test_open(&t);
    struct ir *ir = &t.ir;
    CHECK(stored(&t, "", "(STORE (INDEX o r) 3)") == uop_flt(ir, DT_F32, 3));
    CHECK(stored(&t, "", "(STORE (INDEX h r) 0.1)") == uop_flt(ir, DT_F16, 0.1));
    const uop *x = stored(&t, "", "(STORE (INDEX h r) (MUL 2 (LOAD (INDEX h 1))))");
    CHECK(x->src[1] == uop_flt(ir, DT_F16, 2) && x->src[0]->src[0]->src[1] == uop_idx(ir, 1));
    x = stored(&t, "", "(STORE (INDEX o r) (WHERE (LT r 3) (LOAD (INDEX o r)) -inf))");
    CHECK(x->src[2] == uop_flt(ir, DT_F32, -INFINITY) && x->src[0]->src[1] == uop_idx(ir, 3));
    x = stored(&t, "", "(STORE (INDEX o r) (CAST<f32> (ADD 1.5:f64 2)))");
    CHECK(x->src[0]->dt == DT_F64 && x->src[0]->src[0]->dt == DT_F64);
    x = stored(&t, "n = 4 ; a lone integer is idx\n", "(STORE (INDEX o r) (CAST<f32> (ADD n 255:idx)))");
    CHECK(x->src[0]->dt == DT_IDX);
    CHECK(stored(&t, "", "(STORE (INDEX o r) (NEG 2.5))")->src[0] == uop_flt(ir, DT_F32, 2.5));
    CHECK(stored(&t, "", "(STORE (INDEX o r) (CAST<f32> 18446744073709551615:u64))")->src[0]->arg.u ==
          UINT64_MAX);
    CHECK(stored(&t, "", "(STORE (INDEX o r) (CAST<f32> true))")->src[0]->dt == DT_BOOL);
    CHECK(stored(&t, "", "(STORE (INDEX o r) nan)") == uop_flt(ir, DT_F32, NAN));
    x = stored(&t, "", "(STORE (INDEX o r) (CAST<f32>\n  (ADD ; over\n   r 1)))");
    CHECK(x->src[0]->op == OP_ADD);
    ir_test_close(&t);
}

TEST(text_of_a_whole_file) {
    static const char text[] = "; two kernels\n"
                               "kernel a\r\n"
                               "opts TILE(r,4,v)   ; first\n"
                               "opts VEC(v)\n"
                               "x = (PARAM<f32>[0 x] 8)\n"
                               "r = (RANGE[r GRID 0 3] 8)\n"
                               "(SINK (STORE (INDEX x r) 1))\n\n"
                               "kernel b\n"
                               "x = (PARAM<f32>[0 \"odd \\\"name\\x21\"] 8) ; names are local\n"
                               "(SINK\n (STORE (INDEX x 0) 1))\n"
                               "data x = uniform -1 1.5\n"
                               "data y = params 3 4 normal 0 1\n"
                               "data z = zeros";
    struct ir_test t;
    struct program p;
    ir_test_open(&t);
    CHECK_EQ(parse_text(&t, text, sizeof text - 1, &p), 0);
    CHECK(p.kernel.n == 2 && p.data.n == 3);
    CHECK_STR(p.kernel.p[0].name, "a");
    CHECK_STR(p.kernel.p[0].opts, "TILE(r,4,v) VEC(v)");
    CHECK_STR(p.kernel.p[1].opts, "");
    CHECK_EQ(p.kernel.p[1].line, 9);
    CHECK_EQ(p.kernel.p[0].sink->src[0]->src[0]->src[1]->arg.range.id, 3);
    CHECK_STR(ir_name(&t.ir, p.kernel.p[1].sink->src[0]->src[0]->src[0]->arg.param.name), "odd \"name!");
    CHECK(p.data.p[0].n == 2 && p.data.p[0].num[1] == 1.5 && p.data.p[0].line == 13);
    CHECK_STR(p.data.p[1].then, "normal");
    CHECK(p.data.p[1].n == 2 && p.data.p[1].then_n == 2 && p.data.p[2].n == 0);
    CHECK_STR(p.data.p[2].fill, "zeros");
    ir_test_close(&t);
}

/* Text after "kernel k", the place of the error in the whole text, words of the message. */
static const struct {
    const char *text;
    int line, column;
    const char *words;
} wrong[] = {
    {"(SINK", 2, 6, "expected an expression, found the end of the file"},
    {"x = (ADD 1)", 2, 6, "expected 2 sources in ADD, found 1"},
    {"x = (ADD 1 2 3)", 2, 6, "expected 2 sources in ADD, found 3"},
    {"x = (FROB 1)", 2, 6, "expected the name of an op, found `FROB`"},
    {"x = (ADD 1 y)", 2, 12, "expected a name defined above, found `y`"},
    {"x = 1\nx = 2", 3, 1, "already defined"},
    {"x = (ADD 1:f32 2:f16)", 2, 16, "expected f32 as source 1 of ADD (the type of source 0), found f16"},
    {"x = (PARAM<f32>[0 x] 4)\ny = (NEG x)", 3, 10,
     "found the buffer PARAM; read it with (LOAD (INDEX buffer index))"},
    {"x = (PARAM<f32>[0 x] 4)\ny = (LOAD x)", 3, 11, "expected INDEX as source 0 of LOAD, found PARAM"},
    {"x = (PARAM<f32>[0 x] 4)\ny = (INDEX x 1.5)", 3, 14, "expected an integer of type idx, found `1.5`"},
    {"x = (INDEX 3 4)", 2, 12, "expected a buffer"},
    {"x = (PARAM[0 x] 4)", 2, 11, "expected PARAM<dtype>, found no type"},
    {"x = (PARAM<f33>[0 x] 4)", 2, 12, "expected an element type"},
    {"x = (PARAM<f32>[x 0] 4)", 2, 17, "expected a slot number"},
    {"x = (PARAM<f32> 4)", 2, 16, "expected the [argument] of PARAM"},
    {"x = (RANGE[k FOO 0] 4)", 2, 14, "expected an axis kind"},
    {"x = (RANGE[k LOOP 300] 4)", 2, 19, "expected a position (0..255), found `300`"},
    {"x = (REDUCE[FDIV] 1.0 2)", 2, 23, "expected RANGE as source 1 of REDUCE, found CONST"},
    {"x = 300:i8", 2, 5, "expected a number of type i8, found 300, which does not fit"},
    {"x = 1e39:f32", 2, 5, "does not fit"},
    {"x = -1:u8", 2, 5, "does not fit"},
    {"x = 1.5:i32", 2, 5, "expected an integer of type i32"},
    {"x = 1..5", 2, 5, "expected a number, found `1..5`"},
    {"x = 99999999999999999999:u64", 2, 5, "expected an integer of type u64"},
    {"x = (SQRT 3:i32)", 2, 11, "expected a float as source 0 of SQRT, found i32"},
    {"x = (AND 1.0 2.0)", 2, 10, "expected an integer or bool as source 0 of AND, found f32"},
    {"x = (EXTRACT[4] (LANES<idxx4>))", 2, 6, "expected a lane 0..3"},
    {"x = (WHERE 1 2 3)\n(NEG x)", 3, 1, "expected `name = (NEG ..)`, (SINK ..) or (GRAPH ..)"},
    {"x = (BITCAST<f64> 1:i32)", 2, 19, "expected a type of 8 bytes in BITCAST, found i32 of 4"},
    {"x = (NEG<f16> 1.0:f32)", 2, 6, "expected f32 as the type of NEG, found f16"},
    {"(SINK (BLOCK))\n(SINK (BLOCK))", 3, 1, "expected one (SINK ..) or (GRAPH ..)"},
    {"x = 3", 1, 1, "expected a (SINK ..) or (GRAPH ..) line in kernel k, found none"},
    {"x = (PARAM<f32>[0 \"a", 2, 19, "expected a closing \""},
    {"x = (CONST<f32>)", 2, 6, "expected a number, found CONST"},
    {"x = 1 2", 2, 7, "expected the end of the line, found `2`"},
    {"(SINK (BLOCK))\ndata x = fuzzy", 3, 10, "expected uniform"},
    {"= 3", 2, 1, "expected `name = ..`"},
};

TEST(text_messages_say_where_and_what) {
    for (size_t i = 0; i < RG_COUNT(wrong); i++) {
        struct ir_test t;
        struct program p;
        char text[256], where[64];
        ir_test_open(&t);
        snprintf(text, sizeof text, "kernel k\n%s", wrong[i].text);
        snprintf(where, sizeof where, "t.uop:%d:%d: ", wrong[i].line, wrong[i].column);
        CHECK_EQ(parse_text(&t, text, strlen(text), &p), RG_EPARSE);
        if (strncmp(t.err.msg, where, strlen(where)) != 0 || !strstr(t.err.msg, wrong[i].words))
            FAIL("%s\nis\n  %s\nexpected\n  %s%s", wrong[i].text, t.err.msg, where, wrong[i].words);
        ir_test_close(&t);
    }
    TEST_COUNT(RG_COUNT(wrong), "messages of the parser checked word by word");
}

/* ---- tensor programs ---------------------------------------------------------------------------- */

/* Every op of the tensor graph, with a number for each operand that may be one. */
static const char tensor_program[] =
    "kernel all_rows\n"
    "b0 = (BUFFER<f32>[0] 4 6)\n"
    "b1 = (BUFFER<i64>[1] 4 2)\n"
    "b2 = (BUFFER<f16>[2])\n"
    "start = (VAR<idx>[0 start] 0 3)\n"
    "a = (ADD (MUL b0 2.5) (EXPAND (RESHAPE (CAST<f32> (IOTA<i32> 6)) 1 6) 4 6))\n"
    "s = (REDUCE_AXES[ADD] a 1)\n"
    "c = (SCAN_AXIS[MAX] (FLIP (PERMUTE a 1 0) 0 1) 1)\n"
    "p = (PAD b0 -1 1 2 0 0 0 3)\n"
    "g = (GATHER[1] b0 b1)\n"
    "t = (SCATTER[1] b0 b1 g)\n"
    "u = (ASSIGN b0 (DETACH (RESHAPE (SHRINK a start 1 1 1 2 2) 1 2)) start 1 1 0 2 3)\n"
    "v = (ASSIGN u (CONTIGUOUS a))\n"
    "w = (PAD b2 0.5)\n"
    "n = (EXPAND (RESHAPE 3:u8 1 1) 2 2)\n"
    "(GRAPH s c p t v w (WHERE (LT b0 0) 1 b0) n (EXPAND (RESHAPE 1.5 1) 7) 2.0 true)\n";

TEST(text_tensor_programs_round_trip) {
    struct ir_test t;
    struct program p;
    struct shapes sh;
    ir_test_open(&t);
    if (parse_text(&t, tensor_program, strlen(tensor_program), &p)) FAIL("%s", t.err.msg);
    CHECK_EQ(p.kernel.n, 1);
    CHECK_EQ(p.kernel.p[0].sink->op, OP_GRAPH);
    CHECK_EQ(p.kernel.p[0].sink->nsrc, 11);
    round_trip(&t, &p);
    shapes_init(&sh, &t.ir, &t.arena); /* it is legal, too: shape_of would throw */
    CHECK_EQ(shape_size(shape_of(&sh, p.kernel.p[0].sink->src[1])), 24);
    CHECK_EQ(p.kernel.p[0].sink->src[5]->dt, DT_F16);
    CHECK_EQ(p.kernel.p[0].sink->src[7]->dt, DT_U8);
    ir_test_close(&t);
}

TEST(text_tensor_programs_print_readably) {
    static const char text[] = "kernel rows\n"
                               "b0 = (BUFFER<f32>[0] 4 6)\n"
                               "%4 = (REDUCE_AXES[MAX] b0 1)\n"
                               "%7 = (EXP (SUB b0 (EXPAND %4 4 6)))\n"
                               "%8 = (REDUCE_AXES[ADD] %7 1)\n"
                               "(GRAPH\n  (FDIV %7 (EXPAND %8 4 6))\n  (PAD b0 -1.0 0 1 0 0 0 2))\n";
    struct ir_test t;
    struct program p;
    ir_test_open(&t);
    if (parse_text(&t, text, strlen(text), &p)) FAIL("%s", t.err.msg);
    const char *again = print_program(&t.arena, &t.ir, &p);
    struct program q;
    CHECK_EQ(parse_text(&t, again, strlen(again), &q), 0);
    CHECK(q.kernel.p[0].sink == p.kernel.p[0].sink);
    CHECK_STR(again, text);
    ir_test_close(&t);
}

TEST(text_tensor_programs_are_checked) {
    static const struct {
        const char *line, *words;
    } row[] = {
        {"x = (BUFFER<void>[0] 3)", "expected an element type in BUFFER, found void"},
        {"x = (BUFFER<f32>[0] 3.5)", "expected an integer of type idx"},
        {"x = (RESHAPE (BUFFER<f32>[0] 6) 2 3:i32)", "expected idx as source 2 of RESHAPE"},
        {"x = (REDUCE_AXES[SUB] (BUFFER<f32>[0] 6) 0)", "expected ADD, MUL, MAX or MIN"},
        {"x = (GATHER (BUFFER<f32>[0] 6) (BUFFER<i32>[1] 6))", "expected the [argument] of GATHER"},
        {"x = (ADD (BUFFER<f32>[0] 6) (BUFFER<i32>[1] 6))", "expected f32 as source 1 of ADD"},
        {"x = (IOTA 6)", "expected IOTA<dtype>, found no type"},
        {"(GRAPH (BLOCK))", "expected a value as source 0 of GRAPH, found the statement BLOCK"},
        {"(GRAPH 1 2)\n(GRAPH 1 2)", "found a second"},
    };
    for (size_t i = 0; i < RG_COUNT(row); i++) {
        struct ir_test t;
        struct program p;
        char text[256];
        ir_test_open(&t);
        snprintf(text, sizeof text, "kernel k\n%s", row[i].line);
        CHECK_EQ(parse_text(&t, text, strlen(text), &p), RG_EPARSE);
        if (!strstr(t.err.msg, row[i].words))
            FAIL("%s\nis\n  %s\nexpected\n  %s", row[i].line, t.err.msg, row[i].words);
        ir_test_close(&t);
    }
}

/* ---- docs/ir.md -------------------------------------------------------------------------------- */

static void flags_text(char *b, unsigned flags) {
    static const char letters[] = "CAPEMFIW";
    for (int i = 0; i < 8; i++)
        if (flags >> i & 1) *b++ = letters[i];
    *b = 0;
}

/* An item of a list, wrapped. */
static void item(struct str *s, const char *text) {
    enum { WIDTH = 100 };
    size_t col = 1;
    str_addc(s, '-');
    while (*text) {
        size_t n = strcspn(text, " ");
        if (col + 1 + n > WIDTH) str_add(s, "\n "), col = 1;
        str_addc(s, ' ');
        str_addn(s, text, n);
        col += 1 + n;
        text += n + (text[n] == ' ');
    }
    str_addc(s, '\n');
}

static void ops_list(struct str *s) {
    static const char *const type[] = {"spelled", "source 0", "source 1", "bool", "idx", "void", "buffer's"};
    static const char *const lanes[] = {"widest", "1", "spelled", "source 0"};
    static const char *const arg[] = {"",      " number",       " [int]", " [range]", " [slot name]",
                                      " [op]", " [name space]", " [name]"};
    for (int i = 0; i < OP_COUNT; i++) {
        const struct op_info *o = &op_info[i];
        char flags[12], count[24], text[1024];
        flags_text(flags, o->flags);
        if (o->max_src == UINT16_MAX)
            snprintf(count, sizeof count, "%u ..", o->min_src);
        else if (o->min_src == o->max_src)
            snprintf(count, sizeof count, "%u", o->min_src);
        else
            snprintf(count, sizeof count, "%u..%u", o->min_src, o->max_src);
        snprintf(text, sizeof text, "`%s%s` (%s; %s; %s%s%s): %s", o->name, arg[o->arg], count, type[o->dt],
                 lanes[o->lanes], *flags ? "; " : "", flags, o->doc);
        item(s, text);
    }
}

static void rules_list(struct str *s) {
    for (unsigned i = 0; i < verify_rule_count; i++) {
        char text[512];
        snprintf(text, sizeof text, "`%s`: %s. %c%s.", verify_rules[i].name, verify_rules[i].what,
                 toupper((unsigned char)verify_rules[i].todo[0]), verify_rules[i].todo + 1);
        item(s, text);
    }
}

static void axes_table(struct str *s) {
    str_add(s, "| kind | how it runs |\n|---|---|\n");
#define X(name, code, doc) str_add(s, "| " #name " | " doc " |\n");
    AXIS_TABLE(X)
#undef X
}

/* The table and lists of docs/ir.md are those of the code. BLESS=1 writes them. */
TEST(text_manual_is_true) {
    static const struct {
        const char *mark;
        void (*table)(struct str *);
    } part[] = {
        {"<!-- axes -->\n", axes_table}, {"<!-- ops -->\n", ops_list}, {"<!-- rules -->\n", rules_list}};
    struct ir_test t;
    char *text;
    size_t n;
    struct str whole;
    ir_test_open(&t);
    CHECK(os_read_file(&t.err, &t.arena, "docs/ir.md", 1 << 20, &text, &n) == 0);
    str_init(&whole, &t.arena);
    const char *at = text;
    for (size_t i = 0; i < RG_COUNT(part); i++) {
        const char *from = strstr(at, part[i].mark), *end = from ? strstr(from, "<!-- end -->") : NULL;
        if (!end) FAIL("docs/ir.md: expected %s", part[i].mark);
        from += strlen(part[i].mark);
        str_addn(&whole, at, (size_t)(from - at));
        part[i].table(&whole);
        at = end;
    }
    str_add(&whole, at);
    if (getenv("BLESS"))
        CHECK(os_write_file(&t.err, "docs/ir.md", whole.p, whole.n, 0644) == 0);
    else if (strcmp(whole.p, text) != 0)
        FAIL("docs/ir.md: its tables are not those of the code; BLESS=1 ridge-test text_manual writes them");
    ir_test_close(&t);
}

/* ---- hostile text ------------------------------------------------------------------------------ */

static void must_not_crash(const char *text, size_t n) {
    struct ir_test t;
    struct program p;
    ir_test_open(&t);
    int code = parse_text(&t, text, n, &p);
    if (code != 0 && code != RG_EPARSE) FAIL("code %d: %s in\n%.*s", code, t.err.msg, (int)n, text);
    if (code == RG_EPARSE && (strncmp(t.err.msg, "t.uop:", 6) != 0 || !strstr(t.err.msg, "expected")))
        FAIL("message \"%s\"", t.err.msg);
    ir_test_close(&t);
}

TEST(text_deep_and_wide_expressions) {
    struct ir_test t;
    struct str s;
    ir_test_open(&t);
    str_init(&s, &t.arena);
    str_add(&s, "kernel k\nx = ");
    for (int i = 0; i < 100000; i++) str_add(&s, "(NEG ");
    must_not_crash(s.p, s.n);
    str_init(&s, &t.arena);
    str_add(&s, "kernel k\nx = (BLOCK");
    for (int i = 0; i < 70000; i++) str_add(&s, " 1");
    must_not_crash(s.p, s.n);
    str_init(&s, &t.arena);
    str_add(&s, "kernel k\nx = 1:i32\n");
    for (int i = 0; i < 2000; i++)
        str_printf(&s, "x%d = (ADD %s%.0d %s%.0d)\n", i + 1, "x", i, "x", i); /* shared */
    must_not_crash(s.p, s.n);
    must_not_crash("kernel k\n\0x", 11);
    must_not_crash("", 0);
    ir_test_close(&t);
}

static void all_steps(void *arg) {
    struct parse_job *j = arg;
    struct str s;
    ir_parse(j->ir, j->text, j->n, "t.uop", &j->prog);
    str_init(&s, j->ir->arena);
    for (uint32_t i = 0; i < j->prog.kernel.n; i++) {
        verify_kernel(j->ir, &j->prog.kernel.p[i]);
        ir_print_kernel(&s, j->ir, &j->prog.kernel.p[i]);
    }
}
static void start(void *ir) { ir_init(ir, ((struct ir *)ir)->arena); }

TEST(text_out_of_memory_is_an_error) {
    struct err err = {0};
    struct arena a;
    char *text;
    size_t n;
    arena_init(&a, &err);
    CHECK(os_read_file(&err, &a, "tests/golden/softmax.uop", 1 << 20, &text, &n) == 0);
    int failed = 0;
    for (int nth = 1;; nth++) {
        struct ir_test t;
        memset(&t, 0, sizeof t);
        arena_init(&t.arena, &t.err);
        t.ir.arena = &t.arena;
        mem_fail_at(nth);
        struct parse_job j = {.ir = &t.ir, .text = text, .n = n};
        int code = err_guard(&t.err, start, &t.ir);
        if (!code) code = err_guard(&t.err, all_steps, &j);
        mem_fail_at(-1);
        arena_free(&t.arena);
        if (!code) break;
        CHECK_EQ(code, RG_ENOMEM);
        failed++;
    }
    CHECK(failed >= 1);
    arena_free(&a);
}

struct corpus {
    char *text[64];
    size_t n[64];
    uint32_t count;
};
static void add_text(const char *path, const char *text, size_t n, void *arg) {
    struct corpus *c = arg;
    (void)path;
    if (c->count == RG_COUNT(c->text) || n > 6000) return;
    c->text[c->count] = mem_alloc(n + 1);
    memcpy(c->text[c->count], text, n + 1);
    c->n[c->count++] = n;
}

static size_t mutate(struct rnd *r, char *b, size_t n, size_t cap) {
    static const char *const tokens[] = {"(",
                                         ")",
                                         "[",
                                         "]",
                                         "<f32>",
                                         "<f16x255>",
                                         "-9223372036854775808",
                                         "(ADD ",
                                         "nan",
                                         ":u8",
                                         "\n",
                                         "kernel k\n",
                                         "=",
                                         "%1",
                                         "(INVALID<idx>)",
                                         "(SINK ",
                                         "\"",
                                         ";",
                                         "\x80\xff",
                                         "1e308",
                                         "(STAGE[s SCRATCH] ",
                                         "r",
                                         "true",
                                         "opts"};
    int edits = 1 + (int)rnd_below(r, 4);
    for (int i = 0; i < edits && n > 2; i++) {
        size_t at = rnd_below(r, (uint32_t)n), len;
        switch (rnd_below(r, 6)) {
        case 0: b[at] = (char)rnd_next(r); break;
        case 1: b[at] ^= (char)(1 << rnd_below(r, 7)); break;
        case 2: /* delete */
            len = 1 + rnd_below(r, (uint32_t)RG_MIN(n - at, 20u));
            memmove(b + at, b + at + len, n - at - len), n -= len;
            break;
        case 3: n = at + 1; break; /* cut off */
        case 4: {                  /* insert a token */
            const char *t = tokens[rnd_below(r, RG_COUNT(tokens))];
            len = strlen(t);
            if (n + len >= cap) break;
            memmove(b + at + len, b + at, n - at), memcpy(b + at, t, len), n += len;
            break;
        }
        default: { /* copy a piece elsewhere */
            size_t from = rnd_below(r, (uint32_t)n);
            len = 1 + rnd_below(r, (uint32_t)RG_MIN(n - from, 40u));
            if (n + len >= cap) break;
            char piece[64];
            memcpy(piece, b + from, len);
            memmove(b + at + len, b + at, n - at), memcpy(b + at, piece, len), n += len;
        }
        }
    }
    return n;
}

TEST_SLOW(text_mutated_files_never_crash, 240) {
    struct corpus c = {.count = 0};
    struct rnd r = {77};
    static uint64_t made[OP_COUNT];
    each_file("tests/golden", add_text, &c);
    each_file("tests/golden/small", add_text, &c);
    add_text("", tensor_program, strlen(tensor_program), &c);
    for (uint64_t seed = 0; seed < 12 && c.count < 60; seed++) { /* and graphs with every op */
        struct ir_test t;
        struct str s;
        ir_test_open(&t);
        struct gen g = {.ir = &t.ir, .r = {seed}, .made = made};
        struct kernel k = {.name = "k", .opts = "", .sink = random_graph(&g, 24)};
        str_init(&s, &t.arena);
        ir_print_kernel(&s, &t.ir, &k);
        add_text("", s.p, s.n, &c);
        ir_test_close(&t);
    }
    CHECK(c.count > 12);
    for (int i = 0; i < 20000; i++) {
        uint32_t which = rnd_below(&r, c.count);
        size_t cap = c.n[which] + 400;
        char *b = mem_alloc(cap); /* exactly sized, so that a sanitizer sees a read past the end */
        memcpy(b, c.text[which], c.n[which]);
        size_t n = mutate(&r, b, c.n[which], cap);
        char *exact = mem_alloc(n ? n : 1);
        memcpy(exact, b, n);
        must_not_crash(exact, n);
        mem_free(exact), mem_free(b);
    }
    for (uint32_t i = 0; i < c.count; i++) mem_free(c.text[i]);
}
