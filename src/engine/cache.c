/* cache.c: the kernel cache on disk: compiled kernels, plans and tuning results, each a file named by its content's key.
 *
 * The folder that RIDGE_CACHE_DIR names may hold anything: everything here is in its folder ridge-v3 (the number goes up
 * with the form of the files), and there only regular files of this user with names KIND-<64 hex digits> are read, counted or
 * removed. Links are never followed.
 * What is read here is executed, so nothing is believed unchecked: the folders must be private (owned by this user or root,
 * not writable by others, no symbolic link), each file must be one that no one else can write, and its head holds its own
 * name (the SHA-256 of everything that decides it), its length and the SHA-256 of its contents. A file that was damaged, or
 * put under another's name, is counted, removed and written anew.
 * Files are written to tmp/ and renamed when complete, so that any number of processes may fill the cache at once; what
 * a killed one left in tmp/ goes at the first write of a later process. The modification time is when a file was last of
 * use, renewed at most once a day. What is there, how large and in which order of use, is in an index (cache_index.c); which
 * process compiles what, in locks (cache_lock.c).
 * A folder that can be read only is read. Every failure here only costs time, so none is an error: there is then no cache.
 * Tests: tests/unit/cache.c */
#include "engine/internal.h"
#include "event/event.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MAGIC "ridge-cache 2\n\0"
#define MOST_BYTES ((uint64_t)1 << 30) /* of a file */
#define MOST_MB ((int64_t)1 << 30)
#define RENEW_S (24 * 3600)
#define LEFTOVER_S 3600 /* temporary files older than this have no owner any more */

struct head {
    char magic[16];
    char name[88]; /* zero-filled */
    uint64_t bytes;
    uint8_t sum[32]; /* of what is before it and of the content */
};

const char *const cache_kinds[CACHE_KINDS] = {"kernel", "object", "plan", "tuned", "cc", "last", "search"};

/* ---- names ------------------------------------------------------------------------------------------ */

/* Bytes of KIND-<64 hex digits> at the beginning of name, or of what is before the dot of an index that is being written; or 0. */
static size_t own_form(const char *name) {
    for (size_t i = 0; i < CACHE_KINDS; i++) {
        size_t n = strlen(cache_kinds[i]);
        if (strncmp(name, cache_kinds[i], n) || name[n] != '-') continue;
        return strspn(name + n + 1, "0123456789abcdef") == CACHE_HEX ? n + 1 + CACHE_HEX : 0;
    }
    return strncmp(name, CACHE_INDEX ".", strlen(CACHE_INDEX) + 1) ? 0 : strlen(CACHE_INDEX);
}

bool cache_is_own(const char *name) {
    size_t n = own_form(name);
    return n && !name[n];
}

/* KIND-<64 hex digits>.PID.NUMBER, index.PID.NUMBER; 0: it is not one. */
static long temporary_of(const char *name) {
    size_t n = own_form(name);
    if (!n || name[n] != '.') return 0;
    const char *pid = name + n + 1, *digits = "0123456789";
    size_t k = strspn(pid, digits), last = pid[k] == '.' ? strspn(pid + k + 1, digits) : 0;
    return k && k < 11 && last && !pid[k + 1 + last] ? strtol(pid, NULL, 10) : 0;
}

/* ---- the folder ------------------------------------------------------------------------------------- */

static const char *cache_top(struct arena *a) {
    const char *dir = env_str(ENV_CACHE_DIR);
    if (dir && *dir) return arena_strdup(a, dir, strlen(dir));
    const char *xdg = env_get("XDG_CACHE_HOME"), *home = env_get("HOME");
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
    if (st.st_uid && st.st_uid != geteuid()) return "it belongs to another user";
    if (st.st_mode & (S_IWGRP | S_IWOTH)) return "other users can write to it (chmod 700 mends that)";
    return access(dir, R_OK | X_OK) ? "it cannot be read" : NULL;
}

/* Makes the directory if it is not there. The same. */
static const char *make(struct err *e, const char *dir) {
    struct stat st;
    if (lstat(dir, &st) && os_mkdirs(e, dir, 0700)) return e->msg;
    return distrust(dir);
}

