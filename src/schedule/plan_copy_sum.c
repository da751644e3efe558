/* plan_copy_sum.c: sums, contractions and scans of the caller's program, as the planner has them (plan_graph.c): long ones in two
 * levels (split.c), unaligned GEMMs over padded operands (repack.c), sums of outer products term by term, bytes in i32.
 * Tests: tests/unit/schedule.c, tests/unit/repack.c */
#include "schedule/plan_copy.h"

enum {
    SUM_TERMS = 64 /* of a sum that is distributed over outer products */
};

/* Is n an elementwise function of an INLINE value? What is known not to be is not walked again. */
static bool from_inline(struct copy *c, const uop *n) {
    uop_vec stack = {0};
    uint64_t known;
    vec_push(c->g->a, &stack, n);
    while (stack.n) {
        n = stack.p[--stack.n];
        if (is_marked(c, n, MARK_INLINE)) {
            uop_memo_clear(&c->not_inline); /* some that were walked are */
            return true;
        }
        bool through = op_is_movement((enum op)n->op) || op_is_pure((enum op)n->op);
        if (!through || uop_memo_get(&c->not_inline, n, &known)) continue;
        uop_memo_put(&c->not_inline, n, 1);
        for (uint32_t i = 0; i < n->nsrc; i++) vec_push(c->g->a, &stack, n->src[i]);
    }
    return false;
}

/* A sum with padded rows, rounded to 16 bits: the rounded value is stored and viewed as n. NULL: n is no view of such a sum. */
const uop *round_padded(struct copy *c, const uop *n, enum dtype dt) {
    if (is_marked(c, n, MARK_PADDED)) {
        const uop *x = uop_cast(c->g->ir, n, dt);
        force(c, x);
        c->mark[n->id] &= (uint8_t)~MARK_FORCED; /* in its place */
        return x;
    }
    if (!graph_is_rounded_view(n)) return NULL;
    const uop *x = round_padded(c, n->src[0], dt), **src = arena_array(c->g->a, const uop *, n->nsrc);
    if (!x) return NULL;
    memcpy(src, n->src, n->nsrc * sizeof *src);
    src[0] = x;
    if (n->op == OP_PAD) src[1] = uop_flt(c->g->ir, dt, 0);
    return uop_new(c->g->ir, (enum op)n->op, dt, 1, src, n->nsrc, n->arg);
}

static bool is_pointwise(const uop *n) {
    return op_is_movement((enum op)n->op) || op_is_pure((enum op)n->op);
}
static uint32_t value_count(const uop *n) { return op_is_movement((enum op)n->op) ? 1 : n->nsrc; }

/* Is the caller's n a constant or broadcast, with fewer elements in memory than its shape has? */
bool is_broadcast(const struct copy *c, const uop *n) {
    if (is_leaf(n) || n->op == OP_EXPAND) return true;
    for (uint32_t i = 0; i < value_count(n); i++)
        if (!is_pointwise(n) || !c->broadcast[n->src[i]->id]) return false;
    return is_pointwise(n);
}

/* Is a pointwise function of the caller's n combined with other tensors of its size? */
static bool is_combined(struct copy *c, const uop *n) {
    uint8_t *made = arena_array(c->g->a, uint8_t, c->nodes);
    made[n->id] = 1;
    for (uint32_t i = 0; i < c->topo.n; i++) {
        const uop *u = c->topo.p[i];
        bool others = false;
        for (uint32_t k = 0; k < value_count(u) && is_pointwise(u); k++) {
            made[u->id] |= made[u->src[k]->id];
            others |= !made[u->src[k]->id] && !c->broadcast[u->src[k]->id];
        }
        if (made[u->id] && others) return true;
    }
    return false;
}

/* Is every use of the caller's n, through views, a cast to 16 bits, which is then stored in its place (round_padded)? */
static bool is_rounded(struct copy *c, const uop *n) {
    uint8_t *view = arena_array(c->g->a, uint8_t, c->nodes);
    view[n->id] = 1;
    for (uint32_t i = 0; i < c->topo.n; i++) {
        const uop *u = c->topo.p[i];
        bool uses = false, moved = graph_is_rounded_view(u);
        for (uint32_t k = 0; k < u->nsrc; k++) uses |= view[u->src[k]->id];
        if (uses && !moved && !(u->op == OP_CAST && dtype_info[u->dt].bytes == 2)) return false;
        view[u->id] |= uses && moved;
    }
    return true;
}

/* What a channels-last copy with a halo is made of, if it is computed: stored first. Fused, each of its tensors would be read by tiles
 * whose every element has a predicate. */
static void store_before_copy(struct copy *c, const uop *copy) {
    const uop *b = copy;
    bool transposed = false, halo = false;
    for (; op_is_movement((enum op)b->op); b = b->src[0])
        transposed |= b->op == OP_PERMUTE, halo |= graph_pads_before(b);
    const uop *from = b;
    while (from->op == OP_CAST || op_is_movement((enum op)from->op)) from = from->src[0];
    if (transposed && halo && c->g->opts->gpu && !in_memory(from) && !is_leaf(from)) force(c, stored_for(b));
}

