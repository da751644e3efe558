/* cg.h: what the files of src/codegen share; nobody outside includes it. */
#ifndef RIDGE_CG_H
#define RIDGE_CG_H

#include "codegen/codegen.h"
#include "rules/rules.h"

/* Address of `lanes` consecutive elements of a buffer (or of one element per lane of a vector index). */
static inline const uop *mk_index(struct ir *ir, const uop *buf, const uop *i, unsigned lanes) {
    return uop_new(ir, OP_INDEX, (enum dtype)buf->dt, lanes, (const uop *[]){buf, i}, 2, ARG_NONE);
}

/* ---- opts.c: the schedule, a kernel graph whose axes opts have cut and marked -------------------- */

/* One axis class. Its members are the RANGEs of that class in the graph: the passes over one logical axis.
 * The order of the table is the nesting order of the loops. */
struct axis {
    uint32_t name;
    uint32_t members; /* how many RANGEs */
    int64_t size;     /* of every member; -1: known at run time only */
    int64_t most;     /* greatest size */
    uint8_t
        kind; /* AX_COUNT: each member as it is (GRID, LOOP, REDUCE, SCAN); else what an opt made of all */
    uint8_t natural; /* what the members are without an opt */
    bool grid;       /* members are GRID or cut from a GRID axis: its values may run in any order, at once */
    bool reduce, scan; /* some member is bound by a REDUCE; is run along by a SCAN */
    bool staged;       /* some member is bound by a STAGE */
};

/* PIPE: what `buffer` will be asked for `ahead` values of `axis` later is fetched in its pass number `pass`. */
struct pipe {
    const char *opt;
    uint32_t buffer, axis;
    int64_t ahead, pass, level;
};

/* box.c: a tile in shared memory that is a box of a buffer, panel by panel. */
struct box {
    const uop *map;        /* MAP; of a store whose rows begin anywhere: NULL */
    const uop *at[2];      /* coordinates of the first element, along a row and across */
    int64_t size[2], step; /* of the buffer: elements of a row, rows; from row to row */
    int64_t width, rows;   /* elements of a row of 128 bytes; rows of a copy */
    int64_t panels, parts; /* copies: panels side by side, and parts of a panel one below the other */
    int64_t bytes;         /* of the tile */
};
struct box_of_store {
    const uop *param;
    struct box box;
    uint32_t tc; /* the product whose m and n it is along */
};

struct sched {
    struct ir *ir;
    struct rw rw; /* rules_sym: what is built here is simplified at birth */
    const struct kernel *kernel;
    const uop *sink;
    VEC(struct axis) axis;
    uint32_t stages; /* names given so far */
    VEC(struct pipe) pipe;
    struct product { /* TC: a matrix instruction and the axes of its m, n, k */
        enum mma instr;
        uint32_t axis[3];
        const uop *lane, *reg[4]; /* once laid out: LANE range; ranges of the accumulator's digits */
    } tc[4];
    uint32_t ntc;
    struct {                          /* ROLES, PERSIST */
        int64_t teams;                /* 0: all threads do the same */
        int64_t blocks;               /* 0: one for each tile */
        uint32_t cluster;             /* CLUSTER: the axis whose values are its blocks; 0: there is none */
        VEC(struct box_of_store) out; /* stores that go through shared memory */
    } roles;
};
enum {
    PRODUCERS = 128
}; /* threads that copy, behind those that compute: a group of warps, of which one works */
/* Matrix instructions of groups of warps, which read tiles by themselves. */
static inline bool sched_has_groups(const struct sched *s) {
    return s->ntc && mma_from_shared(s->tc[0].instr);
}
/* What an instruction sums up is added to the sums of the thread, tile by tile. */
static inline bool sums_in_parts(enum mma i) { return mma_sums_are_short(i) && !env_int(ENV_F8_FAST); }
static inline bool axis_is_grid(const struct axis *a) {
    return a->kind == AX_GRID || (a->kind == AX_COUNT && a->natural == AX_GRID);
}
void sched_init(struct sched *, struct ir *, const struct kernel *);
void sched_apply(struct sched *, const char *opts); /* throws RG_EOPT */
void sched_refresh(struct sched *);                 /* recount members and flags after the graph changed */
bool sched_has_lanes(const struct sched *);         /* a block program: its tiles are shared by the threads */
/* Writes kinds and positions into the RANGEs, and splits reductions into levels. The graph tree.c wants. */
const uop *sched_finish(struct sched *);
struct axis *sched_axis(struct sched *, uint32_t name); /* NULL if there is none */
/* Replaces RANGEs everywhere: from[i] becomes expr[i] in expressions and the list piece[i] where it is bound. */
struct range_subst {
    const uop *from, *expr;
    const uop *piece[2];
    uint32_t npiece;
};
const uop *sched_subst(struct sched *, const uop *root, const struct range_subst *, uint32_t n);
void sched_members(struct sched *, uint32_t cls, uop_vec *out); /* RANGEs of a class in the graph */
const uop *sched_range(struct sched *, const uop *size, const uop *like, uint32_t cls, enum axis_kind);
int range_by_pos(const void *, const void *); /* for qsort over RANGEs */
bool binds_ranges(const uop *);               /* REDUCE, SCAN, STAGE */
/* join.c: outer and inner become one axis. */
void opt_join(struct sched *, const char *opt, struct axis *outer, struct axis *inner, uint32_t name);
void opt_tile(struct sched *, const char *opt, uint32_t axis, int64_t n, uint32_t inner);
/* stream.c: the passes over `axis` and over `more` become one, in blocks of n. */
void opt_stream(struct sched *, const char *opt, uint32_t axis, int64_t n, uint32_t inner,
                const uint32_t *more, uint32_t nmore);
