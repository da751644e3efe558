/* Tests of src/base without the operating system and the pool (those are in base_os.c): errors, memory,
 * containers, hashes, strings, the environment and the log. */
#include "base/base.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

static struct err err;
static struct arena arena;

static void open_arena(void) { arena_init(&arena, &err); }

/* ---- err ------------------------------------------------------------------------------------------ */

static int trail; /* how far the functions below came */

static void throw_deep(void *arg) {
    trail = 1;
    if (arg) err_throw(&err, RG_EVERIFY, "range %d is read after its end", 7);
    trail = 2;
}

static void guard_inside(void *arg) {
    CHECK_EQ(err_guard(&err, throw_deep, &trail), RG_EVERIFY);
    CHECK_EQ(trail, 1);
    if (arg)
        err_clear(&err); /* handled here: the outer guard knows nothing */
    else
        err_throw(&err, RG_EINTERNAL, "a second message");
    trail = 3;
}

TEST(err_first_one_wins) {
    CHECK_EQ(err_set(&err, RG_EPARSE, "first %d\n", 1), RG_EPARSE);
    CHECK_EQ(err_set(&err, RG_EIO, "second"), RG_EIO);
    CHECK_EQ(err.code, RG_EPARSE);
    CHECK_STR(err.msg, "first 1"); /* no newline at the end */
    err_prefix(&err, "%s:%d: ", "a.uop", 12);
    CHECK_STR(err.msg, "a.uop:12: first 1");
    err_clear(&err);
    err_prefix(&err, "nothing to name");
    CHECK_STR(err.msg, "");
    CHECK_STR(rg_status_text(RG_ENOMEM), "out of memory");
    CHECK_STR(rg_status_text(12345), "unknown status");
}

TEST(err_long_messages_are_cut) {
    char text[3000];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = 0;
    err_set(&err, RG_EIO, "%s", text);
    CHECK_EQ(strlen(err.msg), sizeof err.msg - 1);
    err_prefix(&err, "here: ");
    CHECK_EQ(strlen(err.msg), sizeof err.msg - 1);
    CHECK(!strncmp(err.msg, "here: xxx", 9));
    err_prefix(&err, "%s", text);
    CHECK_EQ(strlen(err.msg), sizeof err.msg - 1);
}

TEST(err_guards_nest) {
    CHECK_EQ(err_guard(&err, throw_deep, NULL), 0);
    CHECK_EQ(trail, 2);
    CHECK_EQ(err_guard(&err, guard_inside, &trail), 0);
    CHECK_EQ(trail, 3);
    CHECK_EQ(err_guard(&err, guard_inside, NULL), RG_EVERIFY); /* thrown on; the first message stays */
    CHECK_STR(err.msg, "range 7 is read after its end");
    CHECK(err.guard == NULL);
    trail = 0;
    CHECK_EQ(err_guard(&err, throw_deep, NULL), RG_EVERIFY); /* sticky: does not run */
    CHECK_EQ(trail, 0);
}

static void check_false(void *arg) { RG_CHECK(&err, arg == NULL); }

TEST(err_check_reports_a_bug) {
    CHECK_EQ(err_guard(&err, check_false, NULL), 0);
    CHECK_EQ(err_guard(&err, check_false, &err), RG_EINTERNAL);
    CHECK(strstr(err.msg, "base.c:") && strstr(err.msg, "arg == NULL is false; this is a bug in ridge"));
}

/* ---- memory --------------------------------------------------------------------------------------- */

TEST(arena_is_zeroed_and_aligned) {
    open_arena();
    for (size_t n = 0; n < 3000; n += 7) {
        unsigned char *p = arena_alloc(&arena, n);
        CHECK_EQ((uintptr_t)p % 16, 0);
        for (size_t i = 0; i < n; i++) CHECK_EQ(p[i], 0);
        memset(p, 0xff, n); /* the next must not see it */
    }
    CHECK_EQ(arena_array(&arena, int, 5)[4], 0);
    CHECK_STR(arena_strdup(&arena, "hello", 3), "hel");
    CHECK_STR(arena_printf(&arena, "%d-%s", 3, "x"), "3-x");
    arena_free(&arena);
    CHECK_EQ(arena.reserved, 0);
    CHECK(arena_alloc(&arena, 1) != NULL); /* may be used again */
    arena_free(&arena);
}

