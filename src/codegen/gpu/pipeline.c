/* pipeline.c: shared tiles that are filled while others are used. PIPE(buffer, loop, n) on a staged buffer of a block program
 * gives its tile n places; iteration k uses place k mod n, which is counted where
 * n is no power of two, while what later iterations need is under way.
 *
 *   a plain copy    is begun n-1 iterations ahead (CP_ASYNC, asynchronous), as a group for each iteration:
 *                       n-1 groups;  FOR k: CP_ASYNC_WAIT(n-2) BARRIER, copies of k+n-1, CP_ASYNC_COMMIT, the rest of the body
 *   anything else   (a turned tile, a cast, elements that cannot be proved to lie right) goes through registers, one
 *                   iteration ahead:  FOR k: BARRIER, loads of k+1, the rest of the body, stores of k+1
 *
 * Where the rest of the body is a MMA instruction with several steps along k, the fragments of its first step are
 * fetched at the end of the iteration before, after the barrier, while the last step, whose fragments were fetched before
 * it, is computed: nobody waits for shared memory at the beginning.
 *
 * MMA instructions that read the tiles by themselves are begun in iteration k and over when k+1 has begun its own, so
 * that a place is filled again one iteration later, n-2 ahead:
 *                       FOR k: CP_ASYNC_WAIT(n-3) FENCE_ASYNC BARRIER, the rest of the body, copies of k+n-2, CP_ASYNC_COMMIT, WGMMA_WAIT(1)
 *
 * A tile for which there is no PIPE is filled where it stands, and its instructions are waited for after each run of them.
 *
 * One barrier in each iteration serves both: after it everybody has the place of k filled and is done with that of k-1, which
 * is the one that is filled next. All tiles that the loop fills must be in the ring.
 * Requires: tree_build. Gives: statements with FOLD ranges, which threads.c deals out. Tests: tests/unit/gpu_threads.c */
#include "codegen/internal.h"

enum { MOST_PLACES = 8 };

struct ring {
    struct sched *s;
    struct ir *ir;
    struct rw *rw;
    struct arena *a;
    struct free_ranges fr;
    const uop *range; /* of the loop */
    int64_t places;
    const uop *count;          /* of its iterations */
    uop_vec fill, local, wide; /* statements; their tiles, before and after */
    bool async[16];
    const uop *held[16]; /* accumulators of what goes through registers */
    uint32_t accs;
    uint32_t rings;
    bool group; /* MMA instructions of a warpgroup: they read the tiles while the program goes on */
    bool chain; /* and the loop computes with what they leave, in the same iteration */
    bool carry; /* and some of them are over in the next iteration only */
    const uop *counter, *slot; /* of this iteration, counted; NULL: what is left of a division */
    uop_vec body;              /* of a chain */
};

/* How many iterations ahead a tile is filled. */
static int64_t lead(const struct ring *g) {
    return g->places - (g->group && (!g->chain || g->carry) ? 2 : 1);
}

static bool is_fill(const uop *s) {
    return s->op == OP_STORE && access_buf(s)->op == OP_LOCAL && access_buf(s)->arg.mem.space == SPACE_SHARED;
}

/* ---- what is asked for ----------------------------------------------------------------------------------- */

static bool reads_buffer(struct ring *g, const uop *value, uint32_t name) {
    uop_vec topo = {0};
    uop_topo(g->a, &value, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++)
        if (topo.p[i]->op == OP_PARAM && topo.p[i]->arg.param.name == name) return true;
    return false;
}

static bool is_for(struct ring *g, const struct pipe *p, const uop *fill, const uop *range) {
    return p->axis == range->arg.range.cls && reads_buffer(g, fill->src[1], p->buffer);
}

/* The PIPE for a fill in the loop over `range`, or NULL. */
static struct pipe *pipe_of(struct ring *g, const uop *fill, const uop *range) {
    for (uint32_t i = 0; i < g->s->pipe.n; i++)
        if (is_for(g, &g->s->pipe.p[i], fill, range)) return &g->s->pipe.p[i];
    return NULL;
}

/* The fill has its ring. Of a buffer with two tiles there may be two PIPEs: none is left as a hint. */
static void done(struct ring *g, const uop *fill, const uop *range) {
    for (uint32_t i = 0; i < g->s->pipe.n; i++)
        if (is_for(g, &g->s->pipe.p[i], fill, range)) g->s->pipe.p[i].ahead = 0;
}

