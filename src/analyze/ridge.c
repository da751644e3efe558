/* ridge.c: the account of a Ridge program: budget, causes with advice, kernels grouped by what asked for them.
 *
 * Such a profile holds every public call, stage, kernel, copy and wait, so nothing has to be guessed: each moment of
 * the thread that runs kernels belongs to the innermost record around it, and to the user's code where there is none. Only
 * the time that was recorded counts. The budget sums to the wall because the walk cuts time at the records' ends.
 * Causes are told from 2 % of the wall on; the gain of each is a ceiling.
 * Tests: tests/unit/profile.c */
#include "analyze/internal.h"

#include <stdlib.h>

#define GATE 0.02
#define GOOD_ROOF 0.6  /* a kernel at that share of its roof is left alone */
#define SMALL_NS 10000 /* a tiny kernel */

/* ---- the budget ---------------------------------------------------------------------------------------- */

struct frame {
    uint32_t ev;
    int64_t end;
    uint8_t cause;
    bool sticky;
};
struct walk {
    struct diag *d;
    const struct trace_span *on; /* when it was recorded */
    uint32_t spans, at;
    int64_t now;
    VEC(struct frame) stack;
    VEC(struct idle_piece) piece;
};

/* What a record's own time is; BUDGET_KEYS: it only marks a part of the program. */
static int cause_of(const struct trace *t, const struct trace_event *e) {
    const char *name = trace_str(t, e->name);
    if (e->kind == TK_OP && (!strncmp(name, "rg_load", 7) || !strncmp(name, "rg_save", 7)))
        return BUDGET_LOADER;
    switch (e->kind) {
    case TK_KERNEL: return BUDGET_KERNELS;
    case TK_COPY: return BUDGET_EXPOSED;
    case TK_SYNC: return BUDGET_SYNC;
    case TK_PLAN: return BUDGET_PLAN;
    case TK_COMPILE: return BUDGET_COMPILE;
    case TK_OVERHEAD: return BUDGET_PROFILER;
    case TK_OP:
    case TK_API:
    case TK_LAUNCH: return BUDGET_DISPATCH;
    default: return BUDGET_KEYS;
    }
}

static void add_piece(struct walk *w, int64_t a, int64_t b, int cause, uint32_t ev) {
    struct diag *d = w->d;
    while (w->at < w->spans && w->on[w->at].t1 <= a) w->at++;
    for (uint32_t i = w->at; i < w->spans && w->on[i].t0 < b; i++) {
        int64_t x = RG_MAX(a, w->on[i].t0), y = RG_MIN(b, w->on[i].t1);
        if (y <= x) continue;
        d->budget[cause] += y - x;
        if (cause != BUDGET_KERNELS)
            vec_push(&d->arena, &w->piece, ((struct idle_piece){x, y, ev, (uint8_t)cause}));
    }
}

static void walk_to(struct walk *w, int64_t to) {
    while (w->now < to) {
        while (w->stack.n && w->stack.p[w->stack.n - 1].end <= w->now) w->stack.n--;
        const struct frame *f = w->stack.n ? &w->stack.p[w->stack.n - 1] : NULL;
        int64_t until = f ? RG_MIN(to, f->end) : to;
        add_piece(w, w->now, until, f ? f->cause : BUDGET_USER, f ? f->ev : 0);
        w->now = until;
    }
}

/* Compilers run inside other stages and other stages inside them: what began first wins there. */
static void enter(struct walk *w, uint32_t x) {
    const struct trace_event *e = &w->d->t->ev[x];
    int cause = cause_of(w->d->t, e);
    if (cause == BUDGET_KEYS || e->dur <= 0) return;
    walk_to(w, e->t0);
    while (w->stack.n && w->stack.p[w->stack.n - 1].end <= w->now) w->stack.n--;
    const struct frame *top = w->stack.n ? &w->stack.p[w->stack.n - 1] : NULL;
    struct frame f = {x + 1, trace_end(e), (uint8_t)cause, cause == BUDGET_COMPILE || cause == BUDGET_PLAN};
    if (top && top->sticky && cause != BUDGET_PROFILER) f.cause = top->cause, f.ev = top->ev, f.sticky = true;
    vec_push(&w->d->arena, &w->stack, f);
}

