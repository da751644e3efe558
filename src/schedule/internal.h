/* internal.h: what the files of src/schedule share. schedule.h is the public face. */
#ifndef RIDGE_SCHEDULE_INTERNAL_H
#define RIDGE_SCHEDULE_INTERNAL_H

#include "schedule/schedule.h"

/* ---- graph_node.c ----------------------------------------------------------------------------------- */

/* (op n d[0] .. d[k-1]): a RESHAPE, EXPAND, PERMUTE .. of n. */
const uop *graph_shaped(struct ir *, enum op, const uop *n, const int64_t *d, uint32_t k);
/* n[.., start .. start + size - 1, ..] along an axis; n with `value` before and after its elements along it. */
const uop *graph_slice(struct ir *, struct shapes *, const uop *n, uint32_t axis, int64_t start,
                       int64_t size);
const uop *graph_pad(struct ir *, struct shapes *, const uop *n, const uop *value, uint32_t axis,
                     int64_t before, int64_t after);
/* Is value a view of the buffer that is written? Elements would be read after they are overwritten. */
bool graph_reads_itself(const uop *to, const uop *value);
bool graph_is_zero(const uop *); /* a constant 0, broadcast or not */
/* A view of a sum that may be rounded before: zeros, phases of a stride that get nothing, stay zeros. */
bool graph_is_rounded_view(const uop *);
bool graph_pads_before(const uop *); /* zeros before elements: a halo; zeros behind them only align rows */
/* The MUL of a contraction: a sum of products, under casts and views that keep all elements, that uses every operand element at
 * least CONTRACTION_REUSE times. NULL: n is none. price.c asks the same of a finished kernel, where operands are loads. */
const uop *graph_contraction(struct shapes *, const uop *n);

/* ---- plan_graph.c: the tensor program as the planner sees it ---------------------------------------- */

/* A unit is a node that could be stored: everything that computes, and views that must be. Movement ops, constants and
 * buffers are not units; they are looked through. */
enum { UNIT_FREE, UNIT_FORCED, UNIT_NEVER }; /* may, must, must not be stored */
enum { HINT_ELEMENTWISE, HINT_CONTRACTION, HINT_REDUCTION, HINT_NUMBER };
struct plan_unit {
    const uop *n;
    uint8_t forced, hint;
    uint8_t kept; /* INLINE: never stored, but a kernel keeps a row of it; see value_kept() in rangeify.c */
    uint8_t of_gemv; /* on a GPU: a product of a matrix and a vector, or elementwise of one */
    uint8_t row;     /* never stored because of INLINE: see never_store_rows() in store_rules.c */
    /* in memory between two kernels: a contraction's result that is reduced, or a partial sum */
    uint8_t cut;
    uint32_t *use; /* units that read it, ending in UINT32_MAX */
    uint32_t *src; /* units that it reads, likewise */
};
struct sgraph {
    struct arena *a;
    struct ir *ir; /* the planner's own copy of the program */
    struct shapes shapes;
    const struct sched_opts *opts;
    const uop *root;        /* GRAPH */
    struct plan_unit *unit; /* topological */
    uint32_t units;
    uint32_t *unit_of;           /* node id -> unit + 1, 0: none */
    uint32_t *origin;            /* node id -> id + 1 of the caller's node that it was made for, or 0 */
    const uop **memory;          /* node id -> node whose memory it lives in (ASSIGN: its BUFFER), or NULL */
    const uop **target;          /* [root->nsrc]: node that is stored for this result */
    struct arena *region, *eval; /* scratch: of a region's plan, of one kernel's price */
    const uint8_t *old;    /* the caller's node id -> 1: readers of this version of a buffer read a copy */
    const uint8_t *unused; /* the caller's node id -> 1: a checkpoint that is not used; NULL: all are */
    bool checkpointed;     /* a checkpoint is used: memory is worth time */
    uint64_t visits;       /* nodes that recursive functions have visited so far */
};
/* Imports the program, drops ops that compute nothing, splits long reductions, finds the units. old: see above; may be NULL. */
void sgraph_init(struct sgraph *, struct arena *, struct ir *, const uop *graph, const struct sched_opts *,
                 const uint8_t *old);
