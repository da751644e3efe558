/* Tests of the GPU cost model (tune/cost/gpu_time.c, gpu_count.c, the configs of gpu_gemm.c), without a GPU.
 *
 *   1. Work of a block against hand counts; occupancy.
 *   2. More work, fewer stages, lower occupancy take longer.
 *   3. Configs measured on an H200 (gpu_forms.txt): the one that the model picks is close to the best.
 * Search on a fake GPU: cuda_fake_search.c. */
#include "tune/tune.h"
#include "irtest.h"
#include "planned.h"

#include <math.h>
#include <stdlib.h>

static const struct kernel *parse(struct ir_test *t, const char *text) {
    struct program *p = arena_new(&t->arena, struct program);
    ir_parse(&t->ir, text, strlen(text), "text", p);
    return &p->kernel.p[0];
}

static struct gpu_work work(struct ir_test *t, const char *text, const char *opts, uint32_t block,
                            uint32_t iterations) {
    struct linear lin;
    struct gpu_work w;
    lower(&t->ir, parse(t, text), &(struct lower_opts){.opts = opts, .target = {.kind = TARGET_GPU}}, &lin);
    gpu_work_of(&t->arena, &lin, block, iterations, &w);
    return w;
}

/* ---- 1: hand counts --------------------------------------------------------------------------------------------- */

static const char twice[] = "kernel twice\nx = (PARAM<f32>[0 x] 1048576)\no = (PARAM<f32>[1 o] 1048576)\n"
                            "i = (RANGE[i GRID 0 0] 1048576)\n"
                            "(SINK (STORE (INDEX o i) (MUL (LOAD (INDEX x i)) 2.0)))\n";
static const char column[] = "kernel column\nx = (PARAM<f32>[0 x] 1048576)\no = (PARAM<f32>[1 o] 1024)\n"
                             "i = (RANGE[i GRID 0 0] 1024)\n"
                             "(SINK (STORE (INDEX o i) (LOAD (INDEX x (MUL i 1024)))))\n";
static const char rows[] =
    "kernel rows\nx = (PARAM<f32>[0 x] 1048576)\no = (PARAM<f32>[1 o] 1024)\n"
    "r = (RANGE[r GRID 0 0] 1024)\nk = (RANGE[k REDUCE 1 0] 1024)\n"
    "(SINK (STORE (INDEX o r) (REDUCE[ADD] (LOAD (INDEX x (ADD (MUL r 1024) k))) k)))\n";

TEST(work_gpu_counts_sectors) {
    struct ir_test t;
    ir_test_open(&t);
    struct gpu_work w = work(&t, twice, "", 0, 0);
    CHECK_NEAR(w.blocks, 4096, 0); /* of 256 threads */
    CHECK_NEAR(w.fill, 256 * 4, 0);
    CHECK_NEAR(w.out, 256 * 4, 0);
    CHECK_NEAR(w.flight, 4, 0);
    w = work(&t, twice, "TILE(i,4,v) VEC(v)", 0, 0);
    CHECK_NEAR(w.blocks, 1024, 0);
    CHECK_NEAR(w.fill, 256 * 16, 0);
    CHECK_NEAR(w.flight, 16, 0);
    w = work(&t, column, "", 0, 0); /* a sector per loaded element; stores are coalesced; blocks of a warp */
    CHECK_NEAR(w.blocks, 32, 0);
    CHECK_NEAR(w.fill, 32 * 32, 0);
    CHECK_NEAR(w.out, 32 * 4, 0);
    w = work(&t, rows, "", 0, 0); /* threads down the column: each a sector of its own, again and again */
    CHECK_NEAR(w.fill, 32.0 * 1024 * 32, 0);
    w = work(&t, rows, "COOP(k)", 256, 1); /* a block along the row */
    CHECK_NEAR(w.blocks, 1024, 0);
    CHECK_NEAR(w.fill, 1024 * 4, 0);
    ir_test_close(&t);
}

static const char product[] =
    "kernel mm\na = (PARAM<bf16>[0 a] 262144)\nb = (PARAM<bf16>[1 b] 262144)\no = (PARAM<bf16>[2 o] 262144)\n"
    "m = (RANGE[m GRID 0 0] 512)\nn = (RANGE[n GRID 1 0] 512)\nk = (RANGE[k REDUCE 2 0] 512)\n"
    "x = (CAST<f32> (LOAD (INDEX a (ADD (MUL m 512) k))))\ny = (CAST<f32> (LOAD (INDEX b (ADD (MUL n 512) "
    "k))))\n"
    "(SINK (STORE (INDEX o (ADD (MUL m 512) n)) (CAST<bf16> (REDUCE[ADD] (MUL x y) k))))\n";

