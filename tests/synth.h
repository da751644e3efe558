/* synth.h: makes traces whose right answer is known, because they are built from it.
 *
 * A trace is laid out from the device's side: a stretch of work, then a gap of known length with the host
 * events that explain it. What each nanosecond was lost to is counted while writing, in code that shares
 * nothing with the analysis. Used by tests/unit/analyze_synth.c and the fuzzers. */
#ifndef RIDGE_TEST_SYNTH_H
#define RIDGE_TEST_SYNTH_H

#include "analyze/analyze.h"

struct synth {
    struct arena *arena;
    struct str out;
    uint64_t seed;
    int64_t now; /* end of the device's last work, ns */
    int64_t first;
    uint32_t corr, step, ev;
    bool stacks, shapes, steps;
    int64_t lost[CAUSE_COUNT]; /* planted, ns */
    int64_t busy;
    int64_t held; /* device memory, bytes */
    int64_t skew; /* of the GPU's clock, ns */
};

void synth_begin(struct synth *, struct arena *, uint64_t seed);
/* One step that loses time to `cause` (a cause_id, or -1 for a healthy one); `scale` stretches it. */
void synth_step(struct synth *, int cause, int scale);
/* A second process with correlation ids of its own on a second GPU, half as busy. */
void synth_neighbour(struct synth *);
void synth_end(struct synth *);
uint64_t synth_random(struct synth *);

#endif
