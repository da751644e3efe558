/* Accuracy of sums against float64: |sum - exact| <= 2^-22 log2(n) sum|x| on constant, random and cancelling data (docs/semantics.md),
 * whole, along any axes, fused with what makes the terms, and running. Variance of shifted data, and its gradient. Draws are the
 * same in every run; RIDGE_SEED gives others. Code: src/codegen/opts/block_sums.c, src/schedule/split.c, src/tensor/reduce.c */
#include "base/base.h"
#include "codegen/codegen.h"
#include "engine/plan.h"
#include "irtest.h"
#include "simgpu.h"

#include <ridge.h>
#include <test.h>

#include <stdlib.h>

enum fill { CONSTANT, POSITIVE, NORMAL, CANCELLING, FILLS };
static const char *const fill_name[FILLS] = {"constant", "positive", "normal", "cancelling"};
enum what { SUM, MEAN, PRODUCTS, FUSED, RUNNING, WHATS };
static const char *const what_name[WHATS] = {"sum", "mean", "sum of products", "sum of exp", "cumsum"};

static uint64_t state;
static uint64_t bits(void) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state;
}
static double unit(void) { return (double)(bits() >> 11) * 0x1p-53; }
static double normal(void) { return sqrt(-2 * log(1 - unit())) * cos(6.283185307179586 * unit()); }
static void seed(uint64_t s) {
    const char *more = getenv("RIDGE_SEED");
    state = 0x9e3779b97f4a7c15u * (s + 1) + (more ? strtoull(more, NULL, 10) * 0x100000001b3u : 0);
    for (int i = 0; i < 8; i++) bits();
}

/* Numbers that f16 and bf16 hold too: of few digits. */
static void fill(float *x, int64_t n, enum fill how, bool few_digits) {
    double c = 0.1 + unit(), shift = how == CANCELLING ? 1 + 100 * unit() : 0;
    for (int64_t i = 0; i < n; i++) {
        double v = how == CONSTANT ? c : how == POSITIVE ? unit() : normal();
        if (how == CANCELLING) v = (i & 1 ? -1 : 1) * shift * (1 + v * 1e-3);
        x[i] = few_digits ? (float)(rint(ldexp(v, 6)) * 0x1p-6) : (float)v;
        if (few_digits) x[i] = fminf(fmaxf(x[i], -2), 2);
    }
}

struct draw {
    int64_t d[3], n; /* shape; elements of one sum */
    uint32_t rank, axes;
    enum what what;
    enum fill fill;
    rg_dtype dt;
};

static struct draw draw(int64_t most) {
    struct draw w = {.rank = 1 + (uint32_t)(bits() % 3), .n = 1};
    double left = 10 + unit() * (log2((double)most) - 10);
    w.what = (enum what)(bits() % WHATS), w.fill = (enum fill)(bits() % FILLS);
    w.dt = (rg_dtype[]){RG_F32, RG_F32, RG_F16, RG_BF16}[bits() % 4];
    for (uint32_t i = 0; i < w.rank; i++) {
        double log = i + 1 == w.rank ? left : left * unit();
        w.d[i] = RG_MAX((int64_t)exp2(log), 1), left -= log;
        if (bits() % 2) w.d[i] = (int64_t)1 << (int)log;
    }
    w.axes = w.what == RUNNING ? 1u << bits() % w.rank : 1 + (uint32_t)(bits() % ((1u << w.rank) - 1));
    for (uint32_t i = 0; i < w.rank; i++) w.n *= w.axes >> i & 1 ? w.d[i] : 1;
    if (w.dt == RG_F16 && w.n > 1 << 14) w.dt = RG_BF16; /* sums above 65504 are infinite */
    return w;
}

static double term(const struct draw *w, const float *x, const float *y, int64_t i) {
    return w->what == PRODUCTS ? (double)x[i] * y[i] : w->what == FUSED ? exp(x[i] * 0.25) : x[i];
}

