/* memory.h: the allocator's blocks and who owns them. Private to src/engine.
 * Files: allocator.c */
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
struct memory {
    struct spare spare[208];
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
void memory_uncount(struct engine *, void *p, uint64_t t0);
const struct mem_block *memory_block(const struct engine *, const void *p); /* NULL: not in use */

#endif
