/* repack.c: operands of a large product that do not lie in memory as a GPU's tensor cores want them are copied first.
 *
 * Tiles are filled by 16 bytes at a time only where rows begin at multiples of 16 bytes; rows of 4095 halves go element by
 * element, at a fraction of the speed. So the product is written again, over one axis each of both sides and of the sum
 * (and the batch's), and an operand that does not fit is a padded copy, which the planner must store:
 *
 *     sum_k a[m][k] b[k][n]   ->   sum_k' A[m][k'] B[k'][n],   A = stored(PAD(a)), B = stored(PAD(b))
 *
 * Rows of the result have the same trouble: halves of which an odd number is a row would be stored one by one. Threads with
 * roles store them well (codegen/gpu/epilogue_unaligned.c). Where there are none, or where a result is computed with another tensor of
 * its size, whose rows would be read one by one, the sum is made for rows that are whole pieces, and what is cut off comes
 * after it: where the sum is rounded to a half, that is stored (plan_graph.c), and a copy takes it to its place, 16 bytes at a time.
 * Zeros fill the sum up to whole tiles, so that no iteration asks where the matrix ends; rows of a copy are whole pieces of
 * 16 bytes. A copy runs along memory as its source does. Here, in the graph before planning, is the place for it: what an
 * operand is computed from is written to the padded rows at once, several products share a copy, the profile shows it as a
 * kernel, memory planning knows its bytes; codegen only sees a product whose rows fit. Whether it pays is asked of the machine
 * model: the copies against what a product loses that is filled element by element.
 *
 * A convolution of halves takes its weights from memory straight into the registers of MMA instructions (gpu_conv.c). As they
 * are given, the summed channels lie far apart, and each half would be a load of its own; the copy has for each lane its eight
 * halves of a step side by side, in the order of the instruction's digit map.
 * Tests: tests/unit/repack.c */
#include "schedule/internal.h"

enum {
    PIECE = 16,      /* bytes that are copied at once */
    K_BYTES = 128,   /* along k in a tile: zeros up to here */
    ROWS_STEP = 128, /* rows of the largest tiles, if that adds little */
    LEAST_SIDE = 64,
    LEAST_SUM = 192,
    PLANES = 14,         /* batch axes at most */
    MOST_TAPS = 11,      /* along an axis */
    TAPS_WORK = 80000000 /* operations of a convolution whose weights are worth a copy */
};

/* What multiplies these elements, how many times as fast as the model's field says; the share of that which products reach whose
 * tiles are filled by pieces, and without (docs/measurements/2026-11-16-h200-notes.md); only_k: rows must run along the sum. */
struct kind {
    enum model_field unit;
    double times, fit, not ;
    bool only_k;
};
static const struct kind halves = {MODEL_MATRIX_BF16, 1, 0.55, 0.16, false},
                         floats = {MODEL_FLOPS_F32, 1, 0.70, 0.57, false},
                         tf32 = {MODEL_MATRIX_BF16, 0.5, 0.50, 0.13, true},
                         bytes = {MODEL_MATRIX_BF16, 2, 0.50, 0.02, true};

enum side { SIDE_BATCH, SIDE_M, SIDE_N, SIDE_K, SIDE_NONE };

/* An operand as a view: how far each axis of the product moves in the memory that it comes from. */
struct operand {
    const uop *x; /* in its own type, with the product's shape */
    int64_t step[SHAPE_MAX], offset;
    bool along_k; /* memory runs along the sum */
    bool fits;
};

struct repack {
    struct ir *ir;
    struct shapes *sh;
    const struct model *model;
    const struct shape *shape; /* of the product of both, before it is summed */
    enum side side[SHAPE_MAX];
    struct operand op[2];
    int64_t size[SIDE_NONE + 1], k_padded; /* elements of all axes of a side */
    int64_t n_padded;                      /* of a row of the result */
    int64_t bytes;                         /* of an element */
    const struct kind *kind;
    bool odd_rows; /* results may have rows of any length */
};

/* ---- views ------------------------------------------------------------------------------------------------ */

