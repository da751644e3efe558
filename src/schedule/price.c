/* price.c: predicted seconds of a kernel as rangeify.c wrote it, and whether codegen has a fast schedule for it.
 *
 * Work is counted where lowering puts it: a value is evaluated once per iteration of the loops from the outermost to the
 * deepest that it depends on. Ops are weighted by vector instructions (op_weight). Bytes are those of the distinct elements,
 * at the rate of the memory level that holds a tensor of that size; rereading a row costs the rate of the cache that a row
 * fits in, and what several passes over a row share is computed once, because the opt RESIDENT keeps it.
 * Requires: rangeify_kernel. Gives: struct kernel_price, or r->illegal.
 * Tests: tests/unit/schedule.c (order of plans), docs/performance.md (predicted against measured) */
#include <math.h>

#include "schedule/internal.h"

/* ---- weights --------------------------------------------------------------------------------------------- */

/* FLOP at the machine's FMA rate that an op takes as long as: 2 is one vector instruction. The weight column of ops.def has
 * them; these are what depends on more than the op. */
/* Columns of a tile of 64 rows whose float32 sums leave a warpgroup registers to compute with: half a register each, of 255. */
enum { GPU_ROW_COLUMNS = 320, GPU_PANEL = 64 };

enum {
    W_SIMPLE = 2,
    W_IDIV_CONST = 6, /* by a constant: multiply and shift */
    W_CAST_BF16 = 6,
    W_SCAN = 8,    /* the combining op of a scan: a dependent chain */
    W_GATHER = 40, /* CPU: an address of a vector's lane to a scalar register, its element back to the lane */
    W_ERF_EPILOGUE = 26, /* GPU: 1 + erf(x) is one exp2 (rules/fuse_math.rules) */
    W_SPECIAL_LEAST = 30 /* above: a math function that RESIDENT keeps from pass to pass */
};

/* Figures of the traffic model. Measured: docs/performance.md, Reading memory. */
enum {
    LONG_RUN = 16,         /* elements of stride 1 that count as a run along memory */
    WARP = 32,             /* threads */
    FEW_BLOCKS = 8,        /* blocks of whole rows: fewer, and each core walks down columns of its own */
    LEAST_BLOCKED = 512,   /* MULs of a contraction worth a blocked schedule */
    LOADS_WALKED = 64,     /* nodes visited below a MUL */
    PROLOGUE_STEPS = 4,    /* ops between a load and a contraction's MUL */
    PREDICATE_DEPTH = 8,   /* ops of a predicate */
    GPU_VECTOR_BYTES = 64, /* wider vectors than any CPU's: a model of a GPU */
    THREADS_PER_SM = 1024, /* that hide the latency of memory */
    BLOCK_THREADS = 512,   /* at most */
    THREAD_ELEMENTS = 4,   /* of a row, at least */
    COOP_TERMS = 64,       /* of a reduction that a block of threads shares, at least */
    GEMM_TERMS = 256,      /* of a GEMM that has no other sums beside it, at least .. */
    GEMM_FMAS = 1 << 26,   /* .. worth a kernel of its own */
    LINE = 64              /* bytes of a cache line */
};
static const struct {
    double gather, column, l1_share, l2_share, l2_tensor_share, l3_tensor_share;
} rate = {
    .gather = 6,     /* bytes per byte that vectors gather instead of load */
    .column = 0.4,   /* more bytes per byte: 50 GB/s down columns, 75 GB/s along whole rows; 28, 60 from L3 */
    .l1_share = 0.5, /* of L1 that a row may fill and stay */
    .l2_share = 0.75,         /* of L2, likewise */
    .l2_tensor_share = 0.5,   /* of L2 that a tensor may fill and be found there by the next kernel */
    .l3_tensor_share = 0.125, /* of L3, which other tensors pass through in between */
};

/* Addresses are free. */
static double op_weight(const uop *n) {
    switch (n->op) {
    case OP_IDIV:
    case OP_MOD: return n->dt == DT_IDX || uop_is_const(n->src[1]) ? W_IDIV_CONST : op_info[n->op].weight;
    case OP_CAST:
        if (n->dt == DT_BF16 || n->src[0]->dt == DT_BF16) return W_CAST_BF16;
        return n->dt == DT_IDX ? 0 : op_info[n->op].weight;
    default: return n->dt != DT_IDX ? op_info[n->op].weight : 0;
    }
}

static double epilogue_weight(const uop *n) { return n->op == OP_ERF ? W_ERF_EPILOGUE : op_weight(n); }

static bool is_special(const uop *n) { return op_weight(n) > W_SPECIAL_LEAST; }

/* ---- counting ---------------------------------------------------------------------------------------------- */

