/* split_scan.c: long scans, in blocks. A scan with few rows becomes reduce-then-scan: blocks are reduced, the results
 * scanned (again in blocks if they are many), and each block is scanned with what the blocks before it gave as its first term.
 * Three passes over memory instead of two, all of them parallel, and every sum in the same order on every machine.
 *
 *   rows        the axis of stride 1. GPU: a thread block per block of ROW_BLOCK elements (COOP, render/gpu_scan.c). CPU: a thread.
 *   columns     GPU: a thread per column and block: blocks until the GPU has threads enough. CPU: the same, by cores.
 * A sum that decays has blocks from 0, beside the products of their decays; what came before, times these, is added in the end.
 * Where the order cannot matter (maxima, minima, integers) rows of a CPU run along the lanes of vectors (lower/loop_tree.c): only
 * long rows have blocks, each combined with what comes before it after its own scan.
 * A length that has no good divisor is padded with the identity.
 * Requires: the planner's tensor graph, before units are found. Gives: an equal graph, whose block results must be stored.
 * Tests: tests/unit/scans.c */
#include "schedule/internal.h"

enum {
    WORTH_IT = 1 << 15,    /* elements */
    WORTH_LANES = 1 << 12, /* elements of few rows, in their order: blocks are the lanes of vectors */
    LANE_ROWS = 4,         /* that fill them */
    LANE_LEAST = 64,       /* elements of such a block */
    ROW_BLOCK = 16384,     /* of a row */
    ROW_LEAST = 2048,
    ROW_WHOLE = 12288,     /* GPU: of a row that a block scans in three rounds, sooner than four kernels */
    WHOLE = 4,             /* elements of a row's vectors */
    WHOLE_PADDED = 64,     /* .. of blocks that are padded: a vector of the result is in one block */
    ROWS_CPU = 64,         /* rows or columns that occupy any number of cores */
    COLUMN_LEAST = 16,     /* terms of a block down columns .. */
    COLUMN_MORE = 64,      /* .. or up to these if the results of blocks are then too few to be split again */
    COLUMNS_CPU = 1 << 12, /* columns that do, in vectors */
};

struct split_scan {
    struct ir *ir;
    struct shapes *sh;
    const struct gpu_spec *gpu; /* NULL: a CPU */
    uop_vec *stored;
    struct arena *arena;
};

/* A divisor of n in [least, most], the nearest to `want` by ratio; 0: none. */
static int64_t divisor_near(int64_t n, int64_t want, int64_t least, int64_t most) {
    for (int64_t up = want, down = want; up <= most || down >= least; up++, down--) {
        if (down >= least && down > 0 && n % down == 0) return down;
        if (up <= most && n % up == 0) return up;
    }
    return 0;
}

/* Elements of a block of a scan over n elements, `inner` apart, of `outer` rows; 0: it is not split. */
static int64_t block_length(const struct split_scan *s, int64_t n, int64_t outer, int64_t inner,
                            bool ordered) {
    int64_t want, exact;
    bool lanes = !s->gpu && ordered && inner == 1 && outer < LANE_ROWS && n * outer < WORTH_IT;
    if (n * outer * inner < (lanes ? WORTH_LANES : WORTH_IT)) return 0;
    if (inner == 1) {
        int64_t rows = s->gpu ? 2 * s->gpu->sms : ROWS_CPU, least = lanes ? LANE_LEAST : ROW_LEAST;
        if (outer >= rows || n < 2 * least || (s->gpu && n <= ROW_WHOLE)) return 0;
        want = RG_MAX(RG_MIN(n * outer / rows, ROW_BLOCK), least);
        exact = n % WHOLE ? 0 : WHOLE * divisor_near(n / WHOLE, want / WHOLE, least / 2 / WHOLE, want);
        if (!exact && !s->gpu) exact = divisor_near(n, want, RG_MAX(least / 8, LANE_LEAST / 2), want);
    } else {
        int64_t columns = s->gpu ? 2 * (int64_t)gpu_whole(s->gpu, gpu_cost.threads_columns) : COLUMNS_CPU;
        int64_t blocks = columns / (outer * inner);
        if (blocks < 2 || n < 4 * COLUMN_LEAST) return 0;
        want = RG_MAX(n / blocks, COLUMN_LEAST);
        int64_t once = n * outer * inner / WORTH_IT + 1, least = RG_MAX(want / 2, COLUMN_LEAST);
        if (s->gpu && once > want && once <= COLUMN_MORE) want = least = once;
        exact = divisor_near(n, want, least, 2 * want);
    }
    int64_t blocks = (n + want - 1) / want, length = (n + blocks - 1) / blocks;
    int64_t to = s->gpu || ordered ? WHOLE : WHOLE_PADDED;
    if (inner == 1) length = (length + to - 1) / to * to; /* padded anyway */
    return exact && exact < n ? exact : length;
}

