/* Tests of src/event: order, dropping, names, and snapshots while other threads write. */
#include "event/event.h"
#include "test.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static struct err err;
static struct arena arena;

static void open_arena(void) {
    arena_init(&arena, &err);
    event_reset();
}

TEST(event_records_come_back_in_order) {
    open_arena();
    uint32_t inner = event_name("inner"), outer = event_name("outer");
    event_add(EVENT_PASS, inner, 1100, 1200, 3, 4);
    event_add(EVENT_STEP, inner, 1000, 1100, 0, 0);
    event_add(EVENT_RANGE, outer, 1000, 1300, 1, -2);
    struct event_list l;
    event_snapshot(&arena, &l);
    CHECK_EQ(l.n, 3);
    CHECK_EQ(l.dropped, 0);
    CHECK_EQ(l.p[0].kind, EVENT_RANGE); /* begins with the step and is longer: it is the outer one */
    CHECK_EQ(l.p[0].b, -2);
    CHECK_EQ(l.p[1].kind, EVENT_STEP);
    CHECK_EQ(l.p[2].t0, 1100);
    CHECK_EQ(l.p[2].thread, 1);
    struct str s;
    str_init(&s, &arena);
    event_print(&s, &l);
    CHECK(strstr(s.p, "range    outer  user a 1, user b -2"));
    CHECK(strstr(s.p, "pass     inner  nodes in 3, nodes out 4"));
    event_reset();
    event_snapshot(&arena, &l);
    CHECK_EQ(l.n, 0);
    arena_free(&arena);
}

TEST(event_spans_use_the_clock) {
    open_arena();
    uint64_t before = os_now_ns();
    struct event_span s = event_begin(EVENT_COMPILE, event_name("k"));
    event_end(s, 1, 2);
    struct event_list l;
    event_snapshot(&arena, &l);
    CHECK_EQ(l.n, 1);
    CHECK(l.p[0].t0 >= before && l.p[0].t1 >= l.p[0].t0 && l.p[0].t1 <= os_now_ns());
    arena_free(&arena);
}

TEST(event_buffer_keeps_the_last_and_counts_the_rest) {
    open_arena();
    for (int i = 0; i < EVENT_RING + 1000; i++) event_add(EVENT_KERNEL, 0, (uint64_t)i, (uint64_t)i, i, 0);
    struct event_list l;
    event_snapshot(&arena, &l);
    CHECK_EQ(l.dropped + l.n, EVENT_RING + 1000);
    CHECK_EQ(l.dropped, 1000);
    for (size_t i = 0; i < l.n; i++) CHECK_EQ(l.p[i].a, (int64_t)i + 1000);
    arena_free(&arena);
}

TEST(event_names_are_numbers) {
    char text[32];
    uint32_t id[3000];
    for (int i = 0; i < 3000; i++) {
        snprintf(text, sizeof text, "kernel_%d", i);
        id[i] = event_name(text);
        CHECK(id[i] != 0);
    }
    for (int i = 0; i < 3000; i++) {
        snprintf(text, sizeof text, "kernel_%d", i);
        CHECK_EQ(event_name(text), id[i]);
        CHECK_STR(event_name_text(id[i]), text);
    }
    CHECK_EQ(event_name(""), 0);
    CHECK_STR(event_name_text(1u << 30), "");
    CHECK_STR(event_kind_text(EVENT_COPY), "copy");
    CHECK_STR(event_kind_text(999), "?");
}

static uint32_t shared(int i) {
    char text[64];
    snprintf(text, sizeof text, "kernel of shape %d", i);
    return event_name_shared(text);
}

/* However many come, as many stay as are held and may be idle; a number whose name is gone never reads as another. */
TEST(event_names_without_a_hold_go) {
    enum { KEEP = 100, HELD = 10, MANY = 5000 };
    uint32_t lasting = event_name("lasts"), was = event_names(KEEP), held[HELD], number[MANY];
    for (int i = 0; i < HELD; i++) {
        held[i] = shared(-1 - i);
        CHECK(event_name_hold(held[i]));
    }
    int64_t live = 0;
    for (int i = 0; i < MANY; i++) {
        number[i] = shared(i);
        CHECK(event_name_known(number[i]));
        if (i == MANY / 2) live = mem_live();
    }
    CHECK_EQ(event_names(0), was + HELD + KEEP);
    CHECK_EQ(mem_live(), live);
    for (int i = 0; i < MANY; i++) {
        char text[64];
        snprintf(text, sizeof text, "kernel of shape %d", i);
        CHECK_STR(event_name_text(number[i]), i < MANY - KEEP ? "" : text);
        CHECK_EQ(event_name_hold(number[i]), i >= MANY - KEEP);
        event_name_release(number[i]);
    }
    for (int i = 0; i < HELD; i++) {
        CHECK_EQ(shared(-1 - i), held[i]);
        event_name_release(held[i]);
    }
    CHECK_EQ(event_names(0), was + KEEP);
    CHECK_STR(event_name_text(lasting), "lasts");
    CHECK_EQ(event_name("kernel of shape 4999"), number[MANY - 1]); /* lasts from now on */
    for (int i = 0; i < 2 * KEEP; i++) shared(MANY + i);
    CHECK_STR(event_name_text(number[MANY - 1]), "kernel of shape 4999");
}

