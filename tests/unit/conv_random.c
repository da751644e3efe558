/* Tests of random convolutions with their gradients, as a GPU runs them: channels, image sizes, batches, taps, strides, dilations, padding,
 * types, what is done to the operands (relu, nearest upsampling) and to the result (bias, residual). Operands are small integers, so
 * that sums are exact and are compared with plain loops; of large results a sample.
 *
 *   1. Planned as for an H200 and run by the interpreter, which finds races and waits that do not end. Blocks that stay are few, so
 *      that each walks over several tiles.
 *   2. On a GPU.
 *
 * SEEDS sets how many are drawn, SEED the first. */
#include "cuda.h"
#include "engine/internal.h"
#include "irtest.h"
#include "planned.h"
#include "tensor/tensor.h"

enum { IMAGES, WEIGHTS, BACK, BIAS, MORE, BUFS }; /* BACK: the gradient of the results */
enum { MOST_ELEMENTS = 1 << 24 };                 /* of a tensor */
#define MOST_LOOPS 6e7                            /* FMAs of plain loops */
enum part { FORWARD, TO_IMAGES, TO_WEIGHTS, PARTS };
static const char *const part_name[] = {"forward", "gradient of the images", "gradient of the weights"};

struct conv {
    int64_t n, in, out, high, wide, taps, stride, dilation, pad;
    enum dtype dt;
    bool relu; /* of the images and of what comes back */
    bool up;   /* the images are half as high and wide in memory */
    bool more; /* a bias and a residual are added to the results */
    enum part part;
    uint32_t blocks;
    /* made of it */
    int64_t oh, ow;
    struct err err;
    struct arena arena;
    struct ir ir;
    struct sched_opts opts;
    struct planned_run run;
    int *v[BUFS]; /* operands of the convolution */
    size_t size[BUFS];
};

/* ---- drawing --------------------------------------------------------------------------------------------------- */

static int64_t out_size(const struct conv *c, int64_t n) {
    int64_t covers = (c->taps - 1) * c->dilation + 1;
    return n + 2 * c->pad < covers ? 0 : (n + 2 * c->pad - covers) / c->stride + 1;
}

static double work_of(const struct conv *c) {
    return (double)(c->n * c->in * c->out * c->oh * c->ow * c->taps * c->taps);
}

#define PICK(r, list) list[rnd_below(r, RG_COUNT(list))]

/* What wgmma takes: a tile of output positions of one row, whole panels of channels. */
static void draw_tensor(struct conv *c, struct rnd *r) {
    static const int64_t channels[] = {64, 64, 64, 64, 128, 64, 64, 192, 64, 64, 320};
    static const int64_t wide[] = {8, 16, 16, 24, 32, 32, 40, 48, 56, 64, 112, 14, 28}, taps[] = {3, 3, 3, 5};
    static const enum dtype dt[] = {DT_BF16, DT_BF16, DT_F16};
    c->in = PICK(r, channels), c->out = PICK(r, channels);
    c->high = rnd_range(r, 2, 40), c->wide = PICK(r, wide), c->taps = PICK(r, taps);
    c->stride = c->dilation = 1, c->pad = c->taps / 2, c->dt = PICK(r, dt);
}

static void draw_any(struct conv *c, struct rnd *r) {
    static const int64_t channels[] = {3, 32, 40, 64, 72, 96, 128, 160, 256}, taps[] = {1, 3, 3, 5};
    static const enum dtype dt[] = {DT_BF16, DT_BF16, DT_F16, DT_F32, DT_F32};
    c->in = PICK(r, channels), c->out = PICK(r, channels);
    c->high = rnd_range(r, 4, 64), c->wide = rnd_range(r, 4, 64), c->taps = PICK(r, taps);
    c->stride = rnd_below(r, 3) ? 1 : 2, c->dilation = rnd_below(r, 3) ? 1 : 2, c->dt = PICK(r, dt);
    c->pad = rnd_below(r, 2) ? c->taps / 2 * c->dilation : rnd_below(r, (uint32_t)c->taps);
}

