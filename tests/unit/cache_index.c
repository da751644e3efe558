/* Tests of the index of the disk cache (what is removed, how it heals, what it costs) and of the locks by which one process
 * compiles and others wait. */
#include "engine/internal.h"
#include "test.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct err err;
static struct arena arena;
static char *top, *own;
static struct cache cache;

static void setup(void) {
    arena_init(&arena, &err);
    CHECK(!os_temp_dir(&err, &arena, &top));
    own = arena_printf(&arena, "%s/" CACHE_FOLDER, top);
    setenv("RIDGE_CACHE", "1", 1);
    setenv("RIDGE_CACHE_DIR", top, 1);
    unsetenv("RIDGE_CC");
    env_reload();
}

static void done(void) {
    os_remove_tree(top);
    arena_free(&arena);
}

static const char *in_own(const char *name) { return arena_printf(&arena, "%s/%s", own, name); }
static const char *object(int i) { return arena_printf(&arena, "object-%064d", i); }

static void reopen(uint64_t limit) {
    struct str w;
    str_init(&w, &arena);
    cache_open(&cache, &arena, &w);
    CHECK(cache.dir && cache.tmp);
    cache.limit = limit;
}

enum { SIZE = 1000, HEAD = 144 };

/* Each in a process of its own, as far as the cache can see. */
struct put {
    int from, to;
    uint64_t limit;
};
static void put_guarded(void *arg) {
    const struct put *p = arg;
    char data[SIZE] = {0};
    for (int i = p->from; i < p->to; i++) {
        reopen(p->limit);
        cache_write(&cache, &arena, object(i), data, sizeof data);
        cache_trim(&cache, &arena);
    }
}
static void put(int from, int to, uint64_t limit) {
    if (err_guard(&err, put_guarded, &(struct put){from, to, limit})) FAIL("%s", err.msg);
}

static int files(void) {
    DIR *d = opendir(own);
    int n = 0;
    for (struct dirent *e; d && (e = readdir(d));) n += cache_is_own(e->d_name);
    if (d) closedir(d);
    return n;
}

static bool is_there(int i) { return os_exists(in_own(object(i))); }

static off_t size_of(const char *name) {
    struct stat st;
    return stat(in_own(name), &st) ? -1 : st.st_size;
}

TEST(cache_index_counts_bytes) {
    setup();
    put(0, 20, 1 << 20);
    CHECK_EQ(cache_index_total(&cache), 20 * (SIZE + HEAD));
    CHECK_EQ(files(), 20);
    char *tag;
    CHECK(!os_read_file(&err, &arena, in_own("CACHEDIR.TAG"), 1000, &tag, NULL));
    CHECK(!strncmp(tag, "Signature: 8a477f597d28d172789f06886806bc55", 43));
    cache_reject(&cache, object(3));
    CHECK_EQ(cache_index_total(&cache), 19 * (SIZE + HEAD));
    done();
}

static void age(int i) {
    struct timespec long_ago[2] = {{time(NULL) - 3 * 24 * 3600, 0}, {time(NULL) - 3 * 24 * 3600, 0}};
    CHECK(!utimensat(AT_FDCWD, in_own(object(i)), long_ago, 0));
}

/* What was read yesterday stays, though it was written first; what goes leaves the index too. */
TEST(cache_index_drops_what_was_not_used_for_longest) {
    size_t n;
    uint64_t limit = 20 * (SIZE + HEAD);
    setup();
    put(0, 20, limit);
    age(0), age(1);
    CHECK(cache_read(&cache, &arena, object(0), &n) && n == SIZE);
    put(20, 21, limit);
    CHECK(files() <= 18 && files() >= 16);
    CHECK(is_there(0) && is_there(19) && is_there(20) && !is_there(1) && !is_there(2));
    CHECK_EQ(cache_index_total(&cache), (uint64_t)files() * (SIZE + HEAD));
    done();
}

/* A row a file after a trim: the index does not grow without end. */
TEST(cache_index_stays_short) {
    uint64_t limit = 20 * (SIZE + HEAD);
    setup();
    put(0, 200, limit);
    CHECK(files() <= 20);
    CHECK(size_of(CACHE_INDEX) <= 56 * 30);
    done();
}

/* A full cache costs a process that compiles one read of the new rows, not of the folder: files that the index does not know are not
 * seen, until it is a week old. */
