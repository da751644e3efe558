/* gpu_gemm.c: opt lists of a GPU for contractions (GEMM, batched, transposed; convolutions as implicit GEMM): blocks with
 * tiles in shared memory.
 *
 * GEMM. Output axes that only A has are joined to m, those that only B has to n, reduced axes to k; operands that are not
 * affine in these (images of a convolution) are gathered. A block computes a tile of m x n, each warp or warpgroup a part
 * of it: wgmma or mma.sync for 16-bit and 8-bit floats (with RIDGE_TF32=1 for f32), mma.sync for f64 from sm_90 on and for 8-bit
 * integers, else FMAs. The k loop is a multistage pipeline. A config is a tile, a number of stages, a rasterization and a schedule
 * (persistent, warp-specialized, split-K in a cluster). All legal ones are priced by gpu_time.c; the heuristic
 * takes the cheapest, search tries more.
 * Tests: tests/unit/gpu_threads.c, tests/unit/cuda.c, tests/unit/tune_gpu.c */
#include "tune/choose/choose.h"
#include "tune/choose/gpu_gemm_tiles.h"

#include <math.h>
#include <stdlib.h>

#define MBARRIER_BYTES 1024        /* shared memory of a warp-specialized kernel for mbarriers */
#define MAX_CONSUMERS 3            /* consumer warpgroups of a block .. */
#define CONSUMERS3_ACCUMULATORS 96 /* .. and registers for accumulators if there are three: 160 in all */
#define MAX_ACCUMULATORS 192       /* registers per thread for accumulators, those of a promotion included */
#define EPILOGUE_BUFFER 8192       /* bytes of shared memory through which a consumer warpgroup stores .. */
#define EPILOGUE_UNALIGNED 1024    /* .. and more if rows of the output are not 16-byte aligned */
#define MIN_CLUSTER_K 512          /* terms that a block of a split-K cluster should have */
#define LINE_OVERFETCH 1.5         /* bytes fetched / used, if rows do not begin at 128-byte lines */
#define SHARED_FETCH 0.25          /* share of L2 requests that neighbouring blocks have in common */
#define GATHER_ISSUE_TRANSPOSED 75 /* instructions per f32 of an unaligned row that is transposed */
#define STAGING_OVERHEAD 12 /* registers besides the elements that pass through them on the way to a tile */
#define SPILL_SLACK 24      /* registers over the limit that the compiler may still avoid spilling */
#define WGMMA_K 192         /* terms of k of a GEMM by wgmma; fewer .. */
#define WGMMA_SHORT_K 128   /* .. or 64, if there are this many .. */
#define SHORT_K_TILES 512   /* .. tiles of 128 x 128: loads of the next one hide the latency */
#define MIN_SIDE 32         /* rows and columns of a tiled GEMM .. */
#define MIN_SIDE_LONG 16    /* .. of a convolution by FMAs, or if a thread would load LONG_K terms .. */
#define MIN_SIDE_MMA 8      /* .. and of one by MMA instructions, padded to a tile; .. */
#define MIN_SIDE_WINDOWS 3  /* .. of a convolution; */
#define MIN_SIDE_NARROW 3   /* .. where that takes less than a skinny one, .. */
#define NARROW_K 32    /* .. or with 32 terms: 10^6 x 33 x 9 126 us, by threads 292; of 16 terms 111, 80 .. */
#define NARROW_TILE 64 /* .. and 64 rows for every SM */
enum { MAX_JOINED = 8, MAX_CONFIGS = 2048, LONG_K = 128 };

/* Axes joined to m, n or k, outermost first. */
struct joined_axes {
    int axis[MAX_JOINED], n;
    double size;
    const char *name; /* of the joined axis */
};

struct gemm_config {
    struct gemm_tile t;
    int stages;      /* of the pipeline; 0: default */
    int raster;      /* rasterization: tiles along m that run together; 0: 2048 rows, 1: row-major */
    int consumers;   /* warp-specialized: consumer groups, 2 is ping-pong; 0: not specialized */
    bool persistent; /* one block per SM walks over the tiles */
    int cluster;     /* blocks of a split-K cluster (cluster_splitk.c), or 1 */
};

struct gemm {
    struct view *v;
    struct contraction c;
    struct joined_axes m, n, k;
    struct gemm_config f; /* the config at hand */
    bool mma, tf32, wgmma;
    bool i8;           /* 8-bit integers: mma.sync, K-major tiles */
    bool f64;          /* by FMAs, at half the rate and with two registers for each accumulator */
    bool promote;      /* fp8: the accumulators of each k tile, which are short, are added to f32 registers */
    const char *instr; /* operand type in the names of mma.def */
    int k_step;        /* k of an MMA instruction */
    bool tma;          /* both operands can be loaded by TMA .. */
    int64_t run[3];    /* .. by tiles that divide these many of m, n, k; 0: any */
    int epilogue_ops;  /* instructions per output element after the sum */
    bool tma_source;   /* of the output's layout, read by the epilogue: loaded by TMA (warp_specialize.c) */
    bool epilogue_loads; /* it reads more, per element */
    bool gathered[2];    /* operands that have neither a stride along k nor along m or n */
    bool unaligned_out;  /* rows of the output are not 16-byte aligned */
    int elem_bytes;      /* of an operand in shared memory */
    struct str *out;
};

/* ---- axes ---------------------------------------------------------------------------------------------------- */

static bool add_axis(const struct view *v, struct joined_axes *g, int axis) {
    if (g->n == MAX_JOINED || v->axis[axis].size < 0 || v->axis[axis].fixed || v->axis[axis].members != 1)
        return false;
    g->axis[g->n++] = axis;
    return true;
}

/* JOIN takes an outer and an inner axis: loop order. */
static void sort_axes(const struct view *v, struct joined_axes *g) {
    g->size = 1;
    for (int i = 0; i < g->n; i++) g->size *= (double)v->axis[g->axis[i]].size;
    for (int i = 1; i < g->n; i++)
        for (int k = i; k > 0 && g->axis[k] < g->axis[k - 1]; k--) {
            int t = g->axis[k];
            g->axis[k] = g->axis[k - 1], g->axis[k - 1] = t;
        }
}

static bool find_axes(struct gemm *x) {
    const struct view *v = x->v;
    for (int i = 0; i < v->naxis; i++) {
        const struct axis_view *a = &v->axis[i];
        bool in_a = has_axis(v, x->c.a.mask, i), in_b = has_axis(v, x->c.b.mask, i);
        if (a->most <= 1) continue;
        if (a->reduce ? !add_axis(v, &x->k, i)
                      : a->grid && in_a != in_b && !add_axis(v, in_a ? &x->m : &x->n, i))
            return false;
        if (a->scan || (!a->grid && !a->reduce)) return false;
    }
    sort_axes(v, &x->m), sort_axes(v, &x->n), sort_axes(v, &x->k);
    return x->m.n && x->n.n && x->k.n;
}

