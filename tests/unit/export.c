/* Tests of what a Ridge profile is exported to: Perfetto's protobuf is decoded by a small decoder of its own, the JSON by the
 * reader of PyTorch's traces, stacks and CSV line by line. Names in them are as bad as names can be. */
#include "event/event.h"
#include "recorded.h"
#include "report/report.h"

#include <test.h>

#include <stdlib.h>
#include <unistd.h>

static struct err err;
static struct arena arena;
static struct trace t;
static struct diag d;
static char out[80];
static char *got;
static size_t got_n;

static uint64_t seed;
static uint64_t draw(uint64_t n) { return (seed = hash_u64(seed + 1)) % n; }

static const char *const names[] = {"E_4",      "r_64_64",   "a;b c",    "with \"quotes\", commas",
                                    "\xff\xfe", "line\nend", "\xc3\xa4", "<tag>"};
static const char *const infos[] = {"sum net.1 a.c:7\t2000\tmemory",
                                    "exp; log a b.c:12 (backward)\t10\tcompute", "\t5\toverhead", ""};

/* Records inside each other, as a thread writes them; with `damaged` some reach out of what they are in. */
static void fill(uint64_t t0, uint64_t t1, int depth, bool damaged) {
    static const enum event_kind kinds[] = {EVENT_CALL, EVENT_RUN,   EVENT_PLAN,  EVENT_WAIT,
                                            EVENT_COPY, EVENT_RANGE, EVENT_KERNEL};
    for (uint64_t now = t0; depth && now < t1;) {
        uint64_t a = now + draw(30), b = a + draw(8) * draw(60);
        if (b > t1) break;
        enum event_kind kind = kinds[draw(RG_COUNT(kinds))];
        bool leaf = kind == EVENT_KERNEL || kind == EVENT_COPY;
        uint32_t info = kind == EVENT_KERNEL ? event_name(infos[draw(RG_COUNT(infos))]) : 0;
        event_add_info(kind, event_name(names[draw(RG_COUNT(names))]), info, a,
                       damaged && !draw(9) ? b + draw(500) : b, (int64_t)draw(1000), (int64_t)draw(1000));
        fill(a, b, leaf ? 0 : depth - 1, damaged);
        now = b + 1;
    }
}

static void make(uint64_t which, uint64_t length, bool damaged) {
    seed = which << 32;
    arena_init(&arena, &err);
    event_reset();
    event_add(EVENT_RECORD, 0, 1000, 1000, 1, 0);
    fill(1000, 1000 + length, 5, damaged);
    for (uint64_t i = 0; i < 10; i++) {
        uint64_t at = 1000 + i * length / 10;
        event_add(i % 3 ? EVENT_ALLOC : EVENT_FREE, event_name("CPU"), at, at, 64, (int64_t)draw(1 << 20));
        event_add(EVENT_STEP, event_name("step"), at, at + length / 10, (int64_t)i, 0);
    }
    event_add(EVENT_RECORD, 0, 1000 + length, 1000 + length, 0, 0);
    diagnose_recorded(&arena, &t, &d);
    snprintf(out, sizeof out, "/tmp/ridge-export-%d.out", (int)getpid());
}

static void export(int format) {
    uint64_t bytes;
    if (report_export(&err, &d, format, out, &bytes)) FAIL("%s", err.msg);
    CHECK_EQ(os_read_file(&err, &arena, out, 1 << 28, &got, &got_n), 0);
    CHECK_EQ(bytes, got_n);
    unlink(out);
}

static void forget(void) {
    diag_free(&d);
    trace_free(&t);
    arena_free(&arena);
}

static int64_t kernel_time(void) {
    int64_t ns = 0;
    for (uint32_t i = 0; i < t.n; i++) ns += t.ev[i].kind == TK_KERNEL ? t.ev[i].dur : 0;
    return ns;
}

/* ---- Perfetto: a decoder ------------------------------------------------------------------------------------ */

struct part {
    const uint8_t *p, *end;
};
struct field {
    int number, wire;
    uint64_t value;
    struct part in;
};

