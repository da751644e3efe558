/* cmd_explore.c: `ridge explore`: three small experiments that show where this device spends its time.
 *
 *   intensity  operations for each element are doubled until arithmetic takes longer than memory: the ridge point
 *   overhead   the size of a kernel is doubled until its time follows: what starting it costs
 *   shapes     a matrix product of one size after the other: which sizes the machine likes
 *
 * The first runs a kernel of its own, the others programs of the public API, as a user's would. Each takes the least of many
 * short runs, so that a busy machine adds little. Each prints a table, says what it found beside what the machine file says, and draws a plot.
 * Tests: tests/cli/explore.sh */
#include "cli.h"
#include "engine/engine.h"
#include "plot.h"
#include "tune/search/search.h"

#include <ridge.h>

#include <math.h>
#include <stdlib.h>

enum { POINTS = 600 };

struct explore {
    rg_ctx *c;
    struct engine *engine;
    const struct device_ops *ops;
    struct arena arena;
    struct err err;
    struct model m;
    const char *svg, *device;
    double seconds; /* that a point is measured */
    int64_t from, to, step, size;
    /* of the point at hand */
    rg_tensor x, w, now;
    int64_t n;
    /* what was found */
    double px[POINTS], py[POINTS], pz[POINTS];
    uint32_t points;
};

/* The least time of a call of fn, in seconds; negative on error. */
static double least(struct explore *e, rg_jit_fn *fn) {
    RG_SCOPE(e->c);
    rg_jit *j = rg_jit_new(e->c, fn, e, 1);
    double best = INFINITY;
    uint64_t end = 0;
    for (int i = 0; i < 4 || os_now_ns() < end; i++) {
        RG_SCOPE(e->c);
        rg_tensor out;
        rg_set_scalar(e->now, 1 + 1e-3 * (i % 7));
        rg_wait(e->c);
        uint64_t t0 = os_now_ns();
        if (rg_jit_call(j, (rg_tensors){0}, &out) || rg_wait(e->c)) break;
        double s = 1e-9 * (double)(os_now_ns() - t0);
        if (i > 1) best = RG_MIN(best, s); /* the first two plan and record */
        if (i == 1) end = os_now_ns() + (uint64_t)(1e9 * e->seconds);
    }
    rg_jit_free(j);
    return rg_status_of(e->c) ? -1 : best;
}

static rg_tensor made(struct explore *e, rg_ints shape) {
    rg_tensor x = rg_contiguous(rg_full(e->c, RG_F32, 0.5, shape));
    rg_realize(x);
    return x;
}

static int write_plot(struct explore *e, const struct plot *p) {
    struct str s;
    if (!e->svg) return EXIT_OK;
    str_init(&s, &e->arena);
    plot_svg(&s, p);
    if (os_write_file(&e->err, e->svg, s.p, s.n, 0644)) return cli_error("explore", &e->err);
    printf("PLOT   %s\n", e->svg);
    return EXIT_OK;
}

static int failed(struct explore *e) {
    fprintf(stderr, "ridge explore: %s\n", rg_error(e->c));
    return EXIT_FAILED;
}

/* The machine file's figures for the threads that run. */
static double peak_flops(const struct explore *e, double n) {
    return model_value(&e->m, MODEL_FLOPS_F32) * model_value(&e->m, MODEL_CLOCK) * 1e9 * n;
}
static double copy_rate(const struct explore *e, double n) {
    double copy = model_value(&e->m, MODEL_DRAM_COPY), read = model_value(&e->m, MODEL_DRAM_READ);
    return 1e9 * RG_MIN(copy, model_value(&e->m, MODEL_DRAM_CORE) * n * copy / RG_MAX(read, 1e-9));
}
static double threads_of(const struct explore *e) {
    int64_t n = env_int(ENV_THREADS);
    double cores = model_value(&e->m, MODEL_CORES);
    return n > 0 ? RG_MIN((double)n, cores) : cores;
}

/* ---- intensity ------------------------------------------------------------------------------------------------- */

/* A kernel graph: y[i] is the sum over k of x[i] * w[k], n fused FMAs for one element read and one written. */
static void chain_text(struct str *s, int64_t elements, int64_t n) {
    long long e = elements, k = n;
    str_printf(s,
               "kernel chain_%lld\nx = (PARAM<f32>[0 x] %lld)\ny = (PARAM<f32>[1 y] %lld)\nw = (PARAM<f32>[2 "
               "w] %lld)\n",
               k, e, e, k);
    str_printf(s, "i = (RANGE[i GRID 0] %lld)\nk = (RANGE[k REDUCE 1] %lld)\n", e, k);
    str_add(s, "(SINK (STORE (INDEX y i) (REDUCE[ADD] (MUL (LOAD (INDEX x i)) (LOAD (INDEX w k))) k)))\n");
}

