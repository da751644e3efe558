/* plan_copy.h: what the files share that copy the caller's program for the planner; internal to src/schedule.
 *
 *   plan_graph.c       nodes and views, memory, the whole copy
 *   plan_copy_call.c   builtin kernels and scatters
 *   plan_copy_loop.c   loops that are a part of another
 *   plan_copy_sum.c    sums, contractions and scans
 *   plan_copy_once.c   .. of rows that are all alike
 *   plan_copy_order.c  orders of axes
 *   plan_units.c       units: what may be stored
 *   store_order.c      .. in which order of axes */
#ifndef RIDGE_PLAN_COPY_H
#define RIDGE_PLAN_COPY_H

#include "schedule/internal.h"

struct copy {
    struct sgraph *g;
    const uop **to;      /* caller's node id -> ours */
    const uop **version; /* the same for what an ASSIGN writes to */
    const uop **viewed;  /* caller's node id of a view: what our copy of it is a view of; see copy_view() */
    /* caller's node id: a version of a buffer that an ASSIGN of this program replaces */
    uint8_t *overwritten;
    uint8_t *kept_rows; /* caller's node id: see find_kept_rows() */
    uint8_t *in_rows;   /* caller's node id: see sums_in_rows() */
    uop_vec topo;       /* the caller's nodes; ids are below `nodes` */
    uint8_t *broadcast; /* caller's node id: see is_broadcast() */
    uint32_t *uses;     /* caller's node id: mentions as a source */
    uint8_t *last;      /* caller's node id: axis + 1 that our copy has last; see find_orders() */
    const uop **larger; /* caller's node id of a loop: the caller's loop that it is a part of, or NULL */
    uint32_t nodes;
    struct uop_memo not_inline; /* our nodes: see from_inline() */
    uint8_t *mark;              /* our node id: MARK_.. */
    uint32_t marks;
    uint32_t copies;
    struct uop_memo narrowed; /* our nodes, of one sum: see narrow() */
    uint16_t *same;           /* our node id: axes along which all elements are equal; see reduced_once() */
    uint32_t sames, known;    /* room; below: filled in */
};

enum {
    MARK_FORCED = 1, /* must be stored */
    MARK_INLINE = 2, /* INLINE */
    MARK_CUT = 4,    /* in memory between two kernels */
    MARK_PADDED = 8, /* a sum with padded rows (repack.c) */
    MARK_ONCE = 16,  /* indices that name an element of a row once */
    MARK_ORDER = 32  /* a PERMUTE of a value whose axes are in an order of our own */
};

static inline void mark(struct copy *c, const uop *n, uint8_t how) {
    uint32_t need = n->id + 1;
    if (need > c->marks) {
        uint32_t cap = RG_MAX(need, 2 * c->marks + 64);
        c->mark = arena_resize(c->g->a, c->mark, c->marks, cap);
        memset(c->mark + c->marks, 0, cap - c->marks);
        c->marks = cap;
    }
    c->mark[n->id] |= how;
}

static inline bool is_marked(const struct copy *c, const uop *n, uint8_t how) {
    return n->id < c->marks && (c->mark[n->id] & how);
}

static inline void force(struct copy *c, const uop *n) { mark(c, n, MARK_FORCED); }

static inline bool is_leaf(const uop *n) { return n->op == OP_CONST || n->op == OP_VAR || n->op == OP_IOTA; }
static inline bool in_memory(const uop *n) {
    return n->op == OP_BUFFER || n->op == OP_ASSIGN || n->op == OP_SCATTER;
}

/* The node to store so that n is in memory: looks through RESHAPE, which does not move elements. */
static inline const uop *stored_for(const uop *n) {
    const uop *b = n;
    while (b->op == OP_RESHAPE) b = b->src[0];
    return in_memory(b) || is_leaf(b) || op_is_movement((enum op)b->op) ? n : b;
}

/* A copy with no other reader: never merged with an equal one. */
static inline const uop *own_copy(struct copy *c, const uop *n) {
    const uop *src[2] = {n, uop_idx(c->g->ir, ++c->copies)};
    const uop *x = uop_mk(c->g->ir, OP_CONTIGUOUS, src, 2, ARG_NONE);
    force(c, x);
    return x;
}

/* Builtin kernels read row-major memory. */
static inline void need_stored(struct copy *c, const uop *n) {
    const uop *b = n;
    while (b->op == OP_RESHAPE) b = b->src[0];
    if (!in_memory(b)) force(c, stored_for(n));
}

static inline const uop *cast_as(struct copy *c, const uop *x, enum dtype dt) {
    return uop_new(c->g->ir, OP_CAST, dt, 1, &x, 1, ARG_NONE);
}

/* ---- plan_copy_call.c ---- */

bool is_select(const struct copy *c, const struct ir *from, const uop *n);
const uop *copy_select(struct copy *c, const uop *n);
bool is_scatter_set(const struct copy *c, const struct ir *from, const uop *n);
const uop *copy_scatter_set(struct copy *c, const uop *n);
const uop *copy_call(struct copy *c, const struct ir *from, const uop *n, const uop *const *src);
const uop *copy_scatter(struct copy *c, const uop *n, const uop *const *src);
const uop *copy_wide_scatter(struct copy *c, const uop *n, const uop *const *src);
bool names_once(const struct copy *c, const uop *n, const uop *index);

/* ---- plan_copy_loop.c ---- */

void find_larger_loops(struct copy *c, struct ir *from, const uop *graph);
const uop *copy_part(struct copy *c, const uop *n); /* of a loop's larger one: the result */
/* A loop's call (ours), on a CPU reading matrices that each step multiplies by in panels. */
const uop *copy_paneled(struct copy *c, const uop *call);
/* What an axis of x, of which a factor of a contraction is a view, is to it: an axis of its result that the other factor has not, or
 * one of its terms. */
enum axis_part { PART_OTHER, PART_OWN, PART_TERM };
enum axis_part part_of(struct shapes *, const uop *sum, const uop *mul, int factor, const uop *x,
                       uint32_t axis);

/* ---- plan_copy_sum.c ---- */

const uop *round_padded(struct copy *c, const uop *n, enum dtype dt);
bool is_broadcast(const struct copy *c, const uop *n);
const uop *copy_scan(struct copy *c, const uop *x);
const uop *copy_log_scan(struct copy *c, const uop *n);
bool is_scan_in_blocks(const struct copy *c, const uop *x);
const uop *cast_blocks(struct copy *c, const uop *n, const uop *x);
const uop *copy_reduction(struct copy *c, const uop *x);
const uop *copy_sum(struct copy *c, const uop *n, const uop *x);
const uop *copy_identity(struct copy *c, const uop *x);
const uop *distribute_sum(struct copy *c, const uop *n, const uop *x);
bool is_byte_product(const struct copy *c, const uop *n, const uop *const *src);
const uop *copy_byte_product(struct copy *c, const uop *n, const uop *const *src);

/* ---- plan_copy_once.c ---- */

const uop *reduced_once(struct copy *c, const uop *x);

/* ---- plan_copy_order.c ---- */

void find_orders(struct copy *c, struct ir *from);
/* The caller's n, an elementwise op of these, with axes in an order of our own; NULL: they stay. */
const uop *copy_in_order(struct copy *c, const uop *n, const uop *const *src);

/* ---- plan_units.c ---- */

void find_units(struct sgraph *g, struct copy *c);

/* ---- store_order.c ---- */

/* False: no value is stored in another order than that of its axes. */
bool store_as_read(struct copy *c);

#endif
