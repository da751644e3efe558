/* codegen.h: from a kernel graph and a list of opts to a linear program. The only header of src/codegen.
 *
 *   verify -> opts -> stage -> tree -> expand -> predicates -> coalesce -> decompose -> index -> linearize -> estimate
 *
 * lower() in lower.c is that line as code. docs/internals/lowering.md says what each step does.
 * Tests: tests/unit/codegen.c (random opts against the plain kernel), tests/golden/ */
#ifndef RIDGE_CODEGEN_H
#define RIDGE_CODEGEN_H

#include "ir/ir.h"
#include "model/model.h"

struct lower_opts {
    const char *opts;     /* e.g. "TILE(k,8,u) REG(u) VEC(v)"; NULL: those of the kernel; "" none */
    struct pass_log *log; /* may be NULL */
    bool keep_math;  /* leave EXP, SIN .. and half types as they are (ref/linear evaluates them itself) */
    bool native_exp; /* the target has EXP, EXP2 and SIGMOID of float32: CUDA */
    int vec_bytes;   /* of the target; 0: this machine */
    bool narrow;     /* index arithmetic in 32 bits wherever it fits, not only in vectors: for a GPU */
};
/* Everything in one call. Throws (RG_EVERIFY, RG_EOPT, RG_EINTERNAL). The program lives in ir->arena. */
void lower(struct ir *, const struct kernel *, const struct lower_opts *, struct linear *out);

/* opts.c: what may be done to this kernel. */
/* Checks one opt list without lowering; returns false and the reason. */
bool opts_legal(struct ir *, const struct kernel *, const char *opts, struct str *why);
uint64_t opts_tried(void); /* calls of opts_legal by this thread so far: what a choice of opts costs */
/* A random legal opt list for tests and search; the same seed gives the same list. */
const char *opts_random(struct ir *, const struct kernel *, uint64_t seed);
void opts_help(struct str *); /* the table of opts for --help and docs */

/* estimate.c: the work that a kernel graph asks for, before any opt: flops, special, bytes. */
void estimate_asked(struct ir *, const uop *sink, struct estimate *);

#endif
