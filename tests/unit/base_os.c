/* Tests of src/base that meet the operating system: files, programs, the processor, pages and the pool. */
#include "base/base.h"
#include "test.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct err err;
static struct arena arena;

static char *open_dir(void) {
    char *dir = NULL;
    arena_init(&arena, &err);
    CHECK_EQ(os_temp_dir(&err, &arena, &dir), 0);
    return dir;
}

static void close_dir(char *dir) {
    os_remove_tree(dir);
    CHECK(!os_exists(dir));
    arena_free(&arena);
}

/* ---- files ---------------------------------------------------------------------------------------- */

TEST(os_files_come_back_as_written) {
    char *dir = open_dir(), *data, *path = arena_printf(&arena, "%s/f", dir);
    size_t n;
    CHECK_EQ(os_write_file(&err, path, "a\0b", 3, 0600), 0);
    CHECK_EQ(os_read_file(&err, &arena, path, 3, &data, &n), 0);
    CHECK_EQ(n, 3);
    CHECK(!memcmp(data, "a\0b", 4)); /* and a NUL */
    CHECK(os_is_private(path));
    CHECK_EQ(os_read_file(&err, &arena, path, 2, &data, &n), RG_ELIMIT);
    CHECK(strstr(err.msg, "larger than the 2 bytes"));
    err_clear(&err);
    CHECK_EQ(os_write_file(&err, path, "", 0, 0600), 0);
    CHECK_EQ(os_read_file(&err, &arena, path, 0, &data, &n), 0);
    CHECK_STR(data, "");
    CHECK_EQ(os_read_file(&err, &arena, "/proc/self/maps", 1 << 20, &data, &n), 0); /* claims size 0 */
    CHECK(n > 100 && strlen(data) == n);
    CHECK_EQ(os_read_file(&err, &arena, "/proc/self/maps", 100, &data, &n), RG_ELIMIT);
    close_dir(dir);
}

TEST(os_file_errors_name_the_file) {
    char *dir = open_dir(), *data;
    size_t n;
    CHECK_EQ(os_read_file(&err, &arena, arena_printf(&arena, "%s/none", dir), 10, &data, &n), RG_EIO);
    CHECK(strstr(err.msg, "/none: No such file or directory"));
    err_clear(&err);
    CHECK_EQ(os_read_file(&err, &arena, dir, 10000, &data, &n), RG_EIO);
    err_clear(&err);
    CHECK_EQ(os_write_file(&err, arena_printf(&arena, "%s/no/f", dir), "", 0, 0600), RG_EIO);
    err_clear(&err);
    CHECK_EQ(os_write_file(&err, dir, "x", 1, 0600), RG_EIO); /* a directory in the way */
    char *left = arena_printf(&arena, "%s.tmp.%d.1", dir, (int)getpid());
    CHECK(!os_exists(left)); /* and nothing is left beside it */
    err_clear(&err);
    close_dir(dir);
}

TEST(os_parts_of_files) {
    char *dir = open_dir(), *path = arena_printf(&arena, "%s/f", dir), *data, got[4] = {0};
    struct os_out o;
    CHECK_EQ(os_out_begin(&err, &o, path, 0600), 0);
    CHECK_EQ(os_out_add(&err, &o, "abc", 3), 0);
    CHECK(!os_exists(path)); /* not yet */
    CHECK_EQ(os_out_add(&err, &o, "defg", 4), 0);
    CHECK_EQ(os_out_end(&err, &o), 0);
    int fd, none;
    uint64_t size;
    CHECK_EQ(os_open(&err, path, &fd, &size), 0);
    CHECK_EQ(size, 7);
    CHECK_EQ(os_read_at(&err, fd, path, got, 3, 2), 0);
    CHECK_STR(got, "cde");
    CHECK_EQ(os_read_at(&err, fd, path, got, 3, 5), RG_EIO); /* two are there */
    CHECK(strstr(err.msg, "it ends at byte 7, where 1 more are expected"));
    CHECK_EQ(os_out_begin(&err, &o, path, 0600),
             RG_EIO); /* an error that was there before: nothing is written .. */
    CHECK_EQ(os_out_add(&err, &o, "x", 1), RG_EIO);
    CHECK_EQ(os_out_end(&err, &o), RG_EIO);
    err_clear(&err);
    CHECK_EQ(os_out_begin(&err, &o, path, 0600), 0);
    err_set(&err, RG_EINVAL, "the caller's"); /* .. nor if there is one at the end */
    CHECK_EQ(os_out_end(&err, &o), RG_EINVAL);
    err_clear(&err);
    CHECK_EQ(os_read_file(&err, &arena, path, 10, &data, NULL), 0);
    CHECK_STR(data, "abcdefg");
    os_close(fd);
    CHECK_EQ(os_open(&err, dir, &none, &size), RG_EIO);
    CHECK(strstr(err.msg, "it is a directory, not a file") && none == -1);
    err_clear(&err);
    char *pipe_path = arena_printf(&arena, "%s/p", dir);
    CHECK_EQ(mkfifo(pipe_path, 0600), 0);
    CHECK_EQ(os_open(&err, pipe_path, &none, &size), RG_EIO); /* at once, without a writer */
    err_clear(&err);
    close_dir(dir);
}

