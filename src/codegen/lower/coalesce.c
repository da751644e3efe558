/* coalesce.c: vectorization of memory accesses: scalar and strided loads and stores become vector loads and stores.
 *
 * Inside one basic block, scalar loads whose addresses differ by constants are grouped by buffer; each run of
 * consecutive elements that fills a vector register becomes one vector LOAD, and the former loads its lanes. A strided
 * vector load (a vector across rows, a pooling window) is first split into elements. So four vectors across four rows
 * become four row vectors and a transposition in registers, and the eight broadcast operands of a register tile two
 * vectors used lane by lane.
 *
 * What is left of strided loads (every second element, repeated ones) is covered by vectors and shuffled, where several
 * elements share one: they begin and end between the first and the last element of a row.
 *
 * Strided stores likewise, also under one predicate: where the lanes of several fill whole rows, the rows are stored
 * instead, again a transposition in registers. Adjacent short rows are whole vectors, shuffled from a few.
 *
 * Predicated loads are merged if predicate and default are the same and the vector is aligned to its size: else each
 * keeps its predicate.
 * A predicate that is known lane by lane (peel.c) is none: its lanes are loads, or the default.
 * On a GPU 16-bit floats and bytes are also loaded as 4 and 8 bytes, where aligned.
 * No element is accessed that was not before, except between two that were. Scratch that the same block writes is left alone.
 * Requires: tree_expand. */
#include "codegen/internal.h"

#include <stdlib.h>

enum {
    LEAST_PIECE = 4, /* bytes: smaller elements are worth loading together by less than a register */
    ROW = 4          /* elements of 4 bytes that are worth it where they are transposed */
};

struct mem_access {  /* one single-element load, or one lane of a store */
    const uop *load; /* LOAD; STORE */
    const uop *buf;
    struct affine at;
    unsigned lane;
};

struct co {
    struct rw *rw;
    struct arena *a;
    int vec_bytes;
    bool gpu;           /* loads of less than a register pay, and predicated ones */
    bool threads;       /* a program of a block's threads: its stores are laid out already */
    bool copy;          /* the block is one (is_copy) */
    struct map strided; /* ids of loads that were lanes of a strided one: struct origin as a number */
    VEC(struct mem_access) spot;
    uop_vec from, to;
};

/* Of which strided load an element was a lane. */
struct origin {
    uint32_t load;
    unsigned lane, lanes;
};

static void origin_put(struct co *c, const uop *element, const uop *load, unsigned lane, unsigned lanes) {
    map_put(&c->strided, element->id, (uint64_t)load->id << 16 | lane << 8 | lanes);
}

static bool origin_of(const struct co *c, const uop *element, struct origin *o) {
    uint64_t of;
    if (!map_get(&c->strided, element->id, &of)) return false;
    *o = (struct origin){(uint32_t)(of >> 16), of >> 8 & 255, of & 255};
    return true;
}

/* What n is in a lane, if it depends on nothing else. */
static bool value_in(const uop *n, unsigned lane, int64_t *out) {
    int64_t a, b;
    if (n->op == OP_LANES) return *out = lane, true;
    if (n->op == OP_CONST) return *out = n->arg.i, true;
    if (n->nsrc != 2 || !value_in(n->src[0], lane, &a) || !value_in(n->src[1], lane, &b)) return false;
    switch (n->op) {
    case OP_ADD: return !__builtin_add_overflow(a, b, out);
    case OP_MUL: return !__builtin_mul_overflow(a, b, out);
    case OP_IDIV: return a >= 0 && b > 0 && (*out = a / b, true);
    case OP_MOD: return a >= 0 && b > 0 && (*out = a % b, true);
    case OP_LT: return *out = a < b, true;
    case OP_LE: return *out = a <= b, true;
    case OP_AND: return *out = a & b, true;
    default: return false;
    }
}

/* The address of one lane: false if lanes differ by more than constants. */
static bool lane_at(struct co *c, const struct affine *at, unsigned lane, struct affine *one) {
    int64_t v;
    *one = (struct affine){.t = arena_array(c->a, struct term, at->n), .k = at->k};
    for (uint32_t i = 0; i < at->n; i++) {
        if (at->t[i].atom->lanes == 1 && at->t[i].atom->op != OP_LANES)
            one->t[one->n++] = at->t[i];
        else if (!value_in(at->t[i].atom, lane, &v))
            return false;
        else
            one->k += at->t[i].coef * v;
    }
    return true;
}

