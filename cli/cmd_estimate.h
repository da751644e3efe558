/* cmd_estimate.h: what cmd_estimate.c and estimate_ranks.c share. */
#ifndef RIDGE_CMD_ESTIMATE_H
#define RIDGE_CMD_ESTIMATE_H

#include "report/report.h"
#include "world/world.h"

struct estimate_link {
    int64_t ranks, latency; /* ranks 0: no world; latency in us */
    double rate;            /* GB/s */
};
/* "all_reduce_88000" */
bool estimate_is_exchange(const char *name, enum collective_kind *kind);
/* bytes: that one call reads and writes. */
double estimate_exchange_ns(const struct estimate_link *, enum collective_kind, double bytes);

/* estimate_ranks.c: kernels and collectives of a plan on two clocks. */
struct kernel_times; /* of a profile, by kernel */
/* Each kernel's time, with what the host does before it; lives in the arena. */
struct kernel_times *estimate_times(struct arena *, const struct diag *);
struct estimate_result {
    double all_ns, step_ns;  /* of the program; of its median step, 0: it has none */
    uint32_t known, kernels; /* kernels that the profile has, of all that were asked for */
};
/* times NULL: kernels take the machine model's least time. */
struct estimate_result estimate_simulate(struct arena *, const struct diag *, const struct estimate_link *,
                                         const struct kernel_times *);

#endif
