/* cmd_opt.h: what the files of `ridge opt` share: cmd_opt.c compiles and prints, cmd_opt_plan.c plans tensor
 * programs, cmd_opt_run.c runs. */
#ifndef RIDGE_CMD_OPT_H
#define RIDGE_CMD_OPT_H

#include "cli.h"
#include "tune/tune.h"
#include "engine/engine.h"

enum emit { EMIT_NOTHING, EMIT_IR, EMIT_TREE, EMIT_LINEAR, EMIT_C, EMIT_ASM, EMIT_CUDA, EMIT_OPENCL };
struct opt_target { /* what kernels are compiled for */
    const char *name;
    enum emit text; /* its language: EMIT_C, EMIT_CUDA or EMIT_OPENCL */
    struct target target;
    const char *features; /* flags of os_cpu() that the heuristic may count on; NULL: none, or native's */
};

struct checked { /* what --check found about one kernel */
    bool done;
    int64_t compared, wrong;
    double max_abs, max_rel, tolerance;
    double share;    /* of the grid's iterations that the interpreter ran */
    char where[160]; /* the worst element that is wrong */
};
struct timing {
    uint32_t runs;
    double median, least, spread; /* ns; spread is from the 10th to the 90th percentile */
};
struct work { /* one kernel */
    const char *opts;
    struct linear lin;
    uint64_t lower_ns;
    const char **pass; /* those that ran */
    uint32_t npass;
    const struct ekernel *code;
    uint64_t ns; /* of the first run */
    struct checked check;
    struct timing time;
};

struct session {
    struct err *err;
    struct arena arena;
    struct ir ir;
    /* asked for */
    const char *file, *opts, *only, *dump, *print;
    enum emit emit;
    const struct opt_target *target;
    bool noopt, heuristic, passes, run, ref, check, time, exact, json;
    int64_t random_opts, runs; /* NOT_GIVEN: not asked for */
    /* made */
    struct program prog;
    bool planned;            /* the file holds tensor programs; prog holds their kernels */
    VEC(const char *) about; /* planned: a line for each kernel */
    struct io io;
    struct work *work; /* by kernel */
    struct engine *engine;
    struct engine_list *list;
    struct io_mem mem, plain; /* what the kernels run on; the interpreter's copy for --check */
    bool failed;              /* --check found a difference */
};

/* Throws with the file and line of the kernel. */
void session_lower(struct session *, const struct kernel *, const struct lower_opts *, struct linear *out);
/* Tensor programs become kernels; false if the file holds none. Throws. */
bool session_plan(struct session *);
void session_print_plan(struct session *);
/* Runs (if `runs`) and prints results. Throws. */
void session_execute(struct session *, bool runs);
void session_close(struct session *);
void must(struct err *, int status); /* throws what a call left in the record */

#endif
