/* pipeline.c: multistage pipelines of shared memory by cp.async. PIPE(buffer, loop, n) on a staged buffer gives its
 * tile n stages; iteration k uses stage k mod n (counted if n is no power of two) while later ones are loaded.
 *
 *   plain copies    are issued n-1 iterations ahead (CP_ASYNC), a commit group per iteration:
 *                       prologue: n-1 groups
 *                       FOR k: CP_ASYNC_WAIT(n-2) BARRIER, copies of k+n-1, CP_ASYNC_COMMIT, the rest of the body
 *   anything else   (transposed tiles, casts, elements that cannot be proved aligned) goes through registers, one
 *                   iteration ahead:  FOR k: BARRIER, loads of k+1, the rest of the body, stores of k+1
 *
 * If the rest of the body is an mma.sync with several steps along k, fragments are double-buffered: those of step 0 are
 * loaded at the end of the iteration before, after the barrier, under the MMAs of its last step.
 *
 * wgmma reads the tiles asynchronously: issued in iteration k, complete once k+1 has issued its own, so a stage is refilled
 * one iteration later, n-2 ahead:
 *     FOR k: CP_ASYNC_WAIT(n-3) FENCE_ASYNC BARRIER, wgmma k, copies of k+n-2, CP_ASYNC_COMMIT, WGMMA_WAIT(1)
 *
 * A tile without PIPE is filled in place, and each run of wgmma is waited for at once.
 * One barrier per iteration suffices: after it stage k is filled and stage k-1, the next to be filled, is no longer read.
 * All tiles that the loop fills must be in the pipeline.
 * Requires: tree_build. Gives: statements with COPY ranges, which threads.c distributes. Tests: tests/unit/gpu_threads.c */
#include "codegen/internal.h"

enum { STAGES_MAX = 8 };

struct multistage {
    struct sched *s;
    struct ir *ir;
    struct rw *rw;
    struct arena *a;
    struct free_ranges fr;
    const uop *range; /* of the main loop */
    int64_t stages;
    const uop *count;          /* its iterations */
    uop_vec fill, local, wide; /* statements that fill; their LOCALs; the same with all stages */
    bool async[16];

    uint32_t accs;
    uint32_t pipelines;
    bool wgmma;                 /* wgmma: reads the tiles asynchronously */
    bool back_to_back;          /* back-to-back GEMMs: the loop computes with their accumulators */
    bool carry;                 /* some wgmmas complete in the next iteration */
    const uop *counter, *stage; /* stage of this iteration, counted in a register; NULL: k mod stages */
    uop_vec body;               /* of back-to-back GEMMs, scheduled */
};

/* Iterations that a stage is filled ahead. */
static int64_t fill_distance(const struct multistage *g) {
    return g->stages - (g->wgmma && (!g->back_to_back || g->carry) ? 2 : 1);
}

static bool is_fill(const uop *s) {
    return s->op == OP_STORE && access_buf(s)->op == OP_LOCAL && access_buf(s)->arg.mem.space == SPACE_SHARED;
}

/* ---- PIPE opts --------- ----------------------------------------------------------------------------------- */

static bool reads_buffer(struct multistage *g, const uop *value, uint32_t name) {
    uop_vec topo = {0};
    uop_topo(g->a, &value, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++)
        if (topo.p[i]->op == OP_PARAM && topo.p[i]->arg.param.name == name) return true;
    return false;
}

static bool is_for(struct multistage *g, const struct pipe *p, const uop *fill, const uop *range) {
    return p->axis == range->arg.range.cls && reads_buffer(g, fill->src[1], p->buffer);
}

/* The PIPE for a fill in the loop over `range`, or NULL. */
static struct pipe *pipe_of(struct multistage *g, const uop *fill, const uop *range) {
    for (uint32_t i = 0; i < g->s->pipe.n; i++)
        if (is_for(g, &g->s->pipe.p[i], fill, range)) return &g->s->pipe.p[i];
    return NULL;
}

