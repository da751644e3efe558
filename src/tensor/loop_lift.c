/* loop_lift.c: nodes of a loop's body for all steps at once: each op gets an axis of steps in front, as vmap does it.
 *
 * What depends on no row of an operand stays without that axis, and is repeated where it meets what has it.
 * A sum over the steps goes below views and into reductions, so that the gradient of a weight is one product over steps and rows and
 * never a tensor of one for each step.
 * Tests: tests/unit/loop.c */
#include "tensor/loop.h"

void lift_init(struct loop_lift *l, struct tg *outer, struct loop_body *b) {
    uint32_t n = b->g.ir->n;
    *l = (struct loop_lift){.outer = outer,
                            .b = b,
                            .value = arena_array(b->a, const uop *, n),
                            .out = arena_array(b->a, const uop *, n),
                            .batched = arena_array(b->a, uint8_t, n),
                            .n = n};
    for (uint32_t i = 0; i < b->leaf.n; i++)
        if (b->leaf.p[i].kind != LOOP_STATE) l->value[b->leaf.p[i].leaf->id] = b->leaf.p[i].value;
}

static const struct shape *body_shape(struct loop_lift *l, const uop *n) { return tg_shape(&l->b->g, n); }

/* (steps, 1 .. 1) or (steps, the shape). What is repeated already is repeated once, along all axes: its gradient is one sum. */
static const uop *to_steps(struct loop_lift *l, const uop *x, const struct shape *s, bool repeat) {
    int64_t d[SHAPE_MAX + 1] = {l->b->steps};
    while (repeat && x->op == OP_EXPAND) x = x->src[0];
    for (uint32_t i = 0; i < s->n; i++) d[1 + i] = repeat ? s->d[i] : 1;
    return repeat ? t_expand(l->outer, x, d, s->n + 1) : t_reshape(l->outer, x, d, s->n + 1);
}

/* Source i with the axis of steps. */
static const uop *with_steps(struct loop_lift *l, const uop *s) {
    const uop *x = l->out[s->id];
    return l->batched[s->id] ? x : to_steps(l, x, body_shape(l, s), true);
}

/* Of an elementwise op: rank 0 broadcasts. */
static const uop *elementwise_source(struct loop_lift *l, const uop *n, const uop *s) {
    const struct shape *to = body_shape(l, n);
    if (body_shape(l, s)->n) return with_steps(l, s);
    if (!l->batched[s->id] || !to->n) return l->out[s->id];
    return to_steps(l, to_steps(l, l->out[s->id], to, false), to, true);
}

/* Numbers that come with a new first axis, and by how much the others move. */
struct axis_numbers {
    uint32_t front;
    int64_t number[3], shift;
};

static bool numbers_of(const struct loop_lift *l, const uop *n, struct axis_numbers *a) {
    *a = (struct axis_numbers){0};
    switch (n->op) {
    case OP_RESHAPE:
    case OP_EXPAND: a->front = 1, a->number[0] = l->b->steps; return true;
    case OP_PERMUTE: a->front = 1, a->shift = 1; return true;
    case OP_PAD: a->front = 3; return true;
    case OP_SHRINK: a->front = 3, a->number[1] = l->b->steps, a->number[2] = 1; return true;
    case OP_FLIP:
    case OP_REDUCE_AXES:
    case OP_SCAN_AXIS: a->shift = 1; return true;
    case OP_UNFOLD:
    case OP_FOLD:
    case OP_CONTIGUOUS:
    case OP_DETACH:
    case OP_INLINE:
    case OP_ONCE_DIFF:
    case OP_GRAD_STORED: return true;
    default: return false;
    }
}

static const uop *lift_view(struct loop_lift *l, const uop *n, const struct axis_numbers *a, bool summed) {
    struct ir *ir = l->outer->ir;
    const uop **src = arena_array(l->b->a, const uop *, n->nsrc + 4u);
    uint32_t k = 0, values = n->op == OP_PAD ? 2 : 1;
    src[k++] = with_steps(l, n->src[0]);
    if (n->op == OP_PAD) src[k++] = l->out[n->src[1]->id];
    for (uint32_t i = 0; i < a->front; i++) src[k++] = uop_idx(ir, a->number[i]);
    if (summed) src[k++] = uop_idx(ir, 0);
    for (uint32_t i = values; i < n->nsrc; i++)
        src[k++] = n->src[i]->dt != DT_IDX ? with_steps(l, n->src[i])
                                           : uop_idx(ir, uop_const_i(l->b->g.ir, n, i) + a->shift);
    return uop_new(ir, (enum op)n->op, (enum dtype)n->dt, 1, src, k, n->arg);
}

static void RG_NORETURN cannot_lift(struct loop_lift *l, const uop *n) {
    err_throw(l->outer->ir->err, RG_EUNSUPPORTED, "%s in the body of a loop cannot be computed for all steps",
              op_info[n->op].name);
}

