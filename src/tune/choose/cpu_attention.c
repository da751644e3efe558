/* cpu_attention.c: opt lists for kernels that keep rows: attention and its gradients (src/schedule/rangeify.c, value_kept).
 *
 * Such a kernel fills a row of dot products for each value of the innermost grid axis (queries, or keys in the gradient),
 * works on it, and multiplies it by a matrix. A tile of those values is computed at once, one per lane: the row is in scratch
 * with the tile innermost, every sum, maximum and exponential along the row is vertical (no horizontal reduction), and loads
 * along the row (k, v) are broadcasts. A register tile of vectors by elements of the row, and then by elements of the result,
 * reuses each load.
 *
 *   TILE(m, nv*lanes, r) TILE(r, lanes, v) VEC(v) UNROLL(r)   the tile
 *   TILE(row, u, ..) REG(..)                                  elements of the row at a time
 *   TILE(d, u, ..) UNROLL(..)                                 elements of the result at a time
 *   TILE(s, .., b) ORDER(s, d, b) TILE(b, 2, ..) UNROLL(..)   the last contraction, cache-blocked
 *   TILE(k, 4, ..) UNROLL(..)                                 terms of a dot product in the row
 *   STAGE(q, m, k.., r, v)                                    operands with an element per lane and term, transposed
 * Accumulators of one loop share the registers: with two contractions in it each gets half as many elements.
 *
 * Fewer queries than lanes (a token at a time): lanes are elements of the row, whose operand is transposed in registers, and
 * then elements of the result; the queries are unrolled, so that k and v are read once for all of them.
 * Tests: tests/unit/attention.c, tests/unit/heuristic.c */
#include "tune/choose/choose.h"

enum { TERMS = 4, LEAST_LANES = 4 };

struct attention_rows {
    int m;           /* the axis of the tile */
    uint64_t own;    /* ranges along kept rows */
    int row, out;    /* axes; out -1: none */
    int term[TERMS]; /* reduced axes of the dot products in rows */
    int nterm;
    int sum; /* reduced axis of the result; -1: none, or several */
    int lanes;
    int64_t nv, urow, uout; /* vectors of the tile; elements at a time */
};

static bool is_dot_product(const uop *n) {
    if (n->op != OP_REDUCE || n->arg.i != OP_ADD) return false;
    const uop *x = n->src[0];
    if (x->op == OP_WHERE) x = x->src[1]; /* masked */
    return x->op == OP_MUL;
}

static bool find_terms(struct view *v, struct attention_rows *w) {
    for (uint32_t i = 0; i < v->topo.n; i++) {
        const uop *n = v->topo.p[i];
        if (!is_dot_product(n) || !(v->mask[n->id] & w->own)) continue;
        int axis = view_axis_of(v, n->src[n->nsrc - 1]), k = 0;
        while (k < w->nterm && w->term[k] != axis) k++;
        if (k == TERMS) return false;
        w->term[k] = axis;
        w->nterm = RG_MAX(w->nterm, k + 1);
    }
    return w->nterm > 0;
}

static bool is_term(const struct attention_rows *w, int axis) {
    for (int k = 0; k < w->nterm; k++)
        if (w->term[k] == axis) return true;
    return false;
}

static bool find_rows(struct view *v, struct attention_rows *w) {
    *w = (struct attention_rows){.m = -1, .row = -1, .out = -1, .sum = -1};
    if (!v->stages || v->scans) return false;
    for (uint32_t i = 0; i < v->topo.n; i++) {
        const uop *n = v->topo.p[i];
        if (n->op != OP_STAGE) continue;
        w->row = view_axis_of(v, n->src[n->nsrc - 1]); /* the innermost axis of the row */
        for (uint32_t k = 1; k < n->nsrc; k++) w->own |= view_bit(v, n->src[k]);
    }
    if (!find_terms(v, w)) return false;
    for (int i = 0; i < v->naxis; i++) {
        const struct axis_view *a = &v->axis[i];
        if (a->fixed || a->size < 2) continue;
        if (a->grid) w->m = i;
        if (a->grid || (a->ranges & w->own)) continue;
        if (!a->reduce) w->out = i;
        if (a->reduce && !is_term(w, i)) w->sum = i;
    }
    return w->row >= 0;
}