/* Every record of a writer carries a and b = hash(a): a torn one would not. */
static atomic_bool stop_writing;
static void *write_hashes(void *arg) {
    for (int64_t i = 0; i < (intptr_t)arg || !atomic_load(&stop_writing); i++)
        event_add(EVENT_KERNEL, 0, (uint64_t)i, hash_u64((uint64_t)i), i, (int64_t)hash_u64((uint64_t)i));
    return NULL;
}

TEST(event_snapshots_are_whole_while_threads_write) {
    open_arena();
    pthread_t t[2];
    for (int i = 0; i < 2; i++) pthread_create(&t[i], NULL, write_hashes, (void *)(intptr_t)(2 * EVENT_RING));
    size_t seen = 0;
    while (seen < 20 * EVENT_RING) {
        struct arena_mark m = arena_mark(&arena);
        struct event_list l;
        event_snapshot(&arena, &l);
        for (size_t i = 0; i < l.n; i++) {
            CHECK_EQ(l.p[i].b, (int64_t)hash_u64((uint64_t)l.p[i].a));
            CHECK_EQ(l.p[i].t1, hash_u64(l.p[i].t0));
        }
        seen += l.n;
        arena_release(&arena, m);
    }
    atomic_store(&stop_writing, true);
    for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
    TEST_COUNT(seen, "records read while they were written");
    arena_free(&arena);
}

static void *write_one(void *arg) {
    event_add(EVENT_RANGE, 0, 1, 2, (intptr_t)arg, 0);
    return NULL;
}

TEST(event_buffers_are_reused_by_new_threads) {
    open_arena();
    uint64_t before = 0;
    for (int i = 0; i < 200; i++) {
        pthread_t t;
        pthread_create(&t, NULL, write_one, (void *)(intptr_t)i);
        pthread_join(t, NULL);
        if (i == 0) before = mem_count();
    }
    CHECK_EQ(mem_count(), before); /* no buffer after the first */
    struct event_list l;
    event_snapshot(&arena, &l);
    CHECK_EQ(l.n, 200);
    CHECK_EQ(l.threads, 200);
    CHECK(l.p[0].thread != l.p[1].thread);
    arena_free(&arena);
}

TEST(event_without_memory_drops_and_counts) {
    mem_fail_at(1);
    event_add(EVENT_RANGE, 0, 1, 2, 0, 0);
    event_add(EVENT_RANGE, 0, 1, 2, 0, 0);
    CHECK_EQ(event_name("x"), 0);
    mem_fail_at(-1);
    open_arena();
    struct event_list l;
    event_add(EVENT_RANGE, 0, 1, 2, 0, 0); /* this thread gave up */
    event_snapshot(&arena, &l);
    CHECK_EQ(l.n, 0);
    CHECK_EQ(l.dropped, 1);
    arena_free(&arena);
}

TEST(event_cost) {
    uint32_t name = event_name("x");
    uint64_t best = UINT64_MAX;
    for (int round = 0; round < 20; round++) {
        uint64_t t = os_now_ns();
        for (int i = 0; i < 10000; i++) event_add(EVENT_KERNEL, name, 1, 2, i, i);
        best = RG_MIN(best, os_now_ns() - t);
    }
    TEST_INFO("%.1f ns per record", (double)best / 1e4); /* a number to read, never a verdict */
}

/* ---- the profile file ------------------------------------------------------------------------------------ */

static void *record_hashes(void *arg) {
    (void)arg;
    for (int64_t i = 0; !atomic_load(&stop_writing); i++) {
        char name[24];
        snprintf(name, sizeof name, "name %d", (int)(i % 300));
        event_add(EVENT_KERNEL, event_name(name), (uint64_t)i, hash_u64((uint64_t)i), i,
                  (int64_t)hash_u64((uint64_t)i));
    }
    return NULL;
}

