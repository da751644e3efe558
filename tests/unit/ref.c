/* ref.c: tests of the interpreter in src/ref: first its arithmetic against C's own and against bit
 * patterns worked out by hand, then small programs entry by entry, then every error. */
#include "ref/ref.h"
#include "test.h"

#include <float.h>
#include <limits.h>

/* ---- arithmetic ------------------------------------------------------------------------------------ */

static uint64_t next(uint64_t *x) {
    *x ^= *x << 13;
    *x ^= *x >> 7;
    return *x ^= *x << 17;
}

static union ref_val vi(int64_t i) { return (union ref_val){.i = i}; }
static union ref_val vf(double f) { return (union ref_val){.f = f}; }

static int64_t int2(enum op op, enum dtype dt, int64_t a, int64_t b) {
    union ref_val s[3] = {vi(a), vi(b), vi(0)}, r;
    CHECK(ref_eval(op, dt, dt, s, &r));
    return r.i;
}
static double flt2(enum op op, enum dtype dt, double a, double b) {
    union ref_val s[3] = {vf(a), vf(b), vf(0)}, r;
    CHECK(ref_eval(op, dt, dt, s, &r));
    return r.f;
}
static union ref_val cast_to(enum dtype to, enum dtype from, union ref_val v) {
    union ref_val s[3] = {v, vi(0), vi(0)}, r;
    CHECK(ref_eval(OP_CAST, to, from, s, &r));
    return r;
}

TEST(ref_elem_wraps_integers) {
    CHECK_EQ(int2(OP_ADD, DT_I8, 127, 1), -128);
    CHECK_EQ(int2(OP_ADD, DT_U8, 255, 1), 0);
    CHECK_EQ(int2(OP_MUL, DT_I32, 65536, 65536), 0);
    CHECK_EQ(int2(OP_SUB, DT_U32, 0, 1), 4294967295);
    CHECK_EQ(int2(OP_ADD, DT_BOOL, 1, 1), 1);
    CHECK_EQ(int2(OP_NEG, DT_I64, INT64_MIN, 0), INT64_MIN);
    CHECK_EQ(int2(OP_ABS, DT_I8, -128, 0), -128);
    CHECK_EQ(int2(OP_NOT, DT_BOOL, 1, 0), 0);
    CHECK_EQ(int2(OP_NOT, DT_U8, 1, 0), 254);
}

TEST(ref_elem_divides_to_the_floor) {
    CHECK_EQ(int2(OP_IDIV, DT_I32, -7, 2), -4);
    CHECK_EQ(int2(OP_MOD, DT_I32, -7, 2), 1);
    CHECK_EQ(int2(OP_IDIV, DT_I32, 7, -2), -4);
    CHECK_EQ(int2(OP_MOD, DT_I32, 7, -2), -1);
    CHECK_EQ(int2(OP_IDIV, DT_I32, 7, 0), 0);
    CHECK_EQ(int2(OP_MOD, DT_I32, 7, 0), 0);
    CHECK_EQ(int2(OP_IDIV, DT_I32, INT_MIN, -1), INT_MIN);
    CHECK_EQ(int2(OP_IDIV, DT_I64, INT64_MIN, -1), INT64_MIN);
    CHECK_EQ(int2(OP_MOD, DT_I64, INT64_MIN, -1), 0);
    CHECK_EQ(int2(OP_IDIV, DT_U64, -1, 10), (int64_t)(UINT64_MAX / 10));
    for (int a = -20; a <= 20; a++)
        for (int b = -5; b <= 5; b++)
            if (b) CHECK_EQ(int2(OP_IDIV, DT_I32, a, b), (int64_t)floor((double)a / b));
}

TEST(ref_elem_shifts_and_compares_by_sign) {
    CHECK_EQ(int2(OP_SHL, DT_I32, 1, 31), INT_MIN);
    CHECK_EQ(int2(OP_SHL, DT_I32, 1, 32), 0);
    CHECK_EQ(int2(OP_SHR, DT_I32, -8, 1), -4);
    CHECK_EQ(int2(OP_SHR, DT_I32, -8, 40), -1);
    CHECK_EQ(int2(OP_SHR, DT_U32, 0x80000000, 31), 1);
    CHECK_EQ(int2(OP_SHR, DT_U64, -1, 63), 1);
    union ref_val s[3] = {vi(-1), vi(1), vi(0)}, r;
    CHECK(ref_eval(OP_LT, DT_BOOL, DT_U64, s, &r) && r.i == 0); /* 2^64-1 is not below 1 */
    CHECK(ref_eval(OP_LT, DT_BOOL, DT_I64, s, &r) && r.i == 1);
    CHECK_EQ(int2(OP_MAX, DT_U64, -1, 1), -1);
    CHECK_EQ(int2(OP_MIN, DT_I64, -1, 1), -1);
}

