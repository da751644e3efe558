/* Tests of convolutions of halves on a GPU with matrix instructions of groups of warps (src/codegen/heur_gpu_conv.c, by_groups;
 * src/schedule/repack.c, weights): planned, lowered and run by the interpreter of block programs, against the oracle; on a GPU
 * against the same. */
#include "codegen/codegen.h"
#include "planned.h"
#include "test.h"

#include <ridge.h>

#include <stdlib.h>
#include <string.h>

struct conv {
    const char *dt;
    int b, in, out, high, wide, taps, pad;
    bool planned; /* and not run */
    bool back;    /* the gradient of the images */
    /* result */
    struct err err;
    struct arena arena;
    struct ir ir;
    struct sched_opts opts;
    struct planned_run run;
    struct str why;
    bool ok;
};

static const struct model *h200(void) {
    static struct model m;
    model_guess_gpu(&m, &(struct model_gpu){"NVIDIA H200", 132, 1.98, 4917, 60 << 20, 227 << 10});
    return &m;
}

/* As src/tensor/conv.c writes it: windows of padded images times weights, added over channels and taps. */
static void text(const struct conv *c, struct str *s) {
    int h = c->high + 2 * c->pad, w = c->wide + 2 * c->pad, t = c->taps, oh = h - t + 1, ow = w - t + 1;
    str_printf(s, "kernel g\nx = (CAST<f32> (BUFFER<%s>[0] %d %d %d %d))\n", c->dt, c->b, c->in, c->high,
               c->wide);
    if (c->pad)
        str_printf(s, "p = (PAD x 0.0 0 0 0 0 0 0 %d %d 0 %d %d 0)\n", c->pad, c->pad, c->pad, c->pad);
    str_printf(s, "e = (EXPAND (RESHAPE %s %d 1 %d %d %d 1 1) %d 1 %d %d %d %d %d)\n", c->pad ? "p" : "x",
               c->b, c->in, h, w, c->b, c->in, h, w, t, t);
    str_printf(s, "a = (EXPAND (TAP e %d 1 1 %d 1 1) %d %d %d %d %d %d %d)\n", oh, ow, c->b, c->out, c->in,
               oh, ow, t, t);
    str_printf(s, "v = (CAST<f32> (BUFFER<%s>[1] %d %d %d %d))\n", c->dt, c->out, c->in, t, t);
    str_printf(s, "w = (EXPAND (RESHAPE v 1 %d %d 1 1 %d %d) %d %d %d %d %d %d %d)\n", c->out, c->in, t, t,
               c->b, c->out, c->in, oh, ow, t, t);
    str_printf(s, "(GRAPH (CAST<%s> (RESHAPE (REDUCE_AXES[ADD] (MUL a w) 2 5 6) %d %d %d %d)))\n", c->dt,
               c->b, c->out, oh, ow);
}

/* The gradient of its images: what comes back is spread over the places that it came from, the border cut off. */
static void text_back(const struct conv *c, struct str *s) {
    int t = c->taps, h = c->high + t - 1, w = c->wide + t - 1, p = t / 2;
    str_printf(s, "kernel g\nx = (CAST<f32> (BUFFER<%s>[0] %d %d %d %d))\n", c->dt, c->b, c->in, c->high,
               c->wide);
    str_printf(s, "e = (EXPAND (RESHAPE x %d 1 %d %d %d 1 1) %d 1 %d %d %d %d %d)\n", c->b, c->in, c->high,
               c->wide, c->b, c->in, c->high, c->wide, t, t);
    str_printf(s, "a = (EXPAND (SPREAD e %d 1 1 %d 1 1) %d %d %d %d %d %d %d)\n", h, w, c->b, c->out, c->in,
               h, w, t, t);
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
    (c->back ? text_back : text)(c, &s);
    ir_parse(&c->ir, s.p, s.n, "conv.uop", &p);
    c->opts = (struct sched_opts){.model = h200(), .gpu = true, .capability = 90};
    c->run = (struct planned_run){
        .arena = &c->arena, .ir = &c->ir, .opts = &c->opts, .graph = p.kernel.p[0].sink, .from = OPTS_GPU};
    c->ok = c->planned;
    if (!c->planned) c->run.data = graph_fill(&c->arena, &c->ir, c->run.graph, 1, true);
    planned_plan(&c->run);
    if (c->planned) return;
    planned_memory(&c->run);
    planned_interpret(&c->run);
    c->ok = planned_check(&c->run, &c->why, NULL, NULL);
}