struct tally {
    struct rangeify *r;
    const struct model *m;
    bool grid[SHAPE_MAX];
    double grid_all;
    uop_vec topo;
    struct model_work work;
    struct kernel_price price;
    uint32_t contractions;
    double row_columns; /* of all GEMMs that read a kept row */
    bool gpu;
    struct map mma_products; /* MULs that MMA instructions do */
    bool rows;               /* keeps rows of values that are never stored */
    uint32_t loops;          /* axes of a row; rows with several are not kept from pass to pass */
    bool columns; /* vectors run along the grid, loops down columns: nothing is kept from pass to pass */
    double across, along; /* bytes of accesses with stride 1 along the grid, along loops and reductions */
    bool crossed;         /* some loop reads without stride 1: vectors take several grid iterations each */
    double row;           /* elements of the longest loop or reduction with stride 1 */
    double terms;         /* elements that an iteration of the grid loads, of the buffer with the most */
    bool by_columns;      /* neighbouring iterations of the grid load neighbours: a thread each */
    double down;          /* bytes from DRAM that each core reads down columns of its own */
    double scattered;     /* CPU: bytes of cache lines that a loop stores one element of */
};

static double extent(const uop *range) { return (double)range->src[0]->hi; }

/* How often lowered code evaluates a value that depends on these ranges. */
static double times(const struct tally *t, const uop_vec *f) {
    bool inner = false;
    int deepest = -1, loop = -1; /* axis of the grid; of the loops, all inside the grid */
    double n = 1;
    for (uint32_t i = 0; i < f->n; i++) {
        const uop *x = f->p[i];
        if (x->arg.range.kind == AX_REDUCE) {
            inner = true, n *= extent(x);
            continue;
        }
        int *most = t->grid[x->arg.range.id] ? &deepest : &loop;
        *most = RG_MAX(*most, (int)x->arg.range.id);
    }
    inner |= loop >= 0;
    for (uint32_t i = 0; i < t->r->dims; i++) {
        if (t->r->dim[i]->op != OP_RANGE) continue;
        bool in = t->grid[i] ? inner || (int)i <= deepest : (int)i <= loop;
        if (in) n *= extent(t->r->dim[i]);
    }
    return n;
}

static double distinct(const uop_vec *f, double most) {
    double n = 1;
    for (uint32_t i = 0; i < f->n; i++) n *= extent(f->p[i]);
    return RG_MIN(n, most);
}

static double *work_of(struct model_work *w, enum dtype dt) {
    switch (dt) {
    case DT_F64: return &w->f64;
    case DT_F16: return &w->f16;
    case DT_BF16: return &w->bf16;
    case DT_F32: return &w->f32;
    default: return &w->integer;
    }
}

/* The stride of an address along a range; 0: invariant, or not constant. uop_memo_clear(strides) before another range. */
static int64_t stride_of(struct tally *t, const uop *n, const uop *range) {
    uint64_t known;
    if (n == range) return 1;
    if (!free_has(&t->r->fr, n, range)) return 0;
    if (uop_memo_get(&t->r->strides, n, &known)) return (int64_t)known;
    int64_t s = 0;
    switch (n->op) {
    case OP_ADD: s = stride_of(t, n->src[0], range) + stride_of(t, n->src[1], range); break;
    case OP_SUB: s = stride_of(t, n->src[0], range) - stride_of(t, n->src[1], range); break;
    case OP_MUL:
        if (uop_is_const(n->src[1])) s = stride_of(t, n->src[0], range) * n->src[1]->arg.i;
        break;
    case OP_MOD: { /* a run that ends soon is none for vectors */
        bool brief = !t->gpu && uop_is_const(n->src[1]) && n->src[1]->arg.i < LONG_RUN;
        s = !brief && stride_of(t, n->src[0], range) == 1;
        break;
    }
    case OP_WHERE: s = stride_of(t, n->src[1], range); break;
    default: break;
    }
    return (int64_t)uop_memo_put(&t->r->strides, n, (uint64_t)s);
}

/* Adds bytes to the memory level that holds a tensor of this size. */
static void traffic(struct tally *t, double bytes, double size, bool write) {
    double l3 = model_value(t->m, MODEL_L3_SIZE), l2 = model_value(t->m, MODEL_L2_SIZE);
    if (size > l3 * rate.l3_tensor_share)
        *(write ? &t->work.dram_write : &t->work.dram_read) += bytes;
    else if (size > l2 * rate.l2_tensor_share)
        t->work.l3 += bytes;
    else
        t->work.l2 += bytes;
}

/* ---- contractions, and what a kernel may combine with one ------------------------------------------------------ */

/* Loads below n, not those of inner reductions. */
static void loads_below(const uop *n, uop_vec *out, struct arena *a, uint32_t *left) {
    if (!*left || n->op == OP_REDUCE || n->dt == DT_IDX) return;
    --*left;
    if (n->op == OP_LOAD) {
        vec_push(a, out, n);
        return;
    }
    for (uint32_t i = 0; i < n->nsrc; i++) loads_below(n->src[i], out, a, left);
}

