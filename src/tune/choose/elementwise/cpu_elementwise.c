/* cpu_elementwise.c: opt lists for everything but contractions: elementwise kernels, transpositions, row and column
 * reductions, scans, gathers, scatters, task tables.
 *
 * One recipe for all of them, because they differ in numbers and not in kind:
 *
 *   1. the vector axis: the one for which all loads, stores and ops together cost least. A strided load costs more, less if
 *      another axis has stride 1 and can be unrolled (then coalesce.c transposes blocks in registers);
 *   2. the unroll factor: vectors along that axis, each with an accumulator of its own if it is reduced;
 *   3. what is kept (RESIDENT), prefetched (PIPE) or transposed through a tile in cache (STAGE);
 *   4. how much of the grid one iteration takes (shape_grid).
 *
 * Reductions of large inputs are in cpu_reductions.c, transpositions in cpu_transpose.c, the price of an access in
 * cpu_access.c.
 *
 * The figures are those of the golden kernels (tests/golden, docs/performance.md).
 * Requires: struct view. Gives: an opt list. Tests: tests/unit/heuristic.c; speed: bench/golden --heuristic */
#include "tune/choose/elementwise/elementwise.h"

#define GRID_NS 2000.0 /* a grid iteration should take about this long */

/* Costs of choose_vector, in vector loads. Tuned on the golden kernels (tests/golden). */
static const struct {
    double store, reduce, reduce_short, scan, better_axis, better_pass;
} vec_cost = {
    .store = 1.5,        /* per vector */
    .reduce = 6,         /* a horizontal reduction */
    .reduce_short = 16,  /* of a short row: nothing to overlap with */
    .scan = 2.2,         /* a step of a running value in lanes: a shuffle and what is done */
    .better_axis = 0.95, /* an outer axis must be this much cheaper */
    .better_pass = 0.75, /* vectors across strided accesses, than none */
};
enum {
    SHORT_ROW = 32,      /* elements */
    TAIL_VECTORS = 3,    /* vectors that a partial one costs */
    CHAINED_VECTORS = 4, /* registers per vector that hide a long dependent chain */
    CHAIN_BODY = 20,     /* weight of one */
};
/* Weights of ops, relative to each other. */
static const struct {
    double simple, div, special, random;
} weight_of = {
    .simple = 0.5, /* one instruction */
    .div = 3,      /* division, square root */
    .special = 10, /* math function */
    .random = 20,  /* Threefry */
};
enum { SHARED_ROWS = 8, SHARED_WEIGHT = 2 }; /* rows that share gathered indices; least weight of those */
enum { UNROLL_REDUCE = 8, UNROLL = 4, UNROLL_SCAN = 8, SHORT_VECTORS = 16, COPY_VECTORS = 64 };
enum { CHAINS = 8 };      /* of math functions, that keep units busy while others wait */
enum { SHARED_SUMS = 4 }; /* of what is loaded once for them */
enum { RARE_STORE = 8 };  /* loads of each */
enum {
    SCAN_BYTES = 64,  /* of each row that a scan down columns takes: a cache line */
    SCAN_VECTORS = 8, /* iterations of a loop inside its step */
};
/* Loops, in vectors of work. */
static const struct {
    double loop_overhead, tail_overhead, better_pass;
} loop_cost = {
    .loop_overhead = 0.8, /* of an iteration */
    .tail_overhead = 4.0, /* per vector of a partial iteration */
    .better_pass = 1.3,   /* factor of work by which a later pass hides a prefetch better */
};
enum { PIPE_ROW_BYTES = 1024, GATHER_AHEAD = 8, SCATTER_AHEAD = 4 }; /* prefetch: shortest row; rows ahead */
enum { MOST_TILE = 4096, GRID_PIECES = 64 };                         /* shape_grid: of an axis; in all */

static bool are_independent(const struct view *v, uint64_t a, uint64_t b) {
    for (uint32_t i = 0; i < v->topo.n; i++)
        if ((v->mask[v->topo.p[i]->id] & a) && (v->mask[v->topo.p[i]->id] & b)) return false;
    return true;
}

static struct twins twins_of(const struct view *v, int axis) {
    const struct axis_view *a = &v->axis[axis];
    struct twins t = {.axis = {axis}, .n = 1, .ranges = a->ranges};
    for (int i = 0; i < v->naxis && t.n < (int)RG_COUNT(t.axis); i++) {
        const struct axis_view *b = &v->axis[i];
        if (i == axis || a->size < 2 || b->size != a->size || !a->reduce || !b->reduce || a->grid || b->grid)
            continue;
        if (b->scan || b->fixed || !are_independent(v, t.ranges, b->ranges)) continue;
        t.axis[t.n++] = i;
        t.ranges |= b->ranges;
    }
    return t;
}

/* ---- 1: the vector axis ------------------------------------------------------------------------------ */

double op_weight(const uop *n) {
    if (!op_is_pure((enum op)n->op) || n->dt == DT_IDX) return 0;
    if (n->op == OP_THREEFRY) return weight_of.random;
    if (op_is_fn((enum op)n->op)) return weight_of.special;
    return op_is_slow((enum op)n->op) ? weight_of.div : weight_of.simple;
}

/* An access depends on one of the twins at most. */
static int which_twin(const struct view *v, const struct twins *t, const struct access_view *s) {
    for (int i = 0; i < t->n; i++)
        if (s->mask & v->axis[t->axis[i]].ranges) return t->axis[i];
    return -1;
}

