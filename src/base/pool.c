/* pool.c: one process-wide set of worker threads with a fork-join of well under a microsecond.
 *
 * A job is published by writing its fields, setting `open` and bumping `gen`. Workers spin on `gen` for
 * some tens of microseconds after their last job and then sleep; a tensor program sends kernels back to
 * back, so the spin is what makes small kernels worth splitting. Chunks are handed out by one counter,
 * so an uneven machine balances itself; the caller takes chunks like everyone else and never waits for
 * a worker that did not come: a late one finds the job closed.
 *
 * Why this is correct: a worker adds itself to `active` and then looks at `open`; the caller clears
 * `open` and then waits for `active` to be 0. All four are sequentially consistent, so either the
 * worker sees the job closed and leaves, or the caller sees the worker and waits. Hence the job's plain
 * fields are written only while no worker reads them. Sleeping has the same shape with `sleepers` and
 * `gen`. Callers from several threads are serialized by `caller`; a call from inside a job runs where it is.
 * Tests: tests/unit/base.c (pool_*), also under MODE=tsan. */
#include "internal.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#define MAX_THREADS 256
#define SPIN_NS 40000  /* how long an idle worker spins before it sleeps */
#define POLITE_NS 5000 /* after this long, offer the core to others between looks */
#define LOOKS_PER_CLOCK 64

typedef void pool_fn(void *arg, uint32_t t0, uint32_t t1, int worker);
typedef void pool_note(void *arg, int worker, uint32_t iterations, uint64_t t0, uint64_t t1);

struct pool {
    /* the job: written by the caller while `open` is false and `active` is 0 */
    pool_fn *fn;
    pool_note *note;
    void *arg;
    uint32_t n, chunk;
    /* what all threads hammer on, each on its own cache line */
    _Alignas(64) atomic_uint gen;
    atomic_bool open, quit;
    _Alignas(64) atomic_uint_fast64_t next;
    _Alignas(64) atomic_int active;
    _Alignas(64) atomic_int sleepers;
    /* rarely touched */
    pthread_mutex_t caller, bed;
    pthread_cond_t wake;
    int threads;       /* the caller included */
    _Atomic pid_t pid; /* whose they are */
    atomic_uint forks; /* os_forks when they were started */
    pthread_t id[MAX_THREADS];
};

static struct pool the_pool = {
    .caller = PTHREAD_MUTEX_INITIALIZER, .bed = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER};
static _Thread_local int inside = -1; /* this thread's worker number while it runs a job, else -1 */

static inline void relax(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void take_chunks(struct pool *p, int worker) {
    uint32_t n = p->n, chunk = p->chunk, done = 0;
    uint64_t began = p->note ? os_now_ns() : 0;
    inside = worker;
    for (;;) {
        uint64_t t0 = atomic_fetch_add_explicit(&p->next, chunk, memory_order_relaxed);
        if (t0 >= n) break;
        uint32_t end = (uint32_t)RG_MIN(t0 + chunk, n);
        p->fn(p->arg, (uint32_t)t0, end, worker);
        done += end - (uint32_t)t0;
    }
    inside = -1;
    if (began && done) p->note(p->arg, worker, done, began, os_now_ns());
}

/* Waits until gen is not `seen`: looks, then looks politely, then sleeps. */
static void await_job(struct pool *p, unsigned seen) {
    uint64_t start = 0, now = 0;
    while (now - start < SPIN_NS) {
        for (int i = 0; i < LOOKS_PER_CLOCK; i++) {
            if (atomic_load_explicit(&p->gen, memory_order_acquire) != seen) return;
            relax();
        }
        now = os_now_ns();
        if (!start) start = now;
        if (now - start > POLITE_NS) sched_yield();
    }
    pthread_mutex_lock(&p->bed);
    atomic_fetch_add(&p->sleepers, 1);
    while (atomic_load(&p->gen) == seen) pthread_cond_wait(&p->wake, &p->bed);
    atomic_fetch_sub(&p->sleepers, 1);
    pthread_mutex_unlock(&p->bed);
}

static void *work(void *arg) {
    struct pool *p = &the_pool;
    int worker = (int)(intptr_t)arg;
    for (unsigned seen = 0;;) {
        await_job(p, seen);
        seen = atomic_load(&p->gen);
        if (atomic_load(&p->quit)) return NULL;
        atomic_fetch_add(&p->active, 1);
        if (atomic_load(&p->open)) take_chunks(p, worker);
        atomic_fetch_sub(&p->active, 1);
    }
}

static void wake_workers(struct pool *p, uint32_t wanted) {
    int asleep = atomic_load(&p->sleepers);
    if (!asleep) return;
    pthread_mutex_lock(&p->bed);
    if ((uint32_t)asleep <= wanted)
        pthread_cond_broadcast(&p->wake);
    else
        for (uint32_t i = 0; i < wanted; i++) pthread_cond_signal(&p->wake);
    pthread_mutex_unlock(&p->bed);
}

/* atexit: a sanitizer, or a host that unloads us, must find no thread left. A forked child has none. */
static void stop(void) {
    struct pool *p = &the_pool;
    if (p->pid != getpid()) return;
    atomic_store(&p->quit, true);
    atomic_fetch_add(&p->gen, 1);
    wake_workers(p, MAX_THREADS);
    for (int i = 1; i < p->threads; i++) pthread_join(p->id[i], NULL);
    p->threads = 1;
}

static void start(int want) {
    struct pool *p = &the_pool;
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old); /* workers inherit it: signals are the program's own */
    for (p->threads = 1; p->threads < want; p->threads++)
        if (pthread_create(&p->id[p->threads], NULL, work, (void *)(intptr_t)p->threads)) break;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    p->pid = getpid();
}