/* The MUL of a sum of products, or NULL. */
static const uop *product_of(const uop *red) {
    const uop *m = red->src[0];
    if (red->arg.i != OP_ADD) return NULL;
    if (m->op == OP_CAST) m = m->src[0];
    if (m->op == OP_WHERE) m = m->src[1];
    return m->op == OP_MUL ? m : NULL;
}

/* graph_contraction of a kernel: each distinct element loaded is used at least CONTRACTION_REUSE times, and the contraction is
 * large enough for a blocked schedule. */
static bool is_contraction(struct tally *t, const uop *red) {
    const uop *m = product_of(red);
    if (!m) return false;
    uop_vec loads = {0};
    uint32_t left = LOADS_WALKED;
    loads_below(m, &loads, t->r->a, &left);
    double evals = distinct(free_of(&t->r->fr, red->src[0]), INFINITY);
    if (loads.n < 2 || evals < LEAST_BLOCKED) return false;
    for (uint32_t i = 0; i < loads.n; i++) {
        const uop *p = access_buf(loads.p[i]);
        double most = p->op == OP_STAGE ? INFINITY : (double)p->src[0]->hi;
        if (distinct(free_of(&t->r->fr, loads.p[i]), most) * CONTRACTION_REUSE > evals) return false;
    }
    return true;
}

/* The second GEMM of attention: a kept row times a matrix. */
static bool reads_row(struct tally *t, const uop *red) {
    uop_vec loads = {0};
    uint32_t left = LOADS_WALKED;
    loads_below(red->src[0], &loads, t->r->a, &left);
    for (uint32_t i = 0; i < loads.n; i++)
        if (access_buf(loads.p[i])->op == OP_STAGE) return true;
    return false;
}

bool mma_multiplies(const struct model *m, bool gpu, enum dtype dt, enum dtype sum) {
    bool byte = dt_is_int(dt) && dtype_info[dt].bytes == 1 && sum == DT_I32;
    if (gpu) return dt_is_float(dt) ? dtype_info[dt].bytes < 4 : byte;
    if (byte) return model_value(m, MODEL_MATRIX_I8) > model_value(m, MODEL_OPS_INT);
    return dt == DT_BF16 && model_value(m, MODEL_MATRIX_BF16) > model_value(m, MODEL_FLOPS_F32);
}

static bool mma_takes(const struct tally *t, enum dtype dt, enum dtype sum) {
    return mma_multiplies(t->m, t->gpu, dt, sum);
}

/* Loads below m of types that MMA instructions multiply; *all: of any type. */
static uint32_t narrow_loads(struct tally *t, const uop *m, uint32_t *all) {
    uop_vec loads = {0};
    uint32_t left = LOADS_WALKED, narrow = 0;
    loads_below(m, &loads, t->r->a, &left);
    for (uint32_t i = 0; i < loads.n; i++)
        narrow += mma_takes(t, (enum dtype)loads.p[i]->dt, (enum dtype)m->dt);
    *all = loads.n;
    return narrow;
}

static bool has_mma_operands(struct tally *t, const uop *m) {
    uint32_t all;
    return narrow_loads(t, m, &all) == all;
}

static bool trivial_operand(const uop *n, uint32_t budget) {
    if (n->op == OP_LOAD || n->op == OP_CONST || n->op == OP_VAR) return true;
    if (!budget || n->op == OP_REDUCE || is_special(n) || !op_is_pure((enum op)n->op)) return false;
    for (uint32_t i = 0; i < n->nsrc; i++)
        if (n->src[i]->dt != DT_IDX && n->src[i]->dt != DT_BOOL && !trivial_operand(n->src[i], budget - 1))
            return false;
    return true;
}

/* Does the reduction run inside the loop of another that has an axis which it does not depend on: a row sum in a column sum? Its
 * values would be scratch memory that the threads of a GPU read from each other. */
static bool is_row_in_columns(struct tally *t, const uop *red) {
    const uop_vec *f = free_of(&t->r->fr, red);
    bool inside = false;
    for (uint32_t i = 0; i < f->n; i++) {
        const uop *r = f->p[i];
        inside |= r->arg.range.kind == AX_REDUCE && !map_get(&t->r->row_ranges, r->id, NULL);
    }
    for (uint32_t i = 0; i < t->r->dims && inside; i++)
        if (t->r->dim[i]->op == OP_RANGE && !free_has(&t->r->fr, red, t->r->dim[i])) return true;
    return false;
}

/* Columns of a kept row's GEMM: those of dK and of dV are accumulators of the same threads. */
static double row_columns(struct tally *t, const uop *red) {
    const uop_vec *f = free_of(&t->r->fr, red);
    double n = 1;
    for (uint32_t i = 0; i < f->n; i++) {
        const uop *r = f->p[i];
        if (r->arg.range.kind != AX_REDUCE && !t->grid[r->arg.range.id]) n *= (double)r->src[0]->hi;
    }
    return n;
}

