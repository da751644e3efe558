/* warp_specialize.c: warp specialization, the opt WARP_SPECIALIZE. A producer warpgroup issues TMA loads into the
 * multistage pipeline that PIPE asks for; consumer warpgroups run wgmma and the epilogue.
 *
 * Each stage has two mbarriers:
 *     full[stage]    producer: arrive.expect_tx(bytes); completes when the TMA loads have landed
 *     empty[stage]   one arrival per consumer warpgroup, once its wgmmas have read the stage
 *
 *     producer   | load 0 | load 1 | load 2 |  wait empty[0]  | load 3 | ..     one elected thread
 *                |   full[0]^ full[1]^                ^empty[0]
 *     consumer     wait full[0] | wgmma 0 | wgmma 1 | release 0 | wgmma 2 | ..  | epilogue |
 *                                        WGMMA_WAIT(1): wgmma k-1 is complete, release its stage
 *
 *     IF thread < consumers:  FOR tile: acc = 0
 *                                 FOR k: wait full[k], wgmma k, WGMMA_WAIT(1), release stage of k-1
 *                                 WGMMA_WAIT(0), release the last stage, epilogue
 *     ELSE elected thread:    FOR tile: FOR k: wait empty[k], expect_tx, TMA loads
 *
 * Ping-pong: with two consumers each computes whole output tiles, one's epilogue under the other's main loop.
 *
 *     consumer 0   | main loop 0 | epilogue 0  | main loop 2 | epilogue 2 |
 *     consumer 1                 | main loop 1 | epilogue 1  | main loop 3 | ..
 *
 * An mbarrier per consumer (order_bar) orders their main loops: mbarrier.try_wait.parity is meaningful only
 * to a waiter that is at most one phase behind.
 * Iterations are counted through all tiles of a block: iteration i uses stage i mod n in phase i / n. PERSISTENT
 * blocks walk over tiles, so the producer loads the next tile's stages during the epilogue.
 * Partial accumulation (fp8): FOR k: wgmma k, wait full[k+1], WGMMA_WAIT(0), release k, acc += partial sum.
 * Tiles transposed on the way are copied cooperatively: all producer threads copy, and arrive at full[stage].
 * Tiles released together share a pipeline: all tiles of a GEMM; each tile of back-to-back GEMMs
 * (attention_pipeline.c); stationary tiles, loaded once per output tile. Nested loops (the taps of a convolution)
 * have waits of their own, and consumers are ordered only in waiting for full. Where trip counts differ between
 * tiles, producer and consumers count iterations in a register.
 * Epilogue: epilogue_tma.c, epilogue_unaligned.c; split-K inside a cluster: cluster_splitk.c.
 * Requires: tree_mma with wgmma. Gives: a tree with its barriers. Tests: tests/unit/warp_specialize.c */
#include "codegen/gpu/warp_specialize.h"

enum {
    /* ids of accumulators that hold counters */
    STAGES_MAX = 16,
    PRODUCER_REGS = 24,
    CONSUMER_REGS_MAX = 240,
    CONSUMER_REGS_MIN = 104,
    CONSUMERS_MAX = 3, /* warpgroups of a GEMM: 160 registers for each thread */
    ACC_ITERS = 1 << 17,
    ACC_STAGES = 1 << 18
};

/* ---- what there is ------------------------------------------------------------------------------------------- */

static bool is_fill(const uop *s) {
    return s->op == OP_STORE && access_buf(s)->op == OP_LOCAL && access_buf(s)->arg.mem.space == SPACE_SHARED;
}

/* Does each iteration add a partial sum to the accumulators (mma.c)? */
static bool accumulates_partially(const struct ws *ws) { return partial_accumulate(ws->s->tc[0].instr); }

static bool fills(const uop *loop) {
    for (uint32_t i = 0; i < for_body(loop)->nsrc; i++)
        if (is_fill(for_body(loop)->src[i])) return true;
    return false;
}

/* Reject: the producer cannot fill tiles of a loop nested in consumer code. */
static void reject_nested_fills(struct ws *ws, const uop *s) {
    uop_vec topo = {0};
    uop_topo(ws->a, &s, 1, &topo);
    for (uint32_t i = 0; i < topo.n && s->op == OP_FOR; i++)
        if (is_fill(topo.p[i]))
            opt_fail(ws->s, ws->opt, "the loop over %s contains a loop that fills tiles; stage them along %s",
                     ir_name(ws->ir, s->src[0]->arg.range.cls), ir_name(ws->ir, s->src[0]->arg.range.cls));
}

/* Stages that PIPE gives the tile in the main loop or, stationary, along a grid axis; 0: none. */
static int64_t pipe_stages(struct ws *ws, const uop *fill, bool stationary) {
    uop_vec topo = {0};
    uop_topo(ws->a, &fill->src[1], 1, &topo);
    for (uint32_t i = 0; i < ws->s->pipe.n; i++) {
        const struct pipe *p = &ws->s->pipe.p[i];
        for (uint32_t k = 0; k < topo.n; k++)
            if (topo.p[k]->op == OP_PARAM && topo.p[k]->arg.param.name == p->buffer &&
                (ws->fill_once || (p->axis == ws->k->arg.range.cls) != stationary))
                return p->ahead;
    }
    return 0;
}

static int64_t require_pipe(struct ws *ws, const uop *fill) {
    int64_t stages = pipe_stages(ws, fill, false);
    if (stages) return stages;
    opt_fail(ws->s, ws->opt, "a tile of the loop over %s has no PIPE; give it one",
             ir_name(ws->ir, ws->k->arg.range.cls));
}

/* May the tile be copied cooperatively? Only one that is transposed on the way. */
static bool may_copy_cooperatively(struct ws *ws, const uop *fill) {
    return !ws->attention && access_buf(fill)->arg.mem.panels && fill_is_transposed(ws->s, fill);
}

