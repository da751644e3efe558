/* perfetto.c: a Ridge profile as Perfetto's protobuf.
 *
 * One sequence of packets: strings first (interned, each once), then the tracks, then for each track its slices in order of time,
 * as begin and end. Slices of a track nest: an event that would reach out of the one around it (the records of a thread nest,
 * unless a file is damaged) goes to a track beside it, and what fits nowhere is cut short. Kernels name their line, function
 * and module; device memory is a counter. Field numbers are those of perfetto_trace.proto.
 * Tests: tests/unit/export.c has a decoder of its own; tests/cli/exports.sh asks Perfetto's */
#include "report/internal.h"

enum {
    PACKET = 1,
    TIMESTAMP = 8,
    SEQUENCE = 10,
    TRACK_EVENT = 11,
    INTERNED = 12,
    FLAGS = 13,
    DESCRIPTOR = 60
};
enum { EV_TYPE = 9, EV_NAME_IID = 10, EV_TRACK = 11, EV_CATEGORY_IID = 3, EV_NOTE = 4, EV_COUNTER = 30 };
enum { BEGIN = 1, END = 2, INSTANT = 3, COUNTER = 4 };
enum { NOTE_NAME_IID = 1, NOTE_INT = 4, NOTE_STRING_IID = 17 };
enum { IN_CATEGORY = 1, IN_NAME = 2, IN_NOTE_NAME = 3, IN_NOTE_VALUE = 29 };
enum { STATE_CLEARED = 1, STATE_NEEDED = 2 };
enum { TRACK_HOST = 1, TRACK_MEMORY = 2, TRACK_STEPS = 3, TRACK_FIRST = 64 }; /* uuids */
enum { BESIDE = 4, DEEPEST = 256 }; /* tracks of a lane; slices in a slice */

#define LONGEST 4000 /* bytes of a string */

static const char *const notes[] = {"line", "function", "module", "bound", "operations", "bytes", "roof ns"};
enum { NOTE_LINE = 1, NOTE_FUNCTION, NOTE_MODULE, NOTE_BOUND, NOTE_OPERATIONS, NOTE_BYTES, NOTE_ROOF };

/* ---- messages ----------------------------------------------------------------------------------------------- */

struct message {
    uint32_t n;
    uint8_t p[LONGEST + 96];
};

static void varint(struct message *m, uint64_t x) {
    while (x >= 128) m->p[m->n++] = (uint8_t)(x | 128), x >>= 7;
    m->p[m->n++] = (uint8_t)x;
}

static void number(struct message *m, int field, uint64_t x) {
    varint(m, (uint64_t)field << 3);
    varint(m, x);
}

static void bytes(struct message *m, int field, const void *p, size_t n) {
    varint(m, (uint64_t)field << 3 | 2);
    varint(m, n);
    memcpy(m->p + m->n, p, n);
    m->n += (uint32_t)n;
}

/* Whole letters of UTF-8 only, as much as fits; other bytes would make the string no text. */
static void text(struct message *m, int field, const char *s) {
    size_t n = 0;
    for (size_t k; s[n] && n < LONGEST; n += k) {
        uint8_t c = (uint8_t)s[n];
        k = c < 0x80                ? 1
            : c >= 0xc2 && c < 0xe0 ? 2
            : c >= 0xe0 && c < 0xf0 ? 3
            : c >= 0xf0 && c < 0xf5 ? 4
                                    : 0;
        for (size_t i = 1; i < k; i++)
            if (((uint8_t)s[n + i] & 0xc0) != 0x80) k = 0;
        if (!k || n + k > LONGEST) break;
    }
    bytes(m, field, s, n);
}

static void inside(struct message *m, int field, const struct message *inner) {
    bytes(m, field, inner->p, inner->n);
}

struct perfetto_writer {
    struct sink *k;
    const struct diag *d;
    const struct trace *t;
    uint8_t *used; /* by trace_str: 1 a slice's name, 2 a note's value */
    bool begun;
    struct message packet, event;
};

static void send(struct perfetto_writer *w, const struct message *m, uint64_t flags) {
    struct message *head = &w->event;
    head->n = 0;
    uint32_t own = m->n;
    struct message tail;
    tail.n = 0;
    number(&tail, SEQUENCE, 1);
    if (flags) number(&tail, FLAGS, flags);
    varint(head, PACKET << 3 | 2);
    varint(head, own + tail.n);
    sink_put(w->k, head->p, head->n);
    sink_put(w->k, m->p, own);
    sink_put(w->k, tail.p, tail.n);
}

/* ---- strings --------------------------------------------------------------------------------------------------- */

