/* causes.c: from the account to advice: what costs time, how much a fix can bring, and which fix.
 *
 * A cause is reported only if it costs at least 2 % of the wall time. Its loss is measured where the account
 * measured it and modelled otherwise; the gain is an upper bound. Causes whose evidence is missing abstain and
 * say so. All thresholds are in the tables below.
 * Tests: tests/unit/analyze.c (captures), tests/unit/analyze_synth.c (500 mixtures). */
#include "analyze/internal.h"

#include <stdlib.h>

/* Thresholds, as fractions. tests/unit/analyze_synth.c holds them on 500 mixtures of causes. */
static const struct {
    double report, tile_waste, good_roof, good_tiled_roof, reachable_roof, half;
    double healthy_busy, healthy_loss, equal_size, related_size, shared_equal, shared_related;
    double kernel_wall, slow_roof, blocks_per_sm, low_occupancy;
} limit = {
    .report = 0.02,         /* of the wall time: smaller causes are not reported */
    .tile_waste = 0.15,     /* idle slots of a GEMM's waves before its shape is blamed */
    .good_roof = 0.6,       /* of the roofline: such a kernel is left alone */
    .good_tiled_roof = 0.7, /* likewise, before tile waste is blamed */
    .reachable_roof = 0.7,  /* of the roofline that aligned kernels reach */
    .half = 0.5,            /* of the wall time: the regime; of kernel time: modelled */
    .healthy_busy = 0.85,   /* of the wall time busy: a small idle cause is reported but is no verdict .. */
    .healthy_loss = 0.15,   /* .. if it costs less than this */
    .equal_size = 0.9,      /* ratio of bytes of two kernels that pass one value .. */
    .related_size = 0.45,   /* .. or one of their two operands */
    .shared_equal = 0.5,    /* of both kernels' time that moves the value between them */
    .shared_related = 1.0 / 3, /* likewise */
    .kernel_wall = 0.01,       /* of the wall time: kernels whose occupancy is looked at */
    .slow_roof = 0.5,          /* of the roofline: kernels whose occupancy is looked at */
    .blocks_per_sm = 0.75,     /* fewer leave SMs empty */
    .low_occupancy = 0.25,     /* of the warps of an SM */
};
enum {
    FUSIBLE_BYTES = 1 << 20, /* of a kernel's traffic */
    TINY_NS = 10000,         /* of a kernel that a chain goes around */
    LEAST_GEMM = 64,         /* M, N and K of a GEMM whose alignment matters */
    PAD_TO = 64,             /* advice for N and K */
    LEAST_TILE = 16,         /* of a library kernel, in its name */
    MOST_TILE = 512,
    OCCUPANCY_NS = 20000, /* of one launch */
    GRAPH_PART = 20,      /* 1/n of busy time in graphs that is reported */
    NAME_DEPTH = 32,      /* parents of an event that are looked at */
    LEAK_BYTES = 1 << 20, /* of a step, where the size of the memory is not known */
    LEAK_STEPS = 100000   /* a leak that fills the GPU in fewer steps comes before all else */
};

static const char *const ids[] = {
#define X(name, id, conf) id,
    CAUSE_TABLE(X)
#undef X
};
static const char *const confs[] = {
#define X(name, id, conf) conf,
    CAUSE_TABLE(X)
#undef X
};
const char *cause_text(int i) { return i >= 0 && i < CAUSE_COUNT ? ids[i] : "?"; }
const char *cause_confidence(int i) { return i >= 0 && i < CAUSE_COUNT ? confs[i] : "?"; }
const char *regime_text(int r) {
    static const char *const t[] = {"compute", "memory", "overhead", "mixed", "none"};
    return r >= 0 && r < 5 ? t[r] : "?";
}

static const struct {
    const char *key, *text;
    bool idle;
} budgets[] = {
#define X(name, key, text, idle) {key, text, idle},
    BUDGET_TABLE(X)
#undef X
};
const char *budget_key(int b) { return b >= 0 && b < BUDGET_KEYS ? budgets[b].key : "?"; }
const char *budget_text(int b) { return b >= 0 && b < BUDGET_KEYS ? budgets[b].text : "?"; }
bool budget_idle(int b) { return b >= 0 && b < BUDGET_KEYS && budgets[b].idle; }

/* ---- helpers ------------------------------------------------------------------------------------------ */

static bool is_jax(const struct diag *d) { return d->t->format == TRACE_JAX || d->t->format == TRACE_XPLANE; }
static double ms(int64_t ns) { return (double)ns / 1e6; }

