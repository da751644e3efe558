/* split.c: two-level reductions and split-K. A reduction with few results becomes two, so that all cores have work.
 *
 * The first reduction makes one partial result per block of about 16,000 elements, the second combines them. Block sizes
 * depend on shapes alone, never on the number of threads: equal bits on every machine. Partial sums of 16-bit floats are fp32.
 *   variance    sum(x - mean) and sum((x - mean)^2) with the mean of the same x would read x twice. Per-block means (Chan, Golub,
 *               LeVeque) make them sums over blocks: one pass, as accurate as two.
 *   columns     CPU: column sums of a matrix larger than the caches are split into blocks of rows, so that each core streams
 *               whole rows (docs/measurements/2026-11-15-neoverse-v1.md, Reading memory).
 *               GPU: one thread per column; split until the GPU has threads enough (threads_columns per SM). Rows: one thread block per row.
 *   split-K     CPU: a GEMM with few results and a very long K, by its sizes: results x splits are tiles for 64 threads.
 *               GPU: a GEMM with fewer output tiles than SMs and a long K becomes a batch of GEMMs and a small reduction. For
 *               16-bit operands the cost model picks the number of splits: larger tiles load fewer bytes from L2, more splits
 *               write and read more partial sums. Of a K without divisors the rest is added to their sum.
 *   rows        Sums that a kernel keeps in rows (attention's scores) are not split (sums_in_rows).
 *   wgrad       CPU: a convolution's weight gradient is split by images and rows, by its sizes: each part has all channels and taps,
 *               so that no thread packs the images of another again.
 *               GPU: by images and rows too, until every SM holds a share of the accumulators in registers; zeros fill up the
 *               last part. Columns stay whole: threads that load along K read neighbours.
 * Requires: the planner's tensor graph, before units are found. Gives: the same value as a graph of two reductions.
 * Tests: tests/unit/schedule.c */
#include "schedule/internal.h"

#include <math.h>

enum {
    MANY_RESULTS = 64,
    BLOCK = 16384,
    BLOCK_MIN = 2048,
    BLOCK_MAX = 262144,
    WHOLE = 8,          /* elements that vectors of any width divide */
    MOST_BLOCKS = 4096, /* of a reduced axis: terms of the second reduction */
    BLOCK_TERMS = 16,   /* fewest terms of one */
    PIECE = 32,         /* terms that a warp reads at once */
    SHORT_ROW = 4096,   /* terms that a thread block reads at once: a second kernel costs more .. */
    SHORT_ROWS = 32,    /* .. if there are as many rows */
    SIDE_COLUMNS = 16,  /* columns side by side that a block reads, at least; a GPU has some for each SM .. */
    LEAST_COLUMNS = 16,
    BUSY_COLUMNS = 64, /* .. and these for each keep memory busy */
    WHOLE_ROW =
        160
        << 10, /* bytes of a row that a block reads in less time than a second kernel takes, where they are few */
    LONG_ROW = 1 << 17, /* terms: more than a thread block keeps of a row */
    WORTH_IT = 1 << 17,
    LONG_COLUMNS = 1 << 20, /* elements: a core's caches do not hold them */
    COLUMN_BLOCKS = 16,     /* of a column sum, fewest .. */
    COLUMN_BLOCKS_MOST = 64,
    COLUMN_ROWS = 64, /* .. and rows of one that are worth more of them */
    FEW_PARTS = 8,    /* a divisor of as little of what is wanted, of an axis as short, is none */
    FEW_ALONG = 32,   /* rows of a skinny GEMM whose matrix is K-major, or MN-major: gpu_skinny_gemm.c */
    FEW_ACROSS = 16,
    STRIP_BYTES = 128,  /* columns of the matrix that a block of those has .. */
    STRIP_ROWS = 8,     /* .. or rows, if it is K-major: by MMA instructions .. */
    STRIP_ROWS_FMA = 4, /* .. by FMAs, whose warps may share K */
    GEMV_ROWS = 2,      /* of a matrix by one vector: the threads of a block share K */
    CHUNK = 64,         /* terms that a warp takes at once */
    TILE_M = 64,        /* of other products */
    TILE_N = 128,
    LEAST_SIDE = 32,        /* both of a product of few results that is tiled .. */
    LONG_TERMS = 1 << 14,   /* .. or the terms of its sums */
    PART_LEAST = 1024,      /* terms of a sum that are worth a block .. */
    PART_LEAST_FMA = 256,   /* .. of a tile by FMAs: some ten microseconds .. */
    PART_LEAST_HEADS = 128, /* .. of a batch of skinny GEMMs */
    TILE_TAPS = 32 * 64,    /* results of a block of a weight gradient */
    BLOCKS_PER_SM = 8,      /* of those, and of a reduction whose axes are short */
    MOST_PARTS = 128,
    MANY_PARTS = 8, /* as nested cooperative loops they cost a block reduction each: more than a kernel */
    MOST_TAPS = 11,
    FACTOR_DEPTH = 6,            /* nested MULs and CASTs whose operands are reshaped */
    PART_ROWS = 8,               /* of an image, per block: the rows it reads besides are the halo */
    LONG_TAPS = 4096,            /* products of a result of the gradient of weights, at least */
    CPU_SPLIT_FMAS = 1 << 25,    /* split-K on a CPU: FMAs of a GEMM worth a second kernel */
    CPU_SPLIT_RESULTS = 1 << 14, /* most results .. */
    CPU_SPLIT_FULL = 1 << 16,    /* .. and, times splits, what makes tiles enough */
    CPU_PART_LEAST = 2048,       /* terms of a split */
    CPU_MOST_PARTS = 32,
    CPU_WGRAD_RESULTS = 1 << 16, /* most of a weight gradient: sums of a part stay in L2 .. */
    CPU_WGRAD_FMAS = 1 << 22,    /* .. the fewest FMAs of one .. */
    CPU_WGRAD_TERMS = 768,       /* .. and terms of a sum in it: it is stored and read again */
    CPU_WGRAD_PARTS = 64,
};

#define SECOND_KERNEL 3e-6 /* seconds of a kernel for partial results: a thread has a short sum before that */

struct split_state {
    struct ir *ir;
    struct shapes *sh;
    const uop *stored;          /* the partial result that must be materialized, or NULL */
    const struct gpu_spec *gpu; /* NULL: a CPU */
    const struct marked_nodes *in_order;
};

static const uop *reduce(struct split_state *s, enum op op, const uop *n, const int64_t *axes, uint32_t k) {
    const uop *src[1 + SHAPE_MAX] = {n};
    for (uint32_t i = 0; i < k; i++) src[1 + i] = uop_idx(s->ir, axes[i]);
    return uop_mk(s->ir, OP_REDUCE_AXES, src, 1 + k, (union arg){.i = op});
}

static const uop *reshape_to(struct split_state *s, const uop *n, const struct shape *to) {
    return shape_of(s->sh, n) == to ? n : graph_shaped(s->ir, OP_RESHAPE, n, to->d, to->n);
}

