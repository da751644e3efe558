/* realize.c: what has to run when a value is asked for (rg_read, rg_item, rg_realize), and running it.
 *
 *   queue      each store's newest ASSIGN that a handle can reach; all of them run in every plan
 *   joiners    living tensors that depend on a version that the queue replaces: computed in the same plan ..
 *   movers     .. unless they are mere steps on the way to others, which are never read (slot.used), or show the old version itself:
 *              then the new version goes to other memory, and the old one stays until it is not needed
 *   roots      what was asked for, asynchronous reads, queue and joiners; each gets memory
 *   program    copied into an ir of its own with BUFFERs and VARs numbered by age, so that step n+1 is the program of step n
 *   run        by the engine; after that nothing can fail: nodes become realized, stores get their next version
 *
 * Invariant after a run: no living tensor depends on a version that is not in memory.
 * Tests: tests/semantics, tests/unit/api*.c */
#include "internal.h"

#include <math.h>
#include <stdlib.h>

struct api_plan {
    struct api_call *k;
    rg_ctx *c;
    const uint8_t *lead; /* see gr_leads */
    uint8_t *dirty;      /* by node id: reads a version that is overwritten */
    uint8_t *rooted;     /* by node id */
    uint8_t *gradient;   /* by node id: a parameter's */
    uop_vec root;        /* values wanted; an ASSIGN here is the head of its store */
    uop_vec mover;       /* values whose old versions stay */
    uop_vec held;        /* by root: the BUFFER it will be */
    VEC(uint32_t) into;  /* by root: store of its result */
    VEC(uint32_t) home;  /* by root: store of the version before, if it is an ASSIGN */
    uop_vec alias;       /* by root: realized as `held` too (the version that is copied out), or NULL */
    /* the program */
    struct ir first, ir;
    const uop *graph;
    const uint32_t *origin; /* by node id of ir: 1 + id of the node it was made from, or 0 */
    const uint8_t *before;  /* by node id of c->graph: it was computed before; see mark_old */
    uint32_t *number;       /* by node id: of a BUFFER or VAR in the program */
    const uop **copy;       /* by node id: what it is in `first` .. */
    const uop **chain;      /* .. and for an ASSIGN, what the next one builds on */
    uint8_t *seen;          /* by node id: an ASSIGN that is read, not only built on */
    VEC(void *) buf;
    VEC(void *) result;
    VEC(int64_t) var;
    VEC(uint32_t) buf_store, result_store, var_number; /* where these come from */
};

/* ---- the queue ----------------------------------------------------------------------------------------- */

static bool lazy_into(void *cx, const uop *n) { return !is_real(cx, n); }

/* The newest version of each store that can be reached; what cannot be reached any more is not written. */
static void find_heads(struct api_plan *p, const uop_vec *alive) {
    rg_ctx *c = p->c;
    uop_vec order = {0};
    gr_walk(c, alive->p, alive->n, lazy_into, c, &order);
    for (uint32_t i = 0; i < c->stores; i++)
        c->store[i].head = NULL, c->store[i].over = c->store[i].moved = false;
    for (uint32_t i = 0; i < order.n; i++) {
        const uop *n = order.p[i];
        if (n->op != OP_ASSIGN || is_real(c, n)) continue;
        struct api_store *s = &c->store[store_of(gr_chain_root(c, n))];
        s->head = n, s->over = true; /* older versions come first in the walk */
    }
}

static bool is_head(const rg_ctx *c, const uop *n) {
    return n->op == OP_ASSIGN && c->store[store_of(gr_chain_root(c, n))].head == n;
}

/* n is a version that this plan replaces. */
static bool is_old(const rg_ctx *c, const uop *n) {
    if (n->op != OP_BUFFER && n->op != OP_ASSIGN) return false;
    return c->store[store_of(gr_chain_root(c, n))].over && !is_head(c, n);
}

/* ---- who reads old versions ------------------------------------------------------------------------------ */

static bool dirty_into(void *cx, const uop *n) {
    const rg_ctx *c = cx;
    return !is_real(c, n) && !is_head(c, n);
}

static void find_dirty(struct api_plan *p, const uop_vec *alive) {
    rg_ctx *c = p->c;
    uop_vec order = {0};
    gr_walk(c, alive->p, alive->n, dirty_into, c, &order);
    p->dirty = arena_alloc(&c->scratch, c->graph->ir.n + 1);
    for (uint32_t i = 0; i < order.n; i++) {
        const uop *n = order.p[i];
        bool d = is_old(c, gr_now(c, n));
        if (dirty_into(c, n))
            for (uint32_t j = 0; j < n->nsrc && !d; j++) d = p->dirty[n->src[j]->id];
        p->dirty[n->id] = d;
    }
}

