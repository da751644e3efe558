/* pool.c: the greatest and the mean of windows.
 *
 * The windows are those of convolutions (t_windows): moved, not stored. How many there are is PyTorch's rule: with `ceil` a
 * window that reaches past the end counts too, unless it begins in the padding behind. Padding is -inf for the greatest
 * and 0 for the mean, and more than half a window of it is refused, so that each window sees an element.
 * The value of max_pool is a plain reduction. Its gradient goes to the first of equals (NaN before all), as in
 * PyTorch: GRAD_THROUGH leads it to a sum over the window in which only that element is not 0. Where windows overlap, the index of
 * that element is stored, in a byte where it fits, and so is what flows back: each element of x then gathers from the windows
 * that hold it, and none of them is searched twice. Gradients of such x are stored too: in the order of x, not by phases of the stride.
 * Tests: tests/unit/conv.c, values in tests/values/conv.txt */
#include "tensor/internal.h"

#include <math.h>

struct pooling {
    struct tg *g;
    const uop *x; /* cropped where padding is negative */
    uint32_t m;
    int64_t size[SPATIAL_MAX], stride[SPATIAL_MAX], dilation[SPATIAL_MAX], out[SPATIAL_MAX];
    int64_t pad[2 * SPATIAL_MAX],
        fill[2 * SPATIAL_MAX]; /* asked for; with what windows reach over, or less what none sees */
    bool around;               /* windows see something that is not x */
};

static int64_t output_size(struct pooling *p, uint32_t i, bool ceil) {
    int64_t n = tg_shape(p->g, p->x)->d[2 + i], reach = (p->size[i] - 1) * p->dilation[i];
    int64_t room = n + p->pad[2 * i] + p->pad[2 * i + 1] - reach - 1;
    if (!n || n > INT32_MAX || room < 0)
        tg_bad(p->g,
               "a window of %lld elements at distance %lld does not fit into axis %u of %s with padding "
               "(%lld, %lld)",
               (long long)p->size[i], (long long)p->dilation[i], 2 + i, tg_dims(p->g, p->x),
               (long long)p->pad[2 * i], (long long)p->pad[2 * i + 1]);
    int64_t out = (room + (ceil ? p->stride[i] - 1 : 0)) / p->stride[i] + 1;
    return ceil && (out - 1) * p->stride[i] >= n + p->pad[2 * i] ? out - 1 : out;
}

/* Is an element in several windows? */
static bool overlap(const struct pooling *p) {
    for (uint32_t i = 0; i < p->m; i++)
        if (p->out[i] > 1 && (p->size[i] - 1) * p->dilation[i] >= p->stride[i]) return true;
    return false;
}

static void pool_init(struct pooling *p, struct tg *g, const uop *x, uint32_t m, const struct t_pool *o) {
    *p = (struct pooling){.g = g, .m = m};
    int64_t crop[2 * SPATIAL_MAX];
    tg_spatial(g, x, m);
    if (!o->size.n) tg_bad(g, "a window needs a size: one number for all axes, or one for each");
    tg_per_axis(g, o->size, m, "window size", 1, 1, p->size);
    tg_per_axis(g, o->dilation, m, "dilation", 1, 1, p->dilation);
    tg_padding(g, o->padding, m, p->pad);
    for (uint32_t i = 0; i < 2 * m; i++) {
        int64_t half = ((p->size[i / 2] - 1) * p->dilation[i / 2] + 1) / 2;
        if (p->pad[i] > half)
            tg_bad(g,
                   "padding %lld on axis %u with a window over %lld elements; expected at most half of them, "
                   "%lld",
                   (long long)p->pad[i], 2 + i / 2,
                   (long long)((p->size[i / 2] - 1) * p->dilation[i / 2] + 1), (long long)half);
        crop[i] = RG_MIN(p->pad[i], 0), p->pad[i] = RG_MAX(p->pad[i], 0);
    }
    p->x = tg_pad_last(g, x, crop, m, tg_like(g, x, 0));
    for (uint32_t i = 0; i < m; i++) p->stride[i] = p->size[i];
    if (o->stride.n) tg_per_axis(g, o->stride, m, "stride", 1, 1, p->stride);
    for (uint32_t i = 0; i < m; i++) {
        int64_t n = tg_shape(g, p->x)->d[2 + i];
        p->out[i] = output_size(p, i, o->ceil);
        p->fill[2 * i] = p->pad[2 * i];
        p->fill[2 * i + 1] =
            (p->out[i] - 1) * p->stride[i] + (p->size[i] - 1) * p->dilation[i] + 1 - n - p->pad[2 * i];
        p->around |= p->fill[2 * i] > 0 || p->fill[2 * i + 1] > 0;
    }
    if (dt_is_float((enum dtype)x->dt) && overlap(p)) p->x = uop1(g->ir, OP_GRAD_STORED, p->x);
}