/* The divisor of n nearest to `want` (by ratio) in [lo, hi], or 0. */
static int64_t divisor(int64_t n, int64_t want, int64_t lo, int64_t hi) {
    for (int64_t up = want, down = want; up <= hi || down >= lo;) {
        if (down >= lo && n % down == 0) return down;
        if (up <= hi && n % up == 0) return up;
        down--, up++;
    }
    return 0;
}

static const uop *flat(struct split_state *s, const uop *n) {
    int64_t size[1] = {shape_size(shape_of(s->sh, n))};
    return graph_shaped(s->ir, OP_RESHAPE, n, size, 1);
}

/* Elements of a block of a full reduction: a divisor of all that is a multiple of WHOLE near BLOCK, or BLOCK and a remainder. */
static int64_t block_of(int64_t total) {
    int64_t block =
        total % WHOLE ? 0 : divisor(total / WHOLE, BLOCK / WHOLE, BLOCK_MIN / WHOLE, BLOCK_MAX / WHOLE);
    return block ? block * WHOLE : BLOCK;
}

/* A full reduction, by blocks: what is left of the last one is reduced beside their results. */
static const uop *reduce_blocks(struct split_state *s, enum op op, const uop *n, int64_t total) {
    int64_t block = block_of(total), blocks = total / block, d[2] = {blocks, block}, one[1] = {1};
    int64_t axis1 = 1, axis0 = 0, rest = total % block;
    const uop *whole = rest ? graph_slice(s->ir, s->sh, flat(s, n), 0, 0, blocks * block) : n;
    const uop *parts = reduce(s, op, graph_shaped(s->ir, OP_RESHAPE, whole, d, 2), &axis1, 1);
    const uop *all = reduce(s, op, parts, &axis0, 1);
    if (!rest) return all;
    const uop *tail = graph_slice(s->ir, s->sh, flat(s, n), 0, blocks * block, rest);
    return uop2(s->ir, op, graph_shaped(s->ir, OP_RESHAPE, all, one, 1), reduce(s, op, tail, &axis0, 1));
}

static const uop *below_broadcast(const uop *n) {
    while (n->op == OP_RESHAPE || n->op == OP_EXPAND) n = n->src[0];
    return n;
}

struct split_sum {
    const uop *parts, *blocks; /* the partial sums and what they reduce */
    const uop *tail;           /* what is left, or NULL */
};

/* Is n the full sum of x, by reduce_blocks? */
static bool is_split_sum(struct split_state *s, const uop *n, const uop *x, struct split_sum *out) {
    n = below_broadcast(n);
    out->tail = NULL;
    if (n->op == OP_ADD && n->src[1]->op == OP_REDUCE_AXES)
        out->tail = n->src[1]->src[0], n = below_broadcast(n->src[0]);
    if (n->op != OP_REDUCE_AXES || n->arg.i != OP_ADD || n->src[0]->op != OP_REDUCE_AXES) return false;
    out->parts = n->src[0];
    out->blocks = out->parts->src[0];
    if (out->parts->arg.i != OP_ADD || out->blocks->op != OP_RESHAPE || n->nsrc != 2 || out->parts->nsrc != 2)
        return false;
    const uop *from = out->blocks->src[0];
    if (!out->tail) return from == x;
    return from->op == OP_SHRINK && out->tail->op == OP_SHRINK && from->src[0] == flat(s, x) &&
           out->tail->src[0] == from->src[0];
}

/* n is x - mean(x), mean over all of x, whose sum reduce_blocks split. */
static bool is_centered(struct split_state *s, const uop *n, const uop **mean, struct split_sum *sum) {
    if (n->op != OP_SUB || !dt_is_float((enum dtype)n->dt)) return false;
    const uop *m = *mean = below_broadcast(n->src[1]);
    bool scaled = m->op == OP_FDIV || m->op == OP_MUL;
    return scaled && m->src[1]->op == OP_CONST && is_split_sum(s, m->src[0], n->src[0], sum);
}

/* The sum of (tail - mean) or of its squares; few elements are read again. */
static const uop *tail_variance(struct split_state *s, const uop *tail, const uop *mean, bool square) {
    const struct shape *t = shape_of(s->sh, tail);
    int64_t one[1] = {1}, axis0 = 0;
    const uop *m = graph_shaped(s->ir, OP_EXPAND, graph_shaped(s->ir, OP_RESHAPE, mean, one, 1), t->d, 1);
    const uop *e = uop2(s->ir, OP_SUB, tail, m);
    return reduce(s, OP_ADD, square ? uop2(s->ir, OP_MUL, e, e) : e, &axis0, 1);
}

/* sum(x - mean(x)) or sum((x - mean(x))^2) over all of x. Block means are rounded too, so what they leave is summed beside them:
 * with e = x - mean_b and o = mean_b - mean, the sum of (e + o)^2 is sum(e^2) + 2 o sum(e) + n_b o^2. */
static const uop *split_variance(struct split_state *s, const uop *n) {
    const uop *x = n->src[0], *mean;
    struct split_sum sum;
    bool square = x->op == OP_MUL && x->src[0] == x->src[1];
    if (n->arg.i != OP_ADD || !is_centered(s, square ? x->src[0] : x, &mean, &sum)) return NULL;
    const struct shape *b = shape_of(s->sh, sum.blocks);
    int64_t one[2] = {1, 1}, row[2] = {b->d[0], 1}, axis1 = 1, axis0 = 0;
    struct ir *ir = s->ir;
    enum dtype dt = (enum dtype)x->dt;
    const uop *count = uop_flt(ir, dt, (double)b->d[1]);
    const uop *mb = uop2(ir, OP_MUL, sum.parts, uop_flt(ir, dt, 1.0 / (double)b->d[1]));
    const uop *e = uop2(ir, OP_SUB, sum.blocks, graph_shaped(ir, OP_EXPAND, mb, b->d, 2));
    const uop *all = graph_shaped(ir, OP_EXPAND, graph_shaped(ir, OP_RESHAPE, mean, one, 2), row, 2);
    const uop *o = uop2(ir, OP_SUB, mb, all), *far = uop2(ir, OP_MUL, o, count);
    const uop *rest = reduce(s, OP_ADD, e, &axis1, 1), *part = uop2(ir, OP_ADD, rest, far);
    if (square) {
        const uop *twice = uop2(ir, OP_ADD, part, rest); /* 2 sum(e) + n_b o */
        part = uop2(ir, OP_ADD, reduce(s, OP_ADD, uop2(ir, OP_MUL, e, e), &axis1, 1),
                    uop2(ir, OP_MUL, o, twice));
    }
    const uop *r = reduce(s, OP_ADD, part, &axis0, 1);
    if (!sum.tail) return r;
    return uop2(ir, OP_ADD, graph_shaped(ir, OP_RESHAPE, r, one, 1),
                tail_variance(s, sum.tail, mean, square));
}

/* x reshaped and permuted. depth: pushes the movement through nested MULs and CASTs to the operands, so that the result is a
 * contraction again; 0: x is moved as a whole and stays shared with its other readers. */
