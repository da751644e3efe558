/* segment.c: the memory that ranks of one host share, and the two backends on it: shm, processes that map one anonymous file
 * (memfd, sent over a socket: it has no name, so nothing can be left behind), and local, contexts of one process.
 *
 *     head, with a record for each rank | slots, two a rank | results, two | channels, one a pair | their data
 *
 * Pages that are never written take no memory.
 * Tests: tests/unit/world.c, tests/cli/world.sh */
#include "world/internal.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAGIC 0x3177646c72676472ull
/* SPINS: about as long as a step, 225 us with x86's pause (2 MB), 20 us else (384 kB). Where both ranks have to share a core all of it is lost. */
enum { PAGE = 4096, SPINS = WORLD_STORES_BYPASS ? 5000 : 1500, STEP_LEAST = 64 << 10 };

static size_t pages(size_t n) { return (n + PAGE - 1) & ~(size_t)(PAGE - 1); }
static size_t slots_at(void) { return pages(sizeof(struct segment_head)); }
static size_t channels_at(uint32_t size) { return slots_at() + (size_t)(2 * size + 2) * SEGMENT_SLOT; }
static size_t data_at(uint32_t size) {
    return channels_at(size) + pages((size_t)size * size * sizeof(struct segment_channel));
}

size_t segment_bytes(uint32_t size) { return data_at(size) + (size_t)size * size * 2 * SEGMENT_CHANNEL; }

char *segment_slot(const struct segment *s, uint32_t rank, uint32_t parity) {
    return (char *)s->head + slots_at() + (size_t)(2 * rank + parity) * SEGMENT_SLOT;
}

char *segment_result(const struct segment *s, uint32_t parity) { return segment_slot(s, s->size, parity); }

struct segment_channel *segment_channel(const struct segment *s, uint32_t from, uint32_t to) {
    return (struct segment_channel *)((char *)s->head + channels_at(s->size)) + from * s->size + to;
}

char *segment_channel_data(const struct segment *s, uint32_t from, uint32_t to, uint32_t parity) {
    return (char *)s->head + data_at(s->size) +
           ((size_t)(from * s->size + to) * 2 + parity) * SEGMENT_CHANNEL;
}

/* Larger steps are fewer waits, as long as the slots of all ranks stay in a small part of the last cache. */
static uint32_t step_bytes(uint32_t size) {
    int64_t all = (int64_t)(2 * size + 2) * SEGMENT_SLOT;
    return all <= os_cpu()->l3 / 4 ? SEGMENT_SLOT : SEGMENT_SLOT / 2;
}

/* Where a round is one loop (exchange.c) smaller steps, whose slots are mostly in L2: 384 kB of 1 MB are the best of a sweep
 * (docs/measurements/2026-11-17-ranks.md). */
static uint32_t step_of_pair(uint32_t size) {
    int64_t step = os_cpu()->l2 * 3 / 8 & -STEP_LEAST, most = step_bytes(size);
    return (uint32_t)(WORLD_STORES_BYPASS ? most : RG_MIN(RG_MAX(step, STEP_LEAST), most));
}

static void segment_format(struct segment_head *h, uint32_t size) {
    h->size = size;
    h->version = 3;
    h->step = step_bytes(size);
    h->step_of_pair = step_of_pair(size);
    h->magic = MAGIC;
}