/* A GEMM over aligned operands (repack.c). NULL: it stays as it is. */
static const uop *copy_gemm(struct copy *c, const uop *n, const uop *x) {
    struct repacked p = {0};
    if (!repack_gemm(c->g->ir, &c->g->shapes, x, c->g->opts, &p)) return NULL;
    if (p.padded && !is_combined(c, n)) {
        p = (struct repacked){.any_rows = true};
        if (!repack_gemm(c->g->ir, &c->g->shapes, x, c->g->opts, &p)) return NULL;
    }
    for (int i = 0; i < 3; i++)
        if (p.stored[i]) mark(c, stored_for(p.stored[i]), MARK_FORCED | (i == 2 ? MARK_CUT : 0));
    for (int i = 0; i < 2; i++)
        if (p.stored[i]) store_before_copy(c, p.stored[i]);
    if (p.padded) mark(c, p.padded, MARK_PADDED);
    if (p.shuffled) mark(c, p.shuffled, is_rounded(c, n) ? MARK_PADDED : MARK_FORCED);
    return p.sum;
}

/* NULL: a CPU. */
static const struct gpu_spec *gpu_of(const struct copy *c) {
    const struct sched_opts *o = c->g->opts;
    return !o->gpu ? NULL : o->spec ? o->spec : gpu_spec_default();
}

/* A long scan, in blocks. */
const uop *copy_scan(struct copy *c, const uop *x) {
    uop_vec parts = {0};
    if (c->g->opts->no_split || from_inline(c, x->src[0])) return x;
    const uop *split = split_scan(c->g->ir, &c->g->shapes, x, gpu_of(c), c->g->a, &parts);
    const uop *call, *row = c->g->opts->ordered
                                ? scan_call(c->g->ir, &c->g->shapes, x, gpu_of(c), split != x, &call)
                                : NULL;
    if (row) return need_stored(c, call->src[0]), row;
    for (uint32_t i = 0; i < parts.n; i++)
        mark(c, parts.p[i], MARK_FORCED | (c->g->opts->gpu ? MARK_CUT : 0));
    return split;
}

/* NULL: n is no running logarithm of sums of exponentials, or others read its parts, as gradients do. */
const uop *copy_log_scan(struct copy *c, const uop *n) {
    struct running_log r = scan_find_log(n);
    const uop *call;
    if (!c->g->opts->ordered || !r.x || c->uses[r.log->id] > 1 || c->uses[r.sum->id] > 1) return NULL;
    const uop *y = scan_log_call(c->g->ir, &c->g->shapes, c->to[r.x->id], r.axis, &call);
    return need_stored(c, call->src[0]), y;
}

static const uop *below_reshapes(const uop *x) {
    while (x->op == OP_RESHAPE) x = x->src[0];
    return x;
}

/* A scan, or one of blocks with what comes before each (split_scan.c). */
static bool is_running(const uop *x) {
    return x->op == OP_SCAN_AXIS ||
           (x->nsrc == 2 && x->src[1]->op == OP_SCAN_AXIS && x->src[1]->arg.i == (int64_t)x->op);
}

bool is_scan_in_blocks(const struct copy *c, const uop *x) {
    return !c->g->opts->gpu && x->op == OP_RESHAPE && is_running(below_reshapes(x));
}

/* The blocks are cast, then reshaped: their kernel stores what it casts (fuse_after_scans). */
const uop *cast_blocks(struct copy *c, const uop *n, const uop *x) {
    const struct shape *s = sg_shape(c->g, x);
    return graph_shaped(c->g->ir, OP_RESHAPE, uop_cast(c->g->ir, below_reshapes(x), (enum dtype)n->dt), s->d,
                        s->n);
}

/* A long reduction, split in two. */
const uop *copy_reduction(struct copy *c, const uop *x) {
    const uop *part = NULL;
    if (c->g->opts->no_split || from_inline(c, x->src[0])) return x;
    struct marked_nodes forced = {c->mark, c->marks, MARK_FORCED};
    const uop *split = split_reduction(c->g->ir, &c->g->shapes, x, gpu_of(c), &forced, &part);
    if (split && part) mark(c, stored_for(part), MARK_FORCED | (c->g->opts->gpu ? MARK_CUT : 0));
    return split ? split : x;
}

/* Then it is stored before it is expanded. Fused, each of its elements would be written in a loop of its own: down a column, where rows are
 * alike. */
static bool is_far_smaller(struct copy *c, const uop *y, const struct shape *expanded) {
    enum { FAR = 8 };
    return shape_size(expanded) >= FAR * shape_size(sg_shape(c->g, y));
}

/* A reduction of what is not all alike, as a padded GEMM, or split. */
const uop *copy_sum(struct copy *c, const uop *n, const uop *x) {
    const uop *once = reduced_once(c, x);
    if (once) {
        const struct shape *s = sg_shape(c->g, x);
        const uop *y = copy_sum(c, n, once);
        if (is_far_smaller(c, y, s)) mark(c, stored_for(y), MARK_FORCED | (c->g->opts->gpu ? MARK_CUT : 0));
        return graph_shaped(c->g->ir, OP_EXPAND, y, s->d, s->n);
    }
    const uop *packed = from_inline(c, x->src[0]) ? NULL : copy_gemm(c, n, x);
    return packed ? packed : c->in_rows[n->id] ? x : copy_reduction(c, x);
}

