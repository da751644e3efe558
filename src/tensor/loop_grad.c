/* loop_grad.c: the gradient of a loop is a loop the other way round.
 *
 * Its states are what flows to the states of the loop; its step is the gradient of the body, in which the sum of what flows from the next
 * step and from outside meets the values of the step. From all that flowed, which it leaves in its result, the gradients of
 * operands are computed for all steps at once (loop_lift.c). Bodies are graphs, so it can be differentiated again.
 * The sums of contractions in either loop, and what was computed for them, are left in its result for this (loop_keep.c).
 * Tests: tests/unit/loop.c */
#include "tensor/loop.h"

struct loop_back {
    struct tg *g;
    const uop *call, *dy;
    struct loop_call *l;
    struct loop_body b; /* the body of the gradient, around that of the loop */
    const uop **leaf;   /* by operand of the loop: its leaf in b */
    const uop **flow;   /* by state: the leaf of what flows from the next step .. */
    const uop **given;  /* .. and from outside */
    const uop **d;      /* by operand of the loop: what flows to its leaf */
    const uop **to;     /* by node of the loop's body: its copy in b */
};

static const struct shape *shape_in(struct loop_back *k, const uop *n) { return shape_of(&k->l->shapes, n); }

static const uop *rows(struct loop_back *k, const uop *flat, uint32_t state, int64_t first, int64_t n) {
    return loop_view(k->g, flat, loop_at(k->l, state, first), k->l->row[state], n,
                     shape_in(k, k->l->graph->src[state]));
}

/* Operand i as the body sees it: (steps, ..) of one per step. */
static const uop *operand(struct loop_back *k, uint32_t i) {
    const struct loop_call *l = k->l;
    const uop *x = k->call->src[i];
    if (!l->leaf[i]) return NULL;
    const struct shape *s = shape_in(k, l->leaf[i]);
    if (i >= l->states + l->per_step) return t_reshape(k->g, x, s->d, s->n);
    int64_t size = shape_size(s), d[SHAPE_MAX + 1] = {l->steps};
    struct t_slice part[2] = {{.start = 0, .stop = l->steps, .step = 1},
                              {.start = 0, .stop = size, .step = 1}};
    memcpy(d + 1, s->d, s->n * sizeof *d);
    return t_reshape(k->g, t_slice(k->g, x, part, 2), d, s->n + 1);
}

static void make_leaves(struct loop_back *k) {
    const struct loop_call *l = k->l;
    for (uint32_t i = 0; i < l->states; i++) {
        const struct shape *s = shape_in(k, l->graph->src[i]);
        const uop *zero = t_full(k->g, t_number(k->g, (enum dtype)k->call->dt, 0), s->d, s->n);
        k->flow[i] = loop_leaf(&k->b, k->g, LOOP_STATE, zero);
    }
    for (uint32_t i = 0; i < l->states; i++) {
        int64_t made = l->backwards ? 0 : 1, read = 1 - made;
        k->given[i] = loop_leaf(&k->b, k->g, LOOP_PER_STEP, rows(k, k->dy, i, made, l->steps));
        if (l->leaf[i])
            k->leaf[i] = loop_leaf(&k->b, k->g, LOOP_PER_STEP, rows(k, k->call, i, read, l->steps));
    }
    for (uint32_t i = l->states; i < l->values; i++)
        if (l->leaf[i])
            k->leaf[i] = loop_leaf(&k->b, k->g, i < l->states + l->per_step ? LOOP_PER_STEP : LOOP_FIXED,
                                   operand(k, i));
}