static void add_root(struct api_plan *p, const uop *n) {
    rg_ctx *c = p->c;
    n = gr_now(c, n);
    if (n->op == OP_BUFFER || p->rooted[n->id]) return; /* is there, or will be */
    p->rooted[n->id] = 1;
    const uop *alias = NULL;
    if (is_old(c, n)) { /* a version between two assignments is copied out when it is there */
        uint32_t s = store_new(c, store_bytes(c, n), c->store[store_of(gr_chain_root(c, n))].kind);
        const uop *b = store_node(c, s, c->store[s].version, (enum dtype)n->dt, tg_shape(&c->graph->tg, n));
        alias = n;
        n = c->store[s].head = uop2(&c->graph->ir, OP_ASSIGN, b, n);
    }
    vec_push(&c->scratch, &p->alias, alias);
    vec_push(&c->scratch, &p->root, n);
}

/* What a view shows, as long as that is not more than the view: a broadcast is not materialized. */
static const uop *peel(rg_ctx *c, const uop *n) {
    struct tg *g = &c->graph->tg;
    for (n = gr_now(c, n);
         n->op == OP_DETACH || (op_is_movement((enum op)n->op) && n->op != OP_PAD && n->op != OP_FOLD);
         n = gr_now(c, n->src[0]))
        if (shape_size(tg_shape(g, n->src[0])) > shape_size(tg_shape(g, n))) break;
    return n;
}

static bool is_number(const uop *n) { return n->op == OP_CONST || gr_is_scalar(n); }

/* n may be read after this plan. */
static void keep_readable(struct api_plan *p, const uop *n, bool on_the_way) {
    if (!p->dirty[n->id]) return;
    n = peel(p->c, n);
    if (n->op == OP_BUFFER || (on_the_way && !p->rooted[n->id]))
        vec_push(&p->c->scratch, &p->mover, n);
    else
        add_root(p, n);
}

/* All old versions in memory that movers read stay. */
static void keep_versions(struct api_plan *p) {
    rg_ctx *c = p->c;
    uop_vec order = {0};
    gr_walk(c, p->mover.p, p->mover.n, dirty_into, c, &order);
    for (uint32_t i = 0; i < order.n; i++) {
        const uop *b = gr_now(c, order.p[i]);
        if (b->op == OP_BUFFER && is_old(c, b)) c->store[store_of(b)].moved = true;
    }
}

/* Histories of values in memory that lead to a parameter: a gradient may ask for what they read. */
static bool history_into(void *cx, const uop *n) {
    const struct api_plan *p = cx;
    return n->op != OP_ASSIGN && !is_cut(p->c, n) && (!is_real(p->c, n) || p->lead[n->id] == LEAD_THROUGH);
}

static void keep_histories(struct api_plan *p, const uop_vec *alive) {
    if (!p->lead) return;
    uop_vec order = {0}, below = {0}, real = {0};
    gr_walk(p->c, alive->p, alive->n, history_into, p, &order);
    for (uint32_t i = 0; i < order.n; i++) { /* realized, or about to be */
        const uop *n = order.p[i];
        if (!(is_real(p->c, n) || p->rooted[n->id]) || is_cut(p->c, n)) continue;
        if (p->lead[n->id] != LEAD_THROUGH) continue;
        for (uint32_t j = 0; j < n->nsrc; j++) vec_push(&p->c->scratch, &real, n->src[j]);
    }
    gr_walk(p->c, real.p, real.n, history_into, p, &below);
    for (uint32_t i = 0; i < below.n; i++) {
        const uop *b = gr_now(p->c, below.p[i]);
        if (b->op == OP_BUFFER && is_old(p->c, b)) p->c->store[store_of(b)].moved = true;
    }
}

static int by_serial(const void *a, const void *b) {
    const struct api_store *const *x = a, *const *y = b;
    return (*x)->serial < (*y)->serial ? -1 : (*x)->serial > (*y)->serial;
}

static void add_heads(struct api_plan *p) {
    rg_ctx *c = p->c;
    VEC(struct api_store *) s = {0};
    for (uint32_t i = 0; i < c->stores; i++)
        if (c->store[i].head) vec_push(&c->scratch, &s, &c->store[i]);
    if (s.n) qsort(s.p, s.n, sizeof *s.p, by_serial);
    for (uint32_t i = 0; i < s.n; i++) add_root(p, s.p[i]->head);
}

