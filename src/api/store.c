/* store.c: device memory and run-time numbers, and the nodes that name them.
 *
 * A store is a piece of device memory that no other store overlaps. BUFFER (store, version) names what it holds at one
 * time. Versions of a store only ever grow, also when its entry is used again for other memory: a node that was
 * forgotten and is still interned never comes to name something else.
 * A VAR's number is never used again either: setting a scalar makes a new VAR, so that what was computed with the old number, and
 * perhaps realized, is another expression. Plans are numbered afresh (realize.c), so their code is found all the same.
 * Tests: tests/semantics, tests/unit/api_memory.c */
#include "internal.h"

#include <math.h>

uint32_t store_new(rg_ctx *c, size_t bytes) {
    uint32_t i = c->store_free;
    while (i < c->stores && c->store[i].used) i++;
    if (i == c->store_cap) {
        uint32_t cap = c->store_cap ? c->store_cap * 2 : 32;
        struct store *s = mem_realloc(c->store, cap * sizeof *s);
        if (!s) err_throw(&c->err, RG_ENOMEM, "out of memory: no room for another buffer");
        c->store = s, c->store_cap = cap;
    }
    if (i == c->stores) c->store[c->stores++] = (struct store){0};
    struct store *s = &c->store[i];
    c->store_free = i + 1;
    *s = (struct store){
        .bytes = bytes ? bytes : 1, .serial = ++c->next_serial, .version = s->version + 1, .used = true};
    return i;
}

void store_need(rg_ctx *c, uint32_t i) {
    struct store *s = &c->store[i];
    if (s->mem) return;
    s->mem = engine_alloc(c->engine, &c->err, s->bytes);
    if (!s->mem)
        err_throw(&c->err, RG_ENOMEM, "out of memory: no %zu bytes on device %s", s->bytes, c->device);
    c->buffers++;
    c->bytes += s->bytes, c->fresh_bytes += s->bytes;
    c->peak = RG_MAX(c->peak, c->bytes);
}

void store_drop(rg_ctx *c, uint32_t i) {
    struct store *s = &c->store[i];
    if (s->mem) {
        engine_free(c->engine, s->mem, s->bytes);
        c->buffers--;
        c->bytes -= s->bytes;
    }
    *s = (struct store){.version = s->version};
    c->store_free = RG_MIN(c->store_free, i);
}

const uop *store_node(rg_ctx *c, uint32_t i, uint32_t version, enum dtype dt, const struct shape *sh) {
    const uop *dim[SHAPE_MAX];
    for (uint32_t d = 0; d < sh->n; d++) dim[d] = uop_idx(&c->graph->ir, sh->d[d]);
    const uop *n =
        uop_new(&c->graph->ir, OP_BUFFER, dt, 1, dim, sh->n, (union arg){.u = (uint64_t)i << 32 | version});
    tg_shape(&c->graph->tg, n);
    return n;
}

const uop *store_value(rg_ctx *c, const uop *v) {
    uint32_t s = store_new(c, store_bytes(c, v));
    const uop *b = store_node(c, s, c->store[s].version, (enum dtype)v->dt, tg_shape(&c->graph->tg, v));
    return c->store[s].head = uop2(&c->graph->ir, OP_ASSIGN, b, v);
}

size_t store_bytes(rg_ctx *c, const uop *n) {
    int64_t bytes;
    if (__builtin_mul_overflow(shape_size(tg_shape(&c->graph->tg, n)), (int64_t)dtype_info[n->dt].bytes,
                               &bytes))
        err_throw(&c->err, RG_ELIMIT, "a tensor of more than 2^63 bytes cannot be stored");
    return (size_t)bytes;
}

const uop *gr_chain_root(const rg_ctx *c, const uop *n) {
    for (n = gr_now(c, n); n->op == OP_ASSIGN;) n = gr_now(c, n->src[0]);
    return n;
}

/* ---- numbers that change ------------------------------------------------------------------------------ */

const uop *store_var(rg_ctx *c, enum dtype dt, double lo, double hi, int64_t bits, const uop *old) {
    const uop *bound[2];
    if (old)
        bound[0] = old->src[0], bound[1] = old->src[1];
    else if (dt_is_float(dt))
        bound[0] = uop_flt(&c->graph->ir, dt, lo), bound[1] = uop_flt(&c->graph->ir, dt, hi);
    else /* integers beyond 2^53 are not bounds of anything */
        bound[0] = uop_int(&c->graph->ir, dt, (int64_t)lo),
        bound[1] = uop_int(&c->graph->ir, dt, (int64_t)hi);
    uint32_t number = c->next_var++;
    uint64_t first = number;
    if (old) map_get(&c->graph->var_of, old->arg.param.slot, &first);
    map_put(&c->graph->vars, number, (uint64_t)bits);
    map_put(&c->graph->var_of, number, first);
    union arg arg = {.param = {.slot = number, .name = ir_sym(&c->graph->ir, "s", 1)}};
    return uop_new(&c->graph->ir, OP_VAR, dt, 1, bound, 2, arg);
}
