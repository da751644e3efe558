/* os.c: files, directories, pages, clocks and shared libraries. os.c, os_out.c, os_work.c, os_run.c and os_cpu.c are the only
 * files that may differ between operating systems; Linux is what they know today.
 *
 * Errors name the path, the reason in the system's words and, where there is one, the way out.
 * Tests: tests/unit/base.c (os_*). */
#include "internal.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

uint64_t os_now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Two numbers of files that may be missing: "100000 50000", or one in each of two. "max" and -1 are no quota. */
static int64_t quota_of(const char *dir, const char *const file[2]) {
    long long n[2] = {0, 0};
    char path[1024];
    for (int i = 0; i < 2 && file[i]; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, file[i]);
        FILE *f = fopen(path, "re");
        if (!f) return INT_MAX;
        int got = file[1] ? fscanf(f, "%lld", &n[i]) : fscanf(f, "%lld %lld", &n[0], &n[1]);
        fclose(f);
        if (got != (file[1] ? 1 : 2)) return INT_MAX;
    }
    return n[0] > 0 && n[1] > 0 ? RG_MIN((n[0] - 1) / n[1] + 1, INT_MAX) : INT_MAX;
}

/* The least quota of the group `path` under `mount` and all groups around it. What a container shows of its path may lie outside
 * of what it has mounted: then only the mount itself is found. */
static int64_t least_quota(const char *mount, const char *path, const char *const file[2]) {
    int64_t least = INT_MAX;
    char dir[512];
    for (int n = (int)strcspn(path, "\n"); n >= 0; n--) {
        if (n && path[n] != '/' && path[n] != '\n' && path[n]) continue;
        snprintf(dir, sizeof dir, "%s%.*s", mount, n, path);
        least = RG_MIN(least, quota_of(dir, file));
    }
    return least;
}

int os_quota_cpus(const char *groups, const char *root) {
    static const char *const v1[2] = {"cpu.cfs_quota_us", "cpu.cfs_period_us"}, *const v2[2] = {"cpu.max",
                                                                                                NULL};
    int64_t least = quota_of(root, v2);
    char line[512], mount[512];
    FILE *f = fopen(groups, "re");
    while (f && fgets(line, sizeof line, f)) { /* number:controllers:path; v2 has no controllers */
        char *name = strchr(line, ':'), *path = name ? strchr(name + 1, ':') : NULL;
        if (!path) continue;
        *path++ = 0, name++;
        snprintf(mount, sizeof mount, ",%s,", name);
        bool cpu = strstr(mount, ",cpu,") != NULL;
        if (*name && !cpu) continue;
        snprintf(mount, sizeof mount, *name ? "%s/cpu" : "%s",
                 root); /* of "cpu,cpuacct" a link is made for each */
        least = RG_MIN(least, least_quota(mount, path, *name ? v1 : v2));
    }
    if (f) fclose(f);
    return (int)least;
}

int os_cores(void) {
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof set, &set) ? (int)sysconf(_SC_NPROCESSORS_ONLN) : CPU_COUNT(&set);
    n = RG_MIN(n, os_quota_cpus("/proc/self/cgroup", "/sys/fs/cgroup"));
    return RG_MAX(1, RG_MIN(n, 256));
}

int os_cpus(void) {
    int64_t asked = env_int(ENV_THREADS);
    return asked > 0 ? (int)RG_MIN(asked, 256) : os_cores();
}

void os_pin(int nth) {
    static cpu_set_t allowed; /* of the process, before anyone was pinned: the first call comes alone */
    static bool known;
    if (!known) known = !sched_getaffinity(getpid(), sizeof allowed, &allowed);
    cpu_set_t set = allowed;
    int n = CPU_COUNT(&allowed);
    if (!known || n < 1) return;
    for (int cpu = 0, k = 0; nth >= 0 && cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &allowed) && k++ != nth % n) CPU_CLR(cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
}

void os_sleep_ms(int ms) {
    struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};
    nanosleep(&t, NULL);
}

static atomic_uint forks;
static void count_fork(void) { atomic_fetch_add_explicit(&forks, 1, memory_order_relaxed); }
RG_AT_LOAD static void watch_forks(void) { pthread_atfork(NULL, NULL, count_fork); }

unsigned os_forks(void) { return atomic_load_explicit(&forks, memory_order_relaxed); }

/* ---- files ---------------------------------------------------------------------------------------- */

static int io_error(struct err *e, const char *verb, const char *path) {
    return err_set(e, RG_EIO, "cannot %s %s: %s", verb, path, strerror(errno));
}

