/* pool.c: one process-wide set of worker threads with a fork-join of about a microsecond.
 *
 * Work is cut into chunks, and each thread owns a contiguous range of them: it takes them from a counter in a cache line of
 * its own, so that nothing is contended while all threads are on time, and finds the same part of a tensor as in the kernel
 * before. A thread without chunks steals from the others. So the caller waits only for chunks that are being worked on, never
 * for a worker that did not come: on a busy machine, those that have a core take over the rest.
 *
 * The job is one cache line, a seqlock: number 0, fields, number. A worker copies it and checks the number. Why a stale copy is
 * harmless: a chunk is claimed by a compare-and-swap on the owner's counter, which holds the number of the job it belongs to,
 * and a job ends when all its chunks are done, so each counter of a range that is not empty then reads (job, all taken). A worker
 * with the copy of an earlier job finds that, or a later job, and claims nothing. Completion is counted by each thread in its own
 * line; the caller adds them up.
 * Idle workers spin for some tens of microseconds, a tensor program sends kernels back to back, and then sleep on a futex; the
 * woken wake others. With more threads than cores no thread spins. Callers from several threads are serialized by `caller`; a call
 * from inside a job runs where it is.
 * Tests: tests/unit/base_os.c (pool_*), also under MODE=tsan; cost: bench/scaling.c, `ridge ceilings` */
#include "internal.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_THREADS 256
#define SPIN_NS 40000  /* how long an idle worker spins before it sleeps */
#define POLITE_NS 5000 /* after this long, offer the core to others between looks */
#define LOOKS_PER_CLOCK 32
#define JOIN_NS 100000 /* how long a caller spins for the last chunks before it yields */
enum { COUNT_BITS = 24, WOKEN_AT_ONCE = 4 };
#define COUNT_MASK ((1u << COUNT_BITS) - 1)

typedef void pool_fn(void *arg, uint32_t t0, uint32_t t1, int worker);
typedef void pool_note(void *arg, int worker, uint32_t iterations, uint64_t t0, uint64_t t1);

struct pool_job {
    pool_fn *fn;
    pool_note *note;
    void *arg;
    uint32_t n, chunk;
    int threads;
};

/* A thread's line. Both words: number of a job << COUNT_BITS | chunks; of any other job than the present one they mean 0. */
struct pool_share {
    _Alignas(64) atomic_uint_fast64_t taken; /* of its range, by anyone */
    atomic_uint_fast64_t done;               /* by this thread, of any range */
};

struct pool {
    _Alignas(64) atomic_uint_fast64_t job; /* its number; 0: being written */
    _Atomic(pool_fn *) fn;
    _Atomic(pool_note *) note;
    _Atomic(void *) arg;
    atomic_uint n, chunk;
    atomic_int job_threads;
    atomic_uint bell; /* the low half of `job`: what sleepers wait on */
    _Alignas(64) atomic_int sleepers;
    _Alignas(64) struct pool_share share[MAX_THREADS];
    /* rarely touched */
    uint64_t jobs; /* the number of the last one */
    atomic_bool quit;
    bool crowded; /* more threads than cores: spinning takes a core from one that works */
    pthread_mutex_t caller;
    int threads;       /* the caller included */
    _Atomic pid_t pid; /* whose they are */
    atomic_uint forks; /* os_forks when they were started */
    pthread_t id[MAX_THREADS];
};

static struct pool the_pool = {.caller = PTHREAD_MUTEX_INITIALIZER};
static _Thread_local int inside = -1; /* this thread's worker number while it runs a job, else -1 */

