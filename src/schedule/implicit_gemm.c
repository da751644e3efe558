/* implicit_gemm.c: 16-bit convolutions of every form (strided, dilated, transposed, grouped, 1-D to 3-D) and both their
 * gradients as implicit GEMMs over channels-last copies; of fp32 with RIDGE_TF32=1 those whose K is the channels.
 *
 * A factor of the product reads each axis of its source at an affine function of the product's axes: positions and taps of a
 * window (UNFOLD, FOLD), zero outside. In the given layout (N, C, H, W) a tile of it is gathered element by element. The copy
 * has the channels last and the padding stored, so that 8 channels of any position and tap are one 16-byte chunk and no load is
 * predicated:
 *
 *     sum_{c,k} x[n][c][y*s+k*d-p] w[o][c][k]   ->   sum_{k,c} X[n][y*s+k*d][c] W[o][k][c],   X, W stored
 *
 * In the gradient of the weights positions are K, and the copy is MN-major; the other factor is read in place, K-major, where rows are
 * whole chunks, else it is copied too. Axes are padded with zeros where they are cut
 * or rounded up: channels to whole chunks, K of few output tiles to equal splits (split-K). Copies are nodes of the planner's
 * graph: the producer of an operand is fused with its copy, and the convolution and its gradients share one.
 * Requires: a REDUCE_AXES of a MUL in the planner's graph. Gives: the same value over stored copies.
 * Tests: tests/unit/implicit_gemm.c */
#include "schedule/internal.h"

enum {
    CHUNK_BYTES = 16,   /* of a load */
    ROW_BYTES = 128,    /* of a row, as wgmma reads them */
    LEAST_M = 3,        /* elements of M, which is padded to a tile, .. */
    LEAST_N = 8,        /* .. and of N */
    LEAST_K = 32,       /* terms */
    LEAST_TERMS = 1024, /* of a split */
    MOST_SPLITS = 128,
    RESIDENT = 4,                /* blocks of an SM that hide each other's latency, .. */
    SMALL_N = 64,                /* .. if tiles have less than 64 rows and about as many columns */
    MOST_PIECES = SHAPE_MAX - 2, /* axes of the product, splits twice */
    WGMMA_CHANNELS = 64,         /* of tune/choose/gpu_conv.c: multiples of it, .. */
    WGMMA_POSITIONS = 8,         /* .. and of columns in the gradient of the weights; .. */
    WGMMA_COLUMNS = 12,          /* .. fewer fill too little of the 16 that it computes */
};

/* An index of one axis of the source: off + sum of c[i] * (axis i of the product). */
struct affine_index {
    int64_t off, c[SHAPE_MAX];
    int64_t gap; /* zeros between two elements of the source (FOLD with a stride), which count */
};

struct conv_factor {
    const uop *src; /* 16-bit, or fp32 for TF32, to be copied */
    uint32_t n;
    int64_t d[SHAPE_MAX]; /* its sizes, gaps included */
    struct affine_index at[SHAPE_MAX];
    bool flip[SHAPE_MAX];
    int64_t lo[SHAPE_MAX], count[SHAPE_MAX], step[SHAPE_MAX]; /* elements of the copy along each axis */
    int windows;                                              /* axes read at positions and taps */
    int last;                                                 /* axis of src that is contiguous in the copy */
};

enum conv_side { CONV_ONE, CONV_BATCH, CONV_M, CONV_N, CONV_K };

struct conv_gemm {
    struct ir *ir;
    struct shapes *sh;
    bool tf32;
    int64_t chunk;             /* elements of CHUNK_BYTES */
    const struct shape *shape; /* of the product */
    struct conv_factor f[2];   /* N is what f[1], the one with windows, has alone */
    enum conv_side side[SHAPE_MAX];
    int64_t size[SHAPE_MAX], parts[SHAPE_MAX]; /* rounded up; splits of an axis */
    int64_t total[CONV_K + 1];
    uint32_t order[2 * SHAPE_MAX],
        pieces; /* axes of the new product: axis, or SHAPE_MAX + axis for its splits */
};

static int64_t up(int64_t n, int64_t step) { return (n + step - 1) / step * step; }

/* ---- what a factor reads ------------------------------------------------------------------------------------- */

static bool is_half(enum dtype dt) { return dt == DT_F16 || dt == DT_BF16; }

/* x, a view of a widened 16-bit value, before it was widened; NULL: it is none. */
static const uop *narrow(struct conv_gemm *g, const uop *x) {
    if (x->op == OP_CAST) return x->dt == DT_F32 && is_half((enum dtype)x->src[0]->dt) ? x->src[0] : NULL;
    bool pad = x->op == OP_PAD;
    if (pad ? !graph_is_zero(x->src[1])
            : x->op != OP_RESHAPE && x->op != OP_PERMUTE && x->op != OP_SHRINK && x->op != OP_FLIP)
        return NULL;
    const uop *from = narrow(g, x->src[0]), **src = arena_array(g->ir->arena, const uop *, x->nsrc);
    if (!from) return NULL;
    memcpy(src, x->src, x->nsrc * sizeof *src);
    src[0] = from;
    if (pad) src[1] = uop_flt(g->ir, (enum dtype)from->dt, 0);
    return uop_new(g->ir, (enum op)x->op, (enum dtype)from->dt, 1, src, x->nsrc, x->arg);
}

