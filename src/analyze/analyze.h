/* analyze.h: reads a profiler's trace, accounts for its wall time, and says what to do about it.
 *
 * The only header of src/analyze. Three steps, each usable alone:
 *   trace_read   any supported file -> one event model (struct trace)
 *   diagnose     a trace -> a budget of its wall time, causes with what they cost, tables
 *   report/      prints a diagnosis
 * Invariants: times are int64 nanoseconds from the first event and never pass through a double; the
 * budget sums to the wall exactly; nothing read from a file is executed, trusted or unbounded.
 * Tests: tests/unit/analyze*.c over tests/traces and generated traces. */
#ifndef RIDGE_ANALYZE_H
#define RIDGE_ANALYZE_H

#include "base/base.h"
#include "model/model.h"

/* ---- the event model (trace.c) ------------------------------------------------------------------ */

/*    kind       text        device  what it is */
/* clang-format off */
#define TRACE_KIND_TABLE(X)                                                                        \
    X(NONE,      "none",      0) /* not counted: flows, marks, derived rows */                     \
    X(KERNEL,    "kernel",    1) /* compute on the device */                                       \
    X(COMM,      "comm",      1) /* a collective's kernel */                                       \
    X(COPY,      "copy",      1) /* see TF_ flags for the direction and the host memory's kind */  \
    X(SET,       "memset",    1)                                                                   \
    X(LAUNCH,    "launch",    0) /* host call that submits device work */                          \
    X(GRAPH,     "graph",     0) /* host call that submits a whole graph */                        \
    X(SYNC,      "sync",      0) /* host call that waits for the device */                         \
    X(ALLOC,     "alloc",     0) /* driver allocation or release */                                \
    X(API,       "api",       0) /* any other driver or runtime call */                            \
    X(OP,        "op",        0) /* framework operator */                                          \
    X(PY,        "python",    0) /* Python frame */                                                \
    X(ANNOT,     "range",     0) /* range marked by the user or the framework */                   \
    X(STEP,      "step",      0) /* one iteration */                                               \
    X(LOADER,    "loader",    0) /* input pipeline */                                              \
    X(COMPILE,   "compile",   0) /* JIT compilation, module loading */                             \
    X(MEM,       "memory",    0) /* allocator event: dur holds the total after it */               \
    X(OVERHEAD,  "overhead",  0) /* the profiler's own cost */                                     \
    X(PLAN,      "plan",      0) /* planning and lowering of kernels */                             \
    X(COLLECTIVE, "collective", 0) /* host call that waits for other ranks and transfers */       \
    X(PART,      "part",      0) /* what one worker did of a kernel; corr: its number, args: iterations */
/* clang-format on */

enum trace_kind {
#define X(name, text, device) TK_##name,
    TRACE_KIND_TABLE(X)
#undef X
        TK_KINDS
};
const char *trace_kind_text(int kind);

enum { /* trace_event.flags */
       TF_H2D = 1,
       TF_D2H = 2,
       TF_D2D = 4,       /* copies */
       TF_PAGEABLE = 8,  /* a copy with a pageable end */
       TF_GRAPH = 16,    /* device work inside a replayed graph */
       TF_FREE = 32,     /* memory event that releases */
       TF_HOST = 1,      /* memory event of the host's allocator */
       TF_NOLAUNCH = 64, /* device work with no launch record in the file */
       TF_PLANNED = 128, /* a program of Ridge that was new */
};

/* One record; 40 bytes, so that with the order index an event costs 44. */
struct trace_event {
    int64_t t0, dur; /* ns from trace.base */
    uint32_t name;   /* trace_str */
    uint16_t lane;
    uint8_t kind, flags;
    uint32_t corr; /* correlation id, 0 none. Memory events: low half of the address */
    /* a blob by trace_blob: trace_kernel_args, trace_copy_args, or an op's shapes. Ridge: a call's file:line */
    uint32_t args;
    uint32_t link; /* 1 + the launch of device work; 1 + the enclosing event of host work; 0 none */
    /* 1 + the operator of device work. Memory events: high half of the address. Ridge: trace_str of a call's "module
     * \\t shapes", of a run's plan, and of how many collectives before it a planned wait is for (engine/overlap.c) */
    uint32_t aux;
};

