/* roles.c: threads with different jobs. ROLES gives a block a group of warps of which one thread does nothing but copy: it fills
 * the ring that PIPE asked for with boxes (op BOX) while the others compute. They tell each other by mbarriers, two for each
 * place of the ring:
 *
 *     full[place]    the producer arrives and announces the bytes of its boxes; over when they are there
 *     empty[place]   each group of warps arrives when its matrix instructions have read the tile
 *
 *     IF thread < computing:  FOR tile: acc = 0
 *                                       FOR k: wait full, MMA, MMA_WAIT(1), arrive at empty of k-1
 *                                       MMA_WAIT(0), arrive at empty of the last, stores
 *     ELSE one thread:        FOR tile: FOR k: wait empty, announce, boxes
 *
 * Iterations are counted through all tiles of a block: number i has place i mod n, in phase i / n. PERSIST lets a block walk
 * over tiles: the producer is some places ahead, so that the first tiles of the next product are there when the last is stored.
 * With two teams each computes a whole tile; one computes while the other stores. They take turns by an mbarrier for each
 * team: a wait for the parity of a phase means something only to who is not more than one phase behind.
 * Requires: tree_mma, matrix instructions that read shared memory. Gives: a tree with its barriers. Tests: tests/unit/roles.c */
#include "cg.h"

enum {
    MOST_PLACES = 16,
    SMALL_REGS = 24,
    LARGE_REGS = 240,
    SHARED_MOST = 232448,
    STORE_ROWS = 64,
    STORE_BYTES = 128
};

struct roles {
    struct sched *s;
    struct ir *ir;
    struct rw *rw;
    struct arena *a;
    const char *opt;
    int64_t lanes, teams; /* threads of a team */
    const uop *thread, *bars;
    const uop *loop, *k; /* FOR over k, and its range */
    int64_t places, count, tiles, blocks, turns;
    uop_vec grid, before, fill, body, after;
    uop_vec local, wide;
    VEC(struct box) box;
    uop_vec stage;   /* shared memory through which results are stored, one for each type */
    int64_t buffers; /* panels of it that each group of warps has */
    bool any_out;
};

static const uop *num(struct roles *r, int64_t v) { return uop_idx(r->ir, v); }
static const uop *add(struct roles *r, const uop *a, const uop *b) { return rw2(r->rw, OP_ADD, a, b); }
static const uop *mul(struct roles *r, const uop *a, int64_t n) { return rw2(r->rw, OP_MUL, a, num(r, n)); }
static const uop *mod(struct roles *r, const uop *a, int64_t n) { return rw2(r->rw, OP_MOD, a, num(r, n)); }
static const uop *quo(struct roles *r, const uop *a, int64_t n) { return rw2(r->rw, OP_IDIV, a, num(r, n)); }

static void put(struct roles *r, uop_vec *out, const uop *stmt) { vec_push(r->a, out, stmt); }

static void put_op(struct roles *r, uop_vec *out, enum op op, int64_t n) {
    put(r, out, uop_mk(r->ir, op, NULL, 0, ARG_INT(n)));
}

/* A block of its own: nothing moves out of it. */
static void put_part(struct roles *r, uop_vec *part, uop_vec *out) {
    if (part->n) put(r, out, tree_block(r->ir, part));
    *part = (uop_vec){0};
}

static const uop *when(struct roles *r, const uop *cond, const uop_vec *then, const uop_vec *other) {
    const uop *yes = tree_block(r->ir, then);
    return other ? uop3(r->ir, OP_IF, cond, yes, tree_block(r->ir, other)) : uop2(r->ir, OP_IF, cond, yes);
}

/* ---- what there is ------------------------------------------------------------------------------------------- */

static bool is_fill(const uop *s) {
    return s->op == OP_STORE && s->src[0]->src[0]->op == OP_LOCAL &&
           s->src[0]->src[0]->arg.mem.space == SPACE_SHARED;
}

static bool fills(const uop *loop) {
    for (uint32_t i = 0; i < loop->src[1]->nsrc; i++)
        if (is_fill(loop->src[1]->src[i])) return true;
    return false;
}

