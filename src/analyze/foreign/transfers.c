/* transfers.c: copies between host and device, copies on the device, and stalls in the driver's allocator.
 *
 * Gains are bounded by what remains when the cause is gone: bytes of pageable memory still have to cross the link, and exposed
 * copies can at best hide behind everything else, or everything else behind them. Tests: tests/unit/foreign.c */
#include "analyze/internal.h"

enum { DEFAULT_LINK = 25 }; /* GB/s of PCIe 4 x16, where the GPU is not known */

static bool is_jax(const struct diag *d) { return d->t->format == TRACE_JAX || d->t->format == TRACE_XPLANE; }

struct copy_sum { /* of all copies of pageable memory, or of pinned */
    int64_t bytes, ns;
    uint32_t n;
    uint32_t where_ev; /* 1 + the first copy */
};

static void sum_copies(const struct diag *d, struct copy_sum s[2]) {
    const struct trace *t = d->t;
    for (uint32_t i = 0; i < d->dev_n; i++) {
        const struct trace_event *e = &t->ev[d->dev[i]];
        if (e->kind != TK_COPY || e->flags & TF_D2D) continue;
        const struct trace_copy_args *c = trace_blob(t, e->args, sizeof *c);
        struct copy_sum *x = &s[!(e->flags & TF_PAGEABLE)];
        x->bytes += c ? c->bytes : 0;
        x->ns += e->dur;
        x->n++;
        if (!x->where_ev) x->where_ev = d->dev[i] + 1;
    }
}

static const char *where_of(struct diag *d, const struct copy_sum *s, int budget) {
    const char *where = cause_line(d, budget);
    if (*where || !s->where_ev) return where;
    const struct trace_event *e = &d->t->ev[s->where_ev - 1];
    uint32_t line = user_line(d, e->link);
    return trace_str(d->t, line ? line : e->aux ? d->t->ev[e->aux - 1].name : e->name);
}

static const struct device_row *row_of(const struct diag *d) {
    for (uint32_t i = 0; i < d->devices.n; i++)
        if (d->devices.p[i].device == d->device) return &d->devices.p[i];
    return NULL;
}

static void exposed(struct diag *d, const struct copy_sum *s) {
    int64_t lost = d->budget[BUDGET_EXPOSED];
    const struct device_row *r = row_of(d);
    if (!cause_worth(d, lost) || !r) return;
    /* Overlapped, copies of one direction take as long as before: they or all else are the floor. */
    int64_t floor_ns = RG_MAX(r->in_ns, r->out_ns), gain = RG_MIN(lost, RG_MAX(d->wall_ns - floor_ns, 0));
    double hidden = r->copy_ns ? 100.0 * (double)r->copy_under_compute / (double)r->copy_ns : 0;
    const char *sig = arena_printf(
        &d->arena,
        "%u copies of %.1f MB in all at %.1f GB/s; %.1f of %.1f ms with nothing computed, %.0f%% overlapped",
        s->n, (double)s->bytes / 1e6, s->ns ? (double)s->bytes / (double)s->ns : 0.0, (double)lost / 1e6,
        (double)r->copy_ns / 1e6, hidden);
    struct cause *c = cause_add(
        d, CAUSE_EXPOSED, lost, gain, where_of(d, s, BUDGET_EXPOSED), sig,
        gain * 2 < lost ? "copy less: keep data on the device, smaller types, decode there; the copies alone "
                          "take most of the time, so overlap hides little"
        : is_jax(d)     ? "jax.device_put the next batch before the step that needs it"
                        : "copy the next batch on a second stream while this one computes "
                          "(prefetch; .to(\"cuda\", non_blocking=True))");
    c->bound = gain < lost
                   ? arena_printf(&d->arena, "the copies alone take %.1f ms, which no overlap removes",
                                  (double)floor_ns / 1e6)
                   : "all of it can hide behind the kernels";
}

