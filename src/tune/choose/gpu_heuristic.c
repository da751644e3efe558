/* gpu_heuristic.c: opt lists for a GPU, without search.
 *
 * Tiled kernels are asked first (skinny GEMM, convolution, GEMM, attention, transpose). Otherwise a thread runs a grid
 * iteration, or a block does if its threads share a loop (COOP). Coalescing and parallelism decide: lanes are neighbours along
 * the innermost grid axis or the cooperative one; addresses that are equal or adjacent are one access per warp, others a
 * 32-byte sector each; a GPU that is not full of threads is slower in proportion. So sums along rows are cooperative, sums
 * along columns are not unless there are few columns. Contiguous axes are vectorized by 16 bytes if enough threads remain. In a
 * contraction a thread computes a register tile, to reuse each load.
 * Tests: tests/unit/cuda.c, tests/unit/gpu_threads.c */
#include "tune/choose/choose.h"

#include <math.h>

#define SECTOR 32.0
#define MIN_COOP 32       /* iterations of a loop worth a block */
#define MAX_GRID 1e9      /* iterations of the grid; 2^31 is the limit */
#define MAX_COOP 512.0    /* threads of a block, four elements each */
#define BLOCKED_SUM 32768 /* iterations of a cooperative sum that block_sums.c cuts, so that passes differ */
#define LONE_ROW 52       /* registers of a thread of the largest block for one row: the others compute */
#define MAX_SCANNED 8     /* elements of a thread in a round of a block scan: 16 are slower (bf16, H200) */
#define SHORT_ROW 16      /* elements of a row that a thread has in registers */
#define SHORT_VECTOR 4    /* elements */
#define MAX_WHOLE 24      /* rows of a register tile that have no divisor */
#define MAX_TILE 36       /* accumulators of a register tile */
#define LONG_K 1024.0     /* terms of a long sum */
#define JOINED_SUM 1.1    /* traffic that one combination of sums instead of many is worth */
#define MAX_SUMS 64       /* accumulators that a block reduces across its threads (gpu_coop.c) */
#define FEW_SUMS 8.0      /* per SM: a block for each .. */
#define FEW_TERMS 256.0   /* .. of as many terms: a thread takes 20 ns for one */

/* Threads that fill the GPU; threads of a kernel that PDL can start early. */
static double full_threads(const struct view *v) { return v->gpu->sms * gpu_cost.threads_full; }
static double early_threads(const struct view *v) { return v->gpu->sms * gpu_cost.threads_early; }

static bool is_shareable(const struct axis_view *a) { return !a->grid && !a->fixed && a->most >= MIN_COOP; }

/* Is an access in an output loop that threads which share the reduced axis do not share? They run it one value at a time. */
static bool is_serial(const struct view *v, const struct access_view *s, int axis) {
    if (axis < 0 || !v->axis[axis].reduce || s->mask & v->axis[axis].ranges) return false;
    for (int i = 0; i < v->naxis; i++)
        if (!v->axis[i].grid && !v->axis[i].reduce && s->mask & v->axis[i].ranges) return true;
    return false;
}

/* The least constant that an index divides the axis by; INT64_MAX: none. */
static int64_t least_period(const struct view *v, const uop *n, int axis) {
    int64_t least = INT64_MAX;
    if (!view_depends(v, n, axis)) return least;
    bool by = (n->op == OP_MOD || n->op == OP_IDIV) && uop_is_const(n->src[1]);
    if (by) least = n->src[1]->arg.i;
    for (uint32_t i = 0; i < n->nsrc; i++) least = RG_MIN(least, least_period(v, n->src[i], axis));
    return least;
}

/* The distance of neighbouring lanes along an axis; that within a period if it is long: joined loops over rows of 49. */
static int64_t lane_stride(const struct view *v, const struct access_view *s, int axis) {
    int64_t stride = access_stride(v, s, axis, 4);
    bool runs = stride == NO_STRIDE && least_period(v, s->index, axis) >= MIN_COOP;
    return runs ? access_stride(v, s, axis, 1) : stride;
}

/* Bytes of all accesses, in sectors, if consecutive lanes are consecutive along `axis` (-1: one thread). */
static double traffic(const struct view *v, int axis) {
    double sum = 0;
    for (int i = 0; i < v->naccess; i++) {
        const struct access_view *s = &v->access[i];
        int64_t stride = axis < 0 ? NO_STRIDE : lane_stride(v, s, axis);
        if (is_serial(v, s, axis)) stride = NO_STRIDE;
        double step =
            stride == NO_STRIDE ? SECTOR : RG_MIN((double)(stride < 0 ? -stride : stride) * s->bytes, SECTOR);
        sum += v->times[s->node->id] * RG_MAX(step, 1.0 / 8);
    }
    return sum;
}

static double threads_of(const struct view *v) {
    double n = 1;
    for (int i = 0; i < v->naxis; i++)
        if (v->axis[i].grid) n *= v->axis[i].most;
    return n;
}

static int inner_grid(const struct view *v) {
    int at = -1;
    for (int i = 0; i < v->naxis; i++)
        if (v->axis[i].grid && v->axis[i].most > 1) at = i;
    return at;
}