/* A predicate that is known lane by lane: the last iteration of a loop (peel.c). */
static bool is_known(const uop *pred) {
    int64_t v;
    for (unsigned i = 0; i < pred->lanes; i++)
        if (pred->lanes == 1 || !value_in(pred, i, &v)) return false;
    return true;
}

/* Loaded, or a number where a predicate is false, the same for all lanes or known for each. */
static bool is_load(const uop *n) {
    return n->op == OP_LOAD || (n->op == OP_PRED_LOAD && uop_is_const(n->src[1]) &&
                                (n->src[2]->lanes == 1 || is_known(n->src[2])));
}

static const uop *load_as(struct ir *ir, const uop *load, const uop *to) {
    return load->op == OP_PRED_LOAD ? uop3(ir, OP_PRED_LOAD, to, load->src[1], load->src[2])
                                    : uop1(ir, OP_LOAD, to);
}

/* A load whose lanes are at constant distances (strided, or consecutive with repetitions) as a BUILD of single
 * loads; NULL if it is not one. */
static const uop *scalarize(struct co *c, const uop *load) {
    const uop *index = access_offset(load);
    if (index->lanes == 1) return NULL;
    struct affine at = affine_of(c->a, index), one;
    const uop **lane = arena_array(c->a, const uop *, index->lanes);
    bool known = load->op == OP_PRED_LOAD && load->src[2]->lanes > 1;
    for (unsigned i = 0; i < index->lanes; i++) {
        int64_t holds = 1;
        if (!lane_at(c, &at, i, &one)) return NULL;
        if (known && value_in(load->src[2], i, &holds) && !holds) {
            lane[i] = load->src[1];
            continue;
        }
        const uop *to = rw_post(c->rw, affine_build(c->rw->ir, &one, DT_IDX));
        const uop *from = mk_index(c->rw->ir, access_buf(load), to, 1);
        lane[i] = known ? uop1(c->rw->ir, OP_LOAD, from) : load_as(c->rw->ir, load, from);
        origin_put(c, lane[i], load, i, index->lanes);
    }
    return uop_new(c->rw->ir, OP_BUILD, (enum dtype)load->dt, index->lanes, lane, index->lanes, ARG_NONE);
}

/* What a load is where it has no value, and what decides that; the latter of a store, too. 0: there is no predicate. */
static uint32_t under(const uop *n, int what) {
    if (n->op == OP_PRED_LOAD) return n->src[1 + what]->id + 1;
    return n->op == OP_STORE && n->nsrc == 3 && what ? n->src[2]->id + 1 : 0;
}

static bool same_row(const struct mem_access *x, const struct mem_access *y) {
    return x->buf == y->buf && under(x->load, 0) == under(y->load, 0) &&
           under(x->load, 1) == under(y->load, 1) && affine_equal_but_const(&x->at, &y->at);
}

static int by_row(const void *p, const void *q) {
    const struct mem_access *x = p, *y = q;
    if (x->buf != y->buf) return x->buf->id < y->buf->id ? -1 : 1;
    for (int i = 0; i < 2; i++)
        if (under(x->load, i) != under(y->load, i)) return under(x->load, i) < under(y->load, i) ? -1 : 1;
    return affine_compare(&x->at, &y->at);
}

/* The elements behind the first `back`, which are loaded already, from one vector. */
static void widen(struct co *c, const struct mem_access *first, unsigned lanes, unsigned back) {
    struct ir *ir = c->rw->ir;
    const uop *at = first->load->src[0];
    const uop *wide = load_as(ir, first->load, mk_index(ir, at->src[0], at->src[1], lanes));
    for (unsigned i = back; i < lanes; i++) {
        vec_push(c->a, &c->from, first[i].load);
        vec_push(c->a, &c->to, uop_mk(ir, OP_EXTRACT, &wide, 1, ARG_INT(i)));
    }
}

/* Elements from s on that are loaded together because they are lanes of as many strided loads, whose rows are transposed
 * (render/c.c: columns): 16 bytes of words; of narrower types what packing for MMA instructions leaves of a row. */
