/* move.c: movement ops: the same elements at other indices.
 *
 * Nodes are normal at birth: a movement that does nothing is its source, and RESHAPE of RESHAPE, PERMUTE of PERMUTE,
 * EXPAND of EXPAND, FLIP of FLIP and SHRINK of SHRINK are one node. The scheduler turns every movement into index
 * arithmetic, so none of them costs memory traffic.
 * Tests: tests/unit/tensor.c, tests/unit/tensor_errors.c */
#include "tensor/internal.h"

#include <math.h>

static const struct shape *dims(struct tg *g, const int64_t *d, uint32_t n) {
    return shape_make(&g->shapes, d, n);
}

/* ---- reshape, expand --------------------------------------------------------------------------------- */

const uop *tg_reshape(struct tg *g, const uop *x, const struct shape *to) {
    while (tg_is_merged(g, x, OP_RESHAPE)) x = x->src[0];
    return tg_shape(g, x) == to ? x : tg_nums(g, OP_RESHAPE, x, to->d, to->n, ARG_NONE);
}

static int64_t product(struct tg *g, const int64_t *d, uint32_t n, int *hole) {
    int64_t size = 1;
    *hole = -1;
    for (uint32_t i = 0; i < n; i++) {
        if (d[i] == -1) {
            if (*hole >= 0) tg_bad(g, "reshape to %s: only one size may be -1", tg_list(g, d, n));
            *hole = (int)i;
            continue;
        }
        if (d[i] < 0)
            tg_bad(g, "reshape to %s: axis %u has size %lld; sizes are 0 or more, or -1 once",
                   tg_list(g, d, n), i, (long long)d[i]);
        if (__builtin_mul_overflow(size, d[i], &size))
            tg_bad(g, "reshape to %s: more than 2^63 elements", tg_list(g, d, n));
    }
    return size;
}

const uop *t_reshape(struct tg *g, const uop *x, const int64_t *d, uint32_t n) {
    int64_t to[SHAPE_MAX], have = shape_size(tg_shape(g, x));
    int hole;
    tg_rank(g, n);
    int64_t size = product(g, d, n, &hole);
    for (uint32_t i = 0; i < n; i++) to[i] = d[i];
    if (hole >= 0) {
        if (!size || have % size)
            tg_bad(g, "cannot reshape %s, %lld elements, to %s: no size for -1 fits", tg_dims(g, x),
                   (long long)have, tg_list(g, d, n));
        to[hole] = have / size;
        size = have;
    }
    if (size != have)
        tg_bad(g,
               "cannot reshape %s, %lld elements, to %s, %lld elements: the number of elements must stay the "
               "same",
               tg_dims(g, x), (long long)have, tg_list(g, d, n), (long long)size);
    return tg_reshape(g, x, dims(g, to, n));
}

/* x's axes are the last ones of `to`, each equal or 1. */
const uop *tg_to_shape(struct tg *g, const uop *x, const struct shape *to) {
    const struct shape *s = tg_shape(g, x);
    if (s == to) return x;
    if (s->n < to->n) {
        int64_t d[SHAPE_MAX];
        for (uint32_t i = 0; i < to->n; i++) d[i] = i + s->n < to->n ? 1 : s->d[i + s->n - to->n];
        x = tg_reshape(g, x, dims(g, d, to->n));
        if (tg_shape(g, x) == to) return x;
    }
    if (tg_is_merged(g, x, OP_EXPAND)) x = x->src[0];
    return tg_nums(g, OP_EXPAND, x, to->d, to->n, ARG_NONE);
}

