/* scatter_fixed_point.c: deterministic scatter-adds of floats on a GPU, by integer atomics.
 *
 * Floating-point atomics round in order of arrival, integer atomics are exact: values become 64-bit fixed point, scaled by a power
 * of two that depends on max |value|, and the sum becomes a float again, rounded once. With N values per element the greatest has
 * 62 - log2 N bits, so that no sum overflows: 48 for 16,384, twice those of fp32.
 * Only sums onto zeros (gradients of gathers); if a value is not finite, the whole result is NaN.
 * Tests: tests/unit/schedule_gpu.c */
#include <math.h>

#include "schedule/internal.h"

struct fixed {
    struct ir *ir;
    struct shapes *sh;
    const struct shape *one; /* all 1, of the rank of the values */
};

static const uop *number(struct fixed *f, enum dtype dt, int64_t v) { return uop_int(f->ir, dt, v); }

static const uop *cast(struct fixed *f, const uop *x, enum dtype dt) {
    return (enum dtype)x->dt == dt ? x : uop_new(f->ir, OP_CAST, dt, 1, &x, 1, ARG_NONE);
}

static const uop *with_dims(struct fixed *f, enum op op, const uop *x, const struct shape *s) {
    return graph_shaped(f->ir, op, x, s->d, s->n);
}

/* A scalar broadcast to a shape; constants have no axes yet. */
static const uop *broadcast(struct fixed *f, const uop *x, const struct shape *s) {
    if (x->op == OP_CONST && s->n) x = with_dims(f, OP_RESHAPE, x, f->one);
    return shape_of(f->sh, x) == s ? x : with_dims(f, OP_EXPAND, x, s);
}

static const uop *op2(struct fixed *f, enum op op, const uop *a, const uop *b) {
    const struct shape *s = shape_of(f->sh, a->op == OP_CONST ? b : a);
    return uop2(f->ir, op, broadcast(f, a, s), broadcast(f, b, s));
}

/* 2^k as a float32; k an int32 from -126 to 127. */
static const uop *power(struct fixed *f, const uop *k) {
    const uop *bits = op2(f, OP_SHL, op2(f, OP_ADD, k, number(f, DT_I32, 127)), number(f, DT_I32, 23));
    return uop_new(f->ir, OP_BITCAST, DT_F32, 1, &bits, 1, ARG_NONE);
}

bool scatter_is_inexact(const uop *base, enum dtype dt) {
    return (dt == DT_F32 || dt == DT_F16 || dt == DT_BF16) && graph_is_zero(base);
}

void scatter_begin(struct ir *ir, struct shapes *sh, const uop *value, int64_t axis,
                   struct scatter_fixed *out) {
    struct fixed f = {ir, sh, NULL};
    const struct shape *s = shape_of(sh, value);
    int64_t ones[SHAPE_MAX], bits = 61;
    const uop *src[1 + SHAPE_MAX] = {uop1(ir, OP_ABS, cast(&f, value, DT_F32))};
    for (uint32_t i = 0; i < s->n; i++) ones[i] = 1, src[1 + i] = uop_idx(ir, i);
    for (int64_t n = 1; n < s->d[axis]; n *= 2) bits--;
    f.one = shape_make(sh, ones, s->n);
    out->bits = bits;
    out->greatest = uop_mk(ir, OP_REDUCE_AXES, src, 1 + s->n, (union arg){.i = OP_MAX});
}

/* k with |value| * 2^k < 2^bits, as k / 2 and the rest: one power of two alone might not be a float32. */
static void exponents(struct fixed *f, const struct scatter_fixed *x, const uop *k[2]) {
    const uop *bits = uop_new(f->ir, OP_BITCAST, DT_I32, 1, &x->greatest, 1, ARG_NONE);
    const uop *e = op2(f, OP_SHR, bits, number(f, DT_I32, 23));
    const uop *all = op2(f, OP_SUB, number(f, DT_I32, x->bits + 126), e); /* bits - 1 - (e - 127) */
    k[0] = op2(f, OP_SHR, all, number(f, DT_I32, 1));
    k[1] = op2(f, OP_SUB, all, k[0]);
}

static struct fixed fixed_of(struct ir *ir, struct shapes *sh, const struct scatter_fixed *x) {
    return (struct fixed){ir, sh, shape_of(sh, x->greatest)};
}

const uop *scatter_to_fixed(struct ir *ir, struct shapes *sh, const struct scatter_fixed *x,
                            const uop *value) {
    struct fixed f = fixed_of(ir, sh, x);
    const uop *k[2], *v = cast(&f, value, DT_F32);
    exponents(&f, x, k);
    for (int i = 0; i < 2; i++) v = op2(&f, OP_MUL, v, power(&f, k[i]));
    return cast(&f, v, DT_I64);
}

const uop *scatter_to_float(struct ir *ir, struct shapes *sh, const struct scatter_fixed *x, const uop *sum,
                            enum dtype dt) {
    struct fixed f = fixed_of(ir, sh, x);
    const struct shape *s = shape_of(sh, sum);
    const uop *k[2], *v = cast(&f, sum, DT_F32);
    exponents(&f, x, k);
    for (int i = 0; i < 2; i++)
        v = op2(&f, OP_MUL, v, power(&f, op2(&f, OP_SUB, number(&f, DT_I32, 0), k[i])));
    const uop *fine = op2(&f, OP_LT, x->greatest, uop_flt(ir, DT_F32, INFINITY));
    const uop *src[3] = {broadcast(&f, fine, s), v, broadcast(&f, uop_flt(ir, DT_F32, NAN), s)};
    return cast(&f, uop_new(ir, OP_WHERE, DT_F32, 1, src, 3, ARG_NONE), dt);
}

const uop *scatter_zeros(struct ir *ir, struct shapes *sh, const struct scatter_fixed *x,
                         const struct shape *s) {
    struct fixed f = fixed_of(ir, sh, x);
    return broadcast(&f, number(&f, DT_I64, 0), s);
}