static bool binds_twin(const struct view *v, const struct twins *t, const uop *reduce) {
    for (uint32_t k = 1; k < reduce->nsrc; k++)
        for (int i = 0; i < t->n; i++)
            if (view_axis_of(v, reduce->src[k]) == t->axis[i]) return true;
    return false;
}

/* Cost of the kernel with vectors along the twins. */
static double vector_cost(const struct view *v, struct twins t, int lanes) {
    const struct axis_view *a = &v->axis[t.axis[0]];
    int64_t size = a->size < 0 ? (int64_t)a->most : a->size, vectors = (size + lanes - 1) / lanes;
    /* the last, partial vector is loaded and stored element by element */
    double each = (double)vectors / (double)RG_MAX(size, 1), cost = 0;
    bool partial = size % lanes && a->size > 0;
    double touch = (double)(partial ? vectors + TAIL_VECTORS : vectors) / (double)RG_MAX(size, 1);
    for (int i = 0; i < v->naccess; i++) {
        const struct access_view *s = &v->access[i];
        double w = s->times * (s->store ? vec_cost.store : 1);
        int axis = which_twin(v, &t, s);
        if (axis < 0) {
            cost += w;
            continue;
        }
        cost += w * access_cost(v, s, axis, lanes, touch);
    }
    for (uint32_t i = 0; i < v->topo.n; i++) {
        const uop *n = v->topo.p[i];
        double w = op_weight(n) * v->times[n->id];
        if (n->op == OP_REDUCE) {
            cost += v->times[n->id] * (v->mask[n->src[0]->id] & t.ranges ? each : 1);
            if (binds_twin(v, &t, n))
                cost += (a->most <= SHORT_ROW ? vec_cost.reduce_short : vec_cost.reduce) * v->times[n->id] /
                        RG_MAX(a->most, 1);
        } else if (n->op == OP_SCAN && a->scan) {
            cost += vec_cost.scan * (__builtin_ctz((unsigned)lanes) + 1) * each * v->times[n->id];
        } else {
            cost += w * (v->mask[n->id] & t.ranges ? each : 1);
        }
    }
    return cost;
}

/* Random bits are a long dependent chain of short ops: interleave several registers (a draw of 25,600: 169 us, 99). */
static bool draws_along(const struct view *v, int axis) {
    for (uint32_t i = 0; i < v->topo.n; i++)
        if (v->topo.p[i]->op == OP_THREEFRY && view_depends(v, v->topo.p[i], axis)) return true;
    return false;
}

/* A heavy body without functions is such a chain, too: an unrolled recurrence (25 steps of 2,302,040 elements: 26.2 ms, 15.4; compilers
 * order narrow vectors one after the other). */
static bool is_chain(const struct view *v, int axis) {
    if (v->reduces || v->scans || v->stages || v->est.special > 0) return false;
    for (int i = 0; i < v->naccess; i++) {
        int64_t stride = access_stride(v, &v->access[i], axis, MOST_LANES);
        if (v->access[i].pred || (stride != 0 && stride != 1)) return false;
    }
    for (uint32_t i = 0; i < v->topo.n; i++) /* divisions wait for their unit, not for each other */
        if (v->topo.p[i]->dt != DT_IDX && op_weight(v->topo.p[i]) > weight_of.simple) return false;
    return body_weight(v, axis) > CHAIN_BODY;
}

/* A concatenation along the axis: predicated loads of several inputs, evaluated once per vector; wide vectors amortize the
 * index. */
static bool concatenates(const struct view *v, int axis) {
    int inputs = 0;
    for (int i = 0; i < v->naccess; i++)
        inputs += !v->access[i].store && v->access[i].pred &&
                  access_stride(v, &v->access[i], axis, MOST_LANES) == 1;
    return inputs > 1 && !v->reduces && !v->scans && body_weight(v, axis) <= LIGHT_BODY;
}

/* Cost of the kernel without vectors. */
static double plain_cost(const struct view *v) {
    double cost = 0;
    for (int i = 0; i < v->naccess; i++)
        cost += v->access[i].times * (v->access[i].store ? vec_cost.store : 1);
    for (uint32_t i = 0; i < v->topo.n; i++) {
        const uop *n = v->topo.p[i];
        cost += v->times[n->id] * (n->op == OP_REDUCE ? 1 : op_weight(n));
    }
    return cost;
}

/* Are vectors of a pass worth it? Of contiguous accesses always; of strided ones where there is much to compute (an exp). */
static bool worth_vectors(const struct view *v, int axis, int lanes, double cost) {
    bool contiguous = true, strided = true;
    for (int k = 0; k < v->naccess; k++) {
        int64_t stride = access_stride(v, &v->access[k], axis, lanes);
        contiguous &= stride == 0 || stride == 1;
        strided &= stride != NO_STRIDE;
    }
    return contiguous || (strided && cost < vec_cost.better_pass * plain_cost(v));
}

/* The cheapest vector axis of the passes that share no node with the vector axes so far; false: none. */
static bool choose_other(const struct view *v, uint64_t done, struct elementwise_plan *f) {
    double best = 0;
    f->axis = f->transposed = -1;
    for (int i = v->naxis; i-- > 0;) {
        const struct axis_view *a = &v->axis[i];
        int lanes = view_lanes(v, i);
        if (a->scan || a->fixed || a->grid || a->size < lanes || (a->ranges & done)) continue;
        if (!are_independent(v, done, a->ranges)) continue;
        double c = vector_cost(v, (struct twins){.axis = {i}, .n = 1, .ranges = a->ranges}, lanes);
        if (worth_vectors(v, i, lanes, c) && (f->axis < 0 || c < vec_cost.better_axis * best))
            best = c, f->axis = i, f->lanes = lanes, f->cost = c;
    }
    if (f->axis < 0) return false;
    f->vectors = (v->axis[f->axis].size + f->lanes - 1) / f->lanes;
    return true;
}

