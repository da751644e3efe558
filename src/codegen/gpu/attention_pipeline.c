/* attention_pipeline.c: the main loop of a warp-specialized kernel with back-to-back GEMMs, as in FlashAttention-3:
 * S = Q K^T, an online softmax, O += P V. wgmma is asynchronous, so GEMMs of neighbouring iterations are issued
 * together and softmax runs under P V:
 *
 *     QK        GEMMs of tiles in shared memory   S                              issued in iteration k
 *     softmax   what is computed of them          row maximum, P, row sum        while PV of k-1 runs
 *     rescale   what PV reads or accumulates to   P in 16 bits, O *= ..          when PV of k-1 is complete
 *     PV        GEMMs with an operand in registers   O += P V                    issued in iteration k+1, after QK
 *
 *     QK(0) softmax(0) rescale(0)   FOR k = 1 ..: QK(k), PV(k-1), WGMMA_WAIT(1), softmax(k), WGMMA_WAIT(0), rescale(k)   PV(last)
 *
 * If Q has two stages (PIPE along a grid axis), QK(0) of a block's next tile is issued with PV(last).
 * If a causal mask leaves the first warpgroup a whole iteration less than the last, each warpgroup has its own trip
 * count: PV(last), then it releases the stages it skips and hands over the order barrier, then QK(0) of the next tile.
 *
 * Stage and phase of an iteration are computed once and pinned in registers (op PIN_REG): ptxas would recompute them
 * for each barrier, in the uniform datapath, and move the results back.
 * Ping-pong: warpgroups alternate in issuing GEMMs, ordered by an mbarrier each; one runs softmax while the other has
 * the tensor cores. Each tile has a pipeline of its own, and is released after the last GEMM that reads it; tiles that
 * threads read (the row statistics of dV) are waited for before `softmax` and released after `rescale`.
 * Which statements are `rescale` follows from the accumulators that they read and write.
 * Requires: warp_specialize.c found tiles and main loop. Tests: tests/unit/gpu_attention.c, gpu_attention_grad.c */
#include "codegen/gpu/warp_specialize.h"

enum { ACC_PINNED = 1 << 19 }; /* ids of accumulators that pin stages and phases */

struct attention {
    struct ws *ws;
    uop_vec qk, softmax, rescale, pv;
    bool *by_qk, *by_pv, *by_threads; /* by pipeline: do QK, PV, or threads between them read it? */
};

/* ---- dependences ------------------------------------------------------------------------------------------- */

/* Accumulators, by number, below a statement; bit 0: read, bit 1: written. */
static void note(struct ws *ws, const uop *stmt, struct map *how) {
    uop_vec topo = {0};
    uint64_t old = 0;
    uop_topo(ws->a, &stmt, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++, old = 0) {
        const uop *n = topo.p[i];
        uint64_t bits = n->op == OP_ACC ? 1 : 0;
        const uop *acc = bits ? n : NULL;
        if (n->op == OP_SET || n->op == OP_WARP_REDUCE || n->op == OP_MMA) acc = n->src[0], bits = 2;
        if (!acc) continue;
        map_get(how, (uint64_t)acc->arg.i, &old);
        map_put(how, (uint64_t)acc->arg.i, old | bits);
    }
}

/* Does `stmt`, which comes later, depend on what `before` has noted? */
static bool follows(struct ws *ws, const uop *stmt, const struct map *before) {
    struct map own;
    uop_vec topo = {0};
    map_init(&own, ws->a);
    note(ws, stmt, &own);
    uop_topo(ws->a, &stmt, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++) {
        uint64_t mine = 0, theirs = 0;
        if (topo.p[i]->op != OP_ACC || !map_get(before, (uint64_t)topo.p[i]->arg.i, &theirs)) continue;
        map_get(&own, (uint64_t)topo.p[i]->arg.i, &mine);
        if ((mine | theirs) & 2) return true;
    }
    return false;
}