/* Do all values of the tile's axis read the same row of k? */
static bool is_shared(const struct view *v, const struct attention_rows *w) {
    for (int i = 0; i < v->naccess; i++) {
        const struct access_view *s = &v->access[i];
        bool k = !s->store && (s->mask & v->axis[w->row].ranges) && (s->mask & v->axis[w->term[0]].ranges);
        if (k && has_axis(v, s->mask, w->m)) return false;
    }
    return true;
}

/* Is every operand of the result along its lanes? */
static bool result_has_lanes(const struct view *v, const struct attention_rows *w, int lanes) {
    if (w->out < 0 || w->sum < 0 || w->nterm != 1 || v->axis[w->out].size < lanes ||
        v->axis[w->out].members > 1)
        return false;
    for (int i = 0; i < v->naccess; i++) {
        const struct access_view *s = &v->access[i];
        if (has_axis(v, s->mask, w->out) && access_stride(v, s, w->out, lanes) != 1) return false;
    }
    return true;
}

static void tile_lanes(struct view *v, struct str *out, int axis, int lanes, int64_t vectors) {
    const struct axis_view *a = &v->axis[axis];
    const char *lane = view_new_axis(v, a->name, "v"), *more = view_new_axis(v, a->name, "u");
    int64_t n = even_part(a->size / lanes, vectors);
    str_printf(out, " TILE(%s,%d,%s) VEC(%s)", a->name, lanes, lane, lane);
    if (n > 1 && a->size % lanes == 0)
        str_printf(out, a->size == n * lanes ? " UNROLL(%s)" : " TILE(%s,%lld,%s) UNROLL(%s)", a->name,
                   (long long)n, more, more);
}

/* As many lanes as the axis has values, up to a vector. */
static int lanes_along(const struct view *v, int axis) {
    int lanes = view_lanes(v, axis);
    while (lanes > LEAST_LANES && v->axis[axis].size < lanes) lanes /= 2;
    return lanes;
}

static const char *tile_axis(struct view *v, struct str *out, int axis, int64_t n, const char *how);

/* Lanes along the row and along the result. Of queries that fill no vector a tile would be narrow, or partly empty. (12 queries of 64, 63
 * keys: 310 us, 88; 5 of 32, 14 keys: 43, 13; 5 of 72, 4095 keys: 6.2 ms, 1.7.) */
static bool write_few_queries(struct view *v, const struct attention_rows *w, struct str *out) {
    enum {
        ROWS = 8,
        QUAD = 4,
        LEAST_ROW = 8
    }; /* vectors of one query's row; terms that are transposed at a time; values of a row */
    int term = w->term[0];
    if (w->out < 0) return false;
    int along_row = lanes_along(v, w->row), along_out = lanes_along(v, w->out), lanes = view_lanes(v, w->row);
    int64_t queries = w->m >= 0 && is_shared(v, w) ? v->axis[w->m].size : 1;
    if (!result_has_lanes(v, w, along_out) || queries > lanes || v->axis[term].size < QUAD ||
        v->axis[w->row].size < (queries > 1 ? LEAST_ROW : ROWS * lanes))
        return false;
    if (v->finer >= FINER_TILE) queries = ceil_div(queries, v->finer >= FINER_HALF_TILE ? 4 : 2);
    if (w->m >= 0) tile_axis(v, out, w->m, queries, "UNROLL");
    tile_lanes(v, out, w->row, along_row, 1);
    const char *k = v->axis[term].name, *t = view_new_axis(v, k, "t");
    if (v->axis[term].size == QUAD)
        str_printf(out, " UNROLL(%s)", k);
    else
        str_printf(out, " TILE(%s,%d,%s) UNROLL(%s)", k, QUAD, t, t);
    tile_lanes(v, out, w->out, along_out, RG_MAX(v->isa->regs / 2 / queries, 1));
    return true;
}

static const char *tile_axis(struct view *v, struct str *out, int axis, int64_t n, const char *how) {
    if (axis < 0 || n < 2 || v->axis[axis].size < n) return "";
    const char *in = view_new_axis(v, v->axis[axis].name, "u");
    if (v->axis[axis].size == n) {
        str_printf(out, " %s(%s)", how, v->axis[axis].name);
        return "";
    }
    str_printf(out, " TILE(%s,%lld,%s) %s(%s)", v->axis[axis].name, (long long)n, in, how, in);
    return in;
}