TEST(work_gpu_counts_products) {
    struct ir_test t;
    ir_test_open(&t);
    struct gpu_work w =
        work(&t, product,
             "TILE(m,128,m1) TILE(m1,64,m3) TILE(n,64,n3) TILE(k,64,k1) TILE(k1,16,k2) "
             "TC(m3,n3,k2,WBF16_64) THREAD(m1) UNROLL(k1) STAGE(a,k,m1+m3,k1+k2) STAGE(b,k,n3,k1+k2) "
             "TILE(a.k1,8,a.v) VEC(a.v) TILE(b.k1,8,b.v) VEC(b.v) PIPE(a,k,4) PIPE(b,k,4)",
             256, 1);
    CHECK_NEAR(w.blocks, 4 * 8, 0);
    CHECK_NEAR(w.mma, 2.0 * 128 * 64 * 512, 0);
    CHECK_NEAR(w.mma_peak, 1, 0);
    CHECK_EQ(w.shared, 4 * (128 + 64) * 64 * 2);
    CHECK(w.registers > 32 && w.registers < 128);
    /* The same with an MN-major b. */
    struct str mn_major;
    str_init(&mn_major, &t.arena);
    const char *at = strstr(product, "(ADD (MUL n 512) k)");
    str_printf(&mn_major, "%.*s(ADD (MUL k 512) n)%s", (int)(at - product), product, at + 19);
    w = work(&t, mn_major.p,
             "TILE(m,128,m1) TILE(m1,64,m3) TILE(n,64,n3) TILE(k,64,k1) TILE(k1,16,k2) "
             "TC(m3,n3,k2,WBF16_64) THREAD(m1) UNROLL(k1) STAGE(a,k,m1+m3,k1+k2) STAGE(b,k,k1+k2,n3) "
             "TILE(a.k1,8,a.v) VEC(a.v) TILE(b.n3,8,b.v) VEC(b.v) PIPE(a,k,4) PIPE(b,k,4)",
             256, 1);
    CHECK_NEAR(w.mma, 2.0 * 128 * 64 * 512, 0);
    CHECK_NEAR(w.mma_peak, 1, 0);
    ir_test_close(&t);
}

/* Rows of an axis that is read by digits and dealt out as warpgroups by rows: neighbouring threads have chunks of one row, not a row
 * each, of which every sector would be fetched for its half. */
TEST(work_gpu_counts_gathered_rows) {
    static const char windows[] =
        "kernel windows\na = (PARAM<bf16>[0 a] 2949120)\nb = (PARAM<bf16>[1 b] 32768)\n"
        "o = (PARAM<bf16>[2 o] 344064)\n"
        "m = (RANGE[m GRID 0 0] 5376)\nn = (RANGE[n GRID 1 0] 64)\nk = (RANGE[k REDUCE 2 0] 512)\n"
        "x = (CAST<f32> (LOAD (INDEX a (ADD (ADD (MUL (MOD m 28) 512) (MUL (IDIV m 28) 15360)) k))))\n"
        "y = (CAST<f32> (LOAD (INDEX b (ADD (MUL n 512) k))))\n"
        "(SINK (STORE (INDEX o (ADD (MUL m 64) n)) (CAST<bf16> (REDUCE[ADD] (MUL x y) k))))\n";
    struct ir_test t;
    ir_test_open(&t);
    struct gpu_work w =
        work(&t, windows,
             "TILE(m,192,m1) TILE(m1,64,m3) TILE(n,64,n3) TILE(k,64,k1) TILE(k1,16,k2) "
             "TC(m3,n3,k2,WBF16_64) THREAD(m1) UNROLL(k1) STAGE(a,k,m1+m3,k1+k2) STAGE(b,k,n3,k1+k2) "
             "TILE(a.k1,8,a.v) VEC(a.v) TILE(b.k1,8,b.v) VEC(b.v) PIPE(a,k,4) PIPE(b,k,4)",
             384, 1);
    CHECK(w.fill <
          1.5 * (192 + 64) * 512 * 2); /* stages of the pipeline that nothing reads are counted too */
    ir_test_close(&t);
}

TEST(predict_gpu_room) {
    struct gpu_work w = {.threads = 128, .registers = 32, .shared = 0};
    CHECK_EQ(predict_gpu_resident(&w, gpu_spec_default()), 16); /* 2048 threads */
    w.registers = 128;
    CHECK_EQ(predict_gpu_resident(&w, gpu_spec_default()), 4); /* 65536 registers */
    w.shared = 100 << 10;
    CHECK_EQ(predict_gpu_resident(&w, gpu_spec_default()), 2); /* 228 KiB */
    w.shared = 227 << 10;
    CHECK_EQ(predict_gpu_resident(&w, gpu_spec_default()), 1);
    w.threads = 32, w.registers = 16, w.shared = 0;
    CHECK_EQ(predict_gpu_resident(&w, gpu_spec_default()), 32);
}

/* ---- 2: what must be slower ---------------------------------------------------------------------------------------- */

