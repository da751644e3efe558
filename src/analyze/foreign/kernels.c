/* kernels.c: causes inside the kernels of a foreign trace that fusing neighbours does not mend: attention that runs as
 * products and a softmax, and products in a wider type than the GPU's fastest.
 *
 * What would remain is modelled: the arithmetic at 60 % of the unit's peak, the least bytes at 80 % of the bandwidth, which
 * library kernels reach.
 * Tests: tests/unit/foreign.c */
#include "analyze/internal.h"

#define REACHED_PEAK 0.6
#define REACHED_BANDWIDTH 0.8
#define LEAST_SHARE 0.15 /* of the wall time, for a type to be blamed: most programs have a product in f32 */
enum { BETWEEN = 4 };    /* kernels between the two products: scale, mask, softmax, dropout */

static int64_t at_best(const struct gpu_spec *g, int unit, double flops, double bytes) {
    double peak = g->peak[unit] * 1e12 * REACHED_PEAK, bw = g->bw * 1e9 * REACHED_BANDWIDTH;
    double s = RG_MAX(peak > 0 ? flops / peak : 0, bw > 0 ? bytes / bw : 0);
    return (int64_t)(s * 1e9);
}

static const struct kernel_row *row_at(const struct diag *d, uint32_t i) {
    return d->dev_row[i] == UINT32_MAX ? NULL : &d->kernels.p[d->dev_row[i]];
}

static bool is_product(const struct kernel_row *k) {
    return k && k->modelled && k->cls == KC_GEMM && k->m && k->n && k->k;
}

/* The second product of scores (batch, m, n) by values (batch, n, d), after at most BETWEEN kernels of one stream, among them a
 * softmax; 0: there is none. */
static uint32_t second_product(const struct diag *d, uint32_t first) {
    const struct trace *t = d->t;
    const struct kernel_row *a = row_at(d, first);
    bool softmax = false;
    uint32_t seen = 0;
    for (uint32_t i = first + 1; i < d->dev_n && seen <= BETWEEN; i++) {
        const struct kernel_row *k = row_at(d, i);
        if (t->ev[d->dev[i]].lane != t->ev[d->dev[first]].lane) continue;
        if (is_product(k)) return softmax && k->k == a->n && k->m == a->m && k->batch == a->batch ? i : 0;
        if (!k) continue; /* a library clears its workspace */
        if (k->cls != KC_NORM && k->cls != KC_ELEMENTWISE) return 0;
        softmax |= k->cls == KC_NORM &&
                   (strstr(trace_str(t, k->op), "softmax") || strstr(trace_str(t, k->name), "softmax"));
        seen++;
    }
    return 0;
}

/* Kernels that hold such an attention are marked. What one fused kernel would save of their time. */
int64_t attention_unfused(const struct diag *d, bool *taken, uint32_t *count) {
    const struct trace *t = d->t;
    int64_t lost = 0;
    *count = 0;
    for (uint32_t i = 0; i < d->dev_n && d->gpu; i++) {
        const struct kernel_row *a = row_at(d, i);
        uint32_t end = is_product(a) ? second_product(d, i) : 0;
        if (!end) continue;
        const struct kernel_row *b = row_at(d, end);
        double elt = 2; /* queries, keys, values and the result, at least in 16 bits */
        double bytes =
            elt * (double)a->batch * (double)(a->m * a->k + a->k * a->n + b->k * b->n + b->m * b->n);
        int64_t took = 0;
        for (uint32_t k = i; k <= end; k++)
            if (t->ev[d->dev[k]].lane == t->ev[d->dev[i]].lane) took += t->ev[d->dev[k]].dur, taken[k] = true;
        lost += RG_MAX(took - at_best(d->gpu, a->unit, a->flops + b->flops, bytes), 0);
        ++*count;
        i = end;
    }
    return lost;
}

static void blame_type(struct diag *d, int unit, int instead, const char *what, const char *fix) {
    int64_t lost = 0, ns = 0, best = 0;
    const struct kernel_row *top = NULL;
    for (uint32_t i = 0; i < d->kernels.n && d->gpu && d->gpu->peak[instead] > d->gpu->peak[unit]; i++) {
        const struct kernel_row *k = &d->kernels.p[i];
        if (!k->modelled || k->unit != unit || k->graph || (k->cls != KC_GEMM && k->cls != KC_CONV)) continue;
        ns += k->ns;
        lost += RG_MAX(k->ns - (int64_t)k->count * at_best(d->gpu, instead, k->flops, k->bytes), 0);
        if (k->ns > best) best = k->ns, top = k;
    }
    if (!top || (double)lost < LEAST_SHARE * (double)d->wall_ns) return;
    cause_add(
        d, CAUSE_PRECISION, lost, lost,
        trace_str(d->t, top->where ? top->where
                        : top->op  ? top->op
                                   : top->name),
        arena_printf(&d->arena, "%s take %.1f ms: the tensor cores are not used", what, (double)ns / 1e6),
        fix);
}

/* A copy whose two tensors, told by the types of its operator, differ in type: ["c10::BFloat16", "float", ..]. */
static bool is_cast(const struct trace *t, const struct kernel_row *k) {
    const char *types = strchr(trace_str(t, k->shape), 0x1f), *part[2];
    size_t n[2];
    if (!types || !strstr(trace_str(t, k->op), "copy_")) return false;
    for (int i = 0; i < 2; i++) {
        types = strchr(types, '"');
        if (!types) return false;
        part[i] = types + 1, n[i] = strcspn(part[i], "\"");
        types = part[i] + n[i];
        if (!*types) return false;
        types++;
    }
    return n[0] && n[1] && (n[0] != n[1] || memcmp(part[0], part[1], n[0]));
}

static void casts(struct diag *d) {
    int64_t lost = 0, best = 0;
    uint64_t count = 0;
    const struct kernel_row *top = NULL;
    for (uint32_t i = 0; i < d->kernels.n; i++) {
        const struct kernel_row *k = &d->kernels.p[i];
        if (k->graph || !k->shape || !is_cast(d->t, k)) continue;
        lost += k->ns, count += k->count;
        if (k->ns > best) best = k->ns, top = k;
    }
    if (!top || (double)lost < LEAST_SHARE * (double)d->wall_ns) return;
    cause_add(d, CAUSE_PRECISION, lost, lost, trace_str(d->t, top->where ? top->where : top->op),
              arena_printf(&d->arena, "%llu casts of tensors to another type take %.1f ms",
                           (unsigned long long)count, (double)lost / 1e6),
              "cast what stays the same once, before the loop (model.to(torch.bfloat16)); autocast keeps "
              "casts of weights "
              "within one region only")
        ->bound = "the casts' own time";
}

void precision_causes(struct diag *d) {
    bool jax = d->t->format == TRACE_JAX;
    blame_type(d, GPU_F32, GPU_TF32, "products in fp32",
               jax ? "jax_default_matmul_precision=tensorfloat32, or bfloat16 where it is enough"
                   : "torch.set_float32_matmul_precision(\"high\") (TF32), or torch.autocast to bfloat16");
    blame_type(d, GPU_F64, GPU_TF32, "products in fp64", "float32 or TF32, where their digits are enough");
    casts(d);
}
