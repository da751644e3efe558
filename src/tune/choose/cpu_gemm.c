/* cpu_gemm.c: the microkernel and its opt list for contractions in which each operand has an output axis of its own (GEMM,
 * batched, transposed, convolutions and their gradients).
 *
 * The microkernel is an mr x nr register tile of accumulators: mr values of an axis m that only one operand has, times nr
 * of an axis n that only the other has, so that each loaded value is reused. Five schedules:
 *
 *   packed   n is vectorized; panels of both operands are packed in the order of use, k in blocks that fit L2 (the schedule
 *            of tests/golden/matmul_2048.uop)
 *   direct   n is vectorized, operands are read without packing: small GEMMs and convolutions
 *   window   direct, but padded or strided windows are packed first
 *   streamed n is vectorized, few rows times a matrix that no cache holds: it is read row by row, as by column sums
 *   dot      the reduced axis is vectorized, for operands that both have stride 1 along it: few rows, weight gradients
 *
 * Tile sizes are chosen by FMAs per load, the waste of padding, and enough independent accumulators to hide the latency of
 * an FMA.
 * Requires: struct view. Gives: an opt list. Tests: tests/unit/heuristic.c; speed: bench/golden --heuristic */
#include "tune/choose/elementwise/elementwise.h"

#include <math.h>

enum {
    PANEL_ROWS = 64,    /* register tiles per grid iteration in each direction: panels of about half of L2 */
    K_BLOCK = 256,      /* terms of a packed block */
    K_WHOLE = 320,      /* up to here k is one block .. */
    K_WHOLE_WIDE = 512, /* .. of vectors wider than 16 bytes: partial sums in memory cost more there */
    K_STEP = 4,         /* blocks of k are a multiple */
    MIN_PANEL = 4,      /* register tiles of a panel: a loop to amortize packing .. */
    LEAST_PANEL = 1,    /* .. and the fewest, for threads that would be idle */
    LEAST_PACKED_K = 8, /* terms of a sum worth packing .. */
    LEAST_PACKED_K_STRIDED = 2,     /* .. if loads would be gathers .. */
    LEAST_PACKED_KBIG = 32,         /* .. of its longest axis, if there are several */
    PACKED_TERMS = 1 << 19,         /* FMAs of a GEMM worth packing, if both operands are contiguous */
    PACKED_TERMS_STRIDED = 1 << 14, /* .. if loads would be gathers */
    PACKED_ROWS_STRIDED = 32,       /* .. with at least this many rows */
    ACROSS_TERMS = 32,              /* terms of a sum whose result may be stored across lanes */
    WINDOW_ROWS = 16,               /* output channels that amortize a packed window */
    SHALLOW_K = 64,                 /* terms: fewer, and storing dominates */
    SHORT_K = 7,                    /* terms of a loop that is unrolled whole */
    MOST_UNROLLED = 256,            /* FMAs of an unrolled body */
    GRID_PER_THREAD = 8,            /* grid iterations per thread for balance */
    MOST_TILE_ROWS = 12,
    MOST_TILE_VECTORS = 6
};

/* Scores of register tiles: factors of the peak FMA rate. Tuned with bench/golden. */
static const struct {
    double load_cost, issue_cost, broadcast_cost, few_sums, all_sums, odd_rows, many_rows, tail_rows,
        strided_b, better, about, l2_share, l2_exposed;
} score = {
    .load_cost = 0.5,       /* of an FMA, per vector load */
    .issue_cost = 0.1,      /* of a cycle, per cycle of loads: they compete for issue slots */
    .broadcast_cost = 0.25, /* of a vector load, per row of a packed panel */
    .few_sums = 0.7,        /* with few accumulators .. */
    .all_sums = 0.3,        /* .. plus this with all of them: fewer bubbles */
    .odd_rows = 0.98,       /* rows that are no multiple of 4: partial vectors when packing */
    .many_rows = 0.93,      /* FMAs by lane, above 8 rows: broadcast values do not stay in registers */
    .tail_rows = 0.8,       /* predicated partial tiles */
    .strided_b = 0.3,       /* gathered vectors of b */
    .better = 1.001,        /* a later tile must win by this */
    .about = 0.95,          /* as good, so that balance decides */
    .l2_share = 0.6,        /* of L2 that a loop may fill with b */
    .l2_exposed =
        0.15, /* of the cycles in which a panel of b comes from L2, what prefetching does not hide */
};
enum { DOT_REDUCE = 8 }; /* terms per lane that the horizontal reduction costs */

/* ---- recognising ----------------------------------------------------------------------------------------- */

static const uop *below_casts(const uop *n) { /* below the casts and masks around a MUL */
    for (;;) {
        if (n->op == OP_CAST)
            n = n->src[0];
        else if (n->op == OP_WHERE && (uop_is_const(n->src[2]) || n->src[2]->op == OP_INVALID))
            n = n->src[1];
        else
            return n;
    }
}

