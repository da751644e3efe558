/* Tests of the disk cache: what is believed and what is not, many writers, writers that die. */
#include "engine/internal.h"
#include "event/event.h"
#include "test.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct err err;
static struct arena arena;
static char *top, *dir, *own; /* own: the cache's folder in dir */

static void setup(void) {
    arena_init(&arena, &err);
    CHECK(!os_temp_dir(&err, &arena, &top));
    dir = arena_printf(&arena, "%s/a/cache", top);
    own = arena_printf(&arena, "%s/ridge-v3", dir);
    setenv("RIDGE_CACHE", "1", 1);
    setenv("RIDGE_CACHE_DIR", dir, 1);
    unsetenv("RIDGE_CC");
    env_reload();
    if (!os_find_program(&arena, "clang") && !os_find_program(&arena, "gcc")) SKIP("no C compiler");
}

static struct engine_stats last;
static char warnings[2000];

/* Compiles n small kernels in a fresh engine and runs them: kernel i writes 100 + i. Returns the status. */
static int use(int first, int n) {
    struct engine *en = engine_open(&err, NULL);
    CHECK(en);
    const struct ekernel *k[32];
    struct etext t[32];
    for (int i = 0; i < n; i++)
        t[i] = (struct etext){
            .name = "put",
            .grid = 1,
            .nbuf = 1,
            .text = arena_printf(&arena,
                                 "void put(void *const *buf, const i64 *var, u32 t0, u32 t1, void "
                                 "*scratch) { *(i32 *)buf[0] = %d; }\n",
                                 100 + first + i)};
    err_clear(&err);
    int code = engine_compile_text(en, &err, t, (uint32_t)n, k);
    for (int i = 0; i < n && !code; i++) {
        int x = 0;
        k[i]->fn((void *[]){&x}, NULL, 0, 1, NULL);
        CHECK_EQ(x, 100 + first + i);
    }
    last = engine_stats(en);
    snprintf(warnings, sizeof warnings, "%s", engine_warnings(en));
    engine_close(en);
    return code;
}

static void must(int first, int n, uint64_t compiled) {
    if (use(first, n)) FAIL("%s", err.msg);
    CHECK_EQ(last.compiled, compiled);
}

/* Calls fn for each file of the cache whose name begins with `head`; returns how many. */
static int each(const char *head, void (*fn)(const char *path)) {
    DIR *d = opendir(own);
    CHECK(d);
    int n = 0;
    for (struct dirent *e; (e = readdir(d));) {
        if (strncmp(e->d_name, head, strlen(head)) || e->d_name[0] == '.') continue;
        if (fn) fn(arena_printf(&arena, "%s/%s", own, e->d_name));
        n++;
    }
    closedir(d);
    return n;
}

static void done(void) { os_remove_tree(top); }

TEST(cache_warm_start_compiles_nothing) {
    setup();
    must(0, 5, 5);
    struct stat st;
    CHECK(!stat(dir, &st) && (st.st_mode & 0777) == 0700);
    CHECK(!stat(own, &st) && (st.st_mode & 0777) == 0700);
    must(0, 5, 0);
    CHECK_EQ(last.disk_hits, 5);
    must(3, 5, 3); /* two known, three new */
    CHECK_EQ(last.disk_hits, 2);
    CHECK_EQ(each("kernel-", NULL), 8);
    done();
}

/* A warm start must not even start the compiler to ask for its version. */
TEST(cache_warm_start_starts_no_process) {
    setup();
    const char *cc = os_find_program(&arena, os_find_program(&arena, "clang") ? "clang" : "gcc");
    const char *log = arena_printf(&arena, "%s/log", top), *script = arena_printf(&arena, "%s/cc", top);
    const char *body = arena_printf(&arena, "#!/bin/sh\necho run >> %s\nexec %s \"$@\"\n", log, cc);
    CHECK(!os_write_file(&err, script, body, strlen(body), 0700));
    setenv("RIDGE_CC", script, 1);
    env_reload();
    must(0, 3, 3);
    CHECK(os_exists(log));
    os_remove(log);
    must(0, 3, 0);
    CHECK(!os_exists(log));
    done();
}

