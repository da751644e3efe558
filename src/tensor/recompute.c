/* recompute.c: activation checkpointing. RECOMPUTE(y, x) has the value of y; the gradient does not read what was computed between x
 * and y, but computes it again from x when it gets there, so that nothing of it is kept in between.
 *
 * Again means: the nodes on the paths from x to y are copied, with x read after dy is known: WHERE(never, dy, x), where
 * `never` is a scalar of the program that is 0. Without it the copies would be the nodes that they are copies of (equal nodes are one), or
 * would be scheduled beside them. What does not depend on x (weights, masks of dropout) is not copied.
 * Tests: tests/unit/checkpoint.c */
#include "tensor/internal.h"

/* The nodes between x and y, y included, in the order they were made. Nodes older than x do not depend on it. */
struct recompute_region {
    struct arena *a;
    const uop *x;
    uint8_t *seen, *inside; /* by node id - x->id */
    uop_vec nodes;
};

static void find_region(struct recompute_region *r, const uop *y) {
    uop_vec order = {0};
    if (y->id <= r->x->id) return;
    uint32_t n = y->id - r->x->id + 1;
    r->seen = arena_alloc(r->a, n), r->inside = arena_alloc(r->a, n);
    vec_push(r->a, &order, y);
    r->seen[n - 1] = 1;
    for (uint32_t i = 0; i < order.n; i++)
        for (uint32_t k = 0; k < order.p[i]->nsrc; k++) {
            const uop *s = order.p[i]->src[k];
            if (s->id <= r->x->id || r->seen[s->id - r->x->id]) continue;
            r->seen[s->id - r->x->id] = 1;
            vec_push(r->a, &order, s);
        }
    r->inside[0] = 1;
    const uop **by_id = arena_array(r->a, const uop *, n);
    for (uint32_t i = 0; i < order.n; i++) by_id[order.p[i]->id - r->x->id] = order.p[i];
    for (uint32_t id = 1; id < n; id++) {
        const uop *node = by_id[id];
        for (uint32_t k = 0; node && k < node->nsrc && !r->inside[id]; k++)
            r->inside[id] = node->src[k]->id >= r->x->id && r->inside[node->src[k]->id - r->x->id];
        if (r->inside[id]) vec_push(r->a, &r->nodes, node);
    }
}

static bool is_inside(const struct recompute_region *r, const uop *n) {
    return n->id >= r->x->id && n->id - r->x->id < r->nodes.p[r->nodes.n - 1]->id - r->x->id + 1 &&
           r->inside[n->id - r->x->id];
}

const uop *t_recompute(struct tg *g, const uop *y, const uop *x, const uop *never) {
    struct arena a;
    arena_init(&a, g->ir->err);
    struct recompute_region r = {.a = &a, .x = x};
    find_region(&r, y);
    bool leads = r.nodes.n > 0, assigns = false;
    for (uint32_t i = 0; i < r.nodes.n; i++) assigns |= r.nodes.p[i]->op == OP_ASSIGN;
    arena_free(&a);
    if (y == x) return y;
    if (!leads) tg_bad(g, "tensor 1 was not computed from tensor 2: there is nothing to compute again");
    if (assigns)
        tg_bad(g, "between the two a tensor is assigned to, and is then read; that cannot be done twice");
    return uop_new(g->ir, OP_RECOMPUTE, (enum dtype)y->dt, 1, (const uop *[]){y, x, never}, 3, ARG_NONE);
}

/* x, not before dy is there: one element of dy is stored and read. */
static const uop *not_before(struct tg *g, const uop *x, const uop *dy, const uop *never) {
    struct t_slice first[SHAPE_MAX];
    uint32_t rank = tg_shape(g, dy)->n;
    for (uint32_t i = 0; i < rank; i++) first[i] = (struct t_slice){.start = 0, .stop = 1, .step = 1};
    const uop *one = rank ? t_reshape(g, t_slice(g, dy, first, rank), NULL, 0) : dy;
    one = t_contiguous(g, t_detach(g, t_cast(g, one, (enum dtype)x->dt)));
    return tg_op3(g, OP_WHERE, tg_op2(g, OP_NE, never, uop_int(g->ir, DT_IDX, 0)),
                  tg_to_shape(g, one, tg_shape(g, x)), x);
}

/* The copies of the nodes; sources that are not copied and that `wanted` asks for are appended to `outer`. */
static const uop *copy_region(struct tg *g, const struct recompute_region *r, const uop *start,
                              const bool *wanted, uop_vec *outer) {
    const uop **to = arena_array(r->a, const uop *, r->nodes.p[r->nodes.n - 1]->id - r->x->id + 1),
              *last = NULL;
    uint8_t *met = arena_alloc(r->a, r->nodes.p[r->nodes.n - 1]->id + 1);
    to[0] = start;
    for (uint32_t i = 0; i < r->nodes.n; i++) {
        const uop *n = r->nodes.p[i], **src = arena_array(r->a, const uop *, n->nsrc + 1);
        uint32_t first = g->ir->n;
        for (uint32_t k = 0; k < n->nsrc; k++) {
            const uop *s = n->src[k];
            src[k] = is_inside(r, s) ? to[s->id - r->x->id] : s;
            if (is_inside(r, s) || met[s->id] || !wanted[s->id]) continue;
            met[s->id] = 1;
            vec_push(r->a, outer, s);
        }
        last = to[n->id - r->x->id] =
            uop_new(g->ir, (enum op)n->op, (enum dtype)n->dt, n->lanes, src, n->nsrc, n->arg);
        prov_inherit(&g->prov, first, g->ir->n, n->id, true);
    }
    return last;
}

uint32_t grad_recompute(struct tg *g, struct arena *a, const uop *n, const uop *dy, const bool *wanted,
                        const uop *const **to, const uop ***d) {
    const uop *y = n->src[0], *x = n->src[1];
    struct recompute_region r = {.a = a, .x = x};
    uop_vec outer = {0};
    find_region(&r, y);
    const uop *start = not_before(g, x, dy, n->src[2]);
    const uop *again = copy_region(g, &r, start, wanted, &outer);
    const uop **wrt = arena_array(a, const uop *, outer.n + 1),
              **leaf = arena_array(a, const uop *, outer.n + 1);
    uint32_t count = outer.n;
    for (uint32_t i = 0; i < outer.n; i++) wrt[i] = leaf[i] = outer.p[i];
    if (wanted[x->id]) wrt[count] = start, leaf[count] = x, count++;
    *d = arena_array(a, const uop *, count + 1);
    t_grad(g, again, dy, wrt, count, *d);
    *to = leaf;
    return count;
}
