/* bounds.c: what is known of an integer node's value, computed once when it is interned.
 *
 * Two facts: an interval [lo, hi], and a modulus (value = rem mod mul). Both are sound for every
 * evaluation that op_eval defines. Types that wrap: when the mathematical interval leaves the type, all
 * values of the type are possible, and of the modulus only its power of two survives. IDX is exact:
 * its bounds saturate at INT64_MIN and INT64_MAX, which mean "not known", and its modulus survives.
 * u64 values travel as int64_t with the same bits; their bounds are either inside [0, INT64_MAX), where
 * both readings agree, or the full range, so comparing bounds of u64 nodes is right too.
 * Poison may be refined to anything, so WHERE with an INVALID branch has the bounds of the other one.
 * Cost: O(sources), no allocation. Tests: tests/unit/bounds.c */
#include "ir.h"

typedef __int128 wide;

/* Facts while they are computed. mul 0: exactly the number rem. */
struct mod {
    int64_t mul, rem;
};
struct fact {
    wide lo, hi;
    struct mod m;
};

static uint64_t gcd(uint64_t a, uint64_t b) {
    while (b) {
        uint64_t t = a % b;
        a = b, b = t;
    }
    return a;
}

static struct mod mod_of(const uop *n) {
    if (n->lo == n->hi) return (struct mod){0, n->lo};
    return (struct mod){n->mul, n->rem};
}

/* Brings rem into [0, mul). */
static struct mod mod_make(uint64_t mul, wide rem) {
    if (mul == 0) return (struct mod){0, (int64_t)rem};
    while (mul > INT64_MAX) mul = mul & 1 ? 1 : mul >> 1;
    if (mul == 1) return (struct mod){1, 0};
    if (rem == (int64_t)rem) return (struct mod){(int64_t)mul, imod_floor((int64_t)rem, (int64_t)mul)};
    wide r = rem % (wide)mul;
    return (struct mod){(int64_t)mul, (int64_t)(r < 0 ? r + (wide)mul : r)};
}

static struct mod mod_add(struct mod a, struct mod b) {
    if (a.mul == 1 || b.mul == 1) return (struct mod){1, 0};
    return mod_make(gcd((uint64_t)a.mul, (uint64_t)b.mul), (wide)a.rem + b.rem);
}

static struct mod mod_neg(struct mod a) { return mod_make((uint64_t)a.mul, -(wide)a.rem); }

/* The product of a multiple of mul and c, as a modulus that fits: halved while it is too big. */
static uint64_t mod_scale(uint64_t mul, uint64_t c) {
    unsigned __int128 m = (unsigned __int128)mul * c;
    while (m >> 63) {
        if (m & 1) return 1;
        m >>= 1;
    }
    return (uint64_t)m;
}

static uint64_t mag(int64_t x) { return x < 0 ? 0 - (uint64_t)x : (uint64_t)x; }

/* (a.mul i + a.rem)(b.mul j + b.rem): every term but the last is a multiple of the gcd. */
static struct mod mod_mul(struct mod a, struct mod b) {
    if (!a.mul && !b.mul) return (struct mod){1, 0}; /* two numbers: the interval says it */
    if (!a.mul) return mod_mul(b, a);
    if (!b.mul) {
        if (b.rem == 0) return (struct mod){0, 0};
        return mod_make(mod_scale((uint64_t)a.mul, mag(b.rem)), (wide)a.rem * b.rem);
    }
    uint64_t g =
        gcd(mod_scale((uint64_t)a.mul, (uint64_t)b.mul),
            gcd(mod_scale((uint64_t)a.mul, (uint64_t)b.rem), mod_scale((uint64_t)b.mul, (uint64_t)a.rem)));
    return mod_make(g, (wide)a.rem * b.rem);
}

/* A value that is one or the other. */
static struct mod mod_join(struct mod a, struct mod b) {
    wide d = (wide)a.rem - b.rem;
    if (d < 0) d = -d;
    uint64_t g = gcd((uint64_t)a.mul, (uint64_t)b.mul);
    return mod_make(gcd(g, (uint64_t)d), a.rem);
}

