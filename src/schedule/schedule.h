/* schedule.h: from a tensor graph to kernels, their order and their memory. The public header of src/schedule.
 *
 *   rangeify -> plan -> order -> memory            (schedule() in schedule.c is that line as code)
 *
 * rangeify builds the kernel of a set of outputs: movement ops become index expressions over RANGEs (rangeify.c).
 * plan decides which values are stored and which stores share a kernel, by predicted time (plan.c, search.c).
 * Tests: tests/unit/schedule*.c */
#ifndef RIDGE_SCHEDULE_H
#define RIDGE_SCHEDULE_H

#include "model/model.h"
#include "rules/rules.h"

enum plan_mode { PLAN_COST, PLAN_STORE_ALL, PLAN_FUSE_ALL };
struct plan_problem;
struct plan_result;
struct sched_opts {
    const struct model *model;   /* what decides; must be given */
    const struct model *machine; /* whose seconds are predicted of the chosen kernels; NULL: model */
    enum plan_mode mode;
    int rank;                    /* PLAN_COST: 0 the best plan, 1.. runners-up (tests, measurements) */
    bool no_multi;               /* one output per kernel */
    bool no_batch;               /* no BATCH kernels */
    bool no_split;               /* reductions are not split */
    uint32_t block;              /* units of a block of a large region; 0: the default (tests: few) */
    bool lean;                   /* the peak of memory is lowered at any cost (tests) */
    bool gpu;                    /* thousands of threads: sums along columns are split too */
    const struct gpu_spec *spec; /* of that GPU; NULL: the default row */
    bool ordered;       /* scatter-adds of floats add in the order of the index, by a builtin kernel */
    bool atomics;       /* scatter-adds of floats add in any order */
    int capability;     /* compute capability (90: Hopper): GEMM operands are repacked; 0: no tensor cores */
    int64_t temp_limit; /* bytes of temporaries: as few checkpoints as meet it; 0: all of them */
    uint32_t most_buffers; /* of a BATCH kernel; 0: no limit of the device */
    struct str *log;       /* DEBUG=3: decisions with their costs; NULL: none */
    /* For tests: called for every distinct region with its problem and the plan that was chosen; may be NULL. */
    void (*inspect)(void *cx, const struct plan_problem *, const struct plan_result *);
    void *inspect_cx;
};

enum buf_kind { BUF_GRAPH, BUF_RESULT, BUF_TEMP, BUF_TABLE };
struct sched_buf {
    enum buf_kind kind;
    /* BUF_GRAPH: arg of its BUFFER; BUF_RESULT: source of GRAPH; BUF_TABLE: offset into `table` */
    uint32_t number;
    enum dtype dt;
    int64_t elements;
    int64_t offset;            /* BUF_TEMP: bytes from the start of the temporary arena */
    uint32_t first, last;      /* calls that write it first and use it last */
    uint32_t node;             /* id of the caller's node for whose value it was made; UINT32_MAX none */
    const struct shape *shape; /* NULL: a table */
};
/* A CALL: a builtin kernel of the device. Its buffers are the result and the sources, in order. */
struct sched_builtin {
    const char *name; /* "sort" */
    int64_t rows;     /* independent rows: its grid */
    int64_t num[3];   /* elements of a row of the (last) source, of a row of the result; the flag or size */
    double ops;       /* in total */
};
struct sched_prog { /* a distinct kernel */
    /* NULL for kernels; else kernel.sink is (CALL[name] (BUFFER[1] ..) ..) */
    const struct sched_builtin *builtin;
    struct ir *ir;        /* its own */
    struct kernel kernel; /* name as DEBUG prints it, E_.. or r_..; opts ""; sink */
    uint32_t nbuf, nvar;
    const char *const *var_name; /* by VAR slot: the graph's VAR name */
    const char *text;            /* printed nodes: equal text, equal kernel */
    double seconds;              /* predicted */
    uint32_t reads, writes;      /* distinct buffers loaded, stored */
    double bytes;                /* distinct bytes */
    double share;                /* of its iterations that do work: 1, or less for a batch of small tensors */
};
struct sched_slice { /* of a buffer: all that a kernel accesses; the kernel gets its address */
    int64_t offset, bytes;
};
struct sched_call {
    uint32_t prog;
    const uint32_t *buf;             /* [prog.nbuf]: numbers of sched_buf */
    const struct sched_slice *slice; /* [prog.nbuf]; NULL: whole buffers */
    const uint32_t *var;             /* [prog.nvar]: slot of the graph's VAR */
    const uint32_t *node;            /* ids of graph nodes that it covers, for provenance */
    uint32_t nodes;
};
struct schedule {
    VEC(struct sched_prog) prog;
    VEC(struct sched_call) call; /* in order of execution */
    VEC(struct sched_buf) buf;
    const uint32_t *result;                 /* [GRAPH's sources]: number of sched_buf that holds it */
    int64_t temp_bytes;                     /* of the arena for BUF_TEMP */
    uint32_t checkpoints, checkpoints_used; /* given a limit: that the program has, that the plan uses */
    int64_t *table;                         /* contents of all task tables */
    uint32_t table_n;
    double seconds;             /* predicted */
    double store_all, fuse_all; /* predicted for the two baseline plans */
    uint64_t visits;            /* nodes that the planner's recursive functions visited */
    double bytes;               /* that all calls load and store */
    double naive_bytes;         /* the same of a plan with a kernel per op (naive.c) */
};
/* No plan moves more than this times naive_bytes: what does is an error of the planner. Values that L1 holds are recomputed
 * rather than stored, and do not count. */
