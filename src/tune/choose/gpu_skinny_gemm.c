/* gpu_skinny_gemm.c: opt lists of a GPU for skinny GEMM (few rows by a wide matrix, or a matrix by few columns), which is bound
 * by the loads of the matrix.
 *
 * The matrix is not reused across threads, so it goes straight to registers, 16 bytes per thread and load, many loads in flight.
 * Warps of a block split k, not columns: a block has few columns, there are many blocks, and each reads its part of the few
 * rows once. Partial sums of the warps are reduced in shared memory.
 *
 * 16-bit floats, 8-bit ones by 16-bit ones too: mma.sync with k and n permuted so that the 16 bytes of a lane are its
 * operands (ir/mma.def, BF16R, F16R):
 *   K-major matrix    a lane has 32 consecutive bytes along k of one column, four lanes a line of 128 bytes
 *   N-major matrix    a lane has 16 consecutive bytes of columns, one for each of 8 or 16 instructions, eight lanes a line
 * (Lines that two warps read half each come from DRAM a sixth slower: docs/measurements/2026-11-16-h200-notes.md.)
 * Anything else that is N-major: FMAs; a thread has the columns of its 16 bytes, or one if rows are not aligned, and takes k
 * round-robin. K-major: threads of a block share k, with a register tile of all rows by some columns; the rows, of which each column
 * needs all, come from L2 for each of these tiles, or, f32, with the matrix to shared memory, once for all warps of a block.
 * Tests: tests/unit/gpu_skinny_gemm.c, tests/unit/gpu_threads.c, tests/unit/cuda.c */
#include "tune/choose/choose.h"

#include <math.h>

#define MAX_ROWS 32            /* more are tiled in shared memory (gpu_gemm.c) .. */
#define MAX_ROWS_NMAJOR 16     /* .. and of an N-major matrix if there is wgmma */
#define MAX_ACCUMULATORS 64    /* of a thread, by FMAs */
#define MAX_DOTS 16            /* rows, by FMAs, of a K-major matrix .. */
#define MAX_DOT_SUMS 48        /* .. and sums of a thread, which meet in shared memory, .. */
#define MAX_DOT_SUMS_PADDED 32 /* .. of padded columns */
#define MIN_MATRIX (1 << 18)   /* elements of all matrices of a batch */
#define MIN_K 256              /* terms that warps share .. */
#define MIN_K_LINE 64 /* .. or of a K-major matrix, a line for each column: scores of grouped queries */
#define THREADS 256
#define LEAST_WARPS 4 /* that share k of a K-major matrix; of another twice as many */
#define MAX_WARPS 16
#define STEP_BYTES 1024     /* of a K-major matrix that a warp loads in a step, for 8 columns */
#define STEP_REGISTERS 16   /* of a step, 16 rows, .. */
#define COLUMN_REGISTERS 10 /* .. 8 columns .. */
#define OTHER_REGISTERS 20
#define ENOUGH 0.7       /* of the bytes in flight that are wanted */
#define ROWS_THREADS 512 /* of a block that stages rows, at most, .. */
#define ROWS_SUMS 96     /* sums of a thread .. */
#define ROWS_OTHER 36    /* and other registers .. */
#define ROWS_TERMS 4     /* terms of a step that a thread has, at most .. */
#define ROWS_COPIES 16   /* of a thread for a tile, which are unrolled .. */
#define ROWS_STAGES 3    /* of the pipeline, at most .. */
#define ROWS_COPY 6      /* instructions of a copy by cp.async */

struct skinny_gemm {
    struct view *v;
    struct str s;
    const uop *few, *wide;                          /* operands: the few rows, the matrix */
    const struct access_view *few_load, *wide_load; /* their loads along k */
    int row[CHOOSE_AXES], rows, col, k;             /* axes: of the rows, of the matrix, reduced */
    int64_t m, n, depth, batch;
    int lanes;      /* elements of the matrix in 16 bytes */
    double seconds; /* predicted, if tiles in shared memory may take less; else 0 */
};

/* The only load of an operand that depends on the axis; NULL: several, or none. */
static const struct access_view *load_of(const struct view *v, const uop *root, int axis) {
    const struct access_view *found = NULL;
    uop_vec below = {0};
    uop_topo(v->arena, &root, 1, &below);
    for (int i = 0; i < v->naccess; i++)
        for (uint32_t k = 0; k < below.n; k++) {
            if (below.p[k] != v->access[i].node || !has_axis(v, v->access[i].mask, axis)) continue;
            if (found || v->access[i].pred) return NULL;
            found = &v->access[i];
        }
    return found;
}

