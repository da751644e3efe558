/* weight_gradient.c: weight gradients, by channels or by dot products along a tap (cpu_conv.c).
 * Requires: struct cpu_conv; for conv_write_gradient a register tile, too. Gives: an opt list. Tests: tests/unit/conv.c */
#include "tune/choose/conv/conv.h"

#include <stdlib.h>

/* ---- weight gradient ----------------------------------------------------------------------- */

/* How many of the reduced axes, from the outermost, are loops around the packed tiles, at least `least`; *part: values of the
 * innermost of those per tile. */
static int outer_sums(const struct view *v, const struct cpu_conv *k, const int *sum, int n, int least,
                      int64_t *part) {
    double room = (double)v->l2 / 3; /* for both packed tiles; the rest holds sums and stores */
    for (int outer = least; outer < n; outer++) {
        double image = conv_image_bytes(v, k, 0), filter = k->filter.access->bytes;
        double steps = 1;
        if (k->batch >= 0) image *= (double)size_of(v, k->batch);
        filter *= (double)size_of(v, k->channel);
        for (int i = 0; i < n; i++) {
            bool out = i < outer;
            int w = conv_window_of(k, sum[i]);
            if (!out) filter *= (double)size_of(v, sum[i]), steps *= (double)size_of(v, sum[i]);
            if (out && w < 0) image /= (double)size_of(v, sum[i]);
            if (out && w >= 0)
                image *=
                    (double)size_of(v, k->pos[w]) / (double)(size_of(v, k->pos[w]) + size_of(v, sum[i]) - 1);
        }
        *part = 1;
        if (image + filter > room) continue;
        int64_t most = (int64_t)(room / (image + filter));
        if (outer && conv_window_of(k, sum[outer - 1]) < 0)
            *part = conv_divisor(size_of(v, sum[outer - 1]),
                                 RG_MIN(RG_MIN(most, 4), size_of(v, sum[outer - 1]) - 1));
        return outer;
    }
    return -1;
}

/* Splits the tiles of an axis into *want parts for the grid and a loop inside. */
static const char *tile_grid(struct view *v, struct contraction *c, struct str *out, int axis, double *want) {
    int64_t n = (int64_t)c->in_grid[axis], parts = 1;
    const char *name = v->axis[axis].name;
    if (n <= 1) return "";
    for (int64_t p = 1; p <= n; p++)
        if (n % p == 0 && (double)parts < *want) parts = p;
    *want /= (double)parts;
    c->in_grid[axis] = (double)parts;
    if (parts == n) return "";
    if (parts == 1) {
        str_printf(out, " LOOP(%s)", name);
        return name;
    }
    const char *loop = view_new_axis(v, name, "l");
    str_printf(out, " TILE(%s,%lld,%s)", name, (long long)(n / parts), loop);
    return loop;
}

static void fill_rows(struct str *out, const char *b, const char *axis, int64_t n) {
    bool lanes = n == 2 || n == 4 || n == 8 || n == 16;
    if (*axis) str_printf(out, " %s(%s.%s)", lanes ? "VEC" : "UNROLL", b, axis);
}

/* The last window has stride 1: several of its elements are transposed in registers at once. outermost: it is the tile's first
 * dimension, whose last elements may be fewer. */
static void fill_window(const struct view *v, const struct cpu_conv *k, struct str *out, const char *axis,
                        bool outermost) {
    const char *b = access_name(v, k->image.access);
    int pos = k->pos[k->windows - 1], tap = k->tap[k->windows - 1];
    int64_t p = llabs(access_stride(v, k->image.access, pos, 1)),
            t = llabs(access_stride(v, k->image.access, tap, 1));
    int64_t unit = RG_MIN(p, t), n = p / unit * (size_of(v, pos) - 1) + t / unit * (size_of(v, tap) - 1) + 1;
    int64_t u = k_unroll(n);
    bool rows = outermost && !v->isa->by_lane && n >= 16; /* of 16 bytes, whatever is left */
    if (rows) u = 4;
    if ((n % u && !rows) || u < 2) return;
    if (u == n)
        str_printf(out, " UNROLL(%s.%s)", b, axis);
    else
        str_printf(out, " TILE(%s.%s,%lld,%s.u) UNROLL(%s.u)", b, axis, (long long)u, b, b);
}