TEST(ref_elem_floats_obey_ieee) {
    CHECK(isnan(flt2(OP_MAX, DT_F32, NAN, 1)) && isnan(flt2(OP_MIN, DT_F32, 1, NAN)));
    CHECK(isnan(flt2(OP_MUL, DT_F32, 0, INFINITY)));
    CHECK(flt2(OP_FDIV, DT_F32, 1, 0) == INFINITY);
    CHECK(flt2(OP_ROUND, DT_F32, 2.5, 0) == 2 && flt2(OP_ROUND, DT_F32, 3.5, 0) == 4);
    CHECK(flt2(OP_ADD, DT_F32, FLT_MAX, FLT_MAX) == INFINITY);
    CHECK(flt2(OP_SIGMOID, DT_F64, 0, 0) == 0.5);
    union ref_val s[3] = {vf(NAN), vf(NAN), vi(0)}, r;
    CHECK(ref_eval(OP_EQ, DT_BOOL, DT_F32, s, &r) && !r.i);
    CHECK(ref_eval(OP_NE, DT_BOOL, DT_F32, s, &r) && r.i);
    CHECK(ref_eval(OP_LE, DT_BOOL, DT_F32, s, &r) && !r.i);
    CHECK(!ref_eval(OP_LOAD, DT_F32, DT_F32, s, &r));
}

/* What linear programs call is the same, op by op and type by type. */
TEST(ref_elem_functions_are_those_of_ref_eval) {
    uint64_t seed = 1, functions = 0;
    for (int op = 0; op < OP_COUNT; op++)
        for (int dt = DT_BOOL; dt < DT_COUNT; dt++)
            for (int sdt = DT_BOOL; sdt < DT_COUNT; sdt++) {
                ref_fn *fn = ref_function((enum op)op, (enum dtype)dt, (enum dtype)sdt);
                functions += fn != NULL;
                for (int k = 0; fn && k < 500; k++) {
                    union ref_val s[3], r, got;
                    for (int j = 0; j < 3; j++) {
                        uint64_t bits = next(&seed) >> (next(&seed) % 4 * 16); /* small ones too */
                        s[j] = ref_read((enum dtype)(j && op == OP_WHERE ? dt : sdt), &bits);
                    }
                    CHECK(ref_eval((enum op)op, (enum dtype)dt, (enum dtype)sdt, s, &r));
                    got = fn(s[0], s[1], s[2]);
                    if (dt_is_float((enum dtype)dt))
                        CHECK_NEAR(got.f, r.f, 0);
                    else
                        CHECK_EQ(got.i, r.i);
                }
            }
    CHECK_EQ(functions, 75 + DT_COUNT - 1);
}

/* Random bit patterns through the four operations, against the machine's own float arithmetic. */
TEST(ref_elem_f32_matches_the_machine) {
    uint64_t seed = 1;
    for (int k = 0; k < 200000; k++) {
        uint32_t ua = (uint32_t)next(&seed), ub = (uint32_t)next(&seed), uc = (uint32_t)next(&seed);
        if (k & 1) ub = (ua & 0xFF800000u) ^ (ub & 0x817FFFFFu); /* like exponents: sums that cancel */
        float a, b, c;
        memcpy(&a, &ua, 4), memcpy(&b, &ub, 4), memcpy(&c, &uc, 4);
        if (isnan(a) || isnan(b) || isnan(c)) continue;
        CHECK_NEAR(flt2(OP_ADD, DT_F32, a, b), a + b, 0);
        CHECK_NEAR(flt2(OP_MUL, DT_F32, a, b), a * b, 0);
        CHECK_NEAR(flt2(OP_FDIV, DT_F32, a, b), a / b, 0);
        CHECK_NEAR(flt2(OP_SQRT, DT_F32, a, 0), sqrtf(a), 0);
        if (k & 2) c = -a * b; /* the worst case for one rounding */
        union ref_val s[3] = {vf(a), vf(b), vf(c)}, r;
        CHECK(ref_eval(OP_FMA, DT_F32, DT_F32, s, &r));
        CHECK_NEAR(r.f, fmaf(a, b, c), 0);
    }
}

/* dt_number, which production reads elements with, and the oracle decode alike: all bytes and 16-bit words, and random ones. */
TEST(ref_elem_reads_as_dt_number) {
    uint64_t seed = 11;
    for (enum dtype dt = 0; dt < DT_COUNT; dt++) {
        if (dt == DT_VOID || dt == DT_IDX) continue;
        for (uint32_t k = 0; k < 65536; k++) {
            uint64_t bits = dtype_info[dt].bytes <= 2 ? k : next(&seed) << 32 ^ next(&seed);
            double want = ref_number(dt, ref_read(dt, &bits)), got = dt_number(dt, &bits);
            CHECK(isnan(want) ? isnan(got) : want == got && signbit(want) == signbit(got));
        }
    }
}

