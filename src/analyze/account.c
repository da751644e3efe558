/* account.c: where the wall time went: computation, or exposed time and its cause. Every nanosecond of the window gets
 * exactly one cause.
 *
 * The device's intervals are united by class: computation hides communication, which hides copies; what they do not
 * hide is exposed, and so are the gaps between them. A gap ends with a piece of device work, whose submitting call
 * tells the cause: submitted before the gap began, launch latency of the device; submitted later, the host was
 * late, and what its thread did meanwhile is the cause (in the order of ancestry: a tensor operator
 * inside the data loader is the data loader's). Then two what-ifs move time between causes: a blocking
 * call that kept the host from running ahead owns the idle time its absence would have hidden, and
 * dispatch in windows of tiny kernels is distinguished from dispatch in general.
 * A Ridge program knows what it does at every moment: its account is in ridge.c.
 * Invariant: the budget sums to the wall exactly, because pieces are cut, never estimated.
 * Tests: tests/unit/analyze.c (captures), tests/unit/analyze_synth.c (500 planted mixtures). */
#include "analyze/internal.h"

#include <stdlib.h>

#define TURNAROUND_NS 30000 /* a queued kernel starts within this, else something held it up */
#define USER_NS 200000      /* host time outside of operators that long is not framework overhead */
#define SMALL_NS 10000      /* a tiny kernel */
#define MODULE_LOAD_NS 1000000
#define AHEAD_NS 200000 /* work submitted that long before it starts: the host leads */
#define BLOCK_NS 5000   /* a call that returns faster did not wait */

enum { LATE = BUDGET_KEYS, /* provisional: short Python or untraced host time */ };

/* Device work by priority: what runs under a class before it is hidden by that. */
enum { BUSY_KERNEL, BUSY_COMM, BUSY_DEVCOPY, BUSY_PAGEABLE, BUSY_COPY, BUSY_SET, BUSY_CLASSES };

struct account_span {
    int64_t a, b;
};
typedef VEC(struct account_span) spans;

struct idle_gap {
    int64_t t0, t1;
    uint32_t next; /* 1 + the device event that ends it, 0 at the window's end */
    uint32_t window;
};
struct account_piece {
    int64_t t0, t1;
    uint32_t ev, gap;
    uint8_t cause;
};
struct small_window {
    int64_t t0, kernel_ns, small_ns;
};
struct account {
    struct diag *d;
    struct trace *t;
    struct arena *a;
    struct device_list dev;
    spans by_class[BUSY_CLASSES];
    spans busy;
    VEC(struct idle_gap) gaps;
    VEC(struct account_piece) pieces;
    VEC(struct small_window) windows;
    uint16_t *lane_rank; /* host lanes, busiest first */
    uint32_t lanes_n;
    bool has_host;
};

static const int class_budget[BUSY_CLASSES] = {BUDGET_KERNELS,  BUDGET_COMM,    BUDGET_DEVCOPY,
                                               BUDGET_PAGEABLE, BUDGET_EXPOSED, BUDGET_MEMSET};

static int64_t copy_bytes(const struct trace *t, const struct trace_event *e) {
    const struct trace_copy_args *c = trace_blob(t, e->args, sizeof *c);
    return c ? c->bytes : 0;
}

static int event_class(const struct trace_event *e) {
    switch (e->kind) {
    case TK_KERNEL: return BUSY_KERNEL;
    case TK_COMM: return BUSY_COMM;
    case TK_COPY:
        return e->flags & TF_D2D ? BUSY_DEVCOPY : e->flags & TF_PAGEABLE ? BUSY_PAGEABLE : BUSY_COPY;
    default: return BUSY_SET;
    }
}

/* ---- device lists and unions ----------------------------------------------------------------------- */

struct device_list device_events(struct diag *d, int32_t device) {
    struct trace *t = d->t;
    struct device_list l = {0};
    for (uint32_t i = 0; i < t->lanes.n; i++)
        if (t->lanes.p[i].kind == LANE_DEVICE && t->lanes.p[i].device == device) l.n += t->lanes.p[i].n;
    l.p = arena_raw(&d->arena, (size_t)(l.n + 1) * sizeof *l.p);
    uint32_t at = 0;
    for (uint32_t i = 0; i < t->lanes.n; i++) {
        const struct trace_lane *x = &t->lanes.p[i];
        if (x->kind != LANE_DEVICE || x->device != device) continue;
        memcpy(l.p + at, t->order + x->first, (size_t)x->n * sizeof *l.p);
        at += x->n;
    }
    struct arena_mark m = arena_mark(&d->arena);
    trace_sort(t->ev, l.p, l.n, arena_raw(&d->arena, (size_t)(l.n + 1) * sizeof *l.p));
    arena_release(&d->arena, m);
    return l;
}

