/* predict_gpu.c: how long a kernel will take on a GPU, from what one of its blocks does, for ranking forms of it.
 *
 * A block is busy as long as its busiest unit: matrix instructions, multiply-adds, shared memory, what comes from L2,
 * instructions issued, special functions. It cannot be faster than its chain of waits: the ring is filled once, then each
 * step waits for the copies of so many steps before it, then results are stored. As many blocks run side by side on a
 * multiprocessor as registers, shared memory and threads allow, and share its units; waits of one are hidden by the work
 * of the others. Blocks beyond that come in waves, and the last wave takes as long as its fullest multiprocessor.
 * Memory is a bound of its own: blocks that run at the same time share the rows and columns that they read.
 * Rates are the machine model's; what it has no field for stands here, measured on an H200 (docs/gpu.md).
 * Tests: tests/unit/tune_gpu.c (hand counts; order of measured forms) */
#include "cg.h"

enum {
    SHARED_ALL = 233472, /* bytes of a multiprocessor */
    SHARED_OWN = 1024,   /* of each block, kept by the system */
    REGISTERS = 65536,
    THREADS = 2048,
    MOST_BLOCKS = 32
};

int predict_gpu_resident(const struct gpu_work *w) {
    int registers = RG_MIN((w->registers + 7) / 8 * 8, 255), n = MOST_BLOCKS;
    int threads = (w->threads + 31) / 32 * 32;
    n = RG_MIN(n, THREADS / RG_MAX(threads, 32));
    n = RG_MIN(n, REGISTERS / RG_MAX(registers * threads, 1));
    n = RG_MIN(n, SHARED_ALL / (w->shared + SHARED_OWN));
    return RG_MAX(n, 1);
}

/* Clocks of a multiprocessor that does nothing but this block: of its busiest unit, with a part of the others. */
static double busy_clocks(const struct gpu_work *w, const struct model *m, double clock) {
    double units = model_value(m, MODEL_CORES);
    double part[] = {
        w->matrix / model_value(m, MODEL_MATRIX_BF16) / w->matrix_share,
        w->fma * 2 / model_value(m, MODEL_FLOPS_F32),
        w->shared_bytes / 128,
        (w->fill + w->out) / (model_value(m, MODEL_L3_RATE) / clock * w->l2_share),
        w->issue / 4,
        w->special / 16,
    };
    double most = 0, sum = 0;
    for (size_t i = 0; i < RG_COUNT(part); i++) most = RG_MAX(most, part[i]), sum += part[i];
    (void)units;
    return most + 0.05 * (sum - most);
}

double predict_gpu(const struct gpu_work *w, const struct model *m) {
    enum { START = 1200, FETCH = 900, STORE = 1200, STEP = 120 }; /* clocks */
    double units = model_value(m, MODEL_CORES), clock = model_value(m, MODEL_CLOCK);
    double busy = busy_clocks(w, m, clock), steps = RG_MAX(w->steps, 1);
    double each = RG_MAX(busy / steps + STEP * 0.2, (double)FETCH / RG_MAX(w->ahead, 1));
    double alone = START + FETCH + steps * each + STORE;
    int resident = predict_gpu_resident(w);
    double full = (double)(int64_t)(w->blocks / (units * resident));
    double left = w->blocks - full * units * resident;
    double side_by_side = (double)(int64_t)((left + units - 1) / units);
    double wave = RG_MAX(alone, resident * (busy + STEP * steps * 0.2) + START);
    double tail = left > 0 ? RG_MAX(alone, side_by_side * (busy + STEP * steps * 0.2) + START) : 0;
    double seconds = (full * wave + tail) / (clock * 1e9);
    double memory = w->dram / (model_value(m, MODEL_DRAM_READ) * 1e9);
    return RG_MAX(seconds, memory) + 1e-6;
}
