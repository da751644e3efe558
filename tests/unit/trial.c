/* Tests of trial runs: candidates of search that trap, hang, crash or answer nonsense cost themselves and no more. On a driver that is
 * none (tests/fake), on the CPU, and, asked for, on a GPU. */
#include "fake/cuda.h"
#include "engine/internal.h"
#include "tune/search/search.h"

#include <fcntl.h>
#include <sys/stat.h>

static struct err err;

/* Products of n x n: of bf16 for a GPU, of f32 for a CPU. */
static const char *product(struct arena *a, const char *type, int n) {
    return arena_printf(
        a,
        "kernel mm\na = (PARAM<%s>[0 a] %d)\nb = (PARAM<%s>[1 b] %d)\no = (PARAM<%s>[2 o] %d)\n"
        "m = (RANGE[m GRID 0 0] %d)\nn = (RANGE[n GRID 1 0] %d)\nk = (RANGE[k REDUCE 2 0] %d)\n"
        "x = (CAST<f32> (LOAD (INDEX a (ADD (MUL m %d) k))))\n"
        "y = (CAST<f32> (LOAD (INDEX b (ADD (MUL n %d) k))))\n"
        "(SINK (STORE (INDEX o (ADD (MUL m %d) n)) (CAST<%s> (REDUCE[ADD] (MUL x y) k))))\n",
        type, n * n, type, n * n, type, n * n, n, n, n, n, n, n, type);
}

struct trial_search {
    const struct device_ops *ops;
    const char *type;
    int n;
    void (*spoil)(void *cx, uint32_t candidate, struct linear *);
    uint32_t count[TUNED_TRAPPED + 1], rows; /* of the record */
    double seconds;
};

static void run_search(struct trial_search *s) {
    enum dtype dt = s->type[0] == 'b' ? DT_BF16 : DT_F32;
    size_t bytes = (size_t)s->n * (size_t)s->n * dtype_info[dt].bytes;
    struct arena a;
    struct ir ir;
    struct program p = {0};
    const struct tuned *t = NULL;
    void *buf[3];
    struct engine *en = search_engine_open(&err, s->ops);
    if (!en) NO_CUDA(err.msg);
    arena_init(&a, &err);
    ir_init(&ir, &a);
    const char *text = product(&a, s->type, s->n);
    ir_parse(&ir, text, strlen(text), "text", &p);
    for (int i = 0; i < 3; i++) CHECK(buf[i] = engine_alloc(en, &err, bytes));
    struct search_call c = {.ir = &ir,
                            .kernel = &p.kernel.p[0],
                            .buf = buf,
                            .bytes = (size_t[]){bytes, bytes, bytes},
                            .dt = (enum dtype[]){dt, dt, dt},
                            .nbuf = 3};
    char *zero = calloc(1, bytes);
    for (int i = 0; i < 3; i++) CHECK(!engine_copy(en, &err, COPY_IN, buf[i], zero, bytes));
    engine_set_tuning(en, &(struct engine_tuning){.beam = 4, .spoil = s->spoil});
    if (search_kernel(en, &err, &c, &t)) FAIL("%s", err.msg);
    memset(s->count, 0, sizeof s->count);
    for (uint32_t i = 0; i < t->row.n; i++) s->count[t->row.p[i].state]++;
    s->rows = t->row.n, s->seconds = t->seconds;
    if (engine_copy(en, &err, COPY_OUT, zero, buf[2], bytes)) FAIL("afterwards: %s", err.msg);
    for (int i = 0; i < 3; i++) engine_free(en, buf[i], bytes);
    free(zero);
    arena_free(&a);
    engine_close(en);
}

static void set_env(const char *name, const char *value) {
    setenv(name, value, 1);
    env_reload();
}

/* Each worker's second kernel is bad: then another worker does the next two. */
TEST_SLOW(trial_costs_the_candidate, 120) {
    static const char *const how[] = {"trap 2", "crash 2", "leave 2", "garbage 2", "hang 3"};
    struct fake *f = fake();
    set_env("RIDGE_TUNE_LIMIT", "1");
    for (size_t i = 0; i < RG_COUNT(how); i++) {
        struct trial_search s = {.ops = &device_cuda[0], .type = "bf16", .n = 512};
        set_env("FAKE_WORKER", how[i]);
        run_search(&s);
        uint32_t tried = s.rows - 1, least = how[i][0] == 'h' ? tried / 3 : tried / 2;
        if (s.count[TUNED_TRAPPED] != least)
            FAIL("%s: %u of %u candidates trapped", how[i], s.count[TUNED_TRAPPED], tried);
        CHECK_EQ(s.count[TUNED_WINNER], 1);
        CHECK_EQ(s.count[TUNED_FAILED], 0);
        CHECK_EQ(f->sticky, 0);
    }
    check_empty(f);
}