/* The matrix is the operand with the larger output axis. */
static bool find_axes(struct skinny_gemm *x, const uop *a, const uop *b) {
    const struct view *v = x->v;
    double size[2] = {1, 1};
    int last[2] = {-1, -1}, count[2] = {0, 0};
    x->k = -1, x->batch = 1;
    for (int i = 0; i < v->naxis; i++) {
        const struct axis_view *h = &v->axis[i];
        bool in_a = view_depends(v, a, i), in_b = view_depends(v, b, i);
        if (h->most <= 1) continue;
        if (h->size < 0 || h->fixed || h->scan || h->members != 1) return false;
        if (h->grid && in_a == in_b) x->batch *= h->size; /* batch */
        if (h->grid && in_a == in_b) continue;
        if (!h->grid && (!h->reduce || x->k >= 0)) return false;
        if (!h->grid) x->k = i;
        if (h->grid) size[in_b] *= h->most, last[in_b] = i, count[in_b]++;
    }
    int wide = size[1] >= size[0];
    if (x->k < 0 || count[wide] != 1) return false;
    x->few = wide ? a : b, x->wide = wide ? b : a, x->col = last[wide];
    x->m = (int64_t)size[!wide], x->n = v->axis[x->col].size, x->depth = v->axis[x->k].size;
    for (int i = 0; i < v->naxis; i++)
        if (v->axis[i].grid && v->axis[i].most > 1 && view_depends(v, x->few, i) &&
            !view_depends(v, x->wide, i))
            x->row[x->rows++] = i;
    return true;
}

static bool is_contiguous(const struct skinny_gemm *x, int axis) {
    return access_stride(x->v, x->wide_load, axis, x->lanes) == 1;
}

static bool find_skinny(struct skinny_gemm *x) {
    const struct view *v = x->v;
    if (v->reduces != 1 || v->scans || v->stages || v->reduce[0]->arg.i != OP_ADD ||
        v->reduce[0]->dt != DT_F32)
        return false;
    const uop *p = v->reduce[0]->src[0];
    if (p->op != OP_MUL || !find_axes(x, p->src[0], p->src[1])) return false;
    if (x->m > MAX_ROWS || x->depth < MIN_K_LINE || x->batch * x->n * x->depth < MIN_MATRIX) return false;
    x->few_load = load_of(v, x->few, x->k), x->wide_load = load_of(v, x->wide, x->k);
    if (!x->few_load || !x->wide_load || x->wide_load->bytes > 4) return false;
    x->lanes = 16 / x->wide_load->bytes;
    return x->depth >= MIN_K || is_contiguous(x, x->k);
}

static const char *row_name(struct skinny_gemm *x) {
    const struct view *v = x->v;
    const char *name = x->rows ? v->axis[x->row[0]].name : NULL;
    for (int i = 1; i < x->rows; i++) {
        const char *both = view_new_axis(x->v, name, "j");
        str_printf(&x->s, " JOIN(%s,%s,%s)", name, v->axis[x->row[i]].name, both);
        name = both;
    }
    return name;
}

/* Greatest of most, most/2, .. that divides n. */
static int64_t power_below(int64_t n, int64_t most) {
    while (most > 1 && n % most) most /= 2;
    return most;
}

/* Parts of `part` terms that k is split into, at most `most`: a divisor of k, unless that is small and k long enough for a padded
 * last round. */
static int64_t k_split(int64_t depth, int64_t part, int64_t most) {
    int64_t even = depth % part ? 1 : power_below(depth / part, most);
    while (most > 1 && most * part > depth) most /= 2;
    return 2 * even >= most || depth < 4 * most * part ? RG_MIN(even, most) : most;
}

/* ---- mma.sync ----------------------------------------------------------------------------------------------- */

/* Warps that share k, and steps of a warp that are unrolled. */
struct k_shares {
    int64_t warps, steps;
};

/* Do the registers of an SM hold its share of the blocks? */
static bool is_one_wave(const struct skinny_gemm *x, struct k_shares s, int64_t count, int64_t blocks) {
    const struct gpu_spec *gpu = x->v->gpu;
    int64_t each =
        s.steps * (STEP_REGISTERS * (x->m > 16 ? 2 : 1) + COLUMN_REGISTERS * count) + OTHER_REGISTERS;
    return (blocks + gpu->sms - 1) / gpu->sms * s.warps * 32 * each <= gpu->regs_sm;
}