/* What vectors of the other passes save, if this axis is the vector axis. */
static double others_save(const struct view *v, int axis) {
    struct elementwise_plan f = {0};
    uint64_t done = twins_of(v, axis).ranges;
    double saved = 0, plain = plain_cost(v);
    for (int n = 0; n < v->naxis && !v->scans && choose_other(v, done, &f); n++) {
        saved += RG_MAX(plain - f.cost, 0);
        done |= v->axis[f.axis].ranges;
    }
    return saved;
}

double body_weight(const struct view *v, int axis) {
    double w = 0;
    for (uint32_t i = 0; i < v->topo.n; i++)
        if (view_depends(v, v->topo.p[i], axis)) w += op_weight(v->topo.p[i]);
    return w;
}

/* Is every reduction the same in any order, and long: are stores rare? */
static bool any_order(const struct view *v) {
    double loads = 0;
    for (int i = 0; i < v->naccess; i++)
        if (!v->access[i].store) loads = RG_MAX(loads, v->access[i].times);
    for (int i = 0; i < v->naccess && v->reduces; i++)
        if (v->access[i].store && v->access[i].times * RARE_STORE > loads) return false;
    for (int i = 0; i < RG_MIN(v->reduces, (int)RG_COUNT(v->reduce)); i++) {
        const uop *n = v->reduce[i];
        if (n->arg.i != OP_MAX && n->arg.i != OP_MIN && dt_is_float((enum dtype)n->dt)) return false;
    }
    return v->reduces <= 2;
}

/* Types of different widths: the narrowest fills a register, wider ones take several, as conversions are fastest so (i16 to i64:
 * 0.49 ns an element, 0.24; argmax of columns of bytes: 1.1, 0.3). Only light bodies have the registers. Registers of 64 bytes hold
 * enough: gcc keeps two that are one vector in memory (f64 compared: 6.1 us, 2.2). */
static int mixed_lanes(const struct view *v, int axis, int lanes) {
    int narrow = 8, wide = 1;
    if (!any_order(v) || v->scans || v->stages || body_weight(v, axis) > LIGHT_BODY) return lanes;
    if (v->vec_bytes >= 64 && !v->reduces) return lanes;
    for (int i = 0; i < v->naccess; i++) {
        const struct access_view *s = &v->access[i];
        if (!(s->mask & v->axis[axis].ranges)) continue;
        if (s->pred || access_stride(v, s, axis, MOST_LANES) != 1) return lanes;
        narrow = RG_MIN(narrow, s->bytes), wide = RG_MAX(wide, s->bytes);
    }
    return wide > narrow || v->reduces ? RG_MAX(lanes, RG_MIN(v->vec_bytes / narrow, MOST_LANES)) : lanes;
}

/* A running value in lanes, of contiguous elements. */
static bool scans_lanes(const struct view *v, int axis, int lanes) {
    const struct axis_view *a = &v->axis[axis];
    if (a->ordered || a->size < 2 * lanes) return false;
    for (int i = 0; i < v->naxis; i++)
        if (i != axis && v->axis[i].scan) return false;
    for (int i = 0; i < v->naccess; i++) {
        int64_t stride = access_stride(v, &v->access[i], axis, lanes);
        if (stride != 0 && stride != 1) return false;
    }
    return true;
}

/* The last one found is first. */
static void note_transposed(struct elementwise_plan *f, int axis) {
    int k = 0;
    if (f->transposed == axis) return;
    while (k < f->nalso && f->also[k] != axis) k++;
    if (k < f->nalso)
        f->also[k] = f->transposed;
    else if (f->transposed >= 0 && k < (int)RG_COUNT(f->also))
        f->also[f->nalso++] = f->transposed;
    f->transposed = axis;
}

static bool choose_vector(const struct view *v, struct elementwise_plan *f) {
    double best = 0;
    f->axis = -1;
    for (int i = v->naxis; i-- > 0;) {
        const struct axis_view *a = &v->axis[i];
        int lanes = view_lanes(v, i);
        if (a->fixed || a->most < 2 || (a->scan && !scans_lanes(v, i, lanes))) continue;
        if (draws_along(v, i) || concatenates(v, i)) lanes = RG_MIN(CHAINED_VECTORS * lanes, MOST_LANES);
        int mixed = is_chain(v, i) ? RG_MIN(CHAINED_VECTORS * lanes, MOST_LANES) : mixed_lanes(v, i, lanes);
        int registers = mixed / lanes;
        lanes = mixed;
        while (lanes > 2 && lanes > a->most) lanes /= 2;
        double c = vector_cost(v, twins_of(v, i), lanes) - others_save(v, i);
        if (f->axis < 0 || c < vec_cost.better_axis * best)
            best = f->cost = c, f->axis = i, f->lanes = lanes, f->registers = registers;
    }
    if (f->axis < 0) return false;
    const struct axis_view *a = &v->axis[f->axis];
    f->vectors = a->size < 0 ? 0 : (a->size + f->lanes - 1) / f->lanes;
    f->transposed = -1, f->nalso = 0;
    for (int i = 0; i < v->naccess; i++) {
        const struct access_view *s = &v->access[i];
        int64_t stride = access_stride(v, s, f->axis, f->lanes);
        int w = stride == 0 || stride == 1 || stride == NO_STRIDE ? -1 : unit_axis(v, s, f->axis);
        if (w < 0) continue;
        note_transposed(f, w);
        f->through_tile |= !s->store && s->times * s->bytes >= BIG / 2;
    }
    return true;
}

