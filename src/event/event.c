/* event.c: the flight recorder: a ring buffer of records per thread, and snapshots of them. Their names: names.c.
 *
 * A ring buffer has one writer, its thread, which never waits. Each slot is six 64-bit words written as
 * relaxed-or-stronger atomics, so a reader may look at any time. It copies first, then checks how far the
 * writer came, and discards what may have been overwritten meanwhile.
 *
 * Why that is sound: before it touches slot i the writer announces i + 1 in `begun`, then writes the
 * words with release; a reader that saw any such word (acquire) therefore sees `begun` >= i + 1 when it
 * looks later, and knows that record i - EVENT_RING is gone. `done`, stored with release after the words,
 * says which records are complete.
 *
 * When a thread ends, its buffer and the records in it stay, and the next new thread continues in it: the
 * memory is bounded by the threads alive at once. Buffers stay reachable until the process ends and are not
 * freed, because at that time some thread may still be recording.
 * Tests: tests/unit/event.c, also under MODE=tsan. */
#include "event/internal.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define WORDS 6
_Static_assert(sizeof(struct event) == 8 * WORDS, "a record is six words");
_Static_assert((EVENT_RING & (EVENT_RING - 1)) == 0, "slots are found with a mask");

typedef atomic_uint_fast64_t word;

struct ring_buffer {
    struct ring_buffer *next; /* set once */
    atomic_bool taken;        /* a live thread owns it */
    uint32_t thread;          /* number of the owner */
    _Alignas(64) word begun;  /* records begun, records complete: the writer's line */
    word done;
    _Alignas(64) word base; /* the first record that snapshots show: the readers' line */
    word slot[EVENT_RING][WORDS];
};

static _Atomic(struct ring_buffer *) buffers;
static atomic_uint threads;
static word lost;         /* records of threads that got no buffer */
static atomic_bool still; /* buffers are not written */
static pthread_key_t at_thread_end;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Thread_local struct ring_buffer *mine;
static _Thread_local bool hopeless; /* no memory for a buffer: do not ask again */

/* ---- ring buffers ------------------------------------------------------------------------------- */

static void release_buffer(void *arg) {
    struct ring_buffer *r = arg;
    mine = NULL;
    record_thread_end();
    atomic_store_explicit(&r->taken, false, memory_order_release);
}

static void make_key(void) { pthread_key_create(&at_thread_end, release_buffer); }

static struct ring_buffer *take_idle(void) {
    for (struct ring_buffer *r = atomic_load(&buffers); r; r = r->next) {
        bool idle = false;
        if (atomic_compare_exchange_strong(&r->taken, &idle, true)) return r;
    }
    return NULL;
}

static struct ring_buffer *new_buffer(void) {
    struct ring_buffer *r = mem_alloc(sizeof *r + 63);
    if (!r) return NULL;
    r = (struct ring_buffer *)(((uintptr_t)r + 63) & ~(uintptr_t)63); /* never freed: the start may be lost */
    memset(r, 0, offsetof(struct ring_buffer, slot)); /* slots need none, and stay untouched until used */
    atomic_store(&r->taken, true);
    r->next = atomic_load(&buffers);
    while (!atomic_compare_exchange_weak(&buffers, &r->next, r)) {}
    return r;
}

static struct ring_buffer *attach(void) {
    if (hopeless) return NULL;
    pthread_once(&once, make_key);
    struct ring_buffer *r = take_idle();
    if (!r) r = new_buffer();
    if (!r) {
        hopeless = true;
        return NULL;
    }
    r->thread = atomic_fetch_add(&threads, 1) + 1;
    pthread_setspecific(at_thread_end, r);
    return mine = r;
}

/* The ring buffer of this thread, or NULL: the record is lost. */
static inline struct ring_buffer *thread_buffer(void) {
    struct ring_buffer *r = mine;
    if (__builtin_expect(!r, 0) && !(r = attach())) atomic_fetch_add(&lost, 1);
    return r;
}

static inline void put(struct ring_buffer *r, const struct event *e) {
    if (__builtin_expect(event_recording_kind((enum event_kind)e->kind), 0)) record_event(e, r->thread);
    if (__builtin_expect(atomic_load_explicit(&still, memory_order_relaxed), 0)) return;
    uint64_t w[WORDS], i = atomic_load_explicit(&r->done, memory_order_relaxed);
    memcpy(w, e, sizeof w);
    atomic_store_explicit(&r->begun, i + 1, memory_order_relaxed);
    word *s = r->slot[i & (EVENT_RING - 1)];
    for (int k = 0; k < WORDS; k++) atomic_store_explicit(&s[k], w[k], memory_order_release);
    atomic_store_explicit(&r->done, i + 1, memory_order_release);
}

void event_add_info(enum event_kind kind, uint32_t name, uint32_t info, uint64_t t0, uint64_t t1, int64_t a,
                    int64_t b) {
    struct ring_buffer *r = thread_buffer();
    if (r) put(r, &(struct event){t0, t1, a, b, name, r->thread, (uint16_t)kind, 0, info});
}

