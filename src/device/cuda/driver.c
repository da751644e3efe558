/* driver.c: NVIDIA's driver and run-time compiler, found at run time.
 *
 * A library is looked for once and kept for good: unloading the driver is not safe. A failure is not kept, so that
 * RIDGE_NVRTC may be set and the device opened again. Where a library is looked for: where RIDGE_CUDA or RIDGE_NVRTC
 * says, and nowhere else; else where the loader looks, then where NVIDIA's packages put it.
 * Tests: tests/unit/cuda.c, tests/unit/cuda_fake.c */
#include "device/cuda/internal.h"

#include <glob.h>
#include <pthread.h>

#define OLDEST 11040 /* the driver interface that is asked for: CUDA 11.4 */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct cuda_driver driver;
static struct cuda_nvrtc nvrtc;
static bool have_driver, have_nvrtc;

struct symbol {
    const char *name;
    void **at;
};

static int find_all(struct err *e, void *lib, const char *path, const struct symbol *s, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!(*s[i].at = os_dlsym(lib, s[i].name)))
            return err_set(e, RG_EDEVICE,
                           "%s has no function %s: it is older than CUDA 11.4; install a newer one", path,
                           s[i].name);
    return 0;
}

void *cuda_load_first(const char *const *name, size_t n, char *path, size_t room) {
    struct err e = {0};
    for (size_t i = 0; i < n; i++) {
        glob_t g = {0};
        const char *one = name[i];
        char *const *all = (char *const *)&one;
        size_t k = 1;
        if (!one || !*one) continue;
        if (strchr(one, '*') && glob(one, 0, NULL, &g) == 0) all = g.gl_pathv, k = g.gl_pathc;
        void *lib = NULL;
        while (k-- > 0 && !lib) { /* the newest sorts last */
            err_clear(&e);
            lib = os_dlopen(&e, all[k]);
            if (lib) snprintf(path, room, "%s", all[k]);
        }
        if (g.gl_pathc) globfree(&g);
        if (lib) return lib;
    }
    return NULL;
}

static int load_driver(struct err *e) {
    const char *const named = env_str(ENV_CUDA);
    const char *const where[] = {named && *named ? named : "libcuda.so.1",
                                 "/usr/local/nvidia/lib64/libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"};
    const struct symbol s[] = {
#define X(field, symbol, arguments) {symbol, (void **)&driver.field},
        CUDA_DRIVER(X)
#undef X
    };
    char path[512];
    void *lib = cuda_load_first(where, named && *named ? 1 : RG_COUNT(where), path, sizeof path);
    if (!lib && named && *named)
        return err_set(e, RG_EDEVICE, "RIDGE_CUDA names no NVIDIA driver: %s cannot be loaded", named);
    if (!lib)
        return err_set(e, RG_EDEVICE,
                       "there is no NVIDIA driver on this machine (libcuda.so.1 is not found); install it, "
                       "or use another "
                       "device: DEVICE=CPU");
    if (find_all(e, lib, path, s, RG_COUNT(s))) return e->code;
#define X(field, symbol, arguments) *(void **)&driver.field = os_dlsym(lib, symbol);
    CUDA_DRIVER_NEW(X)
#undef X
    int version = 0, code = driver.init(0);
    if (code == 100) return err_set(e, RG_EDEVICE, "the NVIDIA driver finds no GPU on this machine");
    if (code) {
        const char *name = "?", *text = "?";
        driver.error_name(code, &name), driver.error_text(code, &text);
        return err_set(e, RG_EDEVICE, "the NVIDIA driver does not start: %s (%s); `nvidia-smi` may say more",
                       name, text);
    }
    if (driver.version(&version) || version < OLDEST)
        return err_set(e, RG_EDEVICE,
                       "the NVIDIA driver is for CUDA %d.%d; CUDA 11.4 or newer is needed: update it",
                       version / 1000, version % 1000 / 10);
    return 0;
}

static int load_nvrtc(struct err *e) {
    const char *const where[] = {env_str(ENV_NVRTC),
                                 "libnvrtc.so.13",
                                 "libnvrtc.so.12",
                                 "/usr/local/cuda/lib64/libnvrtc.so.*",
                                 "/usr/local/cuda*/lib*/libnvrtc.so.*",
                                 "/usr/local/cuda*/targets/*/lib/libnvrtc.so.*",
                                 "libnvrtc.so"};
    const struct symbol s[] = {
#define X(field, symbol, arguments) {symbol, (void **)&nvrtc.field},
        CUDA_NVRTC(X)
#undef X
    };
    const char *const named = where[0];
    size_t n = named && *named ? 1 : RG_COUNT(where);
    void *lib = cuda_load_first(where, n, nvrtc.path, sizeof nvrtc.path);
    if (!lib && n == 1)
        return err_set(e, RG_ECOMPILE, "RIDGE_NVRTC names no compiler of NVIDIA's: %s cannot be loaded",
                       named);
    if (!lib)
        return err_set(e, RG_ECOMPILE,
                       "NVIDIA's run-time compiler is not found (libnvrtc.so.13 or .12); install the CUDA "
                       "toolkit or the "
                       "Python package nvidia-cuda-nvrtc, or set RIDGE_NVRTC to the path of the library");
    if (find_all(e, lib, nvrtc.path, s, RG_COUNT(s))) return e->code;
    if (nvrtc.version(&nvrtc.major, &nvrtc.minor))
        return err_set(e, RG_ECOMPILE, "%s does not say its version; it is damaged", nvrtc.path);
    return 0;
}

const struct cuda_driver *cuda_driver(struct err *e) {
    pthread_mutex_lock(&lock);
    if (!have_driver) have_driver = !load_driver(e);
    pthread_mutex_unlock(&lock);
    return have_driver ? &driver : NULL;
}

const struct cuda_nvrtc *cuda_nvrtc(struct err *e) {
    pthread_mutex_lock(&lock);
    if (!have_nvrtc) have_nvrtc = !load_nvrtc(e);
    pthread_mutex_unlock(&lock);
    return have_nvrtc ? &nvrtc : NULL;
}