static const uop *move_operands(struct split_state *s, const uop *x, const int64_t *d, const int64_t *order,
                                uint32_t k, int depth) {
    if (!shape_of(s->sh, x)->n) return x; /* a number beside a tensor */
    if (depth && x->op == OP_CAST)
        return uop_cast(s->ir, move_operands(s, x->src[0], d, order, k, depth - 1), (enum dtype)x->dt);
    if (depth && x->op == OP_MUL)
        return uop2(s->ir, OP_MUL, move_operands(s, x->src[0], d, order, k, depth - 1),
                    move_operands(s, x->src[1], d, order, k, depth - 1));
    x = graph_shaped(s->ir, OP_RESHAPE, x, d, k);
    return order ? graph_shaped(s->ir, OP_PERMUTE, x, order, k) : x;
}

/* Positions start .. start + size - 1 of x along an axis, zeros behind its last. */
static const uop *positions_of(struct split_state *s, const uop *x, uint32_t axis, int64_t start,
                               int64_t size) {
    const struct shape *sh = shape_of(s->sh, x);
    int64_t more = start + size - sh->d[axis];
    if (more <= 0) return graph_slice(s->ir, s->sh, x, axis, start, size);
    return graph_pad(s->ir, s->sh, x, uop_identity(s->ir, OP_ADD, (enum dtype)x->dt), axis, 0, more);
}

/* The same. depth: of the operands of nested MULs and CASTs, below their broadcasts, so that the result is a contraction again. */
static const uop *slice_operands(struct split_state *s, const uop *x, uint32_t axis, int64_t start,
                                 int64_t size, int depth) {
    const struct shape *sh = shape_of(s->sh, x);
    int64_t d[SHAPE_MAX];
    if (!sh->n) return x;
    if (!depth) return positions_of(s, x, axis, start, size);
    for (uint32_t i = 0; i < sh->n; i++) d[i] = x->op == OP_PERMUTE ? x->src[1 + i]->arg.i : sh->d[i];
    if (x->op == OP_PERMUTE)
        return graph_shaped(s->ir, OP_PERMUTE,
                            slice_operands(s, x->src[0], (uint32_t)d[axis], start, size, depth - 1), d,
                            sh->n);
    if (x->op == OP_EXPAND) {
        bool once = shape_of(s->sh, x->src[0])->d[axis] == 1;
        d[axis] = size;
        return graph_shaped(s->ir, OP_EXPAND,
                            once ? x->src[0] : slice_operands(s, x->src[0], axis, start, size, depth - 1), d,
                            sh->n);
    }
    bool more = start + size >
                sh->d[axis]; /* a factor of a factor may be infinite: its zeros are no zeros of the product */
    if (more || (x->op != OP_CAST && x->op != OP_MUL)) return positions_of(s, x, axis, start, size);
    const uop *a = slice_operands(s, x->src[0], axis, start, size, depth - 1);
    if (x->op == OP_CAST) return uop_cast(s->ir, a, (enum dtype)x->dt);
    return uop2(s->ir, OP_MUL, a, slice_operands(s, x->src[1], axis, start, size, depth - 1));
}

/* Both factors of a product with zeros up to this size of an axis. */
static const uop *pad_factors(struct split_state *s, const uop *x, uint32_t axis, int64_t size) {
    const uop *f[2];
    for (int i = 0; i < 2; i++) f[i] = slice_operands(s, x->src[i], axis, 0, size, FACTOR_DEPTH);
    return uop2(s->ir, OP_MUL, f[0], f[1]);
}

/* Axes split in two, (parts, rest): new sizes d, which new axes are parts, where each old axis went (now). order: parts, then filter
 * taps (a bit mask of old axes), then the rest; back: its inverse. */
struct split_axes_map {
    int64_t d[SHAPE_MAX], order[SHAPE_MAX], back[SHAPE_MAX];
    uint32_t n, now[SHAPE_MAX], part[2], parts;
};

static bool cut_axes(const struct shape *in, const int64_t *parts, uint32_t taps, struct split_axes_map *c) {
    uint32_t n = 0;
    c->n = c->parts = 0;
    for (uint32_t i = 0; i < in->n; i++) {
        if (c->n + 2 > SHAPE_MAX) return false;
        if (parts[i] > 1) c->part[c->parts++] = c->n, c->d[c->n++] = parts[i];
        c->now[i] = c->n, c->d[c->n++] = in->d[i] / parts[i];
    }
    for (uint32_t i = 0; i < c->parts; i++) c->order[n++] = c->part[i];
    for (uint32_t pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < in->n; i++)
            if ((taps >> i & 1) == !pass) c->order[n++] = c->now[i];
    for (uint32_t i = 0; i < c->n; i++) c->back[c->order[i]] = i;
    return true;
}

/* Splits reduced axis i into parts[i]. front: partial results are laid out (parts, results), with the filter taps (a bit mask) before
 * the other results. stored: the partial result must be materialized. */
static const uop *split_axes(struct split_state *s, const uop *n, const uop *x, const struct shape *in,
                             const int64_t *parts, bool front, uint32_t taps, bool stored) {
    struct split_axes_map c;
    int64_t axes[SHAPE_MAX], first[2];
    if (!cut_axes(in, parts, taps, &c) || !c.parts) return NULL;
    const uop *m = x->op == OP_CAST ? x->src[0] : x;
    bool product = m->op == OP_MUL && (front || graph_contraction(s->sh, n));
    x = move_operands(s, x, c.d, front ? c.order : NULL, c.n, product ? FACTOR_DEPTH : 0);
    for (uint32_t i = 1; i < n->nsrc; i++) {
        uint32_t now = c.now[n->src[i]->arg.i];
        axes[i - 1] = front ? c.back[now] : now;
    }
    const uop *part = reduce(s, (enum op)n->arg.i, x, axes, n->nsrc - 1);
    if (stored) s->stored = part; /* fused into one kernel it would be the unsplit reduction */
    for (uint32_t i = 0; i < c.parts; i++) first[i] = front ? i : c.part[i];
    const uop *all = reduce(s, (enum op)n->arg.i, part, first, c.parts);
    return taps ? graph_shaped(s->ir, OP_PERMUTE, all, c.back, c.n) : all;
}

static int64_t element_bytes(const uop *n) {
    while (n->op == OP_CAST || op_is_movement((enum op)n->op)) n = n->src[0];
    return dtype_info[n->dt].bytes;
}

/* Is it computed wide, and rounded for MMA instructions? */
static bool is_rounded(const uop *n) {
    for (; n->op == OP_CAST || op_is_movement((enum op)n->op); n = n->src[0])
        if (dtype_info[n->dt].bytes < 4) return true;
    return false;
}

