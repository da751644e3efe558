/* split.c: a reduction to few results becomes two, so that all cores have work.
 *
 * The first makes a partial result for each block of about 16,000 elements, the second combines them. Where the cuts
 * are depends on the sizes alone, never on the number of threads: the same sum everywhere. Partial sums of halves
 * are kept in float.
 * A variance over so many elements, sum((x - mean)^2) with the mean of the same x, would read x twice. Blocks have
 * means of their own (Chan, Golub, LeVeque): sum over blocks of [ sum((x - mean_b)^2) + n_b (mean_b - mean)^2 ], which
 * reads x once, block by block from cache, and is as accurate as two passes.
 * Sums down columns of more than a cache holds are cut into blocks of rows, so that each core reads whole rows (the measurements
 * stand in docs/measurements/2026-11-15-neoverse-v1.md, Reading memory).
 * On a GPU a hundred thousand threads are needed. A thread runs down a column: sums along columns, which leave the last axis as
 * it is, are cut until there are as many results. A block of threads runs along a row: short rows need more blocks.
 * A product with few tiles of results and a long sum is cut too: blocks of threads have tiles, and there are more SMs
 * than tiles. Its partial results are as many products side by side, added by a second, small kernel. Of halves the number of parts is
 * the one that takes least time: large tiles need fewer bytes from L2, more parts write and read more sums. The gradient of a
 * convolution's weights is cut until every SM holds a share of the sums in registers.
 * Tests: tests/unit/schedule.c */
#include "schedule/internal.h"

#include <math.h>

enum {
    MANY_RESULTS = 64,
    MANY_COLUMNS = 1 << 17,
    BLOCK = 16384,
    BLOCK_MIN = 2048,
    BLOCK_MAX = 262144,
    WORTH_IT = 1 << 17,
    LONG_COLUMNS = 1 << 23, /* elements: no cache holds them */
    COLUMN_BLOCKS = 16,
    FEW_ALONG = 32, /* so few rows by a matrix that lies along the sum, or across: gpu_skinny_gemm.c */
    FEW_ACROSS = 16,
    FEW_BLOCKS = 256,  /* blocks of those that keep a large GPU busy */
    STRIP_BYTES = 128, /* columns of the matrix that a block of those has */
    STRIP_ROWS = 32,   /* .. or rows, where they lie along the sum */
    CHUNK = 64,        /* terms that a warp takes at once */
    TILE_M = 64,       /* of other products */
    TILE_N = 128,
    TILE_BLOCKS = 128, /* one for each SM of a large GPU */
    UNITS = 132,
    PART_LEAST = 1024, /* terms of a sum that are worth a block */
    MOST_PARTS = 64,
    MOST_TAPS = 11,
    PART_ROWS = 8,        /* of an image: what a block of taps reads beside them is their border */
    LONG_TAPS = 4096,     /* products of a result of the gradient of weights, at least .. */
    TAP_RESULTS = 3 << 20 /* .. and sums that the threads of a GPU hold at once */
};

struct split {
    struct ir *ir;
    struct shapes *sh;
    const uop *stored; /* a partial result that must be */
};

static const uop *reduce(struct split *s, enum op op, const uop *n, const int64_t *axes, uint32_t k) {
    const uop *src[1 + SHAPE_MAX] = {n};
    for (uint32_t i = 0; i < k; i++) src[1 + i] = uop_idx(s->ir, axes[i]);
    return uop_mk(s->ir, OP_REDUCE_AXES, src, 1 + k, (union arg){.i = op});
}

