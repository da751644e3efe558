/* verify_linear.c: is this list a linear program? The contract is the comment in codegen/codegen.h.
 *
 * One pass with a stack of open scopes. Each scope has a serial number; a value is usable while the
 * scope in which it was evaluated last is open. A value evaluated again in an inner scope hides the
 * outer evaluation until that scope closes (the undo list puts it back). Tests: tests/unit/verify.c */
#include "verify.h"
#include "node.h"

struct verify_scope {
    const uop *opener; /* RANGE or IF; NULL for the whole list */
    uint32_t undo;     /* length of the undo list when it opened */
    bool in_else;
};
struct verify_undo {
    uint32_t id, depth;
};

struct linear_check {
    struct verify v;
    VEC(struct verify_scope) scope;
    VEC(struct verify_undo) undo;
    uint32_t *depth; /* by node id: 1 + index of the scope it was evaluated in, 0 not usable */
    uint8_t *set;    /* by ACC node id: a SET was seen */
    uint32_t nodes;
};

static void fail(struct linear_check *c, const uop *n, enum rule_id rule, const char *detail) {
    verify_fail(&c->v, n, rule, "%s", detail);
}

static void define(struct linear_check *c, const uop *n) {
    vec_push(c->v.arena, &c->undo, ((struct verify_undo){n->id, c->depth[n->id]}));
    c->depth[n->id] = c->scope.n;
}

static void open_scope(struct linear_check *c, const uop *n) {
    vec_push(c->v.arena, &c->scope, ((struct verify_scope){n, c->undo.n, false}));
}

static void forget(struct linear_check *c, uint32_t down_to) {
    while (c->undo.n > down_to) {
        struct verify_undo u = c->undo.p[--c->undo.n];
        c->depth[u.id] = u.depth;
    }
}

static struct verify_scope *innermost(struct linear_check *c) { return &c->scope.p[c->scope.n - 1]; }

static void check_value(struct linear_check *c, const uop *user, const uop *s);

static void check_address(struct linear_check *c, const uop *user, const uop *x) {
    const uop *b = x->src[0];
    if (x->op != OP_INDEX) fail(c, user, VR_NODE, "its first source is no INDEX");
    if (b->op != OP_PARAM && b->op != OP_LOCAL && b->op != OP_PARAMS)
        fail(c, user, VR_LIN_OP, "its buffer is neither PARAM, PARAMS nor LOCAL");
    if (b->op == OP_PARAMS) check_value(c, user, b);
    if (x->src[1]->dt == DT_IDX) fail(c, user, VR_LIN_IDX, "its index is of type idx");
    check_value(c, user, x->src[1]);
}

/* One source of `user`, read in place or evaluated before. */
static void check_value(struct linear_check *c, const uop *user, const uop *s) {
    switch (s->op) {
    case OP_CONST:
    case OP_INVALID:
    case OP_LANES:
    case OP_PARAM:
    case OP_VAR:
    case OP_TENSOR_MAP:
    case OP_LOCAL: return;
    case OP_ACC:
        if (!c->set[s->id]) fail(c, user, VR_LIN_ACC, "no SET of it stands above");
        return;
    case OP_INDEX: check_address(c, user, s); return;
    default: break;
    }
    if (s->id < c->nodes && c->depth[s->id]) return;
    struct str t;
    str_init(&t, c->v.arena);
    ir_print_node(&t, c->v.ir, s, 2);
    verify_fail(&c->v, user, VR_LIN_USE, "source %%%u %s %s", s->id, t.p,
                s->op == OP_RANGE ? "is not an open loop" : "is not evaluated above in an open scope");
}

static void check_sources(struct linear_check *c, const uop *n, uint32_t from) {
    for (uint32_t i = from; i < n->nsrc; i++) check_value(c, n, n->src[i]);
}

static void check_range(struct linear_check *c, const uop *n, uint32_t at) {
    enum axis_kind kind = (enum axis_kind)n->arg.range.kind;
    if (kind != AX_GRID && kind != AX_LOOP && kind != AX_REDUCE && kind != AX_SCAN && kind != AX_COOP &&
        kind != AX_THREAD)
        fail(c, n, VR_LIN_KIND, axis_name[kind]);
    if (kind == AX_GRID && at != 0) fail(c, n, VR_LIN_GRID, "a GRID range stands further down");
    for (uint32_t i = 1; i < c->scope.n && kind == AX_THREAD; i++)
        if (c->scope.p[i].opener->op != OP_RANGE || c->scope.p[i].opener->arg.range.kind != AX_GRID)
            fail(c, n, VR_LIN_KIND, "threads inside of a loop or a condition");
    if (c->depth[n->id]) fail(c, n, VR_LIN_SCOPE, "this range is open already");
    check_sources(c, n, 0);
    open_scope(c, n);
    define(c, n);
}

