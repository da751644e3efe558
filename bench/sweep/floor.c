/* floor.c: the least time that a draw could take: a launch, and the longer of its bytes and its operations at the rates
 * that this machine was measured to have. Counted from the program, not from the plan. */
#include "sweep.h"
#include "device/device.h"
#include "engine/engine.h"

#include <math.h>

enum { TERMS = 8 };

/* A sum of f over different numbers: arithmetic is the limit. */
static rg_tensor term(enum function f, rg_tensor x) {
    switch (f) {
    case FN_EXP: return rg_exp(x);
    case FN_LOG: return rg_log(x);
    case FN_SIN: return rg_sin(x);
    case FN_TAN: return rg_tan(x);
    case FN_TANH: return rg_tanh(x);
    case FN_ERF: return rg_erf(x);
    case FN_POW: return rg_pow(x, rg_add(x, 0.5));
    case FN_SQRT: return rg_sqrt(x);
    case FN_DIV: return rg_div(1.5, x);
    case FN_ATAN: return rg_atan(x);
    case FN_ASIN: return rg_asin(x);
    case FN_SINH: return rg_sinh(x);
    case FN_ATANH: return rg_atanh(x);
    default: return rg_fmod(x, 0.3);
    }
}

struct probe {
    rg_ctx *c;
    rg_tensor x;
    enum function f;
};

static rg_status build_probe(void *user, const rg_tensor *none, rg_tensor *out) {
    struct probe *p = user;
    (void)none;
    if (p->f == FN_RANDOM) {
        int64_t n = rg_size(p->x);
        out[0] = rg_rand(p->c, rg_dtype_of(p->x), RG_LIST(&n, 1));
        return rg_status_of(p->c);
    }
    out[0] = p->f == FN_COUNT ? rg_add(p->x, 1) : term(p->f, p->x);
    for (int i = 1; i < TERMS && p->f < FN_COUNT; i++)
        out[0] = rg_add(out[0], term(p->f, rg_add(p->x, i * 0.01)));
    return rg_status_of(p->c);
}

static double probe_seconds(rg_ctx *c, const struct options *o, enum function f, rg_dtype dt, int64_t n) {
    double launches;
    rg_scope s = rg_begin(c);
    struct probe p = {.c = c, .f = f};
    p.x = rg_contiguous(rg_uniform(c, dt, 0.2, 0.8, RG_LIST(&n, 1)));
    rg_realize(p.x);
    rg_jit *j = rg_jit_new(c, build_probe, &p, 1);
    double t = work_time(c, j, o, &launches);
    rg_jit_free(j);
    rg_end(s);
    if (!rg_status_of(c)) return t;
    rg_clear_error(c);
    return 0;
}

static bool wide(rg_dtype dt) { return dt == RG_F64 || dt == RG_I64; }

void floor_functions(rg_ctx *c, const struct options *o, struct rates *r, const struct draw *d) {
    bool w = wide(d->dt);
    int64_t n = r->gpu ? 1 << 24 : 4096 * r->threads;
    for (int f = 0; f < FN_COUNT; f++) {
        if (!(d->row->functions >> f & 1) || r->function[f][w] > 0) continue;
        double t =
            probe_seconds(c, o, (enum function)f, w ? RG_F64 : RG_F32, n) - (f == FN_RANDOM ? 0 : r->launch);
        r->function[f][w] = t > 0 ? (double)n * (f == FN_RANDOM ? 1 : TERMS) / t : INFINITY;
    }
}

/* engine_ceilings is what `ridge ceilings` runs. */
int floor_measure(rg_ctx *c, const struct options *o, struct rates *r, struct err *e) {
    static struct ceilings measured;
    struct arena a;
    arena_init(&a, e);
    const struct device_ops *dev = device_find(e, o->device);
    struct engine *en = dev ? engine_open(e, dev) : NULL;
    const struct model *guess = en ? engine_model(en, e) : NULL;
    if (guess) r->model = *guess;
    if (guess && (o->plans || o->check)) {
        r->launch = 1e-9 * model_value(guess, MODEL_LAUNCH);
    } else if (guess && !engine_ceilings(en, e, &a, &measured)) {
        r->model = measured.model;
    } else if (guess) { /* what the planner believes */
        fprintf(stderr, "sweep: rates are not measured: %s\n", e->msg);
        *e = (struct err){0};
    }
    if (en) engine_close(en);
    arena_free(&a);
    if (e->code) return e->code;
    r->gpu = dev->discrete;
    r->threads = r->gpu ? 1 : pool_threads(pool_get());
    if (!o->plans && !o->check) r->launch = probe_seconds(c, o, FN_COUNT, RG_F32, 1);
    return 0;
}

