/* Tests of src/engine/graph_capture.c: which commands of a list wait for which, counted by hand. What a device makes of it:
 * cuda_fake.c. */
#include "engine/internal.h"

#include <test.h>

static struct err err;
static struct arena arena;
static char memory[1024];

struct use {
    uint8_t use;
    int at, bytes; /* in memory */
};
enum { R = USE_LOADED, W = USE_STORED };

static void add(struct engine_list *l, bool scratch, const struct use *u) {
    uint32_t n = 0;
    while (u[n].use) n++;
    void **buf = arena_array(&arena, void *, n + 1);
    uint8_t *use = arena_array(&arena, uint8_t, n + 1);
    size_t *size = arena_array(&arena, size_t, n + 1);
    for (uint32_t i = 0; i < n; i++)
        buf[i] = memory + u[i].at, use[i] = u[i].use, size[i] = (size_t)u[i].bytes;
    struct command c = {.l = {.buf = buf, .nbuf = n, .areas = scratch}, .buf = buf, .use = use, .size = size};
    vec_push(&arena, &l->cmd, c);
}
#define ADD(...) add(&l, false, (const struct use[]){__VA_ARGS__, {0}})

/* "1 0" of the step that waits for both. */
static const char *waits(const struct dev_step *s) {
    struct str t;
    str_init(&t, &arena);
    for (uint32_t i = 0; i < s->nafter; i++) str_printf(&t, i ? " %u" : "%u", s->after[i]);
    return t.n ? t.p : "";
}

TEST(record_waits_for_memory) {
    struct engine_list l = {0};
    arena_init(&arena, &err);
    ADD({R, 0, 64}, {W, 64, 64});                 /* 0: x -> a */
    ADD({R, 64, 64}, {W, 128, 64});               /* 1: a -> b */
    ADD({R, 64, 64}, {W, 192, 64});               /* 2: a -> c, beside 1 */
    ADD({R, 128, 64}, {R, 192, 64}, {W, 64, 64}); /* 3: b, c -> over a; 0 is done if 1 is */
    ADD({R, 0, 64}, {W, 256, 64});                /* 4: x -> d, depends on none */
    ADD({W, 0, 8});                               /* 5: over a part of x: after its readers 0, 4 */
    ADD({R, 120, 8}, {W, 400, 8});                /* 6: the end of what 3 wrote */
    ADD({R, 128, 8}, {W, 408, 8});                /* 7: begins where that ends: b, of 1 */
    ADD({R | W, 408, 8});                         /* 8: adds to what 7 wrote */
    const struct dev_step *s = list_steps(&arena, &l, 0, l.cmd.n);
    static const char *const want[] = {"", "0", "0", "2 1", "", "4 0", "3", "1", "7"};
    for (uint32_t i = 0; i < RG_COUNT(want); i++) {
        CHECK_STR(waits(&s[i]), want[i]);
        CHECK(s[i].launch == &l.cmd.p[i].l);
    }
    s = list_steps(&arena, &l, 3, 7); /* of a part: numbers count from its first */
    CHECK_STR(waits(&s[3]), "0");
    arena_free(&arena);
}

TEST(record_waits_for_scratch) {
    struct engine_list l = {0};
    arena_init(&arena, &err);
    add(&l, true, (const struct use[]){{R, 0, 8}, {W, 8, 8}, {0}});
    add(&l, false, (const struct use[]){{R, 0, 8}, {W, 16, 8}, {0}});
    add(&l, true, (const struct use[]){{R, 0, 8}, {W, 24, 8}, {0}});
    const struct dev_step *s = list_steps(&arena, &l, 0, l.cmd.n);
    CHECK_STR(waits(&s[1]), "");
    CHECK_STR(waits(&s[2]), "0");
    arena_free(&arena);
}

/* A chain of 1,000: each waits for the one before it, and for no other. */
TEST(record_chain) {
    struct engine_list l = {0};
    arena_init(&arena, &err);
    for (int i = 0; i < 1000; i++) ADD({R, i % 2 ? 64 : 0, 64}, {W, i % 2 ? 0 : 64, 64});
    const struct dev_step *s = list_steps(&arena, &l, 0, l.cmd.n);
    for (uint32_t i = 1; i < 1000; i++) CHECK(s[i].nafter == 1 && s[i].after[0] == i - 1);
    arena_free(&arena);
}
