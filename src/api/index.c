/* index.c: parts of tensors, and picking and placing by index.
 *
 * Functions with several results fill an array; if one of them fails, all are poison, as rg_grad's are.
 * Tests: values in tests/values/index.txt, misuse and counts in tests/unit/index.c */
#include "internal.h"

#pragma GCC diagnostic error "-Wmissing-prototypes"

#define AT const char *file, int line

static uint32_t checked(struct api_call *k, rg_ints list, const char *what) {
    if (list.n > 2 * SHAPE_MAX)
        call_fail(k, RG_ELIMIT, "%zu %s; a tensor has at most %d axes", list.n, what, SHAPE_MAX);
    if (list.n && !list.d) call_fail(k, RG_EINVAL, "the list of %s is NULL", what);
    return (uint32_t)list.n;
}

/* ---- one result ------------------------------------------------------------------------------------------- */

static const uop *b_unflatten(struct api_call *k) {
    return t_unflatten(k->g, k->u[0], k->i[0], k->ints.d, checked(k, k->ints, "sizes"));
}
rg_tensor rg_unflatten_at(AT, rg_tensor x, int64_t axis, rg_ints sizes) {
    return call_tensor(CALL(unflatten, .in = {TENSOR(x)}, .n = 1, .i = {axis}, .ints = sizes, .view = true,
                            .build = b_unflatten));
}

static const uop *b_roll(struct api_call *k) {
    const rg_ints *axes = k->p;
    return t_roll(k->g, k->u[0], k->ints.d, checked(k, k->ints, "shifts"), axes->d,
                  checked(k, *axes, "axes"));
}
rg_tensor rg_roll_at(AT, rg_tensor x, rg_ints shifts, rg_ints axes) {
    return call_tensor(CALL(roll, .in = {TENSOR(x)}, .n = 1, .ints = shifts, .p = &axes, .build = b_roll));
}

static const uop *b_repeat_interleave(struct api_call *k) {
    return t_repeat_interleave(k->g, k->u[0], k->i[0], k->i[1]);
}
rg_tensor rg_repeat_interleave_at(AT, rg_tensor x, int64_t times, int64_t axis) {
    return call_tensor(
        CALL(repeat_interleave, .in = {TENSOR(x)}, .n = 1, .i = {times, axis}, .build = b_repeat_interleave));
}

