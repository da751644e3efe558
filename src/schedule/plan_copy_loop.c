/* plan_copy_loop.c: loops that are a part of another, and matrices that a loop multiplies by in each step.
 *
 * A part has the same steps of the same operands, with fewer states. The gradient of a loop is taken of a call like it that leaves more values in its result (tensor/loop_keep.c), while the rest of the
 * program has the call as it was. Only the larger one runs: the other's result is what its own begins with.
 *
 * On a CPU a product reads a matrix in panels of as many columns as a register tile has, row after row of each. A loop has the
 * matrices that are the same in each step stored so once, before it, whichever of their axes is summed; else each step would pack them,
 * or read what lies a page apart. (32 x 1024 x 256, transposed, AVX-512, one thread: 231 us, 147.)
 * Requires: the caller's program. Gives: the larger calls before all others, and for each node the call that it is a part of;
 * calls whose operands are panels.
 * Tests: tests/unit/recurrent.c (recurrent_plans_one_step), tests/unit/loop.c (loop_reads_panels) */
#include "schedule/plan_copy.h"

/* Have the calls the operands and the numbers of a loop and of one with more states? */
static bool may_be_part(const struct ir *ir, const uop *part, const uop *n) {
    uint32_t values = call_values(ir, part), all = call_values(ir, n), more = all - values;
    if (all <= values || part->dt != n->dt) return false;
    const uop *const *p = part->src + values, *const *q = n->src + all;
    uint32_t states = (uint32_t)p[1]->arg.i;
    if (p[0] != q[0] || p[2] != q[2] || p[3] != q[3] || states + more != (uint32_t)q[1]->arg.i) return false;
    for (uint32_t i = 0; i < values; i++)
        if (part->src[i] != n->src[i < states ? i : i + more]) return false;
    return true;
}

/* Are the first of y's next states those of x? Equal nodes of one ir are one. */
static bool is_begin_of(struct arena *a, const struct loop_call *x, const struct loop_call *y) {
    const uop **to = loop_copy(x, a, y->ir, loop_leaves(x, a, y->ir, y->states - x->states));
    for (uint32_t i = 0; i < x->states; i++)
        if (to[x->graph->src[i]->id] != y->graph->src[i]) return false;
    return true;
}

void find_larger_loops(struct copy *c, struct ir *from, const uop *graph) {
    struct shapes sh;
    uop_vec loops = {0}, roots = {0};
    c->larger = arena_array(c->g->a, const uop *, from->n);
    for (uint32_t i = 0; i < c->topo.n; i++)
        if (c->topo.p[i]->op == OP_CALL && call_of(from, c->topo.p[i]) == CALL_loop)
            vec_push(c->g->a, &loops, c->topo.p[i]);
    if (loops.n < 2) return;
    shapes_init(&sh, from, c->g->a);
    for (uint32_t i = 0; i < loops.n; i++)
        for (uint32_t k = 0; k < loops.n; k++) {
            const uop *part = loops.p[i], *n = loops.p[k], *best = c->larger[part->id];
            if (!may_be_part(from, part, n) || (best && best->nsrc >= n->nsrc)) continue;
            if (is_begin_of(c->g->a, loop_open(c->g->a, &sh, part), loop_open(c->g->a, &sh, n)))
                c->larger[part->id] = n;
        }
    for (uint32_t i = 0; i < loops.n; i++)
        if (c->larger[loops.p[i]->id]) vec_push(c->g->a, &roots, c->larger[loops.p[i]->id]);
    if (!roots.n) return;
    vec_push(c->g->a, &roots, graph);
    c->topo = (uop_vec){0};
    uop_topo(c->g->a, roots.p, roots.n, &c->topo);
}

const uop *copy_part(struct copy *c, const uop *n) {
    struct ir *ir = c->g->ir;
    const uop *size = uop_idx(ir, n->src[n->nsrc - 1]->arg.i);
    const uop *src[4] = {c->to[c->larger[n->id]->id], uop_idx(ir, 0), size, uop_idx(ir, 1)};
    return uop_mk(ir, OP_SHRINK, src, 4, ARG_NONE);
}

/* ---- operands ---------------------------------------------------------------------------------------------------------- */

const uop *slice_of(struct sgraph *g, const uop *n, int64_t *at) {
    if (n->op == OP_RESHAPE) return n->src[0];
    if (n->op != OP_SHRINK || sg_shape(g, n)->n != 1 || n->src[1]->op != OP_CONST || n->src[3]->arg.i != 1)
        return NULL;
    *at += n->src[1]->arg.i * dtype_info[n->dt].bytes;
    return n->src[0];
}