struct cause *cause_add(struct diag *d, int id, int64_t lost, int64_t gain, const char *where,
                        const char *signal, const char *fix) {
    struct cause c = {.id = id,
                      .lost_ns = lost,
                      .gain_ns = RG_MIN(RG_MAX(gain, 0), lost),
                      .where = where,
                      .signal = signal,
                      .fix = fix};
    vec_push(&d->arena, &d->causes, c);
    return &d->causes.p[d->causes.n - 1];
}
static void abstain(struct diag *d, const char *id, const char *why, const char *setting) {
    vec_push(&d->arena, &d->abstained, ((struct note){id, why, setting}));
}
bool cause_worth(const struct diag *d, int64_t lost) {
    return lost > 0 && (double)lost >= limit.report * (double)d->wall_ns;
}

/* The source line with most of a cause's idle time; else an operator, else an API call. */
const char *cause_line(struct diag *d, int budget) {
    struct trace *t = d->t;
    struct arena_mark m = arena_mark(&d->arena);
    struct map sum;
    map_init(&sum, &d->arena);
    uint64_t best = 0;
    uint32_t name = 0;
    bool line = false;
    for (uint32_t i = 0; i < d->idle_n; i++) {
        const struct idle_piece *p = &d->idle[i];
        if (p->cause != budget || !p->ev) continue;
        uint32_t w = user_line(d, p->ev);
        bool is_line = w != 0;
        if (!w) {
            w = t->ev[p->ev - 1].name;
            for (uint32_t x = t->ev[p->ev - 1].link, k = 0; x && k < NAME_DEPTH; x = t->ev[x - 1].link, k++)
                if (t->ev[x - 1].kind == TK_OP) w = t->ev[x - 1].name;
        }
        uint64_t v = 0;
        map_get(&sum, w, &v);
        v += (uint64_t)(p->t1 - p->t0);
        map_put(&sum, w, v);
        if (v > best) best = v, name = w, line = is_line;
    }
    arena_release(&d->arena, m);
    if (!best) return "";
    const char *s = trace_str(t, name);
    if (line && *s == '$') s++;
    return s;
}

/* ---- causes the account measured ----------------------------------------------------------------------- */

/* What keeps the step from being captured as a CUDA graph, NULL nothing. */
static const char *graph_obstacle(struct diag *d, const struct diag_facts *f) {
    if (is_jax(d) || !f->items) return NULL;
    uint32_t line = user_line(d, f->item_ev);
    return arena_printf(
        &d->arena,
        "%u reads of a value by the host (%.60s) in the step: no CUDA graph can be captured around them",
        f->items, trace_str(d->t, line ? line : d->t->ev[f->item_ev - 1].name));
}

static void small_kernels(struct diag *d, const struct diag_facts *f) {
    int64_t lost = d->budget[BUDGET_SMALL];
    if (!cause_worth(d, lost)) return;
    const char *sig =
        arena_printf(&d->arena,
                     "%llu kernels under 10 us hold %.0f%% of kernel time; a kernel runs %.1f us, "
                     "and the host launches one every %.1f us",
                     (unsigned long long)d->small_count,
                     100.0 * (double)d->small_ns / (double)RG_MAX(d->budget[BUDGET_KERNELS], 1),
                     (double)d->small_ns / 1e3 / (double)RG_MAX(d->small_count, 1u),
                     (double)d->wall_ns / 1e3 / (double)RG_MAX(d->kernel_count, 1u));
    const char *obstacle = graph_obstacle(d, f);
    struct cause *c = cause_add(
        d, CAUSE_SMALL, lost, lost, cause_line(d, BUDGET_SMALL), sig,
        is_jax(d) ? "wrap the whole step in jax.jit (or lax.scan for the loop): one program, few kernels"
        : f->compiled && obstacle ? "write fewer, larger Triton kernels; the kernels are compiled already"
        : f->compiled ? "capture the step as a torch.cuda.CUDAGraph, or write fewer, larger Triton kernels; "
                        "the kernels are compiled already"
        : obstacle    ? "torch.compile(model) fuses the kernels; foreach=True / fused=True in the optimiser"
                      : "torch.compile(model, mode=\"reduce-overhead\"), or capture torch.cuda.CUDAGraph; "
                        "foreach=True / fused=True in the optimiser");
    c->before = obstacle;
}

