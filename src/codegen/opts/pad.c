/* pad.c: a range made longer than the data, with predicates wherever the added values could be seen.
 *
 * TILE and PADTO use it where a tile does not divide an axis. Loads and stores at added values get the
 * index WHERE(i < size, index, INVALID), reductions and scans their identity. peel.c then takes the predicates out
 * of all but the last iterations. A staged tile over the axis grows with it and needs no predicate.
 *
 * ALIGN shifts the origin of a grid axis, by a different amount in each row, so that stores are n-aligned whatever the
 * length of a row: rows of 4095 16-bit floats are then stored by 16 bytes too. Values must be independent: nothing that
 * rows share, no sums. */
#include "codegen/internal.h"

struct pad_opt {
    struct sched *s;
    struct free_ranges fr;
    uop_vec old, fresh; /* members before and after */
    const uop **now;
    const uop *shift; /* ALIGN: how many values earlier the axis begins; NULL: it does not */
    int64_t multiple; /* .. so that stores are at multiples of this many elements */
};

/* What a member has become. */
static const uop *pad_value(struct pad_opt *p, uint32_t i) {
    return p->shift ? rw2(&p->s->rw, OP_SUB, p->fresh.p[i], p->shift) : p->fresh.p[i];
}

/* The condition that all members of the class that n depends on are inside their true size; NULL if none. */
static const uop *pad_valid(struct pad_opt *p, const uop *n) {
    const uop *valid = NULL;
    for (uint32_t i = 0; i < p->old.n; i++) {
        if (!free_has(&p->fr, n, p->old.p[i])) continue;
        const uop *lt = rw2(&p->s->rw, OP_LT, pad_value(p, i), p->now[p->old.p[i]->src[0]->id]);
        if (p->shift) lt = rw2(&p->s->rw, OP_AND, lt, rw2(&p->s->rw, OP_LE, p->shift, p->fresh.p[i]));
        valid = valid ? rw2(&p->s->rw, OP_AND, valid, lt) : lt;
    }
    return valid;
}

/* Where a store of ALIGN goes: its row begins at x, and x - x mod n + i is x rounded down + i. */
static const uop *aligned_at(struct pad_opt *p, const uop *at) {
    const uop *zero = uop_idx(p->s->ir, 0), *n = uop_idx(p->s->ir, p->multiple);
    const uop *x = rw_subst(&p->s->rw, at, &p->old.p[0], &zero, 1);
    return rw2(&p->s->rw, OP_ADD, rw2(&p->s->rw, OP_MUL, rw2(&p->s->rw, OP_IDIV, x, n), n), p->fresh.p[0]);
}

static const uop *pad_index(struct pad_opt *p, const uop *index, const uop *valid, bool store) {
    struct rw *rw = &p->s->rw;
    const uop *i = store && p->shift ? aligned_at(p, index->src[1]) : p->now[index->src[1]->id];
    const uop *predicated =
        rw3(rw, OP_WHERE, valid, i, uop_new(p->s->ir, OP_INVALID, i->dt, 1, NULL, 0, ARG_NONE));
    return rw_new(rw, OP_INDEX, index->dt, index->lanes,
                  (const uop *[]){p->now[index->src[0]->id], predicated}, 2, ARG_NONE);
}

/* A staged tile over the axis grows with it: its added elements exist and need no predicate. */
static bool grows(const struct pad_opt *p, const uop *buf) {
    for (uint32_t i = 1; i < buf->nsrc && buf->op == OP_STAGE; i++)
        if (buf->src[i]->arg.range.cls == p->old.p[0]->arg.range.cls) return true;
    return false;
}

/* Is an index the same at every added value as at some other? So it is if it has of the range only the quotient, of which
 * padding makes no new value, or only the remainder: each phase of a convolution with steps reads its filters and positions that way. */
static bool sees_nothing_new(struct pad_opt *p, const uop *index) {
    uop_vec topo = {0};
    bool quotient = false, remainder = false;
    uop_topo(p->s->ir->arena, &index, 1, &topo);
    for (uint32_t i = 0; i < p->old.n; i++) {
        const uop *r = p->old.p[i], *size = r->src[0], *now = p->fresh.p[i]->src[0];
        if (!free_has(&p->fr, index, r)) continue;
        if (!uop_is_const(size) || !uop_is_const(now)) return false;
        for (uint32_t k = 0; k < topo.n; k++) {
            const uop *n = topo.p[k];
            bool by = false;
            for (uint32_t j = 0; j < n->nsrc; j++) by |= n->src[j] == r;
            if (!by) continue;
            if ((n->op != OP_IDIV && n->op != OP_MOD) || !uop_is_const(n->src[1]) || n->src[1]->arg.i < 1)
                return false;
            int64_t c = n->src[1]->arg.i;
            if (n->op == OP_MOD ? c > size->arg.i : (now->arg.i - 1) / c != (size->arg.i - 1) / c)
                return false;
            *(n->op == OP_MOD ? &remainder : &quotient) = true;
        }
    }
    return quotient != remainder;
}