/* A reader beside a writer sees one version or the other, whole. */
static atomic_bool stop_writing;
static char *shared_path;

static char versions[2][20000];

static void *write_versions(void *arg) {
    struct err e = {0};
    for (int i = 0; !atomic_load(&stop_writing) && !e.code; i++)
        os_write_file(&e, shared_path, versions[i & 1], i & 1 ? 10000 : 20000, 0600);
    *(int *)arg = e.code;
    return NULL;
}

TEST(os_write_file_is_atomic) {
    char *dir = open_dir(), *data;
    int bad[2] = {0};
    size_t n;
    memset(versions[0], 'a', 20000);
    memset(versions[1], 'b', 10000);
    shared_path = arena_printf(&arena, "%s/f", dir);
    CHECK_EQ(os_write_file(&err, shared_path, "", 0, 0600), 0);
    pthread_t t[2];
    for (int i = 0; i < 2; i++) pthread_create(&t[i], NULL, write_versions, &bad[i]);
    int seen[2] = {0};
    /* a fifth of a second; on a disk that is busy, until something was written */
    for (uint64_t t0 = os_now_ns(), s = 1000000000, now = t0;
         now < t0 + s / 5 || (!(seen[0] + seen[1]) && now < t0 + 60 * s); now = os_now_ns()) {
        struct arena_mark m = arena_mark(&arena);
        CHECK_EQ(os_read_file(&err, &arena, shared_path, 1 << 20, &data, &n), 0);
        if (n) {
            CHECK_EQ(n, data[0] == 'a' ? 20000 : 10000);
            for (size_t i = 1; i < n; i++) CHECK(data[i] == data[0]);
            seen[data[0] == 'b']++;
        }
        arena_release(&arena, m);
    }
    atomic_store(&stop_writing, true);
    for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
    CHECK_EQ(bad[0] | bad[1], 0);
    CHECK(seen[0] + seen[1] > 0);
    close_dir(dir);
}

/* A process that was killed while it compiled: what it left goes when a later one begins; what it may not be its, stays. */
static void end_in_child(void (*fn)(void), int expect) {
    pid_t p = fork();
    int st;
    if (!p) fn(), _exit(0);
    CHECK(waitpid(p, &st, 0) == p);
    CHECK_EQ(WIFSIGNALED(st) ? WTERMSIG(st) : 0, expect);
}

static struct os_work used;
static void begin_and_die(void) {
    os_work_begin(&err, &arena, &used);
    os_write_file(&err, arena_printf(&arena, "%s/unit0.c", used.path), "x", 1, 0600);
    raise(SIGKILL);
}
static void begin_and_end(void) {
    CHECK_EQ(os_work_begin(&err, &arena, &used), 0);
    os_work_end(&used);
}