/* A RESHAPE that only inserts or removes axes of size 1. */
static bool through_reshape(const struct shape *out, const struct shape *in, const struct affine_index *at,
                            struct affine_index *to) {
    uint32_t i = 0;
    for (uint32_t j = 0; j < in->n; j++) {
        to[j] = (struct affine_index){0};
        if (in->d[j] == 1) continue;
        while (i < out->n && out->d[i] == 1) i++;
        if (i == out->n || out->d[i] != in->d[j]) return false;
        to[j] = at[i++];
    }
    while (i < out->n && out->d[i] == 1) i++;
    return i == out->n;
}

static void add_index(struct affine_index *a, const struct affine_index *b, int64_t times) {
    a->off += b->off * times;
    for (int i = 0; i < SHAPE_MAX; i++) a->c[i] += b->c[i] * times;
}

static bool through_windows(const uop *x, const struct shape *in, const struct affine_index *at,
                            struct affine_index *to) {
    uint32_t m = (x->nsrc - 1) / 3, first = in->n - 2 * m;
    memcpy(to, at, in->n * sizeof *to);
    for (uint32_t i = 0; i < m; i++) {
        int64_t stride = x->src[2 + 3 * i]->arg.i, dilation = x->src[3 + 3 * i]->arg.i;
        struct affine_index *p = &to[first + i];
        if (at[first + i].gap) return false;
        *p = (struct affine_index){.gap = x->op == OP_FOLD ? stride - 1 : 0};
        if (x->op == OP_FOLD) stride = 1;
        add_index(p, &at[first + i], stride);
        add_index(p, &at[first + m + i], x->op == OP_FOLD ? -dilation : dilation);
    }
    return true;
}

/* One step from the product towards the source; false: x is what is copied. */
static bool through(struct conv_gemm *g, const uop *x, struct affine_index *at) {
    struct affine_index to[SHAPE_MAX] = {0};
    if (!op_is_movement((enum op)x->op)) return false;
    const struct shape *out = shape_of(g->sh, x), *in = shape_of(g->sh, x->src[0]);
    switch (x->op) {
    case OP_EXPAND:
        for (uint32_t i = 0; i < in->n; i++)
            if (in->d[i] > 1) to[i] = at[i];
        break;
    case OP_PERMUTE:
        for (uint32_t i = 0; i < in->n; i++) to[x->src[1 + i]->arg.i] = at[i];
        break;
    case OP_RESHAPE:
        if (!through_reshape(out, in, at, to)) return false;
        break;
    case OP_UNFOLD:
    case OP_FOLD:
        if (!through_windows(x, in, at, to)) return false;
        break;
    default: return false;
    }
    memcpy(at, to, sizeof to);
    return true;
}

/* Would a copy of x hold an element of memory several times? */
static bool is_repeated(const uop *x) {
    for (; op_is_movement((enum op)x->op); x = x->src[0])
        if (x->op == OP_EXPAND || x->op == OP_UNFOLD || x->op == OP_FOLD) return true;
    return x->op == OP_CONST;
}

static bool read_factor(struct conv_gemm *g, const uop *x, struct conv_factor *f) {
    bool half = false;
    for (uint32_t i = 0; i < g->shape->n; i++) f->at[i].c[i] = g->shape->d[i] > 1;
    if (shape_of(g->sh, x) != g->shape) return false;
    for (;;) {
        if (!half && x->op == OP_CAST && x->dt == DT_F32 && is_half((enum dtype)x->src[0]->dt))
            half = true, x = x->src[0];
        else if (through(g, x, f->at))
            x = x->src[0];
        else
            break;
    }
    f->src = g->tf32 ? (half ? NULL : x) : half ? x : narrow(g, x);
    if (!f->src || is_repeated(f->src)) return false;
    const struct shape *s = shape_of(g->sh, f->src);
    f->n = s->n;
    for (uint32_t j = 0; j < s->n; j++) f->d[j] = (s->d[j] - 1) * (f->at[j].gap + 1) + 1;
    return shape_size(s) > 0;
}

/* ---- sides ----------------------------------------------------------------------------------------------------- */

static bool depends(const struct conv_factor *f, uint32_t axis) {
    for (uint32_t j = 0; j < f->n; j++)
        if (f->at[j].c[axis]) return true;
    return false;
}

