/* Tests of block programs for convolutions and their gradients by FMAs (src/tune/choose/gpu_conv.c), of fp32 and of bf16
 * that do not suit MMA instructions: the list that is chosen for a
 * large batch, run by the interpreter on a small one, against plain loops written here; exact, because the numbers are small
 * integers. NVRTC keeps all of it in registers. */
#include "tune/tune.h"
#include "cuda.h"
#include "engine/internal.h"
#include "ref/ref.h"

/* out(b, o, y, x) = sum over i, p, q of w(o, i, p, q) * img(b, i, y*by + p - pad, x*by + q - pad), its gradient for the images
 * (BACK: a convolution of the gradient with the taps flipped) or for the weights, which sums over b, y, x. */
enum form { FORWARD, BACK, WEIGHTS };
struct conv {
    enum form form;
    int out, in, high, wide, ky, kx, pad,
        by;       /* channels; output positions; of BACK: of the gradient that is read */
    int b, parts; /* images; WEIGHTS: blocks of them with a sum each */
    bool half;    /* images and weights are bfloat16 */
    const char *opts;
    struct err err;
    struct arena arena;
    struct ir ir;
    struct linear lin;
    struct program prog;
};

static int rows_of(const struct conv *c) {
    return c->form == BACK ? c->high : (c->high - 1) * c->by + c->ky - 2 * c->pad;
}
static int columns_of(const struct conv *c) {
    return c->form == BACK ? c->wide : (c->wide - 1) * c->by + c->kx - 2 * c->pad;
}
/* Places of the result of BACK: those of the images. */
static int back_of(int n, int taps, int pad) { return n + taps - 1 - 2 * pad; }

static void ranges(const struct conv *c, struct str *s) {
    bool w = c->form == WEIGHTS;
    int high = c->form == BACK ? back_of(c->high, c->ky, c->pad) : c->high,
        wide = c->form == BACK ? back_of(c->wide, c->kx, c->pad) : c->wide;
    const char *grid = w ? "REDUCE" : "GRID", *sum = w ? "GRID" : "REDUCE";
    str_printf(s, "o = (RANGE[o GRID 1] %d)\ni = (RANGE[i %s %d] %d)\n", c->out, sum, w ? 2 : 4, c->in);
    str_printf(s, "p = (RANGE[p %s %d] %d)\nq = (RANGE[q %s %d] %d)\n", sum, w ? 3 : 5, c->ky, sum, w ? 4 : 6,
               c->kx);
    str_printf(s, "y = (RANGE[y %s %d] %d)\nx = (RANGE[x %s %d] %d)\n", grid, w ? 6 : 2, high, grid,
               w ? 7 : 3, wide);
    str_printf(s, "b = (RANGE[b %s %d] %d)\n", grid, w ? 5 : 0, w ? c->b / c->parts : c->b);
    if (w) str_printf(s, "s = (RANGE[s GRID 0] %d)\n", c->parts);
}

static int out_high(const struct conv *c) {
    return c->form == BACK ? back_of(c->high, c->ky, c->pad) : c->high;
}
static int out_wide(const struct conv *c) {
    return c->form == BACK ? back_of(c->wide, c->kx, c->pad) : c->wide;
}

/* img, w and, of WEIGHTS, the gradient in place of w; out. */
static void sizes(const struct conv *c, size_t n[3]) {
    n[0] = (size_t)c->b * (size_t)c->in * (size_t)(rows_of(c) * columns_of(c));
    n[1] = c->form == WEIGHTS ? (size_t)c->b * (size_t)c->out * (size_t)(c->high * c->wide)
                              : (size_t)c->out * (size_t)c->in * (size_t)(c->ky * c->kx);
    n[2] = c->form == WEIGHTS ? (size_t)c->parts * (size_t)c->out * (size_t)c->in * (size_t)(c->ky * c->kx)
                              : (size_t)c->b * (size_t)c->out * (size_t)(out_high(c) * out_wide(c));
}

