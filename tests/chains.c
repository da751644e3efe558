/* chains.c: see chains.h. */
#include "chains.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { VALUES = 400, LEAVES = 6, OUTS = 12, RANK = 6, CALLS = 4, LINE = 600, TEXT = 1 << 16 };

struct val {
    rg_tensor t;
    double mag, err; /* greatest |x|, or infinite; bound of the error, 0: exact, a whole number */
    bool kinked;     /* its gradient depends on what rounding leaves or decides */
    bool tracked;    /* leads to a leaf of floats */
    int dep[4];
    char line[LINE];
};

struct gen {
    uint64_t state;
    rg_ctx *c;
    int n, steps, leaves, inputs;
    bool jit, extreme, realize, again; /* again: parts are checkpoints, and nothing is assigned */
    bool once;                         /* gradients have no gradient */
    rg_dtype main;
    int64_t cap, size[5];
    struct val v[VALUES];
    int leaf[LEAVES];
    rg_dtype leaf_dt[LEAVES];
    int64_t leaf_dim[LEAVES][RANK];
    int leaf_rank[LEAVES];
    rg_tensor own[LEAVES], window; /* handles that stay */
    int out[OUTS], nout;
    bool grads[OUTS];
    int only;
};

/* ---- drawing ---- */

static uint64_t bits(struct gen *g) { return hash_u64(g->state += 0x9e3779b97f4a7c15u); }
static int64_t pick_int(struct gen *g, int64_t lo, int64_t hi) {
    return hi <= lo ? lo : lo + (int64_t)(bits(g) % (uint64_t)(hi - lo + 1));
}
static bool chance(struct gen *g, int percent) { return pick_int(g, 0, 99) < percent; }

static bool is_float(rg_dtype t) { return t == RG_F16 || t == RG_BF16 || t == RG_F32 || t == RG_F64; }
static bool is_unsigned(rg_dtype t) { return t >= RG_U8 && t <= RG_U64; }
static rg_dtype dt_of(const struct gen *g, int i) { return rg_dtype_of(g->v[i].t); }
/* Whole numbers that a float holds with room for a sum of two. */
static double limit(rg_dtype t) {
    return t == RG_F16                ? 512
           : t == RG_BF16             ? 64
           : t == RG_F32              ? 1 << 18
           : t == RG_F64              ? 1 << 30
           : t == RG_BOOL             ? 1
           : t == RG_I8 || t == RG_U8 ? 100
                                      : 30000;
}
static double eps(rg_dtype t) {
    return t == RG_F16 ? 1e-3 : t == RG_BF16 ? 8e-3 : t == RG_F32 ? 2.4e-7 : t == RG_F64 ? 1e-13 : 0;
}

struct dims {
    int64_t d[RANK + 2];
    int n;
};
static struct dims shape(const struct gen *g, int i) {
    struct dims s = {.n = (int)rg_rank(g->v[i].t)};
    rg_shape_of(g->v[i].t, s.d, RG_COUNT(s.d));
    return s;
}
static int64_t count(const struct dims *s) {
    int64_t n = 1;
    for (int i = 0; i < s->n; i++) n *= s->d[i];
    return n;
}
static rg_ints list(const struct dims *s) { return RG_LIST(s->d, (size_t)s->n); }
static const char *text(const struct dims *s) {
    static char slot[8][120];
    static int at;
    char *p = slot[at++ % 8];
    size_t k = 0;
    p[0] = 0;
    for (int i = 0; i < s->n; i++)
        k += (size_t)snprintf(p + k, 120 - k, "%s%lld", i ? ", " : "", (long long)s->d[i]);
    return p;
}

/* ---- values ---- */

/* A new value that is computed from a, b and c (-1: none). The text names it with %s. */
__attribute__((format(printf, 8, 9))) static int put(struct gen *g, rg_tensor t, double mag, double err,
                                                     int a, int b, int c, const char *format, ...) {
    va_list l;
    if (g->n == VALUES) return g->n - 1;
    struct val *v = &g->v[g->n];
    *v = (struct val){.t = t, .mag = mag, .err = err, .dep = {a, b, c, -1}};
    for (int i = 0; i < 3; i++)
        if (v->dep[i] >= 0) v->kinked |= g->v[v->dep[i]].kinked, v->tracked |= g->v[v->dep[i]].tracked;
    int k = snprintf(v->line, LINE, "rg_tensor v%d = ", g->n);
    va_start(l, format);
    vsnprintf(v->line + k, LINE - (size_t)k, format, l);
    va_end(l);
    v->tracked &= is_float(rg_dtype_of(t));
    if (!v->tracked) v->kinked = false;
    return g->n++;
}

/* Recent values are likelier. */
static int pick(struct gen *g) {
    return (int)(chance(g, 60) ? pick_int(g, RG_MAX(0, g->n - 6), g->n - 1) : pick_int(g, 0, g->n - 1));
}
static int pick_where(struct gen *g, bool exact, bool floats, int least_rank) {
    for (int k = 0; k < 12; k++) {
        int i = pick(g);
        if ((exact && g->v[i].err > 0) || (floats && !is_float(dt_of(g, i))) ||
            rg_rank(g->v[i].t) < least_rank)
            continue;
        if (dt_of(g, i) < RG_DTYPES) return i;
    }
    return -1;
}

static int clamped(struct gen *g, int i, double most) {
    const struct val *v = &g->v[i];
    rg_dtype dt = dt_of(g, i);
    if (v->mag <= most || dt == RG_BOOL) return i;
    double lo = is_unsigned(dt) ? 0 : -most;
    if (!is_float(dt))
        return put(g, rg_clamp(v->t, (int64_t)lo, (int64_t)most), most, v->err, i, -1, -1,
                   "rg_clamp(v%d, %g, %g);", i, lo, most);
    return put(g, rg_clamp(v->t, lo, most), most, v->err, i, -1, -1, "rg_clamp(v%d, %g, %g);", i, lo, most);
}

static int cast(struct gen *g, int i, rg_dtype dt) {
    if (dt_of(g, i) == dt) return i;
    bool from_float = is_float(dt_of(g, i));
    if (is_float(dt) || from_float) i = clamped(g, i, RG_MIN(limit(dt), limit(dt_of(g, i))));
    const struct val *v = &g->v[i];
    if (v->err > 0 && !is_float(dt)) return -1;
    double mag = is_float(dt)                        ? v->mag
                 : dt == RG_BOOL                     ? 1
                 : v->mag <= 100 && !is_unsigned(dt) ? v->mag
                                                     : INFINITY;
    return put(g, rg_cast(v->t, dt), mag, v->err > 0 ? v->err + eps(dt) * v->mag : 0, i, -1, -1,
               "rg_cast(v%d, %d);", i, (int)dt);
}

/* A value with the elements of i, again and again or cut off, in this shape. */
static int shaped(struct gen *g, int i, struct dims want) {
    struct dims s = shape(g, i);
    int64_t have = count(&s), need = count(&want);
    struct val v = g->v[i];
    if (!have && need) return -1;
    if (s.n == want.n && !memcmp(s.d, want.d, (size_t)s.n * sizeof *s.d)) return i;
    if (have == need)
        return put(g, rg_reshape(v.t, list(&want)), v.mag, v.err, i, -1, -1, "rg_reshape(v%d, RG_SHAPE(%s));",
                   i, text(&want));
    int64_t times = have ? (need + have - 1) / have : 1;
    rg_tensor flat = rg_reshape(v.t, RG_SHAPE(have));
    if (times > 1) flat = rg_repeat(flat, RG_INTS(times));
    int64_t from = pick_int(g, 0, have * times - need);
    return put(
        g, rg_reshape(rg_narrow(flat, 0, from, need), list(&want)), v.mag, v.err, i, -1, -1,
        "rg_reshape(rg_narrow(rg_repeat(rg_reshape(v%d, RG_SHAPE(-1)), RG_INTS(%lld)), 0, %lld, %lld), "
        "RG_SHAPE(%s));",
        i, (long long)times, (long long)from, (long long)need, text(&want));
}

/* Indices below n of this shape, from any exact value. */
static int indices(struct gen *g, struct dims want, int64_t n) {
    int i = pick_where(g, true, false, 0);
    if (i < 0 || n < 1) return -1;
    i = cast(g, i, RG_I64);
    if (i >= 0) i = shaped(g, i, want);
    if (i < 0) return -1;
    return put(g, rg_mod(g->v[i].t, n), (double)n, 0, i, -1, -1, "rg_mod(v%d, %lld);", i, (long long)n);
}

static int axis_of(struct gen *g, const struct dims *s) { return (int)pick_int(g, 0, s->n - 1); }

/* ---- movement ---- */

static void op_order(struct gen *g) {
    int i = pick(g);
    struct dims s = shape(g, i), a = {.n = s.n};
    for (int k = 0; k < s.n; k++) a.d[k] = k;
    for (int k = s.n - 1; k > 0; k--) {
        int64_t j = pick_int(g, 0, k), t = a.d[k];
        a.d[k] = a.d[j], a.d[j] = t;
    }
    put(g, rg_permute(g->v[i].t, list(&a)), g->v[i].mag, g->v[i].err, i, -1, -1,
        "rg_permute(v%d, RG_AXES(%s));", i, text(&a));
}

static void op_flip(struct gen *g) {
    int i = pick_where(g, false, false, 1);
    if (i < 0) return;
    struct dims s = shape(g, i);
    int a = axis_of(g, &s);
    put(g, rg_flip(g->v[i].t, RG_AXES(a)), g->v[i].mag, g->v[i].err, i, -1, -1, "rg_flip(v%d, RG_AXES(%d));",
        i, a);
}

