/* perfetto.c: reads slices of Perfetto's protobuf (perfetto_trace.proto), as rocprofv3, Chrome, Android and `ridge report --perfetto` write.
 *
 * Packets come in sequences, each with interned strings of its own, defaults and perhaps an incremental clock; tracks are for all. A slice
 * is a begin and an end on a track, or one legacy event with a duration. Its category says what it is; without a known one, its
 * track's name: queues and streams of GPUs are devices, anything else a thread's operators. Counters and the kernel's scheduling
 * are not read. Tests: tests/unit/perfetto.c */
#include "analyze/readers/protobuf.h"

#include <stdlib.h>

enum { PACKET = 1, SNAPSHOT = 6, TIMESTAMP = 8, SEQUENCE = 10, TRACK_EVENT = 11, INTERNED = 12, FLAGS = 13 };
enum { CLOCK = 58, DEFAULTS = 59, DESCRIPTOR = 60, STATE_CLEARED = 1 };
enum { OWN_CLOCKS = 64, CLOCKS = OWN_CLOCKS + 8, BOOTTIME = 6 }; /* 64 ..: a sequence's own */
enum { BEGIN = 1, END = 2 };
enum { IN_CATEGORY = 1, IN_NAME = 2, IN_NOTE = 3, DEEPEST = 256, MOST = 1 << 18 };

struct perfetto_clock {
    int64_t last, offset, unit; /* unit 0: not described */
    bool incremental;
};
struct perfetto_sequence {
    uint64_t generation, track;
    uint32_t clock; /* of packets that name none */
    struct perfetto_clock own[CLOCKS - OWN_CLOCKS];
};
struct perfetto_track {
    uint64_t parent;
    uint32_t name, pid, tid; /* trace_str of the name; 0 none */
    uint32_t open[DEEPEST], depth;
};
struct perfetto {
    struct trace *t;
    struct map sequences, tracks,
        strings; /* id -> address; string: hash of sequence, generation, table, iid -> trace_str */
    int64_t offset[OWN_CLOCKS]; /* of clocks for all, to BOOTTIME */
    uint32_t made;
};
struct perfetto_slice {
    uint64_t track, bytes;
    int64_t t, dur; /* dur -1: a begin */
    uint32_t name, category, corr;
    int type;
};

/* ---- state -------------------------------------------------------------------------------------------------- */

static void *find(struct perfetto *p, struct map *m, uint64_t id, size_t size) {
    uint64_t at;
    if (map_get(m, id, &at)) return (void *)(uintptr_t)at;
    if (p->made++ > MOST)
        err_throw(p->t->err, RG_ELIMIT, "more than %d tracks and sequences: no sane trace", MOST);
    void *x = arena_raw(&p->t->arena, size);
    memset(x, 0, size);
    map_put(m, id, (uint64_t)(uintptr_t)x);
    return x;
}
static struct perfetto_track *track_of(struct perfetto *p, uint64_t uuid) {
    return find(p, &p->tracks, uuid, sizeof(struct perfetto_track));
}

static uint64_t string_key(uint64_t sequence, const struct perfetto_sequence *s, int table, uint64_t iid) {
    return hash_u64(hash_u64(sequence << 8 | (uint64_t)table) + hash_u64(s->generation + 1) * 31 + iid);
}
static uint32_t text_of(struct perfetto *p, struct pb s) {
    return trace_intern(p->t, s.p, RG_MIN((size_t)(s.end - s.p), (size_t)16384));
}
static uint32_t interned(struct perfetto *p, uint64_t key) {
    uint64_t s;
    return map_get(&p->strings, key, &s) ? (uint32_t)s : 0;
}

static void take_interned(struct perfetto *p, uint64_t sequence, const struct perfetto_sequence *s,
                          struct pb b) {
    struct pbf f, g;
    while (next_field(&b, &f)) {
        if (f.wire != 2 || f.no > IN_NOTE || !f.no) continue;
        uint64_t iid = 0;
        uint32_t text = 0;
        while (next_field(&f.sub, &g)) {
            if (g.no == 1) iid = g.v;
            if (g.no == 2 && g.wire == 2) text = text_of(p, g.sub);
        }
        map_put(&p->strings, string_key(sequence, s, (int)f.no, iid), text);
    }
}

