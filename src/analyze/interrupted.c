/* interrupted.c: times in which a GPU runs another process while kernels of this one are under way.
 *
 * Processes share a GPU in time slices of about 2 ms, and the times that it notes for a kernel hold the time slices of the others. They show as
 * times in which no kernel begins or ends, longer than any kernel under way needs by what the same kernels take otherwise (their lower
 * quartile). Tests: tests/unit/phases.c */
#include "analyze/internal.h"

#include <stdlib.h>

enum {
    SLICE_NS = 500000, /* beyond what kernels need: less is their own scatter */
    LEAST_SLICES = 16, /* fewer say nothing */
    UNDER_WAY = 128,   /* kernels that a GPU runs at once */
};

struct call {
    uint64_t key; /* kernel and its work */
    int64_t ns, t0, t1, away;
    int64_t usual;
};
struct edge {
    int64_t t;
    uint32_t call;
    bool begins;
};
struct under_way {
    uint32_t call[UNDER_WAY], n;
};

static int by_kernel(const void *x, const void *y) {
    const struct call *a = x, *b = y;
    if (a->key != b->key) return a->key < b->key ? -1 : 1;
    return a->ns < b->ns ? -1 : a->ns > b->ns;
}

static int by_time(const void *x, const void *y) {
    const struct edge *a = x, *b = y;
    if (a->t != b->t) return a->t < b->t ? -1 : 1;
    return (int)a->begins - (int)b->begins; /* ends first */
}

static void find_usual(struct call *c, uint32_t n) {
    qsort(c, n, sizeof *c, by_kernel);
    for (uint32_t i = 0, j; i < n; i = j) {
        for (j = i + 1; j < n && c[j].key == c[i].key;) j++;
        for (uint32_t k = i; k < j; k++) c[k].usual = c[i + (j - i) / 4].ns;
    }
}

/* What kernels under way need at most, from this time on. */
static int64_t needed(const struct call *c, const struct under_way *u, int64_t now) {
    int64_t most = 0;
    for (uint32_t i = 0; i < u->n; i++) {
        const struct call *x = &c[u->call[i]];
        most = RG_MAX(most, x->usual - (now - x->t0 - x->away));
    }
    return most;
}

static void take_edge(struct under_way *u, const struct edge *e) {
    if (e->begins) {
        if (u->n < UNDER_WAY) u->call[u->n++] = e->call;
        return;
    }
    for (uint32_t i = 0; i < u->n; i++)
        if (u->call[i] == e->call) {
            u->call[i] = u->call[--u->n];
            return;
        }
}

static span_list find_slices(struct diag *d, struct call *c, const struct edge *e, uint32_t n) {
    span_list l = {0};
    struct under_way u = {.n = 0};
    for (uint32_t i = 0; i < n; i++) {
        int64_t from = i ? e[i - 1].t : e[i].t, more = u.n ? e[i].t - from - needed(c, &u, from) : 0;
        if (more >= SLICE_NS) {
            vec_push(&d->arena, &l, ((struct trace_span){e[i].t - more, e[i].t}));
            for (uint32_t k = 0; k < u.n; k++) c[u.call[k]].away += more;
        }
        take_edge(&u, &e[i]);
    }
    if (l.n < LEAST_SLICES) l.n = 0;
    return l;
}

/* The same kernel wherever it is called: slices may meet one call of every step. */
static uint64_t kernel_key(const struct trace *t, const struct trace_event *e) {
    const struct trace_kernel_args *a = trace_blob(t, e->args, sizeof *a);
    int64_t key[] = {e->name, a ? a->flops : 0, a ? a->bytes : 0};
    return hash_bytes(key, sizeof key, 1);
}

span_list ridge_interrupted(struct diag *d, const uint32_t *at, uint32_t n) {
    const struct trace *t = d->t;
    struct call *c = arena_array(&d->arena, struct call, n + 1);
    struct edge *e = arena_array(&d->arena, struct edge, 2 * (size_t)n + 1);
    uint32_t m = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct trace_event *x = &t->ev[at[i]];
        if (x->kind != TK_KERNEL) continue;
        c[m++] = (struct call){kernel_key(t, x), x->dur, x->t0, trace_end(x), 0, 0};
    }
    find_usual(c, m);
    for (uint32_t i = 0; i < m; i++) {
        e[2 * i] = (struct edge){c[i].t0, i, true};
        e[2 * i + 1] = (struct edge){c[i].t1, i, false};
    }
    qsort(e, 2 * (size_t)m, sizeof *e, by_time);
    return find_slices(d, c, e, 2 * m);
}
