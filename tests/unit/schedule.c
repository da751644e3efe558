/* Tests of src/schedule: what plans compute (random programs against the oracle, through the interpreter), and what
 * plans look like (kernels, reads, writes of programs whose best plan is known). */
#include "planned.h"
#include "test.h"

#include <stdlib.h>

struct one {
    struct err err;
    struct arena arena;
    struct ir ir;
    uint64_t seed;
    struct graph_gen gen;
    struct sched_opts opts;
    enum opts_from from;
    struct planned_run run;
    struct str why;
    uint64_t excluded, compared;
    bool ok;
};

static void one_run(void *arg) {
    struct one *o = arg;
    ir_init(&o->ir, &o->arena);
    str_init(&o->why, &o->arena);
    o->run = (struct planned_run){.arena = &o->arena, .ir = &o->ir, .opts = &o->opts, .from = o->from, .seed = o->seed};
    o->run.graph = graph_random(&o->ir, &o->arena, o->seed, &o->gen);
    o->run.data = graph_fill(&o->arena, &o->ir, o->run.graph, o->seed, o->gen.exact);
    planned_plan(&o->run);
    planned_memory(&o->run);
    planned_interpret(&o->run);
    o->ok = planned_check(&o->run, &o->why, &o->excluded, &o->compared);
}

/* Programs with seeds [first, first + n), two of three exact where floats are asked for: decisions that lie within the
 * error bound leave elements out, and those shall be few. False and a message at the first that is wrong. */
static bool many(uint64_t first, uint32_t n, struct graph_gen gen, struct sched_opts opts, enum opts_from from) {
    uint64_t excluded = 0, compared = 0;
    for (uint64_t seed = first; seed < first + n; seed++) {
        struct one o = {.seed = seed, .gen = gen, .opts = opts, .from = from};
        arena_init(&o.arena, &o.err);
        if (!o.opts.model) o.opts.model = planned_model();
        o.gen.exact = gen.exact || seed % 3;
        int code = err_guard(&o.err, one_run, &o);
        if (code || !o.ok) {
            struct str text;
            struct err was = o.err;
            err_clear(&o.err);
            str_init(&text, &o.arena);
            if (o.run.graph) ir_print(&text, &o.ir, o.run.graph);
            fprintf(stderr, "seed %llu: %s%s\n%s\n", (unsigned long long)seed, code ? was.msg : "", o.ok ? "" : o.why.p, text.p);
            arena_free(&o.arena);
            return false;
        }
        excluded += o.excluded, compared += o.compared;
        arena_free(&o.arena);
    }
    fprintf(stderr, "%u programs, %llu elements compared, %llu excluded\n", n, (unsigned long long)compared, (unsigned long long)excluded);
    return excluded * 100 <= compared;
}

static uint64_t first_seed(void) { return getenv("SEED") ? strtoull(getenv("SEED"), NULL, 10) : 1; }
static uint32_t count(uint32_t n) { return getenv("SEEDS") ? (uint32_t)atoi(getenv("SEEDS")) : n; }

TEST(schedule_random_exact) {
    CHECK(many(first_seed(), count(300), (struct graph_gen){.exact = true}, (struct sched_opts){0}, OPTS_NONE));
}

TEST(schedule_random_dtypes_assigns_vars) {
    struct graph_gen gen = {.exact = true, .all_dtypes = true, .assigns = true, .vars = true};
    CHECK(many(first_seed() + 1000, count(300), gen, (struct sched_opts){0}, OPTS_NONE));
}

TEST(schedule_random_floats) {
    struct graph_gen gen = {.vars = true};
    CHECK(many(first_seed() + 2000, count(300), gen, (struct sched_opts){0}, OPTS_NONE));
}

TEST(schedule_random_opts) {
    struct graph_gen gen = {.assigns = true, .vars = true};
    CHECK(many(first_seed() + 3000, count(300), gen, (struct sched_opts){0}, OPTS_RANDOM));
}

TEST(schedule_random_heuristic) {
    struct graph_gen gen = {.exact = true, .all_dtypes = true, .assigns = true};
    CHECK(many(first_seed() + 4000, count(300), gen, (struct sched_opts){0}, OPTS_HEURISTIC));
}

TEST(schedule_random_modes) {
    struct graph_gen gen = {.exact = true, .assigns = true};
    CHECK(many(first_seed() + 5000, count(100), gen, (struct sched_opts){.mode = PLAN_STORE_ALL}, OPTS_NONE));
    CHECK(many(first_seed() + 5000, count(100), gen, (struct sched_opts){.mode = PLAN_FUSE_ALL}, OPTS_NONE));
    CHECK(many(first_seed() + 5000, count(100), gen, (struct sched_opts){.no_multi = true}, OPTS_NONE));
    CHECK(many(first_seed() + 5000, count(100), gen, (struct sched_opts){.rank = 3}, OPTS_NONE));
}
