/* nvtx.c: ranges for NVIDIA's tools (Nsight Systems and Compute): steps, calls with their lines, ranges of the user, kernels with what
 * asked for them.
 *
 * A tool says by NVTX_INJECTION64_PATH which library it wants to be told by. That library is handed a function by which it
 * finds tables of pointers to pointers, one table for each part of NVTX, and writes its own functions there; NVIDIA's header
 * nvtx3/nvToolsExt.h does the same in a program that includes it (CUDA 13 has no library libnvToolsExt any more). Only four
 * functions of the first table are called here; the others are there for the tool to write to.
 * Without the variable all of this is one look at a number. Tests: tests/unit/nvtx.c, with a tool that stands in */
#include "event/event.h"

#include <pthread.h>
#include <stdlib.h>

enum { MODULES = 7, SLOTS = 32, CORE = 1 };
enum { RANGE_START = 5, RANGE_END = 7, RANGE_PUSH = 9, RANGE_POP = 11 }; /* NVTX_CBID_CORE_.. */
enum { TABLE_CALLBACKS = 1, TABLE_VERSION = 3, VERSION = 3 };

static void *slot[MODULES][SLOTS], **table[MODULES][SLOTS + 1];
static const unsigned sizes[MODULES] = {0, 16, 9, 15,
                                        7, 16, 7}; /* nothing, core, CUDA, OpenCL, runtime, core 2, sync */

int event_nvtx_state = -1;

static int function_table(int module, void ****out, unsigned *n) {
    if (module <= 0 || module >= MODULES) return 0;
    for (unsigned i = 0; i < sizes[module]; i++) table[module][i] = i ? &slot[module][i] : NULL;
    if (out) *out = table[module];
    if (n) *n = sizes[module];
    return 1;
}
static void set_version(uint32_t v) { (void)v; }

static const struct {
    size_t size;
    int (*function_table)(int, void ****, unsigned *);
} callbacks = {sizeof callbacks, function_table};
static const struct {
    size_t size;
    uint32_t version, reserved;
    void (*set)(uint32_t);
} versions = {sizeof versions, VERSION, 0, set_version};

static const void *export_table(uint32_t which) {
    return which == TABLE_CALLBACKS ? (const void *)&callbacks
           : which == TABLE_VERSION ? (const void *)&versions
                                    : NULL;
}

/* A tool that cannot be loaded, or does not want to, is none. */
static void look(void) {
    const char *path = env_get("NVTX_INJECTION64_PATH");
    struct err ignore = {0};
    void *lib = path && *path ? os_dlopen(&ignore, path) : NULL;
    int (*begin)(const void *(*)(uint32_t)) = NULL;
    if (lib) *(void **)&begin = os_dlsym(lib, "InitializeInjectionNvtx2");
    bool on = begin && begin(export_table);
    __atomic_store_n(&event_nvtx_state, on, __ATOMIC_RELEASE);
}

bool event_nvtx_look(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, look);
    return event_nvtx_state > 0;
}

void event_nvtx_push(const char *text) {
    int (*push)(const char *) = NULL;
    if (!event_nvtx()) return;
    *(void **)&push = slot[CORE][RANGE_PUSH];
    if (push) push(text);
}

void event_nvtx_pop(void) {
    int (*pop)(void) = NULL;
    if (!event_nvtx()) return;
    *(void **)&pop = slot[CORE][RANGE_POP];
    if (pop) pop();
}

uint64_t event_nvtx_start(const char *text) {
    uint64_t (*start)(const char *) = NULL;
    if (!event_nvtx()) return 0;
    *(void **)&start = slot[CORE][RANGE_START];
    return start ? start(text) : 0;
}

void event_nvtx_end(uint64_t id) {
    void (*end)(uint64_t) = NULL;
    if (!event_nvtx()) return;
    *(void **)&end = slot[CORE][RANGE_END];
    if (end) end(id);
}
