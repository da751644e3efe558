/* cublas.h: NVIDIA's own matrix products, found at run time, as the peer of ours in bench/gpu.c. They run in the GPU's
 * primary context, which is ours too, on memory of their own, filled with random numbers once. */
#ifndef BENCH_CUBLAS_H
#define BENCH_CUBLAS_H

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

enum cublas_type { CUBLAS_F32 = 0, CUBLAS_F16 = 2, CUBLAS_BF16 = 14, CUBLAS_F8E4M3 = 28 }; /* cudaDataType */

static struct cublas {
    void *handle;
    int (*create)(void **);
    int (*gemm)(void *, int, int, int, int, int, const void *, const void *, int, int, const void *, int, int,
                const void *, void *, int, int, int, int);
    int (*alloc)(uint64_t *, size_t), (*release)(uint64_t), (*copy)(uint64_t, const void *, size_t),
        (*wait)(void);
    int (*batched)(void *, int, int, int, int, int, const void *, const void *, int, int, int64_t,
                   const void *, int, int, int64_t, const void *, void *, int, int, int64_t, int, int, int);
    struct { /* cuBLASLt, which has the products of 8-bit floats: b transposed, into bfloat16 */
        void *handle, *how, *a, *b, *c;
        uint64_t room;
        int (*create)(void **), (*desc)(void **, int, int), (*set)(void *, int, const void *, size_t),
            (*layout)(void **, int, uint64_t, uint64_t, int64_t), (*drop)(void *), (*drop_layout)(void *);
        int (*run)(void *, void *, const void *, const void *, void *, const void *, void *, const void *,
                   const void *, void *, void *, void *, const void *, void *, size_t, void *);
    } lt;
    uint64_t a, b, c, other;               /* other: than b, to be used in turns with it; 0: there is none */
    int m, n, k, types, batch, tf32, fast; /* fast: sums of 8-bit floats keep few digits */
    enum cublas_type t;
} cublas;

static inline void *cublas_find(void *lib, const char *name) { return lib ? dlsym(lib, name) : NULL; }

static inline void cublas_open_lt(void) {
    static const char *const name[] = {"libcublasLt.so.13", "libcublasLt.so.12",
                                       "/usr/local/cuda/lib64/libcublasLt.so"};
    void *lib = NULL;
    for (size_t i = 0; i < sizeof name / sizeof *name && !lib; i++) lib = dlopen(name[i], RTLD_NOW);
    *(void **)&cublas.lt.create = cublas_find(lib, "cublasLtCreate");
    *(void **)&cublas.lt.desc = cublas_find(lib, "cublasLtMatmulDescCreate");
    *(void **)&cublas.lt.set = cublas_find(lib, "cublasLtMatmulDescSetAttribute");
    *(void **)&cublas.lt.layout = cublas_find(lib, "cublasLtMatrixLayoutCreate");
    *(void **)&cublas.lt.drop = cublas_find(lib, "cublasLtMatmulDescDestroy");
    *(void **)&cublas.lt.drop_layout = cublas_find(lib, "cublasLtMatrixLayoutDestroy");
    *(void **)&cublas.lt.run = cublas_find(lib, "cublasLtMatmul");
    if (!cublas.lt.run || !cublas.lt.create || cublas.lt.create(&cublas.lt.handle)) cublas.lt.handle = NULL;
}

/* False: it is not there. The GPU's context must be current: after something ran on it. */
static inline int cublas_open(void) {
    static const char *const name[] = {
        "libcublas.so.13", "libcublas.so.12", "/usr/local/cuda/lib64/libcublas.so.13",
        "/usr/local/cuda/lib64/libcublas.so.12", "/usr/local/cuda/lib64/libcublas.so"};
    void *lib = NULL, *driver = dlopen("libcuda.so.1", RTLD_NOW);
    for (size_t i = 0; i < sizeof name / sizeof *name && !lib; i++) lib = dlopen(name[i], RTLD_NOW);
    *(void **)&cublas.create = cublas_find(lib, "cublasCreate_v2");
    *(void **)&cublas.gemm = cublas_find(lib, "cublasGemmEx");
    *(void **)&cublas.batched = cublas_find(lib, "cublasGemmStridedBatchedEx");
    *(void **)&cublas.alloc = cublas_find(driver, "cuMemAlloc_v2");
    *(void **)&cublas.release = cublas_find(driver, "cuMemFree_v2");
    *(void **)&cublas.copy = cublas_find(driver, "cuMemcpyHtoD_v2");
    *(void **)&cublas.wait = cublas_find(driver, "cuCtxSynchronize");
    cublas_open_lt();
    return cublas.create && cublas.gemm && cublas.batched && cublas.alloc && cublas.release && cublas.copy &&
           cublas.wait && !cublas.create(&cublas.handle);
}

/* Random numbers of about 1 (of floats and bfloat16 about normal, as rg_randn's are) as bits of the type. A million of them,
 * repeated: no unit of the GPU sees that. */
static inline void cublas_numbers(char *host, size_t count, enum cublas_type t, size_t size) {
    uint64_t x = 88172645463325252u;
    for (size_t i = 0; i < count; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        int32_t sum = (int32_t)((x & 0xffff) + (x >> 16 & 0xffff) + (x >> 32 & 0xffff) + (x >> 48)) - 131070;
        float f = (float)sum / 37837.0f;
        uint32_t bits;
        __builtin_memcpy(&bits, &f, 4);
        uint16_t half = t == CUBLAS_BF16 ? (uint16_t)(bits >> 16)
                                         : (uint16_t)((x >> 48 & 0x83ff) | (10 + (x >> 33) % 6) << 10);
        if (t == CUBLAS_F8E4M3) half = (uint16_t)((x >> 48 & 0x87) | (3 + (x >> 33) % 5) << 3);
        __builtin_memcpy(host + i * size, t == CUBLAS_F32 ? (void *)&bits : (void *)&half, size);
    }
}

