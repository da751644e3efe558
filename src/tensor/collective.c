/* collective.c: collectives as nodes of the graph: CALL[collective] (x, what comes before it; a struct collective, elements).
 *
 * Ranks must run their collectives in one order, whatever each of them asks for first. So each collective names the one before it as
 * a source (detached: no gradient flows along): who runs one runs all that were called before it, in the order of the calls.
 * Two calls are two nodes even if they look alike, since each is an exchange of its own: a second one hides behind a GRAD_THROUGH
 * with a number that was not used yet, which programs do not see.
 * The adjoint of a sum over ranks is a sum over ranks, of a gather a reduce-scatter, and the other way round.
 * Tests: tests/unit/world.c */
#include "tensor/internal.h"

/* x, as another node. */
static const uop *renamed(struct tg *g, const uop *x) {
    const uop *number = t_number(g, DT_F32, (double)++g->collectives);
    const uop *back = dt_is_float((enum dtype)x->dt) ? x : t_cast(g, x, DT_F32);
    return t_grad_through(g, x,
                          t_cast(g, tg_op2(g, OP_ADD, t_cast(g, back, DT_F32), number), (enum dtype)x->dt));
}

const uop *t_collective(struct tg *g, struct collective c, const uop *x, int64_t elements) {
    int64_t n = shape_size(tg_shape(g, x));
    const uop *made;
    uint32_t before;
    tg_no_f8(g, OP_CALL, x);
    c.dt = (enum dtype)x->dt;
    x = t_reshape(g, x, &n, 1);
    union arg arg = {.u = ir_sym(g->ir, "collective", 10)};
    const uop *code = uop_idx(g->ir, collective_pack(c)), *size = uop_idx(g->ir, elements);
    const uop *after = g->chain ? t_detach(g, g->chain) : NULL;
    for (;;) {
        const uop *src[] = {x, after ? after : x, code, size};
        before = g->ir->n;
        made = uop_new(g->ir, OP_CALL, (enum dtype)x->dt, 1, src, RG_COUNT(src), arg);
        if (g->ir->n > before) break;
        x = renamed(g, x);
    }
    tg_shape(g, made);
    return g->chain = made;
}

/* The flow is divided among the ranks that have the greatest (least) element. */
static const uop *extreme(struct tg *g, struct collective c, const uop *n, const uop *dy) {
    const uop *x = n->src[0], *zero = tg_like(g, x, 0);
    int64_t size = shape_size(tg_shape(g, x));
    c.reduce = COLLECTIVE_SUM;
    const uop *here = t_cast(g, tg_op2(g, OP_EQ, x, n), (enum dtype)x->dt);
    const uop *all = t_collective(g, c, dy, size), *ties = t_collective(g, c, here, size);
    const uop *hit = tg_op2(g, OP_NE, here, zero);
    return tg_op3(g, OP_WHERE, hit, tg_op2(g, OP_FDIV, all, ties), zero);
}

const uop *grad_collective(struct tg *g, const uop *n, const uop *dy) {
    struct collective c = collective_unpack(uop_const_i(g->ir, n, 2));
    int64_t size = shape_size(tg_shape(g, n->src[0]));
    bool reduces = c.kind == COLLECTIVE_ALL_REDUCE || c.kind == COLLECTIVE_REDUCE_SCATTER;
    if (c.kind == COLLECTIVE_ALL_REDUCE && (c.reduce == COLLECTIVE_MAX || c.reduce == COLLECTIVE_MIN))
        return extreme(g, c, n, dy);
    if (reduces && c.reduce != COLLECTIVE_SUM)
        tg_bad(g, "this reduction over ranks has no gradient; sums and means have, and maximum and minimum "
                  "of rg_all_reduce");
    switch (c.kind) {
    case COLLECTIVE_REDUCE_SCATTER: c.kind = COLLECTIVE_ALL_GATHER; break;
    case COLLECTIVE_ALL_GATHER: c.kind = COLLECTIVE_REDUCE_SCATTER; break;
    case COLLECTIVE_BROADCAST: c.kind = COLLECTIVE_ALL_REDUCE, c.peer = 0; break;
    case COLLECTIVE_ALL_REDUCE:
    case COLLECTIVE_ALL_TO_ALL: break;
    default: tg_bad(g, "no gradient flows through messages between two ranks; rg_detach what is sent");
    }
    return t_collective(g, c, dy, size);
}
