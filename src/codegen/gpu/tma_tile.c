/* tma_tile.c: is a tile a box of its buffer? Then one instruction copies it (op TMA_LOAD), with zeros for what lies outside, or stores it
 * (op TMA_STORE), without it.
 *
 * The statement that fills the tile says where each element comes from. A box has elements that lie together along its
 * rows and rows that are a constant step apart; whatever else the address depends on (which tile of the grid, which step of
 * the sum) is the place of its corner. That holds if the address is a sum of multiples of ranges, of which the tile's own
 * make the rows without gaps. A predicate that asks for a limit of a row or of the rows is the size of the map: outside there
 * are zeros; a predicate that only keeps away from rows which nobody looks at is dropped; another makes it no box.
 * What the hardware wants: the step and the corner are multiples of 16 bytes (a corner elsewhere is an illegal instruction),
 * copies have at most 256 rows. Rows of results
 * that begin anywhere are no box, but known as well: threads store them (epilogue_unaligned.c).
 * Requires: tree_build. Tests: tests/unit/warp_specialize.c */
#include "codegen/internal.h"

enum { ROW_BYTES = 128, PIECE_BYTES = 16, MOST_ROWS = 256 };

struct boxer {
    struct sched *s;
    struct ir *ir;
    struct arena *a;
    const char *why; /* it is none */
    struct free_ranges fr;
    uop_vec own;              /* ranges of the tile */
    uop_vec col, row;         /* of them, those along a row and across, the fastest first */
    struct affine from;       /* the address */
    int64_t step, cols, rows; /* from row to row; elements of the tile along both */
    const uop *at[2];         /* of the corner */
};

static bool no_box(struct boxer *b, const char *why) {
    b->why = why;
    return false;
}

static bool has(const uop_vec *v, const uop *n) {
    for (uint32_t i = 0; i < v->n; i++)
        if (v->p[i] == n) return true;
    return false;
}

/* ---- rows and columns --------------------------------------------------------------------------------------- */

/* Ranges that count on from `step` without gaps, up to `most` values. Returns the values. */
static int64_t chain(struct boxer *b, int64_t step, int64_t most, uop_vec *out) {
    int64_t n = 1;
    for (bool more = true; more && n < most;) {
        more = false;
        for (uint32_t i = 0; i < b->own.n && !more; i++) {
            const uop *r = b->own.p[i];
            if (has(&b->col, r) || has(&b->row, r) || affine_coef(&b->from, r) != step * n) continue;
            vec_push(b->a, out, r);
            n *= r->src[0]->hi, more = true;
        }
    }
    return n;
}

/* row: elements of a row of the tile. */
static bool find_rows(struct boxer *b, int64_t row) {
    b->cols = chain(b, 1, row, &b->col);
    b->step = INT64_MAX;
    for (uint32_t i = 0; i < b->own.n; i++) {
        int64_t c = affine_coef(&b->from, b->own.p[i]);
        if (!has(&b->col, b->own.p[i])) b->step = RG_MIN(b->step, c);
    }
    if (b->step == INT64_MAX || b->step <= 0) return no_box(b, "it is no row after the other");
    b->rows = chain(b, b->step, INT64_MAX, &b->row);
    if (b->col.n + b->row.n != b->own.n || b->cols != row)
        return no_box(b, "its elements do not lie in rows");
    return true;
}

/* The address without the tile's own ranges, as a place along a row and one across. */
static bool find_corner(struct boxer *b) {
    struct affine part[2] = {{.t = arena_array(b->a, struct term, b->from.n + 1)},
                             {.t = arena_array(b->a, struct term, b->from.n + 1)}};
    for (uint32_t i = 0; i < b->from.n; i++) {
        const struct term *t = &b->from.t[i];
        if (has(&b->own, t->atom)) continue;
        for (uint32_t k = 0; k < b->own.n; k++)
            if (free_has(&b->fr, t->atom, b->own.p[k])) return no_box(b, "its elements are found one by one");
        struct affine *p = &part[t->coef % b->step == 0];
        p->t[p->n++] = (struct term){t->atom, t->coef % b->step ? t->coef : t->coef / b->step};
    }
    part[1].k = idiv_floor(b->from.k, b->step), part[0].k = imod_floor(b->from.k, b->step);
    for (int i = 0; i < 2; i++) b->at[i] = rw_post(&b->s->rw, affine_build(b->ir, &part[i], DT_IDX));
    return true;
}

