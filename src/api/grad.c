/* grad.c: parameters and gradients.
 *
 * A parameter is a tensor with a store of its own, held by its slot and by no scope. Its gradient so far is a node in that slot: lazy,
 * and a root like any handle. t_grad works on the graph as it was written: collecting keeps the history of what leads to
 * a parameter and renames what was cut, so that "the tensor p" and "p in the expression" are the same node.
 * What would silently give no gradient is an error: nothing that leads to the loss, or a loss of values that
 * a parameter had before it was assigned.
 * Tests: tests/semantics/grad.c */
#include "internal.h"

#define AT const char *file, int line

/* ---- parameters -------------------------------------------------------------------------------------------- */

static const uop *b_param(struct api_call *k) {
    const uop *x = k->u[0];
    if (!dt_is_float((enum dtype)x->dt))
        call_fail(k, RG_EINVAL, "a parameter has a gradient, so it must be of a float dtype; found %s",
                  dtype_info[x->dt].name);
    if (k->c->recording)
        call_fail(k, RG_EINVAL,
                  "a parameter made while a jit is recorded would get its first value again in each replay; "
                  "make it "
                  "before, or in the first call only");
    return store_value(k->c, x, EVENT_MEM_PARAMETER);
}

rg_tensor rg_param_at(AT, rg_tensor x) {
    return call_tensor(
        CALL(param, .in = {TENSOR(x)}, .n = 1, .global = true, .param = true, .build = b_param));
}

static const uop *b_param_grad(struct api_call *k) {
    struct api_slot *s = call_slot(k, k->in[0].t, 0);
    s->grad_used = true;
    if (!s->param) call_fail(k, RG_EINVAL, "tensor 1 is not a parameter; rg_param makes one");
    const struct shape *sh = tg_shape(k->g, s->node);
    return s->grad ? call_detached(k, s->grad)
                   : t_full(k->g, t_number(k->g, (enum dtype)s->node->dt, 0), sh->d, sh->n);
}

rg_tensor rg_param_grad_at(AT, rg_tensor p) {
    return call_tensor(CALL(param_grad, .in = {TENSOR(p)}, .n = 1, .build = b_param_grad));
}

static void do_zero_grad(struct api_call *k) {
    struct api_slot *s;
    for (uint32_t i = 0; (s = slot_next(k->c, &i));) {
        if (s->grad) slot_set_grad(k->c, s, NULL);
        s->grad_used = false;
    }
}

rg_status rg_zero_grad_at(AT, rg_ctx *c) { return call_work(CALL(zero_grad, .c = c), do_zero_grad); }

/* ---- what leads where ---------------------------------------------------------------------------------------- */

struct reach {
    const uint8_t *stop; /* by node id: what is asked about is not gone through */
};

static bool reach_into(void *cx, const uop *n) {
    const struct reach *r = cx;
    return n->op != OP_DETACH && !r->stop[n->id];
}

/* Nodes that a gradient of n would visit, as marks by id. */
static const uint8_t *reached(struct api_call *k, const uop *n, const uop *const *wrt, uint32_t nwrt,
                              uop_vec *order) {
    rg_ctx *c = k->c;
    uint8_t *stop = arena_alloc(&c->scratch, k->g->ir->n + 1),
            *mark = arena_alloc(&c->scratch, k->g->ir->n + 1);
    for (uint32_t i = 0; i < nwrt; i++) stop[wrt[i]->id] = 1;
    gr_walk(c, &n, 1, reach_into, &(struct reach){stop}, order);
    for (uint32_t i = 0; i < order->n; i++) {
        const uop *at = order->p[i];
        mark[at->id] =
            at->op != OP_DETACH || stop[at->id]; /* a detached value may be asked for: it is a leaf */
    }
    return mark;
}

static bool any_into(void *cx, const uop *n) { return (void)cx, (void)n, true; }

/* Does no float lead to the value but constants, as to the sum of an empty tensor? What did was folded: its gradients are 0. */
static bool folded(struct api_call *k, const uop *of) {
    uop_vec order = {0};
    gr_walk(k->c, &of, 1, any_into, NULL, &order);
    for (uint32_t i = 0; i < order.n; i++)
        if (order.p[i]->op == OP_BUFFER && dt_is_float((enum dtype)order.p[i]->dt)) return false;
    return true;
}

/* Does the value come of realized ones that led to a parameter, but through no gradient (the sign of a weight)? Zeros, as
 * before they were realized. */
static bool is_flat_below(struct api_call *k, const uop_vec *order) {
    for (uint32_t i = 0; i < order->n; i++)
        if (is_flat(k->c, order->p[i])) return true;
    return false;
}

static const char hint_realized[] = "; its value was computed (rg_read, rg_item, rg_realize) before, which "
                                    "forgets how: ask for gradients first";

/* State that was computed from a parameter lost its history when it ran: gradients would silently miss that part. */
static void check_lost(struct api_call *k, const uop_vec *order, const uint8_t *mark) {
    rg_ctx *c = k->c;
    for (uint32_t i = 0; c->lost && i < order->n; i++) {
        const uop *n = order->p[i];
        if (!mark[n->id] || n->op != OP_BUFFER || c->store[store_of(n)].lost != version_of(n)) continue;
        const struct api_slot *s = NULL, *of = NULL;
        for (uint32_t j = 0; (s = slot_next(c, &j)) && !of;)
            if (gr_now(c, s->node) == n) of = s;
        call_fail(k, RG_EINVAL,
                  "no gradient flows through state: the tensor made by %s at %s:%d was assigned a value that "
                  "leads to a parameter, and that ran already (rg_read, rg_realize ..); ask for gradients "
                  "before, or use rg_detach of it",
                  of ? of->fn : "a call", of && of->file ? of->file : "an unknown file", of ? of->line : 0);
    }
}

