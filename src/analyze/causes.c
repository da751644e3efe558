/* causes.c: from the account to advice: what costs time, how much a fix can bring, and which fix.
 *
 * A cause is told only if it costs at least 2 % of the wall, whatever its counts look like. Its loss is
 * measured where the account measured it and modelled otherwise; the gain is a ceiling. Causes whose
 * evidence is missing abstain and say so. The thresholds stand in one place below.
 * Tests: tests/unit/analyze.c (captures), tests/unit/analyze_synth.c (500 mixtures). */
#include "analyze/internal.h"

#include <stdlib.h>

#define GATE 0.02         /* share of the wall below which nothing is told */
#define TILE_WASTE 0.15   /* of one product, before its shape is blamed */
#define GOOD_ROOF 0.6     /* a kernel at that share of its roof is left alone */
#define HEALTHY_BUSY 0.85 /* at the roof this long, a small idle cause is told but is no verdict */
#define HEALTHY_LOSS 0.15

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

static void add(struct diag *d, int id, int64_t lost, int64_t gain, const char *where, const char *signal,
                const char *fix) {
    struct cause c = {.id = id,
                      .lost_ns = lost,
                      .gain_ns = RG_MIN(RG_MAX(gain, 0), lost),
                      .where = where,
                      .signal = signal,
                      .fix = fix};
    vec_push(&d->arena, &d->causes, c);
}
static void abstain(struct diag *d, const char *id, const char *why, const char *setting) {
    vec_push(&d->arena, &d->abstained, ((struct note){id, why, setting}));
}
static bool worth(const struct diag *d, int64_t lost) {
    return lost > 0 && (double)lost >= GATE * (double)d->wall_ns;
}

