/* Tests of search: tune/choose/search_space.c (lists around a list), tune/cost/cpu_time.c (their order) and tune/search/search.c.
 *
 *   1. Lists of the space are legal, different, and give the same bits as the one that they were made around.
 *   2. Predictions: what must be slower is predicted to be slower.
 *   3. A bad list is repaired; the winner is found again, in this engine, by another one, not under other settings.
 *   4. Wrong results are refused, whatever their speed.
 *   5. Random programs with search on give what the oracle gives.
 * How much search wins is `ridge tune`'s business: no time is a condition here. */
#include "../../cli/cli.h"
#include "../graphs.h"
#include "engine/internal.h"
#include "irtest.h"
#include "tensor/tensor.h"
#include "tune/search/internal.h"

#include <dirent.h>
#include <stdlib.h>

/* ---- 1: the space --------------------------------------------------------------------------------------------- */

struct file {
    struct err err;
    struct arena arena;
    struct ir ir;
    struct program prog;
    struct io io;
    const char *path;
    char *text;
    int64_t lists, values;
};

static void interpret(struct file *f, uint32_t i, const char *opts, struct io_mem *m) {
    const struct io_kernel *ik = &f->io.kernel[i];
    struct linear lin;
    struct ref_buf *b = arena_array(&f->arena, struct ref_buf, ik->nbuf + 1);
    lower(&f->ir, &f->prog.kernel.p[i],
          &(struct lower_opts){.opts = opts, .target = {.vec_bytes = 16, .keep_math = true}}, &lin);
    for (uint32_t k = 0; k < ik->nbuf; k++)
        if (ik->buf[k] != UINT32_MAX)
            b[k] = (struct ref_buf){m->p[ik->buf[k]], io_bytes(&f->io.buf[ik->buf[k]]),
                                    f->io.buf[ik->buf[k]].name, NULL, NULL};
    struct err e = {0};
    if (ref_linear(&e, &lin, b, ik->nbuf, ik->var, 0, lin.grid))
        FAIL("%s: %s\nopts %s", f->path, e.msg, opts);
}

static void same_bits(struct file *f, uint32_t i, const char *base, const char *other) {
    struct io_mem x, y;
    io_alloc(&f->ir, &f->io, &x);
    io_alloc(&f->ir, &f->io, &y);
    io_fill(&f->io, &x, false);
    io_fill(&f->io, &y, false);
    interpret(f, i, base, &x);
    interpret(f, i, other, &y);
    for (uint32_t b = 0; b < f->io.nbuf; f->values += f->io.buf[b].n, b++)
        if (memcmp(x.p[b], y.p[b], io_bytes(&f->io.buf[b])))
            FAIL("%s: %s differs\nopts %s\norder %s\nopts %s\norder %s", f->path, f->io.buf[b].name, base,
                 opts_rounding(&f->ir, &f->prog.kernel.p[i], base, NULL), other,
                 opts_rounding(&f->ir, &f->prog.kernel.p[i], other, NULL));
    io_free(&x);
    io_free(&y);
}

static void check_kernel(struct file *f, uint32_t i) {
    enum { LISTS = 14 };
    const struct kernel *k = &f->prog.kernel.p[i];
    opts_vec v, again;
    const char *base = opts_heuristic(&f->ir, k, 16, 2);
    opts_space(&f->ir, k, base, 16, 2, NULL, 5, LISTS, &v);
    opts_space(&f->ir, k, base, 16, 2, NULL, 5, LISTS, &again);
    CHECK(v.n >= 1 && v.n <= LISTS && !strcmp(v.p[0], base));
    CHECK_EQ(v.n, again.n);
    for (uint32_t a = 0; a < v.n; a++) {
        CHECK(!strcmp(v.p[a], again.p[a]));
        CHECK(opts_legal(&f->ir, k, v.p[a], NULL, NULL));
        for (uint32_t b = 0; b < a; b++) CHECK(strcmp(v.p[a], v.p[b]));
        if (a) same_bits(f, i, base, v.p[a]);
    }
    f->lists += v.n;
}

