/* threads.c: GPU kernels. Where the opt THREAD made axes threads of a block, the loop tree becomes a program
 * that every thread runs:
 *
 *     FOR grid.. : FOR thread (kind THREAD): body
 *
 * THREAD ranges  digits of threadIdx, outer axes first.
 * COPY ranges    of a statement that fills a shared tile: its elements are numbered in the order of global memory and
 *                distributed round-robin, so neighbouring threads copy neighbours (coalesced).
 * idle threads   a store that does not depend on a THREAD range, and what is computed for such stores alone, is done by
 *                the first thread along it: the others only hold partial sums.
 * BARRIERs       stand between a thread's write and another's read since the last one, or a read and a write; around a
 *                loop also between its end and its next iteration. A loop of pipeline.c has its own.
 *
 * Requires: tree_build. Gives: one THREAD range, no COPY range. ref/linear.c runs such programs and finds races.
 * Tests: tests/unit/gpu_threads.c */
#include "codegen/internal.h"

/* Rounds of a fill that are unrolled; of a loop; bytes that a thread has in flight in them. */
enum { ROUNDS_MAX = 16, LOOP_ROUNDS_MAX = 4, BYTES_MAX = 256, SHARED_TILES_MAX = 64 };
enum { PRODUCER_ROUNDS = 8, PRODUCER_BYTES = 384 }; /* the same of producer threads */

struct thread_cx {
    struct sched *s;
    struct ir *ir;
    struct rw *rw;
    struct arena *a;
    struct free_ranges fr;
    const uop *thread;          /* threadIdx */
    uop_vec lane, digit, first; /* THREAD ranges and their values; the first of each class */
    /* ids of accumulators that more than idle statements read, along each of `first` */
    struct map busy;
    uop_vec shared;    /* LOCALs */
    const uop *filler; /* index of a thread among those that fill tiles, and how many there are */
    int64_t fillers;
    /* unrolled rounds of a loop, bytes of registers that they may need */
    int64_t unroll_max, bytes;
    uint32_t rounds;
};

/* ---- threads ---------------------------------------------------------------------------------------- */

static const uop *idx(struct thread_cx *b, int64_t v) { return uop_idx(b->ir, v); }

static const uop *digit_of(struct thread_cx *b, const uop *x, int64_t stride, int64_t n) {
    return rw2(b->rw, OP_MOD, rw2(b->rw, OP_IDIV, x, idx(b, stride)), idx(b, n));
}

/* One THREAD range of each class, the slowest first. */
static void lane_classes(struct sched *s, const uop_vec *topo, uop_vec *first) {
    uint32_t own = ir_sym(s->ir, "thread", 6);
    for (uint32_t i = 0; i < topo->n; i++) {
        const uop *n = topo->p[i];
        if (n->op != OP_RANGE || n->arg.range.kind != AX_THREAD || n->arg.range.cls == own) continue;
        bool known = false;
        for (uint32_t k = 0; k < first->n; k++) known |= first->p[k]->arg.range.cls == n->arg.range.cls;
        if (!known) vec_push(s->ir->arena, first, n);
    }
    for (uint32_t i = 1; i < first->n; i++)
        for (uint32_t k = i; k > 0 && range_by_pos(&first->p[k - 1], &first->p[k]) > 0; k--) {
            const uop *r = first->p[k];
            first->p[k] = first->p[k - 1], first->p[k - 1] = r;
        }
}

static const uop *thread_range(struct sched *s, const uop_vec *first, int64_t *lanes) {
    *lanes = 1;
    for (uint32_t i = 0; i < first->n; i++) *lanes *= first->p[i]->src[0]->hi;
    int64_t all = s->ws.consumers ? *lanes * s->ws.consumers + PRODUCERS : *lanes;
    const uop *size = uop_idx(s->ir, all);
    union arg arg = {.range = {ir_sym(s->ir, "thread", 6), AX_THREAD, first->p[0]->arg.range.pos, 0}};
    return uop_new(s->ir, OP_RANGE, DT_IDX, 1, &size, 1, arg);
}

