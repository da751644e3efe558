/* opts.c: the opt language. A kernel's schedule is a list such as
 *
 *     TILE(k,4,v) VEC(v) TILE(k,8,u) REG(u) GRID(r)
 *
 * and each opt is a substitution in the kernel graph with a legality check. An opt names an axis class and
 * applies to all its members, so that the max loop, the sum loop and the output loop of a softmax are cut
 * alike. Heuristic, search, tests and people all speak this list. What an opt may not do is said by
 * opt_fail in words; opts_legal runs the same code and keeps the words.
 *
 * The table `axis` of a schedule is in nesting order, outermost first. Kinds and positions are kept there
 * and written into the RANGEs once, by sched_finish.
 * PADTO and ALIGN are in pad.c, JOIN in join.c, STAGE and RESIDENT in stage.c, PIPE in prefetch.c.
 * Tests: tests/unit/codegen.c, tests/unit/golden.c */
#include "codegen/internal.h"

#include <stdlib.h>

#define MAX_LANES 16
#define MAX_UNROLL 64
#define MAX_THREADS 1024
#define MAX_CLUSTER 4

void opt_fail(struct sched *s, const char *opt, const char *fmt, ...) {
    va_list ap;
    char msg[512];
    va_start(ap, fmt);
    text_vprintf(msg, sizeof msg, fmt, ap);
    va_end(ap);
    err_throw(s->ir->err, RG_EOPT, "kernel %s: %s: %s", s->kernel->name, opt, msg);
}

/* ---- the schedule -------------------------------------------------------------------------------- */

struct axis *sched_axis(struct sched *s, uint32_t name) {
    for (uint32_t i = 0; i < s->axis.n; i++)
        if (s->axis.p[i].name == name) return &s->axis.p[i];
    return NULL;
}

static struct axis *need_axis(struct sched *s, const char *opt, uint32_t name) {
    struct axis *a = sched_axis(s, name);
    if (a) return a;
    struct str names;
    str_init(&names, s->ir->arena);
    for (uint32_t i = 0; i < s->axis.n; i++) str_printf(&names, " %s", ir_name(s->ir, s->axis.p[i].name));
    opt_fail(s, opt, "there is no axis %s; the axes are%s", ir_name(s->ir, name), names.p);
}

static void note_member(struct sched *s, const uop *r) {
    struct axis *a = sched_axis(s, r->arg.range.cls);
    if (!a) {
        struct axis fresh = {.name = r->arg.range.cls, .kind = AX_COUNT};
        uint32_t at = s->axis.n;
        vec_push(s->ir->arena, &s->axis, fresh);
        a = &s->axis.p[at];
    }
    a->members++;
    a->size = r->src[0]->lo == r->src[0]->hi ? r->src[0]->lo : -1;
    a->most = r->src[0]->hi;
    a->natural = r->arg.range.kind;
    if (r->arg.range.kind == AX_GRID) a->grid = true;
}

void sched_refresh(struct sched *s) {
    for (uint32_t i = 0; i < s->axis.n; i++) {
        struct axis *a = &s->axis.p[i];
        a->members = 0, a->reduce = a->scan = a->decays = a->ordered = a->staged = false;
    }
    uop_vec topo = {0};
    uop_topo(s->ir->arena, &s->sink, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++)
        if (topo.p[i]->op == OP_RANGE) note_member(s, topo.p[i]);
    for (uint32_t i = 0; i < topo.n; i++) {
        const uop *n = topo.p[i];
        if (n->op != OP_REDUCE && n->op != OP_SCAN && n->op != OP_STAGE) continue;
        for (uint32_t k = 1; k < n->nsrc; k++) {
            struct axis *a = sched_axis(s, n->src[k]->arg.range.cls);
            if (n->op == OP_REDUCE) a->reduce = true;
            if (n->op == OP_SCAN) {
                a->scan = true, a->decays |= n->src[0]->op == OP_DECAY;
                a->ordered |= a->decays || !uop_any_order((enum op)n->arg.i, (enum dtype)n->dt);
            }
            if (n->op == OP_STAGE) a->staged = true;
        }
    }
    uint32_t keep = 0;
    for (uint32_t i = 0; i < s->axis.n; i++)
        if (s->axis.p[i].members) s->axis.p[keep++] = s->axis.p[i];
    s->axis.n = keep;
}