static const uop *lift_batched(struct loop_lift *l, const uop *n) {
    struct axis_numbers a;
    const uop **src = arena_array(l->b->a, const uop *, n->nsrc + 1);
    union arg arg = n->arg;
    bool pure = op_is_pure((enum op)n->op);
    if (numbers_of(l, n, &a)) {
        if (n->op == OP_PAD && l->batched[n->src[1]->id]) cannot_lift(l, n);
        return lift_view(l, n, &a, false);
    }
    if (n->op == OP_GATHER || n->op == OP_SCATTER)
        arg.i++;
    else if (n->op == OP_CALL && call_of(l->b->g.ir, n) < CALL_collective) {
        const char *name = ir_name(l->b->g.ir, (uint32_t)arg.u);
        arg.u = ir_sym(l->outer->ir, name, strlen(name));
    } else if (!pure && n->op != OP_GRAD_THROUGH)
        cannot_lift(l, n);
    for (uint32_t k = 0; k < n->nsrc; k++) {
        const uop *s = n->src[k];
        src[k] = s->dt == DT_IDX ? l->out[s->id] : pure ? elementwise_source(l, n, s) : with_steps(l, s);
    }
    return uop_new(l->outer->ir, (enum op)n->op, (enum dtype)n->dt, 1, src, n->nsrc, arg);
}

static void lift_node(struct loop_lift *l, const uop *n) {
    const uop **src = arena_array(l->b->a, const uop *, n->nsrc + 1);
    bool batched = false;
    if (n->op == OP_BUFFER) {
        l->out[n->id] = l->value[n->id];
        RG_CHECK(l->outer->ir->err, l->out[n->id]);
        l->batched[n->id] = l->b->leaf.p[n->arg.i].kind != LOOP_FIXED;
        return;
    }
    for (uint32_t k = 0; k < n->nsrc; k++) {
        src[k] = l->out[n->src[k]->id];
        batched |= l->batched[n->src[k]->id];
    }
    l->batched[n->id] = batched;
    if (batched)
        l->out[n->id] = lift_batched(l, n);
    else if (n->op == OP_CALL)
        cannot_lift(l, n);
    else
        l->out[n->id] = uop_new(l->outer->ir, (enum op)n->op, (enum dtype)n->dt, 1, src, n->nsrc, n->arg);
    tg_shape(l->outer, l->out[n->id]);
}

static void lift_below(struct loop_lift *l, const uop *n) {
    uop_vec topo = {0};
    if (l->out[n->id]) return;
    uop_topo(l->b->a, &n, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++)
        if (!l->out[topo.p[i]->id]) lift_node(l, topo.p[i]);
}

const uop *lift(struct loop_lift *l, const uop *n, bool *batched) {
    RG_CHECK(l->outer->ir->err, n->id < l->n);
    lift_below(l, n);
    *batched = l->batched[n->id];
    return l->out[n->id];
}

/* A view of the sum: numbers as they are in the body. */
static const uop *view_of_sum(struct loop_lift *l, const uop *n) {
    const uop **src = arena_array(l->b->a, const uop *, n->nsrc + 1);
    src[0] = lift_sum(l, n->src[0]);
    for (uint32_t k = 1; k < n->nsrc; k++) src[k] = ir_import(l->outer->ir, l->b->g.ir, n->src[k]);
    return uop_new(l->outer->ir, (enum op)n->op, (enum dtype)n->dt, 1, src, n->nsrc, n->arg);
}

const uop *lift_sum(struct loop_lift *l, const uop *n) {
    struct axis_numbers a;
    const struct shape *s = body_shape(l, n);
    if (n->op == OP_RESHAPE || n->op == OP_PERMUTE || n->op == OP_EXPAND || n->op == OP_SHRINK ||
        n->op == OP_FLIP || n->op == OP_GRAD_STORED)
        return view_of_sum(l, n);
    if (n->op == OP_CAST && dt_is_float((enum dtype)n->src[0]->dt))
        return t_cast(l->outer, lift_sum(l, n->src[0]), (enum dtype)n->dt);
    if (n->op == OP_ADD && body_shape(l, n->src[0]) == s && body_shape(l, n->src[1]) == s)
        return t_add(l->outer, lift_sum(l, n->src[0]), lift_sum(l, n->src[1]));
    lift_below(l, n);
    if (!l->batched[n->id])
        return t_mul(l->outer, l->out[n->id], t_number(l->outer, (enum dtype)n->dt, (double)l->b->steps));
    if (n->op == OP_REDUCE_AXES && n->arg.i == OP_ADD && numbers_of(l, n, &a))
        return t_reshape(l->outer, lift_view(l, n, &a, true), s->d, s->n);
    return t_sum(l->outer, l->out[n->id], (const int64_t[]){0}, 1, false);
}