/* (.., o.., k..) of x (.., spatial axes). */
static const uop *windows_of(struct pooling *p, const uop *x, const uop *outside) {
    x = tg_pad_last(p->g, x, p->fill, p->m, outside);
    return t_windows(p->g, x, p->size, p->stride, p->dilation, p->m);
}

static uint32_t window_mask(const struct pooling *p) { return ((1u << p->m) - 1) << (2 + p->m); }

/* The number of each element in its window, the sum of k * step: (1, 1, 1.., k..). */
static const uop *window_index(struct pooling *p, const int64_t *step, enum dtype dt) {
    struct tg *g = p->g;
    uint32_t rank = 2 + 2 * p->m;
    const uop *flat = NULL;
    for (uint32_t i = 0; i < p->m; i++) {
        const uop *k = t_cast(g, tg_iota(g, p->size[i], rank, 2 + p->m + i), dt);
        if (step[i] != 1) k = t_mul(g, k, t_int(g, dt, step[i]));
        flat = flat ? t_add(g, flat, k) : k;
    }
    return flat;
}

/* Steps of the row-major index in windows. Returns how many elements a window has. */
static int64_t window_steps(const struct pooling *p, int64_t *step) {
    int64_t n = 1;
    for (uint32_t i = p->m; i--;) step[i] = n, n *= p->size[i];
    return n;
}

/* Which elements of windows are elements of x; NULL: all. */
static const uop *inside(struct pooling *p) {
    struct tg *g = p->g;
    const struct shape *x = tg_shape(g, p->x);
    int64_t d[SHAPE_MAX] = {1, 1};
    for (uint32_t i = 2; i < x->n; i++) d[i] = x->d[i];
    const uop *yes = tg_to_shape(g, uop_int(g->ir, DT_BOOL, 1), shape_make(&g->shapes, d, x->n));
    return p->around ? windows_of(p, yes, uop_int(g->ir, DT_BOOL, 0)) : NULL;
}

/* The number of the first element of each window that is one of x: (1, 1, o.., 1..). */
static const uop *first_inside(struct pooling *p, const int64_t *step, enum dtype dt) {
    struct tg *g = p->g;
    const uop *flat = t_int(g, dt, 0);
    for (uint32_t i = 0; i < p->m; i++) {
        int64_t d = p->dilation[i];
        if (p->fill[2 * i] <= 0) continue;
        const uop *o = tg_iota(g, p->out[i], 2 + 2 * p->m, 2 + i);
        const uop *k = tg_op_k(g, OP_MUL, o, (double)-p->stride[i]); /* rounded up: elements before x, by d */
        k = tg_op_k(g, OP_IDIV, tg_op_k(g, OP_ADD, k, (double)(p->fill[2 * i] + d - 1)), (double)d);
        k = t_cast(g, tg_op_k(g, OP_MAX, k, 0), dt);
        flat = t_add(g, flat, t_mul(g, k, t_int(g, dt, step[i])));
    }
    return flat;
}

/* Of bools the greatest is "or". */
static enum op greatest_op(const uop *x) { return x->dt == DT_BOOL ? OP_ADD : OP_MAX; }

struct greatest {
    const uop *win, *value; /* (.., o.., k..); (.., o.., 1..) */
};

static struct greatest greatest(struct pooling *p, const uop *x) {
    struct tg *g = p->g;
    struct greatest r;
    enum op op = greatest_op(x);
    r.win = windows_of(p, x, uop_identity(g->ir, op, (enum dtype)x->dt));
    r.value = tg_reduce(g, op, r.win, window_mask(p));
    return r;
}

