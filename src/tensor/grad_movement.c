/* grad_movement.c: gradients that need more than a line: movement, reductions and scans along axes.
 *
 * Each function is named by a line of grad.rules. All are built from nodes that have gradients themselves.
 * Tests: tests/unit/tensor_grad.c */
#include "tensor/grad.h"
#include "tensor/internal.h"

#include <math.h>

static struct tg *tg_of(struct rw *rw) { return rw->cx; }

static const uop *zero_like(struct tg *g, const uop *x) { return tg_like(g, x, 0); }

const uop *grad_zeros(struct rw *rw, const uop *like) {
    struct tg *g = tg_of(rw);
    return tg_to_shape(g, zero_like(g, like), tg_shape(g, like));
}

const uop *grad_pow(struct rw *rw, const uop *a, double k) {
    struct tg *g = tg_of(rw);
    return k == 0 ? tg_like(g, a, 1) : t_pow(g, a, tg_like(g, a, k));
}

/* ---- movement ------------------------------------------------------------------------------------------------ */

const uop *grad_reshape(struct rw *rw, const uop *d, const uop *a) {
    struct tg *g = tg_of(rw);
    return tg_reshape(g, d, tg_shape(g, a));
}

const uop *grad_expand(struct rw *rw, const uop *d, const uop *a) {
    struct tg *g = tg_of(rw);
    return tg_to_shape(g, d, tg_shape(g, a));
}

/* Is d a part of what is computed? */
static bool is_part(const uop *d) {
    bool part = false;
    while (d->op == OP_RESHAPE || d->op == OP_PERMUTE || d->op == OP_SHRINK)
        part |= d->op == OP_SHRINK, d = d->src[0];
    return part && d->op != OP_BUFFER && d->op != OP_ASSIGN && d->op != OP_CONTIGUOUS;
}

/* What is computed, a part of it, a number for all elements, and what is padded. Another view of memory, or of a result that its
 * kernel stores, stays one. */
const uop *grad_stored(struct rw *rw, const uop *d, const uop *a) {
    const uop *base = d = grad_expand(rw, d, a);
    if (is_part(d)) return t_contiguous(tg_of(rw), d);
    while (base->op == OP_RESHAPE) base = base->src[0];
    bool view = op_is_movement((enum op)base->op) && base->op != OP_EXPAND && base->op != OP_PAD;
    return view || base->op == OP_BUFFER || base->op == OP_ASSIGN ? d : t_contiguous(tg_of(rw), d);
}

/* A sum of a sum is one sum. */
static const uop *sum_of(struct tg *g, const uop *d, uint32_t mask) {
    enum dtype dt = (enum dtype)d->dt;
    if (mask && tg_is_f8(dt)) return t_cast(g, sum_of(g, t_cast(g, d, DT_F32), mask), dt);
    if (mask && d->op == OP_REDUCE_AXES && d->arg.i == OP_ADD) {
        for (uint32_t i = 1; i < d->nsrc; i++) mask |= (uint32_t)1 << uop_const_i(g->ir, d, i);
        d = d->src[0];
    }
    return tg_reduce(g, OP_ADD, d, mask);
}

/* Is d a FOLD whose windows are added? */
static bool adds_windows(struct tg *g, const uop *d, uint32_t mask) {
    const struct shape *s = tg_shape(g, d);
    if (d->op != OP_FOLD) return false;
    for (uint32_t i = s->n - (d->nsrc - 1) / 3; i < s->n; i++)
        if (s->d[i] != 1 && !(mask >> i & 1)) return false;
    return true;
}

/* The sum of what is negated is negated after, once: sums of one thing are then one node. */
const uop *grad_sum_to(struct rw *rw, const uop *d, const uop *a) {
    struct tg *g = tg_of(rw);
    if (d->op == OP_NEG && d->src[0]->op != OP_NEG) return grad1(rw, OP_NEG, grad_sum_to(rw, d->src[0], a));
    const struct shape *have = tg_shape(g, d), *want = tg_shape(g, a);
    uint32_t mask = 0;
    int64_t num[3 * SHAPE_MAX];
    for (uint32_t i = 0; i < have->n; i++)
        if (have->d[i] != want->d[i]) mask |= (uint32_t)1 << i;
    if (!adds_windows(g, d, mask)) return sum_of(g, d, mask);
    for (uint32_t i = 1; i < d->nsrc; i++) num[i - 1] = uop_const_i(g->ir, d, i);
    return tg_spread_sum(g, d->src[0], num, (d->nsrc - 1) / 3, mask);
}

