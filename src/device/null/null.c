/* null.c: devices that have memory and nothing else: NULL and REF.
 *
 * NULL is for looking at plans: a model that does not fit this machine can be scheduled and its kernels read, because
 * memory costs nothing until it is touched (os_pages gives pages on first use) and nothing touches it but copies.
 * REF has the same memory; the engine evaluates the tensor graph with the oracle instead of planning kernels.
 * Tests: tests/unit/realize.c (realize_null_*, realize_ref_*) */
#include "device/device.h"

static int null_open(struct err *e, const struct device_ops *ops, struct device **out) {
    *out = mem_alloc(sizeof **out);
    if (!*out) return err_set(e, RG_ENOMEM, "out of memory while opening a device");
    (*out)->ops = ops;
    return 0;
}

static void null_close(struct device *d) { mem_free(d); }

static void *null_alloc(struct device *d, size_t n) {
    (void)d;
    return os_pages(n);
}

static void null_free(struct device *d, void *p, size_t n) {
    (void)d;
    os_pages_free(p, n);
}

static int null_copy(struct device *d, struct err *e, enum dev_copy kind, void *dst, const void *src,
                     size_t n) {
    (void)d, (void)e, (void)kind;
    memmove(dst, src, n);
    return 0;
}

/* As the CPU would have: plans and opts depend on it. */
static int null_workers(struct device *d) {
    (void)d;
    return os_cpus();
}

#define MEMORY_ONLY                                                                                    \
    .open = null_open, .close = null_close, .alloc = null_alloc, .free = null_free, .copy = null_copy, \
    .workers = null_workers

const struct device_ops device_null = {.name = "NULL", .kind = DEV_PLANS, MEMORY_ONLY};
const struct device_ops device_ref = {.name = "REF", .kind = DEV_REF, MEMORY_ONLY};