static void take_pipe(struct roles *r, const uop *fill) {
    uop_vec topo = {0};
    bool found = false;
    uop_topo(r->a, &fill->src[1], 1, &topo);
    for (uint32_t i = 0; i < r->s->pipe.n; i++) {
        const struct pipe *p = &r->s->pipe.p[i];
        for (uint32_t k = 0; k < topo.n && !found; k++)
            found = topo.p[k]->op == OP_PARAM && topo.p[k]->arg.param.name == p->buffer &&
                    p->axis == r->k->arg.range.cls;
        if (!found) continue;
        if (r->places && r->places != p->ahead)
            opt_fail(r->s, p->opt, "another tile of the loop has %lld places", (long long)r->places);
        r->places = p->ahead;
        return;
    }
    opt_fail(r->s, r->opt, "each tile of the loop over %s needs a PIPE", ir_name(r->ir, r->k->arg.range.cls));
}

static void take_loop(struct roles *r, const uop *loop) {
    if (r->loop) opt_fail(r->s, r->opt, "there are two loops that fill tiles");
    r->loop = loop, r->k = loop->src[0];
    if (!uop_is_const(r->k->src[0]))
        opt_fail(r->s, r->opt, "the length of the loop is known at run time only");
    r->count = r->k->src[0]->hi;
    for (uint32_t i = 0; i < loop->src[1]->nsrc; i++) {
        const uop *s = loop->src[1]->src[i];
        put(r, is_fill(s) ? &r->fill : &r->body, s);
        if (!is_fill(s)) continue;
        take_pipe(r, s);
        vec_push(r->a, &r->box, box_of(r->s, r->opt, s, r->k));
    }
    if (r->places < 2 || r->places > MOST_PLACES)
        opt_fail(r->s, r->opt, "a ring has 2 .. %d places, not %lld", MOST_PLACES, (long long)r->places);
    for (uint32_t i = 0; i < r->fill.n; i++) {
        const uop *l = r->fill.p[i]->src[0]->src[0], *size = num(r, l->src[0]->hi * r->places);
        put(r, &r->local, l);
        put(r, &r->wide, uop_new(r->ir, OP_LOCAL, (enum dtype)l->dt, 1, &size, 1, l->arg));
    }
}

static void look(struct roles *r, const uop *tree) {
    const uop *body = tree;
    r->tiles = 1;
    while (body->nsrc == 1 && body->src[0]->op == OP_FOR && body->src[0]->src[0]->arg.range.kind == AX_GRID) {
        put(r, &r->grid, body->src[0]->src[0]);
        r->tiles *= body->src[0]->src[0]->src[0]->hi;
        body = body->src[0]->src[1];
    }
    for (uint32_t i = 0; i < body->nsrc; i++) {
        const uop *s = body->src[i];
        if (s->op == OP_FOR && fills(s))
            take_loop(r, s);
        else if (is_fill(s))
            opt_fail(r->s, r->opt, "a tile is filled outside of the loop");
        else
            put(r, r->loop ? &r->after : &r->before, s);
    }
    if (!r->loop) opt_fail(r->s, r->opt, "there is no loop that fills tiles");
    r->blocks = r->s->roles.blocks ? RG_MIN(r->s->roles.blocks, r->tiles) : r->tiles;
    r->turns = (r->tiles + r->blocks - 1) / r->blocks;
}

/* ---- places and phases ---------------------------------------------------------------------------------------- */

enum { FULL, EMPTY, TURN };

static const uop *mbar(struct roles *r, int kind, const uop *i) {
    return mk_index(r->ir, r->bars, add(r, i, num(r, kind * r->places)), 1);
}

static const uop *arrive(struct roles *r, const uop *bar, int64_t bytes) {
    return uop_mk(r->ir, OP_MBAR_ARRIVE, &bar, 1, ARG_INT(bytes));
}

static const uop *place_of(struct roles *r, const uop *number) { return mod(r, number, r->places); }

/* Until phase number / places, moved on by `late`, is over. */
static const uop *wait_for(struct roles *r, int kind, const uop *number, int64_t late) {
    const uop *parity = mod(r, add(r, quo(r, number, r->places), num(r, late)), 2);
    return uop2(r->ir, OP_MBAR_WAIT, mbar(r, kind, place_of(r, number)), parity);
}

