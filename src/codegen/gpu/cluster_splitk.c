/* cluster_splitk.c: split-K inside a cluster. CLUSTER makes a reduced axis the innermost of the grid; its values are
 * blocks that run together and write to each other's shared memory (DSMEM). Each block computes partial sums over
 * its slice of K as warp_specialize.c says. Then they reduce-scatter over the columns of the tile: a block sends the
 * partial sums of every other share to its owner, cluster sync, and adds what it got, in the order of ranks.
 *
 *     (CLUSTER_SYNC)
 *     FOR q != rank:  DSMEM_STORE sums of share q to block q
 *     CLUSTER_SYNC
 *     share `rank` of the sums = rank 0 + rank 1 + ..   (its own from registers)
 *     store share `rank`
 *
 * The buffer is [rank][register][thread]: thread t of a block writes what thread t of the other reads, so a warp
 * writes 256 consecutive bytes. If shared memory has no room for it next to the pipeline, it aliases a tile, and
 * another CLUSTER_SYNC comes first. No block writes before all have started (the first CLUSTER_SYNC) or exits before its
 * writes were received. Requires: no PERSISTENT. Tests: tests/unit/warp_specialize.c */
#include "codegen/gpu/warp_specialize.h"

void cluster_find(struct ws *ws) {
    const uop *last = ws->grid.n ? ws->grid.p[ws->grid.n - 1] : NULL;
    const char *opt = "CLUSTER";
    if (!last || last->arg.range.cls != ws->s->ws.cluster)
        opt_fail(ws->s, opt, "axis %s must be the innermost of the grid", ir_name(ws->ir, ws->s->ws.cluster));
    if (ws->attention || partial_accumulate(ws->s->tc[0].instr))
        opt_fail(ws->s, opt, "expected one plain GEMM with full-precision accumulators");
    ws->rank = last, ws->ranks = last->src[0]->hi;
    int n = mma_info[ws->s->tc[0].instr].size[MMA_N];
    if (n % (8 * ws->ranks))
        opt_fail(ws->s, opt, "%d columns cannot be shared by %lld blocks; expected a multiple of 8 each", n,
                 (long long)ws->ranks);
}

/* The accumulator that the results of a tile are computed from, with a range for each of its registers. */
static const uop *accumulator_of(struct ws *ws) {
    const uop *found = NULL, *column = ws->s->tc[0].reg[2];
    struct free_ranges fr;
    uop_vec topo = {0};
    free_init(&fr, ws->ir, ws->a);
    uop_topo(ws->a, ws->epilogue.p, ws->epilogue.n, &topo);
    for (uint32_t i = 0; i < topo.n; i++) {
        const uop *n = topo.p[i];
        if (n->op != OP_ACC || !column || !free_has(&fr, n, column)) continue;
        if (found) opt_fail(ws->s, "CLUSTER", "the epilogue reads more than one accumulator; expected one");
        found = n;
    }
    if (!found) opt_fail(ws->s, "CLUSTER", "no accumulator of an MMA instruction is stored");
    return found;
}

/* Registers of a thread's share. */
static int64_t share_registers(const struct ws *ws) {
    int64_t n = 1;
    for (uint32_t i = 0; i < ws->s->axis.n; i++)
        if (ws->s->axis.p[i].kind == AX_REG && ws->s->axis.p[i].grid) n *= ws->s->axis.p[i].size;
    return n * mma_info[ws->s->tc[0].instr].size[MMA_N] * 64 / WARPGROUP / ws->ranks;
}

static int64_t dsmem_bytes(const struct ws *ws) {
    return (ws->ranks - 1) * share_registers(ws) * ws->threads * (int64_t)sizeof(float);
}

static int64_t tile_bytes(const struct ws_tile *t) {
    return t->wide->src[0]->hi * dtype_info[t->wide->dt].bytes;
}

