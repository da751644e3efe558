/* heuristic_conv.c: how the grid cuts convolutions whose image is packed with its halo (src/tune/choose/conv/). A task packs its
 * filters and its rows; what is left of the threads' time is counted from the list, without a clock. */
#include "codegen/codegen.h"
#include "codegen/sched.h"
#include "ref/ref.h"
#include "test.h"
#include "tune/tune.h"

#include <math.h>
#include <stdlib.h>

struct conv_case {
    struct err err;
    struct arena arena;
    struct ir ir;
    int64_t images, channels, rows, cols, inputs;
    int threads;
    double grid, share;
    const char *opts;
};

static void note_grid(void *cx, struct sched *s, const uop *sink) {
    double *grid = cx;
    (void)sink;
    *grid = 1;
    for (uint32_t i = 0; i < s->axis.n; i++)
        if (axis_is_grid(&s->axis.p[i])) *grid *= (double)s->axis.p[i].most;
}

/* A 3x3 convolution of padded images. */
static const char *conv_text(struct conv_case *c) {
    long long n = c->images, ch = c->channels, h = c->rows, w = c->cols, in = c->inputs;
    return arena_printf(
        &c->arena,
        "kernel conv\no = (PARAM<f32>[0 o] %lld)\nx = (PARAM<f32>[1 x] %lld)\nf = (PARAM<f32>[2 f] %lld)\n"
        "n = (RANGE[n GRID 0] %lld)\nc = (RANGE[c GRID 1] %lld)\ni = (RANGE[i GRID 2] %lld)\n"
        "j = (RANGE[j GRID 3] %lld)\nk = (RANGE[k REDUCE 4] %lld)\ns = (RANGE[s REDUCE 5] 3)\n"
        "t = (RANGE[t REDUCE 6] 3)\n"
        "p = (AND (AND (LT 0 (ADD i s)) (LT (ADD i s) %lld)) (AND (LT 0 (ADD j t)) (LT (ADD j t) %lld)))\n"
        "a = (ADD (ADD (ADD j t) (MUL (ADD i s) %lld)) (ADD (ADD (MUL k %lld) (MUL n %lld)) %lld))\n"
        "l = (WHERE p (LOAD (INDEX x (WHERE p a (INVALID<idx>)))) 0.0)\n"
        "r = (REDUCE[ADD] (MUL l (LOAD (INDEX f (ADD (ADD t (MUL s 3)) (ADD (MUL k 9) (MUL c %lld)))))) k s "
        "t)\n"
        "(SINK (STORE (INDEX o (ADD (ADD j (MUL i %lld)) (ADD (MUL c %lld) (MUL n %lld)))) r))\n",
        n * ch * h * w, n * in * h * w, ch * in * 9, n, ch, h, w, in, h + 1, w + 1, w, h * w, in * h * w,
        -w - 1, in * 9, w, h * w, ch * h * w);
}

/* FMAs of results / (FMAs and packing of the busiest thread * threads); packing an element of a filter takes as long as 8 FMAs. */
static void conv_share(void *arg) {
    struct conv_case *c = arg;
    struct program prog;
    const char *text = conv_text(c);
    ir_init(&c->ir, &c->arena);
    ir_parse(&c->ir, text, strlen(text), "conv", &prog);
    c->opts = opts_heuristic(&c->ir, &prog.kernel.p[0], 64, c->threads);
    CHECK(opts_axes(&c->ir, &prog.kernel.p[0], c->opts, note_grid, &c->grid));
    double all = (double)(c->images * c->channels * c->rows * c->cols * c->inputs * 9), tile = 1;
    const char *cols = strstr(c->opts, "TILE(c,"); /* its channels stay in the grid unless they are a loop */
    if (!strstr(c->opts, "LOOP(c)")) tile = cols ? atof(cols + 7) / (double)c->channels : 0;
    double filters = (tile > 0 ? tile : 1) * (double)(c->channels * c->inputs * 9);
    double task = all / c->grid + 8 * filters;
    c->share = all / (ceil(c->grid / c->threads) * c->threads * task);
}

