/* Tests of src/engine/ceilings.c: that everything is measured and plausible, that the file round-trips, the arithmetic of uses.
 * Speeds themselves are no condition: the machine may be busy. */
#include "engine/engine.h"
#include "test.h"

#include <math.h>
#include <sched.h>

static struct err err;
static struct arena arena;

TEST(ceilings_uses_of_round_numbers) {
    struct model m = {.name = "round"};
    for (int f = 0; f < MODEL_FIELDS; f++) m.theory[f] = 1;
    m.theory[MODEL_CORES] = 4;
    m.theory[MODEL_CLOCK] = 2;
    m.theory[MODEL_FLOPS_F32] = 32;   /* 32 G FMAs a second */
    m.theory[MODEL_L1_RATE] = 64;     /* 16 G values */
    m.theory[MODEL_DRAM_READ] = 51.2; /* 12.8 G values for 4 cores */
    CHECK_NEAR(ceilings_uses(&m, MODEL_FLOPS_F32, 4, MODEL_L1_RATE), 2, 1e-12);
    CHECK_NEAR(ceilings_uses(&m, MODEL_FLOPS_F32, 4, MODEL_DRAM_READ), 10, 1e-12);
    CHECK_NEAR(ceilings_uses(&m, MODEL_FLOPS_F32, 2, MODEL_L1_RATE), 1, 1e-12);
}

/* What every machine has must have been measured, and be within what any machine could do. Not launches: on a busy machine the model
 * keeps its guess of them. */
static void check_model(const struct model *m) {
    static const enum model_field all[] = {MODEL_CLOCK,     MODEL_FLOPS_F64, MODEL_FLOPS_F32,
                                           MODEL_OPS_INT,   MODEL_L1_RATE,   MODEL_L2_RATE,
                                           MODEL_DRAM_CORE, MODEL_DRAM_READ, MODEL_DRAM_COPY};
    for (size_t i = 0; i < RG_COUNT(all); i++)
        if (!(m->measured[all[i]] > 0)) FAIL("%s was not measured", model_key(all[i]));
    CHECK(m->measured[MODEL_CLOCK] < 10);
    CHECK(m->measured[MODEL_FLOPS_F32] <= 4096);
    CHECK(m->measured[MODEL_L1_RATE] < 10000);
}

TEST_SLOW(ceilings_of_this_machine, 120) {
    static struct ceilings c;
    struct model back;
    struct str s;
    cpu_set_t before, after;
    CHECK_EQ(sched_getaffinity(0, sizeof before, &before), 0);
    arena_init(&arena, &err);
    struct engine *en = engine_open(&err, &device_cpu);
    CHECK(en);
    if (engine_ceilings(en, &err, &arena, &c)) FAIL("%s", err.msg);
    engine_close(en);
    CHECK_EQ(sched_getaffinity(0, sizeof after, &after), 0);
    CHECK(CPU_EQUAL(&before, &after)); /* the thread may move again */
    CHECK_EQ(c.threads, os_cpus());
    CHECK(c.n > 10 && c.n <= RG_COUNT(c.row));
    for (uint32_t i = 0; i < c.n; i++) {
        const struct ceiling *r = &c.row[i];
        if (!(r->one > 0 && r->all > 0 && isfinite(r->one) && isfinite(r->all)))
            FAIL("%s: %g, %g", r->name, r->one, r->all);
        CHECK(r->spread >= 0 && r->how && r->unit[0]);
    }
#if defined(__aarch64__) || defined(__x86_64__)
    if (os_cpu()->vec_bytes > 16 || !strcmp(os_cpu()->arch, "aarch64")) check_model(&c.model);
#endif
    str_init(&s, &arena);
    model_print(&s, &c.model);
    if (model_parse(&err, &back, "measured", s.p, s.n)) FAIL("%s", err.msg);
    CHECK(model_hash(&back) == model_hash(&c.model));
    arena_free(&arena);
}
