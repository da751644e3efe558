/* plan_graph.c: the tensor program as the planner sees it.
 *
 * The caller's program is copied into an ir of the planner's own, without ops that compute nothing (DETACH; CONTIGUOUS becomes
 * "must be stored", INLINE "must not"), with long reductions split (split.c) and unaligned GEMMs repacked (repack.c). Then the
 * units are found: the nodes that may be stored. Some must be (results, in-place stores, scans), some must not (constants);
 * store_rules.c knows the others.
 * Requires: a GRAPH that shape inference accepts. Gives: struct sgraph.
 * Tests: tests/unit/schedule.c */
#include "schedule/plan_copy.h"

/* ---- copying ------------------------------------------------------------------------------------------- */

/* A constant in the shape of a result. */
static bool is_constant_result(const uop *n) {
    while (op_is_movement((enum op)n->op)) n = n->src[0];
    return is_leaf(n);
}

/* All of a buffer, in another shape perhaps. On a GPU a kernel copies it: beside other kernels and in their graph, in less than
 * half the time of the driver's copy. */
static bool is_whole_buffer(const struct copy *c, const uop *asked, const uop *n) {
    const uop *b = n;
    while (b->op == OP_RESHAPE) b = b->src[0];
    return c->g->opts->gpu && b->op == OP_BUFFER && asked->op != OP_BUFFER && !is_marked(c, n, MARK_FORCED);
}

/* Results with copies of their own: what an ASSIGN overwrites, what is in memory anyway, and constants, whose other readers would
 * load them. */
static void copy_results(struct copy *c, const uop *graph, const uop **src) {
    for (uint32_t i = 0; i < graph->nsrc; i++) {
        uint32_t same = 0;
        while (graph->src[same] != graph->src[i]) same++;
        bool overwritten = in_memory(src[i]) && c->overwritten[graph->src[i]->id];
        if (same < i && !overwritten)
            src[i] = src[same];
        else if (overwritten || is_whole_buffer(c, graph->src[i], src[i]) || is_constant_result(src[i]))
            src[i] = own_copy(c, src[i]);
    }
}

/* A concatenation: a sum of PADs. */
static bool is_cat(const uop *n) {
    if (n->op != OP_ADD) return false;
    while (n->op == OP_ADD) n = n->src[0];
    return n->op == OP_PAD;
}

/* A sum whose results are set apart by zeros, the image gradient of a 1x1 convolution of stride 2: stored as it is. Fused, a GEMM
 * would compute the zeros too. */
static void store_before_dilating(struct copy *c, const uop *pad, const uop *x) {
    const uop *base = x;
    bool apart = false;
    for (uint32_t i = 4; i < pad->nsrc; i += 3) apart |= pad->src[i]->arg.i > 0;
    while (op_is_movement((enum op)base->op) || base->op == OP_CAST) base = base->src[0];
    if (apart && c->g->opts->gpu && base->op == OP_REDUCE_AXES && base->arg.i == OP_ADD)
        force(c, stored_for(x));
}

/* Does a RESHAPE of a PERMUTE merge an axis with a shorter one that stood before it: positions and phases of a stride? */
static bool interleaves(struct sgraph *g, const uop *n) {
    const uop *p = n->src[0];
    if (n->op != OP_RESHAPE || p->op != OP_PERMUTE) return false;
    const struct shape *from = sg_shape(g, p), *to = sg_shape(g, n);
    for (uint32_t i = 0, k = 0; i < to->n && k < from->n; i++) {
        int64_t whole = from->d[k];
        uint32_t last = k++;
        for (; whole < to->d[i] && k < from->n; last = k++) {
            bool back = p->src[1 + k]->arg.i < p->src[1 + last]->arg.i;
            if (back && from->d[k] > 1 && from->d[k] < from->d[last]) return true;
            whole *= from->d[k];
        }
    }
    return false;
}

/* A contraction by phases, the image gradient of a strided convolution: stored as it is. Fused with what follows, its GEMM would
 * run over interleaved positions, whose operands no tile reads in order. */
static void store_before_interleaving(struct copy *c, const uop *view) {
    if (!c->g->opts->gpu || !interleaves(c->g, view)) return;
    const uop *base = view->src[0]->src[0];
    while (base->op == OP_RESHAPE || base->op == OP_PERMUTE || base->op == OP_SHRINK || base->op == OP_CAST)
        base = base->src[0];
    const uop *m = base->op == OP_REDUCE_AXES && base->arg.i == OP_ADD ? base->src[0] : NULL;
    while (m && (m->op == OP_CAST || m->op == OP_RESHAPE)) m = m->src[0];
    if (m && m->op == OP_MUL) force(c, base);
}

