/* elem.c: what every pure op does to one element, for the oracle.
 *
 * Written from the words in ops.def and docs/semantics.md alone. Floats are computed in double
 * and rounded once to the node's dtype: for + - * / and sqrt that is the correctly rounded result (double
 * has more than twice the digits), for libm's functions it is within a hair of it. A sum of three parts
 * (FMA, wide integers to narrow floats) would be rounded twice that way; add_odd keeps the lost digits
 * as a sticky bit. Half types have their own rounding and bit layout here, with no help from the compiler.
 * Tests: tests/unit/ref.c, against bit patterns worked out by hand and against C's own arithmetic. */
#include "ref/ref.h"

#include <float.h>
#include <math.h>

/* ---- types ------------------------------------------------------------------------------------- */

/* Not a look into a table: where the type is known, so is the answer. */
static inline bool is_float(enum dtype dt) {
    return dt == DT_F8E4M3 || dt == DT_F8E5M2 || dt == DT_F16 || dt == DT_BF16 || dt == DT_F32 ||
           dt == DT_F64;
}
static inline bool is_unsigned(enum dtype dt) {
    return dt == DT_U8 || dt == DT_U16 || dt == DT_U32 || dt == DT_U64;
}
static int bits_of(enum dtype dt) { return 8 * dtype_info[dt].bytes; }

int64_t ref_wrap(enum dtype dt, int64_t x) {
    switch (dt) {
    case DT_BOOL: return x != 0;
    case DT_I8: return (int8_t)x;
    case DT_I16: return (int16_t)x;
    case DT_I32: return (int32_t)x;
    case DT_U8: return (uint8_t)x;
    case DT_U16: return (uint16_t)x;
    case DT_U32: return (uint32_t)x;
    default: return x;
    }
}

/* x to `digits` binary digits, the last one not below 2^least; beyond `max` it is infinite. */
static double round_digits(double x, int digits, int least, double max) {
    if (x == 0 || !isfinite(x)) return x;
    int e;
    frexp(x, &e); /* |x| in [2^(e-1), 2^e) */
    int ulp_exponent = RG_MAX(e - digits, least);
    double r = ldexp(rint(ldexp(x, -ulp_exponent)), ulp_exponent); /* rint: ties to even */
    return fabs(r) > max ? copysign(INFINITY, x) : r;
}

double ref_round(enum dtype dt, double x) {
    switch (dt) {
    case DT_F32: return (double)(float)x;
    case DT_F8E4M3: x = round_digits(x, 4, -9, 448); return isinf(x) ? copysign(448, x) : x;
    case DT_F8E5M2: return round_digits(x, 3, -16, 57344);
    case DT_F16: return round_digits(x, 11, -24, 65504.0);
    case DT_BF16: return round_digits(x, 8, -133, 0x1.FEp127);
    default: return x;
    }
}

/* Bits of an fp16: 5 exponent bits, 10 fraction bits. x is already a value of the type. */
static uint16_t f16_bits(double x) {
    uint16_t sign = signbit(x) ? 0x8000 : 0;
    if (isnan(x)) return sign | 0x7E00;
    if (isinf(x)) return sign | 0x7C00;
    double a = fabs(x);
    if (a < 0x1p-14) return (uint16_t)(sign | (uint16_t)(a * 0x1p24)); /* subnormal, or zero */
    int e;
    double m = frexp(a, &e); /* in [0.5, 1) */
    return (uint16_t)(sign | (uint16_t)((e + 14) << 10) | (uint16_t)((m * 2 - 1) * 1024));
}

static double f16_value(uint16_t b) {
    int e = b >> 10 & 31, m = b & 1023;
    double a = e == 31 ? (m ? NAN : INFINITY) : e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);
    return b & 0x8000 ? -a : a;
}

/* e5m2 is the upper byte of an fp16. e4m3 has three fraction bits, a bias of 7, and NaN alone where all
 * are ones. */
