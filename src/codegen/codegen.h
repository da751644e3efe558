/* codegen.h: from a kernel graph and an opt list to a linear program. The public header of src/codegen.
 *
 *   verify -> opts -> finalize-axes -> block-sums -> loop-tree
 *          -> GPU: tma-stores -> mma -> warp-specialize | pipeline -> threads
 *          -> CPU: peel
 *          -> predicate -> expand -> coalesce -> slp -> prefetch -> prefetch-sums -> decompose
 *          -> index-width -> linearize -> cold-branch -> estimate
 *
 * passes.def is that line as a table, with what each pass requires and gives; lower.c runs it.
 * docs/internals/lowering.md explains them.
 * Tests: tests/unit/codegen.c (the line above against the table), tests/unit/golden.c */
#ifndef RIDGE_CODEGEN_H
#define RIDGE_CODEGEN_H

#include "ir/ir.h"
#include "model/model.h"

enum target_kind { TARGET_CPU, TARGET_GPU };
/* What code is generated for. {0}: the CPU of this machine. */
struct target {
    enum target_kind kind;      /* GPU: threads of a warp diverge, indices have 32 bits where they fit */
    int vec_bytes;              /* widest vector access; 0: 16 on a GPU, else the host's vector registers */
    int capability;             /* CUDA compute capability, 90: sm_90; 0: unknown */
    const struct gpu_spec *gpu; /* limits of thread blocks; NULL: the default row of the machine model */
    bool native_exp;            /* has EXP, EXP2 and SIGMOID of float32: CUDA */
    bool native_f16;            /* has + - * / and FMA of vectors of float16: the CPU device */
    bool no_f64;                /* has no double precision: some OpenCL devices */
    uop_vec no_coop;            /* COOP ranges whose loops no threads share: each runs all of them */
    bool keep_math;             /* the interpreter (ref/linear.c): has EXP, SIN .. and 16-bit floats */
};
static inline bool target_is_gpu(const struct target *t) { return t->kind == TARGET_GPU; }

struct lower_opts {
    const char *opts;     /* e.g. "TILE(k,8,u) REG(u) VEC(v)"; NULL: those of the kernel; "" none */
    struct pass_log *log; /* may be NULL */
    struct target target;
};
/* Everything in one call. Throws (RG_EVERIFY, RG_EOPT, RG_EINTERNAL). The program lives in ir->arena. */
void lower(struct ir *, const struct kernel *, const struct lower_opts *, struct linear *out);

enum pass {
#define PASS(id, name, function, condition, required, given) PASS_##id,
#include "passes.def"
#undef PASS
    PASS_COUNT
};
const char *pass_name(enum pass);
void passes_help(struct str *); /* the table for --help: name, requires => gives */

/* legal.c: is this opt list legal for this kernel? If not, *why (may be NULL) says why. gpu: the limits that count; NULL: a CPU, or
 * the default row of the machine model. */
bool opts_legal(struct ir *, const struct kernel *, const char *opts, const struct gpu_spec *gpu,
                struct str *why);
uint64_t opts_tried(void);    /* calls of opts_legal by this thread so far: what a choice of opts costs */
void opts_help(struct str *); /* the table of opts for --help and docs */

/* estimate.c: the work that a kernel graph asks for, before any opt: flops, special, bytes. */
void estimate_asked(struct ir *, const uop *sink, struct estimate *);

#endif