/* The gradient of the sum of next * (flow + given), by leaf. */
static void differentiate(struct loop_back *k) {
    const struct loop_call *l = k->l;
    struct tg *g = &k->b.g;
    const uop **next = arena_array(k->b.a, const uop *, l->states), *sum = NULL;
    const uop **wrt = arena_array(k->b.a, const uop *, l->values),
              **d = arena_array(k->b.a, const uop *, l->values);
    uint32_t n = 0;
    k->to = loop_copy(l, k->b.a, g->ir, k->leaf);
    for (uint32_t i = 0; i < l->states; i++) next[i] = k->to[l->graph->src[i]->id];
    for (uint32_t i = 0; i < l->states; i++) {
        const uop *one = t_sum(g, t_mul(g, next[i], t_add(g, k->flow[i], k->given[i])), NULL, 0, false);
        sum = sum ? t_add(g, sum, one) : one;
    }
    for (uint32_t i = 0; i < l->values; i++)
        if (k->leaf[i] && dt_is_float((enum dtype)k->leaf[i]->dt)) wrt[n++] = k->leaf[i];
    t_grad(g, sum, NULL, wrt, n, d);
    for (uint32_t i = 0, at = 0; i < l->values; i++)
        if (k->leaf[i] && dt_is_float((enum dtype)k->leaf[i]->dt)) k->d[i] = d[at++];
}

static void give_next(struct loop_back *k) {
    const struct loop_call *l = k->l;
    k->b.next = arena_array(k->b.a, const uop *, l->states);
    for (uint32_t i = 0; i < l->states; i++) {
        const uop *zero = t_number(&k->b.g, (enum dtype)l->graph->src[i]->dt, 0);
        const struct shape *s = shape_in(k, l->graph->src[i]);
        k->b.next[i] = k->d[i] ? k->d[i] : t_full(&k->b.g, zero, s->d, s->n);
    }
}

/* Sums of the loop that the gradient reads become operands of each step. */
static void read_kept(struct loop_back *k) {
    struct loop_call *l = k->l;
    struct arena *a = k->b.a;
    uint32_t nodes = k->b.g.ir->n;
    uint8_t *worth = loop_worth_keeping(a, &l->shapes, l->graph->src, l->leaf, l->states, l->ir->n),
            *copied = arena_array(a, uint8_t, nodes);
    const uop **of = arena_array(a, const uop *, nodes), **leaf = arena_array(a, const uop *, nodes);
    uop_vec kept = {0};
    for (uint32_t i = 0; i < l->ir->n; i++)
        if (worth[i]) copied[k->to[i]->id] = 1, of[k->to[i]->id] = l->ir->node[i];
    loop_find_read(a, k->d, l->values, copied, nodes, &kept);
    if (!kept.n) return;
    const uop **value = arena_array(a, const uop *, kept.n), **row = arena_array(a, const uop *, kept.n);
    for (uint32_t i = 0; i < kept.n; i++) value[i] = of[kept.p[i]->id];
    const uop *with = loop_keep(k->g, a, l, k->call, value, kept.n, row);
    for (uint32_t i = 0; i < kept.n; i++) leaf[kept.p[i]->id] = loop_leaf(&k->b, k->g, LOOP_PER_STEP, row[i]);
    for (uint32_t i = 0; i < l->states; i++)
        if (k->leaf[i])
            k->b.leaf.p[k->leaf[i]->arg.i].value = rows(k, with, i, l->backwards ? 1 : 0, l->steps);
    loop_replace(&k->b, leaf, nodes, k->d, l->values);
}

/* What flows to operand i: for the loop (steps, row), with zeros after what the body sees. */
static const uop *flow_to(struct loop_back *k, struct loop_lift *lift_of, uint32_t i) {
    const struct shape *want = tg_shape(k->g, k->call->src[i]);
    bool batched;
    if (!k->d[i]) return NULL;
    if (i >= k->l->states + k->l->per_step)
        return t_reshape(k->g, lift_sum(lift_of, k->d[i]), want->d, want->n);
    const uop *d = lift(lift_of, k->d[i], &batched);
    int64_t size = shape_size(tg_shape(&k->b.g, k->d[i])), to[] = {k->l->steps, size};
    if (!batched) d = t_expand(k->g, t_reshape(k->g, d, (const int64_t[]){1, size}, 2), to, 2);
    d = t_reshape(k->g, d, to, 2);
    return want->d[1] == size ? d : t_pad(k->g, d, (const int64_t[]){0, 0, 0, want->d[1] - size}, 2, 0);
}

