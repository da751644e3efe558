/* plan_copy_order.c: values of which the planner's graph has the axes in another order than the caller's: the channels of images last.
 *
 * A 16-bit contraction over channels, of positions that follow each other in memory, reads rows of positions. Rows of 49 or 196 do
 * not begin at multiples of 16 bytes: neither operand nor result is moved by TMA, and copies with padding cost as much as they gain.
 * With the channels last every row is aligned and joins with the next. So what such contractions read, where all contractions that
 * read it sum over the same axis, is computed with that axis last, and elementwise ops of such a value follow it:
 *
 *     relu(x (N, C, H, W))   ->   PERMUTE(relu(PERMUTE(x)) (N, H, W, C))
 *
 * Nothing more is stored: it is the unit that is stored anyway whose axes move, and its readers see a PERMUTE of it.
 * Requires: the caller's program (find_orders), copied sources (copy_in_order). Tests: tests/unit/slow_forms.c, tests/unit/simgpu_conv.c */
#include "schedule/plan_copy.h"

enum {
    ROW_BYTES = 16, /* rows begin at multiples of it */
    CHANNELS = 128, /* .. or have as many channels */
    REFUSED = SHAPE_MAX + 1
};

/* What a factor of a product is a view of, and which of its axes are summed; unknown: views on the way sum a part of an axis, as a
 * head of attention is of the columns of q, k and v. */
struct order_trace {
    bool summed[SHAPE_MAX], window, unknown;
};

/* Axes that are summed through a RESHAPE: those of a group all or none. */
static bool trace_reshape(const struct shape *out, const struct shape *in, const bool *from, bool *to) {
    uint32_t i = 0, j = 0;
    while (i < out->n || j < in->n) {
        while (i < out->n && out->d[i] == 1) i++;
        while (j < in->n && in->d[j] == 1) to[j++] = false;
        uint32_t i0 = i, j0 = j, some = 0, all = 0;
        if (!reshape_group(out, &i, in, &j)) return false;
        for (uint32_t k = i0; k < i; k++) all += out->d[k] > 1, some += out->d[k] > 1 && from[k];
        if (some && some < all) return false;
        while (j0 < j) to[j0++] = some > 0;
    }
    return true;
}

/* One view further down; false: it is not known what it does. */
static bool trace_view(struct shapes *sh, const uop *x, struct order_trace *t) {
    const struct shape *out = shape_of(sh, x), *in = shape_of(sh, x->src[0]);
    bool to[SHAPE_MAX] = {0};
    switch (x->op) {
    case OP_RESHAPE:
        if (!trace_reshape(out, in, t->summed, to)) return false;
        break;
    case OP_PERMUTE:
        for (uint32_t i = 0; i < in->n; i++) to[x->src[1 + i]->arg.i] = t->summed[i];
        break;
    case OP_EXPAND:
        for (uint32_t i = 0; i < in->n; i++) to[i] = in->d[i] > 1 && t->summed[i];
        break;
    case OP_PAD: /* positions keep their axes */
    case OP_UNFOLD:
    case OP_FOLD: t->window = true; return true;
    case OP_SHRINK:
    case OP_FLIP: return true;
    default: return false;
    }
    memcpy(t->summed, to, sizeof to);
    return true;
}

static bool is_half(const uop *x) { return x->dt == DT_F16 || x->dt == DT_BF16; }

/* The 16-bit value that a factor is a view of; NULL: it is another. */
static const uop *trace_factor(struct shapes *sh, const uop *sum, const uop *x, struct order_trace *t) {
    *t = (struct order_trace){0};
    for (uint32_t i = 1; i < sum->nsrc; i++) t->summed[sum->src[i]->arg.i] = true;
    for (;; x = x->src[0]) {
        if (op_is_movement((enum op)x->op)) {
            t->unknown = t->unknown || !trace_view(sh, x, t);
        } else if (!(x->op == OP_CAST && is_half(x->src[0])) && x->op != OP_GRAD_STORED)
            return is_half(x) ? x : NULL;
    }
}

/* The axis of the value that alone is summed, + 1; REFUSED: there is none, or more. */
static uint32_t summed_axis(const struct shape *s, const struct order_trace *t) {
    uint32_t axis = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        if (s->d[i] == 1 || !t->summed[i]) continue;
        if (axis) return REFUSED;
        axis = i + 1;
    }
    return axis ? axis : REFUSED;
}

/* Are rows of positions what a contraction should not read? Few channels of aligned rows may stay. */
static bool is_better_last(const struct shape *s, uint32_t axis, int bytes) {
    int64_t behind = 1, row = ROW_BYTES / bytes;
    for (uint32_t i = axis; i < s->n; i++) behind *= s->d[i];
    return behind > 1 && s->d[axis - 1] % row == 0 && (behind % row || s->d[axis - 1] >= CHANNELS);
}

/* Has the convolution a form that reads and stores positions in rows (tune/choose/gpu_conv.c)? */
static bool is_in_place(struct shapes *sh, const uop *sum, const uop *const base[2],
                        const struct order_trace t[2], uint32_t axis, int image) {
    if (!t[image].window || !base[!image]) return false;
    const struct shape *s = shape_of(sh, sum->src[0]);
    double terms = 1, weights = (double)shape_size(shape_of(sh, base[!image]));
    for (uint32_t i = 1; i < sum->nsrc; i++) terms *= (double)s->d[sum->src[i]->arg.i];
    double channels = (double)shape_of(sh, base[image])->d[axis - 1];
    return channels * weights / terms <= WGMMA_IN_PLACE;
}

static bool is_elementwise(const uop *n) {
    return op_is_pure((enum op)n->op) && !op_is_movement((enum op)n->op) && n->nsrc >= 1 && n->nsrc <= 3;
}

