/* Random numbers in use: statistics, dropout and its gradient, chances by weight, plans that are found again, the list
 * for replays, and misuse. Bounds of statistics are at chances of about one in a million; seeds are fixed. */
/* clang-format off: ridge.h after base.h, which has the status codes too, and before internal.h, which takes it without its macros */
#include "base/base.h"
#include <ridge.h>
#include <test.h>
#include "api/internal.h"
/* clang-format on */

#include <stdio.h>
#include <stdlib.h>

#include "on_device.h"

/* ---- statistics ------------------------------------------------------------------------------------------ */

enum { N = 1 << 18 };
static float num[N];

static int by_value(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return x < y ? -1 : x > y;
}

/* Kolmogorov and Smirnov: the greatest distance from the distribution, times sqrt(n). */
static double distance(double (*chance_below)(double)) {
    double most = 0;
    qsort(num, N, sizeof *num, by_value);
    for (int i = 0; i < N; i++) {
        double f = chance_below((double)num[i]);
        double above = f - (double)i / N, below = (double)(i + 1) / N - f;
        if (above > most) most = above;
        if (below > most) most = below;
    }
    return most * sqrt(N);
}

static double uniform_below(double x) { return x; }
static double normal_below(double x) { return 0.5 * erfc(-x * M_SQRT1_2); }

static void moments(double *mean, double *var, double *fourth, double *next) {
    double sum = 0, square = 0, power = 0, along = 0, last = 0;
    for (int i = 0; i < N; i++) sum += (double)num[i];
    double middle = sum / N;
    for (int i = 0; i < N; i++) {
        double d = (double)num[i] - middle, q = d * d;
        square += q, power += q * q, along += d * last;
        last = d;
    }
    *mean = middle, *var = square / N, *fourth = power / N, *next = along / square;
}

TEST(random_statistics_uniform) {
    rg_ctx *c = open_on("CPU");
    double mean, var, fourth, next;
    read_all(rg_rand(c, RG_F32, RG_SHAPE(512, N / 512)), num, sizeof num);
    moments(&mean, &var, &fourth, &next);
    CHECK_NEAR(mean, 0.5, 5 * sqrt(1.0 / 12 / N));
    CHECK_NEAR(var, 1.0 / 12, 5 * sqrt(1.0 / 180 / N));
    CHECK_NEAR(next, 0, 5 / sqrt(N));
    double ks = distance(uniform_below);
    CHECK(ks < 2.7);
    CHECK(num[0] >= 0 && num[N - 1] < 1);
    TEST_INFO("uniform: mean %.5f, variance %.5f, distance %.2f", mean, var, ks);
    close_ctx(c);
}

TEST(random_statistics_normal) {
    rg_ctx *c = open_on("CPU");
    double mean, var, fourth, next;
    read_all(rg_randn(c, RG_F32, RG_SHAPE(N)), num, sizeof num);
    moments(&mean, &var, &fourth, &next);
    CHECK_NEAR(mean, 0, 5 / sqrt(N));
    CHECK_NEAR(var, 1, 5 * sqrt(2.0 / N));
    CHECK_NEAR(fourth, 3, 5 * sqrt(96.0 / N));
    CHECK_NEAR(next, 0, 5 / sqrt(N));
    double ks = distance(normal_below);
    CHECK(ks < 2.7);
    CHECK(num[0] < -4 && num[N - 1] > 4 && isfinite(num[0]) && isfinite(num[N - 1]));
    TEST_INFO("normal: mean %.5f, variance %.5f, distance %.2f", mean, var, ks);
    close_ctx(c);
}

/* ---- chances ------------------------------------------------------------------------------------------------ */

TEST(random_dropout_and_its_gradient) {
    const char *device[] = {"REF", "CPU"};
    enum { M = 20000 };
    static float x[M], y[M], dx[M], before[M];
    for (int i = 0; i < M; i++) x[i] = (float)(i % 7 + 1);
    for (int d = 0; d < 2; d++) {
        rg_ctx *c = open_on(device[d]);
        rg_tensor t = rg_from(c, RG_F32, x, RG_SHAPE(100, M / 100)), drop = rg_dropout(t, 0.25), grad;
        rg_tensor of = rg_sum(drop);
        CHECK_EQ(rg_grad(of, RG_TENSORS(t), &grad), 0);
        read_all(grad, dx, sizeof dx); /* the gradient first: the mask is not one that was kept */
        read_all(drop, y, sizeof y);
        int kept = 0;
        for (int i = 0; i < M; i++) {
            float keep = y[i] != 0, scale = (float)(1 / 0.75);
            CHECK_NEAR(y[i], keep * x[i] * scale, 1e-5);
            CHECK_NEAR(dx[i], keep * scale, 1e-6);
            kept += y[i] != 0;
        }
        CHECK_NEAR(kept, 0.75 * M, 5 * sqrt(0.75 * 0.25 * M));
        if (d) CHECK(!memcmp(before, y, sizeof y)); /* the same on both devices */
        memcpy(before, y, sizeof y);
        CHECK_NEAR(rg_item(rg_sum(rg_dropout(t, 1))), 0, 0);
        read_all(rg_dropout(t, 0), y, sizeof y);
        CHECK(!memcmp(x, y, sizeof x));
        close_ctx(c);
    }
}

