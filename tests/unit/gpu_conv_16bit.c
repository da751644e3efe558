/* Tests of 16-bit convolutions on a GPU with wgmma (src/tune/choose/gpu_conv.c, by_groups;
 * src/schedule/repack.c, weights): planned, lowered and run by the interpreter of block programs, against the oracle; on a GPU
 * against plain loops. */
#include "codegen/codegen.h"
#include "planned.h"
#include "test.h"
#include "irtest.h"

#include <ridge.h>

#include <string.h>

/* ---- plain loops ------------------------------------------------------------------------------------------------ */

struct sizes {
    int64_t b, in, out, high, wide, taps;
    rg_dtype dt;
};
enum { MOST = 1 << 19 };
static int image[MOST], weight[MOST], back[MOST]; /* back: what comes back to the results */

/* A row of terms: n neighbouring results and pixels, and one weight. */
typedef void row_fn(int *sum, size_t y, size_t x, size_t w, size_t n);
static void forward(int *sum, size_t y, size_t x, size_t w, size_t n) {
    for (size_t i = 0; i < n; i++) sum[y + i] += image[x + i] * weight[w];
}
static void to_images(int *sum, size_t y, size_t x, size_t w, size_t n) {
    for (size_t i = 0; i < n; i++) sum[x + i] += back[y + i] * weight[w];
}
static void to_weights(int *sum, size_t y, size_t x, size_t w, size_t n) {
    for (size_t i = 0; i < n; i++) sum[w] += back[y + i] * image[x + i];
}

static void loops(const struct sizes *d, row_fn *row, int *sum) {
    int64_t pad = d->taps / 2, rest[6];
    const int64_t size[6] = {d->b, d->out, d->high, d->in, d->taps, d->taps};
    int64_t all = d->b * d->out * d->high * d->in * d->taps * d->taps;
    memset(sum, 0, MOST * sizeof *sum);
    for (int64_t n = 0; n < all; n++) {
        int64_t r = n;
        for (int k = 6; k-- > 0; r /= size[k]) rest[k] = r % size[k];
        int64_t line = rest[2] + rest[4] - pad, first = RG_MAX(pad - rest[5], 0),
                last = RG_MIN(d->wide + pad - rest[5], d->wide); /* pixels whose tap is inside */
        if (line < 0 || line >= d->high) continue;
        int64_t y = ((rest[0] * d->out + rest[1]) * d->high + rest[2]) * d->wide + first;
        int64_t x = ((rest[0] * d->in + rest[3]) * d->high + line) * d->wide + first + rest[5] - pad;
        int64_t w = ((rest[1] * d->in + rest[3]) * d->taps + rest[4]) * d->taps + rest[5];
        row(sum, (size_t)y, (size_t)x, (size_t)w, (size_t)(last - first));
    }
}

struct conv {
    const char *dt;
    int b, in, out, high, wide, taps, pad;
    bool planned;  /* and not run */
    bool run_only; /* and not compared with the oracle, which would need too much memory */
    bool reshaped; /* the images lie in memory as a quarter of the channels, twice as high and wide */
    bool back;     /* the gradient of the images */
    bool weights;  /* that of the weights */
    bool masked;   /* its results, where a tensor is positive */
    /* result */
    struct err err;
    struct arena arena;
    struct ir ir;
    struct sched_opts opts;
    struct planned_run run;
    struct str why;
    bool ok;
};

