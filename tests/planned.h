/* planned.h: runs a tensor program the way the engine would, but through the interpreter: plan, lower every kernel, and
 * let ref/linear run the calls in order. For tests of the planner and the code generator. */
#ifndef RIDGE_TEST_PLANNED_H
#define RIDGE_TEST_PLANNED_H

#include "graphs.h"
#include "schedule/schedule.h"

enum opts_from { OPTS_NONE, OPTS_HEURISTIC, OPTS_RANDOM, OPTS_GPU };

struct planned_run {
    struct arena *arena;
    struct ir *ir;
    const uop *graph;
    struct graph_data data; /* BUFFERs are copied before an in-place store changes them */
    const struct sched_opts *opts;
    enum opts_from from;
    uint64_t seed;
    bool exact;       /* every number in it is: the oracle needs no bounds, results must be equal */
    bool for_cc;      /* math functions decomposed, for this machine */
    uint32_t persist; /* blocks of every PERSISTENT, so that few walk over many tiles; 0: as the list says */
    struct schedule sched; /* filled in */
    struct linear *lin;    /* by program */
    const char **list;     /* of opts, by program */
    void **mem;            /* by sched_buf */
    void **result;         /* by source of the graph */
};
/* A model that does not depend on the machine. */
const struct model *planned_model(void);
/* What the library guesses of an H200. */
const struct model *planned_h200(void);
/* Throws into ir->err. */
void planned_plan(struct planned_run *);      /* schedule and lower */
void planned_memory(struct planned_run *);    /* fresh memory for every buffer, inputs filled in */
void planned_interpret(struct planned_run *); /* runs all calls; errors carry the kernel's text */
/* The oracle's opinion: true if all results agree. */
bool planned_check(struct planned_run *, struct str *why, uint64_t *excluded, uint64_t *compared);

#endif
