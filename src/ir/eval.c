/* eval.c: the value of one pure op on one element; what ops.def says in words, as code.
 *
 * Constant folding, the fuzzers and the interpreter's arithmetic all mean this function, so it is
 * written for being obviously right and not for speed. Integers wrap in their type; IDX is exact, so an
 * IDX result that leaves 64 bits is not defined and op_eval says false. Floats are computed in double
 * (or with fma where the row says "rounded once") and rounded to the type; for + - * / and sqrt of
 * float, half and bfloat16 that is the correctly rounded result, because double has more than twice
 * their bits.
 * Tests: tests/unit/uop.c, tests/unit/bounds.c */
#include "ir.h"

#include <math.h>

static double recip(double x) { return 1.0 / x; }
static double rsqrt(double x) { return 1.0 / sqrt(x); }
static double sigmoid(double x) { return 1.0 / (1.0 + exp(-x)); }

/* Functions of one source, by their libm column. */
typedef double fn1(double);
static fn1 *const libm_fn[OP_COUNT] = {
#define LIBM_NONE(op, f)
#define LIBM_ALU(op, f)
#define LIBM_DIV(op, f)
#define LIBM_FN2(op, f)
#define LIBM_EX2(op, f) [op] = f,
#define LIBM_FN(op, f) [op] = f,
#define OP(name, min, max, dt, lanes, arg, flags, unit, weight, flops, ulp, libm, doc) \
    LIBM_##unit(OP_##name, libm)
#include "ops.def"
#undef OP
};

static double max_nan(double a, double b) {
    if (isnan(a) || isnan(b)) return NAN;
    if (a == b) return signbit(a) ? b : a; /* +0 is greater than -0 */
    return a > b ? a : b;
}

static double min_nan(double a, double b) {
    if (isnan(a) || isnan(b)) return NAN;
    if (a == b) return signbit(a) ? a : b;
    return a < b ? a : b;
}

static bool eval_f(enum op op, enum dtype dt, const union val *s, double *r) {
    double x = s[0].f;
    if (libm_fn[op]) {
        *r = libm_fn[op](x);
        return true;
    }
    switch (op) {
    case OP_NEG: *r = -x; return true;
    case OP_ABS: *r = fabs(x); return true;
    case OP_RECIP: *r = recip(x); return true;
    case OP_SQRT: *r = sqrt(x); return true;
    case OP_RSQRT: *r = rsqrt(x); return true;
    case OP_FLOOR: *r = floor(x); return true;
    case OP_CEIL: *r = ceil(x); return true;
    case OP_TRUNC: *r = trunc(x); return true;
    case OP_ROUND: *r = rint(x); return true;
    case OP_MUL: *r = x * s[1].f; return true;
    case OP_FDIV: *r = x / s[1].f; return true;
    case OP_ADD: *r = x + s[1].f; return true;
    case OP_SUB: *r = x - s[1].f; return true;
    case OP_MAX: *r = max_nan(x, s[1].f); return true;
    case OP_MIN: *r = min_nan(x, s[1].f); return true;
    case OP_POW: *r = pow(x, s[1].f); return true;
    case OP_FMA:
        *r = dt == DT_F32 ? (double)fmaf((float)x, (float)s[1].f, (float)s[2].f) : fma(x, s[1].f, s[2].f);
        return true;
    default: return false;
    }
}

static bool cmp_f(enum op op, double x, double y, int64_t *r) {
    switch (op) {
    case OP_LT: *r = x < y; return true;
    case OP_LE: *r = x <= y; return true;
    case OP_EQ: *r = x == y; return true;
    case OP_NE: *r = x != y; return true;
    default: return false;
    }
}

static bool cmp_i(enum op op, bool u64, int64_t x, int64_t y, int64_t *r) {
    bool lt = u64 ? (uint64_t)x < (uint64_t)y : x < y;
    switch (op) {
    case OP_LT: *r = lt; return true;
    case OP_LE: *r = lt || x == y; return true;
    case OP_EQ: *r = x == y; return true;
    case OP_NE: *r = x != y; return true;
    default: return false;
    }
}

/* A shift by a negative number counts as past the width. */
static int64_t shift_left(int64_t x, int64_t y, int width) {
    return y < 0 || y >= width ? 0 : (int64_t)((uint64_t)x << y);
}

static int64_t shift_right(enum dtype dt, int64_t x, int64_t y, int width) {
    if (dt == DT_U64) return y < 0 || y >= width ? 0 : (int64_t)((uint64_t)x >> y);
    if (y < 0 || y >= width) return x < 0 ? -1 : 0;
    return x >> y;
}

static int width_of(enum dtype dt) { return dt == DT_BOOL ? 1 : dtype_info[dt].bytes * 8; }

/* Threefry-2x32 with 20 rounds, Salmon et al. 2011: counter and key are two words each, the low one first. After every
 * fourth round the key is injected: its words rotated by one, plus the number of the injection. */