/* Where the two operands of a sum's terms meet: a product, or a difference of which a square or a magnitude is added (distances). */
static const uop *terms_of(const uop *n) {
    n = below_casts(n);
    while (n->op == OP_ABS || (n->op == OP_MUL && n->src[0] == n->src[1])) n = below_casts(n->src[0]);
    return n;
}

static void find_operand(const struct view *v, const uop *root, uint64_t bound, struct operand_view *s) {
    uop_vec below = {0};
    uop_topo(v->arena, &root, 1, &below);
    *s = (struct operand_view){.root = root, .mask = v->mask[root->id]};
    int found = 0;
    for (int i = 0; i < v->naccess; i++) {
        if (v->access[i].store || !(v->access[i].mask & bound)) continue;
        for (uint32_t k = 0; k < below.n; k++)
            if (below.p[k] == v->access[i].node) s->access = &v->access[i], found++;
    }
    if (found != 1) s->access = NULL;
}

static uint64_t bound_mask(const struct view *v, const uop *reduce) {
    uint64_t m = 0;
    for (uint32_t i = 1; i < reduce->nsrc; i++)
        for (uint32_t k = 0; k < v->nrange; k++)
            if (v->range[k] == reduce->src[i]) m |= 1ull << k;
    return m;
}

static bool is_own_output(const struct view *v, int axis, uint64_t mine, uint64_t other) {
    const struct axis_view *a = &v->axis[axis];
    bool tileable = !a->reduce && !a->scan && !a->fixed && a->size >= 2;
    return tileable && has_axis(v, mine, axis) && !has_axis(v, other, axis);
}

/* The output axis that only `mine` has with the least stride of the store; -1 if there is none. */
static int own_axis(const struct view *v, const struct contraction *c, uint64_t mine, uint64_t other,
                    int64_t *stride) {
    int best = -1;
    *stride = INT64_MAX;
    for (int i = v->naxis; i-- > 0;) {
        if (!is_own_output(v, i, mine, other)) continue;
        int64_t s = c->store ? access_stride(v, c->store, i, 1) : 0;
        if (s == NO_STRIDE || s == 0) continue;
        if ((s < 0 ? -s : s) < *stride) *stride = s < 0 ? -s : s, best = i;
    }
    return best;
}

/* The axis of the other operand that is tiled in rows: the largest. */
static int row_axis(const struct view *v, uint64_t mine, uint64_t other) {
    int best = -1;
    for (int i = 0; i < v->naxis; i++) {
        if (!is_own_output(v, i, mine, other)) continue;
        if (best < 0 || v->axis[i].size > v->axis[best].size) best = i;
    }
    return best;
}

static int lanes_along(const struct view *v, int axis) { /* part of a vector for few values */
    int lanes = view_lanes(v, axis);
    while (lanes > 2 && lanes > v->axis[axis].size) lanes /= 2;
    return lanes;
}

/* Share of the lanes of whole vectors that hold values. */
static double lanes_filled(const struct view *v, int axis) {
    int lanes = lanes_along(v, axis);
    return filled(v->axis[axis].size, lanes) * lanes / view_lanes(v, axis);
}

/* An axis that only `mine` has, contiguous in its load, whose vectors do twice the work of those along n, which has few values: results
 * are stored across, once per sum. (138 x 3 results of 2049 terms on NEON: 97 us, 54.) -1: there is none. */
static int wide_axis(const struct view *v, const struct operand_view *mine, uint64_t other, int n) {
    int best = -1;
    if (!mine->access || mine->access->pred) return -1;
    for (int i = 0; i < v->naxis; i++) {
        if (!is_own_output(v, i, mine->mask, other) || access_stride(v, mine->access, i, 1) != 1) continue;
        if (lanes_filled(v, i) >= 2 * lanes_filled(v, n)) best = i;
    }
    return best;
}

/* Differences that are stored, too, or of few rows or terms, are loaded as often as that (elementwise/). */
static bool is_tile_of_differences(const struct view *v, const struct contraction *c) {
    int stores = 0;
    for (int i = 0; i < v->naccess; i++) stores += v->access[i].store;
    return stores == 1 && c->depth > 2 && c->lanes == view_lanes(v, c->n) &&
           v->axis[c->n].size >= 2 * c->lanes;
}

/* The axis of b in which its elements are nearest, for vectors along it where those along n would be gathers: results are stored
 * across. (8 x 86 rows of 257 columns, 48 terms, on NEON: 17.6 ms, 3.3.) -1: there is none. */
static int near_axis(const struct view *v, const struct contraction *c) {
    enum { MOST_STRIDE = 4 };
    int64_t least = MOST_STRIDE + 1;
    int best = -1;
    if (!c->b.access || c->b.access->pred) return -1;
    for (int i = 0; i < v->naxis; i++) {
        if (!is_own_output(v, i, c->b.mask, c->a.mask)) continue;
        int64_t stride = stride_of(v, c->b.access, i);
        if (stride && stride < least && lanes_filled(v, i) >= 0.5 * lanes_filled(v, c->n))
            best = i, least = stride;
    }
    return best;
}

