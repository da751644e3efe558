/* cuda.h: what is NVIDIA's alone and needs no GPU: the run-time compiler, the profiling library, machine code.
 * Included by who compiles for CUDA without a device, reports versions, or reads cubins.
 * Tests: tests/unit/cuda.c, tests/unit/cupti.c */
#ifndef RIDGE_DEVICE_CUDA_H
#define RIDGE_DEVICE_CUDA_H

#include "device/device.h"

/* ---- nvrtc.c: the run-time compiler ------------------------------------------------------------------- */

/* Version as text; NULL and an error if it is missing. */
const char *nvrtc_version(struct err *, struct arena *);
/* n units for an architecture such as "sm_90", in parallel. */
int nvrtc_compile(struct err *, struct arena *, const char *arch, const char *const *text, int n,
                  struct dev_object *out);

/* ---- cupti.c: kernel times of a profile --------------------------------------------------------------- */

/* Version as text; NULL and an error if it is missing or unusable. */
const char *cupti_version(struct err *, struct arena *);

/* ---- cubin.c: statistics of machine code -------------------------------------------------------------- */

struct cubin_kernel {
    const char *name;
    uint32_t registers, stack;    /* per thread; stack in bytes: spills and arrays */
    uint32_t shared;              /* static shared memory of a block, bytes, with what the GPU reserves */
    uint32_t instructions;        /* static counts: */
    uint32_t loads, wide_loads;   /* from global memory; of these, 16 bytes wide */
    uint32_t stores, wide_stores; /* to global memory; the same */
    uint32_t spills;              /* local memory loads and stores */
    uint32_t copies, matrix;      /* global to shared; MMA instructions */
};
typedef VEC(struct cubin_kernel) cubin_vec;
/* Kernels in file order; RG_EPARSE if it is no cubin, or damaged. Names live in the arena. */
int cubin_read(struct err *, struct arena *, const void *, size_t, cubin_vec *out);
void cubin_print(struct str *, const struct cubin_kernel *); /* one line, without newline */

#endif