int range_by_pos(const void *x, const void *y) {
    const uop *a = *(const uop *const *)x, *b = *(const uop *const *)y;
    int pa = a->arg.range.pos, pb = b->arg.range.pos;
    return pa != pb ? pa - pb : (a->id > b->id) - (a->id < b->id);
}

void sched_init(struct sched *s, struct ir *ir, const struct kernel *k) {
    memset(s, 0, sizeof *s);
    s->ir = ir;
    s->kernel = k;
    s->gpu = gpu_spec_default();
    rw_init(&s->rw, ir, rules_sym, s);
    s->sink = rw_post(&s->rw, k->sink);
    uop_vec topo = {0}, ranges = {0};
    uop_topo(ir->arena, &s->sink, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++)
        if (topo.p[i]->op == OP_RANGE) vec_push(ir->arena, &ranges, topo.p[i]);
    if (ranges.n) qsort(ranges.p, ranges.n, sizeof *ranges.p, range_by_pos);
    for (uint32_t i = 0; i < ranges.n; i++) note_member(s, ranges.p[i]); /* fixes the order of the table */
    sched_refresh(s);
}

/* The members of a class, in order of id. */
void sched_members(struct sched *s, uint32_t cls, uop_vec *out) {
    uop_vec topo = {0};
    uop_topo(s->ir->arena, &s->sink, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++)
        if (topo.p[i]->op == OP_RANGE && topo.p[i]->arg.range.cls == cls)
            vec_push(s->ir->arena, out, topo.p[i]);
}

bool binds_ranges(const uop *n) { return n->op == OP_REDUCE || n->op == OP_SCAN || n->op == OP_STAGE; }

const uop *sched_subst(struct sched *s, const uop *root, const struct range_subst *sub, uint32_t nsub) {
    struct arena *a = s->ir->arena;
    uop_vec topo = {0};
    uop_topo(a, &root, 1, &topo);
    const uop **now = arena_array(a, const uop *, s->ir->n);
    for (uint32_t i = 0; i < topo.n; i++) {
        const uop *n = topo.p[i];
        const struct range_subst *hit = NULL;
        for (uint32_t k = 0; k < nsub && !hit; k++)
            if (sub[k].from == n) hit = &sub[k];
        if (hit) {
            now[n->id] = hit->expr;
            continue;
        }
        uop_vec src = {0};
        bool changed = false;
        for (uint32_t k = 0; k < n->nsrc; k++) {
            const uop *old = n->src[k];
            const struct range_subst *cut = NULL;
            if (k > 0 && binds_ranges(n))
                for (uint32_t j = 0; j < nsub && !cut; j++)
                    if (sub[j].from == old) cut = &sub[j];
            if (cut) {
                for (uint32_t j = 0; j < cut->npiece; j++) vec_push(a, &src, cut->piece[j]);
                changed = true;
            } else {
                vec_push(a, &src, now[old->id]);
                changed |= now[old->id] != old;
            }
        }
        now[n->id] = !changed           ? n
                     : src.n == n->nsrc ? rw_with(&s->rw, n, src.p)
                                        : rw_new(&s->rw, n->op, n->dt, n->lanes, src.p, src.n, n->arg);
    }
    return now[root->id];
}

const uop *sched_range(struct sched *s, const uop *size, const uop *like, uint32_t cls, enum axis_kind kind) {
    union arg arg = like->arg;
    arg.range.cls = cls;
    arg.range.kind = kind;
    return rw_new(&s->rw, OP_RANGE, DT_IDX, 1, &size, 1, arg);
}

/* ---- PADTO and TILE -------------------------------------------------------------------------------- */

static void opt_padto(struct sched *s, const char *opt, uint32_t axis, int64_t n) {
    struct axis *a = need_axis(s, opt, axis);
    if (n < 2 || n > 1 << 20) opt_fail(s, opt, "a multiple must be 2 .. 1048576, not %lld", (long long)n);
    if (a->size >= 0 && a->size % n == 0) return;
    if (a->kind != AX_COUNT && axis_is_expanded((enum axis_kind)a->kind))
        opt_fail(s, opt, "axis %s is already unrolled; pad it before that", ir_name(s->ir, axis));
    pad_axis(s, opt, a, n);
}