/* As its schedule pads them (gpu_attention.c): 160 columns take the registers of 192. */
static double whole_panels(double columns) { return ceil(columns / GPU_PANEL) * GPU_PANEL; }

/* A reduction that neither fills a kept row nor reads one: the sum of dO * O, which a streaming kernel has no threads for. */
static bool is_beside_rows(struct tally *t, const uop *red) {
    const uop_vec *f = free_of(&t->r->fr, red);
    for (uint32_t i = 0; i < f->n; i++)
        if (map_get(&t->r->row_ranges, f->p[i]->id, NULL)) return false;
    return !reads_row(t, red);
}

/* Do threads read each other's elements of a kept row? MMA instructions have it in registers, rounded, and multiply it by a narrow
 * operand (row statistics are fp32); FMAs would loop in one thread. */
static bool shares_row(struct tally *t, const uop *red) {
    const uop *m = product_of(red);
    uint32_t all;
    return reads_row(t, red) && row_columns(t, red) > 1 && !(m && narrow_loads(t, m, &all));
}

/* NULL, or why codegen has no fast schedule for this reduction. */
static const char *check_reduce(struct tally *t, const uop *red) {
    const uop_vec *f = free_of(&t->r->fr, red);
    bool skipped = false;
    for (uint32_t i = 0; i < t->r->dims; i++) {
        if (t->grid[i] || t->r->dim[i]->op != OP_RANGE) continue;
        if (!free_has(&t->r->fr, red, t->r->dim[i]))
            skipped = true;
        else if (skipped)
            return "a loop-invariant reduction inside a loop";
    }
    if (t->gpu && !t->rows && is_row_in_columns(t, red)) return "a row reduction inside a column reduction";
    if (t->gpu && t->rows && is_beside_rows(t, red)) return "a reduction beside rows that are kept";
    if (t->gpu && t->rows && shares_row(t, red)) return "a row that threads read from each other";
    if (!is_contraction(t, red)) return NULL;
    if (has_mma_operands(t, product_of(red))) map_put(&t->mma_products, product_of(red)->id, 1);
    if (++t->contractions > 1 && !t->rows) return "two contractions in one kernel";
    if (t->gpu && t->rows && reads_row(t, red)) t->row_columns += whole_panels(row_columns(t, red));
    if (t->row_columns > GPU_ROW_COLUMNS) return "sums of a row that no register file holds";
    for (uint32_t i = 0; i < f->n; i++) {
        if (f->p[i]->arg.range.kind == AX_REDUCE) {
            if (!map_get(&t->r->row_ranges, f->p[i]->id, NULL)) return "a contraction inside a reduction";
        } else if (!t->grid[f->p[i]->arg.range.id] && !reads_row(t, red))
            return "a contraction inside a row loop";
    }
    if (!trivial_operand(red->src[0], PROLOGUE_STEPS)) return "a contraction with an expensive prologue";
    return NULL;
}

/* Is it a sum of products of two operands, each with an axis of the grid that the other has not, over a long loop: a GEMM of any
 * width? */
static bool is_matrix_product(struct tally *t, const uop *red) {
    const uop *m = product_of(red);
    bool own[2] = {false, false};
    double fmas = distinct(free_of(&t->r->fr, red->src[0]), INFINITY);
    if (!m || fmas < GEMM_FMAS || fmas < GEMM_TERMS * distinct(free_of(&t->r->fr, red), INFINITY))
        return false;
    for (uint32_t i = 0; i < t->r->dims; i++) {
        if (!t->grid[i] || t->r->dim[i]->op != OP_RANGE) continue;
        bool in[2] = {free_has(&t->r->fr, m->src[0], t->r->dim[i]),
                      free_has(&t->r->fr, m->src[1], t->r->dim[i])};
        for (int k = 0; k < 2; k++) own[k] |= in[k] && !in[!k];
    }
    return own[0] && own[1];
}

/* Do both sum over the same ranges? */
static bool same_loops(struct tally *t, const uop *a, const uop *b) {
    const uop_vec *f = free_of(&t->r->fr, a->src[0]), *g = free_of(&t->r->fr, b->src[0]);
    uint32_t n = 0, m = 0;
    for (uint32_t i = 0; i < f->n; i++) {
        if (f->p[i]->arg.range.kind != AX_REDUCE) continue;
        n++;
        if (!free_has(&t->r->fr, b->src[0], f->p[i])) return false;
    }
    for (uint32_t i = 0; i < g->n; i++) m += g->p[i]->arg.range.kind == AX_REDUCE;
    return n == m;
}

/* GPU: a GEMM, however narrow, and a sum over other loops: threads have one loop after the other, and no schedule of a GEMM has both. */
static const char *check_sums(struct tally *t) {
    for (uint32_t i = 0; i < t->topo.n; i++) {
        const uop *a = t->topo.p[i];
        if (a->op != OP_REDUCE || !is_matrix_product(t, a)) continue;
        for (uint32_t k = 0; k < t->topo.n; k++) {
            const uop *b = t->topo.p[k];
            if (b->op == OP_REDUCE && b != a && !same_loops(t, a, b))
                return "a sum over other loops beside a GEMM";
        }
    }
    return NULL;
}