static inline size_t cublas_size(enum cublas_type t) {
    return t == CUBLAS_F32 ? 4 : t == CUBLAS_F8E4M3 ? 1 : 2;
}

/* 0: there is no memory for it. */
static inline uint64_t cublas_random(size_t count, enum cublas_type t) {
    enum { PIECE = (1 << 20) + 4093 };
    size_t size = cublas_size(t);
    uint64_t p = 0;
    char *host = malloc(PIECE * size);
    if (!host || cublas.alloc(&p, count * size)) p = 0;
    if (p) cublas_numbers(host, PIECE, t, size);
    for (size_t i = 0; p && i < count; i += PIECE)
        if (cublas.copy(p + i * size, host, (count - i < PIECE ? count - i : PIECE) * size)) p = 0;
    free(host);
    return p;
}

/* fast: sums are kept as the tensor cores makes them, with few digits; else parts are added to floats, as ours are. */
static inline int cublas_begin_lt(int fast) {
    enum { COMPUTE_32F = 68, TRANS_A = 3, FAST = 25, ROOM = 32 << 20 };
    const uint64_t m = (uint64_t)cublas.m, n = (uint64_t)cublas.n, k = (uint64_t)cublas.k;
    int32_t yes = 1;
    int8_t quick = (int8_t)fast;
    return cublas.lt.handle && !cublas.alloc(&cublas.lt.room, ROOM) &&
           !cublas.lt.desc(&cublas.lt.how, COMPUTE_32F, CUBLAS_F32) &&
           !cublas.lt.set(cublas.lt.how, TRANS_A, &yes, sizeof yes) &&
           !cublas.lt.set(cublas.lt.how, FAST, &quick, sizeof quick) &&
           !cublas.lt.layout(&cublas.lt.a, CUBLAS_F8E4M3, k, n, (int64_t)k) &&
           !cublas.lt.layout(&cublas.lt.b, CUBLAS_F8E4M3, k, m, (int64_t)k) &&
           !cublas.lt.layout(&cublas.lt.c, CUBLAS_BF16, n, m, (int64_t)n);
}

/* C = A B, row-major, B transposed if `nt`; batch: number of GEMMs, 0 means one. */
static inline int cublas_begin(enum cublas_type t, int m, int n, int k, int nt, int batch) {
    size_t many = batch > 1 ? (size_t)batch : 1;
    cublas.m = m, cublas.n = n, cublas.k = k, cublas.t = t, cublas.types = nt, cublas.batch = batch;
    cublas.a = cublas_random((size_t)m * (size_t)k * many, t),
    cublas.b = cublas_random((size_t)n * (size_t)k * many, t);
    if (cublas.alloc(&cublas.c,
                     (size_t)m * (size_t)n * many * cublas_size(t == CUBLAS_F8E4M3 ? CUBLAS_BF16 : t)))
        cublas.c = 0;
    return cublas.a && cublas.b && cublas.c && (t != CUBLAS_F8E4M3 || cublas_begin_lt(cublas.fast));
}

/* In cuBLAS's columns that is C^T = B^T A^T. float32 is computed in float32, unless TF32 is asked for. */
static inline int cublas_run(void) {
    static const float one = 1, zero = 0;
    enum { COMPUTE_32F = 68, COMPUTE_TF32 = 77, DEFAULT = -1 };
    int m = cublas.m, n = cublas.n, k = cublas.k, t = (int)cublas.t;
    if (t == CUBLAS_F8E4M3)
        return cublas.lt.run(cublas.lt.handle, cublas.lt.how, &one, (void *)cublas.b, cublas.lt.a,
                             (void *)cublas.a, cublas.lt.b, &zero, (void *)cublas.c, cublas.lt.c,
                             (void *)cublas.c, cublas.lt.c, NULL, (void *)cublas.lt.room, 32 << 20, NULL);
    if (cublas.batch > 1)
        return cublas.batched(cublas.handle, cublas.types, 0, n, m, k, &one, (void *)cublas.b, t,
                              cublas.types ? k : n, (int64_t)n * k, (void *)cublas.a, t, k, (int64_t)m * k,
                              &zero, (void *)cublas.c, t, n, (int64_t)m * n, cublas.batch, COMPUTE_32F,
                              DEFAULT);
    return cublas.gemm(cublas.handle, cublas.types, 0, n, m, k, &one, (void *)cublas.b, t,
                       cublas.types ? k : n, (void *)cublas.a, t, k, &zero, (void *)cublas.c, t, n,
                       cublas.tf32 ? COMPUTE_TF32 : COMPUTE_32F, DEFAULT);
}

/* From now on, and at the next call the other way round: the other matrix is b, so that neither stays in L2. */
static inline int cublas_next_buffers(void) {
    uint64_t b = cublas.b;
    if (!cublas.other)
        cublas.other = cublas_random(
            (size_t)cublas.n * (size_t)cublas.k * (cublas.batch > 1 ? (size_t)cublas.batch : 1), cublas.t);
    if (cublas.other) cublas.b = cublas.other, cublas.other = b;
    return !cublas.other;
}

static inline void cublas_end(void) {
    if (cublas.other) cublas.release(cublas.other);
    cublas.release(cublas.a), cublas.release(cublas.b), cublas.release(cublas.c), cublas.other = 0;
    if (cublas.t != CUBLAS_F8E4M3) return;
    cublas.release(cublas.lt.room), cublas.lt.drop(cublas.lt.how);
    cublas.lt.drop_layout(cublas.lt.a), cublas.lt.drop_layout(cublas.lt.b),
        cublas.lt.drop_layout(cublas.lt.c);
}

#endif
