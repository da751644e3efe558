/* stream.c: the opt STREAM: several passes over a row become one, in blocks.
 *
 * A kernel that keeps rows (attention: the scores of a query, their weights) makes passes over them: the greatest score, the
 * weights and their sum, the weighted sum of v. STREAM(k,n,i,..) cuts the axes of these passes into blocks of n values and
 * makes them one loop over blocks; of a row only the block at hand is kept, in registers (STAGE, SPACE_REG).
 *
 *   a maximum m of the row    is, to whoever reads it inside the row, the maximum so far: SCAN[MAX]
 *   a sum of what has exp(x - m) as a factor
 *                             was begun with smaller maxima, and is multiplied by exp(m before - m) in each block: DECAY.
 *                             That it is such a factor, once, is proved on the expression (degree).
 *   any other sum             stays as it is
 *
 * Predicates: exp(x - m) is 0 where x is -inf, so predicates that imply no more are dropped (vanishes, lowest), those of
 * padding too; only the scores keep them. A predicate that compares the position in the row with grid axes, the causal
 * mask, bounds the loop: blocks where it is false throughout are skipped.
 * Requires: no tile staged yet. Tests: tests/unit/gpu_attention.c */
#include "codegen/internal.h"

#include <math.h>

enum { MOST_AXES = 6 };

struct stream {
    struct sched *s;
    const char *opt;
    struct ir *ir;
    struct rw *rw;
    struct arena *a;
    uint32_t outer[MOST_AXES], inner[MOST_AXES], axes;
    const uop *o, *i;    /* the loop over blocks, the values of a block */
    const uop *position; /* in the row */
    const uop *pad;      /* inside the row; NULL: always */
    const uop **in,
        **out;   /* by id: the node as a row sees it, and after the loop; NULL: it has no such value */
    bool *score; /* by id: a STAGE whose values are exponents */
    uop_vec sums, preds; /* reductions over the row; predicates of scores */
    uint32_t stages;
};

static const uop *idx(struct stream *t, int64_t v) { return uop_idx(t->ir, v); }

static bool is_exp(const uop *n) { return (n->op == OP_EXP || n->op == OP_EXP2) && n->src[0]->op == OP_SUB; }
/* The terms of exp(score - max). */
static const uop *exp_term(const uop *sub, unsigned i) { return sub->src[i]; }
static const uop *exp_score(const uop *e) { return exp_term(e->src[0], 0); }
static const uop *exp_max(const uop *e) { return exp_term(e->src[0], 1); }

static bool is_low(const uop *n) { return n->op == OP_CONST && n->arg.f == -INFINITY; }
static bool is_zero(const uop *n) { return n->op == OP_CONST && n->arg.f == 0; }

/* The value behind a read of a row. */
static const uop *staged(const uop *n) {
    bool row = n->op == OP_LOAD && access_buf(n)->op == OP_STAGE && access_buf(n)->arg.mem.space == SPACE_REG;
    return row ? access_buf(n)->src[0] : NULL;
}

static bool is_among(const uint32_t *cls, uint32_t n, const uop *r) {
    for (uint32_t i = 0; i < n && r->op == OP_RANGE; i++)
        if (cls[i] == r->arg.range.cls) return true;
    return false;
}

static bool binds_row(const struct stream *t, const uop *n) {
    for (uint32_t i = 1; i < n->nsrc && (n->op == OP_REDUCE || n->op == OP_STAGE); i++)
        if (is_among(t->outer, t->axes, n->src[i]) || is_among(t->inner, t->axes, n->src[i])) return true;
    return false;
}

/* ---- predicates ----------------------------------------------------------------------------------------------- */

static bool implies(const uop *pred, const uop *g) {
    if (pred == g) return true;
    return pred->op == OP_AND && (implies(pred->src[0], g) || implies(pred->src[1], g));
}

