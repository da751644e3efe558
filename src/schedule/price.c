/* price.c: how long a kernel will take, from its raw form, and whether it is one that can be made fast.
 *
 * Work is counted where lowering puts it: a value is evaluated once for each iteration of the loops from the outermost
 * to the deepest that it depends on. Operations have weights in units of half a fused FMA, measured on the
 * vector functions that Ridge generates (docs/math.md). Bytes are those of the distinct elements, at the rate of the
 * memory that holds a tensor of that size; reading a row again costs the rate of the cache that a row fits in, and what
 * several passes over a row share is computed once, because the opt RESIDENT keeps it.
 * Tests: tests/unit/schedule.c (order of plans), docs/performance.md (predicted against measured) */
#include <math.h>

#include "schedule/internal.h"

/* ---- weights --------------------------------------------------------------------------------------------- */

static double op_weight(const uop *n) {
    switch (n->op) {
    case OP_EXP:
    case OP_EXP2:
    case OP_SIGMOID: return 56;
    case OP_LOG:
    case OP_LOG2:
    case OP_LOG10:
    case OP_TANH: return 70;
    case OP_SIN:
    case OP_COS:
    case OP_ERF: return 90;
    case OP_THREEFRY: return 2 * THREEFRY_OPS;
    case OP_TAN: return 220;
    case OP_POW: return 320;
    case OP_FDIV:
    case OP_RECIP:
    case OP_SQRT: return 24;
    case OP_RSQRT: return 48;
    case OP_IDIV:
    case OP_MOD: return n->dt == DT_IDX || uop_is_const(n->src[1]) ? 6 : 24;
    case OP_CAST: return n->dt == DT_BF16 || n->src[0]->dt == DT_BF16 ? 6 : n->dt == DT_IDX ? 0 : 2;
    case OP_BITCAST: return 0;
    default: return op_is_pure((enum op)n->op) && n->dt != DT_IDX ? 2 : 0;
    }
}

/* After a product on a GPU, where erf with 1 added to it is one power of two (rules/fuse_math.rules). */
static double finish_weight(const uop *n) { return n->op == OP_ERF ? 26 : op_weight(n); }

static bool is_special(const uop *n) { return op_weight(n) > 30; }

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
    bool gpu;
    struct map products; /* GPU: multiplications that MMA instructions do */
    bool rows;           /* keeps rows of values that are never stored */
    uint32_t loops;      /* axes of a row; of a row with several nothing is kept either */
    bool columns; /* vectors run along the grid, loops go down columns: nothing is kept from pass to pass */
    double across,
        along;   /* bytes of accesses that run through memory along the grid, along loops and reductions */
    double row;  /* values of the longest loop or reduction along memory */
    double down; /* bytes from memory of which the cores walk down columns, each its own: pieces of rows */
};

static double extent(const uop *range) { return (double)range->src[0]->hi; }