enum {
    TRACE_MEASURED = 32
}; /* of `known`: moved and issued are shares of the roofs in 1/1000 %, as counters say */
struct trace_kernel_args { /* interned: thousands of kernels share one */
    uint32_t grid[3], block[3];
    uint32_t regs, smem; /* per thread; static and dynamic bytes */
    uint32_t op;         /* name of the HLO op, 0 none */
    /* 1: grid and block; 2: registers and shared memory; 4: cost; 8: all below; 16: work; TRACE_MEASURED */
    uint32_t known;
    int64_t flops, bytes; /* when the file says so */
    uint32_t where, module,
        limit;         /* trace_str: the user's line, path of modules, what sets the roof; 0 none */
    uint32_t backward; /* it belongs to a gradient */
    int64_t roof_ns;   /* the least time that the machine model allows */
    uint32_t key, graph, source,
        opts;             /* trace_str of a Ridge kernel: of its code, its text, its source; 0 none */
    int64_t predicted_ns; /* by the planner, 0 not known */
    int64_t issued, moved, lines,
        integer; /* work: operations and bytes as issued, bytes in whole cache lines, integer
                                            * operations */
    int64_t registers,
        spills; /* of a thread of a GPU; instructions that move what found no register; 0 not known */
    int64_t unit_ns[UNIT_COUNT]; /* that each unit of the machine needs for it, by the model */
    uint32_t shapes;             /* trace_str of what it stores: "f32(64,10)"; 0 none */
    uint32_t type;               /* with a cost that was counted: the letter of shapes.h; 0 none */
    int64_t m, n, k, batch;      /* .. of its GEMM, 0 none */
};
struct trace_copy_args {
    int64_t bytes;
};

enum trace_lane_kind { LANE_RAW, LANE_HOST, LANE_DEVICE, LANE_OTHER };
struct trace_lane {
    uint32_t pid, tid, name; /* trace_str */
    int32_t device, stream;  /* device lanes; -1 unknown */
    uint32_t first, n;       /* its events: order[first .. first+n) by t0, longest first */
    uint8_t kind;
    bool async; /* Ridge: the device runs asynchronously to the thread that launches */
};

struct trace_device {
    char name[64];
    int id;      /* as its events name it */
    int cc, sms; /* 90 for 9.0; 0 unknown */
    int max_threads_sm, regs_sm, smem_sm;
    int64_t memory;             /* bytes of device memory */
    double peak_bw, peak_flops; /* B/s, FLOP/s when the file gives them, else 0 */
};

/* A snapshot of an allocator (PyTorch pickle). */
struct trace_snapshot_event {
    int64_t t, size;
    uint64_t addr;
    uint32_t stack; /* trace_str: "file:line func" of the first user frame */
    uint8_t action; /* 'a' alloc, 'f' free completed, 's' segment alloc, 'S' segment free, 'o' oom */
    uint8_t device;
};

/* Device memory of a Ridge program: its blocks, and what plans keep in the block of their temporaries. */
struct trace_block { /* it comes into use, or out of it */
    int64_t t, bytes;
    uint64_t number;
    uint32_t device, owner; /* trace_str; owner: see event.h, 0 none */
    bool freed;
};
struct trace_note { /* trace_str: what a recording says of itself; what to do, 0: nothing is wrong */
    uint32_t what, todo;
};
struct trace_planned {
    int64_t bytes;
    uint32_t plan, owner; /* trace_str */
    uint32_t first, last; /* calls of the plan */
};
struct trace_reserved { /* device memory held, and the unused part of it */
    int64_t t, bytes, spare;
    uint32_t device;
};

enum trace_format {
    TRACE_NONE,
    TRACE_TORCH,
    TRACE_JAX,
    TRACE_XPLANE,
    TRACE_SNAPSHOT,
    TRACE_RIDGE,
    TRACE_NSYS,
    TRACE_NCU,
    TRACE_ROCPROF,
    TRACE_PERFETTO
};

struct trace_span {
    int64_t t0, t1;
};

/* "mnist.c", as in "mnist.c:12", and "examples/mnist.c", as the compiler was given it. */
struct trace_source {
    uint32_t name, path; /* trace_str */
};

struct trace_string {
    const char *p;
    uint32_t n, hash;
};

