/* layer.c: what modules and optimisers (src/nn) ask of a context beyond the public functions; api.h is their header.
 * Tests: tests/unit/nn*.c */
#include "api.h"
#include "internal.h"

#define AT const char *file, int line

rg_status api_fail(rg_ctx *c, AT, const char *fn, int code, const char *fmt, ...) {
    if (!c) return (rg_status)code;
    if (c->err.code) return (rg_status)c->err.code;
    va_list ap;
    va_start(ap, fmt);
    err_setv(&c->err, code, fmt, ap);
    va_end(ap);
    if (!file) file = c->origin.file, line = c->origin.line;
    if (file)
        err_prefix(&c->err, "%s:%d: %s: ", file, line, fn);
    else
        err_prefix(&c->err, "%s: ", fn);
    return (rg_status)code;
}

rg_tensor api_poison(rg_ctx *c) { return c ? poison(c) : RG_NONE; }

struct owning {
    rg_ctx *c;
    void *obj;
    void (*free_fn)(void *);
};

static void own_body(void *arg) {
    struct owning *o = arg;
    ctx_own(o->c, o->obj, o->free_fn);
}

rg_status api_own(rg_ctx *c, AT, const char *fn, void *obj, void (*free_fn)(void *)) {
    struct owning o = {c, obj, free_fn};
    if (err_guard(&c->err, own_body, &o)) err_prefix(&c->err, "%s:%d: %s: ", file ? file : "", line, fn);
    return (rg_status)c->err.code;
}

struct api_origin api_enter(rg_ctx *c, struct api_origin p) {
    struct api_origin old = {0};
    if (c) old = c->origin, c->origin = p;
    return old;
}

/* ---- tensors --------------------------------------------------------------------------------------------- */

static const uop *b_state(struct api_call *k) {
    return store_value(k->c, k->u[0], k->i[0] ? EVENT_MEM_STATE : EVENT_MEM_PARAMETER);
}
rg_tensor api_state(AT, rg_tensor x, bool optimiser) {
    return call_tensor(
        CALL(nn_state, .in = {TENSOR(x)}, .n = 1, .i = {optimiser}, .global = true, .build = b_state));
}

static void do_become(struct api_call *k) {
    uint32_t first = k->g->ir->n;
    struct api_slot *x = call_slot(k, k->in[0].t, 0);
    const uop *was = gr_chain_root(k->c, x->node), *v = call_node(k, 1, DT_COUNT);
    const uop *n =
        store_value(k->c, v, was->op == OP_BUFFER ? k->c->store[store_of(was)].kind : EVENT_MEM_VALUE);
    tg_shape(k->g, n);
    call_site(k, first, n);
    if (x->param) state_forget_lost(k->c);
    slot_set(k->c, x, n);
    slot_set_grad(k->c, x, NULL);
    x->used = x->grad_used = false;
}
rg_status api_become(AT, rg_tensor x, rg_tensor v) {
    return call_work(CALL(nn_cast, .in = {TENSOR(x), TENSOR(v)}, .n = 2), do_become);
}

bool api_unmark(rg_tensor *x) {
    bool temporary = x->id & TEMPORARY;
    x->id &= ~TEMPORARY;
    return temporary;
}

/* ---- gradients --------------------------------------------------------------------------------------------- */

bool api_is_param(rg_tensor p) {
    rg_ctx *c = ctx_of(p.id);
    const struct api_slot *s = c ? slot_get(c, p) : NULL;
    return s && s->param;
}

bool api_has_grad(rg_tensor p) {
    rg_ctx *c = ctx_of(p.id);
    const struct api_slot *s = c ? slot_get(c, p) : NULL;
    return s && s->grad;
}

static void do_set_grad(struct api_call *k) {
    struct api_slot *p = call_slot(k, k->in[0].t, 0);
    const uop *g = k->in[1].t.id ? call_slot(k, k->in[1].t, 1)->node : NULL;
    slot_set_grad(k->c, p, g);
    p->grad_used = false;
}
rg_status api_set_grad(AT, rg_tensor p, rg_tensor g) {
    return call_work(CALL(param_grad, .in = {TENSOR(p), TENSOR(g)}, .n = 2), do_set_grad);
}

/* ---- parameters that ranks share ------------------------------------------------------------------------------- */

struct api_shard api_shard_of(rg_tensor p) {
    rg_ctx *c = ctx_of(p.id);
    const struct api_slot *s = c ? slot_get(c, p) : NULL;
    return s && s->shard ? c->shard[s->shard - 1] : (struct api_shard){0};
}

rg_status api_set_shard(AT, rg_tensor p, struct api_shard what) {
    rg_ctx *c = ctx_of(p.id);
    struct api_slot *s = c ? slot_get(c, p) : NULL;
    if (!s || c->err.code) return c ? (rg_status)c->err.code : RG_EINVAL;
    struct api_shard *all = mem_realloc(c->shard, (c->shards + 1) * sizeof *all);
    if (!all) return api_fail(c, file, line, "rg_nn_data_parallel", RG_ENOMEM, "out of memory");
    c->shard = all;
    all[c->shards++] = what;
    s->shard = c->shards;
    return RG_OK;
}