/* The fill has its pipeline. A buffer with two tiles may have two PIPEs: none remains as a prefetch. */
static void mark_piped(struct multistage *g, const uop *fill, const uop *range) {
    for (uint32_t i = 0; i < g->s->pipe.n; i++)
        if (is_for(g, &g->s->pipe.p[i], fill, range)) g->s->pipe.p[i].ahead = 0;
}

/* ---- copies ---------------------------------------------------------------------------------------------- */

/* A load, perhaps predicated with zeros: its INDEX and the predicate; false: anything else. */
bool plain_copy(struct rw *rw, const uop *v, const uop **index, const uop **pred) {
    *pred = NULL;
    if (v->op == OP_WHERE && v->src[2]->op == OP_CONST && v->src[2]->arg.u == 0)
        *pred = v->src[0], v = v->src[1];
    if (v->op != OP_LOAD || access_buf(v)->op != OP_PARAM) return false;
    *index = v->src[0];
    const uop *at = access_offset(v);
    if (at->op == OP_WHERE && at->src[2]->op == OP_INVALID)
        *pred = *pred ? rw2(rw, OP_AND, *pred, at->src[0]) : at->src[0];
    return true;
}

static const uop *unpredicated(const uop *at) {
    return at->op == OP_WHERE && at->src[2]->op == OP_INVALID ? at->src[1] : at;
}

/* Are the elements of a vector contiguous on both sides, in aligned chunks that cp.async can copy? */
static bool is_vector_copy(struct multistage *g, const uop *fill, const uop *index, const uop *pred) {
    const uop_vec *f = free_of(&g->fr, fill);
    const uop *vec = NULL, *at = unpredicated(index->src[1]);
    for (uint32_t i = 0; i < f->n; i++)
        if (f->p[i]->arg.range.kind == AX_VEC) vec = f->p[i];
    int bytes = dtype_info[index->dt].bytes;
    struct affine to = affine_of(g->a, access_offset(fill)), from = affine_of(g->a, at);
    if (!vec) return bytes == 4; /* 4-byte copies */
    if (affine_coef(&to, vec) != 1 || affine_coef(&from, vec) != 1) return false;
    if (bytes == 4) return true; /* else 4-byte copies */
    const uop *zero = uop_idx(g->ir, 0);
    int64_t n = vec->src[0]->hi;
    if (n * bytes != 16 || !uop_divides(rw_subst(g->rw, at, &vec, &zero, 1), n)) return false;
    return !pred || !free_has(&g->fr, pred, vec);
}

static bool is_async(struct multistage *g, const uop *fill) {
    const uop *index, *pred;
    return plain_copy(g->rw, fill->src[1], &index, &pred) && is_vector_copy(g, fill, index, pred);
}

/* How far the address moves from the first to the second iteration of range i, the others at their first. */
static int64_t first_step(struct multistage *g, const uop *at, const uop_vec *ranges, uint32_t i) {
    uop_vec zero = {0};
    for (uint32_t k = 0; k < ranges->n; k++) vec_push(g->a, &zero, uop_idx(g->ir, 0));
    const uop *from = rw_subst(g->rw, at, ranges->p, zero.p, zero.n);
    zero.p[i] = uop_idx(g->ir, 1);
    const uop *to = rw_subst(g->rw, at, ranges->p, zero.p, zero.n);
    return uop_is_const(from) && uop_is_const(to) ? to->arg.i - from->arg.i : 0;
}

/* Do neighbouring rows of the tile overlap in memory, as windows do? Then L1 has most of a row from the one
 * before, and L2 need not deliver each element several times. */