/* As src/tensor/conv.c writes it: windows of padded images times weights, added over channels and taps. */
static void text(const struct conv *c, struct str *s) {
    int h = c->high + 2 * c->pad, w = c->wide + 2 * c->pad, t = c->taps, oh = h - t + 1, ow = w - t + 1;
    int more = c->reshaped ? 2 : 1;
    str_printf(s, "kernel g\nm = (BUFFER<%s>[0] %d %d %d %d)\n", c->dt, c->b, c->in / more / more,
               c->high * more, c->wide * more);
    str_printf(s, "x = (CAST<f32> (RESHAPE m %d %d %d %d))\n", c->b, c->in, c->high, c->wide);
    if (c->pad)
        str_printf(s, "p = (PAD x 0.0 0 0 0 0 0 0 %d %d 0 %d %d 0)\n", c->pad, c->pad, c->pad, c->pad);
    str_printf(s, "e = (EXPAND (RESHAPE %s %d 1 %d %d %d 1 1) %d 1 %d %d %d %d %d)\n", c->pad ? "p" : "x",
               c->b, c->in, h, w, c->b, c->in, h, w, t, t);
    str_printf(s, "a = (EXPAND (UNFOLD e %d 1 1 %d 1 1) %d %d %d %d %d %d %d)\n", oh, ow, c->b, c->out, c->in,
               oh, ow, t, t);
    str_printf(s, "v = (CAST<f32> (BUFFER<%s>[1] %d %d %d %d))\n", c->dt, c->out, c->in, t, t);
    str_printf(s, "w = (EXPAND (RESHAPE v 1 %d %d 1 1 %d %d) %d %d %d %d %d %d %d)\n", c->out, c->in, t, t,
               c->b, c->out, c->in, oh, ow, t, t);
    str_printf(s, "y = (CAST<%s> (RESHAPE (REDUCE_AXES[ADD] (MUL a w) 2 5 6) %d %d %d %d))\n", c->dt, c->b,
               c->out, oh, ow);
    if (c->masked) str_printf(s, "k = (LE (BUFFER<%s>[2] %d %d %d %d) 0.0)\n", c->dt, c->b, c->out, oh, ow);
    str_printf(s, c->masked ? "(GRAPH (WHERE k 0.0 y))\n" : "(GRAPH y)\n");
}

/* The gradient of its weights: windows times the output gradient, summed over images and pixels. */
static void text_weights(const struct conv *c, struct str *s) {
    int p = c->pad, h = c->high + 2 * p, w = c->wide + 2 * p, t = c->taps, oh = h - t + 1, ow = w - t + 1;
    str_printf(s, "kernel g\nx = (CAST<f32> (BUFFER<%s>[0] %d %d %d %d))\n", c->dt, c->b, c->in, c->high,
               c->wide);
    if (p) str_printf(s, "p = (PAD x 0.0 0 0 0 0 0 0 %d %d 0 %d %d 0)\n", p, p, p, p);
    str_printf(s, "e = (EXPAND (RESHAPE %s %d 1 %d %d %d 1 1) %d 1 %d %d %d %d %d)\n", p ? "p" : "x", c->b,
               c->in, h, w, c->b, c->in, h, w, t, t);
    str_printf(s, "a = (EXPAND (UNFOLD e %d 1 1 %d 1 1) %d %d %d %d %d %d %d)\n", oh, ow, c->b, c->out, c->in,
               oh, ow, t, t);
    str_printf(s, "y = (CAST<f32> (BUFFER<%s>[1] %d %d %d %d))\n", c->dt, c->b, c->out, oh, ow);
    str_printf(s, "d = (EXPAND (RESHAPE y %d %d 1 %d %d 1 1) %d %d %d %d %d %d %d)\n", c->b, c->out, oh, ow,
               c->b, c->out, c->in, oh, ow, t, t);
    str_printf(s, "(GRAPH (RESHAPE (REDUCE_AXES[ADD] (MUL a d) 0 3 4) %d %d %d %d))\n", c->out, c->in, t, t);
}