#ifdef __FLT16_MAX__
TEST(ref_elem_f16_matches_the_machine) {
    for (uint32_t u = 0; u < 65536; u++) {
        uint16_t bits = (uint16_t)u, back;
        _Float16 h;
        memcpy(&h, &bits, 2);
        double v = ref_read(DT_F16, &bits).f;
        CHECK_NEAR(v, (double)h, 0);
        ref_write(DT_F16, &back, vf(v));
        if (!isnan(v)) CHECK_EQ(back, bits);
    }
    uint64_t seed = 7;
    for (int k = 0; k < 200000; k++) {
        uint32_t w = (uint32_t)next(&seed) & 0x8FFFFFFF;
        w = w % 0x10000000 + 0x33000000 +
            (w & 0x80000000u); /* around the range of 16-bit floats, subnormals too */
        float x;
        memcpy(&x, &w, 4);
        CHECK_NEAR(ref_round(DT_F16, x), (double)(_Float16)x, 0);
    }
}
#endif

TEST(ref_elem_half_types_bit_patterns) {
    static const struct {
        double x;
        uint16_t f16, bf16;
    } row[] = {
        {1.0, 0x3C00, 0x3F80},          {-2.0, 0xC000, 0xC000},    {65504, 0x7BFF, 0x4780},
        {65520, 0x7C00, 0x4780},        {0x1p-24, 0x0001, 0x3380}, {0x1p-25, 0x0000, 0x3300},
        {0x1.8p-25, 0x0001, 0x3340},    {0.1, 0x2E66, 0x3DCD},     {1 + 0x1p-8, 0x3C04, 0x3F80},
        {1 + 0x1.8p-7, 0x3C0C, 0x3F82}, {3.4e38, 0x7C00, 0x7F80},  {-0.0, 0x8000, 0x8000},
        {INFINITY, 0x7C00, 0x7F80},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        uint16_t h, b;
        ref_write(DT_F16, &h, vf(ref_round(DT_F16, row[i].x)));
        ref_write(DT_BF16, &b, vf(ref_round(DT_BF16, row[i].x)));
        if (h != row[i].f16 || b != row[i].bf16)
            FAIL("%g: f16 %04x bf16 %04x, expected %04x %04x", row[i].x, h, b, row[i].f16, row[i].bf16);
    }
    uint16_t nan;
    ref_write(DT_BF16, &nan, vf(NAN));
    CHECK(isnan(ref_read(DT_BF16, &nan).f));
}

TEST(ref_elem_casts_saturate) {
    CHECK_EQ(cast_to(DT_I8, DT_F32, vf(300)).i, 127);
    CHECK_EQ(cast_to(DT_I8, DT_F32, vf(-300)).i, -128);
    CHECK_EQ(cast_to(DT_I8, DT_F32, vf(-1.9)).i, -1);
    CHECK_EQ(cast_to(DT_U8, DT_F32, vf(-5)).i, 0);
    CHECK_EQ(cast_to(DT_U8, DT_F32, vf(255.9)).i, 255);
    CHECK_EQ(cast_to(DT_I32, DT_F32, vf(NAN)).i, 0);
    CHECK_EQ(cast_to(DT_I32, DT_F64, vf(2147483647.5)).i, INT_MAX);
    CHECK_EQ(cast_to(DT_I32, DT_F32, vf(-INFINITY)).i, INT_MIN);
    CHECK_EQ(cast_to(DT_I64, DT_F64, vf(1e30)).i, INT64_MAX);
    CHECK_EQ(cast_to(DT_I64, DT_F64, vf(-1e30)).i, INT64_MIN);
    CHECK_EQ(cast_to(DT_U64, DT_F64, vf(0x1p63)).i, INT64_MIN);
    CHECK_EQ(cast_to(DT_U64, DT_F64, vf(1e30)).i, -1);
    CHECK_EQ(cast_to(DT_I8, DT_I32, vi(300)).i, 44); /* integers wrap */
    CHECK_EQ(cast_to(DT_BOOL, DT_F32, vf(0.25)).i, 1);
    CHECK(cast_to(DT_F32, DT_U64, vi(-1)).f == 0x1p64);
    uint64_t seed = 3;
    for (int k = 0; k < 100000; k++) {
        int64_t x = (int64_t)next(&seed) >> (k % 60);
        CHECK_NEAR(cast_to(DT_F32, DT_I64, vi(x)).f, (float)x, 0);
        CHECK_NEAR(cast_to(DT_F32, DT_U64, vi(x)).f, (float)(uint64_t)x, 0);
        CHECK_NEAR(cast_to(DT_F64, DT_I64, vi(x)).f, (double)x, 0);
    }
    union ref_val s[3] = {vf(1.0), vi(0), vi(0)}, r;
    CHECK(ref_eval(OP_BITCAST, DT_U32, DT_F32, s, &r) && r.i == 0x3F800000);
    s[0] = r;
    CHECK(ref_eval(OP_BITCAST, DT_F32, DT_U32, s, &r) && r.f == 1.0);
}

/* ---- programs, entry by entry ----------------------------------------------------------------------- */

