/* plan_graph.c: the tensor program as the planner sees it.
 *
 * The caller's program is copied into an ir of the planner's own, without ops that compute nothing (DETACH; CONTIGUOUS becomes
 * "must be stored", INLINE "must not"), with long reductions split (split.c) and unaligned GEMMs repacked (repack.c). Then the
 * units are found: the nodes that may be stored. Some must be (results, in-place stores, scans), some must not (constants);
 * store_rules.c knows the others.
 * Requires: a GRAPH that shape inference accepts. Gives: struct sgraph.
 * Tests: tests/unit/schedule.c */
#include <math.h>

#include "schedule/internal.h"

/* ---- copying ------------------------------------------------------------------------------------------- */

struct copy {
    struct sgraph *g;
    const uop **to;      /* caller's node id -> ours */
    const uop **version; /* the same for what an ASSIGN writes to */
    const uop **viewed;  /* caller's node id of a view: what our copy of it is a view of; see copy_view() */
    /* caller's node id: a version of a buffer that an ASSIGN of this program replaces */
    uint8_t *overwritten;
    uint8_t *in_rows;   /* caller's node id: see sums_in_rows() */
    uop_vec topo;       /* the caller's nodes; ids are below `nodes` */
    uint8_t *broadcast; /* caller's node id: see is_broadcast() */
    uint32_t *uses;     /* caller's node id: mentions as a source */
    uint32_t nodes;
    struct uop_memo not_inline; /* our nodes: see from_inline() */
    uint8_t *mark;              /* our node id: MARK_.. */
    uint32_t marks;
    uint32_t copies;
};

enum {
    MOST_STEPS = 64,   /* ops of a number, nested views between two units */
    FUNCTION_STEP = 8, /* statements of a function that count as one more op */
    SUM_TERMS = 64,    /* of a sum that is distributed over outer products */
    TOP_ROWS = 32,     /* rows that have a block each in a builtin kernel (device/cuda/builtin.c); fewer .. */
    TOP_LENGTH = 1 << 17, /* .. of this length are cut .. */
    TOP_CHUNKS = 1024,    /* .. into chunks .. */
    TOP_MOST = 256,       /* .. if no more elements are wanted .. */
    TOP_FOUND = 1 << 16,  /* .. and chunks find as many; these are cut again .. */
    TOP_AGAIN = 1 << 13,  /* .. where they are more than a block selects from soon */
    TOP_EACH = 16,        /* elements of a chunk for each one that is wanted */
    GEMV_LEAST = 1 << 18, /* elements of its matrix .. */
    GEMV_ROWS_LEAST = 64  /* .. and rows of it */
};
enum {
    MARK_FORCED = 1, /* must be stored */
    MARK_INLINE = 2, /* INLINE */
    MARK_CUT = 4,    /* in memory between two kernels */
    MARK_PADDED = 8, /* a sum with padded rows (repack.c) */
    MARK_ONCE = 16   /* indices that name an element of a row once */
};

static void mark(struct copy *c, const uop *n, uint8_t how) {
    uint32_t need = n->id + 1;
    if (need > c->marks) {
        uint32_t cap = RG_MAX(need, 2 * c->marks + 64);
        c->mark = arena_resize(c->g->a, c->mark, c->marks, cap);
        memset(c->mark + c->marks, 0, cap - c->marks);
        c->marks = cap;
    }
    c->mark[n->id] |= how;
}

static bool is_marked(const struct copy *c, const uop *n, uint8_t how) {
    return n->id < c->marks && (c->mark[n->id] & how);
}

static void force(struct copy *c, const uop *n) { mark(c, n, MARK_FORCED); }

static bool is_leaf(const uop *n) { return n->op == OP_CONST || n->op == OP_VAR || n->op == OP_IOTA; }
static bool in_memory(const uop *n) {
    return n->op == OP_BUFFER || n->op == OP_ASSIGN || n->op == OP_SCATTER;
}

/* The node to store so that n is in memory: looks through RESHAPE, which does not move elements. */
static const uop *stored_for(const uop *n) {
    const uop *b = n;
    while (b->op == OP_RESHAPE) b = b->src[0];
    return in_memory(b) || is_leaf(b) || op_is_movement((enum op)b->op) ? n : b;
}

