/* observe.h: what an engine reports while it works. Private to src/engine.
 *
 * The engine calls its observer, which is debug.c unless a test replaces it; an observer never calls back into planning or running.
 * Files: debug.c (lines at DEBUG), kernel_call.c (one call of a kernel, for lines, profiles and costs), kernel_roof.c */
#ifndef RIDGE_ENGINE_OBSERVE_H
#define RIDGE_ENGINE_OBSERVE_H

#include "engine/engine.h"

struct debug_totals { /* of the lines at DEBUG=2, for the summary */
    uint32_t operations, kernels;
    double ns, flops, bytes;
};

/* One call of a kernel of a plan: what its line, a profile and the cost table say of it. */
struct kernel_call {
    const struct ekernel *k;
    const char *name;        /* padded, perhaps coloured */
    double roof;             /* seconds, by the roofline of the machine model */
    const char *bound;       /* what sets the roof */
    struct model_time use;   /* busy time of each unit, of the program as lowered */
    const uint32_t *node;    /* provenance: indices into the nodes of the plan's key */
    uint32_t nodes;          /* entries of node */
    const char *site;        /* source line of the program that ran the plan last */
    const char *opts, *text; /* opt list; printed kernel graph, NULL for a builtin of the device */
    double predicted;        /* seconds, by the planner */
    uint64_t site_hash;      /* of the site last told to a profile .. */
    uint32_t info;           /* .. and its event name there */
    uint32_t said[2];        /* event names of graph and source, 0: not told yet */
    uint64_t calls, ns;      /* not yet in the cost table */
    const char *shapes;      /* of what it stores */
    uint32_t behind;         /* of a device that only plans: see overlap_behind() */
};

struct plan_key;

struct observer {
    void (*open)(const struct engine *);
    void (*close)(const struct engine *);
    void (*plan)(const struct engine *, const struct plan_key *, const struct realize_stats *);
    void (*schedule)(const struct schedule *, const struct str *log);
    void (*lowered)(const struct sched_prog *, const struct linear *, const char *opts,
                    const struct str *passes);
    void (*builtin)(const struct sched_prog *, const struct ekernel *); /* NULL: the device runs nothing */
    void (*rendered)(struct engine *, const char *name, const char *text);
    void (*kernel)(struct engine *, const struct kernel_call *, uint64_t ns, const char *site);
    void (*ref)(struct engine *, uint32_t values, uint64_t ns); /* the oracle ran */
    void (*copy)(struct engine *, enum dev_copy, size_t bytes, uint64_t ns);
    void (*wait)(struct engine *, uint64_t ns);
};
extern const struct observer debug_observer; /* debug.c */

/* kernel_call.c: the name of a kernel for its line. */
enum { CALL_NAME_WIDTH = 45 };
const char *call_name(struct arena *, const struct sched_prog *);
/* The event name under which a profile finds all about this call (event.h lists the fields). */
uint32_t call_event(struct arena *work, struct kernel_call *, const char *site);

/* kernel_roof.c: fills roof, bound and use; `writes`: the fraction of its buffers that it writes. */
void roof_find(const struct engine *, double writes, struct kernel_call *);
void roof_print(struct str *, const struct kernel_call *); /* "key=value .." of each unit, in ns */

#endif
