/* loop_keep.c: values of a body that are read again after the loop: states that no step reads, so that its result has them for all steps.
 *
 * The gradient of a loop reads what its steps computed, and the gradients of weights what flowed in its own. Elementwise ops are computed
 * anew from what they read, in the kernels that need them; contractions (and all else that is not elementwise) are kept, with the
 * sums that their results are a part of, and so is what was computed for a contraction, which is stored for it anyway.
 * The planner sees that a loop is a part of another with more states, and runs that one alone (schedule/plan_copy_loop.c).
 * Tests: tests/unit/loop.c */
#include "tensor/loop.h"

struct users { /* within a body */
    uint8_t *from_state;
    uint32_t *uses;
    const uop **by; /* one of them */
};

static struct users find_users(struct arena *a, const uop_vec *topo, const uop *const *state, uint32_t n,
                               uint32_t nodes) {
    struct users u = {arena_array(a, uint8_t, nodes), arena_array(a, uint32_t, nodes),
                      arena_array(a, const uop *, nodes)};
    for (uint32_t i = 0; i < n; i++)
        if (state[i]) u.from_state[state[i]->id] = 1;
    for (uint32_t i = 0; i < topo->n; i++)
        for (uint32_t k = 0; k < topo->p[i]->nsrc; k++) {
            const uop *s = topo->p[i]->src[k];
            u.from_state[topo->p[i]->id] |= u.from_state[s->id];
            u.uses[s->id]++, u.by[s->id] = topo->p[i];
        }
    return u;
}

/* The last of the sums that x alone is a part of: with a bias, with the product of the input. */
static const uop *end_of_sums(struct shapes *sh, const struct users *u, const uop *x) {
    for (int64_t size = shape_size(shape_of(sh, x)); u->uses[x->id] == 1; x = u->by[x->id]) {
        const uop *by = u->by[x->id];
        bool same = by->op == OP_ADD || by->op == OP_RESHAPE ||
                    (by->op == OP_CAST && dt_is_float((enum dtype)by->dt));
        if (!same || shape_size(shape_of(sh, by)) != size) break;
    }
    return x;
}

static bool is_computed(const uop *n) {
    return !op_is_movement((enum op)n->op) && n->op != OP_BUFFER && n->op != OP_CONST;
}

/* What a contraction multiplies. */
static void keep_factors(const struct users *u, const uop *sum, enum dtype dt, uint8_t *worth) {
    const uop *m = sum->src[0];
    while (m->op == OP_CAST) m = m->src[0];
    if (sum->arg.i != OP_ADD || m->op != OP_MUL) return;
    for (int i = 0; i < 2; i++) {
        const uop *x = m->src[i];
        while (op_is_movement((enum op)x->op) || x->op == OP_CAST) x = x->src[0];
        if (is_computed(x) && (enum dtype)x->dt == dt && u->from_state[x->id]) worth[x->id] = 1;
    }
}

uint8_t *loop_worth_keeping(struct arena *a, struct shapes *sh, const uop *const *next,
                            const uop *const *state, uint32_t states, uint32_t nodes) {
    uop_vec topo = {0};
    uint8_t *worth = arena_array(a, uint8_t, nodes);
    enum dtype dt = (enum dtype)next[0]->dt;
    uop_topo(a, next, states, &topo);
    struct users u = find_users(a, &topo, state, states, nodes);
    for (uint32_t i = 0; i < topo.n; i++) {
        const uop *n = topo.p[i], *last;
        if (!u.from_state[n->id] || op_is_movement((enum op)n->op) || op_is_pure((enum op)n->op)) continue;
        if (n->op != OP_REDUCE_AXES && n->op != OP_SCAN_AXIS && n->op != OP_CALL) continue;
        last = end_of_sums(sh, &u, n);
        if ((enum dtype)last->dt == dt)
            worth[last->id] = 1;
        else if ((enum dtype)n->dt == dt)
            worth[n->id] = 1;
        if (n->op == OP_REDUCE_AXES) keep_factors(&u, n, dt, worth);
    }
    return worth;
}