static const uop *scan_of(struct split_scan *s, const uop *x, uint32_t axis, union arg arg) {
    return uop_mk(s->ir, OP_SCAN_AXIS, (const uop *[]){x, uop_idx(s->ir, axis)}, 2, arg);
}

static const uop *split(struct split_scan *s, const uop *n);

/* What comes before each block: (.., blocks, length, ..) to (.., blocks, 1, ..). part: the blocks as they are scanned, where these
 * are stored anyway; else NULL. */
static const uop *before_blocks(struct split_scan *s, const uop *x, const uop *part, uint32_t axis,
                                union arg arg) {
    const uop *length = uop_idx(s->ir, axis + 1),
              *zero = uop_identity(s->ir, (enum op)arg.i, (enum dtype)x->dt);
    const uop *sums = part ? part : uop_mk(s->ir, OP_REDUCE_AXES, (const uop *[]){x, length}, 2, arg);
    int64_t blocks = shape_of(s->sh, x)->d[axis];
    vec_push(s->arena, s->stored, sums);
    if (part) sums = graph_slice(s->ir, s->sh, part, axis + 1, shape_of(s->sh, x)->d[axis + 1] - 1, 1);
    const uop *scan = split(s, scan_of(s, graph_slice(s->ir, s->sh, sums, axis, 0, blocks - 1), axis, arg));
    return graph_pad(s->ir, s->sh, scan, zero, axis, 1, 0);
}

/* 0, 1, .. along an axis of the shape, broadcast along the others. */
static const uop *count_along(struct split_scan *s, const struct shape *to, uint32_t axis) {
    int64_t d[SHAPE_MAX];
    for (uint32_t i = 0; i < to->n; i++) d[i] = i == axis ? to->d[i] : 1;
    const uop *size = uop_idx(s->ir, to->d[axis]),
              *n = uop_new(s->ir, OP_IOTA, DT_I64, 1, &size, 1, ARG_NONE);
    return graph_shaped(s->ir, OP_EXPAND, graph_shaped(s->ir, OP_RESHAPE, n, d, to->n), to->d, to->n);
}

/* x with what comes before each block combined with its first term. */
static const uop *with_first(struct split_scan *s, const uop *x, const uop *before, uint32_t axis,
                             enum op op) {
    const struct shape *in = shape_of(s->sh, x);
    const uop *zero = uop_int(s->ir, DT_I64, 0);
    const uop *first = uop2(s->ir, OP_EQ, count_along(s, in, axis + 1), zero);
    const uop *later = uop2(s->ir, OP_LT, zero, count_along(s, in, axis));
    const uop *all = graph_shaped(s->ir, OP_EXPAND, before, in->d, in->n);
    const uop *src[3] = {uop2(s->ir, OP_AND, first, later), uop2(s->ir, op, all, x), x};
    return uop_mk(s->ir, OP_WHERE, src, 3, ARG_NONE);
}

