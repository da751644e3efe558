/* loop.c: a loop over time becomes a CALL: the body is cut down to what must run step by step, printed, and its operands are laid out.
 *
 * What does not depend on the states leaves the body (hoisting): reductions, which are then one product for all steps instead of a
 * small one in each, and everything that is the same in each step. Elementwise ops of operands per step stay: they are fused
 * there for nothing, and their results would have to be stored.
 * Tests: tests/unit/loop.c */
#include "tensor/loop.h"

void loop_body_init(struct loop_body *b, struct arena *a, int64_t steps, bool backwards) {
    struct ir *ir = arena_new(a, struct ir);
    *b = (struct loop_body){.a = a, .steps = steps, .backwards = backwards};
    ir_init(ir, a);
    tg_init(&b->g, ir, a);
}

const uop *loop_leaf(struct loop_body *b, struct tg *outer, enum loop_kind kind, const uop *value) {
    const struct shape *s = tg_shape(outer, value);
    uint32_t skip = kind == LOOP_PER_STEP;
    const uop *x = t_buffer(&b->g, (enum dtype)value->dt, s->d + skip, s->n - skip, b->leaf.n);
    vec_push(b->a, &b->leaf, ((struct loop_leaf){x, value, kind}));
    b->states += kind == LOOP_STATE;
    return x;
}

/* ---- hoisting --------------------------------------------------------------------------------------------------------- */

enum { FROM_FIXED = 1, FROM_STEP = 2, FROM_STATE = 4 };

struct hoist {
    struct tg *outer;
    struct loop_body *b;
    uint8_t *from;       /* by node id: what kinds of leaves are below */
    const uop **hoisted; /* by node id: the leaf that stands for it, or NULL */
    uint8_t *seen;
};

static void find_sources(struct hoist *h, const uop_vec *topo) {
    static const uint8_t of[] = {
        [LOOP_STATE] = FROM_STATE, [LOOP_PER_STEP] = FROM_STEP, [LOOP_FIXED] = FROM_FIXED};
    for (uint32_t i = 0; i < h->b->leaf.n; i++) h->from[h->b->leaf.p[i].leaf->id] = of[h->b->leaf.p[i].kind];
    for (uint32_t i = 0; i < topo->n; i++)
        for (uint32_t k = 0; k < topo->p[i]->nsrc; k++)
            h->from[topo->p[i]->id] |= h->from[topo->p[i]->src[k]->id];
}

/* Does it leave the body? */
static bool leaves(const struct hoist *h, const uop *n) {
    if (n->op == OP_BUFFER || h->from[n->id] & FROM_STATE || !h->from[n->id]) return false;
    if (h->from[n->id] == FROM_FIXED) return !op_is_movement((enum op)n->op);
    return n->op == OP_REDUCE_AXES || n->op == OP_SCAN_AXIS || n->op == OP_GATHER || n->op == OP_SCATTER ||
           n->op == OP_CALL;
}

static void hoist(struct hoist *h, struct loop_lift *l, uint32_t first) {
    uop_vec stack = {0};
    for (uint32_t i = 0; i < h->b->states; i++) vec_push(h->b->a, &stack, h->b->next[i]);
    while (stack.n) {
        const uop *n = stack.p[--stack.n];
        bool batched;
        if (n->id >= first || h->seen[n->id]) continue;
        h->seen[n->id] = 1;
        if (leaves(h, n)) {
            const uop *value = lift(l, n, &batched);
            h->hoisted[n->id] = loop_leaf(h->b, h->outer, batched ? LOOP_PER_STEP : LOOP_FIXED, value);
            continue;
        }
        for (uint32_t k = 0; k < n->nsrc; k++) vec_push(h->b->a, &stack, n->src[k]);
    }
}

/* ---- the call ---------------------------------------------------------------------------------------------------------- */

struct loop_writer {
    struct tg *outer;
    struct loop_body *b;
    struct ir *ir;    /* of the body as it is printed */
    uint32_t *number; /* by leaf: 1 + the number of its operand; 0: no node reads it */
    uop_vec src;
};

/* Operands in the order of struct loop_call: states, per step, fixed; those that are read. */
static void number_operands(struct loop_writer *w, const uint8_t *read, uint32_t *per_step) {
    for (enum loop_kind kind = LOOP_STATE; kind <= LOOP_FIXED; kind++)
        for (uint32_t i = 0; i < w->b->leaf.n; i++) {
            const struct loop_leaf *l = &w->b->leaf.p[i];
            if (l->kind != kind || (kind != LOOP_STATE && !read[i])) continue;
            const uop *x = l->value;
            int64_t size = shape_size(tg_shape(&w->b->g, l->leaf)), row = loop_row((enum dtype)x->dt, size);
            if (kind == LOOP_STATE) x = t_reshape(w->outer, x, &size, 1);
            if (kind == LOOP_PER_STEP) {
                x = t_reshape(w->outer, x, (const int64_t[]){w->b->steps, size}, 2);
                if (row != size) x = t_pad(w->outer, x, (const int64_t[]){0, 0, 0, row - size}, 2, 0);
                ++*per_step;
            }
            vec_push(w->b->a, &w->src, x);
            w->number[i] = w->src.n;
        }
}

