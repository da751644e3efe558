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

enum {
    SHARED_ALL = 233472, /* bytes of a SM */
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

/* Measured on an H200 with the forms of products that tests/unit/gpu_forms.txt lists; clocks of a SM. */
static const struct {
    double fetch;    /* from asking for a tile to having it */
    double step[2];  /* of a step besides its work: barriers, waits; [1]: of threads with roles */
    double meet[2];  /* what it waits that other blocks hide: of single warps; [1]: of FMAs */
    double store[3]; /* bytes a clock that a block alone stores, by panels .. */
    double wide;     /* .. and in pieces of 16 bytes */
    double overlap;  /* the part of that time which other blocks do not hide */
    double flight;   /* bytes under way that keep memory busy */
    double tensor;   /* part of the peak that MMA instructions reach .. */
    double fma;      /* .. and FMAs */
    double warp;     /* instructions a clock of a warp by itself */
    double turned;   /* the part of the stores of turned tiles that others' FMAs do not hide */
    double l2[2];    /* bytes a clock from L2 that several SMs ask for; [1]: that one alone does */
    double met,
        sent; /* clocks until the blocks of a cluster meet; bytes a clock that one sends, as felt with long sums */
    double launch; /* seconds */
} machine = {2390, {222, 117}, {400, 1100}, {3.8, 13, 17}, 12,   0.005, 40e3,  0.936,
             0.8,  0.6,        0.2,         {51, 29},      4000, 2,     0.5e-6};

/* What results are made of: there are few warps, and an instruction waits for another as often as not; of two teams, which have
 * a warp on each scheduler, more often. */
static double store_clocks(const struct gpu_work *w) {
    double rate = w->fma > 0 || w->steps <= 1 ? machine.wide : machine.store[RG_MIN(w->panels, 2)];
    double met = w->sent > 0 ? machine.met + w->sent / machine.sent : 0;
    return w->out / rate + w->finish * (w->teams == 2 ? 0.75 : 0.5) + met;
}

/* Instructions of warpgroups go on by themselves. */
static double meet_clocks(const struct gpu_work *w) {
    return w->steps <= 1 ? 0 : w->fma > 0 ? machine.meet[1] : w->matrix_share < 1 ? machine.meet[0] : 0;
}

/* Units work side by side, but the second busiest is felt. */
static double together(const double *part, size_t n) {
    double most = 0, sum = 0;
    for (size_t i = 0; i < n; i++) most = RG_MAX(most, part[i]);
    if (most <= 0) return 0;
    for (size_t i = 0; i < n; i++) sum += pow(part[i] / most, 5.5);
    return most * pow(sum, 1 / 5.5);
}

/* Clocks of a SM that does nothing but this block. Barriers and waits of a step hold up all that its threads do; if a warp
 * of its own copies, only the MMA instructions: copies go on. */
static double busy_clocks(const struct gpu_work *w, const struct model *m) {
    double waits = w->steps * machine.step[w->teams > 0];
    double part[] = {w->matrix / (model_value(m, MODEL_MATRIX_BF16) * w->matrix_share * machine.tensor) +
                         (w->teams > 0 ? waits : 0),
                     w->fma * 2 / (model_value(m, MODEL_FLOPS_F32) * machine.fma),
                     w->shared_bytes / 128,
                     (w->fill - w->own) / machine.l2[0] + w->own / machine.l2[1],
                     w->issue / 4,
                     w->special / 16};
    return together(part, RG_COUNT(part)) + (w->teams > 0 ? 0 : waits) + machine.turned * w->turned;
}

/* Clocks until `side` blocks that run beside each other on a SM are done. Of the last there are no others that hide
 * how they begin and store. */
static double wave_clocks(const struct gpu_work *w, double busy, double side, bool last) {
    double store = store_clocks(w), steps = RG_MAX(w->steps, 1), warps = ceil(w->threads / 32.0);
    double step = RG_MAX(busy, w->issue / (warps * machine.warp)) / steps + meet_clocks(w);
    double alone = machine.fetch + steps * RG_MAX(step, machine.fetch / RG_MAX(w->ahead, 1)) + store;
    double all = side * (busy + w->finish / 4 + machine.overlap * store);
    return RG_MAX(alone, all + (last ? machine.fetch + store : 0));
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
    double waits = steps * machine.fetch / RG_MAX(w->ahead, 1);
    if (w->teams == 2) waits -= RG_MAX(store - busy, 0); /* nobody computes: the ring is filled meanwhile */
    double compute = RG_MAX(busy, waits), each = compute + store;
    if (w->teams == 2) each = RG_MAX(compute, each / 2) + store / (2 * RG_MAX(w->panels, 1));
    /* blocks of one team store their first tiles all at once: measured, that is felt like a second wait for the ring */
    double again = w->teams != 2 && tiles > 1 ? machine.fetch : 0;
    return machine.fetch + again + tiles * each + (w->teams == 2 ? store : 0);
}

double predict_gpu(const struct gpu_work *w, const struct model *m) {
    double units = model_value(m, MODEL_CORES), clock = model_value(m, MODEL_CLOCK) * 1e9;
    double busy = busy_clocks(w, m), resident = predict_gpu_resident(w);
    double seconds = (w->walk ? walk_clocks(w, busy) : waves_clocks(w, busy, units, resident)) / clock;
    double full = w->flight > 0 ? RG_MIN(resident * w->threads * w->flight / machine.flight, 1) : 1;
    double memory = w->dram / (model_value(m, MODEL_DRAM_READ) * 1e9 * 0.85 * RG_MAX(full, 0.02));
    return together((double[]){seconds, memory}, 2) + machine.launch;
}
