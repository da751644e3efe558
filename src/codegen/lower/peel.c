/* peel.c: loops with predicates get two bodies.
 *
 * A padded loop asks at every element whether it is still inside. For all but the last iterations the answer
 * is yes whatever the inner loops do, and one comparison per iteration finds out:
 *
 *     FOR o: body(predicate)      becomes      FOR o: IF (predicate holds for the largest inner values) body(true) ELSE body(predicate)
 *
 * The main body is then free of predicates and vectorises; the tail body is slow and rare. The same happens for masks
 * that a user wrote (k < n in a sum). A predicate is peeled at the innermost loop that it depends on: one predictable
 * branch per iteration of a body that is a whole tile, and little code is written twice. One that all lanes answer alike stays a
 * select, unless vectors of the body stride over memory (without predicates coalesce.c builds those from contiguous loads) or
 * several accesses of a small elementwise body have one: the interior of a stencil is then free of them. In the main body a
 * predicate that another one excludes is false (the boundary's side of a roll).
 *
 * The other end likewise: where a predicate fails whatever the inner loops do and nearly nothing is left of the body then (the
 * sums behind a causal mask), what is left is a body of its own:
 *
 *     FOR o: body(predicate)      becomes      FOR o: IF (predicate holds for some inner values) body(predicate) ELSE body(false)
 *
 * Where predicates exclude each other (the inputs of a concatenation), there is a body for each segment between their bounds:
 *
 *     FOR o: body(i < a, i >= a)      becomes      FOR o: IF (all i < a) body(true, false) ELSE IF (all i >= a) body(false, true) ELSE ..
 *
 * Where the rest is the first iteration and the last, each has a body of its own, in which lanes are known to be inside or not.
 *
 * Threads of a GPU run side by side: a predicate that neighbours answer differently stays where it is.
 * Requires: a loop tree whose expressions are scalar. */
#include <math.h>

#include "codegen/internal.h"

#define MAX_PEEL_NODES 6000                         /* a body larger than this is not copied */
enum { MOST_BOUNDS = 8, MOST_SEGMENT_NODES = 800 }; /* of a loop in segments */
enum { MOST_SKIPS = 4 };                            /* conditions without which nothing is left of a body */
enum { SHORT_LOOP = 4 };                            /* iterations, each of which may have a body of its own */
enum { MOST_UNIFORM_NODES = 400 }; /* of an elementwise body whose uniform predicates are peeled */

struct peel {
    struct rw *rw;
    struct free_ranges fr;
    uop_vec open;     /* ranges of the loops around */
    bool gpu, blocks; /* blocks: a thread block runs an iteration of the grid */
    bool
        strided; /* this body has vectors that are not contiguous: coalesce.c needs loads without predicates */
    bool uniform; /* predicates that all lanes answer alike are peeled too */
    bool edge;    /* in the rare body of a loop around: not twice */
};

static bool is_open(const struct peel *p, const uop *r) {
    for (uint32_t i = 0; i < p->open.n; i++)
        if (p->open.p[i] == r) return true;
    return false;
}

/* Do neighbouring threads of a GPU have other values of this range? Then they would answer differently, and since they run
 * together, each would wait for both bodies. */
static bool differs(const struct peel *p, const uop *range) {
    enum axis_kind k = (enum axis_kind)range->arg.range.kind;
    return p->gpu && (k == AX_COOP || k == AX_THREAD || (k == AX_GRID && !p->blocks));
}

/* Is `range` the innermost loop that the predicate depends on, and all else it depends on known here or unrolled?
 * The loops of the grid count as one. */
static bool peels_at(struct peel *p, const uop *pred, const uop *range) {
    const uop_vec *f = free_of(&p->fr, pred);
    bool here = false, wide = false;
    for (uint32_t i = 0; i < f->n; i++) {
        const uop *r = f->p[i];
        if (axis_is_expanded((enum axis_kind)r->arg.range.kind))
            wide = true;
        else if (!is_open(p, r) || differs(p, r))
            return false;
        here |= r == range || (r->arg.range.kind == AX_GRID && range->arg.range.kind == AX_GRID);
    }
    return here && (wide || p->strided || p->uniform);
}

