/* run.h: command lists and how they are captured. Private to src/engine and the search.
 * Files: run.c, graph_capture.c */
#ifndef RIDGE_ENGINE_RUN_H
#define RIDGE_ENGINE_RUN_H

#include "engine/engine.h"

/* run.c */
struct run_scratch {
    char *p; /* one area per worker */
    size_t stride, size;
};
struct command {
    struct dev_launch l;
    const struct ekernel *k; /* counted, so that it stays loaded */
    uint64_t ns;     /* of the last call; on a device that works on its own: `device` once that is known */
    uint64_t device; /* by its clock, in the last run that was sampled; 0: not yet */
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
    bool sample;                /* the next run of the whole list times each command by the device's clock */
    VEC(struct list_part) part; /* once it is recorded */
};
/* Have these two pieces of memory bytes in common? */
static inline bool memory_meets(const char *p, size_t n, const char *q, size_t m) {
    return p < q + m && q < p + n;
}
/* ns per run of the whole list, over `times` runs back to back, launched as a program's are: one by one or as a graph. Leaves
 * no event. On a device with `span`; UINT64_MAX: it could not be run. */
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
void list_info(struct engine_list *, uint32_t i, uint32_t info); /* what events say of command i */
void list_forget(struct engine_list *); /* its recording: commands or what they share changed */

#endif