/* A parameter or an input, perhaps of another type: its axes stay. */
static bool is_input(const uop *x) {
    while (x->op == OP_CAST || x->op == OP_GRAD_STORED || op_is_movement((enum op)x->op)) x = x->src[0];
    return x->op == OP_BUFFER;
}

/* What is known of the caller's values: computed element by element from a contraction that they alone read, or from one that stores
 * positions in rows; of their readers. */
enum { EPILOGUE = 1, ROWS = 2, WANTED = 4 };

static void find_wishes(struct copy *c, struct shapes *sh, const uop *n, uint8_t *is) {
    const uop *m = n->src[0], *base[2];
    struct order_trace t[2];
    if (m->op != OP_MUL || !shape_is_outer_product(sh, m)) return;
    is[n->id] |= EPILOGUE;
    /* attention, whose forms want rows of heads */
    bool computed = !is_input(m->src[0]) && !is_input(m->src[1]);
    for (int k = 0; k < 2; k++) {
        base[k] = trace_factor(sh, n, m->src[k], &t[k]);
        if (base[k] && (t[k].unknown || computed)) c->last[base[k]->id] = REFUSED, base[k] = NULL;
    }
    for (int k = 0; k < 2; k++) {
        if (!base[k]) continue;
        const struct shape *s = shape_of(sh, base[k]);
        uint32_t axis = summed_axis(s, &t[k]), id = base[k]->id;
        if (axis != REFUSED && is_in_place(sh, n, base, t, axis, k)) is[n->id] |= ROWS, axis = REFUSED;
        if (axis != REFUSED && is_better_last(s, axis, dtype_info[base[k]->dt].bytes)) is[id] |= WANTED;
        c->last[id] = c->last[id] && c->last[id] != axis ? REFUSED : (uint8_t)axis;
    }
}

void find_orders(struct copy *c, struct ir *from) {
    struct shapes sh;
    const struct sched_opts *o = c->g->opts;
    uint8_t *is = arena_array(c->g->a, uint8_t, from->n);
    c->last = arena_array(c->g->a, uint8_t, from->n);
    if (!o->gpu || o->capability < 80) return;
    shapes_init(&sh, from, c->g->a);
    for (uint32_t i = 0; i < c->topo.n; i++) {
        const uop *n = c->topo.p[i];
        if (n->op == OP_REDUCE_AXES && n->arg.i == OP_ADD) find_wishes(c, &sh, n, is);
        bool through = is_elementwise(n) || n->op == OP_RESHAPE;
        for (uint32_t k = 0; k < (n->op == OP_RESHAPE ? 1 : n->nsrc) && through; k++)
            if (c->uses[n->src[k]->id] == 1) is[n->id] |= is[n->src[k]->id] & (EPILOGUE | ROWS);
    }
    bool any = false; /* sums along two axes of a value: a gradient, whose program stays as it is */
    for (uint32_t i = 0; i < c->topo.n; i++)
        any |= is[c->topo.p[i]->id] & WANTED && c->last[c->topo.p[i]->id] == REFUSED;
    if (any) memset(c->last, 0, from->n * sizeof *c->last);
    for (uint32_t i = c->topo.n; i-- > 0;) { /* users come before what they read */
        const uop *n = c->topo.p[i];
        bool stays = c->last[n->id] == REFUSED || (is[n->id] & (EPILOGUE | ROWS)) != EPILOGUE;
        if (stays || !(is[n->id] & WANTED) || !is_elementwise(n)) c->last[n->id] = 0;
        for (uint32_t k = 0; k < n->nsrc && c->last[n->id]; k++) {
            const uop *x = n->src[k];
            if (c->uses[x->id] != 1 || !is_elementwise(x) || shape_of(&sh, x) != shape_of(&sh, n)) continue;
            c->last[x->id] = c->last[n->id], is[x->id] = EPILOGUE | WANTED;
        }
    }
}

static const uop *permuted(struct copy *c, const uop *x, const int64_t *order, uint32_t n) {
    if (sg_shape(c->g, x)->n != n) return x; /* a number */
    bool inverse = x->op == OP_PERMUTE;
    for (uint32_t i = 0; i < n && inverse; i++) inverse = x->src[1 + order[i]]->arg.i == i;
    return inverse ? x->src[0] : graph_shaped(c->g->ir, OP_PERMUTE, x, order, n);
}

const uop *copy_in_order(struct copy *c, const uop *n, const uop *const *src) {
    int64_t order[SHAPE_MAX], back[SHAPE_MAX];
    const uop *to[3], *like = NULL;
    uint32_t last = c->last[n->id], k = 0, rank = 0;
    if (!is_elementwise(n)) return NULL;
    for (uint32_t i = 0; i < n->nsrc; i++) {
        if (is_marked(c, src[i], MARK_ORDER)) like = src[i];
        rank = RG_MAX(rank, sg_shape(c->g, src[i])->n);
    }
    if (!last && !like) return NULL;
    if (last) {
        for (uint32_t i = 0; i < rank; i++)
            if (i + 1 != last) order[k++] = i;
        order[k] = last - 1;
        for (uint32_t i = 0; i < rank; i++) back[order[i]] = i;
    } else
        for (uint32_t i = 0; i < rank; i++) back[i] = like->src[1 + i]->arg.i, order[back[i]] = i;
    for (uint32_t i = 0; i < n->nsrc; i++) to[i] = permuted(c, src[i], order, rank);
    const uop *x = uop_new(c->g->ir, (enum op)n->op, (enum dtype)n->dt, 1, to, n->nsrc, n->arg);
    x = graph_shaped(c->g->ir, OP_PERMUTE, x, back, rank);
    mark(c, x, MARK_ORDER);
    return x;
}