/* The thread that ran kernels longest; without any, the one with most records. Events of it, in order. */
static struct device_list busiest(struct diag *d) {
    struct trace *t = d->t;
    uint32_t best = 0, n = 0;
    int64_t most = -1;
    for (uint32_t i = 0; i < t->lanes.n; i++) {
        int64_t ns = t->lanes.p[i].n;
        for (uint32_t k = 0; t->lanes.p[i].kind == LANE_DEVICE && k < t->lanes.p[i].n; k++)
            ns += t->ev[t->order[t->lanes.p[i].first + k]].dur;
        if (ns > most) most = ns, best = i;
    }
    struct device_list l = {arena_raw(&d->arena, ((size_t)t->n + 1) * sizeof *l.p), 0};
    uint32_t *tmp = arena_raw(&d->arena, ((size_t)t->n + 1) * sizeof *tmp);
    for (uint32_t i = 0; i < t->lanes.n; i++) {
        const struct trace_lane *x = &t->lanes.p[i];
        if (x->tid != t->lanes.p[best].tid) continue;
        memcpy(l.p + n, t->order + x->first, x->n * sizeof *l.p);
        n += x->n;
    }
    l.n = n;
    trace_sort(t->ev, l.p, l.n, tmp);
    return l;
}

/* A program that marks no steps: each replay is one; without replays, each run. */
static void runs_as_steps(struct diag *d, const struct device_list *l) {
    struct trace *t = d->t;
    bool replays = false;
    if (d->steps.n) return;
    for (uint32_t i = 0; i < l->n; i++)
        replays |= t->ev[l->p[i]].kind == TK_API && t->ev[l->p[i]].flags & TF_GRAPH;
    for (uint32_t i = 0; i < l->n; i++) {
        const struct trace_event *e = &t->ev[l->p[i]];
        if (e->kind != TK_API || (replays && !(e->flags & TF_GRAPH))) continue;
        vec_push(&d->arena, &d->steps, ((struct step_row){.t0 = e->t0, .t1 = trace_end(e), .name = e->name}));
    }
}

void ridge_account(struct diag *d) {
    struct trace *t = d->t;
    struct device_list l = busiest(d);
    struct walk w = {.d = d, .on = t->recorded.p, .spans = t->recorded.n};
    struct trace_span all = {0, 0};
    for (uint32_t i = 0; i < t->n; i++)
        if (t->ev[i].kind != TK_MEM) all.t1 = RG_MAX(all.t1, trace_end(&t->ev[i]));
    if (!w.spans) w.on = &all, w.spans = 1;
    d->w0 = w.now = w.on[0].t0;
    d->w1 = w.on[w.spans - 1].t1;
    for (uint32_t i = 0; i < w.spans; i++) d->wall_ns += w.on[i].t1 - w.on[i].t0;
    vec_need(&d->arena, &w.piece, 2 * l.n + 1); /* about as many as there will be: growing would copy them all */
    for (uint32_t i = 0; i < l.n; i++) enter(&w, l.p[i]);
    walk_to(&w, d->w1);
    runs_as_steps(d, &l);
    d->idle = w.piece.p;
    d->idle_n = w.piece.n;
    d->busy_ns = d->budget[BUDGET_KERNELS] + d->budget[BUDGET_EXPOSED];
    d->residual = d->wall_ns;
    for (int k = 0; k < BUDGET_KEYS; k++) d->residual -= d->budget[k];
    uint32_t device = t->blocks.n ? t->blocks.p[0].device : 0;
    for (uint32_t i = 0; i < t->n && !device; i++)
        if (t->ev[i].kind == TK_API) device = t->ev[i].name;
    snprintf(d->device_name, sizeof d->device_name, "%s", trace_str(t, device));
}

/* ---- causes --------------------------------------------------------------------------------------------- */

static double ms(int64_t ns) { return (double)ns / 1e6; }

static void add(struct diag *d, int id, int64_t lost, const char *where, const char *signal,
                const char *fix) {
    struct cause c = {
        .id = id, .lost_ns = lost, .gain_ns = lost, .where = where, .signal = signal, .fix = fix};
    vec_push(&d->arena, &d->causes, c);
}

static bool worth(const struct diag *d, int64_t lost) {
    return lost > 0 && (double)lost >= GATE * (double)d->wall_ns;
}

/* The user's line that most of this time was spent under, with the function he called. */
static const char *place_of(struct diag *d, int budget) {
    struct trace *t = d->t;
    struct map sum;
    uint64_t best = 0;
    uint32_t ev = 0;
    map_init(&sum, &d->arena);
    for (uint32_t i = 0; i < d->idle_n; i++) {
        const struct idle_piece *p = &d->idle[i];
        uint32_t x = p->cause == budget ? p->ev : 0;
        while (x && !(t->ev[x - 1].kind == TK_OP && t->ev[x - 1].args)) x = t->ev[x - 1].link;
        if (!x) continue;
        uint64_t key = (uint64_t)t->ev[x - 1].args << 32 | t->ev[x - 1].name, v = 0;
        map_get(&sum, key, &v);
        v += (uint64_t)(p->t1 - p->t0);
        map_put(&sum, key, v);
        if (v > best) best = v, ev = x;
    }
    if (!ev) return "";
    return arena_printf(&d->arena, "%s, %s", trace_str(t, t->ev[ev - 1].args),
                        trace_str(t, t->ev[ev - 1].name));
}

