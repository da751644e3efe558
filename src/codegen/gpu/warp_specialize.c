/* warp_specialize.c: threads with different jobs. WARP_SPECIALIZE gives a block a warpgroup of which one thread does nothing but copy: it fills
 * the ring that PIPE asked for with boxes (op TMA_LOAD) while the others compute. They tell each other by mbarriers, two for each
 * place of the ring:
 *
 *     full[place]    the producer arrives and announces the bytes of its boxes; over when they are there
 *     empty[place]   each warpgroup arrives when its MMA instructions have read the tile
 *
 *     IF thread < computing:  FOR tile: acc = 0
 *                                       FOR k: wait full, MMA, WGMMA_WAIT(1), arrive at empty of k-1
 *                                       WGMMA_WAIT(0), arrive at empty of the last, stores
 *                                       (or, of parts: FOR k: MMA, wait full of k+1, WGMMA_WAIT(0), arrive at empty of k, acc += part)
 *     ELSE one thread:        FOR tile: FOR k: wait empty, announce, boxes
 *
 * Iterations are counted through all tiles of a block: number i has place i mod n, in phase i / n. PERSISTENT lets a block walk
 * over tiles: the producer is some places ahead, so that the first tiles of the next product are there when the last is stored.
 * With two teams each computes a whole tile; one computes while the other stores. They take turns by an mbarrier for each
 * team: a wait for the parity of a phase means something only to who is not more than one phase behind.
 * Tiles that are turned while they are filled are no boxes: all threads of the copying group fill them together (by hand), and each
 * arrives at full[place]. Loops inside an iteration, or after tiles that are filled once for a tile of the grid (the taps of a
 * convolution), have their own waits, and teams do not take turns at multiplying: while one waits the other multiplies. What they
 * take turns at, where a tile of the grid has as many iterations as the ring has places, is to wait for full[place].
 * Results leave through panels of shared memory (epilogue_tma.c), those whose rows begin anywhere as epilogue_unaligned.c says.
 * Tiles that are emptied together share their mbarriers (a set): all of a product's, each of its own where products are chained
 * (attention_pipeline.c), and those that are filled once for a tile of the grid, whose number is the turn. Where loops differ in length from
 * tile to tile each role counts their iterations in a register. Blocks of a cluster have parts of the sums, which they exchange
 * before they store (cluster_splitk.c).
 * Requires: tree_mma, MMA instructions that read shared memory. Gives: a tree with its barriers. Tests: tests/unit/warp_specialize.c */
#include "codegen/gpu/warp_specialize.h"

enum {
    MOST_PLACES = 16,
    SMALL_REGS = 24,
    LARGE_REGS = 240,
    LEAST_REGS = 104, /* more than any kernel begins with */
    REGISTERS = 65536,
    COUNTED = 1 << 17, /* numbers of accumulators that are no sums */
    PLACES = 1 << 18
};

/* ---- what there is ------------------------------------------------------------------------------------------- */

static bool is_fill(const uop *s) {
    return s->op == OP_STORE && access_buf(s)->op == OP_LOCAL && access_buf(s)->arg.mem.space == SPACE_SHARED;
}

/* Sums of MMA instructions are parts that each iteration adds to others (mma.c). */
static bool has_parts(const struct roles *r) { return partial_accumulate(r->s->tc[0].instr); }

static bool fills(const uop *loop) {
    for (uint32_t i = 0; i < for_body(loop)->nsrc; i++)
        if (is_fill(for_body(loop)->src[i])) return true;
    return false;
}

/* Nobody would copy tiles for a loop inside of what all do. */
static void no_fills(struct roles *r, const uop *s) {
    uop_vec topo = {0};
    uop_topo(r->a, &s, 1, &topo);
    for (uint32_t i = 0; i < topo.n && s->op == OP_FOR; i++)
        if (is_fill(topo.p[i]))
            opt_fail(r->s, r->opt, "tiles are filled in a loop inside of the one over %s",
                     ir_name(r->ir, s->src[0]->arg.range.cls));
}

/* Places that PIPE gives the tile, in the loop or, fixed, along an axis of the grid; 0: none. */
static int64_t piped(struct roles *r, const uop *fill, bool fixed) {
    uop_vec topo = {0};
    uop_topo(r->a, &fill->src[1], 1, &topo);
    for (uint32_t i = 0; i < r->s->pipe.n; i++) {
        const struct pipe *p = &r->s->pipe.p[i];
        for (uint32_t k = 0; k < topo.n; k++)
            if (topo.p[k]->op == OP_PARAM && topo.p[k]->arg.param.name == p->buffer &&
                (r->once || (p->axis == r->k->arg.range.cls) != fixed))
                return p->ahead;
    }
    return 0;
}

static int64_t take_pipe(struct roles *r, const uop *fill) {
    int64_t places = piped(r, fill, false);
    if (places) return places;
    opt_fail(r->s, r->opt, "each tile of the loop over %s needs a PIPE", ir_name(r->ir, r->k->arg.range.cls));
}

/* A tile that is turned while it is filled. */
static bool may_by_hand(struct roles *r, const uop *fill) {
    return !r->chain && access_buf(fill)->arg.mem.panels && fill_is_transposed(r->s, fill);
}

