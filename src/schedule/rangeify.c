/* rangeify.c: builds the kernel that computes a set of stored values.
 *
 * Every output gets a RANGE per axis, and the value at these coordinates is built by walking the graph towards its sources:
 * a movement op only changes coordinates (and adds a predicate where there is padding), an elementwise op computes, a
 * reduction opens new ranges, and a stored value is a LOAD. So movement costs nothing and what is not stored is recomputed
 * wherever it is used; equal values at equal coordinates are one node. All kernels come from here: the planner prices what
 * is built here, and builds what it chose again.
 *
 * A value that is never stored (INLINE) is kept for a row at a time: a STAGE (value_kept).
 *
 * Independent reductions share their ranges, which makes them one loop. The key of a range: the ranges it runs inside (the
 * free ranges of its coordinates), the number of reductions below it, its size.
 * Requires: struct sgraph. Gives: a SINK over raw ranges, or r->illegal.
 * Tests: tests/unit/schedule.c */
#include "schedule/internal.h"

void rangeify_init(struct rangeify *r, struct sgraph *g, struct arena *a) {
    *r = (struct rangeify){.g = g, .a = a};
    r->level = arena_array(g->a, uint32_t, g->ir->n);
    r->out = arena_array(g->a, uint8_t, g->units + 1);
    r->plain = arena_array(g->a, uint8_t, g->units + 1);
    r->param = arena_array(g->a, const uop *, g->ir->n);
    g->visits += g->ir->n;
}

void rangeify_restart(struct rangeify *r, struct arena *a) {
    r->ir = arena_new(a, struct ir);
    ir_init(r->ir, a);
    rw_init(&r->rw, r->ir, rules_sym, NULL);
    free_init(&r->fr, r->ir, a);
    uop_memo_init(&r->strides, a);
    uop_memo_init(&r->highest, a);
    r->sym_buffer = ir_sym(r->ir, "b", 1);
    r->sym_reduce = ir_sym(r->ir, "r", 1);
    r->sym_dim = ir_sym(r->ir, "d", 1);
    r->node_of.p = NULL, r->node_of.n = r->node_of.cap = 0;
    r->last.shape = NULL, r->merges = 0;
    memset(r->merged, 0, sizeof r->merged);
    for (uint32_t i = 0; i < r->params.n; i++) r->param[r->params.p[i]] = NULL;
    r->params.n = 0;
}

/* ---- index arithmetic -------------------------------------------------------------------------------------- */

static const uop *idx(struct rangeify *r, int64_t v) { return uop_idx(r->ir, v); }
static const uop *add(struct rangeify *r, const uop *a, const uop *b) { return rw2(&r->rw, OP_ADD, a, b); }
static const uop *mul(struct rangeify *r, const uop *a, int64_t k) {
    return rw2(&r->rw, OP_MUL, a, idx(r, k));
}
static const uop *quot(struct rangeify *r, const uop *a, int64_t k) {
    return rw2(&r->rw, OP_IDIV, a, idx(r, k));
}
static const uop *rest(struct rangeify *r, const uop *a, int64_t k) {
    return rw2(&r->rw, OP_MOD, a, idx(r, k));
}
static const uop *both(struct rangeify *r, const uop *a, const uop *b) {
    return !a ? b : !b ? a : rw2(&r->rw, OP_AND, a, b);
}
static const uop *cast(struct rangeify *r, const uop *a, enum dtype dt) {
    return a->dt == dt ? a : rw_new(&r->rw, OP_CAST, dt, 1, &a, 1, ARG_NONE);
}

static const uop *new_range(struct rangeify *r, enum axis_kind kind, int64_t size, uint32_t pos,
                            uint32_t id) {
    const uop *n = idx(r, size);
    union arg arg = {.range = {.cls = kind == AX_REDUCE ? r->sym_reduce : r->sym_dim,
                               .kind = (uint8_t)kind,
                               .pos = (uint8_t)RG_MIN(pos, 255),
                               .id = (uint16_t)id}};
    return uop_new(r->ir, OP_RANGE, DT_IDX, 1, &n, 1, arg);
}

static const uop *refuse(struct rangeify *r, const uop *n, const char *why) {
    if (!r->illegal) r->illegal = why;
    return uop_int(r->ir, n->dt == DT_VOID ? DT_IDX : (enum dtype)n->dt, 0);
}

/* A loaded index is clamped: whatever its value, the access stays in bounds. */
static const uop *clamp(struct rangeify *r, const uop *i, int64_t size) {
    return rw2(&r->rw, OP_MIN, rw2(&r->rw, OP_MAX, cast(r, i, DT_IDX), idx(r, 0)), idx(r, size - 1));
}

/* Axes from..end of s, in front of `end`, are those that m merges: where they begin, or `end`. */
static uint32_t merged_from(const struct merged_axes *m, const struct shape *s, uint32_t from, uint32_t end,
                            const uop *const *at) {
    uint32_t n = m->n, k = end;
    while (n && k > from && (s->d[k - 1] == 1 || (s->d[k - 1] == m->d[n - 1] && at[k - 1] == m->at[n - 1])))
        n -= s->d[--k] != 1;
    return n ? end : k;
}

/* Row-major linear index of axes from..end. Coordinates that an index was divided into are that index again: simplification does not
 * find all of them, once remainders of its terms are taken. */
static const uop *flat_index(struct rangeify *r, const struct shape *s, uint32_t from, uint32_t end,
                             const uop *const *at, const uop *pred) {
    const uop *sum = idx(r, 0);
    int64_t stride = 1;
    for (uint32_t k = end; k > from;) {
        const struct merged_axes *m = NULL;
        uint32_t first = k;
        for (uint32_t i = 0; i < RG_COUNT(r->merged) && first == k; i++) {
            m = &r->merged[i];
            if (m->flat && m->pred == pred) first = merged_from(m, s, from, k, at);
        }
        if (first < k) sum = add(r, mul(r, m->flat, stride), sum);
        if (first == k && s->d[--first] != 1) sum = add(r, mul(r, at[first], stride), sum);
        while (k > first) stride *= s->d[--k];
    }
    return sum;
}

/* Most loads of a kernel ask for the one before. */
static const uop *linear_index(struct rangeify *r, const struct shape *s, const uop *const *at,
                               const uop *pred) {
    struct last_index *last = &r->last;
    bool known = last->shape == s && last->pred == pred;
    for (uint32_t i = 0; i < s->n && known; i++) known = s->d[i] == 1 || last->at[i] == at[i];
    if (known) return last->index;
    last->shape = s, last->pred = pred, last->index = flat_index(r, s, 0, s->n, at, pred);
    for (uint32_t i = 0; i < s->n; i++) last->at[i] = s->d[i] == 1 ? NULL : at[i];
    return last->index;
}