static void op_slice(struct gen *g) {
    int i = pick_where(g, false, false, 1);
    if (i < 0) return;
    struct dims s = shape(g, i);
    rg_range part[RANK + 2];
    char words[LINE / 2];
    size_t k = 0;
    for (int a = 0; a < s.n; a++) {
        int64_t step = chance(g, 25) ? pick_int(g, 2, 3) : 1, n = s.d[a];
        part[a] = RG_WHOLE;
        if (n && chance(g, 50)) {
            int64_t from = pick_int(g, 0, (n - 1) / 2), to = pick_int(g, from + 1, n);
            part[a] = RG_STEP(from, to, step);
            if (chance(g, 20)) part[a] = RG_STEP(to - 1, from ? from - 1 : RG_END, -step);
        }
        k += (size_t)snprintf(words + k, sizeof words - k, "%s{%lld, %lld, %lld}", a ? ", " : "",
                              (long long)part[a].start, (long long)part[a].stop, (long long)part[a].step);
    }
    put(g, rg_slice(g->v[i].t, RG_PARTS(part, (size_t)s.n)), g->v[i].mag, g->v[i].err, i, -1, -1,
        "rg_slice(v%d, RG_SLICES(%s));", i, words);
}

static void op_window(struct gen *g) {
    int i = pick_where(g, false, false, 1);
    if (i < 0) return;
    struct dims s = shape(g, i);
    if (s.d[0] < 4) return;
    rg_range part[1] = {{.stop = s.d[0] - 3, .at = g->window}};
    put(g, rg_slice(g->v[i].t, RG_PARTS(part, 1)), g->v[i].mag, g->v[i].err, i, -1, -1,
        "rg_slice(v%d, RG_SLICES(RG_WINDOW(window, %lld)));", i, (long long)s.d[0] - 3);
}

static void op_reshape(struct gen *g) {
    int i = pick(g);
    struct dims s = shape(g, i), d = {.n = 0};
    for (int a = 0; a < s.n && d.n < RANK - 1; a++) {
        int64_t f = pick_int(g, 2, 4), x = s.d[a];
        if (d.n && chance(g, 40))
            d.d[d.n - 1] *= x;
        else if (x && x % f == 0 && chance(g, 50))
            d.d[d.n++] = f, d.d[d.n++] = x / f;
        else
            d.d[d.n++] = x;
    }
    if (d.n < RANK && chance(g, 25)) d.d[d.n++] = 1;
    if (count(&d) != count(&s) || d.n > RANK) return;
    shaped(g, i, d);
}

static void op_expand(struct gen *g) {
    int i = pick(g);
    struct dims s = shape(g, i), d = {.n = 0};
    if (s.n >= RANK) return;
    int at = (int)pick_int(g, 0, s.n);
    rg_tensor t = rg_unsqueeze(g->v[i].t, at);
    for (int a = 0; a <= s.n; a++) d.d[a] = a == at ? 1 : s.d[a < at ? a : a - 1];
    d.n = s.n + 1;
    for (int a = 0; a < d.n; a++) {
        int64_t times = pick_int(g, 1, 5);
        if (d.d[a] == 1 && count(&d) * times <= g->cap && chance(g, 70)) d.d[a] = times;
    }
    put(g, rg_expand(t, list(&d)), g->v[i].mag, g->v[i].err, i, -1, -1,
        "rg_expand(rg_unsqueeze(v%d, %d), RG_SHAPE(%s));", i, at, text(&d));
}

static void op_pad(struct gen *g) {
    int i = pick_where(g, false, false, 1);
    if (i < 0 || dt_of(g, i) == RG_BOOL) return;
    struct dims s = shape(g, i), p = {.n = 2 * s.n};
    int64_t more[2 * RANK + 4];
    char words[LINE / 2];
    size_t k = 0;
    bool negative = chance(g, 15), value = chance(g, 30) && !is_unsigned(dt_of(g, i));
    int64_t size = 1;
    (void)p;
    for (int a = 0; a < 2 * s.n; a++) {
        more[a] = chance(g, 50) ? pick_int(g, 0, 3) : 0;
        if (negative && s.d[a / 2] > 4 && a % 2) more[a] = -1;
        k += (size_t)snprintf(words + k, sizeof words - k, "%s%lld", a ? ", " : "", (long long)more[a]);
    }
    for (int a = 0; a < s.n; a++) size *= s.d[a] + more[2 * a] + more[2 * a + 1];
    if (size > g->cap) return;
    put(g, rg_pad(g->v[i].t, RG_LIST(more, 2 * (size_t)s.n), value ? -2 : 0), RG_MAX(g->v[i].mag, 2),
        g->v[i].err, i, -1, -1, "rg_pad(v%d, RG_INTS(%s), %d);", i, words, value ? -2 : 0);
}

static void op_cat(struct gen *g) {
    int i = pick_where(g, false, false, 1), j = pick(g);
    if (i < 0) return;
    struct dims s = shape(g, i);
    int a = axis_of(g, &s);
    bool stack = chance(g, 30) && s.n < RANK;
    if (chance(g, 30)) j = i;
    if (2 * count(&s) > g->cap) return;
    struct dims want = s;
    if (!stack) want.d[a] = pick_int(g, 1, RG_MAX(1, RG_MIN(2 * s.d[a], 9)));
    if (j != i) j = shaped(g, j, want);
    if (j >= 0) j = cast(g, j, dt_of(g, i));
    if (j < 0) return;
    const struct val *v = &g->v[i], *w = &g->v[j];
    rg_tensor t = stack ? rg_stack(RG_TENSORS(v->t, w->t), a) : rg_cat(RG_TENSORS(v->t, w->t, v->t), a);
    double mag = RG_MAX(v->mag, w->mag), err = RG_MAX(v->err, w->err);
    if (stack)
        put(g, t, mag, err, i, j, -1, "rg_stack(RG_TENSORS(v%d, v%d), %d);", i, j, a);
    else
        put(g, t, mag, err, i, j, -1, "rg_cat(RG_TENSORS(v%d, v%d, v%d), %d);", i, j, i, a);
}

static void op_move(struct gen *g) {
    int i = pick_where(g, false, false, 1);
    if (i < 0) return;
    struct dims s = shape(g, i);
    const struct val *v = &g->v[i];
    int a = axis_of(g, &s);
    int64_t n = pick_int(g, 1, 3), size = s.d[a];
#define MOVED(f, ...) put(g, f, v->mag, v->err, i, -1, -1, __VA_ARGS__)
    switch (pick_int(g, 0, 9)) {
    case 0:
        MOVED(rg_roll(v->t, RG_INTS(n), RG_AXES(a)), "rg_roll(v%d, RG_INTS(%lld), RG_AXES(%d));", i,
              (long long)n, a);
        break;
    case 1:
        if (count(&s) * n <= g->cap)
            MOVED(rg_repeat_interleave(v->t, n, a), "rg_repeat_interleave(v%d, %lld, %d);", i, (long long)n,
                  a);
        break;
    case 2:
        if (s.n > 1 && dt_of(g, i) != RG_BOOL)
            MOVED(rg_tril(v->t, n - 2), "rg_tril(v%d, %lld);", i, (long long)n - 2);
        break;
    case 3:
        if (s.n > 1 && dt_of(g, i) != RG_BOOL)
            MOVED(rg_triu(v->t, n - 2), "rg_triu(v%d, %lld);", i, (long long)n - 2);
        break;
    case 4:
        if (s.n > 1)
            MOVED(rg_diagonal(v->t, 0, a, (a + 1) % s.n), "rg_diagonal(v%d, 0, %d, %d);", i, a,
                  (a + 1) % s.n);
        break;
    case 5:
        if (size >= n && s.n < RANK && count(&s) * n <= g->cap)
            MOVED(rg_unfold(v->t, a, n, n > 1 ? n - 1 : 2), "rg_unfold(v%d, %d, %lld, %lld);", i, a,
                  (long long)n, (long long)(n > 1 ? n - 1 : 2));
        break;
    case 6:
        if (size) MOVED(rg_select(v->t, a, size - 1), "rg_select(v%d, %d, %lld);", i, a, (long long)size - 1);
        break;
    case 7: MOVED(rg_contiguous(v->t), "rg_contiguous(v%d);", i); break;
    case 8: MOVED(rg_squeeze(v->t, RG_ALL), "rg_squeeze(v%d, RG_ALL);", i); break;
    default: MOVED(rg_transpose(v->t, a, -1), "rg_transpose(v%d, %d, -1);", i, a); break;
    }
}

/* ---- elementwise ---- */

static void op_unary(struct gen *g) {
    int i = pick(g);
    if (dt_of(g, i) == RG_BOOL) {
        put(g, rg_logical_not(g->v[i].t), 1, 0, i, -1, -1, "rg_logical_not(v%d);", i);
        return;
    }
    bool floats = is_float(dt_of(g, i));
    int kind = (int)pick_int(g, 0, 5);
    double mag = floats ? g->v[i].mag : INFINITY, err = g->v[i].err;
    bool kink = err > 0;
    rg_tensor t = g->v[i].t;
    int k = -1;
    switch (kind) {
    case 0: put(g, rg_neg(t), mag, err, i, -1, -1, "rg_neg(v%d);", i); return;
    case 1: k = put(g, rg_abs(t), mag, err, i, -1, -1, "rg_abs(v%d);", i); break;
    case 2: k = put(g, rg_relu(t), mag, err, i, -1, -1, "rg_relu(v%d);", i); break;
    case 3:
        if (err == 0) put(g, rg_sign(t), 1, 0, i, -1, -1, "rg_sign(v%d);", i);
        return;
    case 4:
        i = floats ? clamped(g, i, sqrt(limit(dt_of(g, i)))) : i;
        mag = g->v[i].mag;
        put(g, rg_square(g->v[i].t), floats ? mag * mag : INFINITY,
            err > 0 ? 2 * mag * err + eps(dt_of(g, i)) * mag * mag : 0, i, -1, -1, "rg_square(v%d);", i);
        return;
    default:
        if (err > 0) return;
        if (floats)
            put(g, rg_isfinite(t), 1, 0, i, -1, -1, "rg_isfinite(v%d);", i);
        else
            put(g, rg_bitwise_not(t), INFINITY, 0, i, -1, -1, "rg_bitwise_not(v%d);", i);
        return;
    }
    g->v[k].kinked |= kink && g->v[k].tracked;
}