/* The gradient of its images: the output gradient is folded back to the pixels that it came from, the halo cut off. */
static void text_back(const struct conv *c, struct str *s) {
    int t = c->taps, h = c->high + t - 1, w = c->wide + t - 1, p = t / 2;
    str_printf(s, "kernel g\nx = (CAST<f32> (BUFFER<%s>[0] %d %d %d %d))\n", c->dt, c->b, c->in, c->high,
               c->wide);
    str_printf(s, "e = (EXPAND (RESHAPE x %d 1 %d %d %d 1 1) %d 1 %d %d %d %d %d)\n", c->b, c->in, c->high,
               c->wide, c->b, c->in, c->high, c->wide, t, t);
    str_printf(s, "a = (EXPAND (FOLD e %d 1 1 %d 1 1) %d %d %d %d %d %d %d)\n", h, w, c->b, c->out, c->in, h,
               w, t, t);
    str_printf(s, "v = (PERMUTE (CAST<f32> (BUFFER<%s>[1] %d %d %d %d)) 1 0 2 3)\n", c->dt, c->in, c->out, t,
               t);
    str_printf(s, "w = (EXPAND (RESHAPE v 1 %d %d 1 1 %d %d) %d %d %d %d %d %d %d)\n", c->out, c->in, t, t,
               c->b, c->out, c->in, h, w, t, t);
    str_printf(s, "r = (RESHAPE (REDUCE_AXES[ADD] (MUL a w) 2 5 6) %d %d %d %d)\n", c->b, c->out, h, w);
    str_printf(s, "(GRAPH (CAST<%s> (SHRINK r 0 %d 1 0 %d 1 %d %d 1 %d %d 1)))\n", c->dt, c->b, c->out, p,
               c->high, p, c->wide);
}

static void plan(void *arg) {
    struct conv *c = arg;
    struct program p = {0};
    struct str s;
    ir_init(&c->ir, &c->arena);
    str_init(&s, &c->arena), str_init(&c->why, &c->arena);
    (c->weights ? text_weights : c->back ? text_back : text)(c, &s);
    ir_parse(&c->ir, s.p, s.n, "conv.uop", &p);
    c->opts = (struct sched_opts){.model = planned_h200(), .gpu = true, .capability = 90};
    c->run = (struct planned_run){.arena = &c->arena,
                                  .ir = &c->ir,
                                  .opts = &c->opts,
                                  .graph = p.kernel.p[0].sink,
                                  .from = OPTS_GPU,
                                  .exact = true};
    c->ok = c->planned;
    if (!c->planned) c->run.data = graph_fill(&c->arena, &c->ir, c->run.graph, 1, true);
    planned_plan(&c->run);
    if (c->planned) return;
    planned_memory(&c->run);
    planned_interpret(&c->run);
    c->ok = c->run_only || planned_check(&c->run, &c->why, NULL, NULL);
}

/* MMA instructions in the program, and loads from memory: all, and those of 16 bytes. */
static void count(const struct conv *c, uint32_t *mma, uint32_t *loads, uint32_t *wide) {
    *mma = *loads = *wide = 0;
    for (uint32_t p = 0; p < c->run.sched.prog.n; p++) {
        const struct linear *l = &c->run.lin[p];
        bool group = false;
        for (uint32_t i = 0; i < l->n; i++) group |= l->u[i]->op == OP_MMA;
        for (uint32_t i = 0; i < l->n && group; i++) {
            const uop *n = l->u[i];
            *mma += n->op == OP_MMA;
            if ((n->op != OP_LOAD && n->op != OP_PRED_LOAD) || access_buf(n)->op != OP_PARAM) continue;
            ++*loads, *wide += n->lanes == 8;
        }
    }
}

