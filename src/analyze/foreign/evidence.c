/* evidence.c: what each advice rests on, beyond its signal: why its gain is no more, and which measurement would confirm it.
 *
 * A row for every cause of a trace of another framework; what a cause says itself has precedence.
 * Tests: tests/unit/foreign.c */
#include "analyze/internal.h"

/* clang-format off */
static const struct {
    int id;
    const char *bound, *confirm;
} evidence[] = {
    {CAUSE_SMALL,        "the idle time before those launches; kernels themselves stay",
                         "time the step without the profiler, then with the step captured or compiled"},
    {CAUSE_DISPATCH,     "the idle time before late launches; kernels themselves stay",
                         "a larger batch: if the step's time hardly changes, the host is the limit"},
    {CAUSE_SYNC,         "the idle time from each wait until the host is ahead again",
                         "take the wait out (or do it every 100 steps) and time the steps"},
    {CAUSE_PAGEABLE,     "the time of the copies beyond the link's pinned rate",
                         "pin the tensor once, outside of the loop, and time the copy"},
    {CAUSE_EXPOSED,      "copies that could hide behind kernels", "reuse one batch on the device: the step is faster by the gain, or less"},
    {CAUSE_LOADER,       "the idle time inside the loader; it cannot be less than one batch loaded in as many workers as cores",
                         "reuse one batch in memory: the step is faster by the gain"},
    {CAUSE_USER,         "the idle time in that code", "leave that code out and time the steps"},
    {CAUSE_COMPILE,      "the time spent compiling or loading in the window", "record again after more warm-up steps"},
    {CAUSE_TRAFFIC,      "bytes written and read again, at the bandwidth those kernels reach",
                         "torch.compile the chain alone and time it; in a chain of equal kernels one remains"},
    {CAUSE_PRECISION,    "the same arithmetic at 60% of the faster unit's peak, or the least bytes at 80% of the bandwidth",
                         "time the largest product alone in both types"},
    {CAUSE_LAYOUT,       "the time of those kernels", "run the layer with inputs and weights in the layout it wants"},
    {CAUSE_ALIGNMENT,    "against 70% of the roof, which aligned products reach",
                         "time the product alone with padded sizes (`ridge shape M N K` names them)"},
    {CAUSE_QUANTISATION, "the slots of the last wave that stay empty", "time the product alone with the sizes of `ridge shape M N K`"},
    {CAUSE_OCCUPANCY,    "the share of the GPU that the grid leaves empty", "the kernel's time with twice the batch: it hardly changes"},
    {CAUSE_GROWTH,       "the stalls of the allocator; it costs the program when memory is full",
                         "torch.cuda.memory_allocated() after each step: it must not rise"},
    {CAUSE_COMM,         "the time of collectives that nothing hides; waiting for a late rank is part of it",
                         "give the traces of all ranks: `ridge diagnose RANK0 RANK1 ..`"},
    {CAUSE_ALLOC,        "the idle time in those calls", "torch.cuda.memory_stats()[\"num_device_alloc\"] must not rise after warm-up"},
    {CAUSE_DEVCOPY,      "their own time", "leave the copy out, or time the step with it twice"},
    {CAUSE_SHARED,       "the time that launched kernels wait for on an idle GPU", "record again while nothing else runs on the GPU"},
    {CAUSE_IDLE_GPUS,    "all GPUs share the work evenly and lose nothing to communication",
                         "nvidia-smi during the run; run with as many processes as GPUs and compare samples a second"},
};
/* clang-format on */

/* What to do in a program that is written in CUDA itself. */
static const struct {
    int id;
    const char *fix;
} plain[] = {
    {CAUSE_SMALL, "capture the loop as a CUDA graph (cudaStreamBeginCapture), or fuse the kernels"},
    {CAUSE_DISPATCH,
     "launch earlier and more at once: a CUDA graph, larger kernels, a thread that only launches"},
    {CAUSE_SYNC,
     "fewer cudaDeviceSynchronize, cudaStreamSynchronize and cudaMemcpy: cudaMemcpyAsync, events, streams"},
    {CAUSE_PAGEABLE, "cudaHostAlloc or cudaHostRegister the buffers, then cudaMemcpyAsync"},
    {CAUSE_EXPOSED, "cudaMemcpyAsync on a second stream while kernels run (two buffers in turns)"},
    {CAUSE_ALLOC, "allocate once, or cudaMallocAsync with a pool that keeps its memory"},
    {CAUSE_DEVCOPY, "exchange pointers instead of copying; let the kernel write where the next one reads"},
    {CAUSE_LAYOUT, "keep one layout through the program; transpose inside the kernel that reads"},
    {CAUSE_TRAFFIC, "fuse the kernels of the chain: read and write once"},
    {CAUSE_COMM,
     "nonblocking calls and computing meanwhile; fewer and larger messages; CUDA-aware MPI or NCCL"},
};

/* HIP's calls are CUDA's by another name. */
static const char *in_hip_words(struct diag *d, const char *text) {
    char *out = arena_raw(&d->arena, strlen(text) + 1), *o = out;
    while (*text) {
        bool cuda = !strncmp(text, "cuda", 4);
        if (cuda)
            memcpy(o, "hip", 3), o += 3, text += 4;
        else
            *o++ = *text++;
    }
    *o = 0;
    return out;
}

void diag_evidence(struct diag *d) {
    bool hip = d->t->format == TRACE_ROCPROF, no_framework = hip || d->t->format == TRACE_NSYS;
    for (uint32_t i = 0; i < d->causes.n; i++) {
        struct cause *c = &d->causes.p[i];
        for (size_t k = 0; k < RG_COUNT(plain) && no_framework; k++)
            if (plain[k].id == c->id) c->fix = hip ? in_hip_words(d, plain[k].fix) : plain[k].fix;
        for (size_t k = 0; k < RG_COUNT(evidence); k++) {
            if (evidence[k].id != c->id || c->note) continue;
            if (!c->bound) c->bound = evidence[k].bound;
            if (!c->confirm) c->confirm = evidence[k].confirm;
        }
    }
}
