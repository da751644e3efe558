/* search_state.c: one plan of the fusion search and its bookkeeping.
 *
 * A plan is a set of stored nodes and a partition of them into kernels. A kernel's cone is found by walking from its
 * outputs to the stored nodes that it reads; the outputs and those reads determine the cone, so they are the key under
 * which its price is remembered (128 bits of sums of hashes: order does not matter and nothing is copied).
 *
 * Kernels form a graph: X runs before Y if Y reads what X stores, or if a `before` pair says so. `level` is a number
 * that grows along every edge. It is never recomputed as a whole: a new kernel gets one more than what it follows and
 * pushes up what follows it. Levels make the question "would joining these two close a cycle" cheap: only kernels
 * with a level between the two can lie on a path, and of equal levels none can.
 * Splitting kernels never closes a cycle, because the plan that stores every node alone has none (search_init checks
 * that); storing a node does not either, except through a `before` pair of that node, which on_cycle looks for.
 *
 * Invariants: between calls each stored node is an output of exactly one kernel and levels are valid. Marks are
 * epochs, so no walk clears an array. `work` counts nodes walked, the second budget of the search.
 * Tests: tests/unit/search.c */
#include "search.h"

#include <math.h>

#define WALK_MAX 50000 /* nodes that one reachability query may visit; beyond, the conservative answer */

/* ---- set-up -------------------------------------------------------------------------------------- */

static struct csr csr_new(struct arena *a, uint32_t n, const uint32_t *count) {
    struct csr c = {.at = arena_array(a, uint32_t, (size_t)n + 2)};
    for (uint32_t v = 0; v < n; v++) c.at[v + 2] = c.at[v + 1] + count[v];
    c.of = arena_array(a, uint32_t, c.at[n + 1]);
    return c; /* at[v + 1]: next free entry of v; after filling, at[v] is v's first */
}

static void csr_put(struct csr *c, uint32_t v, uint32_t x) { c->of[c->at[v + 1]++] = x; }

static void read_lists(struct fusion_search *s) {
    const struct plan_problem *p = s->p;
    uint32_t *count = arena_array(s->a, uint32_t, s->n);
    for (uint32_t v = 0; v < s->n; v++)
        for (const uint32_t *u = p->use[v]; *u != NONE; u++) {
            if (*u <= v || *u >= s->n)
                err_throw(s->err, RG_EINVAL,
                          "planner: node %u is used by node %u of %u; expected a topological order", v, *u,
                          s->n);
            count[*u]++;
        }
    s->in = csr_new(s->a, s->n, count);
    for (uint32_t v = 0; v < s->n; v++)
        for (const uint32_t *u = p->use[v]; *u != NONE; u++) csr_put(&s->in, *u, v);
    uint32_t *first = arena_array(s->a, uint32_t, s->n), *second = arena_array(s->a, uint32_t, s->n);
    for (uint32_t i = 0; i < p->nbefore; i++) {
        if (p->before[i][0] >= s->n || p->before[i][1] >= s->n)
            err_throw(s->err, RG_EINVAL, "planner: pair %u is (%u, %u), but there are %u nodes", i,
                      p->before[i][0], p->before[i][1], s->n);
        first[p->before[i][0]]++, second[p->before[i][1]]++;
    }
    s->pre = csr_new(s->a, s->n, second);
    s->post = csr_new(s->a, s->n, first);
    for (uint32_t i = 0; i < p->nbefore; i++) {
        csr_put(&s->pre, p->before[i][1], p->before[i][0]);
        csr_put(&s->post, p->before[i][0], p->before[i][1]);
    }
}

/* The i-th node that v must follow, NONE after the last. */
static uint32_t pred(const struct fusion_search *s, uint32_t v, uint32_t i) {
    uint32_t k = s->in.at[v + 1] - s->in.at[v];
    if (i < k) return s->in.of[s->in.at[v] + i];
    i -= k;
    return i < s->pre.at[v + 1] - s->pre.at[v] ? s->pre.of[s->pre.at[v] + i] : NONE;
}

