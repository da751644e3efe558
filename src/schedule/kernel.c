/* kernel.c: from raw ranges to a kernel as codegen wants it.
 *
 * Adjacent axes that every index can treat as one are merged. Then each range gets its kind (GRID, LOOP, REDUCE), its
 * position in the nest and its axis class: passes over the same row (the maximum, the sum, the result of a softmax) are
 * one class, so that an opt treats them alike. Buffers and variables are numbered in order of first mention. The result
 * lives in an ir of its own and depends on structure only: equal kernels have equal text. Where a kernel accesses a slice of a
 * buffer, the slice's offset is part of the call (lift_offsets): the steps of an unrolled recurrence share a kernel.
 * Requires: rangeify_kernel, a legal kernel. Gives: struct built.
 * Tests: tests/unit/schedule.c */
#include "schedule/internal.h"

enum { CUT_AXES = 256 }; /* ids of axes that cut_outputs makes */

struct kernel_builder {
    struct rangeify *r;
    struct arena *a;
    const uop *sink;
    bool grid[SHAPE_MAX];
    uint32_t out_classes; /* classes that have a GRID or LOOP axis; the others are reductions' own */
};

/* ---- merging axes ------------------------------------------------------------------------------------------- */

static uint32_t divisions(struct kernel_builder *b, const uop *sink) {
    uop_vec topo = {0};
    uint32_t n = 0;
    uop_topo(b->a, &sink, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++) n += topo.p[i]->op == OP_IDIV || topo.p[i]->op == OP_MOD;
    return n;
}

static const uop *resized(struct kernel_builder *b, const uop *range, int64_t size) {
    const uop *n = uop_idx(b->r->ir, size);
    return uop_new(b->r->ir, OP_RANGE, DT_IDX, 1, &n, 1, range->arg);
}

/* Merges two ranges if every index uses them as outer*n + inner: no IDIV or MOD remains. */
static bool try_merge(struct kernel_builder *b, const uop *outer, const uop *inner, const uop **merged) {
    int64_t n = inner->src[0]->arg.i, size;
    if (__builtin_mul_overflow(outer->src[0]->arg.i, n, &size)) return false;
    const uop *all = resized(b, outer, size), *k = uop_idx(b->r->ir, n);
    const uop *from[2] = {outer, inner};
    const uop *to[2] = {rw2(&b->r->rw, OP_IDIV, all, k), rw2(&b->r->rw, OP_MOD, all, k)};
    const uop *sink = rw_subst(&b->r->rw, b->sink, from, to, 2);
    if (divisions(b, sink) > divisions(b, b->sink)) return false;
    b->sink = sink;
    *merged = all;
    return true;
}

static void merge_outputs(struct kernel_builder *b) {
    struct rangeify *r = b->r;
    for (uint32_t i = 0; i + 1 < r->dims; i++) {
        if (r->dim[i]->op != OP_RANGE) continue;
        uint32_t j = i + 1;
        while (j < r->dims && r->dim[j]->op != OP_RANGE) j++;
        const uop *m;
        if (j == r->dims || b->grid[i] != b->grid[j] || !try_merge(b, r->dim[i], r->dim[j], &m)) continue;
        r->dim[i] = m;
        r->dim[j] = uop_idx(r->ir, 0);
        b->grid[j] = false;
        i--; /* perhaps with the next one too */
    }
}

/* The greatest n by which indices take the range apart, into range / n and range % n; 0: none. */
static int64_t period_of(struct kernel_builder *b, const uop *range) {
    uop_vec topo = {0};
    int64_t n = 0, size = range->src[0]->arg.i;
    uop_topo(b->a, &b->sink, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++) {
        const uop *x = topo.p[i];
        if (x->op == OP_SCAN && x->src[1] == range) return 0; /* it binds the whole axis */
        if ((x->op != OP_IDIV && x->op != OP_MOD) || x->src[0] != range || !uop_is_const(x->src[1])) continue;
        if (x->src[1]->arg.i > 1 && size % x->src[1]->arg.i == 0) n = RG_MAX(n, x->src[1]->arg.i);
    }
    return n < size ? n : 0;
}