TEST(heuristic_conv_cuts_balance_and_pack_little) {
    static const int64_t sizes[] = {14, 20, 24, 28, 32, 40, 56};
    static const int threads[] = {8, 16, 32};
    double sum = 0, least = 1;
    int n = 0;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        uint64_t r = hash_u64(seed);
        struct conv_case c = {.images = 1 + (int64_t)(r % 4),
                              .channels = 32 * (1 + (int64_t)(r >> 8) % 4),
                              .inputs = 16 * (1 + (int64_t)(r >> 16) % 4),
                              .rows = sizes[(r >> 24) % RG_COUNT(sizes)],
                              .threads = threads[(r >> 32) % RG_COUNT(threads)]};
        c.cols = c.rows;
        arena_init(&c.arena, &c.err);
        if (err_guard(&c.err, conv_share, &c)) FAIL("%s", c.err.msg);
        sum += c.share, n++, least = RG_MIN(least, c.share);
        arena_free(&c.arena);
    }
    TEST_INFO("%d convolutions: %.3f of the threads' time are results, at least %.3f", n, sum / n, least);
    CHECK(sum / n > 0.8); /* 0.75 where rows are cut before anything is counted */
}

static void list_of_conv(void *arg) {
    struct conv_case *c = arg;
    struct program prog;
    const char *text = conv_text(c);
    ir_init(&c->ir, &c->arena);
    ir_parse(&c->ir, text, strlen(text), "conv", &prog);
    c->opts = opts_heuristic(&c->ir, &prog.kernel.p[0], 64, c->threads);
    CHECK(opts_axes(&c->ir, &prog.kernel.p[0], c->opts, note_grid, &c->grid));
}

/* Where a list is unrolled too far for a compiler the next one is asked for: another list, and one that vectorizes. */
static void lists_after(void *arg) {
    struct conv_case *c = arg;
    struct program prog;
    const char *text = conv_text(c);
    ir_init(&c->ir, &c->arena);
    ir_parse(&c->ir, text, strlen(text), "conv", &prog);
    const struct kernel *k = &prog.kernel.p[0];
    const char *first = opts_heuristic(&c->ir, k, 64, c->threads);
    CHECK(!strcmp(opts_heuristic_after(&c->ir, k, 64, c->threads, 0), first));
    c->opts = opts_heuristic_after(&c->ir, k, 64, c->threads, 1);
    if (!strcmp(c->opts, first) || !strstr(c->opts, "VEC(")) FAIL("after %s\nthe list is %s", first, c->opts);
    CHECK(opts_axes(&c->ir, k, c->opts, note_grid, &c->grid));
    CHECK(!*opts_heuristic_after(&c->ir, k, 64, c->threads, 100));
}

TEST(heuristic_conv_has_lists_after_the_first) {
    for (uint64_t seed = 1; seed <= 12; seed++) {
        uint64_t r = hash_u64(seed + 900);
        struct conv_case c = {.images = 1 + (int64_t)(r % 3),
                              .channels = 2 + (int64_t)(r >> 8) % 40,
                              .rows = 3 + (int64_t)(r >> 16) % 20,
                              .cols = 5 + (int64_t)(r >> 24) % 40,
                              .inputs = 2 + (int64_t)(r >> 32) % 30,
                              .threads = 1 + (int)(r >> 40) % 4};
        arena_init(&c.arena, &c.err);
        if (err_guard(&c.err, lists_after, &c)) FAIL("%s", c.err.msg);
        arena_free(&c.arena);
    }
}

/* One image on one thread, more channels than fit L2, rows shorter than a vector: it is packed with its halo in any case, if need be by
 * blocks of channels, and no vector of results has predicates. */
TEST(heuristic_conv_packs_every_image) {
    int blocks = 0;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        uint64_t r = hash_u64(seed + 4100);
        struct conv_case c = {.images = 1 + (int64_t)(r % 3),
                              .channels = 2 + (int64_t)(r >> 8) % 14,
                              .rows = 3 + (int64_t)(r >> 16) % 20,
                              .cols = 5 + (int64_t)(r >> 24) % 40,
                              .inputs = seed % 2 ? 2 + (int64_t)(r >> 32) % 30 : 1024 << (r >> 32) % 3,
                              .threads = 1 + (int)(r >> 40) % 4};
        arena_init(&c.arena, &c.err);
        if (err_guard(&c.err, list_of_conv, &c)) FAIL("%s", c.err.msg);
        if (!strstr(c.opts, "STAGE(x,"))
            FAIL("%d x %d of %d channels, %d filters: %s", (int)c.rows, (int)c.cols, (int)c.inputs,
                 (int)c.channels, c.opts);
        blocks += strstr(c.opts, "STAGE(x,k,") != NULL;
        arena_free(&c.arena);
    }
    TEST_INFO("60 convolutions, %d by blocks of channels", blocks);
    CHECK(blocks > 5);
}

