/* epilogue_tma.c: how the results of a block with roles (warp_specialize.c) leave: through panels of shared memory, 64 rows of 128 bytes in the
 * layout that the tensor memory engine takes, which one thread of each warpgroup stores as boxes while the others go on. A
 * group has as many panels as there is room for beside the ring, and fills them in turns. What is added to the results from a
 * buffer that lies as theirs (a residual) comes through the same panels: asked for before the tile is multiplied, read and
 * overwritten where it stands. Blocks of a cluster store a share of the columns each (cluster_splitk.c); rows that begin anywhere leave as
 * epilogue_unaligned.c says. Tests: tests/unit/warp_specialize.c */
#include "codegen/gpu/warp_specialize.h"

/* Rows that begin anywhere leave through memory that all results share: they must all be such, and alike. */
static void keep_alike(struct sched *s) {
    const struct tma_store_tile *first = s->roles.out.p;
    uint32_t boxes = 0, alike = 0, n = s->roles.out.n;
    for (uint32_t i = 0; i < n; i++)
        alike += !first[i].box.map && first[i].param->dt == first->param->dt &&
                 first[i].box.panels == first->box.panels;
    for (uint32_t i = 0; i < n && alike < n; i++)
        if (first[i].box.map) s->roles.out.p[boxes++] = first[i];
    if (alike < n) s->roles.out.n = boxes;
}

void tma_outputs(struct sched *s, const uop *tree) {
    uop_vec topo = {0};
    uop_topo(s->ir->arena, &tree, 1, &topo);
    s->roles.out.n = 0;
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
            vec_push(s->ir->arena, &s->roles.out, o);
        }
    }
    keep_alike(s);
}

/* How it is stored through shared memory, or NULL; once for each buffer. */
const struct tma_store_tile *panels_box(const struct roles *r, const uop *stmt) {
    const struct tma_store_tile *found = NULL;
    for (uint32_t i = 0; i < r->s->roles.out.n && stmt->op == OP_STORE; i++)
        if (r->s->roles.out.p[i].param == access_buf(stmt)) {
            if (found) return NULL;
            found = &r->s->roles.out.p[i];
        }
    if (!found) return NULL;
    struct mma_map d = mma_map(r->s->tc[found->tc].instr, MMA_D);
    return d.nreg == 3 && d.reg[2].dim == MMA_N && d.reg[2].stride == 8 ? found : NULL;
}

/* Registers that hold several tiles of a store; how many tiles. */
int64_t panels_repeats(struct roles *r, const uop *store, const struct tma_store_tile *o, uop_vec *out) {
    const uop *const *reg = r->s->tc[o->tc].reg;
    struct free_ranges fr;
    int64_t times = 1;
    free_init(&fr, r->ir, r->a);
    const uop_vec *f = free_of(&fr, store);
    for (uint32_t i = 0; i < f->n; i++) {
        const uop *x = f->p[i];
        bool own = x == reg[0] || x == reg[1] || x == reg[2];
        if (own || !axis_is_expanded((enum axis_kind)x->arg.range.kind)) continue;
        put(r, out, x);
        times *= x->src[0]->hi;
    }
    return times;
}

/* In the value of a store: a load from where the store goes, of another buffer of the same size and type. */
static const uop *find_added(struct roles *r, const uop *store) {
    uop_vec topo = {0};
    uop_topo(r->a, &store->src[1], 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++) {
        const uop *n = topo.p[i], *to = store->src[0], *from = n->op == OP_LOAD ? n->src[0] : NULL;
        if (from && index_buf(from)->op == OP_PARAM && index_offset(from) == index_offset(to) &&
            n->dt == stored_value(store)->dt && buf_size(index_buf(from)) == buf_size(index_buf(to)))
            return n;
    }
    return NULL;
}

/* Panels of the only store that a tile has, for each group; 0: there are several, or none. */
static int64_t panels_of(struct roles *r) {
    int64_t n = 0;
    for (uint32_t i = 0; i < r->after.n && r->s->roles.out.n == 1; i++) {
        const struct tma_store_tile *o = panels_box(r, r->after.p[i]);
        uop_vec unused = {0};
        if (!o) continue;
        n = panels_repeats(r, r->after.p[i], o, &unused) * o->box.panels;
        if (o->box.map) r->added = find_added(r, r->after.p[i]);
    }
    return n;
}

