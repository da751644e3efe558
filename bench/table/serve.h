/* serve.h: how a program of the bench talks to table.py: a line "ROW<tab>N" comes in, the seconds of one run out of N go out, or
 * "no" and the reason. What a row needs is made when it is first asked for, warmed up, and dropped when another row is. With
 * BENCH_CPU_TIME set the seconds are those of all threads of the process on a core. */
#ifndef BENCH_SERVE_H
#define BENCH_SERVE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static inline double serve_now(void) {
    static clockid_t clock;
    static int chosen;
    struct timespec t;
    if (!chosen) clock = getenv("BENCH_CPU_TIME") ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, chosen = 1;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* open returns NULL, or why there is no such row; run is one run. */
static inline int serve(void *user, const char *(*open)(void *, const char *row), void (*run)(void *)) {
    static char line[256], row[256];
    const char *why = NULL;
    while (fgets(line, sizeof line, stdin)) {
        char *tab = strchr(line, '\t');
        if (!tab) return 2;
        *tab = 0;
        if (strcmp(line, row)) {
            memcpy(row, line, sizeof row);
            why = open(user, row);
        }
        int n = atoi(tab + 1);
        double t0 = serve_now();
        for (int i = 0; !why && i < n; i++) run(user);
        double t = (serve_now() - t0) / n;
        if (why)
            printf("no %s\n", why);
        else
            printf("%.9g\n", t);
        fflush(stdout);
    }
    return 0;
}

#endif