const uop *t_expand(struct tg *g, const uop *x, const int64_t *d, uint32_t n) {
    const struct shape *s = tg_shape(g, x);
    int64_t to[SHAPE_MAX];
    tg_rank(g, n);
    if (n < s->n) tg_bad(g, "cannot expand %s to %s: it would lose axes", tg_dims(g, x), tg_list(g, d, n));
    for (uint32_t i = 0; i < n; i++) {
        int64_t have = i + s->n < n ? 1 : s->d[i + s->n - n];
        to[i] = d[i] == -1 && i + s->n >= n ? have : d[i];
        if (to[i] < 0)
            tg_bad(g,
                   "cannot expand %s to %s: axis %u has size %lld; sizes are 0 or more, -1 keeps an axis "
                   "that is there",
                   tg_dims(g, x), tg_list(g, d, n), i, (long long)d[i]);
        if (to[i] != have && have != 1)
            tg_bad(g, "cannot expand %s to %s: axis %u has %lld elements, only axes of size 1 are repeated",
                   tg_dims(g, x), tg_list(g, d, n), i, (long long)have);
    }
    return tg_to_shape(g, x, dims(g, to, n));
}

void tg_broadcast(struct tg *g, const uop **x, uint32_t n) {
    int64_t d[SHAPE_MAX];
    const uop *from[SHAPE_MAX] = {0}; /* who gave an axis its size, for the message */
    uint32_t rank = 0;
    for (uint32_t i = 0; i < n; i++) rank = RG_MAX(rank, tg_shape(g, x[i])->n);
    for (uint32_t k = 0; k < rank; k++) d[k] = 1;
    for (uint32_t i = 0; i < n; i++) {
        const struct shape *s = tg_shape(g, x[i]);
        for (uint32_t k = 0; k < s->n; k++) {
            uint32_t at = rank - s->n + k;
            if (s->d[k] == 1 || s->d[k] == d[at]) continue;
            if (d[at] != 1)
                tg_bad(g,
                       "shapes %s and %s do not broadcast: axis %u is %lld in one and %lld in the other; "
                       "sizes must be "
                       "equal or 1",
                       tg_dims(g, from[at]), tg_dims(g, x[i]), at, (long long)d[at], (long long)s->d[k]);
            d[at] = s->d[k], from[at] = x[i];
        }
    }
    for (uint32_t i = 0; i < n; i++)
        if (tg_shape(g, x[i])->n) x[i] = tg_to_shape(g, x[i], dims(g, d, rank));
}

/* ---- permute, flip ------------------------------------------------------------------------------------ */

static const uop *permute(struct tg *g, const uop *x, const int64_t *axis, uint32_t n) {
    int64_t p[SHAPE_MAX];
    bool same = true, merged = tg_is_merged(g, x, OP_PERMUTE);
    for (uint32_t i = 0; i < n; i++) p[i] = merged ? x->src[1 + axis[i]]->arg.i : axis[i], same &= p[i] == i;
    if (merged) x = x->src[0];
    return same ? x : tg_nums(g, OP_PERMUTE, x, p, n, ARG_NONE);
}

const uop *t_permute(struct tg *g, const uop *x, const int64_t *axes, uint32_t n) {
    uint32_t rank = tg_shape(g, x)->n;
    int64_t p[SHAPE_MAX];
    if (n != rank)
        tg_bad(g, "permute of %s by %s: expected each of its %u axes once", tg_dims(g, x),
               tg_list(g, axes, n), rank);
    if (n) tg_axes(g, x, axes, n);
    for (uint32_t i = 0; i < n; i++) p[i] = tg_axis(g, x, axes[i]);
    return permute(g, x, p, n);
}

const uop *t_transpose(struct tg *g, const uop *x, int64_t a, int64_t b) {
    uint32_t rank = tg_shape(g, x)->n, i = tg_axis(g, x, a), j = tg_axis(g, x, b);
    int64_t p[SHAPE_MAX];
    for (uint32_t k = 0; k < rank; k++) p[k] = k == i ? j : k == j ? i : k;
    return permute(g, x, p, rank);
}