/* Steps through a RESHAPE: axes in groups of equal products, each of which must be one walk on the side of the source. */
static bool through_reshape(const struct shape *out, const struct shape *in, const int64_t *from,
                            int64_t *to) {
    uint32_t i = 0, j = 0;
    while (i < out->n || j < in->n) {
        int64_t p = 1, q = 1, least = 0, next = 0;
        bool first = true;
        uint32_t i0 = i, j0 = j;
        if (i < out->n) p = out->d[i++];
        if (j < in->n) q = in->d[j++];
        while (p != q) {
            if (p < q && i < out->n)
                p *= out->d[i++];
            else if (q < p && j < in->n)
                q *= in->d[j++];
            else
                return false;
        }
        for (uint32_t k = j; k-- > j0;) {
            if (in->d[k] == 1) continue;
            if (first)
                least = from[k], first = false;
            else if (from[k] != next)
                return false;
            next = from[k] * in->d[k];
        }
        for (uint32_t k = i; k-- > i0; least *= out->d[k]) to[k] = out->d[k] > 1 ? least : 0;
    }
    return true;
}

/* The step of every axis of n in the memory below it; false: it is not a view with constant steps. */
static bool view_steps(struct repack *r, const uop *n, int64_t *step, int64_t *offset) {
    const struct shape *out = shape_of(r->sh, n);
    int64_t from[SHAPE_MAX], stride = 1;
    if (n->op == OP_CAST) return view_steps(r, n->src[0], step, offset);
    if (!op_is_movement((enum op)n->op)) {
        *offset = 0;
        for (uint32_t i = out->n; i-- > 0; stride *= out->d[i]) step[i] = out->d[i] > 1 ? stride : 0;
        return true;
    }
    const struct shape *in = shape_of(r->sh, n->src[0]);
    if (!view_steps(r, n->src[0], from, offset)) return false;
    switch (n->op) {
    case OP_RESHAPE: return through_reshape(out, in, from, step);
    case OP_PERMUTE:
        for (uint32_t i = 0; i < out->n; i++) step[i] = from[n->src[1 + i]->arg.i];
        return true;
    case OP_EXPAND:
        for (uint32_t i = 0; i < out->n; i++) step[i] = in->d[i] == 1 ? 0 : from[i];
        return true;
    case OP_SHRINK:
        for (uint32_t i = 0; i < out->n; i++) {
            const uop *start = n->src[1 + 3 * i];
            if (start->op != OP_CONST && from[i] % PIECE) return false; /* may begin anywhere */
            step[i] = out->d[i] > 1 ? from[i] * n->src[3 + 3 * i]->arg.i : 0;
            *offset += start->op == OP_CONST ? start->arg.i * from[i] : 0;
        }
        return true;
    default: return false;
    }
}

/* The same view of what was widened on the way: NULL where there is something else than one widening of a half. */
static const uop *as_loaded(struct repack *r, const uop *n) {
    if (n->op == OP_CAST) return n->dt == DT_F32 && dt_is_float((enum dtype)n->src[0]->dt) ? n->src[0] : NULL;
    if (!op_is_movement((enum op)n->op) || n->op == OP_PAD) return NULL;
    const uop *from = as_loaded(r, n->src[0]);
    if (!from) return NULL;
    const uop **src = arena_array(r->ir->arena, const uop *, n->nsrc);
    memcpy(src, n->src, n->nsrc * sizeof *src);
    src[0] = from;
    return uop_new(r->ir, (enum op)n->op, (enum dtype)from->dt, 1, src, n->nsrc, n->arg);
}

static bool has_cast(const uop *n) {
    while (op_is_movement((enum op)n->op)) n = n->src[0];
    return n->op == OP_CAST;
}

static bool read_operand(struct repack *r, const uop *x, struct operand *o) {
    o->x = has_cast(x) ? as_loaded(r, x) : x;
    return o->x && shape_of(r->sh, o->x) == r->shape && view_steps(r, o->x, o->step, &o->offset);
}

static int64_t up(int64_t n, int64_t step) { return (n + step - 1) / step * step; }

/* ---- which product this is ---------------------------------------------------------------------------------- */

static bool is_reduced(const uop *n, uint32_t axis) {
    for (uint32_t i = 1; i < n->nsrc; i++)
        if (n->src[i]->arg.i == axis) return true;
    return false;
}

