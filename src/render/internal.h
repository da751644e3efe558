/* internal.h: what the renderers share; see c.c and gpu.c. The GPU renderer has scalars only: it uses the
 * scalar half of c_op.c and c_cast.c over a preamble that defines the same names. */
#ifndef RIDGE_RENDER_INTERNAL_H
#define RIDGE_RENDER_INTERNAL_H

#include "render/render.h"

#define MAX_LANES 64

/* A value in the generated text. */
struct c_text {
    const char *s;   /* C expression; NULL: nothing was evaluated yet */
    const uop *node; /* for its bounds; NULL if it is not the value of one node */
    uint8_t dt, lanes;
    uint8_t mask; /* bool vectors: bytes of one mask element (-1 true, 0 false); else 0 */
    bool atom;    /* a name or a literal: may be written twice and needs no parentheses */
    bool moving;  /* reads an accumulator: changes with the next SET */
    const char *pair,
        *upper; /* CUDA: the u32 of which this lane is the lower, the upper 16 bits; else NULL */
};

struct render {
    struct str *o;
    struct ir *ir;
    struct arena *a; /* for expression texts; = ir->arena */
    const struct linear *lin;
    uint32_t *slot;         /* by node id: index in `val` + 1, 0: none */
    VEC(struct c_text) val; /* the latest evaluation of each node */
    uint32_t *uses;         /* by position in the list: uses of that evaluation */
    uint32_t pos;           /* position in the list: the 12 of v12 */
    uint32_t tmp;           /* further names of this position: v12_1 */
    int indent;
    enum { LANG_C, LANG_CUDA, LANG_OPENCL } lang; /* see negated() in c_op.c, and c_cast.c */
};

/* Leaves that are read in place, found below the entries of the list. */
struct leaves {
    uop_vec param, var, acc;
};

/* c.c */
void count_uses(struct render *, struct leaves *); /* fills uses, finds the leaves */
void sort_by_slot(uop_vec *);
const char *bare(struct render *, const char *s); /* without the parentheses around the whole */
const char *fmt(struct render *, const char *f, ...) RG_FMT(2, 3);
void line(struct render *, const char *f, ...) RG_FMT(2, 3);
/* Texts that name functions of the preamble; text NULL: any may be named. */
struct c_names {
    const char *const *text;
    uint32_t n;
    const char *more[3]; /* of the preamble itself; or NULL */
};
void c_vector_functions(struct str *, const struct c_names *, int lanes);

struct c_text operand(struct render *, const uop *); /* what was evaluated, or a constant */
struct c_text build_text(struct render *, const uop *);
struct c_text named(struct render *, struct c_text); /* gives it a name unless it is an atom */

/* c_op.c */
unsigned storage_lanes(unsigned lanes); /* rounded up to a power of two */
/* Ends "{a, b, c": zeros for the lanes that storage adds; OpenCL C wants a value for each lane. */
void close_lanes(struct str *, unsigned lanes);
const char *type_of(struct render *, enum dtype, unsigned lanes, unsigned mask);
const char *elem_type(enum dtype);
/* A vector of integers, or of f32 and f64, as another type. */
const char *converted(struct render *, enum dtype from, enum dtype to, unsigned lanes, const char *s);
struct c_text constant(struct render *, enum dtype, union arg);
struct c_text splat(struct render *, struct c_text, unsigned lanes, unsigned mask);
struct c_text mask_width(struct render *, struct c_text, unsigned bytes);
/* One lane as a scalar expression; v is an atom. */
const char *lane(struct render *, struct c_text, unsigned i);
/* The value of a pure op. n gives dtype and lanes and, with its sources, the bounds. */
struct c_text op_text(struct render *, const uop *n, const struct c_text *src);
/* op on values that are not nodes (VEC_REDUCE, STORE_ADD): no bounds are known. */
struct c_text op_plain(struct render *, enum op, enum dtype, unsigned lanes, const struct c_text *src,
                       unsigned nsrc);
struct c_text hred_text(struct render *, enum op, struct c_text);

/* c_cast.c */
struct c_text cast_text(struct render *, struct c_text, enum dtype to);
struct c_text bitcast_text(struct render *, struct c_text, enum dtype to);
static inline bool is_half(enum dtype d) { return dt_is_float(d) && dtype_info[d].bytes < 4; } /* f8 too */

/* c.c: the function NAME_body of render_c. What is passed to it behind t1, in terms of buf and scratch. */
const char *render_body(struct str *, struct ir *, const struct linear *);

#endif