/* {process: 3 {pid 1, name 6}, thread: 4 {pid 1, tid 2, name 5}} */
static void take_track(struct perfetto *p, struct pb b) {
    struct pbf f, g;
    struct perfetto_track x = {0}, *to;
    uint64_t uuid = 0;
    while (next_field(&b, &f)) {
        if (f.no == 1) uuid = f.v;
        if ((f.no == 2 || f.no == 10) && f.wire == 2) x.name = text_of(p, f.sub);
        if (f.no == 5) x.parent = f.v;
        if ((f.no != 3 && f.no != 4) || f.wire != 2) continue;
        bool thread = f.no == 4;
        while (next_field(&f.sub, &g)) {
            if (g.no == 1) x.pid = (uint32_t)g.v;
            if (g.no == 2 && thread) x.tid = (uint32_t)g.v;
            if (g.no == (thread ? 5u : 6u) && g.wire == 2 && !x.name) x.name = text_of(p, g.sub);
        }
    }
    to = track_of(p, uuid);
    to->parent = x.parent ? x.parent : to->parent;
    to->name = x.name ? x.name : to->name;
    if (x.pid) to->pid = x.pid;
    if (x.tid) to->tid = x.tid;
}

/* Clocks of one moment: {clocks: 1 {id 1, timestamp 2, is_incremental 3, unit_multiplier_ns 4}}. */
static void take_clocks(struct perfetto *p, struct perfetto_sequence *s, struct pb b) {
    struct {
        uint64_t id, t, unit;
        bool incremental;
    } clock[16] = {{0}};
    struct pbf f, g;
    int n = 0;
    int64_t boot = -1;
    while (n < (int)RG_COUNT(clock) && next_field(&b, &f)) {
        if (f.no != 1 || f.wire != 2) continue;
        clock[n].unit = 1;
        while (next_field(&f.sub, &g)) {
            if (g.no == 1) clock[n].id = g.v;
            if (g.no == 2) clock[n].t = g.v;
            if (g.no == 3) clock[n].incremental = g.v != 0;
            if (g.no == 4) clock[n].unit = RG_MIN(RG_MAX(g.v, 1u), 1000000000u);
        }
        if (clock[n].id == BOOTTIME) boot = (int64_t)RG_MIN(clock[n].t, (uint64_t)1 << 60);
        n++;
    }
    for (int i = 0; i < n; i++) {
        int64_t t = (int64_t)(RG_MIN(clock[i].t, ((uint64_t)1 << 60) / clock[i].unit) * clock[i].unit);
        int64_t offset = boot >= 0 ? boot - t : 0;
        if (clock[i].id < OWN_CLOCKS)
            p->offset[clock[i].id] = offset;
        else if (clock[i].id < CLOCKS)
            s->own[clock[i].id - OWN_CLOCKS] =
                (struct perfetto_clock){t, offset, (int64_t)clock[i].unit, clock[i].incremental};
    }
}

static int64_t time_of(struct perfetto *p, struct perfetto_sequence *s, uint32_t clock, uint64_t t) {
    const int64_t most = (int64_t)1 << 60;
    if (clock < OWN_CLOCKS) return (int64_t)RG_MIN(t, (uint64_t)most) + (clock ? p->offset[clock] : 0);
    if (clock >= CLOCKS) return -1;
    struct perfetto_clock *c = &s->own[clock - OWN_CLOCKS];
    int64_t unit = RG_MAX(c->unit, 1), x = (int64_t)RG_MIN(t, (uint64_t)(most / unit)) * unit;
    if (!c->incremental) return x + c->offset;
    c->last = RG_MIN(c->last + x, most);
    return c->last + c->offset;
}

/* ---- slices --------------------------------------------------------------------------------------------------- */

static bool has(const char *s, const char *part) { return strcasestr(s, part) != NULL; }

/* The kind by category, else by the track; TK_NONE: not known, an operator. */
static int kind_of(const char *category, const char *track) {
    for (int k = 1; k < TK_KINDS; k++)
        if (*category && !strcmp(category, trace_kind_text(k))) return k;
    if (has(category, "kernel")) return TK_KERNEL;
    if (has(category, "memory_copy") || has(category, "memcpy")) return TK_COPY;
    if (has(category, "_api") || has(category, "runtime") || has(category, "driver")) return TK_API;
    if (has(category, "marker") || has(category, "annotation")) return TK_ANNOT;
    bool device = has(track, "queue") || !strncmp(track, "Stream", 6) || !strncmp(track, "GPU", 3);
    return device ? TK_KERNEL : TK_NONE;
}

/* "COMPUTE AGENT [1] QUEUE [2]", "GPU 1": the number of the device. */
static uint32_t device_number(const char *track) {
    const char *s = strstr(track, "AGENT [");
    s = s ? s + 7 : !strncmp(track, "GPU ", 4) ? track + 4 : "0";
    return (uint32_t)RG_MIN(strtoul(s, NULL, 10), 1000ul);
}

static uint32_t number_text(struct trace *t, uint64_t x) {
    char b[24];
    return trace_intern(t, b, (size_t)snprintf(b, sizeof b, "%llu", (unsigned long long)x));
}