static bool rows_overlap(struct multistage *g, const uop *fill) {
    const uop *index, *pred;
    if (!plain_copy(g->rw, fill->src[1], &index, &pred)) return false;
    const uop *at = unpredicated(index->src[1]);
    const uop_vec *all = free_of(&g->fr, at);
    int64_t run = 1, *step = arena_alloc(g->a, all->n * sizeof *step);
    for (uint32_t i = 0; i < all->n; i++)
        step[i] = free_has(&g->fr, fill->src[0], all->p[i]) ? first_step(g, at, all, i) : 0;
    for (uint32_t i = 0; i < all->n; i++) {
        if (step[i] != run) continue;
        run *= all->p[i]->src[0]->hi; /* elements one after the other */
        step[i] = 0, i = UINT32_MAX;
    }
    for (uint32_t i = 0; i < all->n; i++)
        if (step[i] > 0 && step[i] < run) return true;
    return false;
}

/* ---- stages and copies -- ------------------------------------------------------------------------------- */

static void put(struct multistage *g, uop_vec *out, enum op op, int64_t n) {
    vec_push(g->a, out, uop_mk(g->ir, op, NULL, 0, ARG_INT(n)));
}

/* A nested block: later passes move nothing out of it. */
static void put_part(struct multistage *g, uop_vec *part, uop_vec *out) {
    if (part->n) vec_push(g->a, out, tree_block(g->ir, part));
    part->n = 0;
}

static const uop *at_iteration(struct multistage *g, const uop *n, const uop *k) {
    return !k || k == g->range ? n : rw_subst(g->rw, n, &g->range, &k, 1);
}

static const uop *iteration_after(struct multistage *g, int64_t ahead) {
    return rw2(g->rw, OP_ADD, g->range, uop_idx(g->ir, ahead));
}

/* The stage of iteration k: this one, the next, or the one before it in the pipeline. */
static const uop *stage_of(struct multistage *g, const uop *k) {
    struct rw *rw = g->rw;
    const uop *zero = uop_idx(g->ir, 0), *one = uop_idx(g->ir, 1), *last = uop_idx(g->ir, g->stages - 1);
    if (g->stage && k == g->range) return g->stage;
    if (g->stage && k == iteration_after(g, 1))
        return rw3(rw, OP_WHERE, rw2(rw, OP_EQ, g->stage, last), zero, rw2(rw, OP_ADD, g->stage, one));
    if (g->stage && k == iteration_after(g, g->stages - 1))
        return rw3(rw, OP_WHERE, rw2(rw, OP_EQ, g->stage, zero), last, rw2(rw, OP_SUB, g->stage, one));
    return rw2(rw, OP_MOD, k, uop_idx(g->ir, g->stages));
}

/* A counter is cheaper than a division per iteration. */
static void count_stages(struct multistage *g, uop_vec *before) {
    int64_t bits = 1;
    g->stage = NULL;
    while (bits < g->stages) bits *= 2;
    if (bits == g->stages || g->wgmma) return;
    g->counter = uop_new(g->ir, OP_ACC, DT_I32, 1, NULL, 0, ARG_INT(g->accs++));
    g->stage = rw2(g->rw, OP_AND, uop_cast(g->ir, g->counter, DT_IDX), uop_idx(g->ir, bits - 1));
    vec_push(g->a, before, uop2(g->ir, OP_SET, g->counter, uop_int(g->ir, DT_I32, 0)));
}

static void next_stage(struct multistage *g, uop_vec *end) {
    if (g->stage)
        vec_push(
            g->a, end,
            uop2(g->ir, OP_SET, g->counter, uop_cast(g->ir, stage_of(g, iteration_after(g, 1)), DT_I32)));
}