/* Axes of the product that index axis j, at most `most`; -1: more. */
static int terms(const struct conv_gemm *g, const struct conv_factor *f, uint32_t j, uint32_t *axis,
                 int most) {
    int n = 0;
    for (uint32_t i = 0; i < g->shape->n; i++) {
        if (!f->at[j].c[i]) continue;
        if (n == most) return -1;
        axis[n++] = i;
    }
    return n;
}

static bool is_reduced(const uop *n, uint32_t axis) {
    for (uint32_t i = 1; i < n->nsrc; i++)
        if (n->src[i]->arg.i == axis) return true;
    return false;
}

static bool find_sides(struct conv_gemm *g, const uop *n) {
    for (uint32_t i = 0; i < g->shape->n; i++) {
        bool a = depends(&g->f[0], i), b = depends(&g->f[1], i), one = g->shape->d[i] == 1;
        if (!one && is_reduced(n, i) ? !a || !b : !one && !a && !b) return false;
        g->side[i] = one ? CONV_ONE : is_reduced(n, i) ? CONV_K : a && b ? CONV_BATCH : a ? CONV_M : CONV_N;
        g->size[i] = g->shape->d[i], g->parts[i] = 1;
    }
    return true;
}

/* An axis of the product backwards, in both factors. */
static void reverse_axis(struct conv_gemm *g, uint32_t axis) {
    for (int k = 0; k < 2; k++)
        for (uint32_t j = 0; j < g->f[k].n; j++) {
            struct affine_index *a = &g->f[k].at[j];
            a->off += a->c[axis] * (g->shape->d[axis] - 1), a->c[axis] = -a->c[axis];
        }
}

/* Makes all steps positive: FOLD reads positions minus taps. */
static bool straighten(struct conv_gemm *g) {
    uint32_t axis[2];
    for (int k = 0; k < 2; k++)
        for (uint32_t j = 0; j < g->f[k].n; j++) {
            int n = terms(g, &g->f[k], j, axis, 2);
            if (n < 0) return false;
            const int64_t *c = g->f[k].at[j].c;
            if (n < 2 || (c[axis[0]] > 0) == (c[axis[1]] > 0)) continue;
            int back = c[axis[1]] < 0;
            if (g->side[axis[back]] != CONV_K) back = !back; /* then both are negative */
            if (g->side[axis[back]] != CONV_K) return false;
            reverse_axis(g, axis[back]);
        }
    for (int k = 0; k < 2; k++)
        for (uint32_t j = 0; j < g->f[k].n; j++) {
            struct affine_index *a = &g->f[k].at[j];
            int n = terms(g, &g->f[k], j, axis, 2);
            bool back = n > 0 && a->c[axis[0]] < 0;
            if (n == 2 && back != (a->c[axis[1]] < 0)) return false;
            if (!back) continue;
            g->f[k].flip[j] = true, a->off = g->f[k].d[j] - 1 - a->off;
            for (int i = 0; i < n; i++) a->c[axis[i]] = -a->c[axis[i]];
        }
    return true;
}

/* Each axis of the product indexes one axis of a factor. Counts windows. */
static bool count_windows(struct conv_gemm *g, struct conv_factor *f) {
    uint32_t axis[2], seen[SHAPE_MAX] = {0};
    f->windows = 0;
    for (uint32_t j = 0; j < f->n; j++) {
        int n = terms(g, f, j, axis, 2);
        if (n < 0) return false;
        f->windows += n == 2;
        for (int i = 0; i < n; i++)
            if (seen[axis[i]]++) return false;
    }
    return true;
}

/* ---- layout ---------------------------------------------------------------------------------------------------- */

/* The axis of the product that alone, element by element, indexes axis j of the source; -1: there is none. */
static int plain_axis(const struct conv_gemm *g, const struct conv_factor *f, uint32_t j) {
    uint32_t axis[2];
    if (terms(g, f, j, axis, 2) != 1 || f->at[j].off || f->at[j].c[axis[0]] != 1) return -1;
    enum conv_side s = g->side[axis[0]];
    return s == CONV_M || s == CONV_N || s == CONV_K ? (int)axis[0] : -1;
}

/* The axis of the source that should be contiguous: channels. A source without windows may have it there already. */
static int channels_of(const struct conv_gemm *g, const struct conv_factor *f) {
    int best = -1, first = -1;
    for (uint32_t j = 0; j < f->n; j++) {
        int a = plain_axis(g, f, j);
        bool inner = !f->windows && j + 1 == f->n && a >= 0 && f->d[j] % g->chunk == 0;
        if (inner && (g->side[a] == CONV_K || f->d[j] >= ROW_BYTES / CHUNK_BYTES * g->chunk)) return (int)j;
        if (a >= 0 && first < 0) first = (int)j;
        if (a >= 0 && (int)j != first && (best < 0 || f->d[j] >= f->d[best])) best = (int)j;
    }
    return best < 0 ? first : best; /* images come first */
}