static void note_tiles(struct ws *ws, const uop *mma, bool *pipelines) {
    for (uint32_t i = mma->nsrc - 2; i < mma->nsrc; i++)
        for (uint32_t k = 0; k < ws->tile.n && mma->src[i]->op == OP_INDEX; k++)
            if (mma->src[i]->src[0] == ws->tile.p[k].local && !ws->tile.p[k].stationary)
                pipelines[ws->tile.p[k].pipeline] = true;
}

static void note_tiles_of_threads(struct attention *c, const uop *stmt) {
    struct ws *ws = c->ws;
    uop_vec topo = {0};
    uop_topo(ws->a, &stmt, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++)
        for (uint32_t k = 0; k < ws->tile.n && topo.p[i]->op == OP_INDEX; k++)
            if (topo.p[i]->src[0] == ws->tile.p[k].local && !ws->tile.p[k].stationary)
                c->by_threads[ws->tile.p[k].pipeline] = true;
}

/* Every stage must be waited for and released, or the producer waits for ever; and by one reader, or it is released twice. */
static void check_readers(struct attention *c) {
    struct ws *ws = c->ws;
    for (uint32_t i = 0; i < ws->tile.n; i++) {
        uint32_t p = ws->tile.p[i].pipeline;
        bool gemm = c->by_qk[p] || c->by_pv[p];
        if (ws->tile.p[i].stationary || gemm != c->by_threads[p]) continue;
        opt_fail(ws->s, ws->opt,
                 gemm ? "threads read a tile that is an operand of a GEMM; stage it twice"
                      : "the main loop loads a tile that it does not read");
    }
}

static bool is_qk(const uop *s) { return s->op == OP_MMA && s->src[s->nsrc - 2]->op == OP_INDEX; }

/* Sorts the main loop into QK, softmax, rescale, PV. Nothing after PV may need its result. */
static void sort_body(struct attention *c) {
    struct ws *ws = c->ws;
    struct map late, sums;
    map_init(&late, ws->a), map_init(&sums, ws->a);
    for (uint32_t i = 0; i < ws->mainloop.n; i++) {
        const uop *s = ws->mainloop.p[i], *first = mma_begins(ws->ir, &ws->mainloop, i);
        if (first) s = first, i++;
        if (s->op == OP_MMA) {
            put(ws, is_qk(s) ? &c->qk : &c->pv, s);
            note_tiles(ws, s, is_qk(s) ? c->by_qk : c->by_pv);
            note(ws, s, is_qk(s) ? &sums : &late);
        }
    }
    for (uint32_t i = 0; i < c->qk.n; i++)
        if (!c->qk.p[i]->arg.mma.zero_init && i == 0)
            opt_fail(ws->s, ws->opt, "the first GEMM of the main loop must start from 0 in each iteration");
    for (uint32_t i = 0; i < c->qk.n; i++)
        if (follows(ws, c->qk.p[i], &late))
            opt_fail(ws->s, ws->opt, "GEMMs of the main loop depend on each other in a cycle");
    for (uint32_t i = 0, ds = 0; i < ws->mainloop.n; i++) {
        const uop *s = ws->mainloop.p[i];
        if (mma_begins(ws->ir, &ws->mainloop, i)) continue;
        if (s->op == OP_MMA) {
            ds += !is_qk(s);
            continue;
        }
        bool behind = follows(ws, s, &late);
        if (behind && ds)
            opt_fail(ws->s, ws->opt, "the result of the main loop's last GEMM is used in the same iteration");
        if (behind) note(ws, s, &late);
        put(ws, behind ? &c->rescale : &c->softmax, s);
        note_tiles_of_threads(c, s);
    }
    if (!c->qk.n || !c->pv.n)
        opt_fail(ws->s, ws->opt, "expected two GEMMs in the main loop, one reading the other's result");
}

/* ---- trip counts under a mask ----------------------------------------------------------------------------- */

