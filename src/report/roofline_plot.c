/* roofline_plot.c: the roofline of a Ridge program as a table: each kernel against every unit and level of memory.
 *
 * A column is the share of the kernel's time that the unit is busy with what was issued, by the machine model; `x asked` is the work
 * issued by the work asked for, `int ops` the share of integer operations. Under each kernel stands what limits it and why.
 * Tests: tests/cli/profile.sh */
#include "report/internal.h"

static void cell(struct str *o, double share) {
    if (share >= 0.005)
        str_printf(o, " %6.0f%%", 100 * share);
    else
        str_printf(o, " %7s", ".");
}

void report_roof(struct str *o, const struct diag *d, uint32_t rows) {
    static const struct {
        enum model_unit unit;
        const char *name;
    } of[] = {{UNIT_F64, "f64"},     {UNIT_F32, "f32"},       {UNIT_F16, "f16"}, {UNIT_SPECIAL, "special"},
              {UNIT_INTEGER, "int"}, {UNIT_MATRIX, "tensor"}, {UNIT_L1, "L1"},   {UNIT_L2, "L2"},
              {UNIT_L3, "L3"},       {UNIT_DRAM, "memory"}};
    int64_t all = 0;
    for (uint32_t i = 0; i < d->kernels.n; i++) all += d->kernels.p[i].ns;
    str_printf(o, "%6s %9s %7s", "share", "us each", "of roof");
    for (size_t k = 0; k < RG_COUNT(of); k++) str_printf(o, " %7s", of[k].name);
    str_printf(o, " %7s %7s  %s\n", "x asked", "int ops", "kernel");
    for (uint32_t i = 0; i < d->kernels.n && i < rows; i++) {
        const struct kernel_row *k = &d->kernels.p[i];
        const struct trace_kernel_args *a = trace_blob(d->t, k->args, sizeof *a);
        bool known = a && a->known & 16;
        str_printf(o, "%5.1f%% %9.2f %6.0f%%", all ? 100.0 * (double)k->ns / (double)all : 0,
                   (double)k->ns / 1e3 / RG_MAX(k->count, 1u), 100 * k->roof);
        for (size_t u = 0; u < RG_COUNT(of); u++) cell(o, known ? k->use[of[u].unit] : 0);
        double ops = known ? (double)(a->issued + a->integer) : 0;
        str_printf(o, " %7.2f %6.0f%%  %s\n", known && k->flops > 0 ? (double)a->issued / k->flops : 0,
                   ops > 0 ? 100 * (double)a->integer / ops : 0, trace_str(d->t, k->name));
        if (k->why && *k->why)
            str_printf(o, "%24s %s: %s  %s\n", "", bound_text(k->bound), k->why,
                       k->where ? trace_str(d->t, k->where) : "");
    }
    if (d->kernels.n > rows) str_printf(o, "%24s %u more\n", "", d->kernels.n - rows);
    str_add(o, "by the machine model: hardware counters are not read\n");
}
