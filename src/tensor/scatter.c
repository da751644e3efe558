/* scatter.c: writing and combining at indices held by an integer tensor; selection by a mask.
 *
 * Writing is inverted: the device says for each element of the result which source wrote it last (CALL[winner]); the rest is a
 * gather and a WHERE, so that gradients come from the rules: to the source that won, and to x where none wrote.
 * A mask selects by the indices of its true elements (CALL[nonzero]) and a gather.
 * Sums and means are additions (SCATTER). Maximum, minimum and product are functions of the device; what flows back through
 * them is a sum of the operands with weights that do not depend on them (GRAD_THROUGH). For maximum and minimum the weights
 * are steps, so gradients of gradients are right; those of products are not defined here.
 * Tests: tests/values/index.txt, tests/unit/index.c */
#include "tensor/internal.h"

/* An operation along the last axis: x, index and src as rows, each with the others' leading sizes cut to the index's. */
struct scatter_rows {
    struct tg *g;
    const uop *whole, *x, *index, *src; /* whole: x before it was cut; src may be NULL */
    uint32_t at, rank;
    int64_t size;
    const uop
        *narrow; /* of what is not transposed: the index before it was broadcast along the axes behind it */
};

static const uop *cut(struct tg *g, const uop *x, const struct shape *to, bool last) {
    const uop *box[3 * SHAPE_MAX];
    const struct shape *s = tg_shape(g, x);
    for (uint32_t i = 0; i < s->n; i++) {
        box[3 * i] = uop_idx(g->ir, 0), box[3 * i + 2] = uop_idx(g->ir, 1);
        box[3 * i + 1] = uop_idx(g->ir, i + 1 < s->n || last ? to->d[i] : s->d[i]);
    }
    return tg_box(g, x, box);
}

static struct scatter_rows rows_of(struct tg *g, const char *what, const uop *x, int64_t axis,
                                   const uop *index, const uop *src) {
    struct scatter_rows r = {.g = g, .at = tg_index_check(g, what, x, axis, index)};
    const struct shape *s = tg_shape(g, x), *i = tg_shape(g, index), *v = src ? tg_shape(g, src) : i;
    bool fits = v->n == i->n || !v->n;
    for (uint32_t k = 0; fits && k < v->n; k++) fits = v->d[k] >= i->d[k];
    if (!fits)
        tg_bad(g, "%s of %s with an index of %s: each number of the index needs a value", what,
               tg_dims(g, src), tg_dims(g, index));
    if (src && t_promote((enum dtype)x->dt, (enum dtype)src->dt) != (enum dtype)x->dt)
        tg_bad(g, "%s of %s to %s would lose digits; cast one of them", what, tg_dt(src), tg_dt(x));
    r.rank = s->n, r.size = s->d[r.at];
    r.index = t_cast(g, t_transpose(g, index, r.at, -1), DT_I64);
    r.whole = t_transpose(g, x, r.at, -1);
    r.x = cut(g, r.whole, tg_shape(g, r.index), false);
    if (src) src = t_cast(g, src, (enum dtype)x->dt);
    r.src = src && v->n ? cut(g, t_transpose(g, src, r.at, -1), tg_shape(g, r.index), true) : src;
    return r;
}

static const uop *call(struct tg *g, const char *name, enum dtype dt, const uop *const *v, uint32_t n,
                       int64_t num) {
    const uop *src[4];
    union arg arg = {.u = ir_sym(g->ir, name, strlen(name))};
    memcpy(src, v, n * sizeof *v);
    tg_no_f8(g, OP_CALL, v[0]);
    src[n] = uop_idx(g->ir, num);
    return uop_new(g->ir, OP_CALL, dt, 1, src, n + 1, arg);
}

static const uop *winner(struct tg *g, const uop *index, int64_t size) {
    const struct shape *s = tg_shape(g, index);
    return call(g, "winner", s->d[s->n - 1] <= INT32_MAX ? DT_I32 : DT_I64, &index, 1, size);
}

/* Rows cut to the index's as rows of x again, with `fill` where they were not. */
static const uop *grown(const struct scatter_rows *r, const uop *x, double fill) {
    int64_t num[3 * SHAPE_MAX] = {0};
    const struct shape *s = tg_shape(r->g, x), *to = tg_shape(r->g, r->whole);
    for (uint32_t i = 0; i + 1 < s->n; i++) num[3 * i + 1] = to->d[i] - s->d[i];
    return tg_pad_node(r->g, x, tg_like(r->g, x, fill), num);
}