static void unite(struct arena *a, spans *s, int64_t t0, int64_t t1) {
    if (t1 <= t0) return;
    if (s->n && t0 <= s->p[s->n - 1].b) {
        if (t1 > s->p[s->n - 1].b) s->p[s->n - 1].b = t1;
        return;
    }
    vec_push(a, s, ((struct account_span){t0, t1}));
}
static int64_t total(const spans *s) {
    int64_t x = 0;
    for (uint32_t i = 0; i < s->n; i++) x += s->p[i].b - s->p[i].a;
    return x;
}
static int64_t common(const spans *x, const spans *y) {
    int64_t r = 0;
    for (uint32_t i = 0, k = 0; i < x->n && k < y->n;) {
        int64_t a = RG_MAX(x->p[i].a, y->p[k].a), b = RG_MIN(x->p[i].b, y->p[k].b);
        if (b > a) r += b - a;
        if (x->p[i].b < y->p[k].b)
            i++;
        else
            k++;
    }
    return r;
}
/* Time of `s` inside [a, b). */
static int64_t inside(const spans *s, int64_t a, int64_t b) {
    uint32_t lo = 0, hi = s->n;
    while (lo < hi) {
        uint32_t m = (lo + hi) / 2;
        if (s->p[m].b <= a)
            lo = m + 1;
        else
            hi = m;
    }
    int64_t r = 0;
    for (; lo < s->n && s->p[lo].a < b; lo++) r += RG_MIN(b, s->p[lo].b) - RG_MAX(a, s->p[lo].a);
    return r;
}

static void measure_device(struct diag *d, struct device_row *r) {
    struct trace *t = d->t;
    struct device_list l = device_events(d, r->device);
    struct arena_mark m = arena_mark(&d->arena);
    spans all = {0}, kern = {0}, comm = {0}, copy = {0}, in = {0}, out = {0}, launched = {0};
    for (uint32_t i = 0; i < l.n; i++) {
        const struct trace_event *e = &t->ev[l.p[i]];
        int c = event_class(e);
        unite(&d->arena, &all, e->t0, trace_end(e));
        if (!(e->flags & TF_NOLAUNCH)) unite(&d->arena, &launched, e->t0, trace_end(e));
        bool host = c == BUSY_PAGEABLE || c == BUSY_COPY;
        if (c == BUSY_KERNEL || c == BUSY_COMM || host)
            unite(&d->arena, c == BUSY_KERNEL ? &kern : host ? &copy : &comm, e->t0, trace_end(e));
        if (host) unite(&d->arena, e->flags & TF_D2H ? &out : &in, e->t0, trace_end(e));
    }
    r->events = l.n;
    r->t0 = all.n ? all.p[0].a : 0;
    r->t1 = all.n ? all.p[all.n - 1].b : 0;
    r->busy_ns = total(&all);
    r->launched_ns = total(&launched);
    r->launched_span_ns = launched.n ? launched.p[launched.n - 1].b - launched.p[0].a : 0;
    r->kernel_ns = total(&kern);
    r->comm_ns = total(&comm);
    r->copy_ns = total(&copy);
    r->in_ns = total(&in);
    r->out_ns = total(&out);
    r->comm_under_compute = common(&comm, &kern);
    r->copy_under_compute = common(&copy, &kern);
    arena_release(&d->arena, m);
}

/* GPUs that the file describes and that did nothing. */
static void list_silent(struct diag *d) {
    uint32_t n = d->devices.n, known = 0;
    if (!n || d->t->format == TRACE_RIDGE || d->t->world > 1) return;
    for (uint32_t i = 0; i < d->t->devices.n && i < 64; i++)
        for (uint32_t k = 0; k < n; k++) known += d->devices.p[k].device == d->t->devices.p[i].id;
    if (known < n) return; /* events and descriptions count differently */
    for (uint32_t i = 0; i < d->t->devices.n && i < 64; i++) {
        int32_t id = d->t->devices.p[i].id;
        bool seen = false;
        for (uint32_t k = 0; k < d->devices.n; k++) seen |= d->devices.p[k].device == id;
        if (!seen) vec_push(&d->arena, &d->devices, ((struct device_row){.device = id, .silent = true}));
    }
}

static void list_devices(struct diag *d) {
    struct trace *t = d->t;
    for (uint32_t i = 0; i < t->lanes.n; i++) {
        const struct trace_lane *l = &t->lanes.p[i];
        if (l->kind != LANE_DEVICE || !l->n || d->devices.n >= 64) continue;
        bool known = false;
        for (uint32_t k = 0; k < d->devices.n; k++)
            if (d->devices.p[k].device == l->device) d->devices.p[k].streams++, known = true;
        if (!known)
            vec_push(&d->arena, &d->devices, ((struct device_row){.device = l->device, .streams = 1}));
    }
    int64_t best = -1;
    d->device = -1;
    for (uint32_t k = 0; k < d->devices.n; k++) {
        struct device_row *r = &d->devices.p[k];
        measure_device(d, r);
        if (r->busy_ns > best) best = r->busy_ns, d->device = r->device;
    }
    list_silent(d);
}

/* ---- the window ------------------------------------------------------------------------------------ */

static void find_steps(struct account *c) {
    struct diag *d = c->d;
    struct trace *t = c->t;
    /* Steps of one lane only: the one that has most of them. */
    uint32_t best = UINT32_MAX, most = 0;
    for (uint32_t i = 0; i < t->lanes.n; i++) {
        uint32_t n = 0;
        if (t->lanes.p[i].kind != LANE_HOST) continue;
        for (uint32_t k = 0; k < t->lanes.p[i].n; k++)
            n += t->ev[t->order[t->lanes.p[i].first + k]].kind == TK_STEP;
        if (n > most) most = n, best = i;
    }
    if (best == UINT32_MAX) return;
    const struct trace_lane *l = &t->lanes.p[best];
    for (uint32_t k = 0; k < l->n; k++) {
        const struct trace_event *e = &t->ev[t->order[l->first + k]];
        if (e->kind != TK_STEP) continue;
        if (d->steps.n && e->t0 < d->steps.p[d->steps.n - 1].t1) continue; /* nested */
        vec_push(c->a, &d->steps, ((struct step_row){.t0 = e->t0, .t1 = trace_end(e), .name = e->name}));
    }
}

