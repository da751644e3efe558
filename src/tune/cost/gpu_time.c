/* gpu_time.c: predicted time of a GPU kernel from the work of one of its blocks, to rank configs.
 *
 * A block is busy as long as its busiest unit: tensor cores, FMA, shared memory, L2, issue, special functions. Its latency
 * chain is a lower bound: fill the pipeline, then per step wait for a load issued some steps before, then the epilogue.
 * Blocks that are co-resident on an SM (registers, shared memory, threads) share its units and hide each other's stalls.
 * Further blocks come in waves; the last wave takes as long as its fullest SM. DRAM is a bound of its own.
 * Rates are the machine model's; fitted constants: src/model/gpu_cost.c. Formula and error: docs/internals/cost-model.md.
 * Tests: tests/unit/tune_gpu.c (hand counts; order of measured configs) */
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
    double rate = w->fma > 0 || w->steps <= 1 ? gpu_cost.store_rate_vec
                                              : gpu_cost.store_rate[RG_MIN(w->epilogue_buffers, 2)];
    double exchange = w->dsmem > 0 ? gpu_cost.cluster_sync + w->dsmem / gpu_cost.dsmem_rate : 0;
    return w->out / rate + w->refills * gpu_cost.load_latency +
           w->epilogue * (w->consumers == 2 ? gpu_cost.epilogue_cpi_pingpong : gpu_cost.epilogue_cpi) +
           exchange;
}

/* Stalls of a K step that co-resident blocks hide; wgmma is asynchronous and has none. */
static double stall_clocks(const struct gpu_work *w) {
    return w->steps <= 1     ? 0
           : w->fma > 0      ? gpu_cost.fma_stall
           : w->mma_peak < 1 ? gpu_cost.mma_sync_stall
                             : 0;
}

/* p-norm of the unit times: units overlap, imperfectly. */
static double p_norm(const double *part, size_t n) {
    double most = 0, sum = 0;
    for (size_t i = 0; i < n; i++) most = RG_MAX(most, part[i]);
    if (most <= 0) return 0;
    for (size_t i = 0; i < n; i++) sum += pow(part[i] / most, gpu_cost.overlap_norm);
    return most * pow(sum, 1 / gpu_cost.overlap_norm);
}

/* Cycles of an SM that runs this block alone. Barriers and waits of a step stall all its threads; if it is warp-specialized, the
 * consumers alone. */
static double busy_clocks(const struct gpu_work *w, const struct gpu_spec *g, const struct model *m) {
    double waits = w->steps * (w->consumers > 0 ? gpu_cost.step_cycles_specialized : gpu_cost.step_cycles);
    double part[] = {
        w->mma / (model_value(m, MODEL_MATRIX_BF16) * w->mma_peak * gpu_cost.tensor_peak) +
            (w->consumers > 0 ? waits : 0),
        w->fma * 2 / (model_value(m, MODEL_FLOPS_F32) * gpu_cost.fma_peak),
        w->shared_bytes / 128,
        ((w->fill - w->private_fill) / gpu_cost.l2_rate_shared + w->private_fill / gpu_cost.l2_rate_private) /
            gpu_l2_scale(g),
        w->issue / 4,
        w->special / 16};
    return p_norm(part, RG_COUNT(part)) + (w->consumers > 0 ? 0 : waits) +
           gpu_cost.transpose_exposed * w->transposed;
}

/* Cycles of `side` co-resident blocks. Nothing hides the prologue and epilogue of the last ones. */
static double wave_clocks(const struct gpu_work *w, double busy, double side, bool last) {
    double store = store_clocks(w), steps = RG_MAX(w->steps, 1), warps = ceil(w->threads / 32.0);
    double step = RG_MAX(busy, w->issue / (warps * gpu_cost.warp_ipc)) / steps + stall_clocks(w);
    double alone = gpu_cost.load_latency + steps * RG_MAX(step, gpu_cost.load_latency / RG_MAX(w->ahead, 1)) +
                   store + w->chain;
    double all = side * (busy + w->epilogue / 4 + gpu_cost.store_exposed * store);
    return RG_MAX(alone, all + (last ? gpu_cost.load_latency + store : 0));
}

/* Not persistent: waves of blocks. */
static double waves_clocks(const struct gpu_work *w, double busy, double units, double resident) {
    double waves = floor(w->blocks / (units * resident)), left = w->blocks - waves * units * resident;
    if (left <= 0) waves--, left = units * resident;
    return waves * wave_clocks(w, busy, resident, false) + wave_clocks(w, busy, ceil(left / units), true);
}