static void opt_align(struct sched *s, const char *opt, uint32_t axis, int64_t n) {
    struct axis *a = need_axis(s, opt, axis);
    if (n < 2 || n > 64) opt_fail(s, opt, "a multiple must be 2 .. 64, not %lld", (long long)n);
    if (a->kind != AX_COUNT) opt_fail(s, opt, "axis %s has another use", ir_name(s->ir, axis));
    align_axis(s, opt, a, n);
}

/* How often values are added to memory: by each iteration of the ranges that an address or a value depends on. */
static double additions(struct sched *s) {
    uop_vec topo = {0};
    struct free_ranges fr;
    double all = 0;
    uop_topo(s->ir->arena, &s->sink, 1, &topo);
    free_init(&fr, s->ir, s->ir->arena);
    for (uint32_t i = 0; i < topo.n; i++) {
        if (topo.p[i]->op != OP_STORE_ADD) continue;
        const uop_vec *f = free_of(&fr, topo.p[i]);
        double n = 1;
        for (uint32_t k = 0; k < f->n; k++) n *= (double)f->p[k]->src[0]->hi;
        all += n;
    }
    return all;
}

void opt_tile(struct sched *s, const char *opt, uint32_t axis, int64_t n, uint32_t inner) {
    struct ir *ir = s->ir;
    struct axis *a = need_axis(s, opt, axis);
    if (n < 2 || n > 1 << 20)
        opt_fail(s, opt, "a tile must have 2 .. 1048576 values, not %lld", (long long)n);
    if (sched_axis(s, inner)) opt_fail(s, opt, "there is already an axis %s", ir_name(ir, inner));
    if (a->kind == AX_THREAD)
        opt_fail(s, opt, "the values of axis %s are threads of a block; TILE it before THREAD",
                 ir_name(ir, axis));
    if (a->kind != AX_COUNT && axis_is_expanded((enum axis_kind)a->kind))
        opt_fail(s, opt, "axis %s is already unrolled; TILE it before that", ir_name(ir, axis));
    if (a->most < n && a->size >= 0)
        opt_fail(s, opt, "axis %s has only %lld values", ir_name(ir, axis), (long long)a->size);
    if (a->size < 0 || a->size % n != 0) {
        pad_axis(s, opt, a, n);
        a = need_axis(s, opt, axis);
    }
    uop_vec old = {0};
    double adds = additions(s);
    sched_members(s, axis, &old);
    struct range_subst *sub = arena_array(ir->arena, struct range_subst, old.n);
    for (uint32_t i = 0; i < old.n; i++) {
        const uop *r = old.p[i];
        enum axis_kind k = (enum axis_kind)r->arg.range.kind;
        const uop *size = rw2(&s->rw, OP_IDIV, r->src[0], uop_idx(ir, n));
        const uop *o = sched_range(s, size, r, axis, k);
        const uop *in = sched_range(s, uop_idx(ir, n), r, inner, k == AX_GRID ? AX_LOOP : k);
        sub[i] = (struct range_subst){
            r, rw2(&s->rw, OP_ADD, rw2(&s->rw, OP_MUL, o, uop_idx(ir, n)), in), {o, in}, 2};
        /* an axis of one tile is a constant: it disappears */
        if (uop_is_int_const(size, 1)) sub[i] = (struct range_subst){r, in, {in, NULL}, 1};
    }
    bool grid = a->grid;
    uint32_t at = (uint32_t)(a - s->axis.p) + 1;
    vec_push(ir->arena, &s->axis, ((struct axis){0}));
    memmove(&s->axis.p[at + 1], &s->axis.p[at], (s->axis.n - 1 - at) * sizeof s->axis.p[0]);
    s->axis.p[at] = (struct axis){.name = inner, .kind = AX_COUNT, .grid = grid, .members = 1};
    s->sink = sched_subst(s, s->sink, sub, old.n);
    if (additions(s) != adds)
        opt_fail(
            s, opt,
            "values and their indices repeat after each tile of axis %s: they are added once for all tiles",
            ir_name(ir, axis));
    sched_refresh(s);
}

/* ---- kinds and order ----------------------------------------------------------------------------- */

