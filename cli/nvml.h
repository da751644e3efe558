/* nvml.h: NVIDIA's GPUs of this machine, whoever uses them. Without the driver's libnvidia-ml.so.1 there are none.
 * Tests: tests/cli/top.sh, with a library that pretends to be NVIDIA's */
#ifndef RIDGE_NVML_H
#define RIDGE_NVML_H

#include "base/base.h"

enum { NVML_GPUS = 16, NVML_PROCESSES = 64 };
struct nvml_process {
    uint32_t pid;
    uint64_t bytes;
};
struct nvml_gpu {
    char name[64];
    double busy, watts;   /* share of the last sample, as nvidia-smi; watts: 0 not known */
    uint64_t used, total; /* bytes */
    struct nvml_process process[NVML_PROCESSES];
    uint32_t processes;
};
/* How many were read. */
uint32_t nvml_read(struct nvml_gpu out[static NVML_GPUS]);

#endif