/* The device's span. When that is less than half of the recorded steps (one step, or a host that
 * hardly feeds the device), the steps, unless work launched before the recording shows that the
 * device was busy then with kernels that the file does not hold. */
static void choose_window(struct account *c) {
    struct diag *d = c->d;
    int64_t a = INT64_MAX, b = INT64_MIN;
    for (uint32_t i = 0; i < c->dev.n; i++) {
        const struct trace_event *e = &c->t->ev[c->dev.p[i]];
        a = RG_MIN(a, e->t0);
        b = RG_MAX(b, trace_end(e));
    }
    if (!c->dev.n) a = b = 0;
    if (d->steps.n && c->dev.n) {
        int64_t s0 = d->steps.p[0].t0, s1 = d->steps.p[d->steps.n - 1].t1;
        bool carried = c->t->ev[c->dev.p[0]].flags & TF_NOLAUNCH;
        if (b - a < (s1 - s0) / 2) {
            if (!carried) a = RG_MIN(a, s0);
            b = RG_MAX(b, s1);
        }
    }
    d->w0 = a;
    d->w1 = b;
    d->wall_ns = b - a;
}

static uint32_t step_at(const struct diag *d, int64_t time) {
    uint32_t lo = 0, hi = d->steps.n;
    while (lo < hi) {
        uint32_t m = (lo + hi) / 2;
        if (d->steps.p[m].t0 <= time)
            lo = m + 1;
        else
            hi = m;
    }
    return lo; /* 1 + the last step that began before `time`; 0 none */
}

/* ---- busy time and gaps ---------------------------------------------------------------------------- */

static void sweep_busy(struct account *c) {
    struct diag *d = c->d;
    for (uint32_t i = 0; i < c->dev.n; i++) {
        const struct trace_event *e = &c->t->ev[c->dev.p[i]];
        unite(c->a, &c->by_class[event_class(e)], e->t0, trace_end(e));
        unite(c->a, &c->busy, e->t0, trace_end(e));
    }
    uint32_t at[BUSY_CLASSES] = {0}, next = 0;
    for (int64_t now = d->w0; now < d->w1;) {
        int64_t until = d->w1;
        int active = -1;
        for (int k = BUSY_CLASSES - 1; k >= 0; k--) {
            const spans *s = &c->by_class[k];
            while (at[k] < s->n && s->p[at[k]].b <= now) at[k]++;
            if (at[k] == s->n) continue;
            if (s->p[at[k]].a <= now) {
                active = k;
                until = RG_MIN(until, s->p[at[k]].b);
            } else {
                until = RG_MIN(until, s->p[at[k]].a);
            }
        }
        if (active >= 0) {
            d->budget[class_budget[active]] += until - now;
        } else {
            while (next < c->dev.n && c->t->ev[c->dev.p[next]].t0 < until) next++;
            uint32_t x = next < c->dev.n ? c->dev.p[next] + 1 : 0;
            vec_push(c->a, &c->gaps, ((struct idle_gap){.t0 = now, .t1 = until, .next = x}));
        }
        now = until;
    }
    d->busy_ns = total(&c->busy);
}

/* ---- what the host did in a gap -------------------------------------------------------------------- */

static void add_piece(struct account *c, int64_t a, int64_t b, int cause, uint32_t ev, uint32_t gap) {
    if (b <= a) return;
    struct account_piece *last = c->pieces.n ? &c->pieces.p[c->pieces.n - 1] : NULL;
    if (last && last->gap == gap && last->cause == cause && last->ev == ev && last->t1 == a)
        last->t1 = b;
    else
        vec_push(c->a, &c->pieces, ((struct account_piece){a, b, ev, gap, (uint8_t)cause}));
}

struct request { /* [t0, t1) of a gap to be explained by a lane's events */
    int64_t t0, t1;
    uint32_t gap, lane;
};
typedef VEC(struct request) requests;

static int leaf_cause(int kind) {
    switch (kind) {
    case TK_LOADER: return BUDGET_LOADER;
    case TK_COMPILE: return BUDGET_COMPILE;
    case TK_SYNC: return BUDGET_SYNC;
    case TK_ALLOC: return BUDGET_ALLOC;
    case TK_LAUNCH:
    case TK_GRAPH:
    case TK_API:
    case TK_OP: return BUDGET_DISPATCH;
    case TK_OVERHEAD: return BUDGET_PROFILER;
    case TK_COLLECTIVE: return BUDGET_COMM;
    default: return LATE;
    }
}

