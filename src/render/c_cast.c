/* c_cast.c: CAST and BITCAST in C.
 *
 * Float to integer saturates and NaN gives 0; C leaves both undefined, so everything goes through the four
 * conversions of the preamble that do it right (f32 to 32 bits, f64 to 64 bits) and an integer clamp.
 * Everything that becomes a half type is rounded once: from float directly, from double and integers
 * through odd_f32, whose last digit is sticky. OpenCL C has all conversions, and devices without double: there nothing
 * goes through double that is none.
 * Tests: tests/unit/render.c (all pairs, scalar and vector) */
#include "render/internal.h"

static struct c_text like(struct c_text v, const char *s, enum dtype d) {
    v.s = s;
    v.dt = (uint8_t)d;
    v.mask = 0;
    v.atom = false;
    v.node = NULL;
    return v;
}

static const char *type(struct render *r, enum dtype d, unsigned lanes) { return type_of(r, d, lanes, 1); }

/* A conversion that C and __builtin_convertvector do as ops.def says. */
static struct c_text simple(struct render *r, struct c_text v, enum dtype to) {
    const char *t = type(r, to, v.lanes);
    bool same_bits = v.lanes > 1 && dt_is_int((enum dtype)v.dt) && dt_is_int(to) &&
                     dtype_info[v.dt].bytes == dtype_info[to].bytes;
    if (v.lanes > 1 && !same_bits) return like(v, converted(r, (enum dtype)v.dt, to, v.lanes, v.s), to);
    return like(v, fmt(r, "(%s)%s", t, v.s), to);
}

static struct c_text call(struct render *r, const char *fn, enum dtype suffix, struct c_text v,
                          enum dtype to) {
    return like(v, fmt(r, "%s_%s(%s)", fn, type(r, suffix, v.lanes), v.s), to);
}

/* A mask keeps those bits of 1 where it is true. */
static struct c_text from_bool(struct render *r, struct c_text v, enum dtype to) {
    if (v.lanes == 1) {
        if (to == DT_F16) return like(v, fmt(r, "(f16)(%s ? F16(1.0f, 0x3c00) : F16(0.0f, 0))", v.s), to);
        if (to == DT_BF16) return like(v, fmt(r, "(bf16)(%s ? 0x3f80 : 0)", v.s), to);
        if (is_half(to)) return like(v, fmt(r, "(u8)(%s ? 0x%x : 0)", v.s, dt_f8_bits(to, 1)), to);
        return like(v, fmt(r, "(%s)%s", type(r, to, 1), v.s), to);
    }
    struct c_text m = mask_width(r, v, dtype_info[to].bytes);
    const char *t = type(r, to, v.lanes);
    if (!dt_is_float(to)) return like(v, fmt(r, "(%s)-%s", t, m.s), to);
    const char *one = to == DT_F32    ? "0x3f800000"
                      : to == DT_F64  ? "0x3ff0000000000000l"
                      : to == DT_F16  ? "0x3c00"
                      : to == DT_BF16 ? "0x3f80"
                                      : fmt(r, "0x%x", dt_f8_bits(to, 1));
    return like(v,
                fmt(r, "(%s)(%s & S%u(%s, %s))", t, m.s, storage_lanes(v.lanes),
                    type_of(r, DT_BOOL, v.lanes, dtype_info[to].bytes), one),
                to);
}

static struct c_text to_bool(struct render *r, struct c_text v) {
    if (is_half((enum dtype)v.dt)) v = cast_text(r, v, DT_F32);
    struct c_text zero = constant(r, (enum dtype)v.dt, ARG_NONE), src[2] = {v, zero};
    return op_plain(r, OP_NE, DT_BOOL, v.lanes, src, 2);
}

static struct c_text clamp(struct render *r, struct c_text v, enum dtype to) {
    enum dtype d = (enum dtype)v.dt;
    struct c_text src[2] = {named(r, v), constant(r, d, ARG_INT(dt_min(to)))};
    src[0] = named(r, op_plain(r, OP_MAX, d, v.lanes, src, 2));
    src[1] = constant(r, d, ARG_INT(dt_max(to)));
    return simple(r, named(r, op_plain(r, OP_MIN, d, v.lanes, src, 2)), to);
}

static struct c_text float_to_int(struct render *r, struct c_text v, enum dtype to) {
    if (is_half((enum dtype)v.dt)) v = named(r, cast_text(r, v, DT_F32));
    enum dtype d = (enum dtype)v.dt;
    unsigned bytes = dtype_info[to].bytes;
    bool is_unsigned = dtype_info[to].kind == DK_UINT;
    if (bytes == 8 && d == DT_F32 && r->lang == LANG_OPENCL)
        return call(r, is_unsigned ? "toul" : "tol", d, v, to);
    if (bytes == 8 && d == DT_F32) v = named(r, simple(r, v, d = DT_F64));
    if (bytes == dtype_info[d].bytes) return call(r, is_unsigned ? "tou" : "toi", d, v, to);
    return clamp(r, named(r, call(r, "toi", d, v, d == DT_F32 ? DT_I32 : DT_I64)), to);
}

static struct c_text to_half(struct render *r, struct c_text v, enum dtype to) {
    if (v.dt == DT_F64) v = named(r, call(r, "odd", DT_F32, v, DT_F32));
    return call(r, "down", to, v, to);
}