struct fixture {
    struct err err;
    struct arena arena;
    struct ir ir;
    struct linear lin;
    const uop *list[64];
    struct ref_buf buf[4];
    float a[16], b[16];
    int64_t var[4];
};

static void init_ir(void *arg) {
    struct fixture *f = arg;
    ir_init(&f->ir, &f->arena);
}

static void start(struct fixture *f) {
    memset(f, 0, sizeof *f);
    arena_init(&f->arena, &f->err);
    CHECK_EQ(err_guard(&f->err, init_ir, f), 0);
    f->lin = (struct linear){.name = "k", .u = f->list, .grid = 1, .nbuf = 4, .nvar = 4};
    for (int i = 0; i < 16; i++) f->a[i] = (float)i + 1;
    f->buf[0] = (struct ref_buf){f->a, sizeof f->a, "a", NULL, NULL};
    f->buf[1] = (struct ref_buf){f->b, sizeof f->b, "b", NULL, NULL};
}

static const uop *put(struct fixture *f, const uop *u) {
    f->list[f->lin.n++] = u;
    return u;
}
static const uop *node(struct fixture *f, enum op op, enum dtype dt, unsigned lanes, union arg arg,
                       uint32_t n, const uop *x, const uop *y, const uop *z) {
    const uop *src[3] = {x, y, z};
    return uop_new(&f->ir, op, dt, lanes, src, n, arg);
}
static const uop *c32(struct fixture *f, int64_t v) { return uop_int(&f->ir, DT_I32, v); }
static const uop *cf(struct fixture *f, double v) { return uop_flt(&f->ir, DT_F32, v); }
static const uop *param(struct fixture *f, uint32_t slot, int64_t n) {
    return node(f, OP_PARAM, DT_F32, 1, (union arg){.param = {slot, 0}}, 1, c32(f, n), NULL, NULL);
}
static const uop *range(struct fixture *f, enum axis_kind kind, const uop *size, uint16_t id) {
    union arg a = {.range = {.cls = 0, .kind = (uint8_t)kind, .pos = 0, .id = id}};
    return put(f, node(f, OP_RANGE, DT_I32, 1, a, 1, size, NULL, NULL));
}
static const uop *end(struct fixture *f, const uop *r) {
    return put(f, node(f, OP_END, DT_VOID, 1, ARG_NONE, 1, r, NULL, NULL));
}
static const uop *addr(struct fixture *f, const uop *buf, const uop *at, unsigned lanes) {
    return node(f, OP_INDEX, DT_F32, lanes, ARG_NONE, 2, buf, at, NULL);
}
static const uop *load(struct fixture *f, const uop *buf, const uop *at, unsigned lanes) {
    return put(f, node(f, OP_LOAD, DT_F32, lanes, ARG_NONE, 1, addr(f, buf, at, lanes), NULL, NULL));
}
static const uop *store(struct fixture *f, enum op op, const uop *at, const uop *value) {
    return put(f, node(f, op, DT_VOID, 1, ARG_NONE, 2, at, value, NULL));
}
static const uop *bin(struct fixture *f, enum op op, const uop *x, const uop *y) {
    return put(f, node(f, op, (enum dtype)(op == OP_LT ? DT_BOOL : (enum dtype)x->dt),
                       RG_MAX(x->lanes, y->lanes), ARG_NONE, 2, x, y, NULL));
}
static const uop *acc(struct fixture *f, unsigned lanes, int64_t number) {
    return node(f, OP_ACC, DT_F32, lanes, ARG_INT(number), 0, NULL, NULL, NULL);
}
static const uop *set(struct fixture *f, const uop *to, const uop *v) {
    return put(f, node(f, OP_SET, DT_VOID, 1, ARG_NONE, 2, to, v, NULL));
}

static int go(struct fixture *f) { return ref_linear(&f->err, &f->lin, f->buf, 4, f->var, 0, f->lin.grid); }
static void runs(struct fixture *f) {
    if (go(f)) FAIL("%s", f->err.msg);
    arena_free(&f->arena);
}
static void fails(struct fixture *f, int code, const char *words) {
    int got = go(f);
    if (got != code || !strstr(f->err.msg, words))
        FAIL("status %d with '%s', expected %d with '%s'", got, f->err.msg, code, words);
    arena_free(&f->arena);
}

TEST(ref_linear_grid_and_loops) { /* b[4t+i] = a[4t+i] * t */
    struct fixture f;
    start(&f);
    f.lin.grid = 4;
    const uop *t = range(&f, AX_GRID, c32(&f, 4), 0), *i = range(&f, AX_LOOP, c32(&f, 4), 1);
    const uop *at = bin(&f, OP_ADD, bin(&f, OP_MUL, t, c32(&f, 4)), i);
    const uop *x = load(&f, param(&f, 0, 16), at, 1);
    const uop *tf = put(&f, node(&f, OP_CAST, DT_F32, 1, ARG_NONE, 1, t, NULL, NULL));
    store(&f, OP_STORE, addr(&f, param(&f, 1, 16), at, 1), bin(&f, OP_MUL, x, tf));
    end(&f, i);
    end(&f, t);
    runs(&f);
    for (int k = 0; k < 16; k++) CHECK_NEAR(f.b[k], (k + 1) * (k / 4), 0);
}

