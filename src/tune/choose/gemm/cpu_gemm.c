/* cpu_gemm.c: the opt lists of contractions (contraction.c) on a CPU: which schedule, and those that pack nothing or windows only.
 *
 * Each computes one register tile (register_tile.c) at a time. Five schedules:
 *
 *   packed   n is vectorized; panels of both operands are packed (packed.c, cpu_mma.c)
 *   direct   n is vectorized, operands are read without packing: small GEMMs and convolutions
 *   window   direct, but padded or strided windows are packed first
 *   streamed n is vectorized, few rows times a matrix that no cache holds: it is read row by row, as by column sums
 *   dot      the reduced axis is vectorized, for operands that both have stride 1 along it: few rows, weight gradients
 *
 * Requires: struct view. Gives: an opt list. Tests: tests/unit/heuristic.c; speed: bench/golden --heuristic */
#include "tune/choose/elementwise/elementwise.h"
#include "tune/choose/gemm/gemm.h"

#include <math.h>

enum {
    WINDOW_ROWS = 16,    /* output channels that amortize a packed window */
    SHORT_K = 7,         /* terms of a loop that is unrolled whole */
    MOST_UNROLLED = 256, /* FMAs of an unrolled body */
    GRID_PER_THREAD = 8, /* grid iterations per thread for balance */
    DOT_REDUCE = 8,      /* terms per lane that the horizontal reduction costs */
};
#define STRIDED_B 0.3   /* of the FMA rate, with gathered vectors of b */
#define STRIDED_DOT 0.5 /* .. with vectors of every second to fourth element of an operand */
#define L2_SHARE 0.6    /* of L2 that a loop may fill with b */

/* ---- direct --------------------------------------------------------------------------------------------------- */

/* Can operand a (the weights of a convolution) be packed once per grid iteration, for all terms of the sum? */
static bool can_stage_rows(const struct view *v, const struct contraction *c) {
    const struct axis_view *m = &v->axis[c->m];
    if (c->mr < 2 || c->mr == m->size || c->nk < 2 || !may_stage(v, &c->a) || !m->grid || c->a.access->pred)
        return false;
    if (access_stride(v, c->a.access, c->m, 1) == 1 || c->depth * (double)c->mr * 4 > (double)v->l1)
        return false;
    for (int i = 0; i < v->naxis; i++) /* it depends on m and reduced axes only */
        if (has_axis(v, c->a.access->mask, i) && !v->axis[i].reduce && i != c->m) return false;
    return true;
}

static void stage_rows(struct view *v, struct contraction *c, struct str *out, const char *mr,
                       const char *kul) {
    const char *a = access_name(v, c->a.access);
    str_printf(out, " STAGE(%s,%s", a, v->axis[c->m].name);
    for (int i = 0; i < v->naxis; i++)
        if (has_axis(v, c->a.access->mask, i) && v->axis[i].reduce) str_printf(out, ",%s", v->axis[i].name);
    str_printf(out, ",%s) UNROLL(%s.%s)", mr, a, mr);
    if (kul) str_printf(out, " UNROLL(%s.%s)", a, kul);
}

/* Adds loops inside the grid iteration that packs, until packing is amortized; what the iteration reads of b stays in L2 for
 * the next rows. */
static void loop_around_rows(struct view *v, struct contraction *c, struct str *out) {
    double grid = 1, need = (double)GRID_PER_THREAD * v->threads,
           bytes = c->b.access ? (double)c->b.access->buf->src[0]->hi * c->b.access->bytes : 0;
    for (int i = 0; i < v->naxis; i++) {
        grid *= c->in_grid[i];
        if (c->b.access && v->axis[i].grid && has_axis(v, c->b.access->mask, i)) bytes /= c->in_grid[i];
    }
    for (int i = v->naxis; i-- > 0;) {
        if (i == c->m || !v->axis[i].grid || c->in_grid[i] <= 1 || grid <= need) continue;
        int64_t n = (int64_t)c->in_grid[i], part = 1;
        double each = c->b.access && has_axis(v, c->b.access->mask, i) ? bytes : 0;
        if (grid / (double)n >= need && each * (double)n <= (double)v->l2 * L2_SHARE) {
            str_printf(out, " LOOP(%s)", v->axis[i].name);
            grid /= (double)n, c->in_grid[i] = 1;
            bytes = RG_MAX(bytes, each * (double)n);
            continue;
        }
        for (int64_t p = 2;
             p <= 64 && grid / (double)p >= need && each * (double)p <= (double)v->l2 * L2_SHARE; p++)
            if (n % p == 0) part = p;
        if (part > 1)
            str_printf(out, " TILE(%s,%lld,%s)", v->axis[i].name, (long long)part,
                       view_new_axis(v, v->axis[i].name, "l"));
        return;
    }
}