/* ---- 2: the unroll factor ------------------------------------------------------------------------ */

int64_t even_part(int64_t n, int64_t most) {
    if (n <= most) return RG_MAX(n, 1);
    int64_t best = 1;
    double best_cost = 1e30;
    for (int64_t u = RG_MAX(most, 1); u >= 1; u--) {
        double cost = (double)n * (1 + loop_cost.loop_overhead / (double)u) +
                      (n % u ? loop_cost.tail_overhead * (double)u : 0);
        if (cost < best_cost * 0.999) best_cost = cost, best = u;
    }
    return best;
}

int64_t fewer_vectors(const struct view *v, int64_t n) {
    return v->finer >= FINER_HALF_TILE ? ceil_div(n, 4) : v->finer >= FINER_TILE ? ceil_div(n, 2) : n;
}

/* Statements of the body, functions expanded. */
int64_t body_statements(const struct view *v, int axis) {
    int64_t n = 1;
    for (uint32_t i = 0; i < v->topo.n; i++)
        if (view_depends(v, v->topo.p[i], axis)) n += op_statements((enum op)v->topo.p[i]->op);
    return n;
}

int64_t sums_along(const struct view *v, int axis) {
    int64_t most = 1;
    for (uint32_t i = 0; i < v->nrange; i++) {
        int64_t n = 0;
        if (!(v->axis[axis].ranges >> i & 1)) continue;
        for (int k = 0; k < RG_MIN(v->reduces, (int)RG_COUNT(v->reduce)); k++)
            for (uint32_t j = 1; j < v->reduce[k]->nsrc; j++) n += v->reduce[k]->src[j] == v->range[i];
        most = RG_MAX(most, n);
    }
    return most;
}

/* Bytes of the narrowest element that is accessed along the axis. */
static int narrowest(const struct view *v, int axis) {
    int narrow = 8;
    for (int i = 0; i < v->naccess; i++)
        if (v->access[i].mask & v->axis[axis].ranges) narrow = RG_MIN(narrow, v->access[i].bytes);
    return narrow;
}

/* A scan down contiguous columns: one element per row would fetch a cache line for each (f16 1468 x 7130: 38 ms, 11). What comes
 * before a block is loaded where it begins: predicated, from one address. */
static bool scans_columns(const struct view *v, const struct elementwise_plan *f) {
    uint64_t scanned = 0;
    for (int i = 0; i < v->naxis; i++)
        if (v->axis[i].scan) scanned |= v->axis[i].ranges;
    for (int i = 0; i < v->naccess; i++) {
        int64_t stride = access_stride(v, &v->access[i], f->axis, f->lanes);
        bool rows = (v->access[i].mask & scanned) != 0;
        if (v->access[i].pred && rows && view_depends(v, v->access[i].pred, f->axis)) return false;
        if (stride != 0 && stride != 1) return false;
    }
    return v->scans == 1 && f->transposed < 0;
}

/* What is too much to unroll, because of math functions, is a loop inside each step of such a scan: running values are in scratch
 * memory, their chains overlap, and several cache lines of a row are read at once (3209 x 8209, exp and log: 920 ms, 150). */
static void write_scan_columns(struct view *v, const struct elementwise_plan *f, int64_t unrolled,
                               struct str *out) {
    const char *a = v->axis[f->axis].name;
    int64_t n = fewer_vectors(v, SCAN_VECTORS), most = f->vectors / unrolled;
    if (v->est.special == 0 || !v->axis[f->axis].grid || !scans_columns(v, f) || n < 2 || most < n) return;
    for (int i = 0; i < v->naxis; i++) {
        if (!v->axis[i].scan) continue;
        const char *name = view_new_axis(v, a, "c");
        str_printf(out, " TILE(%s,%lld,%s) ORDER(%s,%s)", a, (long long)n, name, v->axis[i].name, name);
        return;
    }
}

/* Dependent chains that a vector has of its own: functions that wait for no other one; of several passes, each has one. */
static int64_t function_chains(const struct view *v, int axis) {
    uint8_t *below = arena_array(v->arena, uint8_t, v->ir->n);
    int64_t chains = 0;
    if (v->reduces) return 1;
    for (uint32_t i = 0; i < v->topo.n; i++) {
        const uop *n = v->topo.p[i];
        for (uint32_t k = 0; k < n->nsrc; k++) below[n->id] |= below[n->src[k]->id];
        if (!op_is_fn1((enum op)n->op) || !view_depends(v, n, axis)) continue;
        chains += !below[n->id], below[n->id] = 1;
    }
    return RG_MAX(chains, 1);
}

