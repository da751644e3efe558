/* graphs.c: random tensor programs (see graphs.h).
 *
 * A pool of values grows by steps; a step takes values of the pool and adds one or a few. Later values are taken more
 * often, and all of them may be taken again, so that programs are deep and have diamonds. Each value carries a bound
 * of its magnitude: in exact mode it keeps sums below the integers that the type holds, otherwise it keeps exponentials
 * and products moderate; `tame` brings a value down when a step needs it. Programs obey shape.c by construction.
 * Invariants: a buffer that is assigned has one chain of versions, and its newest one is an output; no output is just
 * an older version of such a buffer. Tests: tests/unit/graphs.c */
#include "graphs.h"
#include "unit/irtest.h"

#include <math.h>

enum { POOL = 256 };
struct gval {
    const uop *n;
    double mag; /* |x| is at most about this */
    bool used;
};
struct gen {
    struct ir *ir;
    struct shapes shapes;
    struct rnd r;
    struct graph_gen o;
    struct gval v[POOL];
    uint32_t count, buffers, vars;
    struct {
        const uop *now; /* newest version */
        double mag;
        bool assigned;
    } buffer[16];
};

/* ---- small things ----------------------------------------------------------------------------------- */

static bool chance(struct gen *g, uint32_t percent) { return rnd_below(&g->r, 100) < percent; }
static const struct shape *shape(struct gen *g, const uop *n) { return shape_of(&g->shapes, n); }
static enum dtype dt_of(const struct gval *v) { return (enum dtype)v->n->dt; }

/* The greatest magnitude that steps aim at: integers up to here are exact, with room for a few more digits. */
static double limit_of(const struct gen *g, enum dtype dt) {
    if (!g->o.exact && dt_is_float(dt)) return dt == DT_F16 ? 100 : 1000;
    switch (dt) {
    case DT_BOOL: return 1;
    case DT_I8:
    case DT_U8:
    case DT_BF16: return 64;
    case DT_F16: return 1024;
    case DT_I16:
    case DT_U16: return 4096;
    default: return 0x1p20;
    }
}

static struct gval make(const uop *n, double mag) { return (struct gval){.n = n, .mag = mag}; }

static struct gval add(struct gen *g, struct gval v) {
    v.used = false;
    if (g->count < POOL && shape_size(shape(g, v.n)) <= g->o.max_elements) g->v[g->count++] = v;
    return v;
}

/* A value of the pool; the newer the likelier. */
static struct gval pick(struct gen *g) {
    uint32_t a = rnd_below(&g->r, g->count), b = rnd_below(&g->r, g->count);
    struct gval *v = &g->v[RG_MAX(a, b)];
    v->used = true;
    return *v;
}

static struct gval constant(struct gen *g, enum dtype dt) {
    int64_t k = rnd_range(&g->r, 1, 3);
    double x = g->o.exact ? (double)k : (double)rnd_range(&g->r, 1, 31) / 16;
    if (dt == DT_BOOL) return make(uop_int(g->ir, dt, k & 1), 1);
    if (dtype_info[dt].kind != DK_UINT && chance(g, 40)) x = -x, k = -k;
    return dt_is_float(dt) ? make(uop_flt(g->ir, dt, x), fabs(x))
                           : make(uop_int(g->ir, dt, k), fabs((double)k));
}

static enum dtype random_dt(struct gen *g) {
    static const enum dtype few[] = {DT_F32, DT_F32, DT_F32, DT_I32};
    static const enum dtype all[] = {DT_F32, DT_F32, DT_F32, DT_F16, DT_BF16, DT_F64, DT_I32,
                                     DT_I64, DT_I8,  DT_I16, DT_U8,  DT_U16,  DT_U32, DT_U64};
    return g->o.all_dtypes ? all[rnd_below(&g->r, RG_COUNT(all))] : few[rnd_below(&g->r, RG_COUNT(few))];
}

/* ---- nodes ---------------------------------------------------------------------------------------------- */

static const uop *with_numbers(struct gen *g, enum op op, union arg arg, const uop *x, const int64_t *num,
                               uint32_t n) {
    const uop *src[2 + 3 * SHAPE_MAX] = {x};
    for (uint32_t i = 0; i < n; i++) src[1 + i] = uop_idx(g->ir, num[i]);
    return uop_mk(g->ir, op, src, 1 + n, arg);
}

static const uop *reshape(struct gen *g, const uop *x, const int64_t *d, uint32_t n) {
    return with_numbers(g, OP_RESHAPE, ARG_NONE, x, d, n);
}
static const uop *expand(struct gen *g, const uop *x, const struct shape *s) {
    return with_numbers(g, OP_EXPAND, ARG_NONE, x, s->d, s->n);
}
static const uop *reduce(struct gen *g, enum op op, const uop *x, const int64_t *axes, uint32_t n) {
    return with_numbers(g, OP_REDUCE_AXES, ARG_INT(op), x, axes, n);
}

/* Brings |x| down to at most `most` (an integer >= 1). */
static struct gval tame(struct gen *g, struct gval v, double most) {
    enum dtype dt = dt_of(&v);
    if (v.mag <= most || dt == DT_BOOL) return v;
    const uop *hi = uop_int(g->ir, dt, (int64_t)most), *lo = uop_int(g->ir, dt, -(int64_t)most);
    bool is_unsigned = dtype_info[dt].kind == DK_UINT;
    if (!dt_is_float(dt) && most > 2 && chance(g, 50)) return make(uop2(g->ir, OP_MOD, v.n, hi), most);
    const uop *n = uop2(g->ir, OP_MIN, v.n, hi);
    return make(is_unsigned ? n : uop2(g->ir, OP_MAX, n, lo), most);
}

