/* Random numbers: known answers of Threefry from Random123, the numbers of each function against a Threefry written here,
 * the same numbers from every device and plan, statistics with fixed seeds, and misuse.
 * Bounds of statistics are at chances of about one in a million; with fixed seeds they hold or not for ever. */
#include "ir/ir.h"
#include "ref/ref.h"
#include "on_device.h"

#include <ridge.h>
#include <test.h>

#include <stdio.h>
#include <stdlib.h>

/* ---- the bits ------------------------------------------------------------------------------------------- */

/* kat_vectors of Random123: "threefry2x32 20", counter, key, result. */
static const struct known {
    uint32_t counter[2], key[2], want[2];
} known[] = {
    {{0, 0}, {0, 0}, {0x6b200159, 0x99ba4efe}},
    {{0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}, {0x1cb996fc, 0xbb002be7}},
    {{0x243f6a88, 0x85a308d3}, {0x13198a2e, 0x03707344}, {0xc4923a9c, 0x483df7a0}},
};
static uint64_t join(const uint32_t *w) { return (uint64_t)w[1] << 32 | w[0]; }

TEST(random_known_answers) {
    for (size_t i = 0; i < RG_COUNT(known); i++) {
        union val s[2] = {{.i = (int64_t)join(known[i].counter)}, {.i = (int64_t)join(known[i].key)}}, v;
        CHECK(op_eval(OP_THREEFRY, DT_U64, DT_U64, s, &v));
        CHECK_EQ(v.i, (int64_t)join(known[i].want));
        union ref_val t[3] = {{.i = s[0].i}, {.i = s[1].i}}, r;
        CHECK(ref_eval(OP_THREEFRY, DT_U64, DT_U64, t, &r));
        CHECK_EQ(r.i, (int64_t)join(known[i].want));
    }
}