/* Rows inside a grid iteration: what it reads of b stays in a cache for all of them, where all of b would come from memory for each
 * tile of rows, and a fits beside it. (24 x 24 channels of 277,373 positions, stride 2, in f64.) */
static void loop_over_tiles(struct view *v, struct contraction *c, struct str *out) {
    double grid = 1, panel = c->depth * (double)(c->nv * c->lanes),
           rows = c->depth * (double)v->axis[c->m].size;
    for (int i = 0; i < v->naxis; i++) grid *= v->axis[i].grid && i != c->m ? c->in_grid[i] : 1;
    bool even = grid >= 2 * v->threads && fmod(grid, v->threads) == 0,
         many = grid >= GRID_PER_THREAD * v->threads;
    if (!c->a.access || !c->b.access || c->in_grid[c->m] <= 1 || (!even && !many)) return;
    if ((double)c->b.access->buf->src[0]->hi * c->b.access->bytes <= (double)v->l2 * L2_SHARE) return;
    if (panel * c->b.access->bytes + rows * c->a.access->bytes > (double)v->l2 * L2_SHARE) return;
    str_printf(out, " LOOP(%s)", v->axis[c->m].name);
    c->in_grid[c->m] = 1;
}

static void write_direct(struct view *v, struct contraction *c, struct str *out, bool stage) {
    const char *mr, *nr, *lane, *kul = NULL;
    const struct axis_view *k = &v->axis[c->k];
    tile_rows(v, c, out, &mr);
    tile_columns(v, c, out, &nr, &lane);
    if (k->size <= SHORT_K && c->mr * c->nv * k->size <= MOST_UNROLLED) {
        str_printf(out, " UNROLL(%s)", k->name);
        kul = k->name;
        stage = stage && can_stage_rows(v, c);
    } else if (k_unroll(k->size) > 1) {
        stage = false;
        kul = view_new_axis(v, k->name, "u");
        str_printf(out, " TILE(%s,%lld,%s) UNROLL(%s)", k->name, (long long)k_unroll(k->size), kul, kul);
    }
    if (!kul || !stage) {
        loop_over_tiles(v, c, out);
        shape_grid(v, out, c->in_grid, c->name);
        return;
    }
    loop_around_rows(v, c, out);
    stage_rows(v, c, out, mr, kul);
}

/* ---- streamed ------------------------------------------------------------------------------------------------- */

/* A register tile down all rows of b would touch a page per row. */
static bool can_stream(const struct view *v, const struct contraction *c) {
    const struct axis_view *m = &v->axis[c->m], *n = &v->axis[c->n];
    if (c->nk != 1 || !m->grid || !n->grid || m->members > 1 || n->members > 1 || m->size > MOST_TILE_ROWS)
        return false;
    if (!c->b.access || c->b.access->pred || access_stride(v, c->b.access, c->n, c->lanes) != 1) return false;
    double bytes = (double)n->size * c->depth * c->b.access->bytes;
    int64_t pitch = access_stride(v, c->b.access, c->k, 1);
    return bytes > 2 * (double)v->l2 && pitch != NO_STRIDE && pitch >= n->size &&
           n->size > 2 * c->nv * c->lanes;
}

static bool write_streamed(struct view *v, struct contraction *c, struct str *out) {
    const struct axis_view *m = &v->axis[c->m], *n = &v->axis[c->n];
    struct elementwise_plan f = {.axis = c->n, .lanes = c->lanes, .vectors = ceil_div(n->size, c->lanes)};
    memcpy(f.in_grid, c->in_grid, sizeof f.in_grid);
    f.in_grid[c->m] = 1;
    str_printf(out, " UNROLL(%s)", m->name);
    return write_streamed_product(v, &f, out, c->k, m->size);
}

/* ---- window ------------------------------------------------------------------------------------------------------- */

/* A padded or strided convolution: for each row of outputs the window is packed in the order of use, so that predicates and
 * strides cost once and not per output channel. Operand a is packed too, once per grid iteration. */
