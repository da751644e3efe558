/* gpu_conv.c: opt lists of a GPU for convolutions and their gradients: direct convolution by FMAs, of f32 and of 16-bit floats
 * computed in f32, and implicit GEMM by wgmma, of 16-bit floats.
 *
 * An image is read through windows: pairs of axes, positions and taps, that reach the same elements. A tile of it in shared
 * memory holds each element once, halo included, so that it is filled once for all taps; a thread that computes neighbouring
 * positions reuses what their taps share from registers.
 *
 *   convolution, data gradient   outputs are positions: a thread has cr channels x yr rows x xr columns, the threads of a
 *                                block are channels, rows, columns and images; the loop over reduced channels fills tiles of
 *                                `depth` channels of image and filters
 *   weight gradient (wgrad)      outputs are taps: a thread has cr channels of the output's gradient x all taps, the threads
 *                                of a block are channels of both operands; the loop fills tiles of some rows of an image
 *
 * All configs whose sizes divide evenly are priced: FMAs and other issue slots, warps limited by registers, quantization to
 * four schedulers and to waves. The cheapest legal one is taken. 16-bit floats with whole tiles of channels: wgmma_conv,
 * wgmma_wgrad below.
 * Tests: tests/unit/gpu_conv.c, tests/unit/gpu_conv_16bit.c */
#include "tune/choose/choose.h"

#include <math.h>

enum {
    MAX_TAPS = 11,
    MIN_ACCUMULATORS = 24, /* of a thread, .. */
    MIN_DEPTHWISE = 7,     /* .. which has one channel only, .. */
    DEPTHWISE_TAPS =
        49, /* .. and taps enough for a copy: MobileNetV2's 3 x 3 take 10 % longer so, ConvNeXt's 7 x 7 a third */
    MAX_ACCUMULATORS = 100,
    MAX_UNROLLED = 512, /* copies of a statement */
    MIN_THREADS = 96,   /* of a block */
    MAX_THREADS = 512,
    MAX_REGISTERS = 118,    /* estimated need of a thread that is compiled for 128 */
    STAGES = 2,             /* of the pipeline */
    STORE_ISSUE = 10,       /* issue slots of a store */
    CHANNELS = 64,          /* 16-bit channels in a swizzled row of 128 bytes; m of a wgmma */
    WGMMA_POSITIONS = 224,  /* of a warpgroup: accumulators .. */
    GATHER_POSITIONS = 128, /* .. beside elements gathered through registers, with room for other blocks */
    ROW_BYTES = 128,
    MAX_WGRAD_TAPS = 3, /* rows and columns of taps whose accumulators fit one block .. */
    MAX_ROW_TAPS = 5,   /* .. or those of one row of taps */
    MAX_CANDIDATES = 6,
    MAX_COLS = 16,       /* threads along columns .. */
    MAX_COLS_1D = 128,   /* .. if there are no rows */
    GEMM_CHANNELS = 32,  /* output channels and .. */
    GEMM_TERMS = 64,     /* .. terms that are a tile of a GEMM: fewer are padded, .. */
    PADDED_CHANNELS = 4, /* .. to channels of a thread, where nothing else divides the sizes, .. */
    PADDED_ROWS = 2,     /* .. rows .. */
    PADDED_COLS = 8,     /* .. and columns, of one or two threads, .. */
    PADDED_COLS_1D = 64, /* .. or, if there are no rows, of a block .. */
    LONG_ROW = 512,      /* .. in rows as long as this */
};

struct direct_conv {
    struct view *v;
    struct contraction c;
    const struct operand_view *img, *other; /* other: filters; wgrad: the output's gradient */
    int x, kx, y, ky;                       /* axes: positions and taps; y and ky -1: one row */
    int image_axis;                         /* the image's own: batch; wgrad: its channels; -1: none */
    int channel;                            /* the other operand's own: output channels */
    int reduced;                /* reduced and no window: input channels; wgrad: batch; -1: none */
    int64_t stride_x, stride_y; /* of positions, in taps */
    int64_t pitch_x, pitch_y;   /* elements of the image from one position to the next, and to the next row */
    double outputs;
    bool wgrad;                   /* outputs are taps */
    bool halo;                    /* the image is padded: loads are predicated */
    enum dtype dt;                /* of both operands */
    const char *padding;          /* PADTO of axes whose sizes have no divisors */
    const char *lane[4], *reg[4]; /* names of axes by enum conv_dim: threads, registers */
};
enum conv_dim { DIM_CHANNEL, DIM_ROW, DIM_COL, DIM_IMAGE };

/* Sizes by axis: ..t threads, ..r registers. */
struct conv_config {
    int ct, cr, yt, yr, xt, xr; /* channels, rows, columns; wgrad: xr columns are unrolled */
    int nt;                     /* threads along image_axis */
    int depth;                  /* of a tile: reduced channels; wgrad: rows */
    bool unroll_ky;             /* taps of all rows are unrolled */
};

/* ---- axes --------------------------------------------------------------------------------------------------- */

static int64_t size_of(const struct direct_conv *x, int axis) { return axis < 0 ? 1 : x->v->axis[axis].size; }

static int64_t img_stride(const struct direct_conv *x, int axis) {
    int64_t d = access_stride(x->v, x->img->access, axis, 1);
    return d == NO_STRIDE ? 0 : d < 0 ? -d : d;
}

/* Output axis i and reduced axis k reach the same elements of the image, and only k indexes the other operand. */
static bool is_window(const struct direct_conv *x, int i, int k) {
    const struct view *v = x->v;
    int64_t a = img_stride(x, i), b = img_stride(x, k);
    if (!v->axis[i].grid || !v->axis[k].reduce || has_axis(v, x->other->mask, i) ||
        !has_axis(v, x->other->mask, k))
        return false;
    if (!a || !b || (a % b && b % a) || a > 2 * b || b > 2 * a) return false;
    return a > b ? size_of(x, k) > a / b : size_of(x, i) > b / a; /* they overlap */
}

