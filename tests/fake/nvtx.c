/* nvtx.c: a library that stands in for a tool of NVIDIA's that wants to be told of ranges: it takes the tables as nvtx3's header
 * says and counts what is pushed. It works the same in a program that includes nvtx3/nvToolsExt.h. Tests name it by
 * NVTX_INJECTION64_PATH and find `fake_nvtx` in it. */
#include "fake.h"

#include <string.h>

#define API __attribute__((visibility("default"), used))

API struct fake_nvtx fake_nvtx;
#define F fake_nvtx

static int push(const char *text) {
    strncpy(F.text[F.pushed % FAKE_RANGES], text, sizeof F.text[0] - 1);
    F.depth[F.pushed++ % FAKE_RANGES] = F.open;
    return F.open++;
}
static int pop(void) { return --F.open; }
static uint64_t start(const char *text) {
    strncpy(F.started, text, sizeof F.started - 1);
    F.starts++;
    return 70 + F.starts;
}
static void end(uint64_t id) { F.ends += id == 70 + F.starts; }

API int InitializeInjectionNvtx2(const void *(*find)(uint32_t)) {
    const struct {
        size_t size;
        int (*table)(int, void ****, unsigned *);
    } *callbacks = find(1);
    const struct {
        size_t size;
        uint32_t version, zero;
        void (*set)(uint32_t);
    } *version = find(3);
    void ***core = NULL;
    unsigned n = 0;
    if (!callbacks || callbacks->size < sizeof *callbacks || !version || find(0) || find(9)) return 0;
    version->set(3);
    F.version = version->version;
    for (int m = 1; m < 7; m++) /* a tool looks at all of them */
        if (!callbacks->table(m, &core, &n) || !core || n < 7) return 0;
    if (callbacks->table(0, &core, &n) || callbacks->table(7, &core, &n)) return 0;
    if (!callbacks->table(1, &core, &n) || n < 16 || core[0]) return 0;
    *(int (**)(const char *))(void *)core[9] = push;
    *(int (**)(void))(void *)core[11] = pop;
    *(uint64_t(**)(const char *))(void *)core[5] = start;
    *(void (**)(uint64_t))(void *)core[7] = end;
    return !F.refuse;
}
