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
#define MIN_COOP 32      /* iterations of a loop worth a block */
#define MIN_COOP_MANY 17 /* .. and of rows that are more than registers of a thread, if there are many */
#define MANY_SHORT (1 << 19)
#define MAX_GRID 1e9      /* iterations of the grid; 2^31 is the limit */
#define MAX_COOP 512.0    /* threads of a block, four elements each */
#define BLOCKED_SUM 32768 /* iterations of a cooperative sum that block_sums.c cuts, so that passes differ */
#define COLUMN_ADDS 64    /* .. of a thread of columns */
#define LONE_ROW 52       /* registers of a thread of the largest block for one row: the others compute */
#define MAX_SCANNED 8     /* elements of a thread in a round of a block scan: 16 are slower (bf16, H200) */
#define SHORT_ROW 16      /* elements of a row that a thread has in registers */
#define SHORT_VECTOR 4    /* elements */
#define SEVERAL 4         /* values of a thread, or rows of a block, where no vector fits .. */
#define MANY_ROWS 32.0    /* .. and blocks per SM remain */
#define SHORT_COOP 4096   /* elements of a row whose loop has few iterations of a thread */
#define MIN_STRIPS 4096   /* elements of an axis that is cut into strips */
#define JOINED_SUM 1.1    /* traffic that one combination of sums instead of many is worth */
#define LEAST_COLUMNS 8
#define MOST_COLUMNS 32
#define MAX_COLUMN_SUMS 5 /* accumulators that a block of columns reduces (gpu_coop.c) */
#define FEW_THREADS 8.0   /* of a full GPU: what a thread does in a row counts */
#define AGAIN 16.0        /* what a tile of sums shares, and L2 gives faster */
#define IN_L2 0.25        /* of the time that a load from memory takes */
#define RARE 8.0          /* a result of a sum, beside its terms */
#define MAX_SUMS 64       /* accumulators that a block reduces across its threads (gpu_coop.c) */
#define MANY_SUMS 4       /* of a tile: vectors of them take too many registers */

/* Threads that fill the GPU; threads of a kernel that PDL can start early. */
double gpu_full_threads(const struct view *v) { return v->gpu->sms * gpu_cost.threads_full; }
static double early_threads(const struct view *v) { return v->gpu->sms * gpu_cost.threads_early; }

static bool is_shareable(const struct view *v, const struct axis_view *a) {
    double least = gpu_threads(v) * a->most >= MANY_SHORT ? MIN_COOP_MANY : MIN_COOP;
    return !a->grid && !a->fixed && a->most >= least;
}

/* Is an access in an output loop that threads which share the reduced axis do not share? They run it one value at a time. */
static bool is_serial(const struct view *v, const struct access_view *s, int axis) {
    if (axis < 0 || !v->axis[axis].reduce || s->mask & v->axis[axis].ranges) return false;
    for (int i = 0; i < v->naxis; i++)
        if (!v->axis[i].grid && !v->axis[i].reduce && s->mask & v->axis[i].ranges) return true;
    return false;
}

static int64_t period_of(const struct view *v, const uop *n, int axis) {
    int64_t least = INT64_MAX;
    uint64_t known;
    if (!view_depends(v, n, axis)) return least;
    if (uop_memo_get(v->memo, n, &known)) return (int64_t)known;
    bool by = (n->op == OP_MOD || n->op == OP_IDIV) && uop_is_const(n->src[1]);
    if (by) least = n->src[1]->arg.i;
    for (uint32_t i = 0; i < n->nsrc; i++) {
        int64_t below = period_of(v, n->src[i], axis);
        least = RG_MIN(least, below);
    }
    return (int64_t)uop_memo_put(v->memo, n, (uint64_t)least);
}

/* The least constant that an index divides the axis by; INT64_MAX: none. */
static int64_t least_period(const struct view *v, const uop *index, int axis) {
    uop_memo_clear(v->memo);
    return period_of(v, index, axis);
}

/* The distance of neighbouring lanes along an axis; that within a period if it is long: joined loops over rows of 49. */
static int64_t lane_stride(const struct view *v, const struct access_view *s, int axis) {
    int64_t stride = access_stride(v, s, axis, 4);
    bool runs = stride == NO_STRIDE && least_period(v, s->index, axis) >= MIN_COOP;
    return runs ? access_stride(v, s, axis, 1) : stride;
}

