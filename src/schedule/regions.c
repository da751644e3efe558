/* regions.c: which units are planned together.
 *
 * Units that no legal kernel could hold together are in different regions: operands of a contraction are stored before it,
 * its result before it is reduced. A region of very many units is cut into blocks where the fewest bytes cross; what
 * crosses is stored. So planning time grows with the number of blocks, and blocks that look alike, the steps of an
 * unrolled recurrence, are planned once.
 * Requires: struct sgraph. Gives: struct plan_regions.
 * Tests: tests/unit/schedule.c, tests/unit/plan_visits.c, bench/structured.c */
#include <math.h>

#include "schedule/internal.h"

enum { JOIN_MAX = 48 };     /* units of regions that are joined because they read the same tensor */
enum { REGION_BLOCKS = 3 }; /* a region of at most this many blocks is not cut */
enum { BLOCK_UNITS = 768 }; /* most units of a block; at least half of it but for the last one of a region */

struct regions {
    struct sgraph *g;
    uint32_t *up;         /* union-find over units */
    uint32_t *count;      /* units of a root */
    uint8_t *contraction; /* of a root: has one */
    uint32_t *depth;      /* of a root: longest path of regions above it */
    uint8_t *update;      /* by unit: it only feeds ASSIGNs */
};

static uint32_t find(struct regions *r, uint32_t u) {
    while (r->up[u] != u) u = r->up[u] = r->up[r->up[u]];
    return u;
}

static void join(struct regions *r, uint32_t a, uint32_t b) {
    a = find(r, a), b = find(r, b);
    if (a == b) return;
    if (b < a) {
        uint32_t t = a;
        a = b, b = t;
    }
    r->up[b] = a;
    r->count[a] += r->count[b];
    r->contraction[a] |= r->contraction[b];
}

/* A scalar that is in memory anyway is read by larger values, never recomputed. Tensors that share it, the parameters of an
 * optimizer and its step, are planned separately, alike, and then batched. */
static bool is_shared_scalar(struct sgraph *g, const struct plan_unit *s, const struct plan_unit *u) {
    return s->hint == HINT_ELEMENTWISE && shape_size(sg_shape(g, s->n)) == 1 &&
           shape_size(sg_shape(g, u->n)) > 1;
}

/* A stored value that only feeds in-place updates, such as a gradient: the updates are planned separately, so that those of
 * all parameters look alike and are batched. */
static bool is_update(const struct regions *r, const struct plan_unit *s, uint32_t to) {
    return s->n->op != OP_ASSIGN && r->update[to];
}

static void find_updates(struct regions *r) {
    for (uint32_t u = r->g->units; u-- > 0;) {
        const uint32_t *use = r->g->unit[u].use;
        r->update[u] = r->g->unit[u].n->op == OP_ASSIGN || *use != UINT32_MAX;
        for (; *use != UINT32_MAX; use++) r->update[u] &= r->update[*use];
    }
}

/* Operands of a contraction, and its results that are reduced, are in memory between two kernels. */
static bool is_cut(const struct regions *r, uint32_t from, uint32_t to) {
    struct sgraph *g = r->g;
    const struct plan_unit *s = &g->unit[from], *u = &g->unit[to];
    if (s->hint == HINT_NUMBER || u->hint == HINT_NUMBER) return true;
    if (s->n->op == OP_CALL || u->n->op == OP_CALL) return true;
    if (s->forced != UNIT_FORCED) return false;
    if (u->forced == UNIT_NEVER) return true; /* the MUL of a contraction */
    if (is_shared_scalar(g, s, u) || is_update(r, s, to)) return true;
    return s->cut;
}

/* ---- depths: longest paths of regions --------------------------------------------------------------- */

/* A path may leave a region and come back, so regions can wait for each other: strongly connected components, found by
 * Tarjan's algorithm. A component's regions get different depths, and no other region has one of them by a path through it. */
struct region_walk {
    struct regions *r;
    uint32_t *at, *of;            /* regions that v reads: of[at[v]] .. of[at[v + 1]] */
    uint32_t *next, *order, *low; /* by region: its next edge; Tarjan's numbers */
    uint32_t *end;                /* of a closed component: the depth after its last; 0: open */
    uint32_t count;
    VEC(uint32_t) path, open;
};

static void list_reads(struct region_walk *w) {
    struct regions *r = w->r;
    struct sgraph *g = r->g;
    w->at = arena_array(g->a, uint32_t, g->units + 2);
    for (uint32_t u = 0; u < g->units; u++)
        for (const uint32_t *s = g->unit[u].src; *s != UINT32_MAX; s++) w->at[find(r, u) + 2]++;
    for (uint32_t u = 0; u < g->units; u++) w->at[u + 2] += w->at[u + 1];
    w->of = arena_array(g->a, uint32_t, w->at[g->units + 1] + 1);
    for (uint32_t u = 0; u < g->units; u++)
        for (const uint32_t *s = g->unit[u].src; *s != UINT32_MAX; s++)
            w->of[w->at[find(r, u) + 1]++] = find(r, *s);
}

