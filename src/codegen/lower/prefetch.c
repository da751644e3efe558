/* prefetch.c: prefetches on a CPU: what the opt PIPE means there, and partial sums.
 *
 * While one row (or tile, or gathered row) is worked on, the memory of the next one is asked for, so that its
 * latency hides behind arithmetic. The addresses are those of the loads of a block with the axis moved
 * on by some values; one PREFETCH for each cache line. An address that is itself loaded (a gather) is computed
 * from an index that is kept inside its axis, so that nothing outside a buffer is ever read.
 * Partial sums in scratch memory that no near cache holds are asked for before the loop whose result is added to them: the whole
 * register tile is read at once when the loop ends, with nothing to hide the latency behind. (2048^3 in float32 on a Sapphire
 * Rapids: adding to them took 7.7 % of the samples, 1.7.)
 * Requires: tree_coalesce, and that the grid is still ranges (before tree_index). Tests: tests/unit/codegen.c */
#include "codegen/internal.h"

#include <stdlib.h>

enum {
    LINE = 64,
    NEAR_BYTES = 1 << 17, /* of partial sums that stay near in any case */
};

struct prefetch_access {
    const uop *index; /* INDEX in the current iteration */
    struct affine at;
};

struct piper {
    struct sched *s;
    struct rw *rw;
    const struct pipe *p;
    struct free_ranges fr;
    int64_t seen, want; /* passes over the buffer: found so far, the one to change */
    bool done;
};

static const uop *axis_range(struct piper *x, const uop *index) {
    const uop_vec *f = free_of(&x->fr, index);
    for (uint32_t i = 0; i < f->n; i++)
        if (f->p[i]->arg.range.cls == x->p->axis) return f->p[i];
    return NULL;
}

static int by_address(const void *a, const void *b) {
    return affine_compare(&((const struct prefetch_access *)a)->at, &((const struct prefetch_access *)b)->at);
}

/* The loads of the buffer in a block whose address moves with the axis. */
static uint32_t find_spots(struct piper *x, const uop *block, struct prefetch_access **out) {
    struct arena *a = x->rw->ir->arena;
    VEC(struct prefetch_access) v = {0};
    uop_vec topo = {0};
    tree_leaf_nodes(x->rw->ir, block, &topo);
    for (uint32_t i = 0; i < topo.n; i++) {
        const uop *n = topo.p[i], *buf = n->op == OP_INDEX ? n->src[0] : NULL;
        if (!buf || (buf->op != OP_PARAM && buf->op != OP_PARAMS) || buf->arg.param.name != x->p->buffer)
            continue;
        if (n->src[1]->lanes > 1 || !axis_range(x, n->src[1])) continue;
        vec_push(a, &v, ((struct prefetch_access){n, affine_of(a, n->src[1])}));
    }
    if (v.n) qsort(v.p, v.n, sizeof *v.p, by_address);
    *out = v.p;
    return v.n;
}

static bool has_load(struct arena *a, const uop *n) {
    uop_vec topo = {0};
    uop_topo(a, &n, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++)
        if (topo.p[i]->op == OP_LOAD || topo.p[i]->op == OP_PRED_LOAD) return true;
    return false;
}

static const uop *fetch(struct piper *x, const uop *index) {
    struct ir *ir = x->rw->ir;
    const uop *r = axis_range(x, index->src[1]);
    const uop *later = rw2(x->rw, OP_ADD, r, uop_idx(ir, x->p->ahead));
    if (has_load(ir->arena, index->src[1]))
        later = rw2(x->rw, OP_MIN, later, rw2(x->rw, OP_ADD, r->src[0], uop_idx(ir, -1)));
    const uop *at = rw_subst(x->rw, index->src[1], &r, &later, 1);
    const uop *src = mk_index(ir, index->src[0], at, 1);
    return uop_mk(ir, OP_PREFETCH, &src, 1, ARG_INT(x->p->level));
}

/* Of n accesses in order of address one for each line: how many are left. */
static uint32_t one_per_line(struct prefetch_access *v, uint32_t n) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++) {
        int64_t bytes = dtype_info[v[i].index->dt].bytes;
        const struct prefetch_access *last = kept ? &v[kept - 1] : NULL;
        if (last && affine_equal_but_const(&v[i].at, &last->at) &&
            v[i].at.k * bytes < last->at.k * bytes + LINE)
            continue;
        v[kept++] = v[i];
    }
    return kept;
}