static void opt_expand(struct sched *s, const char *opt, uint32_t axis, enum axis_kind kind) {
    struct axis *a = need_axis(s, opt, axis);
    const char *name = ir_name(s->ir, axis);
    if (a->size < 0)
        opt_fail(s, opt, "the size of axis %s is known at run time only; TILE it and unroll the inner axis",
                 name);
    if (a->size > MAX_UNROLL)
        opt_fail(s, opt, "axis %s has %lld values, more than %d; TILE it and unroll the inner axis", name,
                 (long long)a->size, MAX_UNROLL);
    if (a->kind == AX_GRID) opt_fail(s, opt, "axis %s is part of the grid", name);
    if (a->kind == AX_THREAD) opt_fail(s, opt, "the values of axis %s are threads of a block (THREAD)", name);
    if (a->kind == AX_MMA) opt_fail(s, opt, "axis %s is one of an MMA instruction (TC)", name);
    if (kind == AX_VEC && (a->size < 2 || a->size > MAX_LANES || (a->size & (a->size - 1))))
        opt_fail(s, opt, "vectors have 2, 4, 8 or 16 lanes; axis %s has %lld values", name,
                 (long long)a->size);
    if (kind == AX_VEC && a->ordered)
        opt_fail(s, opt, "axis %s carries a running value in its order from one element to the next", name);
    if (kind == AX_REG && a->scan) opt_fail(s, opt, "axis %s carries a running value; use UNROLL", name);
    a->kind = kind;
}

static void opt_grid(struct sched *s, const char *opt, uint32_t axis, bool thread) {
    struct axis *a = need_axis(s, opt, axis);
    if (!a->grid)
        opt_fail(s, opt, "axis %s does not come from the grid, so its values may not run at once",
                 ir_name(s->ir, axis));
    if (a->kind != AX_COUNT && axis_is_expanded((enum axis_kind)a->kind))
        opt_fail(s, opt, "axis %s is already unrolled", ir_name(s->ir, axis));
    if (thread && a->size < 0) opt_fail(s, opt, "the grid must have a known size");
    a->kind = thread ? AX_GRID : AX_LOOP;
}

static void opt_coop(struct sched *s, const char *opt, uint32_t axis) {
    struct axis *a = need_axis(s, opt, axis);
    const char *name = ir_name(s->ir, axis);
    if (axis_is_grid(a)) opt_fail(s, opt, "axis %s is an axis of the grid", name);
    if (a->kind != AX_COUNT && axis_is_expanded((enum axis_kind)a->kind))
        opt_fail(s, opt, "axis %s is already unrolled", name);
    a->kind = AX_COOP;
}

bool sched_has_threads(const struct sched *s) {
    for (uint32_t i = 0; i < s->axis.n; i++)
        if (s->axis.p[i].kind == AX_THREAD) return true;
    return s->ntc && !mma_is_cpu(s->tc[0].instr);
}

/* Is every pass over the axis one of a reduction? Then threads may have partial sums. */
static bool only_reduced(struct sched *s, const struct axis *a) {
    uop_vec topo = {0}, member = {0};
    sched_members(s, a->name, &member);
    uop_topo(s->ir->arena, &s->sink, 1, &topo);
    for (uint32_t i = 0; i < member.n; i++) {
        bool bound = false;
        for (uint32_t k = 0; k < topo.n; k++)
            for (uint32_t j = 1; j < topo.p[k]->nsrc && topo.p[k]->op == OP_REDUCE; j++)
                bound |= topo.p[k]->src[j] == member.p[i];
        if (!bound) return false;
    }
    return !a->scan && !a->staged;
}

static void opt_thread(struct sched *s, const char *opt, uint32_t axis) {
    struct axis *a = need_axis(s, opt, axis);
    const char *name = ir_name(s->ir, axis);
    if (!a->grid && !only_reduced(s, a))
        opt_fail(
            s, opt,
            "axis %s neither comes from the grid nor is only reduced over, so its values may not run at once",
            name);
    if (a->kind != AX_COUNT && axis_is_expanded((enum axis_kind)a->kind))
        opt_fail(s, opt, "axis %s is already unrolled", name);
    if (a->size < 0) opt_fail(s, opt, "the size of axis %s is known at run time only", name);
    a->kind = AX_THREAD;
    int64_t threads = 1;
    for (uint32_t i = 0; i < s->axis.n; i++)
        if (s->axis.p[i].kind == AX_THREAD) threads *= s->axis.p[i].size;
    if (threads > MAX_THREADS)
        opt_fail(s, opt, "a block would have %lld threads, more than %d", (long long)threads, MAX_THREADS);
}