static inline const struct shape *sg_shape(struct sgraph *g, const uop *n) { return shape_of(&g->shapes, n); }
/* Of the seconds that are reported: nothing is decided by them. */
static inline const struct model *sg_machine(const struct sgraph *g) {
    return g->opts->machine ? g->opts->machine : g->opts->model;
}
static inline bool sg_is_memory(const struct sgraph *g, const uop *n) {
    return n->op == OP_BUFFER || n->op == OP_ASSIGN || n->op == OP_SCATTER ||
           (g->memory[n->id] && g->memory[n->id] != n);
}
/* The node whose memory n is read from or written to. */
static inline const uop *sg_memory(const struct sgraph *g, const uop *n) {
    return g->memory[n->id] ? g->memory[n->id] : n;
}
/* store_rules.c: units that must or must not be stored. */
void apply_store_rules(struct sgraph *);
/* naive.c: bytes of the plan with a kernel per op. */
double naive_bytes(struct sgraph *);

/* scatter_ordered.c: a scatter-add of src[2] at src[1] to src[0] along an axis, as a builtin kernel that adds in the order of the
 * index. The call's sources must be stored. */
struct ordered_sum {
    const uop *result, *call;
};
struct ordered_sum ordered_sum(struct ir *, struct shapes *, const uop *const src[3], int64_t axis);

/* scatter_dense.c: a scatter-add as ordered_sum has it, and the other scatters (CALL), each target looking at all elements of its row.
 * NULL: those are too many. */
const uop *scatter_dense(struct ir *, struct shapes *, const uop *const src[3], int64_t axis);
const uop *scatter_call_dense(struct ir *, struct shapes *, enum call_id, enum dtype, const uop *const *src);

struct marked_nodes { /* those with this bit, by node id */
    const uint8_t *mark;
    uint32_t n;
    uint8_t bit;
};
/* split.c: two-level reductions and split-K. NULL: n stays as it is. gpu NULL: a CPU. in_order: nodes that are stored whatever the
 * plan; NULL: not known. *stored: the partial result that must be stored, or NULL. */
const uop *split_reduction(struct ir *, struct shapes *, const uop *n, const struct gpu_spec *gpu,
                           const struct marked_nodes *in_order, const uop **stored);
/* By node of the graph: INLINE values that stay so, and sums that a kernel keeps in rows; never split. */
uint8_t *find_kept_rows(struct arena *, const uop_vec *topo, uint32_t nodes);
uint8_t *sums_in_rows(struct arena *, const uop_vec *topo, const uint8_t *kept, uint32_t nodes);
/* split_scan.c: long scans in blocks; n itself: it stays as it is. stored: block results that must be. */
const uop *split_scan(struct ir *, struct shapes *, const uop *n, const struct gpu_spec *gpu, struct arena *,
                      uop_vec *stored);
/* scan_call.c: scans of rows by builtin kernels. Of what a node of the caller's is the running logarithm of sums of exponentials along an
 * axis (x NULL: of nothing), and the nodes that only it should use. */
struct running_log {
    const uop *x, *log, *sum;
    int64_t axis;
};
struct running_log scan_find_log(const uop *n);
/* *call: its source must be stored. */
const uop *scan_log_call(struct ir *, struct shapes *, const uop *x, int64_t axis, const uop **call);
/* A SCAN_AXIS as a CALL; splits: else it would be in blocks. NULL: it stays. */
const uop *scan_call(struct ir *, struct shapes *, const uop *n, const struct gpu_spec *gpu, bool splits,
                     const uop **call);
/* Such a call, perhaps permuted, cast: one that gives this dtype. NULL: n is none. */
const uop *scan_cast(struct ir *, const uop *n, enum dtype);
/* scatter_fixed_point.c: deterministic scatter-adds onto zeros on a GPU, by atomics on 64-bit integers. */
struct scatter_fixed {
    const uop *greatest; /* max |value|: a scalar */
    int64_t bits;        /* that it gets in fixed point */
};
bool scatter_is_inexact(const uop *base, enum dtype); /* does the result depend on the order of additions? */
void scatter_begin(struct ir *, struct shapes *, const uop *value, int64_t axis, struct scatter_fixed *);
const uop *scatter_zeros(struct ir *, struct shapes *, const struct scatter_fixed *, const struct shape *);
const uop *scatter_to_fixed(struct ir *, struct shapes *, const struct scatter_fixed *, const uop *value);
const uop *scatter_to_float(struct ir *, struct shapes *, const struct scatter_fixed *, const uop *sum,
                            enum dtype);