/* Vectors per iteration of the loop along the vector axis. */
static int64_t unroll_of(const struct view *v, const struct elementwise_plan *f) {
    const struct axis_view *a = &v->axis[f->axis];
    double w = body_weight(v, f->axis);
    int64_t want = a->reduce ? UNROLL_REDUCE / RG_MIN(sums_along(v, f->axis), 4) : UNROLL;
    if (v->est.special > 0) /* math functions: interleave dependent chains */
        want = RG_MAX(want, CHAINS / function_chains(v, f->axis));
    if (concatenates(v, f->axis)) want = 2;
    if (a->scan) want = v->est.special > 0 ? 2 : UNROLL_SCAN;
    if (v->reduces && !a->reduce && f->transposed < 0 &&
        f->registers <= 1) /* down columns: whole cache lines */
        want = RG_MAX(want, SCAN_BYTES / (f->lanes * narrowest(v, f->axis)));
    if (f->registers > 1) want = RG_MAX(want / f->registers, 1);
    if ((f->transposed >= 0 || v->scans) && !a->scan)
        want = scans_columns(v, f) ? SCAN_BYTES / (f->lanes * narrowest(v, f->axis)) : 1;
    if (w > HEAVY_BODY) want = RG_MIN(want, 4);
    if (w > HUGE_BODY) want = RG_MIN(want, 2);
    want = RG_MIN(want, RG_MAX(BODY_STATEMENTS / body_statements(v, f->axis), 1));
    if (a->size < 0) return a->most >= 8 * f->lanes ? RG_MIN(want, 2) : 1;
    if ((a->reduce || a->scan) && f->vectors <= SHORT_VECTORS && want > 1 && w <= HEAVY_BODY)
        return f->vectors;
    if (w == 0 && !a->reduce && f->vectors <= COPY_VECTORS && f->transposed < 0) { /* a copy of short rows */
        bool irregular = false;
        for (int i = 0; i < v->naccess; i++)
            for (int k = 0; k < v->naxis; k++)
                irregular |= access_stride(v, &v->access[i], k, f->lanes) == NO_STRIDE;
        if (irregular) return f->vectors;
    }
    bool tail = a->size % f->lanes != 0; /* the last iteration is slow anyway: keep it short */
    return even_part(f->vectors, tail && f->vectors > want ? RG_MAX(want / 2, 1) : want);
}

/* ---- 3: RESIDENT, PIPE, transposition ---------------------------------------------------------------- */

bool seen_before(const struct view *v, int access) {
    for (int i = 0; i < access; i++)
        if (v->access[i].buf == v->access[access].buf) return true;
    return false;
}

/* Do two passes along the axis evaluate math functions that the first could keep? */
static bool worth_keeping(const struct view *v, int axis) {
    uint64_t seen = 0;
    const struct axis_view *a = &v->axis[axis];
    if (a->members < 2 || a->size < 0 || (double)a->size * 4 > (double)v->l2 / 2) return false;
    for (uint32_t i = 0; i < v->topo.n; i++) {
        const uop *n = v->topo.p[i];
        uint64_t m = v->mask[n->id] & a->ranges;
        if (op_weight(n) < weight_of.div || !m || !dt_is_float((enum dtype)n->dt)) continue;
        if (seen && seen != m) return true;
        seen = m;
    }
    return false;
}

/* Work of one pass over the vector axis. */
static double pass_weight(const struct view *v, uint64_t member) {
    double w = 0;
    for (uint32_t i = 0; i < v->topo.n; i++)
        if (v->mask[v->topo.p[i]->id] & member)
            w += (op_weight(v->topo.p[i]) + 0.1) * v->times[v->topo.p[i]->id];
    return w;
}

/* The passes over these ranges in order of execution: reductions by dependence, then loops that store. Returns how many. */
static int passes_in_order(const struct view *v, uint64_t members, uint64_t *pass, int most) {
    int n = 0;
    for (uint32_t i = 0; i < v->topo.n && n < most; i++) {
        const uop *x = v->topo.p[i];
        for (uint32_t k = 1; binds_ranges(x) && k < x->nsrc && n < most; k++) {
            uint64_t bit = view_bit(v, x->src[k]) & members;
            members &= ~bit;
            if (bit) pass[n++] = bit;
        }
    }
    for (uint32_t i = 0; i < v->nrange && n < most; i++)
        if (members >> i & 1) pass[n++] = 1ull << i;
    return n;
}

/* The axis of rows: the innermost loop around all passes over the buffer; -1 if there is only one pass, which the hardware
 * prefetcher covers. *pass: the one with the most work to hide the prefetch behind. */
static int row_of(const struct view *v, const struct elementwise_plan *f, const uop *buf, int *pass) {
    uint64_t common = ~0ull, members = 0, order[16];
    double best = 0;
    int row = -1;
    for (int i = 0; i < v->naccess; i++)
        if (v->access[i].buf == buf)
            common &= v->access[i].mask, members |= v->access[i].mask & v->axis[f->axis].ranges;
    int passes = passes_in_order(v, members, order, RG_COUNT(order));
    /* Prefetching in the last pass, which also stores, hides DRAM latency but delays rows from L3
     * (layer norm of 67 MB: 5.4 ms against 7.2 in the pass before, of 17 MB: 1.44 ms against 1.37). */
    bool in_l3 = (double)buf->src[0]->hi * dtype_info[buf->dt].bytes < (double)v->l3;
    for (int i = 0; i < passes - (in_l3 && passes > 2); i++) {
        double w = pass_weight(v, order[i]);
        if (w > best * loop_cost.better_pass) best = w, *pass = i + 1; /* the earliest of equals */
    }
    for (int i = 0; i < v->naxis; i++)
        if (i != f->axis && v->axis[i].size > 1 && (common & v->axis[i].ranges)) row = i;
    return passes > 1 ? row : -1;
}