struct account_frame {
    uint32_t ev;
    int64_t end;
    uint8_t cause;
    bool sticky; /* a loader, compile or waiting ancestor wins over all inside it */
};
/* Walks one lane once; requests are sorted and disjoint. Untraced parts go to `rest`. */
static void explain_lane(struct account *c, uint32_t lane, const struct request *q, uint32_t n,
                         requests *rest) {
    struct trace *t = c->t;
    const struct trace_lane *l = &t->lanes.p[lane];
    VEC(struct account_frame) st = {0};
    uint32_t i = 0, r = 0;
    while (r < n) {
        int64_t now = q[r].t0;
        while (now < q[r].t1) {
            /* Bring the stack to `now`. */
            for (; i < l->n && t->ev[t->order[l->first + i]].t0 <= now; i++) {
                uint32_t x = t->order[l->first + i];
                const struct trace_event *e = &t->ev[x];
                if (e->kind == TK_MEM || !e->dur) continue;
                while (st.n && st.p[st.n - 1].end <= e->t0) st.n--;
                bool sticky = st.n && st.p[st.n - 1].sticky;
                struct account_frame f = {x + 1, trace_end(e), (uint8_t)leaf_cause(e->kind), sticky};
                if (sticky)
                    f.cause = st.p[st.n - 1].cause, f.ev = st.p[st.n - 1].ev;
                else
                    f.sticky = f.cause == BUDGET_LOADER || f.cause == BUDGET_COMPILE ||
                               f.cause == BUDGET_SYNC || f.cause == BUDGET_ALLOC;
                vec_push(c->a, &st, f);
            }
            while (st.n && st.p[st.n - 1].end <= now) st.n--;
            int64_t until = q[r].t1;
            if (i < l->n) until = RG_MIN(until, RG_MAX(t->ev[t->order[l->first + i]].t0, now + 1));
            if (st.n) {
                until = RG_MIN(until, st.p[st.n - 1].end);
                add_piece(c, now, until, st.p[st.n - 1].cause, st.p[st.n - 1].ev, q[r].gap);
            } else {
                vec_push(c->a, rest, ((struct request){now, until, q[r].gap, q[r].lane}));
            }
            now = until;
        }
        r++;
    }
}

static int by_lane(const void *x, const void *y) {
    const struct request *a = x, *b = y;
    if (a->lane != b->lane) return a->lane < b->lane ? -1 : 1;
    return a->t0 < b->t0 ? -1 : a->t0 > b->t0;
}
static int by_time(const void *x, const void *y) {
    const struct request *a = x, *b = y;
    return a->t0 < b->t0 ? -1 : a->t0 > b->t0;
}

/* Each request first by the thread that launched, what that leaves untraced by the other threads. */
static void explain(struct account *c, requests *all) {
    requests rest = {0};
    if (all->n) qsort(all->p, all->n, sizeof *all->p, by_lane);
    for (uint32_t i = 0; i < all->n;) {
        uint32_t k = i;
        while (k < all->n && all->p[k].lane == all->p[i].lane) k++;
        explain_lane(c, all->p[i].lane, all->p + i, k - i, &rest);
        i = k;
    }
    for (uint32_t k = 0; k < c->lanes_n && k < 8 && rest.n; k++) {
        requests left = {0}, own = {0};
        uint32_t pid = c->t->lanes.p[c->lane_rank[k]].pid;
        qsort(rest.p, rest.n, sizeof *rest.p, by_time);
        for (uint32_t i = 0; i < rest.n; i++) /* what another process does explains nothing */
            vec_push(c->a, c->t->lanes.p[rest.p[i].lane].pid == pid ? &own : &left, rest.p[i]);
        explain_lane(c, c->lane_rank[k], own.p, own.n, &left);
        rest = left;
    }
    for (uint32_t i = 0; i < rest.n; i++)
        add_piece(c, rest.p[i].t0, rest.p[i].t1, c->has_host ? LATE : BUDGET_OTHER, 0, rest.p[i].gap);
}

static void rank_lanes(struct account *c) {
    struct trace *t = c->t;
    uint32_t *weight = arena_array(c->a, uint32_t, t->lanes.n + 1);
    c->lane_rank = arena_array(c->a, uint16_t, t->lanes.n + 1);
    for (uint32_t i = 0; i < t->lanes.n; i++) {
        const struct trace_lane *l = &t->lanes.p[i];
        if (l->kind != LANE_HOST || !l->n) continue;
        for (uint32_t k = 0; k < l->n; k++) {
            uint8_t kind = t->ev[t->order[l->first + k]].kind;
            weight[i] += kind == TK_OP || kind == TK_PY || kind == TK_STEP ? 4 : 1;
            c->has_host |= kind == TK_OP || kind == TK_PY || kind == TK_STEP || kind == TK_ANNOT ||
                           kind == TK_COLLECTIVE;
        }
        uint32_t at = c->lanes_n++;
        for (; at && weight[c->lane_rank[at - 1]] < weight[i]; at--) c->lane_rank[at] = c->lane_rank[at - 1];
        c->lane_rank[at] = (uint16_t)i;
    }
}

/* Inside an operator that waits (aten::item): its own copy is part of the wait. */
static bool waits_around(const struct trace *t, uint32_t x) {
    for (int k = 0; x && k < 8; x = t->ev[x - 1].link, k++)
        if (t->ev[x - 1].kind == TK_SYNC) return true;
    return false;
}