static struct fact fact_of(const uop *n) { return (struct fact){n->lo, n->hi, mod_of(n)}; }
static struct fact fact_range(wide lo, wide hi) { return (struct fact){lo, hi, {1, 0}}; }
static struct fact fact_all(enum dtype d) { return fact_range(dt_min(d), dt_max(d)); }
static struct fact fact_num(int64_t v) { return (struct fact){v, v, {0, v}}; }

static struct fact fact_join(struct fact a, struct fact b) {
    return (struct fact){RG_MIN(a.lo, b.lo), RG_MAX(a.hi, b.hi), mod_join(a.m, b.m)};
}

static struct fact fact_add(struct fact a, struct fact b) {
    return (struct fact){a.lo + b.lo, a.hi + b.hi, mod_add(a.m, b.m)};
}

static struct fact fact_sub(struct fact a, struct fact b) {
    return (struct fact){a.lo - b.hi, a.hi - b.lo, mod_add(a.m, mod_neg(b.m))};
}

static struct fact fact_mul(struct fact a, struct fact b) {
    wide p = a.lo * b.lo, q = a.lo * b.hi, r = a.hi * b.lo, s = a.hi * b.hi;
    wide lo = RG_MIN(RG_MIN(p, q), RG_MIN(r, s)), hi = RG_MAX(RG_MAX(p, q), RG_MAX(r, s));
    return (struct fact){lo, hi, mod_mul(a.m, b.m)};
}

static wide wide_div(wide a, wide b) {
    if (a == (int64_t)a && b == (int64_t)b && b != -1) return idiv_floor((int64_t)a, (int64_t)b);
    wide q = a / b;
    return q - (a % b != 0 && (a < 0) != (b < 0));
}

/* Floor division is monotone in x for a fixed sign of y, and in y for a fixed sign of x, so over a box
 * that does not contain y = 0 the extremes are at corners. */
static void div_box(struct fact *r, struct fact x, wide ylo, wide yhi) {
    if (ylo > yhi) return;
    wide c[4] = {wide_div(x.lo, ylo), wide_div(x.lo, yhi), wide_div(x.hi, ylo), wide_div(x.hi, yhi)};
    for (int i = 0; i < 4; i++) {
        if (c[i] < r->lo) r->lo = c[i];
        if (c[i] > r->hi) r->hi = c[i];
    }
}

static struct fact fact_div(struct fact x, struct fact y) {
    wide big = (wide)1 << 100;
    struct fact r = {big, -big, {1, 0}};
    div_box(&r, x, y.lo, RG_MIN(y.hi, -1));
    div_box(&r, x, RG_MAX(y.lo, 1), y.hi);
    if (y.lo <= 0 && y.hi >= 0) r.lo = RG_MIN(r.lo, 0), r.hi = RG_MAX(r.hi, 0);
    if (y.lo == y.hi && y.lo != 0 && x.m.mul > 1) {
        /* x = mul i + rem, y divides mul: x / y = (mul / y) i + floor(rem / y) */
        int64_t c = (int64_t)y.lo;
        if (c != INT64_MIN && x.m.mul % c == 0) r.m = mod_make(mag(x.m.mul / c), wide_div(x.m.rem, c));
    }
    return r;
}

static struct fact fact_mod(struct fact x, struct fact y) {
    if (y.lo == y.hi && y.lo > 0) {
        wide c = y.lo, q = wide_div(x.lo, c);
        struct mod m = {1, 0};
        if (x.m.mul != 1) m = mod_make(gcd((uint64_t)x.m.mul, (uint64_t)c), x.m.rem);
        if (q == wide_div(x.hi, c)) return (struct fact){x.lo - q * c, x.hi - q * c, m};
        return (struct fact){0, c - 1, m};
    }
    struct fact r = fact_range(y.lo < 0 ? y.lo + 1 : 0, y.hi > 0 ? y.hi - 1 : 0);
    if (x.lo >= 0 && y.lo >= 0 && x.hi < r.hi) r.hi = x.hi;
    return r;
}