TEST(predict_gpu_is_monotonic) {
    struct model m = *planned_h200();
    const struct gpu_work one = {.blocks = 132,
                                 .threads = 128,
                                 .registers = 128,
                                 .shared = 100 << 10,
                                 .steps = 64,
                                 .ahead = 4,
                                 .mma = 2.0 * 64 * 128 * 4096,
                                 .mma_peak = 1,
                                 .fill = 192 * 4096 * 2,
                                 .out = 64 * 128 * 2,
                                 .dram = 1e6};
    struct gpu_work w = one;
    double base = predict_gpu(&w, gpu_spec_default(), &m), least = w.mma / 4096 / 1.98e9;
    CHECK(base > least && base < 10 * least);
    w.blocks = 1320;
    CHECK(predict_gpu(&w, gpu_spec_default(), &m) > 4 * base); /* two find room at once */
    w = one, w.ahead = 1;
    CHECK(predict_gpu(&w, gpu_spec_default(), &m) > base);
    w = one, w.fill *= 4;
    CHECK(predict_gpu(&w, gpu_spec_default(), &m) > 2 * base);
    w = one, w.private_fill = w.fill; /* no other block loads it */
    double alone = predict_gpu(&w, gpu_spec_default(), &m);
    CHECK(alone > 1.2 * base && alone < 51.0 / 29 * base);
    w = one, w.fill *= 4, w.consumers = 1; /* bound by L2: barriers cost less if a producer warp loads */
    double few = predict_gpu(&w, gpu_spec_default(), &m);
    w.steps *= 2;
    CHECK(predict_gpu(&w, gpu_spec_default(), &m) < 1.01 * few);
    w.consumers = 0;
    CHECK(predict_gpu(&w, gpu_spec_default(), &m) > 1.05 * few);
    w = one, w.mma *= 8;
    CHECK(predict_gpu(&w, gpu_spec_default(), &m) > 2 * base);
    w = one, w.transposed = w.mma / 4096; /* transposing takes as long as the MMAs */
    CHECK(predict_gpu(&w, gpu_spec_default(), &m) > 1.05 * base &&
          predict_gpu(&w, gpu_spec_default(), &m) < 1.5 * base);
    w = one, w.dram = 4.8e9; /* a millisecond of memory */
    CHECK(predict_gpu(&w, gpu_spec_default(), &m) > 1e-3 && predict_gpu(&w, gpu_spec_default(), &m) < 2e-3);
    w = one, w.blocks = 264;
    double two = predict_gpu(&w, gpu_spec_default(), &m);
    w.shared = 200 << 10; /* one after the other */
    CHECK(predict_gpu(&w, gpu_spec_default(), &m) >= two);
}

/* 64 rows by 4096 x 4096, split-K by four: 128 tiles of 64 x 128 load three quarters of the bytes of 256 of 64 x 64, and took
 * 7.9 to 8.1 us against 9.4 (docs/measurements/2026-11-16-h200-notes.md). */
TEST(predict_gpu_few_rows) {
    static const char text[] =
        "kernel mm\na = (PARAM<bf16>[0 a] 262144)\nb = (PARAM<bf16>[1 b] 16777216)\n"
        "o = (PARAM<f32>[2 o] 1048576)\np = (RANGE[p GRID 0 0] 4)\nm = (RANGE[m GRID 1 0] 64)\n"
        "n = (RANGE[n GRID 2 0] 4096)\nk = (RANGE[k REDUCE 3 0] 1024)\nq = (ADD (MUL p 1024) k)\n"
        "x = (CAST<f32> (LOAD (INDEX a (ADD (MUL m 4096) q))))\n"
        "y = (CAST<f32> (LOAD (INDEX b (ADD (MUL q 4096) n))))\n"
        "(SINK (STORE (INDEX o (ADD (MUL p 262144) (ADD (MUL m 4096) n))) (REDUCE[ADD] (MUL x y) k)))\n";
    struct ir_test t;
    gpu_lists configs;
    double wide = 1, narrow = 1;
    ir_test_open(&t);
    const struct kernel *k = parse(&t, text);
    CHECK(strstr(opts_heuristic_gpu(&t.ir, k, GPU_OF_CC(90)), "WBF16_128) "));
    opts_configs_gpu(&t.ir, k, GPU_OF_CC(90), planned_h200(), NULL, 500, 0, &configs);
    for (uint32_t i = 0; i < configs.n; i++) {
        const struct gpu_list *f = &configs.p[i];
        if (!strncmp(f->config, "wgmma 64x128x", 13)) wide = fmin(wide, f->predicted);
        if (!strncmp(f->config, "wgmma 64x64x", 12)) narrow = fmin(narrow, f->predicted);
    }
    CHECK(wide < narrow && narrow < 1);
    ir_test_close(&t);
}

/* f32 that both operands have along k: tiles of 32 terms are transposed through more bank conflicts than those of 16; 64 x 128 x 32 took
 * 1453 us where tiles of 16 take 1281 to 1340 (gpu_forms.txt). */
TEST(predict_gpu_transposed_f32) {
    static const char text[] =
        "kernel mm\na = (PARAM<f32>[0 a] 38731776)\nb = (PARAM<f32>[1 b] 2359296)\n"
        "o = (PARAM<f32>[2 o] 9682944)\nm = (RANGE[m GRID 0 0] 12608)\nn = (RANGE[n GRID 1 0] 768)\n"
        "k = (RANGE[k REDUCE 2 0] 3072)\nx = (LOAD (INDEX a (ADD (MUL m 3072) k)))\n"
        "y = (LOAD (INDEX b (ADD (MUL n 3072) k)))\n"
        "(SINK (STORE (INDEX o (ADD (MUL m 768) n)) (REDUCE[ADD] (MUL x y) k)))\n";
    struct ir_test t;
    ir_test_open(&t);
    CHECK(strstr(opts_heuristic_gpu(&t.ir, parse(&t, text), GPU_OF_CC(90)), "TILE(k,16,"));
    ir_test_close(&t);
}

