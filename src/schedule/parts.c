/* parts.c: outputs that are stored part by part in one iteration.
 *
 * What is concatenated of equal parts that have sums in common (rotary positions of a product with a vector: each part needs both)
 * computes each sum once so, and has no predicates. An output beside another one that is as large as a part of it shares its
 * kernel: the queries of a group of heads beside keys and values.
 * Requires: a SINK over raw ranges. Gives: another one, and a shorter range in r->dim.
 * Tests: tests/unit/schedule.c (schedule_parts_that_share_sums_are_stored_together) */
#include "schedule/internal.h"

enum { PARTS_GRID = 64 }; /* iterations of the grid that remain */

/* Into how many equal parts, of which each predicate on the range takes whole ones, 2 .. PARTS_MOST? 0: none. */
static int64_t equal_parts(const uop_vec *topo, const uop *range) {
    int64_t size = range->src[0]->arg.i;
    bool cut[PARTS_MOST + 1] = {0}, any = false;
    for (int64_t n = 2; n <= PARTS_MOST; n++) cut[n] = size % n == 0;
    for (uint32_t i = 0; i < topo->n; i++) {
        const uop *n = topo->p[i];
        if (n->op != OP_LT || (n->src[0] != range && n->src[1] != range)) continue;
        const uop *with = n->src[n->src[0] == range];
        if (!uop_is_const(with)) return 0;
        int64_t at = with->arg.i + (n->src[1] == range); /* the first value on the other side */
        any = true;
        for (int64_t k = 2; k <= PARTS_MOST; k++) cut[k] = cut[k] && at % (size / k) == 0;
    }
    for (int64_t n = 2; n <= PARTS_MOST && any; n++)
        if (cut[n]) return n;
    return 0;
}

/* Reductions over one range: which, and those that they wait for, as sets of the first 64 ranges. */
struct range_class {
    uint64_t own, after;
};

/* The ranges of a SINK's reductions over one range each, in topological order, and what each waits for. */
static uint32_t find_ranges(struct rangeify *r, const uop_vec *topo, const uop **range,
                            struct range_class *of) {
    uint64_t *below = arena_array(r->a, uint64_t, r->ir->n);
    uint32_t n = 0;
    for (uint32_t i = 0; i < topo->n; i++) {
        const uop *x = topo->p[i];
        uint32_t k = 0;
        for (uint32_t s = 0; s < x->nsrc; s++) below[x->id] |= below[x->src[s]->id];
        if (x->op != OP_REDUCE || x->nsrc != 2) continue;
        while (k < n && range[k] != x->src[1]) k++;
        if (k == 64) continue;
        if (k == n) range[n] = x->src[1], of[n++] = (struct range_class){.own = 1ull << k};
        of[k].after |= below[x->id];
        below[x->id] |= 1ull << k;
    }
    return n;
}

/* Reductions of one size that do not wait for each other get one range: one loop, and equal ones become one node. */
static const uop *share_ranges(struct rangeify *r, const uop *sink) {
    const uop *range[64], *from[64], *to[64];
    struct range_class of[64];
    uop_vec topo = {0};
    uint32_t merged = 0;
    uop_topo(r->a, &sink, 1, &topo);
    uint32_t n = find_ranges(r, &topo, range, of);
    for (uint32_t i = 1; i < n; i++)
        for (uint32_t k = 0; k < i; k++) {
            if (!of[k].own || range[k]->src[0] != range[i]->src[0] || of[k].after & of[i].own ||
                of[i].after & of[k].own)
                continue;
            struct range_class both = {of[i].own | of[k].own, of[i].after | of[k].after};
            from[merged] = range[i], to[merged++] = range[k];
            of[k] = both, of[i].own = 0;
            for (uint32_t z = 0; z < n; z++)
                if (of[z].after & both.own) of[z].after |= both.own | both.after;
            break;
        }
    return merged ? rw_subst(&r->rw, sink, from, to, merged) : sink;
}

/* ---- parts beside another output ---------------------------------------------------------------------------- */

bool parts_concatenated(const uop *n) {
    while (n->op == OP_CAST || (n->op == OP_ASSIGN && n->nsrc == 2)) n = n->src[n->op == OP_ASSIGN];
    return n->op == OP_ADD && (n->src[0]->op == OP_PAD || n->src[1]->op == OP_PAD);
}

static uint32_t long_axes(const struct shape *s) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n; i++) n += s->d[i] != 1;
    return n;
}

