/* Bytes that plans move, on the planner of the CPU and of an H200: gradients through several products of one shape against the
 * best plan there is, and random programs with gradients against the plan with a kernel per op (schedule/naive.c). Counts, no
 * clocks; nothing runs. */
#include "irtest.h"
#include "planned.h"
#include "tensor/tensor.h"

#include <time.h>

struct plans {
    struct ir_test t;
    struct tg g;
    uint32_t bufs;
};

static void open_plans(struct plans *p) {
    memset(p, 0, sizeof *p);
    ir_test_open(&p->t);
    tg_init(&p->g, &p->t.ir, &p->t.arena);
}
static void close_plans(struct plans *p) { ir_test_close(&p->t); }

#define D(...) (int64_t[]){__VA_ARGS__}, (uint32_t)RG_COUNT(((int64_t[]){__VA_ARGS__}))

static const uop *buffer(struct plans *p, enum dtype dt, const int64_t *d, uint32_t n) {
    return t_buffer(&p->g, dt, d, n, p->bufs++);
}
#define BUF(...) buffer(&p, DT_F32, D(__VA_ARGS__))

static struct sched_opts on_gpu(bool gpu) {
    return (struct sched_opts){
        .model = gpu ? planned_h200() : planned_model(), .gpu = gpu, .capability = gpu ? 90 : 0};
}

struct plan_job {
    struct plans *p;
    const uop *const *out;
    uint32_t n;
    bool gpu;
    const struct model *model; /* instead of the usual one */
    struct schedule s;
};

static void plan_run(void *arg) {
    struct plan_job *j = arg;
    struct sched_opts o = on_gpu(j->gpu);
    if (j->model) o.model = j->model;
    const uop *graph = uop_new(&j->p->t.ir, OP_GRAPH, DT_VOID, 1, j->out, j->n, ARG_NONE);
    schedule(&j->p->t.arena, &j->p->t.ir, graph, &o, &j->s);
}

static struct schedule plan(struct plans *p, const uop *const *out, uint32_t n, bool gpu) {
    struct plan_job j = {.p = p, .out = out, .n = n, .gpu = gpu};
    if (err_guard(&p->t.err, plan_run, &j)) FAIL("%s", p->t.err.msg);
    return j.s;
}

/* ---- several products of one shape ---------------------------------------------------------------------------------- */

struct products {
    int64_t rows, in, out;
};
static const struct products sizes[] = {{512, 256, 128}, {2048, 256, 128}, {8192, 1024, 2816}};

static const uop *sum_all(struct plans *p, const uop *x) { return t_sum(&p->g, x, NULL, 0, false); }

/* The loss of form `form` of k products of x, none of which another could be computed from. */
static const uop *loss_of(struct plans *p, int form, const uop *x, const uop *const *w, uint32_t k) {
    struct tg *g = &p->g;
    const uop *y[3], *sum;
    for (uint32_t i = 0; i < k; i++) y[i] = t_linear(g, x, w[i], NULL);
    if (form == 0) { /* SwiGLU */
        sum = t_mul(g, t_silu(g, y[0]), y[1]);
        return sum_all(p, k > 2 ? t_mul(g, sum, y[2]) : sum);
    }
    sum = sum_all(p, t_exp(g, y[0]));
    for (uint32_t i = 1; i < k; i++) /* keys, values */
        sum = t_add(g, sum, sum_all(p, form == 1 ? t_mul(g, y[i], y[i]) : t_sin(g, y[i])));
    return sum;
}

/* The best plan: each of the k products reads x and w and writes y; one kernel reads the y and writes what flows to each; k products
 * read that and w, and write (after the first: read and write) the gradient. */
static double best_bytes(const struct products *s, uint32_t k) {
    double x = (double)(s->rows * s->in), w = (double)(s->in * s->out), y = (double)(s->rows * s->out);
    return 4 * (k * (x + w + y) + k * 2 * y + k * (y + w + 2 * x) - x);
}

TEST(plan_bytes_gradient_through_products_of_one_shape) {
    for (int c = 0; c < (int)RG_COUNT(sizes) * 2 * 3 * 2; c++) {
        const struct products *s = &sizes[c % 3];
        bool gpu = c / 3 % 2;
        int form = c / 6 % 3;
        uint32_t k = 2 + (uint32_t)c / 18;
        struct plans p;
        open_plans(&p);
        const uop *x = BUF(s->rows, s->in), *w[3], *d;
        for (uint32_t i = 0; i < 3; i++) w[i] = BUF(s->out, s->in);
        t_grad(&p.g, loss_of(&p, form, x, w, k), NULL, &x, 1, &d);
        struct schedule got = plan(&p, &d, 1, gpu);
        if (got.bytes > 2 * best_bytes(s, k) || !schedule_in_bound(&got))
            FAIL("form %d, %u products of %lld x %lld x %lld on %s: %.1f MB; the best plan %.1f MB", form, k,
                 (long long)s->rows, (long long)s->in, (long long)s->out, gpu ? "GPU" : "CPU",
                 got.bytes / 1e6, best_bytes(s, k) / 1e6);
        close_plans(&p);
    }
}