static bool find_operands(const struct view *v, struct contraction *c) {
    if (v->reduces != 1 || v->scans || v->stages) return false;
    c->reduce = v->reduce[0];
    const uop *mul = terms_of(c->reduce->src[0]);
    c->product = mul->op == OP_MUL && mul == below_casts(c->reduce->src[0]);
    if (c->reduce->arg.i != OP_ADD || (!c->product && mul->op != OP_SUB)) return false;
    uint64_t bound = bound_mask(v, c->reduce);
    find_operand(v, mul->src[0], bound, &c->a);
    find_operand(v, mul->src[1], bound, &c->b);
    for (int i = 0; i < v->naccess; i++)
        if (v->access[i].store && !v->access[i].add && !c->store) c->store = &v->access[i];
    c->k = c->kbig = -1, c->depth = 1;
    for (uint32_t i = 1; i < c->reduce->nsrc; i++) {
        int k = view_axis_of(v, c->reduce->src[i]);
        if (v->axis[k].size < 0) return false;
        c->depth *= (double)v->axis[k].size, c->nk++;
        if (c->k < 0 || v->axis[k].pos > v->axis[c->k].pos) c->k = k;
        if (c->kbig < 0 || v->axis[k].size >= v->axis[c->kbig].size) c->kbig = k;
    }
    return c->store != NULL;
}

bool factors_find(const struct view *v, struct contraction *c) { return find_operands(v, c) && c->product; }

static bool find_terms(const struct view *v, struct contraction *c) {
    int64_t sx, sy;
    if (!find_operands(v, c)) return false;
    struct operand_view x = c->a, y = c->b;
    int nx = own_axis(v, c, x.mask, y.mask, &sx), ny = own_axis(v, c, y.mask, x.mask, &sy);
    if (nx < 0 || ny < 0) return false;
    bool swap = sx < sy; /* vectorize the axis of the store's least stride */
    c->a = swap ? y : x, c->b = swap ? x : y;
    c->n = swap ? nx : ny;
    c->m = row_axis(v, c->a.mask, c->b.mask);
    c->lanes = lanes_along(v, c->n);
    return c->m >= 0 && (c->product || is_tile_of_differences(v, c));
}

bool contraction_find(const struct view *v, struct contraction *c) { return find_terms(v, c) && c->product; }

/* Vectors along the axis of wide_axis. */
static void exchange_operands(const struct view *v, struct contraction *c) {
    int wide = c->depth < ACROSS_TERMS ? -1 : wide_axis(v, &c->a, c->b.mask, c->n);
    if (wide < 0) return;
    struct operand_view a = c->a;
    c->a = c->b, c->b = a, c->n = wide;
    c->m = row_axis(v, c->a.mask, c->b.mask), c->lanes = lanes_along(v, c->n);
}

/* ---- the register tile -------------------------------------------------------------------------------------- */

double filled(int64_t n, int64_t tile) { return (double)n / (double)((n + tile - 1) / tile * tile); }

/* FMAs by lane: vectors of both operands are loaded, on ports that FMAs want too. Else a row is one load that broadcasts, and
 * loads have ports of their own. */
double tile_share(const struct isa *isa, double x, double y, double row_load) {
    double fma = x * y;
    if (isa->by_lane) return fma / (fma + score.load_cost * (y + x * row_load));
    if (fma + y + 1 > isa->regs) return 0;
    double cycles = fma / isa->fma, loads = (x + y) / isa->loads;
    return cycles / (RG_MAX(cycles, loads) + score.issue_cost * loads);
}

double panel_share(const struct view *v, double x, double y, double depth) {
    enum { L2_BYTES = 32 }; /* per cycle */
    double bytes = y * v->isa->bytes, cycles = x * y / v->isa->fma;
    if (v->isa->by_lane || bytes * depth < 0.75 * (double)v->l1) return 1;
    return cycles / (cycles + score.l2_exposed * bytes / L2_BYTES);
}

/* Share of the FMA rate of a tile of x rows by y vectors, padding aside. */
static double tile_score(const struct view *v, int64_t rows, int64_t x, int64_t y, double row_load,
                         bool in_place) {
    double fma = (double)(x * y);
    double e = tile_share(v->isa, (double)x, (double)y, row_load) * RG_MIN(1, fma / isa_chains(v->isa));
    e *= score.few_sums + score.all_sums * fma / (double)isa_accumulators(v->isa);
    if (x % 4 && x < rows) e *= score.odd_rows;
    if (x > 8 && x < rows && v->isa->by_lane) e *= score.many_rows;
    if (in_place && rows % x) e *= score.tail_rows;
    if (!in_place) e *= panel_share(v, (double)x, (double)y, K_BLOCK);
    return e;
}

static int64_t most_rows(const struct view *v) {
    return RG_MAX(MOST_TILE_ROWS, isa_accumulators(v->isa) / 2);
}

