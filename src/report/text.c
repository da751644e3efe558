/* text.c: the one screen of `ridge diagnose`.
 *
 * In the order in which a person asks: what is it, where did the time go, what do I do, what is it not,
 * what could not be seen. At most 40 lines of 100 columns; the budget is printed with largest-remainder
 * rounding so that its parts total what is shown. A Ridge program has a screen of its own: ridge_screen.c. Tests: tests/unit/report.c */
#include "report/internal.h"

#include <stdlib.h>

static const char *base_name(const char *path) {
    const char *p = strrchr(path, '/');
    return p ? p + 1 : path;
}

static double ms(int64_t ns) { return (double)ns / 1e6; }
static double pct(int64_t part, int64_t whole) { return whole ? 100.0 * (double)part / (double)whole : 0; }

static void head(struct str *o, const struct diag *d, const char *path) {
    const struct trace *t = d->t;
    report_line(o, "%s  %s%s%s%s", base_name(path),
                t->own_export ? "Ridge's export (Kineto JSON)"
                : t->moment   ? "memory profile of pprof"
                              : trace_format_text(t->format),
                t->compressed ? ", gzip" : "", *d->device_name ? ", " : "", d->device_name);
    if (t->format == TRACE_SNAPSHOT) {
        report_line(o, "  %u allocator records; %.1f MB allocated of %.1f MB reserved at the end", t->snap.n,
                    (double)t->snap_allocated / 1e6, (double)t->snap_reserved / 1e6);
        return;
    }
    report_line(o,
                "  %u events, %llu lost, %u steps, %llu %s, window %.1f ms; shapes %s, stacks %s, memory %s",
                t->n, (unsigned long long)(t->lost + t->dropped), d->steps.n,
                (unsigned long long)d->kernel_count, d->cpu ? "operators" : "kernels", ms(d->wall_ns),
                d->modelled > 0 || t->with_shapes == 1 ? "on" : "off", d->has_python ? "on" : "off",
                d->mem.n ? "on" : "off");
}

/* What limits it, in words. Copies over the host's link count as memory in the regime; they are named here. */
static const char *limit_text(const struct diag *d) {
    if (d->regime == REGIME_MEMORY)
        return pct(d->budget[BUDGET_PAGEABLE] + d->budget[BUDGET_EXPOSED], d->wall_ns) >= 50
                   ? "the host link"
                   : "memory bandwidth";
    if (d->regime == REGIME_COMPUTE) return "arithmetic";
    if (d->regime == REGIME_OVERHEAD) return "overhead";
    return d->modelled < 0.5 ? "not known" : "no single limit";
}

/* The budget in the words of a program without a device. */
static const char *cpu_budget_text(int key) {
    switch (key) {
    case BUDGET_KERNELS: return "operators computing";
    case BUDGET_COMM: return "collectives: waiting and transferring";
    case BUDGET_LOADER: return "loading data";
    case BUDGET_DISPATCH: return "between operators: Python, dispatch";
    case BUDGET_USER: return "other code of the program";
    case BUDGET_COMPILE: return "compiling";
    case BUDGET_PROFILER: return "the profiler's own cost";
    default: return budget_text(key);
    }
}

const char *report_budget_text(const struct diag *d, int key) {
    return d->cpu ? cpu_budget_text(key) : budget_text(key);
}

static void cpu_verdict(struct str *o, const struct diag *d) {
    double computing = pct(d->budget[BUDGET_KERNELS], d->wall_ns);
    int64_t all = 0;
    for (uint32_t i = 0; i < d->kernels.n; i++) all += d->kernels.p[i].ns;
    const char *top = d->kernels.n ? trace_str(d->t, d->kernels.p[0].name) : "-";
    double share = d->kernels.n ? pct(d->kernels.p[0].ns, all) : 0;
    if (d->healthy)
        report_line(o,
                    "VERDICT  healthy: a program on the CPU; operators compute %.1f%% of the time, %.40s "
                    "%.0f%% of that",
                    computing, top, share);
    else
        report_line(o,
                    "VERDICT  %s: %.1f of %.1f ms (%.1f%%) lost to it; on the CPU, operators compute %.1f%%",
                    cause_text(d->verdict), ms(d->causes.p[0].lost_ns), ms(d->wall_ns),
                    pct(d->causes.p[0].lost_ns, d->wall_ns), computing);
}