/* A transposed convolution of stride 3 along i, 5 taps, crop `rows`: by phases of (i + crop) / 3. */
static const char *phases_text(struct conv_case *c) {
    long long ch = c->channels, in = c->inputs, w = c->cols, crop = c->rows;
    return arena_printf(
        &c->arena,
        "kernel conv\no = (PARAM<f32>[0 o] %lld)\nx = (PARAM<f32>[1 x] %lld)\nf = (PARAM<f32>[2 f] %lld)\n"
        "n = (RANGE[n GRID 0] 4)\nc = (RANGE[c GRID 1] %lld)\ni = (RANGE[i GRID 2] 27)\n"
        "j = (RANGE[j GRID 3] %lld)\nk = (RANGE[k REDUCE 4] %lld)\ns = (RANGE[s REDUCE 5] 2)\n"
        "t = (RANGE[t REDUCE 6] 3)\nm = (ADD i %lld)\nq = (IDIV m 3)\np = (MOD m 3)\n"
        "v = (LT (ADD (MUL s 3) p) 5)\n"
        "y = (AND (AND (LT s (ADD q 1)) (LT q (ADD s 10))) (AND (LT 0 (ADD j t)) (LT (ADD j t) %lld)))\n"
        "a = (ADD (ADD (ADD j t) (MUL (ADD q (MUL s -1)) %lld)) (ADD (ADD (MUL k %lld) (MUL n %lld)) -1))\n"
        "l = (WHERE y (LOAD (INDEX x (WHERE y a (INVALID<idx>)))) 0.0)\n"
        "b = (ADD (ADD (ADD (MUL s 3) p) (MUL t 5)) (ADD (MUL k 15) (MUL c %lld)))\n"
        "g = (WHERE v (LOAD (INDEX f (WHERE v b (INVALID<idx>)))) 0.0)\n"
        "r = (REDUCE[ADD] (MUL l g) k s t)\n"
        "(SINK (STORE (INDEX o (ADD (ADD j (MUL i %lld)) (ADD (MUL c %lld) (MUL n %lld)))) r))\n",
        4 * ch * 27 * w, 4 * in * 10 * w, ch * in * 15, ch, w, in, crop, w + 1, w, 10 * w, in * 10 * w,
        in * 15, w, 27 * w, ch * 27 * w);
}

static void list_of_phases(void *arg) {
    struct conv_case *c = arg;
    struct program prog;
    const char *text = phases_text(c);
    ir_init(&c->ir, &c->arena);
    ir_parse(&c->ir, text, strlen(text), "conv", &prog);
    c->opts = opts_heuristic(&c->ir, &prog.kernel.p[0], 64, c->threads);
}

/* Whatever is cropped, and for fewer channels than a part of a vector, each phase packs its image. */
TEST(heuristic_conv_packs_every_phase) {
    for (uint64_t seed = 1; seed <= 40; seed++) {
        uint64_t r = hash_u64(seed + 5200);
        struct conv_case c = {.channels = 2 + (int64_t)(r % 40),
                              .inputs = 3 + (int64_t)(r >> 8) % 60,
                              .cols = 5 + (int64_t)(r >> 16) % 40,
                              .rows = (int64_t)(seed % 3),
                              .threads = 1 + (int)(r >> 40) % 4};
        arena_init(&c.arena, &c.err);
        if (err_guard(&c.err, list_of_phases, &c)) FAIL("%s", c.err.msg);
        if (!strstr(c.opts, "STAGE(x,"))
            FAIL("crop %d, %d x %d channels, %d columns: %s", (int)c.rows, (int)c.inputs, (int)c.channels,
                 (int)c.cols, c.opts);
        arena_free(&c.arena);
    }
}