/* n with its tiles at the stage of iteration k. */
static const uop *at_stage(struct multistage *g, const uop *n, const uop *k) {
    uop_vec topo = {0}, from = {0}, to = {0};
    uop_topo(g->a, &n, 1, &topo);
    const uop *stage = stage_of(g, k);
    for (uint32_t i = 0; i < topo.n; i++)
        for (uint32_t k2 = 0; k2 < g->local.n && topo.p[i]->op == OP_INDEX; k2++) {
            if (topo.p[i]->src[0] != g->local.p[k2]) continue;
            const uop *far = rw2(g->rw, OP_MUL, stage, g->local.p[k2]->src[0]);
            const uop *at = rw2(g->rw, OP_ADD, topo.p[i]->src[1], far);
            vec_push(g->a, &from, topo.p[i]);
            vec_push(g->a, &to, mk_index(g->ir, g->wide.p[k2], at, topo.p[i]->lanes));
        }
    return from.n ? rw_subst(g->rw, n, from.p, to.p, from.n) : n;
}

/* The cp.async of a fill for iteration k; NULL: outside of the loop. */
static const uop *copy(struct multistage *g, const uop *fill, const uop *k) {
    const uop *index, *pred;
    const uop *to = k ? at_stage(g, at_iteration(g, fill->src[0], k), k) : fill->src[0];
    plain_copy(g->rw, fill->src[1], &index, &pred);
    index = at_iteration(g, mk_index(g->ir, index->src[0], unpredicated(index->src[1]), 1), k);
    const uop *src[] = {to, index, pred ? at_iteration(g, pred, k) : NULL};
    return uop_mk(g->ir, OP_CP_ASYNC, src, pred ? 3 : 2, ARG_INT(rows_overlap(g, fill)));
}

static const uop *fill_at(struct multistage *g, uint32_t i, const uop *k) {
    if (g->async[i]) return copy(g, g->fill.p[i], k);
    return at_stage(g, at_iteration(g, g->fill.p[i], k), k);
}

/* Predicated: if iteration k + ahead exists. */
static void put_if(struct multistage *g, const uop_vec *part, int64_t ahead, uop_vec *out) {
    if (!part->n) return;
    const uop *more = rw2(g->rw, OP_LT, rw2(g->rw, OP_ADD, g->range, uop_idx(g->ir, ahead)), g->count);
    vec_push(g->a, out, uop2(g->ir, OP_IF, more, tree_block(g->ir, part)));
}

/* An accumulator for each element that a thread loads; coordinates in the order in which threads.c
 * distributes them. */
static const uop *fill_registers(struct multistage *g, const uop *fill) {
    uop_vec coord = {0};
    fill_order(g->s, &g->fr, fill, &coord);
    const uop_vec *f = free_of(&g->fr, fill);
    for (uint32_t i = 0; i < f->n; i++)
        if (axis_is_expanded((enum axis_kind)f->p[i]->arg.range.kind)) vec_push(g->a, &coord, f->p[i]);
    return uop_new(g->ir, OP_ACC, (enum dtype)fill->src[1]->dt, 1, coord.p, coord.n, ARG_INT(g->accs++));
}

static void sync_stage(struct multistage *g, bool any_async, uop_vec *out) {
    if (any_async) put(g, out, OP_CP_ASYNC_WAIT, fill_distance(g) - 1);
    if (g->wgmma) put(g, out, OP_FENCE_ASYNC, 0);
    put(g, out, OP_BARRIER, 0);
}

static void fill_prologue(struct multistage *g, bool any_async, uop_vec *out) {
    for (int64_t p = 0; p < fill_distance(g); p++) {
        const uop *there = rw2(g->rw, OP_LT, uop_idx(g->ir, p), g->count);
        uop_vec part = {0};
        for (uint32_t i = 0; i < g->fill.n && there->hi; i++)
            if (g->async[i] || p == 0) vec_push(g->a, &part, fill_at(g, i, uop_idx(g->ir, p)));
        if (part.n && !there->lo)
            vec_push(g->a, out, uop2(g->ir, OP_IF, there, tree_block(g->ir, &part)));
        else
            for (uint32_t i = 0; i < part.n; i++) vec_push(g->a, out, part.p[i]);
        if (any_async) put(g, out, OP_CP_ASYNC_COMMIT, 0);
    }
}