/* One line for each GPU, idle ones first; one for each process. */
static void devices(struct str *o, const struct diag *d) {
    char silent[100] = "";
    for (uint32_t i = 0; i < d->devices.n && strlen(silent) + 20 < sizeof silent; i++)
        if (d->devices.p[i].silent)
            snprintf(silent + strlen(silent), sizeof silent - strlen(silent), "%s%d", *silent ? ", " : "",
                     d->devices.p[i].device);
    if (*silent) report_line(o, "  GPU %s idle: visible to the process, no event", silent);
    for (int pass = 0; pass < 2 && d->devices.n > 1; pass++) {
        uint32_t left = 0, shown = 0;
        for (uint32_t i = 0; i < d->devices.n; i++) {
            const struct device_row *r = &d->devices.p[i];
            if (r->silent || device_idles(d, r) == pass) continue;
            if (shown++ >= 4) {
                left++;
                continue;
            }
            report_line(o,
                        "  GPU %-3d %s %5.1f%%: kernels %.1f ms, collectives %.1f (%.0f%% hidden), "
                        "copies %.1f; from %.1f to %.1f ms",
                        r->device, pass ? "busy" : "idle, busy", pct(r->busy_ns, d->wall_ns),
                        ms(r->kernel_ns), ms(r->comm_ns), pct(r->comm_under_compute, r->comm_ns),
                        ms(r->copy_ns), ms(r->t0 - d->w0), ms(r->t1 - d->w0));
        }
        if (left) report_line(o, "  %u more GPUs %s", left, pass ? "busy" : "idle");
    }
    for (uint32_t i = 0; i < d->processes.n && i < 4 && d->processes.n > 1; i++) {
        const struct process_row *p = &d->processes.p[i];
        report_line(o, "  process %s: %u threads, %llu events, %llu launches, %.1f ms on the GPU",
                    trace_str(d->t, p->pid), p->threads, (unsigned long long)p->events,
                    (unsigned long long)p->launches, ms(p->device_ns));
    }
    if (d->processes.n > 4) report_line(o, "  %u more processes", d->processes.n - 4);
}

static void verdict(struct str *o, const struct diag *d) {
    const struct trace *t = d->t;
    char b[300];
    if (t->format == TRACE_SNAPSHOT) {
        double top = d->owners.n ? pct(d->owners.p[0].bytes, t->snap_allocated) : 0;
        if (t->moment)
            report_line(o,
                        "VERDICT  %.1f MB are held, %.0f%% of it from one source line; one moment does not "
                        "show growth",
                        (double)t->snap_allocated / 1e6, top);
        else if (d->healthy)
            report_line(o, "VERDICT  healthy: device memory does not grow");
        else
            report_wrapped(o, "VERDICT  memory.growth: ", d->causes.p[0].signal, 9, 2);
        return;
    }
    double busy = pct(d->busy_ns, d->wall_ns);
    if (!d->healthy && d->verdict == CAUSE_GROWTH) {
        report_wrapped(o, "VERDICT  memory.growth: ", d->causes.p[0].signal, 9, 2);
    } else if (d->t->own_export) {
        report_line(o, "VERDICT  a Ridge program's export: `ridge report` of its profile has the verdict");
    } else if (!d->healthy && d->verdict == CAUSE_IDLE_GPUS) {
        report_line(o, "VERDICT  idle_gpus: %s; GPU %d busy %.1f%%", d->causes.p[0].signal, d->device, busy);
    } else if (d->cpu) {
        cpu_verdict(o, d);
    } else if (!d->dev_n) {
        report_line(o, "VERDICT  no device activity in this recording: nothing can be said about a GPU");
    } else if (d->healthy) {
        if (d->modelled >= 0.5)
            text_printf(b, sizeof b, "GPU busy %.1f%%, at %.0f%% of the roof; bound by %s", busy,
                        100 * d->roof, limit_text(d));
        else if (d->regime == REGIME_MIXED)
            text_printf(b, sizeof b, "GPU busy %.1f%%; the kernels cannot be judged (no shapes)", busy);
        else
            text_printf(b, sizeof b, "GPU busy %.1f%%; bound by %s (by the kernels' names; roof not known)",
                        busy, limit_text(d));
        bool more = d->causes.n && !d->causes.p[0].note;
        uint32_t idle = 0;
        for (uint32_t i = 0; i < d->devices.n; i++) idle += d->devices.p[i].silent;
        char on[48] = "";
        if (idle) snprintf(on, sizeof on, " on %u of %u GPUs", d->devices.n - idle, d->devices.n);
        report_line(o, "VERDICT  healthy%s: %s%s", on, b, more || d->modelled < 0.5 ? "" : "; nothing to do");
    } else {
        const struct cause *c = &d->causes.p[0];
        int share[BUDGET_KEYS]; /* rounded as in the budget below it */
        report_shares(d->budget, BUDGET_KEYS, d->wall_ns, share);
        double computing = share[BUDGET_KERNELS] / 10.0;
        text_printf(b, sizeof b, ", computing %.1f%%", computing);
        report_line(o, "VERDICT  %s: %.1f of %.1f ms (%.1f%%) lost to it; GPU busy %.1f%%%s",
                    cause_text(c->id), ms(c->lost_ns), ms(d->wall_ns), pct(c->lost_ns, d->wall_ns), busy,
                    busy - computing > 0.5 ? b : "");
    }
}

