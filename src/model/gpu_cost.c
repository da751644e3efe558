/* gpu_cost.c: the fitted constants of the GPU cost models, once. What a GPU has stands in gpus.def; these are what kernels
 * cost on one, fitted to measured times. Who uses which, and how well it fits: docs/internals/cost-model.md.
 *
 * Source: H200 SXM, CUDA 13, 2026-11: tests/unit/gpu_forms.txt (GEMM), docs/measurements/2026-11-16-h200-notes.md (convolution, L2, split-K). Cycles are
 * those of an SM at its boost clock; other GPUs are assumed to have the same constants per cycle and SM. */
#include "model.h"

const struct gpu_cost gpu_cost = {
    .load_latency = 2390,
    .step_cycles = 222,
    .step_cycles_specialized = 117,
    .mma_sync_stall = 400,
    .fma_stall = 1100,
    .store_rate = {3.8, 13, 17},
    .store_rate_vec = 12,
    .gather_issue = 30,
    .store_exposed = 0.005,
    .epilogue_cpi = 0.5,
    .epilogue_cpi_pingpong = 0.75,
    .bytes_in_flight = 40e3,
    .tensor_peak = 0.936,
    .mma_sync_peak = 0.666,
    .mma_sync_tf32_peak = 0.33,
    .mma_sync_f64_peak = 0.06, /* 67 of 989 TFLOP/s, of which 0.9 */
    .fma_peak = 0.8,
    .warp_ipc = 0.6,
    .transpose_exposed = 0.2,
    .l2_rate_shared = 51,
    .l2_rate_private = 29,
    .cluster_sync = 4000,
    .dsmem_rate = 2,
    .overlap_norm = 5.5,
    .dram_peak = 0.85,
    .launch_seconds = 0.5e-6,
    .l2_kept = 30e6 / (60 << 20),
    .l2_attention = 0.4,
    .splitk_step = 1.5,
    .splitk_reduce = 3000,
    .splitk_l2_rate = 2500.0 / 132,
    .splitk_dram_peak = 2100 * 1.98 / 4800,
    .splitk_l2_kept = 40e6 / (60 << 20),
    .splitk_gain = 0.7,
    .conv_pass_issue = 1.6,
    .conv_sector = 0.5,
    .conv_few_warps = {1, 1.5, 1.2, 1.1},
    .conv_one_block = 1.06,
    .conv_start = 1500,
    .coop_traffic = 1.2,
    .column_traffic = 2,
    .threads_full = 1024,
    .threads_columns = (1 << 17) / 132.0,
    .blocks_coop = 2048 / 132.0,
    .blocks_skinny = 256 / 132.0,
    .blocks_gemm = 32 / 132.0,
    .thread_term = 20e-9,    /* 1,792 terms in 39 us, few threads, in L2 */
    .block_reduction = 1e-6, /* 99 in loops around them and their loads took 270 us */
    .blocks_cluster4 = 64 / 132.0,
    .conv_fmas = 4e7 / 132,
    .coop_outputs = (1 << 20) / 132.0,
    .wgrad_accumulators = 4 / 11.0,
    .power_limited = 2e14 / 989.4e12,
    .threads_early = 512,
    .threads_coop = 512,
};
