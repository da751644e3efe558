/* codegen.h: from a kernel graph and a list of opts to a linear program. The only header of src/codegen.
 *
 *   verify -> opts -> stage -> tree -> expand -> gates -> coalesce -> decompose -> index -> linearize -> estimate
 *
 * lower() in lower.c is that line as code. docs/design.md says what each step does.
 * Tests: tests/unit/codegen.c (random opts against the plain kernel), tests/golden/ */
#ifndef RIDGE_CODEGEN_H
#define RIDGE_CODEGEN_H

#include "ir/ir.h"
#include "model/model.h"

struct lower_opts {
    const char *opts;     /* e.g. "TILE(k,8,u) REG(u) VEC(v)"; NULL: those of the kernel; "" none */
    struct pass_log *log; /* may be NULL */
    bool keep_math;  /* leave EXP, SIN .. and half types as they are (ref/linear evaluates them itself) */
    bool native_exp; /* the target has EXP, EXP2 and SIGMOID of float32: CUDA */
    int vec_bytes;   /* of the target; 0: this machine */
    bool narrow;     /* index arithmetic in 32 bits wherever it fits, not only in vectors: for a GPU */
};
/* Everything in one call. Throws (RG_EVERIFY, RG_EOPT, RG_EINTERNAL). The program lives in ir->arena. */
void lower(struct ir *, const struct kernel *, const struct lower_opts *, struct linear *out);

/* opts.c: what may be done to this kernel. */
/* Checks one opt list without lowering; returns false and the reason. */
bool opts_legal(struct ir *, const struct kernel *, const char *opts, struct str *why);
uint64_t opts_tried(void); /* calls of opts_legal by this thread so far: what a choice of opts costs */
/* A random legal opt list for tests and search; the same seed gives the same list. */
const char *opts_random(struct ir *, const struct kernel *, uint64_t seed);
/* heuristic.c: a good opt list without any search, in the arena; "" where nothing helps. Always legal. threads: that
 * will run it (0: all); vec_bytes as in lower_opts. */
const char *opts_heuristic(struct ir *, const struct kernel *, int vec_bytes, int threads);
/* The same for a GPU. capability: what it can do, as NVIDIA counts it: 80, 90 (matrix instructions of groups of warps);
 * 0: its language has no block programs. */
const char *opts_heuristic_gpu(struct ir *, const struct kernel *, int capability);
void opts_help(struct str *); /* the table of opts for --help and docs */

/* space.c: complete lists for search: around `base` (which comes first), all legal, all different, all with the order of
 * additions that base has, so that none rounds otherwise. At most `most`; the same seed gives the same lists. They are
 * made of base, of every recipe of the heuristic, and of small changes to those. threads 0: of a GPU. Texts live in the arena. */
typedef VEC(const char *) opts_vec;
void opts_space(struct ir *, const struct kernel *, const char *base, int vec_bytes, int threads,
                uint64_t seed, uint32_t most, opts_vec *out);
/* The order in which every inexact reduction of the kernel is added up under this list: equal texts, equal rounding. */
const char *opts_rounding(struct ir *, const struct kernel *, const char *opts);

/* predict.c: seconds that the program will take on so many threads, for ranking lists of one kernel. The arena is for its
 * notes, and may be freed after. */
double predict_seconds(struct arena *, const struct linear *, const struct model *, int threads);

/* predict_gpu.c: the same for a GPU, from what a block does. */
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
        matrix_share;    /* operations by matrix instructions; the part of the peak that these can reach */
    double sent;         /* bytes of sums that it sends to other blocks of its cluster; 0: it has none */
    double fma, special; /* multiply-adds and functions, of all threads */
    double issue;        /* instructions of warps */
    double shared_bytes; /* that go through shared memory's port, a conflict counted as more */
    double turned;       /* clocks of that port for tiles that are turned, one by one */
    double fill, out;    /* bytes that come from L2, that are stored, whole sectors */
    double own;          /* of `fill`, those that no other block asks for at the same time */
    double finish;       /* instructions of warps after the main loop: what results are made of */
    double flight;       /* bytes that a thread asks for before it waits; 0: copies go on by themselves */
    double dram;         /* bytes that memory moves, of the whole kernel */
};
double predict_gpu(const struct gpu_work *, const struct model *);
/* work_gpu.c: of a program that blocks of so many threads run, `teams` iterations each (0: a thread runs one). */
void gpu_work_of(struct arena *, const struct linear *, uint32_t block, uint32_t teams, struct gpu_work *);
int predict_gpu_resident(const struct gpu_work *); /* blocks that run side by side on a multiprocessor */

/* heur_gpu.c: complete lists for search on a GPU: what the recipes for block programs can write for this kernel, all legal, all
 * different: the `best` that the model says are fastest, then `more` from all over the rest of its ranking. Empty: there is
 * no such recipe. like: only such as add up in the order of this list; NULL: all. */
struct gpu_list {
    const char *opts, *form; /* form: in short, for people and tables of measurements */
    double predicted;        /* seconds */
};
typedef VEC(struct gpu_list) gpu_lists;
void opts_forms_gpu(struct ir *, const struct kernel *, int capability, const struct model *,
                    const char *like, uint32_t best, uint32_t more, gpu_lists *out);

/* The bytes that come into each cache of the machine while the program runs: est.into. For programs of a CPU. */
void predict_traffic(struct arena *, struct linear *, const struct model *);

/* estimate.c: the work that a kernel graph asks for, before any opt: flops, special, bytes. */
void estimate_asked(struct ir *, const uop *sink, struct estimate *);

#endif
