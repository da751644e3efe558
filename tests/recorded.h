/* recorded.h: what the recorder holds, saved, read and diagnosed: for tests of the profiler on made-up events. */
#ifndef RIDGE_TEST_RECORDED_H
#define RIDGE_TEST_RECORDED_H

#include "analyze/analyze.h"
#include "event/event.h"
#include "test.h"

#include <stdlib.h>
#include <unistd.h>

static inline void diagnose_recorded(struct arena *a, struct trace *t, struct diag *d) {
    struct err *err = a->err; /* t and d keep it */
    struct event_list l;
    char path[] = "/tmp/ridge-recorded-XXXXXX";
    int fd = mkstemp(path);
    CHECK(fd >= 0 && !close(fd));
    event_snapshot(a, &l);
    if (event_save(err, a, path, &l) || trace_read(t, err, path) || diagnose(d, t, err)) FAIL("%s", err->msg);
    CHECK(!unlink(path));
}

static inline void forget_recorded(struct arena *a, struct trace *t, struct diag *d) {
    diag_free(d);
    trace_free(t);
    arena_free(a);
}

#endif