/* An exchange with other ranks happens once: what it gave is kept, as far as anything can ask for it. */
static void add_collectives(struct api_plan *p) {
    uop_vec order = {0};
    const uop *last = chain_node(p->c);
    if (last) add_root(p, last); /* every plan runs all that were called */
    gr_walk(p->c, p->root.p, p->root.n, lazy_into, p->c, &order);
    for (uint32_t i = 0; i < order.n; i++)
        if (order.p[i]->op == OP_CALL && call_of(&p->c->graph->ir, order.p[i]) == CALL_collective)
            add_root(p, order.p[i]);
}

static void find_roots(struct api_plan *p, const uop *const *ask, uint32_t n, bool peeled) {
    rg_ctx *c = p->c;
    uop_vec alive = {0};
    gr_roots(c, &alive);
    for (uint32_t i = 0; i < n; i++) vec_push(&c->scratch, &alive, ask[i]);
    find_heads(p, &alive);
    gr_real_room(c);
    p->lead = gr_leads(c, &alive, true);
    p->rooted = arena_alloc(&c->scratch, c->graph->ir.n + 1);
    p->gradient = arena_alloc(&c->scratch, c->graph->ir.n + 1);
    find_dirty(p, &alive);
    add_heads(p);
    for (uint32_t i = 0; i < n; i++) {
        const uop *v = peeled ? peel(c, ask[i]) : ask[i];
        if (!peeled || !is_number(v)) add_root(p, v);
        if (gr_now(c, v)->op == OP_BUFFER) keep_readable(p, ask[i], false);
    }
    for (uint32_t i = 0; i < c->nreads; i++) {
        add_root(p, c->reads[i].node);
        if (gr_now(c, c->reads[i].node)->op == OP_BUFFER) keep_readable(p, c->reads[i].node, false);
    }
    struct api_slot *s;
    for (uint32_t i = 0; (s = slot_next(c, &i));) {
        keep_readable(p, s->node, s->used);
        if (!s->grad) continue;
        p->gradient[gr_now(c, s->grad)->id] = p->gradient[peel(c, s->grad)->id] = 1;
        keep_readable(p, s->grad, s->grad_used);
    }
    if (c->worlds) add_collectives(p);
    keep_versions(p);
    keep_histories(p, &alive);
}

/* ---- memory for them ---------------------------------------------------------------------------------------- */

/* A replay writes the same memory each time. */
static void check_in_place(struct api_plan *p) {
    rg_ctx *c = p->c;
    struct api_slot *s;
    for (uint32_t k = 0; (s = slot_next(c, &k));) {
        const uop *b = gr_now(c, s->node);
        if (b->op != OP_ASSIGN || !c->store[store_of(gr_chain_root(c, b))].moved) continue;
        call_fail(p->k, RG_EINVAL,
                  "while a jit is recorded, the tensor made by %s at %s:%d is assigned, and a tensor that is "
                  "still alive "
                  "needs its old value; a replay updates in place: end the scope of what was computed from "
                  "it first",
                  s->fn, s->file ? s->file : "an unknown file", s->line);
    }
}

static uint32_t parts(rg_ctx *c, const uop *n) {
    const struct prov *prov = &c->graph->tg.prov;
    const uint32_t *set = prov->set.p[prov_set_of(prov, n->id)];
    uint32_t part = 0;
    for (uint32_t i = 1; i <= set[0]; i++) {
        uint8_t of = prov->site.p[set[i]].part;
        part |= of & SITE_BACKWARD ? PART_BACKWARD : of & SITE_OPTIMISER ? PART_OPTIMISER : PART_FORWARD;
    }
    /* The optimiser stores gradients before it uses them. */
    if (part == PART_OPTIMISER && n->op == OP_CONTIGUOUS) part |= parts(c, gr_now(c, n->src[0]));
    return part;
}

/* What a value that gets memory is for. Data that was only cast or copied is still data. */
static enum event_memory kind_of(const struct api_plan *p, const uop *n) {
    rg_ctx *c = p->c;
    if (p->gradient[n->id] || parts(c, n) & PART_BACKWARD) return EVENT_MEM_GRADIENT;
    if (p->lead && p->lead[n->id] & LEAD_ANY) return EVENT_MEM_ACTIVATION;
    for (;;) {
        n = gr_now(c, n);
        if (n->op == OP_BUFFER && c->store[store_of(n)].kind == EVENT_MEM_DATA) return EVENT_MEM_DATA;
        bool same = op_is_movement((enum op)n->op) || n->op == OP_CONTIGUOUS || n->op == OP_CAST;
        if (!same) return EVENT_MEM_VALUE;
        n = n->src[0];
    }
}

