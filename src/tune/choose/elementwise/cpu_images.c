/* cpu_images.c: opts of kernels that do the same to many small images: windows, positions and taps that are shorter than a vector or
 * gathered (pooling, resizing, transposing of few elements).
 *
 * Lanes are images. Everything inside of an image is unrolled, so that indices and predicates are constants, an element that
 * several positions read is loaded once, and coalesce.c transposes what is contiguous there in registers:
 *
 *   TILE(image, lanes, v) VEC(v) UNROLL(taps).. UNROLL(positions)..
 *
 * Positions that are too many are a loop, the outermost first.
 * Requires: the elementwise_plan that there is otherwise. Gives: opts. Tests: tests/unit/heuristic.c */
#include "tune/choose/elementwise/elementwise.h"

#include <math.h>

enum {
    MOST_STATEMENTS = 1500, /* of an image */
    MOST_ELEMENTS = 256,    /* .. that are loaded or stored */
    LEAST_VECTORS = 4       /* of images */
};
#define LEAST_GAIN 0.6 /* of the cost of the other plan */

struct images {
    int axis, lanes;
    bool loop[CHOOSE_AXES]; /* a loop around what is unrolled */
};

/* How often a node is evaluated in what is unrolled. */
static double times_unrolled(const struct view *v, const struct images *m, uint64_t mask, double times) {
    times /= (double)v->axis[m->axis].size;
    for (int i = 0; i < v->naxis; i++)
        if (m->loop[i] && (mask & v->axis[i].ranges)) times /= (double)v->axis[i].size;
    return times;
}

/* Elements of an access in what is unrolled: those of an image, or as many as are asked for. */
static double elements(const struct view *v, const struct images *m, const struct access_view *s) {
    double n = times_unrolled(v, m, s->mask, s->times);
    int64_t stride = access_stride(v, s, m->axis, m->lanes);
    return stride ? RG_MIN(n, fabs((double)stride)) : n;
}

static bool fits(const struct view *v, const struct images *m) {
    double statements = 0, all = 0;
    for (uint32_t i = 0; i < v->topo.n; i++) {
        const uop *n = v->topo.p[i];
        if (view_depends(v, n, m->axis) && n->dt != DT_IDX)
            statements +=
                (double)op_statements((enum op)n->op) * times_unrolled(v, m, v->mask[n->id], v->times[n->id]);
    }
    for (int i = 0; i < v->naccess; i++) all += elements(v, m, &v->access[i]);
    return statements <= MOST_STATEMENTS && all <= MOST_ELEMENTS;
}

/* In vector loads, as vector_cost(); what does not depend on the image is a constant. */
static double cost(const struct view *v, const struct images *m) {
    double images = (double)ceil_div(v->axis[m->axis].size, m->lanes), all = 0;
    for (int i = 0; i < v->naccess; i++) {
        const struct access_view *s = &v->access[i];
        double n = elements(v, m, s) * s->times / RG_MAX(times_unrolled(v, m, s->mask, s->times), 1) /
                   (double)v->axis[m->axis].size;
        all += n * images * image_access_cost(v, s, m->axis, m->lanes);
    }
    for (uint32_t i = 0; i < v->topo.n; i++) {
        const uop *n = v->topo.p[i];
        if (!view_depends(v, n, m->axis)) continue;
        all += (n->op == OP_REDUCE ? 1 : op_weight(n)) * v->times[n->id] / (double)v->axis[m->axis].size *
               images;
    }
    return all;
}

/* Is each access linear along the images, and not contiguous; are all other axes constant, and their reductions taps? */
static bool find_images(const struct view *v, struct images *m) {
    double taps = 1;
    m->axis = -1;
    for (int i = 0; i < v->naxis; i++) {
        const struct axis_view *a = &v->axis[i];
        if (a->size < 1 || a->fixed || a->scan || a->members > 1) return false;
        if (a->reduce) taps *= a->most;
        if (a->grid && !a->reduce && (m->axis < 0 || a->size > v->axis[m->axis].size)) m->axis = i;
    }
    if (m->axis < 0 || taps > MOST_TAPS || v->scans || v->stages) return false;
    m->lanes = view_lanes(v, m->axis);
    if (v->axis[m->axis].size < LEAST_VECTORS * m->lanes * v->threads) return false;
    bool apart = false;
    for (int i = 0; i < v->naccess; i++) {
        const struct access_view *s = &v->access[i];
        int64_t stride = access_stride(v, s, m->axis, m->lanes);
        if (stride == NO_STRIDE || s->add || (s->pred && view_depends(v, s->pred, m->axis))) return false;
        apart |= stride > 1 || stride < 0;
    }
    return apart;
}

/* What is contiguous along an axis needs it unrolled. */
static bool may_loop(const struct view *v, int axis) {
    const struct axis_view *a = &v->axis[axis];
    if (a->reduce || !a->grid || a->size < 2) return false;
    for (int i = 0; i < v->naccess; i++)
        if (access_stride(v, &v->access[i], axis, 1) == 1) return false;
    return true;
}

/* Do the accesses along it have nothing in common, nor a predicate? Unrolled it would be the same again. (A transposition of 8 of 32 x 64
 * by 256 elements of an image: 1.7 s of clang, 0.3.) */
static bool shares_nothing(const struct view *v, int axis) {
    for (int i = 0; i < v->naccess; i++)
        if (v->access[i].pred || !(v->access[i].mask & v->axis[axis].ranges)) return false;
    return may_loop(v, axis);
}

/* Does the plan have vectors that are not full, or accesses that are not contiguous? Else its loads are as fast as they can be, whatever
 * its tails are. (Average pooling of 2695 x 43 by 2 x 3: 131 us, by rows of images 283.) */
static bool is_poor(const struct view *v, const struct elementwise_plan *f) {
    if (v->axis[f->axis].size < view_lanes(v, f->axis)) return true;
    for (int i = 0; i < v->naccess; i++) {
        int64_t stride = access_stride(v, &v->access[i], f->axis, f->lanes);
        if (stride != 0 && stride != 1) return true;
    }
    return false;
}

bool write_images(struct view *v, struct elementwise_plan *f, struct str *out) {
    struct images m = {0};
    if (!find_images(v, &m) || !is_poor(v, f)) return false;
    for (int i = 0; i < v->naxis; i++) m.loop[i] = i != m.axis && shares_nothing(v, i);
    for (int i = 0; !fits(v, &m); i++) {
        while (i < v->naxis && (i == m.axis || !may_loop(v, i))) i++;
        if (i == v->naxis) return false;
        m.loop[i] = true;
    }
    if (cost(v, &m) > LEAST_GAIN * f->cost) return false;
    const struct axis_view *a = &v->axis[m.axis];
    const char *lane = view_new_axis(v, a->name, "v");
    str_printf(out, " TILE(%s,%d,%s) VEC(%s)", a->name, m.lanes, lane, lane);
    f->in_grid[m.axis] = (double)ceil_div(a->size, m.lanes);
    for (int i = v->naxis; i-- > 0;) {
        if (i == m.axis || v->axis[i].size < 2) continue;
        str_printf(out, m.loop[i] ? " LOOP(%s)" : " UNROLL(%s)", v->axis[i].name);
        f->in_grid[i] = 1;
    }
    shape_grid(v, out, f->in_grid, f->name);
    return true;
}