static const uop *param(struct rangeify *r, const uop *memory) {
    if (r->param[memory->id]) return r->param[memory->id];
    const uop *size = idx(r, shape_size(sg_shape(r->g, memory)));
    union arg arg = {.param = {.slot = memory->id, .name = r->sym_buffer}}; /* the slot tells them apart */
    vec_push(r->g->a, &r->params, memory->id);
    return r->param[memory->id] = uop_new(r->ir, OP_PARAM, (enum dtype)memory->dt, 1, &size, 1, arg);
}

/* s: the shape that `at` are coordinates of; memory has its elements in the same order. */
static const uop *load(struct rangeify *r, const uop *n, const struct shape *s, const uop *const *at,
                       const uop *pred) {
    const uop *i = !r->flat ? linear_index(r, s, at, pred) : shape_size(s) == 1 ? idx(r, 0) : at[0];
    if (pred) i = rw3(&r->rw, OP_WHERE, pred, i, uop_new(r->ir, OP_INVALID, DT_IDX, 1, NULL, 0, ARG_NONE));
    if (i->op == OP_INVALID) return uop_int(r->ir, (enum dtype)n->dt, 0); /* predicate always false */
    return uop1(r->ir, OP_LOAD, uop2(r->ir, OP_INDEX, param(r, sg_memory(r->g, n)), i));
}

/* ---- movement: coordinates of the result to coordinates of the source --------------------------------- */

bool reshape_group(const struct shape *out, uint32_t *i, const struct shape *in, uint32_t *j) {
    int64_t p = *i < out->n ? out->d[(*i)++] : 1, q = *j < in->n ? in->d[(*j)++] : 1;
    while (p != q) {
        if (p < q && *i < out->n)
            p *= out->d[(*i)++];
        else if (q < p && *j < in->n)
            q *= in->d[(*j)++];
        else
            return false;
    }
    return true;
}

static void merge(struct rangeify *r, const struct shape *s, uint32_t from, uint32_t end,
                  const uop *const *at, const uop *flat, const uop *pred) {
    struct merged_axes *m = &r->merged[r->merges++ % RG_COUNT(r->merged)];
    *m = (struct merged_axes){.flat = flat, .pred = pred};
    for (uint32_t k = from; k < end; k++)
        if (s->d[k] != 1) m->at[m->n] = at[k], m->d[m->n++] = s->d[k];
}

/* Is flat what axes of these sizes were merged to? Then to: their coordinates. */
static bool unmerge(struct rangeify *r, const struct shape *s, uint32_t from, uint32_t end, const uop *flat,
                    const uop *pred, const uop **to) {
    for (uint32_t i = 0; i < RG_COUNT(r->merged); i++) {
        const struct merged_axes *m = &r->merged[i];
        uint32_t n = 0;
        if (m->flat != flat || m->pred != pred) continue;
        for (uint32_t k = from; k < end; k++) {
            if (s->d[k] != 1 && (n == m->n || m->d[n] != s->d[k])) break;
            to[k] = s->d[k] == 1 ? idx(r, 0) : m->at[n++];
            if (k + 1 == end && n == m->n) return true;
        }
    }
    return false;
}

/* Does the predicate say that x, which is not negative, is less than n? */
static bool is_below(const uop *pred, const uop *x, int64_t n) {
    if (pred->op == OP_AND) return is_below(pred->src[0], x, n) || is_below(pred->src[1], x, n);
    return pred->op == OP_LT && pred->src[0] == x && pred->src[1]->op == OP_CONST && pred->src[1]->arg.i <= n;
}

/* Are coordinates that pass the ends of axes from..end inside where what reads them is valid, and there are such? */
static bool are_inside(const struct shape *s, uint32_t from, uint32_t end, const uop *const *at,
                       const uop *pred) {
    bool any = false;
    for (uint32_t k = from; k < end; k++) {
        bool passes = at[k]->hi >= s->d[k];
        if (at[k]->lo < 0 || (passes && !is_below(pred, at[k], s->d[k]))) return false;
        any |= passes;
    }
    return any;
}

/* Axes of both shapes are matched in groups of equal size; a group of one axis each passes through. */
static void at_reshape(struct rangeify *r, const struct shape *out, const struct shape *in,
                       const uop *const *at, const uop *pred, const uop **to) {
    uint32_t i = 0, j = 0;
    while (i < out->n || j < in->n) {
        while (i < out->n && out->d[i] == 1) i++; /* belong to no group */
        while (j < in->n && in->d[j] == 1) to[j++] = idx(r, 0);
        uint32_t i0 = i, j0 = j;
        reshape_group(out, &i, in, &j);
        if (i - i0 == 1 && j - j0 == 1) {
            to[j0] = at[i0];
            continue;
        }
        const uop *flat = flat_index(r, out, i0, i, at, pred);
        int64_t left = 1;
        bool whole = pred && j - j0 == 1 && are_inside(out, i0, i, at, pred);
        if (unmerge(r, in, j0, j, flat, pred, to)) continue;
        for (uint32_t k = j0; k < j; k++) left *= in->d[k];
        for (uint32_t k = j0; k < j; k++) {
            left /= RG_MAX(in->d[k], 1);
            to[k] = in->d[k] == 1 ? idx(r, 0) : whole ? flat : rest(r, quot(r, flat, left), in->d[k]);
        }
        if (i - i0 > 1 && j - j0 == 1) merge(r, out, i0, i, at, to[j0], pred);
        if (j - j0 > 1) merge(r, in, j0, j, to, flat, pred);
    }
}

static void at_pad(struct rangeify *r, const uop *n, const struct shape *in, const uop *const *at,
                   const uop **to, const uop **valid) {
    for (uint32_t i = 0; i < in->n; i++) {
        int64_t before = n->src[2 + 3 * i]->arg.i, after = n->src[3 + 3 * i]->arg.i;
        int64_t step = n->src[4 + 3 * i]->arg.i + 1, span = (in->d[i] - 1) * step + 1;
        const uop *x = before ? add(r, at[i], idx(r, -before)) : at[i];
        if (before) *valid = both(r, *valid, rw2(&r->rw, OP_LE, idx(r, 0), x));
        if (after) *valid = both(r, *valid, rw2(&r->rw, OP_LT, x, idx(r, span)));
        if (step > 1) {
            *valid = both(r, *valid, rw2(&r->rw, OP_EQ, rest(r, x, step), idx(r, 0)));
            x = clamp(r, quot(r, x, step), in->d[i]); /* implied by the predicate; proves the bounds */
        }
        to[i] = x;
    }
}

static void at_unfold(struct rangeify *r, const uop *n, uint32_t rank, const uop *const *at, const uop **to) {
    uint32_t m = (n->nsrc - 1) / 3, first = rank - 2 * m;
    for (uint32_t i = 0; i < rank; i++) to[i] = at[i];
    for (uint32_t i = 0; i < m; i++)
        to[first + i] = add(r, mul(r, at[first + i], n->src[2 + 3 * i]->arg.i),
                            mul(r, at[first + m + i], n->src[3 + 3 * i]->arg.i));
}