/* 200704 rows of 576 by 64 columns, bound by memory: tiles of 128 x 64 by one warpgroup have an occupancy of two blocks and took
 * 65.2 us; by two, which with the producer take all registers, of one: 84.6 us. */
TEST(predict_gpu_occupancy_of_warpgroups) {
    static const char text[] =
        "kernel mm\na = (PARAM<bf16>[0 a] 115605504)\nb = (PARAM<bf16>[1 b] 36864)\n"
        "o = (PARAM<bf16>[2 o] 12845056)\nm = (RANGE[m GRID 0 0] 200704)\nn = (RANGE[n GRID 1 0] 64)\n"
        "k = (RANGE[k REDUCE 2 0] 576)\nx = (CAST<f32> (LOAD (INDEX a (ADD (MUL m 576) k))))\n"
        "y = (CAST<f32> (LOAD (INDEX b (ADD (MUL k 64) n))))\n"
        "(SINK (STORE (INDEX o (ADD (MUL m 64) n)) (CAST<bf16> (REDUCE[ADD] (MUL x y) k))))\n";
    struct ir_test t;
    gpu_lists configs;
    double one = 0, two = 0;
    ir_test_open(&t);
    opts_configs_gpu(&t.ir, parse(&t, text), GPU_OF_CC(90), planned_h200(), NULL, 500, 0, &configs);
    for (uint32_t i = 0; i < configs.n; i++) {
        const struct gpu_list *f = &configs.p[i];
        if (!strcmp(f->config, "wgmma 128x64x64 2x1 stages 3 raster 1 warp_specialize 1")) one = f->predicted;
        if (!strcmp(f->config, "wgmma 128x64x64 1x1 stages 3 raster 1 warp_specialize 1")) two = f->predicted;
    }
    CHECK(two > 0 && one > 1.2 * two && one < 1.4 * two);
    CHECK(strncmp(configs.p[0].config, "wgmma 256x64x64 2x1 stages 2", 28));
    ir_test_close(&t);
}

/* Unaligned rows of 4095 bf16 pass through registers: a thread of a 256 x 192 tile has 192 accumulators and 112 elements and spills
 * (ptxas: 464 bytes), one of 128 x 256 has 128 and 96 and does not (248 registers). f32 that is transposed on the way costs more: of
 * 2047 x 2047 a tile with few such rows took 479 us, one with twice as many 707. */
TEST(predict_gpu_unaligned_rows) {
    static const char text[] =
        "kernel mm\na = (PARAM<%s>[0 a] %d)\nb = (PARAM<%s>[1 b] %d)\no = (PARAM<%s>[2 o] %d)\n"
        "m = (RANGE[m GRID 0 0] %d)\nn = (RANGE[n GRID 1 0] %d)\nk = (RANGE[k REDUCE 2 0] %d)\n"
        "x = %s(LOAD (INDEX a (ADD (MUL m %d) k)))%s\ny = %s(LOAD (INDEX b (ADD (MUL k %d) n)))%s\n"
        "(SINK (STORE (INDEX o (ADD (MUL m %d) n)) %s(REDUCE[ADD] (MUL x y) k)%s))\n";
    for (int floats = 0; floats < 2; floats++) {
        struct ir_test t;
        gpu_lists configs;
        int s = floats ? 2047 : 4095, all = s * s;
        const char *dt = floats ? "f32" : "bf16", *up = floats ? "" : "(CAST<f32> ", *end = floats ? "" : ")";
        char one[1024];
        ir_test_open(&t);
        snprintf(one, sizeof one, text, dt, all, dt, all, dt, all, s, s, s, up, s, end, up, s, end, s,
                 floats ? "" : "(CAST<bf16> ", end);
        opts_configs_gpu(&t.ir, parse(&t, one), GPU_OF_CC(90), planned_h200(), NULL, 500, 0, &configs);
        CHECK(configs.n > 20);
        const char *first = floats ? "fma 64x256x16 2x4" : "wgmma 128x256x64 2x1";
        if (strncmp(configs.p[0].config, first, strlen(first))) FAIL("%s", configs.p[0].config);
        for (uint32_t i = 0; i < configs.n; i++) CHECK(!strstr(configs.p[i].config, "256x192"));
        ir_test_close(&t);
    }
}

/* f64: both operands in shared memory, by FMAs; sizes that no tile divides too. */
TEST(heuristic_gpu_f64_gemm) {
    static const int side[] = {2048, 1021};
    for (size_t i = 0; i < RG_COUNT(side); i++) {
        struct ir_test t;
        char text[512];
        int n = side[i];
        ir_test_open(&t);
        snprintf(text, sizeof text,
                 "kernel mm\na = (PARAM<f64>[0 a] %d)\nb = (PARAM<f64>[1 b] %d)\no = (PARAM<f64>[2 o] %d)\n"
                 "m = (RANGE[m GRID 0 0] %d)\nn = (RANGE[n GRID 1 0] %d)\nk = (RANGE[k REDUCE 2 0] %d)\n"
                 "x = (LOAD (INDEX a (ADD (MUL m %d) k)))\ny = (LOAD (INDEX b (ADD (MUL k %d) n)))\n"
                 "(SINK (STORE (INDEX o (ADD (MUL m %d) n)) (REDUCE[ADD] (MUL x y) k)))\n",
                 n * n, n * n, n * n, n, n, n, n, n, n);
        const char *list = opts_heuristic_gpu(&t.ir, parse(&t, text), GPU_OF_CC(90));
        CHECK(strstr(list, " STAGE(a,k,") && strstr(list, " STAGE(b,k,") && strstr(list, " PIPE(b,k,"));
        ir_test_close(&t);
    }
}

