/* model.h: what this machine can do, as numbers; the only header of src/model.
 *
 * One text file per machine holds, for each thing that limits a kernel, what theory says and what was
 * measured. The planner, the search and the profiler all read it through model_value, so the model that
 * explains a run is the model that compiled it; its hash is part of the schedule key.
 *
 *     ridge-machine 1
 *     name = Neoverse-V1
 *     clock = 2.6 [2.59]        # GHz; theory, and in brackets what was measured
 *     …
 * Tests: tests/unit/model.c */
#ifndef RIDGE_MODEL_H
#define RIDGE_MODEL_H

#include "base/base.h"

/* clang-format off */
/* Rates of arithmetic are per core and cycle, an FMA counts two; bandwidths "per core" scale with the
 * cores used. Rates of tensor cores are 0 where there are none.
 *    field        key            unit               what it is */
#define MODEL_TABLE(X)                                                                             \
    X(CORES,       "cores",       "threads",         "cores that may be used")                     \
    X(CLOCK,       "clock",       "GHz",             "clock under vector load")                    \
    X(VEC_BYTES,   "vec.bytes",   "bytes",           "width of a vector register")                 \
    X(FMA_UNITS,   "fma.units",   "per cycle",       "vector FMAs started per cycle")              \
    X(FLOPS_F64,   "flops.f64",   "per cycle, core", "vector arithmetic on f64")                   \
    X(FLOPS_F32,   "flops.f32",   "per cycle, core", "vector arithmetic on f32")                   \
    X(FLOPS_F16,   "flops.f16",   "per cycle, core", "vector arithmetic on f16")                   \
    X(FLOPS_BF16,  "flops.bf16",  "per cycle, core", "vector arithmetic on bf16, done in f32")     \
    X(OPS_INT,     "ops.int",     "per cycle, core", "vector arithmetic on i32")                   \
    X(MATRIX_BF16, "matrix.bf16", "per cycle, core", "MMA instructions on bf16")                \
    X(MATRIX_I8,   "matrix.i8",   "per cycle, core", "matrix or dot instructions on i8")           \
    X(L1_SIZE,     "l1.size",     "bytes, core",     "first data cache")                           \
    X(L2_SIZE,     "l2.size",     "bytes, core",     "second cache")                               \
    X(L3_SIZE,     "l3.size",     "bytes",           "shared cache")                               \
    X(L1_RATE,     "l1.rate",     "GB/s, core",      "reading from L1")                            \
    X(L2_RATE,     "l2.rate",     "GB/s, core",      "reading from L2")                            \
    X(L3_RATE,     "l3.rate",     "GB/s, core",      "reading from L3")                            \
    X(DRAM_CORE,   "dram.core",   "GB/s, core",      "reading from memory with one core")          \
    X(DRAM_READ,   "dram.read",   "GB/s",            "reading from memory with all cores")         \
    X(DRAM_COPY,   "dram.copy",   "GB/s",            "reading plus writing, one byte each")        \
    X(LAUNCH,      "launch",      "ns",              "to start a kernel on the calling thread")    \
    X(FORK,        "fork",        "ns",              "to hand a part to workers that spin, and join") \
    X(WAKE,        "wake",        "ns",              "to do so when they sleep")
/* clang-format on */

enum model_field {
#define X(field, key, unit, what) MODEL_##field,
    MODEL_TABLE(X) MODEL_FIELDS
#undef X
};

struct model {
    char name[64];
    double theory[MODEL_FIELDS];
    double measured[MODEL_FIELDS]; /* 0: not measured */
};

/* Fills theory from os_cpu() and a table of known cores; measures nothing. */
void model_guess(struct model *);
/* The same for plans: cores and clock are constants, whatever threads this process has. Plans decide what is fused and so how results
 * round: they must be those of every other process of a job. */
enum { MODEL_PLAN_CORES = 8 }; /* that fill memory's guessed bandwidth, at the balance of any fewer */
void model_guess_for_plans(struct model *);
/* The name without characters that a file of a model could not hold; theory as its text form has it. */
void model_set_name(struct model *, const char *name, const char *otherwise);
void model_round(struct model *);

enum { MODEL_L1_WAY = 4096 }; /* bytes: addresses that far apart share a set of a virtually indexed L1 */

/* ---- isa.c: instruction sets of CPUs ----------------------------------------------------------------- */

