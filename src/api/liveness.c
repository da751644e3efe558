/* liveness.c: what is alive, what leads to a parameter, and getting rid of the rest.
 *
 * gr_collect() runs after each realize, before one if handles of values in memory died since, and where memory is looked
 * at (rg_memory_of, rg_stats, snapshots, rg_collect). It walks the graph from the handles. A node that is realized needs its BUFFER; it needs its
 * history (its sources) only if a gradient can still be asked for through it, which is so exactly if the
 * history leads to the present value of a parameter. Otherwise the node is cut, for good: training loops do not grow,
 * and a value that was printed between forward and backward pass still has a gradient. State has no history: an ASSIGN
 * that ran is cut whatever it leads to (decode loops do not grow either), and its store notes that a gradient was lost.
 * Device memory that no node needs is freed at once. Nodes are only garbage then; when there are twice as many
 * as are alive, gr_compact() copies the living into a fresh arena and frees the old one.
 *
 * Everything here is linear in the nodes visited, and iterative: graphs may be a hundred thousand nodes deep.
 * Tests: tests/unit/api_memory.c, tests/semantics */
#include "internal.h"

#define NODES_MIN 4096               /* garbage nodes before compaction is worth it */
#define ARENA_MIN ((size_t)4 << 20)  /* bytes, likewise */
#define FRESH_MIN ((size_t)64 << 20) /* device bytes made without a realize before collecting */
#define LAZY_WARN 10000

static void graph_init(void *arg) {
    struct graph *g = arg;
    ir_init(&g->ir, &g->arena);
    tg_init(&g->tg, &g->ir, &g->arena);
    g->ir.notes_found = true;
    g->real_first = REAL_END;
    map_init(&g->vars, &g->arena);
    map_init(&g->var_of, &g->arena);
    map_init(&g->owner, &g->arena);
}

void gr_free(struct graph *g) {
    if (g) arena_free(&g->arena);
    mem_free(g);
}

struct graph *gr_new(rg_ctx *c) {
    struct graph *g = mem_alloc(sizeof *g);
    if (!g) err_throw(&c->err, RG_ENOMEM, "out of memory");
    *g = (struct graph){0};
    arena_init(&g->arena, &c->err);
    if (!err_guard(&c->err, graph_init, g)) return g;
    gr_free(g);
    err_throw(&c->err, RG_ENOMEM, "out of memory");
}

#define ROOM(a, v, count)                                                \
    do {                                                                 \
        if ((v)->n >= (count)) break;                                    \
        vec_need(a, v, (count) - (v)->n);                                \
        memset((v)->p + (v)->n, 0, ((count) - (v)->n) * sizeof *(v)->p); \
        (v)->n = (count);                                                \
    } while (0)

static void real_room(struct graph *g) {
    ROOM(&g->arena, &g->real, g->ir.n);
    ROOM(&g->arena, &g->real_next, g->ir.n);
    ROOM(&g->arena, &g->cut, g->ir.n);
}

void gr_real_room(rg_ctx *c) { real_room(c->graph); }

static void list_real(struct graph *g, uint32_t id) {
    if (g->real_next.p[id]) return;
    g->real_next.p[id] = g->real_first;
    g->real_first = id + 1;
}

void gr_list_real(struct graph *g) {
    if (g->real_next.n) memset(g->real_next.p, 0, g->real_next.n * sizeof *g->real_next.p);
    g->real_first = REAL_END;
    for (uint32_t id = 0; id < g->real.n; id++)
        if (g->real.p[id]) list_real(g, id);
}

void gr_set_real(rg_ctx *c, const uop *n, const uop *buf) {
    if (n == buf) return;
    c->graph->real.p[n->id] = buf->id + 1;
    c->graph->cut.p[n->id] = 0;
    list_real(c->graph, n->id);
}

bool gr_is_scalar(const uop *n) { return n->op == OP_VAR || (n->op == OP_CAST && n->src[0]->op == OP_VAR); }

