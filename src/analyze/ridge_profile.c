/* ridge.c: the account of a Ridge program: its budget, and kernels grouped by what asked for them.
 *
 * Such a profile holds every public call, stage, kernel, copy and wait, so nothing has to be guessed: each moment of
 * the thread that runs kernels belongs to the innermost record around it, and to the user's code where there is none. Only
 * the time that was recorded counts. The budget sums to the wall because the walk cuts time at the records' ends.
 * Of a device that works by itself its own times count first: a moment is a kernel's while any runs, else a copy's, and
 * only while it has nothing to do what the thread that asks for its work was at.
 * Tests: tests/unit/profile.c */
#include "analyze/internal.h"

#include <stdlib.h>

/* ---- the budget ---------------------------------------------------------------------------------------- */

struct profile_frame {
    uint32_t ev;
    int64_t end;
    uint8_t cause;
    bool sticky;
};
struct busy { /* a time in which the device works by itself */
    int64_t t0, t1;
    uint32_t ev;
    uint8_t cause;
};
typedef VEC(struct busy) busy_list;
struct profile_walk {
    struct diag *d;
    bool no_calls, no_work; /* not recorded: the user's calls; kernels, or what the compiler did */
    busy_list busy;         /* in order, disjoint */
    uint32_t busy_at;
    const struct trace_span *on; /* when it was recorded */
    uint32_t spans, at;
    int64_t now;
    VEC(struct profile_frame) stack;
    VEC(struct idle_piece) piece;
};

/* What a record's own time is; BUDGET_KEYS: it only marks a part of the program. */
static int cause_of(const struct trace *t, const struct trace_event *e) {
    const char *name = trace_str(t, e->name);
    if (e->kind == TK_OP && (!strncmp(name, "rg_load", 7) || !strncmp(name, "rg_save", 7)))
        return BUDGET_LOADER;
    switch (e->kind) {
    case TK_KERNEL: return BUDGET_KERNELS;
    case TK_COMM:
    case TK_COLLECTIVE: return BUDGET_COMM;
    case TK_COPY: return BUDGET_EXPOSED;
    case TK_SYNC: return BUDGET_SYNC;
    case TK_PLAN: return BUDGET_PLAN;
    case TK_COMPILE: return BUDGET_COMPILE;
    case TK_OVERHEAD: return BUDGET_PROFILER;
    case TK_API: return e->flags & (TF_H2D | TF_D2H | TF_D2D) ? BUDGET_EXPOSED : BUDGET_DISPATCH;
    case TK_OP:
    case TK_LAUNCH: return BUDGET_DISPATCH;
    default: return BUDGET_KEYS;
    }
}

static void add_piece(struct profile_walk *w, int64_t a, int64_t b, int cause, uint32_t ev) {
    struct diag *d = w->d;
    if ((cause == BUDGET_DISPATCH && (w->no_calls || w->no_work)) || (cause == BUDGET_USER && w->no_calls))
        cause = BUDGET_OTHER;
    while (w->at < w->spans && w->on[w->at].t1 <= a) w->at++;
    for (uint32_t i = w->at; i < w->spans && w->on[i].t0 < b; i++) {
        int64_t x = RG_MAX(a, w->on[i].t0), y = RG_MIN(b, w->on[i].t1);
        if (y <= x) continue;
        d->budget[cause] += y - x;
        if (cause != BUDGET_KERNELS)
            vec_push(&d->arena, &w->piece, ((struct idle_piece){x, y, ev, (uint8_t)cause}));
    }
}

/* The same, but for the parts in which the device works by itself. */
static void add_times(struct profile_walk *w, int64_t a, int64_t b, int cause, uint32_t ev) {
    while (w->busy_at < w->busy.n && w->busy.p[w->busy_at].t1 <= a) w->busy_at++;
    for (uint32_t i = w->busy_at; i < w->busy.n && w->busy.p[i].t0 < b; i++) {
        const struct busy *x = &w->busy.p[i];
        if (x->t0 > a) add_piece(w, a, x->t0, cause, ev);
        int64_t from = RG_MAX(a, x->t0), to = RG_MIN(b, x->t1);
        add_piece(w, from, to, x->cause, x->ev);
        a = to;
    }
    if (a < b) add_piece(w, a, b, cause, ev);
}

