/* attention_pipeline.c: the loop of a block with roles in which products are chained: a row's tile is multiplied (q k^T), computed with (softmax),
 * and is the first operand of another product (P v). MMA instructions go on while the program does, and so the two
 * products of neighbouring iterations are begun together:
 *
 *     A   products of tiles alone          scores                        begun in iteration k
 *     B   what is computed of them         maximum, weights, their sum   while D of k-1 goes on
 *     C   what D reads or adds to          weights in halves, O *= ..    when D of k-1 is over
 *     D   products of what is in registers O += P v                      begun in iteration k+1, after A
 *
 *     A(0) B(0) C(0)   FOR k = 1 ..: A(k), D(k-1), WGMMA_WAIT(1), B(k), WGMMA_WAIT(0), C(k)   D(last)
 *
 * Where what stays for the loop has two places (PIPE along an axis of the grid), A(0) of a block's next tile is begun with D(last).
 * Where a mask leaves a whole iteration less to the rows of the first group than to those of the last, each group has its own number
 * of iterations: D(last), then it gives back what comes and passes on its turns, then A(0) of the next tile.
 *
 * Where the barriers of an iteration are is computed once, by each thread, and held in registers (op PIN_REG): NVIDIA's compiler would
 * compute it anew for each barrier, on the unit that a warp has for addresses, whose results it must then move.
 * While one warpgroup computes, the other has the tensor cores: they take turns at beginning products, by an mbarrier for
 * each. Each tile has mbarriers of its own, and is given back when the last product that reads it is over.
 * Which statements are C follows from who reads and writes which accumulators; what they leave to others comes with them.
 * Requires: warp_specialize.c found tiles and body. Tests: tests/unit/gpu_attention.c */
#include "codegen/gpu/warp_specialize.h"

enum { HELD = 1 << 19 }; /* numbers of accumulators that hold where barriers are */

struct chain {
    struct roles *r;
    uop_vec a, b, c, d;
    bool *by_a, *by_d; /* by set of the ring: who reads it */
};

/* ---- who touches what ------------------------------------------------------------------------------------------ */