static double f8_value(enum dtype dt, uint8_t b) {
    if (dt == DT_F8E5M2) return f16_value((uint16_t)(b << 8));
    int e = b >> 3 & 15, m = b & 7;
    double a = (b & 127) == 127 ? NAN : e ? ldexp(8 + m, e - 10) : ldexp(m, -9);
    return b & 0x80 ? -a : a;
}

/* x is already a value of the type. */
static uint8_t f8_bits(enum dtype dt, double x) {
    uint8_t sign = signbit(x) ? 0x80 : 0;
    if (dt == DT_F8E5M2) return (uint8_t)(f16_bits(x) >> 8);
    if (isnan(x)) return sign | 0x7f;
    double a = fabs(x);
    if (a < 0x1p-6) return (uint8_t)(sign | (uint8_t)(a * 0x1p9)); /* subnormal, or zero */
    int e;
    double m = frexp(a, &e); /* in [0.5, 1) */
    return (uint8_t)(sign | (uint8_t)((e + 6) << 3) | (uint8_t)((m * 2 - 1) * 8));
}

uint64_t ref_bits(const void *at, size_t bytes) {
    uint64_t u = 0;
    switch (bytes) { /* each copy of a known size is one instruction */
    case 1: memcpy(&u, at, 1); break;
    case 2: memcpy(&u, at, 2); break;
    case 4: memcpy(&u, at, 4); break;
    default: memcpy(&u, at, 8);
    }
    return u;
}

union ref_val ref_read(enum dtype dt, const void *at) {
    union ref_val v = {.i = 0};
    uint64_t u = ref_bits(at, dtype_info[dt].bytes);
    float f;
    switch (dt) {
    case DT_F8E4M3:
    case DT_F8E5M2: v.f = f8_value(dt, (uint8_t)u); break;
    case DT_F16: v.f = f16_value((uint16_t)u); break;
    case DT_BF16:
    case DT_F32: {
        uint32_t w = dt == DT_BF16 ? (uint32_t)u << 16 : (uint32_t)u;
        memcpy(&f, &w, sizeof f);
        v.f = f;
        break;
    }
    case DT_F64: memcpy(&v.f, &u, sizeof v.f); break;
    default: v.i = ref_wrap(dt, (int64_t)u);
    }
    return v;
}

void ref_write(enum dtype dt, void *at, union ref_val v) {
    uint64_t u = (uint64_t)v.i;
    float f = (float)v.f;
    uint32_t w;
    switch (dt) {
    case DT_F8E4M3:
    case DT_F8E5M2: u = f8_bits(dt, v.f); break;
    case DT_F16: u = f16_bits(v.f); break;
    case DT_BF16:
    case DT_F32:
        memcpy(&w, &f, sizeof w);
        u = dt == DT_F32 ? w : isnan(v.f) ? w >> 16 | 0x40 : w >> 16;
        break;
    case DT_F64: memcpy(&u, &v.f, sizeof u); break;
    default: break;
    }
    memcpy(at, &u, dtype_info[dt].bytes);
}

double ref_number(enum dtype dt, union ref_val v) {
    return is_float(dt) ? v.f : dt == DT_U64 ? (double)(uint64_t)v.i : (double)v.i;
}

/* ---- conversions --------------------------------------------------------------------------------*/

/* a + b such that rounding the result to 50 digits or fewer gives what rounding the exact sum would:
 * where the sum is not exact, its last digit is made odd ("sticky"). */
static double add_odd(double a, double b) {
    double s = a + b;
    if (!isfinite(s)) return s;
    double bb = s - a, lost = (a - (s - bb)) + (b - bb);
    int64_t w;
    memcpy(&w, &s, sizeof w);
    if (lost == 0 || (w & 1)) return s;
    /* the exact sum lies between s, which is not 0, and its neighbour in the direction of `lost` */
    w += (lost > 0) == (s > 0) ? 1 : -1;
    memcpy(&s, &w, sizeof s);
    return s;
}

static double int_to_float(enum dtype dt, enum dtype from, int64_t x) {
    double high = from == DT_U64 ? (double)((uint64_t)x >> 32) : (double)(x >> 32);
    double a = high * 0x1p32, b = (double)(uint32_t)x;
    return dt == DT_F64 ? a + b : ref_round(dt, add_odd(a, b));
}

