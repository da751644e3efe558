/* bar.h: a progress bar for the examples. On a terminal one line that is drawn again; elsewhere a line now and then. */
#ifndef EXAMPLES_BAR_H
#define EXAMPLES_BAR_H

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static inline double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* " 42/70 [############--------] 60%  loss 0.1234 .." */
static inline __attribute__((format(printf, 3, 4), unused)) void bar(int done, int all, const char *fmt,
                                                                     ...) {
    enum { WIDTH = 20 };
    char hashes[WIDTH + 1], text[200];
    int full = all ? WIDTH * done / all : WIDTH, terminal = isatty(1);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    int every = all > 10 ? all / 10 : 1;
    if (!terminal && done % every && done != all && done != 1) return;
    memset(hashes, '-', WIDTH);
    memset(hashes, '#', (size_t)full);
    hashes[WIDTH] = 0;
    printf("%s%3d/%d [%s] %3d%%  %s%s", terminal ? "\r" : "", done, all, hashes, all ? 100 * done / all : 100,
           text, terminal && done != all ? "\033[K" : "\n");
    fflush(stdout);
}

#endif
