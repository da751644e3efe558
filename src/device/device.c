/* device.c: devices by name.
 * Tests: tests/unit/realize.c (device_*), tests/unit/cuda.c, tests/unit/opencl.c */
#include "device/device.h"

#include <stdatomic.h>
#include <strings.h>

static _Atomic(const struct device_ops *) added[DEVICES_ADDED];

void device_add(const struct device_ops *ops) {
    for (int i = 0; i < DEVICES_ADDED; i++) {
        const struct device_ops *none = NULL;
        if (atomic_compare_exchange_strong(&added[i], &none, ops)) return;
    }
}

/* FAMILY or FAMILY:n, n below the number of devices. */
static const struct device_ops *one_of(const char *name, const char *family, const struct device_ops *all,
                                       int n) {
    size_t len = strlen(family);
    if (strncasecmp(name, family, len)) return NULL;
    if (!name[len]) return &all[0];
    int unit = name[len] == ':' && name[len + 1] >= '0' && name[len + 1] <= '9' && !name[len + 2]
                   ? name[len + 1] - '0'
                   : n;
    return unit < n ? &all[unit] : NULL;
}

const struct device_ops *device_find(struct err *e, const char *name) {
    static const struct device_ops *const all[] = {&device_cpu, &device_null, &device_ref};
    const struct device_ops *found = NULL;
    const char *from = "";
    if (!name || !*name) name = env_str(ENV_DEVICE), from = "RIDGE_DEVICE: ";
    if (!name) return &device_cpu;
    for (size_t i = 0; i < DEVICES_ADDED; i++) {
        const struct device_ops *ops = atomic_load(&added[i]);
        if (ops && !strcasecmp(name, ops->name)) return ops;
    }
    for (size_t i = 0; i < RG_COUNT(all); i++)
        if (!strcasecmp(name, all[i]->name)) return all[i];
    if (!found) found = one_of(name, "CUDA", device_cuda, CUDA_DEVICES);
    if (!found) found = one_of(name, "OPENCL", device_opencl, OPENCL_DEVICES);
    if (!found) found = one_of(name, "CL", device_opencl, OPENCL_DEVICES);
    if (!found)
        err_set(e, RG_EINVAL,
                "%sno device is called \"%.60s\"; there are CPU, CUDA (CUDA:1 .. CUDA:7), OPENCL (OPENCL:1 "
                ".. OPENCL:7), NULL "
                "(plans, runs nothing) and REF (the slow oracle)",
                from, name);
    return found;
}