/* ---- back-to-back GEMMs --------------------------------------------------------------------------------------- */

static bool is_back_to_back(const uop *body) {
    for (uint32_t i = 0; i < body->nsrc; i++)
        if (!is_fill(body->src[i]) && body->src[i]->op != OP_MMA) return true;
    return false;
}

/* The scheduled body, with its waits; carried wgmmas take one stage more. */
static void schedule_body(struct multistage *g, const uop *body) {
    uop_vec stmts = {0};
    for (uint32_t i = 0; i < body->nsrc; i++)
        if (!is_fill(body->src[i])) vec_push(g->a, &stmts, at_stage(g, body->src[i], g->range));
    g->body.n = 0;
    g->carry = wgmma_schedule_body(g->ir, &stmts, g->stages > 2, &g->body);
}

static const uop *main_loop(struct multistage *g, const uop *loop, bool any_async) {
    struct ir *ir = g->ir;
    uop_vec out = {0}, part = {0}, loads_ahead = {0}, copies = {0}, loads = {0}, stores = {0};
    for (uint32_t i = 0; i < g->fill.n; i++) {
        if (g->async[i]) {
            vec_push(g->a, &copies, copy(g, g->fill.p[i], iteration_after(g, fill_distance(g))));
            continue;
        }
        const uop *acc = fill_registers(g, g->fill.p[i]);
        const uop *value = at_iteration(g, g->fill.p[i]->src[1], iteration_after(g, 1));
        vec_push(g->a, &loads, uop2(ir, OP_SET, acc, value));
        const uop *to =
            at_stage(g, at_iteration(g, g->fill.p[i]->src[0], iteration_after(g, 1)), iteration_after(g, 1));
        vec_push(g->a, &stores, uop2(ir, OP_STORE, to, acc));
    }
    sync_stage(g, any_async, &out);
    put_if(g, &copies, fill_distance(g), &loads_ahead);
    if (any_async) put(g, &loads_ahead, OP_CP_ASYNC_COMMIT, 0);
    put_if(g, &loads, 1, &loads_ahead);
    if (!g->wgmma || g->back_to_back) put_part(g, &loads_ahead, &out);
    if (g->back_to_back) {
        for (uint32_t i = 0; i < g->body.n; i++) vec_push(g->a, &out, g->body.p[i]);
        put_if(g, &stores, 1, &part);
        put_part(g, &part, &out);
        return uop2(ir, OP_FOR, for_range(loop), tree_block(ir, &out));
    }
    if (g->wgmma) put(g, &part, OP_WGMMA_FENCE, 0);
    for (uint32_t i = 0; i < for_body(loop)->nsrc; i++)
        if (!is_fill(for_body(loop)->src[i]))
            vec_push(g->a, &part, at_stage(g, for_body(loop)->src[i], g->range));
    if (g->wgmma) put(g, &part, OP_WGMMA_COMMIT, 0);
    put_part(g, &part, &out);
    if (g->wgmma) put_part(g, &loads_ahead, &out);
    put_if(g, &stores, 1, &part);
    put_part(g, &part, &out);
    if (g->wgmma) put(g, &out, OP_WGMMA_WAIT, 1);
    next_stage(g, &out);
    return uop2(ir, OP_FOR, for_range(loop), tree_block(ir, &out));
}

/* ---- double-buffered fragments ---------------------------------------------------------------------------------------- */

/* The one statement of the body besides the fills, if it is an MMA that steps along an unrolled range with
 * ldmatrix fragments; *step is that range. */