void gr_forget_scalars(rg_ctx *c) {
    struct graph *g = c->graph;
    for (uint32_t at = g->real_first; at != REAL_END; at = g->real_next.p[at - 1])
        if (gr_is_scalar(g->ir.node[at - 1])) g->real.p[at - 1] = 0;
}

/* ---- walks --------------------------------------------------------------------------------------------- */

void gr_walk(rg_ctx *c, const uop *const *root, uint32_t n, walk_fn *into, void *cx, uop_vec *out) {
    struct walk_frame {
        const uop *n;
        uint32_t next, end;
    };
    VEC(struct walk_frame) stack = {0};
    struct arena *a = &c->scratch;
    uint8_t *seen = arena_alloc(a, c->graph->ir.n + 1);
    for (uint32_t i = 0; i < n; i++) {
        const uop *s = root[i];
        for (;;) {
            if (s && !seen[s->id]) {
                seen[s->id] = 1;
                vec_push(a, &stack, ((struct walk_frame){s, 0, into(cx, s) ? s->nsrc : 0}));
            }
            while (stack.n && stack.p[stack.n - 1].next == stack.p[stack.n - 1].end)
                vec_push(a, out, stack.p[--stack.n].n);
            if (!stack.n) break;
            struct walk_frame *f = &stack.p[stack.n - 1];
            s = f->n->src[f->next++];
        }
    }
}

void gr_roots(rg_ctx *c, uop_vec *out) {
    struct api_slot *s;
    for (uint32_t i = 0; (s = slot_next(c, &i));) {
        vec_push(&c->scratch, out, s->node);
        if (s->grad) vec_push(&c->scratch, out, s->grad);
        if (s->var) vec_push(&c->scratch, out, s->var);
    }
    for (uint32_t i = 0; i < c->nreads; i++) vec_push(&c->scratch, out, c->reads[i].node);
    for (uint32_t i = 0; c->outer && i < c->outer->n; i++)
        vec_push(&c->scratch, out, c->outer->value[i].node);
}

struct lead {
    rg_ctx *c;
    uint8_t *param, *lead; /* by node id */
    bool run;              /* every ASSIGN is about to run */
};

static bool lead_into(void *cx, const uop *n) {
    const struct lead *l = cx;
    return !l->param[n->id] && n->op != OP_DETACH && !is_cut(l->c, n);
}

/* State has no history: an ASSIGN that ran does not pass on what its value led to. */
static uint8_t lead_through(const struct lead *l, const uop *n) {
    return n->op == OP_ASSIGN && (l->run || is_real(l->c, n)) ? LEAD_LOST : LEAD_THROUGH;
}

static uint8_t lead_of(const struct lead *l, const uop *n) {
    bool any = false, flat = is_flat(l->c, n);
    if (l->param[n->id] || (is_cut(l->c, n) && l->param[gr_now(l->c, n)->id])) return LEAD_PARAM;
    for (uint32_t j = 0; lead_into((void *)l, n) && j < n->nsrc; j++) {
        uint8_t from = l->lead[n->src[j]->id];
        any |= (from & LEAD_ANY) && dt_is_float((enum dtype)n->dt);
        flat |= (from & (LEAD_ANY | LEAD_FLAT)) != 0;
    }
    return any ? lead_through(l, n) : flat ? LEAD_FLAT : 0;
}

const uint8_t *gr_leads(rg_ctx *c, const uop_vec *roots, bool run) {
    struct lead l = {.c = c, .run = run};
    struct api_slot *s;
    for (uint32_t i = 0; (s = slot_next(c, &i));) {
        if (!s->param) continue;
        if (!l.param) l.param = arena_alloc(&c->scratch, c->graph->ir.n + 1);
        l.param[s->node->id] = l.param[gr_now(c, s->node)->id] = 1;
    }
    if (!l.param) return NULL;
    l.lead = arena_alloc(&c->scratch, c->graph->ir.n + 1);
    uop_vec order = {0};
    gr_walk(c, roots->p, roots->n, lead_into, &l, &order);
    for (uint32_t i = 0; i < order.n; i++) l.lead[order.p[i]->id] = lead_of(&l, order.p[i]);
    return l.lead;
}