/* The axis of n with stride 1; of an elementwise op, that of an operand of its size. -1: n is broadcast, or not known. */
static int64_t memory_axis(struct split_state *s, const uop *n, int depth) {
    const struct shape *to = shape_of(s->sh, n), *from = n->nsrc ? shape_of(s->sh, n->src[0]) : NULL;
    int64_t last = -1, a;
    for (uint32_t i = 0; i < to->n; i++)
        if (to->d[i] > 1) last = i;
    if (!depth) return -1;
    const struct marked_nodes *m = s->in_order;
    bool stored = m && n->id < m->n && m->mark[n->id] & m->bit;
    if (stored || n->op == OP_BUFFER || n->op == OP_REDUCE_AXES) return last;
    if (n->op == OP_PERMUTE) {
        a = memory_axis(s, n->src[0], depth - 1);
        for (uint32_t i = 0; i < to->n; i++)
            if (a >= 0 && n->src[1 + i]->arg.i == a) return i;
        return -1;
    }
    if (n->op == OP_RESHAPE) { /* only axes of size 1 are inserted or removed */
        a = memory_axis(s, n->src[0], depth - 1);
        int64_t at = 0, i = -1;
        for (int64_t k = 0; k <= a; k++) at += from->d[k] > 1;
        while (a >= 0 && at > 0 && ++i < (int64_t)to->n) at -= to->d[i] > 1;
        return a >= 0 && i < (int64_t)to->n && to->d[i] == from->d[a] ? i : -1;
    }
    if (!op_is_pure((enum op)n->op)) return -1;
    for (uint32_t i = 0; i < n->nsrc; i++)
        if ((a = memory_axis(s, n->src[i], depth - 1)) >= 0) return a;
    return -1;
}

static int64_t longest_reduced(const uop *n, const struct shape *in) {
    int64_t a = n->src[1]->arg.i;
    for (uint32_t i = 2; i < n->nsrc; i++)
        if (in->d[n->src[i]->arg.i] > in->d[a]) a = n->src[i]->arg.i;
    return a;
}

/* Splits a reduced axis into parts of this length. What is left is reduced beside their results, so that no length is too odd for it
 * and no load is predicated. */
static const uop *split_lengths(struct split_state *s, const uop *n, const uop *x, const struct shape *in,
                                int64_t a, int64_t length, bool front, bool stored) {
    int64_t parts[SHAPE_MAX], axes[SHAPE_MAX], d = in->d[a], whole = d / length * length;
    int depth = graph_contraction(s->sh, n) ? FACTOR_DEPTH : 0;
    for (uint32_t i = 0; i < in->n; i++) parts[i] = 1;
    for (uint32_t i = 1; i < n->nsrc; i++) axes[i - 1] = n->src[i]->arg.i;
    parts[a] = d / length;
    if (whole == d) return split_axes(s, n, x, in, parts, front, 0, stored);
    const uop *main = slice_operands(s, x, (uint32_t)a, 0, whole, depth);
    const uop *r = split_axes(s, n, main, shape_of(s->sh, main), parts, front, 0, stored);
    const uop *tail = slice_operands(s, x, (uint32_t)a, whole, d - whole, depth);
    tail = reduce(s, (enum op)n->arg.i, tail, axes, n->nsrc - 1);
    return r ? uop2(s->ir, (enum op)n->arg.i, reshape_to(s, r, shape_of(s->sh, n)), tail) : NULL;
}

/* A contraction in about `want` parts of whole chunks, and the rest; NULL: its sum is short. */
static const uop *split_chunks(struct split_state *s, const uop *n, const uop *x, const struct shape *in,
                               int64_t want, bool front, bool stored) {
    const uop *m = uop_uncast(n->src[0]);
    int64_t a = longest_reduced(n, in), d = in->d[a],
            chunk = element_bytes(m->src[0]) < 4 ? CHUNK : CHUNK / 2,
            length = RG_MAX(d / want / chunk * chunk, 4 * CHUNK);
    return d / length > 1 ? split_lengths(s, n, x, in, a, length, front, stored) : NULL;
}

/* Splits one axis: the longest with a divisor near `want`; of a contraction, if there is none, or a short one, into whole chunks and a rest. On a GPU
 * rows of memory are cut last into pieces that do not fill a warp: threads would each walk down a column. */
static const uop *split_axis(struct split_state *s, const uop *n, const uop *x, const struct shape *in,
                             int64_t want, bool front, uint32_t taps, bool stored) {
    int64_t best = -1, parts[SHAPE_MAX], most = 0;
    int64_t along = s->gpu && !graph_contraction(s->sh, n) ? memory_axis(s, n->src[0], 12) : -1;
    bool thin = false;
    for (uint32_t i = 0; i < in->n; i++) parts[i] = 1;
    for (uint32_t i = 1; i < n->nsrc; i++) {
        int64_t a = n->src[i]->arg.i;
        int64_t p = in->d[a] > 1 ? divisor(in->d[a], want, 2, 8 * want) : 0;
        bool pieces = a == along && p && in->d[a] / p < PIECE;
        if (p && (best < 0 || (pieces == thin ? in->d[a] > in->d[best] : thin)))
            best = a, most = p, thin = pieces;
    }
    bool few = best < 0 || (s->gpu && in->d[longest_reduced(n, in)] / FEW_PARTS >= most * in->d[best] &&
                            most * FEW_PARTS <= want);
    if (few && !taps && graph_contraction(s->sh, n)) {
        const uop *r = split_chunks(s, n, x, in, want, front, stored);
        if (r || best < 0) return r;
    }
    if (best < 0) return NULL;
    parts[best] = most;
    return split_axes(s, n, x, in, parts, front, taps, stored);
}

static const uop *split_even(struct split_state *s, const uop *n, const uop *x, const struct shape *in,
                             int64_t want, bool front, bool stored) {
    return split_axis(s, n, x, in, want, front, 0, stored);
}

/* Parts of up to two reduced axes, outermost first: images, then rows of each. Returns how many: with the results some blocks
 * per SM, with terms enough for the threads of one. */
static int64_t outer_parts(const struct gpu_spec *gpu, const uop *n, const struct shape *in, int64_t results,
                           int64_t *parts) {
    int64_t terms = shape_size(in) / results, all = 1;
    int64_t want = RG_MIN(BLOCKS_PER_SM * gpu->sms / results, terms / PART_LEAST);
    uint32_t axes = 0;
    for (uint32_t i = 0; i < in->n; i++) parts[i] = 1;
    for (uint32_t a = 0; a < in->n && axes < 2; a++) {
        bool reduced = false;
        for (uint32_t i = 1; i < n->nsrc; i++) reduced |= n->src[i]->arg.i == a;
        int64_t left = want / all, d = in->d[a];
        if (!reduced || left < 2) continue;
        int64_t p = d <= 3 * left ? d : divisor(d, left, RG_MAX(left / 4, 2), 2 * left);
        if (p > 1) parts[a] = p, all *= p, axes++;
    }
    return all;
}