double tile_of(const struct view *v, int64_t rows, int64_t cols, int lanes, double row_load, bool in_place,
               int64_t *mr, int64_t *nv) {
    double best = 0;
    int64_t sums = isa_accumulators(v->isa);
    *mr = *nv = 1;
    for (int64_t y = 1; y <= MOST_TILE_VECTORS; y++)
        for (int64_t x = 1; x <= most_rows(v) && x * y <= sums; x++) {
            if (x > rows || (y > 1 && (y - 1) * lanes >= cols)) continue;
            double e =
                tile_score(v, rows, x, y, row_load, in_place) * filled(rows, x) * filled(cols, y * lanes);
            if (e > best * score.better) best = e, *mr = x, *nv = y;
        }
    return best;
}

void shrink_tile(const struct view *v, int64_t *mr, int64_t *nv) {
    for (int i = FINER_TILE; i <= v->finer; i++) {
        int64_t *n = *mr > 2 * *nv ? mr : *nv > 1 ? nv : mr;
        *n = (*n + 1) / 2;
    }
}

void tile_rows(struct view *v, struct contraction *c, struct str *out, const char **inner) {
    const struct axis_view *m = &v->axis[c->m];
    *inner = NULL;
    if (c->mr < 2) return;
    if (c->mr == m->size) {
        str_printf(out, " UNROLL(%s)", m->name);
        *inner = m->name, c->in_grid[c->m] = 1;
        return;
    }
    *inner = view_new_axis(v, m->name, "r");
    str_printf(out, " TILE(%s,%lld,%s) UNROLL(%s)", m->name, (long long)c->mr, *inner, *inner);
    if (m->grid) c->in_grid[c->m] = (double)((m->size + c->mr - 1) / c->mr);
}

void tile_columns(struct view *v, struct contraction *c, struct str *out, const char **inner,
                  const char **lane) {
    const struct axis_view *n = &v->axis[c->n];
    int64_t wide = c->nv * c->lanes;
    *inner = view_new_axis(v, n->name, "r"), *lane = view_new_axis(v, n->name, "v");
    if (n->size <= wide) { /* the whole axis */
        *inner = n->name;
        c->in_grid[c->n] = 1;
        if (n->size == c->lanes) {
            str_printf(out, " VEC(%s)", n->name);
            *lane = NULL;
            return;
        }
        str_printf(out, " TILE(%s,%d,%s) VEC(%s)", n->name, c->lanes, *lane, *lane);
        str_printf(out, " UNROLL(%s)", n->name);
        return;
    }
    str_printf(out, " TILE(%s,%lld,%s)", n->name, (long long)wide, *inner);
    if (c->nv > 1)
        str_printf(out, " TILE(%s,%d,%s) VEC(%s) UNROLL(%s)", *inner, c->lanes, *lane, *lane, *inner);
    else
        str_printf(out, " VEC(%s)", *inner), *lane = NULL;
    if (n->grid) c->in_grid[c->n] = (double)((n->size + wide - 1) / wide);
}

/* ---- packed -------------------------------------------------------------------------------------------------- */

/* Both operands in L2, loads that broadcast, and whole register tiles of IN_PLACE_ROWS x IN_PLACE_VECTORS: packing of a costs more than
 * it saves, and of b for fewer than PACKED_B_ROWS. Measured with vectors of 64 bytes (512^3 in float32 on 16 threads: 0.29 ms, 0.23; on
 * one, a alone: 1.98, 1.81). */
enum { IN_PLACE_BYTES = 64, IN_PLACE_ROWS = 8, IN_PLACE_VECTORS = 2, PACKED_B_ROWS = 128 };

static bool reads_in_place(const struct view *v, const struct contraction *c) {
    const struct access_view *a = c->a.access, *b = c->b.access;
    int64_t m = v->axis[c->m].size, n = v->axis[c->n].size;
    if (c->a.root->op != OP_LOAD || c->b.root->op != OP_LOAD) return false; /* converted when packed */
    if (v->isa->bytes < IN_PLACE_BYTES || !a || !b || a->buf == b->buf || a->bytes < 4 || c->nk != 1 ||
        m % IN_PLACE_ROWS || v->axis[c->kbig].size % K_STEP || n % (IN_PLACE_VECTORS * c->lanes))
        return false;
    return access_stride(v, b, c->n, c->lanes) == 1 && access_stride(v, a, c->kbig, 1) == 1 &&
           ((double)m * a->bytes + (double)n * b->bytes) * c->depth <= (double)v->l2;
}

/* Rows are transposed, columns copied unless they are K-major. Measured with float32 on NEON and AVX-512. */
void price_packing(const struct view *v, struct contraction *c) {
    bool across = c->b.access && access_stride(v, c->b.access, c->n, 1) != 1;
    c->pack_a = 8, c->pack_b = across && !v->isa->by_lane ? 20 : 4;
}

/* How many grid tiles in each direction: few, each small enough for the caches, balanced over threads, with little padding.
 * Packing is work too: a panel of rows is packed once for all columns of the tile, and vice versa. */
