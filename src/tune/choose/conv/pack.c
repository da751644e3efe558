/* pack.c: opts that the schedules of a convolution share: tiles by the names of their axes, and the packing of image and filters.
 * Requires: struct cpu_conv. Gives: parts of an opt list. Tests: tests/unit/conv.c */
#include "tune/choose/conv/conv.h"

enum {
    FILTER_OUT = 32, /* taps of a filter that is packed, unrolled whole .. */
    ROW_OUT = 64,    /* .. and elements of a row of the image */
};

/* ---- names --------------------------------------------------------------------------------------------------- */

struct tiled_axis conv_axis(const struct view *v, int axis) {
    return (struct tiled_axis){v->axis[axis].name, "", ""};
}

/* Rows or columns of the register tile. */
struct tiled_axis conv_tile(struct view *v, struct contraction *c, struct str *out, bool rows) {
    const char *inner = NULL, *lane = NULL, *name = v->axis[rows ? c->m : c->n].name;
    rows ? tile_rows(v, c, out, &inner) : tile_columns(v, c, out, &inner, &lane);
    struct tiled_axis r = {name, inner ? inner : "", lane ? lane : ""};
    if (inner && !strcmp(inner, name)) r.loop = "";
    return r;
}

/* Unrolls the innermost reduced axis, or a tile of it. */
struct tiled_axis conv_unroll_sum(struct view *v, struct str *out, int axis, int64_t copies) {
    struct tiled_axis r = conv_axis(v, axis);
    int64_t n = size_of(v, axis), u = n <= TAPS_OUT && n * copies <= 256 ? n : n % 4 ? k_unroll(n) : 4;
    if (n > TAPS_OUT && n % u) u = 1;
    if (u == n) {
        r = (struct tiled_axis){"", v->axis[axis].name, ""};
        str_printf(out, " UNROLL(%s)", r.out);
    } else if (u > 1 && n > TAPS_OUT) {
        r.out = view_new_axis(v, v->axis[axis].name, "u");
        str_printf(out, " TILE(%s,%lld,%s) UNROLL(%s)", r.loop, (long long)u, r.out, r.out);
    }
    return r;
}

/* The dimension of a tile of the image that a window becomes. */
const char *conv_window_dim(struct view *v, const struct tiled_axis *pos, const struct tiled_axis *tap) {
    const char *name[] = {pos->loop, pos->out, pos->lane, tap->loop, tap->out};
    const char *all = "";
    for (size_t i = 0; i < RG_COUNT(name); i++)
        if (*name[i]) all = *all ? arena_printf(v->arena, "%s+%s", all, name[i]) : name[i];
    return all;
}

/* The innermost axis that is still in the grid. */
const char *conv_grid_axis(const struct view *v, const struct contraction *c) {
    const char *at = NULL;
    for (int i = 0; i < v->naxis; i++)
        if (v->axis[i].grid && c->in_grid[i] > 1) at = v->axis[i].name;
    return at;
}

double conv_grid_size(const struct view *v, const struct contraction *c) {
    double n = 1;
    for (int i = 0; i < v->naxis; i++) n *= v->axis[i].grid ? c->in_grid[i] : 1;
    return n;
}

void conv_loop(const struct view *v, struct contraction *c, struct str *out, int axis) {
    if (v->axis[axis].grid && c->in_grid[axis] > 1) str_printf(out, " LOOP(%s)", v->axis[axis].name);
    c->in_grid[axis] = 1;
}

/* Copies a row of the image at once, or equal parts of it: by vectors between the ends of the halo. */
static void unroll_row(struct str *out, const char *b, const char *axis, int64_t wide) {
    int64_t part = conv_divisor(wide, ROW_OUT);
    if (part == wide)
        str_printf(out, " UNROLL(%s.%s)", b, axis);
    else if (part >= ROW_OUT / 4)
        str_printf(out, " TILE(%s.%s,%lld,%s.u) UNROLL(%s.u)", b, axis, (long long)part, b, b);
}

/* Is a row of the image of this many elements copied by vectors? */
bool conv_is_even_row(const struct view *v, int pos, int64_t wide) {
    return wide % view_lanes(v, pos) == 0 || wide <= ROW_OUT || conv_divisor(wide, ROW_OUT) >= ROW_OUT / 4;
}

/* Pads the innermost positions to whole tiles of rows, which need no predicates then (85 positions of stride 3 on AVX-512: the last tile
 * of 13 took the time of 7), and where no part of a row of the image divides it. (4 channels of 515 positions, 3 taps, on NEON:
 * copied element by element 0.99 ms, 0.24.) */