/* Functions that round; their greatest slope. */
static void op_smooth(struct gen *g) {
    static const struct {
        const char *name;
        rg_tensor (*fn)(rg_tensor);
        double from, mag, slope;
    } row[] = {{"rg_exp", rg_exp, 3, 21, 21},         {"rg_tanh", rg_tanh, 1e9, 1, 1},
               {"rg_sigmoid", rg_sigmoid, 1e9, 1, 1}, {"rg_gelu", rg_gelu, 8, 8, 2},
               {"rg_silu", rg_silu, 8, 8, 2},         {"rg_sin", rg_sin, 100, 1, 1},
               {"rg_erf", rg_erf, 100, 1, 2},         {"rg_softplus", rg_softplus, 8, 9, 1},
               {"rg_exp2", rg_exp2, 4, 16, 12},       {"rg_gelu_tanh", rg_gelu_tanh, 8, 8, 2}};
    int i = pick_where(g, false, true, 0), k = (int)pick_int(g, 0, RG_COUNT(row) - 1);
    if (i < 0) return;
    i = clamped(g, i, RG_MIN(row[k].from, limit(dt_of(g, i))));
    put(g, row[k].fn(g->v[i].t), row[k].mag, row[k].slope * g->v[i].err + 4 * eps(dt_of(g, i)) * row[k].mag,
        i, -1, -1, "%s(v%d);", row[k].name, i);
}

/* Of j what broadcasts with i, in i's dtype. */
static int beside(struct gen *g, int i) {
    int j = chance(g, 10) ? i : pick(g);
    struct dims s = shape(g, i), want = s;
    if (j == i) return i;
    for (int a = 0; a < s.n; a++)
        if (chance(g, 25) && s.d[a]) want.d[a] = 1;
    if (s.n && chance(g, 15)) {
        memmove(want.d, want.d + 1, (size_t)(s.n - 1) * sizeof *want.d);
        want.n--;
    }
    j = shaped(g, j, want);
    return j < 0 ? -1 : cast(g, j, dt_of(g, i));
}

static void op_binary(struct gen *g) {
    int i = pick(g), j = beside(g, i), k = -1;
    if (j < 0) return;
    rg_dtype dt = dt_of(g, i);
    bool floats = is_float(dt), swap = chance(g, 30);
    int kind = (int)pick_int(g, 0, 7);
    if (floats && kind < 3) {
        double most = kind < 2 ? limit(dt) / 2 : sqrt(limit(dt));
        i = clamped(g, i, most), j = clamped(g, j, most);
    }
    if (swap) k = i, i = j, j = k;
    struct val v = g->v[i], w = g->v[j];
    double sum = floats ? v.mag + w.mag : INFINITY, prod = floats ? v.mag * w.mag : INFINITY,
           err = v.err + w.err, off = err > 0 ? eps(dt) : 0;
#define BOTH(f, m, e) put(g, f(v.t, w.t), m, e, i, j, -1, #f "(v%d, v%d);", i, j)
    switch (kind) {
    case 0: BOTH(rg_add, sum, err + off * sum); return;
    case 1:
        if (dt != RG_BOOL) BOTH(rg_sub, sum, err + off * sum);
        return;
    case 2: BOTH(rg_mul, prod, v.err * w.mag + w.err * v.mag + off * prod); return;
    case 3: k = BOTH(rg_maximum, RG_MAX(v.mag, w.mag), RG_MAX(v.err, w.err)); break;
    case 4: k = BOTH(rg_minimum, RG_MAX(v.mag, w.mag), RG_MAX(v.err, w.err)); break;
    case 5:
        if (err == 0) chance(g, 50) ? BOTH(rg_lt, 1, 0) : BOTH(rg_eq, 1, 0);
        return;
    case 6:
        if (err > 0) return;
        if (floats || dt == RG_BOOL)
            BOTH(rg_ne, 1, 0);
        else
            chance(g, 50) ? BOTH(rg_bitwise_xor, INFINITY, 0) : BOTH(rg_bitwise_and, INFINITY, 0);
        return;
    default:
        if (err > 0 || dt == RG_BOOL) return;
        i = clamped(g, i, limit(dt)), j = clamped(g, j, limit(dt) - 1);
        put(g, rg_mod(g->v[i].t, rg_add(rg_abs(g->v[j].t), 1)), INFINITY, 0, i, j, -1,
            "rg_mod(v%d, rg_add(rg_abs(v%d), 1));", i, j);
        return;
    }
    g->v[k].kinked |= err > 0 && g->v[k].tracked;
}

/* Operands of two dtypes meet in a third, perhaps. */
static void op_mixed(struct gen *g) {
    int i = pick(g), j = shaped(g, pick(g), shape(g, i));
    if (j < 0 || dt_of(g, i) == dt_of(g, j)) return;
    rg_dtype dt = rg_dtype_of(rg_add(g->v[i].t, g->v[j].t));
    bool floats = is_float(dt);
    int kind = (int)pick_int(g, 0, 3);
    double most = kind == 2 ? floor(sqrt(limit(dt))) : limit(dt) / 2;
    if (floats) {
        double x = limit(dt_of(g, i)), y = limit(dt_of(g, j));
        i = clamped(g, i, RG_MIN(most, x)), j = clamped(g, j, RG_MIN(most, y));
    }
    struct val v = g->v[i], w = g->v[j];
    double sum = floats ? v.mag + w.mag : INFINITY, prod = floats ? v.mag * w.mag : INFINITY,
           err = v.err + w.err, off = err > 0 ? 2 * eps(dt) : 0;
    switch (kind) {
    case 0: BOTH(rg_add, sum, err + off * sum); return;
    case 1: BOTH(rg_sub, sum, err + off * sum); return;
    case 2: BOTH(rg_mul, prod, v.err * w.mag + w.err * v.mag + off * prod); return;
    default:
        if (err == 0) BOTH(rg_le, 1, 0);
        return;
    }
}

static void op_divide(struct gen *g) {
    int i = pick_where(g, false, true, 0), j = i < 0 ? -1 : beside(g, i);
    if (j < 0) return;
    i = clamped(g, i, limit(dt_of(g, i))), j = clamped(g, j, limit(dt_of(g, i)) / 2);
    struct val v = g->v[i], w = g->v[j];
    int k = put(g, rg_div(v.t, rg_add(rg_abs(w.t), 1)), v.mag,
                v.err + v.mag * w.err + 4 * eps(dt_of(g, i)) * v.mag, i, j, -1,
                "rg_div(v%d, rg_add(rg_abs(v%d), 1));", i, j);
    g->v[k].kinked |= w.err > 0 && g->v[k].tracked;
}

static void op_where(struct gen *g) {
    int i = pick(g), j = beside(g, i), m = pick_where(g, true, false, 0);
    if (j < 0 || m < 0) return;
    m = shaped(g, m, shape(g, i));
    if (m < 0) return;
    m = cast(g, m, RG_BOOL);
    if (m < 0) return;
    struct val v = g->v[i], w = g->v[j];
    put(g, rg_where(g->v[m].t, v.t, w.t), RG_MAX(v.mag, w.mag), RG_MAX(v.err, w.err), i, j, m,
        "rg_where(v%d, v%d, v%d);", m, i, j);
}

static void op_cast(struct gen *g) {
    static const rg_dtype some[] = {RG_BOOL, RG_I8,  RG_I16,  RG_I32, RG_I64, RG_U8,
                                    RG_U32,  RG_F16, RG_BF16, RG_F32, RG_F32, RG_F64};
    int i = pick(g);
    cast(g, i, some[pick_int(g, 0, RG_COUNT(some) - 1)]);
}

/* ---- reductions, scans, sorts ---- */