static const char *new_axis(struct gemm *x, const char *base) { return view_new_axis(x->v, base, "t"); }

static void join(struct gemm *x, struct joined_axes *g) {
    g->name = x->v->axis[g->axis[0]].name;
    for (int i = 1; i < g->n; i++) {
        const char *both = arena_printf(x->v->arena, "%s_%s", g->name, x->v->axis[g->axis[i]].name);
        str_printf(x->out, " JOIN(%s,%s,%s)", g->name, x->v->axis[g->axis[i]].name, both);
        g->name = both;
    }
}

/* ---- tiles ---------------------------------------------------------------------------------------------------- */

static const struct gemm_tile *tiles_of(const struct gemm *x, size_t *n) {
    *n = x->wgmma ? RG_COUNT(wgmma_tiles) : x->mma ? RG_COUNT(mma_sync_tiles) : RG_COUNT(fma_tiles);
    return x->wgmma ? wgmma_tiles : x->mma ? mma_sync_tiles : fma_tiles;
}

/* Terms of k per block. */
static double block_k(const struct gemm *x) { return x->k.size / RG_MAX(x->f.cluster, 1); }

/* Split-K in a cluster: every block has whole k tiles and 128-byte columns of its own to store. */
static bool fits_cluster(const struct gemm *x) {
    int c = x->f.cluster, columns = x->f.t.n * x->c.store->bytes / 128;
    return c <= 1 || ((int64_t)x->k.size % ((int64_t)c * x->f.t.k) == 0 && columns % c == 0 &&
                      block_k(x) >= MIN_CLUSTER_K && !x->tma_source && !x->epilogue_loads && !x->promote);
}

/* Is all of k in one tile, of 128-byte rows? The pipeline is one of output tiles then. */
static bool has_one_k_tile(const struct gemm *x) {
    return x->wgmma && x->f.persistent && x->elem_bytes == 2 && x->f.t.k == 64 && x->k.size == 64;
}

/* Shortens the tile along k for a short sum; false: k is too short. */
static bool fit_k(struct gemm *x) {
    if (x->wgmma || x->i8)
        x->f.t.k = x->f.t.k * 2 / x->elem_bytes; /* 128-byte rows; the tables count 16-bit elements */
    int least = x->i8 || (x->mma && x->elem_bytes == 2) ? 1 : 2;
    while (x->f.t.k > least * x->k_step && x->k.size < 2.0 * x->f.t.k && !x->wgmma) x->f.t.k /= 2;
    if (x->mma && !x->wgmma && x->elem_bytes > 2) x->f.t.k = RG_MIN(x->f.t.k, 128 / x->elem_bytes);
    bool padded = least == 1 && !x->i8 && x->f.t.k == x->k_step && block_k(x) > x->f.t.k;
    return (block_k(x) >= 2.0 * x->f.t.k || padded || has_one_k_tile(x)) && fits_cluster(x);
}

/* Independent GEMMs. */
static double batch_of(const struct gemm *x) {
    double n = 1;
    for (int i = 0; i < x->v->naxis; i++)
        if (x->v->axis[i].grid && has_axis(x->v, x->c.a.mask, i) && has_axis(x->v, x->c.b.mask, i))
            n *= x->v->axis[i].most;
    return n;
}

/* Levels that an axis is tiled into, outermost first, each with the opt for it. */
struct axis_split {
    const char *name[4], *kind[4];
    int size[4], n;
};

static void add_level(struct axis_split *p, int size, const char *kind) {
    if (size <= 1) return;
    p->size[p->n] = size, p->kind[p->n++] = kind;
}

/* Rows padded to 16 bytes (a padded copy) are read to their end, so that no 16-byte copy is partial. 0: not padded. */
static int row_padding(const struct gemm *x, const struct operand_view *s, const struct joined_axes *own) {
    int64_t lanes = 16 / s->access->bytes, pitch = stride_of(x->v, s->access, x->k.axis[x->k.n - 1]);
    bool whole =
        stride_of(x->v, s->access, own->axis[own->n - 1]) == 1 && pitch != INT64_MAX && pitch % lanes == 0;
    return whole && (int64_t)own->size % lanes ? (int)lanes : 0;
}

/* Tiles `name` by the levels; what is left of it is the grid's, or the k loop. */
static void split_axis(struct gemm *x, const char *name, double size, struct axis_split *p) {
    int all = 1;
    for (int i = 0; i < p->n; i++) all *= p->size[i];
    if (size < all) str_printf(x->out, " PADTO(%s,%d)", name, all);
    const char *from = name;
    for (int i = 0; i < p->n; i++) {
        p->name[i] = new_axis(x, from);
        if (!strcmp(p->name[i], from)) p->name[i] = arena_printf(x->v->arena, "%s_", from);
        str_printf(x->out, " TILE(%s,%d,%s)", from, all, p->name[i]);
        from = p->name[i];
        all /= p->size[i];
    }
}

static const char *tile_dim(struct gemm *x, const struct axis_split *p) {
    struct str s;
    str_init(&s, x->v->arena);
    for (int i = 0; i < p->n; i++) str_printf(&s, "%s%s", i ? "+" : "", p->name[i]);
    return s.p;
}

static void write_kinds(struct gemm *x, const struct axis_split *p) {
    for (int i = 0; i < p->n; i++)
        if (strcmp(p->kind[i], "TC")) str_printf(x->out, " %s(%s)", p->kind[i], p->name[i]);
}

/* Order of THREAD axes: warps, then lanes. */
static void order_threads(struct gemm *x, const struct axis_split *m, const struct axis_split *n) {
    const char *name[8];
    int k = 0;
    for (int level = 0; level < 2; level++)
        for (int side = 0; side < 2; side++) {
            const struct axis_split *p = side ? n : m;
            bool warp = p->n && !strcmp(p->kind[0], "THREAD") && (side ? x->f.t.wn : x->f.t.wm) > 1;
            if (level == 0 && warp) name[k++] = p->name[0];
            for (int i = warp; i < p->n && level == 1; i++)
                if (!strcmp(p->kind[i], "THREAD")) name[k++] = p->name[i];
        }
    if (k < 2) return;
    str_add(x->out, " ORDER(");
    for (int i = 0; i < k; i++) str_printf(x->out, "%s%s", i ? "," : "", name[i]);
    str_add(x->out, ")");
}

