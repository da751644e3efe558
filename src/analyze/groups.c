/* groups.c: what a Ridge program cost, by kernel, function, line, module, shape or class.
 *
 * Device time counts twice, for two questions. `ns`: kernels whose work comes from there, wherever they were started; rows
 * sum to the time of all kernels. `total`: kernels that ran while a call from there was open; a call inside another one counts for
 * both. Host time is that of the user's calls: `host_total` from begin to end, `host` without the calls, kernels and copies
 * inside it. Calls have a function, a line and a module; other groups have no host time.
 * Tests: tests/unit/profile.c, tests/unit/profile_memory.c */
#include "analyze/internal.h"

#include <stdlib.h>

const char *group_text(int by) {
    static const char *const text[GROUPS] = {"kernel", "op", "line", "module", "shape", "class"};
    return by >= 0 && by < GROUPS ? text[by] : "?";
}

const char *sort_text(int sort) {
    static const char *const text[SORTS] = {"device", "total", "host", "calls", "memory", "flops", "bytes"};
    return sort >= 0 && sort < SORTS ? text[sort] : "?";
}

uint32_t group_name(struct diag *d, const struct kernel_row *k, int by) {
    switch (by) {
    case GROUP_OP: return k->op;
    case GROUP_LINE: return k->where;
    case GROUP_MODULE: return k->module;
    case GROUP_SHAPE: return k->shape;
    case GROUP_CLASS: return trace_intern(d->t, class_text(k->cls), strlen(class_text(k->cls)));
    default: return k->name;
    }
}

struct groups {
    struct diag *d;
    int by;
    VEC(struct group_row) row;
    struct map at;
};

static struct group_row *row_of(struct groups *g, uint32_t name) {
    uint64_t n = g->row.n;
    if (!map_get(&g->at, name, &n)) {
        map_put(&g->at, name, n);
        vec_push(&g->d->arena, &g->row, ((struct group_row){.name = name}));
    }
    return &g->row.p[n];
}

static void add_kernels(struct groups *g) {
    struct diag *d = g->d;
    for (uint32_t i = 0; i < d->kernels.n; i++) {
        const struct kernel_row *k = &d->kernels.p[i];
        struct group_row *r = row_of(g, group_name(d, k, g->by));
        r->count += k->count;
        r->ns += k->ns;
        r->flops += k->flops * k->count;
        r->bytes += k->bytes * k->count;
        if (k->modelled) r->roof_ns += k->roof * (double)k->ns, r->roof_of += k->ns;
    }
}

/* ---- calls ------------------------------------------------------------------------------------------------ */

/* 1 + the call that an event lies in. */
static uint32_t call_around(const struct trace *t, uint32_t link) {
    while (link && t->ev[link - 1].kind != TK_OP) link = t->ev[link - 1].link;
    return link;
}

static uint32_t call_name(struct groups *g, const struct trace_event *e) {
    struct trace *t = g->d->t;
    if (t->format != TRACE_RIDGE) /* another framework's operator; its args are shapes */
        return g->by == GROUP_OP     ? e->name
               : g->by == GROUP_LINE ? user_line(g->d, (uint32_t)(e - t->ev) + 1)
                                     : 0;
    const char *s = trace_str(t, g->by == GROUP_OP ? e->name : e->aux);
    if (g->by == GROUP_LINE) return e->args;
    if (g->by == GROUP_OP && !strncmp(s, "rg_", 3)) s += 3;
    return trace_intern(t, s, strcspn(s, "\t"));
}

/* To the group of every call around it, once each. */
static void add_total(struct groups *g, const uint32_t *name, uint32_t call, int64_t ns) {
    const struct trace *t = g->d->t;
    uint32_t seen[16], n = 0;
    for (; call; call = call_around(t, t->ev[call - 1].link)) {
        bool again = n == RG_COUNT(seen);
        for (uint32_t k = 0; k < n && !again; k++) again = seen[k] == name[call - 1];
        if (again) continue;
        seen[n++] = name[call - 1];
        row_of(g, name[call - 1])->total_ns += ns;
    }
}

static void add_calls(struct groups *g) {
    const struct trace *t = g->d->t;
    uint32_t *name = arena_array(&g->d->arena, uint32_t, t->n + 1);
    int64_t *inside = arena_array(&g->d->arena, int64_t, t->n + 1);
    for (uint32_t i = 0; i < t->n; i++)
        if (t->ev[i].kind == TK_OP) name[i] = call_name(g, &t->ev[i]);
    for (uint32_t i = 0; i < t->n; i++) {
        const struct trace_event *e = &t->ev[i];
        bool device = e->kind == TK_KERNEL || e->kind == TK_COPY;
        uint32_t call = device ? e->aux : e->kind == TK_OP ? call_around(t, e->link) : 0;
        if (!call) continue;
        if (!t->lanes.p[e->lane].async) inside[call - 1] += e->dur;
        if (e->kind == TK_KERNEL) add_total(g, name, call, e->dur);
    }
    for (uint32_t i = 0; i < t->n; i++) {
        const struct trace_event *e = &t->ev[i];
        if (e->kind != TK_OP) continue;
        struct group_row *r = row_of(g, name[i]);
        r->calls++;
        r->host_ns += RG_MAX(e->dur - inside[i], 0);
        bool again = false; /* inside a call of the same group: its time is in that one's */
        for (uint32_t c = call_around(t, e->link); c && !again; c = call_around(t, t->ev[c - 1].link))
            again = name[c - 1] == name[i];
        if (!again) r->host_total += e->dur;
    }
}

static void add_memory(struct groups *g) {
    const heap_rows *h = &g->d->heap.peak;
    for (uint32_t i = 0; i < h->n; i++) {
        const struct heap_row *x = &h->p[i];
        uint32_t name = g->by == GROUP_OP       ? x->op
                        : g->by == GROUP_LINE   ? x->where
                        : g->by == GROUP_MODULE ? x->module
                                                : x->shape;
        if (name) row_of(g, name)->memory += x->bytes;
    }
}

/* ---- order -------------------------------------------------------------------------------------------------- */

static double key_of(const struct group_row *r, int sort) {
    switch (sort) {
    case SORT_TOTAL: return (double)r->total_ns;
    case SORT_HOST: return (double)r->host_total;
    case SORT_CALLS: return (double)(r->count + r->calls);
    case SORT_MEMORY: return (double)r->memory;
    case SORT_FLOPS: return r->flops;
    case SORT_BYTES: return r->bytes;
    default: return (double)r->ns;
    }
}

static int dearest(const void *x, const void *y) {
    const struct group_row *a = x, *b = y;
    if (a->key != b->key) return a->key > b->key ? -1 : 1;
    if (a->ns != b->ns) return a->ns > b->ns ? -1 : 1;
    return a->name < b->name ? -1 : a->name > b->name;
}

uint32_t diag_group(struct diag *d, int by, int sort, struct group_row **rows) {
    struct groups g = {.d = d, .by = by};
    map_init(&g.at, &d->arena);
    add_kernels(&g);
    if (by == GROUP_OP || by == GROUP_LINE || by == GROUP_MODULE) add_calls(&g);
    if (by != GROUP_KERNEL && by != GROUP_CLASS) add_memory(&g);
    for (uint32_t i = 0; i < g.row.n; i++) g.row.p[i].key = key_of(&g.row.p[i], sort);
    if (g.row.n) qsort(g.row.p, g.row.n, sizeof *g.row.p, dearest);
    *rows = g.row.p;
    return g.row.n;
}
