/* internal.h: what the files of the OpenCL device share: the functions of OpenCL 1.2 that are used, as a table of pointers
 * found by name, and the numbers of its interface. Nothing of OpenCL is needed to build; a machine without it only notices
 * when the device is opened. */
#ifndef RIDGE_OPENCL_INTERNAL_H
#define RIDGE_OPENCL_INTERNAL_H

#include "device/device.h"

typedef struct cl_platform *cl_platform;
typedef struct cl_device *cl_device;
typedef struct cl_context *cl_context;
typedef struct cl_queue *cl_queue;
typedef struct cl_mem *cl_mem;
typedef struct cl_program *cl_program;
typedef struct cl_kernel *cl_kernel;
typedef struct cl_event *cl_event;

/*  type          field           symbol                          arguments */
#define OPENCL_FUNCTIONS(X)                                                                                  \
    X(int, platforms, "clGetPlatformIDs", (unsigned, cl_platform *, unsigned *))                             \
    X(int, platform_info, "clGetPlatformInfo", (cl_platform, unsigned, size_t, void *, size_t *))            \
    X(int, devices, "clGetDeviceIDs", (cl_platform, uint64_t, unsigned, cl_device *, unsigned *))            \
    X(int, device_info, "clGetDeviceInfo", (cl_device, unsigned, size_t, void *, size_t *))                  \
    X(cl_context, context_new, "clCreateContext",                                                            \
      (const intptr_t *, unsigned, const cl_device *, void *, void *, int *))                                \
    X(int, context_free, "clReleaseContext", (cl_context))                                                   \
    X(cl_queue, queue_new, "clCreateCommandQueue", (cl_context, cl_device, uint64_t, int *))                 \
    X(int, queue_free, "clReleaseCommandQueue", (cl_queue))                                                  \
    X(int, flush, "clFlush", (cl_queue))                                                                     \
    X(int, finish, "clFinish", (cl_queue))                                                                   \
    X(cl_mem, buffer_new, "clCreateBuffer", (cl_context, uint64_t, size_t, void *, int *))                   \
    X(int, buffer_free, "clReleaseMemObject", (cl_mem))                                                      \
    X(int, fill, "clEnqueueFillBuffer",                                                                      \
      (cl_queue, cl_mem, const void *, size_t, size_t, size_t, unsigned, const cl_event *, cl_event *))      \
    X(int, write, "clEnqueueWriteBuffer",                                                                    \
      (cl_queue, cl_mem, unsigned, size_t, size_t, const void *, unsigned, const cl_event *, cl_event *))    \
    X(int, read, "clEnqueueReadBuffer",                                                                      \
      (cl_queue, cl_mem, unsigned, size_t, size_t, void *, unsigned, const cl_event *, cl_event *))          \
    X(int, copy, "clEnqueueCopyBuffer",                                                                      \
      (cl_queue, cl_mem, cl_mem, size_t, size_t, size_t, unsigned, const cl_event *, cl_event *))            \
    X(cl_program, source, "clCreateProgramWithSource",                                                       \
      (cl_context, unsigned, const char **, const size_t *, int *))                                          \
    X(cl_program, binary, "clCreateProgramWithBinary",                                                       \
      (cl_context, unsigned, const cl_device *, const size_t *, const unsigned char **, int *, int *))       \
    X(int, build, "clBuildProgram", (cl_program, unsigned, const cl_device *, const char *, void *, void *)) \
    X(int, program_info, "clGetProgramInfo", (cl_program, unsigned, size_t, void *, size_t *))               \
    X(int, build_info, "clGetProgramBuildInfo", (cl_program, cl_device, unsigned, size_t, void *, size_t *)) \
    X(int, program_free, "clReleaseProgram", (cl_program))                                                   \
    X(cl_kernel, kernel_new, "clCreateKernel", (cl_program, const char *, int *))                            \
    X(int, kernel_info, "clGetKernelWorkGroupInfo",                                                          \
      (cl_kernel, cl_device, unsigned, size_t, void *, size_t *))                                            \
    X(int, kernel_arg, "clSetKernelArg", (cl_kernel, unsigned, size_t, const void *))                        \
    X(int, kernel_free, "clReleaseKernel", (cl_kernel))                                                      \
    X(int, launch, "clEnqueueNDRangeKernel",                                                                 \
      (cl_queue, cl_kernel, unsigned, const size_t *, const size_t *, const size_t *, unsigned,              \
       const cl_event *, cl_event *))                                                                        \
    X(int, event_wait, "clWaitForEvents", (unsigned, const cl_event *))                                      \
    X(int, event_info, "clGetEventInfo", (cl_event, unsigned, size_t, void *, size_t *))                     \
    X(int, event_time, "clGetEventProfilingInfo", (cl_event, unsigned, size_t, void *, size_t *))            \
    X(int, event_free, "clReleaseEvent", (cl_event))

struct opencl {
#define X(type, field, symbol, arguments) type(*field) arguments;
    OPENCL_FUNCTIONS(X)
#undef X
    char path[512]; /* of the library, as it was found */
};