double split_panels(const struct view *v, const struct contraction *c, int64_t mt, int64_t nt, int64_t *gm,
                    int64_t *gn) {
    enum { MORE = 6 }; /* grid tiles more than needed that are tried */
    double rest = 1, best = 1e30, rows = (double)c->mr, cols = (double)(c->nv * c->lanes);
    for (int i = 0; i < v->naxis; i++)
        if (i != c->m && i != c->n) rest *= c->in_grid[i];
    int64_t m0 = ceil_div(mt, PANEL_ROWS), n0 = ceil_div(nt, PANEL_ROWS), most = RG_MAX(MORE, 2 * v->threads),
            least = v->finer >= FINER_AXES ? LEAST_PANEL
                    : c->in_place          ? 2
                                           : MIN_PANEL;
    *gm = m0, *gn = n0;
    for (int64_t y = m0; y <= m0 + most; y++)
        for (int64_t x = n0; x <= n0 + most; x++) {
            int64_t pm = ceil_div(mt, y), pn = ceil_div(nt, x);
            /* one register tile alone would be summed in another order: no loop between blocks of k and their terms */
            bool small = (y > m0 && pm < least) || (x > n0 && pn < least) || pm * pn < 2;
            if (small || rest * (double)(x * y) < 2) continue;
            double all = rest * (double)(ceil_div(mt, pm) * ceil_div(nt, pn));
            double idle = grid_time(v, all, 0.25) * v->threads;
            double work = (double)(pm * ceil_div(mt, pm)) * (double)(pn * ceil_div(nt, pn));
            double cost =
                work * idle * (1 + c->pack_b / (rows * (double)pm) + c->pack_a / (cols * (double)pn));
            if (v->finer && all < v->tasks) cost *= v->tasks / all;
            if (cost < 0.999 * best) best = cost, *gm = y, *gn = x;
        }
    return best * rows * cols;
}

/* Of register tiles about as good as that of tile_of, the one whose panels are the least time: padding to whole tiles and idle
 * threads are one thing. */
static void tile_packed(const struct view *v, struct contraction *c) {
    int64_t m = v->axis[c->m].size, n = v->axis[c->n].size, x0 = c->mr, gm, gn;
    if (c->in_place) {
        c->mr = IN_PLACE_ROWS, c->nv = IN_PLACE_VECTORS;
        return;
    }
    double first = tile_score(v, m, x0, c->nv, score.broadcast_cost, false), least = 1e30;
    int64_t best = x0;
    for (int64_t x = most_rows(v); x >= 1; x--) {
        double e = tile_score(v, m, x, c->nv, score.broadcast_cost, false);
        if (x * c->nv > isa_accumulators(v->isa) || e < score.about * first || 2 * x > m) continue;
        c->mr = x;
        double time = split_panels(v, c, ceil_div(m, x), ceil_div(n, c->nv * c->lanes), &gm, &gn) / e;
        if (time < least / score.better) least = time, best = x;
    }
    c->mr = best;
}

/* A block of k: about K_BLOCK, a multiple of K_STEP if there are several, with little padding. */
static int64_t k_part(const struct view *v, int64_t k) {
    if (k <= (v->isa->by_lane ? K_WHOLE : K_WHOLE_WIDE)) return k;
    int64_t nearest = (k + K_BLOCK / 2) / K_BLOCK, best = K_BLOCK, least = INT64_MAX;
    for (int64_t parts = nearest; parts <= nearest + 2; parts++) {
        int64_t block = ceil_div(ceil_div(k, parts), K_STEP) * K_STEP, all = block * parts;
        if (all < least) least = all, best = block;
    }
    return best;
}

int64_t k_unroll(int64_t k) {
    static const int try[] = {4, 5, 3, 2};
    for (size_t i = 0; i < RG_COUNT(try); i++)
        if (k % try[i] == 0) return try[i];
    return k > SHALLOW_K ? 4 : 1; /* one padded iteration in a long sum */
}

const char *access_name(const struct view *v, const struct access_view *s) {
    return ir_name(v->ir, s->buf->arg.param.name);
}

bool may_stage(const struct view *v, const struct operand_view *s) {
    return s->access && view_can_name(v, s->access->buf);
}

/* Do an output and a reduced axis overlap in memory, as in a convolution? */
static bool is_window(const struct view *v, const struct access_view *s) {
    for (int i = 0; i < v->naxis; i++)
        for (int k = 0; k < v->naxis; k++) {
            if (!v->axis[k].reduce || v->axis[i].reduce || !has_axis(v, s->mask, i) ||
                !has_axis(v, s->mask, k))
                continue;
            int64_t x = access_stride(v, s, i, 1), y = access_stride(v, s, k, 1);
            if (x == NO_STRIDE || y == NO_STRIDE ||
                (y && x % y == 0 && x / y < v->axis[k].size && x / y > -v->axis[k].size))
                return true;
        }
    return false;
}

static bool is_packable(const struct view *v, const struct operand_view *s) {
    return may_stage(v, s) && !s->access->pred;
}