static rg_tensor result(const struct draw *w, rg_tensor x, rg_tensor y) {
    int64_t axes[3];
    uint32_t n = 0;
    for (uint32_t i = 0; i < w->rank; i++)
        if (w->axes >> i & 1) axes[n++] = i;
    rg_reduce_opts o = {.axes = {axes, n}};
    if (w->what == RUNNING) return rg_cumsum(x, axes[0]);
    if (w->what == MEAN) return rg_mean(x, .axes = o.axes);
    if (w->what == PRODUCTS) x = rg_mul(rg_cast(x, RG_F32), rg_cast(y, RG_F32));
    if (w->what == FUSED) x = rg_exp(rg_mul(rg_cast(x, RG_F32), 0.25));
    return rg_sum(x, .axes = o.axes);
}

/* Which result element i belongs to, row-major over the axes that are kept. */
static int64_t slot_of(const struct draw *w, int64_t i) {
    int64_t at = 0, step = 1;
    for (uint32_t k = w->rank; k-- > 0; i /= w->d[k])
        if (!(w->axes >> k & 1)) at += i % w->d[k] * step, step *= w->d[k];
    return at;
}

/* What one rounding to the dtype of the result may change. */
static double rounding(rg_dtype dt, double v) {
    return fabs(v) * (dt == RG_BF16 ? 0x1p-8 : dt == RG_F16 ? 0x1p-11 : 0x1p-24) + 0x1p-24;
}

/* The largest error in units of the bound. */
static double worst(const struct draw *w, const float *x, const float *y, const float *got, rg_dtype out) {
    int64_t total = w->d[0] * (w->rank > 1 ? w->d[1] : 1) * (w->rank > 2 ? w->d[2] : 1),
            results = total / w->n;
    double *sum = calloc((size_t)results, sizeof *sum), *size = calloc((size_t)results, sizeof *size),
           most = 0;
    double bound = 0x1p-22 * log2((double)RG_MAX(w->n, 2)), own = w->what == FUSED ? 0x1p-22 : 0x1p-23;
    double scale = w->what == MEAN ? (double)w->n : 1;
    for (int64_t i = 0; i < total; i++) {
        int64_t k = slot_of(w, i);
        double v = term(w, x, y, i);
        sum[k] += v, size[k] += fabs(v);
        if (w->what != RUNNING && size[k] >= 0) continue;
        most = RG_MAX(most, fabs(got[i] - sum[k]) / (bound * size[k] + rounding(out, sum[k])));
    }
    for (int64_t k = 0; k < results && w->what != RUNNING; k++)
        most = RG_MAX(most, fabs(got[k] - sum[k] / scale) /
                                ((bound + own) * size[k] / scale + rounding(out, sum[k] / scale)));
    free(sum), free(size);
    return most;
}

static double run_draw(rg_ctx *c, const struct draw *w) {
    int64_t total = w->d[0] * (w->rank > 1 ? w->d[1] : 1) * (w->rank > 2 ? w->d[2] : 1);
    float *x = malloc((size_t)total * 4), *y = malloc((size_t)total * 4), *got = malloc((size_t)total * 4);
    rg_ints shape = {w->d, w->rank};
    fill(x, total, w->fill, w->dt != RG_F32), fill(y, total, w->fill, w->dt != RG_F32);
    rg_tensor a = rg_cast(rg_from(c, RG_F32, x, shape), w->dt),
              b = rg_cast(rg_from(c, RG_F32, y, shape), w->dt);
    rg_tensor r = result(w, a, b);
    rg_dtype out = rg_dtype_of(r);
    if (rg_read(rg_cast(r, RG_F32), got, (size_t)(w->what == RUNNING ? total : total / w->n) * 4))
        FAIL("%s", rg_error(c));
    double e = worst(w, x, y, got, out);
    rg_free(a), rg_free(b), rg_free(r);
    free(x), free(y), free(got);
    return e;
}

static void run_draws(const char *device, uint64_t first, int count, int64_t most) {
    rg_ctx *c = rg_open(device);
    if (rg_status_of(c)) FAIL("%s", rg_error(c));
    double greatest = 0;
    for (int i = 0; i < count; i++) {
        seed(first + (uint64_t)i);
        struct draw w = draw(most);
        double e = run_draw(c, &w);
        greatest = RG_MAX(greatest, e);
        if (!(e <= 1))
            FAIL("draw %d: %s of %s data, dtype %d, shape (%lld, %lld, %lld), axes %x: %g times the bound", i,
                 what_name[w.what], fill_name[w.fill], (int)w.dt, (long long)w.d[0], (long long)w.d[1],
                 (long long)w.d[2], w.axes, e);
    }
    TEST_INFO("%d draws to %lld elements on %s, at most %.2f of the bound", count, (long long)most, device,
              greatest);
    CHECK_EQ(rg_close(c), 0);
}

