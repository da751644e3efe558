/* warp_specialize.h: what warp_specialize.c, its parts and attention_pipeline.c share: the tiles that a thread of its own copies, and who tells whom. */
#ifndef RIDGE_WARP_SPECIALIZE_H
#define RIDGE_WARP_SPECIALIZE_H

#include "codegen/internal.h"

/* Shared memory of a block, bytes; what of it mbarriers may take; the panels through which results leave. */
enum { SHARED_MOST = 232448, SHARED_BARS = 1024, STORE_ROWS = 64, STORE_BYTES = 128 };

/* Places that are filled and emptied together: an mbarrier FULL for each, then an EMPTY for each. */
struct set {
    int64_t places, bar; /* bar: the first */
    int64_t team; /* threads of which one says that they are done: a warp, where threads read by themselves */
    bool cooperative; /* its tiles are no boxes: the threads of the copying group fill them together */
};
enum { FULL, EMPTY };

struct tile {
    const uop *fill, *local, *wide; /* the statement; its LOCAL, before and after */
    struct box box;
    uint32_t set;
    bool fixed; /* filled once for a tile of the grid, before the loop */
};

/* Of a loop whose iterations are counted around the ring: place and phase of `number`; `before` is the number of the one before. */
struct counting {
    const uop *number, *before, *place, *phase;
};

/* Registers that say where the barriers of iteration `number` are, where all rings of the loop have as many places: each thread
 * computes them once, and not for each barrier. What MMA instructions read is found by `number` itself, which a warp computes as
 * one. */
struct held {
    const uop *number, *count, *place,
        *phase; /* count: the number, up to what neither place nor phase tell apart */
};

struct roles {
    struct sched *s;
    struct ir *ir;
    struct rw *rw;
    struct arena *a;
    const char *opt;
    int64_t lanes, teams; /* threads of a team */
    const uop *thread, *bars;
    const uop *k;       /* range of the loop */
    const uop *count;   /* of its iterations */
    const uop *counted; /* ACC: iterations of the tiles before, where `count` is no number */
    int64_t tiles, blocks, turns;
    uop_vec grid, before, body, after;
    VEC(struct tile) tile;
    VEC(struct set) set;
    struct counting at;
    struct held held[2];    /* of an iteration and of the one before it */
    int64_t counters;       /* that there are */
    int64_t nbar, turn_bar; /* mbarriers; the first of those by which groups take turns */
    const uop *part;        /* which block of its cluster it is: a digit of the tile's number .. */
    int64_t parts;          /* .. of so many, which have parts of the same sums; 1: there is none */
    const uop *sent;        /* shared memory that the others send to */
    bool flat;              /* the first product of the next tile is begun with the last of this */
    bool chain;             /* the loop computes with what its MMA instructions leave */
    bool weave;    /* and several products need that: they are over in the iteration that they are begun in */
    uop_vec stage; /* shared memory through which results are stored, one for each type */
    int64_t buffers; /* panels of it that each warpgroup has; where rows begin anywhere, side by side */
    const uop
        *added; /* LOAD of what comes to those panels ahead, and the results stand where it stood; or NULL */
    int64_t added_bar; /* mbarriers of the panels: the first */
    const uop *own;    /* number of the tile, of those that a team computes */
    bool any_out;
    bool cooperative; /* a set is */
    bool nested; /* the MMA instructions are in loops inside an iteration, which have waits of their own .. */
    bool once;   /* .. and there is but one: the tile is filled once for a tile of the grid */
};

static inline const uop *num(struct roles *r, int64_t v) { return uop_idx(r->ir, v); }
static inline const uop *add(struct roles *r, const uop *a, const uop *b) { return rw2(r->rw, OP_ADD, a, b); }
static inline const uop *mul(struct roles *r, const uop *a, int64_t n) {
    return rw2(r->rw, OP_MUL, a, num(r, n));
}
static inline const uop *mod(struct roles *r, const uop *a, int64_t n) {
    return rw2(r->rw, OP_MOD, a, num(r, n));
}
static inline const uop *quo(struct roles *r, const uop *a, int64_t n) {
    return rw2(r->rw, OP_IDIV, a, num(r, n));
}

static inline void put(struct roles *r, uop_vec *out, const uop *stmt) { vec_push(r->a, out, stmt); }

static inline void put_op(struct roles *r, uop_vec *out, enum op op, int64_t n) {
    put(r, out, uop_mk(r->ir, op, NULL, 0, ARG_INT(n)));
}

/* A block of its own: nothing moves out of it. */
static inline void put_part(struct roles *r, uop_vec *part, uop_vec *out) {
    if (part->n) put(r, out, tree_block(r->ir, part));
    *part = (uop_vec){0};
}