/* Elements that unrolled axes walk over one by one. */
static int64_t unrolled_run(const uop_vec *free, const struct affine *a) {
    int64_t run = 1;
    for (uint32_t i = 0; i < free->n; i++) {
        const uop *r = free->p[i];
        if (r->arg.range.kind != AX_UNROLL || affine_coef(a, r) != run || r->src[0]->lo < 2) continue;
        run *= r->src[0]->lo;
        i = UINT32_MAX; /* from the first again */
    }
    return run;
}

/* Does the vector axis stride over memory, or repeat elements of it? Or are unrolled ones a run of elements? */
static bool strides(struct peel *p, const uop *load) {
    enum { LONG_RUN = 8 };
    const uop *index = load->src[0]->src[1];
    if (index->op == OP_WHERE) index = index->src[1];
    const uop_vec *f = free_of(&p->fr, index);
    struct affine a = affine_of(p->rw->ir->arena, index);
    for (uint32_t i = 0; i < f->n; i++)
        if (f->p[i]->arg.range.kind == AX_VEC && affine_coef(&a, f->p[i]) != 1) return true;
    return unrolled_run(f, &a) >= LONG_RUN;
}

static bool has_strided(struct peel *p, const uop_vec *topo) {
    for (uint32_t i = 0; i < topo->n; i++) {
        const uop *n = topo->p[i];
        if (n->op == OP_LOAD && n->src[0]->op == OP_INDEX && n->src[0]->src[1]->op == OP_WHERE &&
            strides(p, n))
            return true;
    }
    return false;
}

static bool is_pred(const uop *n) { /* other integers wrap: no affine form */
    return (n->op == OP_LT || n->op == OP_LE) && n->src[0]->dt == DT_IDX;
}

/* The predicate with what is not known here at its worst, or at its best. NULL: no such condition. */
static const uop *bounded(struct peel *p, const uop *pred, bool worst) {
    struct ir *ir = p->rw->ir;
    struct affine d = affine_of(ir->arena, uop2(ir, OP_SUB, pred->src[0], pred->src[1]));
    struct affine at = {.t = arena_array(ir->arena, struct term, d.n), .k = d.k};
    for (uint32_t i = 0; i < d.n; i++) {
        const uop *atom = d.t[i].atom;
        bool fixed = true;
        const uop_vec *f = free_of(&p->fr, atom);
        for (uint32_t k = 0; k < f->n; k++) fixed &= is_open(p, f->p[k]);
        if (fixed) {
            at.t[at.n++] = d.t[i];
            continue;
        }
        int64_t end, sum;
        if (atom->lo == INT64_MIN || atom->hi == INT64_MAX) return NULL;
        if (__builtin_mul_overflow(d.t[i].coef, (d.t[i].coef > 0) == worst ? atom->hi : atom->lo, &end) ||
            __builtin_add_overflow(at.k, end, &sum))
            return NULL;
        at.k = sum;
    }
    const uop *x = affine_build(ir, &at, DT_IDX);
    return rw2(p->rw, (enum op)pred->op, rw_post(p->rw, x), uop_idx(ir, 0));
}

/* `predicate` holds for all values of the unrolled ranges if the returned condition holds. NULL: no such condition. */
static const uop *cover(struct peel *p, const uop *pred, const uop *range) {
    return is_pred(pred) && peels_at(p, pred, range) ? bounded(p, pred, true) : NULL;
}

/* ---- what is left where a predicate fails ----------------------------------------------------------------------- */

static void statements(struct ir *ir, const uop *n, enum op op, uop_vec *out) {
    if (n->op == (uint16_t)op) vec_push(ir->arena, out, n);
    if (n->op != OP_BLOCK && n->op != OP_FOR && n->op != OP_IF) return;
    for (uint32_t i = n->op != OP_BLOCK; i < n->nsrc; i++) statements(ir, n->src[i], op, out);
}