/* Elements of the innermost grid axis that fill a sector, for threads whose accesses do not coalesce; 1: none. */
static int sector_lanes(const struct view *v) {
    int inner = inner_grid(v), bytes = 0;
    if (inner < 0 || v->scans || v->axis[inner].fixed) return 1;
    for (int i = 0; i < v->naccess; i++) {
        const struct access_view *s = &v->access[i];
        int64_t stride = access_stride(v, s, inner, 16);
        bool result = s->store && !s->add && v->reduces && stride != NO_STRIDE; /* rare beside the loads */
        if (s->pred || (stride != 1 && (stride != 0 || s->store) && !result)) return 1;
        if (stride == 1) bytes = RG_MAX(bytes, s->add ? 4 : s->bytes);
    }
    int lanes = bytes ? RG_MIN((int)SECTOR / bytes, 16) : 1;
    return v->axis[inner].size < 0 || v->axis[inner].size % lanes ? 1 : lanes;
}

/* The axis of the cooperative loop, or -1; *cost: its traffic. *lanes: vector along the innermost grid axis, for sums along few
 * columns. */
static int coop_axis(const struct view *v, double *cost, int *lanes) {
    double n = threads_of(v), best = traffic(v, inner_grid(v)) / RG_MIN(n / full_threads(v), 1),
           all_bytes = 0;
    int at = -1, wide = sector_lanes(v);
    bool adds = false; /* scatter: STORE_ADD */
    if (wide * v->reduces > MAX_SUMS) wide = 1;
    *lanes = 1;
    for (int i = 0; i < v->naccess; i++)
        all_bytes += v->times[v->access[i].node->id] * v->access[i].bytes, adds |= v->access[i].add;
    for (int i = 0; i < v->naxis; i++) {
        if (!is_shareable(&v->axis[i])) continue;
        double all = n * RG_MIN(v->axis[i].most / 4, MAX_COOP);
        double share = gpu_cost.coop_traffic * traffic(v, i) / RG_MIN(all / full_threads(v), 1);
        if (share < best) best = share, at = i, *lanes = 1;
        double down = gpu_cost.column_traffic * all_bytes / RG_MIN(all / wide / full_threads(v), 1);
        if (wide > 1 && (v->axis[i].reduce || adds) && down < best) best = down, at = i, *lanes = wide;
    }
    *cost = best;
    return at;
}

/* Vector width along an axis, 16 bytes, if all stores and most loads are contiguous; else 1. Of mixed types the largest counts, or,
 * if `flat`, the smallest as long as loads have at most 32 bytes and stores 16: wider vectors amortize index arithmetic, but a
 * sector that is stored in two parts goes to L2 twice. */
static int vector_lanes(const struct view *v, int axis, bool flat, int period) {
    int bytes = 1, stored = 1, least = 16, contiguous = 0, strided = 0;
    if (axis < 0 || v->scans || v->axis[axis].fixed) return 1;
    for (int i = 0; i < v->naccess; i++) {
        const struct access_view *s = &v->access[i];
        int64_t stride = access_stride(v, s, axis, period);
        bool store = s->store && v->axis[axis].grid; /* a row's result does not depend on the row's axis */
        bool uniform = stride == 0 && (!s->pred || !view_depends(v, s->pred, axis));
        if ((s->pred && (s->store || (stride != 1 && !uniform))) || s->add || (stride != 1 && store))
            return 1;
        if (stride == 1) bytes = RG_MAX(bytes, s->bytes), least = RG_MIN(least, s->bytes), contiguous++;
        if (stride == 1 && s->store) stored = RG_MAX(stored, s->bytes);
        strided += stride != 1 && stride != 0;
    }
    int lanes = strided > contiguous ? 1
                : flat               ? RG_MIN(RG_MIN(16 / least, 32 / bytes), 16 / stored)
                                     : 16 / bytes;
    while (!flat && lanes > 2 && v->axis[axis].size > 0 && v->axis[axis].size % lanes) lanes /= 2;
    return v->axis[axis].size < 0 || v->axis[axis].size % lanes ? 1 : lanes;
}

/* .. or shorter, along joined loops over rows of 4 n elements, which no longer vector divides. */
static int vector_width(const struct view *v, int axis, bool flat) {
    int n = vector_lanes(v, axis, flat, 16);
    return n > 1 || flat ? n : RG_MIN(vector_lanes(v, axis, flat, SHORT_VECTOR), SHORT_VECTOR);
}

/* Elementwise rows of any length: ALIGN starts vectors at multiples of 16 bytes if loads are contiguous too, or uniform. Width; else 1. */
static int unaligned_width(const struct view *v, int axis) {
    int bytes = 0;
    bool strided = false;
    if (axis < 0 || v->scans || v->reduces || v->stages || v->axis[axis].fixed || v->axis[axis].members != 1)
        return 1;
    for (int i = 0; i < v->naccess; i++) {
        const struct access_view *s = &v->access[i];
        int64_t stride = access_stride(v, s, axis, 16);
        if (s->add || (s->store && (stride != 1 || s->pred || (bytes && bytes != s->bytes)))) return 1;
        if (s->store) bytes = s->bytes;
        strided |= stride != 1 && stride != 0;
    }
    return bytes && !strided && v->axis[axis].size >= 64 ? 16 / bytes : 1;
}

