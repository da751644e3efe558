/* create.c: leaves, numbers, and what every other file of the folder builds with.
 *
 * Numbers are rank-0 constants and stay so beside tensors; only t_full spreads them. Elementwise nodes of constants
 * are folded here, by op_eval, which is what every kernel would compute; nothing else is simplified, because rules for
 * kernels may drop a shape (x*0 is not 0 when x has one).
 * Tests: tests/unit/tensor.c, tests/unit/tensor_errors.c */
#include "tensor/internal.h"

#include <math.h>

void tg_init(struct tg *g, struct ir *ir, struct arena *a) {
    *g = (struct tg){.ir = ir};
    shapes_init(&g->shapes, ir, a);
    prov_init(&g->prov, a);
}

/* ---- errors and axes ------------------------------------------------------------------------------ */

void tg_bad(struct tg *g, const char *fmt, ...) {
    char text[1500];
    va_list ap;
    va_start(ap, fmt);
    text_vprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    err_throw(g->ir->err, RG_EINVAL, "%s", text);
}

const char *tg_dims(struct tg *g, const uop *n) {
    const struct shape *s = tg_shape(g, n);
    return tg_list(g, s->d, s->n);
}

const char *tg_list(struct tg *g, const int64_t *d, uint32_t n) {
    struct str s;
    str_init(&s, g->ir->arena);
    str_addc(&s, '(');
    for (uint32_t i = 0; i < n; i++) str_printf(&s, "%s%lld", i ? ", " : "", (long long)d[i]);
    str_addc(&s, ')');
    return s.p;
}

void tg_rank(struct tg *g, uint32_t n) {
    if (n > SHAPE_MAX) tg_bad(g, "a tensor of %u axes; at most %d are supported", n, SHAPE_MAX);
}

uint32_t tg_axis(struct tg *g, const uop *x, int64_t axis) {
    int64_t n = tg_shape(g, x)->n;
    if (axis >= 0 && axis < n) return (uint32_t)axis;
    if (axis < 0 && axis + n >= 0) return (uint32_t)(axis + n);
    if (!n) tg_bad(g, "axis %lld of a tensor without axes (shape ())", (long long)axis);
    tg_bad(g, "axis %lld of shape %s: expected %lld to %lld", (long long)axis, tg_dims(g, x), (long long)-n,
           (long long)(n - 1));
}

uint32_t tg_axes(struct tg *g, const uop *x, const int64_t *axes, uint32_t n) {
    if (!n) return axes ? 0 : ((uint32_t)1 << tg_shape(g, x)->n) - 1;
    uint32_t mask = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t a = tg_axis(g, x, axes[i]);
        if (mask >> a & 1)
            tg_bad(g, "axes %s of shape %s: axis %u is named twice", tg_list(g, axes, n), tg_dims(g, x), a);
        mask |= (uint32_t)1 << a;
    }
    return mask;
}

/* ---- nodes ------------------------------------------------------------------------------------------ */

static const uop *folded(struct tg *g, const uop *n) {
    union val s[3], v;
    if (!n->nsrc || n->nsrc > 3) return n;
    for (uint32_t i = 0; i < n->nsrc; i++) {
        if (n->src[i]->op != OP_CONST) return n;
        memcpy(&s[i], &n->src[i]->arg, sizeof s[i]);
    }
    if (!op_eval((enum op)n->op, (enum dtype)n->dt, (enum dtype)n->src[0]->dt, s, &v)) return n;
    return dt_is_float((enum dtype)n->dt) ? uop_flt(g->ir, (enum dtype)n->dt, v.f)
                                          : uop_int(g->ir, (enum dtype)n->dt, v.i);
}

/* The number that every element is, where x is a number moved about; else NULL. */
const uop *tg_uniform(const uop *x) {
    while (x->op == OP_RESHAPE || x->op == OP_EXPAND || x->op == OP_PERMUTE) x = x->src[0];
    return x->op == OP_CONST ? x : NULL;
}

void tg_no_f8(struct tg *g, enum op op, const uop *x) {
    if (tg_is_f8((enum dtype)x->dt))
        tg_bad(g, "%s of %s: a type of 8 bits is for storage; cast it to bf16 or f32 to compute",
               op_info[op].name, tg_dt(x));
}

/* Numbers stay rank 0 beside tensors, also those that were spread before. */
static const uop *op_of(struct tg *g, enum op op, const uop **x, uint32_t n) {
    const uop *number[3];
    const struct shape *spread = NULL;
    bool other = false;
    for (uint32_t i = 0; i < n; i++) {
        const struct shape *s = tg_shape(g, x[i]);
        if (op != OP_WHERE) tg_no_f8(g, op, x[i]);
        number[i] = s->n ? tg_uniform(x[i]) : x[i];
        if (number[i] && s->n) spread = s;
        other |= !number[i];
    }
    for (uint32_t i = 0; i < n && spread; i++) x[i] = number[i] ? number[i] : x[i];
    const uop *r = folded(g, uop_mk(g->ir, op, x, n, ARG_NONE));
    return spread && !other ? tg_to_shape(g, r, spread) : r;
}

