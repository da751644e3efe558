/* arena.c: bump allocation in a chain of growing blocks, and the growth of vectors.
 *
 * A unit of work owns one arena and frees it whole. Blocks double from 64 KiB (2 KiB in a small one) to 4 MiB; a larger
 * request gets a block of its own. arena_mark/arena_release make a stack of it for scratch memory; the
 * last block that a release empties is kept as a spare, so that a loop which marks and releases across
 * a block's edge does not call malloc each time round.
 *
 * Invariants: every allocation is 16-byte aligned; `head` is the newest block and the only one with
 * room that is used; out of memory is thrown at a->err and leaves the arena as it was. Under
 * AddressSanitizer all that is not handed out is poisoned, and 16 poisoned bytes follow each
 * allocation, so that an overrun inside an arena is found as one on the heap would be.
 * Tests: tests/unit/base.c (arena_*, vec_*). */
#include "internal.h"

#if defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ASAN 1
#endif
#endif

#ifdef WITH_ASAN
#include <sanitizer/asan_interface.h>
#define POISON(p, n) __asan_poison_memory_region((p), (n))
#define UNPOISON(p, n) __asan_unpoison_memory_region((p), (n))
#define REDZONE 16
#else
#define POISON(p, n) ((void)(p), (void)(n))
#define UNPOISON(p, n) ((void)(p), (void)(n))
#define REDZONE 0
#endif

#define ALIGN 16
#define BLOCK_MIN ((size_t)64 << 10)
#define BLOCK_SMALL ((size_t)2 << 10)
#define BLOCK_MAX ((size_t)4 << 20)
#define ALLOC_MAX ((size_t)1 << 47) /* above any address space: a size that wrapped around */

struct arena_block {
    struct arena_block *next; /* the older one */
    size_t cap, fill;         /* bytes of data, bytes handed out of it */
    _Alignas(ALIGN) char data[];
};

static size_t padded(size_t n) { return (n + REDZONE + ALIGN - 1) & ~(size_t)(ALIGN - 1); }

void arena_init(struct arena *a, struct err *e) { *a = (struct arena){.err = e}; }
void arena_init_small(struct arena *a, struct err *e) { *a = (struct arena){.err = e, .first = BLOCK_SMALL}; }

static void free_block(struct arena *a, struct arena_block *b) {
    if (!b) return;
    UNPOISON(b->data, b->cap);
    a->reserved -= b->cap;
    mem_free(b);
}

void arena_free(struct arena *a) {
    for (struct arena_block *b = a->head, *next; b; b = next) {
        next = b->next;
        free_block(a, b);
    }
    free_block(a, a->spare);
    *a = (struct arena){.err = a->err, .first = a->first};
}

/* Puts a block with room for `need` bytes at the head. */
static void add_block(struct arena *a, size_t need) {
    struct arena_block *b = a->spare;
    if (b && b->cap >= need) {
        a->spare = NULL;
    } else {
        size_t cap = a->head ? RG_MIN(a->head->cap * 2, BLOCK_MAX) : a->first ? a->first : BLOCK_MIN;
        cap = RG_MAX(cap, need);
        b = mem_alloc(sizeof *b + cap);
        if (!b) err_throw(a->err, RG_ENOMEM, "out of memory: %zu bytes wanted", sizeof *b + cap);
        b->cap = cap;
        a->reserved += cap;
    }
    b->fill = 0;
    b->next = a->head;
    a->head = b;
    POISON(b->data, b->cap);
}

void *arena_raw(struct arena *a, size_t n) {
    if (n > ALLOC_MAX) err_throw(a->err, RG_ENOMEM, "out of memory: %zu bytes wanted", n);
    size_t need = padded(n ? n : 1);
    if (!a->head || a->head->cap - a->head->fill < need) add_block(a, need);
    struct arena_block *b = a->head;
    char *p = b->data + b->fill;
    b->fill += need;
    a->used += need;
    UNPOISON(p, n);
    return p;
}

void *arena_alloc(struct arena *a, size_t n) { return memset(arena_raw(a, n), 0, n); }

void *arena_calloc(struct arena *a, size_t n, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes))
        err_throw(a->err, RG_ENOMEM, "out of memory: %zu elements of %zu bytes wanted", n, size);
    return arena_alloc(a, bytes);
}

void *arena_resize(struct arena *a, void *p, size_t old, size_t n) {
    size_t was = padded(old ? old : 1), now = padded(n ? n : 1);
    struct arena_block *b = a->head;
    bool newest = p && b && (char *)p + was == b->data + b->fill;
    if (newest && n <= ALLOC_MAX && (now <= was || b->cap - b->fill >= now - was)) {
        b->fill = b->fill - was + now;
        a->used = a->used - was + now;
        POISON(p, RG_MAX(was, now));
        UNPOISON(p, n);
        return p;
    }
    if (p && n <= old) return p;
    void *q = arena_raw(a, n);
    if (p && old) memcpy(q, p, old);
    return q;
}

char *arena_strdup(struct arena *a, const char *s, size_t n) {
    char *p = arena_raw(a, n + 1);
    if (n) memcpy(p, s, n);
    p[n] = 0;
    return p;
}

char *arena_printf(struct arena *a, const char *fmt, ...) {
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = text_vprintf(NULL, 0, fmt, ap);
    va_end(ap);
    char *p = arena_raw(a, (size_t)RG_MAX(n, 0) + 1);
    p[0] = 0;
    text_vprintf(p, (size_t)RG_MAX(n, 0) + 1, fmt, again);
    va_end(again);
    return p;
}

struct arena_mark arena_mark(struct arena *a) {
    return (struct arena_mark){a->head, a->head ? a->head->fill : 0, a->used};
}

void arena_release(struct arena *a, struct arena_mark m) {
    while (a->head != m.head) {
        struct arena_block *b = a->head;
        a->head = b->next;
        struct arena_block *small = b;
        if (b->cap <= BLOCK_MAX && (!a->spare || a->spare->cap < b->cap)) {
            small = a->spare;
            a->spare = b;
            POISON(b->data, b->cap);
        }
        free_block(a, small);
    }
    if (a->head) {
        POISON(a->head->data + m.fill, a->head->fill - m.fill);
        a->head->fill = m.fill;
    }
    a->used = m.used;
}

void vec_grow_(struct arena *a, void **p, uint32_t *cap, uint32_t need, size_t size) {
    if (need < *cap || need > UINT32_MAX / 2) err_throw(a->err, RG_ELIMIT, "an array passed 2^31 elements");
    uint32_t want = RG_MAX(RG_MAX(need, *cap * 2), 8);
    /* p really points at a T *: go through memcpy, so that no aliasing rule is bent */
    void *old;
    memcpy(&old, p, sizeof old);
    void *q = arena_resize(a, old, (size_t)*cap * size, (size_t)want * size);
    memcpy(p, &q, sizeof q);
    *cap = want;
}