/* All that the end of the run needs is made before it. */
static void make_room(struct api_plan *p) {
    rg_ctx *c = p->c;
    for (uint32_t i = 0; i < p->root.n; i++) {
        const uop *n = p->root.p[i];
        const struct shape *sh = tg_shape(&c->graph->tg, n);
        uint32_t s, version = 0;
        vec_push(&c->scratch, &p->home, n->op == OP_ASSIGN ? store_of(gr_chain_root(c, n)) : 0);
        if (n->op != OP_ASSIGN) {
            s = store_new(c, store_bytes(c, n), kind_of(p, n));
        } else if (s = p->home.p[i], c->store[s].moved) {
            uint32_t to = store_new(c, c->store[s].bytes, c->store[s].kind); /* the same tensor, elsewhere */
            c->store[to].label = c->store[s].label;
            c->store[to].serial = c->store[s].serial;
            c->store[to].moves = c->store[s].moves + 1;
            c->store[s].to = i;
            s = to;
        } else {
            version = 1;
        }
        store_need(c, s, n);
        vec_push(&c->scratch, &p->into, s);
        vec_push(&c->scratch, &p->held,
                 store_node(c, s, c->store[s].version + version, (enum dtype)n->dt, sh));
    }
    gr_real_room(c);
}

static void commit(struct api_plan *p) {
    rg_ctx *c = p->c;
    for (uint32_t i = 0; i < p->root.n; i++) {
        const uop *n = p->root.p[i];
        if (n->op == OP_ASSIGN) {
            struct api_store *s = &c->store[p->home.p[i]];
            s->version += !s->moved;
            s->frozen |= s->moved;
            s->head = NULL, s->over = s->moved = false;
        }
        gr_set_real(c, n, p->held.p[i]);
        if (p->alias.p[i]) gr_set_real(c, p->alias.p[i], p->held.p[i]);
    }
}

/* ---- the program ---------------------------------------------------------------------------------------------- */

struct leaf {
    const uop *n; /* BUFFER or VAR */
    uint64_t age, then;
};

static int by_age(const void *a, const void *b) {
    const struct leaf *x = a, *y = b;
    if (x->n->op != y->n->op) return x->n->op < y->n->op ? -1 : 1;
    if (x->age != y->age) return x->age < y->age ? -1 : 1;
    return x->then < y->then ? -1 : x->then > y->then;
}

static struct leaf leaf_age(rg_ctx *c, const uop *n) {
    struct leaf l = {n, 0, n->arg.param.slot};
    if (n->op == OP_VAR) return map_get(&c->graph->var_of, n->arg.param.slot, &l.age), l;
    const struct api_store *s = &c->store[store_of(n)];
    RG_CHECK(&c->err, s->used && s->version == version_of(n)); /* the invariant above */
    if (s->stands_for) return (struct leaf){n, s->stands_for, 1ull << 32 | store_of(n)};
    return (struct leaf){n, s->serial, s->moves};
}

/* Numbers BUFFERs and VARs by age: programs of equal steps get equal numbers. */
static void number_leaves(struct api_plan *p, const uop_vec *order) {
    rg_ctx *c = p->c;
    VEC(struct leaf) leaf = {0};
    p->number = arena_array(&c->scratch, uint32_t, c->graph->ir.n + 1);
    for (uint32_t i = 0; i < order->n; i++) {
        const uop *n = gr_now(c, order->p[i]);
        if ((n->op != OP_BUFFER && n->op != OP_VAR) || p->number[n->id]) continue;
        p->number[n->id] = 1;
        vec_push(&c->scratch, &leaf, leaf_age(c, n));
    }
    for (uint32_t i = 0; i < p->held.n; i++) /* memory that versions move to */
        if (p->root.p[i]->op == OP_ASSIGN && c->store[p->home.p[i]].moved)
            vec_push(&c->scratch, &leaf, leaf_age(c, p->held.p[i]));
    if (leaf.n) qsort(leaf.p, leaf.n, sizeof *leaf.p, by_age);
    for (uint32_t i = 0; i < leaf.n; i++) {
        const uop *n = leaf.p[i].n;
        uint64_t bits = 0;
        p->number[n->id] = n->op == OP_BUFFER ? p->buf.n : p->var.n;
        if (n->op == OP_VAR) map_get(&c->graph->vars, n->arg.param.slot, &bits);
        if (n->op == OP_VAR) {
            vec_push(&c->scratch, &p->var, (int64_t)bits);
            vec_push(&c->scratch, &p->var_number, n->arg.param.slot);
        } else {
            vec_push(&c->scratch, &p->buf, c->store[store_of(n)].mem);
            vec_push(&c->scratch, &p->buf_store, store_of(n));
        }
    }
}

