/* Semantics: random programs against the simplest model there is: a handle is an array of its own.
 * Computing, viewing, assigning whole tensors and parts, freeing, realizing, reading now and later, in any order; after any of it
 * each living handle must hold what its array holds. Integers that wrap: every comparison is exact. */
#include "sem.h"

#include <stdio.h>
#include <stdlib.h>

enum { N = 6, LIVE = 10 };

struct model {
    rg_ctx *c;
    uint64_t seed;
    rg_tensor t[LIVE];
    int32_t v[LIVE][N];
    bool alive[LIVE], view[LIVE];
    int32_t later[4][N], want_later[4][N]; /* asynchronous reads under way */
    int nlater;
    int steps, line;
    char log[6000]; /* what was done, for a failure */
};

static uint32_t roll(struct model *m, uint32_t n) {
    m->seed = m->seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(m->seed >> 33) % n;
}

static void note(struct model *m, const char *fmt, int a, int b, int k) {
    size_t at = strlen(m->log);
    if (at + 60 < sizeof m->log) snprintf(m->log + at, 60, fmt, a, b, k);
}

static int pick(struct model *m) { /* a living one, or -1 */
    int first = (int)roll(m, LIVE);
    for (int i = 0; i < LIVE; i++)
        if (m->alive[(first + i) % LIVE]) return (first + i) % LIVE;
    return -1;
}

static void put(struct model *m, int i, rg_tensor t, const int32_t *v, bool view) {
    if (m->alive[i]) rg_free(m->t[i]);
    m->t[i] = t, m->alive[i] = true, m->view[i] = view;
    memmove(m->v[i], v, sizeof m->v[i]);
}

static void check(struct model *m, int i, const int32_t *got, const int32_t *want) {
    for (int j = 0; j < N; j++)
        if (got[j] != want[j])
            FAIL("seed %llu: t%d[%d] is %d, expected %d, after\n%s", (unsigned long long)m->seed, i, j,
                 got[j], want[j], m->log);
}

static int32_t plus(int32_t a, int32_t b) { return (int32_t)((uint32_t)a + (uint32_t)b); }

/* An expression of living tensors, with its value. */
static rg_tensor expression(struct model *m, int32_t *v, bool *view) {
    rg_ctx *c = m->c;
    int a = pick(m), b = pick(m), k = (int)roll(m, 9) - 4;
    *view = false;
    if (a < 0) {
        for (int i = 0; i < N; i++) v[i] = (int32_t)roll(m, 100);
        return rg_from(c, RG_I32, v, RG_SHAPE(N));
    }
    switch (roll(m, 7)) {
    case 0:
        for (int i = 0; i < N; i++) v[i] = (int32_t)roll(m, 100);
        note(m, "from ", 0, 0, 0);
        return rg_from(c, RG_I32, v, RG_SHAPE(N));
    case 1:
        for (int i = 0; i < N; i++) v[i] = plus(m->v[a][i], m->v[b][i]);
        note(m, "t%d+t%d ", a, b, 0);
        return rg_add(m->t[a], m->t[b]);
    case 2:
        for (int i = 0; i < N; i++) v[i] = plus(m->v[a][i], k);
        note(m, "t%d+%d ", a, k, 0);
        return rg_add(m->t[a], k);
    case 3:
        for (int i = 0; i < N; i++) v[i] = m->v[a][N - 1 - i];
        *view = true;
        note(m, "flip(t%d) ", a, 0, 0);
        return rg_flip(m->t[a], RG_AXES(0));
    case 4:
        for (int i = 0; i < N; i++) v[i] = m->v[a][(i % 2) * (N / 2) + i / 2];
        *view = true;
        note(m, "shuffle(t%d) ", a, 0, 0);
        return rg_reshape(rg_transpose(rg_reshape(m->t[a], RG_SHAPE(2, N / 2)), 0, 1), RG_SHAPE(N));
    case 5: {
        int32_t sum = 0;
        for (int i = 0; i < N; i++) sum = plus(sum, m->v[a][i]);
        for (int i = 0; i < N; i++) v[i] = plus(m->v[b][i], sum);
        note(m, "t%d+sum(t%d) ", b, a, 0);
        return rg_add(m->t[b], rg_cast(rg_sum(m->t[a]), RG_I32));
    }
    default:
        memcpy(v, m->v[a], sizeof m->v[a]);
        *view = true;
        note(m, "same(t%d) ", a, 0, 0);
        return rg_reshape(m->t[a], RG_SHAPE(N));
    }
}

