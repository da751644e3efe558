/* c_op.c: the C expression of one pure op on one value, scalar or vector.
 *
 * ops.def is followed to the letter where C is looser: integers wrap (unsigned arithmetic, unless bounds
 * prove that nothing overflows: plain signed arithmetic keeps the compiler's loop optimisations), IDIV and
 * MOD are floor and give 0 for a zero divisor (shifts and masks for powers of two, unsigned division where
 * nothing is negative), shifts past the width are defined, NaN passes through MAX and MIN.
 * Bool vectors are masks of -1 and 0 whose element width follows what was compared, so that a WHERE on
 * the compared type needs no conversion; they change width where they meet another one.
 * Lane counts that are no power of two use the next larger type; the lanes beyond hold rubbish that is
 * never stored, reduced or divided by. Half types compute in float, which rounds the same.
 * Tests: tests/unit/render.c */
#include "render/internal.h"

unsigned storage_lanes(unsigned lanes) {
    unsigned n = 1;
    while (n < lanes) n *= 2;
    return n;
}

void close_lanes(struct str *s, unsigned lanes) {
    for (unsigned i = lanes; i < storage_lanes(lanes); i++) str_add(s, ", 0");
    str_add(s, "}");
}

const char *elem_type(enum dtype d) { return d == DT_BOOL ? "u8" : d == DT_IDX ? "i64" : dtype_info[d].name; }

static const char *int_name(unsigned bytes, bool is_signed) {
    static const char *const name[2][4] = {{"u8", "u16", "u32", "u64"}, {"i8", "i16", "i32", "i64"}};
    return name[is_signed][bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : 3];
}

const char *type_of(struct render *r, enum dtype d, unsigned lanes, unsigned mask) {
    if (lanes == 1) return d == DT_BOOL ? "bool8" : elem_type(d);
    const char *e = d == DT_BOOL ? int_name(mask, true) : elem_type(d);
    return fmt(r, "%sx%u", e, storage_lanes(lanes));
}

/* The integer type as wide as d, signed or not, with as many lanes. */
static const char *int_type(struct render *r, enum dtype d, unsigned lanes, bool is_signed) {
    const char *e = int_name(dtype_info[d].bytes, is_signed);
    return lanes == 1 ? e : fmt(r, "%sx%u", e, storage_lanes(lanes));
}

static bool is_signed(enum dtype d) { return dtype_info[d].kind == DK_INT; }

static struct c_text made(const char *s, enum dtype d, unsigned lanes, unsigned mask) {
    return (struct c_text){.s = s, .dt = (uint8_t)d, .lanes = (uint8_t)lanes, .mask = (uint8_t)mask};
}

/* ---- leaves --------------------------------------------------------------------------------------- */

static const char *float_literal(struct render *r, enum dtype d, double f) {
    const char *suffix = d == DT_F64 ? "" : "f";
    if (f != f) return fmt(r, "__builtin_nan%s(\"\")", suffix);
    if (f - f != 0) return fmt(r, f < 0 ? "(-__builtin_inf%s())" : "__builtin_inf%s()", suffix);
    const char *s = fmt(r, "%a%s", f, suffix);
    return *s == '-' ? fmt(r, "(%s)", s) : s;
}

/* Bits of a value that is representable in the half type. */
static unsigned half_bits(enum dtype d, double f) {
    union {
        float f;
        uint32_t u;
    } w = {.f = (float)f};
    unsigned sign = w.u >> 16 & 0x8000;
    if (f != f) return d == DT_BF16 ? 0x7fc0 : 0x7e00;
    if (d == DT_BF16) return w.u >> 16;
    w.u &= 0x7fffffff;
    if (w.u >= 0x7f800000) return sign | 0x7c00;
    if (w.f < 0x1p-14f) return sign | (unsigned)(w.f * 0x1p24f);
    return sign | (w.u - 0x38000000) >> 13;
}

static const char *int_literal(struct render *r, enum dtype d, int64_t v) {
    switch (d) {
    case DT_U64: return fmt(r, "%lluul", (unsigned long long)v);
    case DT_U32: return fmt(r, "%uu", (unsigned)v);
    case DT_I64:
    case DT_IDX:
        if (v == INT64_MIN) return "(-9223372036854775807l - 1)";
        return fmt(r, v < 0 ? "(%lldl)" : "%lldl", (long long)v);
    default:
        if (v == INT32_MIN) return "(-2147483647 - 1)";
        return fmt(r, v < 0 ? "(%lld)" : "%lld", (long long)v);
    }
}