static int folders(const char *dir, bool age) {
    DIR *d = opendir(dir);
    int n = 0;
    for (struct dirent *e; (e = readdir(d));) {
        struct timespec old[2] = {{.tv_sec = 1000000}, {.tv_sec = 1000000}};
        if (*e->d_name == '.') continue;
        n++;
        if (age) CHECK(!utimensat(dirfd(d), e->d_name, old, AT_SYMLINK_NOFOLLOW));
    }
    closedir(d);
    return n;
}

TEST(os_work_of_killed_processes_goes) {
    char *dir = open_dir(), *kept;
    setenv("TMPDIR", dir, 1);
    for (int i = 0; i < 3; i++) end_in_child(begin_and_die, SIGKILL);
    CHECK_EQ(folders(dir, false), 3);
    end_in_child(begin_and_end, 0);
    CHECK_EQ(folders(dir, true), 3); /* another process may be about to lock them */
    CHECK(!mkdir(arena_printf(&arena, "%s/ridge-cc-photos", dir), 0755));
    CHECK(!mkdir(kept = arena_printf(&arena, "%s/ridge-cc-thesis", dir), 0700));
    CHECK(!symlink(kept, arena_printf(&arena, "%s/ridge-cc-abcdef", dir)));
    CHECK_EQ(os_write_file(&err, arena_printf(&arena, "%s/thesis.txt", kept), "x", 1, 0600), 0);
    CHECK_EQ(os_work_begin(&err, &arena, &used),
             0); /* this is the first of this process: it sweeps, and is in use .. */
    CHECK_EQ(folders(dir, true), 4);
    end_in_child(begin_and_end, 0);
    CHECK(os_exists(used.path)); /* .. though it looks old */
    const char *path = used.path;
    os_work_keep(&used);
    CHECK_EQ(folders(dir, true), 4);
    end_in_child(begin_and_end, 0);
    CHECK(os_exists(path)); /* nor goes what is kept for people */
    CHECK(os_exists(arena_printf(&arena, "%s/thesis.txt", kept)));
    close_dir(dir);
}

TEST(os_directories_are_made_and_removed) {
    char *dir = open_dir(), *deep = arena_printf(&arena, "%s/a//b/c/", dir);
    CHECK(os_is_private(dir));
    CHECK_EQ(os_mkdirs(&err, deep, 0700), 0);
    CHECK_EQ(os_mkdirs(&err, deep, 0700), 0);
    char *file = arena_printf(&arena, "%s/a/f", dir), *link = arena_printf(&arena, "%s/a/l", dir);
    CHECK_EQ(os_write_file(&err, file, "x", 1, 0666), 0);
    CHECK_EQ(os_mkdirs(&err, arena_printf(&arena, "%s/sub", file), 0700), RG_EIO);
    CHECK(strstr(err.msg, "Not a directory"));
    err_clear(&err);
    CHECK_EQ(os_mkdirs(&err, file, 0700), RG_EIO);
    err_clear(&err);
    chmod(file, 0666);
    CHECK(!os_is_private(file)); /* others may write */
    CHECK_EQ(symlink("/etc", link), 0);
    CHECK(!os_is_private(link));
    CHECK(!os_is_private(arena_printf(&arena, "%s/none", dir)));
    os_remove_tree(arena_printf(&arena, "%s/a", dir)); /* removes the link, not what it points at */
    CHECK(os_exists("/etc") && !os_exists(file));
    os_remove_tree("/nowhere/at/all");
    close_dir(dir);
}

/* ---- programs ------------------------------------------------------------------------------------- */

#define SH(text) \
    (const char *const[]) { "sh", "-c", text, NULL }

TEST(os_run_gives_status_and_output) {
    arena_init(&arena, &err);
    int status;
    char *out;
    CHECK_EQ(os_run(&err, &arena, SH("echo out; echo err >&2; exit 3"), &status, &out), 0);
    CHECK_EQ(status, 3);
    CHECK_STR(out, "out\nerr\n");
    CHECK_EQ(os_run(&err, &arena, SH("kill -9 $$"), &status, &out), 0);
    CHECK_EQ(status, 128 + SIGKILL);
    CHECK_STR(out, "");
    CHECK_EQ(os_run(&err, &arena, SH("cat"), &status, NULL), 0); /* its input is empty, not ours */
    CHECK_EQ(status, 0);
    CHECK_EQ(os_run(&err, &arena, (const char *const[]){"/no/such/cc", NULL}, &status, &out), RG_EIO);
    CHECK_STR(err.msg, "cannot run /no/such/cc: No such file or directory");
    arena_free(&arena);
}