/* Is x -inf wherever g is false? */
static bool lowest(const uop *x, const uop *g) {
    if (staged(x)) return lowest(staged(x), g);
    if (x->op == OP_WHERE && is_low(x->src[2])) return implies(x->src[0], g) || lowest(x->src[1], g);
    if (x->op == OP_MUL) return uop_is_const(x->src[1]) && x->src[1]->arg.f > 0 && lowest(x->src[0], g);
    return x->op == OP_ADD && (lowest(x->src[0], g) || lowest(x->src[1], g));
}

/* Is x 0 wherever g is false? */
static bool vanishes(const uop *x, const uop *g) {
    if (staged(x)) return vanishes(staged(x), g);
    if (is_exp(x)) return lowest(exp_score(x), g);
    if (x->op == OP_WHERE) return is_zero(x->src[2]) && (implies(x->src[0], g) || vanishes(x->src[1], g));
    if (x->op == OP_MUL) return vanishes(x->src[0], g) || vanishes(x->src[1], g);
    return (x->op == OP_CAST || x->op == OP_NEG) && vanishes(x->src[0], g);
}

static void note_preds(struct stream *t, const uop *pred) {
    if (pred->op == OP_AND) {
        note_preds(t, pred->src[0]);
        note_preds(t, pred->src[1]);
        return;
    }
    for (uint32_t i = 0; i < t->preds.n; i++)
        if (t->preds.p[i] == pred) return;
    vec_push(t->a, &t->preds, pred);
}

/* ---- rows ------------------------------------------------------------------------------------------------- */

static const uop *keep(struct stream *t, const uop *value, uint32_t name) {
    union arg arg = {.mem = {name, SPACE_REG, 0, 0}};
    const uop *stage = uop_new(t->ir, OP_STAGE, value->dt, 1, (const uop *[]){value, t->i}, 2, arg);
    return uop1(t->ir, OP_LOAD, mk_index(t->ir, stage, t->i, 1));
}

/* Exponents are kept, with every predicate that they have. */
static const uop *keep_score(struct stream *t, const uop *x, uint32_t name) {
    if (t->pad && !lowest(x, t->pad))
        x = rw3(t->rw, OP_WHERE, t->pad, x, uop_flt(t->ir, (enum dtype)x->dt, -INFINITY));
    for (const uop *y = x; y->op == OP_WHERE && is_low(y->src[2]); y = y->src[1]) note_preds(t, y->src[0]);
    return keep(t, x, name);
}

static const uop *row_load(struct stream *t, const uop *n, const uop *index) {
    const uop *stage = access_buf(n);
    if (index->op == OP_WHERE && index->src[2]->op == OP_INVALID) index = index->src[1]; /* of padding */
    if (index != t->position)
        opt_fail(t->s, t->opt, "row %s is not read at the current position of the pass",
                 ir_name(t->ir, stage->arg.mem.name));
    return t->in[stage->id];
}

/* ---- sums that follow a maximum --------------------------------------------------------------------------- */

static const uop *scan_below(struct stream *t, const uop *x) {
    uop_vec topo = {0};
    const uop *found = NULL;
    uop_topo(t->a, &x, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++) {
        if (topo.p[i]->op != OP_SCAN) continue;
        if (found) opt_fail(t->s, t->opt, "a sum depends on two maxima of the row");
        found = topo.p[i];
    }
    return found;
}

static bool has_below(struct stream *t, const uop *x, const uop *what) {
    uop_vec topo = {0};
    uop_topo(t->a, &x, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++)
        if (topo.p[i] == what) return true;
    return false;
}

/* m, or 0 where it is -inf. */
static bool is_maximum(const uop *x, const uop *m) {
    if (x == m) return true;
    if (x->op != OP_WHERE || x->src[2] != m || !is_zero(x->src[1])) return false;
    const uop *same = x->src[0];
    return same->op == OP_EQ && same->src[0] == m && is_low(same->src[1]);
}