/* Element k of each window: (.., o.., 1..). */
static const uop *tap(struct pooling *p, const uop *win, const int64_t *k) {
    struct t_slice s[SHAPE_MAX] = {{.stop = T_END}, {.stop = T_END}};
    for (uint32_t i = 0; i < p->m; i++) {
        s[2 + i] = (struct t_slice){.stop = T_END};
        s[2 + p->m + i] = (struct t_slice){.start = k[i], .stop = k[i] + 1};
    }
    return t_slice(p->g, win, s, 2 + 2 * p->m);
}

struct best {
    const uop *value, *at;
};

/* The first maximum of elements from .. from + n - 1 of each window, and its number: the better of two parts. One of the first part
 * that is not less than that of the second, or is NaN, is. */
static struct best first_of_taps(struct pooling *p, const uop *win, const int64_t *step, enum dtype dt,
                                 int64_t from, int64_t n) {
    struct tg *g = p->g;
    if (n == 1) {
        int64_t inner[SPATIAL_MAX], k[SPATIAL_MAX] = {0}, number = 0;
        window_steps(p, inner);
        for (uint32_t i = 0; i < p->m; i++) k[i] = from / inner[i] % p->size[i], number += k[i] * step[i];
        const uop *x = tap(p, win, k);
        return (struct best){x, tg_to_shape(g, t_int(g, dt, number), tg_shape(g, x))};
    }
    struct best a = first_of_taps(p, win, step, dt, from, n / 2);
    struct best b = first_of_taps(p, win, step, dt, from + n / 2, n - n / 2);
    const uop *first = tg_op2(g, OP_LE, b.value, a.value);
    if (dt_is_float((enum dtype)win->dt)) first = tg_op2(g, OP_OR, first, tg_op2(g, OP_NE, a.value, a.value));
    return (struct best){tg_op3(g, OP_WHERE, first, a.value, b.value),
                         tg_op3(g, OP_WHERE, first, a.at, b.at)};
}

/* In one search: each element is compared once, with its number beside it. Elements outside are the least there is: where nothing is
 * greater, all elements of x are equal to it, and the first of them counts. */
static const uop *first_by_taps(struct pooling *p, const uop *win, int64_t n, const int64_t *step,
                                enum dtype dt) {
    struct tg *g = p->g;
    if (tg_is_half(win)) win = t_cast(g, win, DT_F32);
    struct best r = first_of_taps(p, win, step, dt, 0, n);
    if (!p->around) return r.at;
    const struct shape *s = tg_shape(g, r.value);
    const uop *least = uop_identity(g->ir, greatest_op(r.value), (enum dtype)r.value->dt);
    const uop *none = tg_op2(g, OP_EQ, r.value, tg_to_shape(g, least, s));
    return tg_op3(g, OP_WHERE, none, tg_to_shape(g, first_inside(p, step, dt), s), r.at);
}

/* The number of each window's first maximum, of the elements' numbers (window_index): (.., o.., 1..). In two searches: the value
 * first, then the least number of what is equal to it. */
static const uop *first_by_value(struct pooling *p, const struct greatest *m, const int64_t *step,
                                 enum dtype dt) {
    struct tg *g = p->g;
    const struct shape *s = tg_shape(g, m->win);
    const uop *in = inside(p), *hit = tg_op2(g, OP_EQ, m->win, tg_to_shape(g, m->value, s));
    if (dt_is_float((enum dtype)m->win->dt)) hit = tg_op2(g, OP_OR, hit, tg_op2(g, OP_NE, m->win, m->win));
    if (in) hit = tg_op2(g, OP_AND, hit, tg_to_shape(g, in, s));
    const uop *at = tg_to_shape(g, window_index(p, step, dt), s);
    const uop *none = t_int(g, dt, dt == DT_I64 ? INT64_MAX : INT32_MAX);
    return tg_reduce(g, OP_MIN, tg_op3(g, OP_WHERE, hit, at, none), window_mask(p));
}

/* Larger windows are searched in loops, twice: without loops a kernel has a line for each element, and is planned for long. */
enum { TAPS_MAX = 27 };

