/* ridge.c: the one screen for a Ridge program, and its tables.
 *
 * The order of text.c: what is it, where did the time go, what to do, which kernels. Every kernel has its line, its share
 * of the roof and what sets that roof; rows of a table sum to the time of all kernels.
 * Tests: tests/unit/profile.c, tests/cli/profile.sh */
#include "report/internal.h"

static double ms(int64_t ns) { return (double)ns / 1e6; }
static double pct(double part, double whole) { return whole > 0 ? 100.0 * part / whole : 0; }

const char *ridge_budget_text(int budget) {
    switch (budget) {
    case BUDGET_KERNELS: return "kernels";
    case BUDGET_EXPOSED: return "copies";
    case BUDGET_SYNC: return "waits";
    case BUDGET_LOADER: return "files and batches";
    case BUDGET_PLAN: return "planning and lowering";
    case BUDGET_COMPILE: return "compiling, and looking into the cache";
    case BUDGET_DISPATCH: return "dispatch: graph, binding, bookkeeping";
    case BUDGET_USER: return "your code, outside of Ridge";
    case BUDGET_PROFILER: return "the profiler itself";
    default: return "other";
    }
}

static const char *text_of(const struct diag *d, uint32_t id, const char *none) {
    return id ? trace_str(d->t, id) : none;
}

static int64_t kernel_time(const struct diag *d) {
    int64_t ns = 0;
    for (uint32_t i = 0; i < d->kernels.n; i++) ns += d->kernels.p[i].ns;
    return ns;
}

/* The longest step is the first, which plans and compiles: the median says more. */
static int64_t median_step(const struct diag *d) {
    int64_t best = 0;
    for (uint32_t i = 0; i < d->steps.n; i++) { /* few steps, or few different ones: no sort needed */
        int64_t x = d->steps.p[i].t1 - d->steps.p[i].t0;
        uint32_t less = 0, equal = 0;
        for (uint32_t k = 0; k < d->steps.n && d->steps.n <= 2000; k++) {
            int64_t y = d->steps.p[k].t1 - d->steps.p[k].t0;
            less += y < x, equal += y == x;
        }
        if (less <= d->steps.n / 2 && less + equal > d->steps.n / 2) best = x;
    }
    return best;
}

static const char *limit_text(const struct diag *d) {
    return d->regime == REGIME_COMPUTE  ? ", bound by arithmetic"
           : d->regime == REGIME_MEMORY ? ", bound by memory"
                                        : "";
}

static void head(struct str *o, const struct diag *d, const char *path) {
    const char *slash = strrchr(path, '/');
    report_line(o, "%s  Ridge profile%s%s", slash ? slash + 1 : path, *d->device_name ? ", device " : "",
                d->device_name);
    char cores[48] = "";
    if (d->t->cpu_ns && !d->t->unfinished)
        snprintf(cores, sizeof cores, ", %.1f cores busy",
                 (double)d->t->cpu_ns / (double)RG_MAX(d->wall_ns, 1));
    report_line(o, "  %u events%s, %llu kernels, %u steps, %.1f ms recorded%s", d->t->n,
                d->t->lost + d->t->dropped ? " (some lost)" : "", (unsigned long long)d->kernel_count,
                d->steps.n, ms(d->wall_ns), cores);
    if (d->healthy)
        report_line(o, "VERDICT  healthy%s: %.1f%% of the time in kernels, at %.0f%% of their roof",
                    limit_text(d), pct((double)d->budget[BUDGET_KERNELS], (double)d->wall_ns), 100 * d->roof);
    else if (d->causes.p[0].first)
        report_line(o, "VERDICT  %s: %s; in kernels %.1f%%, at %.0f%% of their roof", cause_text(d->verdict),
                    d->causes.p[0].signal, pct((double)d->budget[BUDGET_KERNELS], (double)d->wall_ns),
                    100 * d->roof);
    else
        report_line(o, "VERDICT  %s: %.1f of %.1f ms (%.1f%%); in kernels %.1f%%, at %.0f%% of their roof",
                    cause_text(d->verdict), ms(d->causes.p[0].lost_ns), ms(d->wall_ns),
                    pct((double)d->causes.p[0].lost_ns, (double)d->wall_ns),
                    pct((double)d->budget[BUDGET_KERNELS], (double)d->wall_ns), 100 * d->roof);
}

static void budget(struct str *o, const struct diag *d) {
    int share[BUDGET_KEYS];
    report_shares(d->budget, BUDGET_KEYS, d->wall_ns, share);
    for (int k = 0; k < BUDGET_KEYS; k++) {
        if (!d->budget[k]) continue;
        char bar[24];
        int n = RG_MIN(20, (share[k] + 25) / 50);
        memset(bar, '#', (size_t)n);
        bar[n] = 0;
        report_line(o, "  %-45s %10.2f ms %5.1f%%  %s", ridge_budget_text(k), ms(d->budget[k]),
                    share[k] / 10.0, bar);
    }
    report_line(o, "  %45s %10.2f ms 100.0%%", "sum", ms(d->wall_ns));
}

