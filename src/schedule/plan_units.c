/* plan_units.c: the nodes of the planner's program that may be stored, and who reads whom.
 * Requires: a copied program (plan_graph.c). Gives: sgraph.unit.
 * Tests: tests/unit/schedule.c */
#include "schedule/plan_copy.h"

enum {
    MOST_STEPS = 64,      /* ops of a number, nested views between two units */
    FUNCTION_STEP = 8,    /* statements of a function that count as one more op */
    GEMV_LEAST = 1 << 18, /* elements of its matrix .. */
    GEMV_ROWS_LEAST = 64, /* .. and rows of it */
    SMALL_CAST = 1024     /* elements */
};

static bool is_unit(const struct copy *c, const uop *n) {
    if (is_marked(c, n, MARK_FORCED)) return true;
    if (n->dt == DT_IDX || n->dt == DT_VOID) return false;
    switch (n->op) {
    case OP_REDUCE_AXES:
    case OP_SCAN_AXIS:
    case OP_GATHER:
    case OP_SCATTER:
    case OP_ASSIGN:
    case OP_CALL:
    case OP_CONTIGUOUS: return true;
    default: return op_is_pure((enum op)n->op);
    }
}

/* Units below a source of u, looking through views. */
static void sources_of(struct sgraph *g, const uop *n, void *out, uint32_t *seen, uint32_t mark) {
    VEC(uint32_t) *v = out;
    for (;;) {
        if (g->unit_of[n->id]) {
            if (seen[n->id] != mark) vec_push(g->a, v, g->unit_of[n->id] - 1);
            seen[n->id] = mark;
            return;
        }
        if (seen[n->id] == mark || !n->nsrc) return;
        seen[n->id] = mark;
        if (!op_is_movement((enum op)n->op) && !in_memory(n)) return;
        if (n->op == OP_PAD) sources_of(g, n->src[1], out, seen, mark);
        n = n->src[0];
    }
}

static void link_units(struct sgraph *g) {
    uint32_t *seen = arena_array(g->a, uint32_t, g->ir->n), *uses = arena_array(g->a, uint32_t, g->units);
    for (uint32_t u = 0; u < g->units; u++) {
        VEC(uint32_t) src = {0};
        const uop *n = g->unit[u].n;
        for (uint32_t i = 0; i < n->nsrc; i++) sources_of(g, n->src[i], &src, seen, u + 1);
        for (uint32_t i = 0; i < src.n; i++) uses[src.p[i]]++;
        vec_push(g->a, &src, UINT32_MAX);
        g->unit[u].src = src.p;
    }
    for (uint32_t u = 0; u < g->units; u++) {
        g->unit[u].use = arena_array(g->a, uint32_t, uses[u] + 1);
        uses[u] = 0;
    }
    for (uint32_t u = 0; u < g->units; u++)
        for (uint32_t *s = g->unit[u].src; *s != UINT32_MAX; s++) g->unit[*s].use[uses[*s]++] = u;
    for (uint32_t u = 0; u < g->units; u++) g->unit[u].use[uses[u]] = UINT32_MAX;
}

/* Computed from constants alone: cheaper to recompute than to load. Random bits are not. */
static bool from_constants(const uop *n, const uint8_t *number) {
    if (n->op == OP_THREEFRY || n->op == OP_CALL) return false;
    if (n->op == OP_REDUCE_AXES || n->op == OP_SCAN_AXIS || n->op == OP_GATHER) return false;
    for (uint32_t i = 0; i < n->nsrc; i++)
        if (!number[n->src[i]->id]) return false;
    return true;
}

/* Ops from n down to units and memory, as a tree: of a number all, of a view the views below. A function counts by its size. */
static uint32_t steps_to(const uop *n, bool number, const uint32_t *steps) {
    uint32_t sum = 1 + op_statements((enum op)n->op) / FUNCTION_STEP;
    if (is_leaf(n) || n->op == OP_GRAPH || (!number && !op_is_movement((enum op)n->op))) return 0;
    for (uint32_t i = 0; i < n->nsrc; i++) sum = RG_MIN(sum + steps[n->src[i]->id], MOST_STEPS + 1);
    return sum;
}

/* Does an elementwise op read x itself, not a view of it? */
static bool reads_in_place(const uop *n, const uop *x) {
    bool elementwise = op_is_pure((enum op)n->op) && !op_is_movement((enum op)n->op) &&
                       n->op != OP_REDUCE_AXES && n->op != OP_SCAN_AXIS && n->op != OP_GATHER;
    for (uint32_t i = 0; elementwise && i < n->nsrc; i++)
        if (n->src[i] == x) return true;
    return false;
}

/* A scan that one elementwise op alone reads, a cast or what adds what comes before its block, need not be stored before. */
static void fuse_after_scans(struct copy *c) {
    struct sgraph *g = c->g;
    for (uint32_t u = 0; u < g->units; u++) {
        const struct plan_unit *x = &g->unit[u];
        if (x->n->op != OP_SCAN_AXIS || is_marked(c, x->n, MARK_FORCED) || x->use[0] == UINT32_MAX) continue;
        if (x->use[1] == UINT32_MAX && reads_in_place(g->unit[x->use[0]].n, x->n))
            g->unit[u].forced = UNIT_FREE;
    }
}

