/* memory.c: device memory that is used again.
 *
 * A program that runs step by step asks for the same sizes over and over, and the first touch of fresh pages costs more
 * than the kernel that writes them. So freed blocks are kept by size class (four per power of two; a page at least) and
 * handed out again, most recent first, because it is most likely in a cache. What is kept never exceeds what was in
 * use at the worst moment, or KEEP_LEAST; when it would, or when the device has no more, everything kept is given back.
 * A block that comes back holds what its last owner left: nobody may rely on zeros. The NULL device keeps nothing: its
 * memory costs nothing until it is touched, and must read as zeros.
 * Tests: tests/unit/engine.c (engine_memory_*) */
#include "engine/internal.h"
#include "event/event.h"

#define LEAST ((size_t)4096)          /* bytes of a block */
#define KEEP_LEAST ((size_t)64 << 20) /* bytes that are kept in any case */
#define POISON_MOST \
    ((size_t)16 << 20) /* debug builds overwrite blocks up to this size when they are used again */

/* The class of a size, LEAST, then 1.25, 1.5, 1.75 and 2 times each power of two; what a block of it has. */
static uint32_t class_of(const struct engine *en, size_t n, size_t *size) {
    *size = en->ops->kind == DEV_PLANS ? RG_MAX(n, 1) : LEAST;
    if (n <= LEAST || en->ops->kind == DEV_PLANS) return 0;
    uint32_t log = 63 - (uint32_t)__builtin_clzll((n - 1) | 1);
    size_t step = (size_t)1 << (log - 2), up = (n + step - 1) & ~(step - 1);
    *size = up;
    return (log - 12) * 4 + (uint32_t)(up / step - 4);
}

static void *take(struct engine *en, uint32_t cls, size_t size) {
    struct spare *s = &en->memory.spare[cls];
    if (!s->n) return NULL;
    void *p = s->p[--s->n];
    en->memory.kept -= size;
#ifdef RIDGE_DEBUG_BUILD
    if (!en->ops->far) memset(p, 0xCD, RG_MIN(size, POISON_MOST));
#endif
    return p;
}

void memory_trim(struct engine *en) {
    struct memory *m = &en->memory;
    for (uint32_t c = 0; c < RG_COUNT(m->spare); c++) {
        struct spare *s = &m->spare[c];
        size_t size = (size_t)(c % 4 + 4) << (c / 4 + 10); /* the reverse of class_of */
        while (s->n) en->ops->free(en->dev, s->p[--s->n], size);
        mem_free(s->p);
        *s = (struct spare){0};
    }
    m->kept = 0;
}

/* False: it is not kept. */
static bool keep(struct engine *en, uint32_t cls, void *p, size_t size) {
    struct memory *m = &en->memory;
    struct spare *s = &m->spare[cls];
    size_t most = RG_MAX(m->peak, KEEP_LEAST);
    if (en->ops->kind == DEV_PLANS) return false;
    if (m->kept + size > most) memory_trim(en); /* sizes that nobody asked for lately make room */
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

void *engine_alloc(struct engine *en, struct err *e, size_t n) {
    struct memory *m = &en->memory;
    uint64_t t0 = os_now_ns();
    size_t size;
    void *p = NULL;
    if (n <= SIZE_MAX / 4) {
        uint32_t cls = class_of(en, n, &size);
        p = take(en, cls, size);
        if (!p) p = en->ops->alloc(en->dev, size);
        if (!p && m->kept) {
            memory_trim(en);
            p = en->ops->alloc(en->dev, size);
        }
    }
    if (!p) {
        if (en->ops->wait && en->ops->wait(en->dev, e)) return NULL; /* it is lost, not full */
        err_set(e, RG_ENOMEM, "the %s device has no %zu bytes of memory left", en->ops->name, n);
        return NULL;
    }
    m->in_use += n;
    m->held += size;
    m->peak = RG_MAX(m->peak, m->held);
    event_add(EVENT_ALLOC, en->event_name, t0, os_now_ns(), (int64_t)n, (int64_t)m->in_use);
    return p;
}

void engine_free(struct engine *en, void *p, size_t n) {
    if (!p) return;
    uint64_t t0 = os_now_ns();
    size_t size;
    uint32_t cls = class_of(en, n, &size);
    en->memory.in_use -= n;
    en->memory.held -= size;
    if (!keep(en, cls, p, size)) en->ops->free(en->dev, p, size);
    event_add(EVENT_FREE, en->event_name, t0, os_now_ns(), (int64_t)n, (int64_t)en->memory.in_use);
}
