/* resize.c: other sizes of spatial axes: interpolation, means to a given size, padding by what is there, windows along an axis.
 *
 * The source index of a new element is integer arithmetic on a counter, exact for every size. Forward, that is a gather. Its
 * adjoint would be a scatter-add. But the new elements that an old one goes into stand side by side, in a band of a few: their
 * gradients are gathered and summed, with weights computed from the two indices where they are needed, never stored. A gather is
 * the adjoint of a scatter-add: GRAD_THROUGH leads the gradient to one, whose value is never computed.
 * Integer factors need neither: they are a repeat or a slice.
 * Padding by reflection and the like is a concatenation of slices: its gradient adds slices.
 * Tests: tests/unit/conv.c, values in tests/values/conv.txt */
#include "tensor/internal.h"

/* ---- padding with what is there --------------------------------------------------------------------------- */

/* count elements from start on along one axis. */
static const uop *part(struct tg *g, const uop *x, uint32_t axis, int64_t start, int64_t count) {
    struct t_slice all[SHAPE_MAX];
    uint32_t rank = tg_shape(g, x)->n;
    for (uint32_t i = 0; i < rank; i++) all[i] = (struct t_slice){.stop = T_END};
    all[axis] = (struct t_slice){.start = start, .stop = start + count};
    return t_slice(g, x, all, rank);
}

static const uop *repeated(struct tg *g, const uop *x, uint32_t axis, int64_t times) {
    const struct shape *s = tg_shape(g, x);
    int64_t d[SHAPE_MAX];
    for (uint32_t i = 0; i < s->n; i++) d[i] = i == axis ? times : s->d[i];
    return t_expand(g, x, d, s->n);
}

static const uop *pad_axis(struct tg *g, const uop *x, uint32_t axis, int64_t before, int64_t after,
                           enum t_pad_mode mode) {
    int64_t n = tg_shape(g, x)->d[axis], most = mode == T_PAD_REFLECT    ? n - 1
                                                : mode == T_PAD_CIRCULAR ? n
                                                : n                      ? INT32_MAX
                                                                         : 0;
    const uop *piece[3];
    uint32_t k = 0;
    if (before > most || after > most)
        tg_bad(g, "padding (%lld, %lld) of axis %u of shape %s by %s; there is enough for %lld",
               (long long)before, (long long)after, axis, tg_dims(g, x),
               mode == T_PAD_REFLECT    ? "reflection, without the edge itself"
               : mode == T_PAD_CIRCULAR ? "the other end"
                                        : "the edge",
               (long long)RG_MAX(most, 0));
    int64_t at = axis;
    if (before > 0)
        piece[k++] = mode == T_PAD_REFLECT    ? t_flip(g, part(g, x, axis, 1, before), &at, 1)
                     : mode == T_PAD_CIRCULAR ? part(g, x, axis, n - before, before)
                                              : repeated(g, part(g, x, axis, 0, 1), axis, before);
    piece[k++] = x;
    if (after > 0)
        piece[k++] = mode == T_PAD_REFLECT    ? t_flip(g, part(g, x, axis, n - 1 - after, after), &at, 1)
                     : mode == T_PAD_CIRCULAR ? part(g, x, axis, 0, after)
                                              : repeated(g, part(g, x, axis, n - 1, 1), axis, after);
    return k > 1 ? t_cat(g, piece, k, axis) : x;
}

/* Negative numbers crop: of a circle before it is closed, else what was padded, as PyTorch. */
const uop *t_pad_with(struct tg *g, const uop *x, const int64_t *ba, uint32_t n, enum t_pad_mode mode) {
    int64_t crop[2 * SHAPE_MAX];
    x = tg_value(g, x);
    if (mode == T_PAD_CONSTANT) return t_pad(g, x, ba, n, 0);
    if (n > tg_shape(g, x)->n)
        tg_bad(g, "padding for %u axes of shape %s, which has %u", n, tg_dims(g, x), tg_shape(g, x)->n);
    for (uint32_t i = 0; i < 2 * n; i++) crop[i] = RG_MIN(ba[i], 0);
    if (mode == T_PAD_CIRCULAR) x = t_pad(g, x, crop, n, 0);
    for (uint32_t i = 0; i < n; i++) x = pad_axis(g, x, i, ba[2 * i], ba[2 * i + 1], mode);
    return mode == T_PAD_CIRCULAR ? x : t_pad(g, x, crop, n, 0);
}

