/* render.h: linear programs as text. The only header of src/render.
 *
 * A renderer only writes text: it decides nothing about loops, vectors or memory, which stand in the
 * linear program, and knows nothing of compilers or files. The text of a kernel depends on the program
 * alone (names are numbered by position in the list, never by node id), because it is the cache key.
 * Tests: tests/unit/render.c, tests/unit/cuda.c */
#ifndef RIDGE_RENDER_H
#define RIDGE_RENDER_H

#include "ir/ir.h"

/* ---- c.c: C with GCC/clang vector extensions, for gcc >= 9 and clang >= 11, no #include ---------- */

/* What every translation unit begins with: types and small inline helpers. The same text always. */
void render_c_preamble(struct str *);
/* The part of it that these texts need: it all costs 14 ms to compile, the part some 2. */
void render_c_preamble_for(struct str *, const char *const *text, uint32_t n);
/* Two functions: the kernel, and NAME_body before it, which has the buffers as restrict parameters.
 *   void NAME(void *const *buf, const int64_t *var, uint32_t t0, uint32_t t1, void *scratch)
 * It runs iterations [t0, t1) of the grid. A float VAR is its bits (an f32 in the low 32). scratch is
 * linear->scratch bytes, 64-byte aligned. Throws RG_EUNSUPPORTED for an op that C does not have (EXP
 * and the like must be decomposed first), RG_ELIMIT for vectors of more than 64 lanes. */
void render_c(struct str *, struct ir *, const struct linear *);

/* ---- gpu.c: CUDA C for NVRTC, no #include ---------------------------------------------------------- */

void render_cuda_preamble(struct str *);
/* A TMA descriptor (op TENSOR_MAP): a 128-byte kernel parameter that the device encodes from the buffer's
 * address. */
enum { RENDER_MAPS = MAPS_MOST, RENDER_AXES = 5 };
struct render_map {
    uint32_t slot, rank;
    int64_t bytes;             /* slot of the buffer; axes, fastest first; bytes of an element */
    int64_t digits;            /* 0: copied as they are; else fp32 rounded to that many bits (11: TF32) */
    int64_t size[RENDER_AXES]; /* elements */
    int64_t step[RENDER_AXES]; /* strides in elements; of the first 1 */
    int64_t box[RENDER_AXES];
};
/* The launch configuration of a kernel. */
struct render_shape {
    uint32_t block;     /* 0: one thread per iteration of the grid; else threads of a block, which runs .. */
    uint32_t per_block; /* .. this many iterations */
    int64_t scratch;    /* bytes of global scratch memory per thread */
    int64_t shared;     /* dynamic shared memory of a block, bytes */
    struct render_map map[RENDER_MAPS];
    uint32_t maps;
    const char *why; /* a fast form was given up: the reason; else NULL. Lives as long as the IR */
};
/* One function. Its parameters are 8 bytes each: a pointer per slot, a number per VAR (a float is its bits), then the
 * number of iterations, the scratch memory and the bytes of one thread's part of it.
 *   extern "C" __global__ void NAME(T0 *b0, .., i64 q0, .., u64 n, char *scratch, u64 stride)
 * and then the TMA descriptors, 128 bytes each.
 * atomic: grid iterations may add to the same element, so that STORE_ADD must be atomic. Throws as render_c. */
void render_cuda(struct str *, struct ir *, const struct linear *, bool atomic, struct render_shape *);
/* Adds the COOP axes of loops that cannot be shared: each thread will run all of them. False: no new ones. */
bool render_gives_up_coop(struct arena *, const struct linear *, uop_vec *);
/* NULL, or why the threads of a block cannot share the COOP loops of the program. */
const char *render_lone_loops(struct arena *, const struct linear *);

/* ---- gpu.c: OpenCL C 1.2 --------------------------------------------------------------------------- */

void render_opencl_preamble(struct str *);
struct render_limits { /* of a device */
    uint32_t threads;  /* threads of a block, at most; below 32 no loop is cooperative */
    size_t shared;     /* bytes of local memory */
    bool no_f64, no_atomic64;
};
/* Does a kernel with THREAD axes stay within OpenCL and these limits? Else it needs another opt list. */
bool render_opencl_fits(const struct linear *, const struct render_limits *);
/* One function, like CUDA's; a buffer is two parameters, memory and offset: it starts 8 * offset bytes into the memory.
 *   __kernel void NAME(__global char *p0, .., u32 o0, .., i64 q0, .., u64 n, __global char *scratch, u64 stride)
 * RG_EUNSUPPORTED, with the op and the type, for what the device has not. */
void render_opencl(struct str *, struct ir *, const struct linear *, bool atomic,
                   const struct render_limits *, struct render_shape *);

/* ---- opencl_cpu.c: OpenCL C 1.2 for a device that is a CPU ------------------------------------------- */

/* As render_c_preamble_for, or, without texts, all of it. */
void render_opencl_cpu_preamble(struct str *, const char *const *text, uint32_t n);
/* render_c's functions and a kernel with render_opencl's parameters; each work-item runs a contiguous part of the grid. */
void render_opencl_cpu(struct str *, struct ir *, const struct linear *);

#endif