/* The axis of a PERMUTE of memory along which elements are adjacent, and its last one; axes of one element do not count. */
static bool has_rows_of_memory(struct sgraph *g, const uop *p, uint32_t *adjacent, uint32_t *last) {
    const struct shape *s = sg_shape(g, p);
    const uop *b = p->src[0];
    int64_t at = -1;
    bool any = false;
    while (b->op == OP_RESHAPE) b = b->src[0];
    for (uint32_t i = 0; i < s->n; i++) {
        if (s->d[i] < 2) continue;
        any = true, *last = i;
        if (p->src[1 + i]->arg.i > at) at = p->src[1 + i]->arg.i, *adjacent = i;
    }
    return any && in_memory(b);
}

/* A factor of a contraction on a CPU that is a view of memory with other rows: stored as it is read, unless the terms are adjacent (but in a
 * 1-D transposed convolution, whose phases would be dot products: 2 x 96 x 4096, 48 filters of 5 taps, stride 2, 65 ms, 4.8), or
 * it is a transposed matrix, which register tiles pack either way. Windows of strided rows, and what is next to its like of another
 * batch, would be packed element by element, each from a line of its own and once for each window. (256 x 64 x 95, H and W
 * exchanged, 24 filters of 3 x 5: 44 ms; plain 19, the copy 2.6.) */
static void store_before_contracting(struct copy *c, const uop *sum) {
    enum { LEAST = 4096, LEAST_REUSE = 4 };
    const uop *m = sum->src[0];
    while (m->op == OP_CAST) m = m->src[0];
    if (c->g->opts->gpu || sum->arg.i != OP_ADD || m->op != OP_MUL) return;
    for (int i = 0; i < 2; i++) {
        const uop *x = m->src[i];
        bool windows = false, line = false;
        for (; (op_is_movement((enum op)x->op) && x->op != OP_PERMUTE) || x->op == OP_CAST; x = x->src[0])
            windows |= x->op == OP_UNFOLD || x->op == OP_FOLD, line |= x->op == OP_FOLD && x->nsrc == 4;
        uint32_t adjacent = 0, last = 0;
        if (x->op != OP_PERMUTE || !has_rows_of_memory(c->g, x, &adjacent, &last) || adjacent == last)
            continue;
        double n = (double)shape_size(sg_shape(c->g, x)), all = (double)shape_size(sg_shape(c->g, m));
        if (n < LEAST || all < LEAST_REUSE * n) continue;
        struct shapes *sh = &c->g->shapes;
        enum axis_part part = part_of(sh, sum, m, i, x, adjacent);
        bool matrix = part == PART_OWN && !windows && part_of(sh, sum, m, i, x, last) == PART_TERM;
        if ((part != PART_TERM || line) && !matrix) force(c, x);
    }
}

/* RESHAPE, EXPAND, PERMUTE: of several of one kind, which the tensor layer keeps because tensors of the user's show them
 * (tg_name), one is left, or none; and of one that a sort became a view by. */
static const uop *copy_view(struct copy *c, const uop *n, const uop **src) {
    const uop *view = src[0];
    bool ours =
        n->op == OP_PERMUTE && n->src[0]->op == OP_CALL && view->op == OP_PERMUTE; /* copy_sorted_view() */
    bool merged = n->src[0]->op == n->op || ours, same = true;
    if (merged) src[0] = ours ? view->src[0] : c->viewed[n->src[0]->id];
    c->viewed[n->id] = src[0];
    for (uint32_t i = 0; i + 1 < n->nsrc && n->op == OP_PERMUTE && merged; i++) {
        if (view != src[0]) src[1 + i] = view->src[1 + n->src[1 + i]->arg.i];
        same &= src[1 + i]->arg.i == i;
    }
    const uop *x = uop_new(c->g->ir, (enum op)n->op, (enum dtype)n->dt, 1, src, n->nsrc, n->arg);
    same &= sg_shape(c->g, x) == sg_shape(c->g, src[0]);
    store_before_interleaving(c, x);
    return merged && same && !in_memory(src[0]) ? src[0] : x;
}

/* 16-bit floats on a CPU; short integers on a GPU, if there are enough for a copy of what they are added to. */
static bool adds_wide(const struct copy *c, const uop *n, const uop *const *src) {
    struct shapes *sh = &c->g->shapes;
    if (dtype_info[n->dt].bytes > 2 || c->g->opts->gpu == dt_is_float((enum dtype)n->dt)) return false;
    return !c->g->opts->gpu || 2 * shape_size(shape_of(sh, src[1])) >= shape_size(shape_of(sh, src[0]));
}