/* A copy with no other reader: never merged with an equal one. */
static const uop *own_copy(struct copy *c, const uop *n) {
    const uop *src[2] = {n, uop_idx(c->g->ir, ++c->copies)};
    const uop *x = uop_mk(c->g->ir, OP_CONTIGUOUS, src, 2, ARG_NONE);
    force(c, x);
    return x;
}

/* A constant in the shape of a result. */
static bool is_constant_result(const uop *n) {
    while (op_is_movement((enum op)n->op)) n = n->src[0];
    return is_leaf(n);
}

/* Results with copies of their own: what an ASSIGN overwrites, and constants, whose other readers would load them. */
static void copy_results(struct copy *c, const uop *graph, const uop **src) {
    for (uint32_t i = 0; i < graph->nsrc; i++) {
        uint32_t same = 0;
        while (graph->src[same] != graph->src[i]) same++;
        bool overwritten = in_memory(src[i]) && c->overwritten[graph->src[i]->id];
        if (same < i && !overwritten)
            src[i] = src[same];
        else if (overwritten || is_constant_result(src[i]))
            src[i] = own_copy(c, src[i]);
    }
}

/* Builtin kernels read row-major memory. */
static void need_stored(struct copy *c, const uop *n) {
    const uop *b = n;
    while (b->op == OP_RESHAPE) b = b->src[0];
    if (!in_memory(b)) force(c, stored_for(n));
}

static const uop *call(struct copy *c, const char *name, enum dtype dt, const uop *const *src, uint32_t n) {
    return uop_new(c->g->ir, OP_CALL, dt, 1, src, n, (union arg){.u = ir_sym(c->g->ir, name, strlen(name))});
}

/* What comes behind all elements of a row, and behind equal ones: sorts are stable, and NaN is the greatest. */
static const uop *sorted_last(struct copy *c, enum dtype dt, bool descending) {
    if (dt_is_float(dt) && !descending) return uop_flt(c->g->ir, dt, NAN);
    return uop_identity(c->g->ir, descending ? OP_MAX : OP_MIN, dt);
}

/* The first k of few long rows, which a GPU would sort: of chunks, a block each, and then of what these found. NULL: rows are many
 * or shorter than `least`. */
static const uop *copy_topk(struct copy *c, enum call_id id, const uop *const *src, int64_t least) {
    struct ir *ir = c->g->ir;
    const struct shape *in = sg_shape(c->g, src[0]);
    uint32_t last = in->n - 1;
    enum dtype dt = (enum dtype)src[0]->dt;
    int64_t len = in->d[last], k = src[2]->arg.i, rows = shape_size(in) / RG_MAX(len, 1), d[SHAPE_MAX];
    if (rows < 1 || rows >= TOP_ROWS || len < least || k < 1 || k > TOP_MOST || in->n == SHAPE_MAX)
        return NULL;
    int64_t want = RG_MIN(TOP_CHUNKS / rows, TOP_FOUND / k),
            each = (RG_MAX(len / want, TOP_EACH * k) / 64 + 1) * 64, chunks = (len + each - 1) / each;
    const uop *x = graph_pad(ir, &c->g->shapes, src[0], sorted_last(c, dt, src[1]->arg.i != 0), last, 0,
                             chunks * each - len);
    memcpy(d, in->d, in->n * sizeof *d);
    d[last] = chunks, d[last + 1] = each;
    if (chunks * each == len) x = src[0];
    x = graph_shaped(ir, OP_RESHAPE, x, d, in->n + 1);
    need_stored(c, x);
    d[last] = chunks * k;
    const uop *of_chunk[] = {x, src[1], src[2]}, *few = call(c, "topk", dt, of_chunk, 3);
    few = graph_shaped(ir, OP_RESHAPE, few, d, in->n);
    const uop *of_few[] = {few, src[1], src[2]};
    const uop *which = copy_topk(c, id, of_few, TOP_AGAIN);
    if (!which)
        which = call(c, id == CALL_topk ? "topk" : "topk_index", id == CALL_topk ? dt : DT_I64, of_few, 3);
    if (id == CALL_topk) return which;
    const uop *where = graph_shaped(ir, OP_RESHAPE, call(c, "topk_index", DT_I64, of_chunk, 3), d, in->n),
              *at[] = {where, which};
    where = uop_new(ir, OP_GATHER, DT_I64, 1, at, 2, ARG_INT(last));
    const uop *chunk = uop2(ir, OP_IDIV, which, uop_int(ir, DT_I64, k));
    where = uop2(ir, OP_ADD, where, uop2(ir, OP_MUL, chunk, uop_int(ir, DT_I64, each)));
    mark(c, where, MARK_ONCE);
    return where;
}

