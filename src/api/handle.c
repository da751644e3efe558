/* handle.c: what an rg_tensor stands for: context, generation and slot in 64 bits.
 *
 * rg_free comes from any thread at any time, also while rg_close runs in another or long after it. So it touches no memory
 * of a context: only the marks of the slots, which belong to the context's place in a global table and are never unmapped.
 * It notes the generation in the mark and puts the mark on a lock-free list; the next call of the context takes the whole
 * list and frees (slots_drain). A slot that is freed gets a new generation, and all handles of the old one are stale.
 * Generations only grow, from one context of a place to the next too, and a slot that has used up its generations is not
 * used again: no handle comes to life a second time. 2^24 handles cost one slot.
 *
 * A scope is a doubly linked list through its slots: keeping and freeing one take constant time, ending a scope takes time
 * by what it made, and no memory. Serial numbers of scopes grow with the place as well.
 * Tests: tests/unit/api.c (handle_*, scope_*, threads_*), tests/unit/api_handles.c, tests/semantics */
#include "internal.h"

#define GEN_MASK 0xffffffu

struct mark {
    _Atomic uint32_t gen;    /* of the handle that may use the slot, less 1; GEN_MASK: never again */
    _Atomic uint32_t doomed; /* generation that rg_free named; 0: not on the list */
    _Atomic uint32_t next;   /* slot of the list of doomed ones */
};

static struct place {
    _Atomic(rg_ctx *) ctx;
    _Atomic(const char *) device;
    _Atomic(struct mark *) chunk[SLOT_CHUNKS];
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

struct slot *slot_at(const rg_ctx *c, uint32_t i) {
    uint32_t at, k = chunk_of(i, &at);
    return k < SLOT_CHUNKS && c->chunk[k] ? c->chunk[k] + at : NULL;
}

static struct mark *mark_at(struct place *p, uint32_t i) {
    uint32_t at, k = chunk_of(i, &at);
    if (k >= SLOT_CHUNKS) return NULL;
    struct mark *m = atomic_load_explicit(&p->chunk[k], memory_order_acquire);
    return m ? m + at : NULL;
}

/* Marks that an earlier context of the place has left go on where they were. */
static void chunk_add(rg_ctx *c, uint32_t k) {
    if (k >= SLOT_CHUNKS) err_throw(&c->err, RG_ELIMIT, "more than %u tensors are alive", c->slots);
    size_t n = (size_t)SLOT_FIRST << k;
    struct mark *m = atomic_load_explicit(&table[c->id].chunk[k], memory_order_relaxed);
    if (!m) {
        m = os_pages(n * sizeof *m);
        if (m) atomic_store_explicit(&table[c->id].chunk[k], m, memory_order_release);
    }
    struct slot *s = m ? mem_alloc(n * sizeof *s) : NULL;
    if (!s) err_throw(&c->err, RG_ENOMEM, "out of memory: no room for another tensor handle");
    memset(s, 0, n * sizeof *s);
    for (size_t i = 0; i < n; i++) s[i].gen = atomic_load_explicit(&m[i].gen, memory_order_relaxed) + 1;
    c->chunk[k] = s;
}

struct slot *slot_get(rg_ctx *c, rg_tensor t) {
    uint32_t i = (uint32_t)t.id;
    if (!i || i >= c->slots) return NULL;
    struct slot *s = slot_at(c, i);
    return s->node && s->gen == (t.id >> 32 & GEN_MASK) ? s : NULL;
}

rg_tensor slot_handle(const rg_ctx *c, uint32_t i) {
    return (rg_tensor){(uint64_t)c->id << 56 | (uint64_t)slot_at(c, i)->gen << 32 | i};
}

static void link_scope(rg_ctx *c, uint32_t i, uint32_t scope) {
    struct slot *s = slot_at(c, i);
    s->scope = scope, s->prev = s->next = 0;
    if (!scope) return;
    uint32_t *first = &c->scope[scope - 1].first;
    s->next = *first;
    if (*first) slot_at(c, *first)->prev = i;
    *first = i;
}

static void unlink_scope(rg_ctx *c, uint32_t i) {
    struct slot *s = slot_at(c, i);
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
        c->slots++;
        if (slot_at(c, i)->gen <= GEN_MASK) return i;
    }
}

rg_tensor slot_new(rg_ctx *c, const uop *n, bool global, struct slot **out) {
    uint32_t i = c->free_slot ? c->free_slot : slot_fresh(c);
    struct slot *s = slot_at(c, i);
    if (i == c->free_slot) c->free_slot = s->next;
    s->node = n;
    s->grad = s->var = NULL;
    s->view = s->param = s->held = s->used = s->grad_used = false;
    s->recorded = c->recording != NULL;
    link_scope(c, i, global ? 0 : c->scopes);
    c->handles++;
    *out = s;
    return slot_handle(c, i);
}

/* No handle fits any more. */
static void slot_age(rg_ctx *c, uint32_t i) {
    atomic_store_explicit(&mark_at(&table[c->id], i)->gen, slot_at(c, i)->gen++, memory_order_relaxed);
}