static void op_reduce(struct gen *g) {
    int i = pick_where(g, false, false, 1);
    if (i < 0) return;
    struct dims s = shape(g, i);
    rg_dtype dt = dt_of(g, i);
    int a = axis_of(g, &s), b = axis_of(g, &s), kind = (int)pick_int(g, 0, 9), k = -1;
    bool keep = chance(g, 40), all = chance(g, 15), two = a != b && chance(g, 30);
    int64_t axes[2] = {a, b};
    rg_ints over = RG_LIST(axes, all ? 0 : two ? 2 : 1);
    if (!count(&s)) return;
    double n = all ? (double)count(&s) : (double)(s.d[a] * (two ? s.d[b] : 1));
    char how[80];
    snprintf(how, sizeof how, all ? "" : two ? ", RG_AXES(%d, %d)" : ", RG_AXES(%d)", a, b);
    if (is_float(dt) && kind < 2) i = clamped(g, i, RG_MAX(1, floor(limit(dt) / n)));
    if (is_float(dt) && kind == 2) i = clamped(g, i, limit(dt));
    struct val v = g->v[i];
    bool floats = is_float(dt);
    double off = v.err > 0 ? eps(dt) + eps(RG_F32) * 2 * sqrt(n) : 0;
#define REDUCED(f, m, e)                                                                 \
    put(g, f(v.t, .axes = over, .keep = keep), m, e, i, -1, -1, #f "(v%d%s%s);", i, how, \
        keep ? ", .keep = true" : "")
    switch (kind) {
    case 0:
    case 1: k = REDUCED(rg_sum, floats ? v.mag * n : INFINITY, n * v.err + off * v.mag * n); break;
    case 2:
        if (floats) REDUCED(rg_mean, v.mag, v.err + 4 * (eps(dt) + eps(RG_F32) * sqrt(n)) * v.mag);
        return;
    case 3: k = REDUCED(rg_max, v.mag, v.err); break;
    case 4: k = REDUCED(rg_min, v.mag, v.err); break;
    case 5:
        if (v.err == 0) chance(g, 50) ? REDUCED(rg_any, 1, 0) : REDUCED(rg_all, 1, 0);
        return;
    case 6:
    case 7:
        if (v.err > 0 || two || dt == RG_BOOL) return;
        if (chance(g, 50))
            REDUCED(rg_argmax, n, 0);
        else
            REDUCED(rg_argmin, n, 0);
        return;
    case 8:
        if (floats && v.err == 0) {
            v = g->v[i = clamped(g, i, 1)];
            REDUCED(rg_prod, 1, 0);
        }
        return;
    default:
        if (!floats || v.err > 0) return;
        v = g->v[i = clamped(g, i, RG_MIN(16, limit(dt)))];
        REDUCED(rg_logsumexp, v.mag + log(n), 4 * (eps(dt) + 4 * eps(RG_F32)) * (v.mag + log(n)));
        return;
    }
    if (kind > 2) g->v[k].kinked |= v.err > 0 && g->v[k].tracked;
}

static void op_scan(struct gen *g) {
    int i = pick_where(g, true, false, 1);
    if (i < 0 || dt_of(g, i) == RG_BOOL) return;
    struct dims s = shape(g, i);
    int a = axis_of(g, &s);
    rg_dtype dt = dt_of(g, i);
    bool floats = is_float(dt);
    double n = (double)s.d[a];
    switch (pick_int(g, 0, 4)) {
    case 0:
    case 1:
        if (floats) i = clamped(g, i, RG_MAX(1, floor(limit(dt) / RG_MAX(n, 1))));
        put(g, rg_cumsum(g->v[i].t, a), floats ? g->v[i].mag * n : INFINITY, 0, i, -1, -1,
            "rg_cumsum(v%d, %d);", i, a);
        return;
    case 2:
        if (floats) i = clamped(g, i, 1);
        put(g, rg_cumprod(g->v[i].t, a), floats ? 1 : INFINITY, 0, i, -1, -1, "rg_cumprod(v%d, %d);", i, a);
        return;
    case 3: put(g, rg_cummax(g->v[i].t, a), g->v[i].mag, 0, i, -1, -1, "rg_cummax(v%d, %d);", i, a); return;
    default: put(g, rg_cummin(g->v[i].t, a), g->v[i].mag, 0, i, -1, -1, "rg_cummin(v%d, %d);", i, a); return;
    }
}

static void op_sort(struct gen *g) {
    int i = pick_where(g, true, false, 1);
    if (i < 0 || dt_of(g, i) == RG_BOOL) return;
    struct dims s = shape(g, i);
    int a = axis_of(g, &s);
    bool other = chance(g, 50);
    const struct val *v = &g->v[i];
    int64_t n = s.d[a], most = chance(g, 50) ? 4 : 40, few = pick_int(g, 1, RG_MIN(n, most));
    if (!count(&s)) return;
    const char *word = other ? ", .descending = true" : "", *least = other ? ", .smallest = true" : "";
    switch (pick_int(g, 0, 3)) {
    case 0:
        put(g, rg_sort(v->t, a, .descending = other), v->mag, 0, i, -1, -1, "rg_sort(v%d, %d%s);", i, a,
            word);
        return;
    case 1:
        put(g, rg_argsort(v->t, a, .descending = other), (double)n, 0, i, -1, -1, "rg_argsort(v%d, %d%s);", i,
            a, word);
        return;
    case 2:
        put(g, rg_topk(v->t, few, a, .smallest = other), v->mag, 0, i, -1, -1, "rg_topk(v%d, %lld, %d%s);", i,
            (long long)few, a, least);
        return;
    default:
        put(g, rg_topk_index(v->t, few, a, .smallest = other), (double)n, 0, i, -1, -1,
            "rg_topk_index(v%d, %lld, %d%s);", i, (long long)few, a, least);
        return;
    }
}

/* ---- products, convolutions, pooling ---- */

/* Operands of a product of n terms whose sums stay exact. */
static void for_product(struct gen *g, int *i, int *j, double n) {
    double most = floor(sqrt(limit(RG_F32) / RG_MAX(n, 1)));
    most = RG_MAX(1, RG_MIN(most, limit(dt_of(g, *i))));
    *i = clamped(g, *i, most);
    *j = *j == *i ? *i : clamped(g, *j, most);
}

static int product(struct gen *g, rg_tensor t, int i, int j, double n, const char *format, ...) {
    const struct val v = g->v[i], w = g->v[j];
    va_list l;
    char line[LINE / 2];
    va_start(l, format);
    vsnprintf(line, sizeof line, format, l);
    va_end(l);
    rg_dtype dt = dt_of(g, i);
    double mag = n * v.mag * w.mag, err = n * (v.err * w.mag + w.err * v.mag);
    if (err > 0) err += (eps(dt) + eps(RG_F32) * sqrt(n)) * mag;
    int k = put(g, t, is_float(dt) ? mag : INFINITY, err, i, j, -1, "%s", line);
    return is_float(dt) ? clamped(g, k, limit(dt)) : k;
}

static void op_matmul(struct gen *g) {
    int i = pick_where(g, false, chance(g, 85), chance(g, 80) ? 2 : 1), j = pick(g);
    if (i < 0 || dt_of(g, i) == RG_BOOL) return;
    struct dims s = shape(g, i), want = s;
    if (s.n > 4 || !count(&s)) return;
    int64_t k = s.d[s.n - 1], n = g->size[pick_int(g, 0, 4)];
    bool same = s.n >= 2 && chance(g, 15);
    if (s.n == 1) want = (struct dims){{k, n}, 2};
    if (s.n > 1) want.d[s.n - 2] = k, want.d[s.n - 1] = n;
    if (s.n > 2 && chance(g, 40)) want = (struct dims){{k, n}, 2};
    if (count(&s) / k * n > g->cap || count(&want) > 2 * g->cap || (double)count(&s) * (double)n > 3e5)
        return;
    if (same && count(&s) / k * s.d[s.n - 2] > g->cap) return;
    if (same) {
        int t = put(g, rg_transpose(g->v[i].t, -2, -1), g->v[i].mag, g->v[i].err, i, -1, -1,
                    "rg_transpose(v%d, -2, -1);", i);
        for_product(g, &i, &t, (double)k);
        product(g, rg_matmul(g->v[i].t, g->v[t].t), i, t, (double)k, "rg_matmul(v%d, v%d);", i, t);
        return;
    }
    bool swapped = chance(g, 40);
    int64_t w = want.d[want.n - 1];
    if (swapped) want.d[want.n - 1] = want.d[want.n - 2], want.d[want.n - 2] = w;
    j = shaped(g, j, want);
    if (j >= 0) j = cast(g, j, dt_of(g, i));
    if (j < 0) return;
    if (swapped)
        j = put(g, rg_transpose(g->v[j].t, -2, -1), g->v[j].mag, g->v[j].err, j, -1, -1,
                "rg_transpose(v%d, -2, -1);", j);
    for_product(g, &i, &j, (double)k);
    product(g, rg_matmul(g->v[i].t, g->v[j].t), i, j, (double)k, "rg_matmul(v%d, v%d);", i, j);
}

/* (N, C, H, W) of any value. */
static int image(struct gen *g, struct dims *s) {
    int i = pick_where(g, false, true, 0);
    if (i < 0) return -1;
    struct dims have = shape(g, i);
    int64_t c = pick_int(g, 1, 5), h = pick_int(g, 1, 12), w = pick_int(g, 1, 12),
            n = RG_MIN(4, RG_MAX(1, count(&have) / (c * h * w)));
    *s = have;
    if (have.n != 4 || !count(&have) || chance(g, 50)) *s = (struct dims){{n, c, h, w}, 4};
    return shaped(g, i, *s);
}

