/* plan_copy_once.c: what is the same along an axis is reduced once. Rows that are all alike times a matrix, as the gradient of a sum
 * has them (ones @ w), are one row, expanded: without this each would be computed, or one and stored by a block for each column.
 * Requires: our copies, sources before their users. Gives: the sum with axes of size 1, which the caller expands.
 * Tests: tests/unit/schedule_cases.c (schedule_sums_alike_rows_once) */
#include "schedule/plan_copy.h"

enum {
    LEAST_CPU = 1 << 14, /* terms that are not added again; a second kernel must be worth its launch */
    LEAST_GPU = 1 << 20,
    MOST_NODES = 256 /* that are written anew for a sum */
};

/* Axes of the groups of a RESHAPE, from or to: a group's sizes have one product on both sides. part[i] of `to`: bits of its group in
 * `from`. False: a size is 0. */
static bool reshape_groups(const struct shape *from, const struct shape *to, uint32_t *part) {
    uint32_t i = 0, k = 0;
    while (i < from->n || k < to->n) {
        uint32_t first = k, bits = 0;
        int64_t a = 1, b = 1;
        do {
            bool left = i < from->n && (a <= b || k >= to->n);
            int64_t d = left ? from->d[i] : to->d[k];
            if (!d) return false;
            if (left)
                bits |= 1u << i++, a *= d;
            else
                k++, b *= d;
        } while (a != b);
        for (uint32_t j = first; j < k; j++) part[j] = bits;
    }
    return true;
}

/* Axes longer than 1. */
static uint32_t long_axes(const struct shape *s) {
    uint32_t m = 0;
    for (uint32_t i = 0; i < s->n; i++) m |= (uint32_t)(s->d[i] > 1) << i;
    return m;
}

static uint32_t same_of_reshape(struct copy *c, const uop *n) {
    const struct shape *from = sg_shape(c->g, n->src[0]), *to = sg_shape(c->g, n);
    uint32_t part[SHAPE_MAX], m = 0, varies = long_axes(from) & ~(uint32_t)c->same[n->src[0]->id];
    if (!reshape_groups(from, to, part)) return 0;
    for (uint32_t i = 0; i < to->n; i++)
        if (to->d[i] > 1 && !(part[i] & varies)) m |= 1u << i;
    return m;
}

/* Does a PAD leave this axis as it is? */
static bool is_padded(const uop *pad, uint32_t axis) {
    for (uint32_t i = 0; i < 3; i++)
        if (pad->src[2 + 3 * axis + i]->arg.i) return true;
    return false;
}

/* Of axes of a PERMUTE's result, those of its source. */
static uint32_t permuted(const uop *n, uint32_t m) {
    uint32_t of = 0;
    for (uint32_t i = 0; i + 1 < n->nsrc; i++)
        if (m >> i & 1) of |= 1u << n->src[1 + i]->arg.i;
    return of;
}

static uint32_t same_of_view(struct copy *c, const uop *n) {
    uint32_t m = 0, in = c->same[n->src[0]->id];
    const struct shape *from = sg_shape(c->g, n->src[0]), *s = sg_shape(c->g, n);
    if (n->op == OP_RESHAPE) return same_of_reshape(c, n);
    if (n->op == OP_UNFOLD || n->op == OP_FOLD) return 0;
    for (uint32_t i = 0; i < s->n; i++) {
        bool same = in >> i & 1;
        if (n->op == OP_PERMUTE) same = in >> n->src[1 + i]->arg.i & 1;
        if (n->op == OP_EXPAND) same |= from->d[i] == 1;
        if (n->op == OP_PAD) same &= !is_padded(n, i);
        m |= (uint32_t)(same && s->d[i] > 1) << i;
    }
    return m;
}

/* Axes longer than 1 along which all elements of n are equal, as far as its views and elementwise ops show. */
static uint32_t same_of(struct copy *c, const uop *n) {
    if (op_is_movement((enum op)n->op)) return same_of_view(c, n);
    if (!op_is_pure((enum op)n->op) || !n->nsrc) return 0;
    uint32_t m = long_axes(sg_shape(c->g, n));
    for (uint32_t i = 0; i < n->nsrc; i++)
        if (sg_shape(c->g, n->src[i])->n) m &= c->same[n->src[i]->id];
    return m;
}

static uint32_t same_axes(struct copy *c, const uop *n) {
    if (n->id >= c->sames) {
        uint32_t cap = RG_MAX(n->id + 1, 2 * c->sames + 64);
        c->same = arena_resize(c->g->a, c->same, c->sames * sizeof *c->same, cap * sizeof *c->same);
        c->sames = cap;
    }
    for (; c->known <= n->id; c->known++) c->same[c->known] = (uint16_t)same_of(c, c->g->ir->node[c->known]);
    return c->same[n->id];
}

struct narrowing {
    struct copy *c;
    uint32_t nodes;
};

