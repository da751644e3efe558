/* memory.h: the allocator's blocks and who owns them. Private to src/engine.
 * Files: allocator.c, small_blocks.c */
#ifndef RIDGE_ENGINE_MEMORY_H
#define RIDGE_ENGINE_MEMORY_H

#include "engine/engine.h"
#include "event/event.h"

/* memory.c */
struct spare { /* blocks of one size class that are free */
    void **p;
    uint32_t n, cap;
};
struct mem_block { /* one that is in use */
    void *p;       /* NULL: an empty entry of the table */
    size_t asked, size;
    uint64_t number, since; /* in the order of all blocks of the process; ns */
    uint32_t owner;
};
/* small_blocks.c */
#define SMALL_LEAST ((size_t)64)
#define SMALL_MOST ((size_t)2048)
#define SMALL_CLASSES 6
struct slab { /* of the device, cut into blocks of one class */
    char *p;
    uint32_t cls;
    uint32_t free; /* bytes; small_trim counts them */
};
struct small_blocks {
    void *free[SMALL_CLASSES]; /* lists through the blocks */
    struct slab *slab;
    uint32_t slabs, cap;
    size_t kept; /* bytes of free blocks */
};
size_t small_size(const struct engine *, size_t n); /* of the block for n bytes; 0: it is no small one */
void *small_take(struct engine *, size_t n);        /* NULL: out of memory */
void small_give(struct engine *, void *, size_t n);
void small_trim(struct engine *);
void small_close(struct engine *);

struct memory {
    struct small_blocks small;
    struct spare spare[48 + 32 * 41]; /* by class, to the largest size_t */
    size_t in_use, held, peak, most,
        kept; /* bytes: asked for; of their blocks, at most so far, since a reset; of spare blocks */
    struct mem_block *block; /* open addressing by p */
    uint32_t blocks, cap;    /* cap: a power of two */
    uint32_t told;           /* the recording that knows them */
};
void memory_trim(struct engine *); /* gives back what is kept */
void memory_tell(struct engine *); /* while recording: blocks that were there before it began */
/* Counts a block that the caller took from the device directly. False: there is no memory to count it with. */
bool memory_count(struct engine *, void *p, size_t asked, size_t size, uint32_t owner, uint64_t t0);
void memory_close(struct engine *); /* blocks that are in use stay their owners' */
void memory_uncount(struct engine *, void *p, uint64_t t0);
const struct mem_block *memory_block(const struct engine *, const void *p); /* NULL: not in use */

#endif