static struct gval cast(struct gen *g, struct gval v, enum dtype dt) {
    if (dt_of(&v) == dt) return v;
    if (dt != DT_BOOL) v = tame(g, v, limit_of(g, dt));
    bool negative = dtype_info[dt].kind == DK_UINT && !dt_is_float(dt_of(&v));
    double wraps = negative ? ldexp(1, 8 * dtype_info[dt].bytes) : v.mag; /* -1 becomes the greatest */
    return make(uop_cast(g->ir, v.n, dt), dt == DT_BOOL ? 1 : wraps);
}

static struct gval binary(struct gen *g, enum op op, struct gval a, struct gval b) {
    enum dtype dt = dt_of(&a);
    double top = limit_of(g, dt), mag;
    if (op == OP_MUL && a.mag * b.mag > top)
        a = tame(g, a, floor(fmax(1, sqrt(top)))), b = tame(g, b, floor(fmax(1, sqrt(top))));
    if (a.mag + b.mag > top && op != OP_MUL) a = tame(g, a, top / 2), b = tame(g, b, top / 2);
    switch (op) {
    case OP_ADD:
    case OP_SUB: mag = a.mag + b.mag; break;
    case OP_MUL: mag = a.mag * b.mag; break;
    default: mag = RG_MAX(a.mag, b.mag);
    }
    if (dtype_info[dt].kind == DK_UINT && op == OP_SUB) mag = ldexp(1, 8 * dtype_info[dt].bytes);
    return make(uop2(g->ir, op, a.n, b.n), dt == DT_BOOL ? 1 : mag);
}

/* Sum over n elements without leaving the exact integers. */
static struct gval summed(struct gen *g, enum op op, struct gval v, const int64_t *axes, uint32_t k) {
    const struct shape *s = shape(g, v.n);
    double n = 1, top = limit_of(g, dt_of(&v));
    for (uint32_t i = 0; i < k; i++) n *= (double)s->d[axes[i]];
    if (op == OP_ADD && v.mag * n > top) {
        v = tame(g, v, RG_MAX(1, floor(top / n)));
        if (g->o.exact && v.mag * n > top && dt_of(&v) != DT_BOOL) v = cast(g, v, DT_F32);
    }
    if (op == OP_MUL) v = tame(g, v, 1);
    double mag = op == OP_ADD && dt_of(&v) != DT_BOOL ? v.mag * n : v.mag;
    return make(reduce(g, op, v.n, axes, k), mag);
}

/* v with another shape of rank 0, or the shape `to`: broadcast where that is possible, else reduced to one number. */
static struct gval fit(struct gen *g, struct gval v, const struct shape *to) {
    const struct shape *s = shape(g, v.n);
    enum dtype dt = dt_of(&v);
    if (s == to || s->n == 0) return v;
    bool fits = s->n <= to->n;
    for (uint32_t i = 0; i < s->n && fits; i++) fits = s->d[i] == 1 || s->d[i] == to->d[to->n - s->n + i];
    if (fits) {
        int64_t d[SHAPE_MAX];
        for (uint32_t i = 0; i < to->n; i++) d[i] = i + s->n < to->n ? 1 : s->d[i + s->n - to->n];
        v.n = expand(g, s->n == to->n ? v.n : reshape(g, v.n, d, to->n), to);
        return v;
    }
    int64_t axes[SHAPE_MAX];
    for (uint32_t i = 0; i < s->n; i++) axes[i] = i;
    v = summed(g, chance(g, 50) ? OP_ADD : OP_MAX, v, axes, s->n);
    v.n = reshape(g, v.n, NULL, 0);
    return cast(g, v, dt);
}

/* A second operand for v: same dtype, a shape that broadcasts. */
static struct gval partner(struct gen *g, const struct gval *v) {
    if (chance(g, 20)) return constant(g, dt_of(v));
    return fit(g, cast(g, pick(g), dt_of(v)), shape(g, v->n));
}

/* ---- leaves --------------------------------------------------------------------------------------------- */

static void new_buffer(struct gen *g, enum dtype dt, const int64_t *d, uint32_t n) {
    const uop *src[SHAPE_MAX];
    if (g->buffers == RG_COUNT(g->buffer)) return;
    for (uint32_t i = 0; i < n; i++) src[i] = uop_idx(g->ir, d[i]);
    const uop *b = uop_new(g->ir, OP_BUFFER, dt, 1, src, n, ARG_INT(g->buffers));
    double mag = dt == DT_BOOL ? 1 : 4;
    g->buffer[g->buffers].now = b, g->buffer[g->buffers++].mag = mag;
    add(g, make(b, mag));
}

static void first_buffers(struct gen *g) {
    static const int64_t sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 17, 32, 33, 64, 100, 256};
    int64_t d[4], size = 1;
    uint32_t n = 1 + rnd_below(&g->r, 4), k = 2 + rnd_below(&g->r, 3);
    for (uint32_t i = 0; i < n; i++) {
        d[i] = sizes[rnd_below(&g->r, n > 2 ? 12 : RG_COUNT(sizes))];
        if (size * d[i] > g->o.max_elements) d[i] = 2;
        if (size * d[i] > g->o.max_elements) d[i] = 1;
        size *= d[i];
    }
    for (uint32_t i = 0; i < k; i++) { /* the same shape, or one that broadcasts to it */
        int64_t e[4];
        uint32_t skip = i && chance(g, 25) ? rnd_below(&g->r, n) : 0;
        for (uint32_t j = skip; j < n; j++) e[j - skip] = i && chance(g, 20) ? 1 : d[j];
        new_buffer(g, i && chance(g, 10) ? DT_BOOL : random_dt(g), e, n - skip);
    }
}

static const uop *new_var(struct gen *g, enum dtype dt, int64_t lo, int64_t hi) {
    char name[16];
    snprintf(name, sizeof name, "v%u", g->vars);
    return test_var(g->ir, dt, g->vars++, name, lo, hi);
}