static void open_region(struct region_walk *w, uint32_t v) {
    w->order[v] = w->low[v] = ++w->count;
    w->next[v] = w->at[v];
    vec_push(w->r->g->a, &w->path, v);
    vec_push(w->r->g->a, &w->open, v);
}

/* The component of v: the open regions from v on. */
static void close_component(struct region_walk *w, uint32_t v) {
    uint32_t first = w->open.n, depth = 0;
    do {
        uint32_t m = w->open.p[--first];
        for (uint32_t i = w->at[m]; i < w->at[m + 1]; i++) depth = RG_MAX(depth, w->end[w->of[i]]);
    } while (w->open.p[first] != v);
    for (uint32_t i = first; i < w->open.n; i++) {
        w->r->depth[w->open.p[i]] = depth + i - first;
        w->end[w->open.p[i]] = depth + w->open.n - first;
    }
    w->open.n = first;
}

static void find_depths(struct regions *r) {
    struct sgraph *g = r->g;
    struct region_walk w = {.r = r,
                            .next = arena_array(g->a, uint32_t, g->units + 1),
                            .order = arena_array(g->a, uint32_t, g->units + 1),
                            .low = arena_array(g->a, uint32_t, g->units + 1),
                            .end = arena_array(g->a, uint32_t, g->units + 1)};
    list_reads(&w);
    for (uint32_t root = 0; root < g->units; root++) {
        if (find(r, root) != root || w.order[root]) continue;
        open_region(&w, root);
        while (w.path.n) {
            uint32_t v = w.path.p[w.path.n - 1];
            g->visits++;
            if (w.next[v] == w.at[v + 1]) {
                w.path.n--;
                if (w.path.n) w.low[w.path.p[w.path.n - 1]] = RG_MIN(w.low[w.path.p[w.path.n - 1]], w.low[v]);
                if (w.low[v] == w.order[v]) close_component(&w, v);
                continue;
            }
            uint32_t to = w.of[w.next[v]++];
            if (!w.order[to])
                open_region(&w, to);
            else if (!w.end[to])
                w.low[v] = RG_MIN(w.low[v], w.order[to]);
        }
    }
}

/* Joins small regions of equal depth that read the same tensor in memory whole and in order. */
static void join_readers(struct regions *r) {
    struct sgraph *g = r->g;
    struct map first; /* tensor -> unit that reads it */
    map_init(&first, g->a);
    for (uint32_t u = 0; u < g->units; u++) {
        if (g->unit[u].hint == HINT_NUMBER || g->unit[u].forced == UNIT_NEVER || g->unit[u].n->op == OP_CALL)
            continue;
        for (uint32_t i = 0; i < g->unit[u].n->nsrc; i++) {
            const uop *s = g->unit[u].n->src[i];
            while (s->op == OP_RESHAPE) s = s->src[0];
            uint32_t su = g->unit_of[s->id];
            bool memory = sg_is_memory(g, s) || (su && g->unit[su - 1].forced == UNIT_FORCED);
            if (!memory || shape_size(sg_shape(g, s)) < 2) continue;
            uint64_t by;
            if (!map_get(&first, s->id, &by)) {
                map_put(&first, s->id, u);
                continue;
            }
            uint32_t a = find(r, (uint32_t)by), b = find(r, u);
            bool small = r->count[a] + r->count[b] <= JOIN_MAX && !r->contraction[a] && !r->contraction[b];
            if (a != b && small && r->depth[a] == r->depth[b]) join(r, a, b);
        }
    }
}

/* The padded copy (repack.c) that unit u views or widens; none: UINT32_MAX. */
static uint32_t copy_below(const struct regions *r, uint32_t u) {
    const struct plan_unit *unit = r->g->unit;
    while (unit[u].n->op == OP_CAST && unit[u].forced != UNIT_FORCED && *unit[u].src != UINT32_MAX)
        u = *unit[u].src;
    return unit[u].n->op == OP_PAD && unit[u].forced == UNIT_FORCED ? u : UINT32_MAX;
}

/* Padded copies of both operands of a GEMM: one kernel can make them if they have equal shape. */
static void join_copies(struct regions *r) {
    struct sgraph *g = r->g;
    for (uint32_t u = 0; u < g->units; u++) {
        const uint32_t *src = g->unit[u].src;
        if (g->unit[u].n->op != OP_MUL || src[0] == UINT32_MAX || src[1] == UINT32_MAX) continue;
        uint32_t x = copy_below(r, src[0]), y = copy_below(r, src[1]);
        if (x == UINT32_MAX || y == UINT32_MAX || sg_shape(g, g->unit[x].n) != sg_shape(g, g->unit[y].n))
            continue;
        uint32_t a = find(r, x), b = find(r, y);
        bool small = r->count[a] + r->count[b] <= JOIN_MAX && !r->contraction[a] && !r->contraction[b];
        if (a != b && small && r->depth[a] == r->depth[b]) join(r, a, b);
    }
}