static bool is_of_grid(const struct ws *ws, const uop *range) {
    for (uint32_t i = 0; i < ws->grid.n; i++)
        if (ws->grid.p[i] == range) return true;
    return false;
}

static bool is_group(const struct ws *ws, const uop *a) {
    return a->op == OP_RANGE && a->arg.range.kind == AX_THREAD && a->src[0]->hi == ws->threads / WARPGROUP;
}

/* Upper bound of affine f over a warpgroup's threads, loop term excluded. *spread: last warpgroup minus
 * first. */
static const uop *upper_bound(struct ws *ws, const struct affine *f, int64_t *spread) {
    const uop *sum = num(ws, f->k);
    *spread = 0;
    for (uint32_t i = 0; i < f->n; i++) {
        const uop *a = f->t[i].atom;
        int64_t c = f->t[i].coef;
        if (a == ws->k) continue;
        if (is_group(ws, a)) *spread += c * a->hi;
        if (is_of_grid(ws, a) || is_group(ws, a))
            sum = add(ws, sum, mul(ws, is_group(ws, a) ? ws_warpgroup(ws) : a, c));
        else
            sum = add(ws, sum, num(ws, c > 0 ? c * a->hi : c * a->lo));
    }
    return sum;
}

/* The limit of a causal mask, `IF ..: limit = ..; score = score where least < limit, else -inf`, or NULL;
 * *least: what is compared with it. */
static const uop *limit_of(const uop *s, int64_t *least) {
    const uop *block = s->op == OP_IF && if_then(s)->nsrc == 2 ? if_then(s) : NULL;
    if (!block || block->src[0]->op != OP_SET || block->src[1]->op != OP_SET) return NULL;
    const uop *pipeline = block->src[0], *limit = stored_value(pipeline), *x = stored_value(block->src[1]);
    const uop *below = x->op == OP_WHERE ? x->src[0] : NULL;
    if (!below || below->op != OP_LT || below->src[1] != pipeline->src[0]) return NULL;
    if (limit->op != OP_CAST || limit->src[0]->dt != DT_IDX) return NULL;
    *least = below->src[0]->lo;
    return limit->src[0];
}

/* Trip count of a warpgroup under a mask: all, unless the first warpgroup ends a whole iteration before
 * the last. */
static const uop *warpgroup_count(struct ws *ws) {
    int64_t least, spread;
    for (uint32_t i = 0; i < ws->mainloop.n; i++) {
        const uop *limit = limit_of(ws->mainloop.p[i], &least);
        if (!limit) continue;
        struct affine f = affine_of(ws->a, limit);
        int64_t step = -affine_coef(&f, ws->k);
        const uop *most = upper_bound(ws, &f, &spread);
        if (step <= 0 || spread < step) continue;
        const uop *n = rw2(ws->rw, OP_IDIV, add(ws, most, num(ws, step - 1 - least)), num(ws, step));
        n = rw2(ws->rw, OP_MIN, n, ws->count);
        if (n->lo >= 1) return n;
    }
    return ws->count;
}

/* ---- the loop ---------------------------------------------------------------------------------------------------- */

static const uop *at_iteration(struct ws *ws, const uop *n, const uop *k) {
    return k == ws->k ? n : rw_subst(ws->rw, n, &ws->k, &k, 1);
}

/* Statements of iteration k of the tile, iter of the block. */
static void put_statements(struct attention *c, const uop_vec *v, const uop *k, const uop *iter,
                           const uop *at, uop_vec *out) {
    uop_vec part = {0};
    for (uint32_t i = 0; i < v->n; i++)
        put(c->ws, &part, ws_at_stage(c->ws, at_iteration(c->ws, v->p[i], k), iter, at));
    put_part(c->ws, &part, out);
}

