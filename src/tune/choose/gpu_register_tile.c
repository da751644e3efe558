/* gpu_register_tile.c: register tiles of a GPU's threads where no tile in shared memory fits: sums (or extremes) of what is computed
 * from two operands, each of which has an output axis of its own: products, differences of points.
 *
 * A thread has several outputs along both axes, so that each load is used several times. Along the innermost axis of the grid
 * they are neighbours, in a vector, or, where no divisor allows that, a strip apart: lanes stay neighbours, all accesses
 * coalesce, and only the last strip has a predicate.
 * Tests: tests/unit/simgpu.c (simgpu_forms), tests/unit/cuda.c */
#include "tune/choose/choose.h"

#define MAX_WHOLE 24      /* rows of a register tile that have no divisor */
#define MAX_TILE 36       /* accumulators of a register tile */
#define MAX_SUMS 64       /* accumulators that a block reduces across its threads (gpu_coop.c) */
#define WASTE 32          /* a tile may be padded by a part in as many */
#define STRIP 128         /* outputs that a strip is a multiple of: lines of bytes */
#define K_VECTOR 4        /* terms that are loaded at once along k */
#define LONG_TERMS 64     /* of a sum that a block shares: terms of a thread, several vectors .. */
#define BLOCK_THREADS 512 /* .. and its threads, at most */

static bool depends_on_grid(const struct view *v, const uop *n) {
    for (int i = 0; i < v->naxis; i++)
        if (v->axis[i].grid && v->axis[i].most > 1 && view_depends(v, n, i)) return true;
    return false;
}

/* Of several sums the first that the blocks do not all compute alike. */
const uop *gpu_product(const struct view *v) {
    const uop *alike = NULL;
    for (int i = 0; i < RG_MIN(v->reduces, (int)RG_COUNT(v->reduce)); i++) {
        const uop *x = v->reduce[i]->src[0];
        while (x->op == OP_CAST) x = x->src[0];
        if (v->reduce[i]->arg.i != OP_ADD || x->op != OP_MUL) continue;
        if (depends_on_grid(v, v->reduce[i])) return x;
        if (!alike) alike = x;
    }
    return alike;
}

/* The op that combines two operands, below functions of its result: a square, a magnitude. NULL: there is none. */
static const uop *pair_in(const struct view *v, const uop *n) {
    while (n->op != OP_LOAD && n->op != OP_PRED_LOAD) {
        const uop *one = NULL, *other = NULL;
        for (uint32_t i = 0; i < n->nsrc; i++) {
            if (n->src[i] == one || !depends_on_grid(v, n->src[i])) continue;
            if (other) return NULL;
            other = one, one = n->src[i];
        }
        if (!one || other) return other && n->nsrc == 2 ? n : NULL;
        n = one;
    }
    return NULL;
}

const uop *gpu_operands(const struct view *v) {
    const uop *x = gpu_product(v);
    if (x && x->src[0] != x->src[1]) return x;
    for (int i = 0; i < RG_MIN(v->reduces, (int)RG_COUNT(v->reduce)); i++)
        if ((x = pair_in(v, v->reduce[i]->src[0]))) return x;
    return NULL;
}

bool gpu_reuses(const struct view *v, const uop *pair, int axis) {
    return view_depends(v, pair->src[0], axis) != view_depends(v, pair->src[1], axis);
}

int gpu_divisor(int64_t n, int most) {
    for (; most > 1 && n % most; most--) {}
    return most;
}

int gpu_tile_size(int64_t n, int most) {
    int d = gpu_divisor(n, most);
    return 2 * d <= most && (ceil_div(n, most) * most - n) * WASTE <= n ? most : d;
}

/* .. or all of a few: 17 channels have none. */
static int tile_within(int64_t n, int most) {
    return n <= MAX_WHOLE && 2 * gpu_divisor(n, most) <= most ? (int)n : gpu_tile_size(n, most);
}

