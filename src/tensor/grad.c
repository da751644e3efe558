/* grad.c: gradients. The rules say what flows through one node; this file walks the graph backwards with them.
 *
 * From `of` to its sources, newest node first: each node after all of its users, so that what flows to it is complete when its
 * rule runs, and in the order of the user's program, so that equal programs have equal gradients whatever memory they read.
 * Only nodes below which there is a wrt are visited. No recursion: graphs may be a hundred thousand nodes deep. What a
 * rule gives has the shape of the node or of the source; here it is brought to the source's: a number beside a tensor
 * gets the sum. Graph in, graph out: a gradient can be differentiated again.
 * Scratch memory is an arena of its own, given back whatever happens; the nodes made stay in the ir.
 * Tests: tests/unit/tensor_grad.c */
#include "tensor/grad.h"
#include "tensor/internal.h"
#include "tensor/loop.h"

/* ---- what rules build with ---------------------------------------------------------------------------------- */

static bool is_flt(const uop *n, double v) {
    return n->op == OP_CONST && dt_is_float((enum dtype)n->dt) && n->arg.f == v;
}

const uop *grad1(struct rw *rw, enum op op, const uop *x) {
    if (op == OP_NEG && x->op == OP_NEG) return x->src[0];
    return tg_op1(rw->cx, op, x);
}

/* A factor of 1 goes: a number has rank 0, so the other operand has the shape of the product. */
const uop *grad2(struct rw *rw, enum op op, const uop *x, const uop *y) {
    if ((op == OP_MUL || op == OP_FDIV) && is_flt(y, 1)) return x;
    if (op == OP_MUL && is_flt(x, 1)) return y;
    return tg_op2(rw->cx, op, x, y);
}

const uop *grad3(struct rw *rw, enum op op, const uop *x, const uop *y, const uop *z) {
    return tg_op3(rw->cx, op, x, y, z);
}

const uop *grad_new(struct rw *rw, enum op op, enum dtype dt, unsigned lanes, const uop *const *src,
                    uint32_t n, union arg arg) {
    if (op == OP_CAST) return t_cast(rw->cx, src[0], dt);
    return uop_new(rw->ir, op, dt, lanes, src, n, arg);
}

const uop *grad_mk(struct rw *rw, enum op op, const uop *const *src, uint32_t n, union arg arg) {
    return uop_mk(rw->ir, op, src, n, arg);
}

const uop *grad_int(struct rw *rw, unsigned dt, int64_t v) { return uop_int(rw->ir, (enum dtype)dt, v); }
const uop *grad_flt(struct rw *rw, unsigned dt, double v) { return uop_flt(rw->ir, (enum dtype)dt, v); }

/* ---- the walk --------------------------------------------------------------------------------------------------- */

/* An outer product that flows to an EXPAND, or its sum to a UNFOLD: summed alone, since an elementwise sum of two would be a tensor
 * of all rows, columns and terms, or of all taps, where each for itself is a contraction. */
struct outer_flow {
    const uop *d;
    uint32_t next; /* index + 1 of the one that arrived before; 0: none */
};

struct back {
    struct tg *g;
    const uop *of, *seed;
    const uop *const *wrt;
    uint32_t n;
    const uop **out;
    struct arena tmp;
    struct rw rw;
    bool *leaf, *reach; /* by node id: is a wrt; is one or has one below */
    const uop **flow;   /* by node id: what has arrived so far */
    uint32_t *outer;    /* by node id: index + 1 of the last outer product that arrived; 0: none */
    VEC(struct outer_flow) outer_flow;
};

