/* epilogue_unaligned.c: the epilogue for results whose rows are not 16-byte aligned (1793 fp16 columns), which TMA
 * cannot store.
 *
 * A warpgroup writes some columns of its results to shared memory, as for TMA. Then its threads store them in
 * 16-byte vectors that are aligned in global memory; the elements before the first and after the last whole vector
 * of a row go one by one. A vector's offset in shared memory depends on the row: unaligned 16 bytes are loaded as
 * the two aligned vectors around them (render/gpu_memory.c). Rows in shared memory are padded by one vector, so the
 * eight rows that a warp writes at once are free of bank conflicts. For 16-bit types the padding holds the first
 * columns of the next step, so that a vector across the boundary is whole.
 * Requires: as warp_specialize.c. Tests: tests/unit/warp_specialize.c (ws_unaligned_rows), tests/unit/repack.c */
#include "codegen/gpu/warp_specialize.h"

enum { ROWS = 64, VECTOR_BYTES = 16, STEP = 8 /* columns of an accumulator register, over a quad */ };

static int64_t vector_of(const struct tma_store_tile *o) {
    return VECTOR_BYTES / dtype_info[o->param->dt].bytes;
}

static int64_t pitch_of(const struct tma_store_tile *o, int64_t panels) {
    return panels * o->box.width + vector_of(o);
}

int64_t unaligned_panels(struct ws *ws, const struct tma_store_tile *o, int64_t bytes) {
    int64_t n = ws->s->ws.blocks ? o->box.panels : RG_MIN(o->box.panels, 2); /* leave room for other blocks */
    while (n > 0 && (o->box.panels % n || ROWS * pitch_of(o, n) * dtype_info[o->param->dt].bytes > bytes))
        n--;
    return n;
}

static const uop *local_of(struct ws *ws, const struct tma_store_tile *o) {
    const uop *size = num(ws, ws->threads * ws->consumers / WARPGROUP * ROWS * pitch_of(o, ws->store_panels));
    union arg arg = {.mem = {ir_sym(ws->ir, "results", 7), SPACE_SHARED, 0, 0}};
    return uop_new(ws->ir, OP_LOCAL, (enum dtype)o->param->dt, 1, &size, 1, arg);
}

static const uop *both(struct ws *ws, const uop *a, const uop *b) { return rw2(ws->rw, OP_AND, a, b); }
static const uop *below(struct ws *ws, const uop *a, const uop *b) { return rw2(ws->rw, OP_LT, a, b); }
static const uop *choose(struct ws *ws, const uop *if_, const uop *a, const uop *b) {
    return rw3(ws->rw, OP_WHERE, if_, a, b);
}

/* Some columns of a warpgroup's results. */
struct unaligned_columns {
    struct smem_part p; /* in shared memory */
    int64_t own;        /* vectors that start in the first `own` columns are stored */
    int64_t left;       /* columns of the tile from its first on */
};

/* A row: index of its first column in the buffer, and the columns before the first aligned vector. */
struct unaligned_row {
    const uop *row, *first, *head;
    const uop *there; /* inside of the result? NULL: all rows are */
    const uop *end;   /* end of its columns */
};

static struct unaligned_row row_of(struct ws *ws, const struct tma_store_tile *o,
                                   const struct unaligned_columns *c, const uop *row) {
    const struct tma_tile *b = &o->box;
    int64_t piece = vector_of(o), more = c->p.columns > c->own ? c->left : c->own;
    const uop *y = add(ws, b->at[1], row), *x = add(ws, b->at[0], num(ws, c->p.first)), *all = num(ws, more);
    struct unaligned_row w = {.row = row, .first = add(ws, mul(ws, y, b->step), x), .end = all};
    w.head = rw2(ws->rw, OP_SUB, num(ws, piece - 1), mod(ws, add(ws, w.first, num(ws, piece - 1)), piece));
    if (x->hi + more > b->size[0])
        w.end = rw2(ws->rw, OP_MIN, rw2(ws->rw, OP_SUB, num(ws, b->size[0]), x), all);
    if (y->hi >= b->size[1]) w.there = below(ws, y, num(ws, b->size[1]));
    return w;
}

/* Elements from `column` on, stored at index `to`, if `in`. */
static const uop *store_at(struct ws *ws, const struct tma_store_tile *o, const struct unaligned_columns *c,
                           const struct unaligned_row *w, const uop *column, const uop *to, const uop *in) {
    const uop *none = uop_new(ws->ir, OP_INVALID, DT_IDX, 1, NULL, 0, ARG_NONE);
    const uop *at = add(ws, add(ws, c->p.offset, mul(ws, w->row, c->p.pitch)), column);
    if (w->there) in = both(ws, w->there, in);
    const uop *from = mk_index(ws->ir, c->p.local, choose(ws, in, at, none), 1);
    const uop *value =
        choose(ws, in, uop1(ws->ir, OP_LOAD, from), uop_flt(ws->ir, (enum dtype)o->param->dt, 0));
    return uop2(ws->ir, OP_STORE, mk_index(ws->ir, o->param, choose(ws, in, to, none), 1), value);
}