/* A CPU, where it is known: cores 0 is not known; core_flops 0 is any core. */
struct trace_cpu {
    uint32_t cores;
    double core_flops, core_bytes; /* a second: fp32; from memory */
    bool measured;                 /* by `ridge ceilings` */
};

struct trace {
    struct err *err;
    struct arena arena;
    int format;
    bool compressed;

    struct trace_event *ev; /* in file order */
    uint32_t n, cap;
    uint32_t *order; /* by lane, then time; n entries */
    VEC(struct trace_lane) lanes;
    VEC(struct trace_device) devices;
    char device_hint[64];          /* the GPU's name, given by the user for a file that does not say */
    VEC(struct trace_string) strs; /* 0 is "" */
    uint32_t *str_slots, str_mask;
    size_t str_bytes;
    int64_t base;         /* ns of the first event on the file's own clock */
    int64_t epoch;        /* ns from 1970 to the zero of that clock; 0 not known */
    struct trace_cpu cpu; /* that the program ran on */
    int threads;          /* that it says it has; 0 not known */

    VEC(struct trace_source) sources; /* of a Ridge program: its source files */

    VEC(struct trace_span) recorded; /* when recording was on; empty: from the first event to the last */
    int64_t cpu_ns;                  /* what all cores together spent on the process then; 0 not known */

    VEC(struct trace_block) blocks; /* by time */
    VEC(struct trace_planned) planned;
    VEC(struct trace_reserved) reserved;
    VEC(struct trace_note) notes;
    bool async;         /* some lane is: a copy that the host asked for is then TK_API with its direction */
    uint32_t record_ns; /* what a record cost the program; 0 not known */
    uint32_t
        kernel_record_ns; /* what timing a kernel cost a device that timed its own; 0 nothing, or not known */
    uint32_t
        launch_ns; /* what launching a kernel in a graph took the host before it was recorded; 0 not known */
    uint64_t missing_records; /* that found no room in the file */

    VEC(struct trace_snapshot_event) snap;
    bool moment; /* .. of pprof: what is held now, with no history */
    int64_t snap_reserved, snap_allocated, snap_inactive, snap_largest_free, snap_oom;

    /* how well the file was recorded and read; -1 means the file does not say */
    int with_stack, with_shapes, with_memory, with_flops, with_modules;
    int rank, world;
    uint64_t bytes_read, bytes_file;
    uint64_t seen;     /* event objects in the file */
    uint64_t lost;     /* unreadable pieces skipped */
    uint64_t repaired; /* strings with stray quotes that were read anyway */
    uint64_t dropped;  /* readable but unusable: no time, absurd duration, over the limit */
    uint64_t flows, derived;
    uint64_t logged_drops; /* the profiler's own notices of lost records */
    bool truncated, capped, has_header;
    bool unfinished; /* the recording was not ended */
    double machine_flops, machine_bytes,
        machine_half; /* the roofs of the machine file, a second; 0 not known */
    uint64_t clock;   /* files with the same one have the same clock; 0 not known */
    bool own_export;  /* written by `ridge report --trace` for other tools */
    uint32_t max_events;
};

/* Reads a file of any supported kind, told by its content. 0, or an error for a person. */
int trace_read(struct trace *, struct err *, const char *path);
/* The same from memory; `limit` caps the events kept (0: the default). */
int trace_read_mem(struct trace *, struct err *, const void *data, size_t n, uint32_t limit);
void trace_free(struct trace *);
/* Fills in the CPU of a trace that was recorded on this machine (recorded_here.c): by a file that was made within minutes after its
 * last event. */
void trace_recorded_here(struct trace *, const char *path);
bool trace_written_after(const struct trace *, int64_t created_ns); /* since 1970 */

const char *trace_str(const struct trace *, uint32_t id);
size_t trace_str_len(const struct trace *, uint32_t id);
const void *trace_blob(const struct trace *, uint32_t id, size_t size); /* NULL if it is not one */
static inline int64_t trace_end(const struct trace_event *e) { return e->t0 + e->dur; }
const char *trace_format_text(int format);

/* ---- arithmetic of GPUs (gpu.c) ------------------------------------------------------------------ */