/* A scan is the only loop of its grid iteration. */
static const char *check_scan(struct tally *t, const uop *scan) {
    for (uint32_t i = 0; i < t->r->dims; i++)
        if (!t->grid[i] && t->r->dim[i]->op == OP_RANGE && t->r->dim[i] != scan->src[1])
            return "a scan inside another loop";
    return NULL;
}

/* Records effect e as user of the reductions in its body. One that runs inside a loop must have a single user, since its code is
 * emitted once. */
static const char *check_users(struct tally *t, const uop *e, struct map *user, struct map *seen) {
    uop_vec stack = {0};
    uint64_t by;
    bool binds = e->op == OP_REDUCE || e->op == OP_SCAN || e->op == OP_STAGE;
    for (uint32_t i = 0; i < (binds ? 1 : e->nsrc); i++) vec_push(t->r->a, &stack, e->src[i]);
    while (stack.n) {
        const uop *n = stack.p[--stack.n];
        uint64_t key = (uint64_t)e->id << 32 | n->id;
        if (!n->nsrc || map_get(seen, key, &by)) continue;
        map_put(seen, key, 1);
        if (n->op == OP_STAGE) continue;
        if (n->op != OP_REDUCE && n->op != OP_SCAN) {
            for (uint32_t i = 0; i < n->nsrc; i++) vec_push(t->r->a, &stack, n->src[i]);
            continue;
        }
        const uop_vec *f = free_of(&t->r->fr, n);
        bool inner = false;
        for (uint32_t i = 0; i < f->n; i++)
            inner |= f->p[i]->arg.range.kind == AX_REDUCE || !t->grid[f->p[i]->arg.range.id];
        if (inner && map_get(user, n->id, &by) && by != e->id) return "a reduction used by two loops";
        map_put(user, n->id, e->id);
    }
    return NULL;
}

static const char *check_nests(struct tally *t) {
    struct map user, seen;
    const char *why = NULL;
    uint32_t reductions = 0;
    for (uint32_t i = 0; i < t->topo.n; i++)
        reductions += t->topo.p[i]->op == OP_REDUCE || t->topo.p[i]->op == OP_SCAN;
    if (reductions < 2) return NULL;
    map_init(&user, t->r->a), map_init(&seen, t->r->a);
    for (uint32_t i = 0; i < t->topo.n && !why; i++) {
        const uop *n = t->topo.p[i];
        bool effect = n->op == OP_REDUCE || n->op == OP_SCAN || n->op == OP_STAGE || n->op == OP_STORE;
        if (effect || n->op == OP_STORE_ADD) why = check_users(t, n, &user, &seen);
    }
    return why;
}

/* Outputs of a kernel with kept rows must share one; otherwise they would only run one after the other. */
static const char *check_rows(struct tally *t, const uop *sink) {
    uint64_t *has = arena_array(t->r->a, uint64_t, t->r->ir->n), all = UINT64_MAX;
    uint32_t rows = 0;
    for (uint32_t i = 0; i < t->topo.n; i++) {
        const uop *n = t->topo.p[i];
        for (uint32_t k = 0; k < n->nsrc; k++) has[n->id] |= has[n->src[k]->id];
        if (n->op == OP_STAGE) has[n->id] |= 1ull << RG_MIN(rows++, 63);
    }
    for (uint32_t i = 0; i < sink->nsrc; i++) all &= has[sink->src[i]->id];
    return all ? NULL : "outputs that share no kept row";
}

/* ---- memory ----------------------------------------------------------------------------------------------------- */

static bool on_grid(const struct tally *t, const uop *range) {
    return range->arg.range.kind != AX_REDUCE && t->grid[range->arg.range.id];
}

struct buffer_traffic {
    const uop *buf;
    double elements, again; /* distinct, and reread within an iteration of the grid */
    double stored;          /* elements: no two stores have one in common */
    double footprint;       /* bytes that one iteration uses */
    bool load, store;
};
typedef VEC(struct buffer_traffic) traffic_vec;

/* Elements that the threads of a block read together: those of loops that follow each other in memory. Where they fill a warp the
 * block's other loops come along, piece by piece (the images of a channel). */
static double block_row(struct tally *t, const uop *index, const uop_vec *f) {
    double run = 1, terms = 1, before = 0;
    for (uint32_t i = 0; i < f->n; i++)
        if (!on_grid(t, f->p[i])) terms *= extent(f->p[i]);
    while (run > before) {
        before = run;
        for (uint32_t i = 0; i < f->n; i++) {
            uop_memo_clear(&t->r->strides);
            bool next = !on_grid(t, f->p[i]) && extent(f->p[i]) > 1;
            if (next && (double)stride_of(t, index->src[1], f->p[i]) == run) run *= extent(f->p[i]);
        }
    }
    return run >= WARP ? terms : run >= LONG_RUN ? run : 0;
}

