/* gpu.h: what the files of the renderer for GPUs share (gpu.c, gpu_block.c). */
#ifndef RIDGE_RENDER_GPU_H
#define RIDGE_RENDER_GPU_H

#include "render/internal.h"

/* A loop whose values the threads of a block share. */
struct
    carried { /* an accumulator that goes on from one value to the next: each thread has its own until the end */
    const uop *acc;
    enum op op;
};
struct spread {
    uint32_t begin, end; /* places of the RANGE and its END in the list */
    VEC(struct carried) acc;
};
typedef VEC(struct spread) spread_vec;

/* gpu_block.c: loops over AX_THREAD ranges that can be shared out, outermost only. None: the block form is not used. */
void spread_find(struct arena *, const struct linear *, spread_vec *);
/* Scalars that the neediest loop carries. */
uint32_t spread_cells(const spread_vec *);
/* How many threads a block of this program should have. */
uint32_t spread_threads(const struct linear *, const spread_vec *);

#endif