static uint16_t lane_of(struct perfetto *p, uint64_t uuid, const struct perfetto_track *k, bool device) {
    struct trace *t = p->t;
    uint32_t number = device_number(trace_str(t, k->name));
    uint16_t l = trace_lane(t, device ? LANE_DEVICE : LANE_HOST, number_text(t, device ? number : k->pid),
                            number_text(t, device || !k->tid ? uuid : k->tid));
    t->lanes.p[l].name = k->name;
    if (device) t->lanes.p[l].device = (int32_t)number, t->lanes.p[l].stream = (int32_t)(uuid & 0xfffff);
    return l;
}

static void begin_slice(struct perfetto *p, const struct perfetto_slice *s, struct perfetto_track *k) {
    struct trace *t = p->t;
    const char *name = trace_str(t, s->name);
    int kind = kind_of(trace_str(t, s->category), trace_str(t, k->name));
    bool device = kind == TK_KERNEL || kind == TK_COPY || kind == TK_SET || kind == TK_COMM;
    struct trace_event *e = trace_add(t);
    if (!e) return;
    e->t0 = s->t, e->dur = RG_MAX(s->dur, 0), e->name = s->name, e->corr = s->corr;
    e->kind = (uint8_t)(kind == TK_KERNEL ? trace_device_kind(name)
                        : kind == TK_API  ? trace_api_kind(name)
                        : kind            ? kind
                                          : trace_host_kind(TK_OP, name));
    if (e->kind == TK_COPY || e->kind == TK_SET || e->kind == TK_MEM) {
        struct trace_copy_args c = {(int64_t)RG_MIN(s->bytes, (uint64_t)1 << 50)};
        e->flags |= (uint8_t)(e->kind == TK_COPY ? trace_copy_flags(name) : 0);
        e->args = trace_intern(t, &c, sizeof c);
    }
    uint32_t at = t->n - 1;
    t->ev[at].lane = lane_of(p, s->track, k, device);
    if (s->dur < 0 && k->depth < DEEPEST) k->open[k->depth++] = at;
}

static void take_slice(struct perfetto *p, const struct perfetto_slice *s) {
    struct trace *t = p->t;
    struct perfetto_track *k = track_of(p, s->track);
    t->seen++;
    if (s->t < 0) {
        t->dropped++;
    } else if (s->type == BEGIN || s->dur >= 0) {
        if (!k->name && k->parent != s->track) k->name = track_of(p, k->parent)->name;
        begin_slice(p, s, k);
    } else if (s->type == END && k->depth) {
        struct trace_event *e = &t->ev[k->open[--k->depth]];
        e->dur = RG_MAX(s->t - e->t0, 0);
    } else if (s->type == END) {
        t->dropped++; /* began before the recording */
    }
}

/* {name_iid 1, name 10, uint 3, int 4} */
static void take_note(struct perfetto *p, uint64_t sequence, const struct perfetto_sequence *q, struct pb b,
                      struct perfetto_slice *s) {
    struct pbf f;
    uint32_t name = 0;
    uint64_t v = 0;
    while (next_field(&b, &f)) {
        if (f.no == 1 && !f.wire) name = interned(p, string_key(sequence, q, IN_NOTE, f.v));
        if (f.no == 10 && f.wire == 2) name = text_of(p, f.sub);
        if ((f.no == 3 || f.no == 4) && !f.wire) v = f.v;
    }
    const char *n = trace_str(p->t, name);
    if (!strncmp(n, "corr", 4)) s->corr = (uint32_t)v;
    if (!strcmp(n, "bytes") || !strcmp(n, "size_bytes")) s->bytes = v;
}

static void take_event(struct perfetto *p, uint64_t sequence, const struct perfetto_sequence *q, struct pb b,
                       int64_t t) {
    struct perfetto_slice s = {.track = q->track, .t = t, .dur = -1};
    struct pbf f, g;
    while (next_field(&b, &f)) {
        if (f.no == 9) s.type = (int)RG_MIN(f.v, 100u);
        if (f.no == 11 && !f.wire) s.track = f.v;
        if (f.no == 10 && !f.wire) s.name = interned(p, string_key(sequence, q, IN_NAME, f.v));
        if (f.no == 23 && f.wire == 2) s.name = text_of(p, f.sub);
        if (f.no == 3 && !f.wire) s.category = interned(p, string_key(sequence, q, IN_CATEGORY, f.v));
        if (f.no == 22 && f.wire == 2) s.category = text_of(p, f.sub);
        if (f.no == 4 && f.wire == 2) take_note(p, sequence, q, f.sub, &s);
        if (f.no != 6 || f.wire != 2) continue;
        int64_t us = -1;
        bool complete = false; /* legacy_event: {name_iid 1, phase 2, duration_us 3} */
        while (next_field(&f.sub, &g)) {
            if (g.no == 1) s.name = interned(p, string_key(sequence, q, IN_NAME, g.v));
            if (g.no == 2) complete = g.v == 'X', s.type = g.v == 'B' ? BEGIN : g.v == 'E' ? END : s.type;
            if (g.no == 3) us = (int64_t)RG_MIN(g.v, (uint64_t)1 << 50);
        }
        if (complete && us >= 0) s.dur = us * 1000;
    }
    take_slice(p, &s);
}

