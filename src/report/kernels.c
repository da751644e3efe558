/* kernels.c: the kernels of a Ridge program as a list, and all about one of them.
 *
 * Tests: tests/unit/kernels.c, tests/cli/kernels.sh */
#include "report/internal.h"

static double pct(double part, double whole) { return whole > 0 ? 100.0 * part / whole : 0; }

static const char *or_dash(const struct diag *d, uint32_t id) {
    return *trace_str(d->t, id) ? trace_str(d->t, id) : "-";
}

/* "1.18x": measured by predicted; "-" where nothing was predicted. */
static void ratio(const struct kernel_sum *k, char *out, size_t n) {
    text_printf(out, n, k->predicted_ns > 0 ? "%.2fx" : "-",
                (double)k->predicted_of / RG_MAX(k->predicted_ns, 1));
}

void report_kernels(struct str *o, struct diag *d, uint32_t rows) {
    struct kernel_sum *k;
    uint32_t n = diag_kernels(d, &k);
    int64_t all = 0;
    for (uint32_t i = 0; i < n; i++) all += k[i].ns;
    str_printf(o, "%6s %8s %12s %11s %9s %7s %-8s %-11s %-8s %-30s opts\n", "share", "calls", "ms", "us each",
               "predicted", "of roof", "bound", "class", "key", "kernel");
    for (uint32_t i = 0; i < n && i < rows; i++) {
        char roof[16] = "-", of[16];
        if (k[i].roof_of) text_printf(roof, sizeof roof, "%.0f%%", 100 * k[i].roof);
        ratio(&k[i], of, sizeof of);
        str_printf(o, "%5.1f%% %8llu %12.3f %11.2f %9s %7s %-8s %-11s %-8.8s %-30s %s\n",
                   pct((double)k[i].ns, (double)all), (unsigned long long)k[i].calls, (double)k[i].ns / 1e6,
                   (double)k[i].ns / 1e3 / (double)RG_MAX(k[i].calls, 1u), of, roof, or_dash(d, k[i].limit),
                   class_text(k[i].cls), or_dash(d, k[i].key), trace_str(d->t, k[i].name),
                   or_dash(d, k[i].opts));
    }
    if (n > rows) str_printf(o, "%u more: --rows %u\n", n - rows, n);
    str_printf(o, "%5.1f%% %8llu %12.3f\n", all ? 100.0 : 0.0, (unsigned long long)d->kernel_count,
               (double)all / 1e6);
}

/* ---- one of them ------------------------------------------------------------------------------------------------ */

static void times(struct str *o, const struct kernel_sum *k) {
    double each = (double)k->ns / 1e3 / (double)RG_MAX(k->calls, 1u), calls = (double)RG_MAX(k->calls, 1u);
    str_printf(o, "  measured  %.2f us each, %llu calls (least %.2f, most %.2f)\n", each,
               (unsigned long long)k->calls, (double)k->min_ns / 1e3, (double)k->max_ns / 1e3);
    if (k->predicted_ns > 0)
        str_printf(o, "  predicted %.2f us by the planner: measured is %.2f times that\n",
                   k->predicted_ns / calls / 1e3, (double)k->predicted_of / k->predicted_ns);
    str_printf(o, "  work      %.4g MFLOP, %.4g MB: %.2f GFLOPS, %.2f GB/s\n", k->flops / calls / 1e6,
               k->bytes / calls / 1e6, k->flops / (double)RG_MAX(k->ns, 1),
               k->bytes / (double)RG_MAX(k->ns, 1));
}

/* What each unit of the machine would need for one call if it had nothing to wait for: launch and the longest make the roof. */
static const struct trace_kernel_args *work_of(const struct diag *d, const struct kernel_sum *k) {
    const struct trace_kernel_args *a =
        k->rows.n ? trace_blob(d->t, d->kernels.p[k->rows.p[0]].args, sizeof *a) : NULL;
    return a && a->known & 16 ? a : NULL;
}

static void units(struct str *o, const struct diag *d, const struct kernel_sum *k) {
    const struct trace_kernel_args *a = work_of(d, k);
    const char *gap = "  units     ";
    for (int u = 0; a && u < UNIT_COUNT; u++)
        if (a->unit_ns[u]) {
            str_printf(o, "%s%s %.2f us", gap, model_unit_text((enum model_unit)u),
                       (double)a->unit_ns[u] / 1e3);
            gap = ", ";
        }
    if (*gap == ',') str_addc(o, '\n');
    if (a && a->registers)
        str_printf(o, "  registers %lld of a thread, %lld instruction%s for what did not fit\n",
                   (long long)a->registers, (long long)a->spills, a->spills == 1 ? "" : "s");
}

