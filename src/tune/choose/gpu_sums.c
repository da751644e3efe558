/* gpu_sums.c: few sums of many terms: a block of threads for each, or for a line of columns.
 * Long contractions along k (weight gradients), few sums of any kind, sums down columns that are too few for a thread each.
 * Tests: tests/unit/cuda.c, tests/unit/gpu_threads.c, tests/unit/simgpu_sums.c */
#include "tune/choose/choose.h"

#include <math.h>

#define LONG_K 1024.0   /* terms of a long sum */
#define TERM_CLOCKS 4.0 /* of a warp of a full SM for a term: loads, a product, addresses */
#define FEW_TERMS 256.0 /* of a sum that a block has: a thread takes 20 ns for one */

/* The list, or "" if it is none or not legal. */
static const char *legal_list(const struct view *v, const struct str *s) {
    return s->n && view_legal(v, s->p + 1) ? s->p + 1 : "";
}

/* ---- long contractions, contiguous along k --------------------------------------------------------------------- */

/* The innermost loop, if all loops are one contraction and both operands are contiguous along it; else -1. */
static int dot_loop(const struct view *v, double *depth) {
    int at = -1, moving = 0;
    *depth = 1;
    if (v->reduces != 1 || v->scans || v->stages || !gpu_product(v)) return -1;
    for (int i = 0; i < v->naxis; i++) {
        const struct axis_view *a = &v->axis[i];
        if (a->fixed || a->size < 0) return -1;
        if (a->grid) continue;
        if (!a->reduce || a->members > 1) return -1;
        at = i, *depth *= (double)a->size;
    }
    for (int i = 0; i < v->naccess && at >= 0; i++) {
        const struct access_view *s = &v->access[i];
        if (s->pred || s->add) return -1;
        if (s->store || !has_axis(v, s->mask, at)) continue;
        if (access_stride(v, s, at, 4) != 1) return -1;
        moving++;
    }
    return moving >= 2 ? at : -1;
}

/* A short grid axis along which an operand has stride 1, as along the loop: the taps of a window. */
static int tap_axis(const struct view *v, int loop) {
    for (int i = 0; i < v->naxis; i++) {
        const struct axis_view *a = &v->axis[i];
        if (!a->grid || a->size < 2 || a->size > 8) continue;
        for (int k = 0; k < v->naccess; k++) {
            const struct access_view *s = &v->access[k];
            if (!s->store && has_axis(v, s->mask, loop) && access_stride(v, s, i, 1) == 1) return i;
        }
    }
    return -1;
}

/* Register tile along the largest axis of the other operand. */
static void wgrad_tile(struct view *v, int tap, struct str *out) {
    const uop *x = gpu_product(v);
    int other = -1, side = view_depends(v, x->src[0], tap);
    for (int i = 0; i < v->naxis; i++) {
        const struct axis_view *a = &v->axis[i];
        if (!a->grid || a->size < 2 || i == tap || !gpu_reuses(v, x, i) || view_depends(v, x->src[!side], i))
            continue;
        if (other < 0 || a->size > v->axis[other].size) other = i;
    }
    if (other >= 0)
        gpu_tile_axis(v, other, gpu_divisor(v->axis[other].size, v->axis[tap].size > 4 ? 4 : 8), "REG", out);
}

/* JOINs of all loops up to `loop`, one. Its name; the list is empty if it was one. */
static const char *join_loops(struct view *v, int loop, struct str *out) {
    const char *joined = v->axis[loop].name;
    for (int i = loop - 1; i >= 0; i--) {
        if (v->axis[i].grid) continue;
        const char *name = view_new_axis(v, v->axis[i].name, "j");
        str_printf(out, " JOIN(%s,%s,%s)", v->axis[i].name, joined, name);
        joined = name;
    }
    return joined;
}

/* Weight gradient of a convolution, and the like: few outputs, each a sum over all positions of all images. All loops are joined
 * to one cooperative loop, and each thread has a register tile; if that is the taps of a window, four positions are unrolled
 * to share loads. "" if it is not such a sum. */
const char *gpu_long_contraction(struct view *v) {
    double depth;
    struct str s;
    int loop = dot_loop(v, &depth), tap = loop < 0 ? -1 : tap_axis(v, loop);
    str_init(&s, v->arena);
    if (loop < 0 || depth < LONG_K || gpu_threads(v) > gpu_whole(v->gpu, gpu_cost.coop_outputs)) return "";
    const char *joined = join_loops(v, loop, &s);
    if (!s.n) return "";
    if (tap >= 0 && v->axis[loop].size % 4 == 0) {
        const char *inner = view_new_axis(v, joined, "v");
        wgrad_tile(v, tap, &s);
        str_printf(&s, " REG(%s) TILE(%s,4,%s) UNROLL(%s)", v->axis[tap].name, joined, inner, inner);
    } else {
        gpu_skinny_tile(v, &s);
    }
    str_printf(&s, " COOP(%s)", joined);
    return legal_list(v, &s);
}