/* A sum of products: tiles are cut from whole axes, whatever the layout of an operand (repack.c: weights by digits). */
static bool contracts(struct kernel_builder *b) {
    uop_vec topo = {0};
    uop_topo(b->a, &b->sink, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++) {
        const uop *n = topo.p[i];
        if (n->op == OP_REDUCE && n->arg.i == OP_ADD && uop_uncast(n->src[0])->op == OP_MUL) return true;
    }
    return false;
}

/* Does n add a tap, which is summed, to a digit of the range? */
static bool adds_tap(const uop *n, const uop *range, bool *tap, bool *digit) {
    *tap |= n->op == OP_RANGE && n->arg.range.kind == AX_REDUCE;
    *digit |= (n->op == OP_MOD || n->op == OP_IDIV) &&
              (n->src[0] == range || (n->src[0]->op == OP_IDIV && n->src[0]->src[0] == range));
    for (uint32_t i = 0; i < n->nsrc && (n->op == OP_ADD || n->op == OP_MUL); i++)
        adds_tap(n->src[i], range, tap, digit);
    return *tap && *digit;
}

/* Positions of a window that is compared with the size of its source: images whose padding is not stored. gpu_conv.c tiles rows
 * of pixels, not the flat axis. */
static bool is_window(struct kernel_builder *b, const uop *range) {
    uop_vec topo = {0};
    uop_topo(b->a, &b->sink, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++)
        for (uint32_t k = 0; k < topo.p[i]->nsrc && topo.p[i]->op == OP_LT; k++) {
            bool tap = false, digit = false;
            if (adds_tap(topo.p[i]->src[k], range, &tap, &digit)) return true;
        }
    return false;
}

/* Is an operand the same for each n values of the range, which is whole elsewhere? Heads of grouped queries: k and v are GEMM operands
 * per outer value. */
static bool is_grouped(struct kernel_builder *b, const uop *range) {
    uop_vec topo = {0};
    bool grouped = false;
    uop_topo(b->a, &b->sink, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++) {
        if (topo.p[i]->nsrc < 2 || topo.p[i]->src[0] != range) continue;
        if (topo.p[i]->op == OP_MOD) return false;
        grouped |= topo.p[i]->op == OP_IDIV;
    }
    return grouped;
}

/* Is the range the columns of a matrix that is stored panel by panel (plan_copy_loop.c)? A register tile is as wide as a panel. */
static bool is_paneled(struct kernel_builder *b, const uop *range) {
    uop_vec topo = {0};
    uop_topo(b->a, &b->sink, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++) {
        if (topo.p[i]->op != OP_LOAD) continue;
        struct affine at = affine_of(b->a, access_offset(topo.p[i]));
        for (uint32_t k = 0; k < topo.n; k++) {
            const uop *n = topo.p[k];
            if (n->op != OP_MOD || n->src[0] != range || !uop_is_const(n->src[1])) continue;
            int64_t bytes = n->src[1]->arg.i * dtype_info[topo.p[i]->dt].bytes;
            if (bytes >= PANEL_BYTES && affine_coef(&at, n) == 1) return true;
        }
    }
    return false;
}

/* The two parts of an axis as its digits again: as one axis, with one IDIV and MOD where there may have been several. */
static const uop *rejoined(struct kernel_builder *b, const uop *sink, const uop *range, const uop *outer,
                           const uop *inner) {
    struct rw *rw = &b->r->rw;
    const uop *digit[2] = {rw2(rw, OP_IDIV, range, inner->src[0]), rw2(rw, OP_MOD, range, inner->src[0])};
    return rw_subst(rw, sink, (const uop *[]){outer, inner}, digit, 2);
}

/* Is each sum in memory whose address depends on the range at addresses that depend on both of its parts? At an index that is
 * repeated it is not: the values for one element would be lanes of a vector or, if they repeat too, one value. */