const uop *tg_op1(struct tg *g, enum op op, const uop *x) { return op_of(g, op, (const uop *[]){x}, 1); }
const uop *tg_op2(struct tg *g, enum op op, const uop *x, const uop *y) {
    return op_of(g, op, (const uop *[]){x, y}, 2);
}
const uop *tg_op3(struct tg *g, enum op op, const uop *x, const uop *y, const uop *z) {
    return op_of(g, op, (const uop *[]){x, y, z}, 3);
}

const uop *tg_like(struct tg *g, const uop *x, double v) { return t_number(g, (enum dtype)x->dt, v); }
const uop *tg_op_k(struct tg *g, enum op op, const uop *x, double k) {
    return tg_op2(g, op, x, tg_like(g, x, k));
}

void tg_name(struct tg *g, const uop *n) {
    if (n->id < g->named.n) g->named.p[n->id] = 1;
}
bool tg_is_named(const struct tg *g, const uop *n) { return n->id < g->named.n && g->named.p[n->id]; }

const uop *tg_nums(struct tg *g, enum op op, const uop *x, const int64_t *num, uint32_t n, union arg arg) {
    const uop *src[2 + 3 * SHAPE_MAX];
    if (op == OP_REDUCE_AXES || op == OP_SCAN_AXIS) tg_no_f8(g, op, x);
    src[0] = x;
    for (uint32_t i = 0; i < n; i++) src[1 + i] = uop_idx(g->ir, num[i]);
    const uop *r = uop_new(g->ir, op, (enum dtype)x->dt, 1, src, n + 1, arg);
    while (g->named.n <= r->id) vec_push(g->ir->arena, &g->named, 0); /* tg_name() needs no room */
    return r;
}

const uop *tg_iota(struct tg *g, int64_t n, uint32_t rank, uint32_t axis) {
    const uop *size = uop_idx(g->ir, n);
    const uop *i = uop_new(g->ir, OP_IOTA, n <= INT32_MAX ? DT_I32 : DT_I64, 1, &size, 1, ARG_NONE);
    int64_t d[SHAPE_MAX];
    for (uint32_t k = 0; k < rank; k++) d[k] = k == axis ? n : 1;
    return tg_reshape(g, i, shape_make(&g->shapes, d, rank));
}

/* ---- leaves ------------------------------------------------------------------------------------------ */

void tg_check_dims(struct tg *g, const int64_t *d, uint32_t n) {
    tg_rank(g, n);
    int64_t size = 1;
    for (uint32_t i = 0; i < n; i++) {
        if (d[i] < 0)
            tg_bad(g, "shape %s: axis %u has size %lld; sizes are 0 or more", tg_list(g, d, n), i,
                   (long long)d[i]);
        if (d[i] && __builtin_mul_overflow(size, d[i], &size))
            tg_bad(g, "shape %s has more than 2^63 elements", tg_list(g, d, n));
    }
}

static void check_value_dtype(struct tg *g, enum dtype dt) {
    if (dt == DT_VOID || dt >= DT_COUNT) tg_bad(g, "a tensor cannot have this dtype (%d)", (int)dt);
}

const uop *t_buffer(struct tg *g, enum dtype dt, const int64_t *d, uint32_t n, uint32_t number) {
    check_value_dtype(g, dt);
    tg_check_dims(g, d, n);
    const uop *src[SHAPE_MAX];
    for (uint32_t i = 0; i < n; i++) src[i] = uop_idx(g->ir, d[i]);
    return uop_new(g->ir, OP_BUFFER, dt, 1, src, n, ARG_INT(number));
}

/* Into an integer as CAST does: cut, saturated, NaN is 0. */
const uop *t_number(struct tg *g, enum dtype dt, double v) {
    check_value_dtype(g, dt);
    if (dt_is_float(dt)) return uop_flt(g->ir, dt, v);
    union val x = {.f = v}, y = {.i = 0};
    op_eval(OP_CAST, dt, DT_F64, &x, &y);
    return uop_int(g->ir, dt, y.i);
}

const uop *t_int(struct tg *g, enum dtype dt, int64_t v) {
    check_value_dtype(g, dt);
    if (dt_is_float(dt)) return uop_int(g->ir, dt, v);
    if (dt == DT_BOOL) return uop_int(g->ir, dt, v != 0);
    int64_t least = dt == DT_U64 ? 0 : dt_min(dt), most = dt == DT_U64 ? INT64_MAX : dt_max(dt);
    if (v < least || v > most)
        tg_bad(g, "%lld is not a number of %s (%lld to %s); use a wider dtype", (long long)v,
               dtype_info[dt].name, (long long)least,
               dt == DT_U64 ? "18446744073709551615" : arena_printf(g->ir->arena, "%lld", (long long)most));
    return uop_int(g->ir, dt, v);
}