static void text(const struct conv *c, struct str *s) {
    size_t n[3];
    int rows = rows_of(c), columns = columns_of(c), taps = c->ky * c->kx;
    const char *type = c->half ? "bf16" : "f32", *cast = c->half ? "(CAST<f32> (LOAD" : "(LOAD",
               *end = c->half ? "))" : ")";
    sizes(c, n);
    str_printf(s,
               "kernel conv\nimg = (PARAM<%s>[0 img] %zu)\nw = (PARAM<%s>[1 w] %zu)\nout = "
               "(PARAM<f32>[2 out] %zu)\n",
               type, n[0], type, n[1], n[2]);
    ranges(c, s);
    const char *image =
        c->form == WEIGHTS ? arena_printf(s->arena, "(ADD (MUL s %d) b)", c->b / c->parts) : "b";
    if (c->form == BACK)
        str_printf(s, "r = (SUB (ADD y %d) p)\nc = (SUB (ADD x %d) q)\n", c->pad, c->pad);
    else
        str_printf(s, "r = (SUB (ADD (MUL y %d) p) %d)\nc = (SUB (ADD (MUL x %d) q) %d)\n", c->by, c->pad,
                   c->by, c->pad);
    str_printf(s, "at = (ADD (MUL (ADD (MUL (ADD (MUL %s %d) i) %d) r) %d) c)\n", image, c->in, rows,
               columns);
    bool pred = c->form == BACK || c->pad;
    if (pred)
        str_printf(s,
                   "g = (AND (AND (LE 0 r) (LT r %d)) (AND (LE 0 c) (LT c %d)))\n"
                   "v = (WHERE g %s (INDEX img (WHERE g at (INVALID<idx>)))%s 0.0)\n",
                   rows, columns, cast, end);
    else
        str_printf(s, "v = %s (INDEX img at)%s\n", cast, end);
    if (c->form == WEIGHTS)
        str_printf(s,
                   "u = %s (INDEX w (ADD (MUL (ADD (MUL (ADD (MUL %s %d) o) %d) y) %d) x))%s\n"
                   "(SINK (STORE (INDEX out (ADD (MUL (ADD (MUL (ADD (MUL (ADD (MUL s %d) p) %d) q) %d) o) "
                   "%d) i)) (REDUCE[ADD] (MUL v u) b y x)))\n",
                   cast, image, c->out, c->high, c->wide, end, c->ky, c->kx, c->out, c->in);
    else
        str_printf(s,
                   "u = %s (INDEX w (ADD (MUL (ADD (MUL o %d) i) %d) (ADD (MUL p %d) q)))%s\n"
                   "(SINK (STORE (INDEX out (ADD (MUL (ADD (MUL (ADD (MUL b %d) o) %d) y) %d) x)) "
                   "(REDUCE[ADD] (MUL v u) i p q)))\n",
                   cast, c->in, taps, c->kx, end, c->out, out_high(c), out_wide(c));
}

static void parse(void *p) {
    struct conv *c = p;
    struct str s;
    ir_init(&c->ir, &c->arena);
    str_init(&s, &c->arena);
    text(c, &s);
    ir_parse(&c->ir, s.p, s.n, "conv.uop", &c->prog);
    if (!c->opts) return;
    struct lower_opts o = {.opts = c->opts, .target = {.kind = TARGET_GPU, .keep_math = true}};
    lower(&c->ir, &c->prog.kernel.p[0], &o, &c->lin);
}

/* ---- plain loops --------------------------------------------------------------------------------------------- */

static int small(size_t i) { return (int)(i * 2654435761u >> 13 & 7) - 3; }

static int pixel(const struct conv *c, int b, int i, int r, int col) {
    if (r < 0 || col < 0 || r >= rows_of(c) || col >= columns_of(c)) return 0;
    return small(((size_t)(b * c->in + i) * (size_t)rows_of(c) + (size_t)r) * (size_t)columns_of(c) +
                 (size_t)col);
}

static int input_of(const struct conv *c, int at, int tap) {
    return c->form == BACK ? at + c->pad - tap : at * c->by + tap - c->pad;
}