/* Persistent: the next tile is loaded during the epilogue; ping-pong overlaps the epilogue with the other consumer's math. */
static double persistent_clocks(const struct gpu_work *w, double busy) {
    double tiles = ceil(w->blocks / w->persistent), store = store_clocks(w), steps = RG_MAX(w->steps, 1);
    double waits = steps * gpu_cost.load_latency / RG_MAX(w->ahead, 1);
    if (w->consumers == 2) waits -= RG_MAX(store - busy, 0); /* no consumer computes: the pipeline fills */
    double compute = RG_MAX(busy, waits), each = compute + store;
    if (w->consumers == 2)
        each = RG_MAX(compute, each / 2) + store / (2 * RG_MIN(RG_MAX(w->epilogue_buffers, 1), 2));
    /* without ping-pong all blocks store their first tiles at once: measured, a second load latency */
    double again = w->consumers != 2 && tiles > 1 ? gpu_cost.load_latency : 0;
    return gpu_cost.load_latency + again + tiles * each + (w->consumers == 2 ? store : 0);
}

double predict_gpu(const struct gpu_work *w, const struct gpu_spec *g, const struct model *m) {
    double units = model_value(m, MODEL_CORES), clock = model_value(m, MODEL_CLOCK) * 1e9;
    double busy = busy_clocks(w, g, m), resident = predict_gpu_resident(w, g);
    double seconds =
        (w->persistent ? persistent_clocks(w, busy) : waves_clocks(w, busy, units, resident)) / clock;
    double full = w->flight > 0 ? RG_MIN(resident * w->threads * w->flight / gpu_cost.bytes_in_flight, 1) : 1;
    double memory =
        w->dram / (model_value(m, MODEL_DRAM_READ) * 1e9 * gpu_cost.dram_peak * RG_MAX(full, 0.02));
    return p_norm((double[]){seconds, memory}, 2) + gpu_cost.launch_seconds;
}

double predict_gpu_coop(double fmas, double bytes, const struct gpu_spec *g) {
    enum { ROWS = 8, COLUMNS = 4, FMA_RATE = 64 }; /* FMA_RATE: half, since 16-bit operands are widened */
    double clocks = g->sms * g->ghz * 1e9, loaded = fmas * bytes * (1.0 / ROWS + 1.0 / COLUMNS);
    return loaded / (gpu_cost.l2_rate_shared * gpu_l2_scale(g) * clocks) + fmas / (FMA_RATE * clocks);
}

/* Loads that do not begin at lines touch one more, a part of them if they are shorter. Memory is fast with enough bytes in flight: those of
 * the loads of two iterations of all warps that registers hold; where columns are few, warps share one. */
double predict_gpu_dots(const struct gpu_dots *d, const struct gpu_spec *g) {
    enum { LINE = 128, OTHERS = 40, UNROLLED = 2 };
    double clocks = g->sms * g->ghz * 1e9, warps = d->columns / d->together, span = WARP_SIZE * d->load,
           more = fmod(d->depth * d->bytes, LINE) > 0 ? 1 + RG_MIN(LINE / span, span / LINE) : 1,
           loads = (d->rows * d->lines + d->together) * more;
    double sharing = RG_MIN(gpu_cost.threads_coop / WARP_SIZE, warps / g->sms * d->depth * d->bytes / span),
           resident = RG_MIN(RG_MAX(warps / g->sms, sharing),
                             RG_MIN(g->max_threads_sm / (double)WARP_SIZE,
                                    g->regs_sm / (WARP_SIZE * (d->rows * d->together + OTHERS))));
    double flight = resident * d->together * WARP_SIZE * RG_MAX(d->load, UNROLLED * d->bytes),
           full = RG_MIN(flight / gpu_cost.bytes_in_flight, 1);
    double time[] = {warps * d->rows * d->depth * d->bytes /
                         (gpu_cost.l2_rate_shared * gpu_l2_scale(g) * clocks),
                     warps * d->depth / WARP_SIZE * loads / clocks,
                     d->columns * d->depth * d->bytes / (g->bw * 1e9 * gpu_cost.dram_peak * full)};
    return p_norm(time, RG_COUNT(time)) + gpu_cost.launch_seconds;
}
