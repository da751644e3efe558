/* diff.c: what differs between two recordings, for people and for programs.
 *
 * Times are of one step where both recordings have steps, else of the whole. Tests: tests/unit/diff.c, tests/cli/diff.sh */
#include "report/internal.h"

#include <stdlib.h>

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static double percent(const struct diff *f) {
    return f->wall[0] ? 100.0 * (double)f->delta / (double)f->wall[0] : 0;
}

/* One unit for a whole screen, so that columns compare: that of the longer recording. */
struct diff_unit {
    const char *name;
    double ns;
};
static struct diff_unit unit_of(const struct diff *f) {
    int64_t most = RG_MAX(f->wall[0], f->wall[1]);
    return most >= 10000000 ? (struct diff_unit){"ms", 1e6} : (struct diff_unit){"us", 1e3};
}

static const char *key_text(const struct diff *f, int key) {
    bool ridge = f->of[0]->t->format == TRACE_RIDGE && f->of[1]->t->format == TRACE_RIDGE;
    return ridge ? ridge_budget_text(key) : budget_text(key);
}

/* Does what is done once make up much of it? */
static bool once(const struct diff *f) {
    int64_t ns = 0, all = 0;
    for (int i = 0; i < 2; i++) {
        const int64_t *b = f->of_budget[i];
        ns += b[BUDGET_PLAN] + b[BUDGET_COMPILE] + b[BUDGET_LOADER];
        all += f->of[i]->wall_ns;
    }
    return ns * 20 > all && f->of[0]->t->format == TRACE_RIDGE && f->of[1]->t->format == TRACE_RIDGE;
}

static void head(struct str *o, const struct diff *f, const char *const path[2], struct diff_unit u) {
    report_line(o, "%s -> %s", base_name(path[0]), base_name(path[1]));
    char per[80] = "in all: not both have steps";
    if (f->per_step) snprintf(per, sizeof per, "a step, of %u and %u steps", f->steps[0], f->steps[1]);
    report_line(o, "VERDICT  %s: %.2f -> %.2f %s (%+.2f, %+.1f%%) %s",
                f->delta > 0   ? "slower"
                : f->delta < 0 ? "faster"
                               : "the same",
                (double)f->wall[0] / u.ns, (double)f->wall[1] / u.ns, u.name, (double)f->delta / u.ns,
                percent(f), per);
    if (f->how.skip)
        report_line(o, "NOTE   only the steps were compared, without the first %u", f->how.skip);
    else if (f->per_step && once(f))
        report_line(
            o, "NOTE   planning, compiling, loading are divided by the steps too: --skip 1 leaves them out");
}

static void by_cause(struct str *o, const struct diff *f, struct diff_unit u) {
    for (int k = 0; k < BUDGET_KEYS; k++) {
        const int64_t *a = &f->of_budget[0][k], *b = &f->of_budget[1][k];
        if (!*a && !*b) continue;
        report_line(o, "  %-45s %+12.2f %s  %10.2f -> %.2f", key_text(f, k), (double)f->budget[k] / u.ns,
                    u.name, (double)*a / f->steps[0] / u.ns, (double)*b / f->steps[1] / u.ns);
    }
    report_line(o, "  %45s %+12.2f %s", "sum", (double)f->delta / u.ns, u.name);
}

static const struct phase *phase_at(const struct diag *d, const char *line) {
    for (uint32_t i = 0; i < d->phases.n; i++)
        if (!strcmp(trace_str(d->t, d->phases.p[i].line), line)) return &d->phases.p[i];
    return NULL;
}

/* What repeats, program by program, and start-up: once in each, whatever the number of steps. */
static void by_phase(struct str *o, const struct diff *f) {
    const struct diag *a = f->of[0], *b = f->of[1];
    if (!a->phases.n || !b->phases.n) return;
    for (uint32_t i = 0; i < a->phases.n && i < 4; i++) {
        const char *line = trace_str(a->t, a->phases.p[i].line);
        const struct phase *x = &a->phases.p[i], *y = phase_at(b, line);
        if (!y) continue;
        report_line(o, "STEPS  at %s: %.3f -> %.3f ms (%+.1f%%), medians of %u and %u", line,
                    (double)x->median_ns / 1e6, (double)y->median_ns / 1e6,
                    100.0 * (double)(y->median_ns - x->median_ns) / (double)RG_MAX(x->median_ns, 1), x->steps,
                    y->steps);
    }
    report_line(o, "START-UP  %.1f -> %.1f ms", (double)a->startup.wall_ns / 1e6,
                (double)b->startup.wall_ns / 1e6);
}

static void each_call(const struct diff_row *x, int side, char *out, size_t n) {
    double us = x->calls[side] ? (double)x->ns[side] / (double)x->calls[side] / 1e3 : 0;
    text_printf(out, n, x->calls[side] ? us < 9999.5 ? "%.1f us" : "%.0f us" : "-", us);
}

static void one_row(struct str *o, const struct diff *f, const struct diff_row *x, struct diff_unit u) {
    char name[31], short_name[80], was[24], is[24], line[40];
    report_source_line(x->where, line, sizeof line);
    report_short_name(*x->name ? x->name : "(not known)", short_name, sizeof short_name);
    report_cut_middle(f->how.by == GROUP_KERNEL ? short_name
                      : *x->name                ? x->name
                                                : "(not known)",
                      name, sizeof name);
    each_call(x, 0, was, sizeof was);
    each_call(x, 1, is, sizeof is);
    report_line(o, "%+11.2f %s  %-11s %-30s x%.4g -> x%.4g, %s -> %s  %s", (double)x->delta / u.ns, u.name,
                diff_text(x->what), name, (double)x->calls[0] / f->steps[0],
                (double)x->calls[1] / f->steps[1], was, is, f->how.by == GROUP_LINE ? "" : line);
}