/* Has the innermost of the axes stride 1? */
static bool is_contiguous(const struct gemm *x, const struct access_view *s, const struct joined_axes *g) {
    return stride_of(x->v, s, g->axis[g->n - 1]) == 1;
}

/* Do the joined axes have one stride? */
static bool is_collapsible(const struct gemm *x, const struct access_view *s, const struct joined_axes *g) {
    int64_t stride = stride_of(x->v, s, g->axis[g->n - 1]);
    for (int i = g->n - 1; i > 0; i--) {
        if (stride == INT64_MAX) return false;
        stride *= x->v->axis[g->axis[i]].size;
        if (stride_of(x->v, s, g->axis[i - 1]) != stride) return false;
    }
    return true;
}

/* Neither a stride along k nor along its own axis: pixels of a convolution, a halo. */
static bool is_gathered(const struct gemm *x, const struct operand_view *s, const struct joined_axes *own) {
    return s->access->pred || !is_collapsible(x, s->access, &x->k) || !is_collapsible(x, s->access, own) ||
           (!is_contiguous(x, s->access, &x->k) && !is_contiguous(x, s->access, own));
}

/* Positions along joined axes that are one stride apart: those of the innermost axis (of an image, of a head); 0: all. */
static int64_t run_of(const struct gemm *x, const struct access_view *s, const struct joined_axes *g) {
    return is_collapsible(x, s, g) ? 0 : x->v->axis[g->axis[g->n - 1]].size;
}

static void find_runs(struct gemm *x) {
    x->run[0] = run_of(x, x->c.a.access, &x->m), x->run[1] = run_of(x, x->c.b.access, &x->n);
    x->run[2] = RG_MAX(run_of(x, x->c.a.access, &x->k), run_of(x, x->c.b.access, &x->k));
}

static bool fits_runs(const struct gemm *x) {
    const int tile[] = {x->f.t.m, x->f.t.n, x->f.t.k};
    for (int i = 0; i < 3; i++)
        if (x->run[i] && x->run[i] % tile[i]) return false;
    return true;
}

/* The buffer is also the other operand, or one of the epilogue: the tile must name its loads. */
static bool has_other_reads(const struct gemm *x, const struct access_view *access) {
    for (int i = 0; i < x->v->naccess; i++)
        if (&x->v->access[i] != access && x->v->access[i].buf == access->buf) return true;
    return false;
}

/* The operand's tile, K-major or MN-major, loaded by 16 bytes where it is contiguous. */
static void stage(struct gemm *x, const struct operand_view *s, const struct joined_axes *own, const char *at,
                  const struct axis_split *side, const struct axis_split *k) {
    const char *name = access_name(x->v, s->access);
    if (has_other_reads(x, s->access)) name = arena_printf(x->v->arena, "%s#%d", name, s == &x->c.b);
    bool along_k = is_contiguous(x, s->access, &x->k),
         along_own = !along_k && is_contiguous(x, s->access, own);
    bool rows = x->mma && (along_k || x->tf32 || x->i8 || !along_own); /* [side][k]; else [k][side] */
    const char *a = tile_dim(x, side), *b = tile_dim(x, k);
    str_printf(x->out, " STAGE(%s,%s,%s,%s)", name, at, rows ? a : b, rows ? b : a);
    if (x->f.consumers) return; /* by TMA */
    int lanes = 16 / s->access->bytes, len = along_k ? x->f.t.k : own == &x->m ? x->f.t.m : x->f.t.n;
    if ((!along_k && !along_own) || s->access->pred || len % lanes) return;
    const char *copy = along_k ? k->name[0] : side->name[0], *vec = arena_printf(x->v->arena, "%s_v", name);
    str_printf(x->out, " TILE(%s.%s,%d,%s) VEC(%s)", name, copy, lanes, vec, vec);
}

static int64_t padded_stage_bytes(const struct gemm *x) {
    return (int64_t)(x->f.t.m + x->f.t.n + 16) * (x->f.t.k + 8) * x->elem_bytes;
}

/* Tiles along m that are visited before the next along n, for L2 reuse; 1: row-major. */
static int raster_of(const struct gemm *x) {
    int64_t rows = ceil_div((int64_t)x->m.size, x->f.t.m),
            n = x->f.raster ? x->f.raster : RG_MAX(2048 / x->f.t.m, 4);
    while (n > 1 && rows % n) n--;
    return !x->wgmma || n < 4 || n == rows || has_one_k_tile(x) ? 1 : (int)n;
}

static void write_raster(struct gemm *x) {
    int n = raster_of(x);
    if (n == 1) return;
    const char *near = view_new_axis(x->v, x->m.name, "near");
    str_printf(x->out, " TILE(%s,%d,%s) GRID(%s) ORDER(%s,%s,%s)", x->m.name, n, near, near, x->m.name,
               x->n.name, near);
}

static int64_t stage_bytes(const struct gemm *x) {
    return x->wgmma ? (int64_t)(x->f.t.m + x->f.t.n) * x->f.t.k * x->elem_bytes : padded_stage_bytes(x);
}

/* Panels of 64 rows x 128 bytes that a warpgroup stores. */
static int panels_of(const struct gemm *x) {
    const struct gemm_tile *t = &x->f.t;
    return RG_MAX(t->m / t->wm / 64, 1) * RG_MAX(t->n * x->c.store->bytes / 128, 1);
}

/* Epilogue buffers per warpgroup, at least: a source tensor comes through them, one while another is stored. */
static int least_buffers(const struct gemm *x) { return x->tma_source ? RG_MIN(panels_of(x), 2) : 1; }

/* Shared memory of a warp-specialized kernel besides the pipeline, with n epilogue buffers per warpgroup. */
static int64_t specialized_bytes(const struct gemm *x, int buffers) {
    int64_t each =
        (int64_t)buffers * EPILOGUE_BUFFER + (x->unaligned_out && buffers ? EPILOGUE_UNALIGNED : 0);
    return x->f.consumers ? MBARRIER_BYTES + each * x->f.consumers * x->f.t.wm : 0;
}

static int stages_of(const struct gemm *x) {
    int n = x->f.stages ? x->f.stages : x->wgmma ? 6 : x->mma && x->f.t.k <= 32 ? 4 : 3;
    int64_t room = (x->v->gpu->smem_block - specialized_bytes(x, least_buffers(x))) /
                   (x->f.stages ? 1 : x->f.t.occupancy);
    while (n > 1 && n * stage_bytes(x) > room) n--;
    return n;
}

/* Accumulators of a thread. */
static int accumulators_of(const struct gemm *x) { return x->f.t.m * x->f.t.n / RG_MAX(x->f.t.wm, 1) / 128; }