TEST_SLOW(sums_random_draws, 600) { run_draws("CPU", 0, 24, 1 << 20); }

TEST_SLOW(sums_random_draws_without_opts, 600) {
    setenv("RIDGE_NOOPT", "1", 1), env_reload();
    run_draws("CPU", 1000, 12, 1 << 19);
}

/* Constant data, the worst: every addition of a long chain is rounded the same way. */
static void run_constant(const char *device, const int64_t *sizes, int count) {
    rg_ctx *c = rg_open(device);
    if (rg_status_of(c)) FAIL("%s", rg_error(c));
    double most = 0;
    for (int i = 0; i < count; i++)
        for (int what = 0; what < WHATS; what++) {
            struct draw w = {
                .d = {sizes[i]}, .n = sizes[i], .rank = 1, .axes = 1, .what = (enum what)what, .dt = RG_F32};
            seed((uint64_t)(i * 10 + what));
            double e = run_draw(c, &w);
            most = RG_MAX(most, e);
            if (!(e <= 1)) FAIL("%s of %lld: %g times the bound", what_name[what], (long long)sizes[i], e);
        }
    TEST_INFO("constants on %s, at most %.2f of the bound", device, most);
    CHECK_EQ(rg_close(c), 0);
}

TEST_SLOW(sums_of_constants, 600) {
    static const int64_t sizes[] = {100, 1000, 8191, 100000, 1 << 20};
    run_constant("CPU", sizes, RG_COUNT(sizes));
}

/* Along columns and in the middle: accumulators in vectors and arrays. */
TEST_SLOW(sums_of_constant_columns, 600) {
    static const int64_t shape[][3] = {{4096, 33, 1}, {16, 2048, 24}, {100, 257, 31}, {40000, 3, 5}};
    rg_ctx *c = rg_open("CPU");
    for (size_t i = 0; i < RG_COUNT(shape); i++)
        for (uint32_t axis = 0; axis < 3; axis++) {
            struct draw w = {
                .d = {shape[i][0], shape[i][1], shape[i][2]}, .rank = 3, .axes = 1u << axis, .dt = RG_F32};
            w.n = shape[i][axis];
            seed(i);
            double e = run_draw(c, &w);
            if (!(e <= 1)) FAIL("shape %zu along axis %u: %g times the bound", i, axis, e);
        }
    CHECK_EQ(rg_close(c), 0);
}

/* Dot products with a long K: constants. */
TEST_SLOW(sums_of_long_products, 600) {
    static const int64_t mkn[][3] = {{4, 4096, 32}, {64, 2048, 64}, {1, 65536, 8}, {96, 1000, 96}};
    rg_ctx *c = rg_open("CPU");
    for (size_t i = 0; i < RG_COUNT(mkn); i++) {
        int64_t m = mkn[i][0], k = mkn[i][1], n = mkn[i][2];
        seed(i);
        float u = (float)(0.1 + unit()), v = (float)(0.1 + unit()), *got = malloc((size_t)(m * n) * 4);
        rg_tensor a = rg_contiguous(rg_full(c, RG_F32, u, RG_SHAPE(m, k))),
                  b = rg_contiguous(rg_full(c, RG_F32, v, RG_SHAPE(k, n)));
        rg_realize_all(RG_TENSORS(a, b));
        if (rg_read(rg_matmul(a, b), got, (size_t)(m * n) * 4)) FAIL("%s", rg_error(c));
        double want = (double)k * u * v, e = 0;
        for (int64_t j = 0; j < m * n; j++) e = RG_MAX(e, fabs(got[j] - want) / want);
        TEST_INFO("product of %lld terms: %.2f of the bound", (long long)k, e / (0x1p-22 * log2((double)k)));
        CHECK_NEAR(e, 0, 0x1p-22 * log2((double)k) + 0x1p-23);
        free(got);
    }
    CHECK_EQ(rg_close(c), 0);
}

