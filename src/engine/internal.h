/* internal.h: what the files of the engine share. */
#ifndef RIDGE_ENGINE_INTERNAL_H
#define RIDGE_ENGINE_INTERNAL_H

#include "engine/engine.h"
#include "event/event.h"

#define CACHE_FORMAT "ridge-cache 2" /* change it when anything about keys or files changes */

/* cache.c: files by name, KIND-<64 hex digits>, in one private directory; every read is checked, every write is atomic. */
struct cache {
    const char *dir;  /* NULL: there is none */
    const char *tmp;  /* where files are written first; NULL: it is only read */
    uint64_t limit;   /* bytes of all files together */
    uint64_t written; /* bytes since cache_trim */
    uint64_t rejected, evicted;
    bool swept;
};
/* Finds or makes the directory; where it cannot be trusted, says why in `warnings` and leaves dir NULL. */
void cache_open(struct cache *, struct arena *, struct str *warnings);
/* The content of file `name`, or NULL: absent, not ours, or not what was written there under this name. */
char *cache_read(struct cache *, struct arena *, const char *name, size_t *n);
void cache_write(struct cache *, struct arena *, const char *name, const void *data, size_t n);
void cache_reject(struct cache *, const char *name);   /* of no use, whatever it holds: removes it */
int cache_try(struct cache *, struct err *, size_t n); /* could n bytes be written now? */
/* After writing: when enough has come together, removes the oldest files until all fit into the limit. */
void cache_trim(struct cache *, struct arena *);

/* Names of files that begin with prefix, sorted. */
uint32_t cache_list(struct cache *, struct arena *, const char *prefix, const char *const **out);

/* compile.c: makes sure that `base` of the engine is known; inside its guard. */
void compile_identity(struct engine *);

/* compile.c: can the device run it, or does it need another opt list? */
bool compile_fits(const struct engine *, const struct linear *);

/* atomic_proof.c: must the grid iterations run one after another? */
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
    int from;                   /* as ekernel.from */
    uint32_t registers, spills; /* the same */
    struct knode *kernels;
};
struct loaded {
    struct module *m;
    cubin_vec cubin; /* of an NVIDIA GPU: what is in it */
};

/* compile.c: a program as text; lives in the arena of lin's ir. */
int engine_render(struct engine *, struct err *, const struct linear *lin, struct etext *out);
int compile_render(const struct engine *, struct err *, const struct linear *lin,
                   struct etext *out); /* the same, by any thread; says nothing at DEBUG=7 */

/* compile.c: what a translation unit begins with; text NULL: everything there is. */
void engine_preamble(const struct engine *, struct str *, const char *const *text, uint32_t n);

/* run.c */
struct scratch {
    char *p; /* one area per worker */
    size_t stride, size;
};
struct command {
    struct dev_launch l;
    uint64_t ns;
    void **buf;
    int64_t *var;
    const uint8_t *use; /* by buffer: USE_LOADED .. ; NULL: not known */
    const size_t *size; /* by buffer, in bytes */
};
struct list_part { /* commands from here on that the device runs as one, or one that is launched */
    uint32_t n;
    struct dev_record *record;
};
struct engine_list {
    struct engine *en;
    struct err err;
    struct arena arena;
    VEC(struct command) cmd;
    char *scratch;  /* what the commands were given .. */
    uint32_t ready; /* .. as far as here */
    int workers;
    uint32_t runs;              /* of the whole list */
    VEC(struct list_part) part; /* once it is recorded */
};
/* Have these two pieces of memory bytes in common? */
static inline bool memory_meets(const char *p, size_t n, const char *q, size_t m) {
    return p < q + m && q < p + n;
}
/* ns of a run of the whole list, of so many without a pause, each as a run of a program is: kernel by kernel or recorded. Leaves no
 * event. On a device with `span`; UINT64_MAX: it could not be run. */