/* ---- limits -------------------------------------------------------------------------------------------------- */

/* Coordinate of every element of the tile: 0 along a row, 1 across. */
static struct affine coordinate(struct boxer *b, int side) {
    const uop *x = b->at[side];
    const uop_vec *v = side ? &b->row : &b->col;
    for (uint32_t i = 0, n = 1; i < v->n; n *= (uint32_t)v->p[i]->src[0]->hi, i++)
        x = uop2(b->ir, OP_ADD, x, uop2(b->ir, OP_MUL, v->p[i], uop_idx(b->ir, n)));
    return affine_of(b->a, x);
}

/* If f < 0 asks for a limit of coordinate x, perhaps of its quotient: that limit, else 0. */
static int64_t limit_of(struct boxer *b, const struct affine *f, const struct affine *x) {
    int64_t q = 0, low = 0;
    for (uint32_t i = 0; i < f->n; i++) {
        int64_t c = affine_coef(x, f->t[i].atom);
        if (!c || c % f->t[i].coef || (q && c / f->t[i].coef != q)) return 0;
        q = c / f->t[i].coef;
    }
    if (q < 1) return 0;
    for (uint32_t i = 0; i < x->n; i++) {
        if (affine_coef(f, x->t[i].atom)) continue;
        if (!has(&b->own, x->t[i].atom)) return 0;
        low += x->t[i].coef * (x->t[i].atom->src[0]->hi - 1);
    }
    return low < q ? x->k - q * f->k : 0;
}

/* Does a predicate leave out more than rows which nobody looks at? Where something is added up along k there must be zeros: k's own predicates
 * ask for them, and those of the tile's ranges along the same side. A tile that k does not move may be added up along either side,
 * within the tile. */
static bool needs_zeros(struct boxer *b, const uop *g, const uop *k) {
    if (!k || free_has(&b->fr, g, k)) return true;
    int64_t c = affine_coef(&b->from, k);
    const uop_vec *v = c % b->step == 0 ? &b->row : &b->col, *f = free_of(&b->fr, g);
    uint32_t inside = 0;
    for (uint32_t i = 0; i < f->n; i++) {
        if (c && has(v, f->p[i])) return true;
        inside += has(&b->own, f->p[i]);
    }
    return !c && inside == f->n;
}

/* k: the range beyond whose end there must be zeros; NULL: nothing may be touched where the predicate is false. */
static bool take_pred(struct boxer *b, const uop *g, const uop *k, int64_t size[2]) {
    if (g->op == OP_AND) return take_pred(b, g->src[0], k, size) && take_pred(b, g->src[1], k, size);
    if ((g->op == OP_LT || g->op == OP_LE) && g->src[0]->dt == DT_IDX) {
        struct affine f = affine_of(b->a, uop2(b->ir, OP_SUB, g->src[0], g->src[1]));
        f.k -= g->op == OP_LE;
        for (int side = 0; side < 2; side++) {
            struct affine x = coordinate(b, side);
            int64_t n = limit_of(b, &f, &x);
            if (n > 0 && n <= size[side]) {
                size[side] = n;
                return true;
            }
        }
    }
    if (needs_zeros(b, g, k)) return no_box(b, "its zeros do not begin where the buffer's rows end");
    return true;
}

/* ---- the tile ------------------------------------------------------------------------------------------------- */