struct chain {
    struct explore *e;
    int64_t elements, n; /* of a run; FMAs */
    const struct ekernel *k;
    double ops;
};

static void compile_chain(void *arg) {
    struct chain *c = arg;
    struct explore *e = c->e;
    struct ir ir;
    struct program prog;
    struct str s;
    struct linear lin;
    const struct linear *list = &lin;
    bool gpu = e->ops->discrete;
    str_init(&s, &e->arena);
    ir_init(&ir, &e->arena);
    chain_text(&s, c->elements, c->n);
    ir_parse(&ir, s.p, s.n, "chain", &prog);
    const struct kernel *k = &prog.kernel.p[0];
    /* sixteen sums at a time: additions to one of them do not wait for each other */
    const char *cpu =
        arena_printf(&e->arena, "TILE(i,%d,v) VEC(v) TILE(i,16,u) UNROLL(u)", os_cpu()->vec_bytes / 4);
    struct lower_opts how = {.opts = gpu ? opts_heuristic_gpu(&ir, k, GPU_OF_CC(0)) : cpu,
                             .target = {.vec_bytes = gpu ? 16 : 0}};
    lower(&ir, k, &how, &lin);
    c->ops = lin.est.flops;
    engine_compile(e->engine, &e->err, &list, 1, &c->k);
}

/* The least time of a run over a window of memory, which goes on through all of it: everything comes from memory, and a run is
 * shorter than the slice of time that the system gives to others. */
static double time_chain(struct explore *e, const struct chain *c, char *x, char *y, void *w, size_t bytes) {
    size_t window = (size_t)c->elements * 4, windows = bytes / window, at = 0;
    struct engine_list *l = engine_list_new(e->engine, &e->err);
    double best = INFINITY;
    if (!l || engine_list_add(l, &e->err, c->k, (void *[]){x, y, w}, NULL)) return -1;
    void **buf = engine_list_bufs(l, 0);
    float seen;
    uint64_t end = os_now_ns() + (uint64_t)(1e9 * e->seconds);
    for (size_t i = 0; i < windows + 4 || os_now_ns() < end; i++, at = (at + 1) % windows) {
        buf[0] = x + at * window, buf[1] = y + at * window;
        uint64_t t0 = os_now_ns();
        if (engine_list_run(l, &e->err)) break;
        if (e->ops->discrete && engine_copy(e->engine, &e->err, COPY_OUT, &seen, buf[1], sizeof seen)) break;
        double s = 1e-9 * (double)(os_now_ns() - t0);
        if (i > 1 && s < best) best = s;
        if (os_now_ns() > end && i > 16) break;
    }
    engine_list_free(l);
    return e->err.code ? -1 : best;
}

static int intensity(struct explore *e) {
    int64_t all = e->size != NOT_GIVEN ? e->size : 32 << 20,
            window = e->ops->discrete ? all : RG_MIN(all, (int64_t)128 << 10);
    double cores = threads_of(e), flops = 0, rate = 0;
    size_t bytes = (size_t)(all / window * window) * 4;
    char *x = engine_alloc(e->engine, &e->err, bytes), *y = engine_alloc(e->engine, &e->err, bytes);
    static float weights[512];
    void *w = engine_alloc(e->engine, &e->err, sizeof weights);
    if (!x || !y || !w) return cli_error("explore", &e->err);
    engine_copy(e->engine, &e->err, COPY_IN, w, weights, sizeof weights);
    if (!e->ops->discrete)
        memset(x, 0, bytes), memset(y, 0, bytes); /* a page that was never written is not memory */
    printf("one element loaded, one stored, and n floating-point operations (FMAs count 2) between\n");
    printf("%10s %12s %10s %10s %10s\n", "operations", "flop/byte", "us", "GFLOPS", "GB/s");
    for (int64_t n = 1; n <= 256; n *= 2) {
        struct chain c = {.e = e, .elements = window, .n = n};
        double s =
            err_guard(&e->err, compile_chain, &c) || e->err.code ? -1 : time_chain(e, &c, x, y, w, bytes);
        if (s < 0) return cli_error("explore", &e->err);
        double moved = 8.0 * (double)window;
        e->px[e->points] = c.ops / moved, e->py[e->points++] = 1e-9 * c.ops / s;
        flops = RG_MAX(flops, c.ops / s), rate = RG_MAX(rate, moved / s);
        printf("%10.0f %12.3g %10.2f %10.1f %10.1f\n", c.ops / (double)window, c.ops / moved, 1e6 * s,
               1e-9 * c.ops / s, 1e-9 * moved / s);
        fflush(stdout);
    }
    engine_free(e->engine, x, bytes), engine_free(e->engine, y, bytes),
        engine_free(e->engine, w, sizeof weights);
    double peak = peak_flops(e, cores), copy = copy_rate(e, cores);
    printf("RIDGE  %.2f flop/byte measured: %.1f GFLOPS by %.1f GB/s; the machine file says %.2f: %.1f by "
           "%.1f\n",
           flops / rate, 1e-9 * flops, 1e-9 * rate, peak / copy, 1e-9 * peak, 1e-9 * copy);
    printf("       a kernel that does less for each byte it moves is bound by memory, one that does more by "
           "arithmetic\n");
    double lo = e->px[0], hi = e->px[e->points - 1], rx[3] = {lo, RG_MIN(RG_MAX(peak / copy, lo), hi), hi},
           ry[3];
    for (int i = 0; i < 3; i++) ry[i] = 1e-9 * RG_MIN(rx[i] * copy, peak);
    struct plot p = {.title = "Operations per byte, and what comes of them",
                     .x = "floating-point operations for each byte moved",
                     .y = "GFLOPS",
                     .log_x = true,
                     .log_y = true,
                     .n = 2,
                     .line = {{"measured", e->px, e->py, e->points, false},
                              {"roof of the machine file", rx, ry, 3, true}}};
    return write_plot(e, &p);
}