/* Does the statement add nothing to its accumulator? */
static bool idles(const uop *set) {
    const uop *acc = set->src[0], *v = set->src[1];
    if (v == acc) return true;
    if ((v->op != OP_ADD && v->op != OP_MAX) || (v->src[0] != acc && v->src[1] != acc)) return false;
    const uop *x = v->src[v->src[0] == acc];
    if (!uop_is_const(x) || !dt_is_float((enum dtype)x->dt)) return false;
    return v->op == OP_ADD ? x->arg.f == 0 : x->arg.f == -INFINITY; /* a sum that began at 0 is never -0 */
}

/* Is an accumulator of this number begun in the body, and read only by itself in what is left of it? */
static bool is_dead(struct peel *p, const uop *body, const uop *block, int64_t acc) {
    struct ir *ir = p->rw->ir;
    uop_vec set = {0}, leaf = {0}, topo = {0};
    bool begun = false;
    statements(ir, block, OP_SET, &set);
    statements(ir, block, OP_STORE, &leaf);
    statements(ir, block, OP_STORE_ADD, &leaf);
    for (uint32_t i = 0; i < set.n; i++) {
        if (set.p[i]->src[0]->arg.i != acc) vec_push(ir->arena, &leaf, set.p[i]->src[1]);
    }
    set.n = 0;
    statements(ir, body, OP_SET, &set);
    for (uint32_t i = 0; i < set.n; i++)
        begun |= set.p[i]->src[0]->arg.i == acc && uop_is_const(set.p[i]->src[1]);
    uop_topo(ir->arena, leaf.p, leaf.n, &topo);
    for (uint32_t i = 0; i < topo.n; i++)
        if (topo.p[i]->op == OP_ACC && topo.p[i]->arg.i == acc) return false;
    return begun;
}

/* The tree without statements that do nothing (acc -1), or those of an accumulator; nor loops without statements. */
static const uop *without(struct ir *ir, const uop *n, int64_t acc) {
    if (n->op == OP_SET && (acc < 0 ? idles(n) : n->src[0]->arg.i == acc)) return NULL;
    if (n->op == OP_FOR) {
        const uop *body = without(ir, n->src[1], acc);
        return body->nsrc ? uop2(ir, OP_FOR, n->src[0], body) : NULL;
    }
    if (n->op != OP_BLOCK) return n;
    uop_vec out = {0};
    for (uint32_t i = 0; i < n->nsrc; i++) {
        const uop *x = without(ir, n->src[i], acc);
        if (x) vec_push(ir->arena, &out, x);
    }
    return tree_block(ir, &out);
}

/* Every accumulation that is left stands in the whole body too: none lost what repeats it. And no access is to nowhere. */
static bool is_part(struct peel *p, const uop *body, const uop *left) {
    struct ir *ir = p->rw->ir;
    uop_vec was = {0}, is = {0}, topo = {0};
    statements(ir, body, OP_SET, &was), statements(ir, body, OP_STORE_ADD, &was);
    statements(ir, left, OP_SET, &is), statements(ir, left, OP_STORE_ADD, &is);
    for (uint32_t i = 0, k; i < is.n; i++) {
        for (k = 0; k < was.n && was.p[k] != is.p[i]; k++) {}
        if (k == was.n) return false;
    }
    uop_topo(ir->arena, &left, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++)
        if (topo.p[i]->op == OP_INVALID) return false;
    return true;
}

/* Loops and functions: what is worth a branch. */
static uint32_t weight(struct ir *ir, const uop *body) {
    uop_vec loops = {0}, topo = {0};
    statements(ir, body, OP_FOR, &loops);
    uop_topo(ir->arena, &body, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++) loops.n += op_is_fn1((enum op)topo.p[i]->op);
    return loops.n;
}