static void intern(struct perfetto_writer *w, int field, uint64_t iid, const char *s) {
    struct message *entry = &w->event, data;
    entry->n = data.n = w->packet.n = 0;
    number(entry, 1, iid);
    text(entry, 2, s);
    inside(&data, field, entry);
    inside(&w->packet, INTERNED, &data);
    send(w, &w->packet, w->begun ? STATE_NEEDED : STATE_CLEARED);
    w->begun = true;
}

static void strings(struct perfetto_writer *w) {
    const struct trace *t = w->t;
    w->used = arena_array(&w->k->arena, uint8_t, t->strs.n + 1);
    for (uint32_t i = 0; i < t->n; i++) {
        const struct trace_event *e = &t->ev[i];
        const struct trace_kernel_args *a = e->kind == TK_KERNEL ? trace_blob(t, e->args, sizeof *a) : NULL;
        w->used[e->name] |= 1;
        if (e->kind == TK_OP) w->used[e->args < t->strs.n ? e->args : 0] |= 2;
        if (a) w->used[a->where] |= 2, w->used[a->op] |= 2, w->used[a->module] |= 2, w->used[a->limit] |= 2;
    }
    for (uint32_t i = 0; i < TK_KINDS; i++) {
        intern(w, IN_CATEGORY, i + 1, trace_kind_text((int)i));
        intern(w, IN_NAME, i + 1, trace_kind_text((int)i)); /* of events without a name */
    }
    for (uint32_t i = 0; i < RG_COUNT(notes); i++) intern(w, IN_NOTE_NAME, i + 1, notes[i]);
    for (uint32_t i = 1; i < t->strs.n; i++) {
        if (w->used[i] & 1) intern(w, IN_NAME, (uint64_t)i + TK_KINDS, trace_str(t, i));
        if (w->used[i] & 2) intern(w, IN_NOTE_VALUE, i, trace_str(t, i));
    }
}

/* ---- tracks ------------------------------------------------------------------------------------------------------ */

static void track(struct perfetto_writer *w, uint64_t uuid, const char *name) {
    struct message *d = &w->event, more;
    d->n = more.n = w->packet.n = 0;
    number(d, 1, uuid);
    text(d, 2, name);
    if (uuid == TRACK_HOST) {
        number(&more, 1, 1); /* a process: its number, its name */
        text(&more, 6, name);
        inside(d, 3, &more);
    } else {
        number(d, 5, TRACK_HOST); /* its parent */
    }
    if (uuid == TRACK_MEMORY) {
        number(&more, 3, 3); /* a counter of bytes */
        inside(d, 8, &more);
    }
    inside(&w->packet, DESCRIPTOR, d);
    send(w, &w->packet, 0);
}

static uint64_t track_of(uint32_t lane, int beside) {
    return TRACK_FIRST + (uint64_t)lane * BESIDE + (uint64_t)beside;
}

static void lane_track(struct perfetto_writer *w, uint32_t lane, int beside) {
    const struct trace_lane *l = &w->t->lanes.p[lane];
    char name[160];
    int n = l->async ? snprintf(name, sizeof name, "%.60s", trace_str(w->t, l->name))
                     : snprintf(name, sizeof name, "%sthread %.60s",
                                l->kind == LANE_DEVICE ? "kernels of " : "", trace_str(w->t, l->tid));
    if (beside) snprintf(name + n, sizeof name - (size_t)n, ", beside %d", beside);
    track(w, track_of(lane, beside), name);
}

/* ---- slices ------------------------------------------------------------------------------------------------------- */

static void event(struct perfetto_writer *w, int64_t t, uint64_t uuid, int type, uint64_t name, int kind,
                  const struct message *more) {
    struct message ev;
    ev.n = 0;
    number(&ev, EV_TYPE, (uint64_t)type);
    number(&ev, EV_TRACK, uuid);
    if (name) number(&ev, EV_NAME_IID, name), number(&ev, EV_CATEGORY_IID, (uint64_t)kind + 1);
    if (more && more->n) memcpy(ev.p + ev.n, more->p, more->n), ev.n += more->n;
    w->packet.n = 0;
    number(&w->packet, TIMESTAMP, (uint64_t)(t + w->t->base));
    inside(&w->packet, TRACK_EVENT, &ev);
    send(w, &w->packet, STATE_NEEDED);
}

static void note(struct message *m, int name, int field, uint64_t value) {
    struct message a;
    a.n = 0;
    number(&a, NOTE_NAME_IID, (uint64_t)name);
    number(&a, field, value);
    inside(m, EV_NOTE, &a);
}

