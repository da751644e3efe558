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
    case BUDGET_COMM: return "collectives that nothing hides";
    case BUDGET_SYNC: return "waits";
    case BUDGET_LOADER: return "files and batches";
    case BUDGET_PLAN: return "planning and lowering";
    case BUDGET_COMPILE: return "compiling, and looking into the cache";
    case BUDGET_DISPATCH: return "dispatch: graph, binding, bookkeeping";
    case BUDGET_USER: return "your code, outside of Ridge";
    case BUDGET_PROFILER: return "the profiler itself";
    case BUDGET_QUEUED: return "another process has the GPU";
    case BUDGET_OTHER: return "not recorded";
    default: return "other";
    }
}

static const char *text_of(const struct diag *d, uint32_t id, const char *none) {
    return id ? trace_str(d->t, id) : none;
}

/* The end of a source line, which holds the number; room: in characters. */
static const char *end_of(struct str *o, const char *s, int room) {
    int n = (int)strlen(s);
    room = RG_MAX(room, 12);
    return n <= room ? s : arena_printf(o->arena, "..%s", s + n - room + 2);
}

/* "head  at line", on two lines where one is too short. */
static void line_at(struct str *o, const char *head, const char *where) {
    int n = (int)strlen(head);
    if (!*where || n + 5 + (int)strlen(where) <= COLS) {
        report_line(o, "%s%s%s", head, *where ? "  at " : "", where);
        return;
    }
    report_line(o, "%s", head);
    report_line(o, "       at %s", end_of(o, where, COLS - 10));
}

static int64_t kernel_time(const struct diag *d) {
    int64_t ns = 0;
    for (uint32_t i = 0; i < d->kernels.n; i++) ns += d->kernels.p[i].ns;
    return ns;
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
        text_printf(cores, sizeof cores, ", %.1f cores busy",
                    (double)d->t->cpu_ns / (double)RG_MAX(d->wall_ns, 1));
    report_line(o, "  %u events%s, %llu kernels, %u steps, %.1f ms recorded%s", d->t->n,
                d->t->lost + d->t->dropped ? " (some lost)" : "", (unsigned long long)d->kernel_count,
                d->steps.n, ms(d->wall_ns), cores);
    double wall = (double)d->steady.wall_ns, in_kernels = pct((double)d->steady.budget[BUDGET_KERNELS], wall);
    if (d->failed)
        report_line(o, "VERDICT  the program ended with exit status %d: no advice; what it did until then:",
                    d->failed);
    else if (!d->kernel_count)
        report_line(o, "VERDICT  no kernel ran: there is nothing to judge");
    else if (d->healthy)
        report_line(o, "VERDICT  healthy%s: %.1f%% of the %s in kernels, at %.0f%% of their roof",
                    limit_text(d), in_kernels, d->phases.n ? "steps" : "time", 100 * d->roof);
    else if (d->causes.p[0].first)
        report_line(o, "VERDICT  %s: %s; in kernels %.1f%%, at %.0f%% of their roof", cause_text(d->verdict),
                    d->causes.p[0].signal, in_kernels, 100 * d->roof);
    else
        report_line(o, "VERDICT  %s: %.1f of %.1f ms%s (%.1f%%); in kernels %.1f%%, at %.0f%% of their roof",
                    cause_text(d->verdict), ms(d->causes.p[0].lost_ns), ms(d->steady.wall_ns),
                    d->phases.n ? " of steps" : "", pct((double)d->causes.p[0].lost_ns, wall), in_kernels,
                    100 * d->roof);
}

/* A row for each key; of the steps, beside it what start-up took. The steps' shares sum to 100 %. */
static void budget(struct str *o, const struct diag *d) {
    int share[BUDGET_KEYS];
    bool apart = d->phases.n && d->startup.wall_ns > 0;
    report_shares(d->steady.budget, BUDGET_KEYS, d->steady.wall_ns, share);
    if (apart) report_line(o, "  %-40s %13s %6s %13s", "", "steps", "", "start-up");
    for (int k = 0; k < BUDGET_KEYS; k++) {
        if (!d->budget[k]) continue;
        char bar[24], start[24] = "";
        int n = RG_MIN(20, (share[k] + 25) / 50);
        memset(bar, '#', (size_t)n);
        bar[n] = 0;
        if (apart) text_printf(start, sizeof start, " %10.2f ms", ms(d->startup.budget[k]));
        report_line(o, "  %-40s %10.2f ms %5.1f%%%s  %s", ridge_budget_text(k), ms(d->steady.budget[k]),
                    share[k] / 10.0, start, bar);
    }
    if (apart)
        report_line(o, "  %40s %10.2f ms 100.0%% %10.2f ms", "sum", ms(d->steady.wall_ns),
                    ms(d->startup.wall_ns));
    else
        report_line(o, "  %40s %10.2f ms 100.0%%", "sum", ms(d->steady.wall_ns));
}