TEST(os_run_keeps_the_first_64_kib) {
    arena_init(&arena, &err);
    int status;
    char *out;
    CHECK_EQ(os_run(&err, &arena, SH("i=0; while [ $i -lt 40000 ]; do echo line $i; i=$((i+1)); done"),
                    &status, &out),
             0);
    CHECK_EQ(status, 0);
    CHECK_EQ(strlen(out), 64 << 10);
    CHECK(!strncmp(out, "line 0\nline 1\n", 14));
    arena_free(&arena);
}

TEST(os_run_many_runs_at_once) {
    arena_init(&arena, &err);
    struct os_proc p[8];
    char *dir;
    CHECK_EQ(os_temp_dir(&err, &arena, &dir), 0);
    for (int i = 0; i < 8; i++) { /* each waits for all the others: in turn they would wait for ever */
        char *text = arena_printf(
            &arena, "touch %s/%d; until [ `ls %s | wc -l` = 8 ]; do sleep 0.01; done; echo %d; exit %d", dir,
            i, dir, i, i);
        const char **argv = arena_array(&arena, const char *, 4);
        argv[0] = "sh", argv[1] = "-c", argv[2] = text;
        p[i] = (struct os_proc){.argv = argv};
    }
    CHECK_EQ(os_run_many(&err, &arena, p, 8), 0);
    for (int i = 0; i < 8; i++) {
        CHECK_EQ(p[i].status, i);
        CHECK_EQ(p[i].out[0] - '0', i);
        CHECK_EQ(strlen(p[i].out), 2);
    }
    p[3].argv = (const char *const[]){"/no/such/cc", NULL};
    p[0].argv = p[1].argv = p[2].argv = SH("exit 0");
    CHECK_EQ(os_run_many(&err, &arena, p, 4), RG_EIO);
    CHECK_EQ(p[2].status, 0); /* those that had started were waited for */
    os_remove_tree(dir);
    arena_free(&arena);
}

TEST(os_pin_and_let_go) {
    cpu_set_t before, set;
    CHECK_EQ(sched_getaffinity(0, sizeof before, &before), 0);
    for (int i = 0; i < 3; i++) {
        os_pin(i); /* also more than there are */
        CHECK_EQ(sched_getaffinity(0, sizeof set, &set), 0);
        CHECK_EQ(CPU_COUNT(&set), 1);
    }
    os_pin(-1);
    CHECK_EQ(sched_getaffinity(0, sizeof set, &set), 0);
    CHECK(CPU_EQUAL(&before, &set));
}

TEST(os_find_program_looks_along_the_path) {
    char *dir = open_dir();
    CHECK(os_find_program(&arena, "sh") != NULL);
    CHECK(os_find_program(&arena, "no-such-program-here") == NULL);
    CHECK(os_find_program(&arena, "") == NULL);
    CHECK(os_find_program(&arena, dir) == NULL); /* a directory is none */
    char *tool = arena_printf(&arena, "%s/tool", dir);
    CHECK_EQ(os_write_file(&err, tool, "#!/bin/sh\n", 10, 0600), 0);
    setenv("PATH", arena_printf(&arena, "/nowhere:%s", dir), 1);
    CHECK(os_find_program(&arena, "tool") == NULL); /* not executable */
    chmod(tool, 0700);
    CHECK_STR(os_find_program(&arena, "tool"), tool);
    CHECK_STR(os_find_program(&arena, tool), tool);
    close_dir(dir);
}

TEST(os_dlopen_says_why_not) {
    CHECK(os_dlopen(&err, "/no/such/lib.so") == NULL);
    CHECK(strstr(err.msg, "/no/such/lib.so"));
    err_clear(&err);
    void *lib = os_dlopen(&err, "libm.so.6");
    if (!lib) SKIP("no libm.so.6");
    CHECK(os_dlsym(lib, "cos") != NULL);
    CHECK(os_dlsym(lib, "no_such_symbol") == NULL);
    os_dlclose(lib);
}