const uop *grad_permute(struct rw *rw, const uop *d, const uop *n) {
    int64_t back[SHAPE_MAX];
    for (uint32_t i = 1; i < n->nsrc; i++) back[uop_const_i(rw->ir, n, i)] = i - 1;
    return t_permute(tg_of(rw), d, back, n->nsrc - 1);
}

const uop *grad_flip(struct rw *rw, const uop *d, const uop *n) {
    int64_t axis[SHAPE_MAX];
    for (uint32_t i = 1; i < n->nsrc; i++) axis[i - 1] = uop_const_i(rw->ir, n, i);
    return n->nsrc > 1 ? t_flip(tg_of(rw), d, axis, n->nsrc - 1) : d;
}

/* ---- windows ------------------------------------------------------------------------------------------------- */

/* Is x the same along all the axes of the mask? Then the same with other sizes there, else NULL. */
static const uop *resized(struct tg *g, const uop *x, const struct shape *to, uint32_t mask) {
    const uop *from = x->op == OP_EXPAND ? x->src[0] : x;
    const struct shape *s = tg_shape(g, from);
    if (!s->n) return from;
    for (uint32_t i = 0; i < s->n; i++)
        if (mask >> i & 1 && s->d[i] != 1) return NULL;
    return tg_to_shape(g, from, to);
}

/* A UNFOLD or FOLD that is to be taken of something: num has for each of the m axes the new size, stride, dilation. */
struct window {
    struct tg *g;
    enum op op;
    uint32_t m;
    int64_t num[3 * SHAPE_MAX];
};

static const uop *window_of(const struct window *w, const uop *d);

static bool is_zero(const uop *x) {
    while (x->op == OP_EXPAND || x->op == OP_RESHAPE) x = x->src[0];
    return x->op == OP_CONST && dt_is_float((enum dtype)x->dt) && x->arg.f == 0 && !signbit(x->arg.f);
}

/* Is d a value where two numbers are equal, and 0 elsewhere: the gradient of a max pooling? */
static bool is_selected(const uop *d) {
    return d->op == OP_WHERE && d->src[0]->op == OP_EQ && is_zero(d->src[2]);
}

/* WHERE(x == y, v, 0): v is 0 outside of what FOLD leaves, whatever x and y are there. */
static const uop *select_window(const struct window *w, const uop *d, const struct shape *to,
                                uint32_t positions) {
    struct tg *g = w->g;
    if (!is_selected(d) || w->op != OP_FOLD || resized(g, d->src[1], to, positions)) return NULL;
    const uop *v[3] = {d->src[0]->src[0], d->src[0]->src[1], d->src[1]};
    for (int i = 0; i < 3; i++) {
        const uop *same = resized(g, v[i], to, positions);
        v[i] = same ? same : window_of(w, v[i]);
    }
    return tg_op3(g, OP_WHERE, tg_op2(g, OP_EQ, v[0], v[1]), v[2], d->src[2]);
}

/* Pushed through sums and into the factor that varies along the output positions: the gradient of a convolution is then a
 * contraction again, not a product per window that is stored before it is summed. */
static const uop *window_through(const struct window *w, const uop *d, const struct shape *to) {
    struct tg *g = w->g;
    uint32_t first = to->n - 2 * w->m, positions = ((1u << w->m) - 1) << first;
    if (d->op == OP_ADD && tg_shape(g, d->src[1])->n && tg_shape(g, d->src[0])->n)
        return tg_op2(g, OP_ADD, window_of(w, d->src[0]), window_of(w, d->src[1]));
    if (d->op == OP_CAST && dt_is_float((enum dtype)d->src[0]->dt))
        return t_cast(g, window_of(w, d->src[0]), (enum dtype)d->dt);
    if (d->op == OP_MUL)
        for (int i = 0; i < 2; i++) {
            const uop *same = resized(g, d->src[i], to, positions);
            if (same && tg_shape(g, d->src[1 - i])->n)
                return tg_op2(g, OP_MUL, window_of(w, d->src[1 - i]), same);
        }
    if (d->op == OP_REDUCE_AXES && d->arg.i == OP_ADD) {
        uint32_t mask = 0;
        for (uint32_t i = 1; i < d->nsrc; i++) mask |= 1u << uop_const_i(g->ir, d, i);
        if (mask < 1u << first) return tg_reduce(g, OP_ADD, window_of(w, d->src[0]), mask);
    }
    return select_window(w, d, to, positions);
}