static struct fact fact_minmax(struct fact a, struct fact b, bool max) {
    if (max ? a.lo >= b.hi : a.hi <= b.lo) return a;
    if (max ? b.lo >= a.hi : b.hi <= a.lo) return b;
    struct fact r = {0, 0, mod_join(a.m, b.m)};
    r.lo = max ? RG_MAX(a.lo, b.lo) : RG_MIN(a.lo, b.lo);
    r.hi = max ? RG_MAX(a.hi, b.hi) : RG_MIN(a.hi, b.hi);
    return r;
}

/* Least 2^k - 1 that is not below x >= 0. */
static wide all_ones(wide x) {
    wide r = 0;
    while (r < x) r = r * 2 + 1;
    return r;
}

static struct fact fact_bits(enum op op, enum dtype dt, struct fact a, struct fact b) {
    if (op == OP_AND) {
        struct fact r = fact_all(dt);
        if (dt == DT_U64 && (a.lo < 0 || b.lo < 0)) {
            /* the full range is unsigned too: the other operand still limits from above */
            if (a.lo >= 0) return fact_range(0, a.hi);
            if (b.lo >= 0) return fact_range(0, b.hi);
            return r;
        }
        if (a.lo >= 0 || b.lo >= 0) {
            wide h = a.lo < 0 ? b.hi : b.lo < 0 ? a.hi : RG_MIN(a.hi, b.hi);
            r = fact_range(0, h);
        }
        if (b.m.mul == 0 && b.m.rem != 0) { /* low zero bits of the mask */
            int tz = __builtin_ctzll((uint64_t)b.m.rem);
            r.m = mod_make((uint64_t)1 << RG_MIN(tz, 31), 0);
        }
        return r;
    }
    if (a.lo < 0 || b.lo < 0) return fact_all(dt);
    wide top = all_ones(RG_MAX(a.hi, b.hi));
    return fact_range(op == OP_OR ? RG_MAX(a.lo, b.lo) : 0, top);
}

static struct fact fact_shift(enum op op, enum dtype dt, struct fact x, struct fact y) {
    int width = dt == DT_BOOL ? 1 : dtype_info[dt].bytes * 8;
    if (dt == DT_U64 && x.lo < 0) {
        if (op == OP_SHR && y.lo == y.hi && y.lo > 0 && y.lo < 64)
            return fact_range(0, ((wide)1 << (64 - (int)y.lo)) - 1);
        return fact_all(dt);
    }
    bool past = y.lo < 0 || y.hi >= width;
    wide ylo = RG_MIN(RG_MAX(y.lo, 0), width), yhi = RG_MIN(RG_MAX(y.hi, 0), width);
    if (op == OP_SHL) {
        if (y.lo == y.hi) {
            if (past) return fact_num(0);
            wide p = (wide)1 << (int)y.lo;
            struct mod m = y.lo < 62 ? (struct mod){0, (int64_t)p} : (struct mod){1, 0};
            if (y.lo >= 62) return (struct fact){x.lo * p, x.hi * p, m};
            return fact_mul(x, (struct fact){p, p, m});
        }
        if (x.lo < 0 || yhi > 62) return fact_all(dt);
        struct fact r = fact_range(past ? 0 : x.lo << (int)ylo, x.hi << (int)yhi);
        return r;
    }
    struct fact r = {x.lo >> (int)(x.lo < 0 ? ylo : yhi), x.hi >> (int)(x.hi < 0 ? yhi : ylo), {1, 0}};
    if (past) r.lo = RG_MIN(r.lo, x.lo < 0 ? -1 : 0), r.hi = RG_MAX(r.hi, x.hi < 0 ? -1 : 0);
    return r;
}

