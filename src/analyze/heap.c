/* heap.c: the device memory of a Ridge program: its owners at the peak, what is alive at the end, what grows with every step.
 *
 * The blocks are replayed in order of time. What was freed and never seen to be taken was there before the recording.
 * At the peak every byte has one row: what was asked for by its owner, what blocks are larger than that (rounding), and
 * of the block that plans keep their values in, the values that are alive at its fullest call and what is free then.
 * The block is as large as the plan that needs most of it, so it is divided as that plan does, whenever that ran.
 * Invariant: the kinds sum to the peak exactly. Tests: tests/unit/profile_memory.c */
#include "analyze/internal.h"
#include "event/event.h"

#include <stdlib.h>

#define GROWING 3 /* steps in which a line must leave something behind to be told */

const char *heap_kind_text(int kind) {
    static const char *const text[HEAP_KINDS] = {[HEAP_OTHER] = "scratch and tables",
                                                 [HEAP_GAP] = "planned, free at that moment",
                                                 [HEAP_ROUNDING] = "rounding of blocks",
                                                 [HEAP_BEFORE] = "from before the recording"};
    if (kind < 0 || kind >= HEAP_KINDS) return "?";
    return kind <= HEAP_TEMPORARY ? event_memory_text((uint32_t)kind) : text[kind];
}
_Static_assert((int)HEAP_TEMPORARY == EVENT_MEM_TEMPORARY, "kinds up to temporaries are the recorder's");

/* ---- what an owner's text says ----------------------------------------------------------------------------- */

static bool next_field(const char **s, size_t *n) {
    const char *p = *s + *n;
    if (!*p) return false;
    *s = p + 1, *n = strcspn(p + 1, "\t");
    return true;
}

static int kind_named(const char *s, size_t n) {
    for (int k = 0; k < EVENT_MEMORIES; k++) {
        const char *t = event_memory_text((uint32_t)k);
        if (strlen(t) == n && !memcmp(s, t, n))
            return k <= HEAP_TEMPORARY ? k : k == EVENT_MEM_PLAN ? HEAP_GAP : HEAP_OTHER;
    }
    return HEAP_OTHER;
}

/* `bytes`: of the block; more was not asked for. */
static struct heap_row parse_owner(struct trace *t, uint32_t owner, int64_t bytes) {
    struct heap_row r = {.kind = HEAP_OTHER, .bytes = bytes, .count = 1};
    const char *s = trace_str(t, owner);
    size_t n = strcspn(s, "\t");
    if (!*s) return r;
    r.kind = (uint8_t)kind_named(s, n);
    if (next_field(&s, &n)) r.bytes = RG_MAX(RG_MIN(atoll(s), bytes), 0);
    if (next_field(&s, &n) && n) {
        struct trace_kernel_args a = {0};
        ridge_site(t, s, n, &a);
        r.op = a.op, r.where = a.where, r.module = a.module;
    }
    if (next_field(&s, &n) && n) r.shape = trace_intern(t, s, n);
    return r;
}

/* ---- rows ----------------------------------------------------------------------------------------------------- */

struct heap_rows {
    struct diag *d;
    heap_rows *out;
    struct map at;
};

static void rows_begin(struct heap_rows *r, struct diag *d, heap_rows *out) {
    *r = (struct heap_rows){.d = d, .out = out};
    map_init(&r->at, &d->arena);
}

static struct heap_row *add_row(struct heap_rows *r, const struct heap_row *x) {
    uint32_t key[5] = {x->kind, x->op, x->module, x->where, x->shape};
    uint64_t h = hash_bytes(key, sizeof key, 1), i;
    if (!map_get(&r->at, h, &i)) {
        i = r->out->n;
        map_put(&r->at, h, i);
        struct heap_row fresh = *x;
        fresh.bytes = 0, fresh.count = 0;
        vec_push(&r->d->arena, r->out, fresh);
    }
    struct heap_row *row = &r->out->p[i];
    row->bytes += x->bytes;
    row->count += x->count;
    return row;
}

static int largest(const void *x, const void *y) {
    const struct heap_row *a = x, *b = y;
    if (a->bytes != b->bytes) return a->bytes > b->bytes ? -1 : 1;
    if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
    return a->where < b->where ? -1 : a->where > b->where ? 1 : a->op < b->op ? -1 : a->op > b->op;
}