TEST(os_pages_are_zero_and_aligned) {
    static const size_t size[] = {1, 4096, 5000, 2 << 20, (2 << 20) + 1, 7 << 20};
    for (size_t i = 0; i < RG_COUNT(size); i++) {
        char *p = os_pages(size[i]);
        CHECK(p != NULL);
        CHECK_EQ((uintptr_t)p % (size[i] >= 2 << 20 ? 2 << 20 : 4096), 0);
        CHECK_EQ(p[0] | p[size[i] - 1], 0);
        memset(p, 1, size[i]);
        os_pages_free(p, size[i]);
    }
    os_pages_free(NULL, 0);
    CHECK(os_pages(SIZE_MAX - 100) == NULL);
}

/* ---- the processor -------------------------------------------------------------------------------- */

TEST(os_cpu_is_plausible) {
    const struct os_cpu *c = os_cpu();
    CHECK(c->arch[0] && c->model[0]);
    CHECK(c->vec_bytes == 16 || c->vec_bytes == 32 || c->vec_bytes == 64);
    CHECK(c->l1 == 0 || (c->l1 >= 8 << 10 && c->l1 <= 1 << 20));
    CHECK(c->l2 == 0 || c->l2 >= c->l1);
    CHECK(!strstr(c->flags, "native") && !strstr(c->flags, "-mcpu"));
    CHECK(strlen(c->flags) < sizeof c->flags - 1); /* none was cut off */
    unsetenv("RIDGE_THREADS");
    env_reload();
    CHECK(os_cpus() >= 1);
    setenv("RIDGE_THREADS", "7", 1);
    env_reload();
    CHECK_EQ(os_cpus(), 7);
    TEST_INFO("%s, %s, vectors of %d bytes, %s", c->model, c->arch, c->vec_bytes, c->flags);
}

/* cgroups of both versions, nested, in a container that mounts only its own, with no quota and with broken files. */
TEST(os_quotas_of_cgroups) {
    static const struct {
        const char *groups, *file[4], *text[4];
        int cpus;
    } row[] = {
        {"0::/\n", {"cpu.max"}, {"150000 100000\n"}, 2},
        {"0::/\n", {"cpu.max"}, {"max 100000\n"}, INT_MAX},
        {"0::/a/b\n",
         {"a/b/cpu.max", "a/cpu.max", "cpu.max"},
         {"max 100000\n", "400000 100000\n", "900000 100000\n"},
         4},
        {"0::/a/b\n", {"a/b/cpu.max", "a/cpu.max"}, {"300000 100000\n", "400000 100000\n"}, 3},
        {"0::/elsewhere\n", {"cpu.max"}, {"200000 100000\n"}, 2},
        {"2:memory:/m\n4:cpu,cpuacct:/d/x\n0::/\n",
         {"cpu/d/x/cpu.cfs_quota_us", "cpu/d/x/cpu.cfs_period_us"},
         {"250000\n", "50000\n"},
         5},
        {"4:cpu,cpuacct:/d/x\n",
         {"cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us"},
         {"-1\n", "100000\n"},
         INT_MAX},
        {"4:cpuacct:/\n",
         {"cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us"},
         {"100000\n", "100000\n"},
         INT_MAX},
        {"nonsense\n", {"cpu.max"}, {"soon\n"}, INT_MAX},
        {"0::/\n", {"cpu.max"}, {"100000 0\n"}, INT_MAX},
    };
    for (size_t i = 0; i < RG_COUNT(row); i++) {
        char *dir = open_dir(), *groups = arena_printf(&arena, "%s/groups", dir);
        CHECK_EQ(os_write_file(&err, groups, row[i].groups, strlen(row[i].groups), 0600), 0);
        for (int k = 0; k < 4 && row[i].file[k]; k++) {
            char *path = arena_printf(&arena, "%s/%s", dir, row[i].file[k]);
            for (char *c = path + strlen(dir) + 1; (c = strchr(c, '/')); *c++ = '/')
                *c = 0, mkdir(path, 0700);
            CHECK_EQ(os_write_file(&err, path, row[i].text[k], strlen(row[i].text[k]), 0600), 0);
        }
        CHECK_EQ(os_quota_cpus(groups, dir), row[i].cpus);
        close_dir(dir);
    }
    CHECK_EQ(os_quota_cpus("/nowhere/groups", "/nowhere"), INT_MAX);
    unsetenv("RIDGE_THREADS");
    env_reload();
    CHECK_EQ(os_cpus(), os_cores());
    cpu_set_t was, one;
    CHECK_EQ(sched_getaffinity(0, sizeof was, &was), 0);
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE && !CPU_COUNT(&one); cpu++)
        if (CPU_ISSET(cpu, &was)) CPU_SET(cpu, &one);
    CHECK_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    CHECK_EQ(os_cores(), 1);
    CHECK_EQ(sched_setaffinity(0, sizeof was, &was), 0);
}