struct c_text constant(struct render *r, enum dtype d, union arg v) {
    const char *s;
    if (d == DT_F16)
        s = fmt(r, "F16(%s, 0x%x)", float_literal(r, DT_F32, v.f), half_bits(d, v.f));
    else if (d == DT_BF16)
        s = fmt(r, "0x%x", half_bits(d, v.f));
    else if (is_half(d))
        s = fmt(r, "0x%x", dt_f8_bits(d, v.f));
    else if (dt_is_float(d))
        s = float_literal(r, d, v.f);
    else if (d == DT_BOOL)
        s = v.i ? "1" : "0";
    else
        s = int_literal(r, d, v.i);
    struct c_text t = made(s, d, 1, 0);
    t.atom = true;
    return t;
}

/* A number of the type, all lanes alike. */
static const char *number(struct render *r, enum dtype d, unsigned lanes, int64_t v) {
    union arg a = {.i = v};
    if (dt_is_float(d)) a.f = (double)v;
    return splat(r, constant(r, d, a), lanes, 0).s;
}

/* An integer of the unsigned type as wide as d. */
static const char *unumber(struct render *r, enum dtype d, unsigned lanes, uint64_t v) {
    const char *s = fmt(r, dtype_info[d].bytes == 8 ? "0x%llxul" : "0x%llxu", (unsigned long long)v);
    return lanes == 1 ? s : fmt(r, "S%u(%s, %s)", storage_lanes(lanes), int_type(r, d, lanes, false), s);
}

/* CVT in c_pre.c: a step. */
static const char *step(struct render *r, enum dtype from, enum dtype to, unsigned lanes, const char *s) {
    return fmt(r, "CVT(%s, %s, %u, (%s))", elem_type(from), elem_type(to), storage_lanes(lanes), s);
}

static enum dtype int_of(unsigned bytes, bool is_signed) {
    switch (bytes) {
    case 1: return is_signed ? DT_I8 : DT_U8;
    case 2: return is_signed ? DT_I16 : DT_U16;
    case 4: return is_signed ? DT_I32 : DT_U32;
    default: return is_signed ? DT_I64 : DT_U64;
    }
}

/* Integers grow and shrink by a factor of two at a time, narrow ones become floats by way of 32 bits: what machines have
 * instructions for. gcc takes other conversions apart lane by lane. */
const char *converted(struct render *r, enum dtype from, enum dtype to, unsigned lanes, const char *s) {
    unsigned bytes = dtype_info[from].bytes, last = dt_is_int(to) ? dtype_info[to].bytes : RG_MAX(bytes, 4);
    if (!dt_is_int(from)) return step(r, from, to, lanes, s);
    bool is_signed = dtype_info[from].kind != DK_UINT;
    while (bytes != last) {
        unsigned next = bytes < last ? 2 * bytes : bytes / 2;
        s = step(r, int_of(bytes, is_signed), int_of(next, is_signed), lanes, s);
        bytes = next;
    }
    enum dtype got = int_of(bytes, is_signed);
    if (!dt_is_int(to)) return step(r, got, to, lanes, s);
    return got == to ? s : fmt(r, "(%s)%s", type_of(r, to, lanes, 0), s);
}

struct c_text mask_width(struct render *r, struct c_text v, unsigned bytes) {
    if (v.mask == bytes) return v;
    struct c_text t = v;
    t.s = converted(r, int_of(v.mask, true), int_of(bytes, true), v.lanes, v.s);
    t.mask = (uint8_t)bytes;
    t.atom = false;
    return t;
}

struct c_text splat(struct render *r, struct c_text v, unsigned lanes, unsigned mask) {
    if (v.lanes == lanes) return mask && lanes > 1 ? mask_width(r, v, mask) : v;
    v = named(r, v);
    struct c_text t = v;
    const char *type = type_of(r, (enum dtype)v.dt, lanes, mask);
    t.s = fmt(r, v.dt == DT_BOOL ? "S%u(%s, -%s)" : "S%u(%s, %s)", storage_lanes(lanes), type, v.s);
    t.lanes = (uint8_t)lanes;
    t.mask = (uint8_t)mask;
    t.atom = false;
    return t;
}

const char *lane(struct render *r, struct c_text v, unsigned i) {
    if (v.lanes == 1) return v.s;
    return v.dt == DT_BOOL ? fmt(r, "(bool8)(%s[%u] & 1)", v.s, i) : fmt(r, "%s[%u]", v.s, i);
}

static struct c_text lane_text(struct render *r, struct c_text v, unsigned i) {
    if (v.lanes == 1) return v;
    struct c_text t = v;
    t.s = lane(r, v, i);
    t.lanes = 1;
    t.mask = 0;
    t.atom = v.dt != DT_BOOL;
    return t;
}

/* ---- bounds ---------------------------------------------------------------------------------------- */

struct bounds {
    int64_t lo, hi;
    bool ok; /* no overflow of 64 bits on the way */
};

static struct bounds span_of(struct c_text v) {
    if (!v.node || v.dt == DT_U64) return (struct bounds){INT64_MIN, INT64_MAX, v.dt != DT_U64};
    return (struct bounds){v.node->lo, v.node->hi, true};
}