static void dispatch(struct diag *d, const struct diag_facts *f) {
    int64_t lost = d->budget[BUDGET_DISPATCH];
    if (!cause_worth(d, lost)) return;
    const char *top = "";
    int64_t most = 0;
    for (uint32_t i = 0; i < d->ops.n; i++)
        if (d->ops.p[i].idle_ns > most) most = d->ops.p[i].idle_ns, top = trace_str(d->t, d->ops.p[i].name);
    const char *sig = arena_printf(&d->arena,
                                   "the host takes longer to submit the work than the GPU to do it "
                                   "(queue %.1f deep on average); most idle under %.60s",
                                   d->depth_mean, *top ? top : "-");
    const char *obstacle = graph_obstacle(d, f);
    struct cause *c = cause_add(
        d, CAUSE_DISPATCH, lost, lost, cause_line(d, BUDGET_DISPATCH), sig,
        is_jax(d)     ? "jit a larger function, keep arguments on the device, donate buffers"
        : f->compiled ? obstacle
                            ? "larger batch, or fewer and larger kernels; the kernels are compiled already"
                            : "capture the step as a torch.cuda.CUDAGraph; larger batch; the kernels are "
                              "compiled already"
        : obstacle    ? "torch.compile(model); larger batch; optimizer(..., fused=True)"
                      : "torch.compile(model), or torch.cuda.make_graphed_callables; larger batch; "
                        "optimizer(..., fused=True)");
    c->before = obstacle;
}

static void sync_cause(struct diag *d, const struct diag_facts *f) {
    int64_t lost = d->budget[BUDGET_SYNC];
    if (!cause_worth(d, lost)) return;
    const char *sig =
        f->waits ? arena_printf(&d->arena,
                                "%u waits; each drains the GPU's queue, which stays empty until "
                                "the host has caught up",
                                f->waits)
                 : "the host waits for the GPU (the file does not show the call), then has to catch up";
    cause_add(d, CAUSE_SYNC, lost, lost, cause_line(d, BUDGET_SYNC), sig,
              is_jax(d)
                  ? "call block_until_ready (or float(x)) once every N steps, not every step"
                  : "no .item(), .cpu(), print(loss) or nonzero() inside the step: keep values on the GPU, "
                    "log every N steps, .to(..., non_blocking=True)");
}

static void host_causes(struct diag *d) {
    int64_t lost = d->budget[BUDGET_LOADER];
    if (cause_worth(d, lost)) {
        bool single = false;
        for (uint32_t i = 0; i < d->t->strs.n && !single; i++)
            single = strstr(trace_str(d->t, i), "_SingleProcessDataLoaderIter") != NULL;
        cause_add(d, CAUSE_LOADER, lost, lost, cause_line(d, BUDGET_LOADER),
                  single ? "the GPU waits for the next batch; the loader runs in the training process"
                         : "the GPU waits for the next batch",
                  is_jax(d) ? "prefetch batches in another thread or process; decode ahead of time"
                            : "DataLoader(num_workers=4 or more, persistent_workers=True, prefetch_factor=4, "
                              "pin_memory=True)");
    }
    lost = d->budget[BUDGET_USER];
    if (cause_worth(d, lost))
        cause_add(
            d, CAUSE_USER, lost, lost, cause_line(d, BUDGET_USER),
            "the host runs code that is neither an operator nor the loader while the GPU is idle",
            "move it out of the step, into a worker, or onto the GPU (logging, metrics, numpy, sleeps)");
    lost = d->budget[BUDGET_COMPILE];
    if (cause_worth(d, lost))
        cause_add(d, CAUSE_COMPILE, lost, lost, cause_line(d, BUDGET_COMPILE),
                  warmup_signal(d, "code is compiled or loaded inside the recorded steps"),
                  warmup_fix(d, is_jax(d) ? "fix shapes so that jit hits its cache; pad or bucket the batch; "
                                            "jax_compilation_cache_dir"
                                          : "warm up before timing; mark_dynamic or pad shapes to stop "
                                            "recompiles (TORCH_LOGS=recompiles)"));
    lost = d->budget[BUDGET_COMM];
    if (cause_worth(d, lost))
        cause_add(d, CAUSE_COMM, lost, lost, "", "collectives run while nothing is computed",
                  "overlap them with the backward pass (bucket size, gradient_as_bucket_view), "
                  "fewer and larger messages, or a faster link");
}

/* ---- causes inside the kernels -------------------------------------------------------------------------- */

static const char *line_of_kernel(struct diag *d, const struct kernel_row *k) {
    if (k->where) return trace_str(d->t, k->where);
    if (k->op) return trace_str(d->t, k->op);
    return trace_str(d->t, k->name);
}

