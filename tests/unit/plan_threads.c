/* plan_threads.c: plans for many cores and wide vectors. A kernel that reads some input without stride 1 along its loops is
 * vectorized across the grid (src/tune/choose/elementwise/cpu_elementwise.c), which leaves a grid iteration per vector: the
 * planner must know that before it fuses a normalization into 32 rows of such an input (src/schedule/price.c). */
#include "codegen/sched.h"
#include "planned.h"
#include "test.h"
#include "tune/tune.h"

struct threads_case {
    struct err err;
    struct arena arena;
    struct ir ir;
    const char *text;
    const struct model *model;
    int threads, kernels;
};

static void note_grid(void *cx, struct sched *s, const uop *sink) {
    double *grid = cx;
    (void)sink;
    *grid = 1;
    for (uint32_t i = 0; i < s->axis.n; i++)
        if (axis_is_grid(&s->axis.p[i])) *grid *= (double)s->axis.p[i].most;
}

/* Every kernel over more than 8 MB keeps half of the threads busy at least. */
static void check_threads(void *arg) {
    struct threads_case *c = arg;
    struct program p;
    struct schedule s = {0};
    struct sched_opts opts = {.model = c->model, .mode = PLAN_COST};
    ir_init(&c->ir, &c->arena);
    ir_parse(&c->ir, c->text, strlen(c->text), "case.uop", &p);
    schedule(&c->arena, &c->ir, p.kernel.p[0].sink, &opts, &s);
    for (uint32_t i = 0; i < s.prog.n; i++) {
        struct sched_prog *k = &s.prog.p[i];
        struct estimate e = {0};
        double grid = 0;
        estimate_asked(k->ir, k->kernel.sink, &e);
        const char *list = opts_heuristic(k->ir, &k->kernel, 64, c->threads);
        CHECK(opts_axes(k->ir, &k->kernel, list, note_grid, &grid));
        c->kernels++;
        if (e.bytes > 8e6 && 2 * grid < c->threads)
            FAIL("%s: %.0f grid iterations for %d threads and %.0f bytes\n%s\n%s", k->kernel.name, grid,
                 c->threads, e.bytes, list, c->text);
    }
}

/* 16 cores, AVX-512, a last cache that holds all of it. */
static const struct model *wide_model(void) {
    static struct model m;
    m = *planned_model();
    m.theory[MODEL_CORES] = 16, m.theory[MODEL_VEC_BYTES] = 64, m.theory[MODEL_FMA_UNITS] = 2;
    m.theory[MODEL_FLOPS_F32] = 64, m.theory[MODEL_FLOPS_F64] = 32;
    m.theory[MODEL_L1_SIZE] = 48 << 10, m.theory[MODEL_L2_SIZE] = 2 << 20,
    m.theory[MODEL_L3_SIZE] = 300 << 20;
    m.theory[MODEL_L2_RATE] = 83, m.theory[MODEL_L3_RATE] = 41, m.theory[MODEL_DRAM_READ] = 200;
    m.theory[MODEL_DRAM_COPY] = 200, m.theory[MODEL_FORK] = 500, m.theory[MODEL_WAKE] = 7000;
    return &m;
}

/* The gradient of a batch norm before a 2x2 pooling: g comes by windows, x by rows; sums per channel scale both. */
static const char *norm_text(struct arena *a, int images, int channels, int side) {
    return arena_printf(a,
                        "kernel g\nx = (BUFFER<f32>[1] %d %d %d %d)\n"
                        "u = (RESHAPE (PERMUTE (BUFFER<f32>[0] %d %d %d %d 2 2) 0 1 2 4 3 5) %d %d %d %d)\n"
                        "s = (EXPAND (RESHAPE (REDUCE_AXES[ADD] (MUL u x) 0 2 3) 1 %d 1 1) %d %d %d %d)\n"
                        "(GRAPH (ADD x (MUL u s)))\n",
                        images, channels, side, side, images, channels, side / 2, side / 2, images, channels,
                        side, side, channels, images, channels, side, side);
}

TEST(plan_threads_of_norms_of_windows) {
    static const int channels[] = {16, 32, 64, 96}, sides[] = {8, 12, 20, 24}, images[] = {256, 512};
    int kernels = 0;
    for (size_t i = 0; i < RG_COUNT(channels); i++)
        for (size_t k = 0; k < RG_COUNT(sides); k++)
            for (size_t n = 0; n < RG_COUNT(images); n++) {
                struct threads_case c = {.model = wide_model(), .threads = 16};
                arena_init(&c.arena, &c.err);
                c.text = norm_text(&c.arena, images[n], channels[i], sides[k]);
                if (err_guard(&c.err, check_threads, &c)) FAIL("%s\n%s", c.err.msg, c.text);
                kernels += c.kernels;
                arena_free(&c.arena);
            }
    TEST_COUNT(kernels, "kernels of normalizations by windows");
}
