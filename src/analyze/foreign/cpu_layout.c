/* cpu_layout.c: operators of a CPU program that walk memory against its order, or copy the same elements again and again.
 *
 * Elementwise operators whose inputs have different innermost dimensions (x.t() * y) touch a cache line for every element; copies
 * between two orders (x.t().contiguous()) only change the layout; torch.cat in a loop copies all parts before the new one.
 * Tests: tests/unit/foreign_cpu.c */
#include "analyze/shapes.h"

enum {
    LARGE_BYTES = 1 << 20, /* of an operator: smaller ones are in the caches */
    WORK_NS = 20000,       /* mean own time of one that does work itself */
};

/* The dimension of the smallest stride; -1: a tensor that has none to speak of. */
static int innermost(const struct tensor_shape *x) {
    int at = -1;
    if (x->nd < 2 || !x->strided || !x->elt) return -1;
    for (int i = 0; i < x->nd; i++)
        if (x->d[i] > 1 && x->stride[i] > 0 && (at < 0 || x->stride[i] < x->stride[at])) at = i;
    return at;
}

/* Large inputs of one shape and different innermost dimensions. */
static bool is_mixed(const struct diag *d, const struct kernel_row *k) {
    struct op_shapes s;
    int first = -1;
    shapes_parse(trace_str(d->t, k->shape), trace_str_len(d->t, k->shape), &s);
    for (int i = 0; i < s.n; i++) {
        int in = (double)s.in[i].numel * s.in[i].elt >= LARGE_BYTES / 4.0 ? innermost(&s.in[i]) : -1;
        if (in < 0) continue;
        if (first >= 0 && s.in[first].numel == s.in[i].numel && innermost(&s.in[first]) != in) return true;
        if (first < 0) first = i;
    }
    return false;
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

static void mixed_layouts(struct diag *d) {
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

/* Elements of all tensors of a list, and of the largest; false: no list. */
static bool parts(const struct diag *d, const struct trace_event *e, int64_t *all, int64_t *most) {
    struct op_shapes s;
    if (strcmp(trace_str(d->t, e->name), "aten::cat") || !e->args) return false;
    shapes_parse(trace_str(d->t, e->args), trace_str_len(d->t, e->args), &s);
    if (!s.n || s.in[0].nd >= 0 || s.in[0].numel <= 0) return false;
    *all = s.in[0].numel, *most = s.in[0].most;
    return true;
}

/* A cat whose largest part is as large as the result of the one before it copies that result once more. */
static void growing_cats(struct diag *d) {
    const struct trace *t = d->t;
    int64_t lost = 0, n = 0, all = 0, most = 0;
    uint32_t top = 0;
    for (uint32_t l = 0; l < t->lanes.n; l++) {
        int64_t before = 0, took = 0;
        for (uint32_t k = 0; k < t->lanes.p[l].n && t->lanes.p[l].kind == LANE_HOST; k++) {
            uint32_t at = t->order[t->lanes.p[l].first + k];
            const struct trace_event *e = &t->ev[at];
            if (!d->op_row[at] || !parts(d, e, &all, &most)) continue;
            if (before && most == before && all < 2 * before + before / 8) lost += took, n++, top = at + 1;
            before = all, took = e->dur;
        }
    }
    if (n < 3 || !cause_worth(d, lost)) return;
    const struct kernel_row *k = &d->kernels.p[d->op_row[top - 1] - 1];
    struct cause *c = cause_add(
        d, CAUSE_TRAFFIC, lost, lost, trace_str(t, k->where ? k->where : k->op),
        arena_printf(&d->arena, "torch.cat in a loop: %lld times the result so far is copied to append to it",
                     (long long)n),
        "collect the parts in a list and torch.cat once; or write into a tensor of the final size");
    c->bound = "all copies but the last of each loop";
    c->confirm = "one torch.cat of all parts takes as long as the last one in the loop";
}

void cpu_layout(struct diag *d) {
    mixed_layouts(d);
    growing_cats(d);
}