/* A third one, only here: what the numbers of the public functions are made of. */
static uint64_t bits(uint64_t counter, uint64_t key) {
    static const int turn[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
    uint32_t k[3] = {(uint32_t)key, (uint32_t)(key >> 32)},
             x[2] = {(uint32_t)counter, (uint32_t)(counter >> 32)};
    k[2] = k[0] ^ k[1] ^ 0x1bd11bda;
    x[0] += k[0], x[1] += k[1];
    for (uint32_t s = 1; s <= 5; s++) {
        for (int i = 0; i < 4; i++) {
            int by = turn[(s - 1) % 2][i];
            x[0] += x[1];
            x[1] = (x[1] << by | x[1] >> (32 - by)) ^ x[0];
        }
        x[0] += k[s % 3], x[1] += k[(s + 1) % 3] + s;
    }
    return join(x);
}

TEST(random_known_answers_of_the_tests) {
    for (size_t i = 0; i < RG_COUNT(known); i++)
        CHECK_EQ(bits(join(known[i].counter), join(known[i].key)), (int64_t)join(known[i].want));
}

/* Compiled code, with a key of 64 bits and a counter that passes from one word to the next in the middle of a draw. */
enum { MANY = 300 };
static void expect_bits(rg_ctx *c, uint64_t key, uint64_t from) {
    int64_t got[MANY];
    rg_tensor t = rg_randint(c, RG_I64, INT64_MIN, INT64_MAX, RG_SHAPE(MANY));
    read_all(t, got, sizeof got);
    for (int i = 0; i < MANY; i++) {
        uint64_t want = (uint64_t)(((unsigned __int128)bits(from + (uint64_t)i, key) * UINT64_MAX) >> 64);
        if ((uint64_t)got[i] - (uint64_t)INT64_MIN != want)
            FAIL("element %d of %s, key %llx, from %llx: %llx, expected %llx", i, rg_device(c),
                 (unsigned long long)key, (unsigned long long)from,
                 (unsigned long long)got[i] - (uint64_t)INT64_MIN, (unsigned long long)want);
    }
    rg_free(t);
}

TEST(random_bits_of_64) {
    const char *device[] = {"REF", "CPU"};
    for (int d = 0; d < 2; d++) {
        rg_ctx *c = open_on(device[d]);
        expect_bits(c, 0, 0);
        expect_bits(c, 0, MANY);
        rg_seed(c, 0xfedcba9876543210);
        expect_bits(c, 0xfedcba9876543210, 0);
        rg_seed(c, ((uint64_t)1 << 53) + 1);                       /* no double */
        rg_tensor skip = rg_rand(c, RG_F32, RG_SHAPE(0xffffff00)); /* drawn, never computed */
        expect_bits(c, ((uint64_t)1 << 53) + 1, 0xffffff00);
        skip = rg_rand(c, RG_F32, RG_SHAPE((int64_t)1 << 60)); /* counters beyond 2^53 */
        expect_bits(c, ((uint64_t)1 << 53) + 1, (uint64_t)0xffffff00 + MANY + ((uint64_t)1 << 60));
        rg_free(skip);
        close_ctx(c);
    }
}

/* ---- every function, every dtype ------------------------------------------------------------------------------ */

static double unit_of(uint64_t b, int digits) {
    return digits == 53 ? ldexp((double)(b >> 11), -53)
                        : ldexp((double)((uint32_t)b >> (32 - digits)), -digits);
}

static void expect_rand(rg_ctx *c, rg_dtype dt, int digits, uint64_t *from) {
    double got[100];
    rg_tensor r = rg_rand(c, dt, RG_SHAPE(4, 25)), t = rg_cast(r, RG_F64);
    CHECK_EQ(rg_dtype_of(r), dt);
    read_all(t, got, sizeof got);
    for (int i = 0; i < 100; i++) CHECK_NEAR(got[i], unit_of(bits(*from + (uint64_t)i, 7), digits), 0);
    *from += 100;
}

static void expect_randn(rg_ctx *c, rg_dtype dt, double tol, uint64_t *from) {
    double got[100];
    rg_tensor r = rg_randn(c, dt, RG_SHAPE(100)), t = rg_cast(r, RG_F64);
    CHECK_EQ(rg_dtype_of(r), dt);
    read_all(t, got, sizeof got);
    for (int i = 0; i < 100; i++) {
        uint64_t b = bits(*from + (uint64_t)i, 7), b2 = bits(*from + 100 + (uint64_t)i, 7);
        double u1 = ldexp((double)((uint32_t)b >> 1) + 1, -31), u2 = unit_of(b >> 32, 24);
        if (dt == RG_F64) u1 = ldexp((double)(b >> 11) + 1, -53), u2 = unit_of(b2, 53);
        CHECK_NEAR(got[i], sqrt(-2 * log(u1)) * cos(2 * M_PI * u2), tol);
    }
    *from += dt == RG_F64 ? 200 : 100;
}

TEST(random_floats_are_these_bits) {
    const char *device[] = {"REF", "CPU"};
    for (int d = 0; d < 2; d++) {
        rg_ctx *c = open_on(device[d]);
        uint64_t from = 0;
        rg_seed(c, 7);
        expect_rand(c, RG_F32, 24, &from);
        expect_rand(c, RG_F64, 53, &from);
        expect_rand(c, RG_F16, 11, &from);
        expect_rand(c, RG_BF16, 8, &from);
        expect_randn(c, RG_F32, 4e-6, &from);
        expect_randn(c, RG_F64, 1e-14, &from);
        expect_randn(c, RG_F16, 4e-3, &from);
        expect_randn(c, RG_BF16, 3e-2, &from);
        expect_rand(c, RG_F32, 24, &from);
        close_ctx(c);
    }
}

TEST(random_uniform_and_normal) {
    rg_ctx *c = open_on("CPU");
    enum { N = 5000 };
    static float a[N], b[N];
    rg_seed(c, 3);
    read_all(rg_uniform(c, RG_F32, -2, 5, RG_SHAPE(N)), a, sizeof a);
    read_all(rg_normal(c, RG_F32, 10, 0.5, RG_SHAPE(N)), b, sizeof b);
    for (int i = 0; i < N; i++) {
        uint64_t k = bits((uint64_t)i, 3), l = bits((uint64_t)(N + i), 3);
        CHECK_NEAR(a[i], -2 + 7 * unit_of(k, 24), 1e-6);
        double z =
            sqrt(-2 * log(ldexp((double)((uint32_t)l >> 1) + 1, -31))) * cos(2 * M_PI * unit_of(l >> 32, 24));
        CHECK_NEAR(b[i], 10 + z / 2, 3e-6);
    }
    /* The upper bound is never met, also where rounding would reach it: three numbers are left of [1 - 2^-9, 1 + 2^-9). */
    static float h[N];
    rg_tensor u = rg_uniform(c, RG_BF16, 1 - 0x1p-7, 1 + 0x1p-7, RG_SHAPE(N));
    read_all(rg_cast(u, RG_F32), h, sizeof h);
    for (int i = 0; i < N; i++) CHECK(h[i] >= 1 - 0x1p-7f && h[i] < 1 + 0x1p-7f);
    read_all(rg_uniform(c, RG_F32, 16777216, 16777220, RG_SHAPE(N)), h, sizeof h);
    for (int i = 0; i < N; i++) CHECK(h[i] >= 16777216 && h[i] < 16777220);
    read_all(rg_uniform(c, RG_F32, -1, 0, RG_SHAPE(N)), h, sizeof h);
    for (int i = 0; i < N; i++) CHECK(h[i] >= -1 && h[i] < 0);
    close_ctx(c);
}

TEST(random_weights) {
    rg_ctx *c = open_on("CPU");
    static float a[40 * 9 * 10];
    /* (out, in, ..) = (40, 9, 2, 5): fan in 90, fan out 400 */
    struct {
        rg_tensor t;
        double bound, deviation;
    } row[] = {
        {rg_glorot_uniform(c, RG_F32, RG_SHAPE(40, 9, 2, 5)), sqrt(6.0 / 490), sqrt(2.0 / 490)},
        {rg_kaiming_uniform(c, RG_F32, 0, RG_SHAPE(40, 9, 2, 5)), sqrt(6.0 / 90), sqrt(2.0 / 90)},
        {rg_kaiming_uniform(c, RG_F32, sqrt(5), RG_SHAPE(40, 9, 2, 5)), sqrt(1.0 / 90), sqrt(1.0 / 270)},
        {rg_kaiming_normal(c, RG_F32, 2, RG_SHAPE(40, 9, 2, 5)), 1, sqrt(2.0 / 450)},
    };
    for (size_t k = 0; k < RG_COUNT(row); k++) {
        read_all(row[k].t, a, sizeof a);
        double most = 0, sum = 0, square = 0;
        for (int i = 0; i < 3600; i++)
            most = fmax(most, fabs(a[i])), sum += a[i], square += (double)a[i] * a[i];
        CHECK(most <= row[k].bound);
        CHECK(k == 3 || most > 0.99 * row[k].bound);
        CHECK_NEAR(sum / 3600, 0, 5 * row[k].deviation / 60);
        CHECK_NEAR(sqrt(square / 3600) / row[k].deviation, 1, 0.06);
    }
    close_ctx(c);
}

TEST(random_shapes) {
    const char *device[] = {"REF", "CPU"};
    for (int d = 0; d < 2; d++) {
        rg_ctx *c = open_on(device[d]);
        float v[8];
        CHECK_NEAR(rg_item(rg_rand(c, RG_F32, RG_SHAPE())), unit_of(bits(0, 0), 24), 0);
        rg_tensor none = rg_rand(c, RG_F32, RG_SHAPE(3, 0, 2)), empty = rg_randn(c, RG_F64, RG_SHAPE(0));
        CHECK_EQ(rg_size(none), 0);
        read_all(none, v, 0), read_all(empty, v, 0);
        read_all(rg_randperm(c, RG_I32, 0), v, 0);
        read_all(rg_dropout(none, 0.5), v, 0);
        read_all(rg_bernoulli(none), v, 0);
        read_all(rg_kaiming_uniform(c, RG_F32, 0, RG_SHAPE(3, 0)), v, 0);
        CHECK_NEAR(rg_item(rg_rand(c, RG_F32, RG_SHAPE(1))), unit_of(bits(1, 0), 24),
                   0); /* nothing was drawn for nothing */
        rg_tensor like = rg_zeros(c, RG_F16, RG_SHAPE(2, 3)), r = rg_rand_like(like), n = rg_randn_like(like);
        CHECK(rg_dtype_of(r) == RG_F16 && rg_dtype_of(n) == RG_F16 && rg_dim(r, 1) == 3 && rg_dim(n, 0) == 2);
        read_all(rg_cast(r, RG_F32), v, 24);
        for (int i = 0; i < 6; i++) CHECK_NEAR(v[i], unit_of(bits(2 + (uint64_t)i, 0), 11), 0);
        read_all(rg_cast(n, RG_F32), v, 24);
        for (int i = 0; i < 6; i++) CHECK(isfinite(v[i]));
        close_ctx(c);
    }
}

/* ---- integers ------------------------------------------------------------------------------------------------- */

/* Chi-square of counts against equal chances, as a deviation in units of its own (Wilson and Hilferty). */
static double chi(const int *count, int k, int64_t n, const double *chance) {
    double x = 0, f = k - 1;
    for (int i = 0; i < k; i++) {
        double want = (double)n * (chance ? chance[i] : 1.0 / k);
        x += ((double)count[i] - want) * ((double)count[i] - want) / want;
    }
    return (cbrt(x / f) - (1 - 2 / (9 * f))) / sqrt(2 / (9 * f));
}

TEST(random_integers) {
    enum { N = 1 << 17 };
    static int32_t a[N];
    static int64_t b[N];
    rg_ctx *c = open_on("CPU");
    const int64_t range[] = {2, 3, 7, 10, 64, 1000};
    for (size_t k = 0; k < RG_COUNT(range); k++) {
        int count[1000] = {0};
        read_all(rg_randint(c, RG_I32, -5, -5 + range[k], RG_SHAPE(N)), a, sizeof a);
        for (int i = 0; i < N; i++) {
            CHECK(a[i] >= -5 && a[i] < -5 + range[k]);
            count[a[i] + 5]++;
        }
        CHECK_NEAR(chi(count, (int)range[k], N, NULL), 0, 5);
    }
    /* Ranges of more than 32 bits: as the product says, and every bit of the number is met. */
    const int64_t wide[] = {(int64_t)1 << 40, 3 * ((int64_t)1 << 61), INT64_MAX, 5000000000};
    for (size_t k = 0; k < RG_COUNT(wide); k++) {
        rg_seed(c, k);
        read_all(rg_randint(c, RG_I64, 0, wide[k], RG_SHAPE(N)), b, sizeof b);
        uint64_t some = 0, all = UINT64_MAX, top = 0;
        int count[16] = {0};
        for (int i = 0; i < N; i++) {
            uint64_t want = (uint64_t)(((unsigned __int128)bits((uint64_t)i, k) * (uint64_t)wide[k]) >> 64);
            CHECK_EQ(b[i], want);
            some |= want, all &= want, top = want > top ? want : top;
            count[(int)((double)want / (double)wide[k] * 16)]++;
        }
        int width = 64 - __builtin_clzll((uint64_t)wide[k] - 1);
        CHECK_EQ(some, width == 64 ? -1 : (int64_t)(((uint64_t)1 << width) - 1));
        CHECK_EQ(all, 0);
        CHECK_NEAR(chi(count, 16, N, NULL), 0, 5);
    }
    uint8_t u[1000];
    int seen = 0;
    read_all(rg_randint(c, RG_U8, 0, 256, RG_SHAPE(1000)), u, sizeof u);
    for (int i = 0; i < 1000; i++) seen |= u[i];
    CHECK_EQ(seen, 255);
    CHECK_EQ(rg_item(rg_randint(c, RG_I64, 41, 42, RG_SHAPE())), 41);
    close_ctx(c);
}

TEST(random_permutations) {
    const char *device[] = {"REF", "CPU"};
    int32_t first[2][100];
    for (int d = 0; d < 2; d++) {
        rg_ctx *c = open_on(device[d]);
        int32_t p[100];
        bool seen[100] = {0};
        rg_tensor t = rg_randperm(c, RG_I32, 100);
        read_all(t, p, sizeof p);
        for (int i = 0; i < 100; i++) {
            CHECK(p[i] >= 0 && p[i] < 100 && !seen[p[i]]);
            seen[p[i]] = true;
        }
        memcpy(first[d], p, sizeof p);
        int count[6] = {0}; /* the six orders of three */
        for (int i = 0; i < (d ? 600 : 60); i++) {
            int64_t q[3];
            rg_tensor s = rg_randperm(c, RG_I64, 3);
            read_all(s, q, sizeof q);
            count[q[0] * 2 + (q[1] > q[2])]++;
            rg_free(s);
        }
        CHECK_NEAR(chi(count, 6, d ? 600 : 60, NULL), 0, 5);
        close_ctx(c);
    }
    CHECK(!memcmp(first[0], first[1], sizeof first[0]));
}