static unsigned row_piece(const struct co *c, const struct mem_access *s, unsigned run) {
    unsigned bytes = dtype_info[s->load->dt].bytes, n = bytes == 1 && run >= 2 * ROW ? 2 * ROW : ROW;
    if (bytes > 4 || run < n) return 1;
    for (unsigned i = 0; i < n; i++)
        if (!map_get(&c->strided, s[i].load->id, NULL)) return 1;
    return n;
}

/* How many of `run` consecutive elements from s on are the same lane of as many strided loads: a row, which is transposed. */
static unsigned row_run(const struct co *c, const struct mem_access *s, unsigned run) {
    struct origin first, o;
    unsigned n = 0;
    if (!origin_of(c, s->load, &first)) return 0;
    while (n < run && origin_of(c, s[n].load, &o) && o.lane == first.lane) n++;
    return n;
}

/* The same where a vector has several pieces of 16 bytes: rows are transposed by these, however long they are. The last piece of a row
 * that is no multiple begins *back elements earlier. */
static unsigned wide_row_piece(const struct co *c, const struct mem_access *s, uint32_t before, unsigned run,
                               unsigned *back) {
    unsigned n = 16 / dtype_info[s->load->dt].bytes, least = RG_MIN(n, ROW), row = row_run(c, s, run);
    if (c->vec_bytes <= 16 || !row) return 1;
    while (n > row && n > least) n /= 2;
    if (row >= n) return n;
    *back = n - row;
    for (unsigned i = 1; i <= *back; i++)
        if (i > before || !same_row(&s[-(int)i], s) || s[-(int)i].at.k != s->at.k - i) return *back = 0, 1;
    if (row_run(c, s - *back, n) == n) return n;
    return *back = 0, 1;
}

/* How far apart elements of one strided load may be that vectors cover (cover_rows): a shuffle of as many sources as that, or lists. */
static int64_t reach_of(const struct origin *o, unsigned bytes) {
    return bytes == 2 || bytes == 4 ? RG_MAX(ROW, (int64_t)o->lanes / 2) : ROW;
}

/* Is another element of the same strided load near, so that vectors cover several of each (cover_rows)? */
static bool recurs(const struct co *c, uint32_t at) {
    const struct mem_access *s = c->spot.p;
    struct origin of, other;
    if (c->gpu || !origin_of(c, s[at].load, &of)) return false;
    int64_t reach = reach_of(&of, dtype_info[s[at].load->dt].bytes);
    for (int step = -1; step <= 1; step += 2)
        for (uint32_t i = at + (uint32_t)step; i < c->spot.n && same_row(&s[at], &s[i]);
             i += (uint32_t)step) {
            if (llabs(s[i].at.k - s[at].at.k) > reach) break;
            if (origin_of(c, s[i].load, &other) && other.load == of.load) return true;
        }
    return false;
}

/* How many of `run` consecutive elements from s on one load takes, a power of two up to lanes; 1: no vector. */
static unsigned piece_of(const struct co *c, const struct mem_access *s, uint32_t before, unsigned run,
                         unsigned lanes, unsigned *back) {
    const uop *at = access_offset(s->load);
    unsigned row = c->gpu ? 1 : wide_row_piece(c, s, before, run, back);
    if (row > 1) return row;
    if (run == lanes && (s->load->op == OP_LOAD || uop_divides(at, lanes))) return lanes;
    if (!c->gpu) return row_piece(c, s, run);
    if (dtype_info[s->load->dt].bytes >= LEAST_PIECE) return 1;
    while (lanes > 1 && (lanes > run || !uop_divides(at, lanes))) lanes /= 2;
    return lanes * dtype_info[s->load->dt].bytes < LEAST_PIECE ? 1 : lanes;
}

/* Elements of strided loads in one row, none of which has a vector yet: vectors over them, each of `lanes` elements at most and with
 * a quarter of them or more in use. */
static void cover(struct co *c, const struct mem_access *s, uint32_t n, unsigned lanes) {
    struct ir *ir = c->rw->ir;
    int64_t end = s[n - 1].at.k + 1;
    while (lanes > end - s[0].at.k) lanes /= 2;
    if (lanes < ROW) return;
    for (uint32_t i = 0, inside; i < n; i += inside) {
        struct affine at = s[i].at;
        at.k = RG_MIN(at.k, end - (int64_t)lanes);
        for (inside = 1; i + inside < n && s[i + inside].at.k < at.k + lanes;) inside++;
        if (inside < RG_MAX(lanes / 4, 2)) continue;
        const uop *to = rw_post(c->rw, affine_build(ir, &at, DT_IDX));
        const uop *wide = load_as(ir, s[i].load, mk_index(ir, s[i].buf, to, lanes));
        for (uint32_t k = i; k < i + inside; k++) {
            vec_push(c->a, &c->from, s[k].load);
            vec_push(c->a, &c->to, uop_mk(ir, OP_EXTRACT, &wide, 1, ARG_INT(s[k].at.k - at.k)));
        }
    }
}