/* Split-K: a reduced axis becomes part of the grid, each block has partial sums; cluster_splitk.c reduces them. */
static void opt_cluster(struct sched *s, const char *opt, uint32_t axis) {
    struct axis *a = need_axis(s, opt, axis);
    const char *name = ir_name(s->ir, axis);
    uop_vec old = {0};
    if (s->ws.cluster) opt_fail(s, opt, "there is one cluster already");
    if (a->kind != AX_COUNT || a->grid || !only_reduced(s, a))
        opt_fail(s, opt, "axis %s has another use than to be summed over", name);
    if (a->size < 2 || a->size > MAX_CLUSTER)
        opt_fail(s, opt, "a cluster has 2 .. %d blocks; axis %s has %lld values", MAX_CLUSTER, name,
                 (long long)a->size);
    sched_members(s, axis, &old);
    struct range_subst *sub = arena_array(s->ir->arena, struct range_subst, old.n);
    for (uint32_t i = 0; i < old.n; i++) {
        const uop *r = sched_range(s, old.p[i]->src[0], old.p[i], axis, AX_GRID);
        sub[i] = (struct range_subst){old.p[i], r, {NULL, NULL}, 0};
    }
    s->ws.cluster = axis;
    s->sink = sched_subst(s, s->sink, sub, old.n);
    sched_refresh(s);
}

/* The instruction for the types that are multiplied, or the one that is named. */
static enum mma find_mma(struct sched *s, const char *opt, uint32_t axis, const char *name) {
    uop_vec topo = {0};
    struct free_ranges fr;
    free_init(&fr, s->ir, s->ir->arena);
    uop_topo(s->ir->arena, &s->sink, 1, &topo);
    for (int i = 0; i < MMA_COUNT; i++) {
        if (name && !strcmp(name, mma_info[i].name)) return (enum mma)i;
        for (uint32_t k = 0; k < topo.n && !name && mma_info[i].in != mma_info[i].acc; k++) {
            const uop *n = topo.p[k];
            if (n->op != OP_LOAD || n->dt != mma_info[i].in) continue;
            const uop_vec *f = free_of(&fr, n);
            for (uint32_t j = 0; j < f->n; j++)
                if (f->p[j]->arg.range.cls == axis) return (enum mma)i;
        }
    }
    opt_fail(s, opt, "there is no MMA instruction%s%s for this sum", name ? " " : "", name ? name : "");
}

/* The axes m, n, k of one instruction; a second one may read what the first left, along an n that is its k. */
static void opt_tc(struct sched *s, const char *opt, const uint32_t *axis, const char *name) {
    static const char side[] = "mnk";
    if (s->ntc == RG_COUNT(s->tc)) opt_fail(s, opt, "more than %d MMA instructions", (int)RG_COUNT(s->tc));
    struct mma_axes *p = &s->tc[s->ntc];
    p->instr = find_mma(s, opt, axis[2], name);
    if (s->ntc && (axis[MMA_M] != s->tc[0].axis[MMA_M] || mma_lanes(p->instr) != mma_lanes(s->tc[0].instr)))
        opt_fail(s, opt, "a second MMA instruction has the first one's m and as many lanes");
    for (int i = 0; i < 3; i++) {
        struct axis *a = need_axis(s, opt, axis[i]);
        int want = mma_info[p->instr].size[i];
        bool again = s->ntc && a->kind == AX_MMA;
        if (a->kind != AX_COUNT && !again)
            opt_fail(s, opt, "axis %s has another use", ir_name(s->ir, axis[i]));
        int part = mma_is_wgmma(p->instr) && !*mma_info[p->instr].map[MMA_A] ? want / 2 : want; /* mma.c */
        if (i == MMA_K && a->size > 0 ? a->size % part != 0 : a->size != want)
            opt_fail(s, opt, "%c of instruction %s is %d; axis %s has %lld values", side[i],
                     mma_info[p->instr].name, want, ir_name(s->ir, axis[i]), (long long)a->size);
        bool row = i == MMA_N && (a->natural == AX_LOOP || a->staged); /* of a result, or kept in registers */
        if (i < 2 ? !row && (!a->grid || a->reduce) : !a->reduce)
            opt_fail(s, opt, "axis %s is %s", ir_name(s->ir, axis[i]),
                     i < 2 ? "not one of the result" : "not summed over");
        a->kind = AX_MMA;
        p->axis[i] = axis[i];
    }
    s->ntc++;
    pred_factors(s);
}

