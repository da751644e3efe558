/* internal.h: what the files of src/schedule share. schedule.h is the public face. */
#ifndef RIDGE_SCHEDULE_INTERNAL_H
#define RIDGE_SCHEDULE_INTERNAL_H

#include "schedule/schedule.h"

/* ---- plan_graph.c: the tensor program as the planner sees it ------------------------------------------- */

/* plan_graph.c: a node of a movement or a reduction, whose sources after n are the numbers d; a tensor all of whose elements are 0. */
const uop *graph_shaped(struct ir *, enum op, const uop *n, const int64_t *d, uint32_t k);
bool graph_is_zero(const uop *);

/* A unit is a node that could be stored: everything that computes, and views that must be. Movement ops, numbers and
 * buffers are no units; they are seen through. */
enum { UNIT_FREE, UNIT_FORCED, UNIT_NEVER }; /* may, must, must not be stored */
enum { HINT_ELEMENTWISE, HINT_CONTRACTION, HINT_REDUCTION, HINT_NUMBER };
struct unit {
    const uop *n;
    uint8_t forced, hint;
    uint8_t kept; /* INLINE: never stored, but a kernel keeps a row of it; see value_kept() in rangeify.c */
    uint8_t row;  /* never stored because of INLINE: see never_store_rows() in plan_graph.c */
    uint8_t
        cut; /* made by a contraction and reduced later, or a part of a sum: in memory between two kernels */
    uint32_t *use; /* units that read it, ending in UINT32_MAX */
    uint32_t *src; /* units that it reads, the same */
};
struct sgraph {
    struct arena *a;
    struct ir *ir; /* the planner's own copy of the program */
    struct shapes shapes;
    const struct sched_opts *opts;
    const uop *root;   /* GRAPH */
    struct unit *unit; /* topological */
    uint32_t units;
    uint32_t *unit_of;           /* node id -> unit + 1, 0: none */
    uint32_t *origin;            /* node id -> id + 1 of the caller's node that it was made for, or 0 */
    const uop **memory;          /* node id -> node whose memory it lives in (ASSIGN: its BUFFER), or NULL */
    const uop **target;          /* [root->nsrc]: node that is stored for this result */
    struct arena *region, *eval; /* scratch: of a region's plan, of one kernel's price */
    const uint8_t *old; /* the caller's node id -> 1: readers of this version of a buffer get a copy */
};
/* Imports, removes what does not compute, splits long reductions, finds the units. old: see above; may be NULL. */
void sgraph_init(struct sgraph *, struct arena *, struct ir *, const uop *graph, const struct sched_opts *,
                 const uint8_t *old);
static inline const struct shape *sg_shape(struct sgraph *g, const uop *n) { return shape_of(&g->shapes, n); }
static inline bool sg_is_memory(const struct sgraph *g, const uop *n) {
    return n->op == OP_BUFFER || n->op == OP_ASSIGN || n->op == OP_SCATTER ||
           (g->memory[n->id] && g->memory[n->id] != n);
}
/* The node whose memory n is read from or written to. */
static inline const uop *sg_memory(const struct sgraph *g, const uop *n) {
    return g->memory[n->id] ? g->memory[n->id] : n;
}
/* scatter_ordered.c: a scatter-add of src[2] at src[1] to src[0] along an axis, as a function of the device that adds in the order of
 * the index. The call's sources must be stored. */
struct ordered_sum {
    const uop *result, *call;
};
struct ordered_sum ordered_sum(struct ir *, struct shapes *, const uop *const src[3], int64_t axis);

/* split.c: reductions to few results become two levels, so that all cores have work. NULL: leave n. *stored: a partial
 * result that must be stored, or NULL. */
const uop *split_reduction(struct ir *, struct shapes *, const uop *n, bool gpu, const uop **stored);
/* scatter.c: sums onto zeros at places that a tensor tells, on a GPU: in 64-bit integers, so that every run gives the same bits. */
struct scatter_fixed {
    const uop *greatest; /* of the sizes of what is added: one number */
    int64_t bits;        /* that it has */
};
bool scatter_is_inexact(const uop *base, enum dtype); /* .. and the sum depends on the order */
void scatter_begin(struct ir *, struct shapes *, const uop *value, int64_t axis, struct scatter_fixed *);
const uop *scatter_zeros(struct ir *, struct shapes *, const struct scatter_fixed *, const struct shape *);
const uop *scatter_to_fixed(struct ir *, struct shapes *, const struct scatter_fixed *, const uop *value);
const uop *scatter_to_float(struct ir *, struct shapes *, const struct scatter_fixed *, const uop *sum,
                            enum dtype);
/* repack.c: a product whose operands do not lie as a GPU's tiles are filled, over padded copies of them. False: leave it. */
struct repacked {
    /* asked for: rows of the result as they are, whatever their length, where the device stores such well */
    bool odd_rows;
    const uop *sum;       /* as n, with its shape */
    const uop *stored[2]; /* the copies, which must be stored, or NULL */
    /* the sum before it is cut, if its rows are longer than asked for, which must be stored as it is where it is rounded to a
     * half; else NULL */
    const uop *rows;
};
bool repack_product(struct ir *, struct shapes *, const uop *n, const struct sched_opts *, struct repacked *);

/* ---- rangeify.c: the kernel of a set of outputs --------------------------------------------------- */