const uop *block_thread(struct sched *s, const uop *tree, int64_t *lanes) {
    uop_vec topo = {0}, first = {0};
    uop_topo(s->ir->arena, &tree, 1, &topo);
    lane_classes(s, &topo, &first);
    return thread_range(s, &first, lanes);
}

static void find_lanes(struct thread_cx *b, const uop *tree) {
    uop_vec topo = {0}, first = {0}; /* no two of a class */
    int64_t threads;
    uop_topo(b->a, &tree, 1, &topo);
    lane_classes(b->s, &topo, &first);
    b->thread = thread_range(b->s, &first, &threads);
    for (uint32_t i = 0; i < topo.n; i++) {
        const uop *n = topo.p[i];
        if (n->op == OP_LOCAL && n->arg.mem.space == SPACE_SHARED) vec_push(b->a, &b->shared, n);
        if (n->op == OP_RANGE && n->arg.range.kind == AX_THREAD && n != b->thread)
            vec_push(b->a, &b->lane, n);
    }
    if (b->shared.n > SHARED_TILES_MAX)
        opt_fail(b->s, "STAGE", "expected at most %d shared tiles", SHARED_TILES_MAX);
    b->first = first;
    for (uint32_t i = 0; i < b->lane.n; i++) {
        int64_t stride = threads;
        for (uint32_t k = 0; k < first.n; k++) {
            int64_t n = first.p[k]->src[0]->hi;
            stride /= n;
            if (first.p[k]->arg.range.cls == b->lane.p[i]->arg.range.cls)
                vec_push(b->a, &b->digit, digit_of(b, b->thread, stride, n));
        }
    }
}

/* ---- shared fills ------------------------------------------------------------------------------------ */

/* Stride of a range in an index: its coefficient, or, where it is read by digits, as an axis is that several were joined to and is tiled
 * again, that of the fastest digit. 0: it is not known. */
static int64_t step_in(struct arena *a, const uop *index, const uop *range) {
    struct affine f = affine_of(a, index);
    int64_t c = affine_coef(&f, range), least = 0;
    if (c) return c < 0 ? -c : c;
    for (uint32_t i = 0; i < f.n; i++) {
        if (f.t[i].atom->op != OP_MOD) continue;
        c = step_in(a, f.t[i].atom->src[0], range) * f.t[i].coef;
        if (c < 0) c = -c;
        if (c && (!least || c < least)) least = c;
    }
    return least;
}

/* Stride of the range in the memory that the statement reads. */
static int64_t source_step(struct arena *a, const uop *stmt, const uop *range) {
    uop_vec topo = {0};
    uop_topo(a, &stmt->src[1], 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++) {
        const uop *n = topo.p[i];
        if (n->op != OP_INDEX || n->src[0]->op != OP_PARAM) continue;
        const uop *at = index_offset(n);
        if (at->op == OP_WHERE) at = at->src[1];
        int64_t c = step_in(a, at, range);
        if (c) return c;
    }
    return 0;
}

static int64_t target_step(struct arena *a, const uop *stmt, const uop *range) {
    struct affine f = affine_of(a, access_offset(stmt));
    int64_t c = affine_coef(&f, range);
    return c < 0 ? -c : c;
}

/* Is a square transposed in registers: 16-byte vectors both of what is read and, along another range, of
 * the panel that is written? Neighbouring threads of a row of the panel write to different banks,
 * neighbours in memory read one line; the opt list says how many are of each kind. */
static bool is_transposed(struct arena *a, const uop *stmt, const uop_vec *free) {
    const uop *to = stmt->op == OP_STORE ? access_buf(stmt) : NULL;
    if (!to || to->op != OP_LOCAL || !to->arg.mem.panels) return false;
    int64_t piece = 16 / dtype_info[to->dt].bytes;
    bool read = false, written = false;
    for (uint32_t i = 0; i < free->n; i++) {
        const uop *r = free->p[i];
        int64_t n = r->src[0]->hi;
        if (!axis_is_expanded((enum axis_kind)r->arg.range.kind)) continue;
        read |= n == piece && source_step(a, stmt, r) == 1;
        written |= (n == piece || n == piece / 2) && target_step(a, stmt, r) == 1;
    }
    return read && written;
}