static void fixes(struct str *o, const struct diag *d) {
    int shown = 0;
    if (d->failed || !d->kernel_count) return;
    for (uint32_t i = 0; i < d->causes.n; i++) {
        const struct cause *c = &d->causes.p[i];
        if (c->note) report_wrapped(o, "NOTE   ", arena_printf(o->arena, "%s: %s", c->signal, c->fix), 7, 2);
        if (c->note || shown == 3) continue;
        shown++;
        const char *name = cause_text(c->id);
        if (c->first)
            line_at(o, arena_printf(o->arena, "FIX %d  %s", shown, name), c->where);
        else
            line_at(o,
                    arena_printf(o->arena, "FIX %d  %s  up to %.1f ms (%.1f%%), %s%s%s", shown, name,
                                 ms(c->gain_ns), pct((double)c->gain_ns, (double)d->steady.wall_ns),
                                 strcmp(cause_confidence(c->id), "model") ? "measured" : "modelled",
                                 c->how && *c->how ? ": " : "", c->how ? c->how : ""),
                    c->where);
        report_wrapped(o, "       ", c->signal, 7, 2);
        report_wrapped(o, "    -> ", c->fix, 7, 2);
        report_evidence(o, c, shown == 1);
    }
    if (!shown) report_line(o, "FIX    nothing to do");
}

/* What was looked at, also where it was found well. */
static void checklist(struct str *o, const struct diag *d) {
    if (d->failed) return;
    for (uint32_t i = 0; i < d->checks.n; i++)
        report_line(o, "%s %-4s %-14s %s", i ? "     " : "CHECK", d->checks.p[i].fine ? "ok" : "look",
                    d->checks.p[i].id, d->checks.p[i].answer);
}

/* The speed of light: the same kernels, each at its roof, and nothing else. */
static void at_best(struct str *o, const struct diag *d) {
    const struct phase *p = d->phases.n ? &d->phases.p[0] : &d->steady;
    if (!d->kernels.n || d->steady.best_ns <= 0) return;
    const char *step =
        arena_printf(o->arena, ", a step at %s %.2f ms", end_of(o, text_of(d, p->line, "?"), 24),
                     p->best_ns / 1e6 / RG_MAX(p->steps, 1u));
    report_line(o, "AT BEST  %.1f ms, you take %.1f: %.1fx%s", d->steady.best_ns / 1e6, ms(d->steady.wall_ns),
                (double)d->steady.wall_ns / d->steady.best_ns,
                d->phases.n ? step : "; all kernels at their roof, no gaps");
}

static void kernels(struct str *o, const struct diag *d) {
    int64_t all = kernel_time(d);
    if (!d->kernels.n) return;
    int64_t overlap =
        all - d->budget[BUDGET_KERNELS] - d->budget[BUDGET_COMM]; /* the budget counts a moment once */
    report_line(o, "KERNELS  %.1f ms in %u different ones%s", ms(all), d->kernels.n,
                overlap * 100 > all
                    ? arena_printf(o->arena, ", %.1f ms of it beside other kernels", ms(overlap))
                    : "");
    for (uint32_t i = 0; i < d->kernels.n && i < 6; i++) {
        const struct kernel_row *k = &d->kernels.p[i];
        char name[25], roof[32] = "roof not known";
        double us = (double)k->ns / k->count / 1e3;
        report_cut_middle(trace_str(d->t, k->name), name, sizeof name);
        if (k->limit)
            text_printf(roof, sizeof roof, "%2.0f%% of roof, %s", 100 * k->roof, trace_str(d->t, k->limit));
        const char *row = arena_printf(
            o->arena, " %5.1f%% %-24s x%-5u %7.1f %s %-11s %-22s", pct((double)k->ns, (double)all), name,
            k->count, us < 10000 ? us : us / 1e3, us < 10000 ? "us" : "ms", class_text(k->cls), roof);
        report_line(o, "%s %s", row, end_of(o, text_of(d, k->where, ""), COLS - 1 - (int)strlen(row)));
    }
}

/* One line for start-up, one for each program whose steps repeat. */
static void steps(struct str *o, const struct diag *d) {
    if (!d->phases.n) return;
    for (uint32_t i = 0; i < d->phases.n && i < 4; i++) {
        const struct phase *p = &d->phases.p[i];
        report_line(o, "%s  %u of %.2f ms (median) at %s: %.1f ms, %.1f%% in kernels, %.1fx of its best",
                    i ? "     " : "STEPS", p->steps, ms(p->median_ns), text_of(d, p->line, "(no line)"),
                    ms(p->wall_ns), pct((double)p->budget[BUDGET_KERNELS], (double)p->wall_ns),
                    p->best_ns > 0 ? (double)p->wall_ns / p->best_ns : 0);
    }
    if (d->phases.n > 4) report_line(o, "       and %u other programs", d->phases.n - 4);
}

static void notes(struct str *o, const struct diag *d) {
    heap_lines(o, d);
    if (d->t->record_ns) {
        int64_t cost = (int64_t)d->t->record_ns * (int64_t)(d->t->seen) + d->budget[BUDGET_PROFILER];
        report_line(o, "RECORDING  %llu records of %u ns and %.2f ms of %s: %.2f ms, %.2f%% of the time",
                    (unsigned long long)d->t->seen, d->t->record_ns, ms(d->budget[BUDGET_PROFILER]),
                    d->t->kernel_record_ns ? "preparation and of timing kernels" : "preparation", ms(cost),
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
    checklist(o, d);
    at_best(o, d);
    kernels(o, d);
    steps(o, d);
    notes(o, d);
}
