/* bound.c: elements with error bounds: how far a correct optimised program may be from the oracle.
 *
 * Both programs round every value to its dtype, so an op that rounds correctly gives the same bits for the same
 * sources: error begins where an optimised program has a choice. These are vector functions (2 ulp, POW 4; fp16 and bf16 go
 * through float32) and reductions (any order, products fused into sums). From there it is propagated: the op is
 * evaluated at the corners of the box that its sources may be in, which for ops that are monotone in each source is
 * the whole truth, and one ulp is added, because two different numbers round in two different ways.
 * Where the box holds a step (a comparison, a floor, a pole, the end of the type's range) the result is unsure. So is
 * what depends on the sign of a zero, which the order of a sum decides.
 * Infinities and NaN carry no error: they are certain or unsure.
 * Tests: tests/unit/ref_graph.c */
#include "ref/bound.h"

#include <float.h>
#include <math.h>

/* What is needed of a float type: digits, the exponent of the last bit of subnormals, the greatest number. */
struct float_type {
    int digits, least;
    double max;
};

static struct float_type float_type(enum dtype dt) {
    switch (dt) {
    case DT_F8E4M3: return (struct float_type){4, -9, 448};
    case DT_F8E5M2: return (struct float_type){3, -16, 57344};
    case DT_F16: return (struct float_type){11, -24, 65504};
    case DT_BF16: return (struct float_type){8, -133, 0x1.FEp127};
    case DT_F32: return (struct float_type){24, -149, FLT_MAX};
    default: return (struct float_type){53, -1074, DBL_MAX};
    }
}

/* Distance from |x| to the next number of the type. */
static double ulp(enum dtype dt, double x) {
    struct float_type t = float_type(dt);
    if (!isfinite(x)) return INFINITY;
    int e = t.least;
    if (x != 0) {
        frexp(x, &e);
        e = RG_MAX(e - t.digits, t.least);
    }
    return ldexp(1, e);
}

/* ---- elementwise -------------------------------------------------------------------------------------- */

static bool is_step(enum op op) {
    return op == OP_FLOOR || op == OP_CEIL || op == OP_TRUNC || op == OP_ROUND;
}

static bool is_compare(enum op op) { return op == OP_LT || op == OP_LE || op == OP_EQ || op == OP_NE; }

/* How many ulp two correct programs may differ by on the same sources; 0: none, the op is exact or rounds correctly. */
static double own_ulp(enum op op, enum dtype dt) {
    double ulp = op_info[op].ulp;
    return ulp > 0 && (dt == DT_F16 || dt == DT_BF16) ? 1.01 : ulp;
}

/* The result is one of the sources up to its sign, or every source value is a value of the result's type. */
static bool never_rounds(enum op op, enum dtype dt, enum dtype sdt) {
    return op == OP_NEG || op == OP_ABS || op == OP_MAX || op == OP_MIN ||
           (op == OP_CAST && dtype_info[dt].bytes > dtype_info[sdt].bytes);
}

/* Is there a pole, a jump or a zero of unknown sign that matters in the box of the sources? */
static bool has_pole(enum op op, const struct cell *s) {
    double x = s[0].v.f, b = s[0].err, y = s[1].v.f, by = s[1].err;
    switch (op) {
    case OP_RECIP:
    case OP_RSQRT: return fabs(x) <= b;
    case OP_FDIV: return fabs(y) <= by;
    case OP_TAN: return b > 0 && 2 * b >= fabs(cos(x));
    case OP_POW:
        if (x == 0 && b == 0 && by == 0) return y < 0;
        return (b > 0 || by > 0) && (fabs(x) <= b || (x < 0 && by > 0));
    default: return false;
    }
}

/* Greatest deviation from `mid` over the corners of the box; NaN where the corners are not all of mid's kind. */
static double spread(enum op op, const struct cell *s, uint32_t n, double mid) {
    double most = 0;
    if (op == OP_SIN || op == OP_COS) return s[0].err;
    if (op == OP_TAN) return 4 * s[0].err / (cos(s[0].v.f) * cos(s[0].v.f));
    for (uint32_t corner = 0; corner < 1u << n; corner++) {
        union ref_val at[3] = {{.f = 0}}, r;
        for (uint32_t i = 0; i < n; i++) at[i].f = s[i].v.f + (corner >> i & 1 ? s[i].err : -s[i].err);
        ref_eval(op, DT_F64, DT_F64, at, &r);
        if (isfinite(mid) && isfinite(r.f))
            most = RG_MAX(most, fabs(r.f - mid));
        else if (isnan(mid) ? !isnan(r.f) : r.f != mid)
            return NAN;
    }
    return most;
}

