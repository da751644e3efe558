/* Tests of src/event: order, dropping, names, and snapshots while other threads write. */
#include "event/event.h"
#include "test.h"

#include <pthread.h>
#include <stdatomic.h>

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

TEST(event_ring_keeps_the_last_and_counts_the_rest) {
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

TEST(event_rings_are_reused_by_new_threads) {
    open_arena();
    uint64_t before = 0;
    for (int i = 0; i < 200; i++) {
        pthread_t t;
        pthread_create(&t, NULL, write_one, (void *)(intptr_t)i);
        pthread_join(t, NULL);
        if (i == 0) before = mem_count();
    }
    CHECK_EQ(mem_count(), before); /* no ring after the first */
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