/* Splits the longest reduced axis into about `want` blocks of equal length, or if it is too short for that several axes. */
static const uop *split_blocks(struct split_state *s, const uop *n, const uop *x, const struct shape *in,
                               int64_t want, bool front, bool stored) {
    int64_t a = longest_reduced(n, in), parts[SHAPE_MAX];
    int64_t d = in->d[a], most = RG_MIN(RG_MIN(want, MOST_BLOCKS), d / BLOCK_TERMS);
    if (s->gpu && outer_parts(s->gpu, n, in, shape_size(shape_of(s->sh, n)), parts) > 2 * most)
        return split_axes(s, n, x, in, parts, front, 0, stored);
    if (most < 2) return split_axis(s, n, x, in, want, front, 0, stored);
    int64_t length = d / most;
    bool rows = !front; /* the axis of stride 1: blocks begin at multiples of vectors */
    for (uint32_t i = (uint32_t)a + 1; i < in->n; i++) rows &= in->d[i] == 1;
    if (rows && length > 8 * WHOLE) length -= length % WHOLE;
    int64_t exact = divisor(d, most, most - most / 4, most + most / 4);
    if (exact && (!rows || d / exact % WHOLE == 0)) length = d / exact;
    return split_lengths(s, n, x, in, a, length, front, stored);
}

/* The filter taps of a convolution's weight gradient (images x output gradient), as a bit mask of the last result axes; 0: n is no
 * such contraction. A thread holds all taps of two channels, its neighbours those of other channels: with channels innermost,
 * stores are coalesced. */
static uint32_t tap_axes(const uop *n, const struct shape *in) {
    uint32_t bits = 0, reduced = 0, many = 0;
    if (n->src[0]->op != OP_MUL || n->dt != DT_F32 || n->arg.i != OP_ADD) return 0;
    for (uint32_t i = 1; i < n->nsrc; i++) reduced |= 1u << n->src[i]->arg.i;
    for (uint32_t i = in->n; i-- > 0;) {
        if (reduced >> i & 1 || in->d[i] == 1) continue;
        if (!many && in->d[i] <= MOST_TAPS) bits |= 1u << i;
        many += in->d[i] > MOST_TAPS;
    }
    return many >= 2 ? bits : 0;
}

/* 16-bit weight gradient (tune/choose/gpu_conv.c): a block has all taps of 64 x 64 channels and walks over pairs
 * of rows. Splits images, then rows, until there is a block per SM. False: the channels are no whole tiles. */
static bool wgrad_parts(const struct gpu_spec *gpu, const uop *n, const struct shape *in, uint32_t taps,
                        int64_t *parts) {
    int64_t want = gpu->sms, reduced[3];
    uint32_t bits = 0, k = 0;
    const uop *mul = n->src[0];
    if (element_bytes(mul->src[0]) != 2 || element_bytes(mul->src[1]) != 2) return false;
    for (uint32_t i = 1; i < n->nsrc; i++) bits |= 1u << n->src[i]->arg.i;
    for (uint32_t i = 0; i < in->n; i++) {
        parts[i] = 1;
        if (in->d[i] == 1 || taps >> i & 1) continue;
        if (bits >> i & 1) {
            if (k == 3) return false;
            reduced[k++] = i;
        } else if (in->d[i] % 64) {
            return false;
        } else {
            want /= in->d[i] / 64;
        }
    }
    if (k != 3 || in->d[reduced[2]] % 8 || in->d[reduced[1]] % 2) return false;
    for (uint32_t i = 0; i < 2; i++) { /* images, rows */
        int64_t d = in->d[reduced[i]];
        for (int64_t p = 1; p <= want && p <= d; p++)
            if (d % p == 0 && (!i || (d / p >= PART_ROWS && d / p % 2 == 0))) parts[reduced[i]] = p;
        want /= parts[reduced[i]];
    }
    return true;
}

/* ---- split-K ------------------------------------------------------------------------------------------------------ */

static bool is_reduced(const uop *n, uint32_t axis) {
    for (uint32_t i = 1; i < n->nsrc; i++)
        if (n->src[i]->arg.i == axis) return true;
    return false;
}

/* Does n vary along the axis, or is it broadcast? A scalar has no axes. */
static bool moves_along(struct split_state *s, const uop *n, uint32_t axis) {
    if (n->op == OP_PERMUTE) return moves_along(s, n->src[0], (uint32_t)n->src[1 + axis]->arg.i);
    if (n->op == OP_CAST) return moves_along(s, n->src[0], axis);
    const struct shape *sh = shape_of(s->sh, n->op == OP_EXPAND ? n->src[0] : n);
    return axis < sh->n && sh->d[axis] > 1;
}

/* Blocks that keep a GPU busy: a power of two, as K is split. */
static int64_t power_of_two_below(int64_t n) {
    int64_t p = 1;
    while (2 * p <= n) p *= 2;
    return p;
}

/* Cycles of a GPU for a 16-bit GEMM whose K is split into `parts`: the best of some tiles, costs common to all tiles left out.
 * Constants are shared with tune/cost/gpu_time.c (gpu_cost): operand bytes shared by co-resident tiles come faster from L2 than private ones,
 * and DRAM bounds every tile where L2 does not hold the operands. With splits, fp32 partial sums are stored and a second kernel
 * reads them. */
double splitk_cycles(const struct gpu_spec *gpu, const int64_t size[2], int64_t batch, int64_t depth,
                     int64_t parts) {
    static const int64_t tile[][2] = {{128, 256}, {256, 128}, {128, 192}, {128, 128}, {64, 256},
                                      {256, 64},  {64, 128},  {128, 64},  {64, 64}};
    const struct gpu_cost *c = &gpu_cost;
    double mma = gpu_mma_per_cycle(gpu) * c->tensor_peak;   /* FLOPs per cycle and SM */
    double dram = c->splitk_dram_peak * gpu->bw / gpu->ghz; /* bytes per cycle */
    double scale = gpu_l2_scale(gpu), l2 = c->splitk_l2_rate * scale * gpu->sms;
    double best = 1e300, results = (double)(size[0] * size[1] * batch), bytes = parts > 1 ? 4 : 2;
    double factors = 2 * (double)((size[0] + size[1]) * depth * batch),
           come = factors > c->splitk_l2_kept * (double)gpu->l2 ? factors / dram : 0;
    for (size_t i = 0; i < RG_COUNT(tile); i++) {
        double m = (double)tile[i][0], n = (double)tile[i][1];
        double tiles = ceil((double)size[0] / m) * ceil((double)size[1] / n);
        double blocks = tiles * (double)(batch * parts);
        double own = RG_MIN(2 * (double)(size[0] + size[1]) / tiles, 2 * (m + n));
        double term = RG_MAX(2 * m * n / mma,
                             ((2 * (m + n) - own) / c->l2_rate_shared + own / c->l2_rate_private) / scale) +
                      c->splitk_step;
        double waves = ceil(blocks / gpu->sms), sums = RG_MAX((double)(depth / parts) * term, come / waves);
        best = RG_MIN(best, waves * (sums + c->load_latency + m * n * bytes / c->store_rate[1]));
    }
    return best + (parts > 1 ? c->splitk_reduce + (double)parts * results * bytes / l2 : 0);
}

