/* mma_statements.c: the statements beside the MMA instructions of a kernel, in the registers of its accumulators.
 *
 * What mentions the axes of an instruction, epilogues, the rows' maxima and sums of attention, masks, becomes the same with m and n as
 * digits of the lane and of registers (mma.c). Reductions along n are combined in a lane, then over the lanes of a row; what does not
 * depend on n is stored by one lane; a predicate that holds for most tiles is tested once for a tile. Where one vector of a CPU holds
 * several rows, statements are unrolled over rows and pairs of tiles.
 * Tests: tests/unit/gpu_threads.c, tests/unit/cpu_mma.c, tests/unit/gpu_attention.c */
#include "codegen/gpu/mma.h"

/* A laid-out axis that the value of a SET has and its accumulator has not: reduced over. */
static const struct laid *reduced(struct mma_cx *t, const uop *stmt) {
    for (uint32_t i = 0; i < t->nlaid && stmt->op == OP_SET; i++)
        if (free_has(&t->fr, stmt->src[1], t->laid[i].range) &&
            !free_has(&t->fr, stmt->src[0], t->laid[i].range))
            return &t->laid[i];
    return NULL;
}

/* Each lane combines its own elements in a balanced tree; WARP_REDUCE does the rest. */
static const uop *reduce_own(struct mma_cx *t, const uop *stmt, const struct laid *l) {
    const uop *acc = stmt->src[0], *v = stmt->src[1], *x;
    struct pick p = mma_pick_all(t);
    uop_vec part = {0};
    int64_t n = 1;
    x = v->nsrc != 2 ? NULL : v->src[0] == acc ? v->src[1] : v->src[1] == acc ? v->src[0] : NULL;
    if (!x)
        opt_fail(t->s, "TC", "axis %s is reduced by an operation that does not accumulate",
                 ir_name(t->ir, l->range->arg.range.cls));
    for (unsigned i = 0; i < l->nreg; i++) n *= l->reg[i]->src[0]->hi;
    for (int64_t r = 0; r < n; r++) {
        int64_t rest = r;
        for (unsigned i = 0; i < l->nreg; i++) {
            p.reg[l - t->laid][i] = mma_idx(t, rest % l->reg[i]->src[0]->hi);
            rest /= l->reg[i]->src[0]->hi;
        }
        vec_push(t->a, &part, mma_in_registers(t, x, &p));
    }
    for (; part.n > 1; part.n = (part.n + 1) / 2)
        for (uint32_t k = 0; k < part.n / 2; k++)
            part.p[k] = rw2(t->rw, (enum op)v->op, part.p[k], part.p[k + (part.n + 1) / 2]);
    p = mma_pick_all(t);
    acc = mma_cell(t, acc, &p, 1);
    return uop2(t->ir, OP_SET, acc, rw2(t->rw, (enum op)v->op, acc, part.p[0]));
}

/* Bits of the lane index that are coordinates along l. */
static int64_t lane_bits(const struct laid *l) {
    int64_t bits = 0, weight = 1;
    for (unsigned i = 0; i < l->map->nlane; weight *= l->map->lane[i++].extent)
        if (l->map->lane[i].dim == l->side) bits |= (l->map->lane[i].extent - 1) * weight;
    return bits;
}

static void warp_reduce(struct mma_cx *t, const uop *stmt, uop_vec *out) {
    const struct laid *l = mma_laid_of(t, stmt->src[1]);
    struct pick p = mma_pick_all(t);
    if (map_get(&t->accumulated, (uint64_t)stmt->src[0]->arg.i, NULL)) return;
    if (!l)
        opt_fail(t->s, "TC", "axis %s is not the k of a contraction",
                 ir_name(t->ir, stmt->src[1]->arg.range.cls));
    vec_push(t->a, out,
             uop_mk(t->ir, OP_WARP_REDUCE,
                    (const uop *[]){mma_cell(t, stmt->src[0], &p, 1), mma_idx(t, lane_bits(l))}, 2,
                    stmt->arg));
}

