/* cache_index.c: what the disk cache holds: an append-only index, by which the files used least recently go.
 *
 * A row says that a file was written, was of use, or is gone; the order of rows is the order of use. Rows are appended by one
 * write each, by any number of processes, under a shared lock; a process reads only the rows that are new to it, so that
 * the sum of all files costs it nothing in a full cache. When the sum passes the limit, one process takes the lock for itself,
 * reads the whole index, removes the oldest files until 7/8 of the limit are left, and replaces the index by one row a file.
 * An index that is missing, damaged or a week old is made anew from the folder, in the order of modification times. It is
 * never believed to name a file: what is removed is a regular file of this user whose name has our form.
 * Tests: tests/unit/cache_index.c, tests/cli/cache.sh */
#include "engine/internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define WEEK_S (7 * 24 * 3600)
#define WAIT_MS 200 /* for a process that rewrites the index, before a row is given up */
#define MOST_ROWS ((off_t)1 << 24)
#define SIGNATURE "ridge-index 1"
/* bford.info/cachedir: backup programs leave such a folder out. */
#define TAG "CACHEDIR.TAG"
#define TAG_TEXT                                        \
    "Signature: 8a477f597d28d172789f06886806bc55\n"     \
    "# Compiled kernels of Ridge; see docs/files.md.\n" \
    "# Everything here may be removed at any time: `ridge cache clear`.\n"

struct index_row {
    uint8_t sum[32]; /* of the name; the signature, in the first row */
    uint64_t bytes;  /* of the file; when the index was made, in the first row */
    uint32_t kind, what;
    uint64_t check;
};

struct cache_file {
    char *name;
    uint64_t bytes, order;
    struct timespec used;
};
typedef VEC(struct cache_file) files;

/* ---- rows ------------------------------------------------------------------------------------------- */

static uint64_t check_of(const struct index_row *r) {
    return hash_bytes(r, offsetof(struct index_row, check), 17);
}

static int digit(char c) { return c <= '9' ? c - '0' : c - 'a' + 10; }

static struct index_row row_of(const char *name, enum index_what what, uint64_t bytes) {
    struct index_row r = {.bytes = bytes, .what = what};
    size_t n = strcspn(name, "-");
    while (strncmp(cache_kinds[r.kind], name, n) || cache_kinds[r.kind][n]) r.kind++;
    for (int i = 0; i < 32; i++)
        r.sum[i] = (uint8_t)(digit(name[n + 1 + 2 * (size_t)i]) << 4 | digit(name[n + 2 + 2 * (size_t)i]));
    r.check = check_of(&r);
    return r;
}

static struct index_row first_row(void) {
    struct index_row r = {.bytes = (uint64_t)time(NULL), .what = INDEX_FIRST};
    memcpy(r.sum, SIGNATURE, sizeof SIGNATURE);
    r.check = check_of(&r);
    return r;
}

static bool is_sound(const struct index_row *r, bool first) {
    if (r->check != check_of(r) || r->kind >= CACHE_KINDS || r->what > INDEX_GONE) return false;
    if (!first) return r->what != INDEX_FIRST;
    return r->what == INDEX_FIRST && !memcmp(r->sum, SIGNATURE, sizeof SIGNATURE);
}

static const char *name_of(struct arena *a, const struct index_row *r) {
    struct str s;
    str_init(&s, a);
    str_printf(&s, "%s-", cache_kinds[r->kind]);
    for (int i = 0; i < 32; i++) str_printf(&s, "%02x", r->sum[i]);
    return s.p;
}

static int open_index(const struct cache *c, int flags) {
    char path[4200];
    struct stat st;
    if (snprintf(path, sizeof path, "%s/" CACHE_INDEX, c->dir) >= (int)sizeof path) return -1;
    int fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) return -1;
    if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid()) return fd;
    close(fd);
    return -1;
}

void index_add(struct cache *c, const char *name, enum index_what what, uint64_t bytes) {
    if (!c->tmp || !cache_is_own(name)) return;
    int guard = cache_guard(c, false, WAIT_MS);
    int fd = guard == CACHE_BUSY
                 ? -1
                 : open_index(c, O_WRONLY | O_APPEND); /* if there is none, the next trim makes it */
    struct index_row r = row_of(name, what, bytes);
    if (fd >= 0) {
        if (write(fd, &r, sizeof r) != (ssize_t)sizeof r)
            c->total = UINT64_MAX; /* half a row: it is made anew */
        close(fd);
    }
    cache_unguard(guard);
}

/* ---- reading ---------------------------------------------------------------------------------------- */

