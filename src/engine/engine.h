/* engine.h: from tensor programs and linear programs to results. The only header of src/engine.
 *
 *   engine_open -> engine_realize (a tensor program: planned, lowered, compiled once; bound and run each time)
 * and below it
 *   engine_open -> engine_compile (many kernels in one call: they share compiler processes)
 *               -> engine_list_new, engine_list_add .., engine_list_run (as often as you like)
 *
 * A kernel is found by what decides its code: SHA-256 of cache format, text, compiler, flags and
 * architecture. First in this engine, then on disk (RIDGE_CACHE_DIR, private to the user, checked
 * before it is believed), then it is compiled, all new ones of a call at once.
 * An engine and its lists belong to one thread at a time; any number of engines and processes may use
 * one cache directory. Everything returns a status (0 is success) and puts words into the struct err.
 * Tests: tests/unit/engine.c, tests/unit/cache.c, tests/unit/realize.c */
#ifndef RIDGE_ENGINE_H
#define RIDGE_ENGINE_H

#include "tune/tune.h"
#include "device/device.h"
#include "schedule/schedule.h"

struct engine;

enum { FROM_DISK, FROM_COMPILER, FROM_DEVICE };

/* A compiled kernel. It stays while a command list calls it; one that no list calls may be unloaded when engine_realize
 * takes in a new plan. */
struct ekernel {
    const char *name;   /* as the program called it */
    const char *source; /* its C text */
    char key[65];       /* content address, hex */
    dev_fn *fn;
    uint32_t grid;       /* iterations */
    uint32_t nbuf, nvar; /* what fn reads of buf[] and var[] */
    int64_t scratch;     /* bytes for one worker */
    bool serial;         /* iterations may add to the same element: one thread only (on a CPU) */
    uint32_t block,
        per_block; /* threads of a block, and iterations that it runs; 0: a thread runs one (on a CPU always) */
    int64_t shared; /* bytes that they share, beyond what the text declares */
    uint32_t registers,
        spills;    /* of a thread; instructions that move what found no register (CUDA; else 0) */
    uint32_t nmap; /* buffers of which it copies boxes */
    struct dev_map map[DEV_MAPS];
    int from; /* where this engine first got its code: FROM_DISK .. */
    struct estimate est;
};

struct engine_stats {
    uint64_t compiled, disk_hits, memory_hits; /* kernels */
    uint64_t units;                            /* translation units compiled */
    uint64_t rejected; /* cache files that were not believed: corrupt, truncated, of another owner */
    uint64_t evicted;  /* cache files removed to stay within the size limit */
    uint64_t kernels, modules, kernel_bytes, unloaded; /* loaded now; bytes of them; kernels dropped so far */
    uint64_t searched, refused,
        tuned_hits; /* kernels searched for, lists with other results, known winners used */
    uint64_t render_ns, lookup_ns, compile_ns, load_ns, save_ns; /* spent in each stage */
};

/* ops: NULL for the CPU; see device_find. NULL on error. */
struct engine *engine_open(struct err *, const struct device_ops *ops);
void engine_close(struct engine *);
struct engine_stats engine_stats(const struct engine *);
/* Why something works worse than it could (a cache directory that cannot be trusted): lines, or "". */
const char *engine_warnings(const struct engine *);
const char *engine_cache_dir(const struct engine *);           /* NULL: there is none */
int engine_cache_try(struct engine *, struct err *, size_t n); /* could n bytes be kept now? */

/* ---- cache_report.c: the disk cache as a whole, for `ridge cache` --------------------------------------- */

enum { CACHE_KINDS = 7 };
struct cache_report {
    const char *dir; /* NULL: there is none, and `why` says so */
    const char *why; /* also what is wrong with one that is there; lines, or "" */
    bool writable;
    uint64_t limit, files, bytes;
    struct {
        const char *name;
        uint64_t files, bytes;
    } kind[CACHE_KINDS];
    uint64_t indexed;          /* bytes by the index; UINT64_MAX: it is missing or damaged */
    uint64_t others;           /* entries of the folder that are not ours: they are never touched */
    uint64_t damaged, removed; /* files */
};
enum cache_action {
    CACHE_SHOW,
    CACHE_VERIFY, /* reads every file; damaged ones are removed where that is possible */
    CACHE_TRIM,   /* removes what was not used for longest, until no more than `most` bytes are left */
    CACHE_CLEAR   /* removes all */
};
/* What is there afterwards. An error if a cache that cannot be written should be. */
int engine_cache(struct err *, struct arena *, enum cache_action, uint64_t most, struct cache_report *);

