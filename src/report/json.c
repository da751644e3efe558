/* json.c: the diagnosis as one JSON object, for scripts and continuous integration.
 *
 * Keys have a fixed order and integer nanoseconds; the budget sums to wall_ns exactly. Strings are
 * escaped so that any byte of a trace gives valid JSON. Schema: docs/diagnose.md. Tests:
 * tests/unit/report.c */
#include "report/internal.h"

/* Length of the UTF-8 character at s, 0 if it is not one. */
static int utf8(const unsigned char *s) {
    int n = *s < 0x80                 ? 1
            : *s >= 0xc2 && *s < 0xe0 ? 2
            : *s >= 0xe0 && *s < 0xf0 ? 3
            : *s >= 0xf0 && *s < 0xf5 ? 4
                                      : 0;
    for (int i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80) return 0;
    return n;
}

void report_json_string(struct str *o, const char *text) {
    const unsigned char *s = (const unsigned char *)text;
    str_addc(o, '"');
    while (*s) {
        int n = utf8(s);
        if (!n)
            str_add(o, "\\ufffd"), s++;
        else if (*s == '"' || *s == '\\')
            str_addc(o, '\\'), str_addc(o, (char)*s++);
        else if (*s == '<')
            str_add(o, "\\u003c"), s++; /* safe inside a page's script */
        else if (*s < ' ' || *s == 0x7f)
            str_printf(o, "\\u%04x", *s++);
        else
            str_addn(o, (const char *)s, (size_t)n), s += n;
    }
    str_addc(o, '"');
}

static void key(struct str *o, bool *first, const char *k) {
    if (!*first) str_addc(o, ',');
    *first = false;
    str_printf(o, "\"%s\":", k);
}
static void text(struct str *o, bool *first, const char *k, const char *v) {
    key(o, first, k);
    report_json_string(o, v ? v : "");
}
static void integer(struct str *o, bool *first, const char *k, int64_t v) {
    key(o, first, k);
    str_printf(o, "%lld", (long long)v);
}
static void number(struct str *o, bool *first, const char *k, double v) {
    key(o, first, k);
    if (v != v || v > 1e300 || v < -1e300) v = 0;
    str_printf(o, "%.6g", v);
}
static void boolean(struct str *o, bool *first, const char *k, bool v) {
    key(o, first, k);
    str_add(o, v ? "true" : "false");
}
static double share(int64_t part, int64_t whole) { return whole ? (double)part / (double)whole : 0; }

static void causes(struct str *o, const struct diag *d) {
    str_addc(o, '[');
    for (uint32_t i = 0; i < d->causes.n; i++) {
        const struct cause *c = &d->causes.p[i];
        bool f = true;
        str_add(o, i ? ",\n    {" : "\n    {");
        text(o, &f, "id", cause_text(c->id));
        integer(o, &f, "lost_ns", c->lost_ns);
        number(o, &f, "share",
               share(c->lost_ns, d->t->format == TRACE_RIDGE ? d->steady.wall_ns : d->wall_ns));
        integer(o, &f, "gain_ceiling_ns", c->gain_ns);
        text(o, &f, "where", c->where);
        text(o, &f, "fix", c->fix);
        text(o, &f, "signal", c->signal);
        text(o, &f, "confidence", cause_confidence(c->id));
        key(o, &f, "evidence");
        bool g = true;
        str_addc(o, '{');
        text(o, &g, "rests_on", c->signal);
        text(o, &g, "bound", c->bound);
        text(o, &g, "before", c->before);
        text(o, &g, "confirm", c->confirm);
        str_addc(o, '}');
        boolean(o, &f, "note", c->note);
        str_addc(o, '}');
    }
    str_addc(o, ']');
}

static void note_list(struct str *o, const struct note *n, uint32_t count) {
    str_addc(o, '[');
    for (uint32_t i = 0; i < count; i++) {
        bool f = true;
        str_add(o, i ? ",{" : "{");
        text(o, &f, "id", n[i].id);
        text(o, &f, "why", n[i].why);
        text(o, &f, "setting", n[i].setting);
        str_addc(o, '}');
    }
    str_addc(o, ']');
}

