/* math_check.h: compiles the functions of src/rules/math.h as kernels, runs them and measures errors in units
 * in the last place. Shared by tests/unit/math.c (a sample, in `make test`), tests/math.c (all floats) and
 * bench/math.c.
 *
 * A kernel is a line of IR text, lowered and compiled as any user's would be, so what is measured is the code
 * that runs. References are the C library's: double for float32 and half types, long double for float64
 * (113 digits on aarch64, 64 on x86: enough for a bound of 2). */
#ifndef RIDGE_MATH_CHECK_H
#define RIDGE_MATH_CHECK_H

#include "engine/engine.h"
#include "model/model.h"

#include <math.h>
#include <stdlib.h>

static inline double ref_rsqrt(double x) { return 1 / sqrt(x); }
static inline double ref_sigmoid(double x) { return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x)); }
static inline long double ref_rsqrtl(long double x) { return 1 / sqrtl(x); }
static inline long double ref_sigmoidl(long double x) {
    return x < 0 ? expl(x) / (1 + expl(x)) : 1 / (1 + expl(-x));
}

/*    op       reference    bound in ulp  symmetry: -1 odd, 1 even, 0 none */
#define MATH_TABLE(X)             \
    X(EXP, exp, 2, 0)             \
    X(EXP2, exp2, 2, 0)           \
    X(LOG, log, 2, 0)             \
    X(LOG2, log2, 2, 0)           \
    X(LOG10, log10, 2, 0)         \
    X(SIN, sin, 2, -1)            \
    X(COS, cos, 2, 1)             \
    X(TAN, tan, 2, -1)            \
    X(TANH, tanh, 2, -1)          \
    X(ERF, erf, 2, -1)            \
    X(SIGMOID, ref_sigmoid, 2, 0) \
    X(RSQRT, ref_rsqrt, 2, 0)     \
    X(SQRT, sqrt, 0.5, 0)

struct math_row {
    const char *name;
    double (*ref)(double);
    long double (*refl)(long double);
    double bound;
    int parity;
};
static const struct math_row math_rows[] = {
#define X(op, f, bound, parity) {#op, f, f##l, bound, parity},
    MATH_TABLE(X)
#undef X
};
enum { MATH_ROWS = RG_COUNT(math_rows), MATH_BLOCK = 1 << 14 };
#define POW_BOUND 4

/* Vectors of floats that fill a register of this machine. */
static inline const char *math_vector(int unroll) {
    static char text[64];
    snprintf(text, sizeof text, "TILE(i,%d,v) VEC(v) TILE(i,%d,u) UNROLL(u)", isa_host()->bytes / 4, unroll);
    return text;
}

/* ---- kernels --------------------------------------------------------------------------------------- */

struct math_set {
    struct err err;
    struct arena arena;
    struct ir ir;
    struct engine *engine;
    struct linear *lin;
    const struct ekernel **k;
    const char **text; /* kernels in IR text */
    uint32_t n;
    bool native_f16; /* struct target */
};

static void math_lower(void *arg) {
    struct math_set *m = arg;
    ir_init(&m->ir, &m->arena);
    m->lin = arena_array(&m->arena, struct linear, m->n);
    for (uint32_t i = 0; i < m->n; i++) {
        struct program p = {0};
        ir_parse(&m->ir, m->text[i], strlen(m->text[i]), "math", &p);
        lower(&m->ir, &p.kernel.p[0], &(struct lower_opts){.target = {.native_f16 = m->native_f16}},
              &m->lin[i]);
    }
    const struct linear **l = arena_array(&m->arena, const struct linear *, m->n);
    for (uint32_t i = 0; i < m->n; i++) l[i] = &m->lin[i];
    m->k = arena_array(&m->arena, const struct ekernel *, m->n);
    if (engine_compile(m->engine, &m->err, l, m->n, m->k)) err_throw(&m->err, m->err.code, "%s", m->err.msg);
}

/* Compiles all of m->text; NULL or the words of an error. */
static const char *math_compile(struct math_set *m) {
    m->engine = engine_open(&m->err, NULL);
    return !m->engine || err_guard(&m->err, math_lower, m) ? m->err.msg : NULL;
}

static void math_close(struct math_set *m) {
    if (m->engine) engine_close(m->engine);
    arena_free(&m->arena);
}

static void math_init(struct math_set *m, uint32_t n) {
    memset(m, 0, sizeof *m);
    arena_init(&m->arena, &m->err);
    m->text = arena_array(&m->arena, const char *, n);
}

/* out[i] = op(x[i]) (or op(x[i], y[i])) for n elements; opts as in a .uop file. */
static void math_add(struct math_set *m, const char *op, const char *dt, int64_t n, const char *opts,
                     bool two) {
    struct str s;
    str_init(&s, &m->arena);
    str_printf(&s, "kernel %s_%s_%u\nopts %s\n", op, dt, m->n, opts);
    str_printf(&s, "x = (PARAM<%s>[0 x] %lld)\nout = (PARAM<%s>[1 out] %lld)\n", dt, (long long)n, dt,
               (long long)n);
    if (two) str_printf(&s, "y = (PARAM<%s>[2 y] %lld)\n", dt, (long long)n);
    str_printf(&s, "i = (RANGE[i GRID 0] %lld)\n(SINK (STORE (INDEX out i) (%s (LOAD (INDEX x i))%s)))\n",
               (long long)n, op, two ? " (LOAD (INDEX y i))" : "");
    m->text[m->n++] = s.p;
}

