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

uint32_t store_new(rg_ctx *c, size_t bytes, enum event_memory kind) {
    uint32_t i = c->store_free;
    while (i < c->stores && c->store[i].used) i++;
    if (i == c->store_cap) {
        uint32_t cap = c->store_cap ? c->store_cap * 2 : 32;
        struct api_store *s = mem_realloc(c->store, cap * sizeof *s);
        if (!s) err_throw(&c->err, RG_ENOMEM, "out of memory: no room for another buffer");
        c->store = s, c->store_cap = cap;
    }
    if (i == c->stores) c->store[c->stores++] = (struct api_store){0};
    struct api_store *s = &c->store[i];
    c->store_free = i + 1;
    *s = (struct api_store){.bytes = bytes ? bytes : 1,
                            .serial = ++c->next_serial,
                            .version = s->version + 1,
                            .used = true,
                            .kind = (uint8_t)kind};
    return i;
}

/* ---- whose it is --------------------------------------------------------------------------------------- */

static void add_shape(struct str *out, enum dtype dt, const struct shape *sh) {
    str_printf(out, "\t%s(", dtype_info[dt].name);
    for (uint32_t d = 0; d < sh->n; d++) str_printf(out, "%s%lld", d ? "," : "", (long long)sh->d[d]);
    str_add(out, ")");
}

/* The text is made once for each kind, source line and shape: allocating must stay cheap. */
static uint32_t owner(rg_ctx *c, const struct api_store *s, const struct site *call, uint32_t set,
                      enum dtype dt, const struct shape *sh) {
    uint64_t key[] = {s->kind,
                      s->label,
                      dt,
                      set,
                      (uintptr_t)sh,
                      call ? (uintptr_t)call->file : 0,
                      call ? (uint64_t)call->line : 0,
                      call ? (uintptr_t)call->fn : 0},
             known;
    uint64_t h = hash_bytes(key, sizeof key, 1);
    if (map_get(&c->graph->owner, h, &known) && event_name_known((uint32_t)known)) return (uint32_t)known;
    struct arena_mark mark = arena_mark(&c->scratch);
    struct str t;
    str_init(&t, &c->scratch);
    str_printf(&t, "%s\t%zu\t", event_memory_text(s->kind), s->bytes);
    if (call) {
        const char *base = call->file ? strrchr(call->file, '/') : NULL;
        str_printf(&t, "%s", call->fn);
        if (call->module) str_printf(&t, " %s", call->module);
        if (call->file) str_printf(&t, " %s:%d", base ? base + 1 : call->file, call->line);
    } else if (s->label) {
        struct str site;
        str_init(&site, &c->scratch);
        prov_print(&site, &c->graph->tg.prov, set, 1);
        const char *line =
            site.n ? strchr(site.p, ' ') : NULL; /* the entry's name stands for the function's */
        const char *text = event_name_text(s->label), *dot = strrchr(text, '.');
        str_printf(&t, "%s %.*s%s", dot ? dot + 1 : text, dot ? (int)(dot - text) : 0, text,
                   line ? line : "");
    } else {
        prov_print(&t, &c->graph->tg.prov, set, 1);
    }
    add_shape(&t, dt, sh);
    uint32_t name = event_name_shared(t.p);
    arena_release(&c->scratch, mark);
    map_put(&c->graph->owner, h, name);
    return name;
}

static void count_memory(rg_ctx *c, const struct api_store *s) {
    c->buffers++;
    c->bytes += s->bytes, c->fresh_bytes += s->bytes;
    c->peak = RG_MAX(c->peak, c->bytes);
}

static void take_memory(rg_ctx *c, uint32_t i, uint32_t whose) {
    struct api_store *s = &c->store[i];
    s->mem = engine_alloc_for(c->engine, &c->err, s->bytes, whose);
    if (!s->mem && c->err.code == RG_ENOMEM && !c->planning) {
        err_clear(&c->err);
        s->held++; /* its node is not made yet */
        gr_release(c);
        s->held--;
        s->mem = engine_alloc_for(c->engine, &c->err, s->bytes, whose);
    }
    if (!s->mem)
        err_throw(&c->err, RG_ENOMEM, "out of memory: no %zu bytes on device %s", s->bytes, c->device);
    count_memory(c, s);
}