/* Values that do not depend on n are stored by one of the lanes that hold them. */
static const uop *store_once(struct mma_cx *t, const uop *stmt, const uop *moved) {
    const struct laid *n = NULL;
    for (uint32_t i = 0; i < t->nlaid; i++) {
        if (t->laid[i].side != MMA_N) continue;
        if (free_has(&t->fr, stmt, t->laid[i].range)) return moved;
        n = &t->laid[i];
    }
    if (!n || !free_has(&t->fr, stmt, t->gemm[0].side[MMA_M])) return moved;
    const uop *at = mma_digits(t, n->map->lane, n->map->nlane, t->lane, MMA_N), *index = access_offset(moved);
    const uop *first = rw2(t->rw, OP_LT, at, mma_idx(t, 1));
    const uop *none = uop_new(t->ir, OP_INVALID, (enum dtype)index->dt, 1, NULL, 0, ARG_NONE);
    if (index->op == OP_WHERE && index->src[2]->op == OP_INVALID)
        first = rw2(t->rw, OP_AND, first, index->src[0]), index = index->src[1];
    index = mk_index(t->ir, access_buf(moved), uop3(t->ir, OP_WHERE, first, index, none), 1);
    return uop2(t->ir, (enum op)moved->op, index, moved->src[1]);
}

/* Is the predicate true for all elements of the tile? A warp-uniform condition; NULL: unknown. */
static const uop *all_true(struct mma_cx *t, const uop *pred) {
    if (pred->op == OP_AND) {
        const uop *a = all_true(t, pred->src[0]), *b = all_true(t, pred->src[1]);
        return a && b ? rw2(t->rw, OP_AND, a, b) : NULL;
    }
    if ((pred->op != OP_LT && pred->op != OP_LE) || pred->src[0]->dt != DT_IDX) return NULL;
    struct affine f = affine_of(t->a, uop2(t->ir, OP_SUB, pred->src[0], pred->src[1]));
    f.k -= pred->op == OP_LE;
    uint32_t keep = 0;
    for (uint32_t i = 0; i < f.n; i++) {
        const uop *r = f.t[i].atom;
        if (mma_laid_of(t, r) || (r->op == OP_RANGE && r->arg.range.kind == AX_THREAD))
            f.k += f.t[i].coef > 0 ? f.t[i].coef * (r->src[0]->hi - 1) : 0;
        else if (r->op == OP_RANGE)
            f.t[keep++] = f.t[i];
        else
            return NULL;
    }
    f.n = keep;
    return rw2(t->rw, OP_LT, rw_post(t->rw, affine_build(t->ir, &f, DT_IDX)), mma_idx(t, 0));
}

/* The predicate with constants of registers on one side and lane, loop and grid on the other, which is
 * computed once, in `before`. */
static const uop *hoist_pred(struct mma_cx *t, const uop *pred, const struct pick *p, uop_vec *before) {
    if (pred->op == OP_AND)
        return rw2(t->rw, OP_AND, hoist_pred(t, pred->src[0], p, before),
                   hoist_pred(t, pred->src[1], p, before));
    const uop *x = mma_in_registers(t, pred->src[0], p), *y = mma_in_registers(t, pred->src[1], p);
    struct affine f = affine_of(t->a, uop2(t->ir, OP_SUB, x, y)), own = {.k = f.k - (pred->op == OP_LE)};
    own.t = arena_array(t->a, struct term, f.n + 1);
    uint32_t keep = 0;
    for (uint32_t i = 0; i < f.n; i++) {
        const uop *r = f.t[i].atom;
        if (r->op == OP_RANGE && axis_is_expanded((enum axis_kind)r->arg.range.kind))
            own.t[own.n++] = f.t[i];
        else
            f.t[keep++] = (struct term){r, -f.t[i].coef};
    }
    f.n = keep, f.k = 0;
    const uop *acc = uop_new(t->ir, OP_ACC, DT_I32, 1, NULL, 0, ARG_INT(t->accs++));
    vec_push(t->a, before,
             uop2(t->ir, OP_SET, acc, uop_cast(t->ir, affine_build(t->ir, &f, DT_IDX), DT_I32)));
    return uop2(t->ir, OP_LT, uop_cast(t->ir, affine_build(t->ir, &own, DT_IDX), DT_I32), acc);
}

/* A predicate that is true in most tiles (causal mask, padding) is tested once per tile; elements are
 * tested only where it fails. */