/* y and dx together are one kernel that reads x and writes two results: the mask is not stored. */
TEST(random_dropout_stores_no_mask) {
    rg_ctx *c = open_on("CPU");
    static float x[1 << 16];
    rg_tensor t = rg_from(c, RG_F32, x, RG_SHAPE(1 << 16)), y = rg_dropout(t, 0.5), seed, dx;
    seed = rg_from(c, RG_F32, x, RG_SHAPE(1 << 16));
    CHECK_EQ(rg_grad(y, RG_TENSORS(t), &dx, .seed = seed), 0);
    rg_usage before, after;
    CHECK_EQ(rg_stats(c, &before), 0);
    CHECK_EQ(rg_realize_all(RG_TENSORS(y, dx)), 0);
    CHECK_EQ(rg_stats(c, &after), 0);
    CHECK_EQ(after.kernels - before.kernels, 1);
    CHECK_EQ(after.moved - before.moved, 4 * sizeof x);
    close_ctx(c);
}

TEST(random_bernoulli) {
    const char *device[] = {"REF", "CPU"};
    enum { M = 6000 };
    float p[6] = {0, 0.1f, 0.5f, 0.9f, 1, NAN}, y[6][M];
    const rg_dtype dt[] = {RG_F32, RG_F64, RG_F16, RG_BF16};
    for (int d = 0; d < 8; d++) {
        rg_ctx *c = open_on(device[d / 4]);
        rg_tensor t = rg_cast(rg_from(c, RG_F32, p, RG_SHAPE(6, 1)), dt[d % 4]);
        rg_tensor b = rg_bernoulli(rg_expand(t, RG_SHAPE(6, M)));
        CHECK_EQ(rg_dtype_of(b), dt[d % 4]);
        read_all(rg_cast(b, RG_F32), y, sizeof y);
        for (int k = 0; k < 6; k++) {
            int ones = 0;
            for (int i = 0; i < M; i++) {
                CHECK(y[k][i] == 0 || y[k][i] == 1);
                ones += y[k][i] == 1;
            }
            double chance = k == 5 ? 0 : (double)p[k];
            CHECK_NEAR(ones, chance * M,
                       5 * sqrt(chance * (1 - chance) * M) +
                           (d % 4 > 1 ? 0.004 * M * (k == 1 || k == 3) : 0));
        }
        close_ctx(c);
    }
}

TEST(random_multinomial) {
    const char *device[] = {"REF", "CPU"};
    enum { M = 3000 };
    float w[2][4] = {{1, 0, 3, 6}, {0, 2, 2, 0}};
    static int64_t at[2][2][M];
    int64_t few[2][2][2][2];
    for (int d = 0; d < 2; d++) {
        rg_ctx *c = open_on(device[d]);
        rg_tensor t = rg_from(c, RG_F32, w, RG_SHAPE(2, 4));
        read_all(rg_multinomial(t, M, true), at[d], sizeof at[d]);
        for (int r = 0; r < 2; r++) {
            int count[4] = {0};
            for (int i = 0; i < M; i++) {
                CHECK(at[d][r][i] >= 0 && at[d][r][i] < 4 && w[r][at[d][r][i]] > 0);
                count[at[d][r][i]]++;
            }
            for (int k = 0; k < 4; k++) {
                double p = (double)w[r][k] / (r ? 4 : 10);
                CHECK_NEAR(count[k], p * M, 5 * sqrt(p * (1 - p) * M));
            }
        }
        /* Without replacement: the pairs of row 0 are (first, second) with chance w1/10 * w2/(10 - w1). */
        int pairs[4][4] = {0};
        enum { TIMES = 800 };
        float many[TIMES][4];
        static int64_t got[TIMES][2];
        for (int i = 0; i < TIMES; i++) memcpy(many[i], w[0], sizeof many[i]);
        read_all(rg_multinomial(rg_from(c, RG_F32, many, RG_SHAPE(TIMES, 4)), 2, false), got, sizeof got);
        for (int i = 0; i < TIMES; i++) {
            CHECK(got[i][0] != got[i][1] && got[i][0] != 1 && got[i][1] != 1);
            pairs[got[i][0]][got[i][1]]++;
        }
        for (int a = 0; a < 4; a++)
            for (int b = 0; b < 4; b++) {
                double p = a == b ? 0 : (double)(w[0][a] / 10 * w[0][b] / (10 - w[0][a]));
                CHECK_NEAR(pairs[a][b], p * TIMES, 5 * sqrt(p * (1 - p) * TIMES));
            }
        read_all(rg_multinomial(t, 2, false), few[d], sizeof few[d] / 2);
        close_ctx(c);
    }
    CHECK(!memcmp(at[0], at[1], sizeof at[0]));
    CHECK(!memcmp(few[0], few[1], sizeof few[0] / 2));
}