static struct c_text op_number(struct render *r, enum op op, struct c_text v, int64_t n) {
    enum dtype d = (enum dtype)v.dt;
    struct c_text src[2] = {v, constant(r, d, ARG_INT(n))};
    return named(r, op_plain(r, op, op == OP_LT ? DT_BOOL : d, v.lanes, src, 2));
}

/* Beyond 2^24 the low 8 bits of 32 only matter as "there is something": made one bit, the rest is exact in float32, and rounding to 16
 * bits happens once. */
static struct c_text sticky_f32(struct render *r, struct c_text v) {
    const int64_t exact = 1 << 24;
    enum dtype d = (enum dtype)v.dt;
    v = named(r, v);
    struct c_text some = op_number(r, OP_AND, op_number(r, OP_ADD, op_number(r, OP_AND, v, 255), 255), 256);
    struct c_text both[2] = {op_number(r, OP_AND, v, d == DT_U32 ? INT64_C(0xffffff00) : -256), some};
    struct c_text odd = named(r, op_plain(r, OP_OR, d, v.lanes, both, 2)),
                  small = op_number(r, OP_LT, v, exact);
    if (d == DT_I32) {
        struct c_text more[2] = {constant(r, d, ARG_INT(-exact)), v};
        struct c_text ends[2] = {small, named(r, op_plain(r, OP_LT, DT_BOOL, v.lanes, more, 2))};
        small = named(r, op_plain(r, OP_AND, DT_BOOL, v.lanes, ends, 2));
    }
    struct c_text src[3] = {small, v, odd};
    return named(r, simple(r, named(r, op_plain(r, OP_WHERE, d, v.lanes, src, 3)), DT_F32));
}

/* Beyond 2^24 the low 12 bits of 64 likewise; the rest is exact in double. */
static struct c_text sticky(struct render *r, struct c_text v) {
    enum dtype d = (enum dtype)v.dt;
    bool is_unsigned = dtype_info[d].kind == DK_UINT;
    v = named(r, v);
    struct str s;
    str_init(&s, r->a);
    if (v.lanes > 1) str_printf(&s, "(%s){", type(r, d, v.lanes));
    for (unsigned i = 0; i < v.lanes; i++) {
        const char *x = lane(r, v, i);
        str_printf(&s, "%s((%s > 16777216", i ? ", " : "", x);
        if (!is_unsigned) str_printf(&s, " || %s < -16777216", x);
        str_printf(&s, ") ? (%s & ~(%s)4095) | (%s & 4095 ? 2048 : 0) : %s)", x, elem_type(d), x, x);
    }
    if (v.lanes > 1) close_lanes(&s, v.lanes);
    return named(r, like(v, s.p, d));
}

/* 64-bit integers to float32, lane by lane: clang 14 converts a vector of them on ARM through double and rounds twice
 * (2^54 + 2^30 + 1 comes out as 2^54). */
static struct c_text wide_to_f32(struct render *r, struct c_text v) {
    struct str s;
    v = named(r, v);
    str_init(&s, r->a);
    str_printf(&s, "(%s){", type(r, DT_F32, v.lanes));
    for (unsigned i = 0; i < v.lanes; i++) str_printf(&s, "%s(f32)%s", i ? ", " : "", lane(r, v, i));
    close_lanes(&s, v.lanes);
    return named(r, like(v, s.p, DT_F32));
}

struct c_text cast_text(struct render *r, struct c_text v, enum dtype to) {
    enum dtype from = (enum dtype)v.dt;
    if (from == to) return v;
    if (from == DT_BOOL) return from_bool(r, v, to);
    if (to == DT_BOOL) return to_bool(r, v);
    if (is_half(from)) {
        struct c_text f = call(r, "up", from, v, DT_F32);
        return to == DT_F32 ? f : cast_text(r, named(r, f), to);
    }
    if (!dt_is_float(to)) return dt_is_float(from) ? float_to_int(r, v, to) : simple(r, v, to);
    if (to == DT_F32 && dt_is_int(from) && dtype_info[from].bytes == 8 && v.lanes > 1)
        return wide_to_f32(r, v);
    if (!is_half(to)) return simple(r, v, to);
    if (dt_is_int(from) && dtype_info[from].bytes <= 2) { /* a float has them all */
        v = named(r, simple(r, v, DT_F32));
    } else if (dt_is_int(from) && r->lang == LANG_OPENCL) {
        const char *wide = dtype_info[from].kind == DK_UINT ? "u64" : "i64";
        v = named(r, like(v, fmt(r, "odd_%s((%s)%s)", wide, wide, v.s), DT_F32));
    } else if (dt_is_int(from) && dtype_info[from].bytes == 4) {
        v = sticky_f32(r, v);
    } else if (dt_is_int(from)) {
        v = named(r, simple(r, sticky(r, v), DT_F64));
    }
    return to_half(r, v, to);
}

struct c_text bitcast_text(struct render *r, struct c_text v, enum dtype to) {
    enum dtype from = (enum dtype)v.dt;
    if (from == to) return v;
    if (from == DT_BOOL) return bitcast_text(r, named(r, cast_text(r, v, DT_U8)), to);
    if (to == DT_BOOL) return to_bool(r, v);
    if (v.lanes > 1) return like(v, fmt(r, "(%s)%s", type(r, to, v.lanes), v.s), to);
    return like(v, fmt(r, "U(%s, %s, %s)", elem_type(to), elem_type(from), v.s), to);
}
