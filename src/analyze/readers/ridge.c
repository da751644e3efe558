/* ridge.c: reads Ridge's own profile: the records of src/event, which wrote it.
 *
 * The layout stands in event.h. A file may end anywhere (the program was killed) and hold anything: blocks are read as
 * far as they go. Records wait with the numbers of their names until the whole file was read, because a name may stand
 * behind its records. Records with a row are what a device did by itself, and say which launch asked for it; a device
 * that runs in the calling thread has no launches, and its kernels belong to the call around them. What a kernel's info says
 * (event.h) is parsed here: its first source line counts.
 * Tests: tests/unit/analyze.c, tests/unit/profile.c, tests/unit/analyze_fuzz.c */
#include "analyze/internal.h"
#include "event/event.h"

#include <stdlib.h>

#define MOST_SOURCES 1000

bool is_ridge(const uint8_t *p, size_t n) { return n >= 8 && !memcmp(p, EVENT_FILE_MAGIC, 8); }

/* ---- bytes ---------------------------------------------------------------------------------------------- */

struct ridge_mark { /* recording went on or off */
    int64_t t, cpu;
    bool on;
};
struct reading {
    struct trace *t;
    struct input *in;
    size_t pos;
    struct map names;        /* number -> trace_str */
    struct map lines;        /* trace_str of a source line as recorded -> as shown */
    uint32_t lane_thread[3]; /* of host, of device and of rows: the lane that was asked for last */
    uint16_t lane[3];
    bool lane_known[3];
    struct launch_work { /* what was asked for lately */
        int64_t flops, bytes;
        uint32_t args;
    } work[256];
    VEC(struct ridge_mark) marks;
};

static const uint8_t *need(struct reading *r, size_t n) {
    while (r->in->len - r->pos < n) {
        bool more = n < INPUT_MAX && input_more(r->in, r->pos);
        if (n < INPUT_MAX) r->pos = 0;
        if (!more && r->in->len - r->pos < n) return r->t->truncated = true, NULL;
    }
    const uint8_t *p = r->in->buf + r->pos;
    r->pos += n;
    return p;
}

static bool skip(struct reading *r, size_t n) {
    for (size_t k; n; n -= k) {
        k = RG_MIN(n, (size_t)1 << 20);
        if (!need(r, k)) return false;
    }
    return true;
}

/* ---- records ---------------------------------------------------------------------------------------------- */

/* Memory is no event of the timeline: it is kept aside. False: r is something else. */
static bool memory_record(struct reading *rd, const struct event *r) {
    struct trace *t = rd->t;
    const int64_t most = (int64_t)1 << 60;
    int64_t bytes = RG_MAX(RG_MIN(r->a, most), 0), at = (int64_t)r->t1;
    if (r->kind == EVENT_ALLOC || r->kind == EVENT_FREE) {
        struct trace_block b = {at, bytes, (uint64_t)r->b, r->name, r->info, r->kind == EVENT_FREE};
        vec_push(&t->arena, &t->blocks, b);
    } else if (r->kind == EVENT_RESERVE) {
        struct trace_reserved x = {at, bytes, RG_MAX(RG_MIN(r->b, bytes), 0), r->name};
        vec_push(&t->arena, &t->reserved, x);
    } else if (r->kind == EVENT_PLANNED) {
        struct trace_planned p = {bytes, r->name, r->info, (uint32_t)((uint64_t)r->b >> 32), (uint32_t)r->b};
        vec_push(&t->arena, &t->planned, p);
    } else {
        return false;
    }
    return true;
}

enum { HOST, DEVICE, ROW };

static void label_row(struct trace *t, struct trace_lane *l, uint32_t row) {
    char name[64];
    l->device = (int32_t)(row / EVENT_ROW_STREAMS) - 1, l->stream = (int32_t)(row % EVENT_ROW_STREAMS);
    l->async = t->async = true;
    snprintf(name, sizeof name, "GPU %d stream %d", l->device, l->stream);
    l->name = trace_intern(t, name, strlen(name));
}