static bool split_pred(struct mma_cx *t, const uop *stmt, uop_vec *out) {
    const uop *v = stmt->op == OP_SET ? stmt->src[1] : NULL, *all;
    struct pick p = mma_pick_all(t);
    if (!v || v->op != OP_WHERE || !uop_is_const(v->src[2]) || !(all = all_true(t, v->src[0]))) return false;
    const uop *plain = mma_in_registers(t, uop2(t->ir, OP_SET, stmt->src[0], v->src[1]), &p);
    uop_vec asked = {0};
    const uop *pred = hoist_pred(t, v->src[0], &p, &asked), *acc = plain->src[0];
    vec_push(t->a, &asked, uop2(t->ir, OP_SET, acc, uop3(t->ir, OP_WHERE, pred, acc, v->src[2])));
    vec_push(t->a, out, plain);
    if (!all->lo) vec_push(t->a, out, uop2(t->ir, OP_IF, rw1(t->rw, OP_NOT, all), tree_block(t->ir, &asked)));
    return true;
}

/* The values of a laid-out axis that the statement has in one vector, 1 if it does not depend on it. */
static int64_t unrolled_of(struct mma_cx *t, const uop *stmt, const struct laid *l) {
    return free_has(&t->fr, stmt, l->range) ? l->reg[0]->src[0]->hi : 1;
}

/* Do index expressions of the statement, but for predicates, depend on r and n only as coordinates r * size(n) + n? */
static bool continues(struct mma_cx *t, const uop *stmt, const uop *r, const uop *n) {
    uop_vec topo = {0};
    int64_t size = n->src[0]->hi;
    uop_topo(t->a, &stmt, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++)
        for (uint32_t k = 0; k < topo.p[i]->nsrc && topo.p[i]->op != OP_ACC; k++) {
            const uop *x = topo.p[i]->src[k];
            if (x->dt != DT_IDX || topo.p[i]->dt == DT_IDX || topo.p[i]->dt == DT_BOOL ||
                (!free_has(&t->fr, x, r) && !free_has(&t->fr, x, n)))
                continue;
            if (x->op == OP_WHERE && x->src[2]->op == OP_INVALID)
                x = x->src[1]; /* its predicate is looked at by itself */
            struct affine f = affine_of(t->a, x);
            if (affine_coef(&f, r) != size * affine_coef(&f, n)) return false;
            for (uint32_t j = 0; j < f.n; j++) {
                const uop *atom = f.t[j].atom;
                if (atom != r && atom != n && (free_has(&t->fr, atom, r) || free_has(&t->fr, atom, n)))
                    return false;
            }
        }
    return free_has(&t->fr, stmt, r) && free_has(&t->fr, stmt, n);
}

/* The statement for row y and two neighbouring tiles along r, from value v on: a vector along n, whose accumulators are taken out of
 * theirs. */
static const uop *across_tiles(struct mma_cx *t, const uop *stmt, const uop *r, int64_t v, int64_t y) {
    const struct laid *m = mma_laid_of(t, t->gemm[0].side[MMA_M]),
                      *n = mma_laid_of(t, t->gemm[0].side[MMA_N]);
    int64_t size = n->range->src[0]->hi;
    struct pick p = mma_pick_all(t);
    uop_vec topo = {0}, from = {0}, to = {0};
    uop_topo(t->a, &stmt, 1, &topo);
    p.reg[m - t->laid][0] = mma_idx(t, y);
    for (uint32_t i = 0; i < topo.n; i++) {
        if (!mma_is_cell(t, topo.p[i])) continue;
        uop_vec lane = {0};
        for (int64_t x = 0; x < 2 * size; x++) {
            const uop *at = mma_idx(t, v + x / size), *acc = rw_subst(t->rw, topo.p[i], &r, &at, 1);
            p.reg[n - t->laid][0] = mma_idx(t, x % size);
            vec_push(t->a, &lane, mma_cell(t, acc, &p, 1));
        }
        vec_push(t->a, &from, topo.p[i]);
        vec_push(t->a, &to,
                 uop_new(t->ir, OP_BUILD, (enum dtype)topo.p[i]->dt, lane.n, lane.p, lane.n, ARG_NONE));
    }
    const uop *lanes = mma_range(t, "mma.n", AX_VEC, (uint8_t)(REG_POS + LAID_MAX + 1), 2 * size);
    const uop *tile = rw2(t->rw, OP_ADD, mma_idx(t, v), rw2(t->rw, OP_IDIV, lanes, mma_idx(t, size))),
              *inside = rw2(t->rw, OP_MOD, lanes, mma_idx(t, size));
    for (uint32_t i = 0; i < topo.n; i++) { /* predicates need not have both */
        const uop *x = topo.p[i];
        if (x->dt != DT_BOOL || !x->nsrc || x->src[0]->dt != DT_IDX ||
            (!free_has(&t->fr, x, r) && !free_has(&t->fr, x, n->range)))
            continue;
        const uop *at = rw_subst(t->rw, x, (const uop *[]){r, n->range, m->range},
                                 (const uop *[]){tile, inside, mma_idx(t, y)}, 3);
        vec_push(t->a, &from, x);
        vec_push(t->a, &to, at);
    }
    const uop *const rest[][2] = {{r, mma_idx(t, v)}, {m->range, mma_idx(t, y)}, {n->range, lanes}};
    for (int i = 0; i < 3; i++) {
        vec_push(t->a, &from, rest[i][0]);
        vec_push(t->a, &to, rest[i][1]);
    }
    return rw_subst(t->rw, stmt, from.p, to.p, from.n);
}