static void rows_end(struct heap_rows *r) {
    if (r->out->n) qsort(r->out->p, r->out->n, sizeof *r->out->p, largest);
}

/* ---- replay ---------------------------------------------------------------------------------------------------- */

struct life {
    int64_t t, died, bytes; /* died: INT64_MAX not yet */
    uint64_t number;
    uint32_t owner;
};

struct heap_change { /* of a point: the block that came or went */
    int64_t asked, rest;
    uint8_t kind;
};

struct heap_replay {
    struct diag *d;
    struct trace *t;
    VEC(struct life) life;
    VEC(struct heap_change) change; /* as many as points */
    int64_t before;                 /* bytes that were there when recording began, and were freed later */
    int64_t peak_t;
};

/* Values between kernels lie in the planned block: it is theirs. life NULL: a block from before the recording. */
static struct heap_change change_of(struct heap_replay *r, const struct life *b, int64_t bytes, int sign) {
    if (!b) return (struct heap_change){sign * bytes, 0, HEAP_BEFORE};
    struct heap_row x = parse_owner(r->t, b->owner, b->bytes);
    uint8_t kind = x.kind == HEAP_GAP ? HEAP_TEMPORARY : x.kind;
    return (struct heap_change){sign * x.bytes, sign * (b->bytes - x.bytes), kind};
}

static void point(struct heap_replay *r, int64_t t, int64_t held) {
    struct diag *d = r->d;
    vec_push(&d->arena, &d->mem, ((struct memory_point){t, held}));
    if (held <= d->mem_peak) return;
    d->mem_peak = held;
    r->peak_t = t;
}

/* A block is told again when a recording begins: it counts once. */
static void replay_blocks(struct heap_replay *r) {
    struct trace *t = r->t;
    struct map at; /* number -> 1 + index in life; 0: freed */
    uint64_t k;
    int64_t held = 0;
    map_init(&at, &r->d->arena);
    for (uint32_t pass = 0; pass < 2; pass++) {
        if (pass) held = r->before;
        for (uint32_t i = 0; i < t->blocks.n; i++) {
            const struct trace_block *b = &t->blocks.p[i];
            bool known = map_get(&at, b->number, &k);
            if (!pass) { /* who was there before? */
                if (b->freed && !known && r->before < (int64_t)1 << 60) r->before += b->bytes;
                if (!known) map_put(&at, b->number, 0);
                continue;
            }
            if (b->freed ? known && !k : known && k) continue;
            if (b->freed) {
                const struct life *was = known ? &r->life.p[k - 1] : NULL;
                int64_t bytes = was ? was->bytes : b->bytes;
                held -= bytes;
                vec_push(&r->d->arena, &r->change, change_of(r, was, bytes, -1));
                if (known) r->life.p[k - 1].died = b->t, map_put(&at, b->number, 0);
            } else {
                held = RG_MIN(held + b->bytes, (int64_t)1 << 60);
                vec_push(&r->d->arena, &r->life,
                         ((struct life){b->t, INT64_MAX, b->bytes, b->number, b->owner}));
                map_put(&at, b->number, r->life.n);
                vec_push(&r->d->arena, &r->change, change_of(r, &r->life.p[r->life.n - 1], b->bytes, 1));
            }
            point(r, b->t, held);
        }
        if (!pass) map_init(&at, &r->d->arena);
    }
}

/* ---- planned values ----------------------------------------------------------------------------------------------- */

struct most {
    int64_t bytes; /* alive at .. */
    uint32_t call; /* .. this call */
};

static int by_plan(const void *x, const void *y) {
    const struct trace_planned *a = x, *b = y;
    if (a->plan != b->plan) return a->plan < b->plan ? -1 : 1;
    return a->first < b->first ? -1 : a->first > b->first;
}

/* The call at which most of a plan's values are alive: it is one at which a value begins. */
static struct most fullest(const struct trace_planned *p, uint32_t n) {
    struct most best = {0, 0};
    for (uint32_t i = 0; i < n; i++) {
        if (i && p[i].first == p[i - 1].first) continue;
        int64_t sum = 0;
        for (uint32_t k = 0; k < n && p[k].first <= p[i].first; k++)
            if (p[k].last >= p[i].first) sum += p[k].bytes;
        if (sum > best.bytes) best = (struct most){sum, p[i].first};
    }
    return best;
}