/* ---- copying --------------------------------------------------------------------------------------------- */

void gr_copy(struct arena *a, struct ir *to, const struct ir *from, const uop_vec *order, leaf_fn *leaf,
             void *cx, const uop **out) {
    VEC(const uop *) src = {0};
    for (uint32_t i = 0; i < order->n; i++) {
        const uop *n = order->p[i], *given = leaf(cx, n);
        if (!given) {
            src.n = 0;
            vec_need(a, &src, n->nsrc);
            for (uint32_t j = 0; j < n->nsrc; j++) src.p[j] = out[n->src[j]->id];
            union arg arg = n->arg;
            if (to != from && n->op == OP_VAR) arg.param.name = ir_sym(to, "s", 1);
            if (to != from && n->op == OP_CALL) {
                const char *name = ir_name(from, (uint32_t)arg.u);
                arg.u = ir_sym(to, name, strlen(name));
            }
            given = uop_new(to, (enum op)n->op, (enum dtype)n->dt, n->lanes, src.p, n->nsrc, arg);
        }
        out[n->id] = given;
    }
}

/* Whatever holds a node holds to[id] from now on. */
static void rename_nodes(rg_ctx *c, const uop *const *to) {
    struct api_slot *s;
    for (uint32_t i = 0; (s = slot_next(c, &i));) {
        s->node = to[s->node->id];
        s->grad = s->grad ? to[s->grad->id] : NULL;
        s->var = s->var ? to[s->var->id] : NULL;
    }
    for (uint32_t i = 0; i < c->nreads; i++) c->reads[i].node = to[c->reads[i].node->id];
    for (uint32_t i = 0; i < c->stores; i++) /* NULL for one that cannot be reached */
        if (c->store[i].head) c->store[i].head = to[c->store[i].head->id];
}

/* ---- collecting ------------------------------------------------------------------------------------------ */

struct live_mark {
    rg_ctx *c;
    const uint8_t *lead;
};

static bool has_history(const struct live_mark *m, const uop *n) {
    return !is_real(m->c, n) || (!is_cut(m->c, n) && m->lead && m->lead[n->id] == LEAD_THROUGH);
}

static bool mark_into(void *cx, const uop *n) {
    struct live_mark *m = cx;
    const uop *b = gr_now(m->c, n);
    if (b->op == OP_BUFFER && store_of(b) < m->c->stores) m->c->store[store_of(b)].mark = true;
    if (has_history(m, n) || gr_is_scalar(n)) return true;
    if (m->lead && m->lead[n->id] == LEAD_LOST && !is_cut(m->c, n)) {
        m->c->store[store_of(b)].lost = version_of(b);
        m->c->lost = true;
    }
    if (m->lead && m->lead[n->id] == LEAD_FLAT && !is_cut(m->c, n))
        m->c->store[store_of(b)].flat = version_of(b);
    m->c->graph->cut.p[n->id] = 1;
    return false;
}

/* A forgotten node must not be found again (interning) and lead to memory that is gone or holds another version. */
void gr_forget_dead(rg_ctx *c) {
    struct graph *g = c->graph;
    for (uint32_t *link = &g->real_first, id; *link != REAL_END;) {
        id = *link - 1;
        if (g->real.p[id]) {
            const uop *b = gr_now(c, g->ir.node[id]);
            const struct api_store *s = &c->store[store_of(b)];
            if (s->used && s->version == version_of(b)) {
                link = &g->real_next.p[id];
                continue;
            }
            g->real.p[id] = g->cut.p[id] = 0;
        }
        *link = g->real_next.p[id];
        g->real_next.p[id] = 0;
    }
}

