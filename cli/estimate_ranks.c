/* estimate_ranks.c: how long a step of one of several ranks takes: its plan is played on two clocks.
 *
 * Kernels run one after the other on the first. A collective begins when the kernel before it has ended and the link is free, and holds the
 * link; kernels go on until one waits for it, as the recording says (engine/overlap.c). Kernels take the machine model's least time, or
 * what they took in a profile, with the time of the host before each; there an exchange of one rank with itself is a copy, which no link makes
 * faster.
 * Tests: tests/cli/estimate.sh */
#include "cmd_estimate.h"

#include <stdlib.h>

/* ---- times of a profile ------------------------------------------------------------------------------------------ */

struct kernel_time {
    uint64_t kernel;
    int64_t ns;
    bool steady; /* of a step that is no start-up: with what the host did since the kernel before it */
};
struct kernel_times {
    VEC(struct kernel_time) all; /* by kernel, then by time */
};

static const struct trace_kernel_args *args_of(const struct trace *t, const struct trace_event *e) {
    return trace_blob(t, e->args, sizeof(struct trace_kernel_args));
}

/* The same kernel of the same layer and function, whatever file names it. */
static uint64_t kernel_of(const struct trace *t, const struct trace_event *e) {
    const struct trace_kernel_args *a = args_of(t, e);
    const char *part[] = {trace_str(t, e->name), a ? trace_str(t, a->module) : "",
                          a ? trace_str(t, a->op) : ""};
    uint64_t h = a && a->backward;
    for (size_t i = 0; i < RG_COUNT(part); i++) h = hash_bytes(part[i], strlen(part[i]), hash_u64(h));
    return h;
}

static int by_kernel(const void *x, const void *y) {
    const struct kernel_time *a = x, *b = y;
    if (a->kernel != b->kernel) return a->kernel < b->kernel ? -1 : 1;
    return a->ns < b->ns ? -1 : a->ns > b->ns;
}

/* Where the host is in a profile: its steps, and until when it computed or waited for a collective. */
struct host_clock {
    const struct diag *d;
    uint32_t step;
    bool steady; /* in the step of the latest kernel */
    int64_t since;
    int64_t least, most; /* quartiles of steps without start-up */
};

static int shortest(const void *x, const void *y) {
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return a < b ? -1 : a > b;
}

/* Steps are compared by their median: those of another speed do not count. */
static struct host_clock host_clock(struct arena *a, const struct diag *d) {
    int64_t *took = arena_array(a, int64_t, d->steps.n + 1);
    uint32_t n = 0;
    for (uint32_t i = 0; i < d->steps.n; i++)
        if (!d->steps.p[i].startup) took[n++] = d->steps.p[i].t1 - d->steps.p[i].t0;
    if (n) qsort(took, n, sizeof *took, shortest);
    return (struct host_clock){.d = d, .least = n ? took[n / 4] : 0, .most = n ? took[(3 * n - 1) / 4] : 0};
}

static bool is_steady(struct host_clock *h, int64_t t) {
    const struct step_row *s = h->d->steps.p;
    while (h->step < h->d->steps.n && t >= s[h->step].t1) h->step++;
    if (h->step == h->d->steps.n || t < s[h->step].t0 || s[h->step].startup) return false;
    int64_t took = s[h->step].t1 - s[h->step].t0;
    return took >= h->least && took <= h->most;
}

/* Between two kernels a rank dispatches the next, or another thread or rank has its core. */
static struct kernel_time time_on(struct host_clock *h, const struct trace *t, const struct trace_event *e) {
    bool steady = is_steady(h, e->t0);
    struct kernel_time k = {kernel_of(t, e), e->dur, steady && h->steady};
    if (k.steady) k.ns += RG_MAX(e->t0 - h->since, 0);
    h->steady = steady, h->since = e->t0 + e->dur;
    return k;
}

struct kernel_times *estimate_times(struct arena *a, const struct diag *d) {
    const struct trace *t = d->t;
    struct kernel_times *x = arena_new(a, struct kernel_times);
    struct host_clock h = host_clock(a, d);
    int lane = -1; /* of kernels */
    for (uint32_t i = 0; i < t->n; i++) {
        const struct trace_event *e = &t->ev[i];
        if (e->kind == TK_KERNEL) {
            vec_push(a, &x->all, time_on(&h, t, e));
            lane = e->lane;
        } else if (e->kind == TK_COMM)
            vec_push(a, &x->all, ((struct kernel_time){kernel_of(t, e), e->dur, false}));
        if ((e->kind == TK_COMM || e->kind == TK_COLLECTIVE) && e->lane == lane)
            h.since = RG_MAX(h.since, e->t0 + e->dur);
    }
    if (x->all.n) qsort(x->all.p, x->all.n, sizeof *x->all.p, by_kernel);
    return x;
}