static const uop *window_of(const struct window *w, const uop *d) {
    const struct shape *have = tg_shape(w->g, d);
    int64_t to[SHAPE_MAX];
    for (uint32_t i = 0; i < have->n; i++) to[i] = have->d[i];
    for (uint32_t i = 0; i < w->m; i++) to[have->n - 2 * w->m + i] = w->num[3 * i];
    const uop *better = window_through(w, d, shape_make(&w->g->shapes, to, have->n));
    return better ? better : tg_nums(w->g, w->op, d, w->num, 3 * w->m, ARG_NONE);
}

/* The adjoint of UNFOLD is FOLD, to the sizes of the source. grad_sum_to, which sums its windows, looks into it. */
const uop *grad_fold(struct rw *rw, const uop *d, const uop *n) {
    struct tg *g = tg_of(rw);
    uint32_t m = (n->nsrc - 1) / 3;
    const struct shape *s = tg_shape(g, n->src[0]);
    int64_t num[3 * SHAPE_MAX];
    for (uint32_t i = 0; i < 3 * m; i++)
        num[i] = i % 3 ? uop_const_i(rw->ir, n, 1 + i) : s->d[s->n - 2 * m + i / 3];
    return tg_nums(g, OP_FOLD, d, num, 3 * m, ARG_NONE);
}

const uop *grad_unfold(struct rw *rw, const uop *d, const uop *n) {
    struct window w = {.g = tg_of(rw), .op = OP_UNFOLD, .m = (n->nsrc - 1) / 3};
    const struct shape *s = tg_shape(w.g, n->src[0]);
    for (uint32_t i = 0; i < 3 * w.m; i++)
        w.num[i] = i % 3 ? uop_const_i(rw->ir, n, 1 + i) : s->d[s->n - 2 * w.m + i / 3];
    return window_of(&w, d);
}

/* ---- sums over spread windows: gradients of windows, transposed convolutions ------------------------------------- */

/* With a stride s, element i of an axis gets something only from those k of a window with k = i mod s: all others would be
 * computed to be 0. So i is written as (q, r) = (i/s, i mod s) and k as (j, r): the sum over k is one over j, of windows with
 * stride 1, for each of the s phases r. Windows are filled up with zeros to a multiple of s. A window of fewer than s elements
 * has as many phases, one whose dilation is a multiple of s has one: all others are 0, and padded.
 * With another dilation d, of which s has the divisor c, phases are those of k: element i = s q + d r of (j, r) = (k / (s/c), k mod (s/c)),
 * where q = p + d/c j. No two of (q, r) give the same i, so FOLD puts the sums there. */
struct phases {
    struct tg *g;
    uint32_t m, first; /* spatial axes; the axes before output positions and windows */
    const struct shape *s;
    int64_t stride[SHAPE_MAX], live[SHAPE_MAX], count[SHAPE_MAX]; /* r; those that get something; j */
    bool apart[SHAPE_MAX], any_apart;                             /* r is no remainder of i */
    struct window w;                                              /* of (q, j) */
};

static int64_t common_divisor(int64_t a, int64_t b) { return b ? common_divisor(b, a % b) : a; }

static bool phases_init(struct phases *p, struct tg *g, const uop *d, const int64_t *num, uint32_t m) {
    const struct shape *s = tg_shape(g, d);
    *p = (struct phases){.g = g, .m = m, .first = s->n - 2 * m, .s = s, .w = {.g = g, .op = OP_FOLD, .m = m}};
    bool any = false;
    for (uint32_t i = 0; i < m; i++) {
        int64_t k = s->d[p->first + m + i], stride = num[3 * i + 1], dilation = k > 1 ? num[3 * i + 2] : 1;
        int64_t c = common_divisor(stride, dilation), live = RG_MIN(stride / c, k);
        bool apart = p->apart[i] =
            stride > c && dilation > 1; /* if not, and c is the stride, one phase gets something */
        any |= stride > 1, p->any_apart |= apart;
        p->stride[i] = apart ? live : stride, p->live[i] = live, p->count[i] = (k + live - 1) / live;
        p->w.num[3 * i] = apart ? s->d[p->first + i] + (p->count[i] - 1) * dilation / c
                                : (num[3 * i] + stride - 1) / stride;
        p->w.num[3 * i + 1] = 1, p->w.num[3 * i + 2] = dilation / c;
    }
    return any && s->n + m <= SHAPE_MAX && shape_size(s);
}

