/* warmup.c: a first step that is many times as long as the others is start-up, whatever the host did in it.
 *
 * Libraries load their kernels and tune, the allocator takes its blocks, workers start, the profiler itself begins: advice about
 * steps must not rest on that. Idle time of such a step counts as compiling and loading; on the CPU so do operators that last longer than
 * a whole step does later. Tests: tests/unit/foreign_cpu.c */
#include "analyze/internal.h"

#include <stdlib.h>

enum {
    LATER_STEPS = 3,  /* that show what a step takes */
    TIMES = 3,        /* their median: no ordinary step .. */
    TIMES_LONGEST = 2 /* .. nor one of steps that differ */
};
#define SHARE 0.1 /* of the recording, to matter */

static int by_length(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static int64_t median_later(struct diag *d, int64_t *longest) {
    uint32_t n = d->steps.n - 1;
    int64_t *ns = arena_array(&d->arena, int64_t, n);
    for (uint32_t i = 0; i < n; i++) ns[i] = d->steps.p[i + 1].t1 - d->steps.p[i + 1].t0;
    qsort(ns, n, sizeof *ns, by_length);
    *longest = ns[n - 1];
    return ns[n / 2];
}

void warmup_settle(struct diag *d) {
    if (d->steps.n < 1 + LATER_STEPS) return;
    const struct step_row *first = &d->steps.p[0];
    int64_t longest, later = median_later(d, &longest), ns = first->t1 - first->t0;
    if (ns < TIMES * later || ns < TIMES_LONGEST * longest) return;
    if ((double)(ns - later) < SHARE * (double)d->wall_ns) return;
    d->warmup_ns = ns, d->later_ns = later;
    for (uint32_t i = 0; i < d->idle_n; i++) {
        struct idle_piece *p = &d->idle[i];
        int64_t took = p->t1 - p->t0;
        if (p->t0 < first->t0 || p->t0 >= first->t1) continue;
        if (p->cause == BUDGET_KERNELS && took < later) continue;
        d->budget[p->cause] -= took, d->budget[BUDGET_COMPILE] += took;
        p->cause = BUDGET_COMPILE;
    }
}

const char *warmup_signal(struct diag *d, const char *otherwise) {
    if (!d->warmup_ns) return otherwise;
    return arena_printf(&d->arena, "the first recorded step takes %.1f ms, later ones %.1f: it is warm-up",
                        (double)d->warmup_ns / 1e6, (double)d->later_ns / 1e6);
}

const char *warmup_fix(const struct diag *d, const char *otherwise) {
    return d->warmup_ns
               ? "record later steps: schedule(wait=1, warmup=2, active=5), prof.step() after each; what "
                 "they lack is the next cause"
               : otherwise;
}
