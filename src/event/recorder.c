/* recorder.c: every record of a run, in a file that is whole at any moment.
 *
 * Each thread owns a block of the file, mapped into memory; a record is a copy of 48 bytes into it and one store that
 * counts it. The kernel holds those pages whatever happens to the process, so a program that is killed leaves all it
 * did. A full block is given back and the next one taken under a lock, which takes tens of microseconds every 5,400 records and is
 * itself recorded, as PROFILER. Space is reserved on the disk before a block is mapped: a full disk ends the
 * recording, not the program, and is told when it stops. Only its owner unmaps a block, so that ending a recording never takes memory from a
 * thread that is writing. Names go into blocks of their own, in the order in which they are made.
 * Lock order: names (event.c), then `rec.lock`. Tests: tests/unit/profile.c, tests/cli/profile.sh */
#include "event/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define BLOCK_BYTES (256u << 10) /* with its head; a multiple of every page size */
#define HEAD_BYTES (64u << 10)   /* before the first block: where a page may begin */
#define NAME_BYTES 200000u       /* of one name at most: fits into a block */

/* What is written in any case; what is written while nothing else is, to understand what comes later. */
#define KIND(name) (1u << EVENT_##name)
#define ALWAYS (KIND(RECORD) | KIND(PROFILER) | KIND(STEP) | KIND(RANGE) | KIND(NOTE))
#define MEMORY (KIND(ALLOC) | KIND(FREE) | KIND(RESERVE) | KIND(PLANNED))
_Static_assert(EVENT_KINDS <= 32, "a bit for each kind");

uint32_t event_recording_now, event_written_kinds;

static struct {
    pthread_mutex_t lock;
    int fd;            /* -1: no file */
    struct os_out out; /* what it is for; fd is of a file without a name if that cannot be mapped */
    uint64_t end;      /* where the next block begins */
    atomic_uint file;  /* number of the file: blocks of an older one are not written to any more */
    int failed;        /* errno */
    atomic_bool full;  /* failed */
    uint32_t kinds;    /* wanted */
    enum event_mode mode;
    uint32_t record_ns; /* see struct event_head */
    atomic_uint_fast64_t dropped;
    struct event_block *names;
} rec = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1, .out.fd = -1};

static atomic_uint_fast64_t since;
uint64_t event_record_since(void) { return atomic_load_explicit(&since, memory_order_relaxed); }

static void set_mode(enum event_mode m) {
    rec.mode = m;
    if (m == EVENT_ON) atomic_store(&since, os_now_ns());
    uint32_t kinds = m == EVENT_ON ? rec.kinds | ALWAYS
                     : rec.fd >= 0 ? (rec.kinds & MEMORY) | KIND(RECORD)
                                   : 0;
    __atomic_store_n(&event_recording_now, m != EVENT_OFF && !rec.failed, __ATOMIC_SEQ_CST);
    __atomic_store_n(&event_written_kinds, kinds, __ATOMIC_SEQ_CST);
}

static void (*_Atomic before_off)(void);
void event_before_off(void (*fn)(void)) { atomic_store(&before_off, fn); }
static void call_before_off(void) {
    void (*fn)(void) = atomic_load(&before_off);
    if (fn) fn();
}

static _Thread_local struct event_block *block;
static _Thread_local uint32_t block_file;

/* A new block at the end of the file, or NULL; under the lock. */
static struct event_block *new_block(uint32_t tag, uint32_t thread) {
    if (rec.fd < 0 || rec.failed) return NULL;
    rec.failed = posix_fallocate(rec.fd, (off_t)rec.end, BLOCK_BYTES);
    void *p = MAP_FAILED;
    if (!rec.failed) {
        p = mmap(NULL, BLOCK_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, rec.fd,
                 (off_t)rec.end);
        if (p == MAP_FAILED) rec.failed = errno;
    }
    if (rec.failed) { /* what comes is counted, so that the reader can say how much is missing */
        atomic_store(&rec.full, true);
        __atomic_store_n(&event_recording_now, 0, __ATOMIC_SEQ_CST);
        return NULL;
    }
    rec.end += BLOCK_BYTES;
    struct event_block *b = p;
    *b = (struct event_block){tag, thread, BLOCK_BYTES - sizeof *b, 0};
    return b;
}

static void drop_block(struct event_block **b) {
    if (*b) munmap(*b, BLOCK_BYTES);
    *b = NULL;
}