/* Opts of a 3 x 3 convolution of `rows` x `cols` for vectors of 64 bytes. The caller frees c's arena. */
static void wide_list(struct conv_case *c) {
    arena_init(&c->arena, &c->err);
    if (err_guard(&c->err, conv_share, c)) FAIL("%s", c->err.msg);
}

/* An image that does not fit half of L2: 56 positions fill three and a half vectors of 16, 64 channels four. */
TEST(heuristic_conv_has_vectors_that_channels_fill) {
    int64_t inputs = os_cpu()->l2 / 2 / (56 * 56 * 4) + 1;
    if (!os_cpu()->l2) SKIP("the system does not say how large L2 is");
    struct conv_case few = {
        .threads = 1, .images = 8, .channels = 64, .rows = 56, .cols = 56, .inputs = inputs};
    struct conv_case full = few;
    wide_list(&few);
    CHECK(strstr(few.opts, "VEC(c_v)"));
    full.rows = full.cols = 64; /* four vectors */
    wide_list(&full);
    CHECK(strstr(full.opts, "VEC(j_v)"));
    arena_free(&few.arena), arena_free(&full.arena);
}

/* Filters of two vectors of channels do not fit half of L2: blocks of the sum for which they do, instead of one vector. */
TEST(heuristic_conv_blocks_sums_of_many_channels) {
    int64_t inputs = os_cpu()->l2 / 2 / (2 * 9 * 64) / 16 * 16 + 32;
    if (!os_cpu()->l2) SKIP("the system does not say how large L2 is");
    struct conv_case c = {.threads = 1, .images = 8, .channels = 512, .rows = 7, .cols = 7, .inputs = inputs};
    wide_list(&c);
    if (!strstr(c.opts, "TILE(c,32,") || !strstr(c.opts, "TILE(k,")) FAIL("%s", c.opts);
    arena_free(&c.arena);
}

/* Every second position of 14 x 14, 64 channels by 96 filters, and the gradient of the filters. */
static void gaps(void *arg) {
    struct conv_case *c = arg;
    struct program prog;
    const char *text = arena_printf(
        &c->arena,
        "kernel gaps\no = (PARAM<f32>[0 o] %d)\nx = (PARAM<f32>[1 x] 100352)\nf = (PARAM<f32>[2 f] %d)\n"
        "n = (RANGE[n %s] 8)\nc = (RANGE[c GRID 0] 96)\nk = (RANGE[k %s] 64)\ni = (RANGE[i %s] 7)\n"
        "j = (RANGE[j %s] 7)\na = (ADD (MUL j 2) (ADD (MUL i 28) (ADD (MUL k 196) (MUL n 12544))))\n"
        "y = (ADD j (ADD (MUL i 7) (ADD (MUL c 49) (MUL n 4704))))\nw = (ADD k (MUL c 64))\n"
        "r = (REDUCE[ADD] (MUL (LOAD (INDEX x a)) (LOAD (INDEX f %s))) %s)\n(SINK (STORE (INDEX o %s) r))\n",
        c->inputs ? 6144 : 37632, c->inputs ? 37632 : 6144, c->inputs ? "REDUCE 2" : "GRID 1",
        c->inputs ? "GRID 1" : "REDUCE 4", c->inputs ? "REDUCE 3" : "GRID 2",
        c->inputs ? "REDUCE 4" : "GRID 3", c->inputs ? "y" : "w", c->inputs ? "n i j" : "k",
        c->inputs ? "w" : "y");
    ir_init(&c->ir, &c->arena);
    ir_parse(&c->ir, text, strlen(text), "gaps", &prog);
    c->opts = opts_heuristic(&c->ir, &prog.kernel.p[0], 64, c->threads);
}

/* Neither gathers nor vectors of four positions: axes are joined, and both operands are packed. */
TEST(heuristic_conv_joins_axes_with_gaps) {
    for (int gradient = 0; gradient < 2; gradient++) {
        struct conv_case c = {.threads = 1, .inputs = gradient};
        arena_init(&c.arena, &c.err);
        if (err_guard(&c.err, gaps, &c)) FAIL("%s", c.err.msg);
        if (!strstr(c.opts, gradient ? "JOIN(n,i," : "JOIN(i,j,") || !strstr(c.opts, "STAGE(x,") ||
            !strstr(c.opts, "STAGE(f,"))
            FAIL("%s", c.opts);
        arena_free(&c.arena);
    }
}