/* n of a wgmma: the tile's, or half of it, to have registers for a promotion. */
static int wgmma_n(const struct gemm *x) {
    int n = x->f.t.n;
    return x->promote && accumulators_of(x) + n / 2 > MAX_ACCUMULATORS && n % 128 == 0 ? n / 2 : n;
}

/* The levels of m, n and k: warps, registers, the MMA instruction or the lanes of a warp. */
static void split_levels(const struct gemm *x, struct axis_split *m, struct axis_split *n,
                         struct axis_split *k) {
    const struct gemm_tile *t = &x->f.t;
    add_level(m, t->wm, "THREAD");
    if (x->wgmma) {
        add_level(m, t->m / t->wm / 64, "REG"), add_level(m, 64, "TC");
        add_level(n, t->n / wgmma_n(x), "REG"), add_level(n, wgmma_n(x), "TC");
    } else if (x->mma) {
        add_level(m, t->m / t->wm / 16, "REG"), add_level(m, 16, "TC");
        add_level(n, t->wn, "THREAD"), add_level(n, t->n / t->wn / 16, "REG"), add_level(n, 16, "TC");
    } else {
        add_level(m, t->m / t->wm / 16, "REG"), add_level(m, 4, "THREAD"), add_level(m, 4, "REG");
        add_level(n, t->wn, "THREAD"), add_level(n, t->n / t->wn / 32, "REG");
        add_level(n, 8, "THREAD"), add_level(n, 4, "VEC");
    }
    add_level(k, (x->mma ? t->k / x->k_step : t->k) / (has_one_k_tile(x) ? 2 : 1), "UNROLL");
    if (x->mma) add_level(k, x->k_step, "TC");
}

/* The innermost axis of the grid, if several tiles are left along it. */
static const char *inner_tiles(const struct gemm *x) {
    bool m_inside = x->m.axis[0] > x->n.axis[0];
    const struct joined_axes *in = m_inside ? &x->m : &x->n, *out = m_inside ? &x->n : &x->m;
    return in->size > (m_inside ? x->f.t.m : x->f.t.n) ? in->name : out->name;
}

/* The axis whose iterations fill tiles: that of k, whose two halves are else dimensions of the tile. */
static const char *fill_axis(const struct gemm *x, struct axis_split *k) {
    if (!has_one_k_tile(x)) return x->k.name;
    memmove(k->name + 1, k->name, (size_t)k->n++ * sizeof *k->name);
    k->name[0] = x->k.name;
    return inner_tiles(x);
}

static void write_gemm(struct gemm *x) {
    struct axis_split m = {0}, n = {0}, k = {0};
    join(x, &x->m), join(x, &x->n), join(x, &x->k);
    split_levels(x, &m, &n, &k);
    for (int i = 0; i < 2; i++) {
        int lanes = row_padding(x, i ? &x->c.b : &x->c.a, i ? &x->n : &x->m);
        if (lanes) str_printf(x->out, " PADTO(%s,%d)", i ? x->n.name : x->m.name, lanes);
    }
    if (x->f.cluster > 1) {
        const char *part = new_axis(x, x->k.name);
        str_printf(x->out, " TILE(%s,%lld,%s) CLUSTER(%s)", x->k.name, (long long)block_k(x), part,
                   x->k.name);
        x->k.name = part;
    }
    split_axis(x, x->m.name, x->m.size, &m), split_axis(x, x->n.name, x->n.size, &n);
    split_axis(x, x->k.name, block_k(x), &k);
    write_raster(x);
    char which[16] = "";
    if (x->wgmma)
        snprintf(which, sizeof which, ",W%s_%d", x->instr, wgmma_n(x));
    else if (x->elem_bytes != 2)
        snprintf(which, sizeof which, ",%s", x->instr);
    if (x->mma)
        str_printf(x->out, " TC(%s,%s,%s%s)", m.name[m.n - 1], n.name[n.n - 1], k.name[k.n - 1], which);
    write_kinds(x, &m), write_kinds(x, &n), write_kinds(x, &k);
    order_threads(x, &m, &n);
    const char *at = fill_axis(x, &k);
    stage(x, &x->c.a, &x->m, at, &m, &k);
    stage(x, &x->c.b, &x->n, at, &n, &k);
    int stages = stages_of(x);
    for (int i = 0; i < 2 && stages > 1; i++)
        str_printf(x->out, " PIPE(%s,%s,%d)", access_name(x->v, i ? x->c.b.access : x->c.a.access), at,
                   stages);
    if (x->f.consumers) str_printf(x->out, " WARP_SPECIALIZE(%d)", x->f.consumers);
    if (x->f.persistent) str_printf(x->out, " PERSISTENT(%d)", x->v->gpu->sms);
}

/* Are rows of this operand 16-byte aligned, so that 16-byte copies are possible? */
static bool is_aligned(const struct gemm *x, const struct operand_view *s, const struct joined_axes *own) {
    bool along_k = is_contiguous(x, s->access, &x->k);
    const struct joined_axes *other = along_k ? own : &x->k;
    int64_t pitch = stride_of(x->v, s->access, other->axis[other->n - 1]), lanes = 16 / s->access->bytes;
    return !s->access->pred && (along_k || is_contiguous(x, s->access, own)) && pitch != INT64_MAX &&
           pitch % lanes == 0;
}

/* Instructions per output element after the sum; a transcendental function counts 12. */
static int count_epilogue_ops(const struct gemm *x) {
    uop_vec topo = {0}, stack = {0};
    int n = 0;
    struct map seen;
    map_init(&seen, x->v->arena);
    vec_push(x->v->arena, &stack, x->c.store->node->src[1]);
    while (stack.n) {
        const uop *u = stack.p[--stack.n];
        if (u == x->c.reduce || map_get(&seen, u->id, NULL)) continue;
        map_put(&seen, u->id, 1);
        vec_push(x->v->arena, &topo, u);
        for (uint32_t i = 0; i < u->nsrc && u->op != OP_INDEX; i++) vec_push(x->v->arena, &stack, u->src[i]);
    }
    for (uint32_t i = 0; i < topo.n; i++) {
        const uop *u = topo.p[i];
        if (u->op == OP_LOAD || u->op == OP_PRED_LOAD) n += 2;
        if (dt_is_float((enum dtype)u->dt) && op_is_pure((enum op)u->op) && u->op != OP_CAST)
            n += op_is_fn1((enum op)u->op) ? 12 : 1;
    }
    return n;
}