/* ---- overhead ----------------------------------------------------------------------------------------------------- */

static rg_status scale(void *user, const rg_tensor *in, rg_tensor *out) {
    struct explore *e = user;
    (void)in;
    out[0] = rg_mul(rg_narrow(e->x, 0, 0, e->n), e->now);
    return RG_OK;
}

static int overhead(struct explore *e) {
    int64_t most = e->size != NOT_GIVEN ? e->size : 16 << 20;
    e->x = made(e, RG_SHAPE(most));
    printf("one elementwise kernel of n elements, replayed\n%12s %12s %14s\n", "elements", "us",
           "ns an element");
    for (e->n = 1; e->n <= most && e->points < POINTS; e->n *= 2) {
        double s = least(e, scale);
        if (s < 0) return failed(e);
        e->px[e->points] = (double)e->n, e->py[e->points++] = 1e6 * s;
        printf("%12lld %12.2f %14.4f\n", (long long)e->n, 1e6 * s, 1e9 * s / (double)e->n);
        fflush(stdout);
    }
    double fixed = e->py[0], follows = 0;
    for (uint32_t i = 0; i < e->points; i++) fixed = RG_MIN(fixed, e->py[i]);
    for (uint32_t i = e->points; i-- > 0 && e->py[i] >= 2 * fixed;) follows = e->px[i];
    if (follows > 0)
        printf("FIXED  %.2f us whatever the size; from %.0f elements on time follows: batches below that "
               "cost the same as nothing more\n",
               fixed, follows);
    else
        printf("FIXED  %.2f us; no size up to %lld takes twice that\n", fixed, (long long)most);
    struct plot p = {.title = "The time of one kernel by its size",
                     .x = "elements",
                     .y = "us",
                     .log_x = true,
                     .log_y = true,
                     .n = 1,
                     .line = {{"measured", e->px, e->py, e->points, false}}};
    return write_plot(e, &p);
}

/* ---- shapes ---------------------------------------------------------------------------------------------------------- */

static rg_status product(void *user, const rg_tensor *in, rg_tensor *out) {
    struct explore *e = user;
    (void)in;
    out[0] = rg_mul(rg_matmul(e->x, e->w), e->now);
    return RG_OK;
}

static int shapes(struct explore *e) {
    double best = 0, sum[2] = {0}, count[2] = {0};
    int64_t best_n = 0, worst_n = 0;
    double worst = INFINITY;
    printf("products of n x n by n x n\n%8s %10s %10s %8s  %s\n", "n", "us", "GFLOPS", "of best", "");
    for (e->n = e->from; e->n <= e->to && e->points < POINTS; e->n += e->step) {
        RG_SCOPE(e->c);
        e->x = made(e, RG_SHAPE(e->n, e->n)), e->w = made(e, RG_SHAPE(e->n, e->n));
        double s = least(e, product), ops = 2.0 * (double)e->n * (double)e->n * (double)e->n,
               g = 1e-9 * ops / s;
        if (s < 0) return failed(e);
        e->px[e->points] = (double)e->n, e->py[e->points] = g, e->pz[e->points++] = 1e6 * s;
        if (g > best) best = g, best_n = e->n;
        if (g < worst) worst = g, worst_n = e->n;
        sum[e->n % 4 != 0] += g, count[e->n % 4 != 0]++;
    }
    for (uint32_t i = 0; i < e->points; i++) {
        char bar[48];
        int n = (int)(40 * e->py[i] / best);
        memset(bar, '#', (size_t)n), bar[n] = 0;
        printf("%8.0f %10.1f %10.1f %7.0f%%  %s\n", e->px[i], e->pz[i], e->py[i], 100 * e->py[i] / best, bar);
    }
    printf("BEST   n = %lld, %.1f GFLOPS; worst n = %lld, %.1f", (long long)best_n, best, (long long)worst_n,
           worst);
    if (count[0] > 0 && count[1] > 0)
        printf("; multiples of 4 reach %.1f on average, others %.1f", sum[0] / count[0], sum[1] / count[1]);
    printf("\n");
    struct plot p = {.title = "Matrix products by size",
                     .x = "n of n x n by n x n",
                     .y = "GFLOPS",
                     .n = 1,
                     .line = {{"measured", e->px, e->py, e->points, false}}};
    return write_plot(e, &p);
}

