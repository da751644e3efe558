/* search_cut.c: the seed of the fusion search that counts bytes only.
 *
 * If recomputing were free, the best values to store would be a minimum cut between what is in memory already and what must
 * be stored. Every node is two vertices with an edge between them (capacity 2 * bytes: written and read again; infinite where
 * it cannot be stored); uses have infinite capacity; inputs of the region come from the source with the bytes of reading them
 * once; stored outputs are the sink. Connected components of the region are cut independently by the same flow. The cut is
 * only a seed: the search prices it and improves it.
 *
 * The flow is Dinic's. Its steps are counted, and a graph that would take too long has no such seed: the count
 * depends on the graph alone, so plans stay reproducible. Tests: tests/unit/search.c */
#include "search.h"

#include <math.h>

#define STEPS_PER_EDGE 48
#define STEPS_MIN 100000

struct cut_edge {
    uint32_t to, next;
    double capacity;
};
struct flow {
    struct arena *a;
    uint32_t n;             /* vertices: in(v) = 2v, out(v) = 2v + 1, then source and sink */
    uint32_t *head;         /* first edge of a vertex, NONE ends */
    VEC(struct cut_edge) e; /* edge i runs back as i ^ 1 */
    uint32_t *dist, *at;
    u32_vec path;
    uint64_t steps, most;
};

static void edge(struct flow *f, uint32_t u, uint32_t v, double capacity) {
    vec_push(f->a, &f->e, ((struct cut_edge){v, f->head[u], capacity}));
    f->head[u] = f->e.n - 1;
    vec_push(f->a, &f->e, ((struct cut_edge){u, f->head[v], 0}));
    f->head[v] = f->e.n - 1;
}

/* Distances from the source through edges with capacity; false: the sink is unreachable, or the budget is spent. */
static bool levels(struct flow *f, uint32_t source, uint32_t sink) {
    for (uint32_t v = 0; v < f->n; v++) f->dist[v] = NONE, f->at[v] = f->head[v];
    f->path.n = 0;
    vec_push(f->a, &f->path, source);
    f->dist[source] = 0;
    for (uint32_t i = 0; i < f->path.n; i++) {
        uint32_t v = f->path.p[i];
        for (uint32_t k = f->head[v]; k != NONE; k = f->e.p[k].next) {
            const struct cut_edge *e = &f->e.p[k];
            f->steps++;
            if (!(e->capacity > 0) || f->dist[e->to] != NONE) continue;
            f->dist[e->to] = f->dist[v] + 1;
            vec_push(f->a, &f->path, e->to);
        }
    }
    return f->dist[sink] != NONE && f->steps < f->most;
}

/* Augments along the path and returns to its first saturated edge. */
static void push_path(struct flow *f) {
    double least = INFINITY;
    uint32_t cut = 0;
    for (uint32_t i = 0; i < f->path.n; i++) least = fmin(least, f->e.p[f->path.p[i]].capacity);
    for (uint32_t i = f->path.n; i-- > 0;) {
        struct cut_edge *e = &f->e.p[f->path.p[i]];
        if (e->capacity == least) cut = i;
        if (e->capacity < INFINITY) e->capacity -= least;
        f->e.p[f->path.p[i] ^ 1].capacity += least;
    }
    f->steps += f->path.n;
    f->path.n = cut;
}

/* A blocking flow, depth first; `at` remembers saturated edges. */
static void blocking(struct flow *f, uint32_t source, uint32_t sink) {
    uint32_t v = source;
    f->path.n = 0;
    while (f->steps < f->most) {
        if (v == sink) {
            push_path(f);
            v = f->path.n ? f->e.p[f->path.p[f->path.n - 1]].to : source;
            continue;
        }
        uint32_t k = f->at[v];
        while (k != NONE && !(f->e.p[k].capacity > 0 && f->dist[f->e.p[k].to] == f->dist[v] + 1))
            k = f->e.p[k].next, f->steps++;
        f->at[v] = k;
        if (k != NONE) {
            vec_push(f->a, &f->path, k);
            v = f->e.p[k].to;
        } else if (f->path.n) {
            v = f->e.p[f->path.p[--f->path.n] ^ 1].to;
            f->at[v] = f->e.p[f->at[v]].next;
        } else
            return;
        f->steps++;
    }
}

static void build(struct flow *f, const struct fusion_search *s, uint32_t source, uint32_t sink) {
    for (uint32_t v = 0; v < s->n; v++) {
        bool leaf = s->in.at[v] == s->in.at[v + 1];
        double bytes = RG_MAX(s->p->bytes[v], 0);
        if (s->p->forced[v] == 1)
            edge(f, 2 * v, sink, INFINITY);
        else
            edge(f, 2 * v, 2 * v + 1, is_free(s, v) ? 2 * bytes : INFINITY);
        if (leaf) edge(f, source, 2 * v, bytes);
        for (uint32_t i = s->in.at[v]; i < s->in.at[v + 1]; i++) {
            uint32_t u = s->in.of[i];
            if (s->p->forced[u] == 1)
                edge(f, source, 2 * v, RG_MAX(s->p->bytes[u], 0));
            else
                edge(f, 2 * u + 1, 2 * v, INFINITY);
        }
    }
}

bool cut_seed(struct fusion_search *s, uint8_t *want) {
    struct flow f = {.a = s->a, .n = 2 * s->n + 2};
    uint32_t source = 2 * s->n, sink = source + 1;
    f.head = arena_array(s->a, uint32_t, f.n);
    f.dist = arena_array(s->a, uint32_t, f.n);
    f.at = arena_array(s->a, uint32_t, f.n);
    for (uint32_t v = 0; v < f.n; v++) f.head[v] = NONE;
    build(&f, s, source, sink);
    f.most = STEPS_MIN + (uint64_t)STEPS_PER_EDGE * f.e.n;
    while (levels(&f, source, sink)) blocking(&f, source, sink);
    if (f.steps >= f.most) return false;
    for (uint32_t v = 0; v < s->n; v++)
        want[v] = is_free(s, v) && f.dist[2 * v] != NONE && f.dist[2 * v + 1] == NONE;
    return true;
}