static struct bounds span_op(enum op op, struct bounds a, struct bounds b) {
    struct bounds s = {0, 0, a.ok && b.ok};
    if (op == OP_ADD) {
        s.ok =
            s.ok && !__builtin_add_overflow(a.lo, b.lo, &s.lo) && !__builtin_add_overflow(a.hi, b.hi, &s.hi);
    } else if (op == OP_SUB) {
        s.ok =
            s.ok && !__builtin_sub_overflow(a.lo, b.hi, &s.lo) && !__builtin_sub_overflow(a.hi, b.lo, &s.hi);
    } else {
        int64_t p[4] = {0};
        s.ok =
            s.ok && !__builtin_mul_overflow(a.lo, b.lo, &p[0]) && !__builtin_mul_overflow(a.lo, b.hi, &p[1]);
        s.ok =
            s.ok && !__builtin_mul_overflow(a.hi, b.lo, &p[2]) && !__builtin_mul_overflow(a.hi, b.hi, &p[3]);
        s.lo = RG_MIN(RG_MIN(p[0], p[1]), RG_MIN(p[2], p[3]));
        s.hi = RG_MAX(RG_MAX(p[0], p[1]), RG_MAX(p[2], p[3]));
    }
    return s;
}

static bool fits(struct bounds s, enum dtype d) { return s.ok && s.lo >= dt_min(d) && s.hi <= dt_max(d); }

/* ---- integers -------------------------------------------------------------------------------------- */

/* What an operand is written as for arithmetic that may wrap, and the cast of the result. */
static const char *wrap_type(struct render *r, enum dtype d, unsigned lanes) {
    return lanes == 1 && dtype_info[d].bytes < 4 ? "u32" : int_type(r, d, lanes, false);
}

static const char *infix(struct render *r, const char *op, enum dtype d, unsigned lanes, struct c_text a,
                         struct c_text b, bool plain) {
    const char *t = type_of(r, d, lanes, 0), *w = wrap_type(r, d, lanes);
    bool narrow = lanes == 1 && dtype_info[d].bytes < 4;
    if (plain && narrow) return fmt(r, "(%s)(%s %s %s)", t, a.s, op, b.s);
    if (plain || (!is_signed(d) && !narrow)) return fmt(r, "(%s %s %s)", a.s, op, b.s);
    return fmt(r, "(%s)((%s)%s %s (%s)%s)", t, w, a.s, op, w, b.s);
}

static const char *add_like(struct render *r, enum op op, enum dtype d, unsigned lanes, struct c_text a,
                            struct c_text b) {
    const char *s = op == OP_ADD ? "+" : op == OP_SUB ? "-" : "*";
    return infix(r, s, d, lanes, a, b, fits(span_op(op, span_of(a), span_of(b)), d));
}

static const char *fma_int(struct render *r, enum dtype d, unsigned lanes, const struct c_text *s) {
    struct bounds p = span_op(OP_MUL, span_of(s[0]), span_of(s[1]));
    bool plain = fits(p, d) && fits(span_op(OP_ADD, p, span_of(s[2])), d);
    const char *t = type_of(r, d, lanes, 0), *w = wrap_type(r, d, lanes);
    if (plain) return fmt(r, "(%s)(%s * %s + %s)", t, s[0].s, s[1].s, s[2].s);
    return fmt(r, "(%s)((%s)%s * (%s)%s + (%s)%s)", t, w, s[0].s, w, s[1].s, w, s[2].s);
}

/* op on each lane by itself, for what vectors cannot do. */
static struct c_text by_lane(struct render *r, enum op op, enum dtype d, unsigned lanes,
                             const struct c_text *src, unsigned nsrc) {
    struct c_text v[3], one[3];
    for (unsigned k = 0; k < nsrc; k++) v[k] = named(r, src[k]);
    struct str s;
    str_init(&s, r->a);
    str_printf(&s, "(%s){", type_of(r, d, lanes, 1));
    for (unsigned i = 0; i < lanes; i++) {
        for (unsigned k = 0; k < nsrc; k++) one[k] = lane_text(r, v[k], i);
        struct c_text x = op_plain(r, op, d, 1, one, nsrc);
        str_printf(&s, d == DT_BOOL ? "%s-%s" : "%s%s", i ? ", " : "", x.s);
    }
    close_lanes(&s, lanes);
    return made(s.p, d, lanes, d == DT_BOOL);
}

static int log2_exact(int64_t v) {
    return v > 0 && !(v & (v - 1)) ? __builtin_ctzll((unsigned long long)v) : -1;
}

