/* kernel_view.c: what the heuristic knows of a kernel: axes, memory accesses, strides, evaluation counts.
 *
 * One walk over the graph. Dependence on RANGEs is a bit set, so that later queries are cheap; strides come from the index
 * expressions and look through division and remainder by multiples of the vector length, which reshapes leave behind.
 * Nothing here builds nodes.
 * Requires: a kernel graph. Gives: struct view. Tests: tests/unit/heuristic.c */
#include "tune/choose/choose.h"

#include <math.h>

/* Rough rates of one core: only to decide how much work a grid iteration needs. */
enum { CORE_FLOP_PER_NS = 30, CORE_BYTES_PER_NS = 20 };
enum { DEFAULT_L1 = 32 << 10, DEFAULT_L2 = 512 << 10 }; /* bytes, where the OS does not tell */
#define FEWEST_LATE 0.4 /* of most_late, by few threads: a foreign process on one of the cores */
enum {
    MOST_LANES = 16,
    RARE = 8,
    LITTLE_WORK = 8
}; /* RARE: times that other accesses happen more often; LITTLE_WORK: operations */
enum {
    TASK_NS = 20000,
    TASKS_PER_THREAD = 2
}; /* a task worth a thread; tasks that balance uneven threads .. */
/* .. and of long ones, for many threads: virtual CPUs share cores, and some take twice the time. */
enum { LONG_TASK_NS = 4000000, LONG_TASKS_PER_THREAD = 4, MANY_THREADS = 8 };

/* ---- axes ------------------------------------------------------------------------------------------ */

int view_axis_of(const struct view *v, const uop *range) {
    for (int i = 0; i < v->naxis; i++)
        if (v->axis[i].cls == range->arg.range.cls) return i;
    return -1;
}

bool view_depends(const struct view *v, const uop *n, int axis) {
    return (v->mask[n->id] & v->axis[axis].ranges) != 0;
}

static bool add_range(struct view *v, const uop *r) {
    if (v->nrange == CHOOSE_RANGES) return false;
    v->mask[r->id] =
        v->mask[r->src[0]->id] | 1ull << v->nrange; /* a loop of computed length stands in another */
    v->range[v->nrange] = r;
    int at = view_axis_of(v, r);
    if (at < 0) {
        if (v->naxis == CHOOSE_AXES) return false;
        at = v->naxis++;
        bool exact = r->src[0]->lo == r->src[0]->hi;
        v->axis[at] = (struct axis_view){.name = ir_name(v->ir, r->arg.range.cls),
                                         .cls = r->arg.range.cls,
                                         .size = exact ? r->src[0]->lo : -1,
                                         .most = (double)r->src[0]->hi,
                                         .pos = r->arg.range.pos};
    }
    struct axis_view *a = &v->axis[at];
    a->ranges |= 1ull << v->nrange++;
    a->members++;
    a->grid |= r->arg.range.kind == AX_GRID;
    return true;
}

static void sort_axes(struct view *v) {
    for (int i = 1; i < v->naxis; i++)
        for (int k = i; k > 0 && v->axis[k].pos < v->axis[k - 1].pos; k--) {
            struct axis_view t = v->axis[k];
            v->axis[k] = v->axis[k - 1], v->axis[k - 1] = t;
        }
}

static void mark_bound(struct view *v, const uop *n) {
    for (uint32_t i = 1; i < n->nsrc; i++) {
        struct axis_view *a = &v->axis[view_axis_of(v, n->src[i])];
        if (n->op == OP_REDUCE) a->reduce = true;
        if (n->op == OP_SCAN) {
            a->scan = true, a->decays |= n->src[0]->op == OP_DECAY;
            a->ordered |= a->decays || !uop_any_order((enum op)n->arg.i, (enum dtype)n->dt);
        }
    }
    if (n->op == OP_REDUCE && v->reduces++ < (int)RG_COUNT(v->reduce)) v->reduce[v->reduces - 1] = n;
    v->scans += n->op == OP_SCAN;
    v->stages += n->op == OP_STAGE;
}

/* ---- accesses -------------------------------------------------------------------------------------- */

