/* internal.h: what the files of the CUDA device share: the few functions of NVIDIA's driver and run-time compiler that are
 * used, as tables of pointers found by name. Nothing of NVIDIA's is needed to build, and a machine without a GPU only
 * notices when the device is opened. The types are those of the public ABI, which has not changed since 2012. */
#ifndef RIDGE_CUDA_INTERNAL_H
#define RIDGE_CUDA_INTERNAL_H

#include "device/device.h"
#include "device/cuda/cuda.h"

#include <stdalign.h>

typedef uint64_t cu_ptr; /* CUdeviceptr */
typedef struct cu_context *cu_context;
typedef struct cu_stream *cu_stream;
typedef struct cu_event *cu_event;
typedef struct cu_module *cu_module;
typedef struct cu_function *cu_function;
typedef struct cu_graph *cu_graph;
typedef struct cu_node *cu_node;
typedef struct cu_exec *cu_exec;

/* CUDA_KERNEL_NODE_PARAMS_v1 */
struct cu_kernel_node {
    cu_function fn;
    unsigned blocks, blocks_y, blocks_z, threads, threads_y, threads_z, shared;
    void **params, **extra;
};
/* CUlaunchConfig and CUlaunchAttribute; CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION */
enum { CU_ATTR_PDL = 6 };
struct cu_attribute {
    int id;
    char pad[4];
    union {
        char room[64];
        int on;
    } value;
};
struct cu_launch {
    unsigned blocks, blocks_y, blocks_z, threads, threads_y, threads_z, shared;
    cu_stream stream;
    struct cu_attribute *attribute;
    unsigned attributes;
};
/* CUgraphEdgeData */
struct cu_edge {
    uint8_t from_port, to_port, type, reserved[5];
};

/* All return a CUresult: 0 is success.
 *  field            symbol                        arguments */
#define CUDA_DRIVER(X)                                                                                   \
    X(init, "cuInit", (unsigned))                                                                        \
    X(version, "cuDriverGetVersion", (int *))                                                            \
    X(error_name, "cuGetErrorName", (int, const char **))                                                \
    X(error_text, "cuGetErrorString", (int, const char **))                                              \
    X(count, "cuDeviceGetCount", (int *))                                                                \
    X(device, "cuDeviceGet", (int *, int))                                                               \
    X(device_name, "cuDeviceGetName", (char *, int, int))                                                \
    X(device_memory, "cuDeviceTotalMem_v2", (size_t *, int))                                             \
    X(attribute, "cuDeviceGetAttribute", (int *, int, int))                                              \
    X(retain, "cuDevicePrimaryCtxRetain", (cu_context *, int))                                           \
    X(release, "cuDevicePrimaryCtxRelease_v2", (int))                                                    \
    X(reset, "cuDevicePrimaryCtxReset_v2", (int))                                                        \
    X(make_current, "cuCtxSetCurrent", (cu_context))                                                     \
    X(memory, "cuMemGetInfo_v2", (size_t *, size_t *))                                                   \
    X(alloc, "cuMemAlloc_v2", (cu_ptr *, size_t))                                                        \
    X(free, "cuMemFree_v2", (cu_ptr))                                                                    \
    X(fill, "cuMemsetD8Async", (cu_ptr, unsigned char, size_t, cu_stream))                               \
    X(host_alloc, "cuMemHostAlloc", (void **, size_t, unsigned))                                         \
    X(host_free, "cuMemFreeHost", (void *))                                                              \
    X(copy_in, "cuMemcpyHtoDAsync_v2", (cu_ptr, const void *, size_t, cu_stream))                        \
    X(copy_out, "cuMemcpyDtoHAsync_v2", (void *, cu_ptr, size_t, cu_stream))                             \
    X(copy_within, "cuMemcpyDtoDAsync_v2", (cu_ptr, cu_ptr, size_t, cu_stream))                          \
    X(stream_new, "cuStreamCreate", (cu_stream *, unsigned))                                             \
    X(stream_free, "cuStreamDestroy_v2", (cu_stream))                                                    \
    X(stream_wait, "cuStreamSynchronize", (cu_stream))                                                   \
    X(stream_after, "cuStreamWaitEvent", (cu_stream, cu_event, unsigned))                                \
    X(event_new, "cuEventCreate", (cu_event *, unsigned))                                                \
    X(event_free, "cuEventDestroy_v2", (cu_event))                                                       \
    X(event_record, "cuEventRecord", (cu_event, cu_stream))                                              \
    X(event_wait, "cuEventSynchronize", (cu_event))                                                      \
    X(event_query, "cuEventQuery", (cu_event))                                                           \
    X(event_between, "cuEventElapsedTime", (float *, cu_event, cu_event))                                \
    X(load, "cuModuleLoadData", (cu_module *, const void *))                                             \
    X(unload, "cuModuleUnload", (cu_module))                                                             \
    X(function, "cuModuleGetFunction", (cu_function *, cu_module, const char *))                         \
    X(function_set, "cuFuncSetAttribute", (cu_function, int, int))                                       \
    X(launch, "cuLaunchKernel",                                                                          \
      (cu_function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, cu_stream,     \
       void **, void **))                                                                                \
    X(graph_new, "cuGraphCreate", (cu_graph *, unsigned))                                                \
    X(graph_free, "cuGraphDestroy", (cu_graph))                                                          \
    X(graph_kernel, "cuGraphAddKernelNode",                                                              \
      (cu_node *, cu_graph, const cu_node *, size_t, const struct cu_kernel_node *))                     \
    X(graph_ready, "cuGraphInstantiateWithFlags", (cu_exec *, cu_graph, unsigned long long))             \
    X(graph_launch, "cuGraphLaunch", (cu_exec, cu_stream))                                               \
    X(graph_change, "cuGraphExecKernelNodeSetParams", (cu_exec, cu_node, const struct cu_kernel_node *)) \
    X(graph_drop, "cuGraphExecDestroy", (cu_exec))