static const uop *flip(struct tg *g, const uop *x, uint32_t mask) {
    const struct shape *s = tg_shape(g, x);
    int64_t axis[SHAPE_MAX];
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n; i++)
        if (s->d[i] <= 1) mask &= ~((uint32_t)1 << i);
    if (mask && tg_is_merged(g, x, OP_FLIP)) {
        for (uint32_t i = 1; i < x->nsrc; i++) mask ^= (uint32_t)1 << x->src[i]->arg.i;
        x = x->src[0];
    }
    for (uint32_t i = 0; i < s->n; i++)
        if (mask >> i & 1) axis[n++] = i;
    return n ? tg_nums(g, OP_FLIP, x, axis, n, ARG_NONE) : x;
}

const uop *t_flip(struct tg *g, const uop *x, const int64_t *axes, uint32_t n) {
    return flip(g, x, tg_axes(g, x, axes, n));
}

/* ---- boxes: slice, pad --------------------------------------------------------------------------------- */

/* Box of a box: starts are added, steps multiplied. Only where the outer start is a number (the inner may be a VAR). */
static bool merge_box(struct tg *g, const uop *inner, const uop *const *box, const uop **out, uint32_t rank) {
    for (uint32_t i = 0; i < rank; i++) {
        const uop *s0 = inner->src[1 + 3 * i], *s1 = box[3 * i];
        int64_t step = inner->src[3 + 3 * i]->arg.i;
        if (s0->op == OP_CONST && s1->op == OP_CONST)
            out[3 * i] = uop_idx(g->ir, s0->arg.i + step * s1->arg.i);
        else if (uop_is_int_const(s1, 0))
            out[3 * i] = s0;
        else if (uop_is_int_const(s0, 0) && step == 1)
            out[3 * i] = s1;
        else
            return false;
        out[3 * i + 1] = box[3 * i + 1];
        out[3 * i + 2] = uop_idx(g->ir, step * box[3 * i + 2]->arg.i);
    }
    return true;
}

const uop *tg_box(struct tg *g, const uop *x, const uop *const *box) {
    const struct shape *s = tg_shape(g, x);
    const uop *src[1 + 3 * SHAPE_MAX];
    bool whole = true;
    for (uint32_t i = 0; i < s->n; i++)
        whole &= box[3 * i + 1]->arg.i == s->d[i] && uop_is_int_const(box[3 * i], 0);
    if (whole) return x;
    if (x->op == OP_SHRINK && merge_box(g, x, box, src + 1, s->n))
        x = x->src[0];
    else
        memcpy(src + 1, box, 3 * s->n * sizeof *box);
    src[0] = x;
    return uop_new(g->ir, OP_SHRINK, (enum dtype)x->dt, 1, src, 1 + 3 * s->n, ARG_NONE);
}

/* What Python's slice means on an axis of n elements: first index, count, step. */
struct slice_span {
    int64_t first, count, step;
};
static struct slice_span python_slice(struct t_slice s, int64_t n) {
    int64_t step = s.step ? s.step : 1, lo = step > 0 ? 0 : -1, hi = step > 0 ? n : n - 1;
    int64_t start = s.start == T_END ? hi : s.start < 0 ? s.start + n : s.start;
    int64_t stop = s.stop == T_END ? (step > 0 ? n : -1) : s.stop < 0 ? s.stop + n : s.stop;
    start = RG_MIN(RG_MAX(start, lo), hi), stop = RG_MIN(RG_MAX(stop, lo), hi);
    int64_t far = step > 0 ? stop - start : start - stop, by = step > 0            ? step
                                                               : step == INT64_MIN ? INT64_MAX
                                                                                   : -step;
    return (struct slice_span){start, far > 0 ? (far - 1) / by + 1 : 0, step};
}