/* What the epilogue reads. */
static void find_epilogue_operands(struct gemm *x) {
    for (int i = 0; i < x->v->naccess; i++) {
        const struct access_view *s = &x->v->access[i];
        if (s->store || s == x->c.a.access || s == x->c.b.access) continue;
        bool rows = false, columns = false;
        for (int k = 0; k < x->m.n; k++) rows |= has_axis(x->v, s->mask, x->m.axis[k]);
        for (int k = 0; k < x->n.n; k++) columns |= has_axis(x->v, s->mask, x->n.axis[k]);
        bool same = s->index == x->c.store->index && s->pred == x->c.store->pred &&
                    s->node->dt == x->c.store->node->src[1]->dt && s->buf->src[0] == x->c.store->buf->src[0];
        x->epilogue_loads |= rows && columns && (!same || x->tma_source);
        x->tma_source |= same;
    }
}

static const char *const operand_name[DT_COUNT] = {
    [DT_BF16] = "BF16",   [DT_F16] = "F16",     [DT_F32] = "TF32", [DT_F64] = "F64",
    [DT_F8E4M3] = "E4M3", [DT_F8E5M2] = "E5M2", [DT_I8] = "S8",    [DT_U8] = "U8"};

/* Is the kernel a contraction worth tiling? */
static bool find_gemm(struct gemm *x) {
    struct view *v = x->v;
    enum dtype a, b;
    if (!contraction_find(v, &x->c) || !may_stage(v, &x->c.a) || !may_stage(v, &x->c.b)) return false;
    x->f64 = x->c.reduce->dt == DT_F64 && is_loaded(&x->c.a) && is_loaded(&x->c.b);
    bool i32 = x->c.reduce->dt == DT_I32;
    if ((x->c.reduce->dt != DT_F32 && !i32 && !x->f64) || !find_axes(x)) return false;
    x->elem_bytes = RG_MAX(x->c.a.access->bytes, x->c.b.access->bytes);
    if (x->elem_bytes > 4 && !x->f64) return false;
    x->mma = is_widened(&x->c.a, &a) && is_widened(&x->c.b, &b) && a == b;
    x->i8 = x->mma && i32;
    x->tf32 = !x->mma && !x->f64 && !i32 && env_int(ENV_TF32) && x->c.a.root == x->c.a.access->node &&
              x->c.b.root == x->c.b.access->node;
    bool along_k = is_contiguous(x, x->c.a.access, &x->k) && is_contiguous(x, x->c.b.access, &x->k);
    bool aligned = is_aligned(x, &x->c.a, &x->m) && is_aligned(x, &x->c.b, &x->n),
         many = x->m.size * x->n.size >= SHORT_K_TILES * 128.0 * 128 && x->elem_bytes == 2 && aligned;
    x->wgmma = ((x->mma && !x->i8) || (x->tf32 && along_k)) && v->gpu->cc / 10 == 9 &&
               (x->k.size >= (many ? WGMMA_SHORT_K : WGMMA_K) || (many && x->k.size == 64)) &&
               x->n.size >= 64 && (x->m.size >= 64 || (x->m.size > 16 && x->n.size >= 1024));
    x->mma |= x->tf32 || (x->f64 && v->gpu->cc >= 90);
    x->instr = operand_name[a];
    if (!x->wgmma && !x->i8 && x->elem_bytes == 1) x->mma = false; /* mma.sync has no fp8 here */
    x->promote = x->wgmma && x->elem_bytes == 1 && !env_int(ENV_F8_FAST);
    x->k_step = x->wgmma || x->i8 ? 32 / x->elem_bytes : !x->mma ? 1 : x->elem_bytes > 2 ? 8 : 16;
    x->tma = x->wgmma && aligned;
    find_runs(x);
    x->epilogue_ops = count_epilogue_ops(x);
    x->unaligned_out = stride_of(v, x->c.store, x->m.axis[x->m.n - 1]) % (16 / x->c.store->bytes);
    find_epilogue_operands(x);
    for (int i = 0; i < 2; i++) x->gathered[i] = is_gathered(x, i ? &x->c.b : &x->c.a, i ? &x->n : &x->m);
    return true;
}

/* The opt list of a config; NULL: illegal. */
static const char *write_config(struct gemm *x, const struct gemm_config *f) {
    struct gemm now = *x;
    struct str s;
    str_init(&s, x->v->arena);
    now.f = *f, now.out = &s;
    int fresh_names = x->v->new_axes; /* equal configs have equal texts */
    write_gemm(&now);
    x->v->new_axes = fresh_names;
    return view_legal(x->v, s.p + 1) ? s.p + 1 : NULL;
}

/* ---- cost of every config -------------------------------------------------------------------------------------- */

/* DRAM traffic: the `wave` blocks that run at the same time read a band of rows and columns, which L2 keeps for them, and
 * for the next wave if it is small. */
static double dram_bytes(const struct gemm *x, double wave, double batch) {
    const double cache = gpu_cost.l2_kept * (double)x->v->gpu->l2; /* bytes */
    double m = x->m.size, n = x->n.size, k = x->k.size, a = m * k * x->elem_bytes, b = n * k * x->elem_bytes;
    double out = m * n * x->c.store->bytes;
    double rows = ceil(m / x->f.t.m), columns = ceil(n / x->f.t.n);
    double raster = raster_of(x);
    double high = raster > 1 ? RG_MIN(raster, rows) : RG_MIN(ceil(wave / columns), rows);
    double wide = RG_MIN(ceil(wave / high), columns);
    double bands = ceil(rows / high), sweeps = ceil(columns / wide);
    /* a band of A is read once if L2 keeps it for all columns; B is read once per band */
    double reads_a = high * x->f.t.m * k * x->elem_bytes <= cache / 2 ? 1 : sweeps;
    double reads_b = b <= cache ? 1 : bands;
    if (a + b <= cache) reads_a = reads_b = 1;
    return batch * (a * reads_a + b * reads_b + out);
}

/* Bytes of partial sums that a block receives from its cluster (DSMEM). */
static int64_t dsmem_bytes(const struct gemm *x) {
    return (int64_t)x->f.t.m * x->f.t.n * 4 * (RG_MAX(x->f.cluster, 1) - 1) / RG_MAX(x->f.cluster, 1);
}

/* Shared memory for them besides the pipeline; 0: they reuse a stage (cluster_splitk.c); -1: no room. */
static int64_t dsmem_extra(const struct gemm *x) {
    int64_t side = (int64_t)RG_MAX(x->f.t.m, x->f.t.n) * x->f.t.k * x->elem_bytes * stages_of(x);
    if (stages_of(x) * stage_bytes(x) + specialized_bytes(x, 1) + dsmem_bytes(x) <= x->v->gpu->smem_block)
        return dsmem_bytes(x);
    return dsmem_bytes(x) <= side ? 0 : -1;
}