/* Adds a tile to the last pipeline, or to a new one. */
static void add_tile(struct ws *ws, const uop *fill, int64_t stages, bool stationary, bool own) {
    const uop *l = access_buf(fill), *size = num(ws, buf_size(l)->hi * stages);
    struct ws_tile t = {.fill = fill, .local = l, .stationary = stationary};
    if (own) {
        vec_push(ws->a, &ws->pipeline,
                 ((struct ws_pipeline){.stages = stages, .bar = ws->nbar, .release_threads = WARPGROUP}));
        ws->nbar += 2 * stages;
    } else if (ws->pipeline.p[ws->pipeline.n - 1].stages != stages)
        opt_fail(ws->s, "PIPE", "another tile of the loop has %lld stages; give both as many",
                 (long long)ws->pipeline.p[ws->pipeline.n - 1].stages);
    t.pipeline = ws->pipeline.n - 1;
    t.wide = stages > 1 ? uop_new(ws->ir, OP_LOCAL, (enum dtype)l->dt, 1, &size, 1, l->arg) : l;
    if ((ws->pipeline.p[t.pipeline].cooperative |= may_copy_cooperatively(ws, fill)))
        ws->cooperative = true;
    else
        t.box = tma_tile_of(ws->s, ws->opt, fill, ws->k);
    if (!l->arg.mem.panels) ws->pipeline.p[t.pipeline].release_threads = MMA_LANES;
    vec_push(ws->a, &ws->tile, t);
}

/* The first statement of the main loop that reads the tile. */
static uint32_t first_use(struct ws *ws, const uop *fill) {
    for (uint32_t i = 0; i < ws->mainloop.n; i++) {
        uop_vec topo = {0};
        uop_topo(ws->a, &ws->mainloop.p[i], 1, &topo);
        for (uint32_t k = 0; k < topo.n; k++)
            if (topo.p[k] == access_buf(fill)) return i;
    }
    return ws->mainloop.n;
}

static bool runs_mma(const uop *n) {
    for (uint32_t i = 0; i < n->nsrc; i++)
        if (n->src[i]->op == OP_MMA ||
            ((n->src[i]->op == OP_BLOCK || n->src[i]->op == OP_FOR) && runs_mma(n->src[i])))
            return true;
    return false;
}

static void add_pipeline(struct ws *ws, const uop_vec *fill) {
    for (uint32_t i = 0; i < fill->n; i++) {
        int64_t stages = require_pipe(ws, fill->p[i]);
        if (stages < 2 || stages > STAGES_MAX)
            opt_fail(ws->s, ws->opt, "expected a pipeline of 2 .. %d stages, found %lld", STAGES_MAX,
                     (long long)stages);
        add_tile(ws, fill->p[i], stages, false, (ws->attention && !ws->reorder) || !ws->pipeline.n);
    }
}

/* All tiles are loaded once per output tile, before the loops that read them: a main loop of one
 * iteration. */
static void find_tiles_filled_once(struct ws *ws, const uop_vec *fill) {
    uop_vec stmts = ws->init;
    ws->init = (uop_vec){0};
    ws->fill_once = ws->nested = true;
    ws->k = ws_range(ws, "once", AX_LOOP, ws->thread->arg.range.pos, 1, 0), ws->count = range_size(ws->k);
    for (uint32_t i = 0; i < stmts.n; i++) {
        const uop *s = stmts.p[i];
        bool loop = s->op == OP_FOR && runs_mma(s), store = s->op == OP_STORE || s->op == OP_STORE_ADD;
        if (store)
            put(ws, &ws->epilogue, s);
        else
            put(ws, loop || ws->mainloop.n ? &ws->mainloop : &ws->init, s);
    }
    if (!ws->mainloop.n)
        opt_fail(ws->s, ws->opt, "no loop fills tiles and none runs MMA instructions on them");
    add_pipeline(ws, fill);
}

static void find_main_loop(struct ws *ws, const uop *loop) {
    uop_vec fill = {0};
    if (ws->k) opt_fail(ws->s, ws->opt, "two loops fill tiles; expected one");
    ws->k = for_range(loop), ws->count = range_size(ws->k);
    for (uint32_t i = 0; i < for_body(loop)->nsrc; i++) {
        const uop *s = for_body(loop)->src[i];
        if (!is_fill(s)) reject_nested_fills(ws, s);
        if (!is_fill(s)) put(ws, &ws->mainloop, s), ws->nested |= s->op == OP_FOR && runs_mma(s);
    }
    for (uint32_t i = 0; i < ws->mainloop.n && !ws->nested; i++)
        ws->attention |= ws->mainloop.p[i]->op != OP_MMA && !accumulates_partially(ws);
    ws->reorder = ws->attention && attention_needs_reorder(ws);
    if (!ws->attention && !uop_is_const(ws->count))
        opt_fail(ws->s, ws->opt, "the trip count of the main loop must be known at compile time");
    for (uint32_t i = 0; i < for_body(loop)->nsrc; i++)
        if (is_fill(for_body(loop)->src[i])) put(ws, &fill, for_body(loop)->src[i]);
    for (uint32_t i = 1; i < fill.n; i++) /* in order of first use */
        for (uint32_t k = i; k && first_use(ws, fill.p[k]) < first_use(ws, fill.p[k - 1]); k--) {
            const uop *f = fill.p[k];
            fill.p[k] = fill.p[k - 1], fill.p[k - 1] = f;
        }
    add_pipeline(ws, &fill);
}

