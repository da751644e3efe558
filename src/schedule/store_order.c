/* store_order.c: the order of axes in which a value is stored: that in which it is read.
 *
 * A contraction's result that is stored anyway, and read through one PERMUTE alone, is stored behind it: the heads of attention side
 * by side, so that the rows of the next product are rows of memory and axes around them merge; the channels of patches last, so that a
 * norm of them reads rows. A kernel stores tiles in either order alike.
 * Requires: units with their constraints. Gives: PERMUTEs that must be stored, in place of what they read.
 * Tests: tests/unit/slow_forms.c, tests/unit/simgpu_attention.c (simgpu_attention_projected) */
#include "schedule/plan_copy.h"

struct readers {
    uint32_t *uses; /* by node: mentions as a source */
    const uop **by; /* .. and one that reads it */
};

static struct readers readers_of(struct sgraph *g) {
    uop_vec topo = {0};
    struct readers r = {arena_array(g->a, uint32_t, g->ir->n), arena_array(g->a, const uop *, g->ir->n)};
    uop_topo(g->a, &g->root, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++)
        for (uint32_t k = 0; k < topo.p[i]->nsrc; k++)
            r.uses[topo.p[i]->src[k]->id]++, r.by[topo.p[i]->src[k]->id] = topo.p[i];
    return r;
}

/* Does a view merge axes of p that lie apart in what p reads? */
static bool merges(struct sgraph *g, const uop *p, const uop *view) {
    const struct shape *from = sg_shape(g, p), *to = sg_shape(g, view);
    for (uint32_t i = 0, k = 0; i < to->n && k < from->n; i++) {
        int64_t whole = 1, last = -1;
        for (; whole < to->d[i] && k < from->n; whole *= from->d[k++]) {
            if (from->d[k] == 1) continue;
            if (last >= 0 && p->src[1 + k]->arg.i != last + 1) return true;
            last = p->src[1 + k]->arg.i;
        }
        while (k < from->n && from->d[k] == 1) k++;
    }
    return false;
}

/* The axis of a view's source that is innermost, but for those of size 1; -1: all are. */
static int64_t innermost(struct sgraph *g, const uop *p, bool of_source) {
    const struct shape *s = sg_shape(g, of_source ? p->src[0] : p);
    for (uint32_t i = s->n; i-- > 0;)
        if (s->d[i] > 1) return of_source ? i : p->src[1 + i]->arg.i;
    return -1;
}

/* The last PERMUTE in the chain of views by which alone x is read, if memory is better in its order: it has other rows, and elements that
 * are no operand of a contraction, which reads both orders; or axes that meet there are merged. NULL: there is none. */
static const uop *order_read(struct sgraph *g, const struct readers *r, const uop *x, bool factor) {
    const uop *p = NULL, *best = NULL;
    while (r->uses[x->id] == 1) {
        const uop *view = r->by[x->id];
        if (view->op != OP_PERMUTE && view->op != OP_RESHAPE) break;
        if (view->op == OP_PERMUTE) p = view;
        bool rows = view == p && !factor && innermost(g, p, true) != innermost(g, p, false);
        if (rows || (p == x && view->op == OP_RESHAPE && merges(g, p, view))) best = p;
        x = view;
    }
    return best;
}

/* Is a contraction all that reads the unit? */
static bool is_factor(const struct sgraph *g, uint32_t u) {
    const struct plan_unit *x = &g->unit[u];
    for (const uint32_t *s = x->use; *s != UINT32_MAX; s++) {
        const struct plan_unit *y = &g->unit[*s];
        bool product =
            y->n->op == OP_MUL && *y->use != UINT32_MAX && g->unit[*y->use].hint == HINT_CONTRACTION;
        if (!product && (y->n->op != OP_CAST || !is_factor(g, *s))) return false;
    }
    return *x->use != UINT32_MAX;
}

/* Is x a contraction's result, or computed from one and from what is smaller, element by element? */
static bool is_epilogue(struct sgraph *g, const uop *x, int64_t size) {
    uint32_t u = g->unit_of[x->id];
    if (!u) return false;
    if (g->unit[u - 1].hint == HINT_CONTRACTION) return true;
    bool any = false;
    if (!op_is_pure((enum op)x->op) || op_is_movement((enum op)x->op)) return false;
    for (uint32_t i = 0; i < x->nsrc; i++) {
        const uop *s = x->src[i];
        while (op_is_movement((enum op)s->op)) s = s->src[0];
        if (shape_size(sg_shape(g, s)) < size) continue;
        if (any || !is_epilogue(g, s, size)) return false;
        any = true;
    }
    return any;
}

bool store_as_read(struct copy *c) {
    struct sgraph *g = c->g;
    struct readers r = readers_of(g);
    bool any = false;
    for (uint32_t u = 0; u < g->units; u++) {
        const uop *x = g->unit[u].n;
        if (g->unit[u].forced != UNIT_FORCED || is_marked(c, x, MARK_FORCED)) continue;
        const uop *p = order_read(g, &r, x, is_factor(g, u));
        if (!p || is_marked(c, p, MARK_FORCED) || !is_epilogue(g, x, shape_size(sg_shape(g, x)))) continue;
        force(c, p), any = true;
    }
    return any;
}