static void var_slice(struct tg *g, const uop *x, uint32_t axis, struct t_slice s, const uop **box) {
    int64_t n = tg_shape(g, x)->d[axis], step = s.step ? s.step : 1, size, reach;
    const uop *v = s.var;
    if (v->dt != DT_IDX || tg_shape(g, v)->n)
        tg_bad(g, "a start known at run time is an idx variable, found %s %s", tg_dt(v), tg_dims(g, v));
    if (step < 1)
        tg_bad(g, "step %lld with a start known at run time; expected 1 or more (flip the result)",
               (long long)step);
    if (s.stop == T_END || __builtin_sub_overflow(s.stop, s.start, &size) || size < 0)
        tg_bad(g,
               "a slice with a start known at run time has stop - start elements; expected 0 or more, found "
               "start %lld, stop %lld",
               (long long)s.start, (long long)s.stop);
    bool over =
        size && (__builtin_mul_overflow(size - 1, step, &reach) || reach >= n || v->hi > n - 1 - reach);
    if (v->lo < 0 || over || v->hi > n)
        tg_bad(g,
               "a slice of %lld elements by %lld from a start in %lld to %lld does not stay inside axis %u "
               "of shape %s; give the variable narrower bounds",
               (long long)size, (long long)step, (long long)v->lo, (long long)v->hi, axis, tg_dims(g, x));
    box[0] = v, box[1] = uop_idx(g->ir, size), box[2] = uop_idx(g->ir, step);
}

const uop *t_slice(struct tg *g, const uop *x, const struct t_slice *sl, uint32_t n) {
    const struct shape *s = tg_shape(g, x);
    const uop *box[3 * SHAPE_MAX];
    uint32_t back = 0;
    if (n > s->n) tg_bad(g, "%u slices of shape %s, which has %u axes", n, tg_dims(g, x), s->n);
    for (uint32_t i = 0; i < s->n; i++) {
        if (i < n && sl[i].var) {
            var_slice(g, x, i, sl[i], box + 3 * i);
            continue;
        }
        struct slice_span p = i < n ? python_slice(sl[i], s->d[i]) : (struct slice_span){0, s->d[i], 1};
        int64_t step = p.count > 1 ? p.step : 1, first = p.count ? p.first : 0;
        if (step < 0) back |= (uint32_t)1 << i, first += (p.count - 1) * step, step = -step;
        box[3 * i] = uop_idx(g->ir, first), box[3 * i + 1] = uop_idx(g->ir, p.count),
                box[3 * i + 2] = uop_idx(g->ir, step);
    }
    return flip(g, tg_box(g, x, box), back);
}

const uop *tg_pad_node(struct tg *g, const uop *x, const uop *value, const int64_t *num) {
    uint32_t n = 3 * tg_shape(g, x)->n;
    const uop *src[2 + 3 * SHAPE_MAX];
    bool none = true;
    src[0] = x, src[1] = value;
    for (uint32_t i = 0; i < n; i++) src[2 + i] = uop_idx(g->ir, num[i]), none &= num[i] == 0;
    return none ? x : uop_new(g->ir, OP_PAD, (enum dtype)x->dt, 1, src, 2 + n, ARG_NONE);
}

const uop *t_pad(struct tg *g, const uop *x, const int64_t *ba, uint32_t n, double value) {
    const struct shape *s = tg_shape(g, x);
    int64_t num[3 * SHAPE_MAX] = {0};
    const uop *box[3 * SHAPE_MAX];
    if (n > s->n) tg_bad(g, "padding for %u axes of shape %s, which has %u", n, tg_dims(g, x), s->n);
    for (uint32_t i = 0; i < s->n; i++) {
        int64_t before = i < n ? ba[2 * i] : 0, after = i < n ? ba[2 * i + 1] : 0, size, sum;
        if (__builtin_add_overflow(s->d[i], RG_MIN(before, 0), &size) ||
            __builtin_add_overflow(size, RG_MIN(after, 0), &size) || size < 0)
            tg_bad(g, "padding (%lld, %lld) takes more from axis %u of shape %s than there is",
                   (long long)before, (long long)after, i, tg_dims(g, x));
        num[3 * i] = RG_MAX(before, 0), num[3 * i + 1] = RG_MAX(after, 0);
        if (__builtin_add_overflow(size, num[3 * i], &sum) ||
            __builtin_add_overflow(sum, num[3 * i + 1], &sum))
            tg_bad(g, "padding (%lld, %lld) of axis %u passes 2^63", (long long)before, (long long)after, i);
        box[3 * i] = uop_idx(g->ir, -RG_MIN(before, 0)), box[3 * i + 1] = uop_idx(g->ir, size),
                box[3 * i + 2] = uop_idx(g->ir, 1);
    }
    return tg_pad_node(g, tg_box(g, x, box), tg_like(g, x, value), num);
}