TEST(arena_small_begins_small_and_doubles) {
    arena_init_small(&arena, &err);
    for (int round = 0; round < 2; round++) {
        arena_raw(&arena, 100);
        CHECK(arena.reserved <= 4 << 10);
        for (int i = 0; i < 1000; i++) memset(arena_raw(&arena, 1000), i, 1000);
        CHECK(arena.reserved < 3 * arena.used);
        arena_free(&arena); /* and does so again */
        CHECK_EQ(arena.reserved, 0);
    }
}

TEST(arena_marks_give_back) {
    open_arena();
    char *keep = arena_strdup(&arena, "keep", 4);
    struct arena_mark m = arena_mark(&arena);
    size_t used = arena.used;
    char *first = arena_raw(&arena, 100);
    for (int i = 0; i < 1000; i++) memset(arena_raw(&arena, 5000), i, 5000); /* several blocks */
    arena_release(&arena, m);
    CHECK_EQ(arena.used, used);
    CHECK(arena_raw(&arena, 100) == (void *)first);
    CHECK_STR(keep, "keep");
    uint64_t before = mem_count();
    for (int i = 0; i < 1000; i++) { /* over the edge of the block and back: the spare serves */
        m = arena_mark(&arena);
        arena_raw(&arena, 100 << 10);
        arena_release(&arena, m);
    }
    CHECK(mem_count() - before <= 1);
    arena_free(&arena);

    m = arena_mark(&arena); /* of an empty arena */
    arena_raw(&arena, 10);
    arena_release(&arena, m);
    CHECK_EQ(arena.used, 0);
    arena_free(&arena);
}

TEST(arena_resizes_in_place_where_it_can) {
    open_arena();
    char *p = arena_raw(&arena, 10);
    memcpy(p, "123456789", 10);
    CHECK(arena_resize(&arena, p, 10, 1000) == p);
    CHECK(arena_resize(&arena, p, 1000, 20) == p);
    char *q = arena_raw(&arena, 1);
    CHECK(q - p < 100); /* the shrink gave the room back */
    char *r = arena_resize(&arena, p, 20, 2000);
    CHECK(r != p);
    CHECK_STR(r, "123456789");
    arena_free(&arena);
}

static void take_too_much(void *arg) {
    if (*(int *)arg == 0) arena_array(&arena, int64_t, -1);
    if (*(int *)arg == 1) arena_array(&arena, int64_t, SIZE_MAX / 8 + 2); /* wraps to 8 */
    if (*(int *)arg == 2) arena_raw(&arena, SIZE_MAX - 3);
}

TEST(arena_sizes_that_wrap_are_errors) {
    open_arena();
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(err_guard(&err, take_too_much, &i), RG_ENOMEM);
        CHECK(strstr(err.msg, "out of memory"));
        err_clear(&err);
    }
    arena_free(&arena);
}

/* Some of everything that allocates: run it with the n-th allocation failing, for every n. */
static void use_everything(void *arg) {
    int64_t *sum = arg;
    VEC(int) v = {0};
    struct map m;
    struct str s;
    map_init(&m, &arena);
    str_init(&s, &arena);
    for (int i = 0; i < 20000; i++) {
        vec_push(&arena, &v, i);
        map_put(&m, (uint64_t)i, (uint64_t)v.p[i]);
        str_printf(&s, "%d,", i);
    }
    *sum = (int64_t)(v.n + m.n + s.n);
}

TEST(mem_every_allocation_may_fail) {
    int64_t sum = 0, whole = 0, n;
    for (n = 1; !whole; n++) {
        open_arena();
        err_clear(&err);
        mem_fail_at(n);
        int code = err_guard(&err, use_everything, &sum);
        mem_fail_at(-1);
        if (code)
            CHECK_EQ(code, RG_ENOMEM);
        else
            whole = sum;
        arena_free(&arena);
        CHECK_EQ(arena.reserved, 0);
    }
    CHECK_EQ(mem_live(), 0);
    CHECK_EQ(whole, 20000 + 20000 + 108890);
    TEST_COUNT(n - 2, "allocations that failed, with all memory given back");
}