/* 0, 1, 2 .. along one axis of v's shape, as i32. */
static struct gval ramp(struct gen *g, const struct shape *s, uint32_t axis) {
    int64_t d[SHAPE_MAX];
    const uop *size = uop_idx(g->ir, s->d[axis]);
    for (uint32_t i = 0; i < s->n; i++) d[i] = i == axis ? s->d[i] : 1;
    const uop *iota = uop_new(g->ir, OP_IOTA, DT_I32, 1, &size, 1, ARG_NONE);
    return make(expand(g, reshape(g, iota, d, s->n), s), (double)s->d[axis]);
}

/* ---- steps: elementwise ------------------------------------------------------------------------------------- */

static void step_unary_exact(struct gen *g, struct gval v) {
    enum dtype dt = dt_of(&v);
    if (dt == DT_BOOL)
        v.n = uop1(g->ir, OP_NOT, v.n);
    else if (dt_is_float(dt))
        v.n = uop1(g->ir, (enum op[]){OP_NEG, OP_ABS, OP_FLOOR, OP_TRUNC}[rnd_below(&g->r, 4)], v.n);
    else if (dtype_info[dt].kind == DK_UINT)
        v = binary(g, OP_MUL, v, make(uop_int(g->ir, dt, 2), 2));
    else
        v.n = uop1(g->ir, chance(g, 50) ? OP_NEG : OP_ABS, v.n);
    add(g, v);
}

static void step_unary(struct gen *g) {
    static const struct {
        enum op op;
        double from, mag; /* greatest argument, greatest result */
        int positive;     /* 1: |x| + 1/4 first */
    } row[] = {
        {OP_EXP, 5, 150, 0},     {OP_EXP2, 7, 128, 0},  {OP_LOG, 1e3, 7, 1},     {OP_LOG2, 1e3, 10, 1},
        {OP_LOG10, 1e3, 3, 1},   {OP_SQRT, 1e3, 32, 1}, {OP_RSQRT, 1e3, 2, 1},   {OP_RECIP, 1e3, 4, 1},
        {OP_SIN, 1e3, 1, 0},     {OP_COS, 1e3, 1, 0},   {OP_TANH, 1e3, 1, 0},    {OP_ERF, 1e3, 1, 0},
        {OP_SIGMOID, 1e3, 1, 0}, {OP_TAN, 1, 2, 0},     {OP_ROUND, 1e3, 1e3, 0}, {OP_CEIL, 1e3, 1e3, 0},
    };
    struct gval v = pick(g);
    enum dtype dt = dt_of(&v);
    if (g->o.exact || !dt_is_float(dt) || chance(g, 20)) {
        step_unary_exact(g, v);
        return;
    }
    uint32_t k = rnd_below(&g->r, RG_COUNT(row));
    if (row[k].positive) {
        v.n = uop2(g->ir, OP_ADD, uop1(g->ir, OP_ABS, v.n), uop_flt(g->ir, dt, 0.25));
        v.mag += 0.25;
    }
    v = tame(g, v, row[k].from);
    add(g, make(uop1(g->ir, row[k].op, v.n), RG_MIN(row[k].mag, limit_of(g, dt))));
}

static void step_binary(struct gen *g) {
    static const enum op num[] = {OP_ADD, OP_ADD, OP_SUB, OP_MUL, OP_MUL, OP_MAX, OP_MIN};
    static const enum op bits[] = {OP_AND, OP_OR, OP_XOR};
    struct gval a = pick(g), b = partner(g, &a);
    enum dtype dt = dt_of(&a);
    if (chance(g, 30)) {
        struct gval t = a;
        a = b, b = t;
    }
    if (dt == DT_BOOL || (!dt_is_float(dt) && chance(g, 15))) {
        double mag = dt == DT_BOOL ? 1 : ldexp(1, 8 * dtype_info[dt].bytes - 1);
        if (a.mag <= 1024 && b.mag <= 1024 && dt != DT_BOOL) mag = 2048;
        add(g, make(uop2(g->ir, bits[rnd_below(&g->r, 3)], a.n, b.n), mag));
    } else if (!dt_is_float(dt) && chance(g, 15)) {
        add(g, make(uop2(g->ir, chance(g, 50) ? OP_IDIV : OP_MOD, a.n, b.n), RG_MAX(a.mag, b.mag)));
    } else if (dt_is_float(dt) && !g->o.exact && chance(g, 12)) {
        b.n = uop2(g->ir, OP_ADD, uop1(g->ir, OP_ABS, b.n), uop_flt(g->ir, dt, 0.5));
        if (chance(g, 30)) {
            b = tame(g, b, 4);
            add(g, make(uop2(g->ir, OP_POW, b.n, uop_flt(g->ir, dt, 1.5)), 8));
            return;
        }
        add(g, make(uop2(g->ir, OP_FDIV, a.n, b.n), a.mag * 2));
    } else {
        add(g, binary(g, num[rnd_below(&g->r, RG_COUNT(num))], a, b));
    }
}

static struct gval mask(struct gen *g, const struct shape *s) {
    static const enum op cmp[] = {OP_LT, OP_LE, OP_EQ, OP_NE};
    enum op op = cmp[rnd_below(&g->r, 4)];
    if (s->n && chance(g, 40)) { /* along an axis, against a number or a VAR */
        uint32_t axis = rnd_below(&g->r, s->n);
        struct gval i = ramp(g, s, axis);
        const uop *edge = g->o.vars && chance(g, 40)
                              ? new_var(g, DT_I32, 0, s->d[axis])
                              : uop_int(g->ir, DT_I32, rnd_range(&g->r, 0, s->d[axis]));
        return make(uop2(g->ir, op, i.n, edge), 1);
    }
    struct gval a = fit(g, pick(g), s), b = partner(g, &a);
    if (dt_is_float(dt_of(&a)) && !g->o.exact) op = op == OP_EQ ? OP_LT : op == OP_NE ? OP_LE : op;
    return make(uop2(g->ir, op, a.n, b.n), 1);
}