uint64_t list_time(struct engine_list *, uint32_t times);
/* Runs commands [from, to). */
int engine_list_run_part(struct engine_list *, struct err *, uint32_t from, uint32_t to);

/* graph_capture.c: lists that the device runs as one. */
/* Commands [from, to) of a list as steps, each with the earlier ones whose memory it needs or takes, and no step that
 * those wait for themselves. In the arena, which may throw. */
struct dev_step *list_steps(struct arena *, const struct engine_list *, uint32_t from, uint32_t to);
/* Has the whole list run often enough to be recorded, and can it be? Then it is, if it was not yet. */
int list_record(struct engine_list *, struct err *, bool *recorded);
int list_replay(struct engine_list *, struct err *);
void list_forget(struct engine_list *); /* its recording: commands or what they share changed */

/* memory.c */
struct spare { /* blocks of one size class that are free */
    void **p;
    uint32_t n, cap;
};
struct block { /* one that is in use */
    void *p;   /* NULL: an empty place of the table */
    size_t asked, size;
    uint64_t number, since; /* in the order of all blocks of the process; ns */
    uint32_t owner;
};
struct memory {
    struct spare spare[208];
    size_t in_use, held, peak, most,
        kept; /* bytes: asked for; of their blocks, at most so far, since a reset; of spare blocks */
    struct block *block;  /* open addressing by p */
    uint32_t blocks, cap; /* cap: a power of two */
    uint32_t told;        /* the recording that knows them */
};
void memory_trim(struct engine *); /* gives back what is kept */
void memory_tell(struct engine *); /* while recording: blocks that were there before it began */
/* Counts a block that the caller has from the device himself. False: there is no memory to count it with. */
bool memory_count(struct engine *, void *p, size_t asked, size_t size, uint32_t owner, uint64_t t0);
void memory_uncount(struct engine *, void *p, uint64_t t0);
const struct block *memory_block(const struct engine *, const void *p); /* NULL: not in use */

/* key.c: what a plan depends on, written down: two calls with equal keys may share a plan. */
struct plan_key {
    uint32_t *p;
    uint32_t n;
    uint64_t hash, skeleton; /* of all of it; of all but the values of CONSTs */
    /* while the ir lives: */
    uop_vec topo;    /* nodes in the order of the key */
    uint32_t *start; /* [topo.n + 1]: where each begins in p */
};
void plan_key(struct arena *, const struct engine *, const struct ir *, const uop *graph, struct plan_key *);

/* debug.c: lines for people. */
struct shown { /* what the lines at DEBUG=2 and the summary count */
    uint32_t operations, kernels;
    double ns, flops, bytes;
};
struct debug_call { /* one call of a kernel, as its line says it */
    const struct ekernel *k;
    const char *name;      /* perhaps coloured; padded */
    double roof;           /* seconds by the machine model, at best */
    const char *bound;     /* what would limit it then */
    struct model_time use; /* how long each unit is busy with the program as it is */
    const uint32_t *node;  /* places in the plan's key, for provenance */
    uint32_t nodes;
    const char *site;        /* of the program that the plan was made for */
    const char *opts, *text; /* its list; its kernel graph in print, NULL for a function of the device */
    double predicted;        /* seconds, by the planner */
    uint64_t place;          /* of the site that a profile was told last .. */
    uint32_t info;           /* .. and its name there */
    uint32_t said[2];        /* names of text and source in a profile, 0: not said yet */
    uint64_t calls, ns;      /* not in the table of costs yet */
    const char *shapes;      /* of what it stores */
};
void debug_open(const struct engine *);
void debug_close(const struct engine *);
void debug_plan(const struct engine *, const struct plan_key *, const struct realize_stats *);
void debug_changing(struct engine *, const uop *number, const char *site);
void debug_schedule(const struct schedule *, const struct str *log);
void debug_prog(const struct sched_prog *, const struct linear *, const char *opts, const struct str *passes);
void debug_builtin(const struct sched_prog *,
                   const struct ekernel *); /* NULL: of a device that runs nothing */
