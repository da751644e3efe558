/* diff.c: why one recording took longer than another.
 *
 * The wall time of each is divided by its steps (if both have any), and the difference is broken down twice: by the keys of the
 * budget, and the part that kernels have in it by kernel (or line, function, module). Each kernel's part is again two: called
 * more or less often, at what a call took before; and each call slower or faster than before.
 * Everything sums exactly. A part per step is a fraction, so sums are rounded instead of parts: part i is
 * round(S(i)) - round(S(i-1)), where S(i) are exact sums over a common denominator. What kernels take in sum and in the budget
 * differs where they overlap, or where recording was paused: that is a part of its own.
 * What a program does once (planning, compiling, loading) can be left out: then only the steps count, without the first ones.
 * Tests: tests/unit/diff.c */
#include "analyze/internal.h"

#include <stdlib.h>

/* A sum of fractions x/na and y/nb, times na*nb, and how much of it was distributed. */
struct total {
    __int128 exact;
    int64_t given;
    int64_t na, nb;
};

static int64_t rounded(const struct total *s) {
    __int128 n = (__int128)s->na * s->nb, x = s->exact, half = n / 2;
    return (int64_t)(x >= 0 ? (x + half) / n : -((-x + half) / n));
}

/* The part of b/nb - a/na in it. */
static int64_t part(struct total *s, int64_t a, int64_t b) {
    s->exact += (__int128)b * s->na - (__int128)a * s->nb;
    int64_t now = rounded(s), d = now - s->given;
    s->given = now;
    return d;
}

/* ---- what counts of a recording --------------------------------------------------------------------------------- */

struct diff_side {
    const struct diag *d;
    uint32_t steps;
    int64_t wall, budget[BUDGET_KEYS];
    uint32_t *count; /* by row of d->kernels */
    int64_t *ns;
};

static void take_all(struct arena *a, struct diff_side *s) {
    const struct diag *d = s->d;
    s->steps = d->steps.n;
    s->wall = d->wall_ns;
    memcpy(s->budget, d->budget, sizeof s->budget);
    s->count = arena_array(a, uint32_t, d->kernels.n + 1);
    s->ns = arena_array(a, int64_t, d->kernels.n + 1);
    for (uint32_t i = 0; i < d->kernels.n; i++)
        s->count[i] = d->kernels.p[i].count, s->ns[i] = d->kernels.p[i].ns;
}

/* The steps from `skip` on, as far as they were recorded; nothing twice. */
typedef VEC(struct trace_span) spans;
static spans step_spans(struct arena *a, const struct diag *d, uint32_t skip) {
    spans v = {0};
    const struct trace_span *on = d->t->recorded.p;
    uint32_t n = d->t->recorded.n, at = 0;
    int64_t last = INT64_MIN;
    for (uint32_t i = skip; i < d->steps.n; i++) {
        int64_t t0 = RG_MAX(d->steps.p[i].t0, last), t1 = d->steps.p[i].t1;
        while (at < n && on[at].t1 <= t0) at++;
        for (uint32_t k = at; k < n && on[k].t0 < t1; k++) {
            struct trace_span x = {RG_MAX(t0, on[k].t0), RG_MIN(t1, on[k].t1)};
            if (x.t1 > x.t0) vec_push(a, &v, x);
        }
        if (!n && t1 > t0) vec_push(a, &v, ((struct trace_span){t0, t1}));
        last = RG_MAX(last, t1);
    }
    return v;
}

/* In a Ridge profile every moment is in one piece, or in a kernel. */
static void take_steps(struct arena *a, struct diff_side *s, uint32_t skip) {
    const struct diag *d = s->d;
    spans w = step_spans(a, d, skip);
    uint32_t piece = 0, dev = 0;
    s->steps = d->steps.n - skip;
    s->count = arena_array(a, uint32_t, d->kernels.n + 1);
    s->ns = arena_array(a, int64_t, d->kernels.n + 1);
    for (uint32_t i = 0; i < w.n; i++) {
        int64_t rest = w.p[i].t1 - w.p[i].t0;
        s->wall += rest;
        while (piece < d->idle_n && d->idle[piece].t1 <= w.p[i].t0) piece++;
        for (uint32_t k = piece; k < d->idle_n && d->idle[k].t0 < w.p[i].t1; k++) {
            int64_t ns = RG_MIN(d->idle[k].t1, w.p[i].t1) - RG_MAX(d->idle[k].t0, w.p[i].t0);
            s->budget[d->idle[k].cause] += ns;
            rest -= ns;
        }
        s->budget[BUDGET_KERNELS] += rest;
        for (; dev < d->dev_n && d->t->ev[d->dev[dev]].t0 < w.p[i].t1; dev++) {
            const struct trace_event *e = &d->t->ev[d->dev[dev]];
            uint32_t row = d->dev_row[dev];
            if (e->t0 >= w.p[i].t0 && row < d->kernels.n) s->count[row]++, s->ns[row] += e->dur;
        }
    }
}

/* ---- rows ------------------------------------------------------------------------------------------------------ */

struct diff_rows {
    struct arena *a;
    struct map at; /* hash of the name -> 1 + row */
    struct diff *out;
};