static void cover_rows(struct co *c, const struct mem_access *s, uint32_t n) {
    for (uint32_t i = 0, row; i < n; i += row) {
        struct origin of, other;
        for (row = 1; i + row < n && same_row(&s[i], &s[i + row]); row++) {}
        if (!origin_of(c, s[i].load, &of)) continue;
        bool alike = of.lanes * dtype_info[s[i].load->dt].bytes >= 8;
        for (uint32_t k = 1; k < row && alike; k++)
            alike = origin_of(c, s[i + k].load, &other) && of.lanes == other.lanes;
        if (alike) cover(c, &s[i], row, (unsigned)c->vec_bytes / dtype_info[s[i].load->dt].bytes);
    }
}

/* The same in a copy: whatever is stored together. */
static unsigned copied_piece(const struct co *c, unsigned run) {
    unsigned lanes = (unsigned)c->vec_bytes / 4;
    while (lanes > run) lanes /= 2;
    return lanes < ROW ? 1 : lanes;
}

static void group_spots(struct co *c) {
    struct mem_access *s = c->spot.p, *left = arena_array(c->a, struct mem_access, c->spot.n + 1);
    uint32_t n = 0;
    if (c->spot.n) qsort(s, c->spot.n, sizeof *s, by_row);
    for (uint32_t i = 0; i < c->spot.n;) {
        unsigned lanes = (unsigned)c->vec_bytes / dtype_info[s[i].load->dt].bytes, run = 1;
        while (run < lanes && i + run < c->spot.n && same_row(&s[i], &s[i + run]) &&
               s[i + run].at.k == s[i].at.k + run)
            run++;
        unsigned back = 0, piece = 1;
        if (c->copy)
            piece = copied_piece(c, run);
        else if (!recurs(c, i))
            piece = piece_of(c, &s[i], i, run, lanes, &back);
        if (piece > 1)
            widen(c, &s[i - back], piece, back);
        else
            left[n++] = s[i];
        i += piece - back;
    }
    if (!c->gpu && !c->copy) cover_rows(c, left, n);
}

/* ---- strided stores ---------------------------------------------------------------------------------*/

/* Is this scratch buffer filled by stores of the block, and neither read nor filled by an inner loop? */
static bool only_written(struct co *c, const uop *block, const uop *buf) {
    uop_vec topo = {0};
    tree_leaf_nodes(c->rw->ir, block, &topo);
    for (uint32_t i = 0; i < topo.n; i++)
        if (is_load(topo.p[i]) && access_buf(topo.p[i]) == buf) return false;
    for (uint32_t i = 0; i < block->nsrc; i++)
        if (!tree_is_leaf(block->src[i])) return false;
    return true;
}

/* Splits the address of a store over its lanes; false if there is no constant stride other than one, or lanes have predicates. */
static bool store_lanes(struct co *c, const uop *block, const uop *s) {
    if (s->op != OP_STORE || access_offset(s)->lanes == 1) return false;
    if (s->nsrc == 3 && (c->gpu || s->src[2]->lanes > 1)) return false;
    if (access_buf(s)->op != OP_PARAM && (c->gpu || !only_written(c, block, access_buf(s)))) return false;
    struct affine at = affine_of(c->a, access_offset(s));
    struct affine row = {.t = arena_array(c->a, struct term, at.n)};
    int64_t stride = 0;
    for (uint32_t i = 0; i < at.n; i++) {
        if (at.t[i].atom->op == OP_LANES)
            stride = at.t[i].coef;
        else if (at.t[i].atom->lanes > 1)
            return false;
        else
            row.t[row.n++] = at.t[i];
    }
    for (unsigned i = 0; i < s->src[0]->lanes; i++) {
        row.k = at.k + stride * i;
        vec_push(c->a, &c->spot, ((struct mem_access){s, access_buf(s), row, i}));
    }
    return true;
}