/* Is k one axis, or a long one with others that are no windows? Few terms are worth packing where loads would be gathers. */
static bool has_packable_k(const struct view *v, const struct contraction *c) {
    int64_t k = v->axis[c->kbig].size;
    bool unit = c->b.access && access_stride(v, c->b.access, c->n, c->lanes) == 1;
    if (k < (unit ? LEAST_PACKED_K : LEAST_PACKED_K_STRIDED)) return false;
    return c->nk == 1 || (k >= LEAST_PACKED_KBIG && !is_window(v, c->a.access) && !is_window(v, c->b.access));
}

static bool can_pack(const struct view *v, const struct contraction *c) {
    const struct axis_view *m = &v->axis[c->m], *n = &v->axis[c->n];
    bool large = m->grid && n->grid && m->size >= 2 * c->mr && n->size > c->lanes;
    return large && is_packable(v, &c->a) && is_packable(v, &c->b) && has_packable_k(v, c);
}

/* Names of the axes of a packed GEMM. */
struct panels {
    const char *mr, *nr, *lane; /* inside the register tile */
    const char *ml, *nl;        /* register tiles of a panel; "": there is one */
    const char *kk, *ku;        /* terms of a block, unrolled ones among them ("": none) */
    const char *at;             /* the loop that packs */
};

const char *list_of(struct view *v, const char *const *name, int n) {
    const char *all = "";
    for (int i = 0; i < n; i++)
        if (*name[i]) all = *all ? arena_printf(v->arena, "%s,%s", all, name[i]) : name[i];
    return all;
}

static bool tile_panels(struct view *v, struct contraction *c, struct str *out, struct panels *p) {
    const struct axis_view *m = &v->axis[c->m], *n = &v->axis[c->n], *k = &v->axis[c->kbig];
    int64_t tiles_m = ceil_div(m->size, c->mr), tiles_n = ceil_div(n->size, c->nv * c->lanes), gm, gn;
    split_panels(v, c, tiles_m, tiles_n, &gm, &gn);
    int64_t mt = ceil_div(tiles_m, gm), nt = ceil_div(tiles_n, gn), kc = k_part(v, k->size),
            ku = k_unroll(kc) < k->size ? k_unroll(kc) : 1;
    tile_rows(v, c, out, &p->mr);
    tile_columns(v, c, out, &p->nr, &p->lane);
    bool alone =
        v->finer < FINER_AXES && (mt < 2 || (nt < 2 && tiles_n > 1)); /* packed for one register tile */
    if (alone || tiles_m < 2 || !p->mr || !p->lane) return false;
    p->ml = p->nl = p->ku = "", p->kk = k->name;
    if (mt > 1) {
        p->ml = view_new_axis(v, m->name, "t");
        str_printf(out, " TILE(%s,%lld,%s)", m->name, (long long)mt, p->ml);
    }
    c->in_grid[c->m] = (double)ceil_div(tiles_m, mt);
    if (tiles_n > 1) c->in_grid[c->n] = (double)ceil_div(tiles_n, nt);
    if (nt > 1) {
        p->nl = view_new_axis(v, n->name, "t");
        str_printf(out, " TILE(%s,%lld,%s)", n->name, (long long)nt, p->nl);
    }
    if (kc < k->size) {
        p->kk = view_new_axis(v, k->name, "k");
        str_printf(out, " TILE(%s,%lld,%s)", k->name, (long long)kc, p->kk);
    }
    if (ku > 1) {
        p->ku = view_new_axis(v, k->name, "u");
        str_printf(out, " TILE(%s,%lld,%s) UNROLL(%s)", p->kk, (long long)ku, p->ku, p->ku);
    }
    const char *outer = ""; /* loops around the panels: other reduced axes, blocks of k */
    for (int i = 0; i < v->naxis; i++) {
        if (!v->axis[i].reduce || (i == c->kbig && kc == k->size)) continue;
        p->at = v->axis[i].name;
        outer = LIST(v, outer, p->at);
    }
    for (int i = 0; i < v->naxis && !*outer; i++)
        if (v->axis[i].grid && c->in_grid[i] > 1) p->at = v->axis[i].name;
    bool shallow = c->depth < SHALLOW_K; /* stores dominate: along rows */
    str_printf(out, " ORDER(%s)", LIST(v, outer, shallow ? p->ml : p->nl, shallow ? p->nl : p->ml, p->kk));
    return p->at != NULL;
}

/* Rows of a are copied as they are where a broadcast costs a load and no more, and transposing would read one line after the other
 * of rows that share a set of L1. */
static bool packs_rows(const struct view *v, const struct contraction *c) {
    const struct access_view *a = c->a.access;
    int64_t pitch = access_stride(v, a, c->m, 1);
    bool share = pitch != NO_STRIDE && pitch * a->bytes % MODEL_L1_WAY == 0;
    return !v->isa->by_lane && a->buf != c->b.access->buf && share && access_stride(v, a, c->kbig, 1) == 1;
}

