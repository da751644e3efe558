/* epilogue_tma.c: the epilogue of a warp-specialized kernel. Results go through panels of shared memory, 64 rows of 128
 * swizzled bytes, which one thread of each warpgroup stores by TMA while the others go on. A warpgroup has as many
 * panels as fit next to the pipeline and reuses them round-robin. A residual (a buffer of the results' layout that is
 * added to them) comes through the same panels: loaded before the main loop, read, and overwritten in place. If the tile
 * has more panels than fit, those are refilled with the residual of the next ones as soon as they are stored.
 * Blocks of a cluster store a share of the columns each (cluster_splitk.c); rows that are not 16-byte aligned:
 * epilogue_unaligned.c. Tests: tests/unit/warp_specialize.c */
#include "codegen/gpu/warp_specialize.h"

/* Unaligned rows go through one buffer that all results share: then all must be unaligned, of one type and
 * width. */
static void keep_uniform(struct sched *s) {
    const struct tma_store_tile *first = s->ws.out.p;
    uint32_t boxes = 0, alike = 0, n = s->ws.out.n;
    for (uint32_t i = 0; i < n; i++)
        alike += !first[i].box.map && first[i].param->dt == first->param->dt &&
                 first[i].box.panels == first->box.panels;
    for (uint32_t i = 0; i < n && alike < n; i++)
        if (first[i].box.map) s->ws.out.p[boxes++] = first[i];
    if (alike < n) s->ws.out.n = boxes;
}

void tma_outputs(struct sched *s, const uop *tree) {
    uop_vec topo = {0};
    uop_topo(s->ir->arena, &tree, 1, &topo);
    s->ws.out.n = 0;
    for (uint32_t j = 0; j < s->ntc; j++) {
        const uop *side[2] = {NULL, NULL};
        for (uint32_t i = 0; i < topo.n; i++)
            for (int k = 0; k < 2; k++)
                if (topo.p[i]->op == OP_RANGE && topo.p[i]->arg.range.cls == s->tc[j].axis[k])
                    side[k] = topo.p[i];
        for (uint32_t i = 0; i < topo.n && side[0] && side[1]; i++) {
            struct tma_store_tile o = {.tc = j};
            if (topo.p[i]->op != OP_STORE || !tma_tile_stored(s, topo.p[i], side[0], side[1], &o.box))
                continue;
            o.param = access_buf(topo.p[i]);
            vec_push(s->ir->arena, &s->ws.out, o);
        }
    }
    keep_uniform(s);
}

/* How it is stored through shared memory, or NULL; at most one store per buffer. */
const struct tma_store_tile *epilogue_tma_of(const struct ws *ws, const uop *stmt) {
    const struct tma_store_tile *found = NULL;
    for (uint32_t i = 0; i < ws->s->ws.out.n && stmt->op == OP_STORE; i++)
        if (ws->s->ws.out.p[i].param == access_buf(stmt)) {
            if (found) return NULL;
            found = &ws->s->ws.out.p[i];
        }
    if (!found) return NULL;
    struct mma_map d = mma_map(ws->s->tc[found->tc].instr, MMA_D);
    return d.nreg == 3 && d.reg[2].dim == MMA_N && d.reg[2].stride == 8 ? found : NULL;
}

/* Register ranges that repeat the tile of a store; how often. */
int64_t epilogue_tma_repeats(struct ws *ws, const uop *store, const struct tma_store_tile *o, uop_vec *out) {
    const uop *const *reg = ws->s->tc[o->tc].reg;
    struct free_ranges fr;
    int64_t times = 1;
    free_init(&fr, ws->ir, ws->a);
    const uop_vec *f = free_of(&fr, store);
    for (uint32_t i = 0; i < f->n; i++) {
        const uop *x = f->p[i];
        bool own = x == reg[0] || x == reg[1] || x == reg[2];
        if (own || !axis_is_expanded((enum axis_kind)x->arg.range.kind)) continue;
        put(ws, out, x);
        times *= x->src[0]->hi;
    }
    return times;
}