/* The place that owns most of a cause's idle time: a user's line, else an operator, else a call. */
static const char *place_of(struct diag *d, int budget) {
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
            for (uint32_t x = t->ev[p->ev - 1].link, k = 0; x && k < 32; x = t->ev[x - 1].link, k++)
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

static void small_kernels(struct diag *d) {
    int64_t lost = d->budget[BUDGET_SMALL];
    if (!worth(d, lost)) return;
    const char *sig =
        arena_printf(&d->arena,
                     "%llu kernels under 10 us hold %.0f%% of kernel time; a kernel runs %.1f us, "
                     "and the host launches one every %.1f us",
                     (unsigned long long)d->small_count,
                     100.0 * (double)d->small_ns / (double)RG_MAX(d->budget[BUDGET_KERNELS], 1),
                     (double)d->small_ns / 1e3 / (double)RG_MAX(d->small_count, 1u),
                     (double)d->wall_ns / 1e3 / (double)RG_MAX(d->kernel_count, 1u));
    add(d, CAUSE_SMALL, lost, lost, place_of(d, BUDGET_SMALL), sig,
        is_jax(d) ? "wrap the whole step in jax.jit (or lax.scan for the loop): one program, few kernels"
                  : "torch.compile(model, mode=\"reduce-overhead\"), or capture torch.cuda.CUDAGraph; "
                    "foreach=True / fused=True in the optimiser");
}

static void dispatch(struct diag *d) {
    int64_t lost = d->budget[BUDGET_DISPATCH];
    if (!worth(d, lost)) return;
    const char *top = "";
    int64_t most = 0;
    for (uint32_t i = 0; i < d->ops.n; i++)
        if (d->ops.p[i].idle_ns > most) most = d->ops.p[i].idle_ns, top = trace_str(d->t, d->ops.p[i].name);
    const char *sig = arena_printf(&d->arena,
                                   "the host takes longer to submit the work than the GPU to do it "
                                   "(queue %.1f deep on average); most idle under %.60s",
                                   d->depth_mean, *top ? top : "-");
    add(d, CAUSE_DISPATCH, lost, lost, place_of(d, BUDGET_DISPATCH), sig,
        is_jax(d) ? "jit a larger function, keep arguments on the device, donate buffers"
                  : "torch.compile(model), or torch.cuda.make_graphed_callables; larger batch; "
                    "optimizer(..., fused=True)");
}

static void sync_cause(struct diag *d) {
    int64_t lost = d->budget[BUDGET_SYNC];
    if (!worth(d, lost)) return;
    uint32_t n = 0;
    for (uint32_t i = 0; i < d->t->n; i++) n += d->t->ev[i].kind == TK_SYNC;
    const char *sig =
        n ? arena_printf(&d->arena,
                         "%u waits; each drains the GPU's queue, which stays empty until "
                         "the host has caught up",
                         n)
          : "the host waits for the GPU (the file does not show the call), then has to catch up";
    add(d, CAUSE_SYNC, lost, lost, place_of(d, BUDGET_SYNC), sig,
        is_jax(d) ? "call block_until_ready (or float(x)) once every N steps, not every step"
                  : "no .item(), .cpu(), print(loss) or nonzero() inside the step: keep values on the GPU, "
                    "log every N steps, .to(..., non_blocking=True)");
}

static void transfers(struct diag *d) {
    struct trace *t = d->t;
    int64_t bytes[2] = {0}, ns[2] = {0}; /* pageable, pinned */
    uint32_t n[2] = {0};
    for (uint32_t i = 0; i < d->dev_n; i++) {
        const struct trace_event *e = &t->ev[d->dev[i]];
        if (e->kind != TK_COPY || e->flags & TF_D2D) continue;
        const struct trace_copy_args *c = trace_blob(t, e->args, sizeof *c);
        int k = !(e->flags & TF_PAGEABLE);
        bytes[k] += c ? c->bytes : 0;
        ns[k] += e->dur;
        n[k]++;
    }
    double link = d->gpu && d->gpu->link > 0 ? d->gpu->link : 25;
    for (int k = 0; k < 2; k++) {
        int64_t lost = d->budget[k ? BUDGET_EXPOSED : BUDGET_PAGEABLE];
        if (!worth(d, lost)) continue;
        double rate = ns[k] ? (double)bytes[k] / (double)ns[k] : 0;
        int64_t floor_ns = (int64_t)((double)bytes[k] / link);
        const char *sig =
            arena_printf(&d->arena,
                         "%u copies of %.1f MB in all at %.1f GB/s%s; the GPU computes "
                         "nothing meanwhile",
                         n[k], (double)bytes[k] / 1e6, rate,
                         k ? "" : arena_printf(&d->arena, " (pinned memory reaches about %.0f)", link));
        const char *where = place_of(d, k ? BUDGET_EXPOSED : BUDGET_PAGEABLE);
        if (!*where)
            for (uint32_t i = 0; i < d->dev_n && !*where; i++) {
                const struct trace_event *e = &t->ev[d->dev[i]];
                if (e->kind != TK_COPY || (e->flags & TF_PAGEABLE ? 0 : 1) != k) continue;
                uint32_t w = user_line(d, e->link);
                where = trace_str(t, w ? w : e->aux ? t->ev[e->aux - 1].name : e->name);
            }
        if (k)
            add(d, CAUSE_EXPOSED, lost, lost, where, sig,
                is_jax(d) ? "jax.device_put the next batch before the step that needs it"
                          : "copy the next batch on a second stream while this one computes "
                            "(prefetch; .to(\"cuda\", non_blocking=True))");
        else
            add(d, CAUSE_PAGEABLE, lost, lost - RG_MIN(floor_ns, lost), where, sig,
                is_jax(d) ? "keep the data on the device; device_put one batch ahead"
                          : "DataLoader(..., pin_memory=True) or x.pin_memory(), then "
                            ".to(\"cuda\", non_blocking=True)");
    }
}

static void host_causes(struct diag *d) {
    int64_t lost = d->budget[BUDGET_LOADER];
    if (worth(d, lost)) {
        bool single = false;
        for (uint32_t i = 0; i < d->t->strs.n && !single; i++)
            single = strstr(trace_str(d->t, i), "_SingleProcessDataLoaderIter") != NULL;
        add(d, CAUSE_LOADER, lost, lost, place_of(d, BUDGET_LOADER),
            single ? "the GPU waits for the next batch; the loader runs in the training process"
                   : "the GPU waits for the next batch",
            is_jax(d) ? "prefetch batches in another thread or process; decode ahead of time"
                      : "DataLoader(num_workers=4 or more, persistent_workers=True, prefetch_factor=4, "
                        "pin_memory=True)");
    }
    lost = d->budget[BUDGET_USER];
    if (worth(d, lost))
        add(d, CAUSE_USER, lost, lost, place_of(d, BUDGET_USER),
            "the host runs code that is neither an operator nor the loader while the GPU is idle",
            "move it out of the step, into a worker, or onto the GPU (logging, metrics, numpy, sleeps)");
    lost = d->budget[BUDGET_COMPILE];
    if (worth(d, lost))
        add(d, CAUSE_COMPILE, lost, lost, place_of(d, BUDGET_COMPILE),
            "code is compiled or loaded inside the recorded steps",
            is_jax(d) ? "fix shapes so that jit hits its cache; pad or bucket the batch; "
                        "jax_compilation_cache_dir"
                      : "warm up before timing; mark_dynamic or pad shapes to stop recompiles "
                        "(TORCH_LOGS=recompiles)");
    lost = d->budget[BUDGET_COMM];
    if (worth(d, lost))
        add(d, CAUSE_COMM, lost, lost, "", "collectives run while nothing is computed",
            "overlap them with the backward pass (bucket size, gradient_as_bucket_view), "
            "fewer and larger messages, or a faster link");
}

/* ---- causes inside the kernels -------------------------------------------------------------------------- */

static const char *op_place(struct diag *d, const struct kernel_row *k) {
    if (k->where) return trace_str(d->t, k->where);
    if (k->op) return trace_str(d->t, k->op);
    return trace_str(d->t, k->name);
}

static bool fusible(const struct kernel_row *k) {
    return k->modelled && k->bytes >= 1 << 20 && k->bound == BOUND_MEMORY &&
           (k->cls == KC_ELEMENTWISE || k->cls == KC_NORM || k->cls == KC_COPY);
}

static bool same_step(const struct diag *d, uint32_t x, uint32_t y) {
    const struct trace_event *a = &d->t->ev[x], *b = &d->t->ev[y];
    if (!a->link || !b->link) return a->link == b->link;
    int64_t s = d->t->ev[a->link - 1].t0, t = d->t->ev[b->link - 1].t0;
    for (uint32_t i = 0; i < d->steps.n && d->steps.p[i].t0 <= t; i++)
        if (d->steps.p[i].t0 > s) return false;
    return true;
}

/* Neighbours on one stream that pass a value of one size through memory. */
static void memory_traffic(struct diag *d) {
    struct trace *t = d->t;
    int64_t lost = 0;
    uint32_t pairs = 0, last[64], best_row = UINT32_MAX;
    int64_t best = 0;
    memset(last, 0xff, sizeof last);
    for (uint32_t i = 0; i < d->dev_n; i++) {
        const struct trace_event *e = &t->ev[d->dev[i]];
        uint32_t r = d->dev_row[i], *prev = &last[e->lane & 63];
        if (r == UINT32_MAX || !fusible(&d->kernels.p[r]) || e->flags & TF_GRAPH) {
            *prev = UINT32_MAX;
            continue;
        }
        const struct kernel_row *b = &d->kernels.p[r];
        if (*prev != UINT32_MAX && t->ev[d->dev[*prev]].lane == e->lane &&
            same_step(d, d->dev[*prev], d->dev[i])) {
            const struct trace_event *pe = &t->ev[d->dev[*prev]];
            const struct kernel_row *a = &d->kernels.p[d->dev_row[*prev]];
            /* Half of each moves the value between them, if they are of one size. */
            double ratio = a->bytes > b->bytes ? b->bytes / a->bytes : a->bytes / b->bytes;
            if (ratio > 0.45) {
                double share = ratio > 0.9 ? 0.5 : 1.0 / 3;
                int64_t x = (int64_t)(share * (double)(pe->dur + e->dur));
                lost += x;
                pairs++;
                if (b->ns > best) best = b->ns, best_row = r;
            }
        }
        *prev = i;
    }
    if (!worth(d, lost)) return;
    const struct kernel_row *k = &d->kernels.p[best_row];
    const char *sig = arena_printf(&d->arena,
                                   "%u neighbouring memory-bound kernels write and re-read a value "
                                   "of one size (%.1f MB each)",
                                   pairs, k->bytes / 2e6);
    add(d, CAUSE_TRAFFIC, lost, lost, op_place(d, k), sig,
        is_jax(d) ? "jit the chain as one function so that XLA fuses it"
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
    if (worth(d, graph))
        abstain(d, "layout",
                arena_printf(&d->arena,
                             "%.1f ms of kernels look like layout changes, but they run "
                             "inside a graph and cannot be traced to an operator",
                             ms(graph)),
                "record one step without graphs");
    if (!worth(d, lost)) return;
    add(d, CAUSE_LAYOUT, lost, lost, op_place(d, top),
        arena_printf(&d->arena, "kernels that only change a layout take %.1f ms", ms(lost)),
        "model.to(memory_format=torch.channels_last) and the input too; store weights the way they are "
        "used; avoid .contiguous() after transpose");
}

/* Tile sizes stand in the names of library kernels: "_320x128_", "tilesize128x64x32". */
static bool tile_of(const char *s, int64_t *tm, int64_t *tn) {
    for (; *s; s++) {
        if (*s < '0' || *s > '9') continue;
        const char *p = s;
        int64_t a = 0, b = 0;
        while (*p >= '0' && *p <= '9' && a < 100000) a = a * 10 + (*p++ - '0');
        if (*p == 'x') {
            p++;
            while (*p >= '0' && *p <= '9' && b < 100000) b = b * 10 + (*p++ - '0');
            if (a >= 16 && a <= 512 && b >= 16 && b <= 512) return *tm = a, *tn = b, true;
        }
        s = p - 1;
    }
    return false;
}

static void shapes(struct diag *d) {
    int64_t align_lost = 0, quant_lost = 0, align_best = 0, quant_best = 0, no_shape = 0;
    const struct kernel_row *align_row = NULL, *quant_row = NULL;
    struct tiling worst = {0};
    for (uint32_t i = 0; i < d->kernels.n; i++) {
        const struct kernel_row *k = &d->kernels.p[i];
        if (k->cls != KC_GEMM) continue;
        if (!k->m) { /* a product inside another operator, such as a convolution, has shapes but no M, N, K */
            if (!k->shape) no_shape += k->ns;
            continue;
        }
        int64_t unit = k->unit == GPU_F8 ? 16 : k->unit == GPU_F16 ? 8 : 4;
        bool odd = k->k % unit || k->n % unit;
        bool large = k->m >= 64 && k->n >= 64 && k->k >= 64;
        if (odd && large && k->roof < GOOD_ROOF && k->compute >= k->memory) {
            int64_t x = (int64_t)((double)k->ns * RG_MAX(0, 1 - k->roof / 0.7));
            align_lost += x;
            if (x > align_best) align_best = x, align_row = k;
            continue;
        }
        int64_t tm, tn;
        if (!d->gpu || !d->gpu->sms || !tile_of(trace_str(d->t, k->name), &tm, &tn)) continue;
        int64_t per = (int64_t)d->gpu->sms * (k->has_occ && k->occ.blocks > 0 ? k->occ.blocks : 1);
        struct tiling a = gpu_tiling(k->m, k->n, tm, tn, k->batch, per);
        struct tiling b = gpu_tiling(k->m, k->n, tn, tm, k->batch, per);
        if (b.waste < a.waste) a = b;
        if (a.waste < TILE_WASTE || a.waves < 2 || k->roof >= GOOD_ROOF + 0.1) continue;
        int64_t x = (int64_t)((double)k->ns * a.waste);
        quant_lost += x;
        if (x > quant_best) quant_best = x, quant_row = k, worst = a;
    }
    if (worth(d, no_shape) && !d->graph_count)
        abstain(d, "shape", "matrix products without recorded shapes: alignment and tiles cannot be judged",
                d->t->format == TRACE_JAX      ? "read the .xplane.pb beside it"
                : d->t->format == TRACE_XPLANE ? "give the sizes you know to ridge shape M N K"
                                               : "record_shapes=True");
    if (worth(d, align_lost)) {
        const struct kernel_row *k = align_row;
        int64_t unit = k->unit == GPU_F8 ? 16 : k->unit == GPU_F16 ? 8 : 4;
        add(d, CAUSE_ALIGNMENT, align_lost, align_lost, op_place(d, k),
            arena_printf(&d->arena, "%lldx%lldx%lld is not a multiple of %lld in N and K: %.0f%% of the roof",
                         (long long)k->m, (long long)k->n, (long long)k->k, (long long)unit, 100 * k->roof),
            arena_printf(&d->arena, "pad N to %lld and K to %lld (vocabulary, hidden size, head size)",
                         (long long)((k->n + 63) / 64 * 64), (long long)((k->k + 63) / 64 * 64)));
    }
    if (worth(d, quant_lost)) {
        const struct kernel_row *k = quant_row;
        add(d, CAUSE_QUANTISATION, quant_lost, quant_lost, op_place(d, k),
            arena_printf(&d->arena,
                         "%lldx%lld in %lld tiles makes %lld waves: %.0f%% of the slots do no work",
                         (long long)k->m, (long long)k->n, (long long)worst.tiles, (long long)worst.waves,
                         100 * worst.waste),
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
        if (each < 20000 || (double)k->ns < 0.01 * (double)d->wall_ns || k->roof >= 0.5) continue;
        double share = 0;
        /* Persistent and split kernels fill the GPU with few blocks: judge by blocks against SMs. */
        double per_sm = k->occ.waves * k->occ.blocks;
        if (per_sm < 0.75)
            share = 1 - per_sm;
        else if (k->occ.theoretical < 0.25 && k->bound == BOUND_INEFFICIENT && k->cls > KC_ATTENTION)
            share = 1 - k->roof / 0.7;
        int64_t x = (int64_t)((double)k->ns * share);
        lost += x;
        if (x > best) best = x, top = k;
    }
    if (!worth(d, lost)) return;
    const char *name = trace_str(d->t, top->name);
    if (!strncmp(name, "void ", 5)) name += 5;
    add(d, CAUSE_OCCUPANCY, lost, lost, op_place(d, top),
        arena_printf(&d->arena, "%.*s: %.0f%% of the warps an SM can hold, limited by %s",
                     (int)RG_MIN(strcspn(name, "<("), (size_t)60), name, 100 * top->occ.achieved_cap,
                     top->occ.limiter),
        "give it more independent work (batch, split the reduction), or use another implementation");
}

static void graph_opaque(struct diag *d) {
    if (d->graph_ns * 20 < d->busy_ns || !d->graph_ns) return;
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
    struct cause c = {
        .id = CAUSE_GROWTH,
        .where = where,
        .signal = arena_printf(
            &d->arena, "device memory grows by %.1f MB %s, %u times; %.1f MB are held by one place",
            (double)d->mem_growth_step / 1e6, d->t->format == TRACE_SNAPSHOT ? "at a time" : "per step",
            d->mem_steps, d->owners.n ? (double)d->owners.p[0].bytes / 1e6 : 0.0),
        .fix = "something keeps every step's tensors: append x.detach().cpu() or float(x), not x; "
               "clear lists and caches; del what is not used"};
    vec_push(&d->arena, &d->causes, c);
}

/* ---- verdict --------------------------------------------------------------------------------------------- */

static void choose_regime(struct diag *d) {
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
    d->regime = c >= 0.5 * wall   ? REGIME_COMPUTE
                : m >= 0.5 * wall ? REGIME_MEMORY
                : o >= 0.5 * wall ? REGIME_OVERHEAD
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
    /* At the roof nearly all the time: what is left is told, but it is not what binds. */
    bool hostly = c->id <= CAUSE_SYNC || c->id == CAUSE_USER || (d->t->format == TRACE_RIDGE && !c->first);
    bool bound = d->regime == REGIME_COMPUTE || d->regime == REGIME_MEMORY;
    bool fast = d->modelled < 0.5 || d->roof >= GOOD_ROOF;
    if (hostly && bound && fast && (double)d->busy_ns >= HEALTHY_BUSY * (double)d->wall_ns &&
        (double)c->lost_ns < HEALTHY_LOSS * (double)d->wall_ns)
        d->healthy = true;
}

void diag_causes(struct diag *d) {
    choose_regime(d);
    if (d->t->format == TRACE_RIDGE) {
        ridge_causes(d);
        choose_verdict(d);
        return;
    }
    if (d->dev_n) {
        small_kernels(d);
        dispatch(d);
        sync_cause(d);
        transfers(d);
    }
    if (d->t->format != TRACE_SNAPSHOT && d->wall_ns) host_causes(d);
    if (d->dev_n) {
        memory_traffic(d);
        layout(d);
        shapes(d);
        occupancy(d);
        graph_opaque(d);
    }
    growth(d);
    choose_verdict(d);
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