static void copy_rows(struct str *out, const char *a, const struct panels *p, int64_t terms, int lanes) {
    int64_t ku = *p->ku ? k_unroll(terms) : 1, more = 1;
    for (int64_t x = 2; x * ku <= lanes; x++)
        if (terms / ku % x == 0) more = x;
    if (*p->ku) str_printf(out, " UNROLL(%s.%s)", a, p->ku);
    if (more > 1) str_printf(out, " TILE(%s.%s,%lld,%s.w) UNROLL(%s.w)", a, p->kk, (long long)more, a, a);
}

/* By vectors of rows, transposed in registers if a is K-major. */
static void transpose_rows(struct str *out, const char *a, const struct panels *p, int64_t mr, int lanes) {
    int av = (int)RG_MIN(lanes, mr);
    if (mr % av == 0 && av > 1 && mr > av)
        str_printf(out, " TILE(%s.%s,%d,%s.v) VEC(%s.v) UNROLL(%s.%s)", a, p->mr, av, a, a, a, p->mr);
    else
        str_printf(out, mr == av && !(av & (av - 1)) ? " VEC(%s.%s)" : " UNROLL(%s.%s)", a, p->mr);
    if (*p->ku) str_printf(out, " UNROLL(%s.%s)", a, p->ku);
}

static bool write_packed(struct view *v, struct contraction *c, struct str *out) {
    struct panels p = {0};
    const char *a = access_name(v, c->a.access), *b = access_name(v, c->b.access);
    bool same = c->a.access->buf == c->b.access->buf; /* one STAGE; each load gets its own panel */
    bool rows = packs_rows(v, c);
    if (!tile_panels(v, c, out, &p)) return false;
    double high = (double)v->axis[c->m].size / c->in_grid[c->m]; /* rows of a panel */
    if (c->in_place && high < PACKED_B_ROWS) return true;
    if (c->in_place)
        str_printf(out, " STAGE(%s,%s,%s)", b, p.at, LIST(v, p.nl, p.kk, p.ku, p.nr, p.lane));
    else if (same)
        str_printf(out, " STAGE(%s,%s,%s)", a, p.at, LIST(v, p.nl, p.ml, p.kk, p.ku, p.mr, p.nr, p.lane));
    else
        str_printf(out, " STAGE(%s,%s,%s) STAGE(%s,%s,%s)", a, p.at,
                   LIST(v, p.ml, rows ? p.mr : "", p.kk, p.ku, rows ? "" : p.mr), b, p.at,
                   LIST(v, p.nl, p.kk, p.ku, p.nr, p.lane));
    if (rows && !c->in_place)
        copy_rows(out, a, &p, k_part(v, v->axis[c->kbig].size), c->lanes);
    else if (!c->in_place)
        transpose_rows(out, a, &p, c->mr, c->lanes);
    str_printf(out, " VEC(%s.%s) UNROLL(%s.%s)", b, p.lane, b, p.nr);
    bool unit = access_stride(v, c->b.access, c->n, 1) == 1;
    if (unit && *p.nl && !same) /* pack along the rows of b */
        str_printf(out, " ORDER(%s.%s%s%s%s,%s.%s)", b, p.kk, *p.ku ? "," : "", *p.ku ? b : "",
                   *p.ku ? arena_printf(v->arena, ".%s", p.ku) : "", b, p.nl);
    else if (!unit && *p.ku && !same)
        str_printf(out, " UNROLL(%s.%s)", b, p.ku);
    return true;
}

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
        if (grid / (double)n >= need && each * (double)n <= (double)v->l2 * score.l2_share) {
            str_printf(out, " LOOP(%s)", v->axis[i].name);
            grid /= (double)n, c->in_grid[i] = 1;
            bytes = RG_MAX(bytes, each * (double)n);
            continue;
        }
        for (int64_t p = 2;
             p <= 64 && grid / (double)p >= need && each * (double)p <= (double)v->l2 * score.l2_share; p++)
            if (n % p == 0) part = p;
        if (part > 1)
            str_printf(out, " TILE(%s,%lld,%s)", v->axis[i].name, (long long)part,
                       view_new_axis(v, v->axis[i].name, "l"));
        return;
    }
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

int dot_axis(const struct view *v, const struct contraction *c) {
    for (uint32_t i = 1; i < c->reduce->nsrc && c->a.access && c->b.access; i++) {
        int k = view_axis_of(v, c->reduce->src[i]), lanes = view_lanes(v, k);
        if (v->axis[k].size >= lanes && access_stride(v, c->a.access, k, lanes) == 1 &&
            access_stride(v, c->b.access, k, lanes) == 1)
            return k;
    }
    return -1;
}