static void check_close(struct linear_check *c, const uop *n, bool last) {
    struct verify_scope *s = innermost(c);
    if (s->opener != n->src[0] || !s->opener)
        fail(c, n, VR_LIN_SCOPE, "it does not close the innermost scope");
    if (n->op == OP_ELSE) {
        if (s->in_else || s->opener->op != OP_IF) fail(c, n, VR_LIN_SCOPE, "ELSE belongs to an IF, once");
        forget(c, s->undo);
        s->in_else = true;
        return;
    }
    if (s->opener->op == OP_RANGE && s->opener->arg.range.kind == AX_GRID && !last)
        fail(c, n, VR_LIN_GRID, "something stands after the END of the GRID range");
    forget(c, s->undo);
    c->scope.n--;
}

static void check_entry(struct linear_check *c, const uop *n, uint32_t at, bool last) {
    char why[WHY_MAX];
    int which;
    if (op_info[n->op].flags & OPF_W) fail(c, n, VR_LATER_OP, op_info[n->op].name);
    if (!node_check(c->v.ir, (enum op)n->op, (enum dtype)n->dt, n->lanes, n->src, n->nsrc, n->arg, why,
                    &which))
        fail(c, n, VR_NODE, why);
    switch (n->op) {
    case OP_RANGE: check_range(c, n, at); return;
    case OP_IF:
        check_value(c, n, n->src[0]);
        open_scope(c, n);
        return;
    case OP_END:
    case OP_ELSE: check_close(c, n, last); return;
    case OP_SET:
        check_sources(c, n, 1);
        c->set[n->src[0]->id] = 1;
        return;
    case OP_CP_ASYNC_COMMIT:
    case OP_WGMMA_FENCE:
    case OP_WGMMA_COMMIT:
    case OP_WGMMA_WAIT:
    case OP_FENCE_ASYNC:
    case OP_TMA_STORE_WAIT:
    case OP_SETMAXNREG:
    case OP_CLUSTER_SYNC:
    case OP_CP_ASYNC_WAIT: return;
    case OP_BARRIER:
    case OP_DSMEM_STORE:
    case OP_TMA_LOAD:
    case OP_TMA_STORE:
    case OP_MBAR_INIT:
    case OP_MBAR_ARRIVE:
    case OP_MBAR_WAIT:
    case OP_CP_ASYNC:
    case OP_PIN_REG:
    case OP_WARP_REDUCE: check_sources(c, n, 0); return;
    case OP_MMA: /* accumulators, then a and b; with zero_init the accumulators need no value before */
        check_sources(c, n, n->arg.mma.zero_init ? n->nsrc - 2 : 0);
        for (uint32_t i = 0; i + 2 < n->nsrc; i++) c->set[n->src[i]->id] = 1;
        return;
    case OP_STORE:
    case OP_STORE_ADD:
    case OP_PREFETCH: check_sources(c, n, 0); return;
    case OP_LOAD:
    case OP_PRED_LOAD:
    case OP_BUILD:
    case OP_EXTRACT:
    case OP_VEC_REDUCE:
    case OP_LDMATRIX:
    case OP_PARAMS: break;
    default:
        if (!op_is_pure((enum op)n->op)) fail(c, n, VR_LIN_OP, op_info[n->op].name);
    }
    check_sources(c, n, 0);
    define(c, n);
}

void verify_linear(struct ir *ir, const uop *const *list, uint32_t n) {
    struct arena_mark mark = arena_mark(ir->arena);
    struct linear_check c = {.v = {.ir = ir, .arena = ir->arena}, .nodes = ir->n};
    c.depth = arena_array(ir->arena, uint32_t, (size_t)ir->n + 1);
    c.set = arena_array(ir->arena, uint8_t, (size_t)ir->n + 1);
    open_scope(&c, NULL);
    for (uint32_t i = 0; i < n; i++) check_entry(&c, list[i], i, i + 1 == n);
    if (c.scope.n != 1)
        fail(&c, innermost(&c)->opener, VR_LIN_SCOPE, "it is not closed at the end of the list");
    arena_release(ir->arena, mark);
}