/* One file that is two compilers, by the name it is called. */
TEST(cache_tells_names_of_a_wrapper_apart) {
    setup();
    const char *cc = os_find_program(&arena, os_find_program(&arena, "clang") ? "clang" : "gcc");
    const char *script = arena_printf(&arena, "%s/wrapper", top);
    const char *body = arena_printf(
        &arena, "#!/bin/sh\n[ \"$1\" = --version ] && { basename \"$0\"; exit; }\nexec %s \"$@\"\n", cc);
    CHECK(!os_write_file(&err, script, body, strlen(body), 0700));
    for (int i = 0; i < 2; i++) {
        const char *name = arena_printf(&arena, "%s/compiler%d", top, i);
        CHECK(!symlink(script, name));
        setenv("RIDGE_CC", name, 1);
        env_reload();
        must(0, 3, 3);
        must(0, 3, 0);
    }
    done();
}

static void no_path(void) {
    setenv("PATH", "/nonexistent", 1);
    env_reload();
}

TEST(cache_without_compiler) {
    setup();
    must(0, 3, 3);
    no_path();
    must(0, 3, 0); /* all known: no compiler is needed */
    CHECK_EQ(use(10, 1), RG_ECOMPILE);
    CHECK(strstr(err.msg, "no C compiler found on PATH"));
    os_remove_tree(dir);
    CHECK_EQ(use(0, 3), RG_ECOMPILE); /* cold */
    CHECK(strstr(err.msg, "apt-get install clang"));
    done();
}

/* ---- damage ----------------------------------------------------------------------------------------- */

static void flip(const char *path) {
    int fd = open(path, O_RDWR);
    char c;
    struct stat st;
    CHECK(fd >= 0 && !fstat(fd, &st));
    off_t at = st.st_size * 2 / 3;
    CHECK(pread(fd, &c, 1, at) == 1);
    c ^= 0x10;
    CHECK(pwrite(fd, &c, 1, at) == 1);
    close(fd);
}
static void cut(const char *path) { CHECK(!truncate(path, 50)); }
static void empty(const char *path) { CHECK(!truncate(path, 0)); }
static void open_to_all(const char *path) { CHECK(!chmod(path, 0666)); }
static void give_away(const char *path) { CHECK(!chown(path, 12345, 12345)); }
static void huge(const char *path) { CHECK(!truncate(path, (off_t)1 << 29)); }
static void binary(const char *path) {
    char noise[5000];
    for (size_t i = 0; i < sizeof noise; i++) noise[i] = (char)(i * 37 ^ i >> 3);
    CHECK(!os_write_file(&err, path, noise, sizeof noise, 0600));
}
static void show(const char *path) {
    struct stat st;
    CHECK(!stat(path, &st) && !chmod(path, S_ISDIR(st.st_mode) ? 0555 : 0444));
}
static void make_dir(const char *path) {
    os_remove(path);
    CHECK(!mkdir(path, 0700));
}
static void make_link(const char *path) {
    const char *away = arena_printf(&arena, "%s/away%d", top, (int)strlen(path));
    CHECK(!rename(path, away) && !symlink(away, path));
}
static void make_fifo(const char *path) {
    os_remove(path);
    CHECK(!mkfifo(path, 0600));
}

TEST(cache_ignores_damaged_files) {
    static void (*const damage[])(const char *) = {flip,   cut,         empty,     huge,
                                                   binary, open_to_all, make_link, make_fifo};
    static const char *const kinds[] = {"kernel-", "object-", "cc-"};
    setup();
    for (unsigned k = 0; k < RG_COUNT(kinds); k++)
        for (unsigned i = 0; i < RG_COUNT(damage); i++) {
            os_remove_tree(dir);
            must(0, 3, 3);
            CHECK(each(kinds[k], damage[i]) >= 1);
            if (use(0, 3)) FAIL("%s", err.msg); /* right results, whatever lies there */
            CHECK(last.rejected >= 1);
            CHECK(k == 2 || last.compiled > 0);
            must(0, 3, 0); /* and it was mended */
            CHECK_EQ(last.rejected, 0);
        }
    done();
}