/* Memory moves lines (sectors of a GPU): of these, what is read at random touches as many as differ, on average. */
static double bytes_touched(const struct rates *r, double bytes, double picks) {
    double line = r->gpu ? 32 : 64, lines = ceil(bytes / line);
    return RG_MIN(bytes, line * lines * -expm1(-picks / lines));
}

static double bytes_read(const struct rates *r, const struct draw *d) {
    double all = 0;
    for (int i = 0; i < d->n; i++) {
        const struct operand *x = &d->x[i];
        double n = operand_count(x);
        if (x->layout == BROADCAST) n /= (double)x->dim[x->axis];
        if (x->elements > 0) n = RG_MIN(n, x->elements);
        double bytes = n * (double)rg_dtype_size(x->dt),
               whole = operand_count(x) * (double)rg_dtype_size(x->dt);
        all += x->picks > 0 ? RG_MAX(bytes, bytes_touched(r, whole, x->picks)) : bytes;
    }
    return all;
}

static void count_bytes(const struct model *m, double in, double out, int threads, struct model_work *w) {
    double all = in + out, l1 = model_value(m, MODEL_L1_SIZE), l2 = model_value(m, MODEL_L2_SIZE);
    if (all <= 0.75 * l1 * threads)
        w->l1 = all;
    else if (all <= 0.75 * l2 * threads)
        w->l2 = all;
    else if (all <= 0.75 * model_value(m, MODEL_L3_SIZE))
        w->l3 = all;
    else
        w->dram_read = in, w->dram_write = out;
}

/* Rows on a CPU, as operations of FMAs in f32: the stages of a sorting network, where each element takes part in a minimum or
 * a maximum, at half the rate; or passes over digits of 11 bits, which store an element and its count in one clock. */
static double sort_ops(const struct rates *r, const struct draw *d) {
    const struct operand *x = &d->x[0];
    double size = (double)rg_dtype_size(d->dt), n = (double)(d->np > 1 ? d->p[1] : x->dim[d->p[0]]);
    double lg = ceil(log2(n)), stages = lg * (lg + 1) / 2 + (d->np > 1 && n < (double)x->dim[d->p[0]]);
    return operand_count(x) *
           RG_MIN(2 * stages * size / 4, ceil(8 * size / 11) * model_value(&r->model, MODEL_FLOPS_F32));
}

static void count_ops(const struct rates *r, const struct draw *d, struct model_work *w) {
    double ops = d->work * d->row->ops * (d->grad ? 1 + d->back : 1);
    bool mma = d->row->grad & PRODUCT;
    if (!r->gpu && !strcmp(d->row->family, "sort"))
        w->f32 = sort_ops(r, d);
    else if (!type_is_float(d->dt) && mma && d->dt == RG_I8)
        w->mat_i8 = ops;
    else if (!type_is_float(d->dt))
        w->integer = ops * (double)rg_dtype_size(d->dt) / 4;
    else if (d->dt == RG_F64)
        w->f64 = ops;
    else if (mma && (d->dt == RG_BF16 || (d->dt == RG_F16 && r->gpu)))
        w->mat_bf16 = ops;
    else
        w->f32 = ops;
}

void floor_of(const struct rates *r, const struct draw *d, double out_bytes, struct result *res) {
    double cores = model_value(&r->model, MODEL_CORES), in = bytes_read(r, d), best = INFINITY;
    for (int k = 0; k < (r->gpu || r->threads == 1 ? 1 : 2); k++) { /* all threads, then one */
        struct model_work w = {.threads = r->gpu ? (int)cores : k ? 1 : r->threads};
        double functions = 0;
        count_bytes(&r->model, in, out_bytes, w.threads, &w);
        count_ops(r, d, &w);
        struct model_time t = model_time(&r->model, &w);
        for (int f = 0; f < FN_COUNT; f++)
            if (d->row->functions >> f & 1 && r->function[f][wide(d->dt)] > 0) /* --plans measures none */
                functions +=
                    (d->calls > 0 ? d->calls : d->work) / r->function[f][wide(d->dt)] * (k ? r->threads : 1);
        double bytes = RG_MAX(RG_MAX(t.by[UNIT_DRAM], t.by[UNIT_L3]), RG_MAX(t.by[UNIT_L2], t.by[UNIT_L1]));
        double ops = t.by[UNIT_VECTOR] + t.by[UNIT_INTEGER] + t.by[UNIT_MATRIX];
        double all = r->launch + RG_MAX(bytes, ops + functions);
        if (!r->gpu && w.threads > 1) all += 1e-9 * model_value(&r->model, MODEL_FORK);
        if (all >= best) continue;
        best = all;
        res->floor = all, res->by_bytes = bytes, res->by_ops = ops, res->by_functions = functions;
    }
}