/* ---- variance -------------------------------------------------------------------------------------------------- */

/* Of rows of 1e7 + N(0, 1), rounded to float32: the mean alone is half a unit off. */
static void check_variance(rg_ctx *c, int64_t rows, int64_t n) {
    float *x = malloc((size_t)(rows * n) * 4), *v = malloc((size_t)rows * 4),
          *g = malloc((size_t)(rows * n) * 4);
    for (int64_t i = 0; i < rows * n; i++) x[i] = (float)(1e7 + normal());
    rg_tensor t = rg_from(c, RG_F32, x, RG_SHAPE(rows, n)), var = rg_var(t, RG_AXES(1)), grad,
              std = rg_std(t, RG_AXES(1));
    rg_grad(rg_sum(var), RG_TENSORS(t), &grad);
    float *s = malloc((size_t)rows * 4);
    if (rg_read(var, v, (size_t)rows * 4) || rg_read(grad, g, (size_t)(rows * n) * 4) ||
        rg_read(std, s, (size_t)rows * 4))
        FAIL("%s", rg_error(c));
    for (int64_t r = 0; r < rows; r++) {
        double mean = 0, want = 0;
        for (int64_t i = 0; i < n; i++) mean += x[r * n + i];
        mean /= (double)n;
        for (int64_t i = 0; i < n; i++) want += (x[r * n + i] - mean) * (x[r * n + i] - mean);
        want /= (double)(n - 1);
        CHECK_NEAR(v[r], want, 1e-5 * want);
        CHECK_NEAR(s[r], sqrt(want), 1e-5 * sqrt(want));
        for (int64_t i = 0; i < n; i++)
            CHECK_NEAR(g[r * n + i] * (double)(n - 1), 2 * (x[r * n + i] - mean), 1e-4);
    }
    free(x), free(v), free(g), free(s);
}

TEST_SLOW(sums_variance_of_shifted_data, 600) {
    rg_ctx *c = rg_open("CPU");
    seed(7);
    check_variance(c, 1, 100000);
    check_variance(c, 1, 1 << 18); /* in blocks: split.c */
    check_variance(c, 50, 1000);
    check_variance(c, 3, 17);
    CHECK_EQ(rg_close(c), 0);
}

/* Equal numbers: not below 0, or the deviation would be NaN. */
TEST(sums_variance_of_equals) {
    rg_ctx *c = rg_open("CPU");
    for (int i = 0; i < 6; i++) {
        float s[4];
        seed((uint64_t)i);
        rg_tensor x = rg_contiguous(rg_full(c, RG_F32, (float)(unit() * 1e3), RG_SHAPE(4, 1000)));
        rg_realize(x);
        if (rg_read(rg_std(x, RG_AXES(1)), s, sizeof s)) FAIL("%s", rg_error(c));
        for (int k = 0; k < 4; k++) CHECK(s[k] >= 0 && s[k] < 1e-3);
    }
    CHECK_EQ(rg_close(c), 0);
}

/* 16-bit logits: the mean loss of many rows of nearly equal losses. The sums are float32; the result has the dtype asked for. */
TEST_SLOW(sums_cross_entropy_of_16bit_logits, 600) {
    enum { ROWS = 16384, CLASSES = 67 };
    rg_ctx *c = rg_open("CPU");
    float *x = malloc(sizeof(float) * ROWS * CLASSES);
    int64_t *t = malloc(sizeof(int64_t) * ROWS);
    double loss = 0;
    seed(3);
    fill(x, ROWS * CLASSES, NORMAL, true);
    for (int64_t r = 0; r < ROWS; r++) {
        double s = 0;
        for (int64_t i = 0; i < CLASSES; i++) s += exp(x[r * CLASSES + i]);
        t[r] = (int64_t)(bits() % CLASSES);
        loss += log(s) - x[r * CLASSES + t[r]];
    }
    loss /= ROWS;
    rg_tensor logits = rg_cast(rg_from(c, RG_F32, x, RG_SHAPE(ROWS, CLASSES)), RG_BF16);
    rg_realize(logits);
    rg_tensor y = rg_from(c, RG_I64, t, RG_SHAPE(ROWS));
    CHECK_NEAR(rg_item(rg_cross_entropy(rg_cast(logits, RG_F32), y)), loss, loss * 1e-6);
    CHECK_NEAR(rg_item(rg_cross_entropy(logits, y)), loss, loss * 0x1p-8);
    free(x), free(t);
    CHECK_EQ(rg_close(c), 0);
}

