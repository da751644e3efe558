/* handle.c: what an rg_tensor stands for: context, generation and slot in 64 bits.
 *
 * rg_free comes from any thread at any time, also while rg_close runs in another or long after it. So it touches no memory
 * of a context: only the marks of the slots, which belong to the context's entry in a global table and are never unmapped.
 * It notes the generation in the mark and puts the mark on a lock-free list; the next call of the context takes the whole
 * list and frees (slots_drain). A slot that is freed gets a new generation, and all handles of the old one are stale.
 * Generations only grow, from one context of an entry to the next too, and a slot that has used up its generations is not
 * used again: no handle comes to life a second time. 2^24 handles cost one slot.
 * Tests: tests/unit/api.c (handle_*, scope_*, threads_*), tests/unit/api_handles.c, tests/semantics */
#include "internal.h"

#define GEN_MASK 0xffffffu

struct slot_mark {
    _Atomic uint32_t gen;    /* of the handle that may use the slot, less 1; GEN_MASK: never again */
    _Atomic uint32_t doomed; /* generation that rg_free named; 0: not on the list */
    _Atomic uint32_t next;   /* slot of the list of doomed ones */
};

static struct ctx_entry {
    _Atomic(rg_ctx *) ctx;
    _Atomic(const char *) device;
    _Atomic(struct slot_mark *) chunk[SLOT_CHUNKS];
    _Atomic uint32_t doomed; /* first of the list, 0: empty */
    uint64_t scopes;         /* serial of the last one that was opened here, while there is no context */
} table[256];                /* entry 0 is not used */

rg_ctx *ctx_of(uint64_t handle) {
    return atomic_load_explicit(&table[handle >> 56].ctx, memory_order_acquire);
}

bool ctx_enter(rg_ctx *c) {
    for (uint32_t i = 1; i < RG_COUNT(table); i++) {
        rg_ctx *none = NULL;
        if (!atomic_compare_exchange_strong(&table[i].ctx, &none, c)) continue;
        c->id = i;
        c->next_scope = table[i].scopes;
        return true;
    }
    return false;
}

void ctx_on_device(rg_ctx *c, const char *name) { atomic_store(&table[c->id].device, name); }

const char *api_device_of(rg_tensor x) {
    const char *name = atomic_load(&table[x.id >> 56].device);
    return name ? name : "none";
}

/* ---- slots ---------------------------------------------------------------------------------------- */

/* Slot i is number i - (2^k - 1) * SLOT_FIRST of chunk k. */
static uint32_t chunk_of(uint32_t i, uint32_t *at) {
    uint32_t k = 31 - (uint32_t)__builtin_clz(i / SLOT_FIRST + 1);
    *at = i - ((1u << k) - 1) * SLOT_FIRST;
    return k;
}

struct api_slot *slot_at(const rg_ctx *c, uint32_t i) {
    uint32_t at, k = chunk_of(i, &at);
    return k < SLOT_CHUNKS && c->chunk[k] ? c->chunk[k] + at : NULL;
}

static struct slot_mark *mark_at(struct ctx_entry *p, uint32_t i) {
    uint32_t at, k = chunk_of(i, &at);
    if (k >= SLOT_CHUNKS) return NULL;
    struct slot_mark *m = atomic_load_explicit(&p->chunk[k], memory_order_acquire);
    return m ? m + at : NULL;
}

/* Marks of an earlier context of the entry keep their generations. */
static void chunk_add(rg_ctx *c, uint32_t k) {
    if (k >= SLOT_CHUNKS) err_throw(&c->err, RG_ELIMIT, "more than %u tensors are alive", c->slots);
    size_t n = (size_t)SLOT_FIRST << k;
    struct slot_mark *m = atomic_load_explicit(&table[c->id].chunk[k], memory_order_relaxed);
    if (!m) {
        m = os_pages(n * sizeof *m);
        if (m) atomic_store_explicit(&table[c->id].chunk[k], m, memory_order_release);
    }
    struct api_slot *s = m ? mem_alloc(n * sizeof *s) : NULL;
    if (!s) err_throw(&c->err, RG_ENOMEM, "out of memory: no room for another tensor handle");
    c->chunk[k] = s; /* slot_fresh fills it, as far as it is used */
}

struct api_slot *slot_get(rg_ctx *c, rg_tensor t) {
    uint32_t i = (uint32_t)t.id;
    if (!i || i >= c->slots) return NULL;
    struct api_slot *s = slot_at(c, i);
    return s->node && s->gen == (t.id >> 32 & GEN_MASK) ? s : NULL;
}

rg_tensor slot_handle(const rg_ctx *c, uint32_t i) {
    return (rg_tensor){(uint64_t)c->id << 56 | (uint64_t)slot_at(c, i)->gen << 32 | i};
}

void slot_link_scope(rg_ctx *c, uint32_t i, uint32_t scope) {
    struct api_slot *s = slot_at(c, i);
    s->scope = scope, s->prev = s->next = 0;
    if (!scope) return;
    uint32_t *first = &c->scope[scope - 1].first;
    s->next = *first;
    if (*first) slot_at(c, *first)->prev = i;
    *first = i;
}

void slot_unlink_scope(rg_ctx *c, uint32_t i) {
    struct api_slot *s = slot_at(c, i);
    if (!s->scope) return;
    if (s->next) slot_at(c, s->next)->prev = s->prev;
    if (s->prev)
        slot_at(c, s->prev)->next = s->next;
    else
        c->scope[s->scope - 1].first = s->next;
}