/* The line of the longest of the kernels that are marked. */
static const char *cause_of_kernels(struct diag *d, const bool *taken) {
    const struct kernel_row *top = NULL;
    for (uint32_t i = 0; i < d->dev_n; i++)
        if (taken[i] && d->dev_row[i] != UINT32_MAX && (!top || d->kernels.p[d->dev_row[i]].ns > top->ns))
            top = &d->kernels.p[d->dev_row[i]];
    return top ? line_of_kernel(d, top) : "";
}

static bool fusible(const struct kernel_row *k) {
    return k->modelled && k->bytes >= FUSIBLE_BYTES && k->bound == BOUND_MEMORY &&
           (k->cls == KC_ELEMENTWISE || k->cls == KC_NORM || k->cls == KC_COPY);
}

/* A reduction that reads what was just written keeps the chain: one kernel can do both. */
static bool reduces(const struct kernel_row *k) {
    return k->modelled && k->bytes >= FUSIBLE_BYTES && k->bound == BOUND_MEMORY && k->cls == KC_REDUCE;
}
static bool tiny(const struct kernel_row *k) {
    return k->modelled && k->bytes < FUSIBLE_BYTES && k->ns < (int64_t)k->count * TINY_NS &&
           (k->cls == KC_ELEMENTWISE || k->cls == KC_COPY);
}

static bool same_step(const struct diag *d, uint32_t x, uint32_t y) {
    const struct trace_event *a = &d->t->ev[x], *b = &d->t->ev[y];
    if (!a->link || !b->link) return a->link == b->link;
    int64_t s = d->t->ev[a->link - 1].t0, t = d->t->ev[b->link - 1].t0;
    for (uint32_t i = 0; i < d->steps.n && d->steps.p[i].t0 <= t; i++)
        if (d->steps.p[i].t0 > s) return false;
    return true;
}

static void attention_cause(struct diag *d, bool *taken) {
    uint32_t count;
    int64_t lost = attention_unfused(d, taken, &count);
    if (!cause_worth(d, lost)) return;
    cause_add(d, CAUSE_TRAFFIC, lost, lost, cause_of_kernels(d, taken),
              arena_printf(&d->arena,
                           "%u times attention is two products with a softmax between them, and the scores "
                           "cross the memory several times",
                           count),
              is_jax(d) ? "jax.nn.dot_product_attention(.., implementation=\"cudnn\")"
                        : "torch.nn.functional.scaled_dot_product_attention: one kernel that keeps the "
                          "scores on the chip")
        ->bound = "one kernel with the same arithmetic at 60% of the unit's peak";
}

/* Consecutive kernels of one stream that pass a value through memory. */
static void memory_traffic(struct diag *d) {
    struct trace *t = d->t;
    int64_t lost = 0;
    uint32_t pairs = 0, last[64], best_row = UINT32_MAX, triton = 0;
    int64_t best = 0;
    bool *taken = arena_array(&d->arena, bool, d->dev_n + 1);
    attention_cause(d, taken);
    memset(last, 0xff, sizeof last);
    for (uint32_t i = 0; i < d->dev_n; i++) {
        const struct trace_event *e = &t->ev[d->dev[i]];
        uint32_t r = d->dev_row[i], *prev = &last[e->lane & 63];
        if (r != UINT32_MAX && tiny(&d->kernels.p[r]))
            continue; /* of statistics, say: no bar to fusing what is around */
        bool reduction = r != UINT32_MAX && *prev != UINT32_MAX && reduces(&d->kernels.p[r]);
        if (r == UINT32_MAX || taken[i] || (!reduction && !fusible(&d->kernels.p[r])) ||
            e->flags & TF_GRAPH) {
            *prev = UINT32_MAX;
            continue;
        }
        const struct kernel_row *b = &d->kernels.p[r];
        if (*prev != UINT32_MAX && t->ev[d->dev[*prev]].lane == e->lane &&
            same_step(d, d->dev[*prev], d->dev[i])) {
            const struct trace_event *pe = &t->ev[d->dev[*prev]];
            const struct kernel_row *a = &d->kernels.p[d->dev_row[*prev]];
            /* kernels of equal size spend half of their time on the value between them */
            double ratio = a->bytes > b->bytes ? b->bytes / a->bytes : a->bytes / b->bytes;
            if (ratio > limit.related_size) {
                double share = ratio > limit.equal_size ? limit.shared_equal : limit.shared_related;
                int64_t x = (int64_t)(share * (double)(pe->dur + e->dur));
                lost += x;
                pairs++;
                triton += made_by_triton(t, pe) && made_by_triton(t, e);
                if (b->ns > best) best = b->ns, best_row = r;
            }
        }
        if (!reduction) *prev = i;
    }
    if (!cause_worth(d, lost)) return;
    const struct kernel_row *k = &d->kernels.p[best_row];
    const char *sig = arena_printf(&d->arena,
                                   "%u neighbouring memory-bound kernels write and re-read a value "
                                   "of one size (%.1f MB each)",
                                   pairs, k->bytes / 2e6);
    cause_add(
        d, CAUSE_TRAFFIC, lost, lost, line_of_kernel(d, k), sig,
        is_jax(d) ? "jit the chain as one function so that XLA fuses it"
        : triton * 2 > pairs
            ? "merge the Triton kernels of the chain into one; where torch.compile made them, a graph break "
              "separates them (TORCH_LOGS=graph_breaks)"
            : "torch.compile the function that holds the chain: one kernel reads and writes once");
}