void tile_dot(struct view *v, struct contraction *c, struct str *out, int k, int64_t mr, int64_t nr) {
    const int64_t part[2] = {mr, nr};
    const int axis[2] = {c->m, c->n};
    for (int i = 0; i < 2; i++) {
        const struct axis_view *a = &v->axis[axis[i]];
        const char *in = view_new_axis(v, a->name, "r");
        if (part[i] < 2) continue;
        if (part[i] == a->size)
            str_printf(out, " UNROLL(%s)", a->name);
        else
            str_printf(out, " TILE(%s,%lld,%s) UNROLL(%s)", a->name, (long long)part[i], in, in);
        if (a->grid) c->in_grid[axis[i]] = (double)ceil_div(a->size, part[i]);
    }
    int lanes = view_lanes(v, k);
    const char *lane = view_new_axis(v, v->axis[k].name, "v");
    if (v->axis[k].size == lanes)
        str_printf(out, " VEC(%s)", v->axis[k].name);
    else
        str_printf(out, " TILE(%s,%d,%s) VEC(%s)", v->axis[k].name, lanes, lane, lane);
}

static void write_dot(struct view *v, struct contraction *c, struct str *out, int k, int64_t mr, int64_t nr) {
    tile_dot(v, c, out, k, mr, nr);
    shape_grid(v, out, c->in_grid, c->name);
}

/* ---- the recipe --------------------------------------------------------------------------------------------------- */

void reset_grid(const struct view *v, struct contraction *c) {
    for (int i = 0; i < v->naxis; i++) {
        c->name[i] = v->axis[i].name;
        c->in_grid[i] = v->axis[i].grid ? v->axis[i].most : 1;
    }
}

static bool is_worth_packing(const struct view *v, const struct contraction *c, bool unit) {
    int64_t m = v->axis[c->m].size, n = v->axis[c->n].size;
    double terms = (double)m * (double)n * c->depth;
    return unit ? terms > PACKED_TERMS && n > c->nv * c->lanes
                : terms > PACKED_TERMS_STRIDED && m >= PACKED_ROWS_STRIDED;
}

bool write_window_mma(struct view *v, struct str *out) {
    enum { LEAST_ROWS = 8, LEAST_COLUMNS = 4, ROWS_STRIDED = 32 }; /* that amortize packing .., strided */
    struct contraction c = {0};
    if (!contraction_find(v, &c) || c.nk != 1 || !is_packable(v, &c.a) || !may_stage(v, &c.b)) return false;
    int64_t rows = v->axis[c.m].size, step = access_stride(v, c.b.access, c.n, 1);
    bool near = step == 1 || v->isa->by_lane; /* elements are packed one by one there in any case */
    if (rows < (near ? LEAST_ROWS : ROWS_STRIDED) || step == NO_STRIDE) return false;
    reset_grid(v, &c), price_packing(v, &c);
    return v->axis[c.n].size >= LEAST_COLUMNS && write_cpu_mma(v, &c, out);
}

bool recipe_gemm(struct view *v, int level, struct str *out) {
    struct contraction c = {0};
    if (level > 3 || !find_terms(v, &c)) return false;
    reset_grid(v, &c), price_packing(v, &c);
    if (level < 1 && c.product && is_packable(v, &c.a) && is_packable(v, &c.b) && has_packable_k(v, &c)) {
        struct contraction by_mma = c;
        if (write_cpu_mma(v, &by_mma, out)) return true;
        out->n = 0;
    }
    exchange_operands(v, &c), price_packing(v, &c);
    const struct axis_view *m = &v->axis[c.m], *n = &v->axis[c.n];
    int64_t dot_m = 1, dot_n = 1;
    double outer = tile_of(v, m->size, n->size, c.lanes, score.broadcast_cost, false, &c.mr, &c.nv), dot = 0;
    bool unit = c.b.access && access_stride(v, c.b.access, c.n, c.lanes) == 1;
    int k = dot_axis(v, &c);
    if (k >= 0) {
        dot = tile_of(v, m->size, n->size, 1, 1, true, &dot_m, &dot_n) *
              filled(v->axis[k].size, view_lanes(v, k));
        dot *= c.depth / (c.depth + DOT_REDUCE * view_lanes(v, k));
    }
    bool pack = level < 1 && can_pack(v, &c) && is_worth_packing(v, &c, unit);
    bool window = level < 1 && can_window(v, &c) && (!unit || c.b.access->pred) && m->size >= WINDOW_ROWS;
    int across = pack || window || unit ? -1 : near_axis(v, &c);
    if (across >= 0) {
        c.n = across, c.lanes = lanes_along(v, across), n = &v->axis[across];
        unit = true, dot = 0;
    }
    if (!pack && !window)
        outer = tile_of(v, m->size, n->size, c.lanes, score.broadcast_cost, true, &c.mr, &c.nv) *
                (unit ? 1 : score.strided_b);
    if (pack && reads_in_place(v, &c)) c.in_place = true, c.pack_a = c.pack_b = 3; /* misses in L1 */
    if (pack) tile_packed(v, &c);
    shrink_tile(v, &c.mr, &c.nv), shrink_tile(v, &dot_m, &dot_n);
    if (dot > outer) {
        write_dot(v, &c, out, k, dot_m, dot_n);
        return level < 1;
    }
    if ((pack && write_packed(v, &c, out)) || (window && write_window(v, &c, out))) return true;
    if (pack || window) {
        tile_of(v, m->size, n->size, c.lanes, score.broadcast_cost, true, &c.mr, &c.nv);
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