const uop *t_unfold(struct tg *g, const uop *x, int64_t axis, int64_t size, int64_t step) {
    x = tg_value(g, x);
    uint32_t rank = tg_shape(g, x)->n, at = tg_axis(g, x, axis);
    int64_t last[SHAPE_MAX], back[SHAPE_MAX], one = 1;
    if (size < 1 || step < 1 || size > tg_shape(g, x)->d[at])
        tg_bad(g,
               "windows of %lld elements, %lld apart, along axis %u of shape %s; expected 1 to %lld elements "
               "and a step of 1 or more",
               (long long)size, (long long)step, at, tg_dims(g, x), (long long)tg_shape(g, x)->d[at]);
    for (uint32_t i = 0, k = 0; i < rank; i++)
        if (i != at) last[k] = i, back[i] = k, k++;
    last[rank - 1] = at, back[at] = rank - 1, back[rank] = rank;
    return t_permute(g, t_windows(g, t_permute(g, x, last, rank), &size, &step, &one, 1), back, rank + 1);
}

/* ---- weights computed from counters -------------------------------------------------------------------------- */

/* One axis of x, from n elements to out. */
struct resize_axis {
    struct tg *g;
    uint32_t rank, axis;
    int64_t n, out;
    enum dtype dt; /* of counters */
    const uop *i,
        *j; /* new and old indices, along axes `axis` and `axis + 1` of one axis more; one may depend on both */
};

static const uop *counter(const struct resize_axis *a, int64_t n, uint32_t axis) {
    return t_cast(a->g, tg_iota(a->g, n, a->rank + 1, axis), a->dt);
}

static struct resize_axis axis_of(struct tg *g, const uop *x, uint32_t axis, int64_t out) {
    const struct shape *s = tg_shape(g, x);
    struct resize_axis a = {.g = g, .rank = s->n, .axis = axis, .n = s->d[axis], .out = out};
    a.dt = a.n < 1 << 14 && out < 1 << 14 ? DT_I32 : DT_I64; /* products of both, twice */
    a.i = counter(&a, out, axis);
    return a;
}

/* (i * times + plus) / by, rounded down, at least 0; and what is left. */
static const uop *scaled_from(const struct resize_axis *a, const uop *i, int64_t times, int64_t plus,
                              int64_t by, const uop **rest) {
    struct tg *g = a->g;
    const uop *x = tg_op2(g, OP_ADD, tg_op2(g, OP_MUL, i, t_int(g, a->dt, times)), t_int(g, a->dt, plus));
    if (plus < 0) x = tg_op2(g, OP_MAX, x, t_int(g, a->dt, 0));
    if (rest) *rest = tg_op2(g, OP_MOD, x, t_int(g, a->dt, by));
    return tg_op2(g, OP_IDIV, x, t_int(g, a->dt, by));
}

static const uop *scaled(const struct resize_axis *a, int64_t times, int64_t plus, int64_t by,
                         const uop **rest) {
    return scaled_from(a, a->i, times, plus, by, rest);
}

/* x at index i0 (out numbers along the new axis). */
static const uop *taken(const struct resize_axis *a, const uop *x, const uop *i0) {
    return t_take(a->g, x, a->axis, t_reshape(a->g, i0, &a->out, 1));
}

/* `value` where the old index j is i0, else 0. */
static const uop *indicator(const struct resize_axis *a, const uop *i0, const uop *value) {
    return t_where(a->g, t_eq(a->g, a->j, i0), value, tg_like(a->g, value, 0));
}

/* How x goes into the new axis: the weight of old element j in new element i. */
typedef const uop *weight_fn(const struct resize_axis *, const uop *x, int how);

/* An index of a band: `count` indices from `first` (n numbers) on; `most` are there. Those beyond have weight 0. */
struct band {
    const uop *at, *in; /* clamped; is it one? along axes `axis` and `axis + 1` */
    int64_t n, count;
};