static const struct {
    struct conv c;
    bool pieces; /* all loads have 16 bytes */
} known[] = {
    {{.dt = "bf16", .b = 3, .in = 64, .out = 64, .high = 8, .wide = 56, .taps = 3, .pad = 1}, true},
    {{.dt = "f16", .b = 3, .in = 64, .out = 64, .high = 8, .wide = 56, .taps = 3, .pad = 1}, true},
    {{.dt = "bf16", .b = 1, .in = 128, .out = 64, .high = 12, .wide = 56, .taps = 3, .pad = 1}, true},
    {{.dt = "bf16", .b = 1, .in = 64, .out = 64, .high = 14, .wide = 32, .taps = 5, .pad = 2}, true},
    {{.dt = "bf16", .b = 2, .in = 64, .out = 128, .high = 28, .wide = 16, .taps = 3, .pad = 1}, true},
    {{.dt = "bf16", .b = 2, .in = 64, .out = 64, .high = 7, .wide = 112, .taps = 3, .pad = 1}, true},
    {{.dt = "bf16", .b = 3, .in = 64, .out = 64, .high = 8, .wide = 56, .taps = 3, .pad = 1, .back = true},
     true},
    {{.dt = "bf16", .b = 3, .in = 64, .out = 64, .high = 8, .wide = 56, .taps = 3, .pad = 1, .masked = true},
     false},
    {{.dt = "bf16", .b = 2, .in = 64, .out = 64, .high = 10, .wide = 66, .taps = 3}, false}, /* no halo */
    {{.dt = "bf16",
      .b = 2,
      .in = 64,
      .out = 64,
      .high = 28,
      .wide = 28,
      .taps = 3,
      .pad = 1,
      .reshaped = true},
     false},
    {{.dt = "f16", .b = 3, .in = 128, .out = 64, .high = 14, .wide = 14, .taps = 3, .pad = 1}, false},
    {{.dt = "bf16", .b = 3, .in = 128, .out = 64, .high = 12, .wide = 13, .taps = 5, .pad = 2, .back = true},
     false},
};

static bool is_warp_specialized(const struct conv *c) {
    bool found = false;
    for (uint32_t p = 0; p < c->run.sched.prog.n; p++)
        for (uint32_t i = 0; i < c->run.lin[p].n; i++) found |= c->run.lin[p].u[i]->op == OP_SETMAXNREG;
    return found;
}

TEST_SLOW(conv_16bit_planned, 300) {
    for (size_t i = 0; i < RG_COUNT(known); i++) {
        struct conv c = known[i].c;
        uint32_t mma, loads, wide;
        arena_init(&c.arena, &c.err);
        if (err_guard(&c.err, plan, &c)) FAIL("%zu: %s", i, c.err.msg);
        if (!c.ok) FAIL("%zu: %s", i, c.why.p);
        count(&c, &mma, &loads, &wide);
        CHECK_EQ(c.run.sched.call.n, 2); /* the weights' copy */
        if (!mma) FAIL("%zu: no MMA instructions", i);
        if (c.masked) CHECK(!is_warp_specialized(&c)); /* its few warps would wait for the mask */
        if (known[i].pieces && wide != loads) FAIL("%zu: %u of %u loads have 16 bytes", i, wide, loads);
        arena_free(&c.arena);
    }
    TEST_COUNT((int)RG_COUNT(known), "16-bit convolutions");
}

/* The gradient of the weights: partial sums by MMA instructions, whose taps of one row are one where there are three, and a second
 * kernel that adds them. Rows that are no whole steps of the instruction go by pairs. */
