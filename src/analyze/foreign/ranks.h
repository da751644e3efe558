/* ranks.h: what the files of a set of ranks keep of each trace, which is gone when the next is read. */
#ifndef RIDGE_ANALYZE_RANKS_H
#define RIDGE_ANALYZE_RANKS_H

#include "analyze/internal.h"

struct rank_collective {
    uint64_t name;  /* hash: kernels of one name are matched in their order */
    int64_t t0, t1; /* ns on the file's own clock */
    bool needs_all; /* none leaves before the last has come */
};
struct rank_kernel {
    uint64_t name;
    uint32_t count;
    int64_t ns;
};
struct rank_file { /* one rank, read and reduced */
    const char *path;
    struct err err;
    struct arena arena;
    bool bad;
    VEC(struct rank_collective) calls; /* by time */
    VEC(struct rank_kernel) kernels;   /* the dearest first */
    struct rank_row row;
    uint64_t clock; /* as in struct trace */
    /* by collective of the set that was matched: its call, UINT32_MAX none */
    uint32_t *matched;
};

void rank_file_read(struct rank_file *, const char *path);
/* The calls of all ranks that are one collective; returns how many. Clocks are aligned by their ends. */
uint32_t ranks_match(struct arena *, struct rank_file *, uint32_t n);

#endif