/* Where the indices of the same sort are wanted, too, as for a gradient: its values are gathered by them. */
static bool has_indices(const struct copy *c, const struct ir *from, const uop *n, enum call_id id) {
    for (uint32_t i = 0; i < c->topo.n; i++) {
        const uop *m = c->topo.p[i];
        if (m->op == OP_CALL && m->nsrc == n->nsrc && call_of(from, m) == id &&
            !memcmp(m->src, n->src, n->nsrc * sizeof *n->src))
            return true;
    }
    return false;
}

static bool is_zero(const uop *n) { return n->op == OP_CONST && !n->arg.u; }

/* What a view is of; a PAD is none. */
static const uop *viewed(const uop *x) {
    while (op_is_movement((enum op)x->op) && x->op != OP_PAD) x = x->src[0];
    return x;
}

/* x where a mask is true, as rg_masked_select has it: gathered by the mask's indices, 0 where there are none. */
static bool is_select(const struct copy *c, const struct ir *from, const uop *n) {
    const uop *ask = n->src[0], *g = n->src[1];
    if (c->g->opts->gpu || ask->op != OP_LE || g->op != OP_GATHER) return false;
    const uop *w = ask->src[1], *at = g->src[1], *x = c->to[g->src[0]->id];
    while (at->op == OP_CAST) at = at->src[0];
    if (w->op != OP_CALL || call_of(from, w) != CALL_nonzero || at->op != OP_MAX || at->src[0] != w)
        return false;
    return is_zero(ask->src[0]) && is_zero(at->src[1]) && is_zero(n->src[2]) && in_memory(viewed(x)) &&
           shape_of(&c->g->shapes, x) == shape_of(&c->g->shapes, c->to[w->src[0]->id]);
}

/* From memory a CPU packs it at once; a view is copied. */
static const uop *copy_select(struct copy *c, const uop *n) {
    const uop *w = n->src[0]->src[1], *x = n->src[1]->src[0];
    const uop *src[3] = {c->to[x->id], c->to[w->src[0]->id], c->to[w->src[1]->id]};
    need_stored(c, src[0]), need_stored(c, src[1]);
    return call(c, "select", (enum dtype)n->dt, src, 3);
}

enum { FEW_WRITTEN = 8 }; /* elements of x for each that is written */

/* Is n what an ASSIGN writes, perhaps in place? */
static bool is_assigned(const struct copy *c, const uop *n) {
    for (uint32_t i = 0; i < c->topo.n; i++) {
        const uop *m = c->topo.p[i], *value = m->op == OP_ASSIGN ? m->src[1] : NULL;
        while (value && value != n && (op_is_movement((enum op)value->op) || value->op == OP_CONTIGUOUS))
            value = value->src[0];
        if (value == n) return true;
    }
    return false;
}

/* src written to x at an index, as rg_scatter has it: gathered by the last writer, x where there is none. Not few elements of
 * an x along another axis than the last, which would be transposed there and back. */
static bool is_scatter_set(const struct copy *c, const struct ir *from, const uop *n) {
    const uop *ask = n->src[0], *g = n->src[1];
    if (c->g->opts->gpu || ask->op != OP_LE || g->op != OP_GATHER) return false;
    const uop *w = ask->src[1], *at = g->src[1];
    while (at->op == OP_CAST) at = at->src[0];
    if (w->op != OP_CALL || call_of(from, w) != CALL_winner || at->op != OP_MAX || at->src[0] != w)
        return false;
    struct shapes *s = &c->g->shapes;
    const uop *x = c->to[n->src[2]->id], *src = c->to[g->src[0]->id], *index = c->to[w->src[0]->id];
    uint32_t last = shape_of(s, x)->n - 1;
    if (x->op == OP_PERMUTE && shape_size(shape_of(s, index)) < shape_size(shape_of(s, x)) / FEW_WRITTEN)
        return false;
    return is_zero(ask->src[0]) && is_zero(at->src[1]) && (uint32_t)g->arg.i == last &&
           shape_of(s, src) == shape_of(s, index) && shape_size(shape_of(s, x)) && !is_assigned(c, n);
}

