/* timing.c: how long kernels take, by two events in the stream.
 *
 * A kernel that is launched into an empty stream begins some microseconds after the event before it: the time counts the host's
 * launch. A launch that is timed alone therefore comes after a kernel that does nothing for 20 us, and what two events around an
 * empty kernel show is subtracted (H200: 2.8 us). What is left is the time from its first to its last instruction, which CUPTI's
 * records of an H200 exceed by 0.3 us. While a profile is recorded there is no delay: it would be in it.
 * Tests: tests/unit/cuda_fake.c, tests/unit/cuda.c (need a GPU) */
#include "device/cuda/internal.h"
#include "event/event.h"

#include <time.h>

static const char delay_text[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                                 ".visible .entry ridge_delay(.param .u64 cycles)\n"
                                 "{\n.reg .u64 %a<4>;\n.reg .pred %p;\n"
                                 "ld.param.u64 %a0, [cycles];\nmov.u64 %a1, %clock64;\n"
                                 "again: mov.u64 %a2, %clock64;\nsub.u64 %a3, %a2, %a1;\n"
                                 "setp.lt.u64 %p, %a3, %a0;\n@%p bra again;\nret;\n}\n";

/* Waits for the timed kernels, but no longer than the limit: a hung kernel takes the GPU with it. */
static int wait_for_end(struct cuda_device *d, struct err *e, uint64_t limit) {
    enum { NOT_READY = 600 };
    if (!limit) {
        CUDA_TRY(d->cu->event_wait(d->end), "running a kernel");
        return 0;
    }
    uint64_t t0 = os_now_ns(), waited = 0;
    int code;
    while ((code = d->cu->event_query(d->end)) == NOT_READY && (waited = os_now_ns() - t0) < limit)
        if (waited > 2000000) nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
    if (code != NOT_READY) {
        CUDA_TRY(code, "running a kernel");
        return 0;
    }
    d->lost = d->hung = true;
    text_printf(d->why, sizeof d->why, "a kernel was not done after %.1f s", (double)waited * 1e-9);
    return err_set(e, RG_EDEVICE, "%s was lost: %s; start the process anew to use CUDA", d->info.name,
                   d->why);
}

int cuda_span(struct device *dev, struct err *e, uint64_t *ns, uint64_t limit) {
    struct cuda_device *d = cuda_of(dev);
    float ms = 0;
    if (cuda_enter(d, e)) return e->code;
    CUDA_TRY(d->cu->event_record(ns ? d->end : d->begin, d->stream), "timing a kernel");
    if (!ns) return 0;
    if (wait_for_end(d, e, limit)) return e->code;
    CUDA_TRY(d->cu->event_between(&ms, d->begin, d->end), "timing a kernel");
    *ns = (uint64_t)(ms * 1e6f);
    return 0;
}

#define DELAY_CYCLES 40000 /* 20 us at 2 GHz; a launch takes 3 */

static int start_delay(struct cuda_device *d, uint64_t cycles) {
    return d->cu->launch(d->delay.fn, 1, 1, 1, 1, 1, 1, 0, d->stream, (void *[]){&cycles}, NULL);
}

/* What two events around a kernel that does nothing show. */
static bool measure_empty(struct cuda_device *d, uint64_t limit) {
    struct err ignore = {0};
    uint64_t ns = 0;
    d->delay.empty_ns = UINT64_MAX;
    for (int i = 0; i < 3; i++) {
        if (start_delay(d, DELAY_CYCLES) || cuda_span(&d->dev, &ignore, NULL, 0) || start_delay(d, 0) ||
            cuda_span(&d->dev, &ignore, &ns, limit))
            return false;
        d->delay.empty_ns = RG_MIN(d->delay.empty_ns, ns);
    }
    return true;
}

static bool load_delay(struct cuda_device *d, uint64_t limit) {
    if (!d->delay.tried) {
        d->delay.tried = true;
        if (d->cu->load(&d->delay.module, delay_text)) d->delay.module = NULL;
        d->delay.ready = d->delay.module && !d->cu->function(&d->delay.fn, d->delay.module, "ridge_delay") &&
                         measure_empty(d, limit);
    }
    return d->delay.ready;
}

/* Empty kernels, one behind another, queued while the stream is busy. */
uint64_t cuda_turnaround(struct cuda_device *d) {
    enum { KERNELS = 32, TRIES = 3 };
    struct err ignore = {0};
    uint64_t least = UINT64_MAX, ns = 0;
    if (cuda_enter(d, &ignore) || !load_delay(d, 0)) return 0;
    for (int i = 0; i < TRIES; i++) {
        int bad = start_delay(d, KERNELS / 2 * DELAY_CYCLES) || cuda_span(&d->dev, &ignore, NULL, 0);
        for (int k = 0; k < KERNELS && !bad; k++) bad = start_delay(d, 0);
        if (bad || cuda_span(&d->dev, &ignore, &ns, 0)) return 0;
        least = RG_MIN(least, ns);
    }
    return least / KERNELS;
}

/* A chain of empty kernels, ready to launch. */
static int empty_graph(struct cuda_device *d, uint32_t kernels, cu_graph *g, cu_exec *x) {
    uint64_t cycles = 0;
    cu_node last = NULL, node = NULL;
    struct cu_kernel_node p = {.fn = d->delay.fn,
                               .blocks = 1,
                               .blocks_y = 1,
                               .blocks_z = 1,
                               .threads = 1,
                               .threads_y = 1,
                               .threads_z = 1,
                               .params = (void *[]){&cycles}};
    int code = d->cu->graph_new(g, 0);
    for (uint32_t i = 0; i < kernels && !code; i++, last = node)
        code = d->cu->graph_kernel(&node, *g, &last, i > 0, &p);
    return code ? code : d->cu->graph_ready(x, *g, 0);
}

/* The first launch uploads the graph. */
uint64_t cuda_graph_launch_ns(struct cuda_device *d) {
    enum { KERNELS = 32, TRIES = 5 };
    struct err ignore = {0};
    uint64_t least = UINT64_MAX;
    cu_graph g = NULL;
    cu_exec x = NULL;
    if (cuda_enter(d, &ignore) || !load_delay(d, 0)) return 0;
    int code = empty_graph(d, KERNELS, &g, &x);
    for (int i = 0; i < TRIES && !code; i++) {
        uint64_t t0 = os_now_ns();
        code = d->cu->graph_launch(x, d->stream);
        if (i) least = RG_MIN(least, os_now_ns() - t0);
        if (!code) code = d->cu->stream_wait(d->stream);
    }
    if (x) d->cu->graph_drop(x);
    if (g) d->cu->graph_free(g);
    return code ? 0 : least / KERNELS;
}

bool cuda_delay(struct cuda_device *d, uint64_t limit) {
    if (event_recording()) return false;
    if (load_delay(d, limit)) d->delay.ready = !start_delay(d, DELAY_CYCLES);
    return d->delay.ready;
}
