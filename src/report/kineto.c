/* kineto.c: a Ridge profile as the JSON that Chrome's tracing, Perfetto and the readers of PyTorch's profiler take.
 *
 * Times are microseconds with three decimals, so nothing is rounded. Kernels and copies are on the device's rows, calls and
 * stages on the threads that made them; a kernel and the call it belongs to share an external id. Memory is a counter.
 * Tests: tests/unit/export.c, tests/unit/profile.c, tests/cli/exports.sh (HolisticTraceAnalysis) */
#include "report/internal.h"

static const char *category(const struct trace_event *e) {
    switch (e->kind) {
    case TK_KERNEL: return "kernel";
    case TK_COPY: return "gpu_memcpy";
    case TK_OP:
    case TK_PART: return "cpu_op";
    case TK_ANNOT: return "user_annotation";
    case TK_OVERHEAD: return "overhead";
    default: return "cuda_runtime";
    }
}

static inline void field(struct sink *k, const char *key, int64_t x) {
    sink_text(k, key);
    sink_number(k, x);
}

static void member(struct sink *k, const struct trace *t, const char *key, uint32_t text) {
    if (!text) return;
    sink_text(k, key);
    sink_json(k, t, text);
}

static void times(struct sink *k, int64_t t0, int64_t dur) {
    sink_text(k, ",\"ts\":");
    sink_micros(k, t0);
    sink_text(k, ",\"dur\":");
    sink_micros(k, dur);
}

static void thread(struct sink *k, const struct trace *t, uint32_t lane) {
    const char *tid = trace_str(t, t->lanes.p[lane].tid);
    sink_text(k, *tid ? tid : "0");
}

/* Slices of one row must nest; kernels of one stream may overlap: the later one goes to an extra row. */
enum { MOST_BESIDE = 16, BESIDE = 1 << 16 }; /* BESIDE: more than any number of a stream's row */

static void find_overlaps(struct sink *k, const struct trace *t) {
    if (!t->async) return;
    k->overlap = arena_array(&k->arena, uint8_t, t->n + 1);
    for (uint32_t l = 0; l < t->lanes.n; l++) {
        int64_t end[MOST_BESIDE] = {0};
        for (uint32_t i = 0; t->lanes.p[l].async && i < t->lanes.p[l].n; i++) {
            uint32_t x = t->order[t->lanes.p[l].first + i], b = 0;
            while (b + 1 < MOST_BESIDE && end[b] > t->ev[x].t0) b++;
            end[b] = trace_end(&t->ev[x]);
            k->overlap[x] = (uint8_t)b;
        }
    }
}

static void row(struct sink *k, const struct trace *t, uint32_t i) {
    const struct trace_lane *l = &t->lanes.p[t->ev[i].lane];
    if (!l->async) return thread(k, t, t->ev[i].lane);
    sink_number(k, (int64_t)(l->device + 1) * 4096 + l->stream + (int64_t)k->overlap[i] * BESIDE);
}

/* The thread on which an event was asked for. */
static uint32_t asking_lane(const struct trace *t, uint32_t i) {
    if (!t->lanes.p[t->ev[i].lane].async) return t->ev[i].lane;
    if (t->ev[i].link) return t->ev[t->ev[i].link - 1].lane;
    uint32_t l = 0;
    while (l + 1 < t->lanes.n && t->lanes.p[l].kind != LANE_HOST) l++;
    return l;
}

/* Launches and what they asked for have numbers from 1 on; what has no launch gets others. */
static int64_t correlation(const struct trace *t, uint32_t i) {
    return t->ev[i].corr && t->ev[i].link ? t->ev[i].corr : ((int64_t)1 << 32) + i;
}

static void text_of(struct str *o, const struct trace *t, const char *key, uint32_t text) {
    if (!text) return;
    str_add(o, key);
    report_json_string(o, trace_str(t, text));
}

/* Thousands of calls share what is said of a kernel: it is written once and copied. */
static void kernel_args(struct sink *k, const struct trace *t, const struct trace_event *e) {
    const struct trace_kernel_args *a = trace_blob(t, e->args, sizeof *a);
    if (!a) return;
    if (!k->tail) k->tail = arena_array(&k->arena, struct trace_string, t->strs.n + 1);
    struct trace_string *tail = &k->tail[e->args];
    if (!tail->p) {
        struct str s;
        str_init(&s, &k->arena);
        str_printf(&s, ",\"flops\":%lld,\"bytes\":%lld", (long long)a->flops, (long long)a->bytes);
        text_of(&s, t, ",\"op\":", a->op);
        text_of(&s, t, ",\"line\":", a->where);
        text_of(&s, t, ",\"module\":", a->module);
        text_of(&s, t, ",\"shapes\":", a->shapes);
        text_of(&s, t, ",\"bound\":", a->limit);
        if (a->known & 8) str_printf(&s, ",\"roof us\":%.3f", (double)a->roof_ns / 1e3);
        *tail = (struct trace_string){.p = s.p, .n = (uint32_t)s.n};
    }
    sink_put(k, tail->p, tail->n);
}

