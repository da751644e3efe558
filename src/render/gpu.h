/* gpu.h: what the files of the renderer for GPUs share (gpu.c, gpu_block.c, cuda_pre.c, opencl_pre.c). */
#ifndef RIDGE_RENDER_GPU_H
#define RIDGE_RENDER_GPU_H

#include "render/internal.h"

#define MANY_KEPT 32 /* registers of a thread for rows: so many that more threads are better */

/* A loop whose values the threads of a block share. */
struct
    carried { /* an accumulator that goes on from one value to the next: each thread has its own until the end */
    const uop *acc;
    enum op op;
    bool joined; /* its lanes are only ever combined: a thread does that first */
};
struct spread {
    uint32_t begin, end; /* places of the RANGE and its END in the list */
    VEC(struct carried) acc;
    uint32_t cell; /* where its part of the shared memory begins */
    bool again;    /* it stands in a loop: its part is used again */
    bool rows; /* it reads or writes rows: what is kept must be known by name, so that it is written out */
};
typedef VEC(struct spread) spread_vec;

/* Scratch memory of which each value of the shared loops has `step` elements of its own: the threads keep them. */
struct row {
    const uop *local;
    int64_t step;
    uint32_t first, last; /* loops that touch it: it is kept from the one to the other */
};
typedef VEC(struct row) row_vec;

/* cuda_pre.c: what the preambles of both languages share. */
void gpu_common(struct str *);

/* gpu_block.c: loops over AX_THREAD ranges that can be shared out, outermost only, and the rows that they keep. None: the
 * block form is not used. */
void spread_find(struct arena *, const struct linear *, uint32_t most_threads, spread_vec *, row_vec *);
const struct row *row_of(const row_vec *, const uop *local); /* NULL: it is none */
/* Scalars that a loop carries; that all loops together do. */
uint32_t spread_cells_of(const struct spread *);
uint32_t spread_cells(const spread_vec *);
/* Registers of a thread for rows, if so many threads share an iteration. */
int64_t rows_kept(const struct linear *, const spread_vec *, const row_vec *, uint32_t threads);
/* How many threads should share an iteration, and how many values of a loop of n one of them has. */
uint32_t spread_threads(const struct linear *, uint32_t least, uint32_t most, const spread_vec *,
                        const row_vec *);
static inline int64_t spread_turns(int64_t n, uint32_t threads) { return (n + threads - 1) / threads; }

#endif