/* Records of a thread come thousands at a time. */
static uint16_t lane_of(struct reading *rd, uint32_t thread, int kind) {
    struct trace *t = rd->t;
    if (rd->lane_known[kind] && rd->lane_thread[kind] == thread) return rd->lane[kind];
    char tid[24];
    snprintf(tid, sizeof tid, "%u", thread);
    uint16_t lane = trace_lane(t, kind == HOST ? LANE_HOST : LANE_DEVICE,
                               trace_intern(t, kind == ROW ? "rows" : "ridge", kind == ROW ? 4 : 5),
                               trace_intern(t, tid, strlen(tid)));
    if (kind == DEVICE) t->lanes.p[lane].device = 0, t->lanes.p[lane].stream = (int32_t)(thread & 0xffff);
    if (kind == ROW) label_row(t, &t->lanes.p[lane], thread);
    rd->lane_known[kind] = true;
    rd->lane_thread[kind] = thread;
    return rd->lane[kind] = lane;
}

/* The args of a kernel with this work, before its info is known; few are asked for again and again. */
static uint32_t work_args(struct reading *rd, int64_t flops, int64_t bytes) {
    struct launch_work *w = &rd->work[((uint64_t)flops * 31 + (uint64_t)bytes) % RG_COUNT(rd->work)];
    if (!w->args || w->flops != flops || w->bytes != bytes) {
        struct trace_kernel_args a = {.known = 4, .flops = flops, .bytes = bytes};
        *w = (struct launch_work){flops, bytes, trace_intern(rd->t, &a, sizeof a)};
    }
    return w->args;
}

static void one_record(struct reading *rd, const struct event *r) {
    static const uint8_t kinds[EVENT_KINDS] = {
        [EVENT_PASS] = TK_PLAN,       [EVENT_PLAN] = TK_PLAN,         [EVENT_COMPILE] = TK_COMPILE,
        [EVENT_CACHE] = TK_COMPILE,   [EVENT_LAUNCH] = TK_LAUNCH,     [EVENT_KERNEL] = TK_KERNEL,
        [EVENT_COPY] = TK_COPY,       [EVENT_WAIT] = TK_SYNC,         [EVENT_PART] = TK_PART,
        [EVENT_RANGE] = TK_ANNOT,     [EVENT_STEP] = TK_STEP,         [EVENT_CALL] = TK_OP,
        [EVENT_RUN] = TK_API,         [EVENT_LOWER] = TK_PLAN,        [EVENT_BUILD] = TK_COMPILE,
        [EVENT_RECORD] = TK_OVERHEAD, [EVENT_PROFILER] = TK_OVERHEAD, [EVENT_NOTE] = TK_NONE};
    static const uint8_t direction[] = {TF_H2D, TF_D2H, TF_D2D};
    struct trace *t = rd->t;
    t->seen++;
    bool device = r->kind == EVENT_KERNEL || r->kind == EVENT_COPY, row = r->row >= EVENT_ROW_STREAMS;
    if (r->kind >= EVENT_KINDS || r->t1 < r->t0 || r->t1 > INT64_MAX / 2 || (r->row && (!device || !row))) {
        t->dropped++;
        return;
    }
    if (r->kind == EVENT_NOTE) {
        vec_push(&t->arena, &t->notes, ((struct trace_note){r->name, r->info}));
        return;
    }
    if (r->kind == EVENT_RECORD)
        vec_push(&t->arena, &rd->marks,
                 ((struct ridge_mark){(int64_t)r->t0, RG_MAX(0, RG_MIN(r->b, INT64_MAX / 4)), r->a != 0}));
    if (memory_record(rd, r)) return;
    struct trace_event *e = trace_add(t);
    if (!e) return;
    e->kind = kinds[r->kind];
    e->t0 = (int64_t)r->t0;
    e->dur = (int64_t)(r->t1 - r->t0);
    e->name = r->name;
    e->aux = r->info;
    e->lane = row ? lane_of(rd, r->row, ROW) : lane_of(rd, r->thread, device ? DEVICE : HOST);
    if (row) e->corr = r->thread;
    if (e->kind == TK_LAUNCH && r->b > 0 && r->b <= UINT32_MAX) e->corr = (uint32_t)r->b;
    if (e->kind == TK_LAUNCH) e->args = (uint32_t)RG_MIN(RG_MAX(r->a, 0), UINT32_MAX);
    if (r->kind == EVENT_RUN) {
        struct trace_copy_args block = {RG_MAX(r->b >> 8, 0)};
        e->flags = (r->b & 255) == 2 ? TF_GRAPH : (r->b & 255) == 0 ? TF_PLANNED : 0;
        e->args = trace_intern(t, &block, sizeof block);
    }
    if (e->kind == TK_PART) e->corr = (uint32_t)r->b, e->args = (uint32_t)RG_MIN(RG_MAX(r->a, 0), UINT32_MAX);
    if (e->kind == TK_KERNEL) {
        e->args = work_args(rd, r->a, r->b);
    } else if (e->kind == TK_COPY) {
        struct trace_copy_args a = {r->a};
        e->args = trace_intern(t, &a, sizeof a);
        e->flags = direction[r->b >= 0 && (r->b & 3) <= 2 ? r->b & 3 : 2] | (r->b & 4 ? TF_PAGEABLE : 0);
    }
}