/* What is asked for, and errors that are told apart: names and numbers are those of the standard. */
enum {
    CL_PLATFORM_VERSION = 0x0901,
    CL_PLATFORM_NAME = 0x0902,
    CL_DEVICE_TYPE = 0x1000,
    CL_DEVICE_MAX_COMPUTE_UNITS = 0x1002,
    CL_DEVICE_MAX_WORK_GROUP_SIZE = 0x1004,
    CL_DEVICE_MAX_CLOCK_FREQUENCY = 0x100C,
    CL_DEVICE_ADDRESS_BITS = 0x100D,
    CL_DEVICE_MAX_PARAMETER_SIZE = 0x1017,
    CL_DEVICE_SINGLE_FP_CONFIG = 0x101B,
    CL_DEVICE_GLOBAL_MEM_CACHE_SIZE = 0x101E,
    CL_DEVICE_GLOBAL_MEM_SIZE = 0x101F,
    CL_DEVICE_LOCAL_MEM_SIZE = 0x1023,
    CL_DEVICE_ENDIAN_LITTLE = 0x1026,
    CL_DEVICE_AVAILABLE = 0x1027,
    CL_DEVICE_COMPILER_AVAILABLE = 0x1028,
    CL_DEVICE_NAME = 0x102B,
    CL_DRIVER_VERSION = 0x102D,
    CL_DEVICE_PROFILE = 0x102E,
    CL_DEVICE_VERSION = 0x102F,
    CL_DEVICE_EXTENSIONS = 0x1030,
    CL_CONTEXT_PLATFORM = 0x1084,
    CL_PROGRAM_BINARY_SIZES = 0x1165,
    CL_PROGRAM_BINARIES = 0x1166,
    CL_PROGRAM_BUILD_LOG = 0x1183,
    CL_KERNEL_WORK_GROUP_SIZE = 0x11B0,
    CL_EVENT_COMMAND_EXECUTION_STATUS = 0x11D3,
    CL_PROFILING_COMMAND_START = 0x1282,
    CL_PROFILING_COMMAND_END = 0x1283,
    CL_DEVICE_TYPE_CPU = 2,
    CL_MEM_READ_WRITE = 1,
    CL_QUEUE_PROFILING_ENABLE = 2,
    CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT = 128,
    CL_DEVICE_NOT_FOUND = -1,
    CL_DEVICE_NOT_AVAILABLE = -2,
    CL_MEM_OBJECT_ALLOCATION_FAILURE = -4,
    CL_OUT_OF_RESOURCES = -5,
    CL_OUT_OF_HOST_MEMORY = -6,
    CL_BUILD_PROGRAM_FAILURE = -11,
    CL_INVALID_DEVICE = -33,
    CL_INVALID_CONTEXT = -34,
    CL_INVALID_COMMAND_QUEUE = -36,
    CL_INVALID_BINARY = -42,
    CL_INVALID_BUFFER_SIZE = -61,
    CL_PLATFORM_NOT_FOUND = -1001,
    CL_NVIDIA_FAULT = -9999, /* a kernel's access out of bounds */
};
#define CL_DEVICE_TYPE_ALL 0xFFFFFFFFu

/* loader.c: loaded at the first call, once per process; NULL and an error if it is not there. */
const struct opencl *opencl_load(struct err *);
/* The name of an error code, and what it means where that helps. */
const char *opencl_error(int code);

/* Which device: GPUs and accelerators before CPUs, else as the platforms list them. */
struct opencl_choice {
    cl_platform platform;
    cl_device device;
};
int opencl_choose(struct err *, const struct opencl *, int unit, struct opencl_choice *);

/* opencl.c */
struct opencl_block { /* memory: an address stands for a buffer object and an offset */
    uint64_t at;
    size_t n;
    cl_mem mem;
};
struct opencl_piece { /* of the host, on its way to the device */
    char *p;
    cl_event done; /* NULL: free */
};
struct host_fn;
struct opencl_device {
    struct device dev;
    const struct opencl *cl;
    struct opencl_choice chosen;
    cl_context context;
    cl_queue queue;
    struct opencl_block *block; /* by address */
    size_t blocks, room;
    uint64_t next; /* address */
    struct opencl_piece piece[4];
    int next_piece;
    unsigned forks; /* os_forks when it was opened: a child of this process has none of it */
    bool lost;
    char why[256]; /* it was lost */
    char platform[160], driver[96], flags[96];
    struct dev_info info;
    struct host_fn *host;
};
static inline struct opencl_device *opencl_of(struct device *d) { return (struct opencl_device *)d; }
/* Sets the error; notes a loss. doing: "a copy". */
int opencl_fail(struct opencl_device *, struct err *, int code, const char *doing);
/* Before any call: not if the device was lost. */
int opencl_enter(struct opencl_device *, struct err *);

/* program.c */
struct opencl_kernel { /* what a dev_fn is */
    struct opencl_kernel *next;
    cl_kernel k;
    size_t threads; /* of a block, at most */
};
int opencl_target(struct device *, struct err *, struct arena *, struct dev_target *);
int opencl_version(struct device *, struct err *, struct arena *, const char **);
int opencl_compile(struct device *, struct err *, struct arena *, const char *const *text, int n,
                   struct dev_object *out);
int opencl_assembly(struct device *, struct err *, struct arena *, const char *text, char **out);
int opencl_load_object(struct device *, struct err *, const void *object, size_t n, struct module **);
void opencl_unload(struct module *);
dev_fn *opencl_symbol(struct module *, const char *name);

#endif