/* The residual of a store: a load from the same index of another buffer of the same size and type. */
static const uop *find_residual(struct ws *ws, const uop *store) {
    uop_vec topo = {0};
    uop_topo(ws->a, &store->src[1], 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++) {
        const uop *n = topo.p[i], *to = store->src[0], *from = n->op == OP_LOAD ? n->src[0] : NULL;
        if (from && index_buf(from)->op == OP_PARAM && index_offset(from) == index_offset(to) &&
            n->dt == stored_value(store)->dt && buf_size(index_buf(from)) == buf_size(index_buf(to)))
            return n;
    }
    return NULL;
}

/* Panels per warpgroup of a tile's only store; 0: several stores, or none. */
static int64_t count_panels(struct ws *ws) {
    int64_t n = 0;
    for (uint32_t i = 0; i < ws->epilogue.n && ws->s->ws.out.n == 1; i++) {
        const struct tma_store_tile *o = epilogue_tma_of(ws, ws->epilogue.p[i]);
        uop_vec unused = {0};
        if (!o) continue;
        n = epilogue_tma_repeats(ws, ws->epilogue.p[i], o, &unused) * o->box.panels;
        if (o->box.map) ws->residual = find_residual(ws, ws->epilogue.p[i]);
    }
    return n;
}

/* TMA descriptors of the tiles, without duplicates. */
static uint32_t count_tile_maps(const struct ws *ws) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < ws->tile.n; i++) {
        uint32_t k = 0;
        while (ws->tile.p[k].box.map != ws->tile.p[i].box.map) k++;
        n += k == i && ws->tile.p[i].box.map;
    }
    return n;
}

/* The descriptors left over go to the first stores; threads store the others. */
static void limit_maps(struct ws *ws) {
    uint32_t tiles = count_tile_maps(ws);
    if (tiles > MAPS_MOST)
        opt_fail(ws->s, ws->opt, "its tiles need %u TMA descriptors; a kernel has %d at most", tiles,
                 MAPS_MOST);
    if (ws->s->ws.out.n && ws->s->ws.out.p[0].box.map)
        ws->s->ws.out.n = RG_MIN(ws->s->ws.out.n, MAPS_MOST - tiles);
}

/* As many panels as fit next to the pipeline, used equally often; with several stores, or other blocks on
 * the SM, two at most. */
void epilogue_tma_plan(struct ws *ws) {
    int64_t room = ws->s->gpu->smem_block - SMEM_MBARS, groups = ws->threads * ws->consumers / WARPGROUP,
            types = 0;
    uint8_t seen[DT_COUNT] = {0};
    limit_maps(ws);
    for (uint32_t i = 0; i < ws->s->ws.out.n; i++) types += !seen[ws->s->ws.out.p[i].param->dt]++;
    for (uint32_t i = 0; i < ws->tile.n; i++)
        room -= ws->tile.p[i].wide->src[0]->hi * dtype_info[ws->tile.p[i].wide->dt].bytes;
    if (ws->s->ws.out.n && !ws->s->ws.out.p[0].box.map) {
        ws->store_panels = unaligned_panels(ws, &ws->s->ws.out.p[0], room / groups);
        return;
    }
    room -= cluster_bytes(ws);
    int64_t most = types && room > 0 ? room / (types * groups * STORE_ROWS * STORE_BYTES) : 0,
            panels = count_panels(ws);
    if (ws->ranks > 1) ws->residual = NULL, panels /= ws->ranks;
    bool alone = panels && (ws->s->ws.blocks || ws->residual); /* else leave room for other blocks */
    ws->store_panels = RG_MIN(most, alone ? panels : 2);
    while (ws->store_panels && panels && panels % ws->store_panels) ws->store_panels--;
    if (!ws->store_panels || ws->s->ws.out.n + count_tile_maps(ws) >= MAPS_MOST) ws->residual = NULL;
    ws->panel_fills = ws->residual ? panels / ws->store_panels : 1;
}