static uint32_t count_kind(const struct diag *d, int kind, uint8_t flags) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < d->t->n; i++)
        n += d->t->ev[i].kind == kind && (!flags || d->t->ev[i].flags & flags);
    return n;
}

static uint32_t compiler_runs(const struct diag *d) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < d->t->n; i++) {
        const char *name = trace_str(d->t, d->t->ev[i].name);
        n += d->t->ev[i].kind == TK_COMPILE && strcmp(name, "cache") && strcmp(name, "compile");
    }
    return n;
}

static void host(struct diag *d) {
    uint32_t runs = count_kind(d, TK_API, 0), replays = count_kind(d, TK_API, TF_GRAPH);
    int64_t lost = d->budget[BUDGET_COMPILE];
    uint32_t compiled = compiler_runs(d);
    if (worth(d, lost) && compiled)
        add(d, CAUSE_COMPILE, lost, place_of(d, BUDGET_COMPILE),
            arena_printf(&d->arena,
                         "kernels that are not in the cache on disk yet are compiled (%u compiler runs)",
                         compiled),
            "run it again: a second start compiles nothing. A number that changes belongs into rg_scalar or "
            "rg_index");
    else if (worth(d, lost))
        add(d, CAUSE_COMPILE, lost, place_of(d, BUDGET_COMPILE),
            "compiled kernels are taken from the cache on disk",
            "once per start of the program: record more steps, or leave the first ones out "
            "(rg_profile_start)");
    lost = d->budget[BUDGET_PLAN];
    if (worth(d, lost))
        add(d, CAUSE_PLAN, lost, place_of(d, BUDGET_PLAN),
            arena_printf(&d->arena,
                         "%u programs were run, %u of them replayed; new ones are planned and lowered", runs,
                         replays),
            "once per program: more steps, or equal shapes in each; numbers that change as rg_scalar or "
            "rg_index");
    lost = d->budget[BUDGET_DISPATCH];
    bool small = d->small_ns * 2 >= d->budget[BUDGET_KERNELS] && d->kernel_count;
    if (worth(d, lost))
        add(d, small ? CAUSE_SMALL : CAUSE_DISPATCH, lost, place_of(d, BUDGET_DISPATCH),
            arena_printf(
                &d->arena,
                "graph building and binding: %.2f us for each of %llu kernels, which take %.1f us each",
                (double)lost / 1e3 / (double)RG_MAX(d->kernel_count, 1u), (unsigned long long)d->kernel_count,
                (double)d->budget[BUDGET_KERNELS] / 1e3 / (double)RG_MAX(d->kernel_count, 1u)),
            replays * 2 > runs ? "larger batches: more work in each kernel"
                               : "record the step with rg_jit_new and replay it; larger batches");
}

static void outside(struct diag *d) {
    int64_t lost = d->budget[BUDGET_SYNC];
    if (worth(d, lost))
        add(d, CAUSE_SYNC, lost, place_of(d, BUDGET_SYNC),
            arena_printf(&d->arena, "%u waits for the device", count_kind(d, TK_SYNC, 0)),
            "read results every few steps only, or with rg_read_async and one rg_wait");
    lost = d->budget[BUDGET_EXPOSED];
    double bytes = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < d->t->n; i++) {
        const struct trace_copy_args *c =
            d->t->ev[i].kind == TK_COPY ? trace_blob(d->t, d->t->ev[i].args, sizeof *c) : NULL;
        if (c) bytes += (double)c->bytes, n++;
    }
    if (worth(d, lost))
        add(d, CAUSE_EXPOSED, lost, place_of(d, BUDGET_EXPOSED),
            arena_printf(&d->arena, "%u copies of %.1f MB in all", n, bytes / 1e6),
            "keep the data in one tensor and pick batches with rg_take; read less, or less often");
    lost = d->budget[BUDGET_LOADER];
    if (worth(d, lost))
        add(d, CAUSE_LOADER, lost, place_of(d, BUDGET_LOADER),
            "files are read or written, or a batch is waited for",
            "load once, before the steps; let rg_loader prepare batches in its thread; save less often");
    lost = d->budget[BUDGET_USER];
    if (worth(d, lost))
        add(d, CAUSE_USER, lost, "", "your own code between the calls of Ridge, while nothing is computed",
            "load and prepare data with rg_loader (another thread); log less often");
}