/* Bytes of an access for each of consecutive lanes, in sectors; within a short period, and one sector more for each. */
static double lane_bytes(const struct view *v, const struct access_view *s, int axis) {
    int64_t stride = axis < 0 || is_serial(v, s, axis) ? NO_STRIDE : lane_stride(v, s, axis),
            period = INT64_MAX;
    double sector = SECTOR;
    if (axis >= 0 && stride == NO_STRIDE && !is_serial(v, s, axis)) period = least_period(v, s->index, axis);
    if (period < MIN_COOP)
        stride = access_stride(v, s, axis, 1), sector += SECTOR / (double)RG_MAX(period, 1);
    if (stride == NO_STRIDE) return SECTOR;
    double own = (double)(stride < 0 ? -stride : stride) * s->bytes + sector - SECTOR;
    return RG_MAX(RG_MIN(own, SECTOR), 1.0 / 8);
}

/* Accesses of one grid iteration. */
static double turns(const struct view *v, const struct access_view *s) {
    double n = 1;
    for (uint32_t i = 0; i < v->nrange; i++)
        if (s->mask >> i & 1 && v->range[i]->arg.range.kind != AX_GRID) n *= (double)v->range[i]->src[0]->hi;
    return n;
}

/* Loads of the same buffer along an axis: registers of the block may keep what the first has loaded. */
static double passes(const struct view *v, const struct access_view *s, int axis, double threads) {
    int n = 0;
    if (axis < 0 || s->store || v->axis[axis].most > threads * GPU_ROW_REGISTERS / 2) return 1;
    for (int i = 0; i < v->naccess; i++)
        n += !v->access[i].store && v->access[i].buf == s->buf && has_axis(v, v->access[i].mask, axis);
    return RG_MAX(n, 1);
}

/* Evaluations of an access; what other blocks have loaded counts a little. */
static double loads_of(const struct view *v, const struct access_view *s) {
    return RG_MAX(v->times[s->node->id], gpu_threads(v) * turns(v, s) / AGAIN);
}

/* Bytes of all accesses, in sectors, if consecutive lanes are consecutive along `along`, and these threads share the loop `axis` (-1: none). */
static double shared_traffic(const struct view *v, int axis, int along, double threads) {
    double sum = 0;
    for (int i = 0; i < v->naccess; i++) {
        const struct access_view *s = &v->access[i];
        sum += loads_of(v, s) * lane_bytes(v, s, along) / passes(v, s, axis, threads);
    }
    return sum;
}

double gpu_threads(const struct view *v) {
    double n = 1;
    for (int i = 0; i < v->naxis; i++)
        if (v->axis[i].grid) n *= v->axis[i].most;
    return n;
}

int gpu_inner_grid(const struct view *v) {
    int at = -1;
    for (int i = 0; i < v->naxis; i++)
        if (v->axis[i].grid && v->axis[i].most > 1) at = i;
    return at;
}