/* Renders, finds or compiles n programs. Equal programs give the same kernel. out[n]. On a device that runs nothing they
 * are rendered only, and out is NULLs. */
int engine_compile(struct engine *, struct err *, const struct linear *const *lin, uint32_t n,
                   const struct ekernel **out);
/* The same for text that was not rendered here (benchmarks, replay of an edited kernel). */
struct etext {
    const char *name,
        *text; /* has "void NAME(" and perhaps NAME_body; follows the preamble of its language */
    int64_t grid, scratch;
    uint32_t nbuf, nvar, block, per_block;
    int64_t shared;
    uint32_t nmap;
    struct dev_map map[DEV_MAPS];
    bool serial;
    struct estimate est;
};
int engine_compile_text(struct engine *, struct err *, const struct etext *, uint32_t n,
                        const struct ekernel **out);

/* A function that the device has, as a kernel whose VARs are call->num. NULL on a device that runs nothing. */
int engine_builtin(struct engine *, struct err *, const char *name, const struct dev_call *,
                   const struct estimate *, const struct ekernel **out);

/* Source that was rendered for this device, as assembly by the same compiler and flags; for people. In the arena. */
int engine_assembly(struct engine *, struct err *, struct arena *, const char *source, char **out);

/* Device memory: 64-byte aligned, at least one byte. NULL and an error when there is no more. It may have been used
 * before and hold anything (on the NULL device it is zeroed). Free it with the size that was asked for. */
void *engine_alloc(struct engine *, struct err *, size_t n);
void engine_free(struct engine *, void *p, size_t n);
/* The same, and who it is for: the event_name of an ALLOC's info. */
void *engine_alloc_for(struct engine *, struct err *, size_t n, uint32_t owner);
void engine_own(struct engine *, void *p, uint32_t owner); /* that became known later */
struct engine_memory {                                     /* bytes */
    uint64_t asked;                                        /* asked for and not freed */
    uint64_t held;                                         /* of their blocks, which are rounded up */
    uint64_t cached; /* of blocks that are kept for the next allocation */
    uint64_t peak;   /* most held at any time since the engine was opened or the peak was reset */
    uint64_t blocks;
};
struct engine_memory engine_memory(const struct engine *);
void engine_reset_peak(struct engine *);
void engine_trim(struct engine *); /* what the allocator keeps goes back to the device */
struct event_list;
/* The blocks that are in use, as ALLOC records from the time when they were taken; in the arena, which may throw. */
void engine_blocks(struct engine *, struct arena *, struct event_list *out);
/* Memory of the host from which engine_fetch copies: NULL and an error when there is no more. */
void *engine_host_alloc(struct engine *, struct err *, size_t n);
void engine_host_free(struct engine *, void *p, size_t n);
/* Copies from such memory that go on beside what is launched; see device.h. Of a device that has them: engine_fetches. */
bool engine_fetches(const struct engine *);
int engine_fetch(struct engine *, struct err *, const struct dev_piece *, uint32_t n, struct dev_fetch **);
int engine_order(struct engine *, struct err *, struct dev_fetch *);
int engine_fetched(struct engine *, struct err *, struct dev_fetch *);
/* OUT waits until everything that was started is done. */
int engine_sync(struct engine *, struct err *); /* waits for everything that was launched */
/* Time of everything launched between two calls, by the device's clock where it has one. ns NULL: start; else: end, waits. */
int engine_span(struct engine *, struct err *, uint64_t *ns);
bool engine_has_clock(const struct engine *);
int engine_copy(struct engine *, struct err *, enum dev_copy, void *dst, const void *src, size_t n);

/* ---- run.c: command lists --------------------------------------------------------------------------*/

struct engine_list;
struct engine_list *engine_list_new(struct engine *, struct err *);
void engine_list_free(struct engine_list *);
/* Adds a call. bufs[k->nbuf] and vars[k->nvar] are copied; vars may be changed later. */
int engine_list_add(struct engine_list *, struct err *, const struct ekernel *, void *const *bufs,
                    const int64_t *vars);
/* What command i does with its buffers, and their sizes in bytes; both are copied. A use of 0 is one that is not known. A
 * list whose commands all say so may be handed to the device as a whole, which then decides what runs side by side; text
 * that was not rendered here must then begin as rendered text does (pdl_wait() in render/cuda_pre.c). */