void gpu_tile_axis(struct view *v, int axis, int n, const char *how, struct str *out) {
    const char *inner = view_new_axis(v, v->axis[axis].name, "r");
    if (n > 1) str_printf(out, " TILE(%s,%d,%s) %s(%s)", v->axis[axis].name, n, inner, how, inner);
}

void gpu_strips(struct view *v, int axis, int n, struct str *out) {
    const char *name = v->axis[axis].name, *inner = view_new_axis(v, name, "s");
    int64_t strip = ceil_div(ceil_div(v->axis[axis].size, n), STRIP) * STRIP;
    str_printf(out, " TILE(%s,%lld,%s) GRID(%s) REG(%s)", name, (long long)strip, inner, inner, name);
}

/* UNROLL of a short innermost loop, the taps of a window, so that neighbouring taps share loads. "" if there is none. */
static const char *unroll_taps(const struct view *v) {
    int last = -1, loops = 0;
    for (int i = 0; i < v->naxis; i++)
        if (!v->axis[i].grid) last = i, loops++;
    const struct axis_view *a = &v->axis[RG_MAX(last, 0)];
    bool short_one = loops > 1 && a->reduce && !a->fixed && a->size >= 2 && a->size <= 8;
    return short_one ? arena_printf(v->arena, " UNROLL(%s)", a->name) : "";
}

/* .. or terms of a sum along which all that depends on it is contiguous, so that a thread loads several at once. */
static const char *unroll_terms(struct view *v) {
    int k = -1;
    const char *taps = unroll_taps(v);
    if (*taps) return taps;
    for (int i = 0; i < v->naxis; i++)
        if (!v->axis[i].grid) k = i;
    if (k < 0 || !v->axis[k].reduce || v->axis[k].fixed || v->axis[k].size % K_VECTOR) return "";
    for (int i = 0; i < v->naccess; i++)
        if (has_axis(v, v->access[i].mask, k) && access_stride(v, &v->access[i], k, K_VECTOR) != 1) return "";
    const char *inner = view_new_axis(v, v->axis[k].name, "u");
    return arena_printf(v->arena, " TILE(%s,%d,%s) UNROLL(%s)", v->axis[k].name, K_VECTOR, inner, inner);
}

/* The grid axis outside of the innermost that the same operand depends on: rows of an image; -1 if there is none. */
static int row_axis(const struct view *v, const uop *x, int inner) {
    int at = inner - 1;
    if (at < 0 || !v->axis[at].grid || v->axis[at].fixed || !gpu_reuses(v, x, at)) return -1;
    return view_depends(v, x->src[0], at) == view_depends(v, x->src[0], inner) ? at : -1;
}

/* The largest axis of the other operand. */
static int other_axis(const struct view *v, const uop *x, int inner) {
    int other = -1;
    for (int i = 0; i < v->naxis; i++) {
        const struct axis_view *a = &v->axis[i];
        if (!a->grid || a->fixed || i == inner || a->size < 2 || !gpu_reuses(v, x, i)) continue;
        if (view_depends(v, x->src[0], i) == view_depends(v, x->src[0], inner)) continue;
        if (other < 0 || a->size > v->axis[other].size) other = i;
    }
    return other;
}

/* Register tile along the innermost axis and the largest of the other operand, if enough threads remain; "" if there is none. Not
 * vectorized if loads are predicated. */
