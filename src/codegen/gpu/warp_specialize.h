/* warp_specialize.h: state of a warp-specialized kernel, shared by warp_specialize.c, its epilogues
 * (epilogue_tma.c, epilogue_unaligned.c), cluster_splitk.c and attention_pipeline.c. */
#ifndef RIDGE_WARP_SPECIALIZE_H
#define RIDGE_WARP_SPECIALIZE_H

#include "codegen/internal.h"

/* Shared memory of a block, bytes; the part kept for mbarriers; a panel of the epilogue: rows, bytes of a
 * row. */
enum { SMEM_MBARS = 1024, STORE_ROWS = 64, STORE_BYTES = 128 };

/* A pipeline: stages with an mbarrier FULL each, then one EMPTY each. Tiles loaded and released together
 * share one. */
struct ws_pipeline {
    int64_t stages, bar; /* bar: index of the first mbarrier */
    /* one thread of each `release_threads` arrives at EMPTY: a warpgroup, or a warp where threads read the
     * tile themselves */
    int64_t release_threads;
    /* TMA cannot load its tiles: the producer warpgroup copies them cooperatively */
    bool cooperative;
};
enum { FULL, EMPTY };

struct ws_tile {
    /* the statement that fills it; its LOCAL; the same with room for all stages */
    const uop *fill, *local, *wide;
    struct tma_tile box;
    uint32_t pipeline;
    bool stationary; /* loaded once per output tile, before the main loop */
};

/* Pipeline state: stage and phase of iteration `iter`, counted in registers; prev: the iteration before. */
struct pipeline_state {
    const uop *iter, *before, *stage, *phase;
};

/* Stage and phase of iteration `iter` pinned in registers, when all pipelines of the loop have as many
 * stages: computed once per thread, not per barrier. Descriptors of wgmma use `iter` itself, which is
 * warp-uniform. count: iter modulo what stage and phase distinguish. */
struct pinned_state {
    const uop *iter, *count, *stage, *phase;
};

struct ws {
    struct sched *s;
    struct ir *ir;
    struct rw *rw;
    struct arena *a;
    const char *opt;
    int64_t threads, consumers; /* threads per consumer; consumers, 1 or 2 */
    const uop *thread, *bars;
    const uop *k;          /* range of the main loop */
    const uop *count;      /* its iterations */
    const uop *iters_done; /* ACC: iterations of the output tiles before, where `count` is not constant */
    int64_t tiles, blocks, waves;
    uop_vec grid, init, mainloop, epilogue;
    VEC(struct ws_tile) tile;
    VEC(struct ws_pipeline) pipeline;
    struct pipeline_state state;
    struct pinned_state pinned[2]; /* of this iteration and the one before */
    int64_t ncounters;
    int64_t nbar, order_bar; /* mbarriers so far; the first ordering ones (ping-pong) */
    /* rank of the block in its cluster (a digit of the tile index) and size of the cluster; 1: none */
    const uop *rank;
    int64_t ranks;
    const uop *dsmem; /* DSMEM buffer that the other blocks of the cluster write to */
    /* the first GEMM of the next output tile is issued with the last of this one */
    bool overlap_tiles;
    /* back-to-back GEMMs: the main loop computes with accumulators of its wgmmas */
    bool attention;
    /* several second GEMMs (gradients of attention): wgmma_schedule.c orders them, none outlives an
     * iteration */
    bool reorder;
    uop_vec smem; /* shared memory of the epilogue, one LOCAL per type */
    /* panels per warpgroup; of unaligned rows: panels in one row */
    int64_t store_panels;
    /* LOAD of the residual that TMA brings into the epilogue's panels before the results overwrite it; or
     * NULL */
    const uop *residual;
    int64_t residual_bar; /* index of the first mbarrier of the panels */
    int64_t panel_fills;  /* how often a panel is filled with it for one tile */
    const uop *own_tile;  /* index of the output tile among those of a consumer */
    bool stores_tma;
    bool cooperative; /* some pipeline is */
    /* wgmmas are in loops inside an iteration, with waits of their own */
    bool nested;
    /* and the loop has one iteration: all tiles are loaded once per output tile */
    bool fill_once;
};

static inline const uop *num(struct ws *ws, int64_t v) { return uop_idx(ws->ir, v); }
static inline const uop *add(struct ws *ws, const uop *a, const uop *b) { return rw2(ws->rw, OP_ADD, a, b); }
static inline const uop *mul(struct ws *ws, const uop *a, int64_t n) {
    return rw2(ws->rw, OP_MUL, a, num(ws, n));
}
static inline const uop *mod(struct ws *ws, const uop *a, int64_t n) {
    return rw2(ws->rw, OP_MOD, a, num(ws, n));
}
static inline const uop *quo(struct ws *ws, const uop *a, int64_t n) {
    return rw2(ws->rw, OP_IDIV, a, num(ws, n));
}

static inline void put(struct ws *ws, uop_vec *out, const uop *stmt) { vec_push(ws->a, out, stmt); }

static inline void put_op(struct ws *ws, uop_vec *out, enum op op, int64_t n) {
    put(ws, out, uop_mk(ws->ir, op, NULL, 0, ARG_INT(n)));
}

/* A nested block: later passes move nothing out of it. */
static inline void put_part(struct ws *ws, uop_vec *part, uop_vec *out) {
    if (part->n) put(ws, out, tree_block(ws->ir, part));
    *part = (uop_vec){0};
}