/* ---- rg_grad --------------------------------------------------------------------------------------------------- */

struct grad_args {
    rg_tensor *out;
    rg_grad_opts o;
};

static void do_grad(struct api_call *k) {
    rg_ctx *c = k->c;
    struct grad_args *a = k->p;
    uint32_t n = (uint32_t)k->list.n, first;
    if (!a->out) call_fail(k, RG_EINVAL, "the array for the results is NULL");
    const uop *of = call_slot(k, k->in[0].t, 0)->node;
    const uop *seed = a->o.seed.id ? call_slot(k, a->o.seed, n + 1)->node : NULL;
    const uop **wrt = arena_array(&c->scratch, const uop *, n + 1),
              **out = arena_array(&c->scratch, const uop *, n + 1);
    for (uint32_t i = 0; i < n; i++) wrt[i] = call_slot(k, k->list.t[i], i + 1)->node;
    uop_vec order = {0};
    const uint8_t *mark = reached(k, of, wrt, n, &order);
    bool flat = is_flat_below(k, &order);
    for (uint32_t i = 0; i < n && !a->o.unused_ok; i++)
        if (!mark[wrt[i]->id] && !folded(k, of) && !(flat && call_slot(k, k->list.t[i], i + 1)->param))
            call_fail(k, RG_EINVAL,
                      "tensor %u does not lead to what is differentiated%s; .unused_ok = true gives zeros",
                      i + 2, of->op == OP_BUFFER ? hint_realized : "");
    for (uint32_t i = 0; i < n; i++)
        if (call_slot(k, k->list.t[i], i + 1)->param) check_lost(k, &order, mark);
    first = k->g->ir->n;
    chain_begin(c);
    t_grad(k->g, of, seed, wrt, n, out);
    chain_end(c);
    for (uint32_t i = 0; i < n; i++) {
        struct api_slot *s;
        tg_shape(k->g, out[i] = call_detached(k, out[i]));
        rg_tensor t = slot_new(c, out[i], false, &s);
        s->file = k->file, s->line = k->line, s->fn = k->fn;
        a->out[i] = t;
    }
    call_site(k, first, NULL);
}

rg_status rg_grad_at(AT, rg_tensor of, rg_tensors wrt, rg_tensor *out, rg_grad_opts o) {
    struct grad_args a = {out, o};
    struct api_call *k = CALL(grad, .in = {TENSOR(of)}, .n = 1, .list = wrt, .p = &a);
    rg_status bad = call_work(k, do_grad);
    for (size_t i = 0; bad && out && i < wrt.n; i++) out[i] = k->c ? poison(k->c) : RG_NONE;
    return bad;
}

/* ---- rg_backward ------------------------------------------------------------------------------------------------- */

/* A loss of what a parameter was before it was assigned has no gradient for what it is now. */
static void check_versions(struct api_call *k, const uop_vec *order, const uint8_t *mark,
                           const struct api_slot *p, const uop *at) {
    rg_ctx *c = k->c;
    const uop *root = gr_chain_root(c, gr_now(c, at));
    if (root->op != OP_BUFFER) return;
    for (uint32_t i = 0; i < order->n; i++) {
        const uop *n = order->p[i];
        if (!mark[n->id] || n == at || n == gr_now(c, at) || n->op != OP_BUFFER) continue;
        if (c->store[store_of(n)].serial != c->store[store_of(root)].serial) continue;
        call_fail(k, RG_EINVAL,
                  "the loss was computed from the value that a parameter had before %s at %s:%d; call "
                  "rg_backward before "
                  "assigning to parameters",
                  p->fn, p->file ? p->file : "an unknown file", p->line);
    }
}

static void do_backward(struct api_call *k) {
    rg_ctx *c = k->c;
    const uop *of = call_slot(k, k->in[0].t, 0)->node;
    VEC(struct api_slot *) params = {0};
    uop_vec all = {0}, wrt = {0}, order = {0};
    struct api_slot *s;
    for (uint32_t i = 0; (s = slot_next(c, &i));) {
        if (!s->param) continue;
        vec_push(&c->scratch, &params, s);
        vec_push(&c->scratch, &all, s->node);
    }
    const uint8_t *mark = reached(k, of, all.p, all.n, &order);
    uint32_t used = 0;
    check_lost(k, &order, mark);
    for (uint32_t i = 0; i < params.n; i++) {
        check_versions(k, &order, mark, params.p[i], all.p[i]);
        if (!mark[all.p[i]->id]) continue;
        params.p[used++] = params.p[i];
        vec_push(&c->scratch, &wrt, all.p[i]);
    }
    if (!used && params.n && (folded(k, of) || is_flat_below(k, &order))) return;
    if (!used)
        call_fail(k, RG_EINVAL, "no parameter leads to the loss%s",
                  of->op == OP_BUFFER ? hint_realized : "; rg_param makes one");
    const uop **out = arena_array(&c->scratch, const uop *, used),
              **sum = arena_array(&c->scratch, const uop *, used);
    uint32_t first = k->g->ir->n;
    chain_begin(c);
    t_grad(k->g, of, NULL, wrt.p, used, out);
    chain_end(c);
    for (uint32_t i = 0; i < used; i++) {
        sum[i] = params.p[i]->grad ? t_add(k->g, params.p[i]->grad, out[i]) : out[i];
        tg_shape(k->g, sum[i]);
    }
    call_site(k, first, NULL);
    for (uint32_t i = 0; i < used; i++) slot_set_grad(c, params.p[i], sum[i]); /* all or none */
}

rg_status rg_backward_at(AT, rg_tensor loss) {
    return call_work(CALL(backward, .in = {TENSOR(loss)}, .n = 1), do_backward);
}