static void source_lines(struct str *o, const struct diag *d, const struct kernel_sum *k) {
    for (uint32_t i = 0; i < k->rows.n; i++) {
        const struct kernel_row *r = &d->kernels.p[k->rows.p[i]];
        const struct trace_kernel_args *a = trace_blob(d->t, r->args, sizeof *a);
        str_printf(o, "  %-9s %s, %s%s%s%s: x%u, %.2f us each\n", i ? "" : "at", or_dash(d, r->where),
                   or_dash(d, r->op), r->module ? " in " : "", trace_str(d->t, r->module),
                   a && a->backward ? ", backward" : "", r->count,
                   (double)r->ns / 1e3 / RG_MAX(r->count, 1u));
    }
}

void report_kernel(struct str *o, const struct diag *d, const struct kernel_sum *k) {
    str_printf(o, "%s\n  class     %s\n", trace_str(d->t, k->name), class_text(k->cls));
    if (k->key) str_printf(o, "  key       %s\n", trace_str(d->t, k->key));
    times(o, k);
    if (k->roof_of)
        str_printf(o, "  roof      %.2f us by the machine model, set by %s: %.0f%% of it reached\n",
                   k->roof_ns / 1e3 / (double)RG_MAX(k->calls, 1u), or_dash(d, k->limit), 100 * k->roof);
    units(o, d, k);
    const struct trace_kernel_args *a =
        k->rows.n ? trace_blob(d->t, d->kernels.p[k->rows.p[0]].args, sizeof *a) : NULL;
    if (a && a->shapes) str_printf(o, "  stores    %s\n", trace_str(d->t, a->shapes));
    source_lines(o, d, k);
    str_printf(o, "  opts      %s\n", k->key && !*trace_str(d->t, k->opts) ? "none" : or_dash(d, k->opts));
}

void report_kernels_json(struct str *o, struct diag *d, uint32_t whole) {
    struct kernel_sum *k;
    uint32_t n = diag_kernels(d, &k);
    str_add(o, "{\"kernels\":[");
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t text[] = {k[i].name, k[i].key, k[i].limit, k[i].opts, k[i].graph, k[i].source};
        static const char *const key[] = {"name", "key", "bound", "opts", "graph", "source"};
        str_add(o, i ? ",\n{" : "\n{");
        for (size_t f = 0; f < RG_COUNT(key); f++) {
            bool leave = f >= 4 && i >= whole;
            str_printf(o, "\"%s\":", key[f]);
            report_json_string(o, leave ? "" : trace_str(d->t, text[f]));
            str_addc(o, ',');
        }
        str_printf(o,
                   "\"class\":\"%s\",\"calls\":%llu,\"ns\":%lld,\"min_ns\":%lld,\"max_ns\":%lld,\"flops\":%."
                   "6g,\"bytes\":%.6g,",
                   class_text(k[i].cls), (unsigned long long)k[i].calls, (long long)k[i].ns,
                   (long long)k[i].min_ns, (long long)k[i].max_ns, k[i].flops, k[i].bytes);
        str_printf(o, "\"predicted_ns\":%.0f,\"roof_ns\":%.0f,\"roof\":%.6g,\"units_ns\":{",
                   k[i].predicted_ns, k[i].roof_ns, k[i].roof);
        const struct trace_kernel_args *work = work_of(d, &k[i]);
        const char *gap = "";
        for (int u = 0; work && u < UNIT_COUNT; u++)
            if (work->unit_ns[u]) {
                str_printf(o, "%s\"%s\":%lld", gap, model_unit_text((enum model_unit)u),
                           (long long)work->unit_ns[u]);
                gap = ",";
            }
        str_add(o, "},\"lines\":[");
        for (uint32_t r = 0; r < k[i].rows.n; r++) {
            const struct kernel_row *row = &d->kernels.p[k[i].rows.p[r]];
            str_add(o, r ? ",[" : "[");
            report_json_string(o, trace_str(d->t, row->where));
            str_addc(o, ',');
            report_json_string(o, trace_str(d->t, row->op));
            str_addc(o, ',');
            report_json_string(o, trace_str(d->t, row->module));
            str_printf(o, ",%u,%lld]", row->count, (long long)row->ns);
        }
        str_add(o, "]}");
    }
    str_add(o, "]}\n");
}
