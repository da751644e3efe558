/* plan_copy_call.c: builtin kernels and scatters of the caller's program, as the planner has them (plan_graph.c).
 * Tests: tests/unit/call.c, tests/unit/schedule.c */
#include <math.h>

#include "schedule/plan_copy.h"

enum {
    TOP_ROWS = 32, /* rows that have a block each in a builtin kernel (device/cuda/builtin.c); fewer .. */
    TOP_LENGTH = 1 << 17, /* .. of this length are cut .. */
    TOP_CHUNKS = 1024,    /* .. into chunks .. */
    TOP_MOST = 256,       /* .. if no more elements are wanted .. */
    TOP_FOUND = 1 << 15,  /* .. and chunks find as many, or .. */
    TOP_LONG = 1 << 16,   /* .. are of this length; what they find is cut again .. */
    TOP_EQUAL = 4,        /* .. where it is more, or of bytes, of which many are equal, a fourth */
    TOP_EACH = 16         /* elements of a chunk for each one that is wanted */
};

static const uop *call(struct copy *c, const char *name, enum dtype dt, const uop *const *src, uint32_t n) {
    return uop_new(c->g->ir, OP_CALL, dt, 1, src, n, (union arg){.u = ir_sym(c->g->ir, name, strlen(name))});
}

/* What comes behind all elements of a row, and behind equal ones: sorts are stable, and NaN is the greatest. */
static const uop *sorted_last(struct copy *c, enum dtype dt, bool descending) {
    if (dt_is_float(dt) && !descending) return uop_flt(c->g->ir, dt, NAN);
    return uop_identity(c->g->ir, descending ? OP_MAX : OP_MIN, dt);
}

/* Elements of a chunk of a row: a little more than these, if they divide it, so that nothing is padded. */
static int64_t chunk_of(int64_t len, int64_t least) {
    for (int64_t n = least; 4 * n <= 5 * least; n++)
        if (len % n == 0) return n;
    return (least / 64 + 1) * 64;
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
    bool equal = dtype_info[dt].bytes == 1;
    int64_t want = RG_MIN(TOP_CHUNKS / rows, RG_MAX((equal ? 2 : 1) * TOP_FOUND / k, len / TOP_LONG)),
            each = chunk_of(len, RG_MAX(len / want, TOP_EACH * k)), chunks = (len + each - 1) / each;
    const uop *x = graph_pad(ir, &c->g->shapes, src[0], sorted_last(c, dt, src[1]->arg.i != 0), last, 0,
                             chunks * each - len);
    memcpy(d, in->d, in->n * sizeof *d);
    d[last] = chunks, d[last + 1] = each;
    if (chunks * each == len) x = src[0];
    x = graph_shaped(ir, OP_RESHAPE, x, d, in->n + 1);
    need_stored(c, x);
    d[last] = chunks * k;
    const uop *of_chunk[] = {x, src[1], src[2]}, *where = NULL, *few;
    if (id == CALL_topk_index) { /* values are those of the indices: a chunk is read by one call */
        where = call(c, "topk_index", DT_I64, of_chunk, 3);
        few = uop_new(ir, OP_GATHER, dt, 1, (const uop *[]){x, where}, 2, ARG_INT(in->n));
    } else {
        few = call(c, "topk", dt, of_chunk, 3);
    }
    few = graph_shaped(ir, OP_RESHAPE, few, d, in->n);
    const uop *of_few[] = {few, src[1], src[2]};
    const uop *which = copy_topk(c, id, of_few, TOP_FOUND / (equal ? TOP_EQUAL : 1) + !equal);
    if (!which)
        need_stored(c, few), which = call(c, id == CALL_topk ? "topk" : "topk_index",
                                          id == CALL_topk ? dt : DT_I64, of_few, 3);
    if (id == CALL_topk) return which;
    const uop *at[] = {graph_shaped(ir, OP_RESHAPE, where, d, in->n), which};
    where = uop_new(ir, OP_GATHER, DT_I64, 1, at, 2, ARG_INT(last));
    const uop *chunk = uop2(ir, OP_IDIV, which, uop_int(ir, DT_I64, k));
    where = uop2(ir, OP_ADD, where, uop2(ir, OP_MUL, chunk, uop_int(ir, DT_I64, each)));
    mark(c, where, MARK_ONCE);
    return where;
}