static void op_conv(struct gen *g) {
    struct dims s;
    int i = image(g, &s), j = pick(g);
    if (i < 0) return;
    int64_t kh = pick_int(g, 1, RG_MIN(3, s.d[2])), kw = pick_int(g, 1, RG_MIN(3, s.d[3])),
            o = pick_int(g, 1, 9), stride = chance(g, 70) ? 1 : 2, pad = pick_int(g, 0, 1), groups = 1;
    if (s.d[1] % 2 == 0 && chance(g, 25)) groups = 2, o *= 2;
    bool back = chance(g, 25);
    struct dims want = {{back ? s.d[1] : o, (back ? o : s.d[1]) / groups, kh, kw}, 4};
    if (back && pad && (s.d[2] - 1) * stride + kh < 3) return;
    if (back && pad && (s.d[3] - 1) * stride + kw < 3) return;
    if ((double)count(&s) * (double)(o * kh * kw) > 2e5 ||
        s.d[0] * o * s.d[2] * s.d[3] * (back ? stride * stride : 1) > g->cap)
        return;
    j = shaped(g, j, want);
    if (j >= 0) j = cast(g, j, dt_of(g, i));
    if (j < 0) return;
    double n = (double)(s.d[1] * kh * kw);
    for_product(g, &i, &j, n);
    const struct val *v = &g->v[i], *w = &g->v[j];
    rg_tensor t =
        back ? rg_conv_transpose2d(v->t, w->t, .stride = RG_INTS(stride), .padding = RG_INTS(pad),
                                   .groups = groups)
             : rg_conv2d(v->t, w->t, .stride = RG_INTS(stride), .padding = RG_INTS(pad), .groups = groups);
    product(g, t, i, j, n,
            "rg_conv%s2d(v%d, v%d, .stride = RG_INTS(%lld), .padding = RG_INTS(%lld), .groups = %lld);",
            back ? "_transpose" : "", i, j, (long long)stride, (long long)pad, (long long)groups);
}

static void op_pool(struct gen *g) {
    struct dims s;
    int i = image(g, &s), k = -1;
    if (i < 0 || !count(&s)) return;
    int64_t size = pick_int(g, 1, RG_MIN(3, RG_MIN(s.d[2], s.d[3]))), stride = pick_int(g, 1, size),
            pad = chance(g, 30) ? size / 2 : 0;
    struct val v = g->v[i];
#define POOLED(f, m, e)                                                                                    \
    put(g, f(v.t, RG_INTS(size), .stride = RG_INTS(stride), .padding = RG_INTS(pad)), m, e, i, -1, -1,     \
        #f "(v%d, RG_INTS(%lld), .stride = RG_INTS(%lld), .padding = RG_INTS(%lld));", i, (long long)size, \
        (long long)stride, (long long)pad)
    switch (pick_int(g, 0, 2)) {
    case 0: k = POOLED(rg_max_pool2d, v.mag, v.err); break;
    case 1:
        v = g->v[i = clamped(g, i, limit(dt_of(g, i)))];
        POOLED(rg_avg_pool2d, v.mag, v.err + 4 * eps(dt_of(g, i)) * v.mag);
        return;
    default:
        if (v.err == 0) POOLED(rg_max_pool2d_index, (double)(s.d[2] * s.d[3]), 0);
        return;
    }
    g->v[k].kinked |= v.err > 0 && g->v[k].tracked;
}

/* ---- indices ---- */

static void op_gather(struct gen *g) {
    int i = pick_where(g, false, false, 1);
    if (i < 0) return;
    struct dims s = shape(g, i), want = s;
    int a = axis_of(g, &s);
    int64_t size = s.d[a];
    const struct val *v = &g->v[i];
    if (!count(&s)) return;
    want.d[a] = pick_int(g, 1, 9);
    bool take = chance(g, 50);
    if (count(&s) / size * want.d[a] > g->cap) return;
    if (take)
        want = (struct dims){{pick_int(g, 1, 7), pick_int(g, 1, 3)}, s.n < RANK ? (int)pick_int(g, 0, 2) : 1};
    if (count(&s) / size * count(&want) > g->cap && take) return;
    int j = indices(g, want, size);
    if (j < 0) return;
    if (take)
        put(g, rg_take(v->t, a, g->v[j].t), v->mag, v->err, i, j, -1, "rg_take(v%d, %d, v%d);", i, a, j);
    else
        put(g, rg_gather(v->t, a, g->v[j].t), v->mag, v->err, i, j, -1, "rg_gather(v%d, %d, v%d);", i, a, j);
}

static void op_scatter(struct gen *g) {
    int i = pick_where(g, true, false, 1), k = pick_where(g, true, false, 0);
    if (i < 0 || k < 0 || dt_of(g, i) == RG_BOOL) return;
    struct dims s = shape(g, i), want = s;
    int a = axis_of(g, &s), kind = (int)pick_int(g, 0, 3);
    if (!count(&s)) return;
    want.d[a] = pick_int(g, 1, 9);
    if (count(&want) > g->cap) return;
    int j = indices(g, want, s.d[a]);
    k = j < 0 ? -1 : shaped(g, k, want);
    if (k >= 0) k = cast(g, k, dt_of(g, i));
    if (k < 0) return;
    bool floats = is_float(dt_of(g, i));
    double most = limit(dt_of(g, i)) / 16;
    if (floats && kind < 2)
        i = clamped(g, i, most), k = clamped(g, k, RG_MAX(1, floor(most / (double)want.d[a])));
    struct val v = g->v[i], w = g->v[k];
    double sum = floats ? v.mag + (double)want.d[a] * w.mag : INFINITY;
    switch (kind) {
    case 0:
        put(g, rg_scatter_add(v.t, a, g->v[j].t, w.t), sum, 0, i, j, k, "rg_scatter_add(v%d, %d, v%d, v%d);",
            i, a, j, k);
        return;
    case 1:
        put(g, rg_scatter_reduce(v.t, a, g->v[j].t, w.t, .how = RG_COMBINE_SUM, .exclude_self = true), sum, 0,
            i, j, k, "rg_scatter_reduce(v%d, %d, v%d, v%d, .how = RG_COMBINE_SUM, .exclude_self = true);", i,
            a, j, k);
        return;
    case 2:
        put(g, rg_scatter_reduce(v.t, a, g->v[j].t, w.t, .how = RG_COMBINE_MAX), RG_MAX(v.mag, w.mag), 0, i,
            j, k, "rg_scatter_reduce(v%d, %d, v%d, v%d, .how = RG_COMBINE_MAX);", i, a, j, k);
        return;
    default:
        put(g, rg_scatter(v.t, a, g->v[j].t, w.t), RG_MAX(v.mag, w.mag), 0, i, j, k,
            "rg_scatter(v%d, %d, v%d, v%d);", i, a, j, k);
        return;
    }
}

static void op_pack(struct gen *g) {
    int i = pick_where(g, true, false, 1), m = pick_where(g, true, false, 0);
    if (i < 0 || m < 0) return;
    struct dims s = shape(g, i);
    if (!count(&s)) return;
    if (chance(g, 40)) {
        put(g, rg_nonzero(g->v[i].t, 7), (double)count(&s), 0, i, -1, -1, "rg_nonzero(v%d, 7);", i);
    } else if (chance(g, 50) && s.n < 3 && count(&s) * 5 <= g->cap) {
        int j = indices(g, s, 6);
        if (j >= 0) put(g, rg_one_hot(g->v[j].t, 5), 1, 0, j, -1, -1, "rg_one_hot(v%d, 5);", j);
    } else {
        m = shaped(g, m, s);
        if (m >= 0) m = cast(g, m, RG_BOOL);
        if (m >= 0)
            put(g, rg_masked_select(g->v[i].t, g->v[m].t, 11), g->v[i].mag, 0, i, m, -1,
                "rg_masked_select(v%d, v%d, 11);", i, m);
    }
}

/* ---- norms, attention ---- */

static void op_norm(struct gen *g) {
    int i = pick_where(g, true, true, 1);
    if (i < 0) return;
    i = clamped(g, i, 16);
    struct dims s = shape(g, i);
    int a = axis_of(g, &s);
    const struct val *v = &g->v[i];
    double off = 8 * (eps(dt_of(g, i)) + eps(RG_F32));
    if (!count(&s)) return;
    double n = (double)s.d[s.n - 1];
    switch (pick_int(g, 0, 5)) {
    case 0: put(g, rg_softmax(v->t, a), 1, 8 * off, i, -1, -1, "rg_softmax(v%d, %d);", i, a); return;
    case 1:
        put(g, rg_log_softmax(v->t, a), 40, 40 * off, i, -1, -1, "rg_log_softmax(v%d, %d);", i, a);
        return;
    case 2:
        put(g, rg_layernorm(v->t, RG_NONE, RG_NONE), sqrt(n) + 1, off * 100 * (sqrt(n) + 1), i, -1, -1,
            "rg_layernorm(v%d, RG_NONE, RG_NONE);", i);
        return;
    case 3:
        put(g, rg_rmsnorm(v->t, RG_NONE), sqrt(n) + 1, off * (sqrt(n) + 1), i, -1, -1,
            "rg_rmsnorm(v%d, RG_NONE);", i);
        return;
    case 4:
        put(g, rg_var(v->t, RG_AXES(a), .population = true, .keep = true), 256, off * 256, i, -1, -1,
            "rg_var(v%d, RG_AXES(%d), .population = true, .keep = true);", i, a);
        return;
    default: put(g, rg_normalize(v->t, 2, a), 1, off, i, -1, -1, "rg_normalize(v%d, 2, %d);", i, a); return;
    }
}

