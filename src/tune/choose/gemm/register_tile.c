/* register_tile.c: the microkernel of a contraction: an mr x nr register tile of accumulators, mr values of an axis m that only one
 * operand has, times nr of an axis n that only the other has, so that each loaded value is reused.
 *
 * Its size is chosen by FMAs per load, the waste of padding, and enough independent accumulators to hide the latency of an FMA.
 * Requires: struct view, a contraction. Gives: opts that tile and unroll. Tests: tests/unit/heuristic.c */
#include "tune/choose/gemm/gemm.h"

enum { MOST_TILE_VECTORS = 6 };

/* Scores of register tiles: factors of the peak FMA rate. Tuned with bench/golden. */
static const struct {
    double load_cost, issue_cost, few_sums, all_sums, odd_rows, many_rows, tail_rows, l2_exposed;
} score = {
    .load_cost = 0.5,  /* of an FMA, per vector load */
    .issue_cost = 0.1, /* of a cycle, per cycle of loads: they compete for issue slots */
    .few_sums = 0.7,   /* with few accumulators .. */
    .all_sums = 0.3,   /* .. plus this with all of them: fewer bubbles */
    .odd_rows = 0.98,  /* rows that are no multiple of 4: partial vectors when packing */
    .many_rows = 0.93, /* FMAs by lane, above 8 rows: broadcast values do not stay in registers */
    .tail_rows = 0.8,  /* predicated partial tiles */
    .l2_exposed =
        0.15, /* of the cycles in which a panel of b comes from L2, what prefetching does not hide */
};

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

double tile_score(const struct view *v, int64_t rows, int64_t x, int64_t y, double row_load, bool in_place) {
    double fma = (double)(x * y);
    double e = tile_share(v->isa, (double)x, (double)y, row_load) * RG_MIN(1, fma / isa_chains(v->isa));
    e *= score.few_sums + score.all_sums * fma / (double)isa_accumulators(v->isa);
    if (x % 4 && x < rows) e *= score.odd_rows;
    if (x > 8 && x < rows && v->isa->by_lane) e *= score.many_rows;
    if (in_place && rows % x) e *= score.tail_rows;
    if (!in_place) e *= panel_share(v, (double)x, (double)y, K_BLOCK);
    return e;
}

int64_t most_rows(const struct view *v) {
    return RG_MAX(MOST_TILE_ROWS, v->isa->by_lane ? isa_accumulators(v->isa) / 2 : v->isa->regs / 2);
}

double tile_of(const struct view *v, int64_t rows, int64_t cols, int lanes, double row_load, bool in_place,
               int64_t *mr, int64_t *nv) {
    double best = 0;
    int64_t sums = isa_accumulators(v->isa), copies = RG_MAX(v->copies, 1);
    *mr = *nv = 1;
    for (int64_t y = 1; y <= MOST_TILE_VECTORS; y++)
        for (int64_t x = 1; x == 1 || (x * copies <= most_rows(v) && x * copies * y <= sums); x++) {
            if (x > rows || (y > 1 && ((y - 1) * lanes >= cols || copies * y > sums))) break;
            double e = tile_score(v, rows * copies, x * copies, y, row_load, in_place) * filled(rows, x) *
                       filled(cols, y * lanes);
            if (e > best * SCORE_MARGIN) best = e, *mr = x, *nv = y;
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
        if (n->size < c->lanes) str_printf(out, " PADTO(%s,%d)", n->name, c->lanes);
        if (n->size <= c->lanes) {
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
