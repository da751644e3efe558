/* phases.c: start-up apart from the steps of a Ridge program, and its programs apart from one another.
 *
 * A step is known by the plan that runs longest in it, so training and evaluation are two phases whatever they are called. A step
 * in which something new was planned is start-up, unless most are like that; so is a plan that ran once beside others that
 * repeat, and all time that is between no two steps of the loop: before the first, where one program follows another
 * once, after the last. What is judged (diag.steady) are the other steps; without two of them, the whole recording.
 * What the recording itself took inside of a step is no part of the step: it counts as start-up, and lengths, shares and causes are
 * those of the program alone.
 * The budgets of phases and start-up sum to that of the recording, because a moment is in one of them.
 * Tests: tests/unit/phases.c */
#include "analyze/internal.h"

#include <stdlib.h>

struct phase_steps {
    struct diag *d;
    struct step_row *step;
    uint32_t n;
    int64_t *longest;  /* by step: of its runs */
    bool *planned;     /* by step: something new was planned in it .. */
    bool *planned_gap; /* .. or before the next */
    struct map times;  /* program -> how often */
};

static bool is_run(const struct trace_event *e) {
    return e->kind == TK_API && !(e->flags & (TF_H2D | TF_D2H | TF_D2D));
}

/* The step that began last before t; n: none. */
static uint32_t step_at(const struct phase_steps *s, int64_t t) {
    uint32_t lo = 0, hi = s->n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (s->step[mid].t0 <= t)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo ? lo - 1 : s->n;
}

/* The user's line of the call around an event; trace_str, 0 none. */
static uint32_t line_around(const struct trace *t, uint32_t link) {
    while (link && !(t->ev[link - 1].kind == TK_OP && t->ev[link - 1].args)) link = t->ev[link - 1].link;
    return link ? t->ev[link - 1].args : 0;
}

static void read_runs(struct phase_steps *s) {
    const struct trace *t = s->d->t;
    for (uint32_t i = 0; i < t->n; i++) {
        const struct trace_event *e = &t->ev[i];
        uint32_t k = is_run(e) ? step_at(s, e->t0) : s->n;
        if (k == s->n) continue;
        bool inside = e->t0 < s->step[k].t1 || e->t0 == s->step[k].t0;
        if (e->flags & TF_PLANNED) *(inside ? &s->planned[k] : &s->planned_gap[k]) = true;
        if (!inside || e->dur < s->longest[k]) continue;
        s->longest[k] = e->dur;
        s->step[k].program = e->aux;
        s->step[k].line = line_around(t, e->link);
    }
}

static uint64_t times_of(const struct phase_steps *s, uint64_t key) {
    uint64_t n = 0;
    map_get(&s->times, key, &n);
    return n;
}

static uint64_t pair(const struct phase_steps *s, uint32_t i) {
    return hash_u64((uint64_t)s->step[i].program << 32 | s->step[i + 1].program) | 1ull << 63;
}

static void mark_startup(struct phase_steps *s) {
    uint32_t planned = 0, repeated = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        planned += s->planned[i];
        map_put(&s->times, s->step[i].program, times_of(s, s->step[i].program) + 1);
        if (i + 1 < s->n) map_put(&s->times, pair(s, i), times_of(s, pair(s, i)) + 1);
    }
    for (uint32_t i = 0; i < s->n; i++) repeated += times_of(s, s->step[i].program) > 1;
    for (uint32_t i = 0; i < s->n; i++)
        s->step[i].startup =
            (s->planned[i] && planned * 2 <= s->n) || (repeated && times_of(s, s->step[i].program) == 1);
}

/* Up to the next step of the loop: reading a loss, setting a learning rate, your own code. */
static void join(struct phase_steps *s) {
    for (uint32_t i = 0; i + 1 < s->n; i++) {
        struct step_row *x = &s->step[i], *y = x + 1;
        bool loop = x->program == y->program || times_of(s, pair(s, i)) > 1;
        if (loop && !s->planned_gap[i] && !x->startup && !y->startup) x->t1 = RG_MAX(x->t1, y->t0);
        x->t1 = RG_MIN(x->t1, RG_MAX(y->t0, x->t0)); /* nothing twice */
    }
}