/* Vector width of a cooperative loop: 16 bytes if enough iterations remain; else 1. */
static int coop_width(const struct view *v, int axis) {
    int n = vector_width(v, axis, false);
    return n > 1 && v->axis[axis].most >= 16.0 * n ? n : 1;
}

/* Passes over one row may have axes of their own (a mean, then a variance): all are cooperative. */
static bool is_same_pass(const struct view *v, int i, int axis) {
    return i == axis || (is_shareable(&v->axis[i]) && v->axis[i].size == v->axis[axis].size);
}

/* A reduction beside the one along `axis`, not around or inside it: what is left of the blocks of a long sum. */
static bool is_other_pass(const struct view *v, int i, int axis) {
    if (i == axis || !is_shareable(&v->axis[i]) || !v->axis[i].reduce) return false;
    for (int k = 0; k < v->naccess; k++)
        if (has_axis(v, v->access[k].mask, i) && has_axis(v, v->access[k].mask, axis)) return false;
    return true;
}

/* 4-byte registers per element of the rows that RESIDENT keeps; 0: it keeps none. */
static int row_registers(const struct view *v, int axis) {
    const char *text = arena_printf(v->arena, "RESIDENT(%s,loads)", v->axis[axis].name);
    struct sched s;
    uop_vec topo = {0};
    int n = 0;
    if (!opts_legal(v->ir, v->kernel, text, v->gpu, NULL)) return 0;
    sched_init(&s, v->ir, v->kernel);
    sched_apply(&s, text);
    uop_topo(v->arena, &s.sink, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++)
        if (topo.p[i]->op == OP_STAGE && topo.p[i]->arg.mem.space == SPACE_SCRATCH)
            n += (dtype_info[topo.p[i]->dt].bytes + 3) / 4;
    return n;
}

static bool adds(const struct view *v) {
    for (int i = 0; i < RG_MIN(v->reduces, (int)RG_COUNT(v->reduce)); i++)
        if (v->reduce[i]->arg.i == OP_ADD && v->reduce[i]->dt == DT_F32) return true;
    return false;
}

/* Do the registers of a block hold the rows, so that only the first pass reads memory? Counted as render/gpu_coop.c does, for the
 * largest block. */
static bool keeps_rows(const struct view *v, int axis) {
    const struct axis_view *a = &v->axis[axis];
    int lanes = coop_width(v, axis);
    if (a->members < 2 || a->size < 0) return false;
    for (int i = 0; i < v->naxis; i++)
        if (!v->axis[i].grid && !is_same_pass(v, i, axis)) return false; /* one row per iteration */
    double each = ceil(a->most / lanes / GPU_BLOCK_THREADS) * lanes;
    if (each > GPU_ROW_REGISTERS || (adds(v) && a->most / lanes > BLOCKED_SUM)) return false;
    int rows = row_registers(v, axis);
    return rows && rows * each <= (rows > 1 ? GPU_ROW_REGISTERS : LONE_ROW);
}

static void skinny_tile(struct view *v, struct str *out, bool *many);
static bool is_legal(const struct view *v, const struct str *s);

/* Cooperative loops, vectorized by 16 bytes if enough iterations remain; unrolled instead if there are many accumulators. */
static void write_coop(struct view *v, int axis, bool keep, struct str *out) {
    bool many = false;
    if (keep) str_printf(out, " RESIDENT(%s,loads)", v->axis[axis].name);
    if (!keep) skinny_tile(v, out, &many);
    for (int i = 0; i < v->naxis; i++) {
        const char *name = v->axis[i].name;
        if (!is_same_pass(v, i, axis) && !is_other_pass(v, i, axis)) continue;
        int n = coop_width(v, i);
        if (n > 1) {
            const char *inner = view_new_axis(v, name, "v");
            str_printf(out, " TILE(%s,%d,%s) %s(%s)", name, n, inner, many ? "UNROLL" : "VEC", inner);
        }
        str_printf(out, " COOP(%s)", name);
    }
}

/* The same without vectors: many sums side by side, the norm of all gradients. */
static void write_coop_scalar(struct view *v, int axis, struct str *out) {
    for (int i = 0; i < v->naxis; i++)
        if (is_same_pass(v, i, axis) || is_other_pass(v, i, axis))
            str_printf(out, " COOP(%s)", v->axis[i].name);
}

/* A block scan: unrolled by 32 bytes of the narrowest contiguous type, 64 of the widest; not where the running value decays, whose
 * threads combine an element each. */
static void write_coop_scan(struct view *v, int axis, struct str *out) {
    int least = 16, most = 1;
    for (int i = 0; i < v->naccess; i++) {
        if (access_stride(v, &v->access[i], axis, 4) != 1 || v->access[i].pred) continue;
        least = RG_MIN(least, v->access[i].bytes), most = RG_MAX(most, v->access[i].bytes);
    }
    int n = v->axis[axis].decays ? 1 : RG_MIN(RG_MIN(32 / least, 64 / most), MAX_SCANNED);
    while (n > 1 && (v->axis[axis].size % n || v->axis[axis].most < 16.0 * n)) n /= 2;
    const char *name = v->axis[axis].name, *inner = view_new_axis(v, name, "u");
    if (n > 1) str_printf(out, " TILE(%s,%d,%s) UNROLL(%s)", name, n, inner, inner);
    str_printf(out, " COOP(%s)", name);
}