static bool adds_by_both(struct kernel_builder *b, const uop *sink, const uop *range, const uop *outer,
                         const uop *inner) {
    uop_vec topo = {0};
    uint32_t before = 0, after = 0;
    uop_topo(b->a, &b->sink, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++)
        before += topo.p[i]->op == OP_STORE_ADD && free_has(&b->r->fr, topo.p[i]->src[0], range);
    if (!before) return true;
    topo.n = 0;
    uop_topo(b->a, &sink, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++)
        after += topo.p[i]->op == OP_STORE_ADD && free_has(&b->r->fr, topo.p[i]->src[0], outer) &&
                 free_has(&b->r->fr, topo.p[i]->src[0], inner);
    return before == after;
}

/* An axis with a period (a repeated tensor, a broadcast one that was flattened) becomes two: no IDIV or MOD remains. On a GPU a
 * loop inside of the grid stays one: the threads of a block share one loop, and a short one would leave most of them out. */
static void cut_outputs(struct kernel_builder *b) {
    struct rangeify *r = b->r;
    bool sums = contracts(b);
    for (uint32_t i = 0; i < r->dims && r->dims < SHAPE_MAX; i++) {
        const uop *range = r->dim[i], *n;
        bool apart =
            !sums || (r->g->opts->gpu ? is_window(b, range) : is_grouped(b, range) || is_paneled(b, range));
        if (!apart) continue;
        int64_t period = range->op == OP_RANGE ? period_of(b, range) : 0;
        if (!period) continue;
        union arg arg = range->arg;
        arg.range.id = (uint16_t)(CUT_AXES + r->dims);
        n = uop_idx(r->ir, period);
        const uop *outer = resized(b, range, range->src[0]->arg.i / period);
        const uop *inner = uop_new(r->ir, OP_RANGE, DT_IDX, 1, &n, 1, arg);
        const uop *both = rw2(&r->rw, OP_ADD, rw2(&r->rw, OP_MUL, outer, n), inner);
        const uop *sink = rw_subst(&r->rw, b->sink, &range, &both, 1);
        if (!adds_by_both(b, sink, range, outer, inner)) continue;
        bool whole = r->g->opts->gpu && !b->grid[i];
        if (whole) sink = rejoined(b, sink, range, outer, inner);
        if (divisions(b, sink) >= divisions(b, b->sink)) continue;
        b->sink = sink;
        if (whole) continue;
        for (uint32_t k = r->dims++; k > i + 1; k--) r->dim[k] = r->dim[k - 1], b->grid[k] = b->grid[k - 1];
        r->dim[i] = outer, r->dim[i + 1] = inner, b->grid[i + 1] = b->grid[i];
    }
}

/* A REDUCE over IDIV/MOD of a merged range must bind the range itself: rebuilt around the substitution. Any two of its ranges: those
 * of a transposed tensor may be in another order than in memory. */
static bool merge_one_reduce(struct kernel_builder *b, const uop *red) {
    uint32_t ranges = red->nsrc - 1;
    for (uint32_t pair = 0; pair < ranges * ranges; pair++) {
        const uop *outer = red->src[1 + pair % ranges],
                  *inner = red->src[1 + (pair % ranges + 1 + pair / ranges) % ranges];
        if (outer == inner || outer->op != OP_RANGE || inner->op != OP_RANGE) continue;
        uop_vec topo = {0};
        uop_topo(b->a, &b->sink, 1, &topo);
        int64_t n = inner->src[0]->arg.i, size;
        if (__builtin_mul_overflow(outer->src[0]->arg.i, n, &size)) continue;
        const uop *all = resized(b, outer, size), *k = uop_idx(b->r->ir, n);
        const uop *q = rw2(&b->r->rw, OP_IDIV, all, k), *m = rw2(&b->r->rw, OP_MOD, all, k);
        const uop **to = arena_array(b->a, const uop *, b->r->ir->n);
        bool fits = true;
        for (uint32_t t = 0; t < topo.n && fits; t++) {
            const uop *x = topo.p[t], **src = arena_array(b->a, const uop *, x->nsrc + 1);
            uint32_t ns = 0;
            bool has_outer = false, has_inner = false;
            for (uint32_t s = 0; s < x->nsrc; s++) {
                bool binds = x->op == OP_REDUCE && s;
                if (binds && x->src[s] == outer)
                    has_outer = true, src[ns++] = all;
                else if (binds && x->src[s] == inner)
                    has_inner = true;
                else
                    src[ns++] = x->src[s] == outer ? q : x->src[s] == inner ? m : to[x->src[s]->id];
            }
            fits = has_outer == has_inner; /* all that reduce over one reduce over both */
            if (!fits) break;
            to[x->id] = !x->nsrc
                            ? x
                            : rw_new(&b->r->rw, (enum op)x->op, (enum dtype)x->dt, x->lanes, src, ns, x->arg);
        }
        if (!fits || divisions(b, to[b->sink->id]) > divisions(b, b->sink)) continue;
        b->sink = to[b->sink->id];
        return true;
    }
    return false;
}

