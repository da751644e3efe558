/* Tests of src/render/c*.c: every pure op on every type against op_eval, scalar and in 3, 4 and 8 lanes, on
 * edge values, with each compiler that is installed; all pairs of casts; memory, gates, control; the text. */
#include "prog.h"
#include "ref/ref.h"
#include "render/render.h"

#include <stdlib.h>

#define MAX_N 1024

static struct err err;
static struct arena arena;
static struct ir ir;

static void setup(void) {
    arena_init(&arena, &err);
    ir_init(&ir, &arena);
}

static const enum dtype all_types[] = {DT_BOOL, DT_I8,  DT_I16, DT_I32, DT_I64,  DT_U8,  DT_U16,
                                       DT_U32,  DT_U64, DT_F16, DT_F32, DT_BF16, DT_F64};
static const unsigned all_lanes[] = {1, 3, 4, 8};

/* ---- values ----------------------------------------------------------------------------------------- */

static const double edge_f[] = {0.0,    -0.0,     1.0,      -1.0,    0.5,       1.5,       2.5,      -2.5,   3.7,   -0.3,
                                1e10,   -1e10,    3e9,      -3e9,    0x1p31,    -0x1p31,   0x1p63,   1e19,   -1e19, 255.4,
                                -128.9, 65504.0,  65520.0,  1e-7,    -6e-8,     1e-40,     3e38,     -3e38,  127.5, 32767.5,
                                NAN,    INFINITY, -INFINITY};
static const int64_t edge_i[] = {0, 1, -1, 2, 3, -3, 7, 8, 16, 31, 32, 63, 64, 100, -100, INT64_MIN, INT64_MAX,
                                 INT32_MIN, INT32_MAX, 0x7f, 0x80, -0x81, 0xffff, 0x123456789abcdef, -2, 12345};

static union val edge(enum dtype dt, int i) {
    union val v;
    if (dt_is_float(dt)) v.f = dt_round(dt, edge_f[(unsigned)i % RG_COUNT(edge_f)]);
    else v.i = dt_wrap(dt, edge_i[(unsigned)i % RG_COUNT(edge_i)]);
    return v;
}

static void put(enum dtype dt, void *buf, int at, union val v) {
    ref_write(dt, (char *)buf + at * dtype_info[dt].bytes, (union ref_val){.i = v.i});
}

static union val get(enum dtype dt, const void *buf, int at) {
    return (union val){.i = ref_read(dt, (const char *)buf + at * dtype_info[dt].bytes).i};
}

static bool same(enum dtype dt, union val a, union val b, double ulps) {
    if (!dt_is_float(dt)) return a.i == b.i;
    if (isnan(a.f) || isnan(b.f)) return isnan(a.f) && isnan(b.f);
    if (a.f == b.f) return signbit(a.f) == signbit(b.f);
    int e;
    frexp(b.f, &e);
    int digits = dt == DT_F64 ? 53 : dt == DT_F32 ? 24 : dt == DT_F16 ? 11 : 8;
    return ulps > 0 && fabs(a.f - b.f) <= ulps * ldexp(1, e - digits);
}

static const char *show(enum dtype dt, union val v) {
    static char text[4][64];
    static int k;
    char *s = text[k++ & 3];
    if (dt_is_float(dt)) snprintf(s, 64, "%.17g (%a)", v.f, v.f);
    else snprintf(s, 64, "%lld", (long long)v.i);
    return s;
}

/* ---- every op --------------------------------------------------------------------------------------- */

static const enum op float_ops[] = {OP_NEG, OP_ABS, OP_RECIP, OP_SQRT, OP_RSQRT, OP_FLOOR, OP_CEIL, OP_TRUNC, OP_ROUND,
                                    OP_MUL, OP_FDIV, OP_ADD, OP_SUB, OP_MAX, OP_MIN, OP_LT, OP_LE, OP_EQ, OP_NE,
                                    OP_WHERE, OP_MULACC};
static const enum op int_ops[] = {OP_NEG, OP_ABS, OP_NOT, OP_MUL, OP_IDIV, OP_MOD, OP_ADD, OP_SUB, OP_MAX, OP_MIN,
                                  OP_AND, OP_OR,  OP_XOR, OP_SHL, OP_SHR,  OP_LT,  OP_LE,  OP_EQ,  OP_NE,  OP_WHERE,
                                  OP_MULACC};
static const enum op bool_ops[] = {OP_NOT, OP_MUL, OP_ADD, OP_MAX, OP_MIN, OP_AND, OP_OR, OP_XOR,
                                   OP_LT, OP_LE, OP_EQ, OP_NE, OP_WHERE};