/* Saturates; every bound compared with is a power of two, so exact. */
static int64_t float_to_int(enum dtype dt, double x) {
    if (isnan(x)) return 0;
    x = trunc(x);
    int b = bits_of(dt);
    if (is_unsigned(dt)) {
        if (x <= 0) return 0;
        if (x >= ldexp(1, b)) return dt == DT_U64 ? -1 : (int64_t)((1ull << b) - 1);
        return (int64_t)(uint64_t)x;
    }
    if (x >= ldexp(1, b - 1)) return (int64_t)(UINT64_MAX >> (65 - b));
    if (x < -ldexp(1, b - 1)) return -(int64_t)(UINT64_MAX >> (65 - b)) - 1;
    return (int64_t)x;
}

static union ref_val cast(enum dtype dt, enum dtype from, union ref_val a) {
    union ref_val r;
    if (is_float(dt))
        r.f = is_float(from) ? ref_round(dt, a.f) : int_to_float(dt, from, a.i);
    else if (!is_float(from))
        r.i = ref_wrap(dt, a.i);
    else if (dt == DT_BOOL)
        r.i = a.f != 0;
    else
        r.i = float_to_int(dt, a.f);
    return r;
}

static union ref_val bitcast(enum dtype dt, enum dtype from, union ref_val a) {
    unsigned char bytes[8] = {0};
    ref_write(from, bytes, a);
    return ref_read(dt, bytes);
}

/* ---- floats ------------------------------------------------------------------------------------- */

static bool float_unary(enum op op, double x, double *r) {
    switch (op) {
    case OP_NEG: *r = -x; break;
    case OP_ABS: *r = fabs(x); break;
    case OP_RECIP: *r = 1 / x; break;
    case OP_SQRT: *r = sqrt(x); break;
    case OP_RSQRT: *r = 1 / sqrt(x); break;
    case OP_FLOOR: *r = floor(x); break;
    case OP_CEIL: *r = ceil(x); break;
    case OP_TRUNC: *r = trunc(x); break;
    case OP_ROUND: *r = rint(x); break;
    case OP_EXP: *r = exp(x); break;
    case OP_EXP2: *r = exp2(x); break;
    case OP_LOG: *r = log(x); break;
    case OP_LOG2: *r = log2(x); break;
    case OP_LOG10: *r = log10(x); break;
    case OP_SIN: *r = sin(x); break;
    case OP_COS: *r = cos(x); break;
    case OP_TAN: *r = tan(x); break;
    case OP_TANH: *r = tanh(x); break;
    case OP_ERF: *r = erf(x); break;
    case OP_SIGMOID: *r = 1 / (1 + exp(-x)); break;
    default: return false;
    }
    return true;
}

static bool float_binary(enum op op, double x, double y, double *r) {
    bool nan = isnan(x) || isnan(y);
    switch (op) {
    case OP_ADD: *r = x + y; break;
    case OP_SUB: *r = x - y; break;
    case OP_MUL: *r = x * y; break;
    case OP_FDIV: *r = x / y; break;
    case OP_MAX: *r = nan ? NAN : x > y ? x : y; break;
    case OP_MIN: *r = nan ? NAN : x < y ? x : y; break;
    case OP_POW: *r = pow(x, y); break;
    default: return false;
    }
    return true;
}

static double float_fma(enum dtype dt, double x, double y, double z) {
    if (dt == DT_F64) return fma(x, y, z);
    return ref_round(dt, add_odd(x * y, z)); /* the product of two 24-digit numbers is exact */
}

/* ---- integers ----------------------------------------------------------------------------------- */

static int64_t int_div(enum dtype dt, int64_t x, int64_t y) {
    if (y == 0) return 0;
    if (is_unsigned(dt)) return (int64_t)((uint64_t)x / (uint64_t)y);
    if (y == -1) return (int64_t)(0 - (uint64_t)x); /* the one quotient that overflows wraps */
    int64_t q = x / y;
    return x % y != 0 && (x < 0) != (y < 0) ? q - 1 : q;
}

