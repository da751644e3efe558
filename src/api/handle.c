/* handle.c: what an rg_tensor stands for: context, generation and slot in 64 bits.
 *
 * Slots live in chunks that never move, so that rg_free may look at one from any thread. It only marks the slot and puts
 * it on a lock-free list; the context's next call takes the whole list and frees (slots_drain). A slot that is freed
 * gets a new generation, and all handles of the old one are stale. A scope is a doubly linked list through its slots: keeping
 * and freeing one take constant time, ending a scope takes time by what it made, and no memory.
 *
 * The table of contexts is the only mutable global: atomic pointers, 255 of them.
 * Tests: tests/unit/api.c (handle_*, scope_*), tests/semantics */
#include "internal.h"

#define GEN_MASK 0xffffffu

static _Atomic(rg_ctx *) table[256]; /* entry 0 is not used */
static _Atomic uint32_t openings;

rg_ctx *ctx_of(uint64_t handle) { return atomic_load_explicit(&table[handle >> 56], memory_order_acquire); }

bool ctx_enter(rg_ctx *c) {
    /* Each opening starts at other generations: handles of a closed context do not fit its successor. */
    c->gen_first = (atomic_fetch_add(&openings, 1) * 4099 + 1) & GEN_MASK;
    if (!c->gen_first) c->gen_first = 1;
    for (uint32_t i = 1; i < RG_COUNT(table); i++) {
        rg_ctx *none = NULL;
        if (!atomic_compare_exchange_strong(&table[i], &none, c)) continue;
        c->id = i;
        return true;
    }
    return false;
}

void ctx_leave(rg_ctx *c) {
    if (c->id) atomic_store(&table[c->id], NULL);
    c->id = 0;
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
    if (k >= SLOT_CHUNKS) return NULL;
    struct slot *s = atomic_load_explicit(&c->chunk[k], memory_order_acquire);
    return s ? s + at : NULL;
}

static void chunk_add(rg_ctx *c, uint32_t k) {
    if (k >= SLOT_CHUNKS) err_throw(&c->err, RG_ELIMIT, "more than %u tensors are alive", c->slots);
    size_t n = (size_t)SLOT_FIRST << k;
    struct slot *s = mem_alloc(n * sizeof *s);
    if (!s) err_throw(&c->err, RG_ENOMEM, "out of memory: no room for another tensor handle");
    memset(s, 0, n * sizeof *s);
    for (size_t i = 0; i < n; i++) atomic_init(&s[i].gen, c->gen_first);
    atomic_store_explicit(&c->chunk[k], s, memory_order_release);
}

struct slot *slot_get(rg_ctx *c, rg_tensor t) {
    uint32_t i = (uint32_t)t.id;
    if (!i || i >= c->slots) return NULL;
    struct slot *s = slot_at(c, i);
    if (!s->node || atomic_load_explicit(&s->gen, memory_order_relaxed) != (t.id >> 32 & GEN_MASK))
        return NULL;
    return s;
}

rg_tensor slot_handle(const rg_ctx *c, uint32_t i) {
    return (rg_tensor){(uint64_t)c->id << 56 | (uint64_t)atomic_load(&slot_at(c, i)->gen) << 32 | i};
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

rg_tensor slot_new(rg_ctx *c, const uop *n, bool global, struct slot **out) {
    uint32_t i = c->free_slot, at;
    if (!i) {
        if (!c->slots) c->slots = 1;
        i = c->slots;
        if (!slot_at(c, i)) chunk_add(c, chunk_of(i, &at));
        c->slots++;
    }
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

static void slot_drop(rg_ctx *c, uint32_t i) {
    struct slot *s = slot_at(c, i);
    unlink_scope(c, i);
    uint32_t gen = (atomic_load_explicit(&s->gen, memory_order_relaxed) + 1) & GEN_MASK;
    atomic_store_explicit(&s->gen, gen ? gen : 1, memory_order_relaxed);
    s->node = s->grad = s->var = NULL;
    s->param = false;
    s->scope = s->prev = 0;
    s->next = c->free_slot;
    c->free_slot = i;
    c->handles--;
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
    for (uint32_t k = 0; k < SLOT_CHUNKS; k++) mem_free(atomic_load(&c->chunk[k]));
    mem_free(c->scope);
}

/* ---- freeing from any thread ------------------------------------------------------------------------ */

void rg_free(rg_tensor x) {
    rg_ctx *c = ctx_of(x.id);
    uint32_t i = (uint32_t)x.id, gen = x.id >> 32 & GEN_MASK, none = 0;
    if (!c || !i) return;
    struct slot *s = slot_at(c, i);
    if (!s || atomic_load_explicit(&s->gen, memory_order_relaxed) != gen) return;
    if (!atomic_compare_exchange_strong(&s->doomed, &none, gen)) return; /* is on the list already */
    uint32_t first = atomic_load_explicit(&c->doomed, memory_order_relaxed);
    do atomic_store_explicit(&s->doomed_at, first, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&c->doomed, &first, i, memory_order_release,
                                                  memory_order_relaxed));
}

void slots_drain(rg_ctx *c) {
    uint32_t i = atomic_exchange_explicit(&c->doomed, 0, memory_order_acquire);
    while (i) {
        struct slot *s = slot_at(c, i);
        uint32_t next = atomic_load_explicit(&s->doomed_at, memory_order_relaxed);
        uint32_t gen = atomic_exchange(&s->doomed, 0);
        /* Its scope may have ended in between; then the slot has moved on to another generation. */
        if (s->node && gen == atomic_load_explicit(&s->gen, memory_order_relaxed)) slot_drop(c, i);
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