/* In the last set, or in one of its own. */
static void take_tile(struct roles *r, const uop *fill, int64_t places, bool fixed, bool own) {
    const uop *l = access_buf(fill), *size = num(r, buf_size(l)->hi * places);
    struct tile t = {.fill = fill, .local = l, .fixed = fixed};
    if (own) {
        vec_push(r->a, &r->set, ((struct set){.places = places, .bar = r->nbar, .team = WARPGROUP}));
        r->nbar += 2 * places;
    } else if (r->set.p[r->set.n - 1].places != places)
        opt_fail(r->s, "PIPE", "another tile of the loop has %lld places",
                 (long long)r->set.p[r->set.n - 1].places);
    t.set = r->set.n - 1;
    t.wide = places > 1 ? uop_new(r->ir, OP_LOCAL, (enum dtype)l->dt, 1, &size, 1, l->arg) : l;
    if (r->set.p[t.set].cooperative |= may_by_hand(r, fill))
        r->cooperative = true;
    else
        t.box = tma_tile_of(r->s, r->opt, fill, r->k);
    if (!l->arg.mem.panels) r->set.p[t.set].team = MMA_LANES;
    vec_push(r->a, &r->tile, t);
}

/* The statement of the body that reads the tile first. */
static uint32_t first_use(struct roles *r, const uop *fill) {
    for (uint32_t i = 0; i < r->body.n; i++) {
        uop_vec topo = {0};
        uop_topo(r->a, &r->body.p[i], 1, &topo);
        for (uint32_t k = 0; k < topo.n; k++)
            if (topo.p[k] == access_buf(fill)) return i;
    }
    return r->body.n;
}

static bool multiplies(const uop *n) {
    for (uint32_t i = 0; i < n->nsrc; i++)
        if (n->src[i]->op == OP_MMA ||
            ((n->src[i]->op == OP_BLOCK || n->src[i]->op == OP_FOR) && multiplies(n->src[i])))
            return true;
    return false;
}

static void take_ring(struct roles *r, const uop_vec *fill) {
    for (uint32_t i = 0; i < fill->n; i++) {
        int64_t places = take_pipe(r, fill->p[i]);
        if (places < 2 || places > MOST_PLACES)
            opt_fail(r->s, r->opt, "a ring has 2 .. %d places, not %lld", MOST_PLACES, (long long)places);
        take_tile(r, fill->p[i], places, false, (r->chain && !r->weave) || !r->set.n);
    }
}

/* Tiles that are filled once for a tile of the grid, before loops that read them: as if those stood in a loop of one iteration. */
static void take_once(struct roles *r, const uop_vec *fill) {
    uop_vec stmts = r->before;
    r->before = (uop_vec){0};
    r->once = r->nested = true;
    r->k = roles_range(r, "once", AX_LOOP, r->thread->arg.range.pos, 1, 0), r->count = range_size(r->k);
    for (uint32_t i = 0; i < stmts.n; i++) {
        const uop *s = stmts.p[i];
        bool loop = s->op == OP_FOR && multiplies(s), store = s->op == OP_STORE || s->op == OP_STORE_ADD;
        if (store)
            put(r, &r->after, s);
        else
            put(r, loop || r->body.n ? &r->body : &r->before, s);
    }
    if (!r->body.n)
        opt_fail(r->s, r->opt, "there is no loop that fills tiles, and none that multiplies them");
    take_ring(r, fill);
}

static void take_loop(struct roles *r, const uop *loop) {
    uop_vec fill = {0};
    if (r->k) opt_fail(r->s, r->opt, "there are two loops that fill tiles");
    r->k = for_range(loop), r->count = range_size(r->k);
    for (uint32_t i = 0; i < for_body(loop)->nsrc; i++) {
        const uop *s = for_body(loop)->src[i];
        if (!is_fill(s)) no_fills(r, s);
        if (!is_fill(s)) put(r, &r->body, s), r->nested |= s->op == OP_FOR && multiplies(s);
    }
    for (uint32_t i = 0; i < r->body.n && !r->nested; i++)
        r->chain |= r->body.p[i]->op != OP_MMA && !has_parts(r);
    r->weave = r->chain && chain_is_woven(r);
    if (!r->chain && !uop_is_const(r->count))
        opt_fail(r->s, r->opt, "the length of the loop is known at run time only");
    for (uint32_t i = 0; i < for_body(loop)->nsrc; i++)
        if (is_fill(for_body(loop)->src[i])) put(r, &fill, for_body(loop)->src[i]);
    for (uint32_t i = 1; i < fill.n; i++) /* in the order in which they are waited for */
        for (uint32_t k = i; k && first_use(r, fill.p[k]) < first_use(r, fill.p[k - 1]); k--) {
            const uop *f = fill.p[k];
            fill.p[k] = fill.p[k - 1], fill.p[k - 1] = f;
        }
    take_ring(r, &fill);
}