/* The last axis of a factor that is read in place, if it is along K in whole chunks: positions of a gradient. -1: it is not. */
static int k_major_axis(struct conv_gemm *g, const struct conv_factor *f) {
    int last = -1;
    for (uint32_t j = 0; j < f->n; j++) {
        uint32_t axis[2];
        if (f->d[j] == 1 && !f->at[j].off) continue;
        bool plain = terms(g, f, j, axis, 2) == 1 && !f->at[j].off && f->at[j].c[axis[0]] == 1;
        if (!plain || f->flip[j] || f->at[j].gap || g->shape->d[axis[0]] != f->d[j]) return -1;
        last = (int)j;
    }
    int a = last < 0 ? -1 : plain_axis(g, f, (uint32_t)last);
    return a >= 0 && g->side[a] == CONV_K && f->d[last] % g->chunk == 0 ? last : -1;
}

static bool find_last(struct conv_gemm *g) {
    struct conv_factor *img = &g->f[1], *other = &g->f[0];
    int a;
    img->last = channels_of(g, img), other->last = -1;
    if (img->last < 0) return false;
    int channel = plain_axis(g, img, (uint32_t)img->last);
    if (g->side[channel] != CONV_K) other->last = k_major_axis(g, other);
    if (other->last >= 0) return true;
    for (uint32_t j = 0; j < other->n; j++) {
        if ((a = plain_axis(g, other, j)) < 0) continue;
        bool better = other->last < 0 || other->d[j] > other->d[other->last];
        if (g->side[channel] == CONV_K ? a == channel : g->side[a] == CONV_M && better) other->last = (int)j;
    }
    return other->last >= 0;
}

static int last_axis(const struct conv_gemm *g, int which) {
    return plain_axis(g, &g->f[which], (uint32_t)g->f[which].last);
}

static bool is_contiguous(const struct conv_gemm *g, uint32_t axis) {
    return (int)axis == last_axis(g, 0) || (int)axis == last_axis(g, 1);
}

static void count_sides(struct conv_gemm *g) {
    for (int s = 0; s <= CONV_K; s++) g->total[s] = 1;
    for (uint32_t i = 0; i < g->shape->n; i++) g->total[g->side[i]] *= g->size[i];
}

/* What the kernels of tune/choose/gpu_conv.c do as well without copies: stride 1, two axes, 64 channels or filters of at most
 * 128. From 128 by 128 on GEMMs over copies reach 400 to 550 TFLOP/s where these reach 220 to 380. */
static bool has_wgmma_form(const struct conv_gemm *g) {
    const struct conv_factor *img = &g->f[1];
    uint32_t axis[2];
    int64_t cols = 0;
    if (img->windows != 2 || g->total[CONV_BATCH] != 1) return false;
    for (uint32_t j = 0; j < img->n; j++) {
        if (terms(g, img, j, axis, 2) != 2) continue;
        if (img->at[j].c[axis[0]] != 1 || img->at[j].c[axis[1]] != 1) return false;
        cols = RG_MAX(g->shape->d[axis[0]], g->shape->d[axis[1]]);
    }
    int axes[CONV_K + 1] = {0};
    for (uint32_t i = 0; i < g->shape->n; i++) axes[g->side[i]]++;
    if (axes[CONV_M] > 1 || axes[CONV_N] > 3 || axes[CONV_K] > 3)
        return false; /* phases of a strided gradient */
    bool weights = g->side[last_axis(g, 1)] == CONV_N;
    int64_t channels = g->shape->d[last_axis(g, 1)], filters = g->total[CONV_M];
    return channels % WGMMA_CHANNELS == 0 && filters % WGMMA_CHANNELS == 0 &&
           channels * filters <= WGMMA_IN_PLACE &&
           (weights ? cols % WGMMA_POSITIONS == 0 : cols >= WGMMA_COLUMNS);
}

/* Channels become whole chunks. In the gradient of the weights of a strided convolution few channels need not: those of `stride`
 * positions fill a chunk, at which each position begins, and taps are padded to whole chunks: results that are dropped. (In the
 * convolution itself they would be terms: zero times what may be infinite.) */
static void pad_channels(struct conv_gemm *g) {
    struct conv_factor *img = &g->f[1];
    int channel = last_axis(g, 1);
    int64_t few = 1;
    uint32_t axis[2], inner = img->last + 1 == (int)img->n ? img->n - 2 : img->n - 1;
    for (int i = 0; i < 2; i++) g->size[last_axis(g, i)] = up(g->size[last_axis(g, i)], g->chunk);
    while (few < g->shape->d[channel]) few *= 2;
    if (few >= g->chunk || g->side[channel] != CONV_N || img->n < 2 || terms(g, img, inner, axis, 2) != 2)
        return;
    int tap = g->side[axis[0]] == CONV_N ? 0 : 1;
    bool first = g->side[axis[!tap]] == CONV_K && img->at[inner].c[axis[!tap]] * few % g->chunk == 0;
    if (!first || g->side[axis[tap]] != CONV_N || img->at[inner].c[axis[tap]] != 1) return;
    g->size[channel] = few, g->size[axis[tap]] = up(g->size[axis[tap]], g->chunk / few);
}

