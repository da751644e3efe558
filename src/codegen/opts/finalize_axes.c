/* finalize_axes.c: the end of a schedule: kinds and positions go into the RANGEs, reductions are split into levels, and
 * what can only be judged on the finished graph is judged. Gives the graph that loop_tree.c wants. */
#include "codegen/internal.h"

#include <stdlib.h>

#define MAX_EXPANDED 512 /* copies of one statement that UNROLL and REG may make together */

/* spread: the axis fills a tile that threads share. */
static enum axis_kind final_kind(const struct axis *a, const uop *r, bool spread) {
    if (a->kind != AX_COUNT) return (enum axis_kind)a->kind;
    return spread ? AX_COPY : (enum axis_kind)r->arg.range.kind;
}

static bool fills_shared(const uop_vec *topo, const uop *r) {
    for (uint32_t i = 0; i < topo->n; i++) {
        const uop *n = topo->p[i];
        if (n->op != OP_STAGE || n->arg.mem.space != SPACE_SHARED) continue;
        for (uint32_t k = 1; k < n->nsrc; k++)
            if (n->src[k] == r) return true;
    }
    return false;
}

/* The grid is outermost, whatever the order says, and threads are next. */
static int rank(const struct axis *a) { return axis_is_grid(a) ? 0 : a->kind == AX_THREAD ? 1 : 2; }

static void write_ranges(struct sched *s) {
    struct ir *ir = s->ir;
    uint8_t pos = 0;
    uint8_t *at = arena_array(ir->arena, uint8_t, s->axis.n + 1);
    if (s->axis.n > 200) err_throw(ir->err, RG_ELIMIT, "kernel %s: more than 200 axes", s->kernel->name);
    uop_vec topo = {0};
    uop_topo(ir->arena, &s->sink, 1, &topo);
    for (int k = 0; k < 3; k++)
        for (uint32_t i = 0; i < s->axis.n; i++)
            if (rank(&s->axis.p[i]) == k) at[i] = pos++;

    VEC(struct range_subst) sub = {0};
    for (uint32_t i = 0; i < topo.n; i++) {
        const uop *r = topo.p[i];
        if (r->op != OP_RANGE) continue;
        struct axis *a = sched_axis(s, r->arg.range.cls);
        union arg arg = r->arg;
        arg.range.kind = final_kind(a, r, fills_shared(&topo, r));
        arg.range.pos = at[a - s->axis.p];
        const uop *size = sub.n ? sched_subst(s, r->src[0], sub.p, sub.n) : r->src[0];
        const uop *fresh = uop_new(ir, OP_RANGE, DT_IDX, 1, &size, 1, arg);
        if (fresh != r) vec_push(ir->arena, &sub, ((struct range_subst){r, fresh, {fresh, NULL}, 1}));
    }
    s->sink = sched_subst(s, s->sink, sub.p, sub.n);
}

/* A reduction whose loops have an output loop between them is several: the inner ones end where the output
 * loop starts, the outer ones accumulate their results in an array over that loop. Unrolled axes go to the
 * innermost level, alone if that level has an array (an array is updated once, by a finished value). */
static const uop *split_levels(struct sched *s, struct free_ranges *fr, const uop *n) {
    struct ir *ir = s->ir;
    uop_vec loops = {0}, open = {0}, level = {0};
    bool partial = false;
    for (uint32_t i = 1; i < n->nsrc; i++) {
        enum axis_kind k = (enum axis_kind)n->src[i]->arg.range.kind;
        vec_push(ir->arena, axis_is_loop(k) ? &loops : &open, n->src[i]);
        partial |= k == AX_REG || k == AX_VEC || k == AX_THREAD || k == AX_MMA;
    }
    if (!loops.n) return n;
    qsort(loops.p, loops.n, sizeof *loops.p, range_by_pos);
    const uop_vec *outer = free_of(fr, n);
    const uop *value = n->src[0];
    int below = 256; /* position of the next inner loop */
    for (uint32_t i = loops.n; i-- > 0;) {
        bool array = false;
        for (uint32_t k = 0; k < outer->n; k++) {
            int p = outer->p[k]->arg.range.pos;
            array |= axis_is_loop((enum axis_kind)outer->p[k]->arg.range.kind) &&
                     p > loops.p[i]->arg.range.pos && p < below;
        }
        if (below == 256 && open.n) {
            for (uint32_t k = 0; k < open.n; k++) vec_push(ir->arena, &level, open.p[k]);
            if (!array || !partial) array = false;
        }
        if (array && level.n) {
            uop_vec src = {0};
            vec_push(ir->arena, &src, value);
            for (uint32_t k = 0; k < level.n; k++) vec_push(ir->arena, &src, level.p[k]);
            value = uop_new(ir, OP_REDUCE, n->dt, n->lanes, src.p, src.n, n->arg);
            level.n = 0;
        }
        vec_push(ir->arena, &level, loops.p[i]);
        below = loops.p[i]->arg.range.pos;
    }
    uop_vec src = {0};
    vec_push(ir->arena, &src, value);
    for (uint32_t k = 0; k < level.n; k++) vec_push(ir->arena, &src, level.p[k]);
    return uop_new(ir, OP_REDUCE, n->dt, n->lanes, src.p, src.n, n->arg);
}

