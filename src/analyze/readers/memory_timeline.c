/* memory_timeline.c: reads the raw memory timeline of torch.profiler (`export_memory_timeline(path.raw.json.gz)`).
 *
 * Rows of [ns, action, bytes, category]: bytes come with their sign, and a tensor that changes its category leaves the old one and
 * enters the new. There are no addresses: what is freed is the youngest block of its size and category, which changes no sum.
 * It becomes a snapshot of the allocator in which categories stand where source lines do. Tests: tests/unit/memory_timeline.c */
#include "analyze/readers/json.h"

enum { ROW_BYTES = 4096 };

struct timeline_reader {
    struct trace *t;
    struct map top;     /* size and category -> 1 + index of the youngest block */
    VEC(uint32_t) next; /* by block: 1 + the one below it */
    int64_t now;
};

static uint32_t category_name(struct trace *t, int64_t c) {
    static const char *const names[] = {"parameter",  "optimizer state", "input",           "temporary",
                                        "activation", "gradient",        "autograd detail", "not known"};
    const char *s = names[c >= 0 && c < (int64_t)RG_COUNT(names) ? c : (int64_t)RG_COUNT(names) - 1];
    return trace_intern(t, s, strlen(s));
}

static void take_row(struct timeline_reader *r, const int64_t row[4]) {
    struct trace *t = r->t;
    int64_t size = RG_MIN(RG_MAX(row[2], -((int64_t)1 << 50)), (int64_t)1 << 50);
    uint64_t key = hash_u64((uint64_t)(size < 0 ? -size : size)) + (uint64_t)row[3], top = 0;
    struct trace_snapshot_event e = {.size = size < 0 ? -size : size, .action = size < 0 ? 'f' : 'a'};
    t->seen++;
    if (!size) return;
    if (row[0] > r->now && row[0] <= (int64_t)1 << 62) r->now = row[0]; /* -1: before the recording */
    map_get(&r->top, key, &top);
    if (size < 0 && !top) {
        t->dropped++;
        return;
    }
    if (size > 0) {
        vec_push(&t->arena, &r->next, (uint32_t)top);
        top = r->next.n;
        e.addr = top;
    } else {
        e.addr = top;
        top = r->next.p[top - 1];
    }
    map_put(&r->top, key, top);
    e.t = r->now, e.stack = category_name(t, row[3]);
    t->snap_allocated += size;
    vec_push(&t->arena, &t->snap, e);
}

/* "[1, 2, -3, 4]" at p; false: no such row. */
static bool parse_row(const struct slice *v, int64_t row[4]) {
    struct scan s = {.end = v->p + v->n};
    const uint8_t *p = v->p + 1;
    if (v->n < 2 || *v->p != '[') return false;
    for (int i = 0; i < 4; i++) {
        p = js_int(&s, js_space(p), &row[i]);
        if (!p) return false;
        p = js_space(p);
        if (*p++ != (i < 3 ? ',' : ']')) return false;
    }
    return true;
}

bool is_memory_timeline(const uint8_t *p, size_t n) {
    size_t at = 0;
    for (int brackets = 0; at < n && brackets < 2; at++) {
        if (p[at] == '[') brackets++;
        if (p[at] != '[' && p[at] > ' ') return false;
    }
    return at < n && ((p[at] >= '0' && p[at] <= '9') || p[at] == '-');
}

void read_memory_timeline(struct trace *t, struct input *in) {
    struct timeline_reader r = {.t = t};
    struct scan s = {0};
    size_t pos = 1 + (size_t)(js_space(in->buf) - in->buf);
    map_init(&r.top, &t->arena);
    for (;;) {
        if (in->len - pos < ROW_BYTES) input_more(in, pos), pos = 0;
        const uint8_t *p = js_space(in->buf + pos);
        if (*p == ',') p = js_space(p + 1);
        struct slice v;
        int64_t row[4];
        s.end = in->buf + in->len;
        if (p >= s.end || *p != '[') {
            t->truncated = p >= s.end || *p != ']';
            break;
        }
        const uint8_t *end = js_value(&s, p, &v);
        if (!end || !parse_row(&v, row)) {
            t->truncated = true;
            break;
        }
        take_row(&r, row);
        pos = (size_t)(end - in->buf);
    }
    if (!t->snap.n)
        err_throw(t->err, RG_EPARSE,
                  "this memory timeline of torch.profiler holds no row: expected [[ns, action, bytes, "
                  "category], ..]");
    int64_t first = 0;
    for (uint32_t i = 0; i < t->snap.n && !first; i++) first = t->snap.p[i].t;
    for (uint32_t i = 0; i < t->snap.n; i++) t->snap.p[i].t = RG_MAX(t->snap.p[i].t - first, 0);
    t->snap_reserved = t->snap_allocated;
    t->format = TRACE_SNAPSHOT;
    trace_finish(t);
}
