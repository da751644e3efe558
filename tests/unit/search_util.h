/* search_util.h: for tests of the planner's search: all plans of a small problem, one by one, and a check of any plan.
 *
 * Both take a struct plan_problem, so they serve synthetic problems (search.c) and those of real tensor graphs alike.
 * They share nothing with src/schedule/search*.c but the contract. */
#ifndef RIDGE_TEST_SEARCH_UTIL_H
#define RIDGE_TEST_SEARCH_UTIL_H

#include "test.h"

#include "schedule/schedule.h"

#include <stdlib.h>

#define EXHAUST_MAX 10 /* nodes that can be stored */

struct exhaust {
    const struct plan_problem *p;
    uint32_t node[EXHAUST_MAX], m; /* those that can be stored */
    double *cost;                  /* [outputs as a mask][stored as a mask], NAN: not asked yet */
    uint64_t *reads;               /* the same: nodes read, as a mask */
    uint32_t group[EXHAUST_MAX];   /* the partition at hand, masks */
    uint8_t *stored;
    double best;
    uint32_t best_stored; /* mask */
    uint32_t best_group[EXHAUST_MAX], best_groups;
    uint64_t plans; /* complete ones that were looked at */
};

/* The stored nodes that a kernel of the outputs in `outs` reads, as a mask over x->node. */
static inline uint32_t exhaust_reads(struct exhaust *x, uint32_t outs) {
    uint32_t n = x->p->n, reads = 0;
    uint8_t *held = calloc(n + 1, 1);
    for (uint32_t i = 0; i < x->m; i++)
        if (outs >> i & 1) held[x->node[i]] = 1;
    for (uint32_t v = n; v-- > 0;) { /* a node is held if a reader of it is held and it is not stored */
        bool wanted = false;
        for (const uint32_t *u = x->p->use[v]; *u != UINT32_MAX; u++) wanted |= held[*u];
        if (!wanted || held[v]) continue;
        if (!x->stored[v]) {
            held[v] = 1;
            continue;
        }
        for (uint32_t i = 0; i < x->m; i++)
            if (x->node[i] == v) reads |= 1u << i;
    }
    free(held);
    return reads;
}

static inline double exhaust_cost(struct exhaust *x, uint32_t outs, uint32_t all) {
    double *c = &x->cost[(size_t)outs << x->m | all];
    if (!isnan(*c)) return *c;
    uint32_t out[EXHAUST_MAX], k = 0;
    for (uint32_t i = 0; i < x->m; i++)
        if (outs >> i & 1) out[k++] = x->node[i];
    *c = x->p->cost(x->p->cx, out, k, x->stored, NULL);
    x->reads[(size_t)outs << x->m | all] = exhaust_reads(x, outs);
    return *c;
}

static inline bool exhaust_acyclic(struct exhaust *x, uint32_t groups, uint32_t all) {
    bool edge[EXHAUST_MAX][EXHAUST_MAX] = {0}; /* by Warshall: no group reaches itself */
    for (uint32_t h = 0; h < groups; h++) {
        uint32_t reads = (uint32_t)x->reads[(size_t)x->group[h] << x->m | all];
        for (uint32_t g = 0; g < groups; g++) {
            if (g == h) continue;
            edge[g][h] = (reads & x->group[g]) != 0;
            for (uint32_t i = 0; i < x->p->nbefore; i++)
                for (uint32_t a = 0; a < x->m; a++)
                    for (uint32_t b = 0; b < x->m; b++)
                        if (x->p->before[i][0] == x->node[a] && x->p->before[i][1] == x->node[b])
                            edge[g][h] |= (x->group[g] >> a & 1) && (x->group[h] >> b & 1);
        }
    }
    for (uint32_t k = 0; k < groups; k++)
        for (uint32_t i = 0; i < groups; i++)
            for (uint32_t j = 0; j < groups; j++) edge[i][j] |= edge[i][k] && edge[k][j];
    for (uint32_t i = 0; i < groups; i++)
        if (edge[i][i]) return false;
    return true;
}

static inline void exhaust_split(struct exhaust *x, uint32_t left, uint32_t groups, uint32_t all,
                                 double sum) {
    if (sum >= x->best) return;
    if (!left) {
        x->plans++;
        if (!exhaust_acyclic(x, groups, all)) return;
        x->best = sum, x->best_stored = all, x->best_groups = groups;
        memcpy(x->best_group, x->group, sizeof x->group);
        return;
    }
    uint32_t first = left & -left, rest = left & ~first;
    for (uint32_t more = rest;; more = (more - 1) & rest) {
        if (!more || !x->p->no_multi) {
            x->group[groups] = first | more;
            exhaust_split(x, rest & ~more, groups + 1, all, sum + exhaust_cost(x, first | more, all));
        }
        if (!more) return;
    }
}

/* The cheapest plan of all stored sets and all partitions; INFINITY if none is legal, NAN if more than EXHAUST_MAX nodes
 * can be stored. */