static const uop *smem_of(struct ws *ws, enum dtype dt) {
    for (uint32_t i = 0; i < ws->smem.n; i++)
        if (ws->smem.p[i]->dt == dt) return ws->smem.p[i];
    int64_t width = STORE_BYTES / dtype_info[dt].bytes, groups = ws->threads * ws->consumers / WARPGROUP;
    const uop *size = num(ws, groups * ws->store_panels * STORE_ROWS * width);
    union arg arg = {.mem = {ir_sym(ws->ir, "results", 7), SPACE_SHARED, 1, (uint16_t)width}};
    const uop *l = uop_new(ws->ir, OP_LOCAL, dt, 1, &size, 1, arg);
    put(ws, &ws->smem, l);
    return l;
}

static const uop *panel_number(struct ws *ws, int64_t buffer) {
    return add(ws, mul(ws, ws_warpgroup(ws), ws->store_panels), num(ws, buffer));
}

/* TMA load of a panel's residual. */
static void load_residual(struct ws *ws, const struct tma_tile *b, int64_t panel, int64_t buffer,
                          uop_vec *out) {
    const uop *smem = smem_of(ws, (enum dtype)ws->residual->dt), *map[8];
    for (uint32_t i = 0; i < b->map->nsrc; i++) map[i] = i ? b->map->src[i] : access_buf(ws->residual);
    const uop *bar = ws_mbar(ws, ws->residual_bar, panel_number(ws, buffer));
    const uop *src[] = {
        mk_index(ws->ir, smem, mul(ws, panel_number(ws, buffer), STORE_ROWS * b->width), 1),
        uop_new(ws->ir, OP_TENSOR_MAP, (enum dtype)b->map->dt, 1, map, b->map->nsrc, b->map->arg), bar,
        add(ws, b->at[0], num(ws, panel * b->width)), b->at[1]};
    put(ws, out, ws_arrive(ws, bar, STORE_ROWS * STORE_BYTES));
    put(ws, out, uop_mk(ws->ir, OP_TMA_LOAD, src, RG_COUNT(src), ARG_NONE));
}

/* Waits until a panel is free: its residual has landed, or its last TMA store has been read. fill: how often it was filled
 * for this tile before. */
static void wait_panel(struct ws *ws, int64_t buffer, int64_t fill, uop_vec *out) {
    if (ws->residual) {
        const uop *bar = ws_mbar(ws, ws->residual_bar, panel_number(ws, buffer));
        const uop *phase = add(ws, mul(ws, ws->own_tile, ws->panel_fills), num(ws, fill));
        put(ws, out, uop2(ws->ir, OP_MBAR_WAIT, bar, mod(ws, phase, 2)));
    } else {
        ws_elect_one(ws, uop_mk(ws->ir, OP_TMA_STORE_WAIT, NULL, 0, ARG_INT(ws->store_panels - 1)), out);
        ws_warpgroup_sync(ws, out);
    }
}

const uop *ws_store_to_smem(struct ws *ws, const uop *store, uint32_t product, const struct smem_part *p) {
    const struct mma_axes *tc = &ws->s->tc[product];
    const uop *const *reg = tc->reg, *at[2] = {num(ws, 0), num(ws, 0)}, *left = tc->lane;
    struct mma_map d = mma_map(tc->instr, MMA_D);
    const uop *step = ws_range(ws, "column", AX_REG, reg[2]->arg.range.pos, p->columns / 8, 0);
    for (unsigned i = 0; i < d.nlane; i++) {
        int side = d.lane[i].dim == MMA_N;
        at[side] = add(ws, at[side], mul(ws, mod(ws, left, d.lane[i].extent), d.lane[i].stride));
        left = quo(ws, left, d.lane[i].extent);
    }
    at[0] = add(ws, at[0], mul(ws, reg[1], d.reg[1].stride));
    at[1] = add(ws, add(ws, at[1], reg[0]), mul(ws, step, 8));
    const uop *to =
        mk_index(ws->ir, p->local, add(ws, add(ws, p->offset, mul(ws, at[0], p->pitch)), at[1]), 1);
    const uop *which = add(ws, step, num(ws, p->first / 8));
    const uop *value = store->src[1], *here = uop1(ws->ir, OP_LOAD, to);
    if (ws->residual) value = rw_subst(ws->rw, value, &ws->residual, &here, 1);
    return uop2(ws->ir, OP_STORE, to, rw_subst(ws->rw, value, &reg[2], &which, 1));
}