static const uop *pipe_block(struct piper *x, const uop *block) {
    struct ir *ir = x->rw->ir;
    struct prefetch_access *v;
    uint32_t n = find_spots(x, block, &v);
    if (!n) return block;
    x->seen++;
    if (x->seen != x->want) return block;
    uop_vec out = {0};
    n = one_per_line(v, n);
    for (uint32_t i = 0; i < n; i++) vec_push(ir->arena, &out, fetch(x, v[i].index));
    for (uint32_t i = 0; i < block->nsrc; i++) vec_push(ir->arena, &out, block->src[i]);
    x->done = true;
    return tree_block(ir, &out);
}

static const uop *walk(struct piper *x, const uop *n) {
    struct ir *ir = x->rw->ir;
    uop_vec out = {0};
    if (n->op == OP_FOR) return uop2(ir, OP_FOR, n->src[0], walk(x, n->src[1]));
    if (n->op == OP_IF) { /* the main body only: a tail is short */
        for (uint32_t i = 0; i < n->nsrc; i++)
            vec_push(ir->arena, &out, i == 1 ? walk(x, n->src[i]) : n->src[i]);
        return uop_mk(ir, OP_IF, out.p, out.n, ARG_NONE);
    }
    if (n->op != OP_BLOCK) return n;
    for (uint32_t i = 0; i < n->nsrc; i++) vec_push(ir->arena, &out, walk(x, n->src[i]));
    return pipe_block(x, tree_block(ir, &out));
}

const uop *tree_prefetch(struct sched *s, const uop *tree) {
    for (uint32_t i = 0; i < s->pipe.n; i++) {
        struct piper x = {.s = s, .rw = &s->rw, .p = &s->pipe.p[i]};
        free_init(&x.fr, s->ir, s->ir->arena);
        walk(&x, tree); /* counts the passes */
        x.want = x.p->pass ? x.p->pass : x.seen;
        x.seen = 0;
        tree = walk(&x, tree);
        if (!x.done)
            opt_fail(
                s, x.p->opt,
                "there is no such pass: buffer %s is read %lld times at addresses that move with axis %s",
                ir_name(s->ir, x.p->buffer), (long long)x.seen, ir_name(s->ir, x.p->axis));
    }
    return tree;
}

/* ---- partial sums --------------------------------------------------------------------------------------------- */

/* Where statement n adds to a partial sum that is far: the INDEX. NULL: it does something else. */
static const uop *far_sum(const uop *n) {
    if (n->op != OP_STORE || n->src[0]->src[0]->op != OP_LOCAL || n->src[0]->src[1]->lanes > 1) return NULL;
    const uop *at = n->src[0], *value = n->src[1], *buf = at->src[0];
    if (buf->src[0]->hi * dtype_info[buf->dt].bytes < NEAR_BYTES) return NULL;
    for (uint32_t i = 0; i < value->nsrc; i++)
        if (value->src[i]->op == OP_LOAD && value->src[i]->src[0] == at) return at;
    return NULL;
}

static const uop *sums_of_block(struct ir *ir, const uop *block) {
    VEC(struct prefetch_access) v = {0};
    uop_vec out = {0};
    uint32_t loop = block->nsrc;
    for (uint32_t i = 0; i < block->nsrc; i++) {
        const uop *at = loop < i ? far_sum(block->src[i]) : NULL;
        if (block->src[i]->op == OP_FOR) loop = i, v.n = 0; /* the last one before the sums */
        if (at) vec_push(ir->arena, &v, ((struct prefetch_access){at, affine_of(ir->arena, at->src[1])}));
    }
    if (!v.n) return block;
    qsort(v.p, v.n, sizeof *v.p, by_address);
    v.n = one_per_line(v.p, v.n);
    for (uint32_t i = 0; i < block->nsrc; i++) {
        for (uint32_t k = 0; i == loop && k < v.n; k++) {
            const uop *src = mk_index(ir, v.p[k].index->src[0], v.p[k].index->src[1], 1);
            vec_push(ir->arena, &out, uop_mk(ir, OP_PREFETCH, &src, 1, ARG_INT(1)));
        }
        vec_push(ir->arena, &out, block->src[i]);
    }
    return tree_block(ir, &out);
}

const uop *tree_prefetch_sums(struct ir *ir, const uop *n) {
    if (n->op == OP_FOR) return uop2(ir, OP_FOR, n->src[0], tree_prefetch_sums(ir, n->src[1]));
    if (n->op != OP_BLOCK && n->op != OP_IF) return n;
    uop_vec out = {0};
    for (uint32_t i = 0; i < n->nsrc; i++)
        vec_push(ir->arena, &out, n->op == OP_IF && !i ? n->src[0] : tree_prefetch_sums(ir, n->src[i]));
    return n->op == OP_IF ? uop_mk(ir, OP_IF, out.p, out.n, n->arg) : sums_of_block(ir, tree_block(ir, &out));
}