static void explain_gaps(struct account *c) {
    struct trace *t = c->t;
    requests all = {0};
    for (uint32_t g = 0; g < c->gaps.n; g++) {
        const struct idle_gap *x = &c->gaps.p[g];
        const struct trace_event *n = x->next ? &t->ev[x->next - 1] : NULL;
        const struct trace_event *l = n && n->link ? &t->ev[n->link - 1] : NULL;
        uint32_t main_lane = c->lanes_n ? c->lane_rank[0] : UINT32_MAX;
        if (!l) {
            bool ran = n && x->t1 - x->t0 < TURNAROUND_NS;
            if (ran)
                add_piece(c, x->t0, x->t1, BUDGET_QUEUED, 0, g);
            else if (main_lane == UINT32_MAX)
                add_piece(c, x->t0, x->t1, BUDGET_OTHER, 0, g);
            else
                vec_push(c->a, &all, ((struct request){x->t0, x->t1, g, main_lane}));
            continue;
        }
        bool staged = n->kind == TK_COPY && n->flags & TF_PAGEABLE && copy_bytes(t, n) >= 65536;
        int call = staged ? BUDGET_PAGEABLE : waits_around(t, n->link) ? BUDGET_SYNC : BUDGET_DISPATCH;
        int64_t ls = RG_MIN(RG_MAX(l->t0, x->t0), x->t1), le = RG_MIN(RG_MAX(trace_end(l), ls), x->t1);
        if (ls > x->t0) vec_push(c->a, &all, ((struct request){x->t0, ls, g, l->lane}));
        /* The call itself; a launch of more than a millisecond loads code. */
        bool load = !staged && le - ls > MODULE_LOAD_NS && (l->kind == TK_LAUNCH || l->kind == TK_GRAPH);
        add_piece(c, ls, le, load ? BUDGET_COMPILE : call, n->link, g);
        int64_t rest = x->t1 - le;
        if (l->t0 <= x->t0)
            add_piece(c, le, x->t1, rest < TURNAROUND_NS ? BUDGET_QUEUED : BUDGET_DEPEND, 0, g);
        else if (rest < 200000 || staged)
            add_piece(c, le, x->t1, call, n->link, g);
        else
            add_piece(c, le, x->t1, BUDGET_UNEXPLAINED, 0, g);
    }
    explain(c, &all);
}

/* ---- the what-ifs ---------------------------------------------------------------------------------- */

static int piece_order(const void *x, const void *y) {
    const struct account_piece *a = x, *b = y;
    return a->t0 < b->t0 ? -1 : a->t0 > b->t0;
}

static bool library_frame(const char *s) {
    return !strncmp(s, "torch/", 6) || !strncmp(s, "nn.Module", 9) || strstr(s, "site-packages/torch") ||
           strstr(s, "dist-packages/torch") || strstr(s, "method") || !strncmp(s, "jax/", 4);
}

/* Runs of host time outside of operators: framework overhead when short, the user's code when long. */
static void settle_late(struct account *c) {
    struct trace *t = c->t;
    for (uint32_t i = 0; i < c->pieces.n;) {
        if (c->pieces.p[i].cause != LATE) {
            i++;
            continue;
        }
        uint32_t k = i;
        int64_t user = 0;
        while (k < c->pieces.n && c->pieces.p[k].cause == LATE && c->pieces.p[k].gap == c->pieces.p[i].gap &&
               (k == i || c->pieces.p[k].t0 == c->pieces.p[k - 1].t1)) {
            const struct account_piece *p = &c->pieces.p[k];
            bool lib = p->ev && t->format == TRACE_TORCH && t->ev[p->ev - 1].kind == TK_PY &&
                       library_frame(trace_str(t, t->ev[p->ev - 1].name));
            if (!lib) user += p->t1 - p->t0;
            k++;
        }
        for (; i < k; i++) c->pieces.p[i].cause = user >= USER_NS ? BUDGET_USER : BUDGET_DISPATCH;
    }
}

/* JAX does not record block_until_ready: a Python frame that was already running before the device
 * went idle, and did nothing else since its last launch, was waiting for it. */
static void settle_jax_waits(struct account *c) {
    struct trace *t = c->t;
    if (t->format != TRACE_JAX && t->format != TRACE_XPLANE) return;
    for (uint32_t i = 0; i < c->pieces.n; i++) {
        struct account_piece *p = &c->pieces.p[i];
        if (p->cause != LATE || !p->ev || p->t0 != c->gaps.p[p->gap].t0 || !p->t0) continue;
        const struct trace_event *e = &t->ev[p->ev - 1];
        if (e->t0 >= p->t0 || strstr(trace_str(t, e->name), "sleep")) continue;
        /* Busy before the gap for longer than the wait after it: the wait was for that work. */
        if (inside(&c->busy, RG_MAX(e->t0, c->d->w0), p->t0) > p->t1 - p->t0) p->cause = BUDGET_SYNC;
    }
}

struct blocker {
    int64_t t0, t1;
    uint32_t ev;
    uint8_t cause;
};

static int blocker_order(const void *x, const void *y) {
    const struct blocker *a = x, *b = y;
    if (a->t0 != b->t0) return a->t0 < b->t0 ? -1 : 1;
    return a->t1 > b->t1 ? -1 : a->t1 < b->t1;
}

