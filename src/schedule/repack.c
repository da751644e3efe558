/* repack.c: pads and copies operands of a large GEMM whose layout a GPU cannot load as tiles.
 *
 * 16-byte loads (cp.async, TMA) need rows aligned to 16 bytes; rows of 4095 16-bit floats go element by element, at a
 * fraction of the speed. So the GEMM is rewritten over one axis each of M, N, K (and the batch axes), and an operand that
 * is not aligned becomes a padded copy, which the planner must store:
 *
 *     sum_k a[m][k] b[k][n]   ->   sum_k' A[m][k'] B[k'][n],   A = stored(PAD(a)), B = stored(PAD(b))
 *
 * Result rows have the same problem: rows of an odd number of 16-bit floats cannot be stored 16 bytes at a time. A
 * warp-specialized epilogue stores them well (codegen/gpu/epilogue_unaligned.c). Without one, or where the result is combined
 * with another tensor of its size, whose rows would be loaded element by element, N is padded and a SHRINK follows: where the
 * sum is rounded to 16 bits, the padded result is stored (plan_graph.c) and copied 16 bytes at a time.
 * K is padded with zeros to whole tiles, so that no iteration needs a bounds predicate. A copy keeps the major axis of its
 * source. Doing this on the graph, before planning, fuses the producer of an operand with its padding, shares a copy between
 * GEMMs, and shows the copy to profiler and memory planner; codegen sees aligned operands only. The machine model decides: the
 * time of the copies against what an unaligned GEMM loses.
 *
 * A 16-bit convolution loads its weights from memory straight into the registers of MMA instructions (gpu_conv.c). In the given
 * layout the summed channels are strided, one load per element; the copy has the eight elements of each lane contiguous, in the
 * order of the instruction's register layout.
 * Requires: a REDUCE_AXES of a MUL in the planner's graph. Gives: the same value over stored, aligned operands.
 * Tests: tests/unit/repack.c */
#include "schedule/internal.h"

#include <math.h>

enum {
    CHUNK_BYTES = 16,   /* one vectorized copy */
    K_BYTES = 128,      /* of K in a tile; K is padded to a multiple */
    LONG_SUM = 1 << 14, /* a K that may be split: padded to .. */
    K_PARTS = 32,       /* .. whole tiles in each of its parts, .. */
    K_LITTLE = 128,     /* .. where that adds a part in as many */
    ROWS_STEP = 128, /* rows of the largest tiles; M and N are padded to a multiple where that adds little */
    LEAST_SIDE = 64, /* smallest M and N, in elements, that are repacked */
    LEAST_SUM = 192, /* smallest K .. */
    LEAST_NARROW = 32,      /* .. of 8- and 16-bit elements, no whole chunks .. */
    MANY_RESULTS = 1 << 24, /* .. and as many results */
    MOST_AXES = 14,         /* two fewer than SHAPE_MAX: operands gain axes */
    MOST_TAPS = 11,         /* filter taps along an axis */
    TAPS_WORK = 80000000    /* FLOP of a convolution whose weights are worth a copy */
};

/* Peak rate of a GEMM by element type, and the fraction of it that aligned and unaligned operands reach
 * (docs/measurements/2026-11-16-h200-notes.md). */
struct repack_rate {
    enum model_field peak; /* FLOP per cycle and SM .. */
    double times;          /* .. times this */
    double aligned, unaligned;
    bool k_major; /* MMA instructions take K-major operands only */
};
static const struct repack_rate
    rate_16bit = {.peak = MODEL_MATRIX_BF16, .times = 1, .aligned = 0.55, .unaligned = 0.16},
    rate_f32 = {.peak = MODEL_FLOPS_F32, .times = 1, .aligned = 0.70, .unaligned = 0.57},
    rate_tf32 = {.peak = MODEL_MATRIX_BF16,
                 .times = 0.5,
                 .aligned = 0.50,
                 .unaligned = 0.13,
                 .k_major = true},
    rate_8bit = {.peak = MODEL_MATRIX_BF16, .times = 2, .aligned = 0.50, .unaligned = 0.02, .k_major = true};