/* 0, 1 or 2 for "not known". */
static int decide(const uop *n) {
    const uop *a = n->src[0], *b = n->src[1];
    if (dt_is_float((enum dtype)a->dt)) return 2;
    if (a == b) return n->op == OP_LE || n->op == OP_EQ;
    switch (n->op) {
    case OP_LT: return a->hi < b->lo ? 1 : a->lo >= b->hi ? 0 : 2;
    case OP_LE: return a->hi <= b->lo ? 1 : a->lo > b->hi ? 0 : 2;
    default: break;
    }
    int eq = 2;
    if (a->hi < b->lo || b->hi < a->lo)
        eq = 0;
    else if (a->lo == a->hi && b->lo == b->hi)
        eq = a->lo == b->lo;
    else {
        struct mod x = mod_of(a), y = mod_of(b);
        uint64_t g = gcd((uint64_t)x.mul, (uint64_t)y.mul);
        if (g > 1 && ((wide)x.rem - y.rem) % (wide)g != 0) eq = 0;
    }
    return eq == 2 ? 2 : n->op == OP_EQ ? eq : !eq;
}

static struct fact fact_cmp(const uop *n) {
    int v = decide(n);
    return v == 2 ? fact_range(0, 1) : fact_num(v);
}

static struct fact fact_cast(const uop *n) {
    const uop *s = n->src[0];
    enum dtype from = (enum dtype)s->dt, to = (enum dtype)n->dt;
    if (n->op == OP_BITCAST || dt_is_float(from)) return fact_all(to);
    if (to == DT_BOOL) {
        if (s->lo > 0 || s->hi < 0) return fact_num(1);
        return s->lo == s->hi ? fact_num(0) : fact_range(0, 1);
    }
    return fact_of(s);
}

/* How many elements are combined: product of the sizes of src1.. (a SCAN: one to all of them). */
static struct fact fact_count(const uop *n) {
    struct fact c = fact_num(1);
    for (uint32_t i = 1; i < n->nsrc; i++) {
        const uop *r = n->src[i];
        wide hi = r->op == OP_RANGE ? RG_MAX(r->src[0]->hi, 0) : INT64_MAX;
        wide lo = r->op == OP_RANGE ? RG_MAX(r->src[0]->lo, 0) : 0;
        c.lo *= lo, c.hi *= hi;
        if (c.hi > INT64_MAX) return fact_range(0, INT64_MAX);
    }
    if (n->op == OP_SCAN) c.lo = 1, c.hi = RG_MAX(c.hi, 1);
    return fact_range(c.lo, c.hi);
}

static struct fact fact_combine(enum op op, enum dtype dt, struct fact x, struct fact count) {
    if (dt == DT_BOOL) return fact_range(0, 1);
    if (dt == DT_U64 && x.lo < 0) return fact_all(dt);
    switch (op) {
    case OP_ADD: {
        struct fact r = fact_mul(count, x);
        r.m = (struct mod){1, 0};
        if (x.m.mul != 0 && x.m.rem == 0) r.m = x.m; /* a sum of multiples */
        if (x.m.mul == 0 && x.m.rem != 0) r.m = mod_make(mag(x.m.rem), 0);
        return r;
    }
    case OP_MAX:
    case OP_MIN:
        if (count.lo < 1) return fact_all(dt);
        return x;
    default: return fact_all(dt);
    }
}

static struct fact fact_build(const uop *n) {
    struct fact r = fact_of(n->src[0]);
    for (uint32_t i = 1; i < n->nsrc; i++) r = fact_join(r, fact_of(n->src[i]));
    return r;
}

static struct fact fact_where(const uop *n) {
    const uop *g = n->src[0], *a = n->src[1], *b = n->src[2];
    if (b->op == OP_INVALID || g->lo > 0) return fact_of(a);
    if (a->op == OP_INVALID || g->hi < 1) return fact_of(b);
    return fact_join(fact_of(a), fact_of(b));
}

static struct fact fact_var(const uop *n) {
    if (n->src[0]->lo > n->src[1]->hi) return fact_all((enum dtype)n->dt);
    return fact_range(n->src[0]->lo, n->src[1]->hi);
}