static void kernel_notes(const struct trace *t, const struct trace_event *e, struct message *m) {
    const struct trace_kernel_args *a = trace_blob(t, e->args, sizeof *a);
    if (!a) return;
    if (a->where) note(m, NOTE_LINE, NOTE_STRING_IID, a->where);
    if (a->op) note(m, NOTE_FUNCTION, NOTE_STRING_IID, a->op);
    if (a->module) note(m, NOTE_MODULE, NOTE_STRING_IID, a->module);
    note(m, NOTE_OPERATIONS, NOTE_INT, (uint64_t)a->flops);
    note(m, NOTE_BYTES, NOTE_INT, (uint64_t)a->bytes);
    if (!(a->known & 8)) return;
    note(m, NOTE_ROOF, NOTE_INT, (uint64_t)a->roof_ns);
    if (a->limit) note(m, NOTE_BOUND, NOTE_STRING_IID, a->limit);
}

struct open { /* slices of one track that have begun */
    int64_t end[DEEPEST];
    int n;
};

static void close_until(struct perfetto_writer *w, struct open *o, uint64_t uuid, int64_t t) {
    while (o->n && o->end[o->n - 1] <= t) event(w, o->end[--o->n], uuid, END, 0, 0, NULL);
}

/* The first track where it fits into what is open; BESIDE: none. */
static int find_track(struct perfetto_writer *w, struct open *o, uint32_t lane, bool *named, int64_t t0,
                      int64_t end) {
    int k = 0;
    for (; k < BESIDE; k++) {
        close_until(w, &o[k], track_of(lane, k), t0);
        if (!o[k].n || (o[k].end[o[k].n - 1] >= end && o[k].n < DEEPEST)) break;
    }
    if (k == BESIDE) return BESIDE;
    if (!named[k]) lane_track(w, lane, k);
    named[k] = true;
    return k;
}

static void lane_slices(struct perfetto_writer *w, uint32_t lane, struct open *o) {
    const struct trace *t = w->t;
    const struct trace_lane *l = &t->lanes.p[lane];
    bool named[BESIDE] = {false};
    struct message more;
    for (int k = 0; k < BESIDE; k++) o[k].n = 0;
    for (uint32_t i = 0; i < l->n; i++) {
        const struct trace_event *e = &t->ev[t->order[l->first + i]];
        if (e->kind == TK_MEM || e->kind == TK_STEP) continue;
        int64_t end = trace_end(e);
        int k = find_track(w, o, lane, named, e->t0, end);
        if (k == BESIDE) { /* cut it to what it is in */
            k = BESIDE - 1;
            if (o[k].n == DEEPEST) continue;
            end = o[k].end[o[k].n - 1];
        }
        more.n = 0;
        if (e->kind == TK_KERNEL) kernel_notes(t, e, &more);
        if (e->kind == TK_OP && e->args) note(&more, NOTE_LINE, NOTE_STRING_IID, e->args);
        uint64_t name = e->name ? (uint64_t)e->name + TK_KINDS : (uint64_t)e->kind + 1;
        event(w, e->t0, track_of(lane, k), end > e->t0 ? BEGIN : INSTANT, name, e->kind, &more);
        if (end > e->t0) o[k].end[o[k].n++] = end;
    }
    for (int k = 0; k < BESIDE; k++) close_until(w, &o[k], track_of(lane, k), INT64_MAX);
}

static void steps(struct perfetto_writer *w) {
    int64_t last = INT64_MIN;
    if (w->d->steps.n) track(w, TRACK_STEPS, "steps");
    for (uint32_t i = 0; i < w->d->steps.n; i++) {
        const struct step_row *s = &w->d->steps.p[i];
        int64_t t0 = RG_MAX(s->t0, last);
        if (s->t1 <= t0) continue;
        event(w, t0, TRACK_STEPS, BEGIN, TK_STEP + 1, TK_STEP, NULL);
        event(w, s->t1, TRACK_STEPS, END, 0, 0, NULL);
        last = s->t1;
    }
}

static void memory(struct perfetto_writer *w) {
    struct message more;
    if (w->d->mem.n) track(w, TRACK_MEMORY, "device memory");
    for (uint32_t i = 0; i < w->d->mem.n; i++) {
        more.n = 0;
        number(&more, EV_COUNTER, (uint64_t)w->d->mem.p[i].bytes);
        event(w, w->d->mem.p[i].t, TRACK_MEMORY, COUNTER, 0, 0, &more);
    }
}

void perfetto_write(struct sink *k, const struct diag *d) {
    struct perfetto_writer *w = arena_new(&k->arena, struct perfetto_writer);
    struct open *o = arena_array(&k->arena, struct open, BESIDE);
    w->k = k, w->d = d, w->t = d->t;
    strings(w);
    track(w, TRACK_HOST, *d->device_name ? d->device_name : "Ridge");
    for (uint32_t i = 0; i < d->t->lanes.n; i++) lane_slices(w, i, o);
    steps(w);
    memory(w);
}
