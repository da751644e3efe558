/* internal.h: struct engine, whole. Private to src/engine and the search. */
#ifndef RIDGE_ENGINE_INTERNAL_H
#define RIDGE_ENGINE_INTERNAL_H

#include "engine/compile.h"
#include "engine/memory.h"
#include "engine/observe.h"
#include "engine/plan.h"
#include "engine/run.h"
#include "engine/tuner.h"
#include "event/event.h"

/* ceilings_gpu.c */
int ceilings_gpu(struct engine *, struct err *, struct arena *, struct ceilings *out);

/* costs.c */
struct cost_table {
    VEC(struct engine_cost) row;
    struct map at; /* hash of name and source line -> 1 + row */
};
void costs_take(struct engine *, struct exec_plan *); /* what its calls took goes into the table */
void machine_tell(struct engine *); /* kernel_roof.c; while recording: what the machine can do */
void costs_site(struct engine *, struct kernel_call *,
                const char *site); /* from now on it runs for that line */

/* realize_ref.c: evaluates the graph, of these nodes, on the oracle; nanoseconds. Throws to err. */
uint64_t realize_ref(struct engine *, struct err *, struct arena *work, const struct realize *,
                     const uop_vec *topo);

/* collective.c: commands that exchange data with other ranks */
enum { ENGINE_WORLDS = 64 };
extern dev_fn *const engine_collective_fn;
bool command_is_collective(const struct command *);
bool list_has_collective(const struct engine_list *);
void collective_close(struct engine *);
int collective_run(struct engine *, struct err *, int64_t code, const void *in, void *out, int64_t nin,
                   int64_t nout);
/* A command of any kind. */
int command_launch(struct engine *, struct err *, const struct command *);
/* overlap.c: a collective that runs beside the commands after it; false: it was not begun. wait: until `next` may begin (NULL: until all
 * have ended), or one failed. */
struct overlap;
bool overlap_begin(struct engine *, struct command *);
int overlap_wait(struct engine *, struct err *, const struct command *next);
void overlap_close(struct engine *);
/* What call i of a plan would wait for: the last collective before it counts 1, the one before that 2 ..; 0: for none. */
struct recipe;
uint32_t overlap_behind(const struct recipe *, uint32_t i);
void overlap_tell(uint32_t behind); /* while recording, on a device that runs nothing */
bool commands_meet(const struct command *,
                   const struct command *); /* graph_capture.c: memory that one stores to */

struct engine {
    struct err err; /* of the arena */
    struct err load_error;
    struct arena arena; /* code, keys, sources: as long as the engine */
    struct arena work;  /* of one call */
    const struct device_ops *ops;
    struct device *dev;
    struct dev_info info; /* of a device that is not this machine */
    struct gpu_spec
        gpu; /* its row of the machine model, with what the driver reports; the default one of a CPU */
    struct cache cache;
    struct engine_stats stats;
    struct str warnings;
    struct memory memory;
    uint32_t event_name; /* of the device */
    struct kernel_cache kernels;
    const char *request, *identity; /* of the compiler: what was asked for, what it is */
    struct sha256 base;             /* of everything in a key but the text */
    bool base_known;
    struct run_scratch scratch; /* of all command lists */
    struct plan_cache plans;
    struct engine_tuning tuning; /* if tuning_set; else the environment says */
    bool tuning_set;
    const struct tuner *tuner;      /* NULL: no search */
    struct tuning_records *records; /* that the tuner read or made; in the arena */
    struct search_worker *worker;   /* the tuner's; NULL: none yet */
    const struct observer *observer;
    struct cost_table costs;
    uint32_t machine_told; /* the recording that knows the machine's roofs */
    struct live_row *live; /* NULL: not shown by `ridge top` */
    uint64_t span_began;   /* engine_span on a device without a clock of its own */
    struct debug_totals shown;
    struct world *world[ENGINE_WORLDS]; /* by number in the context; NULL: closed */
    struct overlap *overlap;            /* NULL: not yet */
    uint32_t clock_told;                /* the recording that knows it */
    void *stage; /* memory of the host that collectives of a discrete device pass through */
    size_t stage_bytes;
};

#endif