static const uop *mma_with_steps(struct multistage *g, const uop *body, const uop **step) {
    const uop *mma = NULL;
    for (uint32_t i = 0; i < body->nsrc; i++) {
        if (is_fill(body->src[i])) continue;
        if (mma || body->src[i]->op != OP_MMA) return NULL;
        mma = body->src[i];
    }
    if (!mma || mma->src[mma->nsrc - 1]->op != OP_LDMATRIX || mma->src[mma->nsrc - 2]->op != OP_LDMATRIX)
        return NULL;
    const uop_vec *f = free_of(&g->fr, mma);
    *step = NULL;
    for (uint32_t i = 0; i < f->n; i++) {
        const uop *r = f->p[i];
        if (r->arg.range.kind != AX_UNROLL || free_has(&g->fr, mma->src[0], r)) continue;
        if (*step) return NULL;
        *step = r;
    }
    return *step && (*step)->src[0]->hi > 1 ? mma : NULL;
}

static const uop *at_step(struct multistage *g, const uop *n, const uop *step, int64_t i) {
    const uop *at = uop_idx(g->ir, i);
    return rw_subst(g->rw, n, &step, &at, 1);
}

/* Registers for a fragment, one per unrolled value that it depends on. */
static const uop *fragment_registers(struct multistage *g, const uop *frag, const uop *step) {
    uop_vec coord = {0};
    const uop_vec *f = free_of(&g->fr, frag);
    for (uint32_t i = 0; i < f->n; i++)
        if (f->p[i] != step && axis_is_expanded((enum axis_kind)f->p[i]->arg.range.kind))
            vec_push(g->a, &coord, f->p[i]);
    return uop_new(g->ir, OP_ACC, DT_U32, frag->lanes, coord.p, coord.n, ARG_INT(g->accs++));
}

struct frags { /* fragments of one step, in registers */
    const uop *frag[2], *reg[2];
};

static struct frags make_frags(struct multistage *g, const uop *mma, const uop *step) {
    struct frags h;
    for (uint32_t i = 0; i < 2; i++) {
        h.frag[i] = mma->src[mma->nsrc - 2 + i];
        h.reg[i] = fragment_registers(g, h.frag[i], step);
    }
    return h;
}

static void load_frags(struct multistage *g, const struct frags *h, const uop *step, int64_t i, const uop *k,
                       uop_vec *out) {
    for (int x = 0; x < 2; x++) {
        const uop *f = at_stage(g, at_iteration(g, at_step(g, h->frag[x], step, i), k), k);
        vec_push(g->a, out, uop2(g->ir, OP_SET, h->reg[x], f));
    }
}

static const uop *mma_on(struct multistage *g, const uop *mma, const struct frags *h) {
    const uop **src = arena_array(g->a, const uop *, mma->nsrc);
    memcpy(src, mma->src, mma->nsrc * sizeof *src);
    src[mma->nsrc - 2] = h->reg[0], src[mma->nsrc - 1] = h->reg[1];
    return uop_with(g->ir, mma, src);
}

static const uop *frag_loop(struct multistage *g, const uop *loop, const uop *mma, const uop *step,
                            uop_vec *before) {
    struct ir *ir = g->ir;
    uop_vec out = {0}, part = {0}, copies = {0};
    struct frags first = make_frags(g, mma, step), last = make_frags(g, mma, step);
    int64_t n = step->src[0]->hi;
    sync_stage(g, true, before);
    load_frags(g, &first, step, 0, uop_idx(ir, 0), before);
    for (uint32_t i = 0; i < g->fill.n; i++)
        vec_push(g->a, &copies, copy(g, g->fill.p[i], iteration_after(g, g->stages - 1)));
    put_if(g, &copies, g->stages - 1, &part);
    vec_push(g->a, &part, uop_mk(ir, OP_CP_ASYNC_COMMIT, NULL, 0, ARG_NONE));
    vec_push(g->a, &out, tree_block(ir, &part));
    part.n = 0;
    vec_push(g->a, &part, mma_on(g, mma, &first));
    for (int64_t i = 1; i < n - 1; i++)
        vec_push(g->a, &part, at_stage(g, at_step(g, mma, step, i), g->range));
    load_frags(g, &last, step, n - 1, g->range, &part);
    vec_push(g->a, &out, tree_block(ir, &part));
    sync_stage(g, true, &out);
    part.n = 0;
    load_frags(g, &first, step, 0, iteration_after(g, 1), &part);
    vec_push(g->a, &part, mma_on(g, mma, &last));
    vec_push(g->a, &out, tree_block(ir, &part));
    return uop2(ir, OP_FOR, for_range(loop), tree_block(ir, &out));
}

