/* costs.c: what kernels cost, and what the machine can do: the engine's figures for the user.
 * Tests: tests/unit/jit.c (costs_*) */
#include "internal.h"

#include <stdlib.h>

struct cost_list {
    rg_kernel_cost *out;
    size_t room, n;
};

static int dearest_first(const void *a, const void *b) {
    const rg_kernel_cost *x = a, *y = b;
    return x->seconds > y->seconds ? -1 : x->seconds < y->seconds;
}

static void do_kernels(struct api_call *k) {
    struct cost_list *l = k->p;
    uint32_t n;
    const struct engine_cost *row = engine_costs(k->c->engine, &n);
    rg_kernel_cost *all = arena_array(&k->c->scratch, rg_kernel_cost, n + 1);
    for (uint32_t i = 0; i < n; i++)
        if (row[i].calls)
            all[l->n++] = (rg_kernel_cost){.name = row[i].name,
                                           .where = row[i].site,
                                           .calls = row[i].calls,
                                           .seconds = (double)row[i].ns * 1e-9,
                                           .ops = row[i].ops,
                                           .bytes = row[i].bytes,
                                           .roof = row[i].roof,
                                           .bound = row[i].bound};
    qsort(all, l->n, sizeof *all, dearest_first);
    for (size_t i = 0; i < RG_MIN(l->n, l->room); i++) l->out[i] = all[i];
}

size_t rg_kernels_at(const char *file, int line, rg_ctx *c, rg_kernel_cost *out, size_t room) {
    struct cost_list l = {out, out ? room : 0, 0};
    return !c || call_work(CALL(kernels, .c = c, .p = &l), do_kernels) ? 0 : l.n;
}

static void do_reset(struct api_call *k) { engine_costs_reset(k->c->engine); }

rg_status rg_kernels_reset_at(const char *file, int line, rg_ctx *c) {
    return c ? call_work(CALL(kernels_reset, .c = c), do_reset) : RG_EINVAL;
}

static void do_machine(struct api_call *k) {
    rg_machine *out = k->p;
    const struct model *m = engine_model(k->c->engine, &k->c->err);
    if (!m) err_throw(&k->c->err, k->c->err.code, "no machine model");
    double cores = model_value(m, MODEL_CORES), cycles = model_value(m, MODEL_CLOCK) * 1e9 * cores;
    *out = (rg_machine){
        .flops = model_value(m, MODEL_FLOPS_F32) * cycles,
        .half = model_value(m, MODEL_MATRIX_BF16) * cycles,
        .bytes = model_value(m, MODEL_DRAM_COPY) * 1e9,
        .threads = (int)cores,
    };
}

rg_status rg_machine_of_at(const char *file, int line, rg_ctx *c, rg_machine *out) {
    if (!c || !out) return RG_EINVAL;
    return call_work(CALL(machine_of, .c = c, .p = out), do_machine);
}
