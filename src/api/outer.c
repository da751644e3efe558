/* outer.c: tensors that were made before a recording began, while it lasts.
 *
 * The recording must not compute them: replays would compute them again. So for its duration each handle from outside that is not
 * plain memory names memory that is promised: BUFFER (store, version + 1) of a store whose version comes when ASSIGN(store, value)
 * runs. A recorded plan that reads promised memory, or overwrites what a promised value is computed from, has the
 * promise kept first, in a program of its own that is not recorded (outer_need). What is not reached stays lazy.
 * What nodes were realized as before is out of sight too: a function that writes an expression again which someone outside has computed
 * records its computation, not that value.
 * At the end handles get their nodes back (outer_restore); if the recording failed, also those that it assigned. Nothing is compacted in between, so that nodes keep their ids.
 * Tests: tests/unit/jit_record.c, tests/semantics/jit.c */
#include "internal.h"

static struct outer *outer_alloc(rg_ctx *c, uint32_t values) {
    struct outer *o = mem_alloc(sizeof *o);
    if (!o) err_throw(&c->err, RG_ENOMEM, "out of memory");
    uint32_t n = c->graph->ir.n;
    *o = (struct outer){.value = mem_alloc((values + 1) * sizeof *o->value),
                        .real = mem_alloc((n + 1) * sizeof *o->real),
                        .cut = mem_alloc(n + 1),
                        .reals = n,
                        .tick = c->tick};
    if (o->value && o->real && o->cut) return o;
    outer_free(o);
    err_throw(&c->err, RG_ENOMEM, "out of memory");
}

void outer_free(struct outer *o) {
    if (!o) return;
    mem_free(o->value);
    mem_free(o->real);
    mem_free(o->cut);
    mem_free(o);
}

/* ---- the beginning ---------------------------------------------------------------------------------------- */

/* Numbers and broadcasts of them: nothing is computed twice. */
static bool from_number(const uop *n) {
    while (op_is_movement((enum op)n->op) && n->op != OP_PAD) n = n->src[0];
    return n->op == OP_CONST;
}

/* The name of n inside; gives it a store if it is not in memory. Each handle has its own, so that the recording knows
 * which tensor it read. */
static void promise(rg_ctx *c, struct outer_value *v) {
    const uop *b = gr_now(c, v->node);
    v->name = b;
    if (b->op == OP_BUFFER || from_number(b)) return;
    const struct shape *sh = tg_shape(&c->graph->tg, b);
    uint32_t s = store_new(c, store_bytes(c, b), EVENT_MEM_VALUE), version = c->store[s].version;
    v->give = uop2(&c->graph->ir, OP_ASSIGN, store_node(c, s, version, (enum dtype)b->dt, sh), v->node);
    tg_shape(&c->graph->tg, v->give);
    prov_inherit(&c->graph->tg.prov, v->give->id, v->give->id + 1, v->node->id, false);
    v->name = store_node(c, s, version + 1, (enum dtype)b->dt, sh);
}

static void add_value(struct outer *o, const rg_ctx *c, uint32_t slot, const uop *n, bool grad) {
    if (n)
        o->value[o->n++] =
            (struct outer_value){.slot = slot, .gen = slot_at(c, slot)->gen, .grad = grad, .node = n};
}

/* From here on nothing can fail. Gradients that would flow through what is hidden are an error (grad.c). */
static void hide(rg_ctx *c, struct outer *o, const uint8_t *lead) {
    struct graph *g = c->graph;
    for (uint32_t i = 0; i < o->n; i++) {
        struct outer_value *v = &o->value[i];
        struct api_slot *s = slot_at(c, v->slot);
        if (v->name == v->node) continue;
        struct api_store *st = &c->store[store_of(v->name)];
        st->promise = v->give;
        st->held++;
        v->lost_was = st->lost;
        if (lead && lead[v->node->id] & LEAD_ANY) st->lost = version_of(v->name), c->lost = true;
        *(v->grad ? &s->grad : &s->node) = v->name;
    }
    memcpy(o->real, g->real.p, o->reals * sizeof *o->real);
    memcpy(o->cut, g->cut.p, o->reals);
    memset(g->real.p, 0, g->real.n * sizeof *g->real.p);
    memset(g->cut.p, 0, g->cut.n);
    c->outer = o;
}

struct hiding {
    rg_ctx *c;
    struct outer *o;
    const uint8_t *lead;
};

static void promise_all(void *arg) {
    struct hiding *h = arg;
    uop_vec roots = {0};
    for (uint32_t i = 0; i < h->o->n; i++) promise(h->c, &h->o->value[i]);
    gr_roots(h->c, &roots);
    h->lead = gr_leads(h->c, &roots, false);
    gr_real_room(h->c);
}