/* repack.c: a GEMM over padded copies of unaligned operands. False: n stays as it is. */
struct repacked {
    bool any_rows;        /* in: do not pad result rows where the device has an epilogue for unaligned ones */
    const uop *sum;       /* replaces n */
    const uop *stored[3]; /* the copies and partial sums, which must be stored, or NULL */
    /* the sum with padded rows, to be stored as it is where it is rounded to 16 bits; or NULL */
    const uop *padded;
    /* the sum in the order of M and N, whose axes interleave in the result; as padded */
    const uop *shuffled;
};
bool repack_gemm(struct ir *, struct shapes *, const uop *n, const struct sched_opts *, struct repacked *);
/* implicit_gemm.c: a convolution over channels-last copies; as repack_gemm, which asks it. plain: a contraction without windows
 * whose axes of M, N or K do not follow each other in memory. */
bool implicit_gemm(struct ir *, struct shapes *, const uop *n, const struct sched_opts *, bool plain,
                   struct repacked *);
/* split.c: cycles of a 16-bit GEMM of size[0] x size[1] x depth whose K is split. */
double splitk_cycles(const struct gpu_spec *, const int64_t size[2], int64_t batch, int64_t depth,
                     int64_t parts);

/* checkpoints.c: the plan with the fewest checkpoints whose temporaries take at most `limit` bytes, or with all of them. */
struct checkpoint_search {
    uop_vec all;     /* in the order of the program */
    uint8_t *unused; /* by id of the caller's nodes */
    int64_t limit;
    struct schedule *out;
    void (*plan)(void *cx, const uint8_t *unused); /* into *out */
    void *cx;
};
bool is_checkpoint(const uop *);
void checkpoints_find(struct arena *, const uop *graph, uop_vec *);
void checkpoints_choose(struct checkpoint_search *);

/* ---- rangeify.c: the kernel of a set of outputs --------------------------------------------------- */

/* Of one kernel. Beyond, compilers take too long. */
enum {
    KERNEL_STATEMENTS = 1500, /* functions expanded (op_statements) */
    KERNEL_NODES = 400,       /* of the tensor graph */
    KERNEL_OUTPUTS = 60,
    PARTS_MOST = 4,      /* of an output, that an iteration stores */
    PART_RANGE = 0xffff, /* id of the RANGE over them, until they are stores of their own */
    KERNEL_BUFFERS = 62
};
struct last_index { /* see linear_index() */
    const struct shape *shape;
    const uop *at[SHAPE_MAX], *pred, *index;
};

/* Coordinates in range where pred holds, and the axis that a RESHAPE merges them to or divides into them: from each follows the other,
 * without quotient and remainder. */
struct merged_axes {
    const uop *flat, *pred, *at[SHAPE_MAX];
    int64_t d[SHAPE_MAX];
    uint32_t n;
};
struct at_memo {
    const uop *n, *pred, *value;
    const uop *const *idx;
    uint64_t hash;
};
struct row_read { /* a read of a kept row */
    uint32_t unit;
    bool by_row; /* elementwise, by the loop that fills another row */
    const uop *load;
    const uop *pred; /* masked row: where it is not 0; else NULL */
};
struct rangeify {
    struct sgraph *g;
    struct arena *a; /* scratch of one kernel; the caller may release it afterwards */
    struct ir *ir;   /* kernels are built here */
    struct rw rw;
    struct free_ranges fr;
    const uint8_t *stored; /* by unit */
    uint8_t *plain;        /* by unit: a kept value that this kernel recomputes instead */
    VEC(struct row_read) row_reads;
    struct map row_ranges; /* ids of RANGEs along kept rows */
    uint8_t *out;          /* by unit: 1 for the outputs of this kernel, which are computed and not loaded */
    const uop *dim[SHAPE_MAX]; /* the domain: a RANGE for each axis, or 0 */
    uint32_t dims;
    const uop **param;    /* node id of memory -> its PARAM */
    VEC(uint32_t) params; /* ids that have one */
    struct at_memo *memo;
    uint32_t memo_n, memo_cap;
    struct map reduce_ranges; /* context, level, size -> RANGE */
    uint32_t *level;          /* node id -> reductions below it in this kernel; the epoch in the high bits */
    uint32_t epoch, visited, next_range;
    uint32_t statements; /* of this kernel, functions expanded */
    /* kernel node id -> epoch << 32 | id of the graph node whose value it is in this kernel */
    VEC(uint64_t) node_of;
    struct last_index last;
    struct merged_axes merged[8]; /* the last ones, round-robin */
    uint32_t merges;
    struct uop_memo strides; /* price.c: of addresses along one range */
    struct uop_memo highest; /* by node of the kernel: the highest level of the reductions in it */
    struct map range_levels; /* of ranges of reductions, by id */
    uint32_t sym_buffer, sym_reduce, sym_dim;
    const char *illegal; /* why no kernel can do this; NULL: legal */
    bool flat;           /* one linear coordinate for all tensors: for BATCH */
    bool beside;         /* any output may be stored in parts beside others */
};
void rangeify_init(struct rangeify *, struct sgraph *, struct arena *scratch);
/* A new ir for kernels, in this arena; the one before may be gone. */
void rangeify_restart(struct rangeify *, struct arena *);
enum {
    KERNEL_IR_NODES = 4096
}; /* of kernels that are kept to be shared; beyond, restart: a small table stays in cache */
/* SINK of the kernel that stores these units, over raw ranges (outputs LOOP with pos = axis, reductions REDUCE);
 * NULL: illegal, r->illegal says why. PARAM slots are node ids of the memory's node. */