static const uop *first_of(struct pooling *p, const struct greatest *m, const int64_t *step, enum dtype dt) {
    int64_t inner[SPATIAL_MAX], n = window_steps(p, inner);
    if (n > TAPS_MAX) return first_by_value(p, m, step, dt);
    return first_by_taps(p, m->win, n, step, dt);
}

/* Which element of each window is the first maximum: as bools, from indices in memory where windows overlap. The value is at hand, and
 * one search of what is computed on the way (a batch norm) would compute or store it for each comparison. */
static const uop *is_first(struct pooling *p, const struct greatest *m) {
    struct tg *g = p->g;
    int64_t step[SPATIAL_MAX], window = window_steps(p, step);
    enum dtype dt = window <= INT32_MAX ? DT_I32 : DT_I64;
    const uop *first = first_by_value(p, m, step, dt);
    if (overlap(p)) {
        if (window <= UINT8_MAX) dt = DT_U8;
        first = t_contiguous(g, t_detach(g, t_cast(g, first, dt)));
    }
    const uop *at = tg_to_shape(g, window_index(p, step, dt), tg_shape(g, m->win));
    return tg_op2(g, OP_EQ, at, tg_to_shape(g, first, tg_shape(g, at)));
}

const uop *t_max_pool(struct tg *g, const uop *x, uint32_t axes, const struct t_pool *o) {
    struct pooling p;
    x = tg_value(g, x);
    pool_init(&p, g, x, axes, o);
    bool flt = dt_is_float((enum dtype)x->dt);
    struct greatest m = greatest(&p, p.x);
    if (!flt) return tg_drop(g, m.value, window_mask(&p), false);
    const uop *only = tg_op3(g, OP_WHERE, is_first(&p, &m), m.win, tg_like(g, x, 0));
    const uop *back = tg_reduce(g, OP_ADD, only, window_mask(&p));
    if (overlap(&p)) back = uop1(g->ir, OP_GRAD_STORED, back);
    return tg_drop(g, t_grad_through(g, m.value, back), window_mask(&p), false);
}

/* Elements are numbered by their distance in the plane, so that nothing is divided: axis by axis, o*stride - before + k*dilation.
 * In 32 bits where the plane allows: few CPUs multiply vectors of 64. */
const uop *t_max_pool_index(struct tg *g, const uop *x, uint32_t axes, const struct t_pool *o) {
    struct pooling p;
    x = tg_value(g, x);
    pool_init(&p, g, x, axes, o);
    const struct shape *s = tg_shape(g, p.x);
    if (s != tg_shape(g, x)) /* the plane is that of x before a crop */
        tg_bad(g, "indices of maxima with negative padding; crop the tensor first");
    int64_t step[SPATIAL_MAX] = {0}, row[SPATIAL_MAX] = {0}, plane = 1, reach = 1;
    for (uint32_t i = axes; i--;) {
        row[i] = plane, step[i] = plane * p.dilation[i];
        plane *= s->d[2 + i], reach *= s->d[2 + i] + p.fill[2 * i] + RG_MAX(p.fill[2 * i + 1], 0);
    }
    enum dtype dt = reach <= INT32_MAX / 2 ? DT_I32 : DT_I64;
    struct greatest m = greatest(&p, p.x);
    const uop *at = tg_drop(g, first_of(&p, &m, step, dt), window_mask(&p), false), *window = NULL;
    for (uint32_t i = 0; i < axes; i++) {
        const uop *first = t_cast(g, tg_iota(g, p.out[i], s->n, 2 + i), dt);
        first = t_sub(g, t_mul(g, first, t_int(g, dt, p.stride[i])), t_int(g, dt, p.pad[2 * i]));
        first = t_mul(g, first, t_int(g, dt, row[i]));
        window = window ? t_add(g, window, first) : first;
    }
    return t_cast(g, t_add(g, at, window), DT_I64);
}

/* Windows that overlap name one element several times, with equal values: the last is copied, so that it keeps its bits. The gradient
 * is gathered at the index for each of them, as that of a sum is. */
