/* cpu_conv.c: opt lists for convolutions and their gradients: contractions in which one operand, the image, is read through
 * windows. A window is a pair of axes with overlapping elements: an output position and a filter tap, which is reduced and
 * which the other operand, the filters, has too. With one more output axis of the filters (output channels) and of the image
 * (batch) this is a convolution, its data gradient (taps run backwards, predicates at the halo), or its weight gradient
 * (batch and channels exchanged: few positions, many taps, a long sum).
 *
 * forward.c:
 *   positions  vectors along the innermost position, rows of channels; a predicated image is copied with its halo first, so
 *              that inner loops have no predicates
 *   channels   vectors along the channels, filters packed for them; rows of positions: for short rows
 *   alone      one filter: no rows share what is loaded, but the image is packed with its halo
 * weight_gradient.c:
 *   gradient   vectors along the filters' channels, rows of the image's; both operands are packed channels last, some
 *              images at a time, and the partial sums stay in L2
 *   dots       the same for an image of few channels: vectors along the last tap, no packing
 * here:
 *   product    16-bit types: all terms of a window are joined (JOIN) and packed for MMA instructions by gemm/cpu_mma.c, whatever the
 *              number of channels
 *   phases     data gradient of a strided convolution: position i is read as i / stride, its tap as i mod stride. Tiled into
 *              quotient and remainder, each remainder is a convolution of its own: `channels`, with the filters of all of
 *              them packed
 *
 * What gemm/ does as well is left to it. The order of summation depends on sizes and caches alone, never on the number
 * of threads.
 * Requires: struct view. Gives: an opt list. Tests: tests/unit/conv.c, tests/unit/heuristic.c */
#include "tune/choose/conv/conv.h"
#include "tune/choose/gemm/gemm.h"

#include <math.h>

enum { WINDOW_CHANNELS = 16 }; /* that amortize a packed window (gemm/cpu_gemm.c) */

/* ---- the register tile ------------------------------------------------------------------------------------- */

