/* work.c: one draw on the device: its result against REF's on a small problem of the same kind, then the first run and
 * the time of a replay of the whole one. */
#include "sweep.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

enum { OUTPUTS_MOST = OPERANDS_MOST + 1 };
#define CHECK_OPS 400000.0 /* of a problem that REF computes */
#define SLOW 0.4           /* seconds of a call that is timed once */

struct program {
    rg_ctx *c;
    const struct draw *d;
    rg_tensor base[OPERANDS_MOST], seed;
    bool zeros; /* values do not matter */
    int outputs;
};

/* ---- operands ---- */

static uint64_t mix(uint64_t z) {
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    return z ^ z >> 27;
}

static double value_of(const struct operand *x, uint64_t i) {
    static const struct {
        double lo, hi;
    } span[] = {[ANY] = {-2, 2},         [POSITIVE] = {0.1, 3},     [UNIT] = {-0.95, 0.95},
                [ABOVE_ONE] = {1.05, 5}, [NEAR_ONE] = {0.99, 1.01}, [PROBABILITY] = {0.02, 0.98},
                [TRUTH] = {0, 1.9999},   [INDEX] = {0, 0}};
    uint64_t bits = mix((i + 1) * 0x9e3779b97f4a7c15u);
    double u = (double)(bits >> 11) * 0x1p-53;
    if (x->values == INDEX) return floor(u * (double)x->bound);
    if (x->values == TRUTH || x->dt == RG_BOOL) return floor(u * 1.9999);
    if (type_is_float(x->dt)) return span[x->values].lo + (span[x->values].hi - span[x->values].lo) * u;
    double least = x->dt == RG_U8 ? 0 : -9;
    return floor(x->values == POSITIVE ? 1 + 9 * u : least + (10 - least) * u);
}

static void put_value(void *data, rg_dtype dt, size_t i, double v) {
    uint32_t bits;
    float f = (float)v;
    switch (dt) {
    case RG_F64: ((double *)data)[i] = v; break;
    case RG_F32: ((float *)data)[i] = f; break;
    case RG_F16: ((uint16_t *)data)[i] = f16_put(f); break;
    case RG_BF16:
        memcpy(&bits, &f, 4);
        ((uint16_t *)data)[i] = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
        break;
    case RG_I16: ((int16_t *)data)[i] = (int16_t)v; break;
    case RG_I32: ((int32_t *)data)[i] = (int32_t)v; break;
    case RG_I64: ((int64_t *)data)[i] = (int64_t)v; break;
    default: ((int8_t *)data)[i] = (int8_t)v; break;
    }
}

static double get_value(const void *data, rg_dtype dt, size_t i) {
    uint32_t bits;
    float f;
    switch (dt) {
    case RG_F64: return ((const double *)data)[i];
    case RG_F32: return ((const float *)data)[i];
    case RG_F16: return (double)f16_get(((const uint16_t *)data)[i]);
    case RG_BF16: bits = (uint32_t)((const uint16_t *)data)[i] << 16; return memcpy(&f, &bits, 4), f;
    case RG_I16: return ((const int16_t *)data)[i];
    case RG_U16: return ((const uint16_t *)data)[i];
    case RG_I32: return ((const int32_t *)data)[i];
    case RG_U32: return ((const uint32_t *)data)[i];
    case RG_I64: return (double)((const int64_t *)data)[i];
    case RG_U64: return (double)((const uint64_t *)data)[i];
    case RG_U8:
    case RG_BOOL: return ((const uint8_t *)data)[i];
    default: return ((const int8_t *)data)[i];
    }
}

enum { PERIOD = 65521, ZEROS = -1 }; /* of the numbers, a prime; a salt */

static rg_tensor make_data(rg_ctx *c, const struct operand *x, int salt, bool negative, rg_ints shape) {
    size_t n = 1, size = rg_dtype_size(x->dt);
    for (size_t i = 0; i < shape.n; i++) n *= (size_t)shape.d[i];
    char *data = calloc(n + 1, size);
    if (!data) return RG_NONE;
    size_t own = salt == ZEROS ? 0 : x->values == INDEX ? n : RG_MIN(n, PERIOD);
    for (size_t i = 0; i < own; i++)
        put_value(data, x->dt, i, (negative ? -1 : 1) * value_of(x, i + (size_t)salt * 1000003));
    for (size_t i = own; own && i < n; i += own) memcpy(data + i * size, data, RG_MIN(own, n - i) * size);
    rg_tensor t = rg_from(c, x->dt, data, shape);
    free(data);
    return t;
}

