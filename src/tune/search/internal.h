/* internal.h: what the files of src/tune/search share. */
#ifndef RIDGE_TUNE_SEARCH_INTERNAL_H
#define RIDGE_TUNE_SEARCH_INTERNAL_H

#include "engine/internal.h"
#include "tune/search/search.h"

/* in_context.c: a command of a plan with its neighbours, on copied memory. */
struct search_context;
/* own: by slot, memory that replaces the command's outputs; NULL: not an output. May throw; *out is set before. */
void context_new(struct engine *, struct arena *, const struct tune_job *, void *const *own,
                 struct search_context **out);
/* The same commands with this kernel; the caller frees the list. */
struct engine_list *context_list(struct search_context *, struct err *, const struct ekernel *);
void context_free(struct search_context *); /* its memory; free its lists first. NULL is fine */

/* same_result.c: equal values in both buffers of the device? An error is in e. */
bool same_result(struct engine *, struct err *, enum dtype, const char *x, const char *y, size_t bytes);

/* trial.c: the first run of a candidate, in another process; base_ns: what the list in use takes. The arena may throw. */
enum trial_end {
    TRIAL_PASSED,
    TRIAL_TRAPPED,       /* trapped, crashed, hung: not to be run here */
    TRIAL_DID_NOT_START, /* harmless: no code, too many resources */
    TRIAL_NONE           /* there is no other process, or no room in it */
};
enum trial_end trial_run(struct engine *, struct arena *, const struct tune_job *, const struct ekernel *,
                         uint64_t base_ns);
void trial_stop(struct engine *); /* ends the process, if there is one */

/* tuning_records.c: records by their key, in the engine (engine.records) and on disk. All may throw. */
struct tuning_records {
    tuned_vec all;
    struct map by_key; /* first 8 bytes of a key -> index into `all` */
};
void record_key(struct engine *, const struct sched_prog *, char out[65]);
struct tuned *record_find(struct engine *, const char *key); /* or NULL */
struct tuned *record_keep(struct engine *, const char *key, struct tuned *);
void record_print(struct str *, const struct tuned *, const char *text);

#endif