/* Does any statement after `from` change an accumulator or scratch buffer that `value` reads? */
static bool changed_after(struct co *c, const uop *block, uint32_t from, const uop *value) {
    uop_vec topo = {0};
    uop_topo(c->a, &value, 1, &topo);
    for (uint32_t i = from; i < block->nsrc; i++) {
        const uop *s = block->src[i];
        const uop *cell = s->op == OP_SET ? s->src[0] : s->op == OP_STORE ? access_buf(s) : NULL;
        if (s->op == OP_FOR || s->op == OP_IF) return true;
        for (uint32_t k = 0; cell && k < topo.n; k++)
            if (topo.p[k] == cell && cell->op != OP_PARAM) return true;
    }
    return false;
}

static const uop *lane_of(struct co *c, const uop *v, unsigned lane) {
    return v->lanes > 1 ? uop_mk(c->rw->ir, OP_EXTRACT, &v, 1, ARG_INT(lane)) : v;
}

/* What one store of the spots takes: elements, of which the first `back` are stored already. lanes 0: they do not fill rows. */
struct piece {
    unsigned lanes, back;
};

/* Elements from s[i] on that follow each other, `most` at most. alike: of one row, the same lane of as many stores. */
static unsigned spot_run(const struct co *c, uint32_t i, unsigned most, bool alike) {
    const struct mem_access *s = &c->spot.p[i];
    unsigned n = 1;
    while (n < most && i + n < c->spot.n && same_row(s, &s[n]) && s[n].at.k == s->at.k + n &&
           (!alike || s[n].lane == s->lane))
        n++;
    return n;
}

/* Values that the next `lanes` elements are of. */
static unsigned sources_of(const struct co *c, uint32_t i, unsigned lanes) {
    unsigned n = 0;
    for (uint32_t k = i; k < i + lanes; k++) {
        bool seen = false;
        for (uint32_t j = i; j < k && !seen; j++) seen = c->spot.p[j].load == c->spot.p[k].load;
        n += !seen;
    }
    return n;
}

/* A part of a row that is transposed (render/c_shuffle.c: quad): 16 bytes, of 16-bit elements 8 of a row that is shorter. The last of a
 * row that is no multiple overlaps the one before. */
static struct piece quad_piece(const struct co *c, uint32_t i, unsigned bytes) {
    for (unsigned unit = 16 / bytes; unit >= ROW; unit /= 2) {
        unsigned row = spot_run(c, i, unit, true), back = unit - row;
        if (!back || (back <= i && spot_run(c, i - back, unit, true) == unit))
            return (struct piece){unit, back};
    }
    return (struct piece){1, 0};
}

/* A vector; where that is wider than 32 bytes, one or a part of it that is shuffled from a few values (adjacent rows), or parts of rows,
 * which need no more registers than there are. */
static struct piece store_piece(const struct co *c, uint32_t i) {
    unsigned bytes = dtype_info[c->spot.p[i].buf->dt].bytes, whole = (unsigned)c->vec_bytes / bytes;
    unsigned run = spot_run(c, i, whole, false), part = whole, few = (unsigned)c->vec_bytes / 8;
    if (c->gpu || c->vec_bytes <= 32 || bytes > 4)
        return (struct piece){run == whole && whole > 1 ? whole : 0, 0};
    while (part > run) part /= 2;
    unsigned least =
        bytes > 1 ? 32
                  : 16; /* bytes of it; those of bytes are shuffled from half as many, or stored one by one */
    if (bytes == 1) few /= 2;
    if (part * bytes >= least && sources_of(c, i, part) <= few) return (struct piece){part, 0};
    if (bytes == 1) return (struct piece){run == whole ? whole : 0, 0};
    struct piece p = quad_piece(c, i, bytes);
    if (p.lanes == 1 && part >= ROW && sources_of(c, i, part) < few) p.lanes = part;
    return p;
}