TEST(conv_16bit_weights_planned) {
    static const struct {
        struct conv c;
        uint32_t mma, parts; /* parts 0: by the implicit GEMM of a copy of the images, channels last */
    } job[] = {
        {{.dt = "bf16", .b = 64, .in = 64, .out = 64, .high = 56, .wide = 56, .taps = 3, .pad = 1}, 14, 128},
        {{.dt = "f16", .b = 32, .in = 64, .out = 128, .high = 64, .wide = 32, .taps = 3, .pad = 1}, 8, 64},
        {{.dt = "bf16", .b = 12, .in = 64, .out = 64, .high = 26, .wide = 24, .taps = 5, .pad = 2}, 15, 12},
        {{.dt = "bf16", .b = 64, .in = 64, .out = 32, .high = 56, .wide = 56, .taps = 3, .pad = 1}, 32, 0},
    };
    for (size_t i = 0; i < RG_COUNT(job); i++) {
        struct conv c = job[i].c;
        uint32_t mma, loads, wide;
        c.weights = c.planned = true;
        arena_init(&c.arena, &c.err);
        if (err_guard(&c.err, plan, &c)) FAIL("%zu: %s", i, c.err.msg);
        count(&c, &mma, &loads, &wide);
        const struct schedule *s = &c.run.sched;
        if (s->call.n != (job[i].parts ? 2 : 3)) FAIL("%zu: %u calls", i, s->call.n);
        if (mma != job[i].mma) FAIL("%zu: %u MMA instructions, not %u", i, mma, job[i].mma);
        if (!job[i].parts) continue;
        if (wide != loads) FAIL("%zu: %u of %u loads have 16 bytes", i, wide, loads);
        int64_t sums = s->buf.p[s->call.p[0].buf[0]].elements, taps = c.taps * c.taps;
        CHECK_EQ(sums, job[i].parts * taps * c.in * c.out);
        arena_free(&c.arena);
    }
}

static int of_bf16(const uint16_t *p, size_t i) {
    uint32_t bits = (uint32_t)p[i] << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return (int)f;
}

/* By the interpreter, against plain loops: whole sums of integers. */
TEST_SLOW(conv_16bit_weights, 100) {
    static int sum[MOST];
    struct conv c = {.dt = "bf16", .b = 2, .in = 64, .out = 64, .high = 38, .wide = 56, .taps = 3, .pad = 1};
    struct sizes d = {c.b, c.in, c.out, c.high, c.wide, c.taps, RG_BF16};
    c.weights = c.run_only = true;
    arena_init(&c.arena, &c.err);
    if (err_guard(&c.err, plan, &c)) FAIL("%s", c.err.msg);
    for (size_t i = 0; i < (size_t)(c.b * c.in * c.high * c.wide); i++) {
        image[i] = of_bf16(c.run.data.bufs[0].p, i);
        back[i] = of_bf16(c.run.data.bufs[1].p, i);
    }
    loops(&d, to_weights, sum);
    const float *got = c.run.result[0];
    for (int i = 0; i < c.in * c.out * c.taps * c.taps; i++)
        if (got[i] != (float)sum[i]) FAIL("number %d is %g, not %d", i, got[i], sum[i]);
    arena_free(&c.arena);
}

/* Channels that are no whole tiles: image and weights are copied, channels last and padded, and MMA instructions read that. */
TEST(conv_16bit_others) {
    static const struct conv other[] = {
        {.dt = "bf16", .b = 64, .in = 32, .out = 64, .high = 16, .wide = 16, .taps = 3, .pad = 1},
        {.dt = "bf16", .b = 64, .in = 64, .out = 96, .high = 16, .wide = 16, .taps = 3, .pad = 1},
    };
    for (size_t i = 0; i < RG_COUNT(other); i++) {
        struct conv c = other[i];
        c.planned = true;
        arena_init(&c.arena, &c.err);
        if (err_guard(&c.err, plan, &c)) FAIL("%zu: %s", i, c.err.msg);
        if (!c.ok) FAIL("%zu: %s", i, c.why.p);
        if (c.run.sched.call.n != 3) FAIL("%zu: %u calls", i, c.run.sched.call.n);
        uint32_t mma, loads, wide;
        count(&c, &mma, &loads, &wide);
        if (!mma) FAIL("%zu: no MMA instructions", i);
        arena_free(&c.arena);
    }
}

/* ---- threads that turn tiles for others ------------------------------------------------------------------------ */