/* The bound holds for the graph that stores the products too: it does not follow the planner into an error. */
TEST(plan_bytes_naive_plan_expands_no_contraction) {
    struct plans p;
    open_plans(&p);
    struct tg *g = &p.g;
    const uop *a = BUF(2048, 128, 1), *b = BUF(2048, 128, 1), *k = BUF(1, 128, 256), *v = BUF(1, 128, 256);
    const uop *both = t_add(g, t_mul(g, a, k), t_mul(g, b, v));
    const uop *y = t_sum(g, both, (int64_t[]){1}, 1, false);
    struct schedule s = plan(&p, &y, 1, false);
    double least = 4.0 * (2 * 2048 * 128 + 2 * 128 * 256 + 2048 * 256);
    CHECK(s.naive_bytes >= least && s.naive_bytes < 4 * least);
    close_plans(&p);
}

/* A sum that the user writes: each outer product is summed alone, the other term with no product. */
TEST(plan_bytes_sum_of_outer_products) {
    for (int gpu = 0; gpu < 2; gpu++) {
        struct plans p;
        open_plans(&p);
        struct tg *g = &p.g;
        const uop *h = BUF(2048, 128), *w = BUF(128, 128);
        const uop *a = t_exp(g, t_matmul(g, h, w)), *b = t_sin(g, t_matmul(g, h, w));
        const uop *k = BUF(1, 128, 256), *v = BUF(1, 128, 256);
        const uop *both = t_add(g, t_mul(g, t_unsqueeze(g, a, 2), k), t_mul(g, t_unsqueeze(g, b, 2), v));
        const uop *y = t_sum(g, both, (int64_t[]){1}, 1, false);
        struct schedule s = plan(&p, &y, 1, gpu);
        /* h, w; a and b stored and read; k, v; y stored, read and stored */
        double best = 4.0 * (5 * 2048 * 128 + 128 * 128 + 2 * 128 * 256 + 3 * 2048 * 256);
        if (s.bytes > 2 * best)
            FAIL("%.1f MB on %s; the best plan %.1f MB", s.bytes / 1e6, gpu ? "GPU" : "CPU", best / 1e6);
        close_plans(&p);
    }
}

/* For eight cores with AVX-512. */
static struct schedule plan_wide(struct plans *p, const uop *const *out, uint32_t n) {
    struct model m = *planned_model();
    model_measured(&m, MODEL_CORES, 8), model_measured(&m, MODEL_VEC_BYTES, 64);
    model_measured(&m, MODEL_FLOPS_F32, 64), model_measured(&m, MODEL_DRAM_READ, 120);
    model_measured(&m, MODEL_DRAM_COPY, 120);
    struct plan_job j = {.p = p, .out = out, .n = n, .model = &m};
    if (err_guard(&p->t.err, plan_run, &j)) FAIL("%s", p->t.err.msg);
    return j.s;
}

/* What an epilogue stores is not free because a product takes longer: for the gradient of gelu the product of the first layer is stored
 * once on a CPU, not x / 2, x / sqrt(2) and 1 + erf of it. Of random sizes. */
TEST(plan_bytes_gradient_of_gelu) {
    struct rnd r = {5};
    for (int i = 0; i < 8; i++) {
        struct plans p;
        open_plans(&p);
        struct tg *g = &p.g;
        int64_t rows = rnd_range(&r, 1000, 4000), in = rnd_range(&r, 200, 900), out = 4 * in;
        const uop *x = BUF(rows, in), *w[] = {BUF(out, in), BUF(in, out)}, *b = BUF(out), *d[3];
        const uop *wrt[] = {w[0], w[1], b};
        const uop *y = t_linear(g, t_gelu(g, t_linear(g, x, w[0], b)), w[1], NULL);
        t_grad(g, sum_all(&p, t_mul(g, y, y)), NULL, wrt, 3, d);
        struct schedule s = plan_wide(&p, d, 3);
        int large = 0;
        for (uint32_t k = 0; k < s.buf.n; k++)
            large += s.buf.p[k].kind == BUF_TEMP && s.buf.p[k].elements == rows * out;
        /* the product, gelu of it, what flows back to gelu and through it */
        if (large > 4)
            FAIL("%lld x %lld x %lld: %d values are stored", (long long)rows, (long long)in, (long long)out,
                 large);
        close_plans(&p);
    }
}