/* 16-bit floats of few terms, by few columns: tiles of two steps of tensor cores or more, the last padded. */
TEST(heuristic_gpu_gemm_of_few_terms) {
    static const int terms[] = {17, 24, 32, 48, 63};
    for (size_t i = 0; i < RG_COUNT(terms); i++) {
        struct ir_test t;
        char text[512];
        int m = 70000, n = 17, k = terms[i];
        ir_test_open(&t);
        snprintf(text, sizeof text,
                 "kernel mm\na = (PARAM<bf16>[0 a] %d)\nb = (PARAM<bf16>[1 b] %d)\no = (PARAM<f32>[2 o] %d)\n"
                 "m = (RANGE[m GRID 0 0] %d)\nn = (RANGE[n GRID 1 0] %d)\nk = (RANGE[k REDUCE 2 0] %d)\n"
                 "x = (CAST<f32> (LOAD (INDEX a (ADD (MUL m %d) k))))\n"
                 "y = (CAST<f32> (LOAD (INDEX b (ADD (MUL n %d) k))))\n"
                 "(SINK (STORE (INDEX o (ADD (MUL m %d) n)) (REDUCE[ADD] (MUL x y) k)))\n",
                 m * k, n * k, m * n, m, n, k, k, k, n);
        const char *list = opts_heuristic_gpu(&t.ir, parse(&t, text), GPU_OF_CC(90));
        if (!strstr(list, " TC(") || !strstr(list, " PIPE(b,k,")) FAIL("%d: %s", k, list);
        ir_test_close(&t);
    }
}

/* Few results of many terms: a block for each, or a tile of them where few blocks have threads enough; not a loop in each thread. */
TEST(heuristic_gpu_few_results) {
    static const struct {
        const char *text, *opts;
    } cases[] = {
        /* the gradient of few filters, and what is left of its positions */
        {"kernel g\no = (PARAM<f32>[0 o] 864)\nx = (PARAM<bf16>[1 x] 9000000)\ny = (PARAM<bf16>[2 y] 31680)\n"
         "p = (PARAM<f32>[3 p] 288)\ni = (RANGE[i GRID 0 0] 288)\nj = (RANGE[j LOOP 1 0] 3)\n"
         "k = (RANGE[k REDUCE 2 0] 24)\nl = (RANGE[l REDUCE 3 0] 24)\nm = (RANGE[m REDUCE 4 0] 18)\n"
         "at = (ADD (MUL k 259296) (MUL l 333))\nrow = (ADD (MUL k 1320) (MUL l 55))\n"
         "a = (CAST<f32> (LOAD (INDEX x (ADD (MUL m 2) (ADD at (ADD i (MUL j 36)))))))\n"
         "b = (CAST<f32> (LOAD (INDEX y (ADD m (ADD row (MUL j 18))))))\n"
         "c = (MUL (CAST<f32> (LOAD (INDEX x (ADD at i)))) (CAST<f32> (LOAD (INDEX y (ADD row 54)))))\n"
         "(SINK (STORE (INDEX o (ADD j (MUL i 3))) (REDUCE[ADD] (MUL a b) k l m))\n"
         "      (STORE (INDEX p i) (REDUCE[ADD] c k l)))\n",
         "JOIN(k,l,"},
        /* .. of one filter, with taps outside of the images */
        {"kernel g\no = (PARAM<f32>[0 o] 4851)\nx = (PARAM<f32>[1 x] 376992)\ny = (PARAM<f32>[2 y] 731808)\n"
         "i = (RANGE[i GRID 0 0] 33)\nj = (RANGE[j GRID 1 0] 21)\nn = (RANGE[n GRID 2 0] 7)\n"
         "k = (RANGE[k REDUCE 3 0] 32)\nl = (RANGE[l REDUCE 4 0] 17)\nm = (RANGE[m REDUCE 5 0] 21)\n"
         "at = (ADD m (ADD n (ADD (MUL l 42) (ADD (MUL k 22869) (MUL i 693)))))\n"
         "b = (LOAD (INDEX y (WHERE (LT (ADD n m) 21) at (INVALID<idx>))))\n"
         "a = (LOAD (INDEX x (ADD m (ADD (MUL l 21) (ADD (MUL i 357) (MUL k 11781))))))\n"
         "c = (MUL a (WHERE (LT (ADD n m) 21) b 0.0))\n"
         "(SINK (STORE (INDEX o (ADD n (ADD (MUL i 147) (MUL j 7)))) (REDUCE[ADD] c k l m)))\n",
         "JOIN(k_j,m,k_j_j) COOP(k_j_j)"},
        {"kernel g\no = (PARAM<f32>[0 o] 6400)\nx = (PARAM<f32>[1 x] 53780480)\ny = (PARAM<f32>[2 y] "
         "53780480)\n"
         "p = (RANGE[p GRID 0 0] 256)\ni = (RANGE[i GRID 1 0] 5)\nj = (RANGE[j GRID 2 0] 5)\n"
         "k = (RANGE[k REDUCE 3 0] 42016)\n"
         "a = (LOAD (INDEX x (ADD k (ADD (MUL p 42016) (MUL i 10756096)))))\n"
         "b = (LOAD (INDEX y (ADD j (MUL (ADD k (MUL p 42016)) 5))))\n"
         "(SINK (STORE (INDEX o (ADD j (ADD (MUL i 5) (MUL p 25)))) (REDUCE[ADD] (MUL a b) k)))\n",
         "TILE(i,5,i_r) REG(i_r) TILE(j,5,j_r) REG(j_r)"},
    };
    for (size_t i = 0; i < RG_COUNT(cases); i++) {
        struct ir_test t;
        ir_test_open(&t);
        const char *list = opts_heuristic_gpu(&t.ir, parse(&t, cases[i].text), GPU_OF_CC(90));
        if (!strstr(list, cases[i].opts) || !strstr(list, "COOP(k")) FAIL("%zu: %s", i, list);
        ir_test_close(&t);
    }
}