/* The spots, stored along rows; false: they do not fill rows. */
static bool store_pieces(struct co *c, uop_vec *out) {
    struct ir *ir = c->rw->ir;
    bool any = false;
    qsort(c->spot.p, c->spot.n, sizeof *c->spot.p, by_row);
    for (uint32_t i = 0; i < c->spot.n;) {
        struct piece p = store_piece(c, i);
        const struct mem_access *s = &c->spot.p[i - p.back];
        const uop **part = arena_array(c->a, const uop *, p.lanes + 1);
        if (!p.lanes) return false;
        any |= p.lanes > 1;
        for (unsigned k = 0; k < p.lanes; k++) part[k] = lane_of(c, s[k].load->src[1], s[k].lane);
        const uop *at = rw_post(c->rw, affine_build(ir, &s->at, DT_IDX));
        const uop *src[3] = {mk_index(ir, s->buf, at, p.lanes), part[0]};
        if (p.lanes > 1)
            src[1] = uop_new(ir, OP_BUILD, (enum dtype)s->buf->dt, p.lanes, part, p.lanes, ARG_NONE);
        if (s->load->nsrc == 3) src[2] = s->load->src[2];
        vec_push(c->a, out, uop_mk(ir, OP_STORE, src, s->load->nsrc, ARG_NONE));
        i += p.lanes - p.back;
    }
    return any;
}

static const uop *store_rows(struct co *c, const uop *block) {
    struct ir *ir = c->rw->ir;
    uop_vec out = {0}, rows = {0};
    bool *strided = arena_array(c->a, bool, block->nsrc + 1);
    uint32_t last = 0;
    c->spot.n = 0;
    for (uint32_t i = 0; i < block->nsrc; i++)
        if ((strided[i] = store_lanes(c, block, block->src[i]))) last = i;
    if (!c->spot.n) return block;
    for (uint32_t i = 0; i < block->nsrc; i++)
        for (uint32_t k = 1; strided[i] && k < block->src[i]->nsrc; k++)
            if (changed_after(c, block, i + 1, block->src[i]->src[k])) return block;
    if (!store_pieces(c, &rows)) return block;
    for (uint32_t i = 0; i < block->nsrc; i++) {
        if (!strided[i]) vec_push(c->a, &out, block->src[i]);
        if (i == last)
            for (uint32_t k = 0; k < rows.n; k++) vec_push(c->a, &out, rows.p[k]);
    }
    return tree_block(ir, &out);
}

/* The elements that follow each other in memory, stored by as many statements in a row from block->src[i] on, as one vector store;
 * NULL: they fill none. */
static const uop *store_together(struct co *c, const uop *block, uint32_t i) {
    const uop *s = block->src[i], *buf = s->op == OP_STORE ? access_buf(s) : NULL;
    if (!buf || buf->op != OP_PARAM || s->nsrc != 2 || s->src[0]->lanes != 1) return NULL;
    unsigned lanes = (unsigned)c->vec_bytes / dtype_info[buf->dt].bytes;
    struct mem_access first = {s, buf, affine_of(c->a, access_offset(s)), 0};
    const uop **part = arena_array(c->a, const uop *, lanes + 1);
    while (lanes > 1 && (i + lanes > block->nsrc || !uop_divides(access_offset(s), lanes))) lanes /= 2;
    if (lanes < 2) return NULL;
    for (unsigned k = 0; k < lanes; k++) {
        const uop *n = block->src[i + k];
        if (n->op != OP_STORE || access_buf(n) != buf || n->nsrc != 2 || n->src[0]->lanes != 1) return NULL;
        struct mem_access next = {n, buf, affine_of(c->a, access_offset(n)), 0};
        if (!same_row(&first, &next) || next.at.k != first.at.k + k) return NULL;
        part[k] = n->src[1];
    }
    const uop *v = uop_new(c->rw->ir, OP_BUILD, (enum dtype)buf->dt, lanes, part, lanes, ARG_NONE);
    return uop2(c->rw->ir, OP_STORE, mk_index(c->rw->ir, buf, access_offset(s), lanes), v);
}

/* Unrolled scans, short rows: each value has a statement of its own. */
static const uop *store_vectors(struct co *c, const uop *block) {
    uop_vec out = {0};
    for (uint32_t i = 0; i < block->nsrc; i++) {
        const uop *v = store_together(c, block, i);
        vec_push(c->a, &out, v ? v : block->src[i]);
        if (v) i += v->src[0]->lanes - 1;
    }
    return tree_block(c->rw->ir, &out);
}

/* ---- blocks -----------------------------------------------------------------------------------------*/

static bool written_here(const uop *block, const uop *buf) {
    for (uint32_t i = 0; i < block->nsrc; i++)
        if (block->src[i]->op == OP_STORE && access_buf(block->src[i]) == buf) return true;
    return false;
}