/* Channels of 4 x 16, 3 x 3 taps, halo 1. */
static void small(struct str *s, int channels) {
    str_printf(
        s,
        "kernel c\n"
        "b0 = (PARAM<f32>[0 b0] 4096)\nb1 = (PARAM<bf16>[1 b1] %d)\nb2 = (PARAM<bf16>[2 b2] %d)\n"
        "o = (RANGE[o GRID 0] 64)\ny = (RANGE[y GRID 1] 4)\nx = (RANGE[x GRID 2] 16)\n"
        "c = (RANGE[c REDUCE 3] %d)\nu = (RANGE[u REDUCE 4] 3)\nv = (RANGE[v REDUCE 5] 3)\n"
        "yu = (ADD y u)\nxv = (ADD x v)\n"
        "g = (AND (AND (AND (LT yu 5) (LT 0 yu)) (LT 0 xv)) (LT xv 17))\n"
        "w = (LOAD (INDEX b1 (ADD v (ADD (MUL u 3) (ADD (MUL c 9) (MUL o %d))))))\n"
        "i = (LOAD (INDEX b2 (WHERE g (ADD (ADD xv (ADD (MUL yu 16) (MUL c 64))) -17) (INVALID<idx>))))\n"
        "s = (REDUCE[ADD] (MUL (CAST<f32> w) (WHERE g (CAST<f32> i) 0.0)) c u v)\n"
        "(SINK (STORE (INDEX b0 (ADD x (ADD (MUL y 16) (MUL o 64)))) s))\n",
        64 * channels * 9, 64 * channels, channels, channels * 9);
}

struct cooperative {
    int channels;
    const char *opts;
    struct err err;
    struct arena arena;
    struct ir ir;
    struct linear lin;
};

static void lower_cooperative(void *arg) {
    struct cooperative *h = arg;
    struct program p = {0};
    struct str s;
    ir_init(&h->ir, &h->arena);
    str_init(&s, &h->arena);
    small(&s, h->channels);
    ir_parse(&h->ir, s.p, s.n, "small.uop", &p);
    lower(&h->ir, &p.kernel.p[0],
          &(struct lower_opts){.opts = h->opts, .target = {.kind = TARGET_GPU, .keep_math = true}}, &h->lin);
}

static uint16_t to_bf16(int x) {
    float f = (float)x;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return (uint16_t)(bits >> 16);
}

/* A program of a block that walks over four rows, a warpgroup turns tiles, two multiply: against plain loops; and without any
 * one statement by which they tell each other the interpreter refuses the program, or says that it waits without an end. Returns
 * how many of these there are. */
static uint32_t check_cooperative(struct cooperative *h) {
    static const enum op op[] = {OP_MBAR_INIT, OP_MBAR_ARRIVE, OP_MBAR_WAIT, OP_WGMMA_WAIT};
    enum { MOST_CHANNELS = 256 };
    static int sum[MOST];
    static uint16_t w[64 * 9 * MOST_CHANNELS], img[64 * MOST_CHANNELS];
    static float out[4096];
    struct sizes d = {1, h->channels, 64, 4, 16, 3, RG_BF16};
    size_t nw = 64 * 9 * (size_t)h->channels, ni = 64 * (size_t)h->channels;
    struct ref_buf bufs[] = {{.p = out, .bytes = sizeof out},
                             {.p = w, .bytes = nw * sizeof *w},
                             {.p = img, .bytes = ni * sizeof *img}};
    CHECK(h->channels <= MOST_CHANNELS);
    for (size_t i = 0; i < nw; i++) w[i] = to_bf16(weight[i] = (int)(i * 7 % 5) - 2);
    for (size_t i = 0; i < ni; i++) img[i] = to_bf16(image[i] = (int)(i * 11 % 7) - 3);
    arena_init(&h->arena, &h->err);
    if (err_guard(&h->err, lower_cooperative, h)) FAIL("%s", h->err.msg);
    if (ref_linear(&h->err, &h->lin, bufs, 3, NULL, 0, h->lin.grid)) FAIL("%s: %s", h->opts, h->err.msg);
    loops(&d, forward, sum);
    for (int i = 0; i < 4096; i++)
        if (out[i] != (float)sum[i]) FAIL("%s: number %d is %g, not %d", h->opts, i, out[i], sum[i]);
    uint32_t found = 0;
    for (uint32_t i = 0; i < h->lin.n; i++) {
        bool one = false;
        for (size_t k = 0; k < RG_COUNT(op); k++) one |= h->lin.u[i]->op == op[k];
        if (!one) continue;
        struct linear less = linear_without(&h->arena, &h->lin, i);
        if (ref_linear(&h->err, &less, bufs, 3, NULL, 0, h->lin.grid) != RG_EVERIFY)
            FAIL("%s: entry %u, %s: not missed", h->opts, i, op_info[h->lin.u[i]->op].name);
        err_clear(&h->err);
        found++;
    }
    arena_free(&h->arena);
    return found;
}