const char *gpu_register_tile(struct view *v) {
    static const int size[][2] = {{8, 4}, {4, 4}, {4, 2}, {2, 2}};
    const uop *x = gpu_operands(v);
    int inner = gpu_inner_grid(v);
    bool preds = false, extreme = v->reduces > 1;
    for (int i = 0; i < v->naccess; i++) preds |= v->access[i].pred != NULL;
    if (!x || inner < 0 || !gpu_reuses(v, x, inner)) return "";
    int other = other_axis(v, x, inner);
    for (size_t k = 0; other >= 0 && k < RG_COUNT(size) * 2; k++) {
        struct str s;
        int m = tile_within(v->axis[other].size, size[k / 2][0]),
            n = gpu_divisor(v->axis[inner].size, size[k / 2][1]);
        bool strips = n == 1 && !extreme && v->axis[inner].size >= 16 * STRIP;
        if (strips) n = size[k / 2][1];
        if (gpu_threads(v) / (m * n) < gpu_full_threads(v) / 4 || m * n == 1 || m * n > MAX_TILE) continue;
        int row = n <= 2 && *unroll_taps(v) ? row_axis(v, x, inner) : -1;
        str_init(&s, v->arena);
        gpu_tile_axis(v, other, m, "REG", &s);
        if (row >= 0 && row != other && v->axis[row].size % 2 == 0) gpu_tile_axis(v, row, 2, "REG", &s);
        if (strips)
            gpu_strips(v, inner, n, &s);
        else
            gpu_tile_axis(v, inner, n, k % 2 || n == 3 || preds ? "REG" : "VEC", &s);
        str_add(&s, unroll_terms(v));
        if (view_legal(v, s.p + 1)) return s.p + 1;
    }
    return "";
}

/* Sums and extremes, but for those that every block computes alike. */
static int own_reductions(const struct view *v) {
    int n = v->reduces;
    for (int i = 0; i < RG_MIN(v->reduces, (int)RG_COUNT(v->reduce)); i++)
        n -= !depends_on_grid(v, v->reduce[i]);
    return n;
}

/* Do n blocks that share the terms of a sum keep the GPU busy? */
static bool are_enough(const struct view *v, double n) {
    double terms = 1;
    for (int i = 0; i < v->naxis; i++)
        if (v->axis[i].reduce) terms = RG_MAX(terms, v->axis[i].most);
    return n >= gpu_whole(v->gpu, gpu_cost.blocks_coop) ||
           n * RG_MIN(terms / LONG_TERMS, BLOCK_THREADS) >= gpu_full_threads(v) / 2;
}

/* Few rows by a matrix, K-major: a block computes a tile of outputs, to reuse its loads. Returns how many. */
int gpu_skinny_tile(struct view *v, struct str *out) {
    enum { SIDE = 8, TILE = 40 };
    const uop *x = gpu_operands(v);
    double left = gpu_threads(v);
    int tile[2] = {1, 1}, axis[2] = {-1, -1}, most = RG_MIN(MAX_SUMS / RG_MAX(own_reductions(v), 1), TILE);
    if (!x || most < MAX_SUMS / 2) return 1;
    for (int i = 0; i < v->naxis; i++) {
        const struct axis_view *a = &v->axis[i];
        if (!a->grid || a->fixed || a->size < 2 || !gpu_reuses(v, x, i)) continue;
        int side = view_depends(v, x->src[1], i);
        if (axis[side] < 0 || a->size > v->axis[axis[side]].size) axis[side] = i;
    }
    if (axis[0] >= 0 && (axis[1] < 0 || v->axis[axis[0]].size > v->axis[axis[1]].size)) {
        int t = axis[0]; /* the longer one second: more sizes to choose from */
        axis[0] = axis[1], axis[1] = t;
    }
    for (int k = 0; k < 2; k++) {
        if (axis[k] < 0) continue;
        int n = gpu_divisor(v->axis[axis[k]].size, axis[0] < 0 ? 2 : k ? RG_MIN(most / tile[0], SIDE) : SIDE);
        while (n > 1 && (!are_enough(v, left / n) || v->axis[axis[k]].size % n)) n--;
        tile[k] = n, left /= n;
    }
    for (int k = 0; k < 2; k++)
        if (axis[k] >= 0) gpu_tile_axis(v, axis[k], tile[k], "REG", out);
    return tile[0] * tile[1];
}