static void look(struct roles *r, const uop *tree) {
    const uop *body = tree;
    uop_vec fixed = {0};
    r->tiles = 1;
    while (body->nsrc == 1 && body->src[0]->op == OP_FOR &&
           for_range(body->src[0])->arg.range.kind == AX_GRID) {
        const uop *axis = for_range(body->src[0]);
        put(r, &r->grid, axis);
        r->tiles *= range_size(axis)->hi;
        body = for_body(body->src[0]);
    }
    for (uint32_t i = 0; i < body->nsrc; i++) {
        const uop *s = body->src[i];
        if (s->op == OP_FOR && fills(s))
            take_loop(r, s);
        else if (is_fill(s) && !r->k)
            put(r, &fixed, s);
        else if (is_fill(s))
            opt_fail(r->s, r->opt, "a tile is filled after the loop");
        else
            no_fills(r, s), put(r, r->k ? &r->after : &r->before, s);
    }
    r->parts = 1;
    if (!r->k) take_once(r, &fixed), fixed.n = 0;
    if (r->s->roles.cluster) cluster_look(r);
    for (uint32_t i = 0; i < fixed.n; i++) {
        int64_t places = RG_MAX(piped(r, fixed.p[i], true), 1);
        if (places > 2) opt_fail(r->s, "PIPE", "a tile that stays for the loop has 2 places at most");
        take_tile(r, fixed.p[i], places, true, i == 0);
        r->flat = places > 1;
    }
    r->blocks = r->s->roles.blocks ? RG_MIN(r->s->roles.blocks, r->tiles) : r->tiles;
    r->turns = (r->tiles + r->blocks - 1) / r->blocks;
    r->flat &= r->chain && !r->weave && r->turns > 1;
}

/* ---- places and phases ---------------------------------------------------------------------------------------- */

const uop *roles_mbar(struct roles *r, int64_t at, const uop *i) {
    return mk_index(r->ir, r->bars, add(r, i, num(r, at)), 1);
}

const uop *roles_arrive(struct roles *r, const uop *bar, int64_t bytes) {
    return uop_mk(r->ir, OP_MBAR_ARRIVE, &bar, 1, ARG_INT(bytes));
}

static const uop *place_of(struct roles *r, const uop *number, int64_t places) {
    if (number == r->at.number) return r->at.place;
    if (number == r->at.before)
        return rw3(r->rw, OP_WHERE, rw2(r->rw, OP_EQ, r->at.place, num(r, 0)), num(r, places - 1),
                   add(r, r->at.place, num(r, -1)));
    return mod(r, number, places);
}

const struct held *roles_held(const struct roles *r, const uop *number) {
    for (uint32_t i = 0; i < RG_COUNT(r->held); i++)
        if (number == r->held[i].number) return &r->held[i];
    return NULL;
}

static const uop *mbar_of(struct roles *r, uint32_t set, int kind, const uop *number) {
    const struct set *s = &r->set.p[set];
    const struct held *h = roles_held(r, number);
    return roles_mbar(r, s->bar + kind * s->places, h ? h->place : place_of(r, number, s->places));
}

const uop *roles_wait(struct roles *r, uint32_t set, int kind, const uop *number, int64_t late) {
    const struct held *h = roles_held(r, number);
    const uop *phase = h                        ? h->phase
                       : number == r->at.number ? r->at.phase
                                                : quo(r, number, r->set.p[set].places);
    const uop *parity = mod(r, add(r, phase, num(r, late)), 2);
    return uop2(r->ir, OP_MBAR_WAIT, mbar_of(r, set, kind, number), parity);
}

const uop *roles_at_place(struct roles *r, const uop *n, const uop *number, const uop *turn) {
    uop_vec topo = {0}, from = {0}, to = {0};
    uop_topo(r->a, &n, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++)
        for (uint32_t k = 0; k < r->tile.n && topo.p[i]->op == OP_INDEX; k++) {
            const struct tile *t = &r->tile.p[k];
            if (topo.p[i]->src[0] != t->local) continue;
            const uop *place = place_of(r, t->fixed ? turn : number, r->set.p[t->set].places);
            const uop *at = add(r, topo.p[i]->src[1], mul(r, place, t->local->src[0]->hi));
            put(r, &from, topo.p[i]);
            put(r, &to, mk_index(r->ir, t->wide, at, topo.p[i]->lanes));
        }
    return from.n ? rw_subst(r->rw, n, from.p, to.p, from.n) : n;
}

const uop *roles_range(struct roles *r, const char *name, enum axis_kind kind, int pos, int64_t size,
                       int id) {
    const uop *n = num(r, size);
    union arg arg = {.range = {ir_sym(r->ir, name, strlen(name)), (uint8_t)kind, (uint8_t)pos, (uint16_t)id}};
    return uop_new(r->ir, OP_RANGE, DT_IDX, 1, &n, 1, arg);
}

/* Statements with the axes of the grid as digits of the tile's number. */
static void at_tile(struct roles *r, const uop_vec *v, const uop *tile, uop_vec *out) {
    uop_vec to = {0};
    int64_t stride = r->tiles;
    for (uint32_t i = 0; i < r->grid.n; i++) {
        int64_t n = r->grid.p[i]->src[0]->hi;
        stride /= n;
        const uop *q = quo(r, tile, stride);
        put(r, &to, i ? mod(r, q, n) : q);
    }
    for (uint32_t i = 0; i < v->n; i++) put(r, out, rw_subst(r->rw, v->p[i], r->grid.p, to.p, r->grid.n));
}