static bool find_windows(struct direct_conv *x) {
    int pairs = 0, at[2][2];
    for (int i = 0; i < x->v->naxis; i++)
        for (int k = 0; k < x->v->naxis; k++) {
            if (!is_window(x, i, k)) continue;
            if (pairs == 2) return false;
            at[pairs][0] = i, at[pairs++][1] = k;
        }
    if (!pairs) return false;
    int first = pairs == 2 && img_stride(x, at[1][0]) < img_stride(x, at[0][0]);
    x->wgrad = size_of(x, at[first][0]) < size_of(x, at[first][1]);
    for (int i = 0; i < pairs; i++) {
        int p = at[i][x->wgrad], t = at[i][!x->wgrad];
        if (size_of(x, t) > MAX_TAPS || size_of(x, t) >= size_of(x, p)) return false;
        *(i == first ? &x->x : &x->y) = p, *(i == first ? &x->kx : &x->ky) = t;
    }
    return RG_MIN(img_stride(x, x->x), img_stride(x, x->kx)) == 1;
}

/* Both operands have the channel. */
static bool is_depthwise(const struct direct_conv *x) { return x->channel < 0; }

static void take_larger(const struct direct_conv *x, int *axis, int i) {
    if (*axis < 0 || size_of(x, i) > size_of(x, *axis)) *axis = i;
}

static bool find_axes(struct direct_conv *x) {
    const struct view *v = x->v;
    x->image_axis = x->channel = x->reduced = -1;
    for (int i = 0; i < v->naxis; i++) {
        const struct axis_view *a = &v->axis[i];
        bool img = has_axis(v, x->img->mask, i), other = has_axis(v, x->other->mask, i);
        if (a->size < 0 || a->fixed || a->scan || a->members != 1 || (!a->grid && !a->reduce)) return false;
        if (i == x->x || i == x->kx || i == x->y || i == x->ky || a->size == 1) continue;
        if (a->reduce && x->reduced >= 0) return false;
        if (a->reduce) x->reduced = i;
        if (a->grid && img && !other) take_larger(x, &x->image_axis, i);
        if (a->grid && other && !img) take_larger(x, &x->channel, i);
    }
    if (is_depthwise(x) && size_of(x, x->kx) * size_of(x, x->ky) < DEPTHWISE_TAPS) return false;
    if (is_depthwise(x)) return x->wgrad ? x->y >= 0 && x->image_axis < 0 : x->reduced < 0;
    return x->reduced >= 0 || !x->wgrad || x->y >= 0;
}

static int64_t position_stride(const struct direct_conv *x, int position, int tap) {
    return tap < 0 ? 1 : RG_MAX(img_stride(x, position) / RG_MAX(img_stride(x, tap), 1), 1);
}

static void find_strides(struct direct_conv *x) {
    x->halo = x->img->access->pred;
    x->stride_x = position_stride(x, x->x, x->kx), x->stride_y = position_stride(x, x->y, x->ky);
    x->pitch_x = img_stride(x, x->x), x->pitch_y = x->y < 0 ? 0 : img_stride(x, x->y);
}

static bool find_conv(struct direct_conv *x) {
    struct view *v = x->v;
    if (!factors_find(v, &x->c) || !may_stage(v, &x->c.a) || !may_stage(v, &x->c.b)) return false;
    if (x->c.reduce->dt != DT_F32 || x->c.a.access->buf == x->c.b.access->buf) return false;
    x->dt = (enum dtype)x->c.a.access->node->dt;
    if ((enum dtype)x->c.b.access->node->dt != x->dt) return false;
    if (x->dt != DT_F32 && x->dt != DT_BF16 && x->dt != DT_F16) return false;
    for (int i = 0; i < 2; i++) {
        x->img = i ? &x->c.b : &x->c.a, x->other = i ? &x->c.a : &x->c.b;
        x->x = x->kx = x->y = x->ky = -1;
        if (find_windows(x) && find_axes(x)) return find_strides(x), !x->other->access->pred;
    }
    return false;
}

/* ---- cost ------------------------------------------------------------------------------------------------------- */

/* Of a thread in one step of the main loop: FMAs, issue slots, passes through shared memory. */
struct conv_work {
    double fmas, issue, smem_passes;
    double sectors; /* of 32 bytes that its block loads per step */
    double steps, blocks;
    double epilogue; /* issue slots of the stores */
    int64_t threads, regs, shared;
};

static bool is_vector_width(int n) { return n == 2 || n == 4 || n == 8; }

/* Columns and rows of the image under n positions. */
static int64_t window_cols(const struct direct_conv *x, int64_t n) {
    return (n - 1) * x->stride_x + size_of(x, x->kx);
}
static int64_t window_rows(const struct direct_conv *x, int64_t n) {
    return (n - 1) * x->stride_y + size_of(x, x->ky);
}

/* Rows of the image can be copied by 16 bytes. */
static bool has_wide_copies(const struct direct_conv *x, int64_t cols) {
    return !x->halo && window_cols(x, cols) % 4 == 0 && x->pitch_y % 4 == 0 && cols * x->pitch_x % 4 == 0;
}

/* Vector loads of n elements from shared memory, aligned to `at` elements. */
static double smem_loads(int64_t n, int64_t at) {
    return (double)ceil_div(n, at % 4 == 0 ? 4 : at % 2 == 0 ? 2 : 1);
}