static float expected(const struct conv *c, size_t at) {
    int sum = 0;
    if (c->form == WEIGHTS) {
        int i = (int)(at % (size_t)c->in), o = (int)(at / (size_t)c->in % (size_t)c->out);
        size_t rest = at / (size_t)(c->in * c->out);
        int q = (int)(rest % (size_t)c->kx), p = (int)(rest / (size_t)c->kx % (size_t)c->ky),
            s = (int)(rest / (size_t)(c->kx * c->ky)), each = c->b / c->parts;
        for (int b = s * each; b < (s + 1) * each; b++)
            for (int y = 0; y < c->high; y++)
                for (int x = 0; x < c->wide; x++)
                    sum += pixel(c, b, i, input_of(c, y, p), input_of(c, x, q)) *
                           small((size_t)(((b * c->out + o) * c->high + y) * c->wide + x) + 12345);
        return (float)sum;
    }
    int x = (int)(at % (size_t)out_wide(c)), y = (int)(at / (size_t)out_wide(c) % (size_t)out_high(c));
    size_t rest = at / (size_t)(out_wide(c) * out_high(c));
    int o = (int)(rest % (size_t)c->out), b = (int)(rest / (size_t)c->out);
    for (int i = 0; i < c->in; i++)
        for (int p = 0; p < c->ky; p++)
            for (int q = 0; q < c->kx; q++)
                sum += pixel(c, b, i, input_of(c, y, p), input_of(c, x, q)) *
                       small((size_t)(((o * c->in + i) * c->ky + p) * c->kx + q) + 12345);
    return (float)sum;
}

/* Small integers, which bfloat16 has too: its bits are the upper half of a float's. */
static void fill(void *to, bool half, size_t n, size_t from) {
    for (size_t i = 0; i < n; i++) {
        float f = (float)small(i + from);
        uint32_t bits;
        memcpy(&bits, &f, sizeof bits);
        if (half)
            ((uint16_t *)to)[i] = (uint16_t)(bits >> 16);
        else
            ((float *)to)[i] = f;
    }
}

static void check_conv(struct conv *c) {
    size_t n[3], bytes = c->half ? 2 : 4;
    float *buf[3];
    arena_init(&c->arena, &c->err);
    if (err_guard(&c->err, parse, c)) FAIL("%s\n%s", c->opts, c->err.msg);
    sizes(c, n);
    for (int i = 0; i < 3; i++) buf[i] = arena_array(&c->arena, float, n[i]);
    for (int k = 0; k < 2; k++) fill(buf[k], c->half, n[k], k ? 12345 : 0);
    struct ref_buf bufs[3] = {{.p = buf[0], .bytes = n[0] * bytes, .name = "img"},
                              {.p = buf[1], .bytes = n[1] * bytes, .name = "w"},
                              {.p = buf[2], .bytes = n[2] * 4, .name = "out"}};
    if (ref_linear(&c->err, &c->lin, bufs, 3, NULL, 0, c->lin.grid)) FAIL("%s\n%s", c->opts, c->err.msg);
    for (size_t i = 0; i < n[2]; i++)
        if (buf[2][i] != expected(c, i))
            FAIL("%s\nelement %zu is %g, not %g", c->opts, i, buf[2][i], expected(c, i));
    arena_free(&c->arena);
}

/* ---- lists that are chosen ------------------------------------------------------------------------------------- */

#define CONV(f, to, from, size, taps, padding, step, images, blocks, bf16)                    \
    {                                                                                         \
        .form = f, .out = to, .in = from, .high = size, .wide = size, .ky = taps, .kx = taps, \
        .pad = padding, .by = step, .b = images, .parts = blocks, .half = bf16                \
    }