/* A division in every iteration takes longer than a count: place and phase of iteration `number` stand in registers, which begin
 * before the loop (first: the number of its first iteration) and are moved on at its end. */
static void count_places(struct roles *r, const uop *number, const uop *first, int64_t places,
                         uop_vec *before, uop_vec *end) {
    const uop *acc[2], *now[2], *from[2] = {mod(r, first, places), mod(r, quo(r, first, places), 2)};
    int64_t bits = 1;
    r->at = (struct counting){0};
    if ((places & (places - 1)) == 0 || r->count->hi < 2) return;
    while (bits < places) bits *= 2;
    for (int i = 0; i < 2; i++) {
        acc[i] = uop_new(r->ir, OP_ACC, DT_I32, 1, NULL, 0, ARG_INT(PLACES + 2 * r->counters + i));
        now[i] = rw2(r->rw, OP_AND, uop_cast(r->ir, acc[i], DT_IDX), num(r, i ? 1 : bits - 1));
        put(r, before, uop2(r->ir, OP_SET, acc[i], uop_cast(r->ir, from[i], DT_I32)));
    }
    r->counters++;
    const uop *round = rw2(r->rw, OP_EQ, now[0], num(r, places - 1)), *zero = num(r, 0), *one = num(r, 1);
    const uop *next[] = {rw3(r->rw, OP_WHERE, round, zero, add(r, now[0], one)),
                         rw3(r->rw, OP_WHERE, round, rw2(r->rw, OP_SUB, one, now[1]), now[1])};
    for (int i = 1; i >= 0; i--) put(r, end, uop2(r->ir, OP_SET, acc[i], uop_cast(r->ir, next[i], DT_I32)));
    r->at = (struct counting){number, add(r, number, num(r, places - 1)), now[0], now[1]};
}

/* ---- the jobs --------------------------------------------------------------------------------------------------- */

const uop *roles_is_first(struct roles *r) {
    return rw2(r->rw, OP_EQ, mod(r, r->thread, WARPGROUP), num(r, 0));
}

const uop *roles_group(struct roles *r) { return quo(r, r->thread, WARPGROUP); }

void roles_release(struct roles *r, uint32_t set, const uop *number, const uop *only, uop_vec *out) {
    uop_vec one = {0};
    const uop *first = rw2(r->rw, OP_EQ, mod(r, r->thread, r->set.p[set].team), num(r, 0));
    put(r, &one, roles_arrive(r, mbar_of(r, set, EMPTY, number), 0));
    put(r, out, when(r, only ? rw2(r->rw, OP_AND, only, first) : first, &one, NULL));
}

void roles_meet(struct roles *r, uop_vec *out) {
    const uop *number = add(r, roles_group(r), num(r, 1));
    put(r, out, uop_mk(r->ir, OP_BARRIER, &number, 1, ARG_INT(WARPGROUP)));
}

void roles_by_first(struct roles *r, const uop *stmt, uop_vec *out) {
    uop_vec one = {0};
    put(r, &one, stmt);
    put(r, out, when(r, roles_is_first(r), &one, NULL));
}

/* ---- products --------------------------------------------------------------------------------------------------- */

/* A warpgroup whose tile has several rows of MMA instructions, which leave parts of sums: the results of one row are stored
 * while the last part of the next is computed. */
struct rows {
    const struct tma_store_tile *o; /* NULL: it has one row, or stores otherwise */
    int64_t n;
};

static struct rows rows_of(struct roles *r) {
    struct rows x = {0};
    uop_vec from = {0};
    const struct tma_store_tile *o = r->after.n == 1 && r->buffers ? panels_box(r, r->after.p[0]) : NULL;
    if (!o || !has_parts(r) || r->teams > 1 || r->count->hi < 2) return x;
    x.n = panels_repeats(r, r->after.p[0], o, &from);
    if (from.n == 1) x.o = o;
    return x;
}

static void store_row(struct roles *r, const struct rows *x, int64_t row, uop_vec *out) {
    panels_put_tile(r, r->after.p[0], x->o, row, 0, false, out);
}

static bool is_last_mma(const struct roles *r, uint32_t k) {
    for (k++; k < r->body.n; k++)
        if (r->body.p[k]->op == OP_MMA) return false;
    return true;
}

static uint32_t count_runs(const struct roles *r) {
    uint32_t n = 0;
    for (uint32_t k = 0; k < r->body.n; k++)
        n += r->body.p[k]->op == OP_MMA && (!k || r->body.p[k - 1]->op != OP_MMA);
    return n;
}

/* For the tiles of the next iteration, if there is one. */
static void wait_ahead(struct roles *r, const uop *k, const uop *i, uop_vec *out) {
    uop_vec in = {0};
    const uop *next = add(r, k, num(r, 1));
    put(r, &in, roles_wait(r, r->tile.p[0].set, FULL, add(r, i, num(r, 1)), 0));
    if (next->hi < r->count->hi)
        put_part(r, &in, out);
    else
        put(r, out, when(r, rw2(r->rw, OP_LT, next, r->count), &in, NULL));
}

