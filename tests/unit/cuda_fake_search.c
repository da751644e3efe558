/* Tests of search on a GPU (src/tune/search/search.c, in_context.c) that need none: a library pretends to be the driver (tests/fake), and a
 * test says how long its kernels take. */
#include "fake/cuda.h"
#include "engine/internal.h"
#include "tune/search/search.h"

static struct err err;

#define PRODUCT(b_at)                                                                                   \
    "kernel mm\na = (PARAM<bf16>[0 a] 262144)\nb = (PARAM<bf16>[1 b] 262144)\n"                         \
    "o = (PARAM<bf16>[2 o] 262144)\n"                                                                   \
    "m = (RANGE[m GRID 0 0] 512)\nn = (RANGE[n GRID 1 0] 512)\nk = (RANGE[k REDUCE 2 0] 512)\n"         \
    "x = (CAST<f32> (LOAD (INDEX a (ADD (MUL m 512) k))))\ny = (CAST<f32> (LOAD (INDEX b " b_at ")))\n" \
    "(SINK (STORE (INDEX o (ADD (MUL m 512) n)) (CAST<bf16> (REDUCE[ADD] (MUL x y) k))))\n"
static const char *const product_text[] = {PRODUCT("(ADD (MUL n 512) k)"), PRODUCT("(ADD (MUL k 512) n)")};

/* Searches for a product; the record, or NULL and an error. */
static const struct tuned *search(struct engine *en, struct ir *ir, const char *text) {
    enum { BYTES = 262144 * 2 };
    struct program p = {0};
    const struct tuned *t = NULL;
    void *buf[3];
    ir_parse(ir, text, strlen(text), "text", &p);
    for (int i = 0; i < 3; i++) CHECK(buf[i] = engine_alloc(en, &err, BYTES));
    struct search_call c = {.ir = ir,
                            .kernel = &p.kernel.p[0],
                            .buf = buf,
                            .bytes = (size_t[]){BYTES, BYTES, BYTES},
                            .dt = (enum dtype[]){DT_BF16, DT_BF16, DT_BF16},
                            .nbuf = 3};
    engine_set_tuning(en, &(struct engine_tuning){.beam = 4});
    if (search_kernel(en, &err, &c, &t)) t = NULL;
    for (int i = 0; i < 3; i++) engine_free(en, buf[i], BYTES);
    return t;
}

static uint32_t count_state(const struct tuned *t, enum tuned_state s) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->row.n; i++) n += t->row.p[i].state == s;
    return n;
}

/* All forms are compiled, run and compared; those that do not start are left out, and the list in use stays. */
TEST(cuda_fake_search) {
    struct fake *f = fake();
    for (int i = 0; i < 4; i++) {
        bool fails = i & 1;
        struct arena a;
        struct ir ir;
        struct engine *en = search_engine_open(&err, &device_cuda[0]);
        CHECK(en);
        arena_init(&a, &err);
        ir_init(&ir, &a);
        if (fails) f->fail = "cuLaunchKernel", f->after = 12, f->code = 701; /* out of resources */
        uint32_t before = f->compiled;
        const struct tuned *t = search(en, &ir, product_text[i / 2]);
        if (!t) FAIL("%s", err.msg);
        CHECK(t->row.n == 9 || t->row.n == 8); /* the one in use, and eight, of which it may be one */
        CHECK(f->compiled > before);
        CHECK_EQ(count_state(t, TUNED_WINNER), 1);
        CHECK_EQ(count_state(t, TUNED_WRONG), 0);
        CHECK((count_state(t, TUNED_FAILED) > 0) == fails);
        CHECK(!fails || !strcmp(t->opts, t->row.p[0].opts));
        CHECK(!t->cold);
        f->fail = NULL;
        arena_free(&a);
        engine_close(en);
    }
    check_empty(f);
}

/* Kernels in the order of their first launch: the one in use, one that is fast as long as it rests, one that is faster at
 * any time; the others are slow. */
static float tired(const char *kernel, unsigned launches) {
    static const char *seen[64];
    int i = 0;
    if (strncmp(kernel, "mm_", 3)) return 0.001f; /* compares results */
    while (i < 63 && seen[i] && strcmp(seen[i], kernel)) i++;
    seen[i] = kernel;
    return (float)launches * (i == 0 ? 0.1f : i == 1 ? launches < 40 ? 0.07f : 0.12f : i == 2 ? 0.09f : 0.2f);
}