/* A reduction of nothing: the tensor layer keeps it for the gradients of what leads there. */
const uop *copy_identity(struct copy *c, const uop *x) {
    struct ir *ir = c->g->ir;
    const struct shape *s = sg_shape(c->g, x);
    int64_t ones[SHAPE_MAX];
    for (uint32_t i = 0; i < s->n; i++) ones[i] = 1;
    const uop *v = uop_identity(ir, (enum op)x->arg.i, (enum dtype)x->dt);
    return graph_shaped(ir, OP_EXPAND, graph_shaped(ir, OP_RESHAPE, v, ones, s->n), s->d, s->n);
}

/* The terms of an elementwise sum that is computed for the caller's n alone. False: n is no sum of several. */
static bool sum_terms(struct copy *c, const uop *n, const uop **term, uint32_t *terms) {
    const uop *stack[SUM_TERMS] = {n->src[0]};
    uint32_t open = 1;
    const struct shape *whole = sg_shape(c->g, c->to[n->src[0]->id]);
    for (*terms = 0; open;) {
        const uop *t = stack[--open];
        bool add = t->op == OP_ADD && c->uses[t->id] == 1 && open + *terms + 2 <= SUM_TERMS;
        for (uint32_t i = 0; i < 2 && add; i++) add = sg_shape(c->g, c->to[t->src[i]->id]) == whole;
        if (add)
            stack[open++] = t->src[1], stack[open++] = t->src[0];
        else
            term[(*terms)++] = c->to[t->id];
    }
    return *terms > 1;
}

/* A float sum of outer products is distributed: each is summed as a contraction, the other terms together. NULL: none is one. */
const uop *distribute_sum(struct copy *c, const uop *n, const uop *x) {
    const uop *term[SUM_TERMS], *rest = NULL, *sum = NULL, *src[1 + SHAPE_MAX];
    uint32_t terms, outer = 0;
    bool wide = n->dt == DT_F32 || n->dt == DT_F64;
    if (n->arg.i != OP_ADD || !wide || from_inline(c, x->src[0]) || !sum_terms(c, n, term, &terms))
        return NULL;
    for (uint32_t i = 0; i < terms; i++) outer += shape_is_outer_product(&c->g->shapes, term[i]);
    if (!outer) return NULL;
    memcpy(src, x->src, x->nsrc * sizeof *src);
    for (uint32_t i = 0; i <= terms; i++) {
        const uop *t = i < terms ? term[i] : rest;
        if (i < terms && !shape_is_outer_product(&c->g->shapes, t)) {
            rest = rest ? uop2(c->g->ir, OP_ADD, rest, t) : t;
            continue;
        }
        if (!t) continue;
        src[0] = t;
        const uop *s = copy_sum(c, n, uop_mk(c->g->ir, OP_REDUCE_AXES, src, x->nsrc, n->arg));
        sum = sum ? uop2(c->g->ir, OP_ADD, sum, s) : s;
    }
    return sum;
}

/* A sum of products of 8-bit integers, which wraps, where MMA instructions multiply them. */
bool is_byte_product(const struct copy *c, const uop *n, const uop *const *src) {
    const struct sched_opts *o = c->g->opts;
    struct shapes *s = &c->g->shapes;
    if (n->op != OP_REDUCE_AXES || n->arg.i != OP_ADD || (n->dt != DT_I8 && n->dt != DT_U8)) return false;
    return mma_multiplies(o->model, o->gpu, (enum dtype)n->dt, DT_I32) && src[0]->op == OP_MUL &&
           shape_size(shape_of(s, src[0])) && (o->gpu || shape_is_outer_product(s, src[0]));
}

/* The cast of a view is below it: of its elements once each. */
static const uop *widen(struct copy *c, const uop *x, enum dtype dt) {
    if (!op_is_movement((enum op)x->op) || x->op == OP_PAD) return cast_as(c, x, dt);
    const uop **src = arena_array(c->g->a, const uop *, x->nsrc);
    memcpy(src, x->src, x->nsrc * sizeof *src);
    src[0] = widen(c, x->src[0], dt);
    return uop_new(c->g->ir, (enum op)x->op, dt, 1, src, x->nsrc, x->arg);
}

/* It is added in i32, as MMA instructions do, and wraps once. */
const uop *copy_byte_product(struct copy *c, const uop *n, const uop *const *src) {
    const uop *wide[1 + SHAPE_MAX];
    memcpy(wide, src, n->nsrc * sizeof *src);
    wide[0] = uop2(c->g->ir, OP_MUL, widen(c, src[0]->src[0], DT_I32), widen(c, src[0]->src[1], DT_I32));
    const uop *x = uop_new(c->g->ir, OP_REDUCE_AXES, DT_I32, 1, wide, n->nsrc, n->arg);
    return cast_as(c, copy_sum(c, n, x), (enum dtype)n->dt);
}