/* ---- plans ------------------------------------------------------------------------------------------------------- */

TEST(random_same_in_every_plan) {
    static float a[3][2][4000];
    const char *plan[] = {"cost", "store", "fuse"};
    for (int i = 0; i < 3; i++) {
        setenv("RIDGE_PLAN", plan[i], 1);
        env_reload();
        rg_ctx *c = open_on("CPU");
        rg_seed(c, 11);
        rg_tensor r = rg_rand(c, RG_F32, RG_SHAPE(40, 100)), s = rg_rand(c, RG_F32, RG_SHAPE(40, 100));
        read_all(rg_maximum(r, s), a[i][0], sizeof a[i][0]);
        read_all(rg_dropout(r, 0.5), a[i][1], sizeof a[i][1]);
        close_ctx(c);
    }
    CHECK(!memcmp(a[0], a[1], sizeof a[0]) && !memcmp(a[0], a[2], sizeof a[0]));
}

/* Steps that draw alike find their plan; only numbers differ. */
TEST(random_steps_find_their_plan) {
    rg_ctx *c = open_on("CPU");
    enum { STEPS = 12, M = 1000 };
    static float x[M], y[2][M];
    rg_tensor t = rg_from(c, RG_F32, x, RG_SHAPE(M));
    rg_usage early = {0}, late;
    for (int i = 0; i < STEPS; i++) {
        rg_scope s = rg_begin(c);
        rg_tensor a = rg_dropout(rg_add(t, 1), 0.5);
        rg_tensor b = rg_dropout(rg_mul(a, a), 0.3);
        read_all(b, y[i % 2], sizeof y[0]);
        rg_end(s);
        if (i) CHECK(memcmp(y[0], y[1], sizeof y[0]) != 0);
        if (i == 1) rg_stats(c, &early);
        if (i == 6) rg_seed(c, 5); /* a new key is a number too */
    }
    rg_stats(c, &late);
    CHECK_EQ(late.cached - early.cached, STEPS - 2);
    CHECK(late.nodes < early.nodes + 50);
    close_ctx(c);
}

/* ---- for replays --------------------------------------------------------------------------------------------------- */

TEST(random_draws_are_noted) {
    rg_ctx *c = open_on("REF");
    uint32_t n;
    rg_rand(c, RG_F32, RG_SHAPE(5));
    random_draws(c, &n);
    CHECK_EQ(n, 0);
    random_mark(c);
    rg_tensor a = rg_rand(c, RG_F32, RG_SHAPE(3));
    rg_randn(c, RG_F64, RG_SHAPE(4)); /* two counters for each */
    rg_rand(c, RG_F32, RG_SHAPE(0));
    for (int i = 0; i < 100; i++) rg_rand(c, RG_F32, RG_SHAPE(2));
    const struct draw *d = random_draws(c, &n);
    CHECK_EQ(n, 102);
    CHECK_EQ(d[0].offset, 0);
    CHECK_EQ(d[1].offset, 3);
    CHECK_EQ(d[2].offset, 11);
    CHECK_EQ(d[101].offset, 11 + 99 * 2);
    CHECK_EQ(c->drawn, 5 + 11 + 200);
    uint64_t v;
    CHECK(map_get(&c->graph->vars, d[1].var, &v) && v == 8);
    CHECK(map_get(&c->graph->vars, c->key_var, &v) && v == 0);
    random_unmark(c);
    rg_rand(c, RG_F32, RG_SHAPE(3));
    random_draws(c, &n);
    CHECK_EQ(n, 102);
    random_mark(c);
    random_draws(c, &n);
    CHECK_EQ(n, 0);
    /* The key is one VAR with versions, also after everything was forgotten. */
    uint32_t first = c->key_first;
    rg_free(a);
    rg_usage u;
    rg_stats(c, &u);
    gr_compact(c);
    rg_seed(c, ~(uint64_t)0);
    float x[2];
    read_all(rg_rand(c, RG_F32, RG_SHAPE(2)), x, sizeof x);
    CHECK(map_get(&c->graph->vars, c->key_var, &v) && v == ~(uint64_t)0);
    CHECK(map_get(&c->graph->var_of, c->key_var, &v) && v == first - 1);
    CHECK_EQ(c->key_first, first);
    close_ctx(c);
}