static void find_structure(struct ws *ws, const uop *tree) {
    const uop *body = tree;
    uop_vec stationary = {0};
    ws->tiles = 1;
    while (body->nsrc == 1 && body->src[0]->op == OP_FOR &&
           for_range(body->src[0])->arg.range.kind == AX_GRID) {
        const uop *axis = for_range(body->src[0]);
        put(ws, &ws->grid, axis);
        ws->tiles *= range_size(axis)->hi;
        body = for_body(body->src[0]);
    }
    for (uint32_t i = 0; i < body->nsrc; i++) {
        const uop *s = body->src[i];
        if (s->op == OP_FOR && fills(s))
            find_main_loop(ws, s);
        else if (is_fill(s) && !ws->k)
            put(ws, &stationary, s);
        else if (is_fill(s))
            opt_fail(ws->s, ws->opt, "a tile is filled after the main loop");
        else
            reject_nested_fills(ws, s), put(ws, ws->k ? &ws->epilogue : &ws->init, s);
    }
    ws->ranks = 1;
    if (!ws->k) find_tiles_filled_once(ws, &stationary), stationary.n = 0;
    if (ws->s->ws.cluster) cluster_find(ws);
    for (uint32_t i = 0; i < stationary.n; i++) {
        int64_t stages = RG_MAX(pipe_stages(ws, stationary.p[i], true), 1);
        if (stages > 2)
            opt_fail(ws->s, "PIPE", "a tile loaded once per output tile has 1 or 2 stages, not %lld",
                     (long long)stages);
        add_tile(ws, stationary.p[i], stages, true, i == 0);
        ws->overlap_tiles = stages > 1;
    }
    ws->blocks = ws->s->ws.blocks ? RG_MIN(ws->s->ws.blocks, ws->tiles) : ws->tiles;
    ws->waves = (ws->tiles + ws->blocks - 1) / ws->blocks;
    ws->overlap_tiles &= ws->attention && !ws->reorder && ws->waves > 1;
}

/* ---- stages and phases ---------------------------------------------------------------------------------------- */

const uop *ws_mbar(struct ws *ws, int64_t at, const uop *i) {
    return mk_index(ws->ir, ws->bars, add(ws, i, num(ws, at)), 1);
}

const uop *ws_arrive(struct ws *ws, const uop *bar, int64_t bytes) {
    return uop_mk(ws->ir, OP_MBAR_ARRIVE, &bar, 1, ARG_INT(bytes));
}

static const uop *stage_of(struct ws *ws, const uop *iter, int64_t stages) {
    if (iter == ws->state.iter) return ws->state.stage;
    if (iter == ws->state.before)
        return rw3(ws->rw, OP_WHERE, rw2(ws->rw, OP_EQ, ws->state.stage, num(ws, 0)), num(ws, stages - 1),
                   add(ws, ws->state.stage, num(ws, -1)));
    return mod(ws, iter, stages);
}

const struct pinned_state *ws_pinned(const struct ws *ws, const uop *iter) {
    for (uint32_t i = 0; i < RG_COUNT(ws->pinned); i++)
        if (iter == ws->pinned[i].iter) return &ws->pinned[i];
    return NULL;
}

static const uop *mbar_of(struct ws *ws, uint32_t pipeline, int kind, const uop *iter) {
    const struct ws_pipeline *s = &ws->pipeline.p[pipeline];
    const struct pinned_state *h = ws_pinned(ws, iter);
    return ws_mbar(ws, s->bar + kind * s->stages, h ? h->stage : stage_of(ws, iter, s->stages));
}

const uop *ws_wait(struct ws *ws, uint32_t pipeline, int kind, const uop *iter, int64_t late) {
    const struct pinned_state *h = ws_pinned(ws, iter);
    const uop *phase = h                        ? h->phase
                       : iter == ws->state.iter ? ws->state.phase
                                                : quo(ws, iter, ws->pipeline.p[pipeline].stages);
    const uop *parity = mod(ws, add(ws, phase, num(ws, late)), 2);
    return uop2(ws->ir, OP_MBAR_WAIT, mbar_of(ws, pipeline, kind, iter), parity);
}

const uop *ws_at_stage(struct ws *ws, const uop *n, const uop *iter, const uop *wave) {
    uop_vec topo = {0}, from = {0}, to = {0};
    uop_topo(ws->a, &n, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++)
        for (uint32_t k = 0; k < ws->tile.n && topo.p[i]->op == OP_INDEX; k++) {
            const struct ws_tile *t = &ws->tile.p[k];
            if (topo.p[i]->src[0] != t->local) continue;
            const uop *stage = stage_of(ws, t->stationary ? wave : iter, ws->pipeline.p[t->pipeline].stages);
            const uop *at = add(ws, topo.p[i]->src[1], mul(ws, stage, t->local->src[0]->hi));
            put(ws, &from, topo.p[i]);
            put(ws, &to, mk_index(ws->ir, t->wide, at, topo.p[i]->lanes));
        }
    return from.n ? rw_subst(ws->rw, n, from.p, to.p, from.n) : n;
}

const uop *ws_range(struct ws *ws, const char *name, enum axis_kind kind, int pos, int64_t size, int id) {
    const uop *n = num(ws, size);
    union arg arg = {
        .range = {ir_sym(ws->ir, name, strlen(name)), (uint8_t)kind, (uint8_t)pos, (uint16_t)id}};
    return uop_new(ws->ir, OP_RANGE, DT_IDX, 1, &n, 1, arg);
}

/* Statements with the grid axes as digits of the tile index. */
static void at_tile(struct ws *ws, const uop_vec *v, const uop *tile, uop_vec *out) {
    uop_vec to = {0};
    int64_t stride = ws->tiles;
    for (uint32_t i = 0; i < ws->grid.n; i++) {
        int64_t n = ws->grid.p[i]->src[0]->hi;
        stride /= n;
        const uop *q = quo(ws, tile, stride);
        put(ws, &to, i ? mod(ws, q, n) : q);
    }
    for (uint32_t i = 0; i < v->n; i++) put(ws, out, rw_subst(ws->rw, v->p[i], ws->grid.p, to.p, ws->grid.n));
}