static bool is_worth_it(const struct conv_gemm *g, const struct gpu_spec *gpu) {
    double work = 1; /* FMAs: enough for a convolution by tiles */
    for (int s = CONV_BATCH; s <= CONV_K; s++) work *= (double)g->total[s];
    return g->total[CONV_M] >= LEAST_M && g->total[CONV_N] >= LEAST_N && g->total[CONV_K] >= LEAST_K &&
           work >= gpu_whole(gpu, gpu_cost.conv_fmas);
}

/* ---- split-K ------------------------------------------------------------------------------------------------------ */

/* Axes of K that may be split: each is two of the new product, and of its sum. */
static int splittable(const struct conv_gemm *g) {
    int axes = 0;
    for (uint32_t i = 0; i < g->shape->n; i++) axes += g->side[i] != CONV_ONE;
    return RG_MIN((MOST_PIECES - axes) / 2, 2);
}

/* Splits of the first two axes of K that are not contiguous, p in all or a few more; if only one may be, of the longest. */
static int64_t split_evenly(const struct conv_gemm *g, int64_t p, int64_t *parts) {
    int64_t all = 1, longest = 0;
    int axes = 0, most = splittable(g);
    for (uint32_t i = 0; i < g->shape->n && most == 1; i++)
        if (g->side[i] == CONV_K && !is_contiguous(g, i)) longest = RG_MAX(longest, g->size[i]);
    for (uint32_t i = 0; i < g->shape->n; i++) {
        parts[i] = 1;
        if (g->side[i] != CONV_K || is_contiguous(g, i) || g->size[i] < longest) continue;
        if (axes >= most || p == 1) continue;
        int64_t n = RG_MIN(p, g->size[i]), each = up(g->size[i], n) / n;
        parts[i] = up(g->size[i], each) / each, all *= parts[i];
        p = up(p, n) / n, axes++;
    }
    return all;
}

static int64_t gcd(int64_t a, int64_t b) { return b ? gcd(b, a % b) : a; }

/* Elements lo, lo + step .. of each axis are read. */
static void find_extents(const struct conv_gemm *g, struct conv_factor *f) {
    for (uint32_t j = 0; j < f->n; j++) {
        int64_t hi = f->lo[j] = f->at[j].off, step = 0;
        for (uint32_t i = 0; i < g->shape->n; i++)
            hi += f->at[j].c[i] * (g->size[i] - 1), step = gcd(step, f->at[j].c[i]);
        f->step[j] = RG_MAX(step, 1), f->count[j] = (hi - f->lo[j]) / f->step[j] + 1;
    }
}

/* Without padding, is the operand read in place, or is its copy that of a strided convolution, which shares it? */
static bool needs_no_copy(const struct conv_gemm *g, struct conv_factor *f) {
    bool plain = f->last + 1 == (int)f->n, strided = false;
    find_extents(g, f);
    for (uint32_t j = 0; j < f->n; j++) {
        uint32_t axis[2];
        if (terms(g, f, j, axis, 2) == 2) strided |= f->at[j].c[axis[0]] > 1 || f->at[j].c[axis[1]] > 1;
        plain &= !f->flip[j] && !f->at[j].gap && !f->lo[j] && f->step[j] == 1 && f->count[j] == f->d[j];
    }
    return plain || strided;
}

/* Cycles of the copies that padding for these splits asks for. */
static double padding_cycles(struct conv_gemm *g, const struct gpu_spec *gpu, const int64_t *parts) {
    double cycles = 0;
    for (int k = 0; k < 2; k++) {
        struct conv_factor *f = &g->f[k];
        bool padded = false;
        double bytes = 2.0 * CHUNK_BYTES / (double)g->chunk; /* read and written */
        for (uint32_t i = 0; i < g->shape->n; i++) padded |= g->size[i] % parts[i] && depends(f, i);
        if (!padded || !needs_no_copy(g, f)) continue;
        for (uint32_t j = 0; j < f->n; j++) bytes *= (double)f->count[j];
        cycles += gpu_cost.splitk_reduce + bytes * gpu->ghz / (gpu_cost.splitk_dram_peak * gpu->bw);
    }
    return cycles;
}