/* (.., p.., k..) as (.., r.., p.., j..). */
static const uop *in_phases(const struct phases *p, const uop *x) {
    struct tg *g = p->g;
    int64_t pad[2 * SHAPE_MAX] = {0}, d[SHAPE_MAX], order[SHAPE_MAX];
    uint32_t m = p->m, f = p->first;
    for (uint32_t i = 0; i < m; i++) pad[2 * i + 1] = p->count[i] * p->live[i] - p->s->d[f + m + i];
    x = tg_pad_last(g, x, pad, m, zero_like(g, x));
    for (uint32_t i = 0; i < f + m; i++) d[i] = tg_shape(g, x)->d[i];
    for (uint32_t i = 0; i < f; i++) order[i] = i;
    for (uint32_t i = 0; i < m; i++) {
        d[f + m + 2 * i] = p->count[i], d[f + m + 2 * i + 1] = p->live[i];
        order[f + i] = f + m + 2 * i + 1, order[f + m + i] = f + i, order[f + 2 * m + i] = f + m + 2 * i;
    }
    return t_permute(g, t_reshape(g, x, d, f + 3 * m), order, f + 3 * m);
}

static const uop *spread_phases(const struct phases *p, const uop *x) {
    bool same = true; /* windows of one element, and no further position */
    for (uint32_t i = 0; i < p->m; i++) same &= p->count[i] == 1 && p->w.num[3 * i] == p->s->d[p->first + i];
    return same ? x : tg_nums(p->g, OP_FOLD, x, p->w.num, 3 * p->m, ARG_NONE);
}

/* x as it is before it was repeated, if it is the same along all the axes of the mask; else NULL. */
static const uop *before_repeat(struct tg *g, const uop *x, uint32_t mask) {
    const uop *from = x->op == OP_EXPAND ? x->src[0] : x;
    const struct shape *s = tg_shape(g, from);
    for (uint32_t i = 0; i < s->n; i++)
        if (mask >> i & 1 && s->d[i] != 1) return NULL;
    return s->n ? from : NULL;
}

/* What is the same along windows, folded; NULL if x is not. Broadcast axes stay so: sums over them then merge with all others. */
static const uop *phased_positions(const struct phases *p, const uop *x) {
    struct tg *g = p->g;
    uint32_t m = p->m, f = p->first;
    int64_t one[SHAPE_MAX], wide[SHAPE_MAX];
    const uop *v = before_repeat(g, x, ((1u << m) - 1) << (f + m));
    if (!v) return NULL;
    const struct shape *s = tg_shape(g, v);
    for (uint32_t k = 0; k < f; k++) one[k] = wide[k] = s->d[k];
    for (uint32_t k = 0; k < m; k++) {
        one[f + k] = wide[f + k] = one[f + 2 * m + k] = 1;
        one[f + m + k] = s->d[f + k], wide[f + m + k] = p->s->d[f + k];
        wide[f + 2 * m + k] = p->count[k];
    }
    return spread_phases(p, t_expand(g, t_reshape(g, v, one, f + 3 * m), wide, f + 3 * m));
}

/* What is the same along output positions, padded; NULL if x is not. */
static const uop *phased_window(const struct phases *p, const uop *x) {
    struct tg *g = p->g;
    uint32_t m = p->m, f = p->first;
    int64_t wide[SHAPE_MAX];
    const uop *v = before_repeat(g, x, ((1u << m) - 1) << f);
    if (!v) return NULL;
    for (uint32_t k = 0; k < f; k++) wide[k] = tg_shape(g, v)->d[k];
    for (uint32_t k = 0; k < m; k++) wide[f + k] = 1, wide[f + m + k] = p->s->d[f + m + k];
    return in_phases(p, t_expand(g, v, wide, f + 2 * m));
}

/* Repeated along the axes along which no operand varied. */
static const uop *phased_whole(const struct phases *p, const uop *x) {
    int64_t d[SHAPE_MAX];
    uint32_t n = p->first + 3 * p->m;
    for (uint32_t k = 0; k < n; k++) d[k] = k < p->first ? p->s->d[k] : tg_shape(p->g, x)->d[k];
    return t_expand(p->g, x, d, n);
}

/* A product of a factor that varies along the output positions and one that varies along the window: only the first is folded,
 * only the second padded. */
