/* Tests of src/schedule/memory_plan.c: offsets that respect lifetimes, checked pair by pair or by a sweep over the calls. */
#include "test.h"

#include "schedule/schedule.h"

#include <stdlib.h>

static uint64_t state;
static uint32_t rnd(uint32_t n) { return (uint32_t)(hash_u64(state += 0x9e3779b97f4a7c15u) >> 33) % n; }

/* Bytes that live at once, at most: found call by call. */
static int64_t bound(const struct mem_item *item, uint32_t n, uint32_t calls) {
    int64_t most = 0, live = 0, *change = calloc(calls + 2, sizeof *change);
    for (uint32_t i = 0; i < n; i++) {
        int64_t bytes = (item[i].bytes + 63) / 64 * 64;
        change[item[i].first] += bytes, change[item[i].last + 1] -= bytes;
    }
    for (uint32_t c = 0; c <= calls; c++) live += change[c], most = RG_MAX(most, live);
    free(change);
    return most;
}

static void must_hold(const struct mem_item *item, uint32_t n, int64_t size) {
    for (uint32_t i = 0; i < n; i++) {
        const struct mem_item *a = &item[i];
        CHECK(a->offset >= 0 && a->offset % 64 == 0 && a->offset + a->bytes <= size);
        for (uint32_t j = 0; j < i && a->bytes; j++) {
            const struct mem_item *b = &item[j];
            bool together = a->first <= b->last && b->first <= a->last;
            bool apart = !b->bytes || a->offset + a->bytes <= b->offset || b->offset + b->bytes <= a->offset;
            if (together && !apart) FAIL("items %u and %u overlap", i, j);
        }
    }
}

/* Values of a program: made by one call after the other, most used soon, some at the end (kept for a backward pass). */
static void program(struct mem_item *item, uint32_t n, uint32_t calls) {
    uint32_t scale = 1 + rnd(20);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t first = (uint32_t)((uint64_t)i * calls / n), span = rnd(5) ? 1 + rnd(4) : rnd(calls);
        item[i] = (struct mem_item){.bytes = 1 + rnd(1u << (6 + rnd(scale))), .first = first};
        item[i].last = RG_MIN(first + span, calls - 1);
        if (rnd(5) == 0 && calls - 1 - first > first) item[i].last = calls - 1 - first; /* the mirror image */
        if (rnd(20) == 0) item[i].bytes = 0;
    }
}

TEST(memory_random_lifetimes) {
    struct err err = {0};
    struct arena arena;
    arena_init(&arena, &err);
    double sum = 0, worst = 0;
    int count = 0, reached = 0;
    for (uint32_t i = 0; i < 2000; i++) {
        struct mem_item item[120];
        state = i * 7919;
        uint32_t n = 1 + rnd(120), calls = 1 + rnd(80);
        program(item, n, calls);
        int64_t size = memory_plan(&arena, item, n), least = bound(item, n, calls);
        must_hold(item, n, size);
        CHECK(size >= least);
        if (!least) continue;
        double ratio = (double)size / (double)least;
        sum += ratio, worst = RG_MAX(worst, ratio), count++, reached += size == least;
    }
    CHECK_EQ(arena.used, 0); /* scratch is given back */
    arena_free(&arena);
    TEST_INFO("%d programs: %.3f x the lower bound on average, worst %.2f x, %d reach it", count, sum / count,
              worst, reached);
    CHECK(sum / count <= 1.004); /* 1.007 without repairs */
}

TEST(memory_large_programs) {
    struct err err = {0};
    struct arena arena;
    uint32_t n = 21000;
    struct mem_item *item = calloc(n, sizeof *item);
    arena_init(&arena, &err);
    for (uint32_t k = 0; k < 2; k++) {
        uint32_t count = k ? n : 10000; /* the larger one uses the order of first use alone */
        state = k;
        program(item, count, count / 2);
        int64_t size = memory_plan(&arena, item, count), least = bound(item, count, count / 2);
        must_hold(item, count, size);
        TEST_INFO("%u items: %.3f x the lower bound", count, (double)size / (double)least);
        CHECK((double)size <= 1.25 * (double)least);
    }
    arena_free(&arena);
    free(item);
}

TEST(memory_small_cases) {
    struct err err = {0};
    struct arena arena;
    arena_init(&arena, &err);
    CHECK_EQ(memory_plan(&arena, NULL, 0), 0);
    struct mem_item none[2] = {{0, 0, 3, 77}, {0, 1, 1, 5}};
    CHECK_EQ(memory_plan(&arena, none, 2), 0);
    CHECK(none[0].offset == 0 && none[1].offset == 0);
    /* a chain needs two buffers, whatever its length; the second of a pair may take the place of the one that died */
    struct mem_item chain[10];
    for (uint32_t i = 0; i < 10; i++) chain[i] = (struct mem_item){100, i, i + 1, 0};
    CHECK_EQ(memory_plan(&arena, chain, 10), 256);
    struct mem_item touch[2] = {{64, 0, 1, 0}, {64, 2, 2, 0}};
    CHECK_EQ(memory_plan(&arena, touch, 2), 64);
    struct mem_item meet[2] = {{64, 0, 2, 0}, {64, 2, 2, 0}}; /* both live in call 2 */
    CHECK_EQ(memory_plan(&arena, meet, 2), 128);
    arena_free(&arena);
}

struct bad {
    struct arena *arena;
    struct mem_item item[2];
};
static void plan_bad(void *p) {
    struct bad *b = p;
    memory_plan(b->arena, b->item, 2);
}

TEST(memory_refuses_nonsense) {
    static const struct {
        struct mem_item item[2];
        int code;
    } cases[] = {
        {{{-1, 0, 0, 0}, {1, 0, 0, 0}}, RG_EINTERNAL},
        {{{1, 3, 2, 0}, {1, 0, 0, 0}}, RG_EINTERNAL},
        {{{INT64_MAX, 0, 0, 0}, {1, 0, 0, 0}}, RG_ELIMIT},
        {{{INT64_MAX / 2 + 1, 0, 0, 0}, {INT64_MAX / 2 + 1, 5, 5, 0}}, RG_ELIMIT},
    };
    for (uint32_t i = 0; i < RG_COUNT(cases); i++) {
        struct err err = {0};
        struct arena arena;
        arena_init(&arena, &err);
        struct bad b = {.arena = &arena};
        memcpy(b.item, cases[i].item, sizeof b.item);
        CHECK_EQ(err_guard(&err, plan_bad, &b), cases[i].code);
        arena_free(&arena);
    }
}
