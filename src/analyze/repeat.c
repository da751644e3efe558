/* repeat.c: finds the layers of a model by the repetition of its kernels, with no annotations.
 *
 * Candidate periods come from how far back the same four kernels were seen last; each is then checked
 * by one pass over the sequence. Linear in the kernels, times a small number of candidates. Within one
 * step, so that the step itself is not taken for a layer. Tests: tests/unit/analyze.c */
#include "analyze/internal.h"

#include <stdlib.h>

#define CANDIDATES 24

struct vote {
    uint32_t period;
    uint32_t n;
};
static int vote_order(const void *x, const void *y) {
    const struct vote *a = x, *b = y;
    if (a->n != b->n) return a->n > b->n ? -1 : 1;
    return a->period < b->period ? -1 : a->period > b->period;
}

/* Longest run with seq[i] == seq[i + p]; *start is where it begins. */
static uint32_t run_of(const uint32_t *seq, uint32_t n, uint32_t p, uint32_t *start) {
    uint32_t best = 0, run = 0;
    for (uint32_t i = 0; i + p < n; i++) {
        run = seq[i] == seq[i + p] ? run + 1 : 0;
        if (run > best) best = run, *start = i + 1 - run;
    }
    return best ? best + p : 0;
}

static void search(struct diag *d, const uint32_t *seq, const int64_t *ns, uint32_t n) {
    struct map seen, votes;
    map_init(&seen, &d->arena);
    map_init(&votes, &d->arena);
    VEC(struct vote) list = {0};
    for (uint32_t i = 0; i + 4 <= n; i++) {
        uint64_t h = hash_bytes(seq + i, 4 * sizeof *seq, 7), last, v;
        if (map_get(&seen, h, &last)) {
            uint32_t p = i - (uint32_t)last;
            if (!map_get(&votes, p, &v)) {
                v = list.n;
                vec_push(&d->arena, &list, ((struct vote){.period = p}));
                map_put(&votes, p, v);
            }
            list.p[v].n++;
        }
        map_put(&seen, h, i);
    }
    if (!list.n) return;
    qsort(list.p, list.n, sizeof *list.p, vote_order);
    double best = 0;
    for (uint32_t k = 0; k < list.n && k < CANDIDATES; k++) {
        uint32_t p = list.p[k].period, start = 0, len = run_of(seq, n, p, &start), reps = p ? len / p : 0;
        if (p < 4 || reps < 3) continue; /* two kernels that alternate are no layer */
        double score = (double)reps * p * (1 - 1.0 / reps);
        if (score <= best * 1.02) continue;
        best = score;
        d->layer_period = p;
        d->layer_count = reps;
        d->layer_ns = 0;
        for (uint32_t i = start; i < start + reps * p; i++) d->layer_ns += ns[i];
    }
    if (best < n / 4.0) d->layer_period = d->layer_count = 0; /* most of the step must repeat */
}

void diag_layers(struct diag *d) {
    struct trace *t = d->t;
    if (d->dev_n < 12) return;
    /* The step in the middle; without steps, everything. */
    int64_t a = INT64_MIN, b = INT64_MAX;
    if (d->steps.n) {
        const struct step_row *s = &d->steps.p[d->steps.n / 2];
        a = s->t0;
        b = d->steps.n / 2 + 1 < d->steps.n ? d->steps.p[d->steps.n / 2 + 1].t0 : s->t1;
    }
    struct arena_mark m = arena_mark(&d->arena);
    uint32_t *seq = arena_raw(&d->arena, (size_t)d->dev_n * sizeof *seq), n = 0;
    int64_t *ns = arena_raw(&d->arena, (size_t)d->dev_n * sizeof *ns);
    for (uint32_t i = 0; i < d->dev_n; i++) {
        const struct trace_event *e = &t->ev[d->dev[i]];
        int64_t at = e->link ? t->ev[e->link - 1].t0 : e->t0;
        if (e->kind != TK_KERNEL || at < a || at >= b) continue;
        ns[n] = e->dur;
        seq[n++] = e->name;
    }
    if (n >= 12) search(d, seq, ns, n);
    arena_release(&d->arena, m);
}