/* On a CPU a kernel keeps at least one core busy, unless somebody else has it. */
static bool contended(const struct diag *d) {
    int64_t working = d->budget[BUDGET_KERNELS] + d->budget[BUDGET_PLAN] + d->budget[BUDGET_DISPATCH];
    return d->t->cpu_ns && !d->t->unfinished && !strcmp(d->device_name, "CPU") &&
           (double)d->t->cpu_ns < 0.8 * (double)working;
}

static void machine(struct diag *d) {
    if (!contended(d)) return;
    const char *why =
        arena_printf(&d->arena, "other programs had the machine: this one got %.1f cores on average",
                     (double)d->t->cpu_ns / (double)RG_MAX(d->wall_ns, 1));
    vec_push(&d->arena, &d->capture, ((struct note){"contended", why, "record again when it is quiet"}));
}

/* Kernels far from what the machine allows: all of them together, named by the worst. */
static void below_roof(struct diag *d) {
    int64_t lost = 0, worst = 0;
    const struct kernel_row *top = NULL;
    for (uint32_t i = 0; i < d->kernels.n; i++) {
        const struct kernel_row *k = &d->kernels.p[i];
        int64_t over = (int64_t)((double)k->ns * (1 - k->roof));
        if (!k->modelled || k->roof >= GOOD_ROOF) continue;
        lost += over;
        if (over > worst) worst = over, top = k;
    }
    lost = RG_MIN(lost, d->budget[BUDGET_KERNELS]);
    if (!worth(d, lost)) return;
    const char *name = trace_str(d->t, top->name), *limit = trace_str(d->t, top->limit);
    bool overhead = !strcmp(limit, "overhead");
    add(d, CAUSE_ROOF, lost, trace_str(d->t, top->where),
        arena_printf(&d->arena,
                     "kernels under %.0f%% of their roof; the largest gap: %.40s, %.2f ms at %.0f%% (%s)",
                     100 * GOOD_ROOF, name, ms(top->ns), 100 * top->roof, limit),
        contended(d) ? "the machine was shared: measure again when it is quiet"
        : overhead   ? "too little work in it: a larger batch, or values computed together"
                     : "the kernel, not your program: DEBUG=3 shows its opts, `ridge opt` tries others");
}

static void growth(struct diag *d) {
    if (!d->mem_leak) return;
    add(d, CAUSE_GROWTH, 0, "",
        arena_printf(&d->arena, "device memory grows by %.1f MB per step", (double)d->mem_growth_step / 1e6),
        "end the scope of each step (RG_SCOPE), or free what it keeps");
    d->causes.p[d->causes.n - 1].note = true;
}

void ridge_causes(struct diag *d) {
    host(d);
    outside(d);
    below_roof(d);
    machine(d);
    growth(d);
}

/* ---- groups ---------------------------------------------------------------------------------------------- */

const char *group_text(int by) {
    static const char *const text[GROUPS] = {"kernel", "op", "line", "module"};
    return by >= 0 && by < GROUPS ? text[by] : "?";
}

static int dearest(const void *x, const void *y) {
    const struct group_row *a = x, *b = y;
    if (a->ns != b->ns) return a->ns > b->ns ? -1 : 1;
    return a->name < b->name ? -1 : a->name > b->name;
}

uint32_t diag_group(struct diag *d, int by, struct group_row **rows) {
    VEC(struct group_row) out = {0};
    struct map at;
    map_init(&at, &d->arena);
    for (uint32_t i = 0; i < d->kernels.n; i++) {
        const struct kernel_row *k = &d->kernels.p[i];
        uint32_t name = by == GROUP_KERNEL ? k->name
                        : by == GROUP_OP   ? k->op
                        : by == GROUP_LINE ? k->where
                                           : k->module;
        uint64_t n = out.n;
        if (!map_get(&at, name, &n)) {
            map_put(&at, name, n);
            vec_push(&d->arena, &out, ((struct group_row){.name = name}));
        }
        struct group_row *r = &out.p[n];
        r->count += k->count;
        r->ns += k->ns;
        r->flops += k->flops * k->count;
        r->bytes += k->bytes * k->count;
        if (k->modelled) r->roof_ns += k->roof * (double)k->ns, r->roof_of += k->ns;
    }
    if (out.n) qsort(out.p, out.n, sizeof *out.p, dearest);
    *rows = out.p;
    return out.n;
}