/* ---- axes of size 1 ------------------------------------------------------------------------------------- */

const uop *t_squeeze(struct tg *g, const uop *x, int64_t axis) {
    const struct shape *s = tg_shape(g, x);
    int64_t d[SHAPE_MAX];
    uint32_t n = 0, a = axis == T_END ? 0 : tg_axis(g, x, axis);
    if (axis != T_END && s->d[a] != 1)
        tg_bad(g, "axis %u of shape %s has size %lld; only axes of size 1 can be squeezed", a, tg_dims(g, x),
               (long long)s->d[a]);
    for (uint32_t i = 0; i < s->n; i++)
        if (axis == T_END ? s->d[i] != 1 : i != a) d[n++] = s->d[i];
    return tg_reshape(g, x, dims(g, d, n));
}

const uop *t_unsqueeze(struct tg *g, const uop *x, int64_t axis) {
    const struct shape *s = tg_shape(g, x);
    int64_t d[SHAPE_MAX + 1], rank = s->n, at = axis < 0 ? axis + rank + 1 : axis;
    if (at < 0 || at > rank)
        tg_bad(g, "a new axis at %lld of shape %s: expected %lld to %lld", (long long)axis, tg_dims(g, x),
               (long long)(-rank - 1), (long long)rank);
    tg_rank(g, s->n + 1);
    for (int64_t i = 0; i <= rank; i++) d[i] = i == at ? 1 : s->d[i - (i > at)];
    return tg_reshape(g, x, dims(g, d, s->n + 1));
}

const uop *t_flatten(struct tg *g, const uop *x, int64_t first, int64_t last) {
    const struct shape *s = tg_shape(g, x);
    if (!s->n) return tg_reshape(g, x, dims(g, (int64_t[]){1}, 1));
    uint32_t a = tg_axis(g, x, first), b = tg_axis(g, x, last), n = 0;
    int64_t d[SHAPE_MAX];
    if (a > b)
        tg_bad(g, "flatten axes %u to %u of shape %s: the first comes after the last", a, b, tg_dims(g, x));
    for (uint32_t i = 0; i < s->n; i++) {
        if (i > a && i <= b)
            d[n - 1] *= s->d[i];
        else
            d[n++] = s->d[i];
    }
    return tg_reshape(g, x, dims(g, d, n));
}

/* ---- joining ---------------------------------------------------------------------------------------------- */

static const uop *cat_check(struct tg *g, const uop *const *x, uint32_t n, int64_t axis, enum dtype *dt,
                            uint32_t *at) {
    if (!n) tg_bad(g, "cat of no tensors; give at least one");
    const struct shape *first = tg_shape(g, x[0]);
    if (!first->n) tg_bad(g, "cat of tensors without axes; use stack");
    *at = tg_axis(g, x[0], axis);
    *dt = (enum dtype)x[0]->dt;
    for (uint32_t i = 1; i < n; i++) {
        const struct shape *s = tg_shape(g, x[i]);
        *dt = t_promote(*dt, (enum dtype)x[i]->dt);
        bool fits = s->n == first->n;
        for (uint32_t k = 0; fits && k < s->n; k++) fits = k == *at || s->d[k] == first->d[k];
        if (!fits)
            tg_bad(g,
                   "cat on axis %u of shapes %s and %s (number %u): all other axes must have the same size",
                   *at, tg_dims(g, x[0]), tg_dims(g, x[i]), i);
    }
    return x[0];
}