static void touch(struct tally *t, traffic_vec *v, const uop *index, bool store) {
    const uop *p = index->src[0];
    const uop_vec *f = free_of(&t->r->fr, index);
    double n = distinct(f, (double)p->src[0]->hi), all = times(t, f), rows = 1;
    for (uint32_t i = 0; i < f->n; i++)
        if (on_grid(t, f->p[i])) rows *= extent(f->p[i]);
    uint32_t k = 0;
    while (k < v->n && v->p[k].buf != p) k++;
    if (k == v->n) vec_push(t->r->a, v, ((struct buffer_traffic){.buf = p}));
    struct buffer_traffic *x = &v->p[k];
    if (store) {
        x->store = true;
        x->stored = RG_MIN(x->stored + n, (double)p->src[0]->hi);
    } else {
        if (x->load) x->again += all; /* another pass */
        x->again += RG_MAX(all - n, 0);
        x->load = true;
    }
    bool inner = false, along = false, across = false;
    double blocks = t->grid_all; /* of whole rows: grid iterations that share them */
    for (uint32_t i = 0; i < f->n; i++) {
        bool grid = on_grid(t, f->p[i]);
        inner |= !grid;
        uop_memo_clear(&t->r->strides);
        if (extent(f->p[i]) < LONG_RUN || stride_of(t, index->src[1], f->p[i]) != 1) continue;
        *(grid ? &across : &along) = true;
        if (grid) blocks = t->grid_all / extent(f->p[i]);
    }
    if (t->gpu) t->row = RG_MAX(t->row, block_row(t, index, f));
    double size = dtype_info[p->dt].bytes;
    if (store && !along && !across && n / rows * LINE > model_value(t->m, MODEL_L1_SIZE))
        t->scattered += n * (LINE - size); /* a line is gone before its next element is stored */
    if (!store && inner) t->terms = RG_MAX(t->terms, n / rows), t->by_columns |= across && !along;
    if (inner && n * size > model_value(t->m, MODEL_L2_SIZE)) {
        if (along) t->along += n * size; /* where the grid repeats it, vectors across broadcast it */
        t->crossed |= !along;
        if (across && !along) t->across += all * size;
        if (across && !along && blocks < FEW_BLOCKS) t->down += n * size;
    }
    x->elements = RG_MAX(x->elements, store ? x->stored : n);
    x->footprint = RG_MAX(x->footprint, n / rows * size);
}

/* Is a term of the address a number that was computed or loaded, not an index, and differs along the range? */
static bool has_number(struct tally *t, const uop *n, const uop *range) {
    if (!free_has(&t->r->fr, n, range)) return false;
    if (n->op == OP_CAST && n->dt == DT_IDX) return n->src[0]->dt != DT_IDX;
    for (uint32_t i = 0; i < n->nsrc && (n->op == OP_ADD || n->op == OP_MUL); i++)
        if (has_number(t, n->src[i], range)) return true;
    return false;
}

/* Does no vector have consecutive elements? Then its lanes are loaded one by one. */
static bool is_gathered(struct tally *t, const uop *index) {
    const uop_vec *f = free_of(&t->r->fr, index);
    bool number = false;
    for (uint32_t i = 0; i < f->n; i++) {
        uop_memo_clear(&t->r->strides);
        if (stride_of(t, index->src[1], f->p[i]) == 1 && extent(f->p[i]) >= LONG_RUN) return false;
        number |= has_number(t, index->src[1], f->p[i]);
    }
    return number;
}

static void price_memory(struct tally *t, const traffic_vec *v) {
    double l1 = model_value(t->m, MODEL_L1_SIZE), l2 = model_value(t->m, MODEL_L2_SIZE);
    for (uint32_t i = 0; i < v->n; i++) {
        const struct buffer_traffic *x = &v->p[i];
        double size = dtype_info[x->buf->dt].bytes, bytes = x->elements * size,
               whole = (double)x->buf->src[0]->hi * size;
        t->price.reads += x->load, t->price.writes += x->store;
        t->price.bytes += bytes * (x->load + x->store);
        if (x->load) traffic(t, bytes, whole, false);
        if (x->store) traffic(t, bytes, whole, true);
        if (t->contractions) continue; /* blocked: operands are reread from cache and registers */
        double again = x->again * size;
        if (x->footprint <= l1 * rate.l1_share)
            t->work.l1 += again;
        else if (x->footprint <= l2 * rate.l2_share)
            t->work.l2 += again;
        else
            traffic(t, again, whole, false);
    }
}

/* ---- the price ---------------------------------------------------------------------------------------------------- */

/* A predicate of indices alone: the padding of a window. */
static bool is_predicate(const uop *n, uint32_t depth) {
    if (n->dt == DT_IDX) return true;
    if (n->dt != DT_BOOL || n->op == OP_LOAD || !depth) return false;
    for (uint32_t i = 0; i < n->nsrc; i++)
        if (!is_predicate(n->src[i], depth - 1)) return false;
    return true;
}