static void at_fold(struct rangeify *r, const uop *n, const struct shape *in, const uop *const *at,
                    const uop **to, const uop **valid) {
    uint32_t m = (n->nsrc - 1) / 3, first = in->n - 2 * m;
    for (uint32_t i = 0; i < in->n; i++) to[i] = at[i];
    for (uint32_t i = first; i < first + m; i++) {
        int64_t size = n->src[1 + 3 * (i - first)]->arg.i, stride = n->src[2 + 3 * (i - first)]->arg.i;
        int64_t dilation = n->src[3 + 3 * (i - first)]->arg.i, reach = (in->d[i + m] - 1) * dilation;
        const uop *x = add(r, at[i], mul(r, at[i + m], -dilation));
        int64_t span = in->d[i] ? (in->d[i] - 1) * stride + 1 : 0;
        if (reach) *valid = both(r, *valid, rw2(&r->rw, OP_LE, idx(r, 0), x));
        if (size > span) *valid = both(r, *valid, rw2(&r->rw, OP_LT, x, idx(r, span)));
        if (stride > 1) {
            *valid = both(r, *valid, rw2(&r->rw, OP_EQ, rest(r, x, stride), idx(r, 0)));
            x = clamp(r, quot(r, x, stride), RG_MAX(in->d[i], 1));
        }
        to[i] = x;
    }
}

/* start + i * step; a start may be known only at run time: an expression of VARs. */
static void at_box(struct rangeify *r, const uop *n, uint32_t first, uint32_t axes, const uop *const *at,
                   const uop **to) {
    for (uint32_t i = 0; i < axes; i++) {
        const uop *start = n->src[first + 3 * i];
        start = start->op == OP_CONST ? idx(r, start->arg.i) : ir_import(r->ir, r->g->ir, start);
        to[i] = add(r, mul(r, at[i], n->src[first + 3 * i + 2]->arg.i), start);
    }
}

/* ---- the walk ------------------------------------------------------------------------------------------ */

static const uop *value_at(struct rangeify *, const uop *n, const uop *const *at, const uop *pred);
static const uop *write_value(struct rangeify *, const uop *n, const uop *const *at, const uop *pred);

static bool is_loaded(struct rangeify *r, const uop *n) {
    uint32_t u = r->g->unit_of[n->id];
    if (u && r->out[u - 1]) return false;
    return sg_is_memory(r->g, n) || (u && r->stored[u - 1]);
}

/* How many reductions lie below n in this kernel, one in the other; what is gathered is below its index. */
static uint32_t level_of(struct rangeify *r, const uop *n) {
    if (is_loaded(r, n) || !n->nsrc) return 0;
    if (r->level[n->id] >> 12 == r->epoch) return r->level[n->id] & 4095;
    uint32_t l = 0;
    if (++r->visited > 8 * KERNEL_NODES) {
        refuse(r, n, "too much in one kernel");
        return 0;
    }
    for (uint32_t i = 0; i < n->nsrc; i++) {
        uint32_t below = level_of(r, n->src[i]);
        l = n->op == OP_GATHER ? l + below : RG_MAX(l, below);
    }
    if (n->op == OP_REDUCE_AXES) l++;
    l = RG_MIN(l, 4095);
    r->level[n->id] = r->epoch << 12 | l;
    return l;
}

static const uop *zero_of(struct rangeify *r, const uop *n) {
    enum dtype dt = (enum dtype)n->dt;
    return dt_is_float(dt) ? uop_flt(r->ir, dt, 0) : uop_int(r->ir, dt, 0);
}

/* PAD and FOLD: padding is not loaded. */
static const uop *value_pad(struct rangeify *r, const uop *n, const uop *const *at, const uop *pred) {
    const uop *to[SHAPE_MAX], *valid = NULL;
    if (!shape_size(sg_shape(r->g, n->src[0]))) /* empty source */
        return n->op == OP_PAD ? value_at(r, n->src[1], NULL, NULL) : zero_of(r, n);
    if (n->op == OP_PAD)
        at_pad(r, n, sg_shape(r->g, n->src[0]), at, to, &valid);
    else
        at_fold(r, n, sg_shape(r->g, n->src[0]), at, to, &valid);
    if (valid && uop_is_int_const(valid, 1)) valid = NULL;
    const uop *in = value_at(r, n->src[0], to, both(r, pred, valid));
    if (!valid) return in;
    const uop *around = n->op == OP_PAD ? value_at(r, n->src[1], NULL, NULL) : zero_of(r, n);
    return rw3(&r->rw, OP_WHERE, valid, in, around);
}

static const uop *value_move(struct rangeify *r, const uop *n, const uop *const *at, const uop *pred) {
    const uop *to[SHAPE_MAX] = {0};
    const struct shape *out = sg_shape(r->g, n), *in = sg_shape(r->g, n->src[0]);
    if (r->flat) { /* the same linear index in both, or a scalar */
        bool fits = n->op == OP_RESHAPE || (n->op == OP_EXPAND && (shape_size(in) == 1 || in == out));
        return fits ? value_at(r, n->src[0], at, pred) : refuse(r, n, "moves elements");
    }
    if (n->op == OP_RESHAPE && is_loaded(r, n->src[0])) return load(r, n->src[0], out, at, pred);
    switch (n->op) {
    case OP_RESHAPE: at_reshape(r, out, in, at, pred, to); break;
    case OP_PERMUTE:
        for (uint32_t i = 0; i < in->n; i++) to[n->src[1 + i]->arg.i] = at[i];
        break;
    case OP_EXPAND:
        for (uint32_t i = 0; i < in->n; i++) to[i] = in->d[i] == 1 ? idx(r, 0) : at[i];
        break;
    case OP_SHRINK: at_box(r, n, 1, in->n, at, to); break;
    case OP_UNFOLD: at_unfold(r, n, in->n, at, to); break;
    case OP_FLIP:
        for (uint32_t i = 0; i < in->n; i++) to[i] = at[i];
        for (uint32_t i = 1; i < n->nsrc; i++) {
            int64_t a = n->src[i]->arg.i;
            to[a] = add(r, mul(r, at[a], -1), idx(r, in->d[a] - 1));
        }
        break;
    default: return value_pad(r, n, at, pred);
    }
    return value_at(r, n->src[0], to, pred);
}

static const uop *reduce_range(struct rangeify *r, uint64_t context, uint32_t level, uint32_t which,
                               int64_t size) {
    uint64_t key[4] = {context, level, which, (uint64_t)size}, id;
    uint64_t h = hash_bytes(key, sizeof key, 7);
    if (map_get(&r->reduce_ranges, h, &id)) return r->ir->node[id];
    const uop *x =
        new_range(r, AX_REDUCE, size, 100 + 8 * RG_MIN(level, 15) + RG_MIN(which, 7), r->next_range++);
    map_put(&r->reduce_ranges, h, x->id);
    map_put(&r->range_levels, x->id, level);
    return x;
}