/* Prefetches the next row while several passes work on this one. */
static void pipe_rows(struct view *v, const struct elementwise_plan *f, struct str *out) {
    /* bytes of this row and the next in all buffers: into L1 if they fit and there is arithmetic to hide behind */
    double rows = 0;
    for (int i = 0; i < v->naccess; i++)
        if ((v->access[i].mask & v->axis[f->axis].ranges) && !seen_before(v, i))
            rows += v->axis[f->axis].most * v->access[i].bytes *
                    (v->access[i].times * v->access[i].bytes < BIG ? 1 : 1.5);
    bool into_l1 = v->est.special > 0 && rows <= (double)v->l1;
    for (int i = 0; i < v->naccess; i++) {
        const struct access_view *s = &v->access[i];
        double row = v->axis[f->axis].most * s->bytes;
        int pass = 0;
        bool fits = row >= PIPE_ROW_BYTES && row <= (double)v->l2 / 4 && s->times * s->bytes >= BIG;
        if (s->store || seen_before(v, i) || s->pred || !fits) continue;
        int at = row_of(v, f, s->buf, &pass);
        if (at < 0 || access_stride(v, s, f->axis, f->lanes) != 1 || !view_can_name(v, s->buf)) continue;
        if (access_stride(v, s, at, 1) == NO_STRIDE || (v->axis[at].grid && f->in_grid[at] == 1)) continue;
        str_printf(out, " PIPE(%s,%s,1,%d,%d)", ir_name(v->ir, s->buf->arg.param.name), f->name[at], pass,
                   into_l1 ? 1 : 2);
    }
}

/* Prefetches gathered rows some rows ahead. */
static void pipe_gather(struct view *v, const struct elementwise_plan *f, struct str *out) {
    for (int i = 0; i < v->naccess; i++) {
        const struct access_view *s = &v->access[i];
        if (access_stride(v, s, f->axis, f->lanes) != 1 || !view_can_name(v, s->buf)) continue;
        if (s->times * s->bytes < BIG / 8) continue;
        for (int k = 0; k < v->naxis; k++) {
            bool loop = !v->axis[k].grid || f->in_grid[k] == 1 || strcmp(f->name[k], v->axis[k].name);
            if (k == f->axis || access_stride(v, s, k, 1) != NO_STRIDE || !loop) continue;
            str_printf(out, " PIPE(%s,%s,%d)", ir_name(v->ir, s->buf->arg.param.name), f->name[k],
                       s->store ? SCATTER_AHEAD : GATHER_AHEAD);
            return;
        }
    }
}

/* ---- 4: the grid ----------------------------------------------------------------------------------------- */

void shape_grid(struct view *v, struct str *out, double *in_grid, const char **name) {
    double grid = 1, inside = 1,
           piece = RG_MIN(RG_MAX(v->ns / ((double)GRID_PIECES * v->threads), GRID_NS), 8 * GRID_NS);
    for (int i = 0; i < v->naxis; i++) grid *= v->axis[i].grid ? in_grid[i] : 1;
    if (v->ns / grid >= GRID_NS / 4 && v->ns >= GRID_NS) return; /* large enough as they are */
    double need =
        RG_MIN((double)PIECES_PER_THREAD * v->threads, RG_MAX(v->ns / GRID_NS, 1)); /* iterations to keep */
    double want = RG_MAX(grid / RG_MAX(v->ns / piece, 1), 1);                       /* iterations to join */
    for (int i = v->naxis; i-- > 0 && inside < want;) {
        if (!v->axis[i].grid || in_grid[i] <= 1) continue;
        double most = RG_MIN(want / inside * 1.5, grid / need);
        if (most < 2) break;
        if (in_grid[i] <= most) {
            str_printf(out, " LOOP(%s)", name[i]);
            inside *= in_grid[i], grid /= in_grid[i], in_grid[i] = 1;
            continue;
        }
        int64_t n = (int64_t)in_grid[i], part = 1;
        for (int64_t p = 2; p <= (int64_t)most && p <= MOST_TILE; p++) /* no tails in the grid */
            if (n % p == 0) part = p;
        if (part * 4 < (int64_t)most && n > (int64_t)most * 8)
            part = RG_MIN((int64_t)most, MOST_TILE); /* rather a tail than tiny tiles */
        if (part < 2) break;
        const char *loop = view_new_axis(v, name[i], "l");
        str_printf(out, " TILE(%s,%lld,%s)", name[i], (long long)part, loop);
        name[i] = loop;
        inside *= (double)part, grid /= (double)part, in_grid[i] /= (double)part;
        break;
    }
}

/* ---- the recipe -------------------------------------------------------------------------------------------- */

void tile_vector(struct view *v, struct elementwise_plan *f, struct str *out, int64_t u) {
    const struct axis_view *a = &v->axis[f->axis];
    const char *lane = view_new_axis(v, a->name, "v"), *more = view_new_axis(v, a->name, "u"),
               *keep = a->reduce ? "REG" : "UNROLL";
    if (a->size == f->lanes) {
        str_printf(out, " VEC(%s)", f->loop);
        f->in_grid[f->axis] = 1;
        return;
    }
    str_printf(out, " TILE(%s,%d,%s) VEC(%s)", f->loop, f->lanes, lane, lane);
    double n = f->vectors ? (double)f->vectors : 1;
    if (u > 1 && u == f->vectors)
        str_printf(out, " %s(%s)", keep, f->loop);
    else if (u > 1)
        str_printf(out, " TILE(%s,%lld,%s) %s(%s)", f->loop, (long long)u, more, keep, more);
    if (a->grid) f->in_grid[f->axis] = RG_MAX((double)(int64_t)((n + (double)u - 1) / (double)u), 1);
}