/* body(false), if less is left that is worth a branch, or nothing. NULL: none such. */
static const uop *skipped(struct peel *p, const uop *body, const uop_vec *preds) {
    struct ir *ir = p->rw->ir;
    uop_vec no = {0}, set = {0};
    for (uint32_t i = 0; i < preds->n; i++) vec_push(ir->arena, &no, uop_int(ir, DT_BOOL, 0));
    const uop *x = without(ir, rw_subst(p->rw, body, preds->p, no.p, preds->n), -1);
    statements(ir, x, OP_SET, &set);
    for (uint32_t i = 0; i < set.n; i++)
        if (is_dead(p, body, x, set.p[i]->src[0]->arg.i)) x = without(ir, x, set.p[i]->src[0]->arg.i);
    return (!x->nsrc || weight(ir, x) < weight(ir, body)) && is_part(p, body, x) ? x : NULL;
}

/* Is all that the predicate depends on known here? */
static bool is_uniform(struct peel *p, const uop *pred) {
    const uop_vec *f = free_of(&p->fr, pred);
    for (uint32_t i = 0; i < f->n; i++)
        if (!is_open(p, f->p[i])) return false;
    return true;
}

/* Where *some fails, the returned block does what the body does; where it holds, so do the predicates `held`. NULL: no such condition.
 * Several conditions without any of which nothing is left are one (the rows of a window above and below an image). */
static const uop *skip(struct peel *p, const uop *body, const uop_vec *topo, const uop *range,
                       const uop **some, uop_vec *held) {
    struct ir *ir = p->rw->ir;
    uop_vec conds = {0};
    const uop *left = NULL;
    *some = NULL;
    for (uint32_t i = 0, k; i < topo->n; i++) {
        const uop *g = topo->p[i],
                  *c = is_pred(g) && free_has(&p->fr, g, range) ? bounded(p, g, false) : NULL;
        if (!c || uop_is_const(c)) continue;
        for (k = 0; k < conds.n && conds.p[k] != c; k++) {}
        if (k == conds.n && k < MOST_SKIPS) vec_push(ir->arena, &conds, c);
    }
    for (uint32_t k = 0; k < conds.n && (!left || !left->nsrc); k++) {
        uop_vec preds = {0};
        for (uint32_t i = 0; i < topo->n; i++)
            if (is_pred(topo->p[i]) && free_has(&p->fr, topo->p[i], range) &&
                bounded(p, topo->p[i], false) == conds.p[k])
                vec_push(ir->arena, &preds, topo->p[i]);
        const uop *x = skipped(p, body, &preds);
        if (!x || (left && x->nsrc)) continue;
        left = x;
        *some = *some ? rw2(p->rw, OP_AND, *some, conds.p[k]) : conds.p[k];
        for (uint32_t i = 0; i < preds.n && !x->nsrc; i++)
            if (is_uniform(p, preds.p[i])) vec_push(ir->arena, held, preds.p[i]);
    }
    return left;
}

/* ---- loops ------------------------------------------------------------------------------------------------- */

/* An unrolled axis repeats the statements that mention it. Without its predicate an accumulation may not mention it any
 * more (a sum of equal values): then it must keep the predicate, or it would run once. */
static bool keeps_copies(struct peel *p, const uop *before, const uop *after) {
    if (before == after) return true;
    if (before->op != after->op || before->nsrc != after->nsrc) return false;
    if (before->op == OP_SET || before->op == OP_STORE_ADD) {
        const uop_vec *f = free_of(&p->fr, before);
        for (uint32_t i = 0; i < f->n; i++)
            if (axis_is_expanded((enum axis_kind)f->p[i]->arg.range.kind) &&
                !free_has(&p->fr, after, f->p[i]))
                return false;
    }
    for (uint32_t i = before->op == OP_FOR;
         i < before->nsrc && op_is_effect((enum op)before->op) && before->op != OP_SET; i++)
        if (op_is_effect((enum op)before->src[i]->op) && !keeps_copies(p, before->src[i], after->src[i]))
            return false;
    return true;
}