const uop *t_max_unpool(struct tg *g, const uop *x, const uop *index, int64_t h, int64_t w) {
    x = tg_value(g, x), index = tg_value(g, index);
    const struct shape *s = tg_shape(g, x);
    tg_spatial(g, x, 2);
    if (tg_shape(g, index) != s)
        tg_bad(g, "the index has shape %s; expected x's, %s", tg_dims(g, index), tg_dims(g, x));
    if (h < 1 || w < 1 || h > INT32_MAX || w > INT32_MAX)
        tg_bad(g, "a plane of %lld by %lld; expected 1 to 2^31 - 1 each", (long long)h, (long long)w);
    int64_t flat[3] = {s->d[0], s->d[1], s->d[2] * s->d[3]}, plane[3] = {s->d[0], s->d[1], h * w};
    int64_t out[4] = {s->d[0], s->d[1], h, w};
    x = t_reshape(g, x, flat, 3), index = t_reshape(g, index, flat, 3);
    const uop *none = t_full(g, tg_like(g, x, 0), plane, 3), *put = t_scatter(g, none, 2, index, x);
    if (dt_is_float((enum dtype)x->dt)) put = t_grad_through(g, put, t_scatter_add(g, none, 2, index, x));
    return t_reshape(g, put, out, 4);
}

/* ---- means ------------------------------------------------------------------------------------------------------- */

/* How many elements k of window o lie in [lo, hi): o*stride - before + k*dilation. One number if it is the
 * same for all. (o) along axis i of `rank` axes. */
static const uop *count_along(struct pooling *p, uint32_t i, bool exclude, enum dtype dt) {
    struct tg *g = p->g;
    int64_t n = tg_shape(g, p->x)->d[2 + i], before = p->pad[2 * i], stride = p->stride[i];
    int64_t d = p->dilation[i], size = p->size[i], lo = exclude ? 0 : -before,
            hi = exclude ? n : n + p->pad[2 * i + 1];
    bool full = (p->out[i] - 1) * stride - before + (size - 1) * d < hi && -before >= lo;
    if (full) return t_number(g, dt, (double)size);
    const uop *o = tg_iota(g, p->out[i], 2 + p->m, 2 + i), *zero = tg_like(g, o, 0),
              *most = tg_like(g, o, (double)size);
    const uop *start = tg_op_k(g, OP_ADD, tg_op_k(g, OP_MUL, o, (double)stride), (double)-before);
    const uop *end =
        tg_op_k(g, OP_IDIV, tg_op2(g, OP_SUB, tg_like(g, o, (double)(hi + d - 1)), start), (double)d);
    const uop *from =
        tg_op_k(g, OP_IDIV, tg_op2(g, OP_SUB, tg_like(g, o, (double)(lo + d - 1)), start), (double)d);
    end = tg_op2(g, OP_MIN, end, most), from = tg_op2(g, OP_MAX, from, zero);
    return t_cast(g, tg_op2(g, OP_SUB, end, from), dt);
}

/* Where windows overlap, what flows back is divided once: for each element of x if all counts are one number, else for each window. */
static const uop *mean_of(struct pooling *p, const uop *w, const uop *sum, const uop *count) {
    struct tg *g = p->g;
    if (!overlap(p)) return t_div(g, sum, count);
    if (count->op != OP_CONST) return t_div(g, uop1(g->ir, OP_GRAD_STORED, sum), count);
    const uop *back = windows_of(p, t_div(g, w, count), tg_like(g, w, 0));
    back = tg_drop(g, tg_reduce(g, OP_ADD, back, window_mask(p)), window_mask(p), false);
    return t_grad_through(g, t_div(g, sum, count), back);
}

const uop *t_avg_pool(struct tg *g, const uop *x, uint32_t axes, const struct t_pool *o) {
    struct pooling p;
    x = tg_float(g, x);
    pool_init(&p, g, x, axes, o);
    const uop *w = tg_wide(g, p.x), *count = NULL;
    const uop *sum = tg_reduce(g, OP_ADD, windows_of(&p, w, tg_like(g, w, 0)), window_mask(&p));
    sum = tg_drop(g, sum, window_mask(&p), false);
    for (uint32_t i = 0; i < axes; i++) {
        const uop *c = count_along(&p, i, o->exclude_padding, (enum dtype)w->dt);
        count = count ? t_mul(g, count, c) : c;
    }
    return t_cast(g, mean_of(&p, w, sum, count), (enum dtype)x->dt);
}