/* Where a vector holds elements along m and n: a statement along n over pairs of tiles, if there are. */
static bool each_row(struct mma_cx *t, const uop *stmt, uop_vec *out) {
    const struct laid *m = mma_laid_of(t, t->gemm[0].side[MMA_M]),
                      *n = mma_laid_of(t, t->gemm[0].side[MMA_N]);
    const uop_vec *f = free_of(&t->fr, stmt);
    for (uint32_t i = 0; i < f->n && stmt->op == OP_STORE; i++) {
        const uop *r = f->p[i];
        if (r->arg.range.kind != AX_UNROLL || r->src[0]->hi % 2 || !continues(t, stmt, r, n->range)) continue;
        for (int64_t y = 0; y < unrolled_of(t, stmt, m); y++)
            for (int64_t v = 0; v < r->src[0]->hi; v += 2)
                vec_push(t->a, out, across_tiles(t, stmt, r, v, y));
        return true;
    }
    return false;
}

/* Else the statement for each element; an accumulator is set whole. */
static void each_element(struct mma_cx *t, const uop *stmt, uop_vec *out) {
    const struct laid *m = mma_laid_of(t, t->gemm[0].side[MMA_M]),
                      *n = mma_laid_of(t, t->gemm[0].side[MMA_N]);
    bool whole = stmt->op == OP_SET && mma_is_cell(t, stmt->src[0]);
    const uop *one = whole ? stmt->src[1] : stmt;
    int64_t rows = whole ? m->reg[0]->src[0]->hi : unrolled_of(t, stmt, m),
            cols = whole ? n->reg[0]->src[0]->hi : unrolled_of(t, stmt, n);
    struct pick p = mma_pick_all(t);
    uop_vec part = {0};
    for (int64_t y = 0; y < rows; y++)
        for (int64_t x = 0; x < cols; x++) {
            p.reg[m - t->laid][0] = mma_idx(t, y), p.reg[n - t->laid][0] = mma_idx(t, x);
            vec_push(t->a, whole ? &part : out, mma_in_registers(t, one, &p));
        }
    if (!whole) return;
    bool same = true;
    for (uint32_t i = 1; i < part.n; i++) same &= part.p[i] == part.p[0];
    const uop *acc = mma_cell(t, stmt->src[0], &p, part.n), *v = part.p[0];
    if (!same) v = uop_new(t->ir, OP_BUILD, (enum dtype)v->dt, part.n, part.p, part.n, ARG_NONE);
    vec_push(t->a, out, uop2(t->ir, OP_SET, acc, v));
}

void mma_statement(struct mma_cx *t, const uop *stmt, uop_vec *out) {
    if (stmt->op == OP_WARP_REDUCE) {
        warp_reduce(t, stmt, out);
        return;
    }
    const struct laid *l = reduced(t, stmt);
    if (l && mma_is_cpu(t->gemm[0].instr))
        opt_fail(t->s, "TC", "axis %s is reduced; on a CPU only the contraction may be",
                 ir_name(t->ir, l->range->arg.range.cls));
    if (t->vec > 1) {
        if (!each_row(t, stmt, out)) each_element(t, stmt, out);
        return;
    }
    if (l) {
        vec_push(t->a, out, reduce_own(t, stmt, l));
        return;
    }
    if (!mma_is_cpu(t->gemm[0].instr) && split_pred(t, stmt, out)) return;
    struct pick p = mma_pick_all(t);
    const uop *moved = mma_in_registers(t, stmt, &p);
    bool store = (stmt->op == OP_STORE || stmt->op == OP_STORE_ADD) && access_buf(stmt)->op == OP_PARAM;
    vec_push(t->a, out, store && mma_lanes(t->gemm[0].instr) > 1 ? store_once(t, stmt, moved) : moved);
}