struct occupancy {
    int blocks;          /* resident per SM */
    double theoretical;  /* resident warps / the SM's warps, 0..1 */
    double achieved_cap; /* the same capped by the grid */
    const char *limiter; /* "warps", "blocks", "registers", "shared memory", "grid" */
    int by_warps, by_blocks, by_regs, by_smem;
    double waves, tail; /* grid / resident blocks; share lost in the last, partial wave */
};
struct occupancy gpu_occupancy(const struct gpu_spec *, int64_t grid, int threads, int regs, int64_t smem);

struct tiling {
    int64_t tiles, waves;
    double edge;  /* share of the tiles' area outside the matrix */
    double tail;  /* share of the SM slots of all waves that stay empty */
    double waste; /* both together */
};
/* A GEMM with an M x N result in tiles of tm x tn, `per_wave` tiles at once. */
struct tiling gpu_tiling(int64_t m, int64_t n, int64_t tm, int64_t tn, int64_t batch, int64_t per_wave);
/* Distinct cache lines of `line` elements touched by a tile of `rows` x `cols` at column 0 of a
 * row-major matrix with rows of `pitch` elements. */
int64_t gpu_lines_touched(int64_t pitch, int64_t rows, int64_t cols, int64_t line);

/* ---- the diagnosis (account.c, classes.c, causes.c, memory.c) ------------------------------------ */

/*    budget key          text for people                                idle */
/* clang-format off */
#define BUDGET_TABLE(X)                                                                            \
    X(KERNELS,   "kernels",           "GPU computing",                               0)            \
    X(COMM,      "comm",              "GPU communicating, nothing else",             0)            \
    X(DEVCOPY,   "copy.device",       "GPU copying its own memory, not computing",   0)            \
    X(PAGEABLE,  "transfer.pageable", "copying pageable memory and the lead it costs", 0)          \
    X(EXPOSED,   "transfer.exposed",  "copying, GPU not computing",                  0)            \
    X(MEMSET,    "memset",            "memset, GPU not computing",                   0)            \
    X(LOADER,    "host.dataloader",   "idle: host loads data",                       1)            \
    X(SYNC,      "sync",              "idle: host blocked, then refills the queue",  1)            \
    X(ALLOC,     "allocator",         "idle: driver allocates or frees memory",      1)            \
    X(SMALL,     "small_kernels",     "idle: host launches tiny kernels",            1)            \
    X(DISPATCH,  "dispatch",          "idle: host dispatches operators",             1)            \
    X(USER,      "host.user",         "idle: host runs other code",                  1)            \
    X(COMPILE,   "compile",           "idle: host compiles or loads code",           1)            \
    X(PLAN,      "plan",              "idle: host plans kernels",                    1)            \
    X(QUEUED,    "queued",            "idle: turn-around between queued kernels",    1)            \
    X(DEPEND,    "dependency",        "idle: queued work waits for another stream",  1)            \
    X(PROFILER,  "profiler",          "idle: the profiler's own cost",               1)            \
    X(OTHER,     "other",             "idle: not recorded",                          1)            \
    X(UNEXPLAINED, "unexplained",     "idle: launched, not started: GPU shared",     1)
/* clang-format on */

enum budget {
#define X(name, key, text, idle) BUDGET_##name,
    BUDGET_TABLE(X)
#undef X
        BUDGET_KEYS
};
const char *budget_key(int), *budget_text(int);
bool budget_idle(int);

/*    class       text */
/* clang-format off */
#define CLASS_TABLE(X)                                                                             \
    X(GEMM, "gemm") X(CONV, "conv") X(ATTENTION, "attention") X(NORM, "norm")                      \
    X(ELEMENTWISE, "elementwise") X(REDUCE, "reduce") X(LAYOUT, "layout") X(COPY, "copy")          \
    X(COMM, "comm") X(OTHER, "other")
/* clang-format on */
enum kernel_class {
#define X(name, text) KC_##name,
    CLASS_TABLE(X)
#undef X
        KC_CLASSES
};
const char *class_text(int);

enum bound { BOUND_UNKNOWN, BOUND_COMPUTE, BOUND_MEMORY, BOUND_LATENCY, BOUND_INEFFICIENT };
const char *bound_text(int);

