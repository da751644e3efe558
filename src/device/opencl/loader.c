/* loader.c: OpenCL's loader, found at run time, and the devices that it knows.
 *
 * The loader (libOpenCL.so.1; every distribution has one) reads /etc/OpenCL/vendors and loads the drivers that are named
 * there. RIDGE_OPENCL names another loader, or a driver's library itself. A library is kept for good once it is found; a
 * failure is not kept.
 * Devices are numbered through all platforms, GPUs and accelerators first: OPENCL is the best there is, as far as a
 * name can say.
 * Tests: tests/unit/opencl.c */
#include "device/opencl/internal.h"

#include <pthread.h>

enum { MOST = 64 }; /* platforms, devices */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct opencl table;
static bool have;

static int load(struct err *e) {
    static const struct {
        const char *name;
        size_t at;
    } symbol[] = {
#define X(type, field, name, arguments) {name, offsetof(struct opencl, field)},
        OPENCL_FUNCTIONS(X)
#undef X
    };
    struct err ignore = {0};
    const char *asked = env_str(ENV_OPENCL);
    bool given = asked && *asked;
    const char *name = given ? asked : "libOpenCL.so.1";
    void *lib = os_dlopen(&ignore, name);
    if (!lib && given) return err_set(e, RG_EDEVICE, "RIDGE_OPENCL: %s does not load: %s", name, ignore.msg);
    if (!lib)
        return err_set(
            e, RG_EDEVICE,
            "there is no OpenCL on this machine (libOpenCL.so.1 is not found); install a loader and a driver "
            "(Debian: ocl-icd-libopencl1, and pocl-opencl-icd to run on the CPU), name a library with "
            "RIDGE_OPENCL, or use another device: DEVICE=CPU");
    snprintf(table.path, sizeof table.path, "%s", name);
    for (size_t i = 0; i < RG_COUNT(symbol); i++) {
        void *f = os_dlsym(lib, symbol[i].name);
        if (!f)
            return err_set(e, RG_EDEVICE, "%s has no function %s: it is not OpenCL 1.2 or newer", name,
                           symbol[i].name);
        memcpy((char *)&table + symbol[i].at, &f, sizeof f);
    }
    return 0;
}

const struct opencl *opencl_load(struct err *e) {
    pthread_mutex_lock(&lock);
    if (!have) have = !load(e);
    pthread_mutex_unlock(&lock);
    return have ? &table : NULL;
}

const char *opencl_error(int code) {
    switch (code) {
    case CL_DEVICE_NOT_FOUND: return "CL_DEVICE_NOT_FOUND";
    case CL_DEVICE_NOT_AVAILABLE: return "CL_DEVICE_NOT_AVAILABLE: another process has it, or it is gone";
    case -3: return "CL_COMPILER_NOT_AVAILABLE: the driver brings no compiler";
    case CL_MEM_OBJECT_ALLOCATION_FAILURE: return "CL_MEM_OBJECT_ALLOCATION_FAILURE: its memory is full";
    case CL_OUT_OF_RESOURCES: return "CL_OUT_OF_RESOURCES";
    case CL_OUT_OF_HOST_MEMORY: return "CL_OUT_OF_HOST_MEMORY: the host's memory is full";
    case -7: return "CL_PROFILING_INFO_NOT_AVAILABLE";
    case -8: return "CL_MEM_COPY_OVERLAP: source and destination of a copy overlap";
    case CL_BUILD_PROGRAM_FAILURE: return "CL_BUILD_PROGRAM_FAILURE";
    case -13: return "CL_MISALIGNED_SUB_BUFFER_OFFSET";
    case -14: return "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST: a command failed";
    case -30: return "CL_INVALID_VALUE";
    case CL_INVALID_DEVICE: return "CL_INVALID_DEVICE";
    case CL_INVALID_CONTEXT: return "CL_INVALID_CONTEXT";
    case CL_INVALID_COMMAND_QUEUE: return "CL_INVALID_COMMAND_QUEUE";
    case -38: return "CL_INVALID_MEM_OBJECT";
    case CL_INVALID_BINARY: return "CL_INVALID_BINARY: made by another driver";
    case -43: return "CL_INVALID_BUILD_OPTIONS";
    case -44: return "CL_INVALID_PROGRAM";
    case -45: return "CL_INVALID_PROGRAM_EXECUTABLE";
    case -46: return "CL_INVALID_KERNEL_NAME";
    case -48: return "CL_INVALID_KERNEL";
    case -49: return "CL_INVALID_ARG_INDEX";
    case -50: return "CL_INVALID_ARG_VALUE";
    case -51: return "CL_INVALID_ARG_SIZE";
    case -52: return "CL_INVALID_KERNEL_ARGS";
    case -54:
        return "CL_INVALID_WORK_GROUP_SIZE: the kernel needs more threads together than the device gives it";
    case -55: return "CL_INVALID_WORK_ITEM_SIZE";
    case CL_INVALID_BUFFER_SIZE: return "CL_INVALID_BUFFER_SIZE: more than the device gives at once";
    case -63: return "CL_INVALID_GLOBAL_WORK_SIZE";
    case CL_PLATFORM_NOT_FOUND: return "CL_PLATFORM_NOT_FOUND: no driver is installed";
    case CL_NVIDIA_FAULT: return "a kernel read or wrote where nothing is";
    default: return "an error that OpenCL 1.2 does not name";
    }
}

