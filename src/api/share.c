/* share.c: memory that others see too: the address of a tensor's value, and tensors of memory that is not the library's.
 *
 * rg_expose gives out a handle of its own beside the address. As long as that lives nothing writes there: an assignment to the
 * tensor goes to other memory, because the handle still needs the old value. Memory that a recording writes in each replay, a
 * parameter's, and a number's, which has none, are copied first.
 * A store of borrowed memory is frozen from the start: who assigns to its tensor gets memory of its own.
 * Tests: tests/unit/api_share.c */
#include "internal.h"

#define AT const char *file, int line

/* ---- out ------------------------------------------------------------------------------------------------- */

static const uop *realized(struct api_call *k, rg_tensor t) {
    rg_ctx *c = k->c;
    const uop *n = behind_shapes(c, call_slot(k, t, 0)->node);
    realize_nodes(k, &n, 1, false, NULL);
    k->g = &c->graph->tg;
    return behind_shapes(c, call_slot(k, t, 0)->node); /* the graph may have moved */
}

/* Memory that someone else may write to or give back. */
static bool is_anothers(const rg_ctx *c, const struct api_slot *s, const uop *b) {
    return s->param || gr_is_scalar(s->node) || b->op != OP_BUFFER || c->store[store_of(b)].held;
}

static void expose(struct api_call *k, rg_tensor own) {
    rg_ctx *c = k->c;
    const void **data = k->p;
    const uop *b = realized(k, own);
    struct api_slot *s = call_slot(k, own, 0);
    if (is_anothers(c, call_slot(k, k->in[0].t, 0), b)) {
        const uop *n = uop2(k->g->ir, OP_CONTIGUOUS, b, uop_idx(k->g->ir, 1));
        tg_shape(k->g, n);
        slot_set(c, s, n);
        b = realized(k, own);
    }
    *data = c->store[store_of(b)].mem;
    if (engine_sync(c->engine, &c->err)) err_throw(&c->err, c->err.code, "the device failed");
}

static void do_expose(struct api_call *k) {
    struct api_slot *s;
    call_not_recording(k);
    if (!strcmp(k->c->device, "OPENCL"))
        call_fail(k, RG_EUNSUPPORTED, "memory of an OpenCL device has no address; rg_read copies it");
    call_collect(k);
    const uop *n = call_slot(k, k->in[0].t, 0)->node;
    rg_tensor own = slot_new(k->c, n, true, &s);
    s->file = k->file, s->line = k->line, s->fn = k->fn, s->view = true;
    k->in[1].t = own;
    expose(k, own);
}

rg_tensor rg_expose_at(AT, rg_tensor x, const void **data) {
    struct api_call *k = CALL(expose, .in = {TENSOR(x)}, .n = 1, .p = data);
    *data = NULL;
    if (!call_work(k, do_expose)) return k->in[1].t;
    if (k->in[1].t.id) rg_free(k->in[1].t);
    return k->c ? poison(k->c) : RG_NONE;
}

/* ---- in -------------------------------------------------------------------------------------------------- */

struct lent {
    rg_release_fn *release;
    void *user;
};

static const uop *b_borrow(struct api_call *k) {
    rg_ctx *c = k->c;
    const struct lent *l = k->p;
    enum dtype dt = call_dtype(k, (rg_dtype)k->i[0]);
    void *data = (void *)(uintptr_t)k->i[1];
    if (!strcmp(c->device, "OPENCL"))
        call_fail(k, RG_EUNSUPPORTED, "an OpenCL device takes no addresses; rg_from copies the data");
    const struct shape *sh = build_shape(k);
    size_t bytes = (size_t)build_bytes(k, dt, sh);
    if (bytes && !data) call_fail(k, RG_EINVAL, "the data is NULL; %zu bytes are expected", bytes);
    if ((uintptr_t)data % dtype_info[dt].bytes)
        call_fail(k, RG_EINVAL, "the data is at an address that is no multiple of %u, the size of an element",
                  (unsigned)dtype_info[dt].bytes);
    uint32_t s = store_new(c, bytes, EVENT_MEM_DATA);
    if (!bytes) store_need_call(k, s, dt, sh); /* no address to borrow */
    struct api_store *st = &c->store[s];
    if (bytes) st->mem = data, st->borrowed = true;
    st->frozen = true, st->release = l->release, st->user = l->user;
    return store_node(c, s, st->version, dt, sh);
}

rg_tensor rg_borrow_at(AT, rg_ctx *c, rg_dtype dt, const void *data, rg_ints shape, rg_release_fn *release,
                       void *user) {
    struct lent l = {release, user};
    if (!c) return RG_NONE;
    return call_tensor(CALL(borrow, .c = c, .i = {(int64_t)dt, (int64_t)(uintptr_t)data}, .p = &l,
                            .ints = shape, .build = b_borrow));
}

/* ---- gradients and modules of a binding ------------------------------------------------------------------- */

bool rg_has_grad(rg_tensor p) { return api_has_grad(p); }

rg_status rg_set_grad_at(AT, rg_tensor p, rg_tensor g) { return api_set_grad(file, line, p, g); }

const char *rg_in_module(rg_ctx *c, const char *path) {
    if (!c) return NULL;
    const char *was = c->origin.module;
    c->origin.module = path;
    return was;
}
