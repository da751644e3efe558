/* event.h: what happened and when, for the profiler; the only header of src/event.
 *
 * A flight recorder that is always on: every pass, compile, kernel, copy and wait leaves one record of
 * 48 bytes in a ring buffer of its thread, for a few nanoseconds beside the clock. The last
 * EVENT_RING records of each thread are kept; how many were overwritten is counted and reported.
 * Times are os_now_ns(): monotonic, one clock for all threads.
 * While a profile is recorded (recorder.c) every record goes to its file as well, and nothing is overwritten.
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
    X(LAUNCH,  "launch",  "kernels",    "number")       /* host side of what a device then runs by itself, see event_add_row */ \
    X(KERNEL,  "kernel",  "operations", "bytes")        /* device side of a kernel call */         \
    X(COPY,    "copy",    "bytes",      "direction")    /* 0 from the host, 1 to it, 2 on a device; + 4 pageable */ \
    X(WAIT,    "wait",    "call",       "unused")       /* host waits for a device */              \
    X(ALLOC,   "alloc",   "bytes",      "block")        /* a block of device memory comes into use */ \
    X(FREE,    "free",    "bytes",      "block")        /* and out of it */                        \
    X(RANGE,   "range",   "user a",     "user b")       /* a range the user marked */              \
    X(STEP,    "step",    "number",     "unused")       /* one training step */                    \
    X(CALL,    "call",    "unused",     "unused")       /* one public function; while recording */ \
    X(RUN,     "run",     "kernels",    "how")          /* a program: 0 planned, 1 known, 2 replayed; + 256 times the block of its temporaries */ \
    X(LOWER,   "lower",   "kernels",    "unused")       /* kernels of a new plan lowered */        \
    X(BUILD,   "build",   "kernels",    "unused")       /* .. rendered, and found or compiled */   \
    X(RECORD,  "record",  "on",         "cpu ns")       /* recording went on or off; time of all cores */ \
    X(PROFILER, "profiler", "bytes",    "unused")       /* what recording itself took */          \
    X(RESERVE, "reserve", "bytes",      "spare")        /* what the device has given us, and how much of it is unused */ \
    X(PLANNED, "planned", "bytes",      "life")         /* a value between kernels of a plan: first call << 32 | last */ \
    X(PART,    "part",    "iterations", "worker")       /* one worker's share of a kernel */      \
    X(NOTE,    "note",    "unused",     "unused")       /* what a reader must know of the recording: the name says it, info what to do */
/* clang-format on */

enum event_kind {
#define X(name, text, a, b) EVENT_##name,
    EVENT_TABLE(X) EVENT_KINDS
#undef X
};

/* What device memory is for. */
/*    kind         text */
#define EVENT_MEMORY_TABLE(X)                                                               \
    X(PARAMETER, "parameters")                                                              \
    X(GRADIENT, "gradients")                                                                \
    X(ACTIVATION, "activations") /* computed forward, read by the backward pass */          \
    X(STATE, "optimiser state")                                                             \
    X(DATA, "inputs and data")                                                              \
    X(VALUE, "values")          /* other tensors that the program holds */                  \
    X(TEMPORARY, "temporaries") /* between two kernels */                                   \
    X(PLAN, "planned block")    /* the block that a plan's values between kernels lie in */ \
    X(OTHER, "scratch and tables")

enum event_memory {
#define X(name, text) EVENT_MEM_##name,
    EVENT_MEMORY_TABLE(X) EVENT_MEMORIES
#undef X
};

