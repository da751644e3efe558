/* plan.h: plans: their keys, files, bindings, memory owners and the cache of them. Private to src/engine.
 * Files: key.c, plan_cache.c, plan_file.c, memory_owners.c, program.c, realize.c */
#ifndef RIDGE_ENGINE_PLAN_H
#define RIDGE_ENGINE_PLAN_H

#include "engine/observe.h"
#include "event/event.h"

/* key.c: what a plan depends on, written down: two calls with equal keys may share a plan. */
struct plan_key {
    uint32_t *p;
    uint32_t n;
    uint64_t hash, skeleton; /* of all of it; of all but the numbers that could be scalars */
    /* while the ir lives: */
    uop_vec topo;    /* nodes in the order of the key */
    uint32_t *start; /* [topo.n + 1]: where each begins in p */
};
void plan_key(struct arena *, const struct engine *, const struct ir *, const uop *graph, struct plan_key *);

/* plan_cache.c: the plans an engine knows, the temporaries they share, the machine model they were made for. */
struct bind { /* one buffer of one command */
    void **at;
    enum buf_kind kind;
    uint32_t number; /* BUF_GRAPH, BUF_RESULT */
    int64_t offset;  /* bytes */
};
struct bind_var {
    int64_t *at;
    uint32_t slot;
};
struct bind_copy { /* a result that another buffer holds */
    struct bind from;
    uint32_t result;
    size_t bytes;
};
struct planned_value { /* a value between kernels, in the block of temporaries */
    int64_t bytes, offset;
    uint32_t first, last; /* calls */
    const char *owner;    /* info of its record */
};
struct bind_mem { /* one buffer of the program or result, whatever commands use it */
    enum buf_kind kind;
    uint32_t number;
    size_t bytes;
    bool written;
    void *at; /* in the latest call */
};
struct exec_plan {
    struct arena arena;
    struct exec_plan *chain, *newer, *older; /* of its bucket; by use */
    struct plan_key key;
    struct realize_stats stats; /* what is the same in each call */
    struct engine_list *list;   /* NULL on a device that runs nothing */
    struct kernel_call *call;   /* [ncall], also where there is no list */
    uint64_t sites;             /* struct realize's, of the latest run */
    uint32_t runs;
    struct bind *outer, *inner; /* bound at each call; when the temporaries moved */
    struct bind_var *var;
    struct bind_copy *copy;
    struct bind_mem *mem; /* of `outer`, each once */
    uint32_t nouter, ninner, nvar, ncopy, nmem, ncall;
    char *table, *temp; /* uploaded task tables; where the temporaries were */
    size_t table_bytes, temp_bytes;
    size_t bytes; /* as the cache counts it: what it took when it came */
    bool bound;
    uint8_t named;                 /* its commands have infos: 1 short ones, 2 all that a profile says */
    uint32_t name, told;           /* of its records; the recording that knows its planned values */
    struct planned_value *planned; /* [nplanned] */
    uint32_t nplanned;
    uint32_t held;    /* replays that need it: it is not dropped */
    uint32_t numbers; /* plans before this one that differ only in numbers */
};
struct plan_cache {
    struct exec_plan *bucket[256];
    struct exec_plan *newest, *oldest;
    struct exec_plan *latest; /* of the latest engine_realize, if that had one */
    uint32_t n, most;         /* how many are there, are kept */
    size_t bytes, most_bytes;
    uint64_t evicted;
    struct arena work;               /* of one call */
    struct model model;              /* the machine: what reports and rooflines go by */
    struct model planned;            /* what plans go by: the same for any number of threads */
    uint64_t model_hash;             /* of `planned` */
    char *model_from;                /* what RIDGE_MODEL said when it was opened; NULL: not opened yet */
    struct engine_planning planning; /* if planning_set; else the environment says */
    bool planning_set;
    int64_t temp_limit; /* bytes; 0: none */
    char *temp;         /* temporaries of the plan that runs */
    size_t temp_bytes;
    struct realize_stats totals;
};
void plans_init(struct engine *);
void plans_free(struct engine *);
int plans_model(struct engine *, struct err *); /* opens it, again if RIDGE_MODEL changed */
struct exec_plan *plans_find(struct engine *, const struct plan_key *);
struct exec_plan *plan_new(struct engine *, struct err *); /* NULL when out of memory */
void plan_free(struct engine *, struct exec_plan *);
/* The CONST that keeps a program from being found, if it was planned often with another number there; else NULL. */
const uop *plans_changing(struct engine *, const struct plan_key *, struct exec_plan *made);
/* Adds the warning about it, with the line that uses the number. */
void plans_warn_changing(struct engine *, const uop *number, const char *site);
void plans_keep(struct engine *, struct exec_plan *); /* takes it in, drops what was not used for longest */
int plans_temp(struct engine *, struct err *, size_t bytes);

/* plan_file.c: a plan without addresses: made of a schedule, or read from the disk cache. */
struct recipe_buf {
    enum buf_kind kind;
    uint32_t number;          /* as in struct bind */
    int64_t offset;           /* of the buffer; BUF_TEMP, BUF_TABLE */
    uint64_t bytes, use;      /* of the buffer; use: USE_LOADED .. */
    struct sched_slice slice; /* of the buffer: what the kernel gets */
};
struct recipe_kernel {
    struct etext t;
    const char *opts, *graph; /* of its debug_call */
    double predicted;
    /* "": t is compiled; else a function of the device, and of t name and estimate count */
    const char *builtin;
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
    uint32_t first, last, writer, node; /* calls; node: 1 + index in the key, 0: planning made it */
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

/* memory_owners.c: what the memory of a plan is for. The values and shapes of a recipe, from the schedule it is made of; the plan's own, from a
 * recipe and the program of today, whose nodes are key->topo. */
void owners_recipe(struct arena *work, const struct schedule *, const struct plan_key *, struct recipe *);
void owners_find(struct arena *work, struct exec_plan *, const struct realize *, const struct plan_key *,
                 const struct recipe *);
void owners_tell(struct exec_plan *); /* while recording: what it keeps between its kernels */
uint32_t owner_name(enum event_memory, size_t asked, const char *what);

/* realize.c: the plan with the buffers, results and VARs of r; r->ir and r->graph are not looked at. */
int plan_run(struct engine *, struct err *, struct exec_plan *, const struct realize *r,
             struct realize_stats *);

/* program.c: how programs are lowered for the engine's device. */
void prog_target(const struct engine *, struct lower_opts *);
/* The program of a kernel of a plan under a list, in an ir that holds the kernel. */
void prog_lower(const struct sched_prog *, struct ir *, const struct kernel *, const struct lower_opts *,
                struct linear *out);

/* The heuristic's opt list, or the one that stands in for it in a test. In the arena of p->ir, which may throw. */
const char *prog_heuristic(struct engine *, struct sched_prog *);
/* Where the lists before were unrolled too far; "": there is none. */
const char *prog_heuristic_after(struct engine *, struct sched_prog *, int refused);
struct model_gpu engine_reported(const struct engine *); /* by the driver */
struct gpu_spec engine_spec(struct engine *);
/* By buffer of a kernel: is it loaded, stored? */
const uint8_t *prog_uses(struct arena *, const struct sched_prog *);

#endif