/* Issue slots of a cooperative copy of n elements: offsets stay in registers up to 16 rounds, beyond that they are recomputed. */
static double copy_issue(struct conv_work *w, int64_t n, bool wide, bool pred) {
    int64_t rounds = ceil_div(wide ? n / 4 : n, w->threads);
    w->regs += rounds > 16 ? 2 : pred ? rounds * 3 / 2 : rounds;
    return (double)rounds * (rounds > 16 ? 30 : pred ? 5 : 3);
}

/* Sectors of n unaligned rows of f32. */
static double sectors_of(int64_t n, int64_t row) { return (double)(n * ceil_div(row * 4 + 28, 32)); }

static int64_t pipeline_bytes(int64_t a, int64_t b) { return (a + b) * 9 / 8 * 4 * STAGES; }

static void work_of_conv(const struct direct_conv *x, const struct conv_config *f, struct conv_work *w) {
    int64_t kx = size_of(x, x->kx), ky = size_of(x, x->ky), wide = window_cols(x, f->xr);
    int64_t high = f->unroll_ky ? window_rows(x, f->yr) : f->yr * ky;
    int64_t img = f->nt * f->depth * window_rows(x, f->yt * f->yr) * window_cols(x, f->xt * f->xr);
    int64_t other = f->depth * ky * kx * f->ct * f->cr;
    double image = (double)high * smem_loads(wide, f->xt == 1 ? 4 : f->xr * x->pitch_x);
    double weights = (double)(kx * ky) * smem_loads(f->cr, f->cr);
    w->threads = f->ct * f->yt * f->xt * f->nt;
    w->regs = f->cr * f->yr * f->xr + wide + f->cr + 30;
    w->fmas = (double)(f->cr * f->yr * f->xr * kx * ky * f->depth);
    w->issue = w->fmas + f->depth * (image + weights + 9 * (f->unroll_ky ? 1 : (double)ky)) + 40 +
               copy_issue(w, img, has_wide_copies(x, f->xt * f->xr), x->halo) +
               copy_issue(w, other, false, false);
    w->smem_passes = f->depth * ((double)(high * wide) + 1.5 * weights);
    w->steps = (double)size_of(x, x->reduced) / f->depth;
    w->epilogue = STORE_ISSUE * f->cr * f->yr * (is_vector_width(f->xr) ? smem_loads(f->xr, f->xr) : f->xr);
    w->shared = pipeline_bytes(img, other) / (f->depth == size_of(x, x->reduced) ? STAGES : 1);
    int64_t cols = window_cols(x, f->xt * f->xr);
    w->sectors = sectors_of(img / cols, cols) + sectors_of(f->ct * f->cr, f->depth * ky * kx);
    w->blocks = x->outputs / (double)(f->ct * f->cr * f->yt * f->yr * f->xt * f->xr * f->nt);
}

static void work_of_wgrad(const struct direct_conv *x, const struct conv_config *f, struct conv_work *w) {
    int64_t taps = size_of(x, x->kx) * size_of(x, x->ky), cols = size_of(x, x->x);
    int64_t wide = window_cols(x, f->xr), img = window_rows(x, f->depth) * f->nt * window_cols(x, cols);
    int64_t other = f->depth * f->ct * f->cr * cols;
    double steps = (double)(f->depth * cols / f->xr),
           image = (double)size_of(x, x->ky) * smem_loads(wide, f->xr),
           gradient = f->cr * smem_loads(f->xr, f->xr);
    w->threads = f->ct * f->nt;
    w->regs = f->cr * taps + wide + f->xr + (x->reduced >= 0 && f->depth < size_of(x, x->y) ? 30 : 22);
    w->fmas = (double)(f->cr * taps * f->depth * cols);
    w->issue = w->fmas + steps * (image + gradient + 10) + 40 +
               copy_issue(w, img, has_wide_copies(x, cols), x->halo) +
               copy_issue(w, other, cols % 4 == 0, false);
    w->smem_passes = steps * ((double)(size_of(x, x->ky) * wide) + 1.5 * gradient);
    w->steps = (double)size_of(x, x->reduced) * (double)size_of(x, x->y) / f->depth;
    w->epilogue = STORE_ISSUE * f->cr * (double)taps;
    w->shared = pipeline_bytes(img, other);
    w->sectors = sectors_of(f->nt, img / f->nt) + sectors_of(f->ct * f->cr, f->depth * cols);
    w->blocks = x->outputs / (double)(f->ct * f->cr * f->nt * taps);
}

/* Cycles of b co-resident blocks on an SM. Few warps per scheduler expose latency. */
static double wave_cycles(const struct gpu_spec *g, const struct conv_work *w, int64_t b) {
    int64_t warps = ceil_div(b * ceil_div(w->threads, 32), 4);
    double one =
        (double)warps *
        (RG_MAX(w->issue + gpu_cost.conv_pass_issue * w->smem_passes, 4 * w->smem_passes) * w->steps +
         w->epilogue);
    one += gpu_cost.conv_sector / gpu_l2_scale(g) * (double)b * w->sectors * w->steps;
    return one * (warps < 4 ? gpu_cost.conv_few_warps[warps] : 1) * (b == 1 ? gpu_cost.conv_one_block : 1) +
           gpu_cost.conv_start;
}

/* Registers that the compiler gives a thread: __launch_bounds__ limits it where two blocks with many accumulators fit
 * (render/gpu.c); otherwise it takes more than needed. 0: spills. */
static int64_t compiled_regs(const struct gpu_spec *g, const struct conv_work *w, int64_t sums) {
    bool bounded = sums >= 40 && sums <= 80 && g->regs_sm / (128 * ceil_div(w->threads, 32) * 32) >= 2;
    if (bounded) return w->regs > MAX_REGISTERS ? 0 : 128;
    return ceil_div(w->regs + w->regs * 3 / 10, 8) * 8;
}