static int64_t place_in_tile(struct boxer *b, const uop *to, int64_t y, int64_t x) {
    uop_vec from = {0}, at = {0};
    for (int side = 0; side < 2; side++) {
        const uop_vec *v = side ? &b->row : &b->col;
        int64_t left = side ? y : x;
        for (uint32_t i = 0; i < v->n; i++) {
            int64_t n = v->p[i]->src[0]->hi;
            vec_push(b->a, &from, v->p[i]);
            vec_push(b->a, &at, uop_idx(b->ir, left % n));
            left /= n;
        }
    }
    const uop *n = rw_subst(&b->s->rw, to, from.p, at.p, from.n);
    return uop_is_const(n) ? n->arg.i : -1;
}

/* Panels one after the other, rows below each other: asked at the corners, in between everything is even. */
static bool check_tile(struct boxer *b, const uop *to, int64_t width) {
    int64_t row[] = {0, 1, b->rows - 1}, col[] = {0, 1, width - 1, RG_MIN(width, b->cols - 1), b->cols - 1};
    for (size_t i = 0; i < RG_COUNT(row); i++)
        for (size_t k = 0; k < RG_COUNT(col); k++)
            if (place_in_tile(b, to, row[i], col[k]) !=
                col[k] / width * b->rows * width + row[i] * width + col[k] % width)
                return no_box(b, "memory runs across its rows");
    return true;
}

/* What the hardware wants of map and corner. */
static bool in_pieces(struct boxer *b, const uop *param) {
    int64_t piece = PIECE_BYTES / dtype_info[param->dt].bytes;
    return (b->step % piece == 0 && uop_divides(b->at[0], piece)) ||
           no_box(b, "rows must begin at multiples of 16 bytes");
}

/* The sizes of the map; every tile must be inside of it, but for what its predicate leaves out. */
static bool limits(struct boxer *b, const uop *param, const uop *pred, const uop *k, int64_t size[2]) {
    int64_t bytes = dtype_info[param->dt].bytes, all = param->src[0]->lo;
    size[0] = b->step, size[1] = all / b->step;
    int64_t rows = size[1];
    if (pred && !take_pred(b, pred, k, size)) return false;
    if (b->cols % (ROW_BYTES / bytes)) return no_box(b, "a row is no multiple of 128 bytes");
    if (b->at[0]->lo < 0 || b->at[1]->lo < 0 || (!pred && b->at[0]->hi + b->cols > size[0]) || size[0] < 1 ||
        size[1] < 1 || b->at[0]->hi >= size[0])
        return no_box(b, "it goes on from row to row");
    if (all % b->step && b->at[1]->hi + b->rows > rows)
        return no_box(b, "the last row of the buffer is not whole");
    return true;
}

static struct box make(struct boxer *b, const uop *param, const int64_t size[2]) {
    int64_t bytes = dtype_info[param->dt].bytes, width = ROW_BYTES / bytes;
    struct box x = {.at = {b->at[0], b->at[1]},
                    .size = {size[0], size[1]},
                    .step = b->step,
                    .width = width,
                    .panels = b->cols / width,
                    .parts = 1};
    while (b->rows / x.parts > MOST_ROWS || b->rows % x.parts) x.parts++;
    x.rows = b->rows / x.parts, x.bytes = b->rows * b->cols * bytes;
    const uop *src[] = {param,
                        uop_idx(b->ir, size[0]),
                        uop_idx(b->ir, size[1]),
                        uop_idx(b->ir, b->step),
                        uop_idx(b->ir, width),
                        uop_idx(b->ir, x.rows)};
    x.map = uop_new(b->ir, OP_TENSOR_MAP, (enum dtype)param->dt, 1, src, RG_COUNT(src), ARG_INT(2));
    return x;
}

static const uop *unpredicated(const uop *at, const uop **pred) {
    if (at->op != OP_WHERE || at->src[2]->op != OP_INVALID) return at;
    *pred = at->src[0];
    return at->src[1];
}