static uint32_t owner_of(rg_ctx *c, const struct api_store *s, const uop *n) {
    struct tg *g = &c->graph->tg;
    const uop *v = n->op == OP_ASSIGN ? n->src[1] : n;
    uint32_t set = prov_set_of(&g->prov, n->id);
    if (!set || s->kind == EVENT_MEM_DATA) set = prov_set_of(&g->prov, v->id);
    return owner(c, s, NULL, set, (enum dtype)n->dt, tg_shape(g, v));
}

void store_need(rg_ctx *c, uint32_t i, const uop *n) {
    if (!c->store[i].mem) take_memory(c, i, owner_of(c, &c->store[i], n));
}

void store_need_call(struct api_call *k, uint32_t i, enum dtype dt, const struct shape *sh) {
    struct site at = {.file = k->file, .fn = k->fn + 3, .module = k->c->origin.module, .line = k->line};
    take_memory(k->c, i, owner(k->c, &k->c->store[i], &at, 0, dt, sh));
}

void store_give(struct api_call *k, uint32_t i, void *mem, enum dtype dt, const struct shape *sh) {
    struct site at = {.file = k->file, .fn = k->fn + 3, .module = k->c->origin.module, .line = k->line};
    uint32_t whose = owner(k->c, &k->c->store[i], &at, 0, dt, sh);
    k->c->store[i].mem = mem;
    engine_own(k->c->engine, mem, whose);
    count_memory(k->c, &k->c->store[i]);
}

struct label {
    rg_ctx *c;
    const struct api_slot *s;
    const char *path;
};

static void put_label(void *arg) {
    struct label *l = arg;
    const uop *n = gr_chain_root(l->c, l->s->node);
    if (n->op != OP_BUFFER) return;
    struct api_store *s = &l->c->store[store_of(n)];
    char text[600];
    snprintf(text, sizeof text, "net.%s", l->path);
    s->label = event_name(text);
    if (s->mem) engine_own(l->c->engine, s->mem, owner_of(l->c, s, n));
}

void api_label(rg_tensor x, const char *path) {
    rg_ctx *c = ctx_of(x.id);
    struct label l = {c, c ? slot_get(c, x) : NULL, path};
    if (l.s && !c->err.code && err_guard(&c->err, put_label, &l)) c->damaged = true;
}

void store_drop(rg_ctx *c, uint32_t i) {
    struct api_store *s = &c->store[i];
    if (s->mem && !s->borrowed) {
        engine_free(c->engine, s->mem, s->bytes);
        c->buffers--;
        c->bytes -= s->bytes;
    }
    rg_release_fn *release = s->release;
    void *user = s->user;
    *s = (struct api_store){.version = s->version};
    c->store_free = RG_MIN(c->store_free, i);
    struct err unheard = {0};
    if (release && c->engine) engine_sync(c->engine, &unheard); /* kernels that read it may still run */
    if (release) release(user);
}

const uop *store_node(rg_ctx *c, uint32_t i, uint32_t version, enum dtype dt, const struct shape *sh) {
    const uop *dim[SHAPE_MAX];
    for (uint32_t d = 0; d < sh->n; d++) dim[d] = uop_idx(&c->graph->ir, sh->d[d]);
    const uop *n =
        uop_new(&c->graph->ir, OP_BUFFER, dt, 1, dim, sh->n, (union arg){.u = (uint64_t)i << 32 | version});
    tg_shape(&c->graph->tg, n);
    return n;
}

const uop *store_value(rg_ctx *c, const uop *v, enum event_memory kind) {
    uint32_t s = store_new(c, store_bytes(c, v), kind);
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
