/* trace.c: the event model: strings stored once, lanes, records, and what joins them.
 *
 * Readers add records in file order; trace_finish then makes the time relative, sorts each lane with a
 * merge that profits from the runs profilers write, nests host events, and links device work to the
 * call that submitted it by correlation id, never by flow events (they are incomplete in real files).
 * An event is 40 bytes and its index in the order 4. Tests: tests/unit/analyze.c */
#include "analyze/internal.h"

#include <stdlib.h>

#define MAX_LANES 65000

static const char *const kind_text[] = {
#define X(name, text, device) text,
    TRACE_KIND_TABLE(X)
#undef X
};
const char *trace_kind_text(int kind) { return kind >= 0 && kind < TK_KINDS ? kind_text[kind] : "?"; }

static const char *const format_text[] = {
    "unknown", "PyTorch (Kineto JSON)",   "JAX (trace JSON)",     "JAX (xplane)",     "PyTorch snapshot",
    "Ridge",   "Nsight Systems (SQLite)", "Nsight Compute (CSV)", "rocprofv3 (JSON)", "Perfetto (protobuf)"};
const char *trace_format_text(int f) {
    return f >= 0 && f < (int)RG_COUNT(format_text) ? format_text[f] : "?";
}

void trace_init(struct trace *t, struct err *e) {
    memset(t, 0, sizeof *t);
    _Static_assert(sizeof(struct trace_event) == 40, "an event is 40 bytes");
    t->err = e;
    arena_init(&t->arena, e);
    t->with_stack = t->with_shapes = t->with_memory = t->with_flops = t->with_modules = -1;
    t->rank = t->world = -1;
    t->max_events = TRACE_MAX_EVENTS;
}

void trace_free(struct trace *t) {
    mem_free(t->ev);
    mem_free(t->order);
    mem_free(t->str_slots);
    arena_free(&t->arena);
    memset(t, 0, sizeof *t);
}

/* ---- strings --------------------------------------------------------------------------------------- */

static inline uint64_t load8(const uint8_t *p) {
    uint64_t x;
    memcpy(&x, p, 8);
    return x;
}

static uint32_t hash_string(const uint8_t *p, size_t n) {
    uint64_t h = n * 0x9e3779b97f4a7c15u;
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        h = (h ^ load8(p + i)) * 0xff51afd7ed558ccdu;
        h ^= h >> 32;
    }
    uint64_t tail = 0;
    for (size_t k = 0; i + k < n; k++) tail |= (uint64_t)p[i + k] << (8 * k);
    h = (h ^ tail) * 0xc4ceb9fe1a85ec53u;
    return (uint32_t)(h >> 32);
}

static void strings_grow(struct trace *t) {
    uint32_t cap = t->str_mask ? (t->str_mask + 1) * 2 : 1024;
    uint32_t *slots = mem_alloc(cap * sizeof *slots);
    if (!slots) err_throw(t->err, RG_ENOMEM, "no memory for the %u names of this trace", t->strs.n);
    memset(slots, 0xff, cap * sizeof *slots);
    for (uint32_t i = 0; i < t->strs.n; i++) {
        uint32_t h = t->strs.p[i].hash & (cap - 1);
        while (slots[h] != UINT32_MAX) h = (h + 1) & (cap - 1);
        slots[h] = i;
    }
    mem_free(t->str_slots);
    t->str_slots = slots;
    t->str_mask = cap - 1;
}

uint32_t trace_intern(struct trace *t, const void *p, size_t n) {
    if (!n) p = "";
    if (t->strs.n * 2 >= t->str_mask) strings_grow(t);
    if (t->strs.n == 0 && n) trace_intern(t, "", 0);
    uint32_t hash = hash_string(p, n), h = hash & t->str_mask, id;
    while ((id = t->str_slots[h]) != UINT32_MAX) {
        const struct trace_string *s = &t->strs.p[id];
        if (s->hash == hash && s->n == n && memcmp(s->p, p, n) == 0) return id;
        h = (h + 1) & t->str_mask;
    }
    id = t->strs.n;
    struct trace_string s = {arena_strdup(&t->arena, p, n), (uint32_t)n, hash};
    vec_push(&t->arena, &t->strs, s);
    t->str_bytes += n + sizeof s;
    t->str_slots[h] = id;
    return id;
}