static bool read_records(struct reading *r, uint32_t bytes) {
    struct event e;
    for (uint32_t i = 0; i < bytes / sizeof e; i++) {
        const uint8_t *p = need(r, sizeof e);
        if (!p) return false;
        memcpy(&e, p, sizeof e);
        one_record(r, &e);
    }
    return skip(r, bytes % sizeof e);
}

static bool read_names(struct reading *r, uint32_t bytes) {
    uint32_t head[2];
    while (bytes >= sizeof head) {
        const uint8_t *p = need(r, sizeof head);
        if (!p) return false;
        memcpy(head, p, sizeof head);
        bytes -= sizeof head;
        if (head[1] > bytes)
            err_throw(r->t->err, RG_EPARSE, "a name of %u bytes in the Ridge profile: it is damaged",
                      head[1]);
        if (!(p = need(r, head[1]))) return false;
        bytes -= head[1];
        map_put(&r->names, head[0], trace_intern(r->t, p, head[1]));
    }
    return skip(r, bytes);
}

/* Blocks until the end, or until what is no block: the position where the next one was expected. */
static void read_blocks(struct reading *r) {
    struct event_block b;
    for (;;) {
        if (r->in->len == r->pos && !input_more(r->in, r->pos)) return;
        if (r->in->len < r->pos) r->pos = 0;
        const uint8_t *p = need(r, sizeof b);
        if (!p) return;
        memcpy(&b, p, sizeof b);
        if (!b.tag && !b.size) return;
        bool known = b.tag == EVENT_BLOCK_RECORDS || b.tag == EVENT_BLOCK_NAMES;
        if (!known || b.used > b.size)
            err_throw(r->t->err, RG_EPARSE, "the Ridge profile is damaged: no block begins where one should");
        if (!(b.tag == EVENT_BLOCK_NAMES ? read_names(r, b.used) : read_records(r, b.used))) return;
        if (!skip(r, b.size - b.used)) return;
    }
}

/* ---- what a kernel is for ----------------------------------------------------------------------------------- */

/* The source line of "fn fn2 .., fn module file:line (backward), ..": of the first part that has one. */
void ridge_site(struct trace *t, const char *s, size_t n, struct trace_kernel_args *a) {
    size_t fn = 0;
    for (size_t i = 0; i < n && !a->where;) {
        size_t end = i;
        while (end < n && !(s[end] == ',' && end + 1 < n && s[end + 1] == ' ')) end++;
        for (size_t w = i, word = 0; w < end; word++) {
            size_t k = w;
            while (k < end && s[k] != ' ') k++;
            size_t colon = k;
            while (colon > w && s[colon - 1] >= '0' && s[colon - 1] <= '9') colon--;
            bool line = colon < k && colon > w + 1 && s[colon - 1] == ':';
            if (!word)
                fn = k; /* several functions of one line are named together */
            else if (line)
                a->where = trace_intern(t, s + w, k - w);
            else if (s[w] == '(')
                a->backward = 1;
            else if (!a->where)
                a->module = trace_intern(t, s + w, k - w);
            w = k + (k < end);
        }
        i = end + 2;
    }
    a->op = trace_intern(t, s, RG_MIN(fn, n));
}

enum {
    INFO_SITE,
    INFO_ROOF,
    INFO_BOUND,
    INFO_SHAPES,
    INFO_KEY,
    INFO_PREDICTED,
    INFO_GRAPH,
    INFO_SOURCE,
    INFO_WORK,
    INFO_OPTS,
    INFO_FIELDS
};

static int64_t info_ns(const char *s) { return RG_MAX(0, RG_MIN(atoll(s), (long long)1e15)); }

static uint32_t info_name(struct reading *r, const char *s) {
    uint64_t id = 0;
    map_get(&r->names, (uint64_t)strtoul(s, NULL, 10), &id);
    return (uint32_t)id;
}