void record_thread_end(void) { drop_block(&block); }

static bool fits(const struct event_block *b, size_t n) { return b && b->used + n <= b->size; }

static void append(struct event_block *b, const void *p, size_t n) {
    memcpy((char *)(b + 1) + b->used, p, n);
    __atomic_store_n(&b->used, b->used + (uint32_t)n, __ATOMIC_RELEASE);
}

void record_event(const struct event *e, uint32_t thread) {
    uint32_t file = atomic_load_explicit(&rec.file, memory_order_relaxed);
    if (__builtin_expect(block_file == file && fits(block, sizeof *e), 1)) {
        append(block, e, sizeof *e);
        return;
    }
    if (atomic_load_explicit(&rec.full, memory_order_relaxed)) {
        atomic_fetch_add_explicit(&rec.dropped, 1, memory_order_relaxed);
        return;
    }
    uint64_t t0 = os_now_ns();
    drop_block(&block);
    pthread_mutex_lock(&rec.lock);
    block = new_block(EVENT_BLOCK_RECORDS, thread);
    block_file = atomic_load(&rec.file);
    pthread_mutex_unlock(&rec.lock);
    if (!block) {
        atomic_fetch_add_explicit(&rec.dropped, 1, memory_order_relaxed);
        return;
    }
    append(block, e, sizeof *e);
    struct event own = {t0, os_now_ns(), BLOCK_BYTES, 0, 0, thread, EVENT_PROFILER, 0, 0};
    append(block, &own, sizeof own);
}

static void put_name(uint32_t number, const char *text, size_t len) {
    len = RG_MIN(len, NAME_BYTES);
    uint32_t head[2] = {number, (uint32_t)len};
    if (!fits(rec.names, sizeof head + len)) {
        drop_block(&rec.names);
        rec.names = new_block(EVENT_BLOCK_NAMES, 0);
    }
    if (!rec.names) return;
    char *at = (char *)(rec.names + 1) + rec.names->used;
    memcpy(at, head, sizeof head);
    memcpy(at + sizeof head, text, len);
    __atomic_store_n(&rec.names->used, rec.names->used + (uint32_t)(sizeof head + len), __ATOMIC_RELEASE);
}

void record_name(uint32_t number, const char *text, size_t len) {
    pthread_mutex_lock(&rec.lock);
    if (rec.fd >= 0) put_name(number, text, len);
    pthread_mutex_unlock(&rec.lock);
}

/* The child shares the parent's pages: it must not write to them. */
static void in_child(void) {
    struct err ignore = {0};
    pthread_mutex_init(&rec.lock, NULL);
    if (rec.fd >= 0 && rec.out.direct) close(rec.fd);
    rec.fd = -1;
    os_out_end(&ignore, &rec.out);
    set_mode(EVENT_OFF);
    drop_block(&rec.names);
    drop_block(&block);
}
RG_AT_LOAD static void at_fork(void) { pthread_atfork(NULL, NULL, in_child); }

static void say(bool on) {
    uint64_t now = os_now_ns();
    struct timespec cpu = {0};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
    event_add(EVENT_RECORD, 0, now, now, on, (int64_t)cpu.tv_sec * 1000000000 + cpu.tv_nsec);
}

static void lock(void) { pthread_mutex_lock(&rec.lock); }

static int write_head(int fd, uint32_t record_ns) {
    struct event_head h = {.version = EVENT_FILE_VERSION,
                           .bytes = HEAD_BYTES,
                           .dropped = atomic_load(&rec.dropped),
                           .record_ns = record_ns,
                           .pid = (uint32_t)getpid()};
    memcpy(h.magic, EVENT_FILE_MAGIC, sizeof h.magic);
    return pwrite(fd, &h, sizeof h, 0) == (ssize_t)sizeof h ? 0 : errno ? errno : EIO;
}