/* Stage and phase of iteration `iter` in registers, set before the loop (first: its first iteration) and
 * advanced at its end: cheaper than a division per iteration. Not for powers of two. */
static void count_stages(struct ws *ws, const uop *iter, const uop *first, int64_t stages, uop_vec *before,
                         uop_vec *end) {
    const uop *acc[2], *now[2], *from[2] = {mod(ws, first, stages), mod(ws, quo(ws, first, stages), 2)};
    int64_t bits = 1;
    ws->state = (struct pipeline_state){0};
    if ((stages & (stages - 1)) == 0 || ws->count->hi < 2) return;
    while (bits < stages) bits *= 2;
    for (int i = 0; i < 2; i++) {
        acc[i] = uop_new(ws->ir, OP_ACC, DT_I32, 1, NULL, 0, ARG_INT(ACC_STAGES + 2 * ws->ncounters + i));
        now[i] = rw2(ws->rw, OP_AND, uop_cast(ws->ir, acc[i], DT_IDX), num(ws, i ? 1 : bits - 1));
        put(ws, before, uop2(ws->ir, OP_SET, acc[i], uop_cast(ws->ir, from[i], DT_I32)));
    }
    ws->ncounters++;
    const uop *round = rw2(ws->rw, OP_EQ, now[0], num(ws, stages - 1)), *zero = num(ws, 0), *one = num(ws, 1);
    const uop *next[] = {rw3(ws->rw, OP_WHERE, round, zero, add(ws, now[0], one)),
                         rw3(ws->rw, OP_WHERE, round, rw2(ws->rw, OP_SUB, one, now[1]), now[1])};
    for (int i = 1; i >= 0; i--)
        put(ws, end, uop2(ws->ir, OP_SET, acc[i], uop_cast(ws->ir, next[i], DT_I32)));
    ws->state = (struct pipeline_state){iter, add(ws, iter, num(ws, stages - 1)), now[0], now[1]};
}

/* ---- the jobs --------------------------------------------------------------------------------------------------- */

const uop *ws_is_elected(struct ws *ws) {
    return rw2(ws->rw, OP_EQ, mod(ws, ws->thread, WARPGROUP), num(ws, 0));
}

const uop *ws_warpgroup(struct ws *ws) { return quo(ws, ws->thread, WARPGROUP); }

void ws_release(struct ws *ws, uint32_t pipeline, const uop *iter, const uop *only, uop_vec *out) {
    uop_vec one = {0};
    const uop *first =
        rw2(ws->rw, OP_EQ, mod(ws, ws->thread, ws->pipeline.p[pipeline].release_threads), num(ws, 0));
    put(ws, &one, ws_arrive(ws, mbar_of(ws, pipeline, EMPTY, iter), 0));
    put(ws, out, when(ws, only ? rw2(ws->rw, OP_AND, only, first) : first, &one, NULL));
}

void ws_warpgroup_sync(struct ws *ws, uop_vec *out) {
    const uop *iter = add(ws, ws_warpgroup(ws), num(ws, 1));
    put(ws, out, uop_mk(ws->ir, OP_BARRIER, &iter, 1, ARG_INT(WARPGROUP)));
}

void ws_elect_one(struct ws *ws, const uop *stmt, uop_vec *out) {
    uop_vec one = {0};
    put(ws, &one, stmt);
    put(ws, out, when(ws, ws_is_elected(ws), &one, NULL));
}

/* ---- products --------------------------------------------------------------------------------------------------- */

/* A consumer tile of several wgmma rows (M > 64) with partial accumulation: a row's results are stored
 * while the last partial sum of the next is computed. */
struct ws_rows {
    const struct tma_store_tile *o; /* NULL: one row, or stored in another way */
    int64_t n;
};

static struct ws_rows find_rows(struct ws *ws) {
    struct ws_rows x = {0};
    uop_vec from = {0};
    const struct tma_store_tile *o =
        ws->epilogue.n == 1 && ws->store_panels ? epilogue_tma_of(ws, ws->epilogue.p[0]) : NULL;
    if (!o || !accumulates_partially(ws) || ws->consumers > 1 || ws->count->hi < 2) return x;
    x.n = epilogue_tma_repeats(ws, ws->epilogue.p[0], o, &from);
    if (from.n == 1) x.o = o;
    return x;
}

static void store_row(struct ws *ws, const struct ws_rows *x, int64_t row, uop_vec *out) {
    epilogue_tma_store_tile(ws, ws->epilogue.p[0], x->o, row, 0, out);
}

static bool is_last_mma(const struct ws *ws, uint32_t k) {
    for (k++; k < ws->mainloop.n; k++)
        if (ws->mainloop.p[k]->op == OP_MMA) return false;
    return true;
}

static uint32_t count_runs(const struct ws *ws) {
    uint32_t n = 0;
    for (uint32_t k = 0; k < ws->mainloop.n; k++)
        n += ws->mainloop.p[k]->op == OP_MMA && (!k || ws->mainloop.p[k - 1]->op != OP_MMA);
    return n;
}

/* Waits for the tiles of the next iteration, if there is one. */
static void wait_ahead(struct ws *ws, const uop *k, const uop *i, uop_vec *out) {
    uop_vec in = {0};
    const uop *next = add(ws, k, num(ws, 1));
    put(ws, &in, ws_wait(ws, ws->tile.p[0].pipeline, FULL, add(ws, i, num(ws, 1)), 0));
    if (next->hi < ws->count->hi)
        put_part(ws, &in, out);
    else
        put(ws, out, when(ws, rw2(ws->rw, OP_LT, next, ws->count), &in, NULL));
}

/* One iteration with partial accumulation: a partial sum is added once its wgmmas are complete; after the
 * last of them the stage is released. The next stage is waited for under the last wgmmas, so that only
 * additions separate them. x: last iteration, a row whose sums are complete is stored behind the first
 * wgmmas of the next row. */
