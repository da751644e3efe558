/* allocator.c: a caching allocator for device memory.
 *
 * A program that runs step by step asks for the same sizes over and over, and the first touch of fresh pages costs more
 * than the kernel that writes them. So freed blocks are kept by size class (four per power of two from a page on, 32 from BIG
 * on, where a quarter is gigabytes; less is small_blocks.c) and handed out again, most recent first, because it is most likely
 * in a cache. What is kept never exceeds what was in
 * use at the worst moment, or KEEP_LEAST; when it would, or when the device has no more, everything kept is given back.
 * A block that comes back holds what its last owner left: do not rely on zeros. The NULL device keeps nothing: its
 * memory costs nothing until it is touched, and must read as zeros.
 * Blocks in use stand in a table with who they are for, so that a profile that begins late, a snapshot and a list of what
 * was never freed can say whose the memory is.
 * Tests: tests/unit/engine.c (engine_memory_*) */
#include "engine/internal.h"
#include "event/event.h"

#include <stdatomic.h>

#define LEAST ((size_t)4096)          /* bytes of a block */
#define KEEP_LEAST ((size_t)64 << 20) /* bytes that are kept in any case */
#define POISON_MOST \
    ((size_t)16 << 20) /* debug builds overwrite blocks up to this size when they are used again */

enum { LEAST_LOG = 12, BIG_LOG = 24, BIG = (BIG_LOG - LEAST_LOG) * 4 }; /* BIG: the class of 16 MiB */

/* Bytes from the device. */
static size_t reserved(const struct memory *m) { return m->held + m->kept + m->small.kept; }

/* The class of a size and the bytes of its blocks: LEAST, then 1.25, 1.5, 1.75 and 2 times each power of two; 32 steps from BIG on. */
static uint32_t class_of(const struct engine *en, size_t n, size_t *size) {
    *size = en->ops->kind == DEV_PLANS ? RG_MAX(n, 1) : LEAST;
    if (n <= LEAST || en->ops->kind == DEV_PLANS) return 0;
    uint32_t log = 63 - (uint32_t)__builtin_clzll((n - 1) | 1), steps = log < BIG_LOG ? 2 : 5;
    size_t step = (size_t)1 << (log - steps), up = (n + step - 1) & ~(step - 1);
    *size = up;
    uint32_t first = log < BIG_LOG ? (log - LEAST_LOG) << 2 : BIG + ((log - BIG_LOG) << 5);
    return first + (uint32_t)(up / step) - (1u << steps);
}

static size_t size_of(uint32_t c) { /* the reverse */
    if (c < BIG) return (size_t)(c % 4 + 4) << (c / 4 + LEAST_LOG - 2);
    return (size_t)((c - BIG) % 32 + 32) << ((c - BIG) / 32 + BIG_LOG - 5);
}

static void *take(struct engine *en, uint32_t cls, size_t size) {
    struct spare *s = &en->memory.spare[cls];
    if (!s->n) return NULL;
    void *p = s->p[--s->n];
    en->memory.kept -= size;
    if (en->ops->forget) en->ops->forget(en->dev, p, size);
#ifdef RIDGE_DEBUG_BUILD
    if (!en->ops->discrete) memset(p, 0xCD, RG_MIN(size, POISON_MOST));
#endif
    return p;
}

void memory_trim(struct engine *en) {
    struct memory *m = &en->memory;
    for (uint32_t c = 0; c < RG_COUNT(m->spare); c++) {
        struct spare *s = &m->spare[c];
        while (s->n) en->ops->free(en->dev, s->p[--s->n], size_of(c));
        mem_free(s->p);
        *s = (struct spare){0};
    }
    m->kept = 0;
    small_trim(en);
}

/* False: it is not kept. */
static bool keep(struct engine *en, uint32_t cls, void *p, size_t size) {
    struct memory *m = &en->memory;
    struct spare *s = &m->spare[cls];
    size_t most = RG_MAX(m->peak, KEEP_LEAST);
    if (en->ops->kind == DEV_PLANS) return false;
    if (m->kept + size > most) memory_trim(en); /* make room: sizes not asked for lately go */
    if (s->n == s->cap) {
        uint32_t cap = s->cap ? s->cap * 2 : 8;
        void **q = mem_realloc(s->p, cap * sizeof *q);
        if (!q) return false;
        s->p = q;
        s->cap = cap;
    }
    s->p[s->n++] = p;
    m->kept += size;
    return true;
}