static void count(struct cache *c, const struct index_row *r) {
    if (r->what == INDEX_FILE) c->total += r->bytes;
    if (r->what == INDEX_GONE) c->total -= RG_MIN(r->bytes, c->total);
}

/* Adds up the rows that are new. False: the index is missing, damaged or old. */
static bool follow(struct cache *c) {
    struct index_row r[128];
    struct stat st;
    int fd = open_index(c, O_RDONLY);
    bool ok = fd >= 0 && !fstat(fd, &st) && st.st_size / (off_t)sizeof *r <= MOST_ROWS;
    if (ok && (c->index_ino != st.st_ino || c->index_at > st.st_size || c->total == UINT64_MAX))
        c->index_at = 0, c->total = 0, c->index_ino = st.st_ino;
    for (ssize_t k = 1; ok && k > 0;) {
        k = pread(fd, r, sizeof r, c->index_at);
        if (k < 0 && errno == EINTR) continue;
        if (k < (ssize_t)sizeof *r) break;
        for (ssize_t i = 0; ok && i < k / (ssize_t)sizeof *r; i++) {
            ok = is_sound(&r[i], !c->index_at);
            if (ok && !c->index_at) ok = (uint64_t)time(NULL) - r[i].bytes < WEEK_S;
            if (ok) count(c, &r[i]);
            c->index_at += (off_t)sizeof *r;
        }
    }
    if (fd >= 0) close(fd);
    if (ok && c->index_at) return true;
    c->index_at = 0, c->index_ino = 0;
    return false;
}

struct index_job {
    struct cache *c;
    struct arena *a;
    DIR *d;
    int fd;
    files f;
    uint64_t most, goal; /* bytes */
};

static struct cache_file *file_of(struct index_job *j, struct map *at, const struct index_row *r) {
    uint64_t h = hash_bytes(r->sum, sizeof r->sum, r->kind), i;
    if (map_get(at, h, &i)) return &j->f.p[i];
    map_put(at, h, j->f.n);
    vec_push(j->a, &j->f, ((struct cache_file){.name = (char *)(uintptr_t)name_of(j->a, r)}));
    return &j->f.p[j->f.n - 1];
}

/* All files that the index knows, each once. False: it is damaged. */
static bool read_index(struct index_job *j) {
    struct index_row r;
    struct map at;
    uint64_t n = 0;
    map_init(&at, j->a);
    for (; pread(j->fd, &r, sizeof r, (off_t)(n * sizeof r)) == (ssize_t)sizeof r; n++) {
        if (!is_sound(&r, !n)) return false;
        if (!n) continue;
        struct cache_file *f = file_of(j, &at, &r);
        f->order = n;
        f->bytes = r.what == INDEX_GONE ? 0 : r.bytes;
    }
    return n > 0;
}

static void read_folder(struct index_job *j) {
    for (struct dirent *e; (e = readdir(j->d));) {
        struct stat st;
        if (!cache_is_own(e->d_name) || fstatat(dirfd(j->d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
            !S_ISREG(st.st_mode) || st.st_uid != geteuid())
            continue;
        struct cache_file f = {.name = arena_strdup(j->a, e->d_name, strlen(e->d_name)),
                               .bytes = (uint64_t)st.st_size,
                               .used = st.st_mtim};
        vec_push(j->a, &j->f, f);
    }
}

static int older(const void *x, const void *y) {
    const struct cache_file *a = x, *b = y;
    if (a->order != b->order) return a->order < b->order ? -1 : 1;
    if (a->used.tv_sec != b->used.tv_sec) return a->used.tv_sec < b->used.tv_sec ? -1 : 1;
    if (a->used.tv_nsec != b->used.tv_nsec) return a->used.tv_nsec < b->used.tv_nsec ? -1 : 1;
    return strcmp(a->name, b->name);
}

/* ---- writing ---------------------------------------------------------------------------------------- */

static void write_tag(const struct cache *c) {
    char path[4200];
    if (snprintf(path, sizeof path, "%s/" TAG, c->dir) >= (int)sizeof path) return;
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0) return;
    bool ok = write(fd, TAG_TEXT, strlen(TAG_TEXT)) == (ssize_t)strlen(TAG_TEXT);
    if (close(fd) || !ok) unlink(path);
}

/* Complete or as it was. */
static void write_index(struct index_job *j) {
    static atomic_uint serial;
    struct cache *c = j->c;
    uint64_t total = 0;
    size_t n = 1;
    struct index_row *r = arena_array(j->a, struct index_row, j->f.n + 1);
    r[0] = first_row();
    for (uint32_t i = 0; i < j->f.n; i++) {
        if (!j->f.p[i].bytes) continue;
        r[n++] = row_of(j->f.p[i].name, INDEX_FILE, j->f.p[i].bytes);
        total += j->f.p[i].bytes;
    }
    const char *to = arena_printf(j->a, "%s/" CACHE_INDEX, c->dir);
    const char *tmp =
        arena_printf(j->a, "%s/" CACHE_INDEX ".%ld.%u", c->tmp, (long)getpid(), atomic_fetch_add(&serial, 1));
    int fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) return;
    struct stat st;
    bool ok = cache_put(fd, r, n * sizeof *r) && !fstat(fd, &st);
    if (close(fd) || !ok || rename(tmp, to)) {
        unlink(tmp);
        return;
    }
    c->index_ino = st.st_ino, c->index_at = (off_t)(n * sizeof *r), c->total = total;
    write_tag(c);
}