bool conv_write_gradient(struct view *v, struct cpu_conv *k, struct str *out) {
    struct contraction *c = &k->c;
    int sum[CHOOSE_AXES], n = 0, last = k->tap[k->windows - 1];
    int64_t part;
    for (int i = 0; i < v->naxis; i++)
        if (v->axis[i].reduce && i != last) sum[n++] = i;
    sum[n++] = last;
    bool parts = conv_grid_size(v, c) > (double)(size_of(v, c->m) * size_of(v, c->n)) * conv_positions(v, k);
    int outer = n > 1 ? outer_sums(v, k, sum, n, !parts, &part) : -1; /* parts of images: packed whole */
    if (outer < 0) return false;
    struct tiled_axis rows = conv_tile(v, c, out, true), cols = conv_tile(v, c, out, false);
    double bytes = (double)size_of(v, c->m) * (double)size_of(v, c->n) * k->filter.access->bytes;
    const char *positions = "", *around = "", *inside = "", *fdim = "", *idim = "";
    bool cut = v->finer >= FINER_AXES && k->windows > 1; /* the first positions stay in the grid */
    for (int i = cut; i < k->windows; i++) {
        conv_loop(v, c, out, k->pos[i]);
        bytes *= (double)size_of(v, k->pos[i]);
        positions = LIST(v, positions, v->axis[k->pos[i]].name);
    }
    double want = v->finer ? v->tasks : v->threads;
    want = RG_MAX(want, bytes / ((double)v->l2 / 4)); /* each part packs its own tiles */
    want /= conv_grid_size(v, c) / (c->in_grid[c->m] * c->in_grid[c->n]);
    const char *ml = tile_grid(v, c, out, c->m, &want), *nl = tile_grid(v, c, out, c->n, &want);
    struct tiled_axis inner = conv_unroll_sum(v, out, last, c->mr * c->nv);
    const char *at = outer ? NULL : conv_grid_axis(v, c);
    for (int i = 0; i < n; i++) {
        struct tiled_axis s = i == n - 1 ? inner : conv_axis(v, sum[i]);
        int w = conv_window_of(k, sum[i]);
        if (i < outer) {
            around = LIST(v, around, at = s.loop);
            if (i == outer - 1 && part > 1) {
                const char *more = view_new_axis(v, s.loop, "l");
                str_printf(out, " TILE(%s,%lld,%s)", s.loop, (long long)part, more);
                inside = fdim = idim = more;
            }
            if (w >= cut) idim = LIST(v, idim, v->axis[k->pos[w]].name);
            continue;
        }
        struct tiled_axis pos = w >= 0 ? conv_axis(v, k->pos[w]) : s, none = {"", "", ""};
        if (cut && !w) pos = none;
        inside = LIST(v, inside, s.loop), fdim = LIST(v, fdim, s.loop, s.out);
        idim = LIST(v, idim, w >= 0 ? conv_window_dim(v, &s, &pos) : conv_window_dim(v, &s, &none));
    }
    const char *f = access_name(v, k->filter.access), *b = access_name(v, k->image.access);
    str_printf(out, " ORDER(%s)", LIST(v, around, nl, ml, positions, inside));
    str_printf(out, " STAGE(%s,%s,%s) STAGE(%s,%s,%s)", f, at, LIST(v, nl, fdim, cols.out, cols.lane), b, at,
               LIST(v, ml, idim, rows.out));
    if (*cols.lane)
        str_printf(out, " VEC(%s.%s) UNROLL(%s.%s)", f, cols.lane, f, cols.out);
    else
        fill_rows(out, f, cols.out, c->lanes);
    fill_rows(out, b, rows.out, c->mr);
    if (*inner.out) str_printf(out, " UNROLL(%s.%s)", f, inner.out);
    fill_window(v, k, out, *inner.loop ? inner.loop : inner.out, !*ml && !strchr(idim, ','));
    return true;
}

/* Weight gradient with vectors along the last tap, for an image of few channels: no packing, one horizontal reduction per
 * block of images. */
bool conv_write_dots(struct view *v, struct cpu_conv *k, struct str *out, int along) {
    struct contraction *c = &k->c;
    int sum[CHOOSE_AXES], n = 0;
    int64_t part, mr, nr, vectors = ceil_div(size_of(v, along), view_lanes(v, along));
    for (int i = 0; i < v->naxis; i++)
        if (v->axis[i].reduce && i != along) sum[n++] = i;
    sum[n++] = along;
    int outer = outer_sums(v, k, sum, n, 1, &part);
    if (outer < 1 || k->windows < 2) return false;
    c->m = k->channel, c->n = k->pos[k->windows - 1];
    tile_of(v, size_of(v, c->m), size_of(v, c->n), 1, 1, true, &mr, &nr);
    tile_dot(v, c, out, along, mr, nr);
    bool short_row = vectors > 1 && vectors * mr * nr <= 256;
    if (short_row) str_printf(out, " UNROLL(%s)", v->axis[along].name);
    const char *around = "", *inside = "", *loops = "";
    double want = 2.0 * v->threads;
    for (int i = 0; i < v->naxis; i++)
        if (v->axis[i].grid && c->in_grid[i] > 1 && conv_window_of(k, i) < 0)
            loops = LIST(v, loops, tile_grid(v, c, out, i, &want));
    for (int i = 0; i < k->windows - 1; i++) { /* never in the grid: rounding must not depend on threads */
        conv_loop(v, c, out, k->pos[i]);
        loops = LIST(v, loops, v->axis[k->pos[i]].name);
    }
    for (int i = 0; i < n; i++) {
        const char *name = v->axis[sum[i]].name, *more = "";
        if (i == outer - 1 && part > 1) {
            more = view_new_axis(v, name, "l");
            str_printf(out, " TILE(%s,%lld,%s)", name, (long long)part, more);
        }
        if (i < outer)
            around = LIST(v, around, name), inside = LIST(v, inside, more);
        else if (i < n - 1 || (vectors > 1 && !short_row))
            inside = LIST(v, inside, name);
    }
    str_printf(out, " ORDER(%s)", LIST(v, around, loops, inside));
    return true;
}