/* ---- blocks that are in use ------------------------------------------------------------------------------ */

static uint32_t home(const struct memory *m, const void *p) {
    return (uint32_t)hash_u64((uintptr_t)p) & (m->cap - 1);
}

static struct mem_block *find(const struct memory *m, const void *p) {
    if (!m->cap) return NULL;
    for (uint32_t i = home(m, p); m->block[i].p; i = (i + 1) & (m->cap - 1))
        if (m->block[i].p == p) return &m->block[i];
    return NULL;
}

static void put(struct memory *m, const struct mem_block *b) {
    uint32_t i = home(m, b->p);
    while (m->block[i].p) i = (i + 1) & (m->cap - 1);
    m->block[i] = *b;
}

static bool room(struct memory *m) {
    if (4 * (uint64_t)m->blocks < 3 * (uint64_t)m->cap) return true;
    struct memory old = *m;
    uint32_t cap = m->cap ? 2 * m->cap : 64;
    struct mem_block *p = mem_alloc(cap * sizeof *p);
    if (!p) return false;
    memset(p, 0, cap * sizeof *p);
    m->block = p, m->cap = cap;
    for (uint32_t i = 0; i < old.cap; i++)
        if (old.block[i].p) put(m, &old.block[i]);
    mem_free(old.block);
    return true;
}

/* Entries behind it move up, so that probing still finds them. */
static void take_out(struct memory *m, struct mem_block *b) {
    uint32_t hole = (uint32_t)(b - m->block), mask = m->cap - 1;
    m->blocks--;
    for (uint32_t i = (hole + 1) & mask; m->block[i].p; i = (i + 1) & mask) {
        if (((i - home(m, m->block[i].p)) & mask) < ((i - hole) & mask)) continue;
        m->block[hole] = m->block[i];
        hole = i;
    }
    m->block[hole] = (struct mem_block){0};
}

const struct mem_block *memory_block(const struct engine *en, const void *p) { return find(&en->memory, p); }

void memory_tell(struct engine *en) {
    struct memory *m = &en->memory;
    uint32_t file = event_record_file();
    if (!file || file == m->told) return;
    m->told = file;
    uint64_t now = os_now_ns();
    for (uint32_t i = 0; i < m->cap; i++)
        if (m->block[i].p)
            event_add_info(EVENT_ALLOC, en->event_name, m->block[i].owner, now, now,
                           (int64_t)m->block[i].size, (int64_t)m->block[i].number);
    event_add(EVENT_RESERVE, en->event_name, now, now, (int64_t)reserved(m),
              (int64_t)(reserved(m) - m->held));
}

bool memory_count(struct engine *en, void *p, size_t asked, size_t size, uint32_t owner, uint64_t t0) {
    static atomic_uint_fast64_t last;
    struct memory *m = &en->memory;
    memory_tell(en);
    if (!room(m)) return false;
    struct mem_block b = {p, asked, size, atomic_fetch_add(&last, 1) + 1, os_now_ns(), owner};
    event_name_hold(owner);
    put(m, &b);
    m->blocks++;
    m->in_use += asked;
    m->held += size;
    m->peak = RG_MAX(m->peak, m->held);
    m->most = RG_MAX(m->most, m->held);
    event_add_info(EVENT_ALLOC, en->event_name, owner, t0, b.since, (int64_t)size, (int64_t)b.number);
    return true;
}

void memory_uncount(struct engine *en, void *p, uint64_t t0) {
    struct memory *m = &en->memory;
    memory_tell(en);
    struct mem_block *b = find(m, p);
    if (!b) return;
    m->in_use -= b->asked;
    m->held -= b->size;
    event_add(EVENT_FREE, en->event_name, t0, os_now_ns(), (int64_t)b->size, (int64_t)b->number);
    event_name_release(b->owner);
    take_out(m, b);
}