/* Rows of 24: threads share them where there are many; a thread has a row where it takes no time. */
TEST(heuristic_gpu_many_short_rows) {
    static const int many[] = {200000, 500};
    for (size_t i = 0; i < RG_COUNT(many); i++) {
        struct ir_test t;
        char text[512];
        int n = many[i];
        ir_test_open(&t);
        snprintf(text, sizeof text,
                 "kernel norm\nx = (PARAM<f32>[0 x] %d)\no = (PARAM<f32>[1 o] %d)\n"
                 "i = (RANGE[i GRID 0 0] %d)\nj = (RANGE[j LOOP 1 0] 24)\nk = (RANGE[k REDUCE 1 1] 24)\n"
                 "s = (REDUCE[ADD] (LOAD (INDEX x (ADD (MUL i 24) k))) k)\n"
                 "(SINK (STORE (INDEX o (ADD (MUL i 24) j)) (SUB (LOAD (INDEX x (ADD (MUL i 24) j))) s)))\n",
                 24 * n, 24 * n, n);
        const char *list = opts_heuristic_gpu(&t.ir, parse(&t, text), GPU_OF_CC(90));
        if (!!strstr(list, "COOP(") == (i == 1)) FAIL("%d: %s", n, list);
        ir_test_close(&t);
    }
}

/* The reduction of split-K has few blocks, so that PDL starts it early, and vectors along its rows. */
TEST(heuristic_gpu_splitk_reduce) {
    static const struct {
        int results, parts;
        const char *opts;
    } cases[] = {{65536, 4, ""},
                 {131072, 8, "TILE(n,2,n_v) VEC(n_v)"},
                 {262144, 4, "TILE(n,4,n_v) VEC(n_v)"},
                 {1048576, 2, "TILE(n,8,n_v) VEC(n_v)"}};
    for (size_t i = 0; i < RG_COUNT(cases); i++) {
        struct ir_test t;
        char text[512];
        ir_test_open(&t);
        snprintf(
            text, sizeof text,
            "kernel add\na = (PARAM<f32>[0 a] %d)\no = (PARAM<bf16>[1 o] %d)\n"
            "n = (RANGE[n GRID 0 0] %d)\np = (RANGE[p REDUCE 1 0] %d)\n"
            "(SINK (STORE (INDEX o n) (CAST<bf16> (REDUCE[ADD] (LOAD (INDEX a (ADD (MUL p %d) n))) p))))\n",
            cases[i].results * cases[i].parts, cases[i].results, cases[i].results, cases[i].parts,
            cases[i].results);
        CHECK_STR(opts_heuristic_gpu(&t.ir, parse(&t, text), GPU_OF_CC(90)), cases[i].opts);
        ir_test_close(&t);
    }
}

/* The config without stages and rasterization. */
static const char *kind_of(struct arena *a, const char *config) {
    const char *stages = strstr(config, " stages "), *schedule = strstr(config, " warp_specialize ");
    return arena_printf(a, "%.*s%s", (int)(stages - config), config, schedule ? schedule : "");
}

/* Configs that search tries: the heuristic's first; at most two of a kind before the others. */
TEST(configs_are_diverse) {
    struct ir_test t;
    struct model m = *planned_h200();
    gpu_lists few, all;
    ir_test_open(&t);
    const struct kernel *k = parse(&t, product);
    opts_configs_gpu(&t.ir, k, GPU_OF_CC(90), &m, NULL, 12, 0, &few);
    opts_configs_gpu(&t.ir, k, GPU_OF_CC(90), &m, NULL, 2000, 0, &all);
    CHECK_EQ(few.n, 12);
    CHECK_STR(few.p[0].opts, opts_heuristic_gpu(&t.ir, k, GPU_OF_CC(90)));
    for (uint32_t i = 0; i < few.n; i++) {
        int alike = 0;
        for (uint32_t j = 0; j < i; j++)
            alike += !strcmp(kind_of(&t.arena, few.p[j].config), kind_of(&t.arena, few.p[i].config));
        CHECK(alike < 2);
        CHECK_STR(few.p[i].opts, all.p[i].opts);
        CHECK(i == 0 || few.p[i].predicted >= few.p[i - 1].predicted);
    }
    for (uint32_t i = 0; i < all.n; i++)
        for (uint32_t j = 0; j < i; j++) CHECK(strcmp(all.p[i].config, all.p[j].config));
    CHECK(all.n > 100);
    ir_test_close(&t);
}