/* The work a call submitted, if it was a copy from or to pageable memory: such a call waits. */
static void find_blockers(struct account *c, struct blocker **out, uint32_t *n) {
    struct trace *t = c->t;
    VEC(struct blocker) b = {0};
    uint8_t *launches = arena_array(c->a, uint8_t, t->lanes.n + 1);
    for (uint32_t i = 0; i < c->dev.n; i++) {
        const struct trace_event *e = &t->ev[c->dev.p[i]];
        if (!e->link) continue;
        const struct trace_event *l = &t->ev[e->link - 1];
        launches[l->lane] = 1;
        if (e->kind != TK_COPY || !(e->flags & TF_PAGEABLE) || l->dur < BLOCK_NS) continue;
        int64_t bytes = copy_bytes(t, e);
        if (e->flags & TF_H2D && bytes <= 65536) continue; /* staged, does not wait */
        bool big = bytes >= 1 << 20 || e->flags & TF_H2D;
        vec_push(c->a, &b,
                 ((struct blocker){l->t0, trace_end(l), e->link, big ? BUDGET_PAGEABLE : BUDGET_SYNC}));
    }
    if (c->lanes_n) launches[c->lane_rank[0]] = 1;
    for (uint32_t i = 0; i < t->n; i++) {
        const struct trace_event *e = &t->ev[i];
        bool alloc = e->kind == TK_ALLOC;
        bool waits = e->kind == TK_SYNC || (alloc && e->dur > 10 * BLOCK_NS);
        if (waits && e->dur >= BLOCK_NS && launches[e->lane])
            vec_push(c->a, &b,
                     ((struct blocker){e->t0, trace_end(e), i + 1, alloc ? BUDGET_ALLOC : BUDGET_SYNC}));
    }
    if (b.n) qsort(b.p, b.n, sizeof *b.p, blocker_order);
    uint32_t kept = 0; /* one inside another is that one */
    for (uint32_t i = 0; i < b.n; i++)
        if (!kept || b.p[i].t1 > b.p[kept - 1].t1) b.p[kept++] = b.p[i];
    *out = b.p;
    *n = kept;
}

/* Starts of work that was submitted long before: the host is ahead again. */
static void find_ahead(struct account *c, int64_t **out, uint32_t *n) {
    int64_t *at = arena_raw(c->a, ((size_t)c->dev.n + 1) * sizeof *at);
    *n = 0;
    for (uint32_t i = 0; i < c->dev.n; i++) {
        const struct trace_event *e = &c->t->ev[c->dev.p[i]];
        if (e->link && e->kind == TK_KERNEL && e->t0 - trace_end(&c->t->ev[e->link - 1]) >= AHEAD_NS)
            at[(*n)++] = e->t0;
    }
    *out = at;
}

/* A call that held the host for b ns of busy device time cost it b ns of lead: that much of the
 * dispatch idle, before the next such call or until the host is ahead again, would have been hidden. */
static void settle_blockers(struct account *c) {
    struct blocker *b;
    uint32_t n, i = 0, cut = 0;
    int64_t *ahead;
    uint32_t ahead_n, at = 0;
    find_blockers(c, &b, &n);
    find_ahead(c, &ahead, &ahead_n);
    VEC(struct account_piece) tails = {0};
    for (uint32_t k = 0; k < n; k++) {
        int64_t held = inside(&c->busy, b[k].t0, b[k].t1);
        int64_t until = k + 1 < n ? RG_MAX(b[k + 1].t1, b[k].t1) : INT64_MAX;
        while (at < ahead_n && ahead[at] <= b[k].t1) at++;
        if (at < ahead_n) until = RG_MIN(until, ahead[at]);
        while (i < c->pieces.n && c->pieces.p[i].t1 <= b[k].t0) i++;
        for (; i < c->pieces.n && c->pieces.p[i].t0 < until && held > 0; i++) {
            struct account_piece *p = &c->pieces.p[i];
            if (p->t0 < b[k].t0) continue;
            if (p->cause == BUDGET_SYNC || p->cause == BUDGET_ALLOC) {
                held -= p->t1 - p->t0;
                continue;
            }
            if (p->cause != BUDGET_DISPATCH) continue;
            if (p->t1 - p->t0 > held) { /* only the first part */
                struct account_piece tail = *p;
                tail.t0 = p->t1 = p->t0 + held;
                vec_push(c->a, &tails, tail);
                cut++;
            }
            p->cause = b[k].cause;
            if (!p->ev || b[k].cause == BUDGET_PAGEABLE) p->ev = b[k].ev;
            p->ev = b[k].ev;
            held -= p->t1 - p->t0;
        }
    }
    for (uint32_t k = 0; k < tails.n; k++) vec_push(c->a, &c->pieces, tails.p[k]);
    if (cut) qsort(c->pieces.p, c->pieces.n, sizeof *c->pieces.p, piece_order);
}

/* ---- tiny kernels ---------------------------------------------------------------------------------- */

static int64_t submitted(const struct trace *t, const struct trace_event *e) {
    return e->link ? t->ev[e->link - 1].t0 : e->t0;
}

/* Windows are steps; without steps, every 8 kernels in the order of their submission. */
static void make_windows(struct account *c) {
    struct diag *d = c->d;
    vec_push(c->a, &c->windows, ((struct small_window){INT64_MIN, 0, 0}));
    for (uint32_t i = 0; i < d->steps.n; i++)
        vec_push(c->a, &c->windows, ((struct small_window){d->steps.p[i].t0, 0, 0}));
    if (d->steps.n) return;
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->dev.n; i++) {
        const struct trace_event *e = &c->t->ev[c->dev.p[i]];
        int64_t at = submitted(c->t, e);
        if (e->kind != TK_KERNEL || at <= c->windows.p[c->windows.n - 1].t0) continue;
        if (++n % 8 == 0) vec_push(c->a, &c->windows, ((struct small_window){at, 0, 0}));
    }
}