TEST(cache_survives_a_directory_of_its_name) {
    setup();
    must(0, 2, 2);
    each("kernel-", make_dir);
    must(0, 2, 2);
    done();
}

TEST(cache_ignores_foreign_files) {
    setup();
    if (geteuid()) SKIP("only root can give files away");
    must(0, 3, 3);
    each("object-", give_away);
    must(0, 3, 3);
    CHECK(last.rejected >= 1);
    must(0, 3, 0);
    done();
}

static const char *two[3];
static int ntwo;
static void take(const char *path) {
    if (ntwo < 2) two[ntwo++] = path;
}

/* A file of one key in the place of another, whole and of this user, is not believed: what it holds was made for its own. */
TEST(cache_ignores_swapped_files) {
    static const char *const kind[] = {"kernel-", "object-"};
    setup();
    for (unsigned k = 0; k < RG_COUNT(kind); k++) {
        os_remove_tree(dir);
        must(0, 1, 1);
        must(1, 1, 1);
        ntwo = 0;
        CHECK_EQ(each(kind[k], take), 2);
        const char *aside = arena_printf(&arena, "%s/aside", top);
        CHECK(!rename(two[0], aside) && !rename(two[1], two[0]) && !rename(aside, two[1]));
        must(0, 2, 2);
        CHECK_EQ(last.rejected, 2);
        must(0, 2, 0);
        CHECK_EQ(last.rejected, 0);
    }
    done();
}

static void flip_at(const char *path, off_t at) {
    int fd = open(path, O_RDWR);
    char c;
    CHECK(fd >= 0 && pread(fd, &c, 1, at) == 1);
    c ^= 1;
    CHECK(pwrite(fd, &c, 1, at) == 1 && !close(fd));
}

/* Each region of a file of each kind: form, name, length, sum, content. Right results, whatever was changed. */
TEST(cache_survives_a_flip_anywhere) {
    static const char *const kind[] = {"kernel-", "object-", "cc-"};
    setup();
    must(0, 1, 1);
    for (unsigned k = 0; k < RG_COUNT(kind); k++)
        for (off_t at = 0; at < 160; at += 7) {
            ntwo = 0;
            CHECK_EQ(each(kind[k], take), 1);
            flip_at(two[0], at);
            if (use(0, 1)) FAIL("%s", err.msg);
            CHECK_EQ(last.rejected, 1);
            must(0, 1, 0);
            CHECK_EQ(last.rejected, 0);
        }
    done();
}

/* ---- the directory ---------------------------------------------------------------------------------- */

static void must_warn(const char *why) {
    must(0, 1, 1);
    CHECK(strstr(warnings, "kernels are not kept on disk") && strstr(warnings, why));
    must(0, 1, 1); /* nothing was kept */
}

TEST(cache_distrusts_the_directory) {
    setup();
    char *real = arena_printf(&arena, "%s/real", top);
    CHECK(!mkdir(real, 0700) && !os_mkdirs(&err, arena_printf(&arena, "%s/a", top), 0700) &&
          !symlink(real, dir));
    must_warn("symbolic link");
    CHECK(!unlink(dir) && !mkdir(dir, 0700) && !chmod(dir, 0777));
    must_warn("other users can write");
    CHECK(!chmod(dir, 0700));
    if (!geteuid()) {
        CHECK(!chown(dir, 12345, 12345));
        must_warn("another user");
    }
    CHECK(!rmdir(dir) && !os_write_file(&err, dir, "x", 1, 0600));
    must_warn("not a directory");
    done();
}

TEST(cache_can_be_switched_off) {
    setup();
    setenv("RIDGE_CACHE", "0", 1);
    env_reload();
    must(0, 1, 1);
    must(0, 1, 1);
    CHECK(!os_exists(dir));
    CHECK_STR(warnings, "");
    done();
}

