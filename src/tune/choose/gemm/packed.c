/* packed.c: GEMMs whose operands are packed: panels of both in the order of use, k in blocks (the schedule of
 * tests/golden/matmul_2048.uop).
 *
 * Requires: struct view, a contraction. Gives: an opt list. Tests: tests/unit/heuristic.c; speed: bench/golden --heuristic */
#include "tune/choose/gemm/gemm.h"

enum {
    PANEL_ROWS = 64, /* register tiles per grid iteration in each direction: panels of about half of L2 */
    PANEL_REST = 8,  /* .. of columns this many more rather than another panel: for each a is packed again */
    K_WHOLE = 320,   /* up to here k is one block .. */
    K_WHOLE_WIDE = 512,     /* .. of vectors wider than 16 bytes: partial sums in memory cost more there */
    K_STEP = 4,             /* blocks of k are a multiple */
    MIN_PANEL = 4,          /* register tiles of a panel: a loop to amortize packing .. */
    LEAST_PANEL = 1,        /* .. and the fewest, for threads that would be idle */
    PACKED_TERMS = 1 << 19, /* FMAs of a GEMM worth packing, if both operands are contiguous */
    PACKED_TERMS_STRIDED = 1 << 14, /* .. if loads would be gathers */
    PACKED_ROWS_STRIDED = 32,       /* .. with at least this many rows */
    TRANSPOSED_USES = 32, /* register tiles that read a row of a, which amortize transposing it .. */
    SHUFFLED_USES = 4,    /* .. where it takes shuffles alone (render/c_shuffle.c: mixed) */
    SHALLOW_K = 64,       /* terms: fewer, and storing dominates */
};
#define AS_GOOD 0.95 /* the score of a register tile relative to the best, so that balance decides */

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
    int64_t m0 = ceil_div(mt, PANEL_ROWS), n0 = RG_MAX(ceil_div(nt - PANEL_REST, PANEL_ROWS), 1),
            most = RG_MAX(MORE, 2 * v->threads),
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

