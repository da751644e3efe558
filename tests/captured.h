/* captured.h: what a test makes the library say on stderr (RIDGE_DEBUG=3), as text. */
#ifndef RIDGE_TEST_CAPTURED_H
#define RIDGE_TEST_CAPTURED_H

#include "base/base.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct captured {
    char path[64];
    int old;
};

/* From here on stderr is a file. */
static inline struct captured capture_start(void) {
    struct captured c = {.path = "/tmp/ridge-captured-XXXXXX"};
    int fd = mkstemp(c.path);
    CHECK(fd >= 0);
    fflush(stderr);
    c.old = dup(2);
    dup2(fd, 2), close(fd);
    setenv("RIDGE_DEBUG", "3", 1);
    return c;
}

/* stderr is what it was. */
static inline void capture_stop(const struct captured *c) {
    fflush(stderr);
    dup2(c->old, 2), close(c->old);
}

/* What was said, in the arena. */
static inline void capture_text(const struct captured *c, struct err *e, struct arena *a, char **text) {
    size_t n;
    if (os_read_file(e, a, c->path, 16 << 20, text, &n)) FAIL("%s", e->msg);
    os_remove(c->path);
}

#endif
