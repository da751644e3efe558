/* cpu_access.c: what a load or store costs if an axis is the vector axis: contiguous, pooled (lanes share elements), interleaved (a
 * small stride, shuffled), strided and transposed in registers with another axis (coalesce.c), or element by element.
 *
 * In vector loads. Tuned on the golden kernels (tests/golden). Requires: struct view. Tests: tests/unit/heuristic.c */
#include "tune/choose/elementwise/elementwise.h"

static const struct {
    double pooled, interleaved, transposed, transposed_narrow, stored_narrow, gathered, scattered_add;
} access_price = {
    .pooled = 1.5,          /* vectors built from few loads */
    .interleaved = 0.75,    /* per element of the stride: loads of whole vectors, shuffled */
    .transposed = 3,        /* strided, transposed in registers */
    .transposed_narrow = 5, /* elements of 1 or 2 bytes .. */
    .stored_narrow = 7.5,   /* .. that are stored: as pairs (i16 87 x 399: 6.4 us, 5.0) */
    .gathered = 2,          /* per element */
    .scattered_add = 8,     /* per element */
};
enum {
    LEAST_ROW = 16, /* bytes of rows that are transposed in registers .. */
    NARROW_ROW = 8, /* .. of elements of 1 or 2 bytes */
    MOST_POOL = 4   /* elements that share a load, or whose vectors are shuffled */
};

int unit_axis(const struct view *v, const struct access_view *s, int not ) {
    for (int i = v->naxis; i-- > 0;)
        if (i != not &&!v->axis[i].fixed && v->axis[i].size > 1 && access_stride(v, s, i, 4) == 1) return i;
    return -1;
}

/* Bytes that follow each other along it, and along reductions around it that are unrolled (write_taps). */
static int64_t row_bytes(const struct view *v, const struct access_view *s, int unit) {
    int64_t n = v->axis[unit].size;
    for (int i = v->naxis; i-- > 0;) {
        const struct axis_view *a = &v->axis[i];
        if (i != unit && a->reduce && !a->fixed && a->size > 1 && a->size <= MOST_TAPS &&
            access_stride(v, s, i, 1) == n)
            n *= a->size;
    }
    return n * s->bytes;
}

/* .. and long enough for rows to transpose. */
static bool has_rows(const struct view *v, const struct access_view *s, int axis) {
    int unit = unit_axis(v, s, axis);
    return unit >= 0 && row_bytes(v, s, unit) >= (s->bytes < 4 ? NARROW_ROW : LEAST_ROW);
}

/* Vector loads that a transposed element costs. Bytes are stored, and loaded from rows that are no whole pieces, lane by lane; 16-bit ones
 * too where vectors have no parts of 16 bytes (coalesce.c). */
static double transposed_cost(const struct view *v, const struct access_view *s, int axis, double touch) {
    bool pieces = s->bytes >= (v->vec_bytes > 32 ? 2 : 4) ||
                  (!s->store && row_bytes(v, s, unit_axis(v, s, axis)) % NARROW_ROW == 0);
    double narrow = s->store ? access_price.stored_narrow : access_price.transposed_narrow;
    return pieces ? RG_MIN((s->bytes < 4 ? narrow : access_price.transposed) * touch, 1) : 1;
}

int64_t index_divisor(const struct view *v, const uop *n, int axis) {
    bool plain = n->op == OP_IDIV && n->dt == DT_IDX && n->src[0]->op == OP_RANGE && uop_is_const(n->src[1]);
    return plain && view_axis_of(v, n->src[0]) == axis && n->src[1]->arg.i <= MOST_POOL ? n->src[1]->arg.i
                                                                                        : 0;
}

/* Do adjacent lanes along the axis read the same element? Then coalesce.c builds vectors from few loads. */
static bool is_pooled(const struct view *v, const struct access_view *s, int axis) {
    const uop *n = s->index;
    if (s->store || s->pred) return false;
    while (n->op == OP_ADD && view_depends(v, n->src[0], axis) != view_depends(v, n->src[1], axis))
        n = n->src[view_depends(v, n->src[1], axis)];
    return index_divisor(v, n, axis) > 1;
}

/* Vectors that share loads, or that fill rows of stores together with an unrolled axis between their elements (what is scattered to the
 * positions of a window, a nearest neighbour). */
static bool is_interleaved(const struct view *v, const struct access_view *s, int axis, int64_t stride) {
    if (stride < 2 || stride > MOST_POOL || (s->pred && s->store)) return false;
    int unit = s->store ? unit_axis(v, s, axis) : -1;
    return !s->store || (unit >= 0 && v->axis[unit].size == stride && !s->add);
}

double access_cost(const struct view *v, const struct access_view *s, int axis, int lanes, double touch) {
    int64_t stride = access_stride(v, s, axis, lanes);
    if (stride == 0 || stride == 1) return touch;
    if (is_pooled(v, s, axis)) return access_price.pooled * touch;
    if (is_interleaved(v, s, axis, stride))
        return RG_MIN(access_price.interleaved * (double)stride * touch,
                      s->store ? 1 : access_price.gathered);
    if (stride != NO_STRIDE && !s->pred && has_rows(v, s, axis)) return transposed_cost(v, s, axis, touch);
    return s->add ? access_price.scattered_add : access_price.gathered;
}

double image_access_cost(const struct view *v, const struct access_view *s, int axis, int lanes) {
    int64_t stride = access_stride(v, s, axis, lanes);
    if (stride == 0 || stride == 1) return s->store ? 1.5 : 1;
    if (s->bytes < 4) return s->store ? access_price.stored_narrow : access_price.transposed_narrow;
    return access_price.transposed;
}