static bool find_sides(struct repack *r, const uop *n) {
    for (int i = 0; i <= SIDE_NONE; i++) r->size[i] = 1;
    for (uint32_t i = 0; i < r->shape->n; i++) {
        bool a = r->op[0].step[i] != 0, b = r->op[1].step[i] != 0;
        r->side[i] = r->shape->d[i] == 1 ? SIDE_NONE
                     : is_reduced(n, i)  ? SIDE_K
                     : a && b            ? SIDE_BATCH
                     : a                 ? SIDE_M
                     : b                 ? SIDE_N
                                         : SIDE_NONE;
        if (r->shape->d[i] > 1 && (r->side[i] == SIDE_NONE || (r->side[i] == SIDE_K && (!a || !b))))
            return false;
        r->size[r->side[i]] *= r->shape->d[i];
    }
    return true;
}

/* Do the axes of one side walk through an operand's memory as one? *last: by which steps. */
static bool is_one_walk(const struct repack *r, const struct operand *o, enum side side, int64_t *last) {
    int64_t next = 0;
    *last = 0;
    for (uint32_t i = r->shape->n; i-- > 0;) {
        if (r->side[i] != side) continue;
        if (!*last) *last = o->step[i];
        if (next && o->step[i] != next) return false;
        next = o->step[i] * r->shape->d[i];
    }
    return true;
}

/* Can the tiles of this operand be filled by pieces as it lies? */
static void judge(struct repack *r, int which) {
    struct operand *o = &r->op[which];
    int64_t piece = PIECE / r->bytes, k, own;
    enum side side = which ? SIDE_N : SIDE_M;
    bool k_walks = is_one_walk(r, o, SIDE_K, &k), own_walks = is_one_walk(r, o, side, &own),
         walks = k_walks && own_walks;
    o->along_k = k == 1 || r->kind->only_k;
    o->fits = walks && (k == 1 || (own == 1 && !r->kind->only_k)) && o->offset % piece == 0 &&
              r->size[o->along_k ? SIDE_K : side] % piece == 0;
    for (uint32_t i = 0; i < r->shape->n; i++)
        if (r->side[i] == SIDE_BATCH) o->fits &= o->step[i] % piece == 0;
    o->fits &= (k == 1 ? own : k) % piece == 0;
}

/* Rows of a copy: whole tiles where that adds little, or whole lines of memory (a product whose boxes begin anywhere else takes
 * 30 us, not 23, at 1793), else whole pieces. */
static int64_t padded(const struct repack *r, int64_t n) {
    const int64_t step[] = {ROWS_STEP, K_BYTES / r->bytes};
    for (size_t i = 0; i < RG_COUNT(step); i++)
        if (up(n, step[i]) - n <= n / 16) return up(n, step[i]);
    return up(n, PIECE / r->bytes);
}

/* Seconds that copies cost, against seconds that a product loses without them. */
static bool pays(struct repack *r) {
    double peak = model_value(r->model, r->kind->unit) * r->kind->times * model_value(r->model, MODEL_CLOCK) *
                  1e9 * model_value(r->model, MODEL_CORES);
    double work = 2.0 * (double)r->size[SIDE_BATCH] * (double)r->size[SIDE_M] * (double)r->size[SIDE_N] *
                  (double)r->size[SIDE_K];
    double lost = 1 / r->kind->not -1 / r->kind->fit, copies = 0;
    for (int i = 0; i < 2; i++) {
        if (r->op[i].fits) continue;
        double elements =
            (double)r->size[SIDE_BATCH] * (double)r->size[i ? SIDE_N : SIDE_M] * (double)r->k_padded;
        copies += model_value(r->model, MODEL_LAUNCH) * 1e-9 +
                  2 * elements * (double)r->bytes / (model_value(r->model, MODEL_DRAM_COPY) * 1e9);
    }
    return peak > 0 && work / peak * lost > copies;
}