int segment_begin(struct world *w, struct err *e, int fd) {
    struct segment_head *h = mmap(NULL, sizeof *h, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (h == MAP_FAILED) return err_set(e, RG_ENOMEM, "no room to map shared memory");
    segment_format(h, (uint32_t)w->size);
    munmap(h, sizeof *h);
    return 0;
}

/* Cores of all ranks together: mpirun binds each to cores of its own. */
static int cores_of_all(const struct segment *s) {
    cpu_set_t all;
    CPU_ZERO(&all);
    for (uint32_t r = 0; r < s->size; r++) CPU_OR(&all, &all, &s->head->rank[r].cores);
    return RG_MIN(CPU_COUNT(&all), os_quota_cpus("/proc/self/cgroup", "/sys/fs/cgroup"));
}

int segment_join(struct segment *s, struct err *e) {
    struct segment_head *h = s->head;
    struct segment_rank *me = &h->rank[s->me];
    char state;
    if (h->magic != MAGIC || h->size != s->size)
        return err_set(e, RG_EINVAL, "rank %u says that the world has %u ranks, and rank 0 that it has %u",
                       s->me, s->size, h->size);
    uint32_t absent = RANK_ABSENT;
    me->pid = getpid();
    me->born = sync_process_born(me->pid, &state);
    sched_getaffinity(0, sizeof me->cores, &me->cores); /* where that fails: none, and no rank spins */
    if (!atomic_compare_exchange_strong(&me->state, &absent, RANK_JOINED))
        return err_set(e, RG_EINVAL, "two processes say that they are rank %u of world %s", s->me,
                       s->w->name);
    if (sync_all(s, e)) return e->code;
    s->spins = (int)s->size <= cores_of_all(s) ? SPINS : 0;
    return 0;
}

void segment_leave(struct segment *s) {
    struct segment_rank *me = &s->head->rank[s->me];
    atomic_store(&me->state, RANK_LEFT);
}

static int check_size(struct world *w, struct err *e) {
    if (w->size <= SEGMENT_RANKS) return 0;
    return err_set(e, RG_ELIMIT,
                   "%lld ranks; the %s backend has room for %d on one host: use backend \"mpi\"",
                   (long long)w->size, w->ops->name, SEGMENT_RANKS);
}

static struct segment *segment_new(struct world *w, struct err *e) {
    struct segment *s = check_size(w, e) ? NULL : mem_alloc(sizeof *s);
    if (!s) {
        if (!e->code) err_set(e, RG_ENOMEM, "out of memory for a world");
        return NULL;
    }
    *s = (struct segment){.me = (uint32_t)w->rank, .size = (uint32_t)w->size, .w = w};
    s->bytes = segment_bytes(s->size);
    w->state = s;
    w->any_thread = true;
    return s;
}

static int segment_world_run(struct world *w, struct err *e, const struct world_call *c) {
    return segment_run(w->state, e, c);
}

/* ---- shm ---------------------------------------------------------------------------------------------------------- */

static int map_segment(struct segment *s, struct err *e, int fd) {
    void *p = mmap(NULL, s->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (p == MAP_FAILED) return err_set(e, RG_ENOMEM, "no room to map %zu bytes of shared memory", s->bytes);
    s->head = p;
    return 0;
}

static void shm_close(struct world *w) {
    struct segment *s = w->state;
    if (s && s->head) {
        segment_leave(s);
        munmap(s->head, s->bytes);
    }
    mem_free(s);
}

static int shm_open_world(struct world *w, struct err *e) {
    struct segment *s = segment_new(w, e);
    if (!s) return e->code;
    int fd = rendezvous(w, e, s->bytes);
    if (fd < 0 || map_segment(s, e, fd)) return e->code;
    return segment_join(s, e);
}

const struct world_ops world_shm = {"shm", shm_open_world, shm_close, segment_world_run, false};

/* ---- local --------------------------------------------------------------------------------------------------------- */

struct local_meeting { /* of ranks that opened a world of this name and wait for the others */
    struct local_meeting *next;
    char name[160];
    struct segment_head *head;
    uint32_t size, joined;
};
static pthread_mutex_t meetings_lock = PTHREAD_MUTEX_INITIALIZER;
static struct local_meeting *meetings;

static struct local_meeting **find_meeting(const char *name) {
    struct local_meeting **m = &meetings;
    while (*m && strcmp((*m)->name, name)) m = &(*m)->next;
    return m;
}

static int meeting_new(struct world *w, struct err *e, struct segment *s, struct local_meeting **at) {
    struct local_meeting *m = mem_alloc(sizeof *m);
    void *p = mmap(NULL, s->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (!m || p == MAP_FAILED) {
        mem_free(m);
        return err_set(e, RG_ENOMEM, "no memory for %zu bytes that ranks share", s->bytes);
    }
    *m = (struct local_meeting){.head = p, .size = s->size};
    snprintf(m->name, sizeof m->name, "%s", w->name);
    segment_format(p, s->size);
    *at = m;
    return 0;
}

/* Mappings of the same pages: each rank unmaps its own, the memory goes with the last. */
static int meet(struct world *w, struct err *e, struct segment *s) {
    struct local_meeting **at = find_meeting(w->name), *m;
    if (!*at && meeting_new(w, e, s, at)) return e->code;
    m = *at;
    if (m->size != s->size)
        return err_set(e, RG_EINVAL, "rank %u opens world \"%s\" with %u ranks; another opened it with %u",
                       s->me, w->name, s->size, m->size);
    void *p = mremap(m->head, 0, s->bytes, MREMAP_MAYMOVE);
    if (p == MAP_FAILED) return err_set(e, RG_ENOMEM, "no room to map %zu bytes that ranks share", s->bytes);
    s->head = p;
    if (++m->joined < m->size) return 0;
    munmap(m->head, s->bytes);
    *at = m->next;
    mem_free(m);
    return 0;
}

/* A rank that gave up before all had come: the last of them takes the meeting with it. */
static void leave_meeting(struct segment *s) {
    struct local_meeting **at = find_meeting(s->w->name), *m = *at;
    if (!m || m->size != s->size || m->joined >= m->size || --m->joined) return;
    munmap(m->head, s->bytes);
    *at = m->next;
    mem_free(m);
}

static int local_open(struct world *w, struct err *e) {
    struct segment *s = segment_new(w, e);
    if (!s) return e->code;
    s->threads = true;
    pthread_mutex_lock(&meetings_lock);
    int bad = meet(w, e, s);
    pthread_mutex_unlock(&meetings_lock);
    if (bad || !segment_join(s, e)) return bad;
    pthread_mutex_lock(&meetings_lock);
    leave_meeting(s);
    pthread_mutex_unlock(&meetings_lock);
    return e->code;
}

const struct world_ops world_local = {"local", local_open, shm_close, segment_world_run, false};