static struct fact fact_not(enum dtype dt, struct fact a) {
    if (dt == DT_BOOL) return fact_range(1 - a.hi, 1 - a.lo);
    if (dtype_info[dt].kind == DK_UINT)
        return dt == DT_U64 ? fact_all(dt) : fact_range(dt_max(dt) - a.hi, dt_max(dt) - a.lo);
    return fact_range(-a.hi - 1, -a.lo - 1);
}

static struct fact fact_abs(struct fact a) {
    if (a.lo >= 0) return a;
    struct fact n = {-a.hi, -a.lo, mod_neg(a.m)};
    if (a.hi <= 0) return n;
    return (struct fact){0, RG_MAX(a.hi, n.hi), mod_join(a.m, n.m)};
}

/* Arithmetic of u64 below 2^63 is that of int64_t; above, only these results are known. */
static bool u64_unknown(const uop *n) {
    if (n->dt != DT_U64) return false;
    for (uint32_t i = 0; i < n->nsrc; i++)
        if (n->src[i]->dt == DT_U64 && n->src[i]->lo < 0) return true;
    return false;
}

static struct fact fact_u64(const uop *n) {
    struct fact y = n->nsrc > 1 ? fact_of(n->src[1]) : fact_all(DT_U64), a = fact_of(n->src[0]);
    switch (n->op) {
    case OP_MOD:
        if (y.lo > 0) return fact_range(0, y.hi - 1);
        break;
    case OP_IDIV:
        if (y.lo >= 2) return fact_range(0, INT64_MAX);
        break;
    case OP_MIN:
        if (a.lo >= 0) return fact_range(0, a.hi);
        if (y.lo >= 0) return fact_range(0, y.hi);
        break;
    case OP_AND:
    case OP_OR:
    case OP_XOR: return fact_bits((enum op)n->op, DT_U64, a, y);
    case OP_SHL:
    case OP_SHR: return fact_shift((enum op)n->op, DT_U64, a, y);
    case OP_WHERE:
    case OP_UNLIKELY: return fact_where(n);
    case OP_CAST: return fact_of(n->src[0]);
    default: break;
    }
    return fact_all(DT_U64);
}

static struct fact fact_extract(const uop *n) {
    const uop *vec = n->src[0];
    bool known = vec->op == OP_BUILD && (uint64_t)n->arg.i < vec->nsrc;
    return fact_of(known ? vec->src[n->arg.i] : vec);
}

static struct fact fact_node(const uop *n) {
    enum op op = (enum op)n->op;
    enum dtype dt = (enum dtype)n->dt;
#define S(i) fact_of(n->src[i])
    if (u64_unknown(n) && op_is_pure(op)) return fact_u64(n);
    switch (op) {
    case OP_CONST: return fact_num(n->arg.i);
    case OP_VAR: return fact_var(n);
    case OP_RANGE: return fact_range(0, RG_MAX((wide)n->src[0]->hi - 1, 0));
    case OP_LANES: return fact_range(0, n->lanes - 1);
    case OP_REDUCE:
    case OP_SCAN: return fact_combine((enum op)n->arg.i, dt, S(0), fact_count(n));
    case OP_VEC_REDUCE: return fact_combine((enum op)n->arg.i, dt, S(0), fact_num(n->src[0]->lanes));
    case OP_CAST:
    case OP_BITCAST: return fact_cast(n);
    case OP_NEG: return fact_sub(fact_num(0), S(0));
    case OP_ABS: return fact_abs(S(0));
    case OP_NOT: return fact_not(dt, S(0));
    case OP_MUL: return fact_mul(S(0), S(1));
    case OP_IDIV: return fact_div(S(0), S(1));
    case OP_MOD: return fact_mod(S(0), S(1));
    case OP_ADD: return fact_add(S(0), S(1));
    case OP_SUB: return n->src[0] == n->src[1] ? fact_num(0) : fact_sub(S(0), S(1));
    case OP_MAX: return fact_minmax(S(0), S(1), true);
    case OP_MIN: return fact_minmax(S(0), S(1), false);
    case OP_AND:
    case OP_OR:
    case OP_XOR: return fact_bits(op, dt, S(0), S(1));
    case OP_SHL:
    case OP_SHR: return fact_shift(op, dt, S(0), S(1));
    case OP_LT:
    case OP_LE:
    case OP_EQ:
    case OP_NE: return fact_cmp(n);
    case OP_WHERE:
    case OP_UNLIKELY: return fact_where(n);
    case OP_FMA: return fact_add(fact_mul(S(0), S(1)), S(2));
    case OP_BUILD: return fact_build(n);
    case OP_EXTRACT: return fact_extract(n);
    default: return fact_all(dt);
    }
#undef S
}