/* Causes inside the kernels are a part of their time, not a line of the budget of their own. */
static void inside_kernels(struct str *o, const struct diag *d) {
    int shown = 0;
    for (uint32_t i = 0; i < d->causes.n && shown < 2; i++) {
        const struct cause *c = &d->causes.p[i];
        bool in = c->id == CAUSE_TRAFFIC || c->id == CAUSE_LAYOUT || c->id == CAUSE_ALIGNMENT ||
                  c->id == CAUSE_QUANTISATION || c->id == CAUSE_OCCUPANCY;
        if (!in || c->note) continue;
        char b[64];
        snprintf(b, sizeof b, "of it %s (%s)", cause_text(c->id), cause_confidence(c->id));
        report_line(o, "    %-43s %10.2f ms %5.1f%%", b, ms(c->lost_ns), pct(c->lost_ns, d->wall_ns));
        shown++;
    }
}

static void budget(struct str *o, const struct diag *d) {
    int share[BUDGET_KEYS];
    report_shares(d->budget, BUDGET_KEYS, d->wall_ns, share);
    int64_t little = 0;
    int little_share = 0;
    for (int k = 0; k < BUDGET_KEYS; k++) {
        if (!d->budget[k]) continue;
        if (share[k] < 5 && k != BUDGET_KERNELS) {
            little += d->budget[k];
            little_share += share[k];
            continue;
        }
        char bar[24];
        int n = RG_MIN(20, (share[k] + 25) / 50);
        memset(bar, '#', (size_t)n);
        bar[n] = 0;
        report_line(o, "  %-45s %10.2f ms %5.1f%%  %s", report_budget_text(d, k), ms(d->budget[k]),
                    share[k] / 10.0, bar);
        if (k == BUDGET_KERNELS) inside_kernels(o, d);
    }
    if (little)
        report_line(o, "  %-45s %10.2f ms %5.1f%%", "all else, each under 0.5%", ms(little),
                    little_share / 10.0);
    report_line(o, "  %45s %10.2f ms 100.0%%", "sum", ms(d->wall_ns));
}

static bool host_cause(int id) {
    return id == CAUSE_SMALL || id == CAUSE_DISPATCH || id == CAUSE_SYNC || id == CAUSE_LOADER ||
           id == CAUSE_USER;
}

static void fixes(struct str *o, const struct diag *d) {
    int shown = 0;
    for (uint32_t i = 0; i < d->causes.n && shown < 3; i++) {
        const struct cause *c = &d->causes.p[i];
        if (c->note) continue;
        char h[64], at[44];
        shown++;
        report_source_line(c->where, at, sizeof at);
        /* Stacks slow the host down: what they add is in the number, and goes with them. */
        const char *slow = d->has_python && host_cause(c->id) ? " with stacks" : "";
        const char *how = cause_confidence(c->id);
        if (!strcmp(how, "model")) how = "modelled";
        if (c->lost_ns)
            report_line(o, "FIX %d  %s  up to %.1f ms (%.1f%%), %s%s%s%s", shown, cause_text(c->id),
                        ms(c->gain_ns), pct(c->gain_ns, d->wall_ns), how, slow, *at ? "  at " : "", at);
        else
            report_line(o, "FIX %d  %s%s%s", shown, cause_text(c->id), *at ? "  at " : "", at);
        if (c->signal && d->t->format != TRACE_SNAPSHOT) report_wrapped(o, "       ", c->signal, 7, 2);
        snprintf(h, sizeof h, "    -> ");
        report_wrapped(o, h, c->fix, 7, 2);
        report_evidence(o, c, shown == 1);
    }
    if (!shown)
        report_line(o, d->cpu ? "FIX    nothing to do outside of the operators"
                              : "FIX    nothing to do on the host or in the transfers");
    for (uint32_t i = 0, k = 0; i < d->causes.n; i++) {
        const struct cause *c = &d->causes.p[i];
        if (c->note)
            report_wrapped(o, "NOTE   ", c->signal, 7, 1);
        else if (++k == 4) {
            char b[200] = "";
            for (uint32_t x = i; x < d->causes.n && strlen(b) < 80; x++)
                if (!d->causes.p[x].note)
                    text_printf(b + strlen(b), sizeof b - strlen(b), "%s%s %.1f%%", *b ? ", " : "",
                                cause_text(d->causes.p[x].id), pct(d->causes.p[x].lost_ns, d->wall_ns));
            report_line(o, "ALSO   %s", b);
        }
    }
}