/* All launches of one kernel with one launch geometry. */
struct kernel_row {
    uint32_t id;              /* in order of first launch */
    uint32_t name, op, shape; /* trace_str: kernel, operator that launched it, its shapes */
    uint32_t where;           /* trace_str of the user's line, 0 none */
    uint32_t module, limit; /* trace_str of a Ridge program's module path and of what sets the roof, 0 none */
    uint32_t args;          /* blob, 0 none */
    uint32_t count, graph, unlinked;
    uint32_t steady; /* Ridge: calls in steps that are judged */
    uint8_t cls, unit, bound;
    bool modelled; /* flops and bytes are known */
    bool wrapper;  /* an operator on the CPU that leaves its work to those inside it, or only makes a view */
    int64_t ns, min_ns, max_ns;
    int64_t small_ns;       /* of an operator on the CPU: of its calls that are counted as small */
    double flops, bytes;    /* of one launch; bytes is the least that must move */
    double same;            /* of these: inputs that may be one tensor with another */
    double roof;            /* share of the roof reached, 0 unknown */
    double compute, memory; /* share of the arithmetic and of the bandwidth roof */
    int64_t m, n, k, batch; /* GEMM; 0: none */
    struct occupancy occ;
    bool has_occ;
    double use[UNIT_COUNT]; /* of a Ridge program: share of its time that each unit is busy, by the model */
    uint8_t top;            /* the unit that is most */
    const char *why;        /* the reason for its bound, NULL or "" not known */
};
struct op_row {
    uint32_t name, where;
    uint32_t count;
    int64_t host_ns, self_ns, device_ns, idle_ns; /* idle_ns: device idle that it caused */
};
struct line_row {
    uint32_t where;
    uint32_t count;
    int64_t device_ns, idle_ns;
};
struct class_row {
    uint32_t count;
    int64_t ns;
    double flops, bytes; /* sums over the modelled launches */
    int64_t modelled_ns;
    double rate; /* FLOP/s relative to that of GEMMs, 0 unknown */
};

/*    cause id              confidence of its number */
/* clang-format off */
#define CAUSE_TABLE(X)                                                                             \
    X(SMALL,        "small_kernels",      "measured")                                              \
    X(DISPATCH,     "dispatch",           "measured")                                              \
    X(SYNC,         "sync",               "measured")                                              \
    X(PAGEABLE,     "transfer.pageable",  "measured")                                              \
    X(EXPOSED,      "transfer.exposed",   "measured")                                              \
    X(LOADER,       "host.dataloader",    "measured")                                              \
    X(USER,         "host.user",          "measured")                                              \
    X(COMPILE,      "compile",            "measured")                                              \
    X(TRAFFIC,      "memory_traffic",     "model")                                                 \
    X(LAYOUT,       "layout",             "by name")                                               \
    X(ALIGNMENT,    "shape.alignment",    "model")                                                 \
    X(QUANTISATION, "shape.quantisation", "model")                                                 \
    X(OCCUPANCY,    "occupancy",          "model")                                                 \
    X(GROWTH,       "memory.growth",      "measured")                                              \
    X(COMM,         "comm",               "measured")                                              \
    X(GRAPH,        "graph.opaque",       "measured")                                              \
    X(PLAN,         "plan",               "measured")                                              \
    X(ROOF,         "below_roof",         "model")                                                 \
    X(BUILD,        "graph_building",     "measured")                                              \
    X(TINY,         "small_work",         "model")                                                 \
    X(ALLOC,        "allocator",          "measured")                                              \
    X(DEVCOPY,      "copy.device",        "measured")                                              \
    X(IDLE_GPUS,    "idle_gpus",          "measured")                                              \
    X(SHARED,       "gpu_shared",         "measured")                                              \
    X(PRECISION,    "precision",          "model")                                                 \
    X(THREADS,      "host.threads",       "model")
/* clang-format on */
enum cause_id {
#define X(name, id, conf) CAUSE_##name,
    CAUSE_TABLE(X)
#undef X
        CAUSE_COUNT
};
const char *cause_text(int), *cause_confidence(int);