static void kernel(struct str *o, const struct diag *d, const struct kernel_row *k) {
    const struct trace *t = d->t;
    char name[96];
    bool f = true;
    report_short_name(trace_str(t, k->name), name, sizeof name);
    str_addc(o, '{');
    text(o, &f, "name", name);
    text(o, &f, "full_name", trace_str(t, k->name));
    text(o, &f, "class", class_text(k->cls));
    text(o, &f, "op", trace_str(t, k->op));
    text(o, &f, "where", trace_str(t, k->where));
    integer(o, &f, "count", k->count);
    integer(o, &f, "ns", k->ns);
    integer(o, &f, "min_ns", k->count ? k->min_ns : 0);
    integer(o, &f, "max_ns", k->max_ns);
    text(o, &f, "bound", bound_text(k->bound));
    boolean(o, &f, "modelled", k->modelled);
    if (k->modelled) {
        number(o, &f, "flops", k->flops);
        number(o, &f, "bytes", k->bytes);
        number(o, &f, "roof", k->roof);
        number(o, &f, "compute_roof", k->compute);
        number(o, &f, "memory_roof", k->memory);
    }
    if (k->m) {
        key(o, &f, "mnk");
        str_printf(o, "[%lld,%lld,%lld,%lld]", (long long)k->m, (long long)k->n, (long long)k->k,
                   (long long)k->batch);
    }
    if (k->has_occ) {
        number(o, &f, "occupancy", k->occ.achieved_cap);
        number(o, &f, "occupancy_resident", k->occ.theoretical);
        text(o, &f, "limiter", k->occ.limiter);
        number(o, &f, "waves", k->occ.waves);
    }
    boolean(o, &f, "graph", k->graph > 0);
    str_addc(o, '}');
}

static void classes(struct str *o, const struct diag *d) {
    int64_t all = 0;
    double flops = 0;
    bool first = true;
    for (int k = 0; k < KC_CLASSES; k++) all += d->classes[k].ns, flops += d->classes[k].flops;
    str_addc(o, '{');
    for (int k = 0; k < KC_CLASSES; k++) {
        const struct class_row *c = &d->classes[k];
        if (!c->count) continue;
        bool f = true;
        key(o, &first, class_text(k));
        str_addc(o, '{');
        integer(o, &f, "count", c->count);
        integer(o, &f, "ns", c->ns);
        number(o, &f, "time_share", share(c->ns, all));
        number(o, &f, "flops_share", flops > 0 ? c->flops / flops : 0);
        number(o, &f, "rate_vs_gemm", c->rate);
        str_addc(o, '}');
    }
    str_addc(o, '}');
}

static void memory(struct str *o, const struct diag *d) {
    bool f = true;
    str_addc(o, '{');
    integer(o, &f, "peak_bytes", d->mem_peak);
    integer(o, &f, "first_bytes", d->mem_first);
    integer(o, &f, "last_bytes", d->mem_last);
    integer(o, &f, "capacity_bytes", d->mem_capacity);
    integer(o, &f, "reserved_bytes", d->mem_reserved);
    boolean(o, &f, "grows", d->mem_leak);
    integer(o, &f, "growth_per_step_bytes", d->mem_growth_step);
    number(o, &f, "fragmentation", d->fragmentation);
    key(o, &f, "held");
    str_addc(o, '[');
    for (uint32_t i = 0; i < d->owners.n && i < 20; i++) {
        bool g = true;
        str_add(o, i ? ",{" : "{");
        text(o, &g, "where", trace_str(d->t, d->owners.p[i].where));
        integer(o, &g, "bytes", d->owners.p[i].bytes);
        integer(o, &g, "blocks", d->owners.p[i].count);
        str_addc(o, '}');
    }
    str_add(o, "]}");
}

