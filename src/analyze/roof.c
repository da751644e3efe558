/* roof.c: a kernel of a Ridge program against each unit of the machine: what limits it, and why.
 *
 * The profile says how long every unit is busy with a kernel by the machine model, and how long the kernel would take at best.
 * The unit that is busy for most of the measured time is what limits it; if none is busy for half of it, the kernel waits
 * for something that is no unit's rate, and the reason names what is odd about it. On a CPU that others used
 * too, the fastest call is judged: the others were interrupted.
 * Tests: tests/unit/advice.c */
#include "analyze/internal.h"

#define BUSY 0.5 /* share of its time that makes a unit the limit */

/* On a CPU a kernel keeps at least one core busy, unless another process runs on it. */
bool ridge_contended(const struct diag *d) {
    int64_t working = d->budget[BUDGET_KERNELS] + d->budget[BUDGET_PLAN] + d->budget[BUDGET_DISPATCH];
    return d->t->cpu_ns && !d->t->unfinished && !strcmp(d->device_name, "CPU") &&
           (double)d->t->cpu_ns < 0.8 * (double)working;
}

double ridge_kernel_ns(const struct diag *d, const struct kernel_row *k) {
    if (!k->count) return 0;
    return ridge_contended(d) || d->slices ? (double)k->min_ns : (double)k->ns / k->count;
}

int64_t ridge_at_best(const struct diag *d) {
    double ns = 0;
    for (uint32_t i = 0; i < d->kernels.n; i++) {
        const struct kernel_row *k = &d->kernels.p[i];
        const struct trace_kernel_args *a = trace_blob(d->t, k->args, sizeof *a);
        double mean = k->count ? (double)k->ns / k->count : 0;
        ns += k->count * (a && a->known & 8 ? RG_MIN((double)a->roof_ns, mean) : mean);
    }
    return (int64_t)ns;
}

static const char *of_unit(int u) {
    switch (u) {
    case UNIT_DRAM: return "memory";
    case UNIT_L3:
    case UNIT_L2:
    case UNIT_L1: return model_unit_text((enum model_unit)u);
    case UNIT_INTEGER: return "the integer unit";
    case UNIT_MATRIX: return "the tensor cores";
    default: return "the vector unit";
    }
}

/* What is odd about a kernel that keeps no unit busy. */
static const char *oddity(struct diag *d, const struct kernel_row *k, const struct trace_kernel_args *a) {
    if (k->bytes > 0 && (double)a->lines >= 2 * k->bytes)
        return arena_printf(&d->arena, "; strided accesses move %.0fx their bytes",
                            (double)a->lines / k->bytes);
    if (k->flops > 0 && (double)a->issued >= 1.5 * k->flops)
        return arena_printf(&d->arena, "; it computes %.1fx what was asked for",
                            (double)a->issued / k->flops);
    if (a->integer > 2 * a->issued && a->integer > a->moved / 8)
        return arena_printf(&d->arena, "; %.0f%% of its operations are on integers, mostly addresses",
                            100.0 * (double)a->integer / (double)(a->integer + a->issued));
    return "; it waits for results of its own";
}

static void judge_units(struct diag *d, struct kernel_row *k, const struct trace_kernel_args *a, double ns) {
    int top = UNIT_DRAM;
    for (int u = 0; u < UNIT_COUNT; u++) k->use[u] = RG_MIN((double)a->unit_ns[u] / ns, 1);
    for (int u = UNIT_DRAM; u < UNIT_F64; u++)
        if (k->use[u] > k->use[top]) top = u;
    k->top = (uint8_t)top;
    if (k->use[UNIT_LAUNCH] >= BUSY && k->use[UNIT_LAUNCH] >= k->use[top]) {
        k->bound = BOUND_LATENCY;
        k->why = arena_printf(&d->arena, "starting it takes %.0f%% of its time", 100 * k->use[UNIT_LAUNCH]);
    } else if (k->use[top] >= BUSY) {
        k->bound = top <= UNIT_L1 ? BOUND_MEMORY : BOUND_COMPUTE;
        k->why = arena_printf(&d->arena, "%s is busy %.0f%% of its time%s", of_unit(top), 100 * k->use[top],
                              k->roof < BUSY ? oddity(d, k, a) : "");
    } else {
        k->bound = BOUND_INEFFICIENT;
        k->why = arena_printf(&d->arena, "no unit is busy, %s most with %.0f%%%s", of_unit(top),
                              100 * k->use[top], oddity(d, k, a));
    }
}

void ridge_judge(struct diag *d, struct kernel_row *k, const struct trace_kernel_args *a) {
    const char *limit = trace_str(d->t, a->limit);
    double ns = RG_MAX(ridge_kernel_ns(d, k), 1);
    k->roof = RG_MIN((double)a->roof_ns / ns, 1);
    *(strcmp(limit, "compute") ? &k->memory : &k->compute) = k->roof;
    k->modelled = true;
    k->why = "";
    k->bound = !strcmp(limit, "overhead")  ? BOUND_LATENCY
               : k->roof < 0.3             ? BOUND_INEFFICIENT
               : !strcmp(limit, "compute") ? BOUND_COMPUTE
                                           : BOUND_MEMORY;
    if (a->known & 16) judge_units(d, k, a, ns);
}