static void assign(struct model *m, int i) {
    int32_t v[N];
    bool view;
    rg_tensor t = expression(m, v, &view);
    if (roll(m, 2)) {
        note(m, "-> t%d; ", i, 0, 0);
        rg_assign(m->t[i], t);
        memcpy(m->v[i], v, sizeof v);
    } else { /* a part: from .. to by step */
        int from = (int)roll(m, N), step = 1 + (int)roll(m, 2), n = 1 + (N - 1 - from) / step;
        note(m, "-> t%d[%d::%d]; ", i, from, step);
        rg_assign_slice(m->t[i], rg_slice(t, RG_SLICES(RG_TO(n))), RG_SLICES(RG_STEP(from, RG_END, step)));
        for (int j = 0; j < n; j++) m->v[i][from + j * step] = v[j];
    }
    rg_free(t);
}

static void read_later(struct model *m, int i) {
    if (m->nlater == 4) return;
    memcpy(m->want_later[m->nlater], m->v[i], sizeof m->v[i]);
    note(m, "later t%d; ", i, 0, 0);
    rg_read_async(m->t[i], m->later[m->nlater++], sizeof m->later[0]);
}

static void step(struct model *m) {
    int i = pick(m), to = (int)roll(m, LIVE);
    uint32_t what = i < 0 ? 0 : roll(m, 20);
    int32_t got[N], v[N];
    bool view = false;
    if (what < 8) {
        rg_tensor t = expression(m, v, &view);
        note(m, "=: t%d; ", to, 0, 0);
        put(m, to, t, v, view);
    } else if (what < 14) {
        if (!m->view[i]) assign(m, i);
    } else if (what == 14) {
        note(m, "free t%d; ", i, 0, 0);
        rg_free(m->t[i]);
        m->alive[i] = false;
    } else if (what == 15) {
        note(m, "realize t%d; ", i, 0, 0);
        rg_realize(m->t[i]);
    } else if (what == 16) {
        read_later(m, i);
    } else if (what == 17) {
        note(m, "wait; ", 0, 0, 0);
        if (rg_wait(m->c)) FAIL("%s after\n%s", rg_error(m->c), m->log);
        for (int k = 0; k < m->nlater; k++) check(m, -1, m->later[k], m->want_later[k]);
        m->nlater = 0;
    } else {
        note(m, "read t%d; ", i, 0, 0);
        if (rg_read(m->t[i], got, sizeof got)) FAIL("%s after\n%s", rg_error(m->c), m->log);
        check(m, i, got, m->v[i]);
    }
    if (rg_status_of(m->c)) FAIL("%s after\n%s", rg_error(m->c), m->log);
}

static void run(const char *device, uint64_t seed, int steps) {
    struct model m = {.c = rg_open(device), .seed = seed};
    int32_t got[N];
    if (rg_status_of(m.c)) NO_CUDA(rg_error(m.c));
    for (int i = 0; i < steps; i++) step(&m);
    for (int i = 0; i < LIVE; i++) {
        if (!m.alive[i]) continue;
        note(&m, "finally t%d; ", i, 0, 0);
        if (rg_read(m.t[i], got, sizeof got)) FAIL("%s after\n%s", rg_error(m.c), m.log);
        check(&m, i, got, m.v[i]);
    }
    CHECK_EQ(rg_close(m.c), 0);
}

TEST(semantics_random_REF) {
    for (uint64_t seed = 1; seed <= 1500; seed++) run("REF", seed * 7919, 10 + (int)(seed % 70));
}
TEST(semantics_random_CPU) {
    for (uint64_t seed = 1; seed <= 12; seed++) run("CPU", seed * 104729, 25);
}
TEST_MANUAL(semantics_CUDA_random, 100) {
    rg_ctx *c = rg_open("CUDA"); /* keeps the driver's context */
    if (rg_status_of(c)) NO_CUDA(rg_error(c));
    for (uint64_t seed = 1; seed <= 12; seed++) run("CUDA", seed * 104729, 25);
    rg_close(c);
}
TEST_MANUAL(fuzz_semantics, 1200) {
    for (uint64_t seed = 1; seed <= 60000; seed++) run("REF", seed * 15485863, 10 + (int)(seed % 120));
    for (uint64_t seed = 1; seed <= 400; seed++) run("CPU", seed * 32452843, 40);
}