static int64_t window_tiles(const struct view *v, const struct contraction *c) { /* of columns that fit */
    double bytes = c->depth * (double)(c->nv * c->lanes) * 4;
    return (int64_t)(((double)v->l2 / 2 - c->depth * c->lanes * 4) / bytes);
}

static bool can_window(const struct view *v, const struct contraction *c) {
    const struct axis_view *m = &v->axis[c->m], *n = &v->axis[c->n];
    bool tiled = c->nk > 1 && m->grid && n->grid && c->mr > 1 && c->nv > 1;
    bool large = m->size >= 2 * c->mr && n->size > c->lanes;
    if (!tiled || !large || !is_packable(v, &c->a) || !may_stage(v, &c->b)) return false;
    return c->a.access->buf != c->b.access->buf && window_tiles(v, c) > 0;
}

/* The reduced axes that an access depends on, except `not`. */
static const char *summed_axes(struct view *v, const struct access_view *s, int not ) {
    const char *all = "";
    for (int i = 0; i < v->naxis; i++)
        if (v->axis[i].reduce && i != not &&(!s || has_axis(v, s->mask, i)))
            all = LIST(v, all, v->axis[i].name);
    return all;
}

/* How many rows of outputs a grid iteration computes: their filters are packed once for all of them, and all threads are busy.
 * Returns the loop over them, "": one row. */
static const char *loop_over_rows(struct view *v, struct contraction *c, struct str *out, int axis,
                                  double grid) {
    int64_t n = (int64_t)c->in_grid[axis], best = 1;
    double late = 0.25, least = 1e30;
    for (int64_t p = 1; p <= n; p++) {
        double all = grid / (double)p;
        if (n % p || (p == n && all < 2)) continue;
        double time = (ceil(all / v->threads) + late) * (double)p;
        time *= 1 + c->pack_a / ((double)p * (double)v->axis[c->n].size);
        if (time < 0.999 * least) least = time, best = p;
    }
    if (grid / (double)n >= 2 * v->threads) best = n;
    c->in_grid[axis] = (double)(n / best);
    if (best == 1) return "";
    if (best == n) {
        str_printf(out, " LOOP(%s)", v->axis[axis].name);
        return v->axis[axis].name;
    }
    const char *loop = view_new_axis(v, v->axis[axis].name, "l");
    str_printf(out, " TILE(%s,%lld,%s)", v->axis[axis].name, (long long)best, loop);
    return loop;
}

/* Columns of a row of outputs whose window is packed at once: all, or parts that fit, in the grid; parts, too, where nothing else
 * is in the grid, as a lone 1-D image. (64 channels of 126085, stride 3, 24 filters of 5 taps in bf16: 102 ms, 14.) */
static const char *loop_over_columns(struct view *v, struct contraction *c, struct str *out, double others) {
    const char *n = v->axis[c->n].name;
    int64_t tiles = (int64_t)c->in_grid[c->n], fit = window_tiles(v, c);
    if (tiles <= 1) return "";
    if (others < 2) fit = RG_MIN(fit, RG_MAX(tiles / (2 * (int64_t)v->tasks), 1));
    c->in_grid[c->n] = (double)ceil_div(tiles, RG_MIN(fit, tiles));
    if (fit >= tiles) return str_printf(out, " LOOP(%s)", n), n;
    if (fit == 1) return "";
    const char *loop = view_new_axis(v, n, "w");
    str_printf(out, " TILE(%s,%lld,%s)", n, (long long)fit, loop);
    return loop;
}

/* Tiles rows and columns and decides which loops run inside a grid iteration. *row: the loop over rows of outputs, "" where the
 * threads need it in the grid. */
