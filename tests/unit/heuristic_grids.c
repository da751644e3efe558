/* Tests of opts_heuristic: grids of golden and of random kernels fill any number of threads, tiles and grid of a GEMM balance, finer
 * grids keep values. */
#include "trial.h"

/* A kernel's grid under the heuristic's list, and what it should be at least. */
struct grid_case {
    struct err err;
    struct arena arena;
    struct ir ir;
    const char *text, *path;
    int vec_bytes, threads;
    int kernels, full;
};

static void count_grid(void *cx, struct sched *s, const uop *sink) {
    double *grid = cx;
    (void)sink;
    *grid = 1;
    for (uint32_t i = 0; i < s->axis.n; i++)
        if (axis_is_grid(&s->axis.p[i])) *grid *= (double)s->axis.p[i].most;
}

/* The most tasks that make sense: none shorter than 20 us of one core (30 flops and 20 bytes per ns), and none with fewer results
 * than two register tiles of 24 accumulators. */
static double most_tasks(const struct grid_case *c, const struct kernel *k, double results) {
    struct estimate e = {0};
    estimate_asked((struct ir *)&c->ir, k->sink, &e);
    double ns = RG_MAX(e.flops / 30, e.bytes / 20) + e.special, tiles = 2 * 24.0 * c->vec_bytes / 4;
    return RG_MAX(floor(RG_MIN(ns / 20000, results / tiles)), 1);
}

static void check_grid(void *arg) {
    struct grid_case *c = arg;
    struct program prog;
    ir_init(&c->ir, &c->arena);
    ir_parse(&c->ir, c->text, strlen(c->text), c->path, &prog);
    for (uint32_t i = 0; i < prog.kernel.n; i++) {
        const struct kernel *k = &prog.kernel.p[i];
        double grid = 0, results = 0;
        const char *opts = opts_heuristic(&c->ir, k, c->vec_bytes, c->threads);
        CHECK(opts_axes(&c->ir, k, "", count_grid, &results));
        CHECK(opts_axes(&c->ir, k, opts, count_grid, &grid));
        /* two tasks for each thread, or one where there is no work for two rounds of them; fewer only if two fifths of the threads
         * are busy */
        double most = most_tasks(c, k, results), used = RG_MIN(c->threads, most),
               least = RG_MIN(2, floor(most / used)) * used;
        c->kernels++, c->full += grid >= least || c->threads == 1;
        if (grid < least && c->threads > 1 && grid < 0.4 * used * ceil(grid / used))
            FAIL("%s, %s, %d threads, vectors of %d bytes: %.0f grid iterations for %.0f threads, at least "
                 "%.0f expected\n%s",
                 c->path, k->name, c->threads, c->vec_bytes, grid, used, least, opts);
    }
}

/* For every number of threads and length of vectors. */
static int grids_checked, grids_full;
static void check_grids(const char *text, const char *path) {
    static const int threads[] = {1, 2, 8, 16, 64}, bytes[] = {16, 32, 64};
    for (size_t t = 0; t < RG_COUNT(threads); t++)
        for (size_t b = 0; b < RG_COUNT(bytes); b++) {
            struct grid_case c = {.text = text, .path = path, .vec_bytes = bytes[b], .threads = threads[t]};
            arena_init(&c.arena, &c.err);
            if (err_guard(&c.err, check_grid, &c)) FAIL("%s: %s", path, c.err.msg);
            grids_checked += c.kernels, grids_full += c.full;
            arena_free(&c.arena);
        }
}

static void check_golden_grids(struct trial *t, const char *path) {
    struct err e = {0};
    struct arena a;
    (void)t;
    arena_init(&a, &e);
    check_grids(read_text(&a, &e, path), path);
    arena_free(&a);
}

TEST(heuristic_grids_of_golden_kernels_fill_the_threads) {
    CHECK(each_file("tests/golden", check_golden_grids) > 10);
    TEST_INFO("%d lists, %d with two tasks a thread", grids_checked, grids_full);
    CHECK(grids_full >= 0.98 * grids_checked);
}