TEST(ref_linear_accumulator_vector_and_vec_reduce) { /* b[0] = sum of a, four lanes at a time */
    struct fixture f;
    start(&f);
    const uop *s = acc(&f, 4, 0);
    set(&f, s, cf(&f, 0));
    const uop *i = range(&f, AX_REDUCE, c32(&f, 4), 0);
    const uop *x = load(&f, param(&f, 0, 16), bin(&f, OP_MUL, i, c32(&f, 4)), 4);
    set(&f, s, bin(&f, OP_ADD, s, x));
    end(&f, i);
    const uop *sum = put(&f, node(&f, OP_VEC_REDUCE, DT_F32, 1, ARG_INT(OP_ADD), 1, s, NULL, NULL));
    store(&f, OP_STORE, addr(&f, param(&f, 1, 16), c32(&f, 0), 1), sum);
    const uop *third = put(&f, node(&f, OP_EXTRACT, DT_F32, 1, ARG_INT(2), 1, s, NULL, NULL));
    store(&f, OP_STORE, addr(&f, param(&f, 1, 16), c32(&f, 1), 1), third);
    CHECK(ref_cost(&f.lin) == 1 + 4 * (1 + 4 + 4 + 1) + 4);
    runs(&f);
    CHECK_NEAR(f.b[0], 136, 0);
    CHECK_NEAR(f.b[1], 3 + 7 + 11 + 15, 0);
}

TEST(ref_linear_branches) { /* b[i] = i < 6 ? 1 : 2 */
    struct fixture f;
    start(&f);
    const uop *out = param(&f, 1, 16), *i = range(&f, AX_LOOP, c32(&f, 16), 0);
    const uop *c = bin(&f, OP_LT, i, c32(&f, 6));
    const uop *open = put(&f, node(&f, OP_IF, DT_VOID, 1, ARG_NONE, 1, c, NULL, NULL));
    store(&f, OP_STORE, addr(&f, out, i, 1), cf(&f, 1));
    put(&f, node(&f, OP_ELSE, DT_VOID, 1, ARG_NONE, 1, open, NULL, NULL));
    store(&f, OP_STORE, addr(&f, out, i, 1), cf(&f, 2));
    end(&f, open);
    end(&f, i);
    runs(&f);
    for (int k = 0; k < 16; k++) CHECK_NEAR(f.b[k], k < 6 ? 1 : 2, 0);
}

TEST(ref_linear_memory_that_holds_nothing) { /* b[i] = i < n ? a[i] : 0, loaded as a whole */
    for (int n = 8; n <= 9; n++) {
        struct fixture f;
        unsigned char holds[2][64] = {0};
        start(&f);
        memset(holds[0], 1, 32);
        f.buf[0].set = holds[0], f.buf[1].set = holds[1];
        const uop *i = range(&f, AX_LOOP, c32(&f, 16), 0), *x = load(&f, param(&f, 0, 16), i, 1);
        const uop *c = bin(&f, OP_LT, i, c32(&f, n));
        const uop *y = put(&f, node(&f, OP_WHERE, DT_F32, 1, ARG_NONE, 3, c, x, cf(&f, 0)));
        store(&f, OP_STORE, addr(&f, param(&f, 1, 16), i, 1), y);
        end(&f, i);
        if (n == 9) {
            fails(&f, RG_EVERIFY, "reads memory that nothing was written to, as the value stored");
            continue;
        }
        runs(&f);
        for (int k = 0; k < 64; k++) CHECK_EQ(holds[1][k], 1);
        CHECK_NEAR(f.b[7], 8, 0);
    }
}

TEST(ref_linear_adds_to_memory_that_holds_nothing) {
    struct fixture f;
    unsigned char holds[64] = {0};
    start(&f);
    f.buf[1].set = holds;
    store(&f, OP_STORE_ADD, addr(&f, param(&f, 1, 16), c32(&f, 3), 1), cf(&f, 1));
    fails(&f, RG_EVERIFY, "adds to memory that nothing was written to");
}