static const uop *program_leaf(struct api_plan *p, const uop *n) {
    const uop *src[SHAPE_MAX];
    for (uint32_t i = 0; i < n->nsrc; i++)
        src[i] = uop_new(&p->first, OP_CONST, (enum dtype)n->src[i]->dt, 1, NULL, 0, n->src[i]->arg);
    union arg arg = {.u = p->number[n->id]};
    if (n->op == OP_VAR) {
        char name[16];
        int len = snprintf(name, sizeof name, "s%u", p->number[n->id]);
        arg.param.slot = p->number[n->id], arg.param.name = ir_sym(&p->first, name, (size_t)len);
    }
    return uop_new(&p->first, (enum op)n->op, (enum dtype)n->dt, 1, src, n->nsrc, arg);
}

/* What an ASSIGN builds on. One to all of its store needs nothing of what was there; but versions that others read in
 * between come before it: in memory they form one chain. */
static const uop *program_base(const struct api_plan *p, const uop *n) {
    const uop *b = gr_now(p->c, n->src[0]);
    if (n->nsrc > 2) return b;
    while (b->op == OP_ASSIGN && !(b->nsrc > 2 && p->seen[b->id])) b = gr_now(p->c, b->src[0]);
    return b;
}

static const uop *program_assign(struct api_plan *p, const uop *n) {
    rg_ctx *c = p->c;
    const uop *old = program_base(p, n), *src[2 + 3 * SHAPE_MAX];
    const uop *to = old->op == OP_ASSIGN ? p->chain[old->id] : program_leaf(p, old);
    if (old->op == OP_BUFFER && p->held.n && c->store[store_of(old)].moved) {
        const uop *elsewhere = program_leaf(p, p->held.p[c->store[store_of(old)].to]);
        to = n->nsrc > 2 ? uop2(&p->first, OP_ASSIGN, elsewhere, to) : elsewhere; /* with the rest of it */
    }
    for (uint32_t i = 0; i < n->nsrc; i++) src[i] = i ? p->copy[n->src[i]->id] : to;
    return uop_mk(&p->first, OP_ASSIGN, src, n->nsrc, ARG_NONE);
}

/* Who reads a version that was written whole and then replaced reads what was written. */
static const uop *leaf_of(void *cx, const uop *n) {
    struct api_plan *p = cx;
    n = gr_now(p->c, n);
    if (n->op == OP_BUFFER || n->op == OP_VAR) return program_leaf(p, n);
    if (n->op == OP_GRAD_THROUGH || n->op == OP_GRAD_STORED || n->op == OP_ONCE_DIFF ||
        n->op == OP_RECOMPUTE || n->op == OP_DETACH)
        return p->copy[n->src[0]->id]; /* the rest is for gradients */
    if (n->op != OP_ASSIGN) return NULL;
    p->chain[n->id] = program_assign(p, n);
    return n->nsrc == 2 && !is_head(p->c, n) ? p->copy[n->src[1]->id] : p->chain[n->id];
}

/* What is left of a value without its gradient (GRAD_THROUGH) may be another tensor's memory: the result is a copy of that. */
static const uop *program_result(struct api_plan *p, const uop *n) {
    const uop *v = p->copy[n->id];
    bool others = n->op != OP_ASSIGN && (v->op == OP_BUFFER || v->op == OP_ASSIGN);
    return others ? uop1(&p->first, OP_CONTIGUOUS, v) : v;
}

/* By id: values computed before, and views of them that were there: who asked for those got them then. */
static uint8_t *mark_old(const struct api_plan *p, const uop_vec *order) {
    rg_ctx *c = p->c;
    uint8_t *old = arena_alloc(&c->scratch, c->graph->ir.n + 1);
    for (uint32_t i = 0; i < order->n; i++) {
        const uop *n = order->p[i], *now = gr_now(c, n);
        bool view =
            op_is_movement((enum op)n->op) && n->op != OP_PAD && n->op != OP_FOLD && n->op != OP_CONTIGUOUS;
        view = view && old[n->src[0]->id] && !prov_is_new(&c->graph->tg.prov, n->id);
        old[n->id] = now->op == OP_BUFFER || now->op == OP_VAR || view;
    }
    for (uint32_t i = 0; i < p->root.n; i++) old[p->root.p[i]->id] = 0; /* what is asked for now */
    return old;
}