const char *trace_str(const struct trace *t, uint32_t id) { return id < t->strs.n ? t->strs.p[id].p : ""; }
size_t trace_str_len(const struct trace *t, uint32_t id) { return id < t->strs.n ? t->strs.p[id].n : 0; }
const void *trace_blob(const struct trace *t, uint32_t id, size_t size) {
    return id && id < t->strs.n && t->strs.p[id].n == size ? t->strs.p[id].p : NULL;
}

/* ---- lanes and events ------------------------------------------------------------------------------ */

uint16_t trace_lane(struct trace *t, int kind, uint32_t pid, uint32_t tid) {
    /* Few lanes in practice; the newest are asked for most, and a linear look is bounded by them. */
    for (uint32_t i = 0; i < t->lanes.n; i++) {
        const struct trace_lane *l = &t->lanes.p[i];
        if (l->tid == tid && l->pid == pid && l->kind == kind) return (uint16_t)i;
        if (i == 512) break;
    }
    if (t->lanes.n > 512) {
        struct trace_lane *l = &t->lanes.p[t->lanes.n - 1];
        if (l->tid == tid && l->pid == pid && l->kind == kind) return (uint16_t)(t->lanes.n - 1);
        if (t->lanes.n >= MAX_LANES) return (uint16_t)(t->lanes.n - 1);
    }
    struct trace_lane l = {.pid = pid, .tid = tid, .kind = (uint8_t)kind, .device = -1, .stream = -1};
    vec_push(&t->arena, &t->lanes, l);
    return (uint16_t)(t->lanes.n - 1);
}

struct trace_event *trace_add(struct trace *t) {
    if (t->n == t->cap) {
        if (t->n >= t->max_events) {
            t->dropped++;
            t->capped = true;
            return NULL;
        }
        uint64_t cap = t->cap ? (uint64_t)t->cap + t->cap / 2 : 4096;
        if (cap > t->max_events) cap = t->max_events;
        void *p = mem_realloc(t->ev, cap * sizeof *t->ev);
        if (!p) err_throw(t->err, RG_ENOMEM, "no memory for more than %u events", t->n);
        t->ev = p;
        t->cap = (uint32_t)cap;
    }
    struct trace_event *e = &t->ev[t->n++];
    memset(e, 0, sizeof *e);
    return e;
}

/* ---- order ----------------------------------------------------------------------------------------- */

static inline bool before(const struct trace_event *a, const struct trace_event *b) {
    if (a->t0 != b->t0) return a->t0 < b->t0;
    /* A memory event's dur is a byte count: it has no length. */
    int64_t da = a->kind == TK_MEM ? 0 : a->dur, db = b->kind == TK_MEM ? 0 : b->dur;
    return da > db;
}

/* Natural merge sort of indices: profilers write long sorted runs, which need few passes. */
void trace_sort(const struct trace_event *ev, uint32_t *a, uint32_t n, uint32_t *tmp) {
    for (;;) {
        uint32_t out = 0, i = 0, runs = 0;
        while (i < n) {
            uint32_t j = i + 1;
            while (j < n && !before(&ev[a[j]], &ev[a[j - 1]])) j++;
            uint32_t k = j;
            if (k < n) {
                k++;
                while (k < n && !before(&ev[a[k]], &ev[a[k - 1]])) k++;
            }
            uint32_t x = i, y = j;
            while (x < j && y < k) tmp[out++] = before(&ev[a[y]], &ev[a[x]]) ? a[y++] : a[x++];
            while (x < j) tmp[out++] = a[x++];
            while (y < k) tmp[out++] = a[y++];
            i = k;
            runs++;
        }
        memcpy(a, tmp, (size_t)n * sizeof *a);
        if (runs <= 1) return;
    }
}