/* K-major: enough of both for the bytes in flight that keep memory busy; more warps rather than more steps. Both divide k, or k is
 * cut by warps alone. 16 rows by 23 MB, 256 blocks: 17.0 us by 4 warps, 9.0 by 11 of two steps, and not less with more in
 * flight (H200). count: instructions along n. */
static struct k_shares split_in_flight(const struct skinny_gemm *x, int64_t part, int64_t count) {
    int64_t blocks = (x->n + 8 * count - 1) / (8 * count) * x->batch, parts = x->depth / part;
    double want = ENOUGH * gpu_cost.bytes_in_flight * x->v->gpu->sms / (double)(STEP_BYTES * count * blocks);
    struct k_shares best = {k_split(x->depth, part, LEAST_WARPS), 1};
    for (int64_t steps = 1; steps <= 2 && x->depth % part == 0; steps++)
        for (int64_t warps = LEAST_WARPS; warps <= MAX_WARPS; warps++) {
            struct k_shares s = {warps, steps};
            bool more = warps * steps > best.warps * best.steps && (double)(best.warps * best.steps) < want;
            if (more && parts % (warps * steps) == 0 && is_one_wave(x, s, count, blocks)) best = s;
        }
    return best;
}

/* Levels of k: loop, steps, warps, `run` consecutive terms per lane of four, four of them per instruction. */
static const char *split_k(struct skinny_gemm *x, int64_t run, struct k_shares s) {
    struct view *v = x->v;
    const char *k = v->axis[x->k].name, *name = k, *in[6];
    static const char *const as[] = {"w", "q", "s", "r", "i", "u"};
    int64_t warps = s.warps;
    for (int i = 0; i < 6; i++) in[i] = view_new_axis(v, k, as[i]);
    if (s.steps > 1)
        str_printf(&x->s, " TILE(%s,%d,%s)", name, (int)(s.steps * warps * 4 * run), in[5]), name = in[5];
    if (warps > 1) str_printf(&x->s, " TILE(%s,%d,%s)", name, (int)(warps * 4 * run), in[0]), name = in[0];
    str_printf(&x->s, " TILE(%s,%d,%s) TILE(%s,%d,%s)", name, (int)(4 * run), in[1], in[1], (int)run, in[2]);
    str_printf(&x->s, " TILE(%s,4,%s) JOIN(%s,%s,%s) UNROLL(%s)", in[2], in[3], in[1], in[3], in[4], in[2]);
    if (s.steps > 1) str_printf(&x->s, " UNROLL(%s)", in[5]);
    if (warps > 1) str_printf(&x->s, " THREAD(%s)", in[0]);
    return in[4];
}

static bool write_mma(struct skinny_gemm *x) {
    struct view *v = x->v;
    bool along_k = is_contiguous(x, x->k);
    int64_t run = along_k ? 2 * x->lanes : 8;
    enum dtype dt = (enum dtype)x->few_load->node->dt;
    if (!x->rows || (dt != DT_BF16 && dt != DT_F16) || x->wide_load->bytes > 2 || x->depth % run)
        return false;
    int64_t each = along_k ? 8 : x->lanes, count = along_k ? 4 : x->lanes; /* instructions along n */
    int64_t blocks = (int64_t)gpu_whole(v->gpu, gpu_cost.blocks_skinny);
    while (along_k && count > 1 && x->batch * x->n < blocks * 8 * count) count /= 2;
    if (!along_k && x->n % x->lanes) return false;
    const char *m = row_name(x), *n = v->axis[x->col].name, *n1 = view_new_axis(v, n, "c"),
               *n2 = view_new_axis(v, n, "d");
    const char *m1 = view_new_axis(v, m, "t");
    struct k_shares s = {k_split(x->depth, 4 * run, 2 * LEAST_WARPS), 1};
    if (along_k) s = split_in_flight(x, 4 * run, count);
    const char *k = split_k(x, run, s);
    str_printf(&x->s, " TILE(%s,%d,%s)", n, (int)(8 * count), n1);
    if (count > 1) str_printf(&x->s, " TILE(%s,%d,%s)", n1, (int)each, n2);
    if (x->m % 16) str_printf(&x->s, " PADTO(%s,16)", m);
    if (x->m > 16) str_printf(&x->s, " TILE(%s,16,%s)", m, m1);
    const char *by = along_k && count > 1 ? n2 : n1;
    str_printf(&x->s, " TC(%s,%s,%s,%s)", x->m > 16 ? m1 : m, by, k, dt == DT_F16 ? "F16R" : "BF16R");
    if (count > 1) str_printf(&x->s, " REG(%s)", along_k ? n1 : n2);
    if (x->m > 16) str_printf(&x->s, " REG(%s)", m);
    return true;
}

