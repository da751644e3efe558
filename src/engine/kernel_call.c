/* kernel_call.c: one call of a kernel, as its DEBUG line and a profile name it.
 * Tests: tests/cli/debug.sh, tests/unit/profile.c */
#include "engine/internal.h"

#include <stdlib.h>

/* ---- names: E_ or r_ and the sizes, coloured by how the axis runs ----------------------------------------------- */

static const char *axis_color(uint8_t kind) {
    switch (kind) {
    case AX_GRID: return "\033[34m";   /* blue */
    case AX_REDUCE: return "\033[31m"; /* red */
    case AX_SCAN: return "\033[35m";   /* magenta */
    default: return "\033[37m";        /* white */
    }
}

/* The kind of the axis whose size stands in the name, if the sizes of the kernel's axes leave no doubt. */
static const uop *range_of_size(const uop_vec *topo, uint8_t *used, long long size) {
    for (uint32_t i = 0; i < topo->n; i++) {
        const uop *r = topo->p[i];
        if (r->op != OP_RANGE || used[i] || r->src[0]->op != OP_CONST || r->src[0]->arg.i != size) continue;
        used[i] = 1;
        return r;
    }
    return NULL;
}

const char *call_name(struct arena *a, const struct sched_prog *p) {
    const char *name = p->kernel.name;
    int pad = CALL_NAME_WIDTH - (int)strlen(name);
    if (!log_on(2) || !log_color()) return arena_printf(a, "%-*s", CALL_NAME_WIDTH, name);
    uop_vec topo = {0};
    struct str s;
    str_init(&s, a);
    uop_topo(a, &p->kernel.sink, 1, &topo);
    uint8_t *used = arena_array(a, uint8_t, topo.n + 1);
    for (const char *at = name; *at;) {
        size_t n = strcspn(at, "_");
        char *end;
        long long size = strtoll(at, &end, 10);
        const uop *r = n && end == at + n ? range_of_size(&topo, used, size) : NULL;
        str_printf(&s, "%s%.*s%s", r ? axis_color(r->arg.range.kind) : "", (int)n, at, r ? "\033[0m" : "");
        at += n;
        if (*at) str_addc(&s, *at++);
    }
    str_printf(&s, "%*s", RG_MAX(pad, 0), "");
    return s.p;
}

/* ---- what a profile says of a kernel --------------------------------------------------------------------------------- */

/* Graph and source have names of their own: calls that share a kernel share them, and a recording holds them once. */
uint32_t call_event(struct arena *work, struct kernel_call *c, const char *site) {
    struct str s;
    str_init(&s, work);
    if (!event_recording()) { /* the flight recorder: short */
        str_printf(&s, "%.800s\t%.0f\t%s\t%.200s", site, c->roof * 1e9, c->bound, c->shapes);
        return event_name_shared(s.p);
    }
    if (!c->said[0] && c->text) {
        str_printf(&s, "kernel %s\n%s%s%s%s", c->k->name, *c->opts ? "opts " : "", c->opts,
                   *c->opts ? "\n" : "", c->text);
        c->said[0] = event_name(s.p);
        s.n = 0;
    }
    if (!c->said[1]) c->said[1] = event_name(c->k->source);
    str_printf(&s, "%.800s\t%.0f\t%s\t%.200s\t%s\t%.0f\t%u\t%u\t", site, c->roof * 1e9, c->bound, c->shapes,
               c->k->key, c->predicted * 1e9, c->said[0], c->said[1]);
    roof_print(&s, c);
    str_printf(&s, "\t%s", c->opts);
    return event_name_shared(s.p);
}