const uop *rangeify_kernel(struct rangeify *, const uint32_t *unit, uint32_t n, const uint8_t *stored);
/* parts.c: the same SINK, where parts of a concatenation have sums in common, over a shorter range of the domain. */
const uop *rangeify_parts(struct rangeify *, const uop *sink);
/* An output in parts, of which each is as large as another output: along an axis that this one has not, or that is as much shorter. */
struct output_parts {
    int64_t n, step; /* n 0: it is in none */
    uint32_t axis;
    bool alike; /* one store at a RANGE over the parts is that of all */
};
bool parts_concatenated(const uop *);
/* Of shape s beside one of shape dom. at: coordinates of the first part in the domain; or NULL. */
struct output_parts parts_match(struct rangeify *, const struct shape *s, const struct shape *dom,
                                const uop **at);
/* A store at a RANGE over parts becomes one for each. */
const uop *parts_each(struct rangeify *, const uop *sink);
/* Which ranges of the domain may be the grid: those that every store, reduction and kept row depends on. topo: all nodes
 * of the kernel. */
enum { REPEATED_MOST = 8192 }; /* terms of a sum that every block of a GPU may compute anew */
/* Channels by filters of a convolution that tune/choose/gpu_conv.c reads in place: two blocks; more share what a copy costs. */
enum { WGMMA_IN_PLACE = 2 * 64 * 64 };
void rangeify_grid(struct rangeify *, const uop_vec *topo, bool grid[SHAPE_MAX]);
/* Axes as a RESHAPE matches them: from *i of out and *j of in the shortest runs of equal size. False: there are none. */
bool reshape_group(const struct shape *out, uint32_t *i, const struct shape *in, uint32_t *j);

/* ---- price.c: what a kernel costs ------------------------------------------------------------------ */

struct kernel_price {
    double seconds;
    double bytes;           /* distinct, loaded and stored */
    uint32_t reads, writes; /* buffers */
    enum model_unit limit;
};
/* Do MMA instructions multiply this type, with sums in `sum`? 8- and 16-bit floats; 8-bit integers in i32; on a CPU bf16 and
 * 8-bit integers, where it has such instructions. */
bool mma_multiplies(const struct model *, bool gpu, enum dtype, enum dtype sum);
/* INFINITY and r->illegal when codegen has no fast schedule for the kernel. */
struct kernel_price price_kernel(struct rangeify *, const uop *sink, const struct model *);

/* ---- canonical.c: a kernel whatever its buffers are -------------------------------------------------- */

/* Topological order as uop_topo's, but sources of commutative ops and stores by what they compute; sizes: sizes of buffers and
 * what these are used for count. */
void canonical_topo(struct arena *, const struct ir *, const uop *sink, bool sizes, uop_vec *out);
void canonical_sources(const uop **src, uint32_t n); /* of a SINK: in the order they were met */
/* Equal text: equal kernels, but for the order of buffers; number[slot] is that of a buffer in it. The text is in `keep`. NULL: the
 * kernel has variables. */
const char *canonical_text(struct arena *, struct arena *keep, const struct ir *, const uop *sink,
                           uint32_t *number);

/* ---- kernel.c: from raw ranges to a kernel for codegen ---------------------------------------------- */

struct built {
    struct ir *ir;
    const uop *sink;
    const char *name;
    const uop **buffer;        /* by slot: node of the graph whose memory it is */
    struct sched_slice *slice; /* by slot: the part of it that is accessed; NULL: whole buffers */
    uint32_t nbuf;
    uint32_t *var; /* by slot: slot of the graph's VAR */
    const char **var_name;
    uint32_t nvar;
    const struct sched_builtin *builtin; /* of a CALL; then sink is the CALL itself */
    const struct planned_loop *loop;     /* of a CALL `loop`; then there is neither kernel nor builtin */
    uint64_t key;
    const char *text;  /* what the key hashes: equal text, equal kernel */
    const char *canon; /* text with buffers in canonical order, and by slot their numbers in it; NULL: none */
    uint32_t *number;
};
void kernel_build(struct rangeify *, const uop *sink, struct built *);