static void step_where(struct gen *g) {
    struct gval a = pick(g), b = partner(g, &a);
    struct gval m = mask(g, shape(g, a.n));
    if (chance(g, 20)) add(g, m);
    add(g, make(uop3(g->ir, OP_WHERE, m.n, a.n, b.n), RG_MAX(a.mag, b.mag)));
}

static void step_cast(struct gen *g) {
    struct gval v = pick(g);
    add(g, cast(g, v, chance(g, 15) ? DT_BOOL : random_dt(g)));
}

static void step_var(struct gen *g) {
    struct gval v = pick(g);
    if (!g->o.vars || dt_of(&v) == DT_BOOL) return;
    struct gval x = cast(g, make(new_var(g, DT_I32, 1, 3), 3), dt_of(&v));
    add(g, binary(g, OP_MUL, v, x));
}

/* ---- steps: movement ------------------------------------------------------------------------------------------ */

static void step_reshape(struct gen *g) {
    struct gval v = pick(g);
    const struct shape *s = shape(g, v.n);
    int64_t d[SHAPE_MAX];
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        int64_t x = s->d[i], f = rnd_range(&g->r, 2, 4);
        if (n && chance(g, 40))
            d[n - 1] *= x; /* merge */
        else if (x % f == 0 && n < 6 && chance(g, 50))
            d[n++] = chance(g, 50) ? f : x / f, d[n] = x / d[n - 1], n++; /* split */
        else
            d[n++] = x;
    }
    if (n < 6 && chance(g, 30)) d[n++] = 1;
    if (n > 6) return;
    add(g, make(reshape(g, v.n, d, n), v.mag));
}

static void step_permute(struct gen *g) {
    struct gval v = pick(g);
    const struct shape *s = shape(g, v.n);
    int64_t axis[SHAPE_MAX];
    for (uint32_t i = 0; i < s->n; i++) axis[i] = i;
    for (uint32_t i = s->n; i-- > 1;) {
        uint32_t j = rnd_below(&g->r, i + 1);
        int64_t t = axis[i];
        axis[i] = axis[j], axis[j] = t;
    }
    add(g, make(with_numbers(g, OP_PERMUTE, ARG_NONE, v.n, axis, s->n), v.mag));
}

static void step_expand(struct gen *g) {
    struct gval v = pick(g);
    const struct shape *s = shape(g, v.n);
    int64_t d[SHAPE_MAX] = {0}, room = g->o.max_elements / RG_MAX(shape_size(s), 1);
    uint32_t n = 0;
    if (s->n < 5) d[n++] = 1; /* a new axis in front, or in the middle */
    for (uint32_t i = 0; i < s->n; i++) d[n++] = s->d[i];
    if (n > 1 && s->n < 5 && chance(g, 40)) d[0] = d[1], d[1] = 1;
    const uop *x = reshape(g, v.n, d, n);
    for (uint32_t i = 0; i < n; i++) {
        int64_t times = rnd_range(&g->r, 2, 5);
        if (d[i] == 1 && times <= room && chance(g, 70)) d[i] = times, room /= times;
    }
    add(g, make(with_numbers(g, OP_EXPAND, ARG_NONE, x, d, n), v.mag));
}

static void step_pad(struct gen *g) {
    struct gval v = pick(g), fill = constant(g, dt_of(&v));
    const struct shape *s = shape(g, v.n);
    const uop *src[2 + 3 * SHAPE_MAX] = {v.n, chance(g, 60) ? uop_int(g->ir, dt_of(&v), 0) : fill.n};
    int64_t size = shape_size(s);
    for (uint32_t i = 0; i < s->n; i++) {
        int64_t p[3] = {0};
        if (chance(g, 60)) p[0] = rnd_range(&g->r, 0, 2), p[1] = rnd_range(&g->r, 0, 2);
        if (chance(g, 15)) p[2] = rnd_range(&g->r, 1, 2);
        int64_t grown = s->d[i] ? size / s->d[i] * (s->d[i] * (1 + p[2]) + p[0] + p[1]) : 0;
        if (grown > g->o.max_elements) memset(p, 0, sizeof p), grown = size;
        size = grown;
        for (int k = 0; k < 3; k++) src[2 + 3 * i + k] = uop_idx(g->ir, p[k]);
    }
    add(g, make(uop_mk(g->ir, OP_PAD, src, 2 + 3 * s->n, ARG_NONE), RG_MAX(v.mag, fill.mag)));
}

/* start, size, step of a box inside s, from src[0] on; its shape in d. */
static void random_box(struct gen *g, const struct shape *s, const uop **src, int64_t *d) {
    for (uint32_t i = 0; i < s->n; i++) {
        int64_t step = chance(g, 25) ? rnd_range(&g->r, 2, 3) : 1, most = (s->d[i] + step - 1) / step;
        d[i] = s->d[i] ? rnd_range(&g->r, RG_MAX(1, most / 2), most) : 0;
        int64_t last = s->d[i] ? s->d[i] - 1 - (d[i] - 1) * step : 0; /* greatest start */
        src[3 * i] = g->o.vars && last > 0 && chance(g, 25) ? new_var(g, DT_IDX, 0, last)
                                                            : uop_idx(g->ir, rnd_range(&g->r, 0, last));
        src[3 * i + 1] = uop_idx(g->ir, d[i]);
        src[3 * i + 2] = uop_idx(g->ir, step);
    }
}

static void step_shrink(struct gen *g) {
    struct gval v = pick(g);
    const struct shape *s = shape(g, v.n);
    const uop *src[1 + 3 * SHAPE_MAX] = {v.n};
    int64_t d[SHAPE_MAX];
    random_box(g, s, src + 1, d);
    add(g, make(uop_mk(g->ir, OP_SHRINK, src, 1 + 3 * s->n, ARG_NONE), v.mag));
}

static void step_flip(struct gen *g) {
    struct gval v = pick(g);
    const struct shape *s = shape(g, v.n);
    int64_t axes[SHAPE_MAX];
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n; i++)
        if (chance(g, 50)) axes[n++] = i;
    if (n) add(g, make(with_numbers(g, OP_FLIP, ARG_NONE, v.n, axes, n), v.mag));
}