static uint32_t window_at(const struct account *c, int64_t time) {
    uint32_t lo = 0, hi = c->windows.n;
    while (hi - lo > 1) {
        uint32_t m = (lo + hi) / 2;
        if (c->windows.p[m].t0 <= time)
            lo = m;
        else
            hi = m;
    }
    return lo;
}

static void settle_small(struct account *c) {
    struct trace *t = c->t;
    make_windows(c);
    for (uint32_t i = 0; i < c->dev.n; i++) {
        const struct trace_event *e = &t->ev[c->dev.p[i]];
        if (e->kind != TK_KERNEL) continue;
        struct small_window *w = &c->windows.p[window_at(c, submitted(t, e))];
        w->kernel_ns += e->dur;
        if (e->dur < SMALL_NS) w->small_ns += e->dur;
    }
    for (uint32_t i = 0; i < c->pieces.n; i++) {
        struct account_piece *p = &c->pieces.p[i];
        if (p->cause != BUDGET_DISPATCH) continue;
        const struct idle_gap *g = &c->gaps.p[p->gap];
        int64_t at = g->next ? submitted(t, &t->ev[g->next - 1]) : p->t0;
        const struct small_window *w = &c->windows.p[window_at(c, at)];
        if (w->kernel_ns && w->small_ns * 2 >= w->kernel_ns) p->cause = BUDGET_SMALL;
    }
}

/* ---- queue, launch latency, counts ----------------------------------------------------------------- */

struct account_edge {
    int64_t t;
    int32_t by;
};
static int edge_order(const void *x, const void *y) {
    const struct account_edge *a = x, *b = y;
    if (a->t != b->t) return a->t < b->t ? -1 : 1;
    return b->by - a->by;
}
static int int64_order(const void *x, const void *y) {
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return a < b ? -1 : a > b;
}

static void measure_queue(struct account *c) {
    struct diag *d = c->d;
    struct trace *t = c->t;
    struct arena_mark m = arena_mark(c->a);
    struct account_edge *e = arena_raw(c->a, ((size_t)c->dev.n * 2 + 1) * sizeof *e);
    int64_t *late = arena_raw(c->a, ((size_t)c->dev.n + 1) * sizeof *late);
    uint32_t n = 0, k = 0;
    int64_t end = INT64_MIN;
    for (uint32_t i = 0; i < c->dev.n; i++) {
        const struct trace_event *x = &t->ev[c->dev.p[i]];
        if (x->link && !(x->flags & TF_GRAPH)) {
            int64_t at = t->ev[x->link - 1].t0;
            e[n++] = (struct account_edge){at, 1};
            e[n++] = (struct account_edge){RG_MAX(x->t0, at), -1};
            if (at > end && x->kind == TK_KERNEL) late[k++] = x->t0 - at;
        }
        end = RG_MAX(end, trace_end(x));
    }
    if (n) qsort(e, n, sizeof *e, edge_order);
    int64_t depth = 0;
    double area = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (i) area += (double)depth * (double)(e[i].t - e[i - 1].t);
        depth += e[i].by;
        if (depth > d->depth_max) d->depth_max = (uint32_t)depth;
    }
    if (n && e[n - 1].t > e[0].t) d->depth_mean = area / (double)(e[n - 1].t - e[0].t);
    if (k) {
        qsort(late, k, sizeof *late, int64_order);
        d->latency_min = late[0];
        d->latency_median = late[k / 2];
    }
    arena_release(c->a, m);
}

static void count_kernels(struct account *c) {
    struct diag *d = c->d;
    struct trace *t = c->t;
    bool head = true;
    for (uint32_t i = 0; i < c->dev.n; i++) {
        const struct trace_event *e = &t->ev[c->dev.p[i]];
        bool lone = e->flags & TF_NOLAUNCH;
        head &= lone;
        if (e->kind != TK_KERNEL && e->kind != TK_COMM) continue;
        if (!e->corr && t->format != TRACE_RIDGE && t->format != TRACE_NCU)
            d->no_corr_count++, d->no_corr_ns += e->dur;
        else if (lone && head)
            d->carry_count++, d->carry_ns += e->dur;
        else if (lone)
            d->unlinked_count++, d->unlinked_ns += e->dur;
        d->kernel_count++;
        if (e->flags & TF_GRAPH) d->graph_count++, d->graph_ns += e->dur;
        if (e->dur < SMALL_NS && e->kind == TK_KERNEL) d->small_count++, d->small_ns += e->dur;
        uint32_t s = step_at(d, submitted(t, e));
        if (s) d->steps.p[s - 1].kernels++, d->steps.p[s - 1].device_ns += e->dur;
    }
}

/* A trace may show a graph only by many kernels that share one submission. */
static void mark_graphs(struct account *c) {
    struct trace *t = c->t;
    for (uint32_t i = 0; i < c->dev.n;) {
        uint32_t k = i + 1, corr = t->ev[c->dev.p[i]].corr;
        while (k < c->dev.n && corr && t->ev[c->dev.p[k]].corr == corr) k++;
        if (k - i >= 4)
            for (uint32_t x = i; x < k; x++) t->ev[c->dev.p[x]].flags |= TF_GRAPH;
        i = k;
    }
}

/* ---- the user's line ------------------------------------------------------------------------------- */