static void math_run(const struct math_set *m, uint32_t i, const void *x, const void *y, void *out) {
    void *buf[3] = {(void *)(uintptr_t)x, out, (void *)(uintptr_t)y};
    _Alignas(64) char scratch[65536];
    m->k[i]->fn(buf, NULL, 0, m->k[i]->grid, scratch);
}

/* ---- errors ------------------------------------------------------------------------------------------ */

#define ULP_WRONG 1e9 /* of another kind: NaN, infinite, of the other sign */

/* |got - want| in units of the last of `digits` digits of want, in a type with the given exponents. */
static inline double ulp_of(long double got, long double want, int digits, int emin, int emax) {
    if (isnan(want) || isnan(got)) return isnan(want) && isnan(got) ? 0 : ULP_WRONG;
    long double top = ldexpl(1, emax + 1); /* the first number that is infinite */
    if (!signbit(got) != !signbit(want)) return ULP_WRONG;
    if (isinf(got)) got = copysignl(top, got);
    if (fabsl(want) > top) want = copysignl(top, want);
    int e;
    frexpl(want, &e);
    e = e - digits < emin - digits + 1 || want == 0 ? emin - digits + 1 : e - digits;
    return (double)ldexpl(fabsl(got - want), -RG_MIN(e, emax + 1 - digits));
}

/* The same for float32, quick: all in double. */
static inline double ulp_f32(float got, double want) {
    if (isnan(want) || isnan(got)) return isnan(want) && isnan(got) ? 0 : ULP_WRONG;
    if (!signbit(got) != !signbit(want)) return ULP_WRONG;
    double y = isinf(got) ? copysign(0x1p128, want) : (double)got;
    if (fabs(want) > 0x1p128) want = copysign(0x1p128, want);
    union {
        double f;
        uint64_t u;
    } w = {.f = want};
    int e = (int)(w.u >> 52 & 0x7ff) - 1023 - 23; /* of the last digit */
    e = e < -149 ? -149 : e > 104 ? 104 : e;
    union {
        uint64_t u;
        double f;
    } unit = {.u = (uint64_t)(1023 - e) << 52};
    return fabs(y - want) * unit.f;
}
static inline double ulp_f64(double got, long double want) { return ulp_of(got, want, 53, -1022, 1023); }

/* ---- sweeps ------------------------------------------------------------------------------------------- */

struct worst {
    double ulp;
    double x, y, got; /* arguments and what came out */
};

static inline float f32_of(uint32_t u) {
    float f;
    memcpy(&f, &u, 4);
    return f;
}

static inline void worst_f32(struct worst *w, const struct math_row *row, const float *x, const float *out,
                             uint32_t n) {
    for (uint32_t k = 0; k < n; k++) {
        double u = ulp_f32(out[k], row->ref((double)x[k]));
        if (u > w->ulp) *w = (struct worst){u, (double)x[k], 0, (double)out[k]};
    }
}

static inline void worst_f64(struct worst *w, const struct math_row *row, const double *x, const double *out,
                             uint32_t n) {
    for (uint32_t k = 0; k < n; k++) {
        double u = ulp_f64(out[k], row->refl((long double)x[k]));
        if (u > w->ulp) *w = (struct worst){u, x[k], 0, out[k]};
    }
}

static inline uint64_t math_random(uint64_t *s) {
    *s += 0x9e3779b97f4a7c15;
    return hash_u64(*s);
}

/* Random doubles: any bits, moderate sizes, small ones, near 1, near multiples of pi/2. */
static inline double random_f64(uint64_t *s) {
    uint64_t u = math_random(s), how = math_random(s);
    double x;
    memcpy(&x, &u, 8);
    int64_t i = (int64_t)u;
    int by = (int)(how >> 8 & 63);
    switch (how % 5) {
    case 0: return x;
    case 1: return ldexp((double)i, -63 + by % 12);
    case 2: return ldexp((double)i, -63 - by);
    case 3: return 1 + ldexp((double)i, -63 - by);
    default: return ldexp((double)i, -63 - by) + 1.5707963267948966 * (double)(how >> 20 & 0xfffff);
    }
}

/* Arguments of pow: any bits, and pairs whose power is neither 0 nor infinite. `range` is the exponent's. */
static inline void random_pow(uint64_t *s, double range, double *x, double *y, bool f32) {
    uint64_t a = math_random(s), b = math_random(s), how = math_random(s);
    if (how % 4 == 0) {
        if (f32)
            *x = (double)f32_of((uint32_t)a), *y = (double)f32_of((uint32_t)b);
        else
            memcpy(x, &a, 8), memcpy(y, &b, 8);
        return;
    }
    *x = fabs(ldexp((double)(int64_t)a, -63 + (int)(how >> 8 & 15) - 8)) + 0x1p-60;
    if (f32) *x = (double)(float)*x;
    *y = (double)(int64_t)b * 0x1p-63 * range / log2(*x);
    if (how % 4 == 1) *y = trunc(*y), *x = -*x;
    if (f32) *y = (double)(float)*y;
}

#endif
