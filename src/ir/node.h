/* node.h: what one node may look like; shared by the constructor, the text form and the verifier.
 * Private to src/ir. */
#ifndef RIDGE_IR_NODE_H
#define RIDGE_IR_NODE_H

#include "ir.h"

/* dtype and lanes that the op's row gives; DT_COUNT and 0 where the row says SELF (but INDEX has the
 * lanes of its index and BUILD one lane per source, unless spelled otherwise). */
void node_infer(enum op, const uop *const *src, uint32_t nsrc, enum dtype *dt, unsigned *lanes);

/* Arity, argument, types of sources and result. True, or false with the reason in `why` and the source
 * to blame in *at (-1: the node itself). `why` holds WHY_MAX bytes. */
enum { WHY_MAX = 240 };
bool node_check(const struct ir *, enum op, enum dtype, unsigned lanes, const uop *const *src, uint32_t nsrc,
                union arg, char *why, int *at);

/* The dtype that a number without a spelled one takes as source `i`. A `sib` entry is the dtype of that
 * source, or DT_COUNT for a number without one; `spelled` is the node's <dtype> or DT_COUNT.
 * DT_COUNT: the row does not say (then an integer is idx and a float f32). */
enum dtype literal_dtype(enum op, const enum dtype *sib, const bool *is_literal, uint32_t nsrc, uint32_t i,
                         enum dtype spelled);

/* call.c: what is wrong with a CALL, or NULL; then *last is the size of the result's last axis. */
const char *call_check(struct shapes *, const uop *, int64_t *last);

/* A row of the tensor graph that no other form has: GRAPH, BUFFER .. ASSIGN. */
static inline bool op_is_tensor(enum op o) { return o >= OP_GRAPH && o <= OP_ASSIGN; }

/* A name that the text form takes without quotes. */
bool name_is_plain(const char *s, size_t n);

#endif