/* Few positions in a row, and a prime number of images: filters are packed once for several rows that no window moves along. */
static void short_rows(void *arg) {
    struct conv_case *c = arg;
    struct program prog;
    const char *text = "kernel rows\no = (PARAM<f32>[0 o] 65280)\nx = (PARAM<f32>[1 x] 652800)\nf = "
                       "(PARAM<f32>[2 f] 49152)\n"
                       "n = (RANGE[n GRID 0] 17)\nc = (RANGE[c GRID 1] 64)\ni = (RANGE[i GRID 2] 15)\n"
                       "j = (RANGE[j GRID 3] 4)\nk = (RANGE[k REDUCE 4] 256)\nt = (RANGE[t REDUCE 5] 3)\n"
                       "a = (ADD (ADD t (MUL j 2)) (ADD (MUL i 10) (ADD (MUL k 150) (MUL n 38400))))\n"
                       "b = (ADD t (ADD (MUL k 3) (MUL c 768)))\n"
                       "r = (REDUCE[ADD] (MUL (LOAD (INDEX x a)) (LOAD (INDEX f b))) k t)\n"
                       "(SINK (STORE (INDEX o (ADD (ADD j (MUL i 4)) (ADD (MUL c 60) (MUL n 3840)))) r))\n";
    ir_init(&c->ir, &c->arena);
    ir_parse(&c->ir, text, strlen(text), "rows", &prog);
    c->opts = opts_heuristic(&c->ir, &prog.kernel.p[0], 64, 1);
}

TEST(heuristic_conv_packs_filters_for_several_rows) {
    struct conv_case c = {.threads = 1};
    arena_init(&c.arena, &c.err);
    if (err_guard(&c.err, short_rows, &c)) FAIL("%s", c.err.msg);
    if (!strstr(c.opts, "TILE(i,5,") || !strstr(c.opts, "STAGE(f,")) FAIL("%s", c.opts);
    arena_free(&c.arena);
}

/* The data gradient of a convolution with steps of two, padded, of an odd number of rows: the last has one phase, and no tap behind it. */
static void odd_phases(void *arg) {
    struct conv_case *c = arg;
    struct program prog;
    const char *text =
        "kernel odd\no = (PARAM<f32>[0 o] 67600)\ng = (PARAM<f32>[1 g] 36465)\nf = (PARAM<f32>[2 f] 1224)\n"
        "c = (RANGE[c GRID 0] 8)\ni = (RANGE[i GRID 1] 65)\nj = (RANGE[j GRID 2] 130)\n"
        "k = (RANGE[k REDUCE 3] 17)\ns = (RANGE[s REDUCE 4] 2)\nt = (RANGE[t REDUCE 5] 2)\n"
        "x = (ADD j 1)\ny = (ADD i 1)\nu = (IDIV x 2)\nv = (IDIV y 2)\n"
        "p = (AND (AND (LT t (ADD u 1)) (LT s (ADD v 1))) (LT u (ADD t 65)))\n"
        "a = (ADD (MUL v 65) (ADD u (ADD (MUL t -1) (ADD (MUL s -65) (MUL k 2145)))))\n"
        "w = (AND (LT (ADD (MUL t 2) (MOD x 2)) 3) (LT (ADD (MUL s 2) (MOD y 2)) 3))\n"
        "b = (ADD (MUL (MOD y 2) 3) (ADD (MOD x 2) (ADD (MUL t 2) (ADD (MUL s 6) (ADD (MUL k 72) (MUL c "
        "9))))))\n"
        "l = (WHERE p (LOAD (INDEX g (WHERE p a (INVALID<idx>)))) 0.0)\n"
        "m = (WHERE w (LOAD (INDEX f (WHERE w b (INVALID<idx>)))) 0.0)\n"
        "r = (REDUCE[ADD] (MUL l m) k s t)\n"
        "(SINK (STORE (INDEX o (ADD j (ADD (MUL i 130) (MUL c 8450)))) r))\n";
    ir_init(&c->ir, &c->arena);
    ir_parse(&c->ir, text, strlen(text), "odd", &prog);
    c->opts = opts_heuristic(&c->ir, &prog.kernel.p[0], 64, 1);
}