void debug_assembly(struct engine *, const char *name, const char *text);
/* The name of a kernel for its line: padded, perhaps coloured. */
const char *debug_name(struct arena *, const struct sched_prog *);
void debug_kernel(struct engine *, const struct debug_call *, uint64_t ns, const char *site);
/* The name under which a profile finds all about this call (event.h says what); work is for the text. */
uint32_t debug_info(struct arena *work, struct debug_call *, const char *site);
/* roof.c: fills roof, bound and use; `writes`: the share of its buffers that it writes. */
void roof_find(const struct engine *, double writes, struct debug_call *);
/* What each unit does, as "key=value ..". */
void roof_print(struct str *, const struct debug_call *);
void debug_ref(struct engine *, uint32_t values, uint64_t ns); /* the oracle ran */

/* plan_cache.c: the plans an engine knows, the temporaries they share, the machine model they were made for. */
struct bind { /* one buffer of one command */
    void **at;
    enum sched_place place;
    uint32_t number; /* BUF_GRAPH, BUF_RESULT */
    int64_t offset;  /* bytes; BUF_TEMP, BUF_TABLE */
};
struct bind_var {
    int64_t *at;
    uint32_t slot;
};
struct bind_copy { /* a result that a buffer of another place holds */
    struct bind from;
    uint32_t result;
    size_t bytes;
};
struct planned { /* a value between kernels, in the block of temporaries */
    int64_t bytes, offset;
    uint32_t first, last; /* calls */
    const char *owner;    /* info of its record */
};
struct bind_mem { /* one buffer of the program or result, whatever commands use it */
    enum sched_place place;
    uint32_t number;
    size_t bytes;
    bool written;
    void *at; /* in the latest call */
};
struct plan {
    struct arena arena;
    struct plan *chain, *newer, *older; /* of its bucket; by use */
    struct plan_key key;
    struct realize_stats stats; /* what is the same in each call */
    struct engine_list *list;   /* NULL on a device that runs nothing */
    struct debug_call *call;    /* [ncall], also where there is no list */
    struct bind *outer, *inner; /* bound at each call; when the temporaries moved */
    struct bind_var *var;
    struct bind_copy *copy;
    struct bind_mem *mem; /* of `outer`, each once */
    uint32_t nouter, ninner, nvar, ncopy, nmem, ncall;
    char *table, *temp; /* uploaded task tables; where the temporaries were */
    size_t table_bytes, temp_bytes;
    bool bound;
    uint8_t named;           /* its commands have infos: 1 short ones, 2 all that a profile says */
    uint32_t name, told;     /* of its records; the recording that knows its planned values */
    struct planned *planned; /* [nplanned] */
    uint32_t nplanned;
    uint32_t held;    /* replays that need it: it is not dropped */
    uint32_t numbers; /* plans before this one that differ only in numbers */
};
struct plans {
    struct plan *bucket[256];
    struct plan *newest, *oldest;
    struct plan *latest; /* of the latest engine_realize, if that had one */
    uint32_t n, most;    /* how many are there, are kept */
    size_t bytes, most_bytes;
    uint64_t evicted;
    struct arena work; /* of one call */
    struct model model;
    uint64_t model_hash;
    char *model_from;                /* what RIDGE_MODEL said when it was opened; NULL: not opened yet */
    struct engine_planning planning; /* if planning_set; else the environment says */
    bool planning_set;
    char *temp; /* temporaries of the plan that runs */
    size_t temp_bytes;
    struct realize_stats totals;
};
void plans_init(struct engine *);
void plans_free(struct engine *);
int plans_model(struct engine *, struct err *); /* opens it, again if RIDGE_MODEL changed */
struct plan *plans_find(struct engine *, const struct plan_key *);
struct plan *plan_new(struct engine *, struct err *); /* NULL when out of memory */
void plan_free(struct engine *, struct plan *);
/* The CONST that keeps a program from being found, if it was planned often with another number there; else NULL. */
const uop *plans_changing(struct engine *, const struct plan_key *, struct plan *made);
void plans_keep(struct engine *, struct plan *); /* takes it in, drops what was not used for longest */
int plans_temp(struct engine *, struct err *, size_t bytes);

