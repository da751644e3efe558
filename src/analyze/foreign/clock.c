/* clock.c: are the host's clock and the GPU's one? If not, by how much they are apart.
 *
 * Two orders hold in any run: work starts after the call that submits it, and a call that waits for the device returns after the
 * work has ended. A shift of the device's times that makes both true is applied, the least one; where none does (the clocks drift),
 * the account refuses to name causes of idle time. A clock that is late shows in waits that return too early, or, without waits, in
 * the same long delay before every kernel that an idle device starts. Tests: tests/unit/foreign.c, tests/unit/analyze_synth.c */
#include "analyze/internal.h"

#include <stdlib.h>

enum {
    SLACK_NS = 1000,   /* timestamps are no more exact than that */
    LATENCY_NS = 5000, /* from a launch to its kernel on an idle device */
    EARLY_PART = 100,  /* 1/n of all work, at least .. */
    LEAST_EARLY = 2,   /* .. this much, starts before its launch: the clock, not a stray record */
    LATE_NS = 50000,   /* waits that return that much too early */
    IDLE_NS = 50000,   /* a gap that leaves nothing queued */
    DELAY_NS = 100000, /* no launch on an idle device takes that long .. */
    SPREAD_NS = 30000, /* .. each time */
    LEAST_GAPS = 8,
};

struct submitted_work {
    int64_t launch, start, end, most; /* most: the latest end of those launched until then */
};
struct clock_bounds {
    int64_t lo, hi; /* the shift is at least lo, at most hi */
    uint32_t n, early, waits, late;
};

static int by_launch(const void *x, const void *y) {
    const struct submitted_work *a = x, *b = y;
    return a->launch < b->launch ? -1 : a->launch > b->launch;
}
static int ascending(const void *x, const void *y) {
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return a < b ? -1 : a > b;
}

/* Work of a device in order of its launches. */
static uint32_t list_work(struct diag *d, const struct device_list *l, struct submitted_work *w) {
    const struct trace *t = d->t;
    uint32_t n = 0;
    for (uint32_t i = 0; i < l->n; i++) {
        const struct trace_event *e = &t->ev[l->p[i]];
        if (!e->link || e->flags & TF_GRAPH) continue;
        w[n++] = (struct submitted_work){t->ev[e->link - 1].t0, e->t0, trace_end(e), 0};
    }
    if (n) qsort(w, n, sizeof *w, by_launch);
    for (uint32_t i = 0; i < n; i++) w[i].most = i ? RG_MAX(w[i - 1].most, w[i].end) : w[i].end;
    return n;
}

/* One part in a thousand may be damage: the bound is what the rest needs. */
static void bound_below(struct clock_bounds *b, const struct submitted_work *w, uint32_t n, int64_t *tmp) {
    for (uint32_t i = 0; i < n; i++) {
        tmp[i] = w[i].start - w[i].launch;
        b->early += tmp[i] < -SLACK_NS;
    }
    b->n = n;
    if (!n) return;
    qsort(tmp, n, sizeof *tmp, ascending);
    b->lo = -tmp[n / 1000];
}

static bool waits_for_all(const char *name) {
    return strstr(name, "DeviceSynchronize") || strstr(name, "CtxSynchronize") ||
           strstr(name, "StreamSynchronize");
}

/* Waits of a process tell about a device if that is the only one it works with, and no other process does. The process, as
 * trace_str; 0: there is none. */
static uint32_t only_process(const struct trace *t, int32_t device) {
    uint32_t pid = 0;
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < t->n; i++) {
            const struct trace_event *e = &t->ev[i];
            const struct trace_lane *l = &t->lanes.p[e->lane];
            if (l->kind != LANE_DEVICE || !e->link) continue;
            uint32_t by = t->lanes.p[t->ev[e->link - 1].lane].pid;
            if (!pass && l->device == device && !pid) pid = by;
            if (pass && (by == pid) != (l->device == device)) return 0;
        }
    return pid;
}

static void bound_above(struct diag *d, struct clock_bounds *b, const struct submitted_work *w, uint32_t n,
                        bool streams, uint32_t pid) {
    const struct trace *t = d->t;
    b->hi = INT64_MAX;
    for (uint32_t i = 0; i < t->n && n; i++) {
        const struct trace_event *e = &t->ev[i];
        const char *name = e->kind == TK_SYNC ? trace_str(t, e->name) : "";
        if (!waits_for_all(name) || (streams && strstr(name, "Stream"))) continue;
        if (pid && t->lanes.p[e->lane].pid != pid) continue;
        uint32_t lo = 0, hi = n; /* launched before the wait began */
        while (lo < hi) {
            uint32_t m = (lo + hi) / 2;
            if (w[m].launch < e->t0)
                lo = m + 1;
            else
                hi = m;
        }
        if (!lo) continue;
        int64_t room = trace_end(e) - w[lo - 1].most;
        b->waits++;
        b->late += room < -LATE_NS;
        b->hi = RG_MIN(b->hi, room);
    }
}