bool fill_is_transposed(struct sched *s, const uop *stmt) {
    struct free_ranges fr;
    free_init(&fr, s->ir, s->ir->arena);
    return is_transposed(s->ir->arena, stmt, free_of(&fr, stmt));
}

static void sort_by(struct arena *a, const uop *stmt, const uop **r, uint32_t n,
                    int64_t (*step)(struct arena *, const uop *, const uop *)) {
    for (uint32_t i = 1; i < n; i++)
        for (uint32_t k = i; k > 0 && step(a, stmt, r[k - 1]) < step(a, stmt, r[k]); k--) {
            const uop *t = r[k];
            r[k] = r[k - 1], r[k - 1] = t;
        }
}

/* In the order of global memory, so that accesses coalesce; of a tile transposed in registers the elements of a row of the tile
 * first. */
void fill_order(struct sched *s, struct free_ranges *fr, const uop *stmt, uop_vec *out) {
    struct arena *a = s->ir->arena;
    const uop_vec *free = free_of(fr, stmt);
    uop_vec topo = {0};
    uop_topo(a, &stmt, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++) /* loaded before: its accumulator has the order */
        for (uint32_t k = 0; k < topo.p[i]->nsrc && topo.p[i]->op == OP_ACC; k++)
            if (topo.p[i]->src[k]->op == OP_RANGE && topo.p[i]->src[k]->arg.range.kind == AX_COPY)
                vec_push(a, out, topo.p[i]->src[k]);
    if (out->n) return;
    for (uint32_t i = 0; i < free->n; i++)
        if (free->p[i]->arg.range.kind == AX_COPY) vec_push(a, out, free->p[i]);
    sort_by(a, stmt, out->p, out->n, source_step);
    if (!is_transposed(a, stmt, free)) return;
    sort_by(a, stmt, out->p, out->n, target_step);
    if (out->n) sort_by(a, stmt, out->p, out->n - 1, source_step);
}

/* Accumulators of loaded elements: a thread has one per round. */
static void cells(struct thread_cx *b, const uop *stmt, const uop *round, uop_vec *from, uop_vec *to) {
    uop_vec topo = {0};
    uop_topo(b->a, &stmt, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++) {
        const uop *n = topo.p[i];
        uop_vec src = {0};
        bool any = false;
        for (uint32_t k = 0; k < n->nsrc && n->op == OP_ACC; k++) {
            bool dealt = n->src[k]->op == OP_RANGE && n->src[k]->arg.range.kind == AX_COPY;
            if (!dealt || !any) vec_push(b->a, &src, dealt ? round : n->src[k]);
            any |= dealt;
        }
        if (!any) continue;
        vec_push(b->a, from, n);
        vec_push(b->a, to, uop_new(b->ir, OP_ACC, (enum dtype)n->dt, n->lanes, src.p, src.n, n->arg));
    }
}

static const uop *at_elements(struct thread_cx *b, const uop *stmt, const uop_vec *range, const uop *number,
                              const uop *round) {
    uop_vec from = {0}, to = {0};
    int64_t stride = 1;
    for (uint32_t i = range->n; i-- > 0;) stride *= range->p[i]->src[0]->hi;
    for (uint32_t i = 0; i < range->n; i++) {
        int64_t n = range->p[i]->src[0]->hi;
        stride /= n;
        vec_push(b->a, &from, range->p[i]);
        vec_push(b->a, &to, digit_of(b, number, stride, n));
    }
    cells(b, stmt, round, &from, &to);
    return rw_subst(b->rw, stmt, from.p, to.p, from.n);
}

/* Bytes of registers of a round; 0: none, it is a cp.async. */
static int64_t round_bytes(struct thread_cx *b, const uop *stmt) {
    const uop_vec *free = free_of(&b->fr, stmt);
    int64_t n = dtype_info[stmt->src[0]->dt].bytes;
    if (stmt->op != OP_STORE) return 0;
    for (uint32_t i = 0; i < free->n; i++)
        if (axis_is_expanded((enum axis_kind)free->p[i]->arg.range.kind)) n *= free->p[i]->src[0]->hi;
    return n;
}