/* A row of isa.def, which explains the columns. */
struct isa {
    const char *name, *arch;
    const char *need, *cc;
    int bytes, regs, operands;
    int fma, fma_most, latency, loads;
    bool by_lane, broadcast;
    int masks;
};
/* An FMA, dot or MMA instruction, likewise. */
struct isa_op {
    const char *arch;
    enum model_field field;
    const char *name, *need, *text, *in, *out;
    int m, n, k, count;
    double rate;
    int latency;
    bool tiles;
};
const struct isa *isa_at(size_t i);              /* NULL past the end */
const struct isa *isa_find(const char *name);    /* NULL unknown */
const struct isa *isa_of(const struct os_cpu *); /* the last row that this machine satisfies */
const struct isa *isa_host(void);
/* 0: isa_host; else the first row of SIMD instructions with vectors of these bytes, whatever the host is. */
const struct isa *isa_of_width(int bytes);
int isa_accumulators(const struct isa *); /* of a register tile: registers that operands leave */
int isa_chains(const struct isa *);       /* independent accumulators that hide the latency of an FMA */
const struct isa_op *isa_op_at(size_t i); /* NULL past the end */
/* The instruction behind a rate of the model: the first of its field that the machine has; NULL: none. */
const struct isa_op *isa_op_of(const struct os_cpu *, enum model_field);
bool isa_has(const struct os_cpu *, const struct isa_op *);
double isa_op_count(const struct isa_op *, int vec_bytes); /* operations of one instruction */

/* What one core of any 64-bit server or laptop does at least: two 128-bit FMA units at 2 GHz, and a slow memory. For traces
 * that do not say which CPU they are from. */
#define MODEL_ANY_CORE_FLOPS 32e9
#define MODEL_ANY_CORE_BYTES 5e9

/* ---- gpu.c: known GPUs ------------------------------------------------------------------------------ */

enum gpu_unit { GPU_F64, GPU_F32, GPU_TF32, GPU_F16, GPU_F8, GPU_UNITS };
/* What a GPU has: a row of gpus.def, perhaps with a driver's figures put over it. 0: unknown. */
struct gpu_spec {
    const char *name;
    int cc;                                       /* compute capability: 90 is 9.0; 0: not a CUDA device */
    int sms;                                      /* streaming multiprocessors (CUs) */
    int max_threads_sm, threads_block, blocks_sm; /* limits: of a SM, of a block; blocks of a SM */
    int regs_sm;                                  /* 32-bit registers of a SM */
    int smem_sm, smem_block; /* bytes of shared memory: of a SM, of a block (opt-in) .. */
    int smem_reserved;       /* .. and what the system takes of it for each block */
    int64_t l2;              /* bytes */
    double ghz;              /* boost clock */
    double peak[GPU_UNITS];  /* dense TFLOP/s, data sheet */
    double got;              /* TFLOP/s of a large bf16 GEMM, measured */
    double bw, bw_got;       /* GB/s of device memory: data sheet, measured */
    double l2_sm;            /* bytes per cycle and SM from L2; 0: no source, H200's is assumed */
    double launch;           /* us from the host's launch to the start of a kernel; 0: likewise */
    double link;             /* GB/s of one direction of the host link, pinned memory */
};
const struct gpu_spec *gpu_spec_find(const char *name); /* by name or a part of it; NULL unknown */
const struct gpu_spec *gpu_spec_at(size_t i);           /* NULL past the end */
const struct gpu_spec *gpu_spec_default(void); /* H200: what kernels are written for when no GPU is named */
struct gpu_spec gpu_spec_with_cc(int cc);      /* the default one restricted to this compute capability */
double gpu_mma_per_cycle(const struct gpu_spec *); /* dense 16-bit FLOPs per cycle and SM */
double gpu_l2_rate(const struct gpu_spec *);       /* bytes per cycle and SM */
double gpu_l2_scale(const struct gpu_spec *); /* the same relative to the H200, which gpu_cost is fitted to */
double gpu_launch_ns(const struct gpu_spec *);
double gpu_whole(const struct gpu_spec *, double per_sm); /* a figure per SM for the whole GPU, rounded */
double gpu_power_flops(const struct gpu_spec *); /* FLOP/s of tensor cores that reach the power limit */
int gpu_blocks_per_sm(int cc);                   /* most resident blocks of an architecture */