/* Cycles of the kernel; 0: a block does not fit. */
static double cycles(const struct direct_conv *x, const struct conv_config *f) {
    struct conv_work w;
    (x->wgrad ? work_of_wgrad : work_of_conv)(x, f, &w);
    int64_t sums = f->cr * (x->wgrad ? size_of(x, x->kx) * size_of(x, x->ky) : f->yr * f->xr);
    int64_t regs = compiled_regs(x->v->gpu, &w, sums), warps = ceil_div(w.threads, 32);
    if (!regs || w.blocks < x->v->gpu->sms / 2) return 0;
    int64_t fit = RG_MIN(x->v->gpu->regs_sm / (warps * 32 * regs),
                         x->v->gpu->smem_block / (w.shared + x->v->gpu->smem_reserved));
    fit = RG_MIN(fit, x->v->gpu->max_threads_sm / 32 / warps);
    if (fit < 1) return 0;
    int64_t each = ceil_div((int64_t)w.blocks, x->v->gpu->sms);
    return (double)(each / fit) * wave_cycles(x->v->gpu, &w, fit) +
           (each % fit ? wave_cycles(x->v->gpu, &w, each % fit) : 0);
}

/* ---- configs -------------------------------------------------------------------------------------------------- */

/* The cheapest few, in order. */
struct conv_candidates {
    struct conv_config f[MAX_CANDIDATES];
    double time[MAX_CANDIDATES];
    int n;
};

static void offer(const struct direct_conv *x, struct conv_candidates *b, const struct conv_config *f) {
    double t = cycles(x, f);
    int at = b->n;
    if (t <= 0 || (at == MAX_CANDIDATES && t >= b->time[at - 1])) return;
    if (at == MAX_CANDIDATES) at--;
    for (; at > 0 && b->time[at - 1] > t; at--) b->f[at] = b->f[at - 1], b->time[at] = b->time[at - 1];
    b->f[at] = *f, b->time[at] = t, b->n = RG_MIN(b->n + 1, MAX_CANDIDATES);
}

/* The next divisor of n after d, up to `most`; 0: there is none. */
static int divisor_after(int64_t n, int d, int most) {
    for (d++; d <= most && d <= n; d++)
        if (n % d == 0) return d;
    return 0;
}

static void try_depths(const struct direct_conv *x, struct conv_candidates *b, struct conv_config *f) {
    int64_t ky = size_of(x, x->ky),
            copies = f->cr * f->yr * (is_vector_width(f->xr) ? 1 : f->xr) * size_of(x, x->kx);
    for (int depth = 1; depth; depth = divisor_after(size_of(x, x->reduced), depth, 16))
        for (int all = 0; all < 2 && (depth > 1 || x->reduced < 0); all++) {
            f->depth = depth, f->unroll_ky = all && ky > 1;
            if (all <= f->unroll_ky && copies * (all ? ky : 1) <= MAX_UNROLLED) offer(x, b, f);
        }
}

static void try_blocks(const struct direct_conv *x, struct conv_candidates *b, struct conv_config *f) {
    int64_t ny = size_of(x, x->y) / f->yr, nx = size_of(x, x->x) / f->xr, ni = size_of(x, x->image_axis);
    for (int xt = 1; xt; xt = divisor_after(nx, xt, x->y < 0 ? MAX_COLS_1D : MAX_COLS))
        for (int yt = 1; yt; yt = divisor_after(ny, yt, 32))
            for (int nt = 1; nt; nt = divisor_after(ni, nt, 8)) {
                int threads = f->ct * xt * yt * nt;
                if (threads < MIN_THREADS || threads > MAX_THREADS) continue;
                f->xt = xt, f->yt = yt, f->nt = nt;
                try_depths(x, b, f);
            }
}

/* Register tiles of cr channels, ct threads along channels. */
static void try_register_tiles(const struct direct_conv *x, struct conv_candidates *b, int cr, int ct) {
    for (int xr = 1; xr; xr = divisor_after(size_of(x, x->x), xr, 20))
        for (int yr = 1; yr; yr = divisor_after(size_of(x, x->y), yr, 5)) {
            struct conv_config f = {.cr = cr, .ct = ct, .xr = xr, .yr = yr};
            int least = is_depthwise(x) ? MIN_DEPTHWISE : MIN_ACCUMULATORS;
            if (cr * xr * yr >= least && cr * xr * yr <= MAX_ACCUMULATORS) try_blocks(x, b, &f);
        }
}

static void try_conv_tiles(const struct direct_conv *x, struct conv_candidates *b) {
    int64_t channels = size_of(x, x->channel);
    if (is_depthwise(x)) try_register_tiles(x, b, 1, 1);
    for (int cr = 4; cr <= 8; cr += 4)
        for (int ct = 1; ct && channels % cr == 0; ct = divisor_after(channels / cr, ct, 64 / cr))
            try_register_tiles(x, b, cr, ct);
}

static void try_wgrad_depths(const struct direct_conv *x, struct conv_candidates *b, struct conv_config *f) {
    int64_t rows = size_of(x, x->y), sums = f->cr * size_of(x, x->kx) * size_of(x, x->ky);
    for (int depth = 1; depth; depth = divisor_after(rows, depth, 8)) {
        if (x->reduced < 0 && depth == rows) continue;
        for (int xr = 1; xr; xr = divisor_after(size_of(x, x->x), xr, 8)) {
            f->depth = depth, f->xr = xr;
            if (sums * xr <= MAX_UNROLLED) offer(x, b, f);
        }
    }
}