/* Unrolled rounds of a loop that fills a tile: their loads are in flight together. */
static int64_t unrolled_rounds(const struct thread_cx *b, int64_t bytes, int64_t rounds) {
    int64_t n = bytes ? RG_MAX(RG_MIN(b->unroll_max, b->bytes / bytes), 1) : 1;
    while (rounds % n) n--;
    return n;
}

static const uop *round_range(struct thread_cx *b, int64_t n, enum axis_kind kind) {
    char name[16];
    const uop *size = idx(b, n);
    int len = snprintf(name, sizeof name, "round%u", b->rounds++);
    union arg arg = {.range = {ir_sym(b->ir, name, (size_t)len), (uint8_t)kind, 250, 0}};
    return uop_new(b->ir, OP_RANGE, DT_IDX, 1, &size, 1, arg);
}

/* A fill by all threads: whole rounds, then the rest by the first threads. */
static void fill(struct thread_cx *b, const uop *stmt, uop_vec *range, uop_vec *out) {
    struct ir *ir = b->ir;
    int64_t threads = b->fillers, n = 1;
    for (uint32_t i = 0; i < range->n; i++) n *= range->p[i]->src[0]->hi;
    int64_t rounds = n / threads, rest = n % threads;
    if (rounds) {
        const uop *round = idx(b, 0), *loop = NULL;
        int64_t bytes = round_bytes(b, stmt);
        bool loops = (rounds > ROUNDS_MAX || bytes * rounds > b->bytes) && stmt->op != OP_SET &&
                     stmt->src[1]->op != OP_ACC;
        int64_t more = loops ? unrolled_rounds(b, bytes, rounds) : rounds;
        if (more > 1) round = round_range(b, more, AX_UNROLL);
        if (loops) {
            loop = round_range(b, rounds / more, AX_LOOP);
            round = rw2(b->rw, OP_ADD, rw2(b->rw, OP_MUL, loop, idx(b, more)), round);
        }
        const uop *number = rw2(b->rw, OP_ADD, rw2(b->rw, OP_MUL, round, idx(b, threads)), b->filler);
        const uop *all = at_elements(b, stmt, range, number, round);
        if (loops) all = uop2(ir, OP_FOR, loop, uop_mk(ir, OP_BLOCK, &all, 1, ARG_NONE));
        vec_push(b->a, out, all);
    }
    if (rest) {
        const uop *number = rw2(b->rw, OP_ADD, b->filler, idx(b, rounds * threads));
        const uop *last = at_elements(b, stmt, range, number, idx(b, rounds));
        const uop *first = rw2(b->rw, OP_LT, b->filler, idx(b, rest));
        last = uop_mk(ir, OP_BLOCK, &last, 1, ARG_NONE);
        vec_push(b->a, out, uop2(ir, OP_IF, first, last));
    }
}

void fill_cooperative(struct sched *s, const uop *stmt, const uop *filler, int64_t fillers, uop_vec *out) {
    struct thread_cx b = {.s = s,
                          .ir = s->ir,
                          .rw = &s->rw,
                          .a = s->ir->arena,
                          .filler = filler,
                          .fillers = fillers,
                          .unroll_max = PRODUCER_ROUNDS,
                          .bytes = PRODUCER_BYTES};
    uop_vec spread = {0};
    free_init(&b.fr, b.ir, b.a);
    fill_order(s, &b.fr, stmt, &spread);
    fill(&b, stmt, &spread, out);
}

/* ---- idle threads -------------------------------------------------------------------------------------- */

static bool moves_with(struct thread_cx *b, const uop *stmt, const uop *lane) {
    const uop_vec *free = free_of(&b->fr, stmt);
    for (uint32_t i = 0; i < free->n; i++)
        if (free->p[i]->arg.range.cls == lane->arg.range.cls) return true;
    return false;
}

