/* contraction.c: recognises contractions: sums of products, or of squares and magnitudes of differences, in which each operand has an
 * output axis of its own (GEMM, batched, transposed, convolutions and their gradients, distances).
 *
 * Requires: struct view. Gives: struct contraction. Tests: tests/unit/heuristic.c */
#include "tune/choose/gemm/gemm.h"

enum {
    LEAST_PACKED_K = 8,         /* terms of a sum worth packing .. */
    LEAST_PACKED_K_STRIDED = 2, /* .. if loads would be gathers .. */
    LEAST_PACKED_KBIG = 32,     /* .. of its longest axis, if there are several */
    ACROSS_TERMS = 32,          /* terms of a sum whose result may be stored across lanes */
};

static const uop *below_casts(const uop *n) { /* below the casts and masks around a MUL */
    for (;;) {
        if (n->op == OP_CAST)
            n = n->src[0];
        else if (n->op == OP_WHERE && (uop_is_const(n->src[2]) || n->src[2]->op == OP_INVALID))
            n = n->src[1];
        else
            return n;
    }
}

/* Where the two operands of a sum's terms meet: a product, or a difference of which a square or a magnitude is added (distances). */
static const uop *terms_of(const uop *n) {
    n = below_casts(n);
    while (n->op == OP_ABS || (n->op == OP_MUL && n->src[0] == n->src[1])) n = below_casts(n->src[0]);
    return n;
}

static void find_operand(const struct view *v, const uop *root, uint64_t bound, struct operand_view *s) {
    uop_vec below = {0};
    uop_topo(v->arena, &root, 1, &below);
    *s = (struct operand_view){.root = root, .mask = v->mask[root->id]};
    int found = 0;
    for (int i = 0; i < v->naccess; i++) {
        if (v->access[i].store || !(v->access[i].mask & bound)) continue;
        for (uint32_t k = 0; k < below.n; k++)
            if (below.p[k] == v->access[i].node) s->access = &v->access[i], found++;
    }
    if (found != 1) s->access = NULL;
}

static uint64_t bound_mask(const struct view *v, const uop *reduce) {
    uint64_t m = 0;
    for (uint32_t i = 1; i < reduce->nsrc; i++)
        for (uint32_t k = 0; k < v->nrange; k++)
            if (v->range[k] == reduce->src[i]) m |= 1ull << k;
    return m;
}

bool is_own_output(const struct view *v, int axis, uint64_t mine, uint64_t other) {
    const struct axis_view *a = &v->axis[axis];
    bool tileable = !a->reduce && !a->scan && !a->fixed && a->size >= 2;
    return tileable && has_axis(v, mine, axis) && !has_axis(v, other, axis);
}

/* The output axis that only `mine` has with the least stride of the store; -1 if there is none. */
static int own_axis(const struct view *v, const struct contraction *c, uint64_t mine, uint64_t other,
                    int64_t *stride) {
    int best = -1;
    *stride = INT64_MAX;
    for (int i = v->naxis; i-- > 0;) {
        if (!is_own_output(v, i, mine, other)) continue;
        int64_t s = c->store ? access_stride(v, c->store, i, 1) : 0;
        if (s == NO_STRIDE || s == 0) continue;
        if ((s < 0 ? -s : s) < *stride) *stride = s < 0 ? -s : s, best = i;
    }
    return best;
}

/* The axis of the other operand that is tiled in rows: the largest. */
static int row_axis(const struct view *v, uint64_t mine, uint64_t other) {
    int best = -1;
    for (int i = 0; i < v->naxis; i++) {
        if (!is_own_output(v, i, mine, other)) continue;
        if (best < 0 || v->axis[i].size > v->axis[best].size) best = i;
    }
    return best;
}

int lanes_along(const struct view *v, int axis) { /* part of a vector for few values */
    int lanes = view_lanes(v, axis);
    while (lanes > 2 && lanes > v->axis[axis].size) lanes /= 2;
    return lanes;
}

/* Differences that are stored, too, or of few rows or terms, are loaded as often as that (elementwise/). */
static bool is_tile_of_differences(const struct view *v, const struct contraction *c) {
    int stores = 0;
    for (int i = 0; i < v->naccess; i++) stores += v->access[i].store;
    return stores == 1 && c->depth > 2 && c->lanes == view_lanes(v, c->n) &&
           v->axis[c->n].size >= 2 * c->lanes;
}