static void issue(struct attention *c, const uop_vec *v, const uop *iter, const uop *at, uop_vec *out) {
    uop_vec part = {0};
    put_op(c->ws, &part, OP_WGMMA_FENCE, 0);
    for (uint32_t i = 0; i < v->n; i++) put(c->ws, &part, ws_at_stage(c->ws, v->p[i], iter, at));
    put_op(c->ws, &part, OP_WGMMA_COMMIT, 0);
    put_part(c->ws, &part, out);
}

static void sync_stages(struct attention *c, const bool *of, const bool * not, bool give, const uop *iter,
                        uop_vec *out) {
    for (uint32_t i = 0; i < c->ws->pipeline.n; i++) {
        if (!of[i] || not [i]) continue;
        if (give)
            ws_release(c->ws, i, iter, NULL, out);
        else
            put(c->ws, out, ws_wait(c->ws, i, FULL, iter, 0));
    }
}

/* Ping-pong: waits until it is this warpgroup's turn to issue GEMMs, or hands over to the next. */
static void order_barrier(struct attention *c, const uop *iter, bool over, uop_vec *out) {
    struct ws *ws = c->ws;
    int64_t groups = ws->threads / WARPGROUP;
    const uop *group = ws_warpgroup(ws), *next = mod(ws, add(ws, group, num(ws, 1)), groups);
    if (groups < 2) return;
    if (over) { /* one arrival per warp */
        uop_vec one = {0};
        const uop *first = rw2(ws->rw, OP_EQ, mod(ws, ws->thread, MMA_LANES), num(ws, 0));
        put(ws, &one, ws_arrive(ws, ws_mbar(ws, ws->order_bar, next), 0));
        put(ws, out, when(ws, first, &one, NULL));
        return;
    }
    const uop *late =
        rw2(ws->rw, OP_LT, group, num(ws, 1)); /* the first waits for the last one's iteration before */
    const struct pinned_state *h = ws_pinned(ws, iter);
    const uop *n =
        add(ws, h && h->count ? h->count : iter, rw3(ws->rw, OP_WHERE, late, num(ws, 1), num(ws, 0)));
    const uop *parity = rw2(ws->rw, OP_AND, n, num(ws, 1));
    put(ws, out, uop2(ws->ir, OP_MBAR_WAIT, ws_mbar(ws, ws->order_bar, group), parity));
}

static void put_when(struct ws *ws, const uop *cond, const uop_vec *v, uop_vec *out) {
    if (!v->n) return;
    if (cond) put(ws, out, when(ws, cond, v, NULL));
    for (uint32_t i = 0; i < v->n && !cond; i++) put(ws, out, v->p[i]);
}

/* QK(0) of a tile. Where `cond` is false there is no such tile: QK is computed on stale data and never
 * read. */
static void issue_qk(struct attention *c, const uop *iter, const uop *at, const uop *cond, uop_vec *out) {
    bool *none = arena_array(c->ws->a, bool, c->ws->pipeline.n);
    uop_vec some = {0};
    if (c->ws->overlap_tiles) ws_sync_stationary(c->ws, at, false, &some);
    sync_stages(c, c->by_qk, none, false, iter, &some);
    order_barrier(c, iter, false, &some);
    put_when(c->ws, cond, &some, out);
    issue(c, &c->qk, iter, at, out);
}

static struct attention sort_statements(struct ws *ws) {
    struct attention c = {.ws = ws};
    c.by_qk = arena_array(ws->a, bool, ws->pipeline.n), c.by_pv = arena_array(ws->a, bool, ws->pipeline.n);
    c.by_threads = arena_array(ws->a, bool, ws->pipeline.n);
    sort_body(&c);
    check_readers(&c);
    if (ws->count->lo < 1)
        opt_fail(ws->s, ws->opt, "the main loop may have no iteration; expected 1 at least");
    return c;
}

/* When QK is complete: its stages are released. */
static void release_qk(struct attention *c, const uop *iter, const uop *cond, uop_vec *out) {
    uop_vec some = {0};
    sync_stages(c, c->by_qk, c->by_pv, true, iter, &some);
    put_when(c->ws, cond, &some, out);
}