static void merge_reductions(struct kernel_builder *b) {
    for (bool again = true; again;) {
        again = false;
        uop_vec topo = {0};
        uop_topo(b->a, &b->sink, 1, &topo);
        for (uint32_t i = 0; i < topo.n && !again; i++)
            if (topo.p[i]->op == OP_REDUCE && topo.p[i]->nsrc > 2) again = merge_one_reduce(b, topo.p[i]);
    }
}

/* ---- kinds, positions, classes -------------------------------------------------------------------------------- */

struct kernel_axis {
    const uop *raw;
    const uop_vec *outer; /* of a reduction: the ranges it runs inside */
    uint32_t cls, pos, id;
    enum axis_kind kind;
};
typedef VEC(struct kernel_axis) axis_vec;

static bool same_set(const uop_vec *a, const uop_vec *b) {
    return a->n == b->n && !memcmp(a->p, b->p, a->n * sizeof *a->p);
}

static struct kernel_axis *axis_of(axis_vec *v, const uop *raw) {
    for (uint32_t i = 0; i < v->n; i++)
        if (v->p[i].raw == raw) return &v->p[i];
    return NULL;
}

/* Does a node depend on both ranges? */
static bool nested(struct kernel_builder *b, const uop_vec *topo, const uop *x, const uop *y) {
    for (uint32_t i = 0; i < topo->n; i++)
        if (free_has(&b->r->fr, topo->p[i], x) && free_has(&b->r->fr, topo->p[i], y)) return true;
    return false;
}

/* Does a reduction inside these ranges run once per element of a kept row? */
static bool inside_row(struct kernel_builder *b, const uop_vec *outer) {
    for (uint32_t i = 0; i < outer->n; i++)
        if (map_get(&b->r->row_ranges, outer->p[i]->id, NULL)) return true;
    return false;
}

/* Is a kept row filled or read along the range? */
static bool along_row(struct kernel_builder *b, const uop_vec *topo, const uop *range) {
    for (uint32_t i = 0; i < topo->n; i++) {
        const uop *n = topo->p[i];
        bool row =
            n->op == OP_LOAD && access_buf(n)->op == OP_STAGE && free_has(&b->r->fr, access_offset(n), range);
        if (row || (n->op == OP_STAGE && n->src[1] == range)) return true;
    }
    return false;
}

/* The class of the range of a reduction or row: that of a LOOP axis of the same size that it does not run inside, or of another
 * reduction that is not nested with it; each class once per reduction. A pass over a kept row is of a LOOP's class only if the
 * LOOP is one too: as many keys as columns make no pass of the columns. */