/* What a driver reports. 0: it does not say. */
struct model_gpu {
    const char *name;
    int units;                  /* SMs */
    double ghz, memory_rate;    /* memory_rate: GB/s */
    double l2, shared;          /* bytes; shared: of a block, opt-in */
    int cc, regs_sm, shared_sm; /* shared_sm: bytes */
    int threads_sm, threads_block, blocks_sm;
};
/* The row of this name, else of its architecture, with what is reported put over it. */
struct gpu_spec gpu_spec_of(const struct model_gpu *);
/* A GPU as a machine: a SM is a core, the 32 lanes of a warp its vector, shared memory and L1 are L1, L2 is L3 (and L2 is L1
 * once more). model_guess_gpu: the same of what a driver reports, with the driver's memory rate. */
void model_of_gpu(struct model *, const struct gpu_spec *);
void model_guess_gpu(struct model *, const struct model_gpu *);

/* ---- gpu_cost.c: fitted constants of the GPU cost models ------------------------------------------------ */

struct gpu_cost {
    double load_latency;            /* cycles from issuing a tile's load to its arrival */
    double step_cycles;             /* cycles of barriers and waits of a K step .. */
    double step_cycles_specialized; /* .. of warp-specialized kernels */
    double mma_sync_stall;          /* cycles a K step stalls that other blocks hide: mma.sync .. */
    double fma_stall;               /* .. and FMAs */
    double store_rate[3];           /* bytes per cycle a lone block stores, by epilogue buffers .. */
    double store_rate_vec;          /* .. and by 16-byte stores */
    double gather_issue;            /* instructions per 16-bit element of a row that is not aligned */
    double store_exposed;           /* share of that time which co-resident blocks do not hide */
    double epilogue_cpi;            /* cycles per epilogue instruction: low occupancy exposes latency .. */
    double epilogue_cpi_pingpong;   /* .. with two consumer warpgroups */
    double bytes_in_flight;         /* per SM, to saturate DRAM */
    double tensor_peak;             /* share of the tensor cores' peak that wgmma reaches .. */
    double mma_sync_peak;           /* .. of that, mma.sync .. */
    double mma_sync_tf32_peak;      /* .. mma.sync on TF32 .. */
    double mma_sync_f64_peak;       /* .. and on fp64 */
    double fma_peak;                /* share of the FMA peak reached */
    double warp_ipc;                /* instructions per cycle of a lone warp */
    double transpose_exposed;       /* share of transposing shared stores that other work does not hide */
    double l2_rate_shared;          /* bytes per cycle and SM from L2: requested by several SMs .. */
    double l2_rate_private;         /* .. by one alone */
    double cluster_sync;            /* cycles until the blocks of a cluster meet */
    double dsmem_rate;              /* bytes per cycle sent through distributed shared memory */
    double overlap_norm;            /* p of the p-norm over unit times: units overlap, imperfectly */
    double dram_peak;               /* share of MODEL_DRAM_READ that kernels reach */
    double launch_seconds;          /* of a kernel in a stream */
    double l2_kept;                 /* share of L2 that keeps GEMM operands from wave to wave */
    double l2_attention;            /* share of L2 for K and V of heads that run together */
    double splitk_step;             /* cycles per term of K besides MMA and loads */
    double splitk_reduce;           /* cycles of launching the second kernel */
    double splitk_l2_rate;          /* bytes per cycle and SM of partial sums written and read */
    double splitk_dram_peak;        /* share of the data sheet's DRAM rate */
    double splitk_l2_kept;          /* share of L2 that holds the operands */
    double splitk_gain;             /* predicted time must fall to this share */
    double conv_pass_issue;         /* issue slots that a pass through shared memory costs */
    double conv_sector;             /* cycles per 32-byte sector from L2 */
    double conv_few_warps[4];       /* slowdown with 1 .. 3 warps per scheduler */
    double conv_one_block;          /* slowdown of a lone block on an SM */
    double conv_start;              /* cycles to start and drain a wave */
    double coop_traffic;            /* bytes of a cooperative loop weigh so much more */
    double column_traffic;          /* bytes of a cooperative loop down columns */
    double threads_full;            /* resident threads per SM that hide latency */
    double threads_columns;         /* threads per SM, one per column, below which column sums are split */
    double blocks_coop;             /* cooperative blocks per SM that a register tile must leave */
    double blocks_skinny;           /* blocks of four warps per SM, of a skinny GEMM */
    double blocks_gemm;             /* blocks per SM worth tiles in shared memory .. */
    double thread_term;             /* .. or seconds of a term of a sum that a thread has alone, latency */
    double block_reduction;         /* seconds of a reduction across the threads of a block */
    double blocks_cluster4;         /* blocks per SM that are co-resident in clusters of four */
    double conv_fmas;               /* FMAs per SM of a convolution worth tiles in shared memory */
    double coop_outputs;            /* outputs per SM of long sums, up to which blocks share them */
    double wgrad_accumulators; /* share of the register file that holds accumulators of a weight gradient */
    double power_limited;      /* share of the tensor cores' peak that reaches the power limit */
    double threads_early;      /* threads per SM of a kernel that PDL starts early */
    double threads_coop;       /* threads per SM below which cooperative loops get larger blocks */
};
extern const struct gpu_cost gpu_cost;