/* A GEMV, or two or three rows by a large matrix in memory: planned like a contraction. The vector is stored once instead of computed
 * by every block, and the result with its epilogue; else a network of them is one region, whose residuals every layer computes
 * again. */
static bool is_gemv(struct sgraph *g, const uop *n) {
    const uop *m = n->src[0], *x;
    if (n->op != OP_REDUCE_AXES || n->arg.i != OP_ADD) return false;
    while (m->op == OP_CAST) m = m->src[0];
    if (m->op != OP_MUL) return false;
    for (int i = 0; i < 2; i++) {
        for (x = m->src[i]; op_is_movement((enum op)x->op) || x->op == OP_CAST;) x = x->src[0];
        double matrix = shape_elements_below(&g->shapes, m->src[i]),
               vector = shape_elements_below(&g->shapes, m->src[!i]);
        if (in_memory(x) && matrix >= GEMV_LEAST && matrix >= GEMV_ROWS_LEAST * vector &&
            (double)shape_size(sg_shape(g, m)) < CONTRACTION_REUSE * matrix)
            return true;
    }
    return false;
}

/* A few numbers in memory that only products of vectors meet, such as the angles of a token's position, are cast wherever they are
 * read: else all layers would be one region, and none the same as another. */
static void cast_in_readers(struct sgraph *g) {
    for (uint32_t u = 0; u < g->units; u++) {
        struct plan_unit *x = &g->unit[u];
        const uop *from = x->n;
        bool small = shape_size(sg_shape(g, from)) <= SMALL_CAST;
        if (from->op != OP_CAST || x->forced != UNIT_FREE || !small) continue;
        do from = from->src[0];
        while (op_is_movement((enum op)from->op) && from->op != OP_PAD);
        bool in_gemvs = from->op == OP_BUFFER;
        for (const uint32_t *s = x->use; *s != UINT32_MAX; s++) in_gemvs &= g->unit[*s].of_gemv;
        if (in_gemvs) x->forced = UNIT_NEVER, x->hint = HINT_NUMBER;
    }
}

void find_units(struct sgraph *g, struct copy *c) {
    uop_vec topo = {0};
    uop_topo(g->a, &g->root, 1, &topo);
    g->units = 0;
    g->unit = arena_array(g->a, struct plan_unit, topo.n);
    g->unit_of = arena_array(g->a, uint32_t, g->ir->n);
    uint8_t *number = arena_array(g->a, uint8_t, g->ir->n);
    uint32_t *steps = arena_array(g->a, uint32_t, g->ir->n);
    for (uint32_t i = 0; i < topo.n; i++) {
        const uop *n = topo.p[i];
        bool stored = is_marked(c, n, MARK_FORCED); /* its readers load it */
        number[n->id] = !stored && (is_leaf(n) || (n->nsrc && !in_memory(n) && from_constants(n, number)));
        steps[n->id] = stored ? 0 : steps_to(n, number[n->id], steps);
        if (steps[n->id] >
            MOST_STEPS) { /* beyond, a number is a value like any other, and a view is copied */
            if (!op_is_pure((enum op)n->op)) force(c, n);
            number[n->id] = 0, steps[n->id] = 0;
        }
        if (!is_unit(c, n) || n->op == OP_GRAPH) continue;
        struct plan_unit *u = &g->unit[g->units++];
        g->unit_of[n->id] = g->units;
        *u = (struct plan_unit){.n = n, .hint = n->op == OP_REDUCE_AXES ? HINT_REDUCTION : HINT_ELEMENTWISE};
        bool must = is_marked(c, n, MARK_FORCED) || n->op == OP_ASSIGN || n->op == OP_SCATTER ||
                    n->op == OP_SCAN_AXIS || n->op == OP_CALL;
        u->forced = must ? UNIT_FORCED : number[n->id] ? UNIT_NEVER : UNIT_FREE;
        if (u->forced == UNIT_NEVER) u->hint = HINT_NUMBER;
        if (u->forced == UNIT_FREE && is_marked(c, n, MARK_INLINE)) u->forced = UNIT_NEVER, u->kept = 1;
        u->cut = is_marked(c, n, MARK_CUT);
    }
    for (uint32_t u = 0; u < g->units; u++) {
        g->unit[u].of_gemv = g->opts->gpu && is_gemv(g, g->unit[u].n);
        if (g->unit[u].of_gemv || graph_contraction(&g->shapes, g->unit[u].n))
            g->unit[u].hint = HINT_CONTRACTION;
    }
    link_units(g);
    for (uint32_t u = 0; u < g->units; u++)
        for (const uint32_t *s = g->unit[u].src; *s != UINT32_MAX; s++)
            g->unit[u].of_gemv |= g->unit[*s].of_gemv && g->unit[u].hint == HINT_ELEMENTWISE;
    if (!g->opts->gpu) fuse_after_scans(c);
    apply_store_rules(g);
    cast_in_readers(g);
}