enum gemm_side { SIDE_BATCH, SIDE_M, SIDE_N, SIDE_K, SIDE_NONE };

/* An operand as a strided view of memory. */
struct repack_operand {
    const uop *x; /* before widening, broadcast to the GEMM's shape */
    int64_t step[SHAPE_MAX], offset;
    bool k_major;
    bool strided; /* the axes of each side follow each other in memory */
    bool aligned; /* its tiles can be loaded 16 bytes at a time */
    bool pieces;  /* .. nor by panels of its rows: its elements pass through registers */
};

struct repack {
    struct ir *ir;
    struct shapes *sh;
    const struct model *model;
    const struct shape *shape; /* of the MUL: M, N, K and batch axes */
    enum gemm_side side[SHAPE_MAX];
    struct repack_operand op[2];
    int64_t size[SIDE_NONE + 1]; /* product of the axes of a side */
    int64_t k_padded, n_padded;
    int64_t bytes; /* of an element */
    const struct repack_rate *rate;
    bool any_rows; /* result rows may have any length */
};

/* ---- views ------------------------------------------------------------------------------------------------ */

/* Strides through a RESHAPE: axes are matched in groups of equal size; the source axes of a group must be contiguous. */
static bool through_reshape(const struct shape *out, const struct shape *in, const int64_t *from,
                            int64_t *to) {
    uint32_t i = 0, j = 0;
    while (i < out->n || j < in->n) {
        int64_t least = 0, next = 0;
        bool first = true;
        uint32_t i0 = i, j0 = j;
        if (!reshape_group(out, &i, in, &j)) return false;
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

/* The stride of every axis of n in the memory below it; false: n is no strided view. */
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
            if (start->op != OP_CONST && from[i] % CHUNK_BYTES) return false; /* alignment not known */
            step[i] = out->d[i] > 1 ? from[i] * n->src[3 + 3 * i]->arg.i : 0;
            *offset += start->op == OP_CONST ? start->arg.i * from[i] : 0;
        }
        return true;
    default: return false;
    }
}

