/* Tests of COLUMNS: blocks whose neighbouring threads are in neighbouring grid iterations (render/gpu_combine.c). PoCL runs the
 * kernels, NVRTC compiles them; whole programs on the simulated GPU are in simgpu_sums.c (simgpu_columns). */
#include "cuda.h"
#include "engine/plan.h"
#include "opencl.h"
#include "tune/tune.h"

#include <math.h>

static struct err err;
static struct arena arena;

/* Softmax of each column of a rows x n matrix, and the greatest element of each. */
static const char *column_softmax(int rows, int n) {
    return arena_printf(
        &arena,
        "kernel soft\nx = (PARAM<f32>[0 x] %d)\nout = (PARAM<f32>[1 out] %d)\ntop = (PARAM<f32>[2 "
        "top] %d)\n"
        "i = (RANGE[i GRID 0] %d)\na = (RANGE[k REDUCE 1 0] %d)\nb = (RANGE[k REDUCE 1 1] "
        "%d)\nc = (RANGE[k LOOP 1 2] %d)\n"
        "m = (REDUCE[MAX] (LOAD (INDEX x (ADD (MUL a %d) i))) a)\n"
        "s = (REDUCE[ADD] (EXP (SUB (LOAD (INDEX x (ADD (MUL b %d) i))) m)) b)\n"
        "(SINK (STORE (INDEX top i) m) (STORE (INDEX out (ADD (MUL c %d) i)) (FDIV (EXP (SUB (LOAD "
        "(INDEX x (ADD (MUL c %d) i))) m)) s)))\n",
        rows * n, rows * n, n, n, rows, rows, rows, n, n, n, n);
}

struct lowering {
    const char *text, *opts; /* NULL: the heuristic's */
    struct ir ir;
    struct linear lin;
};

static void lower_text(void *arg) {
    struct lowering *l = arg;
    struct program p = {0};
    ir_init(&l->ir, &arena);
    ir_parse(&l->ir, l->text, strlen(l->text), "test", &p);
    if (!l->opts) l->opts = opts_heuristic_gpu(&l->ir, &p.kernel.p[0], GPU_OF_CC(90));
    lower(&l->ir, &p.kernel.p[0], &(struct lower_opts){.opts = l->opts, .target = {.kind = TARGET_GPU}},
          &l->lin);
}

static struct lowering *lowered(const char *text, const char *opts) {
    struct lowering *l = arena_new(&arena, struct lowering);
    l->text = text, l->opts = opts;
    if (err_guard(&err, lower_text, l)) FAIL("%s", err.msg);
    return l;
}

/* ---- which kernels have columns ------------------------------------------------------------------------------- */

TEST(gpu_columns_of_softmax) {
    static const struct {
        int rows, n;
        const char *opts;
    } want[] = {
        {1117, 9502, "RESIDENT(k,loads) COOP(k) COLUMNS(16)"},
        {1000, 100001, "RESIDENT(k,loads) COOP(k) COLUMNS(32)"}, /* of any number, many to a block .. */
        {3001, 3001, "RESIDENT(k,loads) COOP(k) COLUMNS(8)"},    /* .. or few: each in registers */
        {40000, 3001, "COOP(k) COLUMNS(8)"},
    };
    arena_init(&arena, &err);
    for (size_t i = 0; i < RG_COUNT(want); i++)
        CHECK_STR(lowered(column_softmax(want[i].rows, want[i].n), NULL)->opts, want[i].opts);
    CHECK(!strstr(lowered(column_softmax(20, 1000000), NULL)->opts, "COLUMNS")); /* a thread each */
    CHECK(!strstr(lowered(column_softmax(5000, 5), NULL)->opts, "COLUMNS"));     /* no sector */
    arena_free(&arena);
}

TEST(gpu_columns_refuse) {
    static const char *const bad[] = {"COLUMNS(16)", "COOP(k) COLUMNS(7)", "COOP(k) COLUMNS(64)",
                                      "TILE(i,4,t) THREAD(t) COOP(k) COLUMNS(8)"};
    arena_init(&arena, &err);
    for (size_t i = 0; i < RG_COUNT(bad); i++) {
        struct lowering l = {.text = column_softmax(100, 64), .opts = bad[i]};
        CHECK(err_guard(&err, lower_text, &l));
        err_clear(&err);
    }
    arena_free(&arena);
}

/* ---- values ---------------------------------------------------------------------------------------------------- */

static void check_softmax(struct engine *en, int rows, int n, const char *opts) {
    const struct linear *lin = &lowered(column_softmax(rows, n), opts)->lin;
    size_t all = (size_t)rows * (size_t)n;
    const struct ekernel *k;
    float *x = arena_array(&arena, float, all), *out = arena_array(&arena, float, all),
          *top = arena_array(&arena, float, (size_t)n), *was = arena_array(&arena, float, all);
    if (engine_compile(en, &err, &lin, 1, &k)) FAIL("%s", err.msg);
    for (size_t i = 0; i < all; i++) was[i] = x[i] = (float)(hash_u64(i + all) >> 44) / (1 << 18) - 2;
    cuda_run(en, k, (void *[]){x, out, top}, (size_t[]){4 * all, 4 * all, 4 * (size_t)n}, NULL);
    for (int c = 0; c < n; c++) {
        double sum = 0, m = -INFINITY;
        for (int r = 0; r < rows; r++) m = fmax(m, was[r * n + c]);
        for (int r = 0; r < rows; r++) sum += exp(was[r * n + c] - m);
        CHECK(top[c] == (float)m);
        for (int r = 0; r < rows; r++) {
            double want = exp(was[r * n + c] - m) / sum, got = out[r * n + c];
            if (!(fabs(got - want) <= 1e-6 * want))
                FAIL("%d x %d, %s: (%d, %d) is %g, not %g", rows, n, opts, r, c, got, want);
        }
    }
}

/* Numbers of columns that no block divides; columns shorter and longer than the threads of a block. */
TEST_SLOW(opencl_columns, 300) {
    static const char *const form[] = {"COOP(k) COLUMNS(%d)", "RESIDENT(k,loads) COOP(k) COLUMNS(%d)"};
    struct engine *en = opencl_engine();
    arena_init(&arena, &err);
    for (int columns = 8; columns <= 32; columns *= 2)
        for (uint64_t i = 0; i < 4; i++) {
            int rows = 1 + (int)(hash_u64(i * 3 + (uint64_t)columns) % 700),
                n = 1 + (int)(hash_u64(rows) % 100);
            check_softmax(en, rows, n, arena_printf(&arena, form[i % 2], columns));
        }
    check_softmax(en, 5000, 19, "COOP(k) COLUMNS(32)"); /* sums of several levels */
    engine_close(en);
    arena_free(&arena);
}

TEST(cuda_compile_columns) {
    arena_init(&arena, &err);
    cuda_need_nvrtc(&arena);
    struct cuda_texts t = {.arena = &arena};
    for (int columns = 8; columns <= 32; columns *= 2) {
        const char *kept = arena_printf(&arena, "RESIDENT(k,loads) COOP(k) COLUMNS(%d)", columns);
        cuda_render(&t, &lowered(column_softmax(1117, 9502), kept)->lin, false);
        cuda_render(&t, &lowered(column_softmax(90, 77), kept)->lin, false);
        cuda_render(&t, &lowered(column_softmax(5000, 333), strchr(kept, ' ') + 1)->lin, false);
    }
    CHECK_EQ(t.blocks, t.text.n);
    t.whole = t.text.n;
    cuda_compile_texts(&t);
    arena_free(&arena);
}