static void kernels(struct str *o, const struct diag *d) {
    if (!d->kernels.n) return;
    int64_t all = 0;
    for (int k = 0; k < KC_CLASSES; k++) all += d->classes[k].ns;
    char b[300] = "";
    for (int pass = 0; pass < 4; pass++) {
        int best = -1;
        for (int k = 0; k < KC_CLASSES; k++) {
            char key[24];
            snprintf(key, sizeof key, "%s ", class_text(k));
            if (d->classes[k].ns && !strstr(b, key) && (best < 0 || d->classes[k].ns > d->classes[best].ns))
                best = k;
        }
        if (best < 0) break;
        text_printf(b + strlen(b), sizeof b - strlen(b), "%s%s %.0f%%", *b ? ", " : "", class_text(best),
                    pct(d->classes[best].ns, all));
    }
    report_line(o, "%s  %s of %.1f ms; cost known for %.0f%%", d->cpu ? "OPERATORS" : "KERNELS", b, ms(all),
                100 * d->modelled);
    for (uint32_t i = 0; i < d->kernels.n && i < (d->cpu ? 8u : 3u); i++) {
        const struct kernel_row *k = &d->kernels.p[i];
        char n[96], shown[32], r[80] = "";
        report_short_name(trace_str(d->t, k->name), n, sizeof n);
        report_cut_middle(n, shown, sizeof shown);
        if (k->modelled && k->roof > 0)
            text_printf(r, sizeof r, "%.0f%% of %s roof", 100 * k->roof,
                        k->compute >= k->memory ? "compute" : "memory");
        else if (d->cpu && k->modelled && k->ns)
            text_printf(r, sizeof r, "%.1f GFLOPS, %.1f GB/s", k->flops * k->count / (double)k->ns,
                        k->bytes * k->count / (double)k->ns);
        else
            snprintf(r, sizeof r, "%s", class_text(k->cls));
        const char *op = k->op ? trace_str(d->t, k->op) : "";
        if (k->unlinked == k->count && !d->cpu) op = "(no launch seen)";
        if (k->op == k->name) op = "";
        if (!strncmp(op, "aten::", 6)) op += 6;
        report_line(o, "  %5.1f%%  %-31s %-16.16s x%-5u %8.1f us  %s", pct(k->ns, all), shown, op, k->count,
                    (double)k->ns / k->count / 1e3, r);
    }
}

/* The four questions everyone asks, each answered. */
static void checklist(struct str *o, const struct diag *d) {
    if (!d->dev_n) return;
    int64_t f32 = 0, all = 0;
    bool small = false, fix = false;
    for (uint32_t i = 0; i < d->kernels.n; i++) {
        const struct kernel_row *k = &d->kernels.p[i];
        all += k->ns;
        if (k->cls <= KC_ATTENTION && k->unit == GPU_F32 && k->ns > 0) f32 += k->ns;
    }
    for (uint32_t i = 0; i < d->causes.n; i++) {
        small |= d->causes.p[i].id == CAUSE_SMALL;
        fix |= !d->causes.p[i].note;
    }
    report_line(o, "CHECK  bottleneck: %s | busy: %.0f%% | bound by: %s | easy wins: %s",
                d->healthy ? "none" : cause_text(d->verdict), pct(d->busy_ns, d->wall_ns), limit_text(d),
                !fix         ? "none"
                : d->healthy ? "small, FIX 1"
                             : "FIX 1");
    char rows[600] = "";
    for (uint32_t i = 1; i < d->checks.n; i++) /* the first is the bottleneck */
        snprintf(rows + strlen(rows), sizeof rows - strlen(rows), "%s%s%s: %s", i > 1 ? " | " : "",
                 d->checks.p[i].fine ? "" : "look: ", d->checks.p[i].id, d->checks.p[i].answer);
    if (*rows) report_wrapped(o, "       ", rows, 7, 4);
    if (f32 * 10 > all && d->gpu && d->gpu->cc >= 80)
        report_line(o, "ALSO   %.0f%% of kernel time are fp32 GEMMs: allow TF32, or use bf16", pct(f32, all));
    if (!small && d->small_count * 10 > d->kernel_count * 3 && d->small_ns * 2 < d->budget[BUDGET_KERNELS])
        report_line(o,
                    "NOT    the cause: %llu of %llu kernels take under 10 us, but only %.1f%% of kernel time",
                    (unsigned long long)d->small_count, (unsigned long long)d->kernel_count,
                    pct(d->small_ns, d->budget[BUDGET_KERNELS]));
    if (d->layer_count)
        report_line(o, "LAYERS %u repeats of %u kernels, %.2f ms each", d->layer_count, d->layer_period,
                    ms(d->layer_ns / d->layer_count));
}