/* ---- several processes ------------------------------------------------------------------------------ */

TEST(cache_two_writers_at_once) {
    setup();
    pid_t child[3];
    for (int i = 0; i < 3; i++)
        if (!(child[i] = fork())) _exit(use(i, 8) ? 1 : 0);
    for (int i = 0; i < 3; i++) {
        int st;
        CHECK(waitpid(child[i], &st, 0) == child[i] && WIFEXITED(st) && !WEXITSTATUS(st));
    }
    must(0, 10, 0);
    done();
}

TEST(cache_writer_is_killed) {
    setup();
    for (int i = 0; i < 12; i++) {
        pid_t p = fork();
        if (!p) {
            for (int k = 0; k < 100; k++) {
                os_remove_tree(dir); /* fill it over and over until the end */
                use(0, 4);
            }
            _exit(0);
        }
        nanosleep(&(struct timespec){.tv_nsec = 20000000 + i * 7300000}, NULL);
        kill(p, SIGKILL);
        waitpid(p, NULL, 0);
        if (use(0, 4)) FAIL("%s", err.msg);
    }
    must(0, 4, 0);
    done();
}

static time_t long_ago;
static void age(const char *path) {
    struct timespec t[2] = {{.tv_sec = long_ago}, {.tv_sec = long_ago}};
    CHECK(!utimensat(AT_FDCWD, path, t, 0));
}

/* Files of writers that are gone: of a process that ended, and of one that has the number of a live one but is long past. */
TEST(cache_removes_leftovers_and_renews_use) {
    setup();
    must(0, 2, 2);
    pid_t gone = fork();
    if (!gone) _exit(0);
    CHECK(waitpid(gone, NULL, 0) == gone);
    const char *left[4];
    static const char *const form[] = {"%s/tmp/kernel-%064d.%ld.0", "%s/tmp/kernel-%064d.%ld.1",
                                       "%s/tmp/object-%064d.%ld.2", "%s/tmp/thesis-%064d.%ld.tmp"};
    for (int i = 0; i < 4; i++) {
        left[i] = arena_printf(&arena, form[i], own, 0, i ? (long)getpid() : (long)gone);
        CHECK(!os_write_file(&err, left[i], "half a fil", 10, 0600));
    }
    long_ago = time(NULL) - 10 * 24 * 3600;
    age(left[1]), age(left[3]);
    each("kernel-", age), each("object-", age);
    must(0, 2, 0); /* a hit renews the files it used */
    struct stat st;
    CHECK(!stat(two[ntwo = 0, each("kernel-", take), 0], &st) && st.st_mtime > long_ago);
    CHECK(os_exists(left[0]) && os_exists(left[1]));
    must(5, 1, 1); /* the first write looks for them */
    CHECK(!os_exists(left[0]) && !os_exists(left[1]) && last.evicted == 2);
    CHECK(os_exists(left[2]) && os_exists(left[3])); /* being written; not of our form */
    must(0, 2, 0);
    done();
}

static struct cache opened;
static void open_cache(void *arg) {
    struct str w;
    str_init(&w, &arena);
    cache_open(&opened, &arena, &w);
    opened.limit = *(uint64_t *)arg;
}

static void fill(void *arg) {
    char data[1000] = {0};
    open_cache(arg);
    for (int i = 0; i < 30; i++) {
        const char *name = arena_printf(&arena, "object-%064d", i);
        cache_write(&opened, &arena, name, data, sizeof data);
        long_ago = time(NULL) - 1000 + i * 10;
        age(arena_printf(&arena, "%s/%s", own, name));
    }
}

static void trim(void *arg) {
    (void)arg;
    cache_trim(&opened, &arena);
}