static uint32_t plan_end(const struct trace *t, uint32_t i) {
    uint32_t n = i;
    while (n < t->planned.n && t->planned.p[n].plan == t->planned.p[i].plan) n++;
    return n;
}

/* The plan that needed most of a block, as a range of t->planned. */
static uint32_t neediest(const struct heap_replay *r, uint64_t block, struct most *best) {
    const struct trace *t = r->t;
    struct map ran; /* plans that ran in it */
    uint32_t at = UINT32_MAX;
    map_init(&ran, &r->d->arena);
    for (uint32_t i = 0; i < t->n; i++) {
        const struct trace_copy_args *in =
            t->ev[i].kind == TK_API && t->ev[i].aux ? trace_blob(t, t->ev[i].args, sizeof *in) : NULL;
        if (in && (uint64_t)in->bytes == block) map_put(&ran, t->ev[i].aux, 1);
    }
    *best = (struct most){0, 0};
    for (uint32_t i = 0; i < t->planned.n; i = plan_end(t, i)) {
        if (!map_get(&ran, t->planned.p[i].plan, NULL)) continue;
        struct most m = fullest(t->planned.p + i, plan_end(t, i) - i);
        if (m.bytes > best->bytes) *best = m, at = i;
    }
    return at;
}

static void take_apart(struct heap_replay *r, struct heap_rows *rows, const struct life *b, int64_t asked) {
    struct trace *t = r->t;
    struct most m;
    uint32_t from = neediest(r, b->number, &m);
    int64_t left = asked, *kind = r->d->heap.kind;
    for (uint32_t i = from; from != UINT32_MAX && i < plan_end(t, from); i++) {
        const struct trace_planned *p = &t->planned.p[i];
        if (p->first > m.call || p->last < m.call || p->bytes > left) continue;
        struct heap_row x = parse_owner(t, p->owner, p->bytes);
        x.planned = true;
        add_row(rows, &x);
        kind[x.kind] += x.bytes;
        kind[HEAP_ROUNDING] += p->bytes - x.bytes;
        left -= p->bytes;
    }
    kind[HEAP_GAP] += left;
    kind[HEAP_ROUNDING] += b->bytes - asked;
}

static void at_peak(struct heap_replay *r) {
    struct heap_peak *h = &r->d->heap;
    struct heap_rows rows;
    int64_t sum = 0;
    rows_begin(&rows, r->d, &h->peak);
    if (r->t->planned.n) qsort(r->t->planned.p, r->t->planned.n, sizeof *r->t->planned.p, by_plan);
    for (uint32_t i = 0; i < r->life.n; i++) {
        const struct life *b = &r->life.p[i];
        if (b->t > r->peak_t || b->died <= r->peak_t) continue;
        struct heap_row x = parse_owner(r->t, b->owner, b->bytes);
        h->blocks++;
        sum += b->bytes;
        if (x.kind == HEAP_GAP) {
            take_apart(r, &rows, b, x.bytes);
            continue;
        }
        add_row(&rows, &x);
        h->kind[x.kind] += x.bytes;
        h->kind[HEAP_ROUNDING] += b->bytes - x.bytes;
    }
    h->kind[HEAP_BEFORE] = r->d->mem_peak - sum;
    for (int k = HEAP_GAP; k < HEAP_KINDS; k++) /* they have no owner, but rows sum to the peak too */
        if (h->kind[k]) add_row(&rows, &(struct heap_row){.kind = (uint8_t)k, .bytes = h->kind[k]});
    rows_end(&rows);
}

/* ---- what stays -------------------------------------------------------------------------------------------------- */

/* Freed by rg_close, or never. */
static void at_close(struct heap_replay *r) {
    struct trace *t = r->t;
    VEC(struct trace_span) closing = {0};
    struct heap_rows rows;
    for (uint32_t i = 0; i < t->n; i++)
        if (t->ev[i].kind == TK_OP && !strcmp(trace_str(t, t->ev[i].name), "rg_close"))
            vec_push(&r->d->arena, &closing, ((struct trace_span){t->ev[i].t0, trace_end(&t->ev[i])}));
    r->d->heap.closed = closing.n > 0;
    rows_begin(&rows, r->d, &r->d->heap.left);
    for (uint32_t i = 0; i < r->life.n; i++) {
        const struct life *b = &r->life.p[i];
        bool left = b->died == INT64_MAX;
        for (uint32_t k = 0; k < closing.n && !left; k++)
            left = b->t < closing.p[k].t0 && b->died >= closing.p[k].t0 && b->died <= closing.p[k].t1;
        struct heap_row x = parse_owner(t, b->owner, b->bytes);
        if (left && x.kind != HEAP_OTHER && x.kind != HEAP_GAP) add_row(&rows, &x);
    }
    rows_end(&rows);
}