void event_add_row(enum event_kind kind, uint32_t name, uint32_t info, uint16_t row, uint32_t launch,
                   uint64_t t0, uint64_t t1, int64_t a, int64_t b) {
    struct ring_buffer *r = thread_buffer();
    if (r) put(r, &(struct event){t0, t1, a, b, name, launch, (uint16_t)kind, row, info});
}

void event_flight(bool on) { atomic_store(&still, !on); }

void event_add(enum event_kind kind, uint32_t name, uint64_t t0, uint64_t t1, int64_t a, int64_t b) {
    event_add_info(kind, name, 0, t0, t1, a, b);
}

/* Copies the buffer's records; returns how many, adds to *dropped those that were overwritten. */
static size_t copy_buffer(struct ring_buffer *r, struct event *out, uint64_t *dropped) {
    uint64_t base = atomic_load_explicit(&r->base, memory_order_relaxed);
    uint64_t end = atomic_load_explicit(&r->done, memory_order_acquire);
    uint64_t start = end - base > EVENT_RING ? end - EVENT_RING : base;
    for (uint64_t i = start; i < end; i++) {
        uint64_t w[WORDS];
        word *s = r->slot[i & (EVENT_RING - 1)];
        for (int k = 0; k < WORDS; k++) w[k] = atomic_load_explicit(&s[k], memory_order_acquire);
        memcpy(&out[i - start], w, sizeof w);
    }
    uint64_t begun = atomic_load_explicit(&r->begun, memory_order_relaxed);
    uint64_t safe = begun > EVENT_RING ? RG_MAX(start, begun - EVENT_RING) : start;
    safe = RG_MIN(safe, end);
    memmove(out, out + (safe - start), (end - safe) * sizeof *out);
    *dropped += safe - base;
    return end - safe;
}

static int by_start(const void *pa, const void *pb) {
    const struct event *a = pa, *b = pb;
    if (a->t0 != b->t0) return a->t0 < b->t0 ? -1 : 1;
    if (a->t1 != b->t1) return a->t1 > b->t1 ? -1 : 1;
    if (a->thread != b->thread) return a->thread < b->thread ? -1 : 1;
    return a->kind < b->kind ? -1 : a->kind > b->kind;
}

void event_snapshot(struct arena *arena, struct event_list *out) {
    size_t n = 0;
    struct ring_buffer *first = atomic_load(&buffers); /* later ones are not part of this snapshot */
    for (struct ring_buffer *r = first; r; r = r->next) n++;
    struct event *p = arena_raw(arena, n * EVENT_RING * sizeof *p);
    *out = (struct event_list){.p = p, .dropped = atomic_load(&lost), .threads = atomic_load(&threads)};
    for (struct ring_buffer *r = first; r; r = r->next) out->n += copy_buffer(r, p + out->n, &out->dropped);
    out->p = arena_resize(arena, p, n * EVENT_RING * sizeof *p, out->n * sizeof *p);
    if (out->n) qsort(out->p, out->n, sizeof *p, by_start);
}

void event_reset(void) {
    for (struct ring_buffer *r = atomic_load(&buffers); r; r = r->next)
        atomic_store_explicit(&r->base, atomic_load(&r->done), memory_order_relaxed);
    atomic_store(&lost, 0);
}

/* ---- words ---------------------------------------------------------------------------------------- */

static const struct {
    const char *text, *a, *b;
} kinds[EVENT_KINDS] = {
#define X(name, text, a, b) {text, a, b},
    EVENT_TABLE(X)
#undef X
};

const char *event_memory_text(uint32_t kind) {
    static const char *const text[EVENT_MEMORIES] = {
#define X(name, text) text,
        EVENT_MEMORY_TABLE(X)
#undef X
    };
    return kind < EVENT_MEMORIES ? text[kind] : "?";
}

const char *event_kind_text(uint32_t kind) { return kind < EVENT_KINDS ? kinds[kind].text : "?"; }

void event_print(struct str *s, const struct event_list *l) {
    uint64_t zero = l->n ? l->p[0].t0 : 0;
    str_printf(s, "%14s %12s %6s  %-8s what\n", "start us", "us", "thread", "kind");
    for (size_t i = 0; i < l->n; i++) {
        const struct event *e = &l->p[i];
        uint32_t k = RG_MIN(e->kind, EVENT_KINDS - 1);
        char where[16];
        snprintf(where, sizeof where, e->row ? "s%u" : "%u", e->row ? e->row % EVENT_ROW_STREAMS : e->thread);
        bool held = event_name_hold(e->name);
        str_printf(s, "%14.3f %12.3f %6s  %-8s %s  %s %lld, %s %lld\n", 1e-3 * (double)(e->t0 - zero),
                   1e-3 * (double)(e->t1 - e->t0), where, event_kind_text(e->kind), event_name_text(e->name),
                   kinds[k].a, (long long)e->a, kinds[k].b, (long long)e->b);
        if (held) event_name_release(e->name);
    }
    if (l->dropped) str_printf(s, "%llu older records were overwritten\n", (unsigned long long)l->dropped);
}