static inline double exhaust(const struct plan_problem *p, struct exhaust *x) {
    *x = (struct exhaust){.p = p, .best = INFINITY};
    uint32_t forced = 0;
    for (uint32_t v = 0; v < p->n; v++) {
        if (p->forced[v] == 2) continue;
        if (x->m == EXHAUST_MAX) return NAN;
        if (p->forced[v] == 1) forced |= 1u << x->m;
        x->node[x->m++] = v;
    }
    size_t table = (size_t)1 << 2 * x->m;
    x->cost = malloc(table * sizeof *x->cost);
    x->reads = calloc(table, sizeof *x->reads);
    x->stored = calloc(p->n + 1, 1);
    for (size_t i = 0; i < table; i++) x->cost[i] = NAN;
    for (uint32_t all = 0; all < 1u << x->m; all++) {
        if ((all & forced) != forced) continue;
        for (uint32_t i = 0; i < x->m; i++) x->stored[x->node[i]] = all >> i & 1;
        exhaust_split(x, all, 0, all, 0);
    }
    free(x->cost), free(x->reads), free(x->stored);
    return x->best;
}

/* Fails unless the plan keeps every promise of the contract: forced nodes, numbers of kernels, legal kernels whose
 * times sum to the plan's, an order in which they can run. Near linear: for large plans too. */
static inline void plan_must_hold(const struct plan_problem *p, const struct plan_result *r) {
    uint32_t n = p->n, k = r->kernels;
    uint32_t *count = calloc(k + 2, sizeof *count), *list = calloc(n + 1, sizeof *list);
    for (uint32_t v = 0; v < n; v++) {
        CHECK(r->stored[v] <= 1 && (p->forced[v] != 1 || r->stored[v]) &&
              (p->forced[v] != 2 || !r->stored[v]));
        CHECK(r->stored[v] ? r->kernel[v] < k : r->kernel[v] == UINT32_MAX);
        if (r->stored[v]) count[r->kernel[v] + 1]++;
    }
    for (uint32_t i = 0; i < k; i++) {
        CHECK(count[i + 1] > 0 && (!p->no_multi || count[i + 1] == 1));
        count[i + 1] += count[i];
    }
    uint32_t *fill = malloc((k + 1) * sizeof *fill);
    memcpy(fill, count, (k + 1) * sizeof *fill);
    for (uint32_t v = 0; v < n; v++)
        if (r->stored[v]) list[fill[r->kernel[v]]++] = v;
    double sum = 0;
    for (uint32_t i = 0; i < k; i++)
        sum += p->cost(p->cx, list + count[i], count[i + 1] - count[i], r->stored, NULL);
    CHECK(sum < INFINITY);
    CHECK_NEAR(sum, r->seconds, 1e-9 * sum);
    /* inputs, to walk from a kernel to what it reads */
    uint32_t *at = calloc(n + 2, sizeof *at), edges = 0;
    for (uint32_t v = 0; v < n; v++)
        for (const uint32_t *u = p->use[v]; *u != UINT32_MAX; u++) at[*u + 1]++, edges++;
    for (uint32_t v = 0; v < n; v++) at[v + 1] += at[v];
    uint32_t *in = malloc((edges + 1) * sizeof *in), *put = malloc((n + 1) * sizeof *put);
    memcpy(put, at, (n + 1) * sizeof *put);
    for (uint32_t v = 0; v < n; v++)
        for (const uint32_t *u = p->use[v]; *u != UINT32_MAX; u++) in[put[*u]++] = v;
    /* depth first over kernels: state 1 is open, 2 done; meeting an open one is a cycle */
    VEC(uint32_t) dep = {0};
    uint32_t *dep_at = calloc(k + 2, sizeof *dep_at), *seen = calloc(n + 1, sizeof *seen);
    uint32_t *walk = malloc((n + 1) * sizeof *walk);
    struct err err = {0};
    struct arena arena;
    arena_init(&arena, &err);
    for (uint32_t i = 0; i < k; i++) {
        uint32_t top = 0;
        for (uint32_t j = count[i]; j < count[i + 1]; j++) seen[list[j]] = i + 1, walk[top++] = list[j];
        while (top) {
            uint32_t v = walk[--top];
            for (uint32_t e = at[v]; e < at[v + 1]; e++) {
                if (seen[in[e]] == i + 1) continue;
                seen[in[e]] = i + 1;
                if (r->stored[in[e]])
                    vec_push(&arena, &dep, r->kernel[in[e]]);
                else
                    walk[top++] = in[e];
            }
        }
        for (uint32_t b = 0; b < p->nbefore; b++) {
            uint32_t u = p->before[b][0], v = p->before[b][1];
            if (r->stored[u] && r->kernel[v] == i && r->kernel[u] != i) vec_push(&arena, &dep, r->kernel[u]);
        }
        dep_at[i + 1] = dep.n;
    }
    uint8_t *state = calloc(k + 1, 1);
    uint32_t *next = calloc(k + 1, sizeof *next), *stack = malloc((k + 1) * sizeof *stack);
    for (uint32_t i = 0; i < k; i++) {
        uint32_t top = 0;
        if (state[i]) continue;
        stack[top++] = i, state[i] = 1;
        while (top) {
            uint32_t x = stack[top - 1];
            if (dep_at[x] + next[x] == dep_at[x + 1]) {
                state[x] = 2, top--;
                continue;
            }
            uint32_t y = dep.p[dep_at[x] + next[x]++];
            CHECK(state[y] != 1);
            if (!state[y]) state[y] = 1, stack[top++] = y;
        }
    }
    arena_free(&arena);
    free(count), free(list), free(fill), free(at), free(in), free(put), free(dep_at), free(seen), free(walk);
    free(state), free(next), free(stack);
}

#endif