/* Drops ranges that the body does not depend on. Returns how often they would combine each value. */
static int64_t drop_invariant_ranges(struct rangeify *r, enum op op, const uop *body, const uop **src,
                                     uint32_t *nr) {
    uint32_t k = 0;
    int64_t same = 1;
    for (uint32_t i = 0; i < *nr; i++) {
        if (op == OP_MUL || free_has(&r->fr, body, src[1 + i]))
            src[1 + k++] = src[1 + i];
        else
            same *= src[1 + i]->src[0]->arg.i;
    }
    *nr = k;
    return same;
}

/* The sum of k equal values; bool: or. */
static const uop *times(struct rangeify *r, const uop *x, int64_t k) {
    enum dtype dt = (enum dtype)x->dt;
    if (dt == DT_BOOL) return x;
    if (dt == DT_F16 || dt == DT_BF16) return cast(r, times(r, cast(r, x, DT_F32), k), dt);
    return rw2(&r->rw, OP_MUL, x, dt_is_float(dt) ? uop_flt(r->ir, dt, (double)k) : uop_int(r->ir, dt, k));
}

/* A masked row times x: masked elements are skipped, so that loops can skip them too. They then do not count even where x is
 * infinite or NaN, which 0 * x would propagate. */
static const uop *masked_product(struct rangeify *r, const uop *x) {
    if (x->op != OP_MUL) return x;
    for (uint32_t i = 0; i < r->row_reads.n; i++) {
        const struct row_read *read = &r->row_reads.p[i];
        if (read->pred && (x->src[0] == read->load || x->src[1] == read->load))
            return rw3(&r->rw, OP_WHERE, read->pred, x, uop_flt(r->ir, (enum dtype)x->dt, 0));
    }
    return x;
}

static bool is_half(const uop *x) { return x->dt == DT_F16 || x->dt == DT_BF16; }

/* The same extreme over other ranges, if the body is one, perhaps rounded to 16 bits: that keeps the order. Else NULL. */
static const uop *same_extreme(enum op op, const uop *body) {
    const uop *in = body->op == OP_CAST ? body->src[0] : body;
    bool rounded = in == body || (is_half(body) && in->dt == DT_F32);
    bool extreme = (op == OP_MAX || op == OP_MIN) && in->op == OP_REDUCE && in->arg.i == (int64_t)op;
    return extreme && rounded ? in : NULL;
}

/* The body reduced over the ranges src[1..]. An extreme of extremes is one over all their ranges, which threads can share. 16-bit
 * floats are accumulated in fp32 and rounded once. */
static const uop *reduced(struct rangeify *r, enum op op, const uop *body, const uop **src, uint32_t nr) {
    enum dtype dt = (enum dtype)body->dt;
    int64_t same = drop_invariant_ranges(r, op, body, src, &nr);
    if (same > 1 && op == OP_ADD) body = times(r, body, same);
    if (!nr) return body;
    bool half = is_half(body); /* extremes too: a conversion less for each element */
    const uop *in = same_extreme(op, body);
    if (in && nr + in->nsrc - 1 <= SHAPE_MAX) {
        memcpy(&src[1 + nr], &in->src[1], (in->nsrc - 1) * sizeof *src);
        nr += in->nsrc - 1, body = in->src[0];
    }
    src[0] = half ? cast(r, body, DT_F32) : body;
    return cast(r, rw_mk(&r->rw, OP_REDUCE, src, 1 + nr, (union arg){.i = op}), dt);
}

/* The set of ranges that the coordinates depend on, hashed. */
static uint64_t context_of(struct rangeify *r, const uop *const *at, uint32_t n) {
    uint64_t context = 0;
    for (uint32_t i = 0; i < n; i++) {
        const uop_vec *f = free_of(&r->fr, at[i]);
        for (uint32_t k = 0; k < f->n; k++)
            if (f->p[k]->arg.range.id != PART_RANGE) context |= 1ull << (hash_u64(f->p[k]->id + 1) & 63);
    }
    return context;
}

/* The highest level of the reductions in x, a value of the kernel. */
static uint32_t highest_level(struct rangeify *r, const uop *x) {
    uint64_t l = 0, known;
    if (uop_memo_get(&r->highest, x, &known)) return (uint32_t)known;
    for (uint32_t i = 0; i < x->nsrc; i++) {
        uint64_t below = highest_level(r, x->src[i]);
        if (x->op == OP_REDUCE && i && map_get(&r->range_levels, x->src[i]->id, &known))
            below = RG_MAX(below, known);
        l = RG_MAX(l, below);
    }
    return (uint32_t)uop_memo_put(&r->highest, x, l);
}

/* The level of reduction n there: a coordinate that is reduced itself, as the index of a gather is, stands in its body. */
static uint32_t level_at(struct rangeify *r, const uop *n, const uop *const *at, uint32_t k) {
    uint32_t below = 0;
    for (uint32_t i = 0; i < k; i++) {
        uint32_t l = highest_level(r, at[i]);
        below = RG_MAX(below, l);
    }
    return RG_MIN(level_of(r, n) + below, 4095);
}

static bool is_one_value(const uop *const *at, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (at[i]->op != OP_CONST) return false;
    return true;
}

static const uop *value_reduce(struct rangeify *r, const uop *n, const uop *const *at, const uop *pred) {
    const struct shape *in = sg_shape(r->g, n->src[0]);
    const uop *to[SHAPE_MAX], *src[1 + SHAPE_MAX];
    uint32_t nr = 0, level;
    enum op op = (enum op)n->arg.i;
    if (r->flat) return refuse(r, n, "a reduction");
    if (!shape_size(in)) return uop_identity(r->ir, op, (enum dtype)n->dt);
    if (r->g->opts->gpu && is_one_value(at, in->n)) pred = NULL; /* whatever needs it, it is in bounds */
    uint64_t context = context_of(r, at, in->n) | (pred ? hash_u64(pred->id) : 0);
    level = level_at(r, n, at, in->n);
    for (uint32_t i = 0; i < in->n; i++) to[i] = at[i];
    for (uint32_t i = 1; i < n->nsrc; i++) {
        int64_t a = n->src[i]->arg.i;
        if (in->d[a] == 1) continue;
        src[1 + nr] = to[a] = reduce_range(r, context, level, nr, in->d[a]);
        nr++;
    }
    const uop *body = value_at(r, n->src[0], to, pred);
    if (op == OP_ADD) body = masked_product(r, body);
    return reduced(r, op, body, src, nr);
}

/* ---- kept rows --------------------------------------------------------------------------------- */

static bool has_reduce_range(struct rangeify *r, const uop *n, bool *only_rows) {
    const uop_vec *f = free_of(&r->fr, n);
    bool any = false;
    for (uint32_t k = 0; k < f->n; k++) {
        if (f->p[k]->arg.range.kind != AX_REDUCE) continue;
        any = true;
        if (!map_get(&r->row_ranges, f->p[k]->id, NULL)) *only_rows = false;
    }
    return any;
}