/* plan_file.c: a plan without addresses: made of a schedule, or read from the disk cache. */
struct recipe_buf {
    enum sched_place place;
    uint32_t number; /* as in struct bind */
    int64_t offset;
    uint64_t bytes, use; /* use: USE_LOADED .. */
};
struct recipe_kernel {
    struct etext t;
    const char *opts, *graph; /* of its debug_call */
    double predicted;
    const char
        *builtin; /* "": t is compiled; else a function of the device, and of t name and estimate count */
    const char **type; /* as in dev_call */
    uint32_t ntype;
    int64_t rows, num[RG_COUNT(((struct sched_builtin *)0)->num)];
};
struct recipe_call {
    uint32_t kernel, nbuf, nvar, nodes;
    const struct recipe_buf *buf;
    const uint32_t *var, *node;
    const char *name; /* as in debug_call */
    double writes;    /* share of its buffers that it writes */
    const char *shapes;
};
struct recipe_value {                   /* one that is kept between kernels */
    int64_t asked, offset;              /* bytes */
    uint32_t first, last, writer, node; /* calls; node: 1 + place in the key, 0: planning made it */
    const uint32_t *reader;             /* [readers]: calls */
    uint32_t readers;
    const char *shape;
};
struct recipe_copy {
    struct recipe_buf from;
    uint32_t result;
    uint64_t bytes;
};
struct recipe {
    const char *file; /* its name in the disk cache; NULL: it is not kept there */
    struct realize_stats stats;
    int64_t temp_bytes;
    const int64_t *table;
    struct recipe_kernel *kernel;
    struct recipe_call *call;
    struct recipe_copy *copy;
    struct recipe_value *value;
    uint32_t table_n, nkernel, ncall, ncopy, nvalue;
};
/* False: it is not there; then `file` is where recipe_save would put it. */
bool recipe_load(struct engine *, struct arena *, const struct plan_key *, struct recipe *out);
void recipe_save(struct engine *, struct arena *, const struct recipe *);
/* A cache file that changes with each result of a search. */
#define SEARCH_LATEST "search-0000000000000000000000000000000000000000000000000000000000000000"

/* memory_owners.c: whose the memory of a plan is. The values and shapes of a recipe, from the schedule it is made of; the plan's own, from a
 * recipe and the program of today, whose nodes are key->topo. */
void owners_recipe(struct arena *work, const struct schedule *, const struct plan_key *, struct recipe *);
void owners_find(struct arena *work, struct plan *, const struct realize *, const struct plan_key *,
                 const struct recipe *);
void owners_tell(struct plan *); /* while recording: what it keeps between its kernels */
uint32_t owner_name(enum event_memory, size_t asked, const char *what);

/* realize.c: the plan with the buffers, results and VARs of r; r->ir and r->graph are not looked at. */
int plan_run(struct engine *, struct err *, struct plan *, const struct realize *r, struct realize_stats *);

/* How programs are lowered for the engine's device. */
void prog_target(const struct engine *, struct lower_opts *);
/* The program of a kernel of a plan under a list, in an ir that holds the kernel. */
void prog_lower(const struct sched_prog *, struct ir *, const struct kernel *, const struct lower_opts *,
                struct linear *out);

/* By buffer of a kernel: is it loaded, stored? */
const uint8_t *prog_uses(struct arena *, const struct sched_prog *);