static void capture(struct str *o, const struct diag *d) {
    const struct trace *t = d->t;
    bool f = true;
    str_addc(o, '{');
    text(o, &f, "format", trace_format_text(t->format));
    integer(o, &f, "events", t->n ? t->n : t->snap.n);
    integer(o, &f, "seen", (int64_t)t->seen);
    integer(o, &f, "lost", (int64_t)t->lost);
    integer(o, &f, "dropped", (int64_t)t->dropped);
    integer(o, &f, "repaired", (int64_t)t->repaired);
    boolean(o, &f, "truncated", t->truncated);
    boolean(o, &f, "capped", t->capped);
    integer(o, &f, "carry_over_kernels", (int64_t)d->carry_count);
    integer(o, &f, "unlinked_kernels", (int64_t)d->unlinked_count);
    integer(o, &f, "graph_kernels", (int64_t)d->graph_count);
    boolean(o, &f, "shapes", d->modelled > 0);
    boolean(o, &f, "stacks", d->has_python);
    integer(o, &f, "rank", t->rank);
    integer(o, &f, "world", t->world);
    key(o, &f, "problems");
    note_list(o, d->capture.p, d->capture.n);
    str_addc(o, '}');
}

static void overview(struct str *o, const struct diag *d) {
    bool f = true;
    str_addc(o, '{');
    text(o, &f, "name", d->device_name);
    integer(o, &f, "id", d->device);
    integer(o, &f, "busy_ns", d->busy_ns);
    number(o, &f, "roof", d->roof);
    number(o, &f, "cost_known", d->modelled);
    integer(o, &f, "kernels", (int64_t)d->kernel_count);
    integer(o, &f, "small_kernels", (int64_t)d->small_count);
    integer(o, &f, "small_kernels_ns", d->small_ns);
    number(o, &f, "queue_depth_mean", d->depth_mean);
    integer(o, &f, "queue_depth_max", d->depth_max);
    integer(o, &f, "launch_latency_ns", d->latency_median);
    integer(o, &f, "layer_repeats", d->layer_count);
    integer(o, &f, "layer_kernels", d->layer_period);
    key(o, &f, "devices");
    str_addc(o, '[');
    for (uint32_t i = 0; i < d->devices.n; i++) {
        const struct device_row *r = &d->devices.p[i];
        bool g = true;
        str_add(o, i ? ",{" : "{");
        integer(o, &g, "id", r->device);
        integer(o, &g, "streams", r->streams);
        integer(o, &g, "span_ns", r->t1 - r->t0);
        integer(o, &g, "busy_ns", r->busy_ns);
        integer(o, &g, "launched_ns", r->launched_ns);
        integer(o, &g, "launched_span_ns", r->launched_span_ns);
        integer(o, &g, "compute_ns", r->kernel_ns);
        integer(o, &g, "comm_ns", r->comm_ns);
        integer(o, &g, "comm_under_compute_ns", r->comm_under_compute);
        integer(o, &g, "copy_ns", r->copy_ns);
        integer(o, &g, "copy_under_compute_ns", r->copy_under_compute);
        boolean(o, &g, "idle", device_idles(d, r));
        str_addc(o, '}');
    }
    str_addc(o, ']');
    key(o, &f, "processes");
    str_addc(o, '[');
    for (uint32_t i = 0; i < d->processes.n; i++) {
        const struct process_row *p = &d->processes.p[i];
        bool g = true;
        str_add(o, i ? ",{" : "{");
        text(o, &g, "pid", trace_str(d->t, p->pid));
        integer(o, &g, "threads", p->threads);
        integer(o, &g, "events", (int64_t)p->events);
        integer(o, &g, "launches", (int64_t)p->launches);
        integer(o, &g, "device_ns", p->device_ns);
        str_addc(o, '}');
    }
    str_addc(o, ']');
    integer(o, &f, "clock_shift_ns", d->clock.ns);
    str_addc(o, '}');
}

