/* device.h: what the engine needs from a device. The only header of src/device.
 *
 * A device sees bytes, text and numbers, never UOps: it allocates and copies memory, turns source text
 * into object bytes (which the engine may keep on disk), loads object bytes, finds functions in them
 * and launches them. NULL and REF have memory only (null/null.c). One table of functions per kind of device; `struct device` is private to it.
 * Calls on one device come from one thread at a time.
 * Tests: tests/unit/engine.c, tests/unit/cache.c */
#ifndef RIDGE_DEVICE_H
#define RIDGE_DEVICE_H

#include "base/base.h"

struct device;
struct module; /* code that is loaded */

/* A kernel of a CPU: runs iterations [t0, t1) of its grid; see render/render.h. Of another device: what it finds the
 * function by, never called. */
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
/* A buffer as a kernel copies boxes of it: a parameter that the device makes of its address, behind the others. */
enum { DEV_MAPS = 8, DEV_AXES = 5 };
struct dev_map {
    uint32_t slot, rank;
    int64_t bytes;  /* of the buffer; axes, the fastest first; of an element */
    int64_t digits; /* 0: bits are copied; else floats are rounded to so many */
    int64_t size[DEV_AXES], step[DEV_AXES], box[DEV_AXES]; /* elements */
};
struct dev_launch {
    dev_fn *fn;
    void *const *buf;
    const int64_t *var;
    uint32_t grid, chunk; /* chunk >= grid: run by the caller alone */
    char *scratch;        /* of worker 0; the others' follow */
    size_t scratch_stride;
    /* of a device that is started by blocks of threads: */
    uint32_t block;  /* threads of a block, which runs .. */
    uint32_t teams;  /* .. so many iterations (0: one); block is 0: a thread runs one */
    uint32_t areas;  /* threads that have scratch memory; 0: it needs none */
    uint32_t shared; /* bytes that the threads of a block share */
    uint32_t nbuf, nvar, nmap;
    const struct dev_map *map;
    bool waits;     /* its code itself waits for what was started before it (after() in render/cuda_pre.c) */
    uint64_t *ns;   /* not NULL: wait until it is done, and say how long it took .. */
    uint32_t times; /* .. in so many runs one after the other (0: one); with ns, on CUDA */
    uint64_t
        limit; /* ns after which it is taken to hang, and the device is lost; 0: there is none; the same */
    uint32_t name, info; /* of its event: KERNEL, or PART on a CPU */
    int64_t ops, bytes;  /* the same: what it is given as done */
};

/* A launch of a list that is run again and again, and the earlier ones that must be done before it begins. */
struct dev_step {
    const struct dev_launch *launch;
    const uint32_t *after; /* numbers of earlier steps */
    uint32_t nafter;
};
struct dev_record; /* such a list, in the device's own form */

struct dev_piece { /* of a copy from the host */
    void *dst;
    const void *src;
    size_t n;
};
struct dev_fetch; /* a copy that is under way */

/* What a device says about itself, for its machine model; sizes in bytes, rates in GB/s. */
struct dev_info {
    char name[64];
    int units;        /* SMs */
    int major, minor; /* compute capability */
    double ghz, memory_rate;
    size_t memory, memory_free, l2, shared, shared_most; /* shared: of a block, at most if asked for */
    /* Limits that a kernel is written for; 0: none that matters. */
    uint32_t threads; /* of a block */
    uint32_t params;  /* bytes of a kernel's parameters */
    bool no_f64, no_atomic64;
    bool no_maps; /* of buffers, by which kernels copy boxes */
};

/* A function that the device brings with it: sorting and the like, along rows. It has the form of a kernel; buf[] is the
 * result and then the sources, var[] is num. */
struct dev_call {
    const char *name;        /* "sort"; ir.h has the list */
    const char *const *type; /* [nbuf]: "f32" .. */
    uint32_t nbuf;
    int64_t rows;       /* its grid */
    const int64_t *num; /* elements of a row of the last source, of the result; a flag or size */
};
struct dev_builtin {
    dev_fn *fn;
    int64_t scratch; /* bytes for one worker */
};
enum { DEV_KERNELS = 8 };
struct dev_kernel_text { /* of a kernel that such a function consists of */
    const char *name, *text;
};

/* What the engine does with kernels: runs them; plans, lowers and renders only; or evaluates the tensor graph. */
enum dev_kind { DEV_RUNS, DEV_PLANS, DEV_REF };
/* The language that it compiles. */
enum dev_text { DEV_C, DEV_CUDA, DEV_OPENCL };