/* ---- misuse ---------------------------------------------------------------------------------------------------------- */

static void fails(rg_ctx *c, const char *words) {
    CHECK_EQ(rg_status_of(c), RG_EINVAL);
    if (!strstr(rg_error(c), words)) FAIL("the error is\n  %s\nexpected\n  %s", rg_error(c), words);
    rg_clear_error(c);
    CHECK_EQ(c->drawn, 0); /* nothing is taken by a call that fails */
}

TEST(random_misuse) {
    rg_ctx *c = open_on("REF");
    rg_tensor f = rg_ones(c, RG_F32, RG_SHAPE(2, 3)), i = rg_ones(c, RG_I32, RG_SHAPE(2)),
              e = rg_ones(c, RG_F32, RG_SHAPE(2, 0));
#define BAD(call, words) ((void)(call), fails(c, words))
    BAD(rg_rand(c, RG_I32, RG_SHAPE(2)),
        "rg_rand: random numbers of dtype i32; expected a float dtype (randint");
    BAD(rg_randn(c, RG_BOOL, RG_SHAPE(2)), "rg_randn: random numbers of dtype bool");
    BAD(rg_rand(c, RG_F32, RG_SHAPE(2, -1)), "rg_rand: shape (2, -1): axis 1 has size -1");
    BAD(rg_randn(c, RG_F32, RG_LIST(NULL, 2)), "rg_randn: the list of sizes is NULL");
    BAD(rg_rand(c, (rg_dtype)99, RG_SHAPE(2)), "there is no dtype number 99");
    BAD(rg_rand_like(i), "rg_rand_like: random numbers of dtype i32");
    BAD(rg_uniform(c, RG_F32, 2, 2, RG_SHAPE(2)),
        "uniform numbers from 2 to 2; expected a lower bound below");
    BAD(rg_uniform(c, RG_F32, 1, 1 + 1e-12, RG_SHAPE(2)), "in f32 both are 1");
    BAD(rg_uniform(c, RG_F32, NAN, 2, RG_SHAPE(2)), "uniform numbers from");
    BAD(rg_uniform(c, RG_F32, -3e38, 3e38, RG_SHAPE(2)), "f32 does not reach that far");
    BAD(rg_normal(c, RG_F32, 0, -1, RG_SHAPE(2)),
        "deviation -1; expected finite numbers, the deviation 0 or more");
    BAD(rg_randint(c, RG_I32, 5, 5, RG_SHAPE(2)), "random integers from 5 up to, not including, 5");
    BAD(rg_randint(c, RG_F32, 0, 5, RG_SHAPE(2)), "random integers of dtype f32; expected an integer dtype");
    BAD(rg_randint(c, RG_I8, 0, 129, RG_SHAPE(2)), "128 is not a number of i8");
    BAD(rg_randint(c, RG_U8, -1, 4, RG_SHAPE(2)), "-1 is not a number of u8");
    BAD(rg_randint(c, RG_I8, 0, 4, RG_SHAPE(-2)), "axis 0 has size -2");
    BAD(rg_randperm(c, RG_I32, -1), "a permutation of -1 numbers; expected 0 or more");
    BAD(rg_randperm(c, RG_I8, 129), "128 is not a number of i8");
    BAD(rg_glorot_uniform(c, RG_F32, RG_SHAPE(4)),
        "a weight of shape (4); expected (out, in) and perhaps more axes");
    BAD(rg_kaiming_uniform(c, RG_F32, INFINITY, RG_SHAPE(4, 4)), "a slope of inf; expected a finite number");
    BAD(rg_dropout(f, 1.5), "dropout with probability 1.5; expected 0 to 1");
    BAD(rg_dropout(f, -0.1), "dropout with probability -0.1; expected 0 to 1");
    BAD(rg_dropout(f, NAN), "expected 0 to 1");
    BAD(rg_dropout(i, 0.5), "dropout of dtype i32; expected floats");
    BAD(rg_bernoulli(i), "bernoulli of dtype i32; expected floats");
    BAD(rg_multinomial(f, 4, false), "4 different samples of 3 weights; draw with replacement, or fewer");
    BAD(rg_multinomial(f, -1, true), "-1 samples of weights of shape (2, 3)");
    BAD(rg_multinomial(e, 1, true), "1 samples of weights of shape (2, 0)");
    BAD(rg_multinomial(rg_ones(c, RG_F32, RG_SHAPE()), 1, true),
        "weights of shape (); expected at least one");
    CHECK_EQ(rg_seed(NULL, 1), RG_EINVAL);
    close_ctx(c);
}
