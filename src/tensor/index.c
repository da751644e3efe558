/* index.c: gather, take, scatter_add: reading and adding at indices held by an integer tensor.
 *
 * GATHER and SCATTER take an index of the source's rank; take() brings any index into that form by movement. Indices
 * are 0 or more: one out of range is an error on REF, and clamped elsewhere (docs/semantics.md).
 * Tests: tests/unit/tensor.c, tests/unit/tensor_errors.c */
#include "tensor/internal.h"

static const uop *index_check(struct tg *g, const uop *index) {
    index = tg_value(g, index);
    if (!dt_is_int((enum dtype)index->dt))
        tg_bad(g, "an index of dtype %s; expected integers (cast it)", tg_dt(index));
    return index;
}

/* torch.gather's rule for shapes; returns the axis. */
static uint32_t gather_axis(struct tg *g, const char *what, const uop *x, int64_t axis, const uop *index) {
    const struct shape *s = tg_shape(g, x), *i = tg_shape(g, index);
    uint32_t at = tg_axis(g, x, axis);
    bool fits = s->n == i->n;
    for (uint32_t k = 0; fits && k < s->n; k++) fits = k == at || i->d[k] <= s->d[k];
    if (!fits)
        tg_bad(g,
               "%s on axis %u of %s with an index of %s: expected the same number of axes, and no size above "
               "the "
               "tensor's but on axis %u",
               what, at, tg_dims(g, x), tg_dims(g, index), at);
    if (!s->d[at] && shape_size(i))
        tg_bad(g, "%s on axis %u of %s: nothing is there to be named", what, at, tg_dims(g, x));
    return at;
}

uint32_t tg_index_check(struct tg *g, const char *what, const uop *x, int64_t axis, const uop *index) {
    return gather_axis(g, what, x, axis, index_check(g, index));
}

const uop *t_gather(struct tg *g, const uop *x, int64_t axis, const uop *index) {
    x = tg_value(g, x), index = index_check(g, index);
    uint32_t at = gather_axis(g, "gather", x, axis, index);
    return uop_new(g->ir, OP_GATHER, (enum dtype)x->dt, 1, (const uop *[]){x, index}, 2, ARG_INT(at));
}

const uop *t_take(struct tg *g, const uop *x, int64_t axis, const uop *index) {
    x = tg_value(g, x), index = index_check(g, index);
    const struct shape *s = tg_shape(g, x), *i = tg_shape(g, index);
    uint32_t at = tg_axis(g, x, axis), n = 0;
    int64_t d[SHAPE_MAX], flat[SHAPE_MAX], out[2 * SHAPE_MAX];
    for (uint32_t k = 0; k < s->n; k++) {
        flat[k] = k == at ? shape_size(i) : 1;
        d[k] = k == at ? flat[k] : s->d[k];
        if (k != at) out[n++] = s->d[k];
        for (uint32_t j = 0; k == at && j < i->n; j++) out[n++] = i->d[j];
    }
    tg_rank(g, n);
    index = tg_to_shape(g, tg_reshape(g, index, shape_make(&g->shapes, flat, s->n)),
                        shape_make(&g->shapes, d, s->n));
    return tg_reshape(g, t_gather(g, x, at, index), shape_make(&g->shapes, out, n));
}

/* src may be larger than the index, as in PyTorch: the rest is ignored. */
const uop *t_scatter_add(struct tg *g, const uop *x, int64_t axis, const uop *index, const uop *src) {
    x = tg_value(g, x), index = index_check(g, index), src = tg_value(g, src);
    uint32_t at = gather_axis(g, "scatter_add", x, axis, index);
    const struct shape *i = tg_shape(g, index), *s = tg_shape(g, src);
    const uop *box[3 * SHAPE_MAX];
    bool fits = s->n == i->n;
    for (uint32_t k = 0; fits && k < i->n; k++) {
        fits = s->d[k] >= i->d[k];
        box[3 * k] = uop_idx(g->ir, 0), box[3 * k + 1] = uop_idx(g->ir, i->d[k]),
                box[3 * k + 2] = uop_idx(g->ir, 1);
    }
    if (!fits)
        tg_bad(g, "scatter_add of %s with an index of %s: each number of the index needs something to add",
               tg_dims(g, src), tg_dims(g, index));
    if (t_promote((enum dtype)x->dt, (enum dtype)src->dt) != (enum dtype)x->dt)
        tg_bad(g, "scatter_add of %s to %s would lose digits; cast one of them", tg_dt(src), tg_dt(x));
    const uop *add = tg_box(g, t_cast(g, src, (enum dtype)x->dt), box);
    tg_no_f8(g, OP_SCATTER, x);
    return uop_new(g->ir, OP_SCATTER, (enum dtype)x->dt, 1, (const uop *[]){x, index, add}, 3, ARG_INT(at));
}

const uop *t_embedding(struct tg *g, const uop *index, const uop *weight) {
    if (tg_shape(g, weight)->n != 2)
        tg_bad(g, "an embedding with a weight of %s; expected (rows, size)", tg_dims(g, weight));
    return t_take(g, weight, 0, index);
}

/* A comparison with 0, 1, 2 ..: an index out of range is a row of zeros. */
const uop *t_one_hot(struct tg *g, const uop *index, int64_t classes) {
    index = index_check(g, index);
    uint32_t rank = tg_shape(g, index)->n + 1;
    if (classes < 0) tg_bad(g, "%lld classes; expected 0 or more", (long long)classes);
    tg_rank(g, rank);
    const uop *v[2] = {t_unsqueeze(g, index, -1), tg_iota(g, classes, rank, rank - 1)};
    bool narrow = dtype_info[index->dt].bytes < 4 || index->dt == DT_I32;
    enum dtype dt = narrow && v[1]->dt == DT_I32 ? DT_I32 : DT_I64;
    v[0] = t_cast(g, v[0], dt), v[1] = t_cast(g, v[1], dt);
    tg_broadcast(g, v, 2);
    return t_cast(g, tg_op2(g, OP_EQ, v[0], v[1]), DT_I64);
}
