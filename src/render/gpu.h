/* gpu.h: what the files of the GPU renderer share (gpu.c, gpu_mma.c, gpu_combine.c, gpu_coop.c, gpu_scan.c,
 * gpu_memory.c, cuda_pre.c, opencl_pre.c). */
#ifndef RIDGE_RENDER_GPU_H
#define RIDGE_RENDER_GPU_H

#include "render/internal.h"

#define MANY_KEPT 32 /* registers of a thread for rows: beyond, more threads are better */

/* A cooperative loop. */
struct
    carried { /* an accumulator carried from iteration to iteration: private to each thread until the end */
    const uop *acc;
    enum op op;
    bool joined; /* its lanes are only ever combined: the thread does that first */
    /* a scan: read in each iteration. Its SET, at this position, adds this value */
    uint32_t set;
    const uop *term; /* NULL: a reduction */
    const uop *by;   /* .. after the value before was multiplied by this (DECAY); NULL: it was not */
};
enum { SCAN_CELLS = 2 }; /* of shared memory for a scan: iterations alternate */
/* Cells of shared memory for what a loop carries. */
static inline uint32_t carried_cells(const struct carried *k) {
    return k->term ? SCAN_CELLS * (k->by ? 2 : 1) : k->joined ? 1 : k->acc->lanes;
}
struct spread {
    uint32_t begin, end; /* positions of the RANGE and its END in the list */
    VEC(struct carried) acc;
    uint32_t cell;  /* offset of its slice of shared memory */
    bool again;     /* inside a loop: its slice is reused */
    bool rows;      /* accesses rows: kept elements need names, so it is unrolled */
    bool scans;     /* some accumulators are scanned .. */
    uint8_t *early; /* .. by position: computed before the scans */
};
typedef VEC(struct spread) spread_vec;

/* Scratch memory of which each iteration of the cooperative loops has `step` elements of its own: threads
 * keep them in registers. */
struct coop_row {
    const uop *local;
    int64_t step;
    uint32_t first, last; /* loops that touch it: it is live from the first to the last */
};
typedef VEC(struct coop_row) row_vec;

/* cuda_pre.c: what both preambles share. */
void gpu_common(struct str *);
void gpu_bytes(struct str *); /* conversions of fp8, after up_f16 */

/* gpu_coop.c: the outermost loops over AX_COOP ranges that can be cooperative, and their rows. None: one
 * thread per iteration of the grid. */
void spread_find(struct arena *, const struct linear *, uint32_t most_threads, spread_vec *, row_vec *,
                 const char **why);
/* Iterations of the loops of one thread. */
double thread_iterations(const struct linear *);
const struct coop_row *row_of(const row_vec *, const uop *local);
/* Scalars carried by a loop; by all loops. */
uint32_t spread_cells_of(const struct spread *);
uint32_t spread_cells(const spread_vec *);
/* Registers of a thread for rows, with `threads` per iteration. */
int64_t rows_kept(const struct linear *, const spread_vec *, const row_vec *, uint32_t threads);
/* Threads per iteration of the grid, and iterations per thread of a loop of n. */
uint32_t spread_threads(const struct linear *, uint32_t least, uint32_t most, const spread_vec *,
                        const row_vec *);
static inline int64_t coop_iterations(int64_t n, uint32_t threads) { return (n + threads - 1) / threads; }

/* Differences of the languages. */
struct dialect {
    bool cl;                          /* OpenCL C; else CUDA C */
    const char *thread, *group;       /* threadIdx, blockIdx */
    const char *item, *items;         /* global thread index, number of threads */
    const char *barrier;              /* barrier of the block */
    const char *global, *shared;      /* qualifiers of global and shared memory */
    const char *restricted, *aligned; /* restrict; alignment of an array of vectors */
};

