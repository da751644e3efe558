/* checklist.c: the questions one asks of any slow program, answered for a Ridge program from what was recorded, line by line.
 *
 * Bottleneck, transfers, small kernels, memory, waits, layout, precision, allocation, batch size: each with a figure of the steps, also where
 * nothing is wrong, so that what was looked at and found well is known. Tests: tests/unit/phases.c, tests/unit/advice.c */
#include "analyze/internal.h"

#define LITTLE 0.02 /* of the steps, or of kernel time: not worth a look */

static double share(double part, double whole) { return whole > 0 ? part / whole : 0; }

static void say(struct diag *d, const char *id, bool fine, const char *fmt, ...) RG_FMT(4, 5);
static void say(struct diag *d, const char *id, bool fine, const char *fmt, ...) {
    char text[200];
    va_list ap;
    va_start(ap, fmt);
    text_vprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    vec_push(&d->arena, &d->checks,
             ((struct check_row){id, arena_strdup(&d->arena, text, strlen(text)), fine}));
}

/* Sums over calls in steps, in ns unless it says otherwise. */
struct check_sums {
    double kernels, small, strided, latency, half, f64, f32;
    uint64_t calls, small_calls;
};

static struct check_sums sum_kernels(const struct diag *d) {
    struct check_sums s = {0};
    for (uint32_t i = 0; i < d->kernels.n; i++) {
        const struct kernel_row *k = &d->kernels.p[i];
        const struct trace_kernel_args *a = trace_blob(d->t, k->args, sizeof *a);
        double each = ridge_kernel_ns(d, k), ns = each * k->steady;
        s.kernels += ns, s.calls += k->steady;
        if (each < 10000) s.small += ns, s.small_calls += k->steady;
        if (a && a->known & 16 && k->bytes > 0 && (double)a->lines >= 2 * k->bytes) s.strided += ns;
        if (k->bound == BOUND_LATENCY) s.latency += ns;
        if (!a) continue;
        s.half += (double)(a->unit_ns[UNIT_MATRIX] + a->unit_ns[UNIT_F16]) * k->steady;
        s.f64 += (double)a->unit_ns[UNIT_F64] * k->steady;
        s.f32 += (double)a->unit_ns[UNIT_F32] * k->steady;
    }
    return s;
}

static void memory_and_allocation(struct diag *d) {
    uint32_t taken = 0, steps = RG_MAX(d->steady.steps, 1u);
    int64_t bytes = 0;
    for (uint32_t i = 0; i < d->t->blocks.n; i++) {
        const struct trace_block *b = &d->t->blocks.p[i];
        if (!b->freed && d->phases.n && ridge_steady_of(d, b->t, b->t + 1) > 0) taken++, bytes += b->bytes;
    }
    if (d->mem_peak)
        say(d, "memory", !d->mem_leak, "peak %.1f MB; %s", (double)d->mem_peak / 1e6,
            d->mem_leak ? "it grows from step to step" : "it does not grow");
    else
        say(d, "memory", true, "not recorded");
    say(d, "allocation", taken <= steps, "%.1f blocks of %.2f MB in all taken in a step",
        (double)taken / steps, (double)bytes / 1e6 / steps);
}

void ridge_checklist(struct diag *d) {
    const int64_t *b = d->steady.budget;
    double wall = (double)d->steady.wall_ns;
    struct check_sums s = sum_kernels(d);
    if (!d->kernel_count || wall <= 0) return;
    say(d, "bottleneck", d->healthy, "%s; %.1f%% in kernels, at %.0f%% of their roof",
        d->healthy ? "none" : cause_text(d->verdict), 100 * share((double)b[BUDGET_KERNELS], wall),
        100 * d->roof);
    double copies = share((double)b[BUDGET_EXPOSED], wall), waits = share((double)b[BUDGET_SYNC], wall);
    say(d, "transfers", copies < LITTLE, "%.1f%% of the steps in copies that nothing hides", 100 * copies);
    say(d, "small kernels", share(s.small, s.kernels) < 0.5,
        "%llu of %llu under 10 us, %.1f%% of kernel time", (unsigned long long)s.small_calls,
        (unsigned long long)s.calls, 100 * share(s.small, s.kernels));
    say(d, "waits", waits < LITTLE, "%.1f%% of the steps", 100 * waits);
    double strided = share(s.strided, s.kernels), arithmetic = s.half + s.f64 + s.f32;
    say(d, "layout", strided < LITTLE, "%.1f%% of kernel time moves twice the bytes it uses", 100 * strided);
    say(d, "precision", share(s.f64, arithmetic) < LITTLE,
        "f64 %.0f%%, f32 %.0f%%, 16 bit and tensor cores %.0f%% of arithmetic",
        100 * share(s.f64, arithmetic), 100 * share(s.f32, arithmetic), 100 * share(s.half, arithmetic));
    memory_and_allocation(d);
    double latency = share(s.latency, s.kernels);
    say(d, "batch size", latency < 0.1, "%.1f%% of kernel time in kernels that take as long as starting them",
        100 * latency);
}