/* Whole vector number `item`: each row has as many as if it started aligned. */
static const uop *store_whole(struct ws *ws, const struct tma_store_tile *o,
                              const struct unaligned_columns *c, const uop *item) {
    int64_t piece = vector_of(o), pieces = c->own / piece;
    struct unaligned_row w = row_of(ws, o, c, quo(ws, item, pieces));
    const uop *v = ws_range(ws, "v", AX_VEC, ws->s->tc[o->tc].reg[2]->arg.range.pos, piece, 0);
    const uop *start = mul(ws, mod(ws, item, pieces), piece), *column = add(ws, w.head, start);
    const uop *to = add(ws, mul(ws, quo(ws, add(ws, w.first, num(ws, piece - 1)), piece), piece), start);
    const uop *in = below(ws, add(ws, column, num(ws, piece - 1)), w.end);
    return store_at(ws, o, c, &w, add(ws, column, v), add(ws, to, v), in);
}

/* Do rows have elements before the first whole vector that are not stored yet? Only the first columns,
 * where vectors of one step reach into the next. */
static bool has_head(const struct unaligned_columns *c, const struct tma_store_tile *o) {
    return !c->p.first || vector_of(o) < STEP;
}

/* Elements before the first and after the last whole vector of a row: a thread each, which may have none. */
static const uop *store_partial(struct ws *ws, const struct tma_store_tile *o,
                                const struct unaligned_columns *c, const uop *item) {
    int64_t piece = vector_of(o), each = (1 + has_head(c, o)) * piece;
    struct unaligned_row w = row_of(ws, o, c, quo(ws, item, each));
    const uop *row = mod(ws, item, each), *k = mod(ws, row, piece);
    const uop *before = has_head(c, o) ? below(ws, row, num(ws, piece)) : uop_int(ws->ir, DT_BOOL, 0);
    const uop *last = rw2(ws->rw, OP_SUB, mul(ws, quo(ws, add(ws, w.first, w.end), piece), piece),
                          w.first); /* start of the partial vector */
    const uop *column = choose(ws, before, k, add(ws, last, k));
    const uop *in = both(ws, below(ws, column, w.end), rw2(ws->rw, OP_EQ, before, below(ws, column, w.head)));
    if (c->p.columns > c->own) /* else it belongs to the next step */
        in = both(ws, in, rw2(ws->rw, OP_OR, before, below(ws, last, add(ws, w.head, num(ws, c->own)))));
    return store_at(ws, o, c, &w, column, add(ws, w.first, column), in);
}

/* All of them, unrolled: a thread issues all loads before its first store. */
static void put_all(struct ws *ws, const struct tma_store_tile *o, const struct unaligned_columns *c,
                    bool whole, uop_vec *out) {
    const struct mma_axes *tc = &ws->s->tc[o->tc];
    int64_t each = whole ? c->own / vector_of(o) : (1 + has_head(c, o)) * vector_of(o);
    int64_t times = ROWS * each / WARPGROUP;
    const uop *step = ws_range(ws, "some", AX_UNROLL, tc->reg[2]->arg.range.pos, times, 0);
    const uop *item = add(ws, mul(ws, step, WARPGROUP), tc->lane);
    put(ws, out, whole ? store_whole(ws, o, c, item) : store_partial(ws, o, c, item));
}

void unaligned_store(struct ws *ws, const uop *store, const struct tma_store_tile *o, uop_vec *out) {
    int64_t pitch = pitch_of(o, ws->store_panels), all = o->box.panels * o->box.width;
    struct unaligned_columns c = {.p = {.local = local_of(ws, o), .pitch = pitch},
                                  .own = ws->store_panels * o->box.width};
    c.p.offset = mul(ws, ws_warpgroup(ws), ROWS * pitch);
    for (; c.p.first < all; c.p.first += c.own) {
        uop_vec part = {0};
        c.left = all - c.p.first;
        c.p.columns = c.left > c.own && vector_of(o) == STEP ? c.own + STEP : c.own;
        ws_warpgroup_sync(ws, out); /* the columns before have been read */
        put(ws, &part, ws_store_to_smem(ws, store, o->tc, &c.p));
        put_part(ws, &part, out);
        ws_warpgroup_sync(ws, out);
        put_all(ws, o, &c, true, &part);
        put_all(ws, o, &c, false, &part);
        put_part(ws, &part, out);
    }
}