static void opt_order(struct sched *s, const char *opt, const uint32_t *name, uint32_t n) {
    uint32_t *slot = arena_array(s->ir->arena, uint32_t, n + 1);
    struct axis *axis = arena_array(s->ir->arena, struct axis, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        struct axis *a = need_axis(s, opt, name[i]);
        slot[i] = (uint32_t)(a - s->axis.p);
        axis[i] = *a;
        for (uint32_t k = 0; k < i; k++)
            if (slot[k] == slot[i]) opt_fail(s, opt, "axis %s is named twice", ir_name(s->ir, name[i]));
    }
    for (uint32_t i = 1; i < n; i++) /* insertion sort: a handful of axes */
        for (uint32_t k = i; k > 0 && slot[k] < slot[k - 1]; k--) {
            uint32_t t = slot[k];
            slot[k] = slot[k - 1], slot[k - 1] = t;
        }
    for (uint32_t i = 0; i < n; i++) s->axis.p[slot[i]] = axis[i];
}

/* ---- the list -------------------------------------------------------------------------------------*/

enum { MAX_ARGS = 32 };

struct opt_text {
    char head[128]; /* the opt as written, for messages */
    const struct opt_row *row;
    uint32_t arg[MAX_ARGS]; /* symbols */
    uint32_t narg;
    /* of an argument, by its kind */
    int64_t number[MAX_ARGS];
    struct stage_dim dim[MAX_ARGS];
};

/* The functions of opts.def; arguments have been checked. */

static void tile(struct sched *s, const struct opt_text *o) {
    opt_tile(s, o->head, o->arg[0], o->number[1], o->arg[2]);
}
static void join(struct sched *s, const struct opt_text *o) {
    opt_join(s, o->head, sched_axis(s, o->arg[0]), sched_axis(s, o->arg[1]), o->arg[2]);
}
static void padto(struct sched *s, const struct opt_text *o) {
    opt_padto(s, o->head, o->arg[0], o->number[1]);
}
static void align(struct sched *s, const struct opt_text *o) {
    opt_align(s, o->head, o->arg[0], o->number[1]);
}
static void vec(struct sched *s, const struct opt_text *o) { opt_expand(s, o->head, o->arg[0], AX_VEC); }
static void unroll(struct sched *s, const struct opt_text *o) {
    opt_expand(s, o->head, o->arg[0], AX_UNROLL);
}
static void reg(struct sched *s, const struct opt_text *o) { opt_expand(s, o->head, o->arg[0], AX_REG); }
static void grid(struct sched *s, const struct opt_text *o) { opt_grid(s, o->head, o->arg[0], true); }
static void loop(struct sched *s, const struct opt_text *o) { opt_grid(s, o->head, o->arg[0], false); }
static void coop(struct sched *s, const struct opt_text *o) { opt_coop(s, o->head, o->arg[0]); }
static void columns(struct sched *s, const struct opt_text *o) {
    if (o->number[0] != 8 && o->number[0] != 16 && o->number[0] != 32)
        opt_fail(s, o->head, "a block has 8, 16 or 32 columns, not %lld", (long long)o->number[0]);
    s->columns = (uint32_t)o->number[0];
}
static void thread(struct sched *s, const struct opt_text *o) { opt_thread(s, o->head, o->arg[0]); }
static void cluster(struct sched *s, const struct opt_text *o) { opt_cluster(s, o->head, o->arg[0]); }
static void order(struct sched *s, const struct opt_text *o) { opt_order(s, o->head, o->arg, o->narg); }

static void swap(struct sched *s, const struct opt_text *o) {
    struct axis *a = sched_axis(s, o->arg[0]), *b = sched_axis(s, o->arg[1]), t = *a;
    *a = *b, *b = t;
}

static void stage(struct sched *s, const struct opt_text *o) {
    opt_stage(s, o->head, ir_name(s->ir, o->arg[0]), o->arg[1], o->dim + 2, o->narg - 2);
}