/* How often exp(.. - m) is a factor of x, *e being one such; -1: it depends on m otherwise. */
static int degree(struct stream *t, const uop *x, const uop *m, const uop **e) {
    if (!has_below(t, x, m)) return 0;
    if (staged(x)) return degree(t, staged(x), m, e);
    if (is_exp(x)) {
        if (has_below(t, exp_score(x), m) || !is_maximum(exp_max(x), m)) return -1;
        *e = x;
        return 1;
    }
    if (x->op == OP_CAST || x->op == OP_NEG) return degree(t, x->src[0], m, e);
    if (x->op == OP_WHERE && is_zero(x->src[2]) && !has_below(t, x->src[0], m))
        return degree(t, x->src[1], m, e);
    if (x->op != OP_MUL) return -1;
    int a = degree(t, x->src[0], m, e), b = degree(t, x->src[1], m, e);
    return a < 0 || b < 0 ? -1 : a + b;
}

static const uop *reduce(struct stream *t, enum op op, const uop *x, const uop *const *range, uint32_t n) {
    return uop_new(t->ir, OP_REDUCE, x->dt, 1, (const uop *[]){x, range[0], range[n - 1]}, n + 1,
                   ARG_INT(op));
}

static void row_reduce(struct stream *t, const uop *n) {
    enum op op = (enum op)n->arg.i;
    const uop *x = t->in[n->src[0]->id], *both[2] = {t->o, t->i}, *e = NULL;
    if (!x) opt_fail(t->s, t->opt, "a row needs a sum of all of it before it begins");
    if (n->nsrc != 3) opt_fail(t->s, t->opt, "a reduction runs along the row and something else");
    if (x->op == OP_WHERE && is_low(x->src[2]) && op == OP_MAX && lowest(x->src[1], x->src[0])) x = x->src[1];
    if (x->op == OP_WHERE && is_zero(x->src[2]) && op == OP_ADD && vanishes(x->src[1], x->src[0]))
        x = x->src[1];
    const uop *m = scan_below(t, x);
    t->in[n->id] = NULL;
    if (op == OP_MAX && !m) {
        const uop *block = reduce(t, op, x, &t->i, 1);
        t->in[n->id] = uop_new(t->ir, OP_SCAN, x->dt, 1, (const uop *[]){block, t->o}, 2, ARG_INT(op));
        t->out[n->id] = reduce(t, op, block, &t->o, 1);
        vec_push(t->a, &t->sums, block);
        return;
    }
    if (m) {
        if (op != OP_ADD || degree(t, x, m, &e) != 1)
            opt_fail(t->s, t->opt,
                     "a reduction depends on the row's maximum, but not by one factor exp(x - max)");
        const uop *step = uop2(t->ir, OP_SUB, uop1(t->ir, OP_BEFORE, m), exp_max(e));
        const uop *block = reduce(t, op, x, &t->i, 1);
        vec_push(t->a, &t->sums, block);
        x = uop2(t->ir, OP_DECAY, block, uop1(t->ir, (enum op)e->op, step));
        t->out[n->id] = reduce(t, op, x, &t->o, 1);
        return;
    }
    t->out[n->id] = reduce(t, op, x, both, 2);
    vec_push(t->a, &t->sums, t->out[n->id]);
}

/* ---- the graph ---------------------------------------------------------------------------------------------- */

/* n with the sources that the map has for it; NULL: one has none. */
static const uop *rebuilt(struct stream *t, const uop *n, const uop **map) {
    uop_vec src = {0};
    bool same = true;
    for (uint32_t k = 0; k < n->nsrc; k++) {
        if (!map[n->src[k]->id]) return NULL;
        vec_push(t->a, &src, map[n->src[k]->id]);
        same &= src.p[k] == n->src[k];
    }
    return same ? n : rw_with(t->rw, n, src.p);
}