static void mark(struct back *b, const uop_vec *order) {
    b->leaf = arena_array(&b->tmp, bool, b->of->id + 1);
    b->reach = arena_array(&b->tmp, bool, b->of->id + 1);
    for (uint32_t i = 0; i < b->n; i++)
        if (b->wrt[i]->id <= b->of->id) b->leaf[b->wrt[i]->id] = true;
    for (uint32_t i = 0; i < order->n; i++) {
        const uop *n = order->p[i];
        bool any = b->leaf[n->id];
        for (uint32_t k = 0; k < n->nsrc && !any; k++) any = b->reach[n->src[k]->id];
        b->reach[n->id] = any && dt_is_float((enum dtype)n->dt);
    }
}

/* Brings what flows to a source to its shape: rank 0 was broadcast, or the rule gave one number for all. */
static const uop *fit(struct tg *g, const uop *d, const uop *source) {
    const struct shape *have = tg_shape(g, d), *want = tg_shape(g, source);
    if (have == want) return d;
    if (!have->n) return tg_to_shape(g, d, want);
    RG_CHECK(g->ir->err, !want->n);
    return tg_reshape(g, tg_reduce(g, OP_ADD, d, ((uint32_t)1 << have->n) - 1), want);
}

/* 8-bit floats have no sums: in bf16, which holds them. */
static const uop *add_flows(struct tg *g, const uop *x, const uop *y) {
    enum dtype dt = (enum dtype)x->dt;
    if (!tg_is_f8(dt)) return tg_op2(g, OP_ADD, x, y);
    return t_cast(g, tg_op2(g, OP_ADD, t_cast(g, x, DT_BF16), t_cast(g, y, DT_BF16)), dt);
}

static const uop *below_moves(const uop *n) {
    while (n->op == OP_CAST || n->op == OP_NEG || n->op == OP_RESHAPE || n->op == OP_PERMUTE) n = n->src[0];
    return n;
}

static bool is_contraction(struct back *b, const uop *d) {
    d = below_moves(d);
    return d->op == OP_REDUCE_AXES && d->arg.i == OP_ADD && shape_is_outer_product(&b->g->shapes, d->src[0]);
}

static bool goes_alone(struct back *b, const uop *source, const uop *d) {
    if (b->leaf[source->id]) return false;
    if (source->op != OP_EXPAND) return below_moves(source)->op == OP_UNFOLD && is_contraction(b, d);
    return shape_is_outer_product(&b->g->shapes, d) || (d->op == OP_FOLD && is_contraction(b, d->src[0]));
}

static void arrive(struct back *b, const uop *source, const uop *d) {
    const uop **at = &b->flow[source->id];
    d = fit(b->g, d, source);
    RG_CHECK(b->g->ir->err, d->dt == source->dt);
    if (goes_alone(b, source, d)) {
        vec_push(&b->tmp, &b->outer_flow, ((struct outer_flow){d, b->outer[source->id]}));
        b->outer[source->id] = b->outer_flow.n;
        return;
    }
    *at = *at ? add_flows(b->g, *at, d) : d;
}

enum { SOURCES = 32 }; /* no op with a gradient has more that are not numbers */

static void through_recompute(struct back *b, const uop *n, const uop *flow) {
    const uop *const *to, **d;
    uint32_t count = grad_recompute(b->g, &b->tmp, n, flow, b->reach, &to, &d);
    for (uint32_t i = 0; i < count; i++) arrive(b, to[i], d[i]);
}

