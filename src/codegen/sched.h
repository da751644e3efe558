/* sched.h: the schedule of a kernel: its axes as the opt list has cut and marked them. Shared by the passes and by
 * src/tune/choose, which looks at the axes of a candidate list.
 * Tests: tests/unit/codegen.c */
#ifndef RIDGE_SCHED_H
#define RIDGE_SCHED_H

#include "codegen/codegen.h"
#include "rules/rules.h"

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
    bool decays;       /* .. of what DECAY multiplies on the way */
    bool ordered;      /* .. of what another order would change, as a sum of floats is */
    bool staged;       /* some member is bound by a STAGE */
};

/* PIPE: what `buffer` will be asked for `ahead` values of `axis` later is fetched in its pass number `pass`. */
struct pipe {
    const char *opt;
    uint32_t buffer, axis;
    int64_t ahead, pass, level;
};

/* tma_tile.c: a tile in shared memory that TMA copies, one box per 128-byte panel. */
struct tma_tile {
    const uop *map;        /* TENSOR_MAP; NULL: a store whose rows are not 16-byte aligned */
    const uop *at[2];      /* coordinates of the first element: column, row */
    int64_t size[2], step; /* the buffer's columns and rows; row stride */
    int64_t width, rows;   /* the box: elements of its 128-byte rows; rows */
    int64_t panels, parts; /* boxes of the tile: panels along a row, parts of a panel along its rows */
    int64_t bytes;
};
struct tma_store_tile {
    const uop *param;
    struct tma_tile box;
    uint32_t tc; /* the TC whose m and n it is stored along */
};

struct sched {
    struct ir *ir;
    struct rw rw; /* rules_sym: what is built here is simplified at birth */
    const struct kernel *kernel;
    const struct gpu_spec *gpu; /* limits of thread blocks */
    const uop *sink;
    VEC(struct axis) axis;
    uint32_t stages; /* names given so far */
    VEC(struct pipe) pipe;
    struct mma_axes { /* TC: an MMA instruction and the axes of its m, n, k */
        enum mma instr;
        uint32_t axis[3];
        /* after mma.c: THREAD range of the lane; REG ranges of the accumulator's digits */
        const uop *lane, *reg[4];
    } tc[4];
    uint32_t ntc;
    uint32_t columns;      /* COLUMNS: grid iterations of a block with cooperative loops; 0: one */
    struct {               /* WARP_SPECIALIZE, PERSISTENT */
        int64_t consumers; /* consumers, 1 or 2 (ping-pong); 0: not warp-specialized */
        int64_t blocks;    /* PERSISTENT blocks; 0: one block per output tile */
        uint32_t cluster;  /* CLUSTER: the split-K axis whose values are its blocks; 0: none */
        VEC(struct tma_store_tile) out; /* stores that go through shared memory (epilogue_tma.c) */
    } ws;
};
enum { PRODUCERS = 128 }; /* threads of the producer warpgroup, after the consumers' */
/* wgmma: the tensor cores read tiles from shared memory. */
static inline bool sched_has_wgmma(const struct sched *s) { return s->ntc && mma_is_wgmma(s->tc[0].instr); }
/* The tensor core accumulates fp8 with few bits: partial sums are added to fp32 accumulators. */
static inline bool partial_accumulate(enum mma i) {
    return mma_low_precision_acc(i) && !env_int(ENV_F8_FAST);
}
static inline bool axis_is_grid(const struct axis *a) {
    return a->kind == AX_GRID || (a->kind == AX_COUNT && a->natural == AX_GRID);
}
void sched_init(struct sched *, struct ir *, const struct kernel *);
void sched_apply(struct sched *, const char *opts); /* throws RG_EOPT */
void sched_refresh(struct sched *);                 /* recount members and flags after the graph changed */
bool sched_has_threads(const struct sched *);       /* a block program: its tiles are shared by the threads */
/* Writes kinds and positions into the RANGEs, and splits reductions into levels. The graph loop_tree.c wants. */
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
/* pad.c: pads to a multiple of n; shifts the origin, so that stores are aligned to n */
void align_axis(struct sched *, const char *opt, struct axis *, int64_t n);
RG_NORETURN void opt_fail(struct sched *, const char *opt, const char *fmt, ...) RG_FMT(3, 4);

/* legal.c: opts_legal that shows the schedule and the graph with final axes to `look` while they exist. */
typedef void (*sched_look_fn)(void *cx, struct sched *, const uop *sink);
bool opts_look(struct ir *, const struct kernel *, const char *opts, const struct gpu_spec *, struct str *why,
               sched_look_fn, void *cx);
/* The axes after the opts alone, nothing lowered; sink is NULL. False: some opt was refused. */
bool opts_axes(struct ir *, const struct kernel *, const char *opts, sched_look_fn, void *cx);

#endif