/* "issued=12 f32=400 ..": what there is none of may be missing. */
static void parse_work(const char *s, size_t n, struct trace_kernel_args *a) {
    const struct {
        const char *key;
        int64_t *at;
    } own[] = {{"issued", &a->issued}, {"moved", &a->moved},         {"lines", &a->lines},
               {"int", &a->integer},   {"registers", &a->registers}, {"spills", &a->spills}};
    for (const char *end = s + n; s < end;) {
        size_t word = strcspn(s, " \t"), key = strcspn(s, "= \t");
        for (size_t i = 0; key < word && i < RG_COUNT(own); i++)
            if (strlen(own[i].key) == key && !memcmp(own[i].key, s, key)) *own[i].at = info_ns(s + key + 1);
        for (int u = 0; key < word && u < UNIT_COUNT; u++) {
            const char *name = model_unit_text((enum model_unit)u);
            if (strlen(name) == key && !memcmp(name, s, key)) a->unit_ns[u] = info_ns(s + key + 1);
        }
        s += word + (s + word < end);
    }
    a->known |= 16;
}

static void parse_info(struct reading *r, uint32_t info, struct trace_kernel_args *a) {
    struct trace *t = r->t;
    const char *field[INFO_FIELDS], *s = trace_str(t, info);
    size_t len[INFO_FIELDS];
    int n = 0;
    for (; n < INFO_FIELDS; n++, s++) {
        field[n] = s;
        len[n] = n == INFO_OPTS ? strlen(s) : strcspn(s, "\t");
        s += len[n];
        if (!*s) break;
    }
    if (n < INFO_BOUND) return;
    a->known |= 8;
    a->roof_ns = info_ns(field[INFO_ROOF]);
    a->limit = trace_intern(t, field[INFO_BOUND], len[INFO_BOUND]);
    if (len[INFO_SITE]) ridge_site(t, field[INFO_SITE], len[INFO_SITE], a);
    if (n >= INFO_SHAPES && len[INFO_SHAPES])
        a->shapes = trace_intern(t, field[INFO_SHAPES], len[INFO_SHAPES]);
    if (n < INFO_OPTS) return;
    a->key = trace_intern(t, field[INFO_KEY], len[INFO_KEY]);
    a->predicted_ns = info_ns(field[INFO_PREDICTED]);
    a->graph = info_name(r, field[INFO_GRAPH]);
    a->source = info_name(r, field[INFO_SOURCE]);
    parse_work(field[INFO_WORK], len[INFO_WORK], a);
    a->opts = trace_intern(t, field[INFO_OPTS], len[INFO_OPTS]);
}

/* "dir/file.c:12" is shown as "file.c:12"; the path is kept too. */
static uint32_t parse_line(struct reading *r, uint32_t info) {
    struct trace *t = r->t;
    const char *s = trace_str(t, info), *base = strrchr(s, '/'), *colon = strrchr(s, ':');
    uint64_t seen;
    if (!colon || map_get(&r->lines, info, &seen)) return colon ? (uint32_t)seen : info;
    base = base ? base + 1 : s;
    uint32_t shown = trace_intern(t, base, strlen(base));
    map_put(&r->lines, info, shown);
    struct trace_source f = {trace_intern(t, base, colon > base ? (size_t)(colon - base) : 0),
                             trace_intern(t, s, (size_t)(colon - s))};
    for (uint32_t i = 0; i < t->sources.n; i++)
        if (t->sources.p[i].path == f.path) return shown;
    if (t->sources.n < MOST_SOURCES) vec_push(&t->arena, &t->sources, f);
    return shown;
}

static uint32_t name_of(const struct reading *r, uint32_t number) {
    uint64_t id = 0;
    if (number) map_get(&r->names, number, &id);
    return (uint32_t)id;
}

static void resolve_memory(struct reading *r) {
    struct trace *t = r->t;
    for (uint32_t i = 0; i < t->blocks.n; i++) {
        struct trace_block *b = &t->blocks.p[i];
        b->device = name_of(r, b->device), b->owner = name_of(r, b->owner);
    }
    for (uint32_t i = 0; i < t->planned.n; i++) {
        struct trace_planned *p = &t->planned.p[i];
        p->plan = name_of(r, p->plan), p->owner = name_of(r, p->owner);
    }
    for (uint32_t i = 0; i < t->reserved.n; i++)
        t->reserved.p[i].device = name_of(r, t->reserved.p[i].device);
}

/* "file:line \t module \t shapes" of a call. */
static void resolve_call(struct reading *r, struct trace_event *e, uint32_t info) {
    struct trace *t = r->t;
    const char *s = trace_str(t, info);
    size_t n = strcspn(s, "\t");
    e->aux = s[n] ? trace_intern(t, s + n + 1, strlen(s + n + 1)) : 0;
    e->args = n ? parse_line(r, trace_intern(t, s, n)) : 0;
}

