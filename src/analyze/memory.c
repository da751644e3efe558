/* memory.c: what device memory did: peak, who owns it, and whether it grows without end.
 *
 * From allocator events inside a timeline, or from a snapshot of PyTorch's allocator. Growth is judged
 * by blocks that outlive their step (or, without steps, the valleys of the curve): a rising peak alone
 * is warm-up, a rising valley is a leak. Tests: tests/unit/analyze.c */
#include "analyze/internal.h"

#include <stdlib.h>

#define POINTS 2000

struct live_block {
    int64_t t, size;
    uint32_t where;
};

struct memory_replay {
    struct diag *d;
    struct map live; /* address -> index into blocks + 1 */
    VEC(struct live_block) blocks;
    int64_t now;
    VEC(struct memory_point) all;
};

/* Sums of sizes that a file made up stay below 2^60, more than any machine has, so that what is computed from
 * them cannot overflow. */
static int64_t bounded(int64_t x) {
    const int64_t most = (int64_t)1 << 60;
    return x > most ? most : x < -most ? -most : x;
}
static int64_t plus(int64_t a, int64_t b) { return bounded(bounded(a) + bounded(b)); }

static void on_alloc(struct memory_replay *r, int64_t t, uint64_t addr, int64_t size, uint32_t where) {
    vec_push(&r->d->arena, &r->blocks, ((struct live_block){t, bounded(size), where}));
    map_put(&r->live, addr, r->blocks.n);
    r->now = plus(r->now, size);
}
static void on_free(struct memory_replay *r, uint64_t addr, int64_t size) {
    uint64_t i;
    if (map_get(&r->live, addr, &i) && i) {
        r->blocks.p[i - 1].size = -r->blocks.p[i - 1].size; /* released */
        map_put(&r->live, addr, 0);
    }
    r->now = plus(r->now, -bounded(size));
}

static int owner_order(const void *x, const void *y) {
    const struct memory_owner *a = x, *b = y;
    if (a->bytes != b->bytes) return a->bytes > b->bytes ? -1 : 1;
    return a->where < b->where ? -1 : a->where > b->where;
}

/* What is still held of all that was allocated in the recording, by source line. */
static void find_owners(struct memory_replay *r) {
    struct diag *d = r->d;
    struct map m;
    map_init(&m, &d->arena);
    for (uint32_t i = 0; i < r->blocks.n; i++) {
        const struct live_block *b = &r->blocks.p[i];
        if (b->size <= 0) continue;
        uint64_t k;
        if (!map_get(&m, b->where, &k)) {
            k = d->owners.n;
            vec_push(&d->arena, &d->owners, ((struct memory_owner){.where = b->where}));
            map_put(&m, b->where, k);
        }
        d->owners.p[k].bytes = plus(d->owners.p[k].bytes, b->size);
        d->owners.p[k].count++;
    }
    if (d->owners.n) qsort(d->owners.p, d->owners.n, sizeof *d->owners.p, owner_order);
}

static void thin(struct memory_replay *r) {
    struct diag *d = r->d;
    uint32_t n = r->all.n, step = n / POINTS + 1;
    for (uint32_t i = 0; i < n; i += step) {
        /* The highest point of each stretch, so that a peak is never thinned away. */
        struct memory_point best = r->all.p[i];
        for (uint32_t k = i; k < n && k < i + step; k++)
            if (r->all.p[k].bytes > best.bytes) best = r->all.p[k];
        vec_push(&d->arena, &d->mem, best);
    }
    for (uint32_t i = 0; i < n; i++) d->mem_peak = RG_MAX(d->mem_peak, r->all.p[i].bytes);
    if (n) d->mem_first = r->all.p[0].bytes, d->mem_last = r->all.p[n - 1].bytes;
}

/* Valleys of `parts` equal stretches rise, each by at least `least` bytes. */
static bool rising(const struct memory_replay *r, uint32_t parts, int64_t least, int64_t *each) {
    uint32_t n = r->all.n;
    if (n < parts * 3) return false;
    int64_t last = 0, first = 0;
    for (uint32_t p = 0; p < parts; p++) {
        int64_t low = INT64_MAX;
        for (uint32_t i = (uint32_t)((uint64_t)n * p / parts); i < (uint64_t)n * (p + 1) / parts; i++)
            low = RG_MIN(low, r->all.p[i].bytes);
        if (p && low < last + least) return false;
        if (!p) first = low;
        last = low;
    }
    *each = (last - first) / (parts - 1);
    return true;
}

