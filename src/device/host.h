/* host.h: builtins of the CPU for discrete devices; see host.c. */
#ifndef RIDGE_DEVICE_HOST_H
#define RIDGE_DEVICE_HOST_H

#include "device/device.h"

/* They are kept in a list of the device's. */
struct host_fn;
int host_fn_find(struct host_fn **list, struct err *, const struct dev_call *, struct host_fn **out);
typedef int host_copy(struct device *, struct err *, enum dev_copy, void *dst, const void *src, size_t n);
int host_fn_run(struct device *, host_copy *, struct err *, const struct host_fn *,
                const struct dev_launch *);
void host_fn_free(struct host_fn *);

/* Such a function is told from the device's own by its lowest bit, which no address of an object has set. */
static inline dev_fn *host_fn_mark(struct host_fn *f) { return (dev_fn *)((uintptr_t)f | 1); }
static inline const struct host_fn *host_fn_of(dev_fn *fn) {
    return (uintptr_t)fn & 1 ? (const struct host_fn *)((uintptr_t)fn & ~(uintptr_t)1) : NULL;
}

#endif
