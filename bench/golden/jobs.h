/* jobs.h: the jobs of the golden benchmark: their buffers, the peer that does them, the plain loops that judge.
 *
 * A task is a job with its memory. Each buffer has the name that the job's .uop file uses for it. Inputs are
 * shared by both sides, results exist once per side, and what is updated in place starts equal on both sides
 * (its first value can be computed again at any time, so the judge needs no copy).
 * Tests: `golden --check`. */
#ifndef RIDGE_GOLDEN_JOBS_H
#define RIDGE_GOLDEN_JOBS_H

#include "peers.h"

enum { PEER, RIDGE, SIDES };
enum access { IN, OUT, INOUT };
enum fill {
    F_ZERO,
    F_UNIFORM, /* [-1, 1) */
    F_WIDE,    /* [-8, 8) */
    F_UNIT,    /* [0, 1) */
    F_TIES,    /* few different values */
    F_INDEX    /* int32 in [0, limit), a few outside */
};

enum { MAX_BUFS = 64, MAX_VARS = 8 };
struct buf {
    const char *name;
    enum access access;
    enum fill fill;
    int64_t n, limit;
    uint64_t seed;
    void *p[SIDES]; /* 4-byte elements: float, or int32 for F_INDEX and results of argmax */
};
struct var {
    const char *name;
    double value;
};
struct task {
    const struct job *job;
    const int *s; /* the shape: what its numbers mean is the job's affair */
    struct buf buf[MAX_BUFS];
    int nbuf;
    struct var var[MAX_VARS];
    int nvar;
    float *scratch; /* of the peer */
    size_t scratch_n;
    double read, write, flops; /* floor: bytes that must move, arithmetic that must be done */
};

struct job {
    const char *name, *file; /* file: tests/golden/FILE.uop */
    int full[7], small[7];   /* shapes: as measured, and an odd small one for --check */
    double tol;              /* greatest error allowed, relative to max(|value|, 1) */
    bool one_thread;
    void (*make)(struct task *);
    void (*peer)(struct task *, struct pool *);
    /* Greatest error of a side's results after one run, against plain loops; some rows where all is too slow. */
    double (*judge)(struct task *, int side);
};
extern const struct job jobs[];
extern const int job_count;

int task_open(struct err *, struct task *, const struct job *, const int *shape);
void task_close(struct task *);
void task_reset(struct task *); /* results and what is updated in place: as at the start */
struct buf *task_buf(struct task *, const char *name); /* NULL if there is none */
double task_first(const struct buf *, int64_t i);      /* what an element held at the start */
double task_compare(struct task *);                    /* greatest difference between the two sides */

#endif