struct at_memo {
    const uop *n, *pred, *value;
    const uop *const *idx;
    uint64_t hash;
};
struct row_read { /* of a kept value */
    uint32_t unit;
    bool by_row;     /* while another row is filled, element for element */
    const uop *load; /* the read */
    const uop *pred; /* where the row is masked, the condition at which it is not 0, else NULL */
};
struct rangeify {
    struct sgraph *g;
    struct arena *a; /* scratch of one kernel; the caller may release it when it is done with the kernel */
    struct ir *ir;   /* kernels are written here */
    struct rw rw;
    struct free_ranges fr;
    const uint8_t *stored; /* by unit */
    uint8_t *plain;        /* by unit: a kept value of which this kernel keeps no row */
    VEC(struct row_read) row_reads;
    struct map row_ranges; /* ids of RANGEs along kept rows */
    uint8_t *out;          /* by unit: 1 for the outputs of this kernel, which are computed and not loaded */
    const uop *dim[SHAPE_MAX]; /* the domain: a RANGE for each axis, or 0 */
    uint32_t dims;
    const uop **param; /* node id of memory -> its PARAM */
    struct at_memo *memo;
    uint32_t memo_n, memo_cap;
    struct map reduce_ranges; /* context, level, size -> RANGE */
    uint32_t *level;          /* node id -> reductions below it in this kernel; the epoch in the high bits */
    uint32_t epoch, visited, next_range;
    VEC(uint64_t)
    node_of; /* kernel node id -> epoch << 32 | id of the graph node whose value it is in this kernel */
    uint32_t sym_buffer, sym_reduce, sym_dim;
    const char *illegal; /* why this is not a kernel; NULL: it is */
    bool flat;           /* one coordinate for all tensors: for BATCH */
};
void rangeify_init(struct rangeify *, struct sgraph *, struct arena *scratch, struct ir *);
/* SINK of the kernel that stores these units, over raw ranges (outputs LOOP with pos = axis, reductions REDUCE);
 * NULL: not a legal kernel, r->illegal says why. PARAM slots are node ids of the memory's node. */
const uop *rangeify_kernel(struct rangeify *, const uint32_t *unit, uint32_t n, const uint8_t *stored);
/* Which of the domain's ranges may be the grid: those that every store, reduction and kept row depends on. topo: all nodes
 * of the kernel. */
void rangeify_grid(struct rangeify *, const uop_vec *topo, bool grid[SHAPE_MAX]);

/* ---- price.c: what a kernel costs ------------------------------------------------------------------ */

struct price {
    double seconds;
    double bytes;           /* distinct, loaded and stored */
    uint32_t reads, writes; /* buffers */
    enum model_unit limit;
};
/* INFINITY and r->illegal when the kernel is of no class that can be made fast. */
struct price price_kernel(struct rangeify *, const uop *sink, const struct model *);

/* ---- kernel.c: from raw ranges to a kernel as codegen wants it -------------------------------------- */

struct built {
    struct ir *ir;
    const uop *sink;
    const char *name;
    const uop **buffer; /* by slot: node of the graph whose memory it is */
    uint32_t nbuf;
    uint32_t *var; /* by slot: slot of the graph's VAR */
    const char **var_name;
    uint32_t nvar;
    const struct sched_builtin *builtin; /* of a CALL; then sink is the CALL itself */
    uint64_t key;
    const char *text; /* what the key was made from: equal text, equal kernel */
};
void kernel_build(struct rangeify *, const uop *sink, struct built *);

/* ---- plan.c: regions and their problems --------------------------------------------------------------- */

struct planned {          /* a kernel of the plan */
    const uint32_t *unit; /* what it stores */
    uint32_t n;
    const struct built *built;
    const uop *const *buffer; /* [built->nbuf] */
    struct price price;
    double share; /* of a batch: the part of its tasks that is filled; 0: no batch */
};
struct plan {
    VEC(struct planned) kernel;
    uint8_t *stored; /* by unit */
    double seconds, store_all, fuse_all;
    uint32_t regions, distinct;
    uint64_t evaluations;
};
void plan_graph(struct sgraph *, struct plan *);
/* Writes and prices one kernel for good. */
void plan_emit(struct sgraph *, struct rangeify *, struct planned *, const uint8_t *stored);

/* ---- call.c: functions of the device --------------------------------------------------------------------- */

void plan_call(struct sgraph *, uint32_t unit, struct plan *);

/* ---- batch.c: the same pointwise kernel on many tensors -------------------------------------------------- */

struct flat;
struct batch_group { /* calls that may become one */
    const char *key;
    VEC(uint32_t) call;
    VEC(struct flat *) flat;
};
struct batch {
    struct rangeify *r;
    struct ir *ir; /* kernels over one coordinate, in canonical form */
    struct map known;
    VEC(struct batch_group) group;
};
void batch_init(struct batch *, struct rangeify *);
/* Adds a call to the group it fits, or to a new one if that has as many buffers as a kernel may; depth: that of the call
 * among all calls. False: no such kernel. */
bool batch_candidate(struct batch *, const struct planned *, const uint8_t *stored, uint32_t depth,
                     uint32_t call);
bool batch_fits(const struct batch_group *); /* two or more */
/* Its kernel; the last buffer is NULL: the table of tasks. */
void batch_build(struct batch *, const struct batch_group *, struct planned *out, int64_t **table,
                 uint32_t *words);

#endif