static void partial_step(struct ws *ws, const uop *iter, const uop *k, const uop *wave,
                         const struct ws_rows *x, uop_vec *out) {
    uop_vec part = {0};
    uint32_t run = 0, of_row = x ? count_runs(ws) / (uint32_t)x->n : 0;
    const uop *i = add(ws, iter, k);
    bool open = false;
    for (uint32_t at = 0; at < ws->mainloop.n; at++) {
        const uop *s = ws_at_stage(ws, ws->mainloop.p[at], i, wave);
        bool mma = s->op == OP_MMA;
        if (mma && !open) {
            put_part(ws, &part, out);
            put_op(ws, &part, OP_WGMMA_FENCE, 0);
        }
        put(ws, &part, s);
        open = mma;
        if (!mma || (at + 1 < ws->mainloop.n && ws->mainloop.p[at + 1]->op == OP_MMA)) continue;
        put_op(ws, &part, OP_WGMMA_COMMIT, 0);
        put_part(ws, &part, out);
        if (x && run && run % of_row == 0) store_row(ws, x, run / of_row - 1, out);
        if (is_last_mma(ws, at) && !x) wait_ahead(ws, k, i, out);
        put_op(ws, out, OP_WGMMA_WAIT, 0);
        if (is_last_mma(ws, at)) ws_release(ws, ws->tile.p[0].pipeline, i, NULL, out);
        run++;
    }
    put_part(ws, &part, out);
    if (x) store_row(ws, x, x->n - 1, out);
}

/* One iteration of the main loop. */
static void full_step(struct ws *ws, const uop *iter, const uop *k, const uop *wave, uop_vec *out) {
    uop_vec part = {0};
    uint32_t pipeline = ws->tile.p[0].pipeline;
    const uop *i = add(ws, iter, k);
    put(ws, out, ws_wait(ws, pipeline, FULL, i, 0));
    put_op(ws, &part, OP_WGMMA_FENCE, 0);
    for (uint32_t at = 0; at < ws->mainloop.n; at++)
        put(ws, &part, ws_at_stage(ws, ws->mainloop.p[at], i, wave));
    put_op(ws, &part, OP_WGMMA_COMMIT, 0);
    put_part(ws, &part, out);
    put_op(ws, out, OP_WGMMA_WAIT, 1);
    ws_release(ws, pipeline, add(ws, i, num(ws, ws->pipeline.p[pipeline].stages - 1)),
               rw2(ws->rw, OP_LT, num(ws, 0), k), out);
}

static void put_loop(struct ws *ws, const uop *k, const uop_vec *in, uop_vec *out) {
    const uop *zero = num(ws, 0);
    if (k->src[0]->hi > 1 || !uop_is_const(k->src[0])) {
        put(ws, out, uop2(ws->ir, OP_FOR, k, tree_block(ws->ir, in)));
        return;
    }
    for (uint32_t i = 0; i < in->n; i++) put(ws, out, rw_subst(ws->rw, in->p[i], &k, &zero, 1));
}

/* Are the main loops of consumers ordered? mbarrier.try_wait.parity distinguishes phases only for a waiter
 * at most one phase behind: a consumer must know that the phase before the one it waits for is complete.
 * Nested loops need no order if each stage always has the same consumer, which then observes all its phases.
 * Nor if threads fill the stages, which complete in order, and a consumer has observed a later one: there are
 * more stages than a tile has iterations. TMA loads complete in any order. */
static bool is_ordered(const struct ws *ws) {
    if (ws->consumers < 2 || !ws->nested) return ws->consumers > 1;
    for (uint32_t i = 0; i < ws->tile.n; i++) {
        const struct ws_pipeline *p = &ws->pipeline.p[ws->tile.p[i].pipeline];
        int64_t iterations = ws->tile.p[i].stationary ? 1 : ws->count->hi;
        if (p->stages % (ws->consumers * iterations) && !(p->cooperative && p->stages > iterations))
            return true;
    }
    return false;
}

static void order_arrive(struct ws *ws, uop_vec *out) {
    const uop *other = rw2(ws->rw, OP_SUB, num(ws, 1), quo(ws, ws->thread, ws->threads));
    put(ws, out, ws_arrive(ws, ws_mbar(ws, ws->order_bar, other), 0));
}

/* The main loop where wgmmas are in nested loops, with waits of their own. The other consumer may go on
 * after the last wait for FULL, so both run wgmmas at the same time. */
static void nested_main_loop(struct ws *ws, const uop *iter, const uop *wave, uop_vec *out) {
    uop_vec in = {0}, part = {0}, pass = {0};
    uint32_t pipeline = ws->tile.p[0].pipeline;
    const uop *i = add(ws, iter, ws->k);
    put(ws, &in, ws_wait(ws, pipeline, FULL, i, 0));
    if (is_ordered(ws)) order_arrive(ws, &pass);
    if (pass.n && ws->count->hi > 1)
        put(ws, &in, when(ws, rw2(ws->rw, OP_EQ, ws->k, num(ws, ws->count->hi - 1)), &pass, NULL));
    else
        put_part(ws, &pass, &in);
    for (uint32_t k = 0; k < ws->mainloop.n; k++) put(ws, &part, ws_at_stage(ws, ws->mainloop.p[k], i, wave));
    put(ws, &in, tree_waits(ws->s, tree_block(ws->ir, &part)));
    ws_release(ws, pipeline, i, NULL, &in);
    put_loop(ws, ws->k, &in, out);
    epilogue_tma_store(ws, out);
}