static bool lazy_into(void *cx, const uop *n) { return !is_real(cx, n); }

/* Says once who holds a graph that only grows: an accumulator that is kept and never read. */
static void warn_large(rg_ctx *c, uint32_t lazy) {
    if (lazy < LAZY_WARN || c->warned || !warn_on()) return;
    struct api_slot *s;
    uint32_t looks = 32; /* each is a walk */
    for (uint32_t i = 0; looks && (s = slot_next(c, &i));) {
        if (is_real(c, s->node)) continue;
        struct arena_mark at = arena_mark(&c->scratch);
        uop_vec below = {0};
        gr_walk(c, &s->node, 1, lazy_into, c, &below);
        uint32_t n = below.n;
        arena_release(&c->scratch, at);
        looks--;
        if (n < LAZY_WARN) continue;
        c->warned = true;
        warn_line("%s:%d: %s: this tensor waits for %u operations; rg_realize it now and then",
                  s->file ? s->file : "unknown file", s->line, s->fn, n);
        return;
    }
}

static void collect_marks(rg_ctx *c, uop_vec *order) {
    uop_vec roots = {0};
    gr_roots(c, &roots);
    gr_real_room(c);
    struct live_mark m = {c, gr_leads(c, &roots, false)};
    for (uint32_t i = 0; i < c->stores; i++) c->store[i].mark = false;
    gr_walk(c, roots.p, roots.n, mark_into, &m, order);
    c->live_nodes = order->n;
}

/* ---- values that lost a handle ----------------------------------------------------------------------------- */

static bool left_value(const rg_ctx *c, const uop *n) {
    const uop *b = is_real(c, n) ? gr_now(c, n) : NULL;
    return b && b->op == OP_BUFFER && c->store[store_of(b)].left;
}

static bool left_into(void *cx, const uop *n) { return !is_cut(cx, n) || left_value(cx, n); }

/* By node id: c->tick when the oldest handle was made that reaches it. */
static uint64_t *handle_ages(rg_ctx *c, uop_vec *order) {
    uop_vec roots = {0};
    gr_roots(c, &roots);
    gr_walk(c, roots.p, roots.n, left_into, c, order);
    uint64_t *age = arena_array(&c->scratch, uint64_t, c->graph->ir.n + 1);
    for (uint32_t i = 0; i < order->n; i++) age[order->p[i]->id] = UINT64_MAX;
    struct api_slot *s;
    for (uint32_t i = 0; (s = slot_next(c, &i));) {
        age[s->node->id] = RG_MIN(age[s->node->id], s->born);
        if (s->grad) age[s->grad->id] = RG_MIN(age[s->grad->id], s->grad_born);
    }
    for (uint32_t i = 0; i < c->nreads; i++) age[c->reads[i].node->id] = 0;
    return age;
}

/* A value is used again only if a living handle reaches it. Interning finds the nodes of an expression that is written
 * again, and what they were realized as. So if a value's last handle died before all handles that reach its node now
 * were made, the node is not realized any more. Users come before sources. */
static void forget_left(rg_ctx *c) {
    if (!c->left) return;
    struct arena_mark at = arena_mark(&c->scratch);
    uop_vec order = {0};
    uint64_t *age = handle_ages(c, &order);
    for (uint32_t i = order.n; i-- > 0;) {
        const uop *n = order.p[i];
        if (left_value(c, n) && age[n->id] > c->store[store_of(gr_now(c, n))].left)
            c->graph->real.p[n->id] = c->graph->cut.p[n->id] = 0;
        if (is_cut(c, n)) continue;
        for (uint32_t j = 0; j < n->nsrc; j++) age[n->src[j]->id] = RG_MIN(age[n->src[j]->id], age[n->id]);
    }
    arena_release(&c->scratch, at);
    for (uint32_t i = 0; i < c->stores; i++) c->store[i].left = 0;
    c->left = false;
}