static void order_events(struct trace *t) {
    t->order = mem_alloc(((size_t)t->n + 1) * sizeof *t->order);
    uint32_t *tmp = mem_alloc(((size_t)t->n + 1) * sizeof *tmp);
    if (!t->order || !tmp) {
        mem_free(tmp);
        err_throw(t->err, RG_ENOMEM, "no memory to sort %u events", t->n);
    }
    for (uint32_t i = 0; i < t->lanes.n; i++) t->lanes.p[i].n = 0;
    for (uint32_t i = 0; i < t->n; i++) t->lanes.p[t->ev[i].lane].n++;
    uint32_t at = 0;
    for (uint32_t i = 0; i < t->lanes.n; i++) {
        t->lanes.p[i].first = at;
        at += t->lanes.p[i].n;
        t->lanes.p[i].n = 0;
    }
    for (uint32_t i = 0; i < t->n; i++) {
        struct trace_lane *l = &t->lanes.p[t->ev[i].lane];
        t->order[l->first + l->n++] = i;
    }
    for (uint32_t i = 0; i < t->lanes.n; i++)
        trace_sort(t->ev, t->order + t->lanes.p[i].first, t->lanes.p[i].n, tmp);
    mem_free(tmp);
}

/* ---- links ----------------------------------------------------------------------------------------- */

static void nest_lane(struct trace *t, const struct trace_lane *l) {
    VEC(uint32_t) stack = {0};
    struct arena_mark m = arena_mark(&t->arena);
    for (uint32_t i = 0; i < l->n; i++) {
        uint32_t x = t->order[l->first + i];
        struct trace_event *e = &t->ev[x];
        while (stack.n && trace_end(&t->ev[stack.p[stack.n - 1]]) <= e->t0) stack.n--;
        e->link = stack.n ? stack.p[stack.n - 1] + 1 : 0;
        if (e->kind != TK_MEM && e->dur > 0) vec_push(&t->arena, &stack, x);
    }
    arena_release(&t->arena, m);
}

static bool submits(const struct trace_event *e) {
    return e->corr && (e->kind == TK_LAUNCH || e->kind == TK_GRAPH || e->kind == TK_API ||
                       e->kind == TK_SYNC || e->kind == TK_ALLOC);
}
static bool on_device(const struct trace_event *e) {
    return e->kind == TK_KERNEL || e->kind == TK_COMM || e->kind == TK_COPY || e->kind == TK_SET;
}

static bool is_operator(const struct trace *t, const struct trace_event *e) {
    return !strncmp(trace_str(t, e->name), "aten::", 6);
}

/* aten::item of a tensor on the host waits for nothing: there is no call of the runtime inside it. */
static void settle_waits(struct trace *t) {
    uint8_t *waits = mem_alloc((size_t)t->n + 1);
    bool calls = false;
    if (!waits) err_throw(t->err, RG_ENOMEM, "no memory for %u events", t->n);
    memset(waits, 0, (size_t)t->n + 1);
    for (uint32_t i = 0; i < t->n; i++) {
        const struct trace_event *e = &t->ev[i];
        bool call = e->kind == TK_LAUNCH || e->kind == TK_GRAPH || e->kind == TK_API || e->kind == TK_SYNC;
        if (!call || is_operator(t, e)) continue;
        calls = true;
        for (uint32_t x = e->link, k = 0; x && k < 16; x = t->ev[x - 1].link, k++) waits[x - 1] = 1;
    }
    bool device = false;
    for (uint32_t i = 0; i < t->lanes.n; i++) device |= t->lanes.p[i].kind == LANE_DEVICE && t->lanes.p[i].n;
    for (uint32_t i = 0; i < t->n && (calls || !device); i++)
        if (t->ev[i].kind == TK_SYNC && !waits[i] && is_operator(t, &t->ev[i])) t->ev[i].kind = TK_OP;
    mem_free(waits);
}

/* The innermost operator around a host event, or any enclosing range of JAX. */
static uint32_t operator_of(const struct trace *t, uint32_t x) {
    for (uint32_t p = t->ev[x].link, k = 0; p && k < 256; p = t->ev[p - 1].link, k++)
        if (t->ev[p - 1].kind == TK_OP) return p;
    return 0;
}