static void by_kernel(struct str *o, const struct diff *f, uint32_t most, struct diff_unit u) {
    int64_t rest = 0;
    uint32_t shown = 0, same = 0;
    if (!f->rows.n) return;
    report_line(o, "BY %s  %+.2f %s; calls of a step, time of each", group_text(f->how.by),
                (double)(diff_kernels(f) - f->overlap) / u.ns, u.name);
    for (uint32_t i = 0; i < f->rows.n; i++) {
        const struct diff_row *x = &f->rows.p[i];
        same += !x->delta;
        if (!x->delta) continue;
        if (shown < most)
            one_row(o, f, x, u), shown++;
        else
            rest += x->delta, shown++;
    }
    if (shown > most) report_line(o, "%+11.2f %s  (%u more)", (double)rest / u.ns, u.name, shown - most);
    if (same) report_line(o, "%11s     %u did not change", "", same);
    if (f->overlap)
        report_line(
            o, "%+11.2f %s  kernels that overlap, reach out of the recorded time or hold the profiler's work",
            (double)f->overlap / u.ns, u.name);
}

/* What makes the times of a recording doubtful; what it merely lacks is no matter here. */
static void distorted(struct str *o, const struct diag *d, const char *name) {
    static const char *const ids[] = {"contended", "truncated",  "unfinished",   "dropped",
                                      "drops",     "cold_start", "profiler_cost"};
    for (uint32_t k = 0; k < d->capture.n; k++)
        for (size_t i = 0; i < RG_COUNT(ids); i++)
            if (!strcmp(d->capture.p[k].id, ids[i]))
                report_wrapped(o, "CAPTURE  ", arena_printf(o->arena, "%s: %s", name, d->capture.p[k].why), 9,
                               2);
}

void report_diff(struct str *o, const struct diff *f, const char *const path[2], uint32_t rows) {
    struct diff_unit u = unit_of(f);
    head(o, f, path, u);
    by_phase(o, f);
    by_cause(o, f, u);
    by_kernel(o, f, rows, u);
    for (int i = 0; i < 2; i++) distorted(o, f->of[i], base_name(path[i]));
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void side_json(struct str *o, const struct diff *f, int i, const char *path) {
    str_add(o, "{\"file\":");
    report_json_string(o, path);
    str_printf(o, ",\"wall_ns\":%lld,\"steps\":%u,\"step_ns\":%lld}", (long long)f->of[i]->wall_ns,
               f->steps[i], (long long)f->wall[i]);
}

/* Of one side, per step where both have steps. */
static void budget_json(struct str *o, const struct diff *f, int side) {
    str_add(o, side ? ",{" : "{");
    for (int k = 0; k < BUDGET_KEYS; k++)
        str_printf(o, "%s\"%s\":%lld", k ? "," : "", budget_key(k),
                   (long long)(f->of_budget[side][k] / (int64_t)RG_MAX(f->steps[side], 1u)));
    str_addc(o, '}');
}

void report_diff_json(struct str *o, const struct diff *f, const char *const path[2]) {
    str_add(o, "{\"a\":");
    side_json(o, f, 0, path[0]);
    str_add(o, ",\"b\":");
    side_json(o, f, 1, path[1]);
    if (f->of[0]->t->format == TRACE_RIDGE && f->of[1]->t->format == TRACE_RIDGE)
        str_printf(o, ",\"startup_ns\":[%lld,%lld]", (long long)f->of[0]->startup.wall_ns,
                   (long long)f->of[1]->startup.wall_ns);
    str_printf(o, ",\"per\":\"%s\",\"skip\":%u,\"delta_ns\":%lld,\"change\":%.6f,\"budget\":{",
               f->per_step ? "step" : "recording", f->how.skip, (long long)f->delta, percent(f) / 100);
    for (int k = 0; k < BUDGET_KEYS; k++)
        str_printf(o, "%s\"%s\":%lld", k ? "," : "", budget_key(k), (long long)f->budget[k]);
    str_add(o, "},\"budgets\":[");
    for (int i = 0; i < 2; i++) budget_json(o, f, i);
    str_printf(o, "],\"overlap_ns\":%lld,\"by\":\"%s\",\"rows\":[", (long long)f->overlap,
               group_text(f->how.by));
    for (uint32_t i = 0; i < f->rows.n; i++) {
        const struct diff_row *x = &f->rows.p[i];
        str_add(o, i ? ",\n{\"name\":" : "\n{\"name\":");
        report_json_string(o, x->name);
        str_printf(o, ",\"what\":\"%s\",\"where\":", diff_text(x->what));
        report_json_string(o, x->where);
        str_printf(o,
                   ",\"delta_ns\":%lld,\"by_calls_ns\":%lld,\"by_time_ns\":%lld,\"calls\":[%lld,%lld],\"ns\":"
                   "[%lld,%lld]}",
                   (long long)x->delta, (long long)x->by_calls, (long long)x->by_time, (long long)x->calls[0],
                   (long long)x->calls[1], (long long)x->ns[0], (long long)x->ns[1]);
    }
    str_add(o, "]}\n");
}