/* k equal values combined. */
static const uop *repeated(struct ir *ir, enum op op, const uop *x, int64_t k) {
    enum dtype dt = (enum dtype)x->dt;
    if (op == OP_MAX || op == OP_MIN || dt == DT_BOOL) return x;
    if (op == OP_ADD)
        return uop2(ir, OP_MUL, x, dt_is_float(dt) ? uop_flt(ir, dt, (double)k) : uop_int(ir, dt, k));
    const uop *p = NULL;
    for (; k; k >>= 1, x = k ? uop2(ir, OP_MUL, x, x) : x)
        if (k & 1) p = p ? uop2(ir, OP_MUL, p, x) : x;
    return p;
}

/* Written-out copies of a value that does not depend on the axis would be one and the same statement: a reduction
 * over such an axis combines equal values, and says so. */
static const uop *drop_idle(struct sched *s, struct free_ranges *fr, const uop *n) {
    struct ir *ir = s->ir;
    uop_vec src = {0};
    const uop *value = n->src[0];
    vec_push(ir->arena, &src, value);
    for (uint32_t i = 1; i < n->nsrc; i++) {
        const uop *r = n->src[i];
        if (axis_is_expanded((enum axis_kind)r->arg.range.kind) && !free_has(fr, n->src[0], r))
            value = repeated(ir, (enum op)n->arg.i, value, r->src[0]->hi);
        else
            vec_push(ir->arena, &src, r);
    }
    src.p[0] = value;
    if (src.n == n->nsrc) return n;
    return src.n == 1 ? value : uop_new(ir, OP_REDUCE, n->dt, n->lanes, src.p, src.n, n->arg);
}

/* A sum of blocks' sums that is multiplied between them (stream.c): where the values of a block are no loop, both levels
 * have one accumulator. */
static const uop *join_decay(struct sched *s, const uop *n) {
    const uop *x = n->src[0], *block = x->op == OP_DECAY ? x->src[0] : x;
    uop_vec src = {0};
    if (x->op != OP_DECAY || block->op != OP_REDUCE || block->arg.i != n->arg.i) return n;
    vec_push(s->ir->arena, &src, uop2(s->ir, OP_DECAY, block->src[0], x->src[1]));
    for (uint32_t i = 1; i < n->nsrc; i++) vec_push(s->ir->arena, &src, n->src[i]);
    for (uint32_t i = 1; i < block->nsrc; i++) {
        if (axis_is_loop((enum axis_kind)block->src[i]->arg.range.kind)) return n;
        vec_push(s->ir->arena, &src, block->src[i]);
    }
    return uop_new(s->ir, OP_REDUCE, n->dt, n->lanes, src.p, src.n, n->arg);
}

static void split_reductions(struct sched *s) {
    struct ir *ir = s->ir;
    uop_vec topo = {0};
    uop_topo(ir->arena, &s->sink, 1, &topo);
    const uop **now = arena_array(ir->arena, const uop *, ir->n);
    struct free_ranges fr;
    free_init(&fr, ir, ir->arena);
    for (uint32_t i = 0; i < topo.n; i++) {
        const uop *n = topo.p[i];
        uop_vec src = {0};
        bool changed = false;
        for (uint32_t k = 0; k < n->nsrc; k++) {
            vec_push(ir->arena, &src, now[n->src[k]->id]);
            changed |= src.p[k] != n->src[k];
        }
        if (changed) n = uop_with(ir, n, src.p);
        if (n->op == OP_REDUCE) n = drop_idle(s, &fr, join_decay(s, n));
        now[topo.p[i]->id] = n->op == OP_REDUCE ? split_levels(s, &fr, n) : n;
    }
    s->sink = now[s->sink->id];
}