static void step_same(struct gen *g) {
    static const enum op same[] = {OP_CONTIGUOUS, OP_CONTIGUOUS, OP_DETACH, OP_INLINE};
    struct gval v = pick(g);
    if (chance(g, 25) &&
        dt_of(&v) != DT_BOOL) /* another value in the gradient pass, with the same gradient */
        v.n = uop2(g->ir, OP_GRAD_THROUGH, v.n, uop2(g->ir, OP_ADD, v.n, constant(g, dt_of(&v)).n));
    else
        v.n = uop1(g->ir, same[rnd_below(&g->r, RG_COUNT(same))], v.n);
    add(g, v);
}

/* Numbers of a UNFOLD or FOLD of a tensor whose last 2m axes are positions and windows. False: none fits. */
static bool window_numbers(struct gen *g, enum op op, const struct shape *s, uint32_t m, int64_t *num) {
    int64_t size = shape_size(s);
    if (!size) return false;
    for (uint32_t i = 0; i < m; i++) {
        int64_t n = s->d[s->n - 2 * m + i], reach = s->d[s->n - m + i] - 1, *p = num + 3 * i;
        p[1] = rnd_range(&g->r, 1, 3), p[2] = rnd_range(&g->r, 1, 3);
        if (op == OP_UNFOLD) {
            if (reach * p[2] >= n) p[2] = 1;
            if (reach * p[2] >= n) return false;
            p[0] = (n - 1 - reach * p[2]) / p[1] + 1;
            if (chance(g, 20)) p[0] = rnd_range(&g->r, 1, p[0]);
        } else {
            p[0] = (n - 1) * p[1] + reach * p[2] + 1 + (chance(g, 40) ? rnd_range(&g->r, 1, 2) : 0);
        }
        size = size / n * p[0];
    }
    return size <= 4 * g->o.max_elements;
}

/* v (.., p..) as (.., p.., k..), the same along k. */
static const uop *with_windows(struct gen *g, const uop *x, uint32_t m) {
    const struct shape *s = shape(g, x);
    int64_t d[SHAPE_MAX], wide[SHAPE_MAX];
    for (uint32_t i = 0; i < s->n + m; i++) {
        d[i] = i < s->n ? s->d[i] : 1;
        wide[i] = i < s->n ? s->d[i] : rnd_range(&g->r, 1, 4);
    }
    return with_numbers(g, OP_EXPAND, ARG_NONE, reshape(g, x, d, s->n + m), wide, s->n + m);
}

/* Windows, or their adjoint; times weights that depend on the position in the window, or on a channel before it too; and added over
 * the window: pooling, convolutions and their gradients. Sometimes only moved. */
static void step_windows(struct gen *g) {
    struct gval v = pick(g);
    uint32_t rank = shape(g, v.n)->n, m = rank > 1 && chance(g, 60) ? 2 : 1;
    enum op op = chance(g, 50) ? OP_UNFOLD : OP_FOLD;
    int64_t num[6], axes[SHAPE_MAX];
    if (!rank || rank > 4) return;
    if (rank < 2 * m || !chance(g, 20)) v.n = with_windows(g, v.n, m);
    const struct shape *s = shape(g, v.n);
    if (!window_numbers(g, op, s, m, num)) return;
    v.n = with_numbers(g, op, ARG_NONE, v.n, num, 3 * m);
    s = shape(g, v.n);
    if (chance(g, 50) &&
        dt_of(&v) != DT_BOOL) { /* weights: size 1 along all axes but windows and perhaps one */
        int64_t d[SHAPE_MAX], keep = rnd_below(&g->r, s->n);
        for (uint32_t i = 0; i < s->n; i++) d[i] = i >= s->n - m || i == keep ? s->d[i] : 1;
        new_buffer(g, dt_of(&v), d, s->n);
        struct gval w = g->v[g->count - 1];
        if (w.n == g->buffer[g->buffers - 1].now) v = binary(g, OP_MUL, v, make(expand(g, w.n, s), w.mag));
    }
    uint32_t n = 0;
    if (s->n > 2 * m && chance(g, 40)) axes[n++] = s->n - 2 * m - 1;
    for (uint32_t i = 0; i < m; i++) axes[n++] = s->n - m + i;
    add(g, chance(g, 85) ? summed(g, chance(g, 75) ? OP_ADD : OP_MAX, v, axes, n) : v);
}

/* ---- steps: reductions ------------------------------------------------------------------------------------------ */

static uint32_t random_axes(struct gen *g, const struct shape *s, int64_t *axes) {
    uint32_t n = 0;
    if (!s->n) return 0;
    for (uint32_t i = 0; i < s->n; i++)
        if (chance(g, 50)) axes[n++] = i;
    if (!n) axes[n++] = rnd_below(&g->r, s->n);
    return n;
}

static enum op random_combine(struct gen *g, const struct shape *s) {
    uint32_t k = rnd_below(&g->r, 10);
    if (!shape_size(s)) return OP_ADD;
    return k < 5 ? OP_ADD : k < 7 ? OP_MAX : k < 9 ? OP_MIN : OP_MUL;
}

static void step_reduce(struct gen *g) {
    struct gval v = pick(g);
    const struct shape *s = shape(g, v.n);
    int64_t axes[SHAPE_MAX];
    uint32_t n = random_axes(g, s, axes);
    if (!n) return;
    struct gval r = summed(g, random_combine(g, s), v, axes, n);
    if (chance(g, 40)) { /* and back: x - max, x / sum .. */
        struct gval whole = cast(g, v, dt_of(&r));
        r.n = expand(g, r.n, s);
        bool minus = dt_of(&r) != DT_BOOL && chance(g, 50);
        add(g, binary(g, minus ? OP_SUB : OP_MUL, whole, r));
    } else {
        if (chance(g, 30)) { /* the axes go */
            int64_t d[SHAPE_MAX];
            uint32_t left = 0;
            for (uint32_t i = 0, k = 0; i < s->n; i++)
                if (k < n && axes[k] == i)
                    k++;
                else
                    d[left++] = s->d[i];
            r.n = reshape(g, r.n, d, left);
        }
        add(g, r);
    }
}