/* Oldest first, down to some room below the limit; what is left is whole. */
TEST(cache_evicts_the_oldest) {
    uint64_t limit = 20000;
    size_t n;
    setup();
    if (err_guard(&err, fill, &limit) || err_guard(&err, trim, NULL)) FAIL("%s", err.msg);
    int left = each("object-", NULL);
    CHECK(left <= 17 && left >= 14);
    CHECK_EQ(opened.evicted, 30 - left);
    CHECK(!cache_read(&opened, &arena, arena_printf(&arena, "object-%064d", 0), &n));
    CHECK(cache_read(&opened, &arena, arena_printf(&arena, "object-%064d", 29), &n) && n == 1000);
    CHECK_EQ(opened.rejected, 0);
    done();
}

/* The folder that was named is the user's, and so is every file in ours that is not of our form, or is no file. */
TEST(cache_leaves_files_of_others) {
    static const char *const name[] = {
        "%s/thesis.txt",
        "%s/video.tmp.1.mp4",
        "%s/kernel-0000000000000000000000000000000000000000000000000000000000000000",
        "%s/ridge-v3/thesis.txt",
        "%s/ridge-v3/object-1.tmp.4.5",
        "%s/ridge-v3/kernel-00000000000000000000000000000000000000000000000000000000000000000",
        "%s/ridge-v3/kernel-000000000000000000000000000000000000000000000000000000000000000G"};
    uint64_t limit = 20000;
    setup();
    if (err_guard(&err, open_cache, &limit)) FAIL("%s", err.msg);
    const char *path[RG_COUNT(name)], *target = arena_printf(&arena, "%s/target", top);
    long_ago = time(NULL) - 10 * 24 * 3600;
    for (size_t i = 0; i < RG_COUNT(name); i++) {
        path[i] = arena_printf(&arena, name[i], dir);
        CHECK(!os_write_file(&err, path[i], "mine", 4, 0600) && !truncate(path[i], (off_t)2 << 30));
        age(path[i]);
    }
    CHECK(!os_write_file(&err, target, "mine", 4, 0600));
    const char *link = arena_printf(&arena, "%s/plan-%064d", own, 7);
    CHECK(!symlink(target, link));
    if (err_guard(&err, fill, &limit) || err_guard(&err, trim, NULL)) FAIL("%s", err.msg);
    for (size_t i = 0; i < RG_COUNT(name); i++) CHECK(os_exists(path[i]));
    CHECK(os_exists(target) && os_exists(link));
    int left = each("object-0", NULL);
    CHECK(left <= 17 && left >= 14); /* their bytes are not counted either */
    done();
}

/* The folder is listed when a share of the limit was written since the last time, by whichever processes. */
TEST(cache_trims_rarely) {
    uint64_t limit = 16 * 4096 * 10;
    char data[4096 * 2 - 200] = {0};
    int looked = 0, written = 0;
    setup();
    for (; written < 120; written++) {
        if (err_guard(&err, open_cache, &limit)) FAIL("%s", err.msg); /* a new process */
        cache_write(&opened, &arena, arena_printf(&arena, "object-%064d", written), data, sizeof data);
        cache_trim(&opened, &arena);
        looked += opened.evicted > 0;
        CHECK((uint64_t)each("object-", NULL) * sizeof data <= limit + limit / 16 + sizeof data);
    }
    CHECK(looked >= 1 && looked <= 6);
    done();
}

/* A folder that this user cannot write is read all the same. */
TEST(cache_is_read_where_it_cannot_be_written) {
    setup();
    if (geteuid()) SKIP("only root can give files away");
    must(0, 3, 3);
    show(top), show(arena_printf(&arena, "%s/a", top)), show(dir), show(own);
    each("", show);
    pid_t child = fork();
    if (!child) {
        if (setgid(12345) || setuid(12345) || use(0, 3)) _exit(1);
        if (last.compiled || last.disk_hits != 3 || !strstr(warnings, "is read, but cannot be written"))
            _exit(2);
        no_path();
        _exit(use(0, 4) == RG_ECOMPILE ? 0 : 3);
    }
    int st;
    CHECK(waitpid(child, &st, 0) == child);
    if (!WIFEXITED(st) || WEXITSTATUS(st)) FAIL("the other user's process ended with %#x", (unsigned)st);
    done();
}