/* Accumulators, by number, below a statement; bit 0: read, bit 1: written. */
static void note(struct roles *r, const uop *stmt, struct map *how) {
    uop_vec topo = {0};
    uint64_t old = 0;
    uop_topo(r->a, &stmt, 1, &topo);
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

/* Must `stmt`, which comes later, stay behind what `before` has noted? */
static bool follows(struct roles *r, const uop *stmt, const struct map *before) {
    struct map own;
    uop_vec topo = {0};
    map_init(&own, r->a);
    note(r, stmt, &own);
    uop_topo(r->a, &stmt, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++) {
        uint64_t mine = 0, theirs = 0;
        if (topo.p[i]->op != OP_ACC || !map_get(before, (uint64_t)topo.p[i]->arg.i, &theirs)) continue;
        map_get(&own, (uint64_t)topo.p[i]->arg.i, &mine);
        if ((mine | theirs) & 2) return true;
    }
    return false;
}

static void note_tiles(struct roles *r, const uop *mma, bool *sets) {
    for (uint32_t i = mma->nsrc - 2; i < mma->nsrc; i++)
        for (uint32_t k = 0; k < r->tile.n && mma->src[i]->op == OP_INDEX; k++)
            if (mma->src[i]->src[0] == r->tile.p[k].local && !r->tile.p[k].fixed)
                sets[r->tile.p[k].set] = true;
}

static bool is_a(const uop *s) { return s->op == OP_MMA && s->src[s->nsrc - 2]->op == OP_INDEX; }

/* Sorts the body into A, B, C, D. What stands after D must not need it. */
static void sort_body(struct chain *c) {
    struct roles *r = c->r;
    struct map late, sums;
    map_init(&late, r->a), map_init(&sums, r->a);
    for (uint32_t i = 0; i < r->body.n; i++) {
        const uop *s = r->body.p[i], *first = mma_begins(r->ir, &r->body, i);
        if (first) s = first, i++;
        if (s->op == OP_MMA) {
            put(r, is_a(s) ? &c->a : &c->d, s);
            note_tiles(r, s, is_a(s) ? c->by_a : c->by_d);
            note(r, s, is_a(s) ? &sums : &late);
        }
    }
    for (uint32_t i = 0; i < c->a.n; i++)
        if (!c->a.p[i]->arg.mma.fresh && i == 0)
            opt_fail(r->s, r->opt, "the first product of the loop goes on from iteration to iteration");
    for (uint32_t i = 0; i < c->a.n; i++)
        if (follows(r, c->a.p[i], &late)) opt_fail(r->s, r->opt, "products of the loop need each other");
    for (uint32_t i = 0, ds = 0; i < r->body.n; i++) {
        const uop *s = r->body.p[i];
        if (mma_begins(r->ir, &r->body, i)) continue;
        if (s->op == OP_MMA) {
            ds += !is_a(s);
            continue;
        }
        bool behind = follows(r, s, &late);
        if (behind && ds) opt_fail(r->s, r->opt, "what the loop's last product leaves is used in the loop");
        if (behind) note(r, s, &late);
        put(r, behind ? &c->c : &c->b, s);
    }
    if (!c->a.n || !c->d.n)
        opt_fail(r->s, r->opt, "the loop has no two products of which one needs the other");
}

/* ---- what a mask leaves to each group ---------------------------------------------------------------------------- */

static bool is_of_grid(const struct roles *r, const uop *range) {
    for (uint32_t i = 0; i < r->grid.n; i++)
        if (r->grid.p[i] == range) return true;
    return false;
}

static bool is_group(const struct roles *r, const uop *a) {
    return a->op == OP_RANGE && a->arg.range.kind == AX_THREAD && a->src[0]->hi == r->lanes / WARPGROUP;
}

/* f, affine in the loop, tiles and threads, at its greatest among the threads of a group; the loop is left out. *apart: by how
 * much the last group is ahead of the first. */
static const uop *greatest(struct roles *r, const struct affine *f, int64_t *apart) {
    const uop *sum = num(r, f->k);
    *apart = 0;
    for (uint32_t i = 0; i < f->n; i++) {
        const uop *a = f->t[i].atom;
        int64_t c = f->t[i].coef;
        if (a == r->k) continue;
        if (is_group(r, a)) *apart += c * a->hi;
        if (is_of_grid(r, a) || is_group(r, a))
            sum = add(r, sum, mul(r, is_group(r, a) ? roles_group(r) : a, c));
        else
            sum = add(r, sum, num(r, c > 0 ? c * a->hi : c * a->lo));
    }
    return sum;
}

/* The limit of `IF ..: limit = ..; score = score where least < limit, else -inf`, or NULL; *least: what is compared with it. */
static const uop *limit_of(const uop *s, int64_t *least) {
    const uop *block = s->op == OP_IF && if_then(s)->nsrc == 2 ? if_then(s) : NULL;
    if (!block || block->src[0]->op != OP_SET || block->src[1]->op != OP_SET) return NULL;
    const uop *set = block->src[0], *limit = stored_value(set), *x = stored_value(block->src[1]);
    const uop *below = x->op == OP_WHERE ? x->src[0] : NULL;
    if (!below || below->op != OP_LT || below->src[1] != set->src[0]) return NULL;
    if (limit->op != OP_CAST || limit->src[0]->dt != DT_IDX) return NULL;
    *least = below->src[0]->lo;
    return limit->src[0];
}

/* Iterations of which a mask leaves anything to a warpgroup: all, unless the rows of the first group end a whole iteration
 * before those of the last. */
static const uop *own_count(struct roles *r) {
    int64_t least, apart;
    for (uint32_t i = 0; i < r->body.n; i++) {
        const uop *limit = limit_of(r->body.p[i], &least);
        if (!limit) continue;
        struct affine f = affine_of(r->a, limit);
        int64_t step = -affine_coef(&f, r->k);
        const uop *most = greatest(r, &f, &apart);
        if (step <= 0 || apart < step) continue;
        const uop *n = rw2(r->rw, OP_IDIV, add(r, most, num(r, step - 1 - least)), num(r, step));
        n = rw2(r->rw, OP_MIN, n, r->count);
        if (n->lo >= 1) return n;
    }
    return r->count;
}

/* ---- the loop ---------------------------------------------------------------------------------------------------- */

static const uop *at_iteration(struct roles *r, const uop *n, const uop *k) {
    return k == r->k ? n : rw_subst(r->rw, n, &r->k, &k, 1);
}

static void compute(struct chain *c, const uop_vec *v, const uop *k, uop_vec *out) {
    uop_vec part = {0};
    for (uint32_t i = 0; i < v->n; i++) put(c->r, &part, at_iteration(c->r, v->p[i], k));
    put_part(c->r, &part, out);
}

static void begin(struct chain *c, const uop_vec *v, const uop *number, const uop *at, uop_vec *out) {
    uop_vec part = {0};
    put_op(c->r, &part, OP_WGMMA_FENCE, 0);
    for (uint32_t i = 0; i < v->n; i++) put(c->r, &part, roles_at_place(c->r, v->p[i], number, at));
    put_op(c->r, &part, OP_WGMMA_COMMIT, 0);
    put_part(c->r, &part, out);
}

static void tiles(struct chain *c, const bool *of, const bool * not, bool give, const uop *number,
                  uop_vec *out) {
    for (uint32_t i = 0; i < c->r->set.n; i++) {
        if (!of[i] || not [i]) continue;
        if (give)
            roles_release(c->r, i, number, NULL, out);
        else
            put(c->r, out, roles_wait(c->r, i, FULL, number, 0));
    }
}

/* Warpgroups begin their products one after the other. */
static void turn(struct chain *c, const uop *number, bool over, uop_vec *out) {
    struct roles *r = c->r;
    int64_t groups = r->lanes / WARPGROUP;
    const uop *group = roles_group(r), *next = mod(r, add(r, group, num(r, 1)), groups);
    if (groups < 2) return;
    if (over) { /* when all of its warps have begun */
        uop_vec one = {0};
        const uop *first = rw2(r->rw, OP_EQ, mod(r, r->thread, MMA_LANES), num(r, 0));
        put(r, &one, roles_arrive(r, roles_mbar(r, r->turn_bar, next), 0));
        put(r, out, when(r, first, &one, NULL));
        return;
    }
    const uop *late = rw2(r->rw, OP_LT, group, num(r, 1)); /* the first waits for what the last did before */
    const struct held *h = roles_held(r, number);
    const uop *n =
        add(r, h && h->count ? h->count : number, rw3(r->rw, OP_WHERE, late, num(r, 1), num(r, 0)));
    const uop *parity = rw2(r->rw, OP_AND, n, num(r, 1));
    put(r, out, uop2(r->ir, OP_MBAR_WAIT, roles_mbar(r, r->turn_bar, group), parity));
}

static void put_when(struct roles *r, const uop *cond, const uop_vec *v, uop_vec *out) {
    if (!v->n) return;
    if (cond) put(r, out, when(r, cond, v, NULL));
    for (uint32_t i = 0; i < v->n && !cond; i++) put(r, out, v->p[i]);
}

/* A of the first iteration of a tile, if there is one: else it is computed of what is there, and nobody looks at it. */
static void begin_tile(struct chain *c, const uop *number, const uop *at, const uop *cond, uop_vec *out) {
    bool *none = arena_array(c->r->a, bool, c->r->set.n);
    uop_vec some = {0};
    if (c->r->flat) roles_fixed(c->r, at, false, &some);
    tiles(c, c->by_a, none, false, number, &some);
    turn(c, number, false, &some);
    put_when(c->r, cond, &some, out);
    begin(c, &c->a, number, at, out);
}

static struct chain sorted(struct roles *r) {
    struct chain c = {.r = r};
    c.by_a = arena_array(r->a, bool, r->set.n), c.by_d = arena_array(r->a, bool, r->set.n);
    sort_body(&c);
    if (r->count->lo < 1) opt_fail(r->s, r->opt, "the loop may have no iteration");
    return c;
}

/* When A is over: its tiles go back, the other group is next. */
static void end_tile(struct chain *c, const uop *number, const uop *cond, uop_vec *out) {
    uop_vec some = {0};
    tiles(c, c->by_a, c->by_d, true, number, &some);
    put_when(c->r, cond, &some, out);
}

static void pass_on(struct chain *c, const uop *number, const uop *cond, uop_vec *out) {
    uop_vec some = {0};
    turn(c, number, true, &some);
    put_when(c->r, cond, &some, out);
}

void chain_first(struct roles *r, uop_vec *out) {
    struct chain c = sorted(r);
    const uop *zero = num(r, 0);
    begin_tile(&c, zero, zero, NULL, out);
    pass_on(&c, zero, NULL, out);
    put_op(r, out, OP_WGMMA_WAIT, 0);
    end_tile(&c, zero, NULL, out);
}

static const uop *held_register(struct roles *r, int i) {
    return uop_new(r->ir, OP_ACC, DT_I32, 1, NULL, 0, ARG_INT(HELD + i));
}

static void put_held(struct roles *r, const uop *acc, const uop *x, uop_vec *out) {
    put(r, out, uop2(r->ir, OP_SET, acc, x));
    put(r, out, uop_mk(r->ir, OP_PIN_REG, &acc, 1, ARG_NONE));
}

/* Places of the loop's rings, if all have as many, a power of two; else 0. */
static int64_t ring_places(const struct roles *r) {
    int64_t n = 0;
    for (uint32_t i = 0; i < r->tile.n; i++) {
        int64_t places = r->set.p[r->tile.p[i].set].places;
        if (r->tile.p[i].fixed) continue;
        if ((n && places != n) || (places & (places - 1))) return 0;
        n = places;
    }
    return n;
}

/* The number of the loop's iterations, held in a register: else it is computed in each of them. */
static const uop *held_size(struct roles *r, const uop *size, uop_vec *out) {
    int64_t bits = 1;
    const uop *acc = held_register(r, 0);
    if (uop_is_const(size)) return size;
    while (bits <= size->hi) bits *= 2;
    put_held(r, acc, uop_cast(r->ir, size, DT_I32), out);
    return rw2(r->rw, OP_AND, uop_cast(r->ir, acc, DT_IDX), num(r, bits - 1));
}

/* Registers for the barriers of a loop: before it those of its first iteration, `then`; in each, at its top, those of the next. */
static void hold_barriers(struct roles *r, const uop *first, const uop *now, const uop *then, uop_vec *out,
                          uop_vec *in) {
    int64_t places = ring_places(r), shift = 0;
    const uop *count = held_register(r, 1), *place[2], *phase[2];
    if (!places) return;
    while (1 << shift < places) shift++;
    for (int i = 0; i < 2; i++) place[i] = held_register(r, 2 + i), phase[i] = held_register(r, 4 + i);
    const uop *mask = uop_int(r->ir, DT_I32, places - 1), *one = uop_int(r->ir, DT_I32, 1);
    const uop *at = uop2(r->ir, OP_AND, count, mask),
              *half = uop2(r->ir, OP_AND, uop2(r->ir, OP_SHR, count, uop_int(r->ir, DT_I32, shift)), one);
    put_held(r, count, uop_cast(r->ir, first, DT_I32), out);
    put_held(r, place[0], at, out);
    put(r, out, uop2(r->ir, OP_SET, phase[0], half));
    put(r, in, uop2(r->ir, OP_SET, place[1], place[0]));
    put(r, in, uop2(r->ir, OP_SET, phase[1], phase[0]));
    put_held(r, count, uop2(r->ir, OP_ADD, count, one), in);
    put_held(r, place[0], at, in);
    put(r, in, uop2(r->ir, OP_SET, phase[0], half));
    for (int i = 0; i < 2; i++)
        r->held[i] = (struct held){i ? then : now, i ? NULL : uop_cast(r->ir, count, DT_IDX),
                                   uop_cast(r->ir, place[i], DT_IDX), uop_cast(r->ir, phase[i], DT_IDX)};
}

/* Iterations after the first: A and D are begun together. */
static void other_iterations(struct chain *c, const struct chained *t, uop_vec *out) {
    struct roles *r = c->r;
    bool *none = arena_array(r->a, bool, r->set.n);
    uop_vec in = {0}, top = {0}, start = {0};
    union arg arg = r->k->arg;
    arg.range.id = 100;
    const uop *size = rw2(r->rw, OP_SUB, own_count(r), num(r, 1));
    if (!size->hi) return;
    size = held_size(r, size, &start);
    const uop *before = uop_new(r->ir, OP_RANGE, DT_IDX, 1, &size, 1, arg), *k = add(r, before, num(r, 1));
    const uop *now = add(r, t->number, k), *then = add(r, t->number, before);
    hold_barriers(r, t->number, now, then, &start, &top);
    put_part(r, &start, out);
    put_part(r, &top, &in);
    tiles(c, c->by_a, none, false, now, &in);
    turn(c, now, false, &in);
    begin(c, &c->a, now, t->turn, &in);
    tiles(c, c->by_d, c->by_a, false, then, &in);
    begin(c, &c->d, then, t->turn, &in);
    turn(c, now, true, &in);
    put_op(r, &in, OP_WGMMA_WAIT, 1);
    tiles(c, c->by_a, c->by_d, true, now, &in);
    compute(c, &c->b, k, &in);
    put_op(r, &in, OP_WGMMA_WAIT, 0);
    tiles(c, c->by_d, none, true, then, &in);
    compute(c, &c->c, k, &in);
    put(r, out, uop2(r->ir, OP_FOR, before, tree_block(r->ir, &in)));
    memset(r->held, 0, sizeof r->held);
}

/* What this group does not need is given back as it comes, and the turn passed on. */
static void pass_over(struct chain *c, const uop *number, const uop *size, uop_vec *out) {
    struct roles *r = c->r;
    bool *none = arena_array(r->a, bool, r->set.n);
    union arg arg = r->k->arg;
    uop_vec in = {0};
    arg.range.id = 101;
    const uop *k = uop_new(r->ir, OP_RANGE, DT_IDX, 1, &size, 1, arg), *now = add(r, number, k);
    tiles(c, c->by_a, none, false, now, &in);
    turn(c, now, false, &in);
    turn(c, now, true, &in);
    tiles(c, c->by_a, c->by_d, true, now, &in);
    tiles(c, c->by_d, c->by_a, false, now, &in);
    tiles(c, c->by_d, none, true, now, &in);
    put(r, out, uop2(r->ir, OP_FOR, k, tree_block(r->ir, &in)));
}

/* The end of a tile where groups have loops of different length. */
static void end_apart(struct chain *c, const struct chained *t, const uop *own, uop_vec *out) {
    struct roles *r = c->r;
    bool *none = arena_array(r->a, bool, r->set.n);
    const uop *first = add(r, t->number, own), *last = rw2(r->rw, OP_SUB, first, num(r, 1));
    const uop *next = add(r, t->number, r->count);
    tiles(c, c->by_d, c->by_a, false, last, out);
    begin(c, &c->d, last, t->turn, out);
    put_op(r, out, OP_WGMMA_WAIT, 0);
    tiles(c, c->by_d, none, true, last, out);
    pass_over(c, first, rw2(r->rw, OP_SUB, r->count, own), out);
    if (!t->more) return;
    roles_fixed(r, t->turn, true, out);
    begin_tile(c, next, add(r, t->turn, num(r, 1)), t->more, out);
    pass_on(c, next, t->more, out);
    put_op(r, out, OP_WGMMA_WAIT, 0);
    end_tile(c, next, t->more, out);
}

void chain_loop(struct roles *r, const struct chained *t, uop_vec *out) {
    struct chain c = sorted(r);
    bool *none = arena_array(r->a, bool, r->set.n);
    const uop *next = add(r, t->number, r->count), *last = rw2(r->rw, OP_SUB, next, num(r, 1));
    const uop *own = own_count(r);
    if (!t->more) {
        begin_tile(&c, t->number, t->turn, NULL, out);
        pass_on(&c, t->number, NULL, out);
        put_op(r, out, OP_WGMMA_WAIT, 0);
        end_tile(&c, t->number, NULL, out);
    }
    compute(&c, &c.b, num(r, 0), out);
    compute(&c, &c.c, num(r, 0), out);
    other_iterations(&c, t, out);
    if (own != r->count) {
        end_apart(&c, t, own, out);
        return;
    }
    if (t->more) {
        roles_fixed(r, t->turn, true, out);
        begin_tile(&c, next, add(r, t->turn, num(r, 1)), t->more, out);
    }
    tiles(&c, c.by_d, c.by_a, false, last, out);
    begin(&c, &c.d, last, t->turn, out);
    if (t->more) pass_on(&c, next, t->more, out);
    put_op(r, out, OP_WGMMA_WAIT, 0);
    if (t->more) end_tile(&c, next, t->more, out);
    tiles(&c, c.by_d, none, true, last, out);
}

/* ---- several products of what is in registers -------------------------------------------------------------------- */

bool chain_is_woven(const struct roles *r) {
    const uop *first = NULL;
    for (uint32_t i = 0; i < r->body.n; i++) {
        const uop *s = r->body.p[i];
        if (s->op != OP_MMA || is_a(s)) continue;
        if (first && s->src[0]->arg.i != first->arg.i) return true;
        first = s->src[0];
    }
    return false;
}

/* The gradients of k and v: registers hold the sums, the tile's two products and what is made of them, and nothing that waits
 * for the next iteration. The warpgroups run apart: one multiplies while the other computes. */
void wgmma_schedule_loop(struct roles *r, const struct chained *t, uop_vec *out) {
    const uop *i = add(r, t->number, r->k);
    uop_vec in = {0}, body = {0};
    for (uint32_t k = 0; k < r->body.n; k++) put(r, &body, roles_at_place(r, r->body.p[k], i, t->turn));
    uint32_t ring = r->tile.p[0].set;
    put(r, &in, roles_wait(r, ring, FULL, i, 0));
    wgmma_schedule_body(r->ir, &body, false, &in);
    roles_release(r, ring, i, NULL, &in);
    put(r, out, uop2(r->ir, OP_FOR, r->k, tree_block(r->ir, &in)));
}
