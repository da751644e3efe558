/* usage.h: what the single programs of this folder answer to --help. Tests: tests/cli/bench_programs.sh */
#ifndef RIDGE_BENCH_USAGE_H
#define RIDGE_BENCH_USAGE_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* --help is the first argument: prints the arguments and is true. */
static inline bool bench_help(int argc, char **argv, const char *args) {
    if (argc < 2 || strcmp(argv[1], "--help")) return false;
    const char *name = strrchr(argv[0], '/');
    printf("usage: %s %s\n", name ? name + 1 : argv[0], args);
    return true;
}

#endif