/* ---- FMA ------------------------------------------------------------------------------------------------ */

/* N-major: consecutive threads load consecutive 16-byte chunks of a row of the strip, the others further rows. */
static bool write_fma(struct skinny_gemm *x) {
    struct view *v = x->v;
    int lanes = (int)power_below(x->n, x->lanes);
    int64_t pieces = 8 * x->lanes / lanes, deep = THREADS / pieces, steps = k_split(x->depth, deep, 8);
    if (!is_contiguous(x, x->col) || (lanes > 1 && lanes < x->lanes) || x->m * lanes > MAX_ACCUMULATORS)
        return false;
    if (x->n < pieces * lanes || x->depth < deep * steps) return false;
    const char *m = row_name(x), *n = v->axis[x->col].name, *k = v->axis[x->k].name;
    const char *n1 = view_new_axis(v, n, "c"), *n2 = view_new_axis(v, n, "d"), *k1 = view_new_axis(v, k, "w"),
               *k2 = view_new_axis(v, k, "u");
    str_printf(&x->s, " TILE(%s,%d,%s)", n, (int)(pieces * lanes), n1);
    if (lanes > 1) str_printf(&x->s, " TILE(%s,%d,%s)", n1, lanes, n2);
    str_printf(&x->s, " TILE(%s,%d,%s)", k, (int)(deep * steps), k1);
    if (steps > 1) str_printf(&x->s, " TILE(%s,%d,%s) UNROLL(%s)", k1, (int)steps, k2, k2);
    str_printf(&x->s, " THREAD(%s) THREAD(%s) ORDER(%s,%s)", k1, n1, k1, n1);
    if (lanes > 1) str_printf(&x->s, " VEC(%s)", n2);
    if (m) str_printf(&x->s, " REG(%s)", m);
    return true;
}

/* Is the operand of few rows read by lines: along k as the matrix, or along its rows, all of which a thread has? */
static bool few_in_lines(const struct skinny_gemm *x) {
    int64_t along = access_stride(x->v, x->few_load, x->k, 1);
    return along == 1 ||
           (along == x->m && x->rows == 1 && access_stride(x->v, x->few_load, x->row[0], 1) == 1);
}

/* K-major matrix: consecutive threads load consecutive terms, 16 bytes each if rows are aligned. */
static bool write_dots(struct skinny_gemm *x) {
    struct view *v = x->v;
    int64_t cols = 8, blocks = (int64_t)gpu_whole(v->gpu, gpu_cost.blocks_coop);
    bool vector = x->depth % x->lanes == 0 && access_stride(v, x->few_load, x->k, x->lanes) == 1 &&
                  is_contiguous(x, x->k);
    if (x->m < 2 || x->m > MAX_DOTS || x->depth < MIN_K || access_stride(v, x->wide_load, x->k, 1) != 1 ||
        !few_in_lines(x))
        return false;
    while (cols > 1 && (x->m * cols > (x->n % cols ? MAX_DOT_SUMS_PADDED : MAX_DOT_SUMS) ||
                        x->batch * x->n / cols < blocks))
        cols /= 2;
    const char *m = row_name(x), *n = v->axis[x->col].name, *k = v->axis[x->k].name;
    const char *n1 = view_new_axis(v, n, "c"), *k1 = view_new_axis(v, k, "u");
    str_printf(&x->s, " REG(%s)", m);
    if (x->n % cols) str_printf(&x->s, " PADTO(%s,%d)", n, (int)cols);
    if (cols > 1) str_printf(&x->s, " TILE(%s,%d,%s) REG(%s)", n, (int)cols, n1, n1);
    if (vector) str_printf(&x->s, " TILE(%s,%d,%s) UNROLL(%s)", k, x->lanes, k1, k1);
    str_printf(&x->s, " COOP(%s)", k);
    double lines = access_stride(v, x->few_load, x->k, 1) == 1 ? 1 : (double)x->m; /* of a warp's load */
    x->seconds = predict_gpu_dots(&(struct gpu_dots){(double)x->m, (double)(x->batch * x->n),
                                                     (double)x->depth, (double)cols, lines,
                                                     x->wide_load->bytes, vector ? 16 : x->wide_load->bytes},
                                  v->gpu);
    return true;
}