static uint64_t varint(struct part *m) {
    uint64_t x = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        CHECK(m->p < m->end);
        uint8_t b = *m->p++;
        x |= (uint64_t)(b & 127) << shift;
        if (!(b & 128)) return x;
    }
    FAIL("a number of more than ten bytes");
}

static bool next(struct part *m, struct field *f) {
    if (m->p == m->end) return false;
    uint64_t key = varint(m);
    *f = (struct field){.number = (int)(key >> 3), .wire = (int)(key & 7)};
    f->value = varint(m);
    if (f->wire == 0) return true;
    CHECK_EQ(f->wire, 2);
    CHECK(f->value <= (uint64_t)(m->end - m->p));
    f->in = (struct part){m->p, m->p + f->value};
    m->p += f->value;
    return true;
}

/* What field `number` of a message holds; 0 and nothing if it is not there. */
static struct field find(struct part m, int number) {
    struct field f;
    while (next(&m, &f))
        if (f.number == number) return f;
    return (struct field){0};
}

struct decoded {
    struct map strings, tracks; /* field << 32 | iid; uuid -> number */
    struct {
        int64_t begun[1024], last, slept;
        uint32_t depth;
    } track[64];
    uint32_t ntracks, slices, instants, counters;
    int64_t total, kernels;
    uint64_t steps;
};

static void check_text(struct part s) {
    for (const uint8_t *p = s.p; p < s.end;) {
        int more = *p < 0x80 ? 0 : *p < 0xe0 ? 1 : *p < 0xf0 ? 2 : 3;
        CHECK(*p < 0x80 || *p >= 0xc2);
        for (p++; more; more--, p++) CHECK(p < s.end && (*p & 0xc0) == 0x80);
    }
}

static void known(struct decoded *x, int table, uint64_t iid) {
    if (!map_get(&x->strings, (uint64_t)table << 32 | iid, NULL))
        FAIL("string %llu of table %d was never said", (unsigned long long)iid, table);
}

static void on_event(struct decoded *x, struct part ev, int64_t at) {
    uint64_t type = find(ev, 9).value, uuid = find(ev, 11).value, k;
    if (!map_get(&x->tracks, uuid, &k))
        FAIL("an event on track %llu, which is not described", (unsigned long long)uuid);
    CHECK(at >= x->track[k].last); /* in order within a track */
    x->track[k].last = at;
    struct field note;
    for (struct part m = ev; next(&m, &note);) {
        if (note.number != 4) continue;
        known(x, 3, find(note.in, 1).value);
        if (find(note.in, 17).number) known(x, 29, find(note.in, 17).value);
    }
    if (type == 1 || type == 3) known(x, 2, find(ev, 10).value), known(x, 1, find(ev, 3).value);
    bool kernel = find(ev, 3).value == TK_KERNEL + 1;
    if (type == 1) {
        CHECK(x->track[k].depth < 1024);
        x->track[k].begun[x->track[k].depth++] = kernel ? -at : at;
        x->slices++;
    } else if (type == 2) {
        CHECK(x->track[k].depth > 0);
        int64_t from = x->track[k].begun[--x->track[k].depth];
        x->total += at - llabs(from);
        if (from < 0) x->kernels += at + from;
    } else if (type == 3) {
        x->instants++;
    } else {
        CHECK_EQ(type, 4);
        CHECK(find(ev, 30).number == 30);
        x->counters++;
    }
}

static void on_packet(struct decoded *x, struct part p, bool first) {
    struct field interned = find(p, 12), event = find(p, 11), track = find(p, 60), f;
    CHECK_EQ(find(p, 10).value, 1);
    CHECK_EQ(find(p, 13).value, first ? 1 : track.number ? 0 : 2); /* state is cleared once, then needed */
    for (struct part m = interned.in; interned.number && next(&m, &f);) {
        CHECK(find(f.in, 1).value > 0);
        check_text(find(f.in, 2).in);
        map_put(&x->strings, (uint64_t)f.number << 32 | find(f.in, 1).value, 1);
    }
    if (track.number) {
        uint64_t uuid = find(track.in, 1).value, parent = find(track.in, 5).value;
        CHECK(!map_get(&x->tracks, uuid, NULL) && x->ntracks < RG_COUNT(x->track));
        CHECK(find(track.in, 2).value > 0);
        CHECK(!parent || map_get(&x->tracks, parent, NULL));
        map_put(&x->tracks, uuid, x->ntracks++);
    }
    if (event.number) on_event(x, event.in, (int64_t)find(p, 8).value);
}