static struct band band_of(const struct resize_axis *a, const uop *first, int64_t n, int64_t count,
                           int64_t most) {
    struct tg *g = a->g;
    const uop *at = t_add(g, first, counter(a, count, a->axis + 1)), *end = t_int(g, a->dt, most);
    const uop *last = t_int(g, a->dt, most - 1);
    return (struct band){.at = tg_op2(g, OP_MIN, at, last), .in = t_lt(g, at, end), .n = n, .count = count};
}

/* The index of a band, n * count numbers, along the axis of x. */
static const uop *band_index(const struct resize_axis *a, const struct band *b) {
    int64_t all = b->n * b->count, d[SHAPE_MAX + 1];
    for (uint32_t i = 0; i <= a->rank; i++) d[i] = i == a->axis ? b->n : i == a->axis + 1 ? b->count : 1;
    return t_reshape(a->g, t_expand(a->g, b->at, d, a->rank + 1), &all, 1);
}

/* The gradient of y, with weights w: each old element has those of new ones from `first` on, `count` at most. */
static const uop *grad_by_band(const struct resize_axis *a, const uop *x, const uop *y, weight_fn *w, int how,
                               const uop *first, int64_t count) {
    struct tg *g = a->g;
    struct resize_axis t = *a;
    struct band b = band_of(a, first, a->n, RG_MIN(count, a->out), a->out);
    int64_t d[SHAPE_MAX], flat[SHAPE_MAX];
    t.i = b.at, t.j = counter(a, a->n, a->axis);
    const uop *weight = w(&t, x, how);
    weight = t_where(g, b.in, weight, tg_like(g, weight, 0));
    const uop *src = t_flatten(g, t_mul(g, t_unsqueeze(g, x, a->axis + 1), weight), a->axis, a->axis + 1);
    const struct shape *s = tg_shape(g, src);
    for (uint32_t i = 0; i < s->n; i++)
        flat[i] = i == a->axis ? s->d[i] : 1, d[i] = i == a->axis ? a->out : s->d[i];
    const uop *index = t_expand(g, t_reshape(g, band_index(a, &b), flat, s->n), s->d, s->n);
    const uop *zeros = t_expand(g, tg_like(g, x, 0), d, s->n);
    return t_grad_through(g, y, t_scatter_add(g, zeros, a->axis, index, src));
}

/* ---- interpolation ----------------------------------------------------------------------------------------------- */

static const uop *nearest_index(const struct resize_axis *a, bool exact) {
    return exact ? scaled(a, 2 * a->n, a->n, 2 * a->out, NULL) : scaled(a, a->n, 0, a->out, NULL);
}

static const uop *nearest_weight(const struct resize_axis *a, const uop *x, int exact) {
    return indicator(a, nearest_index(a, exact), tg_like(a->g, x, 1));
}

static const uop *nearest(struct tg *g, const uop *x, uint32_t axis, int64_t out, bool exact) {
    struct resize_axis a = axis_of(g, x, axis, out);
    const struct shape *s = tg_shape(g, x);
    int64_t d[SHAPE_MAX + 1];
    if (out == a.n) return x;
    if (out % a.n == 0) { /* each element out / n times */
        for (uint32_t i = 0; i <= s->n; i++) d[i] = i == axis + 1 ? out / a.n : s->d[i - (i > axis)];
        return t_flatten(g, t_expand(g, t_unsqueeze(g, x, axis + 1), d, s->n + 1), axis, axis + 1);
    }
    if (a.n % out == 0) { /* every (n / out)-th element */
        struct t_slice box[SHAPE_MAX];
        for (uint32_t i = 0; i < s->n; i++) box[i] = (struct t_slice){.stop = T_END};
        box[axis].start = exact ? a.n / out / 2 : 0, box[axis].step = a.n / out;
        return t_slice(g, x, box, s->n);
    }
    const uop *y = taken(&a, x, nearest_index(&a, exact));
    if (!dt_is_float((enum dtype)x->dt)) return y;
    const uop *j = counter(&a, a.n, axis);
    const uop *first =
        exact ? scaled_from(&a, j, 2 * out, -a.n, 2 * a.n, NULL) : scaled_from(&a, j, out, 0, a.n, NULL);
    return grad_by_band(&a, x, y, nearest_weight, exact, first, out / a.n + 2);
}