void cache_open(struct cache *c, struct arena *a, struct str *warnings) {
    *c = (struct cache){.limit = (uint64_t)RG_MAX(RG_MIN(env_int(ENV_CACHE_MB), MOST_MB), 0) << 20};
    if (!env_int(ENV_CACHE)) return;
    const char *top = cache_top(a);
    if (!top) {
        str_add(warnings,
                "kernels are not kept on disk: neither RIDGE_CACHE_DIR, XDG_CACHE_HOME nor HOME is set\n");
        return;
    }
    struct err e = {0};
    const char *dir = arena_printf(a, "%s/" CACHE_FOLDER, top), *why = make(&e, top), *bad = top;
    if (!why) why = make(&e, dir), bad = dir;
    if (why) {
        str_printf(warnings, "kernels are not kept on disk: the cache directory %s is not used: %s\n", bad,
                   why);
        return;
    }
    c->dir = dir;
    c->tmp = arena_printf(a, "%s/tmp", dir);
    if (!access(dir, W_OK) && !make(&e, c->tmp) && !access(c->tmp, W_OK)) return;
    c->tmp = NULL;
    str_printf(warnings,
               "new kernels are not kept on disk: the cache directory %s is read, but cannot be written\n",
               dir);
}

/* ---- one file --------------------------------------------------------------------------------------- */

static bool trusted(int fd, struct stat *st) {
    return fstat(fd, st) == 0 && S_ISREG(st->st_mode) && (!st->st_uid || st->st_uid == geteuid()) &&
           !(st->st_mode & (S_IWGRP | S_IWOTH)) && st->st_size >= (off_t)sizeof(struct head) &&
           st->st_size < (off_t)MOST_BYTES;
}

static void fill_head(struct head *h, const char *name, const void *data, size_t n) {
    struct sha256 s;
    *h = (struct head){.magic = MAGIC, .bytes = n};
    memcpy(h->name, name, strlen(name));
    sha256_init(&s);
    sha256_add(&s, h, offsetof(struct head, sum));
    sha256_add(&s, data, n);
    sha256_end(&s, h->sum);
}

/* Returns the content in the arena, or NULL. The head is looked at first: what only claims to be large is not read. */
static char *read_checked(struct cache *c, int fd, struct arena *a, const char *name, size_t *n) {
    struct stat st;
    struct head h, want;
    if (!trusted(fd, &st) || !os_read_exactly(fd, &h, sizeof h)) return NULL;
    size_t size = (size_t)st.st_size - sizeof h;
    if (memcmp(h.magic, MAGIC, sizeof h.magic) || h.bytes != size) return NULL;
    struct arena_mark m = arena_mark(a);
    char *p = arena_raw(a, size + 1);
    bool ok = os_read_exactly(fd, p, size);
    if (ok) fill_head(&want, name, p, size);
    if (!ok || memcmp(&h, &want, sizeof h)) {
        arena_release(a, m);
        return NULL;
    }
    p[size] = 0;
    if (time(NULL) - st.st_mtime > RENEW_S && !futimens(fd, NULL))
        index_add(c, name, INDEX_USED, (uint64_t)st.st_size);
    *n = size;
    return p;
}

struct cache_read_job {
    struct cache *c;
    int fd;
    struct arena *a;
    const char *name;
    size_t *n;
    char *out;
};

static void read_guarded(void *arg) {
    struct cache_read_job *j = arg;
    j->out = read_checked(j->c, j->fd, j->a, j->name, j->n);
}

static bool path_of(const struct cache *c, const char *name, char path[4200]) {
    return c->dir && cache_is_own(name) && snprintf(path, 4200, "%s/%s", c->dir, name) < 4200;
}

void cache_reject(struct cache *c, const char *name) {
    char path[4200];
    struct stat st;
    c->rejected++;
    if (c->tmp && path_of(c, name, path) && !lstat(path, &st) && S_ISREG(st.st_mode) &&
        st.st_uid == geteuid() && !unlink(path))
        index_add(c, name, INDEX_GONE, (uint64_t)st.st_size);
}