static const uop *peel(struct peel *p, const uop *n);

static const uop *peel_block(struct peel *p, const uop *block) {
    uop_vec out = {0};
    for (uint32_t i = 0; i < block->nsrc; i++) {
        const uop *x = peel(p, block->src[i]);
        for (uint32_t k = 0; k < x->nsrc && x->op == OP_BLOCK; k++)
            vec_push(p->rw->ir->arena, &out, x->src[k]);
        if (x->op != OP_BLOCK) vec_push(p->rw->ir->arena, &out, x);
    }
    return tree_block(p->rw->ir, &out);
}

static const uop *choice(struct ir *ir, const uop *cond, const uop *yes, const uop *no) {
    const uop *both = uop_mk(ir, OP_IF, (const uop *[]){cond, yes, no}, no->nsrc ? 3 : 2, ARG_NONE);
    return uop_mk(ir, OP_BLOCK, &both, 1, ARG_NONE);
}

/* ---- segments ------------------------------------------------------------------------------------------------ */

/* A predicate as a bound on x: it holds for x < at, or for x >= at. */
struct pred_bound {
    int64_t at;
    bool below;
};
struct segments {
    struct affine x; /* without its constant */
    struct pred_bound of[MOST_BOUNDS];
    int64_t at[MOST_BOUNDS]; /* ascending, each once */
    uint32_t n;
};

/* The predicate is (d < 0) or (d <= 0); of[i], if its d is x or -x but for a constant. */
static bool add_bound(struct peel *p, struct segments *s, const uop *pred, uint32_t i) {
    struct ir *ir = p->rw->ir;
    struct affine d = affine_of(ir->arena, uop2(ir, OP_SUB, pred->src[0], pred->src[1]));
    struct affine minus = affine_of(ir->arena, uop2(ir, OP_SUB, pred->src[1], pred->src[0]));
    int64_t le = pred->op == OP_LE;
    if (!d.n || d.k < -INT32_MAX || d.k > INT32_MAX) return false;
    if (i == 0) s->x = d, s->x.k = 0;
    if (affine_equal_but_const(&d, &s->x))
        s->of[i] = (struct pred_bound){.at = le - d.k, .below = true};
    else if (affine_equal_but_const(&minus, &s->x))
        s->of[i] = (struct pred_bound){.at = d.k + 1 - le};
    else
        return false;
    uint32_t at = 0;
    while (at < s->n && s->at[at] < s->of[i].at) at++;
    if (at < s->n && s->at[at] == s->of[i].at) return true;
    for (uint32_t k = s->n++; k > at; k--) s->at[k] = s->at[k - 1];
    s->at[at] = s->of[i].at;
    return true;
}

/* Is x in segment i, between at[i - 1] and at[i], for all values of the unrolled ranges? NULL: never, or unknown. */
static const uop *in_segment(struct peel *p, const struct segments *s, uint32_t i) {
    struct ir *ir = p->rw->ir;
    const uop *x = affine_build(ir, &s->x, DT_IDX), *all = NULL;
    for (uint32_t k = 0; k < 2; k++) {
        if (k ? i == 0 : i == s->n) continue;
        const uop *end = uop_idx(ir, s->at[i - k]);
        const uop *c = bounded(p, k ? uop2(ir, OP_LE, end, x) : uop2(ir, OP_LT, x, end), true);
        if (!c) return NULL;
        all = all ? rw2(p->rw, OP_AND, all, c) : c;
    }
    return all && !uop_is_const(all) ? all : NULL;
}