#define DIAGONAL(name)                                                                          \
    static const uop *b_##name(struct api_call *k) { return t_##name(k->g, k->u[0], k->i[0]); } \
    rg_tensor rg_##name##_at(AT, rg_tensor x, int64_t k) {                                      \
        return call_tensor(CALL(name, .in = {TENSOR(x)}, .n = 1, .i = {k}, .build = b_##name)); \
    }
DIAGONAL(tril)
DIAGONAL(triu)
DIAGONAL(diag)

static const uop *b_diagonal(struct api_call *k) {
    return t_diagonal(k->g, k->u[0], k->i[0], k->i[1], k->i[2]);
}
rg_tensor rg_diagonal_at(AT, rg_tensor x, int64_t k, int64_t a, int64_t b) {
    return call_tensor(
        CALL(diagonal, .in = {TENSOR(x)}, .n = 1, .i = {k, a, b}, .view = true, .build = b_diagonal));
}

static const uop *b_isclose(struct api_call *k) {
    return t_isclose(k->g, k->u[0], k->u[1], k->f[0], k->f[1]);
}
rg_tensor rg_isclose_at(AT, rg_operand x, rg_operand y, double rtol, double atol) {
    return call_tensor(CALL(isclose, .in = {x, y}, .n = 2, .f = {rtol, atol}, .build = b_isclose));
}

/* The mask stands first, so that a number takes its dtype from x. */
static const uop *b_masked_fill(struct api_call *k) { return t_masked_fill(k->g, k->u[1], k->u[0], k->u[2]); }
rg_tensor rg_masked_fill_at(AT, rg_tensor x, rg_tensor mask, rg_operand v) {
    return call_tensor(
        CALL(masked_fill, .in = {TENSOR(mask), TENSOR(x), v}, .n = 3, .values = 1, .build = b_masked_fill));
}

static const uop *b_embedding(struct api_call *k) { return t_embedding(k->g, k->u[0], k->u[1]); }
rg_tensor rg_embedding_at(AT, rg_tensor index, rg_tensor weight) {
    return call_tensor(CALL(embedding, .in = {TENSOR(index), TENSOR(weight)}, .n = 2, .build = b_embedding));
}

static const uop *b_one_hot(struct api_call *k) { return t_one_hot(k->g, k->u[0], k->i[0]); }
rg_tensor rg_one_hot_at(AT, rg_tensor index, int64_t classes) {
    return call_tensor(CALL(one_hot, .in = {TENSOR(index)}, .n = 1, .i = {classes}, .build = b_one_hot));
}

static const uop *b_einsum(struct api_call *k) {
    if (!k->p) call_fail(k, RG_EINVAL, "the formula is NULL");
    return t_einsum(k->g, k->p, k->many, (uint32_t)k->list.n);
}
rg_tensor rg_einsum_at(AT, const char *formula, rg_tensors xs) {
    return call_tensor(CALL(einsum, .list = xs, .p = (void *)formula, .build = b_einsum));
}

/* ---- scattering, masks ------------------------------------------------------------------------------------- */

/* The index stands first, so that a number takes its dtype from x. */
static const uop *b_scatter(struct api_call *k) {
    return t_scatter(k->g, k->u[1], k->i[0], k->u[0], k->u[2]);
}
rg_tensor rg_scatter_at(AT, rg_tensor x, int64_t axis, rg_tensor index, rg_operand src) {
    return call_tensor(CALL(scatter, .in = {TENSOR(index), TENSOR(x), src}, .n = 3, .values = 1, .i = {axis},
                            .build = b_scatter));
}

static const uop *b_scatter_reduce(struct api_call *k) {
    if (k->i[1] < 0 || k->i[1] > T_COMBINE_MIN)
        call_fail(k, RG_EINVAL, "there is no way %lld to combine; use RG_COMBINE_SUM ..", (long long)k->i[1]);
    return t_scatter_reduce(k->g, k->u[0], k->i[0], k->u[1], k->u[2], (enum t_combine)k->i[1], k->i[2] != 0);
}
rg_tensor rg_scatter_reduce_at(AT, rg_tensor x, int64_t axis, rg_tensor index, rg_tensor src,
                               rg_scatter_opts o) {
    return call_tensor(CALL(scatter_reduce, .in = {TENSOR(x), TENSOR(index), TENSOR(src)}, .n = 3,
                            .i = {axis, (int64_t)o.how, o.exclude_self}, .build = b_scatter_reduce));
}

static const uop *b_masked_select(struct api_call *k) {
    return t_masked_select(k->g, k->u[0], k->u[1], k->i[0]);
}
rg_tensor rg_masked_select_at(AT, rg_tensor x, rg_tensor mask, int64_t size) {
    return call_tensor(
        CALL(masked_select, .in = {TENSOR(x), TENSOR(mask)}, .n = 2, .i = {size}, .build = b_masked_select));
}

static const uop *b_nonzero(struct api_call *k) { return t_nonzero(k->g, k->u[0], k->i[0]); }
rg_tensor rg_nonzero_at(AT, rg_tensor x, int64_t size) {
    return call_tensor(CALL(nonzero, .in = {TENSOR(x)}, .n = 1, .i = {size}, .build = b_nonzero));
}

/* ---- sorting -------------------------------------------------------------------------------------------------- */

#define SORT(name)                                                                                \
    static const uop *b_##name(struct api_call *k) {                                              \
        return t_##name(k->g, k->u[0], k->i[0], k->i[1] != 0);                                    \
    }                                                                                             \
    rg_tensor rg_##name##_at(AT, rg_tensor x, int64_t axis, rg_sort_opts o) {                     \
        return call_tensor(                                                                       \
            CALL(name, .in = {TENSOR(x)}, .n = 1, .i = {axis, o.descending}, .build = b_##name)); \
    }
SORT(sort)
SORT(argsort)

#define TOP(name)                                                                                  \
    static const uop *b_##name(struct api_call *k) {                                               \
        return t_##name(k->g, k->u[0], k->i[0], k->i[1], k->i[2] != 0);                            \
    }                                                                                              \
    rg_tensor rg_##name##_at(AT, rg_tensor x, int64_t k, int64_t axis, rg_sort_opts o) {           \
        return call_tensor(                                                                        \
            CALL(name, .in = {TENSOR(x)}, .n = 1, .i = {k, axis, o.smallest}, .build = b_##name)); \
    }
TOP(topk)
TOP(topk_index)

/* ---- several results ---------------------------------------------------------------------------------------- */

struct index_parts {
    rg_tensor *out;
    uint32_t n;
    const uop **node;
};

/* Each node becomes a handle of the caller's array. */
static void give_parts(struct api_call *k, struct index_parts *p, uint32_t first) {
    for (uint32_t i = 0; i < p->n; i++) {
        struct api_slot *s;
        tg_shape(k->g, p->node[i]);
        p->out[i] = slot_new(k->c, p->node[i], false, &s);
        s->file = k->file, s->line = k->line, s->fn = k->fn, s->view = true;
        call_site(k, first, p->node[i]);
    }
}

static void parts_room(struct api_call *k, struct index_parts *p) {
    if (!p->out) call_fail(k, RG_EINVAL, "the array for the results is NULL");
    p->node = arena_array(&k->c->scratch, const uop *, p->n + 1);
}

static rg_status call_parts(struct api_call *k, struct index_parts *p, void (*work)(struct api_call *)) {
    k->p = p;
    rg_status bad = call_work(k, work);
    for (uint32_t i = 0; bad && p->out && i < p->n; i++) p->out[i] = k->c ? poison(k->c) : RG_NONE;
    return bad;
}

static void do_split(struct api_call *k) {
    struct index_parts *p = k->p;
    parts_room(k, p);
    if (k->ints.n && !k->ints.d) call_fail(k, RG_EINVAL, "the list of sizes is NULL");
    const uop *x = call_node(k, 0, DT_COUNT);
    uint32_t first = k->g->ir->n;
    t_split(k->g, x, k->i[0], k->ints.d, p->n, p->node);
    give_parts(k, p, first);
}
rg_status rg_split_at(AT, rg_tensor x, int64_t axis, rg_ints sizes, rg_tensor *out) {
    return call_parts(CALL(split, .in = {TENSOR(x)}, .n = 1, .i = {axis}, .ints = sizes),
                      &(struct index_parts){out, (uint32_t)sizes.n, NULL}, do_split);
}

static void do_chunk(struct api_call *k) {
    struct index_parts *p = k->p;
    if (k->i[1] < 1 || k->i[1] > UINT32_MAX)
        call_fail(k, RG_EINVAL, "%lld parts; expected 1 or more", (long long)k->i[1]);
    int64_t *size = arena_array(&k->c->scratch, int64_t, k->i[1]);
    const struct shape *s = tg_shape(k->g, call_node(k, 0, DT_COUNT));
    int64_t at = k->i[0] < 0 ? k->i[0] + s->n : k->i[0];
    int64_t left = at >= 0 && at < s->n ? s->d[at] : 0, most = left / k->i[1] + (left % k->i[1] != 0);
    for (int64_t i = 0; i < k->i[1]; i++) size[i] = RG_MIN(most, left), left -= size[i];
    k->ints = (rg_ints){size, (size_t)k->i[1]};
    p->n = (uint32_t)k->i[1];
    do_split(k);
}
rg_status rg_chunk_at(AT, rg_tensor x, int64_t axis, int64_t n, rg_tensor *out) {
    return call_parts(CALL(chunk, .in = {TENSOR(x)}, .n = 1, .i = {axis, n}),
                      &(struct index_parts){out, (uint32_t)(n > 0 && n <= UINT32_MAX ? n : 0), NULL},
                      do_chunk);
}

static void do_meshgrid(struct api_call *k) {
    struct index_parts *p = k->p;
    int64_t all[SHAPE_MAX];
    if (k->list.n > SHAPE_MAX)
        call_fail(k, RG_ELIMIT, "a grid of %zu axes; at most %d are supported", k->list.n, SHAPE_MAX);
    if (k->list.n && !k->list.t) call_fail(k, RG_EINVAL, "the list of tensors is NULL");
    parts_room(k, p);
    for (uint32_t i = 0; i < p->n; i++) {
        struct api_slot *s = call_slot(k, k->list.t[i], i);
        const struct shape *sh = tg_shape(k->g, s->node);
        s->used = true;
        p->node[i] = s->node;
        if (sh->n > 1)
            call_fail(k, RG_EINVAL, "tensor %u has %u axes; a grid is made of vectors", i + 1, sh->n);
        all[i] = sh->n ? sh->d[0] : 1;
    }
    uint32_t first = k->g->ir->n;
    for (uint32_t i = 0; i < p->n; i++) {
        int64_t d[SHAPE_MAX];
        for (uint32_t j = 0; j < p->n; j++) d[j] = j == i ? all[i] : 1;
        p->node[i] = t_expand(k->g, t_reshape(k->g, p->node[i], d, p->n), all, p->n);
    }
    give_parts(k, p, first);
}
rg_status rg_meshgrid_at(AT, rg_tensors xs, rg_tensor *out) {
    return call_parts(CALL(meshgrid, .list = xs),
                      &(struct index_parts){out, (uint32_t)RG_MIN(xs.n, SHAPE_MAX), NULL}, do_meshgrid);
}