static uint64_t threefry(uint64_t counter, uint64_t key) {
    static const int rotation[8] = {13, 15, 26, 6, 17, 29, 16, 24};
    uint32_t k[3] = {(uint32_t)key, (uint32_t)(key >> 32)};
    k[2] = k[0] ^ k[1] ^ THREEFRY_PARITY;
    uint32_t a = (uint32_t)counter + k[0], b = (uint32_t)(counter >> 32) + k[1];
    for (uint32_t i = 0; i < 20; i++) {
        int by = rotation[i % 8];
        a += b;
        b = (b << by | b >> (32 - by)) ^ a;
        if (i % 4 != 3) continue;
        uint32_t s = i / 4 + 1;
        a += k[s % 3];
        b += k[(s + 1) % 3] + s;
    }
    return (uint64_t)b << 32 | a;
}

/* The wrapped 64-bit result; *exact is false when the mathematical result is another one. */
static bool eval_i(enum op op, enum dtype dt, const union val *s, int64_t *r, bool *exact) {
    int64_t x = s[0].i, y = op == OP_NEG || op == OP_ABS || op == OP_NOT ? 0 : s[1].i, t;
    bool u64 = dt == DT_U64;
    switch (op) {
    case OP_NEG: *exact = !__builtin_sub_overflow((int64_t)0, x, r); return true;
    case OP_ABS:
        if (u64 || x >= 0)
            *r = x;
        else
            *exact = !__builtin_sub_overflow((int64_t)0, x, r);
        return true;
    case OP_NOT: *r = dt == DT_BOOL ? !x : ~x; return true;
    case OP_MUL: *exact = !__builtin_mul_overflow(x, y, r); return true;
    case OP_ADD: *exact = !__builtin_add_overflow(x, y, r); return true;
    case OP_SUB: *exact = !__builtin_sub_overflow(x, y, r); return true;
    case OP_IDIV:
        if (u64)
            *r = y ? (int64_t)((uint64_t)x / (uint64_t)y) : 0;
        else
            *r = idiv_floor(x, y), *exact = !(x == INT64_MIN && y == -1);
        return true;
    case OP_MOD: *r = !u64 ? imod_floor(x, y) : y ? (int64_t)((uint64_t)x % (uint64_t)y) : 0; return true;
    case OP_MAX: *r = (u64 ? (uint64_t)x > (uint64_t)y : x > y) ? x : y; return true;
    case OP_MIN: *r = (u64 ? (uint64_t)x < (uint64_t)y : x < y) ? x : y; return true;
    case OP_AND: *r = x & y; return true;
    case OP_OR: *r = x | y; return true;
    case OP_XOR: *r = x ^ y; return true;
    case OP_SHL:
        *r = shift_left(x, y, width_of(dt));
        *exact = y < 0 || y >= 64 || (*r >> y) == x;
        return true;
    case OP_SHR: *r = shift_right(dt, x, y, width_of(dt)); return true;
    case OP_THREEFRY: *r = (int64_t)threefry((uint64_t)x, (uint64_t)y); return true;
    case OP_FMA:
        *exact = !__builtin_mul_overflow(x, y, &t);
        *exact &= !__builtin_add_overflow(t, s[2].i, r);
        return true;
    default: return false;
    }
}

/* Truncates toward zero, saturates, NaN gives 0; bool is "not zero". */
static int64_t float_to_int(enum dtype to, double x) {
    if (to == DT_BOOL) return !(x == 0);
    if (isnan(x)) return 0;
    x = trunc(x);
    if (to == DT_U64) {
        if (x <= 0) return 0;
        return x >= 0x1p64 ? -1 : (int64_t)(uint64_t)x;
    }
    if (x <= (double)dt_min(to)) return dt_min(to);
    if (x >= (double)dt_max(to)) return dt_max(to);
    return (int64_t)x;
}

static double int_to_float(enum dtype from, enum dtype to, int64_t x) {
    if (to == DT_F32) return from == DT_U64 ? (double)(float)(uint64_t)x : (double)(float)x;
    if (to == DT_F64) return from == DT_U64 ? (double)(uint64_t)x : (double)x;
    /* Through double a large integer would be rounded twice: keep 53 bits, the last one sticky. */
    bool neg = from != DT_U64 && x < 0;
    uint64_t m = neg ? 0 - (uint64_t)x : (uint64_t)x;
    if (m >> 53) m = (m & ~(uint64_t)2047) | (m & 2047 ? 2048 : 0);
    return dt_round(to, neg ? -(double)m : (double)m);
}

static bool eval_cast(enum dtype to, enum dtype from, union val x, union val *out) {
    bool ff = dt_is_float(from), tf = dt_is_float(to);
    if (ff && tf)
        out->f = dt_round(to, x.f);
    else if (ff)
        out->i = float_to_int(to, x.f);
    else if (tf)
        out->f = int_to_float(from, to, x.i);
    else
        out->i = dt_wrap(to, x.i);
    return true;
}