/* Pieces that lie one after the other along axis `at`, as one tensor. Each is padded to the whole and they are added. The padding
 * is -0.0: x + -0.0 is x for every float, -0.0, infinities and NaN included (0.0 would turn -0.0 into 0.0); for integers and
 * bool it is 0. A choice by position would need the padding as well, and its gradient a mask where this one's is a box of the
 * gradient. Every element reads one piece: outside its own box a piece is not loaded. The sum is a balanced tree. */
static const uop *cat_few(struct tg *g, const uop **part, uint32_t m, uint32_t at) {
    enum dtype dt = (enum dtype)part[0]->dt;
    const uop *none = t_number(g, dt, dt_is_float(dt) ? -0.0 : 0);
    int64_t total = 0, before = 0, num[3 * SHAPE_MAX] = {0};
    for (uint32_t i = 0; i < m; i++) total += tg_shape(g, part[i])->d[at];
    for (uint32_t i = 0; i < m; i++) {
        int64_t size = tg_shape(g, part[i])->d[at];
        num[3 * at] = before, num[3 * at + 1] = total - before - size;
        part[i] = tg_pad_node(g, part[i], none, num);
        before += size;
    }
    for (; m > 1; m = (m + 1) / 2)
        for (uint32_t i = 0; i < m; i += 2)
            part[i / 2] = i + 1 < m ? tg_op2(g, OP_ADD, part[i], part[i + 1]) : part[i];
    return part[0];
}

enum { CAT_MOST = 32 }; /* pieces of one sum: a kernel reads 62 buffers, and each writes the whole */

/* More than CAT_MOST are joined in groups that are stored, and the groups again: the work is n log n and not n^2, and groups of
 * equal pieces are one kernel. */
const uop *t_cat(struct tg *g, const uop *const *x, uint32_t n, int64_t axis) {
    enum dtype dt;
    uint32_t at, m = 0;
    cat_check(g, x, n, axis, &dt, &at);
    int64_t total = 0;
    for (uint32_t i = 0; i < n; i++)
        if (__builtin_add_overflow(total, tg_shape(g, x[i])->d[at], &total))
            tg_bad(g, "cat: axis %u passes 2^63", at);
    const uop **part = arena_array(g->ir->arena, const uop *, n);
    enum dtype in = tg_is_f8(dt) ? DT_BF16 : dt;      /* no sums of 8 bits; bf16 holds them all */
    for (uint32_t i = 0; i < n && (total || !m); i++) /* of empty ones, one stands for all */
        if (tg_shape(g, x[i])->d[at] || !total) part[m++] = t_cast(g, t_cast(g, x[i], dt), in);
    for (; m > CAT_MOST; m = (m + CAT_MOST - 1) / CAT_MOST)
        for (uint32_t i = 0; i < m; i += CAT_MOST)
            part[i / CAT_MOST] = t_contiguous(g, cat_few(g, part + i, RG_MIN((uint32_t)CAT_MOST, m - i), at));
    const uop *y = t_cast(g, cat_few(g, part, m, at), dt);
    for (uint32_t i = total ? 0 : 1; i < n; i++)
        if (!tg_shape(g, x[i])->d[at]) y = t_reaches(g, y, x[i]);
    return y;
}

const uop *t_stack(struct tg *g, const uop *const *x, uint32_t n, int64_t axis) {
    if (!n) tg_bad(g, "stack of no tensors; give at least one");
    int64_t rank = tg_shape(g, x[0])->n;
    const uop **y = arena_array(g->ir->arena, const uop *, n);
    for (uint32_t i = 0; i < n; i++) {
        if (tg_shape(g, x[i]) != tg_shape(g, x[0]))
            tg_bad(g, "stack of shapes %s and %s (number %u): all must be the same", tg_dims(g, x[0]),
                   tg_dims(g, x[i]), i);
        y[i] = t_unsqueeze(g, x[i], axis);
    }
    return t_cat(g, y, n, axis < 0 ? axis + rank + 1 : axis);
}