/* Is there a call of this function with the sources of n? */
static bool has_call(const struct copy *c, const struct ir *from, const uop *n, enum call_id id) {
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
bool is_select(const struct copy *c, const struct ir *from, const uop *n) {
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
const uop *copy_select(struct copy *c, const uop *n) {
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
bool is_scatter_set(const struct copy *c, const struct ir *from, const uop *n) {
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
const uop *copy_scatter_set(struct copy *c, const uop *n) {
    const uop *w = n->src[0]->src[1];
    const uop *src[4] = {c->to[n->src[2]->id], c->to[w->src[0]->id], c->to[n->src[1]->src[0]->id],
                         uop_idx(c->g->ir, 0)};
    for (int i = 0; i < 3; i++) need_stored(c, src[i]);
    return call(c, "scatter_set", (enum dtype)n->dt, src, 4);
}

enum {
    LEAST_COLUMNS = 8, /* worth the lanes of a vector */
    LANE_BYTES = 64,   /* of a network */
    MANY_BLOCKS = 64   /* of many lines, which keep threads busy */
};

/* Do columns side by side fill most of the lanes? Indices have lanes twice as wide. */
static bool fill_lanes(enum dtype dt, bool indices, int64_t width) {
    int64_t lanes = LANE_BYTES / (dtype_info[dt].bytes << (indices && dtype_info[dt].bytes < 8));
    return width >= LEAST_COLUMNS && 4 * width >= 3 * ((width + lanes - 1) / lanes) * lanes;
}

/* A CPU's sort of a permuted tensor: columns are sorted as they lie, and the result is permuted; or rows, where the last axis is the one.
 * NULL: it is neither. */
static const uop *copy_sorted_view(struct copy *c, const uop *n, enum call_id id, const uop *const *src) {
    const uop *p = src[0], *x = p->op == OP_PERMUTE ? p->src[0] : NULL;
    if (!x || id > CALL_topk_index || c->g->opts->gpu) return NULL;
    struct ir *ir = c->g->ir;
    const struct shape *s = sg_shape(c->g, x);
    int64_t d[SHAPE_MAX], width = 1, axis = p->src[s->n]->arg.i, len = s->d[axis];
    int64_t k = id == CALL_topk || id == CALL_topk_index ? src[2]->arg.i : len;
    bool indices = id == CALL_argsort || id == CALL_topk_index;
    enum dtype dt = (enum dtype)x->dt;
    memcpy(d, s->d, s->n * sizeof *d);
    for (uint32_t i = (uint32_t)axis + 1; i < s->n; i++) width *= s->d[i];
    bool fits = len <= call_columns_most(dt, indices) && fill_lanes(dt, indices, width);
    if (!shape_size(s) || k < 1 || (width > 1 && !fits) || width > UINT32_MAX / len) return NULL;
    int64_t rows = shape_size(s) / (len * width),
            blocks = width * dtype_info[dt].bytes / (LANE_BYTES * COLUMN_LINES);
    struct sorted_columns f = {.width = width,
                               .lines = rows * blocks >= MANY_BLOCKS ? COLUMN_LINES : COLUMN_LINES_FEW,
                               .indices = indices,
                               .descending = src[1]->arg.i != 0};
    const uop *call_src[3] = {x, src[1], n->nsrc > 2 ? src[2] : NULL}, *r;
    union arg name = {.u = ir_sym(ir, call_info[width > 1 ? CALL_columns : id].name,
                                  strlen(call_info[width > 1 ? CALL_columns : id].name))};
    bool behind = axis + 1 < s->n; /* other axes, of one element each if there are no columns */
    d[axis] = len * width;
    if (behind) call_src[0] = graph_shaped(ir, OP_RESHAPE, x, d, (uint32_t)axis + 1);
    if (width > 1) call_src[1] = uop_idx(ir, columns_pack(f)), call_src[2] = uop_idx(ir, k);
    need_stored(c, call_src[0]);
    r = uop_new(ir, OP_CALL, (enum dtype)n->dt, 1, call_src, width > 1 ? 3 : n->nsrc, name);
    d[axis] = k;
    if (behind) r = graph_shaped(ir, OP_RESHAPE, r, d, s->n);
    const uop *out[1 + SHAPE_MAX] = {r};
    memcpy(out + 1, p->src + 1, s->n * sizeof *out);
    r = uop_mk(ir, OP_PERMUTE, out, 1 + s->n, p->arg);
    if (indices) mark(c, r, MARK_ONCE);
    return r;
}

/* Are values of the same sort wanted beside its indices, or the other way round? */
static bool has_twin(const struct copy *c, const struct ir *from, const uop *n, enum call_id id) {
    static const enum call_id twin[] = {[CALL_sort] = CALL_argsort,
                                        [CALL_argsort] = CALL_sort,
                                        [CALL_topk] = CALL_topk_index,
                                        [CALL_topk_index] = CALL_topk};
    return id <= CALL_topk_index && has_call(c, from, n, twin[id]);
}

/* The elements of rows x that indices name, stored: rows as they are; another order of axes is a copy. */
static const uop *values_at(struct copy *c, const uop *x, const uop *index) {
    uint32_t last = shape_of(&c->g->shapes, x)->n - 1;
    x = uop_new(c->g->ir, OP_GATHER, (enum dtype)x->dt, 1, (const uop *[]){x, index}, 2, ARG_INT(last));
    return force(c, x), x;
}

const uop *copy_call(struct copy *c, const struct ir *from, const uop *n, const uop *const *src) {
    const char *name = ir_name(from, (uint32_t)n->arg.u);
    enum call_id id = call_of(from, n);
    bool twin = has_twin(c, from, n, id);
    if (c->g->opts->gpu && (id == CALL_topk || id == CALL_topk_index)) {
        const uop *split = copy_topk(c, twin ? CALL_topk_index : id, src, TOP_LENGTH);
        if (split) return twin && id == CALL_topk ? values_at(c, src[0], split) : split;
    }
    const uop *dense =
        c->g->opts->gpu ? scatter_call_dense(c->g->ir, &c->g->shapes, id, (enum dtype)n->dt, src) : NULL;
    if (dense) return dense;
    const uop *view = twin ? NULL : copy_sorted_view(c, n, id, src);
    if (view) return view;
    for (uint32_t i = 0; i < call_values(from, n); i++)
        if (id != CALL_loop || !is_slice_of_memory(c->g, src[i])) need_stored(c, src[i]);
    if (twin &&
        (id == CALL_sort || id == CALL_topk)) { /* as for a gradient: values are gathered by the indices */
        return values_at(c, src[0],
                         call(c, id == CALL_sort ? "argsort" : "topk_index", DT_I64, src, n->nsrc));
    }
    const uop *x = call(c, name, (enum dtype)n->dt, src, n->nsrc);
    return id == CALL_loop && !c->g->opts->gpu ? copy_paneled(c, x) : x;
}

const uop *copy_scatter(struct copy *c, const uop *n, const uop *const *src) {
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

/* 16-bit floats are added in f32 and rounded once, as in any other sum: a bf16 that ones are added to ends at 256. Short integers are
 * added in i32 on a GPU, which has no shorter atomics. */
const uop *copy_wide_scatter(struct copy *c, const uop *n, const uop *const *src) {
    enum dtype dt = dt_is_float((enum dtype)n->dt) ? DT_F32 : DT_I32;
    const uop *wide[] = {own_copy(c, cast_as(c, src[0], dt)), src[1], cast_as(c, src[2], dt)};
    return cast_as(c, uop_new(c->g->ir, OP_SCATTER, dt, 1, wide, 3, n->arg), (enum dtype)n->dt);
}

/* The indices of a sort, or of the first k, name an element of their row once: sums of one term have no order. */
bool names_once(const struct copy *c, const uop *n, const uop *index) {
    if (n->arg.i + 1 != (int64_t)shape_of(&c->g->shapes, index)->n) return false;
    if (is_marked(c, index, MARK_ONCE)) return true;
    if (index->op != OP_CALL) return false;
    const char *name = ir_name(c->g->ir, (uint32_t)index->arg.u);
    return !strcmp(name, "argsort") || !strcmp(name, "topk_index");
}