/* Parts of sums are added once their MMA instructions are over: whatever is not one of them waits for those before it.
 * Once the last are over their tiles may be filled again. The tiles of the next iteration are waited for while the last
 * of this one are multiplied, so that nothing but the additions stands between the one and the other.
 * x: in the last iteration; a row whose parts are all added is stored behind the first instructions of the next. */
static void in_parts(struct roles *r, const uop *number, const uop *k, const uop *turn, const struct rows *x,
                     uop_vec *out) {
    uop_vec part = {0};
    uint32_t run = 0, of_row = x ? count_runs(r) / (uint32_t)x->n : 0;
    const uop *i = add(r, number, k);
    bool open = false;
    for (uint32_t at = 0; at < r->body.n; at++) {
        const uop *s = roles_at_place(r, r->body.p[at], i, turn);
        bool mma = s->op == OP_MMA;
        if (mma && !open) {
            put_part(r, &part, out);
            put_op(r, &part, OP_WGMMA_FENCE, 0);
        }
        put(r, &part, s);
        open = mma;
        if (!mma || (at + 1 < r->body.n && r->body.p[at + 1]->op == OP_MMA)) continue;
        put_op(r, &part, OP_WGMMA_COMMIT, 0);
        put_part(r, &part, out);
        if (x && run && run % of_row == 0) store_row(r, x, run / of_row - 1, out);
        if (is_last_mma(r, at) && !x) wait_ahead(r, k, i, out);
        put_op(r, out, OP_WGMMA_WAIT, 0);
        if (is_last_mma(r, at)) roles_release(r, r->tile.p[0].set, i, NULL, out);
        run++;
    }
    put_part(r, &part, out);
    if (x) store_row(r, x, x->n - 1, out);
}

/* One iteration. */
static void one_step(struct roles *r, const uop *number, const uop *k, const uop *turn, uop_vec *out) {
    uop_vec part = {0};
    uint32_t ring = r->tile.p[0].set;
    const uop *i = add(r, number, k);
    put(r, out, roles_wait(r, ring, FULL, i, 0));
    put_op(r, &part, OP_WGMMA_FENCE, 0);
    for (uint32_t at = 0; at < r->body.n; at++) put(r, &part, roles_at_place(r, r->body.p[at], i, turn));
    put_op(r, &part, OP_WGMMA_COMMIT, 0);
    put_part(r, &part, out);
    put_op(r, out, OP_WGMMA_WAIT, 1);
    roles_release(r, ring, add(r, i, num(r, r->set.p[ring].places - 1)), rw2(r->rw, OP_LT, num(r, 0), k),
                  out);
}

static void put_loop(struct roles *r, const uop *k, const uop_vec *in, uop_vec *out) {
    const uop *zero = num(r, 0);
    if (k->src[0]->hi > 1 || !uop_is_const(k->src[0])) {
        put(r, out, uop2(r->ir, OP_FOR, k, tree_block(r->ir, in)));
        return;
    }
    for (uint32_t i = 0; i < in->n; i++) put(r, out, rw_subst(r->rw, in->p[i], &k, &zero, 1));
}

/* Do teams take turns? mbarrier.try_wait.parity tells phases apart only for a consumer that is at most one phase behind, and while
 * one team consumes the iterations of its tile the other observes no phase. Nested loops need no turns if every ring has more
 * places than a tile has iterations: then no place is filled twice in between. */
static bool take_turns(const struct roles *r) {
    if (r->teams < 2 || !r->nested) return r->teams > 1;
    for (uint32_t i = 0; i < r->tile.n; i++)
        if (r->set.p[r->tile.p[i].set].places <= (r->tile.p[i].fixed ? 1 : r->count->hi)) return true;
    return false;
}

static void pass_turn(struct roles *r, uop_vec *out) {
    const uop *other = rw2(r->rw, OP_SUB, num(r, 1), quo(r, r->thread, r->lanes));
    put(r, out, roles_arrive(r, roles_mbar(r, r->turn_bar, other), 0));
}

/* The same where loops multiply, inside an iteration: they have their own waits. The turn is passed on when the last iteration's
 * wait for FULL is over, so that the other team multiplies at the same time. */
static void multiply_nested(struct roles *r, const uop *number, const uop *turn, uop_vec *out) {
    uop_vec in = {0}, part = {0}, pass = {0};
    uint32_t ring = r->tile.p[0].set;
    const uop *i = add(r, number, r->k);
    put(r, &in, roles_wait(r, ring, FULL, i, 0));
    if (take_turns(r)) pass_turn(r, &pass);
    if (pass.n && r->count->hi > 1)
        put(r, &in, when(r, rw2(r->rw, OP_EQ, r->k, num(r, r->count->hi - 1)), &pass, NULL));
    else
        put_part(r, &pass, &in);
    for (uint32_t k = 0; k < r->body.n; k++) put(r, &part, roles_at_place(r, r->body.p[k], i, turn));
    put(r, &in, tree_waits(r->s, tree_block(r->ir, &part)));
    roles_release(r, ring, i, NULL, &in);
    put_loop(r, r->k, &in, out);
    panels_put(r, out);
}

