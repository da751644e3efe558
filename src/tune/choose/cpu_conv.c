/* cpu_conv.c: opt lists for convolutions and their gradients: contractions in which one operand, the image, is read through
 * windows. A window is a pair of axes with overlapping elements: an output position and a filter tap, which is reduced and
 * which the other operand, the filters, has too. With one more output axis of the filters (output channels) and of the image
 * (batch) this is a convolution, its data gradient (taps run backwards, predicates at the halo), or its weight gradient
 * (batch and channels exchanged: few positions, many taps, a long sum).
 *
 *   positions  vectors along the innermost position, rows of channels; a predicated image is copied with its halo first, so
 *              that inner loops have no predicates
 *   channels   vectors along the channels, filters packed for them; rows of positions: for short rows
 *   gradient   weight gradient: vectors along the filters' channels, rows of the image's; both operands are packed channels
 *              last, some images at a time, and the partial sums stay in L2
 *   dots       the same for an image of few channels: vectors along the last tap, no packing
 *   product    16-bit types: all terms of a window are joined (JOIN) and packed for MMA instructions by cpu_mma.c, whatever the
 *              number of channels
 *   phases     data gradient of a strided convolution: position i is read as i / stride, its tap as i mod stride. Tiled into
 *              quotient and remainder, each remainder is a convolution of its own: `channels`, with the filters of all of
 *              them packed
 *
 * What cpu_gemm.c does as well is left to it. The order of summation depends on sizes and caches alone, never on the number
 * of threads.
 * Requires: struct view. Gives: an opt list. Tests: tests/unit/conv.c, tests/unit/heuristic.c */
#include "tune/choose/choose.h"

#include <math.h>
#include <stdlib.h>

enum {
    CONV_AXES = 4,
    TAPS_OUT = 8,         /* taps of a loop that is unrolled whole .. */
    FILTER_OUT = 32,      /* .. of a filter that is packed .. */
    ROW_OUT = 64,         /* .. and elements of a row of the image */
    WINDOW_CHANNELS = 16, /* that amortize a packed window (cpu_gemm.c) */
};

struct cpu_conv {
    struct contraction c;
    struct operand_view image, filter;
    int pos[CONV_AXES], tap[CONV_AXES], windows; /* the innermost window last */
    int channel;                                 /* the filters' output axis; -1 in neither */
    int batch;                                   /* the image's largest other output axis, or -1 */
    int phase[CONV_AXES], phases;                /* loops that the filters have: remainders of positions */
    int shift[CONV_AXES]; /* of each window: the phase that moves its positions, or -1 */
    int64_t more;         /* positions that pad the innermost */
    int64_t row;          /* how many of them are packed at a time; 0: all */
};

/* ---- recognising ------------------------------------------------------------------------------------------ */