/* Are there wgmmas in a nested loop? Their waits would be missing. */
static bool multiplies_inside(struct multistage *g, const uop *body) {
    for (uint32_t i = 0; i < body->nsrc; i++) {
        uop_vec topo = {0};
        if (body->src[i]->op != OP_FOR) continue;
        uop_topo(g->a, &body->src[i], 1, &topo);
        for (uint32_t k = 0; k < topo.n; k++)
            if (topo.p[k]->op == OP_MMA) return true;
    }
    return false;
}

/* The PIPE of a loop that fills tiles; NULL: none. */
static struct pipe *find_pipe(struct multistage *g, const uop *loop) {
    struct pipe *p = NULL;
    uint32_t asked = 0;
    g->fill.n = g->local.n = g->wide.n = 0;
    for (uint32_t i = 0; i < for_body(loop)->nsrc; i++) {
        const uop *s = for_body(loop)->src[i];
        if (!is_fill(s)) continue;
        struct pipe *q = pipe_of(g, s, for_range(loop));
        if (q && p && q->ahead != p->ahead)
            opt_fail(g->s, q->opt, "another tile of the loop has %lld stages; give both as many",
                     (long long)p->ahead);
        if (q) p = q, asked++;
        vec_push(g->a, &g->fill, s);
    }
    if (!p) return NULL;
    if (asked != g->fill.n) opt_fail(g->s, p->opt, "the loop fills another tile; PIPE all of them");
    if (g->fill.n > RG_COUNT(g->async))
        opt_fail(g->s, p->opt, "expected at most %d tiles in the pipeline", (int)RG_COUNT(g->async));
    if (g->wgmma && multiplies_inside(g, for_body(loop)))
        opt_fail(g->s, p->opt, "wgmma is in a nested loop; expected WARP_SPECIALIZE");
    g->back_to_back = g->wgmma && is_back_to_back(for_body(loop));
    int least = g->wgmma && !g->back_to_back ? 3 : 2;
    if (p->ahead < least || p->ahead > STAGES_MAX)
        opt_fail(g->s, p->opt, "expected a pipeline of %d .. %d stages, found %lld", least, STAGES_MAX,
                 (long long)p->ahead);
    return p;
}

static const uop *walk(struct multistage *g, const uop *n);

static void pipeline_loop(struct multistage *g, const uop *loop, uop_vec *out) {
    struct pipe *p = find_pipe(g, loop);
    if (!p) {
        vec_push(g->a, out, uop2(g->ir, OP_FOR, for_range(loop), walk(g, for_body(loop))));
        return;
    }
    bool any = false, all = true;
    const uop *step = NULL, *mma = mma_with_steps(g, for_body(loop), &step);
    g->range = for_range(loop), g->stages = p->ahead, g->count = range_size(for_range(loop));
    for (uint32_t i = 0; i < g->fill.n; i++) {
        const uop *l = access_buf(g->fill.p[i]), *size = uop_idx(g->ir, buf_size(l)->hi * g->stages);
        vec_push(g->a, &g->local, l);
        vec_push(g->a, &g->wide, uop_new(g->ir, OP_LOCAL, (enum dtype)l->dt, 1, &size, 1, l->arg));
        any |= g->async[i] = is_async(g, g->fill.p[i]);
        all &= g->async[i];
    }
    if (g->back_to_back) schedule_body(g, for_body(loop));
    fill_prologue(g, any, out);
    g->stage = NULL;
    bool frags = mma && all && !g->wgmma;
    if (!frags) count_stages(g, out);
    const uop *body = frags ? frag_loop(g, loop, mma, step, out) : main_loop(g, loop, any);
    vec_push(g->a, out, body);
    if (g->wgmma) put(g, out, OP_WGMMA_WAIT, 0), g->pipelines++;
    for (uint32_t i = 0; i < g->fill.n; i++) mark_piped(g, g->fill.p[i], for_range(loop));
}