/* A CPU writes one after the other. */
static const uop *copy_scatter_set(struct copy *c, const uop *n) {
    const uop *w = n->src[0]->src[1];
    const uop *src[4] = {c->to[n->src[2]->id], c->to[w->src[0]->id], c->to[n->src[1]->src[0]->id],
                         uop_idx(c->g->ir, 0)};
    for (int i = 0; i < 3; i++) need_stored(c, src[i]);
    return call(c, "scatter_set", (enum dtype)n->dt, src, 4);
}

static const uop *copy_call(struct copy *c, const struct ir *from, const uop *n, const uop *const *src) {
    const char *name = ir_name(from, (uint32_t)n->arg.u);
    enum call_id id = call_of(from, n);
    if (c->g->opts->gpu && (id == CALL_topk || id == CALL_topk_index)) {
        const uop *split = copy_topk(c, id, src, TOP_LENGTH);
        if (split) return split;
    }
    const uop *dense =
        c->g->opts->gpu ? scatter_call_dense(c->g->ir, &c->g->shapes, id, (enum dtype)n->dt, src) : NULL;
    if (dense) return dense;
    for (uint32_t i = 0; i < call_values(from, n); i++) need_stored(c, src[i]);
    enum call_id indices = id == CALL_sort ? CALL_argsort : CALL_topk_index;
    if ((id == CALL_sort || id == CALL_topk) && has_indices(c, from, n, indices)) {
        const uop *at = call(c, id == CALL_sort ? "argsort" : "topk_index", DT_I64, src, n->nsrc);
        uint32_t last = shape_of(&c->g->shapes, src[0])->n - 1;
        const uop *x =
            uop_new(c->g->ir, OP_GATHER, (enum dtype)n->dt, 1, (const uop *[]){src[0], at}, 2, ARG_INT(last));
        return force(c, x), x; /* rows as they are; another order of axes is a copy */
    }
    return call(c, name, (enum dtype)n->dt, src, n->nsrc);
}

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
static const uop *round_padded(struct copy *c, const uop *n, enum dtype dt) {
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
static bool is_broadcast(const struct copy *c, const uop *n) {
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
static const uop *copy_scan(struct copy *c, const uop *x) {
    uop_vec parts = {0};
    if (c->g->opts->no_split || from_inline(c, x->src[0])) return x;
    const uop *split = split_scan(c->g->ir, &c->g->shapes, x, gpu_of(c), c->g->a, &parts);
    const uop *row =
        c->g->opts->ordered ? scan_call(c->g->ir, &c->g->shapes, x, gpu_of(c), split != x) : NULL;
    if (row) return need_stored(c, row->src[0]), row;
    for (uint32_t i = 0; i < parts.n; i++)
        mark(c, parts.p[i], MARK_FORCED | (c->g->opts->gpu ? MARK_CUT : 0));
    return split;
}

/* NULL: n is no running logarithm of sums of exponentials, or others read its parts, as gradients do. */
static const uop *copy_log_scan(struct copy *c, const uop *n) {
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

static bool is_scan_in_blocks(const struct copy *c, const uop *x) {
    return !c->g->opts->gpu && x->op == OP_RESHAPE && is_running(below_reshapes(x));
}

/* The blocks are cast, then reshaped: their kernel stores what it casts (fuse_after_scans). */
static const uop *cast_blocks(struct copy *c, const uop *n, const uop *x) {
    const struct shape *s = sg_shape(c->g, x);
    return graph_shaped(c->g->ir, OP_RESHAPE, uop_cast(c->g->ir, below_reshapes(x), (enum dtype)n->dt), s->d,
                        s->n);
}

/* A long reduction, split in two. */
static const uop *copy_reduction(struct copy *c, const uop *x) {
    const uop *part = NULL;
    if (c->g->opts->no_split || from_inline(c, x->src[0])) return x;
    const uop *split = split_reduction(c->g->ir, &c->g->shapes, x, gpu_of(c), &part);
    if (split && part) mark(c, stored_for(part), MARK_FORCED | (c->g->opts->gpu ? MARK_CUT : 0));
    return split ? split : x;
}

/* A reduction as a padded GEMM, or split. */
static const uop *copy_sum(struct copy *c, const uop *n, const uop *x) {
    const uop *packed = from_inline(c, x->src[0]) ? NULL : copy_gemm(c, n, x);
    return packed ? packed : c->in_rows[n->id] ? x : copy_reduction(c, x);
}

/* A reduction of nothing: the tensor layer keeps it for the gradients of what leads there. */
static const uop *copy_identity(struct copy *c, const uop *x) {
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
static const uop *distribute_sum(struct copy *c, const uop *n, const uop *x) {
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

static const uop *copy_scatter(struct copy *c, const uop *n, const uop *const *src) {
    struct ir *ir = c->g->ir;
    struct shapes *sh = &c->g->shapes;
    struct scatter_fixed f;
    scatter_begin(ir, sh, src[2], n->arg.i, &f);
    f.greatest = copy_reduction(c, f.greatest);
    force(c, stored_for(f.greatest));
    const uop *zeros = own_copy(c, scatter_zeros(ir, sh, &f, shape_of(sh, src[0])));
    const uop *sum = uop_new(ir, OP_SCATTER, DT_I64, 1,
                             (const uop *[]){zeros, src[1], scatter_to_fixed(ir, sh, &f, src[2])}, 3, n->arg);
    return scatter_to_float(ir, sh, &f, sum, (enum dtype)n->dt);
}

static const uop *cast_as(struct copy *c, const uop *x, enum dtype dt) {
    return uop_new(c->g->ir, OP_CAST, dt, 1, &x, 1, ARG_NONE);
}

/* 16-bit floats are added in f32 and rounded once, as in any other sum: a bf16 that ones are added to ends at 256. */
static const uop *copy_wide_scatter(struct copy *c, const uop *n, const uop *const *src) {
    const uop *wide[] = {own_copy(c, cast_as(c, src[0], DT_F32)), src[1], cast_as(c, src[2], DT_F32)};
    return cast_as(c, uop_new(c->g->ir, OP_SCATTER, DT_F32, 1, wide, 3, n->arg), (enum dtype)n->dt);
}

/* The indices of a sort, or of the first k, name an element of their row once: sums of one term have no order. */
static bool names_once(const struct copy *c, const uop *n, const uop *index) {
    if (is_marked(c, index, MARK_ONCE)) return true;
    if (index->op != OP_CALL || n->arg.i + 1 != (int64_t)shape_of(&c->g->shapes, index)->n) return false;
    const char *name = ir_name(c->g->ir, (uint32_t)index->arg.u);
    return !strcmp(name, "argsort") || !strcmp(name, "topk_index");
}

/* A sum of products of 8-bit integers, which wraps, where MMA instructions multiply them. */
static bool is_byte_product(const struct copy *c, const uop *n, const uop *const *src) {
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
static const uop *copy_byte_product(struct copy *c, const uop *n, const uop *const *src) {
    const uop *wide[1 + SHAPE_MAX];
    memcpy(wide, src, n->nsrc * sizeof *src);
    wide[0] = uop2(c->g->ir, OP_MUL, widen(c, src[0]->src[0], DT_I32), widen(c, src[0]->src[1], DT_I32));
    const uop *x = uop_new(c->g->ir, OP_REDUCE_AXES, DT_I32, 1, wide, n->nsrc, n->arg);
    return cast_as(c, copy_sum(c, n, x), (enum dtype)n->dt);
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

/* RESHAPE, EXPAND, PERMUTE: of several of one kind, which the tensor layer keeps because tensors of the user's show them
 * (tg_name), one is left, or none. */
static const uop *copy_view(struct copy *c, const uop *n, const uop **src) {
    bool merged = n->src[0]->op == n->op, same = true;
    const uop *view = src[0];
    if (merged) src[0] = c->viewed[n->src[0]->id];
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
        if (!c->g->opts->gpu && dt_is_float((enum dtype)n->dt) && dtype_info[n->dt].bytes == 2)
            return copy_wide_scatter(c, n, src);
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
    case OP_CALL: return copy_call(c, from, n, src);
    case OP_GRAPH: copy_results(c, n, src); break;
    default: break;
    }
    if (is_byte_product(c, n, src)) return copy_byte_product(c, n, src);
    if (n->op == OP_CAST && is_scan_in_blocks(c, src[0])) return cast_blocks(c, n, src[0]);
    const uop *x = uop_new(ir, (enum op)n->op, (enum dtype)n->dt, 1, src, n->nsrc, n->arg);
    if (n->op == OP_SCAN_AXIS) return copy_scan(c, x);
    if (n->op != OP_REDUCE_AXES) return x;
    if (!shape_size(sg_shape(c->g, src[0]))) return copy_identity(c, x);
    const uop *sum = distribute_sum(c, n, x);
    return sum ? sum : copy_sum(c, n, x);
}

static void copy_graph(struct copy *c, struct ir *from, const uop *graph) {
    VEC(uint32_t) origin = {0};
    uop_topo(c->g->a, &graph, 1, &c->topo);
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
    c->in_rows = sums_in_rows(c->g->a, &topo, from->n);
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

/* ---- units ------------------------------------------------------------------------------------------------ */

static bool is_unit(const struct copy *c, const uop *n) {
    if (is_marked(c, n, MARK_FORCED)) return true;
    if (n->dt == DT_IDX || n->dt == DT_VOID) return false;
    switch (n->op) {
    case OP_REDUCE_AXES:
    case OP_SCAN_AXIS:
    case OP_GATHER:
    case OP_SCATTER:
    case OP_ASSIGN:
    case OP_CALL:
    case OP_CONTIGUOUS: return true;
    default: return op_is_pure((enum op)n->op);
    }
}

/* Units below a source of u, looking through views. */
static void sources_of(struct sgraph *g, const uop *n, void *out, uint32_t *seen, uint32_t mark) {
    VEC(uint32_t) *v = out;
    for (;;) {
        if (g->unit_of[n->id]) {
            if (seen[n->id] != mark) vec_push(g->a, v, g->unit_of[n->id] - 1);
            seen[n->id] = mark;
            return;
        }
        if (seen[n->id] == mark || !n->nsrc) return;
        seen[n->id] = mark;
        if (!op_is_movement((enum op)n->op) && !in_memory(n)) return;
        if (n->op == OP_PAD) sources_of(g, n->src[1], out, seen, mark);
        n = n->src[0];
    }
}

static void link_units(struct sgraph *g) {
    uint32_t *seen = arena_array(g->a, uint32_t, g->ir->n), *uses = arena_array(g->a, uint32_t, g->units);
    for (uint32_t u = 0; u < g->units; u++) {
        VEC(uint32_t) src = {0};
        const uop *n = g->unit[u].n;
        for (uint32_t i = 0; i < n->nsrc; i++) sources_of(g, n->src[i], &src, seen, u + 1);
        for (uint32_t i = 0; i < src.n; i++) uses[src.p[i]]++;
        vec_push(g->a, &src, UINT32_MAX);
        g->unit[u].src = src.p;
    }
    for (uint32_t u = 0; u < g->units; u++) {
        g->unit[u].use = arena_array(g->a, uint32_t, uses[u] + 1);
        uses[u] = 0;
    }
    for (uint32_t u = 0; u < g->units; u++)
        for (uint32_t *s = g->unit[u].src; *s != UINT32_MAX; s++) g->unit[*s].use[uses[*s]++] = u;
    for (uint32_t u = 0; u < g->units; u++) g->unit[u].use[uses[u]] = UINT32_MAX;
}

/* Computed from constants alone: cheaper to recompute than to load. Random bits are not. */
static bool from_constants(const uop *n, const uint8_t *number) {
    if (n->op == OP_THREEFRY || n->op == OP_CALL) return false;
    if (n->op == OP_REDUCE_AXES || n->op == OP_SCAN_AXIS || n->op == OP_GATHER) return false;
    for (uint32_t i = 0; i < n->nsrc; i++)
        if (!number[n->src[i]->id]) return false;
    return true;
}

/* Ops from n down to units and memory, as a tree: of a number all, of a view the views below. A function counts by its size. */
static uint32_t steps_to(const uop *n, bool number, const uint32_t *steps) {
    uint32_t sum = 1 + op_statements((enum op)n->op) / FUNCTION_STEP;
    if (is_leaf(n) || n->op == OP_GRAPH || (!number && !op_is_movement((enum op)n->op))) return 0;
    for (uint32_t i = 0; i < n->nsrc; i++) sum = RG_MIN(sum + steps[n->src[i]->id], MOST_STEPS + 1);
    return sum;
}

/* Does an elementwise op read x itself, not a view of it? */
static bool reads_in_place(const uop *n, const uop *x) {
    bool elementwise = op_is_pure((enum op)n->op) && !op_is_movement((enum op)n->op) &&
                       n->op != OP_REDUCE_AXES && n->op != OP_SCAN_AXIS && n->op != OP_GATHER;
    for (uint32_t i = 0; elementwise && i < n->nsrc; i++)
        if (n->src[i] == x) return true;
    return false;
}

/* A scan that one elementwise op alone reads, a cast or what adds what comes before its block, need not be stored before. */
static void fuse_after_scans(struct copy *c) {
    struct sgraph *g = c->g;
    for (uint32_t u = 0; u < g->units; u++) {
        const struct plan_unit *x = &g->unit[u];
        if (x->n->op != OP_SCAN_AXIS || is_marked(c, x->n, MARK_FORCED) || x->use[0] == UINT32_MAX) continue;
        if (x->use[1] == UINT32_MAX && reads_in_place(g->unit[x->use[0]].n, x->n))
            g->unit[u].forced = UNIT_FREE;
    }
}

/* A GEMV, or two or three rows by a large matrix in memory: planned like a contraction. The vector is stored once instead of computed
 * by every block, and the result with its epilogue; else a network of them is one region, whose residuals every layer computes
 * again. */
static bool is_gemv(struct sgraph *g, const uop *n) {
    const uop *m = n->src[0], *x;
    if (n->op != OP_REDUCE_AXES || n->arg.i != OP_ADD) return false;
    while (m->op == OP_CAST) m = m->src[0];
    if (m->op != OP_MUL) return false;
    for (int i = 0; i < 2; i++) {
        for (x = m->src[i]; op_is_movement((enum op)x->op) || x->op == OP_CAST;) x = x->src[0];
        double matrix = shape_elements_below(&g->shapes, m->src[i]),
               vector = shape_elements_below(&g->shapes, m->src[!i]);
        if (in_memory(x) && matrix >= GEMV_LEAST && matrix >= GEMV_ROWS_LEAST * vector &&
            (double)shape_size(sg_shape(g, m)) < CONTRACTION_REUSE * matrix)
            return true;
    }
    return false;
}

static void find_units(struct sgraph *g, struct copy *c) {
    uop_vec topo = {0};
    uop_topo(g->a, &g->root, 1, &topo);
    g->unit = arena_array(g->a, struct plan_unit, topo.n);
    g->unit_of = arena_array(g->a, uint32_t, g->ir->n);
    uint8_t *number = arena_array(g->a, uint8_t, g->ir->n);
    uint32_t *steps = arena_array(g->a, uint32_t, g->ir->n);
    for (uint32_t i = 0; i < topo.n; i++) {
        const uop *n = topo.p[i];
        bool stored = is_marked(c, n, MARK_FORCED); /* its readers load it */
        number[n->id] = !stored && (is_leaf(n) || (n->nsrc && !in_memory(n) && from_constants(n, number)));
        steps[n->id] = stored ? 0 : steps_to(n, number[n->id], steps);
        if (steps[n->id] >
            MOST_STEPS) { /* beyond, a number is a value like any other, and a view is copied */
            if (!op_is_pure((enum op)n->op)) force(c, n);
            number[n->id] = 0, steps[n->id] = 0;
        }
        if (!is_unit(c, n) || n->op == OP_GRAPH) continue;
        struct plan_unit *u = &g->unit[g->units++];
        g->unit_of[n->id] = g->units;
        *u = (struct plan_unit){.n = n, .hint = n->op == OP_REDUCE_AXES ? HINT_REDUCTION : HINT_ELEMENTWISE};
        bool must = is_marked(c, n, MARK_FORCED) || n->op == OP_ASSIGN || n->op == OP_SCATTER ||
                    n->op == OP_SCAN_AXIS || n->op == OP_CALL;
        u->forced = must ? UNIT_FORCED : number[n->id] ? UNIT_NEVER : UNIT_FREE;
        if (u->forced == UNIT_NEVER) u->hint = HINT_NUMBER;
        if (u->forced == UNIT_FREE && is_marked(c, n, MARK_INLINE)) u->forced = UNIT_NEVER, u->kept = 1;
        u->cut = is_marked(c, n, MARK_CUT);
    }
    for (uint32_t u = 0; u < g->units; u++)
        if (graph_contraction(&g->shapes, g->unit[u].n) || (g->opts->gpu && is_gemv(g, g->unit[u].n)))
            g->unit[u].hint = HINT_CONTRACTION;
    link_units(g);
    if (!g->opts->gpu) fuse_after_scans(c);
    apply_store_rules(g);
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
}