static void phase(struct str *o, const struct diag *d, const struct phase *p) {
    bool f = true, b = true;
    str_addc(o, '{');
    text(o, &f, "where", trace_str(d->t, p->line));
    integer(o, &f, "steps", p->steps);
    integer(o, &f, "wall_ns", p->wall_ns);
    integer(o, &f, "median_ns", p->median_ns);
    integer(o, &f, "best_ns", (int64_t)p->best_ns);
    str_add(o, ",\"budget\":{");
    for (int k = 0; k < BUDGET_KEYS; k++)
        if (p->budget[k]) integer(o, &b, budget_key(k), p->budget[k]);
    str_add(o, "}}");
}

/* Of a Ridge program: what causes are judged by, the programs in it, and the rest of the recording. */
static void phases(struct str *o, const struct diag *d) {
    if (d->t->format != TRACE_RIDGE) return;
    str_add(o, ",\n  \"steady\":");
    phase(o, d, &d->steady);
    str_add(o, ",\n  \"startup\":");
    phase(o, d, &d->startup);
    str_add(o, ",\n  \"checklist\":[");
    for (uint32_t i = 0; i < d->checks.n; i++) {
        bool f = true;
        str_add(o, i ? ",{" : "{");
        text(o, &f, "id", d->checks.p[i].id);
        boolean(o, &f, "fine", d->checks.p[i].fine);
        text(o, &f, "answer", d->checks.p[i].answer);
        str_addc(o, '}');
    }
    str_add(o, "],\n  \"phases\":[");
    for (uint32_t i = 0; i < d->phases.n && i < 100; i++) {
        if (i) str_addc(o, ',');
        phase(o, d, &d->phases.p[i]);
    }
    str_addc(o, ']');
}

void report_json(struct str *o, const struct diag *d, const char *path) {
    bool f = true;
    str_add(o, "{\n  ");
    text(o, &f, "file", path);
    integer(o, &f, "wall_ns", d->wall_ns);
    text(o, &f, "regime", regime_text(d->regime));
    text(o, &f, "verdict", d->failed ? "failed" : d->healthy ? "healthy" : cause_text(d->verdict));
    str_add(o, ",\n  \"budget\":{");
    bool b = true;
    for (int k = 0; k < BUDGET_KEYS; k++) integer(o, &b, budget_key(k), d->budget[k]);
    str_addc(o, '}');
    phases(o, d);
    str_add(o, ",\n  \"causes\":");
    causes(o, d);
    str_add(o, ",\n  \"abstained\":");
    note_list(o, d->abstained.p, d->abstained.n);
    str_add(o, ",\n  \"device\":");
    overview(o, d);
    str_add(o, ",\n  \"steps\":[");
    for (uint32_t i = 0; i < d->steps.n && i < 10000; i++) {
        const struct step_row *s = &d->steps.p[i];
        bool g = true;
        str_add(o, i ? ",{" : "{");
        text(o, &g, "name", trace_str(d->t, s->name));
        integer(o, &g, "start_ns", s->t0);
        integer(o, &g, "host_ns", s->t1 - s->t0);
        integer(o, &g, "kernels", s->kernels);
        integer(o, &g, "device_ns", s->device_ns);
        if (d->t->format == TRACE_RIDGE) {
            text(o, &g, "where", trace_str(d->t, s->line));
            boolean(o, &g, "startup", s->startup);
        }
        str_addc(o, '}');
    }
    str_add(o, "],\n  \"kernels\":[");
    for (uint32_t i = 0; i < d->kernels.n && i < REPORT_KERNELS; i++) {
        str_add(o, i ? ",\n    " : "\n    ");
        kernel(o, d, &d->kernels.p[i]);
    }
    str_add(o, "],\n  \"classes\":");
    classes(o, d);
    str_add(o, ",\n  \"memory\":");
    memory(o, d);
    str_add(o, ",\n  \"capture\":");
    capture(o, d);
    str_add(o, "\n}\n");
}
