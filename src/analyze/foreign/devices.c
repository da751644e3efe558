/* devices.c: all GPUs and processes of a trace, not the busiest alone: a row for each process, and GPUs that idle.
 *
 * Ranks of a distributed job have a GPU each and see those of the others: there a GPU without events is no finding.
 * Tests: tests/unit/foreign.c */
#include "analyze/internal.h"

#include <stdlib.h>

enum {
    IDLE_PART = 10,
    SHARED_PART = 20
}; /* a GPU busy less than 1/n of the busiest is idle; 1/n of the time not its own */

static int most_work_first(const void *x, const void *y) {
    const struct process_row *a = x, *b = y;
    if (a->device_ns != b->device_ns) return a->device_ns > b->device_ns ? -1 : 1;
    if (a->events != b->events) return a->events > b->events ? -1 : 1;
    return a->pid < b->pid ? -1 : a->pid > b->pid;
}

static struct process_row *process_of(struct diag *d, uint32_t pid) {
    for (uint32_t i = 0; i < d->processes.n; i++)
        if (d->processes.p[i].pid == pid) return &d->processes.p[i];
    if (d->processes.n >= 256) return NULL;
    vec_push(&d->arena, &d->processes, ((struct process_row){.pid = pid}));
    return &d->processes.p[d->processes.n - 1];
}

void list_processes(struct diag *d) {
    const struct trace *t = d->t;
    for (uint32_t i = 0; i < t->lanes.n; i++) {
        const struct trace_lane *l = &t->lanes.p[i];
        struct process_row *p = l->kind == LANE_HOST && l->n ? process_of(d, l->pid) : NULL;
        if (p) p->threads++, p->events += l->n;
    }
    for (uint32_t i = 0; i < t->n; i++) {
        const struct trace_event *e = &t->ev[i];
        if (t->lanes.p[e->lane].kind != LANE_DEVICE || !e->link) continue;
        struct process_row *p = process_of(d, t->lanes.p[t->ev[e->link - 1].lane].pid);
        if (!p) continue;
        p->device_ns += e->dur;
        p->launches++;
        p->device = t->lanes.p[e->lane].device;
    }
    if (d->processes.n) qsort(d->processes.p, d->processes.n, sizeof *d->processes.p, most_work_first);
}

bool device_idles(const struct diag *d, const struct device_row *r) {
    int64_t most = 0;
    for (uint32_t i = 0; i < d->devices.n; i++) most = RG_MAX(most, d->devices.p[i].busy_ns);
    return r->silent || r->busy_ns * IDLE_PART < most;
}

void idle_gpus_cause(struct diag *d) {
    uint32_t n = d->devices.n, idle = 0, silent = 0;
    int64_t busy = 0;
    struct str s;
    if (n < 2 || d->t->world > 1) return;
    str_init(&s, &d->arena);
    for (uint32_t i = 0; i < n; i++) {
        const struct device_row *r = &d->devices.p[i];
        busy += r->busy_ns;
        if (!device_idles(d, r)) continue;
        idle++, silent += r->silent;
        if (idle <= 8) str_printf(&s, "%sGPU %d", idle > 1 ? ", " : "", r->device);
    }
    str_addc(&s, 0);
    if (!idle) return;
    /* Shared evenly, no GPU works less than its part of what all do together. */
    int64_t lost = d->wall_ns - RG_MIN(d->wall_ns, RG_MAX(busy / n, d->wall_ns / n));
    struct cause *c =
        cause_add(d, CAUSE_IDLE_GPUS, lost, lost, s.p,
                  arena_printf(&d->arena, "%u of %u GPUs idle: %.100s%s", idle, n, s.p,
                               silent == idle ? " (visible to the process, no event on them)" : ""),
                  "one process for each GPU (torchrun, DistributedDataParallel; jax.sharding), or hide those "
                  "of others with "
                  "CUDA_VISIBLE_DEVICES");
    /* No event at all: they may be another process's, so it is told but is no verdict. */
    c->note = silent == idle;
    c->first = !c->note;
}

/* Launched work that an idle device does not start: it runs something that this file does not hold. */
void shared_gpu_cause(struct diag *d) {
    int64_t lost = d->budget[BUDGET_UNEXPLAINED];
    uint32_t n = 0;
    if (lost * SHARED_PART < d->wall_ns) return;
    for (uint32_t i = 0; i < d->idle_n; i++) n += d->idle[i].cause == BUDGET_UNEXPLAINED;
    cause_add(
        d, CAUSE_SHARED, lost, lost, "",
        arena_printf(
            &d->arena,
            "%u times a launched kernel waits on an idle GPU, %.1f ms on average: another process uses it", n,
            (double)lost / 1e6 / (double)RG_MAX(n, 1u)),
        "run alone (nvidia-smi names the other processes), or share by MPS instead of time slices");
}