static void try_wgrad_tiles(const struct direct_conv *x, struct conv_candidates *b) {
    int64_t channels = size_of(x, x->channel), taps = size_of(x, x->kx) * size_of(x, x->ky);
    for (int cr = 1; cr; cr = divisor_after(channels, cr, 16)) {
        if (cr * taps < MIN_ACCUMULATORS || cr * taps > MAX_ACCUMULATORS) continue;
        for (int ct = 1; ct; ct = divisor_after(channels / cr, ct, 32))
            for (int nt = 1; nt; nt = divisor_after(size_of(x, x->image_axis), nt, 64)) {
                struct conv_config f = {.cr = cr, .ct = ct, .nt = nt, .yr = 1, .xt = 1, .yt = 1};
                if (ct * nt >= MIN_THREADS && ct * nt <= MAX_THREADS) try_wgrad_depths(x, b, &f);
            }
    }
}

/* ---- the list ------------------------------------------------------------------------------------------------ */

static const char *name_of(const struct direct_conv *x, int axis) {
    return axis < 0 ? "" : x->v->axis[axis].name;
}

/* Tiles an axis into grid, threads and registers. */
static void split_axis(struct direct_conv *x, struct str *s, enum conv_dim dim, int axis, int threads,
                       int regs) {
    const char *name = name_of(x, axis);
    x->lane[dim] = x->reg[dim] = "";
    if (axis < 0 || threads * regs == 1) return;
    if (threads * regs < size_of(x, axis)) {
        const char *inner = view_new_axis(x->v, name, "t");
        str_printf(s, " TILE(%s,%d,%s)", name, threads * regs, inner);
        name = inner;
    }
    if (threads > 1) x->lane[dim] = name;
    if (regs == 1) return;
    if (threads > 1) {
        const char *inner = view_new_axis(x->v, name, "r");
        str_printf(s, " TILE(%s,%d,%s)", name, regs, inner);
        name = inner;
    }
    x->reg[dim] = name;
}

/* A dimension of a tile: the axes that exist, as one window. */
static const char *tile_dim(const struct direct_conv *x, const char *a, const char *b, const char *c) {
    const char *all = "", *name[3] = {a, b, c};
    for (int i = 0; i < 3; i++)
        if (*name[i]) all = *all ? arena_printf(x->v->arena, "%s+%s", all, name[i]) : name[i];
    return all;
}

/* wide: copied by 16 bytes along the window `along`. */
static void write_stage(struct direct_conv *x, struct str *s, const struct operand_view *side, const char *at,
                        const char *dims, const char *along, bool wide) {
    const char *name = access_name(x->v, side->access);
    str_printf(s, " STAGE(%s,%s,%s)", name, at, dims);
    if (wide)
        str_printf(s, " TILE(%s.%.*s,4,%s_v) VEC(%s_v)", name, (int)strcspn(along, "+"), along, name, name);
}

/* Not for 16-bit floats: converting copies go through registers, which costs more than a pipeline hides. */
static void write_pipeline(struct direct_conv *x, struct str *s, const char *at) {
    for (int i = 0; i < 2 && x->dt == DT_F32; i++)
        str_printf(s, " PIPE(%s,%s,%d)", access_name(x->v, i ? x->other->access : x->img->access), at,
                   STAGES);
}

static void write_kinds(struct direct_conv *x, struct str *s, bool vec) {
    const char *lane[4] = {x->lane[x->wgrad ? DIM_CHANNEL : DIM_IMAGE],
                           x->lane[x->wgrad ? DIM_IMAGE : DIM_CHANNEL], x->lane[DIM_ROW], x->lane[DIM_COL]};
    for (int i = 0; i < 4; i++)
        if (*lane[i]) str_printf(s, " THREAD(%s)", lane[i]);
    for (int i = 0; i < 4; i++)
        if (*x->reg[i]) str_printf(s, " %s(%s)", i == DIM_COL && vec ? "VEC" : "REG", x->reg[i]);
    const char *all = list_of(x->v, lane, 4);
    if (strchr(all, ',')) str_printf(s, " ORDER(%s)", all);
}

/* The innermost axis of the grid; "" if there is none. */
static const char *innermost_grid_axis(const struct direct_conv *x, const struct conv_config *f) {
    for (int i = x->v->naxis - 1; i >= 0; i--) {
        int64_t block = i == x->channel      ? f->ct * f->cr
                        : i == x->y          ? f->yt * f->yr
                        : i == x->x          ? f->xt * f->xr
                        : i == x->image_axis ? f->nt
                                             : 1;
        if (x->v->axis[i].grid && block < size_of(x, i)) return name_of(x, i);
    }
    return "";
}

/* If a tile holds all channels there is no loop to pipeline. */
static void write_conv(struct direct_conv *x, const struct conv_config *f, struct str *s) {
    struct view *v = x->v;
    bool whole = f->depth == size_of(x, x->reduced);
    const char *sum = name_of(x, x->reduced), *at = whole ? innermost_grid_axis(x, f) : sum,
               *depth = whole ? sum : view_new_axis(v, at, "t"), *kx = name_of(x, x->kx),
               *ky = name_of(x, x->ky);
    split_axis(x, s, DIM_CHANNEL, x->channel, f->ct, f->cr), split_axis(x, s, DIM_ROW, x->y, f->yt, f->yr);
    split_axis(x, s, DIM_COL, x->x, f->xt, f->xr), split_axis(x, s, DIM_IMAGE, x->image_axis, f->nt, 1);
    if (!whole) str_printf(s, " TILE(%s,%d,%s)", at, f->depth, depth);
    write_kinds(x, s, is_vector_width(f->xr));
    str_printf(s, " UNROLL(%s)", kx);
    if (f->unroll_ky) str_printf(s, " UNROLL(%s)", ky);
    const char *rows = tile_dim(x, x->lane[DIM_ROW], x->reg[DIM_ROW], ky);
    const char *cols = tile_dim(x, x->lane[DIM_COL], x->reg[DIM_COL], kx);
    write_stage(x, s, x->img, at, LIST(v, x->lane[DIM_IMAGE], depth, rows, cols), cols,
                has_wide_copies(x, f->xt * f->xr));
    write_stage(x, s, x->other, at,
                LIST(v, depth, ky, kx, tile_dim(x, x->lane[DIM_CHANNEL], x->reg[DIM_CHANNEL], "")), "",
                false);
    if (!whole) write_pipeline(x, s, at);
}