static rg_tensor make_base(rg_ctx *c, const struct operand *x, int salt) {
    int64_t dim[RANK_MOST];
    bool negative = false;
    if (x->views) {
        size_t rank = (size_t)views_shape(x, dim, &negative);
        return make_data(c, x, salt, negative, RG_LIST(dim, rank));
    }
    memcpy(dim, x->dim, sizeof dim);
    int last = x->rank - 1;
    if (x->layout == TRANSPOSED) dim[x->axis] = x->dim[last], dim[last] = x->dim[x->axis];
    if (x->layout == SLICED) dim[x->axis] += 3;
    if (x->layout == STEPPED) dim[x->axis] *= 2;
    if (x->layout == BROADCAST) dim[x->axis] = 1;
    return make_data(c, x, salt, false, RG_LIST(dim, (size_t)x->rank));
}

static rg_tensor view_of(const struct operand *x, rg_tensor base) {
    rg_range part[RANK_MOST];
    if (x->views) return views_of(x, base);
    for (int i = 0; i < RANK_MOST; i++) part[i] = i == x->axis ? RG_STEP(0, RG_END, 2) : RG_WHOLE;
    switch (x->layout) {
    case TRANSPOSED: return rg_transpose(base, x->axis, x->rank - 1);
    case SLICED: return rg_narrow(base, x->axis, 1, x->dim[x->axis]);
    case STEPPED: return rg_slice(base, RG_PARTS(part, (size_t)x->rank));
    case BROADCAST: return rg_expand(base, RG_LIST(x->dim, (size_t)x->rank));
    default: return base;
    }
}

/* ---- the program ---- */

static rg_status build(void *user, const rg_tensor *none, rg_tensor *out) {
    struct program *p = user;
    rg_tensor in[OPERANDS_MOST] = {{0}}, wrt[OPERANDS_MOST];
    size_t n = 0;
    (void)none;
    for (int i = 0; i < p->d->n; i++) {
        in[i] = view_of(&p->d->x[i], p->base[i]);
        if (p->d->x[i].grad) wrt[n++] = in[i];
    }
    out[0] = views_after(p->d, p->d->row->build(p->c, p->d, in));
    p->outputs = 1;
    if (!p->d->grad || rg_status_of(p->c)) return rg_status_of(p->c);
    p->outputs += (int)n;
    if (!p->seed.id) {
        int64_t dim[RANK_MOST + 2];
        int64_t rank = rg_shape_of(out[0], dim, RG_COUNT(dim));
        struct operand like = {.dt = rg_dtype_of(out[0]), .values = UNIT};
        p->seed = make_data(p->c, &like, p->zeros ? ZEROS : 99, false, RG_LIST(dim, (size_t)RG_MAX(rank, 0)));
    }
    return rg_grad(out[0], RG_ARRAY(wrt, n), out + 1, .seed = p->seed, .unused_ok = true);
}

static void make_program(struct program *p, rg_ctx *c, const struct draw *d, bool zeros) {
    *p = (struct program){.c = c, .d = d, .zeros = zeros};
    rg_seed(c, 1);
    for (int i = 0; i < d->n; i++) p->base[i] = make_base(c, &d->x[i], zeros ? ZEROS : i);
}

/* ---- the check ---- */

static double tolerance(rg_dtype dt) {
    return dt == RG_F64 ? 1e-11 : dt == RG_F32 ? 5e-5 : dt == RG_F16 ? 8e-3 : dt == RG_BF16 ? 4e-2 : 0;
}

static double greatest(const void *b, rg_dtype dt, size_t n) {
    double most = 0;
    for (size_t i = 0; i < n; i++)
        if (isfinite(get_value(b, dt, i))) most = RG_MAX(most, fabs(get_value(b, dt, i)));
    return most;
}

#define CANCELLED 0.01 /* of the greatest output: the least scale of a tensor, whose terms may cancel */

/* The greatest difference, by the tolerance: relative to the value, and to the greatest of its tensor; of one of next to
 * nothing, such as the gradient of a softmax of one score, to the greatest of all outputs. */
static double compare(const void *a, const void *b, rg_dtype dt, rg_dtype of, size_t n, double all,
                      size_t *where) {
    double scale = greatest(b, dt, n), worst = 0,
           tol = RG_MAX(tolerance(dt), type_is_float(dt) ? tolerance(of) : 0);
    scale = RG_MAX(scale, CANCELLED * all);
    for (size_t i = 0; i < n; i++) {
        double x = get_value(a, dt, i), y = get_value(b, dt, i), bad;
        if (x == y || (isnan(x) && isnan(y))) continue;
        bad =
            isfinite(x) && isfinite(y) && tol > 0 ? fabs(x - y) / (tol * (fabs(y) + 0.5 * scale)) : INFINITY;
        if (bad > worst) worst = bad, *where = i;
    }
    return worst;
}