static int64_t int_mod(enum dtype dt, int64_t x, int64_t y) {
    return y == 0 ? 0 : (int64_t)((uint64_t)x - (uint64_t)int_div(dt, x, y) * (uint64_t)y);
}

static int64_t int_shift(enum op op, enum dtype dt, int64_t x, int64_t by) {
    bool past = by < 0 || by >= bits_of(dt);
    if (op == OP_SHL) return past ? 0 : (int64_t)((uint64_t)x << by);
    if (is_unsigned(dt) || dt == DT_BOOL) return past ? 0 : (int64_t)((uint64_t)x >> by);
    return past ? (x < 0 ? -1 : 0) : x >> by;
}

static bool less(enum dtype dt, union ref_val a, union ref_val b) {
    return is_float(dt) ? a.f < b.f : dt == DT_U64 ? (uint64_t)a.i < (uint64_t)b.i : a.i < b.i;
}

static uint32_t rotl(uint32_t x, int by) { return x << by | x >> (32 - by); }

/* Threefry-2x32 with 20 rounds, unrolled as in the paper: five times four rounds, then a step of the key
 * schedule. */
static uint64_t random_bits(uint64_t counter, uint64_t key) {
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32), k2 = 0x1bd11bda ^ k0 ^ k1;
    uint32_t x = (uint32_t)counter + k0, y = (uint32_t)(counter >> 32) + k1;
#define FOUR(a, b, c, d, add_x, add_y)                                                          \
    x += y, y = rotl(y, a) ^ x, x += y, y = rotl(y, b) ^ x, x += y, y = rotl(y, c) ^ x, x += y, \
            y = rotl(y, d) ^ x, x += (add_x), y += (add_y)
    FOUR(13, 15, 26, 6, k1, k2 + 1);
    FOUR(17, 29, 16, 24, k2, k0 + 2);
    FOUR(13, 15, 26, 6, k0, k1 + 3);
    FOUR(17, 29, 16, 24, k1, k2 + 4);
    FOUR(13, 15, 26, 6, k2, k0 + 5);
#undef FOUR
    return (uint64_t)y << 32 | x;
}

static bool int_op(enum op op, enum dtype dt, const union ref_val *s, int64_t *r) {
    uint64_t x = (uint64_t)s[0].i, y = (uint64_t)s[1].i;
    switch (op) {
    case OP_NEG: *r = (int64_t)(0 - x); break;
    case OP_ABS: *r = !is_unsigned(dt) && s[0].i < 0 ? (int64_t)(0 - x) : s[0].i; break;
    case OP_NOT: *r = dt == DT_BOOL ? !x : (int64_t)~x; break;
    case OP_MUL: *r = (int64_t)(x * y); break;
    case OP_IDIV: *r = int_div(dt, s[0].i, s[1].i); break;
    case OP_MOD: *r = int_mod(dt, s[0].i, s[1].i); break;
    case OP_ADD: *r = (int64_t)(x + y); break; /* bools: 1 + 1 is 2, which wraps to true: or */
    case OP_SUB: *r = (int64_t)(x - y); break;
    case OP_MAX: *r = less(dt, s[0], s[1]) ? s[1].i : s[0].i; break;
    case OP_MIN: *r = less(dt, s[1], s[0]) ? s[1].i : s[0].i; break;
    case OP_AND: *r = (int64_t)(x & y); break;
    case OP_OR: *r = (int64_t)(x | y); break;
    case OP_XOR: *r = (int64_t)(x ^ y); break;
    case OP_SHL:
    case OP_SHR: *r = int_shift(op, dt, s[0].i, s[1].i); break;
    case OP_THREEFRY: *r = (int64_t)random_bits(x, y); break;
    case OP_FMA: *r = (int64_t)(x * y + (uint64_t)s[2].i); break;
    default: return false;
    }
    *r = ref_wrap(dt, *r);
    return true;
}

/* ---- the one entry ------------------------------------------------------------------------------ */