#define TURNED "TILE(b2.x,8,b2_p) UNROLL(b2_p) "

TEST(conv_16bit_cooperative_copy) {
    struct cooperative h = {.channels = 64,
                            .opts =
                                "TC(o,x,c,WRBF16_16) STAGE(b2,y,u,x+v,c) TILE(b2.c,8,b2_v) VEC(b2_v) "
                                "TILE(b2.c,2,b2_w) " TURNED "PIPE(b2,y,2) WARP_SPECIALIZE(2) PERSISTENT(1)"};
    CHECK(check_cooperative(&h) >= 9);
}

/* Input channels in several iterations, as many as the pipeline has stages or more: the consumer that is next must not pass its first
 * wait on the parity of an older phase (256 -> 256 channels on 32 x 32: a trap of the mbarrier's wait on a GPU). */
TEST_SLOW(conv_16bit_ping_pong, 60) {
    static const struct cooperative job[] = {
        {.channels = 128, .opts = "PIPE(b2,c,2) WARP_SPECIALIZE(2) PERSISTENT(1)"},
        {.channels = 256, .opts = "PIPE(b2,c,3) WARP_SPECIALIZE(2) PERSISTENT(1)"},
        {.channels = 256, .opts = "PIPE(b2,c,2) WARP_SPECIALIZE(2) PERSISTENT(2)"},
        {.channels = 256, .opts = "PIPE(b2,c,4) WARP_SPECIALIZE(2) PERSISTENT(1)"},
        {.channels = 192, .opts = "PIPE(b2,c,2) WARP_SPECIALIZE(2) PERSISTENT(1)"},
        {.channels = 128, .opts = "PIPE(b2,c,3) WARP_SPECIALIZE(2) PERSISTENT(1)"},
    };
    for (size_t i = 0; i < RG_COUNT(job); i++) {
        struct cooperative h = job[i];
        char opts[256];
        snprintf(
            opts, sizeof opts,
            "TILE(c,64,c_t) TC(o,x,c_t,WRBF16_16) STAGE(b2,c,u,x+v,c_t) TILE(b2.c_t,8,b2_v) VEC(b2_v) " TURNED
            "%s",
            job[i].opts);
        h.opts = opts;
        CHECK(check_cooperative(&h) >= 9);
    }
}

/* Without warp specialization the wgmmas of one tap are not waited for before the weights of the next are loaded. */
TEST(conv_16bit_pipeline_needs_ws) {
    struct cooperative h = {.channels = 128,
                            .opts = "TILE(c,64,c_t) TC(o,x,c_t,WRBF16_16) STAGE(b2,c,u,x+v,c_t) "
                                    "TILE(b2.c_t,8,b2_v) VEC(b2_v) PIPE(b2,c,2)"};
    arena_init(&h.arena, &h.err);
    CHECK(err_guard(&h.err, lower_cooperative, &h));
    if (!strstr(h.err.msg, "PIPE(b2,c,2): wgmma is in a nested loop")) FAIL("%s", h.err.msg);
    arena_free(&h.arena);
}