/* ---- 3: against measurements ------------------------------------------------------------------------------------------ */

enum { MOST_ROWS = 96 };
struct measured {
    char type[8], lie[4];
    long long m, n, k;
    struct {
        double us;
        char config[96];
    } row[MOST_ROWS];
    int rows;
};

static const char *text_of(struct arena *a, const struct measured *s) {
    bool half = strcmp(s->type, "f32"), ta = s->lie[0] == 't', tb = s->lie[1] == 't';
    const char *to = strncmp(s->type, "f8", 2) ? s->type : "bf16", *up = half ? "(CAST<f32> " : "",
               *end = half ? ")" : "", *down = half ? arena_printf(a, "(CAST<%s> ", to) : "";
    struct str t;
    str_init(&t, a);
    str_printf(&t,
               "kernel mm\na = (PARAM<%s>[0 a] %lld)\nb = (PARAM<%s>[1 b] %lld)\no = (PARAM<%s>[2 o] %lld)\n",
               s->type, s->m * s->k, s->type, s->n * s->k, to, s->m * s->n);
    str_printf(&t,
               "m = (RANGE[m GRID 0 0] %lld)\nn = (RANGE[n GRID 1 0] %lld)\nk = (RANGE[k REDUCE 2 0] %lld)\n",
               s->m, s->n, s->k);
    str_printf(&t, "x = %s(LOAD (INDEX a (ADD (MUL %s %lld) %s)))%s\n", up, ta ? "k" : "m", ta ? s->m : s->k,
               ta ? "m" : "k", end);
    str_printf(&t, "y = %s(LOAD (INDEX b (ADD (MUL %s %lld) %s)))%s\n", up, tb ? "n" : "k", tb ? s->k : s->n,
               tb ? "k" : "n", end);
    str_printf(&t, "(SINK (STORE (INDEX o (ADD (MUL m %lld) n)) %s(REDUCE[ADD] (MUL x y) k)%s))\n", s->n,
               down, end);
    return t.p;
}

/* 1024 x 1024 x 8192, where the model predicts equal times for several: the one that was measured to be the fastest of them,
 * alternating in three processes each (docs/measurements/2026-11-16-h200-notes.md), whichever layout b has. */
TEST(config_of_a_long_k) {
    static const char *const lie[] = {"nn", "nt"};
    for (int i = 0; i < 2; i++) {
        struct ir_test t;
        struct measured s = {.type = "bf16", .m = 1024, .n = 1024, .k = 8192};
        gpu_lists configs;
        snprintf(s.lie, sizeof s.lie, "%s", lie[i]);
        ir_test_open(&t);
        const struct kernel *k = parse(&t, text_of(&t.arena, &s));
        opts_configs_gpu(&t.ir, k, GPU_OF_CC(90), planned_h200(), NULL, 1, 0, &configs);
        CHECK_STR(configs.p[0].config, "wgmma 128x64x128 2x1 stages 4 raster 4 warp_specialize 1 persistent");
        CHECK_STR(opts_heuristic_gpu(&t.ir, k, GPU_OF_CC(90)), configs.p[0].opts);
        ir_test_close(&t);
    }
}

/* A gradient of weights, f32: a [k][m], b [k][n]; plus: added to a gradient that is there. */
static const char *weight_gradient(struct arena *a, int64_t m, int64_t n, int64_t k, bool plus) {
    struct str t;
    long long M = m, N = n, K = k;
    str_init(&t, a);
    str_printf(&t, "kernel dw\na = (PARAM<bf16>[0 a] %lld)\nb = (PARAM<bf16>[1 b] %lld)\n", M * K, N * K);
    str_printf(&t, "o = (PARAM<f32>[2 o] %lld)\nc = (PARAM<f32>[3 c] %lld)\n", M * N, M * N);
    str_printf(&t, "m = (RANGE[m GRID 0 0] %lld)\nn = (RANGE[n GRID 1 0] %lld)\n", M, N);
    str_printf(&t, "k = (RANGE[k REDUCE 2 0] %lld)\nat = (ADD (MUL m %lld) n)\n", K, N);
    str_printf(&t, "x = (CAST<f32> (LOAD (INDEX a (ADD (MUL k %lld) m))))\n", M);
    str_printf(&t, "y = (CAST<f32> (LOAD (INDEX b (ADD (MUL k %lld) n))))\nsum = (REDUCE[ADD] (MUL x y) k)\n",
               N);
    str_printf(&t, "(SINK (STORE (INDEX o at) %s))\n", plus ? "(ADD (LOAD (INDEX c at)) sum)" : "sum");
    return t.p;
}

static const char *first_config(struct ir_test *t, const char *text, double *seconds) {
    gpu_lists configs;
    const struct kernel *k = parse(t, text);
    opts_configs_gpu(&t->ir, k, GPU_OF_CC(90), planned_h200(), NULL, 1, 0, &configs);
    CHECK_STR(opts_heuristic_gpu(&t->ir, k, GPU_OF_CC(90)), configs.p[0].opts);
    if (seconds) *seconds = configs.p[0].predicted;
    return configs.p[0].config;
}