/* Twice: the first copy puts operands into an order that does not depend on history, the second numbers its nodes. */
static void write_program(struct api_plan *p) {
    rg_ctx *c = p->c;
    struct arena *a = &c->scratch;
    uop_vec want = {0}, order = {0}, src = {0}, again = {0};
    for (uint32_t i = 0; i < p->root.n; i++) {
        if (!store_bytes(c, p->root.p[i])) continue; /* nothing to compute */
        vec_push(a, &want, p->root.p[i]);
        vec_push(a, &p->result, p->into.n ? c->store[p->into.p[i]].mem : NULL);
        vec_push(a, &p->result_store, p->into.n ? p->into.p[i] : 0);
    }
    if (!want.n) return;
    gr_walk(c, want.p, want.n, lazy_into, c, &order);
    number_leaves(p, &order);
    const uop **copy = p->copy = arena_array(a, const uop *, c->graph->ir.n);
    p->chain = arena_array(a, const uop *, c->graph->ir.n);
    p->seen = arena_alloc(a, c->graph->ir.n + 1);
    for (uint32_t i = 0; i < order.n; i++)
        for (uint32_t j = order.p[i]->op == OP_ASSIGN; j < order.p[i]->nsrc; j++)
            p->seen[order.p[i]->src[j]->id] = 1;
    ir_init(&p->first, a);
    ir_init(&p->ir, a);
    gr_copy(a, &p->first, &c->graph->ir, &order, leaf_of, p, copy);
    for (uint32_t i = 0; i < want.n; i++) vec_push(a, &src, program_result(p, want.p[i]));
    const uop *g = uop_new(&p->first, OP_GRAPH, DT_VOID, 1, src.p, src.n, ARG_NONE);
    uint32_t *from = arena_array(a, uint32_t, p->first.n + 1), *origin;
    p->before = mark_old(p, &order);
    for (uint32_t i = 0; i < order.n; i++) { /* a DETACH stands for its source, and has no line of its own */
        uint32_t *at = &from[copy[order.p[i]->id]->id];
        if (!*at || order.p[i]->op != OP_DETACH) *at = order.p[i]->id + 1;
    }
    uop_topo(a, &g, 1, &again);
    p->graph = ir_import(&p->ir, &p->first, g);
    RG_CHECK(&c->err, p->ir.n == again.n); /* node i of the copy is the i-th in that order */
    p->origin = origin = arena_array(a, uint32_t, again.n);
    for (uint32_t i = 0; i < again.n; i++) origin[i] = from[again.p[i]->id];
}

static uint32_t sites_of(struct api_plan *p, const uint32_t *node, uint32_t n, bool all) {
    struct prov *prov = &p->c->graph->tg.prov;
    uint32_t set = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t from = node[i] < p->ir.n ? p->origin[node[i]] : 0;
        if (from && (all || !p->before[from - 1])) set = prov_union(prov, set, prov_set_of(prov, from - 1));
    }
    return set;
}

/* A kernel that only copies has the line of what it copies. */
static void site_text(void *cx, struct str *out, const uint32_t *node, uint32_t n) {
    struct api_plan *p = cx;
    uint32_t set = sites_of(p, node, n, false);
    prov_print(out, &p->c->graph->tg.prov, set ? set : sites_of(p, node, n, true), 3);
}

/* Of the sites of all nodes: where it changes, a plan that is used again runs for other lines. */
static uint64_t sites_hash(const struct api_plan *p) {
    const struct prov *prov = &p->c->graph->tg.prov;
    uint64_t h = 1;
    for (uint32_t i = 0; i < p->ir.n; i++)
        if (p->origin[i]) h = hash_u64(h ^ prov_set_of(prov, p->origin[i] - 1));
    return h | 1;
}

static uint32_t part_bits(void *cx, const uint32_t *node, uint32_t n) {
    struct api_plan *p = cx;
    uint32_t part = 0;
    for (uint32_t i = 0; i < n; i++)
        if (node[i] < p->ir.n && p->origin[node[i]])
            part |= parts(p->c, p->c->graph->ir.node[p->origin[node[i]] - 1]);
    return part;
}

/* ---- running it --------------------------------------------------------------------------------------------------- */