/* The body, with hoisted nodes as leaves. Nodes are copied when all their sources are. */
static const uop *copy_body(struct loop_writer *w, const uop_vec *topo) {
    const uop **to = arena_array(w->b->a, const uop *, w->b->g.ir->n);
    for (uint32_t i = 0; i < topo->n; i++) {
        const uop *n = topo->p[i], **src = arena_array(w->b->a, const uop *, n->nsrc + 1);
        union arg arg = n->arg;
        if (n->op == OP_BUFFER) arg = ARG_INT(w->number[n->arg.i] - 1);
        if (n->op == OP_CALL) {
            const char *name = ir_name(w->b->g.ir, (uint32_t)arg.u);
            arg.u = ir_sym(w->ir, name, strlen(name));
        }
        for (uint32_t k = 0; k < n->nsrc; k++) src[k] = to[n->src[k]->id];
        to[n->id] = uop_new(w->ir, (enum op)n->op, (enum dtype)n->dt, n->lanes, src, n->nsrc, arg);
    }
    const uop **next = arena_array(w->b->a, const uop *, w->b->states);
    for (uint32_t i = 0; i < w->b->states; i++) next[i] = to[w->b->next[i]->id];
    return uop_mk(w->ir, OP_GRAPH, next, w->b->states, ARG_NONE);
}

void loop_replace(struct loop_body *b, const uop *const *by, uint32_t nodes, const uop **root, uint32_t n) {
    uop_vec topo = {0}, roots = {0};
    for (uint32_t i = 0; i < n; i++)
        if (root[i]) vec_push(b->a, &roots, root[i]);
    uop_topo(b->a, roots.p, roots.n, &topo);
    const uop **to = arena_array(b->a, const uop *, nodes);
    for (uint32_t i = 0; i < topo.n; i++) {
        const uop *x = topo.p[i], **src = arena_array(b->a, const uop *, x->nsrc + 1);
        for (uint32_t k = 0; k < x->nsrc; k++) src[k] = to[x->src[k]->id];
        to[x->id] = by[x->id];
        if (!to[x->id])
            to[x->id] = uop_new(b->g.ir, (enum op)x->op, (enum dtype)x->dt, x->lanes, src, x->nsrc, x->arg);
    }
    for (uint32_t i = 0; i < n; i++)
        if (root[i]) root[i] = to[root[i]->id];
}

static void hoist_all(struct tg *outer, struct loop_body *b) {
    uint32_t first = b->g.ir->n;
    struct hoist h = {.outer = outer,
                      .b = b,
                      .from = arena_array(b->a, uint8_t, first),
                      .hoisted = arena_array(b->a, const uop *, first),
                      .seen = arena_array(b->a, uint8_t, first)};
    struct loop_lift l;
    uop_vec topo = {0};
    uop_topo(b->a, b->next, b->states, &topo);
    find_sources(&h, &topo);
    lift_init(&l, outer, b);
    hoist(&h, &l, first);
    loop_replace(b, h.hoisted, first, b->next, b->states);
}

const uop *loop_make(struct tg *outer, struct loop_body *b) {
    uint32_t per_step = 0;
    uop_vec topo = {0};
    struct str text;
    hoist_all(outer, b);
    struct loop_writer w = {.outer = outer, .b = b, .ir = arena_new(b->a, struct ir)};
    uint8_t *read = arena_array(b->a, uint8_t, b->leaf.n);
    ir_init(w.ir, b->a);
    w.number = arena_array(b->a, uint32_t, b->leaf.n);
    uop_topo(b->a, b->next, b->states, &topo);
    for (uint32_t i = 0; i < topo.n; i++)
        if (topo.p[i]->op == OP_BUFFER) read[topo.p[i]->arg.i] = 1;
    number_operands(&w, read, &per_step);
    const uop *body = copy_body(&w, &topo);
    str_init(&text, b->a);
    str_add(&text, "loop\n");
    ir_print(&text, w.ir, body);
    int64_t size = 0, number[LOOP_NUMBERS];
    for (uint32_t i = 0; i < b->states; i++)
        size +=
            loop_row((enum dtype)b->next[i]->dt, shape_size(tg_shape(&b->g, b->next[i]))) * (b->steps + 1);
    number[0] = b->steps, number[1] = b->states, number[2] = per_step, number[3] = b->backwards;
    number[4] = size;
    for (uint32_t i = 0; i < LOOP_NUMBERS; i++) vec_push(b->a, &w.src, uop_idx(outer->ir, number[i]));
    union arg arg = {.u = ir_sym(outer->ir, text.p, text.n)};
    const uop *call = uop_new(outer->ir, OP_CALL, (enum dtype)b->next[0]->dt, 1, w.src.p, w.src.n, arg);
    tg_shape(outer, call);
    return call;
}

const uop *loop_view(struct tg *g, const uop *flat, int64_t at, int64_t row, int64_t n,
                     const struct shape *s) {
    int64_t size = shape_size(s), d[SHAPE_MAX + 1] = {n};
    struct t_slice all = {.start = at, .stop = at + n * row, .step = 1};
    struct t_slice part[2] = {{.start = 0, .stop = n, .step = 1}, {.start = 0, .stop = size, .step = 1}};
    const uop *x = t_reshape(g, t_slice(g, flat, &all, 1), (const int64_t[]){n, row}, 2);
    memcpy(d + 1, s->d, s->n * sizeof *d);
    return t_reshape(g, row == size ? x : t_slice(g, x, part, 2), d, s->n + 1);
}