static int64_t recorded_in(const struct diag *d, int64_t a, int64_t b) {
    const struct trace_span all = {d->w0, d->w1}, *on = d->t->recorded.n ? d->t->recorded.p : &all;
    uint32_t n = RG_MAX(d->t->recorded.n, 1u), lo = 0, hi = n;
    int64_t ns = 0;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (on[mid].t1 <= a)
            lo = mid + 1;
        else
            hi = mid;
    }
    for (; lo < n && on[lo].t0 < b; lo++) ns += RG_MIN(b, on[lo].t1) - RG_MAX(a, on[lo].t0);
    return ns;
}

/* What of [a, b) was recorded, by what the time was. */
static void add_budget(const struct diag *d, int64_t a, int64_t b, struct phase *p) {
    uint32_t lo = 0, hi = d->idle_n;
    p->wall_ns += recorded_in(d, a, b);
    while (lo < hi) { /* pieces are in order and disjoint */
        uint32_t mid = lo + (hi - lo) / 2;
        if (d->idle[mid].t1 <= a)
            lo = mid + 1;
        else
            hi = mid;
    }
    for (; lo < d->idle_n && d->idle[lo].t0 < b; lo++)
        p->budget[d->idle[lo].cause] += RG_MIN(d->idle[lo].t1, b) - RG_MAX(d->idle[lo].t0, a);
}

static void end_budget(struct phase *p) {
    int64_t rest = p->wall_ns -= p->budget[BUDGET_PROFILER];
    p->budget[BUDGET_PROFILER] = 0;
    for (int k = 0; k < BUDGET_KEYS; k++)
        if (k != BUDGET_KERNELS) rest -= p->budget[k];
    p->budget[BUDGET_KERNELS] = rest;
}

struct step_length {
    uint32_t phase;
    int64_t ns;
};
typedef VEC(struct step_length) step_lengths;

static int by_length(const void *x, const void *y) {
    const struct step_length *a = x, *b = y;
    if (a->phase != b->phase) return a->phase < b->phase ? -1 : 1;
    return a->ns < b->ns ? -1 : a->ns > b->ns;
}

static int dearest(const void *x, const void *y) {
    const struct phase *a = x, *b = y;
    if (a->wall_ns != b->wall_ns) return a->wall_ns > b->wall_ns ? -1 : 1;
    return a->program < b->program ? -1 : a->program > b->program;
}

static void add_steps(struct phase_steps *s, step_lengths *length) {
    struct diag *d = s->d;
    struct map at;
    map_init(&at, &d->arena);
    for (uint32_t i = 0; i < s->n; i++) {
        const struct step_row *x = &s->step[i];
        uint64_t k = d->phases.n;
        if (x->startup) continue;
        if (!map_get(&at, x->program, &k)) {
            map_put(&at, x->program, k);
            vec_push(&d->arena, &d->phases, ((struct phase){.program = x->program, .line = x->line}));
        }
        int64_t before = d->phases.p[k].budget[BUDGET_PROFILER];
        d->phases.p[k].steps++;
        add_budget(d, x->t0, x->t1, &d->phases.p[k]);
        int64_t own = d->phases.p[k].budget[BUDGET_PROFILER] - before;
        vec_push(&d->arena, length, ((struct step_length){(uint32_t)k, x->t1 - x->t0 - own}));
    }
    if (length->n) qsort(length->p, length->n, sizeof *length->p, by_length);
}

static void sum_phases(struct diag *d, const step_lengths *length) {
    uint32_t first = 0;
    for (uint32_t i = 0; i < d->phases.n; i++) {
        struct phase *p = &d->phases.p[i];
        end_budget(p);
        p->median_ns = length->p[first + p->steps / 2].ns;
        first += p->steps;
        d->steady.steps += p->steps;
        d->steady.wall_ns += p->wall_ns;
        for (int k = 0; k < BUDGET_KEYS; k++) d->steady.budget[k] += p->budget[k];
    }
    if (d->phases.n) qsort(d->phases.p, d->phases.n, sizeof *d->phases.p, dearest);
}