/* The tile that the buffer aliases, once all blocks have multiplied; NULL: there is room for both. */
static const uop *aliased_tile(const struct ws *ws) {
    int64_t panels = ws->threads / WARPGROUP * STORE_ROWS * STORE_BYTES; /* one panel per warpgroup */
    int64_t room = ws->s->gpu->smem_block - SMEM_MBARS - panels;
    const struct ws_tile *most = &ws->tile.p[0];
    for (uint32_t i = 0; i < ws->tile.n; i++) {
        room -= tile_bytes(&ws->tile.p[i]);
        if (tile_bytes(&ws->tile.p[i]) > tile_bytes(most)) most = &ws->tile.p[i];
    }
    return room < dsmem_bytes(ws) && tile_bytes(most) >= dsmem_bytes(ws) ? most->wide : NULL;
}

int64_t cluster_bytes(const struct ws *ws) {
    return ws->ranks > 1 && !aliased_tile(ws) ? dsmem_bytes(ws) : 0;
}

/* The accumulators of share q, and the address of one block's partial sums in the receiver's slot. */
struct share {
    const uop *sum, *at;
};

static struct share share_at(struct ws *ws, int64_t q, const uop *slot) {
    const uop *sum = accumulator_of(ws), *const *reg = ws->s->tc[0].reg, *at = slot;
    int64_t steps = reg[2]->src[0]->hi / ws->ranks;
    const uop *step = ws_range(ws, "share", AX_REG, reg[2]->arg.range.pos, steps, 0);
    const uop *column = add(ws, step, num(ws, q * steps));
    struct free_ranges fr;
    free_init(&fr, ws->ir, ws->a);
    const uop_vec *free = free_of(&fr, sum);
    for (uint32_t i = 0; i < free->n; i++) {
        const uop *x = free->p[i] == reg[2] ? step : free->p[i];
        if (x != reg[0]) at = add(ws, mul(ws, at, x->src[0]->hi), x);
    }
    at = add(ws, mul(ws, at, ws->threads), ws->thread);
    at = add(ws, mul(ws, at, reg[0]->src[0]->hi), reg[0]); /* elements of a row are contiguous */
    if (!ws->dsmem) {
        const uop *src[] = {num(ws, dsmem_bytes(ws) / (int64_t)sizeof(float)), aliased_tile(ws)};
        union arg arg = {.mem = {ir_sym(ws->ir, "sent", 4), SPACE_SHARED, 0, 0}};
        ws->dsmem = uop_new(ws->ir, OP_LOCAL, DT_F32, 1, src, src[1] ? 2 : 1, arg);
    }
    return (struct share){rw_subst(ws->rw, sum, &reg[2], &column, 1), mk_index(ws->ir, ws->dsmem, at, 1)};
}

void cluster_scatter(struct ws *ws, uop_vec *out) {
    if (aliased_tile(ws)) put_op(ws, out, OP_CLUSTER_SYNC, ws->ranks);
    for (int64_t q = 0; q < ws->ranks; q++) {
        uop_vec one = {0};
        const uop *below = rw2(ws->rw, OP_LT, ws->rank, num(ws, q));
        const uop *slot = rw3(ws->rw, OP_WHERE, below, ws->rank, rw2(ws->rw, OP_SUB, ws->rank, num(ws, 1)));
        struct share s = share_at(ws, q, slot);
        put(ws, &one, uop3(ws->ir, OP_DSMEM_STORE, s.at, num(ws, q), s.sum));
        put(ws, out, when(ws, rw2(ws->rw, OP_NE, ws->rank, num(ws, q)), &one, NULL));
    }
    put_op(ws, out, OP_CLUSTER_SYNC, ws->ranks);
}

void cluster_reduce(struct ws *ws, int64_t q, uop_vec *out) {
    uop_vec one = {0};
    const uop *all = NULL, *own = share_at(ws, q, num(ws, 0)).sum;
    for (int64_t p = 0; p < ws->ranks; p++) {
        const uop *x = p == q ? own : uop1(ws->ir, OP_LOAD, share_at(ws, q, num(ws, p < q ? p : p - 1)).at);
        all = all ? uop2(ws->ir, OP_ADD, all, x) : x;
    }
    put(ws, &one, uop2(ws->ir, OP_SET, own, all));
    put_part(ws, &one, out);
}
