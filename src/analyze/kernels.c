/* kernels.c: the kernels of a Ridge program, each once, whichever lines asked for it.
 *
 * Rows of the diagnosis are by kernel and source line; here those of one code are merged: same name and same key (a hash of what
 * determines the code). A recording without keys has one per name. Tests: tests/unit/kernels.c */
#include "analyze/internal.h"

#include <stdlib.h>

static int dearest(const void *x, const void *y) {
    const struct kernel_sum *a = x, *b = y;
    if (a->ns != b->ns) return a->ns > b->ns ? -1 : 1;
    return a->name != b->name ? (a->name < b->name ? -1 : 1) : a->key < b->key ? -1 : a->key > b->key;
}

static void add(struct kernel_sum *s, const struct kernel_row *k, const struct trace_kernel_args *a) {
    s->calls += k->count;
    s->ns += k->ns;
    s->min_ns = RG_MIN(s->min_ns, k->min_ns);
    s->max_ns = RG_MAX(s->max_ns, k->max_ns);
    s->flops += k->flops * k->count;
    s->bytes += k->bytes * k->count;
    if (k->modelled && s->ns) s->roof += (k->roof - s->roof) * (double)k->ns / (double)s->ns;
    if (a && a->known & 8) s->roof_ns += (double)a->roof_ns * k->count, s->roof_of += k->ns;
    if (a && a->predicted_ns) s->predicted_ns += (double)a->predicted_ns * k->count, s->predicted_of += k->ns;
}

uint32_t diag_kernels(struct diag *d, struct kernel_sum **out) {
    VEC(struct kernel_sum) v = {0};
    struct map at;
    map_init(&at, &d->arena);
    for (uint32_t i = 0; i < d->kernels.n;
         i++) { /* most expensive first: its line is the first of the list */
        const struct kernel_row *k = &d->kernels.p[i];
        const struct trace_kernel_args *a = trace_blob(d->t, k->args, sizeof *a);
        uint32_t code = a ? a->key : 0;
        uint64_t key = (uint64_t)k->name << 32 | code, n;
        if (!map_get(&at, key, &n)) {
            struct kernel_sum s = {
                .name = k->name, .key = code, .cls = k->cls, .min_ns = INT64_MAX, .limit = k->limit};
            if (a) s.opts = a->opts, s.graph = a->graph, s.source = a->source;
            map_put(&at, key, n = v.n);
            vec_push(&d->arena, &v, s);
        }
        add(&v.p[n], k, a);
        vec_push(&d->arena, &v.p[n].rows, i);
    }
    if (v.n) qsort(v.p, v.n, sizeof *v.p, dearest);
    *out = v.p;
    return v.n;
}