static void judge_snapshot(struct memory_replay *r) {
    struct diag *d = r->d;
    struct trace *t = d->t;
    int64_t each, least = RG_MAX(d->mem_peak / 50, (int64_t)4096);
    if (t->moment || !rising(r, 4, least, &each) || !d->owners.n) return;
    /* The largest holder must have gone on taking blocks through the whole recording. */
    const struct memory_owner *o = &d->owners.p[0];
    int64_t first = INT64_MAX, last = 0;
    for (uint32_t i = 0; i < r->blocks.n; i++) {
        const struct live_block *b = &r->blocks.p[i];
        if (b->size <= 0 || b->where != o->where) continue;
        first = RG_MIN(first, b->t);
        last = RG_MAX(last, b->t);
    }
    int64_t span = t->snap.n ? t->snap.p[t->snap.n - 1].t - t->snap.p[0].t : 0;
    if (o->count >= 4 && last - first >= span / 2) {
        d->mem_leak = true;
        d->mem_growth_step = o->bytes / o->count;
        d->mem_steps = o->count;
    }
}

static void from_snapshot(struct diag *d) {
    struct trace *t = d->t;
    struct memory_replay r = {.d = d};
    map_init(&r.live, &d->arena);
    for (uint32_t i = 0; i < t->snap.n; i++) {
        const struct trace_snapshot_event *e = &t->snap.p[i];
        if (e->action == 'a')
            on_alloc(&r, e->t, e->addr, e->size, e->stack);
        else if (e->action == 'f')
            on_free(&r, e->addr, e->size);
        else
            continue;
        vec_push(&d->arena, &r.all, ((struct memory_point){e->t, r.now}));
    }
    /* What was held before the recording began: the difference to what is held now. */
    int64_t before = plus(t->snap_allocated, -r.now);
    if (t->snap_allocated && before > 0)
        for (uint32_t i = 0; i < r.all.n; i++) r.all.p[i].bytes = plus(r.all.p[i].bytes, before);
    thin(&r);
    find_owners(&r);
    d->mem_reserved = t->snap_reserved;
    if (t->snap_reserved) d->fragmentation = (double)t->snap_inactive / (double)t->snap_reserved;
    if (t->snap.n) {
        d->w0 = t->snap.p[0].t;
        d->w1 = t->snap.p[t->snap.n - 1].t;
        d->wall_ns = d->w1 - d->w0;
        d->budget[BUDGET_OTHER] = d->wall_ns; /* a snapshot says nothing about time */
    }
    judge_snapshot(&r);
}

static void judge_steps(struct memory_replay *r) {
    struct diag *d = r->d;
    if (d->steps.n < 3) {
        int64_t each;
        if (rising(r, 4, RG_MAX(d->mem_peak / 50, (int64_t)1 << 20), &each)) {
            d->mem_leak = true;
            d->mem_growth_step = each;
            d->mem_steps = 4;
        }
        return;
    }
    /* Held at the start of each step; the first is warm-up's. */
    int64_t prev = -1, first = -1;
    uint32_t up = 0, n = 0, k = 0;
    for (uint32_t s = 0; s < d->steps.n; s++) {
        int64_t held = -1;
        for (; k < r->all.n && r->all.p[k].t < d->steps.p[s].t1; k++) held = r->all.p[k].bytes;
        if (held < 0) continue;
        if (prev >= 0)
            up += held > prev + 65536, n++;
        else
            first = held;
        prev = held;
    }
    if (n >= 2 && up == n && prev - first > RG_MAX(d->mem_peak / 200, (int64_t)1 << 20)) {
        d->mem_leak = true;
        d->mem_growth_step = (prev - first) / n;
        d->mem_steps = n;
    }
}

static void from_events(struct diag *d) {
    struct trace *t = d->t;
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->n; i++) n += t->ev[i].kind == TK_MEM;
    if (!n) return;
    uint32_t *at = arena_raw(&d->arena, n * sizeof *at), k = 0;
    for (uint32_t i = 0; i < t->n; i++)
        if (t->ev[i].kind == TK_MEM) at[k++] = i;
    trace_sort(t->ev, at, n, arena_raw(&d->arena, n * sizeof *at));
    struct memory_replay r = {.d = d};
    map_init(&r.live, &d->arena);
    for (uint32_t i = 0; i < n; i++) {
        const struct trace_event *e = &t->ev[at[i]];
        const struct trace_copy_args *c = trace_blob(t, e->args, sizeof *c);
        int64_t size = c ? c->bytes : 0;
        uint64_t addr = (uint64_t)e->aux << 32 | e->corr;
        if (size > 0) {
            uint32_t where = user_line(d, e->link);
            if (!where && e->link) where = t->ev[e->link - 1].name;
            on_alloc(&r, e->t0, addr, size, where);
        } else {
            on_free(&r, addr, -size);
        }
        vec_push(&d->arena, &r.all, ((struct memory_point){e->t0, e->dur >= 0 ? e->dur : r.now}));
    }
    thin(&r);
    find_owners(&r);
    judge_steps(&r);
}

void diag_memory(struct diag *d) {
    if (d->t->format == TRACE_SNAPSHOT)
        from_snapshot(d);
    else if (d->t->format == TRACE_RIDGE)
        ridge_memory(d);
    else
        from_events(d);
}
