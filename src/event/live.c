/* live.c: figures of a running program, which `ridge top` reads while it runs.
 *
 * One page of shared memory per process: a memfd, so there is no file to clean up, and /proc/PID/fd leads to it for those who may
 * look at the process. A row belongs to an open engine, its only writer, which sums once per run of a program, not per kernel.
 * `turn` is odd while a row is written: a reader takes the row again then. Without memory or descriptors there is no page, and
 * nothing else changes. A child of fork has the row of its parent: it gets memory of its own there, and a new page when it opens
 * an engine.
 * Tests: tests/unit/live.c, tests/cli/top.sh */
#include "event/event.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

static struct {
    pthread_mutex_t lock;
    struct live_page *page;
    int fd;
} live = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1};

static void before_fork(void) { pthread_mutex_lock(&live.lock); }
static void in_parent(void) { pthread_mutex_unlock(&live.lock); }
static void in_child(void) {
    if (live.page) {
        void *own = mmap(live.page, sizeof *live.page, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        (void)own; /* on failure the parent's stays, and the child's figures are added to it */
        close(live.fd);
    }
    live.page = NULL, live.fd = -1;
    pthread_mutex_unlock(&live.lock);
}
RG_AT_LOAD static void at_fork(void) { pthread_atfork(before_fork, in_parent, in_child); }

static void program_name(char *out, size_t n) {
    int fd = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, out, n - 1) : 0;
    out[RG_MAX(got, 0)] = 0;
    out[strcspn(out, "\n")] = 0;
    if (fd >= 0) close(fd);
}

/* Under the lock. */
static bool make_page(void) {
    int fd = memfd_create(LIVE_NAME, MFD_CLOEXEC);
    if (fd < 0) return false;
    void *p = ftruncate(fd, sizeof *live.page)
                  ? MAP_FAILED
                  : mmap(NULL, sizeof *live.page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED) {
        close(fd);
        return false;
    }
    live.page = p, live.fd = fd;
    live.page->version = LIVE_VERSION, live.page->pid = (uint32_t)getpid();
    program_name(live.page->program, sizeof live.page->program);
    return true;
}

struct live_row *live_open(const char *device, int unit) {
    struct live_row *r = NULL;
    int was = errno;
    pthread_mutex_lock(&live.lock);
    if (live.page || make_page())
        for (int i = 0; i < LIVE_ROWS && !r; i++)
            if (!live.page->row[i].since) r = &live.page->row[i];
    if (r) {
        *r = (struct live_row){.unit = unit, .last = -1};
        snprintf(r->device, sizeof r->device, "%s", device);
        __atomic_store_n(&r->since, os_now_ns(), __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&live.lock);
    errno = was;
    return r;
}

/* The page goes with its last row. */
void live_close(struct live_row *r) {
    if (!r) return;
    pthread_mutex_lock(&live.lock);
    __atomic_store_n(&r->since, 0, __ATOMIC_RELEASE);
    bool mine = live.page && r >= live.page->row && r < live.page->row + LIVE_ROWS, used = false;
    for (int i = 0; mine && i < LIVE_ROWS; i++) used |= live.page->row[i].since != 0;
    if (mine && !used) {
        munmap(live.page, sizeof *live.page);
        close(live.fd);
        live.page = NULL, live.fd = -1;
    }
    pthread_mutex_unlock(&live.lock);
}

static int plan_at(struct live_row *r, uint32_t name) {
    int least = 0;
    for (int i = 0; i < LIVE_PLANS; i++) {
        if (r->plan[i].name == name && r->plan[i].runs) return i;
        if (r->plan[i].runs < r->plan[least].runs) least = i;
    }
    r->plan[least] = (struct live_plan){.name = name};
    return least;
}

/* A step lasts until the next one begins, unless something new was planned in either (phases.c of src/analyze says the same of a
 * profile). Replays of a jit are steps; in a program without them, runs. */
static void count_step(struct live_row *r, const struct live_run *x) {
    bool replayed = x->how == 2;
    if (replayed && !r->replays) r->last = -1, memset(r->plan, 0, sizeof r->plan);
    r->replays += replayed;
    if (r->replays && !replayed) return;
    if (r->last >= 0 && x->how) r->plan[r->last].steps++, r->plan[r->last].ns += x->t0 - r->last_t0;
    int at = plan_at(r, x->plan);
    r->plan[at].runs++;
    r->last = x->how ? at : -1, r->last_t0 = x->t0;
}

static void turn(struct live_row *r) {
    __atomic_thread_fence(__ATOMIC_RELEASE);
    __atomic_store_n(&r->turn, r->turn + 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
}

void live_run(struct live_row *r, const struct live_run *x) {
    if (!r) return;
    turn(r);
    r->runs++, r->kernels += x->kernels, r->kernel_ns += x->kernel_ns, r->roof_ns += x->roof_ns;
    r->in_use = x->in_use, r->reserved = x->reserved, r->peak = x->peak;
    count_step(r, x);
    r->at = x->t1;
    turn(r);
}

void live_step(uint64_t t0, uint64_t t1) {
    pthread_mutex_lock(&live.lock);
    if (live.page && t0) live.page->marks++, live.page->mark_ns += t1 - t0;
    pthread_mutex_unlock(&live.lock);
}

/* ---- reading ---------------------------------------------------------------------------------------------- */

/* The descriptor of the page among those of a process, opened; -1: it has none, or may not be looked at. */
static int find_page(uint32_t pid) {
    char dir[64], path[360], to[64];
    snprintf(dir, sizeof dir, "/proc/%u/fd", pid);
    DIR *d = opendir(dir);
    int fd = -1;
    for (struct dirent *e; d && fd < 0 && (e = readdir(d));) {
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        ssize_t n = readlink(path, to, sizeof to - 1);
        to[RG_MAX(n, 0)] = 0;
        if (!strncmp(to, "/memfd:" LIVE_NAME " ", sizeof "/memfd:" LIVE_NAME))
            fd = open(path, O_RDONLY | O_CLOEXEC);
    }
    if (d) closedir(d);
    return fd;
}

/* Read, not mapped: its owner may cut it at any time. */
static bool read_row(int fd, off_t at, struct live_row *to) {
    for (int tries = 0; tries < 1000; tries++) {
        uint64_t after = 1;
        if (pread(fd, to, sizeof *to, at) != sizeof *to) return false;
        if (pread(fd, &after, sizeof after, at + (off_t)offsetof(struct live_row, turn)) != sizeof after)
            return false;
        if (!(to->turn & 1) && to->turn == after) break;
        if (tries == 999) to->since = 0; /* its writer was stopped in the middle */
    }
    to->device[sizeof to->device - 1] = 0;
    return true;
}

bool live_read(uint32_t pid, struct live_page *out) {
    int fd = find_page(pid);
    if (fd < 0) return false;
    bool good = pread(fd, out, offsetof(struct live_page, row), 0) == offsetof(struct live_page, row) &&
                out->version == LIVE_VERSION && out->pid == pid;
    for (int i = 0; i < LIVE_ROWS && good; i++)
        good = read_row(fd, (off_t)(offsetof(struct live_page, row) + (size_t)i * sizeof out->row[0]),
                        &out->row[i]);
    out->program[sizeof out->program - 1] = 0;
    close(fd);
    return good;
}