TEST(cache_index_is_read_instead_of_the_folder) {
    uint64_t limit = 20 * (SIZE + HEAD);
    setup();
    put(0, 10, limit);
    const char *foreign = in_own(object(500));
    CHECK(!os_write_file(&err, foreign, "", 0, 0600) &&
          !truncate(foreign, 1 << 20)); /* larger than the limit */
    put(10, 12, limit);
    CHECK_EQ(files(), 13);
    struct index_row_copy {
        uint8_t sum[32];
        uint64_t bytes;
        uint32_t kind, what;
        uint64_t check;
    } row;
    int fd = open(in_own(CACHE_INDEX), O_RDWR);
    CHECK(fd >= 0 && read(fd, &row, sizeof row) == (ssize_t)sizeof row);
    row.bytes -= 8 * 24 * 3600;
    row.check = hash_bytes(&row, offsetof(struct index_row_copy, check), 17);
    CHECK(pwrite(fd, &row, sizeof row, 0) == (ssize_t)sizeof row && !close(fd));
    age(500);
    put(12, 13, limit);
    CHECK(!is_there(500) && is_there(12) && is_there(0));
    CHECK_EQ(cache_index_total(&cache), 13 * (SIZE + HEAD));
    done();
}

static void damage(int how) {
    const char *path = in_own(CACHE_INDEX);
    struct stat st;
    CHECK(!stat(path, &st));
    int fd = open(path, O_RDWR);
    char c = 0x55;
    switch (how) {
    case 0: os_remove(path); break;
    case 1: CHECK(!truncate(path, 0)); break;
    case 2: CHECK(!truncate(path, st.st_size - 20)); break; /* half a row, and more follow */
    case 3: CHECK(pwrite(fd, &c, 1, st.st_size / 2) == 1); break;
    case 4: CHECK(pwrite(fd, &c, 1, 3) == 1); break;
    case 5:
        CHECK(!os_write_file(&err, path, "not an index, but text of some length, of a user's own hand", 59,
                             0600));
        break;
    case 6: os_remove(path), CHECK(!symlink("/etc/passwd", path)); break;
    default: os_remove(path), CHECK(!mkdir(path, 0700));
    }
    if (fd >= 0) close(fd);
}

TEST(cache_index_heals) {
    uint64_t limit = 20 * (SIZE + HEAD);
    setup();
    for (int how = 0; how < 8; how++) {
        put(how * 10, how * 10 + 10, limit);
        damage(how);
        put(how * 10 + 10, how * 10 + 12, limit);
        put(how * 10 + 12, how * 10 + 14, limit);
        CHECK(files() <= 20);
        if (how < 7) CHECK_EQ(cache_index_total(&cache), (uint64_t)files() * (SIZE + HEAD));
        CHECK(is_there(how * 10 + 13));
    }
    CHECK(os_exists("/etc/passwd"));
    done();
}

/* An index cannot make us remove what is not ours. */
TEST(cache_index_names_no_file_of_others) {
    setup();
    put(0, 10, 1 << 20);
    const char *target = arena_printf(&arena, "%s/thesis", top), *name = in_own(object(3));
    CHECK(!os_write_file(&err, target, "mine", 4, 0600));
    os_remove(name);
    CHECK(!symlink(target, name));
    os_remove(in_own(object(4)));
    CHECK(!mkdir(in_own(object(4)), 0700));
    put(10, 12, 2 * (SIZE + HEAD));
    CHECK(os_exists(target) && is_there(3) && is_there(4));
    done();
}

/* ---- one compiles, others wait ------------------------------------------------------------------------------- */

/* A compiler that writes a line for each start, and for each of its runs sleeps a little. */
static const char *counting_compiler(const char *nap) {
    const char *name = os_find_program(&arena, "clang") ? "clang" : "gcc",
               *cc = os_find_program(&arena, name);
    if (!cc) SKIP("no C compiler");
    /* by this name it is known which flags it takes */
    const char *script = arena_printf(&arena, "%s/%s", top, name), *log = arena_printf(&arena, "%s/log", top);
    const char *body = arena_printf(&arena, "#!/bin/sh\necho run >> %s\n%s\nexec %s \"$@\"\n", log, nap, cc);
    CHECK(!os_write_file(&err, script, body, strlen(body), 0700));
    setenv("RIDGE_CC", script, 1);
    env_reload();
    return log;
}