/* Tensor maps of the tiles; two tiles may share one. */
static uint32_t tile_maps(const struct roles *r) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->tile.n; i++) {
        uint32_t k = 0;
        while (r->tile.p[k].box.map != r->tile.p[i].box.map) k++;
        n += k == i && r->tile.p[i].box.map;
    }
    return n;
}

/* What maps the tiles leave go to the first stores; threads store the others. */
static void keep_mapped(struct roles *r) {
    uint32_t tiles = tile_maps(r);
    if (tiles > MAPS_MOST)
        opt_fail(r->s, r->opt, "its tiles need %u tensor maps; a kernel has %d at most", tiles, MAPS_MOST);
    if (r->s->roles.out.n && r->s->roles.out.p[0].box.map)
        r->s->roles.out.n = RG_MIN(r->s->roles.out.n, MAPS_MOST - tiles);
}

/* As many panels as there is room for beside the ring, each as often as the others; with several stores, or other blocks on the
 * SM, two at most. Where something is added there must be one for each of the tile's. */
void panels_find(struct roles *r) {
    int64_t room = SHARED_MOST - SHARED_BARS, groups = r->lanes * r->teams / WARPGROUP, types = 0;
    uint8_t seen[DT_COUNT] = {0};
    keep_mapped(r);
    for (uint32_t i = 0; i < r->s->roles.out.n; i++) types += !seen[r->s->roles.out.p[i].param->dt]++;
    for (uint32_t i = 0; i < r->tile.n; i++)
        room -= r->tile.p[i].wide->src[0]->hi * dtype_info[r->tile.p[i].wide->dt].bytes;
    if (r->s->roles.out.n && !r->s->roles.out.p[0].box.map) {
        r->buffers = roles_rows_room(r, &r->s->roles.out.p[0], room / groups);
        return;
    }
    room -= cluster_bytes(r);
    int64_t most = types && room > 0 ? room / (types * groups * STORE_ROWS * STORE_BYTES) : 0,
            panels = panels_of(r);
    if (r->parts > 1) r->added = NULL, panels /= r->parts;
    bool alone = panels && (r->s->roles.blocks || r->added); /* else others may want the room */
    r->buffers = RG_MIN(most, alone ? panels : 2);
    while (r->buffers && panels && panels % r->buffers) r->buffers--;
    if (r->buffers != panels || r->s->roles.out.n + tile_maps(r) >= MAPS_MOST) r->added = NULL;
}

static const uop *stage_of(struct roles *r, enum dtype dt) {
    for (uint32_t i = 0; i < r->stage.n; i++)
        if (r->stage.p[i]->dt == dt) return r->stage.p[i];
    int64_t width = STORE_BYTES / dtype_info[dt].bytes, groups = r->lanes * r->teams / WARPGROUP;
    const uop *size = num(r, groups * r->buffers * STORE_ROWS * width);
    union arg arg = {.mem = {ir_sym(r->ir, "results", 7), SPACE_SHARED, 1, (uint16_t)width}};
    const uop *l = uop_new(r->ir, OP_LOCAL, dt, 1, &size, 1, arg);
    put(r, &r->stage, l);
    return l;
}

static const uop *panel_number(struct roles *r, int64_t buffer) {
    return add(r, mul(r, roles_group(r), r->buffers), num(r, buffer));
}

/* What is added to a panel comes to where its results will stand. */
static void put_added(struct roles *r, const struct box *b, int64_t panel, int64_t buffer, uop_vec *out) {
    const uop *stage = stage_of(r, (enum dtype)r->added->dt), *map[8];
    for (uint32_t i = 0; i < b->map->nsrc; i++) map[i] = i ? b->map->src[i] : access_buf(r->added);
    const uop *bar = roles_mbar(r, r->added_bar, panel_number(r, buffer));
    const uop *src[] = {
        mk_index(r->ir, stage, mul(r, panel_number(r, buffer), STORE_ROWS * b->width), 1),
        uop_new(r->ir, OP_TENSOR_MAP, (enum dtype)b->map->dt, 1, map, b->map->nsrc, b->map->arg), bar,
        add(r, b->at[0], num(r, panel * b->width)), b->at[1]};
    put(r, out, roles_arrive(r, bar, STORE_ROWS * STORE_BYTES));
    put(r, out, uop_mk(r->ir, OP_TMA_LOAD, src, RG_COUNT(src), ARG_NONE));
}