static bool tile_window(struct view *v, struct contraction *c, struct str *out, struct panels *p,
                        const char **row) {
    const struct axis_view *m = &v->axis[c->m];
    tile_rows(v, c, out, &p->mr);
    tile_columns(v, c, out, &p->nr, &p->lane);
    int64_t tiles = ceil_div(m->size, c->mr),
            fit = (int64_t)((double)v->l2 / 2 / (c->depth * (double)c->mr * 4));
    double others = 1; /* grid iterations without rows and columns of the tile */
    for (int i = 0; i < v->naxis; i++)
        if (v->axis[i].grid && i != c->m && i != c->n) others *= c->in_grid[i];
    if (v->finer >= FINER_AXES && others < v->tasks) /* rows of the filters in the grid, too */
        fit = RG_MIN(fit, RG_MAX((int64_t)((double)tiles * others / v->tasks), 1));
    if (fit < 1 || !p->mr || !p->lane) return false;
    p->ml = m->name, p->nl = "", *row = "", c->in_grid[c->m] = 1;
    int64_t part = even_part(tiles, fit);
    c->in_grid[c->m] = (double)ceil_div(tiles, part);
    if (tiles <= fit) {
        str_printf(out, " LOOP(%s)", p->ml);
    } else if (part == 1) {
        p->ml = "";
    } else {
        p->ml = view_new_axis(v, m->name, "t");
        str_printf(out, " TILE(%s,%lld,%s)", m->name, (long long)part, p->ml);
    }
    p->nl = loop_over_columns(v, c, out, others * c->in_grid[c->m]);
    int inner = -1; /* of the grid */
    double grid = 1;
    for (int i = 0; i < v->naxis; i++) {
        if (v->axis[i].grid && c->in_grid[i] > 1 && i != c->m) inner = i;
        grid *= v->axis[i].grid ? c->in_grid[i] : 1;
    }
    if (inner >= 0) *row = loop_over_rows(v, c, out, inner, grid);
    for (int i = 0; i < v->naxis; i++)
        if (v->axis[i].grid && c->in_grid[i] > 1) p->at = v->axis[i].name;
    return p->at && inner >= 0;
}

static bool write_window(struct view *v, struct contraction *c, struct str *out) {
    struct panels p = {0};
    const char *a = access_name(v, c->a.access), *b = access_name(v, c->b.access), *k = v->axis[c->k].name,
               *row;
    if (v->axis[c->k].size > SHORT_K || !tile_window(v, c, out, &p, &row)) return false;
    str_printf(out, " UNROLL(%s) ORDER(%s)", k, LIST(v, row, p.ml, p.nl, summed_axes(v, NULL, c->k)));
    str_printf(out, " STAGE(%s,%s,%s) UNROLL(%s.%s) UNROLL(%s.%s)", a, p.at,
               LIST(v, p.ml, summed_axes(v, c->a.access, -1), p.mr), a, p.mr, a, k);
    str_printf(out, " STAGE(%s,%s,%s) VEC(%s.%s) UNROLL(%s.%s) UNROLL(%s.%s)", b, *row ? row : p.at,
               LIST(v, p.nl, summed_axes(v, c->b.access, -1), p.nr, p.lane), b, p.lane, b, p.nr, b, k);
    return true;
}

/* ---- dot -------------------------------------------------------------------------------------------------------- */

static void write_dot(struct view *v, struct contraction *c, struct str *out, int k, int64_t mr, int64_t nr) {
    tile_dot(v, c, out, k, mr, nr);
    shape_grid(v, out, c->in_grid, c->name);
}

/* ---- the recipe --------------------------------------------------------------------------------------------------- */

bool write_window_mma(struct view *v, struct str *out) {
    enum { LEAST_ROWS = 8, LEAST_COLUMNS = 4, ROWS_STRIDED = 32 }; /* that amortize packing .., strided */
    struct contraction c = {.window = true};
    if (!contraction_find(v, &c) || c.nk != 1 || !is_packable(v, &c.a) || !may_stage(v, &c.b)) return false;
    int64_t rows = v->axis[c.m].size, step = access_stride(v, c.b.access, c.n, 1);
    bool near = step == 1 || v->isa->by_lane; /* elements are packed one by one there in any case */
    if (rows < (near ? LEAST_ROWS : ROWS_STRIDED) || step == NO_STRIDE) return false;
    reset_grid(v, &c), price_packing(v, &c);
    return v->axis[c.n].size >= LEAST_COLUMNS && write_cpu_mma(v, &c, out);
}

/* Sums along an axis that is contiguous in both operands, whatever windows others are: weight gradients. n: the most values, where the
 * store is contiguous along a few taps. */
bool write_dots_mma(struct view *v, struct str *out) {
    struct contraction c = {0};
    if (!contraction_find(v, &c) || !is_packable(v, &c.a) || !may_stage(v, &c.b)) return false;
    c.kbig = dot_axis(v, &c);
    if (c.kbig < 0) return false;
    for (int i = 0; i < v->naxis; i++)
        if (is_own_output(v, i, c.b.mask, c.a.mask) && v->axis[i].size > v->axis[c.n].size) c.n = i;
    reset_grid(v, &c), price_packing(v, &c);
    return write_cpu_mma(v, &c, out);
}