static void step_scan(struct gen *g) {
    struct gval v = pick(g);
    const struct shape *s = shape(g, v.n);
    if (!s->n) return;
    int64_t axis = rnd_below(&g->r, s->n);
    enum op op = random_combine(g, s);
    double top = limit_of(g, dt_of(&v)), n = (double)s->d[axis];
    if (op == OP_ADD) v = tame(g, v, fmax(1, floor(top / fmax(n, 1))));
    if (op == OP_MUL) v = tame(g, v, 1);
    double mag = op == OP_ADD && dt_of(&v) != DT_BOOL ? v.mag * n : v.mag;
    add(g, make(with_numbers(g, OP_SCAN_AXIS, ARG_INT(op), v.n, &axis, 1), mag));
}

/* exp(x - max) / sum over the last axis; in exact mode the same chain without exp and division. */
static void step_softmax(struct gen *g) {
    struct gval v = cast(g, pick(g), DT_F32);
    const struct shape *s = shape(g, v.n);
    if (!s->n || !shape_size(s)) return;
    int64_t last = s->n - 1;
    v = tame(g, v, limit_of(g, DT_F32) / 4);
    struct gval m = make(expand(g, reduce(g, OP_MAX, v.n, &last, 1), s), v.mag);
    struct gval d = binary(g, OP_SUB, v, m);
    if (g->o.exact) {
        struct gval sum = summed(g, OP_ADD, d, &last, 1);
        sum.n = expand(g, sum.n, s);
        add(g, binary(g, OP_ADD, d, sum));
        return;
    }
    const uop *e = uop1(g->ir, OP_EXP, d.n);
    add(g, make(uop2(g->ir, OP_FDIV, e, expand(g, reduce(g, OP_ADD, e, &last, 1), s)), 1));
}

/* (x - mean) * rsqrt(variance + eps), over the last axis. */
static void step_layernorm(struct gen *g) {
    struct gval v = cast(g, pick(g), DT_F32);
    const struct shape *s = shape(g, v.n);
    if (g->o.exact || !s->n || !shape_size(s)) return;
    int64_t last = s->n - 1;
    const uop *part = uop_flt(g->ir, DT_F32, 1.0 / (double)s->d[last]);
    const uop *mean = uop2(g->ir, OP_MUL, reduce(g, OP_ADD, v.n, &last, 1), part);
    const uop *d = uop2(g->ir, OP_SUB, v.n, expand(g, mean, s));
    const uop *var = uop2(g->ir, OP_MUL, reduce(g, OP_ADD, uop2(g->ir, OP_MUL, d, d), &last, 1), part);
    const uop *scale = uop1(g->ir, OP_RSQRT, uop2(g->ir, OP_ADD, var, uop_flt(g->ir, DT_F32, 0.01)));
    add(g, make(uop2(g->ir, OP_MUL, d, expand(g, scale, s)), sqrt((double)s->d[last]) + 1));
}

/* Sum of a[.., m, k] * b[k, n] over k, as elementwise product and reduction; b is a buffer of its own. */
static void step_matmul(struct gen *g) {
    struct gval a = pick(g);
    const struct shape *s = shape(g, a.n);
    if (!s->n || s->n > 4 || dt_of(&a) == DT_BOOL || g->buffers == RG_COUNT(g->buffer)) return;
    int64_t k = s->d[s->n - 1], n = rnd_range(&g->r, 1, 9), rows = k ? shape_size(s) / k : 0;
    if (rows * n * k > 8 * g->o.max_elements || rows * n > g->o.max_elements || k * n > g->o.max_elements)
        return;
    bool transposed = chance(g, 50);
    new_buffer(g, dt_of(&a), transposed ? (int64_t[]){n, k} : (int64_t[]){k, n}, 2);
    struct gval b = g->v[g->count - 1];
    if (b.n != g->buffer[g->buffers - 1].now) return; /* the pool was full */
    if (transposed) b.n = with_numbers(g, OP_PERMUTE, ARG_NONE, b.n, (int64_t[]){1, 0}, 2);
    int64_t da[SHAPE_MAX], db[SHAPE_MAX], all[SHAPE_MAX];
    uint32_t r = s->n + 1;
    for (uint32_t i = 0; i < r; i++) {
        da[i] = i < s->n ? s->d[i] : 1, db[i] = 1;
        all[i] = i < s->n ? s->d[i] : n;
    }
    db[r - 2] = k, db[r - 1] = n;
    const struct shape *box = shape_make(&g->shapes, all, r);
    struct gval x = make(expand(g, reshape(g, a.n, da, r), box), a.mag);
    struct gval y = make(expand(g, reshape(g, b.n, db, r), box), b.mag), p = binary(g, OP_MUL, x, y);
    int64_t axis = r - 2;
    struct gval sum = summed(g, OP_ADD, p, &axis, 1);
    for (uint32_t i = 0; i + 2 < r; i++) all[i] = s->d[i];
    all[r - 2] = n;
    sum.n = reshape(g, sum.n, all, r - 1);
    add(g, sum);
}

/* ---- steps: indexing and stores ----------------------------------------------------------------------------------- */

/* Integers of shape d in 0 .. size-1: data modulo the size, or a ramp. */
static const uop *random_index(struct gen *g, const int64_t *d, uint32_t n, int64_t axis, int64_t size) {
    const struct shape *s = shape_make(&g->shapes, d, n);
    enum dtype dt = g->o.all_dtypes && chance(g, 30) ? DT_I64 : DT_I32;
    struct gval i = ramp(g, s, (uint32_t)axis);
    if (chance(g, 60) && g->buffers < RG_COUNT(g->buffer)) {
        new_buffer(g, dt, d, n);
        i = make(g->buffer[g->buffers - 1].now, 4);
    }
    i = cast(g, i, dt);
    return uop2(g->ir, OP_MOD, i.n, uop_int(g->ir, dt, size));
}