static void layout(struct diag *d) {
    int64_t lost = 0, graph = 0, best = 0;
    const struct kernel_row *top = NULL;
    for (uint32_t i = 0; i < d->kernels.n; i++) {
        const struct kernel_row *k = &d->kernels.p[i];
        if (k->cls != KC_LAYOUT) continue;
        if (k->graph) {
            graph += k->ns;
            continue;
        }
        lost += k->ns;
        if (k->ns > best) best = k->ns, top = k;
    }
    if (cause_worth(d, graph))
        abstain(d, "layout",
                arena_printf(&d->arena,
                             "%.1f ms of kernels look like layout changes, but they run "
                             "inside a graph and cannot be traced to an operator",
                             ms(graph)),
                "record one step without graphs");
    if (!cause_worth(d, lost)) return;
    cause_add(d, CAUSE_LAYOUT, lost, lost, line_of_kernel(d, top),
              arena_printf(&d->arena, "kernels that only change a layout take %.1f ms", ms(lost)),
              "model.to(memory_format=torch.channels_last) and the input too; store weights the way they are "
              "used; avoid .contiguous() after transpose");
}

/* Tile sizes from the names of library kernels: "_320x128_", "tilesize128x64x32". */
static bool tile_of(const char *s, int64_t *tm, int64_t *tn) {
    for (; *s; s++) {
        if (*s < '0' || *s > '9') continue;
        const char *p = s;
        int64_t a = 0, b = 0;
        while (*p >= '0' && *p <= '9' && a < 100000) a = a * 10 + (*p++ - '0');
        if (*p == 'x') {
            p++;
            while (*p >= '0' && *p <= '9' && b < 100000) b = b * 10 + (*p++ - '0');
            bool tile = a >= LEAST_TILE && a <= MOST_TILE && b >= LEAST_TILE && b <= MOST_TILE;
            if (tile) return *tm = a, *tn = b, true;
        }
        s = p - 1;
    }
    return false;
}

struct shape_loss { /* of all GEMMs, and the one that loses most */
    int64_t align_ns, quant_ns, align_best, quant_best, no_shape_ns;
    const struct kernel_row *align_row, *quant_row;
    struct tiling worst;
};

/* Elements of 16 bytes: N and K of an aligned GEMM are a multiple. */
static int64_t alignment_of(const struct kernel_row *k) {
    return k->unit == GPU_F8 ? 16 : k->unit == GPU_F16 ? 8 : 4;
}

static bool is_misaligned(const struct kernel_row *k) {
    int64_t unit = alignment_of(k);
    bool large = k->m >= LEAST_GEMM && k->n >= LEAST_GEMM && k->k >= LEAST_GEMM;
    bool slow = k->roof < limit.good_roof && k->compute >= k->memory;
    return (k->k % unit || k->n % unit) && large && slow;
}

static void add_misaligned(struct shape_loss *s, const struct kernel_row *k) {
    int64_t x = (int64_t)((double)k->ns * RG_MAX(0, 1 - k->roof / limit.reachable_roof));
    s->align_ns += x;
    if (x > s->align_best) s->align_best = x, s->align_row = k;
}