static void order_handover(struct attention *c, const uop *iter, const uop *cond, uop_vec *out) {
    uop_vec some = {0};
    order_barrier(c, iter, true, &some);
    put_when(c->ws, cond, &some, out);
}

void attention_first(struct ws *ws, uop_vec *out) {
    struct attention c = sort_statements(ws);
    const uop *zero = num(ws, 0);
    issue_qk(&c, zero, zero, NULL, out);
    order_handover(&c, zero, NULL, out);
    put_op(ws, out, OP_WGMMA_WAIT, 0);
    release_qk(&c, zero, NULL, out);
}

static const uop *pinned_register(struct ws *ws, int i) {
    return uop_new(ws->ir, OP_ACC, DT_I32, 1, NULL, 0, ARG_INT(ACC_PINNED + i));
}

static void pin(struct ws *ws, const uop *acc, const uop *x, uop_vec *out) {
    put(ws, out, uop2(ws->ir, OP_SET, acc, x));
    put(ws, out, uop_mk(ws->ir, OP_PIN_REG, &acc, 1, ARG_NONE));
}

/* Stages of the loop's pipelines, if all have the same power of two; else 0. */
static int64_t common_stages(const struct ws *ws) {
    int64_t n = 0;
    for (uint32_t i = 0; i < ws->tile.n; i++) {
        int64_t stages = ws->pipeline.p[ws->tile.p[i].pipeline].stages;
        if (ws->tile.p[i].stationary) continue;
        if ((n && stages != n) || (stages & (stages - 1))) return 0;
        n = stages;
    }
    return n;
}

/* The trip count pinned in a register, else it is recomputed in each iteration. */
static const uop *pinned_size(struct ws *ws, const uop *size, uop_vec *out) {
    int64_t bits = 1;
    const uop *acc = pinned_register(ws, 0);
    if (uop_is_const(size)) return size;
    while (bits <= size->hi) bits *= 2;
    pin(ws, acc, uop_cast(ws->ir, size, DT_I32), out);
    return rw2(ws->rw, OP_AND, uop_cast(ws->ir, acc, DT_IDX), num(ws, bits - 1));
}

/* Pins stage and phase: before the loop those of its first iteration, `then`; at the top of each, those of
 * the next. */
static void pin_state(struct ws *ws, const uop *first, const uop *now, const uop *then, uop_vec *out,
                      uop_vec *in) {
    int64_t stages = common_stages(ws), shift = 0;
    const uop *count = pinned_register(ws, 1), *stage[2], *phase[2];
    if (!stages) return;
    while (1 << shift < stages) shift++;
    for (int i = 0; i < 2; i++) stage[i] = pinned_register(ws, 2 + i), phase[i] = pinned_register(ws, 4 + i);
    const uop *mask = uop_int(ws->ir, DT_I32, stages - 1), *one = uop_int(ws->ir, DT_I32, 1);
    const uop *at = uop2(ws->ir, OP_AND, count, mask),
              *parity_of_count =
                  uop2(ws->ir, OP_AND, uop2(ws->ir, OP_SHR, count, uop_int(ws->ir, DT_I32, shift)), one);
    pin(ws, count, uop_cast(ws->ir, first, DT_I32), out);
    pin(ws, stage[0], at, out);
    put(ws, out, uop2(ws->ir, OP_SET, phase[0], parity_of_count));
    put(ws, in, uop2(ws->ir, OP_SET, stage[1], stage[0]));
    put(ws, in, uop2(ws->ir, OP_SET, phase[1], phase[0]));
    pin(ws, count, uop2(ws->ir, OP_ADD, count, one), in);
    pin(ws, stage[0], at, in);
    put(ws, in, uop2(ws->ir, OP_SET, phase[0], parity_of_count));
    for (int i = 0; i < 2; i++)
        ws->pinned[i] =
            (struct pinned_state){i ? then : now, i ? NULL : uop_cast(ws->ir, count, DT_IDX),
                                  uop_cast(ws->ir, stage[i], DT_IDX), uop_cast(ws->ir, phase[i], DT_IDX)};
}