static int64_t size_of(const struct view *v, int axis) { return v->axis[axis].size; }

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
static bool find_windows(const struct view *v, struct cpu_conv *k, const struct operand_view *s,
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

static int window_of(const struct cpu_conv *k, int axis) { /* the window whose position or tap it is, or -1 */
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

static bool find_conv(const struct view *v, struct cpu_conv *k) {
    struct contraction *c = &k->c;
    for (int i = 0; i < CONV_AXES; i++) k->shift[i] = -1;
    if (!contraction_find(v, c) || !may_stage(v, &c->a) || !may_stage(v, &c->b) ||
        c->a.access->buf == c->b.access->buf)
        return false;
    for (int i = 0; i < 2; i++) {
        k->image = i ? c->a : c->b, k->filter = i ? c->b : c->a;
        if (find_windows(v, k, &k->image, &k->filter)) break;
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
        if (own_output(v, i, k->image.mask, k->filter.mask) && window_of(k, i) < 0 &&
            (k->batch < 0 || size_of(v, i) > size_of(v, k->batch)))
            k->batch = i;
    }
    return k->channel >= 0 && (k->phases || !k->filter.access->pred);
}

/* ---- names --------------------------------------------------------------------------------------------------- */

/* An axis after tiling: the outer loop, the unrolled tile, the vector; "" where there is none. */
struct tiled_axis {
    const char *loop, *out, *lane;
};

static struct tiled_axis whole(const struct view *v, int axis) {
    return (struct tiled_axis){v->axis[axis].name, "", ""};
}

/* Rows or columns of the register tile. */
static struct tiled_axis tile_rows_or_columns(struct view *v, struct contraction *c, struct str *out,
                                              bool rows) {
    const char *inner = NULL, *lane = NULL, *name = v->axis[rows ? c->m : c->n].name;
    rows ? tile_rows(v, c, out, &inner) : tile_columns(v, c, out, &inner, &lane);
    struct tiled_axis r = {name, inner ? inner : "", lane ? lane : ""};
    if (inner && !strcmp(inner, name)) r.loop = "";
    return r;
}

/* Unrolls the innermost reduced axis, or a tile of it. */
static struct tiled_axis unroll_sum(struct view *v, struct str *out, int axis, int64_t copies) {
    struct tiled_axis r = whole(v, axis);
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
static const char *window_dim(struct view *v, const struct tiled_axis *pos, const struct tiled_axis *tap) {
    const char *name[] = {pos->loop, pos->out, pos->lane, tap->loop, tap->out};
    const char *all = "";
    for (size_t i = 0; i < RG_COUNT(name); i++)
        if (*name[i]) all = *all ? arena_printf(v->arena, "%s+%s", all, name[i]) : name[i];
    return all;
}

/* The innermost axis that is still in the grid. */
static const char *grid_axis(const struct view *v, const struct contraction *c) {
    const char *at = NULL;
    for (int i = 0; i < v->naxis; i++)
        if (v->axis[i].grid && c->in_grid[i] > 1) at = v->axis[i].name;
    return at;
}

static double grid_size(const struct view *v, const struct contraction *c) {
    double n = 1;
    for (int i = 0; i < v->naxis; i++) n *= v->axis[i].grid ? c->in_grid[i] : 1;
    return n;
}

static void make_loop(const struct view *v, struct contraction *c, struct str *out, int axis) {
    if (v->axis[axis].grid && c->in_grid[axis] > 1) str_printf(out, " LOOP(%s)", v->axis[axis].name);
    c->in_grid[axis] = 1;
}

/* The largest divisor of n up to `most`. */
static int64_t divisor(int64_t n, int64_t most) {
    int64_t best = 1;
    for (int64_t p = 2; p <= most && p <= n; p++)
        if (n % p == 0) best = p;
    return best;
}

/* Elements from one position of a window to the next, in taps; elements of the whole window. */
static double window_step(const struct view *v, const struct cpu_conv *k, int i) {
    int64_t p = access_stride(v, k->image.access, k->pos[i], 1),
            t = access_stride(v, k->image.access, k->tap[i], 1);
    return t ? fabs((double)p / (double)t) : 1;
}

static double window_size(const struct view *v, const struct cpu_conv *k, int i) {
    return (double)(size_of(v, k->pos[i]) - 1) * window_step(v, k, i) + (double)size_of(v, k->tap[i]);
}

/* Bytes of a tile of the image over these windows and the other reduced axes. */
static double image_bytes(const struct view *v, const struct cpu_conv *k, int first_window) {
    double bytes = RG_MAX(k->image.access->bytes, 4); /* narrow ones are converted */
    for (int i = 0; i < v->naxis; i++)
        if (v->axis[i].reduce && has_axis(v, k->image.mask, i) && window_of(k, i) < 0)
            bytes *= (double)size_of(v, i);
    for (int i = first_window; i < k->windows; i++) {
        bytes *= window_size(v, k, i);
        if (k->shift[i] >= 0) bytes *= 1 + window_step(v, k, i) / (double)size_of(v, k->pos[i]);
    }
    return bytes;
}

/* Rows of a part of the image, a divisor, that fit half of L2 with their halo; 0: not even one. */
static int64_t fitting_rows(const struct view *v, const struct cpu_conv *k) {
    double all = window_size(v, k, 0), line = image_bytes(v, k, 0) / all;
    int64_t n = size_of(v, k->pos[0]);
    if (line * all <= (double)v->l2 / 2) return n;
    double most = ((double)v->l2 / 2 / line - (double)size_of(v, k->tap[0])) / window_step(v, k, 0) + 1;
    return most < 1 || k->windows < 2 || k->shift[0] >= 0 ? 0 : divisor(n, (int64_t)most);
}

/* ---- positions and channels: convolution, data gradient ---------------------------------- */

static const char *summed(struct view *v, int not ) { /* the reduced axes, outermost first */
    const char *all = "";
    for (int i = 0; i < v->naxis; i++)
        if (v->axis[i].reduce && i != not ) all = LIST(v, all, v->axis[i].name);
    return all;
}

/* Grid iterations without those of positions; those of channels by tiles. */
static double tiles_in_grid(const struct view *v, const struct cpu_conv *k, bool channels) {
    const struct contraction *c = &k->c;
    double n = 1;
    int64_t tile = c->m == k->channel ? c->mr : c->nv * c->lanes;
    for (int i = 0; i < v->naxis; i++)
        if (v->axis[i].grid && window_of(k, i) < 0 && i != k->channel) n *= c->in_grid[i];
    double all = c->in_grid[k->channel];
    return channels && all > 1 ? n * (double)ceil_div((int64_t)all, tile) : n;
}

/* Grid iterations of images alone do not keep the threads busy: is it less to pack filters once more for each part of the rows than
 * the image for each tile of channels? */
static bool cuts_rows_first(const struct view *v, const struct cpu_conv *k) {
    double each = tiles_in_grid(v, k, false), tiles = tiles_in_grid(v, k, true) / each,
           parts = ceil(v->tasks / each);
    double image = image_bytes(v, k, 0),
           filters = k->c.depth * (double)size_of(v, k->channel) * k->filter.access->bytes;
    if (v->isa->by_lane || each >= v->tasks || tiles < 2) return false;
    return image + parts * filters < tiles * image + filters;
}

/* How the grid cuts images that are packed: rows of a part; channels by tiles, or all of them in a loop. */
struct image_cut {
    int64_t part;
    bool channels;
};

/* Time of a cut: rounds of tasks, each of which packs its filters and its rows with their halo. */
static double cut_time(const struct view *v, const struct cpu_conv *k, struct image_cut cut) {
    enum { COPY = 4 }; /* FMAs in the time to copy an element of the image */
    const struct contraction *c = &k->c;
    int row = k->pos[0];
    double tasks = tiles_in_grid(v, k, cut.channels) * (double)(size_of(v, row) / cut.part),
           share = cut.channels ? tiles_in_grid(v, k, false) / tiles_in_grid(v, k, true) : 1;
    double channels = (double)size_of(v, k->channel) * share, rows = (double)cut.part,
           fma = c->depth * channels * rows;
    for (int i = 1; i < k->windows; i++) fma *= (double)size_of(v, k->pos[i]);
    double lines = ((rows - 1) * window_step(v, k, 0) + (double)size_of(v, k->tap[0])) / window_size(v, k, 0);
    double packed = c->pack_a * c->depth * channels +
                    COPY * lines * image_bytes(v, k, 0) / (double)k->image.access->bytes;
    return grid_time(v, tasks, 0.5) *
           (1 + packed / fma); /* 16 virtual CPUs: 0.87 of the time by 64 tasks of 32 */
}

/* The cut of least time, of those that make no more tasks than the threads need. */
static struct image_cut best_cut(const struct view *v, const struct cpu_conv *k) {
    int64_t n = size_of(v, k->pos[0]), most = fitting_rows(v, k);
    struct image_cut best = {most, tiles_in_grid(v, k, false) < v->tasks};
    double least = cut_time(v, k, best);
    for (int channels = 0; channels < 2; channels++)
        for (int64_t part = n; part >= 1; part--) {
            struct image_cut cut = {part, channels};
            double tasks = tiles_in_grid(v, k, channels) * (double)(n / part);
            if (n % part || part > most || (tasks > 2 * v->tasks && part < most)) continue;
            double time = cut_time(v, k, cut);
            if (time < 0.98 * least) least = time, best = cut;
        }
    return best;
}

/* For more grid iterations: the rows of the image in parts. Returns the loop over the rows of a part, "": it has one row, NULL: all
 * rows are a loop. */
static const char *tile_image_rows(struct view *v, struct cpu_conv *k, struct str *out, int64_t part) {
    int row = k->pos[0];
    int64_t n = size_of(v, row);
    if (part == n) return NULL;
    k->c.in_grid[row] = (double)(n / part);
    if (part == 1) return "";
    const char *loop = view_new_axis(v, v->axis[row].name, "l");
    str_printf(out, " TILE(%s,%lld,%s)", v->axis[row].name, (long long)part, loop);
    return loop;
}

/* Rows of a part of the image, without regard to what is packed. */
static int64_t even_rows(const struct view *v, const struct cpu_conv *k, bool copy) {
    int64_t n = size_of(v, k->pos[0]), want = (int64_t)ceil(v->tasks / tiles_in_grid(v, k, !copy)),
            most = copy ? fitting_rows(v, k) : n;
    if (k->phases || k->windows < 2 || want < 2) return most;
    if (v->finer < FINER_AXES && !(copy && cuts_rows_first(v, k))) return most;
    return divisor(n, RG_MAX(RG_MIN(n / want, most), 1));
}

/* Several images per grid iteration amortize the packing of filters. Returns the loop over them. */
static const char *tile_batch(struct view *v, struct cpu_conv *k, struct str *out, int64_t most) {
    struct contraction *c = &k->c;
    if (k->batch < 0 || c->in_grid[k->batch] <= 1 || v->finer >= FINER_JOINED) return NULL;
    double spare = tiles_in_grid(v, k, true) / (8.0 * v->threads);
    most =
        RG_MIN(RG_MIN(most, (int64_t)spare), (int64_t)c->in_grid[k->batch] - 1); /* keep some in the grid */
    int64_t n = divisor((int64_t)c->in_grid[k->batch], most);
    if (n < 2) return NULL;
    const char *loop = view_new_axis(v, v->axis[k->batch].name, "l");
    str_printf(out, " TILE(%s,%lld,%s)", v->axis[k->batch].name, (long long)n, loop);
    c->in_grid[k->batch] /= (double)n;
    return loop;
}

/* Copies a row of the image at once, or equal parts of it: by vectors between the ends of the halo. */
static void unroll_row(struct str *out, const char *b, const char *axis, int64_t wide) {
    int64_t part = divisor(wide, ROW_OUT);
    if (part == wide)
        str_printf(out, " UNROLL(%s.%s)", b, axis);
    else if (part >= ROW_OUT / 4)
        str_printf(out, " TILE(%s.%s,%lld,%s.u) UNROLL(%s.u)", b, axis, (long long)part, b, b);
}

/* Is a row of the image of this many elements copied by vectors? */
static bool is_even_row(const struct view *v, int pos, int64_t wide) {
    return wide % view_lanes(v, pos) == 0 || wide <= ROW_OUT || divisor(wide, ROW_OUT) >= ROW_OUT / 4;
}

/* Pads the innermost positions to whole tiles of rows, which need no predicates then (85 positions of stride 3 on AVX-512: the last tile
 * of 13 took the time of 7), and where no part of a row of the image divides it. (4 channels of 515 positions, 3 taps, on NEON:
 * copied element by element 0.99 ms, 0.24.) */
static void pad_row(struct view *v, struct cpu_conv *k, struct str *out) {
    enum { MOST_MORE = 8 };
    int last = k->windows - 1, pos = k->pos[last];
    int64_t step = (int64_t)window_step(v, k, last), wide = (int64_t)window_size(v, k, last),
            n = size_of(v, pos), tile = k->c.m == pos ? k->c.mr : 1;
    if (k->shift[last] >= 0 || window_step(v, k, last) < 1 || !k->image.access->pred ||
        !view_depends(v, k->image.access->pred, pos))
        return; /* without a halo the padding would have a predicate of its own */
    int64_t most = RG_MAX(tile - 1, MOST_MORE), best = -1, other = -1;
    for (int64_t i = most; i >= 0; i--) {
        if (!is_even_row(v, pos, wide + i * step)) continue;
        *((n + i) % tile ? &other : &best) = i;
    }
    k->more = best >= 0 ? best : other >= 0 ? other : ceil_div(n, tile) * tile - n;
    if (k->more) str_printf(out, " PADTO(%s,%lld)", v->axis[pos].name, (long long)(n + k->more));
}

/* Packs the image with its halo, for one value of the batch. rows: the loop over some of its rows; NULL: all are packed. */
static bool stage_image(struct view *v, struct cpu_conv *k, struct str *out, const char *at,
                        const char *rows) {
    const char *b = access_name(v, k->image.access), *dims = "", *last = "";
    int64_t wide = 0;
    for (int i = 0; i < v->naxis; i++)
        if (v->axis[i].reduce && has_axis(v, k->image.mask, i) && window_of(k, i) < 0)
            dims = LIST(v, dims, v->axis[i].name);
    for (int i = 0; i < k->windows; i++) {
        struct tiled_axis pos = whole(v, k->pos[i]), tap = whole(v, k->tap[i]);
        wide = (int64_t)window_size(v, k, i);
        if (i == k->windows - 1) wide += k->more * (int64_t)window_step(v, k, i);
        if (k->row) wide = k->row + size_of(v, k->tap[i]) - 1;
        if (!i && rows) pos.loop = rows;
        if (k->shift[i] >= 0) pos.out = v->axis[k->shift[i]].name, wide += size_of(v, k->shift[i]) - 1;
        dims = LIST(v, dims, window_dim(v, &pos, &tap));
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

static void stage_filter(struct view *v, struct cpu_conv *k, struct str *out, const char *at,
                         const struct tiled_axis *ch, const char *tap) {
    const char *f = access_name(v, k->filter.access), *loop = at && !strcmp(at, ch->loop) ? "" : ch->loop;
    if (*loop && k->c.in_grid[k->channel] > 1) loop = ""; /* still in the grid */
    for (int i = 0; i < k->phases; i++) loop = LIST(v, loop, v->axis[k->phase[i]].name);
    str_printf(out, " STAGE(%s,%s,%s)", f, at, LIST(v, loop, summed(v, -1), ch->out, ch->lane));
    if (*ch->lane) str_printf(out, " VEC(%s.%s)", f, ch->lane);
    if (*ch->out)
        str_printf(out, " %s(%s.%s)", *ch->lane || k->c.m == k->channel ? "UNROLL" : "VEC", f, ch->out);
    if (*tap) str_printf(out, " UNROLL(%s.%s)", f, tap);
    int last = k->windows - 1; /* all taps of a filter: rows long enough to be transposed in registers */
    if (*tap && *ch->lane && last == 1 && !v->isa->by_lane &&
        size_of(v, k->tap[0]) * size_of(v, k->tap[1]) <= FILTER_OUT)
        str_printf(out, " UNROLL(%s.%s)", f, v->axis[k->tap[0]].name);
}

/* Few positions of the innermost axis leave accumulators unused, and FMAs wait for one another: those of another axis are unrolled,
 * too. rows: the loop over `part` rows of the first; NULL: all. (17 channels of 5 x 2 positions on AVX-512: 4 accumulators, 20.)
 * Returns how many are. */
static int64_t unroll_more(struct view *v, const struct cpu_conv *k, struct str *out, const char *rows,
                           int64_t part) {
    const struct contraction *c = &k->c;
    int64_t spare = isa_accumulators(v->isa) / (c->mr * c->nv), best = 1, all = 1;
    const char *name = "";
    if (k->phases || c->n != k->channel || c->mr < size_of(v, c->m)) return 1;
    for (int i = k->windows - 2; i >= 0; i--) {
        bool cut = !i && rows;
        int64_t n = !cut    ? size_of(v, k->pos[i])
                    : *rows ? part
                            : 1,
                more = n <= spare ? n : divisor(n, spare);
        if (more > best) best = more, all = n, name = cut ? rows : v->axis[k->pos[i]].name;
    }
    if (best < 2) return 1;
    if (best < all) {
        const char *in = view_new_axis(v, name, "r");
        str_printf(out, " TILE(%s,%lld,%s)", name, (long long)best, in);
        name = in;
    }
    str_printf(out, " UNROLL(%s)", name);
    return best;
}

/* Requires c.m, c.n, c.mr and c.nv. copy: the image is packed into scratch. */
static bool write_by_position(struct view *v, struct cpu_conv *k, struct str *out, bool copy) {
    struct contraction *c = &k->c;
    int inner = k->pos[k->windows - 1], tap = k->tap[k->windows - 1];
    bool priced = copy && !v->isa->by_lane && !k->phases && k->windows > 1 && c->n == k->channel &&
                  tiles_in_grid(v, k, false) < v->tasks;
    struct image_cut best = priced ? best_cut(v, k) : (struct image_cut){even_rows(v, k, copy), true};
    if (copy) pad_row(v, k, out);
    const char *cut = tile_image_rows(v, k, out, best.part);
    for (int i = cut != NULL; i < k->windows; i++) make_loop(v, c, out, k->pos[i]);
    double filters = c->depth * (double)size_of(v, k->channel) * k->filter.access->bytes;
    for (int i = 0; i < k->phases; i++) filters *= (double)size_of(v, k->phase[i]);
    double each = grid_size(v, c) / c->in_grid[k->channel];
    double need = v->finer ? v->tasks : RG_MIN(2.0 * v->threads, c->in_grid[k->channel]);
    if (copy && (priced ? !best.channels : each >= need) && filters <= (double)v->l2 / 2)
        make_loop(v, c, out, k->channel);
    const char *loop = tile_batch(v, k, out, copy ? 8 : 64), *at;
    if (copy && !(at = loop ? loop : grid_axis(v, c))) return false;
    if (copy) stage_image(v, k, out, at, cut);
    bool looped = c->in_grid[k->channel] <= 1;
    struct tiled_axis rows = tile_rows_or_columns(v, c, out, true),
                      cols = tile_rows_or_columns(v, c, out, false);
    if (looped) c->in_grid[k->channel] = 1;
    c->in_grid[inner] = 1;
    struct tiled_axis sum =
        unroll_sum(v, out, tap, c->mr * c->nv * (copy ? unroll_more(v, k, out, cut, best.part) : 1));
    if (k->phases && k->windows == 2 && c->mr * c->nv * size_of(v, tap) * size_of(v, k->tap[0]) <= 128)
        str_printf(out, " UNROLL(%s)", v->axis[k->tap[0]].name); /* few taps per phase */
    if (k->phases && looped) { /* the filters of a phase and some channels stay in L1 */
        const char *order = "";
        for (int i = 0; i < k->phases; i++) order = LIST(v, order, v->axis[k->phase[i]].name);
        order = LIST(v, order, cols.loop);
        for (int i = 0; i < k->windows - 1; i++) order = LIST(v, order, v->axis[k->pos[i]].name);
        str_printf(out, " ORDER(%s)", LIST(v, order, rows.loop));
    }
    if (!(at = grid_axis(v, c))) return false;
    stage_filter(v, k, out, at, c->m == k->channel ? &rows : &cols, sum.out);
    return true;
}

static double positions_of(const struct view *v, const struct cpu_conv *k) {
    double n = 1;
    for (int i = 0; i < k->windows; i++) n *= (double)size_of(v, k->pos[i]);
    return n;
}

/* ---- weight gradient ----------------------------------------------------------------------- */

/* How many of the reduced axes, from the outermost, are loops around the packed tiles, at least `least`; *part: values of the
 * innermost of those per tile. */
static int outer_sums(const struct view *v, const struct cpu_conv *k, const int *sum, int n, int least,
                      int64_t *part) {
    double room = (double)v->l2 / 3; /* for both packed tiles; the rest holds sums and stores */
    for (int outer = least; outer < n; outer++) {
        double image = image_bytes(v, k, 0), filter = k->filter.access->bytes;
        double steps = 1;
        if (k->batch >= 0) image *= (double)size_of(v, k->batch);
        filter *= (double)size_of(v, k->channel);
        for (int i = 0; i < n; i++) {
            bool out = i < outer;
            int w = window_of(k, sum[i]);
            if (!out) filter *= (double)size_of(v, sum[i]), steps *= (double)size_of(v, sum[i]);
            if (out && w < 0) image /= (double)size_of(v, sum[i]);
            if (out && w >= 0)
                image *=
                    (double)size_of(v, k->pos[w]) / (double)(size_of(v, k->pos[w]) + size_of(v, sum[i]) - 1);
        }
        *part = 1;
        if (image + filter > room) continue;
        int64_t most = (int64_t)(room / (image + filter));
        if (outer && window_of(k, sum[outer - 1]) < 0)
            *part =
                divisor(size_of(v, sum[outer - 1]), RG_MIN(RG_MIN(most, 4), size_of(v, sum[outer - 1]) - 1));
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

static bool write_gradient(struct view *v, struct cpu_conv *k, struct str *out) {
    struct contraction *c = &k->c;
    int sum[CHOOSE_AXES], n = 0, last = k->tap[k->windows - 1];
    int64_t part;
    for (int i = 0; i < v->naxis; i++)
        if (v->axis[i].reduce && i != last) sum[n++] = i;
    sum[n++] = last;
    bool parts = grid_size(v, c) > (double)(size_of(v, c->m) * size_of(v, c->n)) * positions_of(v, k);
    int outer = n > 1 ? outer_sums(v, k, sum, n, !parts, &part) : -1; /* parts of images: packed whole */
    if (outer < 0) return false;
    struct tiled_axis rows = tile_rows_or_columns(v, c, out, true),
                      cols = tile_rows_or_columns(v, c, out, false);
    double bytes = (double)size_of(v, c->m) * (double)size_of(v, c->n) * k->filter.access->bytes;
    const char *positions = "", *around = "", *inside = "", *fdim = "", *idim = "";
    bool cut = v->finer >= FINER_AXES && k->windows > 1; /* the first positions stay in the grid */
    for (int i = cut; i < k->windows; i++) {
        make_loop(v, c, out, k->pos[i]);
        bytes *= (double)size_of(v, k->pos[i]);
        positions = LIST(v, positions, v->axis[k->pos[i]].name);
    }
    double want = v->finer ? v->tasks : v->threads;
    want = RG_MAX(want, bytes / ((double)v->l2 / 4)); /* each part packs its own tiles */
    want /= grid_size(v, c) / (c->in_grid[c->m] * c->in_grid[c->n]);
    const char *ml = tile_grid(v, c, out, c->m, &want), *nl = tile_grid(v, c, out, c->n, &want);
    struct tiled_axis inner = unroll_sum(v, out, last, c->mr * c->nv);
    const char *at = outer ? NULL : grid_axis(v, c);
    for (int i = 0; i < n; i++) {
        struct tiled_axis s = i == n - 1 ? inner : whole(v, sum[i]);
        int w = window_of(k, sum[i]);
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
        struct tiled_axis pos = w >= 0 ? whole(v, k->pos[w]) : s, none = {"", "", ""};
        if (cut && !w) pos = none;
        inside = LIST(v, inside, s.loop), fdim = LIST(v, fdim, s.loop, s.out);
        idim = LIST(v, idim, w >= 0 ? window_dim(v, &s, &pos) : window_dim(v, &s, &none));
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
static bool write_dots(struct view *v, struct cpu_conv *k, struct str *out, int along) {
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
        if (v->axis[i].grid && c->in_grid[i] > 1 && window_of(k, i) < 0)
            loops = LIST(v, loops, tile_grid(v, c, out, i, &want));
    for (int i = 0; i < k->windows - 1; i++) { /* never in the grid: rounding must not depend on threads */
        make_loop(v, c, out, k->pos[i]);
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

/* What a register tile reads and packs besides its own loads. */
struct tile_use {
    double
        depth; /* terms of a packed panel of columns that every row of tiles reads again; 0: it stays in L1 */
    double reuse; /* FMAs per packed element and value of the other side; 0: packing does not count */
};

/* Share of the FMA rate of a tile of x rows by y vectors that is left. */
static double share_left(const struct view *v, const struct cpu_conv *k, struct tile_use use, double x,
                         double y) {
    double e = 1;
    if (v->isa->by_lane || v->isa->regs < 32) return 1; /* the tile's own loads and registers decide there */
    if (use.depth) e = panel_share(v, x, y, use.depth);
    if (use.reuse) e /= 1 + k->c.pack_a / use.reuse * (1 / x + 1 / (y * k->c.lanes));
    return e;
}

/* Do the values of x rows stay in registers from one tap to the next, beside x * y accumulators and a filter's vector? With no register
 * to spare gcc spills some. AVX-512 broadcasts them from memory. */
static bool taps_stay(const struct isa *isa, int64_t x, int64_t y) {
    return x <= 8 && (isa->regs >= 32 || x * y + x + 1 < isa->regs);
}

/* A register tile that divides both axes, if there is a good one; padding is work too. */
static double even_tile(const struct view *v, const struct cpu_conv *k, int64_t rows, int64_t cols, int lanes,
                        struct tile_use use, int64_t *mr, int64_t *nv) {
    double best = 0;
    int64_t sums = isa_accumulators(v->isa), most = RG_MAX(12, sums / 2), m, n;
    for (int64_t y = 1; y <= 6; y++)
        for (int64_t x = 1; x <= most && x * y <= sums; x++) {
            if (rows % x || cols % (y * lanes)) continue;
            double e = tile_share(v->isa, (double)x, (double)y, 0.25);
            e *=
                RG_MIN(1, (double)(x * y) / isa_chains(v->isa)) * share_left(v, k, use, (double)x, (double)y);
            if (x < rows && !taps_stay(v->isa, x, y)) e *= 0.95;
            if (e > best * 1.001) best = e, *mr = x, *nv = y;
        }
    double other = tile_of(v, rows, cols, lanes, 0.25, true, &m, &n);
    other *= share_left(v, k, use, (double)m, (double)n) *
             (m < rows && !v->isa->by_lane && !taps_stay(v->isa, m, n) ? 0.95 : 1);
    if (other > best) *mr = m, *nv = n;
    return RG_MAX(best, other);
}

/* Rows of the register tile of a weight gradient whose first positions are in the grid: padding against idle threads. As many
 * accumulators as a tile has, or rounding would change. */
static int64_t balanced_rows(const struct view *v, const struct cpu_conv *k, struct tile_use use) {
    enum { MORE_THAN_ROWS_OF_SUMS = 8, MOST_SUMS = 20 }; /* gcc spills 22 of them, of three levels */
    const struct contraction *c = &k->c;
    int64_t rows = size_of(v, c->m), best = c->mr, cols = ceil_div(size_of(v, c->n), c->nv * c->lanes);
    double others = grid_size(v, c) / (c->in_grid[c->m] * c->in_grid[c->n]), least = 1e30;
    for (int i = 1; i < k->windows; i++) others /= c->in_grid[k->pos[i]];
    for (int64_t i = 0; i * c->nv <= RG_MIN(isa_accumulators(v->isa), MOST_SUMS); i++) {
        int64_t x = i ? i : c->mr; /* what is there first */
        if (x * c->nv <= MORE_THAN_ROWS_OF_SUMS || x > rows) continue;
        double share = tile_share(v->isa, (double)x, (double)c->nv, 0.25) *
                       share_left(v, k, use, (double)x, (double)c->nv);
        double time = ceil(others * (double)(ceil_div(rows, x) * cols) / v->threads) * (double)x / share;
        if (time < 0.95 * least) least = time, best = x;
    }
    return best;
}

/* ---- the recipe ---------------------------------------------------------------------------------------------------- */

/* More taps than positions: a weight gradient. */
static bool is_weight_gradient(const struct view *v, const struct cpu_conv *k) {
    double most = 1;
    for (int i = 0; i < k->windows; i++)
        most *= (double)size_of(v, k->tap[i]) / (double)size_of(v, k->pos[i]);
    return most > 1;
}

static bool write_conv(struct view *v, int level, struct str *out) {
    struct cpu_conv k = {0};
    struct contraction *c = &k.c;
    int64_t mr, nv;
    if (level > 2 || !find_conv(v, &k)) return false;
    int inner = k.pos[k.windows - 1];
    int64_t wide = size_of(v, inner), channels = size_of(v, k.channel);
    bool pred = k.image.access->pred != NULL, grad = is_weight_gradient(v, &k);
    int64_t step = access_stride(v, k.image.access, inner, 1);
    reset_grid(v, c), price_packing(v, c);
    c->lanes = view_lanes(v, k.channel);
    if (grad) {
        int along = dot_axis(v, c);
        if (level > 0) return false;
        if (k.batch < 0 || size_of(v, k.batch) < 4 || channels < 2 * c->lanes)
            return !pred && along == k.tap[k.windows - 1] &&
                   filled(size_of(v, along), view_lanes(v, along)) > 0.7 && write_dots(v, &k, out, along);
        c->m = k.batch, c->n = k.channel;
        struct tile_use packed = {.reuse = positions_of(v, &k)};
        even_tile(v, &k, size_of(v, c->m), channels, c->lanes, packed, &c->mr, &c->nv);
        if (v->finer == FINER_AXES && !v->isa->by_lane) c->mr = balanced_rows(v, &k, packed);
        shrink_tile(v, &c->mr, &c->nv);
        return c->mr > 1 && write_gradient(v, &k, out);
    }
    int64_t fit = fitting_rows(v, &k);
    /* parts of an image that does not fit: where the window of cpu_gemm.c would not pay (64 channels on NEON: 18.7 ms, 14.2; 8 of them:
     * 2.2, 4.1) */
    bool cut = fit < size_of(v, k.pos[0]);
    if (pred && (!fit || (cut && !k.phases && channels >= WINDOW_CHANNELS))) return false;
    double by_position =
        even_tile(v, &k, channels, wide, view_lanes(v, inner), (struct tile_use){0}, &mr, &nv);
    if (pred && wide % view_lanes(v, inner)) by_position *= 0.5;
    struct tile_use filters = {.depth = c->depth};
    int all = c->lanes;
    while (c->lanes > 4 && c->lanes > channels) c->lanes /= 2; /* few channels of a group: part of a vector */
    double by_channel =
        channels < c->lanes
            ? 0
            : even_tile(v, &k, wide, channels, c->lanes, filters, &c->mr, &c->nv) * c->lanes / all;
    if (k.phases || step != 1) by_position = 0;                              /* strided stores, or loads */
    double column = c->depth * c->lanes * RG_MAX(k.filter.access->bytes, 4); /* bytes of packed filters */
    if ((double)c->nv * column > (double)v->l2 / 2 && by_channel)
        c->nv = divisor(ceil_div(channels, c->lanes), RG_MAX((int64_t)((double)v->l2 / 2 / column), 1));
    bool by_channels = by_channel > by_position * 1.1 && (double)c->nv * column <= (double)v->l2;
    if ((!by_channels && (!pred || !by_position)) || level > 1) return false;
    if (step != 1 && v->isa->by_lane) return false;
    c->m = by_channels ? inner : k.channel, c->n = by_channels ? k.channel : inner;
    if (!by_channels) c->mr = mr, c->nv = nv, c->lanes = view_lanes(v, inner);
    if (v->finer >= FINER_TILE && by_channels)
        c->nv = ceil_div(c->nv, v->finer >= FINER_HALF_TILE ? 4 : 2);
    else if (v->finer >= FINER_TILE)
        c->mr = RG_MAX(ceil_div(c->mr, v->finer >= FINER_HALF_TILE ? 4 : 2), 2);
    return c->mr > 1 && write_by_position(v, &k, out, pred || k.phases || level > 0);
}

/* Vectors of a tile of at most `most`: little padding, few tiles. */
static int64_t padded_part(int64_t n, int64_t most) {
    int64_t best = 1;
    double least = 1e30;
    for (int64_t i = RG_MIN(n, most); i >= 1; i--) {
        double cost = (double)(ceil_div(n, i) * i) * (1 + 1.0 / (double)i);
        if (cost < least) least = cost, best = i;
    }
    return best;
}

/* One filter, or one for each channel of the image: no rows share what is loaded, but the image is packed with its halo as in
 * write_by_position, and inner loops have no predicates. (8 x 3 x 3 terms of 113 x 67 positions in bf16 on NEON: 90 ms, 16.) A row that
 * does not fit is packed in parts. */
static bool write_alone(struct view *v, struct str *out) {
    enum { LEAST_TERMS = 24 }; /* of a sum worth packing its image */
    struct cpu_conv k = {.channel = -1, .batch = -1};
    struct contraction *c = &k.c, rows = {0};
    if (contraction_find(v, &rows) || !factors_find(v, c) || c->depth < LEAST_TERMS || !may_stage(v, &c->a) ||
        !may_stage(v, &c->b))
        return false;
    for (int i = 0; i < CONV_AXES; i++) k.shift[i] = -1;
    for (int i = 0; i < 2 && !k.windows; i++) {
        k.image = i ? c->a : c->b, k.filter = i ? c->b : c->a;
        find_windows(v, &k, &k.image, &k.filter);
    }
    int last = k.windows - 1, inner = k.windows ? k.pos[last] : -1,
        lanes = inner < 0 ? 1 : view_lanes(v, inner);
    if (inner < 0 || !k.image.access->pred || k.filter.access->pred || is_weight_gradient(v, &k) ||
        !view_depends(v, k.image.access->pred, inner) || access_stride(v, k.image.access, inner, 1) != 1 ||
        access_stride(v, c->store, inner, 1) != 1 || size_of(v, inner) < lanes)
        return false;
    reset_grid(v, c);
    int64_t n = size_of(v, inner), part = fitting_rows(v, &k),
            nv = padded_part(ceil_div(n, lanes), isa_accumulators(v->isa) / 2), vectors;
    const char *cut = NULL, *loop = v->axis[inner].name;
    if (!part && last) return false;
    c->m = inner, c->mr = nv * lanes; /* whole tiles */
    if (part) {
        pad_row(v, &k, out);
        vectors = (n + k.more) / lanes;
        if ((n + k.more) % c->mr) return false;
        cut = tile_image_rows(v, &k, out, part);
    } else { /* parts of the only row */
        int64_t fit = (int64_t)((double)v->l2 / 4 * window_size(v, &k, 0) / image_bytes(v, &k, 0)),
                taps = size_of(v, k.tap[0]);
        for (k.row = fit / c->mr * c->mr; k.row > 0 && !is_even_row(v, inner, k.row + taps - 1);)
            k.row -= c->mr;
        if (k.row <= 0 || window_step(v, &k, 0) != 1) return false;
        vectors = k.row / lanes, k.more = ceil_div(n, k.row) * k.row - n;
        if (k.more) str_printf(out, " PADTO(%s,%lld)", loop, (long long)(n + k.more));
        cut = loop = view_new_axis(v, v->axis[inner].name, "l");
        str_printf(out, " TILE(%s,%lld,%s)", v->axis[inner].name, (long long)k.row, loop);
        c->in_grid[inner] = (double)((n + k.more) / k.row);
    }
    for (int i = cut != NULL; i < k.windows; i++) make_loop(v, c, out, k.pos[i]);
    const char *at = grid_axis(v, c), *lane = view_new_axis(v, loop, "v");
    if (!at || !stage_image(v, &k, out, at, cut)) return false;
    str_printf(out, " TILE(%s,%d,%s) VEC(%s)", loop, lanes, lane, lane);
    if (nv > 1 && nv < vectors) {
        const char *u = view_new_axis(v, loop, "u");
        str_printf(out, " TILE(%s,%lld,%s) UNROLL(%s)", loop, (long long)nv, u, u);
    } else if (nv == vectors) {
        str_printf(out, " UNROLL(%s)", loop);
    }
    unroll_sum(v, out, k.tap[last], nv);
    return true;
}

struct phased { /* the rest of a list, for the kernel after tile_phases */
    const struct view *v;
    int level, n;
    const char *axis[CHOOSE_AXES], *phase[CHOOSE_AXES];
    char text[CHOOSE_TEXT];
};

/* Tiles output axes by the small constant whose quotient and remainder the kernel uses; false: there are none. */
static bool tile_phases(struct view *v, struct phased *p, struct str *out) {
    int64_t by[2][CHOOSE_AXES] = {0};
    for (uint32_t i = 0; i < v->topo.n; i++) {
        const uop *n = v->topo.p[i], *x = n->nsrc ? n->src[0] : n;
        if ((n->op != OP_IDIV && n->op != OP_MOD) || !uop_is_const(n->src[1])) continue;
        if (x->op == OP_ADD && uop_is_const(x->src[1])) x = x->src[0]; /* padding */
        if (x->op == OP_RANGE) by[n->op == OP_MOD][view_axis_of(v, x)] = n->src[1]->arg.i;
    }
    for (int i = 0; i < v->naxis; i++) {
        const struct axis_view *a = &v->axis[i];
        if (!a->grid || a->reduce || by[0][i] < 2 || by[0][i] > 4 || by[1][i] != by[0][i] ||
            a->size <= by[0][i])
            continue;
        p->axis[p->n] = a->name, p->phase[p->n] = view_new_axis(v, a->name, "p");
        str_printf(out, " TILE(%s,%lld,%s)", a->name, (long long)by[0][i], p->phase[p->n++]);
    }
    return p->n;
}

/* Is the contiguous axis one of the phased ones? Phases are then adjacent in what is stored, and positions in what is loaded. */
static bool phases_vectors(const struct view *v, const struct phased *p) {
    bool store = false, load = false;
    for (int i = 0; i < v->naccess; i++)
        for (int k = 0; k < v->naxis; k++) {
            int64_t stride = access_stride(v, &v->access[i], k, 1);
            store |= v->access[i].store && stride == 1 && !strcmp(v->axis[k].name, p->phase[p->n - 1]);
            load |= !v->access[i].store && stride == 1 && !strcmp(v->axis[k].name, p->axis[p->n - 1]);
        }
    return store && load;
}

/* No window, as where the stride is the number of taps: vectors of equal phase, whose operands are contiguous.
 * (34 channels of 44 positions, stride 3: 44 us, 3.) Rows of a register tile share them. (128 channels of 205 x 147 positions, stride 2,
 * 24 terms in bf16 on NEON: 22 ms, 8.) */
static bool write_unrolled_phases(struct view *v, const struct phased *p, struct str *out) {
    if (!phases_vectors(v, p)) return false;
    for (int i = 0; i < p->n; i++) {
        str_printf(out, " UNROLL(%s)", p->phase[i]);
        for (int k = 0; k < v->naxis; k++) v->axis[k].fixed |= !strcmp(v->axis[k].name, p->phase[i]);
    }
    struct str tiled;
    str_init(&tiled, v->arena);
    if (p->level || !recipe_gemm(v, 1, &tiled)) return recipe_elementwise(v, p->level, out);
    str_printf(out, "%s", tiled.p);
    return true;
}

static void write_rest(void *cx, struct sched *s, const uop *sink) {
    struct phased *p = cx;
    struct view *v = arena_new(s->ir->arena, struct view);
    struct kernel k = *p->v->kernel;
    struct str out;
    (void)sink;
    k.sink = s->sink;
    str_init(&out, s->ir->arena);
    if (!view_init(v, s->ir, &k, p->v->isa, p->v->threads)) return;
    v->features = p->v->features;
    v->vec_bytes = p->v->vec_bytes, v->finer = p->v->finer;
    if (write_conv(v, p->level, &out) || (out.n = 0, !p->v->asked && write_unrolled_phases(v, p, &out)))
        snprintf(p->text, sizeof p->text, "%s", out.n < sizeof p->text ? out.p : "");
}

/* All terms of a window as one axis: the filters are contiguous along it, and MMA instructions pack any number of channels. */
struct joined {
    const struct view *v;
    char text[CHOOSE_TEXT];
};

static void write_joined(void *cx, struct sched *s, const uop *sink) {
    struct joined *j = cx;
    struct view *v = arena_new(s->ir->arena, struct view);
    struct kernel k = *j->v->kernel;
    struct str out;
    (void)sink;
    k.sink = s->sink;
    str_init(&out, s->ir->arena);
    if (!view_init(v, s->ir, &k, j->v->isa, j->v->threads)) return;
    v->features = j->v->features, v->vec_bytes = j->v->vec_bytes, v->finer = j->v->finer;
    if (write_window_mma(v, &out))
        snprintf(j->text, sizeof j->text, "%s", out.n < sizeof j->text ? out.p : "");
}

static bool write_window_product(struct view *v, struct str *out) {
    struct joined j = {.v = v};
    const char *last = NULL;
    if (v->reduces != 1 || !*v->features) return false;
    for (int i = 0; i < v->naxis; i++) {
        if (!v->axis[i].reduce) continue;
        const char *both = last ? view_new_axis(v, last, "j") : v->axis[i].name;
        if (last) str_printf(out, " JOIN(%s,%s,%s)", last, v->axis[i].name, both);
        last = both;
    }
    if (out->n) opts_axes(v->ir, v->kernel, out->p, write_joined, &j);
    str_printf(out, "%s", j.text);
    return *j.text;
}

bool recipe_conv(struct view *v, int level, struct str *out) {
    struct phased p = {.v = v, .level = level};
    if (!level && write_window_product(v, out)) return true;
    out->n = 0;
    if (v->reduces != 1 || !tile_phases(v, &p, out))
        return write_conv(v, level, out) || (out->n = 0, !level && write_alone(v, out));
    if (level < 2) opts_axes(v->ir, v->kernel, out->p, write_rest, &p);
    str_printf(out, "%s", p.text);
    return *p.text;
}
