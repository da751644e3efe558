/* tma_tile.c: can a tile be loaded by TMA (op TMA_LOAD, zeros out of bounds) or stored by it (op TMA_STORE)?
 *
 * The statement that fills the tile gives the address of each element. A box has contiguous rows a constant stride apart;
 * whatever else the address depends on (grid, K loop) is the coordinate of its corner. So the address must be affine,
 * and the tile's own ranges must cover rows and columns without gaps. Bounds predicates become the descriptor's extents;
 * predicates on rows that are never read are dropped; any other disqualifies it.
 * Hardware limits: stride and corner are multiples of 16 bytes (another corner is an illegal instruction), a box has at
 * most 256 rows. Results with unaligned rows are described too, without a descriptor: threads store them
 * (epilogue_unaligned.c).
 * Requires: tree_build. Tests: tests/unit/warp_specialize.c */
#include "codegen/internal.h"

enum { ROW_BYTES = 128, VECTOR_BYTES = 16, BOX_ROWS_MAX = 256 };

struct tma_finder {
    struct sched *s;
    struct ir *ir;
    struct arena *a;
    const char *why; /* why TMA cannot copy it */
    struct free_ranges fr;
    uop_vec own;      /* the tile's own ranges */
    uop_vec col, row; /* of them: along a row, across rows; fastest first */
    struct affine from;
    int64_t step, cols, rows; /* row stride; elements of a row; rows */
    const uop *at[2];         /* coordinates of the corner */
};

static bool reject(struct tma_finder *b, const char *why) {
    b->why = why;
    return false;
}

static bool has(const uop_vec *v, const uop *n) {
    for (uint32_t i = 0; i < v->n; i++)
        if (v->p[i] == n) return true;
    return false;
}

/* ---- rows and columns --------------------------------------------------------------------------------------- */