static const uop *settle_leaf(void *cx, const uop *n) { return is_cut(cx, n) ? gr_now(cx, n) : NULL; }

/* The living are rewritten to what cut nodes are now. It is not enough to know it: functions that look through views
 * must not find a history that is gone. */
static void settle(rg_ctx *c, const uop_vec *order) {
    bool any = false;
    for (uint32_t i = 0; i < order->n && !any; i++) any = is_cut(c, order->p[i]);
    if (!any) return;
    struct graph *g = c->graph;
    const uop **to = arena_array(&c->scratch, const uop *, g->ir.n);
    uint32_t found = g->ir.found.n;
    gr_copy(&c->scratch, &g->ir, &g->ir, order, settle_leaf, c, to);
    g->ir.found.n = found;
    gr_real_room(c);
    for (uint32_t i = 0; i < order->n; i++) {
        const uop *n = order->p[i], *m = to[n->id];
        if (m == n || is_cut(c, n)) continue;
        tg_shape(&g->tg, m);
        prov_copy(&g->tg.prov, m->id, n->id);
        if (is_real(c, n)) gr_set_real(c, m, gr_now(c, n));
    }
    rename_nodes(c, to);
}

static void release(rg_ctx *c, uop_vec *order) {
    forget_left(c);
    collect_marks(c, order);
    for (uint32_t i = 0; i < c->stores; i++)
        if (c->store[i].used && !c->store[i].mark && !c->store[i].held) store_drop(c, i);
    gr_forget_dead(c);
}

void gr_release(rg_ctx *c) {
    struct arena_mark at = arena_mark(&c->scratch);
    uop_vec order = {0};
    release(c, &order);
    arena_release(&c->scratch, at);
}

void gr_collect(rg_ctx *c) {
    struct arena_mark at = arena_mark(&c->scratch);
    uop_vec order = {0};
    release(c, &order);
    settle(c, &order);
    c->fresh_bytes = 0;
    uint32_t lazy = 0;
    for (uint32_t i = 0; i < order.n; i++) lazy += !is_real(c, order.p[i]);
    warn_large(c, lazy);
    uint64_t live = order.n;
    arena_release(&c->scratch, at);
    if (c->outer) return; /* it knows nodes by id */
    uint64_t garbage = c->graph->ir.n - RG_MIN(live, c->graph->ir.n);
    if (garbage > RG_MAX(NODES_MIN, 2 * live) || c->graph->arena.used > RG_MAX(ARENA_MIN, 4 * c->arena_low))
        gr_compact(c);
}

void gr_collect_left(rg_ctx *c) {
    if (c->left) gr_collect(c);
}

void gr_collect_maybe(rg_ctx *c) {
    if (c->fresh_bytes > RG_MAX(FRESH_MIN, c->bytes - RG_MIN(c->bytes, c->fresh_bytes)) ||
        c->graph->ir.n > RG_MAX(4 * NODES_MIN, 4 * (uint64_t)c->nodes_low) ||
        c->graph->arena.used > RG_MAX(4 * ARENA_MIN, 8 * c->arena_low)) {
        gr_collect(c);
        if (c->nodes_low < c->graph->ir.n / 2)
            c->nodes_low = c->graph->ir.n / 2; /* much is alive: wait for more */
        if (c->arena_low < c->graph->arena.used / 4) c->arena_low = c->graph->arena.used / 4;
    }
}

/* ---- compaction ------------------------------------------------------------------------------------------- */

struct live_move {
    rg_ctx *c; /* with the old graph */
    struct graph *g;
    const uop **to; /* by old id */
};