/* K is split only for a large predicted gain: 1024 x 1024 x 8192 in four splits was predicted at 0.74 of the time, and took 1.18. */
static int64_t splitk_parts(const struct gpu_spec *gpu, const int64_t size[2], int64_t batch, int64_t depth) {
    int64_t parts = 1;
    double least = gpu_cost.splitk_gain * splitk_cycles(gpu, size, batch, depth, 1);
    for (int rest = 0; rest < 2 && parts == 1; rest++) /* a rest is a third kernel */
        for (int64_t p = 2; p <= MOST_PARTS && depth / p >= PART_LEAST; p++) {
            if (depth % (p * CHUNK) && !rest) continue;
            double cycles = splitk_cycles(gpu, size, batch, depth, p) + rest * gpu_cost.splitk_reduce;
            if (cycles < least) least = cycles, parts = p;
        }
    return parts;
}

/* The number of splits of a GEMM's K; 1: n is no GEMM, or it has tiles enough. */
static int64_t gemm_splits(struct split_state *s, const uop *n, const struct shape *in) {
    const uop *m = uop_uncast(n->src[0]);
    int64_t size[2] = {1, 1}, batch = 1, depth = 1, least = PART_LEAST;
    if (n->arg.i != OP_ADD || m->op != OP_MUL || !dt_is_float((enum dtype)n->dt)) return 1;
    bool narrow = element_bytes(m->src[0]) == 2 && element_bytes(m->src[1]) == 2;
    if (n->nsrc != 2) return 1;
    for (uint32_t i = 0; i < in->n; i++) {
        bool a = moves_along(s, m->src[0], i), b = moves_along(s, m->src[1], i);
        if (is_reduced(n, i))
            depth *= a && b ? in->d[i] : 0;
        else if (a != b)
            size[b] *= in->d[i];
        else
            batch *= in->d[i];
    }
    int wide = size[1] >= size[0];
    int64_t few = size[!wide], many = size[wide], blocks, want;
    const uop *matrix = m->src[wide];
    while (matrix->op == OP_EXPAND || matrix->op == OP_CAST) matrix = matrix->src[0];
    bool along = memory_axis(s, matrix, 12) == n->src[1]->arg.i;
    bool heads = batch > 1 && !along && few <= FEW_ACROSS && many * element_bytes(matrix) >= STRIP_BYTES;
    if (!depth || (many < TILE_N && few < LEAST_SIDE && !heads && (few < 2 || depth < LONG_TERMS))) return 1;
    if (heads) least = PART_LEAST_HEADS; /* values of attention in decoding */
    bool tiled = few > (along ? FEW_ALONG : FEW_ACROSS) ||
                 (n->dt == DT_F64 && few > 1); /* others: gpu_skinny_gemm.c */
    if (tiled) {
        if (narrow) return splitk_parts(s->gpu, size, batch, depth);
        if (!is_rounded(m->src[0]) && !is_rounded(m->src[1])) least = PART_LEAST_FMA;
        int64_t wide_tile = few > TILE_M ? TILE_N : TILE_N / 2;
        blocks = (few + TILE_M - 1) / TILE_M * ((many + wide_tile - 1) / wide_tile) * batch,
        want = power_of_two_below(s->gpu->sms);
    } else {
        int64_t rows = few == 1 ? GEMV_ROWS : element_bytes(matrix) <= 2 ? STRIP_ROWS : STRIP_ROWS_FMA;
        int64_t strip = along ? rows : STRIP_BYTES / element_bytes(matrix);
        blocks = (many + strip - 1) / strip * batch, want = 2 * power_of_two_below(s->gpu->sms);
    }
    int64_t parts = 1, most = 1;
    while (most * blocks * 2 <= want + want / 2 && depth / (2 * most) >= least) most *= 2;
    while (parts < most && depth % (2 * parts * CHUNK) == 0) parts *= 2;
    return (least < PART_LEAST ? 2 : 4) * parts <= most ? most : parts; /* a rest costs as much as a kernel */
}

/* The same on a CPU. By the sizes alone: the order of a sum must not depend on the number of threads. */
static int64_t cpu_gemm_splits(struct split_state *s, const uop *n, int64_t total, int64_t results) {
    int64_t terms = total / RG_MAX(results, 1), parts = 1;
    if (n->nsrc != 2 || total < CPU_SPLIT_FMAS || results < MANY_RESULTS || results > CPU_SPLIT_RESULTS ||
        !dt_is_float((enum dtype)n->dt) || !graph_contraction(s->sh, n))
        return 1;
    while (parts < CPU_MOST_PARTS && parts * results < CPU_SPLIT_FULL &&
           terms / (2 * parts) >= CPU_PART_LEAST)
        parts *= 2;
    return parts;
}

/* A contraction on a CPU whose K is several axes, as a convolution's weight gradient: parts of the outer ones, images, then
 * rows, and of the last what divides it; false: too few. */
static bool cpu_wgrad_parts(struct split_state *s, const uop *n, const struct shape *in, int64_t total,
                            int64_t results, int64_t *parts) {
    int64_t want = RG_MIN(CPU_WGRAD_PARTS, total / CPU_WGRAD_FMAS), all;
    all = want = RG_MIN(want, total / RG_MAX(results, 1) / CPU_WGRAD_TERMS);
    bool taps = n->nsrc == 4 && tap_axes(n, in);
    if (results > CPU_WGRAD_RESULTS || want < 2 || n->nsrc < 3) return false;
    if (!taps && (results < MANY_RESULTS || !graph_contraction(s->sh, n))) return false;
    for (uint32_t i = 0; i < in->n; i++) parts[i] = 1;
    for (uint32_t i = 1; i < n->nsrc; i++) {
        int64_t a = n->src[i]->arg.i, d = in->d[a], least = taps && i > 1 ? PART_ROWS : 1;
        if (i + 1 == n->nsrc) least = taps ? d : CPU_WGRAD_TERMS;
        for (int64_t p = 2; p <= want && d / p >= least; p++)
            if (d % p == 0) parts[a] = p;
        want /= parts[a];
    }
    return 2 * want <= all;
}

/* Columns that fill a GPU with a thread each. */
static int64_t full_columns(const struct gpu_spec *gpu) {
    return (int64_t)gpu_whole(gpu, gpu_cost.threads_columns);
}

/* Accumulators of a weight gradient that the registers of a GPU hold. */
static int64_t wgrad_accumulators(const struct gpu_spec *gpu) {
    return (int64_t)gpu_whole(gpu, gpu_cost.wgrad_accumulators * gpu->regs_sm);
}

/* Parts of a reduced axis of d, not more than `most`; of the innermost, pieces that the threads of a warp load. */
static int64_t tap_parts(int64_t d, int64_t most, bool inner) {
    int64_t p = RG_MIN(most, inner ? d / PIECE : d);
    if (p < 2) return 1;
    int64_t even = divisor(d, p, (p + 1) / 2, p), length = (d + p - 1) / p;
    return even ? even : (d + length - 1) / length;
}