struct device_ops {
    const char *name;
    enum dev_kind kind; /* other than DEV_RUNS: everything from `workers` on but `workers` may be NULL */
    enum dev_text text;
    int unit;       /* which of several alike */
    bool far;       /* its memory is not the host's: only `copy` may touch it */
    size_t scratch; /* bytes of scratch memory in all, at most; 0: an area for each worker */
    int programs;   /* translation units that are compiled at once, at most; 0: one for each core */
    int (*open)(struct err *, const struct device_ops *, struct device **);
    void (*close)(struct device *);
    /* Zeroed, 64-byte aligned; NULL when there is no more. */
    void *(*alloc)(struct device *, size_t);
    void (*free)(struct device *, void *, size_t);
    int (*copy)(struct device *, struct err *, enum dev_copy, void *dst, const void *src, size_t n);
    int (*workers)(struct device *); /* cores; on a host, how many scratch areas a launch may use at once */
    int (*info)(struct device *, struct err *, struct dev_info *); /* NULL: it is this machine */
    /* Strings live in the arena. A missing compiler is no error here: it is one when it is needed. */
    int (*target)(struct device *, struct err *, struct arena *, struct dev_target *);
    /* One line that names the compiler's version; runs the compiler. */
    int (*version)(struct device *, struct err *, struct arena *, const char **);
    /* n translation units, compiled at once; objects live in the arena. If it fails, those of units that are good may be there,
     * the others are zeros as they were. */
    int (*compile)(struct device *, struct err *, struct arena *, const char *const *text, int n,
                   struct dev_object *out);
    /* One unit as assembly, by the same compiler and flags; for people. */
    int (*assembly)(struct device *, struct err *, struct arena *, const char *text, char **out);
    int (*load)(struct device *, struct err *, const void *object, size_t n, struct module **);
    void (*unload)(struct module *);
    dev_fn *(*symbol)(struct module *, const char *name); /* NULL if absent */
    /* NULL, or: texts of the kernels that the function consists of, which are compiled as others are and handed to
     * `builtin` in the same order; how many. */
    uint32_t (*kernels)(struct arena *, const struct dev_call *,
                        struct dev_kernel_text out[static DEV_KERNELS]);
    int (*builtin)(struct device *, struct err *, const struct dev_call *, dev_fn *const kernel[],
                   struct dev_builtin *);
    /* Returns when it is done, or, on a device that has `wait`, when it is under way; what was begun before is done
     * before it, copies too. */
    int (*launch)(struct device *, struct err *, const struct dev_launch *);
    int (*wait)(struct device *, struct err *); /* until all that was begun is done; NULL: it always is */
    /* NULL, or: is it brought to the device's units while what was begun before it ends, if it is launched by itself? */
    bool (*early)(struct device *, const struct dev_launch *);
    /* NULL, or: how long all takes that is begun between two calls, by the device's clock. ns is NULL: from here; else: to here, which
     * is waited for, but no longer than limit (as a launch's). */
    int (*span)(struct device *, struct err *, uint64_t *ns, uint64_t limit);
    /* NULL, or: does the device note by itself when kernels and copies begin and end? Asked before launches while a profile
     * is recorded; from the first true on it adds LAUNCH, KERNEL and COPY events, with rows, until recording goes off. false: it
     * cannot, which it says once in a NOTE, and `ns` of a launch must be asked for. */
    bool (*trace)(struct device *);
    /* NULL, or: copies from the host beside what runs. Memory of the host that the device reads by itself; NULL when there
     * is no more. fetch begins to copy from it, after all that was begun before, and returns; what is launched later does
     * not wait for it before `order`. The memory may change and the result be read by the host after `fetched`, which
     * waits, and ends it. */
    void *(*host_alloc)(struct device *, size_t);
    void (*host_free)(struct device *, void *, size_t);
    int (*fetch)(struct device *, struct err *, const struct dev_piece *, uint32_t n, struct dev_fetch **);
    int (*order)(struct dev_fetch *, struct err *);
    int (*fetched)(struct dev_fetch *, struct err *);
    /* NULL, or: a list of launches that the device starts as one. It takes as many of the first steps as it can hold in
     * one record; 0, and no record: the first must be launched. Buffers, numbers and scratch of the launches are looked at
     * when they are replayed, grids and functions when they are recorded; the launches must stay where they are. */
    int (*record)(struct device *, struct err *, const struct dev_step *, uint32_t n, uint32_t *taken,
                  struct dev_record **);
    int (*replay)(struct dev_record *, struct err *); /* as a launch: when it returns it is under way */
    void (*forget)(struct dev_record *);
};

#define CUDA_DEVICES 8
#define OPENCL_DEVICES 8
extern const struct device_ops device_cpu, device_null, device_ref, device_cuda[CUDA_DEVICES],
    device_opencl[OPENCL_DEVICES];

/* By name: "CPU", "CUDA", "CUDA:1", "OPENCL", "OPENCL:1" (or "CL"), "NULL" or "REF", in any case; NULL or "": what
 * RIDGE_DEVICE says, else the CPU. NULL on error. */
const struct device_ops *device_find(struct err *, const char *name);

/* ---- cuda/nvrtc.c: NVIDIA's run-time compiler; needs no GPU ------------------------------------------- */

/* Its version in words, NULL and an error if it is not there. */
const char *nvrtc_version(struct err *, struct arena *);
/* n units for an architecture such as "sm_90", at once. */
int nvrtc_compile(struct err *, struct arena *, const char *arch, const char *const *text, int n,
                  struct dev_object *out);

/* ---- cuda/cupti.c: NVIDIA's library for profilers, by which a profile has the times of kernels --------------- */

/* Its version in words, NULL and an error if it is not there or of no use. */
const char *cupti_version(struct err *, struct arena *);

/* ---- cuda/cubin.c: what is in the machine code that it makes ------------------------------------------- */

struct cubin_kernel {
    const char *name;
    uint32_t registers, stack; /* of a thread; bytes that did not fit into registers, or are arrays */
    uint32_t shared;       /* bytes of a block that the text declares, and what the GPU keeps for itself */
    uint32_t instructions; /* in the text, not as they are run: */
    uint32_t loads, wide_loads;   /* from memory; of these, 16 bytes at once */
    uint32_t stores, wide_stores; /* to memory; the same */
    uint32_t spills;              /* from and to the stack */
    uint32_t copies, matrix;      /* from memory to shared memory; MMA instructions */
};
typedef VEC(struct cubin_kernel) cubin_vec;
/* In the order of the file. RG_EPARSE for bytes that are none or are damaged. Names live in the arena. */
int cubin_read(struct err *, struct arena *, const void *, size_t, cubin_vec *out);
void cubin_print(struct str *, const struct cubin_kernel *); /* one line, without its end */

#endif
