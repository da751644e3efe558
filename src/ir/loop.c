/* loop.c: the body of a CALL `loop`, from the text that is its name; ir.h says what such a call means.
 *
 * A body is text so that it is data like any other name: equal bodies are one, they are copied, printed, hashed into keys and
 * stored in plans without anyone knowing of them, and no pass over the graph around the loop meets their nodes.
 * Tests: tests/unit/loop.c */
#include "ir/ir.h"

int64_t loop_row(enum dtype dt, int64_t elements) {
    int64_t step = LOOP_ALIGN / dtype_info[dt].bytes;
    return (elements + step - 1) / step * step;
}

int64_t loop_at(const struct loop_call *l, uint32_t state, int64_t t) {
    int64_t at = 0;
    for (uint32_t i = 0; i < state; i++) at += l->row[i] * (l->steps + 1);
    return at + l->row[state] * t;
}

static void RG_NORETURN bad_body(const struct loop_call *l, const char *what) {
    err_throw(l->ir->err, RG_EVERIFY, "the body of a loop: %s", what);
}

/* A BUFFER is what its number says: a state, a row of an operand, or a whole one. */
static void check_leaf(struct loop_call *l, struct shapes *outer, const uop *call, const uop *n) {
    if (n->arg.i < 0 || n->arg.i >= l->values) bad_body(l, "a BUFFER that the loop has no operand for");
    uint32_t i = (uint32_t)n->arg.i;
    const uop *src = call->src[i];
    int64_t have = shape_size(shape_of(&l->shapes, n)), given = shape_size(shape_of(outer, src));
    bool per_step = i >= l->states && i < l->states + l->per_step;
    if (l->leaf[i] && l->leaf[i] != n) bad_body(l, "a BUFFER with two shapes");
    if (n->dt != src->dt) bad_body(l, "a BUFFER of another dtype than its operand");
    if (per_step ? loop_row((enum dtype)n->dt, have) * l->steps != given : have != given)
        bad_body(l, "a BUFFER of another size than its operand");
    l->leaf[i] = n;
}

static void parse_body(struct loop_call *l, struct arena *a, const char *name) {
    struct program p;
    struct str text;
    str_init(&text, a);
    str_printf(&text, "kernel %s", name);
    l->ir = arena_new(a, struct ir);
    ir_init(l->ir, a);
    ir_parse(l->ir, text.p, text.n, "loop", &p);
    shapes_init(&l->shapes, l->ir, a);
    if (p.kernel.n != 1 || p.kernel.p[0].sink->op != OP_GRAPH || p.kernel.p[0].sink->nsrc != l->states)
        bad_body(l, "expected one GRAPH with a value for each state");
    l->graph = p.kernel.p[0].sink;
}

struct loop_call *loop_open(struct arena *a, struct shapes *outer, const uop *call) {
    uint32_t values = call_values(outer->ir, call);
    const uop *const *num = call->src + values;
    uint32_t states = (uint32_t)num[1]->arg.i;
    struct loop_call *l = arena_alloc(a, sizeof *l + states * sizeof l->row[0]);
    uop_vec topo = {0};
    l->steps = num[0]->arg.i, l->states = states, l->per_step = (uint32_t)num[2]->arg.i, l->values = values;
    l->backwards = num[3]->arg.i != 0, l->size = num[4]->arg.i;
    l->leaf = arena_array(a, const uop *, values + 1);
    parse_body(l, a, ir_name(outer->ir, (uint32_t)call->arg.u));
    uop_topo(a, &l->graph, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++) {
        if (topo.p[i]->op == OP_VAR) bad_body(l, "a VAR; what changes is an operand");
        if (topo.p[i]->op == OP_BUFFER) check_leaf(l, outer, call, topo.p[i]);
    }
    for (uint32_t i = 0; i < states; i++) {
        int64_t n = shape_size(shape_of(&l->shapes, l->graph->src[i]));
        if (l->graph->src[i]->dt != call->dt || n != shape_size(shape_of(outer, call->src[i])))
            bad_body(l, "a next value that is not like its state");
        l->row[i] = loop_row((enum dtype)call->dt, n);
    }
    return l;
}

const uop **loop_copy(const struct loop_call *l, struct arena *a, struct ir *ir, const uop *const *leaf) {
    uop_vec topo = {0};
    const uop **to = arena_array(a, const uop *, l->ir->n);
    uop_topo(a, l->graph->src, l->states, &topo);
    for (uint32_t i = 0; i < topo.n; i++) {
        const uop *n = topo.p[i], **src = arena_array(a, const uop *, n->nsrc + 1);
        union arg arg = n->arg;
        if (n->op == OP_CALL) {
            const char *name = ir_name(l->ir, (uint32_t)arg.u);
            arg.u = ir_sym(ir, name, strlen(name));
        }
        for (uint32_t k = 0; k < n->nsrc; k++) src[k] = to[n->src[k]->id];
        to[n->id] = n->op == OP_BUFFER
                        ? leaf[n->arg.i]
                        : uop_new(ir, (enum op)n->op, (enum dtype)n->dt, n->lanes, src, n->nsrc, arg);
    }
    return to;
}

const uop **loop_leaves(const struct loop_call *l, struct arena *a, struct ir *ir, uint32_t more) {
    const uop **leaf = arena_array(a, const uop *, l->values + 1), *dim[SHAPE_MAX];
    for (uint32_t i = 0; i < l->values; i++) {
        const uop *n = l->leaf[i];
        for (uint32_t k = 0; n && k < n->nsrc; k++) dim[k] = uop_idx(ir, n->src[k]->arg.i);
        if (n)
            leaf[i] = uop_new(ir, OP_BUFFER, (enum dtype)n->dt, n->lanes, dim, n->nsrc,
                              ARG_INT(i < l->states ? i : i + more));
    }
    return leaf;
}
