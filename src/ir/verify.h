/* verify.h: shared by verify.c, verify_index.c and verify_linear.c. Private to src/ir. */
#ifndef RIDGE_IR_VERIFY_H
#define RIDGE_IR_VERIFY_H

#include "ir.h"

enum rule_id {
#define RULE(id, name, what, todo) VR_##id,
#include "verify.def"
#undef RULE
    VR_COUNT
};

struct verify {
    struct ir *ir;
    struct arena *arena;
    const char *name; /* of the kernel; NULL for a linear program */
    const uop *sink;
    uop_vec order; /* all nodes below the sink */
    struct free_ranges free;
    uop_vec grid, ranges; /* RANGE nodes, all and GRID ones of more than one iteration */
};

/* Throws: "kernel NAME: %ID (node): rule RULE: what; DETAILS; todo". fmt may be "". */
void verify_fail(struct verify *, const uop *, enum rule_id, const char *fmt, ...) RG_FMT(4, 5) RG_NORETURN;

/* verify_index.c: index arithmetic that must be proved. */
void verify_bounds(struct verify *, const uop *access); /* LOAD, PRED_LOAD, STORE, STORE_ADD */
void verify_race(struct verify *, const uop *store);
bool verify_disjoint(struct verify *, const uop *store_a, const uop *store_b);

#endif
