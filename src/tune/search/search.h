/* search.h: beam search over opt lists, by measuring. The only header of src/tune/search for other folders.
 *
 *   search.c           candidates: proposed, ranked by the cost model, compiled, checked, timed
 *   in_context.c       a kernel timed with its neighbours of the plan
 *   trial.c, worker.c  the first run of a candidate, in a process of its own
 *   same_result.c      two results compared bit by bit on the device
 *   tuning_records.c   what was tried and which list won, in the engine and in the disk cache
 *
 * The engine knows none of this: it asks the struct tuner that search_attach gives it.
 * Tests: tests/unit/tune.c, tests/unit/tune_gpu.c, tests/unit/cuda_fake_search.c, tests/cli/tune.sh */
#ifndef RIDGE_TUNE_SEARCH_H
#define RIDGE_TUNE_SEARCH_H

#include "engine/engine.h"

/* The engine's plans use recorded winners (unless RIDGE_TUNED=0), and new plans are searched if BEAM is set. */
void search_attach(struct engine *);
/* engine_open and search_attach. */
struct engine *search_engine_open(struct err *, const struct device_ops *);

/* Candidates of a kernel. */
enum tuned_state { TUNED_TIMED, TUNED_WRONG, TUNED_BASE, TUNED_WINNER, TUNED_FAILED, TUNED_TRAPPED };
struct tuned_row {
    /* WRONG: other results; BASE: the previous list, not the winner; WINNER: perhaps the previous list; FAILED: not compiled, does not
     * fit the device, or did not launch; TRAPPED: its trial run trapped, crashed, hung or took too long */
    enum tuned_state state;
    const char *opts;
    double predicted, measured; /* seconds */
};
struct tuned {
    char key[65];
    const char *name, *machine, *opts, *text; /* opts: of the winner; text: of the kernel */
    int threads, beam;
    double seconds;            /* of the search */
    bool cold;                 /* caches were flushed before each run */
    VEC(struct tuned_row) row; /* the first is the previous list */
};
typedef VEC(struct tuned *) tuned_vec;
/* Searches for the best list of one kernel of ir on these buffers, which are not changed; arrays by slot. Returns
 * a record if there is one. The record lives as long as the engine. */
struct search_call {
    struct ir *ir;
    const struct kernel *kernel;
    void *const *buf;
    const size_t *bytes;
    const enum dtype *dt;
    uint32_t nbuf;
    const int64_t *var;
    uint32_t nvar;
};
int search_kernel(struct engine *, struct err *, const struct search_call *, const struct tuned **out);
/* The main loop of the helper program ridge-worker: kernels come from `in`, answers go to `out`. Its exit status. */
int search_worker(int in, int out, const char *device);
/* All records of the disk cache, of any machine model and compiler. */
void tuning_records(struct engine *, struct arena *, tuned_vec *out); /* may throw */

#endif
