/* facts.c: what a program of another framework does, as far as advice depends on it.
 *
 * Waits are counted once, however many calls are nested in one; those that bring a value to the host make the capture of a CUDA
 * graph impossible; kernels that a compiler made already need no advice to compile. Tests: tests/unit/foreign.c */
#include "analyze/internal.h"

bool waits_in_wait(const struct trace *t, const struct trace_event *e) {
    for (uint32_t x = e->link, k = 0; x && k < 64; x = t->ev[x - 1].link, k++)
        if (t->ev[x - 1].kind == TK_SYNC) return true;
    return false;
}

/* A value that decides what the host does next: no graph can be captured around it. */
static bool reads_value(const char *name) {
    static const char *const ops[] = {"aten::item",    "aten::_local_scalar_dense", "aten::is_nonzero",
                                      "aten::nonzero", "aten::masked_select",       "aten::unique"};
    for (size_t i = 0; i < RG_COUNT(ops); i++)
        if (!strncmp(name, ops[i], strlen(ops[i]))) return true;
    return false;
}

/* A plain C identifier launched through the driver, none of a library's: a kernel that the user wrote in Triton. */
static bool plain_driver_kernel(const struct trace *t, const struct trace_event *e) {
    const char *name = trace_str(t, e->name);
    if (!e->link || strncmp(trace_str(t, t->ev[e->link - 1].name), "cuLaunch", 8)) return false;
    static const char *const library[] = {"nvjet", "cutlass", "cudnn",  "cublas", "gemm",  "xmma",
                                          "sm80_", "sm90_",   "sm100_", "ampere", "volta", "nccl"};
    for (size_t i = 0; i < RG_COUNT(library); i++)
        if (strstr(name, library[i])) return false;
    return !strpbrk(name, ":<( ") && *name;
}

bool made_by_triton(const struct trace *t, const struct trace_event *e) {
    return strstr(trace_str(t, e->name), "triton") || plain_driver_kernel(t, e);
}

static bool in_window(const struct diag *d, const struct trace_event *e) {
    return e->t0 < d->w1 && trace_end(e) > d->w0;
}

struct diag_facts diag_facts(struct diag *d) {
    struct trace *t = d->t;
    struct diag_facts f = {0};
    int64_t kernels = 0, triton = 0;
    for (uint32_t i = 0; i < t->n; i++) {
        const struct trace_event *e = &t->ev[i];
        bool host = t->lanes.p[e->lane].kind == LANE_HOST;
        if (!host || e->kind == TK_MEM || !in_window(d, e)) continue;
        const char *name = trace_str(t, e->name);
        bool wait = e->kind == TK_SYNC && !waits_in_wait(t, e);
        bool item = e->kind == TK_SYNC && reads_value(name);
        if (wait) f.waits++;
        if (item && !waits_in_wait(t, e)) {
            f.items++;
            if (!f.item_ev) f.item_ev = i + 1;
        }
    }
    for (uint32_t i = 0; i < d->dev_n; i++) {
        const struct trace_event *e = &t->ev[d->dev[i]];
        if (e->kind != TK_KERNEL) continue;
        kernels += e->dur;
        if (made_by_triton(t, e)) triton += e->dur, f.triton_kernels++;
    }
    f.triton = kernels ? (double)triton / (double)kernels : 0;
    if (d->kernel_count && f.triton_kernels * 2 > d->kernel_count) f.compiled = true;
    f.compiled |= f.triton > 0.5;
    return f;
}
