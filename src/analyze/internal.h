/* internal.h: what the files of src/analyze share with one another; no one else includes it.
 *
 * A reader pulls bytes from a `struct input`, fills events with trace_add and ends with trace_finish,
 * which sorts, nests and links. Everything inside runs under one err_guard: running out of memory or
 * a malformed file throws. Tests: tests/unit/analyze.c */
#ifndef RIDGE_ANALYZE_INTERNAL_H
#define RIDGE_ANALYZE_INTERNAL_H

#include "analyze/analyze.h"

/* ---- trace.c: building --------------------------------------------------------------------------- */

#define TRACE_MAX_EVENTS (120u << 20) /* about 5 GB of records */

void trace_init(struct trace *, struct err *);
uint32_t trace_intern(struct trace *, const void *p, size_t n);
/* The lane of (kind, pid, tid); names are trace_str. Past 65,000 lanes all share the last one. */
uint16_t trace_lane(struct trace *, int kind, uint32_t pid, uint32_t tid);
/* A zeroed event, or NULL when the limit is reached (counted as dropped). Valid until the next. */
struct trace_event *trace_add(struct trace *);
/* Sorts each lane, nests host events, links device work to launches and operators. */
void trace_finish(struct trace *);
/* Sorts indices of events by start, the longer first; tmp has room for n. */
void trace_sort(const struct trace_event *, uint32_t *a, uint32_t n, uint32_t *tmp);
/* What a name means for a host call, for an operator, for device work. */
int trace_api_kind(const char *name);
int trace_host_kind(int kind, const char *name);
int trace_device_kind(const char *name);
int trace_copy_flags(const char *name);
bool trace_is_ridge_collective(const char *name); /* "all_reduce_88000" */

/* ---- readers/ ------------------------------------------------------------------------------------- */

/* Bytes of a file or of memory, inflated if compressed. buf[0..len) is valid; after it stand one NUL
 * and then quotes, so that scanners need no bounds check per byte (see json.c). */
#define INPUT_PAD 64
struct input {
    struct trace *t;
    int fd;
    const uint8_t *mem; /* or from memory */
    size_t mem_n, mem_at;
    uint8_t *buf;
    size_t len, cap;
    bool eof, gz, bad_gz, first;
    uint8_t *zin; /* compressed bytes waiting */
    size_t zin_n, zin_at;
    void *z;
    uint64_t offset; /* of buf[0] in the inflated stream */
};
void input_open(struct input *, struct trace *, const char *path, const void *mem, size_t n);
void input_close(struct input *);
/* Drops the first `used` bytes and reads more. False at the end of the data (or when one piece would
 * need more than INPUT_MAX bytes at once). */
#define INPUT_MAX ((size_t)64 << 20)
bool input_more(struct input *, size_t used);

void read_json(struct trace *, struct input *);
void read_xplane(struct trace *, struct input *);
void read_pickle(struct trace *, struct input *);
void read_ridge(struct trace *, struct input *);
void read_nsys(struct trace *, const char *path);
bool is_sqlite(const uint8_t *p, size_t n);
void read_pprof(struct trace *, struct input *);
bool is_pprof(const uint8_t *p, size_t n);
void read_ncu(struct trace *, struct input *);
bool is_ncu(const uint8_t *p, size_t n);
void read_rocprof(struct trace *, struct input *);
void read_perfetto(struct trace *, struct input *);
bool is_perfetto(const uint8_t *p, size_t n);
void read_memory_timeline(struct trace *, struct input *);
bool is_memory_timeline(const uint8_t *p, size_t n);
bool is_rocprof(const uint8_t *p, size_t n);
bool is_xplane(const uint8_t *p, size_t n);
bool is_ridge(const uint8_t *p, size_t n);
/* "regs:168 static_shared:0 grid:2,66,1 ..." of JAX. */
void parse_kernel_details(const char *s, size_t n, struct trace_kernel_args *);
int64_t parse_copy_details(const char *s, size_t n, uint8_t *flags);

/* ---- diagnosis ------------------------------------------------------------------------------------- */