/* The same view of the value before it was widened to fp32 or i32; NULL: there is more than one widening cast. */
static const uop *as_loaded(struct repack *r, const uop *n) {
    if (n->op == OP_CAST) {
        enum dtype from = (enum dtype)n->src[0]->dt;
        bool wide = n->dt == DT_F32 ? dt_is_float(from) : dt_is_int(from) && dtype_info[from].bytes == 1;
        return wide ? n->src[0] : NULL;
    }
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

static bool read_operand(struct repack *r, const uop *x, struct repack_operand *o) {
    o->x = has_cast(x) ? as_loaded(r, x) : x;
    return o->x && shape_of(r->sh, o->x) == r->shape && view_steps(r, o->x, o->step, &o->offset);
}

static int64_t up(int64_t n, int64_t step) { return (n + step - 1) / step * step; }

/* ---- M, N, K ------------------------------------------------------------------------------------------------ */

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

/* Are the axes of one side contiguous in an operand's memory? *last: the stride of the innermost. */
static bool is_contiguous(const struct repack *r, const struct repack_operand *o, enum gemm_side side,
                          int64_t *last) {
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

/* Can the tiles of this operand be loaded 16 bytes at a time as it is? */
static void judge(struct repack *r, int which) {
    struct repack_operand *o = &r->op[which];
    int64_t chunk = CHUNK_BYTES / r->bytes, k, own;
    enum gemm_side side = which ? SIDE_N : SIDE_M;
    bool k_contiguous = is_contiguous(r, o, SIDE_K, &k), own_contiguous = is_contiguous(r, o, side, &own);
    bool major_fits = k == 1 || (own == 1 && !r->rate->k_major);
    o->k_major = k == 1 || r->rate->k_major;
    o->strided = k_contiguous && own_contiguous;
    o->aligned = o->strided && major_fits && o->offset % chunk == 0 &&
                 r->size[o->k_major ? SIDE_K : side] % chunk == 0;
    for (uint32_t i = 0; i < r->shape->n; i++)
        if (r->side[i] == SIDE_BATCH) o->aligned &= o->step[i] % chunk == 0;
    o->aligned &= (k == 1 ? own : k) % chunk == 0;
}

/* Can TMA load the operand panel by panel? Also rows that come in pieces, the channels of each image of a 1 x 1 convolution, if a
 * piece is whole panels. */
static bool has_panels(const struct repack *r, int which) {
    const struct repack_operand *o = &r->op[which];
    int64_t chunk = CHUNK_BYTES / r->bytes, run = 1, k;
    bool fits = is_contiguous(r, o, SIDE_K, &k) && k % chunk == 0 && o->offset % chunk == 0 && r->bytes == 2;
    if (o->aligned) return true;
    for (uint32_t i = r->shape->n; i-- > 0;) {
        bool own = r->side[i] == (which ? SIDE_N : SIDE_M);
        if (own && o->step[i] == run)
            run *= r->shape->d[i];
        else if (own || r->side[i] == SIDE_BATCH)
            fits &= o->step[i] % chunk == 0;
    }
    return fits && run % (K_BYTES / r->bytes) == 0;
}

/* Whole lines of n terms; of a long sum with few results (a by b) as many as parts of it that a GPU wants, or 0. */
static int64_t in_parts(const struct repack *r, int64_t n, int64_t a, int64_t b) {
    int64_t step = K_BYTES / r->bytes, parts = 1;
    double tiles =
        (double)(r->size[SIDE_BATCH] * ((a + ROWS_STEP - 1) / ROWS_STEP) * ((b + ROWS_STEP - 1) / ROWS_STEP));
    while (n >= LONG_SUM && parts < K_PARTS && tiles * (double)parts < model_value(r->model, MODEL_CORES) &&
           up(n, 2 * parts * step) - n <= n / K_LITTLE)
        parts *= 2;
    return parts > 1 ? up(n, parts * step) : 0;
}

static int64_t padded_k(const struct repack *r) {
    int64_t n = in_parts(r, r->size[SIDE_K], r->size[SIDE_M], r->size[SIDE_N]);
    return n ? n : up(r->size[SIDE_K], K_BYTES / r->bytes);
}

/* Rows of a copy: those of the sum that a gradient reads along them, or whole tiles where that adds little, or whole cache lines (TMA
 * boxes that start elsewhere make a GEMM of 1793 take 30 us, not 23), else whole 16-byte chunks. */
static int64_t padded(const struct repack *r, int which) {
    int64_t n = r->size[which ? SIDE_N : SIDE_M],
            parts = in_parts(r, n, r->size[which ? SIDE_M : SIDE_N], r->size[SIDE_K]);
    const int64_t step[] = {ROWS_STEP, K_BYTES / r->bytes}, little[] = {16, 8};
    for (size_t i = 0; i < RG_COUNT(step) && !parts; i++)
        if (up(n, step[i]) - n <= n / little[i]) return up(n, step[i]);
    return parts ? parts : up(n, CHUNK_BYTES / r->bytes);
}

/* Seconds of loading and storing what is not aligned: 16-bit elements of tiles pass through registers, and results of odd rows are
 * stored one by one. */
static double piecewise(const struct repack *r) {
    enum { HIGH = 128, WIDE = 256, ISSUED = 4, WARP = 32, AT_ONCE = 2 };
    double m = (double)r->size[SIDE_M], n = (double)r->size[SIDE_N], k = (double)r->size[SIDE_K],
           tile = (r->op[0].pieces ? HIGH : 0) + (r->op[1].pieces ? WIDE : 0),
           loads = ceil(m / HIGH) * ceil(n / WIDE) * tile,
           odd = r->size[SIDE_N] % (CHUNK_BYTES / r->bytes) ? m * n * (double)r->bytes : 0,
           clocks = loads * k * gpu_cost.gather_issue / (WARP * ISSUED) +
                    AT_ONCE * odd / gpu_cost.store_rate[0] - odd / gpu_cost.store_rate[AT_ONCE];
    return (double)r->size[SIDE_BATCH] * clocks /
           (model_value(r->model, MODEL_CLOCK) * 1e9 * model_value(r->model, MODEL_CORES));
}

/* Do the copies take less time than the GEMM loses without them? */
static bool pays(struct repack *r) {
    double peak = model_value(r->model, r->rate->peak) * r->rate->times * model_value(r->model, MODEL_CLOCK) *
                  1e9 * model_value(r->model, MODEL_CORES);
    double work = 2.0 * (double)r->size[SIDE_BATCH] * (double)r->size[SIDE_M] * (double)r->size[SIDE_N] *
                  (double)r->size[SIDE_K];
    double aligned = work / peak / r->rate->aligned, unaligned = work / peak / r->rate->unaligned, copies = 0;
    if (r->bytes == 2) unaligned = RG_MAX(unaligned, piecewise(r));
    for (int i = 0; i < 2; i++) {
        if (r->op[i].aligned) continue;
        double elements =
            (double)r->size[SIDE_BATCH] * (double)r->size[i ? SIDE_N : SIDE_M] * (double)r->k_padded;
        copies += model_value(r->model, MODEL_LAUNCH) * 1e-9 +
                  2 * elements * (double)r->bytes / (model_value(r->model, MODEL_DRAM_COPY) * 1e9);
    }
    return peak > 0 && unaligned - aligned > copies;
}

static bool is_worth_it(struct repack *r) {
    for (int i = 0; i < 2; i++) judge(r, i), r->op[i].pieces = r->op[i].strided && !has_panels(r, i);
    bool keep_n = r->rate == &rate_f32 || r->any_rows;
    r->n_padded = keep_n ? r->size[SIDE_N] : up(r->size[SIDE_N], CHUNK_BYTES / 2);
    if (r->n_padded != r->size[SIDE_N]) r->op[1].aligned = false; /* padded too */
    if (r->op[0].aligned && r->op[1].aligned) return false;
    bool many = r->bytes < 4 && r->size[SIDE_K] * r->bytes % CHUNK_BYTES &&
                r->size[SIDE_M] * r->size[SIDE_N] >= MANY_RESULTS;
    if (r->size[SIDE_M] < LEAST_SIDE || r->size[SIDE_N] < LEAST_SIDE ||
        r->size[SIDE_K] < (many ? LEAST_NARROW : LEAST_SUM))
        return false;
    r->k_padded = padded_k(r);
    if (r->k_padded != r->size[SIDE_K]) r->op[0].aligned = r->op[1].aligned = false; /* both get zeros */
    return pays(r);
}

/* ---- rewriting ------------------------------------------------------------------------------------------------ */

/* The axes of the MUL that belong to these sides, side by side in the given order. */
static uint32_t gather_axes(const struct repack *r, const enum gemm_side *side, uint32_t n, int64_t *axis) {
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

/* The operand without its broadcast axes, as (batch .., own, k). */
static const uop *compact(struct repack *r, int which) {
    struct repack_operand *o = &r->op[which];
    enum gemm_side own = which ? SIDE_N : SIDE_M, side[4] = {SIDE_BATCH, own, SIDE_K, SIDE_NONE};
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

/* Sizes in the order of memory, and where each piece went; false: the pieces are not all of n elements, each once. */
static bool memory_order(const int64_t *size, const int64_t *step, uint32_t n, int64_t elements, int64_t *d,
                         int64_t *order) {
    int64_t next = 1;
    for (uint32_t at = n; at-- > 0; next *= d[at]) {
        uint32_t i = 0;
        while (i < n && step[i] != next) i++;
        if (i == n) return false;
        d[at] = size[i], order[i] = at;
    }
    return next == elements;
}

/* The operand as it is stored, (batch .., rows, columns), from what is below its views by as few axes as possible: copies that are
 * equal are one node, however a GEMM and its gradients view it. NULL: it is a part, or not a permutation. */
static const uop *permuted(struct repack *r, int which) {
    const struct repack_operand *o = &r->op[which];
    enum gemm_side own = which ? SIDE_N : SIDE_M,
                   side[3] = {SIDE_BATCH, o->k_major ? own : SIDE_K, o->k_major ? SIDE_K : own};
    int64_t axis[SHAPE_MAX], size[SHAPE_MAX], step[SHAPE_MAX], d[SHAPE_MAX], order[SHAPE_MAX];
    uint32_t n = gather_axes(r, side, 3, axis), k = 0;
    const uop *x = o->x;
    while (op_is_movement((enum op)x->op)) x = x->src[0];
    if (o->offset || (x->op == OP_CAST && op_is_movement((enum op)uop_uncast(x)->op))) return NULL;
    for (uint32_t i = 0; i < n; i++) {
        int64_t now = r->shape->d[axis[i]], at = o->step[axis[i]];
        if (now == 1) continue;
        bool follows = k && step[k - 1] == at * now;
        k += !follows;
        size[k - 1] = follows ? size[k - 1] * now : now, step[k - 1] = at;
    }
    if (!k || !memory_order(size, step, k, shape_size(shape_of(r->sh, x)), d, order)) return NULL;
    x = graph_shaped(r->ir, OP_PERMUTE, graph_shaped(r->ir, OP_RESHAPE, x, d, k), order, k);
    k = batch_dims(r, d);
    d[k] = r->size[side[1]], d[k + 1] = r->size[side[2]];
    return graph_shaped(r->ir, OP_RESHAPE, x, d, k + 2);
}

/* x with its last two axes zero-padded to the sizes `to`. */
static const uop *pad_last(struct repack *r, const uop *x, const int64_t *to) {
    const struct shape *s = shape_of(r->sh, x);
    const uop *src[2 + 3 * SHAPE_MAX] = {x, uop_identity(r->ir, OP_ADD, (enum dtype)x->dt)},
                           *zero = uop_idx(r->ir, 0);
    for (uint32_t i = 0; i < s->n; i++) {
        src[2 + 3 * i] = src[4 + 3 * i] = zero;
        src[3 + 3 * i] = i + 2 < s->n ? zero : uop_idx(r->ir, to[i + 2 - s->n] - s->d[i]);
    }
    return uop_mk(r->ir, OP_PAD, src, 2 + 3 * s->n, ARG_NONE);
}

/* The first n elements of the axis that is followed by `after` axes. */
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

/* The operand as (batch .., m, n, k); a padded copy if it is not aligned. */
static const uop *operand(struct repack *r, int which, const uop **stored) {
    struct repack_operand *o = &r->op[which];
    int64_t own = r->size[which ? SIDE_N : SIDE_M], many = which ? r->n_padded : own, d[SHAPE_MAX];
    const uop *x = compact(r, which), *whole = o->aligned ? NULL : permuted(r, which);
    *stored = NULL;
    if (!o->aligned) {
        int64_t to[2] = {padded(r, which), r->k_padded}, transposed[2] = {to[1], to[0]};
        if (whole || !o->k_major) x = whole ? whole : swap_last(r, x);
        *stored = x = pad_last(r, x, o->k_major ? to : transposed);
        if (!o->k_major) x = swap_last(r, x);
        x = first_of(r, x, 1, many);
    }
    x = uop_cast(r->ir, x, dt_is_float((enum dtype)x->dt) ? DT_F32 : DT_I32);
    uint32_t k = batch_dims(r, d);
    d[k] = which ? 1 : many, d[k + 1] = which ? many : 1, d[k + 2] = r->k_padded;
    x = graph_shaped(r->ir, OP_RESHAPE, x, d, k + 3);
    d[k] = r->size[SIDE_M], d[k + 1] = r->n_padded;
    return graph_shaped(r->ir, OP_EXPAND, x, d, k + 3);
}

/* (batch .., m, n, 1) with the axes in the order of the original result. */
static const uop *restore_axes(struct repack *r, const uop *x, const struct shape *out) {
    const enum gemm_side side[3] = {SIDE_BATCH, SIDE_M, SIDE_N};
    int64_t axis[SHAPE_MAX], d[SHAPE_MAX], order[SHAPE_MAX];
    uint32_t n = gather_axes(r, side, 3, axis), k = 0;
    for (uint32_t i = 0; i < n; i++) d[i] = r->shape->d[axis[i]];
    x = graph_shaped(r->ir, OP_RESHAPE, x, d, n);
    for (uint32_t i = 0; i < r->shape->n; i++)
        for (uint32_t j = 0; j < n; j++)
            if (axis[j] == i) order[k++] = j;
    return graph_shaped(r->ir, OP_RESHAPE, graph_shaped(r->ir, OP_PERMUTE, x, order, n), out->d, out->n);
}

/* Swaps the operands if need be, so that the last axis of the result belongs to N. */
static void order_operands(struct repack *r) {
    for (uint32_t i = r->shape->n; i-- > 0;) {
        if (r->side[i] == SIDE_N) return;
        if (r->side[i] != SIDE_M) continue;
        struct repack_operand a = r->op[0];
        int64_t m = r->size[SIDE_M];
        r->op[0] = r->op[1], r->op[1] = a;
        r->size[SIDE_M] = r->size[SIDE_N], r->size[SIDE_N] = m;
        for (uint32_t k = 0; k < r->shape->n; k++)
            r->side[k] = r->side[k] == SIDE_M ? SIDE_N : r->side[k] == SIDE_N ? SIDE_M : r->side[k];
        return;
    }
}

/* ---- convolution weights ---------------------------------------------------------------------------------------- */

/* The unfolded, padded images: a widened 16-bit value that is no strided view. */
static bool is_unfolded(const uop *x, enum dtype dt) {
    bool windows = false;
    for (; op_is_movement((enum op)x->op); x = x->src[0]) windows |= x->op == OP_UNFOLD || x->op == OP_FOLD;
    return windows && x->op == OP_CAST && (enum dtype)x->src[0]->dt == dt;
}

/* The axes of the weights, split along the register layout of an MMA instruction: axis of the MUL, size and stride of each. */
struct weight_pieces {
    uint32_t axis[SHAPE_MAX], n;
    int64_t size[SHAPE_MAX], stride[SHAPE_MAX];
};

static void add_piece(struct weight_pieces *p, uint32_t axis, int64_t size, int64_t stride) {
    if (p->n < SHAPE_MAX) p->axis[p->n] = axis, p->size[p->n] = size, p->stride[p->n] = stride;
    p->n++;
}

/* Splits the axis by the instruction's digits of this side: whole instructions first, then the digits, largest stride first. */
static void cut_axis(struct weight_pieces *p, const struct mma_map *m, int side, uint32_t axis,
                     int64_t size) {
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

static uint32_t piece_at(const struct weight_pieces *p, uint32_t axis, int64_t stride) {
    for (uint32_t i = 0; i < p->n; i++)
        if (p->axis[i] == axis && p->stride[i] == stride) return i;
    return 0;
}

/* The order in memory: taps, whole instructions, then the digits of lane and register, the fastest last. */
static void order_pieces(const struct weight_pieces *p, const struct mma_map *m, const uint32_t axis[3],
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

/* The axes of the weights: axis[MMA_M] output channels, axis[MMA_K] input channels, and filter taps. False: n is no convolution. */
static bool find_taps(struct repack *r, const uop *n, const struct repack_operand *w, uint32_t axis[3]) {
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

/* The weights without broadcast axes, stored in this order of pieces and viewed as before. */
static const uop *pack_taps(struct repack *r, const uop *x, const struct repack_operand *w,
                            const struct weight_pieces *p, const int64_t *order, const uop **stored) {
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

/* A 16-bit convolution over weights in the register layout of an MMA instruction. */
static const uop *repack_taps(struct repack *r, const uop *n, const uop **stored) {
    const uop *mul = n->src[0], *factor[2];
    for (int i = 0; i < 2; i++) {
        struct repack_operand w;
        struct weight_pieces p = {.n = 0};
        int64_t order[SHAPE_MAX];
        uint32_t axis[3] = {0};
        if (!read_operand(r, mul->src[i], &w) || dtype_info[w.x->dt].bytes != 2) continue;
        if (!is_unfolded(mul->src[!i], (enum dtype)w.x->dt) || !find_taps(r, n, &w, axis)) continue;
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

bool repack_gemm(struct ir *ir, struct shapes *sh, const uop *n, const struct sched_opts *o,
                 struct repacked *out) {
    const uop *mul = n->src[0];
    bool hopper = o->capability / 10 == 9; /* wgmma, warp specialization */
    struct repack r = {.ir = ir, .sh = sh, .model = o->model, .any_rows = out->any_rows && hopper};
    bool bytes = mul->dt == DT_I32; /* products of 8-bit integers alone */
    if (n->arg.i != OP_ADD || mul->op != OP_MUL || (mul->dt != DT_F32 && !bytes) || o->capability < 80)
        return false;
    r.shape = shape_of(sh, mul);
    if (r.shape->n > MOST_AXES || !shape_size(r.shape)) return false;
    if (!bytes && implicit_gemm(ir, sh, n, o, false, out)) return true;
    if (!bytes && hopper && (out->sum = repack_taps(&r, n, &out->stored[0]))) return true;
    for (int i = 0; i < 2; i++)
        if (!read_operand(&r, mul->src[i], &r.op[i])) return !bytes && implicit_gemm(ir, sh, n, o, true, out);
    if (r.op[0].x->dt != r.op[1].x->dt) return false;
    r.bytes = dtype_info[r.op[0].x->dt].bytes;
    if (bytes && r.bytes > 1) return false;
    bool tf32 = env_int(ENV_TF32) && hopper;
    r.rate = r.bytes == 1 ? &rate_8bit : r.bytes == 2 ? &rate_16bit : tf32 ? &rate_tf32 : &rate_f32;
    if (!find_sides(&r, n)) return false;
    order_operands(&r);
    if (!is_worth_it(&r)) {
        bool as_it_is = hopper && has_panels(&r, 0) && has_panels(&r, 1);
        return !as_it_is && !bytes && (!r.op[0].strided || !r.op[1].strided) &&
               implicit_gemm(ir, sh, n, o, true, out);
    }
    const uop *a = operand(&r, 0, &out->stored[0]), *b = operand(&r, 1, &out->stored[1]);
    int64_t last = shape_of(sh, a)->n - 1;
    const uop *sum = uop_mk(ir, OP_REDUCE_AXES, (const uop *[]){uop2(ir, OP_MUL, a, b), uop_idx(ir, last)}, 2,
                            (union arg){.i = OP_ADD});
    const struct gpu_spec *gpu = o->spec ? o->spec : gpu_spec_default();
    const uop *split = o->no_split ? NULL : split_reduction(ir, sh, sum, gpu, NULL, &out->stored[2]);
    if (split) sum = split;
    out->padded = r.n_padded != r.size[SIDE_N] ? sum : NULL;
    out->sum = restore_axes(&r, first_of(&r, sum, 1, r.size[SIDE_N]), shape_of(sh, n));
    return true;
}
