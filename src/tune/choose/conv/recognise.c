/* recognise.c: is a kernel a convolution, and how large are its windows and what is packed of its image.
 * Requires: struct view. Gives: struct cpu_conv. Tests: tests/unit/conv.c */
#include "tune/choose/conv/conv.h"

#include <math.h>
#include <stdlib.h>

/* The ratio of the strides of a position and a tap if their elements overlap; 0: they do not. With a halo they
 * may be adjacent, too. */
static int64_t overlap(const struct view *v, const struct access_view *s, int pos, int tap) {
    int64_t p = access_stride(v, s, pos, 1), t = access_stride(v, s, tap, 1);
    if (p == NO_STRIDE || t == NO_STRIDE || !p || !t) return 0;
    p = p < 0 ? -p : p, t = t < 0 ? -t : t;
    bool halo = s->pred && view_depends(v, s->pred, pos) && view_depends(v, s->pred, tap);
    if (p % t == 0 && p / t < size_of(v, tap) + halo) return p / t;
    if (t % p == 0 && t / p < size_of(v, pos)) return t / p;
    return 0;
}

static bool own_output(const struct view *v, int axis, uint64_t mine, uint64_t other) {
    const struct axis_view *a = &v->axis[axis];
    return !a->reduce && !a->scan && !a->fixed && a->grid && a->size > 1 && has_axis(v, mine, axis) &&
           !has_axis(v, other, axis);
}

/* Pairs of positions and taps of the image s. */
bool conv_windows(const struct view *v, struct cpu_conv *k, const struct operand_view *s,
                  const struct operand_view *other) {
    uint64_t taken = 0;
    k->windows = 0;
    for (int i = 0; i < v->naxis; i++) {
        int tap = -1;
        int64_t best = 0;
        if (!own_output(v, i, s->mask, other->mask)) continue;
        for (int t = 0; t < v->naxis; t++) {
            if (!v->axis[t].reduce || v->axis[t].size < 2 || !has_axis(v, s->mask, t)) continue;
            int64_t ratio = taken >> t & 1 ? 0 : overlap(v, s->access, i, t);
            if (ratio && (!best || ratio < best)) best = ratio, tap = t;
        }
        if (tap < 0) continue;
        if (k->windows == CONV_AXES) return false;
        k->pos[k->windows] = i, k->tap[k->windows++] = tap, taken |= 1ull << tap;
    }
    return k->windows > 0;
}

int conv_window_of(const struct cpu_conv *k, int axis) { /* the window whose position or tap it is, or -1 */
    for (int i = 0; i < k->windows; i++)
        if (k->pos[i] == axis || k->tap[i] == axis) return i;
    return -1;
}

static bool add_phase(const struct view *v, struct cpu_conv *k, int axis) {
    bool moves = has_axis(v, k->image.mask, axis);
    if (k->phases == CONV_AXES) return false;
    k->phase[k->phases++] = axis;
    for (int i = 0; i < k->windows && moves; i++) {
        int64_t p = access_stride(v, k->image.access, k->pos[i], 1);
        if (p == NO_STRIDE || access_stride(v, k->image.access, axis, 1) != p) continue;
        k->shift[i] = axis;
        moves = false;
    }
    return !moves;
}

bool conv_find(const struct view *v, struct cpu_conv *k) {
    struct contraction *c = &k->c;
    for (int i = 0; i < CONV_AXES; i++) k->shift[i] = -1;
    if (!contraction_find(v, c) || !may_stage(v, &c->a) || !may_stage(v, &c->b) ||
        c->a.access->buf == c->b.access->buf)
        return false;
    for (int i = 0; i < 2; i++) {
        k->image = i ? c->a : c->b, k->filter = i ? c->b : c->a;
        if (conv_windows(v, k, &k->image, &k->filter)) break;
    }
    if (!k->windows) return false;
    k->channel = k->batch = -1;
    for (int i = 0; i < v->naxis; i++) {
        const struct axis_view *a = &v->axis[i];
        if (!a->grid && !a->reduce && a->size > 1 && has_axis(v, k->filter.mask, i) && !add_phase(v, k, i))
            return false;
        if (own_output(v, i, k->filter.mask, k->image.mask) &&
            (k->channel < 0 || size_of(v, i) > size_of(v, k->channel)))
            k->channel = i;
        if (own_output(v, i, k->image.mask, k->filter.mask) && conv_window_of(k, i) < 0 &&
            (k->batch < 0 || size_of(v, i) > size_of(v, k->batch)))
            k->batch = i;
    }
    return k->channel >= 0;
}

/* ---- sizes ---- */

/* Elements from one position of a window to the next, in taps; elements of the whole window. */
double conv_step(const struct view *v, const struct cpu_conv *k, int i) {
    int64_t p = access_stride(v, k->image.access, k->pos[i], 1),
            t = access_stride(v, k->image.access, k->tap[i], 1);
    return t ? fabs((double)p / (double)t) : 1;
}