static void decode(struct decoded *x) {
    struct part all = {(uint8_t *)got, (uint8_t *)got + got_n};
    struct field f;
    bool first = true;
    memset(x, 0, sizeof *x);
    map_init(&x->strings, &arena);
    map_init(&x->tracks, &arena);
    for (; next(&all, &f); first = false) {
        CHECK(f.number == 1 && f.wire == 2);
        on_packet(x, f.in, first);
    }
    for (uint32_t i = 0; i < x->ntracks; i++) CHECK_EQ(x->track[i].depth, 0); /* all that began has ended */
}

TEST(export_perfetto_of_100_random_streams_decodes_and_nests) {
    static struct decoded x;
    uint64_t slices = 0;
    for (uint64_t i = 0; i < 100; i++) {
        bool damaged = i >= 50;
        make(i, 4000 + i * 100, damaged);
        uint32_t want = 0, instants = 0;
        int64_t total = 0;
        for (uint32_t k = 0; k < t.n; k++) {
            if (t.ev[k].kind == TK_MEM || t.ev[k].kind == TK_STEP) continue;
            want += t.ev[k].dur > 0, instants += !t.ev[k].dur, total += t.ev[k].dur;
        }
        for (uint32_t k = 0; k < d.steps.n; k++) want++, total += d.steps.p[k].t1 - d.steps.p[k].t0;
        export(EXPORT_PERFETTO);
        decode(&x);
        CHECK_EQ(x.counters, d.mem.n);
        CHECK_EQ(x.instants, instants);
        CHECK_EQ(x.slices, want);
        if (!damaged) CHECK_EQ(x.total, total);
        if (!damaged) CHECK_EQ(x.kernels, kernel_time());
        CHECK(x.total <= total);
        slices += x.slices;
        forget();
    }
    TEST_COUNT(slices, "slices decoded");
}

/* Our own reader finds the kernels of the recording, to the nanosecond. */
TEST(export_perfetto_is_read_back) {
    static struct trace t2;
    static struct diag d2;
    for (uint64_t i = 0; i < 20; i++) {
        make(i + 300, 4000 + i * 100, false);
        export(EXPORT_PERFETTO);
        if (trace_read_mem(&t2, &err, got, got_n, 0) || diagnose(&d2, &t2, &err)) FAIL("%s", err.msg);
        int64_t ns = 0;
        for (uint32_t k = 0; k < t2.n; k++) ns += t2.ev[k].kind == TK_KERNEL ? t2.ev[k].dur : 0;
        CHECK_EQ(t2.format, TRACE_PERFETTO);
        CHECK_EQ(ns, kernel_time());
        diag_free(&d2);
        trace_free(&t2);
        forget();
    }
}

/* More than the buffer of a sink holds. */
TEST(export_goes_on_where_a_piece_ends) {
    static struct decoded x;
    make(7, 900000, false);
    export(EXPORT_PERFETTO);
    decode(&x);
    CHECK_EQ(x.kernels, kernel_time());
    export(EXPORT_TRACE);
    CHECK(got_n > 1 << 20);
    forget();
}

/* ---- the others ----------------------------------------------------------------------------------------------- */

TEST(export_trace_is_read_as_pytorchs) {
    static struct trace back;
    static struct diag other;
    for (uint64_t i = 0; i < 20; i++) {
        make(i, 20000, i & 1);
        uint32_t kernels = 0;
        for (uint32_t k = 0; k < t.n; k++) kernels += t.ev[k].kind == TK_KERNEL;
        export(EXPORT_TRACE);
        if (trace_read_mem(&back, &err, got, got_n, 0)) FAIL("%s", err.msg);
        CHECK_EQ(back.lost + back.dropped + back.repaired, 0);
        CHECK_EQ(diagnose(&other, &back, &err), 0);
        int64_t ns = 0;
        uint32_t n = 0;
        for (uint32_t k = 0; k < back.n; k++)
            if (back.ev[k].kind == TK_KERNEL) ns += back.ev[k].dur, n++;
        CHECK_EQ(ns, kernel_time());
        CHECK_EQ(n, kernels);
        diag_free(&other);
        trace_free(&back);
        forget();
    }
}