/* ---- copies ---------------------------------------------------------------------------------------------- */

/* A load, perhaps with zeros where a predicate is false: its INDEX and the predicate; false: something else. */
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

/* Lie the elements of a vector together, on both sides, in pieces that start at multiples of their size? */
static bool in_pieces(struct ring *g, const uop *fill, const uop *index, const uop *pred) {
    const uop_vec *f = free_of(&g->fr, fill);
    const uop *vec = NULL, *at = unpredicated(index->src[1]);
    for (uint32_t i = 0; i < f->n; i++)
        if (f->p[i]->arg.range.kind == AX_VEC) vec = f->p[i];
    int bytes = dtype_info[index->dt].bytes;
    struct affine to = affine_of(g->a, access_offset(fill)), from = affine_of(g->a, at);
    if (!vec) return bytes == 4; /* one by one */
    if (affine_coef(&to, vec) != 1 || affine_coef(&from, vec) != 1) return false;
    if (bytes == 4) return true; /* else each goes alone */
    const uop *zero = uop_idx(g->ir, 0);
    int64_t n = vec->src[0]->hi;
    if (n * bytes != 16 || !uop_divides(rw_subst(g->rw, at, &vec, &zero, 1), n)) return false;
    return !pred || !free_has(&g->fr, pred, vec);
}

static bool is_async(struct ring *g, const uop *fill) {
    const uop *index, *pred;
    return plain_copy(g->rw, fill->src[1], &index, &pred) && in_pieces(g, fill, index, pred);
}

/* ---- the pieces of the loop ------------------------------------------------------------------------------- */

static void put(struct ring *g, uop_vec *out, enum op op, int64_t n) {
    vec_push(g->a, out, uop_mk(g->ir, op, NULL, 0, ARG_INT(n)));
}

/* A block of its own: nothing moves out of it. */
static void put_part(struct ring *g, uop_vec *part, uop_vec *out) {
    if (part->n) vec_push(g->a, out, tree_block(g->ir, part));
    part->n = 0;
}

static const uop *at_iteration(struct ring *g, const uop *n, const uop *k) {
    return !k || k == g->range ? n : rw_subst(g->rw, n, &g->range, &k, 1);
}

static const uop *later(struct ring *g, int64_t ahead) {
    return rw2(g->rw, OP_ADD, g->range, uop_idx(g->ir, ahead));
}

/* The place of iteration k: this one, the next, or the one that has the place before. */
static const uop *place_of(struct ring *g, const uop *k) {
    struct rw *rw = g->rw;
    const uop *zero = uop_idx(g->ir, 0), *one = uop_idx(g->ir, 1), *last = uop_idx(g->ir, g->places - 1);
    if (g->slot && k == g->range) return g->slot;
    if (g->slot && k == later(g, 1))
        return rw3(rw, OP_WHERE, rw2(rw, OP_EQ, g->slot, last), zero, rw2(rw, OP_ADD, g->slot, one));
    if (g->slot && k == later(g, g->places - 1))
        return rw3(rw, OP_WHERE, rw2(rw, OP_EQ, g->slot, zero), last, rw2(rw, OP_SUB, g->slot, one));
    return rw2(rw, OP_MOD, k, uop_idx(g->ir, g->places));
}

/* A division in every iteration takes longer than a count. */
static void count_places(struct ring *g, uop_vec *before) {
    int64_t bits = 1;
    g->slot = NULL;
    while (bits < g->places) bits *= 2;
    if (bits == g->places || g->group) return;
    g->counter = uop_new(g->ir, OP_ACC, DT_I32, 1, NULL, 0, ARG_INT(g->accs++));
    g->slot = rw2(g->rw, OP_AND, uop_cast(g->ir, g->counter, DT_IDX), uop_idx(g->ir, bits - 1));
    vec_push(g->a, before, uop2(g->ir, OP_SET, g->counter, uop_int(g->ir, DT_I32, 0)));
}

static void next_place(struct ring *g, uop_vec *end) {
    if (g->slot)
        vec_push(g->a, end,
                 uop2(g->ir, OP_SET, g->counter, uop_cast(g->ir, place_of(g, later(g, 1)), DT_I32)));
}