static void walk_to(struct profile_walk *w, int64_t to) {
    while (w->now < to) {
        while (w->stack.n && w->stack.p[w->stack.n - 1].end <= w->now) w->stack.n--;
        const struct profile_frame *f = w->stack.n ? &w->stack.p[w->stack.n - 1] : NULL;
        int64_t until = f ? RG_MIN(to, f->end) : to;
        add_times(w, w->now, until, f ? f->cause : BUDGET_USER, f ? f->ev : 0);
        w->now = until;
    }
}

/* Compilers run inside other stages and other stages inside them: what began first wins there. */
static void enter(struct profile_walk *w, uint32_t x) {
    const struct trace_event *e = &w->d->t->ev[x];
    int cause = cause_of(w->d->t, e);
    if (cause == BUDGET_KEYS || e->dur <= 0) return;
    walk_to(w, e->t0);
    while (w->stack.n && w->stack.p[w->stack.n - 1].end <= w->now) w->stack.n--;
    const struct profile_frame *top = w->stack.n ? &w->stack.p[w->stack.n - 1] : NULL;
    struct profile_frame f = {x + 1, trace_end(e), (uint8_t)cause,
                              cause == BUDGET_COMPILE || cause == BUDGET_PLAN};
    if (top && top->sticky && cause != BUDGET_PROFILER) f.cause = top->cause, f.ev = top->ev, f.sticky = true;
    vec_push(&w->d->arena, &w->stack, f);
    /* A recorded launch takes longer: all but twice what empty kernels took before. */
    int64_t alone = 2 * (int64_t)w->d->t->launch_ns * e->args;
    if (e->kind == TK_LAUNCH && alone > 0 && alone < e->dur && f.cause == BUDGET_DISPATCH) {
        f.cause = BUDGET_PROFILER, f.end = e->t0 + e->dur - alone;
        vec_push(&w->d->arena, &w->stack, f);
    }
}

/* Times in which something of this kind runs on a lane that the device has for itself; `at`: such events by time. */
static busy_list unite(struct diag *d, const uint32_t *at, uint32_t n, int kind, int cause) {
    busy_list l = {0};
    for (uint32_t i = 0; i < n; i++) {
        const struct trace_event *e = &d->t->ev[at[i]];
        if (e->kind != kind) continue;
        struct busy *top = l.n ? &l.p[l.n - 1] : NULL;
        if (top && e->t0 <= top->t1)
            top->t1 = RG_MAX(top->t1, trace_end(e));
        else
            vec_push(&d->arena, &l, ((struct busy){e->t0, trace_end(e), at[i] + 1, (uint8_t)cause}));
    }
    return l;
}

static int busy_order(const void *x, const void *y) {
    const struct busy *a = x, *b = y;
    return a->t0 < b->t0 ? -1 : a->t0 > b->t0;
}

/* Between two kernels that were queued the device writes the times of the first: recording, not the program. */
static void add_recording(struct profile_walk *w) {
    enum { QUEUED_NS = 10000 };
    struct diag *d = w->d;
    int64_t cost = d->t->kernel_record_ns;
    uint32_t n = w->busy.n;
    for (uint32_t i = 0; cost && i + 1 < n; i++) {
        const struct busy *a = &w->busy.p[i], *b = a + 1;
        int64_t gap = b->t0 - a->t1;
        if (a->cause != BUDGET_KERNELS || gap <= 0 || gap > QUEUED_NS) continue;
        struct busy x = {a->t1, a->t1 + RG_MIN(gap, cost), 0, BUDGET_PROFILER};
        vec_push(&d->arena, &w->busy, x);
    }
    if (w->busy.n > n) qsort(w->busy.p, w->busy.n, sizeof *w->busy.p, busy_order);
}

