/* perfetto.c: Perfetto's protobuf as others write it (interned names by sequence, incremental clocks, legacy events, queues of GPUs);
 * damage. What we export ourselves: tests/unit/export.c */
#include "damage.h"

static uint8_t file[1 << 16];
static size_t n;
static struct err err;
static struct trace t;
static struct diag d;

/* ---- a writer of its own -------------------------------------------------------------------------------------- */

struct msg {
    uint8_t p[1024];
    size_t n;
};
static void varint(struct msg *m, uint64_t x) {
    for (; x >= 128; x >>= 7) m->p[m->n++] = (uint8_t)(x | 128);
    m->p[m->n++] = (uint8_t)x;
}
static void num(struct msg *m, int field, uint64_t x) { varint(m, (uint64_t)field << 3), varint(m, x); }
static void raw(struct msg *m, int field, const void *p, size_t len) {
    varint(m, (uint64_t)field << 3 | 2), varint(m, len);
    memcpy(m->p + m->n, p, len), m->n += len;
}
static void str(struct msg *m, int field, const char *s) { raw(m, field, s, strlen(s)); }
static void in(struct msg *m, int field, const struct msg *x) { raw(m, field, x->p, x->n); }
static void packet(const struct msg *m) {
    struct msg h = {.n = 0};
    varint(&h, 1 << 3 | 2), varint(&h, m->n);
    memcpy(file + n, h.p, h.n), n += h.n;
    memcpy(file + n, m->p, m->n), n += m->n;
}

/* A sequence begins: its strings are new, its clock counts from `base` in units of `unit`. */
static void sequence(uint64_t id, uint64_t base, uint64_t unit) {
    struct msg m = {.n = 0}, clocks = {.n = 0}, boot = {.n = 0}, own = {.n = 0}, defaults = {.n = 0};
    num(&boot, 1, 6), num(&boot, 2, base);
    num(&own, 1, 64), num(&own, 2, 0), num(&own, 3, 1), num(&own, 4, unit);
    in(&clocks, 1, &boot), in(&clocks, 1, &own);
    num(&defaults, 58, 64);
    num(&m, 10, id), num(&m, 13, 1), in(&m, 6, &clocks), in(&m, 59, &defaults);
    packet(&m);
}
static void name(uint64_t seq, int table, uint64_t iid, const char *text) {
    struct msg m = {.n = 0}, data = {.n = 0}, entry = {.n = 0};
    num(&entry, 1, iid), str(&entry, 2, text);
    in(&data, table, &entry), in(&m, 12, &data), num(&m, 10, seq);
    packet(&m);
}
static void track(uint64_t uuid, const char *text, uint64_t pid, uint64_t tid) {
    struct msg m = {.n = 0}, x = {.n = 0}, thread = {.n = 0};
    num(&x, 1, uuid);
    if (text) str(&x, 2, text);
    if (tid) num(&thread, 1, pid), num(&thread, 2, tid), in(&x, 4, &thread);
    in(&m, 60, &x), num(&m, 10, 1);
    packet(&m);
}
/* type 1 begins, 2 ends; `after` units later than the packet before. */
static void event(uint64_t seq, uint64_t after, int type, uint64_t uuid, uint64_t name_iid, uint64_t category,
                  uint64_t corr) {
    struct msg m = {.n = 0}, e = {.n = 0}, note = {.n = 0};
    num(&e, 9, (uint64_t)type), num(&e, 11, uuid);
    if (name_iid) num(&e, 10, name_iid);
    if (category) num(&e, 3, category);
    if (corr) str(&note, 10, "corr_id"), num(&note, 3, corr), in(&e, 4, &note);
    num(&m, 8, after), in(&m, 11, &e), num(&m, 10, seq);
    packet(&m);
}

/* Two sequences give different names to one number; one counts microseconds. */
static void make(void) {
    n = 0;
    sequence(1, 1000000, 1);
    sequence(2, 1000000, 1000);
    track(50, NULL, 7, 8);
    track(60, "COMPUTE AGENT [3] QUEUE [1] (GPU)", 0, 0);
    name(1, 1, 1, "hip_api"), name(1, 2, 1, "hipLaunchKernel"), name(1, 2, 2, "hipDeviceSynchronize");
    name(2, 1, 1, "kernel_dispatch"), name(2, 2, 1, "Cijk_gemm");
    event(1, 1000, 1, 50, 1, 1, 5), event(1, 500, 2, 50, 0, 0, 0); /* 1000 .. 1500 ns */
    event(2, 2, 1, 60, 1, 1, 5), event(2, 3, 2, 60, 0, 0, 0);      /* 2 .. 5 us */
    event(1, 500, 1, 50, 2, 1, 6), event(1, 4000, 2, 50, 0, 0, 0); /* 2000 .. 6000 ns */
}

static int load(size_t bytes) { return trace_read_mem(&t, &err, file, bytes, 0) || diagnose(&d, &t, &err); }
static void forget(void) {
    diag_free(&d);
    trace_free(&t);
}

TEST(perfetto_slices_of_sequences_and_clocks) {
    make();
    if (load(n)) FAIL("%s", err.msg);
    CHECK_EQ(t.format, TRACE_PERFETTO);
    CHECK_EQ(t.n, 3);
    CHECK_EQ(d.kernels.n, 1);
    CHECK_STR(trace_str(&t, d.kernels.p[0].name), "Cijk_gemm");
    CHECK_EQ(d.kernels.p[0].ns, 3000);
    bool launch = false, wait = false;
    for (uint32_t i = 0; i < t.n; i++) {
        const struct trace_event *e = &t.ev[i];
        if (e->kind == TK_KERNEL) CHECK(t.lanes.p[e->lane].device == 3 && e->t0 == 1000 && e->corr == 5);
        launch |= e->kind == TK_LAUNCH && e->t0 == 0 && e->dur == 500;
        wait |= e->kind == TK_SYNC && e->dur == 4000;
    }
    CHECK(launch && wait);
    forget();
}

/* An end that is missing is the end of the recording; without slices there are words. */
TEST(perfetto_cut_files) {
    make();
    size_t cut = n - 30;
    if (load(cut)) FAIL("%s", err.msg);
    CHECK(t.truncated);
    forget();
    n = 0;
    sequence(1, 5, 1);
    CHECK(trace_read_mem(&t, &err, file, n, 0) == RG_EPARSE && strstr(err.msg, "no slices"));
    err = (struct err){0};
}

TEST(perfetto_damaged_files_end_in_words) {
    make();
    CHECK(read_damaged(file, n, 0, 5000) > 500);
}