TEST(mem_environment_asks_for_failure) {
    setenv("RIDGE_OOM_AT", "0", 1); /* before the first allocation of this process */
    env_reload();
    CHECK(mem_alloc(1) == NULL);
    CHECK(mem_realloc(NULL, 1) == NULL);
    CHECK(os_pages(1) == NULL);
    mem_fail_at(-1);
    void *p = mem_alloc(0);
    CHECK(p != NULL);
    mem_free(p);
    mem_free(NULL);
}

TEST(vec_grows) {
    open_arena();
    struct row {
        int64_t a;
        int64_t b;
        int64_t c;
    };
    VEC(struct row) v = {0};
    for (int i = 0; i < 50000; i++) {
        vec_need(&arena, &v, 1);
        v.p[v.n].a = i;
        v.p[v.n++].c = -i;
        if (i % 100 == 0) arena_raw(&arena, 24); /* in the way of growing in place */
    }
    for (int i = 0; i < 50000; i++) CHECK(v.p[i].a == i && v.p[i].c == -i);
    CHECK(v.cap >= v.n && v.cap < 2 * 65536 + 1);
    arena_free(&arena);
}

/* ---- map and hashes ------------------------------------------------------------------------------- */

TEST(map_keeps_all_keys) {
    open_arena();
    struct map m;
    map_init(&m, &arena);
    CHECK(!map_get(&m, 0, NULL));
    for (uint64_t i = 0; i < 100000; i++) map_put(&m, i * 64, i); /* strides as pointers have */
    for (uint64_t i = 0; i < 100000; i += 2) map_put(&m, i * 64, i + 1);
    CHECK_EQ(m.n, 100000);
    for (uint64_t i = 0, v; i < 100000; i++) {
        CHECK(map_get(&m, i * 64, &v));
        CHECK_EQ(v, i | (i % 2 == 0));
        CHECK(!map_get(&m, i * 64 + 1, NULL));
    }
    map_put(&m, UINT64_MAX, 5);
    uint64_t v = 0;
    CHECK(map_get(&m, UINT64_MAX, &v) && v == 5);
    arena_free(&arena);
}

TEST(hash_spreads) {
    open_arena();
    struct map seen;
    map_init(&seen, &arena);
    char text[40] = "";
    for (int i = 0; i < 40; i++) { /* all lengths, and zeros at the end count */
        map_put(&seen, hash_bytes(text, (size_t)i, 0), 1);
        map_put(&seen, hash_bytes(text, (size_t)i, 1), 1);
    }
    for (int i = 0; i < 40 * 8; i++) { /* every bit counts */
        text[i / 8] ^= (char)(1 << i % 8);
        map_put(&seen, hash_bytes(text, 40, 0), 1);
        text[i / 8] ^= (char)(1 << i % 8);
    }
    CHECK_EQ(seen.n, 80 + 320);
    int flips = 0;
    for (int i = 0; i < 64; i++) flips += __builtin_popcountll(hash_u64(12345) ^ hash_u64(12345 ^ 1ull << i));
    CHECK(flips > 64 * 26 && flips < 64 * 38);
    arena_free(&arena);
}

TEST(sha256_published_vectors) {
    static const struct {
        const char *text, *sum;
    } row[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrl"
         "mnopqrs"
         "mnopqrstnopqrstu",
         "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
    };
    char hex[65];
    for (size_t i = 0; i < RG_COUNT(row); i++) {
        sha256_hex(row[i].text, strlen(row[i].text), hex);
        CHECK_STR(hex, row[i].sum);
    }
    struct sha256 c; /* a million times 'a', in pieces of every size */
    uint8_t sum[32];
    char a[200];
    memset(a, 'a', sizeof a);
    sha256_init(&c);
    for (size_t left = 1000000, k = 0; left; left -= RG_MIN(left, k)) {
        k = k % 197 + 1;
        sha256_add(&c, a, RG_MIN(left, k));
    }
    sha256_end(&c, sum);
    static const uint8_t want[4] = {0xcd, 0xc7, 0x6e, 0x5c};
    CHECK(!memcmp(sum, want, 4));
    CHECK_EQ(sum[31], 0xd0);
}