/* The same, of newer drivers: NULL where they are missing. */
#define CUDA_DRIVER_NEW(X)                                                                        \
    X(graph_edges, "cuGraphAddDependencies_v2",                                                   \
      (cu_graph, const cu_node *, const cu_node *, const struct cu_edge *, size_t))               \
    X(launch_with, "cuLaunchKernelEx", (const struct cu_launch *, cu_function, void **, void **)) \
    X(map, "cuTensorMapEncodeTiled",                                                              \
      (void *, int, unsigned, void *, const uint64_t *, const uint64_t *, const uint32_t *,       \
       const uint32_t *, int, int, int, int))

/* All return an nvrtcResult: 0 is success. A program is opaque.
 *  field            symbol                        arguments */
#define CUDA_NVRTC(X)                                                                       \
    X(version, "nvrtcVersion", (int *, int *))                                              \
    X(archs, "nvrtcGetNumSupportedArchs", (int *))                                          \
    X(arch_list, "nvrtcGetSupportedArchs", (int *))                                         \
    X(create, "nvrtcCreateProgram",                                                         \
      (void **, const char *, const char *, int, const char *const *, const char *const *)) \
    X(compile, "nvrtcCompileProgram", (void *, int, const char *const *))                   \
    X(destroy, "nvrtcDestroyProgram", (void **))                                            \
    X(log_size, "nvrtcGetProgramLogSize", (void *, size_t *))                               \
    X(log, "nvrtcGetProgramLog", (void *, char *))                                          \
    X(cubin_size, "nvrtcGetCUBINSize", (void *, size_t *))                                  \
    X(cubin, "nvrtcGetCUBIN", (void *, char *))                                             \
    X(ptx_size, "nvrtcGetPTXSize", (void *, size_t *))                                      \
    X(ptx, "nvrtcGetPTX", (void *, char *))