static void check_file(void *arg) {
    struct file *f = arg;
    ir_init(&f->ir, &f->arena);
    ir_parse(&f->ir, f->text, strlen(f->text), f->path, &f->prog);
    io_bind(&f->ir, &f->prog, f->path, &f->io);
    for (uint32_t i = 0; i < f->prog.kernel.n; i++) check_kernel(f, i);
}

TEST_SLOW(space_lists_keep_every_bit, 240) {
    DIR *d = opendir("tests/golden/small");
    int64_t lists = 0, values = 0;
    CHECK(d);
    for (struct dirent *e; (e = readdir(d));) {
        size_t n = strlen(e->d_name);
        struct file f = {0};
        if (n < 5 || strcmp(e->d_name + n - 4, ".uop")) continue;
        arena_init(&f.arena, &f.err);
        f.path = arena_printf(&f.arena, "tests/golden/small/%s", e->d_name);
        if (os_read_file(&f.err, &f.arena, f.path, 1 << 20, &f.text, &n)) FAIL("%s", f.err.msg);
        if (err_guard(&f.err, check_file, &f)) FAIL("%s: %s", f.path, f.err.msg);
        lists += f.lists, values += f.values;
        arena_free(&f.arena);
    }
    closedir(d);
    TEST_INFO("%lld lists, %lld values", (long long)lists, (long long)values);
    CHECK(lists > 100);
}

static const char dot_text[] =
    "kernel sums\n"
    "x = (PARAM<f32>[0 x] 4096)\no = (PARAM<f32>[1 o] 16)\n"
    "r = (RANGE[r GRID 0 0] 16)\nk = (RANGE[k REDUCE 1 0] 256)\n"
    "(SINK (STORE (INDEX o r) (REDUCE[ADD] (LOAD (INDEX x (ADD (MUL r 256) k))) k)))\n";

static const struct kernel *parse(struct ir_test *t, const char *text) {
    struct program *p = arena_new(&t->arena, struct program);
    ir_parse(&t->ir, text, strlen(text), "text", p);
    return &p->kernel.p[0];
}

TEST(space_knows_what_changes_a_sum) {
    struct ir_test t;
    ir_test_open(&t);
    const struct kernel *k = parse(&t, dot_text);
    const char *plain = opts_rounding(&t.ir, k, "", NULL);
    CHECK(*plain);
    static const char *const same[] = {"TILE(k,8,u) UNROLL(u)", "TILE(k,16,a) TILE(a,4,b) UNROLL(b)",
                                       "TILE(r,4,v) VEC(v)", "TILE(r,4,v) LOOP(r)", "TILE(k,2,u)"};
    static const char *const other[] = {"TILE(k,8,u) REG(u)",
                                        "TILE(k,4,v) VEC(v)",
                                        "TILE(k,16,a) SWAP(k,a)",
                                        "TILE(k,16,a) UNROLL(a) TILE(k,4,b) SWAP(k,b)",
                                        "TILE(k,3,u)", /* blocks of 63 additions, not of 64 */
                                        "TILE(r,4,q) TILE(k,32,a) LOOP(r) ORDER(k,q,a)"};
    for (size_t i = 0; i < RG_COUNT(same); i++)
        if (strcmp(opts_rounding(&t.ir, k, same[i], NULL), plain))
            FAIL("%s: %s", same[i], opts_rounding(&t.ir, k, same[i], NULL));
    for (size_t i = 0; i < RG_COUNT(other); i++) {
        const char *o = opts_rounding(&t.ir, k, other[i], NULL);
        if (!o || !strcmp(o, plain)) FAIL("%s: %s", other[i], o ? o : "not legal");
    }
    CHECK(!opts_rounding(&t.ir, k, "VEC(nothing)", NULL));
    /* a greatest value has no order */
    struct str s;
    str_init(&s, &t.arena);
    for (const char *p = dot_text; *p; p++)
        if (!strncmp(p, "[ADD]", 5))
            str_add(&s, "[MAX]"), p += 4;
        else
            str_addc(&s, *p);
    const struct kernel *m = parse(&t, s.p);
    CHECK(!*opts_rounding(&t.ir, m, "", NULL) && !*opts_rounding(&t.ir, m, "TILE(k,4,v) VEC(v)", NULL));
    ir_test_close(&t);
}