static void slot_drop(rg_ctx *c, uint32_t i) {
    struct slot *s = slot_at(c, i);
    unlink_scope(c, i);
    slot_age(c, i);
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

struct slot *slot_next(const rg_ctx *c, uint32_t *i) {
    while (++*i < c->slots) {
        struct slot *s = slot_at(c, *i);
        if (s->node) return s;
    }
    return NULL;
}

void slots_close(rg_ctx *c) {
    for (uint32_t k = 0; k < SLOT_CHUNKS; k++) mem_free(c->chunk[k]);
    mem_free(c->scope);
}

void ctx_leave(rg_ctx *c) {
    if (!c->id) return;
    for (uint32_t i = 0; slot_next(c, &i);) slot_age(c, i);
    table[c->id].scopes = c->next_scope;
    atomic_store(&table[c->id].ctx, NULL); /* the place is the next one's from here on */
    c->id = 0;
}

/* ---- freeing from any thread ------------------------------------------------------------------------ */

/* Handles of generations that are over may get this far: they came before the slot was freed in another way, or its context
 * closed. slots_drain tells them. A later generation takes their place; an earlier one does not. */
void rg_free(rg_tensor x) {
    struct place *p = &table[x.id >> 56];
    uint32_t i = (uint32_t)x.id, gen = x.id >> 32 & GEN_MASK, was = 0;
    struct mark *m = i ? mark_at(p, i) : NULL;
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
    struct place *p = &table[c->id];
    if (!atomic_load_explicit(&p->doomed, memory_order_relaxed)) return;
    uint32_t i = atomic_exchange_explicit(&p->doomed, 0, memory_order_acquire);
    while (i) {
        struct mark *m = mark_at(p, i);
        uint32_t next = atomic_load_explicit(&m->next, memory_order_relaxed);
        uint32_t gen = atomic_exchange(&m->doomed, 0);
        /* Its scope, or the context that it was of, may have ended in between: the slot has another generation then. */
        struct slot *s = i < c->slots ? slot_at(c, i) : NULL;
        if (s && s->node && s->gen == gen) slot_drop(c, i);
        i = next;
    }
}

/* ---- scopes ------------------------------------------------------------------------------------------ */

/* rg_scope is context:8 | serial:56; serial 0 is a scope that could not be opened. */
rg_scope rg_begin(rg_ctx *c) {
    if (!c || !c->id) return (rg_scope){0};
    if (c->scopes == c->scope_cap) {
        uint32_t cap = c->scope_cap ? c->scope_cap * 2 : 16;
        struct scope *s = mem_realloc(c->scope, cap * sizeof *s);
        if (!s) {
            err_set(&c->err, RG_ENOMEM, "rg_begin: out of memory");
            return (rg_scope){(uint64_t)c->id << 56};
        }
        c->scope = s, c->scope_cap = cap;
    }
    c->scope[c->scopes++] = (struct scope){.serial = ++c->next_scope};
    return (rg_scope){(uint64_t)c->id << 56 | c->next_scope};
}

void rg_end(rg_scope sc) {
    rg_ctx *c = ctx_of(sc.id);
    uint64_t serial = sc.id & ~((uint64_t)0xff << 56);
    if (!c || !serial) return;
    uint32_t at = c->scopes;
    while (at && c->scope[at - 1].serial != serial) at--;
    if (!at) return; /* closed already, with a scope around it */
    slots_drain(c);
    for (; c->scopes >= at; c->scopes--)
        for (uint32_t i; (i = c->scope[c->scopes - 1].first);) slot_drop(c, i);
}

static void keep(struct call *k) {
    struct slot *s = call_slot(k, k->in[0].t, 0);
    uint32_t to = s->scope;
    if (!to) return;
    unlink_scope(k->c, (uint32_t)k->in[0].t.id);
    link_scope(k->c, (uint32_t)k->in[0].t.id, to - 1);
}

rg_tensor rg_keep_at(const char *file, int line, rg_tensor x) {
    call_work(CALL(keep, .in = {TENSOR(x)}, .n = 1), keep);
    return x;
}

/* ---- for modules (api.h) ------------------------------------------------------------------------------ */

static void hold(struct call *k) {
    struct slot *s = call_slot(k, k->in[0].t, 0);
    unlink_scope(k->c, (uint32_t)k->in[0].t.id);
    link_scope(k->c, (uint32_t)k->in[0].t.id, 0);
    s->held = true;
}

rg_tensor api_hold(const char *file, int line, rg_tensor x) {
    call_work(CALL(keep, .in = {TENSOR(x)}, .n = 1), hold);
    return x;
}

/* k->i[0]: the scope's number; what it made lies in it or in one that was opened inside and forgotten. */
static void move_out(struct call *k) {
    rg_ctx *c = k->c;
    struct slot *s = call_slot(k, k->in[0].t, 0), *fresh;
    uint32_t i = (uint32_t)k->in[0].t.id, from = (uint32_t)k->i[0];
    if (s->scope < from) {
        rg_tensor t = slot_new(c, s->node, false, &fresh);
        fresh->file = k->file, fresh->line = k->line, fresh->fn = k->fn, fresh->view = true;
        s->used = true;
        k->in[0].t = t, i = (uint32_t)t.id;
    }
    unlink_scope(c, i);
    link_scope(c, i, from - 1);
}

rg_tensor api_result(const char *file, int line, rg_scope sc, rg_tensor out) {
    rg_ctx *c = ctx_of(sc.id);
    uint32_t at = c ? c->scopes : 0;
    while (at && c->scope[at - 1].serial != (sc.id & ~((uint64_t)0xff << 56))) at--;
    struct call *k = CALL(nn_forward, .c = c, .in = {TENSOR(out)}, .n = 1, .i = {at});
    out = !at || call_work(k, move_out) ? api_poison(c) : k->in[0].t;
    rg_end(sc);
    return out;
}