static int too_large(struct err *e, const char *path, size_t limit) {
    return err_set(e, RG_ELIMIT, "%s is larger than the %zu bytes expected at most", path, limit);
}

/* Reads until the end; the size a file claims is only a first guess (pipes and /proc claim 0). */
static int read_all(struct err *e, struct str *s, int fd, const char *path, size_t limit) {
    char buf[16384];
    for (;;) {
        ssize_t k = read(fd, buf, sizeof buf);
        if (k < 0 && errno == EINTR) continue;
        if (k < 0) return io_error(e, "read", path);
        if (k == 0) return 0;
        if ((size_t)k > limit - s->n) return too_large(e, path, limit);
        str_addn(s, buf, (size_t)k);
    }
}

struct read_file {
    struct err *e;
    struct str *s;
    int fd;
    const char *path;
    size_t limit;
};

static void read_guarded(void *arg) {
    struct read_file *j = arg;
    read_all(j->e, j->s, j->fd, j->path, j->limit);
}

int os_read_file(struct err *e, struct arena *a, const char *path, size_t limit, char **data, size_t *n) {
    if (e->code) return e->code;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return io_error(e, "open", path);
    struct stat st;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (uintmax_t)st.st_size > limit) {
        close(fd);
        return too_large(e, path, limit);
    }
    struct str s;
    str_init(&s, a);
    struct read_file job = {e, &s, fd, path, limit};
    int code = err_guard(a->err, read_guarded, &job); /* the arena may throw; the file must close */
    close(fd);
    if (code && a->err != e) err_set(e, code, "%s", a->err->msg);
    if (e->code) return e->code;
    *data = s.cap ? s.p : arena_strdup(a, "", 0);
    if (n) *n = s.n;
    return 0;
}

int os_open(struct err *e, const char *path, int *fd, uint64_t *size) {
    *fd = -1;
    if (e->code) return e->code;
    int f = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe without a writer must not make us wait */
    if (f < 0) return io_error(e, "open", path);
    struct stat st;
    if (fstat(f, &st)) {
        io_error(e, "open", path);
    } else if (!S_ISREG(st.st_mode)) {
        err_set(e, RG_EIO, "cannot read %s: it is %s, not a file", path,
                S_ISDIR(st.st_mode) ? "a directory" : "a pipe or a device");
    } else {
        *fd = f, *size = (uint64_t)st.st_size;
        return 0;
    }
    close(f);
    return e->code;
}

bool os_read_exactly(int fd, void *to, size_t n) {
    for (char *p = to; n;) {
        ssize_t k = read(fd, p, n);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) return false;
        p += k, n -= (size_t)k;
    }
    return true;
}

int os_read_at(struct err *e, int fd, const char *path, void *p, size_t n, uint64_t at) {
    if (e->code) return e->code;
    while (n) {
        ssize_t k = pread(fd, p, RG_MIN(n, (size_t)1 << 30), (off_t)at);
        if (k < 0 && errno == EINTR) continue;
        if (k < 0) return io_error(e, "read", path);
        if (k == 0)
            return err_set(e, RG_EIO, "cannot read %s: it ends at byte %llu, where %zu more are expected",
                           path, (unsigned long long)at, n);
        p = (char *)p + k, n -= (size_t)k, at += (uint64_t)k;
    }
    return 0;
}

void os_close(int fd) {
    if (fd >= 0) close(fd);
}

int os_mkdirs(struct err *e, const char *path, unsigned mode) {
    if (e->code) return e->code;
    char buf[PATH_MAX];
    size_t n = strlen(path);
    if (n == 0 || n >= sizeof buf) {
        errno = n ? ENAMETOOLONG : ENOENT;
        return io_error(e, "create directory", path);
    }
    memcpy(buf, path, n + 1);
    for (size_t i = 1; i <= n; i++) {
        if (buf[i] != '/' && buf[i]) continue;
        char c = buf[i];
        buf[i] = 0;
        if (mkdir(buf, mode) && errno != EEXIST) return io_error(e, "create directory", buf);
        buf[i] = c;
    }
    struct stat st;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) return 0;
    errno = ENOTDIR;
    return io_error(e, "create directory", path);
}

bool os_exists(const char *path) { return access(path, F_OK) == 0; }

void os_remove(const char *path) { unlink(path); }

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at) {
    (void)st, (void)type, (void)at;
    remove(path);
    return 0;
}

void os_remove_tree(const char *path) { nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT); }

bool os_is_private(const char *path) {
    struct stat st;
    return lstat(path, &st) == 0 && !S_ISLNK(st.st_mode) && st.st_uid == geteuid() &&
           !(st.st_mode & (S_IWGRP | S_IWOTH));
}