/* ---- FMA, rows and matrix in shared memory ---------------------------------------------------------------------- */

/* The lanes of a warp share k; its threads have all rows by `together` columns. Warps of a block: `warps` along the columns, `parts` along
 * k. */
struct rows_tile {
    int64_t together, warps, parts, terms; /* terms: of a thread in a step */
    int stages;
    bool vector; /* rows of 16-byte chunks: that many terms */
};

static int64_t rows_terms(const struct rows_tile *t) { return 32 * t->terms * t->parts; }

/* Copies of a thread in a step, of this many rows. */
static double rows_copies(const struct rows_tile *t, int64_t rows) {
    return (double)ceil_div(rows * t->terms, t->warps * (t->vector ? t->terms : 1));
}

static double rows_seconds(const struct skinny_gemm *x, const struct rows_tile *t, const struct model *m) {
    int64_t columns = t->together * t->warps, terms = rows_terms(t), sums = x->m * t->together;
    double steps = (double)ceil_div(x->depth, terms), warps = (double)(t->warps * t->parts),
           loads = (double)(x->m + t->together), lanes = t->vector ? 4 : 1, few = rows_copies(t, x->m),
           wide = rows_copies(t, columns), each = warps * steps * (double)t->terms; /* terms of warps */
    if (columns < 2 || few > ROWS_COPIES || wide > ROWS_COPIES || x->depth < 2 * terms) return INFINITY;
    struct gpu_work w = {.blocks = (double)(ceil_div(x->n, columns) * x->batch),
                         .threads = (int)warps * 32,
                         .registers = (int)sums + ROWS_OTHER,
                         .shared = (int)(t->stages * (x->m + columns) * (terms + 4) * 4 +
                                         (t->parts > 1 ? sums * t->warps * t->parts * 4 : 0)),
                         .steps = steps,
                         .ahead = t->stages - 1,
                         .mma_peak = 1};
    w.fma = each * 32 * (double)sums;
    w.issue = each * ((double)sums + loads / lanes) + warps * steps * (few + wide) * ROWS_COPY +
              warps * (double)sums * 10;
    w.shared_bytes = each * loads * 128 + steps * (double)((x->m + columns) * terms) * 4;
    w.fill = (double)(x->m + columns) * (double)x->depth * 4;
    w.private_fill = (double)(columns * x->depth) * 4;
    w.out = (double)(x->m * columns) * 32; /* by one lane: a sector each */
    w.dram = (double)(x->batch * x->n * x->depth) * 4;
    if (w.shared > x->v->gpu->smem_block || w.registers * w.threads > x->v->gpu->regs_sm) return INFINITY;
    return predict_gpu(&w, x->v->gpu, m);
}

static double best_rows(const struct skinny_gemm *x, bool vector, struct rows_tile *best) {
    struct model m;
    double least = INFINITY;
    model_of_gpu(&m, x->v->gpu);
    for (int64_t together = 1; together <= 8; together++)
        for (int64_t warps = 1; warps <= ROWS_THREADS / 32 && x->m * together <= ROWS_SUMS; warps++)
            for (int64_t parts = 1; warps * parts <= ROWS_THREADS / 32; parts *= 2)
                for (int stages = 2; stages <= ROWS_STAGES; stages++) {
                    int64_t terms = vector || together <= ROWS_COPIES / ROWS_TERMS ? ROWS_TERMS : 2;
                    struct rows_tile t = {together, warps, parts, terms, stages, vector};
                    double s = rows_seconds(x, &t, &m);
                    if (s < least) least = s, *best = t;
                }
    return least;
}

static bool is_alone(const struct view *v, const struct access_view *s) {
    int n = 0;
    for (int i = 0; i < v->naccess; i++) n += v->access[i].buf == s->buf;
    return n == 1 && view_can_name(v, s->buf);
}

/* The levels of a step of k: the first one, those of threads, all of them as a dimension of a tile. */
struct rows_levels {
    const char *first, *threads, *dim;
};