/* A device or a pipe gets the whole when the recording ends. */
static int without_name(void) {
    const char *dir = env_get("TMPDIR");
    int fd = open(dir && *dir ? dir : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    return fd >= 0 ? fd : memfd_create("ridge.profile", MFD_CLOEXEC);
}

/* Copies the recording to where it cannot be mapped. */
static void hand_over(struct err *e, struct os_out *o, int fd, uint64_t bytes) {
    char part[1 << 16];
    for (uint64_t at = 0; at < bytes && !e->code;) {
        ssize_t n = pread(fd, part, sizeof part, (off_t)at);
        if (n <= 0)
            err_set(e, RG_EIO, "cannot read the profile back: %s", n ? strerror(errno) : "it is too short");
        else
            os_out_add(e, o, part, (size_t)n), at += (uint64_t)n;
    }
    close(fd);
}

/* A file of its own, even where an old recording is still mapped by another process. */
static int create(struct err *e, const char *path, uint32_t kinds) {
    struct os_out o;
    if (os_out_begin(e, &o, path, 0644)) return os_out_end(e, &o);
    o.path = o.to; /* the caller's may go */
    int fd = o.direct ? without_name() : o.fd;
    atomic_store(&rec.dropped, 0);
    int code = fd < 0 ? errno : write_head(fd, 0);
    if (code) err_set(e, RG_EIO, "cannot write %s: %s", path, strerror(code));
    if (os_out_publish(e, &o)) {
        if (o.direct && fd >= 0) close(fd);
        return os_out_end(e, &o);
    }
    rec.out = o;
    rec.fd = fd;
    rec.end = HEAD_BYTES;
    rec.failed = 0;
    atomic_store(&rec.full, false);
    rec.kinds = kinds;
    atomic_fetch_add(&rec.file, 1);
    return 0;
}

/* Records that are taken back at once: what one costs here, today. */
static uint32_t measure(void) {
    enum { TIMES = 512 };
    uint32_t thread = block ? block->thread : 0, used = block ? block->used : 0;
    if (!block || used + TIMES * sizeof(struct event) > block->size) return 0;
    uint64_t t0 = os_now_ns(), t = t0;
    for (int i = 0; i < TIMES; i++) {
        struct event e = {t, t, i, 0, 0, thread, EVENT_PROFILER, 0, 0};
        record_event(&e, thread);
        t = os_now_ns();
    }
    block->used = used;
    return (uint32_t)RG_MAX((t - t0 + TIMES / 2) / TIMES, 1);
}

int event_record_start(struct err *e, const char *path, uint32_t kinds) {
    lock();
    int bad =
        rec.fd >= 0 ? err_set(e, RG_EINVAL, "a profile is being recorded already") : create(e, path, kinds);
    pthread_mutex_unlock(&rec.lock);
    if (bad) return bad;
    names_each(put_name, lock);
    set_mode(EVENT_ON);
    pthread_mutex_unlock(&rec.lock);
    say(true);
    uint32_t ns = measure();
    lock();
    if (rec.fd >= 0) write_head(rec.fd, ns);
    rec.record_ns = ns;
    pthread_mutex_unlock(&rec.lock);
    return 0;
}

void event_record_mode(enum event_mode m) {
    lock();
    bool change = rec.fd >= 0 && rec.mode != m, was = rec.mode == EVENT_ON;
    pthread_mutex_unlock(&rec.lock);
    if (!change) return;
    if (was) call_before_off();
    if (was) say(false);
    lock();
    if (rec.fd >= 0) set_mode(m);
    pthread_mutex_unlock(&rec.lock);
    if (m == EVENT_ON) say(true);
}

uint32_t event_record_file(void) {
    return event_recording_kind(EVENT_RECORD) ? atomic_load_explicit(&rec.file, memory_order_relaxed) : 0;
}

int event_record_stop(struct err *e) {
    lock();
    bool on = rec.mode == EVENT_ON;
    pthread_mutex_unlock(&rec.lock);
    if (on) call_before_off();
    if (on) say(false);
    lock();
    int failed = rec.failed, fd = rec.fd;
    uint64_t end = rec.end;
    struct os_out out = rec.out;
    rec.out = (struct os_out){.fd = -1};
    rec.fd = -1;
    rec.failed = 0;
    atomic_store(&rec.full, false);
    set_mode(EVENT_OFF);
    drop_block(&rec.names);
    pthread_mutex_unlock(&rec.lock);
    drop_block(&block);
    if (fd < 0) return err_set(e, RG_EINVAL, "no profile is being recorded");
    if (atomic_load(&rec.dropped)) write_head(fd, rec.record_ns);
    if (failed)
        err_set(e, RG_EIO, "the profile ends early: %s: %s; %llu records are missing", out.path,
                strerror(failed), (unsigned long long)atomic_load(&rec.dropped));
    if (out.direct) hand_over(e, &out, fd, end);
    return os_out_end(e, &out);
}