/* ---- 2: predictions ------------------------------------------------------------------------------------------------ */

static double predicted(struct ir_test *t, const struct kernel *k, const char *opts, int threads) {
    struct linear lin;
    struct model m;
    char *text;
    size_t n;
    CHECK(!os_read_file(&t->err, &t->arena, "tests/machine.txt", 1 << 16, &text, &n));
    CHECK(!model_parse(&t->err, &m, "tests/machine.txt", text, n));
    lower(&t->ir, k, &(struct lower_opts){.opts = opts, .target = {.vec_bytes = 16}}, &lin);
    return predict_seconds(&t->arena, &lin, &m, threads);
}

TEST(predict_orders_what_is_plain) {
    struct ir_test t;
    ir_test_open(&t);
    const struct kernel *k = parse(
        &t,
        "kernel mm\na = (PARAM<f32>[0 a] 65536)\nb = (PARAM<f32>[1 b] 65536)\no = (PARAM<f32>[2 o] 65536)\n"
        "m = (RANGE[m GRID 0 0] 256)\nn = (RANGE[n GRID 1 0] 256)\nk = (RANGE[k REDUCE 2 0] 256)\n"
        "(SINK (STORE (INDEX o (ADD (MUL m 256) n)) (REDUCE[ADD] (MUL (LOAD (INDEX a (ADD (MUL m 256) k))) "
        "(LOAD (INDEX b (ADD (MUL k 256) n)))) k)))\n");
    const char *tile = opts_heuristic(&t.ir, k, 16, 1);
    double plain = predicted(&t, k, "", 1), vector = predicted(&t, k, "TILE(n,4,v) VEC(v)", 1),
           best = predicted(&t, k, tile, 1);
    TEST_INFO("plain %.0f us, vectors %.0f us, heuristic %.0f us", plain * 1e6, vector * 1e6, best * 1e6);
    CHECK(best * 2 < vector && vector * 2 < plain);
    CHECK(predicted(&t, k, tile, 2) < best);
    CHECK(best > 2.0 * 256 * 256 * 256 / 200e9); /* no core does more */
    ir_test_close(&t);
}

/* ---- 3: search ------------------------------------------------------------------------------------------------------- */

static struct err err;
static struct arena arena;
static char *dir;

static void set(const char *name, const char *value) {
    setenv(name, value, 1);
    env_reload();
}

static void setup(const char *cache) {
    arena_init(&arena, &err);
    CHECK(!os_temp_dir(&err, &arena, &dir));
    setenv("RIDGE_CACHE_DIR", arena_printf(&arena, "%s/cache", dir), 1);
    setenv("RIDGE_MODEL", "tests/machine.txt", 1);
    unsetenv("BEAM"), unsetenv("RIDGE_BEAM"), unsetenv("RIDGE_TUNED");
    set("RIDGE_CACHE", cache);
    if (!os_find_program(&arena, "clang") && !os_find_program(&arena, "gcc")) SKIP("no C compiler");
}

enum { M = 64, N = 96, K = 80 };