static const char *div_scalar(struct render *r, enum op op, enum dtype d, struct c_text a, struct c_text b) {
    const char *sign = op == OP_IDIV ? "/" : "%", *t = elem_type(d);
    struct bounds sa = span_of(a), sb = span_of(b);
    bool b_const = b.node && b.node->op == OP_CONST;
    if (!is_signed(d)) {
        if (b_const && b.node->arg.i) return fmt(r, "(%s)(%s %s %s)", t, a.s, sign, b.s);
        return fmt(r, "(%s)(%s ? %s %s %s : 0)", t, b.s, a.s, sign, b.s);
    }
    if (sa.lo >= 0 && sb.lo > 0) {
        const char *u = wrap_type(r, d, 1);
        return fmt(r, "(%s)((%s)%s %s (%s)%s)", t, u, a.s, sign, u, b.s);
    }
    if (b_const && b.node->arg.i > 0) { /* ~x is -1 - x: what lies below 0, counted from 0 */
        if (op == OP_IDIV) return fmt(r, "(%s)(%s >= 0 ? %s / %s : ~(~%s / %s))", t, a.s, a.s, b.s, a.s, b.s);
        return fmt(r, "(%s)(%s %% %s + (%s %% %s < 0 ? %s : 0))", t, a.s, b.s, a.s, b.s, b.s);
    }
    const char *wide = dtype_info[d].bytes == 8 ? "i64" : "i32";
    return fmt(r, "(%s)%s_%s(%s, %s)", t, op == OP_IDIV ? "div" : "mod", wide, a.s, b.s);
}

static struct c_text div_text(struct render *r, enum op op, enum dtype d, unsigned lanes, struct c_text a,
                              struct c_text b) {
    const struct c_text src[2] = {a, b};
    int64_t by = b.node && b.node->op == OP_CONST ? b.node->arg.i : 0;
    int shift = log2_exact(by);
    const char *t = type_of(r, d, lanes, 0);
    if (shift >= 0 && op == OP_IDIV) /* an arithmetic shift is a floor division */
        return made(fmt(r, "(%s)(%s >> %s)", t, a.s, number(r, d, lanes, shift)), d, lanes, 0);
    if (shift >= 0) return made(fmt(r, "(%s)(%s & %s)", t, a.s, number(r, d, lanes, by - 1)), d, lanes, 0);
    if (lanes == 1) return made(div_scalar(r, op, d, named(r, a), named(r, b)), d, 1, 0);
    if (!by && storage_lanes(lanes) == lanes && (dtype_info[d].bytes < 4 || d == DT_I32)) { /* by doubles */
        const char *x[2] = {splat(r, a, lanes, 0).s, splat(r, b, lanes, 0).s};
        for (int i = 0; i < 2; i++) x[i] = converted(r, d, DT_I32, lanes, x[i]);
        const char *q = fmt(r, "%s_i32x%u(%s, %s)", op == OP_IDIV ? "div" : "mod", lanes, x[0], x[1]);
        return made(fmt(r, "(%s)%s", t, converted(r, DT_I32, d, lanes, q)), d, lanes, 0);
    }
    bool positive = !is_signed(d) ? by != 0 : span_of(a).lo >= 0 && span_of(b).lo > 0;
    if (!positive || storage_lanes(lanes) != lanes) return by_lane(r, op, d, lanes, src, 2);
    const char *u = int_type(r, d, lanes, false);
    const char *s =
        fmt(r, "(%s)((%s)%s %s (%s)%s)", t, u, a.s, op == OP_IDIV ? "/" : "%", u, splat(r, b, lanes, 0).s);
    return made(s, d, lanes, 0);
}

static struct c_text shift_text(struct render *r, enum op op, enum dtype d, unsigned lanes, struct c_text a,
                                struct c_text b) {
    const struct c_text src[2] = {a, b};
    int width = dtype_info[d].bytes * 8;
    /* A count of u64 too: its bounds are numbers where they are not negative. */
    bool inside = b.node && b.node->lo >= 0 && b.node->hi < width, left = op == OP_SHL;
    const char *t = type_of(r, d, lanes, 0), *w = wrap_type(r, d, lanes), *sign = left ? "<<" : ">>";
    if (lanes > 1 && dtype_info[b.dt].bytes != dtype_info[d].bytes) {
        if (!inside) return by_lane(r, op, d, lanes, src, 2);
        b = cast_text(r, b, d);
    }
    bool arithmetic = !left && is_signed(d);
    if (inside) {
        if (lanes > 1) b = splat(r, b, lanes, 0);
        const char *s = arithmetic  ? fmt(r, "(%s)(%s >> (%s)%s)", t, a.s, lanes > 1 ? t : "i32", b.s)
                        : lanes > 1 ? fmt(r, "(%s)((%s)%s %s (%s)%s)", t, w, a.s, sign, w, b.s)
                                    : fmt(r, "(%s)((%s)%s %s %s)", t, w, a.s, sign, b.s);
        return made(s, d, lanes, 0);
    }
    if (lanes > 1) return by_lane(r, op, d, lanes, src, 2);
    a = named(r, a), b = named(r, b);
    const char *past = fmt(r, "((u64)%s < %d)", b.s, width);
    const char *s = arithmetic ? fmt(r, "(%s)(%s >> (%s ? (i32)%s : %d))", t, a.s, past, b.s, width - 1)
                               : fmt(r, "(%s)(%s ? (%s)%s %s (i32)%s : 0)", t, past, w, a.s, sign, b.s);
    return made(s, d, lanes, 0);
}