/* Main loop and epilogue of one tile; iter: its first iteration. */
static void main_loop(struct ws *ws, const uop *iter, const uop *wave, uop_vec *out) {
    uop_vec in = {0}, end = {0};
    uint32_t pipeline = ws->tile.p[0].pipeline;
    bool parts = accumulates_partially(ws);
    struct ws_rows x = find_rows(ws);
    const uop *steps = num(ws, ws->count->hi - (x.o ? 1 : 0)), *last = num(ws, ws->count->hi - 1);
    const uop *k = uop_new(ws->ir, OP_RANGE, DT_IDX, 1, &steps, 1, ws->k->arg);
    if (parts)
        put(ws, out, ws_wait(ws, pipeline, FULL, iter, 0)), partial_step(ws, iter, k, wave, NULL, &in);
    else
        count_stages(ws, add(ws, iter, k), iter, ws->pipeline.p[pipeline].stages, out, &end),
            full_step(ws, iter, k, wave, &in);
    put_part(ws, &end, &in);
    ws->state = (struct pipeline_state){0};
    put(ws, out, uop2(ws->ir, OP_FOR, k, tree_block(ws->ir, &in)));
    if (x.o) {
        partial_step(ws, iter, last, wave, &x, out);
        return;
    }
    if (is_ordered(ws)) order_arrive(ws, out);
    if (!parts) {
        put_op(ws, out, OP_WGMMA_WAIT, 0);
        ws_release(ws, pipeline, add(ws, iter, last), NULL, out);
    }
    if (ws->ranks > 1)
        epilogue_tma_store_shares(ws, out);
    else
        epilogue_tma_store(ws, out);
}

/* Predicated: the last wave may be partial. */
static void put_tile(struct ws *ws, const uop *tile, uop_vec *in, uop_vec *out) {
    if (tile->hi < ws->tiles) {
        for (uint32_t i = 0; i < in->n; i++) put(ws, out, in->p[i]);
        return;
    }
    put(ws, out, when(ws, rw2(ws->rw, OP_LT, tile, num(ws, ws->tiles)), in, NULL));
}

/* Tile index of a block in a wave. Where trip counts differ (longest first) odd waves run backwards, to
 * balance blocks. */
static const uop *wave_tile(struct ws *ws, const uop *block, const uop *wave) {
    const uop *even = rw2(ws->rw, OP_LT, mod(ws, wave, 2), num(ws, 1));
    const uop *back = rw2(ws->rw, OP_SUB, num(ws, ws->blocks - 1), block);
    return add(ws, mul(ws, wave, ws->blocks),
               ws->iters_done ? rw3(ws->rw, OP_WHERE, even, block, back) : block);
}

/* First iteration of a wave; if counted in a register, modulo what stages and phases distinguish. */
static const uop *first_iter(struct ws *ws, const uop *wave) {
    int64_t all = 2;
    for (uint32_t i = 0; i < ws->pipeline.n; i++)
        for (int64_t one = all; all % (2 * ws->pipeline.p[i].stages);) all += one;
    return ws->iters_done ? mod(ws, uop_cast(ws->ir, ws->iters_done, DT_IDX), all)
                          : mul(ws, wave, ws->count->hi);
}

static const uop *in_i32(struct ws *ws, const uop *x) { return uop_cast(ws->ir, x, DT_I32); }

static void add_iters(struct ws *ws, uop_vec *out) {
    if (ws->iters_done)
        put(ws, out,
            uop2(ws->ir, OP_SET, ws->iters_done,
                 uop2(ws->ir, OP_ADD, ws->iters_done, in_i32(ws, ws->count))));
}

static void reset_iters(struct ws *ws, uop_vec *out) {
    if (ws->iters_done) put(ws, out, uop2(ws->ir, OP_SET, ws->iters_done, in_i32(ws, num(ws, 0))));
}

void ws_sync_stationary(struct ws *ws, const uop *wave, bool give, uop_vec *out) {
    for (uint32_t i = 0; i < ws->tile.n; i++) {
        if (!ws->tile.p[i].stationary) continue;
        if (give)
            ws_release(ws, ws->tile.p[i].pipeline, wave, NULL, out);
        else
            put(ws, out, ws_wait(ws, ws->tile.p[i].pipeline, FULL, wave, 0));
        return;
    }
}

/* Main loop and epilogue of a tile. */
static void consume_tile(struct ws *ws, const uop *wave, const uop *block, uop_vec *out) {
    const uop *next = wave_tile(ws, block, add(ws, wave, num(ws, 1))), *iter = first_iter(ws, wave);
    struct attention_tile c = {wave, iter,
                               ws->overlap_tiles ? rw2(ws->rw, OP_LT, next, num(ws, ws->tiles)) : NULL};
    if (!ws->overlap_tiles) ws_sync_stationary(ws, wave, false, out);
    if (ws->reorder)
        wgmma_schedule_loop(ws, &c, out);
    else if (ws->attention)
        attention_loop(ws, &c, out);
    else
        (ws->nested ? nested_main_loop : main_loop)(ws, iter, wave, out);
    if (!ws->overlap_tiles) ws_sync_stationary(ws, wave, true, out);
    if (ws->attention) epilogue_tma_store(ws, out);
    add_iters(ws, out);
}