static inline __attribute__((always_inline)) bool eval(enum op op, enum dtype dt, enum dtype sdt,
                                                       const union ref_val s[3], union ref_val *out) {
    bool equal = is_float(sdt) ? s[0].f == s[1].f : s[0].i == s[1].i;
    switch (op) {
    case OP_CAST: *out = cast(dt, sdt, s[0]); return true;
    case OP_BITCAST: *out = bitcast(dt, sdt, s[0]); return true;
    case OP_WHERE: *out = s[0].i ? s[1] : s[2]; return true;
    case OP_LT: out->i = less(sdt, s[0], s[1]); return true;
    case OP_LE: out->i = less(sdt, s[0], s[1]) || equal; return true;
    case OP_EQ: out->i = equal; return true;
    case OP_NE: out->i = !equal; return true;
    default: break;
    }
    if (!is_float(dt)) return int_op(op, dt, s, &out->i);
    if (op == OP_FMA) {
        out->f = float_fma(dt, s[0].f, s[1].f, s[2].f);
        return true;
    }
    double r;
    if (!float_unary(op, s[0].f, &r) && !float_binary(op, s[0].f, s[1].f, &r)) return false;
    out->f = ref_round(dt, r);
    return true;
}

bool ref_eval(enum op op, enum dtype dt, enum dtype sdt, const union ref_val s[3], union ref_val *out) {
    return eval(op, dt, sdt, s, out);
}

/* The same function with op and dtypes known: what linear programs are made of. */
/* clang-format off */
#define INTEGERS(X, dt)                                                                                      \
    X(NEG, dt, dt) X(NOT, dt, dt) X(MUL, dt, dt) X(IDIV, dt, dt) X(MOD, dt, dt) X(ADD, dt, dt) X(SUB, dt, dt) \
    X(MAX, dt, dt) X(MIN, dt, dt) X(AND, dt, dt) X(OR, dt, dt) X(XOR, dt, dt) X(SHL, dt, dt) X(SHR, dt, dt)   \
    X(FMA, dt, dt) X(LT, BOOL, dt) X(LE, BOOL, dt) X(EQ, BOOL, dt) X(NE, BOOL, dt)
#define FLOATS(X, dt)                                                                                        \
    X(NEG, dt, dt) X(ABS, dt, dt) X(MUL, dt, dt) X(FDIV, dt, dt) X(ADD, dt, dt) X(SUB, dt, dt) X(MAX, dt, dt) \
    X(MIN, dt, dt) X(FMA, dt, dt) X(LT, BOOL, dt) X(LE, BOOL, dt) X(EQ, BOOL, dt) X(NE, BOOL, dt)
#define KNOWN(X)                                                                                             \
    INTEGERS(X, I32) INTEGERS(X, I64) INTEGERS(X, U32) FLOATS(X, F32)                                         \
    X(NOT, BOOL, BOOL) X(AND, BOOL, BOOL) X(OR, BOOL, BOOL) X(BITCAST, F32, U32) X(BITCAST, U32, F32)
/* clang-format on */
#define AS_FUNCTION(name, dt, sdt)                                                         \
    static union ref_val name##_##sdt(union ref_val a, union ref_val b, union ref_val c) { \
        union ref_val r = {.i = 0};                                                        \
        eval(OP_##name, DT_##dt, DT_##sdt, (union ref_val[3]){a, b, c}, &r);               \
        return r;                                                                          \
    }
KNOWN(AS_FUNCTION)
AS_FUNCTION(WHERE, F32, BOOL) /* of any type: it chooses bits */

ref_fn *ref_function(enum op op, enum dtype dt, enum dtype sdt) {
#define AS_ROW(name, dt, sdt) [OP_##name][DT_##sdt] = {name##_##sdt, DT_##dt},
    static const struct {
        ref_fn *fn;
        enum dtype dt;
    } known[OP_COUNT][DT_COUNT] = {KNOWN(AS_ROW)};
    if (op == OP_WHERE && sdt == DT_BOOL) return WHERE_BOOL;
    return known[op][sdt].dt == dt ? known[op][sdt].fn : NULL;
}