/* Where MMA instructions multiply, loads to shared memory are predicated: once for an element, not for each term. */
static bool is_padding(const uop *n) {
    return n->op == OP_WHERE && n->dt != DT_IDX ? is_predicate(n->src[0], PREDICATE_DEPTH)
                                                : n->dt == DT_BOOL && is_predicate(n, PREDICATE_DEPTH);
}

/* RESIDENT: of the passes over a row that stays in cache, only the first computes a math function. */
static bool computed_before(struct tally *t, const uop *n, struct map *seen) {
    uint64_t id = n->id < t->r->node_of.n ? t->r->node_of.p[n->id] : 0, by;
    if (t->columns || t->loops > 1 || id >> 32 != t->r->epoch || !is_special(n)) return false;
    if (map_get(seen, id, &by)) return true;
    map_put(seen, id, n->id);
    return false;
}

static void price_nodes(struct tally *t, traffic_vec *mem) {
    struct map seen;
    uint64_t by;
    map_init(&seen, t->r->a);
    for (uint32_t i = 0; i < t->topo.n; i++) {
        const uop *n = t->topo.p[i];
        const uop_vec *f = free_of(&t->r->fr, n);
        bool row = n->op == OP_LOAD && access_buf(n)->op == OP_STAGE;
        if (row || n->op == OP_STAGE) { /* scratch: stays in L1 */
            t->work.l1 += dtype_info[n->dt].bytes * times(t, free_of(&t->r->fr, row ? n : n->src[0]));
        } else if (n->op == OP_LOAD) {
            touch(t, mem, n->src[0], false);
            double w = !t->gpu && is_gathered(t, n->src[0]) ? W_GATHER : t->contractions ? 0 : 1;
            *work_of(&t->work, (enum dtype)n->dt) += w * times(t, f); /* contractions: from registers */
        } else if (n->op == OP_STORE || n->op == OP_STORE_ADD) {
            touch(t, mem, n->src[0], true);
            if (n->op == OP_STORE_ADD) touch(t, mem, n->src[0], false);
            *work_of(&t->work, (enum dtype)n->src[1]->dt) += W_SIMPLE * times(t, f);
        } else if (n->op == OP_REDUCE || n->op == OP_SCAN) {
            double k = times(t, free_of(&t->r->fr, n->src[0]));
            bool fused = n->op == OP_REDUCE && n->arg.i == OP_ADD && n->src[0]->op == OP_MUL;
            *work_of(&t->work, (enum dtype)n->dt) += k * (fused ? 0 : n->op == OP_SCAN ? W_SCAN : W_SIMPLE);
        } else if (n->op == OP_MUL && map_get(&t->mma_products, n->id, &by)) {
            *(n->dt == DT_I32 ? &t->work.mat_i8 : &t->work.mat_bf16) += W_SIMPLE * times(t, f);
        } else if (t->contractions && n->op == OP_CAST && n->src[0]->op == OP_LOAD &&
                   (t->gpu || mma_takes(t, (enum dtype)n->src[0]->dt, (enum dtype)n->dt))) {
            /* free: tiles hold what was loaded, and MMA instructions take narrow operands */
        } else if (t->gpu && t->mma_products.n && is_padding(n)) {
            /* free */
        } else {
            double w = t->gpu && t->contractions ? epilogue_weight(n) : op_weight(n);
            if (w > 0 && !computed_before(t, n, &seen))
                *work_of(&t->work, (enum dtype)n->dt) += w * times(t, f);
        }
    }
}

/* How many SMs of a GPU a kernel keeps busy. An iteration of the grid is a thread, or a block of threads where loops run along
 * memory, or no access does and reductions are long: COOP joins their axes. */
static double busy_sms(const struct tally *t) {
    bool joined = !t->contractions && !t->by_columns && t->terms >= COOP_TERMS;
    double loop = joined ? RG_MAX(t->row, t->terms) : t->row;
    double block = RG_MAX(RG_MIN(loop / THREAD_ELEMENTS, BLOCK_THREADS), 1);
    return t->grid_all * block / THREADS_PER_SM;
}

/* Seconds of a contraction by tensor cores, or of any on a CPU: its epilogue overlaps with the main loops of few other blocks, or
 * of none on the same core, so the times of the units add. */
static double unoverlapped(const struct model_time *t, bool gpu) {
    return t->by[UNIT_LAUNCH] + t->by[UNIT_MATRIX] + t->by[UNIT_VECTOR] + t->by[UNIT_DRAM] +
           (gpu ? 0 : t->by[UNIT_L3]);
}