static void fixes(struct str *o, const struct diag *d) {
    int shown = 0;
    for (uint32_t i = 0; i < d->causes.n; i++) {
        const struct cause *c = &d->causes.p[i];
        if (c->note) report_wrapped(o, "NOTE   ", arena_printf(o->arena, "%s: %s", c->signal, c->fix), 7, 2);
        if (c->note || shown == 3) continue;
        shown++;
        if (c->first)
            report_line(o, "FIX %d  %s%s%s", shown, cause_text(c->id), *c->where ? "  at " : "", c->where);
        else
            report_line(o, "FIX %d  %s  up to %.1f ms (%.1f%%), %s%s%s%s%s", shown, cause_text(c->id),
                        ms(c->gain_ns), pct((double)c->gain_ns, (double)d->wall_ns),
                        strcmp(cause_confidence(c->id), "model") ? "measured" : "modelled",
                        c->how && *c->how ? ": " : "", c->how ? c->how : "", *c->where ? "  at " : "",
                        c->where);
        report_wrapped(o, "       ", c->signal, 7, 2);
        report_wrapped(o, "    -> ", c->fix, 7, 2);
    }
    if (!shown) report_line(o, "FIX    nothing to do");
}

/* The speed of light: the same kernels, each at its roof, and nothing else. */
static void at_best(struct str *o, const struct diag *d) {
    int64_t best = ridge_at_best(d);
    if (!d->kernels.n || best <= 0) return;
    report_line(o, "AT BEST  %.1f ms, you take %.1f: %.1fx%s; all kernels at their roof, no gaps", ms(best),
                ms(d->wall_ns), (double)d->wall_ns / (double)best,
                d->steps.n > 1 ? arena_printf(o->arena, ", a step %.2f ms", ms(best) / d->steps.n) : "");
}

static void kernels(struct str *o, const struct diag *d) {
    int64_t all = kernel_time(d);
    if (!d->kernels.n) return;
    report_line(o, "KERNELS  %.1f ms in %u different ones", ms(all), d->kernels.n);
    for (uint32_t i = 0; i < d->kernels.n && i < 6; i++) {
        const struct kernel_row *k = &d->kernels.p[i];
        char name[25], roof[32] = "roof not known";
        double us = (double)k->ns / k->count / 1e3;
        report_cut_middle(trace_str(d->t, k->name), name, sizeof name);
        if (k->limit)
            snprintf(roof, sizeof roof, "%2.0f%% of roof, %s", 100 * k->roof, trace_str(d->t, k->limit));
        report_line(o, " %5.1f%% %-24s x%-5u %7.1f %s %-11s %-22s %s", pct((double)k->ns, (double)all), name,
                    k->count, us < 10000 ? us : us / 1e3, us < 10000 ? "us" : "ms", class_text(k->cls), roof,
                    text_of(d, k->where, ""));
    }
}

static void steps(struct str *o, const struct diag *d) {
    if (d->steps.n < 2) return;
    const struct step_row *first = &d->steps.p[0];
    report_line(o, "STEPS  the first %.2f ms, the median of %u %.2f ms", ms(first->t1 - first->t0),
                d->steps.n, ms(median_step(d)));
}

static void notes(struct str *o, const struct diag *d) {
    heap_lines(o, d);
    if (d->t->record_ns) {
        int64_t cost = (int64_t)d->t->record_ns * (int64_t)(d->t->seen) + d->budget[BUDGET_PROFILER];
        report_line(
            o, "RECORDING  %llu records of %u ns and %.2f ms of preparation: %.2f ms, %.2f%% of the time",
            (unsigned long long)d->t->seen, d->t->record_ns, ms(d->budget[BUDGET_PROFILER]), ms(cost),
            pct((double)cost, (double)d->wall_ns));
    }
    for (uint32_t i = 0; i < d->t->notes.n; i++)
        if (!d->t->notes.p[i].todo)
            report_wrapped(o, "TIMES  ", trace_str(d->t, d->t->notes.p[i].what), 7, 2);
    for (uint32_t i = 0; i < d->capture.n; i++)
        report_wrapped(o, "CAPTURE  ",
                       arena_printf(o->arena, "%s -> %s", d->capture.p[i].why, d->capture.p[i].setting), 9,
                       2);
}

void report_ridge(struct str *o, const struct diag *d, const char *path) {
    head(o, d, path);
    if (d->wall_ns) budget(o, d);
    fixes(o, d);
    at_best(o, d);
    kernels(o, d);
    steps(o, d);
    notes(o, d);
}