/* The predicate on indices where a row is not 0; NULL: it is not masked. */
static const uop *mask_of(const uop *x) {
    while (x->op == OP_MUL && x->src[1]->op == OP_CONST) x = x->src[0];
    if (x->op != OP_WHERE || !uop_is_const(x->src[2]) || !dt_is_float((enum dtype)x->dt)) return NULL;
    const uop *g = x->src[0];
    return x->src[2]->arg.f == 0 && g->op == OP_LT && g->src[0]->dt == DT_IDX ? g : NULL;
}

/* A value that is never stored between kernels (INLINE), inside a reduction: the row that the reductions run along is
 * computed once per iteration of the outer loops, into scratch memory, and every pass reads it from there. So a contraction
 * may be inside a reduction, and nothing is computed twice. NULL: no reduction runs along n here. */
static const uop *value_kept(struct rangeify *r, const uop *n, const uop *const *at) {
    const struct shape *s = sg_shape(r->g, n);
    const uop *to[SHAPE_MAX], *src[1 + SHAPE_MAX], *here[SHAPE_MAX], *index = idx(r, 0);
    uint64_t context = hash_u64(n->id + 0x726f77);
    uint32_t nr = 0;
    bool by_row = true, reduced[SHAPE_MAX] = {0};
    for (uint32_t i = 0; i < s->n; i++) {
        reduced[i] = s->d[i] != 1 && has_reduce_range(r, at[i], &by_row);
        if (!reduced[i] && s->d[i] != 1) context = hash_u64(context ^ at[i]->id);
    }
    for (uint32_t i = 0; i < s->n; i++) {
        to[i] = at[i];
        if (!reduced[i]) continue;
        src[1 + nr] = to[i] = reduce_range(r, context, level_of(r, n), nr, s->d[i]);
        map_put(&r->row_ranges, to[i]->id, 1);
        index = add(r, mul(r, index, s->d[i]), at[i]);
        here[nr++] = at[i];
    }
    if (!nr) return NULL;
    char name[24];
    int len = snprintf(name, sizeof name, "row%u", src[1]->arg.range.id);
    union arg arg = {.mem = {ir_sym(r->ir, name, (size_t)len), SPACE_SCRATCH, 0, 0}};
    src[0] = write_value(r, n, to, NULL);
    const uop *row = uop_new(r->ir, OP_STAGE, (enum dtype)n->dt, 1, src, 1 + nr, arg);
    struct row_read read = {r->g->unit_of[n->id] - 1, by_row, NULL, mask_of(src[0])};
    if (read.pred) read.pred = rw_subst(&r->rw, read.pred, src + 1, here, nr);
    read.load = uop1(r->ir, OP_LOAD, uop2(r->ir, OP_INDEX, row, index));
    vec_push(r->a, &r->row_reads, read);
    return read.load;
}

static bool is_kept(struct rangeify *r, const uop *n, const uop *pred) {
    uint32_t u = r->g->unit_of[n->id];
    return u && r->g->unit[u - 1].kept && !r->plain[u - 1] && !pred && !r->flat;
}

/* A row that is read only by the loop that fills another one is recomputed instead. True: there is one, build the kernel
 * again. */
static bool drop_useless_rows(struct rangeify *r) {
    bool any = false;
    for (uint32_t i = 0; i < r->row_reads.n; i++) {
        const struct row_read *x = &r->row_reads.p[i];
        uint32_t reads = 0;
        for (uint32_t k = 0; k < r->row_reads.n; k++) reads += r->row_reads.p[k].unit == x->unit;
        if (reads == 1 && x->by_row) r->plain[x->unit] = 1, any = true;
    }
    return any;
}

/* A scan over n equal values at index i: i+1 of them. Powers by repeated squaring. */
static const uop *scan_invariant(struct rangeify *r, enum op op, const uop *x, const uop *i, int64_t n) {
    enum dtype dt = (enum dtype)x->dt;
    const uop *count = add(r, i, idx(r, 1)), *one = uop_int(r->ir, dt, 1), *p = one;
    if (op == OP_MAX || op == OP_MIN || dt == DT_BOOL) return x;
    if (op == OP_ADD) return rw2(&r->rw, OP_MUL, x, cast(r, count, dt));
    for (int64_t bit = 1; bit <= n; bit *= 2, x = rw2(&r->rw, OP_MUL, x, x)) {
        const uop *set = rw2(&r->rw, OP_NE, rest(r, quot(r, count, bit), 2), idx(r, 0));
        p = rw2(&r->rw, OP_MUL, p, rw3(&r->rw, OP_WHERE, set, x, one));
    }
    return p;
}

static const uop *value_scan(struct rangeify *r, const uop *n, const uop *const *at, const uop *pred) {
    int64_t a = n->src[1]->arg.i;
    const struct shape *in = sg_shape(r->g, n);
    if (r->flat) return refuse(r, n, "a scan");
    if (in->d[a] == 1) return value_at(r, n->src[0], at, pred);
    bool own = at[a]->op == OP_RANGE && at[a]->src[0]->arg.i == in->d[a] &&
               at[a]->arg.range.kind != AX_REDUCE && !pred;
    for (uint32_t k = 0; k < in->n && own; k++) own = k == a || !free_has(&r->fr, at[k], at[a]);
    if (!own) return refuse(r, n, "a scan that is not read in its own order");
    const uop *src[2] = {value_at(r, n->src[0], at, pred), at[a]};
    if (n->nsrc > 2) {
        src[0] = uop2(r->ir, OP_DECAY, src[0], value_at(r, n->src[2], at, pred));
        return rw_mk(&r->rw, OP_SCAN, src, 2, n->arg);
    }
    if (!free_has(&r->fr, src[0], at[a]))
        return scan_invariant(r, (enum op)n->arg.i, src[0], at[a], in->d[a]);
    bool half = n->dt == DT_F16 || n->dt == DT_BF16; /* a CPU compares their bits (opts/block_sums.c) */
    if (half && r->g->opts->gpu) src[0] = cast(r, src[0], DT_F32);
    return cast(r, rw_mk(&r->rw, OP_SCAN, src, 2, n->arg), (enum dtype)n->dt);
}

static const uop *value_gather(struct rangeify *r, const uop *n, const uop *const *at, const uop *pred) {
    const struct shape *in = sg_shape(r->g, n->src[0]);
    const uop *to[SHAPE_MAX];
    if (r->flat) return refuse(r, n, "a gather");
    for (uint32_t k = 0; k < in->n; k++) to[k] = at[k];
    to[n->arg.i] = clamp(r, value_at(r, n->src[1], at, pred), in->d[n->arg.i]);
    return value_at(r, n->src[0], to, pred);
}