TEST(cuda_fake_search_without_pauses) {
    struct fake *f = fake();
    struct arena a;
    struct ir ir;
    struct engine *en = search_engine_open(&err, &device_cuda[0]);
    CHECK(en);
    arena_init(&a, &err);
    ir_init(&ir, &a);
    f->clock = tired;
    const struct tuned *t = search(en, &ir, product_text[0]);
    if (!t) FAIL("%s", err.msg);
    CHECK_NEAR(t->row.p[0].measured, 0.1e-3, 1e-8);
    uint32_t winner = 0, faster = 0;
    for (uint32_t i = 0; i < t->row.n; i++) {
        if (t->row.p[i].state == TUNED_WINNER) winner = i;
        faster += t->row.p[i].state != TUNED_FAILED && t->row.p[i].measured < 0.08e-3;
    }
    CHECK_EQ(faster, 1); /* and it did not win */
    CHECK_NEAR(t->row.p[winner].measured, 0.09e-3, 1e-8);
    arena_free(&a);
    engine_close(en);
    check_empty(f);
}

/* The same, but the second kernel is a little faster at any time, the third more: by what part is set. */
static float second, third;
static float ahead(const char *kernel, unsigned launches) {
    static const char *seen[3];
    static float of[2];
    int i = 0;
    if (strncmp(kernel, "mm_", 3)) return 0.001f;
    if (of[0] != second || of[1] != third) memset(seen, 0, sizeof seen), of[0] = second, of[1] = third;
    while (i < 3 && seen[i] && strcmp(seen[i], kernel)) i++;
    if (i < 3) seen[i] = kernel;
    return (float)launches * 0.1f * (i == 0 ? 1 : i == 1 ? second : i == 2 ? third : 2);
}

/* What is even stays as it is; of what is better the best wins, and it must be better by two per cent. */
TEST(cuda_fake_search_keeps_what_is_even) {
    static const struct {
        float second, third;
        int winner; /* in the order of their first launch */
    } cases[] = {{0.99f, 0.985f, 0}, {0.99f, 0.97f, 2}, {0.96f, 0.97f, 1}, {1.01f, 1.04f, 0}};
    struct fake *f = fake();
    for (size_t i = 0; i < RG_COUNT(cases); i++) {
        struct arena a;
        struct ir ir;
        struct engine *en = search_engine_open(&err, &device_cuda[0]);
        CHECK(en);
        arena_init(&a, &err);
        ir_init(&ir, &a);
        second = cases[i].second, third = cases[i].third;
        f->clock = ahead;
        const struct tuned *t = search(en, &ir, product_text[0]);
        if (!t) FAIL("%s", err.msg);
        float want = cases[i].winner == 0 ? 1 : cases[i].winner == 1 ? second : third;
        for (uint32_t k = 0; k < t->row.n; k++)
            if (t->row.p[k].state == TUNED_WINNER) CHECK_NEAR(t->row.p[k].measured, 1e-4 * want, 1e-9);
        arena_free(&a);
        engine_close(en);
    }
    f->clock = NULL;
    check_empty(f);
}

/* Row sums, and a kernel that reads them. By itself the second list of the sums takes half the time; before the other kernel it takes
 * five times as long. The third is faster by a tenth, wherever it runs. */
enum { SUMS = 64 };
static const struct fake *around;
static const char *sums[SUMS];
static int number_of(const char *kernel) {
    int i = 0;
    while (i < SUMS - 1 && sums[i] && strcmp(sums[i], kernel)) i++;
    sums[i] = kernel;
    return i;
}
static float beside_others(const char *kernel, unsigned launches) {
    static const float alone[] = {0.1f, 0.05f, 0.09f, 0.2f};
    if (!around->first || (*around->first != 'r' && *around->first != 'E')) return 0.001f;
    bool both = *around->first != *kernel;
    if (!both && *kernel == 'E') return (float)launches * 0.1f;
    int i = RG_MIN(number_of(*kernel == 'r' ? kernel : around->first), 3);
    return both ? (float)launches / 2 * (i == 1 ? 0.5f : 0.1f + alone[i]) : (float)launches * alone[i];
}

struct summed {
    bool in_place;
    rg_tensor w;
};
static rg_status sums_and_more(void *user, const rg_tensor *in, rg_tensor *out) {
    struct summed *x = user;
    rg_tensor s = rg_contiguous(rg_sum(in[0], RG_AXES(1)));
    if (!x->in_place) out[0] = rg_exp(s);
    return x->in_place ? rg_assign(x->w, rg_add(x->w, s)) : RG_OK;
}

static const char *ran_last; /* of kernels that are sums */
static void note_sums(const char *name, uint64_t node) {
    (void)node;
    if (*name == 'r') ran_last = name;
}

/* What is faster by itself does not win if the plan gets slower with it. A neighbour that writes where it reads cannot be run again
 * and again; then a kernel is timed by itself. */
