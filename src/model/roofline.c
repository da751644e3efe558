/* roofline.c: how long a kernel takes at best, and what stops it from being faster.
 *
 * time = launch + max over units of work / rate. Units overlap perfectly in this picture, which is what a
 * good kernel achieves and a bad one is measured against. Work on different types shares the vector unit,
 * so their times are summed; so are those of the tensor cores.
 * Tests: tests/unit/model.c (roofline_*). */
#include "model.h"

static double value(const struct model *m, enum model_field f) { return model_value(m, f); }

/* Seconds for `ops` operations at `rate` per cycle on n cores. A unit that is not there falls back to
 * `other`, the rate of the unit that would do the work instead. */
static double compute(const struct model *m, double ops, enum model_field rate, enum model_field other,
                      double n) {
    double r = value(m, rate);
    if (!(r > 0)) r = value(m, other);
    return ops > 0 ? ops / (r * value(m, MODEL_CLOCK) * 1e9 * n) : 0;
}

/* Reading and writing have different roofs, and both are measured: at no writes, and at one byte written
 * per byte read. In between, the time per byte is taken as linear in the share of writes; beyond, flat. */
static double dram(const struct model *m, const struct model_work *w, double n) {
    double bytes = w->dram_read + w->dram_write;
    if (!(bytes > 0)) return 0;
    double mix = RG_MIN(2 * w->dram_write / bytes, 1);
    double read = 1 / value(m, MODEL_DRAM_READ), copy = 1 / value(m, MODEL_DRAM_COPY);
    double per_byte = read + mix * (copy - read);
    /* few cores cannot fill the bus: the roof of one core, scaled by the same mix */
    double alone = per_byte / read / (value(m, MODEL_DRAM_CORE) * n);
    return bytes * RG_MAX(per_byte, alone) * 1e-9;
}

static double cache(const struct model *m, double bytes, enum model_field rate, double n) {
    return bytes > 0 ? bytes / (value(m, rate) * 1e9 * n) : 0;
}

struct model_time model_time(const struct model *m, const struct model_work *w) {
    struct model_time t = {0};
    double cores = value(m, MODEL_CORES);
    double n = w->threads > 0 ? RG_MIN((double)w->threads, cores) : cores;
    t.by[UNIT_LAUNCH] = (value(m, MODEL_LAUNCH) + (n > 1 ? value(m, MODEL_FORK) : 0)) * 1e-9;
    t.by[UNIT_DRAM] = dram(m, w, n);
    t.by[UNIT_L3] = cache(m, w->l3, MODEL_L3_RATE, n);
    t.by[UNIT_L2] = cache(m, w->l2, MODEL_L2_RATE, n);
    t.by[UNIT_L1] = cache(m, w->l1, MODEL_L1_RATE, n);
    t.by[UNIT_F64] = compute(m, w->f64, MODEL_FLOPS_F64, MODEL_FLOPS_F64, n);
    t.by[UNIT_F32] = compute(m, w->f32, MODEL_FLOPS_F32, MODEL_FLOPS_F32, n);
    t.by[UNIT_F16] = compute(m, w->f16, MODEL_FLOPS_F16, MODEL_FLOPS_F32, n) +
                     compute(m, w->bf16, MODEL_FLOPS_BF16, MODEL_FLOPS_F32, n);
    t.by[UNIT_SPECIAL] = compute(m, w->special, MODEL_FLOPS_F32, MODEL_FLOPS_F32, n);
    for (int u = UNIT_F64; u < UNIT_COUNT; u++) t.by[UNIT_VECTOR] += t.by[u];
    t.by[UNIT_INTEGER] = compute(m, w->integer, MODEL_OPS_INT, MODEL_OPS_INT, n);
    t.by[UNIT_MATRIX] = compute(m, w->mat_bf16, MODEL_MATRIX_BF16, MODEL_FLOPS_BF16, n) +
                        compute(m, w->mat_i8, MODEL_MATRIX_I8, MODEL_OPS_INT, n);
    double work = 0;
    for (int u = 1; u < UNIT_F64; u++) {
        if (t.by[u] > t.by[t.limit]) t.limit = (enum model_unit)u;
        work = RG_MAX(work, t.by[u]);
    }
    t.seconds = t.by[UNIT_LAUNCH] + work;
    return t;
}

const char *model_unit_text(enum model_unit u) {
    static const char *const text[UNIT_COUNT] = {
#define X(unit, words) words,
        MODEL_UNITS(X)
#undef X
    };
    return u < UNIT_COUNT ? text[u] : "?";
}