/* Kernels without the times in which another process has the GPU. */
static busy_list without_slices(struct diag *d, const busy_list *kernels, const span_list *slices) {
    busy_list l = {0};
    uint32_t k = 0;
    for (uint32_t i = 0; i < kernels->n; i++) {
        struct busy b = kernels->p[i];
        for (; k < slices->n && slices->p[k].t0 < b.t1; k++) {
            const struct trace_span *x = &slices->p[k];
            if (x->t0 > b.t0) vec_push(&d->arena, &l, ((struct busy){b.t0, x->t0, b.ev, b.cause}));
            vec_push(&d->arena, &l, ((struct busy){x->t0, x->t1, 0, BUDGET_QUEUED}));
            b.t0 = x->t1, d->slices++;
        }
        if (b.t0 < b.t1) vec_push(&d->arena, &l, b);
    }
    return l;
}

/* Kernels, and what of the copies no kernel hides. */
static void find_busy(struct profile_walk *w) {
    struct diag *d = w->d;
    struct trace *t = d->t;
    uint32_t n = 0, *at = arena_raw(&d->arena, ((size_t)t->n + 1) * sizeof *at);
    uint32_t *tmp = arena_raw(&d->arena, ((size_t)t->n + 1) * sizeof *tmp);
    for (uint32_t i = 0; i < t->n; i++)
        if (t->lanes.p[t->ev[i].lane].async && t->ev[i].dur > 0) at[n++] = i;
    trace_sort(t->ev, at, n, tmp);
    busy_list kernels = unite(d, at, n, TK_KERNEL, BUDGET_KERNELS),
              copies = unite(d, at, n, TK_COPY, BUDGET_EXPOSED);
    span_list slices = ridge_interrupted(d, at, n);
    if (slices.n) kernels = without_slices(d, &kernels, &slices);
    for (uint32_t i = 0, k = 0; i < copies.n; i++) {
        struct busy c = copies.p[i];
        while (k < kernels.n && kernels.p[k].t1 <= c.t0) k++;
        for (uint32_t j = k; j < kernels.n && kernels.p[j].t0 < c.t1; j++) {
            if (kernels.p[j].t0 > c.t0)
                vec_push(&d->arena, &w->busy, ((struct busy){c.t0, kernels.p[j].t0, c.ev, c.cause}));
            c.t0 = kernels.p[j].t1;
        }
        if (c.t0 < c.t1) vec_push(&d->arena, &w->busy, c);
    }
    for (uint32_t i = 0; i < kernels.n; i++) vec_push(&d->arena, &w->busy, kernels.p[i]);
    if (w->busy.n) qsort(w->busy.p, w->busy.n, sizeof *w->busy.p, busy_order);
    add_recording(w);
}

/* The thread that ran kernels longest, or asked a device for most of them; without any, the one with most records. Events
 * of it, in order. */
static struct device_list busiest(struct diag *d) {
    struct trace *t = d->t;
    uint32_t best = 0, n = 0;
    int64_t most = -1;
    for (uint32_t i = 0; i < t->lanes.n; i++) {
        const struct trace_lane *l = &t->lanes.p[i];
        int64_t ns = l->n;
        for (uint32_t k = 0; (l->kind == LANE_DEVICE || t->async) && k < l->n; k++) {
            const struct trace_event *e = &t->ev[t->order[l->first + k]];
            if (l->kind == LANE_DEVICE && e->kind != TK_COMM)
                ns += e->dur; /* those may have a thread of their own */
            if (e->kind == TK_LAUNCH) ns += t->n;
        }
        if (l->async) continue;
        if (ns > most) most = ns, best = i;
    }
    struct device_list l = {arena_raw(&d->arena, ((size_t)t->n + 1) * sizeof *l.p), 0};
    uint32_t *tmp = arena_raw(&d->arena, ((size_t)t->n + 1) * sizeof *tmp);
    for (uint32_t i = 0; i < t->lanes.n; i++) {
        const struct trace_lane *x = &t->lanes.p[i];
        if (x->tid != t->lanes.p[best].tid || x->async) continue;
        memcpy(l.p + n, t->order + x->first, x->n * sizeof *l.p);
        n += x->n;
    }
    l.n = n;
    trace_sort(t->ev, l.p, l.n, tmp);
    return l;
}