/* n with its tiles at the place of an iteration. */
static const uop *at_place(struct roles *r, const uop *n, const uop *place) {
    uop_vec topo = {0}, from = {0}, to = {0};
    uop_topo(r->a, &n, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++)
        for (uint32_t k = 0; k < r->local.n && topo.p[i]->op == OP_INDEX; k++) {
            if (topo.p[i]->src[0] != r->local.p[k]) continue;
            const uop *at = add(r, topo.p[i]->src[1], mul(r, place, r->local.p[k]->src[0]->hi));
            put(r, &from, topo.p[i]);
            put(r, &to, mk_index(r->ir, r->wide.p[k], at, topo.p[i]->lanes));
        }
    return from.n ? rw_subst(r->rw, n, from.p, to.p, from.n) : n;
}

static const uop *range(struct roles *r, const char *name, enum axis_kind kind, int pos, int64_t size,
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

/* ---- the jobs --------------------------------------------------------------------------------------------------- */

/* One thread of each group of warps. */
static const uop *is_first(struct roles *r) {
    return rw2(r->rw, OP_EQ, mod(r, r->thread, MMA_GROUP), num(r, 0));
}

static void release(struct roles *r, const uop *number, const uop *only, uop_vec *out) {
    uop_vec one = {0};
    put(r, &one, arrive(r, mbar(r, EMPTY, place_of(r, number)), 0));
    put(r, out, when(r, only ? rw2(r->rw, OP_AND, only, is_first(r)) : is_first(r), &one, NULL));
}

/* All k of one tile. number: of its first iteration. */
static void multiply(struct roles *r, const uop *number, uop_vec *out) {
    uop_vec in = {0}, part = {0};
    const uop *i = add(r, number, r->k), *last = add(r, number, num(r, r->count - 1));
    put(r, &in, wait_for(r, FULL, i, 0));
    put_op(r, &part, OP_MMA_BEGIN, 0);
    for (uint32_t k = 0; k < r->body.n; k++) put(r, &part, at_place(r, r->body.p[k], place_of(r, i)));
    put_op(r, &part, OP_MMA_END, 0);
    put_part(r, &part, &in);
    put_op(r, &in, OP_MMA_WAIT, 1);
    release(r, add(r, i, num(r, r->places - 1)), rw2(r->rw, OP_LT, num(r, 0), r->k), &in);
    put(r, out, uop2(r->ir, OP_FOR, r->k, tree_block(r->ir, &in)));
    if (r->teams > 1) {
        const uop *other = rw2(r->rw, OP_SUB, num(r, 1), quo(r, r->thread, r->lanes));
        put(r, out, arrive(r, mbar(r, TURN, other), 0));
    }
    put_op(r, out, OP_MMA_WAIT, 0);
    release(r, last, NULL, out);
}

/* ---- results ---------------------------------------------------------------------------------------------------- */

void roles_outputs(struct sched *s, const uop *tree) {
    uop_vec topo = {0};
    const uop *side[2] = {NULL, NULL};
    uop_topo(s->ir->arena, &tree, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++)
        for (int k = 0; k < 2; k++)
            if (topo.p[i]->op == OP_RANGE && topo.p[i]->arg.range.cls == s->tc[0].axis[k])
                side[k] = topo.p[i];
    s->roles.out.n = 0;
    for (uint32_t i = 0; i < topo.n && side[0] && side[1]; i++) {
        struct box_of_store o;
        if (topo.p[i]->op != OP_STORE || !box_stored(s, topo.p[i], side[0], side[1], &o.box)) continue;
        o.param = topo.p[i]->src[0]->src[0];
        vec_push(s->ir->arena, &s->roles.out, o);
    }
}

/* Its box, if it is stored through shared memory; once for each buffer. */
static const struct box *out_box(const struct roles *r, const uop *stmt) {
    const struct box *found = NULL;
    for (uint32_t i = 0; i < r->s->roles.out.n && stmt->op == OP_STORE; i++)
        if (r->s->roles.out.p[i].param == stmt->src[0]->src[0]) {
            if (found) return NULL;
            found = &r->s->roles.out.p[i].box;
        }
    struct mma_map d = mma_map(r->s->tc[0].instr, MMA_D);
    bool even = d.nreg == 3 && d.reg[2].dim == MMA_N && d.reg[2].stride == 8;
    return even && r->buffers ? found : NULL;
}

/* As many panels as there is room for beside the ring, two at most. */
static void find_buffers(struct roles *r) {
    int64_t used = 1024, groups = r->lanes * r->teams / MMA_GROUP, types = 0;
    uint8_t seen[DT_COUNT] = {0};
    for (uint32_t i = 0; i < r->s->roles.out.n; i++) types += !seen[r->s->roles.out.p[i].param->dt]++;
    for (uint32_t i = 0; i < r->wide.n; i++)
        used += r->wide.p[i]->src[0]->hi * dtype_info[r->wide.p[i]->dt].bytes;
    for (r->buffers = types ? 2 : 0; r->buffers; r->buffers--)
        if (used + types * groups * r->buffers * STORE_ROWS * STORE_BYTES <= SHARED_MOST) return;
}

static const uop *stage_of(struct roles *r, enum dtype dt) {
    for (uint32_t i = 0; i < r->stage.n; i++)
        if (r->stage.p[i]->dt == dt) return r->stage.p[i];
    int64_t width = STORE_BYTES / dtype_info[dt].bytes, groups = r->lanes * r->teams / MMA_GROUP;
    const uop *size = num(r, groups * r->buffers * STORE_ROWS * width);
    union arg arg = {.mem = {ir_sym(r->ir, "results", 7), SPACE_SHARED, 1, (uint16_t)width}};
    const uop *l = uop_new(r->ir, OP_LOCAL, dt, 1, &size, 1, arg);
    put(r, &r->stage, l);
    return l;
}

static const uop *group(struct roles *r) { return quo(r, r->thread, MMA_GROUP); }

static void meet_group(struct roles *r, uop_vec *out) {
    const uop *number = add(r, group(r), num(r, 1));
    put(r, out, uop_mk(r->ir, OP_BARRIER, &number, 1, ARG_INT(MMA_GROUP)));
}

static void by_first(struct roles *r, const uop *stmt, uop_vec *out) {
    uop_vec one = {0};
    put(r, &one, stmt);
    put(r, out, when(r, is_first(r), &one, NULL));
}

/* One panel: written by its group of warps, then copied out while they go on. */
static void put_panel(struct roles *r, const uop *store, const struct box *b, int64_t panel, int64_t buffer,
                      uop_vec *out) {
    const uop *stage = stage_of(r, (enum dtype)store->src[1]->dt),
              *lane = r->s->tc[0].lane, *const *reg = r->s->tc[0].reg;
    struct mma_map d = mma_map(r->s->tc[0].instr, MMA_D);
    const uop *step = range(r, "column", AX_REG, reg[2]->arg.range.pos, b->width / 8, 0);
    const uop *place = mul(r, add(r, mul(r, group(r), r->buffers), num(r, buffer)), STORE_ROWS * b->width);
    const uop *at[2] = {num(r, 0), num(r, 0)}, *left = lane;
    for (unsigned i = 0; i < d.nlane; i++) {
        int side = d.lane[i].dim == MMA_N;
        at[side] = add(r, at[side], mul(r, mod(r, left, d.lane[i].extent), d.lane[i].stride));
        left = quo(r, left, d.lane[i].extent);
    }
    at[0] = add(r, at[0], mul(r, reg[1], d.reg[1].stride));
    at[1] = add(r, add(r, at[1], reg[0]), mul(r, step, 8));
    const uop *to = mk_index(r->ir, stage, add(r, add(r, place, mul(r, at[0], b->width)), at[1]), 1);
    const uop *which = add(r, step, num(r, panel * b->width / 8));
    const uop *value = rw_subst(r->rw, store->src[1], &reg[2], &which, 1);
    const uop *corner[] = {mk_index(r->ir, stage, place, 1), b->map,
                           add(r, b->at[0], num(r, panel * b->width)), b->at[1]};
    uop_vec part = {0};
    by_first(r, uop_mk(r->ir, OP_BOX_WAIT, NULL, 0, ARG_INT(r->buffers - 1)), out);
    meet_group(r, out);
    put(r, &part, uop2(r->ir, OP_STORE, to, value));
    put_part(r, &part, out);
    put_op(r, out, OP_PUBLISH, 0);
    meet_group(r, out);
    by_first(r, uop_mk(r->ir, OP_BOX_OUT, corner, RG_COUNT(corner), ARG_NONE), out);
    r->any_out = true;
}

/* All panels, for each value of the registers that hold several tiles. */
static void put_store(struct roles *r, const uop *store, const struct box *b, uop_vec *out) {
    struct free_ranges fr;
    uop_vec from = {0}, to = {0};
    int64_t times = 1, buffer = 0;
    free_init(&fr, r->ir, r->a);
    const uop_vec *f = free_of(&fr, store);
    for (uint32_t i = 0; i < f->n; i++) {
        const uop *x = f->p[i];
        bool own = x == r->s->tc[0].reg[0] || x == r->s->tc[0].reg[1] || x == r->s->tc[0].reg[2];
        if (own || !axis_is_expanded((enum axis_kind)x->arg.range.kind)) continue;
        put(r, &from, x);
        times *= x->src[0]->hi;
    }
    if (times * b->panels % r->buffers) r->buffers = 1; /* each panel has its own */
    for (int64_t t = 0; t < times; t++) {
        uop_vec all = {0};
        int64_t left = t;
        to.n = 0;
        for (uint32_t i = 0; i < from.n; i++)
            put(r, &to, num(r, left % from.p[i]->src[0]->hi)), left /= from.p[i]->src[0]->hi;
        for (int64_t p = 0; p < b->panels; p++) put_panel(r, store, b, p, buffer++ % r->buffers, &all);
        for (uint32_t i = 0; i < all.n; i++)
            put(r, out, from.n ? rw_subst(r->rw, all.p[i], from.p, to.p, from.n) : all.p[i]);
    }
}

static void put_results(struct roles *r, uop_vec *out) {
    uop_vec part = {0};
    for (uint32_t i = 0; i < r->after.n; i++) {
        const struct box *b = out_box(r, r->after.p[i]);
        if (b)
            put_part(r, &part, out), put_store(r, r->after.p[i], b, out);
        else
            put(r, &part, r->after.p[i]);
    }
    put_part(r, &part, out);
}

/* Under the condition that the tile exists. */
static void put_tile(struct roles *r, const uop *tile, uop_vec *in, uop_vec *out) {
    if (tile->hi < r->tiles) {
        for (uint32_t i = 0; i < in->n; i++) put(r, out, in->p[i]);
        return;
    }
    put(r, out, when(r, rw2(r->rw, OP_LT, tile, num(r, r->tiles)), in, NULL));
}

static void put_turns(struct roles *r, const uop *turn, const uop_vec *in, uop_vec *out) {
    if (turn->src[0]->hi > 1)
        put(r, out, uop2(r->ir, OP_FOR, turn, tree_block(r->ir, in)));
    else
        for (uint32_t i = 0; i < in->n; i++) {
            const uop *zero = num(r, 0);
            put(r, out, rw_subst(r->rw, in->p[i], &turn, &zero, 1));
        }
}

static void compute(struct roles *r, const uop *block, int pos, uop_vec *out) {
    uop_vec in = {0}, all = {0}, part = {0};
    const uop *own = range(r, "turn", AX_LOOP, pos, (r->turns + r->teams - 1) / r->teams, 0);
    const uop *team = quo(r, r->thread, r->lanes);
    const uop *turn = r->teams > 1 ? add(r, mul(r, own, r->teams), team) : own;
    const uop *tile = add(r, mul(r, turn, r->blocks), block);
    at_tile(r, &r->before, tile, &part);
    put_part(r, &part, &in);
    if (r->teams > 1) {
        const uop *parity = mod(r, add(r, add(r, own, team), num(r, 1)), 2);
        put(r, &in, uop2(r->ir, OP_MBAR_WAIT, mbar(r, TURN, team), parity));
    }
    multiply(r, mul(r, turn, r->count), &in);
    put_results(r, &part);
    at_tile(r, &part, tile, &in);
    put_tile(r, tile, &in, &all);
    put_turns(r, own, &all, out);
    if (r->any_out) by_first(r, uop_mk(r->ir, OP_BOX_WAIT, NULL, 0, ARG_INT(0)), out);
}

static void copy(struct roles *r, const uop *block, int pos, uop_vec *out) {
    uop_vec in = {0}, at = {0}, all = {0}, loop = {0}, one = {0};
    const uop *turn = range(r, "turn", AX_LOOP, pos, r->turns, 1),
              *tile = add(r, mul(r, turn, r->blocks), block);
    const uop *k = range(r, "step", AX_LOOP, r->k->arg.range.pos, r->count, 0);
    const uop *number = add(r, mul(r, turn, r->count), k), *place = place_of(r, number);
    int64_t bytes = 0;
    for (uint32_t i = 0; i < r->box.n; i++) bytes += r->box.p[i].bytes;
    put(r, &in, wait_for(r, EMPTY, number, 1));
    put(r, &in, arrive(r, mbar(r, FULL, place), bytes));
    for (uint32_t i = 0; i < r->box.n; i++) {
        const struct box *b = &r->box.p[i];
        for (int64_t c = 0; c < b->panels * b->parts; c++) {
            int64_t panel = c / b->parts, part = c % b->parts;
            const uop *to = add(r, mul(r, place, r->local.p[i]->src[0]->hi), num(r, c * b->rows * b->width));
            const uop *src[] = {mk_index(r->ir, r->wide.p[i], to, 1), b->map, mbar(r, FULL, place),
                                add(r, b->at[0], num(r, panel * b->width)),
                                add(r, b->at[1], num(r, part * b->rows))};
            const uop *box = uop_mk(r->ir, OP_BOX, src, RG_COUNT(src), ARG_NONE);
            put(r, &in, rw_subst(r->rw, box, &r->k, &k, 1));
        }
    }
    at_tile(r, &in, tile, &at);
    put(r, &loop, uop2(r->ir, OP_FOR, k, tree_block(r->ir, &at)));
    put_tile(r, tile, &loop, &all);
    put_turns(r, turn, &all, &one);
    put(r, out, when(r, rw2(r->rw, OP_EQ, r->thread, num(r, r->lanes * r->teams)), &one, NULL));
}

/* By one thread, before the others look at them. */
static void begin(struct roles *r, uop_vec *out) {
    uop_vec one = {0};
    int64_t groups = r->lanes / MMA_GROUP;
    for (int64_t i = 0; i < 2 * r->places + (r->teams > 1 ? r->teams : 0); i++) {
        const uop *at = mk_index(r->ir, r->bars, num(r, i), 1);
        int64_t n = i < r->places ? 1 : i < 2 * r->places ? groups : r->lanes;
        put(r, &one, uop_mk(r->ir, OP_MBAR_NEW, &at, 1, ARG_INT(n)));
    }
    put(r, out, when(r, rw2(r->rw, OP_EQ, r->thread, num(r, 0)), &one, NULL));
    put_op(r, out, OP_BARRIER, 0);
}

const uop *tree_roles(struct sched *s, const uop *tree) {
    struct roles r = {
        .s = s, .ir = s->ir, .rw = &s->rw, .a = s->ir->arena, .opt = "ROLES", .teams = s->roles.teams};
    if (!sched_has_groups(s))
        opt_fail(s, r.opt, "only matrix instructions that read shared memory (TC with W..) have roles");
    r.thread = block_thread(s, tree, &r.lanes);
    look(&r, tree);
    find_buffers(&r);
    if (r.teams > 1 && !s->roles.blocks)
        opt_fail(s, r.opt, "two groups take turns over the tiles of PERSIST");
    const uop *size = num(&r, 2 * r.places + r.teams);
    union arg arg = {.mem = {ir_sym(s->ir, "mbars", 5), SPACE_SHARED, 0, 0}};
    r.bars = uop_new(s->ir, OP_LOCAL, DT_U64, 1, &size, 1, arg);
    const uop *block = range(&r, "block", AX_GRID, 0, r.blocks, 0);
    uop_vec out = {0}, some = {0}, others = {0};
    int pos = r.thread->arg.range.pos;
    bool uneven = r.lanes * r.teams > MMA_GROUP; /* else all have as many as they want */
    if (r.lanes * r.teams > 2 * MMA_GROUP)       /* they would wait for registers for ever */
        opt_fail(s, r.opt, "%lld threads compute; there are registers for %d", (long long)(r.lanes * r.teams),
                 2 * MMA_GROUP);
    begin(&r, &out);
    if (uneven) put_op(&r, &some, OP_REGISTERS, LARGE_REGS), put_op(&r, &others, OP_REGISTERS, SMALL_REGS);
    compute(&r, block, pos, &some);
    copy(&r, block, pos, &others);
    put(&r, &out, when(&r, rw2(r.rw, OP_LT, r.thread, num(&r, r.lanes * r.teams)), &some, &others));
    s->pipe.n = 0;
    const uop *loop = uop2(s->ir, OP_FOR, block, tree_block(s->ir, &out));
    return uop_mk(s->ir, OP_BLOCK, &loop, 1, ARG_NONE);
}