static const uop *phased_product(const struct phases *p, const uop *d) {
    if (d->op != OP_MUL) return NULL;
    for (int i = 0; i < 2; i++) {
        const uop *v[2] = {phased_positions(p, d->src[i]), phased_window(p, d->src[1 - i])};
        if (!v[0] || !v[1]) continue;
        tg_broadcast(p->g, v, 2);
        return phased_whole(p, tg_op2(p->g, OP_MUL, v[0], v[1]));
    }
    return NULL;
}

/* The same for WHERE(x == y, v, 0): v is 0 where it is folded, and nothing is selected where windows are padded. */
static const uop *phased_select(const struct phases *p, const uop *d) {
    struct tg *g = p->g;
    int64_t one[SHAPE_MAX];
    if (!is_selected(d)) return NULL;
    const uop *v[4] = {d->src[0]->src[0], d->src[0]->src[1], d->src[1]};
    for (int i = 0; i < 3; i++) {
        const uop *x = phased_positions(p, v[i]);
        v[i] = x || i == 2 ? x : phased_window(p, v[i]);
        if (!v[i]) return NULL;
    }
    for (uint32_t k = 0; k < p->s->n; k++) one[k] = k < p->first + p->m ? 1 : p->s->d[k];
    v[3] = in_phases(
        p, t_expand(g, t_reshape(g, uop_int(g->ir, DT_BOOL, 1), (int64_t[SHAPE_MAX]){1}, 1), one, p->s->n));
    tg_broadcast(g, v, 4);
    const uop *hit = tg_op2(g, OP_AND, tg_op2(g, OP_EQ, v[0], v[1]), v[3]);
    return phased_whole(p, tg_op3(g, OP_WHERE, hit, v[2], zero_like(g, d)));
}

/* (.., i.., r..), with r of axes apart, as (.., i..): sums of one term. */
static const uop *put_apart(const struct phases *p, const uop *x, const int64_t *num) {
    int64_t to[3 * SHAPE_MAX];
    const struct shape *s = tg_shape(p->g, x);
    for (uint32_t i = 0; i < p->m; i++) {
        int64_t n = s->d[p->first + i],
                reach = (n - 1) * num[3 * i + 1] + (p->live[i] - 1) * num[3 * i + 2] + 1;
        to[3 * i] = p->apart[i] ? RG_MAX(num[3 * i], reach) : n;
        to[3 * i + 1] = p->apart[i] ? num[3 * i + 1] : 1, to[3 * i + 2] = p->apart[i] ? num[3 * i + 2] : 1;
    }
    x = tg_nums(p->g, OP_FOLD, x, to, 3 * p->m, ARG_NONE);
    return tg_reduce(p->g, OP_ADD, x, ((1u << p->m) - 1) << (p->first + p->m));
}

static const uop *phased_sum(const struct phases *p, const uop *d, uint32_t mask, const int64_t *num) {
    struct tg *g = p->g;
    uint32_t m = p->m, f = p->first, lead = mask & ((1u << f) - 1);
    int64_t order[SHAPE_MAX], size[SHAPE_MAX], crop[2 * SHAPE_MAX] = {0}, dead[2 * SHAPE_MAX] = {0};
    const uop *x = phased_product(p, d);
    if (!x) x = phased_select(p, d);
    if (!x) x = spread_phases(p, in_phases(p, d));
    x = tg_reduce(g, OP_ADD, x, lead | ((1u << m) - 1) << (f + 2 * m));
    const struct shape *s = tg_shape(g, x);
    for (uint32_t i = 0; i < f; i++) order[i] = i, size[i] = s->d[i];
    for (uint32_t i = 0; i < m; i++) { /* (.., r.., q.., 1..) to (.., q r, ..) */
        order[f + 2 * i] = f + m + i, order[f + 2 * i + 1] = p->apart[i] ? f + 2 * m + i : f + i;
        order[f + 2 * m + i] = p->apart[i] ? f + i : f + 2 * m + i;
        size[f + i] = p->w.num[3 * i] * (p->apart[i] ? 1 : p->stride[i]);
        size[f + m + i] = p->apart[i] ? p->live[i] : 1, dead[4 * i + 3] = p->stride[i] - p->live[i];
    }
    x = tg_pad_last(g, t_permute(g, x, order, f + 3 * m), dead, 3 * m, zero_like(g, x));
    x = t_reshape(g, x, size, p->any_apart ? f + 2 * m : f + m);
    if (p->any_apart) {
        x = put_apart(p, x, num);
        x = t_reshape(g, x, tg_shape(g, x)->d, f + m);
    }
    for (uint32_t i = 0; i < m; i++) crop[2 * i + 1] = num[3 * i] - tg_shape(g, x)->d[f + i];
    x = tg_pad_last(g, x, crop, m, zero_like(g, x));
    for (uint32_t i = 0; i < m; i++) size[f + i] = num[3 * i], size[f + m + i] = 1;
    return t_reshape(g, x, size, f + 2 * m);
}

