/* costs.c: what each kernel cost, summed over its calls.
 *
 * Running a command only adds to two counters of its plan. They are gathered into one table on request, or when
 * a plan is dropped; kernels of one code and one source line of the user's program are one row, whatever plan they belong to.
 * Rows stay as long as the engine: there are MOST_ROWS at most, and the last is of all that found no row of their own.
 * Tests: tests/unit/jit.c (costs_*) */
#include "engine/internal.h"

#define MOST_ROWS 8192

struct take {
    struct engine *en;
    struct exec_plan *x;
};

/* The last row: of all kernels beyond the others. */
static struct engine_cost *rest(struct engine *en) {
    struct cost_table *t = &en->costs;
    if (t->row.n < MOST_ROWS)
        vec_push(&en->arena, &t->row,
                 ((struct engine_cost){.name = "(other kernels)", .site = "", .bound = ""}));
    return &t->row.p[MOST_ROWS - 1];
}

static struct engine_cost *row_of(struct engine *en, const struct kernel_call *d) {
    struct cost_table *t = &en->costs;
    const char *name = d->k->name;
    uint64_t h = hash_bytes(name, strlen(name), 1), at;
    h = hash_bytes(d->site, strlen(d->site), h);
    if (map_get(&t->at, h, &at)) return &t->row.p[at - 1];
    if (t->row.n >= MOST_ROWS - 1) return rest(en);
    struct engine_cost row = {.name = arena_printf(&en->arena, "%s", name),
                              .site = arena_printf(&en->arena, "%s", d->site),
                              .bound = d->bound};
    vec_push(&en->arena, &t->row, row);
    map_put(&t->at, h, t->row.n);
    return &t->row.p[t->row.n - 1];
}

static void take(void *arg) {
    struct take *t = arg;
    for (uint32_t i = 0; t->x->list && i < engine_list_count(t->x->list); i++) {
        struct kernel_call *d = &t->x->call[i];
        if (!d->calls) continue;
        struct engine_cost *row = row_of(t->en, d);
        row->calls += d->calls;
        row->ns += d->ns;
        row->ops += (double)d->calls * d->k->est.flops;
        row->bytes += (double)d->calls * d->k->est.bytes;
        row->roof += (double)d->calls * d->roof;
        d->calls = d->ns = 0;
    }
}

void costs_take(struct engine *en, struct exec_plan *x) {
    if (!en->costs.at.arena) map_init(&en->costs.at, &en->arena);
    err_clear(&en->err);
    err_guard(&en->err, take, &(struct take){en, x}); /* out of memory: some rows are missing */
    err_clear(&en->err);
}

struct site_change {
    struct engine *en;
    struct kernel_call *call;
};

/* The table keeps the text: a plan that two lines use alternately must not grow. */
static void change_site(void *arg) {
    struct site_change *c = arg;
    c->call->site = row_of(c->en, c->call)->site;
}

void costs_site(struct engine *en, struct kernel_call *d, const char *site) {
    const char *old = d->site;
    d->site = site;
    err_clear(&en->err);
    if (err_guard(&en->err, change_site, &(struct site_change){en, d})) d->site = old;
    err_clear(&en->err);
}

const struct engine_cost *engine_costs(struct engine *en, uint32_t *n) {
    for (struct exec_plan *x = en->plans.newest; x; x = x->older) costs_take(en, x);
    *n = en->costs.row.n;
    return en->costs.row.p;
}

void engine_costs_reset(struct engine *en) {
    uint32_t n;
    engine_costs(en, &n);
    for (uint32_t i = 0; i < n; i++) {
        struct engine_cost *row = &en->costs.row.p[i];
        *row = (struct engine_cost){.name = row->name, .site = row->site, .bound = row->bound};
    }
}