static bool is_also(const struct elementwise_plan *f, int axis) {
    for (int i = 0; i < f->nalso; i++)
        if (f->also[i] == axis) return true;
    return false;
}

/* Unrolls neighbours that read the same elements of a pooled tensor, so that it is loaded once for them. Returns the axis, or
 * -1. */
static int write_pooled(struct view *v, struct elementwise_plan *f, struct str *out) {
    int pooled = -1;
    for (int i = 0; i < v->naxis; i++) {
        int64_t n = 0;
        if (i == f->axis || i == f->transposed || is_also(f, i) || v->axis[i].fixed || v->axis[i].scan)
            continue;
        for (uint32_t k = 0; k < v->topo.n; k++) n = RG_MAX(n, index_divisor(v, v->topo.p[k], i));
        if (n < 2 || v->axis[i].size % n || v->axis[i].size <= n) continue;
        const char *in = view_new_axis(v, v->axis[i].name, "p");
        str_printf(out, " TILE(%s,%lld,%s) UNROLL(%s)", v->axis[i].name, (long long)n, in, in);
        if (v->axis[i].grid) f->in_grid[i] /= (double)n;
        pooled = i;
    }
    return pooled;
}

/* Elements that are gathered along the vector axis, at indices that another axis of the grid does not change (the columns of a resized
 * image): rows of that axis share indices, what is computed of them, and their way to scalar registers. The axis, or -1. */
static int shared_index(const struct view *v, const struct elementwise_plan *f) {
    bool gathers = false;
    int best = -1;
    double most = SHARED_WEIGHT;
    for (int i = 0; i < v->naccess; i++)
        gathers |= !v->access[i].store && access_stride(v, &v->access[i], f->axis, f->lanes) == NO_STRIDE;
    if (!gathers || v->scans || v->stages || v->axis[f->axis].reduce) return -1;
    if (f->transposed >= 0 && !v->axis[f->transposed].reduce) return -1; /* but for weights of taps */
    for (int i = v->naxis; i-- > 0;) {
        double w = 0;
        if (i == f->axis || !v->axis[i].grid || v->axis[i].fixed || v->axis[i].size < 2) continue;
        for (uint32_t k = 0; k < v->topo.n; k++)
            if (view_depends(v, v->topo.p[k], f->axis) && !view_depends(v, v->topo.p[k], i))
                w += op_weight(v->topo.p[k]);
        if (w > most) most = w, best = i;
    }
    return best;
}

static void write_shared_index(struct view *v, struct elementwise_plan *f, struct str *out, int axis) {
    const struct axis_view *a = &v->axis[axis];
    int64_t taps = 1, rows = SHARED_ROWS;
    for (int i = 0; i < v->naxis; i++)
        if (v->axis[i].reduce) taps = (int64_t)RG_MIN((double)taps * v->axis[i].most, MOST_TAPS);
    while (rows > 2 && rows * taps * body_statements(v, f->axis) > BODY_STATEMENTS) rows /= 2;
    rows = even_part(a->size, rows);
    if (rows < 2) return;
    const char *in = view_new_axis(v, a->name, "r");
    if (rows == a->size)
        str_printf(out, " UNROLL(%s)", a->name);
    else
        str_printf(out, " TILE(%s,%lld,%s) UNROLL(%s)", a->name, (long long)rows, in, in);
    f->in_grid[axis] = (double)ceil_div(a->size, rows);
}

/* Sums along the vector axis that load the same vectors (a row and its distances to several others; a norm, times few columns): an
 * axis other than it along which accesses do not change. -1: none. (Norm of 7,036 x 9,333, 3 columns: 86 ms, 60.) */
static int shared_sums(const struct view *v, const struct elementwise_plan *f, const struct twins *t) {
    if (!v->axis[f->axis].reduce || v->scans || v->stages || f->transposed >= 0) return -1;
    for (int i = v->naxis; i-- > 0;) {
        const struct axis_view *a = &v->axis[i];
        double shared = 0, own = 0, sums = 0;
        if (i == f->axis || (a->ranges & t->ranges) || a->reduce || a->fixed || a->scan || a->size < 2)
            continue;
        for (int k = 0; k < v->naccess; k++) {
            const struct access_view *s = &v->access[k];
            if (!(s->mask & t->ranges)) continue;
            if (s->store || access_stride(v, s, which_twin(v, t, s), f->lanes) != 1) return -1;
            *(s->mask & a->ranges ? &own : &shared) += 1;
        }
        for (int k = 0; k < RG_MIN(v->reduces, (int)RG_COUNT(v->reduce)); k++)
            sums += binds_twin(v, t, v->reduce[k]) && view_depends(v, v->reduce[k], i);
        if (sums == 1 && own == 1 && shared > 0) return i;
    }
    return -1;
}

/* Vectors of a loop along one of the twins: fewer where there are `copies` of its sum. */
static int64_t shared_unroll(const struct view *v, const struct elementwise_plan *f, int axis, int sums,
                             int64_t u, int64_t copies) {
    bool copied = false;
    struct twins own = {.axis = {axis}, .n = 1, .ranges = v->axis[axis].ranges};
    for (int k = 0; k < RG_MIN(v->reduces, (int)RG_COUNT(v->reduce)) && copies > 1; k++)
        copied |= binds_twin(v, &own, v->reduce[k]) && view_depends(v, v->reduce[k], sums);
    return copied ? even_part(f->vectors, RG_MAX(u / copies, 1)) : u;
}