static void spread_float(enum op op, enum dtype dt, enum dtype sdt, const struct cell *s, struct cell *out) {
    uint32_t n = op == OP_CAST ? 1 : op_info[op].min_src;
    union ref_val at[3] = {s[0].v, s[1].v, s[2].v}, exact;
    double r = out->v.f, own = own_ulp(op, dt), in = 0;
    for (uint32_t i = 0; i < n; i++) {
        in += s[i].err;
        if (isnan(s[i].v.f)) return;
    }
    out->unsure = has_pole(op, s);
    if (out->unsure || (in == 0 && own == 0)) return;
    ref_eval(op, DT_F64, DT_F64, at, &exact);
    double off = in == 0 ? 0 : spread(op, s, n, exact.f);
    if (isnan(off) || (is_step(op) && off != 0)) {
        out->unsure = true;
        return;
    }
    if (is_step(op) || !isfinite(exact.f)) return;
    double max = float_type(dt).max, reach = fabs(exact.f) + off;
    double ulps = own > 0 ? own : never_rounds(op, dt, sdt) ? 0 : 1;
    if (dt == DT_F64 && ulps > 0) ulps += 4; /* the corners were rounded too */
    out->err = off + ulps * ulp(dt, RG_MIN(reach, max));
    if (isfinite(r))
        out->unsure = fabs(r) + out->err > max;
    else
        out->unsure = fabs(exact.f) - out->err <= max;
    if (!isfinite(r) || out->unsure) out->err = 0;
}

/* Float to integer or bool. */
static bool cast_unsure(enum dtype dt, struct cell s) {
    union ref_val lo, hi;
    if (s.err == 0) return false;
    if (dt == DT_BOOL) return fabs(s.v.f) <= s.err;
    ref_eval(OP_CAST, dt, DT_F64, (union ref_val[3]){{.f = s.v.f - s.err}}, &lo);
    ref_eval(OP_CAST, dt, DT_F64, (union ref_val[3]){{.f = s.v.f + s.err}}, &hi);
    return lo.i != hi.i;
}

static void bound_of(enum op op, enum dtype dt, enum dtype sdt, const struct cell *s, struct cell *out) {
    if (op == OP_WHERE) {
        const struct cell *c = &s[s[0].v.i ? 1 : 2];
        out->unsure = s[0].unsure || c->unsure;
        out->err = out->unsure ? 0 : c->err;
        return;
    }
    out->unsure = s[0].unsure || s[1].unsure || s[2].unsure;
    if (out->unsure || !dt_is_float(sdt)) return;
    if (is_compare(op))
        out->unsure = s[0].err + s[1].err > 0 && fabs(s[0].v.f - s[1].v.f) <= s[0].err + s[1].err;
    else if (op == OP_BITCAST)
        out->unsure = s[0].err > 0 || s[0].v.f == 0;
    else if (!dt_is_float(dt))
        out->unsure = op == OP_CAST && cast_unsure(dt, s[0]);
    else
        spread_float(op, dt, sdt, s, out);
}

bool cell_eval(enum op op, enum dtype dt, enum dtype sdt, const struct cell src[3], bool bounds,
               struct cell *out) {
    *out = (struct cell){.v.i = 0};
    if (!ref_eval(op, dt, sdt, (union ref_val[3]){src[0].v, src[1].v, src[2].v}, &out->v)) return false;
    if (bounds) bound_of(op, dt, sdt, src, out);
    return true;
}

/* ---- reductions ----------------------------------------------------------------------------------------- */

void fold_start(struct fold *f, enum op op, enum dtype dt, enum dtype acc, bool bounds) {
    *f = (struct fold){.op = op, .dt = dt, .acc = acc, .bounds = bounds, .whole = true};
    if (op == OP_MUL) f->mag = 1;
    if (dt_is_float(dt))
        f->v.f = op == OP_MUL;
    else
        f->v.i = op == OP_MUL;
}

static double power(double x, int64_t n) {
    double r = 1;
    for (; n; n >>= 1, x *= x)
        if (n & 1) r *= x;
    return r;
}

static uint64_t power_int(uint64_t x, int64_t n) {
    uint64_t r = 1;
    for (; n; n >>= 1, x *= x)
        if (n & 1) r *= x;
    return r;
}