TEST(export_folded_sums_to_all_kernels) {
    for (uint64_t i = 0; i < 20; i++) {
        make(i, 20000, i & 1);
        export(EXPORT_FOLDED);
        int64_t sum = 0;
        for (char *line = got; *line;) {
            char *end = strchr(line, '\n');
            CHECK(end != NULL);
            *end = 0;
            int frames = 1;
            for (char *p = line; *p; p++) frames += *p == ';';
            if (frames != 4) FAIL("%d frames: %s", frames, line);
            sum += atoll(strrchr(line, ' ') + 1);
            line = end + 1;
        }
        CHECK_EQ(sum, kernel_time());
        forget();
    }
}

/* The n-th cell of a row, as a reader of RFC 4180 sees it; returns the end of the row. */
static char *cells(char *row, char (*cell)[200], int most, int *n) {
    for (*n = 0;; row++) {
        char *to = cell[(*n)++], *stop = to + 199;
        CHECK(*n <= most);
        if (*row == '"')
            for (row++; *row != '"' || row[1] == '"'; row++) {
                CHECK(*row && to < stop);
                row += *row == '"';
                *to++ = *row;
            }
        for (row += *row == '"' && to > cell[*n - 1]; *row != ',' && *row != '\n'; row++) *to++ = *row;
        *to = 0;
        if (*row == '\n') return row + 1;
    }
}

TEST(export_csv_has_a_row_for_each_event) {
    static char cell[16][200];
    int n;
    for (uint64_t i = 0; i < 20; i++) {
        make(i, 20000, i & 1);
        export(EXPORT_CSV);
        int64_t kernels = 0;
        uint32_t rows = 0;
        char *row = cells(got, cell, 16, &n);
        CHECK_EQ(n, 13);
        CHECK_STR(cell[4], "name");
        for (; *row; rows++) {
            row = cells(row, cell, 16, &n);
            CHECK_EQ(n, 13);
            if (rows >= t.n) {
                CHECK_STR(cell[3], "memory");
                CHECK_EQ(atoll(cell[9]), d.mem.p[rows - t.n].bytes);
                continue;
            }
            const struct trace_event *e = &t.ev[rows];
            CHECK_EQ(atoll(cell[0]), e->t0);
            CHECK_STR(cell[3], trace_kind_text(e->kind));
            CHECK_STR(cell[4], trace_str(&t, e->name));
            if (e->kind == TK_KERNEL) kernels += atoll(cell[1]);
        }
        CHECK_EQ(rows, t.n + d.mem.n);
        CHECK(d.mem.n > 0);
        CHECK_EQ(kernels, kernel_time());
        forget();
    }
}

TEST(export_that_cannot_be_written_says_so) {
    make(1, 3000, false);
    for (int f = 0; f < EXPORTS; f++) {
        struct err e = {0};
        CHECK(report_export(&e, &d, f, "/nowhere/at/all", NULL) != 0);
        CHECK(strstr(e.msg, "/nowhere/at/all") && strstr(e.msg, "No such file"));
    }
    struct trace foreign;
    struct diag of;
    struct err e = {0};
    CHECK_EQ(trace_read(&foreign, &e, "tests/traces/memory_leak.snapshot.pickle"), 0);
    CHECK_EQ(diagnose(&of, &foreign, &e), 0);
    CHECK(report_export(&e, &of, EXPORT_CSV, out, NULL) != 0);
    CHECK(strstr(e.msg, "only Ridge profiles"));
    CHECK(access(out, F_OK) != 0);
    diag_free(&of);
    trace_free(&foreign);
    forget();
}