static bool is_stored(const struct pad_opt *p, const uop *buf) {
    for (uint32_t i = 0; i < p->s->sink->nsrc; i++) {
        const uop *n = p->s->sink->src[i];
        if ((n->op == OP_STORE || n->op == OP_STORE_ADD) && access_buf(n) == buf) return true;
    }
    return false;
}

/* Loads at added values stay inside a buffer that the kernel does not write, and their values are not used: the buffer is long enough
 * (rows of a padded copy), or the load has a predicate that knows its end (the halo of an image, along positions and taps). */
static bool stays_inside(struct pad_opt *p, const uop *index) {
    const uop *at = p->now[index->src[1]->id], *buf = index->src[0];
    if (buf->op != OP_PARAM || is_stored(p, buf)) return false;
    if (at->op != OP_WHERE) return at->lo >= 0 && at->hi < buf->src[0]->lo;
    return verify_is_inside(p->s->ir, uop1(p->s->ir, OP_LOAD, mk_index(p->s->ir, buf, at, index->lanes)));
}

/* The index of a load that has of the range a quotient (the phases of a convolution with steps), with a predicate of the position that
 * the quotient gives with what is added to it: a window is packed by position. NULL: it has no such, or the load would not stay
 * inside. */
static const uop *index_by_position(struct pad_opt *p, const uop *index) {
    struct ir *ir = p->s->ir;
    const uop *at = index->src[1], *quotient = NULL;
    struct affine f = affine_of(ir->arena, at->op == OP_WHERE ? at->src[1] : at);
    int64_t step = 0, most = 0;
    if (p->shift || index->src[0]->op != OP_PARAM || is_stored(p, index->src[0])) return NULL;
    for (uint32_t k = 0; k < f.n; k++)
        for (uint32_t i = 0; i < p->old.n; i++) {
            if (!free_has(&p->fr, f.t[k].atom, p->old.p[i])) continue;
            if (quotient || f.t[k].atom->op != OP_IDIV) return NULL;
            quotient = f.t[k].atom, step = f.t[k].coef;
        }
    struct affine y = {.t = arena_array(ir->arena, struct term, f.n + 1)};
    for (uint32_t k = 0; k < f.n && quotient; k++) {
        const uop *x = f.t[k].atom;
        if (f.t[k].coef != step && f.t[k].coef != -step) continue;
        y.t[y.n++] = (struct term){x, f.t[k].coef / step};
        most += f.t[k].coef == step ? x->hi : -x->lo;
    }
    if (!quotient) return NULL;
    const uop *position = rw_subst(&p->s->rw, affine_build(ir, &y, DT_IDX), p->old.p, p->fresh.p, p->old.n);
    const uop *valid = rw2(&p->s->rw, OP_LT, position, uop_idx(ir, most + 1));
    const uop *now = pad_index(p, index, valid, false);
    return verify_is_inside(ir, uop1(ir, OP_LOAD, now)) ? now : NULL;
}

/* What n combines, where valid; elsewhere what changes nothing. */
static const uop *pad_term(struct pad_opt *p, const uop *n, const uop *x, const uop *valid) {
    struct ir *ir = p->s->ir;
    const uop *none = uop_identity(ir, (enum op)n->arg.i, (enum dtype)n->dt);
    if (x->op != OP_DECAY) return rw3(&p->s->rw, OP_WHERE, valid, x, none);
    const uop *keep = uop_identity(ir, OP_MUL, (enum dtype)n->dt);
    return uop2(ir, OP_DECAY, rw3(&p->s->rw, OP_WHERE, valid, x->src[0], none),
                rw3(&p->s->rw, OP_WHERE, valid, x->src[1], keep));
}

static const uop *pad_node(struct pad_opt *p, const uop *n) {
    struct rw *rw = &p->s->rw;
    for (uint32_t i = 0; i < p->old.n; i++)
        if (p->old.p[i] == n) return pad_value(p, i);
    uop_vec src = {0};
    bool changed = false;
    for (uint32_t k = 0; k < n->nsrc; k++) {
        vec_push(p->s->ir->arena, &src, p->now[n->src[k]->id]);
        changed |= src.p[k] != n->src[k];
    }
    if (!changed) return n;
    const uop *valid = NULL;
    if (n->op == OP_LOAD && !grows(p, access_buf(n)) &&
        (p->shift || !sees_nothing_new(p, access_offset(n))) && !stays_inside(p, n->src[0]) &&
        (valid = pad_valid(p, access_offset(n)))) {
        const uop *by_position = index_by_position(p, n->src[0]);
        src.p[0] = by_position ? by_position : pad_index(p, n->src[0], valid, false);
    }
    if ((n->op == OP_STORE || n->op == OP_STORE_ADD) && (valid = pad_valid(p, n)))
        src.p[0] = pad_index(p, n->src[0], valid, true);
    if (n->op == OP_REDUCE || n->op == OP_SCAN) {
        for (uint32_t k = 1; k < n->nsrc; k++)
            if ((valid = pad_valid(p, n->src[k]))) src.p[0] = pad_term(p, n, src.p[0], valid);
    }
    return rw_with(rw, n, src.p);
}