struct cause {
    int id;
    int64_t lost_ns, gain_ns; /* what it costs; the most that a fix can bring */
    const char *where, *signal, *fix;
    const char *how; /* where the gain comes from; NULL: as the table says */
    /* evidence: why the gain is no more than that; what must be mended before; which measurement would confirm it */
    const char *bound, *before, *confirm;
    bool note;  /* told, but it costs no time: never the verdict of a timeline */
    bool first; /* to be mended before all others, whatever it costs */
};
struct note { /* something that could not be judged, and how to make it so */
    const char *id, *why, *setting;
};
struct check_row { /* a question of the checklist and its answer */
    const char *id, *answer;
    bool fine;
};
struct memory_point {
    int64_t t, bytes;
};
struct memory_owner {
    uint32_t where;
    int64_t bytes;
    uint32_t count;
};
/* Device memory of a Ridge program by what it is for; the first ones are those of event.h. */
enum heap_kind {
    HEAP_PARAMETER,
    HEAP_GRADIENT,
    HEAP_ACTIVATION,
    HEAP_STATE,
    HEAP_DATA,
    HEAP_VALUE,
    HEAP_TEMPORARY,
    HEAP_OTHER,    /* scratch of workers, task tables */
    HEAP_GAP,      /* of the block of planned values: free at its fullest call */
    HEAP_ROUNDING, /* blocks are larger than what was asked for */
    HEAP_BEFORE,   /* taken before the recording began */
    HEAP_KINDS
};
const char *heap_kind_text(int);
struct heap_row { /* memory of one kind, shape and source line */
    uint8_t kind;
    bool planned;                      /* a value between two kernels */
    uint32_t op, module, where, shape; /* trace_str, 0 none */
    uint32_t count, steps;
    int64_t bytes; /* asked for; of `grows`: in each step */
};
typedef VEC(struct heap_row) heap_rows;
struct heap_peak {
    int64_t t;                /* of the peak, which is diag.mem_peak */
    int64_t kind[HEAP_KINDS]; /* bytes then; they sum to the peak */
    uint32_t blocks;
    heap_rows peak, left,
        grows;   /* then; at the end, or freed by rg_close; more in every step. The largest first */
    bool closed; /* the recording has seen rg_close */
};
struct step_row {
    int64_t t0, t1;
    uint32_t name, kernels;
    int64_t device_ns;
    uint32_t program,
        line; /* Ridge: trace_str of the plan that ran longest in it, of the user's line; 0 none */
    bool startup;
};
/* The steps of one program of Ridge (phases.c). */
struct phase {
    uint32_t program, line; /* trace_str, 0 none */
    uint32_t steps;
    int64_t wall_ns, median_ns; /* of all; of a step */
    double best_ns;             /* its kernels at their roofs, nothing between them */
    int64_t budget[BUDGET_KEYS];
};

enum regime { REGIME_COMPUTE, REGIME_MEMORY, REGIME_OVERHEAD, REGIME_MIXED, REGIME_NONE };
const char *regime_text(int);

struct device_row {
    int32_t device;
    uint32_t events, streams;
    int64_t t0, t1, busy_ns, kernel_ns, comm_ns, comm_under_compute;
    /* copies between host and device: their union, the part of it under kernels, and each direction alone */
    int64_t copy_ns, copy_under_compute, in_ns, out_ns;
    /* of what was launched while it was recorded, which is all that some tools count: busy, and from the first to the last */
    int64_t launched_ns, launched_span_ns;
    bool silent; /* the file names it but has no event of it */
};

struct process_row {
    uint32_t pid, threads; /* pid: trace_str */
    uint64_t events, launches;
    int64_t device_ns; /* of what it launched */
    int32_t device;    /* .. last */
};
struct clock_shift {     /* of a GPU's clock against the host's */
    bool found, refused; /* refused: no shift puts launches before their work and waits after it */
    int32_t device;
    uint32_t early; /* work that started before its launch */
    int64_t ns;     /* added to the device's times */
};

