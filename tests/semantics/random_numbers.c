/* Semantics: random numbers. What a tensor holds is settled when it is made: by the seed and by what was drawn before. */
#include "sem.h"

#include <stdio.h>

enum { N = 40 };
#define READ(t, to)                                             \
    do {                                                        \
        if (rg_read(t, to, sizeof to)) FAIL("%s", rg_error(c)); \
    } while (0)

static bool equal(const float *a, const float *b) { return !memcmp(a, b, N * sizeof *a); }

CASE(random_read_twice) {
    float a[N], b[N], twice[N];
    rg_tensor r = rg_rand(c, RG_F32, RG_SHAPE(N)), s = rg_mul(r, 2);
    READ(r, a);
    READ(s, twice); /* computed later, perhaps from what was stored and perhaps again */
    READ(r, b);
    CHECK(equal(a, b));
    for (int i = 0; i < N; i++) CHECK(twice[i] == 2 * a[i]);
}

CASE(random_expressions_agree) { /* two users of a draw see one draw, whether it is stored or made again */
    float zero[N];
    rg_tensor r = rg_randn(c, RG_F32, RG_SHAPE(N));
    rg_tensor x = rg_add(r, 1), y = rg_sub(r, 1);
    rg_tensor sx = rg_sum(x), sy = rg_sum(y);
    CHECK_NEAR(rg_item(rg_sub(sx, sy)), 2 * N, 1e-3);
    READ(rg_sub(rg_sub(x, y), 2), zero);
    for (int i = 0; i < N; i++) CHECK_NEAR(zero[i], 0, 1e-6);
}

CASE(random_draws_differ) {
    float a[N], b[N];
    rg_tensor r = rg_rand(c, RG_F32, RG_SHAPE(N)), s = rg_rand(c, RG_F32, RG_SHAPE(N));
    READ(r, a);
    READ(s, b);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) CHECK(a[i] != b[j] && (i == j || a[i] != a[j]));
}

CASE(random_seed_repeats) {
    float a[N], b[N], d[N];
    rg_tensor r = rg_rand(c, RG_F32, RG_SHAPE(N));
    CHECK_EQ(rg_seed(c, 0), 0); /* as a context begins */
    rg_tensor s = rg_rand(c, RG_F32, RG_SHAPE(N));
    CHECK_EQ(rg_seed(c, 1), 0);
    rg_tensor t = rg_rand(c, RG_F32, RG_SHAPE(N));
    READ(t, d);
    READ(s, b);
    READ(r, a); /* drawn under the first seed, computed after the second was set */
    CHECK(equal(a, b) && !equal(a, d));
}

CASE(random_order_of_creation) {
    float a[N], b[N], a2[N], b2[N];
    rg_seed(c, 9);
    rg_tensor r = rg_rand(c, RG_F32, RG_SHAPE(N)), s = rg_rand(c, RG_F32, RG_SHAPE(N));
    READ(r, a);
    READ(s, b);
    rg_seed(c, 9);
    rg_tensor t = rg_rand(c, RG_F32, RG_SHAPE(N)), u = rg_rand(c, RG_F32, RG_SHAPE(N));
    READ(u, b2); /* the other way round */
    READ(t, a2);
    CHECK(equal(a, a2) && equal(b, b2));
}

CASE(random_part_of_a_draw) { /* shape does not matter, and neither does asking for a part only */
    float a[N], row[N / 4];
    rg_seed(c, 4);
    READ(rg_rand(c, RG_F32, RG_SHAPE(N)), a);
    rg_seed(c, 4);
    rg_tensor m = rg_rand(c, RG_F32, RG_SHAPE(4, N / 4));
    READ(rg_select(m, 0, 2), row);
    for (int i = 0; i < N / 4; i++) CHECK(row[i] == a[2 * (N / 4) + i]);
}

CASE(random_assigned_stays) {
    float a[N], b[N];
    rg_tensor w = rg_zeros(c, RG_F32, RG_SHAPE(N));
    rg_assign(w, rg_randn(c, RG_F32, RG_SHAPE(N)));
    READ(w, a);
    rg_tensor other = rg_randn(c, RG_F32, RG_SHAPE(N));
    READ(other, b);
    CHECK(!equal(a, b));
    READ(w, b);
    CHECK(equal(a, b));
}

CASE(random_after_collections) { /* handles that were freed, and a key that nothing held */
    float a[N], b[N];
    for (int i = 0; i < 300; i++) rg_free(rg_rand(c, RG_F32, RG_SHAPE(3)));
    sem_usage(c);
    READ(rg_rand(c, RG_F32, RG_SHAPE(N)), a);
    rg_seed(c, 0);
    rg_free(rg_rand(c, RG_F32, RG_SHAPE(900)));
    READ(rg_rand(c, RG_F32, RG_SHAPE(N)), b);
    CHECK(equal(a, b));
}
