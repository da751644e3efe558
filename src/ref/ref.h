/* ref.h: the slow, obvious oracle, and the only header of src/ref.
 *
 * ref_linear interprets one linear program element by element. It shares no code with the compiler's
 * folder (op_eval), the renderers or the rounding helpers of src/ir: what an op means is written down
 * here a second time, from the words in ops.def, so that a mistake has to be made twice to be missed.
 * It also checks what a compiled kernel would not: every access against its buffer, scratch and
 * accumulators that are read before they are written, and grid iterations that touch each other's data.
 * Tests: tests/unit/ref.c (values and every error), tests/unit/golden.c (kernels under random opts),
 * tests/unit/ref_graph.c and tests/unit/graphs.c (the tensor graph) */
#ifndef RIDGE_REF_H
#define RIDGE_REF_H

#include "ir/ir.h"

struct ref_buf {
    void *p;
    size_t bytes;
    const char *name;     /* for messages; NULL: "buffer number 3" */
    unsigned char *wrote; /* one for each element, set to 1 where the program writes; may be NULL */
    /* One for each byte: 0 where the memory holds nothing yet. What is loaded from there is poison; stores set it.
     * NULL: everything holds a value. */
    unsigned char *set;
};

/* Runs grid iterations [t0, t1) of the program. bufs[slot] is what PARAM `slot` names; var[slot] what
 * VAR `slot` is: an integer, or for a float VAR its bits (f32 in the low 32). Returns 0, or an error:
 *   RG_EVERIFY       an access out of bounds, a race, a value that was never written reaching a store, a
 *                    branch or an index, or a list that breaks the rules in ir.h
 *   RG_EINVAL        a buffer is missing or smaller than its PARAM says, a VAR is out of its bounds
 *   RG_EUNSUPPORTED  an op that linear programs do not have
 * Buffers may hold partial results after an error. */
int ref_linear(struct err *, const struct linear *, const struct ref_buf *bufs, uint32_t nbuf,
               const int64_t *var, int64_t t0, int64_t t1);

/* About how many element evaluations ref_linear makes for the whole grid (100 million take some
 * seconds). A loop of dynamic size counts with its greatest size. */
double ref_cost(const struct linear *);

/* ---- eval_graph.c: the tensor graph, node by node ------------------------------------------------------ */

/* Evaluates a tensor program (op GRAPH) with plain loops over whole tensors, one node after the other. bufs[number] is
 * what BUFFER `number` holds at the start and is not written: an ASSIGN's value is a new tensor. var as in ref_linear.
 * What an optimised program may give instead is `bound`: for each element a bound of how far another order of summation,
 * another grouping, a fused product or a vector function of 2 ulp (POW 4) may be off; 0 for integers, bool, moves and for
 * ops that round correctly on exact sources (sums of small integers included). Where a decision (comparison, floor, cast
 * to integer, argmax ..), a pole, an overflow or the sign of a zero was within the bound, the element is `unsure` and is
 * not compared. bound.c says how; tests/graphs.h compares. */
struct ref_tensor {
    enum dtype dt;
    const struct shape *shape;
    void *data;            /* row-major, as in memory */
    const double *bound;   /* one for each element, or NULL if not asked for */
    const uint8_t *unsure; /* the same */
};
/* out[graph->nsrc], in the arena. Besides ref_linear's errors: RG_EVERIFY for a node that shape.c refuses, an index out
 * of range and the MAX or MIN of nothing; RG_ELIMIT when intermediate tensors would pass `limit` bytes (0: 4 GiB).
 * Views of EXPAND take no memory: a broadcast of more than 2^31 elements may be computed with and reduced. */
int ref_graph(struct err *, struct arena *, struct ir *, const uop *graph, const struct ref_buf *bufs,
              uint32_t nbuf, const int64_t *var, bool bounds, size_t limit, struct ref_tensor *out);

/* The same of a rank: what CALL collective does is the business of whoever has the other ranks. NULL: an error. */
struct ref_exchange {
    void *cx;
    int (*run)(void *cx, struct err *, int64_t code, const void *in, void *out, int64_t nin, int64_t nout);
};
int ref_graph_of_rank(struct err *, struct arena *, struct ir *, const uop *graph, const struct ref_buf *bufs,
                      uint32_t nbuf, const int64_t *var, const struct ref_exchange *, struct ref_tensor *out);

/* elem.c: one element at a time. An integer is held in i, sign- or zero-extended from its dtype (u64 as
 * the same 64 bits); a float in f, already rounded to its dtype; bool is 0 or 1 in i. */
union ref_val {
    int64_t i;
    double f;
};
/* Evaluates a pure op; `sdt` is the dtype of source 0 (of source 1 for WHERE). False: not a pure op. */
bool ref_eval(enum op, enum dtype dt, enum dtype sdt, const union ref_val src[3], union ref_val *out);
/* The same for one op and its dtypes: a function without a look at them, or NULL where there is none. */
typedef union ref_val ref_fn(union ref_val a, union ref_val b, union ref_val c);
ref_fn *ref_function(enum op, enum dtype dt, enum dtype sdt);
uint64_t ref_bits(const void *at, size_t bytes);    /* of 1, 2, 4 or 8 bytes; memory need not be aligned */
double ref_round(enum dtype, double);               /* to the nearest value of the type, ties to even */
int64_t ref_wrap(enum dtype, int64_t);              /* an integer modulo the type */
union ref_val ref_read(enum dtype, const void *at); /* one element of memory */
void ref_write(enum dtype, void *at, union ref_val);
double ref_number(enum dtype, union ref_val); /* as a double, for comparing and printing */

#endif