static const uop *reshape_to(struct split *s, const uop *n, const struct shape *to) {
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

/* All of n's elements, over (blocks, block); padded with the identity if no divisor is near. */
static const uop *in_blocks(struct split *s, enum op op, const uop *n, int64_t total) {
    int64_t block = divisor(total, BLOCK, BLOCK_MIN, BLOCK_MAX), blocks;
    if (block) {
        blocks = total / block;
    } else {
        block = BLOCK, blocks = (total + block - 1) / block;
        int64_t flat[1] = {total};
        const uop *src[5] = {graph_shaped(s->ir, OP_RESHAPE, n, flat, 1),
                             uop_identity(s->ir, op, (enum dtype)n->dt), uop_idx(s->ir, 0),
                             uop_idx(s->ir, blocks * block - total), uop_idx(s->ir, 0)};
        n = uop_mk(s->ir, OP_PAD, src, 5, ARG_NONE);
    }
    int64_t d[2] = {blocks, block};
    return graph_shaped(s->ir, OP_RESHAPE, n, d, 2);
}

/* x if n is a sum of all of x that was split here: its partial sums and the blocks. */
static bool is_split_sum(const uop *n, const uop **parts, const uop **blocks) {
    while (n->op == OP_RESHAPE || n->op == OP_EXPAND) n = n->src[0];
    if (n->op != OP_REDUCE_AXES || n->arg.i != OP_ADD || n->src[0]->op != OP_REDUCE_AXES) return false;
    *parts = n->src[0];
    *blocks = (*parts)->src[0];
    return (*parts)->arg.i == OP_ADD && (*blocks)->op == OP_RESHAPE && n->nsrc == 2 && (*parts)->nsrc == 2;
}

static const uop *strip(const uop *n) {
    while (n->op == OP_RESHAPE || n->op == OP_EXPAND) n = n->src[0];
    return n;
}

/* sum((x - mean(x))^2) over all of x. */
static const uop *split_variance(struct split *s, const uop *n) {
    const uop *sq = n->src[0], *parts, *blocks;
    if (n->arg.i != OP_ADD || sq->op != OP_MUL) return NULL;
    const uop *diff = sq->src[0];
    if (diff != sq->src[1] || diff->op != OP_SUB) return NULL;
    const uop *x = diff->src[0], *mean = strip(diff->src[1]);
    bool scaled = mean->op == OP_FDIV || mean->op == OP_MUL;
    if (!scaled || mean->src[1]->op != OP_CONST || !is_split_sum(mean->src[0], &parts, &blocks)) return NULL;
    if (blocks->src[0] != x || !dt_is_float((enum dtype)x->dt)) return NULL;
    const struct shape *b = shape_of(s->sh, blocks);
    int64_t one[2] = {1, 1}, row[2] = {b->d[0], 1}, axis1 = 1, axis0 = 0;
    enum dtype dt = (enum dtype)x->dt;
    const uop *mb = uop2(s->ir, OP_MUL, parts, uop_flt(s->ir, dt, 1.0 / (double)b->d[1]));
    const uop *d = uop2(s->ir, OP_SUB, blocks, graph_shaped(s->ir, OP_EXPAND, mb, b->d, 2));
    const uop *m2 = reduce(s, OP_ADD, uop2(s->ir, OP_MUL, d, d), &axis1, 1);
    const uop *all = graph_shaped(s->ir, OP_EXPAND, graph_shaped(s->ir, OP_RESHAPE, mean, one, 2), row, 2);
    const uop *off = uop2(s->ir, OP_SUB, mb, all);
    const uop *between =
        uop2(s->ir, OP_MUL, uop2(s->ir, OP_MUL, off, off), uop_flt(s->ir, dt, (double)b->d[1]));
    return reduce(s, OP_ADD, uop2(s->ir, OP_ADD, m2, between), &axis0, 1);
}

/* x with other axes. What is added up in a product stays one, of factors with these axes; anything else is moved as a whole, so that
 * whoever else reads it reads the same value. */
static const uop *in_parts(struct split *s, const uop *x, const int64_t *d, const int64_t *order, uint32_t k,
                           bool product) {
    if (product && x->op == OP_CAST)
        return uop_cast(s->ir, in_parts(s, x->src[0], d, order, k, true), (enum dtype)x->dt);
    if (product && x->op == OP_MUL)
        return uop2(s->ir, OP_MUL, in_parts(s, x->src[0], d, order, k, true),
                    in_parts(s, x->src[1], d, order, k, true));
    x = graph_shaped(s->ir, OP_RESHAPE, x, d, k);
    return order ? graph_shaped(s->ir, OP_PERMUTE, x, order, k) : x;
}

/* Axes of which some are cut in two, parts before what is left of them: the new axes, which of them are parts, and where each old one
 * is now. The order in which blocks are computed: parts, then the taps (bits of old axes), then what is left. */
struct cuts {
    int64_t d[SHAPE_MAX], order[SHAPE_MAX], back[SHAPE_MAX];
    uint32_t n, now[SHAPE_MAX], part[2], parts;
};

static bool cut_axes(const struct shape *in, const int64_t *parts, uint32_t taps, struct cuts *c) {
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

/* Some results, and reduced axes that can be cut: into so many parts each. `front`: the blocks come first, each with its results as they
 * lie, or, where there are taps (as bits), with those before the others. */
static const uop *split_axes(struct split *s, const uop *n, const uop *x, const struct shape *in,
                             const int64_t *parts, bool front, uint32_t taps, bool stored) {
    struct cuts c;
    int64_t axes[SHAPE_MAX], first[2];
    if (!cut_axes(in, parts, taps, &c) || !c.parts) return NULL;
    const uop *m = x->op == OP_CAST ? x->src[0] : x;
    x = in_parts(s, x, c.d, front ? c.order : NULL, c.n, front && m->op == OP_MUL);
    for (uint32_t i = 1; i < n->nsrc; i++) {
        uint32_t now = c.now[n->src[i]->arg.i];
        axes[i - 1] = front ? c.back[now] : now;
    }
    const uop *part = reduce(s, (enum op)n->arg.i, x, axes, n->nsrc - 1);
    if (stored) s->stored = part; /* one kernel would be the sum unsplit */
    for (uint32_t i = 0; i < c.parts; i++) first[i] = front ? i : c.part[i];
    const uop *all = reduce(s, (enum op)n->arg.i, part, first, c.parts);
    return taps ? graph_shaped(s->ir, OP_PERMUTE, all, c.back, c.n) : all;
}

/* The same with one axis, the longest that has a divisor near `want`. */
static const uop *split_axis(struct split *s, const uop *n, const uop *x, const struct shape *in,
                             int64_t want, bool front, uint32_t taps, bool stored) {
    int64_t best = -1, parts[SHAPE_MAX], most = 0;
    for (uint32_t i = 0; i < in->n; i++) parts[i] = 1;
    for (uint32_t i = 1; i < n->nsrc; i++) {
        int64_t a = n->src[i]->arg.i;
        int64_t p = in->d[a] > 1 ? divisor(in->d[a], want, 2, 8 * want) : 0;
        if (p && (best < 0 || in->d[a] > in->d[best])) best = a, most = p;
    }
    if (best < 0) return NULL;
    parts[best] = most;
    return split_axes(s, n, x, in, parts, front, taps, stored);
}

/* The last axes of the results, as bits, if they are the taps of a window: a product of images and of the gradient of what a
 * convolution made of them. A thread has all taps of two channels, and its neighbours those of other channels: blocks
 * with the channels innermost are written in whole rows. */
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

static int64_t element_bytes(const uop *n) {
    while (n->op == OP_CAST || op_is_movement((enum op)n->op)) n = n->src[0];
    return dtype_info[n->dt].bytes;
}

/* Of halves (tune/choose/gpu_conv.c, write_half_taps) a block has all taps of 64 x 64 channels and walks over pairs of rows:
 * images are cut, then rows, until there is a block for each SM. false: they are no whole tiles. */
static bool half_taps(const uop *n, const struct shape *in, uint32_t taps, int64_t *parts) {
    int64_t want = UNITS, reduced[3];
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

/* Which axis of n is the one along memory, if all of n is read: of a step of arithmetic that of an operand as large as it.
 * -1: n is smaller in memory than it looks, or that is not known. */
static int64_t memory_axis(struct split *s, const uop *n, int depth) {
    const struct shape *to = shape_of(s->sh, n), *from = n->nsrc ? shape_of(s->sh, n->src[0]) : NULL;
    int64_t last = -1, a;
    for (uint32_t i = 0; i < to->n; i++)
        if (to->d[i] > 1) last = i;
    if (!depth) return -1;
    if (n->op == OP_BUFFER || n->op == OP_REDUCE_AXES) return last;
    if (n->op == OP_PERMUTE) {
        a = memory_axis(s, n->src[0], depth - 1);
        for (uint32_t i = 0; i < to->n; i++)
            if (a >= 0 && n->src[1 + i]->arg.i == a) return i;
        return -1;
    }
    if (n->op == OP_RESHAPE) { /* axes of one element come and go */
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

/* ---- products on a GPU -------------------------------------------------------------------------------------------- */

/* Does n move along the axis, or is it the same value repeated? A number has no axes at all. */
static bool moves_along(struct split *s, const uop *n, uint32_t axis) {
    if (n->op == OP_PERMUTE) return moves_along(s, n->src[0], (uint32_t)n->src[1 + axis]->arg.i);
    if (n->op == OP_CAST) return moves_along(s, n->src[0], axis);
    const struct shape *sh = shape_of(s->sh, n->op == OP_EXPAND ? n->src[0] : n);
    return axis < sh->n && sh->d[axis] > 1;
}

/* Clocks of a large GPU for products of halves, the sum of each in parts of so many terms: the best of some tiles, without roundings
 * that all tiles have. The figures are those of tune/cost/gpu_time.c: what several tiles ask for comes faster from L2 than what
 * one alone does, and no tile is faster than memory where L2 does not hold the factors. Where a sum is cut, floats are stored and
 * a second kernel reads them. */
static double halves_clocks(const int64_t size[2], int64_t batch, int64_t depth, int64_t parts) {
    static const int64_t tile[][2] = {{128, 256}, {256, 128}, {128, 192}, {128, 128}, {64, 256},
                                      {256, 64},  {64, 128},  {128, 64},  {64, 64}};
    const double matrix = 3834, fill = 51, alone = 29, step = 1.5, begin = 2390, store = 13, second = 3000,
                 l2 = 2500, memory = 2100, held = 40e6;
    double best = 1e300, results = (double)(size[0] * size[1] * batch), bytes = parts > 1 ? 4 : 2;
    double factors = 2 * (double)((size[0] + size[1]) * depth * batch),
           come = factors > held ? factors / memory : 0;
    for (size_t i = 0; i < RG_COUNT(tile); i++) {
        double m = (double)tile[i][0], n = (double)tile[i][1];
        double tiles = ceil((double)size[0] / m) * ceil((double)size[1] / n);
        double blocks = tiles * (double)(batch * parts);
        double own = RG_MIN(2 * (double)(size[0] + size[1]) / tiles, 2 * (m + n));
        double term = RG_MAX(2 * m * n / matrix, (2 * (m + n) - own) / fill + own / alone) + step;
        double waves = ceil(blocks / UNITS), sums = RG_MAX((double)(depth / parts) * term, come / waves);
        best = RG_MIN(best, waves * (sums + begin + m * n * bytes / store));
    }
    return best + (parts > 1 ? second + (double)parts * results * bytes / l2 : 0);
}

/* A sum is cut where that is far better: 1024 x 1024 x 8192 in four parts was said to take 0.74 of the time, and took 1.18. */
static int64_t halves_parts(const int64_t size[2], int64_t batch, int64_t depth) {
    int64_t parts = 1;
    double least = 0.7 * halves_clocks(size, batch, depth, 1);
    for (int64_t p = 2; p <= MOST_PARTS && depth / p >= PART_LEAST; p++) {
        if (depth % (p * CHUNK)) continue;
        double clocks = halves_clocks(size, batch, depth, p);
        if (clocks < least) least = clocks, parts = p;
    }
    return parts;
}

/* Into how many parts the sum of a product is to be cut; 1: it is none, or has blocks enough. */
static int64_t product_parts(struct split *s, const uop *n, const struct shape *in) {
    const uop *m = uop_uncast(n->src[0]);
    int64_t size[2] = {1, 1}, batch = 1, depth = 0;
    if (n->arg.i != OP_ADD || m->op != OP_MUL || n->nsrc != 2 || !dt_is_float((enum dtype)n->dt)) return 1;
    for (uint32_t i = 0; i < in->n; i++) {
        bool a = moves_along(s, m->src[0], i), b = moves_along(s, m->src[1], i);
        if (i == (uint32_t)n->src[1]->arg.i)
            depth = a && b ? in->d[i] : 0;
        else if (a != b)
            size[b] *= in->d[i];
        else
            batch *= in->d[i];
    }
    int wide = size[1] >= size[0];
    int64_t few = size[!wide], many = size[wide], blocks, want;
    if (!depth || many < TILE_N) return 1;
    const uop *matrix = m->src[wide];
    while (matrix->op == OP_EXPAND || matrix->op == OP_CAST) matrix = matrix->src[0];
    bool along = memory_axis(s, matrix, 12) == n->src[1]->arg.i;
    if (few > (along ? FEW_ALONG : FEW_ACROSS)) {
        if (element_bytes(m->src[0]) == 2 && element_bytes(m->src[1]) == 2)
            return halves_parts(size, batch, depth);
        int64_t wide_tile = few > TILE_M ? TILE_N : TILE_N / 2;
        blocks = (few + TILE_M - 1) / TILE_M * ((many + wide_tile - 1) / wide_tile) * batch,
        want = TILE_BLOCKS;
    } else {
        int64_t strip = along ? STRIP_ROWS : STRIP_BYTES / element_bytes(matrix);
        blocks = (many + strip - 1) / strip * batch, want = FEW_BLOCKS;
    }
    int64_t parts = 1;
    while (parts * blocks * 2 <= want + want / 2 && depth % (2 * parts * CHUNK) == 0 &&
           depth / (2 * parts) >= PART_LEAST)
        parts *= 2;
    return parts;
}

/* How many results keep a GPU busy. */
static int64_t many_on_gpu(const uop *n, const struct shape *in) {
    int64_t last = -1, row = 0;
    for (uint32_t i = 0; i < in->n; i++)
        if (in->d[i] > 1) last = i;
    for (uint32_t i = 1; i < n->nsrc; i++)
        if (n->src[i]->arg.i == last) row = in->d[last];
    return RG_MAX(MANY_COLUMNS / RG_MAX(RG_MIN(row / 4, 512), 1), MANY_RESULTS);
}

/* Sums down the columns of a matrix that no cache holds: memory is fast where whole rows are read, and if each core is to have
 * rows of its own there must be blocks of them. */
static bool has_long_columns(struct split *s, const uop *n, int64_t total, int64_t results) {
    if (total < LONG_COLUMNS || results > total / (8 * COLUMN_BLOCKS)) return false;
    int64_t along = memory_axis(s, n->src[0], 12);
    for (uint32_t i = 1; i < n->nsrc; i++)
        if (n->src[i]->arg.i == along) return false;
    return along >= 0;
}

const uop *split_reduction(struct ir *ir, struct shapes *sh, const uop *n, bool gpu, const uop **stored) {
    struct split s = {ir, sh, NULL};
    const struct shape *in = shape_of(sh, n->src[0]), *out = shape_of(sh, n);
    int64_t total = shape_size(in), results = shape_size(out);
    int64_t many = gpu ? many_on_gpu(n, in) : MANY_RESULTS;
    bool columns = !gpu && results >= many && has_long_columns(&s, n, total, results);
    int64_t parts = gpu ? product_parts(&s, n, in) : 1;
    int64_t cut[SHAPE_MAX], terms = total / RG_MAX(results, 1);
    uint32_t taps = gpu && results <= TAP_RESULTS / 8 && terms >= PART_LEAST ? tap_axes(n, in) : 0;
    bool halves = taps && half_taps(n, in, taps, cut);
    if (!halves && terms < LONG_TAPS) taps = 0;
    if (total < WORTH_IT || (results >= many && !columns && parts < 2 && !taps)) return NULL;
    enum op op = (enum op)n->arg.i;
    bool half = (n->dt == DT_F16 || n->dt == DT_BF16) && (op == OP_ADD || op == OP_MUL);
    const uop *x = half ? uop_cast(ir, n->src[0], DT_F32) : n->src[0], *r;
    int64_t axis1 = 1, axis0 = 0;
    if (halves)
        r = split_axes(&s, n, x, in, cut, true, taps, true);
    else if (taps)
        r = split_axis(&s, n, x, in, RG_MAX(TAP_RESULTS / results, 2), true, taps, true);
    else if (parts > 1)
        r = split_axis(&s, n, x, in, parts, true, 0, true);
    else if (results > 1)
        r = split_axis(&s, n, x, in, columns ? COLUMN_BLOCKS : RG_MAX(2 * many / results, 2), columns, 0,
                       columns || many == MANY_COLUMNS);
    else if (!(r = split_variance(&s, n)))
        r = reduce(&s, op, reduce(&s, op, in_blocks(&s, op, x, total), &axis1, 1), &axis0, 1);
    *stored = s.stored;
    return r ? uop_cast(ir, reshape_to(&s, r, out), (enum dtype)n->dt) : NULL;
}