static void rewrite(struct stream *t, const uop *n) {
    uint32_t id = n->id;
    if (is_among(t->outer, t->axes, n) || is_among(t->inner, t->axes, n)) {
        t->in[id] = t->out[id] = is_among(t->outer, t->axes, n) ? t->o : t->i;
        return;
    }
    if (n->op == OP_REDUCE && binds_row(t, n)) {
        row_reduce(t, n);
        return;
    }
    if (n->op == OP_STAGE && binds_row(t, n)) { /* in: the read of it */
        const uop *x = t->in[n->src[0]->id];
        if (!x) opt_fail(t->s, t->opt, "a row needs a sum of all of it before it begins");
        t->in[id] = t->score[id] ? keep_score(t, x, n->arg.mem.name) : keep(t, x, n->arg.mem.name);
        return;
    }
    if (n->op == OP_LOAD && access_buf(n)->op == OP_STAGE && binds_row(t, access_buf(n))) {
        t->in[id] = row_load(t, n, t->in[access_offset(n)->id]);
        return;
    }
    if (n->op == OP_INDEX && n->src[0]->op == OP_STAGE && binds_row(t, n->src[0])) return;
    t->out[id] = rebuilt(t, n, t->out);
    const uop *x = rebuilt(t, n, t->in);
    if (x && x->op == OP_WHERE && is_zero(x->src[2]) && vanishes(x->src[1], x->src[0])) x = x->src[1];
    if (x && is_exp(x) && !staged(exp_score(x)) && x != n) {
        char name[16];
        int len = snprintf(name, sizeof name, "score%u", t->stages++);
        const uop *a = keep_score(t, exp_score(x), ir_sym(t->ir, name, (size_t)len));
        x = uop1(t->ir, (enum op)x->op, uop2(t->ir, OP_SUB, a, exp_max(x)));
    }
    t->in[id] = x;
}

static void find_scores(struct stream *t, const uop_vec *topo) {
    for (uint32_t i = 0; i < topo->n; i++) {
        const uop *n = topo->p[i], *x = is_exp(n) ? exp_score(n) : NULL;
        if (x && x->op == OP_LOAD && access_buf(x)->op == OP_STAGE) t->score[access_buf(x)->id] = true;
    }
}

/* ---- bounds --------------------------------------------------------------------------------------------------- */

/* predicate as f < 0: the coefficient of the loop, and the least that the rest is in a block, as an expression of grid axes. */
static bool compared(struct stream *t, const uop *pred, int64_t *coef, const uop **rest) {
    if ((pred->op != OP_LT && pred->op != OP_LE) || pred->src[0]->dt != DT_IDX) return false;
    struct affine f = affine_of(t->a, uop2(t->ir, OP_SUB, pred->src[0], pred->src[1]));
    int64_t least = f.k - (pred->op == OP_LE);
    const uop *sum = idx(t, 0);
    *coef = affine_coef(&f, t->o);
    for (uint32_t i = 0; i < f.n; i++) {
        const uop *r = f.t[i].atom;
        if (r == t->o) continue;
        if (r->op != OP_RANGE || !uop_is_const(r->src[0])) return false;
        if (axis_is_grid(sched_axis(t->s, r->arg.range.cls)))
            sum = rw2(t->rw, OP_ADD, sum, rw2(t->rw, OP_MUL, r, idx(t, f.t[i].coef)));
        else
            least += f.t[i].coef < 0 ? f.t[i].coef * (r->src[0]->hi - 1) : 0;
    }
    *rest = rw2(t->rw, OP_ADD, sum, idx(t, least));
    return *coef != 0;
}

static bool rules_all(const struct stream *t, const uop *pred) {
    for (uint32_t i = 0; i < t->sums.n; i++) {
        const uop *n = t->sums.p[i];
        if (n->arg.i == OP_MAX ? !lowest(n->src[0], pred) : n->arg.i != OP_ADD || !vanishes(n->src[0], pred))
            return false;
    }
    return true;
}

