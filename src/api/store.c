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

/* Bounds of integers: +-2^63 stands for all there are; others are exact up to 2^53. */
static const uop *var_bound(rg_ctx *c, enum dtype dt, double v) {
    if (dt_is_float(dt)) return uop_flt(&c->graph->ir, dt, v);
    return uop_int(&c->graph->ir, dt, v >= 0x1p63 ? INT64_MAX : (int64_t)v);
}

static const uop *var_node(rg_ctx *c, enum dtype dt, const uop *const *bound, uint32_t number, uint64_t first,
                           int64_t bits) {
    map_put(&c->graph->vars, number, (uint64_t)bits);
    map_put(&c->graph->var_of, number, first);
    union arg arg = {.param = {.slot = number, .name = ir_sym(&c->graph->ir, "s", 1)}};
    return uop_new(&c->graph->ir, OP_VAR, dt, 1, bound, 2, arg);
}

const uop *store_var(rg_ctx *c, enum dtype dt, double lo, double hi, int64_t bits, const uop *old) {
    uint32_t number = c->next_var++;
    uint64_t first = number;
    if (old) map_get(&c->graph->var_of, old->arg.param.slot, &first);
    const uop *bound[2] = {old ? old->src[0] : var_bound(c, dt, lo),
                           old ? old->src[1] : var_bound(c, dt, hi)};
    return var_node(c, dt, bound, number, first, bits);
}

/* Between draws nothing need hold the key's node, and a collection may forget it: it is made again by its number. */
const uop *store_key(rg_ctx *c) {
    if (!c->keyed) {
        c->key_var = c->next_var++;
        if (!c->key_first) c->key_first = c->key_var + 1;
        c->keyed = true;
    }
    const uop *bound[2] = {var_bound(c, DT_I64, -0x1p63), var_bound(c, DT_I64, 0x1p63)};
    return var_node(c, DT_I64, bound, c->key_var, c->key_first - 1, (int64_t)c->seed);
}