static void say(struct result *r, enum outcome outcome, const char *what, rg_ctx *c) {
    r->outcome = outcome;
    snprintf(r->text, sizeof r->text, "%s%s", what, c ? rg_error(c) : "");
    if (c) rg_clear_error(c);
}

/* The greatest of the float outputs. */
static double scale_of(const rg_tensor *ref, int outputs) {
    double most = 0;
    for (int i = 0; i < outputs; i++) {
        size_t bytes = (size_t)rg_bytes(ref[i]);
        void *b = type_is_float(rg_dtype_of(ref[i])) ? calloc(bytes + 8, 1) : NULL;
        if (b && !rg_read(ref[i], b, bytes))
            most = RG_MAX(most, greatest(b, rg_dtype_of(ref[i]), (size_t)rg_size(ref[i])));
        free(b);
    }
    return most;
}

static bool check_output(rg_tensor mine, rg_tensor ref, const struct draw *d, int k, double all,
                         struct result *r) {
    size_t bytes = (size_t)rg_bytes(ref), n = (size_t)rg_size(ref), at = 0;
    void *a = calloc(bytes + 8, 1), *b = calloc(bytes + 8, 1);
    rg_dtype dt = rg_dtype_of(ref);
    if (!a || !b || rg_read(mine, a, bytes) || rg_read(ref, b, bytes)) {
        say(r, FAILED, "check: ", rg_status_of(rg_ctx_of(mine)) ? rg_ctx_of(mine) : rg_ctx_of(ref));
    } else {
        double bad = compare(a, b, dt, d->dt, n, all, &at);
        r->error = RG_MAX(r->error, bad);
        if (bad > 1) {
            char text[TEXT_MOST / 2];
            draw_describe(d, text, sizeof text);
            r->outcome = WRONG;
            snprintf(r->text, sizeof r->text, "output %d of %s: element %zu is %g, REF says %g", k, text, at,
                     get_value(a, dt, at), get_value(b, dt, at));
        }
    }
    free(a), free(b);
    return r->outcome == FINE;
}

static void check(rg_ctx *device, rg_ctx *ref, const struct options *o, int index, struct result *r) {
    struct draw d;
    struct program p, q;
    rg_tensor mine[OUTPUTS_MOST], expected[OUTPUTS_MOST];
    draw_make(&d, o, index, RG_MIN(CHECK_OPS, o->most));
    rg_scope s = rg_begin(device), t = rg_begin(ref);
    make_program(&p, device, &d, false);
    make_program(&q, ref, &d, false);
    if (build(&q, NULL, expected))
        say(r, REFUSED, "REF: ", ref);
    else if (build(&p, NULL, mine))
        say(r, FAILED, "check: ", device);
    else if (rg_realize_all(RG_ARRAY(mine, (size_t)p.outputs)))
        say(r, FAILED, "check: ", device);
    double all = r->outcome == FINE ? scale_of(expected, p.outputs) : 0;
    for (int i = 0; i < p.outputs && r->outcome == FINE; i++)
        check_output(mine[i], expected[i], &d, i, all, r);
    rg_end(s), rg_end(t);
}

/* ---- the time ---- */

static double cpu_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void call_jit(rg_ctx *c, void *user) {
    rg_tensor out[OUTPUTS_MOST];
    (void)c;
    rg_jit_call(user, (rg_tensors){0}, out);
}

/* The least of some samples by the process's CPU time: what else runs on the machine does not count. */
static double cpu_seconds(rg_ctx *c, rg_jit *j, double budget) {
    double best = INFINITY, all = 0;
    int calls = 1;
    for (int k = 0; (k < 5 || all < budget) && !rg_status_of(c); k++) {
        double t = cpu_now();
        for (int i = 0; i < calls; i++) call_jit(c, j);
        t = cpu_now() - t;
        all += t;
        best = RG_MIN(best, t / calls);
        if (t < 0.0005)
            calls = (int)RG_MIN(100000, RG_MAX(2 * calls, calls * 0.0006 / RG_MAX(t, 1e-8))), k = 0;
    }
    return best;
}

/* Of a view, as a scan along an axis of one element is: nothing for a device's clock, and nothing to wait for. */
static double host_seconds(rg_ctx *c, rg_jit *j) {
    enum { CALLS = 256 };
    uint64_t t = os_now_ns();
    for (int i = 0; i < CALLS && !rg_status_of(c); i++) call_jit(c, j);
    rg_sync(c);
    return 1e-9 * (double)(os_now_ns() - t) / CALLS;
}