static void check_effect(struct sched *s, struct free_ranges *fr, const uop *n) {
    uint32_t vecs = 0;
    int64_t copies = 1;
    const uop_vec *f = free_of(fr, n);
    int last = -1;
    for (uint32_t i = 0; i < f->n + (binds_ranges(n) ? n->nsrc - 1 : 0); i++) {
        bool bound = i >= f->n;
        const uop *r = bound ? n->src[1 + i - f->n] : f->p[i];
        enum axis_kind k = (enum axis_kind)r->arg.range.kind;
        if (n->op == OP_SCAN && bound) { /* a running value follows its axis in order */
            int at = r->arg.range.pos + (axis_is_expanded(k) ? 256 : 0);
            if (at < last)
                opt_fail(s, "ORDER",
                         "the pieces of a scanned axis must keep their order, outer before inner");
            last = at;
            if (k == AX_VEC && r != n->src[n->nsrc - 1])
                opt_fail(s, "VEC", "the lanes of a running value must be the innermost part of its axis");
            continue; /* also free: counted once */
        }
        if (k == AX_VEC && n->op == OP_STORE_ADD && !free_has(fr, n->src[0], r))
            opt_fail(s, "VEC", "the lanes of axis %s are added to one element of memory",
                     ir_name(s->ir, r->arg.range.cls));
        if (k == AX_VEC)
            vecs++;
        else if (axis_is_expanded(k))
            copies *= r->src[0]->hi;
    }
    for (uint32_t i = 1; i < n->nsrc && n->op == OP_SCAN; i++)
        if (axis_is_expanded((enum axis_kind)n->src[i]->arg.range.kind) &&
            !free_has(fr, n->src[0], n->src[i]))
            opt_fail(s, "UNROLL",
                     "a running value of what does not change along its axis cannot be unrolled");
    if (vecs > 1) opt_fail(s, "VEC", "%s would have two vector axes at once", op_info[n->op].name);
    if (copies > MAX_EXPANDED)
        opt_fail(s, "UNROLL", "a statement would be unrolled %lld times, more than %d", (long long)copies,
                 MAX_EXPANDED);
}

static void check_finished(struct sched *s) {
    struct ir *ir = s->ir;
    struct free_ranges fr;
    free_init(&fr, ir, ir->arena);
    uop_vec topo = {0};
    uop_topo(ir->arena, &s->sink, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++) {
        const uop *n = topo.p[i];
        if (n->op == OP_STORE || n->op == OP_STORE_ADD || binds_ranges(n)) check_effect(s, &fr, n);
        if (n->op != OP_RANGE && n->op != OP_PARAMS) continue;
        const uop_vec *f = free_of(&fr, n->src[0]);
        for (uint32_t k = 0; k < f->n && n->op == OP_RANGE; k++)
            if (f->p[k]->arg.range.pos >= n->arg.range.pos)
                opt_fail(s, "ORDER", "axis %s decides how long axis %s is, so it must be outside",
                         ir_name(ir, f->p[k]->arg.range.cls), ir_name(ir, n->arg.range.cls));
        uop_vec below = {0};
        uop_topo(ir->arena, &n->src[0], 1, &below);
        for (uint32_t k = 0; k < below.n; k++)
            if (binds_ranges(below.p[k]))
                opt_fail(s, "STAGE", "a staged or reduced value decides %s",
                         n->op == OP_RANGE ? "how long a loop is" : "which buffer is used");
        for (uint32_t k = 0; k < f->n; k++)
            if (axis_is_expanded((enum axis_kind)f->p[k]->arg.range.kind))
                opt_fail(s, "UNROLL", "axis %s decides %s, so it must stay a loop",
                         ir_name(ir, f->p[k]->arg.range.cls),
                         n->op == OP_RANGE ? "how long another loop is" : "which buffer is used");
        if (n->op == OP_RANGE && n->arg.range.kind == AX_GRID && !uop_is_const(n->src[0]))
            opt_fail(s, "GRID", "the grid must have a known size");
    }
}

/* Threads of a block that has columns share no more than a loop that is reduced, or rows. */
static void check_columns(struct sched *s) {
    bool coop = false;
    for (uint32_t i = 0; i < s->axis.n; i++) {
        coop |= s->axis.p[i].kind == AX_COOP;
        if (s->axis.p[i].kind == AX_COOP && s->axis.p[i].scan)
            opt_fail(s, "COLUMNS", "axis %s carries a running value", ir_name(s->ir, s->axis.p[i].name));
    }
    if (!coop || sched_has_threads(s))
        opt_fail(s, "COLUMNS", "a block of columns has a cooperative loop (COOP) and no THREAD axis");
}

const uop *sched_finish(struct sched *s) {
    if (s->columns) check_columns(s);
    if (s->ws.cluster && (s->ws.consumers != 1 || s->ws.blocks || s->ntc != 1))
        opt_fail(s, "CLUSTER", "blocks of a cluster have WARP_SPECIALIZE(1), one TC and no PERSISTENT");
    write_ranges(s);
    split_reductions(s);
    check_finished(s);
    return s->sink;
}
