/* device.h: what the engine needs from a device. The only header of src/device that every device implements; what is
 * NVIDIA's alone is in cuda/cuda.h.
 * A device sees bytes, text and numbers, never UOps: it allocates and copies memory, compiles source text to object bytes
 * (which the engine may keep on disk), loads objects, finds functions in them and launches them. NULL and REF have
 * memory only (null/null.c). One table of functions per kind of device, which extends `struct device`. Calls on one
 * device come from one thread at a time. Tests: tests/unit/engine.c, tests/unit/cache.c */
#ifndef RIDGE_DEVICE_H
#define RIDGE_DEVICE_H

#include "base/base.h"

struct linear; /* a linear program (ir/ir.h): only a device that interprets it looks into it */
struct device_ops;
struct device { /* the first member of a backend's own: struct cuda_device .. */
    const struct device_ops *ops;
};
struct module { /* code that is loaded; the first member of struct cuda_module .. */
    struct device *dev;
};

/* A CPU kernel: runs iterations [t0, t1) of its grid; see render/render.h. On other devices: a handle,
 * never called. */
typedef void dev_fn(void *const *buf, const int64_t *var, uint32_t t0, uint32_t t1, void *scratch);

enum dev_copy { COPY_IN, COPY_OUT, COPY_WITHIN }; /* from the host, to the host, on the device */

/* What decides the meaning of source text besides the text itself. */
struct dev_target {
    const char *request; /* how the compiler was asked for: "auto", or what RIDGE_CC says */
    const char *tool;    /* path of the compiler; NULL if there is none */
    const char *stamp;   /* changes when the compiler's file changes; NULL with tool */
    const char *flags, *arch;
};
struct dev_object {
    void *data;
    size_t n;
    const char *log; /* what the compiler said about it; may be NULL */
};
/* A TMA descriptor: a kernel parameter, after the others, that the device encodes from the buffer's
 * address. */
enum { DEV_MAPS = 8, DEV_AXES = 5 };
struct dev_map {
    uint32_t slot, rank;
    int64_t bytes;  /* slot of the buffer; axes, fastest first; bytes of an element */
    int64_t digits; /* 0: copied as they are; else fp32 rounded to that many bits (TF32) */
    int64_t size[DEV_AXES], step[DEV_AXES], box[DEV_AXES]; /* elements */
};
struct dev_launch {
    dev_fn *fn;
    void *const *buf;
    const int64_t *var;
    uint32_t grid, chunk; /* chunk >= grid: run by the caller alone */
    char *scratch;        /* of worker 0; those of others follow */
    size_t scratch_stride;
    /* of a device with thread blocks: */
    uint32_t block;     /* threads of a block, which runs .. */
    uint32_t per_block; /* .. this many iterations (0: one); block is 0: one iteration per thread */
    uint32_t areas;     /* threads that have scratch memory; 0: none needed */
    uint32_t shared;    /* dynamic shared memory of a block, bytes */
    uint32_t nbuf, nvar, nmap;
    const struct dev_map *map;
    bool waits;     /* it calls griddepcontrol.wait itself (pdl_wait() in render/cuda_pre.c) */
    uint64_t *ns;   /* not NULL: wait for completion, and return the time .. */
    uint32_t times; /* .. of this many runs in sequence (0: one); with ns, on CUDA */
    /* timeout in ns after which it counts as hung and the device as lost; 0: none; with ns */
    uint64_t limit;
    uint32_t name, info; /* of its event: KERNEL, or PART on a CPU */
    int64_t ops, bytes;  /* the same: what it is given as done */
};

/* A launch of a list that is replayed, and the earlier ones that it depends on. */
struct dev_step {
    const struct dev_launch *launch;
    const uint32_t *after; /* indices of earlier steps */
    uint32_t nafter;
};
struct dev_record; /* such a list, recorded (a CUDA graph) */

struct dev_piece { /* of a copy from the host */
    void *dst;
    const void *src;
    size_t n;
};
struct dev_fetch; /* an asynchronous copy */