/* a (M x K) times b (K x N) in a new ir, with exact numbers; the result must be right. */
static struct realize_stats multiply(struct engine *en) {
    struct ir_test t;
    struct realize_stats st;
    float *mem = engine_alloc(en, &err, sizeof(float) * (M * K + K * N + M * N)), *a = mem, *b = a + M * K,
          *o = b + K * N;
    ir_test_open(&t);
    struct ir *ir = &t.ir;
    const uop *m = uop_idx(ir, M), *n = uop_idx(ir, N), *k = uop_idx(ir, K), *one = uop_idx(ir, 1);
    const uop *x = uop_new(ir, OP_BUFFER, DT_F32, 1, (const uop *[]){m, k}, 2, ARG_INT(0)),
              *y = uop_new(ir, OP_BUFFER, DT_F32, 1, (const uop *[]){k, n}, 2, ARG_INT(1));
    x = uop_mk(ir, OP_RESHAPE, (const uop *[]){x, m, k, one}, 4, ARG_NONE);
    x = uop_mk(ir, OP_EXPAND, (const uop *[]){x, m, k, n}, 4, ARG_NONE);
    y = uop_mk(ir, OP_RESHAPE, (const uop *[]){y, one, k, n}, 4, ARG_NONE);
    y = uop_mk(ir, OP_EXPAND, (const uop *[]){y, m, k, n}, 4, ARG_NONE);
    const uop *src[] = {uop2(ir, OP_MUL, x, y), uop_idx(ir, 1)},
              *sum = uop_new(ir, OP_REDUCE_AXES, DT_F32, 1, src, 2, ARG_INT(OP_ADD));
    for (int i = 0; i < M * K; i++) a[i] = (float)(i % 7 - 3);
    for (int i = 0; i < K * N; i++) b[i] = (float)(i % 5 - 2);
    for (int i = 0; i < M * N; i++) o[i] = -1e9f;
    struct realize r = {.ir = ir,
                        .graph = uop_mk(ir, OP_GRAPH, &sum, 1, ARG_NONE),
                        .buf = (void *[]){a, b},
                        .result = (void *[]){o}};
    if (engine_realize(en, &err, &r, &st)) FAIL("%s", err.msg);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float want = 0;
            for (int q = 0; q < K; q++) want += a[i * K + q] * b[q * N + j];
            CHECK_NEAR(o[i * N + j], want, 0);
        }
    ir_test_close(&t);
    engine_free(en, mem, sizeof(float) * (M * K + K * N + M * N));
    return st;
}

static struct engine *open_with(const struct engine_tuning *how) {
    struct engine *en = search_engine_open(&err, NULL);
    if (!en) FAIL("%s", err.msg);
    engine_set_tuning(en, how);
    return en;
}

TEST_SLOW(tune_repairs_a_bad_list, 120) {
    setup("0"); /* all of it without a cache on disk */
    struct engine *en = open_with(&(struct engine_tuning){.beam = 4, .heuristic = ""});
    multiply(en);
    CHECK_EQ(engine_stats(en).searched, 1);
    CHECK_EQ(engine_stats(en).refused, 0);
    CHECK_EQ(en->records->all.n, 1);
    const struct tuned *t = en->records->all.p[0];
    CHECK(t->row.n > 4 && !*t->row.p[0].opts && t->row.p[0].state == TUNED_BASE);
    CHECK(strstr(t->opts, "VEC(")); /* scalars against vectors is no matter of noise */
    for (uint32_t i = 0; i < t->row.n; i++) CHECK(t->row.p[i].predicted > 0 && t->row.p[i].measured > 0);
    multiply(en); /* the same plan */
    engine_set_tuning(en, &(struct engine_tuning){.heuristic = ""});
    set("RIDGE_TF32", "1"); /* another plan of the same kernel: what was found is used */
    multiply(en);
    CHECK_EQ(engine_stats(en).searched, 1);
    CHECK_EQ(engine_stats(en).tuned_hits, 1);
    engine_close(en);
    os_remove_tree(dir);
}