static int64_t write_shared_sums(struct view *v, struct elementwise_plan *f, struct str *out, int axis) {
    const struct axis_view *a = &v->axis[axis];
    int64_t n = even_part(a->size, SHARED_SUMS);
    while (n > 1 && n * body_statements(v, f->axis) > BODY_STATEMENTS / 4) n /= 2;
    if (n < 2) return 1;
    const char *in = view_new_axis(v, a->name, "r");
    if (n == a->size)
        str_printf(out, " UNROLL(%s)", a->name);
    else
        str_printf(out, " TILE(%s,%lld,%s) UNROLL(%s)", a->name, (long long)n, in, in);
    if (a->grid) f->in_grid[axis] = (double)ceil_div(a->size, n);
    return n;
}

/* Short reductions (the taps of a pooling window) are unrolled whole. Parts of longer ones are not: their order would depend on the loops
 * around them, and those on the number of threads. */
static void write_taps(struct view *v, const struct elementwise_plan *f, const struct twins *t,
                       struct str *out) {
    int64_t taps = 1;
    double all = 1;
    for (int i = 0; i < v->naxis; i++)
        if (v->axis[i].reduce && i != f->axis) all *= v->axis[i].most;
    if (all > MOST_TAPS) return;
    for (int i = v->naxis; i-- > 0;) {
        const struct axis_view *a = &v->axis[i];
        bool done = i == f->axis || i == f->transposed || is_also(f, i) || (a->ranges & t->ranges);
        if (done || !a->reduce || a->grid || a->scan || a->fixed || a->size < 2) continue;
        if (taps * a->size > MOST_TAPS || taps * a->size * body_statements(v, i) > BODY_STATEMENTS / 4)
            continue;
        str_printf(out, " UNROLL(%s)", a->name);
        taps *= a->size;
    }
}

/* Reductions may run along another axis than what is computed of them (a group norm reduces groups as one axis, and scales by
 * channel): each pass gets vectors of its own. (Group norm of 15 x 79 x 36 in bf16: 77 us, 15.) */
static void write_other_passes(struct view *v, const struct elementwise_plan *first, uint64_t done,
                               struct str *out) {
    struct elementwise_plan f = *first;
    while (choose_other(v, done, &f)) {
        f.loop = v->axis[f.axis].name;
        tile_vector(v, &f, out, unroll_of(v, &f));
        done |= v->axis[f.axis].ranges;
    }
}

bool recipe_elementwise(struct view *v, int level, struct str *out) {
    struct elementwise_plan f = {0};
    if (level > 4 || !choose_vector(v, &f)) return false;
    const struct axis_view *a = &v->axis[f.axis];
    for (int i = 0; i < v->naxis; i++) {
        f.name[i] = v->axis[i].name;
        f.in_grid[i] = v->axis[i].grid ? v->axis[i].most : 1;
    }
    f.loop = a->name;
    if (level < 1 && write_images(v, &f, out)) return true;
    if (level < 2 && f.transposed >= 0 && write_tiled_transpose(v, &f, out)) return true;
    if (level < 2 && write_columns(v, &f, out)) return true;
    if (level < 3 && worth_keeping(v, f.axis)) str_printf(out, " RESIDENT(%s)", a->name);
    int64_t run;
    int runs = level < 2 ? run_axis(v, &f, &run) : -1;
    if (runs >= 0) {
        write_runs(v, &f, out, runs, run);
        return true;
    }
    int streams = level < 2 ? streams_of(v, &f) : 1;
    if (streams > 1) {
        f.loop = view_new_axis(v, a->name, "s");
        str_printf(out, " TILE(%s,%lld,%s) REG(%s)", a->name, (long long)(a->size / streams), f.loop,
                   a->name);
        f.vectors /= streams;
    }
    int shared = level < 1 ? shared_index(v, &f) : -1;
    int64_t u = level < 4 && shared < 0 ? streams > 1 ? 4 : unroll_of(v, &f) : 1;
    if (a->grid && !a->reduce) u = fewer_vectors(v, u);
    struct twins t = twins_of(v, f.axis);
    int sums = level < 1 && streams == 1 && shared < 0 ? shared_sums(v, &f, &t) : -1;
    int64_t copies = sums < 0 ? 1 : write_shared_sums(v, &f, out, sums);
    tile_vector(v, &f, out, shared_unroll(v, &f, f.axis, sums, u, copies));
    for (int i = 1; i < t.n && streams == 1; i++) {
        struct elementwise_plan g = f;
        g.axis = t.axis[i], g.loop = v->axis[g.axis].name;
        tile_vector(v, &g, out, shared_unroll(v, &f, g.axis, sums, u, copies));
    }
    if (level < 2) write_scan_columns(v, &f, u, out);
    if (level < 3 && streams == 1 && !v->scans) write_other_passes(v, &f, t.ranges, out);
    if (f.transposed >= 0 && level < 3) write_transpose(v, &f, out);
    if (shared >= 0) write_shared_index(v, &f, out, shared);
    int pooled = level < 2 && shared < 0 ? write_pooled(v, &f, out) : -1;
    if (level < 1 && pooled < 0 && !v->scans && !v->stages) write_taps(v, &f, &t, out);
    if (level < 2 && f.transposed < 0 && shared < 0) write_distant_rows(v, &f, &t, out, u, pooled);
    if (level < 4) shape_grid(v, out, f.in_grid, f.name);
    if (level < 3) order_transpose(v, &f, out);
    if (level < 1) {
        pipe_rows(v, &f, out);
        pipe_gather(v, &f, out);
    }
    return true;
}
