/* roles_rows.c: results of threads with roles whose rows begin anywhere (1793 halves are a row), so that no box stores them.
 *
 * As for boxes a group of warps writes its results to shared memory first, some columns at a time. Then its threads store them
 * to memory by pieces of 16 bytes that begin at multiples of 16 bytes there: of each row as many pieces as it touches, of
 * which the first and the last may be cut and go element by element. Where a piece begins in shared memory depends on the
 * row's address, which differs from row to row; 16 bytes at any place are read as the two pieces around them
 * (render/gpu_memory.c). Rows in shared memory are a piece longer than what they hold, so that the eight rows that a warp writes
 * at once lie in different banks.
 * Requires: as roles.c. Tests: tests/unit/roles.c (roles_odd_rows), tests/unit/repack.c */
#include "roles.h"

enum { ROWS = 64, PIECE_BYTES = 16 };

static int64_t piece_of(const struct box_of_store *o) { return PIECE_BYTES / dtype_info[o->param->dt].bytes; }

static int64_t pitch_of(const struct box_of_store *o, int64_t panels) {
    return panels * o->box.width + piece_of(o);
}

int64_t roles_rows_room(struct roles *r, const struct box_of_store *o, int64_t bytes) {
    int64_t n = r->s->roles.blocks ? o->box.panels : RG_MIN(o->box.panels, 2); /* others may want the room */
    while (n > 0 && (o->box.panels % n || ROWS * pitch_of(o, n) * dtype_info[o->param->dt].bytes > bytes))
        n--;
    return n;
}

static const uop *local_of(struct roles *r, const struct box_of_store *o) {
    const uop *size = num(r, r->lanes * r->teams / MMA_GROUP * ROWS * pitch_of(o, r->buffers));
    union arg arg = {.mem = {ir_sym(r->ir, "results", 7), SPACE_SHARED, 0, 0}};
    return uop_new(r->ir, OP_LOCAL, (enum dtype)o->param->dt, 1, &size, 1, arg);
}

static const uop *both(struct roles *r, const uop *a, const uop *b) { return rw2(r->rw, OP_AND, a, b); }
static const uop *below(struct roles *r, const uop *a, const uop *b) { return rw2(r->rw, OP_LT, a, b); }
static const uop *choose(struct roles *r, const uop *if_, const uop *a, const uop *b) {
    return rw3(r->rw, OP_WHERE, if_, a, b);
}

/* Of a row: where its first column goes, and the columns before a piece begins there. */
struct row {
    const uop *number, *first, *head;
    const uop *there; /* is it a row of the result? NULL: they all are */
    const uop *end;   /* of its columns */
};

static struct row row_of(struct roles *r, const struct box_of_store *o, const struct stage_part *p,
                         const uop *number) {
    const struct box *b = &o->box;
    int64_t piece = piece_of(o);
    const uop *y = add(r, b->at[1], number), *x = add(r, b->at[0], num(r, p->first)),
              *all = num(r, p->columns);
    struct row w = {.number = number, .first = add(r, mul(r, y, b->step), x), .end = all};
    w.head = rw2(r->rw, OP_SUB, num(r, piece - 1), mod(r, add(r, w.first, num(r, piece - 1)), piece));
    if (x->hi + p->columns > b->size[0])
        w.end = rw2(r->rw, OP_MIN, rw2(r->rw, OP_SUB, num(r, b->size[0]), x), all);
    if (y->hi >= b->size[1]) w.there = below(r, y, num(r, b->size[1]));
    return w;
}

/* Elements from `column` on, to place `to`, if `in`. */
static const uop *store_at(struct roles *r, const struct box_of_store *o, const struct stage_part *p,
                           const struct row *w, const uop *column, const uop *to, const uop *in) {
    const uop *none = uop_new(r->ir, OP_INVALID, DT_IDX, 1, NULL, 0, ARG_NONE);
    const uop *at = add(r, add(r, p->place, mul(r, w->number, p->pitch)), column);
    if (w->there) in = both(r, w->there, in);
    const uop *from = mk_index(r->ir, p->local, choose(r, in, at, none), 1);
    const uop *value = choose(r, in, uop1(r->ir, OP_LOAD, from), uop_flt(r->ir, (enum dtype)o->param->dt, 0));
    return uop2(r->ir, OP_STORE, mk_index(r->ir, o->param, choose(r, in, to, none), 1), value);
}

/* Piece number `item` of those that are whole: as many for each row as it has if it begins with one. */
static const uop *store_whole(struct roles *r, const struct box_of_store *o, const struct stage_part *p,
                              const uop *item) {
    int64_t piece = piece_of(o), pieces = p->columns / piece;
    struct row w = row_of(r, o, p, quo(r, item, pieces));
    const uop *v = roles_range(r, "v", AX_VEC, r->s->tc[o->tc].reg[2]->arg.range.pos, piece, 0);
    const uop *begin = mul(r, mod(r, item, pieces), piece), *column = add(r, w.head, begin);
    const uop *to = add(r, mul(r, quo(r, add(r, w.first, num(r, piece - 1)), piece), piece), begin);
    const uop *in = below(r, add(r, column, num(r, piece - 1)), w.end);
    return store_at(r, o, p, &w, add(r, column, v), add(r, to, v), in);
}

/* Elements before the first whole piece of a row and behind the last: each has a thread, which may have none. */
static const uop *store_cut(struct roles *r, const struct box_of_store *o, const struct stage_part *p,
                            const uop *item) {
    int64_t piece = piece_of(o);
    struct row w = row_of(r, o, p, quo(r, item, 2 * piece));
    const uop *number = mod(r, item, 2 * piece), *k = mod(r, number, piece);
    const uop *before = below(r, number, num(r, piece));
    const uop *last =
        mul(r, quo(r, add(r, w.first, w.end), piece), piece); /* a piece that is cut begins there */
    const uop *column = choose(r, before, k, add(r, rw2(r->rw, OP_SUB, last, w.first), k));
    const uop *in = both(r, below(r, column, w.end), rw2(r->rw, OP_EQ, before, below(r, column, w.head)));
    return store_at(r, o, p, &w, column, add(r, w.first, column), in);
}

/* So many of them by the group's threads, written out: a thread asks for all of its own before it stores the first. */
static void put_all(struct roles *r, const struct box_of_store *o, const struct stage_part *p, bool whole,
                    uop_vec *out) {
    const struct product *tc = &r->s->tc[o->tc];
    int64_t each = whole ? p->columns / piece_of(o) : 2 * piece_of(o), times = ROWS * each / MMA_GROUP;
    const uop *turn = roles_range(r, "some", AX_UNROLL, tc->reg[2]->arg.range.pos, times, 0);
    const uop *item = add(r, mul(r, turn, MMA_GROUP), tc->lane);
    put(r, out, whole ? store_whole(r, o, p, item) : store_cut(r, o, p, item));
}

void roles_rows(struct roles *r, const uop *store, const struct box_of_store *o, uop_vec *out) {
    struct stage_part p = {.local = local_of(r, o),
                           .place = mul(r, roles_group(r), ROWS * pitch_of(o, r->buffers)),
                           .columns = r->buffers * o->box.width,
                           .pitch = pitch_of(o, r->buffers)};
    for (; p.first < o->box.panels * o->box.width; p.first += p.columns) {
        uop_vec part = {0};
        roles_meet(r, out); /* what stood there has left */
        put(r, &part, roles_to_stage(r, store, o->tc, &p));
        put_part(r, &part, out);
        roles_meet(r, out);
        put_all(r, o, &p, true, &part);
        put_all(r, o, &p, false, &part);
        put_part(r, &part, out);
    }
}
