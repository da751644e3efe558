/* side.h: the Ridge side of a golden job: its .uop file compiled and bound to the task's buffers.
 * See ridge_side.c. */
#ifndef RIDGE_GOLDEN_SIDE_H
#define RIDGE_GOLDEN_SIDE_H

#include "jobs.h"

struct engine;
struct side;
/* NULL and an error when the file is missing, does not compile or names a buffer of another size. */
/* heuristic: with opts_heuristic's list instead of the file's. */
struct side *side_open(struct err *, struct engine *, struct task *, const char *dir, bool heuristic);
int side_run(struct side *, struct err *);
void side_close(struct side *);
int side_kernels(const struct side *);

#endif