/* The mean of steady steps: of kernels that share a core with other ranks a few take far longer than the median, and steps are sums. Without steps
 * the median; -1: the profile does not have it. */
static double time_of(const struct kernel_times *x, uint64_t kernel) {
    uint32_t lo = 0, hi = x->all.n, steady = 0;
    double sum = 0;
    while (lo < hi) {
        uint32_t m = (lo + hi) / 2;
        if (x->all.p[m].kernel < kernel)
            lo = m + 1;
        else
            hi = m;
    }
    uint32_t end = lo;
    for (; end < x->all.n && x->all.p[end].kernel == kernel; end++)
        if (x->all.p[end].steady) sum += (double)x->all.p[end].ns, steady++;
    if (steady) return sum / steady;
    return end > lo ? (double)x->all.p[lo + (end - lo) / 2].ns : -1;
}

/* ---- two clocks --------------------------------------------------------------------------------------------------- */

struct rank_clocks {
    const struct estimate_link *link;
    const struct kernel_times *times;
    double now, free; /* kernels; the link */
    VEC(double) end;  /* of each collective */
    struct estimate_result r;
};

static void play(struct rank_clocks *c, struct arena *a, const struct trace *t, const struct trace_event *e) {
    const struct trace_kernel_args *k = args_of(t, e);
    enum collective_kind kind;
    if (e->kind == TK_COLLECTIVE && e->aux) {
        uint32_t behind = (uint32_t)strtoul(trace_str(t, e->aux), NULL, 10);
        if (behind && behind <= c->end.n) c->now = RG_MAX(c->now, c->end.p[c->end.n - behind]);
    } else if (e->kind == TK_COMM && estimate_is_exchange(trace_str(t, e->name), &kind)) {
        double ns = estimate_exchange_ns(c->link, kind, k ? (double)k->bytes : 0),
               copy = c->times ? time_of(c->times, kernel_of(t, e)) : 0;
        c->free = RG_MAX(c->now, c->free) + RG_MAX(ns, copy);
        if (c->link->ranks == 1) c->now = c->free; /* nothing runs beside it */
        vec_push(a, &c->end, c->free);
    } else if (e->kind == TK_KERNEL) {
        double ns = c->times ? time_of(c->times, kernel_of(t, e)) : -1;
        c->r.kernels++, c->r.known += ns >= 0;
        c->now += ns >= 0 ? ns : k && k->known & 8 ? (double)k->roof_ns : 0;
    }
}

static int ascending(const void *x, const void *y) {
    double a = *(const double *)x, b = *(const double *)y;
    return a < b ? -1 : a > b;
}

/* Records are in the order of the program: it has one thread, and its device runs nothing. */
struct estimate_result estimate_simulate(struct arena *a, const struct diag *d,
                                         const struct estimate_link *link, const struct kernel_times *times) {
    const struct trace *t = d->t;
    struct rank_clocks c = {.link = link, .times = times};
    double *took = arena_array(a, double, d->steps.n + 1), began = 0;
    uint32_t n = 0, s = 0;
    bool inside = false;
    for (uint32_t i = 0; i < t->n; i++) {
        const struct trace_event *e = &t->ev[i];
        if (e->kind != TK_KERNEL && e->kind != TK_COMM && e->kind != TK_COLLECTIVE) continue;
        while (s < d->steps.n && e->t0 >= d->steps.p[s].t1) {
            if (inside && !d->steps.p[s].startup) took[n++] = c.now - began;
            s++, inside = false;
        }
        if (!inside && s < d->steps.n && e->t0 >= d->steps.p[s].t0) inside = true, began = c.now;
        play(&c, a, t, e);
    }
    if (inside) took[n++] = c.now - began;
    if (n) qsort(took, n, sizeof *took, ascending);
    c.r.all_ns = RG_MAX(c.now, c.free), c.r.step_ns = n > 1 ? took[n / 2] : 0;
    return c.r;
}
