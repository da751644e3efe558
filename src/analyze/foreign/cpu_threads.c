/* cpu_threads.c: do the threads of a program on the CPU do their work?
 *
 * No trace of PyTorch holds how many threads an operator had. What can be told rests on the rate of its products: beside the cores of
 * the machine that the trace was recorded on, where that is known (recorded_here.c; "num_cores" in the trace's metadata), or
 * beside what any core does. "num_threads" in the metadata is the program's own word. Without them the report says what is unknown.
 * Tests: tests/unit/foreign_cpu.c */
#include "analyze/internal.h"

/* clang-format off */
enum {
    LARGE_FLOPS = 200000000, /* of a product whose rate says something about threads */
    SHARE_NS = 100000,       /* work of each core in a product that all of them speed up */
    SPREAD_NS = 10000,       /* to hand a product to all cores and to come together again */
    STALLED = 20,            /* times what one core needs: threads wait for cores or for one another; any operator .. */
    STALLED_HERE = 4,        /* .. a product, on a known core: BLAS on one thread reaches half of its peak at least */
    UNEVEN = 2,              /* times the fastest of the same calls that the slowest takes: threads that wait */
    UNEVEN_CALLS = 8,
};
#define STALLED_UNEVEN 2.5 /* .. where calls are uneven */
#define FEW_MEASURED 0.3   /* of the cores' peak, below which products have few of them: the peak is measured .. */
#define FEW_THEORY 0.2     /* .. the data sheet's, with a clock that all cores together may not reach */
#define SCALED 0.6         /* of the cores' peak that a large product reaches on all of them */
/* clang-format on */

static bool is_product(const struct kernel_row *k) {
    return k->modelled && !k->wrapper && k->count && k->ns > 0 && k->cls == KC_GEMM && k->unit == GPU_F32;
}

/* ns that one core needs for a call. */
static double on_one_core(const struct diag *d, const struct kernel_row *k) {
    const struct trace_cpu *c = &d->t->cpu;
    if (c->core_flops > 0 && is_product(k))
        return RG_MAX(k->flops / c->core_flops, k->bytes / c->core_bytes) * 1e9;
    return RG_MAX(k->flops / MODEL_ANY_CORE_FLOPS, k->bytes / MODEL_ANY_CORE_BYTES) * 1e9;
}

/* Times what one core needs, from where on an operator's threads hinder one another. */
static double stalled_from(const struct diag *d, const struct kernel_row *k) {
    if (d->t->cpu.core_flops <= 0 || !is_product(k)) return STALLED;
    return k->count >= UNEVEN_CALLS && k->max_ns >= UNEVEN * k->min_ns ? STALLED_UNEVEN : STALLED_HERE;
}

/* What remains of a call: on one core, or on all that are known. */
static double remains(const struct diag *d, const struct kernel_row *k) {
    double one = on_one_core(d, k);
    if (d->t->cpu.core_flops <= 0 || !is_product(k)) return one;
    return RG_MIN(one, one / (SCALED * RG_MAX(d->t->cpu.cores, 1u)) + SPREAD_NS);
}

/* Operators with a known amount of work that take many times what one core needs for it. */
static void stalled(struct diag *d) {
    int64_t lost = 0, best = 0;
    const struct kernel_row *top = NULL;
    for (uint32_t i = 0; i < d->kernels.n; i++) {
        const struct kernel_row *k = &d->kernels.p[i];
        if (!k->modelled || k->wrapper || !k->count || k->ns / k->count < CPU_FIXED_OP_NS) continue;
        double least = on_one_core(d, k) * k->count;
        if (least <= 0 || (double)k->ns < stalled_from(d, k) * least) continue;
        lost += k->ns - (int64_t)(remains(d, k) * k->count);
        if (k->ns > best) best = k->ns, top = k;
    }
    if (!top || !cause_worth(d, lost)) return;
    struct cause *c = cause_add(
        d, CAUSE_THREADS, lost, lost, trace_str(d->t, top->where ? top->where : top->op),
        arena_printf(
            &d->arena,
            "%.40s takes %.2f ms for %.3f MFLOP and %.3f MB, which one core does in %.3f ms: its threads "
            "wait for cores or for one another",
            trace_str(d->t, top->op), (double)top->ns / 1e6 / top->count, top->flops / 1e6, top->bytes / 1e6,
            on_one_core(d, top) / 1e6),
        "no more threads than free cores: torch.set_num_threads(n), OMP_NUM_THREADS, fewer processes at once "
        "(workers of a loader have threads too)");
    c->bound = d->t->cpu.core_flops > 0 ? "products at 60% of the peak of all cores, else what one core needs"
                                        : "the time beyond what one core needs";
    c->confirm = "torch.set_num_threads(1): the step is faster";
}

