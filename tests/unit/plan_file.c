/* Tests of plans on disk (src/engine/plan_file.c): found again in a fresh context, with the results of the oracle; not found
 * when anything that decides them is another; not believed when damaged. */
#include "engine/internal.h"
#include "event/event.h"
#include "test.h"
#include "tune/search/search.h"

#include <ridge.h>

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { N = 6, M = 40 };
static char *top;
static uint64_t known, compiled; /* by the latest program */

static void setup(void) {
    struct err e = {0};
    static struct arena a;
    arena_free(&a);
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

static const char *kind = "plan-";
static int each(void (*fn)(const char *path)) {
    char own[600];
    snprintf(own, sizeof own, "%s/ridge-v3", top);
    DIR *d = opendir(own);
    int n = 0;
    for (struct dirent *e; d && (e = readdir(d));) {
        char path[900];
        if (strncmp(e->d_name, kind, strlen(kind))) continue;
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

/* A cache may be moved, or be reached by another path. */
TEST(recipe_plans_do_not_depend_on_where_they_are) {
    setup();
    check(2);
    char other[600];
    snprintf(other, sizeof other, "%s-moved", top);
    CHECK(!rename(top, other));
    setenv("RIDGE_CACHE_DIR", other, 1);
    setenv("RIDGE_CACHE_MB", "100", 1);
    setenv("RIDGE_KERNELS", "100", 1);
    env_reload();
    check(2);
    CHECK(known > 0);
    CHECK_EQ(compiled, 0);
    os_remove_tree(other);
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
    struct engine *en = search_engine_open(&e, NULL);
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
    struct engine *en = search_engine_open(&e, NULL);
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

/* ---- each kind of file, each kind of damage --------------------------------------------------------------------- */

static void empty(const char *path) { CHECK(!truncate(path, 0)); }
static void huge(const char *path) { CHECK(!truncate(path, (off_t)1 << 29)); }
static void noise(const char *path) {
    char p[3000];
    struct err e = {0};
    for (size_t i = 0; i < sizeof p; i++) p[i] = (char)hash_u64(i);
    CHECK(!os_write_file(&e, path, p, sizeof p, 0600));
}

static int part; /* of FLIPS */
enum { FLIPS = 12 };
static void flip(const char *path) {
    struct stat st;
    char c;
    int fd = open(path, O_RDWR);
    CHECK(fd >= 0 && !fstat(fd, &st));
    off_t at =
        part < 5 ? part * 30 : (st.st_size - 1) * (part - 4) / (FLIPS - 5); /* the head, then all of it */
    CHECK(pread(fd, &c, 1, at) == 1);
    c ^= (char)(1 << part % 8);
    CHECK(pwrite(fd, &c, 1, at) == 1 && !close(fd));
}

/* All files of a kind, each with the content of the one before it. */
static char held[900];
static void swap(const char *path) {
    char aside[920];
    snprintf(aside, sizeof aside, "%s.x", path);
    if (*held) CHECK(!rename(path, aside) && !rename(held, path) && !rename(aside, held));
    snprintf(held, sizeof held, "%s", path);
}

TEST_SLOW(recipe_files_of_all_kinds_are_damaged, 240) {
    static const char *const kinds[] = {"plan-", "object-", "kernel-", "cc-", "last-"};
    static void (*const damage[])(const char *) = {cut, empty, huge, noise, swap, flip};
    setup();
    check(2);
    check(2);
    CHECK(known > 0);
    for (size_t k = 0; k < RG_COUNT(kinds); k++)
        for (size_t i = 0; i < RG_COUNT(damage); i++)
            for (part = 0; part < (damage[i] == flip ? FLIPS : 1); part++) {
                kind = kinds[k], *held = 0;
                CHECK(each(damage[i]) > 0);
                check(2); /* right results, whatever lies there */
                CHECK(k || damage[i] == swap || !known);
            }
    kind = "plan-";
    check(2);
    CHECK(known > 0);
    os_remove_tree(top);
}

/* The file of one plan under the name of another of the same form: another factor, read from its own file again. */
static float times(float x) {
    rg_ctx *c = rg_open("CPU");
    float v[4] = {1, 2, 3, 4}, out[4];
    rg_tensor t = rg_from(c, RG_F32, v, RG_SHAPE(4));
    if (rg_read(rg_mul(t, x), out, sizeof out)) FAIL("%s", rg_error(c));
    rg_close(c);
    return out[3] / 4;
}

TEST(recipe_swapped_plans_are_not_used) {
    setup();
    CHECK(times(13) == 13 && times(17) == 17);
    *held = 0;
    CHECK_EQ(each(swap), 2);
    CHECK(times(13) == 13 && times(17) == 17);
    os_remove_tree(top);
}

/* The sum is right, a text of a kernel does not compile: planned anew, and kept. */
static void spoil_text(const char *path) {
    struct err e = {0};
    struct engine *en = search_engine_open(&e, NULL);
    const char *name = strrchr(path, '/') + 1;
    size_t n, changed = 0;
    char *p = cache_read(&en->cache, &en->arena, name, &n);
    CHECK(p);
    for (size_t i = 0; i + 5 < n; i++)
        if (!memcmp(p + i, " = ", 3)) p[i + 1] = '#', changed++;
    CHECK(changed);
    cache_write(&en->cache, &en->arena, name, p, n);
    engine_close(en);
}

TEST(recipe_text_that_does_not_compile_is_made_anew) {
    setup();
    CHECK(times(13) == 13);
    CHECK_EQ(each(spoil_text), 1);
    CHECK(times(13) == 13);
    CHECK(times(13) == 13);
    os_remove_tree(top);
}

/* ---- what is in a file must fit the program ------------------------------------------------------------------------ */

/* A plan of one kernel with two buffers, a value between kernels, a number and a copy, for a graph with one buffer. */
static void make(struct recipe *r, struct plan_key *k) {
    static uint32_t words[] = {1, 2, 3}, var[] = {0}, node[] = {0}, reader[] = {0};
    static const char *type[] = {"f32"};
    static struct recipe_buf buf[] = {{BUF_GRAPH, 0, 0, 16, 0, {0, 16}}, {BUF_TEMP, 0, 64, 64, 0, {16, 32}}},
                             sorted[] = {{BUF_TABLE, 1, 8, 8, 0, {0, 8}}};
    static struct recipe_kernel kernel[] = {
        {.t = {.name = "k", .text = "void k(", .nbuf = 2, .nvar = 1, .grid = 4, .nmap = 1, .map[0].rank = 2},
         .opts = "",
         .graph = "",
         .builtin = ""},
        {.t = {.name = "s", .text = ""},
         .opts = "",
         .graph = "",
         .builtin = "sort",
         .type = type,
         .ntype = 1}};
    static struct recipe_call call[] = {{.kernel = 0,
                                         .nbuf = 2,
                                         .nvar = 1,
                                         .nodes = 1,
                                         .buf = buf,
                                         .var = var,
                                         .node = node,
                                         .name = "k",
                                         .shapes = ""},
                                        {.kernel = 1, .nbuf = 1, .buf = sorted, .name = "s", .shapes = ""}};
    static struct recipe_copy copy[] = {{{BUF_TEMP, 0, 0, 64, 0, {0, 64}}, 0, 64}};
    static struct recipe_value value[] = {{.asked = 64, .reader = reader, .readers = 1, .shape = ""}};
    static const int64_t table[] = {1, 2};
    static const uop b = {.op = OP_BUFFER}, v = {.op = OP_VAR}, g = {.op = OP_GRAPH, .nsrc = 2};
    static const uop *node_of[] = {&b, &v, &g};
    *r = (struct recipe){.file = r->file,
                         .temp_bytes = 128,
                         .table = table,
                         .table_n = 2,
                         .kernel = kernel,
                         .nkernel = 2,
                         .call = call,
                         .ncall = 2,
                         .copy = copy,
                         .ncopy = 1,
                         .value = value,
                         .nvalue = 1};
    *k = (struct plan_key){.p = words, .n = 3, .topo = {.p = node_of, .n = 3}};
}

static bool inside(const struct recipe *r, const struct recipe_buf *b) {
    const struct sched_slice *s = &b->slice;
    if (s->offset < 0 || s->bytes < 0 || (uint64_t)s->offset + (uint64_t)s->bytes > b->bytes) return false;
    int64_t held_bytes = b->kind == BUF_TEMP ? r->temp_bytes : r->table_n * 8;
    if (b->kind == BUF_GRAPH) return b->number == 0;
    if (b->kind == BUF_RESULT) return b->number < 2;
    return (b->kind == BUF_TEMP || b->kind == BUF_TABLE) && b->offset >= 0 && b->bytes <= INT64_MAX &&
           (int64_t)b->bytes <= held_bytes && b->offset <= held_bytes - (int64_t)b->bytes;
}

/* What was believed names nothing that is not there. */
static void check_sound(const struct recipe *r) {
    CHECK(r->temp_bytes >= 0);
    for (uint32_t i = 0; i < r->ncall; i++) {
        const struct recipe_call *c = &r->call[i];
        CHECK(c->kernel < r->nkernel);
        const struct recipe_kernel *k = &r->kernel[c->kernel];
        CHECK(c->nbuf == (*k->builtin ? k->ntype : k->t.nbuf) && k->t.nmap <= DEV_MAPS);
        for (uint32_t b = 0; b < c->nbuf; b++) CHECK(inside(r, &c->buf[b]));
        for (uint32_t v = 0; v < c->nvar; v++) CHECK_EQ(c->var[v], 0);
    }
    for (uint32_t i = 0; i < r->ncopy; i++) CHECK(r->copy[i].result < 2 && inside(r, &r->copy[i].from));
}

TEST(recipe_files_with_the_right_sum_fit_or_are_refused) {
    static const uint8_t with[][4] = {
        {0xff, 0xff, 0xff, 0xff}, {0xff, 0xff, 0xff, 0x7f}, {3, 0, 0, 0}, {0, 1, 0, 0}, {0}};
    struct err e = {0};
    struct arena a;
    struct plan_key key;
    struct recipe r = {0}, got;
    setup();
    struct engine *en = search_engine_open(&e, NULL);
    CHECK(en);
    arena_init(&a, &e);
    make(&r, &key);
    CHECK(!recipe_load(en, &a, &key, &got) && got.file);
    r.file = got.file;
    recipe_save(en, &a, &r);
    CHECK(recipe_load(en, &a, &key, &got));
    check_sound(&got);
    size_t n, used = 0, refused = 0;
    char *p = cache_read(&en->cache, &a, r.file, &n), *q = arena_raw(&a, n);
    CHECK(p);
    for (size_t at = 0; at + 4 <= n; at += 4)
        for (size_t w = 0; w < RG_COUNT(with); w++) {
            struct arena_mark m = arena_mark(&a);
            memcpy(q, p, n);
            memcpy(q + at, with[w], 4);
            cache_write(&en->cache, &a, r.file, q, n);
            bool ok = recipe_load(en, &a, &key, &got);
            if (ok) check_sound(&got);
            ++*(ok ? &used : &refused);
            arena_release(&a, m);
        }
    CHECK(used > 100 && refused > 100);
    engine_close(en);
    arena_free(&a);
    os_remove_tree(top);
}
