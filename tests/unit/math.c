/* math.c: vector math, compiled and run: errors in units in the last place against the C library.
 *
 * float32: every 64th of all 2^32 arguments, and all edges; float64: random arguments of every size; POW: pairs
 * of both; f16 and bf16: all arguments of every function, and arithmetic that must be rounded exactly once.
 * The vector kernels (unrolled, with UNLIKELY's branch) and the scalar ones must give the same bits, and so must
 * the tail of a length that no vector divides. tests/math.c has the exhaustive sweeps. */
#include "math_check.h"
#include "ref/ref.h"
#include "rules/math.h"
#include "test.h"

#include <fenv.h>

#define VECTOR math_vector(2)

static float x32[MATH_BLOCK], y32[MATH_BLOCK], o32[MATH_BLOCK], s32[MATH_BLOCK];
static double x64[MATH_BLOCK], y64[MATH_BLOCK], o64[MATH_BLOCK], s64[MATH_BLOCK];

static void compile(struct math_set *m) {
    const char *e = math_compile(m);
    if (e) FAIL("%s", e);
}

/* Kernel 0 is the vector form, 1 the scalar one. */
static void open_one(struct math_set *m, const char *op, const char *dt, bool two) {
    math_init(m, 2);
    math_add(m, op, dt, MATH_BLOCK, VECTOR, two);
    math_add(m, op, dt, MATH_BLOCK, "", two);
    compile(m);
}

/* Which NaN is not specified; everything else is. */
static bool is_nan(const void *p, size_t size) {
    float f;
    double d;
    if (size == 4) return memcpy(&f, p, 4), isnan(f);
    return memcpy(&d, p, 8), isnan(d);
}

static void same_bits(const char *name, const void *a, const void *b, size_t size, uint32_t n) {
    for (uint32_t k = 0; k < n; k++) {
        const char *p = (const char *)a + k * size, *q = (const char *)b + k * size;
        if (memcmp(p, q, size) && !(is_nan(p, size) && is_nan(q, size)))
            FAIL("%s: element %u differs between the vector and the scalar kernel", name, k);
    }
}

static void report(const char *name, const char *dt, const struct worst *w, double bound) {
    TEST_INFO("%-8s %-4s worst %.4f ulp at %a", name, dt, w->ulp, w->x);
    if (w->ulp > bound)
        FAIL("%s<%s>(%.17g = %a, %.17g) is %.17g: %.4g ulp from right, allowed are %g", name, dt, w->x, w->x,
             w->y, w->got, w->ulp, bound);
}

/* ---- float32 ------------------------------------------------------------------------------------------ */

/* Arguments where something changes: powers of two, ends of ranges, multiples of pi/2; every kind of NaN. */
static uint32_t edges(float *x) {
    static const float at[] = {
        0,
        0x1p-149f,
        0x1p-126f,
        1,
        1.5f,
        2,
        0.5f,
        0x1p17f,
        0x1p24f,
        0x1p30f,
        1e30f,
        0x1p31f,
        0x1p127f,
        88.72284f,
        103.97208f,
        87.33655f,
        9.010913f,
        0.4f,
        0x1.fffffep127f,
        128,
        149,
        126,
        150,
        3.9192059f,
        0.70710677f,
        INFINITY,
        NAN,
        16.63553f,
        17.32868f,
    };
    uint32_t n = 0;
    for (uint32_t i = 0; i < RG_COUNT(at); i++)
        for (int d = -8; d <= 8; d++) {
            uint32_t u;
            memcpy(&u, &at[i], 4);
            x[n++] = f32_of(u + (uint32_t)d);
            x[n++] = f32_of((u + (uint32_t)d) ^ 0x80000000);
        }
    for (int k = 1; k < 4000; k++) x[n++] = (float)(k * 1.5707963267948966);
    for (int e = -148; e <= 127; e++) {
        x[n++] = nextafterf(ldexpf(1, e), 0);
        x[n++] = ldexpf(-1, e);
        x[n++] = nextafterf(ldexpf(1, e), INFINITY);
    }
    CHECK(n <= MATH_BLOCK);
    return n;
}