/* One panel: written by its warpgroup, then stored by TMA. */
static void put_panel(struct ws *ws, const uop *store, const struct tma_store_tile *o, int64_t panel,
                      int64_t number, uop_vec *out) {
    int64_t buffer = number % ws->store_panels;
    const struct tma_tile *b = &o->box;
    struct smem_part p = {.local = smem_of(ws, (enum dtype)store->src[1]->dt),
                          .offset = mul(ws, panel_number(ws, buffer), STORE_ROWS * b->width),
                          .first = panel * b->width,
                          .columns = b->width,
                          .pitch = b->width};
    const uop *corner[] = {mk_index(ws->ir, p.local, p.offset, 1), b->map,
                           add(ws, b->at[0], num(ws, p.first)), b->at[1]};
    uop_vec part = {0};
    wait_panel(ws, buffer, number / ws->store_panels, out);
    put(ws, &part, ws_store_to_smem(ws, store, o->tc, &p));
    put_part(ws, &part, out);
    put_op(ws, out, OP_FENCE_ASYNC, 0);
    ws_warpgroup_sync(ws, out);
    ws_elect_one(ws, uop_mk(ws->ir, OP_TMA_STORE, corner, RG_COUNT(corner), ARG_NONE), out);
    ws->stores_tma = true;
}

/* The statements of repetition `number` of the tile, whose register ranges are `from`. */
static void put_repeat(struct ws *ws, const uop_vec *from, int64_t number, const uop_vec *all, uop_vec *out) {
    uop_vec to = {0};
    for (uint32_t i = 0; i < from->n; i++)
        put(ws, &to, num(ws, number % from->p[i]->src[0]->hi)), number /= from->p[i]->src[0]->hi;
    for (uint32_t i = 0; i < all->n; i++)
        put(ws, out, from->n ? rw_subst(ws->rw, all->p[i], from->p, to.p, from->n) : all->p[i]);
}

/* TMA load of the residual of a panel, numbered through all repetitions of the tile. */
static void fill_panel(struct ws *ws, const uop *store, const struct tma_store_tile *o, int64_t number,
                       uop_vec *out) {
    uop_vec from = {0}, all = {0};
    epilogue_tma_repeats(ws, store, o, &from);
    load_residual(ws, &o->box, number % o->box.panels, number % ws->store_panels, &all);
    put_repeat(ws, &from, number / o->box.panels, &all, out);
}

/* After panel `number` is stored: its buffer, or, where there are more than two, the one before, which has had time to be
 * read, gets the residual of the panel that comes to it next. */
static void refill_panel(struct ws *ws, const uop *store, const struct tma_store_tile *o, int64_t number,
                         uop_vec *out) {
    int64_t late = ws->store_panels > 2, next = number - late + ws->store_panels;
    uop_vec one = {0};
    if (!ws->residual || number < late || next >= ws->store_panels * ws->panel_fills) return;
    put(ws, &one, uop_mk(ws->ir, OP_TMA_STORE_WAIT, NULL, 0, ARG_INT(late)));
    fill_panel(ws, store, o, next, &one);
    put(ws, out, when(ws, ws_is_elected(ws), &one, NULL));
}

/* The panels of one repetition of the tile, or the share of a block of a cluster. */
void epilogue_tma_store_tile(struct ws *ws, const uop *store, const struct tma_store_tile *o, int64_t number,
                             int64_t part, uop_vec *out) {
    uop_vec from = {0};
    int64_t panels = o->box.panels / ws->ranks, times = epilogue_tma_repeats(ws, store, o, &from);
    if (o->box.map && times * panels % ws->store_panels) ws->store_panels = 1;
    if (!o->box.map) {
        uop_vec all = {0};
        unaligned_store(ws, store, o, &all);
        put_repeat(ws, &from, number, &all, out);
    }
    for (int64_t p = 0; p < panels && o->box.map; p++) {
        uop_vec all = {0};
        put_panel(ws, store, o, part * panels + p, number * panels + p, &all);
        put_repeat(ws, &from, number, &all, out);
        refill_panel(ws, store, o, number * panels + p, out);
    }
}