/* The axis along which results are stored, whatever else is reduced along it. */
static int result_axis(const struct view *v) {
    int best = -1;
    for (int i = 0; i < v->naxis; i++)
        for (int k = 0; k < v->naccess && !v->axis[i].grid; k++)
            if (v->access[k].store && access_stride(v, &v->access[k], i, 1) == 1) best = i;
    return best;
}

static void tile_sums(struct view *v, struct str *out, int axis, int lanes) {
    enum { MOST_SUMS = 8 };
    const struct axis_view *a = &v->axis[axis];
    const char *lane = view_new_axis(v, a->name, "v"), *more = view_new_axis(v, a->name, "u");
    int64_t n = ceil_div(a->size, lanes), u = even_part(n, MOST_SUMS);
    str_printf(out, " TILE(%s,%d,%s) VEC(%s)", a->name, lanes, lane, lane);
    if (u == n)
        str_printf(out, " REG(%s)", a->name);
    else if (u > 1)
        str_printf(out, " TILE(%s,%lld,%s) REG(%s)", a->name, (long long)u, more, more);
}

/* Rows too short for what a tile across them packs: lanes along the terms and along the result, as they lie, and a horizontal
 * sum for each element of a row. So it is, too, for several contractions of queries too few for a tile. Values of the tile's axis
 * are unrolled, so that they share the other side. (63 keys of 96, 2 queries in bf16, gradient: 80 us, 35; 2 queries of 160, 8192
 * keys: 29 ms, 6.) */
static bool write_short_rows(struct view *v, const struct attention_rows *w, struct str *out) {
    enum { TILE = 4, SUM_COST = 2 }; /* vectors of a horizontal sum, to those of packing .. */
    int to = result_axis(v), lanes = to < 0 ? 0 : view_lanes(v, to), narrow = 4;
    bool few = w->nterm > 1 && (w->m < 0 || v->axis[w->m].size < w->lanes);
    if (lanes < 2 || v->axis[to].size < lanes) return false;
    for (int i = 0; i < v->naccess; i++) {
        const struct access_view *s = &v->access[i];
        if (has_axis(v, s->mask, to) && access_stride(v, s, to, lanes) != 1) return false;
        for (int k = 0; k < w->nterm; k++) {
            if (!has_axis(v, s->mask, w->term[k])) continue;
            if (access_stride(v, s, w->term[k], lanes) != 1) return false;
            narrow = RG_MIN(narrow, s->bytes);
        }
    }
    for (int k = 0; k < w->nterm; k++) {
        int64_t n = v->axis[w->term[k]].size;
        if (n < 2 * lanes || w->term[k] == to) return false;
        if (!few && v->axis[w->row].size * lanes * (narrow < 4 ? 1 : SUM_COST) > n) return false;
    }
    for (int k = 0; k < w->nterm; k++) tile_sums(v, out, w->term[k], lanes);
    if (v->axis[to].reduce)
        tile_sums(v, out, to, lanes);
    else
        tile_lanes(v, out, to, lanes, v->isa->regs / 2);
    if (w->m >= 0) tile_axis(v, out, w->m, even_part(v->axis[w->m].size, TILE), "UNROLL");
    return true;
}

/* The most contractions that share a loop along one of `ranges`. */
static int most_sharing(const struct view *v, uint64_t ranges) {
    int most = 1;
    for (uint32_t r = 0; r < v->nrange; r++) {
        int n = 0;
        if (!(ranges >> r & 1)) continue;
        for (uint32_t i = 0; i < v->topo.n; i++)
            n += is_dot_product(v->topo.p[i]) && (v->mask[v->topo.p[i]->id] >> r & 1);
        most = RG_MAX(most, n);
    }
    return most;
}

/* Operands of the GEMMs that rows are multiplied by: K, V and their like. */
static int matrices(const struct view *v, const struct attention_rows *w) {
    int n = 0;
    for (int i = 0; i < v->naccess; i++) {
        const struct access_view *s = &v->access[i];
        n += !s->store && (s->mask & v->axis[w->out].ranges) && (s->mask & v->axis[w->sum].ranges);
    }
    return RG_MAX(n, 1);
}