static void run_program(struct api_plan *p, struct realize_stats *plan) {
    rg_ctx *c = p->c;
    struct realize r = {.ir = &p->ir,
                        .graph = p->graph,
                        .buf = p->buf.p,
                        .result = p->result.p,
                        .var = p->var.p,
                        .site = site_text,
                        .sites = sites_hash(p),
                        .part = part_bits,
                        .cx = p};
    struct jit_program run = {.r = &r,
                              .nbuf = p->buf.n,
                              .nresult = p->result.n,
                              .nvar = p->var.n,
                              .buf_store = p->buf_store.p,
                              .result_store = p->result_store.p,
                              .var_number = p->var_number.p};
    struct realize_stats st = {0};
    if (c->recording && !plan) jit_note(c, &run);
    int bad = plan ? engine_plan(c->engine, &c->err, &r, &st) : engine_realize(c->engine, &c->err, &r, &st);
    if (bad) err_throw(&c->err, bad, "the engine failed");
    if (plan) {
        *plan = st;
        return;
    }
    if (c->recording) jit_noted(c, &st);
    c->realizes++, c->graph->tg.prov.epoch++;
    c->cached += st.cached;
    c->kernels += st.kernels;
    c->moved += st.bytes, c->ops += st.ops, c->seconds += (double)st.run_ns * 1e-9;
}

static void finish_reads(rg_ctx *c) {
    while (c->nreads) {
        struct async_read r = c->reads[--c->nreads];
        const uop *b = gr_now(c, r.node);
        if (r.bytes && engine_copy(c->engine, &c->err, COPY_OUT, r.out, c->store[store_of(b)].mem, r.bytes))
            err_throw(&c->err, c->err.code, "the copy failed");
    }
}

/* Runs these ASSIGNs and nothing else, and does not record it. */
static void realize_promises(struct api_call *k, const uop *const *assign, uint32_t n) {
    rg_ctx *c = k->c;
    struct rg_jit *recording = c->recording;
    struct api_plan *p = arena_new(&c->scratch, struct api_plan);
    p->k = k, p->c = c;
    for (uint32_t i = 0; i < c->stores; i++)
        c->store[i].head = NULL, c->store[i].over = c->store[i].moved = false;
    for (uint32_t i = 0; i < n; i++) {
        c->store[store_of(assign[i]->src[0])].head = assign[i];
        vec_push(&c->scratch, &p->alias, NULL);
        vec_push(&c->scratch, &p->root, assign[i]);
    }
    c->recording = NULL;
    make_room(p);
    write_program(p);
    if (p->graph) run_program(p, NULL);
    commit(p);
    c->recording = recording;
}

void realize_nodes(struct api_call *k, const uop *const *ask, uint32_t n, bool peeled,
                   struct realize_stats *plan) {
    rg_ctx *c = k->c;
    struct api_plan *p = arena_new(&c->scratch, struct api_plan);
    p->k = k, p->c = c;
    if (plan) *plan = (struct realize_stats){0};
    uop_vec promised = outer_need(c, ask, n);
    if (promised.n) realize_promises(k, promised.p, promised.n);
    find_roots(p, ask, n, peeled);
    if (c->recording && !plan) check_in_place(p);
    c->planning = true;
    if (!plan) make_room(p);
    if (c->recording && !plan) jit_writes(k, p->into.p, p->into.n);
    c->planning = false;
    write_program(p);
    if (p->graph) run_program(p, plan);
    if (plan) return;
    commit(p);
    chain_ran(c);
    finish_reads(c);
    if (p->root.n) gr_collect(c);
}

/* ---- the public calls ------------------------------------------------------------------------------------------------ */

static void do_realize(struct api_call *k) {
    call_collect(k);
    k->many = arena_array(&k->c->scratch, const uop *, k->list.n + 1);
    for (size_t i = 0; i < k->list.n; i++) k->many[i] = call_slot(k, k->list.t[i], (uint32_t)i)->node;
    realize_nodes(k, k->many, (uint32_t)k->list.n, true, k->p);
}

rg_status rg_realize_at(const char *file, int line, rg_tensor x) {
    x.id &= ~TEMPORARY;
    return call_work(CALL(realize, .list = {&x, 1}), do_realize);
}

rg_status rg_realize_all_at(const char *file, int line, rg_tensors xs) {
    if (!xs.n || !xs.t) return RG_OK;
    return call_work(CALL(realize_all, .list = xs), do_realize);
}

rg_status rg_schedule_stats_at(const char *file, int line, rg_tensors xs, rg_plan_stats *out) {
    struct realize_stats st = {0};
    if (out) *out = (rg_plan_stats){0};
    if (!xs.n || !xs.t) return RG_OK;
    rg_status bad = call_work(CALL(schedule_stats, .list = xs, .p = &st), do_realize);
    if (!bad && out)
        *out = (rg_plan_stats){.kernels = st.kernels,
                               .distinct = st.distinct,
                               .reads = st.reads,
                               .writes = st.writes,
                               .bytes = st.bytes,
                               .ops = st.ops,
                               .least = st.least,
                               .scratch = st.scratch,
                               .predicted = st.predicted};
    return bad;
}

