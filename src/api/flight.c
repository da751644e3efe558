/* flight.c: files of events that no profile recorded: the flight recorder's last events, or the blocks in use.
 *
 * FLIGHT=path writes the flight recorder at the end of the process, or at the first error.
 * Tests: tests/unit/profile.c, tests/cli/profile.sh */
#include "internal.h"
#include "report/report.h"

#include <stdlib.h>

static void write_dump(void *arg) {
    struct event_dump *x = arg;
    struct event_list l;
    if (x->c)
        engine_blocks(x->c->engine, &x->arena, &l);
    else
        event_snapshot(&x->arena, &l);
    event_save(&x->e, &x->arena, x->path, &l);
}

int event_dump(struct event_dump *x) {
    arena_init(&x->arena, &x->e);
    err_guard(&x->e, write_dump, x);
    arena_free(&x->arena);
    return x->e.code;
}

rg_status rg_flight_dump(const char *path) {
    struct event_dump x = {.path = path};
    return path && *path ? (rg_status)event_dump(&x) : RG_EINVAL;
}

static const char *flight_path(void) {
    const char *path = env_str(ENV_FLIGHT);
    if (!path || !*path || !strcmp(path, "0")) return NULL;
    return strcmp(path, "1") ? path : "ridge.flight";
}

/* Once: what was written at an error stays, because it tells what led to it. */
void flight_write(void) {
    static atomic_bool written;
    const char *path = flight_path();
    if (path && !atomic_exchange(&written, true)) rg_flight_dump(path);
}

void flight_from_env(void) {
    static atomic_bool once;
    if (flight_path() && !atomic_exchange(&once, true)) atexit(flight_write);
}
