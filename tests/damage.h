/* damage.h: reads traces with random bytes in them, cut short at times: each ends in words or is diagnosed. For tests of readers
 * of others' formats (tests/unit/ncu.c, rocprof.c, perfetto.c, memory_timeline.c); mutate.h is the longer way, for fuzzers. */
#ifndef RIDGE_TEST_DAMAGE_H
#define RIDGE_TEST_DAMAGE_H

#include "analyze/analyze.h"
#include "test.h"

#include <stdlib.h>

/* A trace in memory, diagnosed. */
static inline void read_text(struct trace *t, struct diag *d, const char *text, size_t n) {
    struct err err = {0};
    if (trace_read_mem(t, &err, text, n, 0) || diagnose(d, t, &err)) FAIL("%s", err.msg);
}
static inline void forget_text(struct trace *t, struct diag *d) {
    diag_free(d);
    trace_free(t);
}

/* `files` copies of the n bytes, the first `head` of which say what the file is and stay. How many could be read. */
static inline int read_damaged(const void *whole, size_t n, size_t head, int files) {
    struct err err = {0};
    struct trace t;
    struct diag d;
    char *copy = malloc(n);
    uint64_t seed = 3;
    int readable = 0;
    CHECK(copy != NULL);
    for (int i = 0; i < files; i++, err = (struct err){0}) {
        memcpy(copy, whole, n);
        for (int k = 0; k < 1 + i % 9; k++) {
            seed = hash_u64(seed + 1);
            copy[head + seed % (n - head)] = (char)(seed >> 32);
        }
        if (trace_read_mem(&t, &err, copy, i % 3 ? n : head + seed % (n - head), 0)) {
            CHECK(err.msg[0]);
            continue;
        }
        readable++;
        if (!diagnose(&d, &t, &err)) diag_free(&d);
        trace_free(&t);
    }
    free(copy);
    TEST_INFO("%d damaged files, %d of them readable", files, readable);
    return readable;
}

#endif
