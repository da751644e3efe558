/* profile.c: what recording a profile costs, and what the flight recorder does, which is always on.
 *
 * A function of 1,000 kernels of about 5 us each is replayed with events off, with the ring buffer alone (the default) and with a
 * recording, alternating, so that all see
 * the same machine; the best of each counts, and the medians are beside them. Each kernel leaves one record. */
#include "event/event.h"
#include "usage.h"

#include <ridge.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { KERNELS = 1000, ROUNDS = 60, ELEMENTS = 72000 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static rg_status chain(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)user;
    rg_tensor x = in[0];
    for (int i = 0; i < KERNELS; i++) x = rg_contiguous(rg_add(x, in[1]));
    out[0] = x;
    return RG_OK;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

int main(int argc, char **argv) {
    if (bench_help(argc, argv, "")) return 0;
    char path[PATH_MAX];
    const char *top = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/ridge-bench-XXXXXX", top && *top ? top : "/tmp");
    int file = mkstemp(path); /* recordings go there, one over the other */
    if (file < 0) return perror(path), 1;
    close(file);
    static float zero[ELEMENTS];
    static double took[3][ROUNDS];
    setenv("RIDGE_THREADS", "1", 1);
    rg_ctx *c = rg_open("CPU");
    rg_tensor x = rg_from(c, RG_F32, zero, RG_SHAPE(ELEMENTS)), one = rg_from(c, RG_F32, zero, RG_SHAPE(1)),
              y;
    rg_jit *j = rg_jit_new(c, chain, NULL, 1);
    for (int i = 0; i < 3; i++) rg_jit_call(j, RG_TENSORS(x, one), &y);
    for (int r = 0; r < ROUNDS; r++)
        for (int on = 0; on < 3; on++) {
            event_flight(on > 0);
            if (on == 2) rg_profile_start(c, path);
            rg_jit_call(j, RG_TENSORS(x, one), &y); /* the first takes the block that it writes to */
            double t0 = now();
            rg_jit_call(j, RG_TENSORS(x, one), &y);
            took[on][r] = now() - t0;
            if (on == 2) rg_profile_stop(c);
        }
    unlink(path);
    if (rg_status_of(c)) return fprintf(stderr, "profile: %s\n", rg_error(c)), 1;
    for (int on = 0; on < 3; on++) qsort(took[on], ROUNDS, sizeof took[on][0], by_value);
    printf("%d replayed kernels of %.2f us\n", KERNELS, 1e6 * took[0][0] / KERNELS);
    printf("                                 us      cost   ns a kernel\n");
    for (int on = 0; on < 3; on++)
        for (int k = 0; k < 2; k++) {
            static const char *const what[] = {"nothing", "flight recorder", "recording"};
            double t = took[on][k ? ROUNDS / 2 : 0], was = took[on == 2][k ? ROUNDS / 2 : 0];
            printf("%-16s %-8s %10.1f %7.2f %% %11.1f\n", what[on], k ? "median" : "best", 1e6 * t,
                   100 * (t / was - 1), 1e9 * (t - was) / KERNELS);
        }
    return rg_close(c) != RG_OK;
}