void memory_close(struct engine *en) {
    struct memory *m = &en->memory;
    for (uint32_t i = 0; i < m->cap; i++)
        if (m->block[i].p) event_name_release(m->block[i].owner);
    mem_free(m->block);
}

static void tell_reserved(struct engine *en, size_t was) {
    struct memory *m = &en->memory;
    uint64_t now = os_now_ns();
    if (reserved(m) != was)
        event_add(EVENT_RESERVE, en->event_name, now, now, (int64_t)reserved(m),
                  (int64_t)(reserved(m) - m->held));
}

/* ---- taking and giving back ------------------------------------------------------------------------------- */

static void *from_device(struct engine *en, size_t n, size_t *size) {
    struct memory *m = &en->memory;
    if (n > SIZE_MAX / 4) return NULL;
    *size = small_size(en, n);
    bool small = *size;
    uint32_t cls = small ? 0 : class_of(en, n, size);
    void *p = small ? small_take(en, n) : take(en, cls, *size);
    if (!p && !small) p = en->ops->alloc(en->dev, *size);
    if (!p && reserved(m) > m->held) {
        memory_trim(en);
        p = small ? small_take(en, n) : en->ops->alloc(en->dev, *size);
    }
    return p;
}

static void give_back(struct engine *en, void *p, size_t n, size_t size) {
    if (small_size(en, n))
        small_give(en, p, n);
    else
        en->ops->free(en->dev, p, size);
}

void *engine_alloc_for(struct engine *en, struct err *e, size_t n, uint32_t owner) {
    struct memory *m = &en->memory;
    uint64_t t0 = os_now_ns();
    size_t size = 0, was = reserved(m);
    void *p = from_device(en, n, &size);
    if (p && !memory_count(en, p, n, size, owner, t0)) {
        give_back(en, p, n, size);
        p = NULL;
    }
    if (!p) {
        if (en->ops->wait && en->ops->wait(en->dev, e)) return NULL; /* it is lost, not full */
        err_set(e, RG_ENOMEM, "the %s device has no %zu bytes of memory left", en->ops->name, n);
        return NULL;
    }
    tell_reserved(en, was);
    return p;
}

void *engine_alloc(struct engine *en, struct err *e, size_t n) { return engine_alloc_for(en, e, n, 0); }

void engine_free(struct engine *en, void *p, size_t n) {
    if (!p) return;
    uint64_t t0 = os_now_ns();
    size_t size, was = reserved(&en->memory);
    uint32_t cls = class_of(en, n, &size);
    memory_uncount(en, p, t0);
    if (small_size(en, n) || !keep(en, cls, p, size)) give_back(en, p, n, size);
    tell_reserved(en, was);
}

/* ---- looking at it ------------------------------------------------------------------------------------------ */

void engine_own(struct engine *en, void *p, uint32_t owner) {
    struct mem_block *b = find(&en->memory, p);
    if (!b || !event_name_hold(owner)) return;
    event_name_release(b->owner);
    b->owner = owner;
}

struct engine_memory engine_memory(const struct engine *en) {
    const struct memory *m = &en->memory;
    return (struct engine_memory){m->in_use, m->held, m->kept + m->small.kept, m->most, m->blocks};
}

void engine_trim(struct engine *en) {
    size_t was = reserved(&en->memory);
    memory_trim(en);
    tell_reserved(en, was);
}

void engine_reset_peak(struct engine *en) { en->memory.most = en->memory.held; }

void engine_blocks(struct engine *en, struct arena *a, struct event_list *out) {
    const struct memory *m = &en->memory;
    *out = (struct event_list){.p = arena_array(a, struct event, m->blocks + 1)};
    for (uint32_t i = 0; i < m->cap; i++) {
        const struct mem_block *b = &m->block[i];
        if (b->p)
            out->p[out->n++] =
                (struct event){b->since,    b->since, (int64_t)b->size, (int64_t)b->number, en->event_name, 1,
                               EVENT_ALLOC, 0,        b->owner};
    }
}