/* Rounds every member of the axis up to a multiple of n. */
void pad_axis(struct sched *s, const char *opt, struct axis *ax, int64_t n) {
    struct ir *ir = s->ir;
    if (ax->scan && ax->size < 0)
        opt_fail(s, opt, "the scanned axis %s has a size known at run time only", ir_name(ir, ax->name));
    struct pad_opt p = {.s = s};
    free_init(&p.fr, ir, ir->arena);
    sched_members(s, ax->name, &p.old);
    uop_vec topo = {0};
    uop_topo(ir->arena, &s->sink, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++) {
        if (topo.p[i]->op != OP_STAGE) continue;
        for (uint32_t k = 2; k < topo.p[i]->nsrc; k++)
            if (topo.p[i]->src[k]->arg.range.cls == ax->name)
                opt_fail(s, opt, "axis %s is an inner dimension of a staged tile; pad it before STAGE",
                         ir_name(ir, ax->name));
    }
    const uop *nn = uop_idx(ir, n);
    for (uint32_t i = 0; i < p.old.n; i++) {
        const uop *size = p.old.p[i]->src[0];
        const uop *up = rw2(&s->rw, OP_IDIV, rw2(&s->rw, OP_ADD, size, uop_idx(ir, n - 1)), nn);
        vec_push(
            ir->arena, &p.fresh,
            sched_range(s, rw2(&s->rw, OP_MUL, up, nn), p.old.p[i], ax->name, p.old.p[i]->arg.range.kind));
    }
    p.now = arena_array(ir->arena, const uop *, ir->n);
    for (uint32_t i = 0; i < topo.n; i++) p.now[topo.p[i]->id] = pad_node(&p, topo.p[i]);
    s->sink = p.now[s->sink->id];
    sched_refresh(s);
}

/* Does the index walk one by one along r, from an origin that does not depend on r? */
static bool walks_along(struct pad_opt *p, const uop *at, const uop *r) {
    struct affine f = affine_of(p->s->ir->arena, at);
    for (uint32_t i = 0; i < f.n; i++)
        if (f.t[i].atom != r && free_has(&p->fr, f.t[i].atom, r)) return false;
    return at->op != OP_WHERE && affine_coef(&f, r) == 1;
}

/* How far behind a multiple of n the rows begin that are stored along range r: the same in all of them. */
static const uop *shift_of(struct pad_opt *p, const char *opt, const uop_vec *topo, const uop *r) {
    struct sched *s = p->s;
    const uop *shift = NULL, *zero = uop_idx(s->ir, 0), *n = uop_idx(s->ir, p->multiple);
    for (uint32_t i = 0; i < topo->n; i++) {
        const uop *st = topo->p[i],
                  *at = st->op == OP_STORE || st->op == OP_STORE_ADD ? access_offset(st) : NULL;
        if (!at) continue;
        if (st->op == OP_STORE_ADD || !walks_along(p, at, r))
            opt_fail(s, opt, "what is stored does not lie one by one along axis %s",
                     ir_name(s->ir, r->arg.range.cls));
        const uop *x = rw2(&s->rw, OP_MOD, rw_subst(&s->rw, at, &r, &zero, 1), n);
        if (shift && shift != x)
            opt_fail(s, opt, "rows of two results begin at different offsets along axis %s",
                     ir_name(s->ir, r->arg.range.cls));
        shift = x;
    }
    return shift;
}

/* Begins the axis earlier, so that stores are at multiples of n elements. */
void align_axis(struct sched *s, const char *opt, struct axis *ax, int64_t n) {
    struct ir *ir = s->ir;
    struct pad_opt p = {.s = s, .multiple = n};
    free_init(&p.fr, ir, ir->arena);
    sched_members(s, ax->name, &p.old);
    if (!ax->grid || ax->reduce || ax->scan || ax->staged || ax->size < 0 || p.old.n != 1)
        opt_fail(s, opt, "axis %s must be one of the grid, of known size, and of one pass",
                 ir_name(ir, ax->name));
    if (ax->size < n) /* rows would begin at the same multiple */
        opt_fail(s, opt, "axis %s has only %lld values", ir_name(ir, ax->name), (long long)ax->size);
    uop_vec topo = {0};
    uop_topo(ir->arena, &s->sink, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++) /* what several rows share would have another offset in each */
        if (binds_ranges(topo.p[i]))
            opt_fail(s, opt,
                     "the kernel reduces, scans or keeps values; ALIGN is for values that stand alone");
    p.shift = shift_of(&p, opt, &topo, p.old.p[0]);
    int64_t size = (ax->size + 2 * n - 2) / n * n;
    vec_push(ir->arena, &p.fresh,
             sched_range(s, uop_idx(ir, size), p.old.p[0], ax->name, p.old.p[0]->arg.range.kind));
    p.now = arena_array(ir->arena, const uop *, ir->n);
    for (uint32_t i = 0; i < topo.n; i++) p.now[topo.p[i]->id] = pad_node(&p, topo.p[i]);
    s->sink = p.now[s->sink->id];
    sched_refresh(s);
}