/* All k of one tile, and its results. number: of its first iteration. */
static void multiply(struct roles *r, const uop *number, const uop *turn, uop_vec *out) {
    uop_vec in = {0}, end = {0};
    uint32_t ring = r->tile.p[0].set;
    bool parts = has_parts(r);
    struct rows x = rows_of(r);
    const uop *steps = num(r, r->count->hi - (x.o ? 1 : 0)), *last = num(r, r->count->hi - 1);
    const uop *k = uop_new(r->ir, OP_RANGE, DT_IDX, 1, &steps, 1, r->k->arg);
    if (parts)
        put(r, out, roles_wait(r, ring, FULL, number, 0)), in_parts(r, number, k, turn, NULL, &in);
    else
        count_places(r, add(r, number, k), number, r->set.p[ring].places, out, &end),
            one_step(r, number, k, turn, &in);
    put_part(r, &end, &in);
    r->at = (struct counting){0};
    put(r, out, uop2(r->ir, OP_FOR, k, tree_block(r->ir, &in)));
    if (x.o) {
        in_parts(r, number, last, turn, &x, out);
        return;
    }
    if (take_turns(r)) pass_turn(r, out);
    if (!parts) {
        put_op(r, out, OP_WGMMA_WAIT, 0);
        roles_release(r, ring, add(r, number, last), NULL, out);
    }
    if (r->parts > 1)
        panels_put_shares(r, out);
    else
        panels_put(r, out);
}

/* Under the condition that the tile exists. */
static void put_tile(struct roles *r, const uop *tile, uop_vec *in, uop_vec *out) {
    if (tile->hi < r->tiles) {
        for (uint32_t i = 0; i < in->n; i++) put(r, out, in->p[i]);
        return;
    }
    put(r, out, when(r, rw2(r->rw, OP_LT, tile, num(r, r->tiles)), in, NULL));
}

/* The tile of a block's turn. Where loops differ in length, the longest first, every other turn goes the other way: who had a
 * longer one has a shorter one next. */
static const uop *tile_of(struct roles *r, const uop *block, const uop *turn) {
    const uop *even = rw2(r->rw, OP_LT, mod(r, turn, 2), num(r, 1));
    const uop *back = rw2(r->rw, OP_SUB, num(r, r->blocks - 1), block);
    return add(r, mul(r, turn, r->blocks), r->counted ? rw3(r->rw, OP_WHERE, even, block, back) : block);
}

/* Iterations of the loop before this turn's; where they are counted, but for what neither place nor phase tell apart. */
static const uop *first_number(struct roles *r, const uop *turn) {
    int64_t all = 2;
    for (uint32_t i = 0; i < r->set.n; i++)
        for (int64_t one = all; all % (2 * r->set.p[i].places);) all += one;
    return r->counted ? mod(r, uop_cast(r->ir, r->counted, DT_IDX), all) : mul(r, turn, r->count->hi);
}

static const uop *in_i32(struct roles *r, const uop *x) { return uop_cast(r->ir, x, DT_I32); }

static void count_on(struct roles *r, uop_vec *out) {
    if (r->counted)
        put(r, out, uop2(r->ir, OP_SET, r->counted, uop2(r->ir, OP_ADD, r->counted, in_i32(r, r->count))));
}

static void count_from_0(struct roles *r, uop_vec *out) {
    if (r->counted) put(r, out, uop2(r->ir, OP_SET, r->counted, in_i32(r, num(r, 0))));
}

void roles_fixed(struct roles *r, const uop *turn, bool give, uop_vec *out) {
    for (uint32_t i = 0; i < r->tile.n; i++) {
        if (!r->tile.p[i].fixed) continue;
        if (give)
            roles_release(r, r->tile.p[i].set, turn, NULL, out);
        else
            put(r, out, roles_wait(r, r->tile.p[i].set, FULL, turn, 0));
        return;
    }
}

/* What is computed of a tile, with its results. */
static void compute_tile(struct roles *r, const uop *turn, const uop *block, uop_vec *out) {
    const uop *next = tile_of(r, block, add(r, turn, num(r, 1))), *number = first_number(r, turn);
    struct chained c = {turn, number, r->flat ? rw2(r->rw, OP_LT, next, num(r, r->tiles)) : NULL};
    if (!r->flat) roles_fixed(r, turn, false, out);
    if (r->weave)
        wgmma_schedule_loop(r, &c, out);
    else if (r->chain)
        chain_loop(r, &c, out);
    else
        (r->nested ? multiply_nested : multiply)(r, number, turn, out);
    if (!r->flat) roles_fixed(r, turn, true, out);
    if (r->chain) panels_put(r, out);
    count_on(r, out);
}

