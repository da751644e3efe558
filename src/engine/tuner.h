/* tuner.h: what an engine asks of a search. The search stands above the engine, in src/tune/search, and is attached to an
 * engine by whoever opens it; without one, kernels get the heuristic's opt lists. */
#ifndef RIDGE_ENGINE_TUNER_H
#define RIDGE_ENGINE_TUNER_H

#include "engine/engine.h"

struct tuned_row;
struct tune_job { /* a call whose kernel is to be searched, with its memory; arrays by slot */
    struct sched_prog *p;
    const char *opts;        /* the list in use */
    const struct ekernel *k; /* compiled from opts; NULL: it is compiled with the candidates */
    void *const *buf;
    const int64_t *var;
    const size_t *bytes;
    const enum dtype *dt;
    const uint8_t *use;           /* USE_LOADED .. */
    const uint32_t *same;         /* the first slot with the same memory */
    const struct tuned_row *list; /* candidates, if `prepare` chose them; else NULL */
    uint32_t nlist;
    const struct engine_list *plan; /* whose command number `at` it is; NULL: none */
    uint32_t at;
};

struct tuner {
    /* The opt list that a search recorded for the kernel, if it rounds as `own` does; else own. In the arena of p->ir, which
     * may throw. */
    const char *(*opts)(struct engine *, struct sched_prog *, const char *own);
    /* Chooses the candidates of these kernels and compiles all of them at once. Reads only p and opts of a job; sets its list, in
     * the arena. What fails here is left to `kernel`. */
    void (*prepare)(struct engine *, struct arena *, struct tune_job *, uint32_t n);
    /* Searches, unless a record is known. Buffers are not changed. *opts: of *best, if that is not job->k. */
    int (*kernel)(struct engine *, struct err *, const struct tune_job *, const struct ekernel **best,
                  const char **opts);
    /* All kernels of a plan were searched for, or the engine closes: what the searches shared is given back. */
    void (*end)(struct engine *);
};

/* program.c */
bool engine_can_search(const struct engine *);
int engine_beam(const struct engine *); /* candidates per kernel; 0: no search */

#endif