static void op_attention(struct gen *g) {
    int i = pick_where(g, true, true, 0), j = pick_where(g, true, true, 0), k = pick_where(g, true, true, 0);
    if (i < 0 || j < 0 || k < 0 || g->extreme) return; /* whether NaN at a masked key counts is open */
    int64_t b = pick_int(g, 1, 2), h = pick_int(g, 1, 2), t = pick_int(g, 1, 20),
            s = chance(g, 60) ? t : t + pick_int(g, 0, 9), d = (int64_t[]){8, 16, 32, 5}[pick_int(g, 0, 3)];
    bool causal = chance(g, 40), swapped = chance(g, 40);
    struct dims q = {{b, h, t, d}, 4}, kv = {{b, h, s, d}, 4};
    if (swapped) q.d[1] = t, q.d[2] = h, kv.d[1] = s, kv.d[2] = h;
    rg_dtype dt = dt_of(g, i);
    int part[3] = {i, j, k};
    for (int n = 0; n < 3; n++) {
        part[n] = shaped(g, part[n], n ? kv : q);
        if (part[n] >= 0) part[n] = cast(g, part[n], dt);
        if (part[n] < 0) return;
        part[n] = clamped(g, part[n], 2);
        if (swapped)
            part[n] = put(g, rg_transpose(g->v[part[n]].t, 1, 2), 2, 0, part[n], -1, -1,
                          "rg_transpose(v%d, 1, 2);", part[n]);
    }
    g->once = true;
    put(g, rg_attention(g->v[part[0]].t, g->v[part[1]].t, g->v[part[2]].t, .causal = causal), 2,
        40 * (eps(dt) + eps(RG_F32)), part[0], part[1], part[2], "rg_attention(v%d, v%d, v%d, .causal = %d);",
        part[0], part[1], part[2], causal);
}

/* ---- others: each with few parameters ---- */

static void op_einsum(struct gen *g) {
    static const struct {
        const char *text;
        int x[4], y[4], nx, ny; /* sizes of operands: axes by their letter, a b c d */
    } row[] = {
        {"ab,bc->ac", {0, 1}, {1, 2}, 2, 2},          {"ab,cb->ca", {0, 1}, {2, 1}, 2, 2},
        {"abc,adc->adb", {0, 1, 2}, {0, 3, 2}, 3, 3}, {"abcd,abdc->ac", {0, 1, 2, 3}, {0, 1, 3, 2}, 4, 4},
        {"ba,ba->a", {1, 0}, {1, 0}, 2, 2},           {"abc,cd->bad", {0, 1, 2}, {2, 3}, 3, 2},
        {"ab,cd->dabc", {0, 1}, {2, 3}, 2, 2},        {"abc,b->ca", {0, 1, 2}, {1}, 3, 1}};
    int k = (int)pick_int(g, 0, RG_COUNT(row) - 1), i = pick_where(g, false, true, 0), j = pick(g);
    int64_t size[4];
    struct dims x = {.n = row[k].nx}, y = {.n = row[k].ny};
    for (int a = 0; a < 4; a++) size[a] = pick_int(g, 1, chance(g, 30) ? 20 : 6);
    for (int a = 0; a < x.n; a++) x.d[a] = size[row[k].x[a]];
    for (int a = 0; a < y.n; a++) y.d[a] = size[row[k].y[a]];
    double all = (double)(size[0] * size[1] * size[2] * size[3]);
    if (i < 0 || all > (double)g->cap) return;
    rg_dtype dt = dt_of(g, i);
    i = shaped(g, i, x), j = shaped(g, j, y);
    if (j >= 0) j = cast(g, j, dt);
    if (i < 0 || j < 0) return;
    for_product(g, &i, &j, all);
    product(g, rg_einsum(row[k].text, RG_TENSORS(g->v[i].t, g->v[j].t)), i, j, all,
            "rg_einsum(\"%s\", RG_TENSORS(v%d, v%d));", row[k].text, i, j);
}

static void op_conv_line(struct gen *g) {
    int i = pick_where(g, false, true, 0), j = pick(g);
    int64_t n = pick_int(g, 1, 3), c = pick_int(g, 1, 4), l = pick_int(g, 3, 30), k = pick_int(g, 1, 3),
            o = pick_int(g, 1, 6), stride = pick_int(g, 1, 2), pad = pick_int(g, 0, 2),
            dil = pick_int(g, 1, 2);
    if (i < 0 || dil * (k - 1) + 1 > l + 2 * pad) return;
    rg_dtype dt = dt_of(g, i);
    i = shaped(g, i, (struct dims){{n, c, l}, 3}), j = shaped(g, j, (struct dims){{o, c, k}, 3});
    if (j >= 0) j = cast(g, j, dt);
    if (i < 0 || j < 0) return;
    for_product(g, &i, &j, (double)(c * k));
    product(
        g,
        rg_conv1d(g->v[i].t, g->v[j].t, .stride = RG_INTS(stride), .padding = RG_INTS(pad),
                  .dilation = RG_INTS(dil)),
        i, j, (double)(c * k),
        "rg_conv1d(v%d, v%d, .stride = RG_INTS(%lld), .padding = RG_INTS(%lld), .dilation = RG_INTS(%lld));",
        i, j, (long long)stride, (long long)pad, (long long)dil);
}

static void op_resize(struct gen *g) {
    struct dims s;
    int i = image(g, &s);
    if (i < 0 || !count(&s)) return;
    const struct val *v = &g->v[i];
    int64_t h = pick_int(g, 1, 9), w = pick_int(g, 1, 9);
    if (s.d[0] * s.d[1] * h * w > g->cap) return;
    rg_pad_mode mode = (rg_pad_mode)pick_int(g, 1, 3);
    switch (pick_int(g, 0, 2)) {
    case 0:
        put(g, rg_interpolate(v->t, RG_SHAPE(h, w)), v->mag, v->err, i, -1, -1,
            "rg_interpolate(v%d, RG_SHAPE(%lld, %lld));", i, (long long)h, (long long)w);
        return;
    case 1:
        i = clamped(g, i, limit(dt_of(g, i))), v = &g->v[i];
        put(g, rg_adaptive_avg_pool2d(v->t, h, w), v->mag, v->err + 4 * eps(dt_of(g, i)) * v->mag, i, -1, -1,
            "rg_adaptive_avg_pool2d(v%d, %lld, %lld);", i, (long long)h, (long long)w);
        return;
    default:
        if (s.d[2] < 2 || s.d[3] < 3) return;
        put(g, rg_pad_with(v->t, RG_INTS(0, 0, 0, 0, 1, 0, 2, 1), mode), v->mag, v->err, i, -1, -1,
            "rg_pad_with(v%d, RG_INTS(0, 0, 0, 0, 1, 0, 2, 1), %d);", i, (int)mode);
        return;
    }
}

static void op_integers(struct gen *g) {
    int i = pick_where(g, true, false, 0), j = i < 0 ? -1 : beside(g, i);
    if (j < 0 || is_float(dt_of(g, i)) || dt_of(g, i) == RG_BOOL) return;
    rg_tensor x = g->v[i].t, y = g->v[j].t;
    switch (pick_int(g, 0, 3)) {
    case 0: put(g, rg_floordiv(x, y), INFINITY, 0, i, j, -1, "rg_floordiv(v%d, v%d);", i, j); return;
    case 1: put(g, rg_fmod(x, y), INFINITY, 0, i, j, -1, "rg_fmod(v%d, v%d);", i, j); return;
    case 2:
        put(g, rg_shl(x, rg_mod(y, 3)), INFINITY, 0, i, j, -1, "rg_shl(v%d, rg_mod(v%d, 3));", i, j);
        return;
    default:
        put(g, rg_shr(x, rg_mod(y, 5)), INFINITY, 0, i, j, -1, "rg_shr(v%d, rg_mod(v%d, 5));", i, j);
        return;
    }
}

static void op_random(struct gen *g) {
    int i = pick(g);
    struct dims s = shape(g, i);
    if (chance(g, 50) || !is_float(dt_of(g, i)))
        put(g, rg_randint(g->c, RG_I32, -3, 4, list(&s)), 4, 0, -1, -1, -1,
            "rg_randint(c, RG_I32, -3, 4, RG_SHAPE(%s));", text(&s));
    else if (g->v[i].mag <= limit(dt_of(g, i)) / 2)
        put(g, rg_dropout(g->v[i].t, 0.5), 2 * g->v[i].mag, 2 * g->v[i].err, i, -1, -1,
            "rg_dropout(v%d, 0.5);", i);
}

static void op_loss(struct gen *g) {
    int i = pick_where(g, true, true, 0);
    if (i < 0) return;
    int64_t n = pick_int(g, 1, 20), c = pick_int(g, 2, 12);
    i = shaped(g, i, (struct dims){{n, c}, 2});
    if (i < 0) return;
    i = clamped(g, i, 8);
    int j = indices(g, (struct dims){{n}, 1}, c);
    if (j < 0) return;
    rg_dtype dt = dt_of(g, i);
    put(g, rg_cross_entropy(g->v[i].t, g->v[j].t), 20, 160 * (eps(dt) + eps(RG_F32)), i, j, -1,
        "rg_cross_entropy(v%d, v%d);", i, j);
}

static void op_parts(struct gen *g) {
    int i = pick_where(g, false, false, 1);
    if (i < 0) return;
    struct dims s = shape(g, i);
    int a = axis_of(g, &s);
    rg_tensor out[2];
    if (s.d[a] < 2) return;
    int64_t first = pick_int(g, 1, s.d[a] - 1);
    if (rg_split(g->v[i].t, a, RG_INTS(first, s.d[a] - first), out)) return;
    for (int k = 0; k < 2; k++)
        put(g, out[k], g->v[i].mag, g->v[i].err, i, -1, -1,
            "part %d of rg_split(v%d, %d, RG_INTS(%lld, %lld));", k, i, a, (long long)first,
            (long long)(s.d[a] - first));
}