/* Depth first, predecessors before the node: close to the given order, and equal to it without `before`. */
static void number_nodes(struct fusion_search *s) {
    s->pos = arena_array(s->a, uint32_t, s->n);
    uint32_t *next = arena_array(s->a, uint32_t, s->n), count = 0;
    uint8_t *state = arena_array(s->a, uint8_t, s->n); /* 1: open, 2: numbered */
    u32_vec stack = {0};
    for (uint32_t root = 0; root < s->n; root++) {
        if (state[root]) continue;
        vec_push(s->a, &stack, root);
        state[root] = 1;
        while (stack.n) {
            uint32_t v = stack.p[stack.n - 1], u = pred(s, v, next[v]++);
            if (u == NONE) {
                s->pos[v] = count++, state[v] = 2, stack.n--;
            } else if (state[u] == 1 && u != v) {
                err_throw(s->err, RG_EINVAL,
                          "planner: node %u must run before node %u and after it; expected `before` pairs "
                          "that agree with the uses",
                          u, v);
            } else if (!state[u]) {
                state[u] = 1;
                vec_push(s->a, &stack, u);
            }
        }
    }
}

static uint32_t find(uint32_t *up, uint32_t v) {
    while (up[v] != v) v = up[v] = up[up[v]];
    return v;
}

/* A value that is stored in every plan separates its producer from its readers. Constants and buffers (no inputs, not storable)
 * connect nothing. */
static void find_components(struct fusion_search *s) {
    s->component = arena_array(s->a, uint32_t, s->n);
    for (uint32_t v = 0; v < s->n; v++) s->component[v] = v;
    for (uint32_t v = 0; v < s->n; v++) {
        bool leaf = s->p->forced[v] == 2 && s->in.at[v] == s->in.at[v + 1];
        if (s->p->forced[v] == 1 || leaf) continue;
        for (const uint32_t *u = s->p->use[v]; *u != NONE; u++) {
            uint32_t a = find(s->component, v), b = find(s->component, *u);
            s->component[RG_MAX(a, b)] = RG_MIN(a, b);
        }
    }
    for (uint32_t v = 0; v < s->n; v++) s->component[v] = find(s->component, v);
}

void search_init(struct fusion_search *s, struct arena *a, struct err *err, const struct plan_problem *p) {
    *s = (struct fusion_search){.a = a, .err = err, .p = p, .n = p->n};
    map_init(&s->memo, a);
    read_lists(s);
    number_nodes(s);
    find_components(s);
    s->stored = arena_array(a, uint8_t, s->n);
    s->kern_of = arena_array(a, uint32_t, s->n);
    s->mark = arena_array(a, uint32_t, s->n);
    s->member = arena_array(a, uint32_t, s->n);
    s->fore = arena_array(a, uint32_t, s->n + p->nfar);
    s->back = arena_array(a, uint32_t, s->n);
    s->merged = arena_array(a, uint32_t, s->n);
    s->chain = arena_array(a, uint32_t, 2 * (size_t)s->n);
    s->max_evals = s->max_work = UINT64_MAX;
}

/* ---- cones and prices ---------------------------------------------------------------------------- */

void cone(struct fusion_search *s, const uint32_t *out, uint32_t k) {
    s->inner.n = s->reads.n = 0;
    s->lowest = NONE;
    s->epoch++;
    s->todo.n = 0;
    for (uint32_t i = 0; i < k; i++) {
        s->mark[out[i]] = s->member[out[i]] = s->epoch;
        s->lowest = RG_MIN(s->lowest, s->pos[out[i]]);
        vec_push(s->a, &s->todo, out[i]);
    }
    while (s->todo.n) {
        uint32_t v = s->todo.p[--s->todo.n];
        s->work++;
        for (uint32_t i = s->in.at[v]; i < s->in.at[v + 1]; i++) {
            uint32_t u = s->in.of[i];
            if (s->mark[u] == s->epoch) continue;
            s->mark[u] = s->epoch;
            if (s->stored[u]) {
                vec_push(s->a, &s->reads, u);
            } else {
                vec_push(s->a, &s->inner, u);
                vec_push(s->a, &s->todo, u);
            }
        }
    }
}

/* Pushes the predecessors of v in a backward walk; true: an output of the last cone is among them. */
static bool step_back(struct fusion_search *s, uint32_t v, bool uses) {
    for (uint32_t i = uses ? 0 : s->in.at[v + 1] - s->in.at[v], u; (u = pred(s, v, i)) != NONE; i++) {
        bool use = i < s->in.at[v + 1] - s->in.at[v];
        if (!use && (!s->stored[u] || !s->stored[v])) continue;
        if (s->member[u] == s->epoch) {
            if (uses) return true;
            continue; /* both ends inside the kernel: no constraint */
        }
        if (s->pos[u] <= s->lowest || s->back[u] == s->epoch) continue;
        s->back[u] = s->epoch;
        vec_push(s->a, &s->todo, u);
    }
    return false;
}