static void consume(struct ws *ws, const uop *block, int pos, uop_vec *out) {
    uop_vec in = {0}, all = {0}, part = {0}, loop = {0};
    const uop *own = ws_range(ws, "turn", AX_LOOP, pos, (ws->waves + ws->consumers - 1) / ws->consumers, 0);
    const uop *release_threads = quo(ws, ws->thread, ws->threads);
    const uop *wave = ws->consumers > 1 ? add(ws, mul(ws, own, ws->consumers), release_threads) : own;
    const uop *tile = wave_tile(ws, block, wave);
    ws->own_tile = own;
    reset_iters(ws, out);
    if (ws->overlap_tiles) attention_first(ws, out);
    at_tile(ws, &ws->init, tile, &part);
    put_part(ws, &part, &in);
    if (ws->residual) epilogue_tma_load_residual(ws, &part);
    for (uint32_t i = 0; i < ws->epilogue.n; i++) {
        const struct tma_store_tile *o = ws->store_panels ? epilogue_tma_of(ws, ws->epilogue.p[i]) : NULL;
        if (o) epilogue_tma_prefetch(ws, ws->epilogue.p[i], o, &part);
    }
    at_tile(ws, &part, tile, &in);
    if (is_ordered(ws)) {
        const uop *parity = mod(ws, add(ws, add(ws, own, release_threads), num(ws, 1)), 2);
        put(ws, &in, uop2(ws->ir, OP_MBAR_WAIT, ws_mbar(ws, ws->order_bar, release_threads), parity));
    }
    consume_tile(ws, wave, block, &loop);
    at_tile(ws, &loop, tile, &in);
    put_tile(ws, tile, &in, &all);
    put_loop(ws, own, &all, out);
    if (ws->stores_tma) ws_elect_one(ws, uop_mk(ws->ir, OP_TMA_STORE_WAIT, NULL, 0, ARG_INT(0)), out);
}

/* Digits that fp32 operands are rounded to on the way (TF32): wgmma itself truncates. */
static int64_t digits_of(const struct ws *ws, const struct ws_tile *t) {
    for (uint32_t i = 0; i < ws->mainloop.n && t->local->dt == DT_F32; i++) {
        const uop *n = ws->mainloop.p[i];
        for (uint32_t k = 0; k < n->nsrc && n->op == OP_MMA; k++)
            if (n->src[k]->op == OP_INDEX && n->src[k]->src[0] == t->local) return TF32_DIGITS;
    }
    return 0;
}

/* Cooperative copy by all producer threads; each arrives when its part is written. */
static void fill_stage_cooperatively(struct ws *ws, uint32_t pipeline, const uop *iter, uop_vec *out) {
    const uop *filler = mod(ws, ws->thread, PRODUCERS);
    uop_vec part = {0};
    put(ws, out, ws_wait(ws, pipeline, EMPTY, iter, 1));
    for (uint32_t i = 0; i < ws->tile.n; i++) {
        const struct ws_tile *t = &ws->tile.p[i];
        if (t->pipeline != pipeline) continue;
        fill_cooperative(ws->s, ws_at_stage(ws, t->fill, iter, iter), filler, PRODUCERS, &part);
    }
    put_part(ws, &part, out);
    put_op(ws, out, OP_FENCE_ASYNC, 0);
    put(ws, out, ws_arrive(ws, mbar_of(ws, pipeline, FULL, iter), 0));
}

/* Issues the TMA loads of a pipeline's stage for iteration `iter`. */
static void fill_stage(struct ws *ws, uint32_t pipeline, const uop *iter, uop_vec *out) {
    int64_t bytes = 0;
    const uop *full = mbar_of(ws, pipeline, FULL, iter);
    for (uint32_t i = 0; i < ws->tile.n; i++)
        bytes += ws->tile.p[i].pipeline == pipeline ? ws->tile.p[i].box.bytes : 0;
    put(ws, out, ws_wait(ws, pipeline, EMPTY, iter, 1));
    put(ws, out, ws_arrive(ws, full, bytes));
    for (uint32_t i = 0; i < ws->tile.n; i++) {
        const struct ws_tile *t = &ws->tile.p[i];
        const struct tma_tile *b = &t->box;
        const uop *stage = stage_of(ws, iter, ws->pipeline.p[pipeline].stages);
        for (int64_t c = 0; c < b->panels * b->parts && t->pipeline == pipeline; c++) {
            int64_t panel = c / b->parts, part = c % b->parts;
            const uop *to = add(ws, mul(ws, stage, t->local->src[0]->hi), num(ws, c * b->rows * b->width));
            const uop *src[] = {mk_index(ws->ir, t->wide, to, 1), b->map, full,
                                add(ws, b->at[0], num(ws, panel * b->width)),
                                add(ws, b->at[1], num(ws, part * b->rows))};
            put(ws, out, uop_mk(ws->ir, OP_TMA_LOAD, src, RG_COUNT(src), ARG_INT(digits_of(ws, t))));
        }
    }
}

static void produce(struct ws *ws, const uop *block, int pos, uop_vec *out) {
    uop_vec in = {0}, at = {0}, all = {0}, loop = {0}, one = {0}, tail = {0};
    const uop *wave = ws_range(ws, "turn", AX_LOOP, pos, ws->waves, 1), *tile = wave_tile(ws, block, wave);
    union arg arg = ws->k->arg;
    arg.range.cls = ir_sym(ws->ir, "step", 4), arg.range.kind = AX_LOOP, arg.range.id = 0;
    const uop *k = uop_new(ws->ir, OP_RANGE, DT_IDX, 1, &ws->count, 1, arg);
    const uop *iter = add(ws, first_iter(ws, wave), k);
    uop_vec end = {0};
    if (!ws->attention && ws->pipeline.n == 1)
        count_stages(ws, iter, first_iter(ws, wave), ws->pipeline.p[0].stages, &at, &end);
    for (uint32_t i = 0; i < ws->pipeline.n; i++) {
        bool stationary = false;
        for (uint32_t t = 0; t < ws->tile.n; t++)
            stationary |= ws->tile.p[t].pipeline == i && ws->tile.p[t].stationary;
        (ws->pipeline.p[i].cooperative ? fill_stage_cooperatively
                                       : fill_stage)(ws, i, stationary ? wave : iter, stationary ? &at : &in);
    }
    put_part(ws, &end, &in);
    ws->state = (struct pipeline_state){0};
    for (uint32_t i = 0; i < in.n; i++) in.p[i] = rw_subst(ws->rw, in.p[i], &ws->k, &k, 1);
    put_loop(ws, k, &in, &at);
    add_iters(ws, &at);
    at_tile(ws, &at, tile, &loop);
    put_tile(ws, tile, &loop, &all);
    reset_iters(ws, &one);
    put_loop(ws, wave, &all, &tail);
    for (uint32_t i = 0; i < tail.n; i++) put(ws, &one, tail.p[i]);
    if (ws->cooperative)
        for (uint32_t i = 0; i < one.n; i++) put(ws, out, one.p[i]);
    else
        put(ws, out,
            when(ws, rw2(ws->rw, OP_EQ, ws->thread, num(ws, ws->threads * ws->consumers)), &one, NULL));
}