const uop *tg_spread_sum(struct tg *g, const uop *d, const int64_t *num, uint32_t m, uint32_t mask) {
    struct phases p;
    struct window w = {.g = g, .op = OP_FOLD, .m = m};
    const uop *in = d;
    uint32_t more = 0;
    for (uint32_t i = 0; i < 3 * m; i++) w.num[i] = num[i];
    if (d->op == OP_REDUCE_AXES && d->arg.i == OP_ADD) { /* a sum of other axes comes last, with this one */
        for (uint32_t i = 1; i < d->nsrc; i++) more |= 1u << uop_const_i(g->ir, d, i);
        if (more < 1u << (tg_shape(g, d)->n - 2 * m))
            in = d->src[0];
        else
            more = 0;
    }
    if (phases_init(&p, g, in, num, m)) /* the mask may have axes of positions, which phased_sum leaves */
        return tg_reduce(g, OP_ADD, phased_sum(&p, in, mask | more, num), mask);
    return sum_of(g, window_of(&w, d), mask);
}

/* ---- boxes: start, size and step of each axis ------------------------------------------------------------------ */

/* Which positions 0 .. dim-1 of an axis are in the box, as bool, with size 1 on the other axes; `at`: which element of
 * the box each is, 0 where it is none. */
static const uop *axis_mask(struct tg *g, const uop *const *box, int64_t dim, uint32_t rank, uint32_t axis,
                            const uop **at) {
    int64_t size = box[1]->arg.i, step = box[2]->arg.i;
    const uop *i = tg_iota(g, dim, rank, axis),
              *j = tg_op2(g, OP_SUB, i, t_cast(g, box[0], (enum dtype)i->dt));
    const uop *zero = zero_like(g, i), *in = tg_op2(g, OP_LE, zero, j);
    in = tg_op2(g, OP_AND, in, tg_op2(g, OP_LT, j, t_int(g, (enum dtype)i->dt, RG_MIN(dim, size * step))));
    if (step > 1) in = tg_op2(g, OP_AND, in, tg_op2(g, OP_EQ, tg_op_k(g, OP_MOD, j, (double)step), zero));
    if (at) *at = tg_op3(g, OP_WHERE, in, step > 1 ? tg_op_k(g, OP_IDIV, j, (double)step) : j, zero);
    return in;
}

/* The same for the whole box, of shape s. */
static const uop *box_mask(struct tg *g, const uop *const *box, const struct shape *s) {
    const uop *in = NULL;
    for (uint32_t i = 0; i < s->n; i++) {
        bool whole = box[3 * i + 1]->arg.i == s->d[i] && uop_is_int_const(box[3 * i], 0);
        if (whole) continue;
        const uop *m = tg_to_shape(g, axis_mask(g, box + 3 * i, s->d[i], s->n, i, NULL), s);
        in = in ? tg_op2(g, OP_AND, in, m) : m;
    }
    return in;
}

static const uop *zero_inside(struct tg *g, const uop *d, const uop *const *box) {
    const uop *in = box_mask(g, box, tg_shape(g, d));
    return in ? tg_op3(g, OP_WHERE, in, zero_like(g, d), d) : NULL;
}

/* PAD's numbers as the box in which its source lies. */
static void pad_box(struct tg *g, const uop *n, const uop **box) {
    const struct shape *s = tg_shape(g, n->src[0]);
    for (uint32_t i = 0; i < s->n; i++) {
        box[3 * i] = n->src[2 + 3 * i], box[3 * i + 1] = uop_idx(g->ir, s->d[i]);
        box[3 * i + 2] = uop_idx(g->ir, s->d[i] > 1 ? uop_const_i(g->ir, n, 4 + 3 * i) + 1 : 1);
    }
}

const uop *grad_unpad(struct rw *rw, const uop *d, const uop *n) {
    const uop *box[3 * SHAPE_MAX];
    pad_box(tg_of(rw), n, box);
    return tg_box(tg_of(rw), d, box);
}

