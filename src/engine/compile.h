/* compile.h: the disk cache, compiled code, rendering. Private to src/engine and the search.
 * Files: cache.c, cache_index.c, cache_lock.c, cache_report.c, compile.c, kernel_cache.c, atomic_proof.c */
#ifndef RIDGE_ENGINE_COMPILE_H
#define RIDGE_ENGINE_COMPILE_H

#include "engine/engine.h"
#include "device/cuda/cuda.h"

#define CACHE_FORMAT "ridge-cache 2" /* change it when anything about keys or files changes */
#define CACHE_FOLDER "ridge-v3"      /* and this when the form of files or of the index does */
#define CACHE_INDEX "index"
enum { CACHE_HEX = 64 };

/* cache.c: files by name, KIND-<64 hex digits>, in one private directory; every read is checked, every write is atomic. */
struct cache {
    const char *dir;  /* NULL: there is none */
    const char *tmp;  /* where files are written first; NULL: it is only read */
    uint64_t limit;   /* bytes of all files together */
    uint64_t written; /* bytes since cache_trim */
    uint64_t rejected, evicted;
    bool swept;
    /* of the index: bytes of all files by it so far; how much of which file was read */
    uint64_t total;
    int64_t index_at;
    uint64_t index_ino;
};
extern const char *const cache_kinds[CACHE_KINDS]; /* the index has their numbers: new ones come last */
bool cache_is_own(const char *name);               /* has it the form of our files? */
/* Finds or makes the directory; where it cannot be trusted, says why in `warnings` and leaves dir NULL. */
void cache_open(struct cache *, struct arena *, struct str *warnings);
/* The content of file `name`, or NULL: absent, not ours, or not what was written there under this name. */
char *cache_read(struct cache *, struct arena *, const char *name, size_t *n);
void cache_write(struct cache *, struct arena *, const char *name, const void *data, size_t n);
void cache_reject(struct cache *, const char *name);   /* of no use, whatever it holds: removes it */
int cache_try(struct cache *, struct err *, size_t n); /* could n bytes be written now? */
/* After writing: when enough has come together, removes the oldest files until all fit into the limit. */
void cache_trim(struct cache *, struct arena *);
int cache_check(struct cache *, struct arena *,
                const char *name);              /* 0: the file is whole, and what its name says */
bool cache_put(int fd, const void *, size_t n); /* all of it */

/* cache_index.c: an index of the files, in the order of use. */
enum index_what { INDEX_FIRST, INDEX_FILE, INDEX_USED, INDEX_GONE };
void index_add(struct cache *, const char *name, enum index_what, uint64_t bytes);
/* Makes it anew from the folder, with no more than `goal` bytes of files, and removes the others. */
void cache_reindex(struct cache *, struct arena *, uint64_t goal);
uint64_t cache_index_total(struct cache *); /* UINT64_MAX: there is no sound index */
/* Names of files that begin with prefix, sorted. */
uint32_t cache_list(struct cache *, struct arena *, const char *prefix, const char *const **out);

/* cache_lock.c: locks of keys, and of the index. A lock goes with the descriptor, which is closed in the end; -1: there are no
 * locks here, and everything is granted. */
enum { CACHE_BUSY = -2 };
int cache_locks_open(const struct cache *);
bool cache_lock(int fd, const char *key); /* false: another process or thread has it */
void cache_unlock(int fd, const char *key);
/* Of the index: CACHE_BUSY, or what to give back. */
int cache_guard(const struct cache *, bool alone, int wait_ms);
void cache_unguard(int);

/* compile.c: makes sure that `base` of the engine is known; inside its guard. */
void compile_identity(struct engine *);

/* compile.c: can the device run it, or does it need another opt list? */
bool compile_fits(const struct engine *, const struct linear *);

/* atomic_proof.c: must the grid iterations run one after another? */
bool linear_is_serial(const struct linear *);

/* kernel_cache.c: modules, their functions (one text each) and the kernels that share a function. */
struct knode {
    struct ekernel k; /* the first: a struct ekernel is found in its node */
    struct code *code;
    struct knode *next;          /* of its function */
    struct knode *newer, *older; /* by use, while it is idle */
    uint32_t uses;               /* commands of lists that call it; 0: it is idle */
    char name[];
};
struct code {
    char key[65];
    dev_fn *fn;
    int from;                   /* as ekernel.from */
    uint32_t registers, spills; /* the same */
    struct loaded *module;      /* NULL: a function of the device */
    struct knode *kernels;
    struct code *chain;
    size_t bytes;
    char text[];
};
struct loaded {
    struct module *m;
    char sum[65]; /* of the object */
    uint32_t functions;
    size_t bytes;
    struct arena arena; /* of .. */
    cubin_vec cubin;    /* .. what is in it, of an NVIDIA GPU */
    struct loaded *chain;
};
struct kernel_cache {
    struct code *code[1024];
    struct loaded *module[1024];
    struct knode *newest, *oldest; /* idle ones */
    uint32_t n, most, modules;     /* kernels that are there, are kept; modules */
    size_t bytes, most_bytes;
    uint64_t dropped; /* kernels */
};
void kernels_init(struct engine *);
void kernels_free(struct engine *);
void kernels_trim(struct engine *); /* drops what has been idle for longest, above the limits */
uint64_t hex_head(const char *sum);
/* All of these throw to the engine's error record when out of memory. module_add takes m, also then. */
struct loaded *module_find(struct engine *, const char *sum);
struct loaded *module_add(struct engine *, const char *sum, struct module *m, size_t bytes);
void module_release(struct engine *, struct loaded *); /* unloads one that has no functions; NULL is fine */
struct code *code_find(struct engine *, const char *key);
struct code *code_add(struct engine *, const char *key, const char *text, dev_fn *, struct loaded *);
const struct ekernel *kernel_of(struct engine *, struct code *, const struct etext *);
/* A command that calls it came; went. */
void kernel_use(struct engine *, const struct ekernel *);
void kernel_unuse(struct engine *, const struct ekernel *);

/* compile.c: a program as text; lives in the arena of lin's ir. */
int engine_render(struct engine *, struct err *, const struct linear *lin, struct etext *out);
/* The same, by any thread; says nothing at DEBUG=7. */
int compile_render(const struct engine *, struct err *, const struct linear *lin, struct etext *out);

/* compile.c: what a translation unit begins with; text NULL: everything there is. */
void engine_preamble(const struct engine *, struct str *, const char *const *text, uint32_t n);

#endif
