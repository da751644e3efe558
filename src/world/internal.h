/* internal.h: what the files of src/world share: the vtable of backends, and the memory that ranks of one host share. */
#ifndef RIDGE_WORLD_INTERNAL_H
#define RIDGE_WORLD_INTERNAL_H

#include "world/world.h"

#include <sched.h>
#include <stdatomic.h>

/* ---- backends -------------------------------------------------------------------------------------------------- */

struct world_ops {
    const char *name;
    /* w has rank, size, name and limit; the backend keeps its state in w->state. */
    int (*open)(struct world *w, struct err *);
    void (*close)(struct world *w);
    int (*run)(struct world *w, struct err *, const struct world_call *);
    bool on_device; /* a call's memory is the device's, and its work is enqueued on w->stream */
};
extern const struct world_ops world_shm, world_local, world_mpi, world_nccl, world_plan;

struct world {
    const struct world_ops *ops;
    int64_t rank, size, local_rank;
    uint64_t limit_ns;
    uint64_t waited_ns;
    uint64_t came_ns; /* of the latest call: when the last rank had come, or 0: the backend does not say */
    uint32_t groups;  /* made from it */
    bool any_thread;
    char name[160];
    world_stream_fn *stream; /* NULL: memory of the host */
    void *stream_user;
    struct err broken; /* the first failure of a collective: all later ones give it again */
    void *state;
};

/* "all_reduce of f32[100]"; in `out`, which has room for WORLD_TEXT. */
enum { WORLD_TEXT = 96 };
const char *world_describe(char *out, int64_t code, int64_t nin, int64_t nout);

/* ---- reduce.c --------------------------------------------------------------------------------------------------- */

/* out[i] = in[0][i] op in[1][i] op .., by a binary tree over the sources. 16-bit floats are summed in fp32 and rounded once. out may
 * be one of the sources. */
void reduce_tree(enum dtype, enum collective_reduce, void *out, const void *const *in, uint32_t sources,
                 size_t n);

/* ---- segment.c, sync.c: memory that all ranks map ------------------------------------------------------------------ */

enum {
    SEGMENT_RANKS = 64, /* of one host, at most */
    SEGMENT_SLOT =
        2 << 20, /* bytes of a rank's slot, at most; there are two, used alternately, and two of results */
    SEGMENT_CHANNEL = 64 << 10 /* bytes of a message between two ranks, in flight */
};
struct segment_call { /* what a rank is about to do */
    int64_t code, nin, nout;
};
enum segment_state { RANK_ABSENT, RANK_JOINED, RANK_LEFT };
struct segment_rank {
    _Alignas(128) _Atomic uint32_t arrived; /* phases that it reached; waiters sleep on it */
    _Atomic uint32_t sleepers;
    _Atomic uint32_t state;
    int32_t pid;
    uint64_t
        born; /* of the process, in clock ticks since boot: a number that is used again is another process */
    cpu_set_t cores;             /* that it may use */
    _Atomic uint64_t at;         /* collectives begun; odd: inside of one */
    struct segment_call call[2]; /* by parity of the collective */
};
struct segment_channel { /* from one rank to another: parts sent and taken */
    _Alignas(128) _Atomic uint32_t sent;
    _Atomic uint32_t sent_sleepers;
    _Alignas(128) _Atomic uint32_t taken;
    _Atomic uint32_t taken_sleepers;
    struct segment_call call;
};
struct segment_head {
    uint64_t magic;
    uint32_t size, version;
    uint32_t step;           /* bytes of a slot that an exchange uses at a time */
    uint32_t step_of_pair;   /* the same of a sum of f32 between two ranks */
    _Atomic uint32_t failed; /* 0, 1: someone writes why, 2: why is there */
    char why[640];
    struct segment_rank rank[SEGMENT_RANKS];
};
struct segment {
    struct segment_head *head;
    size_t bytes;
    uint32_t me, size;
    uint32_t spins; /* looks at a counter before it sleeps: 0 where ranks outnumber the cores */
    bool threads;   /* ranks are threads of this process */
    uint32_t phase; /* that this rank reached */
    uint64_t count; /* collectives begun */
    uint32_t step;  /* parity of the slots */
    uint32_t sent[SEGMENT_RANKS], taken[SEGMENT_RANKS];
    struct world *w;
};
size_t segment_bytes(uint32_t size);
char *segment_slot(const struct segment *, uint32_t rank, uint32_t parity);
char *segment_result(const struct segment *, uint32_t parity);
struct segment_channel *segment_channel(const struct segment *, uint32_t from, uint32_t to);
char *segment_channel_data(const struct segment *, uint32_t from, uint32_t to, uint32_t parity);
int segment_begin(struct world *, struct err *, int fd); /* writes the head, before anyone maps it */
int segment_join(struct segment *, struct err *);        /* this rank is there; waits for the others */
void segment_leave(struct segment *);

/* rendezvous.c: one file descriptor for all ranks of a job on this host; -1 on error. */
int rendezvous(struct world *, struct err *, size_t bytes);

/* All ranks reached this phase, or an error that names who did not. */
int sync_all(struct segment *, struct err *);
/* `word` of rank `of` reached target. */
int sync_wait(struct segment *, struct err *, uint32_t of, _Atomic uint32_t *word, _Atomic uint32_t *sleepers,
              uint32_t target);
void sync_set(_Atomic uint32_t *word, _Atomic uint32_t *sleepers, uint32_t value);
/* The world ends with this error on every rank: the first to say so is heard. */
int sync_fail(struct segment *, struct err *, int code, const char *fmt, ...) RG_FMT(4, 5);
uint64_t sync_process_born(int32_t pid,
                           char *state); /* 0: there is no such process; state: as in /proc/PID/stat */

/* exchange.c */
enum {
#if defined __SSE2__
    WORLD_STORES_BYPASS = 1, /* results are stored past the caches, each step by itself */
#else
    WORLD_STORES_BYPASS = 0,
#endif
};
int segment_run(struct segment *, struct err *, const struct world_call *);

#endif