/* Does the kernel of the last cone depend on one of its own outputs? */
static bool is_cyclic(struct fusion_search *s, const uint32_t *out, uint32_t k) {
    s->todo.n = 0;
    for (uint32_t i = 0; i < s->reads.n; i++) {
        uint32_t u = s->reads.p[i];
        if (s->pos[u] <= s->lowest) continue;
        s->back[u] = s->epoch;
        vec_push(s->a, &s->todo, u);
    }
    for (uint32_t i = 0; i < k; i++) step_back(s, out[i], false);
    for (uint32_t steps = 0; s->todo.n; steps++) {
        uint32_t v = s->todo.p[--s->todo.n];
        s->work++;
        if (steps > WALK_MAX || step_back(s, v, true)) return true;
    }
    return false;
}

static uint64_t sum_hash(const uint32_t *v, uint32_t n, uint64_t salt) {
    uint64_t h = 0;
    for (uint32_t i = 0; i < n; i++) h += hash_u64(((uint64_t)v[i] << 8 ^ salt) * 0x9e3779b97f4a7c15u);
    return h;
}

static uint64_t statements_sum(const struct plan_problem *p, const uint32_t *v, uint32_t n) {
    uint64_t sum = p->statements ? 0 : n;
    for (uint32_t i = 0; i < n && p->statements; i++) sum += p->statements[v[i]];
    return sum;
}

/* Is the kernel of the last cone larger than any may be? Building it to be told so would cost more than most legal ones. */
static bool is_too_large(const struct fusion_search *s, const uint32_t *out, uint32_t k) {
    const struct plan_problem *p = s->p;
    if (p->most_outputs && k > p->most_outputs) return true;
    if (p->most_buffers && k + s->reads.n > p->most_buffers) return true;
    if (p->most_nodes && k + s->inner.n + s->reads.n > p->most_nodes) return true;
    return p->most_statements &&
           statements_sum(p, out, k) + statements_sum(p, s->inner.p, s->inner.n) > p->most_statements;
}

double price(struct fusion_search *s, const uint32_t *out, uint32_t k) {
    cone(s, out, k);
    /* whether a pair counts depends on what else is stored, so with pairs the key does not determine the answer */
    bool pairs = s->p->nbefore && k > 1;
    if (pairs && is_cyclic(s, out, k)) return INFINITY;
    uint64_t key = sum_hash(out, k, 1) + sum_hash(s->reads.p, s->reads.n, 2) * 3, at;
    uint64_t check = sum_hash(out, k, 3) + sum_hash(s->reads.p, s->reads.n, 4) * 5;
    bool known = map_get(&s->memo, key, &at);
    if (known && s->prices.p[at].check == check) return s->prices.p[at].seconds;
    double seconds = INFINITY;
    if (pairs || k == 1 || !is_cyclic(s, out, k)) {
        s->evals++;
        if (!is_too_large(s, out, k)) seconds = s->p->cost(s->p->cx, out, k, s->stored, NULL);
        if (!(seconds >= 0)) seconds = INFINITY;
    }
    if (known) return seconds; /* hash collision: not memoized */
    map_put(&s->memo, key, s->prices.n);
    vec_push(s->a, &s->prices, ((struct price_memo){check, seconds}));
    return seconds;
}

/* ---- the graph of kernels ------------------------------------------------------------------------- */

void walk_ahead(struct fusion_search *s) { s->fore_epoch++; }

static void meet(struct fusion_search *s, uint32_t id, u32_vec *v) {
    if (id == NONE || s->kern.p[id].seen == s->fore_epoch) return;
    s->kern.p[id].seen = s->fore_epoch;
    vec_push(s->a, v, id);
}

void users(struct fusion_search *s, uint32_t x, u32_vec *v, uint32_t most) {
    s->ahead.n = 0;
    vec_push(s->a, &s->ahead, x);
    while (s->ahead.n && v->n < most) {
        uint32_t w = s->ahead.p[--s->ahead.n];
        for (const uint32_t *u = s->p->use[w]; *u != NONE && v->n < most; u++) {
            s->work++;
            if (s->fore[*u] == s->fore_epoch) continue;
            s->fore[*u] = s->fore_epoch;
            if (s->stored[*u])
                meet(s, s->kern_of[*u], v);
            else
                vec_push(s->a, &s->ahead, *u);
        }
    }
}