/* Wave quantization: idle slots in the last wave of tiles. */
static void add_quantized(const struct diag *d, struct shape_loss *s, const struct kernel_row *k) {
    int64_t tm, tn;
    if (!d->gpu || !d->gpu->sms || !tile_of(trace_str(d->t, k->name), &tm, &tn)) return;
    int64_t per = (int64_t)d->gpu->sms * (k->has_occ && k->occ.blocks > 0 ? k->occ.blocks : 1);
    struct tiling a = gpu_tiling(k->m, k->n, tm, tn, k->batch, per);
    struct tiling b = gpu_tiling(k->m, k->n, tn, tm, k->batch, per);
    if (b.waste < a.waste) a = b;
    if (a.waste < limit.tile_waste || a.waves < 2 || k->roof >= limit.good_tiled_roof) return;
    int64_t x = (int64_t)((double)k->ns * a.waste);
    s->quant_ns += x;
    if (x > s->quant_best) s->quant_best = x, s->quant_row = k, s->worst = a;
}

static struct shape_loss find_shape_loss(const struct diag *d) {
    struct shape_loss s = {0};
    for (uint32_t i = 0; i < d->kernels.n; i++) {
        const struct kernel_row *k = &d->kernels.p[i];
        if (k->cls != KC_GEMM) continue;
        if (!k->m) /* inside another operator, such as a convolution: shapes but no M, N, K */
            s.no_shape_ns += k->shape ? 0 : k->ns;
        else if (is_misaligned(k))
            add_misaligned(&s, k);
        else
            add_quantized(d, &s, k);
    }
    return s;
}

static void shapes(struct diag *d) {
    struct shape_loss s = find_shape_loss(d);
    if (cause_worth(d, s.no_shape_ns) && !d->graph_count)
        abstain(d, "shape", "GEMMs without recorded shapes: alignment and tiles cannot be judged",
                d->t->format == TRACE_JAX      ? "read the .xplane.pb next to it"
                : d->t->format == TRACE_XPLANE ? "give the sizes you know to ridge shape M N K"
                                               : "record_shapes=True");
    if (cause_worth(d, s.align_ns)) {
        const struct kernel_row *k = s.align_row;
        int64_t unit = alignment_of(k);
        cause_add(
            d, CAUSE_ALIGNMENT, s.align_ns, s.align_ns, line_of_kernel(d, k),
            arena_printf(&d->arena, "%lldx%lldx%lld is not a multiple of %lld in N and K: %.0f%% of the roof",
                         (long long)k->m, (long long)k->n, (long long)k->k, (long long)unit, 100 * k->roof),
            arena_printf(&d->arena, "pad N to %lld and K to %lld (vocabulary, hidden size, head size)",
                         (long long)((k->n + PAD_TO - 1) / PAD_TO * PAD_TO),
                         (long long)((k->k + PAD_TO - 1) / PAD_TO * PAD_TO)));
    }
    if (cause_worth(d, s.quant_ns)) {
        const struct kernel_row *k = s.quant_row;
        cause_add(d, CAUSE_QUANTISATION, s.quant_ns, s.quant_ns, line_of_kernel(d, k),
                  arena_printf(&d->arena,
                               "%lldx%lld in %lld tiles makes %lld waves: %.0f%% of the slots do no work",
                               (long long)k->m, (long long)k->n, (long long)s.worst.tiles,
                               (long long)s.worst.waves, 100 * s.worst.waste),
                  "choose sizes that fill whole waves; `ridge shape M N K` lists the nearest better ones");
    }
}

static void occupancy(struct diag *d) {
    int64_t lost = 0, best = 0;
    const struct kernel_row *top = NULL;
    if (!d->gpu || !d->gpu->sms) return;
    for (uint32_t i = 0; i < d->kernels.n; i++) {
        const struct kernel_row *k = &d->kernels.p[i];
        if (!k->has_occ || k->graph || !k->count || k->cls == KC_COMM) continue;
        int64_t each = k->ns / k->count;
        bool small = each < OCCUPANCY_NS || (double)k->ns < limit.kernel_wall * (double)d->wall_ns;
        if (small || k->roof >= limit.slow_roof) continue;
        double share = 0;
        /* Persistent and split kernels fill the GPU with few blocks: judge by blocks against SMs. */
        double per_sm = k->occ.waves * k->occ.blocks;
        bool few_warps = k->occ.theoretical < limit.low_occupancy && k->bound == BOUND_INEFFICIENT;
        if (per_sm < limit.blocks_per_sm)
            share = 1 - per_sm;
        else if (few_warps && k->cls > KC_ATTENTION)
            share = 1 - k->roof / limit.reachable_roof;
        int64_t x = (int64_t)((double)k->ns * share);
        lost += x;
        if (x > best) best = x, top = k;
    }
    if (!cause_worth(d, lost)) return;
    const char *name = trace_str(d->t, top->name);
    if (!strncmp(name, "void ", 5)) name += 5;
    cause_add(d, CAUSE_OCCUPANCY, lost, lost, line_of_kernel(d, top),
              arena_printf(&d->arena, "%.*s: %.0f%% of the warps an SM can hold, limited by %s",
                           (int)RG_MIN(strcspn(name, "<("), (size_t)60), name, 100 * top->occ.achieved_cap,
                           top->occ.limiter),
              "give it more independent work (batch, split the reduction), or use another implementation");
}