static bool is_worth_it(struct repack *r) {
    for (int i = 0; i < 2; i++) judge(r, i);
    r->n_padded = r->kind == &floats || r->odd_rows ? r->size[SIDE_N] : up(r->size[SIDE_N], PIECE / 2);
    if (r->n_padded != r->size[SIDE_N]) r->op[1].fits = false; /* it needs as many */
    if (r->op[0].fits && r->op[1].fits) return false;
    if (r->size[SIDE_M] < LEAST_SIDE || r->size[SIDE_N] < LEAST_SIDE || r->size[SIDE_K] < LEAST_SUM)
        return false;
    r->k_padded = up(r->size[SIDE_K], K_BYTES / r->bytes);
    if (r->k_padded != r->size[SIDE_K]) r->op[0].fits = r->op[1].fits = false; /* both have the zeros */
    return pays(r);
}

/* ---- writing it again ----------------------------------------------------------------------------------------- */

/* The axes of these sides in the order (batch .., rest as given); sizes in d, the axes of the product in axis. */
static uint32_t gather_axes(const struct repack *r, const enum side *side, uint32_t n, int64_t *axis) {
    uint32_t k = 0;
    for (uint32_t s = 0; s < n; s++)
        for (uint32_t i = 0; i < r->shape->n; i++)
            if (r->side[i] == side[s]) axis[k++] = i;
    return k;
}

static uint32_t batch_dims(const struct repack *r, int64_t *d) {
    uint32_t k = 0;
    for (uint32_t i = 0; i < r->shape->n; i++)
        if (r->side[i] == SIDE_BATCH) d[k++] = r->shape->d[i];
    return k;
}

/* An operand's elements, once each, as (batch .., own, k). */
static const uop *compact(struct repack *r, int which) {
    struct operand *o = &r->op[which];
    enum side own = which ? SIDE_N : SIDE_M, side[4] = {SIDE_BATCH, own, SIDE_K, SIDE_NONE};
    const uop *src[1 + 3 * SHAPE_MAX] = {o->x};
    int64_t order[SHAPE_MAX], d[SHAPE_MAX];
    uint32_t n = r->shape->n, k = gather_axes(r, side, 4, order);
    for (uint32_t i = 0; i < n; i++) {
        bool once = r->side[i] == (which ? SIDE_M : SIDE_N);
        src[1 + 3 * i] = uop_idx(r->ir, 0);
        src[2 + 3 * i] = uop_idx(r->ir, once ? 1 : r->shape->d[i]);
        src[3 + 3 * i] = uop_idx(r->ir, 1);
        if (once) order[k++] = i;
    }
    const uop *x = uop_mk(r->ir, OP_SHRINK, src, 1 + 3 * n, ARG_NONE);
    x = graph_shaped(r->ir, OP_PERMUTE, x, order, n);
    k = batch_dims(r, d);
    d[k] = r->size[own], d[k + 1] = r->size[SIDE_K];
    return graph_shaped(r->ir, OP_RESHAPE, x, d, k + 2);
}

static const uop *swap_last(struct repack *r, const uop *x) {
    int64_t order[SHAPE_MAX];
    uint32_t n = shape_of(r->sh, x)->n;
    for (uint32_t i = 0; i < n; i++) order[i] = i;
    order[n - 2] = n - 1, order[n - 1] = n - 2;
    return graph_shaped(r->ir, OP_PERMUTE, x, order, n);
}

/* The same with the last two axes made longer by zeros. */
static const uop *pad_last(struct repack *r, const uop *x, const int64_t *to) {
    const struct shape *s = shape_of(r->sh, x);
    const uop *src[2 + 3 * SHAPE_MAX] = {x, uop_flt(r->ir, (enum dtype)x->dt, 0)}, *zero = uop_idx(r->ir, 0);
    for (uint32_t i = 0; i < s->n; i++) {
        src[2 + 3 * i] = src[4 + 3 * i] = zero;
        src[3 + 3 * i] = i + 2 < s->n ? zero : uop_idx(r->ir, to[i + 2 - s->n] - s->d[i]);
    }
    return uop_mk(r->ir, OP_PAD, src, 2 + 3 * s->n, ARG_NONE);
}