const uop *grad_pad_value(struct rw *rw, const uop *d, const uop *n) {
    struct tg *g = tg_of(rw);
    const uop *box[3 * SHAPE_MAX];
    pad_box(g, n, box);
    return zero_inside(g, d, box); /* grad.c sums it: the value has rank 0 */
}

/* Axes whose start is a number are padded; one whose start is known at run time only reads, at each position, the
 * element of the box that lies there. */
const uop *grad_unshrink(struct rw *rw, const uop *d, const uop *n) {
    struct tg *g = tg_of(rw);
    const struct shape *s = tg_shape(g, n->src[0]);
    int64_t num[3 * SHAPE_MAX];
    if (!shape_size(tg_shape(g, n))) return grad_zeros(rw, n->src[0]);
    for (uint32_t i = 0; i < s->n; i++) {
        const uop *const *box = n->src + 1 + 3 * i;
        bool fixed = box[0]->op == OP_CONST;
        int64_t size = box[1]->arg.i, step = box[2]->arg.i, start = fixed ? box[0]->arg.i : 0;
        num[3 * i] = start, num[3 * i + 2] = fixed ? step - 1 : 0;
        num[3 * i + 1] = fixed ? s->d[i] - start - (size - 1) * step - 1 : 0;
        if (fixed) continue;
        const uop *at, *in = axis_mask(g, box, s->d[i], s->n, i, &at);
        int64_t dim[SHAPE_MAX];
        memcpy(dim, tg_shape(g, d)->d, s->n * sizeof *dim);
        dim[i] = s->d[i];
        const struct shape *to = shape_make(&g->shapes, dim, s->n);
        const uop *read = t_gather(g, d, i, tg_to_shape(g, at, to));
        d = tg_op3(g, OP_WHERE, tg_to_shape(g, in, to), read, zero_like(g, d));
    }
    return tg_pad_node(g, d, zero_like(g, d), num);
}

const uop *grad_outside(struct rw *rw, const uop *d, const uop *n) {
    return n->nsrc > 2 ? zero_inside(tg_of(rw), d, n->src + 2) : NULL;
}

const uop *grad_inside(struct rw *rw, const uop *d, const uop *n) {
    return n->nsrc > 2 ? tg_box(tg_of(rw), d, n->src + 2) : d;
}

/* ---- reductions ------------------------------------------------------------------------------------------------------ */

static uint32_t axes_of(struct rw *rw, const uop *n) {
    uint32_t mask = 0;
    for (uint32_t i = 1; i < n->nsrc; i++) mask |= (uint32_t)1 << uop_const_i(rw->ir, n, i);
    return mask;
}

/* Equal extremes share the gradient evenly; 16-bit floats are counted in float32. */
const uop *grad_extreme(struct rw *rw, const uop *d, const uop *n) {
    struct tg *g = tg_of(rw);
    const uop *a = n->src[0], *hit = tg_op2(g, OP_EQ, a, grad_expand(rw, n, a)), *wide = tg_wide(g, d);
    const uop *count = tg_reduce(g, OP_ADD, t_cast(g, hit, (enum dtype)wide->dt), axes_of(rw, n));
    const uop *share = t_cast(g, tg_op2(g, OP_FDIV, wide, count), (enum dtype)d->dt);
    return tg_op3(g, OP_WHERE, hit, grad_expand(rw, share, a), zero_like(g, d));
}

/* The axes in `mask` last, and one: (.., n). Undone by rows_back. */
struct axes_last {
    const struct shape *shape; /* after the permutation */
    int64_t order[SHAPE_MAX];
};
static const uop *rows(struct tg *g, const uop *x, uint32_t mask, struct axes_last *r) {
    const struct shape *s = tg_shape(g, x);
    int64_t len = 1;
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n; i++)
        if (!(mask >> i & 1)) r->order[n++] = i;
    for (uint32_t i = 0; i < s->n; i++)
        if (mask >> i & 1) r->order[n++] = i, len *= s->d[i];
    x = t_permute(g, x, r->order, n);
    r->shape = tg_shape(g, x);
    return t_reshape(g, x, (int64_t[]){len ? shape_size(s) / len : 0, len}, 2);
}

static const uop *rows_back(struct tg *g, const uop *x, const struct axes_last *r) {
    int64_t back[SHAPE_MAX];
    for (uint32_t i = 0; i < r->shape->n; i++) back[r->order[i]] = i;
    return t_permute(g, tg_reshape(g, x, r->shape), back, r->shape->n);
}