/* Removes the oldest until no more than `goal` bytes are left, if there are more than `most`. */
static void drop_oldest(struct index_job *j) {
    uint64_t total = 0;
    for (uint32_t i = 0; i < j->f.n; i++) total += j->f.p[i].bytes;
    if (total <= j->most) return;
    for (uint32_t i = 0; i < j->f.n && total > j->goal; i++) {
        struct cache_file *f = &j->f.p[i];
        struct stat st;
        bool there = f->bytes && !fstatat(dirfd(j->d), f->name, &st, AT_SYMLINK_NOFOLLOW);
        if (there && (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || unlinkat(dirfd(j->d), f->name, 0)))
            continue;
        j->c->evicted += there;
        total -= f->bytes;
        f->bytes = 0;
    }
}

static void trim_guarded(void *arg) {
    struct index_job *j = arg;
    bool known = j->fd >= 0 && read_index(j);
    if (!known) j->f.n = 0, read_folder(j);
    if (j->f.n) qsort(j->f.p, j->f.n, sizeof *j->f.p, older);
    drop_oldest(j);
    write_index(j);
}

/* One process at a time; who finds another at it leaves it to that one. */
static void rewrite(struct cache *c, struct arena *a, bool by_folder, uint64_t most, uint64_t goal) {
    int guard = cache_guard(c, true, 0);
    if (guard == CACHE_BUSY) return;
    if (!by_folder && follow(c) && c->total <= most) { /* someone was faster */
        cache_unguard(guard);
        return;
    }
    struct index_job j = {.c = c,
                          .a = a,
                          .d = opendir(c->dir),
                          .fd = by_folder ? -1 : open_index(c, O_RDONLY),
                          .most = most,
                          .goal = goal};
    struct arena_mark m = arena_mark(a);
    int code = j.d ? err_guard(a->err, trim_guarded, &j) : 0;
    if (j.d) closedir(j.d);
    if (j.fd >= 0) close(j.fd);
    cache_unguard(guard);
    if (code) err_throw(a->err, code, "%s", a->err->msg);
    arena_release(a, m);
}

void cache_trim(struct cache *c, struct arena *a) {
    if (!c->tmp || !c->written) return;
    c->written = 0;
    uint64_t goal = c->limit - c->limit / 8; /* some room, so that this is not done at every write */
    if (!follow(c)) rewrite(c, a, true, c->limit, goal);
    if (follow(c) && c->total > c->limit) rewrite(c, a, false, c->limit, goal);
}

/* ---- the whole, for people -------------------------------------------------------------------------- */

struct names_job {
    struct arena *a;
    DIR *d;
    const char *prefix;
    VEC(const char *) name;
};

static int by_name(const void *x, const void *y) {
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}

static void list_guarded(void *arg) {
    struct names_job *j = arg;
    for (struct dirent *e; (e = readdir(j->d));)
        if (!strncmp(e->d_name, j->prefix, strlen(j->prefix)) && cache_is_own(e->d_name))
            vec_push(j->a, &j->name, arena_strdup(j->a, e->d_name, strlen(e->d_name)));
    if (j->name.n) qsort(j->name.p, j->name.n, sizeof *j->name.p, by_name);
}

uint32_t cache_list(struct cache *c, struct arena *a, const char *prefix, const char *const **out) {
    DIR *d = c->dir ? opendir(c->dir) : NULL;
    *out = NULL;
    if (!d) return 0;
    struct names_job j = {.a = a, .d = d, .prefix = prefix};
    int code = err_guard(a->err, list_guarded, &j);
    closedir(d);
    if (code) err_throw(a->err, code, "%s", a->err->msg);
    *out = j.name.p;
    return j.name.n;
}

void cache_reindex(struct cache *c, struct arena *a, uint64_t goal) {
    if (c->tmp) rewrite(c, a, true, goal, goal);
}

uint64_t cache_index_total(struct cache *c) { return follow(c) ? c->total : UINT64_MAX; }
