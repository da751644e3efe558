/* event.h: what happened and when, for the profiler; the only header of src/event.
 *
 * A flight recorder that is always on: every pass, compile, kernel, copy and wait leaves one record of
 * 48 bytes in a ring that belongs to its thread, for a few nanoseconds beside the clock. The last
 * EVENT_RING records of each thread are kept; how many were overwritten is counted and reported.
 * Times are os_now_ns(): monotonic, one clock for all threads.
 * While a profile is recorded (record.c) every record goes to its file as well, and nothing is overwritten.
 * Tests: tests/unit/event.c, tests/unit/profile.c */
#ifndef RIDGE_EVENT_H
#define RIDGE_EVENT_H

#include "base/base.h"

#define EVENT_RING 16384 /* records kept per thread, a power of two */

/* clang-format off */
/*    kind     text       a             b           */
#define EVENT_TABLE(X)                                                                             \
    X(PASS,    "pass",    "nodes in",   "nodes out")    /* one compiler pass */                    \
    X(PLAN,    "plan",    "nodes",      "kernels")      /* schedule made, machine model opened */  \
    X(COMPILE, "compile", "kernels",    "source bytes") /* one run of a C or device compiler */    \
    X(CACHE,   "cache",   "hit",        "bytes")        /* one look into the disk cache */         \
    X(LAUNCH,  "launch",  "call",       "chunks")       /* host side of a kernel call */           \
    X(KERNEL,  "kernel",  "operations", "bytes")        /* device side of a kernel call */         \
    X(COPY,    "copy",    "bytes",      "direction")    /* 0 from the host, 1 to it, 2 on a device */ \
    X(WAIT,    "wait",    "call",       "unused")       /* host waits for a device */              \
    X(ALLOC,   "alloc",   "bytes",      "in use after") /* device memory reserved */               \
    X(FREE,    "free",    "bytes",      "in use after") /* and given back */                       \
    X(RANGE,   "range",   "user a",     "user b")       /* a range the user marked */              \
    X(STEP,    "step",    "number",     "unused")       /* one training step */                    \
    X(CALL,    "call",    "unused",     "unused")       /* one public function; while recording */ \
    X(RUN,     "run",     "kernels",    "how")          /* a program: 0 planned, 1 known, 2 replayed */ \
    X(LOWER,   "lower",   "kernels",    "unused")       /* kernels of a new plan lowered */        \
    X(BUILD,   "build",   "kernels",    "unused")       /* .. rendered, and found or compiled */   \
    X(RECORD,  "record",  "on",         "cpu ns")       /* recording went on or off; time of all cores */ \
    X(PROFILER, "profiler", "bytes",    "unused")       /* what recording itself took */
/* clang-format on */

enum event_kind {
#define X(name, text, a, b) EVENT_##name,
    EVENT_TABLE(X) EVENT_KINDS
#undef X
};

struct event {
    uint64_t t0, t1; /* ns; equal for an instant */
    int64_t a, b;    /* what the table says */
    uint32_t name;   /* of event_name */
    uint32_t thread; /* 1, 2, 3 … in the order in which threads first recorded something */
    uint32_t kind;
    uint32_t
        info; /* of event_name: more about it, 0 none. CALL: "file:line", the file as the compiler was given it.
               * KERNEL, by tabs: site, roof in ns, bound, key, predicted ns, number of the name that is its kernel
               * graph in print, of that which is its source, work as "key=value .." (roof.c), opts; what follows the
               * bound may be missing. */
};

/* ---- writing: any thread, any time ------------------------------------------------------------- */

/* The number of a name: the same text gives the same number. Takes a lock: call it once per kernel or
 * pass, not per record. 0 ("") when out of memory. */
uint32_t event_name(const char *text);
/* Without memory for this thread's ring the record is dropped, and counted. */
void event_add(enum event_kind, uint32_t name, uint64_t t0, uint64_t t1, int64_t a, int64_t b);
void event_add_info(enum event_kind, uint32_t name, uint32_t info, uint64_t t0, uint64_t t1, int64_t a,
                    int64_t b);

/* The same as a pair around the work. */
struct event_span {
    uint64_t t0;
    uint32_t kind, name;
};
static inline struct event_span event_begin(enum event_kind kind, uint32_t name) {
    return (struct event_span){os_now_ns(), (uint32_t)kind, name};
}
static inline void event_end(struct event_span s, int64_t a, int64_t b) {
    event_add((enum event_kind)s.kind, s.name, s.t0, os_now_ns(), a, b);
}

/* ---- record.c: the profile of a whole run ----------------------------------------------------------- */

/* The file: "RIDGEPRF", u32 EVENT_FILE_VERSION, u32 bytes until the first block; then blocks, each a struct event_block
 * and `size` bytes, of which the first `used` count. EVENT_BLOCK_RECORDS holds struct events; EVENT_BLOCK_NAMES holds
 * u32 number, u32 length, text. Little endian. A name may stand behind records that use it.
 * A thread writes into a block of its own, mapped from the file: what was recorded is in the file at once, and stays
 * there when the process is killed. */
#define EVENT_FILE_MAGIC "RIDGEPRF"
#define EVENT_FILE_VERSION 2
enum { EVENT_BLOCK_RECORDS = 0x53434552, EVENT_BLOCK_NAMES = 0x454d414e }; /* "RECS", "NAME" */
struct event_block {
    uint32_t tag, thread, size, used;
};

/* Begins to record to a new file at `path`, replacing what was there. One recording at a time in a process.
 * Forked children do not record. */
int event_record_start(struct err *, const char *path);
void event_record_pause(bool); /* true: nothing is written until false */
/* Ends it; 0, or why the file is not whole (the disk was full). */
int event_record_stop(struct err *);
extern uint32_t event_recording_now;
static inline bool event_recording(void) {
    return __atomic_load_n(&event_recording_now, __ATOMIC_RELAXED) != 0;
}

/* ---- reading: any thread, while others write ----------------------------------------------------- */

struct event_list {
    struct event *p; /* by t0; of two that begin together the longer, so the outer, first */
    size_t n;
    uint64_t dropped; /* overwritten before this snapshot, since event_reset */
    uint32_t threads; /* that recorded anything, ever */
};
/* Copies all records since event_reset into the arena (throws when out of memory). */
void event_snapshot(struct arena *, struct event_list *out);
/* Later snapshots begin here. */
void event_reset(void);

const char *event_name_text(uint32_t name); /* "" for a number that was not given out */
const char *event_kind_text(uint32_t kind);
/* One line per record: start and length in microseconds, thread, kind, name, a, b. */
void event_print(struct str *, const struct event_list *);

#endif