/* Blocks of a sum that decays: each from 0, beside what it multiplies the sum before it by; then this is added. */
static const uop *decayed_blocks(struct split_scan *s, const uop *x, const uop *by, uint32_t axis,
                                 union arg arg) {
    struct ir *ir = s->ir;
    const struct shape *in = shape_of(s->sh, x);
    int64_t blocks = in->d[axis], length = in->d[axis + 1];
    const uop *along = uop_idx(ir, axis + 1), *last[2];
    const uop *part[2] = {uop_mk(ir, OP_SCAN_AXIS, (const uop *[]){x, along, by}, 3, arg),
                          scan_of(s, by, axis + 1, ARG_INT(OP_MUL))};
    for (int i = 0; i < 2; i++) {
        vec_push(s->arena, s->stored, part[i]);
        last[i] = graph_slice(ir, s->sh, part[i], axis + 1, length - 1, 1);
        last[i] = graph_slice(ir, s->sh, last[i], axis, 0, blocks - 1);
    }
    const uop *src[3] = {last[0], uop_idx(ir, axis), last[1]};
    const uop *before = split(s, uop_mk(ir, OP_SCAN_AXIS, src, 3, arg));
    before = graph_pad(ir, s->sh, before, uop_identity(ir, OP_ADD, (enum dtype)x->dt), axis, 1, 0);
    before = graph_shaped(ir, OP_EXPAND, before, in->d, in->n);
    return uop2(ir, OP_ADD, part[0], uop2(ir, OP_MUL, part[1], before));
}

static const uop *split(struct split_scan *s, const uop *n) {
    const uop *x = n->src[0];
    const struct shape *in = shape_of(s->sh, x);
    uint32_t axis = (uint32_t)n->src[1]->arg.i;
    int64_t size = in->d[axis], outer = 1, inner = 1, d[SHAPE_MAX];
    for (uint32_t i = 0; i < in->n; i++) *(i < axis ? &outer : &inner) *= i == axis ? 1 : in->d[i];
    bool decays = n->nsrc > 2, apart = false;
    bool ordered = decays || !uop_any_order((enum op)n->arg.i, (enum dtype)n->dt);
    int64_t length = block_length(s, size, outer, inner, ordered);
    if (!length || in->n + 1 > SHAPE_MAX) return n;
    int64_t blocks = (size + length - 1) / length, whole = blocks * length;
    const uop *zero = uop_identity(s->ir, (enum op)n->arg.i, (enum dtype)x->dt);
    if (whole > size) x = graph_pad(s->ir, s->sh, x, zero, axis, 0, whole - size);
    for (uint32_t i = 0; i < in->n; i++) d[i + (i > axis)] = in->d[i];
    d[axis] = blocks, d[axis + 1] = length;
    x = graph_shaped(s->ir, OP_RESHAPE, x, d, in->n + 1);
    if (decays) {
        const uop *by = n->src[2];
        if (whole > size) by = graph_pad(s->ir, s->sh, by, zero, axis, 0, whole - size);
        x = decayed_blocks(s, x, graph_shaped(s->ir, OP_RESHAPE, by, d, in->n + 1), axis, n->arg);
    } else if (s->gpu || ordered || inner > 1) {
        x = with_first(s, x, before_blocks(s, x, NULL, axis, n->arg), axis, (enum op)n->arg.i);
        x = scan_of(s, x, axis + 1, n->arg);
    } else {
        const uop *part = scan_of(s, x, axis + 1, n->arg);
        const uop *before = before_blocks(s, x, whole > size ? part : NULL, axis, n->arg);
        before = graph_shaped(s->ir, OP_EXPAND, before, shape_of(s->sh, x)->d, in->n + 1);
        x = uop2(s->ir, (enum op)n->arg.i, before, part);
        apart = whole > size;
        if (!apart) vec_push(s->arena, s->stored, x);
    }
    memcpy(d, in->d, in->n * sizeof *d);
    d[axis] = whole;
    x = graph_shaped(s->ir, OP_RESHAPE, x, d, in->n);
    if (whole > size) x = graph_slice(s->ir, s->sh, x, axis, 0, size);
    if (apart) vec_push(s->arena, s->stored, x); /* without what pads it: no copy is left */
    return x;
}

const uop *split_scan(struct ir *ir, struct shapes *sh, const uop *n, const struct gpu_spec *gpu,
                      struct arena *arena, uop_vec *stored) {
    struct split_scan s = {.ir = ir, .sh = sh, .gpu = gpu, .stored = stored, .arena = arena};
    return split(&s, n);
}
