/* slp.c: superword-level parallelism: what unrolled stores compute one by one is computed by vectors.
 *
 * Where the lanes of vectors run along a reduction (dot products of rows), the results are scalars, and so would be
 * their epilogue: a GELU of 18 results is 18 scalar GELUs. In each run of consecutive stores of scalars to one buffer the
 * values of as many stores as a vector has lanes are compared node by node from the root: where all have the same op, one
 * vector op takes their place; where they differ, a BUILD collects the scalars. Each store then takes its lane. A last, partial
 * vector repeats its last value. Vectorized only if it pays: the weight of the ops saved against the lanes collected.
 *
 * No op is added, moved across a statement or evaluated in another precision: results keep their bits.
 * Requires: tree_coalesce. CPU only: on a GPU the lanes are threads. Tests: tests/unit/slp.c */
#include "codegen/internal.h"

enum {
    MOST_LANES = 16,
    MOST_NODES = 256, /* of one epilogue: more is not tried */
    INSERT = 4,       /* weight per lane of a BUILD or of an EXTRACT */
};

struct pack {
    const uop *of[MOST_LANES], *vec;
};

struct slp {
    struct ir *ir;
    struct arena *a;
    int vec_bytes;
    unsigned lanes;
    VEC(struct pack) pack;
    int64_t saved, spent; /* weights */
};

static bool same_op(const uop *x, const uop *y) {
    return x->op == y->op && x->dt == y->dt && x->lanes == 1 && y->lanes == 1 && x->nsrc == y->nsrc;
}

/* Can one vector op compute them all? Ops with arguments are left: lanes of other vectors, numbers. */
static bool is_isomorphic(const struct slp *s, const uop *const *of) {
    const struct op_info *info = &op_info[of[0]->op];
    bool ok = op_is_pure((enum op)of[0]->op) && info->arg == OPA_NONE && info->lanes == OPL_WIDE &&
              of[0]->dt != DT_IDX && of[0]->nsrc;
    for (unsigned i = 0; i < s->lanes && ok; i++) ok = same_op(of[0], of[i]);
    for (uint32_t k = 0; k < of[0]->nsrc && ok; k++)
        for (unsigned i = 0; i < s->lanes && ok; i++) ok = of[i]->src[k]->dt == of[0]->src[k]->dt;
    return ok;
}

static const uop *vectorize(struct slp *, const uop *const *of);

static bool is_swappable(const uop *n) {
    return (op_info[n->op].flags & OPF_C && n->nsrc == 2) || n->op == OP_FMA;
}

/* Do the two compute the same of other values, as far as `depth` ops tell? */
static bool is_alike(const uop *x, const uop *y, int depth) {
    bool pure = op_is_pure((enum op)x->op);
    if (x == y) return true;
    if (uop_is_const(x) || uop_is_const(y) || pure != op_is_pure((enum op)y->op)) return false;
    if (!pure) return true; /* loads, predicated or not */
    if (!same_op(x, y)) return false;
    if (!depth) return true;
    bool alike = true;
    for (uint32_t k = 0; k < x->nsrc && alike; k++) alike = is_alike(x->src[k], y->src[k], depth - 1);
    return alike || (is_swappable(x) && is_alike(x->src[0], y->src[1], depth - 1) &&
                     is_alike(x->src[1], y->src[0], depth - 1) &&
                     (x->nsrc < 3 || is_alike(x->src[2], y->src[2], depth - 1)));
}

/* Operands of a commutative op stand in the order of their nodes, another one in each copy: does lane y have them in the other
 * order than x? */
static bool is_swapped(const uop *x, const uop *y) {
    enum { DEPTH = 6 };
    const uop *const *s = x->src, *const *t = y->src;
    if (!is_swappable(x) || (is_alike(s[0], t[0], DEPTH) && is_alike(s[1], t[1], DEPTH))) return false;
    return is_alike(s[0], t[1], DEPTH) && is_alike(s[1], t[0], DEPTH);
}

static const uop *vector_op(struct slp *s, const uop *const *of) {
    const uop **src = arena_array(s->a, const uop *, of[0]->nsrc), *part[MOST_LANES];
    bool swap[MOST_LANES] = {false};
    for (unsigned i = 1; i < s->lanes; i++) swap[i] = is_swapped(of[0], of[i]);
    for (uint32_t k = 0; k < of[0]->nsrc; k++) {
        for (unsigned i = 0; i < s->lanes; i++) part[i] = of[i]->src[k < 2 && swap[i] ? 1 - k : k];
        if (!(src[k] = vectorize(s, part))) return NULL;
    }
    s->saved += op_info[of[0]->op].weight * (int64_t)(s->lanes - 1);
    return uop_new(s->ir, (enum op)of[0]->op, (enum dtype)of[0]->dt, s->lanes, src, of[0]->nsrc, ARG_NONE);
}

static const uop *collect(struct slp *s, const uop *const *of) {
    for (unsigned i = 0; i < s->lanes; i++)
        if (of[i]->lanes != 1 || of[i]->dt != of[0]->dt || of[i]->dt == DT_IDX) return NULL;
    s->spent += INSERT * s->lanes;
    return uop_new(s->ir, OP_BUILD, (enum dtype)of[0]->dt, s->lanes, of, s->lanes, ARG_NONE);
}