enum { USE_LOADED = 1, USE_STORED = 2 };
int engine_list_uses(struct engine_list *, struct err *, uint32_t i, const uint8_t *use, const size_t *size);
/* The parameters of command i, to change between runs; the addresses stay until the next add. */
int64_t *engine_list_vars(struct engine_list *, uint32_t i);
void **engine_list_bufs(struct engine_list *, uint32_t i);
uint32_t engine_list_count(const struct engine_list *);
/* Runs all commands in order; on return their results are in memory, or, on a device that works on its own, will be
 * before anything that is asked for later. */
int engine_list_run(struct engine_list *, struct err *);
/* Runs command i `times` times and says how long that took, in ns. Leaves no event: it is a measurement, no part of a
 * program. On one thread this is the time that the thread ran. */
uint64_t engine_list_time(struct engine_list *, uint32_t i, uint32_t times);
/* Another kernel for command i, which takes the same buffers and VARs. */
int engine_list_replace(struct engine_list *, struct err *, uint32_t i, const struct ekernel *);
/* How long command i took in the latest run, in ns. */
uint64_t engine_list_ns(const struct engine_list *, uint32_t i);

/* ---- collective.c: other ranks ------------------------------------------------------------------------ */

/* World `number` of this context's collectives; NULL: it was closed. The engine does not own it. */
struct world;
int engine_set_world(struct engine *, struct err *, uint32_t number, struct world *);
/* device_ops.stream, of an engine as user. */
int engine_stream(void *engine, struct err *, void **);
bool engine_has_stream(const struct engine *);

/* ---- realize.c: a tensor program: planned, lowered, compiled, run ------------------------------------ */

/* What is the same from call to call is done once: a program that was seen before (same nodes, same settings, same
 * machine model) is found by its whole text, not by a hash alone, gets the new addresses and numbers, and runs.
 * On the NULL device everything but compiling and running happens; on the REF device ref_graph computes the values. */
struct realize {
    struct ir *ir;
    const uop *graph; /* op GRAPH. Import it (ir_import), so that equal programs have equal BUFFER numbers */
    void *const *buf; /* by number of BUFFER: its memory */
    void *const
        *result; /* by source of GRAPH: memory for its value; not used where that is a BUFFER or ASSIGN */
    const int64_t *var; /* by slot of VAR: integers; floats as their bits */
    /* For DEBUG=2 and profiles, both may be NULL: appends where these nodes of ir came from; which parts of a program they belong to. */
    void (*site)(void *cx, struct str *, const uint32_t *node, uint32_t n);
    uint32_t (*part)(void *cx, const uint32_t *node, uint32_t n);
    uint64_t sites; /* changes when what `site` would say changes; 0 not known */
    void *cx;
};
enum { PART_FORWARD = 1, PART_BACKWARD = 2, PART_OPTIMISER = 4 };
struct realize_stats {          /* of one call; engine_totals sums them up */
    uint32_t kernels, distinct; /* calls; different kernels among them */
    uint64_t reads, writes;     /* buffers loaded and stored, summed over calls, counted on the kernel IR */
    double bytes, ops;          /* distinct bytes, operations asked for */
    double least;               /* bytes if each stored value was written once and read once */
    int64_t scratch;            /* bytes of temporaries between kernels */
    double predicted;           /* seconds */
    uint64_t identity;          /* of the kernels and what they are called with: equal for equal plans */
    uint64_t plan_ns, lower_ns, compile_ns, run_ns;
    uint64_t kernel_ns; /* of its kernels, by the device where it was asked */
    double roof;        /* the same at best, seconds */
    bool cached;        /* the schedule was known */
};
/* stats may be NULL. After an error results and buffers hold what they held, unless the device failed while running. */
int engine_realize(struct engine *, struct err *, const struct realize *, struct realize_stats *);
/* Plans and counts, runs nothing, compiles nothing. buf, result and var are not looked at. */
int engine_plan(struct engine *, struct err *, const struct realize *, struct realize_stats *);
struct realize_stats engine_totals(const struct engine *); /* identity: of the latest */
/* Bytes held for values between kernels: of the neediest plan so far. */
size_t engine_temporaries(const struct engine *);

/* A program that will be run again and again with other addresses and numbers: its plan is kept, and a run neither looks
 * for it nor allocates. Make it right before engine_realize of the same program; after that, hold, which cannot fail. */
