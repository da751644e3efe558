/* kineto.h: small traces in Kineto's words, a few events each, and their diagnosis; times are in microseconds.
 *
 *     begin(H200, ""); step(..); work(..); diagnosed(); CHECK(d.verdict == ..); forget();
 *
 * For tests of src/analyze/foreign: tests/unit/foreign.c, foreign_cpu.c. */
#ifndef RIDGE_TEST_KINETO_H
#define RIDGE_TEST_KINETO_H

#include "analyze/analyze.h"
#include "report/report.h"
#include "test.h"

#include <stdarg.h>
#include <stdlib.h>

static struct err err;
static struct arena arena;
static struct str out;
static struct trace t;
static struct diag d;
static uint32_t events, correlation;
static struct trace_cpu here; /* cores 0: not known */

#define H200                                                                                         \
    "{\"id\": 0, \"name\": \"NVIDIA H200\", \"totalGlobalMem\": 150109880320, \"computeMajor\": 9, " \
    "\"computeMinor\": 0, \"maxThreadsPerMultiprocessor\": 2048, \"numSms\": 132, "                  \
    "\"regsPerMultiprocessor\": 65536, \"sharedMemPerMultiprocessor\": 233472}"

static inline void begin(const char *devices, const char *more) {
    arena_init(&arena, &err);
    str_init(&out, &arena);
    events = correlation = 0;
    str_printf(&out, "{\"schemaVersion\": 1, \"deviceProperties\": [%s], %s \"traceEvents\": [", devices,
               more);
}

static inline void event(const char *cat, const char *name, int pid, int tid, double ts, double dur,
                         const char *args, ...) RG_FMT(7, 8);
static inline void event(const char *cat, const char *name, int pid, int tid, double ts, double dur,
                         const char *args, ...) {
    char text[1000];
    va_list ap;
    va_start(ap, args);
    vsnprintf(text, sizeof text, args, ap);
    va_end(ap);
    str_printf(
        &out,
        "%s\n{\"ph\": \"X\", \"cat\": \"%s\", \"name\": \"%s\", \"pid\": %d, \"tid\": %d, \"ts\": %.3f, "
        "\"dur\": %.3f, \"args\": {%s}}",
        events++ ? "," : "", cat, name, pid, tid, ts, dur, text);
}
static inline void op(const char *name, double ts, double dur) {
    event("cpu_op", name, 500, 500, ts, dur, "%s", "");
}
static inline void shaped(const char *name, double ts, double dur, const char *dims, const char *types,
                          const char *strides) {
    event("cpu_op", name, 500, 500, ts, dur, "\"Input Dims\": %s, \"Input type\": %s, \"Input Strides\": %s",
          dims, types, strides);
}
static inline void call(const char *name, double ts, double dur, uint32_t corr) {
    event("cuda_runtime", name, 500, 500, ts, dur, "\"correlation\": %u", corr);
}
static inline void kernel(int device, const char *name, double ts, double dur, uint32_t corr) {
    event("kernel", name, device, 7, ts, dur,
          "\"device\": %d, \"stream\": 7, \"correlation\": %u, \"registers per thread\": 32, \"shared "
          "memory\": 0, "
          "\"grid\": [2048, 1, 1], \"block\": [256, 1, 1]",
          device, corr);
}
static inline void copy(const char *name, int stream, double ts, double dur, uint32_t corr, long long bytes) {
    event("gpu_memcpy", name, 0, stream, ts, dur,
          "\"device\": 0, \"stream\": %d, \"correlation\": %u, \"bytes\": %lld", stream, corr, bytes);
}
static inline void step(int i, double ts, double dur) {
    char name[40];
    snprintf(name, sizeof name, "ProfilerStep#%d", i);
    event("user_annotation", name, 500, 500, ts, dur, "%s", "");
}
static inline void memory(double ts, long long bytes, long long total, int kind) {
    str_printf(&out,
               ",\n{\"ph\": \"i\", \"cat\": \"cpu_instant_event\", \"s\": \"t\", \"name\": \"[memory]\", "
               "\"pid\": 500, "
               "\"tid\": 500, \"ts\": %.3f, \"args\": {\"Total Allocated\": %lld, \"Bytes\": %lld, \"Device "
               "Id\": %d, "
               "\"Device Type\": %d, \"Addr\": %lld}}",
               ts, total, bytes, kind ? 0 : -1, kind, 140000000000 + total);
}
/* A launch at `ts`, and its kernel of `dur` at `at`. */
static inline void work(const char *operator, const char * name, double ts, double at, double dur) {
    uint32_t c = ++correlation;
    op(operator, ts - 2, 12);
    call("cudaLaunchKernel", ts, 6, c);
    kernel(0, name, at, dur, c);
}
static inline void diagnosed(void) {
    str_add(&out, "]}");
    if (trace_read_mem(&t, &err, out.p, out.n, 0)) FAIL("%s", err.msg);
    if (here.cores) t.cpu = here;
    if (diagnose(&d, &t, &err)) FAIL("%s", err.msg);
    int64_t sum = 0;
    for (int k = 0; k < BUDGET_KEYS; k++) sum += d.budget[k];
    CHECK_EQ(sum, d.wall_ns);
}
static inline void forget(void) {
    diag_free(&d);
    trace_free(&t);
    arena_free(&arena);
}
static inline const struct cause *cause_of(int id) {
    for (uint32_t i = 0; i < d.causes.n; i++)
        if (d.causes.p[i].id == id) return &d.causes.p[i];
    return NULL;
}
static inline const struct note *capture_note(const char *id) {
    for (uint32_t i = 0; i < d.capture.n; i++)
        if (!strcmp(d.capture.p[i].id, id)) return &d.capture.p[i];
    return NULL;
}
static inline const char *verdict(void) { return d.healthy ? "healthy" : cause_text(d.verdict); }
static inline const char *screen(void) {
    static char text[20000];
    struct str s;
    str_init(&s, &arena);
    report_text(&s, &d, "t.json");
    snprintf(text, sizeof text, "%.*s", (int)s.n, s.p);
    return text;
}

#define GEMM "ampere_bf16_gemm_128x128"
static inline double gain_of(int id) {
    const struct cause *c = cause_of(id);
    return c ? (double)c->gain_ns / (double)d.wall_ns : 0;
}
#define N27 "[134217728]"
#define FLOATS "[\"float\", \"float\"]"

#endif