static void write_wgrad(struct direct_conv *x, const struct conv_config *f, struct str *s) {
    struct view *v = x->v;
    const char *at = name_of(x, x->reduced), *rows = name_of(x, x->y), *cols = name_of(x, x->x), *more = "";
    split_axis(x, s, DIM_CHANNEL, x->channel, f->ct, f->cr),
        split_axis(x, s, DIM_IMAGE, x->image_axis, f->nt, 1);
    x->lane[DIM_ROW] = x->lane[DIM_COL] = "", x->reg[DIM_ROW] = name_of(x, x->ky),
    x->reg[DIM_COL] = name_of(x, x->kx);
    if (x->y >= 0 && f->depth < size_of(x, x->y)) {
        at = rows, rows = f->depth > 1 ? view_new_axis(v, at, "t") : "";
        if (f->depth > 1) str_printf(s, " TILE(%s,%d,%s)", at, f->depth, rows);
    }
    if (f->xr < size_of(x, x->x)) {
        more = view_new_axis(v, cols, "t");
        str_printf(s, " TILE(%s,%d,%s)", cols, f->xr, more);
    }
    write_kinds(x, s, false);
    str_printf(s, " UNROLL(%s)", *more ? more : cols);
    const char *along = tile_dim(x, cols, more, "");
    write_stage(x, s, x->img, at,
                LIST(v, tile_dim(x, rows, x->reg[DIM_ROW], ""), x->lane[DIM_IMAGE],
                     tile_dim(x, along, x->reg[DIM_COL], "")),
                cols, has_wide_copies(x, size_of(x, x->x)));
    write_stage(x, s, x->other, at,
                LIST(v, rows, tile_dim(x, x->lane[DIM_CHANNEL], x->reg[DIM_CHANNEL], ""), along), cols,
                size_of(x, x->x) % 4 == 0);
    write_pipeline(x, s, at);
}

/* Planes (images, channels) of a depthwise weight gradient that a block has, as many as two blocks per SM have room for. */
static int planes_of(const struct direct_conv *x, int axis) {
    int64_t rows = size_of(x, x->y), cols = size_of(x, x->x);
    int64_t plane = window_rows(x, rows) * window_cols(x, cols) + rows * cols;
    double all = x->outputs / (double)(size_of(x, x->kx) * size_of(x, x->ky));
    int best = 0;
    for (int n = 1; n && n * rows <= MAX_THREADS / 2; n = divisor_after(size_of(x, axis), n, MAX_THREADS / 2))
        if ((n == 1 || all / n >= 2 * x->v->gpu->sms) &&
            2 * (n * plane * 9 / 8 * 4 + x->v->gpu->smem_reserved) <= x->v->gpu->smem_block)
            best = n;
    return best;
}

/* A thread has a row of a plane and all taps, the rows' sums meet in shared memory. The axis that both have and is innermost is that of
 * the planes. */
static const char *depthwise_wgrad(struct direct_conv *x) {
    struct view *v = x->v;
    struct str s;
    int axis = -1, planes, unroll = 1, taps = (int)(size_of(x, x->kx) * size_of(x, x->ky));
    for (int i = 0; i < v->naxis; i++)
        if (v->axis[i].grid && has_axis(v, x->img->mask, i) && has_axis(v, x->other->mask, i)) axis = i;
    if (axis < 0 || taps > MAX_ACCUMULATORS || !(planes = planes_of(x, axis))) return "";
    for (int n = 1; n && n * taps <= MAX_UNROLLED; n = divisor_after(size_of(x, x->x), n, 8)) unroll = n;
    str_init(&s, v->arena);
    split_axis(x, &s, DIM_IMAGE, axis, planes, 1);
    const char *plane = x->lane[DIM_IMAGE], *y = name_of(x, x->y), *cols = name_of(x, x->x), *more = "";
    const char *at = x->reduced >= 0 ? name_of(x, x->reduced) : name_of(x, axis);
    if (unroll > 1 && unroll < size_of(x, x->x)) {
        more = view_new_axis(v, cols, "t");
        str_printf(&s, " TILE(%s,%d,%s)", cols, unroll, more);
    }
    if (*plane) str_printf(&s, " THREAD(%s)", plane);
    str_printf(&s, " THREAD(%s) REG(%s) REG(%s)", y, name_of(x, x->ky), name_of(x, x->kx));
    if (*plane) str_printf(&s, " ORDER(%s,%s)", plane, y);
    str_printf(&s, " UNROLL(%s)", *more ? more : cols);
    const char *along = tile_dim(x, cols, more, "");
    write_stage(
        x, &s, x->img, at,
        LIST(v, plane, tile_dim(x, y, name_of(x, x->ky), ""), tile_dim(x, along, name_of(x, x->kx), "")), "",
        false);
    write_stage(x, &s, x->other, at, LIST(v, plane, y, along), "", false);
    return view_legal(v, s.p + 1) ? s.p + 1 : "";
}

/* ---- wgmma, 16-bit floats ------------------------------------------------------------------------------------ */

/* Positions of a row in one wgmma: the widest with the least padding. */
static int wgmma_cols(const struct direct_conv *x) {
    static const int wide[] = {64, 56, 32, 16};
    int64_t n = size_of(x, x->x), least = 0;
    int best = 0;
    for (size_t i = 0; i < RG_COUNT(wide); i++) {
        int64_t all = ceil_div(n, wide[i]) * wide[i];
        if (!best || all < least) best = wide[i], least = all;
    }
    return best;
}