/* One axis after the other: (.., d, ..) is seen as (.., 1, d, ..), repeated, and joined. */
const uop *t_repeat(struct tg *g, const uop *x, const int64_t *times, uint32_t n) {
    uint32_t rank = tg_shape(g, x)->n;
    tg_rank(g, n);
    if (n < rank)
        tg_bad(g, "repeat of %s by %s: expected a number for each axis", tg_dims(g, x), tg_list(g, times, n));
    for (uint32_t i = 0; i < n; i++)
        if (times[i] < 0)
            tg_bad(g, "repeat of %s by %s: times are 0 or more", tg_dims(g, x), tg_list(g, times, n));
    for (; rank < n; rank++) x = t_unsqueeze(g, x, 0);
    for (uint32_t i = 0; i < n; i++) {
        if (times[i] == 1) continue;
        int64_t d[SHAPE_MAX], size;
        x = t_unsqueeze(g, x, i);
        const struct shape *s = tg_shape(g, x);
        memcpy(d, s->d, s->n * sizeof *d);
        d[i] = times[i];
        if (__builtin_mul_overflow(times[i], s->d[i + 1], &size)) tg_bad(g, "repeat: axis %u passes 2^63", i);
        x = t_flatten(g, t_expand(g, x, d, s->n), i, i + 1);
    }
    return x;
}

/* ---- nodes that say something about a value ------------------------------------------------------------ */

/* Windows that do not overlap are the elements in another shape: (o*k) is (o, k). So are those of one element, and the only
 * one there is. UNFOLD would say no more, and the gradient is a reshape too. */
static bool is_tiled(int64_t size, int64_t stride, int64_t dilation, int64_t count) {
    return size == 1 || (dilation == 1 && (stride == size || count == 1));
}

static const uop *tiles(struct tg *g, const uop *x, const int64_t *size, const int64_t *stride,
                        const int64_t *count, uint32_t m) {
    const struct shape *s = tg_shape(g, x);
    int64_t d[SHAPE_MAX], order[SHAPE_MAX];
    const uop *box[3 * SHAPE_MAX];
    uint32_t first = s->n - m;
    bool single = true;
    for (uint32_t i = 0; i < s->n; i++) {
        bool win = i >= first;
        int64_t k = win ? size[i - first] : 1, o = win ? count[i - first] : s->d[i];
        box[3 * i] = uop_idx(g->ir, 0), box[3 * i + 1] = uop_idx(g->ir, o * k);
        box[3 * i + 2] = uop_idx(g->ir, win && k == 1 ? stride[i - first] : 1);
        if (!win) d[i] = s->d[i], order[i] = i;
        if (win) d[2 * i - first] = o, order[i] = 2 * i - first;
        if (win) d[2 * i - first + 1] = k, order[i + m] = 2 * i - first + 1, single &= k == 1;
    }
    x = tg_box(g, x, box);
    if (single) { /* no axis to permute */
        for (uint32_t i = 0; i < m; i++) d[first + i] = count[i], d[first + m + i] = 1;
        return tg_reshape(g, x, dims(g, d, s->n + m));
    }
    return permute(g, tg_reshape(g, x, dims(g, d, s->n + m)), order, s->n + m);
}