static bool add_access(struct view *v, const uop *n) {
    const uop *index = n->src[0];
    bool store = n->op == OP_STORE || n->op == OP_STORE_ADD;
    if (index->src[0]->op != OP_PARAM && index->src[0]->op != OP_PARAMS) return true;
    if (v->naccess == CHOOSE_ACCESSES) return false;
    struct access_view *s = &v->access[v->naccess++];
    *s = (struct access_view){.node = n,
                              .buf = index->src[0],
                              .index = index->src[1],
                              .mask = v->mask[index->id],
                              .bytes = dtype_info[index->dt].bytes,
                              .store = store,
                              .add = n->op == OP_STORE_ADD};
    if (n->op == OP_PRED_LOAD) s->pred = n->src[2];
    if (store && n->nsrc > 2) s->pred = n->src[2];
    if (s->index->op == OP_WHERE && s->index->src[2]->op == OP_INVALID)
        s->pred = s->index->src[0], s->index = s->index->src[1];
    s->times = v->times[store ? n->id : index->id];
    return true;
}

static double times_of(const struct view *v, uint64_t mask) {
    double t = 1;
    for (uint32_t i = 0; i < v->nrange; i++)
        if (mask >> i & 1) t *= (double)v->range[i]->src[0]->hi;
    return t;
}

uint64_t view_bit(const struct view *v, const uop *r) {
    for (uint32_t i = 0; i < v->nrange; i++)
        if (v->range[i] == r) return 1ull << i;
    return 0;
}

static bool walk(struct view *v) {
    for (uint32_t i = 0; i < v->topo.n; i++) {
        const uop *n = v->topo.p[i];
        if (n->op == OP_RANGE) {
            if (!add_range(v, n)) return false;
            continue;
        }
        uint64_t m = 0;
        for (uint32_t k = 0; k < n->nsrc; k++)
            if (k == 0 || !binds_ranges(n)) m |= v->mask[n->src[k]->id];
        v->times[n->id] = times_of(v, m); /* of a reduction: how often its body is */
        if (n->op == OP_REDUCE || n->op == OP_STAGE)
            for (uint32_t k = 1; k < n->nsrc; k++) m &= ~view_bit(v, n->src[k]);
        v->mask[n->id] = m;
    }
    sort_axes(v);
    for (uint32_t i = 0; i < v->topo.n; i++) {
        const uop *n = v->topo.p[i];
        if (binds_ranges(n)) mark_bound(v, n);
        if (n->op == OP_RANGE || n->op == OP_PARAMS) {
            uint64_t m = v->mask[n->src[0]->id];
            for (int k = 0; k < v->naxis; k++) v->axis[k].fixed |= (m & v->axis[k].ranges) != 0;
        }
        if (n->op == OP_LOAD || n->op == OP_PRED_LOAD || n->op == OP_STORE || n->op == OP_STORE_ADD)
            if (!add_access(v, n)) return false;
    }
    return true;
}

bool view_init(struct view *v, struct ir *ir, const struct kernel *k, const struct isa *isa, int threads) {
    const struct os_cpu *cpu = os_cpu();
    memset(v, 0, sizeof *v);
    v->ir = ir, v->kernel = k, v->arena = ir->arena;
    v->isa = isa, v->vec_bytes = isa->bytes, v->features = "";
    v->threads = threads > 0 ? threads : os_cpus();
    v->l1 = cpu->l1 ? cpu->l1 : DEFAULT_L1;
    v->l2 = cpu->l2 ? cpu->l2 : DEFAULT_L2;
    v->l3 = cpu->l3;
    v->mask = arena_array(v->arena, uint64_t, ir->n);
    v->times = arena_array(v->arena, double, ir->n);
    v->memo = arena_new(v->arena, struct uop_memo);
    uop_memo_init(v->memo, v->arena);
    uop_topo(v->arena, &k->sink, 1, &v->topo);
    if (!walk(v) || !v->naxis) return false;
    estimate_asked(ir, k->sink, &v->est);
    v->ns = RG_MAX(v->est.flops / CORE_FLOP_PER_NS, v->est.bytes / CORE_BYTES_PER_NS) + v->est.special;
    double most = v->threads > 1 ? TASKS_PER_THREAD * v->threads : 1,
           more = LONG_TASKS_PER_THREAD * v->threads;
    if (v->threads >= MANY_THREADS && v->ns / LONG_TASK_NS >= more) most = more;
    v->tasks = RG_MAX(RG_MIN(most, floor(v->ns / TASK_NS)), 1);
    return true;
}