/* ---- the command ------------------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    int (*run)(struct explore *);
} kinds[] = {{"intensity", intensity}, {"overhead", overhead}, {"shapes", shapes}};

static int start(struct explore *e, int (*run)(struct explore *)) {
    e->ops = device_find(&e->err, e->device);
    const struct model *m =
        e->ops && (e->engine = search_engine_open(&e->err, e->ops)) ? engine_model(e->engine, &e->err) : NULL;
    if (!m) {
        engine_close(e->engine);
        return cli_error("explore", &e->err);
    }
    e->m = *m;
    int status = EXIT_FAILED;
    if (e->ops->kind != DEV_RUNS) {
        fprintf(stderr, "ridge explore: device %s runs nothing that could be timed\n", e->ops->name);
    } else {
        e->c = rg_open(e->device);
        e->now = rg_scalar(e->c, RG_F32, 1);
        printf("%s, device %s\n", e->m.name, rg_device(e->c));
        if (e->ops->kind == DEV_RUNS && !strcmp(e->ops->name, "CPU")) cli_say_busy();
        status = rg_status_of(e->c) ? failed(e) : run(e);
        rg_close(e->c);
    }
    engine_close(e->engine);
    return status;
}

int cmd_explore(int argc, char **argv) {
    static struct explore e = {.size = NOT_GIVEN, .from = 248, .to = 264, .step = 1};
    int64_t ms = 200;
    const struct arg_spec spec[] = {
        {"svg", ARG_TEXT, &e.svg, "FILE", "also draw a plot"},
        {"device", ARG_TEXT, &e.device, "NAME", "CPU, CUDA .. (the environment's DEVICE, else CPU)"},
        {"ms", ARG_NUMBER, &ms, "N", "how long each point is measured, in ms (200)"},
        {"size", ARG_NUMBER, &e.size, "N", "intensity, overhead: elements in all (33554432, 16777216)"},
        {"from", ARG_NUMBER, &e.from, "N", "shapes: the first size (248)"},
        {"to", ARG_NUMBER, &e.to, "N", "shapes: the last (264)"},
        {"step", ARG_NUMBER, &e.step, "N", "shapes: the distance (1)"},
    };
    struct args a = {
        .command = "explore",
        .operands = "intensity|overhead|shapes",
        .about = "Small experiments on this device, each the least of many short runs.\n"
                 "intensity: how much arithmetic a byte must bring before memory is no longer the limit.\n"
                 "overhead: what a kernel costs however small it is.\nshapes: which sizes of a matrix "
                 "product are fast.",
        .spec = spec,
        .nspec = RG_COUNT(spec),
        .min_operands = 1,
        .max_operands = 1};
    int status = args_parse(&a, argc, argv);
    if (status >= 0) return status;
    if ((status = args_range(&a, "ms", ms, 1, 60000)) >= 0) return status;
    if (e.size != NOT_GIVEN && (status = args_range(&a, "size", e.size, 1, (int64_t)1 << 32)) >= 0)
        return status;
    if ((status = args_range(&a, "from", e.from, 1, 16384)) >= 0) return status;
    if ((status = args_range(&a, "to", e.to, e.from, 16384)) >= 0) return status;
    if ((status = args_range(&a, "step", e.step, 1, INT64_MAX)) >= 0) return status;
    e.seconds = 1e-3 * (double)ms;
    arena_init(&e.arena, &e.err);
    status = -1;
    for (size_t i = 0; i < RG_COUNT(kinds); i++)
        if (!strcmp(a.operand[0], kinds[i].name)) status = start(&e, kinds[i].run);
    if (status < 0) {
        fprintf(stderr, "ridge explore: expected intensity, overhead or shapes, found '%s'\n", a.operand[0]);
        status = EXIT_USAGE;
    }
    arena_free(&e.arena);
    return status;
}
