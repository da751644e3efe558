/* gpu_time.c: how long a kernel will take on a GPU, from what one of its blocks does, for ranking forms of it.
 *
 * A block is busy as long as its busiest unit: MMA instructions, FMAs, shared memory, what comes from L2,
 * instructions issued, special functions. It cannot be faster than its chain of waits: the ring is filled once, then each
 * step waits for the copies of so many steps before it, then results are stored. As many blocks run side by side on a
 * SM as registers, shared memory and threads allow, and share its units; waits of one are hidden by the work
 * of the others. Blocks beyond that come in waves, and the last wave takes as long as its fullest SM.
 * Memory is a bound of its own: blocks that run at the same time share the rows and columns that they read.
 * Rates are the machine model's; what it has no field for stands here, measured on an H200 (docs/measurements/2026-11-16-h200-notes.md).
 * Tests: tests/unit/tune_gpu.c (hand counts; order of measured forms) */
#include "tune/tune.h"

#include <math.h>

enum { WARP_SIZE = 32, MOST_REGISTERS = 255 }; /* registers: of a thread */

int predict_gpu_resident(const struct gpu_work *w, const struct gpu_spec *g) {
    int registers = RG_MIN((w->registers + 7) / 8 * 8, MOST_REGISTERS), n = g->blocks_sm;
    int threads = (w->threads + 31) / 32 * 32;
    n = RG_MIN(n, g->max_threads_sm / RG_MAX(threads, WARP_SIZE));
    n = RG_MIN(n, g->regs_sm / RG_MAX(registers * threads, 1));
    n = RG_MIN(n, g->smem_sm / RG_MAX(w->shared + g->smem_reserved, 1));
    return RG_MAX(n, 1);
}

/* Epilogue: low occupancy exposes latency, so IPC is well below 1 per scheduler, lower still with ping-pong consumers. */
static double store_clocks(const struct gpu_work *w) {
    double rate =
        w->fma > 0 || w->steps <= 1 ? gpu_cost.store_rate_vec : gpu_cost.store_rate[RG_MIN(w->panels, 2)];
    double met = w->sent > 0 ? gpu_cost.cluster_sync + w->sent / gpu_cost.dsmem_rate : 0;
    return w->out / rate +
           w->finish * (w->teams == 2 ? gpu_cost.epilogue_cpi_pingpong : gpu_cost.epilogue_cpi) + met;
}

/* Stalls of a K step that co-resident blocks hide; wgmma is asynchronous and has none. */
static double meet_clocks(const struct gpu_work *w) {
    return w->steps <= 1         ? 0
           : w->fma > 0          ? gpu_cost.fma_stall
           : w->matrix_share < 1 ? gpu_cost.mma_sync_stall
                                 : 0;
}

/* p-norm of the unit times: units overlap, imperfectly. */
static double together(const double *part, size_t n) {
    double most = 0, sum = 0;
    for (size_t i = 0; i < n; i++) most = RG_MAX(most, part[i]);
    if (most <= 0) return 0;
    for (size_t i = 0; i < n; i++) sum += pow(part[i] / most, gpu_cost.overlap_norm);
    return most * pow(sum, 1 / gpu_cost.overlap_norm);
}

/* Clocks of a SM that does nothing but this block. Barriers and waits of a step hold up all that its threads do; if a warp
 * of its own copies, only the MMA instructions: copies go on. */
static double busy_clocks(const struct gpu_work *w, const struct model *m) {
    double waits = w->steps * (w->teams > 0 ? gpu_cost.step_cycles_specialized : gpu_cost.step_cycles);
    double part[] = {w->matrix /
                             (model_value(m, MODEL_MATRIX_BF16) * w->matrix_share * gpu_cost.tensor_peak) +
                         (w->teams > 0 ? waits : 0),
                     w->fma * 2 / (model_value(m, MODEL_FLOPS_F32) * gpu_cost.fma_peak),
                     w->shared_bytes / 128,
                     (w->fill - w->own) / gpu_cost.l2_rate_shared + w->own / gpu_cost.l2_rate_private,
                     w->issue / 4,
                     w->special / 16};
    return together(part, RG_COUNT(part)) + (w->teams > 0 ? 0 : waits) +
           gpu_cost.transpose_exposed * w->turned;
}

/* Clocks until `side` blocks that run beside each other on a SM are done. Of the last there are no others that hide
 * how they begin and store. */
static double wave_clocks(const struct gpu_work *w, double busy, double side, bool last) {
    double store = store_clocks(w), steps = RG_MAX(w->steps, 1), warps = ceil(w->threads / 32.0);
    double step = RG_MAX(busy, w->issue / (warps * gpu_cost.warp_ipc)) / steps + meet_clocks(w);
    double alone =
        gpu_cost.load_latency + steps * RG_MAX(step, gpu_cost.load_latency / RG_MAX(w->ahead, 1)) + store;
    double all = side * (busy + w->finish / 4 + gpu_cost.store_exposed * store);
    return RG_MAX(alone, all + (last ? gpu_cost.load_latency + store : 0));
}

/* Blocks that come and go, in waves. */
static double waves_clocks(const struct gpu_work *w, double busy, double units, double resident) {
    double waves = floor(w->blocks / (units * resident)), left = w->blocks - waves * units * resident;
    if (left <= 0) waves--, left = units * resident;
    return waves * wave_clocks(w, busy, resident, false) + wave_clocks(w, busy, ceil(left / units), true);
}

/* Blocks that stay: copies for the next tile go on while one is stored; of two teams one computes while the other stores. */
static double walk_clocks(const struct gpu_work *w, double busy) {
    double tiles = ceil(w->blocks / w->walk), store = store_clocks(w), steps = RG_MAX(w->steps, 1);
    double waits = steps * gpu_cost.load_latency / RG_MAX(w->ahead, 1);
    if (w->teams == 2) waits -= RG_MAX(store - busy, 0); /* nobody computes: the ring is filled meanwhile */
    double compute = RG_MAX(busy, waits), each = compute + store;
    if (w->teams == 2) each = RG_MAX(compute, each / 2) + store / (2 * RG_MAX(w->panels, 1));
    /* blocks of one team store their first tiles all at once: measured, that is felt like a second wait for the ring */
    double again = w->teams != 2 && tiles > 1 ? gpu_cost.load_latency : 0;
    return gpu_cost.load_latency + again + tiles * each + (w->teams == 2 ? store : 0);
}

double predict_gpu(const struct gpu_work *w, const struct gpu_spec *g, const struct model *m) {
    double units = model_value(m, MODEL_CORES), clock = model_value(m, MODEL_CLOCK) * 1e9;
    double busy = busy_clocks(w, m), resident = predict_gpu_resident(w, g);
    double seconds = (w->walk ? walk_clocks(w, busy) : waves_clocks(w, busy, units, resident)) / clock;
    double full = w->flight > 0 ? RG_MIN(resident * w->threads * w->flight / gpu_cost.bytes_in_flight, 1) : 1;
    double memory =
        w->dram / (model_value(m, MODEL_DRAM_READ) * 1e9 * gpu_cost.dram_peak * RG_MAX(full, 0.02));
    return together((double[]){seconds, memory}, 2) + gpu_cost.launch_seconds;
}
