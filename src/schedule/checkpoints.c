/* checkpoints.c: activation checkpointing given a limit: which of the program's checkpoints a plan uses.
 *
 * A checkpoint (tensor/recompute.c) computes a region again from x, read as WHERE(never != 0, dy, x). Where the planner reads x itself,
 * the second computation is the first one, and its values are kept: the checkpoint is not used. Without a limit all are used. With one the
 * program is planned with as few as it takes to meet it, the first of the program before later ones: their values would be kept for
 * longest, and they are computed again when most others are gone.
 * Tests: tests/unit/checkpoint.c */
#include "schedule/internal.h"

bool is_checkpoint(const uop *n) {
    if (n->op != OP_WHERE) return false;
    const uop *never = n->src[0];
    return never->op == OP_NE && never->src[0]->op == OP_VAR && never->src[0]->dt == DT_IDX &&
           uop_is_int_const(never->src[1], 0);
}

void checkpoints_find(struct arena *a, const uop *graph, uop_vec *out) {
    uop_vec topo = {0};
    uop_topo(a, &graph, 1, &topo);
    uint32_t *at = arena_array(a, uint32_t, graph->id + 1);
    for (uint32_t i = 0; i < topo.n; i++) {
        const uop *n = topo.p[i];
        at[n->id] = i;
        if (!is_checkpoint(n)) continue;
        uint32_t k = out->n;
        vec_push(a, out, n);
        for (; k && at[out->p[k - 1]->src[2]->id] > at[n->src[2]->id]; k--) out->p[k] = out->p[k - 1];
        out->p[k] = n;
    }
}

struct checkpoint_try {
    struct schedule plan;
    uint32_t used;
};

static void try_some(struct checkpoint_search *s, uint32_t used, struct checkpoint_try *t) {
    for (uint32_t i = 0; i < s->all.n; i++) s->unused[s->all.p[i]->id] = i >= used;
    s->plan(s->cx, s->unused);
    t->plan = *s->out, t->used = used;
}

/* Between one that does not meet the limit and one that does: where it would be met if each saved as much. */
static uint32_t guess(const struct checkpoint_search *s, const struct checkpoint_try *few,
                      const struct checkpoint_try *many) {
    double over = (double)(few->plan.temp_bytes - s->limit),
           all = (double)(few->plan.temp_bytes - many->plan.temp_bytes);
    uint32_t k = few->used + (uint32_t)((many->used - few->used) * over / all + 0.999);
    return RG_MIN(RG_MAX(k, few->used + 1), many->used - 1);
}

void checkpoints_choose(struct checkpoint_search *s) {
    struct checkpoint_try few, best, t;
    try_some(s, 0, &few);
    best = few;
    if (few.plan.temp_bytes > s->limit && s->all.n) try_some(s, s->all.n, &best);
    while (best.plan.temp_bytes <= s->limit && few.used + 1 < best.used) {
        try_some(s, guess(s, &few, &best), &t);
        *(t.plan.temp_bytes <= s->limit ? &best : &few) = t;
    }
    *s->out = best.plan;
    s->out->checkpoints = s->all.n, s->out->checkpoints_used = best.used;
}