static int lines(const char *path) {
    char *p;
    int n = 0;
    if (os_read_file(&err, &arena, path, 1 << 20, &p, NULL)) {
        err_clear(&err);
        return 0;
    }
    for (; *p; p++) n += *p == '\n';
    return n;
}

/* Twelve kernels in one call; 0, or which of them is wrong. */
static int compile_twelve(uint64_t *compiled) {
    enum { N = 12 };
    struct err e = {0};
    struct etext t[N] = {0};
    const struct ekernel *k[N];
    char text[N][200];
    struct engine *en = engine_open(&e, NULL);
    if (!en) return 100;
    for (int i = 0; i < N; i++) {
        snprintf(text[i], sizeof text[i],
                 "void put(void *const *buf, const i64 *var, u32 t0, u32 t1, void *scratch) { *(i32 *)buf[0] "
                 "= %d; }\n",
                 100 + i);
        t[i] = (struct etext){.name = "put", .grid = 1, .nbuf = 1, .text = text[i]};
    }
    int bad = engine_compile_text(en, &e, t, N, k) ? 101 : 0;
    for (int i = 0; i < N && !bad; i++) {
        int x = 0;
        k[i]->fn((void *[]){&x}, NULL, 0, 1, NULL);
        if (x != 100 + i) bad = 1 + i;
    }
    *compiled = engine_stats(en).compiled;
    engine_close(en);
    return bad;
}

TEST(cache_lock_eight_processes_compile_once) {
    setup();
    const char *log = counting_compiler("sleep 0.3");
    uint64_t compiled;
    CHECK_EQ(compile_twelve(&compiled), 0);
    int alone = lines(log);
    CHECK(alone >= 2 && compiled == 12); /* the version, and a unit for each core */
    os_remove(log), os_remove_tree(own);
    pid_t child[8];
    for (int i = 0; i < 8; i++) {
        if ((child[i] = fork())) continue;
        _exit(compile_twelve(&compiled));
    }
    for (int i = 0; i < 8; i++) {
        int st;
        CHECK(waitpid(child[i], &st, 0) == child[i]);
        if (st) FAIL("process %d ended with %#x", i, (unsigned)st);
    }
    CHECK_EQ(lines(log), alone);
    done();
}

static void *compile_in_thread(void *arg) {
    uint64_t *compiled = arg;
    return compile_twelve(compiled) ? arg : NULL;
}

TEST(cache_lock_threads_compile_once) {
    setup();
    counting_compiler("sleep 0.3");
    pthread_t t[4];
    uint64_t compiled[4], sum = 0;
    for (int i = 0; i < 4; i++) CHECK(!pthread_create(&t[i], NULL, compile_in_thread, &compiled[i]));
    for (int i = 0; i < 4; i++) {
        void *bad;
        CHECK(!pthread_join(t[i], &bad) && !bad);
        sum += compiled[i];
    }
    CHECK_EQ(sum, 12);
    done();
}

/* The locks of a process that was killed are free; its compiler goes with it. */
TEST(cache_lock_of_a_killed_process_is_free) {
    setup();
    const char *stuck = arena_printf(&arena, "%s/stuck", top);
    CHECK(!os_write_file(&err, stuck, "", 0, 0600));
    const char *log = counting_compiler(
        arena_printf(&arena, "[ -e %s ] && [ \"$1\" != --version ] && exec sleep 1000", stuck));
    uint64_t compiled;
    pid_t child = fork();
    if (!child) _exit(compile_twelve(&compiled));
    while (lines(log) < 2) os_sleep_ms(5); /* the version; what hangs */
    CHECK(!kill(child, SIGKILL) && waitpid(child, NULL, 0) == child);
    os_remove(stuck);
    CHECK_EQ(compile_twelve(&compiled), 0);
    CHECK_EQ(compiled, 12);
    done();
}

/* One that cannot compile leaves the work to others, each of which says why. */
TEST(cache_lock_is_given_back_after_an_error) {
    setup();
    counting_compiler("exit 3");
    uint64_t compiled;
    CHECK_EQ(compile_twelve(&compiled), 101);
    counting_compiler("");
    CHECK_EQ(compile_twelve(&compiled), 0);
    CHECK_EQ(compiled, 12);
    done();
}