/* The bytes of a tensor, and that they fit. */
static size_t room_for(struct api_call *k, const uop *n) {
    struct str sh;
    size_t need = store_bytes(k->c, n);
    if (need && !k->p) call_fail(k, RG_EINVAL, "the destination is NULL");
    if (need <= k->bytes) return need;
    str_init(&sh, &k->c->scratch);
    shape_print(&sh, tg_shape(k->g, n));
    call_fail(k, RG_EINVAL, "the destination has %zu bytes; %s %s needs %zu", k->bytes,
              dtype_info[n->dt].name, sh.p, need);
}

/* Another shape has the same bytes: what was realized behind it is read as it is, without a copy. */
const uop *behind_shapes(rg_ctx *c, const uop *n) {
    for (n = gr_now(c, n); n->op == OP_RESHAPE || n->op == OP_DETACH; n = gr_now(c, n->src[0])) {}
    return n;
}

static void do_read(struct api_call *k) {
    rg_ctx *c = k->c;
    call_collect(k);
    const uop *n = call_slot(k, k->in[0].t, 0)->node;
    size_t need = room_for(k, n);
    call_not_recording(k);
    n = behind_shapes(c, n);
    realize_nodes(k, &n, 1, false, NULL);
    if (!need) return;
    n = behind_shapes(c, call_slot(k, k->in[0].t, 0)->node); /* the graph may have moved */
    if (engine_copy(c->engine, &c->err, COPY_OUT, k->p, c->store[store_of(n)].mem, need))
        err_throw(&c->err, c->err.code, "the copy failed");
}

rg_status rg_read_at(const char *file, int line, rg_tensor x, void *out, size_t bytes) {
    return call_work(CALL(read, .in = {TENSOR(x)}, .n = 1, .p = out, .bytes = bytes), do_read);
}

static void do_item(struct api_call *k) {
    uint64_t bits = 0;
    double *out = k->p;
    const uop *n = call_slot(k, k->in[0].t, 0)->node;
    enum dtype dt = (enum dtype)n->dt;
    int64_t size = shape_size(tg_shape(k->g, n));
    if (size != 1)
        call_fail(k, RG_EINVAL, "a tensor of one element is needed; this one has %lld", (long long)size);
    k->p = &bits, k->bytes = sizeof bits;
    do_read(k);
    *out = dt_number(dt, &bits);
}

double rg_item_at(const char *file, int line, rg_tensor x) {
    double v = NAN;
    call_work(CALL(item, .in = {TENSOR(x)}, .n = 1, .p = &v), do_item);
    return v;
}

static void do_read_async(struct api_call *k) {
    rg_ctx *c = k->c;
    const uop *n = call_slot(k, k->in[0].t, 0)->node;
    size_t need = room_for(k, n);
    call_not_recording(k);
    if (c->nreads == c->reads_cap) {
        uint32_t cap = c->reads_cap ? c->reads_cap * 2 : 16;
        struct async_read *r = mem_realloc(c->reads, cap * sizeof *r);
        if (!r) err_throw(&c->err, RG_ENOMEM, "out of memory");
        c->reads = r, c->reads_cap = cap;
    }
    c->reads[c->nreads++] = (struct async_read){n, k->p, need};
}

rg_status rg_read_async_at(const char *file, int line, rg_tensor x, void *out, size_t bytes) {
    return call_work(CALL(read_async, .in = {TENSOR(x)}, .n = 1, .p = out, .bytes = bytes), do_read_async);
}

static void do_wait(struct api_call *k) {
    call_collect(k);
    if (k->c->nreads) realize_nodes(k, NULL, 0, false, NULL);
}

rg_status rg_wait_at(const char *file, int line, rg_ctx *c) { return call_work(CALL(wait, .c = c), do_wait); }

/* Every plan runs the collectives that wait: an empty one will do. */
static void do_flush(struct api_call *k) {
    call_collect(k);
    realize_nodes(k, NULL, 0, false, NULL);
}

rg_status realize_chain(const char *file, int line, rg_ctx *c) {
    return chain_node(c) ? call_work(CALL(jit_call, .c = c), do_flush) : RG_OK;
}

static void do_sync(struct api_call *k) {
    do_wait(k);
    if (engine_sync(k->c->engine, &k->c->err))
        err_throw(&k->c->err, k->c->err.code, "waiting for the device");
}

rg_status rg_sync_at(const char *file, int line, rg_ctx *c) {
    return c ? call_work(CALL(sync, .c = c), do_sync) : RG_EINVAL;
}