/* On a GPU, NVIDIA's assembler (CUDA 12.8 to 13.3 at least) makes one instruction of max(max(a, -b), c) and forgets the
 * minus. It does not take ~b + 1 for a minus, which is how neg_int is written. */
static const char *negated(struct render *r, enum op op, enum dtype d, unsigned lanes,
                           const struct c_text *s) {
    if (r->lang == LANG_C || lanes > 1 || dtype_info[d].bytes > 4) return NULL;
    const uop *zero = s[0].node, *minus = s[1].node;
    bool neg = op == OP_NEG || (op == OP_SUB && zero && uop_is_int_const(zero, 0)) ||
               (op == OP_MUL && minus && uop_is_int_const(minus, dt_wrap(d, -1)));
    if (!neg && !(op == OP_ABS && is_signed(d))) return NULL;
    return fmt(r, "(%s)%s(%s)", type_of(r, d, 1, 0), neg ? "neg_int" : "abs_int", s[op == OP_SUB].s);
}

/* On a GPU, NVIDIA's compiler (NVRTC 13.0 at least) forgets to extend the sign of a sum whose operand is the first byte of a loaded
 * word, if the consumer has 16 bits or is a float. It does not look into sign_i8. */
static struct c_text signed_bytes(struct render *r, const char *x, enum dtype d, unsigned lanes) {
    bool may_lose = r->lang != LANG_C && d == DT_I8 && lanes == 1;
    return made(may_lose ? fmt(r, "sign_i8(%s)", x) : x, d, lanes, 0);
}

static struct c_text int_op(struct render *r, enum op op, enum dtype d, unsigned lanes,
                            const struct c_text *s) {
    const char *t = type_of(r, d, lanes, 0), *w = wrap_type(r, d, lanes);
    const char *x = negated(r, op, d, lanes, s);
    struct c_text a = s[0], b = s[1];
    if (x) return signed_bytes(r, x, d, lanes);
    switch (op) {
    case OP_IDIV:
    case OP_MOD: return div_text(r, op, d, lanes, a, b);
    case OP_SHL:
    case OP_SHR: return shift_text(r, op, d, lanes, a, b);
    case OP_ADD:
    case OP_SUB:
    case OP_MUL: return signed_bytes(r, add_like(r, op, d, lanes, a, b), d, lanes);
    case OP_AND: x = fmt(r, "(%s & %s)", a.s, b.s); break;
    case OP_OR: x = fmt(r, "(%s | %s)", a.s, b.s); break;
    case OP_XOR: x = fmt(r, "(%s ^ %s)", a.s, b.s); break;
    case OP_NOT: x = fmt(r, "(%s)~%s", t, a.s); break;
    case OP_NEG: x = fmt(r, "(%s)-(%s)%s", t, w, a.s); break;
    case OP_ABS:
        if (!is_signed(d)) return a;
        a = named(r, a);
        x = lanes == 1 ? fmt(r, "(%s)(%s < 0 ? 0 - (%s)%s : (%s)%s)", t, a.s, w, a.s, w, a.s)
                       : fmt(r, "SEL(%s, %s, (%s)(%s < %s), (-(%s)%s), %s)", t, int_type(r, d, lanes, true),
                             int_type(r, d, lanes, true), a.s, number(r, d, lanes, 0), w, a.s, a.s);
        break;
    case OP_MAX:
    case OP_MIN:
        a = named(r, a), b = named(r, b);
        x = lanes == 1 ? fmt(r, "(%s)(%s %c %s ? %s : %s)", t, a.s, op == OP_MAX ? '>' : '<', b.s, a.s, b.s)
                       : fmt(r, "SEL(%s, %s, (%s)(%s %c %s), %s, %s)", t, int_type(r, d, lanes, true),
                             int_type(r, d, lanes, true), a.s, op == OP_MAX ? '>' : '<', b.s, a.s, b.s);
        break;
    case OP_FMA: return signed_bytes(r, fma_int(r, d, lanes, s), d, lanes);
    default: return made(NULL, d, lanes, 0);
    }
    return made(x, d, lanes, 0);
}

/* ---- bool and float -------------------------------------------------------------------------------- */