TEST(ref_linear_preds_do_not_touch_memory) { /* lanes past the end are neither read nor written */
    struct fixture f;
    start(&f);
    const uop *lanes = node(&f, OP_LANES, DT_I32, 8, ARG_NONE, 0, NULL, NULL, NULL);
    const uop *at = bin(&f, OP_ADD, lanes, c32(&f, 12)), *pred = bin(&f, OP_LT, at, c32(&f, 16));
    const uop *x = put(&f, node(&f, OP_PRED_LOAD, DT_F32, 8, ARG_NONE, 3, addr(&f, param(&f, 0, 16), at, 8),
                                cf(&f, -1), pred));
    put(&f, node(&f, OP_STORE, DT_VOID, 1, ARG_NONE, 3, addr(&f, param(&f, 1, 16), at, 8), x, pred));
    store(&f, OP_STORE, addr(&f, param(&f, 1, 16), c32(&f, 0), 8), x);
    runs(&f);
    for (int k = 0; k < 4; k++) CHECK(f.b[12 + k] == 13 + k && f.b[k] == 13 + k && f.b[4 + k] == -1);
}

TEST(ref_linear_dynamic_loop_and_vars) { /* the size of a loop is a VAR; a float VAR is its bits */
    struct fixture f;
    start(&f);
    const uop *n =
        node(&f, OP_VAR, DT_I32, 1, (union arg){.param = {0, 0}}, 2, c32(&f, 0), c32(&f, 16), NULL);
    const uop *x =
        node(&f, OP_VAR, DT_F32, 1, (union arg){.param = {1, 0}}, 2, cf(&f, -10), cf(&f, 10), NULL);
    const uop *i = range(&f, AX_LOOP, n, 0);
    store(&f, OP_STORE, addr(&f, param(&f, 1, 16), i, 1), x);
    end(&f, i);
    float bits = 2.5f;
    f.var[0] = 3;
    memcpy(&f.var[1], &bits, 4);
    if (go(&f)) FAIL("%s", f.err.msg);
    for (int k = 0; k < 16; k++) CHECK_NEAR(f.b[k], k < 3 ? 2.5 : 0, 0);
    f.var[0] = 17;
    fails(&f, RG_EINVAL, "VAR number 0 is 17");
}

TEST(ref_linear_params_picks_a_buffer) {
    struct fixture f;
    start(&f);
    const uop *i = range(&f, AX_LOOP, c32(&f, 2), 0);
    const uop *p =
        put(&f, node(&f, OP_PARAMS, DT_F32, 1, (union arg){.param = {0, 0}}, 2, i, c32(&f, 0), NULL));
    store(&f, OP_STORE, addr(&f, p, c32(&f, 5), 1), cf(&f, 99));
    end(&f, i);
    runs(&f);
    CHECK(f.a[5] == 99 && f.b[5] == 99);
}

TEST(ref_linear_marks_what_it_wrote) {
    struct fixture f;
    unsigned char wrote[16] = {0};
    start(&f);
    f.buf[1].wrote = wrote;
    store(&f, OP_STORE, addr(&f, param(&f, 1, 16), c32(&f, 2), 4), cf(&f, 1));
    runs(&f);
    for (int k = 0; k < 16; k++) CHECK_EQ(wrote[k], k >= 2 && k < 6);
}

TEST(ref_linear_same_node_twice_is_evaluated_twice) { /* a load after a store sees the new value */
    struct fixture f;
    start(&f);
    const uop *b = param(&f, 1, 16), *x = load(&f, b, c32(&f, 0), 1);
    store(&f, OP_STORE, addr(&f, b, c32(&f, 0), 1), cf(&f, 5));
    put(&f, x);
    store(&f, OP_STORE, addr(&f, b, c32(&f, 1), 1), x);
    runs(&f);
    CHECK(f.b[1] == 5);
}

/* ---- errors ------------------------------------------------------------------------------------------ */

TEST(ref_linear_bounds) {
    struct fixture f;
    start(&f);
    const uop *i = range(&f, AX_LOOP, c32(&f, 17), 0);
    store(&f, OP_STORE, addr(&f, param(&f, 1, 16), c32(&f, 0), 1), load(&f, param(&f, 0, 16), i, 1));
    end(&f, i);
    fails(&f, RG_EVERIFY, "element 16 of buffer a, which has 16 elements");
    start(&f);
    store(&f, OP_STORE, addr(&f, param(&f, 1, 16), c32(&f, -1), 1), cf(&f, 0));
    fails(&f, RG_EVERIFY, "element -1 of buffer b");
    start(&f);
    store(&f, OP_STORE, addr(&f, param(&f, 1, 16), c32(&f, 13), 4), cf(&f, 0));
    fails(&f, RG_EVERIFY, "element 16 of buffer b, which has 16 elements (lane 3)");
    start(&f);
    store(&f, OP_STORE, addr(&f, param(&f, 1, 17), c32(&f, 0), 1), cf(&f, 0));
    fails(&f, RG_EINVAL, "buffer b has 16 elements of f32, its PARAM says 17");
    start(&f);
    store(&f, OP_STORE, addr(&f, param(&f, 3, 1), c32(&f, 0), 1), cf(&f, 0));
    fails(&f, RG_EINVAL, "no buffer was given for PARAM number 3");
    start(&f);
    const uop *p = put(
        &f, node(&f, OP_PARAMS, DT_F32, 1, (union arg){.param = {1, 0}}, 2, c32(&f, 9), c32(&f, 0), NULL));
    store(&f, OP_STORE, addr(&f, p, c32(&f, 5), 1), cf(&f, 99));
    fails(&f, RG_EVERIFY, "picks buffer 10");
}