/* Would a block for each of these sums take less time than a thread, which waits for its loads in a row? */
static bool blocks_are_faster(const struct view *v, double terms) {
    double n = gpu_threads(v), sms = v->gpu->sms, waves = ceil(n / (sms * v->gpu->max_threads_sm));
    double block = terms / 32 * TERM_CLOCKS / (v->gpu->ghz * 1e9) + gpu_cost.block_reduction / FEW_SUMS;
    return 2 * ceil(n / sms) * block < waves * terms * gpu_cost.thread_term;
}

/* Few sums, a block for each: a thread for each, or few that share one of its loops, would wait for its loads in a row. "" if there are
 * more, or others; `several`: of several loops. */
const char *gpu_few_sums(struct view *v, bool several) {
    double depth = 1;
    int loop = -1;
    struct str s;
    str_init(&s, v->arena);
    if (v->reduces != 1 || v->scans || v->stages) return "";
    for (int i = 0; i < v->naxis; i++) {
        const struct axis_view *a = &v->axis[i];
        if (a->grid) continue;
        if (!a->reduce || a->fixed || a->size < 1 || a->members > 1) return "";
        loop = i, depth *= (double)a->size;
    }
    bool few = gpu_threads(v) <= FEW_SUMS * v->gpu->sms || (!several && blocks_are_faster(v, depth));
    if (!few || loop < 0 || depth < FEW_TERMS || (several && (double)v->axis[loop].size == depth)) return "";
    const char *joined = join_loops(v, loop, &s);
    str_printf(&s, " COOP(%s)", joined);
    return legal_list(v, &s);
}

/* ---- sums of columns ------------------------------------------------------------------------------------------- */

enum {
    COLUMN_THREADS = 256,
    COLUMN_PIECES = 8, /* threads side by side, 16 bytes each: a line */
    COLUMN_LOADS = 128 /* bytes that a thread loads before it adds */
};

/* Float sums of loads that are contiguous along the innermost grid axis. Bytes of a column that are loaded in a row; 0: it is something else. */
static int column_bytes(const struct view *v, int inner, int *least) {
    int bytes = 0;
    *least = 16;
    if (inner < 0 || v->axis[inner].fixed || v->scans || v->stages || v->reduces < 1 || v->reduces > 2)
        return 0;
    for (int i = 0; i < v->reduces; i++)
        if (v->reduce[i]->arg.i != OP_ADD || v->reduce[i]->dt != DT_F32) return 0;
    for (int i = 0; i < v->naxis; i++)
        if (!v->axis[i].grid && (!v->axis[i].reduce || v->axis[i].fixed || v->axis[i].size < 2)) return 0;
    for (int i = 0; i < v->naccess; i++) {
        const struct access_view *s = &v->access[i];
        int64_t stride = access_stride(v, s, inner, 8);
        if (s->pred || s->add || (stride != 1 && (s->store || stride != 0))) return 0;
        if (s->store || stride == 0) continue;
        bytes += s->bytes, *least = RG_MIN(*least, s->bytes);
    }
    return bytes;
}

/* Sums down columns that are too few to fill the GPU with a thread each: a block has a line of columns and shares the rows, which its
 * threads sum before they meet in shared memory. Consecutive threads have 16-byte pieces of a row, each several rows in flight. "" if
 * it is no such sum. */
const char *gpu_column_sums(struct view *v) {
    int inner = gpu_inner_grid(v), least, bytes = column_bytes(v, inner, &least),
        lanes = RG_MIN(16 / least, 8);
    double depth = 1;
    const char *k = NULL;
    struct str s;
    str_init(&s, v->arena);
    if (!bytes || gpu_threads(v) / lanes >= gpu_full_threads(v)) return "";
    for (int i = v->naxis - 1; i >= 0; i--) {
        if (v->axis[i].grid) continue;
        const char *joined = k ? view_new_axis(v, v->axis[i].name, "j") : v->axis[i].name;
        if (k) str_printf(&s, " JOIN(%s,%s,%s)", v->axis[i].name, k, joined);
        k = joined, depth *= (double)v->axis[i].size;
    }
    int pieces = COLUMN_PIECES, rows = COLUMN_THREADS / pieces,
        steps = RG_MAX(COLUMN_LOADS / (bytes * lanes), 1);
    while (steps > 1 && depth < rows * steps) steps /= 2;
    double blocks = gpu_threads(v) / (lanes * pieces);
    if (depth < rows * steps || v->axis[inner].size % (lanes * pieces) || blocks < v->gpu->sms) return "";
    const char *n = v->axis[inner].name, *c = view_new_axis(v, n, "c"), *d = view_new_axis(v, n, "d"),
               *w = view_new_axis(v, k, "w"), *u = view_new_axis(v, k, "u");
    str_printf(&s, " TILE(%s,%d,%s) TILE(%s,%d,%s) TILE(%s,%d,%s)", n, lanes * pieces, c, c, lanes, d, k,
               rows * steps, w);
    if (steps > 1) str_printf(&s, " TILE(%s,%d,%s) UNROLL(%s)", w, steps, u, u);
    str_printf(&s, " THREAD(%s) THREAD(%s) ORDER(%s,%s) VEC(%s)", w, c, w, c, d);
    return legal_list(v, &s);
}