/* Walks the blocks of a file; each record must be whole and its name must be in the file. */
static size_t check_file(const char *path) {
    char *p;
    size_t n, records = 0;
    static bool named[1 << 16];
    memset(named, 0, sizeof named);
    named[0] = true;
    CHECK_EQ(os_read_file(&err, &arena, path, (size_t)1 << 30, &p, &n), 0);
    CHECK(n >= 16 && !memcmp(p, EVENT_FILE_MAGIC, 8));
    uint32_t head[2];
    memcpy(head, p + 8, sizeof head);
    CHECK_EQ(head[0], EVENT_FILE_VERSION);
    for (int pass = 0; pass < 2; pass++)
        for (size_t at = head[1]; at < n;) {
            struct event_block b;
            CHECK(n - at >= sizeof b);
            memcpy(&b, p + at, sizeof b);
            at += sizeof b;
            CHECK(b.used <= b.size && b.size <= n - at);
            uint32_t id[2];
            for (uint32_t i = 0; !pass && b.tag == EVENT_BLOCK_NAMES && i < b.used; i += sizeof id + id[1]) {
                memcpy(id, p + at + i, sizeof id);
                CHECK(id[0] < RG_COUNT(named) && sizeof id + id[1] <= b.used - i);
                named[id[0]] = true;
            }
            for (uint32_t i = 0; pass && b.tag == EVENT_BLOCK_RECORDS && i < b.used;
                 i += sizeof(struct event)) {
                struct event e;
                memcpy(&e, p + at + i, sizeof e);
                CHECK(e.kind < EVENT_KINDS && e.name < RG_COUNT(named) && named[e.name]);
                CHECK(e.thread == b.thread);
                if (e.kind != EVENT_KERNEL) continue;
                CHECK_EQ(e.b, (int64_t)hash_u64((uint64_t)e.a));
                records++;
            }
            at += b.size;
        }
    return records;
}

TEST(event_recording_while_threads_come_and_go) {
    char path[] = "/tmp/ridge-record-XXXXXX";
    open_arena();
    close(mkstemp(path));
    size_t seen = 0;
    for (int round = 0; round < 12; round++) {
        pthread_t t[3];
        struct arena_mark m = arena_mark(&arena);
        atomic_store(&stop_writing, false);
        if (round % 2) CHECK_EQ(event_record_start(&err, path, UINT32_MAX), 0);
        for (int i = 0; i < 3; i++) pthread_create(&t[i], NULL, record_hashes, NULL);
        if (round % 2 == 0) CHECK_EQ(event_record_start(&err, path, UINT32_MAX), 0);
        for (int i = 0; i < 6; i++) {
            usleep(1500);
            event_record_mode((enum event_mode[]){EVENT_OFF, EVENT_ON, EVENT_WARM}[i % 3]);
        }
        if (round % 3) CHECK_EQ(event_record_stop(&err), 0); /* while they write */
        atomic_store(&stop_writing, true);
        for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
        if (round % 3 == 0) CHECK_EQ(event_record_stop(&err), 0);
        seen += check_file(path);
        arena_release(&arena, m);
    }
    CHECK(seen > 0);
    TEST_COUNT(seen, "records of three threads in files");
    unlink(path);
    arena_free(&arena);
}

/* What cannot be mapped ends the recording and nothing else. */
TEST(event_recording_to_a_full_disk_ends) {
    struct err e = {0};
    if (access("/dev/full", W_OK)) SKIP("no /dev/full");
    CHECK(event_record_start(&e, "/dev/full/x", UINT32_MAX) != 0);
    CHECK(strstr(e.msg, "cannot create /dev/full/x: Not a directory"));
    struct rlimit old, small = {200 << 10, 200 << 10};
    getrlimit(RLIMIT_FSIZE, &old);
    small.rlim_max = old.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    char path[] = "/tmp/ridge-record-XXXXXX";
    close(mkstemp(path));
    err_clear(&e);
    CHECK_EQ(event_record_start(&e, path, UINT32_MAX), 0); /* the head fits; the first block does not */
    for (int i = 0; i < 100; i++) event_add(EVENT_KERNEL, 0, 1, 2, 3, 4);
    CHECK(!event_recording());
    CHECK(event_record_stop(&e) != 0);
    CHECK(strstr(e.msg, "the profile ends early") &&
          strstr(e.msg, "102 records are missing")); /* and two marks */
    setrlimit(RLIMIT_FSIZE, &old);
    unlink(path);
}