/* Rows that cooperative loops keep from pass to pass: threads of the largest block, registers of each for rows. */
enum { GPU_BLOCK_THREADS = 1024, GPU_ROW_REGISTERS = 64 };

/* ---- files of models ------------------------------------------------------------------------------- */

/* The text form. model_parse checks everything (the text may come from anyone): header, known keys, each
 * once, values finite and in range. `where` names the source in errors. */
void model_print(struct str *, const struct model *);
int model_parse(struct err *, struct model *, const char *where, const char *text, size_t n);
int model_load(struct err *, struct arena *, const char *path, struct model *);
int model_save(struct err *, struct arena *, const char *path, const struct model *);
/* The model to work with: the file named by RIDGE_MODEL (an error if it cannot be read), else the file of
 * this machine if `ridge ceilings` wrote one, else a guess. */
int model_open(struct err *, struct arena *, struct model *);
/* The one to plan by: the same file, else model_guess_for_plans. */
int model_open_for_plans(struct err *, struct arena *, struct model *);
/* Where the file of this machine lives; NULL if there is no home directory. */
char *model_path(struct arena *);

/* Measured if it was, else theory. */
double model_value(const struct model *, enum model_field);
/* Records a measurement, rounded to three digits so that plans do not flutter with the noise. */
void model_measured(struct model *, enum model_field, double);
const char *model_key(enum model_field);
const char *model_unit_of(enum model_field);
/* Of the name and all values in use: equal hashes give equal decisions. */
uint64_t model_hash(const struct model *);

/* ---- roofline.c ---------------------------------------------------------------------------------- */

/* clang-format off */
/* What can limit a kernel. Rows from F64 on are parts of VECTOR, which one unit does one after the other.
 *    unit      text */
#define MODEL_UNITS(X)                                                                             \
    X(LAUNCH,  "launch")                                                                           \
    X(DRAM,    "memory")                                                                           \
    X(L3,      "L3")                                                                               \
    X(L2,      "L2")                                                                               \
    X(L1,      "L1")                                                                               \
    X(VECTOR,  "vector")                                                                           \
    X(INTEGER, "integer")                                                                          \
    X(MATRIX,  "matrix")                                                                           \
    X(F64,     "f64")                                                                              \
    X(F32,     "f32")                                                                              \
    X(F16,     "f16")                                                                              \
    X(SPECIAL, "special")
/* clang-format on */

enum model_unit {
#define X(unit, text) UNIT_##unit,
    MODEL_UNITS(X) UNIT_COUNT
#undef X
};

struct model_work {               /* what a kernel does, over all its threads; zero is none */
    double f64, f32, f16, bf16;   /* vector operations by type, an FMA is two, exp its weight */
    double special;               /* those of exp, sine and the like in f32, weighted so, if not among them */
    double integer;               /* vector integer operations */
    double mat_bf16, mat_i8;      /* operations in MMA instructions */
    double dram_read, dram_write; /* bytes that cross each boundary */
    double l3, l2, l1;
    int threads; /* cores it runs on; 0: all */
};
struct model_time {
    double seconds;        /* launch + the slowest unit */
    double by[UNIT_COUNT]; /* seconds of each unit alone */
    enum model_unit limit; /* the slowest; LAUNCH when that is longer than all others */
};
struct model_time model_time(const struct model *, const struct model_work *);
const char *model_unit_text(enum model_unit);

#endif