TEST(heuristic_conv_packs_phases_of_odd_rows) {
    struct conv_case c = {.threads = 1};
    arena_init(&c.arena, &c.err);
    if (err_guard(&c.err, odd_phases, &c)) FAIL("%s", c.err.msg);
    if (!strstr(c.opts, "STAGE(g,")) FAIL("%s", c.opts);
    arena_free(&c.arena);
}

/* A strided 1-D convolution of one image; all of its rows are one axis. */
static const char *row_text(struct conv_case *c, int stride) {
    long long ch = c->channels, n = c->cols, in = c->inputs, wide = n * stride + 4;
    return arena_printf(
        &c->arena,
        "kernel conv\no = (PARAM<bf16>[0 o] %lld)\nx = (PARAM<bf16>[1 x] %lld)\n"
        "f = (PARAM<bf16>[2 f] %lld)\nc = (RANGE[c GRID 0] %lld)\nj = (RANGE[j GRID 1] %lld)\n"
        "k = (RANGE[k REDUCE 2] %lld)\nt = (RANGE[t REDUCE 3] 5)\n"
        "l = (CAST<f32> (LOAD (INDEX x (ADD (ADD t (MUL j %d)) (MUL k %lld)))))\n"
        "w = (CAST<f32> (LOAD (INDEX f (ADD (ADD t (MUL k 5)) (MUL c %lld)))))\n"
        "r = (REDUCE[ADD] (MUL l w) k t)\n"
        "(SINK (STORE (INDEX o (ADD j (MUL c %lld))) (CAST<bf16> r)))\n",
        ch * n, in * wide, ch * in * 5, ch, n, in, stride, wide, in * 5, n);
}

static void strided_row(void *arg) {
    struct conv_case *c = arg;
    struct program prog;
    const char *text = row_text(c, 2 + (int)(c->cols % 3));
    ir_init(&c->ir, &c->arena);
    ir_parse(&c->ir, text, strlen(text), "conv", &prog);
    c->opts = opts_heuristic(&c->ir, &prog.kernel.p[0], 16, c->threads);
    CHECK(opts_axes(&c->ir, &prog.kernel.p[0], c->opts, note_grid, &c->grid));
}

/* The window is packed by parts of the row, not read along its few taps, and the grid has a part for each thread. */
TEST(heuristic_conv_packs_windows_of_long_rows) {
    for (uint64_t seed = 1; seed <= 40; seed++) {
        uint64_t r = hash_u64(seed);
        struct conv_case c = {.channels = 16 + (int64_t)(r % 64),
                              .inputs = 8 + (int64_t)((r >> 8) % 64),
                              .cols = 1000 + (int64_t)((r >> 16) % 60000),
                              .threads = 1 << (r >> 40) % 4};
        arena_init(&c.arena, &c.err);
        if (err_guard(&c.err, strided_row, &c)) FAIL("%s", c.err.msg);
        if (!strstr(c.opts, "STAGE(x,") || strstr(c.opts, "VEC(t")) FAIL("%s", c.opts);
        if (c.grid < c.threads) FAIL("%g grid iterations for %d threads: %s", c.grid, c.threads, c.opts);
        arena_free(&c.arena);
    }
}

/* Filters of one column, o[c, i, j] = sum of x[k, i + s, j] * f[c, k, s]: vectors along the rows, which have no window. */
static void one_column(void *arg) {
    struct conv_case *c = arg;
    struct program prog;
    const char *text =
        "kernel column\no = (PARAM<f32>[0 o] 401897)\nx = (PARAM<f32>[1 x] 76959)\nf = (PARAM<f32>[2 f] "
        "255)\nc = (RANGE[c GRID 0] 17)\ni = (RANGE[i GRID 1] 47)\nj = (RANGE[j GRID 2] 503)\n"
        "k = (RANGE[k REDUCE 3] 3)\ns = (RANGE[s REDUCE 4] 5)\n"
        "a = (ADD j (ADD (MUL (ADD i s) 503) (MUL k 25653)))\n"
        "r = (REDUCE[ADD] (MUL (LOAD (INDEX x a)) (LOAD (INDEX f (ADD s (ADD (MUL k 5) (MUL c 15)))))) k s)\n"
        "(SINK (STORE (INDEX o (ADD j (ADD (MUL i 503) (MUL c 23641)))) r))\n";
    ir_init(&c->ir, &c->arena);
    ir_parse(&c->ir, text, strlen(text), "column", &prog);
    c->opts = opts_heuristic(&c->ir, &prog.kernel.p[0], (int)c->cols, c->threads);
}