static const uop *digit_of_lane(struct thread_cx *b, const uop *lane) {
    for (uint32_t i = 0; i < b->lane.n; i++)
        if (b->lane.p[i] == lane) return b->digit.p[i];
    return NULL;
}

static uint64_t busy_key(const uop *acc, uint32_t lane) { return (uint64_t)acc->arg.i << 8 | lane; }

/* Partial sums that a warp has combined, all its lanes the same; not a fill, nor what MMA instructions left in lanes. */
static bool is_common(struct thread_cx *b, const uop *stmt) {
    const uop_vec *free = free_of(&b->fr, stmt);
    const uop *to = access_buf(stmt);
    for (uint32_t i = 0; i < free->n; i++)
        if (free->p[i]->arg.range.kind == AX_COPY) return false;
    return to->op == OP_LOCAL && to->arg.mem.space == SPACE_SHARED && !b->s->ntc;
}

/* May the first thread along a THREAD range do it for all? */
static bool is_idle(struct thread_cx *b, const uop *stmt, uint32_t lane) {
    if (moves_with(b, stmt, b->first.p[lane])) return false;
    if (stmt->op == OP_SET) return !map_get(&b->busy, busy_key(stmt->src[0], lane), NULL);
    if (stmt->op != OP_STORE && stmt->op != OP_STORE_ADD) return false;
    return access_buf(stmt)->op == OP_PARAM || is_common(b, stmt);
}

/* Notes accumulators read by a statement that every thread along a THREAD range runs. */
static void note_busy(void *cx, const uop *stmt, uop_vec *out) {
    struct thread_cx *b = cx;
    uop_vec topo = {0};
    vec_push(b->a, out, stmt);
    uop_topo(b->a, stmt->op == OP_SET ? &stmt->src[1] : &stmt, 1, &topo);
    for (uint32_t k = 0; k < b->first.n; k++)
        for (uint32_t i = 0; i < topo.n && !is_idle(b, stmt, k); i++)
            if (topo.p[i]->op == OP_ACC) map_put(&b->busy, busy_key(topo.p[i], k), 1);
}

/* To a fixed point: what a statement that all threads run reads is computed by all. */
static void find_busy(struct thread_cx *b, const uop *tree) {
    map_init(&b->busy, b->a);
    for (uint32_t before = UINT32_MAX; before != b->busy.n;) {
        before = b->busy.n;
        tree_map_leaves(b->ir, tree, note_busy, b);
    }
}

static void leaf(void *cx, const uop *stmt, uop_vec *out) {
    struct thread_cx *b = cx;
    uop_vec spread = {0};
    const uop *pred = NULL;
    fill_order(b->s, &b->fr, stmt, &spread);
    if (spread.n) {
        fill(b, stmt, &spread, out);
        return;
    }
    for (uint32_t i = 0; i < b->first.n; i++) {
        if (!is_idle(b, stmt, i)) continue;
        const uop *first = rw2(b->rw, OP_LT, digit_of_lane(b, b->first.p[i]), idx(b, 1));
        pred = pred ? rw2(b->rw, OP_AND, pred, first) : first;
    }
    stmt = b->lane.n ? rw_subst(b->rw, stmt, b->lane.p, b->digit.p, b->lane.n) : stmt;
    if (pred) stmt = uop2(b->ir, OP_IF, pred, uop_mk(b->ir, OP_BLOCK, &stmt, 1, ARG_NONE));
    vec_push(b->a, out, stmt);
}

/* ---- barriers ----------------------------------------------------------------------------------------- */

struct smem_access { /* shared tiles accessed since the last barrier, as bits */
    uint64_t read, written;
};

static uint64_t bit_of(struct thread_cx *b, const uop *local) {
    for (uint32_t i = 0; i < b->shared.n; i++)
        if (b->shared.p[i] == local) return 1ull << i;
    return 0;
}

