/* nvml.c: stands in for NVIDIA's libnvidia-ml.so.1 in tests of `ridge top`: two GPUs, the second with a process. */
#include <stdio.h>
#include <string.h>

#define API __attribute__((visibility("default")))

static int numbers[2] = {0, 1};

API int nvmlInit_v2(void);
API int nvmlInit_v2(void) { return 0; }
API int nvmlDeviceGetCount_v2(unsigned *n);
API int nvmlDeviceGetCount_v2(unsigned *n) {
    *n = 2;
    return 0;
}
API int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **dev);
API int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **dev) {
    *dev = &numbers[i];
    return 0;
}
API int nvmlDeviceGetName(void *dev, char *out, unsigned n);
API int nvmlDeviceGetName(void *dev, char *out, unsigned n) {
    snprintf(out, n, "Fake \"%d\"", *(int *)dev);
    return 0;
}
struct utilization {
    unsigned gpu, memory;
};
API int nvmlDeviceGetUtilizationRates(void *dev, struct utilization *u);
API int nvmlDeviceGetUtilizationRates(void *dev, struct utilization *u) {
    u->gpu = *(int *)dev ? 43 : 0, u->memory = 7;
    return 0;
}
struct memory {
    unsigned version;
    unsigned long long total, reserved, free, used;
};
API int nvmlDeviceGetMemoryInfo_v2(void *dev, struct memory *m);
API int nvmlDeviceGetMemoryInfo_v2(void *dev, struct memory *m) {
    if (m->version != (sizeof *m | 2u << 24)) return 25;
    m->total = 150000000000ull, m->used = *(int *)dev ? 1234000000ull : 1000000ull;
    return 0;
}
struct process {
    unsigned pid;
    unsigned long long bytes;
    unsigned instance, compute;
};
API int nvmlDeviceGetComputeRunningProcesses_v3(void *dev, unsigned *n, struct process *p);
API int nvmlDeviceGetComputeRunningProcesses_v3(void *dev, unsigned *n, struct process *p) {
    *n = *(int *)dev ? 1 : 0;
    if (*n) p[0] = (struct process){4242, 512000000ull, 0, 0};
    return 0;
}
API int nvmlDeviceGetPowerUsage(void *dev, unsigned *mw);
API int nvmlDeviceGetPowerUsage(void *dev, unsigned *mw) {
    *mw = *(int *)dev ? 300500 : 90000;
    return 0;
}