static bool find_operands(const struct view *v, struct contraction *c) {
    if (v->reduces != 1 || v->scans || v->stages) return false;
    c->reduce = v->reduce[0];
    const uop *mul = terms_of(c->reduce->src[0]);
    c->product = mul->op == OP_MUL && mul == below_casts(c->reduce->src[0]);
    if (c->reduce->arg.i != OP_ADD || (!c->product && mul->op != OP_SUB)) return false;
    uint64_t bound = bound_mask(v, c->reduce);
    find_operand(v, mul->src[0], bound, &c->a);
    find_operand(v, mul->src[1], bound, &c->b);
    for (int i = 0; i < v->naccess; i++)
        if (v->access[i].store && !v->access[i].add && !c->store) c->store = &v->access[i];
    c->k = c->kbig = -1, c->depth = 1;
    for (uint32_t i = 1; i < c->reduce->nsrc; i++) {
        int k = view_axis_of(v, c->reduce->src[i]);
        if (v->axis[k].size < 0) return false;
        c->depth *= (double)v->axis[k].size, c->nk++;
        if (c->k < 0 || v->axis[k].pos > v->axis[c->k].pos) c->k = k;
        if (c->kbig < 0 || v->axis[k].size >= v->axis[c->kbig].size) c->kbig = k;
    }
    return c->store != NULL;
}

bool factors_find(const struct view *v, struct contraction *c) { return find_operands(v, c) && c->product; }

bool terms_find(const struct view *v, struct contraction *c) {
    int64_t sx, sy;
    if (!find_operands(v, c)) return false;
    struct operand_view x = c->a, y = c->b;
    int nx = own_axis(v, c, x.mask, y.mask, &sx), ny = own_axis(v, c, y.mask, x.mask, &sy);
    if (nx < 0 || ny < 0) return false;
    bool swap = sx < sy; /* vectorize the axis of the store's least stride */
    c->a = swap ? y : x, c->b = swap ? x : y;
    c->n = swap ? nx : ny;
    c->m = row_axis(v, c->a.mask, c->b.mask);
    c->lanes = lanes_along(v, c->n);
    return c->m >= 0 && (c->product || is_tile_of_differences(v, c));
}

bool contraction_find(const struct view *v, struct contraction *c) { return terms_find(v, c) && c->product; }

/* ---- the vector axis ---------------------------------------------------------------------------------------- */

/* Share of the lanes of whole vectors that hold values. */
static double lanes_filled(const struct view *v, int axis) {
    int lanes = lanes_along(v, axis);
    return filled(v->axis[axis].size, lanes) * lanes / view_lanes(v, axis);
}

/* An axis that only `mine` has, contiguous in its load, whose vectors do twice the work of those along n, which has few values: results
 * are stored across, once per sum. (138 x 3 results of 2049 terms on NEON: 97 us, 54.) -1: there is none. */
static int wide_axis(const struct view *v, const struct operand_view *mine, uint64_t other, int n) {
    int best = -1;
    if (!mine->access || mine->access->pred) return -1;
    for (int i = 0; i < v->naxis; i++) {
        if (!is_own_output(v, i, mine->mask, other) || access_stride(v, mine->access, i, 1) != 1) continue;
        if (lanes_filled(v, i) >= 2 * lanes_filled(v, n)) best = i;
    }
    return best;
}

void exchange_operands(const struct view *v, struct contraction *c) {
    int wide = c->depth < ACROSS_TERMS ? -1 : wide_axis(v, &c->a, c->b.mask, c->n);
    if (wide < 0) return;
    struct operand_view a = c->a;
    c->a = c->b, c->b = a, c->n = wide;
    c->m = row_axis(v, c->a.mask, c->b.mask), c->lanes = lanes_along(v, c->n);
}

/* The axis of b in which its elements are nearest, for vectors along it where those along n would be gathers: results are stored
 * across. (8 x 86 rows of 257 columns, 48 terms, on NEON: 17.6 ms, 3.3.) -1: there is none. */
int near_axis(const struct view *v, const struct contraction *c) {
    enum { MOST_STRIDE = 4 };
    int64_t least = MOST_STRIDE + 1;
    int best = -1;
    if (!c->b.access || c->b.access->pred) return -1;
    for (int i = 0; i < v->naxis; i++) {
        if (!is_own_output(v, i, c->b.mask, c->a.mask)) continue;
        int64_t stride = stride_of(v, c->b.access, i);
        if (stride && stride < least && lanes_filled(v, i) >= 0.5 * lanes_filled(v, c->n))
            best = i, least = stride;
    }
    return best;
}