/* What the gradients of operands read of the steps' own contractions stays in the result, too. */
static void keep_flows(struct loop_back *k, uop_vec *kept) {
    struct loop_body *b = &k->b;
    uint32_t nodes = b->g.ir->n, states = k->l->states;
    uint8_t *worth = loop_worth_keeping(b->a, &b->g.shapes, b->next, k->flow, states, nodes);
    loop_find_read(b->a, k->d + states, k->l->values - states, worth, nodes, kept);
    const uop **next = arena_array(b->a, const uop *, states + kept->n + 1);
    memcpy(next, b->next, states * sizeof *next);
    for (uint32_t i = 0; i < kept->n; i++) {
        const struct shape *s = tg_shape(&b->g, kept->p[i]);
        loop_leaf(b, k->g, LOOP_STATE,
                  t_full(k->g, t_number(k->g, (enum dtype)kept->p[i]->dt, 0), s->d, s->n));
        next[states + i] = kept->p[i];
    }
    b->next = next;
}

/* They are there for all steps at once. */
static void give_kept(struct loop_back *k, struct loop_lift *l, const uop *back, const uop_vec *kept) {
    int64_t at = 0, steps = k->l->steps;
    for (uint32_t i = 0; i < k->l->states; i++) at += k->l->row[i] * (steps + 1);
    for (uint32_t i = 0; i < kept->n; i++) {
        const uop *n = kept->p[i];
        const struct shape *s = tg_shape(&k->b.g, n);
        int64_t row = loop_row((enum dtype)n->dt, shape_size(s));
        l->out[n->id] = loop_view(k->g, back, at + (k->b.backwards ? 0 : row), row, steps, s);
        l->batched[n->id] = 1;
        at += row * (steps + 1);
    }
}

/* For all steps at once: the leaf of a state is the row that its step read. */
static void give_states(struct loop_back *k, struct loop_lift *l, const uop *back) {
    for (uint32_t i = 0; i < k->l->states; i++)
        l->value[k->flow[i]->id] = rows(k, back, i, k->l->backwards ? 0 : 1, k->l->steps);
}

struct loop_back_call {
    struct loop_back k;
    uint32_t want;
    const uop **out;
    struct arena a;
};

static void grad_guarded(void *arg) {
    struct loop_back_call *c = arg;
    struct loop_back *k = &c->k;
    struct loop_call *l = k->l = loop_open(&c->a, &k->g->shapes, k->call);
    struct loop_lift up;
    uop_vec kept = {0};
    loop_body_init(&k->b, &c->a, l->steps, !l->backwards);
    k->leaf = arena_array(&c->a, const uop *, l->values), k->d = arena_array(&c->a, const uop *, l->values);
    k->flow = arena_array(&c->a, const uop *, l->states),
    k->given = arena_array(&c->a, const uop *, l->states);
    make_leaves(k);
    differentiate(k);
    read_kept(k);
    give_next(k);
    keep_flows(k, &kept);
    lift_init(&up, k->g, &k->b); /* before nodes leave the body */
    const uop *back = loop_make(k->g, &k->b);
    give_states(k, &up, back);
    give_kept(k, &up, back, &kept);
    for (uint32_t i = 0; i < l->values; i++) {
        if (!(c->want >> i & 1)) continue;
        if (i >= l->states) {
            c->out[i] = flow_to(k, &up, i);
            continue;
        }
        int64_t begin = l->backwards ? l->steps : 0, n = shape_size(tg_shape(k->g, k->call->src[i]));
        const uop *own = rows(k, k->dy, i, begin, 1), *through = rows(k, back, i, begin, 1);
        c->out[i] = t_reshape(k->g, t_add(k->g, own, through), &n, 1);
    }
}

void grad_loop(struct tg *g, const uop *call, const uop *dy, uint32_t want, const uop **out) {
    struct loop_back_call c = {.k = {.g = g, .call = call, .dy = dy}, .want = want, .out = out};
    arena_init(&c.a, g->ir->err);
    int code = err_guard(g->ir->err, grad_guarded, &c);
    arena_free(&c.a);
    if (code) err_throw(g->ir->err, code, "%s", g->ir->err->msg);
}
