/* internal.h: what the files of src/codegen share; private. */
#ifndef RIDGE_CODEGEN_INTERNAL_H
#define RIDGE_CODEGEN_INTERNAL_H

#include "codegen/sched.h"

/* Address of `lanes` consecutive elements of a buffer (or of one element per lane of a vector index). */
static inline const uop *mk_index(struct ir *ir, const uop *buf, const uop *i, unsigned lanes) {
    return uop_new(ir, OP_INDEX, (enum dtype)buf->dt, lanes, (const uop *[]){buf, i}, 2, ARG_NONE);
}

/* ---- stage.c: STAGE and RESIDENT ------------------------------------------------------------------ */

/* A dimension of a tile: an axis, or several that walk over the same elements. */
enum { STAGE_WINDOW = 8 };
struct stage_dim {
    uint32_t axis[STAGE_WINDOW], n;
};
void opt_stage(struct sched *, const char *opt, const char *buffer, uint32_t at, const struct stage_dim *dims,
               uint32_t ndims);
void opt_resident(struct sched *, const char *opt, uint32_t axis, bool loads);
/* Predicates of the terms of a contraction become predicates of its factors. */
void pred_factors(struct sched *);
/* Row-major position of ranges: ((r0*n1 + r1)*n2 + r2).. */
const uop *linear_index(struct rw *, const uop *const *range, uint32_t n);
/* Where a STAGE has the element at its ranges; elements from one row to the next; elements in all. */
const uop *stage_index(struct rw *, const uop *stage);
int64_t stage_pitch(enum dtype, int64_t row);
int64_t stage_size(const uop *stage);

/* ---- lower.c: a kernel on its way through the passes ------------------------------------------------ */

struct lowering {
    struct ir *ir;
    const struct kernel *kernel;
    const char *opts;
    struct target target; /* vec_bytes is known */
    struct pass_log *log; /* may be NULL */
    enum pass next;       /* the first that has not run */
    struct sched sched;
    const uop *sink;    /* the graph, once its axes are final */
    const uop *tree;    /* what the last pass left */
    struct rw pred;     /* rules_predicate, from expand on */
    struct linear *out; /* NULL if lowering ends before linearize */
};
void lower_start(struct lowering *, struct ir *, const struct kernel *, const struct lower_opts *,
                 struct linear *out);
/* Runs the passes that have not run up to `last`, inclusive. */
void lower_until(struct lowering *, enum pass last);

/* ---- block_sums.c: sums longer than a block in levels; the graph with final axes in and out ---------- */

const uop *sched_block_sums(struct sched *, const struct target *);

/* ---- the passes after opts; each takes and returns a loop tree (BLOCK) ----------------------------- */

const uop *tree_build(struct sched *, const uop *sink);    /* loop_tree.c */
const uop *tree_mma(struct sched *, const uop *tree);      /* mma.c: MMA instructions */
const uop *tree_pipeline(struct sched *, const uop *tree); /* pipeline.c: multistage shared-memory tiles */
/* wgmma_schedule.c: orders the statements of a loop with several GEMMs and puts WGMMA_WAITs between them.
 * carry: some may complete in the next iteration; returns whether some do. */
bool wgmma_schedule_body(struct ir *, const uop_vec *body, bool carry, uop_vec *out);
/* warp_specialize.c: producer and consumer warpgroups */
const uop *tree_warp_specialize(struct sched *, const uop *tree);
/* wgmma_schedule.c: if statement i zeroes the accumulator of the MMA after it: that MMA with zero_init;
 * else NULL. */
const uop *mma_begins(struct ir *, const uop_vec *body, uint32_t i);
void tma_outputs(struct sched *, const uop *tree); /* before tree_mma: which stores can use TMA */
/* threads.c: THREAD axes become threadIdx, with barriers */
const uop *tree_threads(struct sched *, const uop *tree);
/* tma_tile.c: the TMA copy of a statement that fills a tile; k: the loop around it, beyond whose end zeros
 * are needed. Fails the opt if TMA cannot copy it. */
struct tma_tile tma_tile_of(struct sched *, const char *opt, const uop *fill, const uop *k);
/* The same of a store along the ranges m and n of an MMA instruction: panels along n, rows along m. False:
 * TMA cannot. */
bool tma_tile_stored(struct sched *, const uop *store, const uop *m, const uop *n, struct tma_tile *out);
/* threads.c: threadIdx of the whole block, producers included; lanes: threads that the THREAD axes make. */
const uop *block_thread(struct sched *, const uop *tree, int64_t *lanes);
/* pipeline.c: fences, commits and waits around each run of wgmma. */
const uop *tree_waits(struct sched *, const uop *block);
/* pipeline.c: a load, perhaps predicated with zeros: its INDEX, and the predicate or NULL; false: anything else. */
bool plain_copy(struct rw *, const uop *value, const uop **index, const uop **pred);
/* threads.c: the COPY ranges of a fill in the order in which its elements are numbered, slowest first. */
void fill_order(struct sched *, struct free_ranges *, const uop *stmt, uop_vec *out);
/* Is the fill transposed in registers, square by square, between global and shared memory? */
bool fill_is_transposed(struct sched *, const uop *stmt);
/* A cooperative copy by `fillers` threads; filler: index of this thread among them. */
void fill_cooperative(struct sched *, const uop *stmt, const uop *filler, int64_t fillers, uop_vec *out);
/* peel.c: padded loops get a main and a tail body */
const uop *tree_peel(struct rw *, const uop *tree, const struct target *);
const uop *tree_expand(struct rw *, const uop *tree); /* expand.c: unrolls UNROLL and REG, vectorizes VEC */
const uop *tree_coalesce(struct rw *, const uop *tree, const struct target *); /* coalesce.c: vector loads */
const uop *tree_slp(struct ir *, const uop *tree, const struct target *); /* slp.c: epilogues of scalars */
const uop *tree_prefetch(struct sched *, const uop *tree);                /* prefetch.c: prefetches */
const uop *tree_prefetch_sums(struct ir *, const uop *tree);              /* .. of partial sums in memory */
/* index_width.c: IDX becomes i64 or i32 */
const uop *tree_index(struct rw *, const uop *tree, const struct target *);
void linearize(struct ir *, const uop *tree, struct linear *);  /* linearize.c */
int64_t tree_shared(struct ir *, const uop *tree);              /* bytes of shared memory of a block */
void linear_cold_branches(struct ir *, struct linear *);        /* cold_branch.c: UNLIKELY becomes a branch */
void estimate_issued(const struct linear *, struct estimate *); /* estimate.c */

/* Replaces each leaf statement of a tree by fn's list of statements; FOR, IF and BLOCK are kept. */
typedef void (*leaf_fn)(void *cx, const uop *stmt, uop_vec *out);
const uop *tree_map_leaves(struct ir *, const uop *tree, leaf_fn, void *cx);
const uop *tree_block(struct ir *, const uop_vec *);
static inline bool tree_is_leaf(const uop *s) {
    return s->op != OP_FOR && s->op != OP_IF && s->op != OP_BLOCK;
}
/* Nodes below the leaf statements of a block. */
void tree_leaf_nodes(struct ir *, const uop *block, uop_vec *topo);

#endif