static void memory(struct str *o, const struct diag *d) {
    if (!d->mem.n) return;
    report_line(o, "MEMORY %speak %.1f MB, %.1f at the start, %.1f at the end%s",
                d->cpu ? "of the host: " : "", (double)d->mem_peak / 1e6, (double)d->mem_first / 1e6,
                (double)d->mem_last / 1e6, d->mem_leak ? ": it grows" : "");
    if (d->t->format != TRACE_SNAPSHOT) return;
    double rest = (double)d->t->snap_allocated;
    for (uint32_t i = 0; i < d->owners.n; i++) {
        rest -= (double)d->owners.p[i].bytes;
        if (i >= 5) continue;
        char at[72];
        report_source_line(trace_str(d->t, d->owners.p[i].where), at, sizeof at);
        report_line(o, "  %9.1f MB in %u blocks still held, from %s", (double)d->owners.p[i].bytes / 1e6,
                    d->owners.p[i].count, at);
    }
    if (rest > 0) report_line(o, "  %9.1f MB taken before the recording began", rest / 1e6);
    report_line(o, "  fragmentation %.1f%% of reserved memory; largest free block %.1f MB",
                100 * d->fragmentation, (double)d->t->snap_largest_free / 1e6);
}

static int count_lines(const struct str *o) {
    int n = 0;
    for (size_t i = 0; i < o->n; i++) n += o->p[i] == '\n';
    return n;
}

/* One note over one or two lines; false when there is no room for it. */
static bool note_line(struct str *o, const char *head, const char *what, const char *sep, const char *more,
                      int *room) {
    char b[500];
    snprintf(b, sizeof b, "%s%s%s", what, *more ? sep : "", more);
    int need = strlen(b) + 9 > COLS ? 2 : 1;
    if (*room < need) return false;
    report_wrapped(o, head, b, 9, need);
    *room -= need;
    return true;
}

/* Told already: by a note on the capture, or by NOTE above. */
static bool is_told(const struct diag *d, const struct note *a) {
    for (uint32_t i = 0; i < d->capture.n; i++)
        if (!strcmp(a->id, "memory.growth") && !strcmp(d->capture.p[i].id, "no_memory")) return true;
    for (uint32_t i = 0; i < d->causes.n; i++)
        if (d->causes.p[i].note && !strcmp(a->id, cause_text(d->causes.p[i].id))) return true;
    return false;
}

static void notes(struct str *o, const struct diag *d, int room) {
    for (uint32_t i = 0; i < d->capture.n; i++)
        if (!note_line(o, "CAPTURE  ", d->capture.p[i].why, " -> ", d->capture.p[i].setting, &room)) return;
    for (uint32_t i = 0; i < d->abstained.n; i++) {
        const struct note *a = &d->abstained.p[i];
        if (!is_told(d, a) && !note_line(o, "UNKNOWN  ", a->id, ": ", a->why, &room)) return;
    }
}

void report_text(struct str *o, const struct diag *d, const char *path) {
    if (d->t->format == TRACE_RIDGE) {
        report_ridge(o, d, path);
        return;
    }
    int before = o->n ? count_lines(o) : 0;
    head(o, d, path);
    verdict(o, d);
    devices(o, d);
    if (d->t->format != TRACE_SNAPSHOT && d->wall_ns) budget(o, d);
    if (!d->t->own_export) {
        fixes(o, d);
        checklist(o, d);
    }
    if (d->t->format != TRACE_SNAPSHOT) kernels(o, d);
    memory(o, d);
    notes(o, d, 40 - (count_lines(o) - before));
}