/* tune.c */
struct tune_job { /* a call whose kernel is to be searched for, with its memory; arrays by slot */
    struct sched_prog *p;
    const char *opts;
    const struct ekernel *k; /* of opts; NULL: it is compiled with the others */
    void *const *buf;
    const int64_t *var;
    const size_t *bytes;
    const enum dtype *dt;
    const uint8_t *use;   /* USE_LOADED .. */
    const uint32_t *same; /* the first slot with the same memory */
    const struct tuned_row
        *list; /* what to try, as tune_prepare found it; NULL: it is yet to be thought of */
    uint32_t nlist;
    const struct engine_list *plan; /* that it is command number `at` of, before its turn; NULL: of none */
    uint32_t at;
};
int tune_beam(const struct engine *); /* 0: no search */
/* The list for a kernel: the one that a search has found, else the heuristic's. In the arena of p->ir, which may throw. */
const char *tune_opts(struct engine *, struct sched_prog *);
/* What a CUDA device can do, as opts_heuristic_gpu counts it; 0: another device. */
int engine_capability(struct engine *);
/* What a search has found for it, as long as the engine; NULL: nothing. */
const struct tuned *tune_find(struct engine *, struct sched_prog *);
/* Thinks of what searches for these kernels will try, and compiles all of it at once. Of a job only p and opts are looked at; its
 * list is set, in the arena. What fails here is left to the searches. */
void tune_prepare(struct engine *, struct arena *, struct tune_job *, uint32_t n);
/* Searches, unless the answer is known. Buffers are not changed. */
int tune_kernel(struct engine *, struct err *, const struct tune_job *, const struct ekernel **best);

/* tune_around.c: the neighbourhood of a command of a plan, its own memory with it. */
struct around;
/* own: by slot, the memory that the command itself writes to instead; NULL: it does not write there. In the arena, which may throw: *out
 * is set before that. */
void around_new(struct engine *, struct arena *, const struct tune_job *, void *const *own,
                struct around **out);
/* The same commands with this kernel; the caller's. */
struct engine_list *around_list(struct around *, struct err *, const struct ekernel *);
void around_free(struct around *); /* its memory; lists must be gone. NULL is well. */

/* tune_same.c: equal values at both places of the device's memory? An error is in e. */
bool tune_same(struct engine *, struct err *, enum dtype, const char *x, const char *y, size_t bytes);

/* tune_record.c: records by their key, in the engine and on disk. All may throw. */
void record_key(struct engine *, const struct sched_prog *, char out[65]);
struct tuned *record_find(struct engine *, const char *key); /* NULL: nothing is known */
struct tuned *record_keep(struct engine *, const char *key, struct tuned *);
void record_print(struct str *, const struct tuned *, const char *text);

/* ceilings_gpu.c */
int ceilings_gpu(struct engine *, struct err *, struct arena *, struct ceilings *out);

/* costs.c */
struct costs {
    VEC(struct engine_cost) row;
    struct map at; /* hash of name and place -> 1 + row */
};
void costs_take(struct engine *, struct plan *); /* what its calls took goes into the table */

struct engine {
    struct err err; /* of the arena */
    struct err load_error;
    struct arena arena; /* code, keys, sources: as long as the engine */
    struct arena work;  /* of one call */
    const struct device_ops *ops;
    struct device *dev;
    struct dev_info info; /* of a device that is not this machine */
    struct cache cache;
    struct engine_stats stats;
    struct str warnings;
    struct memory memory;
    uint32_t event_name; /* of the device */
    VEC(struct code *) code;
    struct map by_key; /* first 8 bytes of a key -> number in `code` */
    VEC(struct loaded) module;
    struct map by_object;           /* first 8 bytes of an object's sum -> number in `module` */
    const char *request, *identity; /* of the compiler: what was asked for, what it is */
    struct sha256 base;             /* of everything in a key but the text */
    bool base_known;
    struct scratch scratch; /* of all command lists */
    struct plans plans;
    struct engine_tuning tuning; /* if tuning_set; else the environment says */
    bool tuning_set;
    tuned_vec tuned;         /* records that were read or made */
    struct map tuned_by_key; /* first 8 bytes of a key -> number in `tuned` */
    struct costs costs;
    struct shown shown;
};

#endif