static void class_of_reduce(struct kernel_builder *b, const uop_vec *topo, axis_vec *v, const uop *red,
                            struct kernel_axis *x, uint32_t *classes) {
    const uop_vec *outer = x->outer;
    for (uint32_t i = 0; i < v->n; i++) {
        struct kernel_axis *y = &v->p[i];
        if (y == x || y->cls == UINT32_MAX || y->kind == AX_GRID || y->raw->src[0] != x->raw->src[0])
            continue;
        bool taken = false;
        for (uint32_t s = 1; s < red->nsrc; s++) {
            struct kernel_axis *z = axis_of(v, red->src[s]);
            taken |= z && z != x && z->cls == y->cls;
        }
        bool separate = y->kind != AX_LOOP ? same_set(outer, y->outer)
                                           : !free_has(&b->r->fr, red, y->raw) && !inside_row(b, outer) &&
                                                 (!along_row(b, topo, x->raw) || along_row(b, topo, y->raw));
        for (uint32_t k = 0; k < v->n && separate; k++) /* every member of the class */
            if (v->p[k].cls == y->cls)
                separate = !nested(b, topo, x->raw, v->p[k].raw) &&
                           (v->p[k].kind != AX_REDUCE || same_set(outer, v->p[k].outer));
        if (taken || !separate) continue;
        x->cls = y->cls, x->pos = y->pos;
        uint32_t id = 0;
        for (uint32_t k = 0; k < v->n; k++) id += v->p[k].cls == y->cls && &v->p[k] != x;
        x->id = id;
        return;
    }
    x->cls = (*classes)++;
    x->pos = UINT32_MAX;
}

static void find_axes(struct kernel_builder *b, axis_vec *v) {
    struct rangeify *r = b->r;
    uint32_t pos = 0, classes = 0;
    for (int loop = 0; loop < 2; loop++)
        for (uint32_t i = 0; i < r->dims; i++)
            if (r->dim[i]->op == OP_RANGE && b->grid[i] == !loop)
                vec_push(
                    b->a, v,
                    ((struct kernel_axis){
                        .raw = r->dim[i], .cls = classes++, .pos = pos++, .kind = loop ? AX_LOOP : AX_GRID}));
    b->out_classes = classes;
    uop_vec topo = {0};
    uop_topo(b->a, &b->sink, 1, &topo);
    VEC(const uop *) reds = {0};
    for (uint32_t i = 0; i < topo.n; i++) {
        if (topo.p[i]->op != OP_REDUCE && topo.p[i]->op != OP_STAGE) continue;
        vec_push(b->a, &reds, topo.p[i]);
        for (uint32_t s = 1; s < topo.p[i]->nsrc; s++)
            if (!axis_of(v, topo.p[i]->src[s]))
                vec_push(b->a, v,
                         ((struct kernel_axis){.raw = topo.p[i]->src[s],
                                               .outer = free_of(&r->fr, topo.p[i]),
                                               .cls = UINT32_MAX,
                                               .kind = AX_REDUCE}));
    }
    for (uint32_t i = 0; i < reds.n; i++)
        for (uint32_t s = 1; s < reds.p[i]->nsrc; s++) {
            struct kernel_axis *x = axis_of(v, reds.p[i]->src[s]);
            if (x->cls == UINT32_MAX) class_of_reduce(b, &topo, v, reds.p[i], x, &classes);
        }
    /* positions of classes that only reductions have: outer ones first */
    for (uint32_t depth = 0; depth < 64; depth++)
        for (uint32_t i = 0; i < v->n; i++) {
            struct kernel_axis *x = &v->p[i];
            if (x->pos != UINT32_MAX || x->outer->n != depth) continue;
            x->pos = pos++;
            for (uint32_t k = 0; k < v->n; k++)
                if (v->p[k].cls == x->cls) v->p[k].pos = x->pos;
        }
}

/* ---- emitting --------------------------------------------------------------------------------------------------- */

static const uop *new_axis(struct kernel_builder *b, struct ir *ir, const struct kernel_axis *x) {
    char name[16];
    int n = snprintf(name, sizeof name, "%c%u", x->cls < b->out_classes ? 'i' : 'k', x->cls);
    const uop *size = uop_idx(ir, x->raw->src[0]->arg.i);
    union arg arg = {.range = {.cls = ir_sym(ir, name, (size_t)n),
                               .kind = (uint8_t)x->kind,
                               .pos = (uint8_t)x->pos,
                               .id = (uint16_t)x->id}};
    return uop_new(ir, OP_RANGE, DT_IDX, 1, &size, 1, arg);
}