static struct smem_access touches(struct thread_cx *b, const uop *stmt) {
    struct smem_access t = {0};
    uop_vec topo = {0};
    uint32_t first = 0;
    if (stmt->op == OP_STORE || stmt->op == OP_CP_ASYNC) t.written = bit_of(b, access_buf(stmt)), first = 1;
    for (uint32_t k = first; k < stmt->nsrc; k++) {
        topo.n = 0;
        uop_topo(b->a, &stmt->src[k], 1, &topo);
        for (uint32_t i = 0; i < topo.n; i++)
            if (topo.p[i]->op == OP_LOCAL) t.read |= bit_of(b, topo.p[i]);
    }
    return t;
}

static bool has_barrier(const uop *n) {
    for (uint32_t i = 0; i < n->nsrc && n->op == OP_BLOCK; i++)
        if (n->src[i]->op == OP_BARRIER) return true;
    return false;
}

static const uop *barriers(struct thread_cx *b, const uop *n, struct smem_access *now);

/* Statements between two barriers are a nested block: no later pass moves anything across. */
static void close_part(struct thread_cx *b, uop_vec *part, uop_vec *out, bool barrier) {
    if (part->n) vec_push(b->a, out, tree_block(b->ir, part));
    part->n = 0;
    if (barrier) vec_push(b->a, out, uop_mk(b->ir, OP_BARRIER, NULL, 0, ARG_NONE));
}

static const uop *block_barriers(struct thread_cx *b, const uop *block, struct smem_access *now) {
    uop_vec out = {0}, part = {0};
    for (uint32_t i = 0; i < block->nsrc; i++) {
        const uop *s = block->src[i];
        struct smem_access t = {0};
        if (tree_is_leaf(s)) t = touches(b, s);
        if (s->op == OP_IF) t = touches(b, if_then(s)->src[0]); /* the rest of a fill */
        if ((t.read & now->written) || (t.written & now->read)) {
            close_part(b, &part, &out, true);
            *now = (struct smem_access){0};
        }
        now->read |= t.read, now->written |= t.written;
        vec_push(b->a, &part, s->op == OP_FOR || s->op == OP_BLOCK ? barriers(b, s, now) : s);
    }
    if (!out.n) return tree_block(b->ir, &part);
    close_part(b, &part, &out, false);
    return tree_block(b->ir, &out);
}

static const uop *barriers(struct thread_cx *b, const uop *n, struct smem_access *now) {
    if (n->op == OP_BLOCK) return block_barriers(b, n, now);
    if (has_barrier(n->src[1])) { /* a pipeline: its stages may still be read and written */
        now->read = now->written = UINT64_MAX;
        return n;
    }
    struct smem_access again = *now;
    block_barriers(b, n->src[1], &again);
    now->read |= again.read, now->written |= again.written;
    return uop2(b->ir, OP_FOR, n->src[0], block_barriers(b, n->src[1], now));
}

/* ---- the tree ------------------------------------------------------------------------------------------ */

static const uop *under_grid(struct thread_cx *b, const uop *n) {
    const uop *first = n->nsrc == 1 ? n->src[0] : NULL;
    if (first && first->op == OP_FOR && for_range(first)->arg.range.kind == AX_GRID) {
        const uop *loop = uop2(b->ir, OP_FOR, for_range(first), under_grid(b, for_body(first)));
        return uop_mk(b->ir, OP_BLOCK, &loop, 1, ARG_NONE);
    }
    struct smem_access now = {0};
    find_busy(b, n);
    n = tree_map_leaves(b->ir, n, leaf, b);
    if (!b->s->ws.consumers) n = block_barriers(b, n, &now); /* warp specialization has its own */
    n = uop2(b->ir, OP_FOR, b->thread, n);
    return uop_mk(b->ir, OP_BLOCK, &n, 1, ARG_NONE);
}

const uop *tree_threads(struct sched *s, const uop *tree) {
    struct thread_cx b = {.s = s, .ir = s->ir, .rw = &s->rw, .a = s->ir->arena};
    free_init(&b.fr, b.ir, b.a);
    find_lanes(&b, tree);
    b.filler = b.thread, b.fillers = b.thread->src[0]->hi, b.unroll_max = LOOP_ROUNDS_MAX,
    b.bytes = BYTES_MAX;
    return under_grid(&b, tree);
}
