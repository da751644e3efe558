/* graphs.h: random tensor programs, data for them, and the comparison with the oracle: for the tests of the planner,
 * the code generator, the engine and the front end. The same seed gives the same program on every machine. */
#ifndef RIDGE_TEST_GRAPHS_H
#define RIDGE_TEST_GRAPHS_H

#include "ref/ref.h"

/* What programs may contain. NULL, or a zero where a number is asked for, means the default. */
struct graph_gen {
    uint32_t min_ops,
        max_ops;          /* steps; a step is an op or a short chain (softmax, a product). Default 4 and 20 */
    uint32_t max_outputs; /* default 3; assigned buffers come in addition */
    int64_t max_elements; /* of one tensor, default 4096; what a contraction sums may have 8 times as many */
    bool exact; /* small integers and exact ops: any correct program gives the same numbers, bit by bit */
    bool all_dtypes; /* 16-bit floats, f64, narrow and unsigned integers too; else f32, i32 and bool */
    bool assigns;    /* ASSIGN, whole and to a box */
    bool vars;       /* VARs: starts of slices, masks, factors */
    bool no_index;   /* no GATHER and SCATTER */
};
const uop *graph_random(struct ir *, struct arena *, uint64_t seed, const struct graph_gen *);

/* Inputs for a program: bufs[number] for each BUFFER, var[slot] for each VAR. In exact mode small integers, else
 * moderate floats; integers are small in both. An index (the source of a GATHER or SCATTER) is brought into range by
 * the program itself. Everything lives in the arena. */
struct graph_data {
    struct ref_buf *bufs;
    uint32_t nbuf;
    int64_t *var;
    uint32_t nvar;
};
struct graph_data graph_fill(struct arena *, struct ir *, const uop *graph, uint64_t seed, bool exact);

/* Is `got` what the oracle wants? Without bounds: equal numbers; with bounds: within them, and what is unsure is left
 * out and counted. NaN equals NaN, 0 equals -0. False: `why` says where and by how much. The counters may be NULL and
 * are added to. */
bool graph_compare(struct str *why, const struct ref_tensor *want, const void *got, uint64_t *excluded,
                   uint64_t *compared);

#endif