struct view *view_after(const struct view *v, struct sched *s) {
    struct view *after = arena_new(s->ir->arena, struct view);
    struct kernel *k = arena_new(s->ir->arena, struct kernel);
    *k = *v->kernel;
    k->sink = s->sink;
    if (!view_init(after, s->ir, k, v->isa, v->threads)) return NULL;
    after->features = v->features, after->vec_bytes = v->vec_bytes, after->finer = v->finer;
    return after;
}

/* ---- strides --------------------------------------------------------------------------------------- */

/* Is n minus its term in `axis` a multiple of `lanes`? */
static bool rest_divides(const struct view *v, const uop *n, int axis, int64_t lanes) {
    if (!view_depends(v, n, axis)) return uop_divides(n, lanes);
    switch (n->op) {
    case OP_RANGE: return true;
    case OP_ADD:
    case OP_SUB: return rest_divides(v, n->src[0], axis, lanes) && rest_divides(v, n->src[1], axis, lanes);
    case OP_MUL: return uop_is_const(n->src[1]) && rest_divides(v, n->src[0], axis, lanes);
    default: return false;
    }
}

static int64_t stride_in(const struct view *v, const uop *n, int axis, int64_t lanes) {
    int64_t a, b;
    if (!view_depends(v, n, axis)) return 0;
    switch (n->op) {
    case OP_RANGE: return view_axis_of(v, n) == axis;
    case OP_CAST: return stride_in(v, n->src[0], axis, lanes);
    case OP_NEG: return (a = stride_in(v, n->src[0], axis, lanes)) == NO_STRIDE ? a : -a;
    case OP_ADD:
    case OP_SUB:
        a = stride_in(v, n->src[0], axis, lanes), b = stride_in(v, n->src[1], axis, lanes);
        if (a == NO_STRIDE || b == NO_STRIDE) return NO_STRIDE;
        return n->op == OP_ADD ? a + b : a - b;
    case OP_MUL:
        a = stride_in(v, n->src[0], axis, lanes);
        if (a == NO_STRIDE || !uop_is_const(n->src[1]) || __builtin_mul_overflow(a, n->src[1]->arg.i, &b))
            return NO_STRIDE;
        return b;
    case OP_MOD:
    case OP_IDIV:
        a = stride_in(v, n->src[0], axis, lanes);
        if (a == 0) return view_depends(v, n->src[1], axis) ? NO_STRIDE : 0;
        if (a != 1 || !uop_is_const(n->src[1]) || n->src[1]->arg.i % lanes ||
            !rest_divides(v, n->src[0], axis, lanes))
            return NO_STRIDE;
        return n->op == OP_MOD ? 1 : 0;
    default: return NO_STRIDE;
    }
}

int64_t access_stride(const struct view *v, const struct access_view *s, int axis, int64_t lanes) {
    return s->mask & v->axis[axis].ranges ? stride_in(v, s->index, axis, lanes) : 0;
}

/* How often the most frequent access along the axis happens. */
static double most_times(const struct view *v, int axis) {
    double most = 0;
    for (int i = 0; i < v->naccess; i++)
        if (v->access[i].mask & v->axis[axis].ranges) most = RG_MAX(most, v->access[i].times);
    return most;
}