const uop *t_windows(struct tg *g, const uop *x, const int64_t *size, const int64_t *stride,
                     const int64_t *dilation, uint32_t m) {
    const struct shape *s = tg_shape(g, x);
    int64_t d[2 * SHAPE_MAX], wide[2 * SHAPE_MAX], num[3 * SHAPE_MAX], count[SHAPE_MAX], step[SHAPE_MAX];
    bool tiled = true;
    tg_rank(g, s->n + m);
    if (!m || m > s->n) tg_bad(g, "windows over %u axes of %s", m, tg_dims(g, x));
    for (uint32_t i = 0; i < s->n; i++) d[i] = wide[i] = s->d[i];
    for (uint32_t i = 0; i < m; i++) {
        int64_t n = s->d[s->n - m + i], reach;
        if (size[i] < 1 || stride[i] < 1 || dilation[i] < 1)
            tg_bad(g, "a window of size %lld, stride %lld and dilation %lld; all are 1 or more",
                   (long long)size[i], (long long)stride[i], (long long)dilation[i]);
        if (__builtin_mul_overflow(size[i] - 1, dilation[i], &reach) || reach >= n)
            tg_bad(g, "a window of %lld elements at distance %lld does not fit into axis %u of %s",
                   (long long)size[i], (long long)dilation[i], s->n - m + i, tg_dims(g, x));
        d[s->n + i] = 1, wide[s->n + i] = size[i];
        num[3 * i] = count[i] = (n - reach - 1) / stride[i] + 1;
        step[i] = count[i] > 1 ? stride[i] : 1; /* of one window the stride may reach beyond the axis */
        num[3 * i + 1] = step[i], num[3 * i + 2] = size[i] > 1 ? dilation[i] : 1;
        tiled &= is_tiled(size[i], stride[i], dilation[i], count[i]);
    }
    if (tiled) return tiles(g, x, size, step, count, m);
    x = tg_reshape(g, x, dims(g, d, s->n + m));
    x = tg_to_shape(g, x, dims(g, wide, s->n + m));
    return tg_nums(g, OP_UNFOLD, x, num, 3 * m, ARG_NONE);
}

const uop *t_contiguous(struct tg *g, const uop *x) {
    if (x->op == OP_CONTIGUOUS || x->op == OP_BUFFER || x->op == OP_ASSIGN) return x;
    return uop1(g->ir, OP_CONTIGUOUS, x);
}

const uop *t_inline(struct tg *g, const uop *x) { return uop1(g->ir, OP_INLINE, tg_value(g, x)); }

const uop *t_grad_through(struct tg *g, const uop *value, const uop *back) {
    if (tg_shape(g, value) != tg_shape(g, back) || value->dt != back->dt)
        tg_bad(g, "the gradient's path has shape %s %s; expected the value's, %s %s", tg_dims(g, back),
               tg_dt(back), tg_dims(g, value), tg_dt(value));
    return value == back ? value : uop2(g->ir, OP_GRAD_THROUGH, value, back);
}

const uop *t_detach(struct tg *g, const uop *x) {
    if (x->op == OP_DETACH || x->op == OP_CONST || !dt_is_float((enum dtype)x->dt)) return x;
    return uop1(g->ir, OP_DETACH, x);
}

const uop *t_cast(struct tg *g, const uop *x, enum dtype dt) {
    if (x->dt == dt) return x;
    if (dt == DT_VOID || dt == DT_IDX || dt >= DT_COUNT) tg_bad(g, "cannot cast %s to this dtype", tg_dt(x));
    union val v, s;
    const uop *number = tg_uniform(x);
    if (!number) return uop_new(g->ir, OP_CAST, dt, 1, &x, 1, ARG_NONE);
    if (number != x) return tg_to_shape(g, t_cast(g, number, dt), tg_shape(g, x));
    memcpy(&s, &x->arg, sizeof s);
    op_eval(OP_CAST, dt, (enum dtype)x->dt, &s, &v);
    return dt_is_float(dt) ? uop_flt(g->ir, dt, v.f) : uop_int(g->ir, dt, v.i);
}

const uop *t_bitcast(struct tg *g, const uop *x, enum dtype dt) {
    if (x->dt == dt) return x;
    if (dt >= DT_COUNT || dt == DT_IDX || dt == DT_BOOL || x->dt == DT_BOOL ||
        dtype_info[dt].bytes != dtype_info[x->dt].bytes)
        tg_bad(g, "cannot read the bits of %s as %s: both must be numbers of the same size", tg_dt(x),
               dt < DT_COUNT ? dtype_info[dt].name : "?");
    return uop_new(g->ir, OP_BITCAST, dt, 1, &x, 1, ARG_NONE);
}