/* Where later values of a grid axis have longer loops, the axis is walked backwards: the longest come first, and what is left
 * to the end is short. */
static void longest_first(struct stream *t, const uop *end) {
    uop_vec topo = {0};
    struct affine f = affine_of(t->a, end);
    uop_topo(t->a, &end, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++) {
        const uop *r = topo.p[i];
        if (r->op != OP_RANGE || !uop_is_const(r->src[0]) || affine_coef(&f, r) < 0) continue;
        struct range_subst sub = {r, rw2(t->rw, OP_SUB, idx(t, r->src[0]->hi - 1), r), {r, NULL}, 1};
        t->s->sink = sched_subst(t->s, t->s->sink, &sub, 1);
    }
}

/* Blocks before the first and after the last that a predicate leaves anything of are not run. */
static void bound_loop(struct stream *t) {
    const uop *first = idx(t, 0), *end = t->o->src[0], *rest;
    int64_t c;
    for (uint32_t i = 0; i < t->preds.n; i++) {
        if (t->preds.p[i] == t->pad || !rules_all(t, t->preds.p[i]) || !compared(t, t->preds.p[i], &c, &rest))
            continue;
        if (c > 0) { /* c*o + rest < 0 */
            const uop *n = rw2(t->rw, OP_SUB, idx(t, c - 1), rest);
            end = rw2(t->rw, OP_MIN, end, rw2(t->rw, OP_IDIV, n, idx(t, c)));
        } else {
            const uop *n = rw2(t->rw, OP_ADD, rw2(t->rw, OP_IDIV, rest, idx(t, -c)), idx(t, 1));
            first = rw2(t->rw, OP_MAX, first, n);
        }
    }
    const uop *size = rw2(t->rw, OP_SUB, end, first);
    if (size == t->o->src[0]) return;
    const uop *o = uop_new(t->ir, OP_RANGE, DT_IDX, 1, &size, 1, t->o->arg);
    struct range_subst sub = {t->o, rw2(t->rw, OP_ADD, o, first), {o, NULL}, 1};
    t->s->sink = sched_subst(t->s, t->s->sink, &sub, 1);
    longest_first(t, end);
}

/* ---- scaled scores -------------------------------------------------------------------------------------------- */

/* y of c * y, or of a predicate of it, with c > 0. */
static const uop *unscaled(struct stream *t, const uop *x, const uop **c) {
    if (x->op == OP_WHERE && is_low(x->src[2])) {
        const uop *y = unscaled(t, x->src[1], c);
        return y ? rw3(t->rw, OP_WHERE, x->src[0], y, x->src[2]) : NULL;
    }
    if (x->op != OP_MUL || !uop_is_const(x->src[1]) || !(x->src[1]->arg.f > 0)) return NULL;
    *c = x->src[1];
    return x->src[0];
}

/* x of x * c where x is read from a row. */
static const uop *scaled_row(const uop *n) {
    return n->op == OP_MUL && uop_is_const(n->src[1]) && n->src[1]->arg.f > 0 && staged(n->src[0]) ? n->src[0]
                                                                                                   : NULL;
}

/* Scores are kept without their scale: the greatest is scaled once, which is the same number, and in the exponents the product
 * and the difference are rounded once. */