/* Names of kept rows: numbered in order of first mention. */
static union arg row_name(struct ir *to, const uop *row, uint32_t number) {
    char name[24];
    int k = snprintf(name, sizeof name, "keep%u", number);
    union arg arg = row->arg;
    arg.mem.name = ir_sym(to, name, (size_t)k);
    return arg;
}

static const uop *numbered(struct ir *to, const uop *n, uint32_t slot, const uop *const *src) {
    char name[24];
    int k = snprintf(name, sizeof name, "%s%u", n->op == OP_VAR ? "v" : "b", slot);
    union arg arg = {.param = {.slot = slot, .name = ir_sym(to, name, (size_t)k)}};
    return uop_new(to, (enum op)n->op, (enum dtype)n->dt, 1, src, n->nsrc, arg);
}

static const char *kernel_name(struct kernel_builder *b, const axis_vec *v) {
    struct str s;
    bool red = false;
    str_init(&s, b->r->g->a);
    for (uint32_t i = 0; i < v->n; i++) red |= v->p[i].kind == AX_REDUCE;
    str_add(&s, red ? "r" : "E");
    uint32_t last = 0;
    for (uint32_t i = 0; i < v->n; i++) last = RG_MAX(last, v->p[i].pos);
    for (uint32_t pos = 0; pos <= last; pos++) /* one size for each class */
        for (uint32_t i = 0; i < v->n; i++) {
            if (v->p[i].pos != pos) continue;
            str_printf(&s, "_%lld", (long long)v->p[i].raw->src[0]->arg.i);
            break;
        }
    if (!v->n) str_add(&s, "_1");
    return s.p;
}

/* An index that the verifier cannot prove in bounds under its predicate is clamped too. */
static const uop *inside(struct rw *rw, const uop *load) {
    const uop *p = access_buf(load), *at = access_offset(load);
    if (at->lo >= 0 && at->hi < p->src[0]->arg.i && at->op != OP_WHERE) return load;
    if (verify_is_inside(rw->ir, load)) return load;
    const uop *x = at->op == OP_WHERE ? at->src[1] : at, *most = uop_idx(rw->ir, p->src[0]->arg.i - 1);
    x = rw2(rw, OP_MIN, rw2(rw, OP_MAX, x, uop_idx(rw->ir, 0)), most);
    if (at->op == OP_WHERE) x = rw3(rw, OP_WHERE, at->src[0], x, at->src[2]);
    return rw1(rw, OP_LOAD, rw2(rw, OP_INDEX, p, x));
}

static void write_kernel(struct kernel_builder *b, axis_vec *v, struct built *out) {
    struct arena *keep = b->r->g->a;
    struct ir *ir = out->ir = arena_new(keep, struct ir);
    struct rw rw;
    uop_vec topo = {0};
    ir_init(ir, keep);
    rw_init(&rw, ir, rules_sym, NULL);
    uop_topo(b->a, &b->sink, 1, &topo);
    const uop **to = arena_array(b->a, const uop *, b->r->ir->n);
    out->buffer = arena_array(keep, const uop *, topo.n);
    out->var = arena_array(keep, uint32_t, topo.n);
    out->var_name = arena_array(keep, const char *, topo.n);
    uint32_t rows = 0;
    for (uint32_t i = 0; i < topo.n; i++) {
        const uop *n = topo.p[i], **src = arena_array(b->a, const uop *, n->nsrc + 1);
        for (uint32_t s = 0; s < n->nsrc; s++) src[s] = to[n->src[s]->id];
        struct kernel_axis *x = n->op == OP_RANGE ? axis_of(v, n) : NULL;
        if (x)
            to[n->id] = new_axis(b, ir, x);
        else if (n->op == OP_PARAM) {
            out->buffer[out->nbuf] = b->r->g->ir->node[n->arg.param.slot];
            to[n->id] = numbered(ir, n, out->nbuf++, src);
        } else if (n->op == OP_VAR) {
            out->var[out->nvar] = n->arg.param.slot;
            const char *name = ir_name(b->r->ir, n->arg.param.name);
            out->var_name[out->nvar] = arena_strdup(keep, name, strlen(name));
            to[n->id] = numbered(ir, n, out->nvar++, src);
        } else {
            union arg arg = n->op == OP_STAGE ? row_name(ir, n, rows++) : n->arg;
            to[n->id] = rw_new(&rw, (enum op)n->op, (enum dtype)n->dt, n->lanes, src, n->nsrc, arg);
        }
        if (n->op == OP_LOAD && access_buf(n)->op == OP_PARAM) to[n->id] = inside(&rw, to[n->id]);
    }
    out->sink = to[b->sink->id];
}

