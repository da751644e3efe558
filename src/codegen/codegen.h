/* codegen.h: from a kernel graph and a list of opts to a linear program. The only header of src/codegen.
 *
 *   verify -> opts -> stage -> tree -> expand -> gates -> coalesce -> decompose -> index -> linearize -> estimate
 *
 * lower() in lower.c is that line as code. docs/design.md says what each step does.
 * Tests: tests/unit/codegen.c (random opts against the plain kernel), tests/golden/ */
#ifndef RIDGE_CODEGEN_H
#define RIDGE_CODEGEN_H

#include "ir/ir.h"

/* The linear program: nodes in the order in which they are evaluated. What stands in the list:
 *   RANGE       opens a loop, closed by END(range). At most one of kind GRID: if present it is the first
 *               entry, its size is `grid`, and the caller runs a part [t0, t1) of it; its END is the last.
 *   IF(cond)    opens, then perhaps ELSE(if), closed by END(if)
 *   STORE, STORE_ADD, SET
 *   values      LOAD, GLOAD, arithmetic, BUILD, EXTRACT, HRED, PARAMS: evaluated here, from sources evaluated
 *               before in an open scope. The same node may stand in the list again (in another scope, or
 *               because memory or an accumulator below it changed): its value is the latest evaluation.
 * What never stands in the list and is read in place: CONST, INVALID (any value will do), LANES, PARAM, VAR,
 *   LOCAL, INDEX (a part of its LOAD or STORE), ACC (a variable of the grid iteration, uninitialised until its
 *   first SET; a value that uses it reads what it holds at that point of the list).
 * INDEX with lanes > 1 and a scalar index addresses consecutive elements, with a vector index one per lane;
 * there is no alignment promise. All indices in the list are i32 or i64 (never IDX) after the `index` step.
 * LOCALs live in the scratch memory of the worker, in the order of `local`, each 64-byte aligned. */
struct linear {
    const char *name;      /* of the function: letters, digits, _ */
    const uop **u;
    uint32_t n;
    int64_t grid;          /* iterations of the GRID range; 1 if there is none */
    const uop **local;     /* LOCAL nodes */
    uint32_t nlocal;
    int64_t scratch;       /* bytes for one worker */
    uint32_t nbuf, nvar;   /* greatest slot + 1 */
    struct estimate {
        double flops;         /* arithmetic the kernel graph asks for: reduce of n is n, an FMA two */
        double flops_issued;  /* arithmetic of this program: recompute, padding and packing included */
        double bytes;         /* distinct bytes of global buffers touched */
        double bytes_issued;  /* bytes of all loads and stores of global memory as written */
        double special;       /* exp, log, sin .. evaluations asked for */
    } est;
};

struct lower_opts {
    const char *opts;      /* e.g. "TILE(k,8,u) REG(u) VEC(v)"; NULL: those of the kernel; "" none */
    struct pass_log *log;  /* may be NULL */
    bool keep_math;        /* leave EXP, SIN .. and half types as they are (ref/linear evaluates them itself) */
    int vec_bytes;         /* of the target; 0: this machine */
};
/* Everything in one call. Throws (RG_EVERIFY, RG_EOPT, RG_EINTERNAL). The program lives in ir->arena. */
void lower(struct ir *, const struct kernel *, const struct lower_opts *, struct linear *out);

/* opts.c: what may be done to this kernel. */
/* Checks one opt list without lowering; returns false and the reason. */
bool opts_legal(struct ir *, const struct kernel *, const char *opts, struct str *why);
/* A random legal opt list for tests and search; the same seed gives the same list. */
const char *opts_random(struct ir *, const struct kernel *, uint64_t seed);
void opts_help(struct str *); /* the table of opts for --help and docs */

void linear_print(struct str *, const struct ir *, const struct linear *); /* numbered, indented */

#endif