/* Epilogue buffers per warpgroup that fit: two at most; with a source tensor as many as divide the tile's panels. */
static int epilogue_buffers_of(const struct gemm *x) {
    int64_t room = x->v->gpu->smem_block - stages_of(x) * stage_bytes(x);
    int panels = panels_of(x), n = x->tma_source ? panels : 2;
    if (!x->f.consumers) return 0;
    while (n && (specialized_bytes(x, n) > room || (x->tma_source && panels % n))) n--;
    return n;
}

/* Registers of a promotion. */
static int promotion_regs(const struct gemm *x) { return x->promote ? wgmma_n(x) / 2 : 0; }

/* Registers of a thread for elements of unaligned rows, which pass through them on the way to a tile. */
static int staging_regs(const struct gemm *x, int threads) {
    double n = 0;
    if (x->elem_bytes >= 4) return 0; /* cp.async, 4 bytes each */
    if (!is_aligned(x, &x->c.a, &x->m)) n += x->f.t.m;
    if (!is_aligned(x, &x->c.b, &x->n)) n += x->f.t.n;
    return n > 0 ? (int)(n * x->f.t.k / threads) + STAGING_OVERHEAD : 0;
}

/* Rows aligned to 16 but not to 128 bytes touch one line more. */
static double overfetch(const struct gemm *x, const struct operand_view *s, const struct joined_axes *own) {
    const struct joined_axes *other = is_contiguous(x, s->access, &x->k) ? own : &x->k;
    int64_t pitch = stride_of(x->v, s->access, other->axis[other->n - 1]);
    return is_aligned(x, s, own) && pitch * s->access->bytes % 128 ? LINE_OVERFETCH : 1;
}

/* Elements that a block requests from L2 per term of k. Of requests of neighbouring blocks (16, `high` along m by `wide`
 * along n) a share is served once. */
static double l2_rows(const struct gemm *x) {
    const struct gemm_tile *t = &x->f.t;
    double rows = ceil(x->m.size / t->m), columns = ceil(x->n.size / t->n), raster = raster_of(x);
    double all = RG_MAX(16 / RG_MAX(x->f.cluster, 1), 1), high, wide;
    if (raster > 1)
        high = RG_MIN(raster, all), wide = RG_MIN(ceil(all / high), columns);
    else
        wide = RG_MIN(all, columns), high = RG_MIN(ceil(all / wide), rows);
    double m = t->m * overfetch(x, &x->c.a, &x->m), n = t->n * overfetch(x, &x->c.b, &x->n);
    return (1 - SHARED_FETCH) * (m + n) + SHARED_FETCH * (high * m + wide * n) / (high * wide);
}

static double grid_blocks(const struct gemm *x) {
    return ceil(x->m.size / x->f.t.m) * ceil(x->n.size / x->f.t.n) * batch_of(x) * RG_MAX(x->f.cluster, 1);
}

/* Registers, tensor core, FMA, shared memory and issue slots of a block's main loop. */
static void count_math(const struct gemm *x, struct gpu_work *w, int warps, int sums, double steps) {
    const struct gemm_tile *t = &x->f.t;
    double depth = steps * t->k, area = (double)t->m * t->n, wm = (double)t->m / t->wm,
           wn = (double)t->n / t->wn;
    if (x->wgmma) {
        w->registers = sums + promotion_regs(x) + 16;
        if (x->promote) w->issue += area / 32 * steps;
        w->mma = 2 * area * depth * x->elem_bytes / 2; /* TF32 at half, fp8 at twice the 16-bit rate */
    } else if (x->mma) {
        w->registers = (x->f64 ? 2 * sums : sums) + (int)(wm + wn) / 2 + 48;
        w->mma = 2 * area * depth / (x->i8 ? 2 : 1); /* at twice the 16-bit rate */
        w->mma_peak = x->f64    ? gpu_cost.mma_sync_f64_peak
                      : x->tf32 ? gpu_cost.mma_sync_tf32_peak
                                : gpu_cost.mma_sync_peak;
        w->shared_bytes += warps * (wm + wn) * depth * x->elem_bytes;
        w->issue += area * depth / (16 * 8 * x->k_step) * 1.3;
    } else {
        int words = x->f64 ? 2 : 1;
        w->registers = words * (sums + (int)(wm / 4 + wn / 8)) + 40;
        w->fma = words * area * depth;
        w->shared_bytes += words * warps * (wm / 16 + wn / 32) * 128 * depth;
        w->issue += area * depth / 32 + warps * (wm / 16 + wn / 32) * depth;
    }
}

/* Elements of unaligned rows, and f32 that is transposed on the way to shared memory. */
static void count_gathers(const struct gemm *x, struct gpu_work *w, double depth) {
    const struct gemm_tile *t = &x->f.t;
    for (int i = 0; i < 2; i++) {
        const struct operand_view *side = i ? &x->c.b : &x->c.a;
        bool transposed = x->elem_bytes == 4 && !x->mma && is_contiguous(x, side->access, &x->k);
        bool gathered = x->elem_bytes < 4 || (x->gathered[i] && !x->mma);
        double each = gathered ? gpu_cost.gather_issue : transposed ? GATHER_ISSUE_TRANSPOSED : 0;
        double elements = depth * (i ? t->n : t->m);
        if (!is_aligned(x, side, i ? &x->n : &x->m))
            w->issue += each * elements / 32;
        else if (transposed) /* 16-byte chunks along k: the more, the more threads of a warp meet in a bank */
            w->transposed += elements / 32 * RG_MAX(t->k * t->k / 64, 1);
    }
}