/* The two neighbours of new element i and their weights. */
struct neighbours {
    const uop *at[2], *weight[2];
};

static struct neighbours neighbours_of(const struct resize_axis *a, const uop *x, bool corners) {
    struct tg *g = a->g;
    struct neighbours b;
    const uop *rest;
    int64_t by = corners ? RG_MAX(a->out - 1, 1) : 2 * a->out;
    b.at[0] = corners ? scaled(a, a->out > 1 ? a->n - 1 : 0, 0, by, &rest)
                      : scaled(a, 2 * a->n, a->n - a->out, by, &rest);
    b.at[1] = tg_op2(g, OP_MIN, tg_op_k(g, OP_ADD, b.at[0], 1), t_int(g, a->dt, a->n - 1));
    b.weight[1] = tg_op_k(g, OP_FDIV, t_cast(g, rest, (enum dtype)x->dt), (double)by);
    b.weight[0] = tg_op2(g, OP_SUB, tg_like(g, x, 1), b.weight[1]);
    return b;
}

static const uop *linear_weight(const struct resize_axis *a, const uop *x, int corners) {
    struct neighbours b = neighbours_of(a, x, corners);
    return t_add(a->g, indicator(a, b.at[0], b.weight[0]), indicator(a, b.at[1], b.weight[1]));
}

/* Between the two neighbours, by the part of the way from one to the other; x is at least float32. */
static const uop *linear(struct tg *g, const uop *x, uint32_t axis, int64_t out, bool corners) {
    struct resize_axis a = axis_of(g, x, axis, out);
    if (out == a.n) return x;
    struct neighbours b = neighbours_of(&a, x, corners);
    int64_t d[SHAPE_MAX];
    for (uint32_t i = 0; i < a.rank; i++) d[i] = i == axis ? out : 1;
    const uop *v0 = t_reshape(g, b.weight[0], d, a.rank), *v1 = t_reshape(g, b.weight[1], d, a.rank);
    const uop *y = t_add(g, t_mul(g, taken(&a, x, b.at[0]), v0), t_mul(g, taken(&a, x, b.at[1]), v1));
    const uop *j = counter(&a, a.n, axis), *first;
    int64_t count = a.n == 1 || out == 1 ? out : 2 * out / (corners ? a.n - 1 : a.n) + 3;
    if (count >= out)
        first = tg_like(g, j, 0);
    else if (corners)
        first = scaled_from(&a, j, out - 1, 1 - out, a.n - 1, NULL);
    else
        first = scaled_from(&a, j, 2 * out, -out - a.n, 2 * a.n, NULL);
    return grad_by_band(&a, x, y, linear_weight, corners, first, count);
}

/* The spatial axes, those first that shrink most: what follows works on fewer elements. */
static void shrinking_first(const struct shape *s, const int64_t *size, uint32_t n, uint32_t *order) {
    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = i;
        double share = (double)size[i] / (double)s->d[2 + i];
        for (; k && share < (double)size[order[k - 1]] / (double)s->d[2 + order[k - 1]]; k--)
            order[k] = order[k - 1];
        order[k] = i;
    }
}

const uop *t_interpolate(struct tg *g, const uop *x, const int64_t *size, uint32_t n, enum t_resize_mode mode,
                         bool corners) {
    x = tg_value(g, x);
    const struct shape *s = tg_shape(g, x);
    uint32_t order[SPATIAL_MAX];
    if (s->n < 3 || s->n > 2 + SPATIAL_MAX)
        tg_bad(g, "x has shape %s; expected 3 to 5 axes, (N, C, ..)", tg_dims(g, x));
    if (n != s->n - 2)
        tg_bad(g, "%u sizes, %s, for x of shape %s; expected one for each of the %u axes after (N, C)", n,
               tg_list(g, size, n), tg_dims(g, x), s->n - 2);
    if (corners && mode != T_RESIZE_LINEAR) tg_bad(g, "align_corners is for linear interpolation");
    for (uint32_t i = 0; i < n; i++)
        if (size[i] < 1 || size[i] > INT32_MAX || s->d[2 + i] < 1 || s->d[2 + i] > INT32_MAX)
            tg_bad(g, "axis %u of shape %s to size %lld; expected both 1 to 2^31 - 1", 2 + i, tg_dims(g, x),
                   (long long)size[i]);
    if (mode != T_RESIZE_LINEAR) {
        for (uint32_t i = 0; i < n; i++) x = nearest(g, x, 2 + i, size[i], mode == T_RESIZE_NEAREST_EXACT);
        return x;
    }
    x = tg_float(g, x);
    const uop *y = tg_wide(g, x);
    shrinking_first(s, size, n, order);
    for (uint32_t i = 0; i < n; i++) y = linear(g, y, 2 + order[i], size[order[i]], corners);
    return t_cast(g, y, (enum dtype)x->dt);
}

