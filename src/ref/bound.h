/* bound.h: one element with how far an optimised program may be off, inside src/ref.
 *
 * eval_graph.c moves elements, bound.c computes with them. Where no bounds are asked for, err stays 0 and unsure false.
 * Tests: tests/unit/ref_graph.c */
#ifndef RIDGE_REF_BOUND_H
#define RIDGE_REF_BOUND_H

#include "ref/ref.h"

struct cell {
    union ref_val v;
    double err;  /* floats: |v - what an optimised program computes| <= err */
    bool unsure; /* a decision below was within its bound: nothing is known */
};

/* One pure op on one element. False: the op is not one that ref_eval knows. */
bool cell_eval(enum op, enum dtype, enum dtype sdt, const struct cell src[3], bool bounds, struct cell *out);

/* A reduction: ADD, MUL, MAX or MIN of elements that come one after the other. Floats are added and multiplied in
 * double and rounded once, in fold_end, which may be called in between (scans). */
struct fold {
    enum op op;
    enum dtype dt;
    enum dtype acc; /* in which an optimised program accumulates: its rounding error counts */
    bool bounds;
    bool unsure;
    bool whole;      /* floats: so far all were integers and exact */
    union ref_val v; /* so far */
    double err;      /* first order, of the elements; MUL: of the rounding too */
    double mag;      /* ADD: sum of |x|; MUL: product of max(1, |x|) */
    double n;        /* elements */
};
void fold_start(struct fold *, enum op, enum dtype, enum dtype acc, bool bounds);
void fold_add(struct fold *, struct cell, int64_t times);
void fold_decay(struct fold *, struct cell by); /* ADD: what was added so far is multiplied */
struct cell fold_end(const struct fold *);

#endif
