/* forward.c: convolutions and data gradients, by positions or by channels, and those of one filter (cpu_conv.c).
 * Requires: struct cpu_conv; for conv_write_forward a register tile, too. Gives: an opt list. Tests: tests/unit/conv.c */
#include "tune/choose/conv/conv.h"

#include <math.h>

/* ---- positions and channels: convolution, data gradient ---------------------------------- */

/* Grid iterations without those of positions; those of channels by tiles. */
static double tiles_in_grid(const struct view *v, const struct cpu_conv *k, bool channels) {
    const struct contraction *c = &k->c;
    double n = 1;
    int64_t tile = c->m == k->channel ? c->mr : c->nv * c->lanes;
    for (int i = 0; i < v->naxis; i++)
        if (v->axis[i].grid && conv_window_of(k, i) < 0 && i != k->channel) n *= c->in_grid[i];
    double all = c->in_grid[k->channel];
    return channels && all > 1 ? n * (double)ceil_div((int64_t)all, tile) : n;
}

/* Grid iterations of images alone do not keep the threads busy: is it less to pack filters once more for each part of the rows than
 * the image for each tile of channels? */
static bool cuts_rows_first(const struct view *v, const struct cpu_conv *k) {
    double each = tiles_in_grid(v, k, false), tiles = tiles_in_grid(v, k, true) / each,
           parts = ceil(v->tasks / each);
    double image = conv_image_bytes(v, k, 0),
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
    double lines =
        ((rows - 1) * RG_MAX(conv_step(v, k, 0), 1) + conv_tap_span(v, k, 0)) / conv_window_size(v, k, 0);
    double packed = c->pack_a * c->depth * channels +
                    COPY * lines * conv_image_bytes(v, k, 0) / (double)k->image.access->bytes;
    return grid_time(v, tasks, 0.5) *
           (1 + packed / fma); /* 16 virtual CPUs: 0.87 of the time by 64 tasks of 32 */
}

/* The cut of least time, of those that make no more tasks than the threads need. */
static struct image_cut best_cut(const struct view *v, const struct cpu_conv *k) {
    int64_t n = size_of(v, k->pos[0]), most = conv_fitting_rows(v, k);
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
            most = copy ? conv_fitting_rows(v, k) : n;
    if (k->phases || k->windows < 2 || want < 2) return most;
    if (v->finer < FINER_AXES && !(copy && cuts_rows_first(v, k))) return most;
    return conv_divisor(n, RG_MAX(RG_MIN(n / want, most), 1));
}

/* The axis of images, or of rows that no window moves along, of which most can be in a grid iteration; *n: how many. -1: of none two. */
static int batch_axis(const struct view *v, const struct cpu_conv *k, int64_t most, int64_t *n) {
    int best = -1;
    *n = 1;
    for (int i = 0; i < v->naxis; i++) {
        int64_t all = (int64_t)k->c.in_grid[i], part = conv_divisor(all, RG_MIN(most, all - 1));
        if (!v->axis[i].grid || has_axis(v, k->filter.mask, i) || conv_window_of(k, i) >= 0) continue;
        if (part > *n || (part == *n && i == k->batch && part > 1)) best = i, *n = part;
    }
    return best;
}

/* Several images per grid iteration amortize the packing of filters. Returns the loop over them. any: or several rows, where images
 * have no divisor. */
static const char *tile_batch(struct view *v, struct cpu_conv *k, struct str *out, int64_t most, bool any) {
    struct contraction *c = &k->c;
    if (k->batch < 0 || v->finer >= FINER_JOINED) return NULL;
    int64_t spare = (int64_t)(tiles_in_grid(v, k, true) / (8.0 * v->threads)),
            part = (int64_t)c->in_grid[k->batch], n = 1;
    int axis = k->batch;
    if (part > 1) n = conv_divisor(part, RG_MIN(RG_MIN(most, spare), part - 1)); /* keep some in the grid */
    if (n < 2 && any) axis = batch_axis(v, k, RG_MIN(most, spare), &n);
    if (n < 2 || axis < 0) return NULL;
    const char *loop = view_new_axis(v, v->axis[axis].name, "l");
    str_printf(out, " TILE(%s,%lld,%s)", v->axis[axis].name, (long long)n, loop);
    c->in_grid[axis] /= (double)n;
    return loop;
}

/* Few positions of the innermost axis leave accumulators unused, and FMAs wait for one another: those of another axis are unrolled,
 * too. rows: the loop over `part` rows of the first; NULL: all. (17 channels of 5 x 2 positions on AVX-512: 4 accumulators, 20.)
 * Returns how many are. */