static void compute(struct roles *r, const uop *block, int pos, uop_vec *out) {
    uop_vec in = {0}, all = {0}, part = {0}, loop = {0};
    const uop *own = roles_range(r, "turn", AX_LOOP, pos, (r->turns + r->teams - 1) / r->teams, 0);
    const uop *team = quo(r, r->thread, r->lanes);
    const uop *turn = r->teams > 1 ? add(r, mul(r, own, r->teams), team) : own;
    const uop *tile = tile_of(r, block, turn);
    r->own = own;
    count_from_0(r, out);
    if (r->flat) chain_first(r, out);
    at_tile(r, &r->before, tile, &part);
    put_part(r, &part, &in);
    if (r->added) panels_put_ahead(r, &part);
    for (uint32_t i = 0; i < r->after.n; i++) {
        const struct tma_store_tile *o = r->buffers ? panels_box(r, r->after.p[i]) : NULL;
        if (o) panels_ask(r, r->after.p[i], o, &part);
    }
    at_tile(r, &part, tile, &in);
    if (take_turns(r)) {
        const uop *parity = mod(r, add(r, add(r, own, team), num(r, 1)), 2);
        put(r, &in, uop2(r->ir, OP_MBAR_WAIT, roles_mbar(r, r->turn_bar, team), parity));
    }
    compute_tile(r, turn, block, &loop);
    at_tile(r, &loop, tile, &in);
    put_tile(r, tile, &in, &all);
    put_loop(r, own, &all, out);
    if (r->any_out) roles_by_first(r, uop_mk(r->ir, OP_TMA_STORE_WAIT, NULL, 0, ARG_INT(0)), out);
}

/* Floats that MMA instructions read are rounded to the digits that these see, on the way: by themselves they cut them off. */
static int64_t digits_of(const struct roles *r, const struct tile *t) {
    for (uint32_t i = 0; i < r->body.n && t->local->dt == DT_F32; i++) {
        const uop *n = r->body.p[i];
        for (uint32_t k = 0; k < n->nsrc && n->op == OP_MMA; k++)
            if (n->src[k]->op == OP_INDEX && n->src[k]->src[0] == t->local) return TF32_DIGITS;
    }
    return 0;
}

/* By all threads of the copying group: each says when its part is there. */
static void fill_set_by_hand(struct roles *r, uint32_t set, const uop *number, uop_vec *out) {
    const uop *filler = mod(r, r->thread, PRODUCERS);
    uop_vec part = {0};
    put(r, out, roles_wait(r, set, EMPTY, number, 1));
    for (uint32_t i = 0; i < r->tile.n; i++) {
        const struct tile *t = &r->tile.p[i];
        if (t->set != set) continue;
        fill_cooperative(r->s, roles_at_place(r, t->fill, number, number), filler, PRODUCERS, &part);
    }
    put_part(r, &part, out);
    put_op(r, out, OP_FENCE_ASYNC, 0);
    put(r, out, roles_arrive(r, mbar_of(r, set, FULL, number), 0));
}

/* Fills the places of a set for iteration `number`. */
static void fill_set(struct roles *r, uint32_t set, const uop *number, uop_vec *out) {
    int64_t bytes = 0;
    const uop *full = mbar_of(r, set, FULL, number);
    for (uint32_t i = 0; i < r->tile.n; i++) bytes += r->tile.p[i].set == set ? r->tile.p[i].box.bytes : 0;
    put(r, out, roles_wait(r, set, EMPTY, number, 1));
    put(r, out, roles_arrive(r, full, bytes));
    for (uint32_t i = 0; i < r->tile.n; i++) {
        const struct tile *t = &r->tile.p[i];
        const struct box *b = &t->box;
        const uop *place = place_of(r, number, r->set.p[set].places);
        for (int64_t c = 0; c < b->panels * b->parts && t->set == set; c++) {
            int64_t panel = c / b->parts, part = c % b->parts;
            const uop *to = add(r, mul(r, place, t->local->src[0]->hi), num(r, c * b->rows * b->width));
            const uop *src[] = {mk_index(r->ir, t->wide, to, 1), b->map, full,
                                add(r, b->at[0], num(r, panel * b->width)),
                                add(r, b->at[1], num(r, part * b->rows))};
            put(r, out, uop_mk(r->ir, OP_TMA_LOAD, src, RG_COUNT(src), ARG_INT(digits_of(r, t))));
        }
    }
}

static void copy(struct roles *r, const uop *block, int pos, uop_vec *out) {
    uop_vec in = {0}, at = {0}, all = {0}, loop = {0}, one = {0}, tail = {0};
    const uop *turn = roles_range(r, "turn", AX_LOOP, pos, r->turns, 1), *tile = tile_of(r, block, turn);
    union arg arg = r->k->arg;
    arg.range.cls = ir_sym(r->ir, "step", 4), arg.range.kind = AX_LOOP, arg.range.id = 0;
    const uop *k = uop_new(r->ir, OP_RANGE, DT_IDX, 1, &r->count, 1, arg);
    const uop *number = add(r, first_number(r, turn), k);
    uop_vec end = {0};
    if (!r->chain && r->set.n == 1)
        count_places(r, number, first_number(r, turn), r->set.p[0].places, &at, &end);
    for (uint32_t i = 0; i < r->set.n; i++) {
        bool fixed = false;
        for (uint32_t t = 0; t < r->tile.n; t++) fixed |= r->tile.p[t].set == i && r->tile.p[t].fixed;
        (r->set.p[i].cooperative ? fill_set_by_hand : fill_set)(r, i, fixed ? turn : number,
                                                                fixed ? &at : &in);
    }
    put_part(r, &end, &in);
    r->at = (struct counting){0};
    for (uint32_t i = 0; i < in.n; i++) in.p[i] = rw_subst(r->rw, in.p[i], &r->k, &k, 1);
    put_loop(r, k, &in, &at);
    count_on(r, &at);
    at_tile(r, &at, tile, &loop);
    put_tile(r, tile, &loop, &all);
    count_from_0(r, &one);
    put_loop(r, turn, &all, &tail);
    for (uint32_t i = 0; i < tail.n; i++) put(r, &one, tail.p[i]);
    if (r->cooperative)
        for (uint32_t i = 0; i < one.n; i++) put(r, out, one.p[i]);
    else
        put(r, out, when(r, rw2(r->rw, OP_EQ, r->thread, num(r, r->lanes * r->teams)), &one, NULL));
}

