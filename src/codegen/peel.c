/* peel.c: loops with gates get two bodies.
 *
 * A padded loop asks at every element whether it is still inside. For all but the last iterations the answer
 * is yes whatever the inner loops do, and one comparison per iteration finds out:
 *
 *     FOR o: body(gate)      becomes      FOR o: IF (gate holds for the largest inner values) body(true) ELSE body(gate)
 *
 * The main body is then free of gates and vectorises; the tail body is slow and rare. The same happens for masks
 * that a user wrote (k < n in a sum). A gate is peeled at the innermost loop that it depends on: one predictable
 * branch per iteration of a body that is a whole tile, and little code is written twice.
 * Requires: a loop tree whose expressions are scalar. */
#include "cg.h"

#define MAX_PEEL_NODES 6000 /* a body larger than this is not copied */

struct peel {
    struct rw *rw;
    struct free_ranges fr;
    uop_vec open; /* ranges of the loops around */
};

static bool is_open(const struct peel *p, const uop *r) {
    for (uint32_t i = 0; i < p->open.n; i++)
        if (p->open.p[i] == r) return true;
    return false;
}

/* Is `range` the innermost loop that the gate depends on, and all else it depends on known here or written out?
 * The loops of the grid count as one. */
static bool peels_at(struct peel *p, const uop *gate, const uop *range) {
    const uop_vec *f = free_of(&p->fr, gate);
    bool here = false, wide = false;
    for (uint32_t i = 0; i < f->n; i++) {
        const uop *r = f->p[i];
        if (axis_is_expanded((enum axis_kind)r->arg.range.kind))
            wide = true;
        else if (!is_open(p, r))
            return false;
        here |= r == range || (r->arg.range.kind == AX_GRID && range->arg.range.kind == AX_GRID);
    }
    return here && wide;
}

/* `gate` holds for all values of the written-out ranges if the returned condition holds. NULL: no such condition. */
static const uop *cover(struct peel *p, const uop *gate, const uop *range) {
    struct ir *ir = p->rw->ir;
    if (gate->op != OP_LT && gate->op != OP_LE) return NULL;
    if (gate->src[0]->dt != DT_IDX || !peels_at(p, gate, range))
        return NULL; /* other integers wrap: no affine form */
    struct affine d = affine_of(ir->arena, uop2(ir, OP_SUB, gate->src[0], gate->src[1]));
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
        int64_t most, sum;
        if (atom->lo == INT64_MIN || atom->hi == INT64_MAX) return NULL;
        if (__builtin_mul_overflow(d.t[i].coef, d.t[i].coef > 0 ? atom->hi : atom->lo, &most) ||
            __builtin_add_overflow(at.k, most, &sum))
            return NULL;
        at.k = sum;
    }
    const uop *x = affine_build(ir, &at, DT_IDX);
    return rw2(p->rw, (enum op)gate->op, rw_post(p->rw, x), uop_idx(ir, 0));
}

/* A written-out axis repeats the statements that mention it. Without its gate an accumulation may not mention it any
 * more (a sum of equal values): then it must keep the gate, or it would run once. */
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
    for (uint32_t i = 0; i < block->nsrc; i++) vec_push(p->rw->ir->arena, &out, peel(p, block->src[i]));
    return tree_block(p->rw->ir, &out);
}

static const uop *peel_for(struct peel *p, const uop *n) {
    struct ir *ir = p->rw->ir;
    const uop *range = n->src[0], *body = n->src[1], *cond = NULL;
    vec_push(ir->arena, &p->open, range);
    uop_vec topo = {0}, gates = {0}, yes = {0};
    uop_topo(ir->arena, &body, 1, &topo);
    bool outer_grid = body->nsrc && body->src[0]->op == OP_FOR &&
                      body->src[0]->src[0]->arg.range.kind == AX_GRID; /* the grid stays one nest */
    for (uint32_t i = 0; i < topo.n && topo.n < MAX_PEEL_NODES && !outer_grid; i++) {
        const uop *c = cover(p, topo.p[i], range);
        if (!c || uop_is_int_const(c, 0)) continue;
        cond = cond ? rw2(p->rw, OP_AND, cond, c) : c;
        vec_push(ir->arena, &gates, topo.p[i]);
        vec_push(ir->arena, &yes, uop_int(ir, DT_BOOL, 1));
    }
    const uop *open =
        gates.n && !uop_is_int_const(cond, 0) ? rw_subst(p->rw, body, gates.p, yes.p, gates.n) : NULL;
    if (open && !keeps_copies(p, body, open)) open = NULL;
    if (open && uop_is_int_const(cond, 1)) {
        body = peel_block(p, open);
    } else if (open) {
        const uop *fast = peel_block(p, open);
        const uop *both = uop_mk(ir, OP_IF, (const uop *[]){cond, fast, peel_block(p, body)}, 3, ARG_NONE);
        body = uop_mk(ir, OP_BLOCK, &both, 1, ARG_NONE);
    } else {
        body = peel_block(p, body);
    }
    p->open.n--;
    return uop2(ir, OP_FOR, range, body);
}

static const uop *peel(struct peel *p, const uop *n) {
    if (n->op == OP_FOR) return peel_for(p, n);
    if (n->op == OP_BLOCK) return peel_block(p, n);
    return n;
}

const uop *tree_peel(struct rw *rw, const uop *tree) {
    struct peel p = {.rw = rw};
    free_init(&p.fr, rw->ir, rw->ir->arena);
    return peel(&p, tree);
}