enum { PLAN_BYTES_BOUND = 2, PLAN_BYTES_CACHED = 1 << 15 };
static inline bool schedule_in_bound(const struct schedule *s) {
    return s->bytes <= PLAN_BYTES_BOUND * s->naive_bytes + PLAN_BYTES_CACHED;
}
/* Plans the tensor program `graph` (op GRAPH) of ir. Everything lives in `a`. Throws. A result whose value is a whole
 * BUFFER is that buffer (no call). An ASSIGN writes into its BUFFER. */
void schedule(struct arena *a, struct ir *ir, const uop *graph, const struct sched_opts *,
              struct schedule *out);

/* ---- search.c: the fusion search, on numbers only ------------------------------------------------- */

/* A region to plan: nodes 0..n-1 in topological order. A plan is a set of stored nodes and a partition of them into
 * kernels; a kernel recomputes what is not stored. */
struct plan_problem {
    uint32_t n;
    const uint32_t *const *use; /* use[v]: nodes that read v, ending in UINT32_MAX */
    const uint8_t *forced;      /* 1: must be stored, 2: must not be (a number, a view) */
    const uint8_t *hint;        /* 1: contraction, 2: reduction, 0: elementwise; for the structural seeds */
    const double *bytes;        /* of each value, for the min-cut seed and `hold` */
    /* values of other regions that v reads, with numbers from n on, ending in UINT32_MAX; NULL: not asked for */
    const uint32_t *const *far;
    uint32_t nfar;
    double hold; /* seconds that a byte costs which a joined kernel keeps waiting; 0: memory is free */
    const uint32_t
        *statements; /* that each value becomes: too large a kernel is halved by them; NULL: 1 each */
    uint32_t most_statements; /* of one kernel; 0: no limit */
    /* likewise; `cost` would refuse more: it is not asked */
    uint32_t most_nodes, most_outputs, most_buffers;
    /* pairs (u, v): if both are stored in different kernels, u's runs before v's (in-place stores) */
    const uint32_t (*before)[2];
    uint32_t nbefore;
    /* Seconds of one kernel that stores out[0..k) and reads what it needs of `stored`; INFINITY: illegal.
     * Called with out sorted ascending. `needs` (may be NULL) receives the stored nodes that it reads, as marks. */
    double (*cost)(void *cx, const uint32_t *out, uint32_t k, const uint8_t *stored, uint8_t *needs);
    void *cx;
    bool no_multi;
    bool thorough; /* a part of something small: more evaluations */
    bool brief;    /* .. large: fewer */
};
struct plan_result {
    uint8_t *stored;  /* [n] */
    uint32_t *kernel; /* [n]: number of the kernel that stores it; UINT32_MAX: not stored */
    uint32_t kernels;
    double seconds;
    double store_all, fuse_all; /* seconds of the two baseline plans, INFINITY if illegal */
    uint64_t evaluations;
};
/* The best plan first, then up to `keep`-1 runners-up that store something else, ascending. Returns how many. */
uint32_t plan_search(struct arena *, struct err *, const struct plan_problem *, struct plan_result *out,
                     uint32_t keep);
/* The two baselines alone. False: the plan is illegal. */
bool plan_store_all(struct arena *, struct err *, const struct plan_problem *, struct plan_result *);
bool plan_fuse_all(struct arena *, struct err *, const struct plan_problem *, struct plan_result *);

/* ---- memory.c: lifetimes to offsets ---------------------------------------------------------------- */

struct mem_item {
    int64_t bytes;
    uint32_t first, last;
    int64_t offset;
}; /* offset is filled in; calls first..last inclusive */
/* 64-byte aligned offsets such that items that live at the same time do not overlap; returns the arena's size. */
int64_t memory_plan(struct arena *, struct mem_item *, uint32_t n);

#endif
