/* cats.c: torch.cat in a loop copies all that is there already to append to it, on any device.
 *
 * A cat whose largest part has as many elements as the result of the cat before it copies that result once more; one cat of all parts would
 * take as long as the last of them. Tests: tests/unit/foreign_cpu.c */
#include "analyze/shapes.h"

enum { LEAST_COPIES = 3 };

static bool is_cat(const struct trace *t, const struct trace_event *e) {
    return e->kind == TK_OP && e->args && !strcmp(trace_str(t, e->name), "aten::cat");
}

/* Elements of all tensors of its list, and of the largest. */
static bool parts(const struct trace *t, const struct trace_event *e, int64_t *all, int64_t *most) {
    struct op_shapes s;
    shapes_parse(trace_str(t, e->args), trace_str_len(t, e->args), &s);
    if (!s.n || s.in[0].nd >= 0 || s.in[0].numel <= 0) return false;
    *all = s.in[0].numel, *most = s.in[0].most;
    return true;
}

/* Time of device work by the cat that launched it. */
static void device_times(const struct diag *d, struct map *ns) {
    const struct trace *t = d->t;
    for (uint32_t i = 0; i < d->dev_n; i++) {
        const struct trace_event *e = &t->ev[d->dev[i]];
        uint64_t sum = 0;
        uint32_t x = e->aux;
        for (int k = 0; x && k < 8 && !is_cat(t, &t->ev[x - 1]); k++) x = t->ev[x - 1].link;
        if (!x || !is_cat(t, &t->ev[x - 1])) continue;
        map_get(ns, x, &sum);
        map_put(ns, x, sum + (uint64_t)e->dur);
    }
}

void growing_cats(struct diag *d) {
    const struct trace *t = d->t;
    struct map ns;
    int64_t lost = 0, n = 0, all = 0, most = 0;
    uint32_t top = 0;
    map_init(&ns, &d->arena);
    if (!d->cpu) device_times(d, &ns);
    for (uint32_t l = 0; l < t->lanes.n; l++) {
        int64_t before = 0, took = 0;
        for (uint32_t k = 0; k < t->lanes.p[l].n && t->lanes.p[l].kind == LANE_HOST; k++) {
            uint32_t at = t->order[t->lanes.p[l].first + k];
            const struct trace_event *e = &t->ev[at];
            uint64_t device = 0;
            if (!is_cat(t, e) || !parts(t, e, &all, &most)) continue;
            if (before && most == before && all <= 2 * before) lost += took, n++, top = at + 1;
            if (!d->cpu) map_get(&ns, at + 1, &device);
            before = all, took = d->cpu ? e->dur : (int64_t)device;
        }
    }
    if (n < LEAST_COPIES || !cause_worth(d, lost)) return;
    uint32_t line = user_line(d, top);
    struct cause *c = cause_add(
        d, CAUSE_TRAFFIC, lost, lost, line ? trace_str(t, line) : "aten::cat",
        arena_printf(&d->arena, "torch.cat in a loop: %lld times the result so far is copied to append to it",
                     (long long)n),
        "collect the parts in a list and torch.cat once; or write into a tensor of the final size");
    c->bound = "all copies but the last of each loop";
    c->confirm = "one torch.cat of all parts takes as long as the last one in the loop";
}
