/* fake.h: what a test may see and set of the driver that tests/fake/driver.c pretends to be, and of the profiling library
 * that tests/fake/cupti.c does. */
#ifndef RIDGE_TEST_FAKE_H
#define RIDGE_TEST_FAKE_H

#include <stddef.h>
#include <stdint.h>

struct fake {
    /* to set, before or between calls */
    int version, gpus, major; /* 13000, 1, 9 */
    size_t memory;            /* bytes the GPU has */
    int shared;               /* bytes that a block may share: 227 K */
    const char *fail;         /* this function .. */
    int after, code;          /* .. returns this code after n calls that succeed */
    int hangs;                /* kernels never end */
    int mends;                /* resetting the primary context gives a lost device back */
    /* ms that n launches of a kernel take, between two events; NULL: 0.001 */
    float (*clock)(const char *kernel, unsigned launches);
    float pair, latency; /* ms that two events show more; .. and after a launch into an empty stream */
    float record;        /* ms that a kernel without work takes more while the profiling library listens */
    /* to look at */
    uint32_t resets;
    int sticky; /* the device is lost: every call returns it; starting a kernel called "wild" sets 700 */
    size_t used, pinned;
    unsigned shared_asked; /* most of a launch so far */
    unsigned grants;       /* times that a kernel was allowed to have so much */
    uint32_t allocs, launches, copies, modules, streams, events,
        contexts;                                    /* allocs, launches, copies: so far */
    uint32_t graphs, nodes, edges, changes, replays; /* graphs: alive; the others: so far */
    uint32_t early;          /* edges whose second kernel may begin before the first is done */
    uint32_t soon;           /* launches that may begin before what they wait for is done */
    uint32_t launched_nodes; /* of all replays */
    uint32_t maps;           /* of buffers, that were encoded */
    uint64_t map_at, map_of; /* of the kernel "boxes", started last: as its map says; the buffer's address */
    uint32_t compiled;       /* texts */
    uint32_t stuck;          /* waits without a limit while kernels hang */
    uint32_t delays;         /* launches that keep the stream busy; not among `launches` */
    uint32_t unloads, hasty; /* of modules; of these, while something may have run */
    const char *kernel;      /* launched last .. */
    unsigned since;          /* .. with n launches since the event before the last one .. */
    const char *first;       /* .. of which this was the first */
    /* to set, by the profiling library: a call begins that starts kernels; a kernel ran; a node of a graph was copied */
    void (*call)(int graph);
    void (*ran)(const char *name, uint64_t node);
    void (*cloned)(void *copy, void *node);
    void (*copied)(int kind, size_t bytes); /* 1 to the GPU, 2 from it, 8 on it, 0: filled */
};

enum { FAKE_RANGES = 64 };
struct fake_nvtx {
    int refuse; /* to set */
    uint32_t version, pushed, starts, ends;
    int open;                    /* ranges of the thread */
    char text[FAKE_RANGES][200]; /* the last ones */
    int depth[FAKE_RANGES];
    char started[64];
};

enum { FAKE_RAN = 1000 };
struct fake_nccl {
    int fail;         /* to set: every call fails */
    int calls, comms; /* to look at: collectives, communicators that were not given back */
};
struct fake_cupti {
    /* to set */
    uint32_t version; /* 130001 */
    const char *fail; /* this function returns 39 */
    int silent;       /* it does not say which nodes were copied */
    int cut;          /* bytes that are missing of the last record */
    int odd;          /* every record is followed by three that make no sense */
    uint32_t drops;   /* records that it says it dropped */
    /* to look at */
    uint32_t subscribers, enabled, buffers; /* buffers: that it has and did not give back */
    uint32_t kernels, copies;               /* records it wrote */
    struct {
        const char *name;
        uint64_t t0, t1; /* of CLOCK_REALTIME */
        uint32_t stream;
    } ran[FAKE_RAN]; /* kernels, in order */
};

#endif