/* Element 0 along the axes of m, as a view. */
static const uop *first_of(struct narrowing *w, const uop *n, uint32_t m) {
    for (uint32_t i = 0; m >> i; i++)
        if (m >> i & 1) n = graph_slice(w->c->g->ir, &w->c->g->shapes, n, i, 0, 1);
    return n;
}

static const uop *narrow(struct narrowing *w, const uop *n, uint32_t m);

static const uop *narrow_expand(struct narrowing *w, const uop *n, uint32_t m) {
    const struct shape *from = sg_shape(w->c->g, n->src[0]), *s = sg_shape(w->c->g, n);
    int64_t d[SHAPE_MAX];
    for (uint32_t i = 0; i < s->n; i++) d[i] = m >> i & 1 ? 1 : s->d[i];
    const uop *x = narrow(w, n->src[0], m & long_axes(from));
    bool same = !memcmp(sg_shape(w->c->g, x)->d, d, s->n * sizeof *d);
    return same ? x : graph_shaped(w->c->g->ir, OP_EXPAND, x, d, s->n);
}

static const uop *narrow_reshape(struct narrowing *w, const uop *n, uint32_t m) {
    const struct shape *from = sg_shape(w->c->g, n->src[0]), *s = sg_shape(w->c->g, n);
    uint32_t part[SHAPE_MAX], in = 0, left = 0;
    int64_t d[SHAPE_MAX];
    if (!reshape_groups(from, s, part)) return first_of(w, n, m);
    for (uint32_t i = 0; i < s->n; i++) {
        bool once = m >> i & 1;
        in |= once ? part[i] : 0;
        left |= !once && s->d[i] > 1 ? part[i] : 0;
        d[i] = once ? 1 : s->d[i];
    }
    if (in & left & long_axes(from)) return first_of(w, n, m); /* a part of an axis of the source */
    return graph_shaped(w->c->g->ir, OP_RESHAPE, narrow(w, n->src[0], in & long_axes(from)), d, s->n);
}

/* A PERMUTE, FLIP or PAD, or an elementwise op, of narrowed sources. */
static const uop *narrow_sources(struct narrowing *w, const uop *n, uint32_t m) {
    struct sgraph *g = w->c->g;
    const uop **src = arena_array(g->a, const uop *, n->nsrc);
    bool moves = op_is_movement((enum op)n->op);
    memcpy(src, n->src, n->nsrc * sizeof *src);
    for (uint32_t i = 0; i < (moves ? 1 : n->nsrc); i++)
        if (sg_shape(g, src[i])->n) src[i] = narrow(w, src[i], n->op == OP_PERMUTE ? permuted(n, m) : m);
    return uop_new(g->ir, (enum op)n->op, (enum dtype)n->dt, 1, src, n->nsrc, n->arg);
}

static const uop *narrow_new(struct narrowing *w, const uop *n, uint32_t m) {
    if (is_marked(w->c, n, 0xff) || ++w->nodes > MOST_NODES) return first_of(w, n, m);
    switch (n->op) {
    case OP_EXPAND: return narrow_expand(w, n, m);
    case OP_RESHAPE: return narrow_reshape(w, n, m);
    case OP_SHRINK: return first_of(w, n, m);
    default: return narrow_sources(w, n, m);
    }
}

/* n with size 1 along the axes of m, which are among same_axes(n). Written anew down to what was expanded: what is stored on the way is
 * narrow too. What is marked stays as it is. */
static const uop *narrow(struct narrowing *w, const uop *n, uint32_t m) {
    struct uop_memo *done = &w->c->narrowed;
    uint64_t known;
    if (!m) return n;
    if (uop_memo_get(done, n, &known) && known >> 32 == m) return w->c->g->ir->node[(uint32_t)known];
    const uop *x = narrow_new(w, n, m);
    uop_memo_put(done, n, (uint64_t)m << 32 | x->id);
    return x;
}

/* The reduction x of one of each kind of rows, columns .. that are all alike. NULL: there are none, or few. */
const uop *reduced_once(struct copy *c, const uop *x) {
    const uop *src[1 + SHAPE_MAX];
    const struct shape *s = sg_shape(c->g, x->src[0]);
    uint32_t m = same_axes(c, x->src[0]);
    for (uint32_t i = 1; i < x->nsrc; i++) m &= ~(1u << x->src[i]->arg.i);
    double all = (double)shape_size(s), one = all;
    for (uint32_t i = 0; i < s->n; i++)
        if (m >> i & 1) one /= (double)s->d[i];
    if (!m || all - one < (c->g->opts->gpu ? LEAST_GPU : LEAST_CPU)) return NULL;
    struct narrowing w = {.c = c};
    uop_memo_clear(&c->narrowed);
    memcpy(src, x->src, x->nsrc * sizeof *src);
    src[0] = narrow(&w, x->src[0], m);
    return uop_new(c->g->ir, OP_REDUCE_AXES, (enum dtype)x->dt, 1, src, x->nsrc, x->arg);
}