static unsigned ops_of(enum dtype dt, const enum op **out) {
    if (dt == DT_BOOL) return *out = bool_ops, RG_COUNT(bool_ops);
    if (dt_is_float(dt)) return *out = float_ops, RG_COUNT(float_ops);
    return *out = int_ops, RG_COUNT(int_ops);
}

struct optest {
    struct prog p;
    enum dtype dt;
    unsigned lanes;
    int n; /* elements, a multiple of lanes */
};

/* b0, b1, b2 in; one output buffer for each op, from slot 3 on; the condition of WHERE is b0 < b1 or b0. */
static void build_ops(struct optest *t, enum dtype dt, unsigned lanes) {
    const enum op *ops;
    unsigned nops = ops_of(dt, &ops);
    struct prog *p = &t->p;
    *t = (struct optest){.dt = dt, .lanes = lanes, .n = MAX_N / (int)lanes * (int)lanes};
    prog_init(p, &ir, arena_printf(&arena, "ops_%s_%u", dtype_info[dt].name, lanes));
    const uop *g = range(p, DT_I64, t->n / (int)lanes, AX_GRID);
    const uop *i = op2(p, OP_MUL, g, uop_int(&ir, DT_I64, lanes));
    const uop *x[3];
    for (uint32_t k = 0; k < 3; k++) x[k] = load(p, param(p, dt, k, t->n), i, lanes);
    const uop *less = dt == DT_BOOL ? x[0] : op2(p, OP_LT, x[0], x[1]);
    for (uint32_t k = 0; k < nops; k++) {
        const uop *v = ops[k] == OP_WHERE ? push(p, uop3(&ir, OP_WHERE, less, x[1], x[2]))
                                          : push(p, uop_mk(&ir, ops[k], x, op_info[ops[k]].min_src, ARG_NONE));
        store(p, param(p, (enum dtype)v->dt, 3 + k, t->n), i, v, lanes);
    }
    finish(p);
}

static void *buffers[40];

static void fill_inputs(enum dtype dt) {
    int m = (int)(dt_is_float(dt) ? RG_COUNT(edge_f) : RG_COUNT(edge_i));
    for (int i = 0; i < MAX_N; i++) {
        put(dt, buffers[0], i, edge(dt, i % m));
        put(dt, buffers[1], i, edge(dt, i / m));
        put(dt, buffers[2], i, edge(dt, (i * 7 + 3) % m));
    }
}

static int64_t check_ops(const struct optest *t) {
    const enum op *ops;
    unsigned nops = ops_of(t->dt, &ops);
    int64_t done = 0;
    for (unsigned k = 0; k < nops; k++) {
        enum op op = ops[k];
        enum dtype rt = op_info[op].dt == OPD_BOOL ? DT_BOOL : t->dt;
        for (int i = 0; i < t->n; i++) {
            union val s[3], want, got = get(rt, buffers[3 + k], i);
            for (int j = 0; j < 3; j++) s[j] = get(t->dt, buffers[j], i);
            if (op == OP_WHERE) {
                bool c = t->dt == DT_BOOL ? s[0].i : dt_is_float(t->dt) ? s[0].f < s[1].f
                         : t->dt == DT_U64 ? (uint64_t)s[0].i < (uint64_t)s[1].i : s[0].i < s[1].i;
                want = c ? s[1] : s[2];
            } else if (!op_eval(op, rt, t->dt, s, &want)) {
                continue;
            }
            if (!same(rt, got, want, op == OP_RSQRT ? 1 : 0))
                FAIL("%s of %s, %u lanes: (%s, %s, %s) gives %s, expected %s", op_info[op].name,
                     dtype_info[t->dt].name, t->lanes, show(t->dt, s[0]), show(t->dt, s[1]), show(t->dt, s[2]),
                     show(rt, got), show(rt, want));
            done++;
        }
    }
    return done;
}



static void need_compiler(const char *cc) {
    if (!os_find_program(&arena, cc)) SKIP("%s is not installed", cc);
    setenv("RIDGE_CC", cc, 1);
    setenv("RIDGE_CACHE", "0", 1);
    env_reload();
}

