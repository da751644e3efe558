/* replay.c: a program that is run again and again.
 *
 * The plan of an engine_realize is held: it is not dropped however many others come, and a run binds and walks
 * its commands. On a device without plans (REF) the program itself is kept and evaluated again.
 * Tests: tests/semantics/jit.c, tests/unit/jit.c */
#include "engine/internal.h"

struct replay {
    struct engine *en;
    struct exec_plan *plan; /* or NULL, and then .. */
    struct err err;
    struct arena arena;
    struct ir ir;
    const uop *graph;
};

struct replay_program {
    struct replay *p;
    const struct realize *r;
};

static void keep_program(void *arg) {
    struct replay_program *k = arg;
    ir_init(&k->p->ir, &k->p->arena);
    k->p->graph = ir_import(&k->p->ir, k->r->ir, k->r->graph);
}

struct replay *engine_replay_new(struct engine *en, struct err *e, const struct realize *r) {
    struct replay *p = mem_alloc(sizeof *p);
    if (!p) {
        err_set(e, RG_ENOMEM, "out of memory while recording");
        return NULL;
    }
    memset(p, 0, sizeof *p);
    p->en = en;
    arena_init(&p->arena, &p->err);
    if (en->ops->kind == DEV_REF && err_guard(&p->err, keep_program, &(struct replay_program){p, r})) {
        err_set(e, p->err.code, "%s", p->err.msg);
        engine_replay_free(p);
        return NULL;
    }
    return p;
}

void engine_replay_hold(struct replay *p) {
    p->plan = p->en->plans.latest;
    if (p->plan) p->plan->held++;
}

void engine_replay_free(struct replay *p) {
    if (!p) return;
    if (p->plan) p->plan->held--;
    arena_free(&p->arena);
    mem_free(p);
}

int engine_replay_run(struct replay *p, struct err *e, void *const *buf, void *const *result,
                      const int64_t *var, struct realize_stats *stats) {
    struct realize r = {.ir = &p->ir, .graph = p->graph, .buf = buf, .result = result, .var = var};
    return p->plan ? plan_run(p->en, e, p->plan, &r, stats) : engine_realize(p->en, e, &r, stats);
}
