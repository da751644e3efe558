/* simgpu.h: an NVIDIA GPU whose kernels are interpreted: a device for tests.
 *
 * Any program of the public API (rg_open("SIM90"), jits, training loops) is planned for the GPU, gets the opts of its
 * compute capability and is lowered and rendered exactly as for CUDA; then each launch runs the linear program in
 * ref/linear.c, which reports races, accesses out of bounds, unset values, mbarriers that do not complete. Device memory
 * knows which of its bytes hold a value: fresh and reused blocks and temporaries hold none (and NaN bits), so that reading
 * one before it was written is an error wherever it reaches a result. A recorded list (a CUDA graph) is replayed in another
 * order than it was recorded in, as far as its edges allow.
 * Errors are those of rg_error. Tests: tests/unit/simgpu.c */
#ifndef RIDGE_TEST_SIMGPU_H
#define RIDGE_TEST_SIMGPU_H

#include <stdint.h>

/* From now on rg_open finds SIM80 (A100), SIM89 (L40S), SIM90 (H200) SIM100 (B200), SIM80S and SIM90S with 4 SMs;
 * and SIMCPU, which interprets what this machine's CPU would run. */
void simgpu_add(void);

/* Launches of all simulated devices so far, and of them: by a block's threads, in columns, with MMA instructions, with TMA. */
struct simgpu_count {
    unsigned launches, blocks, columns, mma, wgmma, tma, replayed;
    unsigned cached; /* kernels with a cp.async of 16 bytes through L1 */
    unsigned moved;  /* replays in another order */
    char most[96];   /* the slowest kernel .. */
    double cost;     /* .. and its evaluations */
    double total;
};
extern struct simgpu_count simgpu_count;

/* The most additions of float32 that a thread makes in one accumulator; at least 256 threads share a loop that is shared. A kernel
 * of tensor cores, threads or a register tile has none. The simulated devices refuse more than 128 (docs/semantics.md). */
struct arena;
struct linear;
int64_t simgpu_longest_sum(struct arena *, const struct linear *);

#endif