/* One value whose lanes are these scalars, or the scalar that all are; NULL: there is none. */
static const uop *vectorize(struct slp *s, const uop *const *of) {
    bool same = true;
    for (unsigned i = 1; i < s->lanes && same; i++) same = of[i] == of[0];
    if (same) return of[0]->lanes == 1 ? of[0] : NULL;
    for (uint32_t i = 0; i < s->pack.n; i++)
        if (!memcmp(s->pack.p[i].of, of, s->lanes * sizeof *of)) return s->pack.p[i].vec;
    if (s->pack.n == MOST_NODES) return NULL;
    struct pack p = {.vec = is_isomorphic(s, of) ? vector_op(s, of) : collect(s, of)};
    memcpy(p.of, of, s->lanes * sizeof *of);
    if (p.vec) vec_push(s->a, &s->pack, p);
    return p.vec;
}

/* ---- stores ------------------------------------------------------------------------------------------*/

/* A store of one scalar whose value reads nothing that the run of stores writes. */
static bool is_candidate(struct slp *s, const uop *block, uint32_t from, uint32_t to, const uop *store) {
    if (store->src[1]->lanes != 1 || store->src[0]->lanes != 1 || !op_is_pure((enum op)store->src[1]->op))
        return false;
    uop_vec topo = {0};
    uop_topo(s->a, &store->src[1], 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++) {
        if (topo.p[i]->op != OP_LOAD && topo.p[i]->op != OP_PRED_LOAD) continue;
        for (uint32_t k = from; k < to; k++)
            if (access_buf(topo.p[i]) == access_buf(block->src[k])) return false;
    }
    return true;
}

/* Replaces the values of stores[0 .. n) by lanes of one vector, if that pays. */
static void vectorize_group(struct slp *s, const uop **store, unsigned n) {
    const uop *of[MOST_LANES];
    s->lanes = 2;
    while (s->lanes < n) s->lanes *= 2;
    for (unsigned i = 0; i < s->lanes; i++) of[i] = store[i < n ? i : n - 1]->src[1];
    s->pack.n = 0, s->saved = 0, s->spent = INSERT * (int64_t)n;
    const uop *v = vectorize(s, of);
    if (!v || v->lanes == 1 || s->saved * (int64_t)n <= s->spent * (int64_t)s->lanes) return;
    for (unsigned i = 0; i < n; i++) {
        const uop *src[3] = {store[i]->src[0], uop_mk(s->ir, OP_EXTRACT, &v, 1, ARG_INT(i))};
        if (store[i]->nsrc == 3) src[2] = store[i]->src[2];
        store[i] = uop_mk(s->ir, OP_STORE, src, store[i]->nsrc, ARG_NONE);
    }
}

/* Statements from .. to-1 of the block are stores. */
static void vectorize_run(struct slp *s, const uop *block, uint32_t from, uint32_t to, const uop **out) {
    bool *done = arena_array(s->a, bool, to - from);
    memset(done, 0, to - from);
    for (uint32_t i = from; i < to; i++) {
        const uop *first = block->src[i], *group[MOST_LANES];
        uint32_t at[MOST_LANES];
        unsigned n = 0, bytes = RG_MAX(dtype_info[first->src[1]->dt].bytes, 4);
        unsigned lanes = RG_MIN((unsigned)s->vec_bytes / bytes, MOST_LANES);
        for (uint32_t k = i; k < to && n < lanes; k++)
            if (!done[k - from] && access_buf(block->src[k]) == access_buf(first) &&
                is_candidate(s, block, from, to, block->src[k]))
                done[k - from] = true, at[n] = k, group[n++] = block->src[k];
        if (n < 2) continue;
        vectorize_group(s, group, n);
        for (unsigned k = 0; k < n; k++) out[at[k]] = group[k];
    }
}

static const uop *slp(struct slp *s, const uop *n) {
    if (n->op == OP_FOR) return uop2(s->ir, OP_FOR, n->src[0], slp(s, n->src[1]));
    if (n->op != OP_BLOCK && n->op != OP_IF) return n;
    const uop **out = arena_array(s->a, const uop *, n->nsrc + 1);
    for (uint32_t i = 0; i < n->nsrc; i++) out[i] = slp(s, n->src[i]);
    for (uint32_t i = 0, to; n->op == OP_BLOCK && i < n->nsrc; i = to + 1) {
        for (to = i; to < n->nsrc && n->src[to]->op == OP_STORE;) to++;
        if (to - i > 1) vectorize_run(s, n, i, to, out);
    }
    return uop_mk(s->ir, (enum op)n->op, out, n->nsrc, ARG_NONE);
}

const uop *tree_slp(struct ir *ir, const uop *tree, const struct target *target) {
    struct slp s = {.ir = ir, .a = ir->arena, .vec_bytes = target->vec_bytes};
    return slp(&s, tree);
}