/* ---- sums in padded rows ------------------------------------------------------------------------------------------ */

/* Is little of the iteration space padding? (i < n), or several of them. */
static bool is_mostly_true(const uop *p) {
    if (p->op == OP_AND) return is_mostly_true(p->src[0]) && is_mostly_true(p->src[1]);
    return p->op == OP_LT && p->src[0]->op == OP_RANGE && uop_is_const(p->src[1]) &&
           p->src[1]->arg.i * 8 >= (p->src[0]->hi + 1) * 7;
}

/* The predicate of all that a kernel with a sum stores, WHERE(predicate, value, constant); NULL: there is none. */
static const uop *padding_predicate(const uop_vec *topo) {
    const uop *p = NULL;
    bool sums = false;
    for (uint32_t i = 0; i < topo->n; i++) {
        const uop *n = topo->p[i], *x = n->op == OP_STORE ? n->src[1] : NULL;
        if (n->op == OP_STAGE || n->op == OP_SCAN) return NULL;
        sums |= n->op == OP_REDUCE;
        if (!x) continue;
        if (x->op != OP_WHERE || !uop_is_const(x->src[2]) || (p && p != x->src[0])) return NULL;
        p = x->src[0];
    }
    return sums && p && is_mostly_true(p) ? p : NULL;
}

/* A product that is stored into rows with padding (the operand of the next, repack.c) has the predicate of the padding on all loads,
 * those of the operand without that axis too, so no tile of it can be loaded. A load that is in bounds for any value of the
 * axis needs no predicate: where it is false, the value is not used. */
static void drop_padding_predicates(struct kernel_builder *b, struct built *out) {
    uop_vec topo = {0}, from = {0}, to = {0};
    struct rw rw;
    uop_topo(b->a, &out->sink, 1, &topo);
    const uop *p = padding_predicate(&topo);
    for (uint32_t i = 0; i < topo.n && p; i++) {
        const uop *n = topo.p[i], *at = n->op == OP_INDEX ? n->src[1] : NULL;
        if (!at || n->src[0]->op != OP_PARAM || at->op != OP_WHERE || at->src[0] != p ||
            at->src[2]->op != OP_INVALID || at->src[1]->lo < 0 || at->src[1]->hi >= n->src[0]->src[0]->arg.i)
            continue;
        vec_push(b->a, &from, n);
        vec_push(b->a, &to, uop2(out->ir, OP_INDEX, n->src[0], at->src[1]));
    }
    if (!from.n) return;
    rw_init(&rw, out->ir, rules_sym, NULL);
    out->sink = rw_subst(&rw, out->sink, from.p, to.p, from.n);
}

/* ---- offsets of slices ------------------------------------------------------------------------------------------- */

enum {
    SLICE_BYTES = 64
}; /* offsets are multiples of it, as those of temporaries: codegen knows the alignment of buffers */

/* What the accesses of one buffer have in common; lo: of their indices, 0 where one may be predicated off. */
struct slot_access {
    const uop *param;
    int64_t lo, hi;
};