struct output_parts parts_match(struct rangeify *r, const struct shape *s, const struct shape *dom,
                                const uop **at) {
    struct output_parts p = {0}, none = {0};
    uint32_t j = 0, axes = long_axes(s);
    bool longer = axes == long_axes(dom); /* an axis is; else there is one more */
    if (!longer && axes != long_axes(dom) + 1) return none;
    for (uint32_t i = 0; i < s->n; i++) {
        while (j < dom->n && dom->d[j] == 1) j++;
        int64_t d = j < dom->n ? dom->d[j] : 1;
        bool same = s->d[i] == d, along = same || (longer && s->d[i] % d == 0);
        if (at) at[i] = s->d[i] > 1 && along ? r->dim[j] : uop_idx(r->ir, 0);
        if (s->d[i] == 1) continue;
        j += along;
        if (same) continue;
        if (p.n || along != longer) return none;
        p = (struct output_parts){along ? s->d[i] / d : s->d[i], along ? d : 1, i, false};
    }
    while (j < dom->n && dom->d[j] == 1) j++;
    return j == dom->n && p.n <= PARTS_MOST ? p : none;
}

const uop *parts_each(struct rangeify *r, const uop *sink) {
    VEC(const uop *) store = {0};
    for (uint32_t i = 0; i < sink->nsrc; i++) {
        const uop_vec *f = free_of(&r->fr, sink->src[i]->src[0]);
        const uop *part = NULL;
        for (uint32_t k = 0; k < f->n; k++)
            if (f->p[k]->arg.range.id == PART_RANGE) part = f->p[k];
        if (!part) vec_push(r->a, &store, sink->src[i]);
        for (int64_t k = 0; part && k < part->src[0]->arg.i; k++) {
            const uop *here = uop_idx(r->ir, k);
            vec_push(r->a, &store, rw_subst(&r->rw, sink->src[i], &part, &here, 1));
        }
    }
    return store.n == sink->nsrc ? sink : uop_new(r->ir, OP_SINK, DT_VOID, 1, store.p, store.n, ARG_NONE);
}

/* ---- parts that have sums in common -------------------------------------------------------------------------- */

static uint32_t count_sums(const uop_vec *topo) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < topo->n; i++) {
        if (topo->p[i]->op == OP_STAGE || topo->p[i]->op == OP_SCAN || topo->p[i]->op == OP_STORE_ADD)
            return 0;
        n += topo->p[i]->op == OP_REDUCE;
    }
    return n;
}

/* The stores of all n parts of output axis i, each without predicates on it, in an iteration of `part`, which is n times as short. */
static const uop *store_parts(struct rangeify *r, const uop *sink, uint32_t i, const uop *part, int64_t n) {
    VEC(const uop *) stores = {0};
    for (int64_t k = 0; k < n; k++) {
        const uop *at = rw2(&r->rw, OP_ADD, part, uop_idx(r->ir, k * part->src[0]->arg.i));
        const uop *moved = rw_subst(&r->rw, sink, &r->dim[i], &at, 1);
        for (uint32_t s = 0; s < moved->nsrc; s++) vec_push(r->a, &stores, moved->src[s]);
    }
    return share_ranges(r, uop_new(r->ir, OP_SINK, DT_VOID, 1, stores.p, stores.n, (union arg){0}));
}

static int64_t grid_size(const struct rangeify *r, const bool *grid) {
    int64_t n = 1;
    for (uint32_t i = 0; i < r->dims; i++)
        if (grid[i] && r->dim[i]->op == OP_RANGE) n *= r->dim[i]->src[0]->arg.i;
    return n;
}

const uop *rangeify_parts(struct rangeify *r, const uop *sink) {
    bool grid[SHAPE_MAX], known = false;
    for (uint32_t i = 0; i < r->dims; i++) {
        uop_vec topo = {0}, after = {0};
        if (r->dim[i]->op != OP_RANGE) continue;
        uop_topo(r->a, &sink, 1, &topo);
        if (!count_sums(&topo)) return sink;
        if (!known) rangeify_grid(r, &topo, grid);
        known = true;
        int64_t n = grid[i] ? equal_parts(&topo, r->dim[i]) : 0;
        if (!n) continue;
        const uop *size = uop_idx(r->ir, r->dim[i]->src[0]->arg.i / n);
        const uop *part = uop_new(r->ir, OP_RANGE, DT_IDX, 1, &size, 1, r->dim[i]->arg);
        const uop *parts = store_parts(r, sink, i, part, n);
        uop_topo(r->a, &parts, 1, &after);
        if (count_sums(&after) > count_sums(&topo) || grid_size(r, grid) < n * PARTS_GRID) continue;
        r->dim[i] = part, sink = parts;
    }
    return sink;
}
