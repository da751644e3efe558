/* capture.c: is the recording fit to judge, and which setting would have recorded more?
 *
 * Problems of the capture come before advice on the program. Each note names what is missing and the
 * exact change that records it. Tests: tests/unit/analyze.c */
#include "analyze/internal.h"

static void note(struct diag *d, const char *id, const char *setting, const char *fmt, ...) RG_FMT(4, 5);
static void note(struct diag *d, const char *id, const char *setting, const char *fmt, ...) {
    char why[400];
    va_list ap;
    va_start(ap, fmt);
    text_vprintf(why, sizeof why, fmt, ap);
    va_end(ap);
    struct note n = {id, arena_strdup(&d->arena, why, strlen(why)), setting};
    vec_push(&d->arena, &d->capture, n);
}

static void reading(struct diag *d) {
    const struct trace *t = d->t;
    if (t->truncated)
        note(d, "truncated", "let the job end, or stop the profiler before it is killed",
             "the file ends early after %.1f MB; %u events were read", (double)t->bytes_read / 1e6, t->n);
    if (t->unfinished)
        note(d, "unfinished", "nothing is missing before that",
             "the recording has no end: the program was killed or crashed, or is still running");
    if (t->missing_records)
        note(d, "missing",
             "make room on the disk, or record fewer steps; the flight recorder keeps the last ones only",
             "%llu records found no room", (unsigned long long)t->missing_records);
    if (t->lost)
        note(d, "lost", "the writer produced broken JSON; newer versions escape names",
             "%llu unreadable pieces were skipped", (unsigned long long)t->lost);
    if (t->dropped)
        note(d, "dropped", t->capped ? "record fewer steps" : "update the profiler",
             "%llu events had no usable time%s", (unsigned long long)t->dropped,
             t->capped ? " or were past the limit" : "");
    if (t->capped && !t->dropped)
        note(d, "capped", "read the .xplane.pb next to it, which is not capped",
             "%u events: JAX cuts this file at a round number without saying so", t->n);
    if (t->logged_drops)
        note(d, "drops", "record fewer steps, or drop with_stack/profile_memory",
             "the profiler says that it dropped records (%llu notices)", (unsigned long long)t->logged_drops);
}

/* What the program that recorded says itself. */
static void told(struct diag *d) {
    const struct trace *t = d->t;
    for (uint32_t i = 0; i < t->notes.n; i++)
        if (t->notes.p[i].todo)
            note(d, "told", trace_str(t, t->notes.p[i].todo), "%s", trace_str(t, t->notes.p[i].what));
}

static bool has_host(const struct trace *t) {
    for (uint32_t i = 0; i < t->n; i++)
        if (t->ev[i].kind >= TK_LAUNCH && t->ev[i].kind != TK_MEM) return true;
    return false;
}

static void settings(struct diag *d) {
    const struct trace *t = d->t;
    uint64_t ops = 0, shaped = 0, mem = 0;
    for (uint32_t i = 0; i < t->n; i++) {
        ops += t->ev[i].kind == TK_OP;
        shaped += t->ev[i].kind == TK_OP && t->ev[i].args;
        mem += t->ev[i].kind == TK_MEM;
    }
    bool torch = t->format == TRACE_TORCH;
    if (!d->dev_n)
        note(d, "no_device",
             torch ? "activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA] if a device was used"
                   : "profile on a machine with a GPU",
             "no device activity was recorded: the time is that of the host's operators");
    if (!has_host(t) && d->dev_n)
        note(d, "no_host",
             torch                        ? "activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]"
             : t->format == TRACE_ROCPROF ? "rocprofv3 --sys-trace"
             : t->format == TRACE_NSYS    ? "nsys profile --trace=cuda,nvtx"
                                          : "host_tracer_level=2",
             "no host activity was recorded: idle time has no cause");
    if (torch && ops && !shaped)
        note(d, "no_shapes", "record_shapes=True",
             "no shapes: FLOPs, bytes, alignment and tile waste cannot be judged");
    if (!d->has_python && ops)
        note(d, "no_stacks", torch ? "with_stack=True" : "python_tracer_level=1",
             "no Python stacks: causes are named by operator, not by line");
    if (torch && !mem)
        note(d, "no_memory", "profile_memory=True", "no memory events: peak and growth cannot be judged");
    if (t->format == TRACE_JAX && d->kernel_count && d->modelled < 0.5)
        note(d, "no_cost", "the .xplane.pb next to it may have them",
             "this file carries no FLOPs or shapes for %.0f%% of kernel time", 100 * (1 - d->modelled));
}