/* Matrix instructions in the program, and loads from memory: all, and those of 16 bytes. */
static void count(const struct conv *c, uint32_t *mma, uint32_t *loads, uint32_t *wide) {
    *mma = *loads = *wide = 0;
    for (uint32_t p = 0; p < c->run.sched.prog.n; p++) {
        const struct linear *l = &c->run.lin[p];
        bool group = false;
        for (uint32_t i = 0; i < l->n; i++) group |= l->u[i]->op == OP_MMA;
        for (uint32_t i = 0; i < l->n && group; i++) {
            const uop *n = l->u[i];
            *mma += n->op == OP_MMA;
            if ((n->op != OP_LOAD && n->op != OP_GLOAD) || n->src[0]->src[0]->op != OP_PARAM) continue;
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
    {{.dt = "bf16", .b = 1, .in = 128, .out = 128, .high = 6, .wide = 56, .taps = 3, .pad = 1}, true},
    {{.dt = "bf16", .b = 1, .in = 64, .out = 64, .high = 14, .wide = 32, .taps = 5, .pad = 2}, true},
    {{.dt = "bf16", .b = 2, .in = 64, .out = 128, .high = 28, .wide = 16, .taps = 3, .pad = 1}, true},
    {{.dt = "bf16", .b = 2, .in = 64, .out = 64, .high = 7, .wide = 112, .taps = 3, .pad = 1}, true},
    {{.dt = "bf16", .b = 3, .in = 64, .out = 64, .high = 8, .wide = 56, .taps = 3, .pad = 1, .back = true},
     true},
    {{.dt = "bf16", .b = 2, .in = 64, .out = 64, .high = 10, .wide = 66, .taps = 3}, false}, /* no border */
};

TEST_SLOW(conv_halves_planned, 300) {
    for (size_t i = 0; i < RG_COUNT(known); i++) {
        struct conv c = known[i].c;
        uint32_t mma, loads, wide;
        arena_init(&c.arena, &c.err);
        if (err_guard(&c.err, plan, &c)) FAIL("%zu: %s", i, c.err.msg);
        if (!c.ok) FAIL("%zu: %s", i, c.why.p);
        count(&c, &mma, &loads, &wide);
        CHECK_EQ(c.run.sched.call.n, 2); /* the weights' copy */
        if (!mma) FAIL("%zu: no matrix instructions", i);
        if (known[i].pieces && wide != loads) FAIL("%zu: %u of %u loads have 16 bytes", i, wide, loads);
        arena_free(&c.arena);
    }
    TEST_COUNT((int)RG_COUNT(known), "convolutions of halves");
}

/* Channels that are no whole tiles: nothing is copied. */
TEST(conv_halves_others) {
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
        if (c.run.sched.call.n != 1) FAIL("%zu: %u calls", i, c.run.sched.call.n);
        arena_free(&c.arena);
    }
}

/* Forward and both gradients of small integers, which are exact in every order, on the GPU and on the oracle. */
static void on_device(const char *device, rg_dtype dt, const int64_t *d, float *out, size_t n) {
    rg_ctx *c = rg_open(device);
    rg_tensor wrt[2], grad[2];
    size_t nx = (size_t)(d[0] * d[1] * d[3] * d[4]), nw = (size_t)(d[2] * d[1] * d[5] * d[5]);
    float *x = calloc(nx + nw + (size_t)(d[0] * d[2] * d[3] * d[4]), sizeof *x);
    for (size_t i = 0; i < nx + nw + (size_t)(d[0] * d[2] * d[3] * d[4]); i++)
        x[i] = (float)((int)(i * 2654435761u >> 13 & 3) - 1);
    wrt[0] = rg_cast(rg_from(c, RG_F32, x, RG_SHAPE(d[0], d[1], d[3], d[4])), dt);
    wrt[1] = rg_cast(rg_from(c, RG_F32, x + nx, RG_SHAPE(d[2], d[1], d[5], d[5])), dt);
    rg_tensor seed = rg_cast(rg_from(c, RG_F32, x + nx + nw, RG_SHAPE(d[0], d[2], d[3], d[4])), dt);
    rg_realize_all(RG_TENSORS(wrt[0], wrt[1], seed));
    rg_tensor y = rg_conv2d(wrt[0], wrt[1], .padding = RG_INTS(d[5] / 2));
    rg_grad(y, RG_ARRAY(wrt, 2), grad, .seed = seed);
    rg_tensor all[3] = {y, grad[0], grad[1]};
    for (int i = 0; i < 3; i++) {
        rg_tensor f = rg_cast(all[i], RG_F32);
        size_t some = i == 0 ? (size_t)(d[0] * d[2] * d[3] * d[4]) : i == 1 ? nx : nw;
        if (some > n || rg_read(f, out, some * sizeof *out)) FAIL("%s: %s", device, rg_error(c));
        out += some, n -= some;
    }
    free(x);
    CHECK_EQ(rg_close(c), 0);
}

TEST_MANUAL(cuda_gpu_conv_halves, 120) {
    enum { MOST = 1 << 20 };
    static float ours[MOST], oracle[MOST];
    /* images, channels, results, rows, places, taps */
    static const int64_t size[][6] = {{3, 64, 64, 8, 56, 3},
                                      {1, 128, 128, 8, 56, 3},
                                      {2, 64, 64, 14, 32, 5},
                                      {4, 64, 64, 16, 16, 3},
                                      {1, 64, 128, 7, 112, 3}};
    for (size_t i = 0; i < 2 * RG_COUNT(size); i++) {
        memset(ours, 0, sizeof ours), memset(oracle, 0, sizeof oracle);
        on_device("CUDA", i % 2 ? RG_F16 : RG_BF16, size[i / 2], ours, MOST);
        on_device("REF", i % 2 ? RG_F16 : RG_BF16, size[i / 2], oracle, MOST);
        for (int k = 0; k < MOST; k++)
            if (ours[k] != oracle[k]) FAIL("%zu: number %d is %g, not %g", i, k, ours[k], oracle[k]);
    }
}