static void find_regions(struct regions *r, struct sgraph *g) {
    *r = (struct regions){.g = g,
                          .up = arena_array(g->a, uint32_t, g->units + 1),
                          .count = arena_array(g->a, uint32_t, g->units + 1),
                          .contraction = arena_array(g->a, uint8_t, g->units + 1),
                          .depth = arena_array(g->a, uint32_t, g->units + 1),
                          .update = arena_array(g->a, uint8_t, g->units + 1)};
    find_updates(r);
    for (uint32_t u = 0; u < g->units; u++) {
        r->up[u] = u, r->count[u] = 1;
        r->contraction[u] = g->unit[u].hint == HINT_CONTRACTION;
    }
    for (uint32_t u = 0; u < g->units; u++)
        for (const uint32_t *s = g->unit[u].src; *s != UINT32_MAX; s++)
            if (!is_cut(r, *s, u)) join(r, *s, u);
    find_depths(r);
    join_copies(r);
    join_readers(r);
}

/* ---- blocks of a large region --------------------------------------------------------------------- */

/* at[i]: bytes that must be stored if the region is cut before its i-th unit; INFINITY: not there. Units are in topological order,
 * so no path leads back across a cut. */
static double *crossing_bytes(struct sgraph *g, const uint32_t *unit, uint32_t n, const uint32_t *local) {
    double *at = arena_array(g->a, double, n + 1);
    uint32_t *fixed = arena_array(g->a, uint32_t, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        const struct plan_unit *u = &g->unit[unit[i]];
        uint32_t last = i;
        for (const uint32_t *s = u->use; *s != UINT32_MAX; s++)
            if (local[*s] != UINT32_MAX) last = RG_MAX(last, local[*s]);
        if (last == i || u->forced == UNIT_FORCED) continue;
        double bytes = (double)shape_size(sg_shape(g, u->n)) * dtype_info[u->n->dt].bytes;
        at[i + 1] += bytes, at[last + 1] -= bytes;
        if (u->forced == UNIT_NEVER) fixed[i + 1]++, fixed[last + 1]--;
    }
    for (uint32_t i = 1; i <= n; i++) at[i] += at[i - 1], fixed[i] += fixed[i - 1];
    for (uint32_t i = 0; i <= n; i++)
        if (fixed[i]) at[i] = INFINITY;
    return at;
}

/* Stores what units outside of [from, to) read of it. */
static void store_crossing(struct sgraph *g, const uint32_t *unit, uint32_t from, uint32_t to,
                           const uint32_t *local) {
    for (uint32_t i = from; i < to; i++) {
        struct plan_unit *u = &g->unit[unit[i]];
        for (const uint32_t *s = u->use; *s != UINT32_MAX; s++)
            if (local[*s] != UINT32_MAX && local[*s] >= to) u->forced = UNIT_FORCED;
    }
}

static uint32_t block_units(const struct sgraph *g) { return g->opts->block ? g->opts->block : BLOCK_UNITS; }

/* Where the block that starts at `from` ends: the first narrowest cut, so that equal steps get equal blocks. */
static uint32_t block_end(const double *at, uint32_t from, uint32_t n, uint32_t most) {
    uint32_t best = from + (most + 1) / 2;
    if (n - from <= most) return n;
    for (uint32_t i = best + 1; i <= from + most; i++)
        if (at[i] < at[best]) best = i;
    while (best < n && !(at[best] < INFINITY)) best++;
    return best;
}

static void add_region(struct sgraph *g, struct plan_regions *out, uint32_t *unit, uint32_t n, bool block) {
    vec_push(g->a, &out->region, ((struct unit_list){unit, n, block}));
}

static void cut_region(struct sgraph *g, uint32_t *unit, uint32_t n, uint32_t *local,
                       struct plan_regions *out) {
    for (uint32_t i = 0; i < n; i++) local[unit[i]] = i;
    double *at = crossing_bytes(g, unit, n, local);
    for (uint32_t from = 0, to; from < n; from = to) {
        to = block_end(at, from, n, block_units(g));
        if (to < n) store_crossing(g, unit, from, to, local);
        add_region(g, out, unit + from, to - from, true);
    }
    for (uint32_t i = 0; i < n; i++) local[unit[i]] = UINT32_MAX;
}

void plan_find_regions(struct sgraph *g, struct plan_regions *out) {
    struct regions r;
    find_regions(&r, g);
    uint32_t *next = arena_array(g->a, uint32_t, g->units + 1),
             *head = arena_array(g->a, uint32_t, g->units + 1);
    uint32_t *local = arena_array(g->a, uint32_t, g->units + 1);
    *out = (struct plan_regions){0};
    memset(local, 0xff, (g->units + 1) * sizeof *local);
    for (uint32_t u = g->units; u-- > 0;) { /* members of each root, in order */
        uint32_t root = find(&r, u);
        next[u] = head[root];
        head[root] = u + 1;
    }
    for (uint32_t root = 0; root < g->units; root++) {
        if (find(&r, root) != root || g->unit[root].hint == HINT_NUMBER) continue;
        uint32_t n = 0, *unit = arena_array(g->a, uint32_t, r.count[root]);
        for (uint32_t u = head[root]; u; u = next[u - 1]) unit[n++] = u - 1;
        if (n > REGION_BLOCKS * block_units(g))
            cut_region(g, unit, n, local, out);
        else
            add_region(g, out, unit, n, false);
    }
}