/* The first `n` of the axis before the last `after`. */
static const uop *first_of(struct repack *r, const uop *x, uint32_t after, int64_t n) {
    const struct shape *s = shape_of(r->sh, x);
    const uop *src[1 + 3 * SHAPE_MAX] = {x};
    if (s->d[s->n - 1 - after] == n) return x;
    for (uint32_t i = 0; i < s->n; i++) {
        src[1 + 3 * i] = uop_idx(r->ir, 0), src[3 + 3 * i] = uop_idx(r->ir, 1);
        src[2 + 3 * i] = uop_idx(r->ir, i + 1 + after == s->n ? n : s->d[i]);
    }
    return uop_mk(r->ir, OP_SHRINK, src, 1 + 3 * s->n, ARG_NONE);
}

/* The operand as (batch .., m, n, k), copied if it does not fit. */
static const uop *operand(struct repack *r, int which, const uop **stored) {
    struct operand *o = &r->op[which];
    int64_t own = r->size[which ? SIDE_N : SIDE_M], many = which ? r->n_padded : own, d[SHAPE_MAX];
    const uop *x = compact(r, which);
    *stored = NULL;
    if (!o->fits) {
        int64_t to[2] = {padded(r, own), r->k_padded}, turned[2] = {to[1], to[0]};
        if (!o->along_k) x = swap_last(r, x);
        *stored = x = pad_last(r, x, o->along_k ? to : turned);
        if (!o->along_k) x = swap_last(r, x);
        x = first_of(r, x, 1, many);
    }
    x = uop_cast(r->ir, x, DT_F32);
    uint32_t k = batch_dims(r, d);
    d[k] = which ? 1 : many, d[k + 1] = which ? many : 1, d[k + 2] = r->k_padded;
    x = graph_shaped(r->ir, OP_RESHAPE, x, d, k + 3);
    d[k] = r->size[SIDE_M], d[k + 1] = r->n_padded;
    return graph_shaped(r->ir, OP_EXPAND, x, d, k + 3);
}

/* (batch .., m, n, 1) with its axes where the product had them. */
static const uop *put_back(struct repack *r, const uop *x, const struct shape *out) {
    const enum side side[3] = {SIDE_BATCH, SIDE_M, SIDE_N};
    int64_t axis[SHAPE_MAX], d[SHAPE_MAX], order[SHAPE_MAX];
    uint32_t n = gather_axes(r, side, 3, axis), k = 0;
    for (uint32_t i = 0; i < n; i++) d[i] = r->shape->d[axis[i]];
    x = graph_shaped(r->ir, OP_RESHAPE, x, d, n);
    for (uint32_t i = 0; i < r->shape->n; i++)
        for (uint32_t j = 0; j < n; j++)
            if (axis[j] == i) order[k++] = j;
    return graph_shaped(r->ir, OP_RESHAPE, graph_shaped(r->ir, OP_PERMUTE, x, order, n), out->d, out->n);
}

/* The last axis of the result is one of n: rows of it are rows of the sum. */
static void order_operands(struct repack *r) {
    for (uint32_t i = r->shape->n; i-- > 0;) {
        if (r->side[i] == SIDE_N) return;
        if (r->side[i] != SIDE_M) continue;
        struct operand a = r->op[0];
        int64_t m = r->size[SIDE_M];
        r->op[0] = r->op[1], r->op[1] = a;
        r->size[SIDE_M] = r->size[SIDE_N], r->size[SIDE_N] = m;
        for (uint32_t k = 0; k < r->shape->n; k++)
            r->side[k] = r->side[k] == SIDE_M ? SIDE_N : r->side[k] == SIDE_N ? SIDE_M : r->side[k];
        return;
    }
}

/* ---- weights of convolutions ------------------------------------------------------------------------------------ */

/* A factor of halves that is no plain view: the windows of padded images. */
static bool is_windows(const uop *x, enum dtype dt) {
    while (op_is_movement((enum op)x->op)) x = x->src[0];
    return x->op == OP_CAST && (enum dtype)x->src[0]->dt == dt;
}

/* Pieces of the axes of the weights, as the product has them: which axis, and what a step along the piece is worth. */
struct pieces {
    uint32_t axis[SHAPE_MAX], n;
    int64_t size[SHAPE_MAX], worth[SHAPE_MAX];
};

static void add_piece(struct pieces *p, uint32_t axis, int64_t size, int64_t worth) {
    if (p->n < SHAPE_MAX) p->axis[p->n] = axis, p->size[p->n] = size, p->worth[p->n] = worth;
    p->n++;
}