static const uop *value_elementwise(struct rangeify *r, const uop *n, const uop *const *at, const uop *pred) {
    const uop *src[3];
    r->statements += op_statements((enum op)n->op);
    if (r->statements > KERNEL_STATEMENTS) return refuse(r, n, "too much in one kernel");
    for (uint32_t i = 0; i < n->nsrc; i++) src[i] = value_at(r, n->src[i], at, pred);
    return rw_new(&r->rw, (enum op)n->op, (enum dtype)n->dt, 1, src, n->nsrc, n->arg);
}

/* The value, computed and not loaded. */
static const uop *write_value(struct rangeify *r, const uop *n, const uop *const *at, const uop *pred) {
    if (op_is_movement((enum op)n->op)) return value_move(r, n, at, pred);
    switch (n->op) {
    case OP_CONST: return uop_new(r->ir, OP_CONST, (enum dtype)n->dt, 1, NULL, 0, n->arg);
    case OP_VAR: return ir_import(r->ir, r->g->ir, n);
    case OP_IOTA: return r->flat ? refuse(r, n, "counts") : cast(r, at[0], (enum dtype)n->dt);
    case OP_REDUCE_AXES: return value_reduce(r, n, at, pred);
    case OP_SCAN_AXIS: return value_scan(r, n, at, pred);
    case OP_GATHER: return value_gather(r, n, at, pred);
    case OP_CONTIGUOUS: return value_at(r, n->src[0], at, pred);
    case OP_ASSIGN: /* read in the kernel that writes it */
        if (n->nsrc == 2) return value_at(r, n->src[1], at, pred);
        return refuse(r, n, "reads a buffer of which it writes a slice");
    default:
        if (op_is_pure((enum op)n->op)) return value_elementwise(r, n, at, pred);
        return refuse(r, n, "no kernel does this op inside an expression");
    }
}

static uint64_t memo_hash(const uop *n, const uop *const *at, uint32_t k, const uop *pred) {
    uint64_t h = hash_u64(n->id + 1) ^ (pred ? hash_u64(pred->id + 77777) : 0);
    for (uint32_t i = 0; i < k; i++) h = hash_u64(h ^ at[i]->id);
    return h ? h : 1;
}

static struct at_memo *memo_slot(struct rangeify *r, uint64_t h) {
    if (r->memo_n * 2 >= r->memo_cap) {
        uint32_t cap = r->memo_cap ? 2 * r->memo_cap : 128, old_cap = r->memo_cap;
        struct at_memo *old = r->memo;
        r->memo = arena_array(r->a, struct at_memo, cap);
        r->memo_cap = cap;
        for (uint32_t i = 0; i < old_cap; i++)
            if (old[i].hash) *memo_slot(r, old[i].hash) = old[i];
    }
    uint32_t j = (uint32_t)h & (r->memo_cap - 1);
    while (r->memo[j].hash) j = (j + 1) & (r->memo_cap - 1);
    return &r->memo[j];
}

/* The value of n at coordinates `at` (one per axis; unused where the size is 1); loads are predicated by pred. */
static const uop *value_at(struct rangeify *r, const uop *n, const uop *const *at, const uop *pred) {
    uint32_t k = r->flat ? 1 : sg_shape(r->g, n)->n;
    if (!at || shape_size(sg_shape(r->g, n)) == 1) k = 0;
    uint64_t h = memo_hash(n, at, k, pred);
    for (uint32_t j = (uint32_t)h & (r->memo_cap - 1); r->memo_cap && r->memo[j].hash;
         j = (j + 1) & (r->memo_cap - 1)) {
        const struct at_memo *m = &r->memo[j];
        if (m->hash == h && m->n == n && m->pred == pred && (!k || !memcmp(m->idx, at, k * sizeof *at)))
            return m->value;
    }
    if (r->illegal || ++r->visited > KERNEL_NODES) return refuse(r, n, "too much in one kernel");
    const uop *v = is_loaded(r, n) ? load(r, n, sg_shape(r->g, n), at, pred) : NULL;
    if (!v && k && is_kept(r, n, pred)) v = value_kept(r, n, at);
    if (!v) v = write_value(r, n, at, pred);
    while (r->node_of.n <= v->id) vec_push(r->ir->arena, &r->node_of, 0);
    if (r->node_of.p[v->id] >> 32 != r->epoch) r->node_of.p[v->id] = (uint64_t)r->epoch << 32 | n->id;
    const uop **keep = arena_raw(r->a, (k + 1) * sizeof *keep);
    if (k) memcpy(keep, at, k * sizeof *keep);
    *memo_slot(r, h) = (struct at_memo){n, pred, v, keep, h};
    r->memo_n++;
    return v;
}

/* ---- outputs ------------------------------------------------------------------------------------------- */

/* The domain of an output: an ASSIGN writes a slice of its buffer, a SCATTER adds one value per index. */
static const struct shape *written(struct sgraph *g, const uop *n) {
    return sg_shape(g, n->op == OP_ASSIGN || n->op == OP_SCATTER ? n->src[1] : n);
}

/* Coordinates for an output of shape s in the domain: axes match one by one where the ranks agree, else without axes of size 1,
 * where s must be a prefix of the domain. */
static bool embed(struct rangeify *r, const struct shape *dom, const struct shape *s, const uop **at) {
    const uop *zero = idx(r, 0);
    bool fits = s->n == dom->n;
    for (uint32_t i = 0; i < s->n && fits; i++) fits = s->d[i] == dom->d[i] || s->d[i] == 1;
    for (uint32_t i = 0; i < s->n && fits; i++) at[i] = s->d[i] == 1 ? zero : r->dim[i];
    if (fits) return true;
    uint32_t j = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        at[i] = zero;
        if (s->d[i] == 1) continue;
        while (j < dom->n && dom->d[j] == 1) j++;
        if (j == dom->n || dom->d[j] != s->d[i]) return false;
        at[i] = r->dim[j++];
    }
    return true;
}

/* Concatenations, and beside another output any. (Not products of a matrix and a vector: q, k and v of a token in one kernel take as
 * long as two kernels side by side.) */
static struct output_parts parts_in(struct rangeify *r, const uop *o, const struct shape *dom,
                                    const uop **at) {
    const struct shape *s = written(r->g, o);
    bool cat = s->n == dom->n && parts_concatenated(o);
    struct output_parts none = {0}, p = none;
    if (!r->flat && s != dom && (cat || r->beside)) p = parts_match(r, s, dom, at);
    p.alike = p.n && r->beside;
    return p.alike || cat ? p : none;
}

/* The shape of the largest output, but for those in parts that are as large as another. */
static const struct shape *domain_of(struct rangeify *r, const uint32_t *unit, uint32_t n) {
    const struct shape *dom = NULL;
    for (uint32_t i = 0; i < n; i++) {
        const uop *o = r->g->unit[unit[i]].n;
        const struct shape *s = written(r->g, o);
        bool parts = false;
        for (uint32_t k = 0; k < n && !parts; k++)
            parts = parts_in(r, o, written(r->g, r->g->unit[unit[k]].n), NULL).n;
        if (!parts && (!dom || shape_size(s) > shape_size(dom))) dom = s;
    }
    return dom;
}