void tile_packed(const struct view *v, struct contraction *c) {
    int64_t m = v->axis[c->m].size, n = v->axis[c->n].size, x0 = c->mr, gm, gn;
    if (reads_in_place(v, c)) {
        c->in_place = true, c->pack_a = c->pack_b = 3; /* misses in L1 */
        c->mr = IN_PLACE_ROWS, c->nv = IN_PLACE_VECTORS;
        return;
    }
    double first = tile_score(v, m, x0, c->nv, BROADCAST_COST, false), least = 1e30;
    int64_t best = x0;
    for (int64_t x = most_rows(v); x >= 1; x--) {
        double e = tile_score(v, m, x, c->nv, BROADCAST_COST, false);
        if (x * c->nv > isa_accumulators(v->isa) || e < AS_GOOD * first || 2 * x > m) continue;
        c->mr = x;
        double time = split_panels(v, c, ceil_div(m, x), ceil_div(n, c->nv * c->lanes), &gm, &gn) / e;
        if (time < least / SCORE_MARGIN) least = time, best = x;
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

static bool can_pack(const struct view *v, const struct contraction *c) {
    const struct axis_view *m = &v->axis[c->m], *n = &v->axis[c->n];
    bool large = m->grid && n->grid && m->size >= 2 * c->mr && n->size > c->lanes;
    return large && is_packable(v, &c->a) && is_packable(v, &c->b) && has_packable_k(v, c);
}

static bool is_worth_packing(const struct view *v, const struct contraction *c, bool unit) {
    int64_t m = v->axis[c->m].size, n = v->axis[c->n].size;
    double terms = (double)m * (double)n * c->depth;
    return unit ? terms > PACKED_TERMS && n > c->nv * c->lanes
                : terms > PACKED_TERMS_STRIDED && m >= PACKED_ROWS_STRIDED;
}

bool should_pack(const struct view *v, const struct contraction *c, bool unit) {
    return can_pack(v, c) && is_worth_packing(v, c, unit);
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

/* Are rows of a K-major and a multiple of a way of L1 apart, so that their lines evict one another? */
static bool rows_share_set(const struct view *v, const struct contraction *c) {
    const struct access_view *a = c->a.access;
    int64_t pitch = access_stride(v, a, c->m, 1);
    bool share = pitch != NO_STRIDE && pitch * a->bytes % MODEL_L1_WAY == 0;
    return !v->isa->by_lane && a->buf != c->b.access->buf && share && access_stride(v, a, c->kbig, 1) == 1;
}

/* Unrolled steps of k of which a line of a row is copied at once. */
static int64_t terms_of_line(const struct view *v, const struct contraction *c, const struct panels *p) {
    int64_t terms = k_part(v, v->axis[c->kbig].size), ku = *p->ku ? k_unroll(terms) : 1, more = 1;
    for (int64_t x = 2; x * ku <= c->lanes; x++)
        if (ceil_div(terms, ku) % x == 0) more = x;
    return more;
}

/* As they are, by whole vectors: a broadcast costs a load and no more, and transposing would not be amortized. */
static void copy_rows(const struct view *v, const struct contraction *c, struct str *out, const char *a,
                      const struct panels *p) {
    int64_t more = terms_of_line(v, c, p);
    if (*p->ku) str_printf(out, " UNROLL(%s.%s)", a, p->ku);
    if (more > 1) str_printf(out, " TILE(%s.%s,%lld,%s.w) UNROLL(%s.w)", a, p->kk, (long long)more, a, a);
}

/* By vectors of rows, transposed in registers if a is K-major: a line of each row at once if they share a set
 * of L1. (2048^3 in float32 with AVX-512: 173 ms with rows copied as they are, 164.) */
static void transpose_rows(const struct view *v, const struct contraction *c, struct str *out, const char *a,
                           const struct panels *p) {
    int64_t mr = c->mr, more = *p->ku && rows_share_set(v, c) ? terms_of_line(v, c, p) : 1;
    int av = (int)RG_MIN(c->lanes, mr);
    if (mr % av == 0 && av > 1 && mr > av)
        str_printf(out, " TILE(%s.%s,%d,%s.v) VEC(%s.v) UNROLL(%s.%s)", a, p->mr, av, a, a, a, p->mr);
    else
        str_printf(out, mr == av && !(av & (av - 1)) ? " VEC(%s.%s)" : " UNROLL(%s.%s)", a, p->mr);
    if (*p->ku) str_printf(out, " UNROLL(%s.%s)", a, p->ku);
    if (more > 1) str_printf(out, " TILE(%s.%s,%lld,%s.w) UNROLL(%s.w)", a, p->kk, (long long)more, a, a);
}

/* 512 x 512 x 2048 in float32 with AVX-512: 14.9 ms with rows copied as they are, 14.0; 64 x 64 x 65536: 9.5, 10.1. */
static bool is_transposed_anyway(const struct view *v, const struct contraction *c) {
    bool shuffled = c->lanes == 16 && c->mr > 8;
    return v->axis[c->n].size >= (shuffled ? SHUFFLED_USES : TRANSPOSED_USES) * c->nv * c->lanes;
}

bool write_packed(struct view *v, struct contraction *c, struct str *out) {
    struct panels p = {0};
    const char *a = access_name(v, c->a.access), *b = access_name(v, c->b.access);
    bool same = c->a.access->buf == c->b.access->buf; /* one STAGE; each load gets its own panel */
    bool rows = rows_share_set(v, c) && !is_transposed_anyway(v, c);
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
        copy_rows(v, c, out, a, &p);
    else if (!c->in_place)
        transpose_rows(v, c, out, a, &p);
    str_printf(out, " VEC(%s.%s) UNROLL(%s.%s)", b, p.lane, b, p.nr);
    bool unit = access_stride(v, c->b.access, c->n, 1) == 1;
    if (unit && *p.nl && !same) /* pack along the rows of b */
        str_printf(out, " ORDER(%s.%s%s%s%s,%s.%s)", b, p.kk, *p.ku ? "," : "", *p.ku ? b : "",
                   *p.ku ? arena_printf(v->arena, ".%s", p.ku) : "", b, p.nl);
    else if (!unit && *p.ku && !same)
        str_printf(out, " UNROLL(%s.%s)", b, p.ku);
    return true;
}