void pad_axis(struct sched *, const char *opt, struct axis *, int64_t n);
/* pad.c: up to a multiple of n; begun earlier, so that stores are at such */
void align_axis(struct sched *, const char *opt, struct axis *, int64_t n);
RG_NORETURN void opt_fail(struct sched *, const char *opt, const char *fmt, ...) RG_FMT(3, 4);

/* random.c: opts_legal, with a look at the axes and the finished graph while they exist, if the list is legal. */
bool opts_look(struct ir *, const struct kernel *, const char *opts, struct str *why,
               void (*look)(void *cx, struct sched *, const uop *sink), void *cx);

/* ---- stage.c: STAGE and RESIDENT ------------------------------------------------------------------ */

/* A dimension of a tile: an axis, or several that walk over the same elements. */
enum { STAGE_WINDOW = 8 };
struct stage_dim {
    uint32_t axis[STAGE_WINDOW], n;
};
void opt_stage(struct sched *, const char *opt, const char *buffer, uint32_t at, const struct stage_dim *dims,
               uint32_t ndims);
void opt_resident(struct sched *, const char *opt, uint32_t axis, bool loads);
/* Gates of products that are summed become gates of their factors. */
void gate_factors(struct sched *);
/* Row-major position of ranges: ((r0*n1 + r1)*n2 + r2).. */
const uop *linear_index(struct rw *, const uop *const *range, uint32_t n);
/* Where a STAGE has the element at its ranges; elements from one row to the next; elements in all. */
const uop *stage_index(struct rw *, const uop *stage);
int64_t stage_pitch(enum dtype, int64_t row);
int64_t stage_size(const uop *stage);

/* ---- the steps after opts; each takes and returns a loop tree (BLOCK) ----------------------------- */

const uop *tree_build(struct sched *, const uop *sink); /* tree.c */
const uop *tree_blocks(struct sched *,
                       const uop *tree); /* block.c: mma, ring, threads: all of a block program */
const uop *tree_mma(struct sched *, const uop *tree);  /* mma.c: matrix instructions */
const uop *tree_ring(struct sched *, const uop *tree); /* ring.c: shared tiles filled ahead */
/* weave.c: the statements of a loop with several products, ordered, with their waits. carry: some products may be over in the
 * next iteration only; returns whether some are. */
bool weave_body(struct ir *, const uop_vec *body, bool carry, uop_vec *out);
const uop *tree_roles(struct sched *, const uop *tree); /* roles.c: a warp that copies, others that compute */
/* weave.c: where statement i is a SET to 0 of what the matrix instruction behind it adds to: that instruction, which begins there
 * instead; or NULL. */
const uop *mma_begins(struct ir *, const uop_vec *body, uint32_t i);
void roles_outputs(struct sched *, const uop *tree);      /* before tree_mma: which stores are boxes */
const uop *tree_threads(struct sched *, const uop *tree); /* block.c: axes become threads, with barriers */
/* Of a statement that fills a tile; k: the loop it stands in, beyond whose end zeros are needed. opt_fail if it is none. */
struct box box_of(struct sched *, const char *opt, const uop *fill, const uop *k);
/* Of a store of values along the ranges m and n of a matrix instruction; panels along n, rows of m. False: it is none. */
bool box_stored(struct sched *, const uop *store, const uop *m, const uop *n, struct box *out);
/* block.c: the number of a thread, of all roles; lanes: threads that the LANE axes make. */
const uop *block_thread(struct sched *, const uop *tree, int64_t *lanes);
/* ring.c: a load, perhaps with zeros where a gate is false: its INDEX, and the gate or NULL; false: something else. */
/* Each run of matrix instructions of a group is waited for at once. */
const uop *tree_waits(struct sched *, const uop *block);
bool plain_copy(struct rw *, const uop *value, const uop **index, const uop **gate);
/* The SPREAD ranges of a fill in the order in which its elements are numbered, slowest first. */
void fill_order(struct sched *, struct free_ranges *, const uop *stmt, uop_vec *out);
/* Squares of it are turned in registers, between memory and the panels of a tile. */
bool fill_is_turned(struct sched *, const uop *stmt);
/* A fill dealt out to so many threads, which are numbered by `filler`. */
void fill_by_hand(struct sched *, const uop *stmt, const uop *filler, int64_t fillers, uop_vec *out);
const uop *tree_peel(struct rw *, const uop *tree,
                     bool threads); /* peel.c: padded loops get a main and a tail body; threads: of a GPU */
const uop *tree_expand(struct rw *, const uop *tree); /* expand.c: UNROLL, REG, VEC written out */
/* coalesce.c: wide loads; parts: of halves and bytes also less than a register */
const uop *tree_coalesce(struct rw *, const uop *tree, int vec_bytes, bool parts);
const uop *tree_pipe(struct sched *, const uop *tree);             /* pipe.c: prefetches */
const uop *tree_index(struct rw *, const uop *tree, bool scalars); /* index.c: IDX becomes i64 or i32 */
void linearize(struct ir *, const uop *tree, struct linear *);     /* linearize.c */
void linear_rare(struct ir *, struct linear *);                    /* rare.c: RARE becomes a branch */
void estimate_issued(const struct linear *, struct estimate *);    /* estimate.c */

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