void diag_account(struct diag *);        /* account.c: window, union, budget */
void ridge_account(struct diag *);       /* ridge.c: the same for a Ridge program */
void ridge_phases(struct diag *);        /* phases.c: start-up and steps; after the account */
void ridge_phase_kernels(struct diag *); /* .. and their kernels; after the table of kernels */
int64_t ridge_steady_of(const struct diag *, int64_t a, int64_t b); /* how much of that time is judged */
void ridge_checklist(struct diag *);                                /* checklist.c; after the verdict */
void ridge_causes(struct diag *);                                   /* advice.c */
/* roof.c: roof, bound and reason of a kernel of a Ridge program; were others on the machine; how long a call takes. */
void ridge_judge(struct diag *, struct kernel_row *, const struct trace_kernel_args *);
bool ridge_contended(const struct diag *);
double ridge_kernel_ns(const struct diag *, const struct kernel_row *);
void diag_classes(struct diag *); /* classes.c: kernel table, roofline */
void diag_memory(struct diag *);  /* memory.c */
void ridge_memory(struct diag *); /* heap.c: the same for a Ridge program */
/* readers/ridge.c: function, module and line of the first part of a site that has one. */
void ridge_site(struct trace *, const char *s, size_t n, struct trace_kernel_args *);
void diag_layers(struct diag *);  /* repeat.c */
void diag_causes(struct diag *);  /* causes.c */
void diag_capture(struct diag *); /* capture.c: fitness of the recording */

/* foreign/: what only traces of other frameworks need. */
struct diag_facts {
    uint32_t waits;          /* calls that wait for the device, each once, however nested */
    uint32_t items, item_ev; /* .. that bring a value to the host; 1 + the first */
    uint64_t triton_kernels;
    double triton; /* their share of kernel time */
    bool compiled; /* most kernels come from Triton: written in it, or made by torch.compile */
};
struct diag_facts diag_facts(struct diag *);
bool waits_in_wait(const struct trace *, const struct trace_event *);
bool made_by_triton(const struct trace *, const struct trace_event *);
/* causes.c: a cause, valid until the next; is it worth telling; the source line with most of a budget key's idle time. */
struct cause *cause_add(struct diag *, int id, int64_t lost, int64_t gain, const char *where,
                        const char *signal, const char *fix);
bool cause_worth(const struct diag *, int64_t lost);
const char *cause_line(struct diag *, int budget);
void clock_align(struct diag *);    /* clock.c: the GPU's times on the host's clock */
void list_processes(struct diag *); /* devices.c */
void idle_gpus_cause(struct diag *);
void shared_gpu_cause(struct diag *);
typedef VEC(struct trace_span) span_list;
/* interrupted.c: when other processes have the GPU while kernels of a Ridge program are under way; at: events by time. */
span_list ridge_interrupted(struct diag *, const uint32_t *at, uint32_t n);
void warmup_settle(struct diag *); /* warmup.c: the first step, where it is no ordinary one */
const char *warmup_signal(struct diag *, const char *otherwise),
    *warmup_fix(const struct diag *, const char *otherwise);
void cpu_rows(struct diag *);     /* cpu.c: operators as the kernels of a program without a device */
void cpu_causes(struct diag *);   /* .. and what its time went to */
void cpu_layout(struct diag *);   /* cpu_layout.c: .. operators against the order of memory */
void growing_cats(struct diag *); /* cats.c: torch.cat in a loop */
void cpu_threads(struct diag *);  /* cpu_threads.c: .. and whether its threads work */
enum {
    CPU_FIXED_OP_NS = 100000
}; /* mean own time of an operator whose preparation is not small beside its work */
void transfer_causes(struct diag *);  /* transfers.c: copies between host and device, and on the device */
void allocator_cause(struct diag *);  /* .. and the driver's allocations */
void foreign_checks(struct diag *);   /* checks.c: the checklist */
void precision_causes(struct diag *); /* foreign/kernels.c */
int64_t attention_unfused(const struct diag *, bool *taken, uint32_t *count);
void diag_evidence(struct diag *); /* evidence.c: bound, condition and confirmation of each advice */

int kernel_class_of(const char *name, const char *op);
/* The user's line around a host event (1 + index): the innermost Python frame outside of library
 * code; when its own thread has none, that of the busiest thread at the same time. 0 none. */
uint32_t user_line(struct diag *, uint32_t ev);
/* Device events of one device in order of start; made by diag_account. */
struct device_list {
    uint32_t *p, n;
};
struct device_list device_events(struct diag *, int32_t device);

#endif