static void run_all_ops(const char *cc) {
    setup();
    need_compiler(cc);
    struct engine *en = engine_open(&err, NULL);
    CHECK(en);
    enum { N = RG_COUNT(all_types) * RG_COUNT(all_lanes) };
    static struct optest t[N];
    const struct linear *lin[N];
    const struct ekernel *k[N];
    int64_t done = 0;
    for (int i = 0; i < N; i++) {
        build_ops(&t[i], all_types[i / RG_COUNT(all_lanes)], all_lanes[i % RG_COUNT(all_lanes)]);
        lin[i] = &t[i].p.lin;
    }
    if (engine_compile(en, &err, &ir, lin, N, k)) FAIL("%s", err.msg);
    for (unsigned i = 0; i < RG_COUNT(buffers); i++) buffers[i] = mem_alloc(MAX_N * 8);
    for (int i = 0; i < N; i++) {
        fill_inputs(t[i].dt);
        k[i]->fn(buffers, NULL, 0, k[i]->grid, NULL);
        done += check_ops(&t[i]);
    }
    engine_close(en);
    test_info("%lld op results by %s match op_eval", (long long)done, cc);
}

TEST(render_ops_clang) { run_all_ops("clang"); }
TEST(render_ops_gcc) { run_all_ops("gcc"); }

/* ---- every cast ------------------------------------------------------------------------------------- */

static void build_casts(struct optest *t, enum dtype dt, unsigned lanes) {
    struct prog *p = &t->p;
    *t = (struct optest){.dt = dt, .lanes = lanes, .n = 48};
    prog_init(p, &ir, arena_printf(&arena, "cast_%s_%u", dtype_info[dt].name, lanes));
    const uop *g = range(p, DT_I64, t->n / (int)lanes, AX_GRID);
    const uop *i = op2(p, OP_MUL, g, uop_int(&ir, DT_I64, lanes));
    const uop *x = load(p, param(p, dt, 0, t->n), i, lanes);
    for (uint32_t k = 0; k < RG_COUNT(all_types); k++) {
        enum dtype to = all_types[k];
        const uop *v = to == dt ? x : opn(p, OP_CAST, to, lanes, x, NULL, NULL, ARG_NONE);
        store(p, param(p, to, 1 + k, t->n), i, v, lanes);
        if (dtype_info[to].bytes != dtype_info[dt].bytes || to == dt || to == DT_BOOL || dt == DT_BOOL) continue;
        v = opn(p, OP_BITCAST, to, lanes, x, NULL, NULL, ARG_NONE);
        store(p, param(p, to, 1 + RG_COUNT(all_types) + k, t->n), i, v, lanes);
    }
    finish(p);
}

static void check_casts(const struct optest *t) {
    for (unsigned k = 0; k < RG_COUNT(all_types); k++)
        for (int i = 0; i < t->n; i++) {
            enum dtype to = all_types[k];
            union ref_val s[3] = {{.i = get(t->dt, buffers[0], i).i}}, want;
            ref_eval(OP_CAST, to, t->dt, s, &want);
            union val got = get(to, buffers[1 + k], i);
            if (!same(to, got, (union val){.i = want.i}, 0))
                FAIL("CAST of %s to %s, %u lanes: %s gives %s, expected %s", dtype_info[t->dt].name,
                     dtype_info[to].name, t->lanes, show(t->dt, (union val){.i = s[0].i}), show(to, got),
                     show(to, (union val){.i = want.i}));
            if (dtype_info[to].bytes != dtype_info[t->dt].bytes || to == t->dt || to == DT_BOOL || t->dt == DT_BOOL)
                continue;
            size_t b = dtype_info[to].bytes;
            if (memcmp((char *)buffers[1 + RG_COUNT(all_types) + k] + (size_t)i * b, (char *)buffers[0] + (size_t)i * b, b))
                FAIL("BITCAST of %s to %s changes bits", dtype_info[t->dt].name, dtype_info[to].name);
        }
}

static void run_all_casts(const char *cc) {
    setup();
    need_compiler(cc);
    struct engine *en = engine_open(&err, NULL);
    CHECK(en);
    static const unsigned lanes[] = {1, 3, 4, 16};
    enum { N = RG_COUNT(all_types) * RG_COUNT(lanes) };
    static struct optest t[N];
    const struct linear *lin[N];
    const struct ekernel *k[N];
    for (int i = 0; i < N; i++) {
        build_casts(&t[i], all_types[i / RG_COUNT(lanes)], lanes[i % RG_COUNT(lanes)]);
        lin[i] = &t[i].p.lin;
    }
    if (engine_compile(en, &err, &ir, lin, N, k)) FAIL("%s", err.msg);
    for (unsigned i = 0; i < RG_COUNT(buffers); i++) buffers[i] = mem_alloc(MAX_N * 8);
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < t[i].n; j++) put(t[i].dt, buffers[0], j, edge(t[i].dt, j));
        k[i]->fn(buffers, NULL, 0, k[i]->grid, NULL);
        check_casts(&t[i]);
    }
    engine_close(en);
}

TEST(render_casts_clang) { run_all_casts("clang"); }
TEST(render_casts_gcc) { run_all_casts("gcc"); }