double work_time(rg_ctx *c, rg_jit *j, const struct options *o, double *launches) {
    rg_benchmark_result b = {0};
    double once = 0;
    for (int i = 0; i < 3 && !rg_status_of(c) && (i < 2 || once < SLOW); i++) { /* the first one plans */
        once = cpu_now();
        uint64_t t = os_now_ns();
        call_jit(c, j);
        rg_sync(c);
        once = o->cpu_time ? cpu_now() - once : 1e-9 * (double)(os_now_ns() - t);
    }
    rg_jit_stats s = {0};
    rg_jit_info(j, &s);
    *launches = (double)s.kernels;
    if (once >= SLOW) return once;
    if (o->cpu_time) return cpu_seconds(c, j, 0.03);
    if (!s.kernels) return host_seconds(c, j);
    rg_benchmark(c, call_jit, j, &b, .warmup = 1, .seconds = o->jobs ? 0.02 : 0.05);
    *launches = b.kernels;
    return o->least ? b.least : b.median;
}

/* Planning and compiling, and one run. */
static double first_run(struct program *p, rg_tensor *out) {
    uint64_t t = os_now_ns();
    rg_scope s = rg_begin(p->c);
    if (!build(p, NULL, out)) rg_realize_all(RG_ARRAY(out, (size_t)p->outputs));
    rg_sync(p->c);
    rg_end(s);
    return 1e-9 * (double)(os_now_ns() - t);
}

/* Bytes of the results and of the seed; with --plans the planner's prediction. */
static double look_at_results(struct program *p, const struct options *o, struct result *r) {
    rg_tensor out[OUTPUTS_MOST];
    rg_plan_stats s = {0};
    double bytes = p->d->grad && p->seed.id ? (double)rg_bytes(p->seed) : 0;
    rg_scope inner = rg_begin(p->c);
    if (!rg_status_of(p->c) && !build(p, NULL, out)) {
        for (int i = 0; i < p->outputs; i++) bytes += (double)rg_bytes(out[i]);
        if (o->plans && !rg_schedule_stats(RG_ARRAY(out, (size_t)p->outputs), &s))
            r->seconds = s.predicted, r->launches = (double)s.kernels;
    }
    rg_end(inner);
    if (rg_status_of(p->c)) say(r, FAILED, "", p->c);
    return bytes;
}

static void time_replay(struct program *p, const struct options *o, struct result *r) {
    rg_jit *j = rg_jit_new(p->c, build, p, (size_t)p->outputs);
    r->seconds = rg_status_of(p->c) ? 0 : work_time(p->c, j, o, &r->launches);
    if (rg_status_of(p->c)) say(r, FAILED, "", p->c);
    rg_jit_free(j);
}

static void measure(rg_ctx *c, const struct options *o, struct rates *rates, int index, enum part part,
                    struct result *r) {
    struct draw d;
    struct program p;
    rg_tensor out[OUTPUTS_MOST];
    double bytes = 0;
    draw_make(&d, o, index, o->most);
    rg_scope s = rg_begin(c);
    make_program(&p, c, &d, o->plans);
    if (d.grad && !rg_status_of(c)) { /* the seed is data too */
        rg_scope inner = rg_begin(c);
        build(&p, NULL, out);
        if (p.seed.id) p.seed = rg_keep(p.seed);
        rg_end(inner);
    }
    r->first = first_run(&p, out);
    if (part == PREPARE && rg_status_of(c))
        say(r, FAILED, "", c);
    else if (part != PREPARE)
        bytes = look_at_results(&p, o, r);
    if ((part == WHOLE || part == TIME) && r->outcome == FINE) time_replay(&p, o, r);
    rg_end(s);
    rg_collect(c);
    if (part != PREPARE && part != PLAN && r->outcome != FAILED) floor_functions(c, o, rates, &d);
    if (part != PREPARE && r->outcome != FAILED) floor_of(rates, &d, bytes, r);
    if (r->outcome == FINE && r->first > o->limit) {
        r->outcome = HUNG;
        snprintf(r->text, sizeof r->text, "the first run took %.1f s", r->first);
    }
}

void work_draw(rg_ctx *device, rg_ctx *ref, const struct options *o, struct rates *rates, int index,
               enum part part, struct result *r) {
    *r = (struct result){.draw = index};
    if (part == CHECK)
        check(device, ref, o, index, r);
    else
        measure(device, o, rates, index, part, r); /* before the check, which may compile the same kernels */
    if (r->outcome == FINE && part != TIME && part != PLAN && part != CHECK && !o->list)
        check(device, ref, o, index, r);
}