/* Columns that fill more than half of a vector: one masked vector where masks are free, instead of two of half as many lanes. (512 x 10
 * x 784 with AVX-512: 353 us, 232.) */
static void mask_columns(const struct view *v, struct contraction *c) {
    int lanes = view_lanes(v, c->n);
    int64_t columns = v->axis[c->n].size;
    if (v->isa->masks && !v->isa->by_lane && 2 * columns > lanes && columns < lanes) c->lanes = lanes;
}

/* Would it be vectors along k without a register tile, too? (Sixteen filters of 3 x 72 x 65 positions: lanes of a vector, 293 us; a dot
 * product, 633.) */
static bool has_lanes_along(struct view *v, int k) {
    struct str s;
    str_init(&s, v->arena);
    return recipe_elementwise(v, 0, &s) && strstr(s.p, arena_printf(v->arena, "VEC(%s_v)", v->axis[k].name));
}

bool recipe_gemm(struct view *v, int level, struct str *out) {
    struct contraction c = {0};
    if (level > 3 || !terms_find(v, &c)) return false;
    reset_grid(v, &c), price_packing(v, &c);
    if (level < 1 && c.product && is_packable(v, &c.a) && is_packable(v, &c.b) && has_packable_k(v, &c)) {
        struct contraction by_mma = c;
        if (write_cpu_mma(v, &by_mma, out)) return true;
        out->n = 0;
    }
    exchange_operands(v, &c), price_packing(v, &c);
    const struct axis_view *m = &v->axis[c.m], *n = &v->axis[c.n];
    int64_t dot_m = 1, dot_n = 1;
    double outer = tile_of(v, m->size, n->size, c.lanes, BROADCAST_COST, false, &c.mr, &c.nv), dot = 0;
    bool unit = c.b.access && access_stride(v, c.b.access, c.n, c.lanes) == 1;
    int k = dot_axis(v, &c);
    bool near = k < 0 && !unit;
    if (near && (k = near_dot_axis(v, &c)) >= 0 && !has_lanes_along(v, k)) k = -1;
    if (k >= 0) {
        dot = tile_of(v, m->size, n->size, 1, 1, true, &dot_m, &dot_n) *
              filled(v->axis[k].size, view_lanes(v, k));
        dot *= c.depth / (c.depth + DOT_REDUCE * view_lanes(v, k)) * (near ? STRIDED_DOT : 1);
    }
    bool pack = level < 1 && should_pack(v, &c, unit);
    bool window = level < 1 && can_window(v, &c) && (!unit || c.b.access->pred) && m->size >= WINDOW_ROWS;
    int across = pack || window || unit ? -1 : near_axis(v, &c);
    if (across >= 0) {
        c.n = across, c.lanes = lanes_along(v, across), n = &v->axis[across];
        unit = true, dot = 0;
    }
    if (level < 1 && !unit && (pack ? c.nk == 1 : k < 0) && write_gaps(v, &c, out)) return true;
    out->n = 0;
    if (unit && !pack && !window) mask_columns(v, &c);
    if (!pack && !window)
        outer = tile_of(v, m->size, n->size, c.lanes, BROADCAST_COST, true, &c.mr, &c.nv) *
                (unit ? 1 : STRIDED_B);
    if (pack) tile_packed(v, &c);
    shrink_tile(v, &c.mr, &c.nv), shrink_tile(v, &dot_m, &dot_n);
    outer *= (double)c.lanes / view_lanes(v, c.n); /* few columns: part of a vector */
    if (dot > outer) {
        write_dot(v, &c, out, k, dot_m, dot_n);
        return level < 1;
    }
    if ((pack && write_packed(v, &c, out)) || (window && write_window(v, &c, out))) return true;
    if (pack || window) {
        tile_of(v, m->size, n->size, c.lanes, BROADCAST_COST, true, &c.mr, &c.nv);
        shrink_tile(v, &c.mr, &c.nv);
    }
    out->n = 0;
    reset_grid(v, &c);
    if (level < 1 && can_stream(v, &c) && write_streamed(v, &c, out)) return true;
    out->n = 0;
    if (!unit && k >= 0) write_dot(v, &c, out, k, dot_m, dot_n);
    if (!unit) return k >= 0;
    write_direct(v, &c, out, level < 2);
    return true;
}