struct gpu {
    struct render r;
    const struct dialect *d;
    VEC(struct c_text *) lane; /* by slot of r: lanes of the latest evaluation */
    spread_vec spread;
    row_vec row;
    const struct spread *open; /* the enclosing cooperative loop */
    const char *iteration;     /* index of this thread's iteration */
    bool guarded;              /* threads have unequal iterations */
    uint8_t *early;            /* by position: emitted ahead of the others, for a scan */
    bool atomic, many;         /* an array of buffers, indexed */
    bool weights;              /* computes operands of MMA instructions: subnormals are flushed */
    bool lanes;                /* a kernel with THREAD axes */
    bool late;                 /* PDL: griddepcontrol.wait after the first barrier */
    bool ahead;                /* loads are for later, and should be issued here */
    bool groups;               /* warp-specialized */
    const char *group;         /* .. then: index of its warpgroup, warp-uniform */
    uint32_t sums;             /* accumulators of a thread */
    uint32_t block, coop;      /* threads of a block; those per iteration of the grid */
    uint32_t columns;          /* iterations of the grid that neighbouring threads have (COLUMNS); else 0 */
    const char *member;        /* index of the thread among them */
    int64_t scratch;
    const char *why;                    /* render_shape */
    struct render_map map[RENDER_MAPS]; /* in the order of the parameters m0, m1 .. */
    uint32_t nmap;
};

struct gpu_access { /* INDEX, resolved */
    enum dtype dt;
    unsigned lanes, piece;    /* piece: elements of the widest vector access */
    const char *base, *space; /* space: address-space qualifier */
    const uop *index;
    struct c_text at; /* of a scalar index */
    bool panels;      /* 128-byte swizzle (union arg, mem) */
};

/* gpu.c */
void gpu_bad(struct gpu *, const uop *, const char *why); /* a bug in ridge: throws */
/* Lane i of a value; a scalar is the same in all. */
struct c_text gpu_operand(struct gpu *, const uop *, unsigned i);
/* The node's lanes by name; NULL: none yet. */
struct c_text **gpu_slot(struct gpu *, const uop *);
/* To be filled: the node's names from here on. */
struct c_text *gpu_new_lanes(struct gpu *, const uop *);

/* gpu_memory.c */
struct gpu_access gpu_access_of(struct gpu *, const uop *index);
/* An lvalue. */
const char *gpu_element(struct gpu *, const struct gpu_access *, unsigned i);
void gpu_load(struct gpu *, const uop *, struct c_text *out);
bool gpu_loads_ahead(const struct gpu *);
void gpu_store(struct gpu *, const uop *);
void gpu_prefetch(struct gpu *, const uop *);
/* Two lanes packed in a word. */
void gpu_pair_lanes(struct gpu *, const char *word, struct c_text *out);
const char *gpu_pair(struct gpu *, const uop *, unsigned lane);

/* gpu_mma.c: cp.async, ldmatrix, MMA, TMA. */
void gpu_copy(struct gpu *, const uop *);
void gpu_ldmatrix(struct gpu *, const uop *);
void gpu_warp_reduce(struct gpu *, const uop *);
void gpu_mma(struct gpu *, const uop *);
void gpu_mma_wait(struct gpu *, const uop *);
void gpu_box(struct gpu *, const uop *); /* TMA, mbarriers, setmaxnreg */
void gpu_find_maps(struct gpu *);        /* fills map */

/* Do warps reduce through shared memory? */
static inline bool gpu_has_warps(const struct gpu *c) { return (c->columns ? c->block : c->coop) > 32; }

/* gpu_combine.c: accumulators of a cooperative loop, before and after it. */
void gpu_open_shared(struct gpu *, const struct spread *);
void gpu_close_shared(struct gpu *, const struct spread *);
/* A statement x = x op y. */
void gpu_step(struct gpu *, enum op, enum dtype, const char *x, const char *y);
/* gpu_scan.c: opens a cooperative loop with scans: what they add, block scans, then the iteration if it is one. */
void gpu_open_scan(struct gpu *, const struct spread *, const uop *range, const char *type, const char *name);
/* One entry of the list. */
void gpu_entry(struct gpu *, const uop *);
void gpu_one_name(struct gpu *, const uop *, const char *name);
/* 8-byte words of shared memory for reductions */
uint32_t gpu_shared_words(const struct gpu *, uint32_t cells);

#endif