/* The weight gradient of a convolution with 3 input channels, of bf16, below batch norm, relu and max pool: its long sum is
 * split, and the products of the split sum are not stored. */
static const uop *stem(struct plans *p, int64_t size, const uop *x, const uop *const *w) {
    struct tg *g = &p->g;
    struct t_conv conv = {.stride = {D(2)}, .padding = {D(size / 2)}};
    struct t_pool pool = {.size = {D(3)}, .stride = {D(2)}, .padding = {D(1)}};
    const int64_t all[] = {0, 2, 3};
    const uop *y = t_cast(g, t_conv(g, t_cast(g, x, DT_BF16), t_cast(g, w[0], DT_BF16), 2, &conv), DT_F32);
    const uop *mean = t_mean(g, y, all, 3, false), *var = t_var(g, y, all, 3, false, true);
    y = t_max_pool(g, t_relu(g, t_batchnorm(g, y, mean, var, w[1], w[2], 1e-5)), 2, &pool);
    return t_mean(g, t_mul(g, y, y), NULL, 0, false);
}

TEST(plan_bytes_weight_gradient_of_a_stem) {
    for (int c = 0; c < 4; c++) {
        int64_t size = c % 2 ? 3 : 7, batch = 64;
        struct plans p;
        open_plans(&p);
        const uop *x = BUF(batch, 3, 224, 224), *w[] = {BUF(64, 3, size, size), BUF(64), BUF(64)}, *d[3];
        t_grad(&p.g, stem(&p, size, x, w), NULL, w, 3, d);
        struct schedule s = plan(&p, d, 3, c / 2);
        double image = 4.0 * (double)batch * 64 * 112 * 112; /* a value of every channel, as float */
        if (s.bytes > 30 * image || !schedule_in_bound(&s))
            FAIL("%lld x %lld on %s: %.2f GB; a kernel per op moves %.2f GB, a value has %.2f GB",
                 (long long)size, (long long)size, c / 2 ? "GPU" : "CPU", s.bytes / 1e9, s.naive_bytes / 1e9,
                 image / 1e9);
        close_plans(&p);
    }
}

/* ---- random programs ---------------------------------------------------------------------------------------------- */

enum { VALUES = 24, OPS = 10 };
struct random_net {
    struct plans *p;
    uint64_t seed;
    const uop *value[VALUES], *weight[VALUES];
    uint32_t values, weights;
};

static uint32_t pick(struct random_net *r, uint32_t n) {
    r->seed = r->seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(r->seed >> 33) % n;
}

static const uop *weight(struct random_net *r, const int64_t *d, uint32_t n) {
    for (uint32_t i = 0; i < r->weights; i++) { /* tied, every other time */
        const struct shape *s = tg_shape(&r->p->g, r->weight[i]);
        if (s->n == n && !memcmp(s->d, d, n * sizeof *d) && pick(r, 2)) return r->weight[i];
    }
    const uop *w = buffer(r->p, DT_F32, d, n);
    if (r->weights < VALUES) r->weight[r->weights++] = w;
    return w;
}

/* Another value of x's shape, or x. */
static const uop *alike(struct random_net *r, const uop *x) {
    for (uint32_t i = pick(r, r->values); i < r->values; i++)
        if (tg_shape(&r->p->g, r->value[i]) == tg_shape(&r->p->g, x)) return r->value[i];
    return x;
}

static const uop *pointwise(struct random_net *r, const uop *x) {
    struct tg *g = &r->p->g;
    switch (pick(r, 6)) {
    case 0: return t_relu(g, x);
    case 1: return t_silu(g, x);
    case 2: return t_mul(g, x, alike(r, x));
    case 3: return t_add(g, x, alike(r, x));
    case 4: return t_softmax(g, x, -1);
    default: return t_tanh(g, x);
    }
}

static const uop *image_op(struct random_net *r, const uop *x, const struct shape *s) {
    struct tg *g = &r->p->g;
    static const int64_t channels[] = {3, 16, 64, 128};
    int64_t k = pick(r, 2) ? 3 : 1, c = channels[pick(r, 4)];
    struct t_conv conv = {.padding = {D(k / 2)}, .stride = {D(s->d[2] > 8 ? 1 + (int64_t)pick(r, 2) : 1)}};
    struct t_pool pool = {.size = {D(2)}};
    switch (pick(r, 6)) {
    case 0:
    case 1: return t_conv(g, x, weight(r, D(c, s->d[1], k, k)), 2, &conv);
    case 2: return s->d[2] > 4 ? t_max_pool(g, x, 2, &pool) : x;
    case 3: return s->d[2] > 4 ? t_avg_pool(g, x, 2, &pool) : x;
    case 4: return t_groupnorm(g, x, s->d[1] % 4 ? 1 : 4, NULL, NULL, 1e-5);
    default: return t_mean(g, x, (int64_t[]){2, 3}, 2, false);
    }
}