/* A weight gradient in parts of images, rows and, last, columns, at most two of them. Zeros fill up the last part of an axis. */
static const uop *split_taps(struct split_state *s, const uop *n, const uop *x, const struct shape *in,
                             uint32_t taps) {
    int64_t parts[SHAPE_MAX], results = shape_size(shape_of(s->sh, n)), terms = shape_size(in) / results;
    int64_t tiles = (results + TILE_TAPS - 1) / TILE_TAPS, last = 0,
            want = wgrad_accumulators(s->gpu) / results;
    uint32_t axes = 0;
    want = RG_MIN(want, RG_MIN(BLOCKS_PER_SM * s->gpu->sms / tiles, terms / CHUNK));
    for (uint32_t i = 0; i < in->n; i++) parts[i] = 1, last = in->d[i] > 1 && is_reduced(n, i) ? i : last;
    for (uint32_t i = 0; i < in->n && axes < 2; i++) {
        if (!is_reduced(n, i) || (parts[i] = tap_parts(in->d[i], want, i == last)) == 1) continue;
        want /= parts[i], axes++;
        if (in->d[i] % parts[i]) x = pad_factors(s, x, i, (in->d[i] + parts[i] - 1) / parts[i] * parts[i]);
    }
    return axes ? split_axes(s, n, x, shape_of(s->sh, x), parts, true, taps, true) : NULL;
}

/* Columns, of which a block reads several side by side (COLUMNS): enough for all SMs, or so short that a
 * second kernel would take longer? */
static bool has_whole_columns(const struct split_state *s, const uop *n, const struct shape *in) {
    int64_t results = shape_size(in), side = 1;
    uint32_t reduced = 0;
    for (uint32_t i = 1; i < n->nsrc; i++)
        reduced |= 1u << n->src[i]->arg.i, results /= RG_MAX(in->d[n->src[i]->arg.i], 1);
    for (uint32_t i = in->n; i-- > 0 && !(reduced >> i & 1);) side *= in->d[i];
    double busy = RG_MIN((double)results / (BUSY_COLUMNS * s->gpu->sms), 1);
    double seconds = (double)shape_size(in) * dtype_info[n->dt].bytes / (s->gpu->bw * 1e9);
    return side >= SIDE_COLUMNS && results >= LEAST_COLUMNS * s->gpu->sms &&
           seconds * (1 / busy - 1) < SECOND_KERNEL;
}

/* How many results keep a GPU busy: one thread per column, or one thread block per row. A row may come in pieces, those of a channel
 * of all images; the threads of a block are enough for pieces that fill a warp. Products are tiled otherwise. */
static int64_t many_on_gpu(struct split_state *s, const uop *n, const struct shape *in) {
    int64_t row = 1, terms = 1;
    uint32_t reduced = 0;
    bool product = graph_contraction(s->sh, n);
    for (uint32_t i = 1; i < n->nsrc; i++)
        reduced |= 1u << n->src[i]->arg.i, terms *= in->d[n->src[i]->arg.i];
    for (uint32_t i = in->n; i-- > 0 && (in->d[i] == 1 || reduced >> i & 1) && !(product && row > 1);)
        row *= in->d[i];
    int64_t along = product ? -1 : memory_axis(s, n->src[0], 12);
    if (along >= 0 && in->d[along] >= PIECE && in->d[along] < s->gpu->sms && !(reduced >> along & 1))
        row = 1; /* a few that lie down columns of memory */
    if (row >= PIECE && !product) row = terms;
    if (row == terms && row <= SHORT_ROW && !product) return SHORT_ROWS;
    if (row < PIECE && !product && has_whole_columns(s, n, in)) return MANY_RESULTS;
    return RG_MAX(full_columns(s->gpu) / RG_MAX(RG_MIN(row / 4, 512), 1), MANY_RESULTS);
}

/* Column sums of a matrix that no cache holds: DRAM is fast where whole rows are streamed, so each core gets a block of rows. */
static bool has_long_columns(struct split_state *s, const uop *n, int64_t total, int64_t results) {
    if (total < LONG_COLUMNS || results < 2 || results > total / (8 * COLUMN_BLOCKS)) return false;
    int64_t along = memory_axis(s, n->src[0], 12);
    for (uint32_t i = 1; i < n->nsrc; i++)
        if (n->src[i]->arg.i == along) return false;
    return along >= 0;
}

/* Blocks for all cores, each of rows enough that what is stored of it is little. */
static int64_t column_blocks(int64_t rows) {
    return RG_MIN(RG_MAX(rows / COLUMN_ROWS, COLUMN_BLOCKS), COLUMN_BLOCKS_MOST);
}

/* Products keep their operands whole; so do rows that a GPU's block may keep in registers from pass to pass. */
static bool keeps_whole(struct split_state *s, const uop *n, const struct shape *in, int64_t many) {
    int64_t terms = shape_size(in) / RG_MAX(shape_size(shape_of(s->sh, n)), 1);
    return graph_contraction(s->sh, n) || (s->gpu && many != full_columns(s->gpu) && terms < LONG_ROW);
}

/* Is n read in the order of its elements, so that its axes may be one? Not what is permuted, sliced or broadcast. */
static bool is_flat(struct split_state *s, const uop *n, int depth) {
    if (!depth) return false;
    if (n->op == OP_BUFFER || n->op == OP_REDUCE_AXES || n->op == OP_CONST ||
        shape_size(shape_of(s->sh, n)) == 1)
        return true;
    if (n->op == OP_RESHAPE) return is_flat(s, n->src[0], depth - 1);
    if (n->op == OP_EXPAND) return shape_size(shape_of(s->sh, n->src[0])) == 1;
    if (!op_is_pure((enum op)n->op)) return false;
    for (uint32_t i = 0; i < n->nsrc; i++)
        if (!is_flat(s, n->src[i], depth - 1)) return false;
    return true;
}

/* Columns whose terms are several axes too short for parts that keep memory busy: the same sum down one axis, which has parts of any
 * length. NULL: n is none. */
static const uop *as_matrix(struct split_state *s, const uop *n, int64_t want) {
    const struct shape *in = shape_of(s->sh, n->src[0]);
    int64_t order[SHAPE_MAX], d[SHAPE_MAX], zero = 0, along = memory_axis(s, n->src[0], 12);
    int64_t most = RG_MIN(want, in->d[longest_reduced(n, in)] / BLOCK_TERMS);
    uint32_t reduced = 0, k = 0, kept = 1;
    if (along < 0) along = in->n - 1;
    d[0] = 1;
    for (uint32_t i = 1; i < n->nsrc; i++) {
        reduced |= 1u << n->src[i]->arg.i;
        d[0] *= in->d[n->src[i]->arg.i];
    }
    if (n->nsrc < 3 || reduced >> along & 1 || in->d[along] < PIECE) return NULL;
    if (most * (shape_size(in) / d[0]) >= (int64_t)BUSY_COLUMNS * s->gpu->sms) return NULL;
    for (uint32_t i = 0; i < in->n; i++)
        if (reduced >> i & 1) order[k++] = i;
    for (uint32_t i = 0; i < in->n; i++)
        if (!(reduced >> i & 1)) order[k++] = i, d[kept++] = in->d[i];
    const uop *x = graph_shaped(s->ir, OP_PERMUTE, n->src[0], order, k);
    return reduce(s, (enum op)n->arg.i, graph_shaped(s->ir, OP_RESHAPE, x, d, kept), &zero, 1);
}