static void choose_splits(struct conv_gemm *g, const struct gpu_spec *gpu) {
    int64_t size[2] = {g->total[CONV_M], g->total[CONV_N]}, batch = g->total[CONV_BATCH],
            k = g->total[CONV_K];
    int64_t parts[SHAPE_MAX], seen = 1;
    double least = gpu_cost.splitk_gain * splitk_cycles(gpu, size, batch, k, 1);
    for (int64_t p = 2; p <= MOST_SPLITS && k / p >= LEAST_TERMS; p++) {
        int64_t n = split_evenly(g, p, parts), depth = k;
        if (n == seen || n > MOST_SPLITS) continue;
        seen = n;
        for (uint32_t i = 0; i < g->shape->n; i++)
            depth = depth / g->shape->d[i] * up(g->shape->d[i], parts[i]);
        double cycles = splitk_cycles(gpu, size, batch, depth, n) + padding_cycles(g, gpu, parts);
        if (cycles < least) least = cycles, memcpy(g->parts, parts, sizeof parts);
    }
}

/* Small tiles wait for their loads: splits without padding until SMs have several blocks. */
static void split_small_tiles(struct conv_gemm *g, const struct gpu_spec *gpu) {
    int64_t parts[SHAPE_MAX], n = 1, tiles = g->total[CONV_BATCH] * up(g->total[CONV_N], SMALL_N) / SMALL_N;
    for (int64_t p = 2; p <= MOST_SPLITS && g->total[CONV_K] / p >= LEAST_TERMS; p++) {
        bool padded = false;
        if (n * tiles >= RESIDENT * gpu->sms) break;
        int64_t now = split_evenly(g, p, parts);
        for (uint32_t i = 0; i < g->shape->n; i++) padded |= g->size[i] % parts[i] != 0;
        if (now > n && now <= MOST_SPLITS && !padded) n = now, memcpy(g->parts, parts, sizeof parts);
    }
    if (n == 1) choose_splits(g, gpu);
}

/* ---- rewriting ----------------------------------------------------------------------------------------------------- */

static const uop *box(struct conv_gemm *g, const uop *x, const int64_t *start, const int64_t *size,
                      const int64_t *step) {
    const struct shape *s = shape_of(g->sh, x);
    const uop *src[1 + 3 * SHAPE_MAX] = {x};
    bool whole = true;
    for (uint32_t i = 0; i < s->n; i++) {
        whole &= !start[i] && size[i] == s->d[i];
        src[1 + 3 * i] = uop_idx(g->ir, start[i]), src[2 + 3 * i] = uop_idx(g->ir, size[i]);
        src[3 + 3 * i] = uop_idx(g->ir, step[i]);
    }
    return whole ? x : uop_mk(g->ir, OP_SHRINK, src, 1 + 3 * s->n, ARG_NONE);
}

static const uop *pad(struct conv_gemm *g, const uop *x, const int64_t *before, const int64_t *after,
                      const int64_t *gap) {
    const struct shape *s = shape_of(g->sh, x);
    const uop *src[2 + 3 * SHAPE_MAX] = {x, uop_flt(g->ir, (enum dtype)x->dt, 0)};
    bool any = false;
    for (uint32_t i = 0; i < s->n; i++) {
        any |= before[i] || after[i] || gap[i];
        src[2 + 3 * i] = uop_idx(g->ir, before[i]), src[3 + 3 * i] = uop_idx(g->ir, after[i]);
        src[4 + 3 * i] = uop_idx(g->ir, gap[i]);
    }
    return any ? uop_mk(g->ir, OP_PAD, src, 2 + 3 * s->n, ARG_NONE) : x;
}

/* The copy: channels last, padding stored. Axis order[k] of the source is its axis k. */
static const uop *channels_last(struct conv_gemm *g, struct conv_factor *f, const int64_t *order) {
    int64_t before[SHAPE_MAX], after[SHAPE_MAX], start[SHAPE_MAX], count[SHAPE_MAX], step[SHAPE_MAX],
        gap[SHAPE_MAX];
    const uop *src[1 + SHAPE_MAX] = {f->src}, *x = f->src;
    uint32_t flips = 0;
    for (uint32_t j = 0; j < f->n; j++)
        if (f->flip[j] && f->d[j] > 1) src[1 + flips++] = uop_idx(g->ir, j);
    if (flips) x = uop_mk(g->ir, OP_FLIP, src, 1 + flips, ARG_NONE);
    bool moved = false;
    for (uint32_t k = 0; k < f->n; k++) {
        moved |= order[k] != k, gap[k] = f->at[order[k]].gap;
        int64_t j = order[k], lo = f->lo[j], hi = lo + (f->count[j] - 1) * f->step[j];
        before[k] = RG_MAX(-lo, 0), after[k] = RG_MAX(hi - f->d[j] + 1, 0);
        start[k] = RG_MAX(lo, 0), count[k] = f->count[j], step[k] = f->step[j];
    }
    if (moved) x = graph_shaped(g->ir, OP_PERMUTE, x, order, f->n);
    return box(g, pad(g, x, before, after, gap), start, count, step);
}