/* A tile that is one row, of numbers that threads read: the buffer is one long row, and a box as wide as the tile. */
static bool find_single(struct boxer *b, const uop *param, const uop *to, const uop *pred, struct box *out) {
    int64_t bytes = dtype_info[param->dt].bytes, n = chain(b, 1, INT64_MAX, &b->col), all = param->src[0]->lo;
    if (b->col.n != b->own.n || place_in_tile(b, to, 0, 1) != 1 || place_in_tile(b, to, 0, n - 1) != n - 1)
        return no_box(b, "its elements do not lie in a row");
    if (pred || n > MOST_ROWS || n * bytes % ROW_BYTES || param->src[0]->lo != param->src[0]->hi)
        return no_box(b, "it is not a whole row of 128 to 1024 bytes");
    b->step = all, b->rows = 1;
    if (!find_corner(b) || !uop_divides(b->at[0], PIECE_BYTES / bytes))
        return no_box(b, "rows must begin at multiples of 16 bytes");
    *out = (struct box){
        .at = {b->at[0], b->at[1]}, .width = n, .rows = 1, .panels = 1, .parts = 1, .bytes = n * bytes};
    const uop *src[] = {param,
                        uop_idx(b->ir, all),
                        uop_idx(b->ir, 1),
                        uop_idx(b->ir, (all * bytes + 15) / 16 * 16 / bytes),
                        uop_idx(b->ir, n),
                        uop_idx(b->ir, 1)};
    out->map = uop_new(b->ir, OP_TENSOR_MAP, (enum dtype)param->dt, 1, src, RG_COUNT(src), ARG_INT(2));
    return true;
}

static bool find(struct boxer *b, const uop *fill, const uop *k, struct box *out) {
    const uop *index, *pred, *local = access_buf(fill), *unused;
    int64_t size[2];
    if (!plain_copy(&b->s->rw, fill->src[1], &index, &pred)) return no_box(b, "its elements are computed");
    b->from = affine_of(b->a, unpredicated(index->src[1], &unused));
    const uop_vec *free = free_of(&b->fr, fill->src[0]);
    for (uint32_t i = 0; i < free->n; i++) vec_push(b->a, &b->own, free->p[i]);
    if (!local->arg.mem.row) return find_single(b, index->src[0], access_offset(fill), pred, out);
    if (!local->arg.mem.panels) return no_box(b, "it has no panels of 128 bytes");
    if (!find_rows(b, local->arg.mem.row) || !find_corner(b) || !in_pieces(b, index->src[0]) ||
        !limits(b, index->src[0], pred, k, size) ||
        !check_tile(b, access_offset(fill), ROW_BYTES / dtype_info[local->dt].bytes))
        return false;
    *out = make(b, index->src[0], size);
    return out->rows % 8 == 0 || no_box(b, "parts of it have no multiple of 8 rows");
}

struct box tma_tile_of(struct sched *s, const char *opt, const uop *fill, const uop *k) {
    struct boxer b = {.s = s, .ir = s->ir, .a = s->ir->arena};
    struct box x;
    free_init(&b.fr, b.ir, b.a);
    if (!find(&b, fill, k, &x))
        opt_fail(s, opt, "the tile %s cannot be copied as a box: %s",
                 ir_name(s->ir, access_buf(fill)->arg.mem.name), b.why);
    return x;
}

bool tma_tile_stored(struct sched *s, const uop *store, const uop *m, const uop *n, struct box *out) {
    struct boxer b = {.s = s, .ir = s->ir, .a = s->ir->arena};
    const uop *param = access_buf(store), *pred = NULL;
    int64_t size[2];
    if (store->op != OP_STORE || param->op != OP_PARAM) return false;
    free_init(&b.fr, b.ir, b.a);
    b.from = affine_of(b.a, unpredicated(access_offset(store), &pred));
    if (store->nsrc > 2) pred = pred ? rw2(&s->rw, OP_AND, pred, store->src[2]) : store->src[2];
    vec_push(b.a, &b.own, m), vec_push(b.a, &b.own, n);
    if (affine_coef(&b.from, n) != 1 || !find_rows(&b, n->src[0]->hi) || !find_corner(&b) ||
        !limits(&b, param, pred, NULL, size))
        return false;
    *out = make(&b, param, size);
    if (!in_pieces(&b, param)) out->map = NULL;
    return out->parts == 1;
}