void conv_pad_row(struct view *v, struct cpu_conv *k, struct str *out) {
    enum { MOST_MORE = 8 };
    int last = k->windows - 1, pos = k->pos[last];
    int64_t step = (int64_t)RG_MAX(conv_step(v, k, last), 1), wide = (int64_t)conv_window_size(v, k, last),
            n = size_of(v, pos),
            tile = k->c.m == pos   ? k->c.mr
                   : k->c.n == pos ? k->c.lanes
                                   : 1;
    if (k->shift[last] >= 0 || !k->image.access->pred || !view_depends(v, k->image.access->pred, pos))
        return; /* without a halo the padding would have a predicate of its own */
    int64_t most = RG_MAX(16 * tile <= n ? 2 * tile : tile - 1, MOST_MORE), best = -1, other = -1;
    for (int64_t i = most; i >= 0; i--) {
        if (!conv_is_even_row(v, pos, wide + i * step)) continue;
        *((n + i) % tile ? &other : &best) = i;
    }
    k->more = best >= 0 ? best : other >= 0 ? other : ceil_div(n, tile) * tile - n;
    if (k->more) str_printf(out, " PADTO(%s,%lld)", v->axis[pos].name, (long long)(n + k->more));
}

/* What is packed of a reduced axis. */
static const char *packed_axis(const struct view *v, const struct cpu_conv *k, int axis) {
    return k->block && axis == k->sum ? k->in_block : v->axis[axis].name;
}

/* Packs the image with its halo, for one value of the batch. rows: the loop over some of its rows; NULL: all are packed. */
bool conv_stage_image(struct view *v, struct cpu_conv *k, struct str *out, const char *at, const char *rows) {
    const char *b = access_name(v, k->image.access), *dims = "", *last = "";
    int64_t wide = 0;
    for (int i = 0; i < v->naxis; i++)
        if (v->axis[i].reduce && has_axis(v, k->image.mask, i) && conv_window_of(k, i) < 0)
            dims = LIST(v, dims, packed_axis(v, k, i));
    for (int i = 0; i < k->windows; i++) {
        struct tiled_axis pos = conv_axis(v, k->pos[i]), tap = conv_axis(v, k->tap[i]);
        wide = (int64_t)conv_window_size(v, k, i);
        if (i == k->windows - 1) wide += k->more * (int64_t)RG_MAX(conv_step(v, k, i), 1);
        if (k->row) wide = k->row + size_of(v, k->tap[i]) - 1;
        if (!i && rows) pos.loop = rows;
        if (k->shift[i] >= 0) pos.out = v->axis[k->shift[i]].name, wide += size_of(v, k->shift[i]) - 1;
        dims = LIST(v, dims, conv_window_dim(v, &pos, &tap));
        last = pos.loop;
    }
    str_printf(out, " STAGE(%s,%s,%s)", b, at, dims);
    int lanes = view_lanes(v, k->pos[k->windows - 1]);
    if (wide % lanes == 0 && wide > lanes) /* no partial vector */
        str_printf(out, " TILE(%s.%s,%d,%s.v) VEC(%s.v)", b, last, lanes, b, b);
    else
        unroll_row(out, b, last, wide);
    return true;
}

static const char *summed(struct view *v, const struct cpu_conv *k) { /* the reduced axes, outermost first */
    const char *all = "";
    for (int i = 0; i < v->naxis; i++)
        if (v->axis[i].reduce) all = LIST(v, all, packed_axis(v, k, i));
    return all;
}

void conv_stage_filter(struct view *v, struct cpu_conv *k, struct str *out, const char *at,
                       const struct tiled_axis *ch, const char *tap) {
    const char *f = access_name(v, k->filter.access), *loop = at && !strcmp(at, ch->loop) ? "" : ch->loop;
    if (*loop && k->c.in_grid[k->channel] > 1) loop = ""; /* still in the grid */
    for (int i = 0; i < k->phases; i++) loop = LIST(v, loop, v->axis[k->phase[i]].name);
    str_printf(out, " STAGE(%s,%s,%s)", f, at, LIST(v, loop, summed(v, k), ch->out, ch->lane));
    if (*ch->lane) str_printf(out, " VEC(%s.%s)", f, ch->lane);
    if (*ch->out)
        str_printf(out, " %s(%s.%s)", *ch->lane || k->c.m == k->channel ? "UNROLL" : "VEC", f, ch->out);
    if (*tap) str_printf(out, " UNROLL(%s.%s)", f, tap);
    int last = k->windows - 1; /* all taps of a filter: rows long enough to be transposed in registers */
    if (*tap && *ch->lane && last == 1 && !v->isa->by_lane &&
        size_of(v, k->tap[0]) * size_of(v, k->tap[1]) <= FILTER_OUT)
        str_printf(out, " UNROLL(%s.%s)", f, v->axis[k->tap[0]].name);
}
