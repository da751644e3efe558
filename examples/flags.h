/* flags.h: the command line of an example from a table: values, --help, and what is wrong with them. */
#ifndef EXAMPLES_FLAGS_H
#define EXAMPLES_FLAGS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct flag {
    const char *name;
    int *i; /* one of the three */
    double *f;
    const char **s;
    const char *help;
};

static inline void flags_help(const char *program, const struct flag *f, size_t n, FILE *to) {
    fprintf(to, "usage: %s [--FLAG VALUE]...\n", program);
    for (size_t k = 0; k < n; k++) {
        fprintf(to, "  --%-12s %s (", f[k].name, f[k].help);
        if (f[k].i) fprintf(to, "%d)\n", *f[k].i);
        if (f[k].f) fprintf(to, "%g)\n", *f[k].f);
        if (f[k].s) fprintf(to, "%s)\n", *f[k].s ? *f[k].s : "the default");
    }
}

/* The exit status, or -1: go on. */
static inline int flags_read(int argc, char **argv, const char *program, const struct flag *f, size_t n) {
    for (int a = 1; a < argc; a += 2) {
        size_t k = 0;
        char *end = NULL;
        if (!strcmp(argv[a], "--help") || !strcmp(argv[a], "-h")) return flags_help(program, f, n, stdout), 0;
        while (k < n && (strncmp(argv[a], "--", 2) || strcmp(argv[a] + 2, f[k].name))) k++;
        if (k == n || a + 1 == argc) {
            fprintf(stderr, "%s: %s: %s\n", program, argv[a], k == n ? "no such flag" : "a value is missing");
            return flags_help(program, f, n, stderr), 2;
        }
        if (f[k].i) *f[k].i = (int)strtol(argv[a + 1], &end, 10);
        if (f[k].f) *f[k].f = strtod(argv[a + 1], &end);
        if (f[k].s) *f[k].s = argv[a + 1];
        if (end && (end == argv[a + 1] || *end))
            return fprintf(stderr, "%s: %s %s: not a number\n", program, argv[a], argv[a + 1]), 2;
    }
    return -1;
}

#endif