/* Scalars are 0 or 1, masks 0 or -1: and, or, xor are the same text; "not" is not. */
static struct c_text bool_op(struct render *r, enum op op, unsigned lanes, const struct c_text *s) {
    unsigned mask = lanes == 1 ? 0 : s[0].mask;
    const char *a = s[0].s, *b = s[1].s, *x, *no = lanes == 1 ? "!" : "~";
    switch (op) {
    case OP_ADD:
    case OP_OR:
    case OP_MAX: x = fmt(r, "(%s | %s)", a, b); break;
    case OP_MUL:
    case OP_AND:
    case OP_IDIV:
    case OP_MIN: x = fmt(r, "(%s & %s)", a, b); break;
    case OP_SUB:
    case OP_XOR: x = fmt(r, "(%s ^ %s)", a, b); break;
    case OP_MOD: x = fmt(r, "(%s ^ %s)", a, a); break; /* x mod 1, x mod 0: both 0 */
    case OP_NOT: x = fmt(r, "(%s%s)", no, a); break;
    case OP_NEG:
    case OP_ABS: return s[0];
    case OP_SHL:
    case OP_SHR: x = fmt(r, "(%s & %s%s)", a, no, b); break;
    case OP_FMA: x = fmt(r, "((%s & %s) | %s)", a, b, s[2].s); break;
    default: return made(NULL, DT_BOOL, lanes, mask);
    }
    return made(x, DT_BOOL, lanes, mask);
}

/* A limit that is neither zero nor NaN: x86 has one instruction for that (MAXK in c_pre.c). */
static bool is_limit(const struct c_text *v) {
    const uop *n = v->node;
    return n && n->op == OP_CONST && n->arg.f == n->arg.f && n->arg.f != 0;
}

static const char *max_text(struct render *r, enum op op, const char *t, unsigned lanes,
                            const struct c_text *s) {
    unsigned limit = lanes == 1 || r->lang != LANG_C ? 2 : is_limit(&s[1]) ? 1 : is_limit(&s[0]) ? 0 : 2;
    if (limit == 2) return fmt(r, "%s_%s(%s, %s)", op == OP_MAX ? "max" : "min", t, s[0].s, s[1].s);
    return fmt(r, "%s(%s, %s, %s)", op == OP_MAX ? "MAXK" : "MINK", t, s[!limit].s, s[limit].s);
}

static struct c_text float_op(struct render *r, enum op op, enum dtype d, unsigned lanes,
                              const struct c_text *s) {
    const char *t = type_of(r, d, lanes, 0), *a = s[0].s, *b = s[1].s, *x;
    const char *call = NULL;
    if (r->lang == LANG_CUDA && d == DT_F32 && lanes == 1) /* of other targets rules_decomp leaves none */
        call = op == OP_EXP ? "exp" : op == OP_EXP2 ? "exp2" : op == OP_SIGMOID ? "sigmoid" : NULL;
    if (call) return made(fmt(r, "%s_%s(%s)", call, t, a), d, lanes, 0);
    switch (op) {
    case OP_NEG: x = fmt(r, "(-%s)", a); break;
    case OP_ABS:
        x = lanes == 1 ? fmt(r, d == DT_F64 ? "__builtin_fabs(%s)" : "__builtin_fabsf(%s)", a)
                       : fmt(r, "(%s)((%s)%s & %s)", t, int_type(r, d, lanes, false), a,
                             unumber(r, d, lanes, UINT64_MAX >> (65 - 8 * dtype_info[d].bytes)));
        break;
    case OP_RECIP: x = fmt(r, "(%s / %s)", number(r, d, lanes, 1), a); break;
    case OP_RSQRT: x = fmt(r, "(%s / sqrt_%s(%s))", number(r, d, lanes, 1), t, a); break;
    case OP_SQRT: call = "sqrt"; break;
    case OP_FLOOR: call = "floor"; break;
    case OP_CEIL: call = "ceil"; break;
    case OP_TRUNC: call = "trunc"; break;
    case OP_ROUND: call = "round"; break;
    case OP_MUL: x = fmt(r, "(%s * %s)", a, b); break;
    case OP_FDIV: x = fmt(r, "(%s / %s)", a, b); break;
    case OP_ADD: x = fmt(r, "(%s + %s)", a, b); break;
    case OP_SUB: x = fmt(r, "(%s - %s)", a, b); break;
    case OP_MAX:
    case OP_MIN: x = max_text(r, op, t, lanes, s); break;
    case OP_FMA: x = fmt(r, "fma_%s(%s, %s, %s)", t, a, b, s[2].s); break;
    default: return made(NULL, d, lanes, 0);
    }
    if (call) x = fmt(r, "%s_%s(%s)", call, t, a);
    return made(x, d, lanes, 0);
}

/* ---- comparisons and choice ------------------------------------------------------------------------ */