static const uop *matrix_op(struct random_net *r, const uop *x, const struct shape *s) {
    struct tg *g = &r->p->g;
    static const int64_t width[] = {16, 64, 128, 512};
    switch (pick(r, 5)) {
    case 0: return t_layernorm(g, x, weight(r, D(s->d[1])), weight(r, D(s->d[1])), 1, 1e-5);
    case 1: return t_rmsnorm(g, x, weight(r, D(s->d[1])), 1e-5);
    case 2: return t_matmul(g, t_softmax(g, t_matmul(g, x, t_transpose(g, alike(r, x), 0, 1)), -1), x);
    default: return t_linear(g, x, weight(r, D(width[pick(r, 4)], s->d[1])), NULL);
    }
}

/* A net of OPS ops on random earlier values; the loss is the sum of all their squares, so that every value flows back. */
static const uop *random_loss(struct random_net *r) {
    static const int64_t rows[] = {8, 64, 512, 2048}, side[] = {8, 16, 32};
    struct tg *g = &r->p->g;
    int64_t n = side[pick(r, 3)];
    r->value[r->values++] = pick(r, 2) ? buffer(r->p, DT_F32, D(rows[pick(r, 4)], 1 << (4 + pick(r, 5))))
                                       : buffer(r->p, DT_F32, D(1 << pick(r, 6), 3, n, n));
    r->weight[r->weights++] = r->value[0];
    const uop *loss = NULL;
    for (int i = 0; i < OPS; i++) {
        const uop *x = r->value[pick(r, 2) ? r->values - 1 : pick(r, r->values)];
        const struct shape *s = tg_shape(g, x);
        const uop *y = !pick(r, 3) ? pointwise(r, x) : s->n == 4 ? image_op(r, x, s) : matrix_op(r, x, s);
        r->value[r->values++] = y;
        if (i < OPS - 3) continue;
        const uop *l = sum_all(r->p, t_mul(g, y, y));
        loss = loss ? t_add(g, loss, l) : l;
    }
    return loss;
}

static void random_nets(uint64_t seed, int count) {
    double worst = 0, mean = 0;
    for (int i = 0; i < count; i++) {
        struct plans p;
        open_plans(&p);
        struct random_net r = {.p = &p, .seed = seed + (uint64_t)i * 977};
        const uop *d[VALUES + 1], *loss = random_loss(&r);
        t_grad(&p.g, loss, NULL, r.weight, r.weights, d);
        d[r.weights] = loss;
        struct schedule s = plan(&p, d, r.weights + 1, i % 2);
        double ratio = s.bytes / s.naive_bytes;
        if (!schedule_in_bound(&s))
            FAIL("seed %llu on %s: %.2f MB; a kernel per op moves %.2f MB",
                 (unsigned long long)(seed + (uint64_t)i * 977), i % 2 ? "GPU" : "CPU", s.bytes / 1e6,
                 s.naive_bytes / 1e6);
        worst = RG_MAX(worst, ratio), mean += ratio / count;
        close_plans(&p);
    }
    test_info("plan_bytes: %d random nets with gradients: %.2f of the bytes of a kernel per op, at most %.2f",
              count, mean, worst);
}

TEST(plan_bytes_random_nets) { random_nets(1, 60); }
TEST_MANUAL(fuzz_plan_bytes, 3600) { random_nets((uint64_t)time(NULL) * 1000003, 3000); }

/* A split sum of a broadcast tensor times a number: the number has no axes to reshape. */
TEST(plan_bytes_split_sum_times_a_number) {
    for (int gpu = 0; gpu < 2; gpu++) {
        struct plans p;
        open_plans(&p);
        struct tg *g = &p.g;
        const uop *x = BUF(1, 1, 64), *wide = t_expand(g, x, D(512, 512, 64));
        const uop *y = t_sum(g, t_mul(g, wide, uop_flt(&p.t.ir, DT_F32, 0.5)), (int64_t[]){0, 1}, 2, false);
        struct schedule s = plan(&p, &y, 1, gpu);
        CHECK(s.call.n > 0 && schedule_in_bound(&s));
        close_plans(&p);
    }
}
