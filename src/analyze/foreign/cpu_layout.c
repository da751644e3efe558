/* cpu_layout.c: operators of a CPU program that walk memory against its order.
 *
 * Elementwise operators whose inputs have different innermost dimensions (x.t() * y) touch a cache line for every element; copies
 * between two orders (x.t().contiguous()) only change the layout.
 * Tests: tests/unit/foreign_cpu.c */
#include "analyze/shapes.h"

enum {
    LARGE_BYTES = 1 << 20, /* of an operator: smaller ones are in the caches */
    WORK_NS = 20000,       /* mean own time of one that does work itself */
};

static bool is_mixed(const struct diag *d, const struct kernel_row *k) {
    struct op_shapes s;
    shapes_parse(trace_str(d->t, k->shape), trace_str_len(d->t, k->shape), &s);
    return shapes_mixed(&s);
}

static bool is_streaming(const struct kernel_row *k) {
    return k->modelled && !k->wrapper && k->shape && k->count && k->ns > 0 && k->bytes >= LARGE_BYTES &&
           (k->cls == KC_ELEMENTWISE || k->cls == KC_COPY || k->cls == KC_LAYOUT);
}

/* Bytes per ns of operators whose inputs agree. */
static double rate_in_order(const struct diag *d) {
    double most = MODEL_ANY_CORE_BYTES / 1e9;
    for (uint32_t i = 0; i < d->kernels.n; i++) {
        const struct kernel_row *k = &d->kernels.p[i];
        if (is_streaming(k) && k->ns / k->count >= WORK_NS && !is_mixed(d, k))
            most = RG_MAX(most, k->bytes * k->count / (double)k->ns);
    }
    return most;
}

void cpu_layout(struct diag *d) {
    double rate = rate_in_order(d), lost = 0, copies = 0;
    const struct kernel_row *top = NULL;
    for (uint32_t i = 0; i < d->kernels.n; i++) {
        const struct kernel_row *k = &d->kernels.p[i];
        if (!is_streaming(k) || !is_mixed(d, k)) continue;
        bool copy = k->cls != KC_ELEMENTWISE;
        double x = (double)k->ns - (copy ? 0 : k->bytes * k->count / rate);
        lost += RG_MAX(x, 0), copies += copy ? (double)k->ns : 0;
        if (!top || k->ns > top->ns) top = k;
    }
    if (!top || !cause_worth(d, (int64_t)lost)) return;
    struct cause *c = cause_add(
        d, CAUSE_LAYOUT, (int64_t)lost, (int64_t)lost, trace_str(d->t, top->where ? top->where : top->op),
        arena_printf(
            &d->arena, "%.40s reads tensors of different orders (x.t() beside y): %.1f GB/s, others %.1f%s",
            trace_str(d->t, top->op), top->bytes * top->count / (double)top->ns, rate,
            copies > 0 ? arena_printf(&d->arena, "; copies between orders take %.1f ms", copies / 1e6) : ""),
        "one order for all: transpose once, outside of the loop; products take x.t() as it is, without "
        "contiguous(); channels_last for all or none");
    c->bound = "copies between two orders, and other operators at the rate of those whose inputs agree";
    c->confirm = "time the operator with x.t().contiguous() made beforehand";
}