static const uop *local(struct fixture *f, int64_t n) {
    const uop *l =
        node(f, OP_LOCAL, DT_F32, 1, (union arg){.mem = {0, SPACE_SCRATCH}}, 1, c32(f, n), NULL, NULL);
    static const uop *table[1];
    table[0] = l;
    f->lin.local = table;
    f->lin.nlocal = 1;
    return l;
}

TEST(ref_linear_scratch_never_written) {
    struct fixture f;
    start(&f);
    const uop *l = local(&f, 8), *out = param(&f, 1, 16);
    store(&f, OP_STORE, addr(&f, l, c32(&f, 0), 4), cf(&f, 3));
    store(&f, OP_STORE, addr(&f, out, c32(&f, 0), 4), load(&f, l, c32(&f, 0), 4));
    runs(&f);
    CHECK(f.b[0] == 3 && f.b[3] == 3);
    start(&f);
    l = local(&f, 8), out = param(&f, 1, 16);
    store(&f, OP_STORE, addr(&f, l, c32(&f, 0), 4), cf(&f, 3));
    store(&f, OP_STORE, addr(&f, out, c32(&f, 0), 4), load(&f, l, c32(&f, 1), 4));
    fails(&f, RG_EVERIFY, "reads scratch that was never written, as the value stored (lane 3)");
    start(&f); /* unused lanes may hold anything */
    l = local(&f, 8), out = param(&f, 1, 16);
    store(&f, OP_STORE, addr(&f, l, c32(&f, 0), 1), cf(&f, 3));
    const uop *v = load(&f, l, c32(&f, 0), 4);
    const uop *e = put(&f, node(&f, OP_EXTRACT, DT_F32, 1, ARG_INT(0), 1, v, NULL, NULL));
    store(&f, OP_STORE, addr(&f, out, c32(&f, 0), 1), e);
    runs(&f);
    start(&f); /* what one iteration wrote is gone in the next */
    l = local(&f, 8), out = param(&f, 1, 16);
    f.lin.grid = 2;
    const uop *t = range(&f, AX_GRID, c32(&f, 2), 0);
    const uop *first = bin(&f, OP_LT, t, c32(&f, 1));
    put(&f, node(&f, OP_STORE, DT_VOID, 1, ARG_NONE, 3, addr(&f, l, c32(&f, 0), 1), cf(&f, 1), first));
    store(&f, OP_STORE, addr(&f, out, t, 1), load(&f, l, c32(&f, 0), 1));
    end(&f, t);
    fails(&f, RG_EVERIFY, "grid iteration 1: reads scratch that was never written");
    start(&f);
    l = local(&f, 8);
    store(&f, OP_STORE, addr(&f, l, c32(&f, 8), 1), cf(&f, 3));
    fails(&f, RG_EVERIFY, "element 8 of scratch buffer 0, which has 8 elements");
}

TEST(ref_linear_poison) {
    struct fixture f;
    start(&f);
    const uop *out = param(&f, 1, 16);
    store(&f, OP_STORE, addr(&f, out, c32(&f, 0), 1), bin(&f, OP_ADD, acc(&f, 1, 0), cf(&f, 1)));
    fails(&f, RG_EVERIFY, "reads an accumulator before its first SET");
    start(&f);
    out = param(&f, 1, 16);
    const uop *bad = node(&f, OP_INVALID, DT_F32, 1, ARG_NONE, 0, NULL, NULL, NULL);
    store(&f, OP_STORE, addr(&f, out, c32(&f, 0), 1), bad);
    fails(&f, RG_EVERIFY, "INVALID");
    start(&f); /* WHERE drops the side it does not choose */
    out = param(&f, 1, 16);
    bad = node(&f, OP_INVALID, DT_F32, 1, ARG_NONE, 0, NULL, NULL, NULL);
    const uop *w =
        put(&f, node(&f, OP_WHERE, DT_F32, 1, ARG_NONE, 3, uop_int(&f.ir, DT_BOOL, 1), cf(&f, 4), bad));
    store(&f, OP_STORE, addr(&f, out, c32(&f, 0), 1), w);
    runs(&f);
    CHECK(f.b[0] == 4);
    start(&f); /* as an index */
    out = param(&f, 1, 16);
    bad = node(&f, OP_INVALID, DT_I32, 1, ARG_NONE, 0, NULL, NULL, NULL);
    store(&f, OP_STORE, addr(&f, out, bad, 1), cf(&f, 1));
    fails(&f, RG_EVERIFY, "as an index");
    start(&f); /* false AND anything is false */
    out = param(&f, 1, 16);
    bad = node(&f, OP_INVALID, DT_BOOL, 1, ARG_NONE, 0, NULL, NULL, NULL);
    const uop *g = bin(&f, OP_AND, bad, uop_int(&f.ir, DT_BOOL, 0));
    put(&f, node(&f, OP_STORE, DT_VOID, 1, ARG_NONE, 3, addr(&f, out, c32(&f, 0), 1), cf(&f, 1), g));
    runs(&f);
    CHECK(f.b[0] == 0);
}