static const uop *not_below(struct tg *g, const uop *x, double k) {
    return tg_op2(g, OP_LE, tg_like(g, x, k), x);
}

/* x for an empty index: nothing of src is written, and gradients of 0 flow to it. */
static const uop *unwritten(const struct scatter_rows *r, const uop *x) {
    return r->src && tg_shape(r->g, r->src)->n ? t_reaches(r->g, x, r->src) : x;
}

const uop *t_scatter(struct tg *g, const uop *x, int64_t axis, const uop *index, const uop *src) {
    x = tg_value(g, x), index = tg_value(g, index), src = tg_value(g, src);
    if (x->dt == DT_BOOL && src->op == OP_CONST) src = tg_bool(g, src);
    struct scatter_rows r = rows_of(g, "scatter", x, axis, index, src);
    if (!shape_size(tg_shape(g, index))) return unwritten(&r, x);
    const uop *w = winner(g, r.index, r.size), *v = r.src;
    if (tg_shape(g, v)->n) v = grown(&r, t_gather(g, v, -1, tg_op_k(g, OP_MAX, w, 0)), 0);
    return t_transpose(g, t_where(g, not_below(g, grown(&r, w, -1), 0), v, r.whole), r.at, -1);
}

/* ---- combining ----------------------------------------------------------------------------------------------------- */

static uint32_t axis_of(const struct scatter_rows *r) { return r->narrow ? r->at : r->rank - 1; }

static const uop *scatter_node(const struct scatter_rows *r, const uop *x, const uop *add) {
    tg_no_f8(r->g, OP_SCATTER, x);
    return uop_new(r->g->ir, OP_SCATTER, (enum dtype)x->dt, 1, (const uop *[]){x, r->index, add}, 3,
                   ARG_INT(axis_of(r)));
}

static const uop *spread(struct tg *g, const uop *number, const uop *like) {
    return tg_to_shape(g, number, tg_shape(g, like));
}

/* How many of the elements that `which` (bools, or NULL for all) marks go to each index, in dtype dt. */
static const uop *counted(const struct scatter_rows *r, const uop *which, enum dtype dt) {
    struct tg *g = r->g;
    const uop *ones = which ? t_cast(g, which, dt) : spread(g, t_number(g, dt, 1), r->index);
    return scatter_node(r, spread(g, t_number(g, dt, 0), r->x), ones);
}

static const uop *at_index(const struct scatter_rows *r, const uop *x) {
    return t_gather(r->g, x, axis_of(r), r->index);
}

/* Weights of x and of src in the greatest or least: equal ones share. */
static void extreme_weights(const struct scatter_rows *r, const uop *y, const uop *hit, const uop **wx,
                            const uop **ws) {
    struct tg *g = r->g;
    enum dtype dt = (enum dtype)y->dt;
    const uop *self = tg_op2(g, OP_EQ, r->x, y), *other = tg_op2(g, OP_EQ, r->src, at_index(r, y));
    if (hit) self = tg_op2(g, OP_AND, self, tg_op1(g, OP_NOT, hit));
    self = t_cast(g, self, dt);
    const uop *n = tg_op2(g, OP_ADD, counted(r, other, dt), self);
    const uop *share = tg_op1(g, OP_RECIP, tg_op_k(g, OP_MAX, n, 1));
    *wx = tg_op2(g, OP_MUL, self, share);
    *ws = tg_op2(g, OP_MUL, t_cast(g, other, dt), at_index(r, share));
}

/* In a product the weight of each factor is the product of the others, also where one of them is 0. */
static void product_weights(const struct scatter_rows *r, const uop *y, const uop *hit, const uop **wx,
                            const uop **ws) {
    struct tg *g = r->g;
    enum dtype dt = (enum dtype)y->dt;
    const uop *one = t_number(g, dt, 1), *none = t_number(g, dt, 0), *zero = tg_op_k(g, OP_EQ, r->src, 0);
    const uop *rest = tg_op3(g, OP_WHERE, zero, one, r->src), *ones = spread(g, one, r->x);
    const uop *others = call(g, "scatter_prod", dt, (const uop *[]){ones, r->index, r->src}, 3, 0);
    const uop *masked = call(g, "scatter_prod", dt, (const uop *[]){r->x, r->index, rest}, 3, hit != NULL);
    const uop *single = tg_op_k(g, OP_EQ, at_index(r, counted(r, zero, DT_I32)), 1);
    *wx = hit ? tg_op3(g, OP_WHERE, hit, none, others) : others;
    *ws = tg_op3(g, OP_WHERE, zero, tg_op3(g, OP_WHERE, single, at_index(r, masked), none),
                 tg_op2(g, OP_FDIV, at_index(r, y), rest));
}

