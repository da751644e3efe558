/* cache.c: the disk cache: files in one directory that only this user can write.
 *
 * What is read here is executed, so nothing is believed unchecked: the directory must be private (owned by
 * this user, not writable by others, no symbolic link), each file must be a plain file of this user that no
 * one else can write, and carry the SHA-256 of its content. What fails is ignored, counted and written
 * anew. Files are renamed into place complete, so that any number of processes may fill the cache at once
 * and one that is killed leaves at worst a temporary file, which a later trim removes.
 * A file is 32 bytes of sum and then the content; its modification time is when it was last of use, renewed
 * at most once a day, and the oldest files go first when the whole grows over its limit.
 * Every failure here only costs time, so none is an error: there is then no cache.
 * Tests: tests/unit/cache.c */
#include "engine/internal.h"
#include "event/event.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SUM 32
#define LIMIT ((uint64_t)1 << 30)
#define RENEW_S (24 * 3600)
#define LEFTOVER_S 3600 /* temporary files older than this belong to nobody */

static const char *place(struct arena *a) {
    const char *dir = env_str(ENV_CACHE_DIR);
    if (dir && *dir) return arena_strdup(a, dir, strlen(dir));
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (xdg && *xdg == '/') return arena_printf(a, "%s/ridge", xdg);
    if (home && *home == '/') return arena_printf(a, "%s/.cache/ridge", home);
    return NULL;
}

/* NULL if the directory can be trusted, else what is wrong with it. */
static const char *distrust(const char *dir) {
    struct stat st;
    if (lstat(dir, &st)) return "it cannot be looked at";
    if (S_ISLNK(st.st_mode)) return "it is a symbolic link";
    if (!S_ISDIR(st.st_mode)) return "it is not a directory";
    if (st.st_uid != geteuid()) return "it belongs to another user";
    if (st.st_mode & (S_IWGRP | S_IWOTH)) return "other users can write to it (chmod 700 mends that)";
    return access(dir, W_OK | X_OK) ? "it cannot be written" : NULL;
}

void cache_open(struct cache *c, struct arena *a, struct str *warnings) {
    *c = (struct cache){.limit = LIMIT};
    if (!env_int(ENV_CACHE)) return;
    const char *dir = place(a);
    if (!dir) {
        str_add(warnings,
                "kernels are not kept on disk: neither RIDGE_CACHE_DIR, XDG_CACHE_HOME nor HOME is set\n");
        return;
    }
    struct err e = {0};
    const char *why;
    struct stat st;
    if (lstat(dir, &st) && os_mkdirs(&e, dir, 0700))
        why = e.msg;
    else
        why = distrust(dir);
    if (why) {
        str_printf(warnings, "kernels are not kept on disk: the cache directory %s is not used: %s\n", dir,
                   why);
        return;
    }
    c->dir = dir;
}

/* ---- one file --------------------------------------------------------------------------------------- */

static bool trusted(int fd, struct stat *st) {
    return fstat(fd, st) == 0 && S_ISREG(st->st_mode) && st->st_uid == geteuid() &&
           !(st->st_mode & (S_IWGRP | S_IWOTH)) && st->st_size >= SUM && st->st_size < (off_t)LIMIT;
}

static bool read_exactly(int fd, char *p, size_t n) {
    while (n) {
        ssize_t k = read(fd, p, n);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) return false;
        p += k, n -= (size_t)k;
    }
    return true;
}

static bool sum_is_right(const char *file, size_t n) {
    uint8_t sum[SUM];
    struct sha256 s;
    sha256_init(&s);
    sha256_add(&s, file + SUM, n - SUM);
    sha256_end(&s, sum);
    return memcmp(sum, file, SUM) == 0;
}

/* Returns the content (after the sum) in the arena, or NULL. */
static char *read_checked(int fd, struct arena *a, size_t *n) {
    struct stat st;
    if (!trusted(fd, &st)) return NULL;
    size_t size = (size_t)st.st_size;
    struct arena_mark m = arena_mark(a);
    char *p = arena_raw(a, size + 1);
    if (!read_exactly(fd, p, size) || !sum_is_right(p, size)) {
        arena_release(a, m);
        return NULL;
    }
    p[size] = 0;
    if (time(NULL) - st.st_mtime > RENEW_S) futimens(fd, NULL); /* still of use */
    *n = size - SUM;
    return p + SUM;
}

struct read_job {
    int fd;
    struct arena *a;
    size_t *n;
    char *out;
};

static void read_guarded(void *arg) {
    struct read_job *j = arg;
    j->out = read_checked(j->fd, j->a, j->n);
}

char *cache_read(struct cache *c, struct arena *a, const char *name, size_t *n) {
    if (!c->dir) return NULL;
    uint64_t t0 = os_now_ns();
    char path[4200];
    if ((size_t)snprintf(path, sizeof path, "%s/%s", c->dir, name) >= sizeof path) return NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    bool absent = fd < 0 && errno == ENOENT;
    struct read_job j = {fd, a, n, NULL};
    int code = fd < 0 ? 0 : err_guard(a->err, read_guarded, &j); /* the file must close whatever happens */
    if (fd >= 0) close(fd);
    if (code) err_throw(a->err, code, "%s", a->err->msg);
    if (!j.out && !absent) c->rejected++;
    event_add(EVENT_CACHE, event_name("cache"), t0, os_now_ns(), j.out != NULL, j.out ? (int64_t)*n : 0);
    return j.out;
}