static struct c_text compare(struct render *r, enum op op, unsigned lanes, const struct c_text *s) {
    const char *sign = op == OP_LT ? "<" : op == OP_LE ? "<=" : op == OP_EQ ? "==" : "!=";
    enum dtype d = (enum dtype)s[0].dt;
    struct c_text a = s[0], b = s[1];
    if (is_half(d)) a = cast_text(r, a, DT_F32), b = cast_text(r, b, DT_F32), d = DT_F32;
    if (lanes == 1) return made(fmt(r, "(%s %s %s)", a.s, sign, b.s), DT_BOOL, 1, 0);
    if (d != DT_BOOL) {
        const char *name = op == OP_LT ? "lt" : op == OP_LE ? "le" : op == OP_EQ ? "eq" : "ne";
        unsigned bytes = dtype_info[d].bytes;
        return made(fmt(r, "CMP(%s, %s, %u, %s, %s, (%s), (%s))", elem_type(d), name, storage_lanes(lanes),
                        elem_type(int_of(bytes, true)), sign, a.s, b.s),
                    DT_BOOL, lanes, bytes);
    }
    const char *x = op == OP_LT   ? fmt(r, "(~%s & %s)", a.s, b.s)
                    : op == OP_LE ? fmt(r, "(~%s | %s)", a.s, b.s)
                    : op == OP_EQ ? fmt(r, "(~(%s ^ %s))", a.s, b.s)
                                  : fmt(r, "(%s ^ %s)", a.s, b.s);
    return made(x, DT_BOOL, lanes, a.mask);
}

static struct c_text where(struct render *r, enum dtype d, unsigned lanes, const struct c_text *s) {
    struct c_text c = s[0];
    if (c.lanes == 1) {
        unsigned mask = d == DT_BOOL && lanes > 1 ? RG_MAX(RG_MAX(s[1].mask, s[2].mask), 1) : 0;
        struct c_text a = splat(r, s[1], lanes, mask), b = splat(r, s[2], lanes, mask);
        return made(fmt(r, "(%s ? %s : %s)", c.s, a.s, b.s), d, lanes, mask);
    }
    unsigned mask = d == DT_BOOL ? c.mask : dtype_info[d].bytes, width = c.mask;
    struct c_text any = width == mask ? c : named(r, c);
    c = named(r, mask_width(r, any, mask));
    struct c_text a = splat(r, s[1], lanes, d == DT_BOOL ? mask : 0);
    struct c_text b = splat(r, s[2], lanes, d == DT_BOOL ? mask : 0);
    const char *m = type_of(r, DT_BOOL, lanes, mask), *t = type_of(r, d, lanes, mask);
    const char *x = width == mask
                        ? fmt(r, "SEL(%s, %s, %s, %s, %s)", t, m, c.s, a.s, b.s)
                        : fmt(r, "BLEND(%s, %u, %u, %s, %u, %s, %s, %s, %s)", t, width, mask,
                              elem_type(int_of(mask, true)), storage_lanes(lanes), any.s, c.s, a.s, b.s);
    return made(x, d, lanes, d == DT_BOOL ? mask : 0);
}

/* ---- the entries ------------------------------------------------------------------------------------*/

/* Brings all operands to the same number of lanes, and masks to one width. */
static void widen(struct render *r, unsigned lanes, struct c_text *s, unsigned n) {
    unsigned mask = 0;
    for (unsigned k = 0; k < n; k++)
        if (s[k].mask && !mask) mask = s[k].mask;
    for (unsigned k = 0; k < n; k++) s[k] = splat(r, s[k], lanes, s[k].dt == DT_BOOL ? RG_MAX(mask, 1) : 0);
}

/* a*b is exact in double, so that one rounding is left (two where a*b and c are very far apart). */
static struct c_text half_fma(struct render *r, enum dtype d, unsigned lanes, const struct c_text *src) {
    struct c_text s[3];
    for (unsigned k = 0; k < 3; k++) s[k] = cast_text(r, src[k], DT_F64);
    return cast_text(r, named(r, float_op(r, OP_FMA, DT_F64, lanes, s)), d);
}

/* Arithmetic of vectors of f16 (F16_OP in c_pre.c): by instructions where there are some. */
static const char *f16_op(struct render *r, enum op op, unsigned lanes, const struct c_text *s) {
    const char *sign = op == OP_ADD ? "+" : op == OP_SUB ? "-" : op == OP_MUL ? "*" : "/";
    switch (op) {
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
    case OP_FDIV: return fmt(r, "F16_OP(%u, %s, %s, %s)", lanes, s[0].s, sign, s[1].s);
    case OP_NEG: return fmt(r, "((f16x%u)((u16x%u)%s ^ 0x8000))", lanes, lanes, s[0].s);
    case OP_ABS: return fmt(r, "((f16x%u)((u16x%u)%s & 0x7fff))", lanes, lanes, s[0].s);
    case OP_FMA: return fmt(r, "fma_f16x%u(%s, %s, %s)", lanes, s[0].s, s[1].s, s[2].s);
    default: return NULL;
    }
}

