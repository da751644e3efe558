/* device.c: devices by name.
 * Tests: tests/unit/realize.c (device_*) */
#include "device/device.h"

#include <strings.h>

const struct device_ops *device_find(struct err *e, const char *name) {
    static const struct device_ops *const all[] = {&device_cpu, &device_null, &device_ref};
    const char *from = "";
    if (!name || !*name) name = env_str(ENV_DEVICE), from = "RIDGE_DEVICE: ";
    if (!name) return &device_cpu;
    for (size_t i = 0; i < RG_COUNT(all); i++)
        if (!strcasecmp(name, all[i]->name)) return all[i];
    for (int i = 0; i < CUDA_DEVICES; i++)
        if (!strcasecmp(name, device_cuda[i].name)) return &device_cuda[i];
    if (!strcasecmp(name, "CUDA:0")) return &device_cuda[0];
    err_set(e, RG_EINVAL,
            "%sno device is called \"%.60s\"; there are CPU, CUDA (CUDA:1 .. CUDA:7), NULL (plans, runs "
            "nothing) and REF (the slow "
            "oracle)",
            from, name);
    return NULL;
}