TEST(os_cpu_flags_suit_both_compilers) {
    static const char *const cc[] = {"gcc", "clang"};
    char *dir = open_dir(), *flags = arena_strdup(&arena, os_cpu()->flags, strlen(os_cpu()->flags));
    char *src = arena_printf(&arena, "%s/x.c", dir), *obj = arena_printf(&arena, "%s/x.o", dir);
    static const char text[] =
        "typedef float v __attribute__((vector_size(16)));\nv f(v a, v b) { return a * b + a; }\n";
    CHECK_EQ(os_write_file(&err, src, text, strlen(text), 0600), 0);
    const char *argv[40] = {NULL, "-O2", "-Werror", "-c", src, "-o", obj};
    int n = 7, tried = 0;
    for (char *f = strtok(flags, " "); f && n < 39; f = strtok(NULL, " ")) argv[n++] = f;
    for (int i = 0; i < 2; i++) {
        if (!(argv[0] = os_find_program(&arena, cc[i]))) continue;
        int status;
        char *out;
        CHECK_EQ(os_run(&err, &arena, argv, &status, &out), 0);
        if (status) FAIL("%s with %s: %s", cc[i], os_cpu()->flags, out);
        tried++;
    }
    if (!tried) SKIP("neither gcc nor clang is here");
    close_dir(dir);
}

/* ---- the pool ------------------------------------------------------------------------------------- */

static atomic_int_fast64_t total;
static atomic_int workers_seen;

static void add_numbers(void *arg, uint32_t t0, uint32_t t1, int worker) {
    int64_t s = 0;
    for (uint32_t t = t0; t < t1; t++) {
        s += t;
        if (arg) ((uint8_t *)arg)[t]++;
    }
    atomic_fetch_add(&total, s);
    atomic_fetch_or(&workers_seen, 1 << worker);
}

static int64_t sum_to(uint32_t n) { return (int64_t)n * (n - 1) / 2; }

TEST(pool_runs_every_task_once) {
    setenv("RIDGE_THREADS", "4", 1); /* more threads than cores must work too */
    env_reload();
    struct pool *p = pool_get();
    CHECK_EQ(pool_threads(p), 4);
    static uint8_t hit[1000000];
    static const uint32_t chunk[] = {0, 1, 7, 1000, 999999, 1000000, UINT32_MAX};
    for (size_t i = 0; i < RG_COUNT(chunk); i++) {
        memset(hit, 0, sizeof hit);
        atomic_store(&total, 0);
        pool_run(p, add_numbers, hit, 1000000, chunk[i]);
        CHECK_EQ(atomic_load(&total), sum_to(1000000));
        for (int t = 0; t < 1000000; t++) CHECK_EQ(hit[t], 1);
    }
    CHECK(atomic_load(&workers_seen) < 1 << 4);
}

TEST(pool_many_small_jobs) {
    setenv("RIDGE_THREADS", "3", 1);
    env_reload();
    struct pool *p = pool_get();
    int64_t want = 0;
    for (uint32_t n = 0; n < 20000; n++) {
        pool_run(p, add_numbers, NULL, n % 10, 1);
        want += sum_to(n % 10);
        if (n % 4000 == 0) usleep(2000); /* long enough for the workers to fall asleep */
    }
    CHECK_EQ(atomic_load(&total), want);
}