struct few {
    const struct kernel_row *top;
    double flops, ns; /* of all large products */
};

/* Products that all cores would speed up. */
static struct few large_products(const struct diag *d) {
    const struct trace_cpu *c = &d->t->cpu;
    double core = c->core_flops > 0 ? c->core_flops : MODEL_ANY_CORE_FLOPS,
           least = RG_MAX((double)LARGE_FLOPS, core * RG_MAX(c->cores, 1u) * SHARE_NS * 1e-9);
    struct few f = {0};
    for (uint32_t i = 0; i < d->kernels.n; i++) {
        const struct kernel_row *k = &d->kernels.p[i];
        if (!is_product(k) || k->flops < least) continue;
        f.flops += k->flops * k->count, f.ns += (double)k->ns;
        if (!f.top || k->ns > f.top->ns) f.top = k;
    }
    return f;
}

/* Cores whose peak is what products reach, or as many as the program says that it has threads; 0 not known. */
static double cores_used(const struct diag *d, const struct few *f) {
    if (d->t->threads > 0) return d->t->threads;
    return d->t->cpu.core_flops > 0 ? f->flops / f->ns * 1e9 / d->t->cpu.core_flops : 0;
}

static void few_threads(struct diag *d, const struct few *f) {
    const struct trace *t = d->t;
    double cores = t->cpu.cores, used = cores_used(d, f), most = t->cpu.measured ? FEW_MEASURED : FEW_THEORY;
    if (t->threads > 0) most = SCALED / 2; /* no doubt about the threads, some about what more would bring */
    if (used <= 0 || used > most * cores) return;
    if (!t->threads && used < 1.0 / STALLED_HERE) return; /* one thread would be faster: stalled */
    int64_t lost = (int64_t)(f->ns * (1 - used / (SCALED * cores)));
    if (!cause_worth(d, lost)) return;
    double rate = f->flops / f->ns;
    const char *what =
        t->threads > 0
            ? arena_printf(&d->arena,
                           "the program has %d of %u cores (num_threads): %.40s runs at %.0f GFLOPS",
                           t->threads, t->cpu.cores, trace_str(t, f->top->op), rate)
            : arena_printf(&d->arena,
                           "%.40s runs at %.0f GFLOPS, the peak of %.1f cores of %u; the trace was recorded "
                           "on this machine",
                           trace_str(t, f->top->op), rate, used, t->cpu.cores);
    struct cause *c = cause_add(
        d, CAUSE_THREADS, lost, lost, trace_str(t, f->top->where ? f->top->where : f->top->op), what,
        "torch.set_num_threads(cores), OMP_NUM_THREADS and MKL_NUM_THREADS unset; no taskset or "
        "CPU limit of a container that leaves out cores");
    c->bound = "products at 60% of the peak of all cores";
    c->confirm = "torch.get_num_threads(); with twice as many the step is faster";
    c->how = t->threads > 0 ? "modelled by cores" : "modelled: against this machine's cores";
}

/* What threads reach together, where nothing says how many there are. */
static void unknown(struct diag *d, const struct few *f) {
    struct note n = {
        "threads",
        arena_printf(&d->arena, "%.40s runs at %.0f GFLOPS; how many threads did that is not recorded",
                     trace_str(d->t, f->top->op), f->flops / f->ns),
        "compare with torch.set_num_threads(1): as fast means one thread works (OMP_NUM_THREADS, "
        "MKL_NUM_THREADS); or record them: prof.add_metadata_json(\"num_threads\", "
        "str(torch.get_num_threads())), \"num_cores\" with os.cpu_count()"};
    vec_push(&d->arena, &d->abstained, n);
}

void cpu_threads(struct diag *d) {
    stalled(d);
    struct few f = large_products(d);
    if (!f.top) return;
    if (d->t->cpu.cores && cores_used(d, &f) > 0)
        few_threads(d, &f);
    else
        unknown(d, &f);
}
