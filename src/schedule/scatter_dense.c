/* scatter_dense.c: scatters of few elements to few targets on a GPU, densely: each target looks at every element of its row and combines
 * those whose index it is. A reduction like any other, fused with what is around it: no sort, no atomics, no copy to another order of
 * axes, and the same bits in every run. An index out of range is clamped, as the builtin kernels do.
 * Requires: the planner's tensor graph. Gives: an equal node, or NULL where looking at everything takes longer than a builtin.
 * Tests: tests/unit/index.c (index_scatters_*) */
#include "schedule/internal.h"

enum {
    DENSE_WORK = 1 << 22, /* elements that all targets look at */
    ROW_MOST = 1 << 14,   /* elements of a row side by side .. */
    COLUMN_MOST = 64,     /* .. and of one with others between them */
    FEW_TARGETS = 2,      /* of rows with 2 targets .. */
    FEW_ELEMENTS = 16     /* .. and 16 elements there may be any number */
};

struct dense {
    struct ir *ir;
    struct shapes *sh;
    int64_t d[SHAPE_MAX]; /* the index's axes, with the targets before the axis of the elements */
    uint32_t n, axis;     /* that of the targets */
};

static const uop *shaped(struct dense *s, enum op op, const uop *x, const int64_t *d) {
    return graph_shaped(s->ir, op, x, d, s->n);
}

/* 0, 1, .. along an axis of all. */
static const uop *count_along(struct dense *s, uint32_t axis, enum dtype dt) {
    int64_t d[SHAPE_MAX];
    for (uint32_t i = 0; i < s->n; i++) d[i] = i == axis ? s->d[i] : 1;
    const uop *size = uop_idx(s->ir, s->d[axis]);
    const uop *i = uop_new(s->ir, OP_IOTA, DT_I64, 1, &size, 1, ARG_NONE);
    return shaped(s, OP_EXPAND, uop_cast(s->ir, shaped(s, OP_RESHAPE, i, d), dt), s->d);
}

static const uop *number(struct dense *s, const uop *x) {
    int64_t ones[SHAPE_MAX];
    for (uint32_t i = 0; i < s->n; i++) ones[i] = 1;
    return shaped(s, OP_EXPAND, shaped(s, OP_RESHAPE, x, ones), s->d);
}

/* Of the elements, for every target. A scalar is one for all. */
static const uop *of_elements(struct dense *s, const uop *x) {
    if (!shape_of(s->sh, x)->n) return number(s, x);
    int64_t d[SHAPE_MAX];
    memcpy(d, s->d, sizeof d);
    d[s->axis] = 1;
    return shaped(s, OP_EXPAND, shaped(s, OP_RESHAPE, x, d), s->d);
}

static const uop *select(struct dense *s, const uop *ask, const uop *yes, const uop *no) {
    return uop_mk(s->ir, OP_WHERE, (const uop *[]){ask, yes, number(s, no)}, 3, ARG_NONE);
}

/* x of all, combined for each target. */
static const uop *combined(struct dense *s, enum op op, const uop *x) {
    const uop *src[2] = {x, uop_idx(s->ir, s->axis + 1)};
    int64_t d[SHAPE_MAX];
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n; i++)
        if (i != s->axis + 1) d[n++] = s->d[i];
    return graph_shaped(s->ir, OP_RESHAPE, uop_mk(s->ir, OP_REDUCE_AXES, src, 2, (union arg){.i = op}), d, n);
}

/* Is it worth it? */
static bool dense_of(struct ir *ir, struct shapes *sh, const uop *index, uint32_t axis, int64_t size,
                     struct dense *s) {
    const struct shape *i = shape_of(sh, index);
    int64_t work;
    *s = (struct dense){.ir = ir, .sh = sh, .n = i->n + 1, .axis = axis};
    if (i->n + 1 > SHAPE_MAX || !shape_size(i) || size < 1) return false;
    for (uint32_t k = 0; k < s->n; k++) s->d[k] = k < axis + 1 ? i->d[k] : i->d[k - 1];
    s->d[axis] = size;
    int64_t inner = 1;
    for (uint32_t k = axis + 1; k < i->n; k++) inner *= i->d[k];
    int64_t most = inner == 1 ? ROW_MOST : COLUMN_MOST;
    if (size <= FEW_TARGETS && i->d[axis] <= FEW_ELEMENTS) return true;
    return i->d[axis] <= most && !__builtin_mul_overflow(shape_size(i), size, &work) && work <= DENSE_WORK;
}

static const uop *hits(struct dense *s, const uop *index) {
    const uop *i = uop_cast(s->ir, index, DT_I64), *last = uop_int(s->ir, DT_I64, s->d[s->axis] - 1);
    i = uop2(s->ir, OP_MAX, of_elements(s, i), number(s, uop_int(s->ir, DT_I64, 0)));
    return uop2(s->ir, OP_EQ, uop2(s->ir, OP_MIN, i, number(s, last)), count_along(s, s->axis, DT_I64));
}

/* Sums of 16-bit floats are rounded once. */
static const uop *sums(struct dense *s, const uop *index, const uop *add) {
    enum dtype dt = (enum dtype)add->dt, in = dtype_info[dt].bytes == 2 && dt_is_float(dt) ? DT_F32 : dt;
    const uop *x = of_elements(s, uop_cast(s->ir, add, in));
    x = combined(s, OP_ADD, select(s, hits(s, index), x, uop_identity(s->ir, OP_ADD, in)));
    return uop_cast(s->ir, x, dt);
}