static uint32_t step_at(const struct diag *d, int64_t t) {
    uint32_t lo = 0, hi = d->steps.n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (d->steps.p[mid].t1 > t)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

/* A line that leaves blocks behind in nearly every step, from its first one to the last. The first step warms up. */
static void growing(struct heap_replay *r) {
    struct diag *d = r->d;
    uint32_t n = d->steps.n;
    heap_rows all = {0};
    struct heap_rows rows;
    VEC(uint32_t) last = {0}, first = {0};
    if (n < GROWING + 1) return;
    int64_t end = d->steps.p[n - 1].t1;
    rows_begin(&rows, d, &all);
    for (uint32_t i = 0; i < r->life.n; i++) {
        const struct life *b = &r->life.p[i];
        uint32_t step = step_at(d, b->t);
        if (b->died < end || step == 0 || step >= n) continue;
        struct heap_row x = parse_owner(r->t, b->owner, b->bytes);
        struct heap_row *row = add_row(&rows, &x);
        uint32_t at = (uint32_t)(row - all.p);
        if (at == first.n) {
            vec_push(&d->arena, &first, step);
            vec_push(&d->arena, &last, UINT32_MAX);
        }
        row->steps += last.p[at] != step;
        last.p[at] = step;
    }
    for (uint32_t i = 0; i < all.n; i++) {
        struct heap_row x = all.p[i];
        uint32_t could = n - first.p[i];
        if (x.steps < GROWING || x.steps * 5 < could * 4) continue;
        x.bytes /= x.steps;
        vec_push(&d->arena, &d->heap.grows, x);
        d->mem_growth_step += x.bytes;
        d->mem_steps = RG_MAX(d->mem_steps, x.steps);
        d->mem_leak = true;
    }
    if (d->heap.grows.n) qsort(d->heap.grows.p, d->heap.grows.n, sizeof *d->heap.grows.p, largest);
}

/* ---- the whole ----------------------------------------------------------------------------------------------------- */

/* The highest point of each stretch, so that a peak is never thinned away; and what it is made of. */
static void thin(struct heap_replay *r) {
    enum { POINTS = 2000 };
    struct diag *d = r->d;
    uint32_t n = d->mem.n, step = n / POINTS + 1, out = 0;
    int64_t now[HEAP_KINDS] = {[HEAP_BEFORE] = r->before};
    d->mem_kind = arena_alloc(&d->arena, (size_t)(n / step + 1) * sizeof *d->mem_kind);
    for (uint32_t i = 0; i < n; i += step, out++) {
        struct memory_point best = {0, -1};
        for (uint32_t k = i; k < n && k < i + step; k++) {
            const struct heap_change *c = &r->change.p[k];
            now[c->kind] += c->asked, now[HEAP_ROUNDING] += c->rest;
            if (d->mem.p[k].bytes <= best.bytes) continue;
            best = d->mem.p[k];
            memcpy(d->mem_kind[out], now, sizeof now);
        }
        d->mem.p[out] = best;
    }
    d->mem.n = out;
}

void ridge_memory(struct diag *d) {
    struct heap_replay r = {.d = d, .t = d->t};
    if (!d->t->blocks.n) return;
    replay_blocks(&r);
    d->mem_first = d->mem.p[0].bytes, d->mem_last = d->mem.p[d->mem.n - 1].bytes;
    for (uint32_t i = 0; i < d->t->reserved.n; i++)
        d->mem_reserved = RG_MAX(d->mem_reserved, d->t->reserved.p[i].bytes);
    d->heap.t = r.peak_t;
    at_peak(&r);
    at_close(&r);
    growing(&r);
    thin(&r);
    for (uint32_t i = 0; i < d->heap.left.n; i++) {
        const struct heap_row *x = &d->heap.left.p[i];
        vec_push(&d->arena, &d->owners, ((struct memory_owner){x->where, x->bytes, x->count}));
    }
}