static const uop *copy_reduced(struct copy *c, const uop *n, const uop *x) {
    store_before_contracting(c, x);
    const uop *sum = distribute_sum(c, n, x);
    return sum ? sum : copy_sum(c, n, x);
}

static const uop *copy_node(struct copy *c, const struct ir *from, const uop *n) {
    struct ir *ir = c->g->ir;
    const uop **src = arena_array(c->g->a, const uop *, n->nsrc + 1);
    for (uint32_t i = 0; i < n->nsrc; i++) src[i] = c->to[n->src[i]->id];
    if (n->op == OP_ASSIGN) {
        src[0] = c->version[n->src[0]->id];
        if (graph_reads_itself(src[0], src[1])) src[1] = own_copy(c, src[1]);
    }
    const uop *other = n->op == OP_ADD ? copy_log_scan(c, n) : NULL;
    if (other) return other;
    switch (n->op) {
    case OP_DETACH:
    case OP_ONCE_DIFF:
    case OP_RECOMPUTE:
    case OP_GRAD_STORED:
    case OP_GRAD_THROUGH: return src[0];
    case OP_INLINE: {
        const uop *x = src[0];
        while (op_is_movement((enum op)x->op)) x = x->src[0];
        if (!c->kept_rows[n->id]) return src[0];
        mark(c, x, MARK_INLINE);
        uop_memo_clear(&c->not_inline);
        return src[0];
    }
    case OP_WHERE:
        if (c->g->unused && c->g->unused[n->id]) return src[2];
        c->g->checkpointed |= is_checkpoint(n);
        if (is_select(c, from, n)) return copy_select(c, n);
        if (is_scatter_set(c, from, n)) return copy_scatter_set(c, n);
        break;
    case OP_CONTIGUOUS:
        if (in_memory(src[0]) && c->overwritten[n->src[0]->id]) return own_copy(c, src[0]);
        if (src[0]->op != OP_CONST && is_constant_result(src[0])) return own_copy(c, src[0]);
        if (!in_memory(src[0]) && src[0]->op != OP_CONST) force(c, stored_for(src[0]));
        if (is_cat(src[0])) mark(c, src[0], MARK_CUT); /* groups of a long cat are planned alone, alike */
        return src[0];
    case OP_SCATTER:
        if (!shape_size(shape_of(&c->g->shapes, src[1]))) /* empty index: the value as it is */
            return in_memory(src[0]) && c->overwritten[n->src[0]->id] ? own_copy(c, src[0]) : src[0];
        if (c->g->opts->gpu && (other = scatter_dense(ir, &c->g->shapes, src, n->arg.i))) return other;
        if (names_once(c, n, src[1])) {
            if (!c->g->opts->gpu && src[2]->op == OP_PERMUTE)
                need_stored(c, src[2]); /* rows are read in their order */
            src[0] = own_copy(c, src[0]);
            break;
        }
        if (c->g->opts->ordered && dt_is_float((enum dtype)n->dt)) {
            struct ordered_sum o = ordered_sum(ir, &c->g->shapes, src, n->arg.i);
            need_stored(c, o.call->src[0]), need_stored(c, o.call->src[1]);
            return o.result;
        }
        if (c->g->opts->gpu && !c->g->opts->atomics && scatter_is_inexact(src[0], (enum dtype)n->dt))
            return copy_scatter(c, n, src);
        if (adds_wide(c, n, src)) return copy_wide_scatter(c, n, src);
        src[0] = own_copy(c, src[0]); /* the destination */
        break;
    case OP_CAST: {
        const uop *rows = dtype_info[n->dt].bytes == 2 ? round_padded(c, src[0], (enum dtype)n->dt) : NULL;
        if (!rows && c->uses[n->src[0]->id] == 1) rows = scan_cast(ir, src[0], (enum dtype)n->dt);
        if (rows) return rows;
        break;
    }
    case OP_RESHAPE:
    case OP_EXPAND:
    case OP_PERMUTE: return copy_view(c, n, src);
    case OP_PAD: store_before_dilating(c, n, src[0]); break;
    case OP_VAR: return ir_import(ir, from, n);
    case OP_CALL: return c->larger[n->id] ? copy_part(c, n) : copy_call(c, from, n, src);
    case OP_GRAPH: copy_results(c, n, src); break;
    default: break;
    }
    if (is_byte_product(c, n, src)) return copy_byte_product(c, n, src);
    if (n->op == OP_CAST && is_scan_in_blocks(c, src[0])) return cast_blocks(c, n, src[0]);
    if ((other = copy_in_order(c, n, src))) return other;
    const uop *x = uop_new(ir, (enum op)n->op, (enum dtype)n->dt, 1, src, n->nsrc, n->arg);
    if (n->op == OP_SCAN_AXIS) return copy_scan(c, x);
    if (n->op != OP_REDUCE_AXES) return x;
    return shape_size(sg_shape(c->g, src[0])) ? copy_reduced(c, n, x) : copy_identity(c, x);
}