static void start_once(void) {
    atomic_store(&the_pool.forks, os_forks());
    start(RG_MIN(os_cpus(), MAX_THREADS));
    atexit(stop);
}

/* In a forked child: the parent's workers are not here, whatever they were doing, and its locks may have been taken. Kernels
 * of the child may count on as many scratch areas as before, and no more. */
static void restart(void) {
    struct pool *p = &the_pool;
    pthread_mutex_init(&p->caller, NULL);
    pthread_mutex_init(&p->bed, NULL);
    pthread_cond_init(&p->wake, NULL);
    atomic_store(&p->open, false), atomic_store(&p->quit, false);
    atomic_store(&p->active, 0), atomic_store(&p->sleepers, 0);
    inside = -1;
    start(p->threads);
}

/* The first call in a child comes while it has one thread, or all its threads come here: one of them restarts. */
static void check_forks(struct pool *p) {
    unsigned now = os_forks(), was = atomic_load_explicit(&p->forks, memory_order_acquire);
    if (was == now) return;
    static atomic_flag busy = ATOMIC_FLAG_INIT;
    while (atomic_flag_test_and_set(&busy)) sched_yield();
    if (atomic_load(&p->forks) != now) {
        restart();
        atomic_store_explicit(&p->forks, now, memory_order_release);
    }
    atomic_flag_clear(&busy);
}

struct pool *pool_get(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, start_once);
    check_forks(&the_pool);
    return &the_pool;
}

int pool_threads(struct pool *p) { return p->threads; }

static void await_workers(struct pool *p) {
    for (int i = 0; atomic_load(&p->active); i++) {
        if (i < 20000)
            relax();
        else
            sched_yield(); /* more threads than cores: let the one that is at work have this one */
    }
}

void pool_run(struct pool *p, pool_fn *fn, void *arg, uint32_t n, uint32_t chunk) {
    pool_run_noted(p, fn, NULL, arg, n, chunk);
}

void pool_run_noted(struct pool *p, pool_fn *fn, pool_note *note, void *arg, uint32_t n, uint32_t chunk) {
    if (!n) return;
    check_forks(p);
    if (!chunk) chunk = RG_MAX(n / (uint32_t)(p->threads * 4), 1);
    if (p->threads == 1 || n <= chunk || inside >= 0) {
        fn(arg, 0, n, RG_MAX(inside, 0));
        return;
    }
    pthread_mutex_lock(&p->caller);
    p->fn = fn, p->note = note, p->arg = arg, p->n = n, p->chunk = chunk;
    atomic_store_explicit(&p->next, 0, memory_order_relaxed);
    atomic_store(&p->open, true);
    atomic_fetch_add(&p->gen, 1);
    wake_workers(p, (n - 1) / chunk);
    take_chunks(p, 0);
    atomic_store(&p->open, false);
    await_workers(p);
    pthread_mutex_unlock(&p->caller);
}