/* Where the device notes its copies itself, what the host recorded is the call that asked for one. */
static void copy_call(struct trace *t, struct trace_event *e) {
    const struct trace_lane *l = &t->lanes.p[e->lane];
    if (e->kind != TK_COPY || l->async) return;
    e->lane = trace_lane(t, LANE_HOST, l->pid, l->tid);
    e->kind = TK_API;
    e->flags &= TF_H2D | TF_D2H | TF_D2D;
}

/* "machine FLOPS BYTES HALF", "kernel record DEVICE_NS LAUNCH_NS", "clock HOST": facts, nothing to tell. */
static bool take_fact(struct trace *t, const char *s) {
    char *end;
    if (!strncmp(s, "clock ", 6)) return t->clock = hash_bytes(s, strlen(s), 1), true;
    if (!strncmp(s, "kernel record ", 14)) {
        t->kernel_record_ns = (uint32_t)RG_MIN(strtoul(s + 14, &end, 10), 20000ul);
        t->launch_ns = (uint32_t)RG_MIN(strtoul(end, NULL, 10), 20000ul);
        return true;
    }
    if (strncmp(s, "machine ", 8)) return false;
    t->machine_flops = text_double(s + 8, &end);
    t->machine_bytes = text_double(end, &end);
    t->machine_half = text_double(end, NULL);
    if (!(t->machine_flops > 0 && t->machine_flops < 1e20)) t->machine_flops = 0;
    if (!(t->machine_bytes > 0 && t->machine_bytes < 1e20)) t->machine_bytes = 0;
    if (!(t->machine_half > 0 && t->machine_half < 1e20)) t->machine_half = 0;
    return true;
}

static bool is_wait_for_ranks(const char *name) {
    return !strcmp(name, "wait for a collective") || !strcmp(name, "wait for ranks");
}

static void resolve(struct reading *r) {
    struct trace *t = r->t;
    struct map told; /* work and info of a kernel -> its args: thousands of calls share one */
    map_init(&told, &t->arena);
    resolve_memory(r);
    for (uint32_t i = 0; i < t->notes.n; i++) {
        struct trace_note *n = &t->notes.p[i];
        n->what = name_of(r, n->what), n->todo = name_of(r, n->todo);
        if (!take_fact(t, trace_str(t, n->what))) continue;
        *n = t->notes.p[--t->notes.n];
        i--;
    }
    for (uint32_t i = 0; t->async && i < t->n; i++) copy_call(t, &t->ev[i]);
    for (uint32_t i = 0; i < t->n; i++) {
        struct trace_event *e = &t->ev[i];
        uint32_t info = name_of(r, e->aux);
        e->name = name_of(r, e->name);
        e->aux = e->kind == TK_API || e->kind == TK_SYNC ? info : 0;
        if (e->kind == TK_KERNEL && info) {
            uint64_t key = (uint64_t)e->args << 32 | info, known;
            if (!map_get(&told, key, &known)) {
                struct trace_kernel_args a =
                    *(const struct trace_kernel_args *)trace_blob(t, e->args, sizeof a);
                parse_info(r, info, &a);
                map_put(&told, key, known = trace_intern(t, &a, sizeof a));
            }
            e->args = (uint32_t)known;
            if (trace_is_ridge_collective(trace_str(t, e->name))) e->kind = TK_COMM;
        } else if (e->kind == TK_OP) {
            resolve_call(r, e, info);
        } else if (e->kind == TK_SYNC && is_wait_for_ranks(trace_str(t, e->name))) {
            e->kind = TK_COLLECTIVE;
        }
    }
}

static int by_time(const void *x, const void *y) {
    const struct ridge_mark *a = x, *b = y;
    return a->t < b->t ? -1 : a->t > b->t ? 1 : a->on - b->on;
}