/* Bits of a value as its type lays them out in memory, and back. */
static uint64_t f16_bits(double x) {
    uint64_t sign = signbit(x) ? 0x8000 : 0;
    if (isnan(x)) return 0x7e00;
    if (isinf(x)) return sign | 0x7c00;
    double a = fabs(x);
    if (a < 0x1p-14) return sign | (uint64_t)ldexp(a, 24);
    int e = ilogb(a);
    return sign | (uint64_t)(e + 15) << 10 | ((uint64_t)ldexp(a, 10 - e) & 0x3ff);
}

static double f16_value(uint64_t b) {
    int e = (int)(b >> 10 & 31);
    double m = (double)(b & 0x3ff), v;
    if (e == 31)
        v = m != 0 ? NAN : INFINITY;
    else
        v = e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);
    return b & 0x8000 ? -v : v;
}

/* Four or five bits of exponent; the largest exponent of e5m2 is infinity and NaN, of e4m3 only all ones is NaN. */
static double f8_value(enum dtype dt, unsigned b) {
    int fraction = dt == DT_F8E4M3 ? 3 : 2, bias = dt == DT_F8E4M3 ? 7 : 15;
    int e = (int)(b & 0x7f) >> fraction, m = (int)b & ((1 << fraction) - 1);
    double v = e ? ldexp((1 << fraction) + m, e - bias - fraction) : ldexp(m, 1 - bias - fraction);
    if (dt == DT_F8E4M3 && (b & 0x7f) == 0x7f) v = NAN;
    if (dt == DT_F8E5M2 && e == 31) v = m ? NAN : INFINITY;
    return b & 0x80 ? -v : v;
}

uint8_t dt_f8_bits(enum dtype dt, double x) {
    if (isnan(x)) return dt == DT_F8E4M3 ? 0x7f : 0x7e;
    unsigned b = 0;
    while (b < 0x7f && f8_value(dt, b) != fabs(x)) b++;
    return (uint8_t)(b | (signbit(x) ? 0x80 : 0));
}

static uint64_t to_bits(enum dtype dt, union val x) {
    float f = (float)x.f;
    uint32_t b;
    uint64_t q;
    switch (dt) {
    case DT_F8E4M3:
    case DT_F8E5M2: return dt_f8_bits(dt, x.f);
    case DT_F16: return f16_bits(x.f);
    case DT_BF16: memcpy(&b, &f, 4); return isnan(f) ? 0x7fc0 : b >> 16;
    case DT_F32: memcpy(&b, &f, 4); return b;
    case DT_F64: memcpy(&q, &x.f, 8); return q;
    default: return (uint64_t)x.i;
    }
}

static union val from_bits(enum dtype dt, uint64_t q) {
    union val v = {.i = 0};
    uint32_t b = dt == DT_BF16 ? (uint32_t)q << 16 : (uint32_t)q;
    float f;
    switch (dt) {
    case DT_F8E4M3:
    case DT_F8E5M2: v.f = f8_value(dt, q & 0xff); break;
    case DT_F16: v.f = f16_value(q & 0xffff); break;
    case DT_BF16:
    case DT_F32: memcpy(&f, &b, 4), v.f = (double)f; break;
    case DT_F64: memcpy(&v.f, &q, 8); break;
    default: v.i = dt_wrap(dt, (int64_t)q);
    }
    return v;
}

bool op_eval(enum op op, enum dtype dt, enum dtype sdt, const union val *s, union val *out) {
    if (op >= OP_COUNT || !op_is_pure(op) || (op_info[op].flags & OPF_W)) return false;
    switch (op) {
    case OP_CAST: return eval_cast(dt, sdt, s[0], out);
    case OP_BITCAST:
        if (dtype_info[dt].bytes != dtype_info[sdt].bytes) return false;
        *out = from_bits(dt, to_bits(sdt, s[0]));
        return true;
    case OP_WHERE:
    case OP_UNLIKELY: *out = s[0].i ? s[1] : s[2]; return true;
    default: break;
    }
    if (dt_is_float(dt)) {
        double r;
        if (!eval_f(op, dt, s, &r)) return false;
        out->f = dt_round(dt, r);
        return true;
    }
    if (op_info[op].dt == OPD_BOOL)
        return dt_is_float(sdt) ? cmp_f(op, s[0].f, s[1].f, &out->i)
                                : cmp_i(op, sdt == DT_U64, s[0].i, s[1].i, &out->i);
    bool exact = true;
    int64_t r;
    if (!eval_i(op, dt, s, &r, &exact)) return false;
    if (dt == DT_IDX && !exact) return false;
    out->i = dt_wrap(dt, r);
    return true;
}