/* What realized nodes are now, with its dims, before everything that stands for it. */
static void add_buffers(rg_ctx *c, const uop_vec *order, uop_vec *out) {
    uint8_t *seen = arena_alloc(&c->scratch, c->graph->ir.n + 1);
    for (uint32_t i = 0; i < order->n; i++) {
        const uop *b = gr_now(c, order->p[i]);
        if (b == order->p[i] || seen[b->id]) continue;
        seen[b->id] = 1;
        for (uint32_t j = 0; j < b->nsrc; j++) vec_push(&c->scratch, out, b->src[j]);
        vec_push(&c->scratch, out, b);
    }
    for (uint32_t i = 0; i < order->n; i++) vec_push(&c->scratch, out, order->p[i]);
}

static const uop *move_leaf(void *cx, const uop *n) {
    struct live_move *m = cx;
    return is_cut(m->c, n) ? m->to[gr_now(m->c, n)->id] : NULL;
}

static void move_sites(struct live_move *m, const uop *from, const uop *to) {
    const struct prov *p = &m->c->graph->tg.prov;
    const uint32_t *set = p->set.p[prov_set_of(p, from->id)];
    m->g->tg.prov.epoch = p->of.p[from->id].epoch;
    for (uint32_t i = 0; i < set[0]; i++) {
        const struct site *s = &p->site.p[set[1 + i]];
        prov_add(&m->g->tg.prov, to->id,
                 prov_site(&m->g->tg.prov, s->file, s->line, s->fn, s->module, s->part));
    }
}

static void move_facts(struct live_move *m, const uop_vec *order) {
    if (!m->g->ir.n) return; /* nothing is alive */
    real_room(m->g);
    for (uint32_t i = 0; i < order->n; i++) {
        const uop *from = order->p[i], *to = m->to[from->id];
        if (from->op == OP_VAR) {
            uint64_t v = 0;
            map_get(&m->c->graph->vars, from->arg.param.slot, &v);
            map_put(&m->g->vars, from->arg.param.slot, v);
            map_get(&m->c->graph->var_of, from->arg.param.slot, &v);
            map_put(&m->g->var_of, from->arg.param.slot, v);
        }
        if (is_cut(m->c, from)) continue;
        if (is_real(m->c, from)) m->g->real.p[to->id] = m->to[gr_now(m->c, from)->id]->id + 1;
        if (prov_set_of(&m->c->graph->tg.prov, from->id)) move_sites(m, from, to);
        if (tg_is_named(&m->c->graph->tg, from)) {
            while (m->g->tg.named.n <= to->id) vec_push(&m->g->arena, &m->g->tg.named, 0);
            tg_name(&m->g->tg, to);
        }
        tg_shape(&m->g->tg, to);
    }
    gr_list_real(m->g);
}

static void move_body(void *arg) {
    struct live_move *m = arg;
    rg_ctx *c = m->c;
    uop_vec order = {0}, all = {0};
    collect_marks(c, &order);
    add_buffers(c, &order, &all);
    m->to = arena_array(&c->scratch, const uop *, c->graph->ir.n);
    gr_copy(&c->scratch, &m->g->ir, &c->graph->ir, &all, move_leaf, m, m->to);
    move_facts(m, &all);
    m->g->tg.prov.epoch = c->graph->tg.prov.epoch;
}

/* From here on nothing can fail. */
static void move_commit(struct live_move *m) {
    rg_ctx *c = m->c;
    rename_nodes(c, m->to);
    gr_free(c->graph);
    c->graph = m->g;
    c->nodes_low = c->graph->ir.n;
    c->arena_low = c->graph->arena.used;
}

void gr_compact(rg_ctx *c) {
    struct arena_mark at = arena_mark(&c->scratch);
    struct live_move *m = arena_new(&c->scratch, struct live_move);
    m->c = c;
    m->g = gr_new(c);
    if (err_guard(&c->err, move_body, m)) {
        gr_free(m->g);
        err_throw(&c->err, c->err.code, "out of memory"); /* on to the guard of the call */
    }
    move_commit(m);
    arena_release(&c->scratch, at);
}