static bool user_frame(const struct trace *t, const struct trace_event *e) {
    if (e->kind != TK_PY) return false;
    const char *s = trace_str(t, e->name);
    if (s[0] == '<' || !strncmp(s, "torch/", 6) || !strncmp(s, "nn.Module", 9)) return false;
    return !strstr(s, "site-packages") && !strstr(s, "dist-packages") && !strstr(s, "lib/python") &&
           !strstr(s, "<frozen") && strstr(s, ".py");
}

static uint32_t line_above(struct trace *t, uint32_t x) {
    bool jax = t->format == TRACE_JAX || t->format == TRACE_XPLANE;
    uint32_t found = 0;
    for (uint32_t k = 0; x && k < 1024; x = t->ev[x - 1].link, k++) {
        if (!user_frame(t, &t->ev[x - 1])) continue;
        found = t->ev[x - 1].name;
        if (!jax) break; /* JAX shows base names only: the outermost frame is the user's */
    }
    return found;
}

uint32_t user_line(struct diag *d, uint32_t ev) {
    struct trace *t = d->t;
    if (!ev || !d->has_python) return 0;
    const struct trace_event *e = &t->ev[ev - 1];
    uint32_t line = line_above(t, ev);
    if (line) return line;
    for (uint32_t i = 0; i < t->lanes.n; i++) {
        const struct trace_lane *l = &t->lanes.p[i];
        if (l->kind != LANE_HOST || i == e->lane || !l->n) continue;
        uint32_t lo = 0, hi = l->n;
        while (lo < hi) {
            uint32_t m = (lo + hi) / 2;
            if (t->ev[t->order[l->first + m]].t0 <= e->t0)
                lo = m + 1;
            else
                hi = m;
        }
        if (!lo) continue;
        uint32_t x = t->order[l->first + lo - 1] + 1;
        while (x && trace_end(&t->ev[x - 1]) <= e->t0) x = t->ev[x - 1].link;
        if (x && (line = line_above(t, x))) return line;
    }
    return 0;
}

/* ---- all of it ------------------------------------------------------------------------------------- */

/* No device at all: the busiest thread is what there is to account for; operators are its work. */
static void account_host(struct account *c) {
    struct diag *d = c->d;
    if (!c->lanes_n) return;
    const struct trace_lane *l = &c->t->lanes.p[c->lane_rank[0]];
    d->w0 = c->t->ev[c->t->order[l->first]].t0;
    d->w1 = d->w0;
    for (uint32_t i = 0; i < l->n; i++) {
        const struct trace_event *e = &c->t->ev[c->t->order[l->first + i]];
        if (e->kind != TK_MEM) d->w1 = RG_MAX(d->w1, trace_end(e));
    }
    d->wall_ns = d->w1 - d->w0;
    d->cpu = true;
    requests all = {0};
    vec_push(c->a, &all, ((struct request){d->w0, d->w1, 0, c->lane_rank[0]}));
    if (d->wall_ns) explain(c, &all);
    if (c->pieces.n) qsort(c->pieces.p, c->pieces.n, sizeof *c->pieces.p, piece_order);
    for (uint32_t i = 0; i < c->pieces.n; i++)
        if (c->pieces.p[i].cause == BUDGET_DISPATCH) c->pieces.p[i].cause = BUDGET_KERNELS;
    settle_late(c);
    for (uint32_t i = 0; i < c->pieces.n; i++)
        if (c->pieces.p[i].cause == BUDGET_KERNELS) d->busy_ns += c->pieces.p[i].t1 - c->pieces.p[i].t0;
}

void diag_account(struct diag *d) {
    struct account c = {.d = d, .t = d->t, .a = &d->arena};
    for (uint32_t i = 0; i < d->t->n && !d->has_python; i++) d->has_python = d->t->ev[i].kind == TK_PY;
    if (d->t->format != TRACE_RIDGE) clock_align(d);
    list_devices(d);
    list_processes(d);
    find_steps(&c);
    rank_lanes(&c);
    if (d->device >= 0) c.dev = device_events(d, d->device);
    if (d->t->format == TRACE_RIDGE) {
        ridge_account(d);
        count_kernels(&c);
        return;
    }
    choose_window(&c);
    if (!c.dev.n) account_host(&c);
    mark_graphs(&c);
    if (c.dev.n) sweep_busy(&c);
    if (c.dev.n && !d->clock.refused) explain_gaps(&c);
    for (uint32_t g = 0; g < c.gaps.n && d->clock.refused; g++)
        add_piece(&c, c.gaps.p[g].t0, c.gaps.p[g].t1, BUDGET_OTHER, 0, g);
    if (c.pieces.n) qsort(c.pieces.p, c.pieces.n, sizeof *c.pieces.p, piece_order);
    if (c.dev.n && !d->clock.refused) {
        settle_jax_waits(&c);
        settle_late(&c);
        settle_blockers(&c);
        settle_small(&c);
    }
    d->idle = arena_raw(&d->arena, ((size_t)c.pieces.n + 1) * sizeof *d->idle);
    for (uint32_t i = 0; i < c.pieces.n; i++) {
        const struct account_piece *p = &c.pieces.p[i];
        d->budget[p->cause] += p->t1 - p->t0;
        d->idle[d->idle_n++] = (struct idle_piece){p->t0, p->t1, p->ev, p->cause};
    }
    warmup_settle(d);
    d->residual = d->wall_ns;
    for (int k = 0; k < BUDGET_KEYS; k++) d->residual -= d->budget[k];
    measure_queue(&c);
    count_kernels(&c);
}