/* Rows of a block, for at most `all` positions. */
static int block_rows(const struct direct_conv *x, int cols, int all) {
    int most = 1;
    for (int d = 1; d; d = divisor_after(size_of(x, x->y), d, all / cols)) most = d;
    return most;
}

/* The axis, or a tile of n of it. */
static const char *tile_axis(struct direct_conv *x, struct str *s, int axis, int64_t n) {
    if (size_of(x, axis) <= n) return name_of(x, axis);
    const char *inner = view_new_axis(x->v, name_of(x, axis), "t");
    str_printf(s, " TILE(%s,%d,%s)", name_of(x, axis), (int)n, inner);
    return inner;
}

/* A channels-last tile is filled by squares of 8 positions x 8 channels, transposed in registers. */
static void write_transposing_copy(struct str *s, const char *tile, const char *channels, const char *cols) {
    str_printf(s, " TILE(%s.%s,8,%s_v) VEC(%s_v)", tile, channels, tile, tile);
    str_printf(s, " TILE(%s.%s,8,%s_p) UNROLL(%s_p)", tile, cols, tile, tile);
}

/* Positions of a row of the tile, halo included; rows begin and end at multiples of 16 bytes of the image. */
static int64_t tile_pitch(const struct direct_conv *x, int64_t cols) {
    return ceil_div(cols + 2 * (size_of(x, x->kx) - 1), 8) * 8;
}

struct wgmma_conv {
    int cols, rows;
    bool transpose; /* filled by transposed squares: needs aligned rows; else element by element */
    int stages;     /* a producer warpgroup fills the pipeline for two consumers; 0: not warp-specialized */
};

static void write_wgmma_conv(struct direct_conv *x, struct str *s, const struct wgmma_conv *h) {
    struct view *v = x->v;
    struct conv_config f = {.ct = 1, .cr = CHANNELS, .yt = 1, .yr = h->rows, .xt = 1, .xr = h->cols, .nt = 1};
    const char *img = access_name(v, x->img->access), *kx = name_of(x, x->kx), *ky = name_of(x, x->ky);
    const char *at = size_of(x, x->reduced) > CHANNELS ? name_of(x, x->reduced) : innermost_grid_axis(x, &f);
    if (size_of(x, x->x) % h->cols) str_printf(s, " PADTO(%s,%d)", name_of(x, x->x), h->cols);
    const char *out = tile_axis(x, s, x->channel, CHANNELS), *sum = tile_axis(x, s, x->reduced, CHANNELS);
    const char *cols = tile_axis(x, s, x->x, h->cols),
               *high = h->rows > 1 ? tile_axis(x, s, x->y, h->rows) : "";
    if (h->rows > 1) str_printf(s, " REG(%s)", high);
    str_printf(s, " TC(%s,%s,%s,WR%s_%d)", out, cols, sum, x->dt == DT_F16 ? "F16" : "BF16", h->cols);
    str_printf(s, " STAGE(%s,%s,%s,%s,%s)", img, at, tile_dim(x, high, ky, ""), tile_dim(x, cols, kx, ""),
               sum);
    if (h->transpose)
        write_transposing_copy(s, img, sum, cols);
    else
        str_printf(s, " TILE(%s.%s,8,%s_v) VEC(%s_v)", img, sum, img, img);
    if (h->stages)
        str_printf(s, " PIPE(%s,%s,%d) WARP_SPECIALIZE(2) PERSISTENT(%d)", img, at, h->stages,
                   x->v->gpu->sms);
}

/* Does the epilogue load a tensor of the result's size? */
static bool has_residual(const struct direct_conv *x) {
    for (int i = 0; i < x->v->naccess; i++) {
        const struct access_view *a = &x->v->access[i];
        bool operand = a == x->img->access || a == x->other->access;
        if (!a->store && !operand && view_depends(x->v, a->index, x->x)) return true;
    }
    return false;
}

/* Implicit GEMM. The tile is channels-last, a position is a row of 128 bytes; a tap is an offset in rows, so that one fill
 * serves all taps. Filters go from global memory to registers (schedule/repack.c). Persistent and warp-specialized: one producer,
 * two consumers; if shared memory does not suffice, or rows are unaligned, blocks fill and multiply alternately. So they do where the
 * epilogue loads: two consumers are too few warps to wait for that (570 us; 51 without it, 64 x 64 channels of 56 x 56). */
static const char *wgmma_conv(struct direct_conv *x) {
    int cols = wgmma_cols(x), rows = block_rows(x, cols, WGMMA_POSITIONS);
    if (x->y < 0 || x->reduced < 0 || x->stride_x != 1 || x->stride_y != 1) return "";
    if (size_of(x, x->channel) % CHANNELS || size_of(x, x->reduced) % CHANNELS) return "";
    int64_t tile = (rows + size_of(x, x->ky) - 1) * tile_pitch(x, cols) * ROW_BYTES;
    int stages = (int)RG_MIN(x->v->gpu->smem_block / tile, 3);
    const struct wgmma_conv config[] = {{cols, rows, true, stages},
                                        {cols, rows, true, 0},
                                        {cols, block_rows(x, cols, GATHER_POSITIONS), false, 0}};
    for (size_t i = stages < 2 || has_residual(x); i < RG_COUNT(config); i++) {
        struct str s;
        str_init(&s, x->v->arena);
        write_wgmma_conv(x, &s, &config[i]);
        if (view_legal(x->v, s.p + 1) && gpu_lowers(x->v, s.p + 1)) return s.p + 1;
    }
    return "";
}