struct replay;
struct replay *engine_replay_new(struct engine *, struct err *, const struct realize *); /* NULL on error */
void engine_replay_hold(struct replay *);
void engine_replay_free(struct replay *);
/* buf, result and var as in struct realize. */
int engine_replay_run(struct replay *, struct err *, void *const *buf, void *const *result,
                      const int64_t *var, struct realize_stats *);

/* What kernels cost since the engine was opened or costs were reset: a row for each code and source line. */
struct engine_cost {
    const char *name, *site, *bound; /* bound: what limits it at best */
    uint64_t calls, ns;
    double ops, bytes, roof; /* of all calls; roof: seconds at best */
};
const struct engine_cost *engine_costs(struct engine *, uint32_t *n); /* until the next call */
void engine_costs_reset(struct engine *);
const struct model *engine_model(struct engine *, struct err *); /* the machine it plans for; NULL on error */
bool engine_on_cpu(const struct engine *);                       /* plans, opts and C of a CPU */
int engine_sms(const struct engine *);                           /* of a GPU; 0: a CPU */
int engine_capability(
    struct engine *); /* compute capability of a CUDA device, times ten; 0: another device */

/* For measurements and tests: how this engine plans from now on, whatever RIDGE_PLAN, RIDGE_PLAN_RANK and RIDGE_MULTI
 * say. NULL: as they say. Programs planned one way and another are kept side by side. */
struct engine_planning {
    enum plan_mode mode;
    int rank; /* PLAN_COST: 0 the best plan, 1.. runners-up */
    bool no_multi;
};
void engine_set_planning(struct engine *, const struct engine_planning *);
/* Of temporaries of a plan: checkpoints are used as far as that takes; 0: no limit, all are used. */
void engine_set_temp_limit(struct engine *, int64_t bytes);

/* ---- search: src/tune/search ---------------------------------------------------------------------------- */

/* For tests: search from now on, whatever BEAM says. NULL: as it says. Programs that are planned already stay as they are. */
struct engine_tuning {
    int beam; /* as BEAM: 0 none, else how many lists of each kernel are compiled and timed, twice */
    const char *heuristic; /* the list that stands in for the heuristic's; NULL: its own */
    bool wide; /* to judge a GPU's cost model: GEMM candidates from all over its ranking are timed too */
    /* Called with every program of candidate 1.. before it is compiled; may be NULL. */
    void (*spoil)(void *cx, uint32_t candidate, struct linear *);
    void *cx;
};
void engine_set_tuning(struct engine *, const struct engine_tuning *);

/* ---- ceilings.c: what this machine can do ------------------------------------------------------------ */

struct ceiling { /* one row of the table that `ridge ceilings` prints */
    const char *name, *unit;
    bool cost;                 /* ns: less is better */
    double theory, theory_all; /* of one core and of all together; 0: nothing is known */
    double one, all;           /* measured */
    double spread;             /* how much worse the median was: what the neighbours took */
    const char *how;           /* where theory comes from */
};
struct ceilings {
    struct model model; /* guessed, with what was measured */
    struct ceiling row[32];
    uint32_t n;
    int threads;      /* or SMs */
    const char *core; /* "core" or "SM" */
    double seconds;   /* it took */
};
/* Measures for some seconds with all threads of the pool, or the whole GPU. Rows live in the arena. Writes no file: see model_save. */
int engine_ceilings(struct engine *, struct err *, struct arena *, struct ceilings *out);
/* Machine balance: FMAs per value of `bytes` bytes, loaded at this rate, above which arithmetic is the limit. */
double ceilings_uses(const struct model *, enum model_field ops, double bytes, enum model_field rate);

/* ---- debug.c: lines for people -------------------------------------------------------------------------- */

/* One operation at DEBUG=2 that is not a kernel, and its part of the summary: the copy that rg_from or rg_read made
 * (IN: `CPU <- EXT`, OUT: `EXT <- CPU`), and the wait before a read. ns: how long it took. engine_copy calls both;
 * call them where copies and waits bypass it. */
void engine_log_copy(struct engine *, enum dev_copy, size_t bytes, uint64_t ns);
void engine_log_wait(struct engine *, uint64_t ns);

/* How a grid is cut: iterations handed out at once; = grid: one thread. Pure arithmetic, for tests. */
uint32_t engine_chunk(uint32_t grid, const struct estimate *, bool serial, int threads);

#endif