static void nested(void *arg, uint32_t t0, uint32_t t1, int worker) {
    (void)worker;
    for (uint32_t t = t0; t < t1; t++) pool_run(arg, add_numbers, NULL, 100, 1);
}

TEST(pool_nested_calls_run_where_they_are) {
    setenv("RIDGE_THREADS", "3", 1);
    env_reload();
    struct pool *p = pool_get();
    pool_run(p, nested, p, 1000, 1);
    CHECK_EQ(atomic_load(&total), 1000 * sum_to(100));
}

static void *call_often(void *arg) {
    for (int i = 0; i < 2000; i++) pool_run(arg, add_numbers, NULL, 50, 3);
    return NULL;
}

TEST(pool_callers_are_serialised) {
    setenv("RIDGE_THREADS", "2", 1);
    env_reload();
    pthread_t t[3];
    for (int i = 0; i < 3; i++) pthread_create(&t[i], NULL, call_often, pool_get());
    for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
    CHECK_EQ(atomic_load(&total), 3 * 2000 * sum_to(50));
}

/* The first chunk that a worker takes ends when all others are done: those of its range too. */
struct held_chunk {
    atomic_int holds, done;
    int all;
};

static void hold_one(void *arg, uint32_t t0, uint32_t t1, int worker) {
    struct held_chunk *h = arg;
    (void)t0, (void)t1;
    if (worker && atomic_fetch_add(&h->holds, 1) == 0)
        while (atomic_load(&h->done) < h->all - 1) sched_yield();
    atomic_fetch_add(&h->done, 1);
}

TEST(pool_takes_over_the_chunks_of_a_held_worker) {
    setenv("RIDGE_THREADS", "5", 1);
    env_reload();
    for (int n = 5; n < 400; n += 7) {
        struct held_chunk h = {.all = n};
        pool_run(pool_get(), hold_one, &h, (uint32_t)n, 1);
        CHECK_EQ(atomic_load(&h.done), n);
    }
}

/* Jobs of other lengths follow each other at once, so that late workers find the next one, and some note what they did. */
static void count_noted(void *arg, int worker, uint32_t iterations, uint64_t t0, uint64_t t1) {
    (void)worker;
    atomic_fetch_add((atomic_int *)arg, (int)(t1 >= t0 ? iterations : 0));
}

static void count_run(void *arg, uint32_t t0, uint32_t t1, int worker) {
    (void)worker;
    atomic_fetch_sub((atomic_int *)arg, (int)(t1 - t0));
}

TEST(pool_jobs_of_changing_lengths) {
    setenv("RIDGE_THREADS", "16", 1);
    env_reload();
    struct pool *p = pool_get();
    for (int i = 0; i < 5000; i++) {
        atomic_int *left = calloc(1, sizeof *left); /* a late worker that touched it would be found by ASan */
        uint64_t h = hash_u64((uint64_t)i);
        int n = (int)(2 + h % (i % 2 ? 40 : 4000)), chunk = (int)(1 + h / 4096 % 9), noted = i % 3 == 0;
        atomic_store(left, noted ? 0 : n);
        pool_run_noted(p, count_run, noted && n > chunk ? count_noted : NULL, left, (uint32_t)n,
                       (uint32_t)chunk);
        CHECK_EQ(atomic_load(left), noted && n <= chunk ? -n : 0);
        free(left);
    }
}

/* A chunk that ends only when another thread has the other one: the true cost of a hand-over. */
static void meet(void *arg, uint32_t t0, uint32_t t1, int worker) {
    (void)t0, (void)t1, (void)worker;
    atomic_int *here = arg;
    atomic_fetch_add(here, 1);
    for (int i = 0; atomic_load(here) % 2 && i < 1000000; i++) {}
}