/* Large sizes; few: images and half the summed channels (0: all; or blocks of images) of the small run. */
static const struct {
    struct conv large;
    int b, few;
} known[] = {
    {CONV(FORWARD, 32, 32, 20, 5, 0, 1, 512, 0, false), 8, 4},
    {CONV(FORWARD, 64, 64, 6, 3, 0, 1, 512, 0, false), 8, 8},
    {CONV(FORWARD, 64, 64, 24, 3, 1, 1, 64, 0, false), 8, 4},
    {CONV(FORWARD, 32, 32, 14, 3, 0, 2, 512, 0, false), 8, 4},
    {CONV(FORWARD, 32, 3, 16, 3, 1, 1, 512, 0, false), 8, 0},
    {CONV(FORWARD, 32, 2, 24, 5, 0, 1, 512, 0, false), 8, 0},
    {CONV(BACK, 32, 32, 20, 5, 0, 1, 512, 0, false), 8, 4},
    {CONV(BACK, 32, 64, 8, 3, 0, 1, 512, 0, false), 8, 8},
    {CONV(WEIGHTS, 32, 32, 20, 5, 0, 1, 512, 128, false), 2, 1},
    {CONV(WEIGHTS, 64, 32, 8, 3, 0, 1, 512, 256, false), 2, 1},
    {CONV(WEIGHTS, 64, 64, 14, 3, 1, 1, 512, 128, false), 2, 1},
    {CONV(FORWARD, 128, 64, 14, 3, 0, 2, 64, 0, true), 1, 4}, /* in steps of two */
    {CONV(FORWARD, 48, 48, 28, 3, 1, 1, 64, 0, true), 8, 3},
    {CONV(WEIGHTS, 64, 64, 28, 3, 1, 1, 64, 16, true), 2, 1},
};
#undef CONV

static char list[RG_COUNT(known)][2048];

static struct conv small_one(size_t i) {
    struct conv large = known[i].large, c = large;
    arena_init(&large.arena, &large.err);
    if (err_guard(&large.err, parse, &large)) FAIL("%s", large.err.msg);
    snprintf(list[i], sizeof list[i], "%s",
             opts_heuristic_gpu(&large.ir, &large.prog.kernel.p[0], GPU_OF_CC(90)));
    arena_free(&large.arena);
    c.opts = list[i], c.b = known[i].b;
    if (c.form == WEIGHTS)
        c.parts = known[i].few;
    else if (known[i].few)
        c.in = known[i].few * 2;
    return c;
}

static const char *asked_of(const char *opt, const char *buffer) {
    static char text[2][32], turn;
    turn ^= 1;
    snprintf(text[(int)turn], sizeof text[0], "%s%s,", opt, buffer);
    return text[(int)turn];
}

TEST_SLOW(block_convolutions, 300) {
    for (size_t i = 0; i < RG_COUNT(known); i++) {
        struct conv c = small_one(i);
        const char *mark = known[i].few && !c.half ? "PIPE(" : "STAGE(";
        if (!strstr(c.opts, "THREAD(") || !strstr(c.opts, asked_of(mark, "img")) ||
            !strstr(c.opts, asked_of(mark, "w")))
            FAIL("%zu: %s", i, c.opts);
        check_conv(&c);
    }
    TEST_COUNT((int)RG_COUNT(known), "convolutions and gradients as block programs");
}

/* Little work is left to single threads. */
TEST(block_small_convolutions) {
    struct conv c = {
        .form = FORWARD, .out = 8, .in = 4, .high = 8, .wide = 8, .ky = 3, .kx = 3, .by = 1, .b = 2};
    arena_init(&c.arena, &c.err);
    if (err_guard(&c.err, parse, &c)) FAIL("%s", c.err.msg);
    CHECK(!strstr(opts_heuristic_gpu(&c.ir, &c.prog.kernel.p[0], GPU_OF_CC(90)), "THREAD("));
    arena_free(&c.arena);
}

/* The large ones, as they would run: everything in registers. */
TEST_SLOW(cuda_compile_convolutions, 300) {
    struct arena arena;
    struct err err = {0};
    arena_init(&arena, &err);
    cuda_need_nvrtc(&arena);
    struct cuda_texts t = {.arena = &arena, .whole = RG_COUNT(known)};
    static struct conv c[RG_COUNT(known)];
    for (size_t i = 0; i < RG_COUNT(known); i++) {
        small_one(i); /* for the list */
        c[i] = known[i].large;
        c[i].opts = list[i];
        arena_init(&c[i].arena, &c[i].err);
        if (err_guard(&c[i].err, parse, &c[i])) FAIL("%s", c[i].err.msg);
        cuda_render(&t, &c[i].lin, false);
    }
    TEST_COUNT(cuda_compile_texts(&t), "convolutions and gradients compiled by NVRTC");
    for (size_t i = 0; i < RG_COUNT(known); i++) arena_free(&c[i].arena);
    arena_free(&arena);
}