struct diag {
    struct trace *t;
    struct arena arena;
    int32_t device; /* the one the budget is of, -1 none */
    const struct gpu_spec *gpu;
    struct gpu_spec gpu_made; /* the table's row with what the file says put over it */
    char device_name[64];
    int64_t w0, w1, wall_ns, busy_ns;
    int64_t budget[BUDGET_KEYS];
    int regime;
    bool healthy;
    int verdict; /* cause_id when not healthy */
    VEC(struct cause) causes;
    VEC(struct note) abstained, capture;
    VEC(struct kernel_row) kernels;
    VEC(struct op_row) ops;
    VEC(struct line_row) lines;
    struct class_row classes[KC_CLASSES];
    VEC(struct step_row) steps;
    VEC(struct check_row) checks;
    VEC(struct phase) phases;     /* of a Ridge program, the dearest first; none: nothing repeats */
    struct phase steady, startup; /* all phases, which causes are judged by; the rest of the recording */
    int failed;                   /* exit status of a program that ended with an error, 0: none */
    VEC(struct device_row) devices;
    VEC(struct process_row) processes; /* that most GPU work came from first */
    struct clock_shift clock;
    bool cpu; /* no device at all: operators of the host are what `kernels` holds, with their own time */
    uint32_t *op_row;    /* .. by event: 1 + its row */
    int64_t bound_ns[5]; /* kernel time by enum bound */
    double roof;         /* time-weighted share of the roof over modelled kernels */
    double modelled;     /* share of kernel time with known cost */
    uint64_t small_count;
    int64_t small_ns; /* kernels under 10 us */
    uint64_t kernel_count, unlinked_count, carry_count, graph_count, no_corr_count;
    int64_t carry_ns, unlinked_ns, graph_ns, no_corr_ns;
    double depth_mean;
    uint32_t depth_max;
    int64_t latency_min, latency_median; /* launch start to kernel start, of an empty queue */
    uint32_t layer_period, layer_count;  /* kernels per layer and how often, 0 none */
    int64_t layer_ns;
    /* memory */
    VEC(struct memory_point) mem;
    VEC(struct memory_owner) owners;
    int64_t mem_peak, mem_first, mem_last, mem_capacity, mem_reserved, mem_growth_step;
    uint32_t mem_steps;
    double fragmentation;
    bool mem_leak;
    struct heap_peak heap;
    int64_t (*mem_kind)[HEAP_KINDS]; /* of each point of mem: they sum to it; NULL: not known */
    /* every idle piece, for the page: sorted by time */
    struct idle_piece {
        int64_t t0, t1;
        uint32_t ev; /* 1 + the host event that was running, 0 none */
        uint8_t cause;
    } * idle;
    uint32_t idle_n;
    uint32_t slices;                /* Ridge: times that another process had the GPU under its kernels */
    int64_t warmup_ns, later_ns;    /* a first step that is start-up, and the median of the others; 0 none */
    int64_t mapped_ns;              /* of a program on the CPU: its own code while large blocks are freed */
    uint32_t *dev, *dev_row, dev_n; /* device work in order of start, and its kernel_row (or ~0) */
    bool has_python;
    int64_t residual; /* wall - sum of the budget: always 0, tested */
};

int diagnose(struct diag *, struct trace *, struct err *);
bool device_idles(const struct diag *,
                  const struct device_row *); /* less than a tenth as busy as the busiest */

/* ---- groups.c: what a Ridge program cost, by name, function, line, module, shape or class ---------------- */

enum group_by { GROUP_KERNEL, GROUP_OP, GROUP_LINE, GROUP_MODULE, GROUP_SHAPE, GROUP_CLASS, GROUPS };
enum group_sort {
    SORT_DEVICE,
    SORT_TOTAL,
    SORT_HOST,
    SORT_CALLS,
    SORT_MEMORY,
    SORT_FLOPS,
    SORT_BYTES,
    SORTS
};
const char *group_text(int), *sort_text(int);                          /* "kernel" ..; "device" .. */
uint32_t group_name(struct diag *, const struct kernel_row *, int by); /* trace_str */
struct group_row {
    uint32_t name;         /* trace_str, 0: not known */
    uint64_t count, calls; /* of kernels; of the user's functions */
    int64_t ns;            /* of kernels whose work comes from there */
    int64_t total_ns, host_ns,
        host_total;               /* of kernels under calls from there; of those calls alone, and whole */
    int64_t memory;               /* bytes at the peak */
    double key;                   /* what rows are sorted by */
    double flops, bytes, roof_ns; /* of all calls; roof_ns: at best, of those whose roof is known */
    int64_t roof_of;              /* ns of those */
};
/* What all kernels would take at best, by the machine model; of those it does not know, what they took. */
int64_t ridge_at_best(const struct diag *);
/* Rows in d's arena; their times sum to the time of all kernels. */
uint32_t diag_group(struct diag *, int by, int sort, struct group_row **rows);
void diag_free(struct diag *);

/* ---- foreign/ranks.c: the traces of a distributed job together ------------------------------------------ */