const uop *scatter_dense(struct ir *ir, struct shapes *sh, const uop *const src[3], int64_t axis) {
    const struct shape *x = shape_of(sh, src[0]), *i = shape_of(sh, src[1]);
    const uop *pad[2 + 3 * SHAPE_MAX];
    struct dense s;
    if (src[2]->dt == DT_BOOL || !dense_of(ir, sh, src[1], (uint32_t)axis, x->d[axis], &s)) return NULL;
    const uop *r = pad[0] = sums(&s, src[1], src[2]);
    pad[1] = uop_identity(ir, OP_ADD, (enum dtype)r->dt);
    bool smaller = false;
    for (uint32_t k = 0; k < x->n; k++) {
        int64_t more = k == axis ? 0 : x->d[k] - i->d[k];
        pad[2 + 3 * k] = uop_idx(ir, 0), pad[3 + 3 * k] = uop_idx(ir, more), pad[4 + 3 * k] = uop_idx(ir, 0);
        smaller |= more > 0;
    }
    if (smaller) r = uop_mk(ir, OP_PAD, pad, 2 + 3 * x->n, ARG_NONE);
    return graph_is_zero(src[0]) ? r : uop2(ir, OP_ADD, src[0], r);
}

/* Pieces of w elements as w rows: (.., n * w) as (.., w, n), and the other way round. */
static const uop *rows_of_pieces(struct ir *ir, struct shapes *sh, const uop *x, int64_t w, bool back) {
    const struct shape *s = shape_of(sh, x);
    const uop *src[1 + SHAPE_MAX] = {NULL};
    int64_t d[SHAPE_MAX];
    uint32_t last = s->n - 1;
    memcpy(d, s->d, sizeof d);
    if (!back) d[last + 1] = w, d[last] /= w, x = graph_shaped(ir, OP_RESHAPE, x, d, last + 2);
    uint32_t n = back ? s->n : s->n + 1;
    src[0] = x;
    for (uint32_t i = 0; i < n; i++) src[1 + i] = uop_idx(ir, i + 2 == n ? n - 1 : i + 1 == n ? n - 2 : i);
    x = uop_mk(ir, OP_PERMUTE, src, 1 + n, ARG_NONE);
    if (back) d[last - 1] *= d[last], x = graph_shaped(ir, OP_RESHAPE, x, d, last);
    return x;
}

static const uop *dense_pieces(struct ir *ir, struct shapes *sh, enum call_id id, enum dtype dt,
                               const uop *const *src) {
    struct scatter_how how = scatter_unpack(src[3]->arg.i);
    const struct shape *s = shape_of(sh, src[1]);
    int64_t d[SHAPE_MAX];
    if (s->n + 2 > SHAPE_MAX) return NULL;
    memcpy(d, s->d, sizeof d);
    d[s->n] = d[s->n - 1], d[s->n - 1] = 1;
    const uop *index = graph_shaped(ir, OP_RESHAPE, src[1], d, s->n + 1);
    d[s->n - 1] = how.width;
    const uop *row[4] = {rows_of_pieces(ir, sh, src[0], how.width, false),
                         graph_shaped(ir, OP_EXPAND, index, d, s->n + 1),
                         rows_of_pieces(ir, sh, src[2], how.width, false),
                         uop_idx(ir, scatter_pack((struct scatter_how){.width = 1, .forget = how.forget}))};
    const uop *r = scatter_call_dense(ir, sh, id, dt, row);
    return r ? rows_of_pieces(ir, sh, r, how.width, true) : NULL;
}

const uop *scatter_call_dense(struct ir *ir, struct shapes *sh, enum call_id id, enum dtype dt,
                              const uop *const *src) {
    static const enum op op[CALL_COUNT] = {
        [CALL_scatter_max] = OP_MAX, [CALL_scatter_min] = OP_MIN, [CALL_scatter_prod] = OP_MUL};
    bool winner = id == CALL_winner;
    if (!winner && (!op[id] || dt == DT_BOOL)) return NULL;
    if (!winner && scatter_unpack(src[3]->arg.i).width > 1) return dense_pieces(ir, sh, id, dt, src);
    const uop *index = src[winner ? 0 : 1];
    const struct shape *to = winner ? NULL : shape_of(sh, src[0]);
    struct dense s;
    uint32_t last = shape_of(sh, index)->n - 1;
    if (!dense_of(ir, sh, index, last, winner ? src[1]->arg.i : to->d[last], &s)) return NULL;
    const uop *ask = hits(&s, index);
    if (winner) {
        const uop *at = count_along(&s, last + 1, dt);
        return combined(&s, OP_MAX, select(&s, ask, at, uop_int(ir, dt, -1)));
    }
    const uop *r = select(&s, ask, of_elements(&s, src[2]), uop_identity(ir, op[id], dt));
    r = combined(&s, op[id], r);
    const uop *both = uop2(ir, op[id], src[0], r);
    if (!src[3]->arg.i) return both;
    const uop *one = uop_int(ir, DT_I32, 1), *none = uop_int(ir, DT_I32, 0);
    const uop *hit = combined(&s, OP_MAX, select(&s, ask, number(&s, one), none));
    hit = uop_cast(ir, hit, DT_BOOL);
    return uop_mk(ir, OP_WHERE, (const uop *[]){hit, r, src[0]}, 3, ARG_NONE);
}