static void unknown(uop *n) {
    n->lo = INT64_MIN, n->hi = INT64_MAX;
    n->mul = 1, n->rem = 0;
}

/* A modulus that fits 32 bits and survives wrapping at 2^64 if the type wraps. */
static void set_mod(uop *n, struct mod m, bool wrapped) {
    uint64_t mul = (uint64_t)m.mul;
    if (wrapped) mul &= 0 - mul; /* the power of two in it; also divides 2^width */
    while (mul > UINT32_MAX) mul = mul & 1 ? 1 : mul >> 1;
    if (wrapped && n->dt != DT_IDX) {
        int width = n->dt == DT_BOOL ? 1 : dtype_info[n->dt].bytes * 8;
        while (mul > 1 && width < 32 && mul > (uint64_t)1 << width) mul >>= 1;
    }
    n->mul = (uint32_t)mul;
    n->rem = mul > 1 ? (uint32_t)imod_floor(m.rem, (int64_t)mul) : 0;
}

/* A number is a multiple of itself. */
static void set_mod_exact(uop *n) {
    uint64_t m = mag(n->lo);
    if (m == 0) m = (uint64_t)1 << 31;
    while (m > UINT32_MAX) m = m & 1 ? 1 : m >> 1;
    n->mul = (uint32_t)m, n->rem = 0;
}

void bounds_fill(uop *n) {
    enum dtype dt = (enum dtype)n->dt;
    if (!dt_is_int(dt) && dt != DT_BOOL) {
        unknown(n);
        return;
    }
    if (dt == DT_BOOL && (op_info[n->op].flags & OPF_P) && op_info[n->op].dt != OPD_BOOL &&
        n->op != OP_CAST && n->op != OP_WHERE && n->op != OP_UNLIKELY && n->op != OP_NOT && n->op != OP_AND) {
        n->lo = 0, n->hi = 1, n->mul = 1, n->rem = 0; /* or, and, xor .. of bools: rules fold them */
        return;
    }
    struct fact f = fact_node(n);
    wide min = dt == DT_U64 ? 0 : dt_min(dt), max = (wide)dt_max(dt) - (dt == DT_U64);
    bool in = f.lo >= min && f.hi <= max;
    if (in || dt == DT_IDX) {
        n->lo = f.lo < INT64_MIN ? INT64_MIN : f.lo > INT64_MAX ? INT64_MAX : (int64_t)f.lo;
        n->hi = f.hi > INT64_MAX ? INT64_MAX : f.hi < INT64_MIN ? INT64_MIN : (int64_t)f.hi;
    } else {
        n->lo = dt_min(dt), n->hi = dt_max(dt);
    }
    /* Outside int64_t altogether: no evaluation is defined; keep the invariant lo <= hi. */
    if (n->lo == n->hi && !(f.lo == f.hi && f.lo == n->lo)) n->lo = INT64_MIN, n->hi = INT64_MAX;
    if (n->lo == n->hi)
        set_mod_exact(n);
    else if (f.m.mul == 0)
        set_mod(n, mod_make((uint64_t)1 << 31, f.m.rem), !in);
    else
        set_mod(n, f.m, !in);
}