/* Each of 4 iterations reads element r0*t+r1 of b (if reads) and writes w0*t+w1 by `op`. */
static void touching(struct fixture *f, int r0, int r1, int w0, int w1, enum op op) {
    start(f);
    f->lin.grid = 4;
    const uop *t = range(f, AX_GRID, c32(f, 4), 0), *b = param(f, 1, 16), *x = cf(f, 1);
    if (r0 >= 0) x = load(f, b, bin(f, OP_ADD, bin(f, OP_MUL, t, c32(f, r0)), c32(f, r1)), 1);
    store(f, op, addr(f, b, bin(f, OP_ADD, bin(f, OP_MUL, t, c32(f, w0)), c32(f, w1)), 1), x);
    end(f, t);
}

TEST(ref_linear_races) {
    struct fixture f;
    touching(&f, 1, 0, 1, 0, OP_STORE); /* in place */
    runs(&f);
    touching(&f, -1, 0, 0, 3, OP_STORE);
    fails(&f, RG_EVERIFY,
          "grid iteration 1: writes element 3 of buffer b, which grid iteration 0 writes too");
    touching(&f, 1, 0, 1, 1, OP_STORE); /* read after another's write */
    fails(&f, RG_EVERIFY, "grid iteration 1: reads element 1 of buffer b, which grid iteration 0 writes");
    touching(&f, 1, 1, 1, 0, OP_STORE); /* write after another's read */
    fails(&f, RG_EVERIFY, "grid iteration 1: writes element 1 of buffer b, which grid iteration 0 reads");
    touching(&f, -1, 0, 0, 3, OP_STORE_ADD);
    runs(&f);
    CHECK(f.b[3] == 4);
    touching(&f, 0, 3, 0, 3, OP_STORE_ADD); /* reads what others add to */
    fails(&f, RG_EVERIFY, "element 3 of buffer b");
    start(&f); /* the same memory under two numbers */
    f.buf[0] = f.buf[1];
    f.lin.grid = 4;
    const uop *t = range(&f, AX_GRID, c32(&f, 4), 0);
    const uop *x = load(&f, param(&f, 0, 16), bin(&f, OP_ADD, t, c32(&f, 1)), 1);
    store(&f, OP_STORE, addr(&f, param(&f, 1, 16), t, 1), x);
    end(&f, t);
    fails(&f, RG_EVERIFY, "writes element 1 of buffer b, which grid iteration 0 reads");
}

TEST(ref_linear_malformed_lists) {
    struct fixture f;
    start(&f);
    const uop *b = param(&f, 1, 16);
    const uop *hidden = uop2(&f.ir, OP_ADD, cf(&f, 1), acc(&f, 1, 0));
    store(&f, OP_STORE, addr(&f, b, c32(&f, 0), 1), hidden);
    fails(&f, RG_EVERIFY, "was not evaluated before in a scope that is still open");
    start(&f); /* a value of a loop that has ended */
    b = param(&f, 1, 16);
    const uop *i = range(&f, AX_LOOP, c32(&f, 2), 0), *x = bin(&f, OP_ADD, i, c32(&f, 1));
    end(&f, i);
    store(&f, OP_STORE, addr(&f, b, x, 1), cf(&f, 1));
    fails(&f, RG_EVERIFY, "was not evaluated before in a scope that is still open");
    start(&f);
    range(&f, AX_LOOP, c32(&f, 2), 0);
    fails(&f, RG_EVERIFY, "is never closed");
    start(&f);
    i = range(&f, AX_LOOP, c32(&f, 2), 0);
    const uop *j = range(&f, AX_LOOP, c32(&f, 2), 1);
    end(&f, i);
    end(&f, j);
    fails(&f, RG_EVERIFY, "the innermost open scope");
    start(&f);
    i = range(&f, AX_LOOP, c32(&f, 2), 0);
    j = range(&f, AX_GRID, c32(&f, 2), 1);
    end(&f, j);
    end(&f, i);
    fails(&f, RG_EVERIFY, "must be the first entry");
    start(&f);
    i = range(&f, AX_VEC, c32(&f, 2), 0);
    end(&f, i);
    fails(&f, RG_EVERIFY, "kind VEC");
    start(&f);
    f.lin.grid = 3;
    fails(&f, RG_EVERIFY, "has no GRID range, but 3 iterations");
    start(&f);
    put(&f, uop1(&f.ir, OP_CONTIGUOUS, cf(&f, 1)));
    fails(&f, RG_EUNSUPPORTED, "CONTIGUOUS does not stand in a linear program");
}