static bool find_accesses(const uop_vec *topo, struct slot_access *of) {
    bool any = false;
    for (uint32_t i = 0; i < topo->n; i++) {
        const uop *n = topo->p[i];
        if (n->op != OP_INDEX || n->src[0]->op != OP_PARAM)
            continue; /* codegen's kernels access buffers by INDEX alone */
        struct slot_access *s = &of[n->src[0]->arg.param.slot];
        int64_t lo = n->src[1]->op == OP_WHERE ? 0 : RG_MAX(n->src[1]->lo, 0);
        s->lo = s->param ? RG_MIN(s->lo, lo) : lo;
        s->hi = s->param ? RG_MAX(s->hi, n->src[1]->hi) : n->src[1]->hi;
        s->param = n->src[0];
    }
    for (uint32_t i = 0; i < topo->n; i++) {
        const uop *n = topo->p[i];
        if (n->op != OP_PARAM || !of[n->arg.param.slot].param) continue;
        struct slot_access *s = &of[n->arg.param.slot];
        int64_t step = SLICE_BYTES / dtype_info[n->dt].bytes;
        s->lo = s->hi < n->src[0]->arg.i ? s->lo / step * step : 0;
        any |= s->lo > 0;
    }
    return any;
}

/* A kernel that accesses elements from lo on of a buffer gets the address of element lo instead. */
static void lift_offsets(struct kernel_builder *b, struct built *out) {
    struct slot_access *of = arena_array(b->a, struct slot_access, out->nbuf + 1);
    struct rw rw;
    uop_vec topo = {0};
    uop_topo(b->a, &out->sink, 1, &topo);
    if (!find_accesses(&topo, of)) return;
    out->slice = arena_array(b->r->g->a, struct sched_slice, out->nbuf);
    const uop **to = arena_array(b->a, const uop *, out->ir->n);
    rw_init(&rw, out->ir, rules_sym, NULL);
    for (uint32_t i = 0; i < topo.n; i++) {
        const uop *n = topo.p[i], **src = arena_array(b->a, const uop *, n->nsrc + 1);
        for (uint32_t s = 0; s < n->nsrc; s++) src[s] = to[n->src[s]->id];
        if (n->op == OP_PARAM) {
            const struct slot_access *s = &of[n->arg.param.slot];
            int64_t size = dtype_info[n->dt].bytes, all = n->src[0]->arg.i;
            int64_t elements = s->lo ? s->hi - s->lo + 1 : all;
            out->slice[n->arg.param.slot] = (struct sched_slice){s->lo * size, elements * size};
            src[0] = uop_idx(out->ir, elements);
        } else if (n->op == OP_INDEX && n->src[0]->op == OP_PARAM) {
            int64_t lo = of[n->src[0]->arg.param.slot].lo;
            if (lo) src[1] = rw2(&rw, OP_ADD, src[1], uop_idx(out->ir, -lo));
        }
        to[n->id] =
            n->nsrc ? rw_new(&rw, (enum op)n->op, (enum dtype)n->dt, n->lanes, src, n->nsrc, n->arg) : n;
    }
    out->sink = to[out->sink->id];
}

void kernel_build(struct rangeify *r, const uop *sink, struct built *out) {
    if (r->g->checkpointed && !r->flat) sink = rangeify_parts(r, sink);
    struct kernel_builder b = {.r = r, .a = r->a, .sink = sink};
    axis_vec axes = {0};
    struct str text;
    *out = (struct built){0};
    uop_vec topo = {0};
    uop_topo(r->a, &sink, 1, &topo);
    rangeify_grid(r, &topo, b.grid);
    cut_outputs(&b);
    merge_outputs(&b);
    merge_reductions(&b);
    find_axes(&b, &axes);
    write_kernel(&b, &axes, out);
    drop_padding_predicates(&b, out);
    lift_offsets(&b, out);
    out->name = kernel_name(&b, &axes);
    str_init(&text, r->g->a);
    ir_print(&text, out->ir, out->sink);
    out->text = text.p;
    out->key = hash_bytes(text.p, text.n, 1);
    out->number = arena_array(r->g->a, uint32_t, out->nbuf + 1);
    out->canon = canonical_text(r->a, r->g->a, out->ir, out->sink, out->number);
}
