/* chain.c: the order of collectives: the handle of the youngest that has not run, which the next one comes after.
 * Tests: tests/unit/world.c */
#include "internal.h"

static struct api_slot *chain_slot(rg_ctx *c) { return c->chain.id ? slot_get(c, c->chain) : NULL; }

const uop *chain_node(rg_ctx *c) {
    const struct api_slot *s = chain_slot(c);
    return s && !is_real(c, s->node) ? s->node : NULL;
}

void chain_begin(rg_ctx *c) { c->graph->tg.chain = chain_node(c); }

void chain_end(rg_ctx *c) {
    const uop *n = c->graph->tg.chain;
    struct api_slot *s = chain_slot(c);
    if (!n || (s && s->node == n)) return;
    if (s)
        slot_set(c, s, n);
    else
        c->chain = slot_new(c, n, true, &s);
    s->used = false, s->held = true;
    s->fn = "rg_world", s->file = NULL, s->line = 0;
}

void chain_ran(rg_ctx *c) {
    struct api_slot *s = chain_slot(c);
    if (!s || !is_real(c, s->node)) return;
    slot_free(c, c->chain);
    c->chain = RG_NONE;
}