TEST(cuda_fake_search_looks_around) {
    static const struct {
        bool in_place;
        int winner; /* in the order of their first launch */
    } cases[] = {{false, 2}, {true, 1}};
    struct fake *f = fake();
    for (size_t i = 0; i < RG_COUNT(cases); i++) {
        rg_ctx *c = fake_open(f);
        struct summed u = {cases[i].in_place, rg_contiguous(rg_ones(c, RG_F32, RG_SHAPE(1024)))};
        rg_tensor y, x = rg_contiguous(rg_ones(c, RG_F32, RG_SHAPE(1024, 1024)));
        CHECK(!rg_realize_all(RG_TENSORS(x, u.w)));
        around = f, memset(sums, 0, sizeof sums);
        f->clock = beside_others, f->ran = note_sums;
        setenv("RIDGE_BEAM", "4", 1);
        env_reload();
        rg_jit *j = rg_jit_new(c, sums_and_more, &u, !u.in_place);
        if (rg_jit_call(j, (rg_tensors){&x, 1}, &y)) FAIL("%s", rg_error(c));
        setenv("RIDGE_BEAM", "0", 1);
        env_reload();
        CHECK(sums[2]);
        if (rg_jit_call(j, (rg_tensors){&x, 1}, &y)) FAIL("%s", rg_error(c));
        TEST_INFO("%s of %s, %s, %s", ran_last, sums[0], sums[1], sums[2]);
        CHECK(!strcmp(ran_last, sums[cases[i].winner]));
        f->clock = NULL, f->ran = NULL;
        rg_close(c);
        check_empty(f);
    }
}

/* The second list of a product takes a tenth less, but, if it gets `hot`, a tenth more once it has run for a while without another. */
static bool hot;
static const char *ran_before;
static float alternating(const char *kernel, unsigned launches) {
    enum { A_WHILE = 3 }; /* readings: more than one turn has */
    static int readings;
    if (*kernel != 'r') return 0.001f;
    readings = ran_before && !strcmp(ran_before, kernel) ? readings + 1 : 0;
    ran_before = kernel;
    int i = number_of(kernel);
    bool slow = hot && readings >= A_WHILE;
    return (float)launches * (i == 0 ? 0.005f : i > 1 ? 0.01f : slow ? 0.0055f : 0.0045f);
}
static rg_status squared(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)user;
    out[0] = rg_matmul(in[0], in[0]);
    return RG_OK;
}

/* Where power limits a GPU, a list that wins in turns must win alone too. */
TEST(cuda_fake_search_wins_alone) {
    for (int i = 0; i < 2; i++) {
        struct fake *f = fake();
        rg_ctx *c = fake_open(f);
        rg_tensor y, x = rg_contiguous(rg_cast(rg_ones(c, RG_F32, RG_SHAPE(1024, 1024)), RG_BF16));
        CHECK(!rg_realize(x));
        memset(sums, 0, sizeof sums), ran_before = NULL;
        f->clock = alternating, f->ran = note_sums, hot = i;
        setenv("RIDGE_BEAM", "4", 1);
        env_reload();
        rg_jit *j = rg_jit_new(c, squared, NULL, 1);
        if (rg_jit_call(j, (rg_tensors){&x, 1}, &y)) FAIL("%s", rg_error(c));
        setenv("RIDGE_BEAM", "0", 1);
        env_reload();
        CHECK(sums[2]);
        if (rg_jit_call(j, (rg_tensors){&x, 1}, &y)) FAIL("%s", rg_error(c));
        TEST_INFO("%s: %s of %s, %s", hot ? "hot" : "cool", ran_last, sums[0], sums[1]);
        CHECK(!strcmp(ran_last, sums[hot ? 0 : 1]));
        f->clock = NULL, f->ran = NULL;
        rg_close(c);
        check_empty(f);
    }
}

static float busy(const char *kernel, unsigned launches) { return (float)launches * (*kernel ? 0.1f : 0); }

/* What the kernels of a program will try is compiled together: as many texts as there are cores, and none later but the one
 * that compares results. */
TEST(cuda_fake_search_compiles_at_once) {
    enum { N = 1 << 16 };
    struct fake *f = fake();
    f->clock = busy;
    setenv("RIDGE_BEAM", "2", 1);
    setenv("RIDGE_CC_JOBS", "0", 1);
    rg_ctx *c = fake_open(f);
    rg_tensor x = rg_contiguous(rg_ones(c, RG_F32, RG_SHAPE(N))), y;
    CHECK(!rg_realize(x));
    uint32_t before = f->compiled, cores = (uint32_t)os_cpus();
    rg_jit *j = rg_jit_new(c, diamond, NULL, 1);
    if (rg_jit_call(j, (rg_tensors){&x, 1}, &y)) FAIL("%s", rg_error(c));
    setenv("RIDGE_BEAM", "0", 1);
    env_reload();
    uint32_t made = f->compiled - before;
    TEST_INFO("%u texts on %u cores", made, cores);
    CHECK(made > RG_MIN(cores, 4) && made <= 2 * cores + 1);
    rg_close(c);
    f->clock = NULL;
    check_empty(f);
}
