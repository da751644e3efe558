/* loop.h: loops over time as the front end builds them: CALL `loop` (struct loop_call, ir.h). Private to src/tensor.
 * Files: loop.c (the node), loop_lift.c (a body for all steps at once), loop_grad.c, loop_keep.c, recurrent.c (the cells)
 * Tests: tests/unit/loop.c */
#ifndef RIDGE_TENSOR_LOOP_H
#define RIDGE_TENSOR_LOOP_H

#include "tensor/internal.h"

enum loop_kind { LOOP_STATE, LOOP_PER_STEP, LOOP_FIXED };
struct loop_leaf { /* a BUFFER of the body */
    const uop *leaf;
    const uop *value; /* outside: what a state begins with; (steps, ..); the same in each step */
    enum loop_kind kind;
};
struct loop_body { /* a body in a graph of its own, which goes when the loop is made */
    struct arena *a;
    struct tg g;
    int64_t steps;
    bool backwards;
    VEC(struct loop_leaf) leaf; /* states first */
    const uop **next;           /* by state */
    uint32_t states;
};
void loop_body_init(struct loop_body *, struct arena *, int64_t steps, bool backwards);
/* A leaf like `value`, which has the axis of steps if kind says so. */
const uop *loop_leaf(struct loop_body *, struct tg *outer, enum loop_kind, const uop *value);
/* The CALL. What does not depend on the states is computed outside: sums of all steps at once, and what is the same in each step. */
const uop *loop_make(struct tg *outer, struct loop_body *);
/* In what is below the roots (may be NULL) nodes for which `by`, by id below `nodes`, has another become that. */
void loop_replace(struct loop_body *, const uop *const *by, uint32_t nodes, const uop **root, uint32_t n);
/* n rows of a result from element `at` on, as (n, shape). */
const uop *loop_view(struct tg *, const uop *flat, int64_t at, int64_t row, int64_t n, const struct shape *);

/* loop_lift.c: nodes of the body as nodes outside, for all steps at once. */
struct loop_lift {
    struct tg *outer;
    struct loop_body *b;
    const uop **value; /* by id of a leaf: its values outside; states have a row for each step here, too */
    const uop **out;   /* by node id */
    uint8_t *batched;  /* by node id: `out` has the axis of steps in front */
    uint32_t n;        /* ids below are known */
};
void lift_init(struct loop_lift *, struct tg *outer, struct loop_body *);
const uop *lift(struct loop_lift *, const uop *, bool *batched);
const uop *lift_sum(struct loop_lift *, const uop *); /* over the steps */

/* loop_keep.c: 1 by node id: the values of a body that are better kept than computed anew; state: its leaves, or NULL */
uint8_t *loop_worth_keeping(struct arena *, struct shapes *, const uop *const *next, const uop *const *state,
                            uint32_t states, uint32_t nodes);
/* Those that the roots (may be NULL) read. */
void loop_find_read(struct arena *, const uop *const *root, uint32_t n, const uint8_t *worth, uint32_t nodes,
                    uop_vec *kept);
/* A call that has values of its body in its result: the call. rows: of each value (steps, its shape). */
const uop *loop_keep(struct tg *, struct arena *, struct loop_call *, const uop *call,
                     const uop *const *value, uint32_t n, const uop **rows);

/* loop_grad.c: what flows to each source that bit i of `want` asks for */
void grad_loop(struct tg *, const uop *call, const uop *dy, uint32_t want, const uop **out);

#endif