/* ---- contractions --------------------------------------------------------------------------------------- */

static const uop *product_of(const struct view *v) {
    for (int i = 0; i < RG_MIN(v->reduces, (int)RG_COUNT(v->reduce)); i++) {
        const uop *x = v->reduce[i]->src[0];
        while (x->op == OP_CAST) x = x->src[0];
        if (v->reduce[i]->arg.i == OP_ADD && x->op == OP_MUL) return x;
    }
    return NULL;
}

/* Does only one operand depend on the axis? Then loads of the other are reused along it. */
static bool reuses(const struct view *v, const uop *product, int axis) {
    return view_depends(v, product->src[0], axis) != view_depends(v, product->src[1], axis);
}

static int divisor_below(int64_t n, int most) {
    for (; most > 1 && n % most; most--) {}
    return most;
}

/* .. or all of a few: 17 channels have no divisor. */
static int tile_within(int64_t n, int most) {
    int d = divisor_below(n, most);
    return 2 * d <= most && n <= MAX_WHOLE ? (int)n : d;
}

static void tile_axis(struct view *v, int axis, int n, const char *how, struct str *out) {
    const char *inner = view_new_axis(v, v->axis[axis].name, "r");
    if (n > 1) str_printf(out, " TILE(%s,%d,%s) %s(%s)", v->axis[axis].name, n, inner, how, inner);
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

/* The grid axis outside of the innermost that the same operand depends on: rows of an image; -1 if there is none. */
static int row_axis(const struct view *v, const uop *x, int inner) {
    int at = inner - 1;
    if (at < 0 || !v->axis[at].grid || v->axis[at].fixed || !reuses(v, x, at)) return -1;
    return view_depends(v, x->src[0], at) == view_depends(v, x->src[0], inner) ? at : -1;
}

/* A register tile along the innermost axis and the largest other one, if enough threads remain; "" if there is none. Not
 * vectorized if loads are predicated. */
static const char *register_tile(struct view *v) {
    static const int size[][2] = {{8, 4}, {4, 4}, {4, 2}, {2, 2}};
    const uop *x = product_of(v);
    int inner = inner_grid(v), other = -1;
    bool preds = false;
    for (int i = 0; i < v->naccess; i++) preds |= v->access[i].pred != NULL;
    if (!x || inner < 0 || !reuses(v, x, inner)) return "";
    for (int i = 0; i < v->naxis; i++) {
        const struct axis_view *a = &v->axis[i];
        if (!a->grid || a->fixed || i == inner || a->size < 2 || !reuses(v, x, i)) continue;
        if (view_depends(v, x->src[0], i) == view_depends(v, x->src[0], inner))
            continue; /* the same operand */
        if (other < 0 || a->size > v->axis[other].size) other = i;
    }
    for (size_t k = 0; other >= 0 && k < RG_COUNT(size) * 2; k++) {
        struct str s;
        int m = tile_within(v->axis[other].size, size[k / 2][0]),
            n = divisor_below(v->axis[inner].size, size[k / 2][1]);
        if (threads_of(v) / (m * n) < full_threads(v) / 4 || m * n == 1 || m * n > MAX_TILE) continue;
        int row = n <= 2 && *unroll_taps(v) ? row_axis(v, x, inner) : -1;
        str_init(&s, v->arena);
        tile_axis(v, other, m, "REG", &s);
        if (row >= 0 && row != other && v->axis[row].size % 2 == 0) tile_axis(v, row, 2, "REG", &s);
        tile_axis(v, inner, n, k % 2 || n == 3 || preds ? "REG" : "VEC", &s);
        str_add(&s, unroll_taps(v));
        if (view_legal(v, s.p + 1)) return s.p + 1;
    }
    return "";
}

/* Few rows by a matrix, K-major: a block computes a tile of outputs, to reuse its loads. */
static void skinny_tile(struct view *v, struct str *out, bool *many) {
    static const int most[2] = {8, 4};
    const uop *x = product_of(v);
    double left = threads_of(v);
    int tile[2] = {1, 1}, axis[2] = {-1, -1};
    if (!x || most[0] * most[1] * v->reduces > MAX_SUMS) return;
    for (int i = 0; i < v->naxis; i++) {
        const struct axis_view *a = &v->axis[i];
        if (!a->grid || a->fixed || a->size < 2 || !reuses(v, x, i)) continue;
        int side = view_depends(v, x->src[1], i);
        if (axis[side] < 0 || a->size > v->axis[axis[side]].size) axis[side] = i;
    }
    if (axis[0] >= 0 && (axis[1] < 0 || v->axis[axis[0]].size > v->axis[axis[1]].size)) {
        int t = axis[0]; /* the longer one second: more sizes to choose from */
        axis[0] = axis[1], axis[1] = t;
    }
    for (int k = 0; k < 2; k++) {
        if (axis[k] < 0) continue;
        int n = divisor_below(v->axis[axis[k]].size, axis[0] < 0 ? 2 : most[k]);
        while (n > 1 && (left / n < gpu_whole(v->gpu, gpu_cost.blocks_coop) || v->axis[axis[k]].size % n))
            n--;
        tile[k] = n, left /= n;
    }
    *many = tile[0] * tile[1] > 4;
    for (int k = 0; k < 2; k++)
        if (axis[k] >= 0) tile_axis(v, axis[k], tile[k], "REG", out);
}

/* Grid too large: a thread runs several values of the largest axis. */
static void shrink_grid(struct view *v, struct str *out) {
    int at = -1;
    for (int i = 0; i < v->naxis; i++)
        if (v->axis[i].grid && (at < 0 || v->axis[i].most > v->axis[at].most)) at = i;
    const char *inner = view_new_axis(v, v->axis[at].name, "l");
    str_printf(out, " TILE(%s,%d,%s)", v->axis[at].name, (int)(threads_of(v) / MAX_GRID) + 1, inner);
}

static void write_coop_columns(struct view *v, int axis, int lanes, struct str *out) {
    int inner = inner_grid(v);
    const char *name = view_new_axis(v, v->axis[inner].name, "v");
    str_printf(out, " TILE(%s,%d,%s) VEC(%s) COOP(%s)", v->axis[inner].name, lanes, name, name,
               v->axis[axis].name);
    for (int i = 0; i < v->naxis; i++)
        if (is_other_pass(v, i, axis)) str_printf(out, " COOP(%s)", v->axis[i].name);
}

/* Vector width for short sums, such as the reduction of split-K: as many outputs per thread as leave few blocks, up to `lanes`. Such
 * kernels are bound by latency; with few blocks PDL makes all of them resident before their predecessor ends (device/cuda). 1: not a
 * short sum. */
static int splitk_reduce_width(const struct view *v, int lanes) {
    int n = 1;
    if (v->reduces != 1 || v->scans || v->stages) return 1;
    for (int i = 0; i < v->naxis; i++)
        if (!v->axis[i].grid && (!v->axis[i].reduce || v->axis[i].most > MIN_COOP)) return 1;
    while (n < lanes && threads_of(v) / n > early_threads(v)) n *= 2;
    return n;
}

/* A thread per short row: unrolled, so that it is loaded once, in vectors, and kept in registers. */
static void write_short_rows(struct view *v, struct str *out) {
    double all = 0;
    bool rows = false;
    if (!v->reduces || v->scans || v->stages || threads_of(v) < full_threads(v)) return;
    for (int i = 0; i < v->naxis; i++) {
        const struct axis_view *a = &v->axis[i];
        if (a->grid) continue;
        if (a->fixed || a->size < 2 || a->size > SHORT_ROW) return;
        all += (double)a->size * a->members;
        for (int k = 0; k < v->naccess; k++) rows |= access_stride(v, &v->access[k], i, 4) == 1;
    }
    if (!rows || all > 4 * SHORT_ROW) return;
    for (int i = 0; i < v->naxis; i++)
        if (!v->axis[i].grid) str_printf(out, " UNROLL(%s)", v->axis[i].name);
}

/* Is an index a quotient of the axis, by a constant? Not one that is read from memory. */
static bool is_quotient(const struct view *v, const uop *n, int axis) {
    if (!view_depends(v, n, axis) || n->op == OP_LOAD) return false;
    if (n->op == OP_IDIV && uop_is_const(n->src[1]) && view_depends(v, n->src[0], axis)) return true;
    for (uint32_t i = 0; i < n->nsrc; i++)
        if (is_quotient(v, n->src[i], axis)) return true;
    return false;
}

/* Elements of a 16-byte vector store along the innermost grid axes; 0: stores are predicated, or not contiguous. */
static int stored_width(const struct view *v, int inner) {
    int bytes = 0;
    for (int i = 0; i < v->naccess; i++) {
        const struct access_view *s = &v->access[i];
        if (s->store && (s->pred || s->add || access_stride(v, s, inner, 16) != 1)) return 0;
        if (s->store) bytes = RG_MAX(bytes, s->bytes);
    }
    return bytes ? 16 / bytes : 0;
}

/* Do accesses along the axis coalesce: consecutive or equal elements, or quotients? `whole`: values of the axis inside, all of
 * which a thread has. */
static bool reads_near(const struct view *v, int axis, int64_t whole) {
    for (int i = 0; i < v->naccess; i++) {
        const struct access_view *s = &v->access[i];
        int64_t stride = access_stride(v, s, axis, 16);
        bool near = stride == 0 || stride == 1 || stride == whole;
        if (!s->store && !near && !is_quotient(v, s->index, axis)) return false;
    }
    return true;
}

/* Upsampling, gradients of windows, results with zeros between them: loads follow a quotient of the innermost axis, or that axis has
 * few values. A thread computes several neighbours: they share loads, whose indices are constants apart, and one vector is
 * stored. Short sums are unrolled. */
static void write_gather(struct view *v, struct str *out) {
    int inner = inner_grid(v), n = inner < 0 || v->axis[inner].fixed ? 0 : stored_width(v, inner);
    bool quotient = false;
    double terms = 1;
    if (n < 2 || v->scans || v->stages) return;
    for (int i = 0; i < v->naccess; i++)
        quotient |= !v->access[i].store && is_quotient(v, v->access[i].index, inner);
    for (int i = 0; i < v->naxis; i++) {
        const struct axis_view *a = &v->axis[i];
        if (a->grid) continue;
        if (!a->reduce || a->fixed || a->size < 1 || (terms *= (double)a->size) > SHORT_ROW) return;
    }
    int64_t size = v->axis[inner].size, whole = size > 1 && size < n && n % size == 0 ? size : 1;
    int axis = whole > 1 ? inner - 1 : inner;
    if (!(quotient || whole > 1) || axis < 0 || !v->axis[axis].grid || v->axis[axis].fixed ||
        !reads_near(v, axis, whole))
        return;
    for (int i = 0; i < v->naccess; i++)
        if (v->access[i].store && access_stride(v, &v->access[i], axis, 16) != whole) return;
    for (n /= (int)whole; n > 1 && v->axis[axis].size % n;) n /= 2;
    if (n < 2) n = (int)(v->axis[axis].size * whole <= SHORT_ROW ? v->axis[axis].size : whole > 1 ? 1 : 2);
    if (n < 2 || threads_of(v) / (double)(n * whole) < full_threads(v)) return;
    for (int i = 0; i < v->naxis; i++)
        if (!v->axis[i].grid) str_printf(out, " UNROLL(%s)", v->axis[i].name);
    if (whole > 1) str_printf(out, " REG(%s)", v->axis[inner].name);
    tile_axis(v, axis, n, "REG", out);
    if (!is_legal(v, out)) out->n = 0;
}

static bool is_legal(const struct view *v, const struct str *s) { return s->n && view_legal(v, s->p + 1); }

static const char *choose(struct view *v) {
    struct str s;
    double cost;
    int down, axis = coop_axis(v, &cost, &down), inner = inner_grid(v), lanes = vector_width(v, inner, true);
    str_init(&s, v->arena);
    if (axis < 0 && threads_of(v) <= MAX_GRID) {
        const char *tile = register_tile(v);
        if (*tile) return tile;
    }
    if (axis >= 0 && v->axis[axis].scan) {
        write_coop_scan(v, axis, &s);
    } else if (axis >= 0 && down > 1) {
        write_coop_columns(v, axis, down, &s);
    } else if (axis >= 0) {
        bool keep = keeps_rows(v, axis);
        write_coop(v, axis, keep, &s);
        if (keep && !is_legal(v, &s)) s.n = 0, write_coop(v, axis, false, &s);
        if (!is_legal(v, &s)) s.n = 0, write_coop_scalar(v, axis, &s);
    } else if (lanes > 1 && (threads_of(v) / lanes >= full_threads(v) || splitk_reduce_width(v, lanes) > 1)) {
        if (threads_of(v) / lanes < full_threads(v)) lanes = splitk_reduce_width(v, lanes);
        const char *name = view_new_axis(v, v->axis[inner].name, "v");
        str_printf(&s, " TILE(%s,%d,%s) VEC(%s)", v->axis[inner].name, lanes, name, name);
    }
    if (axis < 0 && !s.n) write_gather(v, &s);
    if (axis < 0 && !s.n) write_short_rows(v, &s);
    int odd = axis < 0 && !s.n ? unaligned_width(v, inner) : 1;
    if (odd > 1 && threads_of(v) / odd >= full_threads(v)) {
        const char *name = view_new_axis(v, v->axis[inner].name, "v");
        str_printf(&s, " ALIGN(%s,%d) TILE(%s,%d,%s) VEC(%s)", v->axis[inner].name, odd, v->axis[inner].name,
                   odd, name, name);
        if (!is_legal(v, &s)) s.n = 0;
    }
    if (threads_of(v) / lanes > MAX_GRID) shrink_grid(v, &s);
    return is_legal(v, &s) ? s.p + 1 : "";
}

/* ---- long contractions, contiguous along k --------------------------------------------------------------------- */

/* The innermost loop, if all loops are one contraction and both operands are contiguous along it; else -1. */
static int dot_loop(const struct view *v, double *depth) {
    int at = -1, moving = 0;
    *depth = 1;
    if (v->reduces != 1 || v->scans || v->stages || !product_of(v)) return -1;
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
    const uop *x = product_of(v);
    int other = -1, side = view_depends(v, x->src[0], tap);
    for (int i = 0; i < v->naxis; i++) {
        const struct axis_view *a = &v->axis[i];
        if (!a->grid || a->size < 2 || i == tap || !reuses(v, x, i) || view_depends(v, x->src[!side], i))
            continue;
        if (other < 0 || a->size > v->axis[other].size) other = i;
    }
    if (other >= 0)
        tile_axis(v, other, divisor_below(v->axis[other].size, v->axis[tap].size > 4 ? 4 : 8), "REG", out);
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
static const char *long_contraction(struct view *v) {
    double depth;
    struct str s;
    bool many = false;
    int loop = dot_loop(v, &depth), tap = loop < 0 ? -1 : tap_axis(v, loop);
    str_init(&s, v->arena);
    if (loop < 0 || depth < LONG_K || threads_of(v) > gpu_whole(v->gpu, gpu_cost.coop_outputs)) return "";
    const char *joined = join_loops(v, loop, &s);
    if (!s.n) return "";
    if (tap >= 0 && v->axis[loop].size % 4 == 0) {
        const char *inner = view_new_axis(v, joined, "v");
        wgrad_tile(v, tap, &s);
        str_printf(&s, " REG(%s) TILE(%s,4,%s) UNROLL(%s)", v->axis[tap].name, joined, inner, inner);
    } else {
        skinny_tile(v, &s, &many);
    }
    str_printf(&s, " COOP(%s)", joined);
    return is_legal(v, &s) ? s.p + 1 : "";
}

/* Few sums, a block for each: a thread for each would wait for its loads in a row. "" if there are more, or others. */
static const char *few_sums(struct view *v) {
    double depth = 1;
    int loop = -1;
    struct str s;
    str_init(&s, v->arena);
    if (v->reduces != 1 || v->scans || v->stages || threads_of(v) > FEW_SUMS * v->gpu->sms) return "";
    for (int i = 0; i < v->naxis; i++) {
        const struct axis_view *a = &v->axis[i];
        if (a->grid) continue;
        if (!a->reduce || a->fixed || a->size < 1 || a->members > 1) return "";
        loop = i, depth *= (double)a->size;
    }
    if (loop < 0 || depth < FEW_TERMS) return "";
    const char *joined = join_loops(v, loop, &s);
    str_printf(&s, " COOP(%s)", joined);
    return is_legal(v, &s) ? s.p + 1 : "";
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
static const char *column_sums(struct view *v) {
    int inner = inner_grid(v), least, bytes = column_bytes(v, inner, &least), lanes = RG_MIN(16 / least, 8);
    double depth = 1;
    const char *k = NULL;
    struct str s;
    str_init(&s, v->arena);
    if (!bytes || threads_of(v) / lanes >= full_threads(v)) return "";
    for (int i = v->naxis - 1; i >= 0; i--) {
        if (v->axis[i].grid) continue;
        const char *joined = k ? view_new_axis(v, v->axis[i].name, "j") : v->axis[i].name;
        if (k) str_printf(&s, " JOIN(%s,%s,%s)", v->axis[i].name, k, joined);
        k = joined, depth *= (double)v->axis[i].size;
    }
    int pieces = COLUMN_PIECES, rows = COLUMN_THREADS / pieces,
        steps = RG_MAX(COLUMN_LOADS / (bytes * lanes), 1);
    while (steps > 1 && depth < rows * steps) steps /= 2;
    double blocks = threads_of(v) / (lanes * pieces);
    if (depth < rows * steps || v->axis[inner].size % (lanes * pieces) || blocks < v->gpu->sms) return "";
    const char *n = v->axis[inner].name, *c = view_new_axis(v, n, "c"), *d = view_new_axis(v, n, "d"),
               *w = view_new_axis(v, k, "w"), *u = view_new_axis(v, k, "u");
    str_printf(&s, " TILE(%s,%d,%s) TILE(%s,%d,%s) TILE(%s,%d,%s)", n, lanes * pieces, c, c, lanes, d, k,
               rows * steps, w);
    if (steps > 1) str_printf(&s, " TILE(%s,%d,%s) UNROLL(%s)", w, steps, u, u);
    str_printf(&s, " THREAD(%s) THREAD(%s) ORDER(%s,%s) VEC(%s)", w, c, w, c, d);
    return is_legal(v, &s) ? s.p + 1 : "";
}

/* ---- loops that are better joined or reordered ---------------------------------------------------------------- */

static bool gpu_view(struct view *v, struct ir *ir, const struct kernel *k, const struct gpu_spec *gpu) {
    bool ok = view_init(v, ir, k, isa_of_width(16), 1);
    v->gpu = gpu;
    return ok;
}

/* A JOIN of two nested loops that reduces the traffic, or of a cooperative loop and the one around it: threads then combine their sums
 * once, not once an iteration, more of them load at a time, and a block has more of them; or one that makes a pass as long as the
 * cooperative one. NULL if there is none. */
static const char *join_of(struct view *v, double *cost, const uop **sink) {
    const uop *x = product_of(v);
    int inner = inner_grid(v), columns;
    double unjoined;
    int coop = coop_axis(v, &unjoined, &columns);
    if (x && inner >= 0 && reuses(v, x, inner)) return NULL; /* a window or a tile */
    for (int i = 0; i + 1 < v->naxis; i++) {
        const struct axis_view *a = &v->axis[i], *b = &v->axis[i + 1];
        if (a->grid || b->grid || a->scan || b->scan || a->fixed || b->fixed || a->members != b->members)
            continue;
        const char *text =
            arena_printf(v->arena, "JOIN(%s,%s,%s)", a->name, b->name, view_new_axis(v, a->name, "j"));
        if (!opts_legal(v->ir, v->kernel, text, v->gpu, NULL)) continue;
        struct sched s;
        struct view joined;
        sched_init(&s, v->ir, v->kernel);
        sched_apply(&s, text);
        struct kernel k = *v->kernel;
        k.sink = s.sink;
        double now;
        int lanes;
        bool around = coop == i + 1 && columns == 1 && a->reduce == b->reduce && *cost > 0;
        if (!gpu_view(&joined, v->ir, &k, v->gpu) || coop_axis(&joined, &now, &lanes) < 0) continue;
        bool pass = coop >= 0 && coop != i && coop != i + 1 && a->reduce && b->reduce && columns == 1 &&
                    a->size * b->size == v->axis[coop].size;
        if (around || pass ? now > JOINED_SUM * *cost || lanes > 1 : now >= *cost) continue;
        *cost = RG_MIN(*cost, now), *sink = s.sink;
        return text;
    }
    return NULL;
}

/* Sums, of products too, whose loads and stores are contiguous along different axes: an ORDER that makes another grid axis the innermost
 * and halves the traffic; the view is reordered too. "" if there is none. */
static const char *order_of(struct view *v, double cost) {
    int inner = inner_grid(v), lanes;
    if (v->reduces != 1 || v->scans || v->stages || inner < 0) return "";
    for (int i = 0; i < inner; i++) {
        struct axis_view a = v->axis[i], b = v->axis[inner];
        double now;
        if (!a.grid || a.fixed || b.fixed || a.most < MIN_COOP) continue;
        v->axis[i] = b, v->axis[inner] = a;
        coop_axis(v, &now, &lanes);
        if (now < cost / 2) return arena_printf(v->arena, "ORDER(%s,%s) ", b.name, a.name);
        v->axis[i] = a, v->axis[inner] = b;
    }
    return "";
}

/* What `choose_tiles` (gpu_gemm, gpu_attention) finds after view_digits; "" if nothing. */
static const char *tiles_of_digits(struct view *v, const char *(*choose_tiles)(struct view *)) {
    const char *outer, *inner, *digits = product_of(v) ? view_digits(v, &outer, &inner) : NULL;
    if (!digits || !opts_legal(v->ir, v->kernel, digits, v->gpu, NULL)) return "";
    struct sched s;
    struct view *apart = arena_new(v->arena, struct view);
    struct kernel k = *v->kernel;
    sched_init(&s, v->ir, v->kernel);
    sched_apply(&s, digits);
    k.sink = s.sink;
    if (!gpu_view(apart, v->ir, &k, v->gpu)) return "";
    for (int i = 0; i < apart->naxis; i++) apart->axis[i].grid |= !strcmp(apart->axis[i].name, inner);
    apart->asked = v->kernel, apart->prefix = digits;
    const char *tiled = choose_tiles(apart);
    return *tiled ? arena_printf(v->arena, "%s %s", digits, tiled) : "";
}

static void write_list(struct ir *ir, const struct kernel *k, const struct gpu_spec *gpu, char *text) {
    struct view *v = arena_new(ir->arena, struct view);
    struct kernel now = *k;
    struct str joins;
    double cost;
    int lanes;
    str_init(&joins, ir->arena);
    if (!gpu_view(v, ir, &now, gpu)) return;
    const char *tiled = gpu->cc ? gpu_skinny_gemm(v) : "";
    if (gpu->cc && !*tiled) tiled = gpu_conv(v);
    if (gpu->cc && !*tiled) tiled = gpu_gemm(v);
    if (gpu->cc && !*tiled) tiled = tiles_of_digits(v, gpu_gemm);
    if (gpu->cc && !*tiled) tiled = gpu_attention(v);
    if (gpu->cc && !*tiled && v->stages) tiled = tiles_of_digits(v, gpu_attention);
    if (gpu->cc && !*tiled) tiled = gpu_transpose(v);
    if (!*tiled) tiled = long_contraction(v);
    if (gpu->cc && !*tiled) tiled = column_sums(v);
    if (*tiled) {
        snprintf(text, CHOOSE_TEXT, "%s", tiled);
        return;
    }
    coop_axis(v, &cost, &lanes);
    const char *order = order_of(v, cost);
    if (*order) {
        snprintf(text, CHOOSE_TEXT, "%s%s", order, choose(v));
        if (!opts_legal(ir, k, text, gpu, NULL)) *text = 0;
        return;
    }
    for (const char *join; (join = join_of(v, &cost, &now.sink));) {
        str_printf(&joins, "%s ", join);
        if (!gpu_view(v, ir, &now, gpu)) return;
    }
    const char *list = choose(v);
    if (!*list) list = few_sums(v);
    snprintf(text, CHOOSE_TEXT, "%s%s", joins.n ? joins.p : "", list);
    if (joins.n && !opts_legal(ir, k, text, gpu, NULL)) *text = 0;
}

const char *opts_heuristic_gpu(struct ir *ir, const struct kernel *k, const struct gpu_spec *gpu) {
    char text[CHOOSE_TEXT] = "";
    write_list(ir, k, gpu, text); /* nodes of a JOIN stay */
    return arena_strdup(ir->arena, text, strlen(text));
}

void opts_configs_gpu(struct ir *ir, const struct kernel *k, const struct gpu_spec *gpu,
                      const struct model *model, const char *like, uint32_t best, uint32_t more,
                      gpu_lists *out) {
    struct view *v = arena_new(ir->arena, struct view);
    *out = (gpu_lists){0};
    if (gpu->cc && gpu_view(v, ir, k, gpu)) gpu_gemm_configs(v, model, like, best, more, out);
}
