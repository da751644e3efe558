/* gpu.c: arithmetic of GPUs: occupancy by the CUDA rules, tiles, waves and cache lines. What a GPU has: src/model/gpus.def.
 *
 * Occupancy is recomputed because Kineto reports zero for every kernel with more than 48 KB of shared
 * memory, which are the GEMM and attention kernels that matter most. Pure functions of
 * numbers. Tests: tests/unit/analyze_gpu.c (40 cases worked by hand, with their limiters). */
#include "analyze/analyze.h"

#include <math.h>

static int64_t round_up(int64_t x, int64_t to) { return (x + to - 1) / to * to; }

struct occupancy gpu_occupancy(const struct gpu_spec *g, int64_t grid, int threads, int regs, int64_t smem) {
    struct occupancy o = {0};
    if (threads <= 0 || threads > 1024 || !g->max_threads_sm) return o;
    int warps = (threads + 31) / 32;
    o.by_warps = g->max_threads_sm / 32 / warps;
    o.by_blocks = gpu_blocks_per_sm(g->cc);
    /* Registers are given to warps in units of 256, from four equal banks. */
    int64_t per_warp = round_up((int64_t)regs * 32, 256);
    o.by_regs = per_warp ? (int)(g->regs_sm / 4 / per_warp * 4 / warps) : INT32_MAX;
    /* Since 8.0 each block also reserves 1 KB for the system, and the unit is smaller. */
    int64_t used = round_up(smem + (g->cc >= 80 ? 1024 : 0), g->cc >= 80 ? 128 : 256);
    o.by_smem = used ? (int)RG_MIN(g->smem_sm / used, (int64_t)INT32_MAX) : INT32_MAX;
    o.blocks = o.by_warps;
    o.limiter = "warps";
    if (o.by_blocks < o.blocks) o.blocks = o.by_blocks, o.limiter = "blocks";
    if (o.by_regs < o.blocks) o.blocks = o.by_regs, o.limiter = "registers";
    if (o.by_smem < o.blocks) o.blocks = o.by_smem, o.limiter = "shared memory";
    o.theoretical = (double)o.blocks * warps * 32 / g->max_threads_sm;
    double per_sm = g->sms ? (double)grid / g->sms : o.blocks;
    double resident = RG_MIN((double)o.blocks, per_sm);
    if (per_sm < o.blocks) o.limiter = "grid";
    o.achieved_cap = resident * threads / g->max_threads_sm;
    if (o.blocks && g->sms && grid > 0) {
        o.waves = (double)grid / ((double)o.blocks * g->sms);
        double whole = floor(o.waves);
        if (o.waves > whole && whole >= 1) o.tail = 1 / (1 + whole);
    }
    return o;
}

struct tiling gpu_tiling(int64_t m, int64_t n, int64_t tm, int64_t tn, int64_t batch, int64_t per_wave) {
    struct tiling r = {0};
    if (m <= 0 || n <= 0 || tm <= 0 || tn <= 0 || per_wave <= 0) return r;
    if (batch <= 0) batch = 1;
    int64_t rows = (m - 1) / tm + 1, cols = (n - 1) / tn + 1;
    /* Sizes that no memory holds: no answer rather than one that overflowed. */
    if ((double)rows * (double)cols * (double)batch > 1e15) return r;
    r.tiles = rows * cols * batch;
    r.waves = (r.tiles + per_wave - 1) / per_wave;
    double area = (double)m * (double)n / ((double)(rows * tm) * (double)(cols * tn));
    double full = (double)r.tiles / ((double)r.waves * (double)per_wave);
    r.edge = 1 - area;
    r.tail = 1 - full;
    r.waste = 1 - area * full;
    return r;
}

int64_t gpu_lines_touched(int64_t pitch, int64_t rows, int64_t cols, int64_t line) {
    int64_t touched = 0, last = -1;
    for (int64_t i = 0; i < rows && cols > 0; i++) {
        int64_t first = i * pitch / line, end = (i * pitch + cols - 1) / line;
        if (first <= last) first = last + 1;
        if (end >= first) touched += end - first + 1, last = end;
    }
    return touched;
}
