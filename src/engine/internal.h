/* internal.h: what the files of the engine share. */
#ifndef RIDGE_ENGINE_INTERNAL_H
#define RIDGE_ENGINE_INTERNAL_H

#include "engine/engine.h"

#define CACHE_FORMAT "ridge-cache 1" /* change it when anything about keys or files changes */

/* cache.c: files by name in one private directory; every read is checked, every write is atomic. */
struct cache {
    const char *dir; /* NULL: there is none */
    uint64_t limit;  /* bytes of all files together */
    uint64_t rejected, evicted;
};
/* Finds or makes the directory; where it cannot be trusted, says why in `warnings` and leaves dir NULL. */
void cache_open(struct cache *, struct arena *, struct str *warnings);
/* The content of file `name`, or NULL: absent, not ours, or not what was written. */
char *cache_read(struct cache *, struct arena *, const char *name, size_t *n);
void cache_write(struct cache *, struct arena *, const char *name, const void *data, size_t n);
/* Removes the oldest files until all fit into the limit, and what killed writers left behind. */
void cache_trim(struct cache *, struct arena *);

/* serial.c: must the grid iterations run one after another? */
bool linear_is_serial(const struct linear *);

/* Compiled code: one text. Kernels that differ only in grid or estimate share it. */
struct knode {
    struct ekernel k;
    struct knode *next;
};
struct code {
    char key[65];
    const char *text;
    dev_fn *fn;
    int from; /* as ekernel.from */
    struct knode *kernels;
};

struct engine {
    struct err err; /* of the arena */
    struct err load_error;
    struct arena arena; /* code, keys, sources: as long as the engine */
    struct arena work;  /* of one call */
    const struct device_ops *ops;
    struct device *dev;
    struct cache cache;
    struct engine_stats stats;
    struct str warnings;
    uint64_t in_use; /* bytes of device memory */
    VEC(struct code *) code;
    struct map by_key; /* first 8 bytes of a key -> number in `code` */
    VEC(struct module *) module;
    struct map by_object;           /* first 8 bytes of an object's sum -> number in `module` */
    const char *request, *identity; /* of the compiler: what was asked for, what it is */
    struct sha256 base;             /* of everything in a key but the text */
    bool base_known;
};

#endif
