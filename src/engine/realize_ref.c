/* realize_ref.c: what REF does in place of plans and kernels: the oracle (src/ref) evaluates the graph node by node.
 *
 * Results and assigned buffers are written at the end, after all values are known.
 * Tests: tests/semantics (semantics_REF_*) */
#include "engine/internal.h"
#include "event/event.h"
#include "ref/ref.h"

struct ref_call {
    const struct realize *r;
    struct arena *work;
    const uop_vec *topo; /* of the graph */
};

static size_t bytes_of(struct shapes *sh, const uop *n) {
    return (size_t)shape_size(shape_of(sh, n)) * dtype_info[n->dt].bytes;
}

/* Marks the ASSIGNs that another ASSIGN goes on from: their buffer ends up holding something else. */
static uint8_t *find_older(const struct ref_call *c) {
    uint8_t *older = arena_array(c->work, uint8_t, c->r->graph->id + 1);
    for (uint32_t i = 0; i < c->topo->n; i++)
        if (c->topo->p[i]->op == OP_ASSIGN) older[c->topo->p[i]->src[0]->id] = 1;
    return older;
}

/* The graph, and as further sources the ASSIGNs whose value the program does not ask for itself. */
static const uop *with_assigns(const struct ref_call *c, const uint8_t *older) {
    const uop *g = c->r->graph;
    uop_vec src = {0};
    uint8_t *asked = arena_array(c->work, uint8_t, g->id + 1);
    for (uint32_t i = 0; i < g->nsrc; i++) {
        vec_push(c->work, &src, g->src[i]);
        asked[g->src[i]->id] = 1;
    }
    for (uint32_t i = 0; i < c->topo->n; i++) {
        const uop *n = c->topo->p[i];
        if (n->op == OP_ASSIGN && !older[n->id] && !asked[n->id]) vec_push(c->work, &src, n);
    }
    return src.n == g->nsrc ? g : uop_mk(c->r->ir, OP_GRAPH, src.p, src.n, ARG_NONE);
}

static struct ref_buf *ref_bufs(const struct ref_call *c, struct shapes *sh, uint32_t *n) {
    *n = 0;
    for (uint32_t i = 0; i < c->topo->n; i++)
        if (c->topo->p[i]->op == OP_BUFFER) *n = RG_MAX(*n, (uint32_t)c->topo->p[i]->arg.i + 1);
    struct ref_buf *b = arena_array(c->work, struct ref_buf, *n + 1);
    for (uint32_t i = 0; i < c->topo->n; i++) {
        const uop *x = c->topo->p[i];
        if (x->op == OP_BUFFER)
            b[x->arg.i] = (struct ref_buf){.p = c->r->buf[x->arg.i], .bytes = bytes_of(sh, x)};
    }
    return b;
}

static int exchange(void *cx, struct err *e, int64_t code, const void *in, void *out, int64_t nin,
                    int64_t nout) {
    return collective_run(cx, e, code, in, out, nin, nout);
}

/* All values first, then all writing: a value may be computed from what a buffer held before. */
uint64_t realize_ref(struct engine *en, struct err *err, struct arena *work, const struct realize *r,
                     const uop_vec *topo) {
    const struct ref_call call = {r, work, topo}, *c = &call;
    struct err e = {0};
    struct shapes sh;
    uint32_t nbuf;
    uint64_t t0 = os_now_ns();
    shapes_init(&sh, c->r->ir, c->work);
    const uint8_t *older = find_older(c);
    const uop *g = with_assigns(c, older);
    struct ref_buf *b = ref_bufs(c, &sh, &nbuf);
    struct ref_tensor *out = arena_array(c->work, struct ref_tensor, g->nsrc);
    struct ref_exchange ranks = {en, exchange};
    if (ref_graph_of_rank(&e, work, r->ir, g, b, nbuf, r->var, &ranks, out))
        err_throw(err, e.code, "%s", e.msg);
    for (uint32_t i = 0; i < g->nsrc; i++) {
        const uop *x = g->src[i], *buf = x;
        if (x->op == OP_BUFFER || (x->op == OP_ASSIGN && older[x->id])) continue;
        while (buf->op == OP_ASSIGN) buf = buf->src[0];
        void *to = x->op == OP_ASSIGN ? c->r->buf[buf->arg.i] : c->r->result[i];
        memcpy(to, out[i].data, bytes_of(&sh, x));
    }
    uint64_t t1 = os_now_ns();
    event_add(EVENT_KERNEL, event_name("ref_graph"), t0, t1, 0, 0);
    en->observer->ref(en, g->nsrc, t1 - t0);
    return t1 - t0;
}