bool is_slice_of_memory(struct sgraph *g, const uop *n) {
    int64_t at = 0;
    for (const uop *below; (below = slice_of(g, n, &at)); n = below) {}
    return (n->op == OP_CALL || n->op == OP_BUFFER) && at % LOOP_ALIGN == 0;
}

/* The axis of `n`, a view of x but for casts, in which an axis of x is; -1: none alone. */
static int axis_in_view(struct shapes *sh, const uop *n, const uop *x, uint32_t axis) {
    if (n == x) return (int)axis;
    int at = axis_in_view(sh, n->src[0], x, axis);
    const struct shape *from = shape_of(sh, n->src[0]), *to = shape_of(sh, n);
    int64_t below = 1, left = 1;
    if (at < 0 || (n->op != OP_PERMUTE && n->op != OP_RESHAPE)) return at;
    for (uint32_t i = 0; i < to->n && n->op == OP_PERMUTE; i++)
        if (n->src[1 + i]->arg.i == at) return (int)i;
    for (uint32_t i = (uint32_t)at + 1; i < from->n; i++) below *= from->d[i];
    for (uint32_t i = to->n; i-- > 0; left *= to->d[i])
        if (left <= below && left * to->d[i] >= below * from->d[at] && to->d[i] > 1) return (int)i;
    return -1;
}

enum axis_part part_of(struct shapes *sh, const uop *sum, const uop *mul, int factor, const uop *x,
                       uint32_t axis) {
    const uop *other = mul->src[1 - factor];
    int at = axis_in_view(sh, mul->src[factor], x, axis);
    if (at < 0) return PART_OTHER;
    for (uint32_t i = 1; i < sum->nsrc; i++)
        if (sum->src[i]->arg.i == at) return PART_TERM;
    return other->op == OP_EXPAND && shape_of(sh, other->src[0])->d[at] == 1 ? PART_OWN : PART_OTHER;
}

/* ---- panels ---------------------------------------------------------------------------------------------------------------- */

enum {
    PANEL_STEPS = 8,    /* of a loop, so that packing pays */
    PANEL_ROWS = 4,     /* of the other factor: fewer are dot products, at the rate of memory */
    PANEL_LEAST = 4096, /* elements of a matrix: it is in L1 anyway */
    PANEL_VECTORS = 2   /* in a row */
};

/* A matrix of the body: what its contractions sum. */
struct matrix {
    int64_t rows;   /* of the factors that it is multiplied by, at least */
    uint8_t summed; /* its axis + 1; REFUSED: it is read otherwise */
};
enum { REFUSED = SHAPE_MAX + 1 };

static const uop *leaf_of_factor(const uop *x) {
    while (x->op == OP_RESHAPE || x->op == OP_PERMUTE || x->op == OP_EXPAND) x = x->src[0];
    return x->op == OP_BUFFER ? x : NULL;
}

/* What a sum of products says of its matrices. */
static void see_sum(struct loop_call *l, const uop *sum, struct matrix *m, uint32_t *read) {
    const uop *mul = sum->src[0];
    if (sum->op != OP_REDUCE_AXES || sum->arg.i != OP_ADD || mul->op != OP_MUL) return;
    for (int i = 0; i < 2; i++) {
        const uop *x = leaf_of_factor(mul->src[i]);
        const struct shape *s = x ? shape_of(&l->shapes, x) : NULL;
        if (!s || s->n != 2 || (x->dt != DT_F32 && x->dt != DT_F64)) continue;
        enum axis_part part[2];
        for (uint32_t k = 0; k < 2; k++) part[k] = part_of(&l->shapes, sum, mul, i, x, k);
        int64_t rows = shape_size(shape_of(&l->shapes, mul)) / RG_MAX(shape_size(s), 1);
        uint32_t number = (uint32_t)x->arg.i;
        uint8_t summed = part[0] == PART_TERM && part[1] == PART_OWN   ? 1
                         : part[1] == PART_TERM && part[0] == PART_OWN ? 2
                                                                       : REFUSED;
        if (m[number].summed && m[number].summed != summed) summed = REFUSED;
        m[number] = (struct matrix){m[number].rows ? RG_MIN(m[number].rows, rows) : rows, summed};
        read[number]++;
    }
}

/* How often each BUFFER is read, by all views of it. */
static void count_reads(struct loop_call *l, const uop_vec *topo, uint32_t *reads) {
    for (uint32_t i = 0; i < topo->n; i++) {
        const uop *n = topo->p[i];
        bool view = n->op == OP_RESHAPE || n->op == OP_PERMUTE || n->op == OP_EXPAND;
        for (uint32_t k = 0; k < n->nsrc && !view; k++) {
            const uop *x = leaf_of_factor(n->src[k]);
            if (x) reads[x->arg.i]++;
        }
    }
    for (uint32_t i = 0; i < l->states; i++) {
        const uop *x = leaf_of_factor(l->graph->src[i]);
        if (x) reads[x->arg.i]++;
    }
}

