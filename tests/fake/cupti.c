/* cupti.c: a library that stands in for NVIDIA's CUPTI, beside tests/fake/driver.c, which tells it what it runs. Records
 * are written as NVIDIA's headers say (those of 11.8, 12.9, 13.0 and 13.4 agree in these fields); kernels of a graph
 * alternate between two streams and overlap. It can be told to lie. Built as a library of its own, and once more without one of its
 * functions (OLD); tests name it by RIDGE_CUPTI and find `fake_cupti` in it. */
#include "fake.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define API __attribute__((visibility("default"), used))
enum { KERNEL_BYTES = 216, COPY_BYTES = 96, MOST = 4000, REFUSED = 39, NO_MORE = 12 };

API struct fake_cupti fake_cupti = {.version = 130001};
API struct fake *fake_driver; /* set by a test */
#define F fake_cupti

struct record {
    uint8_t byte[KERNEL_BYTES];
    size_t n;
};
static struct record held[MOST];
static uint32_t n_held;
static uint32_t correlation = 100;
static uint64_t last; /* time that was given out */
static int of_graph;
static void (*listener)(void *, int, uint32_t, const void *);
static void (*wanted)(uint8_t **, size_t *, size_t *);
static void (*done)(void *, uint32_t, uint8_t *, size_t, size_t);

static uint64_t real_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
static int is(const char *fn) { return F.fail && !strcmp(F.fail, fn); }

static void put32(uint8_t *p, size_t at, uint32_t x) { memcpy(p + at, &x, sizeof x); }
static void put64(uint8_t *p, size_t at, uint64_t x) { memcpy(p + at, &x, sizeof x); }

static uint8_t *add(uint32_t kind, size_t n) {
    if (n_held == MOST) return NULL;
    struct record *r = &held[n_held++];
    memset(r->byte, 0x5a, sizeof r->byte); /* which no caller may rely on */
    r->n = n;
    put32(r->byte, 0, kind);
    return r->byte;
}

/* A kernel that ended before it began, one without a time, and a kind that does not exist. */
static void add_odd(void) {
    uint64_t now = real_now();
    uint8_t *p = add(10, KERNEL_BYTES), *q = add(10, KERNEL_BYTES);
    if (p) put64(p, 16, now), put64(p, 24, now - 5), put32(p, 92, 7), put64(p, 104, 0);
    if (q) put64(q, 16, 0), put64(q, 24, 0), put32(q, 92, 8), put64(q, 104, 0);
    add(77, 24);
}

/* ---- what the driver says ----------------------------------------------------------------------------------------- */

static void on_call(int graph) {
    struct {
        int site;
        const char *function;
        const void *params;
        void *result;
        const char *symbol;
        void *context;
        uint32_t context_id;
        uint64_t *data;
        uint32_t correlation;
    } d = {.correlation = ++correlation};
    of_graph = 0;
    if (listener)
        listener(NULL, 1, graph ? 514 : 307, &d), d.site = 1, listener(NULL, 1, graph ? 514 : 307, &d);
}

static void on_kernel(const char *name, uint64_t node) {
    if (!(F.enabled >> 10 & 1)) return;
    uint64_t now = real_now(), t0 = now > last ? now : last, t1 = t0 + 1000;
    uint32_t stream = node && of_graph++ % 2 ? 15 : 13;
    uint8_t *p = add(10, KERNEL_BYTES);
    if (!p) return;
    last = stream == 15 ? t1 : t0 + 600; /* the next begins before this one ends */
    put64(p, 16, t0), put64(p, 24, t1), put32(p, 40, 0), put32(p, 48, stream), put32(p, 92, correlation);
    memcpy(p + 104, &name, sizeof name);
    put64(p, 144, node);
    if (F.kernels < FAKE_RAN) {
        F.ran[F.kernels].name = name, F.ran[F.kernels].t0 = t0;
        F.ran[F.kernels].t1 = t1, F.ran[F.kernels].stream = stream;
    }
    F.kernels++;
    if (F.odd) add_odd();
}

static void on_copy(int kind, size_t bytes) {
    if (!(F.enabled >> (kind ? 1 : 2) & 1)) return;
    uint64_t now = real_now(), t0 = now > last ? now : last;
    uint8_t *p = add(kind ? 1 : 2, COPY_BYTES);
    if (!p) return;
    last = t0 + 500;
    p[4] = (uint8_t)kind;
    put64(p, 8, bytes), put64(p, 16, t0), put64(p, 24, last), put32(p, 32, 0), put32(p, 40, 13),
        put32(p, 44, ++correlation);
    F.copies++;
}