/* work: FMAs, at least. */
static void draw(struct conv *c, struct rnd *r, bool tensor, double work) {
    do {
        *c = (struct conv){.relu = rnd_below(r, 2), .more = rnd_below(r, 3) == 0, .n = 1};
        (tensor ? draw_tensor : draw_any)(c, r);
        c->part = (enum part)rnd_below(r, PARTS), c->blocks = 1 + rnd_below(r, 4);
        c->up = c->high % 2 == 0 && c->wide % 2 == 0 && rnd_below(r, 4) == 0;
        c->oh = out_size(c, c->high), c->ow = out_size(c, c->wide);
    } while (c->oh < 2 || c->ow < 2 || work_of(c) > 1.5 * work ||
             work / work_of(c) * (double)(c->high * c->wide * RG_MAX(c->in, c->out)) > MOST_ELEMENTS);
    c->n = (int64_t)(work / work_of(c)) + 1;
}

static const char *words(const struct conv *c, char *buf, size_t n) {
    snprintf(
        buf, n,
        "%s, %s, %lld x %lld x %lld x %lld -> %lld channels, %lld taps, stride %lld, dilation %lld, padding "
        "%lld%s%s%s, PERSISTENT(%u)",
        dtype_info[c->dt].name, part_name[c->part], (long long)c->n, (long long)c->in, (long long)c->high,
        (long long)c->wide, (long long)c->out, (long long)c->taps, (long long)c->stride,
        (long long)c->dilation, (long long)c->pad, c->relu ? ", relu" : "", c->up ? ", upsampled" : "",
        c->more ? ", bias and residual" : "", c->blocks);
    return buf;
}

/* ---- plain loops ------------------------------------------------------------------------------------------------ */

static int *numbers(struct conv *c, size_t n, uint64_t first, bool relu) {
    int *v = arena_alloc(&c->arena, n * sizeof *v);
    for (size_t i = 0; i < n; i++) {
        v[i] = (int)(hash_u64(i + first) % 3) - 1;
        if (relu && v[i] < 0) v[i] = 0;
    }
    return v;
}

/* Element (n, o, y, x) of the results. */
static int forward(const struct conv *c, int64_t n, int64_t o, int64_t y, int64_t x) {
    const int *w = c->v[WEIGHTS] + o * c->in * c->taps * c->taps;
    int sum = c->more ? c->v[BIAS][o] + c->v[MORE][((n * c->out + o) * c->oh + y) * c->ow + x] : 0;
    for (int64_t i = 0; i < c->in; i++)
        for (int64_t ky = 0; ky < c->taps; ky++, w += c->taps) {
            int64_t line = y * c->stride + ky * c->dilation - c->pad, at = x * c->stride - c->pad;
            const int *row = c->v[IMAGES] + ((n * c->in + i) * c->high + line) * c->wide;
            if (line < 0 || line >= c->high) continue;
            for (int64_t kx = 0; kx < c->taps; kx++, at += c->dilation)
                if (at >= 0 && at < c->wide) sum += row[at] * w[kx];
        }
    return sum;
}

/* Element (n, i, y, x) of the gradient of the images. */
static int to_images(const struct conv *c, int64_t n, int64_t i, int64_t y, int64_t x) {
    int64_t taps = c->taps * c->taps, px = c->oh * c->ow;
    int sum = 0;
    for (int64_t k = 0; k < taps; k++) {
        int64_t fy = y + c->pad - k / c->taps * c->dilation, fx = x + c->pad - k % c->taps * c->dilation;
        if (fy < 0 || fx < 0 || fy % c->stride || fx % c->stride) continue;
        if (fy / c->stride >= c->oh || fx / c->stride >= c->ow) continue;
        const int *back = c->v[BACK] + n * c->out * px + fy / c->stride * c->ow + fx / c->stride;
        const int *w = c->v[WEIGHTS] + i * taps + k;
        for (int64_t o = 0; o < c->out; o++) sum += back[o * px] * w[o * c->in * taps];
    }
    return sum;
}