const uop *split_reduction(struct ir *ir, struct shapes *sh, const uop *n, const struct gpu_spec *gpu,
                           const struct marked_nodes *in_order, const uop **stored) {
    struct split_state s = {.ir = ir, .sh = sh, .gpu = gpu, .in_order = in_order};
    const struct shape *in = shape_of(sh, n->src[0]), *out = shape_of(sh, n);
    int64_t total = shape_size(in), results = shape_size(out);
    int64_t many = gpu ? many_on_gpu(&s, n, in) : MANY_RESULTS;
    bool columns = !gpu && has_long_columns(&s, n, total, results);
    int64_t parts = gpu ? gemm_splits(&s, n, in) : cpu_gemm_splits(&s, n, total, results);
    int64_t cut[SHAPE_MAX], terms = total / RG_MAX(results, 1);
    uint32_t taps =
        gpu && results <= wgrad_accumulators(gpu) / 8 && terms >= PART_LEAST ? tap_axes(n, in) : 0;
    bool wgrad =
        gpu ? taps && wgrad_parts(gpu, n, in, taps, cut) : cpu_wgrad_parts(&s, n, in, total, results, cut);
    if (!wgrad && terms < LONG_TAPS) taps = 0;
    if (total < WORTH_IT || (results >= many && !columns && parts < 2 && !taps && !wgrad)) return NULL;
    bool plain = gpu && parts < 2 && !taps && !wgrad && results > 1;
    if (plain && (double)terms * gpu_cost.thread_term < SECOND_KERNEL) return NULL;
    enum op op = (enum op)n->arg.i;
    bool half = (n->dt == DT_F16 || n->dt == DT_BF16) && (op == OP_ADD || op == OP_MUL);
    const uop *x = half ? uop_cast(ir, n->src[0], DT_F32) : n->src[0], *r;
    if (wgrad)
        r = split_axes(&s, n, x, in, cut, true, taps, true);
    else if (taps)
        r = split_taps(&s, n, x, in, taps);
    else if (parts > 1)
        r = (gpu && in->d[longest_reduced(n, in)] % parts ? split_chunks : split_even)(&s, n, x, in, parts,
                                                                                       true, true);
    else if (results > 1) {
        int64_t want = columns ? column_blocks(terms) : RG_MAX(2 * many / results, 2);
        bool nested =
            n->nsrc > 2 && want >= MANY_PARTS; /* fused, no JOIN makes one cooperative loop of its axes */
        bool store = columns || (gpu && (many == full_columns(gpu) || terms >= LONG_ROW || nested));
        bool whole = keeps_whole(&s, n, in, many);
        bool rows = gpu && whole && !graph_contraction(sh, n); /* fused, parts would be reduced one by one */
        if (rows && !store && (4 * results >= 3 * gpu->sms || terms * dtype_info[n->dt].bytes <= WHOLE_ROW))
            return NULL;
        const uop *matrix = plain && !whole ? as_matrix(&s, n, want) : NULL;
        if (matrix) {
            r = split_reduction(ir, sh, matrix, gpu, in_order, stored);
            return r ? reshape_to(&s, r, out) : NULL;
        }
        store |= rows;
        r = (whole ? split_even : split_blocks)(&s, n, x, in, want, columns, store);
    } else if (!(r = split_variance(&s, n)) && (gpu || n->nsrc < 3 || is_flat(&s, x, 12) ||
                                                !(r = split_blocks(&s, n, x, in, 2 * many, false, false))))
        r = reduce_blocks(&s, op, x, total);
    *stored = s.stored;
    return r ? uop_cast(ir, reshape_to(&s, r, out), (enum dtype)n->dt) : NULL;
}

/* ---- sums in kept rows ------------------------------------------------------------------------------------------ */

static bool passes_on(const uop *n) {
    return op_is_movement((enum op)n->op) || op_is_pure((enum op)n->op) || n->op == OP_GRAD_THROUGH ||
           n->op == OP_DETACH;
}

/* INLINE values that kernels keep a row of, by id. One that something else reads, too, is stored (the gradient of attention, where it
 * is GEMMs), and so are those that are computed from it, element by element. */
uint8_t *find_kept_rows(struct arena *a, const uop_vec *topo, uint32_t nodes) {
    uint8_t *live = arena_array(a, uint8_t, nodes), *read = arena_array(a, uint8_t, nodes);
    uint8_t *lost = arena_array(a, uint8_t, nodes), *kept = arena_array(a, uint8_t, nodes);
    for (uint32_t i = topo->n; i-- > 0;) {
        const uop *n = topo->p[i];
        uint32_t values = n->op == OP_GRAD_THROUGH ? 1 : n->nsrc;
        live[n->id] |= i + 1 == topo->n;
        for (uint32_t k = 0; k < values && live[n->id]; k++) {
            live[n->src[k]->id] = 1;
            read[n->src[k]->id] |= n->op != OP_INLINE;
        }
    }
    for (uint32_t i = 0; i < topo->n; i++) {
        const uop *n = topo->p[i];
        lost[n->id] = n->op == OP_INLINE && read[n->src[0]->id];
        for (uint32_t k = 0; k < n->nsrc && (passes_on(n) || n->op == OP_INLINE); k++)
            lost[n->id] |= lost[n->src[k]->id];
        kept[n->id] = n->op == OP_INLINE && !lost[n->id];
    }
    return kept;
}

/* INLINE values and sums that only they are computed with, element by element (dO v^T beside P): their kernel keeps a row of them,
 * which has no partial results. What is broadcast to them, a number of each row, is an operand like others. */
uint8_t *sums_in_rows(struct arena *a, const uop_vec *topo, const uint8_t *kept, uint32_t nodes) {
    uint8_t *in_row = arena_array(a, uint8_t, nodes), *wanted = arena_array(a, uint8_t, nodes);
    bool any = false;
    for (uint32_t i = 0; i < topo->n; i++) {
        const uop *n = topo->p[i];
        any |= in_row[n->id] = kept[n->id];
        for (uint32_t k = 0; k < n->nsrc && passes_on(n); k++) in_row[n->id] |= in_row[n->src[k]->id];
    }
    for (uint32_t i = topo->n; i-- > 0 && any;) {
        const uop *n = topo->p[i];
        bool own = in_row[n->id] || wanted[n->id];
        if (!own || n->op == OP_EXPAND || !(passes_on(n) || kept[n->id])) continue;
        for (uint32_t k = 0; k < n->nsrc; k++) wanted[n->src[k]->id] = 1;
    }
    return wanted;
}
