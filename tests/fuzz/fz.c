/* fz.c: random typed terms. Constants are biased to edges and to each other (multiples, neighbours), leaves
 * get bounds near the constants, so that guards like "c1 divides c2" or "x < c" are often true. The same seed
 * gives the same term. */
#include "fz.h"

#include <math.h>

enum { MASK_FLOAT = 1u << DT_F16 | 1u << DT_BF16 | 1u << DT_F32 | 1u << DT_F64 };

uint64_t fz_rand(struct fz *f) {
    uint64_t z = f->rng += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

unsigned fz_below(struct fz *f, unsigned n) { return (unsigned)(fz_rand(f) % n); }

void fz_begin(struct fz *f, uint64_t seed) {
    static const unsigned lanes[] = {1, 1, 1, 2, 4};
    f->rng = seed * 0x2545f4914f6cdd1du + 1;
    f->lanes = lanes[fz_below(f, RG_COUNT(lanes))];
    f->npool = f->slot = f->depth = f->nleaf = 0;
}

/* ---- numbers ---------------------------------------------------------------------------------------- */

void fz_note(struct fz *f, int64_t v) {
    if (f->npool < FZ_POOL)
        f->pool[f->npool++] = v;
    else
        f->pool[fz_below(f, FZ_POOL)] = v;
}

static int64_t near_pool(struct fz *f) {
    int64_t v = f->pool[fz_below(f, f->npool)], k = 1 + (int64_t)fz_below(f, 6);
    switch (fz_below(f, 8)) {
    case 0: return v;
    case 1:
    case 2: return (int64_t)((uint64_t)v * (uint64_t)k);
    case 3: return v % k == 0 ? v / k : v;
    case 4: return (int64_t)((uint64_t)v + 1);
    case 5: return (int64_t)((uint64_t)v - 1);
    case 6: return (int64_t)(0 - (uint64_t)v);
    default: return f->npool > 1 ? (int64_t)((uint64_t)v + (uint64_t)f->pool[0]) : v;
    }
}

static int64_t any_int(struct fz *f, enum dtype dt) {
    static const int64_t edge[] = {0, 1, -1, 2, INT32_MAX, INT32_MIN, INT64_C(1) << 40, 63, 64, 31, 32, 7, 8};
    switch (fz_below(f, 8)) {
    case 0:
    case 1: return (int64_t)fz_below(f, 17);
    case 2: return (int64_t)fz_below(f, 33) - 16;
    case 3: return INT64_C(1) << fz_below(f, 12);
    case 4: return edge[fz_below(f, RG_COUNT(edge))];
    case 5:
        return dt == DT_IDX ? (int64_t)fz_below(f, 2000) - 1000 : fz_below(f, 2) ? dt_min(dt) : dt_max(dt);
    case 6: return dt == DT_IDX ? (int64_t)fz_below(f, 100) : (int64_t)fz_rand(f);
    default: return dt == DT_BOOL || dt == DT_IDX ? (int64_t)fz_below(f, 5) : -1;
    }
}

int64_t fz_int(struct fz *f, enum dtype dt) {
    int64_t v = f->npool && fz_below(f, 5) < 3 ? near_pool(f) : any_int(f, dt);
    v = dt_wrap(dt, v);
    fz_note(f, v);
    return v;
}

double fz_flt(struct fz *f, enum dtype dt) {
    static const double edge[] = {0.0,
                                  -0.0,
                                  1,
                                  -1,
                                  2,
                                  0.5,
                                  -2,
                                  3,
                                  INFINITY,
                                  -INFINITY,
                                  NAN,
                                  0x1p-149,
                                  -0x1p-149,
                                  0x1p-24,
                                  0x1.fffffep127,
                                  -0x1.fffffep127,
                                  65504,
                                  1e30,
                                  -1e-30,
                                  0x1p-1074};
    double v;
    if (f->tame)
        v = (double)(1 + fz_below(f, 50)) * (fz_below(f, 2) ? 0.5 : -0.25);
    else if (fz_below(f, 2))
        v = edge[fz_below(f, RG_COUNT(edge))];
    else if (fz_below(f, 2))
        v = (double)fz_below(f, 64) - 32;
    else
        v = ldexp((double)(int64_t)fz_rand(f), -63 + (int)fz_below(f, 40) - 20);
    return dt_round(dt, v);
}

double fz_pow2(struct fz *f) {
    double v = ldexp(1, (int)fz_below(f, 40) - 20);
    return fz_below(f, 8) ? (fz_below(f, 2) ? v : -v) : fz_flt(f, DT_F32);
}

const uop *fz_const(struct fz *f, enum dtype dt) {
    if (dt == DT_VOID) return NULL;
    return dt_is_float(dt) ? uop_flt(f->ir, dt, fz_flt(f, dt)) : uop_int(f->ir, dt, fz_int(f, dt));
}

/* ---- types and ops ------------------------------------------------------------------------------------ */

enum op fz_pick(struct fz *f, const enum op *op, unsigned n) { return op[n > 1 ? fz_below(f, n) : 0]; }

uint32_t fz_types(enum op op) {
    if (op_info[op].flags & OPF_F) return MASK_FLOAT;
    if (op_info[op].flags & OPF_I) return (uint32_t)~MASK_FLOAT;
    return ~0u;
}

enum dtype fz_dtype(struct fz *f, uint32_t mask) {
    static const enum dtype favourite[] = {DT_IDX, DT_F32, DT_I32, DT_IDX, DT_BOOL, DT_I8};
    enum dtype d = favourite[fz_below(f, RG_COUNT(favourite))];
    if ((mask >> d & 1) && fz_below(f, 2)) return d;
    unsigned n = 0, k;
    for (unsigned i = 0; i < DT_COUNT; i++) n += mask >> i & 1;
    if (!n) return DT_IDX; /* the op drawn and the pattern disagree; the instance will not match */
    k = fz_below(f, n);
    for (unsigned i = 0; i < DT_COUNT; i++)
        if ((mask >> i & 1) && k-- == 0) return (enum dtype)i;
    return DT_IDX;
}

enum dtype fz_same_width(struct fz *f, enum dtype dt, uint32_t mask) {
    uint32_t same = 0;
    for (unsigned i = 1; i < DT_COUNT; i++)
        if (dtype_info[i].bytes == dtype_info[dt].bytes && (i == DT_BOOL) == (dt == DT_BOOL)) same |= 1u << i;
    return fz_dtype(f, mask & same);
}

/* ---- leaves --------------------------------------------------------------------------------------------- */

const uop *fz_var(struct fz *f, const char *name, enum dtype dt, bool bounds, int64_t l, int64_t h) {
    if (!bounds && dt_is_float(dt)) {
        const uop *s[2] = {uop_flt(f->ir, dt, -INFINITY), uop_flt(f->ir, dt, INFINITY)};
        return uop_new(f->ir, OP_VAR, dt, 1, s, 2,
                       (union arg){.param = {0, ir_sym(f->ir, name, strlen(name))}});
    }
    if (!bounds)
        l = dt == DT_IDX ? -(INT64_C(1) << 40) : dt_min(dt), h = dt == DT_IDX ? INT64_C(1) << 40 : dt_max(dt);
    const uop *s[2] = {uop_int(f->ir, dt, l), uop_int(f->ir, dt, h)};
    return uop_new(f->ir, OP_VAR, dt, 1, s, 2, (union arg){.param = {0, ir_sym(f->ir, name, strlen(name))}});
}

static const uop *fresh_var(struct fz *f, enum dtype dt, int64_t l, int64_t h) {
    const uop *s[2] = {uop_int(f->ir, dt, l), uop_int(f->ir, dt, h)};
    return uop_new(f->ir, OP_VAR, dt, 1, s, 2, (union arg){.param = {++f->slot, 0}});
}

static const uop *fresh_range(struct fz *f) {
    int64_t size = f->npool && fz_below(f, 2) ? f->pool[fz_below(f, f->npool)] : (int64_t)fz_below(f, 20);
    if (size < 1 || size > 100000) size = 1 + (int64_t)fz_below(f, 12);
    const uop *s = uop_idx(f->ir, size);
    return uop_new(
        f->ir, OP_RANGE, DT_IDX, 1, &s, 1,
        (union arg){.range = {.kind = AX_LOOP, .pos = (uint8_t)f->slot, .id = (uint16_t)++f->slot}});
}

static const uop *fresh_buf(struct fz *f, enum dtype dt) {
    const uop *s = uop_idx(f->ir, 1000);
    return uop_new(f->ir, OP_PARAM, dt, 1, &s, 1, (union arg){.param = {++f->slot, 0}});
}

static const uop *fresh_load(struct fz *f, enum dtype dt, unsigned lanes) {
    const uop *s[2] = {fresh_buf(f, dt), uop_idx(f->ir, (int64_t)fz_below(f, 4))};
    const uop *i = uop_new(f->ir, OP_INDEX, dt, lanes, s, 2, ARG_NONE);
    return uop1(f->ir, OP_LOAD, i);
}

/* Bounds that contain, touch or miss the numbers of this instance. */
static const uop *bounded_var(struct fz *f, enum dtype dt) {
    int64_t base =
        f->npool && fz_below(f, 3) ? f->pool[fz_below(f, f->npool)] : (int64_t)fz_below(f, 40) - 10;
    int64_t width = f->npool && fz_below(f, 2) ? f->pool[fz_below(f, f->npool)] : (int64_t)fz_below(f, 30);
    if (width < 0 || width > 1000000) width = (int64_t)fz_below(f, 10);
    if (base > (INT64_C(1) << 45) || base < -(INT64_C(1) << 45)) base = 0;
    int64_t l, h;
    switch (fz_below(f, 5)) {
    case 0: l = base, h = base + width; break;
    case 1: l = 0, h = width > 0 ? width - 1 : 0; break;
    case 2: l = base - width, h = base; break;
    case 3: l = 0, h = base > 0 ? base - 1 : 5; break;
    default: l = -width, h = width; break;
    }
    int64_t tl = dt == DT_U64 ? 0 : dt_min(dt), th = dt_max(dt);
    l = RG_MIN(RG_MAX(l, tl), th), h = RG_MIN(RG_MAX(h, tl), th);
    if (dt == DT_U64 && h < 0) h = l;
    return fresh_var(f, dt, RG_MIN(l, h), RG_MAX(l, h));
}

static const uop *scalar_leaf(struct fz *f, enum dtype dt) {
    if (dt_is_float(dt)) return fresh_load(f, dt, 1);
    if (dt == DT_BOOL) return fz_below(f, 2) ? fresh_load(f, dt, 1) : fresh_var(f, dt, 0, 1);
    if (dt == DT_IDX) {
        unsigned k = fz_below(f, 8);
        return k < 3 ? fresh_range(f) : k < 7 ? bounded_var(f, dt) : fresh_var(f, dt, -(1 << 20), 1 << 20);
    }
    return fz_below(f, 3) ? bounded_var(f, dt) : fresh_load(f, dt, 1);
}

const uop *fz_lanes(struct fz *f) {
    if (f->lanes == 1) f->lanes = FZ_LANES;
    return uop_new(f->ir, OP_LANES, DT_IDX, f->lanes, NULL, 0, ARG_NONE);
}

const uop *fz_build(struct fz *f, enum dtype dt) {
    const uop *s[FZ_LANES];
    if (f->lanes == 1) f->lanes = FZ_LANES;
    for (unsigned i = 0; i < f->lanes; i++) s[i] = scalar_leaf(f, dt);
    return uop_new(f->ir, OP_BUILD, dt, f->lanes, s, f->lanes, ARG_NONE);
}

static const uop *vector_leaf(struct fz *f, enum dtype dt) {
    if (f->lanes == 1) f->lanes = FZ_LANES;
    if (dt == DT_IDX && fz_below(f, 2)) {
        const uop *v = uop2(f->ir, OP_MUL, fz_lanes(f), uop_idx(f->ir, 1 + fz_below(f, 4)));
        return fz_below(f, 2) ? v : uop2(f->ir, OP_ADD, v, scalar_leaf(f, dt));
    }
    return fz_below(f, 2) ? fresh_load(f, dt, f->lanes) : fz_build(f, dt);
}

static const uop *cond(struct fz *f) { /* never poison */
    const uop *x = scalar_leaf(f, DT_IDX);
    return fz_below(f, 2) ? fresh_load(f, DT_BOOL, 1)
                          : uop2(f->ir, OP_LT, x, uop_idx(f->ir, fz_int(f, DT_IDX)));
}

const uop *fz_expr(struct fz *f, enum dtype dt, unsigned depth) {
    static const enum op ints[] = {OP_ADD, OP_ADD, OP_MUL,   OP_SUB, OP_IDIV, OP_MOD, OP_MAX,
                                   OP_MIN, OP_NEG, OP_WHERE, OP_ABS, OP_ADD,  OP_MUL};
    static const enum op bits[] = {OP_AND, OP_OR, OP_XOR, OP_NOT, OP_SHL, OP_SHR};
    static const enum op floats[] = {OP_ADD, OP_MUL,   OP_SUB,   OP_NEG,  OP_MAX, OP_MIN, OP_FDIV,
                                     OP_ABS, OP_FLOOR, OP_WHERE, OP_SQRT, OP_FMA, OP_CAST};
    static const enum op bools[] = {OP_LT, OP_LE, OP_EQ, OP_NE, OP_AND, OP_OR, OP_NOT, OP_XOR, OP_WHERE};
    if (depth == 0 || fz_below(f, 6) == 0) return fz_below(f, 5) ? fz_leaf(f, FZ_VALUE, dt) : fz_const(f, dt);
    enum op op;
    if (dt_is_float(dt))
        op = fz_pick(f, floats, RG_COUNT(floats));
    else if (dt == DT_BOOL)
        op = fz_pick(f, bools, RG_COUNT(bools));
    else if (dt != DT_IDX && fz_below(f, 3) == 0)
        op = fz_pick(f, bits, RG_COUNT(bits));
    else
        op = fz_pick(f, ints, RG_COUNT(ints));
    enum dtype sdt = dt;
    if (op_info[op].dt == OPD_BOOL) sdt = fz_dtype(f, FZ_NUMBER);
    if (op == OP_CAST) sdt = fz_dtype(f, FZ_ALL);
    const uop *s[3];
    for (uint32_t i = 0; i < op_info[op].min_src; i++)
        s[i] = fz_expr(f, op == OP_WHERE && i == 0 ? DT_BOOL : sdt, depth - 1);
    bool by_const =
        op == OP_IDIV || op == OP_MOD || op == OP_SHL || op == OP_SHR || (op == OP_MUL && dt == DT_IDX);
    if (by_const && fz_below(f, 8)) s[1] = fz_const(f, dt);
    return fz_op(f, op, dt, s, op_info[op].min_src, 0);
}

static const uop *value_leaf(struct fz *f, enum dtype dt) {
    if (f->nleaf && fz_below(f, 6) == 0) {
        const uop *x = f->leaf[fz_below(f, f->nleaf)];
        if (x->dt == dt) return x;
    }
    const uop *x;
    if (f->depth == 0 && !f->tame && fz_below(f, 3) == 0) {
        f->depth++;
        x = dt == DT_IDX && fz_below(f, 2) ? fz_sum(f, 1 + fz_below(f, 4))
                                           : fz_expr(f, dt, 1 + fz_below(f, 2));
        f->depth--;
    } else {
        x = f->lanes > 1 && fz_below(f, 3) == 0 ? vector_leaf(f, dt) : scalar_leaf(f, dt);
    }
    if (x && f->preds && f->depth == 0 && dt_is_int(dt) && fz_below(f, 16) == 0) {
        const uop *inv = uop_new(f->ir, OP_INVALID, dt, 1, NULL, 0, ARG_NONE);
        return uop3(f->ir, OP_WHERE, cond(f), x, inv);
    }
    if (x && f->nleaf < FZ_POOL) f->leaf[f->nleaf++] = x;
    return x;
}

static const uop *address(struct fz *f, enum dtype dt) {
    const uop *s[2] = {fresh_buf(f, dt), fz_leaf(f, FZ_VALUE, DT_IDX)};
    return fz_op(f, OP_INDEX, dt, s, 2, 0);
}

static const uop *statement(struct fz *f) {
    enum dtype dt = fz_dtype(f, FZ_ALL);
    const uop *s[2] = {address(f, dt), fz_leaf(f, FZ_SCALAR, dt)};
    const uop *st = fz_op(f, OP_STORE, DT_VOID, s, 2, 0);
    return st ? uop_mk(f->ir, OP_BLOCK, &st, 1, ARG_NONE) : NULL;
}

const uop *fz_leaf(struct fz *f, enum fz_kind kind, enum dtype dt) {
    switch (kind) {
    case FZ_SCALAR: return scalar_leaf(f, dt);
    case FZ_VECTOR: return vector_leaf(f, dt);
    case FZ_BUF: return fresh_buf(f, dt);
    case FZ_ADDR: return address(f, dt);
    case FZ_STMT: return statement(f);
    default: return dt == DT_VOID ? NULL : value_leaf(f, dt);
    }
}

/* ---- nodes ------------------------------------------------------------------------------------------------ */

static unsigned widest(const uop *const *src, uint32_t n) {
    unsigned w = 1;
    for (uint32_t i = 0; i < n; i++) w = RG_MAX(w, src[i]->lanes);
    return w;
}

static union arg pick_arg(struct fz *f, enum op op, const uop *const *src, int64_t arg) {
    static const enum op comb[] = {OP_ADD, OP_MUL, OP_MAX, OP_MIN};
    if (arg != FZ_ANY_ARG) return ARG_INT(arg);
    if (op == OP_EXTRACT) return ARG_INT(fz_below(f, src[0]->lanes));
    if (op_info[op].arg == OPA_OP) return ARG_INT(fz_pick(f, comb, 4));
    return ARG_NONE;
}

const uop *fz_op(struct fz *f, enum op op, enum dtype dt, const uop *const *src, uint32_t n, int64_t arg) {
    for (uint32_t i = 0; i < n; i++)
        if (!src[i]) return NULL;
    unsigned w = n ? widest(src, n) : 1;
    for (uint32_t i = 0; i < n; i++)
        if (src[i]->lanes != 1 && src[i]->lanes != w) return NULL;
    switch (op) {
    case OP_LANES: return fz_lanes(f);
    case OP_INVALID: return uop_new(f->ir, op, dt, 1, NULL, 0, ARG_NONE);
    case OP_CAST:
    case OP_BITCAST: return uop_new(f->ir, op, dt, w, src, n, ARG_NONE);
    case OP_INDEX: return uop_new(f->ir, op, dt, w > 1 ? w : fz_below(f, 3) ? 1 : f->lanes, src, n, ARG_NONE);
    case OP_BUILD: return uop_new(f->ir, op, dt, n, src, n, ARG_NONE);
    case OP_PRED_LOAD:
    case OP_STORE:
    case OP_STORE_ADD:
        if (src[0]->lanes != w) return NULL;
        break;
    default: break;
    }
    return uop_mk(f->ir, op, src, n, pick_arg(f, op, src, arg));
}

const uop *fz_sum(struct fz *f, unsigned terms) {
    const uop *s = NULL;
    for (unsigned i = 0; i < terms; i++) {
        f->depth++;
        const uop *t = fz_below(f, 4) ? scalar_leaf(f, DT_IDX) : value_leaf(f, DT_IDX);
        f->depth--;
        if (!t) return NULL;
        if (fz_below(f, 5) == 0) {
            int64_t c = 1 + (int64_t)fz_below(f, 12);
            t = uop2(f->ir, fz_below(f, 2) ? OP_MOD : OP_IDIV, t, uop_idx(f->ir, c));
        }
        if (fz_below(f, 4)) {
            int64_t c = fz_int(f, DT_IDX);
            if (c > 100000 || c < -100000) c = 6;
            t = uop2(f->ir, OP_MUL, t, uop_idx(f->ir, c));
        }
        if (!s)
            s = t;
        else {
            const uop *p[2] = {s, t};
            s = fz_op(f, OP_ADD, DT_IDX, p, 2, 0);
            if (!s) return NULL;
        }
    }
    return fz_below(f, 3) ? s : uop2(f->ir, OP_ADD, s, uop_idx(f->ir, (int64_t)fz_below(f, 41) - 20));
}

const uop *fz_divmod(struct fz *f, enum op op) {
    int64_t c = 2 + (int64_t)fz_below(f, 30);
    fz_note(f, c);
    fz_note(f, c * 2);
    const uop *x = fz_sum(f, 1 + fz_below(f, 4));
    return x ? uop2(f->ir, op, x, uop_idx(f->ir, c)) : NULL;
}

const uop *fz_divmod_pair(struct fz *f, enum op op) {
    int64_t c = 2 + (int64_t)fz_below(f, 30), h = c * ((int64_t)fz_below(f, 9) - 4);
    return uop2(f->ir, op, fresh_var(f, DT_IDX, h - 1, h), uop_idx(f->ir, c));
}

const uop *fz_cmp(struct fz *f, enum op op) {
    fz_int(f, DT_IDX);
    const uop *x = fz_sum(f, 1 + fz_below(f, 3)), *y;
    if (!x) return NULL;
    if (fz_below(f, 3))
        y = uop_idx(f->ir, fz_int(f, DT_IDX));
    else
        y = fz_sum(f, 1 + fz_below(f, 3));
    const uop *s[2] = {x, y};
    if (y && fz_below(f, 3) == 0) s[0] = y, s[1] = x;
    return y ? fz_op(f, op, DT_BOOL, s, 2, 0) : NULL;
}

const uop *fz_half_twice(struct fz *f) {
    static const enum op ops[] = {OP_ABS, OP_NEG, OP_MAX, OP_MIN};
    enum dtype half = fz_below(f, 2) ? DT_BF16 : DT_F16;
    enum op op = fz_pick(f, ops, RG_COUNT(ops));
    const uop *x[2];
    for (int i = 0; i < 2; i++) {
        const uop *v = fz_var(f, i ? "y" : "x", half, false, 0, 0);
        x[i] = fz_op(f, OP_CAST, DT_F32, &v, 1, 0);
    }
    if (fz_below(f, 2))
        x[1] = uop_flt(f->ir, DT_F32, fz_below(f, 2) ? (double)fz_below(f, 9) : 0x1.000002p+1);
    const uop *y = fz_op(f, op, DT_F32, x, op == OP_MAX || op == OP_MIN ? 2 : 1, 0);
    y = fz_op(f, OP_CAST, half, &y, 1, 0);
    return fz_op(f, OP_CAST, DT_F32, &y, 1, 0);
}

const uop *fz_extract(struct fz *f, const uop *v) {
    return v ? uop_mk(f->ir, OP_EXTRACT, &v, 1, ARG_INT(fz_below(f, v->lanes))) : NULL;
}

const uop *fz_vec_reduce(struct fz *f, const uop *v) {
    return fz_op(f, OP_VEC_REDUCE, (enum dtype)v->dt, &v, 1, FZ_ANY_ARG);
}

const uop *fz_build_of_extracts(struct fz *f) {
    const uop *v = vector_leaf(f, fz_dtype(f, FZ_ALL)), *s[FZ_LANES];
    unsigned n = fz_below(f, 8) ? v->lanes : v->lanes / 2;
    for (unsigned i = 0; i < n; i++)
        s[i] = uop_mk(f->ir, OP_EXTRACT, &v, 1, ARG_INT(fz_below(f, 12) ? i : fz_below(f, v->lanes)));
    return uop_new(f->ir, OP_BUILD, (enum dtype)v->dt, n, s, n, ARG_NONE);
}

const uop *fz_build_predicated(struct fz *f) {
    const uop *s[FZ_LANES], *inv = uop_new(f->ir, OP_INVALID, DT_IDX, 1, NULL, 0, ARG_NONE), *g = cond(f);
    for (unsigned i = 0; i < FZ_LANES; i++) {
        s[i] = scalar_leaf(f, DT_IDX);
        if (fz_below(f, 4)) s[i] = uop3(f->ir, OP_WHERE, fz_below(f, 4) ? g : cond(f), s[i], inv);
    }
    return uop_new(f->ir, OP_BUILD, DT_IDX, FZ_LANES, s, FZ_LANES, ARG_NONE);
}

const uop *fz_load_build(struct fz *f) {
    enum dtype dt = fz_dtype(f, FZ_ALL);
    const uop *x = scalar_leaf(f, DT_IDX), *y = scalar_leaf(f, DT_IDX), *s[FZ_LANES];
    for (unsigned i = 0; i < FZ_LANES; i++) s[i] = fz_below(f, 12) ? x : y;
    const uop *a[2] = {fresh_buf(f, dt), uop_new(f->ir, OP_BUILD, DT_IDX, FZ_LANES, s, FZ_LANES, ARG_NONE)};
    return uop1(f->ir, OP_LOAD, uop_new(f->ir, OP_INDEX, dt, FZ_LANES, a, 2, ARG_NONE));
}