/* The body in segments; NULL: the predicates are of no such form. */
static const uop *segmented(struct peel *p, const uop *body, const uop_vec *preds, const uop *other) {
    struct ir *ir = p->rw->ir;
    struct segments s = {0};
    uint32_t made = 0;
    if (p->gpu || preds->n < 2 || preds->n > MOST_BOUNDS) return NULL;
    for (uint32_t i = 0; i < preds->n; i++)
        if (!add_bound(p, &s, preds->p[i], i)) return NULL;
    for (uint32_t i = 0; i <= s.n; i++) {
        const uop *cond = in_segment(p, &s, i);
        uop_vec is = {0};
        for (uint32_t k = 0; k < preds->n && cond; k++) {
            bool holds =
                s.of[k].below ? i < s.n && s.at[i] <= s.of[k].at : i > 0 && s.at[i - 1] >= s.of[k].at;
            vec_push(ir->arena, &is, uop_int(ir, DT_BOOL, holds));
        }
        const uop *part = cond ? rw_subst(p->rw, body, preds->p, is.p, preds->n) : NULL;
        if (!part || !keeps_copies(p, body, part)) continue;
        other = choice(ir, cond, peel_block(p, part), other);
        made++;
    }
    return made > 1 ? other : NULL;
}

/* Do the two predicates exclude each other? Then x < a is the one, x >= b the other, and a <= b. */
static bool excludes(struct peel *p, const uop *a, const uop *b) {
    struct segments s = {0};
    if (!add_bound(p, &s, a, 0) || !add_bound(p, &s, b, 1) || s.of[0].below == s.of[1].below) return false;
    return s.of[s.of[1].below].at <= s.of[s.of[0].below].at;
}

/* Where all of `preds` hold, those that one of them excludes fail: the other side of a roll or of a concatenation. */
static void add_excluded(struct peel *p, const uop_vec *topo, const uop *range, uop_vec *preds, uop_vec *is) {
    struct ir *ir = p->rw->ir;
    uint32_t held = preds->n;
    for (uint32_t i = 0; i < topo->n && held; i++) {
        const uop *g = topo->p[i];
        bool out = false;
        if (!is_pred(g) || !peels_at(p, g, range)) continue;
        for (uint32_t k = 0; k < held && !out && g != preds->p[k]; k++) out = excludes(p, preds->p[k], g);
        if (!out) continue;
        vec_push(ir->arena, preds, g);
        vec_push(ir->arena, is, uop_int(ir, DT_BOOL, 0));
    }
}

/* Several accesses of an elementwise body ask whether their row is inside, each by a branch of its own: rows of a stencil, or of a
 * slice that is tiled. */
static bool has_uniform(struct peel *p, const uop *body, const uop_vec *topo, const uop *range) {
    uop_vec sums = {0};
    uint32_t n = 0;
    if (p->gpu || p->edge || topo->n > MOST_UNIFORM_NODES) return false;
    statements(p->rw->ir, body, OP_SET, &sums);
    for (uint32_t i = 0; i < topo->n && !sums.n; i++) {
        const uop *x = topo->p[i];
        n += x->op == OP_INDEX && x->src[1]->op == OP_WHERE && free_has(&p->fr, x->src[1]->src[0], range);
    }
    return n > 2;
}

/* Does the condition fail in the middle of the range? Then it is the boundary's, and the branch is not taken for it. */
static bool is_rare(struct peel *p, const uop *cond, const uop *range) {
    if (!is_pred(cond)) return false;
    struct affine d = affine_of(p->rw->ir->arena, uop2(p->rw->ir, OP_SUB, cond->src[0], cond->src[1]));
    return d.n == 1 && d.t[0].atom == range && d.t[0].coef * (range->hi / 2) + d.k >= (cond->op == OP_LE);
}

/* The condition, of this range alone, at one value of it: 0 or 1; -1: it is of another form. */
static int holds_at(struct peel *p, const uop *cond, const uop *range, int64_t at) {
    struct ir *ir = p->rw->ir;
    if (cond->op == OP_AND) {
        int a = holds_at(p, cond->src[0], range, at), b = holds_at(p, cond->src[1], range, at);
        return a < 0 || b < 0 ? -1 : a && b;
    }
    if (!is_pred(cond)) return -1;
    struct affine d = affine_of(ir->arena, uop2(ir, OP_SUB, cond->src[0], cond->src[1]));
    if (d.n != 1 || d.t[0].atom != range) return -1;
    return d.t[0].coef * at + d.k < (cond->op == OP_LE);
}