const uop *t_full(struct tg *g, const uop *v, const int64_t *d, uint32_t n) {
    tg_check_dims(g, d, n);
    if (tg_shape(g, v)->n) tg_bad(g, "a fill value has shape (), found %s; use expand", tg_dims(g, v));
    return tg_to_shape(g, v, shape_make(&g->shapes, d, n));
}

/* ---- sequences --------------------------------------------------------------------------------------- */

/* float32 is enough when both numbers are exact in it and every counter is; else the sums are made in float64 and
 * rounded once, as PyTorch does on a CPU. */
static enum dtype counting_dtype(enum dtype dt, double a, double b, int64_t n) {
    if (dt == DT_F64 || dt_round(DT_F32, a) != a || dt_round(DT_F32, b) != b || n > 1 << 24) return DT_F64;
    return DT_F32;
}

static const uop *whole_arange(struct tg *g, enum dtype dt, double start, double step, int64_t n) {
    double last = start + step * (double)(n - 1);
    if (start != trunc(start) || step != trunc(step))
        tg_bad(g, "an arange of %s counts in whole numbers, found start %g and step %g; use a float dtype",
               dtype_info[dt].name, start, step);
    if (fabs(start) > 0x1p62 || fabs(last) > 0x1p62)
        tg_bad(g, "an arange from %g to %g passes 2^62", start, last);
    t_int(g, dt, (int64_t)start), t_int(g, dt, (int64_t)last); /* both must fit */
    const uop *i = t_cast(g, tg_iota(g, n, 1, 0), DT_I64);
    if (step != 1) i = tg_op2(g, OP_MUL, i, uop_int(g->ir, DT_I64, (int64_t)step));
    if (start != 0) i = tg_op2(g, OP_ADD, i, uop_int(g->ir, DT_I64, (int64_t)start));
    return t_cast(g, i, dt);
}

const uop *t_arange(struct tg *g, enum dtype dt, double start, double stop, double step) {
    check_value_dtype(g, dt);
    if (dt == DT_BOOL) tg_bad(g, "an arange of bool; use an integer or a float dtype");
    if (!isfinite(start) || !isfinite(stop) || !isfinite(step) || step == 0)
        tg_bad(g, "an arange from %g to %g by %g: expected finite numbers and a step that is not 0", start,
               stop, step);
    double count = ceil((stop - start) / step);
    if (count > 0x1p62) tg_bad(g, "an arange from %g to %g by %g has too many elements", start, stop, step);
    int64_t n = count > 0 ? (int64_t)count : 0;
    if (!n) return t_full(g, t_number(g, dt, 0), &n, 1);
    if (!dt_is_float(dt)) return whole_arange(g, dt, start, step, n);
    enum dtype in = counting_dtype(dt, start, step, n);
    const uop *i = t_cast(g, tg_iota(g, n, 1, 0), in);
    if (step != 1) i = tg_op_k(g, OP_MUL, i, step);
    if (start != 0) i = tg_op_k(g, OP_ADD, i, start);
    return t_cast(g, i, dt);
}

/* From both ends, so that the last element is `stop` and the middle is symmetric. */
const uop *t_linspace(struct tg *g, enum dtype dt, double start, double stop, int64_t n) {
    check_value_dtype(g, dt);
    if (n < 0) tg_bad(g, "a linspace of %lld numbers; expected 0 or more", (long long)n);
    if (!isfinite(start) || !isfinite(stop))
        tg_bad(g, "a linspace from %g to %g: expected finite numbers", start, stop);
    if (n < 2) return t_full(g, t_number(g, dt, start), &n, 1);
    enum dtype in = dt_is_float(dt) ? counting_dtype(dt, start, (stop - start) / (double)(n - 1), n) : DT_F64;
    const uop *at = tg_iota(g, n, 1, 0), *i = t_cast(g, at, in);
    const uop *step = t_number(g, in, (stop - start) / (double)(n - 1));
    const uop *up = tg_op_k(g, OP_ADD, tg_op2(g, OP_MUL, i, step), start);
    const uop *left = tg_op2(g, OP_SUB, t_number(g, in, (double)(n - 1)), i);
    const uop *down = tg_op2(g, OP_SUB, t_number(g, in, stop), tg_op2(g, OP_MUL, left, step));
    return t_cast(g, tg_op3(g, OP_WHERE, tg_op_k(g, OP_LT, at, (double)(n / 2)), up, down), dt);
}

const uop *t_eye(struct tg *g, enum dtype dt, int64_t n, int64_t m) {
    check_value_dtype(g, dt);
    tg_check_dims(g, (int64_t[]){n, m}, 2);
    const struct shape *s = shape_make(&g->shapes, (int64_t[]){n, m}, 2);
    const uop *row = tg_iota(g, n, 2, 0), *col = tg_iota(g, m, 2, 1);
    if (row->dt != col->dt) row = t_cast(g, row, DT_I64), col = t_cast(g, col, DT_I64);
    return t_cast(g, tg_op2(g, OP_EQ, tg_to_shape(g, row, s), tg_to_shape(g, col, s)), dt);
}
