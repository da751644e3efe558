/* world.h: ranks that exchange data: the only public header of src/world.
 *
 * A world is one rank's end of a group of processes (or, LOCAL, of contexts of one process). world_run performs one collective
 * on memory of the host (nccl: of the device), row-major. Every rank calls the same collectives in the same order; a rank that does not (another
 * kind, dtype or size), that ends, or that does not come within the time limit is named in the error that all ranks get, and
 * the world is of no use from then on. Reductions are a binary tree over ranks: the same bits on every rank, in every run.
 * Tests: tests/unit/world.c, tests/cli/world.sh */
#ifndef RIDGE_WORLD_H
#define RIDGE_WORLD_H

#include "ir/ir.h"

struct world;
/* Makes a device current on this thread: the stream that its kernels go to. */
typedef int world_stream_fn(void *user, struct err *, void **stream);
struct world_opts {
    const char *backend;     /* NULL or "auto", "shm", "local", "mpi", "nccl" */
    const char *name;        /* ranks with the same name are one world; NULL: the launcher's job */
    int64_t rank, size;      /* size 0: what the launcher says */
    double seconds;          /* time limit of one collective; 0: RIDGE_WORLD_TIMEOUT */
    world_stream_fn *stream; /* of an NVIDIA GPU; NULL: there is none */
    void *stream_user;
    int64_t contexts, context; /* ranks of each of the launcher's processes, and which this is; 0: one */
};

struct world_call {
    struct collective what;
    const void *in;
    void *out;
    int64_t nin, nout; /* elements */
};

int world_open(struct err *, const struct world_opts *, struct world **);
void world_close(struct world *);
int64_t world_rank(const struct world *);
int64_t world_size(const struct world *);
int64_t world_local_rank(const struct world *); /* on this host */
const char *world_backend(const struct world *);
bool world_any_thread(const struct world *); /* world_run may be called by any thread, one at a time */
bool world_on_device(
    const struct world *); /* world_run takes memory of the device, and does not wait for it */
/* The ranks of `rank`, in that order, as a world of their own; *out is NULL on ranks that are not among them. All ranks of w call it. */
int world_group(struct world *w, struct err *, const int64_t *rank, size_t n, struct world **out);
int world_run(struct world *, struct err *, const struct world_call *);

/* Seconds of a collective over links of this rate and latency; bytes: of a rank, in or out, the larger. */
double world_link_seconds(enum collective_kind, double bytes, int64_t ranks, double gb_per_s, double latency);

/* Of an all-reduce, without a clock: over RIDGE_WORLD_LINK, or through memory that ranks share; 0: time it. */
double world_planned_seconds(const struct world *, double bytes);

/* How long this rank waited for others in the latest call; the rest of its time moved data. */
uint64_t world_waited_ns(const struct world *);

/* What a launcher (mpirun, torchrun, srun, ridge run) says about this process. */
struct world_launch {
    int64_t rank, size, local_rank, local_size;
    const char *launcher; /* "none": nothing is set, rank 0 of 1 */
    char job[128];        /* the same for all ranks of a job on one host */
};
int world_launch(struct err *, struct world_launch *);

#endif