/* ---- strings -------------------------------------------------------------------------------------- */

TEST(str_builds) {
    open_arena();
    struct str s;
    str_init(&s, &arena);
    CHECK_STR(s.p, "");
    str_add(&s, "");
    CHECK_STR(s.p, "");
    str_printf(&s, "%s", "");
    str_addc(&s, 'x');
    str_addn(&s, "yzzz", 2);
    str_printf(&s, "=%d", 42);
    CHECK_STR(s.p, "xyz=42");
    CHECK_EQ(s.n, 6);
    for (int i = 0; i < 1000; i++) str_printf(&s, "%*d", i % 90, i); /* every way to meet the edge */
    CHECK_EQ(strlen(s.p), s.n);
    CHECK(s.n < s.cap);
    arena_free(&arena);
}

/* ---- environment and log -------------------------------------------------------------------------- */

TEST(env_reads_names_and_defaults) {
    unsetenv("DEBUG"), unsetenv("RIDGE_DEBUG"), unsetenv("RIDGE_CACHE_DIR"), unsetenv("RIDGE_THREADS");
    env_reload();
    CHECK_EQ(env_int(ENV_DEBUG), 0);
    CHECK_EQ(env_int(ENV_RULE_MAX), -1);
    CHECK(env_str(ENV_CACHE_DIR) == NULL);
    CHECK_STR(env_warnings(), "");
    setenv("DEBUG", "3", 1), setenv("THREADS", "9", 1), setenv("RIDGE_CACHE_DIR", "/x y", 1);
    env_reload();
    CHECK_EQ(env_int(ENV_DEBUG), 3);
    CHECK_EQ(env_int(ENV_THREADS), 0); /* no bare name for this one */
    CHECK_STR(env_str(ENV_CACHE_DIR), "/x y");
    setenv("RIDGE_DEBUG", "1", 1), setenv("RIDGE_CACHE_DIR", "", 1);
    env_reload();
    CHECK_EQ(env_int(ENV_DEBUG), 1);       /* the long name wins */
    CHECK(env_str(ENV_CACHE_DIR) == NULL); /* empty is unset */
    CHECK_STR(env_warnings(), "");
}

TEST(env_bad_values_warn) {
    unsetenv("RIDGE_CACHE_DIR"), unsetenv("RIDGE_DEBUG");
    setenv("DEBUG", "yes", 1); /* another program's: no word about it */
    setenv("RIDGE_CACHE", "maybe", 1);
    setenv("RIDGE_THREADS", "99999999999999999999", 1);
    setenv("RIDGE_RULE_MAX", "12x", 1);
    setenv("RIDGE_CACHEDIR", "/tmp", 1);
    setenv("RIDGE_SPEED", "11", 1);
    env_reload();
    CHECK_EQ(env_int(ENV_DEBUG), 0);
    CHECK_EQ(env_int(ENV_CACHE), 1);
    CHECK_EQ(env_int(ENV_THREADS), 0);
    CHECK_EQ(env_int(ENV_RULE_MAX), -1);
    const char *w = env_warnings();
    CHECK(strstr(w, "RIDGE_CACHE=maybe: expected a whole number; using 1\n"));
    CHECK(strstr(w, "RIDGE_RULE_MAX=12x: expected a whole number; using -1\n"));
    CHECK(strstr(w, "RIDGE_THREADS=99999999999999999999: expected"));
    CHECK(strstr(w, "RIDGE_CACHEDIR: no such variable; did you mean RIDGE_CACHE_DIR?"));
    CHECK(strstr(w, "RIDGE_SPEED: no such variable; `ridge env` lists them"));
    CHECK(!strstr(w, "yes"));
    CHECK(w[strlen(w) - 1] != '\n');
    open_arena();
    struct str s;
    str_init(&s, &arena);
    env_list(&s);
    CHECK(strstr(s.p, "RIDGE_FASTMATH") && strstr(s.p, "(the bare name works too)"));
    arena_free(&arena);
}

