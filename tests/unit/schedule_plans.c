/* Are plans good? Random programs: never worse than storing everything or fusing everything, on real kernels and
 * prices; on small regions equal to the best of all plans, which separate code lists. */
#include "planned.h"
#include "search_util.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>

#if defined RIDGE_DEBUG_BUILD || defined __SANITIZE_THREAD__
enum { SEEDS_EACH = 60 };
#else
enum { SEEDS_EACH = 400 }; /* SEEDS=5000: all 10,000 */
#endif

struct tally {
    struct err err;
    struct arena arena;
    struct ir ir;
    uint64_t seed;
    struct graph_gen gen;
    struct sched_opts opts;
    uint64_t regions, worse, small, equal, skipped;
    double gap, gain; /* the worst; sum of logarithms against the better baseline */
    uint32_t most;    /* nodes that may be stored in a region that is listed */
};

static void look(void *cx, const struct plan_problem *p, const struct plan_result *r) {
    struct tally *t = cx;
    double base = RG_MIN(r->store_all, r->fuse_all);
    t->regions++;
    t->worse += r->seconds > base * (1 + 1e-9);
    if (isfinite(base)) t->gain += log(base / r->seconds);
    uint32_t storable = 0;
    for (uint32_t i = 0; i < p->n; i++) storable += p->forced[i] != 2;
    if (!t->most) return;
    if (storable > t->most || storable < 2) {
        t->skipped++;
        return;
    }
    struct exhaust *x = calloc(1, sizeof *x);
    double best = exhaust(p, x);
    free(x);
    t->small++;
    t->equal += r->seconds <= best * (1 + 1e-6);
    t->gap = RG_MAX(t->gap, r->seconds / best - 1);
}

static void plan_one(void *arg) {
    struct tally *t = arg;
    struct schedule s;
    ir_init(&t->ir, &t->arena);
    schedule(&t->arena, &t->ir, graph_random(&t->ir, &t->arena, t->seed, &t->gen), &t->opts, &s);
}

static bool plan_many(struct tally *t, uint64_t first, uint32_t n) {
    for (t->seed = first; t->seed < first + n; t->seed++) {
        arena_init(&t->arena, &t->err);
        t->opts.model = planned_model(), t->opts.inspect = look, t->opts.inspect_cx = t;
        int code = err_guard(&t->err, plan_one, t);
        if (code) fprintf(stderr, "seed %llu: %s\n", (unsigned long long)t->seed, t->err.msg);
        arena_free(&t->arena);
        if (code) return false;
    }
    return true;
}

TEST(schedule_plans_are_never_worse_than_both_baselines) {
    struct tally t = {.gen = {.max_elements = 1 << 20, .assigns = true}};
    CHECK(plan_many(&t, 1, getenv("SEEDS") ? (uint32_t)atoi(getenv("SEEDS")) : SEEDS_EACH));
    struct tally u = {.gen = {.max_elements = 4096}};
    CHECK(plan_many(&u, 100001, getenv("SEEDS") ? (uint32_t)atoi(getenv("SEEDS")) : SEEDS_EACH));
    TEST_INFO(
        "%llu regions: %llu plans worse than a baseline; %.2f x faster than the better one (geometric mean)",
        (unsigned long long)(t.regions + u.regions), (unsigned long long)(t.worse + u.worse),
        exp((t.gain + u.gain) / (double)(t.regions + u.regions)));
    CHECK_EQ(t.worse + u.worse, 0);
}

TEST(schedule_plans_of_small_regions_are_the_best_there_are) {
    struct tally t = {.gen = {.max_elements = 1 << 20, .min_ops = 2, .max_ops = 6}, .most = 7};
    uint32_t seeds = getenv("SEEDS") ? (uint32_t)atoi(getenv("SEEDS")) : 300;
    CHECK(plan_many(&t, 200001, seeds));
    TEST_INFO("%llu regions of 2 to 7 stores: %llu plans equal to the best of all, worst gap %.1f %%",
              (unsigned long long)t.small, (unsigned long long)t.equal, t.gap * 100);
    CHECK(t.small * 3 > seeds);
    CHECK(t.equal * 100 >= t.small * 95);
}