/* ---- packets ---------------------------------------------------------------------------------------------------- */

static void take_packet(struct perfetto *p, struct pb b) {
    struct pb event = {0}, strings = {0}, defaults = {0}, track = {0}, clocks = {0};
    struct pbf f, g;
    uint64_t at = 0, sequence = 0, flags = 0;
    uint32_t clock = 0;
    while (next_field(&b, &f)) {
        switch (f.no) {
        case TIMESTAMP: at = f.v; break;
        case SEQUENCE: sequence = f.v; break;
        case FLAGS: flags = f.v; break;
        case 41: flags |= f.v ? STATE_CLEARED : 0; break; /* incremental_state_cleared */
        case CLOCK: clock = (uint32_t)RG_MIN(f.v, (uint64_t)CLOCKS); break;
        case TRACK_EVENT: event = f.sub; break;
        case INTERNED: strings = f.sub; break;
        case DEFAULTS: defaults = f.sub; break;
        case DESCRIPTOR: track = f.sub; break;
        case SNAPSHOT: clocks = f.sub; break;
        default: break;
        }
    }
    struct perfetto_sequence *s = find(p, &p->sequences, sequence, sizeof *s);
    if (flags & STATE_CLEARED) s->generation++, s->track = 0, s->clock = 0;
    if (clocks.p) take_clocks(p, s, clocks);
    while (defaults.p && next_field(&defaults, &f)) {
        if (f.no == CLOCK) s->clock = (uint32_t)RG_MIN(f.v, (uint64_t)CLOCKS);
        while (f.no == TRACK_EVENT && f.wire == 2 && next_field(&f.sub, &g))
            if (g.no == 11) s->track = g.v;
    }
    if (strings.p) take_interned(p, sequence, s, strings);
    if (track.p) take_track(p, track);
    int64_t t = at ? time_of(p, s, clock ? clock : s->clock, at) : -1;
    if (event.p) take_event(p, sequence, s, event, t);
}

/* Slices without an end last until the last moment that was recorded. */
static void close_all(struct perfetto *p) {
    struct trace *t = p->t;
    int64_t last = 0;
    for (uint32_t i = 0; i < t->n; i++) last = RG_MAX(last, trace_end(&t->ev[i]));
    for (uint32_t i = 0; i < p->tracks.cap; i++) {
        const struct perfetto_track *k =
            p->tracks.full[i] ? (const struct perfetto_track *)(uintptr_t)p->tracks.val[i] : NULL;
        for (uint32_t j = 0; k && j < k->depth; j++) t->ev[k->open[j]].dur = last - t->ev[k->open[j]].t0;
    }
}

/* A Trace is packets (field 1), and a packet says when (8) and by whom (10, 3, 79) it was written. */
bool is_perfetto(const uint8_t *p, size_t n) {
    struct pb b = {p, p + n};
    struct pbf f, g;
    int packets = 0, told = 0;
    while (packets < 8 && next_field(&b, &f)) {
        if (f.no != PACKET || f.wire != 2) return false;
        packets++;
        while (next_field(&f.sub, &g))
            told += g.wire == 0 && (g.no == TIMESTAMP || g.no == SEQUENCE || g.no == 3 || g.no == 79);
        if (f.sub.p < f.sub.end) return false;
    }
    return packets && told >= packets;
}

void read_perfetto(struct trace *t, struct input *in) {
    struct perfetto *p = arena_new(&t->arena, struct perfetto);
    struct pb b = read_whole(t, in);
    struct pbf f;
    p->t = t;
    map_init(&p->sequences, &t->arena);
    map_init(&p->tracks, &t->arena);
    map_init(&p->strings, &t->arena);
    while (next_field(&b, &f))
        if (f.no == PACKET && f.wire == 2) take_packet(p, f.sub);
    if (b.p < b.end) t->truncated = true;
    close_all(p);
    if (!t->n)
        err_throw(
            t->err, RG_EPARSE,
            "this Perfetto trace has no slices of tracks (track_event)%s: scheduling and counters alone "
            "say nothing about operators and kernels; record with the tool's own trace points",
            t->truncated ? " and ends in the middle" : "");
    t->format = TRACE_PERFETTO;
    trace_finish(t);
}