static void fitness(struct diag *d) {
    const struct trace *t = d->t;
    int64_t longest = 0;
    uint32_t which = 0;
    for (uint32_t i = 0; i < t->n; i++) {
        const struct trace_event *e = &t->ev[i];
        bool api = e->kind == TK_API || e->kind == TK_LAUNCH || e->kind == TK_ALLOC;
        /* A copy that takes long is a copy; a long launch or allocation is start-up. */
        if (api && e->dur > longest && !strstr(trace_str(t, e->name), "emcpy") && trace_end(e) > d->w0 &&
            e->t0 < d->w1)
            longest = e->dur, which = e->name;
    }
    if (longest > 100000000)
        note(d, "cold_start", "warm up 3 steps first: schedule(wait=1, warmup=3, active=3)",
             "one %.60s took %.0f ms: the recording holds start-up", trace_str(t, which),
             (double)longest / 1e6);
    else if (d->budget[BUDGET_COMPILE] * 50 > d->wall_ns)
        note(d, "cold_start", "warm up 3 steps first: schedule(wait=1, warmup=3, active=3)",
             "%.1f ms of compiling or loading code lie in the window",
             (double)d->budget[BUDGET_COMPILE] / 1e6);
    if (d->carry_ns * 100 > d->wall_ns && d->dev_n && has_host(t))
        note(d, "carry_over", "torch.cuda.synchronize() before the recording starts",
             "%llu kernels (%.1f ms) were launched before the recording began; they have no operator",
             (unsigned long long)d->carry_count, (double)d->carry_ns / 1e6);
    if (d->unlinked_ns * 100 > d->wall_ns)
        note(d, "unlinked", "record fewer steps; records were dropped",
             "%llu kernels (%.1f ms) in the middle have no launch record",
             (unsigned long long)d->unlinked_count, (double)d->unlinked_ns / 1e6);
    if (d->clock.refused)
        note(d, "clock",
             "record again: the clocks of host and GPU drifted apart; no cause of idle time is named",
             "GPU %d: %u kernels start before their launches, and no shift of its clock mends all of them",
             d->clock.device, d->clock.early);
    else if (d->clock.found)
        note(d, "clock", "nothing: the times were corrected before anything else",
             "the clock of GPU %d was %.0f us %s the host's: %u kernels began before their launches",
             d->clock.device, (double)(d->clock.ns < 0 ? -d->clock.ns : d->clock.ns) / 1e3,
             d->clock.ns > 0 ? "before" : "behind", d->clock.early);
    if (d->no_corr_ns * 100 > d->wall_ns)
        note(d, "no_correlation",
             t->format == TRACE_TORCH
                 ? "record CUDA activities with the CPU ones, and do not strip args.correlation"
                 : "keep the correlation ids of the capture",
             "%llu of %llu kernels (%.1f ms) have no correlation id: they cannot be tied to the calls that "
             "launched them",
             (unsigned long long)d->no_corr_count, (unsigned long long)d->kernel_count,
             (double)d->no_corr_ns / 1e6);
    int64_t idle = d->wall_ns - d->busy_ns;
    if (d->has_python && !d->cpu && idle * 4 > d->wall_ns)
        note(d, "profiler_cost",
             t->format == TRACE_TORCH ? "record again with with_stack=False and compare the step time"
                                      : "record again with python_tracer_level=0 and compare the step time",
             "Python stacks were on and slow the host: its share is less without them");
    if (t->world > 1)
        note(d, "one_rank", "compare the traces of all ranks",
             "rank %d of %d: waiting for peers and transfer cannot be distinguished", t->rank, t->world);
    if (d->dev_n && !(d->gpu && d->gpu->bw > 0))
        note(d, "unknown_gpu", "ridge diagnose --device NAME",
             *d->device_name ? "no roof is known for \"%s\""
                             : "the file does not name the GPU%s: no roof is known",
             d->device_name);
    if (d->graph_ns * 20 > d->wall_ns)
        note(d, "graph", "also record one step without graphs; its operators carry over by kernel order",
             "%.0f%% of kernel time is graph replay: no operators, no shapes, no lines",
             100.0 * (double)d->graph_ns / (double)RG_MAX(d->busy_ns, 1));
}

void diag_capture(struct diag *d) {
    reading(d);
    told(d);
    if (d->t->own_export)
        note(d, "own_export", "ridge report FILE.profile",
             "written by `ridge report --trace` for other tools; causes are judged from the profile itself");
    if (d->t->format == TRACE_NCU)
        note(d, "no_timeline", "nsys profile, for the time between kernels",
             "each kernel was measured alone and several times over: there is no timeline, and no idle time");
    if (d->t->format == TRACE_SNAPSHOT || d->t->format == TRACE_RIDGE || d->t->own_export) return;
    if (d->t->format == TRACE_NCU) return;
    fitness(d);
    settings(d);
}
