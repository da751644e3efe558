/* opencl.c: stands before OpenCL's loader in tests and answers for its device what a variable of the environment says, so that
 * the one device that there is can be small, old, full or lost. A library: tests/unit/opencl.c compiles it and names it
 * with RIDGE_OPENCL; what it does not have is found in the loader behind it.
 *
 *   FAKE_OPENCL=KEY=VALUE[,KEY=VALUE]...
 *     version=TEXT, profile=TEXT, bits=N, threads=N, params=N, compiler=N, type=N    what the device says of itself
 *     plain=1         no extensions: neither doubles nor 64-bit atomics
 *     platforms=CODE, alloc=CODE, fill=CODE, launch=CODE, finish=CODE, context=CODE, build=CODE, binary=CODE
 *                     that call fails with this error */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const char *value(const char *key) {
    static char out[128];
    const char *s = getenv("FAKE_OPENCL");
    size_t n = strlen(key);
    for (; s && *s; s = strchr(s, ',') ? strchr(s, ',') + 1 : NULL)
        if (!strncmp(s, key, n) && s[n] == '=') {
            size_t len = strcspn(s + n + 1, ",");
            memcpy(out, s + n + 1, len), out[len] = 0;
            return out;
        }
    return NULL;
}
static int failing(const char *key) { return value(key) ? atoi(value(key)) : 0; }

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int text(const char *s, size_t room, void *out, size_t *n) {
    if (n) *n = strlen(s) + 1;
    if (out && room > strlen(s)) strcpy(out, s);
    return 0;
}

int clGetDeviceInfo(void *d, unsigned what, size_t room, void *out, size_t *n) {
    static const struct {
        unsigned what;
        const char *key;
    } texts[] = {{0x102F, "version"}, {0x102E, "profile"}},
      numbers[] = {
          {0x100D, "bits"}, {0x1004, "threads"}, {0x1017, "params"}, {0x1028, "compiler"}, {0x1000, "type"}};
    for (unsigned i = 0; i < 2; i++)
        if (what == texts[i].what && value(texts[i].key)) return text(value(texts[i].key), room, out, n);
    if (what == 0x1030 && value("plain")) return text("cl_khr_nothing", room, out, n);
    for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (what == numbers[i].what && value(numbers[i].key)) {
            uint64_t x = (uint64_t)atoll(value(numbers[i].key));
            if (out) memcpy(out, &x, room < sizeof x ? room : sizeof x);
            return 0;
        }
    return REAL(clGetDeviceInfo)(d, what, room, out, n);
}

int clGetPlatformIDs(unsigned n, void **p, unsigned *got) {
    return failing("platforms") ? failing("platforms") : REAL(clGetPlatformIDs)(n, p, got);
}
void *clCreateContext(const intptr_t *p, unsigned n, void **d, void *f, void *u, int *code) {
    if (!failing("context")) return REAL(clCreateContext)(p, n, d, f, u, code);
    *code = failing("context");
    return NULL;
}
void *clCreateBuffer(void *c, uint64_t flags, size_t n, void *p, int *code) {
    if (!failing("alloc")) return REAL(clCreateBuffer)(c, flags, n, p, code);
    *code = failing("alloc");
    return NULL;
}
int clEnqueueFillBuffer(void *q, void *m, const void *p, size_t k, size_t at, size_t n, unsigned w, void *l,
                        void *e) {
    return failing("fill") ? failing("fill") : REAL(clEnqueueFillBuffer)(q, m, p, k, at, n, w, l, e);
}
int clEnqueueNDRangeKernel(void *q, void *k, unsigned d, const size_t *o, const size_t *g, const size_t *b,
                           unsigned n, void *l, void *e) {
    return failing("launch") ? failing("launch") : REAL(clEnqueueNDRangeKernel)(q, k, d, o, g, b, n, l, e);
}
int clFinish(void *q) { return failing("finish") ? failing("finish") : REAL(clFinish)(q); }
int clBuildProgram(void *p, unsigned n, void **d, const char *o, void *f, void *u) {
    return failing("build") ? failing("build") : REAL(clBuildProgram)(p, n, d, o, f, u);
}
void *clCreateProgramWithBinary(void *c, unsigned n, void **d, const size_t *len, const unsigned char **b,
                                int *s, int *code) {
    if (!failing("binary")) return REAL(clCreateProgramWithBinary)(c, n, d, len, b, s, code);
    *code = failing("binary");
    return NULL;
}