static void tc(struct sched *s, const struct opt_text *o) {
    opt_tc(s, o->head, o->arg, o->narg > 3 ? ir_name(s->ir, o->arg[3]) : NULL);
}

static void stream(struct sched *s, const struct opt_text *o) {
    opt_stream(s, o->head, o->arg[0], o->number[1], o->arg[2], o->arg + 3, o->narg - 3);
}

static void resident(struct sched *s, const struct opt_text *o) {
    opt_resident(s, o->head, o->arg[0], o->narg > 1);
}

static void pipe_ahead(struct sched *s, const struct opt_text *o) {
    struct pipe p = {.opt = arena_strdup(s->ir->arena, o->head, strlen(o->head)),
                     .buffer = o->arg[0],
                     .axis = o->arg[1],
                     .ahead = o->number[2],
                     .pass = o->narg > 3 ? o->number[3] : 0,
                     .level = o->narg > 4 ? o->number[4] : 2};
    if (p.ahead < 1 || p.ahead > 1 << 20 || p.pass < 0 || p.level < 1 || p.level > 2)
        opt_fail(s, o->head, "expected 1 .. 1048576 values, a pass from 0 on, cache 1 or 2");
    vec_push(s->ir->arena, &s->pipe, p);
}

static void warp_specialize(struct sched *s, const struct opt_text *o) {
    s->ws.consumers = o->number[0];
    if (s->ws.consumers < 1 || s->ws.consumers > 2)
        opt_fail(s, o->head, "expected 1 or 2 consumer warpgroups, found %lld", (long long)s->ws.consumers);
}

static void persistent(struct sched *s, const struct opt_text *o) {
    s->ws.blocks = o->number[0];
    if (!s->ws.consumers)
        opt_fail(s, o->head, "only blocks with WARP_SPECIALIZE, named before, walk over tiles");
    if (s->ws.blocks < 1 || s->ws.blocks > 1 << 16)
        opt_fail(s, o->head, "expected 1 .. 65536 blocks, found %lld", (long long)s->ws.blocks);
}

static const struct opt_row {
    const char *name, *args, *doc;
    void (*apply)(struct sched *, const struct opt_text *);
} opt_table[] = {
#define OPT(id, arguments, function, text) {.name = #id, .args = arguments, .doc = text, .apply = function},
#include "opts.def"
#undef OPT
};

void opts_help(struct str *s) {
    for (size_t i = 0; i < RG_COUNT(opt_table); i++) {
        const struct opt_row *o = &opt_table[i];
        str_printf(s, "  %s(%s)%*s %s\n", o->name, o->args,
                   RG_MAX(0, 34 - (int)strlen(o->name) - (int)strlen(o->args)), "", o->doc);
    }
}

/* What the arguments column of opts.def says. */
enum opt_arg { OPT_AXIS, OPT_DIM, OPT_NEW_AXIS, OPT_NUMBER, OPT_NAME, OPT_LOADS };
struct opt_args {
    enum opt_arg kind[8];
    uint32_t n, least; /* how many are named; how many must be given */
    bool repeats;      /* the last one, any number of times */
};

static bool is_word(const char *p, size_t n, const char *word) {
    return strlen(word) == n && !memcmp(p, word, n);
}

static enum opt_arg arg_kind(const char *p, size_t n) {
    static const struct {
        const char *word;
        enum opt_arg kind;
    } word[] = {
        {"axis", OPT_AXIS},   {"at", OPT_AXIS},       {"axis_m", OPT_AXIS},    {"axis_n", OPT_AXIS},
        {"axis_k", OPT_AXIS}, {"dim", OPT_DIM},       {"inner", OPT_NEW_AXIS}, {"new", OPT_NEW_AXIS},
        {"n", OPT_NUMBER},    {"blocks", OPT_NUMBER}, {"pass", OPT_NUMBER},    {"level", OPT_NUMBER},
        {"loads", OPT_LOADS}, /* any other: a name */
    };
    for (size_t i = 0; i < RG_COUNT(word); i++)
        if (is_word(p, n, word[i].word)) return word[i].kind;
    return OPT_NAME;
}

