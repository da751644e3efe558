/* small_blocks.c: blocks of up to 2 KiB, several in one block of the device.
 *
 * A tensor of one element would otherwise take a page. Sizes are powers of two from 64 bytes; a slab of 4 KiB holds blocks of
 * one size. Free blocks are linked through their first bytes, so this is for devices whose memory the host can touch. A
 * slab goes back to the device when memory_trim finds all of its blocks free.
 * Tests: tests/unit/engine.c (engine_memory_small_*) */
#include "engine/internal.h"

#include <stdlib.h>

#define SLAB ((size_t)4096)

static uint32_t class_of(size_t n) {
    return n <= SMALL_LEAST ? 0 : 64 - (uint32_t)__builtin_clzll(n - 1) - 6; /* 2^6 is SMALL_LEAST */
}

size_t small_size(const struct engine *en, size_t n) {
    if (n > SMALL_MOST || en->ops->discrete || en->ops->kind == DEV_PLANS || en->ops->forget) return 0;
    return SMALL_LEAST << class_of(n);
}

static bool add_slab(struct engine *en, uint32_t cls) {
    struct small_blocks *s = &en->memory.small;
    if (s->slabs == s->cap) {
        uint32_t cap = s->cap ? 2 * s->cap : 16;
        struct slab *p = mem_realloc(s->slab, cap * sizeof *p);
        if (!p) return false;
        s->slab = p, s->cap = cap;
    }
    char *p = en->ops->alloc(en->dev, SLAB);
    if (!p) return false;
    s->slab[s->slabs++] = (struct slab){.p = p, .cls = cls};
    size_t size = SMALL_LEAST << cls;
    for (size_t at = SLAB; at; at -= size) small_give(en, p + at - size, size);
    return true;
}

void *small_take(struct engine *en, size_t n) {
    struct small_blocks *s = &en->memory.small;
    uint32_t cls = class_of(n);
    if (!s->free[cls] && !add_slab(en, cls)) return NULL;
    void **p = s->free[cls];
    s->free[cls] = *p;
    s->kept -= SMALL_LEAST << cls;
#ifdef RIDGE_DEBUG_BUILD
    memset(p, 0xCD, SMALL_LEAST << cls);
#endif
    return p;
}

void small_give(struct engine *en, void *p, size_t n) {
    struct small_blocks *s = &en->memory.small;
    uint32_t cls = class_of(n);
    *(void **)p = s->free[cls];
    s->free[cls] = p;
    s->kept += SMALL_LEAST << cls;
}

/* ---- giving slabs back -------------------------------------------------------------------------------- */

static int by_address(const void *a, const void *b) {
    const struct slab *x = a, *y = b;
    return x->p < y->p ? -1 : x->p > y->p;
}

static struct slab *slab_of(struct small_blocks *s, const char *p) {
    uint32_t lo = 0, hi = s->slabs; /* the last one that begins at p or before */
    while (hi - lo > 1) {
        uint32_t mid = lo + (hi - lo) / 2;
        *(s->slab[mid].p <= p ? &lo : &hi) = mid;
    }
    return &s->slab[lo];
}

/* The list of a class without the blocks of slabs that are free as a whole. */
static void unlink_free(struct small_blocks *s, uint32_t cls) {
    void **at = &s->free[cls];
    while (*at) {
        void **p = *at;
        if (slab_of(s, (char *)p)->free == SLAB)
            *at = *p, s->kept -= SMALL_LEAST << cls;
        else
            at = p;
    }
}

void small_trim(struct engine *en) {
    struct small_blocks *s = &en->memory.small;
    if (!s->slabs) return;
    qsort(s->slab, s->slabs, sizeof *s->slab, by_address);
    for (uint32_t i = 0; i < s->slabs; i++) s->slab[i].free = 0;
    for (uint32_t c = 0; c < SMALL_CLASSES; c++)
        for (void **p = s->free[c]; p; p = *p) slab_of(s, (char *)p)->free += SMALL_LEAST << c;
    for (uint32_t c = 0; c < SMALL_CLASSES; c++) unlink_free(s, c);
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->slabs; i++) {
        if (s->slab[i].free == SLAB)
            en->ops->free(en->dev, s->slab[i].p, SLAB);
        else
            s->slab[n++] = s->slab[i];
    }
    s->slabs = n;
}

void small_close(struct engine *en) {
    struct small_blocks *s = &en->memory.small;
    for (uint32_t i = 0; i < s->slabs; i++) en->ops->free(en->dev, s->slab[i].p, SLAB);
    mem_free(s->slab);
    *s = (struct small_blocks){0};
}
