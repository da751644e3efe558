/* owned.c: objects with a pointer for a handle (files, loaders, modules, jits) that rg_close frees.
 * Tests: tests/unit/api_owned.c */
#include "internal.h"

void ctx_own(rg_ctx *c, void *obj, void (*free_fn)(void *)) {
    if (c->nowned == c->owned_cap) {
        uint32_t cap = c->owned_cap ? c->owned_cap * 2 : 8;
        struct ctx_owned *o = mem_realloc(c->owned, cap * sizeof *o);
        if (!o) {
            free_fn(obj);
            err_throw(&c->err, RG_ENOMEM, "out of memory: no room for another object of the context");
        }
        c->owned = o, c->owned_cap = cap;
    }
    c->owned[c->nowned++] = (struct ctx_owned){obj, free_fn};
}

void ctx_disown(rg_ctx *c, void *obj) {
    uint32_t i = c->nowned; /* from the end: what the user frees is mostly young */
    while (i && c->owned[i - 1].obj != obj) i--;
    if (!i) return;
    memmove(&c->owned[i - 1], &c->owned[i], (c->nowned - i) * sizeof *c->owned);
    c->nowned--;
}