/* ---- devices --------------------------------------------------------------------------------------------- */

static bool is_cpu(const struct opencl *cl, cl_device d) {
    uint64_t type = 0;
    return !cl->device_info(d, CL_DEVICE_TYPE, sizeof type, &type, NULL) && (type & CL_DEVICE_TYPE_CPU);
}

/* All devices whose being a CPU is as asked, behind the n that are known. */
static int add_devices(const struct opencl *cl, const cl_platform *p, unsigned platforms, bool cpus,
                       struct opencl_choice *out, int n) {
    for (unsigned i = 0; i < platforms; i++) {
        cl_device all[MOST];
        unsigned count = 0;
        if (cl->devices(p[i], CL_DEVICE_TYPE_ALL, MOST, all, &count)) continue; /* this driver has none */
        for (unsigned k = 0; k < RG_MIN(count, (unsigned)MOST) && n < MOST; k++)
            if (is_cpu(cl, all[k]) == cpus) out[n++] = (struct opencl_choice){p[i], all[k]};
    }
    return n;
}

static int no_such_device(struct err *e, const struct opencl *cl, int unit, const struct opencl_choice *all,
                          int n) {
    char list[512];
    size_t at = 0;
    for (int i = 0; i < n && at < sizeof list; i++) {
        char name[96] = "?";
        cl->device_info(all[i].device, CL_DEVICE_NAME, sizeof name - 1, name, NULL);
        at += (size_t)snprintf(list + at, sizeof list - at, "%sOPENCL:%d is %s", i ? ", " : "", i, name);
    }
    return err_set(e, RG_EDEVICE, "there is no OPENCL:%d; of what is there, %s", unit, list);
}

int opencl_choose(struct err *e, const struct opencl *cl, int unit, struct opencl_choice *out) {
    cl_platform platform[MOST];
    struct opencl_choice all[MOST];
    unsigned platforms = 0;
    int code = cl->platforms(MOST, platform, &platforms);
    if (code == CL_PLATFORM_NOT_FOUND || (!code && !platforms))
        return err_set(
            e, RG_EDEVICE,
            "%s finds no OpenCL driver (/etc/OpenCL/vendors names them); install one for this machine, or "
            "pocl-opencl-icd, which runs on the CPU",
            cl->path);
    if (code)
        return err_set(e, RG_EDEVICE, "%s does not list its platforms: %s (%d)", cl->path, opencl_error(code),
                       code);
    platforms = RG_MIN(platforms, (unsigned)MOST);
    int n = add_devices(cl, platform, platforms, false, all, 0);
    n = add_devices(cl, platform, platforms, true, all, n);
    if (!n)
        return err_set(
            e, RG_EDEVICE,
            "%s has %u platform%s and no device; is the driver installed, and may this user open it?",
            cl->path, platforms, platforms == 1 ? "" : "s");
    if (unit >= n) return no_such_device(e, cl, unit, all, n);
    *out = all[unit];
    return 0;
}
