/* nvml.c: see nvml.h. Functions are looked up by name, newest version first; what a driver does not have is left out. */
#include "nvml.h"

#include <dlfcn.h>

struct nvml_utilization {
    unsigned gpu, memory;
};
struct nvml_memory {
    unsigned version;
    unsigned long long total, reserved, free, used;
};
struct nvml_memory_old {
    unsigned long long total, free, used;
};
struct nvml_process_info {
    unsigned pid;
    unsigned long long bytes;
    unsigned instance, compute;
};

static struct {
    bool looked;
    int (*count)(unsigned *);
    int (*at)(unsigned, void **);
    int (*name)(void *, char *, unsigned);
    int (*busy)(void *, struct nvml_utilization *);
    int (*memory)(void *, struct nvml_memory *);
    int (*memory_old)(void *, struct nvml_memory_old *);
    int (*processes)(void *, unsigned *, struct nvml_process_info *);
    int (*power)(void *, unsigned *);
} nvml;

static void find(void *lib, const char *name, void *at) {
    void *f = dlsym(lib, name);
    memcpy(at, &f, sizeof f);
}

static void look(void) {
    int (*init)(void) = NULL;
    nvml.looked = true;
    void *lib = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL); /* stays */
    if (!lib) return;
    find(lib, "nvmlInit_v2", &init);
    if (!init || init()) return;
    find(lib, "nvmlDeviceGetCount_v2", &nvml.count);
    find(lib, "nvmlDeviceGetHandleByIndex_v2", &nvml.at);
    find(lib, "nvmlDeviceGetName", &nvml.name);
    find(lib, "nvmlDeviceGetUtilizationRates", &nvml.busy);
    find(lib, "nvmlDeviceGetMemoryInfo_v2", &nvml.memory);
    find(lib, "nvmlDeviceGetMemoryInfo", &nvml.memory_old);
    find(lib, "nvmlDeviceGetComputeRunningProcesses_v3", &nvml.processes);
    find(lib, "nvmlDeviceGetPowerUsage", &nvml.power);
}

/* The second version leaves out what the driver keeps for itself, as nvidia-smi does. */
static void read_memory(void *dev, struct nvml_gpu *g) {
    struct nvml_memory m = {.version = sizeof m | 2u << 24};
    struct nvml_memory_old old;
    if (nvml.memory && !nvml.memory(dev, &m))
        g->used = m.used, g->total = m.total;
    else if (nvml.memory_old && !nvml.memory_old(dev, &old))
        g->used = old.used, g->total = old.total;
}

static void read_processes(void *dev, struct nvml_gpu *g) {
    struct nvml_process_info p[NVML_PROCESSES];
    unsigned n = NVML_PROCESSES;
    if (!nvml.processes || nvml.processes(dev, &n, p)) return;
    g->processes = RG_MIN(n, (unsigned)NVML_PROCESSES);
    for (uint32_t i = 0; i < g->processes; i++)
        g->process[i] = (struct nvml_process){p[i].pid, p[i].bytes == ~0ull ? 0 : p[i].bytes};
}

static void read_gpu(void *dev, struct nvml_gpu *g) {
    struct nvml_utilization u = {0};
    unsigned mw = 0;
    *g = (struct nvml_gpu){.name = "GPU"};
    if (nvml.name) nvml.name(dev, g->name, sizeof g->name);
    if (nvml.busy && !nvml.busy(dev, &u)) g->busy = u.gpu / 100.0;
    if (nvml.power && !nvml.power(dev, &mw)) g->watts = mw / 1e3;
    read_memory(dev, g);
    read_processes(dev, g);
}

uint32_t nvml_read(struct nvml_gpu out[static NVML_GPUS]) {
    unsigned n = 0, read = 0;
    if (!nvml.looked) look();
    if (!nvml.count || !nvml.at || nvml.count(&n)) return 0;
    for (unsigned i = 0; i < n && read < NVML_GPUS; i++) {
        void *dev;
        if (!nvml.at(i, &dev)) read_gpu(dev, &out[read++]);
    }
    return read;
}