/* The axis of this side of the instruction in pieces: what is left of it, then the digits of the map, the greatest first. */
static void cut_axis(struct pieces *p, const struct mma_map *m, int side, uint32_t axis, int64_t size) {
    int64_t whole = 1;
    for (unsigned i = 0; i < m->nlane + m->nreg; i++) {
        const struct mma_digit *d = i < m->nlane ? &m->lane[i] : &m->reg[i - m->nlane];
        if (d->dim == side) whole *= d->extent;
    }
    add_piece(p, axis, size / whole, whole);
    for (int64_t below = whole; below > 1;)
        for (unsigned i = 0; i < m->nlane + m->nreg; i++) {
            const struct mma_digit *d = i < m->nlane ? &m->lane[i] : &m->reg[i - m->nlane];
            if (d->dim != side || (int64_t)d->extent * d->stride != below) continue;
            add_piece(p, axis, d->extent, below = d->stride);
        }
}

static uint32_t piece_at(const struct pieces *p, uint32_t axis, int64_t worth) {
    for (uint32_t i = 0; i < p->n; i++)
        if (p->axis[i] == axis && p->worth[i] == worth) return i;
    return 0;
}

/* The order in memory: taps, what is left of the axes, then digits of the lane's number and of the register's, the fastest last. */
static void order_pieces(const struct pieces *p, const struct mma_map *m, const uint32_t axis[3],
                         int64_t *order) {
    uint32_t k = 0, last = p->n;
    for (unsigned i = 0; i < m->nreg + m->nlane; i++) {
        const struct mma_digit *d = i < m->nreg ? &m->reg[i] : &m->lane[i - m->nreg];
        order[--last] = piece_at(p, axis[d->dim], d->stride);
    }
    for (uint32_t i = 0; i < p->n; i++) {
        bool placed = false;
        for (uint32_t j = last; j < p->n; j++) placed |= order[j] == (int64_t)i;
        if (!placed && p->axis[i] != axis[MMA_M] && p->axis[i] != axis[MMA_K]) order[k++] = i;
    }
    for (uint32_t i = 0; i < p->n; i++) {
        bool placed = false;
        for (uint32_t j = 0; j < p->n; j++) placed |= (j < k || j >= last) && order[j] == (int64_t)i;
        if (!placed) order[k++] = i;
    }
}

/* The axes of the weights: those of an instruction's m and k, and taps. axis[MMA_M], axis[MMA_K]: their own and the summed one. */
static bool find_taps(struct repack *r, const uop *n, const struct operand *w, uint32_t axis[3]) {
    uint32_t own = 0, summed = 0, taps = 0;
    double work = 2;
    for (uint32_t i = 0; i < r->shape->n; i++) {
        int64_t d = r->shape->d[i];
        bool sum = is_reduced(n, i);
        work *= (double)d;
        if (d == 1) continue;
        if (!w->step[i]) {
            if (sum) return false;
        } else if (sum && d <= MOST_TAPS) {
            taps++;
        } else {
            axis[sum ? MMA_K : MMA_M] = i;
            *(sum ? &summed : &own) += 1;
        }
    }
    return own == 1 && summed == 1 && taps && work >= TAPS_WORK && r->shape->d[axis[MMA_M]] % 64 == 0 &&
           r->shape->d[axis[MMA_K]] % 64 == 0;
}

/* The weights, once each, as (pieces .. in this order), and back. */
static const uop *pack_taps(struct repack *r, const uop *x, const struct operand *w, const struct pieces *p,
                            const int64_t *order, const uop **stored) {
    const uop *src[1 + 3 * SHAPE_MAX] = {x};
    int64_t back[SHAPE_MAX], one[SHAPE_MAX];
    for (uint32_t i = 0; i < r->shape->n; i++) {
        one[i] = w->step[i] ? r->shape->d[i] : 1;
        src[1 + 3 * i] = uop_idx(r->ir, 0), src[3 + 3 * i] = uop_idx(r->ir, 1);
        src[2 + 3 * i] = uop_idx(r->ir, one[i]);
    }
    for (uint32_t i = 0; i < p->n; i++) back[order[i]] = i;
    x = uop_mk(r->ir, OP_SHRINK, src, 1 + 3 * r->shape->n, ARG_NONE);
    x = graph_shaped(r->ir, OP_RESHAPE, x, p->size, p->n);
    *stored = x = graph_shaped(r->ir, OP_PERMUTE, x, order, p->n);
    x = graph_shaped(r->ir, OP_PERMUTE, x, back, p->n);
    x = uop_cast(r->ir, graph_shaped(r->ir, OP_RESHAPE, x, one, r->shape->n), DT_F32);
    return graph_shaped(r->ir, OP_EXPAND, x, r->shape->d, r->shape->n);
}