enum { RANKS_MOST = 1024 };
struct rank_row {
    const char *path;
    int rank, world;
    bool cpu;
    uint32_t steps;
    int64_t wall_ns, busy_ns, budget[BUDGET_KEYS];
    int64_t offset_ns,
        error_ns; /* its clock against that of the first rank; by how much that may be wrong, -1 unknown */
    int64_t clock_ns;             /* that of its GPU against its host's */
    int64_t comm_ns, hidden_ns;   /* time in collectives; under kernels */
    int64_t wait_ns, transfer_ns; /* of matched collectives: until the last rank came, and after */
    int64_t late_ns;              /* that the others waited for it, on average */
    uint32_t last;                /* collectives that it came to last */
    uint64_t kernel_count;
    int fix_id[8];                     /* cause_id of its own diagnosis */
    const char *fix[8], *fix_where[8]; /* only while it is read */
    uint32_t fixes;
};
struct rank_set {
    struct arena arena;
    uint32_t n, matched; /* ranks; collectives that all of them have */
    uint32_t at_once;    /* files that were in memory together, at most */
    VEC(struct rank_row) rows;
    VEC(const char *) refused;             /* "file: why" */
    int64_t wall_ns, wait_ns, transfer_ns; /* the longest; means */
    int culprit;                           /* row of the late rank, -1 none */
    bool network, slow_gpu;
    int reason; /* enum budget: what it spends more on */
    int64_t lost_ns, more_ns;
    const char *why, *fix, *where; /* NULL: nothing is wrong */
};
/* Reads the files, as many at once as there are threads and as fit into half of the memory that is available. Those that cannot be
 * read are refused; fewer than two left are an error. _within: into `most` bytes. */
int rank_set_read(struct rank_set *, struct err *, const char *const *path, uint32_t n);
int rank_set_read_within(struct rank_set *, struct err *, const char *const *path, uint32_t n, uint64_t most);
void rank_set_free(struct rank_set *);

/* ---- kernels.c: a Ridge program's kernels, each code once ---------------------------------------------- */

struct kernel_sum {
    uint32_t name, key, limit, opts, graph, source; /* trace_str, 0 none */
    uint8_t cls;
    uint64_t calls;
    int64_t ns, min_ns, max_ns;
    double flops, bytes; /* of all calls */
    double roof;         /* share of the roof reached, as in kernel_row: their mean by time; 0 not known */
    double roof_ns, predicted_ns;  /* of all calls for which they are known .. */
    int64_t roof_of, predicted_of; /* .. and the time that those took */
    VEC(uint32_t) rows;            /* of diag.kernels: its source lines, the most expensive first */
};
/* In d's arena, the dearest first. */
uint32_t diag_kernels(struct diag *, struct kernel_sum **out);

/* ---- diff.c: why recording B took longer than recording A -------------------------------------------- */

enum diff_what { DIFF_SAME, DIFF_NEW, DIFF_GONE, DIFF_SLOWER, DIFF_FASTER, DIFF_MORE, DIFF_FEWER };
const char *diff_text(int); /* "same" .. */
struct diff_row {           /* kernels of one name, line .. */
    const char *name, *where;
    int what;
    int64_t calls[2], ns[2]; /* in all of A, of B */
    int64_t delta;           /* ns of a step = by_calls + by_time */
    int64_t by_calls, by_time;
};
struct diff_how {
    int by;        /* enum group_by */
    uint32_t skip; /* 0: all of it; else only the steps, without the first `skip` (Ridge profiles) */
};
struct diff {
    struct diag *of[2];
    struct diff_how how;
    bool per_step;
    uint32_t steps[2];                 /* what is divided by: 1 and 1 unless per_step */
    int64_t wall[2];                   /* ns of a step */
    int64_t delta;                     /* .. of B less that of A, rounded once */
    int64_t budget[BUDGET_KEYS];       /* sums to delta */
    int64_t of_budget[2][BUDGET_KEYS]; /* what was compared, in all */
    VEC(struct diff_row) rows;         /* the largest change first; with overlap it sums to diff_kernels */
    int64_t overlap;
};
/* Rows are in the arena; their texts belong to the traces. Throws, also where there are no steps to compare. */
int64_t diff_kernels(const struct diff *); /* what kernels, of collectives too, have in the change */
void diag_diff(struct arena *, struct diag *a, struct diag *b, const struct diff_how *, struct diff *out);

#endif