static int64_t any_of(struct rnd *r, const int64_t *list, uint32_t n) { return list[rnd_below(r, n)]; }
#define ANY_OF(r, ...) \
    any_of(r, (const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

static void grid_gemm(struct str *s, struct rnd *r) {
    int64_t m = ANY_OF(r, 1, 5, 16, 64, 100, 128, 256, 512, 1000, 2048),
            n = ANY_OF(r, 10, 48, 64, 127, 256, 768, 1000, 3072),
            k = ANY_OF(r, 27, 64, 100, 256, 768, 1024, 3072), g = ANY_OF(r, 1, 1, 1, 4, 12);
    bool ta = rnd_below(r, 4) == 0, tb = rnd_below(r, 2);
    param(s, "a", 0, "f32", g * m * k), param(s, "b", 1, "f32", g * k * n),
        param(s, "o", 2, "f32", g * m * n);
    const char *z = "0:idx", *i = "0:idx";
    if (g > 1) range(s, z = "z", "z", "GRID", 0, 0, g);
    if (m > 1) range(s, i = "m", "m", "GRID", 1, 0, m);
    range(s, "n", "n", "GRID", 2, 0, n), range(s, "k", "k", "REDUCE", 3, 0, k);
    str_printf(s, "a0 = (LOAD (INDEX a (ADD (MUL %s %lld) (ADD (MUL %s %lld) %s))))\n", z, (long long)(m * k),
               ta ? "k" : i, (long long)(ta ? m : k), ta ? i : "k");
    str_printf(s, "b0 = (LOAD (INDEX b (ADD (MUL %s %lld) (ADD (MUL %s %lld) %s))))\n", z, (long long)(k * n),
               tb ? "n" : "k", (long long)(tb ? k : n), tb ? "k" : "n");
    str_printf(
        s, "(SINK (STORE (INDEX o (ADD (MUL %s %lld) (ADD (MUL %s %lld) n))) (REDUCE[ADD] (MUL a0 b0) k)))\n",
        z, (long long)(m * n), i, (long long)n);
}

static void grid_conv(struct str *s, struct rnd *r) {
    struct conv_sizes z = {.b = ANY_OF(r, 1, 2, 8, 64, 512),
                           .g = 1,
                           .ci = ANY_OF(r, 1, 3, 32, 64, 128),
                           .co = ANY_OF(r, 16, 32, 64, 128, 256),
                           .kh = ANY_OF(r, 1, 3, 3, 5, 7)};
    int kind = (int)rnd_below(r, 3);
    if (z.kh == 1 && z.ci == 1) z.ci = 24;
    z.kw = z.kh, z.oh = z.ow = ANY_OF(r, 7, 8, 14, 20, 28, 56, 112), z.pad = z.kh / 2 * rnd_below(r, 2);
    z.step = kind == 2 || z.kh == 1 ? 1 : rnd_range(r, 1, 2);
    write_conv(s, kind, &z);
}

/* Row sums, column sums and softmax. */
static void grid_reduce(struct str *s, struct rnd *r) {
    int64_t p = ANY_OF(r, 64, 100, 512, 1000, 4096, 30000), n = ANY_OF(r, 32, 100, 768, 1024, 4096);
    uint32_t kind = rnd_below(r, 3);
    param(s, "x", 0, "f32", p * n), param(s, "o", 1, "f32", kind == 2 ? p * n : p);
    range(s, "r", "r", "GRID", 0, 0, p), range(s, "k", "k", "REDUCE", 1, 0, n);
    if (kind == 2) {
        range(s, "k1", "k", "REDUCE", 1, 1, n), range(s, "k2", "k", "LOOP", 1, 2, n);
        for (int i = 0; i < 3; i++)
            str_printf(s, "x%d = (LOAD (INDEX x (ADD (MUL r %lld) %s)))\n", i, (long long)n,
                       (const char *[]){"k", "k1", "k2"}[i]);
        str_printf(s,
                   "m = (REDUCE[MAX] x0 k)\nl = (REDUCE[ADD] (EXP2 (SUB x1 m)) k1)\n"
                   "(SINK (STORE (INDEX o (ADD (MUL r %lld) k2)) (FDIV (EXP2 (SUB x2 m)) l)))\n",
                   (long long)n);
        return;
    }
    str_printf(s, "(SINK (STORE (INDEX o r) (REDUCE[ADD] (LOAD (INDEX x (ADD (MUL %s %lld) %s))) k)))\n",
               kind ? "k" : "r", (long long)(kind ? p : n), kind ? "r" : "k");
}

/* As the planner writes it: a row of scores in scratch, its maximum and sum, and the product with v. */
static void grid_attention(struct str *s, struct rnd *r) {
    long long h = ANY_OF(r, 1, 4, 12, 96), t = ANY_OF(r, 64, 100, 256, 1024), d = ANY_OF(r, 32, 64, 128);
    str_printf(s,
               "i0 = (RANGE[i0 GRID 0] %lld)\ni1 = (RANGE[i1 GRID 1] %lld)\ni2 = (RANGE[i2 LOOP 2] %lld)\n",
               h, t, d);
    str_printf(s, "k3 = (RANGE[k3 REDUCE 4] %lld)\nk5 = (RANGE[k5 REDUCE 5] %lld)\n", d, t);
    for (int i = 0; i < 4; i++) str_printf(s, "k4%c = (RANGE[k4 REDUCE 3 %d] %lld)\n", 'a' + i, i, t);
    for (int i = 0; i < 4; i++) str_printf(s, "b%d = (PARAM<f32>[%d b%d] %lld)\n", i, i, i, h * t * d);
    str_printf(s, "head = (MUL i0 %lld)\nrow = (ADD i1 (MUL i0 %lld))\n", t * d, t);
    str_printf(s,
               "q = (LOAD (INDEX b1 (ADD k3 (MUL row %lld))))\nk = (LOAD (INDEX b2 (ADD k3 (ADD head (MUL "
               "k4a %lld)))))\n",
               d, d);
    str_printf(s,
               "x = (MUL (REDUCE[ADD] (MUL q k) k3) 0.25)\nkeep0 = (STAGE[keep0 SCRATCH] x k4a)\n"
               "m = (REDUCE[MAX] (LOAD (INDEX keep0 k4b)) k4b)\ne = (EXP2 (SUB (LOAD (INDEX keep0 k4c)) m))\n"
               "keep1 = (STAGE[keep1 SCRATCH] e k4c)\nl = (REDUCE[ADD] (LOAD (INDEX keep1 k4d)) k4d)\n");
    str_printf(s,
               "v = (LOAD (INDEX b3 (ADD i2 (ADD head (MUL k5 %lld)))))\n"
               "(SINK (STORE (INDEX b0 (ADD i2 (MUL row %lld))) (FDIV (REDUCE[ADD] (MUL (LOAD (INDEX keep1 "
               "k5)) v) k5) l)))\n",
               d, d);
}

TEST(heuristic_grids_of_random_kernels_fill_the_threads) {
    static void (*const gen[])(struct str *, struct rnd *) = {grid_gemm, grid_conv, grid_reduce,
                                                              grid_attention};
    for (uint64_t seed = 0; seed < (uint64_t)seeds(); seed++) {
        struct err e = {0};
        struct arena a;
        struct str s;
        struct rnd r = {hash_u64(seed)};
        arena_init(&a, &e);
        str_init(&s, &a);
        str_add(&s, "kernel grid\n");
        gen[seed % RG_COUNT(gen)](&s, &r);
        check_grids(s.p, s.p);
        arena_free(&a);
    }
    TEST_INFO("%d lists, %d with two tasks a thread", grids_checked, grids_full);
    CHECK(grids_full >= 0.98 * grids_checked);
}

/* Padding to register tiles and idle threads, together: results / (results of the busiest thread * threads). */
static double balance_of(const char *opts, int64_t m, int64_t n, int threads) {
    int64_t part[4] = {1, 1, 1, 1};
    static const char *const axis[] = {"TILE(m,", "TILE(n,"};
    for (int i = 0; i < 2; i++) {
        const char *tile = strstr(opts, axis[i]), *panel = tile ? strstr(tile + 1, axis[i]) : NULL;
        if (!tile) return 0;
        part[i] = atoll(tile + 7), part[2 + i] = panel ? atoll(panel + 7) : 1;
    }
    double rows = (double)(part[0] * part[2]), cols = (double)(part[1] * part[3]);
    double grid = ceil((double)m / rows) * ceil((double)n / cols);
    return (double)m * (double)n / (ceil(grid / threads) * threads * rows * cols);
}

TEST(heuristic_gemm_tiles_and_grids_balance) {
    double sum = 0;
    int n = seeds();
    for (uint64_t seed = 0; seed < (uint64_t)n; seed++) {
        struct err e = {0};
        struct arena a;
        struct ir ir;
        struct str s;
        struct program prog;
        struct rnd r = {hash_u64(seed + 77)};
        int64_t rows = 256 + rnd_below(&r, 1500), cols = 32 * (8 + rnd_below(&r, 60));
        int threads = (int)ANY_OF(&r, 4, 8, 16, 32);
        int64_t depth = ANY_OF(&r, 512, 768, 1024); /* rows 4096 bytes apart share a set of L1 */
        arena_init(&a, &e), str_init(&s, &a), ir_init(&ir, &a);
        str_add(&s, "kernel gemm\n");
        param(&s, "a", 0, "f32", rows * depth), param(&s, "b", 1, "f32", depth * cols),
            param(&s, "o", 2, "f32", rows * cols);
        range(&s, "m", "m", "GRID", 0, 0, rows), range(&s, "n", "n", "GRID", 1, 0, cols);
        range(&s, "k", "k", "REDUCE", 2, 0, depth);
        str_printf(&s,
                   "(SINK (STORE (INDEX o (ADD (MUL m %lld) n)) (REDUCE[ADD] (MUL (LOAD (INDEX a (ADD (MUL m "
                   "%lld) k))) (LOAD (INDEX b (ADD (MUL k %lld) n)))) k)))\n",
                   (long long)cols, (long long)depth, (long long)cols);
        ir_parse(&ir, s.p, s.n, "gemm", &prog);
        const char *opts = opts_heuristic(&ir, &prog.kernel.p[0], 64, threads);
        double share = balance_of(opts, rows, cols, threads);
        /* such rows are transposed by whole lines or, where few columns read them, copied as they are */
        bool copied = strstr(opts, ",m_r,k_k,k_u)"), lines = strstr(opts, "UNROLL(a.w)");
        int64_t few = atoi(opts + strlen("TILE(m,")) > 8 ? 128 : 1024; /* by shuffles, or lane by lane */
        if (copied != !strstr(opts, ",k_u,m_r)") || (copied && cols >= few) ||
            (copied || lines) != (depth == 1024))
            FAIL("%lld terms, %lld columns: rows of a are packed otherwise\n%s", (long long)depth,
                 (long long)cols, opts);
        if (share < 0.7)
            FAIL("%lld x %lld, %d threads: %.2f\n%s", (long long)rows, (long long)cols, threads, share, opts);
        sum += share;
        arena_free(&a);
    }
    TEST_INFO("%d products: %.3f of the threads' time are results", n, sum / n);
    CHECK(sum / n > 0.96);
}

/* Lists for many threads that have other grids than those for one: the same values as the plain program, and the same bits. */
static int64_t finer_values, finer_lists;
static void check_finer(const char *text, int vec_bytes) {
    struct trial *t[2];
    for (int i = 0; i < 2; i++) {
        t[i] = calloc(1, sizeof *t[i]);
        t[i]->vec_bytes = vec_bytes, t[i]->threads = i ? 64 : 1, t[i]->keep_math = true;
        trial_open(t[i], text, "finer");
    }
    finer_lists += strcmp(t[0]->opts[0], t[1]->opts[0]) != 0;
    finer_values += same_values(t[1], false) + same_bits(t[0], t[1]);
    for (int i = 0; i < 2; i++) arena_free(&t[i]->arena), free(t[i]);
}

TEST(heuristic_finer_grids_keep_values) {
    static const struct {
        int kind;
        struct conv_sizes z;
    } conv[] = {
        {0, {.b = 2, .g = 1, .ci = 8, .co = 16, .kh = 5, .kw = 5, .oh = 12, .ow = 16, .step = 1, .pad = 0}},
        {1, {.b = 4, .g = 1, .ci = 16, .co = 32, .kh = 3, .kw = 3, .oh = 8, .ow = 8, .step = 1, .pad = 0}},
        {1, {.b = 4, .g = 1, .ci = 8, .co = 32, .kh = 5, .kw = 5, .oh = 8, .ow = 8, .step = 1, .pad = 2}},
        {2, {.b = 2, .g = 1, .ci = 16, .co = 16, .kh = 5, .kw = 5, .oh = 8, .ow = 12, .step = 1, .pad = 0}},
    };
    for (size_t i = 0; i < RG_COUNT(conv); i++) {
        struct err e = {0};
        struct arena a;
        struct str s;
        arena_init(&a, &e);
        str_init(&s, &a);
        str_add(&s, "kernel finer\n");
        write_conv(&s, conv[i].kind, &conv[i].z);
        check_finer(s.p, i == 1 ? 64 : 16);
        arena_free(&a);
    }
    check_finer(
        "kernel g\na = (PARAM<f32>[0 a] 12288)\nb = (PARAM<f32>[1 b] 12288)\no = (PARAM<f32>[2 o] 9216)\n"
        "m = (RANGE[m GRID 0] 96)\nn = (RANGE[n GRID 1] 96)\nk = (RANGE[k REDUCE 2] 128)\n"
        "(SINK (STORE (INDEX o (ADD (MUL m 96) n)) (REDUCE[ADD] (MUL (LOAD (INDEX a (ADD (MUL m 128) k))) "
        "(LOAD (INDEX b "
        "(ADD (MUL k 96) n)))) k)))\n",
        16);
    check_finer("kernel s\nx = (PARAM<f32>[0 x] 524288)\nidx = (PARAM<i32>[1 idx] 4096)\npart = "
                "(PARAM<f32>[2 part] 65536)\n"
                "c = (RANGE[c GRID 0] 128)\ni = (RANGE[i LOOP 1] 4096)\nat = (MIN (MAX (CAST<idx> (LOAD "
                "(INDEX idx i))) 0) 511)\n"
                "(SINK (STORE_ADD (INDEX part (ADD (MUL at 128) c)) (LOAD (INDEX x (ADD (MUL i 128) c)))))\n"
                "data idx = randint 0 512\n",
                16);
    TEST_INFO("%lld values, %lld of %zu lists are others for 64 threads", (long long)finer_values,
              (long long)finer_lists, RG_COUNT(conv) + 2);
    CHECK_EQ(finer_lists, RG_COUNT(conv) + 2);
}