/* A full tensor of shape s. */
static const uop *filled(struct gen *g, struct gval v, const struct shape *s) {
    int64_t ones[SHAPE_MAX];
    if (shape(g, v.n) == s) return v.n;
    for (uint32_t i = 0; i < s->n; i++) ones[i] = 1;
    return expand(g, reshape(g, v.n, ones, s->n), s);
}

static void step_gather(struct gen *g) {
    struct gval v = pick(g);
    const struct shape *s = shape(g, v.n);
    if (!s->n || !shape_size(s) || g->o.no_index) return;
    int64_t d[SHAPE_MAX], axis = rnd_below(&g->r, s->n);
    for (uint32_t i = 0; i < s->n; i++) d[i] = chance(g, 70) ? s->d[i] : rnd_range(&g->r, 1, s->d[i]);
    const uop *index = random_index(g, d, s->n, axis, s->d[axis]);
    if (chance(g, 70)) {
        add(g, make(uop_mk(g->ir, OP_GATHER, (const uop *[]){v.n, index}, 2, ARG_INT(axis)), v.mag));
        return;
    }
    enum dtype dt = dt_of(&v); /* added at the index: at most all of one row to one element */
    double times = (double)d[axis], top = limit_of(g, dt);
    v = tame(g, v, fmax(1, floor(top / 2)));
    struct gval x = fit(g, cast(g, pick(g), dt), shape_make(&g->shapes, d, s->n));
    x = tame(g, x, fmax(1, floor(top / 2 / times)));
    if (g->o.exact && v.mag + x.mag * times > top)
        return; /* 16-bit floats would round in an order of their own */
    x.n = filled(g, x, shape_make(&g->shapes, d, s->n));
    const uop *n = uop_mk(g->ir, OP_SCATTER, (const uop *[]){v.n, index, x.n}, 3, ARG_INT(axis));
    add(g, make(n, dt == DT_BOOL ? 1 : v.mag + x.mag * times));
}

static void step_assign(struct gen *g) {
    if (!g->o.assigns || !g->buffers) return;
    uint32_t b = rnd_below(&g->r, g->buffers);
    const uop *to = g->buffer[b].now, *src[2 + 3 * SHAPE_MAX] = {to};
    const struct shape *s = shape(g, to), *box = s;
    uint32_t n = 2;
    if (s->n && chance(g, 50)) {
        int64_t d[SHAPE_MAX];
        random_box(g, s, src + 2, d);
        box = shape_make(&g->shapes, d, s->n), n = 2 + 3 * s->n;
    }
    struct gval v = fit(g, cast(g, pick(g), (enum dtype)to->dt), box);
    src[1] = filled(g, v, box);
    g->buffer[b].now = uop_mk(g->ir, OP_ASSIGN, src, n, ARG_NONE);
    g->buffer[b].mag = RG_MAX(g->buffer[b].mag, v.mag), g->buffer[b].assigned = true;
    if (chance(g, 60)) add(g, make(g->buffer[b].now, g->buffer[b].mag));
}

/* ---- programs --------------------------------------------------------------------------------------------------------- */

static void step(struct gen *g) {
    static const struct {
        void (*fn)(struct gen *);
        uint32_t weight;
    } row[] = {
        {step_unary, 14},    {step_binary, 22}, {step_where, 8},   {step_cast, 5},   {step_var, 2},
        {step_reshape, 6},   {step_permute, 6}, {step_expand, 5},  {step_pad, 5},    {step_shrink, 5},
        {step_flip, 3},      {step_same, 2},    {step_reduce, 12}, {step_scan, 2},   {step_softmax, 3},
        {step_layernorm, 2}, {step_matmul, 5},  {step_gather, 3},  {step_assign, 5}, {step_windows, 6},
    };
    uint32_t all = 0, k;
    for (size_t i = 0; i < RG_COUNT(row); i++) all += row[i].weight;
    k = rnd_below(&g->r, all);
    for (size_t i = 0; i < RG_COUNT(row); i++) {
        if (k < row[i].weight) {
            row[i].fn(g);
            return;
        }
        k -= row[i].weight;
    }
}

/* Just a buffer, or a view of one that is assigned: as an output it would be that memory, which has one value only. */
static bool is_memory(const struct gen *g, const uop *n) {
    bool whole = true;
    for (;; n = n->src[0]) {
        bool same =
            n->op == OP_CONTIGUOUS || n->op == OP_DETACH || n->op == OP_INLINE || n->op == OP_GRAD_THROUGH;
        if (!same && !op_is_movement((enum op)n->op)) break;
        whole &= same || n->op == OP_RESHAPE;
    }
    if (n->op == OP_ASSIGN) return true;
    return n->op == OP_BUFFER && (whole || g->buffer[n->arg.i].assigned);
}

static const uop *outputs(struct gen *g) {
    const uop *out[64];
    uint32_t n = 0, most = RG_MIN(g->o.max_outputs, 16u);
    for (uint32_t i = g->count; i-- > 0 && n < most;)
        if (!g->v[i].used && !is_memory(g, g->v[i].n)) out[n++] = g->v[i].n;
    if (n < most && g->count && chance(g, 30)) { /* one that others use too */
        struct gval v = pick(g);
        bool twice = is_memory(g, v.n);
        for (uint32_t i = 0; i < n; i++) twice |= out[i] == v.n;
        if (!twice) out[n++] = v.n;
    }
    for (uint32_t i = 0; i < g->buffers; i++)
        if (g->buffer[i].assigned) out[n++] = g->buffer[i].now;
    if (!n) out[n++] = uop2(g->ir, OP_MAX, g->v[0].n, constant(g, dt_of(&g->v[0])).n);
    return uop_mk(g->ir, OP_GRAPH, out, n, ARG_NONE);
}

