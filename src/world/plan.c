/* plan.c: the backend of `ridge estimate --ranks N`: this process is one of N ranks, and the others are not there. Nothing is exchanged:
 * the NULL device plans programs and runs none.
 * Tests: tests/cli/estimate.sh */
#include "world/internal.h"

static int plan_open(struct world *w, struct err *e) {
    (void)w;
    return e->code;
}

static void plan_close(struct world *w) { (void)w; }

static int plan_run(struct world *w, struct err *e, const struct world_call *c) {
    (void)w, (void)c;
    return err_set(e, RG_EUNSUPPORTED, "backend \"plan\" exchanges nothing; it is for the NULL device");
}

const struct world_ops world_plan = {"plan", plan_open, plan_close, plan_run, false};