/* Products of all elements before each, along axis 1 of (rows, n). */
static const uop *before(struct tg *g, const uop *x) {
    int64_t n = tg_shape(g, x)->d[1];
    const uop *most =
        t_slice(g, t_cumprod(g, x, 1), (struct t_slice[]){{0, T_END, 1, NULL}, {0, n - 1, 1, NULL}}, 2);
    return t_pad(g, most, (int64_t[]){0, 0, 1, 0}, 2, 1);
}

static const uop *backwards(struct tg *g, const uop *x) { return t_flip(g, x, (int64_t[]){1}, 1); }

/* The product of all other elements, without a division: those before times those after. */
const uop *grad_product(struct rw *rw, const uop *d, const uop *n) {
    struct tg *g = tg_of(rw);
    struct axes_last r;
    const uop *x = rows(g, tg_wide(g, n->src[0]), axes_of(rw, n), &r);
    const uop *others = tg_op2(g, OP_MUL, before(g, x), backwards(g, before(g, backwards(g, x))));
    others = t_cast(g, rows_back(g, others, &r), (enum dtype)d->dt);
    return tg_op2(g, OP_MUL, grad_expand(rw, d, n->src[0]), others);
}

/* ---- scans ------------------------------------------------------------------------------------------------------------- */

static const uop *scan(struct tg *g, enum op op, const uop *x, int64_t axis) {
    return tg_nums(g, OP_SCAN_AXIS, x, &axis, 1, ARG_INT(op));
}

const uop *grad_cumsum(struct rw *rw, const uop *d, const uop *n) {
    struct tg *g = tg_of(rw);
    int64_t axis = uop_const_i(rw->ir, n, 1);
    return t_flip(g, scan(g, OP_ADD, t_flip(g, d, &axis, 1), axis), &axis, 1);
}

/* Element i + by of x, by 1 or -1; `past` beyond the ends. */
static const uop *neighbour(struct tg *g, const uop *x, int64_t axis, int64_t by, double past) {
    uint32_t rank = tg_shape(g, x)->n;
    int64_t pad[2 * SHAPE_MAX] = {0};
    pad[2 * axis] = -by, pad[2 * axis + 1] = by;
    return t_pad(g, x, pad, rank, past);
}

/* A running sum that decays, s_i = s_i-1 b_i + a_i, runs backwards with the decay of the next element: d_i = d_i+1 b_i+1 + g_i. */
static const uop *decayed_back(struct tg *g, const uop *d, const uop *b, int64_t axis) {
    const uop *by = neighbour(g, b, axis, 1, 0);
    return t_flip(g, tg_decayed(g, t_flip(g, d, &axis, 1), t_flip(g, by, &axis, 1), axis), &axis, 1);
}

const uop *grad_decayed(struct rw *rw, const uop *d, const uop *n) {
    return decayed_back(tg_of(rw), d, n->src[2], uop_const_i(rw->ir, n, 1));
}

const uop *grad_decay(struct rw *rw, const uop *d, const uop *n) {
    struct tg *g = tg_of(rw);
    return tg_op2(g, OP_MUL, grad_decayed(rw, d, n), neighbour(g, n, uop_const_i(rw->ir, n, 1), -1, 0));
}

/* d_i = (product before i) * sum over k >= i of g_k * (product of those after i up to k). No division: right for zeros, to every
 * order. The sum is s_i = s_i+1 x_i+1 + g_i, a running sum that decays by the elements: n steps, not n*n. */
const uop *grad_cumprod(struct rw *rw, const uop *d, const uop *n) {
    struct tg *g = tg_of(rw);
    int64_t axis = uop_const_i(rw->ir, n, 1);
    return tg_op2(g, OP_MUL, neighbour(g, n, axis, -1, 1), decayed_back(g, d, n->src[0], axis));
}

/* What flows to a running extreme goes to the element that set it, the latest of equals. */
const uop *grad_cumextreme(struct rw *rw, const uop *d, const uop *n) {
    struct tg *g = tg_of(rw);
    int64_t axis = uop_const_i(rw->ir, n, 1);
    const struct shape *s = tg_shape(g, n);
    const uop *i = tg_to_shape(g, tg_iota(g, s->d[axis], s->n, (uint32_t)axis), s);
    const uop *set = tg_op3(g, OP_WHERE, tg_op2(g, OP_EQ, n->src[0], n), i, zero_like(g, i));
    return t_scatter_add(g, grad_zeros(rw, n), axis, scan(g, OP_MAX, set, axis), d);
}