static void op_channels(struct gen *g) {
    struct dims s;
    int i = image(g, &s);
    if (i < 0 || !count(&s) || g->v[i].err > 0) return;
    i = clamped(g, i, 8);
    double off = 800 * (eps(dt_of(g, i)) + eps(RG_F32)), n = sqrt((double)count(&s)) + 1;
    const struct val *v = &g->v[i];
    if (s.d[2] * s.d[3] < 2) return;
    if (chance(g, 50))
        put(g, rg_groupnorm(v->t, 1, RG_NONE, RG_NONE), n, off * n, i, -1, -1,
            "rg_groupnorm(v%d, 1, RG_NONE, RG_NONE);", i);
    else
        put(g, rg_instancenorm(v->t, RG_NONE, RG_NONE), n, off * n, i, -1, -1,
            "rg_instancenorm(v%d, RG_NONE, RG_NONE);", i);
}

/* ---- state ---- */

static void op_assign(struct gen *g) {
    int l = (int)pick_int(g, g->inputs, g->leaves - 1), i = pick_where(g, true, false, 0);
    if (l >= g->leaves || i < 0 || g->again) return;
    rg_dtype dt = g->leaf_dt[l];
    struct dims s = {.n = g->leaf_rank[l]}, box;
    memcpy(s.d, g->leaf_dim[l], (size_t)s.n * sizeof *s.d);
    box = s;
    rg_range part[RANK];
    bool whole = chance(g, 40) || !s.n;
    for (int a = 0; a < s.n && !whole; a++) {
        int64_t step = chance(g, 25) ? 2 : 1, from = pick_int(g, 0, RG_MAX(0, s.d[a] - 1)),
                n = s.d[a] > from ? pick_int(g, 1, (s.d[a] - from + step - 1) / step) : 0;
        part[a] = RG_STEP(from, RG_MIN(s.d[a], from + n * step), step);
        box.d[a] = n;
    }
    if (dt == RG_BOOL) i = cast(g, i, RG_BOOL);
    if (i >= 0) i = shaped(g, i, box);
    if (i >= 0) i = cast(g, i, dt);
    if (i < 0) return;
    if (dt != RG_BOOL)
        i = put(g, rg_clamp(g->v[i].t, is_unsigned(dt) ? 0 : -4, 4), 4, 0, i, -1, -1, "rg_clamp(v%d, %d, 4);",
                i, is_unsigned(dt) ? 0 : -4);
    if (whole)
        rg_assign(g->own[l], g->v[i].t);
    else
        rg_assign_slice(g->own[l], g->v[i].t, RG_PARTS(part, (size_t)s.n));
    char words[LINE / 3] = "";
    size_t k = 0;
    for (int a = 0; a < s.n && !whole; a++)
        k += (size_t)snprintf(words + k, sizeof words - k, ", {%lld, %lld, %lld}", (long long)part[a].start,
                              (long long)part[a].stop, (long long)part[a].step);
    int old = g->leaf[l];
    g->leaf[l] = put(g, g->own[l], 4, 0, i, old, -1, "leaf%d (was v%d) assigned v%d%s;", l, old, i, words);
    g->v[g->leaf[l]].tracked = g->v[g->leaf[l]].kinked = false;
}

static void op_checkpoint(struct gen *g) {
    int i = pick_where(g, false, true, 0);
    if (i < 0 || g->v[i].dep[0] < 0) return;
    int from = g->v[i].dep[0];
    if (!g->again || g->v[i].err <= g->v[from].err || from < g->leaves) return;
    put(g, rg_checkpoint(g->v[i].t, g->v[from].t), g->v[i].mag, g->v[i].err, i, from, -1,
        "rg_checkpoint(v%d, v%d);", i, from);
}

/* ---- the program ---- */

typedef void op_fn(struct gen *);
static const struct {
    op_fn *fn;
    int weight;
} ops[] = {{op_order, 7},     {op_flip, 4},    {op_slice, 6},      {op_window, 1}, {op_reshape, 6},
           {op_expand, 4},    {op_pad, 3},     {op_cat, 4},        {op_move, 8},   {op_unary, 5},
           {op_smooth, 4},    {op_binary, 12}, {op_divide, 2},     {op_where, 3},  {op_cast, 4},
           {op_reduce, 9},    {op_scan, 5},    {op_sort, 5},       {op_matmul, 5}, {op_conv, 2},
           {op_pool, 2},      {op_gather, 4},  {op_scatter, 4},    {op_pack, 2},   {op_norm, 3},
           {op_attention, 1}, {op_assign, 3},  {op_checkpoint, 1}, {op_mixed, 4},  {op_einsum, 3},
           {op_conv_line, 1}, {op_resize, 2},  {op_integers, 3},   {op_random, 1}, {op_loss, 1},
           {op_parts, 2},     {op_channels, 1}};

static void step(struct gen *g) {
    int all = 0;
    size_t k = 0;
    for (size_t i = 0; i < RG_COUNT(ops); i++) all += ops[i].weight;
    int64_t at = pick_int(g, 0, all - 1);
    while (at >= ops[k].weight) at -= ops[k++].weight;
    int first = g->n;
    ops[k].fn(g);
    for (int i = first; i < g->n; i++) /* rows of equal numbers: 1 / deviation times what cancels */
        if (strstr(g->v[i].line, "norm")) g->v[i].kinked = g->v[i].tracked;
}

static void draw_leaves(struct gen *g, int64_t elements) {
    static const rg_dtype other[] = {RG_F32, RG_I32, RG_I64,  RG_I8,  RG_U8,  RG_BOOL, RG_I16,
                                     RG_F64, RG_F16, RG_BF16, RG_U16, RG_U32, RG_U64};
    static const rg_dtype often[] = {RG_F32, RG_F32, RG_F32, RG_BF16, RG_F16, RG_F64};
    bool zero = chance(g, 4), long_axis = chance(g, 25);
    g->cap = elements ? elements : chance(g, 20) ? 40000 : 4096;
    g->main = often[pick_int(g, 0, 5)];
    g->jit = chance(g, 35), g->extreme = chance(g, 12), g->realize = chance(g, 25) && !g->jit,
    g->again = chance(g, 20);
    for (int i = 0; i < 5; i++) g->size[i] = pick_int(g, 1, chance(g, 50) ? 5 : 17);
    if (chance(g, 40)) g->size[0] = (int64_t[]){16, 32, 64, 128}[pick_int(g, 0, 3)];
    if (long_axis) g->size[1] = pick_int(g, 20, g->cap / 3);
    if (zero) g->size[2] = 0;
    g->leaves = (int)pick_int(g, 2, LEAVES - 1);
    g->inputs = g->jit ? (int)pick_int(g, 1, g->leaves) : 0;
    for (int l = 0; l < g->leaves; l++) {
        int64_t n = 1;
        g->leaf_dt[l] = chance(g, 65) ? g->main : other[pick_int(g, 0, RG_COUNT(other) - 1)];
        g->leaf_rank[l] = (int)pick_int(g, chance(g, 10) ? 0 : 1, 4);
        for (int a = 0; a < g->leaf_rank[l]; a++) {
            int64_t d = chance(g, 25) ? 1 : g->size[pick_int(g, 0, 4)];
            if (n * d > g->cap / 2) d = 1;
            g->leaf_dim[l][a] = d, n *= d;
        }
    }
    g->steps = (int)pick_int(g, 5, chance(g, 30) ? 60 : 20);
    if (chance(g, 2)) g->steps = 150;
}

static double leaf_value(struct gen *g, rg_dtype dt, uint64_t h) {
    static const double odd[] = {INFINITY, -INFINITY, NAN, -0.0, 3e4, -3e4};
    if (dt == RG_BOOL) return (double)(h & 1);
    if (g->extreme && h % 11 == 0) return is_float(dt) ? odd[h / 11 % 6] : is_unsigned(dt) ? 255 : -128;
    double v = (double)(h % 9) - 4;
    return is_unsigned(dt) ? fabs(v) : v;
}

static rg_tensor leaf_data(struct gen *g, int l, int call) {
    struct dims s = {.n = g->leaf_rank[l]};
    memcpy(s.d, g->leaf_dim[l], (size_t)s.n * sizeof *s.d);
    int64_t n = count(&s);
    double *p = malloc((size_t)(n + 1) * sizeof *p);
    for (int64_t i = 0; i < n; i++)
        p[i] = leaf_value(g, g->leaf_dt[l], hash_u64((uint64_t)i * 64 + (uint64_t)(l * 8 + call)));
    rg_tensor t = rg_contiguous(rg_cast(rg_from(g->c, RG_F64, p, list(&s)), g->leaf_dt[l]));
    rg_realize(t);
    free(p);
    return t;
}

static bool reaches(const struct gen *g, int from, int to) {
    if (from == to) return true;
    for (int i = 0; i < 4 && g->v[from].dep[i] >= 0; i++)
        if (g->v[from].dep[i] >= to && reaches(g, g->v[from].dep[i], to)) return true;
    return false;
}

