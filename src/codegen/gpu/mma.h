/* mma.h: state of the pass that makes MMA instructions, shared by mma.c and mma_statements.c. */
#ifndef RIDGE_GPU_MMA_H
#define RIDGE_GPU_MMA_H

#include "codegen/internal.h"

enum { LANE_POS = 249, REG_POS = 232, LAID_MAX = 6, PARTIAL_K = 128 };

/* An axis along m or n of the accumulators: digits of the lane and of registers. */
struct laid {
    const uop *range;
    int side;                  /* MMA_M, MMA_N */
    const struct mma_map *map; /* layout of the accumulators */
    /* a RANGE for each digit of this side, in the layout's order; the first of n is a vector's */
    const uop *reg[4];
    unsigned nreg;
};

struct mma_gemm { /* an instruction and the RANGEs of its sides */
    enum mma instr;
    const uop *side[3];
    struct mma_map map[3];
};

struct mma_cx {
    struct sched *s;
    struct ir *ir;
    struct rw *rw;
    struct arena *a;
    struct free_ranges fr;
    struct mma_gemm gemm[4], *p; /* p: the one being emitted */
    uint32_t ngemm;
    struct laid laid[LAID_MAX];
    uint32_t nlaid;
    const uop *lane;
    unsigned vec;           /* digits of d in one vector */
    struct map accumulated; /* ids of accumulators of MMA instructions */
    uint32_t accs;
};

/* Which register: for each laid-out axis its digits, RANGEs (all) or constants (one). */
struct pick {
    const uop *reg[LAID_MAX][4];
};

static inline const uop *mma_idx(struct mma_cx *t, int64_t v) { return uop_idx(t->ir, v); }
/* The coordinate along one side that the digits of x give. */
const uop *mma_digits(struct mma_cx *t, const struct mma_digit *d, unsigned n, const uop *x, int side);
const uop *mma_range(struct mma_cx *t, const char *name, enum axis_kind kind, uint8_t pos, int64_t size);
struct laid *mma_laid_of(struct mma_cx *t, const uop *range); /* NULL: not laid out */
bool mma_is_cell(struct mma_cx *t, const uop *n);             /* an accumulator over laid-out axes */
struct pick mma_pick_all(const struct mma_cx *t);
/* The accumulator with registers as coordinates. lanes > 1: the whole vector of the first digit of n. */
const uop *mma_cell(struct mma_cx *t, const uop *acc, const struct pick *p, unsigned lanes);
/* x as this lane has it in these registers. */
const uop *mma_in_registers(struct mma_cx *t, const uop *x, const struct pick *p);

/* mma_statements.c: any statement that is not the accumulation of an instruction. */
void mma_statement(struct mma_cx *t, const uop *stmt, uop_vec *out);

#endif