TEST_SLOW(tune_winners_are_found_on_disk, 120) {
    setup("1");
    const struct engine_tuning search = {.beam = 3, .heuristic = ""}, use = {.heuristic = ""},
                               more = {.beam = 4, .heuristic = ""};
    struct engine *en = open_with(&search);
    multiply(en);
    CHECK_EQ(engine_stats(en).searched, 1);
    const char *won = arena_strdup(&arena, en->records->all.p[0]->opts, strlen(en->records->all.p[0]->opts));
    engine_close(en);

    en = open_with(&use); /* BEAM off */
    multiply(en);
    CHECK_EQ(engine_stats(en).searched, 0);
    CHECK_EQ(engine_stats(en).tuned_hits, 1);
    CHECK_EQ(engine_stats(en).compiled, 0);
    tuned_vec all;
    tuning_records(en, &arena, &all);
    CHECK_EQ(all.n, 1);
    CHECK(!strcmp(all.p[0]->opts, won) && all.p[0]->beam == 3 && strstr(all.p[0]->text, "REDUCE"));
    engine_close(en);

    en = open_with(&search); /* on, and as much was searched already */
    multiply(en);
    CHECK_EQ(engine_stats(en).searched, 0);
    engine_close(en);

    set("RIDGE_TUNED", "0");
    en = open_with(&use);
    multiply(en);
    CHECK_EQ(engine_stats(en).tuned_hits, 0);
    engine_close(en);
    set("RIDGE_TUNED", "1");

    set("RIDGE_MODEL", ""); /* another machine model: the record is not for it */
    set("RIDGE_THREADS", "1");
    en = open_with(&use);
    multiply(en);
    CHECK_EQ(engine_stats(en).tuned_hits, 0);
    engine_close(en);
    set("RIDGE_THREADS", "0");
    set("RIDGE_MODEL", "tests/machine.txt");

    en = open_with(&more); /* more is asked for than was searched */
    multiply(en);
    CHECK_EQ(engine_stats(en).searched, 1);
    engine_close(en);
    os_remove_tree(dir);
}

/* A record that does not hold what it should is no reason for another result. */
TEST_SLOW(tune_records_are_not_believed, 120) {
    setup("1");
    const struct engine_tuning search = {.beam = 2, .heuristic = ""}, use = {.heuristic = ""};
    struct engine *en = open_with(&search);
    multiply(en);
    const char *const *name;
    CHECK_EQ(cache_list(&en->cache, &arena, "tuned-", &name), 1);
    static const char *const text[] = {
        "ridge-tuned 0\nwinner 1 1 VEC(x)\ntext\n",                        /* another format */
        "ridge-tuned 1\nkernel r\nwinner 1 1 VEC(nothing)\ntext\n",        /* not legal */
        "ridge-tuned 1\nkernel r\nwinner 1 1 TILE(k2,4,q) REG(q)\ntext\n", /* legal, but sums in another order */
        "ridge-tuned 1\nkernel r\nused 1 1 \ntext\n",                      /* no winner */
        "ridge-tuned 1\nsomething\n",
        ""};
    engine_close(en);
    for (size_t i = 0; i < RG_COUNT(text); i++) {
        en = open_with(&use);
        cache_write(&en->cache, &arena, name[0], text[i], strlen(text[i]));
        multiply(en);
        CHECK_EQ(engine_stats(en).tuned_hits, 0);
        engine_close(en);
    }
    os_remove_tree(dir);
}

/* ---- 4: wrong results --------------------------------------------------------------------------------------------------- */

static uint32_t spoiled, odd_only;
static void spoil(void *cx, uint32_t candidate, struct linear *lin) {
    (void)cx;
    if (candidate == 0 || (odd_only && candidate % 2 == 0)) return;
    lin->grid /= 2; /* half of the work: twice as fast */
    spoiled++;
}