/* The function of the device, of rows; or of pieces as long as the axes behind the axis. */
static const uop *combined(const struct scatter_rows *r, const char *name, bool exclude) {
    struct tg *g = r->g;
    struct scatter_how how = {.width = 1, .forget = exclude};
    const uop *v[3] = {r->x, r->index, r->src};
    if (r->narrow) {
        v[1] = r->narrow;
        for (uint32_t i = r->at + 1; i < r->rank; i++) how.width *= tg_shape(g, r->x)->d[i];
        for (int i = 0; i < 3; i++) v[i] = t_flatten(g, v[i], r->at, -1);
    }
    const uop *y = call(g, name, (enum dtype)r->x->dt, v, 3, scatter_pack(how));
    return r->narrow ? t_reshape(g, y, tg_shape(g, r->x)->d, r->rank) : y;
}

static const uop *by_function(const struct scatter_rows *r, enum t_combine how, bool exclude) {
    static const char *const name[] = {
        [T_COMBINE_PROD] = "scatter_prod", [T_COMBINE_MAX] = "scatter_max", [T_COMBINE_MIN] = "scatter_min"};
    struct tg *g = r->g;
    const uop *y = combined(r, name[how], exclude);
    if (dt_is_float((enum dtype)y->dt)) {
        const uop *hit = exclude ? not_below(g, counted(r, NULL, DT_I32), 1) : NULL, *wx, *ws;
        (how == T_COMBINE_PROD ? product_weights : extreme_weights)(r, y, hit, &wx, &ws);
        const uop *put = tg_op2(g, OP_MUL, r->src, t_detach(g, ws));
        y = t_grad_through(g, y, scatter_node(r, tg_op2(g, OP_MUL, r->x, t_detach(g, wx)), put));
    }
    if (tg_shape(g, r->x) == tg_shape(g, r->whole)) return y;
    const uop *inside = grown(r, spread(g, uop_int(g->ir, DT_BOOL, 1), y), 0);
    return t_where(g, inside, grown(r, y, 0), r->whole);
}

/* The index before it was broadcast along other axes than `at`, if it covers them in x: an axis of size 1 for each. */
static const uop *not_broadcast(struct tg *g, const uop *index, uint32_t at, const struct shape *x) {
    const struct shape *s = tg_shape(g, index), *from;
    if (index->op != OP_EXPAND) return index;
    from = tg_shape(g, index->src[0]);
    bool covers = from->d[at] == s->d[at];
    for (uint32_t i = 0; i < s->n && covers; i++)
        covers = i == at || from->d[i] == s->d[i] || s->d[i] == x->d[i];
    return covers ? index->src[0] : index;
}

/* How many elements of the index name each element of x: counted once for those that it was broadcast to. */
static const uop *arrivals(struct tg *g, const uop *x, uint32_t at, const uop *index) {
    const struct shape *s = tg_shape(g, x);
    const uop *one = not_broadcast(g, index, at, s);
    int64_t d[SHAPE_MAX];
    for (uint32_t i = 0; i < s->n; i++)
        d[i] = one != index && tg_shape(g, one)->d[i] == 1 && i != at ? 1 : s->d[i];
    const uop *none = tg_to_shape(g, t_number(g, DT_I32, 0), shape_make(&g->shapes, d, s->n));
    return spread(g, t_scatter_add(g, none, at, one, spread(g, t_number(g, DT_I32, 1), one)), x);
}

/* Along the axis as it lies: what is added to rows stays rows. */
static const uop *by_addition(struct tg *g, const uop *x, uint32_t at, const uop *index, const uop *src,
                              bool mean, bool exclude) {
    const uop *n = mean || exclude ? arrivals(g, x, at, index) : NULL, *from = x;
    if (exclude) from = t_where(g, not_below(g, n, 1), tg_like(g, from, 0), from);
    const uop *sum = t_scatter_add(g, from, at, index, src);
    if (!mean) return sum;
    n = exclude ? tg_op_k(g, OP_MAX, n, 1) : tg_op_k(g, OP_ADD, n, 1);
    n = t_cast(g, n, (enum dtype)sum->dt);
    return dt_is_float((enum dtype)sum->dt) ? t_div(g, sum, n) : t_floordiv(g, sum, n);
}