static void count_work(const struct gemm *x, struct gpu_work *w) {
    const struct gemm_tile *t = &x->f.t;
    double cluster = RG_MAX(x->f.cluster, 1), steps = ceil(block_k(x) / t->k), depth = steps * t->k,
           area = (double)t->m * t->n, batch = batch_of(x);
    int warps = t->wm * t->wn * (x->wgmma ? 4 : 1) * RG_MAX(x->f.consumers, 1),
        buffers = epilogue_buffers_of(x);
    *w = (struct gpu_work){.blocks = grid_blocks(x),
                           .threads = 32 * warps + (x->f.consumers ? 128 : 0),
                           .shared = (int)(stages_of(x) * stage_bytes(x) + specialized_bytes(x, buffers) +
                                           RG_MAX(dsmem_extra(x), 0)),
                           .steps = steps,
                           .ahead = RG_MAX(stages_of(x) - (x->wgmma && !x->f.consumers ? 2 : 1), 1),
                           .consumers = x->f.consumers,
                           .epilogue_buffers = buffers,
                           .refills = x->tma_source && buffers ? panels_of(x) / buffers - 1 : 0,
                           .persistent = x->f.persistent ? x->v->gpu->sms : 0,
                           .mma_peak = 1};
    int sums = (int)(area / (32 * warps / RG_MAX(x->f.consumers, 1)));
    w->fill = l2_rows(x) * depth * x->elem_bytes;
    w->out = area * x->c.store->bytes / cluster *
             (x->unaligned_out && !x->f.consumers ? 2 : 1); /* element by element */
    w->epilogue = area / 32 * x->epilogue_ops / cluster;
    w->dsmem = (double)dsmem_bytes(x);
    w->shared_bytes = (t->m + t->n) * depth * x->elem_bytes;
    w->issue = 4 * w->shared_bytes / 16 / 32 + 6 * area / 32 / (x->c.store->bytes <= 2 ? 2 : 1);
    count_math(x, w, warps, sums, steps);
    count_gathers(x, w, depth);
    w->registers += staging_regs(x, 32 * warps);
    if (x->f.consumers && warps > 4)
        w->registers = x->v->gpu->regs_sm / w->threads / 8 * 8; /* one block per SM (warp_specialize.c) */
    w->dram = dram_bytes(x, (double)x->v->gpu->sms * predict_gpu_resident(w, x->v->gpu), batch);
    w->private_fill = RG_MIN(w->dram / w->blocks, w->fill);
}

struct priced_config {
    struct gemm_config f;
    double seconds, blocks;
    int number;
};

static int by_seconds(const void *p, const void *q) {
    const struct priced_config *a = p, *b = q;
    if (a->seconds != b->seconds) return a->seconds < b->seconds ? -1 : 1;
    return a->number - b->number;
}

static bool is_duplicate(const struct priced_config *p, uint32_t n, const struct gemm_config *f) {
    for (uint32_t i = 0; i < n; i++) {
        const struct gemm_tile *o = &p[i].f.t, *t = &f->t;
        if (o->m == t->m && o->n == t->n && o->k == t->k && o->wm == t->wm && o->wn == t->wn &&
            p[i].f.stages == f->stages && p[i].f.raster == f->raster && p[i].f.consumers == f->consumers &&
            p[i].f.persistent == f->persistent && p[i].f.cluster == f->cluster)
            return true;
    }
    return false;
}

/* Kernel schedules: multistage; warp-specialized, persistent or not; ping-pong; split-K clusters. */
static const struct {
    int consumers;
    bool persistent;
    int cluster;
} schedules[] = {{0, false, 1}, {1, true, 1}, {2, true, 1}, {1, false, 1}, {1, false, 2}, {1, false, 4}};

struct pricing {
    struct gemm *x;
    const struct model *model;
    struct priced_config *out;
    uint32_t found, room;
};

static void price_config(struct pricing *p) {
    struct gemm *x = p->x;
    struct gpu_work w;
    if (!fit_k(x) || p->found >= p->room) return;
    if (x->f.consumers && !fits_runs(x)) return;
    x->f.stages = stages_of(x), x->f.raster = raster_of(x);
    int least = x->wgmma && !x->f.consumers ? 3 : 2, sums = accumulators_of(x);
    if (x->f.consumers && x->epilogue_loads && sums > 128) return; /* no registers for the epilogue */
    if (x->f.consumers * x->f.t.wm > 2 && (sums > CONSUMERS3_ACCUMULATORS || x->promote)) return;
    if (x->promote && (sums + promotion_regs(x) > MAX_ACCUMULATORS || x->f.consumers > 1))
        return; /* ping-pong consumers promote at different times */
    int end = (int)fmod(x->n.size, x->f.t.n);
    if (wgmma_n(x) < x->f.t.n && end && end <= wgmma_n(x))
        return; /* half of the last tile would be padding */
    if (x->f.cluster > 1 && dsmem_extra(x) < 0) return;
    if (x->f.cluster > 2 && grid_blocks(x) > gpu_whole(x->v->gpu, gpu_cost.blocks_cluster4)) return;
    if (x->f.stages < least || is_duplicate(p->out, p->found, &x->f)) return;
    count_work(x, &w);
    if (x->f64 && w.registers > RG_MIN(255, x->v->gpu->regs_sm / w.threads)) return; /* would spill */
    if (w.registers > RG_MIN(255, x->v->gpu->regs_sm / w.threads / 8 * 8) + SPILL_SLACK &&
        staging_regs(x, w.threads))
        return;
    p->out[p->found] = (struct priced_config){.f = x->f,
                                              .seconds = predict_gpu(&w, x->v->gpu, p->model),
                                              .blocks = w.blocks,
                                              .number = (int)p->found};
    p->found++;
}

static uint32_t price_all(struct gemm *x, const struct model *model, struct priced_config *out,
                          uint32_t room) {
    static const int stages[] = {0, 2, 3, 4, 5, 6, 8}, raster[] = {0, 8, 4, 1};
    struct pricing p = {.x = x, .model = model, .out = out, .room = room};
    size_t n;
    const struct gemm_tile *list = tiles_of(x, &n);
    for (size_t d = 0; d < (x->tma ? RG_COUNT(schedules) : 1); d++)
        for (size_t i = 0; i < n; i++)
            for (size_t q = 0; q < RG_COUNT(stages) && schedules[d].consumers * list[i].wm <= MAX_CONSUMERS;
                 q++)
                for (size_t r = 0; r < (x->wgmma ? RG_COUNT(raster) : 1); r++) {
                    x->f = (struct gemm_config){.t = list[i],
                                                .stages = stages[q],
                                                .raster = raster[r],
                                                .consumers = schedules[d].consumers,
                                                .persistent = schedules[d].persistent,
                                                .cluster = schedules[d].cluster};
                    price_config(&p);
                }
    if (p.found) qsort(out, p.found, sizeof *out, by_seconds);
    return p.found;
}

static const struct model *model_of_row(const struct view *v) {
    struct model *m = arena_new(v->arena, struct model);
    model_of_gpu(m, v->gpu);
    return m;
}

struct lowering_trial {
    struct err err;
    struct arena arena;
    const struct view *v;
    const char *opts;
};

static void lower_trial(void *arg) {
    struct lowering_trial *t = arg;
    struct ir ir;
    struct kernel k = t->v->asked ? *t->v->asked : *t->v->kernel;
    struct linear lin;
    ir_init(&ir, &t->arena);
    k.sink = ir_import(&ir, t->v->ir, k.sink);
    lower(&ir, &k, &(struct lower_opts){.opts = t->opts, .target = {.kind = TARGET_GPU, .gpu = t->v->gpu}},
          &lin);
}