/* Delay before each kernel that an idle device starts: the least of them, 0 if they are not alike. */
static int64_t delay_of_idle(struct diag *d, const struct device_list *l, int64_t *tmp) {
    const struct trace *t = d->t;
    int64_t end = INT64_MIN;
    uint32_t n = 0;
    for (uint32_t i = 0; i < l->n; i++) {
        const struct trace_event *e = &t->ev[l->p[i]];
        bool after_gap = end != INT64_MIN && e->t0 - end > IDLE_NS;
        if (after_gap && e->link && e->kind == TK_KERNEL && !(e->flags & TF_GRAPH))
            tmp[n++] = e->t0 - t->ev[e->link - 1].t0;
        end = RG_MAX(end, trace_end(e));
    }
    if (n < LEAST_GAPS) return 0;
    qsort(tmp, n, sizeof *tmp, ascending);
    return tmp[0] > DELAY_NS && tmp[n / 2] - tmp[0] < SPREAD_NS ? tmp[0] : 0;
}

static void shift_device(struct trace *t, int32_t device, int64_t by) {
    int64_t least = 0;
    for (uint32_t i = 0; i < t->n; i++) {
        const struct trace_lane *l = &t->lanes.p[t->ev[i].lane];
        if (l->kind == LANE_DEVICE && l->device == device) t->ev[i].t0 += by;
        least = RG_MIN(least, t->ev[i].t0);
    }
    if (!least) return; /* times begin at 0 */
    for (uint32_t i = 0; i < t->n; i++) t->ev[i].t0 -= least;
    t->base += least;
}

static void align(struct diag *d, int32_t device, uint32_t streams, bool alone) {
    uint32_t pid = alone ? 0 : only_process(d->t, device);
    bool only = alone || pid;
    struct device_list l = device_events(d, device);
    struct arena_mark m = arena_mark(&d->arena);
    struct submitted_work *w = arena_raw(&d->arena, ((size_t)l.n + 1) * sizeof *w);
    int64_t *tmp = arena_raw(&d->arena, ((size_t)l.n + 1) * sizeof *tmp);
    struct clock_bounds b = {0};
    uint32_t n = list_work(d, &l, w);
    bound_below(&b, w, n, tmp);
    bound_above(d, &b, w, n, streams > 1, pid);
    bool early = b.early >= LEAST_EARLY && b.early * EARLY_PART >= b.n, late = only && b.late * 2 > b.waits;
    /* A clock that is behind delays every kernel, not only those of an idle device. */
    bool all = -b.lo > DELAY_NS;
    int64_t delay = early || late || !all ? 0 : delay_of_idle(d, &l, tmp);
    arena_release(&d->arena, m);
    if (!early && !late && !delay) return;
    int64_t by = early ? b.lo + LATENCY_NS : late ? b.hi : LATENCY_NS - delay;
    /* Some launch found the device idle: then that order is as exact as the other. */
    if (late && b.hi - (b.lo + LATENCY_NS) < LATE_NS) by = RG_MIN(b.hi, b.lo + LATENCY_NS);
    struct clock_shift *s = &d->clock;
    s->device = device;
    s->early = b.early;
    s->found = true;
    /* Both orders at once: none may be broken by what mends the other. */
    s->refused = (early && only && by - LATE_NS > b.hi) || (late && b.lo > by + LATE_NS);
    if (s->refused) return;
    s->ns = by;
    shift_device(d->t, device, by);
}

void clock_align(struct diag *d) {
    const struct trace *t = d->t;
    int32_t seen[64];
    uint32_t n = 0, streams[64];
    for (uint32_t i = 0; i < t->lanes.n; i++) {
        const struct trace_lane *l = &t->lanes.p[i];
        if (l->kind != LANE_DEVICE || !l->n) continue;
        uint32_t k = 0;
        while (k < n && seen[k] != l->device) k++;
        if (k == RG_COUNT(seen)) continue;
        if (k == n) seen[n] = l->device, streams[n++] = 0;
        streams[k]++;
    }
    for (uint32_t k = 0; k < n && !d->clock.refused; k++) align(d, seen[k], streams[k], n == 1);
}