/* Iterations after the first: QK(k) and PV(k-1) are issued together. */
static void steady_state(struct attention *c, const struct attention_tile *t, uop_vec *out) {
    struct ws *ws = c->ws;
    bool *none = arena_array(ws->a, bool, ws->pipeline.n);
    uop_vec in = {0}, top = {0}, start = {0};
    union arg arg = ws->k->arg;
    arg.range.id = 100;
    const uop *size = rw2(ws->rw, OP_SUB, warpgroup_count(ws), num(ws, 1));
    if (!size->hi) return;
    size = pinned_size(ws, size, &start);
    const uop *before = uop_new(ws->ir, OP_RANGE, DT_IDX, 1, &size, 1, arg), *k = add(ws, before, num(ws, 1));
    const uop *now = add(ws, t->iter, k), *then = add(ws, t->iter, before);
    pin_state(ws, t->iter, now, then, &start, &top);
    put_part(ws, &start, out);
    put_part(ws, &top, &in);
    sync_stages(c, c->by_qk, none, false, now, &in);
    order_barrier(c, now, false, &in);
    issue(c, &c->qk, now, t->wave, &in);
    sync_stages(c, c->by_pv, c->by_qk, false, then, &in);
    issue(c, &c->pv, then, t->wave, &in);
    order_barrier(c, now, true, &in);
    put_op(ws, &in, OP_WGMMA_WAIT, 1);
    sync_stages(c, c->by_qk, c->by_pv, true, now, &in);
    sync_stages(c, c->by_threads, none, false, now, &in);
    put_statements(c, &c->softmax, k, now, t->wave, &in);
    put_op(ws, &in, OP_WGMMA_WAIT, 0);
    sync_stages(c, c->by_pv, none, true, then, &in);
    put_statements(c, &c->rescale, k, now, t->wave, &in);
    sync_stages(c, c->by_threads, none, true, now, &in);
    put(ws, out, uop2(ws->ir, OP_FOR, before, tree_block(ws->ir, &in)));
    memset(ws->pinned, 0, sizeof ws->pinned);
}

/* Releases stages that this warpgroup skips (causal mask) and hands over the order barrier. */
static void skip_iterations(struct attention *c, const uop *iter, const uop *size, uop_vec *out) {
    struct ws *ws = c->ws;
    bool *none = arena_array(ws->a, bool, ws->pipeline.n);
    union arg arg = ws->k->arg;
    uop_vec in = {0};
    arg.range.id = 101;
    const uop *k = uop_new(ws->ir, OP_RANGE, DT_IDX, 1, &size, 1, arg), *now = add(ws, iter, k);
    sync_stages(c, c->by_qk, none, false, now, &in);
    order_barrier(c, now, false, &in);
    order_barrier(c, now, true, &in);
    sync_stages(c, c->by_qk, c->by_pv, true, now, &in);
    sync_stages(c, c->by_pv, c->by_qk, false, now, &in);
    sync_stages(c, c->by_pv, none, true, now, &in);
    sync_stages(c, c->by_threads, none, false, now, &in);
    sync_stages(c, c->by_threads, none, true, now, &in);
    put(ws, out, uop2(ws->ir, OP_FOR, k, tree_block(ws->ir, &in)));
}