/* Whether TMA and wgmma accept a tile is known after lowering. */
bool gpu_lowers(const struct view *v, const char *opts) {
    struct lowering_trial t = {.v = v, .opts = opts};
    if (v->asked) t.opts = arena_printf(v->arena, "%s %s", v->prefix, opts);
    arena_init(&t.arena, &t.err);
    bool ok = !err_guard(&t.err, lower_trial, &t);
    arena_free(&t.arena);
    return ok;
}

/* Few blocks, and single threads, each with the loads of a sum in a row, take less? Blocks share sums of operands contiguous along k. */
static bool is_few(const struct gemm *x, const struct priced_config *p) {
    bool dots = is_contiguous(x, x->c.a.access, &x->k) && is_contiguous(x, x->c.b.access, &x->k);
    double fmas = x->m.size * x->n.size * x->k.size * batch_of(x), terms = x->k.size * gpu_cost.thread_term;
    double other = dots ? predict_gpu_coop(fmas, x->elem_bytes, x->v->gpu) : terms;
    return p->seconds > other && p->blocks < gpu_whole(x->v->gpu, gpu_cost.blocks_gemm);
}

static const char *cheapest(struct gemm *x, double below) {
    struct view *v = x->v;
    struct priced_config *config = arena_array(v->arena, struct priced_config, MAX_CONFIGS);
    uint32_t n = price_all(x, model_of_row(v), config, MAX_CONFIGS);
    for (uint32_t i = 0, tried = 0; i < n; i++) {
        if (config[i].f.consumers && tried) continue; /* one refusal is enough */
        const char *text = write_config(x, &config[i].f);
        if (!text || (config[i].f.consumers && tried++ == 0 && !gpu_lowers(v, text))) continue;
        return config[i].seconds >= below || is_few(x, &config[i]) ? "" : text;
    }
    return "";
}

const char *gpu_gemm_below(struct view *v, double seconds) {
    struct gemm x = {.v = v};
    if (!find_gemm(&x) || x.m.size < MIN_SIDE_NARROW || x.n.size < MIN_SIDE_NARROW) return "";
    return cheapest(&x, seconds);
}

const char *gpu_gemm(struct view *v) {
    struct gemm x = {.v = v};
    if (!find_gemm(&x)) return "";
    bool gathered = x.gathered[0] || x.gathered[1], tall = gathered || x.k.size >= LONG_K;
    double least = x.mma ? (gathered ? MIN_SIDE_WINDOWS : MIN_SIDE_MMA) : tall ? MIN_SIDE_LONG : MIN_SIDE;
    double blocks = RG_MAX(x.m.size, x.n.size) / NARROW_TILE * batch_of(&x);
    if (!gathered && x.k.size >= NARROW_K && blocks >= v->gpu->sms) least = RG_MIN(least, MIN_SIDE_NARROW);
    if (x.m.size < least || x.n.size < least) return "";
    const char *text = cheapest(&x, INFINITY);
    if (*text || !x.wgmma || x.k.size >= WGMMA_K) return text;
    x.wgmma = x.tma = false, x.k_step = 16; /* TMA takes none of the short tiles */
    return cheapest(&x, INFINITY);
}

/* For messages and tables of measurements. */
static const char *config_name(const struct gemm *x, const struct gemm_config *f) {
    const struct gemm_tile *t = &f->t;
    const char *schedule = "";
    if (f->consumers)
        schedule = arena_printf(x->v->arena, " warp_specialize %d%s", f->consumers,
                                f->persistent ? " persistent" : "");
    if (f->cluster > 1) schedule = arena_printf(x->v->arena, "%s cluster %d", schedule, f->cluster);
    const char *kind = x->wgmma ? "wgmma" : x->tf32 ? "tf32" : x->mma ? "mma" : "fma";
    return arena_printf(x->v->arena, "%s %dx%dx%d %dx%d stages %d raster %d%s", kind, t->m, t->n, t->k, t->wm,
                        t->wn, f->stages, f->raster, schedule);
}

/* Configs before number i that differ from it in stages and rasterization alone. */
static uint32_t count_similar(const struct priced_config *p, uint32_t i) {
    uint32_t n = 0;
    for (uint32_t k = 0; k < i; k++) {
        const struct gemm_config *a = &p[k].f, *b = &p[i].f;
        n += !memcmp(&a->t, &b->t, sizeof a->t) && a->consumers == b->consumers &&
             a->persistent == b->persistent && a->cluster == b->cluster;
    }
    return n;
}

/* The best first, but at most SIMILAR of those that the model hardly tells apart; the rest come last. */
static void diversify(struct arena *a, struct priced_config *p, uint32_t n) {
    enum { SIMILAR = 2 };
    struct priced_config *late = arena_array(a, struct priced_config, n + 1);
    uint32_t *before = arena_array(a, uint32_t, n + 1), m = 0, k = 0;
    for (uint32_t i = 0; i < n; i++) before[i] = count_similar(p, i);
    for (uint32_t i = 0; i < n; i++)
        if (before[i] < SIMILAR)
            p[m++] = p[i];
        else
            late[k++] = p[i];
    memcpy(p + m, late, k * sizeof *p);
}

static void note_cluster(void *cx, struct sched *s, const uop *sink) {
    (void)sink;
    if (s->ws.cluster) *(int64_t *)cx = sched_axis(s, s->ws.cluster)->size;
}

void gpu_gemm_configs(struct view *v, const struct model *model, const char *like, uint32_t best,
                      uint32_t more, gpu_lists *out) {
    struct gemm x = {.v = v};
    int64_t cluster = 1; /* split-K alone changes the order of summation */
    if (!find_gemm(&x)) return;
    struct priced_config *config = arena_array(v->arena, struct priced_config, MAX_CONFIGS);
    uint32_t n = 0, all = price_all(&x, model, config, MAX_CONFIGS);
    if (like) opts_look(v->ir, v->kernel, like, v->gpu, NULL, note_cluster, &cluster);
    for (uint32_t i = 0; i < all; i++)
        if (!like || config[i].f.cluster == cluster) config[n++] = config[i];
    if (!more) diversify(v->arena, config, n);
    for (uint32_t i = 0, step = 1; i < n && out->n < best + more; i += step) {
        const char *text = write_config(&x, &config[i].f);
        if (text)
            vec_push(v->arena, out,
                     ((struct gpu_list){text, config_name(&x, &config[i].f), config[i].seconds}));
        if (out->n == best && more) step = RG_MAX((n - i) / more, 1u);
    }
}