static int64_t wgrad_bytes(const struct direct_conv *x, int rows, bool all) {
    int64_t wide = tile_pitch(x, size_of(x, x->x)), high = rows + (all ? size_of(x, x->ky) - 1 : 0);
    return (high * wide + rows * size_of(x, x->x)) * ROW_BYTES;
}

/* all: a block has the taps of all rows, else of one. along: and of all columns, else of one. */
static void write_wgmma_wgrad(struct direct_conv *x, struct str *s, int rows, bool all, bool along) {
    struct view *v = x->v;
    const char *img = access_name(v, x->img->access), *other = access_name(v, x->other->access);
    const char *kx = name_of(x, x->kx), *ky = all ? name_of(x, x->ky) : "", *cols = name_of(x, x->x);
    const char *out = tile_axis(x, s, x->channel, CHANNELS), *own = tile_axis(x, s, x->image_axis, CHANNELS);
    const char *high = tile_axis(x, s, x->y, rows), *at = name_of(x, x->y);
    if (*ky) str_printf(s, " THREAD(%s)", ky);
    if (along) str_printf(s, " REG(%s)", kx);
    str_printf(s, " UNROLL(%s) TC(%s,%s,%s,W%s_%d)", high, out, own, cols, x->dt == DT_F16 ? "F16" : "BF16",
               CHANNELS);
    str_printf(s, " STAGE(%s,%s,%s,%s,%s)", img, at, tile_dim(x, high, ky, ""),
               tile_dim(x, cols, along ? kx : "", ""), own);
    str_printf(s, " STAGE(%s,%s,%s,%s,%s)", other, at, high, cols, out);
    write_transposing_copy(s, img, own, cols), write_transposing_copy(s, other, out, cols);
}

/* Weight gradient: both tiles are channels-last, positions are k. A tap is an offset in rows of the image's tile; taps of a row are
 * accumulators of a warpgroup, rows of taps are warpgroups. */
static const char *wgmma_wgrad(struct direct_conv *x) {
    int64_t kx = size_of(x, x->kx), ky = size_of(x, x->ky);
    if (x->y < 0 || x->image_axis < 0 || x->stride_x != 1 || x->stride_y != 1 || size_of(x, x->x) % 8)
        return "";
    if (size_of(x, x->channel) % CHANNELS || size_of(x, x->image_axis) % CHANNELS) return "";
    bool all = ky <= MAX_WGRAD_TAPS && kx <= MAX_WGRAD_TAPS, along = kx <= MAX_ROW_TAPS;
    for (int rows = 4; rows >= 2; rows -= 2) {
        struct str s;
        if (size_of(x, x->y) % rows || wgrad_bytes(x, rows, all) > x->v->gpu->smem_block) continue;
        str_init(&s, x->v->arena);
        write_wgmma_wgrad(x, &s, rows, all, along);
        if (view_legal(x->v, s.p + 1) && gpu_lowers(x->v, s.p + 1)) return s.p + 1;
    }
    return "";
}

/* By FMAs; "" if no config is legal. */
static const char *write_cheapest(struct direct_conv *x) {
    struct conv_candidates b = {.n = 0};
    (x->wgrad ? try_wgrad_tiles : try_conv_tiles)(x, &b);
    for (int i = 0; i < b.n; i++) {
        struct str s;
        str_init(&s, x->v->arena);
        str_add(&s, x->padding);
        (x->wgrad ? write_wgrad : write_conv)(x, &b.f[i], &s);
        if (view_legal(x->v, s.p + 1)) return s.p + 1;
    }
    return "";
}

/* The same with rows, columns and output channels that are padded to whole register tiles. */
static const char *write_padded(struct direct_conv *x) {
    const struct {
        int axis, step;
    } pad[] = {{x->channel, PADDED_CHANNELS},
               {x->y, PADDED_ROWS},
               {x->x, x->y < 0 && size_of(x, x->x) >= LONG_ROW ? PADDED_COLS_1D : PADDED_COLS}};
    int64_t size[RG_COUNT(pad)];
    struct str s;
    str_init(&s, x->v->arena);
    for (size_t i = 0; i < RG_COUNT(pad); i++) {
        struct axis_view *a = pad[i].axis < 0 ? NULL : &x->v->axis[pad[i].axis];
        size[i] = size_of(x, pad[i].axis);
        if (!a || size[i] % pad[i].step == 0) continue;
        str_printf(&s, " PADTO(%s,%d)", a->name, pad[i].step);
        a->size = ceil_div(size[i], pad[i].step) * pad[i].step;
    }
    if (!s.n) return "";
    bool halo = x->halo;
    x->padding = s.p, x->halo = true;
    const char *list = write_cheapest(x);
    x->padding = "", x->halo = halo;
    for (size_t i = 0; i < RG_COUNT(pad); i++)
        if (pad[i].axis >= 0) x->v->axis[pad[i].axis].size = size[i];
    return list;
}

const char *gpu_conv(struct view *v) {
    struct direct_conv x = {.v = v, .padding = ""};
    if (!find_conv(&x)) return "";
    x.outputs = 1;
    for (int i = 0; i < v->naxis; i++)
        if (v->axis[i].grid) x.outputs *= (double)v->axis[i].size;
    if (x.outputs * x.c.depth < gpu_whole(v->gpu, gpu_cost.conv_fmas)) return "";
    bool wgmma = x.dt != DT_F32 && v->gpu->cc / 10 == 9;
    if (x.wgrad && is_depthwise(&x)) return depthwise_wgrad(&x);
    const char *list = !wgmma ? "" : x.wgrad ? wgmma_wgrad(&x) : wgmma_conv(&x);
    if (!*list) list = write_cheapest(&x);
    bool narrow = size_of(&x, x.channel) < GEMM_CHANNELS || x.c.depth < GEMM_TERMS;
    return *list || x.wgrad || x.dt != DT_F32 || !narrow ? list : write_padded(&x);
}