/* A store runs in the loops that its address depends on. Along other axes (the target has size 1, or the index is invariant)
 * the values for one element are reduced first. */
static const uop *scatter_of(struct rangeify *r, const uop *n, const uop *const *at) {
    const uop *to[SHAPE_MAX], *from[SHAPE_MAX], *src[1 + SHAPE_MAX];
    const struct shape *s = sg_shape(r->g, n), *in = sg_shape(r->g, n->src[1]);
    uint32_t nr = 0, level = level_of(r, n->src[2]) + 1;
    uint64_t context = context_of(r, at, in->n);
    for (uint32_t k = 0; k < s->n; k++) to[k] = from[k] = at[k];
    to[n->arg.i] = clamp(r, value_at(r, n->src[1], at, NULL), s->d[n->arg.i]);
    const uop *target = uop2(r->ir, OP_INDEX, param(r, sg_memory(r->g, n)), linear_index(r, s, to, NULL));
    for (uint32_t k = 0; k < in->n; k++) {
        if (in->d[k] == 1 || free_has(&r->fr, target, at[k])) continue;
        src[1 + nr] = from[k] = reduce_range(r, context, level, nr, in->d[k]);
        nr++;
    }
    const uop *v = value_at(r, n->src[2], from, NULL);
    return uop2(r->ir, OP_STORE_ADD, target, reduced(r, OP_ADD, v, src, nr));
}

static const uop *store_of(struct rangeify *r, const uop *n, const uop *const *at) {
    if (n->op == OP_SCATTER) return scatter_of(r, n, at);
    const uop *to[SHAPE_MAX], *memory = param(r, sg_memory(r->g, n)), *v;
    const struct shape *s = sg_shape(r->g, n);
    v = value_at(r, n->op == OP_ASSIGN ? n->src[1] : n, at, NULL);
    if (n->op == OP_ASSIGN && n->nsrc > 2) {
        at_box(r, n, 2, s->n, at, to);
        at = to;
    }
    const uop *i = r->flat ? at[0] : linear_index(r, s, at, NULL);
    return uop2(r->ir, OP_STORE, uop2(r->ir, OP_INDEX, memory, i), v);
}

/* Does this store's value load from the buffer that `to` writes? *bad: at another element than the one written. */
static bool loads_from(struct rangeify *r, const uop *store, const uop *to, bool *bad) {
    uop_vec topo = {0};
    bool any = false;
    uop_topo(r->a, &store, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++) {
        const uop *l = topo.p[i];
        if (l->op != OP_LOAD || access_buf(l) != access_buf(to)) continue;
        any = true;
        *bad |= access_offset(l) != access_offset(to) || to->op != OP_STORE;
    }
    return any;
}

/* Are these elementwise stores over the same ranges? Then they are one loop body: all values are computed before the stores. */
static bool one_nest(struct rangeify *r, const uop *const *store, uint32_t n) {
    uop_vec topo = {0};
    uop_topo(r->a, store, n, &topo);
    for (uint32_t i = 0; i < topo.n; i++)
        if (topo.p[i]->op == OP_REDUCE || topo.p[i]->op == OP_SCAN) return false;
    for (uint32_t i = 1; i < n; i++) {
        const uop_vec *a = free_of(&r->fr, store[i]->src[0]), *b = free_of(&r->fr, store[0]->src[0]);
        if (a->n != b->n || (a->n && memcmp(a->p, b->p, a->n * sizeof *a->p))) return false;
    }
    return true;
}

/* In-place stores: a written buffer may be read only at the element that is written, and its readers are stored before it is
 * overwritten. */
static void order_stores(struct rangeify *r, const uop **store, uint32_t n) {
    const uop **out = arena_array(r->a, const uop *, n);
    uint64_t *after = arena_array(r->a, uint64_t, n), pending = 0; /* writers wait for their readers */
    bool bad = false, any = false;
    for (uint32_t w = 0; w < n; w++) {
        const uop *memory = r->g->ir->node[access_buf(store[w])->arg.param.slot];
        pending |= 1ull << w;
        for (uint32_t i = 0; i < n && memory->op == OP_BUFFER; i++)
            if (loads_from(r, store[i], store[w], &bad) && i != w) after[w] |= 1ull << i, any = true;
    }
    if (bad) refuse(r, store[0], "reads what it writes elsewhere");
    if (any && !one_nest(r, store, n)) refuse(r, store[0], "reads in one loop what it writes in another");
    for (uint32_t k = 0; any && k < n; k++) {
        uint32_t w = 0;
        while (w < n && (!(pending >> w & 1) || after[w] & pending)) w++;
        if (w == n) {
            refuse(r, store[0], "buffers that are swapped");
            return;
        }
        out[k] = store[w];
        pending &= ~(1ull << w);
    }
    if (any) memcpy(store, out, n * sizeof *out);
}

static const struct shape *begin(struct rangeify *r, const uint32_t *unit, uint32_t n,
                                 const uint8_t *stored) {
    r->stored = stored;
    r->illegal = NULL;
    r->visited = r->next_range = r->statements = 0;
    r->epoch = (r->epoch + 1) & 0xfffff;
    if (!r->epoch) memset(r->level, 0, r->g->ir->n * sizeof *r->level), r->epoch = 1;
    r->memo = NULL;
    r->memo_n = r->memo_cap = 0;
    r->row_reads.p = NULL;
    r->row_reads.n = r->row_reads.cap = 0;
    map_init(&r->reduce_ranges, r->a);
    map_init(&r->row_ranges, r->a);
    uop_memo_clear(&r->highest);
    map_init(&r->range_levels, r->a);
    const struct shape *dom = domain_of(r, unit, n);
    r->dims = r->flat ? 1 : dom->n;
    for (uint32_t i = 0; i < r->dims; i++) {
        int64_t size = r->flat ? shape_size(dom) : dom->d[i];
        r->dim[i] = size == 1 ? idx(r, 0) : new_range(r, AX_LOOP, size, i, i);
    }
    return dom;
}

typedef VEC(const uop *) store_vec;

/* One store for all parts, whose coordinate along them is a RANGE until parts_each(). */
static void store_alike(struct rangeify *r, const uop *o, struct output_parts p, const uop **at,
                        store_vec *store) {
    const uop *part = new_range(r, AX_LOOP, p.n, 0, PART_RANGE);
    uint32_t before = r->statements;
    at[p.axis] = add(r, at[p.axis], mul(r, part, p.step));
    vec_push(r->a, store, store_of(r, o, at));
    r->statements += (uint32_t)(p.n - 1) * (r->statements - before);
    if (r->statements > KERNEL_STATEMENTS) refuse(r, o, "too much in one kernel");
    if (r->row_reads.n) refuse(r, o, "parts of rows that are kept");
}

