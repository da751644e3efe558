/* kernel_roof.c: how long a kernel takes at best, and how long each unit of the machine is busy with it.
 *
 * Two questions, both answered by the machine model. At best: what the kernel graph asks for, each operation and each distinct
 * byte once, by the fastest unit that could do it: launch + the slowest of arithmetic, caches and memory. In use: what the
 * program as it was lowered makes each unit do: recomputed values, addresses, every load from L1, and what comes into
 * each cache because it did not fit into the one below. A unit whose time is near that of the kernel is what
 * limits it; where the two answers differ, the kernel does work that the graph did not ask for.
 * Tests: tests/unit/kernels.c, tests/cli/debug.sh */
#include "engine/internal.h"
#include "event/event.h"

#define SPECIAL_FLOPS 16.0 /* what one exp, sine .. is counted as beside an addition */

static const char *bound_of(enum model_unit u) {
    switch (u) {
    case UNIT_LAUNCH: return "overhead";
    case UNIT_DRAM: return "memory";
    case UNIT_L3:
    case UNIT_L2:
    case UNIT_L1: return "cache";
    default: return "compute";
    }
}

/* The level of the hierarchy that holds `bytes` when the kernel begins. */
static double *level_of(struct model_work *w, const struct model *m, double bytes) {
    double l2 = model_value(m, MODEL_L2_SIZE) * w->threads, l3 = RG_MAX(model_value(m, MODEL_L3_SIZE), l2);
    return bytes > l3 ? &w->dram_read : bytes > l2 ? &w->l3 : &w->l2;
}

static struct model_work asked(const struct model *m, const struct estimate *e, int threads, double writes) {
    struct model_work w = {.threads = threads,
                           .f64 = e->asked[WORK_F64],
                           .f32 = e->asked[WORK_F32],
                           .f16 = e->asked[WORK_F16],
                           .integer = e->asked[WORK_INT],
                           .mat_bf16 = e->asked[WORK_MATRIX],
                           .special = (SPECIAL_FLOPS - 1) * e->special};
    *level_of(&w, m, e->bytes) = e->bytes;
    w.dram_write = w.dram_read * writes;
    w.dram_read -= w.dram_write;
    return w;
}

/* Special functions are among the operations issued, as the polynomials that they became: as many are taken off again as
 * they are counted as, at most all. */
static struct model_work issued(const struct model *m, const struct estimate *e, int threads, double writes) {
    double special = RG_MIN(SPECIAL_FLOPS * e->special, e->issued[WORK_F32]);
    struct model_work w = {.threads = threads,
                           .f64 = e->issued[WORK_F64],
                           .f32 = e->issued[WORK_F32] - special,
                           .f16 = e->issued[WORK_F16],
                           .integer = e->issued[WORK_INT],
                           .mat_bf16 = e->issued[WORK_MATRIX],
                           .special = special,
                           .l1 = e->bytes_issued};
    double into[3] = {e->into[0], e->into[1], e->into[2]}, first = RG_MAX(e->lines, e->bytes);
    double *from = level_of(&w, m, first);
    if (!into[0]) into[0] = into[1] = into[2] = first;
    if (from == &w.dram_read) w.dram_read = RG_MAX(into[2], first);
    if (from != &w.l2) w.l3 = RG_MAX(into[1], first);
    w.l2 = RG_MAX(into[0], first);
    w.dram_write = w.dram_read * writes;
    w.dram_read -= w.dram_write;
    return w;
}

void roof_find(const struct engine *en, double writes, struct kernel_call *c) {
    const struct model *m = &en->plans.model;
    const struct estimate *e = &c->k->est;
    int workers = en->ops->kind == DEV_RUNS ? en->ops->workers(en->dev) : (int)model_value(m, MODEL_CORES);
    bool alone = !en->ops->discrete && engine_chunk(c->k->grid, e, c->k->serial, workers) >= c->k->grid;
    int threads = alone ? 1 : workers;
    struct model_work least = asked(m, e, threads, writes), all = issued(m, e, threads, writes);
    struct model_time t = model_time(m, &least);
    c->roof = t.seconds;
    c->bound = bound_of(t.limit);
    c->use = model_time(m, &all);
}

/* What a profile keeps of it; units in ns. */
void roof_print(struct str *s, const struct kernel_call *c) {
    const struct estimate *e = &c->k->est;
    str_printf(s, "issued=%.0f moved=%.0f lines=%.0f int=%.0f", e->flops_issued, e->bytes_issued, e->lines,
               e->issued[WORK_INT]);
    for (int u = 0; u < UNIT_COUNT; u++)
        if (c->use.by[u] > 0)
            str_printf(s, " %s=%.0f", model_unit_text((enum model_unit)u), c->use.by[u] * 1e9);
    if (c->k->registers) str_printf(s, " registers=%u spills=%u", c->k->registers, c->k->spills);
}

/* What rg_machine_of says: the roofs of a profile's page are those of the machine file. */
void machine_tell(struct engine *en) {
    uint32_t file = event_record_file();
    const struct model *m = &en->plans.model;
    if (!file || file == en->machine_told || !en->plans.model_from) return;
    en->machine_told = file;
    double cycles = model_value(m, MODEL_CLOCK) * 1e9 * model_value(m, MODEL_CORES);
    char text[80];
    text_printf(text, sizeof text, "machine %.6g %.6g %.6g", model_value(m, MODEL_FLOPS_F32) * cycles,
                model_value(m, MODEL_DRAM_COPY) * 1e9, model_value(m, MODEL_MATRIX_BF16) * cycles);
    uint64_t now = os_now_ns();
    event_add(EVENT_NOTE, event_name(text), now, now, 0, 0);
}