static bool write_exactly(int fd, const char *p, size_t n) {
    while (n) {
        ssize_t k = write(fd, p, n);
        if (k < 0 && errno == EINTR) continue;
        if (k < 0) return false;
        p += k, n -= (size_t)k;
    }
    return true;
}

/* Complete or absent, but not synced as os_write_file would: a file that a power cut damages is found out
 * by its sum, and forty syncs would cost more than forty compiles. */
void cache_write(struct cache *c, struct arena *a, const char *name, const void *data, size_t n) {
    static atomic_uint serial;
    if (!c->dir || n >= LIMIT - SUM) return;
    uint8_t sum[SUM];
    struct sha256 s;
    sha256_init(&s);
    sha256_add(&s, data, n);
    sha256_end(&s, sum);
    const char *path = arena_printf(a, "%s/%s", c->dir, name);
    const char *tmp = arena_printf(a, "%s.tmp.%ld.%u", path, (long)getpid(), atomic_fetch_add(&serial, 1));
    int fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) return;
    bool ok = write_exactly(fd, (const char *)sum, SUM) && write_exactly(fd, data, n);
    ok &= close(fd) == 0;
    if (!ok || rename(tmp, path)) unlink(tmp);
}

/* ---- the whole -------------------------------------------------------------------------------------- */

struct file {
    char *name;
    uint64_t bytes;
    struct timespec used;
};

static int older(const void *x, const void *y) {
    const struct file *a = x, *b = y;
    if (a->used.tv_sec != b->used.tv_sec) return a->used.tv_sec < b->used.tv_sec ? -1 : 1;
    if (a->used.tv_nsec != b->used.tv_nsec) return a->used.tv_nsec < b->used.tv_nsec ? -1 : 1;
    return strcmp(a->name, b->name);
}

typedef VEC(struct file) files;

static void list_files(struct cache *c, DIR *d, struct arena *a, files *out, uint64_t *total) {
    time_t now = time(NULL);
    for (struct dirent *e; (e = readdir(d));) {
        struct stat st;
        if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode)) continue;
        if (strstr(e->d_name, ".tmp.") && now - st.st_mtime > LEFTOVER_S) {
            c->evicted += unlinkat(dirfd(d), e->d_name, 0) == 0;
            continue;
        }
        struct file f = {arena_strdup(a, e->d_name, strlen(e->d_name)), (uint64_t)st.st_size, st.st_mtim};
        vec_push(a, out, f);
        *total += f.bytes;
    }
}

struct list_job {
    struct cache *c;
    struct arena *a;
    DIR *d;
    const char *prefix;
    VEC(const char *) name;
};

static int by_name(const void *x, const void *y) {
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}

static void list_guarded(void *arg) {
    struct list_job *j = arg;
    for (struct dirent *e; (e = readdir(j->d));)
        if (!strncmp(e->d_name, j->prefix, strlen(j->prefix)) && !strstr(e->d_name, ".tmp."))
            vec_push(j->a, &j->name, arena_strdup(j->a, e->d_name, strlen(e->d_name)));
    if (j->name.n) qsort(j->name.p, j->name.n, sizeof *j->name.p, by_name);
}

uint32_t cache_list(struct cache *c, struct arena *a, const char *prefix, const char *const **out) {
    DIR *d = c->dir ? opendir(c->dir) : NULL;
    *out = NULL;
    if (!d) return 0;
    struct list_job j = {.c = c, .a = a, .d = d, .prefix = prefix};
    int code = err_guard(a->err, list_guarded, &j);
    closedir(d);
    if (code) err_throw(a->err, code, "%s", a->err->msg);
    *out = j.name.p;
    return j.name.n;
}

struct trim_job {
    struct cache *c;
    struct arena *a;
    DIR *d;
};

static void trim_guarded(void *arg) {
    struct trim_job *j = arg;
    files f = {0};
    uint64_t total = 0;
    list_files(j->c, j->d, j->a, &f, &total);
    if (total <= j->c->limit) return;
    qsort(f.p, f.n, sizeof *f.p, older);
    uint64_t goal = j->c->limit - j->c->limit / 8; /* some room, so that this is not done at every write */
    for (uint32_t i = 0; i < f.n && total > goal; i++) {
        if (unlinkat(dirfd(j->d), f.p[i].name, 0)) continue;
        total -= f.p[i].bytes;
        j->c->evicted++;
    }
}

void cache_trim(struct cache *c, struct arena *a) {
    if (!c->dir) return;
    DIR *d = opendir(c->dir);
    if (!d) return;
    struct trim_job j = {c, a, d};
    int code = err_guard(a->err, trim_guarded, &j);
    closedir(d);
    if (code) err_throw(a->err, code, "%s", a->err->msg);
}
