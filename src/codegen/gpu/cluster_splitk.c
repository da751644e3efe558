/* cluster_splitk.c: blocks that have parts of one sum. CLUSTER makes a summed axis one of the grid, the innermost, whose values are blocks
 * that run at once and may write to each other's shared memory. Each multiplies its part as warp_specialize.c says. Then the columns of
 * the tile are dealt out: for each share of them but its own a block sends its sums to the block whose share it is; they
 * meet; each adds the parts, always in the order of the blocks, and stores its share.
 *
 *     (CLUSTER_SYNC)
 *     FOR q != part:  DSMEM_STORE sums of share q to block q
 *     CLUSTER_SYNC
 *     share `part` of the sums = part 0 + part 1 + ..   (its own from registers)
 *     store share `part`
 *
 * What is sent is a register of a thread, and the same thread of the other block reads it: [part][register][thread], so that 32
 * threads write 256 bytes next to each other. Where there is no room beside the ring what is sent stands in its place; then
 * they meet before too, when all have multiplied. Nothing is sent before all blocks have begun (the first CLUSTER_SYNC), and nobody
 * ends before what it sent was met for. Requires: blocks that do not walk over tiles. Tests: tests/unit/warp_specialize.c */
#include "codegen/gpu/warp_specialize.h"

void cluster_look(struct roles *r) {
    const uop *last = r->grid.n ? r->grid.p[r->grid.n - 1] : NULL;
    const char *opt = "CLUSTER";
    if (!last || last->arg.range.cls != r->s->roles.cluster)
        opt_fail(r->s, opt, "axis %s must be the innermost of the grid", ir_name(r->ir, r->s->roles.cluster));
    if (r->chain || partial_accumulate(r->s->tc[0].instr))
        opt_fail(r->s, opt, "only sums of one plain product are exchanged");
    r->part = last, r->parts = last->src[0]->hi;
    int n = mma_info[r->s->tc[0].instr].size[MMA_N];
    if (n % (8 * r->parts))
        opt_fail(r->s, opt, "%d columns are not shared by %lld blocks", n, (long long)r->parts);
}

/* The sums that the results of a tile are made of: one accumulator, with a range for each of its registers. */
static const uop *sums_of(struct roles *r) {
    const uop *found = NULL, *column = r->s->tc[0].reg[2];
    struct free_ranges fr;
    uop_vec topo = {0};
    free_init(&fr, r->ir, r->a);
    uop_topo(r->a, r->after.p, r->after.n, &topo);
    for (uint32_t i = 0; i < topo.n; i++) {
        const uop *n = topo.p[i];
        if (n->op != OP_ACC || !column || !free_has(&fr, n, column)) continue;
        if (found) opt_fail(r->s, "CLUSTER", "results are made of more than one sum");
        found = n;
    }
    if (!found) opt_fail(r->s, "CLUSTER", "no sum of a MMA instruction is stored");
    return found;
}

/* Registers that a thread keeps of the tile for its block's share. */
static int64_t share_of(const struct roles *r) {
    int64_t n = 1;
    for (uint32_t i = 0; i < r->s->axis.n; i++)
        if (r->s->axis.p[i].kind == AX_REG && r->s->axis.p[i].grid) n *= r->s->axis.p[i].size;
    return n * mma_info[r->s->tc[0].instr].size[MMA_N] * 64 / WARPGROUP / r->parts;
}

static int64_t bytes_sent(const struct roles *r) {
    return (r->parts - 1) * share_of(r) * r->lanes * (int64_t)sizeof(float);
}

static int64_t tile_bytes(const struct tile *t) {
    return t->wide->src[0]->hi * dtype_info[t->wide->dt].bytes;
}

/* Tiles in whose place it stands, once all blocks have multiplied; NULL: there is room beside them. */
static const uop *place_of(const struct roles *r) {
    int64_t panels = r->lanes / WARPGROUP * STORE_ROWS * STORE_BYTES; /* each group stores through one */
    int64_t room = SHARED_MOST - SHARED_BARS - panels;
    const struct tile *most = &r->tile.p[0];
    for (uint32_t i = 0; i < r->tile.n; i++) {
        room -= tile_bytes(&r->tile.p[i]);
        if (tile_bytes(&r->tile.p[i]) > tile_bytes(most)) most = &r->tile.p[i];
    }
    return room < bytes_sent(r) && tile_bytes(most) >= bytes_sent(r) ? most->wide : NULL;
}

int64_t cluster_bytes(const struct roles *r) { return r->parts > 1 && !place_of(r) ? bytes_sent(r) : 0; }

/* The sums at share q, and where the part of one block, as the receiver counts the others, stands. */
struct share {
    const uop *sum, *at;
};

static struct share share_at(struct roles *r, int64_t q, const uop *slot) {
    const uop *sum = sums_of(r), *const *reg = r->s->tc[0].reg, *at = slot;
    int64_t steps = reg[2]->src[0]->hi / r->parts;
    const uop *step = roles_range(r, "share", AX_REG, reg[2]->arg.range.pos, steps, 0);
    const uop *column = add(r, step, num(r, q * steps));
    struct free_ranges fr;
    free_init(&fr, r->ir, r->a);
    const uop_vec *free = free_of(&fr, sum);
    for (uint32_t i = 0; i < free->n; i++) {
        const uop *x = free->p[i] == reg[2] ? step : free->p[i];
        if (x != reg[0]) at = add(r, mul(r, at, x->src[0]->hi), x);
    }
    at = add(r, mul(r, at, r->lanes), r->thread);
    at = add(r, mul(r, at, reg[0]->src[0]->hi), reg[0]); /* neighbours of a row lie together */
    if (!r->sent) {
        const uop *src[] = {num(r, bytes_sent(r) / (int64_t)sizeof(float)), place_of(r)};
        union arg arg = {.mem = {ir_sym(r->ir, "sent", 4), SPACE_SHARED, 0, 0}};
        r->sent = uop_new(r->ir, OP_LOCAL, DT_F32, 1, src, src[1] ? 2 : 1, arg);
    }
    return (struct share){rw_subst(r->rw, sum, &reg[2], &column, 1), mk_index(r->ir, r->sent, at, 1)};
}

void cluster_send(struct roles *r, uop_vec *out) {
    if (place_of(r)) put_op(r, out, OP_CLUSTER_SYNC, r->parts);
    for (int64_t q = 0; q < r->parts; q++) {
        uop_vec one = {0};
        const uop *below = rw2(r->rw, OP_LT, r->part, num(r, q));
        const uop *slot = rw3(r->rw, OP_WHERE, below, r->part, rw2(r->rw, OP_SUB, r->part, num(r, 1)));
        struct share s = share_at(r, q, slot);
        put(r, &one, uop3(r->ir, OP_DSMEM_STORE, s.at, num(r, q), s.sum));
        put(r, out, when(r, rw2(r->rw, OP_NE, r->part, num(r, q)), &one, NULL));
    }
    put_op(r, out, OP_CLUSTER_SYNC, r->parts);
}

void cluster_add(struct roles *r, int64_t q, uop_vec *out) {
    uop_vec one = {0};
    const uop *all = NULL, *own = share_at(r, q, num(r, 0)).sum;
    for (int64_t p = 0; p < r->parts; p++) {
        const uop *x = p == q ? own : uop1(r->ir, OP_LOAD, share_at(r, q, num(r, p < q ? p : p - 1)).at);
        all = all ? uop2(r->ir, OP_ADD, all, x) : x;
    }
    put(r, &one, uop2(r->ir, OP_SET, own, all));
    put_part(r, &one, out);
}