/* Elements of the innermost grid axis that fill a sector, for threads whose accesses do not coalesce; 1: none. */
static int sector_lanes(const struct view *v) {
    int inner = gpu_inner_grid(v), bytes = 0;
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

/* A cooperative loop. lanes: vector along the innermost grid axis, for sums along few columns; columns: neighbours along it that a
 * block has (COLUMNS), else 0. */
struct coop {
    int axis; /* -1: none */
    double cost;
    int lanes, columns;
};

/* The least number of columns whose loads fill sectors; 0: neighbouring grid iterations have no neighbouring elements, or there is a
 * loop that threads of columns cannot share. */
static int least_columns(const struct view *v) {
    int inner = gpu_inner_grid(v), bytes = 16;
    double near = 0, far = 0;
    if (inner < 0 || v->scans || v->reduces < 1 || v->reduces > MAX_COLUMN_SUMS || v->axis[inner].fixed)
        return 0;
    for (int i = 0; i < v->naccess; i++) {
        const struct access_view *s = &v->access[i];
        int64_t stride = lane_stride(v, s, inner);
        if (s->add) return 0;
        *(stride == 0 || stride == 1 ? &near : &far) += turns(v, s);
        if (stride == 1) bytes = RG_MIN(bytes, s->bytes);
    }
    if (far * RARE > near || bytes == 16) return 0;
    int n = RG_MIN((int)SECTOR / bytes, MOST_COLUMNS);
    for (n = RG_MAX(n, LEAST_COLUMNS); n < MOST_COLUMNS && v->axis[inner].most > 4 * n * v->gpu->sms;) n *= 2;
    return v->axis[inner].most >= n ? n : 0;
}

static bool is_same_pass(const struct view *v, int i, int axis);
static bool is_other_pass(const struct view *v, int i, int axis);

/* Does the access stand in a loop that threads share if they share `axis`? */
static bool is_shared(const struct view *v, const struct access_view *s, int axis) {
    for (int i = 0; i < v->naxis && axis >= 0; i++)
        if (has_axis(v, s->mask, i) && (is_same_pass(v, i, axis) || is_other_pass(v, i, axis))) return true;
    return false;
}

/* Bytes of all accesses as if each were as long as a GPU full of threads takes for it: the fewer threads share a loop, the longer they
 * wait for its loads. At least, where there are few, the terms of a thread. */
static double waiting(const struct view *v, int axis, double threads) {
    double sum = 0, terms = 0, n = gpu_threads(v), full = gpu_full_threads(v);
    for (int i = 0; i < v->naccess; i++) {
        double sharing = is_shared(v, &v->access[i], axis) ? threads : 1;
        sum += v->times[v->access[i].node->id] * v->access[i].bytes / RG_MIN(n * sharing / full, 1);
        terms = RG_MAX(terms, turns(v, &v->access[i]) / sharing);
    }
    if (v->est.bytes < (double)v->gpu->l2 / 2) sum *= IN_L2;
    return n * FEW_THREADS < full ? RG_MAX(sum, terms * gpu_cost.thread_term * v->gpu->bw * 1e9) : sum;
}

/* Bytes of the time that a block takes for reductions in loops around them, all but the first of each. */
static double reducing(const struct view *v, int axis) {
    double more = 0, n = gpu_threads(v);
    for (int i = 0; i < RG_MIN(v->reduces, (int)RG_COUNT(v->reduce)); i++) {
        const uop *r = v->reduce[i];
        double times = v->times[r->id] / n;
        int shared = v->naxis; /* the outermost axis that threads share */
        for (uint32_t k = 1; k < r->nsrc; k++) {
            int at = view_axis_of(v, r->src[k]);
            if (is_same_pass(v, at, axis) || is_other_pass(v, at, axis)) shared = RG_MIN(shared, at);
        }
        for (uint32_t k = 1; k < r->nsrc; k++)
            if (view_axis_of(v, r->src[k]) >= shared) times /= (double)r->src[k]->src[0]->hi;
        if (shared < v->naxis) more += RG_MAX(times - 1, 0);
    }
    return more * gpu_cost.block_reduction * v->gpu->bw * 1e9 * RG_MAX(n / v->gpu->sms / FEW_SUMS, 1);
}

/* What takes longer, and a part of the other: they hardly overlap where they are equal. */
static double longer(double a, double b) { return RG_MAX(a, b) + RG_MIN(a, b) / 8; }

static struct coop coop_axis(const struct view *v) {
    double n = gpu_threads(v), full = gpu_full_threads(v), all_bytes = 0;
    int wide = sector_lanes(v), columns = least_columns(v);
    struct coop best = {-1, longer(shared_traffic(v, -1, gpu_inner_grid(v), 1), waiting(v, -1, 1)), 1, 0};
    bool adds = false; /* scatter: STORE_ADD */
    if (wide * v->reduces > MAX_SUMS) wide = 1;
    for (int i = 0; i < v->naccess; i++)
        all_bytes += loads_of(v, &v->access[i]) * v->access[i].bytes, adds |= v->access[i].add;
    for (int i = 0; i < v->naxis; i++) {
        if (!is_shareable(v, &v->axis[i])) continue;
        double most = v->axis[i].most, more = reducing(v, i);
        double share = gpu_cost.coop_traffic * longer(shared_traffic(v, i, i, GPU_BLOCK_THREADS),
                                                      waiting(v, i, RG_MIN(most, GPU_BLOCK_THREADS)));
        if (share + more < best.cost) best = (struct coop){i, share + more, 1, 0};
        if (!v->axis[i].reduce && !adds) continue;
        double all = n * RG_MIN(most / 4, MAX_COOP);
        double down = gpu_cost.column_traffic * all_bytes / RG_MIN(all / wide / full, 1) + more;
        if (wide > 1 && down < best.cost) best = (struct coop){i, down, wide, 0};
        if (!columns || !v->axis[i].reduce) continue;
        share = longer(shared_traffic(v, i, gpu_inner_grid(v), GPU_BLOCK_THREADS / columns),
                       waiting(v, i, RG_MIN(most, GPU_BLOCK_THREADS / columns)));
        share = gpu_cost.coop_traffic * share + more;
        if (share < best.cost) best = (struct coop){i, share, 1, columns};
    }
    return best;
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
    while ((!flat || !v->reduces) && lanes > 2 && v->axis[axis].size > 0 && v->axis[axis].size % lanes)
        lanes /= 2;
    return v->axis[axis].size < 0 || v->axis[axis].size % lanes ? 1 : lanes;
}

/* .. or shorter, along joined loops over rows of 4 n or 2 n elements, which no longer vector divides. */
static int vector_width(const struct view *v, int axis, bool flat) {
    int n = vector_lanes(v, axis, flat, 16);
    for (int most = SHORT_VECTOR; n == 1 && !flat && most > 1; most /= 2)
        n = RG_MIN(vector_lanes(v, axis, flat, most), most);
    return n;
}

/* Elementwise rows of any length: ALIGN starts vectors at multiples of 16 bytes if most loads are contiguous too, or uniform. Width, of as
 * many threads as fill the GPU; else 1. */
static int unaligned_width(const struct view *v, int axis) {
    int bytes = 0, strided = 0, contiguous = 0, n;
    if (axis < 0 || v->scans || v->reduces || v->stages || v->axis[axis].fixed || v->axis[axis].members != 1)
        return 1;
    for (int i = 0; i < v->naccess; i++) {
        const struct access_view *s = &v->access[i];
        int64_t stride = access_stride(v, s, axis, 16);
        if (s->add || (s->store && (stride != 1 || s->pred || (bytes && bytes != s->bytes)))) return 1;
        if (s->store) bytes = s->bytes;
        strided += stride != 1 && stride != 0, contiguous += stride == 1;
    }
    if (!bytes || strided >= contiguous || v->axis[axis].size < 64) return 1;
    for (n = 16 / bytes; n > 2 && gpu_threads(v) / n < gpu_full_threads(v);) n /= 2;
    return gpu_threads(v) / n < gpu_full_threads(v) ? 1 : n;
}

/* .. of reductions whose rows have any length and start anywhere: loads of up to 2 bytes an element, all contiguous or uniform, are
 * unaligned vectors, the last with a predicate. 1: others. */
static int odd_width(const struct view *v, int axis) {
    int bytes = 0;
    if (!v->axis[axis].reduce || v->axis[axis].grid || v->axis[axis].scan || v->axis[axis].fixed) return 1;
    for (int i = 0; i < v->naccess; i++) {
        const struct access_view *s = &v->access[i];
        int64_t stride = access_stride(v, s, axis, 1);
        if (s->add || s->pred || (s->store && stride != 0) || (stride != 0 && stride != 1)) return 1;
        if (stride == 0) continue;
        if (bytes && bytes != s->bytes) return 1;
        bytes = s->bytes;
    }
    return bytes && (bytes <= 2 || gpu_threads(v) == 1) ? 16 / bytes : 1; /* one row is aligned */
}

/* Vector width of a cooperative loop: 16 bytes if enough iterations remain; else 1. */
static int coop_width(const struct view *v, int axis) {
    int n = vector_width(v, axis, false);
    if (n <= 2) n = RG_MAX(n, odd_width(v, axis));
    return n > 1 && v->axis[axis].most >= 16.0 * n ? n : 1;
}

/* Passes over one row may have axes of their own (a mean, then a variance): all are cooperative. */
static bool is_same_pass(const struct view *v, int i, int axis) {
    return i == axis || (is_shareable(v, &v->axis[i]) && v->axis[i].size == v->axis[axis].size);
}

/* A reduction beside the one along `axis`, not around or inside it: what is left of the blocks of a long sum. */
static bool is_other_pass(const struct view *v, int i, int axis) {
    if (i == axis || !is_shareable(v, &v->axis[i]) || !v->axis[i].reduce) return false;
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
static bool keeps_rows(const struct view *v, int axis, int columns) {
    const struct axis_view *a = &v->axis[axis];
    int lanes = columns ? 1 : coop_width(v, axis), threads = GPU_BLOCK_THREADS / RG_MAX(columns, 1);
    if (a->members < 2 || a->size < 0) return false;
    for (int i = 0; i < v->naxis; i++)
        if (!v->axis[i].grid && !is_same_pass(v, i, axis)) return false; /* one row per iteration */
    double each = ceil(a->most / lanes / threads) * lanes;
    if (columns && adds(v) && each > COLUMN_ADDS) return false;
    if (each > GPU_ROW_REGISTERS || (adds(v) && a->most / lanes > BLOCKED_SUM)) return false;
    int rows = row_registers(v, axis);
    return rows && rows * each <= (rows > 1 ? GPU_ROW_REGISTERS : LONE_ROW);
}

static bool is_legal(const struct view *v, const struct str *s);

/* Short rows that no aligned vectors fit: a block has several, so that enough loads are in flight. */
static void tile_rows_of_block(struct view *v, int axis, struct str *out) {
    int inner = gpu_inner_grid(v), width = coop_width(v, axis);
    if (inner < 0 || v->axis[inner].fixed || v->axis[axis].most > SHORT_COOP) return;
    if (width > 1 && v->axis[axis].size % width == 0) return;
    for (int n = SEVERAL; n > 1; n--) {
        bool many = gpu_threads(v) / n >= MANY_ROWS * v->gpu->sms;
        if (gpu_tile_size(v->axis[inner].size, n) != n || !many) continue;
        gpu_tile_axis(v, inner, n, "REG", out);
        return;
    }
}

/* Cooperative loops, vectorized by 16 bytes if enough iterations remain; unrolled instead if there are many accumulators and vectors
 * are aligned. */
static void write_coop(struct view *v, int axis, bool keep, bool several, struct str *out) {
    int sums = keep ? 1 : gpu_skinny_tile(v, out);
    if (several && !out->n) tile_rows_of_block(v, axis, out);
    if (keep) str_printf(out, " RESIDENT(%s,loads)", v->axis[axis].name);
    for (int i = 0; i < v->naxis; i++) {
        const char *name = v->axis[i].name;
        if (!is_same_pass(v, i, axis) && !is_other_pass(v, i, axis)) continue;
        int n = coop_width(v, i);
        bool aligned = v->axis[i].size % n == 0;
        if (n > 1 && (aligned || sums == 1)) {
            const char *inner = view_new_axis(v, name, "v");
            str_printf(out, " TILE(%s,%d,%s) %s(%s)", name, n, inner,
                       aligned && sums > MANY_SUMS ? "UNROLL" : "VEC", inner);
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

/* The first of these that is legal: with rows kept and several of them in a block, .. */
static void write_coop_rows(struct view *v, int axis, struct str *out) {
    for (int keep = keeps_rows(v, axis, 0); keep >= 0; keep--)
        for (int several = v->reduces * SEVERAL <= MAX_SUMS; several >= 0; several--) {
            out->n = 0;
            write_coop(v, axis, keep, several, out);
            if (is_legal(v, out) && v->refused-- <= 0) return;
        }
    out->n = 0;
    write_coop_scalar(v, axis, out);
}

/* Rows of columns: those of a block are neighbours, read row by row. With rows kept, if that is legal. */
static void write_columns(struct view *v, int axis, int columns, struct str *out) {
    int most = columns; /* fewer have more threads each, whose registers hold more */
    while (most > LEAST_COLUMNS && v->axis[axis].members > 1 && !keeps_rows(v, axis, most)) most /= 2;
    bool kept = keeps_rows(v, axis, most);
    for (int keep = kept; keep >= 0; keep--) {
        out->n = 0;
        if (keep) str_printf(out, " RESIDENT(%s,loads)", v->axis[axis].name);
        write_coop_scalar(v, axis, out);
        str_printf(out, " COLUMNS(%d)", kept ? most : columns);
        if (is_legal(v, out) && v->refused-- <= 0) return;
    }
    write_coop_rows(v, axis, out);
}

/* A block scan: unrolled by 32 bytes of the narrowest contiguous type, 64 of the widest; a row of 4-byte elements that this does not
 * divide by 16 bytes, one by one. Not where the running value decays, whose threads combine an element each. */
static void write_coop_scan(struct view *v, int axis, struct str *out) {
    int least = 16, most = 1;
    for (int i = 0; i < v->naccess; i++) {
        if (access_stride(v, &v->access[i], axis, 4) != 1 || v->access[i].pred) continue;
        least = RG_MIN(least, v->access[i].bytes), most = RG_MAX(most, v->access[i].bytes);
    }
    int n = v->axis[axis].decays ? 1 : RG_MIN(RG_MIN(32 / least, 64 / most), MAX_SCANNED);
    int any = least == 4 && most == 4 ? RG_MIN(n, 4) : 1; /* of a row of any length */
    while (n > 1 && ((n > any && v->axis[axis].size % n) || v->axis[axis].most < 16.0 * n)) n /= 2;
    const char *name = v->axis[axis].name, *inner = view_new_axis(v, name, "u");
    if (n > 1) str_printf(out, " TILE(%s,%d,%s) UNROLL(%s)", name, n, inner, inner);
    str_printf(out, " COOP(%s)", name);
}

/* Grid too large: a thread runs several values of the largest axis. */
static void shrink_grid(struct view *v, struct str *out) {
    int at = -1;
    for (int i = 0; i < v->naxis; i++)
        if (v->axis[i].grid && (at < 0 || v->axis[i].most > v->axis[at].most)) at = i;
    const char *inner = view_new_axis(v, v->axis[at].name, "l");
    str_printf(out, " TILE(%s,%d,%s)", v->axis[at].name, (int)(gpu_threads(v) / MAX_GRID) + 1, inner);
}

static void write_coop_columns(struct view *v, int axis, int lanes, struct str *out) {
    int inner = gpu_inner_grid(v);
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
    while (n < lanes && gpu_threads(v) / n > early_threads(v)) n *= 2;
    return n;
}

/* A thread per short row: unrolled, so that it is loaded once, in vectors, and kept in registers. */
static void write_short_rows(struct view *v, struct str *out) {
    double all = 0;
    bool rows = false;
    if (!v->reduces || v->scans || v->stages || gpu_threads(v) < gpu_full_threads(v)) return;
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

static bool has_quotient(const struct view *v, const uop *n, int axis) {
    uint64_t known;
    if (!view_depends(v, n, axis) || n->op == OP_LOAD || uop_memo_get(v->memo, n, &known)) return false;
    if (n->op == OP_IDIV && uop_is_const(n->src[1]) && view_depends(v, n->src[0], axis)) return true;
    for (uint32_t i = 0; i < n->nsrc; i++)
        if (has_quotient(v, n->src[i], axis)) return true;
    return uop_memo_put(v->memo, n, 0);
}

/* Is an index a quotient of the axis, by a constant? Not one that is read from memory. */
static bool is_quotient(const struct view *v, const uop *index, int axis) {
    uop_memo_clear(v->memo);
    return has_quotient(v, index, axis);
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
    int inner = gpu_inner_grid(v), n = inner < 0 || v->axis[inner].fixed ? 0 : stored_width(v, inner);
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
    if (n < 2 || gpu_threads(v) / (double)(n * whole) < gpu_full_threads(v)) return;
    for (int i = 0; i < v->naxis; i++)
        if (!v->axis[i].grid) str_printf(out, " UNROLL(%s)", v->axis[i].name);
    if (whole > 1) str_printf(out, " REG(%s)", v->axis[inner].name);
    gpu_tile_axis(v, axis, n, "REG", out);
    if (!is_legal(v, out)) out->n = 0;
}

static bool is_legal(const struct view *v, const struct str *s) { return s->n && view_legal(v, s->p + 1); }

/* The axis of which a thread has several values: the innermost outside of a warp's lanes that a tile fits. -1: there is none. */
static int axis_of_several(const struct view *v, int inner, int n) {
    double inside = 1;
    for (int i = inner; i >= 0; inside *= v->axis[i].most, i--)
        if (v->axis[i].grid && !v->axis[i].fixed && inside >= MIN_COOP &&
            gpu_tile_size(v->axis[i].size, n) > 1)
            return i;
    return -1;
}

/* Elementwise values, short sums and copies that no vector fits: a thread has several, whose loads do not wait for each other: rows,
 * which share what their indices have in common, or strips where it has few loads without them. */
static void write_several(struct view *v, int inner, struct str *out) {
    int n = gpu_threads(v) < 2 * SEVERAL * gpu_full_threads(v) ? SEVERAL / 2 : SEVERAL, longest = inner;
    size_t before = out->n;
    double terms = 1;
    if (inner < 0 || v->scans || v->stages || gpu_threads(v) < SEVERAL * gpu_full_threads(v)) return;
    for (int i = 0; i < v->naxis; i++) {
        if (!v->axis[i].grid && v->axis[i].most > SHORT_ROW) return;
        if (!v->axis[i].grid) terms *= v->axis[i].most;
        if (v->axis[i].grid && v->axis[i].most > v->axis[longest].most) longest = i;
    }
    int around = axis_of_several(v, inner, n);
    if (around >= 0)
        gpu_tile_axis(v, around, gpu_tile_size(v->axis[around].size, n), "REG", out);
    else if (v->axis[longest].size >= MIN_STRIPS && !v->axis[longest].fixed && terms <= SEVERAL)
        gpu_strips(v, longest, n, out);
    if (out->n > before && !is_legal(v, out)) out->n = before, out->p[before] = 0;
}

/* Contiguous elements of a thread along the innermost axis, aligned or of rows of any length; false: no vector fits. */
static bool write_vector(struct view *v, int inner, struct str *out) {
    int lanes = vector_width(v, inner, true), odd = unaligned_width(v, inner);
    const char *axis = inner < 0 ? "" : v->axis[inner].name, *name = view_new_axis(v, axis, "v");
    int few = lanes > 1 ? splitk_reduce_width(v, lanes) : 1;
    while (lanes > 2 && few == 1 && gpu_threads(v) / lanes < gpu_full_threads(v)) lanes /= 2;
    if (lanes > 1 && gpu_threads(v) / lanes < gpu_full_threads(v)) lanes = few;
    if (lanes > 1 && lanes >= odd) {
        str_printf(out, " TILE(%s,%d,%s) VEC(%s)", axis, lanes, name, name);
        return true;
    }
    if (odd > 1) {
        str_printf(out, " ALIGN(%s,%d) TILE(%s,%d,%s) VEC(%s)", axis, odd, axis, odd, name, name);
        if (!is_legal(v, out)) out->n = 0;
    }
    return out->n > 0;
}

static const char *choose(struct view *v) {
    struct str s;
    struct coop coop = coop_axis(v);
    int axis = coop.axis, inner = gpu_inner_grid(v);
    str_init(&s, v->arena);
    if (axis < 0 && gpu_threads(v) <= MAX_GRID) {
        const char *tile = gpu_register_tile(v);
        if (*tile) return tile;
    }
    if (axis >= 0 && v->axis[axis].scan) {
        write_coop_scan(v, axis, &s);
    } else if (axis >= 0 && coop.lanes > 1) {
        write_coop_columns(v, axis, coop.lanes, &s);
    } else if (axis >= 0 && coop.columns) {
        write_columns(v, axis, coop.columns, &s);
    } else if (axis >= 0) {
        write_coop_rows(v, axis, &s);
    } else if (!write_vector(v, inner, &s)) {
        write_gather(v, &s);
        if (!s.n) write_short_rows(v, &s), write_several(v, inner, &s);
    }
    if (gpu_threads(v) / (s.n ? vector_width(v, inner, true) : 1) > MAX_GRID) shrink_grid(v, &s);
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
    const uop *x = gpu_product(v);
    int inner = gpu_inner_grid(v);
    struct coop before = coop_axis(v);
    int coop = before.axis;
    bool rows = before.lanes == 1 && !before.columns;
    if (x && inner >= 0 && gpu_reuses(v, x, inner) && 4 * gpu_threads(v) >= gpu_full_threads(v))
        return NULL; /* a window or a tile */
    for (int i = 0; i + 1 < v->naxis; i++) {
        const struct axis_view *a = &v->axis[i], *b = &v->axis[i + 1];
        if (a->grid || b->grid || a->scan || b->scan || a->fixed || b->fixed || a->members < b->members)
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
        bool around = coop == i + 1 && rows && a->reduce == b->reduce && *cost > 0;
        if (!gpu_view(&joined, v->ir, &k, v->gpu)) continue;
        struct coop now = coop_axis(&joined);
        bool pass = coop >= 0 && coop != i && coop != i + 1 && a->reduce && b->reduce && rows &&
                    a->size * b->size == v->axis[coop].size;
        if (now.axis < 0) continue;
        if (around || pass ? now.cost > JOINED_SUM * *cost || now.lanes > 1 : now.cost >= *cost) continue;
        *cost = RG_MIN(*cost, now.cost), *sink = s.sink;
        return text;
    }
    return NULL;
}

/* Sums, of products too, whose loads and stores are contiguous along different axes: an ORDER that makes another grid axis the innermost
 * and halves the traffic; the view is reordered too. "" if there is none. */
static const char *order_of(struct view *v, double cost) {
    int inner = gpu_inner_grid(v);
    if (v->reduces < 1 || v->scans || v->stages || inner < 0) return "";
    for (int i = 0; i < inner; i++) {
        struct axis_view a = v->axis[i], b = v->axis[inner];
        if (!a.grid || a.fixed || b.fixed || a.most < MIN_COOP) continue;
        v->axis[i] = b, v->axis[inner] = a;
        if (coop_axis(v).cost < cost / 2) return arena_printf(v->arena, "ORDER(%s,%s) ", b.name, a.name);
        v->axis[i] = a, v->axis[inner] = b;
    }
    return "";
}

/* What `choose_tiles` (gpu_gemm, gpu_attention) finds after view_digits; "" if nothing. */
static const char *tiles_of_digits(struct view *v, const char *(*choose_tiles)(struct view *)) {
    const char *outer, *inner, *digits = gpu_product(v) ? view_digits(v, &outer, &inner) : NULL;
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

static void write_list(struct ir *ir, const struct kernel *k, const struct gpu_spec *gpu, int refused,
                       char *text) {
    struct view *v = arena_new(ir->arena, struct view);
    struct kernel now = *k;
    struct str joins;
    str_init(&joins, ir->arena);
    if (!gpu_view(v, ir, &now, gpu)) return;
    double seconds = 0;
    const char *tiled = gpu->cc ? gpu_skinny_gemm(v, &seconds) : "",
               *tiles = seconds > 0 ? gpu_gemm_below(v, seconds) : "";
    if (*tiles) tiled = tiles;
    if (gpu->cc && !*tiled) tiled = gpu_conv(v);
    if (gpu->cc && !*tiled) tiled = gpu_gemm(v);
    if (gpu->cc && !*tiled) tiled = tiles_of_digits(v, gpu_gemm);
    if (gpu->cc && !*tiled) tiled = gpu_attention(v);
    if (gpu->cc && !*tiled && v->stages) tiled = tiles_of_digits(v, gpu_attention);
    if (gpu->cc && !*tiled) tiled = gpu_transpose(v);
    if (!*tiled) tiled = gpu_long_contraction(v);
    if (gpu->cc && !*tiled) tiled = gpu_column_sums(v);
    if (*tiled) {
        snprintf(text, CHOOSE_TEXT, "%s", tiled);
        return;
    }
    double cost = coop_axis(v).cost;
    const char *order = order_of(v, cost);
    v->refused = refused;
    if (*order) {
        snprintf(text, CHOOSE_TEXT, "%s%s", order, choose(v));
        if (!opts_legal(ir, k, text, gpu, NULL)) *text = 0;
        return;
    }
    for (const char *join; (join = join_of(v, &cost, &now.sink));) {
        str_printf(&joins, "%s ", join);
        if (!gpu_view(v, ir, &now, gpu)) return;
    }
    v->refused = refused;
    const char *list = choose(v), *few = gpu_few_sums(v, *list);
    if (*few) list = few;
    snprintf(text, CHOOSE_TEXT, "%s%s", joins.n ? joins.p : "", list);
    if (joins.n && !opts_legal(ir, k, text, gpu, NULL)) *text = 0;
}

const char *opts_heuristic_gpu_after(struct ir *ir, const struct kernel *k, const struct gpu_spec *gpu,
                                     int refused) {
    char text[CHOOSE_TEXT] = "";
    write_list(ir, k, gpu, refused, text); /* nodes of a JOIN stay */
    return arena_strdup(ir->arena, text, strlen(text));
}

const char *opts_heuristic_gpu(struct ir *ir, const struct kernel *k, const struct gpu_spec *gpu) {
    return opts_heuristic_gpu_after(ir, k, gpu, 0);
}

void opts_configs_gpu(struct ir *ir, const struct kernel *k, const struct gpu_spec *gpu,
                      const struct model *model, const char *like, uint32_t best, uint32_t more,
                      gpu_lists *out) {
    struct view *v = arena_new(ir->arena, struct view);
    *out = (gpu_lists){0};
    if (gpu->cc && gpu_view(v, ir, k, gpu)) gpu_gemm_configs(v, model, like, best, more, out);
}
