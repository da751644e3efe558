/* internal.h: what the files of the CUDA device share: the few functions of NVIDIA's driver and run-time compiler that are
 * used, as tables of pointers found by name. Nothing of NVIDIA is needed to build, and a machine without a GPU only
 * notices when the device is opened. The types are those of the public ABI, which has not changed since 2012. */
#ifndef RIDGE_CUDA_INTERNAL_H
#define RIDGE_CUDA_INTERNAL_H

#include "device/device.h"

typedef uint64_t cu_ptr; /* CUdeviceptr */
typedef struct cu_context *cu_context;
typedef struct cu_stream *cu_stream;
typedef struct cu_event *cu_event;
typedef struct cu_module *cu_module;
typedef struct cu_function *cu_function;

/* All return a CUresult: 0 is success.
 *  field            symbol                        arguments */
#define CUDA_DRIVER(X)                                                                             \
    X(init,            "cuInit",                       (unsigned))                                 \
    X(version,         "cuDriverGetVersion",           (int *))                                    \
    X(error_name,      "cuGetErrorName",               (int, const char **))                       \
    X(error_text,      "cuGetErrorString",             (int, const char **))                       \
    X(count,           "cuDeviceGetCount",             (int *))                                    \
    X(device,          "cuDeviceGet",                  (int *, int))                               \
    X(device_name,     "cuDeviceGetName",              (char *, int, int))                         \
    X(device_memory,   "cuDeviceTotalMem_v2",          (size_t *, int))                            \
    X(attribute,       "cuDeviceGetAttribute",         (int *, int, int))                          \
    X(retain,          "cuDevicePrimaryCtxRetain",     (cu_context *, int))                        \
    X(release,         "cuDevicePrimaryCtxRelease_v2", (int))                                      \
    X(reset,           "cuDevicePrimaryCtxReset_v2",   (int))                                      \
    X(make_current,    "cuCtxSetCurrent",              (cu_context))                               \
    X(memory,          "cuMemGetInfo_v2",              (size_t *, size_t *))                       \
    X(alloc,           "cuMemAlloc_v2",                (cu_ptr *, size_t))                         \
    X(free,            "cuMemFree_v2",                 (cu_ptr))                                   \
    X(fill,            "cuMemsetD8Async",              (cu_ptr, unsigned char, size_t, cu_stream)) \
    X(host_alloc,      "cuMemHostAlloc",               (void **, size_t, unsigned))                \
    X(host_free,       "cuMemFreeHost",                (void *))                                   \
    X(copy_in,         "cuMemcpyHtoDAsync_v2",         (cu_ptr, const void *, size_t, cu_stream))  \
    X(copy_out,        "cuMemcpyDtoHAsync_v2",         (void *, cu_ptr, size_t, cu_stream))        \
    X(copy_within,     "cuMemcpyDtoDAsync_v2",         (cu_ptr, cu_ptr, size_t, cu_stream))        \
    X(stream_new,      "cuStreamCreate",               (cu_stream *, unsigned))                    \
    X(stream_free,     "cuStreamDestroy_v2",           (cu_stream))                                \
    X(stream_wait,     "cuStreamSynchronize",          (cu_stream))                                \
    X(event_new,       "cuEventCreate",                (cu_event *, unsigned))                     \
    X(event_free,      "cuEventDestroy_v2",            (cu_event))                                 \
    X(event_record,    "cuEventRecord",                (cu_event, cu_stream))                      \
    X(event_wait,      "cuEventSynchronize",           (cu_event))                                 \
    X(event_between,   "cuEventElapsedTime",           (float *, cu_event, cu_event))              \
    X(load,            "cuModuleLoadData",             (cu_module *, const void *))                \
    X(unload,          "cuModuleUnload",               (cu_module))                                \
    X(function,        "cuModuleGetFunction",          (cu_function *, cu_module, const char *))   \
    X(function_set,    "cuFuncSetAttribute",           (cu_function, int, int))                    \
    X(launch,          "cuLaunchKernel",               (cu_function, unsigned, unsigned, unsigned, unsigned, unsigned, \
                                                        unsigned, unsigned, cu_stream, void **, void **))

/* All return an nvrtcResult: 0 is success. A program is opaque.
 *  field            symbol                        arguments */
#define CUDA_NVRTC(X)                                                                              \
    X(version,         "nvrtcVersion",                 (int *, int *))                             \
    X(archs,           "nvrtcGetNumSupportedArchs",    (int *))                                    \
    X(arch_list,       "nvrtcGetSupportedArchs",       (int *))                                    \
    X(create,          "nvrtcCreateProgram",           (void **, const char *, const char *, int, const char *const *, \
                                                        const char *const *))                      \
    X(compile,         "nvrtcCompileProgram",          (void *, int, const char *const *))         \
    X(destroy,         "nvrtcDestroyProgram",          (void **))                                  \
    X(log_size,        "nvrtcGetProgramLogSize",       (void *, size_t *))                         \
    X(log,             "nvrtcGetProgramLog",           (void *, char *))                           \
    X(cubin_size,      "nvrtcGetCUBINSize",            (void *, size_t *))                         \
    X(cubin,           "nvrtcGetCUBIN",                (void *, char *))                           \
    X(ptx_size,        "nvrtcGetPTXSize",              (void *, size_t *))                         \
    X(ptx,             "nvrtcGetPTX",                  (void *, char *))

struct cuda_driver {
#define X(field, symbol, arguments) int(*field) arguments;
    CUDA_DRIVER(X)
#undef X
};
struct cuda_nvrtc {
#define X(field, symbol, arguments) int(*field) arguments;
    CUDA_NVRTC(X)
#undef X
    char path[512]; /* as it was found */
    int major, minor;
};

/* driver.c: loaded at the first call, once per process; NULL and an error if they are not there or too old. */
const struct cuda_driver *cuda_driver(struct err *);
const struct cuda_nvrtc *cuda_nvrtc(struct err *);

/* nvrtc.c: the architecture to compile for, for a device of this compute capability. */
void nvrtc_arch(const struct cuda_nvrtc *, int major, int minor, char arch[24]);
extern const char nvrtc_flags[];

#endif