/* Columns of a panel: some vectors that divide them; 0: none do. */
static int64_t panel_columns(const struct copy *c, const uop *x, int64_t columns) {
    int64_t bytes = dtype_info[x->dt].bytes, least = PANEL_BYTES / bytes;
    int64_t most = PANEL_VECTORS * (int64_t)model_value(c->g->opts->model, MODEL_VEC_BYTES) / bytes;
    for (int64_t n = RG_MAX(most, least); n >= least; n /= 2)
        if (columns % n == 0) return n;
    return 0;
}

/* A matrix x in panels of n columns, (panels, summed, n); of_panels: the matrix again of its panels. */
static const uop *view_panels(struct ir *ir, const uop *x, const struct shape *s, uint8_t summed, int64_t n,
                              bool of_panels) {
    int64_t cut[2][3] = {{s->d[0], s->d[1] / n, n}, {s->d[0] / n, n, s->d[1]}};
    static const int64_t order[2][3] = {{1, 0, 2}, {0, 2, 1}}; /* both are their own inverse */
    int which = summed == 2;
    if (of_panels)
        return graph_shaped(ir, OP_RESHAPE, graph_shaped(ir, OP_PERMUTE, x, order[which], 3), s->d, 2);
    return graph_shaped(ir, OP_PERMUTE, graph_shaped(ir, OP_RESHAPE, x, cut[which], 3), order[which], 3);
}

/* The call of the body in `ir`, on these leaves and sources. */
static const uop *loop_on_leaves(struct copy *c, struct loop_call *l, const uop *call, const uop *const *src,
                                 struct ir *ir, const uop *const *leaf) {
    const uop **to = loop_copy(l, c->g->a, ir, leaf), **root = arena_array(c->g->a, const uop *, l->states);
    struct str text;
    for (uint32_t i = 0; i < l->states; i++) root[i] = to[l->graph->src[i]->id];
    str_init(&text, c->g->a);
    str_add(&text, "loop\n");
    ir_print(&text, ir, uop_mk(ir, OP_GRAPH, root, l->states, ARG_NONE));
    union arg arg = {.u = ir_sym(c->g->ir, text.p, text.n)};
    return uop_new(c->g->ir, OP_CALL, (enum dtype)call->dt, 1, src, call->nsrc, arg);
}

const uop *copy_paneled(struct copy *c, const uop *call) {
    struct arena *a = c->g->a;
    struct loop_call *l = loop_open(a, &c->g->shapes, call);
    struct matrix *m = arena_array(a, struct matrix, l->values + 1);
    uint32_t *reads = arena_array(a, uint32_t, l->values + 1),
             *read = arena_array(a, uint32_t, l->values + 1);
    uop_vec topo = {0};
    uop_topo(a, l->graph->src, l->states, &topo);
    for (uint32_t i = 0; i < topo.n; i++) see_sum(l, topo.p[i], m, read);
    count_reads(l, &topo, reads);
    struct ir *ir = arena_new(a, struct ir);
    ir_init(ir, a);
    const uop **leaf = loop_leaves(l, a, ir, 0), **src = arena_array(a, const uop *, call->nsrc);
    bool any = false;
    memcpy(src, call->src, call->nsrc * sizeof *src);
    for (uint32_t i = l->states + l->per_step; i < l->values; i++) {
        if (!m[i].summed || m[i].summed == REFUSED || read[i] != reads[i]) continue;
        const struct shape *s = shape_of(&l->shapes, l->leaf[i]);
        int64_t n = panel_columns(c, l->leaf[i], s->d[m[i].summed == 1]);
        if (!n || m[i].rows < PANEL_ROWS || shape_size(s) < PANEL_LEAST || l->steps < PANEL_STEPS) continue;
        const uop *flat = graph_shaped(c->g->ir, OP_RESHAPE, src[i], s->d, 2), *dim[3];
        src[i] = view_panels(c->g->ir, flat, s, m[i].summed, n, false);
        for (uint32_t k = 0; k < 3; k++) dim[k] = uop_idx(ir, sg_shape(c->g, src[i])->d[k]);
        const uop *panels = uop_new(ir, OP_BUFFER, (enum dtype)src[i]->dt, 1, dim, 3, ARG_INT(i));
        leaf[i] = view_panels(ir, panels, s, m[i].summed, n, true);
        need_stored(c, src[i]);
        any = true;
    }
    if (!any) return call;
    return loop_on_leaves(c, l, call, src, ir, leaf);
}