/* A slot that was never used, of those that have generations left. */
static uint32_t slot_fresh(rg_ctx *c) {
    uint32_t at;
    if (!c->slots) c->slots = 1;
    for (;;) {
        uint32_t i = c->slots;
        if (!slot_at(c, i)) chunk_add(c, chunk_of(i, &at));
        uint32_t gen = atomic_load_explicit(&mark_at(&table[c->id], i)->gen, memory_order_relaxed) + 1;
        *slot_at(c, i) = (struct api_slot){.gen = gen};
        c->slots++;
        if (gen <= GEN_MASK) return i;
    }
}

/* A value that this node shows loses a handle: liveness.c finds out whether it has others. */
static void leave_value(rg_ctx *c, const uop *n) {
    if (!n) return;
    for (n = gr_now(c, n); n->op == OP_DETACH || op_is_movement((enum op)n->op);) n = gr_now(c, n->src[0]);
    if (n->op != OP_BUFFER || store_of(n) >= c->stores) return;
    c->store[store_of(n)].left = ++c->tick;
    c->left = true;
}

void slot_set(rg_ctx *c, struct api_slot *s, const uop *n) {
    if (s->node) leave_value(c, s->node);
    s->node = n;
    tg_name(&c->graph->tg, n);
    s->born = ++c->tick;
}

void slot_set_grad(rg_ctx *c, struct api_slot *s, const uop *n) {
    leave_value(c, s->grad);
    s->grad = n;
    s->grad_born = ++c->tick;
}

rg_tensor slot_new(rg_ctx *c, const uop *n, bool global, struct api_slot **out) {
    uint32_t i = c->free_slot ? c->free_slot : slot_fresh(c);
    struct api_slot *s = slot_at(c, i);
    if (i == c->free_slot) c->free_slot = s->next;
    s->node = n;
    tg_name(&c->graph->tg, n);
    s->born = ++c->tick;
    s->grad = s->var = NULL;
    s->view = s->param = s->held = s->used = s->grad_used = s->no_grad = false;
    s->shard = 0;
    s->recorded = c->recording != NULL;
    slot_link_scope(c, i, global ? 0 : c->scopes);
    c->handles++;
    *out = s;
    return slot_handle(c, i);
}

/* No handle fits any more. */
static void slot_age(rg_ctx *c, uint32_t i) {
    atomic_store_explicit(&mark_at(&table[c->id], i)->gen, slot_at(c, i)->gen++, memory_order_relaxed);
}

void slot_drop(rg_ctx *c, uint32_t i) {
    struct api_slot *s = slot_at(c, i);
    slot_unlink_scope(c, i);
    slot_age(c, i);
    leave_value(c, s->node);
    leave_value(c, s->grad);
    s->node = s->grad = s->var = NULL;
    s->param = false;
    s->scope = s->prev = 0;
    c->handles--;
    if (s->gen > GEN_MASK) return;
    s->next = c->free_slot;
    c->free_slot = i;
}

void slot_free(rg_ctx *c, rg_tensor t) {
    if (slot_get(c, t)) slot_drop(c, (uint32_t)t.id);
}

struct api_slot *slot_next(const rg_ctx *c, uint32_t *i) {
    while (++*i < c->slots) {
        struct api_slot *s = slot_at(c, *i);
        if (s->node) return s;
    }
    return NULL;
}

void slots_close(rg_ctx *c) {
    for (uint32_t k = 0; k < SLOT_CHUNKS; k++) mem_free(c->chunk[k]);
    mem_free(c->scope), mem_free(c->shard);
}

void ctx_leave(rg_ctx *c) {
    if (!c->id) return;
    for (uint32_t i = 0; slot_next(c, &i);) slot_age(c, i);
    table[c->id].scopes = c->next_scope;
    atomic_store(&table[c->id].ctx, NULL); /* the next context may take the entry from here on */
    c->id = 0;
}

/* ---- freeing from any thread ------------------------------------------------------------------------ */

/* Handles of generations that are over may get this far: they came before the slot was freed in another way, or its context
 * closed. slots_drain tells them. A later generation replaces them; an earlier one does not. */
void rg_free(rg_tensor x) {
    struct ctx_entry *p = &table[x.id >> 56];
    uint32_t i = (uint32_t)x.id, gen = x.id >> 32 & GEN_MASK, was = 0;
    struct slot_mark *m = i ? mark_at(p, i) : NULL;
    if (!m || !gen || atomic_load_explicit(&m->gen, memory_order_relaxed) != gen - 1) return;
    while (!atomic_compare_exchange_weak(&m->doomed, &was, gen))
        if (was >= gen) return;
    if (was) return; /* is on the list already */
    uint32_t first = atomic_load_explicit(&p->doomed, memory_order_relaxed);
    do atomic_store_explicit(&m->next, first, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&p->doomed, &first, i, memory_order_release,
                                                  memory_order_relaxed));
}

void slots_drain(rg_ctx *c) {
    struct ctx_entry *p = &table[c->id];
    if (!atomic_load_explicit(&p->doomed, memory_order_relaxed)) return;
    uint32_t i = atomic_exchange_explicit(&p->doomed, 0, memory_order_acquire);
    while (i) {
        struct slot_mark *m = mark_at(p, i);
        uint32_t next = atomic_load_explicit(&m->next, memory_order_relaxed);
        uint32_t gen = atomic_exchange(&m->doomed, 0);
        /* Its scope, or the context that it was of, may have ended in between: the slot has another generation then. */
        struct api_slot *s = i < c->slots ? slot_at(c, i) : NULL;
        if (s && s->node && s->gen == gen) slot_drop(c, i);
        i = next;
    }
}

/* What a macro passed for an argument without a name; not if a module holds it. */
void api_drop(rg_tensor x) {
    rg_ctx *c = ctx_of(x.id);
    const struct api_slot *s = c ? slot_get(c, x) : NULL;
    if (s && !s->held) slot_free(c, x);
}
