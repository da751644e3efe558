/* plan_cache.c: the plans an engine knows.
 *
 * A plan is everything about a tensor program that does not change from call to call: its commands, which of their
 * buffers is what, its figures. It is found by its whole key (key.c), kept until it is the one not used for longest
 * among too many or too large ones, and owns its memory: one arena, one command list, one block of task tables.
 * Temporaries belong to the engine, because plans run one after another: one block, as large as the neediest plan
 * so far; a plan whose temporaries moved is bound anew.
 * Compiled kernels are counted by the lists that call them, and go by use as well (kernel_cache.c).
 * Tests: tests/unit/realize.c (realize_evicts, realize_out_of_memory) */
#include "engine/internal.h"
#include "event/event.h"

#define KEEP_BYTES ((size_t)256 << 20)
#define SAY_NUMBERS 8 /* plans that differ only in a number */

void plans_init(struct engine *en) {
    struct plan_cache *p = &en->plans;
    arena_init(&p->work, &en->err);
    p->most = (uint32_t)RG_MAX(RG_MIN(env_int(ENV_PLANS), UINT32_MAX), 0);
    p->most_bytes = KEEP_BYTES;
}

static void drop_temp(struct engine *en) {
    engine_free(en, en->plans.temp, en->plans.temp_bytes);
    en->plans.temp = NULL;
    en->plans.temp_bytes = 0;
}

void plans_free(struct engine *en) {
    struct plan_cache *p = &en->plans;
    for (struct exec_plan *x = p->newest, *older; x; x = older) {
        older = x->older;
        plan_free(en, x);
    }
    drop_temp(en);
    arena_free(&p->work);
    mem_free(p->model_from);
    *p = (struct plan_cache){0};
}

/* ---- the machine model ---------------------------------------------------------------------------------- */

int plans_model(struct engine *en, struct err *e) {
    struct plan_cache *p = &en->plans;
    const char *path = env_str(ENV_MODEL);
    if (!path) path = "";
    if (p->model_from && !strcmp(p->model_from, path)) return 0;
    struct model m, planned;
    struct event_span span = event_begin(EVENT_PLAN, event_name("machine model"));
    if (*path || !en->ops->info || engine_on_cpu(en)) {
        if (model_open(e, &p->work, &m) || model_open_for_plans(e, &p->work, &planned))
            return e->code; /* may throw: nothing is held */
    } else {
        struct model_gpu g = engine_reported(en);
        model_guess_gpu(&m, &g);
        planned = m;
    }
    event_end(span, 0, 0);
    char *from = mem_alloc(strlen(path) + 1);
    if (!from) return err_set(e, RG_ENOMEM, "out of memory while opening the machine model");
    strcpy(from, path);
    mem_free(p->model_from);
    p->model_from = from;
    p->model = m;
    p->planned = planned;
    p->model_hash = model_hash(&planned);
    return 0;
}

const struct model *engine_model(struct engine *en, struct err *e) {
    return plans_model(en, e) ? NULL : &en->plans.model;
}

void engine_set_temp_limit(struct engine *en, int64_t bytes) { en->plans.temp_limit = bytes; }

void engine_set_planning(struct engine *en, const struct engine_planning *how) {
    en->plans.planning_set = how != NULL;
    en->plans.planning = how ? *how : (struct engine_planning){0};
}

/* ---- finding and keeping ---------------------------------------------------------------------------------- */

static struct exec_plan **bucket(struct plan_cache *p, uint64_t hash) {
    return &p->bucket[hash % RG_COUNT(p->bucket)];
}

static void link_newest(struct plan_cache *p, struct exec_plan *x) {
    x->newer = NULL;
    x->older = p->newest;
    *(p->newest ? &p->newest->newer : &p->oldest) = x;
    p->newest = x;
}

static void unlink_use(struct plan_cache *p, struct exec_plan *x) {
    *(x->newer ? &x->newer->older : &p->newest) = x->older;
    *(x->older ? &x->older->newer : &p->oldest) = x->newer;
}

struct exec_plan *plans_find(struct engine *en, const struct plan_key *k) {
    struct plan_cache *p = &en->plans;
    struct exec_plan *x = p->most ? *bucket(p, k->hash) : NULL;
    while (x && (x->key.hash != k->hash || x->key.n != k->n || memcmp(x->key.p, k->p, k->n * sizeof *k->p)))
        x = x->chain;
    if (x && x != p->newest) {
        unlink_use(p, x);
        link_newest(p, x);
    }
    return x;
}