static struct opt_args parse_args(const char *spec) {
    struct opt_args a = {0};
    bool optional = false;
    for (const char *p = spec; *p;) {
        size_t n = strcspn(p, ",[]");
        if (is_word(p, n, ".."))
            a.repeats = true;
        else if (n) {
            a.kind[a.n++] = arg_kind(p, n);
            a.least += !optional;
        }
        p += n;
        optional |= *p == '[';
        if (*p) p++;
    }
    return a;
}

static bool is_sep(char c) { return c == ' ' || c == ',' || c == '\t' || c == '\n' || c == '\r'; }

static const char *parse_opt(struct sched *s, const char *p, struct opt_text *o) {
    const char *start = p;
    while (*p && *p != '(' && !is_sep(*p)) p++;
    size_t n = (size_t)(p - start);
    snprintf(o->head, sizeof o->head, "%.*s", (int)RG_MIN(n, sizeof o->head - 1), start);
    o->row = NULL;
    for (size_t i = 0; i < RG_COUNT(opt_table) && !o->row; i++)
        if (strlen(opt_table[i].name) == n && !memcmp(opt_table[i].name, start, n)) o->row = &opt_table[i];
    if (!o->row) opt_fail(s, o->head, "there is no such opt; `ridge opt --help` lists them");
    if (*p != '(') opt_fail(s, o->head, "expected ( after the name of an opt");
    p++;
    for (o->narg = 0;;) {
        while (is_sep(*p)) p++;
        if (*p == ')') break;
        if (!*p) opt_fail(s, o->head, "expected ) at the end of the opt");
        const char *a = p;
        while (*p && *p != ')' && *p != '(' && !is_sep(*p)) p++;
        if (p == a || o->narg == RG_COUNT(o->arg))
            opt_fail(s, o->head, "too many arguments, or an empty one");
        o->arg[o->narg++] = ir_sym(s->ir, a, (size_t)(p - a));
    }
    p++;
    snprintf(o->head, sizeof o->head, "%.*s", (int)RG_MIN((size_t)(p - start), sizeof o->head - 1), start);
    return p;
}

static int64_t number(struct sched *s, const struct opt_text *o, uint32_t i) {
    const char *t = ir_name(s->ir, o->arg[i]);
    char *end;
    long long v = strtoll(t, &end, 10);
    if (*end || end == t) opt_fail(s, o->head, "expected a number, found %s", t);
    return v;
}

/* x, or x+y+..: a window. */
static void stage_dim(struct sched *s, const struct opt_text *o, uint32_t i, struct stage_dim *dim) {
    dim->n = 0;
    for (const char *p = ir_name(s->ir, o->arg[i]);; p++) {
        size_t n = strcspn(p, "+");
        if (dim->n == STAGE_WINDOW) opt_fail(s, o->head, "a window has at most %d axes", STAGE_WINDOW);
        dim->axis[dim->n] = ir_sym(s->ir, p, n);
        need_axis(s, o->head, dim->axis[dim->n++]);
        p += n;
        if (!*p) return;
    }
}

static void check_arg(struct sched *s, struct opt_text *o, uint32_t i, enum opt_arg kind) {
    if (kind == OPT_AXIS) need_axis(s, o->head, o->arg[i]);
    if (kind == OPT_DIM) stage_dim(s, o, i, &o->dim[i]);
    if (kind == OPT_NUMBER) o->number[i] = number(s, o, i);
    if (kind == OPT_LOADS && strcmp(ir_name(s->ir, o->arg[i]), "loads"))
        opt_fail(s, o->head, "expected the word loads after the axis, or nothing");
}

static void check_args(struct sched *s, struct opt_text *o) {
    struct opt_args a = parse_args(o->row->args);
    if (o->narg < a.least || (o->narg > a.n && !a.repeats))
        opt_fail(s, o->head, "expected %u%s arguments, found %u: %s(%s)", a.least,
                 a.repeats || a.n > a.least ? " or more" : "", o->narg, o->row->name, o->row->args);
    for (uint32_t i = 0; i < o->narg; i++) check_arg(s, o, i, a.kind[RG_MIN(i, a.n - 1)]);
}

void sched_apply(struct sched *s, const char *opts) {
    for (const char *p = opts;;) {
        while (is_sep(*p)) p++;
        if (!*p) return;
        struct opt_text o;
        p = parse_opt(s, p, &o);
        check_args(s, &o);
        o.row->apply(s, &o);
    }
}