static void graph_opaque(struct diag *d) {
    if (d->graph_ns * GRAPH_PART < d->busy_ns || !d->graph_ns) return;
    struct cause c = {.id = CAUSE_GRAPH,
                      .note = true,
                      .where = "",
                      .signal = arena_printf(
                          &d->arena, "%llu kernels (%.0f%% of busy time) are graph replay without operators",
                          (unsigned long long)d->graph_count,
                          100.0 * (double)d->graph_ns / (double)d->busy_ns),
                      .fix = "record one step without graphs as well: kernels match it in order"};
    vec_push(&d->arena, &d->causes, c);
    abstain(d, "graph.opaque", c.signal, c.fix);
}

static void growth(struct diag *d) {
    if (!d->mem_leak) {
        if (!d->mem.n)
            abstain(d, "memory.growth", "no memory events were recorded",
                    is_jax(d) ? "jax.profiler.save_device_memory_profile" : "profile_memory=True");
        return;
    }
    const char *where = d->owners.n ? trace_str(d->t, d->owners.p[0].where) : "";
    int64_t left = d->mem_capacity - d->mem_last, stalls = 0;
    double steps = d->mem_capacity > 0 && d->mem_growth_step > 0
                       ? (double)RG_MAX(left, 0) / (double)d->mem_growth_step
                       : 0;
    bool fills = d->mem_capacity > 0 ? steps < LEAK_STEPS : d->mem_growth_step >= LEAK_BYTES;
    /* What grows is asked of the driver: those stalls are its doing. */
    for (uint32_t i = 0; i < d->causes.n; i++) {
        if (d->causes.p[i].id != CAUSE_ALLOC) continue;
        stalls = d->causes.p[i].lost_ns;
        d->causes.p[i].before = "memory grows in every step: what grows is asked of the driver";
    }
    struct cause c = {
        .id = CAUSE_GROWTH,
        .where = where,
        .lost_ns = stalls,
        .gain_ns = stalls,
        .first = stalls || fills || d->t->format == TRACE_SNAPSHOT,
        .signal = arena_printf(
            &d->arena, "%s memory grows by %.1f MB %s, %u times; one source line holds %.1f MB%s",
            d->cpu ? "host" : "device", (double)d->mem_growth_step / 1e6,
            d->t->format == TRACE_SNAPSHOT ? "at a time" : "per step", d->mem_steps,
            d->owners.n ? (double)d->owners.p[0].bytes / 1e6 : 0.0,
            steps > 0 ? arena_printf(&d->arena, "; the GPU is full in %.0f more", steps) : ""),
        .fix = "something keeps every step's tensors: append x.detach().cpu() or float(x), not x; "
               "clear lists and caches; del what is not used"};
    vec_push(&d->arena, &d->causes, c);
}

/* ---- verdict --------------------------------------------------------------------------------------------- */

/* Without a device: what its operators are, or that it hardly computes. */
static int regime_of_cpu(const struct diag *d) {
    int64_t products = 0, all = 0;
    for (int k = 0; k < KC_CLASSES; k++)
        all += d->classes[k].ns, products += k <= KC_ATTENTION ? d->classes[k].ns : 0;
    double busy = (double)d->budget[BUDGET_KERNELS];
    if (busy < limit.half * (double)d->wall_ns || !all) return REGIME_OVERHEAD;
    return (double)products >= limit.half * (double)all ? REGIME_COMPUTE : REGIME_MEMORY;
}