static void on_clone(void *copy, void *node) {
    void *graph[7] = {NULL, NULL, copy, node};
    const void *resource[3] = {NULL, NULL, graph};
    if (listener && !F.silent) listener(NULL, 3, 20, resource);
}

static void listen_to_driver(int on) {
    if (!fake_driver) return;
    fake_driver->call = on ? on_call : NULL, fake_driver->ran = on ? on_kernel : NULL;
    fake_driver->cloned = on ? on_clone : NULL, fake_driver->copied = on ? on_copy : NULL;
}

/* ---- functions ------------------------------------------------------------------------------------------------------ */

API int cuptiGetVersion(uint32_t *v) {
    *v = F.version;
    return is("cuptiGetVersion") ? REFUSED : 0;
}
API int cuptiGetResultString(int code, const char **s) {
    *s = code == REFUSED ? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED" : NULL;
    return 0;
}
API int cuptiGetTimestamp(uint64_t *t) {
    *t = real_now();
    return 0;
}
API int cuptiSubscribe(void **s, void (*fn)(void *, int, uint32_t, const void *), void *user) {
    (void)user;
    if (is("cuptiSubscribe") || F.subscribers) return REFUSED;
    F.subscribers++, listener = fn, *s = &F;
    listen_to_driver(1);
    return 0;
}
API int cuptiUnsubscribe(void *s) {
    if (s != &F) return 1;
    F.subscribers--, listener = NULL;
    listen_to_driver(0);
    return 0;
}
API int cuptiEnableCallback(uint32_t on, void *s, int domain, uint32_t id) {
    (void)on, (void)domain, (void)id;
    return s == &F && !is("cuptiEnableCallback") ? 0 : REFUSED;
}
API int cuptiActivityRegisterCallbacks(void (*a)(uint8_t **, size_t *, size_t *),
                                       void (*b)(void *, uint32_t, uint8_t *, size_t, size_t)) {
    wanted = a, done = b;
    return is("cuptiActivityRegisterCallbacks") ? REFUSED : 0;
}
API int cuptiActivityEnable(int kind) {
    if (is("cuptiActivityEnable")) return REFUSED;
    F.enabled |= 1u << kind;
    return 0;
}
API int cuptiActivityDisable(int kind) {
    F.enabled &= ~(1u << kind);
    return 0;
}
API int cuptiActivityGetNextRecord(uint8_t *buffer, size_t used, uint8_t **r) {
    size_t at = 0;
    uint32_t kind;
    if (*r) {
        memcpy(&kind, *r, sizeof kind);
        at = (size_t)(*r - buffer) + (kind == 10 ? KERNEL_BYTES : kind == 77 ? 24 : COPY_BYTES);
    }
    if (at >= used) return NO_MORE;
    *r = buffer + at;
    return 0;
}
API int cuptiActivityGetNumDroppedRecords(void *c, uint32_t s, size_t *n) {
    (void)c, (void)s;
    *n = F.drops, F.drops = 0;
    return 0;
}
API int cuptiActivityFlushAll(uint32_t flag) {
    (void)flag;
    for (uint32_t i = 0; i < n_held;) {
        uint8_t *b = NULL;
        size_t size = 0, most = 0, used = 0;
        wanted(&b, &size, &most);
        if (!b) return 0;
        for (; i < n_held && used + held[i].n <= size; used += held[i++].n)
            memcpy(b + used, held[i].byte, held[i].n);
        F.buffers++;
        done(NULL, 0, b, size, i == n_held && F.cut ? used - (size_t)F.cut : used);
        F.buffers--;
    }
    n_held = 0;
    return 0;
}
API int cuptiActivityFlushPeriod(uint32_t ms) { return ms ? 0 : 1; }
API int cuptiGetStreamIdEx(void *context, void *stream, uint8_t own, uint32_t *id) {
    (void)own;
    *id = 13;
    return context && stream ? 0 : 1;
}
#ifndef OLD
API int cuptiGetGraphNodeId(void *node, uint64_t *id) {
    *id = (uintptr_t)node;
    return 0;
}
#endif
