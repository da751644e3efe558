/* tune.h: how a kernel's opt list is chosen. The only header of src/tune.
 *
 *   choose/   heuristic opt lists, CPU and GPU; the search space around them
 *   cost/     predicted time of a lowered kernel: what search ranks by before it measures
 *
 * Tests: tests/unit/heuristic.c, tests/unit/tune.c, tests/unit/tune_gpu.c */
#ifndef RIDGE_TUNE_H
#define RIDGE_TUNE_H

#include "codegen/codegen.h"

/* heuristic.c: a good opt list without any search, in the arena; "" where nothing helps. Always legal. threads: that
 * will run it (0: all); vec_bytes: isa_of_width. */
const char *opts_heuristic(struct ir *, const struct kernel *, int vec_bytes, int threads);
/* The list after `refused` others, each more cautious than the one before; "": there is none. */
const char *opts_heuristic_after(struct ir *, const struct kernel *, int vec_bytes, int threads, int refused);
/* The same with the MMA instructions of a CPU that has these features, flags of os_cpu(); "" none. opts_heuristic: those of this
 * machine, if vec_bytes is 0. */
const char *opts_heuristic_for(struct ir *, const struct kernel *, int vec_bytes, const char *features,
                               int threads);
/* The same for a GPU, by its compute capability: 80: mma.sync; 90: wgmma, TMA; 0: no tiles in shared memory (OpenCL). */
const char *opts_heuristic_gpu(struct ir *, const struct kernel *, const struct gpu_spec *);
/* The list after those that were refused; the same again where there is no other. */
const char *opts_heuristic_gpu_after(struct ir *, const struct kernel *, const struct gpu_spec *,
                                     int refused);
#define GPU_OF_CC(cc) ((const struct gpu_spec[]){gpu_spec_with_cc(cc)}) /* the default GPU restricted to cc */

/* random_opts.c: a random legal opt list for tests and fuzzing; the same seed gives the same list. */
const char *opts_random(struct ir *, const struct kernel *, uint64_t seed);

/* search_space.c: complete lists for search: around `base` (which comes first), all legal, all different, all with the order of
 * summation of base, so that none rounds otherwise. At most `most`; the same seed gives the same lists. Sources: base, every
 * recipe of the heuristic, mutations of those. gpu: NULL: a CPU with `threads`. Texts live in the arena. */
typedef VEC(const char *) opts_vec;
void opts_space(struct ir *, const struct kernel *, const char *base, int vec_bytes, int threads,
                const struct gpu_spec *gpu, uint64_t seed, uint32_t most, opts_vec *out);
/* The order of summation of every inexact reduction under this list: equal texts, equal rounding. */
const char *opts_rounding(struct ir *, const struct kernel *, const char *opts, const struct gpu_spec *gpu);

/* cpu_time.c: predicted seconds of a program on a CPU, to rank opt lists of one kernel. The arena is scratch. */
double predict_seconds(struct arena *, const struct linear *, const struct model *, int threads);

/* gpu_time.c: the same for a GPU, from the work of a block. */
struct gpu_work {
    double blocks;                  /* of the grid; persistent: output tiles */
    int threads, registers, shared; /* per block; per thread; bytes per block */
    double steps;                   /* iterations of the main loop .. */
    int ahead;                      /* .. that loads are issued ahead: stages - 1 */
    int consumers;        /* warp-specialized: consumer groups, 2 is ping-pong; 0: not specialized */
    int epilogue_buffers; /* in shared memory, per consumer; 0: registers are stored directly */
    int refills;          /* times that each of them is loaded again with a source tensor, per tile */
    int persistent;       /* blocks of a persistent kernel; 0: not persistent */
    /* per block, over all steps: */
    double mma, mma_peak; /* FLOPs of MMA instructions; share of the tensor cores' peak that these reach */
    double dsmem;         /* bytes of partial sums sent through distributed shared memory */
    double fma, special;  /* FMAs; special functions, of all threads */
    double issue;         /* warp instructions */
    double shared_bytes;  /* through the port of shared memory, bank conflicts included */
    double transposed;    /* cycles of that port for transposing stores */
    double fill, out;     /* bytes loaded from L2 and stored, in whole sectors */
    double private_fill;  /* of `fill`, what no other block requests at the same time */
    double epilogue;      /* warp instructions after the main loop */
    double flight;        /* bytes that a thread loads before it waits; 0: asynchronous copies */
    double dram;          /* bytes to and from DRAM, of the whole kernel */
    double chain; /* cycles of a thread's loops: loads and block reductions that wait for each other */
};
double predict_gpu(const struct gpu_work *, const struct gpu_spec *, const struct model *);
/* The same of a contraction by blocks that share sums, 8 x 4 results each: loads from L2, then FMAs. bytes: of an element. */
double predict_gpu_coop(double fmas, double bytes, const struct gpu_spec *);

/* Predicted seconds of a skinny GEMM by dot products: a warp has all rows by `together` columns of the matrix, which is read once; the
 * rows come from L2 for each warp. */
struct gpu_dots {
    double rows, columns, depth, together;
    double lines; /* of a warp's load of the rows */
    double bytes; /* of an operand .. */
    double load;  /* .. and of a load */
};
double predict_gpu_dots(const struct gpu_dots *, const struct gpu_spec *);
/* gpu_count.c: the work of a block of a linear program: threads per block (0: one grid iteration per thread), grid iterations per
 * block. */
void gpu_work_of(struct arena *, const struct linear *, uint32_t threads, uint32_t iterations,
                 struct gpu_work *);
int predict_gpu_resident(const struct gpu_work *, const struct gpu_spec *); /* occupancy: blocks per SM */

/* gpu_heuristic.c: configs of a GEMM for search on a GPU, all legal, all different: the `best` that the model predicts to be
 * fastest, then `more` from all over the rest of its ranking. Empty: not a GEMM. like: only those that sum in the order of this
 * list; NULL: all. */
struct gpu_list {
    const char *opts, *config; /* config: in short, for messages and tables of measurements */
    double predicted;          /* seconds */
};
typedef VEC(struct gpu_list) gpu_lists;
void opts_configs_gpu(struct ir *, const struct kernel *, const struct gpu_spec *, const struct model *,
                      const char *like, uint32_t best, uint32_t more, gpu_lists *out);

/* Bytes into each cache of a CPU while the program runs: est.into. */
void predict_traffic(struct arena *, struct linear *, const struct model *);

#endif