/* Bodies of one index: what they load does not depend on the loop any more, and may be loaded before it. So nothing that the body
 * stores is among it, nor is the loop the grid. */
static bool may_number(struct peel *p, const uop *body, const uop *range) {
    struct ir *ir = p->rw->ir;
    uop_vec topo = {0}, stored = {0};
    if (p->gpu || !uop_is_const(range->src[0]) || range->arg.range.kind == AX_GRID) return false;
    statements(ir, body, OP_STORE, &stored), statements(ir, body, OP_STORE_ADD, &stored);
    uop_topo(ir->arena, &body, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++)
        for (uint32_t k = 0; k < stored.n && topo.p[i]->op == OP_LOAD; k++)
            if (access_buf(stored.p[k]) == access_buf(topo.p[i])) return false;
    return true;
}

static const uop *body_at(struct peel *p, const uop *body, const uop *range, int64_t at) {
    const uop *is = uop_idx(p->rw->ir, at), *x = rw_subst(p->rw, body, &range, &is, 1);
    return keeps_copies(p, body, x) ? x : NULL;
}

/* The body where the condition fails. If that is the first iteration or the last, a body for each: the index is a number there, and so
 * is what each lane answers. */
static const uop *ends(struct peel *p, const uop *body, const uop *cond, const uop *range) {
    struct ir *ir = p->rw->ir;
    const uop *first = NULL, *last = NULL;
    int64_t end = range->hi;
    if (!may_number(p, body, range) || end < 1 || holds_at(p, cond, range, end) < 0)
        return peel_block(p, body);
    bool inside = end < 2 || (holds_at(p, cond, range, 1) && holds_at(p, cond, range, end - 1));
    bool low = !holds_at(p, cond, range, 0), high = !holds_at(p, cond, range, end);
    if (inside && low) first = body_at(p, body, range, 0);
    if (inside && high) last = body_at(p, body, range, end);
    if ((low && !first) || (high && !last)) return peel_block(p, body);
    if (!low || !high) return peel_block(p, low ? first : last);
    const uop *is_first = rw2(p->rw, OP_LT, range, uop_idx(ir, 1));
    return choice(ir, is_first, peel_block(p, first), peel_block(p, last));
}

/* Does the predicate depend on nothing else that is a loop? Then it is known once the range is a number. */
static bool is_of(struct peel *p, const uop *pred, const uop *range) {
    const uop_vec *f = free_of(&p->fr, pred);
    for (uint32_t i = 0; i < f->n; i++)
        if (f->p[i] != range && !axis_is_expanded((enum axis_kind)f->p[i]->arg.range.kind)) return false;
    return true;
}

/* A short loop around predicates (rows of few vectors, small images): a body for each iteration, one after the other. NULL: it is
 * none, or large. */
static const uop *each_body(struct peel *p, const uop *body, const uop *range, const uop_vec *topo) {
    struct ir *ir = p->rw->ir;
    uop_vec all = {0};
    bool any = false;
    if (range->hi < 1 || range->hi >= SHORT_LOOP || topo->n * (range->hi + 1) > MOST_SEGMENT_NODES)
        return NULL;
    for (uint32_t i = 0; i < topo->n; i++) {
        if (!is_pred(topo->p[i]) || !peels_at(p, topo->p[i], range)) continue;
        if (!is_of(p, topo->p[i], range)) return NULL;
        any = true;
    }
    if (!any || !may_number(p, body, range)) return NULL;
    for (int64_t i = 0; i <= range->hi; i++) {
        const uop *x = body_at(p, body, range, i);
        if (!x) return NULL;
        x = peel_block(p, x);
        for (uint32_t k = 0; k < x->nsrc; k++) vec_push(ir->arena, &all, x->src[k]);
    }
    return tree_block(ir, &all);
}

