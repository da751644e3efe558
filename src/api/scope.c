/* scope.c: rg_begin, rg_end, rg_keep: tensors that are freed together; RG_NO_GRAD: tensors without a gradient.
 *
 * A scope is a doubly linked list through its slots: keeping or freeing one tensor takes constant time, ending a scope takes
 * time by what it made, and no memory. Serial numbers of scopes never repeat, so an old rg_scope ends nothing.
 * Tests: tests/unit/api.c (scope_*), tests/unit/api_handles.c */
#include "internal.h"

/* rg_scope is context:8 | serial:56; serial 0 is a scope that could not be opened. */
rg_scope rg_begin(rg_ctx *c) {
    if (!c || !c->id) return (rg_scope){0};
    if (c->scopes == c->scope_cap) {
        uint32_t cap = c->scope_cap ? c->scope_cap * 2 : 16;
        struct ctx_scope *s = mem_realloc(c->scope, cap * sizeof *s);
        if (!s) {
            err_set(&c->err, RG_ENOMEM, "rg_begin: out of memory");
            return (rg_scope){(uint64_t)c->id << 56};
        }
        c->scope = s, c->scope_cap = cap;
    }
    c->scope[c->scopes++] = (struct ctx_scope){.serial = ++c->next_scope};
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

/* Serials as above; of several that are open only the outermost counts. */
rg_scope rg_begin_no_grad(rg_ctx *c) {
    if (!c || !c->id) return (rg_scope){0};
    uint64_t serial = ++c->next_scope;
    if (!c->no_grad) c->no_grad = serial;
    return (rg_scope){(uint64_t)c->id << 56 | serial};
}

void rg_end_no_grad(rg_scope sc) {
    rg_ctx *c = ctx_of(sc.id);
    if (c && c->no_grad == (sc.id & ~((uint64_t)0xff << 56))) c->no_grad = 0;
}

static void keep(struct api_call *k) {
    struct api_slot *s = call_slot(k, k->in[0].t, 0);
    uint32_t to = s->scope;
    if (!to) return;
    slot_unlink_scope(k->c, (uint32_t)k->in[0].t.id);
    slot_link_scope(k->c, (uint32_t)k->in[0].t.id, to - 1);
}

rg_tensor rg_keep_at(const char *file, int line, rg_tensor x) {
    call_work(CALL(keep, .in = {TENSOR(x)}, .n = 1), keep);
    return x;
}

/* ---- for modules (api.h) ------------------------------------------------------------------------------ */

static void hold(struct api_call *k) {
    struct api_slot *s = call_slot(k, k->in[0].t, 0);
    slot_unlink_scope(k->c, (uint32_t)k->in[0].t.id);
    slot_link_scope(k->c, (uint32_t)k->in[0].t.id, 0);
    s->held = true;
}

rg_tensor api_hold(const char *file, int line, rg_tensor x) {
    call_work(CALL(keep, .in = {TENSOR(x)}, .n = 1), hold);
    return x;
}

/* k->i[0]: the scope's number; what it made lies in it or in one that was opened inside and forgotten. */
static void move_out(struct api_call *k) {
    rg_ctx *c = k->c;
    struct api_slot *s = call_slot(k, k->in[0].t, 0), *fresh;
    uint32_t i = (uint32_t)k->in[0].t.id, from = (uint32_t)k->i[0];
    if (s->scope < from) {
        rg_tensor t = slot_new(c, s->node, false, &fresh);
        fresh->file = k->file, fresh->line = k->line, fresh->fn = k->fn, fresh->view = true;
        s->used = true;
        k->in[0].t = t, i = (uint32_t)t.id;
    }
    slot_unlink_scope(c, i);
    slot_link_scope(c, i, from - 1);
}

rg_tensor api_result(const char *file, int line, rg_scope sc, rg_tensor out) {
    rg_ctx *c = ctx_of(sc.id);
    uint32_t at = c ? c->scopes : 0;
    while (at && c->scope[at - 1].serial != (sc.id & ~((uint64_t)0xff << 56))) at--;
    struct api_call *k = CALL(nn_forward, .c = c, .in = {TENSOR(out)}, .n = 1, .i = {at});
    out = !at || call_work(k, move_out) ? (c ? poison(c) : RG_NONE) : k->in[0].t;
    rg_end(sc);
    return out;
}