static void sample_f32(const struct math_row *row) {
    struct math_set m;
    struct worst w = {-1, 0, 0, 0};
    uint64_t at = 0;
    open_one(&m, row->name, "f32", false);
    uint32_t n = edges(x32);
    for (uint32_t k = n; k < MATH_BLOCK; k++) x32[k] = x32[k % n];
    for (bool more = true; more; more = at < 1ull << 32) {
        math_run(&m, 0, x32, NULL, o32);
        if (at % (1 << 26) == 0) {
            math_run(&m, 1, x32, NULL, s32);
            same_bits(row->name, o32, s32, 4, MATH_BLOCK);
        }
        worst_f32(&w, row, x32, o32, MATH_BLOCK);
        for (uint32_t k = 0; k < MATH_BLOCK; k++, at += 64) x32[k] = f32_of((uint32_t)at + k % 64);
    }
    report(row->name, "f32", &w, row->bound);
    math_close(&m);
}

static const struct math_row *row_of(const char *name) {
    for (uint32_t i = 0; i < MATH_ROWS; i++)
        if (!strcmp(math_rows[i].name, name)) return &math_rows[i];
    FAIL("no function %s", name);
}

/* One test per function: they run in parallel. */
#define X(op, f, bound, parity) \
    TEST_SLOW(math_f32_##op, 600) { sample_f32(row_of(#op)); }
MATH_TABLE(X)
#undef X

/* Bits that users expect, whatever the bound allows. */
/* An op of these units with no row in math.c would reach the renderer as it is. */
TEST(math_every_function_is_expanded) {
    unsigned n = 0;
    for (int o = 0; o < OP_COUNT; o++) {
        if (op_is_fn1((enum op)o) != math_has((enum op)o))
            FAIL("%s: unit and expansion disagree", op_info[o].name);
        n += math_has((enum op)o);
    }
    CHECK_EQ(n, 11);
}

TEST(math_f32_exact) {
    static const struct {
        const char *op;
        float x, y;
    } want[] = {
        {"EXP", 0, 1},
        {"EXP", -0.0f, 1},
        {"EXP2", 10, 1024},
        {"EXP2", -149, 0x1p-149f},
        {"LOG", 1, 0},
        {"LOG2", 8, 3},
        {"LOG2", 0x1p-149f, -149},
        {"LOG10", 1000, 3},
        {"LOG10", 1, 0},
        {"SIN", 0, 0},
        {"SIN", -0.0f, -0.0f},
        {"COS", 0, 1},
        {"TAN", -0.0f, -0.0f},
        {"TANH", 20, 1},
        {"TANH", -0.0f, -0.0f},
        {"ERF", -5, -1},
        {"ERF", -0.0f, -0.0f},
        {"SIGMOID", 0, 0.5f},
        {"SIGMOID", 40, 1},
        {"RSQRT", 4, 0.5f},
        {"EXP", -INFINITY, 0},
        {"LOG", 0, -INFINITY},
        {"LOG", INFINITY, INFINITY},
        {"RSQRT", 0, INFINITY},
        {"SIGMOID", -INFINITY, 0},
        {"TANH", -INFINITY, -1},
        {"ERF", INFINITY, 1},
        {"EXP", INFINITY, INFINITY},
    };
    struct math_set m;
    math_init(&m, RG_COUNT(want));
    for (uint32_t i = 0; i < RG_COUNT(want); i++)
        math_add(&m, want[i].op, "f32", 16, "TILE(i,4,v) VEC(v) TILE(i,2,u) UNROLL(u)", false);
    compile(&m);
    for (uint32_t i = 0; i < RG_COUNT(want); i++) {
        for (int k = 0; k < 16; k++) x32[k] = want[i].x;
        math_run(&m, i, x32, NULL, o32);
        if (memcmp(&o32[3], &want[i].y, 4))
            FAIL("%s(%g) is %.9g, expected %.9g", want[i].op, (double)want[i].x, (double)o32[3],
                 (double)want[i].y);
    }
    math_close(&m);
}

/* erf(kx) + 1 is one function (rules/fuse_math.rules), and x/2 times it another: off by no more than their nodes may be together,
 * of x/2 times it in units of x, and where the result is next to nothing by a part of it. */
static void erf_up(const char *of, double by, bool times) {
    struct math_set m;
    double most = 0, part = 0;
    math_init(&m, 1);
    m.text[m.n++] = arena_printf(
        &m.arena,
        "kernel up\nopts %s\nx = (PARAM<f32>[0 x] %d)\nout = (PARAM<f32>[1 out] %d)\n"
        "i = (RANGE[i GRID 0] %d)\nv = (LOAD (INDEX x i))\n"
        "(SINK (STORE (INDEX out i) %s(ADD (ERF %s) 1.0)%s))\n",
        VECTOR, MATH_BLOCK, MATH_BLOCK, MATH_BLOCK, times ? "(MUL (MUL v 0.5) " : "", of, times ? ")" : "");
    compile(&m);
    uint32_t n = edges(x32);
    for (uint32_t k = n; k < MATH_BLOCK; k++) x32[k] = x32[k % n];
    for (uint64_t at = 0; at <= 1ull << 32; at += (uint64_t)MATH_BLOCK * 2048) {
        math_run(&m, 0, x32, NULL, o32);
        for (uint32_t k = 0; k < MATH_BLOCK; k++) {
            double x = (double)x32[k], up = erfc(-x * by), got = (double)o32[k];
            double want = times ? x / 2 * up : up; /* of -inf not a number */
            double off = fabs(got - want) / (times ? fabs(x) : 1);
            if (got == want || (isnan(want) ? isnan(got) : off <= 0x1p-22 || fabs(got - want) < 0x1p-126)) {
                if (got != want && isfinite(x) && fabs(x) > 1e-30) most = fmax(most, off);
                if (isfinite(x) && up > 1e-9 && fabs(want) > 1e-30)
                    part = fmax(part, fabs(got - want) / fabs(want));
                continue;
            }
            FAIL("%s1 + erf(%a * %g) is %a, not %a", times ? "x/2 times " : "", x, by, got, want);
        }
        for (uint32_t k = 0; k < MATH_BLOCK; k++) x32[k] = f32_of((uint32_t)(at + (uint64_t)k * 2048));
    }
    TEST_INFO("%s1 + erf %s: off by %.3g units of 2^-24, by %.3g of the value", times ? "x/2 times " : "", of,
              most * 0x1p24, part);
    CHECK(part < 0.05);
    math_close(&m);
}

TEST(math_f32_erf_and_one) {
    erf_up("v", 1, false);
    erf_up("(MUL v 0.70710677)", (double)0.70710677f, false);
    erf_up("(MUL v 0.70710677)", (double)0.70710677f, true);
}

/* 21 elements: five vectors and a tail. */
TEST(math_tail_gives_the_same_bits) {
    static const char *const op[] = {"EXP", "SIN", "LOG", "TANH"};
    struct math_set m;
    math_init(&m, 2 * RG_COUNT(op));
    for (uint32_t i = 0; i < RG_COUNT(op); i++) {
        math_add(&m, op[i], "f32", 21, "TILE(i,4,v) VEC(v)", false);
        math_add(&m, op[i], "f32", 24, "TILE(i,4,v) VEC(v)", false);
    }
    compile(&m);
    for (int k = 0; k < 24; k++) x32[k] = k % 5 == 1 ? 1e20f * (float)k : (float)k * 0.37f - 3;
    for (uint32_t i = 0; i < RG_COUNT(op); i++) {
        math_run(&m, 2 * i, x32, NULL, o32);
        math_run(&m, 2 * i + 1, x32, NULL, s32);
        same_bits(op[i], o32, s32, 4, 21);
    }
    math_close(&m);
}

/* Exponentials of what a mask leaves out are 0 without an underflow, which would cost x86 150 cycles a vector. */
TEST(math_exponentials_of_minus_infinity_underflow_nowhere) {
    static const char *const op[] = {"EXP", "EXP2"};
    struct math_set m;
    math_init(&m, 2 * RG_COUNT(op));
    for (uint32_t i = 0; i < RG_COUNT(op); i++) {
        math_add(&m, op[i], "f32", 24, "TILE(i,4,v) VEC(v)", false);
        math_add(&m, op[i], "f64", 24, "TILE(i,2,v) VEC(v)", false);
    }
    compile(&m);
    for (int k = 0; k < 24; k++) x32[k] = -INFINITY, x64[k] = k % 2 ? -INFINITY : -1e300;
    for (uint32_t i = 0; i < RG_COUNT(op); i++) {
        feclearexcept(FE_ALL_EXCEPT);
        math_run(&m, 2 * i, x32, NULL, o32);
        math_run(&m, 2 * i + 1, x64, NULL, o64);
        CHECK(!fetestexcept(FE_UNDERFLOW));
        for (int k = 0; k < 24; k++) CHECK(o32[k] == 0 && o64[k] == 0);
    }
    math_close(&m);
}

/* ---- UNLIKELY as a branch ------------------------------------------------------------------------------------ */

static const char rare_text[] =
    "kernel rare%d\n%s%s\nx = (PARAM<f32>[0 x] 27)\nout = (PARAM<f32>[1 out] 27)\nrow = (PARAM<f32>[2 row] "
    "3)\n"
    "r = (RANGE[r GRID 0] 3)\nk0 = (RANGE[k REDUCE 1 0] 9)\nk1 = (RANGE[k LOOP 1 1] 9)\n"
    "a = (LOAD (INDEX x (ADD (MUL r 9) k0)))\nb = (LOAD (INDEX x (ADD (MUL r 9) k1)))\n"
    "m = (REDUCE[MAX] (TAN a) k0)\n"
    "(SINK (STORE (INDEX out (ADD (MUL r 9) k1)) (ADD (MUL (SIN b) (COS b)) (COS (COS b)))) (STORE (INDEX "
    "row r) m))\n";

static void random_opts(void *arg) {
    struct math_set *m = arg;
    struct program p = {0};
    ir_init(&m->ir, &m->arena);
    ir_parse(&m->ir, m->text[0], strlen(m->text[0]), "rare", &p);
    for (uint32_t i = 1; i < m->n; i++)
        m->text[i] =
            arena_printf(&m->arena, rare_text, (int)i, "opts ", opts_random(&m->ir, &p.kernel.p[0], i));
}

/* Two UNLIKELYs with one condition, one inside another, one in a reduction, in loops of every form: the same bits
 * as without opts. The interpreter, which checks the program, agrees too. */
TEST_SLOW(math_rare_under_random_opts, 300) {
    enum { LISTS = 12 };
    struct math_set m;
    math_init(&m, LISTS);
    m.n = LISTS;
    m.text[0] = arena_printf(&m.arena, rare_text, 0, "", "");
    if (err_guard(&m.err, random_opts, &m)) FAIL("%s", m.err.msg);
    compile(&m);
    for (int k = 0; k < 27; k++)
        x32[k] = k % 5 == 2 ? (float)k * 1e20f : k % 3 ? (float)k * 0.11f - 9 : -(float)k;
    for (uint32_t i = 0; i < LISTS; i++) {
        float *out = i ? o32 : s32;
        math_run(&m, i, x32, out + 300, out);
        if (i) same_bits(m.text[i], o32, s32, 4, 27), same_bits(m.text[i], o32 + 300, s32 + 300, 4, 3);
        struct ref_buf buf[3] = {
            {x32, 108, "x", NULL, NULL}, {y32, 108, "out", NULL, NULL}, {y32 + 300, 12, "row", NULL, NULL}};
        if (ref_linear(&m.err, &m.lin[i], buf, 3, NULL, 0, m.lin[i].grid))
            FAIL("%s\n%s", m.err.msg, m.text[i]);
        same_bits(m.text[i], y32, s32, 4, 27);
    }
    for (int k = 0; k < 27; k++) {
        double b = (double)x32[k], want = sin(b) * cos(b) + cos(cos(b));
        CHECK_NEAR(s32[k], want, 3e-7);
    }
    math_close(&m);
}

/* ---- float64 ------------------------------------------------------------------------------------------ */

static void sample_f64(const struct math_row *row) {
    struct math_set m;
    struct worst w = {-1, 0, 0, 0};
    uint64_t seed = hash_bytes(row->name, strlen(row->name), 1);
    open_one(&m, row->name, "f64", false);
    uint32_t n = edges(x32);
    for (uint32_t k = 0; k < MATH_BLOCK; k++) x64[k] = (double)x32[k % n];
    for (int round = 0; round < 14; round++) {
        math_run(&m, 0, x64, NULL, o64);
        math_run(&m, 1, x64, NULL, s64);
        same_bits(row->name, o64, s64, 8, MATH_BLOCK);
        worst_f64(&w, row, x64, o64, MATH_BLOCK);
        for (uint32_t k = 0; k < MATH_BLOCK; k++) x64[k] = random_f64(&seed);
    }
    report(row->name, "f64", &w, row->bound);
    math_close(&m);
}

#define X(op, f, bound, parity) \
    TEST_SLOW(math_f64_##op, 300) { sample_f64(row_of(#op)); }
MATH_TABLE(X)
#undef X

/* ---- powers ------------------------------------------------------------------------------------------- */

static const double special[] = {
    0,
    -0.0,
    1,
    -1,
    2,
    -2,
    3,
    -3,
    0.5,
    -0.5,
    INFINITY,
    -INFINITY,
    NAN,
    0x1p-149,
    0x1p127,
    -0x1p127,
    1e9,
    -1e9,
    0x1.fffffep127,
    0x1.fffffep-1,
    0x1.00002p0,
    16777216,
    16777215,
    -16777215,
    4e9,
    -7,
    0x1p-126,
    -0x1p-149,
    1.5,
    0x1p30,
};
enum { SPECIAL = RG_COUNT(special) };

TEST_SLOW(math_f32_POW, 300) {
    struct math_set m;
    struct worst w = {-1, 0, 0, 0};
    uint64_t seed = 7;
    open_one(&m, "POW", "f32", true);
    for (uint32_t k = 0; k < MATH_BLOCK; k++)
        x32[k] = (float)special[k % SPECIAL], y32[k] = (float)special[k / SPECIAL % SPECIAL];
    for (int round = 0; round < 200; round++) {
        math_run(&m, 0, x32, y32, o32);
        math_run(&m, 1, x32, y32, s32);
        same_bits("POW", o32, s32, 4, MATH_BLOCK);
        for (uint32_t k = 0; k < MATH_BLOCK; k++) {
            double u = ulp_f32(o32[k], pow((double)x32[k], (double)y32[k]));
            if (u > w.ulp) w = (struct worst){u, (double)x32[k], (double)y32[k], (double)o32[k]};
        }
        for (uint32_t k = 0; k < MATH_BLOCK; k++) {
            double x, y;
            random_pow(&seed, 150, &x, &y, true);
            x32[k] = (float)x, y32[k] = (float)y;
        }
    }
    report("POW", "f32", &w, POW_BOUND);
    math_close(&m);
}

TEST_SLOW(math_f64_POW, 300) {
    struct math_set m;
    struct worst w = {-1, 0, 0, 0};
    uint64_t seed = 8;
    open_one(&m, "POW", "f64", true);
    for (uint32_t k = 0; k < MATH_BLOCK; k++)
        x64[k] = special[k % SPECIAL], y64[k] = special[k / SPECIAL % SPECIAL];
    for (int round = 0; round < 14; round++) {
        math_run(&m, 0, x64, y64, o64);
        math_run(&m, 1, x64, y64, s64);
        same_bits("POW", o64, s64, 8, MATH_BLOCK);
        for (uint32_t k = 0; k < MATH_BLOCK; k++) {
            double u = ulp_f64(o64[k], powl((long double)x64[k], (long double)y64[k]));
            if (u > w.ulp) w = (struct worst){u, x64[k], y64[k], o64[k]};
            random_pow(&seed, 1080, &x64[k], &y64[k], false);
        }
    }
    report("POW", "f64", &w, POW_BOUND);
    math_close(&m);
}

/* ---- half types --------------------------------------------------------------------------------------- */

static const struct half {
    const char *name;
    enum dtype dt;
    int digits, emin, emax;
} half_types[] = {{"f16", DT_F16, 11, -14, 15}, {"bf16", DT_BF16, 8, -126, 127}};

/* Written here a second time: the bits of a half type as a number. */
static double half_value(const struct half *h, uint16_t b) {
    int frac = h->digits - 1, e = (b & 0x7fff) >> frac, m = b & ((1 << frac) - 1);
    double v;
    if (e == 2 * h->emax + 1 - 0 || e == h->emax - h->emin + 2)
        v = m ? NAN : INFINITY;
    else
        v = e ? ldexp((1 << frac) + m, e + h->emin - 1 - frac) : ldexp(m, h->emin - frac);
    return b & 0x8000 ? -v : v;
}

static uint16_t hx[1 << 16], hy[1 << 16], hz[1 << 16], ho[1 << 16];

/* Every function on every argument: the float32 result rounded again is within a hair of half a digit. */
TEST_SLOW(math_half_functions, 300) {
    for (uint32_t t = 0; t < RG_COUNT(half_types); t++) {
        const struct half *h = &half_types[t];
        struct math_set m;
        struct worst w = {-1, 0, 0, 0};
        math_init(&m, MATH_ROWS);
        for (uint32_t r = 0; r < MATH_ROWS; r++)
            math_add(&m, math_rows[r].name, h->name, 1 << 16, VECTOR, false);
        compile(&m);
        for (uint32_t k = 0; k < 1 << 16; k++) hx[k] = (uint16_t)k;
        for (uint32_t r = 0; r < MATH_ROWS; r++) {
            math_run(&m, r, hx, NULL, ho);
            for (uint32_t k = 0; k < 1 << 16; k++) {
                double x = half_value(h, hx[k]), got = half_value(h, ho[k]);
                double u = ulp_of(got, math_rows[r].ref(x), h->digits, h->emin, h->emax);
                if (u > w.ulp) w = (struct worst){u, x, 0, got};
                if (u > 0.51) FAIL("%s<%s>(%.9g) is %.9g: %.4g ulp", math_rows[r].name, h->name, x, got, u);
            }
        }
        TEST_INFO("all functions of %s: worst %.4f ulp", h->name, w.ulp);
        math_close(&m);
    }
}

/* x/2 (1 + erf(x/sqrt 2)) of every argument, computed in float32 (rules/fuse_math.rules): within a hair of half a digit, and far below
 * 0, where next to nothing is left, within a small number. */
TEST(math_half_gelu) {
    const double from = -3, off = 1e-6;
    for (uint32_t t = 0; t < RG_COUNT(half_types); t++) {
        const struct half *h = &half_types[t];
        struct math_set m;
        double worst = 0;
        math_init(&m, 1);
        m.text[m.n++] = arena_printf(
            &m.arena,
            "kernel gelu\nopts %s\nx = (PARAM<%s>[0 x] 65536)\nout = (PARAM<%s>[1 out] 65536)\n"
            "i = (RANGE[i GRID 0] 65536)\nv = (CAST<f32> (LOAD (INDEX x i)))\n"
            "(SINK (STORE (INDEX out i) (CAST<%s> (MUL (MUL v 0.5) (ADD (ERF (MUL v 0.70710678)) 1.0)))))\n",
            VECTOR, h->name, h->name, h->name);
        compile(&m);
        for (uint32_t k = 0; k < 1 << 16; k++) hx[k] = (uint16_t)k;
        math_run(&m, 0, hx, NULL, ho);
        for (uint32_t k = 0; k < 1 << 16; k++) {
            double x = half_value(h, hx[k]), got = half_value(h, ho[k]);
            double want = x / 2 * erfc(-x * sqrt(0.5));
            if (isnan(want) && isnan(got)) continue; /* -inf too */
            double u = ulp_of(got, (long double)want, h->digits, h->emin, h->emax);
            double far = x < from ? off : 0;
            if (!(x < from) && got != want) worst = fmax(worst, u);
            if (u <= 0.52 || fabs(got - want) <= far) continue;
            FAIL("gelu<%s>(%.9g) is %.9g, not %.9g: %.4g ulp", h->name, x, got, want, u);
        }
        TEST_INFO("gelu of %s: worst %.4f ulp", h->name, worst);
        math_close(&m);
    }
}

static long double exact_of(int op, double x, double y, double z) {
    long double a = x, b = y;
    return op == 0 ? a + b : op == 1 ? a - b : op == 2 ? a * b : op == 3 ? a / b : fmal(a, b, z);
}

static bool has_f16(void) {
    const struct isa_op *o = isa_op_of(os_cpu(), MODEL_FLOPS_F16);
    return o && !strcmp(o->in, "f16");
}

/* Rounded once: never more than half a digit off. The last rows: vectors of f16 by instructions. */
TEST_SLOW(math_half_arithmetic, 300) {
    static const char *const op[] = {"ADD", "SUB", "MUL", "FDIV", "FMA"};
    const char *const vector[] = {VECTOR, VECTOR, "TILE(i,4,v) VEC(v)", "TILE(i,8,v) VEC(v)",
                                  "TILE(i,16,v) VEC(v)"};
    for (uint32_t t = 0; t < (has_f16() ? RG_COUNT(vector) : RG_COUNT(half_types)); t++) {
        const struct half *h = &half_types[t < RG_COUNT(half_types) ? t : 0];
        struct math_set m;
        uint64_t seed = t + 3;
        math_init(&m, 5);
        m.native_f16 = t >= RG_COUNT(half_types);
        for (int i = 0; i < 4; i++) math_add(&m, op[i], h->name, 1 << 16, vector[t], true);
        m.text[m.n++] = arena_printf(
            &m.arena,
            "kernel acc\nopts %s\nx = (PARAM<%s>[0 x] 65536)\nout = (PARAM<%s>[1 out] 65536)\n"
            "y = (PARAM<%s>[2 y] 65536)\nz = (PARAM<%s>[3 z] 65536)\ni = (RANGE[i GRID 0] 65536)\n"
            "(SINK (STORE (INDEX out i) (FMA (LOAD (INDEX x i)) (LOAD (INDEX y i)) (LOAD (INDEX z "
            "i)))))\n",
            vector[t], h->name, h->name, h->name, h->name);
        compile(&m);
        for (int round = 0; round < 8; round++) {
            for (uint32_t k = 0; k < 1 << 16; k++) {
                uint64_t u = math_random(&seed);
                hx[k] = (uint16_t)u, hy[k] = (uint16_t)(u >> 16), hz[k] = (uint16_t)(u >> 32);
            }
            for (int i = 0; i < 5; i++) {
                void *buf[4] = {hx, ho, hy, hz};
                m.k[i]->fn(buf, NULL, 0, m.k[i]->grid, NULL);
                for (uint32_t k = 0; k < 1 << 16; k++) {
                    double x = half_value(h, hx[k]), y = half_value(h, hy[k]), z = half_value(h, hz[k]);
                    long double want = exact_of(i, x, y, z);
                    double u = ulp_of(half_value(h, ho[k]), want, h->digits, h->emin, h->emax);
                    if (u > 0.5 && want != 0)
                        FAIL("%s<%s>(%.9g, %.9g, %.9g) is %.9g, expected %.12Lg: %.4g ulp", op[i], h->name, x,
                             y, z, half_value(h, ho[k]), want, u);
                }
            }
        }
        math_close(&m);
    }
}
