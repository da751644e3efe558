/* epilogue_unaligned.c: results of threads with roles whose rows begin anywhere (1793 halves are a row), so that no box stores them.
 *
 * As for boxes a warpgroup writes its results to shared memory first, some columns at a time. Then its threads store them
 * to memory by pieces of 16 bytes that begin at multiples of 16 bytes there: of each row as many pieces as it touches, of
 * which the first and the last may be cut and go element by element. Where a piece begins in shared memory depends on the
 * row's address, which differs from row to row; 16 bytes at any place are read as the two pieces around them
 * (render/gpu_memory.c). Rows in shared memory are a piece longer than the columns that they are for, so that the eight rows that
 * a warp writes at once lie in different banks. Of halves that piece has columns too, those of the next time: the piece that
 * begins in these columns and ends in the next is whole.
 * Requires: as warp_specialize.c. Tests: tests/unit/warp_specialize.c (roles_odd_rows), tests/unit/repack.c */
#include "codegen/gpu/warp_specialize.h"

enum { ROWS = 64, PIECE_BYTES = 16, STEP = 8 /* columns that a register of each thread makes */ };

static int64_t piece_of(const struct tma_store_tile *o) {
    return PIECE_BYTES / dtype_info[o->param->dt].bytes;
}

static int64_t pitch_of(const struct tma_store_tile *o, int64_t panels) {
    return panels * o->box.width + piece_of(o);
}

int64_t roles_rows_room(struct roles *r, const struct tma_store_tile *o, int64_t bytes) {
    int64_t n = r->s->roles.blocks ? o->box.panels : RG_MIN(o->box.panels, 2); /* others may want the room */
    while (n > 0 && (o->box.panels % n || ROWS * pitch_of(o, n) * dtype_info[o->param->dt].bytes > bytes))
        n--;
    return n;
}

static const uop *local_of(struct roles *r, const struct tma_store_tile *o) {
    const uop *size = num(r, r->lanes * r->teams / WARPGROUP * ROWS * pitch_of(o, r->buffers));
    union arg arg = {.mem = {ir_sym(r->ir, "results", 7), SPACE_SHARED, 0, 0}};
    return uop_new(r->ir, OP_LOCAL, (enum dtype)o->param->dt, 1, &size, 1, arg);
}

static const uop *both(struct roles *r, const uop *a, const uop *b) { return rw2(r->rw, OP_AND, a, b); }
static const uop *below(struct roles *r, const uop *a, const uop *b) { return rw2(r->rw, OP_LT, a, b); }
static const uop *choose(struct roles *r, const uop *if_, const uop *a, const uop *b) {
    return rw3(r->rw, OP_WHERE, if_, a, b);
}

/* Some columns of a group's results. */
struct columns {
    struct stage_part p; /* in shared memory */
    int64_t own;         /* pieces that begin in so many of them are stored */
    int64_t left;        /* columns of the tile from the first of these on */
};

/* Of a row: where its first column goes, and the columns before a piece begins there. */
struct row {
    const uop *number, *first, *head;
    const uop *there; /* is it a row of the result? NULL: they all are */
    const uop *end;   /* of its columns */
};

static struct row row_of(struct roles *r, const struct tma_store_tile *o, const struct columns *c,
                         const uop *number) {
    const struct box *b = &o->box;
    int64_t piece = piece_of(o), more = c->p.columns > c->own ? c->left : c->own;
    const uop *y = add(r, b->at[1], number), *x = add(r, b->at[0], num(r, c->p.first)), *all = num(r, more);
    struct row w = {.number = number, .first = add(r, mul(r, y, b->step), x), .end = all};
    w.head = rw2(r->rw, OP_SUB, num(r, piece - 1), mod(r, add(r, w.first, num(r, piece - 1)), piece));
    if (x->hi + more > b->size[0]) w.end = rw2(r->rw, OP_MIN, rw2(r->rw, OP_SUB, num(r, b->size[0]), x), all);
    if (y->hi >= b->size[1]) w.there = below(r, y, num(r, b->size[1]));
    return w;
}

/* Elements from `column` on, to place `to`, if `in`. */
static const uop *store_at(struct roles *r, const struct tma_store_tile *o, const struct columns *c,
                           const struct row *w, const uop *column, const uop *to, const uop *in) {
    const uop *none = uop_new(r->ir, OP_INVALID, DT_IDX, 1, NULL, 0, ARG_NONE);
    const uop *at = add(r, add(r, c->p.place, mul(r, w->number, c->p.pitch)), column);
    if (w->there) in = both(r, w->there, in);
    const uop *from = mk_index(r->ir, c->p.local, choose(r, in, at, none), 1);
    const uop *value = choose(r, in, uop1(r->ir, OP_LOAD, from), uop_flt(r->ir, (enum dtype)o->param->dt, 0));
    return uop2(r->ir, OP_STORE, mk_index(r->ir, o->param, choose(r, in, to, none), 1), value);
}