static struct c_text half_op(struct render *r, enum op op, enum dtype d, unsigned lanes,
                             const struct c_text *src, unsigned n) {
    struct c_text s[3] = {{0}};
    const char *x16 =
        d == DT_F16 && r->lang == LANG_C && lanes >= 4 ? f16_op(r, op, storage_lanes(lanes), src) : NULL;
    if (x16) return made(x16, d, lanes, 0);
    if (op == OP_FMA) return half_fma(r, d, lanes, src);
    for (unsigned k = 0; k < n; k++) s[k] = cast_text(r, src[k], DT_F32);
    struct c_text x = float_op(r, op, DT_F32, lanes, s);
    return x.s ? cast_text(r, named(r, x), d) : x;
}

struct c_text op_plain(struct render *r, enum op op, enum dtype d, unsigned lanes, const struct c_text *src,
                       unsigned n) {
    struct c_text s[3] = {{0}}, x;
    bool keep_scalar = op == OP_WHERE || op == OP_SHL || op == OP_SHR || op == OP_IDIV || op == OP_MOD;
    for (unsigned k = 0; k < n && k < 3; k++) s[k] = src[k];
    if (lanes > 1 && op != OP_WHERE && (!keep_scalar || d == DT_BOOL))
        widen(r, lanes, s, n);
    else if (lanes > 1 && keep_scalar && op != OP_WHERE)
        s[0] = splat(r, s[0], lanes, 0);
    switch (op) {
    case OP_LT:
    case OP_LE:
    case OP_EQ:
    case OP_NE: x = compare(r, op, lanes, s); break;
    case OP_WHERE: x = where(r, d, lanes, s); break;
    default:
        x = d == DT_BOOL     ? bool_op(r, op, lanes, s)
            : is_half(d)     ? half_op(r, op, d, lanes, s, n)
            : dt_is_float(d) ? float_op(r, op, d, lanes, s)
                             : int_op(r, op, d, lanes, s);
    }
    if (!x.s)
        err_throw(r->ir->err, RG_EUNSUPPORTED,
                  "kernel %s: %s of %s has no form in C; it must be decomposed before rendering",
                  r->lin->name, op_info[op].name, dtype_info[d].name);
    for (unsigned k = 0; k < n && k < 3; k++) x.moving |= src[k].moving;
    return x;
}

struct c_text op_text(struct render *r, const uop *n, const struct c_text *src) {
    struct c_text x;
    if (n->op == OP_CAST)
        x = cast_text(r, src[0], (enum dtype)n->dt);
    else if (n->op == OP_BITCAST)
        x = bitcast_text(r, src[0], (enum dtype)n->dt);
    else
        x = op_plain(r, (enum op)n->op, (enum dtype)n->dt, n->lanes, src, n->nsrc);
    for (unsigned k = 0; k < n->nsrc; k++) x.moving |= src[k].moving;
    x.node = n;
    return x;
}

/* The lower and the upper half of a vector. */
static struct c_text half_lanes(struct render *r, struct c_text v, bool upper) {
    unsigned n = v.lanes / 2;
    struct c_text t = {.dt = v.dt, .lanes = (uint8_t)n};
    struct str s;
    str_init(&s, r->a);
    str_printf(&s, "MIX(%s, %s, %s", type_of(r, (enum dtype)v.dt, n, 0), v.s, v.s);
    for (unsigned l = 0; l < n; l++) str_printf(&s, ", %u", l + (upper ? n : 0));
    str_add(&s, ")");
    t.s = s.p;
    return named(r, t);
}

/* Lane l with lane l + half, again and again: the order that ref/linear.c has. By vectors while there are more than four. */
struct c_text hred_text(struct render *r, enum op op, struct c_text v) {
    struct c_text e[MAX_LANES * 4];
    bool moving = v.moving;
    v = named(r, v);
    while (v.lanes > 4 && v.lanes % 2 == 0 && v.dt != DT_BOOL && storage_lanes(v.lanes) == v.lanes) {
        struct c_text pair[2] = {half_lanes(r, v, false), half_lanes(r, v, true)};
        v = named(r, op_plain(r, op, (enum dtype)v.dt, v.lanes / 2, pair, 2));
    }
    unsigned n = v.lanes;
    for (unsigned l = 0; l < n; l++) {
        e[l] = lane_text(r, v, l);
        e[l].node = NULL;
    }
    for (; n > 1; n = (n + 1) / 2) {
        unsigned half = (n + 1) / 2;
        for (unsigned l = 0; l + half < n; l++) {
            struct c_text pair[2] = {e[l], e[l + half]};
            e[l] = op_plain(r, op, (enum dtype)v.dt, 1, pair, 2);
        }
    }
    e[0].moving = moving;
    return e[0];
}