struct event {
    uint64_t t0, t1; /* ns; equal for an instant */
    int64_t a, b;    /* what the table says */
    uint32_t name;   /* of event_name */
    uint32_t
        thread; /* 1, 2, 3 … in the order in which threads first recorded something; with a row: the launch */
    uint16_t kind;
    uint16_t row;  /* 0: it happened in the thread; else a stream of a device, see event_row */
    uint32_t info; /* of event_name: more about it, 0 none; see below */
};
/* The row of stream number `stream` of device number `device`, in its own counting. */
#define EVENT_ROW_STREAMS 4096
static inline uint16_t event_row(uint32_t device, uint32_t stream) {
    return (uint16_t)((device % 15 + 1) * EVENT_ROW_STREAMS + stream % EVENT_ROW_STREAMS);
}
/* Info is text, its fields separated by tabs; later ones may be left out. Shapes are written f32(64,10); a site is what DEBUG=2 prints,
 * "conv2d net.0 mnist.c:31 (backward)".
 *   KERNEL          site, roof in ns, what sets the roof, shapes stored, key, predicted ns, number of the name that is its kernel graph
 *                   in print, of that which is its source, work as "key=value .." (roof.c), opts
 *   CALL            file:line (the file as the compiler was given it), module, shapes taken -> shape made
 *   ALLOC           what it is for (EVENT_MEMORY_TABLE), bytes asked for, site, shape
 *   PLANNED         the same and the offset in the block; its name is the plan's
 *   RUN             the plan's name */

/* ---- writing: any thread, any time ------------------------------------------------------------- */

/* The number of a name: the same text gives the same number. Takes a lock: call it once per kernel or
 * pass, not per record. 0 ("") when out of memory, or for new text while 4 MiB of names are held and nothing is recorded. */
uint32_t event_name(const char *text);
/* The same for texts without end, such as those with a shape in them: the name goes some time after its last hold. */
uint32_t event_name_shared(const char *text);
bool event_name_hold(uint32_t name); /* false: it is gone, or 0 */
void event_name_release(uint32_t name);
bool event_name_known(uint32_t name);
uint32_t
event_names(uint32_t keep); /* how many there are; keep: as many idle ones from now on, 0 no change */
/* Without memory for this thread's ring buffer the record is dropped, and counted. */
void event_add(enum event_kind, uint32_t name, uint64_t t0, uint64_t t1, int64_t a, int64_t b);
void event_add_info(enum event_kind, uint32_t name, uint32_t info, uint64_t t0, uint64_t t1, int64_t a,
                    int64_t b);
/* What a device did by itself, on a row of its own. launch: the number of the LAUNCH that asked for it, 0 not known. */
void event_add_row(enum event_kind, uint32_t name, uint32_t info, uint16_t row, uint32_t launch, uint64_t t0,
                   uint64_t t1, int64_t a, int64_t b);

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

/* For measurements: false pauses the flight recorder, so that its overhead can be measured. Profiles go on. */
void event_flight(bool on);

/* ---- recorder.c: the profile of a whole run ----------------------------------------------------------- */

/* The file: a struct event_head, and from its `bytes` on blocks, each a struct event_block and `size` bytes, of which
 * the first `used` count. EVENT_BLOCK_RECORDS holds struct events; EVENT_BLOCK_NAMES holds u32 number, u32 length, text. Little
 * endian. A name may stand behind records that use it.
 * A thread writes into a block of its own, mapped from the file: what was recorded is in the file at once, and stays
 * there when the process is killed. */
#define EVENT_FILE_MAGIC "RIDGEPRF"
#define EVENT_FILE_VERSION 3
struct event_head {
    char magic[8];
    uint32_t version, bytes; /* bytes: of the head and what is left free behind it */
    uint64_t dropped; /* records that found no room: on a full disk, or overwritten in the flight recorder */
    uint32_t
        record_ns; /* what a record costs, with one look at the clock: measured when recording began; 0 not known */
    uint32_t pid;
};
enum { EVENT_BLOCK_RECORDS = 0x53434552, EVENT_BLOCK_NAMES = 0x454d414e }; /* "RECS", "NAME" */
struct event_block {
    uint32_t tag, thread, size, used;
};

/* Begins to record to a new file at `path`, replacing what was there. One recording at a time in a process.
 * Forked children do not record. kinds: a bit for each enum event_kind that is wanted; marks, steps, ranges and the profiler's own
 * cost are always recorded. */
int event_record_start(struct err *, const char *path, uint32_t kinds);
/* OFF: nothing but what happens to memory is written, so that later records can be understood. WARM: the same, but
 * each thread prepares what it would write. */