static const uop *subst_leaves(struct co *c, const uop *block) {
    if (!c->from.n) return block;
    uop_vec out = {0};
    for (uint32_t i = 0; i < block->nsrc; i++) {
        const uop *s = block->src[i];
        vec_push(c->a, &out, tree_is_leaf(s) ? rw_subst(c->rw, s, c->from.p, c->to.p, c->from.n) : s);
    }
    return tree_block(c->rw->ir, &out);
}

/* A strided load under one predicate keeps it; it is split only where others are its neighbours and rows are loaded instead. */
static bool keeps_predicate(struct co *c, const uop_vec *nodes, const uop *n) {
    if (n->op != OP_PRED_LOAD || c->gpu || n->src[2]->lanes > 1) return false;
    if (c->vec_bytes <= 16 || dtype_info[n->dt].bytes != 4) return true;
    struct affine at = affine_of(c->a, access_offset(n));
    int found = 0;
    for (uint32_t i = 0; i < nodes->n && found < ROW; i++) {
        const uop *x = nodes->p[i];
        if (x->op != OP_PRED_LOAD || x->src[1] != n->src[1] || x->src[2] != n->src[2] ||
            x->lanes != n->lanes || access_buf(x) != access_buf(n))
            continue;
        struct affine other = affine_of(c->a, access_offset(x));
        found += affine_equal_but_const(&at, &other) && llabs(other.k - at.k) < ROW;
    }
    return found < ROW;
}

/* What is copied: below the conversion of a narrow type. */
static const uop *source_of(const uop *v) {
    return v->op == OP_CAST && dtype_info[v->src[0]->dt].bytes == 2 ? v->src[0] : v;
}

/* Does the block only copy single elements into scratch, as packing of rows does that are no power of two, and rows of an image
 * with its halo? Vectors of 16 bytes pay where elements are converted. */
static bool is_copy(const struct co *c, const uop *block) {
    uint32_t loads = 0;
    if (c->gpu) return false;
    for (uint32_t i = 0; i < block->nsrc; i++) {
        const uop *s = block->src[i], *v = s->op == OP_STORE && s->nsrc == 2 ? s->src[1] : NULL;
        if (!v || v->lanes != 1 || dtype_info[v->dt].bytes != 4 || access_buf(s)->op != OP_LOCAL ||
            access_offset(s)->lanes != 1)
            return false;
        if (uop_is_const(v)) continue;
        const uop *from = source_of(v);
        if ((from->op != OP_LOAD && from->op != OP_PRED_LOAD) || access_buf(from)->op == OP_LOCAL ||
            access_offset(from)->lanes != 1 || (from == v && c->vec_bytes <= 16))
            return false;
        loads += from->op == OP_LOAD;
    }
    return loads >= ROW;
}

/* Elements of a copy as one value; all of them are converted, or none. */
static const uop *copied(struct ir *ir, const uop **part, unsigned lanes) {
    const uop *first = source_of(part[0]), *wide = first->op == OP_EXTRACT ? first->src[0] : NULL;
    enum dtype to = (enum dtype)part[0]->dt;
    bool convert = first != part[0];
    for (unsigned i = 0; i < lanes; i++) {
        const uop *x = part[i] = convert ? part[i]->src[0] : part[i];
        if (!wide || x->op != OP_EXTRACT || x->src[0] != wide || x->arg.i != i || wide->lanes != lanes)
            wide = NULL;
    }
    if (!wide) wide = uop_new(ir, OP_BUILD, (enum dtype)first->dt, lanes, part, lanes, ARG_NONE);
    return convert ? uop_new(ir, OP_CAST, to, lanes, &wide, 1, ARG_NONE) : wide;
}

/* May one vector store both? Loaded rows begin beside a halo, and predicated elements stay alone. */
static bool are_copied_alike(const uop *x, const uop *y) {
    const uop *a = source_of(x), *b = source_of(y);
    return uop_is_const(x) == uop_is_const(y) && a->dt == b->dt && a->op != OP_PRED_LOAD &&
           b->op != OP_PRED_LOAD;
}