static int64_t unroll_more(struct view *v, const struct cpu_conv *k, struct str *out, const char *rows,
                           int64_t part) {
    const struct contraction *c = &k->c;
    int64_t spare = isa_accumulators(v->isa) / (c->mr * c->nv), best = 1, all = 1,
            values = conv_shared_values(v, k, c->mr);
    const char *name = "";
    if (values) spare = RG_MIN(spare, (v->isa->regs - 1) / (c->mr * c->nv + values));
    if (k->phases || c->n != k->channel || c->mr < size_of(v, c->m)) return 1;
    for (int i = k->windows - 2; i >= 0; i--) {
        bool cut = !i && rows;
        int64_t n = !cut    ? size_of(v, k->pos[i])
                    : *rows ? part
                            : 1,
                more = n <= spare ? n : conv_divisor(n, spare);
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

/* At least two iterations of the grid: packing is for one of them. */
static int64_t part_for_grid(const struct view *v, const struct cpu_conv *k, struct image_cut cut) {
    int64_t n = size_of(v, k->pos[0]);
    bool enough = tiles_in_grid(v, k, cut.channels) * (double)n / (double)cut.part >= 2;
    return enough || k->block || k->windows < 2 ? cut.part : conv_divisor(n, n / 2);
}

/* Blocks of input channels; around their terms everything else, so that both packed tiles are used by all of it. images: a loop over
 * some, each packed there, or NULL. Returns the loop over blocks. */
static const char *loop_blocks(struct view *v, struct cpu_conv *k, struct str *out, const char *cut,
                               const char *images) {
    const char *at = v->axis[k->sum].name, *order = at;
    k->in_block = view_new_axis(v, at, "k");
    str_printf(out, " TILE(%s,%lld,%s)", at, (long long)k->block, k->in_block);
    if (k->c.in_grid[k->channel] <= 1) order = LIST(v, order, v->axis[k->channel].name);
    if (images) order = LIST(v, order, images);
    for (int i = 0; i < k->windows; i++) order = LIST(v, order, !i && cut ? cut : v->axis[k->pos[i]].name);
    str_printf(out, " ORDER(%s)", LIST(v, order, k->in_block));
    return at;
}

/* The filters of a phase and some channels stay in L1. */
static void order_phases(struct view *v, const struct cpu_conv *k, struct str *out, const char *cut,
                         const char *channels, const char *rows) {
    const char *order = "";
    for (int i = 0; i < k->phases; i++) order = LIST(v, order, v->axis[k->phase[i]].name);
    order = LIST(v, order, channels);
    for (int i = 0; i < k->windows - 1; i++)
        order = LIST(v, order, !i && cut ? cut : v->axis[k->pos[i]].name);
    str_printf(out, " ORDER(%s)", LIST(v, order, rows));
}

/* Makes the channels a loop where that leaves enough of the grid and their filters stay in L2. */
static void loop_channels(struct view *v, struct cpu_conv *k, struct str *out, bool priced, bool channels) {
    struct contraction *c = &k->c;
    double filters = c->depth * (double)size_of(v, k->channel) * k->filter.access->bytes;
    if (k->block) filters *= (double)k->block / (double)size_of(v, k->sum);
    for (int i = 0; i < k->phases; i++) filters *= (double)size_of(v, k->phase[i]);
    double each = conv_grid_size(v, c) / c->in_grid[k->channel];
    double need = v->finer ? v->tasks : RG_MIN(2.0 * v->threads, c->in_grid[k->channel]);
    if ((priced ? !channels : each >= need) && filters <= (double)v->l2 / 2) conv_loop(v, c, out, k->channel);
}

bool conv_write_forward(struct view *v, struct cpu_conv *k, struct str *out, bool copy) {
    struct contraction *c = &k->c;
    int inner = k->pos[k->windows - 1], tap = k->tap[k->windows - 1];
    bool priced = copy && !v->isa->by_lane && !k->phases && k->windows > 1 && c->n == k->channel &&
                  tiles_in_grid(v, k, false) < v->tasks;
    struct image_cut best = priced ? best_cut(v, k) : (struct image_cut){even_rows(v, k, copy), true};
    int64_t few = c->n == k->channel ? RG_MAX(c->lanes - size_of(v, c->n), 0) : 0; /* part of one vector */
    if (few) str_printf(out, " PADTO(%s,%d)", v->axis[c->n].name, c->lanes);
    if (copy) conv_pad_row(v, k, out);
    if (copy) best.part = part_for_grid(v, k, best);
    const char *cut = tile_image_rows(v, k, out, best.part), *at = NULL, *blocks = NULL;
    for (int i = cut != NULL; i < k->windows; i++) conv_loop(v, c, out, k->pos[i]);
    if (copy) loop_channels(v, k, out, priced, best.channels);
    if (k->block) {
        const char *images = cut ? NULL : tile_batch(v, k, out, 8, false);
        blocks = loop_blocks(v, k, out, cut, images);
        at = images ? images : blocks;
    } else if (copy && !(at = tile_batch(v, k, out, 8, false)) && !(at = conv_grid_axis(v, c)))
        return false;
    if (copy)
        conv_stage_image(v, k, out, at, cut);
    else
        tile_batch(v, k, out, 64, true);
    bool looped = c->in_grid[k->channel] <= 1;
    v->axis[inner].size += k->more, v->axis[k->channel].size += few;
    struct tiled_axis rows = conv_tile(v, c, out, true), cols = conv_tile(v, c, out, false);
    v->axis[inner].size -= k->more, v->axis[k->channel].size -= few;
    if (looped) c->in_grid[k->channel] = 1;
    c->in_grid[inner] = 1;
    struct tiled_axis sum =
        conv_unroll_sum(v, out, tap, c->mr * c->nv * (copy ? unroll_more(v, k, out, cut, best.part) : 1));
    if (k->phases && k->windows == 2 && c->mr * c->nv * size_of(v, tap) * size_of(v, k->tap[0]) <= 128)
        str_printf(out, " UNROLL(%s)", v->axis[k->tap[0]].name); /* few taps per phase */
    if (k->phases && looped) order_phases(v, k, out, cut, cols.loop, rows.loop);
    if (!(at = k->block ? blocks : conv_grid_axis(v, c))) return false;
    conv_stage_filter(v, k, out, at, c->m == k->channel ? &rows : &cols, sum.out);
    return true;
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

enum { MOST_ROWS = 8, MOST_FMAS = 192 }; /* of a tile of window rows; in the body of its loop */

/* Rows of a window's axis, n of them in the loop `rows`, as a register tile beside the vectors: each that is loaded is for all taps
 * that it has there, and more FMAs are under way. Returns how many. */
static int64_t tile_window_rows(struct view *v, const struct cpu_conv *k, struct str *out, int window,
                                const char *rows, int64_t n, int64_t vectors) {
    int64_t most = RG_MIN(RG_MIN(isa_accumulators(v->isa) / vectors, MOST_ROWS), n),
            taps = size_of(v, k->tap[window]);
    int64_t part = conv_divisor(n, most);
    if (2 * part < most) part = padded_part(n, most);
    if (part < 2 || conv_step(v, k, window) >= (double)taps) return 1;
    if (part < n) {
        const char *in = view_new_axis(v, rows, "r");
        str_printf(out, " TILE(%s,%lld,%s)", rows, (long long)part, in);
        rows = in;
    }
    str_printf(out, " UNROLL(%s)", rows);
    if (part * vectors * taps > MOST_FMAS || taps > TAPS_OUT) return part;
    str_printf(out, " UNROLL(%s)", v->axis[k->tap[window]].name);
    return part * taps;
}

/* Vectors of a row of n, nv at a time. */
static void tile_row(struct view *v, struct str *out, const char *row, int lanes, int64_t vectors,
                     int64_t nv) {
    const char *lane = view_new_axis(v, row, "v");
    if (vectors == 1) {
        str_printf(out, " VEC(%s)", row);
        return;
    }
    str_printf(out, " TILE(%s,%d,%s) VEC(%s)", row, lanes, lane, lane);
    if (nv > 1 && nv < vectors) {
        const char *u = view_new_axis(v, row, "u");
        str_printf(out, " TILE(%s,%lld,%s) UNROLL(%s)", row, (long long)nv, u, u);
    } else if (nv == vectors) {
        str_printf(out, " UNROLL(%s)", row);
    }
}

/* .. of an image that is read where it is: rows of it have no halo. */
static bool write_alone_in_place(struct view *v, struct cpu_conv *k, struct str *out, int lanes) {
    int last = k->windows - 1, inner = k->pos[last];
    int64_t vectors = ceil_div(size_of(v, inner), lanes),
            nv = padded_part(vectors, RG_MAX(isa_accumulators(v->isa) / 4, 1)), copies;
    if (last < 1) return false;
    tile_row(v, out, v->axis[inner].name, lanes, vectors, nv);
    copies = tile_window_rows(v, k, out, last - 1, v->axis[k->pos[last - 1]].name,
                              size_of(v, k->pos[last - 1]), nv);
    if (copies < 2) return false;
    if (copies * nv * size_of(v, k->tap[last]) <= MOST_FMAS)
        conv_unroll_sum(v, out, k->tap[last], copies * nv);
    return true;
}

/* One filter, or one for each channel of the image: no rows share what is loaded, but the image is packed with its halo as in
 * write_by_position, and inner loops have no predicates. (8 x 3 x 3 terms of 113 x 67 positions in bf16 on NEON: 90 ms, 16.) A row that
 * does not fit is packed in parts. */
bool conv_write_alone(struct view *v, struct str *out) {
    enum { LEAST_TERMS = 24 }; /* of a sum worth packing its image */
    struct cpu_conv k = {.channel = -1, .batch = -1};
    struct contraction *c = &k.c, rows = {0};
    if (contraction_find(v, &rows) || !factors_find(v, c) || c->depth < LEAST_TERMS || !may_stage(v, &c->a) ||
        !may_stage(v, &c->b))
        return false;
    for (int i = 0; i < CONV_AXES; i++) k.shift[i] = -1;
    for (int i = 0; i < 2 && !k.windows; i++) {
        k.image = i ? c->a : c->b, k.filter = i ? c->b : c->a;
        conv_windows(v, &k, &k.image, &k.filter);
    }
    int last = k.windows - 1, inner = k.windows ? k.pos[last] : -1,
        lanes = inner < 0 ? 1 : view_lanes(v, inner);
    if (inner < 0 || k.filter.access->pred || conv_is_weight_gradient(v, &k) ||
        access_stride(v, k.image.access, inner, 1) != 1 || access_stride(v, c->store, inner, 1) != 1)
        return false;
    bool narrow = size_of(v, inner) < lanes; /* part of a vector: worth it with rows beside each other */
    while (lanes > 2 && lanes > size_of(v, inner)) lanes /= 2;
    if (size_of(v, inner) < lanes) return false;
    const uop *halo = k.image.access->pred;
    if (!halo || !view_depends(v, halo, inner)) return write_alone_in_place(v, &k, out, lanes);
    reset_grid(v, c);
    int64_t n = size_of(v, inner), part = conv_fitting_rows(v, &k),
            nv = padded_part(ceil_div(n, lanes), isa_accumulators(v->isa) / 2), vectors;
    const char *cut = NULL, *loop = v->axis[inner].name;
    if (!part && last) return false;
    c->m = inner, c->mr = nv * lanes; /* whole tiles */
    if (part) {
        conv_pad_row(v, &k, out);
        vectors = (n + k.more) / lanes;
        if ((n + k.more) % c->mr) return false;
        cut = tile_image_rows(v, &k, out, part);
    } else { /* parts of the only row */
        int64_t fit = (int64_t)((double)v->l2 / 4 * conv_window_size(v, &k, 0) / conv_image_bytes(v, &k, 0)),
                taps = size_of(v, k.tap[0]);
        for (k.row = fit / c->mr * c->mr; k.row > 0 && !conv_is_even_row(v, inner, k.row + taps - 1);)
            k.row -= c->mr;
        if (k.row <= 0 || conv_step(v, &k, 0) != 1) return false;
        vectors = k.row / lanes, k.more = ceil_div(n, k.row) * k.row - n;
        if (k.more) str_printf(out, " PADTO(%s,%lld)", loop, (long long)(n + k.more));
        cut = loop = view_new_axis(v, v->axis[inner].name, "l");
        str_printf(out, " TILE(%s,%lld,%s)", v->axis[inner].name, (long long)k.row, loop);
        c->in_grid[inner] = (double)((n + k.more) / k.row);
    }
    for (int i = cut != NULL; i < k.windows; i++) conv_loop(v, c, out, k.pos[i]);
    const char *at = conv_grid_axis(v, c);
    if (!at || !conv_stage_image(v, &k, out, at, cut)) return false;
    tile_row(v, out, loop, lanes, vectors, nv);
    bool whole = last > 1 || !cut;
    int64_t copies = 1;
    if (last && (whole || *cut))
        copies = tile_window_rows(v, &k, out, last - 1, whole ? v->axis[k.pos[last - 1]].name : cut,
                                  whole ? size_of(v, k.pos[last - 1]) : part, nv);
    if (narrow && copies == 1) return false;
    if (copies == 1 || copies * nv * size_of(v, k.tap[last]) <= MOST_FMAS)
        conv_unroll_sum(v, out, k.tap[last], copies * nv);
    return true;
}