const uop *graph_random(struct ir *ir, struct arena *a, uint64_t seed, const struct graph_gen *opts) {
    struct gen *g = arena_new(a, struct gen);
    g->ir = ir, g->r.s = hash_u64(seed + 1);
    if (opts) g->o = *opts;
    if (!g->o.min_ops) g->o.min_ops = 4;
    if (!g->o.max_ops) g->o.max_ops = RG_MAX(20, g->o.min_ops);
    if (!g->o.max_outputs) g->o.max_outputs = 3;
    if (!g->o.max_elements) g->o.max_elements = 4096;
    shapes_init(&g->shapes, ir, a);
    first_buffers(g);
    uint32_t n = (uint32_t)rnd_range(&g->r, g->o.min_ops, g->o.max_ops);
    for (uint32_t i = 0; i < n; i++) step(g);
    return outputs(g);
}

/* ---- data --------------------------------------------------------------------------------------------------------------- */

static void fill_buffer(struct arena *a, struct ref_buf *b, const uop *n, uint64_t seed, bool exact) {
    enum dtype dt = (enum dtype)n->dt;
    size_t size = dtype_info[dt].bytes, count = 1;
    for (uint32_t i = 0; i < n->nsrc; i++) count *= (size_t)n->src[i]->arg.i;
    if (b->p && b->bytes >= count * size) return; /* another view of the same memory */
    struct rnd r = {hash_u64(seed * 1000003 + (uint64_t)n->arg.i)};
    b->p = arena_alloc(a, RG_MAX(count * size, 1)), b->bytes = count * size;
    int64_t lo = dtype_info[dt].kind == DK_UINT || dt == DT_BOOL ? 0 : -4;
    for (size_t i = 0; i < count; i++) {
        union ref_val v = {.i = rnd_range(&r, lo, dt == DT_BOOL ? 1 : 4)};
        if (dt_is_float(dt))
            v.f = exact ? (double)v.i : ref_round(dt, (double)rnd_range(&r, -4000, 4000) / 1024);
        ref_write(dt, (char *)b->p + i * size, v);
    }
}

static void fill_var(int64_t *to, const uop *n, uint64_t seed) {
    enum dtype dt = (enum dtype)n->dt;
    struct rnd r = {hash_u64(seed * 999983 + n->arg.param.slot + 77)};
    const uop *lo = n->src[0], *hi = n->src[1];
    if (dt_is_float(dt))
        ref_write(dt, to, (union ref_val){.f = rnd_below(&r, 2) ? lo->arg.f : hi->arg.f});
    else
        *to = rnd_range(&r, lo->arg.i, hi->arg.i);
}

struct graph_data graph_fill(struct arena *a, struct ir *ir, const uop *graph, uint64_t seed, bool exact) {
    struct graph_data d = {0};
    uop_vec order = {0};
    (void)ir;
    uop_topo(a, &graph, 1, &order);
    for (uint32_t i = 0; i < order.n; i++) {
        const uop *n = order.p[i];
        if (n->op == OP_BUFFER) d.nbuf = RG_MAX(d.nbuf, (uint32_t)n->arg.i + 1);
        if (n->op == OP_VAR) d.nvar = RG_MAX(d.nvar, n->arg.param.slot + 1);
    }
    d.bufs = arena_array(a, struct ref_buf, d.nbuf);
    d.var = arena_array(a, int64_t, d.nvar + 1);
    for (uint32_t i = 0; i < order.n; i++) {
        if (order.p[i]->op == OP_BUFFER) fill_buffer(a, &d.bufs[order.p[i]->arg.i], order.p[i], seed, exact);
        if (order.p[i]->op == OP_VAR) fill_var(&d.var[order.p[i]->arg.param.slot], order.p[i], seed);
    }
    return d;
}

/* ---- comparison ----------------------------------------------------------------------------------------------------------- */

static bool same(const struct ref_tensor *w, int64_t i, double a, double b, union ref_val x,
                 union ref_val y) {
    if (!dt_is_float(w->dt)) return x.i == y.i;
    if (a == b || (isnan(a) && isnan(b))) return true;
    return w->bound && fabs(a - b) <= w->bound[i] * (1 + 1e-9);
}

static void say_where(struct str *why, const struct shape *s, int64_t i) {
    int64_t at[SHAPE_MAX];
    for (uint32_t k = s->n; k-- > 0;) at[k] = i % s->d[k], i /= s->d[k];
    str_addc(why, '[');
    for (uint32_t k = 0; k < s->n; k++) str_printf(why, "%s%lld", k ? ", " : "", (long long)at[k]);
    str_addc(why, ']');
}

bool graph_compare(struct str *why, const struct ref_tensor *want, const void *got, uint64_t *excluded,
                   uint64_t *compared) {
    int64_t n = shape_size(want->shape), wrong = 0;
    size_t size = dtype_info[want->dt].bytes;
    for (int64_t i = 0; i < n; i++) {
        if (want->unsure && want->unsure[i]) {
            if (excluded) ++*excluded;
            continue;
        }
        if (compared) ++*compared;
        union ref_val x = ref_read(want->dt, (char *)want->data + i * (int64_t)size);
        union ref_val y = ref_read(want->dt, (const char *)got + i * (int64_t)size);
        double a = ref_number(want->dt, x), b = ref_number(want->dt, y);
        if (same(want, i, a, b, x, y) || wrong++) continue;
        str_printf(why, "element ");
        say_where(why, want->shape, i);
        str_printf(why, " of a %s ", dtype_info[want->dt].name);
        shape_print(why, want->shape);
        str_printf(why, " is %.17g, expected %.17g", b, a);
        if (want->bound) str_printf(why, " within %g (off by %g)", want->bound[i], fabs(a - b));
    }
    if (wrong) str_printf(why, "; %lld of %lld elements are wrong", (long long)wrong, (long long)n);
    return !wrong;
}