static const uop *lean_scores(struct stream *t) {
    uop_vec topo = {0};
    uop_topo(t->a, &t->s->sink, 1, &topo);
    uint32_t ids = t->ir->n;
    const uop **now = arena_array(t->a, const uop *, ids), **scale = arena_array(t->a, const uop *, ids);
    for (uint32_t i = 0; i < topo.n; i++) {
        const uop *n = topo.p[i], *x = rebuilt(t, n, now), *c = NULL, *y;
        const uop *of = n->nsrc ? x->src[0] : NULL;
        if (n->op == OP_STAGE && n->nsrc == 2 && (y = unscaled(t, x->src[0], &c))) {
            x = uop_new(t->ir, OP_STAGE, y->dt, 1, (const uop *[]){y, x->src[1]}, 2, x->arg);
            scale[n->id] = c;
        }
        if (n->op == OP_LOAD && (c = scale[access_buf(n)->id])) x = uop2(t->ir, OP_MUL, x, c);
        if (n->op == OP_REDUCE && n->arg.i == OP_MAX && (y = scaled_row(of)))
            x = uop2(t->ir, OP_MUL, reduce(t, OP_MAX, y, x->src + 1, n->nsrc - 1), of->src[1]);
        if (is_exp(x) && (y = scaled_row(exp_score(x)))) {
            const uop *far = uop1(t->ir, OP_NEG, exp_max(x));
            x = uop1(t->ir, (enum op)x->op, uop3(t->ir, OP_FMA, y, exp_score(x)->src[1], far));
        }
        now[n->id] = x;
    }
    return now[t->s->sink->id];
}

/* ---- the opt ------------------------------------------------------------------------------------------------- */

static void cut(struct stream *t, const uint32_t *axis, int64_t n, uint32_t inner) {
    int64_t size = sched_axis(t->s, axis[0])->size;
    for (uint32_t i = 0; i < t->axes; i++) {
        char name[80];
        struct axis *a = sched_axis(t->s, axis[i]);
        int len = snprintf(name, sizeof name, "%.60s_%u", ir_name(t->ir, inner), i);
        if (a->grid || a->size < 0 || a->size != size)
            opt_fail(t->s, t->opt, "axis %s is not one of passes over a row of %lld values",
                     ir_name(t->ir, axis[i]), (long long)size);
        if (size <= n)
            opt_fail(t->s, t->opt, "axis %s has %lld values, one block; PADTO makes more",
                     ir_name(t->ir, axis[i]), (long long)size);
        t->outer[i] = axis[i];
        t->inner[i] = i ? ir_sym(t->ir, name, (size_t)len) : inner;
        opt_tile(t->s, t->opt, axis[i], n, t->inner[i]);
    }
}

void opt_stream(struct sched *s, const char *opt, uint32_t axis, int64_t n, uint32_t inner,
                const uint32_t *more, uint32_t nmore) {
    struct stream t = {.s = s, .opt = opt, .ir = s->ir, .rw = &s->rw, .a = s->ir->arena, .axes = nmore + 1};
    uint32_t all[MOST_AXES] = {axis};
    if (nmore >= MOST_AXES) opt_fail(s, opt, "at most %d axes", MOST_AXES);
    if (nmore) memcpy(all + 1, more, nmore * sizeof *more);
    int64_t size = sched_axis(s, axis)->size;
    cut(&t, all, n, inner);
    uop_vec topo = {0}, os = {0}, is = {0};
    sched_members(s, axis, &os);
    sched_members(s, inner, &is);
    t.o = os.p[0], t.i = is.p[0];
    t.position = rw2(&s->rw, OP_ADD, rw2(&s->rw, OP_MUL, t.o, idx(&t, n)), t.i);
    if (size % n) t.pad = rw2(&s->rw, OP_LT, t.position, idx(&t, size));
    uop_topo(t.a, &s->sink, 1, &topo);
    uint32_t ids = s->ir->n;
    t.in = arena_array(t.a, const uop *, ids), t.out = arena_array(t.a, const uop *, ids);
    t.score = arena_array(t.a, bool, ids);
    find_scores(&t, &topo);
    for (uint32_t i = 0; i < topo.n; i++) rewrite(&t, topo.p[i]);
    if (!t.out[s->sink->id]) opt_fail(s, opt, "a row is used outside of the passes over it");
    if (!t.sums.n) opt_fail(s, opt, "nothing is reduced along axis %s", ir_name(s->ir, axis));
    s->sink = t.out[s->sink->id];
    bound_loop(&t);
    s->sink = lean_scores(&t);
    sched_refresh(s);
}