int os_temp_dir(struct err *e, struct arena *a, char **path) {
    if (e->code) return e->code;
    const char *top = env_get("TMPDIR");
    if (!top || !*top) top = "/tmp";
    char *p = arena_printf(a, "%s/ridge-XXXXXX", top);
    if (!mkdtemp(p))
        return err_set(e, RG_EIO, "cannot create a directory in %s: %s; set TMPDIR to another folder", top,
                       strerror(errno));
    *path = p;
    return 0;
}

static bool is_program(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

char *os_find_program(struct arena *a, const char *name) {
    if (!*name) return NULL;
    if (strchr(name, '/')) return is_program(name) ? arena_strdup(a, name, strlen(name)) : NULL;
    const char *dir = env_get("PATH");
    if (!dir) dir = OS_DEFAULT_PATH;
    for (size_t n; dir && *dir; dir += n + (dir[n] == ':')) {
        n = strcspn(dir, ":");
        struct arena_mark m = arena_mark(a);
        char *p = arena_printf(a, "%.*s%s%s", (int)n, dir, n ? "/" : "./", name);
        if (is_program(p)) return p;
        arena_release(a, m);
    }
    return NULL;
}

char *os_find_cc(struct arena *a) {
    static const char *const names[] = {"clang", "gcc", "cc"};
    const char *asked = env_str(ENV_CC);
    char *found = NULL;
    if (asked && *asked) return os_find_program(a, asked);
    for (size_t i = 0; i < RG_COUNT(names) && !found; i++) found = os_find_program(a, names[i]);
    return found;
}

/* The object whose segments hold this very function: its file, "" for the program itself. */
struct self {
    uintptr_t at;
    char path[PATH_MAX];
    bool found;
};

static int look_for_self(struct dl_phdr_info *o, size_t size, void *arg) {
    struct self *s = arg;
    (void)size;
    for (int i = 0; i < o->dlpi_phnum; i++) {
        uintptr_t from = o->dlpi_addr + o->dlpi_phdr[i].p_vaddr;
        if (o->dlpi_phdr[i].p_type != PT_LOAD || s->at < from || s->at - from >= o->dlpi_phdr[i].p_memsz)
            continue;
        s->found = true;
        snprintf(s->path, sizeof s->path, "%s", *o->dlpi_name ? o->dlpi_name : "/proc/self/exe");
        return 1;
    }
    return 0;
}

bool os_self_stamp(char out[64]) {
    struct self s = {.at = (uintptr_t)os_self_stamp};
    struct stat st;
    dl_iterate_phdr(look_for_self, &s);
    if (!s.found || stat(s.path, &st)) return false;
    snprintf(out, 64, "%llx %llx.%lx %llx", (unsigned long long)st.st_ino,
             (unsigned long long)st.st_mtim.tv_sec, (unsigned long)st.st_mtim.tv_nsec,
             (unsigned long long)st.st_size);
    return true;
}

/* ---- shared libraries and pages ------------------------------------------------------------------- */

void *os_dlopen(struct err *e, const char *path) {
    if (e->code) return NULL;
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const char *why = lib ? NULL : dlerror();
    if (!lib) err_set(e, RG_EIO, "cannot load %s: %s", path, why ? why : "unknown reason");
    return lib;
}

void *os_dlsym(void *lib, const char *name) { return dlsym(lib, name); }

void os_dlclose(void *lib) {
    if (lib) dlclose(lib);
}

#define HUGE ((size_t)2 << 20)

static size_t round_pages(size_t n) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (RG_MAX(n, 1) + page - 1) & ~(page - 1);
}

/* A mapping that starts in the middle of a huge page cannot use one for its first part: ask for two
 * megabytes more and give back what stands out at both ends. */
void *os_pages(size_t n) {
    if (n > SIZE_MAX / 2 || mem_hit()) return NULL;
    size_t want = round_pages(n), slack = want >= HUGE ? HUGE : 0;
    char *p = mmap(NULL, want + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return NULL;
    if (slack) {
        size_t head = (HUGE - ((uintptr_t)p & (HUGE - 1))) & (HUGE - 1);
        if (head) munmap(p, head);
        p += head;
        if (slack > head) munmap(p + want, slack - head);
        madvise(p, want, MADV_HUGEPAGE); /* a wish; small pages are slower, not wrong */
    }
    return p;
}

void os_pages_free(void *p, size_t n) {
    if (p) munmap(p, round_pages(n));
}
