/* gpu.h: what the files of the renderer for GPUs share (gpu.c, gpu_mma.c, gpu_combine.c, gpu_coop.c,
 * cuda_pre.c, opencl_pre.c). */
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
void gpu_bytes(struct str *); /* conversions of types of one byte, after up_f16 */

/* gpu_coop.c: loops over AX_COOP ranges that can be shared out, outermost only, and the rows that they keep. None: the
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

/* The words of a language. */
struct dialect {
    bool cl;                          /* OpenCL C; else CUDA C */
    const char *thread, *group;       /* numbers of the thread in its block, of the block */
    const char *item, *items;         /* number of the thread in all, how many there are */
    const char *barrier;              /* until all threads of the block are here */
    const char *global, *shared;      /* memory of all, of a block */
    const char *restricted, *aligned; /* a pointer that shares nothing; of an array for pieces */
};

struct gpu {
    struct render r;
    const struct dialect *d;
    VEC(struct text *) lane; /* by slot of r: the lanes of the latest evaluation */
    spread_vec spread;
    row_vec row;
    const struct spread *open; /* the shared loop that we are in */
    const char *turn;          /* which of its values this thread is at, counted from 0 */
    bool guarded;              /* not all threads have as many values */
    bool meet, many;           /* many: buffers are chosen by number */
    bool weights;              /* what is computed are factors of MMA instructions: less than 2^-126 is 0 */
    bool lanes;                /* a block program: threads have values of their own */
    bool late;                 /* the others that it was started beside are waited for at its first barrier */
    bool ahead;                /* what is loaded here is for later, and should be under way from here on */
    bool groups;               /* of warps, with roles */
    const char *group;    /* .. then: number of the thread's, which the compiler knows to be one for a warp */
    uint32_t sums;        /* accumulators of a thread */
    uint32_t block, team; /* threads of a block; of them, those that share an iteration of the grid */
    const char *member;   /* number of the thread among them */
    int64_t scratch;
    struct render_map map[RENDER_MAPS]; /* in the order of the parameters m0, m1 .. */
    uint32_t nmap;
};

struct place { /* INDEX, resolved */
    enum dtype dt;
    unsigned lanes, piece;    /* piece: elements that can be moved at once */
    const char *base, *space; /* space: which memory, a word before types */
    const uop *index;
    struct text at; /* of a scalar index */
    bool panels;    /* pieces change places (union arg, mem) */
};

/* gpu.c */
void gpu_bad(struct gpu *, const uop *, const char *why); /* a bug in ridge: throws */
/* Lane i of a value; a scalar is the same in each. */
struct text gpu_operand(struct gpu *, const uop *, unsigned i);
/* What the node is called: its lanes; NULL: nothing yet. */
struct text **gpu_slot(struct gpu *, const uop *);
/* To be filled: what the node is called from here on. */
struct text *gpu_new_lanes(struct gpu *, const uop *);

/* gpu_memory.c */
struct place gpu_place(struct gpu *, const uop *index);
/* Something that can be assigned to. */
const char *gpu_element(struct gpu *, const struct place *, unsigned i);
void gpu_load(struct gpu *, const uop *, struct text *out);
bool gpu_loads_ahead(const struct gpu *);
void gpu_store(struct gpu *, const uop *);
void gpu_prefetch(struct gpu *, const uop *);
/* Two lanes that a word holds. */
void gpu_pair_lanes(struct gpu *, const char *word, struct text *out);
const char *gpu_pair(struct gpu *, const uop *, unsigned lane);

/* gpu_mma.c: entries of block programs. */
void gpu_copy(struct gpu *, const uop *);
void gpu_frag(struct gpu *, const uop *);
void gpu_lanered(struct gpu *, const uop *);
void gpu_mma(struct gpu *, const uop *);
void gpu_mma_wait(struct gpu *, const uop *);
void gpu_box(struct gpu *, const uop *); /* boxes, mbarriers, registers */
void gpu_find_maps(struct gpu *);        /* fills map */

/* gpu_combine.c: accumulators of a shared loop, before it and after. */
void gpu_open_shared(struct gpu *, const struct spread *);
void gpu_close_shared(struct gpu *, const struct spread *);
uint32_t gpu_shared_words(const struct gpu *, uint32_t cells); /* of 8 bytes, for what is told */

#endif
