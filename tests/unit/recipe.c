/* Tests of plans on disk (src/engine/recipe.c): found again in a fresh context, with the results of the oracle; not found
 * when anything that decides them is another; not believed when damaged. */
#include "engine/internal.h"
#include "event/event.h"
#include "test.h"

#include <ridge.h>

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

enum { N = 6, M = 40 };
static char *top;
static uint64_t known, compiled; /* by the latest program */

static void setup(void) {
    struct err e = {0};
    static struct arena a;
    arena_init(&a, &e);
    CHECK(!os_temp_dir(&e, &a, &top));
    setenv("RIDGE_CACHE", "1", 1);
    setenv("RIDGE_CACHE_DIR", top, 1);
    setenv("RIDGE_TUNED", "1", 1);
    env_reload();
}

/* Kernels of several kinds, a function of the device, a number, an update in place, a batch of updates (a task table), and
 * one value asked for twice (a copy). */
static void program(const char *device, float scale, float out[4 * N * M]) {
    struct err e = {0};
    struct arena a;
    struct event_list l;
    event_reset();
    rg_ctx *c = rg_open(device);
    float x[N * M], w[M * M], s[2][M];
    for (int i = 0; i < N * M; i++) x[i] = (float)(i * 7 % 23) / 8 - 1;
    for (int i = 0; i < M * M; i++) w[i] = (float)(i * 5 % 17) / 16 - 0.5f;
    for (int i = 0; i < M; i++) s[0][i] = (float)i, s[1][i] = (float)-i;
    rg_tensor X = rg_from(c, RG_F32, x, RG_SHAPE(N, M)), W = rg_from(c, RG_F32, w, RG_SHAPE(M, M)), S[2], sum;
    for (int i = 0; i < 2; i++) S[i] = rg_from(c, RG_F32, s[i], RG_SHAPE(M));
    sum = rg_softmax(rg_matmul(X, W), -1);
    rg_tensor sorted = rg_sort(X, -1), y = rg_mul(sum, rg_scalar(c, RG_F32, scale));
    for (int i = 0; i < 2; i++) rg_assign(S[i], rg_add(rg_mul(S[i], 0.5), 1));
    rg_tensor all[] = {y, sorted, rg_reshape(y, RG_SHAPE(M, N)), S[0], S[1]};
    CHECK_EQ(rg_realize_all(RG_ARRAY(all, 5)), 0);
    memset(out, 0, 4 * N * M * sizeof *out);
    for (int i = 0; i < 3; i++) CHECK_EQ(rg_read(all[i], out + i * N * M, sizeof x), 0);
    for (int i = 0; i < 2; i++) CHECK_EQ(rg_read(S[i], out + 3 * N * M + i * M, sizeof s[0]), 0);
    if (rg_status_of(c)) FAIL("%s", rg_error(c));
    rg_close(c);
    arena_init(&a, &e);
    event_snapshot(&a, &l);
    known = compiled = 0;
    for (size_t i = 0; i < l.n; i++) {
        const char *name = event_name_text(l.p[i].name);
        known += l.p[i].kind == EVENT_PLAN && l.p[i].b > 0 && !strcmp(name, "looking for the plan on disk");
        compiled += l.p[i].kind == EVENT_COMPILE;
    }
    arena_free(&a);
}

static void check(float scale) {
    float got[4 * N * M], want[4 * N * M];
    program("CPU", scale, got);
    uint64_t was[] = {known, compiled};
    program("REF", scale, want);
    known = was[0], compiled = was[1];
    for (int i = 0; i < 4 * N * M; i++)
        if (fabsf(got[i] - want[i]) > 1e-5f) FAIL("element %d is %g, expected %g", i, got[i], want[i]);
}

static int each(void (*fn)(const char *path)) {
    char own[600];
    snprintf(own, sizeof own, "%s/ridge-v2", top);
    DIR *d = opendir(own);
    int n = 0;
    for (struct dirent *e; d && (e = readdir(d));) {
        char path[900];
        if (strncmp(e->d_name, "plan-", 5)) continue;
        snprintf(path, sizeof path, "%s/%s", own, e->d_name);
        if (fn) fn(path);
        n++;
    }
    if (d) closedir(d);
    return n;
}

TEST(recipe_second_process_plans_nothing) {
    setup();
    check(2);
    CHECK_EQ(known, 0);
    CHECK(each(NULL) > 0);
    check(3); /* a number is no part of it */
    CHECK(known > 0);
    CHECK_EQ(compiled, 0);
    int files = each(NULL);
    check(4);
    CHECK_EQ(each(NULL), files);
    os_remove_tree(top);
}

TEST(recipe_settings_and_searches_make_another) {
    setup();
    check(2);
    setenv("RIDGE_MULTI", "0", 1);
    env_reload();
    check(2);
    CHECK_EQ(known, 0);
    unsetenv("RIDGE_MULTI");
    env_reload();
    check(2);
    CHECK(known > 0);
    struct err e = {0};
    struct engine *en = engine_open(&e, NULL);
    cache_write(&en->cache, &en->arena, SEARCH_LATEST, "found", 5);
    engine_close(en);
    check(2);
    CHECK_EQ(known, 0);
    os_remove_tree(top);
}

static void cut(const char *path) {
    struct err e = {0};
    struct arena a;
    char *p;
    size_t n;
    arena_init(&a, &e);
    CHECK(!os_read_file(&e, &a, path, 1 << 24, &p, &n));
    CHECK(!os_write_file(&e, path, p, n / 2, 0600));
    arena_free(&a);
}

/* The sum is right, what it is the sum of is not. */
static void cut_well(const char *path) {
    struct err e = {0};
    struct engine *en = engine_open(&e, NULL);
    const char *name = strrchr(path, '/') + 1;
    size_t n;
    char *p = cache_read(&en->cache, &en->arena, name, &n);
    CHECK(p);
    cache_write(&en->cache, &en->arena, name, p, n / 3);
    engine_close(en);
}

TEST(recipe_damaged_file_is_made_anew) {
    void (*damage[])(const char *) = {cut, cut_well};
    for (int i = 0; i < 2; i++) {
        setup();
        check(2);
        each(damage[i]);
        check(2);
        CHECK_EQ(known, 0);
        check(2);
        CHECK(known > 0);
        os_remove_tree(top);
    }
}
