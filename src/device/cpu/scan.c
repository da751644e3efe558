/* scan.c: scans of rows: running sums, products, maxima, minima, logarithms of sums of exponentials. The CPU's own programs scan in
 * kernels; these are what the simulated GPU runs (tests/simgpu.c), element by element.
 * Tests: tests/unit/scans.c */
#include "device/cpu/internal.h"

#include <math.h>

enum scan_type { I8, I16, I32, I64, U8, U16, U32, U64, F16, BF16, F32, F64 };
enum scan_op { ADD, MUL, MAX, MIN, LSE };

union scan_value {
    uint64_t i;
    double f;
};

static bool is_float(enum scan_type t) { return t >= F16; }
static bool is_signed(enum scan_type t) { return t <= I64; }

/* clang-format off */
#define INTEGERS(X)                                                   \
    X(I8, int8_t) X(I16, int16_t) X(I32, int32_t) X(I64, int64_t)     \
    X(U8, uint8_t) X(U16, uint16_t) X(U32, uint32_t) X(U64, uint64_t)
/* clang-format on */

static union scan_value load(enum scan_type t, const void *p, size_t at) {
    union scan_value r = {0};
    switch (t) {
#define LOAD(T, C) \
    case T: r.i = (uint64_t)((const C *)p)[at]; break;
        INTEGERS(LOAD)
#undef LOAD
    case F16: r.f = (double)f16_get(((const uint16_t *)p)[at]); break;
    case BF16: r.f = (double)bf16_get(((const uint16_t *)p)[at]); break;
    case F32: r.f = (double)((const float *)p)[at]; break;
    case F64: r.f = ((const double *)p)[at]; break;
    }
    return r;
}

static void store(enum scan_type t, void *p, size_t at, union scan_value v) {
    switch (t) {
#define STORE(T, C) \
    case T: ((C *)p)[at] = (C)v.i; break;
        INTEGERS(STORE)
#undef STORE
    case F16: ((uint16_t *)p)[at] = f16_put((float)v.f); break;
    case BF16: ((uint16_t *)p)[at] = bf16_put((float)v.f); break;
    case F32: ((float *)p)[at] = (float)v.f; break;
    case F64: ((double *)p)[at] = v.f; break;
    }
}

static double join_floats(enum scan_op op, double a, double x) {
    if (op == ADD) return a + x;
    if (op == MUL) return a * x;
    if (op < LSE) return a != a || x != x ? NAN : (op == MAX ? a > x : a < x) ? a : x;
    double m = a > x ? a : x;
    return a == x ? a + log(2) : m + log(exp(a - m) + exp(x - m));
}

static uint64_t join_integers(enum scan_op op, bool sign, uint64_t a, uint64_t x) {
    if (op == ADD) return a + x;
    if (op == MUL) return a * x;
    bool more = sign ? (int64_t)a > (int64_t)x : a > x;
    return more == (op == MAX) ? a : x;
}

/* var: elements of a row. */
static void scan_rows(enum scan_op op, enum scan_type to, enum scan_type from, void *const *buf,
                      const int64_t *var, uint32_t t0, uint32_t t1) {
    size_t n = (size_t)var[0];
    union scan_value run = {0};
    for (size_t at = t0 * n; at < t1 * n; at++) {
        union scan_value x = load(from, buf[1], at);
        if (at % n == 0)
            run = x;
        else if (is_float(to))
            run.f = join_floats(op, run.f, x.f);
        else
            run.i = join_integers(op, is_signed(from), run.i, x.i);
        store(to, buf[0], at, run);
    }
}

/* clang-format off */
#define SAME(X, op) X(op, F16, F16) X(op, BF16, BF16) X(op, F32, F32) X(op, F64, F64)
#define ROUNDED(X, op) X(op, F32, F16) X(op, F16, F32) X(op, F32, BF16) X(op, BF16, F32)
#define WHOLE(X, op)                                                                         \
    X(op, I8, I8) X(op, I16, I16) X(op, I32, I32) X(op, I64, I64) X(op, U8, U8) X(op, U16, U16) \
    X(op, U32, U32) X(op, U64, U64)
#define WIDER(X, op) \
    X(op, I64, I8) X(op, I64, I16) X(op, I64, I32) X(op, I64, U8) X(op, I64, U16) X(op, I64, U32)
#define ALL(X)                                                                      \
    SAME(X, ADD) ROUNDED(X, ADD) WHOLE(X, ADD) WIDER(X, ADD)                        \
    SAME(X, MUL) ROUNDED(X, MUL) WHOLE(X, MUL) WIDER(X, MUL)                        \
    SAME(X, MAX) ROUNDED(X, MAX) WHOLE(X, MAX) SAME(X, MIN) ROUNDED(X, MIN) WHOLE(X, MIN)   \
    SAME(X, LSE) ROUNDED(X, LSE)
#define FUNCTION(op, to, from)                                                                             \
    static void scan_##op##_##to##_##from(void *const *buf, const int64_t *var, uint32_t t0, uint32_t t1,  \
                                          void *scratch) {                                                 \
        (void)scratch;                                                                                     \
        scan_rows(op, to, from, buf, var, t0, t1);                                                         \
    }
ALL(FUNCTION)
/* clang-format on */

static const struct {
    const char *op, *to, *from;
    dev_fn *fn;
} function[] = {
#define ROW(op, to, from) {#op, #to, #from, scan_##op##_##to##_##from},
    ALL(ROW)
#undef ROW
};

bool cpu_scan_fn(const struct dev_call *c, struct dev_builtin *out) {
    if (strncmp(c->name, "scan_", 5)) return false;
    for (size_t i = 0; i < RG_COUNT(function); i++) {
        if (strcasecmp(function[i].op, c->name + 5) || strcasecmp(function[i].to, c->type[0]) ||
            strcasecmp(function[i].from, c->type[1]))
            continue;
        *out = (struct dev_builtin){.fn = function[i].fn};
        return true;
    }
    return false;
}