/* n with its tiles at the place of iteration k. */
static const uop *at_place(struct ring *g, const uop *n, const uop *k) {
    uop_vec topo = {0}, from = {0}, to = {0};
    uop_topo(g->a, &n, 1, &topo);
    const uop *slot = place_of(g, k);
    for (uint32_t i = 0; i < topo.n; i++)
        for (uint32_t k2 = 0; k2 < g->local.n && topo.p[i]->op == OP_INDEX; k2++) {
            if (topo.p[i]->src[0] != g->local.p[k2]) continue;
            const uop *far = rw2(g->rw, OP_MUL, slot, g->local.p[k2]->src[0]);
            const uop *at = rw2(g->rw, OP_ADD, topo.p[i]->src[1], far);
            vec_push(g->a, &from, topo.p[i]);
            vec_push(g->a, &to, mk_index(g->ir, g->wide.p[k2], at, topo.p[i]->lanes));
        }
    return from.n ? rw_subst(g->rw, n, from.p, to.p, from.n) : n;
}

/* What iteration k fills; NULL: the fill is not in the loop. */
static const uop *copy(struct ring *g, const uop *fill, const uop *k) {
    const uop *index, *pred;
    const uop *to = k ? at_place(g, at_iteration(g, fill->src[0], k), k) : fill->src[0];
    plain_copy(g->rw, fill->src[1], &index, &pred);
    index = at_iteration(g, mk_index(g->ir, index->src[0], unpredicated(index->src[1]), 1), k);
    if (!pred) return uop2(g->ir, OP_CP_ASYNC, to, index);
    return uop3(g->ir, OP_CP_ASYNC, to, index, at_iteration(g, pred, k));
}

static const uop *fill_at(struct ring *g, uint32_t i, const uop *k) {
    if (g->async[i]) return copy(g, g->fill.p[i], k);
    return at_place(g, at_iteration(g, g->fill.p[i], k), k);
}

/* Under the condition that iteration k + ahead exists. */
static void put_if(struct ring *g, const uop_vec *part, int64_t ahead, uop_vec *out) {
    if (!part->n) return;
    const uop *more = rw2(g->rw, OP_LT, rw2(g->rw, OP_ADD, g->range, uop_idx(g->ir, ahead)), g->count);
    vec_push(g->a, out, uop2(g->ir, OP_IF, more, tree_block(g->ir, part)));
}

/* An accumulator for each element that a thread fetches: the coordinates are those that threads.c deals out, in its order. */
static const uop *hold(struct ring *g, const uop *fill) {
    uop_vec coord = {0};
    fill_order(g->s, &g->fr, fill, &coord);
    const uop_vec *f = free_of(&g->fr, fill);
    for (uint32_t i = 0; i < f->n; i++)
        if (axis_is_expanded((enum axis_kind)f->p[i]->arg.range.kind)) vec_push(g->a, &coord, f->p[i]);
    return uop_new(g->ir, OP_ACC, (enum dtype)fill->src[1]->dt, 1, coord.p, coord.n, ARG_INT(g->accs++));
}

static void meet(struct ring *g, bool any_async, uop_vec *out) {
    if (any_async) put(g, out, OP_CP_ASYNC_WAIT, lead(g) - 1);
    if (g->group) put(g, out, OP_FENCE_ASYNC, 0);
    put(g, out, OP_BARRIER, 0);
}

