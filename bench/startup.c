/* startup.c: how long a user waits for the smallest program, examples/dot, from exec to exit.
 *
 * Cold: nothing in the cache of compiled kernels, so the C compiler runs. Warm: everything is there, as in every start
 * after the first; nothing may be compiled then. Beside them a program that does nothing, which is what starting a
 * process costs here. Medians of several runs each; the bars are 200 ms and 20 ms.
 *     startup [RUNS [PATH OF DOT]] */
#include "base/base.h"

#include <stdlib.h>

static int by_value(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static uint64_t once(struct err *e, struct arena *a, const char *const *argv, const char *want) {
    char *out;
    int status;
    uint64_t t0 = os_now_ns();
    if (os_run(e, a, argv, &status, &out)) err_throw(e, e->code, "%s", e->msg);
    uint64_t ns = os_now_ns() - t0;
    if (status || strcmp(out, want))
        err_throw(e, RG_EINVAL, "%s: status %d, printed '%.200s', expected '%s'", argv[0], status, out, want);
    return ns;
}

struct setup {
    struct err *err;
    struct arena *arena;
    char *dir;
    const char *dot;
    int runs;
};

static void row(struct setup *s, const char *what, uint64_t *ns, double bar) {
    qsort(ns, (size_t)s->runs, sizeof *ns, by_value);
    printf("%-28s median %7.1f ms   least %7.1f   greatest %7.1f", what, (double)ns[s->runs / 2] / 1e6,
           (double)ns[0] / 1e6, (double)ns[s->runs - 1] / 1e6);
    printf(bar > 0 ? "   bar %.0f ms\n" : "\n", bar);
}

static void measure(void *arg) {
    struct setup *s = arg;
    uint64_t *ns = arena_array(s->arena, uint64_t, s->runs);
    const char *nothing[] = {"true", NULL}, *dot[] = {s->dot, NULL};
    char *path = os_find_program(s->arena, "true");
    if (path) nothing[0] = path;
    setenv("RIDGE_CACHE_DIR", s->dir, 1);
    for (int i = 0; i < s->runs; i++) ns[i] = once(s->err, s->arena, nothing, "");
    row(s, "a process that does nothing", ns, 0);
    for (int i = 0; i < s->runs; i++) {
        os_remove_tree(s->dir);
        ns[i] = once(s->err, s->arena, dot, "11\n");
    }
    row(s, "dot, nothing compiled yet", ns, 200);
    for (int i = 0; i < s->runs; i++) ns[i] = once(s->err, s->arena, dot, "11\n");
    row(s, "dot, every later start", ns, 20);
}

int main(int argc, char **argv) {
    struct err e = {0};
    struct arena a;
    arena_init(&a, &e);
    struct setup s = {.err = &e, .arena = &a, .runs = argc > 1 ? atoi(argv[1]) : 11};
    const char *slash = strrchr(argv[0], '/');
    s.dot = argc > 2 ? argv[2]
                     : arena_printf(&a, "%.*s/../examples/dot", slash ? (int)(slash - argv[0]) : 1,
                                    slash ? argv[0] : ".");
    if (s.runs < 1 || s.runs > 1000) return fprintf(stderr, "usage: startup [RUNS [DOT]]\n"), 2;
    unsetenv("DEBUG");
    unsetenv("RIDGE_DEBUG");
    if (!os_temp_dir(&e, &a, &s.dir)) err_guard(&e, measure, &s);
    if (s.dir) os_remove_tree(s.dir);
    if (e.code) fprintf(stderr, "startup: %s\n", e.msg);
    arena_free(&a);
    return e.code != 0;
}