/* How often lowered code evaluates something inside of these ranges. */
static double times(const struct tally *t, const uop_vec *f) {
    bool inner = false;
    int deepest = -1, loop = -1; /* of the grid; of the loops, which stand inside of all of the grid */
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

/* How far the address moves with the range; 0: not at all, or by no constant. */
static int64_t stride_of(struct tally *t, const uop *n, const uop *range) {
    if (n == range) return 1;
    if (!free_has(&t->r->fr, n, range)) return 0;
    int64_t a = n->nsrc > 0 ? stride_of(t, n->src[0], range) : 0,
            b = n->nsrc > 1 ? stride_of(t, n->src[1], range) : 0;
    switch (n->op) {
    case OP_ADD: return a + b;
    case OP_SUB: return a - b;
    case OP_MUL: return uop_is_const(n->src[1]) ? a * n->src[1]->arg.i : 0;
    case OP_MOD: return a == 1 ? 1 : 0;
    case OP_WHERE: return stride_of(t, n->src[1], range);
    default: return 0;
    }
}

/* Bytes that come from where a tensor of this size lives. */
static void traffic(struct tally *t, double bytes, double size, bool write) {
    double l3 = model_value(t->m, MODEL_L3_SIZE), l2 = model_value(t->m, MODEL_L2_SIZE);
    if (size > l3 / 8) /* what comes between makes it leave the cache */
        *(write ? &t->work.dram_write : &t->work.dram_read) += bytes;
    else if (size > l2 / 2)
        t->work.l3 += bytes;
    else
        t->work.l2 += bytes;
}

/* ---- what a contraction is, and what may stand beside it ------------------------------------------------------- */

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

/* The multiplication that a sum of products adds up, or NULL. */
static const uop *product_of(const uop *red) {
    const uop *m = red->src[0];
    if (red->arg.i != OP_ADD) return NULL;
    if (m->op == OP_CAST) m = m->src[0];
    if (m->op == OP_WHERE) m = m->src[1];
    return m->op == OP_MUL ? m : NULL;
}

static bool is_contraction(struct tally *t, const uop *red) {
    const uop *m = product_of(red);
    if (!m) return false;
    uop_vec loads = {0};
    uint32_t left = 64;
    loads_below(m, &loads, t->r->a, &left);
    double evals = distinct(free_of(&t->r->fr, red->src[0]), INFINITY);
    if (loads.n < 2 || evals < 512) return false;
    for (uint32_t i = 0; i < loads.n; i++) {
        const uop *p = access_buf(loads.p[i]);
        double most = p->op == OP_STAGE ? INFINITY : (double)p->src[0]->hi;
        if (distinct(free_of(&t->r->fr, loads.p[i]), most) * 4 > evals) return false;
    }
    return true;
}

/* The second product of attention: a kept row by a matrix. */
static bool reads_row(struct tally *t, const uop *red) {
    uop_vec loads = {0};
    uint32_t left = 64;
    loads_below(red->src[0], &loads, t->r->a, &left);
    for (uint32_t i = 0; i < loads.n; i++)
        if (access_buf(loads.p[i])->op == OP_STAGE) return true;
    return false;
}

/* A product of halves: MMA instructions do it. */
static bool is_of_halves(struct tally *t, const uop *m) {
    uop_vec loads = {0};
    uint32_t left = 64, halves = 0;
    loads_below(m, &loads, t->r->a, &left);
    for (uint32_t i = 0; i < loads.n; i++)
        halves += dt_is_float((enum dtype)loads.p[i]->dt) && dtype_info[loads.p[i]->dt].bytes < 4;
    return halves == loads.n;
}

static bool trivial_operand(const uop *n, uint32_t budget) {
    if (n->op == OP_LOAD || n->op == OP_CONST || n->op == OP_VAR) return true;
    if (!budget || n->op == OP_REDUCE || is_special(n) || !op_is_pure((enum op)n->op)) return false;
    for (uint32_t i = 0; i < n->nsrc; i++)
        if (n->src[i]->dt != DT_IDX && n->src[i]->dt != DT_BOOL && !trivial_operand(n->src[i], budget - 1))
            return false;
    return true;
}

/* NULL, or why this reduction does not fit the classes of kernels that are known to be fast. */
static const char *check_reduce(struct tally *t, const uop *red) {
    const uop_vec *f = free_of(&t->r->fr, red);
    bool skipped = false;
    for (uint32_t i = 0; i < t->r->dims; i++) {
        if (t->grid[i] || t->r->dim[i]->op != OP_RANGE) continue;
        if (!free_has(&t->r->fr, red, t->r->dim[i]))
            skipped = true;
        else if (skipped)
            return "a reduction inside a loop that it does not depend on";
    }
    if (!is_contraction(t, red)) return NULL;
    if (t->gpu && is_of_halves(t, product_of(red))) map_put(&t->products, product_of(red)->id, 1);
    if (++t->contractions > 1 && !t->rows) return "two contractions in one kernel";
    for (uint32_t i = 0; i < f->n; i++) {
        if (f->p[i]->arg.range.kind == AX_REDUCE) {
            if (!map_get(&t->r->row_ranges, f->p[i]->id, NULL)) return "a contraction inside a reduction";
        } else if (!t->grid[f->p[i]->arg.range.id] && !reads_row(t, red))
            return "a contraction inside a row loop";
    }
    if (!trivial_operand(red->src[0], 4)) return "work that a contraction would repeat";
    return NULL;
}

/* A running sum is the only loop of its grid iteration. */
static const char *check_scan(struct tally *t, const uop *scan) {
    for (uint32_t i = 0; i < t->r->dims; i++)
        if (!t->grid[i] && t->r->dim[i]->op == OP_RANGE && t->r->dim[i] != scan->src[1])
            return "a running sum inside another loop";
    return NULL;
}

/* Reductions that stand in the body of effect e, each once: those that run inside a loop must have one user, since code
 * for them is written once. */
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
        if (inner && map_get(user, n->id, &by) && by != e->id) return "a reduction inside two loops";
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

/* Kept rows are what the outputs of such a kernel have in common; without one they would only run one after the other. */
static const char *check_rows(struct tally *t, const uop *sink) {
    uint64_t *has = arena_array(t->r->a, uint64_t, t->r->ir->n), all = UINT64_MAX;
    uint32_t rows = 0;
    for (uint32_t i = 0; i < t->topo.n; i++) {
        const uop *n = t->topo.p[i];
        for (uint32_t k = 0; k < n->nsrc; k++) has[n->id] |= has[n->src[k]->id];
        if (n->op == OP_STAGE) has[n->id] |= 1ull << RG_MIN(rows++, 63);
    }
    for (uint32_t i = 0; i < sink->nsrc; i++) all &= has[sink->src[i]->id];
    return all ? NULL : "outputs that share no row";
}

/* ---- memory ----------------------------------------------------------------------------------------------------- */

struct buffer_traffic {
    const uop *buf;
    double elements, again; /* distinct, and read again within an iteration of the grid */
    double footprint;       /* bytes of it that one iteration uses */
    bool load, store;
};
typedef VEC(struct buffer_traffic) touched_vec;

static void touch(struct tally *t, touched_vec *v, const uop *index, bool store) {
    const uop *p = index->src[0];
    const uop_vec *f = free_of(&t->r->fr, index);
    double n = distinct(f, (double)p->src[0]->hi), all = times(t, f), rows = 1;
    for (uint32_t i = 0; i < f->n; i++)
        if (f->p[i]->arg.range.kind != AX_REDUCE && t->grid[f->p[i]->arg.range.id]) rows *= extent(f->p[i]);
    uint32_t k = 0;
    while (k < v->n && v->p[k].buf != p) k++;
    if (k == v->n) vec_push(t->r->a, v, ((struct buffer_traffic){.buf = p}));
    struct buffer_traffic *x = &v->p[k];
    if (store) {
        x->store = true;
    } else {
        if (x->load) x->again += all; /* another pass */
        x->again += RG_MAX(all - n, 0);
        x->load = true;
    }
    bool inner = false, along = false, across = false;
    double blocks = t->grid_all; /* of whole rows */
    for (uint32_t i = 0; i < f->n; i++) {
        bool grid = f->p[i]->arg.range.kind != AX_REDUCE && t->grid[f->p[i]->arg.range.id];
        inner |= !grid;
        if (extent(f->p[i]) < 16 || stride_of(t, index->src[1], f->p[i]) != 1) continue;
        *(grid ? &across : &along) = true;
        if (grid) blocks = t->grid_all / extent(f->p[i]);
        if (!grid) t->row = RG_MAX(t->row, extent(f->p[i]));
    }
    if (inner && n * dtype_info[p->dt].bytes > model_value(t->m, MODEL_L2_SIZE)) {
        if (along) t->along += all * dtype_info[p->dt].bytes;
        if (across && !along) t->across += all * dtype_info[p->dt].bytes;
        if (across && !along && blocks < 8 && n * dtype_info[p->dt].bytes > model_value(t->m, MODEL_L3_SIZE))
            t->down += n * dtype_info[p->dt].bytes;
    }
    x->elements = RG_MAX(x->elements, n);
    x->footprint = RG_MAX(x->footprint, n / rows * dtype_info[p->dt].bytes);
}

static void price_memory(struct tally *t, const touched_vec *v) {
    double l1 = model_value(t->m, MODEL_L1_SIZE), l2 = model_value(t->m, MODEL_L2_SIZE);
    for (uint32_t i = 0; i < v->n; i++) {
        const struct buffer_traffic *x = &v->p[i];
        double size = dtype_info[x->buf->dt].bytes, bytes = x->elements * size,
               whole = (double)x->buf->src[0]->hi * size;
        t->price.reads += x->load, t->price.writes += x->store;
        t->price.bytes += bytes * (x->load + x->store);
        if (x->load) traffic(t, bytes, whole, false);
        if (x->store) traffic(t, bytes, whole, true);
        if (t->contractions) continue; /* blocked: operands come from cache and registers */
        double again = x->again * size;
        if (x->footprint <= l1 / 2)
            t->work.l1 += again;
        else if (x->footprint <= l2 * 0.75)
            t->work.l2 += again;
        else
            traffic(t, again, whole, false);
    }
}

/* ---- the price ---------------------------------------------------------------------------------------------------- */

/* Of the passes over a row that stays in cache, the one that computes it first pays. */
static bool computed_before(struct tally *t, const uop *n, struct map *seen) {
    uint64_t id = n->id < t->r->node_of.n ? t->r->node_of.p[n->id] : 0, by;
    if (t->columns || t->loops > 1 || id >> 32 != t->r->epoch || !is_special(n)) return false;
    if (map_get(seen, id, &by)) return true;
    map_put(seen, id, n->id);
    return false;
}

static void price_nodes(struct tally *t, touched_vec *mem) {
    struct map seen;
    uint64_t by;
    map_init(&seen, t->r->a);
    for (uint32_t i = 0; i < t->topo.n; i++) {
        const uop *n = t->topo.p[i];
        const uop_vec *f = free_of(&t->r->fr, n);
        bool row = n->op == OP_LOAD && access_buf(n)->op == OP_STAGE;
        if (row || n->op == OP_STAGE) { /* scratch: it stays in the nearest cache */
            t->work.l1 += dtype_info[n->dt].bytes * times(t, free_of(&t->r->fr, row ? n : n->src[0]));
        } else if (n->op == OP_LOAD) {
            touch(t, mem, n->src[0], false);
            if (!t->contractions)
                *work_of(&t->work, (enum dtype)n->dt) += times(t, f); /* else from registers */
        } else if (n->op == OP_STORE || n->op == OP_STORE_ADD) {
            touch(t, mem, n->src[0], true);
            if (n->op == OP_STORE_ADD) touch(t, mem, n->src[0], false);
            *work_of(&t->work, (enum dtype)n->src[1]->dt) += 2 * times(t, f);
        } else if (n->op == OP_REDUCE || n->op == OP_SCAN) {
            double k = times(t, free_of(&t->r->fr, n->src[0]));
            bool fused = n->op == OP_REDUCE && n->arg.i == OP_ADD && n->src[0]->op == OP_MUL;
            *work_of(&t->work, (enum dtype)n->dt) += k * (fused ? 0 : n->op == OP_SCAN ? 8 : 2);
        } else if (n->op == OP_MUL && map_get(&t->products, n->id, &by)) {
            t->work.mat_bf16 += 2 * times(t, f);
        } else if (t->gpu && t->contractions && n->op == OP_CAST && n->src[0]->op == OP_LOAD) {
            /* tiles hold what was loaded, and MMA instructions take halves as they are */
        } else {
            double w = t->gpu && t->contractions ? finish_weight(n) : op_weight(n);
            if (w > 0 && !computed_before(t, n, &seen))
                *work_of(&t->work, (enum dtype)n->dt) += w * times(t, f);
        }
    }
}

/* A GPU, whose vectors are warps, hides the time of memory behind many threads: a SM wants a thousand. A thread
 * is one iteration of the grid; where loops run along memory a block of threads is, each with four values or more. How many
 * SMs that keeps busy. */
static double busy(const struct tally *t) {
    enum { THREADS_EACH = 1024, BLOCK_MOST = 512 };
    return t->grid_all * RG_MAX(RG_MIN(t->row / 4, BLOCK_MOST), 1) / THREADS_EACH;
}

/* A product by MMA instructions leaves little for memory to hide behind: what its epilogue reads, computes and writes comes
 * after the sums, while the tiles of few other blocks are being summed. Units work one after the other, near enough. */
static double in_turn(const struct model_time *t) {
    return t->by[UNIT_LAUNCH] + t->by[UNIT_MATRIX] + t->by[UNIT_VECTOR] + t->by[UNIT_DRAM];
}

struct kernel_price price_kernel(struct rangeify *r, const uop *sink, const struct model *m) {
    struct tally t = {.r = r, .m = m, .grid_all = 1, .gpu = model_value(m, MODEL_VEC_BYTES) > 64};
    touched_vec mem = {0};
    map_init(&t.products, r->a);
    uop_topo(r->a, &sink, 1, &t.topo);
    rangeify_grid(r, &t.topo, t.grid);
    for (uint32_t i = 0; i < r->dims; i++)
        if (t.grid[i]) t.grid_all *= extent(r->dim[i]);
    for (uint32_t i = 0; i < r->dims; i++)
        if (r->dim[i]->op == OP_RANGE) t.columns = t.grid[i], t.loops += !t.grid[i];
    t.rows = r->row_reads.n > 0;
    for (uint32_t i = 0; i < t.topo.n && !r->illegal; i++) {
        if (t.topo.p[i]->op == OP_REDUCE) r->illegal = check_reduce(&t, t.topo.p[i]);
        if (t.topo.p[i]->op == OP_SCAN) r->illegal = check_scan(&t, t.topo.p[i]);
    }
    if (!r->illegal) r->illegal = check_nests(&t);
    if (!r->illegal && t.rows) r->illegal = check_rows(&t, sink);
    if (!r->illegal) price_nodes(&t, &mem);
    if (mem.n > 62) r->illegal = "too many buffers for one kernel";
    if (r->illegal) return (struct kernel_price){.seconds = INFINITY};
    price_memory(&t, &mem);
    if (!t.contractions)
        traffic(&t, 6 * RG_MIN(t.across, t.along), INFINITY,
                false); /* vectors run one way: the others gather */
    double cores = model_value(m, MODEL_CORES);
    if (!t.gpu && !t.contractions)
        traffic(&t, 0.4 * t.down, INFINITY, false); /* 50 GB/s where whole rows have 75 */
    if (t.gpu) t.grid_all = busy(&t);
    bool serial = !t.gpu && sink->src[0]->op == OP_STORE_ADD;
    t.work.threads = serial ? 1 : (int)RG_MIN(cores, RG_MAX(t.grid_all, 1));
    struct model_time time = model_time(m, &t.work);
    struct model_work alone = t.work;
    alone.threads = 1; /* small kernels stay on one thread */
    struct model_time one = model_time(m, &alone);
    if (one.seconds < time.seconds) time = one;
    t.price.seconds = t.gpu && t.work.mat_bf16 > 0 ? in_turn(&time) : time.seconds;
    t.price.limit = time.limit;
    return t.price;
}
