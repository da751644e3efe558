/* quiet.c: does this program have the machine for itself? A loop of known length tells: others interrupt it, an unsteady clock
 * stretches it. Tests: tests/cli/doctor.sh, tests/cli/explore.sh */
#include "cli.h"

#include <stdlib.h>

static double spin_ns(void) {
    uint64_t x = 1, t0 = os_now_ns();
    for (int i = 0; i < 20000; i++) {
        __asm__ volatile("" : "+r"(x)); /* not to be computed in advance */
        x = x * 3 + 1;
    }
    return (double)(os_now_ns() - t0);
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

struct cli_quiet cli_quiet(void) {
    enum { TIMES = 2000 };
    static double ns[TIMES];
    double all = 0;
    struct cli_quiet q = {0};
    for (int i = 0; i < TIMES; i++) all += ns[i] = spin_ns();
    qsort(ns, TIMES, sizeof *ns, by_value);
    q.spread = ns[TIMES / 2] / ns[0] - 1;
    q.lost = RG_MAX(1 - ns[TIMES / 2] * TIMES / all, 0);
    getloadavg(&q.load, 1);
    return q;
}

bool cli_say_busy(void) {
    struct cli_quiet q = cli_quiet();
    if (q.lost <= CLI_BUSY) return false;
    printf("BUSY   others took %.0f%% of a busy loop (load %.1f): figures below are of what they left; "
           "measure again when "
           "it is quiet\n",
           100 * q.lost, q.load);
    return true;
}