/* The threads of the group wait until a panel is theirs: what is added has come, or the results before have left. */
static void wait_panel(struct roles *r, int64_t buffer, uop_vec *out) {
    if (r->added) {
        const uop *bar = roles_mbar(r, r->added_bar, panel_number(r, buffer));
        put(r, out, uop2(r->ir, OP_MBAR_WAIT, bar, mod(r, r->own, 2)));
    } else {
        roles_by_first(r, uop_mk(r->ir, OP_TMA_STORE_WAIT, NULL, 0, ARG_INT(r->buffers - 1)), out);
        roles_meet(r, out);
    }
}

const uop *roles_to_stage(struct roles *r, const uop *store, uint32_t product, const struct stage_part *p) {
    const struct product *tc = &r->s->tc[product];
    const uop *const *reg = tc->reg, *at[2] = {num(r, 0), num(r, 0)}, *left = tc->lane;
    struct mma_map d = mma_map(tc->instr, MMA_D);
    const uop *step = roles_range(r, "column", AX_REG, reg[2]->arg.range.pos, p->columns / 8, 0);
    for (unsigned i = 0; i < d.nlane; i++) {
        int side = d.lane[i].dim == MMA_N;
        at[side] = add(r, at[side], mul(r, mod(r, left, d.lane[i].extent), d.lane[i].stride));
        left = quo(r, left, d.lane[i].extent);
    }
    at[0] = add(r, at[0], mul(r, reg[1], d.reg[1].stride));
    at[1] = add(r, add(r, at[1], reg[0]), mul(r, step, 8));
    const uop *to = mk_index(r->ir, p->local, add(r, add(r, p->place, mul(r, at[0], p->pitch)), at[1]), 1);
    const uop *which = add(r, step, num(r, p->first / 8));
    const uop *value = store->src[1], *here = uop1(r->ir, OP_LOAD, to);
    if (r->added) value = rw_subst(r->rw, value, &r->added, &here, 1);
    return uop2(r->ir, OP_STORE, to, rw_subst(r->rw, value, &reg[2], &which, 1));
}

/* One panel: written by its warpgroup, then copied out while they go on. */
static void put_panel(struct roles *r, const uop *store, const struct tma_store_tile *o, int64_t panel,
                      int64_t buffer, uop_vec *out) {
    const struct box *b = &o->box;
    struct stage_part p = {.local = stage_of(r, (enum dtype)store->src[1]->dt),
                           .place = mul(r, panel_number(r, buffer), STORE_ROWS * b->width),
                           .first = panel * b->width,
                           .columns = b->width,
                           .pitch = b->width};
    const uop *corner[] = {mk_index(r->ir, p.local, p.place, 1), b->map, add(r, b->at[0], num(r, p.first)),
                           b->at[1]};
    uop_vec part = {0};
    wait_panel(r, buffer, out);
    put(r, &part, roles_to_stage(r, store, o->tc, &p));
    put_part(r, &part, out);
    put_op(r, out, OP_FENCE_ASYNC, 0);
    roles_meet(r, out);
    roles_by_first(r, uop_mk(r->ir, OP_TMA_STORE, corner, RG_COUNT(corner), ARG_NONE), out);
    r->any_out = true;
}

/* The panels of one of the tiles that registers hold, or the share of them that a block of a cluster stores; ahead: what is
 * added to them. */