TEST(env_long_values_are_refused) {
    static char text[10000], name[5000];
    memset(text, 'x', sizeof text - 1);
    memset(name, 'N', sizeof name - 1);
    memcpy(name, "RIDGE_", 6);
    unsetenv("RIDGE_CACHE_DIR");
    setenv("RIDGE_CC", text, 1);
    setenv(name, "1", 1);
    env_reload();
    CHECK(env_str(ENV_CC) == NULL);
    CHECK(strstr(env_warnings(), "RIDGE_CC: longer than 4095 bytes; ignored"));
    CHECK(strstr(env_warnings(), "RIDGE_NNNN"));
}

TEST(log_lines_are_whole) {
    int ends[2], saved = dup(2);
    CHECK_EQ(pipe(ends), 0);
    setenv("RIDGE_DEBUG", "2", 1);
    env_reload();
    static char big[5000], got[8000];
    memset(big, 'b', sizeof big - 1);
    fflush(stderr);
    dup2(ends[1], 2);
    log_line(2, "two %d", 2);
    log_line(3, "three");
    log_line(0, "%s", big);
    dup2(saved, 2);
    CHECK(log_on(2) && !log_on(3));
    close(ends[1]);
    size_t n = 0;
    for (ssize_t k; (k = read(ends[0], got + n, sizeof got - n)) > 0;) n += (size_t)k;
    CHECK_EQ(n, 6 + sizeof big);
    CHECK(!strncmp(got, "two 2\nbbb", 9));
    CHECK_EQ(got[n - 1], '\n');
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ASAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(WITH_ASAN)
#include <sanitizer/asan_interface.h>

/* What the sanitizer must see: a byte past the end, and a byte that was given back. */
TEST(arena_overruns_are_poisoned) {
    open_arena();
    char *p = arena_raw(&arena, 20);
    CHECK(!__asan_address_is_poisoned(p + 19));
    CHECK(__asan_address_is_poisoned(p + 20));
    struct arena_mark m = arena_mark(&arena);
    p = arena_raw(&arena, 20);
    arena_release(&arena, m);
    CHECK(__asan_address_is_poisoned(p));
    p = arena_resize(&arena, arena_raw(&arena, 100), 100, 50);
    CHECK(__asan_address_is_poisoned(p + 50));
    arena_free(&arena);
}
#endif

/* Every 16-bit float, and floats of all sizes beside the nearest multiple of what the last place is worth. */
TEST(base_f16_rounds_to_nearest_even) {
    for (uint32_t u = 0; u < 65536; u++) {
        float f = f16_get((uint16_t)u);
        int e = (int)(u >> 10 & 31), m = (int)(u & 0x3ff);
        if (e == 31 && m) {
            CHECK(isnan(f) && isnan(f16_get(f16_put(f))));
            continue;
        }
        double want = e == 31 ? (double)INFINITY : ldexp(e ? m + 1024 : m, RG_MAX(e, 1) - 25);
        CHECK(fabs((double)f) == want && !signbit(f) == (u < 0x8000));
        CHECK_EQ(f16_put(f), u);
    }
    for (uint64_t i = 0; i < 200000; i++) {
        uint64_t r = hash_u64(i);
        int e;
        double x = ldexp((double)(r >> 40) * (r & 1 ? 1 : -1), (int)(r >> 1 & 63) - 56);
        frexp(x, &e);
        double unit = ldexp(1, RG_MAX(e, -13) - 11), want = rint(x / unit) * unit;
        if (fabs(want) >= 65536) want = copysign((double)INFINITY, x);
        float got = f16_get(f16_put((float)x));
        if ((double)got != want) FAIL("%a became %a, expected %a", x, (double)got, want);
    }
}