/* What a register tile reads and packs besides its own loads. */
struct tile_use {
    double
        depth; /* terms of a packed panel of columns that every row of tiles reads again; 0: it stays in L1 */
    double reuse; /* FMAs per packed element and value of the other side; 0: packing does not count */
    bool shared;  /* values of rows are those of other rows' taps */
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

/* Share of the FMA rate that is left where the values of x rows do not stay in registers from one tap to the next, beside x * y
 * accumulators and a filter's vector. With no register to spare gcc spills some. */
static double spilled_share(const struct view *v, const struct cpu_conv *k, struct tile_use use, int64_t rows,
                            int64_t x, int64_t y) {
    const struct isa *isa = v->isa;
    int64_t values = use.shared ? conv_shared_values(v, k, x) : 0;
    if (values) return pow(RG_MIN(1, (isa->regs - 1) / (double)(x * y + values)), 2);
    return x == rows || (x <= 8 && (isa->regs >= 32 || x * y + x + 1 < isa->regs)) ? 1 : 0.95;
}

/* A register tile that divides both axes, if there is a good one; padding is work too. */
static double even_tile(const struct view *v, const struct cpu_conv *k, int64_t rows, int64_t cols, int lanes,
                        struct tile_use use, int64_t *mr, int64_t *nv) {
    double best = 0;
    int64_t sums = isa_accumulators(v->isa), most = RG_MAX(12, sums / 2), m, n;
    bool padded = use.shared && conv_shared_values(v, k, 1) && /* tile_of does not know what the taps keep */
                  conv_step(v, k, k->windows - 1) == 1;
    for (int64_t y = 1; y <= 6; y++)
        for (int64_t x = 1; x <= most && x * y <= sums; x++) {
            if ((rows % x && !padded) || x > rows || cols % (y * lanes)) continue;
            double e = tile_share(v->isa, (double)x, (double)y, 0.25) * filled(rows, x);
            e *=
                RG_MIN(1, (double)(x * y) / isa_chains(v->isa)) * share_left(v, k, use, (double)x, (double)y);
            e *= spilled_share(v, k, use, rows, x, y);
            if (e > best * 1.001) best = e, *mr = x, *nv = y;
        }
    double other = tile_of(v, rows, cols, lanes, 0.25, true, &m, &n);
    other *= share_left(v, k, use, (double)m, (double)n);
    if (!v->isa->by_lane) other *= spilled_share(v, k, use, rows, m, n);
    if (other > best) *mr = m, *nv = n;
    return RG_MAX(best, other);
}

/* Rows of the register tile of a weight gradient whose first positions are in the grid: padding against idle threads. As many
 * accumulators as a tile has, or rounding would change. */
static int64_t balanced_rows(const struct view *v, const struct cpu_conv *k, struct tile_use use) {
    enum { MORE_THAN_ROWS_OF_SUMS = 8, MOST_SUMS = 20 }; /* gcc spills 22 of them, of three levels */
    const struct contraction *c = &k->c;
    int64_t rows = size_of(v, c->m), best = c->mr, cols = ceil_div(size_of(v, c->n), c->nv * c->lanes);
    double others = conv_grid_size(v, c) / (c->in_grid[c->m] * c->in_grid[c->n]), least = 1e30;
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

/* ---- the recipe -------------------------------------------------------------------------------------------- */

/* Does the window of gemm/ pack the image? */
static bool gemm_packs(struct view *v, const struct cpu_conv *k) {
    struct str s;
    str_init(&s, v->arena);
    return recipe_gemm(v, 0, &s) &&
           strstr(s.p, arena_printf(v->arena, "STAGE(%s,", access_name(v, k->image.access)));
}

/* Vectors along positions or channels, and the register tile; false: neither is better than what gemm/ does. *copy: an image with
 * strides is packed for vectors along positions. */
static bool choose_vectors(struct view *v, struct cpu_conv *k, bool *copy) {
    struct contraction *c = &k->c;
    int inner = k->pos[k->windows - 1], lanes = view_lanes(v, inner), all = c->lanes;
    int64_t wide = size_of(v, inner), channels = size_of(v, k->channel), mr, nv;
    double step = conv_step(v, k, k->windows - 1);
    bool strided = access_stride(v, k->image.access, inner, 1) != 1;
    bool unit =
        step == 1 || (step < 1 && !strided); /* less: dilated taps (256 filters of 8 x 3 terms: 28 ms, 9) */
    double by_position = even_tile(v, k, channels, wide, lanes, (struct tile_use){0}, &mr, &nv),
           by_channel = 0;
    if (k->image.access->pred && wide % lanes) by_position *= 0.5;
    if (k->phases || !unit || (strided && channels >= all)) by_position = 0; /* strided stores, or loads */
    if (k->filter.access->pred)
        by_position = 0; /* taps that fill up a phase: packed filters have zeros there */
    while (c->lanes > 4 && c->lanes > channels) c->lanes /= 2; /* few channels of a group: part of a vector */
    double depth = k->block ? c->depth * (double)k->block / (double)size_of(v, k->sum) : c->depth;
    if (channels >= c->lanes || !by_position)
        by_channel = even_tile(v, k, wide, channels, c->lanes,
                               (struct tile_use){.depth = depth, .shared = true}, &c->mr, &c->nv) *
                     c->lanes / all;
    double column = depth * c->lanes * RG_MAX(k->filter.access->bytes, 4); /* bytes of packed filters */
    if ((double)c->nv * column > (double)v->l2 / 2 && by_channel)
        c->nv = conv_divisor(ceil_div(channels, c->lanes), RG_MAX((int64_t)((double)v->l2 / 2 / column), 1));
    bool by_channels = by_channel > by_position * 1.1 && (double)c->nv * column <= (double)v->l2;
    *copy |= !by_channels && strided;
    if (!by_channels && (!*copy || !by_position)) return false;
    if (!unit && v->isa->by_lane) return false;
    c->m = by_channels ? inner : k->channel, c->n = by_channels ? k->channel : inner;
    if (!by_channels) c->mr = mr, c->nv = nv, c->lanes = lanes;
    if (v->finer >= FINER_TILE && by_channels)
        c->nv = ceil_div(c->nv, v->finer >= FINER_HALF_TILE ? 4 : 2);
    else if (v->finer >= FINER_TILE)
        c->mr = RG_MAX(ceil_div(c->mr, v->finer >= FINER_HALF_TILE ? 4 : 2), 2);
    return true;
}

/* Windows along other axes than the one that is contiguous in image and result (filters of one column): vectors along that one need no
 * window, gemm/ writes them. Predicates cost more than a packed halo where terms are many. (3 x 5 x 1 terms of 47 x 503 positions, 17
 * filters: 13.6 ms, 1.6; padded, 24 x 5 x 1: 6.0, 9.3.) */
static bool has_rows_beside(const struct view *v, const struct cpu_conv *k) {
    enum { FEW_TERMS = 40 };
    if (k->image.access->pred && k->c.depth > FEW_TERMS) return false;
    for (int i = 0; i < v->naxis; i++)
        if (!v->axis[i].reduce && conv_window_of(k, i) < 0 && access_stride(v, k->image.access, i, 1) == 1 &&
            access_stride(v, k->c.store, i, 1) == 1 && size_of(v, i) >= view_lanes(v, i))
            return true;
    return false;
}

/* A weight gradient has the channels of the image as rows, and is by dot products along the positions where these are too few: unless
 * they are strided (3 channels of 224 x 224, 64 filters of 7 x 7 taps two apart on AVX-512: 92 ms, 32), or the filters' vectors make up for
 * them (2 channels of 56 x 56, 64 filters: 1.47 ms, 1.16; 3 of 32 x 32, 16 filters: 0.19 to 0.31, 0.38 to 0.44). */
static bool fills_rows(const struct view *v, const struct cpu_conv *k, int lanes) {
    enum { ENOUGH = 4 };
    int64_t rows = size_of(v, k->batch), vectors = size_of(v, k->channel) / lanes;
    if (rows >= ENOUGH || rows < 2 || v->isa->by_lane) return rows >= ENOUGH;
    return conv_step(v, k, k->windows - 1) != 1 || rows * vectors >= isa_chains(v->isa);
}

/* Positions that leave lanes of vectors idle, where channels do not, and parts of the image fit. (64 channels of 56 x 56, 64 filters on
 * AVX-512: 21.9 ms by windows, 16.7.) */
static bool only_channels_fill(const struct view *v, const struct cpu_conv *k) {
    int inner = k->pos[k->windows - 1];
    return !v->isa->by_lane && conv_step(v, k, k->windows - 1) == 1 && conv_fitting_rows(v, k) &&
           size_of(v, k->channel) % (2 * k->c.lanes) == 0 &&
           filled(size_of(v, inner), view_lanes(v, inner)) < 0.9;
}

static bool write_conv(struct view *v, int level, struct str *out) {
    struct cpu_conv k = {0};
    struct contraction *c = &k.c;
    if (level > 2 || !conv_find(v, &k) || has_rows_beside(v, &k)) return false;
    int64_t channels = size_of(v, k.channel);
    bool pred = k.image.access->pred != NULL, grad = conv_is_weight_gradient(v, &k);
    reset_grid(v, c), price_packing(v, c);
    c->lanes = view_lanes(v, k.channel);
    if (grad) {
        int along = dot_axis(v, c);
        if (level > 0) return false;
        while (c->lanes > 4 && c->lanes > channels) c->lanes /= 2;
        if (k.batch < 0 || channels < c->lanes || !fills_rows(v, &k, c->lanes))
            return !pred && along == k.tap[k.windows - 1] &&
                   filled(size_of(v, along), view_lanes(v, along)) > 0.7 &&
                   conv_write_dots(v, &k, out, along);
        c->m = k.batch, c->n = k.channel;
        struct tile_use packed = {.reuse = conv_positions(v, &k)};
        even_tile(v, &k, size_of(v, c->m), channels, c->lanes, packed, &c->mr, &c->nv);
        if (v->finer == FINER_AXES && !v->isa->by_lane) c->mr = balanced_rows(v, &k, packed);
        shrink_tile(v, &c->mr, &c->nv);
        return c->mr > 1 && conv_write_gradient(v, &k, out);
    }
    /* parts of an image that does not fit: where the window of gemm/ would not pay (64 channels on NEON: 18.7 ms, 14.2; 8 of them:
     * 2.2, 4.1); blocks of its channels where not even a row fits */
    int64_t fit = conv_fitting_rows(v, &k);
    bool cut = fit < size_of(v, k.pos[0]), copy = pred || k.phases;
    if (pred && cut && !k.phases && channels >= WINDOW_CHANNELS && !only_channels_fill(v, &k) &&
        gemm_packs(v, &k))
        return false;
    bool deep = copy && !k.phases && (!fit || conv_column_bytes(v, &k) > (double)v->l2 / 2);
    if (copy && !fit && !deep) return false;
    if (deep && !conv_find_blocks(v, &k) && !fit) return false;
    return choose_vectors(v, &k, &copy) && level < 2 && c->mr > 1 &&
           conv_write_forward(v, &k, out, copy || level > 0);
}

struct phased { /* the rest of a list, for the kernel after tile_phases */
    const struct view *v;
    int level, n;
    bool
        apart; /* phases whose positions do not begin together are in the grid: each is a convolution of its own */
    const char *axis[CHOOSE_AXES], *phase[CHOOSE_AXES];
    const char *quotient[CHOOSE_AXES], *in_grid[CHOOSE_AXES]; /* of those */
    int gridded;
    char text[CHOOSE_TEXT];
};

/* Tiles output axes by the small constant whose quotient and remainder the kernel uses; false: there are none. */
static bool tile_phases(struct view *v, struct phased *p, struct str *out) {
    int64_t by[2][CHOOSE_AXES] = {0};
    bool apart[CHOOSE_AXES] = {0};
    int tiled = 0;
    p->n = 0;
    for (uint32_t i = 0; i < v->topo.n; i++) {
        const uop *n = v->topo.p[i], *x = n->nsrc ? n->src[0] : n;
        if ((n->op != OP_IDIV && n->op != OP_MOD) || !uop_is_const(n->src[1])) continue;
        bool padded = x->op == OP_ADD && uop_is_const(x->src[1]);
        int64_t pad = padded ? x->src[1]->arg.i : 0, c = n->src[1]->arg.i;
        if (padded) x = x->src[0];
        if (x->op != OP_RANGE) continue;
        by[n->op == OP_MOD][view_axis_of(v, x)] = c;
        apart[view_axis_of(v, x)] |=
            c > 2 && pad % c; /* of two, one begins a position later: that is linear */
    }
    for (int i = 0; i < v->naxis; i++) {
        const struct axis_view *a = &v->axis[i];
        if (!a->grid || a->reduce || by[0][i] < 2 || by[0][i] > 4 || by[1][i] != by[0][i] ||
            a->size <= by[0][i])
            continue;
        const char *phase = view_new_axis(v, a->name, "p");
        str_printf(out, " TILE(%s,%lld,%s)", a->name, (long long)by[0][i], phase);
        tiled++;
        if (p->apart && apart[i])
            str_printf(out, " GRID(%s)", phase), p->quotient[p->gridded] = a->name,
                                                 p->in_grid[p->gridded++] = phase;
        else
            p->axis[p->n] = a->name, p->phase[p->n++] = phase;
    }
    return tiled;
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
    v->copies = 1;
    for (int i = 0; i < p->n; i++) {
        str_printf(out, " UNROLL(%s)", p->phase[i]);
        for (int k = 0; k < v->naxis; k++) {
            if (strcmp(v->axis[k].name, p->phase[i])) continue;
            v->axis[k].fixed = true, v->copies *= (int)v->axis[k].size;
        }
    }
    struct str tiled;
    struct contraction c = {0};
    str_init(&tiled, v->arena);
    /* a predicate of the positions hides them from a product, which then has vectors along the channels and strided stores */
    bool along = contraction_find(v, &c) && !strcmp(v->axis[c.n].name, p->axis[p->n - 1]);
    if (p->level || !along || !recipe_gemm(v, 1, &tiled)) return recipe_elementwise(v, p->level, out);
    str_printf(out, "%s", tiled.p);
    return true;
}

/* A phase that GRID put there: after its quotient, so that what is packed is packed inside of it. */
static void put_in_grid(struct view *v, const char *quotient, const char *phase) {
    int q = -1, p = -1;
    for (int i = 0; i < v->naxis; i++) {
        if (!strcmp(v->axis[i].name, quotient)) q = i;
        if (!strcmp(v->axis[i].name, phase)) p = i;
    }
    if (q < 0 || p < 0) return;
    v->axis[p].grid = true;
    struct axis_view a = v->axis[p];
    if (p + 1 == q) v->axis[p] = v->axis[q], v->axis[q] = a;
}

static void write_rest(void *cx, struct sched *s, const uop *sink) {
    struct phased *p = cx;
    struct view *v = view_after(p->v, s);
    struct str out;
    (void)sink;
    str_init(&out, s->ir->arena);
    if (!v) return;
    for (int i = 0; i < p->gridded; i++) put_in_grid(v, p->quotient[i], p->in_grid[i]);
    if (write_conv(v, p->level, &out) ||
        (out.n = 0, !p->v->asked && !p->apart && write_unrolled_phases(v, p, &out)))
        snprintf(p->text, sizeof p->text, "%s", out.n < sizeof p->text ? out.p : "");
}

/* All terms of a window as one axis: the filters are contiguous along it, and MMA instructions pack any number of channels. */
static bool write_window_product(struct view *v, struct str *out) {
    if (v->reduces != 1 || !*v->features) return false;
    if (write_dots_mma(v, out)) return true;
    out->n = 0;
    join_terms(v, out);
    return write_joined(v, write_window_mma, out);
}

bool recipe_conv(struct view *v, int level, struct str *out) {
    struct phased p = {.v = v, .level = level};
    if (!level && write_window_product(v, out)) return true;
    out->n = 0;
    if (v->reduces != 1 || !tile_phases(v, &p, out))
        return write_conv(v, level, out) || (out->n = 0, !level && conv_write_alone(v, out));
    if (level < 2) opts_axes(v->ir, v->kernel, out->p, write_rest, &p);
    if (level < 2 && !*p.text) {
        out->n = 0, p.apart = true;
        tile_phases(v, &p, out);
        if (p.gridded) opts_axes(v->ir, v->kernel, out->p, write_rest, &p);
    }
    str_printf(out, "%s", p.text);
    return *p.text;
}