/* A run of wgmma on tiles without a pipeline: waited for at once; other blocks of the SM overlap. Returns
 * the first statement after it. */
static uint32_t run_at_once(struct multistage *g, const uop *n, uint32_t i, uop_vec *out) {
    uop_vec part = {0};
    put(g, &part, OP_WGMMA_FENCE, 0);
    for (; i < n->nsrc && n->src[i]->op == OP_MMA; i++) vec_push(g->a, &part, n->src[i]);
    put(g, &part, OP_WGMMA_COMMIT, 0);
    put_part(g, &part, out);
    put(g, out, OP_WGMMA_WAIT, 0);
    g->pipelines++;
    return i;
}

static bool reads_tile(struct multistage *g, const uop *s) {
    uop_vec topo = {0};
    uop_topo(g->a, &s, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++)
        if (topo.p[i]->op == OP_LOCAL) return true;
    return false;
}

/* Is the next loop of the block a cp.async pipeline, and does nothing before it read tiles? */
static bool before_pipeline(struct multistage *g, const uop *block, uint32_t i) {
    bool any = false;
    while (i < block->nsrc &&
           (is_fill(block->src[i]) || (block->src[i]->op == OP_SET && !reads_tile(g, block->src[i]))))
        i++;
    if (i == block->nsrc || block->src[i]->op != OP_FOR || !find_pipe(g, block->src[i])) return false;
    for (uint32_t k = 0; k < g->fill.n; k++) any |= is_async(g, g->fill.p[k]);
    return any;
}

/* Tiles filled before a loop are copied with the first stages of its pipeline. */
static const uop *walk(struct multistage *g, const uop *n) {
    uop_vec out = {0};
    for (uint32_t i = 0; i < n->nsrc;) {
        const uop *s = n->src[i];
        bool fill = g->wgmma && is_fill(s);
        if (g->wgmma && s->op == OP_MMA) {
            i = run_at_once(g, n, i, &out);
            continue;
        }
        if (s->op == OP_FOR)
            pipeline_loop(g, s, &out);
        else if (fill && before_pipeline(g, n, i) && is_async(g, s))
            vec_push(g->a, &out, copy(g, s, NULL)), fill = false;
        else
            vec_push(g->a, &out, s);
        if (fill) put(g, &out, OP_FENCE_ASYNC, 0);
        i++;
    }
    return tree_block(g->ir, &out);
}

const uop *tree_waits(struct sched *s, const uop *block) {
    struct multistage g = {.s = s, .ir = s->ir, .rw = &s->rw, .a = s->ir->arena, .wgmma = true};
    free_init(&g.fr, g.ir, g.a);
    return walk(&g, block);
}

const uop *tree_pipeline(struct sched *s, const uop *tree) {
    struct multistage g = {.s = s, .ir = s->ir, .rw = &s->rw, .a = s->ir->arena, .accs = 1u << 16};
    uint32_t keep = 0;
    g.wgmma = sched_has_wgmma(s);
    if (!s->pipe.n && !g.wgmma) return tree;
    free_init(&g.fr, g.ir, g.a);
    tree = walk(&g, tree);
    if (g.wgmma && !g.pipelines)
        opt_fail(s, "TC", "wgmma reads shared memory, and no tile is filled; add a STAGE");
    for (uint32_t i = 0; i < s->pipe.n; i++) /* the others are prefetches */
        if (s->pipe.p[i].ahead) s->pipe.p[keep++] = s->pipe.p[i];
    s->pipe.n = keep;
    return tree;
}