TEST(heuristic_conv_of_one_column_has_vectors_along_rows) {
    for (int bytes = 16; bytes <= 64; bytes *= 2) {
        struct conv_case c = {.cols = bytes, .threads = 1};
        arena_init(&c.arena, &c.err);
        if (err_guard(&c.err, one_column, &c)) FAIL("%s", c.err.msg);
        if (!strstr(c.opts, "VEC(j_v)")) FAIL("%d bytes: %s", bytes, c.opts);
        arena_free(&c.arena);
    }
}

/* Steps of x = x * x + y of transposed operands. A body of many statements is not unrolled for a tile of 16 x 16 (a list that
 * makes too long a program is dropped, and every element is a grid iteration). */
static void transposed_steps(void *arg) {
    struct conv_case *c = arg;
    struct program prog;
    struct str s;
    str_init(&s, &c->arena);
    str_add(&s, "kernel steps\no = (PARAM<bf16>[0 o] 62000)\nx = (PARAM<bf16>[1 x] 62000)\n"
                "i = (RANGE[i GRID 0] 62)\nj = (RANGE[j GRID 1] 1000)\n"
                "x0 = (LOAD (INDEX x (ADD i (MUL j 62))))\n");
    for (int k = 0; k < (int)c->rows; k++)
        str_printf(&s, "x%d = (WHERE (LT (ABS x%d) 2.0) (ADD x0 (MUL x%d x%d)) x%d)\n", k + 1, k, k, k, k);
    str_printf(&s, "(SINK (STORE (INDEX o (ADD j (MUL i 1000))) x%d))\n", (int)c->rows);
    ir_init(&c->ir, &c->arena);
    ir_parse(&c->ir, s.p, s.n, "steps", &prog);
    c->opts = opts_heuristic(&c->ir, &prog.kernel.p[0], 16, 1);
}

TEST(heuristic_transposes_long_bodies_in_small_tiles) {
    for (int64_t steps = 1; steps <= 400; steps *= 40) {
        struct conv_case c = {.rows = steps};
        arena_init(&c.arena, &c.err);
        if (err_guard(&c.err, transposed_steps, &c)) FAIL("%s", c.err.msg);
        if (!strstr(c.opts, "VEC(")) FAIL("%d steps: %s", (int)steps, c.opts);
        if (!strstr(c.opts, ",16,") != (steps > 1)) FAIL("%d steps: %s", (int)steps, c.opts);
        arena_free(&c.arena);
    }
}

/* ---- groups ---------------------------------------------------------------------------------------------- */

struct grouped_case {
    struct err err;
    struct arena arena;
    struct ir ir;
    int64_t images, groups, channels, rows, cols, inputs; /* channels of a group */
    int vec_bytes;
    const char *opts;
    float *out[2];
};

/* The result's channels are one axis, read as group and channel: a padded 3x3 convolution. */
static const char *grouped_text(struct grouped_case *c) {
    long long n = c->images, g = c->groups, ch = c->channels, h = c->rows, w = c->cols, in = c->inputs;
    return arena_printf(
        &c->arena,
        "kernel conv\no = (PARAM<f32>[0 o] %lld)\nx = (PARAM<f32>[1 x] %lld)\nf = (PARAM<f32>[2 f] %lld)\n"
        "n = (RANGE[n GRID 0] %lld)\nc = (RANGE[c GRID 1] %lld)\ni = (RANGE[i GRID 2] %lld)\n"
        "j = (RANGE[j GRID 3] %lld)\nk = (RANGE[k REDUCE 4] %lld)\ns = (RANGE[s REDUCE 5] 3)\n"
        "t = (RANGE[t REDUCE 6] 3)\ng = (IDIV c %lld)\n"
        "p = (AND (AND (LT 0 (ADD i s)) (LT (ADD i s) %lld)) (AND (LT 0 (ADD j t)) (LT (ADD j t) %lld)))\n"
        "a = (ADD (ADD (ADD j t) (MUL (ADD i s) %lld)) (ADD (ADD (MUL k %lld) (MUL n %lld)) %lld))\n"
        "l = (WHERE p (LOAD (INDEX x (WHERE p (ADD a (MUL g %lld)) (INVALID<idx>)))) 0.0)\n"
        "r = (REDUCE[ADD] (MUL l (LOAD (INDEX f (ADD (ADD (ADD t (MUL s 3)) (MUL k 9)) "
        "(ADD (MUL (MOD c %lld) %lld) (MUL g %lld)))))) k s t)\n"
        "(SINK (STORE (INDEX o (ADD (ADD j (MUL i %lld)) (ADD (MUL c %lld) (MUL n %lld)))) r))\n",
        n * g * ch * h * w, n * g * in * h * w, g * ch * in * 9, n, g * ch, h, w, in, ch, h + 1, w + 1, w,
        h * w, g * in * h * w, -w - 1, in * h * w, ch, in * 9, ch * in * 9, w, h * w, g * ch * h * w);
}