/* The copy, read at positions and taps: an axis for each axis of the product that the factor has; *axis: which. */
static const uop *windows_of(struct conv_gemm *g, struct conv_factor *f, const uop *x, const int64_t *order,
                             uint32_t *axis, uint32_t *n) {
    int64_t perm[SHAPE_MAX], d[SHAPE_MAX], wide[SHAPE_MAX];
    const uop *src[1 + 3 * SHAPE_MAX];
    uint32_t k = 0, m = 0, t[2], taps[SHAPE_MAX], live = 0;
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < f->n; i++) {
            uint32_t j = (uint32_t)order[i];
            int count = terms(g, f, j, t, 2);
            if ((count == 2) != pass) continue;
            perm[k] = i, d[k] = wide[k] = f->count[j];
            if (pass) {
                src[1 + 3 * m] = uop_idx(g->ir, g->size[t[0]]);
                src[2 + 3 * m] = uop_idx(g->ir, f->at[j].c[t[0]] / f->step[j]);
                src[3 + 3 * m] = uop_idx(g->ir, f->at[j].c[t[1]] / f->step[j]);
                taps[m++] = t[1];
            }
            k++;
            if (count) axis[live++] = t[0];
        }
    x = graph_shaped(g->ir, OP_PERMUTE, x, perm, f->n);
    for (uint32_t i = 0; i < m; i++) d[k + i] = 1, wide[k + i] = g->size[taps[i]], axis[live++] = taps[i];
    if (m) {
        x = graph_shaped(g->ir, OP_EXPAND, graph_shaped(g->ir, OP_RESHAPE, x, d, k + m), wide, k + m);
        src[0] = x;
        x = uop_mk(g->ir, OP_UNFOLD, src, 1 + 3 * m, ARG_NONE);
    }
    *n = live;
    for (uint32_t i = 0; i < live; i++) d[i] = g->size[axis[i]];
    return graph_shaped(g->ir, OP_RESHAPE, x, d, live);
}

static int64_t piece_size(const struct conv_gemm *g, uint32_t piece) {
    return piece >= SHAPE_MAX ? g->parts[piece - SHAPE_MAX] : g->size[piece] / g->parts[piece];
}

/* The factor as one of the new product. */
static const uop *factor(struct conv_gemm *g, int which, const uop **stored) {
    struct conv_factor *f = &g->f[which];
    int64_t order[SHAPE_MAX], d[2 * SHAPE_MAX], perm[2 * SHAPE_MAX], wide[2 * SHAPE_MAX];
    uint32_t axis[SHAPE_MAX], n, k = 0, piece[2 * SHAPE_MAX], have = 0;
    for (uint32_t j = 0; j < f->n; j++)
        if ((int)j != f->last) order[k++] = j;
    order[k] = f->last;
    find_extents(g, f);
    const uop *x = channels_last(g, f, order);
    *stored = x == f->src ? NULL : x;
    x = windows_of(g, f, x, order, axis, &n);
    for (uint32_t i = 0; i < n; i++) {
        if (g->parts[axis[i]] > 1) piece[have++] = SHAPE_MAX + axis[i];
        piece[have++] = axis[i];
    }
    for (uint32_t i = 0; i < have; i++) d[i] = piece_size(g, piece[i]);
    x = graph_shaped(g->ir, OP_RESHAPE, x, d, have);
    k = 0;
    for (uint32_t i = 0; i < g->pieces; i++) {
        d[i] = 1, wide[i] = piece_size(g, g->order[i]);
        for (uint32_t j = 0; j < have; j++)
            if (piece[j] == g->order[i]) perm[k++] = j, d[i] = wide[i];
    }
    x = graph_shaped(g->ir, OP_PERMUTE, x, perm, have);
    x = uop_cast(g->ir, graph_shaped(g->ir, OP_RESHAPE, x, d, g->pieces), DT_F32);
    return graph_shaped(g->ir, OP_EXPAND, x, wide, g->pieces);
}

/* Axes of the new product: splits, batch, M, N, K, the contiguous axis of a factor last on its side. */
static bool order_pieces(struct conv_gemm *g) {
    g->pieces = 0;
    for (uint32_t i = 0; i < g->shape->n; i++)
        if (g->parts[i] > 1) g->order[g->pieces++] = SHAPE_MAX + i;
    for (int s = CONV_BATCH; s <= CONV_K; s++)
        for (int pass = 0; pass < 2; pass++)
            for (uint32_t i = 0; i < g->shape->n; i++) {
                if ((int)g->side[i] == s && is_contiguous(g, i) == pass) g->order[g->pieces++] = i;
            }
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->shape->n; i++) n += g->parts[i] > 1;
    return g->pieces + n <= MOST_PIECES;
}

