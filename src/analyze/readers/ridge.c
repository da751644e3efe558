/* ridge.c: Ridge's own profile: the records of src/event, written to a file and read back.
 *
 * Layout, little endian: "RIDGEPRF", u32 version, u32 names, u64 records, u64 dropped; then each name as
 * u32 length and bytes; then the records as struct event holds them (48 bytes), whose name is an index
 * into these names. The n-th launch submitted the n-th kernel. Tests: tests/unit/analyze.c */
#include "analyze/internal.h"
#include "event/event.h"

#define MAGIC "RIDGEPRF"
#define VERSION 1

bool is_ridge(const uint8_t *p, size_t n) { return n >= 8 && !memcmp(p, MAGIC, 8); }

int trace_save_events(struct err *e, struct arena *a, const char *path, const struct event_list *l) {
    struct str s;
    str_init(&s, a);
    struct map ids;
    map_init(&ids, a);
    VEC(uint32_t) names = {0};
    for (size_t i = 0; i < l->n; i++)
        if (!map_get(&ids, l->p[i].name, NULL)) {
            map_put(&ids, l->p[i].name, names.n);
            vec_push(a, &names, l->p[i].name);
        }
    uint32_t head[2] = {VERSION, names.n};
    uint64_t count[2] = {l->n, l->dropped};
    str_addn(&s, MAGIC, 8);
    str_addn(&s, (const char *)head, sizeof head);
    str_addn(&s, (const char *)count, sizeof count);
    for (uint32_t i = 0; i < names.n; i++) {
        const char *t = event_name_text(names.p[i]);
        uint32_t n = (uint32_t)strlen(t);
        str_addn(&s, (const char *)&n, 4);
        str_addn(&s, t, n);
    }
    for (size_t i = 0; i < l->n; i++) {
        struct event r = l->p[i];
        uint64_t id = 0;
        map_get(&ids, r.name, &id);
        r.name = (uint32_t)id;
        r.pad = 0;
        str_addn(&s, (const char *)&r, sizeof r);
    }
    return os_write_file(e, path, s.p, s.n, 0644);
}

static const uint8_t *need(struct trace *t, struct input *in, size_t *pos, size_t n) {
    while (in->len - *pos < n) {
        bool more = n < INPUT_MAX && input_more(in, *pos);
        if (n < INPUT_MAX) *pos = 0;
        if (!more && in->len - *pos < n) return t->truncated = true, NULL;
    }
    const uint8_t *p = in->buf + *pos;
    *pos += n;
    return p;
}

struct shape {
    uint32_t launches, kernels;
};

static void one_record(struct trace *t, const struct event *r, uint32_t name, struct shape *c) {
    static const uint8_t kinds[EVENT_KINDS] = {
        [EVENT_PASS] = TK_COMPILE,  [EVENT_PLAN] = TK_COMPILE,  [EVENT_COMPILE] = TK_COMPILE,
        [EVENT_CACHE] = TK_COMPILE, [EVENT_LAUNCH] = TK_LAUNCH, [EVENT_KERNEL] = TK_KERNEL,
        [EVENT_COPY] = TK_COPY,     [EVENT_WAIT] = TK_SYNC,     [EVENT_ALLOC] = TK_MEM,
        [EVENT_FREE] = TK_MEM,      [EVENT_RANGE] = TK_ANNOT,   [EVENT_STEP] = TK_STEP};
    t->seen++;
    if (r->kind >= EVENT_KINDS || r->t1 < r->t0 || r->t1 > INT64_MAX / 2) {
        t->dropped++;
        return;
    }
    struct trace_event *e = trace_add(t);
    if (!e) return;
    e->kind = kinds[r->kind];
    e->t0 = (int64_t)r->t0;
    e->dur = (int64_t)(r->t1 - r->t0);
    e->name = name;
    bool device = e->kind == TK_KERNEL || e->kind == TK_COPY;
    char tid[24];
    snprintf(tid, sizeof tid, "%u", r->thread);
    e->lane = trace_lane(t, device ? LANE_DEVICE : LANE_HOST, trace_intern(t, "ridge", 5),
                         trace_intern(t, tid, strlen(tid)));
    if (device) t->lanes.p[e->lane].device = 0, t->lanes.p[e->lane].stream = (int32_t)(r->thread & 0xffff);
    if (e->kind == TK_LAUNCH) e->corr = ++c->launches;
    if (e->kind == TK_KERNEL) {
        struct trace_kernel_args a = {.known = 4, .flops = r->a, .bytes = r->b};
        e->corr = ++c->kernels;
        e->args = trace_intern(t, &a, sizeof a);
    } else if (e->kind == TK_COPY || e->kind == TK_MEM) {
        struct trace_copy_args a = {r->kind == EVENT_FREE ? -r->a : r->a};
        e->args = trace_intern(t, &a, sizeof a);
        e->flags = e->kind == TK_COPY ? TF_D2D : a.bytes < 0 ? TF_FREE : 0;
        if (e->kind == TK_MEM) e->dur = RG_MAX(r->b, 0);
    }
}

void read_ridge(struct trace *t, struct input *in) {
    size_t pos = 8;
    uint32_t head[2];
    uint64_t count[2];
    const uint8_t *p = need(t, in, &pos, 24);
    if (!p) err_throw(t->err, RG_EPARSE, "the Ridge profile ends in its header: it was cut short");
    memcpy(head, p, 8);
    memcpy(count, p + 8, 16);
    if (head[0] != VERSION)
        err_throw(t->err, RG_EPARSE, "this Ridge profile is of version %u; this program reads version %d",
                  head[0], VERSION);
    t->logged_drops = count[1];
    VEC(uint32_t) names = {0};
    for (uint32_t i = 0; i < head[1]; i++) {
        uint32_t n;
        if (!(p = need(t, in, &pos, 4))) break;
        memcpy(&n, p, 4);
        if (n > 65536)
            err_throw(t->err, RG_EPARSE, "a name of %u bytes in the Ridge profile: it is damaged", n);
        if (!(p = need(t, in, &pos, n))) break;
        vec_push(&t->arena, &names, trace_intern(t, p, n));
    }
    struct shape c = {0};
    for (uint64_t i = 0; i < count[0]; i++) {
        struct event r;
        if (!(p = need(t, in, &pos, sizeof r))) break;
        memcpy(&r, p, sizeof r);
        one_record(t, &r, r.name < names.n ? names.p[r.name] : 0, &c);
    }
    t->format = TRACE_RIDGE;
    trace_finish(t);
}