/* What a device says about itself, for its machine model; sizes in bytes, rates in GB/s. */
struct dev_info {
    char name[64];
    int units;        /* SMs */
    int major, minor; /* compute capability */
    double ghz, memory_rate;
    size_t memory, memory_free, l2, shared, shared_most; /* shared: of a block, at most (opt-in) */
    /* Limits of a kernel; 0: none that matters. */
    uint32_t threads; /* of a block */
    uint32_t params;  /* bytes of a kernel's parameters */
    int regs_sm, shared_sm, threads_sm,
        blocks_sm; /* of an SM: registers, bytes, most threads and blocks; 0: unknown */
    bool no_f64, no_atomic64;
    bool
        cpu; /* its cores are those of a CPU: kernels are scheduled as for the CPU device, a grid iteration per work-item */
    bool no_maps; /* TMA descriptors of a kernel */
};

/* A builtin of the device (sort and the like), along rows. It is launched as a kernel; buf[] is the result
 * and then the sources, var[] is num. */
struct dev_call {
    const char *name;        /* "sort"; ir.h has the list */
    const char *const *type; /* [nbuf]: "f32" .. */
    uint32_t nbuf;
    int64_t rows;       /* its grid */
    const int64_t *num; /* row sizes of the last source and of the result; a flag or size */
};
/* The flag of scatter_max and its like, struct scatter_how of ir.h: elements that an index names; do those that are hit forget x;
 * iterations of the grid that share a row. */
static inline int64_t dev_scatter_width(int64_t flag) { return (flag >> 5) + 1; }
static inline bool dev_scatter_forgets(int64_t flag) { return flag & 1; }
static inline int64_t dev_scatter_blocks(int64_t flag) { return (flag >> 1 & 15) + 1; }
struct dev_builtin {
    dev_fn *fn;
    int64_t scratch; /* bytes for one worker */
    uint32_t form;   /* rows of another form have another function; 0: all have one */
};
enum { DEV_KERNELS = 11 };
struct dev_kernel_text { /* a kernel of a builtin */
    const char *name, *text;
};

/* What the engine does with kernels: runs them; plans, lowers and renders only; or evaluates the tensor graph. */
enum dev_kind { DEV_RUNS, DEV_PLANS, DEV_REF };
/* The language that it compiles. */
enum dev_text { DEV_C, DEV_CUDA, DEV_OPENCL };