static int step_order(const void *key, const void *step) {
    int64_t t = *(const int64_t *)key;
    const struct step_row *s = step;
    return t < s->t0 ? -1 : t > s->t1;
}

/* A run that only asks for its kernels is over at once; a step of it lasts until they end. */
static void lengthen(struct diag *d) {
    const struct trace *t = d->t;
    int64_t *end = arena_array(&d->arena, int64_t, d->steps.n + 1);
    for (uint32_t i = 0; d->steps.n && i < t->n; i++) {
        const struct trace_event *e = &t->ev[i];
        if (!t->lanes.p[e->lane].async || !e->link) continue;
        const struct step_row *s =
            bsearch(&t->ev[e->link - 1].t0, d->steps.p, d->steps.n, sizeof *s, step_order);
        if (s) end[s - d->steps.p] = RG_MAX(end[s - d->steps.p], trace_end(e));
    }
    for (uint32_t i = 0; i < d->steps.n; i++) {
        struct step_row *s = &d->steps.p[i];
        s->t1 = RG_MAX(s->t1, i + 1 < d->steps.n ? RG_MIN(end[i], s[1].t0) : end[i]);
    }
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
        if (e->kind != TK_API || e->flags & (TF_H2D | TF_D2H | TF_D2D) || (replays && !(e->flags & TF_GRAPH)))
            continue;
        vec_push(&d->arena, &d->steps, ((struct step_row){.t0 = e->t0, .t1 = trace_end(e), .name = e->name}));
    }
    if (t->async) lengthen(d);
}

void ridge_account(struct diag *d) {
    struct trace *t = d->t;
    struct device_list l = busiest(d);
    struct profile_walk w = {.d = d, .on = t->recorded.p, .spans = t->recorded.n};
    struct trace_span all = {0, 0};
    for (uint32_t i = 0; i < t->n; i++)
        if (t->ev[i].kind != TK_MEM) all.t1 = RG_MAX(all.t1, trace_end(&t->ev[i]));
    for (uint32_t i = 0; i < t->notes.n; i++) {
        const char *s = trace_str(t, t->notes.p[i].what);
        if (strncmp(s, "not recorded:", 13)) continue;
        w.no_calls |= strstr(s, "calls") != NULL;
        w.no_work |= strstr(s, "kernels") || strstr(s, "compiler");
    }
    if (!w.spans) w.on = &all, w.spans = 1;
    d->w0 = w.now = w.on[0].t0;
    d->w1 = w.on[w.spans - 1].t1;
    for (uint32_t i = 0; i < w.spans; i++) d->wall_ns += w.on[i].t1 - w.on[i].t0;
    vec_need(&d->arena, &w.piece,
             2 * l.n + 1); /* about as many as there will be: growing would copy them all */
    if (t->async) find_busy(&w);
    for (uint32_t i = 0; i < l.n; i++) enter(&w, l.p[i]);
    walk_to(&w, d->w1);
    runs_as_steps(d, &l);
    d->idle = w.piece.p;
    d->idle_n = w.piece.n;
    ridge_phases(d);
    d->busy_ns = d->budget[BUDGET_KERNELS] + d->budget[BUDGET_EXPOSED];
    d->residual = d->wall_ns;
    for (int k = 0; k < BUDGET_KEYS; k++) d->residual -= d->budget[k];
    uint32_t device = t->blocks.n ? t->blocks.p[0].device : 0;
    for (uint32_t i = 0; i < t->n && !device; i++)
        if (t->ev[i].kind == TK_API) device = t->ev[i].name;
    snprintf(d->device_name, sizeof d->device_name, "%s", trace_str(t, device));
}