/* ---- means to a given size ----------------------------------------------------------------------------------------- */

static const uop *mean_weight(const struct resize_axis *a, const uop *x, int how) {
    struct tg *g = a->g;
    (void)how;
    const uop *from = scaled(a, a->n, 0, a->out, NULL),
              *to = scaled(a, a->n, a->n + a->out - 1, a->out, NULL);
    const uop *in = t_logical_and(g, t_le(g, from, a->j), t_lt(g, a->j, to));
    const uop *share = tg_op1(g, OP_RECIP, t_cast(g, tg_op2(g, OP_SUB, to, from), (enum dtype)x->dt));
    return t_where(g, in, share, tg_like(g, x, 0));
}

/* New element i is the mean of the old ones from floor(i n/out) up to ceil((i+1) n/out). */
static const uop *adapted(struct tg *g, const uop *x, uint32_t axis, int64_t out) {
    struct resize_axis a = axis_of(g, x, axis, out), t = a;
    if (out == a.n) return x;
    struct band b = band_of(&a, scaled(&a, a.n, 0, out, NULL), out, RG_MIN(a.n / out + 2, a.n), a.n);
    t.j = b.at;
    const uop *w = mean_weight(&t, x, 0), *all = t_take(g, x, axis, band_index(&a, &b));
    w = t_where(g, b.in, w, tg_like(g, w, 0));
    int64_t d[SHAPE_MAX + 1];
    const struct shape *s = tg_shape(g, x);
    for (uint32_t i = 0; i <= s->n; i++)
        d[i] = i == axis ? out : i == axis + 1 ? b.count : s->d[i - (i > axis)];
    uint32_t mask = 1u << (axis + 1);
    const uop *y =
        tg_drop(g, tg_reduce(g, OP_ADD, t_mul(g, t_reshape(g, all, d, s->n + 1), w), mask), mask, false);
    const uop *first = scaled_from(&a, counter(&a, a.n, axis), out, -a.n, a.n, NULL);
    return grad_by_band(&a, x, y, mean_weight, 0, first, out / a.n + 3);
}

const uop *t_adaptive_avg_pool(struct tg *g, const uop *x, const int64_t *size, uint32_t axes) {
    x = tg_float(g, x);
    tg_spatial(g, x, axes);
    const struct shape *s = tg_shape(g, x);
    int64_t window[SPATIAL_MAX];
    uint32_t order[SPATIAL_MAX];
    bool whole = true;
    for (uint32_t i = 0; i < axes; i++) {
        if (size[i] < 1 || size[i] > INT32_MAX || s->d[2 + i] < 1 || s->d[2 + i] > INT32_MAX)
            tg_bad(g, "axis %u of shape %s to size %lld; expected both 1 to 2^31 - 1", 2 + i, tg_dims(g, x),
                   (long long)size[i]);
        window[i] = s->d[2 + i] / size[i], whole &= s->d[2 + i] % size[i] == 0;
    }
    if (whole) return t_avg_pool(g, x, axes, &(struct t_pool){.size = {window, axes}});
    const uop *y = tg_wide(g, x);
    shrinking_first(s, size, axes, order);
    for (uint32_t i = 0; i < axes; i++) y = adapted(g, y, 2 + order[i], size[order[i]]);
    return t_cast(g, y, (enum dtype)x->dt);
}