static void grouped_values(void *arg) {
    struct grouped_case *c = arg;
    struct program prog;
    struct linear lin;
    const char *text = grouped_text(c);
    int64_t image = c->images * c->groups * c->inputs * c->rows * c->cols,
            filter = c->groups * c->channels * c->inputs * 9,
            result = c->images * c->groups * c->channels * c->rows * c->cols;
    float *x = arena_array(&c->arena, float, image), *f = arena_array(&c->arena, float, filter);
    for (int64_t i = 0; i < image; i++) x[i] = (float)sin((double)i * 0.7);
    for (int64_t i = 0; i < filter; i++) f[i] = (float)cos((double)i * 0.3);
    ir_init(&c->ir, &c->arena);
    ir_parse(&c->ir, text, strlen(text), "conv", &prog);
    c->opts = opts_heuristic(&c->ir, &prog.kernel.p[0], c->vec_bytes, 1);
    for (int i = 0; i < 2; i++) {
        struct lower_opts o = {.opts = i ? c->opts : "", .target = {.vec_bytes = c->vec_bytes}};
        c->out[i] = arena_array(&c->arena, float, result);
        struct ref_buf buf[3] = {{.p = (void *)c->out[i], .bytes = (size_t)result * 4},
                                 {.p = (void *)x, .bytes = (size_t)image * 4},
                                 {.p = (void *)f, .bytes = (size_t)filter * 4}};
        lower(&c->ir, &prog.kernel.p[0], &o, &lin);
        if (ref_linear(&c->err, &lin, buf, 3, NULL, 0, lin.grid)) FAIL("%s\n%s", c->err.msg, c->opts);
    }
    for (int64_t i = 0; i < result; i++)
        if (!(fabsf(c->out[0][i] - c->out[1][i]) <= 1e-4f))
            FAIL("element %lld is %g, expected %g: %s", (long long)i, c->out[1][i], c->out[0][i], c->opts);
}

/* A group is a convolution of its own: its image is packed, also where no part divides a row (PADTO). */
TEST(heuristic_conv_splits_groups) {
    int packed = 0, padded = 0, all = 0;
    for (uint64_t seed = 1; seed <= 36; seed++) {
        uint64_t r = hash_u64(seed + 700);
        struct grouped_case c = {.images = 1 + (int64_t)(r % 2),
                                 .groups = 2 + (int64_t)(r >> 8) % 3,
                                 .channels = 4 * (1 + (int64_t)(r >> 16) % 4),
                                 .inputs = 1 + (int64_t)(r >> 24) % 5,
                                 .rows = 3 + (int64_t)(r >> 32) % 4,
                                 .cols =
                                     seed % 3 ? 5 + (int64_t)(r >> 40) % 30 : 125 + (int64_t)(r >> 40) % 9,
                                 .vec_bytes = 16 << (r >> 48) % 3};
        arena_init(&c.arena, &c.err);
        if (err_guard(&c.err, grouped_values, &c)) FAIL("%s", c.err.msg);
        all++, packed += strstr(c.opts, "STAGE(x") != NULL, padded += strstr(c.opts, "PADTO(j") != NULL;
        arena_free(&c.arena);
    }
    TEST_INFO("%d grouped convolutions: %d packed, %d padded", all, packed, padded);
    CHECK(packed >= all * 3 / 4 && padded > 0);
}