/* Element (o, i, ky, kx) of the gradient of the weights. */
static int to_weights(const struct conv *c, int64_t o, int64_t i, int64_t ky, int64_t kx) {
    int sum = 0;
    for (int64_t n = 0; n < c->n; n++)
        for (int64_t y = 0; y < c->oh; y++) {
            int64_t line = y * c->stride + ky * c->dilation - c->pad, at = kx * c->dilation - c->pad;
            const int *back = c->v[BACK] + ((n * c->out + o) * c->oh + y) * c->ow;
            const int *row = c->v[IMAGES] + ((n * c->in + i) * c->high + line) * c->wide;
            if (line < 0 || line >= c->high) continue;
            for (int64_t x = 0; x < c->ow; x++, at += c->stride)
                if (at >= 0 && at < c->wide) sum += row[at] * back[x];
        }
    return sum;
}

static size_t results(const struct conv *c) {
    return c->size[c->part == FORWARD ? BACK : c->part == TO_IMAGES ? IMAGES : WEIGHTS];
}

static int want(const struct conv *c, int64_t i) {
    int64_t w = c->part == FORWARD     ? c->ow
                : c->part == TO_IMAGES ? c->wide
                                       : c->taps,
            h = c->part == FORWARD     ? c->oh
                : c->part == TO_IMAGES ? c->high
                                       : c->taps,
            d = c->part == FORWARD ? c->out : c->in;
    int (*of[])(const struct conv *, int64_t, int64_t, int64_t, int64_t) = {forward, to_images, to_weights};
    return of[c->part](c, i / w / h / d, i / w / h % d, i / w % h, i % w);
}

/* Integers that every step of the result has exactly. */
static int exact(const struct conv *c) { return c->dt == DT_BF16 ? 256 : c->dt == DT_F16 ? 2048 : 1 << 24; }

static void compare(const struct conv *c, const void *out) {
    char what[256];
    size_t bytes = dtype_info[c->dt].bytes, step = (size_t)(work_of(c) / MOST_LOOPS) + 1;
    for (size_t first = 0; first < results(c); first += step) {
        size_t i = RG_MIN(first + hash_u64(first) % step, results(c) - 1);
        double got = ref_number(c->dt, ref_read(c->dt, (const char *)out + i * bytes));
        int sum = want(c, (int64_t)i);
        if (got != sum && abs(sum) <= exact(c))
            FAIL("%s: number %zu is %g, not %d", words(c, what, sizeof what), i, got, sum);
    }
}

/* ---- the program ------------------------------------------------------------------------------------------------- */

/* As it lies in memory: before it is upsampled, and with the numbers that relu takes away. */
static void *stored(struct conv *c, int number, const int64_t dims[4], size_t *bytes) {
    size_t n = 1, each = dtype_info[c->dt].bytes;
    int64_t step = number == IMAGES && c->up ? 2 : 1;
    for (int i = 0; i < 4; i++) n *= (size_t)dims[i];
    char *p = arena_alloc(&c->arena, *bytes = n * each);
    for (size_t i = 0; i < n; i++) {
        int64_t w = dims[3], h = dims[2], x = (int64_t)i % w, y = (int64_t)i / w % h,
                rest = (int64_t)i / w / h;
        int v = c->v[number][((rest * h * step) + y * step) * w * step + x * step];
        bool negative = c->relu && !v && (number == IMAGES || number == BACK) && i % 2;
        ref_write(c->dt, p + i * each,
                  dt_is_float(c->dt) ? (union ref_val){.f = negative ? -1 : v} : (union ref_val){.i = v});
    }
    return p;
}

static void operands(struct conv *c) {
    int64_t px = c->high * c->wide, taps = c->taps * c->taps;
    c->size[IMAGES] = (size_t)(c->n * c->in * px), c->size[WEIGHTS] = (size_t)(c->out * c->in * taps);
    c->size[BIAS] = (size_t)c->out, c->size[BACK] = c->size[MORE] = (size_t)(c->n * c->out * c->oh * c->ow);
    for (int i = 0; i < BUFS; i++)
        c->v[i] = numbers(c, c->size[i], (uint64_t)i << 32, c->relu && (i == IMAGES || i == BACK));
    for (size_t i = 0; i < c->size[IMAGES] && c->up; i++) { /* 2 x 2 pixels are equal */
        size_t x = i % (size_t)c->wide, y = i / (size_t)c->wide % (size_t)c->high;
        c->v[IMAGES][i] = c->v[IMAGES][i - x % 2 - y % 2 * (size_t)c->wide];
    }
}