static void one(struct sink *k, const struct trace *t, uint32_t i) {
    const struct trace_event *e = &t->ev[i];
    const struct trace_lane *l = &t->lanes.p[e->lane];
    bool device = l->kind == LANE_DEVICE;
    sink_text(k, ",\n{\"ph\":\"X\",\"cat\":\"");
    sink_text(k, category(e));
    sink_text(k, device ? "\",\"pid\":0,\"tid\":" : "\",\"pid\":1,\"tid\":");
    row(k, t, i);
    sink_text(k, ",\"name\":");
    if (e->name)
        sink_json(k, t, e->name);
    else
        sink_text(k, "\""), sink_text(k, trace_kind_text(e->kind)), sink_text(k, "\"");
    times(k, e->t0 + t->base, e->dur);
    if (e->kind == TK_LAUNCH && e->corr)
        return field(k, ",\"args\":{\"correlation\":", e->corr), sink_text(k, "}}");
    if (!device && e->kind != TK_OP) return sink_text(k, "}");
    if (device) {
        field(k, ",\"args\":{\"device\":", RG_MAX(l->device, 0));
        field(k, ",\"stream\":", l->stream);
        field(k, ",\"correlation\":", correlation(t, i));
        if (e->aux) field(k, ",\"External id\":", e->aux);
    }
    if (e->kind == TK_KERNEL) kernel_args(k, t, e);
    if (e->kind == TK_COPY) {
        const struct trace_copy_args *c = trace_blob(t, e->args, sizeof *c);
        field(k, ",\"bytes\":", c ? c->bytes : 0);
    }
    if (e->kind == TK_OP) {
        field(k, ",\"args\":{\"External id\":", (int64_t)i + 1);
        member(k, t, ",\"line\":", e->args);
    }
    sink_text(k, "}}");
}

/* Readers put device work into the step of its launch. A device that runs in the calling thread has none: it is the moment
 * when the work begins. */
static void launch(struct sink *k, const struct trace *t, uint32_t i) {
    const struct trace_event *e = &t->ev[i];
    if (e->kind != TK_KERNEL && e->kind != TK_COPY) return;
    if (e->link && t->ev[e->link - 1].kind == TK_LAUNCH) return;
    sink_text(k, ",\n{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"launch\",\"pid\":1,\"tid\":");
    thread(k, t, asking_lane(t, i));
    times(k, e->t0 + t->base, RG_MIN(e->dur, 1));
    field(k, ",\"args\":{\"correlation\":", correlation(t, i));
    sink_text(k, "}}");
}

static void labels(struct sink *k, const struct diag *d) {
    static const char *const process[] = {"device", "host"};
    for (int p = 0; p < 2; p++) {
        struct str s;
        str_init(&s, &k->arena);
        str_printf(&s, "%s{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%d,\"tid\":0,\"args\":{\"name\":",
                   p ? ",\n" : "\n", p);
        report_json_string(&s, p || !*d->device_name ? process[p] : d->device_name);
        str_printf(&s,
                   "}},\n{\"ph\":\"M\",\"name\":\"process_labels\",\"pid\":%d,\"tid\":0,\"args\":{\"labels\":"
                   "\"%s\"}}",
                   p, p ? "CPU" : "GPU 0");
        sink_put(k, s.p, s.n);
    }
}

/* Rows of streams. */
static void row_labels(struct sink *k, const struct trace *t) {
    for (uint32_t l = 0; l < t->lanes.n; l++) {
        bool used[MOST_BESIDE] = {false};
        for (uint32_t i = 0; t->lanes.p[l].async && i < t->lanes.p[l].n; i++) {
            uint32_t x = t->order[t->lanes.p[l].first + i], b = k->overlap[x];
            if (used[b]) continue;
            used[b] = true;
            sink_text(k, ",\n{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":0,\"tid\":");
            row(k, t, x);
            sink_text(k, ",\"args\":{\"name\":\"");
            sink_text(k, trace_str(t, t->lanes.p[l].name)); /* our own words: nothing to escape */
            if (b) field(k, ", beside ", b);
            sink_text(k, "\"}}");
        }
    }
}

/* Under the name by which readers of PyTorch's traces know them, on the thread that runs kernels. */
static void steps(struct sink *k, const struct diag *d) {
    const struct trace *t = d->t;
    for (uint32_t i = 0; i < d->steps.n; i++) {
        field(k, ",\n{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#", i);
        sink_text(k, "\",\"pid\":1,\"tid\":");
        if (d->dev_n)
            thread(k, t, asking_lane(t, d->dev[0]));
        else
            sink_text(k, "0");
        times(k, d->steps.p[i].t0 + t->base, d->steps.p[i].t1 - d->steps.p[i].t0);
        sink_text(k, ",\"args\":{}}");
    }
}

void kineto_write(struct sink *k, const struct diag *d) {
    const struct trace *t = d->t;
    struct str s;
    str_init(&s, &k->arena);
    str_add(&s, "{\"schemaVersion\":1,\"ridge_export\":1,\"displayTimeUnit\":\"ms\",\"deviceProperties\":[{"
                "\"id\":0,\"name\":");
    report_json_string(&s, d->device_name);
    str_add(&s, "}],\"traceEvents\":[");
    sink_put(k, s.p, s.n);
    labels(k, d);
    find_overlaps(k, t);
    row_labels(k, t);
    for (uint32_t i = 0; i < t->n; i++)
        if (t->ev[i].kind != TK_MEM && t->ev[i].kind != TK_STEP) {
            one(k, t, i);
            launch(k, t, i);
        }
    steps(k, d);
    for (uint32_t i = 0; i < d->mem.n; i++) {
        sink_text(k, ",\n{\"ph\":\"C\",\"name\":\"device memory\",\"pid\":0,\"tid\":0,\"ts\":");
        sink_micros(k, d->mem.p[i].t + t->base);
        field(k, ",\"args\":{\"bytes\":", d->mem.p[i].bytes);
        sink_text(k, "}}");
    }
    sink_text(k, "\n]}\n");
}
