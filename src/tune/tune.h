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
 * will run it (0: all); vec_bytes as in struct target. */
const char *opts_heuristic(struct ir *, const struct kernel *, int vec_bytes, int threads);
/* The same for a GPU. Its cc: 80: mma.sync; 90: wgmma, TMA; 0: no block programs (OpenCL). */
const char *opts_heuristic_gpu(struct ir *, const struct kernel *, const struct gpu_spec *);
#define GPU_OF_CC(cc) ((const struct gpu_spec[]){gpu_spec_with_cc(cc)}) /* the default GPU restricted to cc */

/* random_opts.c: a random legal opt list for tests and fuzzing; the same seed gives the same list. */
const char *opts_random(struct ir *, const struct kernel *, uint64_t seed);

/* search_space.c: complete lists for search: around `base` (which comes first), all legal, all different, all with the order of
 * additions that base has, so that none rounds otherwise. At most `most`; the same seed gives the same lists. They are
 * made of base, of every recipe of the heuristic, and of small changes to those. threads 0: of a GPU. Texts live in the arena. */
typedef VEC(const char *) opts_vec;
void opts_space(struct ir *, const struct kernel *, const char *base, int vec_bytes, int threads,
                uint64_t seed, uint32_t most, opts_vec *out);
/* The order in which every inexact reduction of the kernel is added up under this list: equal texts, equal rounding. */
const char *opts_rounding(struct ir *, const struct kernel *, const char *opts);

/* cpu_time.c: seconds that the program will take on so many threads, for ranking lists of one kernel. The arena is for its
 * notes, and may be freed after. */
double predict_seconds(struct arena *, const struct linear *, const struct model *, int threads);

/* gpu_time.c: the same for a GPU, from what a block does. */
struct gpu_work {
    double blocks;                  /* of the grid */
    int threads, registers, shared; /* of a block; of a thread; bytes of a block */
    double steps;                   /* of its main loop .. */
    int ahead;                      /* .. for which copies are under way so many steps before */
    int teams;                      /* that compute in turns while others copy; 0: all threads do both */
    int panels; /* of shared memory through which a team stores; 0: each thread stores its own */
    int walk; /* blocks that stay and take what `blocks` counts one after the other; 0: each comes and goes */
    /* of one block, over all its steps: */
    double matrix,
        matrix_share;    /* operations by MMA instructions; the part of the peak that these can reach */
    double sent;         /* bytes of sums that it sends to other blocks of its cluster; 0: it has none */
    double fma, special; /* FMAs and functions, of all threads */
    double issue;        /* instructions of warps */
    double shared_bytes; /* that go through shared memory's port, a conflict counted as more */
    double turned;       /* clocks of that port for tiles that are turned, one by one */
    double fill, out;    /* bytes that come from L2, that are stored, whole sectors */
    double own;          /* of `fill`, those that no other block asks for at the same time */
    double finish;       /* instructions of warps after the main loop: what results are made of */
    double flight;       /* bytes that a thread asks for before it waits; 0: copies go on by themselves */
    double dram;         /* bytes that memory moves, of the whole kernel */
};
double predict_gpu(const struct gpu_work *, const struct gpu_spec *, const struct model *);
/* gpu_count.c: of a program that blocks of so many threads run, `teams` iterations each (0: a thread runs one). */
void gpu_work_of(struct arena *, const struct linear *, uint32_t block, uint32_t teams, struct gpu_work *);
int predict_gpu_resident(const struct gpu_work *, const struct gpu_spec *); /* occupancy: blocks per SM */

/* gpu_heuristic.c: complete lists for search on a GPU: what the recipes for block programs can write for this kernel, all legal, all
 * different: the `best` that the model says are fastest, then `more` from all over the rest of its ranking. Empty: there is
 * no such recipe. like: only such as add up in the order of this list; NULL: all. */
struct gpu_list {
    const char *opts, *form; /* form: in short, for people and tables of measurements */
    double predicted;        /* seconds */
};
typedef VEC(struct gpu_list) gpu_lists;
void opts_forms_gpu(struct ir *, const struct kernel *, const struct gpu_spec *, const struct model *,
                    const char *like, uint32_t best, uint32_t more, gpu_lists *out);

/* The bytes that come into each cache of the machine while the program runs: est.into. For programs of a CPU. */
void predict_traffic(struct arena *, struct linear *, const struct model *);

#endif
