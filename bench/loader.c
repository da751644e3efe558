/* loader.c: how much of the time to prepare a batch a loader hides.
 *
 * 100 steps of 30 ms (a wait, so that no core is busy) whose batches take 20 ms to prepare (a wait too). In turn that is 5.0 s;
 * the bar is 3.3 s, the steps and a tenth. The second table copies real batches, 512 images of 28 x 28 as F32, and
 * says what rg_loader_next itself costs. */
#include "usage.h"

#include <ridge.h>

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

struct source {
    uint64_t batches;
    unsigned usec;
};
static int fill(void *user, uint64_t step, void *const *buf) {
    const struct source *s = user;
    if (s->usec) usleep(s->usec);
    memset(buf[0], (int)step, 512 * 784 * 4);
    return step >= s->batches;
}

static int run(uint64_t steps, unsigned fill_us, unsigned step_us, double *total, double *next) {
    rg_ctx *c = rg_open(NULL);
    static const int64_t shape[] = {512, 1, 28, 28};
    struct source s = {steps, fill_us};
    rg_loader *l = rg_loader_new(c, (&(rg_batch_part){RG_F32, {shape, 4}}), 1, fill, &s);
    double t0 = now();
    *next = 0;
    for (bool end = false; !end;) {
        RG_SCOPE(c);
        rg_tensor x;
        double t1 = now();
        if (rg_loader_next(l, &x, &end)) break;
        *next += now() - t1;
        if (!end && step_us) usleep(step_us);
    }
    *total = now() - t0;
    if (rg_status_of(c)) fprintf(stderr, "%s\n", rg_error(c));
    return rg_close(c) != RG_OK;
}

int main(int argc, char **argv) {
    if (bench_help(argc, argv, "")) return 0;
    double total, next;
    if (run(100, 20000, 30000, &total, &next)) return 1;
    printf("100 steps of 30 ms, batches of 20 ms: %.3f s (bar 3.3 s: %s; in turn 5.0 s), %.3f s in "
           "rg_loader_next\n",
           total, total <= 3.3 ? "kept" : "missed", next);
    if (run(500, 0, 0, &total, &next)) return 1;
    printf("500 batches of 1.6 MB, nothing to wait for: %.1f us a batch, %.2f GB/s through fill and copy\n",
           total / 500 * 1e6, 500 * 512 * 784 * 4 / total * 1e-9);
    return 0;
}