struct cuda_driver {
#define X(field, symbol, arguments) int(*field) arguments;
    CUDA_DRIVER(X)
    CUDA_DRIVER_NEW(X)
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
/* The first library of these names or patterns that loads, and its path; NULL: none. */
void *cuda_load_first(const char *const *name, size_t n, char *path, size_t room);

/* nvrtc.c: the architecture to compile for, for a device of this compute capability. */
void nvrtc_arch(const struct cuda_nvrtc *, int major, int minor, char arch[24]);
extern const char nvrtc_flags[];

enum {
    CUDA_PIECES = 4,
    CUDA_GRANTED = 64,
    CUDA_PARAMS = 4095
}; /* parameters of a kernel, at most; 8 bytes each */
enum {
    CUDA_MAP_WORDS = 16,
    CUDA_MAPS_KEPT = 256,
    CUDA_MOST_EACH = 128
};                /* parameters of a kernel with TMA descriptors */
struct cuda_map { /* CUtensorMap of a buffer at an address */
    alignas(64) uint64_t word[CUDA_MAP_WORDS];
    const void *at; /* NULL: none is here */
    struct dev_map map;
};
struct cuda_piece { /* of pinned memory */
    char *p;
    cu_event done;
    bool busy;
};
struct cuda_device {
    struct device dev;
    const struct cuda_driver *cu;
    int number; /* CUdevice */
    cu_context context;
    cu_stream stream, copies; /* copies: from pinned memory, overlapping kernels */
    cu_event begin, end;      /* of a timed launch */
    cu_event here;            /* in `stream`: what a copy waits for */
    struct {                  /* timing.c: keeps the stream busy while a timed kernel is launched */
        bool tried, ready;
        cu_module module;
        cu_function fn;
        uint64_t empty_ns; /* of two events around an empty kernel */
    } delay;
    struct cuda_piece piece[CUDA_PIECES];
    int next;
    /* kernels with opt-in shared memory, by a hash of their address: how much they may have */
    struct {
        cu_function fn;
        uint32_t bytes;
    } granted[CUDA_GRANTED];
    unsigned forks; /* os_forks when it was opened: a child has the memory of this struct, but no GPU */
    bool hung;      /* a kernel hangs: nothing that would wait for it is called any more */
    bool lost;
    uint32_t opened; /* resets of the primary context before it was opened */
    char why[256];   /* it was lost */
    char arch[24];
    struct dev_info info;
    struct cuda_call *calls;       /* builtins in use */
    struct cuda_map *map;          /* [CUDA_MAPS_KEPT], a hash table of TMA descriptors */
    struct cuda_device *next_open; /* of all that are open, for cupti.c */
};

/* cuda.c: before any call: the context is the calling thread's. What a CUresult means, as an error. */
static inline struct cuda_device *cuda_of(struct device *d) { return (struct cuda_device *)d; }
int cuda_enter(struct cuda_device *, struct err *);
int cuda_fail(struct cuda_device *, struct err *, int code, const char *doing);
/* The same for a call inside a function that has d and e and returns a status. */
#define CUDA_TRY(call, doing)                            \
    do {                                                 \
        int code_ = (call);                              \
        if (code_) return cuda_fail(d, e, code_, doing); \
    } while (0)
/* timing.c: begins a time (ns NULL), or ends it and waits, no longer than limit if that is not 0. */
int cuda_span(struct device *, struct err *, uint64_t *ns, uint64_t limit);
/* Keeps the stream busy for some microseconds; false: it does not. Waits for it once, no longer than limit. */
bool cuda_delay(struct cuda_device *, uint64_t limit);
/* ns from one queued empty kernel to the next; 0 not known. */
uint64_t cuda_turnaround(struct cuda_device *);
/* ns that the host takes for each empty kernel of a graph that it launches; 0 not known. */
uint64_t cuda_graph_launch_ns(struct cuda_device *);
/* The parameters of a launch, in the order of the kernel's; how many words. An error if there are too many, or a block would
 * need more shared memory than there is. */
int cuda_params(struct cuda_device *, struct err *, const struct dev_launch *, uint64_t param[CUDA_PARAMS]);
size_t cuda_param_words(const struct dev_launch *);
struct cuda_told { /* the parameters as the driver wants to be told: one address, or one of each */
    void **params, **extra;
    void *list[5], *each[CUDA_MOST_EACH];
    size_t bytes;
};
void cuda_told(const struct dev_launch *, uint64_t *param, struct cuda_told *);
int cuda_limits(const struct cuda_device *, struct err *, const struct dev_launch *);
/* tensor_map.c: the TMA descriptor of the buffer at this address. */
int cuda_map(struct cuda_device *, struct err *, const struct dev_map *, void *at,
             uint64_t out[CUDA_MAP_WORDS]);
/* Threads and blocks of a launch. */
void cuda_shape(const struct cuda_device *, const struct dev_launch *, unsigned *blocks, unsigned *threads);
/* A CUresult: opts in to the shared memory that it needs. */
int cuda_shared(struct cuda_device *, const struct dev_launch *);

/* builtin.c: builtins are sequences of kernels, told from kernels by a bit that no address has set. */
enum { CUDA_CALL = 1 };
enum {
    CUDA_CLEAR,
    CUDA_HISTOGRAM,
    CUDA_PASS,
    CUDA_KEYS,
    CUDA_RESULT,
    CUDA_BEGIN,
    CUDA_SHORT,
    CUDA_WIDE,
    CUDA_LONG,
    CUDA_PART,
    CUDA_PART_WIDE
};
enum {
    CUDA_IMAGE,
    CUDA_EXTREME,
    CUDA_EXTREME_FEW,
    CUDA_VALUES,
    CUDA_EXTREME_SHORT
};                                    /* of scatter_max, scatter_min */
enum { CUDA_FEW = 2048 };             /* results of a row whose keys a block has in shared memory */
enum { CUDA_SELECT = CUDA_PASS + 1 }; /* of sorts */
enum { CUDA_SELECT_MOST = 2048 };     /* elements that it sorts in shared memory */
enum {
    CUDA_SORT_TILE = 4096,
    CUDA_SORT_WARPS = 16
}; /* elements, and warps, that a block of the radix sort has */
static inline int cuda_sort_warps(uint32_t bytes) {
    return bytes > 4 ? CUDA_SORT_WARPS / 2 : CUDA_SORT_WARPS;
}
enum { CUDA_ROWS }; /* of sorts of short rows */
enum { CUDA_FILL, CUDA_PUT };
enum { CUDA_NONZERO = CUDA_CLEAR + 1, CUDA_NONZERO_TILE = 4096, CUDA_NONZERO_LONG = 1 << 20 };
/* Elements that a block has: of long rows more, because each tile waits for those before it. */
static inline int64_t cuda_nonzero_tile(int64_t len) {
    return CUDA_NONZERO_TILE * (len > CUDA_NONZERO_LONG ? 4 : 1);
}
enum { CUDA_SCAN = CUDA_CLEAR + 1, CUDA_SCAN_GROUP = 256 }; /* tiles of a group: scan_kernels.c */
struct cuda_step {                                          /* a kernel of it, ready to launch */
    struct dev_launch l;
    void *buf[6];
    int64_t var[5];
};
int cuda_builtin(struct device *, struct err *, const struct dev_call *, dev_fn *const *kernel,
                 struct dev_builtin *);
void cuda_calls_free(struct cuda_call *);
const struct cuda_call *cuda_call_of(dev_fn *); /* NULL: a kernel */
uint32_t cuda_call_steps(const struct cuda_call *, const struct dev_launch *);
void cuda_call_step(const struct cuda_call *, const struct dev_launch *, uint32_t i, struct cuda_step *);

/* builtin_kernels.c: their source; bytes of an element (0: no such type). */
uint32_t cuda_call_kernels(struct arena *, const struct dev_call *,
                           struct dev_kernel_text out[static DEV_KERNELS]);
uint32_t cuda_call_bytes(const char *type);
/* Of a scan: bytes that its sums are computed in; elements that a thread has. */
static inline uint32_t cuda_scan_bytes(uint32_t element) { return element > 4 ? 8 : 4; }
static inline uint32_t cuda_scan_items(uint32_t element) { return element > 4 ? 8 : 16; }
/* scan_kernels.c */
extern const char cuda_scan_tiles[];
/* sort_kernels.c */
extern const char cuda_sort_clear[], cuda_sort_histogram[], cuda_sort_pass[], cuda_sort_rows[],
    cuda_sort_block[], cuda_topk_rows[];
/* Rows that a warp, or a part of one, sorts in registers: lanes that have a row, elements of a lane; no lanes: it is too long. */
struct cuda_row {
    uint32_t lanes, each;
};
enum { CUDA_ROW_MOST = 1024, CUDA_ROW_THREADS = 128 };
static inline struct cuda_row cuda_row_of(int64_t len) {
    struct cuda_row r = {1, 1};
    if (len > CUDA_ROW_MOST) return (struct cuda_row){0, 0};
    while (r.lanes < 32 && r.lanes * 8 < len) r.lanes *= 2;
    while (r.lanes * r.each < len) r.each *= 2;
    return r;
}

/* The first few of such rows, and of longer ones, that a warp selects in registers: elements of a lane; 0: they are sorted, as
 * values are that cost less to sort than their first ones to find. */
enum { CUDA_TOP_WANTED = 256, CUDA_TOP_LEAST = 128, CUDA_TOP_MOST = 2048 };
static inline uint32_t cuda_top_of(uint32_t bytes, bool index, const int64_t *num) {
    if (bytes > 4 || !num || num[0] <= CUDA_TOP_LEAST || num[0] > CUDA_TOP_MOST) return 0;
    int64_t most = num[0] > CUDA_ROW_MOST ? CUDA_TOP_WANTED
                   : index                ? num[0] / 4
                   : num[0] > 256         ? num[0] / 8
                                          : 0;
    return num[1] > most ? 0 : ((uint32_t)num[0] + 127) / 128 * 4;
}

/* Longer rows, up to a tile, that a block sorts in shared memory; of 8-byte elements from fewer on, and half a tile. */
enum { CUDA_BLOCK_WARPS = 16 };
static inline uint32_t cuda_block_tile(uint32_t bytes) {
    return bytes > 4 ? CUDA_SORT_TILE / 2 : CUDA_SORT_TILE;
}
static inline bool cuda_sorts_block(uint32_t bytes, const int64_t *num) {
    bool few = !num || num[1] <= CUDA_TOP_WANTED;
    return !few && num[0] > CUDA_ROW_MOST && num[0] <= cuda_block_tile(bytes);
}

/* fetch.c: device_ops.host_alloc .. fetched */
void *cuda_host_alloc(struct device *, size_t);
void cuda_host_free(struct device *, void *, size_t);
int cuda_fetch(struct device *, struct err *, const struct dev_piece *, uint32_t n, struct dev_fetch **);
int cuda_order(struct dev_fetch *, struct err *);
int cuda_fetched(struct dev_fetch *, struct err *);

/* cuda_graph.c: device_ops.record, replay, record_free */
int cuda_record(struct device *, struct err *, const struct dev_step *, uint32_t n, uint32_t *taken,
                struct dev_record **);
int cuda_replay(struct dev_record *, struct err *);
void cuda_forget(struct dev_record *);

/* cupti.c: kernel times by CUPTI. device_ops.trace; is it on? A device is opened and closed. */
bool cuda_trace(struct device *);
bool cuda_tracing(void);
void cuda_trace_open(struct cuda_device *);
void cuda_trace_close(struct cuda_device *);
/* Around driver calls that launch kernels: `launches` of the engine's, each of some kernels; a graph's
 * nodes. No effect where nothing is traced. code: 0, or the calls failed. */
struct cuda_traced;
struct cuda_nodes;
struct cuda_trace {
    struct cuda_traced *t; /* NULL: not traced */
    uint32_t number, name, kernels;
    uint64_t t0;
    bool hidden;
};
void cuda_trace_begin(struct cuda_trace *, struct cuda_device *, uint32_t launches, struct cuda_nodes *);
void cuda_trace_unit(struct cuda_trace *, uint32_t i, const struct dev_launch *, uint32_t kernels);
void cuda_trace_end(struct cuda_trace *, int code);
/* Around instantiating a graph: its nodes, each with the index of its launch. end: NULL if they are not
 * all known. */
struct cuda_nodes *cuda_nodes_begin(uint32_t n);
void cuda_nodes_add(struct cuda_nodes *, uint32_t i, cu_node, uint32_t launch);
struct cuda_nodes *cuda_nodes_end(struct cuda_nodes *);
void cuda_nodes_free(struct cuda_nodes *); /* once the graph is gone; records may still come */

#endif