void ridge_phases(struct diag *d) {
    struct phase_steps s = {.d = d, .step = d->steps.p, .n = d->steps.n};
    step_lengths length = {0};
    map_init(&s.times, &d->arena);
    s.longest = arena_array(&d->arena, int64_t, s.n + 1);
    s.planned = arena_array(&d->arena, bool, s.n + 1);
    s.planned_gap = arena_array(&d->arena, bool, s.n + 1);
    read_runs(&s);
    mark_startup(&s);
    join(&s);
    add_steps(&s, &length);
    sum_phases(d, &length);
    if (d->steady.steps < 2 || !d->steady.wall_ns) { /* nothing repeats */
        d->phases.n = 0;
        d->steady = (struct phase){.steps = s.n, .wall_ns = d->wall_ns};
        memcpy(d->steady.budget, d->budget, sizeof d->budget);
    }
    d->startup.wall_ns = d->wall_ns - d->steady.wall_ns;
    for (int k = 0; k < BUDGET_KEYS; k++) d->startup.budget[k] = d->budget[k] - d->steady.budget[k];
}

int64_t ridge_steady_of(const struct diag *d, int64_t a, int64_t b) {
    if (!d->phases.n) return b - a;
    const struct phase_steps s = {.step = d->steps.p, .n = d->steps.n};
    uint32_t i = step_at(&s, a);
    int64_t ns = 0;
    for (i = i == s.n ? 0 : i; i < s.n && s.step[i].t0 < b; i++)
        if (!s.step[i].startup) ns += RG_MAX(RG_MIN(b, s.step[i].t1) - RG_MAX(a, s.step[i].t0), 0);
    return ns;
}

/* Kernels that run beside one another take longer each: together they are judged by the time in which any runs. */
static void roof_of_steps(struct diag *d) {
    double roof = 0, known = 0, all = 0, busy = (double)d->steady.budget[BUDGET_KERNELS];
    for (uint32_t i = 0; i < d->kernels.n; i++) {
        const struct kernel_row *k = &d->kernels.p[i];
        double each = d->slices ? ridge_kernel_ns(d, k) : k->count ? (double)k->ns / k->count : 0;
        double ns = each * k->steady;
        all += ns;
        if (k->modelled) roof += k->roof * ns, known += ns;
    }
    if (known > 0) d->roof = RG_MIN(roof / known * (busy > 0 ? RG_MAX(all / busy, 1) : 1), 1);
}

/* Kernels by the step they began in; what those of each phase would take at best. */
void ridge_phase_kernels(struct diag *d) {
    const struct phase_steps s = {.step = d->steps.p, .n = d->steps.n};
    struct map at;
    map_init(&at, &d->arena);
    for (uint32_t i = 0; i < d->phases.n; i++) map_put(&at, d->phases.p[i].program, i);
    for (uint32_t i = 0; i < d->dev_n; i++) {
        const struct trace_event *e = &d->t->ev[d->dev[i]];
        struct kernel_row *k = d->dev_row[i] < d->kernels.n ? &d->kernels.p[d->dev_row[i]] : NULL;
        uint32_t x = step_at(&s, e->t0);
        uint64_t phase = UINT64_MAX;
        if (x < s.n && !s.step[x].startup && e->t0 < s.step[x].t1) map_get(&at, s.step[x].program, &phase);
        if (!k || (d->phases.n && phase == UINT64_MAX)) continue;
        const struct trace_kernel_args *a = trace_blob(d->t, k->args, sizeof *a);
        double mean = (double)k->ns / k->count;
        double best = a && a->known & 8 ? RG_MIN((double)a->roof_ns, mean) : mean;
        k->steady++;
        d->steady.best_ns += best;
        if (phase < d->phases.n) d->phases.p[phase].best_ns += best;
    }
    if (d->phases.n) roof_of_steps(d);
}