static inline void relax(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* ---- taking chunks ---------------------------------------------------------------------------------------------- */

static uint32_t chunks_of(const struct pool_job *j) { return (j->n - 1) / j->chunk + 1; }

/* The first chunk of an owner's range; of owner `threads`: the end. */
static uint32_t first_chunk(uint32_t chunks, int threads, int owner) {
    return (uint32_t)((uint64_t)chunks * (unsigned)owner / (unsigned)threads);
}

/* Runs what is left of the owner's range. Returns the number of chunks; *iterations grows. */
static uint32_t take_range(struct pool *p, const struct pool_job *j, uint64_t number, int owner, int worker,
                           uint32_t *iterations) {
    uint32_t chunks = chunks_of(j), from = first_chunk(chunks, j->threads, owner), took = 0;
    uint32_t size = first_chunk(chunks, j->threads, owner + 1) - from;
    atomic_uint_fast64_t *word = &p->share[owner].taken;
    uint_fast64_t w = atomic_load_explicit(word, memory_order_relaxed);
    while (size) {
        if (w >> COUNT_BITS > number) break; /* a later job: ours is done */
        uint32_t at = w >> COUNT_BITS == number ? (uint32_t)(w & COUNT_MASK) : 0;
        if (at >= size) break;
        if (!atomic_compare_exchange_weak_explicit(word, &w, number << COUNT_BITS | (at + 1),
                                                   memory_order_relaxed, memory_order_relaxed))
            continue;
        uint64_t t0 = (uint64_t)(from + at) * j->chunk, t1 = RG_MIN(t0 + j->chunk, j->n);
        j->fn(j->arg, (uint32_t)t0, (uint32_t)t1, worker);
        took++, *iterations += (uint32_t)(t1 - t0);
        w = number << COUNT_BITS | (at + 1);
    }
    return took;
}

/* Own chunks, then those of others. done is told as late as possible and as early as necessary: after the own range, and after
 * each one stolen from. A note is written before, because the caller may return then. */
static uint32_t take_chunks(struct pool *p, const struct pool_job *j, uint64_t number, int worker) {
    uint64_t began = j->note ? os_now_ns() : 0;
    uint32_t done = 0, told = 0, iterations = 0;
    atomic_uint_fast64_t *mine = &p->share[worker].done;
    inside = worker;
    for (int i = 0; i < j->threads; i++) {
        done += take_range(p, j, number, (worker + i) % j->threads, worker, &iterations);
        if (done > told && !j->note)
            atomic_store_explicit(mine, number << COUNT_BITS | (told = done), memory_order_release);
    }
    inside = -1;
    if (done > told) {
        j->note(j->arg, worker, iterations, began, os_now_ns());
        atomic_store_explicit(mine, number << COUNT_BITS | done, memory_order_release);
    }
    return done;
}

/* ---- workers ---------------------------------------------------------------------------------------------------------- */

static void futex(atomic_uint *word, int op, unsigned value) {
    syscall(SYS_futex, word, op | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
}

/* Wakes sleepers that a job of n chunks needs, some at a time: those wake the next. */
static void wake_workers(struct pool *p, uint32_t n) {
    int asleep = atomic_load(&p->sleepers);
    int64_t missing = RG_MIN((int64_t)n, p->threads) - (p->threads - asleep);
    if (asleep && missing > 0) futex(&p->bell, FUTEX_WAKE, (unsigned)RG_MIN(missing, WOKEN_AT_ONCE));
}

/* The number of a job after `seen`: looks, then looks politely, then sleeps. *slept: it had to be woken. */
static uint64_t await_job(struct pool *p, uint64_t seen, bool *slept) {
    uint64_t start = 0, now = 0, number;
    *slept = false;
    while (!p->crowded && now - start < SPIN_NS) {
        for (int i = 0; i < LOOKS_PER_CLOCK; i++) {
            if ((number = atomic_load_explicit(&p->job, memory_order_acquire)) > seen) return number;
            relax();
        }
        now = os_now_ns();
        if (!start) start = now;
        if (now - start > POLITE_NS) sched_yield();
    }
    *slept = true;
    atomic_fetch_add(&p->sleepers, 1);
    while ((number = atomic_load(&p->job)) <= seen) futex(&p->bell, FUTEX_WAIT, (unsigned)seen);
    atomic_fetch_sub(&p->sleepers, 1);
    return number;
}

/* Copies the job; false: it is not that one any more. Fields are acquired and released one by one, which costs nothing and which
 * thread sanitizers understand, unlike fences. */
static bool copy_job(struct pool *p, uint64_t number, struct pool_job *j) {
    j->fn = atomic_load_explicit(&p->fn, memory_order_acquire);
    j->note = atomic_load_explicit(&p->note, memory_order_acquire);
    j->arg = atomic_load_explicit(&p->arg, memory_order_acquire);
    j->n = atomic_load_explicit(&p->n, memory_order_acquire);
    j->chunk = atomic_load_explicit(&p->chunk, memory_order_acquire);
    j->threads = atomic_load_explicit(&p->job_threads, memory_order_acquire);
    return atomic_load_explicit(&p->job, memory_order_relaxed) == number;
}

static uint64_t publish(struct pool *p, const struct pool_job *j) {
    uint64_t number = ++p->jobs;
    atomic_store_explicit(&p->job, 0, memory_order_relaxed);
    atomic_store_explicit(&p->fn, j->fn, memory_order_release);
    atomic_store_explicit(&p->note, j->note, memory_order_release);
    atomic_store_explicit(&p->arg, j->arg, memory_order_release);
    atomic_store_explicit(&p->n, j->n, memory_order_release);
    atomic_store_explicit(&p->chunk, j->chunk, memory_order_release);
    atomic_store_explicit(&p->job_threads, j->threads, memory_order_release);
    atomic_store_explicit(&p->job, number, memory_order_release);
    atomic_store(
        &p->bell,
        (unsigned)number); /* then `sleepers` is read: a sleeper counts itself before it looks here */
    return number;
}

static void *work(void *arg) {
    struct pool *p = &the_pool;
    int worker = (int)(intptr_t)arg;
    bool slept;
    for (uint64_t seen = 0;;) {
        struct pool_job j;
        uint64_t number = await_job(p, seen, &slept);
        if (atomic_load(&p->quit)) return NULL;
        if (!copy_job(p, number, &j)) continue;
        if (slept) wake_workers(p, chunks_of(&j));
        take_chunks(p, &j, number, worker);
        seen = number;
    }
}

/* ---- start and end ------------------------------------------------------------------------------------------------------- */

/* atexit: a sanitizer, or a host that unloads us, must find no thread left. A forked child has none. */
static void stop(void) {
    struct pool *p = &the_pool;
    if (p->pid != getpid()) return;
    atomic_store(&p->quit, true);
    publish(p, &(struct pool_job){0});
    futex(&p->bell, FUTEX_WAKE, MAX_THREADS);
    for (int i = 1; i < p->threads; i++) pthread_join(p->id[i], NULL);
    p->threads = 1;
}

static void start(int want) {
    struct pool *p = &the_pool;
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old); /* workers inherit it: signals are the program's own */
    int n = 1;
    p->threads = want; /* workers read it; no thread acts on it before the first job */
    p->crowded = want > os_cores();
    while (n < want && !pthread_create(&p->id[n], NULL, work, (void *)(intptr_t)n)) n++;
    p->threads = n;
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
    atomic_store(&p->quit, false), atomic_store(&p->sleepers, 0);
    atomic_store(&p->job, 0), atomic_store(&p->bell, 0), p->jobs = 0;
    for (int i = 0; i < MAX_THREADS; i++) {
        atomic_store(&p->share[i].taken, 0);
        atomic_store(&p->share[i].done, 0);
    }
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

/* ---- jobs ------------------------------------------------------------------------------------------------------------- */

/* Have the workers done n chunks? */
static bool all_done(struct pool *p, uint64_t number, int threads, uint32_t n) {
    uint32_t done = 0;
    for (int i = 1; i < threads; i++) {
        uint64_t w = atomic_load_explicit(&p->share[i].done, memory_order_acquire);
        if (w >> COUNT_BITS == number) done += (uint32_t)(w & COUNT_MASK);
    }
    return done == n;
}

/* Waits until the workers have done n chunks. Yielding gives a busy machine's other programs a time slice: not at once. */
static void await_workers(struct pool *p, uint64_t number, int threads, uint32_t n) {
    uint64_t start = 0, now = 0;
    for (int looks = 1; n && !all_done(p, number, threads, n); looks++) {
        if (looks % LOOKS_PER_CLOCK == 0) now = os_now_ns();
        if (!start) start = now;
        if (now - start < JOIN_NS && !p->crowded)
            relax();
        else
            sched_yield(); /* one that is at work may need this core */
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
    struct pool_job j = {fn, note, arg, n, RG_MAX(chunk, (n >> COUNT_BITS) + 1), p->threads};
    pthread_mutex_lock(&p->caller);
    uint64_t number = publish(p, &j);
    wake_workers(p, chunks_of(&j));
    uint32_t mine = take_chunks(p, &j, number, 0);
    await_workers(p, number, j.threads, chunks_of(&j) - mine);
    pthread_mutex_unlock(&p->caller);
}
