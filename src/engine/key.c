/* key.c: what a plan depends on, written down word by word.
 *
 * The cache of plans must never give the plan of another program: a wrong kernel is worse than a slow one. So a key is
 * the whole structure (every node in topological order: op, type, lanes, argument, the indices of its sources), the
 * machine model, the number of workers and every setting there is but those about storage (is_storage), and keys are
 * compared in full; the hash only finds the bucket. Names are written as their letters, because their numbers belong to
 * one ir. Settings are taken from the table as a whole: one that is added there is in the key without anyone thinking of it, and one that could not
 * matter (DEBUG) costs a plan that is made twice in a process that changes it, which only tests do.
 * The skeleton is the same without the numbers in it that could be parameters: elements, and the starts of boxes. A program that is
 * planned again and again with the same one has a constant that ought to be a parameter (plan_cache.c says so). Sizes stay: another
 * shape is another program.
 * Tests: tests/unit/realize.c (realize_key_*) */
#include "engine/internal.h"

typedef VEC(uint32_t) words;

static void put(struct arena *a, words *w, uint32_t x) { vec_push(a, w, x); }

static void put64(struct arena *a, words *w, uint64_t x) {
    put(a, w, (uint32_t)x);
    put(a, w, (uint32_t)(x >> 32));
}

static void put_text(struct arena *a, words *w, const char *s) {
    size_t n = s ? strlen(s) : 0, k = (n + 3) / 4;
    put(a, w, (uint32_t)n);
    vec_need(a, w, k);
    if (k) w->p[w->n + k - 1] = 0;
    if (n) memcpy(w->p + w->n, s, n);
    w->n += (uint32_t)k;
}

static void put_arg(struct arena *a, words *w, const struct ir *ir, const uop *n) {
    switch (op_info[n->op].arg) {
    case OPA_NONE: return;
    case OPA_PARAM:
        put(a, w, n->arg.param.slot);
        put_text(a, w, ir_name(ir, n->arg.param.name));
        return;
    case OPA_MEM:
        put(a, w, n->arg.mem.space);
        put_text(a, w, ir_name(ir, n->arg.mem.name));
        return;
    case OPA_RANGE:
        put64(a, w, n->arg.u & ~(uint64_t)UINT32_MAX);
        put_text(a, w, ir_name(ir, n->arg.range.cls));
        return;
    case OPA_SYM: put_text(a, w, ir_name(ir, (uint32_t)n->arg.u)); return;
    default: put64(a, w, n->arg.u); return;
    }
}

static void put_graph(struct arena *a, words *w, const struct ir *ir, const uop *graph, struct plan_key *k) {
    uop_topo(a, &graph, 1, &k->topo);
    uint32_t *index = arena_raw(a, sizeof *index * ((size_t)graph->id + 1));
    k->start = arena_raw(a, sizeof *k->start * ((size_t)k->topo.n + 1));
    put(a, w, k->topo.n);
    for (uint32_t i = 0; i < k->topo.n; i++) {
        const uop *n = k->topo.p[i];
        index[n->id] = i;
        k->start[i] = w->n;
        put(a, w, n->op | (uint32_t)n->dt << 16 | (uint32_t)n->lanes << 24);
        put(a, w, n->nsrc);
        for (uint32_t s = 0; s < n->nsrc; s++) put(a, w, index[n->src[s]->id]);
        put_arg(a, w, ir, n);
    }
    k->start[k->topo.n] = w->n;
}

/* Could source s of n be an rg_index instead of a number? The start of an axis of a box. */
static bool is_start(const uop *n, uint32_t s) {
    uint32_t first = n->op == OP_SHRINK ? 1 : n->op == OP_ASSIGN ? 2 : UINT32_MAX;
    return s >= first && (s - first) % 3 == 0;
}

/* Marks by id of the CONSTs that are sizes, axes, steps .. of some node. */
static const uint8_t *find_sizes(struct arena *a, const struct plan_key *k, uint32_t ids) {
    uint8_t *size = arena_alloc(a, ids);
    for (uint32_t i = 0; i < k->topo.n; i++) {
        const uop *n = k->topo.p[i];
        for (uint32_t s = 0; s < n->nsrc; s++)
            if (n->src[s]->op == OP_CONST && n->src[s]->dt == DT_IDX && !is_start(n, s))
                size[n->src[s]->id] = 1;
    }
    return size;
}

/* Of all words but the values of CONSTs that could be scalars. */
static uint64_t hash_skeleton(struct arena *a, const struct plan_key *k, uint32_t ids) {
    uint64_t h = hash_bytes(k->p, k->start[0] * sizeof *k->p, 2);
    const uint8_t *size = find_sizes(a, k, ids);
    for (uint32_t i = 0; i < k->topo.n; i++) {
        const uop *c = k->topo.p[i];
        uint32_t n = c->op == OP_CONST && !size[c->id] ? 2 : k->start[i + 1] - k->start[i];
        h = hash_bytes(k->p + k->start[i], n * sizeof *k->p, h);
    }
    return h;
}

/* Settings that say where and how long things are kept: a plan is the same wherever its file is. */
static bool is_storage(enum env_id id) {
    return id == ENV_CACHE || id == ENV_CACHE_DIR || id == ENV_CACHE_MB || id == ENV_PLANS ||
           id == ENV_KERNELS || id == ENV_CC_TIMEOUT || id == ENV_PROFILE || id == ENV_FLIGHT;
}

static void put_settings(struct arena *a, words *w, const struct engine *en) {
    put64(a, w, en->plans.model_hash);
    put(a, w, (uint32_t)en->ops->workers(en->dev));
    put_text(a, w, en->ops->name);
    const struct engine_planning *how = &en->plans.planning;
    put(a, w, en->plans.planning_set ? 1u | (uint32_t)how->no_multi << 1 | (uint32_t)how->mode << 2 : 0);
    put(a, w, (uint32_t)how->rank);
    put64(a, w, (uint64_t)en->plans.temp_limit);
    for (int id = 0; id < ENV_COUNT; id++)
        if (!is_storage((enum env_id)id)) put_text(a, w, env_str((enum env_id)id)); /* numbers as text, too */
}

void plan_key(struct arena *a, const struct engine *en, const struct ir *ir, const uop *graph,
              struct plan_key *out) {
    words w = {0};
    *out = (struct plan_key){0};
    put_settings(a, &w, en);
    put_graph(a, &w, ir, graph, out);
    out->p = w.p;
    out->n = w.n;
    out->hash = hash_bytes(w.p, w.n * sizeof *w.p, 1);
    out->skeleton = hash_skeleton(a, out, graph->id + 1);
}