/* Counted along the chain of newest plans; said once, when it has happened often enough to be no accident. */
const uop *plans_changing(struct engine *en, const struct plan_key *k, struct exec_plan *made) {
    const struct exec_plan *x = en->plans.newest;
    while (x && (x->key.skeleton != k->skeleton || x->key.n != k->n)) x = x->older;
    if (!x) return NULL;
    made->numbers = x->numbers + 1;
    if (made->numbers != SAY_NUMBERS) return NULL;
    for (uint32_t i = 0; i < k->topo.n; i++) {
        size_t bytes = (k->start[i + 1] - k->start[i]) * sizeof *k->p;
        if (memcmp(k->p + k->start[i], x->key.p + k->start[i], bytes)) return k->topo.p[i];
    }
    return NULL;
}

struct changing {
    struct engine *en;
    const uop *number;
    const char *site;
};

static void add_warning(void *arg) {
    const struct changing *x = arg;
    bool flt = dt_is_float((enum dtype)x->number->dt);
    size_t from = x->en->warnings.n;
    str_printf(&x->en->warnings,
               "a program was planned and compiled again and again because a number in it changes (now "
               "%.9g)%s%s%s; make it "
               "an rg_scalar or rg_index\n",
               flt ? x->number->arg.f : (double)x->number->arg.i, *x->site ? " [" : "", x->site,
               *x->site ? "]" : "");
    warn_line("%.*s", (int)(x->en->warnings.n - from - 1), x->en->warnings.p + from);
}

void plans_warn_changing(struct engine *en, const uop *number, const char *site) {
    struct changing x = {en, number, site};
    err_clear(&en->err);
    err_guard(&en->err, add_warning, &x); /* out of memory: not said */
    err_clear(&en->err);
}

struct exec_plan *plan_new(struct engine *en, struct err *e) {
    struct exec_plan *x = mem_alloc(sizeof *x);
    if (!x) {
        err_set(e, RG_ENOMEM, "out of memory while making a plan");
        return NULL;
    }
    memset(x, 0, sizeof *x);
    arena_init_small(&x->arena, e);
    if (en->ops->kind == DEV_RUNS && !(x->list = engine_list_new(en, e))) {
        mem_free(x);
        return NULL;
    }
    return x;
}

void plan_free(struct engine *en, struct exec_plan *x) {
    if (!x) return;
    engine_list_free(x->list);
    engine_free(en, x->table, x->table_bytes);
    arena_free(&x->arena);
    mem_free(x);
}

static size_t bytes_of(const struct exec_plan *x) {
    return sizeof *x + x->arena.reserved + x->table_bytes + (x->list ? x->list->arena.reserved : 0);
}

static void drop(struct engine *en, struct exec_plan *x) {
    struct plan_cache *p = &en->plans;
    struct exec_plan **at = bucket(p, x->key.hash);
    while (*at != x) at = &(*at)->chain;
    *at = x->chain;
    unlink_use(p, x);
    costs_take(en, x);
    if (p->latest == x) p->latest = NULL;
    p->n--;
    p->bytes -= x->bytes;
    p->evicted++;
    plan_free(en, x);
}

void plans_keep(struct engine *en, struct exec_plan *x) {
    struct plan_cache *p = &en->plans;
    struct exec_plan **at = bucket(p, x->key.hash);
    x->chain = *at;
    *at = x;
    link_newest(p, x);
    p->n++;
    p->bytes += x->bytes = bytes_of(x);
    for (struct exec_plan *old = p->oldest, *newer; old && old != x; old = newer) {
        newer = old->newer;
        if (p->n <= p->most && p->bytes <= p->most_bytes) break;
        if (!old->held) drop(en, old);
    }
    kernels_trim(en);
}

/* What the old block held is of no use to anyone: it goes first, so that the two need not fit at once. */
int plans_temp(struct engine *en, struct err *e, size_t bytes) {
    struct plan_cache *p = &en->plans;
    if (p->temp && en->ops->forget) en->ops->forget(en->dev, p->temp, p->temp_bytes);
    if (bytes <= p->temp_bytes) return 0;
    drop_temp(en);
    p->temp = engine_alloc_for(en, e, bytes, owner_name(EVENT_MEM_PLAN, bytes, "values between kernels"));
    if (!p->temp) return e->code;
    p->temp_bytes = bytes;
    return 0;
}