static const uop *input(struct tg *g, struct conv *c, int number, const int64_t dims[4]) {
    struct graph_data *d = &c->run.data;
    size_t bytes;
    void *p = stored(c, number, dims, &bytes);
    d->bufs[d->nbuf] = (struct ref_buf){.p = p, .bytes = bytes};
    return t_buffer(g, c->dt, dims, 4, d->nbuf++);
}

static const uop *build(struct conv *c) {
    struct tg g;
    int64_t half = c->up ? 2 : 1, size[] = {c->high, c->wide};
    struct t_conv o = {.stride = {&c->stride, 1}, .padding = {&c->pad, 1}, .dilation = {&c->dilation, 1}};
    const int64_t *results = (int64_t[]){c->n, c->out, c->oh, c->ow};
    tg_init(&g, &c->ir, &c->arena);
    c->run.data.bufs = arena_array(&c->arena, struct ref_buf, BUFS);
    const uop *x = input(&g, c, IMAGES, (int64_t[]){c->n, c->in, c->high / half, c->wide / half});
    const uop *w = input(&g, c, WEIGHTS, (int64_t[]){c->out, c->in, c->taps, c->taps});
    if (c->relu) x = t_relu(&g, x);
    if (c->up) x = t_interpolate(&g, x, size, 2, T_RESIZE_NEAREST, false);
    const uop *y = t_conv(&g, x, w, 2, &o), *wrt[] = {c->part == TO_WEIGHTS ? w : x}, *out = y;
    if (c->part != FORWARD) {
        const uop *seed = input(&g, c, BACK, results);
        t_grad(&g, y, c->relu ? t_relu(&g, seed) : seed, wrt, 1, &out);
    } else if (c->more) {
        const uop *b = input(&g, c, BIAS, (int64_t[]){1, c->out, 1, 1});
        out = t_add(&g, t_add(&g, y, b), input(&g, c, MORE, results));
    }
    return uop_mk(&c->ir, OP_GRAPH, &out, 1, ARG_NONE);
}

static void begin(struct conv *c) {
    ir_init(&c->ir, &c->arena);
    operands(c);
    c->run = (struct planned_run){
        .arena = &c->arena, .ir = &c->ir, .opts = &c->opts, .from = OPTS_GPU, .persist = c->blocks};
    c->run.graph = build(c);
}

/* ---- by the interpreter ------------------------------------------------------------------------------------------- */

static bool has_opt(const struct conv *c, const char *opt) {
    bool has = false;
    for (uint32_t i = 0; i < c->run.sched.prog.n; i++) has |= strstr(c->run.list[i], opt) != NULL;
    return has;
}

/* What has no MMA instructions is planned only: it takes the interpreter ten times as long, and has tests in gpu_conv.c. */
static void interpret(void *arg) {
    struct conv *c = arg;
    begin(c);
    c->opts = (struct sched_opts){.model = planned_h200(), .gpu = true, .capability = 90};
    planned_plan(&c->run);
    if (!has_opt(c, "TC(")) return;
    planned_memory(&c->run);
    planned_interpret(&c->run);
    compare(c, c->run.result[0]);
}

static uint64_t number_of(const char *name, uint64_t otherwise) {
    return getenv(name) ? strtoull(getenv(name), NULL, 10) : otherwise;
}