/* The stores of an output at the coordinates of the domain: one, or one for each of its parts. */
static void store_output(struct rangeify *r, const uop *o, const struct shape *dom, store_vec *store) {
    const struct shape *s = written(r->g, o);
    const uop *at[SHAPE_MAX];
    struct output_parts p = parts_in(r, o, dom, at);
    if (r->flat) {
        at[0] = r->dim[0];
        bool part = o->op == OP_SCATTER || (o->op == OP_ASSIGN && o->nsrc > 2);
        if (part || shape_size(s) != shape_size(dom)) refuse(r, o, "another size");
    } else if (!p.n && !embed(r, dom, s, at))
        refuse(r, o, "outputs over different domains");
    if (r->illegal) return;
    if (p.alike) {
        store_alike(r, o, p, at, store);
        return;
    }
    const uop *first = p.n ? at[p.axis] : NULL;
    for (int64_t k = 0; k < RG_MAX(p.n, 1) && !r->illegal; k++) {
        if (k) at[p.axis] = add(r, first, idx(r, k * p.step));
        vec_push(r->a, store, store_of(r, o, at));
    }
}

static const uop *write_kernel(struct rangeify *r, const uint32_t *unit, uint32_t n, const uint8_t *stored) {
    for (uint32_t i = 0; i < n; i++) r->out[unit[i]] = 1;
    const struct shape *dom = begin(r, unit, n, stored);
    store_vec store = {0};
    for (uint32_t i = 0; i < n; i++) {
        const uop *o = r->g->unit[unit[i]].n;
        if (n > KERNEL_OUTPUTS) refuse(r, o, "too many outputs for one kernel");
        if (n > 1 && o->op == OP_SCATTER) refuse(r, o, "a scatter has a kernel of its own");
        for (uint32_t k = 0; k < i; k++)
            if (sg_memory(r->g, o) == sg_memory(r->g, r->g->unit[unit[k]].n))
                refuse(r, o, "two stores to one buffer");
    }
    for (uint32_t i = 0; i < n && !r->illegal; i++) store_output(r, r->g->unit[unit[i]].n, dom, &store);
    for (uint32_t i = 0; i < n; i++) r->out[unit[i]] = 0;
    if (store.n > KERNEL_OUTPUTS) refuse(r, r->g->unit[unit[0]].n, "too many stores for one kernel");
    if (!r->illegal) order_stores(r, store.p, store.n);
    return r->illegal ? NULL : uop_new(r->ir, OP_SINK, DT_VOID, 1, store.p, store.n, ARG_NONE);
}

const uop *rangeify_kernel(struct rangeify *r, const uint32_t *unit, uint32_t n, const uint8_t *stored) {
    const uop *sink = write_kernel(r, unit, n, stored);
    if (sink && drop_useless_rows(r)) {
        sink = write_kernel(r, unit, n, stored);
        memset(r->plain, 0, r->g->units);
    }
    /* parts that have checkpoints are not priced together: they are computed one after the other */
    bool later = r->flat || r->g->checkpointed;
    if (sink && !later) sink = rangeify_parts(r, sink);
    if (sink) sink = parts_each(r, sink);
    if (sink && sink->nsrc > KERNEL_OUTPUTS) refuse(r, sink, "too many stores for one kernel");
    return r->illegal ? NULL : sink;
}

/* ---- the grid ------------------------------------------------------------------------------------------ */

static bool inside_row(struct rangeify *r, const uop *n) {
    const uop_vec *f = free_of(&r->fr, n);
    for (uint32_t i = 0; i < f->n; i++)
        if (map_get(&r->row_ranges, f->p[i]->id, NULL)) return true;
    return false;
}

/* A reduction of the whole kernel, short enough for every block of a GPU to compute it: the norm of a vector that a matrix is
 * multiplied by. */
static bool is_short_number(struct rangeify *r, const uop *n) {
    double terms = 1;
    for (uint32_t i = 1; n->op == OP_REDUCE && i < n->nsrc; i++) terms *= (double)n->src[i]->src[0]->hi;
    return n->op == OP_REDUCE && terms <= REPEATED_MOST && !free_of(&r->fr, n)->n;
}

/* By node: the first 64 such numbers that other reductions read, which run once for each value of some range. */
static const uint64_t *find_repeated(struct rangeify *r, const uop_vec *topo) {
    uint64_t *below = NULL, read = 0;
    uint32_t numbers = 0;
    for (uint32_t k = 0; k < topo->n; k++) {
        const uop *n = topo->p[k];
        bool number = is_short_number(r, n);
        if (number && !below) below = arena_array(r->a, uint64_t, r->ir->n);
        for (uint32_t i = 0; i < n->nsrc && below; i++) below[n->id] |= below[n->src[i]->id];
        if (n->op == OP_REDUCE && !number && below && free_of(&r->fr, n)->n) read |= below[n->id];
        if (number && numbers < 64) below[n->id] |= 1ull << numbers++;
    }
    for (uint32_t k = 0; k < topo->n && below; k++) below[topo->p[k]->id] &= read;
    return below;
}

/* On a GPU, whose iterations add by atomics: integers; floats whose elements are named once, or where the order is left open. What
 * is left on devices without ordered sums adds in the order of the index. */
static bool adds_in_any_order(const struct rangeify *r, const uop *n) {
    const struct sched_opts *o = r->g->opts;
    return o->gpu && (!dt_is_float((enum dtype)n->src[1]->dt) || o->ordered || o->atomics);
}

void rangeify_grid(struct rangeify *r, const uop_vec *topo, bool grid[SHAPE_MAX]) {
    const uint64_t *repeated = r->g->opts->gpu ? find_repeated(r, topo) : NULL;
    for (uint32_t i = 0; i < r->dims; i++) grid[i] = r->dim[i]->op == OP_RANGE;
    for (uint32_t k = 0; k < topo->n; k++) {
        const uop *n = topo->p[k], *of = n->op == OP_STORE ? n->src[0] : n;
        bool scan = n->op == OP_SCAN;
        if (n->op == OP_STORE_ADD) { /* iterations collide unless the index is affine in the axis */
            struct affine at = affine_of(r->a, access_offset(n));
            bool any = adds_in_any_order(r, n);
            for (uint32_t i = 0; i < r->dims; i++)
                grid[i] = grid[i] && (any ? free_has(&r->fr, access_offset(n), r->dim[i])
                                          : affine_coef(&at, r->dim[i]) != 0);
        }
        if (!scan && n->op != OP_REDUCE && n->op != OP_STAGE && n->op != OP_STORE) continue;
        if (n->op == OP_REDUCE && inside_row(r, n)) continue; /* runs in the loop that fills the row */
        if (repeated && repeated[n->id] && is_short_number(r, n)) continue;
        /* a store owns the elements of its index; a reduction runs once per value of the ranges it depends on */
        for (uint32_t i = 0; i < r->dims; i++)
            if (grid[i] && (scan ? n->src[1] == r->dim[i] : !free_has(&r->fr, of, r->dim[i])))
                grid[i] = false;
    }
}