/* Stores of a copy by vectors, as wide as neighbouring elements allow. */
static const uop *join_stores(struct co *c, const uop *block) {
    struct ir *ir = c->rw->ir;
    uop_vec out = {0};
    c->spot.n = 0;
    for (uint32_t i = 0; i < block->nsrc; i++) {
        const uop *s = block->src[i];
        struct mem_access at = {s, access_buf(s), affine_of(c->a, access_offset(s)), 0};
        vec_push(c->a, &c->spot, at);
    }
    struct mem_access *s = c->spot.p;
    qsort(s, c->spot.n, sizeof *s, by_row);
    for (uint32_t i = 0; i < c->spot.n;) {
        unsigned lanes = (unsigned)c->vec_bytes / 4, run = 1;
        while (run < lanes && i + run < c->spot.n && same_row(&s[i], &s[i + run]) &&
               s[i + run].at.k == s[i].at.k + run &&
               are_copied_alike(s[i].load->src[1], s[i + run].load->src[1]))
            run++;
        while (lanes > run) lanes /= 2;
        if (lanes < ROW) lanes = 1;
        const uop **part = arena_array(c->a, const uop *, lanes), *v = s[i].load->src[1];
        for (unsigned k = 0; k < lanes; k++) part[k] = s[i + k].load->src[1];
        if (lanes > 1) v = copied(ir, part, lanes);
        vec_push(c->a, &out, uop2(ir, OP_STORE, mk_index(ir, s[i].buf, access_offset(s[i].load), lanes), v));
        i += lanes;
    }
    return tree_block(ir, &out);
}

static const uop *coalesce_block(struct co *c, const uop *block) {
    uop_vec topo = {0};
    tree_leaf_nodes(c->rw->ir, block, &topo);
    c->from.n = c->to.n = c->spot.n = 0;
    map_init(&c->strided, c->a);
    bool scalarized = false;
    for (uint32_t i = 0; i < topo.n; i++) {
        const uop *n = topo.p[i];
        if (!is_load(n) || keeps_predicate(c, &topo, n) || written_here(block, access_buf(n))) continue;
        const uop *lanes = scalarize(c, n);
        if (!lanes) continue;
        vec_push(c->a, &c->from, n);
        vec_push(c->a, &c->to, lanes);
        scalarized = true;
    }
    block = store_rows(c, subst_leaves(c, block));
    c->copy = !scalarized && is_copy(c, block);
    if (!scalarized && !c->copy && c->vec_bytes > 16)
        return block; /* broadcasts from memory are free there */
    c->spot.n = 0;
    tree_leaf_nodes(c->rw->ir, block, &topo);
    c->from.n = c->to.n = 0;
    for (uint32_t i = 0; i < topo.n; i++) {
        const uop *n = topo.p[i];
        if (!is_load(n) || n->lanes != 1 || n->src[0]->lanes != 1 || written_here(block, access_buf(n)) ||
            (c->copy && n->op == OP_PRED_LOAD))
            continue;
        struct mem_access s = {n, access_buf(n), affine_of(c->a, access_offset(n)), 0};
        vec_push(c->a, &c->spot, s);
    }
    group_spots(c);
    bool rows = c->from.n;
    block = subst_leaves(c, block);
    return c->copy && rows ? join_stores(c, block) : block;
}

static const uop *coalesce(struct co *c, const uop *n) {
    struct ir *ir = c->rw->ir;
    uop_vec out = {0};
    if (n->op == OP_FOR) return uop2(ir, OP_FOR, n->src[0], coalesce(c, n->src[1]));
    if (n->op != OP_BLOCK && n->op != OP_IF) return n;
    if (n->op == OP_BLOCK) n = coalesce_block(c, n);
    if (n->op == OP_BLOCK && c->gpu && !c->threads) n = store_vectors(c, n);
    if (n->op != OP_BLOCK && n->op != OP_IF) return n;
    for (uint32_t i = 0; i < n->nsrc; i++) vec_push(ir->arena, &out, coalesce(c, n->src[i]));
    return uop_mk(ir, (enum op)n->op, out.p, out.n, ARG_NONE);
}

static bool has_threads(struct arena *a, const uop *tree) {
    uop_vec topo = {0};
    uop_topo(a, &tree, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++)
        if (topo.p[i]->op == OP_RANGE && topo.p[i]->arg.range.kind == AX_THREAD) return true;
    return false;
}

const uop *tree_coalesce(struct rw *rw, const uop *tree, const struct target *target) {
    struct co c = {
        .rw = rw, .a = rw->ir->arena, .vec_bytes = target->vec_bytes, .gpu = target_is_gpu(target)};
    c.threads = c.gpu && has_threads(c.a, tree);
    return coalesce(&c, tree);
}