struct device_ops {
    const char *name;
    enum dev_kind kind; /* other than DEV_RUNS: all from `workers` on may be NULL, but for `workers` */
    enum dev_text text;
    int unit;       /* index among equal devices */
    bool discrete;  /* memory of its own: only `copy` may touch it */
    size_t scratch; /* total bytes of scratch memory, at most; 0: an area for each worker */
    int programs;   /* translation units compiled in parallel, at most; 0: one per core */
    int (*open)(struct err *, const struct device_ops *, struct device **);
    void (*close)(struct device *);
    /* Zeroed, 64-byte aligned; NULL: out of memory. */
    void *(*alloc)(struct device *, size_t);
    void (*free)(struct device *, void *, size_t);
    int (*copy)(struct device *, struct err *, enum dev_copy, void *dst, const void *src, size_t n);
    int (*workers)(struct device *); /* cores; on a host, scratch areas that a launch may use at once */
    int (*info)(struct device *, struct err *, struct dev_info *); /* NULL: this machine */
    /* Strings live in the arena. A missing compiler is an error only when it is needed. */
    int (*target)(struct device *, struct err *, struct arena *, struct dev_target *);
    /* One line that names the compiler's version; runs the compiler. */
    int (*version)(struct device *, struct err *, struct arena *, const char **);
    /* n translation units, compiled in parallel; objects live in the arena. On failure good units may be
     * there, the others stay zero. */
    int (*compile)(struct device *, struct err *, struct arena *, const char *const *text, int n,
                   struct dev_object *out);
    /* One unit as assembly, by the same compiler and flags. */
    int (*assembly)(struct device *, struct err *, struct arena *, const char *text, char **out);
    int (*load)(struct device *, struct err *, const void *object, size_t n, struct module **);
    void (*unload)(struct module *);
    dev_fn *(*symbol)(struct module *, const char *name); /* NULL if absent */
    /* NULL, or: sources of a builtin's kernels, which are compiled as others are and passed to `builtin`
     * in the same order; how many. */
    uint32_t (*kernels)(struct arena *, const struct dev_call *,
                        struct dev_kernel_text out[static DEV_KERNELS]);
    int (*builtin)(struct device *, struct err *, const struct dev_call *, dev_fn *const kernel[],
                   struct dev_builtin *);
    /* Synchronous, or, on a device that has `wait`, asynchronous in order with earlier launches and
     * copies. */
    int (*launch)(struct device *, struct err *, const struct dev_launch *);
    int (*wait)(struct device *, struct err *); /* synchronizes; NULL: launches are synchronous */
    /* NULL, or: makes the device current on this thread; the stream (CUstream) that launches go to, for libraries that enqueue
     * work of their own on it. */
    int (*stream)(struct device *, struct err *, void **);
    /* NULL, or: does a single launch overlap the end of the one before it (programmatic dependent launch)? */
    bool (*overlaps)(struct device *, const struct dev_launch *);
    /* NULL, or: time of everything launched between two calls, by the device's clock. ns NULL: start;
     * else: end, waits no longer than limit (as a launch's). */
    int (*span)(struct device *, struct err *, uint64_t *ns, uint64_t limit);
    /* NULL, or: does the device itself record the times of kernels and copies (CUPTI)? Asked before
     * launches while a profile is recorded; from the first true on it adds LAUNCH, KERNEL and COPY events,
     * with rows, until recording ends. false: it cannot, said once in a NOTE; then launches are timed by
     * `ns`. */
    bool (*trace)(struct device *);
    /* NULL, or: asynchronous copies from pinned memory (host_alloc; NULL: out of memory), overlapping
     * kernels. fetch starts after everything launched before it, and returns; later launches do not wait
     * for it before `order`. The memory may change and the result be read after `fetched`, which waits,
     * and ends it. */
    void *(*host_alloc)(struct device *, size_t);
    void (*host_free)(struct device *, void *, size_t);
    int (*fetch)(struct device *, struct err *, const struct dev_piece *, uint32_t n, struct dev_fetch **);
    int (*order)(struct dev_fetch *, struct err *);
    int (*fetched)(struct dev_fetch *, struct err *);
    /* NULL, or: records a list of launches to be replayed as one (a CUDA graph). Takes as many of the
     * first steps as one record can hold; 0, and no record: launch the first. Buffers, numbers and scratch
     * are read at replay, grids and functions when recorded; the launches must stay where they are. */
    int (*record)(struct device *, struct err *, const struct dev_step *, uint32_t n, uint32_t *taken,
                  struct dev_record **);
    int (*replay)(struct dev_record *, struct err *); /* asynchronous, as a launch */
    void (*record_free)(struct dev_record *);
    /* NULL, or, of a device that interprets linear programs (tests/simgpu.c): takes a copy of the program that `text` was
     * rendered from and returns the text to be compiled instead, in the arena, which may throw. Called by any thread.
     * Nothing of such a device is kept on disk. */
    const char *(*interpret)(struct device *, struct arena *, const struct linear *, const char *text);
    /* NULL, or: this memory, about to be used anew, holds nothing from here on. */
    void (*forget)(struct device *, void *, size_t);
};

#define CUDA_DEVICES 8
#define OPENCL_DEVICES 8
extern const struct device_ops device_cpu, device_null, device_ref, device_cuda[CUDA_DEVICES],
    device_opencl[OPENCL_DEVICES];

/* By name: "CPU", "CUDA", "CUDA:1", "OPENCL", "OPENCL:1" (or "CL"), "NULL" or "REF", in any case; NULL or "": what
 * RIDGE_DEVICE says, else the CPU. NULL on error. */
const struct device_ops *device_find(struct err *, const char *name);
/* For tests: a device that is found by its name from now on, before all others. At most one for each name; never freed. */
enum { DEVICES_ADDED = 8 };
void device_add(const struct device_ops *);

#endif