void outer_hide(rg_ctx *c) {
    struct api_slot *s;
    uint32_t values = 0;
    gr_real_room(c);
    for (uint32_t i = 0; (s = slot_next(c, &i));) values += 1 + (s->grad != NULL);
    struct outer *o = outer_alloc(c, values);
    for (uint32_t i = 0; (s = slot_next(c, &i));) {
        if (!s->var) add_value(o, c, i, s->node, false);
        add_value(o, c, i, s->grad, true);
    }
    struct hiding h = {c, o, NULL};
    if (err_guard(&c->err, promise_all, &h)) {
        outer_free(o);
        err_throw(&c->err, c->err.code, "out of memory");
    }
    hide(c, o, h.lead);
}

/* ---- keeping promises ---------------------------------------------------------------------------------------- */

static bool lazy_into(void *cx, const uop *n) { return !is_real(cx, n); }

/* Marks the stores that a plan for these reads or writes; c->store[i].mark 1 read, over: written. */
static void mark_stores(rg_ctx *c, const uop *const *ask, uint32_t n) {
    uop_vec roots = {0}, order = {0};
    struct api_slot *s;
    for (uint32_t i = 0; i < n; i++) vec_push(&c->scratch, &roots, ask[i]);
    for (uint32_t i = 0; (s = slot_next(c, &i));) {
        if (s->node->op != OP_BUFFER) vec_push(&c->scratch, &roots, s->node);
        if (s->grad && s->grad->op != OP_BUFFER) vec_push(&c->scratch, &roots, s->grad);
    }
    for (uint32_t i = 0; i < c->stores; i++) c->store[i].mark = c->store[i].over = false;
    gr_walk(c, roots.p, roots.n, lazy_into, c, &order);
    for (uint32_t i = 0; i < order.n; i++) {
        const uop *b = gr_now(c, order.p[i]);
        if (b->op == OP_BUFFER && store_of(b) < c->stores) c->store[store_of(b)].mark = true;
        if (b->op == OP_ASSIGN) c->store[store_of(gr_chain_root(c, b))].over = true;
    }
}

static bool reads_over(rg_ctx *c, const uop *n) {
    struct arena_mark at = arena_mark(&c->scratch);
    uop_vec order = {0};
    bool yes = false;
    gr_walk(c, &n, 1, lazy_into, c, &order);
    for (uint32_t i = 0; i < order.n && !yes; i++) {
        const uop *b = gr_now(c, order.p[i]);
        yes = b->op == OP_BUFFER && store_of(b) < c->stores && c->store[store_of(b)].over;
    }
    arena_release(&c->scratch, at);
    return yes;
}

uop_vec outer_need(rg_ctx *c, const uop *const *ask, uint32_t n) {
    struct outer *o = c->outer;
    uop_vec give = {0};
    if (!o || !o->n) return give;
    mark_stores(c, ask, n);
    for (uint32_t i = 0; i < o->n; i++) {
        const struct outer_value *v = &o->value[i];
        struct api_store *s = v->give ? &c->store[store_of(v->name)] : NULL;
        if (!s || !s->promise || !(s->mark || s->over || reads_over(c, v->node))) continue;
        vec_push(&c->scratch, &give, v->give);
        s->promise = NULL;
    }
    return give;
}

/* ---- the end ------------------------------------------------------------------------------------------------- */

static void restore_store(rg_ctx *c, const struct outer_value *v) {
    if (v->name == v->node) return;
    struct api_store *st = &c->store[store_of(v->name)];
    st->held--;
    st->lost = v->lost_was;
    st->promise = NULL;
}

static void restore_value(rg_ctx *c, const struct outer_value *v, bool failed) {
    struct api_slot *s = slot_at(c, v->slot);
    const uop **at = v->grad ? &s->grad : &s->node, *was = *at;
    bool memory = v->name->op == OP_BUFFER;
    bool now = memory && c->store[store_of(v->name)].version == version_of(v->name);
    restore_store(c, v);
    if (!s->node || s->gen != v->gen) return;
    if (was == v->name || (failed && (v->grad || now || !memory)))
        *at = v->node;
    else if (failed && was) /* the function had it written, and then assigned it again */
        *at = gr_chain_root(c, was);
    if (*at == v->node && v->give && now) gr_set_real(c, v->node, v->name);
}

/* What a recording that failed made may read promised memory that never came: it goes, as does what it assigned and did
 * not run. */
static void drop_made(rg_ctx *c, const struct outer *o) {
    struct api_slot *s;
    for (uint32_t i = 0; (s = slot_next(c, &i));) {
        if (s->grad && s->grad_born > o->tick) s->grad = NULL;
        if (s->recorded) slot_drop(c, i);
    }
}

void outer_restore(rg_ctx *c, bool failed) {
    struct outer *o = c->outer;
    if (!o) return;
    if (failed) drop_made(c, o);
    memcpy(c->graph->real.p, o->real, o->reals * sizeof *o->real);
    memcpy(c->graph->cut.p, o->cut, o->reals);
    gr_list_real(c->graph);
    for (uint32_t i = 0; i < o->n; i++) restore_value(c, &o->value[i], failed);
    gr_forget_dead(c);
    c->left = true; /* collect before the next plan */
    c->outer = NULL;
    outer_free(o);
}