static void choose_regime(struct diag *d) {
    if (d->cpu) {
        d->regime = regime_of_cpu(d);
        return;
    }
    if (!d->wall_ns || !d->dev_n) {
        d->regime = d->dev_n || d->wall_ns ? REGIME_OVERHEAD : REGIME_NONE;
        if (d->t->format == TRACE_SNAPSHOT) d->regime = REGIME_MEMORY;
        return;
    }
    double wall = (double)d->wall_ns, idle = 0;
    for (int k = 0; k < BUDGET_KEYS; k++)
        if (budget_idle(k)) idle += (double)d->budget[k];
    double all = 0;
    for (int k = 0; k < 5; k++) all += (double)d->bound_ns[k];
    double kern = (double)d->budget[BUDGET_KERNELS], f = all > 0 ? kern / all : 0;
    double c = f * (double)d->bound_ns[BOUND_COMPUTE], m = f * (double)d->bound_ns[BOUND_MEMORY];
    m += (double)(d->budget[BUDGET_PAGEABLE] + d->budget[BUDGET_EXPOSED] + d->budget[BUDGET_MEMSET]);
    double o = idle + f * (double)d->bound_ns[BOUND_LATENCY];
    for (uint32_t i = 0; i < d->kernels.n; i++) {
        const struct kernel_row *k = &d->kernels.p[i];
        if (k->bound == BOUND_INEFFICIENT) *(k->compute >= k->memory ? &c : &m) += f * (double)k->ns;
    }
    double half = limit.half * wall;
    d->regime = c >= half   ? REGIME_COMPUTE
                : m >= half ? REGIME_MEMORY
                : o >= half ? REGIME_OVERHEAD
                            : REGIME_MIXED;
}

static int cause_order(const void *x, const void *y) {
    const struct cause *a = x, *b = y;
    if (a->first != b->first) return b->first - a->first;
    if (a->note != b->note) return a->note - b->note;
    if (a->lost_ns != b->lost_ns) return a->lost_ns > b->lost_ns ? -1 : 1;
    return a->id - b->id;
}

static void choose_verdict(struct diag *d) {
    if (d->causes.n) qsort(d->causes.p, d->causes.n, sizeof *d->causes.p, cause_order);
    d->healthy = true;
    if (!d->causes.n || d->causes.p[0].note) return;
    const struct cause *c = &d->causes.p[0];
    d->verdict = c->id;
    d->healthy = false;
    /* at the roofline nearly all the time: what remains is reported, but is not the bottleneck */
    bool on_host = c->id <= CAUSE_SYNC || c->id == CAUSE_USER || (d->t->format == TRACE_RIDGE && !c->first);
    bool bound = d->regime == REGIME_COMPUTE || d->regime == REGIME_MEMORY;
    bool fast = d->modelled < limit.half || d->roof >= limit.good_roof;
    bool ridge = d->t->format == TRACE_RIDGE;
    double wall = (double)(ridge ? d->steady.wall_ns : d->wall_ns);
    int64_t at_work =
        ridge ? d->steady.budget[BUDGET_KERNELS] + d->steady.budget[BUDGET_EXPOSED] : d->busy_ns;
    bool busy = (double)at_work >= limit.healthy_busy * wall;
    bool minor = (double)c->lost_ns < limit.healthy_loss * wall;
    if (on_host && bound && fast && busy && minor) d->healthy = true;
}

void diag_causes(struct diag *d) {
    choose_regime(d);
    d->healthy = true;
    if (d->t->own_export) return; /* the profile it was made from says why, this file only when */
    if (d->t->format == TRACE_RIDGE) {
        ridge_causes(d);
        choose_verdict(d);
        ridge_checklist(d);
        return;
    }
    if (d->dev_n) {
        struct diag_facts f = diag_facts(d);
        small_kernels(d, &f);
        dispatch(d, &f);
        sync_cause(d, &f);
        transfer_causes(d);
        allocator_cause(d);
    }
    if (d->cpu) cpu_causes(d);
    if (d->cpu || d->dev_n) growing_cats(d);
    if (d->t->format != TRACE_SNAPSHOT && d->wall_ns && !d->cpu) host_causes(d);
    if (d->dev_n) {
        idle_gpus_cause(d);
        shared_gpu_cause(d);
        memory_traffic(d);
        layout(d);
        shapes(d);
        precision_causes(d);
        occupancy(d);
        graph_opaque(d);
    }
    growth(d);
    diag_evidence(d);
    choose_verdict(d);
    foreign_checks(d);
}

/* ---- the whole ------------------------------------------------------------------------------------------- */

static void run(void *p) {
    struct diag *d = p;
    diag_account(d);
    diag_classes(d);
    diag_layers(d);
    diag_memory(d);
    diag_causes(d);
    diag_capture(d);
}

int diagnose(struct diag *d, struct trace *t, struct err *e) {
    memset(d, 0, sizeof *d);
    d->t = t;
    t->err = e;
    t->arena.err = e;
    arena_init(&d->arena, e);
    int rc = err_guard(e, run, d);
    if (rc) diag_free(d);
    return rc;
}

void diag_free(struct diag *d) { arena_free(&d->arena); }