static struct rows_levels split_rows(struct skinny_gemm *x, const struct rows_tile *t) {
    struct view *v = x->v;
    const char *k = v->axis[x->k].name, *part = view_new_axis(v, k, "p"), *lane = view_new_axis(v, k, "l"),
               *term = view_new_axis(v, k, "u"), *name[3];
    int size[3], n = 0;
    if (!t->vector) size[n] = (int)t->terms, name[n++] = term;
    if (t->parts > 1) size[n] = (int)t->parts, name[n++] = part;
    size[n] = 32, name[n++] = lane;
    if (t->vector) size[n] = (int)t->terms, name[n++] = term;
    int all = (int)rows_terms(t);
    for (int i = 0; i < n; all /= size[i++])
        str_printf(&x->s, " TILE(%s,%d,%s)", i ? name[i - 1] : k, all, name[i]);
    str_printf(&x->s, " UNROLL(%s)", term);
    if (t->parts > 1) str_printf(&x->s, " THREAD(%s)", part);
    str_printf(&x->s, " THREAD(%s)", lane);
    return (struct rows_levels){name[0], t->parts > 1 ? arena_printf(v->arena, "%s,%s", part, lane) : lane,
                                n == 3 ? arena_printf(v->arena, "%s+%s+%s", name[0], name[1], name[2])
                                       : arena_printf(v->arena, "%s+%s", name[0], name[1])};
}

static void stage_rows(struct skinny_gemm *x, const struct access_view *s, const char *rows,
                       const struct rows_levels *l, const struct rows_tile *t) {
    const char *name = access_name(x->v, s), *k = x->v->axis[x->k].name,
               *lanes = view_new_axis(x->v, name, "v");
    str_printf(&x->s, " STAGE(%s,%s,%s,%s)", name, k, rows, l->dim);
    if (t->vector) str_printf(&x->s, " TILE(%s.%s,4,%s) VEC(%s)", name, l->first, lanes, lanes);
    str_printf(&x->s, " PIPE(%s,%s,%d)", name, k, t->stages);
}

/* K-major: both operands are staged as they lie, by cp.async. */
static bool write_rows(struct skinny_gemm *x, double below) {
    struct view *v = x->v;
    struct rows_tile t = {0};
    bool vector = x->depth % 4 == 0 && access_stride(v, x->few_load, x->k, 4) == 1 && is_contiguous(x, x->k);
    bool f32 = x->wide_load->bytes == 4 && x->few_load->bytes == 4 && x->few == x->few_load->node &&
               x->wide == x->wide_load->node;
    if (x->m < 2 || !f32 || access_stride(v, x->wide_load, x->k, 1) != 1 || !is_alone(v, x->few_load) ||
        !is_alone(v, x->wide_load))
        return false;
    double seconds = best_rows(x, vector, &t);
    if (seconds >= below) return false;
    const char *m = row_name(x), *n = v->axis[x->col].name, *n1 = view_new_axis(v, n, "w"),
               *n2 = view_new_axis(v, n, "c");
    bool warps = t.warps > 1, several = t.together > 1;
    str_printf(&x->s, " REG(%s) TILE(%s,%d,%s)", m, n, (int)(t.together * t.warps), warps ? n1 : n2);
    if (warps && several) str_printf(&x->s, " TILE(%s,%d,%s)", n1, (int)t.together, n2);
    if (several) str_printf(&x->s, " REG(%s)", n2);
    if (warps) str_printf(&x->s, " THREAD(%s)", n1);
    struct rows_levels l = split_rows(x, &t);
    if (warps) str_printf(&x->s, " ORDER(%s,%s)", n1, l.threads);
    stage_rows(x, x->few_load, m, &l, &t);
    stage_rows(x, x->wide_load,
               !warps     ? n2
               : !several ? n1
                          : arena_printf(v->arena, "%s+%s", n1, n2),
               &l, &t);
    x->seconds = seconds;
    return true;
}

const char *gpu_skinny_gemm(struct view *v, double *seconds) {
    struct skinny_gemm x = {.v = v};
    str_init(&x.s, v->arena);
    if (!find_skinny(&x)) return "";

    if (v->gpu->cc / 10 == 9 && x.m > MAX_ROWS_NMAJOR && !is_contiguous(&x, x.k) && x.wide_load->bytes == 2)
        return "";
    bool found = v->gpu->cc >= 80 && write_mma(&x);
    if (!found) x.s.n = 0, found = write_fma(&x);
    if (!found) x.s.n = 0, found = write_dots(&x);
    double dots = found ? x.seconds : INFINITY;
    if (!found || dots > 0) {
        struct skinny_gemm rows = x;
        str_init(&rows.s, v->arena);
        if (write_rows(&rows, dots)) x = rows, found = true;
    }
    *seconds = x.seconds;
    return found && view_legal(v, x.s.p + 1) ? x.s.p + 1 : "";
}