static void put_new(struct roles *r, int64_t at, int64_t count, uop_vec *out) {
    const uop *bar = mk_index(r->ir, r->bars, num(r, at), 1);
    put(r, out, uop_mk(r->ir, OP_MBAR_INIT, &bar, 1, ARG_INT(count)));
}

/* By one thread, before the others look at them. */
static void begin(struct roles *r, uop_vec *out) {
    uop_vec one = {0};
    for (uint32_t i = 0; i < r->set.n; i++)
        for (int64_t p = 0; p < 2 * r->set.p[i].places; p++)
            put_new(r, r->set.p[i].bar + p,
                    p >= r->set.p[i].places   ? r->lanes / r->set.p[i].team
                    : r->set.p[i].cooperative ? PRODUCERS
                                              : 1,
                    &one);
    for (int64_t i = r->turn_bar; i < r->nbar; i++)
        put_new(r, i, i >= r->added_bar ? 1 : r->teams > 1 ? r->lanes : WARPGROUP / MMA_LANES, &one);
    put(r, out, when(r, rw2(r->rw, OP_EQ, r->thread, num(r, 0)), &one, NULL));
    if (r->parts > 1)
        put_op(r, out, OP_CLUSTER_SYNC, r->parts);
    else
        put_op(r, out, OP_BARRIER, 0);
}

/* Registers of a thread that computes: what a block begins with, all threads alike, less what the copying ones leave. Blocks that
 * ask for more would wait for ever. 0: all have as many as they want. */
static int64_t registers_of(struct roles *r) {
    int64_t threads = r->lanes * r->teams, all = threads + PRODUCERS;
    int64_t first = REGISTERS / all / 8 * 8;
    int64_t each = (all * first - PRODUCERS * SMALL_REGS) / threads / 8 * 8;
    if (threads <= WARPGROUP || r->cooperative) return 0; /* who turns tiles needs as many as who computes */
    if (each < LEAST_REGS || (!r->chain && threads > 2 * WARPGROUP))
        opt_fail(r->s, r->opt, "%lld threads compute; there are registers for %d", (long long)threads,
                 2 * WARPGROUP);
    return RG_MIN(each, LARGE_REGS);
}

const uop *tree_warp_specialize(struct sched *s, const uop *tree) {
    struct roles r = {.s = s,
                      .ir = s->ir,
                      .rw = &s->rw,
                      .a = s->ir->arena,
                      .opt = "WARP_SPECIALIZE",
                      .teams = s->roles.teams};
    if (!sched_has_wgmma(s))
        opt_fail(s, r.opt, "only MMA instructions that read shared memory (TC with W..) have roles");
    r.thread = block_thread(s, tree, &r.lanes);
    look(&r, tree);
    panels_find(&r);
    if (r.teams > 1 && !s->roles.blocks)
        opt_fail(s, r.opt, "two groups take turns over the tiles of PERSISTENT");
    if (r.chain && r.teams > 1) opt_fail(s, r.opt, "products that are chained have one team");
    if (r.chain && r.turns > 1 && !uop_is_const(r.count))
        r.counted = uop_new(s->ir, OP_ACC, DT_I32, 1, NULL, 0, ARG_INT(COUNTED));
    int64_t taking = r.chain ? r.lanes / WARPGROUP : take_turns(&r) ? r.teams : 1;
    r.turn_bar = r.nbar, r.nbar += taking > 1 ? taking : 0;
    r.added_bar = r.nbar, r.nbar += r.added ? r.buffers * r.lanes * r.teams / WARPGROUP : 0;
    const uop *size = num(&r, r.nbar);
    union arg arg = {.mem = {ir_sym(s->ir, "mbars", 5), SPACE_SHARED, 0, 0}};
    r.bars = uop_new(s->ir, OP_LOCAL, DT_U64, 1, &size, 1, arg);
    const uop *block = roles_range(&r, "block", AX_GRID, 0, r.blocks, 0);
    uop_vec out = {0}, some = {0}, others = {0};
    int pos = r.thread->arg.range.pos;
    int64_t large = registers_of(&r);
    begin(&r, &out);
    if (large) put_op(&r, &some, OP_SETMAXNREG, large), put_op(&r, &others, OP_SETMAXNREG, SMALL_REGS);
    compute(&r, block, pos, &some);
    copy(&r, block, pos, &others);
    put(&r, &out, when(&r, rw2(r.rw, OP_LT, r.thread, num(&r, r.lanes * r.teams)), &some, &others));
    s->pipe.n = 0;
    const uop *loop = uop2(s->ir, OP_FOR, block, tree_block(s->ir, &out));
    return uop_mk(s->ir, OP_BLOCK, &loop, 1, ARG_NONE);
}