/* The elements that the taps of one position span: with a dilation, those between them too. */
double conv_tap_span(const struct view *v, const struct cpu_conv *k, int i) {
    return (double)(size_of(v, k->tap[i]) - 1) / RG_MIN(conv_step(v, k, i), 1) + 1;
}

double conv_window_size(const struct view *v, const struct cpu_conv *k, int i) {
    return (double)(size_of(v, k->pos[i]) - 1) * RG_MAX(conv_step(v, k, i), 1) + conv_tap_span(v, k, i);
}

int64_t conv_shared_values(const struct view *v, const struct cpu_conv *k, int64_t rows) {
    enum { UNROLLED = 8 };
    int last = k->windows - 1;
    int64_t taps = RG_MIN(size_of(v, k->tap[last]), UNROLLED), step = (int64_t)conv_step(v, k, last);
    return v->isa->by_lane || v->isa->regs < 32 || taps < 2 || step >= taps ? 0 : (rows - 1) * step + taps;
}

/* Bytes of a tile of the image over these windows and the other reduced axes. */
double conv_image_bytes(const struct view *v, const struct cpu_conv *k, int first_window) {
    double bytes = RG_MAX(k->image.access->bytes, 4); /* narrow ones are converted */
    for (int i = 0; i < v->naxis; i++)
        if (v->axis[i].reduce && has_axis(v, k->image.mask, i) && conv_window_of(k, i) < 0)
            bytes *= (double)(k->block && i == k->sum ? k->block : size_of(v, i));
    for (int i = first_window; i < k->windows; i++) {
        bytes *= conv_window_size(v, k, i);
        if (k->shift[i] >= 0) bytes *= 1 + conv_step(v, k, i) / (double)size_of(v, k->pos[i]);
    }
    return bytes;
}

/* The largest divisor of n up to `most`. */
int64_t conv_divisor(int64_t n, int64_t most) {
    int64_t best = 1;
    for (int64_t p = 2; p <= most && p <= n; p++)
        if (n % p == 0) best = p;
    return best;
}

/* Rows of a part of the image, a divisor, that fit half of L2 with their halo; 0: not even one. */
int64_t conv_fitting_rows(const struct view *v, const struct cpu_conv *k) {
    double all = conv_window_size(v, k, 0), line = conv_image_bytes(v, k, 0) / all;
    int64_t n = size_of(v, k->pos[0]);
    if (line * all <= (double)v->l2 / 2) return n;
    double most = ((double)v->l2 / 2 / line - conv_tap_span(v, k, 0)) / RG_MAX(conv_step(v, k, 0), 1) + 1;
    return most < 1 || k->windows < 2 || k->shift[0] >= 0 ? 0 : conv_divisor(n, (int64_t)most);
}

/* Two vectors, where a register tile has registers for them: one leaves FMAs waiting for one another, or for loads. (512 channels of 7 x
 * 7, 512 filters on AVX-512: 22.8 ms, 17.1 by blocks of 128 channels.) */
double conv_column_bytes(const struct view *v, const struct cpu_conv *k) {
    bool two = !v->isa->by_lane && v->isa->regs >= 32 && size_of(v, k->channel) >= 2 * k->c.lanes;
    return k->c.depth * k->c.lanes * 4 * (two ? 2 : 1);
}

bool conv_find_blocks(const struct view *v, struct cpu_conv *k) {
    enum { LEAST_TERMS = 32 }; /* of a block: a partial sum is loaded and stored for each */
    int64_t taps = 1;
    k->sum = -1;
    for (int i = 0; i < k->windows; i++) taps *= size_of(v, k->tap[i]);
    for (int i = 0; i < v->naxis; i++)
        if (v->axis[i].reduce && conv_window_of(k, i) < 0 && has_axis(v, k->image.mask, i) &&
            has_axis(v, k->filter.mask, i) && (k->sum < 0 || size_of(v, i) > size_of(v, k->sum)))
            k->sum = i;
    if (k->sum < 0) return false;
    for (int64_t n = size_of(v, k->sum), part = n / 2; part >= 1 && part * taps >= LEAST_TERMS; part--) {
        double filters = conv_column_bytes(v, k) * (double)part / (double)n;
        if (n % part || filters > (double)v->l2 / 2) continue;
        k->block = part;
        if (conv_fitting_rows(v, k)) return true;
    }
    k->block = 0;
    return false;
}

double conv_positions(const struct view *v, const struct cpu_conv *k) {
    double n = 1;
    for (int i = 0; i < k->windows; i++) n *= (double)size_of(v, k->pos[i]);
    return n;
}

/* More taps than positions: a weight gradient. */
bool conv_is_weight_gradient(const struct view *v, const struct cpu_conv *k) {
    double most = 1;
    for (int i = 0; i < k->windows; i++)
        most *= (double)size_of(v, k->tap[i]) / (double)size_of(v, k->pos[i]);
    return most > 1;
}