/* Sizes at random: adding to a gradient costs little (its panels are refilled while the tile is stored) and leaves the kernel
 * warp-specialized, the 50,304 words of GPT-2 too. */
TEST(config_of_gradients_that_are_added) {
    struct rnd r = {20261117};
    for (int i = 0; i < 25; i++) {
        struct ir_test t;
        double plain, added;
        int64_t m = i ? 64 * rnd_range(&r, 8, 256) : 50304, n = i ? 64 * rnd_range(&r, 8, 64) : 768,
                k = i ? 1024 * rnd_range(&r, 2, 16) : 16384;
        ir_test_open(&t);
        first_config(&t, weight_gradient(&t.arena, m, n, k, false), &plain);
        const char *config = first_config(&t, weight_gradient(&t.arena, m, n, k, true), &added);
        if (!strstr(config, "warp_specialize") || added > 1.25 * plain)
            FAIL("%lld x %lld x %lld: %s, %.1f us and %.1f without", (long long)m, (long long)n, (long long)k,
                 config, added * 1e6, plain * 1e6);
        ir_test_close(&t);
    }
}

/* 96 tiles of 128 x 192 leave 36 of 132 SMs without work: 64 of 192 x 192, each by two blocks, 4. */
TEST(config_of_few_tiles) {
    struct ir_test t;
    ir_test_open(&t);
    const char *config = first_config(&t, weight_gradient(&t.arena, 768, 3072, 16384, false), NULL);
    if (strncmp(config, "wgmma 192x192x64 3x1", 20) || !strstr(config, "cluster 2")) FAIL("%s", config);
    ir_test_close(&t);
}

/* How much longer the pick takes than the best of those that were measured. */
static double regret(const struct measured *s, double *error) {
    struct ir_test t;
    struct model m = *planned_h200();
    gpu_lists configs;
    double pick = 0, least = INFINITY, best = INFINITY, sum = 0, squares = 0;
    int known = 0;
    ir_test_open(&t);
    opts_configs_gpu(&t.ir, parse(&t, text_of(&t.arena, s)), GPU_OF_CC(90), &m, NULL, 1000, 0, &configs);
    for (int i = 0; i < s->rows; i++) {
        best = RG_MIN(best, s->row[i].us);
        for (uint32_t k = 0; k < configs.n; k++) {
            if (strcmp(configs.p[k].config, s->row[i].config)) continue;
            if (configs.p[k].predicted < least) least = configs.p[k].predicted, pick = s->row[i].us;
            double e = log(configs.p[k].predicted * 1e6 / s->row[i].us);
            sum += e, squares += e * e, known++;
        }
    }
    ir_test_close(&t);
    if (known < s->rows * 3 / 4)
        FAIL("%lld x %lld x %lld: only %d of %d configs are known", s->m, s->n, s->k, known, s->rows);
    *error = sqrt(RG_MAX(squares / known - sum * sum / known / known, 0));
    return pick / best;
}

/* Every `every`-th shape. */
static void check_picks(int every) {
    struct err e = {0};
    struct arena a;
    char *text;
    size_t n;
    int shapes = 0, close = 0, picked = 0;
    double worst = 1, logs = 0, errors = 0;
    static struct measured s[64];
    arena_init(&a, &e);
    if (os_read_file(&e, &a, "tests/unit/gpu_forms.txt", 1 << 20, &text, &n)) FAIL("%s", e.msg);
    for (char *p = text, *end; *p; p = end + 1) {
        end = p + strcspn(p, "\n");
        CHECK(*end);
        *end = 0;
        struct measured *now = &s[RG_MAX(shapes - 1, 0)];
        if (*p == '#') continue;
        if (*p != ' ') {
            now = &s[shapes++];
            CHECK(sscanf(p, "%7s %lld %lld %lld %3s", now->type, &now->m, &now->n, &now->k, now->lie) == 5);
        } else if (now->rows < MOST_ROWS) {
            CHECK(sscanf(p, " %lf %95[^\n]", &now->row[now->rows].us, now->row[now->rows].config) == 2);
            now->rows++;
        }
    }
    CHECK(shapes >= 20);
    for (int i = 0; i < shapes; i += every, picked++) {
        double error, r = regret(&s[i], &error);
        if (r > 1.1)
            TEST_INFO("%s %lld x %lld x %lld %s: %.3f", s[i].type, s[i].m, s[i].n, s[i].k, s[i].lie, r);
        close += r <= 1.1, worst = RG_MAX(worst, r), logs += log(r), errors += error;
    }
    TEST_INFO("%d of %d within 10 %%, on average %.3f, at worst %.3f; predictions spread by %.2f", close,
              picked, exp(logs / picked), worst, errors / picked);
    CHECK(close * 10 >= picked * 8 && exp(logs / picked) < 1.06);
    arena_free(&a);
}
TEST_SLOW(predict_gpu_picks_what_was_fast, 300) { check_picks(2); }
TEST_MANUAL(predict_gpu_picks_what_was_fast_all, 300) { check_picks(1); }