/* Spans from each mark "on" to the next "off"; the last may have none. */
static void find_recorded(struct reading *r) {
    struct trace *t = r->t;
    int64_t last = 0, on = -1, cpu = 0;
    if (r->marks.n) qsort(r->marks.p, r->marks.n, sizeof *r->marks.p, by_time);
    for (uint32_t i = 0; i < t->n; i++)
        last = RG_MAX(last, t->ev[i].t0 + (t->ev[i].kind == TK_MEM ? 0 : t->ev[i].dur));
    struct ridge_mark end = {.t = last + t->base};
    for (uint32_t i = 0; i <= r->marks.n; i++) {
        const struct ridge_mark *m = i < r->marks.n ? &r->marks.p[i] : &end;
        int64_t at = RG_MAX(RG_MIN(m->t - t->base, last), 0);
        if (m == &end) t->unfinished = on >= 0;
        if (m->on && on < 0) on = at, cpu = m->cpu;
        if (m->on || on < 0) continue;
        if (at > on) vec_push(&t->arena, &t->recorded, ((struct trace_span){on, at}));
        if (m->cpu > cpu) t->cpu_ns = RG_MIN(t->cpu_ns + (m->cpu - cpu), INT64_MAX / 4);
        on = -1;
    }
}

static int by_moment(const void *x, const void *y) {
    const struct trace_block *a = x, *b = y;
    if (a->t != b->t) return a->t < b->t ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number ? 1 : a->freed - b->freed;
}

/* On the trace's clock, in order. A file of nothing but memory (a snapshot) begins with its first block. */
static void align_memory(struct trace *t) {
    if (!t->n && t->blocks.n) {
        t->base = INT64_MAX;
        for (uint32_t i = 0; i < t->blocks.n; i++) t->base = RG_MIN(t->base, t->blocks.p[i].t);
    }
    for (uint32_t i = 0; i < t->blocks.n; i++) t->blocks.p[i].t = RG_MAX(t->blocks.p[i].t - t->base, 0);
    for (uint32_t i = 0; i < t->reserved.n; i++) t->reserved.p[i].t = RG_MAX(t->reserved.p[i].t - t->base, 0);
    if (t->blocks.n) qsort(t->blocks.p, t->blocks.n, sizeof *t->blocks.p, by_moment);
}

/* A kernel without a launch belongs to the innermost call of its thread around it. */
static void link_calls(struct trace *t) {
    for (uint32_t k = 0; k < t->lanes.n; k++) {
        const struct trace_lane *d = &t->lanes.p[k], *h = NULL;
        for (uint32_t i = 0; i < t->lanes.n; i++)
            if (t->lanes.p[i].kind == LANE_HOST && t->lanes.p[i].tid == d->tid) h = &t->lanes.p[i];
        if (d->kind != LANE_DEVICE || !h) continue;
        uint32_t last = 0; /* 1 + the host event that began last */
        for (uint32_t i = 0, j = 0; i < d->n; i++) {
            struct trace_event *e = &t->ev[t->order[d->first + i]];
            for (; j < h->n && t->ev[t->order[h->first + j]].t0 <= e->t0; j++)
                if (t->ev[t->order[h->first + j]].kind != TK_MEM) last = t->order[h->first + j] + 1;
            uint32_t x = last;
            while (x && trace_end(&t->ev[x - 1]) < trace_end(e)) x = t->ev[x - 1].link;
            if (e->link || !x) continue;
            e->link = x;
            e->flags &= (uint8_t)~TF_NOLAUNCH;
            while (x && t->ev[x - 1].kind != TK_OP) x = t->ev[x - 1].link;
            e->aux = x;
        }
    }
}

void read_ridge(struct trace *t, struct input *in) {
    struct reading r = {.t = t, .in = in, .pos = 8};
    struct event_head head = {0};
    const uint8_t *p = need(&r, 8);
    if (p) memcpy(&head.version, p, 8);
    if (p && head.version != EVENT_FILE_VERSION)
        err_throw(t->err, RG_EPARSE,
                  "this Ridge profile is of version %u; this program reads version %d: use the `ridge` that "
                  "belongs to the program that recorded it, or record again",
                  head.version, EVENT_FILE_VERSION);
    if (!p || !(p = need(&r, sizeof head - 16)))
        err_throw(t->err, RG_EPARSE, "the Ridge profile ends in its header: it was cut short");
    memcpy(&head.dropped, p, sizeof head - 16);
    t->missing_records = head.dropped;
    t->record_ns = RG_MIN(head.record_ns, 1000000u);
    map_init(&r.names, &t->arena);
    map_init(&r.lines, &t->arena);
    trace_intern(t, "", 0);
    if (head.bytes >= sizeof head && skip(&r, head.bytes - sizeof head)) read_blocks(&r);
    resolve(&r);
    t->format = TRACE_RIDGE;
    trace_finish(t);
    align_memory(t);
    find_recorded(&r);
    link_calls(t);
}