static void through(struct back *b, const uop *n, const uop *flow) {
    const uop *out[SOURCES] = {0};
    struct ir *ir = b->g->ir;
    uint32_t want = 0, first = ir->n, found = ir->found.n;
    for (uint32_t i = 0; i < n->nsrc && i < SOURCES; i++)
        if (b->reach[n->src[i]->id]) want |= (uint32_t)1 << i;
    if (!want) return;
    if (n->op == OP_RECOMPUTE) return through_recompute(b, n, flow);
    enum call_id call = n->op == OP_CALL ? call_of(ir, n) : CALL_COUNT;
    if (n->op == OP_ONCE_DIFF && n->nsrc > 1)
        err_throw(b->g->ir->err, RG_EUNSUPPORTED,
                  "a gradient of a gradient through attention; it can be differentiated once only");
    if (call == CALL_collective)
        out[0] = grad_collective(b->g, n, flow);
    else if (call == CALL_loop)
        grad_loop(b->g, n, flow, want, out);
    else if (!rules_grad(&b->rw, n, flow, want, out))
        err_throw(b->g->ir->err, RG_EUNSUPPORTED,
                  "the gradient of %s is not defined; detach what should not be differentiated",
                  op_info[n->op].name);
    for (uint32_t i = 0; i < n->nsrc && i < SOURCES; i++)
        if (out[i]) arrive(b, n->src[i], out[i]);
    prov_inherit(&b->g->prov, first, ir->n, n->id, true);
    prov_inherit_again(&b->g->prov, ir->found.p + found, ir->found.n - found, n->id, true);
    ir->found.n = found;
}

static void walk(void *arg) {
    struct back *b = arg;
    uop_vec order = {0};
    rw_init(&b->rw, b->g->ir, rules_none, b->g);
    b->rw.arena = &b->tmp;
    b->rw.fuel = UINT64_MAX; /* each rule runs once for each node: it ends */
    uop_topo(&b->tmp, &b->of, 1, &order);
    mark(b, &order);
    b->flow = arena_array(&b->tmp, const uop *, b->of->id + 1);
    b->outer = arena_array(&b->tmp, uint32_t, b->of->id + 1);
    b->flow[b->of->id] = b->seed;
    for (uint32_t id = b->of->id + 1; id-- > 0;) {
        const uop *n = b->g->ir->node[id];
        if (!b->reach[id] || b->leaf[id]) continue;
        if (b->flow[id]) through(b, n, b->flow[id]);
        for (uint32_t i = b->outer[id]; i; i = b->outer_flow.p[i - 1].next)
            through(b, n, b->outer_flow.p[i - 1].d);
    }
    for (uint32_t i = 0; i < b->n; i++) {
        const uop *w = b->wrt[i], *d = w->id <= b->of->id ? b->flow[w->id] : NULL;
        b->out[i] = d ? d : grad_zeros(&b->rw, w);
    }
}

static void check(struct tg *g, const uop *of, const uop *seed, const uop *const *wrt, uint32_t n) {
    if (!dt_is_float((enum dtype)of->dt))
        tg_bad(g, "the gradient of a tensor of dtype %s; expected a float dtype", tg_dt(of));
    if (!seed && shape_size(tg_shape(g, of)) != 1)
        tg_bad(g,
               "the gradient of a tensor of shape %s needs a seed of that shape; or reduce it to one number "
               "(sum, mean)",
               tg_dims(g, of));
    if (seed && (tg_shape(g, seed) != tg_shape(g, of) || seed->dt != of->dt))
        tg_bad(g, "the seed is %s %s; expected %s %s, as the tensor that is differentiated", tg_dims(g, seed),
               tg_dt(seed), tg_dims(g, of), tg_dt(of));
    for (uint32_t i = 0; i < n; i++)
        if (!dt_is_float((enum dtype)wrt[i]->dt))
            tg_bad(g,
                   "a gradient with respect to a tensor of dtype %s (number %u); only floats have gradients",
                   tg_dt(wrt[i]), i);
}

void t_grad(struct tg *g, const uop *of, const uop *seed, const uop *const *wrt, uint32_t n,
            const uop **out) {
    check(g, of, seed, wrt, n);
    if (!seed) seed = tg_to_shape(g, uop_flt(g->ir, (enum dtype)of->dt, 1), tg_shape(g, of));
    struct back b = {.g = g, .of = of, .seed = seed, .wrt = wrt, .n = n, .out = out};
    arena_init(&b.tmp, g->ir->err);
    int code = err_guard(g->ir->err, walk, &b);
    arena_free(&b.tmp);
    if (code) err_throw(g->ir->err, code, "%s", g->ir->err->msg);
}
