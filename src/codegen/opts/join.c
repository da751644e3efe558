/* join.c: the opt JOIN, the opposite of TILE: two axes become one that counts through both, inner fastest.
 *
 * Rows of an image are often two loops, each too short for the threads of a block; together they are a row of its own.
 * Every pass over the inner one must be a pass over the other: the members of the two classes are paired by their ids, and
 * whatever binds one binds the other, a tile or a scan right after it; an update (x += ..) is in both or in neither. Sums
 * over the outer axis alone, beside loops over both, keep it. Index expressions get new / size and new % size,
 * which the rules merge again where the two axes are contiguous in memory.
 * Tests: tests/unit/codegen.c, tests/unit/golden.c (random lists) */
#include "codegen/internal.h"

#define MOST_VALUES (1ll << 31)

/* The member of the class with the id and kind of another; NULL if there is none. */
static const uop *partner(const uop_vec *members, const uop *of) {
    for (uint32_t i = 0; i < members->n; i++)
        if (members->p[i]->arg.range.id == of->arg.range.id &&
            members->p[i]->arg.range.kind == of->arg.range.kind)
            return members->p[i];
    return NULL;
}

/* Does n bind both, the inner right after the outer, or neither? The ranges of a REDUCE have no order among them. */
static bool binds_alike(const uop *n, const uop *outer, const uop *inner) {
    uint32_t a = 0, b = 0;
    for (uint32_t i = 1; i < n->nsrc; i++) {
        if (n->src[i] == outer) a = i;
        if (n->src[i] == inner) b = i;
    }
    return a == 0 ? b == 0 : n->op == OP_REDUCE ? b != 0 : b == a + 1;
}

/* Does a store add to its element, or replace it by a function of it? Run twice, it is wrong. */
static bool is_update(struct sched *s, const uop *store) {
    uop_vec topo = {0};
    if (store->op == OP_STORE_ADD) return true;
    uop_topo(s->ir->arena, &store->src[1], 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++)
        if (topo.p[i]->op == OP_LOAD && access_buf(topo.p[i]) == access_buf(store)) return true;
    return false;
}

/* An update outside of one of the two loops would run in each iteration of both. */
static void check_updates(struct sched *s, const char *opt, const uop_vec *topo, const uop *x, const uop *y) {
    struct free_ranges fr;
    free_init(&fr, s->ir, s->ir->arena);
    for (uint32_t i = 0; i < topo->n; i++) {
        const uop *n = topo->p[i];
        bool store = n->op == OP_STORE || n->op == OP_STORE_ADD;
        if (store && free_has(&fr, n, x) != free_has(&fr, n, y) && is_update(s, n))
            opt_fail(s, opt, "an update in one of the axes alone would be repeated");
    }
}

static void check_axis(struct sched *s, const char *opt, const struct axis *a) {
    const char *name = ir_name(s->ir, a->name);
    if (a->size < 1) opt_fail(s, opt, "the size of axis %s is known at run time only", name);
    if (a->kind != AX_COUNT)
        opt_fail(s, opt, "axis %s is already a thread, a loop or unrolled; join it before", name);
    if (a->scan) opt_fail(s, opt, "axis %s carries a running value from one element to the next", name);
}

void opt_join(struct sched *s, const char *opt, struct axis *outer, struct axis *inner, uint32_t name) {
    struct ir *ir = s->ir;
    uop_vec a = {0}, b = {0}, topo = {0};
    int64_t n = inner->size;
    if (outer == inner) opt_fail(s, opt, "an axis cannot be joined with itself");
    if (outer > inner)
        opt_fail(s, opt, "axis %s is not inside of %s", ir_name(ir, inner->name), ir_name(ir, outer->name));
    if (sched_axis(s, name)) opt_fail(s, opt, "there is already an axis %s", ir_name(ir, name));
    check_axis(s, opt, outer), check_axis(s, opt, inner);
    if (outer->size > MOST_VALUES / n) opt_fail(s, opt, "the new axis would have more than 2^31 values");
    sched_members(s, outer->name, &a), sched_members(s, inner->name, &b);
    uop_topo(ir->arena, &s->sink, 1, &topo);
    struct range_subst *sub = arena_array(ir->arena, struct range_subst, 2 * a.n + 1);
    uint32_t pairs = 0;
    for (uint32_t i = 0; i < a.n; i++) {
        const uop *x = a.p[i], *y = partner(&b, x);
        if (!y && x->arg.range.kind == AX_REDUCE)
            continue; /* a sum beside the loops over both keeps its axis */
        bool alike = y && x->src[0]->lo == outer->size && y->src[0]->lo == n;
        for (uint32_t k = 0; k < topo.n && alike; k++)
            if (binds_ranges(topo.p[k])) alike = binds_alike(topo.p[k], x, y);
        if (!alike)
            opt_fail(s, opt, "a pass over axis %s is not one over %s, right inside of it",
                     ir_name(ir, outer->name), ir_name(ir, inner->name));
        check_updates(s, opt, &topo, x, y);
        const uop *both =
            sched_range(s, uop_idx(ir, outer->size * n), x, name, (enum axis_kind)x->arg.range.kind);
        sub[2 * pairs] = (struct range_subst){x, rw2(&s->rw, OP_IDIV, both, uop_idx(ir, n)), {both, NULL}, 1};
        sub[2 * pairs++ + 1] =
            (struct range_subst){y, rw2(&s->rw, OP_MOD, both, uop_idx(ir, n)), {NULL, NULL}, 0};
    }
    if (!pairs || pairs != b.n)
        opt_fail(s, opt, "a pass over axis %s is not one over %s, right outside of it",
                 ir_name(ir, inner->name), ir_name(ir, outer->name));
    struct axis alone = *outer;
    outer->name = name;
    if (pairs < a.n) vec_push(ir->arena, &s->axis, alone);
    s->sink = sched_subst(s, s->sink, sub, 2 * pairs);
    sched_refresh(s);
}
