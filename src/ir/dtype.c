/* dtype.c: the tables of element types, ops, axis kinds and memory spaces, and arithmetic on types.
 *
 * The tables come from dtype.def and ops.def; nothing here is written twice. Integers of every width
 * travel as int64_t, floats as double: dt_wrap and dt_round bring a value back into its type. A u64
 * travels as the int64_t with the same bits.
 * Tests: tests/unit/uop.c */
#include "ir.h"

#include <math.h>

const struct dtype_info dtype_info[DT_COUNT] = {
#define DTYPE(name, text, bytes, kind, c) [DT_##name] = {text, c, bytes, DK_##kind},
#include "dtype.def"
#undef DTYPE
};

/* ops.def spells flags as a product of letters; each letter is a constant while the table is read. */
enum {
    C = OPF_C,
    A = OPF_A,
    P = OPF_P,
    E = OPF_E,
    M = OPF_M,
    F = OPF_F,
    I = OPF_I,
    W = OPF_W,
    V = UINT16_MAX,
};
const struct op_info op_info[OP_COUNT] = {
#define OP(name, min, max, dt, lanes, arg, flags, unit, weight, flops, ulp, libm, doc) \
    [OP_##name] = {#name,     doc,   min,        max,    OPD_##dt, OPL_##lanes,        \
                   OPA_##arg, flags, OPU_##unit, weight, flops,    ulp},
#include "ops.def"
#undef OP
};

const char *const axis_name[AX_COUNT] = {
#define X(name, code, doc) [code] = #name,
    AXIS_TABLE(X)
#undef X
};

const char *const space_name[SPACE_COUNT] = {"SCRATCH", "SHARED", "REG"};

static bool is_name(const char *name, const char *s, size_t n) {
    return name[0] == s[0] && strlen(name) == n && !memcmp(name, s, n);
}

enum dtype dt_parse(const char *s, size_t n) {
    for (int i = 0; n && i < DT_COUNT; i++)
        if (is_name(dtype_info[i].name, s, n)) return (enum dtype)i;
    return DT_COUNT;
}

enum op op_parse(const char *s, size_t n) {
    for (int i = 0; n && i < OP_COUNT; i++)
        if (is_name(op_info[i].name, s, n)) return (enum op)i;
    return OP_COUNT;
}

int64_t dt_wrap(enum dtype d, int64_t v) {
    switch (d) {
    case DT_BOOL: return v != 0;
    case DT_I8: return (int8_t)v;
    case DT_I16: return (int16_t)v;
    case DT_I32: return (int32_t)v;
    case DT_U8: return (uint8_t)v;
    case DT_U16: return (uint16_t)v;
    case DT_U32: return (uint32_t)v;
    default: return v;
    }
}

int64_t dt_min(enum dtype d) {
    switch (d) {
    case DT_BOOL:
    case DT_U8:
    case DT_U16:
    case DT_U32: return 0;
    case DT_I8: return INT8_MIN;
    case DT_I16: return INT16_MIN;
    case DT_I32: return INT32_MIN;
    default: return INT64_MIN;
    }
}

int64_t dt_max(enum dtype d) {
    switch (d) {
    case DT_BOOL: return 1;
    case DT_I8: return INT8_MAX;
    case DT_I16: return INT16_MAX;
    case DT_I32: return INT32_MAX;
    case DT_U8: return UINT8_MAX;
    case DT_U16: return UINT16_MAX;
    case DT_U32: return UINT32_MAX;
    default: return INT64_MAX;
    }
}

/* Rounds to `bits` of significand, least exponent `emin`, largest finite `max`, ties to even. Scaling
 * by powers of two is exact, so rint does the only rounding: no double rounding through float. */
static double round_to(double x, int bits, int emin, double max) {
    if (x == 0 || isnan(x) || isinf(x)) return x;
    int e = ilogb(x);
    if (e < emin) e = emin;
    double r = ldexp(rint(ldexp(x, bits - 1 - e)), e - (bits - 1));
    return fabs(r) > max ? copysign(INFINITY, r) : r;
}

double dt_round(enum dtype d, double x) {
    switch (d) {
    case DT_F8E4M3: x = round_to(x, 4, -6, 448); return isinf(x) ? copysign(448, x) : x;
    case DT_F8E5M2: return round_to(x, 3, -14, 57344);
    case DT_F16: return round_to(x, 11, -14, 65504.0);
    case DT_BF16: return round_to(x, 8, -126, 0x1.fep127);
    case DT_F32: return (double)(float)x;
    default: return x;
    }
}

/* Of `mant` bits of significand below the leading one, exponents biased by `bias`. */
static double small_float(uint32_t bits, int mant, int width, int bias) {
    uint32_t frac = bits & ((1u << mant) - 1), e = bits >> mant & ((1u << (width - 1 - mant)) - 1);
    double x = e ? ldexp((double)(frac | 1u << mant), (int)e - bias - mant)
                 : ldexp((double)frac, 1 - bias - mant); /* subnormal */
    return bits >> (width - 1) ? -x : x;
}

/* All exponent bits set: infinity, or NaN if the fraction is not 0. E4M3 has no infinities, and one NaN. */
static double float_value(enum dtype d, uint32_t u) {
    bool negative;
    switch (d) {
    case DT_F8E4M3: return (u & 0x7f) == 0x7f ? NAN : small_float(u, 3, 8, 7);
    case DT_F8E5M2:
        negative = u >> 7;
        if ((u & 0x7c) != 0x7c) return small_float(u, 2, 8, 15);
        return u & 3 ? NAN : negative ? -INFINITY : INFINITY;
    default:
        negative = u >> 15;
        if ((u & 0x7c00) != 0x7c00) return small_float(u, 10, 16, 15);
        return u & 0x3ff ? NAN : negative ? -INFINITY : INFINITY;
    }
}

double dt_number(enum dtype d, const void *at) {
    uint64_t u = 0;
    uint32_t w;
    float f;
    double x;
    memcpy(&u, at, dtype_info[d].bytes);
    switch (d) {
    case DT_F8E4M3:
    case DT_F8E5M2:
    case DT_F16: return float_value(d, (uint32_t)u);
    case DT_BF16:
    case DT_F32:
        w = d == DT_BF16 ? (uint32_t)u << 16 : (uint32_t)u;
        memcpy(&f, &w, sizeof f);
        return (double)f;
    case DT_F64: memcpy(&x, &u, sizeof x); return x;
    case DT_U64: return (double)u;
    default: return (double)dt_wrap(d, (int64_t)u);
    }
}

double op_identity_f(enum op o) {
    switch (o) {
    case OP_MUL: return 1;
    case OP_MAX: return -INFINITY;
    case OP_MIN: return INFINITY;
    default: return 0;
    }
}

int64_t idiv_floor(int64_t a, int64_t b) {
    if (b == 0) return 0;
    if (b == -1) return (int64_t)(0 - (uint64_t)a); /* INT64_MIN / -1 wraps */
    int64_t q = a / b;
    return q - (a % b != 0 && (a < 0) != (b < 0));
}

int64_t imod_floor(int64_t a, int64_t b) {
    if (b == 0 || b == -1) return 0;
    int64_t r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