static void before_loop(struct ring *g, bool any_async, uop_vec *out) {
    for (int64_t p = 0; p < lead(g); p++) {
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

/* ---- chained products --------------------------------------------------------------------------------------- */

static bool is_chain(const uop *body) {
    for (uint32_t i = 0; i < body->nsrc; i++)
        if (!is_fill(body->src[i]) && body->src[i]->op != OP_MMA) return true;
    return false;
}

/* What the loop computes, with its waits; whether some of it goes on into the next iteration, which takes a place more. */
static void chained(struct ring *g, const uop *body) {
    uop_vec stmts = {0};
    for (uint32_t i = 0; i < body->nsrc; i++)
        if (!is_fill(body->src[i])) vec_push(g->a, &stmts, at_place(g, body->src[i], g->range));
    g->body.n = 0;
    g->carry = wgmma_schedule_body(g->ir, &stmts, g->places > 2, &g->body);
}

static const uop *ring_loop(struct ring *g, const uop *loop, bool any_async) {
    struct ir *ir = g->ir;
    uop_vec out = {0}, part = {0}, fetch = {0}, copies = {0}, loads = {0}, stores = {0};
    for (uint32_t i = 0; i < g->fill.n; i++) {
        if (g->async[i]) {
            vec_push(g->a, &copies, copy(g, g->fill.p[i], later(g, lead(g))));
            continue;
        }
        const uop *acc = hold(g, g->fill.p[i]);
        const uop *value = at_iteration(g, g->fill.p[i]->src[1], later(g, 1));
        vec_push(g->a, &loads, uop2(ir, OP_SET, acc, value));
        const uop *to = at_place(g, at_iteration(g, g->fill.p[i]->src[0], later(g, 1)), later(g, 1));
        vec_push(g->a, &stores, uop2(ir, OP_STORE, to, acc));
    }
    meet(g, any_async, &out);
    put_if(g, &copies, lead(g), &fetch);
    if (any_async) put(g, &fetch, OP_CP_ASYNC_COMMIT, 0);
    put_if(g, &loads, 1, &fetch);
    if (!g->group || g->chain) put_part(g, &fetch, &out);
    if (g->chain) {
        for (uint32_t i = 0; i < g->body.n; i++) vec_push(g->a, &out, g->body.p[i]);
        put_if(g, &stores, 1, &part);
        put_part(g, &part, &out);
        return uop2(ir, OP_FOR, for_range(loop), tree_block(ir, &out));
    }
    if (g->group) put(g, &part, OP_WGMMA_FENCE, 0);
    for (uint32_t i = 0; i < for_body(loop)->nsrc; i++)
        if (!is_fill(for_body(loop)->src[i]))
            vec_push(g->a, &part, at_place(g, for_body(loop)->src[i], g->range));
    if (g->group) put(g, &part, OP_WGMMA_COMMIT, 0);
    put_part(g, &part, &out);
    if (g->group) put_part(g, &fetch, &out);
    put_if(g, &stores, 1, &part);
    put_part(g, &part, &out);
    if (g->group) put(g, &out, OP_WGMMA_WAIT, 1);
    next_place(g, &out);
    return uop2(ir, OP_FOR, for_range(loop), tree_block(ir, &out));
}

/* ---- fragments ahead ---------------------------------------------------------------------------------------- */

/* The one statement of the body besides the fills, if it is a MMA instruction that steps along a written-out range with
 * fragments from shared memory; *step is that range. */
static const uop *steps_of(struct ring *g, const uop *body, const uop **step) {
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

static const uop *at_step(struct ring *g, const uop *n, const uop *step, int64_t i) {
    const uop *at = uop_idx(g->ir, i);
    return rw_subst(g->rw, n, &step, &at, 1);
}

/* Registers for a fragment: one for each of the written-out values that it depends on. */
static const uop *frag_hold(struct ring *g, const uop *frag, const uop *step) {
    uop_vec coord = {0};
    const uop_vec *f = free_of(&g->fr, frag);
    for (uint32_t i = 0; i < f->n; i++)
        if (f->p[i] != step && axis_is_expanded((enum axis_kind)f->p[i]->arg.range.kind))
            vec_push(g->a, &coord, f->p[i]);
    return uop_new(g->ir, OP_ACC, DT_U32, frag->lanes, coord.p, coord.n, ARG_INT(g->accs++));
}

struct frags { /* of one step, held in registers */
    const uop *frag[2], *hold[2];
};

static struct frags hold_frags(struct ring *g, const uop *mma, const uop *step) {
    struct frags h;
    for (uint32_t i = 0; i < 2; i++) {
        h.frag[i] = mma->src[mma->nsrc - 2 + i];
        h.hold[i] = frag_hold(g, h.frag[i], step);
    }
    return h;
}

static void fetch(struct ring *g, const struct frags *h, const uop *step, int64_t i, const uop *k,
                  uop_vec *out) {
    for (int x = 0; x < 2; x++) {
        const uop *f = at_place(g, at_iteration(g, at_step(g, h->frag[x], step, i), k), k);
        vec_push(g->a, out, uop2(g->ir, OP_SET, h->hold[x], f));
    }
}

static const uop *multiply(struct ring *g, const uop *mma, const struct frags *h) {
    const uop **src = arena_array(g->a, const uop *, mma->nsrc);
    memcpy(src, mma->src, mma->nsrc * sizeof *src);
    src[mma->nsrc - 2] = h->hold[0], src[mma->nsrc - 1] = h->hold[1];
    return uop_with(g->ir, mma, src);
}

static const uop *frag_loop(struct ring *g, const uop *loop, const uop *mma, const uop *step,
                            uop_vec *before) {
    struct ir *ir = g->ir;
    uop_vec out = {0}, part = {0}, copies = {0};
    struct frags first = hold_frags(g, mma, step), last = hold_frags(g, mma, step);
    int64_t n = step->src[0]->hi;
    meet(g, true, before);
    fetch(g, &first, step, 0, uop_idx(ir, 0), before);
    for (uint32_t i = 0; i < g->fill.n; i++)
        vec_push(g->a, &copies, copy(g, g->fill.p[i], later(g, g->places - 1)));
    put_if(g, &copies, g->places - 1, &part);
    vec_push(g->a, &part, uop_mk(ir, OP_CP_ASYNC_COMMIT, NULL, 0, ARG_NONE));
    vec_push(g->a, &out, tree_block(ir, &part));
    part.n = 0;
    vec_push(g->a, &part, multiply(g, mma, &first));
    for (int64_t i = 1; i < n - 1; i++)
        vec_push(g->a, &part, at_place(g, at_step(g, mma, step, i), g->range));
    fetch(g, &last, step, n - 1, g->range, &part);
    vec_push(g->a, &out, tree_block(ir, &part));
    meet(g, true, &out);
    part.n = 0;
    fetch(g, &first, step, 0, later(g, 1), &part);
    vec_push(g->a, &part, multiply(g, mma, &last));
    vec_push(g->a, &out, tree_block(ir, &part));
    return uop2(ir, OP_FOR, for_range(loop), tree_block(ir, &out));
}

/* Are there MMA instructions in a loop of the body? Nobody would wait for those of one turn in the next. */
static bool multiplies_inside(struct ring *g, const uop *body) {
    for (uint32_t i = 0; i < body->nsrc; i++) {
        uop_vec topo = {0};
        if (body->src[i]->op != OP_FOR) continue;
        uop_topo(g->a, &body->src[i], 1, &topo);
        for (uint32_t k = 0; k < topo.n; k++)
            if (topo.p[k]->op == OP_MMA) return true;
    }
    return false;
}

/* A loop that fills tiles for which PIPE asks; NULL: it is none. */
static struct pipe *wanted(struct ring *g, const uop *loop) {
    struct pipe *p = NULL;
    uint32_t asked = 0;
    g->fill.n = g->local.n = g->wide.n = 0;
    for (uint32_t i = 0; i < for_body(loop)->nsrc; i++) {
        const uop *s = for_body(loop)->src[i];
        if (!is_fill(s)) continue;
        struct pipe *q = pipe_of(g, s, for_range(loop));
        if (q && p && q->ahead != p->ahead)
            opt_fail(g->s, q->opt, "another tile of the loop has %lld places", (long long)p->ahead);
        if (q) p = q, asked++;
        vec_push(g->a, &g->fill, s);
    }
    if (!p) return NULL;
    if (asked != g->fill.n) opt_fail(g->s, p->opt, "the loop fills another tile; PIPE must name all of them");
    if (g->fill.n > RG_COUNT(g->async)) opt_fail(g->s, p->opt, "more than %d tiles", (int)RG_COUNT(g->async));
    if (g->group && multiplies_inside(g, for_body(loop)))
        opt_fail(
            g->s, p->opt,
            "MMA instructions of warpgroups stand in another loop inside; WARP_SPECIALIZE may have that");
    g->chain = g->group && is_chain(for_body(loop));
    int least = g->group && !g->chain ? 3 : 2;
    if (p->ahead < least || p->ahead > MOST_PLACES)
        opt_fail(g->s, p->opt, "a ring has %d .. %d places, not %lld", least, MOST_PLACES,
                 (long long)p->ahead);
    return p;
}

static const uop *walk(struct ring *g, const uop *n);

static void ring(struct ring *g, const uop *loop, uop_vec *out) {
    struct pipe *p = wanted(g, loop);
    if (!p) {
        vec_push(g->a, out, uop2(g->ir, OP_FOR, for_range(loop), walk(g, for_body(loop))));
        return;
    }
    bool any = false, all = true;
    const uop *step = NULL, *mma = steps_of(g, for_body(loop), &step);
    g->range = for_range(loop), g->places = p->ahead, g->count = range_size(for_range(loop));
    for (uint32_t i = 0; i < g->fill.n; i++) {
        const uop *l = access_buf(g->fill.p[i]), *size = uop_idx(g->ir, buf_size(l)->hi * g->places);
        vec_push(g->a, &g->local, l);
        vec_push(g->a, &g->wide, uop_new(g->ir, OP_LOCAL, (enum dtype)l->dt, 1, &size, 1, l->arg));
        any |= g->async[i] = is_async(g, g->fill.p[i]);
        all &= g->async[i];
    }
    if (g->chain) chained(g, for_body(loop));
    before_loop(g, any, out);
    g->slot = NULL;
    bool frags = mma && all && !g->group;
    if (!frags) count_places(g, out);
    const uop *body = frags ? frag_loop(g, loop, mma, step, out) : ring_loop(g, loop, any);
    vec_push(g->a, out, body);
    if (g->group) put(g, out, OP_WGMMA_WAIT, 0), g->rings++;
    for (uint32_t i = 0; i < g->fill.n; i++) done(g, g->fill.p[i], for_range(loop));
}

/* MMA instructions of groups in a row, of tiles that no ring has: they are waited for at once. Others compute meanwhile, if
 * there is room for several blocks. Returns the first statement after them. */
static uint32_t alone(struct ring *g, const uop *n, uint32_t i, uop_vec *out) {
    uop_vec part = {0};
    put(g, &part, OP_WGMMA_FENCE, 0);
    for (; i < n->nsrc && n->src[i]->op == OP_MMA; i++) vec_push(g->a, &part, n->src[i]);
    put(g, &part, OP_WGMMA_COMMIT, 0);
    put_part(g, &part, out);
    put(g, out, OP_WGMMA_WAIT, 0);
    g->rings++;
    return i;
}

static bool reads_tile(struct ring *g, const uop *s) {
    uop_vec topo = {0};
    uop_topo(g->a, &s, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++)
        if (topo.p[i]->op == OP_LOCAL) return true;
    return false;
}

/* Is the next loop of the block a ring that waits for copies, and nothing before it reads tiles? */
static bool before_ring(struct ring *g, const uop *block, uint32_t i) {
    bool any = false;
    while (i < block->nsrc &&
           (is_fill(block->src[i]) || (block->src[i]->op == OP_SET && !reads_tile(g, block->src[i]))))
        i++;
    if (i == block->nsrc || block->src[i]->op != OP_FOR || !wanted(g, block->src[i])) return false;
    for (uint32_t k = 0; k < g->fill.n; k++) any |= is_async(g, g->fill.p[k]);
    return any;
}

/* Tiles that a loop only reads are copied with the first that its ring has. */
static const uop *walk(struct ring *g, const uop *n) {
    uop_vec out = {0};
    for (uint32_t i = 0; i < n->nsrc;) {
        const uop *s = n->src[i];
        bool fill = g->group && is_fill(s);
        if (g->group && s->op == OP_MMA) {
            i = alone(g, n, i, &out);
            continue;
        }
        if (s->op == OP_FOR)
            ring(g, s, &out);
        else if (fill && before_ring(g, n, i) && is_async(g, s))
            vec_push(g->a, &out, copy(g, s, NULL)), fill = false;
        else
            vec_push(g->a, &out, s);
        if (fill) put(g, &out, OP_FENCE_ASYNC, 0);
        i++;
    }
    return tree_block(g->ir, &out);
}

const uop *tree_waits(struct sched *s, const uop *block) {
    struct ring g = {.s = s, .ir = s->ir, .rw = &s->rw, .a = s->ir->arena, .group = true};
    free_init(&g.fr, g.ir, g.a);
    return walk(&g, block);
}

const uop *tree_pipeline(struct sched *s, const uop *tree) {
    struct ring g = {.s = s, .ir = s->ir, .rw = &s->rw, .a = s->ir->arena, .accs = 1u << 16};
    uint32_t keep = 0;
    g.group = sched_has_wgmma(s);
    if (!s->pipe.n && !g.group) return tree;
    free_init(&g.fr, g.ir, g.a);
    tree = walk(&g, tree);
    if (g.group && !g.rings) opt_fail(s, "TC", "no tile is filled for the instruction");
    for (uint32_t i = 0; i < s->pipe.n; i++) /* what is left are hints */
        if (s->pipe.p[i].ahead) s->pipe.p[keep++] = s->pipe.p[i];
    s->pipe.n = keep;
    return tree;
}