/* Piece number `item` of those that are whole: as many for each row as it has if it begins with one. */
static const uop *store_whole(struct roles *r, const struct tma_store_tile *o, const struct columns *c,
                              const uop *item) {
    int64_t piece = piece_of(o), pieces = c->own / piece;
    struct row w = row_of(r, o, c, quo(r, item, pieces));
    const uop *v = roles_range(r, "v", AX_VEC, r->s->tc[o->tc].reg[2]->arg.range.pos, piece, 0);
    const uop *begin = mul(r, mod(r, item, pieces), piece), *column = add(r, w.head, begin);
    const uop *to = add(r, mul(r, quo(r, add(r, w.first, num(r, piece - 1)), piece), piece), begin);
    const uop *in = below(r, add(r, column, num(r, piece - 1)), w.end);
    return store_at(r, o, c, &w, add(r, column, v), add(r, to, v), in);
}

/* Have rows elements before their first whole piece that nobody stored before? Only the first columns have them, where pieces of
 * the columns before reach into the others. */
static bool has_head(const struct columns *c, const struct tma_store_tile *o) {
    return !c->p.first || piece_of(o) < STEP;
}

/* Elements before the first whole piece of a row and behind the last: each has a thread, which may have none. */
static const uop *store_cut(struct roles *r, const struct tma_store_tile *o, const struct columns *c,
                            const uop *item) {
    int64_t piece = piece_of(o), each = (1 + has_head(c, o)) * piece;
    struct row w = row_of(r, o, c, quo(r, item, each));
    const uop *number = mod(r, item, each), *k = mod(r, number, piece);
    const uop *before = has_head(c, o) ? below(r, number, num(r, piece)) : uop_int(r->ir, DT_BOOL, 0);
    const uop *last = rw2(r->rw, OP_SUB, mul(r, quo(r, add(r, w.first, w.end), piece), piece),
                          w.first); /* a piece that is cut begins there */
    const uop *column = choose(r, before, k, add(r, last, k));
    const uop *in = both(r, below(r, column, w.end), rw2(r->rw, OP_EQ, before, below(r, column, w.head)));
    if (c->p.columns > c->own) /* else it belongs to the next */
        in = both(r, in, rw2(r->rw, OP_OR, before, below(r, last, add(r, w.head, num(r, c->own)))));
    return store_at(r, o, c, &w, column, add(r, w.first, column), in);
}

/* So many of them by the group's threads, written out: a thread asks for all of its own before it stores the first. */
static void put_all(struct roles *r, const struct tma_store_tile *o, const struct columns *c, bool whole,
                    uop_vec *out) {
    const struct product *tc = &r->s->tc[o->tc];
    int64_t each = whole ? c->own / piece_of(o) : (1 + has_head(c, o)) * piece_of(o);
    int64_t times = ROWS * each / WARPGROUP;
    const uop *turn = roles_range(r, "some", AX_UNROLL, tc->reg[2]->arg.range.pos, times, 0);
    const uop *item = add(r, mul(r, turn, WARPGROUP), tc->lane);
    put(r, out, whole ? store_whole(r, o, c, item) : store_cut(r, o, c, item));
}

void roles_rows(struct roles *r, const uop *store, const struct tma_store_tile *o, uop_vec *out) {
    int64_t pitch = pitch_of(o, r->buffers), all = o->box.panels * o->box.width;
    struct columns c = {.p = {.local = local_of(r, o), .pitch = pitch}, .own = r->buffers * o->box.width};
    c.p.place = mul(r, roles_group(r), ROWS * pitch);
    for (; c.p.first < all; c.p.first += c.own) {
        uop_vec part = {0};
        c.left = all - c.p.first;
        c.p.columns = c.left > c.own && piece_of(o) == STEP ? c.own + STEP : c.own;
        roles_meet(r, out); /* what stood there has left */
        put(r, &part, roles_to_stage(r, store, o->tc, &c.p));
        put_part(r, &part, out);
        roles_meet(r, out);
        put_all(r, o, &c, true, &part);
        put_all(r, o, &c, false, &part);
        put_part(r, &part, out);
    }
}