static void pageable(struct diag *d, const struct copy_sum *s) {
    int64_t lost = d->budget[BUDGET_PAGEABLE];
    if (!cause_worth(d, lost)) return;
    double link = d->gpu && d->gpu->link > 0 ? d->gpu->link : DEFAULT_LINK;
    int64_t floor_ns = RG_MIN((int64_t)((double)s->bytes / link), lost);
    const char *sig = arena_printf(
        &d->arena,
        "%u copies of %.1f MB in all at %.1f GB/s (pinned memory reaches about %.0f); the GPU computes "
        "nothing meanwhile",
        s->n, (double)s->bytes / 1e6, s->ns ? (double)s->bytes / (double)s->ns : 0.0, link);
    struct cause *c =
        cause_add(d, CAUSE_PAGEABLE, lost, lost - floor_ns, where_of(d, s, BUDGET_PAGEABLE), sig,
                  is_jax(d) ? "keep the data on the device; device_put one batch ahead"
                            : "DataLoader(..., pin_memory=True) or x.pin_memory(), then "
                              ".to(\"cuda\", non_blocking=True)");
    c->bound = arena_printf(&d->arena, "the bytes still take %.1f ms at the link's pinned rate",
                            (double)floor_ns / 1e6);
}

static void on_device(struct diag *d) {
    int64_t lost = d->budget[BUDGET_DEVCOPY], bytes = 0;
    uint32_t n = 0, where = 0;
    if (!cause_worth(d, lost)) return;
    for (uint32_t i = 0; i < d->dev_n; i++) {
        const struct trace_event *e = &d->t->ev[d->dev[i]];
        const struct trace_copy_args *c = trace_blob(d->t, e->args, sizeof *c);
        if (e->kind != TK_COPY || !(e->flags & TF_D2D)) continue;
        n++, bytes += c ? c->bytes : 0;
        if (!where) where = e->link ? user_line(d, e->link) : 0;
        if (!where && e->aux) where = d->t->ev[e->aux - 1].name;
    }
    struct cause *c = cause_add(
        d, CAUSE_DEVCOPY, lost, lost, trace_str(d->t, where),
        arena_printf(&d->arena, "%u copies on the device of %.1f MB in all, while it computes nothing", n,
                     (double)bytes / 1e6),
        is_jax(d) ? "donate buffers (donate_argnums) so that results may take the place of arguments"
                  : "work in place or into a preallocated result (out=, index_copy_) instead of clone, cat "
                    "or copy_");
    c->bound = "their own time";
}

void transfer_causes(struct diag *d) {
    struct copy_sum s[2] = {0};
    sum_copies(d, s);
    pageable(d, &s[0]);
    exposed(d, &s[1]);
    on_device(d);
}

/* ---- the driver's allocator --------------------------------------------------------------------------- */

void allocator_cause(struct diag *d) {
    int64_t lost = d->budget[BUDGET_ALLOC], inside = 0;
    uint32_t taken = 0, freed = 0, pinned = 0;
    if (!cause_worth(d, lost)) return;
    for (uint32_t i = 0; i < d->t->n; i++) {
        const struct trace_event *e = &d->t->ev[i];
        if (e->kind != TK_ALLOC || e->t0 >= d->w1 || trace_end(e) <= d->w0) continue;
        const char *name = trace_str(d->t, e->name);
        bool host = strstr(name, "Host") != NULL, gone = strstr(name, "Free") != NULL;
        inside += e->dur;
        *(host ? &pinned : gone ? &freed : &taken) += 1;
    }
    const char *sig = arena_printf(&d->arena,
                                   "%u allocations and %u releases of device memory, %u of pinned memory by "
                                   "the driver: %.1f ms in the calls",
                                   taken, freed, pinned, (double)inside / 1e6);
    struct cause *c = cause_add(
        d, CAUSE_ALLOC, lost, lost, cause_line(d, BUDGET_ALLOC), sig,
        pinned > taken + freed ? "allocate pinned buffers once and reuse them; pin_memory() in the step asks "
                                 "the driver each time"
        : freed ? "no torch.cuda.empty_cache() in the step; leave head room, so that cached blocks are not "
                  "given back "
                  "and asked for again; PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"
                : "let sizes repeat (pad or bucket) so that the caching allocator has the block already; "
                  "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True");
    c->bound = "the idle time that lies in those calls, or follows from the lead they cost";
}