static void copy_graph(struct copy *c, struct ir *from, const uop *graph) {
    VEC(uint32_t) origin = {0};
    uop_topo(c->g->a, &graph, 1, &c->topo);
    find_larger_loops(c, from, graph);
    const uop_vec topo = c->topo;
    c->nodes = from->n;
    c->broadcast = arena_array(c->g->a, uint8_t, from->n);
    for (uint32_t i = 0; i < topo.n; i++) c->broadcast[topo.p[i]->id] = is_broadcast(c, topo.p[i]);
    c->uses = arena_array(c->g->a, uint32_t, from->n);
    for (uint32_t i = 0; i < topo.n; i++)
        for (uint32_t k = 0; k < topo.p[i]->nsrc; k++) c->uses[topo.p[i]->src[k]->id]++;
    c->to = arena_array(c->g->a, const uop *, from->n);
    c->version = arena_array(c->g->a, const uop *, from->n);
    c->viewed = arena_array(c->g->a, const uop *, from->n);
    c->overwritten = arena_array(c->g->a, uint8_t, from->n);
    c->kept_rows = find_kept_rows(c->g->a, &topo, from->n);
    c->in_rows = sums_in_rows(c->g->a, &topo, c->kept_rows, from->n);
    find_orders(c, from);
    for (uint32_t i = 0; i < topo.n; i++)
        if (topo.p[i]->op == OP_ASSIGN) c->overwritten[topo.p[i]->src[0]->id] = 1;
    for (uint32_t i = 0; i < topo.n; i++) {
        uint32_t id = topo.p[i]->id;
        c->to[id] = c->version[id] = copy_node(c, from, topo.p[i]);
        if (c->g->old && c->g->old[id]) c->to[id] = own_copy(c, c->to[id]);
        while (origin.n < c->g->ir->n) vec_push(c->g->a, &origin, id + 1);
    }
    c->g->origin = origin.p;
    c->g->root = c->to[graph->id];
}

/* ---- memory --------------------------------------------------------------------------------------------- */

static void find_memory(struct sgraph *g) {
    struct map first; /* number of a BUFFER -> node */
    map_init(&first, g->a);
    g->memory = arena_array(g->a, const uop *, g->ir->n);
    for (uint32_t i = 0; i < g->ir->n; i++) { /* sources come before users */
        const uop *n = g->ir->node[i];
        uint64_t id;
        if (n->op == OP_BUFFER) {
            if (!map_get(&first, n->arg.u, &id)) map_put(&first, n->arg.u, id = n->id);
            g->memory[i] = g->ir->node[id];
        } else if (n->op == OP_ASSIGN || n->op == OP_SCATTER)
            g->memory[i] = sg_memory(g, n->src[0]);
    }
}

void sgraph_init(struct sgraph *g, struct arena *a, struct ir *from, const uop *graph,
                 const struct sched_opts *o, const uint8_t *old) {
    *g = (struct sgraph){.a = a,
                         .region = g->region,
                         .eval = g->eval,
                         .unused = g->unused,
                         .opts = o,
                         .ir = arena_new(a, struct ir),
                         .old = old};
    ir_init(g->ir, a);
    shapes_init(&g->shapes, g->ir, a);
    struct copy c = {.g = g};
    uop_memo_init(&c.not_inline, a);
    uop_memo_init(&c.narrowed, a);
    copy_graph(&c, from, graph);
    find_memory(g);
    g->target = arena_array(a, const uop *, graph->nsrc);
    struct map taken; /* a stored node is the memory of one result only, unless results are equal */
    map_init(&taken, a);
    for (uint32_t i = 0; i < graph->nsrc; i++) {
        const uop *want = g->root->src[i], *t = in_memory(want) ? want : stored_for(want);
        uint64_t by;
        if (map_get(&taken, t->id, &by) && by != want->id) t = want;
        map_put(&taken, t->id, want->id);
        g->target[i] = t;
        if (!in_memory(t)) force(&c, t);
    }
    find_units(g, &c);
    if (o->gpu && store_as_read(&c)) find_units(g, &c);
}