int view_lanes(const struct view *v, int axis) {
    int wide = 1, whole = 1; /* bytes of computed values, and of integers in memory */
    double often = most_times(v, axis) / RARE;
    bool floats = false;
    int work = 0; /* with floats */
    for (int i = 0; i < v->naccess; i++) {
        const struct access_view *s = &v->access[i];
        int *most = dt_is_float((enum dtype)s->buf->dt) ? &wide : &whole;
        if (!(s->mask & v->axis[axis].ranges)) continue;
        *most = RG_MAX(*most, s->times < often ? RG_MIN(s->bytes, 4) : s->bytes);
        floats |= most == &wide;
    }
    for (uint32_t i = 0; i < v->topo.n; i++) {
        const uop *n = v->topo.p[i];
        if (!op_is_pure((enum op)n->op) || n->dt == DT_IDX || !view_depends(v, n, axis)) continue;
        int bytes = dtype_info[n->dt].bytes;
        work += dt_is_float((enum dtype)n->dt);
        wide = RG_MAX(wide, dt_is_float((enum dtype)n->dt) ? bytes : RG_MIN(bytes, 4));
    }
    /* 64-bit integers next to floats do not narrow the vectors, nor those of a result (argmax of columns); registers of 64 bytes hold
     * enough of them, and gcc keeps two that are one vector in memory, if little is computed beside (a window's maximum: 4.5 ms, 5.7) */
    bool aside = floats && (v->vec_bytes < 64 || v->reduces || work > LITTLE_WORK);
    wide = RG_MAX(wide, aside ? RG_MIN(whole, 4) : whole);
    int lanes = RG_MIN(v->vec_bytes / wide, MOST_LANES);
    return RG_MAX(lanes, 2);
}

/* ---- legality ---------------------------------------------------------------------------------------- */

bool view_legal(const struct view *v, const char *opts) {
    if (v->asked) {
        opts = arena_printf(v->arena, "%s %s", v->prefix, opts);
        return strlen(opts) + 1 < CHOOSE_TEXT && opts_legal(v->ir, v->asked, opts, v->gpu, NULL);
    }
    return strlen(opts) + 1 < CHOOSE_TEXT && opts_legal(v->ir, v->kernel, opts, v->gpu, NULL);
}

/* ---- names ------------------------------------------------------------------------------------------- */

const char *view_new_axis(struct view *v, const char *base, const char *suffix) {
    const char *name = arena_printf(v->arena, "%s_%s", base, suffix);
    for (int i = 0; i < v->naxis; i++) {
        if (strcmp(v->axis[i].name, name)) continue;
        name = arena_printf(v->arena, "%s_%s_%d", base, suffix, v->new_axes++);
        i = -1;
    }
    return name;
}

const char *view_digits(struct view *v, const char **outer, const char **inner) {
    for (uint32_t i = 0; i < v->topo.n; i++) {
        const uop *u = v->topo.p[i];
        if ((u->op != OP_IDIV && u->op != OP_MOD) || u->src[0]->op != OP_RANGE || !uop_is_const(u->src[1]))
            continue;
        const struct axis_view *a = &v->axis[view_axis_of(v, u->src[0])];
        int64_t d = u->src[1]->arg.i;
        if (!a->grid || a->fixed || a->members != 1 || d < 2 || a->size <= d || a->size % d) continue;
        *outer = a->name, *inner = view_new_axis(v, a->name, "d");
        return arena_printf(v->arena, "TILE(%s,%lld,%s) GRID(%s)", a->name, (long long)d, *inner, *inner);
    }
    return NULL;
}

bool view_can_name(const struct view *v, const uop *buf) {
    const char *name = ir_name(v->ir, buf->arg.param.name);
    if (buf->op != OP_PARAM || !*name || name[strcspn(name, " ,()\t\r\n")]) return false;
    for (int i = 0; i < v->naccess; i++) {
        const uop *b = v->access[i].buf;
        if (b != buf && b->arg.param.name == buf->arg.param.name) return false;
    }
    return true;
}

const char *access_name(const struct view *v, const struct access_view *s) {
    return ir_name(v->ir, s->buf->arg.param.name);
}

const char *list_of(struct view *v, const char *const *name, int n) {
    const char *all = "";
    for (int i = 0; i < n; i++)
        if (*name[i]) all = *all ? arena_printf(v->arena, "%s,%s", all, name[i]) : name[i];
    return all;
}

double grid_time(const struct view *v, double grid, double most_late) {
    double late = v->threads == 1 ? 0 : RG_MIN(RG_MAX(v->threads / 16.0, FEWEST_LATE), 1) * most_late;
    return (ceil(grid / v->threads) + late) / grid;
}