void panels_put_tile(struct roles *r, const uop *store, const struct tma_store_tile *o, int64_t number,
                     int64_t part, bool ahead, uop_vec *out) {
    uop_vec from = {0}, to = {0}, all = {0};
    int64_t panels = o->box.panels / r->parts, times = panels_repeats(r, store, o, &from),
            buffer = number * panels;
    if (o->box.map && times * panels % r->buffers) r->buffers = 1; /* each panel has its own */
    for (uint32_t i = 0; i < from.n; i++)
        put(r, &to, num(r, number % from.p[i]->src[0]->hi)), number /= from.p[i]->src[0]->hi;
    if (!o->box.map) roles_rows(r, store, o, &all);
    for (int64_t p = part * panels; p < (part + 1) * panels && o->box.map; p++, buffer++)
        if (ahead)
            put_added(r, &o->box, p, buffer, &all);
        else
            put_panel(r, store, o, p, buffer % r->buffers, &all);
    for (uint32_t i = 0; i < all.n; i++)
        put(r, out, from.n ? rw_subst(r->rw, all.p[i], from.p, to.p, from.n) : all.p[i]);
}

static void put_panels(struct roles *r, const uop *store, const struct tma_store_tile *o, bool ahead,
                       int64_t part, uop_vec *out) {
    uop_vec unused = {0};
    int64_t times = panels_repeats(r, store, o, &unused);
    for (int64_t t = 0; t < times; t++) panels_put_tile(r, store, o, t, part, ahead, out);
}

/* By one thread of each group, before it multiplies; the results of the tile before have left by then. */
void panels_put_ahead(struct roles *r, uop_vec *out) {
    uop_vec one = {0};
    put(r, &one, uop_mk(r->ir, OP_TMA_STORE_WAIT, NULL, 0, ARG_INT(0)));
    for (uint32_t i = 0; i < r->after.n; i++) {
        const struct tma_store_tile *o = panels_box(r, r->after.p[i]);
        if (o) put_panels(r, r->after.p[i], o, true, 0, &one);
    }
    put(r, out, when(r, roles_is_first(r), &one, NULL));
}

/* What the results of a column share (a bias) is asked for before the tile is multiplied: once for each panel. */
void panels_ask(struct roles *r, const uop *store, const struct tma_store_tile *o, uop_vec *out) {
    const uop *const *reg = r->s->tc[o->tc].reg;
    struct free_ranges fr;
    uop_vec topo = {0}, from = {0}, to = {0};
    free_init(&fr, r->ir, r->a);
    panels_repeats(r, store, o, &from);
    for (int k = 0; k < 3; k++) put(r, &from, reg[k]);
    uop_topo(r->a, &store->src[1], 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++) {
        const uop *n = topo.p[i], *at = n->op == OP_LOAD ? n->src[0] : NULL;
        if (!at || at->src[0]->op != OP_PARAM || !free_has(&fr, at, reg[2]) || free_has(&fr, at, reg[1]))
            continue;
        for (int64_t p = 0; p < o->box.panels; p++) {
            to.n = 0;
            for (uint32_t k = 0; k < from.n; k++)
                put(r, &to, num(r, from.p[k] == reg[2] ? p * o->box.width / 8 : 0));
            const uop *first = rw_subst(r->rw, at, from.p, to.p, from.n);
            put(r, out, uop_mk(r->ir, OP_PREFETCH, &first, 1, ARG_INT(1)));
        }
    }
}

void panels_put(struct roles *r, uop_vec *out) {
    uop_vec part = {0};
    for (uint32_t i = 0; i < r->after.n; i++) {
        const struct tma_store_tile *o = r->buffers ? panels_box(r, r->after.p[i]) : NULL;
        if (o)
            put_part(r, &part, out), put_panels(r, r->after.p[i], o, false, 0, out);
        else
            put(r, &part, r->after.p[i]);
    }
    put_part(r, &part, out);
}

/* Each block of a cluster has a share of the columns. */
void panels_put_shares(struct roles *r, uop_vec *out) {
    cluster_send(r, out);
    for (int64_t q = 0; q < r->parts; q++) {
        uop_vec one = {0};
        cluster_add(r, q, &one);
        for (uint32_t i = 0; i < r->after.n; i++) {
            const struct tma_store_tile *o = r->buffers ? panels_box(r, r->after.p[i]) : NULL;
            if (!o || o->box.panels % r->parts)
                opt_fail(r->s, "CLUSTER", "results must leave as boxes, as many for each of %lld blocks",
                         (long long)r->parts);
            put_panels(r, r->after.p[i], o, false, q, &one);
        }
        put(r, out, when(r, rw2(r->rw, OP_EQ, r->part, num(r, q)), &one, NULL));
    }
}