/* The sum with the axes of the original result. */
static const uop *restore(struct conv_gemm *g, const uop *x, uint32_t splits, const struct shape *out) {
    int64_t d[SHAPE_MAX], zero[SHAPE_MAX] = {0}, one[SHAPE_MAX], size[SHAPE_MAX], perm[SHAPE_MAX];
    uint32_t n = 0, axis[SHAPE_MAX], k = 0;
    for (uint32_t i = splits; i < g->pieces; i++) {
        if (g->side[g->order[i]] == CONV_K) continue;
        axis[n] = g->order[i], d[n] = g->size[axis[n]], size[n] = g->shape->d[axis[n]], one[n++] = 1;
    }
    x = box(g, graph_shaped(g->ir, OP_RESHAPE, x, d, n), zero, size, one);
    for (uint32_t i = 0; i < g->shape->n; i++)
        for (uint32_t j = 0; j < n; j++)
            if (axis[j] == i) perm[k++] = j;
    return graph_shaped(g->ir, OP_RESHAPE, graph_shaped(g->ir, OP_PERMUTE, x, perm, n), out->d, out->n);
}

static const uop *sum_over(struct conv_gemm *g, const uop *x, const int64_t *axes, uint32_t n) {
    const uop *src[1 + SHAPE_MAX] = {x};
    for (uint32_t i = 0; i < n; i++) src[1 + i] = uop_idx(g->ir, axes[i]);
    return n ? uop_mk(g->ir, OP_REDUCE_AXES, src, 1 + n, (union arg){.i = OP_ADD}) : x;
}

/* Do the axes of M or N lie in another order in the result? Phases of a strided gradient, channels before taps. */
static bool is_shuffled(const struct conv_gemm *g) {
    int m = 0;
    for (uint32_t i = 0; i < g->shape->n; i++) m += g->side[i] == CONV_M;
    return m > 1 || g->side[last_axis(g, 1)] == CONV_N;
}

static const uop *rewrite(struct conv_gemm *g, const uop *n, struct repacked *out) {
    int64_t k[SHAPE_MAX] = {0}, split[SHAPE_MAX] = {0};
    uint32_t terms_k = 0, splits = 0;
    for (uint32_t i = 0; i < g->pieces; i++)
        if (g->order[i] >= SHAPE_MAX)
            split[splits++] = i;
        else if (g->side[g->order[i]] == CONV_K)
            k[terms_k++] = i;
    const uop *a = factor(g, 0, &out->stored[0]), *b = factor(g, 1, &out->stored[1]);
    const uop *sum = sum_over(g, uop2(g->ir, OP_MUL, a, b), k, terms_k);
    if (splits) out->stored[2] = sum;
    if (is_shuffled(g) && !splits) out->shuffled = sum;
    return restore(g, sum_over(g, sum, split, splits), splits, shape_of(g->sh, n));
}

static bool as_gemm(struct ir *ir, struct shapes *sh, const uop *n, const struct sched_opts *o, bool plain,
                    bool tf32, struct repacked *out) {
    const uop *mul = n->src[0];
    const struct gpu_spec *gpu = o->spec ? o->spec : gpu_spec_default();
    struct conv_gemm g = {
        .ir = ir, .sh = sh, .shape = shape_of(sh, mul), .tf32 = tf32, .chunk = CHUNK_BYTES / (tf32 ? 4 : 2)};
    if (g.shape->n > SHAPE_MAX - 2 || !shape_size(g.shape)) return false;
    for (int i = 0; i < 2; i++)
        if (!read_factor(&g, mul->src[i], &g.f[i])) return false;
    if (g.f[0].src->dt != g.f[1].src->dt) return false;
    if (!count_windows(&g, &g.f[0]) || !count_windows(&g, &g.f[1])) return false;
    bool larger = shape_size(shape_of(sh, g.f[0].src)) > shape_size(shape_of(sh, g.f[1].src));
    if (g.f[0].windows > g.f[1].windows || (g.f[0].windows == g.f[1].windows && larger)) {
        struct conv_factor f = g.f[0];
        g.f[0] = g.f[1], g.f[1] = f;
    }
    if (!g.f[1].windows != plain || g.f[0].windows || !find_sides(&g, n) || !straighten(&g) || !find_last(&g))
        return false;
    count_sides(&g);
    if (tf32 ? g.side[last_axis(&g, 1)] != CONV_K : o->capability / 10 == 9 && has_wgmma_form(&g))
        return false;
    pad_channels(&g);
    count_sides(&g);
    if (!is_worth_it(&g, gpu)) return false;
    if (!o->no_split) (g.total[CONV_M] < WGMMA_CHANNELS ? split_small_tiles : choose_splits)(&g, gpu);
    for (uint32_t i = 0; i < g.shape->n; i++) g.size[i] = up(g.size[i], g.parts[i]);
    if (!order_pieces(&g)) return false;
    out->sum = rewrite(&g, n, out);
    return true;
}

bool implicit_gemm(struct ir *ir, struct shapes *sh, const uop *n, const struct sched_opts *o, bool plain,
                   struct repacked *out) {
    if (as_gemm(ir, sh, n, o, plain, false, out)) return true;
    return env_int(ENV_TF32) && !plain && as_gemm(ir, sh, n, o, plain, true, out);
}