void loop_find_read(struct arena *a, const uop *const *root, uint32_t n, const uint8_t *worth, uint32_t nodes,
                    uop_vec *kept) {
    uop_vec stack = {0};
    uint8_t *seen = arena_array(a, uint8_t, nodes);
    for (uint32_t i = 0; i < n; i++)
        if (root[i]) vec_push(a, &stack, root[i]);
    while (stack.n) {
        const uop *x = stack.p[--stack.n];
        if (seen[x->id]) continue;
        seen[x->id] = 1;
        if (worth[x->id])
            vec_push(a, kept, x);
        else
            for (uint32_t k = 0; k < x->nsrc; k++) vec_push(a, &stack, x->src[k]);
    }
}

/* ---- a call with more states ------------------------------------------------------------------------------------------- */

/* The body's text with `more` values after the next states; operands after the states move. */
static uint32_t text_with(struct tg *g, struct arena *a, const struct loop_call *l, const uop *const *more,
                          uint32_t n) {
    struct ir ir;
    struct str text;
    const uop **root = arena_array(a, const uop *, l->states + n), **to;
    ir_init(&ir, a);
    to = loop_copy(l, a, &ir, loop_leaves(l, a, &ir, n));
    for (uint32_t i = 0; i < l->states; i++) root[i] = to[l->graph->src[i]->id];
    for (uint32_t i = 0; i < n; i++) root[l->states + i] = to[more[i]->id];
    str_init(&text, a);
    str_add(&text, "loop\n");
    ir_print(&text, &ir, uop_mk(&ir, OP_GRAPH, root, l->states + n, ARG_NONE));
    return ir_sym(g->ir, text.p, text.n);
}

/* The call with states for `more`, which begin with zeros. */
static const uop *call_with(struct tg *g, struct arena *a, struct loop_call *l, const uop *call,
                            const uop *const *more, uint32_t n) {
    enum dtype dt = (enum dtype)call->dt;
    const uop **src = arena_array(a, const uop *, call->nsrc + n);
    int64_t size = l->size;
    if (!n) return call;
    memcpy(src, call->src, l->states * sizeof *src);
    memcpy(src + l->states + n, call->src + l->states, (call->nsrc - l->states) * sizeof *src);
    for (uint32_t i = 0; i < n; i++) {
        int64_t elements = shape_size(shape_of(&l->shapes, more[i]));
        src[l->states + i] = t_full(g, t_number(g, dt, 0), &elements, 1);
        size += loop_row(dt, elements) * (l->steps + 1);
    }
    const uop **number = src + l->values + n;
    number[1] = uop_idx(g->ir, l->states + n), number[4] = uop_idx(g->ir, size);
    union arg arg = {.u = text_with(g, a, l, more, n)};
    const uop *with = uop_new(g->ir, OP_CALL, dt, 1, src, call->nsrc + n, arg);
    tg_shape(g, with);
    return with;
}

const uop *loop_keep(struct tg *g, struct arena *a, struct loop_call *l, const uop *call,
                     const uop *const *value, uint32_t n, const uop **rows) {
    const uop **more = arena_array(a, const uop *, n + 1);
    int64_t *at = arena_array(a, int64_t, n + 1), end = l->size;
    uint32_t added = 0;
    for (uint32_t i = 0; i < n; i++) {
        int64_t row = loop_row((enum dtype)call->dt, shape_size(shape_of(&l->shapes, value[i])));
        uint32_t state = 0;
        while (state < l->states && l->graph->src[state] != value[i]) state++;
        at[i] = (state < l->states ? loop_at(l, state, 0) : end) + (l->backwards ? 0 : row);
        if (state < l->states) continue;
        more[added++] = value[i], end += row * (l->steps + 1);
    }
    const uop *with = call_with(g, a, l, call, more, added);
    for (uint32_t i = 0; i < n; i++) {
        const struct shape *s = shape_of(&l->shapes, value[i]);
        rows[i] = loop_view(g, with, at[i], loop_row((enum dtype)call->dt, shape_size(s)), l->steps, s);
    }
    return with;
}