static void put_panels(struct ws *ws, const uop *store, const struct tma_store_tile *o, int64_t part,
                       uop_vec *out) {
    uop_vec unused = {0};
    int64_t times = epilogue_tma_repeats(ws, store, o, &unused);
    for (int64_t t = 0; t < times; t++) epilogue_tma_store_tile(ws, store, o, t, part, out);
}

/* By one thread per warpgroup, before the main loop; the stores of the tile before have completed. */
void epilogue_tma_load_residual(struct ws *ws, uop_vec *out) {
    uop_vec one = {0};
    put(ws, &one, uop_mk(ws->ir, OP_TMA_STORE_WAIT, NULL, 0, ARG_INT(0)));
    for (uint32_t i = 0; i < ws->epilogue.n; i++) {
        const struct tma_store_tile *o = epilogue_tma_of(ws, ws->epilogue.p[i]);
        for (int64_t p = 0; o && p < ws->store_panels; p++) fill_panel(ws, ws->epilogue.p[i], o, p, &one);
    }
    put(ws, out, when(ws, ws_is_elected(ws), &one, NULL));
}

/* Prefetches what all rows share (a bias), once per panel. */
void epilogue_tma_prefetch(struct ws *ws, const uop *store, const struct tma_store_tile *o, uop_vec *out) {
    const uop *const *reg = ws->s->tc[o->tc].reg;
    struct free_ranges fr;
    uop_vec topo = {0}, from = {0}, to = {0};
    free_init(&fr, ws->ir, ws->a);
    epilogue_tma_repeats(ws, store, o, &from);
    for (int k = 0; k < 3; k++) put(ws, &from, reg[k]);
    uop_topo(ws->a, &store->src[1], 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++) {
        const uop *n = topo.p[i], *at = n->op == OP_LOAD ? n->src[0] : NULL;
        if (!at || at->src[0]->op != OP_PARAM || !free_has(&fr, at, reg[2]) || free_has(&fr, at, reg[1]))
            continue;
        for (int64_t p = 0; p < o->box.panels; p++) {
            to.n = 0;
            for (uint32_t k = 0; k < from.n; k++)
                put(ws, &to, num(ws, from.p[k] == reg[2] ? p * o->box.width / 8 : 0));
            const uop *first = rw_subst(ws->rw, at, from.p, to.p, from.n);
            put(ws, out, uop_mk(ws->ir, OP_PREFETCH, &first, 1, ARG_INT(1)));
        }
    }
}

void epilogue_tma_store(struct ws *ws, uop_vec *out) {
    uop_vec part = {0};
    for (uint32_t i = 0; i < ws->epilogue.n; i++) {
        const struct tma_store_tile *o = ws->store_panels ? epilogue_tma_of(ws, ws->epilogue.p[i]) : NULL;
        if (o)
            put_part(ws, &part, out), put_panels(ws, ws->epilogue.p[i], o, 0, out);
        else
            put(ws, &part, ws->epilogue.p[i]);
    }
    put_part(ws, &part, out);
}

/* Each block of a cluster stores its share of the columns. */
void epilogue_tma_store_shares(struct ws *ws, uop_vec *out) {
    cluster_scatter(ws, out);
    for (int64_t q = 0; q < ws->ranks; q++) {
        uop_vec one = {0};
        cluster_reduce(ws, q, &one);
        for (uint32_t i = 0; i < ws->epilogue.n; i++) {
            const struct tma_store_tile *o = ws->store_panels ? epilogue_tma_of(ws, ws->epilogue.p[i]) : NULL;
            if (!o || o->box.panels % ws->ranks)
                opt_fail(ws->s, "CLUSTER",
                         "results must be stored by TMA, in panels that %lld blocks can share equally",
                         (long long)ws->ranks);
            put_panels(ws, ws->epilogue.p[i], o, q, &one);
        }
        put(ws, out, when(ws, rw2(ws->rw, OP_EQ, ws->rank, num(ws, q)), &one, NULL));
    }
}