/* Packs loads that have an element per lane and term, once per tile. */
static void pack(struct view *v, const struct attention_rows *w, struct str *out, int axis, const char *term,
                 const char *tile, const char *lane) {
    for (int i = 0; i < v->naccess; i++) {
        const struct access_view *s = &v->access[i];
        bool again = false;
        for (int k = 0; k < i; k++) again |= v->access[k].buf == s->buf;
        if (again || s->store || s->pred || !view_can_name(v, s->buf)) continue;
        if (!(s->mask & v->axis[w->m].ranges) || !(s->mask & v->axis[axis].ranges)) continue;
        const char *b = ir_name(v->ir, s->buf->arg.param.name);
        str_printf(out, " STAGE(%s,%s,%s", b, v->axis[w->m].name, v->axis[axis].name);
        if (*term) str_printf(out, ",%s", term);
        if (*tile) str_printf(out, ",%s", tile);
        str_printf(out, ",%s) VEC(%s.%s)", lane, b, lane);
        if (*term) str_printf(out, " UNROLL(%s.%s)", b, term);
    }
}

/* Cache blocking: the operand that rows are multiplied by is reread for each register tile, in blocks that stay in L1. */
static void block(struct view *v, const struct attention_rows *w, struct str *out) {
    if (w->sum < 0 || w->out < 0 || v->axis[w->out].size <= w->uout || v->axis[w->out].size % w->uout) return;
    enum { BYTES = 4, STEP = 8 }; /* of an element; rows of a block are a multiple */
    int64_t row_bytes = v->axis[w->out].size * BYTES * matrices(v, w);
    int64_t n = RG_MAX(v->l1 / 2 / row_bytes / STEP * STEP, STEP);
    if (v->axis[w->sum].size < 2 * n) return;
    const char *in = view_new_axis(v, v->axis[w->sum].name, "b"),
               *two = view_new_axis(v, v->axis[w->sum].name, "u");
    str_printf(out, " TILE(%s,%lld,%s) ORDER(%s,%s,%s) TILE(%s,2,%s) UNROLL(%s)", v->axis[w->sum].name,
               (long long)n, in, v->axis[w->sum].name, v->axis[w->out].name, in, in, two, two);
}

bool recipe_attention(struct view *v, int level, struct str *out) {
    struct attention_rows w;
    if (level > 3 || !find_rows(v, &w)) return false;
    w.lanes = w.m < 0 ? 0 : lanes_along(v, w.m);
    bool few = w.m < 0 || v->axis[w.m].size < w.lanes, part = few || w.lanes < view_lanes(v, w.m);
    if (level < 1 && write_short_rows(v, &w, out)) return true;
    out->n = 0;
    if ((part || !is_shared(v, &w)) && level < 1 && write_few_queries(v, &w, out)) return true;
    if (few) return false;
    out->n = 0;
    const struct axis_view *m = &v->axis[w.m];
    w.nv = m->size >= 2 * w.lanes && level < 3 && v->finer < FINER_TILE ? 2 : 1;
    int64_t most = v->isa->regs / 4; /* elements at a time: accumulators of two vectors each */
    w.urow = RG_MAX(most / most_sharing(v, w.own), 2);
    w.uout = w.out < 0 ? 1 : RG_MAX(most / most_sharing(v, v->axis[w.out].ranges), 2);
    const char *tile = "", *lane = view_new_axis(v, m->name, "v");
    if (w.nv > 1) {
        tile = view_new_axis(v, m->name, "r");
        str_printf(out, " TILE(%s,%lld,%s) TILE(%s,%d,%s) VEC(%s) UNROLL(%s)", m->name,
                   (long long)(w.nv * w.lanes), tile, tile, w.lanes, lane, lane, tile);
    } else {
        str_printf(out, " TILE(%s,%d,%s) VEC(%s)", m->name, w.lanes, lane, lane);
    }
    if (level < 2) tile_axis(v, out, w.row, w.urow, "REG");
    tile_axis(v, out, w.out, w.uout, "UNROLL");
    if (level < 2) block(v, &w, out);
    for (int k = 0; k < w.nterm; k++) {
        const char *term = v->axis[w.term[k]].size % 4 == 0 ? tile_axis(v, out, w.term[k], 4, "UNROLL") : "";
        if (level < 1) pack(v, &w, out, w.term[k], term, tile, lane);
    }
    return true;
}