static inline const uop *when(struct ws *ws, const uop *cond, const uop_vec *then, const uop_vec *other) {
    const uop *yes = tree_block(ws->ir, then);
    return other ? uop3(ws->ir, OP_IF, cond, yes, tree_block(ws->ir, other)) : uop2(ws->ir, OP_IF, cond, yes);
}

/* ---- warp_specialize.c ------------------------------------------------------------------------------------------------ */

const uop *ws_mbar(struct ws *, int64_t at, const uop *i);
const uop *ws_arrive(struct ws *, const uop *bar, int64_t bytes);
/* Waits for phase iter / stages + late of an mbarrier of the pipeline to complete. */
const uop *ws_wait(struct ws *, uint32_t pipeline, int kind, const uop *iter, int64_t late);
/* The pinned state of an iteration, or NULL. */
const struct pinned_state *ws_pinned(const struct ws *, const uop *iter);
/* Consumer release: one thread of each `release_threads` arrives at EMPTY of iteration `iter`; only: a
 * condition, or NULL. */
void ws_release(struct ws *, uint32_t pipeline, const uop *iter, const uop *only, uop_vec *out);
/* n with its tiles at the stage of iteration `iter`; stationary tiles at the stage of the wave. */
const uop *ws_at_stage(struct ws *, const uop *n, const uop *iter, const uop *wave);
/* Waits for the stationary tiles of a wave, or releases them. */
void ws_sync_stationary(struct ws *, const uop *wave, bool give, uop_vec *out);
/* The first thread of its warpgroup? Index of the warpgroup. */
const uop *ws_is_elected(struct ws *);
const uop *ws_warpgroup(struct ws *);

const uop *ws_range(struct ws *, const char *name, enum axis_kind, int pos, int64_t size, int id);
/* Named barrier of a warpgroup. */
void ws_warpgroup_sync(struct ws *, uop_vec *out);
/* A statement for the first thread of each warpgroup. */
void ws_elect_one(struct ws *, const uop *stmt, uop_vec *out);

/* ---- epilogue_tma.c ----------------------------------------------------------------------------------------- */

/* How a statement is stored through shared memory, or NULL. Register ranges that repeat a store's tile,
 * and how often. */
const struct tma_store_tile *epilogue_tma_of(const struct ws *, const uop *stmt);
int64_t epilogue_tma_repeats(struct ws *, const uop *store, const struct tma_store_tile *, uop_vec *out);
void epilogue_tma_plan(struct ws *); /* panels per warpgroup, and the residual */
void epilogue_tma_load_residual(struct ws *, uop_vec *out);
/* Prefetches loads of the epilogue that all rows share (a bias) before the main loop. */
void epilogue_tma_prefetch(struct ws *, const uop *store, const struct tma_store_tile *, uop_vec *out);
/* Stores the results of a tile; of its repetition `number`, of the columns of `rank` in a cluster; all
 * shares of a cluster. */
void epilogue_tma_store(struct ws *, uop_vec *out);
void epilogue_tma_store_tile(struct ws *, const uop *store, const struct tma_store_tile *, int64_t repeat,
                             int64_t part, uop_vec *out);
void epilogue_tma_store_shares(struct ws *, uop_vec *out);
/* A warpgroup's results, `columns` of each row from column `first` on, stored to a part of shared memory. */
struct smem_part {
    const uop *local, *offset;     /* offset of its first element */
    int64_t first, columns, pitch; /* elements; pitch: row stride */
};
const uop *ws_store_to_smem(struct ws *, const uop *store, uint32_t product, const struct smem_part *);

/* ---- epilogue_unaligned.c ------------------------------------------------------------------------------------------- */

/* Panels in a row, a divisor of the tile's, that fit into `bytes` per warpgroup; 0: none. */
int64_t unaligned_panels(struct ws *, const struct tma_store_tile *, int64_t bytes);
/* Stores a warpgroup's results whose rows are not 16-byte aligned. */
void unaligned_store(struct ws *, const uop *store, const struct tma_store_tile *, uop_vec *out);

/* ---- cluster_splitk.c ---------------------------------------------------------------------------------------------- */

void cluster_find(struct ws *);           /* finds the rank, once the loops are known */
int64_t cluster_bytes(const struct ws *); /* bytes of the DSMEM buffer */
/* Every block writes partial sums to the block that stores them, then cluster sync; adds what arrived to
 * the sums of share q. */
void cluster_scatter(struct ws *, uop_vec *out);
void cluster_reduce(struct ws *, int64_t q, uop_vec *out);

/* ---- attention_pipeline.c ------------------------------------------------------------------------------------------------ */

/* An output tile: its wave, its first iteration, and whether another one follows; NULL: tiles do not
 * overlap. */
struct attention_tile {
    const uop *wave, *iter, *more;
};
/* The main loop of a tile with back-to-back GEMMs; what precedes the first tile when tiles overlap. */
void attention_loop(struct ws *, const struct attention_tile *, uop_vec *out);
void attention_first(struct ws *, uop_vec *out);
/* Does the loop have several second GEMMs? Then wgmma_schedule.c orders it. */
bool attention_needs_reorder(const struct ws *);
void wgmma_schedule_loop(struct ws *, const struct attention_tile *, uop_vec *out);

#endif
