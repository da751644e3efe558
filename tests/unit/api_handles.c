/* Handles that outlive what they named: freed from other threads while their context closes, used after it, or after enough
 * others for their generation to wrap around. */
#include "api/internal.h"
#include <test.h>

#include <pthread.h>
#include <sched.h>

/* So many that the memory of their slots goes back to the system when a context closes. */
enum { SHARED = 2048, ROUNDS = 150 };
static _Atomic uint64_t shared[SHARED];
static atomic_bool stop;

static void *free_all(void *arg) {
    uint64_t freed = 0;
    while (!atomic_load(&stop))
        for (int i = 0; i < SHARED; i++, freed++) rg_free((rg_tensor){atomic_load(&shared[i])});
    *(uint64_t *)arg = freed;
    return NULL;
}

/* What finalizers of a binding do: they know the handles of a context and not when it closes. */
TEST(api_handles_freed_while_their_context_closes) {
    pthread_t t[2];
    uint64_t freed[2];
    for (int i = 0; i < 2; i++) CHECK_EQ(pthread_create(&t[i], NULL, free_all, &freed[i]), 0);
    for (int k = 0; k < ROUNDS; k++) {
        rg_ctx *c = rg_open("NULL");
        rg_tensor mine[SHARED / 8];
        for (int i = 0; i < SHARED; i++) { /* slots of both kinds lie side by side */
            atomic_store(&shared[i], rg_ones(c, RG_F32, RG_SHAPE(1)).id);
            if (i % 8 == 0) mine[i / 8] = rg_ones(c, RG_F32, RG_SHAPE(1));
        }
        for (int i = 0; i < SHARED / 8; i++) CHECK(rg_is_alive(mine[i]));
        CHECK_EQ(rg_close(c), 0);
    }
    atomic_store(&stop, true);
    for (int i = 0; i < 2; i++) {
        pthread_join(t[i], NULL);
        CHECK(freed[i] > 0);
    }
}

static void *use_theirs(void *arg) {
    rg_ctx *c = arg;
    rg_tensor mine = rg_ones(c, RG_F32, RG_SHAPE(1));
    while (!atomic_load(&stop))
        for (int i = 0; i < SHARED; i++) {
            rg_add(mine, (rg_tensor){atomic_load(&shared[i])});
            if (rg_status_of(c) != RG_EINVAL || rg_clear_error(c)) return (void *)"an operand was taken";
        }
    return NULL;
}

/* A handle of another context is an error of the context that is asked, whatever the other's thread does meanwhile. */
TEST(api_handles_of_a_context_that_another_thread_closes) {
    pthread_t t;
    void *wrong;
    rg_ctx *own = rg_open("REF");
    for (int i = 0; i < SHARED; i++) atomic_store(&shared[i], (uint64_t)1 << 63);
    CHECK_EQ(pthread_create(&t, NULL, use_theirs, own), 0);
    for (int k = 0; k < ROUNDS; k++) {
        rg_ctx *c = rg_open("NULL");
        for (int i = 0; i < SHARED; i++) atomic_store(&shared[i], rg_ones(c, RG_F32, RG_SHAPE(1)).id);
        CHECK_EQ(rg_close(c), 0);
    }
    atomic_store(&stop, true);
    pthread_join(t, &wrong);
    if (wrong) FAIL("%s", (const char *)wrong);
    CHECK_EQ(rg_close(own), 0);
}

/* The next context has the place of the first in the table, and goes through more generations than that one did. */
TEST(api_handles_fit_no_later_context) {
    enum { N = 10000 };
    static rg_tensor old[N];
    rg_ctx *c = rg_open("REF");
    for (int i = 0; i < N; i++) rg_free(old[i] = rg_zeros(c, RG_F32, RG_SHAPE(1)));
    rg_scope scope = rg_begin(c);
    CHECK_EQ(rg_close(c), 0);
    c = rg_open("REF");
    rg_begin(c);
    for (int i = 0; i < 2 * N; i++) {
        rg_tensor t = rg_zeros(c, RG_F32, RG_SHAPE(1));
        for (int k = i % 7; k < N; k += 97) {
            CHECK(t.id != old[k].id);
            rg_free(old[k]);
        }
        rg_end(scope);
        CHECK(rg_is_alive(t));
        rg_free(t);
    }
    CHECK_EQ(rg_close(c), 0);
}

/* A free waits to be drained; its slot is freed otherwise (the end of a scope) and taken by another tensor before that. */
TEST(api_handles_freed_late_spare_the_next_in_the_slot) {
    struct api_slot *s;
    rg_ctx *c = rg_open("REF");
    rg_tensor x = rg_zeros(c, RG_F32, RG_SHAPE(1)), a = rg_ones(c, RG_F32, RG_SHAPE(1));
    const uop *node = slot_get(c, x)->node;
    rg_free(a);
    slot_free(c, a);
    rg_tensor b = slot_new(c, node, false, &s);
    CHECK_EQ((uint32_t)b.id, (uint32_t)a.id);
    slots_drain(c);
    CHECK(rg_is_alive(b) && !rg_is_alive(a));
    slot_free(c, b);
    CHECK_EQ(rg_close(c), 0);
}

/* More handles than a slot has generations, from one slot as long as it lasts; then it is used up, for later contexts too. */
TEST_SLOW(api_handles_never_come_to_life_again, 300) {
    struct api_slot *s;
    rg_ctx *c = rg_open("REF");
    rg_tensor x = rg_zeros(c, RG_F32, RG_SHAPE(1)), first = RG_NONE;
    const uop *node = slot_get(c, x)->node;
    uint64_t same = 0;
    for (int64_t i = 0; i <= (int64_t)1 << 24; i++) {
        rg_tensor t = slot_new(c, node, false, &s);
        if (i)
            same += t.id == first.id;
        else
            first = t;
        slot_free(c, t);
    }
    CHECK_EQ(same, 0);
    CHECK(!rg_is_alive(first));
    CHECK(rg_is_alive(x));
    CHECK_EQ(rg_close(c), 0);
    c = rg_open("REF");
    for (int i = 0; i < 1000; i++) CHECK((uint32_t)rg_zeros(c, RG_F32, RG_SHAPE(1)).id != (uint32_t)first.id);
    CHECK_EQ(rg_close(c), 0);
}

/* The owner and two threads free the same handles, and slots go from one to the next meanwhile: what a thread still says of
 * the handle before must not hide that the present one is freed. */
TEST(api_handles_freed_by_all_at_once) {
    enum { MADE = 200000 };
    static rg_tensor made[MADE];
    pthread_t t[2];
    uint64_t freed[2];
    rg_ctx *c = rg_open("NULL");
    rg_usage u;
    for (int i = 0; i < 2; i++) CHECK_EQ(pthread_create(&t[i], NULL, free_all, &freed[i]), 0);
    for (int i = 0; i < MADE; i++) {
        made[i] = rg_ones(c, RG_F32, RG_SHAPE(1));
        atomic_store(&shared[i % SHARED], made[i].id);
        if (i % 3 == 0) slot_free(c, made[i]);
        if (i % 3 == 1) rg_free(made[i]);
    }
    for (int i = 0; i < MADE; i++) rg_free(made[i]);
    CHECK_EQ(rg_stats(c, &u), 0);
    CHECK_EQ(u.handles, 0);
    atomic_store(&stop, true);
    for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
    CHECK_EQ(rg_close(c), 0);
}
