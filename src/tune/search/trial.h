/* trial.h: what trial.c and worker.c say to each other. Both are of one version: the first answer tells. */
#ifndef RIDGE_TUNE_SEARCH_TRIAL_H
#define RIDGE_TUNE_SEARCH_TRIAL_H

#include "tune/search/internal.h"

#define TRIAL_PROTOCOL "ridge-worker 1, " CACHE_FORMAT
#define TRIAL_MAGIC 0x4c414952u
enum { TRIAL_MOST = 64 << 20, TRIAL_ALIGN = 256 }; /* bytes of a message; of addresses that are kept alike */

/* A kernel to run: this, a trial_buf for each buffer, VARs, name and text with their zeros. */
struct trial_head {
    uint32_t magic, nbuf, nvar, block, per_block, nmap, serial, name, text; /* name, text: bytes */
    uint64_t bytes;                                                         /* of all that follows */
    int64_t grid, scratch, shared, limit_s;
    struct dev_map map[DEV_MAPS];
    struct estimate est;
};
struct trial_buf {
    uint64_t bytes;
    uint32_t same, at; /* the first slot with the same memory; address modulo TRIAL_ALIGN */
    uint32_t zero;     /* it holds integers, which may be indices */
};

enum trial_state { TRIAL_READY = 1, TRIAL_BEGUN, TRIAL_RAN, TRIAL_REFUSED, TRIAL_LOST, TRIAL_NO_ROOM };
struct trial_answer {
    uint32_t magic, state;
    uint64_t ns;   /* READY: bytes of a trial_head */
    char why[240]; /* READY: the protocol; else what went wrong */
};

#endif