TEST_SLOW(tune_refuses_wrong_results, 120) {
    setup("0");
    for (odd_only = 0; odd_only < 2; odd_only++) {
        spoiled = 0;
        struct engine *en =
            open_with(&(struct engine_tuning){.beam = 4, .heuristic = "TILE(i1,4,v) VEC(v)", .spoil = spoil});
        multiply(en);
        const struct tuned *t = en->records->all.p[0];
        uint32_t wrong = 0;
        for (uint32_t i = 0; i < t->row.n; i++) {
            wrong += t->row.p[i].state == TUNED_WRONG;
            if (t->row.p[i].state == TUNED_WINNER) CHECK(!i || (odd_only && i % 2 == 0));
        }
        CHECK(spoiled > 0);
        CHECK_EQ(wrong, spoiled);
        CHECK_EQ(engine_stats(en).refused, spoiled);
        multiply(en);
        engine_close(en);
    }
    os_remove_tree(dir);
}

/* ---- 5: random programs --------------------------------------------------------------------------------------------------- */

struct random_program {
    struct ir_test t;
    uint64_t seed;
    const struct graph_gen *gen;
    const uop *graph;
    struct graph_data data;
};

static void make_random(void *arg) {
    struct random_program *p = arg;
    p->graph = graph_random(&p->t.ir, &p->t.arena, p->seed, p->gen);
    p->data = graph_fill(&p->t.arena, &p->t.ir, p->graph, p->seed, false);
}

static uint64_t run_random(struct engine *en, uint64_t seed, const struct graph_gen *gen,
                           uint64_t *excluded) {
    struct random_program *p = calloc(1, sizeof *p);
    struct err e = {0};
    uint64_t compared = 0;
    ir_test_open(&p->t);
    p->seed = seed, p->gen = gen;
    if (err_guard(&p->t.err, make_random, p)) FAIL("%s", p->t.err.msg);
    struct arena *a = &p->t.arena;
    const uop *g = p->graph;
    struct ref_tensor *want = arena_array(a, struct ref_tensor, g->nsrc);
    if (ref_graph(&e, a, &p->t.ir, g, p->data.bufs, p->data.nbuf, p->data.var, true, 0, want))
        FAIL("%s", e.msg);
    void **buf = arena_array(a, void *, p->data.nbuf + 1), **result = arena_array(a, void *, g->nsrc + 1);
    for (uint32_t i = 0; i < p->data.nbuf; i++) buf[i] = p->data.bufs[i].p;
    for (uint32_t i = 0; i < g->nsrc; i++)
        result[i] = arena_alloc(a, (size_t)shape_size(want[i].shape) * dtype_info[want[i].dt].bytes + 64);
    struct realize r = {.ir = &p->t.ir, .graph = g, .buf = buf, .result = result, .var = p->data.var};
    if (engine_realize(en, &e, &r, NULL)) FAIL("seed %llu: %s", (unsigned long long)seed, e.msg);
    for (uint32_t i = 0; i < g->nsrc; i++) {
        struct str why;
        str_init(&why, a);
        if (g->src[i]->op == OP_BUFFER || g->src[i]->op == OP_ASSIGN) continue;
        if (!graph_compare(&why, &want[i], result[i], excluded, &compared))
            FAIL("seed %llu, output %u: %s", (unsigned long long)seed, i, why.p);
    }
    ir_test_close(&p->t);
    free(p);
    return compared;
}

TEST_SLOW(tune_random_programs, 300) {
    setup("0");
    const struct graph_gen gen = {.max_ops = 8, .max_elements = 20000, .vars = true};
    struct engine *en = open_with(&(struct engine_tuning){.beam = 2});
    const char *s = getenv("TUNE_SEEDS");
    uint64_t seeds = s ? strtoull(s, NULL, 10) : 8, values = 0, excluded = 0;
    for (uint64_t i = 0; i < seeds; i++) values += run_random(en, 1000 + i, &gen, &excluded);
    TEST_INFO("%llu values, %llu left out, %llu kernels searched, %llu lists refused",
              (unsigned long long)values, (unsigned long long)excluded,
              (unsigned long long)engine_stats(en).searched, (unsigned long long)engine_stats(en).refused);
    CHECK(values > 0 && engine_stats(en).searched > 0);
    CHECK_EQ(engine_stats(en).refused, 0);
    engine_close(en);
    os_remove_tree(dir);
}