int dot_axis(const struct view *v, const struct contraction *c) {
    for (uint32_t i = 1; i < c->reduce->nsrc && c->a.access && c->b.access; i++) {
        int k = view_axis_of(v, c->reduce->src[i]), lanes = view_lanes(v, k);
        if (v->axis[k].size >= lanes && access_stride(v, c->a.access, k, lanes) == 1 &&
            access_stride(v, c->b.access, k, lanes) == 1)
            return k;
    }
    return -1;
}

/* One along which an operand is strided, as the image of a strided convolution's weight gradient: few vectors are loaded for one, which
 * all rows of the register tile share. */
int near_dot_axis(const struct view *v, const struct contraction *c) {
    enum { MOST_STRIDE = 4, LEAST_VECTORS = 4 };
    for (uint32_t i = 1; i < c->reduce->nsrc && c->a.access && c->b.access; i++) {
        int k = view_axis_of(v, c->reduce->src[i]);
        int64_t a = stride_of(v, c->a.access, k), b = stride_of(v, c->b.access, k);
        if (v->axis[k].size >= LEAST_VECTORS * view_lanes(v, k) && a && b && RG_MIN(a, b) == 1 &&
            RG_MAX(a, b) <= MOST_STRIDE)
            return k;
    }
    return -1;
}

/* ---- packing ------------------------------------------------------------------------------------------------ */

bool may_stage(const struct view *v, const struct operand_view *s) {
    return s->access && view_can_name(v, s->access->buf);
}

/* Do an output and a reduced axis overlap in memory, as in a convolution? */
static bool is_window(const struct view *v, const struct access_view *s) {
    for (int i = 0; i < v->naxis; i++)
        for (int k = 0; k < v->naxis; k++) {
            if (!v->axis[k].reduce || v->axis[i].reduce || !has_axis(v, s->mask, i) ||
                !has_axis(v, s->mask, k))
                continue;
            int64_t x = access_stride(v, s, i, 1), y = access_stride(v, s, k, 1);
            if (x == NO_STRIDE || y == NO_STRIDE ||
                (y && x % y == 0 && x / y < v->axis[k].size && x / y > -v->axis[k].size))
                return true;
        }
    return false;
}

bool is_packable(const struct view *v, const struct operand_view *s) {
    return may_stage(v, s) && !s->access->pred;
}

bool has_windows(const struct view *v, const struct contraction *c) {
    return is_window(v, c->a.access) || is_window(v, c->b.access);
}

/* Is k one axis, or a long one with others that are no windows? Few terms are worth packing where loads would be gathers. */
bool has_packable_k(const struct view *v, const struct contraction *c) {
    int64_t k = v->axis[c->kbig].size;
    bool unit = c->b.access && access_stride(v, c->b.access, c->n, c->lanes) == 1;
    if (k < (unit ? LEAST_PACKED_K : LEAST_PACKED_K_STRIDED)) return false;
    return c->nk == 1 || (k >= LEAST_PACKED_KBIG && !has_windows(v, c));
}

void reset_grid(const struct view *v, struct contraction *c) {
    for (int i = 0; i < v->naxis; i++) {
        c->name[i] = v->axis[i].name;
        c->in_grid[i] = v->axis[i].grid ? v->axis[i].most : 1;
    }
}

bool is_loaded(const struct operand_view *s) {
    bool masked = s->root->op == OP_WHERE && uop_is_const(s->root->src[2]);
    return (masked ? s->root->src[1] : s->root) == s->access->node;
}

bool is_widened(const struct operand_view *s, enum dtype *dt) {
    const uop *x = s->root->op == OP_CAST ? s->root->src[0] : s->root;
    *dt = (enum dtype)s->access->node->dt;
    if (x->op == OP_WHERE && uop_is_const(x->src[2])) x = x->src[1];
    int bytes = dtype_info[*dt].bytes;
    bool wide = s->root->dt == DT_F32 ? bytes <= 2 && dt_is_float(*dt)
                                      : s->root->dt == DT_I32 && bytes == 1 && dt_is_int(*dt);
    return s->root->op == OP_CAST && x == s->access->node && wide;
}