/* A convolution of halves, over weights that lie as the lanes of a MMA instruction take them. */
static const uop *repack_taps(struct repack *r, const uop *n, const uop **stored) {
    const uop *mul = n->src[0], *factor[2];
    for (int i = 0; i < 2; i++) {
        struct operand w;
        struct pieces p = {.n = 0};
        int64_t order[SHAPE_MAX];
        uint32_t axis[3] = {0};
        if (!read_operand(r, mul->src[i], &w) || dtype_info[w.x->dt].bytes != 2) continue;
        if (!is_windows(mul->src[!i], (enum dtype)w.x->dt) || !find_taps(r, n, &w, axis)) continue;
        struct mma_map m = mma_map(MMA_WRBF16_56, MMA_A); /* alike for all of them */
        for (uint32_t a = 0; a < r->shape->n; a++)
            if (a == axis[MMA_M] || a == axis[MMA_K])
                cut_axis(&p, &m, a == axis[MMA_M] ? MMA_M : MMA_K, a, r->shape->d[a]);
            else if (w.step[a])
                add_piece(&p, a, r->shape->d[a], 1);
        if (p.n > SHAPE_MAX) return NULL;
        order_pieces(&p, &m, axis, order);
        factor[i] = pack_taps(r, w.x, &w, &p, order, stored), factor[!i] = mul->src[!i];
        const uop **src = arena_array(r->ir->arena, const uop *, n->nsrc);
        memcpy(src, n->src, n->nsrc * sizeof *src);
        src[0] = uop2(r->ir, OP_MUL, factor[0], factor[1]);
        return uop_new(r->ir, OP_REDUCE_AXES, (enum dtype)n->dt, 1, src, n->nsrc, n->arg);
    }
    return NULL;
}

bool repack_product(struct ir *ir, struct shapes *sh, const uop *n, const struct sched_opts *o,
                    struct repacked *out) {
    const uop *mul = n->src[0];
    bool groups = o->capability / 10 == 9; /* instructions of warpgroups, roles */
    struct repack r = {.ir = ir, .sh = sh, .model = o->model, .odd_rows = out->odd_rows && groups};
    if (n->arg.i != OP_ADD || mul->op != OP_MUL || mul->dt != DT_F32 || o->capability < 80) return false;
    r.shape = shape_of(sh, mul);
    if (r.shape->n > PLANES || !shape_size(r.shape)) return false;
    if (groups && (out->sum = repack_taps(&r, n, &out->stored[0]))) return true;
    for (int i = 0; i < 2; i++)
        if (!read_operand(&r, mul->src[i], &r.op[i])) return false;
    if (r.op[0].x->dt != r.op[1].x->dt) return false;
    r.bytes = dtype_info[r.op[0].x->dt].bytes;
    r.kind = r.bytes == 1 ? &bytes : r.bytes == 2 ? &halves : env_int(ENV_TF32) && groups ? &tf32 : &floats;
    if (!find_sides(&r, n)) return false;
    order_operands(&r);
    if (!is_worth_it(&r)) return false;
    const uop *a = operand(&r, 0, &out->stored[0]), *b = operand(&r, 1, &out->stored[1]);
    int64_t last = shape_of(sh, a)->n - 1;
    const uop *sum = uop_mk(ir, OP_REDUCE_AXES, (const uop *[]){uop2(ir, OP_MUL, a, b), uop_idx(ir, last)}, 2,
                            (union arg){.i = OP_ADD});
    out->rows = r.n_padded != r.size[SIDE_N] ? sum : NULL;
    out->sum = put_back(&r, first_of(&r, sum, 1, r.size[SIDE_N]), shape_of(sh, n));
    return true;
}