static void fold_float(struct fold *f, struct cell c, int64_t times) {
    double x = c.v.f;
    bool finite = isfinite(x);
    f->whole &= finite && c.err == 0 && x == rint(x);
    if (f->op == OP_ADD) {
        f->v.f += times == 1 ? x : x * (double)times;
        f->err += c.err * (double)times;
        if (finite) f->mag += fabs(x) * (double)times;
        return;
    }
    double p = times == 1 ? x : power(x, times);
    if (finite) {
        double u = ldexp(1, -float_type(f->acc).digits);
        double below = times == 1 ? 1 : fabs(power(x, times - 1)), t = (double)times;
        f->err = f->err * fabs(p) + fabs(f->v.f) * (t * below * c.err + t * u * fabs(p));
        f->mag *= fabs(x) > 1 ? fabs(p) : 1;
    }
    f->v.f *= p;
}

void fold_add(struct fold *f, struct cell c, int64_t times) {
    bool first = f->n == 0;
    f->n += (double)times;
    f->unsure |= c.unsure;
    if (f->op == OP_MAX || f->op == OP_MIN) {
        if (first)
            f->v = c.v;
        else
            ref_eval(f->op, f->dt, f->dt, (union ref_val[3]){f->v, c.v}, &f->v);
        f->err = RG_MAX(f->err, c.err);
    } else if (dt_is_float(f->dt)) {
        fold_float(f, c, times);
    } else {
        uint64_t a = (uint64_t)f->v.i, x = (uint64_t)c.v.i;
        bool is_bool = f->dt == DT_BOOL; /* n times true is true, whatever n is modulo 2^64 */
        a = f->op == OP_ADD ? a + (is_bool ? x : x * (uint64_t)times) : a * power_int(x, times);
        f->v.i = ref_wrap(f->dt, (int64_t)a);
    }
}

void fold_decay(struct fold *f, struct cell by) {
    f->unsure |= by.unsure;
    if (!dt_is_float(f->dt)) {
        f->v.i = ref_wrap(f->dt, (int64_t)((uint64_t)f->v.i * (uint64_t)by.v.i));
        return;
    }
    f->err = f->err * fabs(by.v.f) + (fabs(f->v.f) + f->err) * by.err;
    f->mag *= fabs(by.v.f);
    f->v.f *= by.v.f;
    f->whole &= by.err == 0 && by.v.f == rint(by.v.f);
}

/* Roundings that one of n terms passes through. Long float32 sums run in blocks (docs/semantics.md): a term is added in a chain of
 * at most 64, and so is the sum of its block; on average it is in the middle of one. */
static double roundings(const struct fold *f) {
    return f->op == OP_ADD && f->acc == DT_F32 && f->n > 64 ? RG_MIN(f->n, 64 + 8 * log2(f->n)) : f->n;
}

/* n additions or multiplications in any order, a product fused into each, one rounding of the result. */
static void fold_bound(const struct fold *f, struct cell *c) {
    struct float_type acc = float_type(f->acc);
    double v = f->v.f, u = ldexp(1, -acc.digits), n = f->n;
    bool exact = f->whole && f->mag <= ldexp(1, acc.digits);
    if (!isfinite(v) && f->mag + f->err <= acc.max) return; /* certain: it came in */
    if (exact) return;
    c->err = f->err;
    if (n > 1) {
        if (f->op == OP_ADD)
            c->err += roundings(f) * u * (f->mag + f->err);
        else
            c->err += n * ldexp(1, acc.least) * f->mag;
        if (f->dt == DT_F64) c->err *= 2; /* the oracle's own */
        c->err += ulp(f->dt, RG_MIN(fabs(v) + c->err, float_type(f->dt).max));
    }
    if (!(f->mag + c->err <= acc.max) || !(fabs(v) + c->err <= float_type(f->dt).max)) {
        c->unsure = n > 1 || c->err > 0;
        c->err = 0;
    }
}

struct cell fold_end(const struct fold *f) {
    struct cell c = {.v = f->v, .unsure = f->unsure};
    if (!dt_is_float(f->dt)) return c;
    bool choice = f->op == OP_MAX || f->op == OP_MIN;
    if (!choice) c.v.f = ref_round(f->dt, ref_round(f->acc, f->v.f));
    if (!f->bounds || f->unsure || f->n == 0 || isnan(f->v.f)) return c;
    if (choice)
        c.err = isfinite(f->v.f) ? f->err : 0;
    else
        fold_bound(f, &c);
    return c;
}