static const uop *peel_for(struct peel *p, const uop *n) {
    struct ir *ir = p->rw->ir;
    const uop *range = n->src[0], *body = n->src[1], *cond = NULL;
    vec_push(ir->arena, &p->open, range);
    uop_vec topo = {0}, preds = {0}, is = {0};
    uop_topo(ir->arena, &body, 1, &topo);
    bool outer_grid = body->nsrc && body->src[0]->op == OP_FOR &&
                      for_range(body->src[0])->arg.range.kind == AX_GRID; /* the grid stays one nest */
    p->strided = !p->gpu && topo.n < MOST_SEGMENT_NODES && has_strided(p, &topo);
    p->uniform = has_uniform(p, body, &topo, range);
    const uop *each = outer_grid ? NULL : each_body(p, body, range, &topo);
    if (each) {
        p->open.n--;
        return each;
    }
    for (uint32_t i = 0; i < topo.n && topo.n < MAX_PEEL_NODES && !outer_grid; i++) {
        const uop *c = cover(p, topo.p[i], range);
        if (!c || uop_is_int_const(c, 0) || (p->uniform && is_rare(p, c, range))) continue;
        cond = cond ? rw2(p->rw, OP_AND, cond, c) : c;
        vec_push(ir->arena, &preds, topo.p[i]);
        vec_push(ir->arena, &is, uop_int(ir, DT_BOOL, 1));
    }
    if (topo.n < MOST_SEGMENT_NODES && cond && !uop_is_int_const(cond, 0))
        add_excluded(p, &topo, range, &preds, &is);
    const uop *open =
        preds.n && !uop_is_int_const(cond, 0) ? rw_subst(p->rw, body, preds.p, is.p, preds.n) : NULL;
    if (open && !keeps_copies(p, body, open)) open = NULL;
    bool always = open && uop_is_int_const(cond, 1);
    uop_vec held = {0}, yes = {0};
    const uop *some, *less = always || outer_grid || topo.n >= MAX_PEEL_NODES
                                 ? NULL
                                 : skip(p, body, &topo, range, &some, &held);
    const uop *whole = body;
    for (uint32_t i = 0; i < held.n; i++) vec_push(ir->arena, &yes, uop_int(ir, DT_BOOL, 1));
    const uop *inside = held.n && !open ? rw_subst(p->rw, body, held.p, yes.p, held.n) : body;
    if (keeps_copies(p, body, inside)) body = inside;
    bool edge = p->edge;
    p->edge |= open && !always && p->uniform;
    body = open && !always ? ends(p, body, cond, range) : peel_block(p, always ? open : body);
    p->edge = edge;
    const uop *parts = preds.n && uop_is_int_const(cond, 0) && topo.n < MOST_SEGMENT_NODES
                           ? segmented(p, whole, &preds, body)
                           : NULL;
    if (parts) body = parts;
    if (less && !parts) body = choice(ir, some, body, peel_block(p, less));
    if (open && !always) body = choice(ir, cond, peel_block(p, open), body);
    p->open.n--;
    return uop2(ir, OP_FOR, range, body);
}

static const uop *peel(struct peel *p, const uop *n) {
    if (n->op == OP_FOR) return peel_for(p, n);
    if (n->op == OP_BLOCK) return peel_block(p, n);
    return n;
}

const uop *tree_peel(struct rw *rw, const uop *tree, const struct target *target) {
    struct peel p = {.rw = rw, .gpu = target_is_gpu(target)};
    uop_vec topo = {0};
    free_init(&p.fr, rw->ir, rw->ir->arena);
    uop_topo(rw->ir->arena, &tree, 1, &topo);
    for (uint32_t i = 0; i < topo.n && p.gpu; i++)
        p.blocks |= topo.p[i]->op == OP_RANGE && topo.p[i]->arg.range.kind == AX_COOP;
    return peel(&p, tree);
}
