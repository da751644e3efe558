/* kineto.c: a Ridge profile as the JSON that Chrome's tracing, Perfetto and the readers of PyTorch's profiler take.
 *
 * Times are microseconds with three decimals, so nothing is rounded. Kernels and copies are on the device's rows, calls and
 * stages on the threads that made them; a kernel and the call it belongs to share an external id. Memory is a counter.
 * Tests: tests/unit/profile.c, tests/cli/profile.sh */
#include "report/internal.h"

static const char *category(const struct trace_event *e) {
    switch (e->kind) {
    case TK_KERNEL: return "kernel";
    case TK_COPY: return "gpu_memcpy";
    case TK_OP: return "cpu_op";
    case TK_ANNOT: return "user_annotation";
    case TK_OVERHEAD: return "overhead";
    default: return "cuda_runtime";
    }
}

static void micros(struct str *o, const char *key, int64_t ns) {
    int64_t a = ns < 0 ? -ns : ns;
    str_printf(o, ",\"%s\":%s%lld.%03lld", key, ns < 0 ? "-" : "", (long long)(a / 1000),
               (long long)(a % 1000));
}

static void member(struct str *o, const char *key, const char *text) {
    str_printf(o, ",\"%s\":", key);
    report_json_string(o, text);
}

static void kernel_args(struct str *o, const struct trace *t, const struct trace_event *e) {
    const struct trace_kernel_args *a = trace_blob(t, e->args, sizeof *a);
    str_printf(o, ",\"correlation\":%u,\"External id\":%u", e->corr, e->aux);
    if (!a) return;
    str_printf(o, ",\"flops\":%lld,\"bytes\":%lld", (long long)a->flops, (long long)a->bytes);
    if (a->op) member(o, "op", trace_str(t, a->op));
    if (a->where) member(o, "line", trace_str(t, a->where));
    if (a->module) member(o, "module", trace_str(t, a->module));
    if (a->known & 8) str_printf(o, ",\"roof us\":%.3f", (double)a->roof_ns * 1e-3);
    if (a->limit) member(o, "bound", trace_str(t, a->limit));
}

static void one(struct str *o, const struct trace *t, uint32_t i, int64_t base) {
    const struct trace_event *e = &t->ev[i];
    const struct trace_lane *l = &t->lanes.p[e->lane];
    bool device = l->kind == LANE_DEVICE;
    const char *name = trace_str(t, e->name);
    str_printf(o, ",\n{\"ph\":\"X\",\"cat\":\"%s\",\"pid\":%d,\"tid\":%s", category(e), device ? 0 : 1,
               *trace_str(t, l->tid) ? trace_str(t, l->tid) : "0");
    member(o, "name", *name ? name : trace_kind_text(e->kind));
    micros(o, "ts", e->t0 + base);
    micros(o, "dur", e->dur);
    str_printf(o, ",\"args\":{\"device\":%d,\"stream\":%d", device ? 0 : -1, device ? l->stream : -1);
    if (e->kind == TK_KERNEL) kernel_args(o, t, e);
    if (e->kind == TK_COPY) {
        const struct trace_copy_args *c = trace_blob(t, e->args, sizeof *c);
        str_printf(o, ",\"bytes\":%lld", c ? (long long)c->bytes : 0);
    }
    if (e->kind == TK_OP) {
        str_printf(o, ",\"External id\":%u", i + 1);
        if (e->args) member(o, "line", trace_str(t, e->args));
    }
    str_add(o, "}}");
}

/* Readers put a kernel into the step of its launch. A device that runs in the calling thread has none: it is the moment when
 * the kernel begins. */
static void launch(struct str *o, const struct trace *t, const struct trace_event *e) {
    if (e->kind != TK_KERNEL || (e->link && t->ev[e->link - 1].kind == TK_LAUNCH)) return;
    str_printf(o, ",\n{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"launch\",\"pid\":1,\"tid\":%s",
               trace_str(t, t->lanes.p[e->lane].tid));
    micros(o, "ts", e->t0 + t->base);
    micros(o, "dur", RG_MIN(e->dur, 1));
    str_printf(o, ",\"args\":{\"correlation\":%u,\"External id\":%u}}", e->corr, e->aux);
}

static void labels(struct str *o, const struct diag *d) {
    static const char *const process[] = {"device", "host"};
    for (int p = 0; p < 2; p++) {
        str_printf(o, "%s{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%d,\"tid\":0,\"args\":{\"name\":",
                   p ? ",\n" : "\n", p);
        report_json_string(o, p || !*d->device_name ? process[p] : d->device_name);
        str_printf(o,
                   "}},\n{\"ph\":\"M\",\"name\":\"process_labels\",\"pid\":%d,\"tid\":0,\"args\":{\"labels\":"
                   "\"%s\"}}",
                   p, p ? "CPU" : "GPU 0");
    }
}

/* Under the name by which readers of PyTorch's traces know them, on the thread that runs kernels. */
static void steps(struct str *o, const struct diag *d) {
    const struct trace *t = d->t;
    const char *tid = d->dev_n ? trace_str(t, t->lanes.p[t->ev[d->dev[0]].lane].tid) : "0";
    for (uint32_t i = 0; i < d->steps.n; i++) {
        str_printf(
            o,
            ",\n{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#%u\",\"pid\":1,\"tid\":%s",
            i, tid);
        micros(o, "ts", d->steps.p[i].t0 + t->base);
        micros(o, "dur", d->steps.p[i].t1 - d->steps.p[i].t0);
        str_add(o, ",\"args\":{}}");
    }
}

void report_trace(struct str *o, const struct diag *d) {
    const struct trace *t = d->t;
    str_add(o, "{\"schemaVersion\":1,\"displayTimeUnit\":\"ms\",\"deviceProperties\":[{\"id\":0,\"name\":");
    report_json_string(o, d->device_name);
    str_add(o, "}],\"traceEvents\":[");
    labels(o, d);
    for (uint32_t i = 0; i < t->n; i++)
        if (t->ev[i].kind != TK_MEM && t->ev[i].kind != TK_STEP) {
            one(o, t, i, t->base);
            launch(o, t, &t->ev[i]);
        }
    steps(o, d);
    for (uint32_t i = 0; i < d->mem.n; i++) {
        str_add(o, ",\n{\"ph\":\"C\",\"name\":\"device memory\",\"pid\":0,\"tid\":0");
        micros(o, "ts", d->mem.p[i].t + t->base);
        str_printf(o, ",\"args\":{\"bytes\":%lld}}", (long long)d->mem.p[i].bytes);
    }
    str_add(o, "\n]}\n");
}