TEST(pool_cost) {
    struct pool *p = pool_get();
    if (pool_threads(p) < 2) SKIP("one core only");
    uint64_t best = UINT64_MAX;
    atomic_int here = 0;
    for (int round = 0; round < 200; round++) {
        uint64_t t = os_now_ns();
        for (int i = 0; i < 100; i++) pool_run(p, meet, &here, 2, 1);
        best = RG_MIN(best, os_now_ns() - t);
        if (atomic_load(&here) % 2) break; /* no worker came: the machine is busy */
    }
    TEST_INFO("%.2f us to fork, meet and join on 2 of %d threads", (double)best / 1e5, pool_threads(p));
}

/* ---- the include checker -------------------------------------------------------------------------- */

/* Each row: a file and its text, and the words the checker must find about it ("" for none). */
TEST(depcheck_finds_planted_includes) {
    static const struct {
        const char *file, *text, *says;
    } row[] = {
        {"ir/ir.h", "int ir;\n", ""},
        {"ir/a.c", "#include \"ir.h\"\n#include \"base/base.h\"\n", ""},
        {"codegen/a.c", "#include \"ir/ir.h\"\n#include \"codegen/x.h\"\n#include \"base/base.h\"\n", ""},
        {"ir/b.c", "\n#include \"rules/rules.h\"\n", "src/ir/b.c:2: ir/ may not include rules/"},
        {"device/cpu/c.c", "#include \"ir/ir.h\"\n", "src/device/cpu/c.c:1: device/ may not include ir/"},
        {"codegen/d.c", "  #  include \"ir/part.h\"\n", "src/codegen/d.c:1: \"ir/part.h\" is private to ir/"},
        {"ir/e.c", "#include \"../base/base.h\"\n", "no .. in includes"},
        {"engine/a.c", "#include \"ref/ref.h\"\n", ""},
        {"api/h.c", "#include \"ref/ref.h\"\n", "src/api/h.c:1: api/ may not include ref/"},
        {"ir/i.c", "#include \"event/event.h\"\n", "src/ir/i.c:1: ir/ may not include event/"},
        {"engine/f.c", "#include \"ridge.h\"\n", "the public header belongs to api/"},
        {"misc/g.c", "\n", "folder src/misc is not in the table"},
        {"codegen/opts/j.c", "#include \"codegen/internal.h\"\n", ""},
        {"codegen/opts/k.c", "#include \"codegen/gpu/mma.h\"\n",
         "src/codegen/opts/k.c:1: codegen/opts/ may not include codegen/gpu/"},
        {"tune/choose/l.c", "#include \"tune/search/search.h\"\n",
         "src/tune/choose/l.c:1: tune/choose/ may not include tune/search/"},
        {"engine/m.c", "#include \"tune/search/search.h\"\n",
         "src/engine/m.c:1: engine/ may not include tune/search/"},
        {"tune/search/n.c", "#include \"engine/internal.h\"\n#include \"tune/choose/choose.h\"\n", ""},
        {"base/bad.h", "struct s { size_t n; };\n", "src/base/bad.h:1: does not compile alone"},
    };
    char *dir = open_dir();
    if (!os_exists("tools/depcheck")) SKIP("not run from the root of the project");
    for (size_t i = 0; i < RG_COUNT(row); i++) {
        char *path = arena_printf(&arena, "%s/src/%s", dir, row[i].file);
        char *folder = arena_strdup(&arena, path, (size_t)(strrchr(path, '/') - path));
        CHECK_EQ(os_mkdirs(&err, folder, 0700), 0);
        CHECK_EQ(os_write_file(&err, path, row[i].text, strlen(row[i].text), 0600), 0);
    }
    int status;
    char *out;
    CHECK_EQ(os_run(&err, &arena, (const char *const[]){"tools/depcheck", dir, NULL}, &status, &out), 0);
    CHECK_EQ(status, 1);
    for (size_t i = 0; i < RG_COUNT(row); i++)
        if (!strstr(out, row[i].says)) FAIL("'%s' is not in\n%s", row[i].says, out);
    CHECK(!strstr(out, "ir/a.c") && !strstr(out, "codegen/a.c") && !strstr(out, "opts/j.c") &&
          !strstr(out, "search/n.c") && !strstr(out, "engine/a.c"));
    close_dir(dir);
}