/* ---- on a GPU --------------------------------------------------------------------------------------------------- */

static int digit(size_t i) { return (int)((i * 2654435761u >> 13) % 3) - 1; }

static rg_tensor upload_16bit(rg_ctx *c, const int *x, rg_dtype dt, rg_ints shape, size_t n) {
    static float f[MOST];
    for (size_t i = 0; i < n; i++) f[i] = (float)x[i];
    return rg_cast(rg_from(c, RG_F32, f, shape), dt);
}

static void check(const char *what, const struct sizes *d, const int *sum, const float *out, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (sum[i] > 256 || sum[i] < -256) continue; /* rounded */
        if (out[i] != (float)sum[i])
            FAIL("%s, %lld channels, %lld pixels: number %zu is %g, not %d", what, (long long)d->in,
                 (long long)d->wide, i, out[i], sum[i]);
    }
}

static void on_gpu(const struct sizes *d) {
    static const struct {
        const char *name;
        row_fn *row;
    } part[3] = {{"forward", forward}, {"images", to_images}, {"weights", to_weights}};
    static float out[MOST];
    static int sum[MOST];
    rg_ctx *c = rg_open("CUDA");
    if (rg_status_of(c)) NO_CUDA(rg_error(c));
    rg_tensor wrt[2], grad[2], seed;
    int64_t px = d->high * d->wide;
    size_t n[3] = {(size_t)(d->b * d->out * px), (size_t)(d->b * d->in * px),
                   (size_t)(d->out * d->in * d->taps * d->taps)};
    CHECK(n[0] <= MOST && n[1] <= MOST && n[2] <= MOST);
    for (size_t i = 0; i < MOST; i++)
        image[i] = digit(i), weight[i] = digit(i + 99), back[i] = digit(i + 7777);
    wrt[0] = upload_16bit(c, image, d->dt, RG_SHAPE(d->b, d->in, d->high, d->wide), n[1]);
    wrt[1] = upload_16bit(c, weight, d->dt, RG_SHAPE(d->out, d->in, d->taps, d->taps), n[2]);
    seed = upload_16bit(c, back, d->dt, RG_SHAPE(d->b, d->out, d->high, d->wide), n[0]);
    rg_realize_all(RG_TENSORS(wrt[0], wrt[1], seed));
    rg_tensor y = rg_conv2d(wrt[0], wrt[1], .padding = RG_INTS(d->taps / 2));
    rg_grad(y, RG_ARRAY(wrt, 2), grad, .seed = seed);
    for (int i = 0; i < 3; i++) {
        rg_tensor f = rg_cast(i ? grad[i - 1] : y, RG_F32);
        if (rg_read(f, out, n[i] * sizeof *out)) FAIL("%s: %s", part[i].name, rg_error(c));
        loops(d, part[i].row, sum);
        check(part[i].name, d, sum, out, n[i]);
    }
    CHECK_EQ(rg_close(c), 0);
}

/* Forward and both gradients of small integers, exact in every order, against plain loops. */
TEST_MANUAL(cuda_gpu_conv_16bit, 120) {
    static const struct sizes d[] = {
        {3, 64, 64, 8, 56, 3, RG_BF16},  {3, 64, 64, 8, 56, 3, RG_F16},   {1, 128, 128, 8, 56, 3, RG_BF16},
        {1, 64, 64, 14, 32, 5, RG_BF16}, {5, 64, 64, 16, 16, 3, RG_BF16}, {2, 64, 64, 7, 112, 3, RG_BF16},
        {3, 64, 64, 28, 28, 3, RG_BF16}, {3, 128, 64, 14, 14, 3, RG_F16}, {4, 64, 64, 28, 30, 5, RG_BF16},
    };
    for (size_t i = 0; i < RG_COUNT(d); i++) on_gpu(&d[i]);
    TEST_COUNT((int)RG_COUNT(d), "16-bit convolutions with their gradients");
}
