/* checks.c: the profiling checklist for a trace of another framework, answered line by line with what was recorded.
 *
 * The rows are those of checklist.c, which answers for Ridge programs; what was not recorded is said to be so.
 * Tests: tests/unit/foreign.c */
#include "analyze/internal.h"

enum { FINE = 2 }; /* percent of the time that is not worth a look */

static double percent(double x, double whole) { return whole > 0 ? 100 * x / whole : 0; }

static void check(struct diag *d, const char *id, bool fine, const char *answer) {
    vec_push(&d->arena, &d->checks, ((struct check_row){id, answer, fine}));
}

static void check_share(struct diag *d, const char *id, int64_t ns, const char *what) {
    double x = percent((double)ns, (double)d->wall_ns);
    check(d, id, x < FINE, arena_printf(&d->arena, "%.1f%%%s", x, what));
}

static void check_kernels(struct diag *d) {
    int64_t all = 0, f32 = 0, few = 0, geometry = 0, layout = 0;
    for (uint32_t i = 0; i < d->kernels.n; i++) {
        const struct kernel_row *k = &d->kernels.p[i];
        all += k->ns;
        if (k->cls <= KC_ATTENTION && k->unit == GPU_F32) f32 += k->ns;
        if (k->cls == KC_LAYOUT) layout += k->ns;
        if (!k->has_occ) continue;
        geometry += k->ns;
        if (k->occ.waves * k->occ.blocks < 1) few += k->ns;
    }
    check_share(d, "layout", layout, " in kernels that only change it");
    double fp = percent((double)f32, (double)all), small = percent((double)few, (double)all);
    check(d, "precision", fp < 10, arena_printf(&d->arena, "%.0f%% of kernel time are fp32 products", fp));
    check_share(d, "allocation", d->budget[BUDGET_ALLOC], "");
    if (geometry * 2 > all)
        check(d, "batch size", small < 20,
              arena_printf(&d->arena, "%.0f%% of kernel time in grids smaller than the GPU", small));
    else
        check(d, "batch size", true, "not known: no launch geometry");
}

void foreign_checks(struct diag *d) {
    if (!d->dev_n || !d->wall_ns) return;
    check(d, "bottleneck", d->healthy, d->healthy ? "none" : cause_text(d->verdict));
    check_share(d, "transfers", d->budget[BUDGET_PAGEABLE] + d->budget[BUDGET_EXPOSED], " exposed");
    check(d, "small kernels", d->budget[BUDGET_SMALL] * 50 < d->wall_ns,
          arena_printf(&d->arena, "%.0f%% of kernel time, %.1f%% idle for them",
                       percent((double)d->small_ns, (double)d->budget[BUDGET_KERNELS]),
                       percent((double)d->budget[BUDGET_SMALL], (double)d->wall_ns)));
    const char *of =
        d->mem_capacity > 0 ? arena_printf(&d->arena, " of %.0f", (double)d->mem_capacity / 1e9) : "";
    if (d->mem.n)
        check(d, "memory", !d->mem_leak,
              arena_printf(&d->arena, "peak %.1f%s GB%s", (double)d->mem_peak / 1e9, of,
                           d->mem_leak ? ", grows" : ""));
    else
        check(d, "memory", true, "not recorded");
    check_share(d, "sync", d->budget[BUDGET_SYNC], "");
    check_kernels(d);
}
