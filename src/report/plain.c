/* plain.c: a Ridge profile as folded stacks and as CSV.
 *
 * Stacks hold kernels only: module, line, function, kernel, and the nanoseconds of all its calls there; they sum to the time of all
 * kernels. The CSV has a row for each event, in the order of the file, then one for each change of device memory (the bytes in use);
 * its last columns are of kernels and copies.
 * Tests: tests/unit/export.c */
#include "report/internal.h"

/* A frame must hold no ';' and no line end; the number follows the last space, so spaces may stay. */
static void frame(struct sink *k, const char *s, const char *none) {
    for (s = *s ? s : none; *s; s++) sink_put(k, *s == ';' || (unsigned char)*s < ' ' ? "_" : s, 1);
}

void folded_write(struct sink *k, const struct diag *d) {
    for (uint32_t i = 0; i < d->kernels.n; i++) {
        const struct kernel_row *r = &d->kernels.p[i];
        frame(k, trace_str(d->t, r->module), "(no module)");
        sink_put(k, ";", 1);
        frame(k, trace_str(d->t, r->where), "(no line)");
        sink_put(k, ";", 1);
        frame(k, trace_str(d->t, r->op), "(no function)");
        sink_put(k, ";", 1);
        frame(k, trace_str(d->t, r->name), "?");
        sink_put(k, " ", 1);
        sink_number(k, r->ns);
        sink_put(k, "\n", 1);
    }
}

static bool must_quote(const char *s) {
    for (; *s; s++)
        if (*s == ',' || *s == '"' || *s == '\r' || *s == '\n') return true;
    return false;
}

static void cell(struct sink *k, const char *s) {
    bool quote = must_quote(s);
    if (quote) sink_put(k, "\"", 1);
    if (!quote) sink_text(k, s);
    for (; quote && *s; s++) sink_put(k, *s == '"' ? "\"\"" : s, *s == '"' ? 2 : 1);
    sink_put(k, quote ? "\"," : ",", quote ? 2 : 1);
}

static void count(struct sink *k, int64_t x) {
    sink_number(k, x);
    sink_put(k, ",", 1);
}

static void kernel_cells(struct sink *k, const struct trace *t, const struct trace_event *e) {
    const struct trace_kernel_args *a = trace_blob(t, e->args, sizeof *a);
    if (!a) return sink_text(k, ",,,,,,,");
    cell(k, trace_str(t, a->op));
    cell(k, trace_str(t, a->where));
    cell(k, trace_str(t, a->module));
    count(k, a->flops);
    count(k, a->bytes);
    if (a->known & 8)
        count(k, a->roof_ns), count(k, a->predicted_ns);
    else
        sink_text(k, ",,");
    sink_text(k, trace_str(t, a->limit));
}

void csv_write(struct sink *k, const struct diag *d) {
    const struct trace *t = d->t;
    sink_text(k, "start_ns,duration_ns,thread,kind,name,function,line,module,operations,bytes,roof_ns,"
                 "predicted_ns,bound\n");
    for (uint32_t i = 0; i < t->n; i++) {
        const struct trace_event *e = &t->ev[i];
        count(k, e->t0);
        count(k, e->dur);
        const struct trace_lane *l = &t->lanes.p[e->lane];
        cell(k, trace_str(t, l->async ? l->name : l->tid));
        cell(k, trace_kind_text(e->kind));
        cell(k, trace_str(t, e->name));
        if (e->kind == TK_KERNEL) {
            kernel_cells(k, t, e);
        } else if (e->kind == TK_COPY) {
            const struct trace_copy_args *c = trace_blob(t, e->args, sizeof *c);
            sink_text(k, ",,,,");
            count(k, c ? c->bytes : 0);
            sink_text(k, ",,");
        } else {
            sink_put(k, ",", 1);
            cell(k, e->kind == TK_OP ? trace_str(t, e->args) : "");
            sink_text(k, ",,,,,");
        }
        sink_put(k, "\n", 1);
    }
    for (uint32_t i = 0; i < d->mem.n; i++) {
        count(k, d->mem.p[i].t);
        sink_text(k, "0,,memory,device memory,,,,,");
        count(k, d->mem.p[i].bytes);
        sink_text(k, ",,\n");
    }
}