static struct diff_row *row_of(struct diff_rows *r, const char *name) {
    uint64_t h = hash_bytes(name, strlen(name), 1), at;
    for (; map_get(&r->at, h, &at); h = hash_u64(h + 1))
        if (!strcmp(r->out->rows.p[at - 1].name, name)) return &r->out->rows.p[at - 1];
    vec_push(r->a, &r->out->rows, ((struct diff_row){.name = name, .where = ""}));
    map_put(&r->at, h, r->out->rows.n);
    return &r->out->rows.p[r->out->rows.n - 1];
}

static const char *name_of(const struct diag *d, const struct kernel_row *k, int by) {
    if (by == GROUP_CLASS) return class_text(k->cls);
    uint32_t id = by == GROUP_OP       ? k->op
                  : by == GROUP_SHAPE  ? k->shape
                  : by == GROUP_LINE   ? k->where
                  : by == GROUP_MODULE ? k->module
                                       : k->name;
    return trace_str(d->t, id);
}

static void add_side(struct diff_rows *r, const struct diff_side *s, int side, int by) {
    const struct diag *d = s->d;
    for (uint32_t i = 0; i < d->kernels.n; i++) { /* the dearest first: its line is shown */
        const struct kernel_row *k = &d->kernels.p[i];
        if (!s->count[i]) continue;
        struct diff_row *x = row_of(r, name_of(d, k, by));
        if (!*x->where && k->where) x->where = trace_str(d->t, k->where);
        x->calls[side] += s->count[i];
        x->ns[side] += s->ns[i];
    }
}

/* More calls at the old price; what is left is the price. */
static void split_row(const struct diff *f, struct diff_row *x) {
    bool both = x->calls[0] && x->calls[1];
    x->by_calls = x->delta;
    if (both) {
        double more = (double)x->calls[1] / f->steps[1] - (double)x->calls[0] / f->steps[0];
        bool same = (__int128)x->calls[1] * f->steps[0] == (__int128)x->calls[0] * f->steps[1];
        double ns = same ? 0 : more * ((double)x->ns[0] / (double)x->calls[0]);
        x->by_calls = (int64_t)(ns < 0 ? ns - 0.5 : ns + 0.5);
    }
    x->by_time = x->delta - x->by_calls;
    bool calls = llabs(x->by_calls) > llabs(x->by_time);
    x->what = !x->calls[0]     ? DIFF_NEW
              : !x->calls[1]   ? DIFF_GONE
              : !x->delta      ? DIFF_SAME
              : calls          ? (x->by_calls > 0 ? DIFF_MORE : DIFF_FEWER)
              : x->by_time > 0 ? DIFF_SLOWER
                               : DIFF_FASTER;
}

static int largest(const void *x, const void *y) {
    const struct diff_row *a = x, *b = y;
    int64_t p = llabs(a->delta), q = llabs(b->delta);
    return p != q ? (p > q ? -1 : 1) : strcmp(a->name, b->name);
}

const char *diff_text(int what) {
    static const char *const text[] = {"same",   "new",        "gone",       "slower",
                                       "faster", "more calls", "fewer calls"};
    return what >= 0 && what < (int)RG_COUNT(text) ? text[what] : "?";
}

int64_t diff_kernels(const struct diff *f) { return f->budget[BUDGET_KERNELS] + f->budget[BUDGET_COMM]; }

void diag_diff(struct arena *a, struct diag *x, struct diag *y, const struct diff_how *how,
               struct diff *out) {
    struct diff_side side[2] = {{.d = x}, {.d = y}};
    *out = (struct diff){.of = {x, y}, .how = *how, .per_step = x->steps.n && y->steps.n};
    for (int i = 0; i < 2; i++) {
        bool ridge = side[i].d->t->format == TRACE_RIDGE;
        if (how->skip && (!ridge || side[i].d->steps.n <= how->skip))
            err_throw(a->err, RG_EINVAL,
                      ridge ? "recording %c has %u steps: leaving out %u leaves none"
                            : "recording %c is no Ridge profile: its steps cannot be looked at alone",
                      'A' + i, side[i].d->steps.n, how->skip);
        how->skip ? take_steps(a, &side[i], how->skip) : take_all(a, &side[i]);
        out->steps[i] = out->per_step ? side[i].steps : 1;
        memcpy(out->of_budget[i], side[i].budget, sizeof side[i].budget);
    }
    struct total wall = {.na = out->steps[0], .nb = out->steps[1]}, kernels = wall;
    for (int k = 0; k < BUDGET_KEYS; k++) out->budget[k] = part(&wall, side[0].budget[k], side[1].budget[k]);
    out->delta = wall.given;
    for (int i = 0; i < 2; i++) {
        struct total each = {.na = out->steps[i], .nb = out->steps[i]};
        out->wall[i] = part(&each, 0, side[i].wall);
    }
    struct diff_rows r = {.a = a, .out = out};
    map_init(&r.at, a);
    for (int i = 0; i < 2; i++) add_side(&r, &side[i], i, how->by);
    for (uint32_t i = 0; i < out->rows.n; i++) {
        struct diff_row *k = &out->rows.p[i];
        k->delta = part(&kernels, k->ns[0], k->ns[1]);
        split_row(out, k);
    }
    out->overlap = diff_kernels(out) - kernels.given;
    if (out->rows.n) qsort(out->rows.p, out->rows.n, sizeof *out->rows.p, largest);
}