static void init_mbar(struct ws *ws, int64_t at, int64_t count, uop_vec *out) {
    const uop *bar = mk_index(ws->ir, ws->bars, num(ws, at), 1);
    put(ws, out, uop_mk(ws->ir, OP_MBAR_INIT, &bar, 1, ARG_INT(count)));
}

/* mbarrier init by one thread, then sync. */
static void init_mbars(struct ws *ws, uop_vec *out) {
    uop_vec one = {0};
    for (uint32_t i = 0; i < ws->pipeline.n; i++)
        for (int64_t p = 0; p < 2 * ws->pipeline.p[i].stages; p++)
            init_mbar(ws, ws->pipeline.p[i].bar + p,
                      p >= ws->pipeline.p[i].stages   ? ws->threads / ws->pipeline.p[i].release_threads
                      : ws->pipeline.p[i].cooperative ? PRODUCERS
                                                      : 1,
                      &one);
    for (int64_t i = ws->order_bar; i < ws->nbar; i++)
        init_mbar(ws, i,
                  i >= ws->residual_bar ? 1
                  : ws->consumers > 1   ? ws->threads
                                        : WARPGROUP / MMA_LANES,
                  &one);
    put(ws, out, when(ws, rw2(ws->rw, OP_EQ, ws->thread, num(ws, 0)), &one, NULL));
    if (ws->ranks > 1)
        put_op(ws, out, OP_CLUSTER_SYNC, ws->ranks);
    else
        put_op(ws, out, OP_BARRIER, 0);
}

/* setmaxnreg of the consumers: the even share of the register file, plus what the producer gives up; more
 * would deadlock. 0: leave it. */
static int64_t consumer_regs(struct ws *ws) {
    int64_t threads = ws->threads * ws->consumers, all = threads + PRODUCERS;
    int64_t first = ws->s->gpu->regs_sm / all / 8 * 8;
    int64_t each = (all * first - PRODUCERS * PRODUCER_REGS) / threads / 8 * 8;
    if (threads <= WARPGROUP || ws->cooperative) return 0; /* transposing producers need theirs */
    if (each < CONSUMER_REGS_MIN || (!ws->attention && threads > CONSUMERS_MAX * WARPGROUP))
        opt_fail(ws->s, ws->opt, "%lld consumer threads; there are registers for %d", (long long)threads,
                 CONSUMERS_MAX * WARPGROUP);
    return RG_MIN(each, CONSUMER_REGS_MAX);
}

const uop *tree_warp_specialize(struct sched *s, const uop *tree) {
    struct ws ws = {.s = s,
                    .ir = s->ir,
                    .rw = &s->rw,
                    .a = s->ir->arena,
                    .opt = "WARP_SPECIALIZE",
                    .consumers = s->ws.consumers};
    if (!sched_has_wgmma(s)) opt_fail(s, ws.opt, "expected wgmma (TC with an instruction W..), found none");
    ws.thread = block_thread(s, tree, &ws.threads);
    find_structure(&ws, tree);
    epilogue_tma_plan(&ws);
    if (ws.consumers > 1 && !s->ws.blocks)
        opt_fail(s, ws.opt, "two consumers alternate over the tiles of PERSISTENT; add it");
    if (ws.attention && ws.consumers > 1)
        opt_fail(s, ws.opt, "back-to-back GEMMs have one consumer, found %d", (int)ws.consumers);
    if (ws.attention && ws.waves > 1 && !uop_is_const(ws.count))
        ws.iters_done = uop_new(s->ir, OP_ACC, DT_I32, 1, NULL, 0, ARG_INT(ACC_ITERS));
    int64_t taking = ws.attention ? ws.threads / WARPGROUP : is_ordered(&ws) ? ws.consumers : 1;
    ws.order_bar = ws.nbar, ws.nbar += taking > 1 ? taking : 0;
    ws.residual_bar = ws.nbar,
    ws.nbar += ws.residual ? ws.store_panels * ws.threads * ws.consumers / WARPGROUP : 0;
    const uop *size = num(&ws, ws.nbar);
    union arg arg = {.mem = {ir_sym(s->ir, "mbars", 5), SPACE_SHARED, 0, 0}};
    ws.bars = uop_new(s->ir, OP_LOCAL, DT_U64, 1, &size, 1, arg);
    const uop *block = ws_range(&ws, "block", AX_GRID, 0, ws.blocks, 0);
    uop_vec out = {0}, some = {0}, others = {0};
    int pos = ws.thread->arg.range.pos;
    int64_t large = consumer_regs(&ws);
    init_mbars(&ws, &out);
    if (large) put_op(&ws, &some, OP_SETMAXNREG, large), put_op(&ws, &others, OP_SETMAXNREG, PRODUCER_REGS);
    consume(&ws, block, pos, &some);
    produce(&ws, block, pos, &others);
    put(&ws, &out,
        when(&ws, rw2(ws.rw, OP_LT, ws.thread, num(&ws, ws.threads * ws.consumers)), &some, &others));
    s->pipe.n = 0;
    const uop *loop = uop2(s->ir, OP_FOR, block, tree_block(s->ir, &out));
    return uop_mk(s->ir, OP_BLOCK, &loop, 1, ARG_NONE);
}