/* The gradients of a sum of some values with respect to the leaves of floats. */
static void add_gradients(struct gen *g, rg_tensor *out) {
    rg_tensor loss = RG_NONE, wrt[LEAVES], got[LEAVES];
    int n = 0, from[LEAVES], used[3], nused = 0;
    for (int k = 0; k < 30 && nused < 3; k++) {
        int i = pick(g);
        struct val *v = &g->v[i];
        if (!v->tracked || v->kinked || v->mag > 1e5 || v->err > 0.05 * v->mag || i < g->leaves) continue;
        rg_tensor s = rg_sum(rg_cast(v->t, RG_F32));
        if (chance(g, 50) && v->err < 1e-5) s = rg_sum(rg_sin(rg_cast(v->t, RG_F32)));
        loss = loss.id ? rg_add(loss, s) : s;
        used[nused++] = i;
    }
    if (!loss.id) return;
    for (int l = 0; l < g->leaves; l++)
        if (is_float(g->leaf_dt[l]) && g->v[l].tracked) from[n] = l, wrt[n++] = g->v[l].t;
    if (!n || rg_grad(loss, RG_ARRAY(wrt, (size_t)n), got, .unused_ok = true)) return;
    bool twice = chance(g, 20) && !g->once;
    if (twice) {
        rg_tensor again = RG_NONE;
        for (int i = 0; i < n; i++) {
            rg_tensor s = rg_sum(rg_sin(rg_mul(rg_cast(got[i], RG_F32), 1.0 / 1024)));
            again = again.id ? rg_add(again, s) : s;
        }
        if (rg_grad(again, RG_ARRAY(wrt, (size_t)n), got, .unused_ok = true)) return;
    }
    for (int i = 0; i < n && g->nout < OUTS; i++) {
        int k = put(g, got[i], 0, 1, used[0], nused > 1 ? used[1] : -1, nused > 2 ? used[2] : -1,
                    "gradient%s with respect to v%d;", twice ? " of the gradient's sine" : "", from[i]);
        g->grads[g->nout] = true, g->out[g->nout] = k, out[g->nout++] = got[i];
    }
}

/* in: the inputs of a jit, of this call. */
static rg_status body(void *user, const rg_tensor *in, rg_tensor *out) {
    struct gen *g = user;
    uint64_t kept = g->state;
    g->n = g->nout = 0, g->once = false;
    for (int l = 0; l < g->leaves; l++) {
        double mag = g->extreme ? INFINITY : g->leaf_dt[l] == RG_BOOL ? 1 : 4;
        struct dims s = {.n = g->leaf_rank[l]};
        memcpy(s.d, g->leaf_dim[l], (size_t)s.n * sizeof *s.d);
        rg_tensor t = l < g->inputs ? in[l] : g->own[l];
        g->leaf[l] = put(g, t, mag, 0, -1, -1, -1, "leaf%d, %s %d, RG_SHAPE(%s);", l,
                         l < g->inputs ? "an input," : "dtype", (int)g->leaf_dt[l], text(&s));
        g->v[l].tracked = is_float(g->leaf_dt[l]) && !g->extreme;
    }
    for (int i = 0; i < g->steps && g->n < VALUES - 30 && !rg_status_of(g->c); i++) {
        step(g);
        if (g->realize && chance(g, 15)) rg_realize(g->v[g->n - 1].t);
    }
    int many = (int)pick_int(g, 1, 5);
    memset(g->grads, 0, sizeof g->grads);
    for (int k = 0; k < many; k++) {
        int i = k ? pick(g) : g->n - 1;
        bool again = false;
        for (int o = 0; o < g->nout; o++) again |= g->out[o] == i;
        if (!again) g->out[g->nout] = i, out[g->nout++] = g->v[i].t;
    }
    if (chance(g, 40) && !g->realize) add_gradients(g, out);
    if (g->only >= 0 && g->only < g->nout) {
        g->out[0] = g->out[g->only], g->grads[0] = g->grads[g->only], out[0] = out[g->only];
        g->nout = 1;
    }
    for (int o = 0; o < g->nout; o++)
        if (g->out[o] < g->leaves) out[o] = rg_contiguous(out[o]);
    g->state = kept;
    return rg_status_of(g->c);
}

struct got {
    int calls, outs;
    struct {
        size_t n;
        double *p;
    } v[CALLS][OUTS];
};

static void got_free(struct got *r) {
    for (int c = 0; c < CALLS; c++)
        for (int o = 0; o < OUTS; o++) free(r->v[c][o].p);
    memset(r, 0, sizeof *r);
}

static bool read_call(struct gen *g, struct got *r, int call, const rg_tensor *out) {
    for (int o = 0; o < g->nout; o++) {
        size_t n = (size_t)RG_MAX(rg_size(out[o]), 0);
        r->v[call][o].n = n;
        double *p = r->v[call][o].p = calloc(n + 1, sizeof *p);
        if (rg_read(rg_cast(out[o], RG_F64), p, n * sizeof *p)) return false;
    }
    r->outs = g->nout, r->calls = call + 1;
    return true;
}

/* All calls on one device. False: rg_error says why. */
static bool run_all(struct gen *g, const struct chain_want *w, const char *device, struct got *r) {
    static rg_tensor out[257];
    rg_tensor in[LEAVES];
    g->state = w->seed * 0x2545f4914f6cdd1du + 7;
    g->only = w->output;
    draw_leaves(g, w->elements);
    if (w->steps) g->steps = RG_MIN(g->steps, w->steps);
    for (int l = g->inputs; l < g->leaves; l++) g->own[l] = leaf_data(g, l, 0);
    g->window = rg_index(g->c, 0, 3, 1);
    bool replay = g->jit && strcmp(device, "REF") != 0;
    rg_jit *j = replay ? rg_jit_new(g->c, body, g, RG_AS_FILLED) : NULL;
    (void)j;
    for (int call = 0; call < (g->jit ? CALLS : 1); call++) {
        for (int l = 0; l < g->inputs; l++) in[l] = leaf_data(g, l, call);
        if (g->jit) rg_set_scalar(g->window, call);
        memset(out, 0, sizeof out);
        rg_status bad = j ? rg_jit_call(j, RG_ARRAY(in, (size_t)g->inputs), out) : body(g, in, out);
        if (bad || rg_status_of(g->c) || !read_call(g, r, call, out)) return false;
    }
    if (j) rg_jit_free(j);
    return true;
}

/* ---- comparing ---- */

static char report[TEXT];

static void program_text(const struct gen *g, size_t at, int out) {
    for (int i = 0; i < g->n && at < TEXT - LINE; i++) {
        bool used = out >= 0 ? reaches(g, out, i) : !g->nout;
        for (int o = 0; o < g->nout && out < 0; o++) used |= reaches(g, g->out[o], i);
        if (!used) continue;
        struct dims s = shape(g, i);
        int line = snprintf(report + at, TEXT - at, "  %s // %s (%s)%s\n", g->v[i].line,
                            rg_dtype_name(dt_of(g, i)), text(&s), g->v[i].err > 0 ? "~" : "");
        at += line > 0 ? (size_t)line : 0;
    }
}

static double most_of(const double *p, size_t n) {
    double most = 0;
    for (size_t i = 0; i < n; i++)
        if (isfinite(p[i])) most = RG_MAX(most, fabs(p[i]));
    return most;
}

static const char *compare(const struct gen *g, const struct got *want, const struct got *got,
                           const char *device) {
    for (int c = 0; c < want->calls; c++) {
        double all = 0, coarse = RG_MAX(eps(g->main), eps(RG_F32));
        for (int o = 0; o < want->outs; o++)
            if (g->grads[o]) all = RG_MAX(all, most_of(want->v[c][o].p, want->v[c][o].n));
        for (int i = 0; i < g->n; i++) coarse = RG_MAX(coarse, eps(dt_of(g, i)));
        for (int o = 0; o < want->outs; o++) {
            const double *w = want->v[c][o].p, *x = got->v[c][o].p;
            size_t n = want->v[c][o].n;
            const struct val *v = &g->v[g->out[o]];
            double most = most_of(w, n), tol = 8 * v->err;
            if (g->grads[o]) tol = 500 * coarse * RG_MAX(RG_MAX(most, 0.02 * all), 0.05);
            for (size_t i = 0; i < n; i++) {
                if (w[i] == x[i] || (isnan(w[i]) && isnan(x[i])) || fabs(w[i] - x[i]) <= tol) continue;
                if (g->grads[o] && (!isfinite(w[i]) || fabs(w[i]) > 6e4 || coarse > 5e-4)) continue;
                int k = snprintf(report, TEXT,
                                 "%s, %d steps, output %d, call %d%s: v%d, element %zu of %zu is %.9g, REF "
                                 "says %.9g (%g)\n",
                                 device, g->steps, g->only >= 0 ? g->only : o, c, g->jit ? " of a jit" : "",
                                 g->out[o], i, n, x[i], w[i], tol);
                program_text(g, (size_t)k, g->out[o]);
                return report;
            }
        }
    }
    return NULL;
}

const char *chain_run(const struct chain_want *w, const char *device) {
    static struct gen ref, dev;
    static struct got want, got;
    const char *why = NULL;
    memset(&ref, 0, sizeof ref), memset(&dev, 0, sizeof dev);
    got_free(&want), got_free(&got);
    ref.c = rg_open("REF"), dev.c = rg_open(device);
    if (!run_all(&ref, w, "REF", &want)) {
        int k = snprintf(report, TEXT, "REF: %s\n", rg_error(ref.c));
        rg_clear_error(ref.c);
        program_text(&ref, (size_t)k, -1);
        why = report;
    } else if (!run_all(&dev, w, device, &got)) {
        int k = snprintf(report, TEXT, "%s: %s\n", device, rg_error(dev.c));
        rg_clear_error(dev.c);
        program_text(&ref, (size_t)k, -1);
        why = report;
    } else {
        why = compare(&ref, &want, &got, device);
    }
    rg_close(ref.c), rg_close(dev.c);
    return why;
}

const char *chain_shrink(const struct chain_want *w, const char *device) {
    struct chain_want best = *w, t;
    const char *why = chain_run(&best, device);
    if (!why) return NULL;
    for (int steps = 1; steps < 60; steps++) {
        t = best, t.steps = steps, t.output = -1;
        if (chain_run(&t, device)) {
            best = t;
            break;
        }
    }
    for (int o = 0; o < OUTS; o++) {
        t = best, t.output = o;
        if (chain_run(&t, device)) {
            best = t;
            break;
        }
    }
    return chain_run(&best, device);
}