/* Rows where they lie, if all elements behind the axis go with the same index: that is stored once for them. */
static bool lies_in_rows(struct scatter_rows *r, const uop *x, const uop *index, const uop *src) {
    struct tg *g = r->g;
    const struct shape *s = tg_shape(g, x), *i = tg_shape(g, index);
    const uop *one = not_broadcast(g, index, r->at, s);
    int64_t d[SHAPE_MAX], width = 1;
    for (uint32_t k = 0; k < s->n; k++) {
        d[k] = k > r->at ? 1 : i->d[k];
        if (k != r->at && i->d[k] != s->d[k]) return false;
        if (k > r->at && tg_shape(g, one)->d[k] != 1) return false;
        if (k > r->at) width *= s->d[k];
    }
    if (one == index || width == 1) return false;
    r->narrow = tg_to_shape(g, t_cast(g, one, DT_I64), shape_make(&g->shapes, d, s->n));
    r->whole = r->x = x, r->index = t_cast(g, index, DT_I64);
    r->src = cut(g, t_cast(g, src, (enum dtype)x->dt), i, true);
    return true;
}

const uop *t_scatter_reduce(struct tg *g, const uop *x, int64_t axis, const uop *index, const uop *src,
                            enum t_combine how, bool exclude) {
    x = tg_value(g, x), index = tg_value(g, index), src = tg_value(g, src);
    struct scatter_rows r = rows_of(g, "scatter_reduce", x, axis, index, src);
    if (!tg_shape(g, src)->n) tg_bad(g, "scatter_reduce of a single number; expected a value for each index");
    if (!shape_size(tg_shape(g, index))) return unwritten(&r, x);
    bool extreme = how == T_COMBINE_MAX || how == T_COMBINE_MIN;
    if (extreme && lies_in_rows(&r, x, index, src)) return by_function(&r, how, exclude);
    if (extreme || how == T_COMBINE_PROD) return t_transpose(g, by_function(&r, how, exclude), r.at, -1);
    return by_addition(g, x, r.at, index, src, how == T_COMBINE_MEAN, exclude);
}

/* ---- by a mask ------------------------------------------------------------------------------------------------------- */

/* For each of the `size` results the index of the element of the flat mask that goes there, or -1. */
static const uop *picked(struct tg *g, const uop *mask, int64_t size, bool wide) {
    if (size < 0 || size >= UINT32_MAX)
        tg_bad(g, "room for %lld elements; expected 0 to 2^32 - 2", (long long)size);
    wide |= tg_shape(g, mask)->d[0] > INT32_MAX;
    return call(g, "nonzero", wide ? DT_I64 : DT_I32, &mask, 1, size);
}

const uop *t_masked_select(struct tg *g, const uop *x, const uop *mask, int64_t size) {
    const uop *v[2] = {tg_value(g, x), mask};
    if (mask->dt != DT_BOOL) tg_bad(g, "a mask of dtype %s; expected bool (compare it)", tg_dt(mask));
    tg_broadcast(g, v, 2);
    const struct shape *s = tg_shape(g, tg_shape(g, v[0])->n ? v[0] : v[1]);
    v[0] = t_flatten(g, tg_to_shape(g, v[0], s), 0, -1), v[1] = t_flatten(g, tg_to_shape(g, v[1], s), 0, -1);
    if (size == 0 || (!shape_size(s) && size > 0))
        return t_reaches(g, t_full(g, tg_like(g, v[0], 0), &size, 1), v[0]);
    const uop *w = picked(g, v[1], size, false);
    return t_where(g, not_below(g, w, 0), t_gather(g, v[0], 0, tg_op_k(g, OP_MAX, w, 0)),
                   tg_like(g, v[0], 0));
}

const uop *t_nonzero(struct tg *g, const uop *x, int64_t size) {
    const uop *mask = tg_bool(g, x), *column[SHAPE_MAX];
    const struct shape *s = tg_shape(g, mask);
    if (!s->n || !shape_size(s) || !size)
        return t_full(g, t_int(g, DT_I64, -1), (int64_t[]){RG_MAX(size, 0), s->n}, 2);
    const uop *w = picked(g, t_flatten(g, mask, 0, -1), size, s->n == 1), *at = w;
    enum dtype dt = (enum dtype)w->dt;
    if (s->n == 1) return t_unsqueeze(g, w, 1);
    for (uint32_t i = s->n; i-- > 0;) {
        const uop *n = uop_int(g->ir, dt, s->d[i]), *c = i ? tg_op2(g, OP_MOD, at, n) : at;
        column[i] = t_cast(g, tg_op3(g, OP_WHERE, not_below(g, w, 0), c, uop_int(g->ir, dt, -1)), DT_I64);
        at = tg_op2(g, OP_IDIV, at, n);
    }
    return t_stack(g, column, s->n, 1);
}