/* The end of a tile where warpgroups have different trip counts. */
static void end_uneven(struct attention *c, const struct attention_tile *t, const uop *own, uop_vec *out) {
    struct ws *ws = c->ws;
    bool *none = arena_array(ws->a, bool, ws->pipeline.n);
    const uop *first = add(ws, t->iter, own), *last = rw2(ws->rw, OP_SUB, first, num(ws, 1));
    const uop *next = add(ws, t->iter, ws->count);
    sync_stages(c, c->by_pv, c->by_qk, false, last, out);
    issue(c, &c->pv, last, t->wave, out);
    put_op(ws, out, OP_WGMMA_WAIT, 0);
    sync_stages(c, c->by_pv, none, true, last, out);
    skip_iterations(c, first, rw2(ws->rw, OP_SUB, ws->count, own), out);
    if (!t->more) return;
    ws_sync_stationary(ws, t->wave, true, out);
    issue_qk(c, next, add(ws, t->wave, num(ws, 1)), t->more, out);
    order_handover(c, next, t->more, out);
    put_op(ws, out, OP_WGMMA_WAIT, 0);
    release_qk(c, next, t->more, out);
}

void attention_loop(struct ws *ws, const struct attention_tile *t, uop_vec *out) {
    struct attention c = sort_statements(ws);
    bool *none = arena_array(ws->a, bool, ws->pipeline.n);
    const uop *next = add(ws, t->iter, ws->count), *last = rw2(ws->rw, OP_SUB, next, num(ws, 1));
    const uop *own = warpgroup_count(ws);
    if (!t->more) {
        issue_qk(&c, t->iter, t->wave, NULL, out);
        order_handover(&c, t->iter, NULL, out);
        put_op(ws, out, OP_WGMMA_WAIT, 0);
        release_qk(&c, t->iter, NULL, out);
    }
    sync_stages(&c, c.by_threads, none, false, t->iter, out);
    put_statements(&c, &c.softmax, num(ws, 0), t->iter, t->wave, out);
    put_statements(&c, &c.rescale, num(ws, 0), t->iter, t->wave, out);
    sync_stages(&c, c.by_threads, none, true, t->iter, out);
    steady_state(&c, t, out);
    if (own != ws->count) {
        end_uneven(&c, t, own, out);
        return;
    }
    if (t->more) {
        ws_sync_stationary(ws, t->wave, true, out);
        issue_qk(&c, next, add(ws, t->wave, num(ws, 1)), t->more, out);
    }
    sync_stages(&c, c.by_pv, c.by_qk, false, last, out);
    issue(&c, &c.pv, last, t->wave, out);
    if (t->more) order_handover(&c, next, t->more, out);
    put_op(ws, out, OP_WGMMA_WAIT, 0);
    if (t->more) release_qk(&c, next, t->more, out);
    sync_stages(&c, c.by_pv, none, true, last, out);
}

/* ---- gradients: several second GEMMs --------------------------------------------------------------------- */

bool attention_needs_reorder(const struct ws *ws) {
    const uop *first = NULL;
    for (uint32_t i = 0; i < ws->mainloop.n; i++) {
        const uop *s = ws->mainloop.p[i];
        if (s->op != OP_MMA || is_qk(s)) continue;
        if (first && s->src[0]->arg.i != first->arg.i) return true;
        first = s->src[0];
    }
    return false;
}

/* Gradients of K and V: registers hold the accumulators, S, dP and what is computed of them; nothing is
 * carried into the next iteration. Warpgroups are not ordered: one multiplies while the other computes. */
void wgmma_schedule_loop(struct ws *ws, const struct attention_tile *t, uop_vec *out) {
    const uop *i = add(ws, t->iter, ws->k);
    uop_vec in = {0}, body = {0};
    for (uint32_t k = 0; k < ws->mainloop.n; k++)
        put(ws, &body, ws_at_stage(ws, ws->mainloop.p[k], i, t->wave));
    uint32_t pipeline = ws->tile.p[0].pipeline;
    put(ws, &in, ws_wait(ws, pipeline, FULL, i, 0));
    wgmma_schedule_body(ws->ir, &body, false, &in);
    ws_release(ws, pipeline, i, NULL, &in);
    put(ws, out, uop2(ws->ir, OP_FOR, ws->k, tree_block(ws->ir, &in)));
}