/* The kernels that must follow `id`, without it. */
static void successors(struct fusion_search *s, uint32_t id, u32_vec *v) {
    const struct search_kernel *k = &s->kern.p[id];
    v->n = 0;
    walk_ahead(s);
    s->kern.p[id].seen = s->fore_epoch;
    for (uint32_t i = 0; i < k->k; i++) {
        users(s, k->out[i], v, NONE);
        for (uint32_t j = s->post.at[k->out[i]]; j < s->post.at[k->out[i] + 1]; j++)
            if (s->stored[s->post.of[j]]) meet(s, s->kern_of[s->post.of[j]], v);
    }
}

/* The kernels that must run before `id`: with repetitions, and perhaps `id` itself. */
static void predecessors(struct fusion_search *s, uint32_t id, u32_vec *v) {
    const struct search_kernel *k = &s->kern.p[id];
    v->n = 0;
    for (uint32_t i = 0; i < k->nread; i++)
        if (s->kern_of[k->read[i]] != NONE) vec_push(s->a, v, s->kern_of[k->read[i]]);
    for (uint32_t i = 0; i < k->k; i++)
        for (uint32_t j = s->pre.at[k->out[i]]; j < s->pre.at[k->out[i] + 1]; j++) {
            uint32_t u = s->pre.of[j];
            if (s->stored[u] && s->kern_of[u] != NONE && s->kern_of[u] != id)
                vec_push(s->a, v, s->kern_of[u]);
        }
    s->work += v->n;
}

uint32_t kern_add(struct fusion_search *s, const uint32_t *out, uint32_t k) {
    uint32_t id = s->kern.n;
    if (s->slots.n)
        id = s->slots.p[--s->slots.n];
    else
        vec_push(s->a, &s->kern, (struct search_kernel){0});
    cone(s, out, k);
    struct search_kernel *x = &s->kern.p[id];
    if (x->cap < k + s->reads.n) { /* a slot keeps its allocation */
        x->cap = (k + s->reads.n) * 2;
        x->out = arena_raw(s->a, x->cap * sizeof *x->out);
    }
    x->read = x->out + k;
    memcpy(x->out, out, k * sizeof *out);
    if (s->reads.n) memcpy(x->read, s->reads.p, s->reads.n * sizeof *out);
    x->k = k, x->nread = s->reads.n;
    x->level = 0, x->touched = s->round, x->untried = true, x->shifted = false;
    for (uint32_t i = 0; i < k; i++) s->kern_of[out[i]] = id;
    s->live++;
    return id;
}

void kern_drop(struct fusion_search *s, uint32_t id) {
    struct search_kernel *x = &s->kern.p[id];
    for (uint32_t i = 0; i < x->k; i++) s->kern_of[x->out[i]] = NONE;
    x->k = x->nread = 0;
    s->live--;
    vec_push(s->a, &s->slots, id);
}

void settle(struct fusion_search *s, uint32_t id) {
    u32_vec *list = &s->todo;
    predecessors(s, id, list);
    for (uint32_t i = 0; i < list->n; i++)
        s->kern.p[id].level = RG_MAX(s->kern.p[id].level, s->kern.p[list->p[i]].level + 1);
    s->queue.n = 0;
    vec_push(s->a, &s->queue, id);
    for (uint32_t head = 0; head < s->queue.n; head++) {
        uint32_t x = s->queue.p[head];
        successors(s, x, list);
        for (uint32_t i = 0; i < list->n; i++) {
            struct search_kernel *y = &s->kern.p[list->p[i]];
            if (y->level > s->kern.p[x].level) continue;
            y->level = s->kern.p[x].level + 1;
            vec_push(s->a, &s->queue, list->p[i]);
        }
    }
}

/* Walks from kernel `from` to its predecessors, through levels above `floor`; true if `goal` is reached other than as a direct
 * predecessor of `from` (or at all, where direct counts), or the walk exceeds WALK_MAX. */
static bool depends_on(struct fusion_search *s, uint32_t from, uint32_t goal, uint32_t floor, bool direct) {
    u32_vec *list = &s->todo;
    walk_ahead(s);
    s->queue.n = 0;
    vec_push(s->a, &s->queue, from);
    for (uint32_t head = 0; head < s->queue.n; head++) {
        uint32_t x = s->queue.p[head];
        predecessors(s, x, list);
        for (uint32_t i = 0; i < list->n; i++) {
            uint32_t y = list->p[i];
            if (y == goal && (direct || x != from)) return true;
            if (y == goal || s->kern.p[y].level <= floor || s->kern.p[y].seen == s->fore_epoch) continue;
            s->kern.p[y].seen = s->fore_epoch;
            vec_push(s->a, &s->queue, y);
        }
        if (s->queue.n > WALK_MAX) return true;
    }
    return false;
}