/* ---- additions in one accumulator ---------------------------------------------------------------------------------- */

static int64_t adds_in(const char *text, const char *opts) {
    struct ir_test t;
    ir_test_open(&t);
    struct program p;
    struct linear lin;
    ir_parse(&t.ir, text, strlen(text), "text", &p);
    prog_lower(&(struct sched_prog){.share = 1}, &t.ir, &p.kernel.p[0],
               &(struct lower_opts){.opts = opts, .target = {.kind = TARGET_GPU}}, &lin);
    int64_t n = simgpu_longest_sum(&t.arena, &lin);
    ir_test_close(&t);
    return n;
}

static int64_t adds_with(const char *opts) {
    return adds_in("kernel rows\nx = (PARAM<f32>[0 x] 16777216)\no = (PARAM<f32>[1 o] 1)\n"
                   "r = (RANGE[r REDUCE 0 0] 1024)\nk = (RANGE[k REDUCE 1 0] 16384)\n"
                   "(SINK (STORE (INDEX o 0) (REDUCE[ADD] (REDUCE[ADD] (LOAD (INDEX x (ADD (MUL r 16384) "
                   "k))) k) r)))\n",
                   opts);
}

TEST(sums_of_nested_cooperative_loops) {
    CHECK_EQ(adds_with("COOP(k)"), 64);
    CHECK(adds_with("") <= 128 && adds_with("COOP(r)") <= 128);
    CHECK(adds_with("COOP(r) COOP(k)") <= 128); /* threads share r; each has all of k */
    CHECK(adds_with("COOP(r) TILE(k,4,v) VEC(v) COOP(k)") <= 128);
}

/* Threads share the loop of 64 maxima; no cell is left for the sum, which each of them has alone: in blocks. */
TEST(sums_beside_a_cooperative_loop) {
    static const char two[] =
        "kernel two\nx = (PARAM<f32>[0 x] 1048576)\ny = (PARAM<f32>[1 y] 16384)\no = (PARAM<f32>[2 o] 64)\n"
        "g = (RANGE[g GRID 0 0] 64)\nk = (RANGE[k REDUCE 1 0] 16384)\nj = (RANGE[j REDUCE 2 0] 16384)\n"
        "(SINK (STORE (INDEX o g) (ADD (REDUCE[MAX] (LOAD (INDEX x (ADD (MUL g 16384) k))) k) (REDUCE[ADD] "
        "(LOAD (INDEX y j)) j))))\n";
    CHECK_EQ(adds_in(two, "COOP(k) COOP(j)"), 64);
    CHECK_EQ(adds_in(two, "REG(g) COOP(k) COOP(j)"), 64);
    CHECK(adds_in(two, "REG(g) COOP(k)") <= 128);
}

/* ---- large (-a): `make test-large`; RIDGE_DEVICE names another device -------------------------------------------- */

static const char *device(void) {
    const char *d = getenv("RIDGE_DEVICE");
    return d ? d : "CPU";
}

TEST_MANUAL(sums_many_draws, 3600) { run_draws(device(), 5000, 60, 1 << 24); }

TEST_MANUAL(sums_large, 3600) {
    static const int64_t sizes[] = {1 << 24, (1 << 24) + 12345, 1 << 28};
    run_constant(device(), sizes, RG_COUNT(sizes));
    rg_ctx *c = rg_open(device());
    for (int f = 0; f < FILLS; f++) {
        struct draw w = {
            .d = {1 << 28}, .n = 1 << 28, .rank = 1, .axes = 1, .fill = (enum fill)f, .dt = RG_F32};
        seed((uint64_t)f);
        double e = run_draw(c, &w);
        TEST_INFO("2^28 %s: %.3f of the bound", fill_name[f], e);
        CHECK(e <= 1);
    }
    CHECK_EQ(rg_close(c), 0);
}
