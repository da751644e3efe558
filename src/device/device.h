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

/* A kernel of a CPU: runs iterations [t0, t1) of its grid; see render/render.h. */
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
};
struct dev_launch {
    dev_fn *fn;
    void *const *buf;
    const int64_t *var;
    uint32_t grid, chunk; /* chunk >= grid: run by the caller alone */
    char *scratch;        /* of worker 0; the others' follow */
    size_t scratch_stride;
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

/* What the engine does with kernels: runs them; plans, lowers and renders only; or evaluates the tensor graph. */
enum dev_kind { DEV_RUNS, DEV_PLANS, DEV_REF };

struct device_ops {
    const char *name;
    enum dev_kind kind; /* other than DEV_RUNS: everything from `workers` on but `workers` may be NULL */
    int (*open)(struct err *, struct device **);
    void (*close)(struct device *);
    /* Zeroed, 64-byte aligned; NULL when there is no more. */
    void *(*alloc)(struct device *, size_t);
    void (*free)(struct device *, void *, size_t);
    int (*copy)(struct device *, struct err *, enum dev_copy, void *dst, const void *src, size_t n);
    int (*workers)(struct device *); /* how many scratch areas a launch may use at once */
    /* Strings live in the arena. A missing compiler is no error here: it is one when it is needed. */
    int (*target)(struct device *, struct err *, struct arena *, struct dev_target *);
    /* One line that names the compiler's version; runs the compiler. */
    int (*version)(struct device *, struct err *, struct arena *, const char **);
    /* n translation units, compiled at once; objects live in the arena. */
    int (*compile)(struct device *, struct err *, struct arena *, const char *const *text, int n,
                   struct dev_object *out);
    /* One unit as assembly, by the same compiler and flags; for people. */
    int (*assembly)(struct device *, struct err *, struct arena *, const char *text, char **out);
    int (*load)(struct device *, struct err *, const void *object, size_t n, struct module **);
    void (*unload)(struct module *);
    dev_fn *(*symbol)(struct module *, const char *name);       /* NULL if absent */
    int (*builtin)(struct device *, struct err *, const struct dev_call *, struct dev_builtin *);
    void (*launch)(struct device *, const struct dev_launch *); /* returns when it is done */
};

extern const struct device_ops device_cpu, device_null, device_ref;

/* By name: "CPU", "NULL" or "REF", in any case; NULL or "": what RIDGE_DEVICE says, else the CPU. NULL on error. */
const struct device_ops *device_find(struct err *, const char *name);

#endif