bool can_join(struct fusion_search *s, uint32_t a, uint32_t b) {
    uint32_t la = s->kern.p[a].level, lb = s->kern.p[b].level;
    if (la == lb) return true;
    return la < lb ? !depends_on(s, b, a, la, false) : !depends_on(s, a, b, lb, false);
}

bool on_cycle(struct fusion_search *s, uint32_t id) {
    u32_vec *list = &s->todo;
    walk_ahead(s);
    s->queue.n = 0;
    vec_push(s->a, &s->queue, id);
    for (uint32_t head = 0; head < s->queue.n; head++) {
        predecessors(s, s->queue.p[head], list);
        for (uint32_t i = 0; i < list->n; i++) {
            if (list->p[i] == id) return true;
            meet(s, list->p[i], &s->queue);
        }
        if (s->queue.n > WALK_MAX) return true; /* not known: assume a cycle */
    }
    return false;
}

uint32_t union_sorted(const uint32_t *a, uint32_t na, const uint32_t *b, uint32_t nb, uint32_t *out) {
    uint32_t i = 0, j = 0, k = 0;
    while (i < na || j < nb) out[k++] = j == nb || (i < na && a[i] < b[j]) ? a[i++] : b[j++];
    return k;
}

uint32_t join(struct fusion_search *s, uint32_t a, uint32_t b) {
    uint32_t k = s->kern.p[a].k + s->kern.p[b].k, level = RG_MAX(s->kern.p[a].level, s->kern.p[b].level);
    uint32_t *out = s->merged; /* the slots' own arrays are reused by kern_add */
    union_sorted(s->kern.p[a].out, s->kern.p[a].k, s->kern.p[b].out, s->kern.p[b].k, out);
    kern_drop(s, a);
    kern_drop(s, b);
    uint32_t id = kern_add(s, out, k);
    s->kern.p[id].level = level;
    settle(s, id);
    return id;
}

/* ---- whole plans ---------------------------------------------------------------------------------- */

/* Levels of all kernels; false if there is a cycle. */
static bool settle_all(struct fusion_search *s) {
    uint32_t *waits = arena_array(s->a, uint32_t, s->kern.n), done = 0;
    u32_vec *list = &s->todo;
    for (uint32_t id = 0; id < s->kern.n; id++) {
        successors(s, id, list);
        for (uint32_t i = 0; i < list->n; i++) waits[list->p[i]]++;
    }
    s->queue.n = 0;
    for (uint32_t id = 0; id < s->kern.n; id++)
        if (s->kern.p[id].k && !waits[id]) vec_push(s->a, &s->queue, id);
    for (; done < s->queue.n; done++) {
        successors(s, s->queue.p[done], list);
        for (uint32_t i = 0; i < list->n; i++) {
            struct search_kernel *y = &s->kern.p[list->p[i]];
            y->level = RG_MAX(y->level, s->kern.p[s->queue.p[done]].level + 1);
            if (--waits[list->p[i]] == 0) vec_push(s->a, &s->queue, list->p[i]);
        }
    }
    return done == s->live;
}

bool plan_load(struct fusion_search *s, const uint8_t *stored, const uint32_t *group) {
    for (uint32_t i = 0; i < s->kern.n; i++)
        if (s->kern.p[i].k) kern_drop(s, i);
    if (stored != s->stored) memcpy(s->stored, stored, s->n);
    for (uint32_t v = 0; v < s->n; v++) s->kern_of[v] = NONE;
    uint32_t *next = s->chain, *last = s->chain + s->n, *out = s->merged;
    memset(s->chain, 0, 2 * (size_t)s->n * sizeof *s->chain);
    for (uint32_t v = s->n; group && v-- > 0;)
        if (stored[v]) next[v] = last[group[v]], last[group[v]] = v + 1;
    for (uint32_t v = 0; v < s->n; v++) {
        if (!stored[v] || s->kern_of[v] != NONE) continue;
        uint32_t k = 0;
        if (group)
            for (uint32_t u = v + 1; u; u = next[u - 1]) out[k++] = u - 1;
        else
            out[k++] = v;
        uint32_t id = kern_add(s, out, k);
        s->kern.p[id].seconds = price(s, out, k);
    }
    return settle_all(s);
}

double plan_seconds(const struct fusion_search *s) {
    double sum = 0;
    for (uint32_t v = 0; v < s->n; v++)
        if (s->stored[v] && s->kern.p[s->kern_of[v]].out[0] == v) sum += s->kern.p[s->kern_of[v]].seconds;
    return sum;
}