static inline const uop *when(struct roles *r, const uop *cond, const uop_vec *then, const uop_vec *other) {
    const uop *yes = tree_block(r->ir, then);
    return other ? uop3(r->ir, OP_IF, cond, yes, tree_block(r->ir, other)) : uop2(r->ir, OP_IF, cond, yes);
}

/* ---- warp_specialize.c ------------------------------------------------------------------------------------------------ */

const uop *roles_mbar(struct roles *, int64_t at, const uop *i);
const uop *roles_arrive(struct roles *, const uop *bar, int64_t bytes);
/* Until phase number / places of an mbarrier of the set, moved on by `late`, is over. */
const uop *roles_wait(struct roles *, uint32_t set, int kind, const uop *number, int64_t late);
/* The registers of that iteration, or NULL. */
const struct held *roles_held(const struct roles *, const uop *number);
/* One thread of each team of the set says that it is done with iteration `number`; only: under this condition, or NULL. */
void roles_release(struct roles *, uint32_t set, const uop *number, const uop *only, uop_vec *out);
/* n with its tiles at the place of an iteration, those that stay for the loop at that of the turn. */
const uop *roles_at_place(struct roles *, const uop *n, const uop *number, const uop *turn);
/* Waits until what stays for the loop is there, or gives it back. */
void roles_fixed(struct roles *, const uop *turn, bool give, uop_vec *out);
/* Is it the first thread of its warpgroup? Which group is it of? */
const uop *roles_is_first(struct roles *);
const uop *roles_group(struct roles *);

const uop *roles_range(struct roles *, const char *name, enum axis_kind, int pos, int64_t size, int id);
/* The threads of a warpgroup wait for each other. */
void roles_meet(struct roles *, uop_vec *out);
/* The first thread of each warpgroup alone. */
void roles_by_first(struct roles *, const uop *stmt, uop_vec *out);

/* ---- epilogue_tma.c ----------------------------------------------------------------------------------------- */

/* How a statement stores through shared memory, or NULL; the registers that hold several tiles of a store, and how many tiles. */
const struct tma_store_tile *panels_box(const struct roles *, const uop *stmt);
int64_t panels_repeats(struct roles *, const uop *store, const struct tma_store_tile *, uop_vec *out);
void panels_find(struct roles *); /* how many there are, and what comes through them ahead */
void panels_put_ahead(struct roles *, uop_vec *out);
/* Loads of the epilogue that are the same for all rows are asked for before the tile is multiplied. */
void panels_ask(struct roles *, const uop *store, const struct tma_store_tile *, uop_vec *out);
/* The results of a tile; of its part `number`, of those that `part` of a cluster has; of a block of a cluster. */
void panels_put(struct roles *, uop_vec *out);
void panels_put_tile(struct roles *, const uop *store, const struct tma_store_tile *, int64_t number,
                     int64_t part, bool ahead, uop_vec *out);
void panels_put_shares(struct roles *, uop_vec *out);
/* The STORE of a group's results, `columns` of each row from the one numbered `first`, to a part of shared memory. */
struct stage_part {
    const uop *local, *place;      /* place: of its first element */
    int64_t first, columns, pitch; /* elements; pitch: from row to row */
};
const uop *roles_to_stage(struct roles *, const uop *store, uint32_t product, const struct stage_part *);

/* ---- epilogue_unaligned.c ------------------------------------------------------------------------------------------- */

/* Panels side by side that a group has room for in so many bytes, so that they divide the tile; 0: not one. */
int64_t roles_rows_room(struct roles *, const struct tma_store_tile *, int64_t bytes);
/* Stores the results of a group whose rows begin anywhere. */
void roles_rows(struct roles *, const uop *store, const struct tma_store_tile *, uop_vec *out);

/* ---- cluster_splitk.c ---------------------------------------------------------------------------------------------- */

void cluster_look(struct roles *);           /* finds the part, with the loops known */
int64_t cluster_bytes(const struct roles *); /* of shared memory that the others send to */
/* Each block sends what the others store, and they meet; what they sent is added to the sums of part q. */
void cluster_send(struct roles *, uop_vec *out);
void cluster_add(struct roles *, int64_t q, uop_vec *out);

/* ---- attention_pipeline.c ------------------------------------------------------------------------------------------------ */

/* A tile of the grid: its turn, the number of its first iteration, and whether another one follows; NULL: each begins on its own. */
struct chained {
    const uop *turn, *number, *more;
};
/* The loop of a tile whose products are chained; before the first one, if they follow each other, what begins it. */
void chain_loop(struct roles *, const struct chained *, uop_vec *out);
void chain_first(struct roles *, uop_vec *out);
/* Has the loop several products of what is in registers? Then they are begun as wgmma_schedule.c says: */
bool chain_is_woven(const struct roles *);
void wgmma_schedule_loop(struct roles *, const struct chained *, uop_vec *out);

#endif