TEST_SLOW(conv_random, 300) {
    uint64_t first = number_of("SEED", 1), n = number_of("SEEDS", 12);
    int run = 0, specialized = 0;
    for (uint64_t i = first; i < first + n; i++) {
        char what[256];
        struct conv c;
        struct rnd r = {i};
        draw(&c, &r, i % 8 != 0, 4.1e7);
        arena_init(&c.arena, &c.err);
        if (err_guard(&c.err, interpret, &c)) FAIL("%s: %s", words(&c, what, sizeof what), c.err.msg);
        run += has_opt(&c, "TC("), specialized += has_opt(&c, "WARP_SPECIALIZE(");
        arena_free(&c.arena);
    }
    if (n >= 12) CHECK(run >= 4 && specialized >= 2);
    TEST_INFO("%d convolutions planned, %d run, %d of them warp-specialized", (int)n, run, specialized);
}

/* ---- on a GPU ----------------------------------------------------------------------------------------------------- */

struct on_gpu {
    struct conv *c;
    struct engine *en;
};

static void realize(void *arg) {
    struct on_gpu *g = arg;
    struct conv *c = g->c;
    void *buf[BUFS], *far, *near;
    begin(c);
    const struct graph_data *d = &c->run.data;
    size_t bytes = results(c) * dtype_info[c->dt].bytes;
    for (uint32_t i = 0; i < d->nbuf; i++) {
        buf[i] = engine_alloc(g->en, &c->err, d->bufs[i].bytes);
        if (!buf[i] || engine_copy(g->en, &c->err, COPY_IN, buf[i], d->bufs[i].p, d->bufs[i].bytes))
            err_throw(&c->err, c->err.code, "%s", c->err.msg);
    }
    far = engine_alloc(g->en, &c->err, bytes), near = arena_alloc(&c->arena, bytes);
    struct realize r = {.ir = &c->ir, .graph = c->run.graph, .buf = buf, .result = &far};
    if (engine_realize(g->en, &c->err, &r, NULL) || engine_copy(g->en, &c->err, COPY_OUT, near, far, bytes))
        err_throw(&c->err, c->err.code, "%s", c->err.msg);
    compare(c, near);
    for (uint32_t i = 0; i < d->nbuf; i++) engine_free(g->en, buf[i], d->bufs[i].bytes);
    engine_free(g->en, far, bytes);
}

static void check_gpu(struct engine *en, struct conv *c) {
    char what[256];
    struct on_gpu g = {c, en};
    arena_init(&c->arena, &c->err);
    if (err_guard(&c->err, realize, &g)) FAIL("%s: %s", words(c, what, sizeof what), c->err.msg);
    arena_free(&c->arena);
}

/* Of a UNet's training step: more tiles than consumers, 4 iterations of input channels, 3 pipeline stages. */
TEST_MANUAL(cuda_gpu_conv_256_channels, 120) {
    struct engine *en = cuda_engine();
    for (int i = 0; i < 2 * PARTS; i++) {
        struct conv c = {.n = 16, .in = 256, .out = 256, .high = 32, .wide = 32, .taps = 3, .stride = 1};
        c.dilation = c.pad = 1, c.dt = i < PARTS ? DT_BF16 : DT_F16, c.part = (enum part)(i % PARTS);
        c.oh = c.ow = 32, c.relu = c.more = c.up = i < PARTS;
        check_gpu(en, &c);
    }
    engine_close(en);
}

static void random_part(uint64_t part) {
    setenv("RIDGE_TF32", part % 2 ? "1" : "0", 1); /* the integers are exact all the same */
    env_reload();
    struct engine *en = cuda_engine();
    uint64_t n = number_of("SEEDS", 24);
    struct rnd r = {number_of("SEED", 1) + part};
    for (uint64_t i = 0; i < n; i++) {
        struct conv c;
        draw(&c, &r, i % 3 != 0, 1e8 * (double)(1u << rnd_below(&r, 8)));
        check_gpu(en, &c);
    }
    TEST_COUNT((int)n, "convolutions");
    engine_close(en);
}
#define TEST_PART(k) \
    TEST_MANUAL(cuda_gpu_conv_random_##k, 300) { random_part(k); }
/* clang-format off */
TEST_PART(0) TEST_PART(1) TEST_PART(2) TEST_PART(3) TEST_PART(4) TEST_PART(5) TEST_PART(6) TEST_PART(7)
/* clang-format on */
#undef TEST_PART