/* Launches by correlation id. Two processes may use one id: then all of them, by `next`, which is NULL where that does not occur. */
struct launches {
    struct map at;
    uint32_t *next; /* 1 + the one before */
};

static void add_launch(struct trace *t, struct launches *l, uint32_t i) {
    uint64_t old;
    uint32_t corr = t->ev[i].corr;
    if (!map_get(&l->at, corr, &old)) {
        map_put(&l->at, corr, i);
        return;
    }
    if (t->lanes.p[t->ev[old].lane].pid == t->lanes.p[t->ev[i].lane].pid) return;
    if (!l->next) l->next = arena_array(&t->arena, uint32_t, t->n + 1);
    l->next[i] = (uint32_t)old + 1;
    map_put(&l->at, corr, i);
}

/* Of several with its id: the last one that began before the work. */
static bool find_launch(const struct trace *t, const struct launches *l, const struct trace_event *e,
                        uint64_t *out) {
    uint64_t x;
    if (!e->corr || !map_get(&l->at, e->corr, &x)) return false;
    *out = x;
    if (!l->next) return true;
    bool found = false;
    for (uint32_t k = 0; k < 64; k++) {
        bool before = t->ev[x].t0 <= e->t0;
        if (before && (!found || t->ev[x].t0 > t->ev[*out].t0)) *out = x, found = true;
        if (!l->next[x]) break;
        x = l->next[x] - 1;
    }
    return true;
}

static void link_device(struct trace *t) {
    struct arena_mark m = arena_mark(&t->arena);
    struct launches launch = {0};
    map_init(&launch.at, &t->arena);
    for (uint32_t i = 0; i < t->n; i++)
        if (submits(&t->ev[i])) add_launch(t, &launch, i);
    for (uint32_t i = 0; i < t->n; i++) {
        struct trace_event *e = &t->ev[i];
        uint64_t l;
        if (!on_device(e)) continue;
        if (find_launch(t, &launch, e, &l)) {
            e->link = (uint32_t)l + 1;
            e->aux = operator_of(t, (uint32_t)l);
            if (t->ev[l].kind == TK_API) t->ev[l].kind = TK_LAUNCH;
            if (t->ev[l].kind == TK_GRAPH) e->flags |= TF_GRAPH;
        } else {
            e->link = e->aux = 0;
            e->flags |= TF_NOLAUNCH;
        }
    }
    arena_release(&t->arena, m);
}

static int by_value(const void *x, const void *y) {
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return a < b ? -1 : a > b;
}

/* The middle of the recording: the median start of a sample, which stray records cannot move. */
static int64_t middle(const struct trace *t) {
    int64_t s[1001];
    uint32_t n = RG_MIN(t->n, (uint32_t)RG_COUNT(s));
    for (uint32_t i = 0; i < n; i++) s[i] = t->ev[(uint64_t)i * t->n / n].t0;
    if (n) qsort(s, n, sizeof *s, by_value);
    return n ? s[n / 2] : 0;
}

#define FAR_NS (15LL * 24 * 3600 * 1000000000)

void trace_finish(struct trace *t) {
    /* Times relative to the first event. A record days away from the others (a time of zero, a window's end
     * that was never set) is damage, and would stretch the axis. */
    int64_t base = INT64_MAX, mid = middle(t);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < t->n; i++) {
        const struct trace_event *e = &t->ev[i];
        if (e->kind == TK_NONE) continue;
        if (e->t0 < mid - FAR_NS || e->t0 > mid + FAR_NS || (e->kind != TK_MEM && e->dur > FAR_NS)) {
            t->dropped++;
            continue;
        }
        base = RG_MIN(base, e->t0);
        t->ev[kept++] = *e;
    }
    t->n = kept;
    t->base = kept ? base : 0;
    for (uint32_t i = 0; i < kept; i++) t->ev[i].t0 -= t->base;
    if (!t->strs.n) trace_intern(t, "", 0);
    order_events(t);
    for (uint32_t i = 0; i < t->lanes.n; i++)
        if (t->lanes.p[i].kind == LANE_HOST) nest_lane(t, &t->lanes.p[i]);
    if (t->format == TRACE_TORCH) settle_waits(t);
    link_device(t);
}
