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
/* Predicates of products that are summed become predicates of their factors. */
void pred_factors(struct sched *);
/* Row-major position of ranges: ((r0*n1 + r1)*n2 + r2).. */
const uop *linear_index(struct rw *, const uop *const *range, uint32_t n);
/* Where a STAGE has the element at its ranges; elements from one row to the next; elements in all. */
const uop *stage_index(struct rw *, const uop *stage);
int64_t stage_pitch(enum dtype, int64_t row);
int64_t stage_size(const uop *stage);

/* ---- the steps after opts; each takes and returns a loop tree (BLOCK) ----------------------------- */

const uop *tree_build(struct sched *, const uop *sink); /* loop_tree.c */
const uop *tree_gpu(struct sched *,
                    const uop *tree); /* threads.c: mma, ring, threads: all of a block program */
const uop *tree_mma(struct sched *, const uop *tree);      /* mma.c: MMA instructions */
const uop *tree_pipeline(struct sched *, const uop *tree); /* pipeline.c: shared tiles filled ahead */
/* wgmma_schedule.c: the statements of a loop with several products, ordered, with their waits. carry: some products may be over in the
 * next iteration only; returns whether some are. */
bool wgmma_schedule_body(struct ir *, const uop_vec *body, bool carry, uop_vec *out);
const uop *
tree_warp_specialize(struct sched *,
                     const uop *tree); /* warp_specialize.c: a warp that copies, others that compute */
/* wgmma_schedule.c: where statement i is a SET to 0 of what the MMA instruction behind it adds to: that instruction, which begins there
 * instead; or NULL. */
const uop *mma_begins(struct ir *, const uop_vec *body, uint32_t i);
void tma_outputs(struct sched *, const uop *tree);        /* before tree_mma: which stores are boxes */
const uop *tree_threads(struct sched *, const uop *tree); /* threads.c: axes become threads, with barriers */
/* Of a statement that fills a tile; k: the loop it stands in, beyond whose end zeros are needed. opt_fail if it is none. */
struct box tma_tile_of(struct sched *, const char *opt, const uop *fill, const uop *k);
/* Of a store of values along the ranges m and n of a MMA instruction; panels along n, rows of m. False: it is none. */
bool tma_tile_stored(struct sched *, const uop *store, const uop *m, const uop *n, struct box *out);
/* threads.c: the number of a thread, of all roles; lanes: threads that the THREAD axes make. */
const uop *block_thread(struct sched *, const uop *tree, int64_t *lanes);
/* pipeline.c: a load, perhaps with zeros where a predicate is false: its INDEX, and the predicate or NULL; false: something else. */
/* Each run of MMA instructions of a group is waited for at once. */
const uop *tree_waits(struct sched *, const uop *block);
bool plain_copy(struct rw *, const uop *value, const uop **index, const uop **pred);
/* The FOLD ranges of a fill in the order in which its elements are numbered, slowest first. */
void fill_order(struct sched *, struct free_ranges *, const uop *stmt, uop_vec *out);
/* Squares of it are turned in registers, between memory and the panels of a tile. */
bool fill_is_transposed(struct sched *, const uop *stmt);
/* A fill dealt out to so many threads, which are numbered by `filler`. */
void fill_cooperative(struct sched *, const uop *stmt, const uop *filler, int64_t fillers, uop_vec *out);
const uop *tree_peel(struct rw *, const uop *tree,
                     bool threads); /* peel.c: padded loops get a main and a tail body; threads: of a GPU */
const uop *tree_expand(struct rw *, const uop *tree); /* expand.c: UNROLL, REG, VEC written out */
/* coalesce.c: wide loads; parts: of halves and bytes also less than a register */
const uop *tree_coalesce(struct rw *, const uop *tree, int vec_bytes, bool parts);
const uop *tree_prefetch(struct sched *, const uop *tree);         /* prefetch.c: prefetches */
const uop *tree_index(struct rw *, const uop *tree, bool scalars); /* index.c: IDX becomes i64 or i32 */
void linearize(struct ir *, const uop *tree, struct linear *);     /* linearize.c */
void linear_cold_branches(struct ir *, struct linear *);        /* cold_branch.c: UNLIKELY becomes a branch */
void estimate_issued(const struct linear *, struct estimate *); /* estimate.c */

/* Replaces each leaf statement of a tree by fn's list of statements; FOR, IF and BLOCK are kept. */
typedef void (*leaf_fn)(void *cx, const uop *stmt, uop_vec *out);
const uop *tree_map_leaves(struct ir *, const uop *tree, leaf_fn, void *cx);
const uop *tree_block(struct ir *, const uop_vec *);
static inline bool tree_is_leaf(const uop *s) {
    return s->op != OP_FOR && s->op != OP_IF && s->op != OP_BLOCK;
}
void tree_leaf_nodes(struct ir *, const uop *block,
                     uop_vec *topo); /* nodes below the leaf statements of a block */

#endif