char *cache_read(struct cache *c, struct arena *a, const char *name, size_t *n) {
    uint64_t t0 = os_now_ns();
    char path[4200];
    if (!path_of(c, name, path)) return NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    bool absent = fd < 0 && errno == ENOENT;
    struct cache_read_job j = {c, fd, a, name, n, NULL};
    int code = fd < 0 ? 0 : err_guard(a->err, read_guarded, &j); /* the file must close whatever happens */
    if (fd >= 0) close(fd);
    if (code) err_throw(a->err, code, "%s", a->err->msg);
    if (!j.out && !absent) cache_reject(c, name);
    event_add(EVENT_CACHE, event_name("cache"), t0, os_now_ns(), j.out != NULL, j.out ? (int64_t)*n : 0);
    return j.out;
}

bool cache_put(int fd, const void *from, size_t n) {
    for (const char *p = from; n;) {
        ssize_t k = write(fd, p, n);
        if (k < 0 && errno == EINTR) continue;
        if (k < 0) return false;
        p += k, n -= (size_t)k;
    }
    return true;
}

int cache_check(struct cache *c, struct arena *a, const char *name) {
    char path[4200];
    size_t n;
    if (!path_of(c, name, path)) return -1;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) return -1;
    struct arena_mark m = arena_mark(a);
    struct cache_read_job j = {c, fd, a, name, &n, NULL};
    int code = err_guard(a->err, read_guarded, &j);
    close(fd);
    if (code) err_throw(a->err, code, "%s", a->err->msg);
    if (j.out) arena_release(a, m);
    return j.out ? 0 : -1;
}

/* What writers that are gone left behind. One of another machine or container looks gone too: it loses a file of the cache. */
static void sweep(struct cache *c) {
    DIR *d = c->swept ? NULL : opendir(c->tmp);
    c->swept = true;
    for (struct dirent *e; d && (e = readdir(d));) {
        struct stat st;
        long pid = temporary_of(e->d_name);
        if (!pid || fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode)) continue;
        bool gone = kill((pid_t)pid, 0) && errno == ESRCH;
        if (gone || time(NULL) - st.st_mtime > LEFTOVER_S) c->evicted += !unlinkat(dirfd(d), e->d_name, 0);
    }
    if (d) closedir(d);
}

/* Complete or absent, but not synced as os_write_file would: a file that a power cut damages is found out
 * by its sum, and forty syncs would cost more than forty compiles. */
void cache_write(struct cache *c, struct arena *a, const char *name, const void *data, size_t n) {
    static atomic_uint serial;
    char path[4200];
    struct head h;
    if (!c->tmp || n >= MOST_BYTES - sizeof h || !path_of(c, name, path)) return;
    sweep(c);
    fill_head(&h, name, data, n);
    const char *tmp =
        arena_printf(a, "%s/%s.%ld.%u", c->tmp, name, (long)getpid(), atomic_fetch_add(&serial, 1));
    int fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) return;
    bool ok = cache_put(fd, &h, sizeof h) && cache_put(fd, data, n);
    ok &= close(fd) == 0;
    if (!ok || rename(tmp, path)) {
        unlink(tmp);
        return;
    }
    c->written += sizeof h + n;
    index_add(c, name, INDEX_FILE, sizeof h + n);
}

int cache_try(struct cache *c, struct err *e, size_t n) {
    static const char zero[4096];
    char path[4300] = "";
    errno = EROFS;
    if (c->tmp)
        snprintf(path, sizeof path, "%.4100s/%s-%064d.%ld.0", c->tmp, cache_kinds[0], 0, (long)getpid());
    int fd = *path ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600) : -1;
    bool ok = fd >= 0;
    for (size_t at = 0; ok && at < n; at += sizeof zero) ok = cache_put(fd, zero, sizeof zero);
    if (!ok) err_set(e, RG_EIO, "cannot write to %s: %s", c->dir, strerror(errno));
    if (fd >= 0) close(fd), unlink(path);
    return e->code;
}