/* Ranges that cover consecutive multiples of `step` without gaps, up to `most` values. Returns how many. */
static int64_t cover(struct tma_finder *b, int64_t step, int64_t most, uop_vec *out) {
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

static bool find_rows(struct tma_finder *b, int64_t row) {
    b->cols = cover(b, 1, row, &b->col);
    b->step = INT64_MAX;
    for (uint32_t i = 0; i < b->own.n; i++) {
        int64_t c = affine_coef(&b->from, b->own.p[i]);
        if (!has(&b->col, b->own.p[i])) b->step = RG_MIN(b->step, c);
    }
    if (b->step == INT64_MAX || b->step <= 0) return reject(b, "its rows have no constant positive stride");
    b->rows = cover(b, b->step, INT64_MAX, &b->row);
    if (b->col.n + b->row.n != b->own.n || b->cols != row) return reject(b, "its elements do not form rows");
    return true;
}

/* The address without the tile's own ranges, as column and row. */
static bool find_corner(struct tma_finder *b) {
    struct affine part[2] = {{.t = arena_array(b->a, struct term, b->from.n + 1)},
                             {.t = arena_array(b->a, struct term, b->from.n + 1)}};
    for (uint32_t i = 0; i < b->from.n; i++) {
        const struct term *t = &b->from.t[i];
        if (has(&b->own, t->atom)) continue;
        for (uint32_t k = 0; k < b->own.n; k++)
            if (free_has(&b->fr, t->atom, b->own.p[k])) return reject(b, "its addresses are not affine");
        struct affine *p = &part[t->coef % b->step == 0];
        p->t[p->n++] = (struct term){t->atom, t->coef % b->step ? t->coef : t->coef / b->step};
    }
    part[1].k = idiv_floor(b->from.k, b->step), part[0].k = imod_floor(b->from.k, b->step);
    for (int i = 0; i < 2; i++) b->at[i] = rw_post(&b->s->rw, affine_build(b->ir, &part[i], DT_IDX));
    return true;
}

/* ---- bounds -------------------------------------------------------------------------------------------------- */

/* Coordinate of an element of the tile; 0: column, 1: row. */
static struct affine coordinate(struct tma_finder *b, int side) {
    const uop *x = b->at[side];
    const uop_vec *v = side ? &b->row : &b->col;
    for (uint32_t i = 0, n = 1; i < v->n; n *= (uint32_t)v->p[i]->src[0]->hi, i++)
        x = uop2(b->ir, OP_ADD, x, uop2(b->ir, OP_MUL, v->p[i], uop_idx(b->ir, n)));
    return affine_of(b->a, x);
}

/* If f < 0 is a bound of coordinate x, perhaps of its quotient: that bound, else 0. */
static int64_t limit_of(struct tma_finder *b, const struct affine *f, const struct affine *x) {
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

/* Does a predicate exclude more than rows that are never read? Along k there must be zeros: predicates of
 * k itself ask for them, and those of the tile's ranges on the same side. A tile that k does not move may
 * be reduced along either side. */
static bool needs_zeros(struct tma_finder *b, const uop *g, const uop *k) {
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

/* k: the range beyond whose end there must be zeros; NULL: nothing may be accessed where the predicate is
 * false. */
static bool take_pred(struct tma_finder *b, const uop *g, const uop *k, int64_t size[2]) {
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
    if (needs_zeros(b, g, k))
        return reject(b, "its predicate is not a bound of the buffer's rows or columns");
    return true;
}

/* ---- the tile ------------------------------------------------------------------------------------------------- */

static int64_t tile_offset(struct tma_finder *b, const uop *to, int64_t y, int64_t x) {
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

/* Panels in sequence, rows below each other: checked at the corners, in between it is affine. */
static bool check_tile(struct tma_finder *b, const uop *to, int64_t width) {
    int64_t row[] = {0, 1, b->rows - 1}, col[] = {0, 1, width - 1, RG_MIN(width, b->cols - 1), b->cols - 1};
    for (size_t i = 0; i < RG_COUNT(row); i++)
        for (size_t k = 0; k < RG_COUNT(col); k++)
            if (tile_offset(b, to, row[i], col[k]) !=
                col[k] / width * b->rows * width + row[i] * width + col[k] % width)
                return reject(b, "it is stored transposed");
    return true;
}

/* Alignment of stride and corner. */
static bool is_aligned(struct tma_finder *b, const uop *param) {
    int64_t vector = VECTOR_BYTES / dtype_info[param->dt].bytes;
    return (b->step % vector == 0 && uop_divides(b->at[0], vector)) ||
           reject(b, "rows must be 16-byte aligned");
}

/* Extents of the descriptor; every tile must lie inside, but for what its predicate excludes. */
static bool find_extents(struct tma_finder *b, const uop *param, const uop *pred, const uop *k,
                         int64_t size[2]) {
    int64_t bytes = dtype_info[param->dt].bytes, all = param->src[0]->lo;
    size[0] = b->step, size[1] = all / b->step;
    int64_t rows = size[1];
    if (pred && !take_pred(b, pred, k, size)) return false;
    if (b->cols % (ROW_BYTES / bytes)) return reject(b, "its rows are no multiple of 128 bytes");
    if (b->at[0]->lo < 0 || b->at[1]->lo < 0 || (!pred && b->at[0]->hi + b->cols > size[0]) || size[0] < 1 ||
        size[1] < 1 || b->at[0]->hi >= size[0])
        return reject(b, "it reaches beyond the end of a row");
    if (all % b->step && b->at[1]->hi + b->rows > rows)
        return reject(b, "the last row of the buffer is partial");
    return true;
}

static struct tma_tile make_tile(struct tma_finder *b, const uop *param, const int64_t size[2]) {
    int64_t bytes = dtype_info[param->dt].bytes, width = ROW_BYTES / bytes;
    struct tma_tile x = {.at = {b->at[0], b->at[1]},
                         .size = {size[0], size[1]},
                         .step = b->step,
                         .width = width,
                         .panels = b->cols / width,
                         .parts = 1};
    while (b->rows / x.parts > BOX_ROWS_MAX || b->rows % x.parts) x.parts++;
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

/* A tile of one row that threads read: the buffer is one long row, the box as wide as the tile. */
static bool find_single(struct tma_finder *b, const uop *param, const uop *to, const uop *pred,
                        struct tma_tile *out) {
    int64_t bytes = dtype_info[param->dt].bytes, n = cover(b, 1, INT64_MAX, &b->col), all = param->src[0]->lo;
    if (b->col.n != b->own.n || tile_offset(b, to, 0, 1) != 1 || tile_offset(b, to, 0, n - 1) != n - 1)
        return reject(b, "its elements are not contiguous");
    if (pred || n > BOX_ROWS_MAX || n * bytes % ROW_BYTES || param->src[0]->lo != param->src[0]->hi)
        return reject(b, "it is not an unpredicated row of 128 to 1024 bytes");
    b->step = all, b->rows = 1;
    if (!find_corner(b) || !uop_divides(b->at[0], VECTOR_BYTES / bytes))
        return reject(b, "rows must be 16-byte aligned");
    *out = (struct tma_tile){
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

static bool find(struct tma_finder *b, const uop *fill, const uop *k, struct tma_tile *out) {
    const uop *index, *pred, *local = access_buf(fill), *unused;
    int64_t size[2];
    if (!plain_copy(&b->s->rw, fill->src[1], &index, &pred)) return reject(b, "its elements are computed");
    b->from = affine_of(b->a, unpredicated(index->src[1], &unused));
    const uop_vec *free = free_of(&b->fr, fill->src[0]);
    for (uint32_t i = 0; i < free->n; i++) vec_push(b->a, &b->own, free->p[i]);
    if (!local->arg.mem.row) return find_single(b, index->src[0], access_offset(fill), pred, out);
    if (!local->arg.mem.panels) return reject(b, "it has no 128-byte swizzle");
    if (!find_rows(b, local->arg.mem.row) || !find_corner(b) || !is_aligned(b, index->src[0]) ||
        !find_extents(b, index->src[0], pred, k, size) ||
        !check_tile(b, access_offset(fill), ROW_BYTES / dtype_info[local->dt].bytes))
        return false;
    *out = make_tile(b, index->src[0], size);
    return out->rows % 8 == 0 || reject(b, "its boxes have no multiple of 8 rows");
}

struct tma_tile tma_tile_of(struct sched *s, const char *opt, const uop *fill, const uop *k) {
    struct tma_finder b = {.s = s, .ir = s->ir, .a = s->ir->arena};
    struct tma_tile x;
    free_init(&b.fr, b.ir, b.a);
    if (!find(&b, fill, k, &x))
        opt_fail(s, opt, "TMA cannot load tile %s: %s", ir_name(s->ir, access_buf(fill)->arg.mem.name),
                 b.why);
    return x;
}

bool tma_tile_stored(struct sched *s, const uop *store, const uop *m, const uop *n, struct tma_tile *out) {
    struct tma_finder b = {.s = s, .ir = s->ir, .a = s->ir->arena};
    const uop *param = access_buf(store), *pred = NULL;
    int64_t size[2];
    if (store->op != OP_STORE || param->op != OP_PARAM) return false;
    free_init(&b.fr, b.ir, b.a);
    b.from = affine_of(b.a, unpredicated(access_offset(store), &pred));
    if (store->nsrc > 2) pred = pred ? rw2(&s->rw, OP_AND, pred, store->src[2]) : store->src[2];
    vec_push(b.a, &b.own, m), vec_push(b.a, &b.own, n);
    if (affine_coef(&b.from, n) != 1 || !find_rows(&b, n->src[0]->hi) || !find_corner(&b) ||
        !find_extents(&b, param, pred, NULL, size))
        return false;
    *out = make_tile(&b, param, size);
    if (!is_aligned(&b, param)) out->map = NULL;
    return out->parts == 1;
}