/* No helper, one that is no program, one that talks nonsense, one that says nothing: candidates run in the process. */
TEST_SLOW(trial_needs_no_worker, 120) {
    struct fake *f = fake();
    char dir[] = "/tmp/ridge-trial-XXXXXX", path[100];
    static const char *const text[] = {"#!/bin/sh\nprintf '%01000d' 7\nexec cat\n", "#!/bin/sh\nexit 0\n"};
    CHECK(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/worker", dir);
    const char *worker[] = {"0", "/dev/null", path, path};
    set_env("FAKE_WORKER", "trap 1");
    for (size_t i = 0; i < RG_COUNT(worker); i++) {
        struct trial_search s = {.ops = &device_cuda[0], .type = "bf16", .n = 512};
        if (i >= 2) {
            int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0700);
            CHECK(fd >= 0 && write(fd, text[i - 2], strlen(text[i - 2])) > 0 && !close(fd));
        }
        set_env("RIDGE_WORKER", worker[i]);
        run_search(&s);
        CHECK_EQ(s.count[TUNED_TRAPPED], 0);
        CHECK_EQ(s.count[TUNED_WINNER], 1);
    }
    os_remove_tree(dir);
    check_empty(f);
}

/* ---- candidates that are bad themselves ------------------------------------------------------------------------ */

static uint32_t spoiled;

static const uop *some_param(const struct linear *lin) {
    uop_vec topo = {0};
    uop_topo(lin->ir->arena, lin->u, lin->n, &topo);
    for (uint32_t i = 0; i < topo.n; i++)
        if (topo.p[i]->op == OP_PARAM) return topo.p[i];
    return NULL;
}

/* Every second one ends with a store far outside of its buffers. */
static void far_store(void *cx, uint32_t candidate, struct linear *lin) {
    const uop *b = candidate % 2 ? some_param(lin) : NULL;
    uint32_t n = lin->n;
    (void)cx;
    if (!b) return;
    const uop *far[] = {b, uop_int(lin->ir, DT_I32, 1 << 30)};
    const uop *src[] = {uop_new(lin->ir, OP_INDEX, (enum dtype)b->dt, 1, far, 2, ARG_NONE),
                        uop_flt(lin->ir, (enum dtype)b->dt, 1)};
    const uop **u = arena_array(lin->ir->arena, const uop *, n + 1);
    memcpy(u, lin->u, n * sizeof *u);
    while (n && u[n - 1]->op == OP_END) u[n] = u[n - 1], n--;
    u[n] = uop_new(lin->ir, OP_STORE, DT_VOID, 1, src, 2, ARG_NONE);
    lin->u = u, lin->n++;
    spoiled++;
}

TEST_SLOW(trial_of_crashes_on_the_cpu, 120) {
    struct trial_search s = {.ops = &device_cpu, .type = "f32", .n = 128, .spoil = far_store};
    set_env("RIDGE_TUNED", "0");
    run_search(&s);
    CHECK(spoiled > 0);
    CHECK_EQ(s.count[TUNED_TRAPPED], spoiled);
    CHECK_EQ(s.count[TUNED_WINNER], 1);
}

/* The same on a GPU, which must live on; and what a trial costs. */
TEST_MANUAL(cuda_gpu_trial, 240) {
    static const int size[] = {512, 1024, 2048};
    double with = 0, without = 0;
    uint32_t tried = 0, trapped = 0;
    set_env("RIDGE_TUNED", "0");
    for (size_t i = 0; i < RG_COUNT(size); i++) {
        struct trial_search s = {.ops = &device_cuda[0], .type = "bf16", .n = size[i]};
        s.spoil = far_store, spoiled = 0;
        run_search(&s);
        CHECK_EQ(s.count[TUNED_WINNER], 1);
        CHECK(s.count[TUNED_TRAPPED] + s.count[TUNED_FAILED] + s.count[TUNED_WRONG] >= spoiled);
        trapped += s.count[TUNED_TRAPPED];
        s.spoil = NULL;
        set_env("RIDGE_WORKER", "0");
        run_search(&s); /* compiles, so that the disk cache has all */
        run_search(&s);
        without += s.seconds;
        set_env("RIDGE_WORKER", "");
        run_search(&s);
        with += s.seconds, tried += s.rows - 1;
        CHECK_EQ(s.count[TUNED_TRAPPED], 0);
    }
    CHECK(trapped > 0);
    TEST_INFO("%u candidates trapped and left out; trial runs of %u others: %.2f s, without %.2f s, %.1f ms "
              "each (a worker's start included)",
              trapped, tried, with, without, 1e3 * (with - without) / tried);
}