/* ---- regions.c: which units are planned together ------------------------------------------------------ */

struct unit_list {
    uint32_t *unit, n; /* in topological order; a CALL is alone */
    bool block;        /* of a region that was cut */
};
struct plan_regions {
    VEC(struct unit_list) region; /* each after those that it reads from, as far as they wait for no other */
};
/* All units but numbers. Those that cross a cut become UNIT_FORCED. */
void plan_find_regions(struct sgraph *, struct plan_regions *);

/* ---- plan.c: regions and their problems --------------------------------------------------------------- */

struct planned_kernel {   /* a kernel of the plan */
    const uint32_t *unit; /* what it stores */
    uint32_t n;
    const struct built *built;
    const uop *const *buffer; /* [built->nbuf] */
    struct kernel_price price;
    double share; /* of a batch: elements per slot of its tasks; 0: no batch */
};
struct fusion_plan {
    VEC(struct planned_kernel) kernel;
    uint8_t *stored; /* by unit */
    double seconds, store_all, fuse_all;
    uint32_t regions, distinct;
    uint64_t evaluations;
};
void plan_graph(struct sgraph *, struct fusion_plan *);
/* Builds and prices one kernel of the final plan. */
void plan_emit(struct sgraph *, struct rangeify *, struct planned_kernel *, const uint8_t *stored);

/* ---- builtin_node.c: builtin kernels of the device ------------------------------------------------------- */

void plan_call(struct sgraph *, uint32_t unit, struct fusion_plan *);
const uop *plan_operand(struct sgraph *, const uop *); /* the node whose memory holds a source of a CALL */

/* ---- loop_node.c: loops: the body is planned once, its calls are written once for each step ---------------- */

enum { PANEL_BYTES = 64 }; /* of a row of a panel, at least */
struct planned_loop {
    struct loop_call *l;
    enum dtype dt;
    int64_t *at;                 /* by operand: bytes from the begin of its memory */
    struct schedule begin, body; /* copies of what the states begin with; one step */
};
void plan_loop(struct sgraph *, uint32_t unit, struct fusion_plan *);
/* The calls of a loop, after those that are there. operand: the sched_bufs of the result and the sources. node: what they cover. */
void loop_write(struct arena *, struct schedule *, const struct planned_loop *, const uint32_t *operand,
                const uint32_t *node, uint32_t nodes);
/* plan_copy_loop.c: what an operand is a contiguous part of, one view further down, *at bytes from its begin; NULL: it is no such view. */
const uop *slice_of(struct sgraph *, const uop *, int64_t *at);
/* Is an operand a slice of what is in memory, of another loop's result, that begins where rows may? It is read there. */
bool is_slice_of_memory(struct sgraph *, const uop *);
/* By node of a loop: the bytes of its naive plan. */
double loop_naive_bytes(const struct planned_loop *);

/* ---- peak.c: when calls run, so that fewer bytes live at once ---------------------------------------------- */

/* lean: however little that saves, whatever it costs. No loops, no collectives. */
void lower_peak(struct arena *, struct schedule *, bool lean);

/* ---- batch.c: one elementwise kernel over many tensors (multi-tensor apply) ------------------------------ */

struct flat_kernel;
struct batch_group { /* calls that may become one */
    const char *key;
    VEC(uint32_t) call;
    VEC(struct flat_kernel *) flat;
};
struct kernel_batch {
    struct rangeify *r;
    struct ir *ir;           /* kernels over one linear coordinate, in canonical form */
    struct arena_mark start; /* of sgraph.region: what r has built is dropped from time to time */
    struct map known;
    VEC(struct batch_group) group;
};
void batch_init(struct kernel_batch *, struct rangeify *);
/* Adds a call to the group of its kernel, or to a new one if that group has its full number of buffers; depth: of the call in
 * the dependency graph. False: the kernel cannot be batched. */
bool batch_candidate(struct kernel_batch *, const struct planned_kernel *, const uint8_t *stored,
                     uint32_t depth, uint32_t call);
bool batch_fits(const struct batch_group *); /* two or more */
/* Its kernel; the last buffer is NULL: the table of tasks. */
void batch_build(struct kernel_batch *, const struct batch_group *, struct planned_kernel *out,
                 int64_t **table, uint32_t *words);

#endif