/* Is a result computed without any reduction, beside those of a contraction? Schedules of MMA instructions store what they sum. */
static bool has_result_beside(struct tally *t, const uop *sink) {
    for (uint32_t i = 0; i < sink->nsrc && sink->nsrc > 1; i++) {
        uop_vec topo = {0};
        bool reduces = false;
        uop_topo(t->r->a, &sink->src[i]->src[1], 1, &topo);
        for (uint32_t k = 0; k < topo.n; k++) reduces |= topo.p[k]->op == OP_REDUCE;
        if (!reduces) return true;
    }
    return false;
}

static bool has_contraction(struct tally *t, const uop *n, uint32_t depth) {
    if (n->op == OP_REDUCE) return is_contraction(t, n);
    if (!depth || n->op == OP_LOAD || n->dt == DT_IDX) return false;
    for (uint32_t i = 0; i < n->nsrc; i++)
        if (has_contraction(t, n->src[i], depth - 1)) return true;
    return false;
}

/* A concatenation's term that is a contraction: WHERE(indices, .., 0), to which the other parts are added. No tile has it. */
static bool is_part(struct tally *t, const uop *n) {
    return n->op == OP_WHERE && is_predicate(n->src[0], PREDICATE_DEPTH) && graph_is_zero(n->src[2]) &&
           has_contraction(t, n->src[1], PREDICATE_DEPTH);
}

static bool concatenates_contraction(struct tally *t, const uop *n) {
    return n->op == OP_ADD && n->dt != DT_IDX && (is_part(t, n->src[0]) || is_part(t, n->src[1]));
}

static const char *check_kernel(struct tally *t, const uop *sink) {
    const char *why = NULL;
    for (uint32_t i = 0; i < t->topo.n && !why; i++) {
        if (t->topo.p[i]->op == OP_REDUCE) why = check_reduce(t, t->topo.p[i]);
        if (t->topo.p[i]->op == OP_SCAN) why = check_scan(t, t->topo.p[i]);
    }
    for (uint32_t i = 0; i < t->topo.n && !why && t->gpu && t->contractions && !t->rows; i++)
        if (concatenates_contraction(t, t->topo.p[i])) why = "a contraction in a concatenation";
    if (!why) why = check_nests(t);
    if (!why && t->gpu && !t->rows) why = check_sums(t);
    if (!why && t->rows) why = check_rows(t, sink);
    if (!why && t->gpu && t->contractions && has_result_beside(t, sink))
        why = "a result beside a contraction";
    return why;
}

/* Small kernels stay on one thread. */
static struct model_time best_time(const struct tally *t) {
    struct model_work alone = t->work;
    alone.threads = 1;
    struct model_time all = model_time(t->m, &t->work), one = model_time(t->m, &alone);
    return one.seconds < all.seconds ? one : all;
}

struct kernel_price price_kernel(struct rangeify *r, const uop *sink, const struct model *m) {
    struct tally t = {
        .r = r, .m = m, .grid_all = 1, .gpu = model_value(m, MODEL_VEC_BYTES) > GPU_VECTOR_BYTES};
    traffic_vec mem = {0};
    map_init(&t.mma_products, r->a);
    uop_topo(r->a, &sink, 1, &t.topo);
    rangeify_grid(r, &t.topo, t.grid);
    for (uint32_t i = 0; i < r->dims; i++) {
        if (t.grid[i]) t.grid_all *= extent(r->dim[i]);
        if (r->dim[i]->op == OP_RANGE) t.columns = t.grid[i], t.loops += !t.grid[i];
    }
    t.rows = r->row_reads.n > 0;
    if (!r->illegal) r->illegal = check_kernel(&t, sink);
    if (!r->illegal) price_nodes(&t, &mem);
    if (mem.n > KERNEL_BUFFERS) r->illegal = "too many buffers for one kernel";
    if (r->illegal) return (struct kernel_price){.seconds = INFINITY};
    price_memory(&t, &mem);
    if (!t.contractions) { /* vectors run one way: the other accesses gather */
        traffic(&t, rate.gather * RG_MIN(t.across, t.along), INFINITY, false);
        if (!t.gpu) traffic(&t, rate.column * t.down, INFINITY, false);
        if (!t.gpu) t.work.l3 += t.scattered;
    }
    if (t.gpu) t.grid_all = busy_sms(&t);
    bool serial = !t.gpu && sink->src[0]->op == OP_STORE_ADD;
    if (!t.gpu && !t.contractions && t.crossed) t.grid_all /= model_value(m, MODEL_VEC_BYTES) / sizeof(float);
    t.work.threads = serial ? 1 : (int)RG_MIN(model_value(m, MODEL_CORES), RG_MAX(t.grid_all, 1));
    struct model_time time = best_time(&t);
    bool adds = t.gpu ? t.work.mat_bf16 > 0 : t.contractions > 0;
    t.price.seconds = adds ? unoverlapped(&time, t.gpu) : time.seconds;
    t.price.limit = time.limit;
    r->g->visits += r->visited + r->strides.visits;
    r->strides.visits = 0;
    return t.price;
}