enum event_mode { EVENT_OFF, EVENT_WARM, EVENT_ON };
void event_record_mode(enum event_mode);
/* Called before recording is switched off, without a lock: whoever holds records back adds them now. One function. */
void event_before_off(void (*fn)(void));
/* Ends it; 0, or why the file is not whole (the disk was full). */
int event_record_stop(struct err *);
uint64_t
event_record_since(void); /* when recording went on last; what a device did before is not part of it */
uint32_t event_record_file(void); /* number of the recording that is under way, another for each; 0: none */
extern uint32_t event_recording_now, event_written_kinds;
static inline bool event_recording(void) {
    return __atomic_load_n(&event_recording_now, __ATOMIC_RELAXED) != 0;
}
static inline bool event_recording_kind(enum event_kind k) {
    return __atomic_load_n(&event_written_kinds, __ATOMIC_RELAXED) >> k & 1;
}

/* ---- nvtx.c: the same for NVIDIA's tools, if one is watching ---------------------------------------------- */

extern int event_nvtx_state; /* -1: not looked for yet */
bool event_nvtx_look(void);
static inline bool event_nvtx(void) {
    int s = __atomic_load_n(&event_nvtx_state, __ATOMIC_ACQUIRE);
    return __builtin_expect(s, 0) ? s > 0 || event_nvtx_look() : false;
}
/* A range of this thread, around what it is doing; one of the process, which may overlap others. Without a tool: nothing. */
void event_nvtx_push(const char *text);
void event_nvtx_pop(void);
uint64_t event_nvtx_start(const char *text);
void event_nvtx_end(uint64_t id);

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

/* "" for a number that was not given out, or whose name is gone. Of a shared name it is good while it is held. */
const char *event_name_text(uint32_t name);
const char *event_kind_text(uint32_t kind);
const char *event_memory_text(uint32_t kind); /* "parameters" .. */
/* One line per record: start and length in microseconds, thread, kind, name, a, b. */
/* save.c: writes them as a profile. */
int event_save(struct err *, struct arena *, const char *path, const struct event_list *);
void event_print(struct str *, const struct event_list *);

/* ---- live.c: figures of a running program, for `ridge top` --------------------------------------------------- */

#define LIVE_NAME "ridge-live"
enum { LIVE_VERSION = 1, LIVE_ROWS = 16, LIVE_PLANS = 8 };
struct live_plan {
    uint32_t name; /* the plan's number */
    uint64_t runs, steps, ns;
};
struct live_row {       /* of an engine; everything is summed since it was opened */
    uint64_t turn;      /* odd: being written */
    uint64_t since, at; /* opened, 0: a free row; end of the latest run */
    char device[16];    /* "CUDA:1" */
    int32_t unit;
    uint64_t runs, replays, kernels, kernel_ns, roof_ns;
    uint64_t in_use, reserved, peak; /* bytes of device memory */
    struct live_plan plan[LIVE_PLANS];
    int32_t last; /* plan that ran last; -1: its step has no end */
    uint64_t last_t0;
};
struct live_page {
    uint32_t version, pid;
    char program[32];
    uint64_t marks, mark_ns; /* rg_profile_step */
    struct live_row row[LIVE_ROWS];
};
struct live_run {
    uint32_t plan;
    int how; /* as RUN's */
    uint64_t t0, t1;
    uint64_t kernels, kernel_ns, roof_ns, in_use, reserved, peak;
};
struct live_row *live_open(const char *device, int unit); /* NULL: not shown */
void live_close(struct live_row *);
void live_run(struct live_row *, const struct live_run *);
void live_step(uint64_t t0, uint64_t t1);
bool live_read(uint32_t pid, struct live_page *out); /* false: the process has no page, or hides it */

/* ---- warn.c ------------------------------------------------------------------------------------------------ */

/* Something works, but probably not as was meant: a line at DEBUG=1, and a call of the program's function, if it gave
 * one. From any thread. */
typedef void warn_fn(void *user, const char *text);
void warn_set(warn_fn *, void *user);
bool warn_on(void); /* someone listens */
void warn_line(const char *fmt, ...) RG_FMT(1, 2);

#endif
