/* The loader: order, counts, the end, errors, and freeing it at any time. Meant to be run with MODE=tsan too. */
#include "base/base.h"

#include <ridge.h>
#include <test.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

struct source {
    uint64_t batches; /* the data ends there .. */
    int result;       /* .. with this */
    unsigned usec;
    atomic_int inside, calls, at_once;
    atomic_bool wait; /* fill does not return before this is false */
};

static int fill(void *user, uint64_t step, void *const *buf) {
    struct source *s = user;
    if (atomic_fetch_add(&s->inside, 1)) s->at_once = 1;
    s->calls++;
    if (s->usec) usleep(s->usec);
    while (s->wait) usleep(1000);
    int over = step >= s->batches ? s->result : 0;
    float *x = buf[0];
    int64_t *y = buf[1];
    for (int i = 0; i < 6 && !over; i++) x[i] = (float)step + (float)i / 8;
    if (!over) *y = -(int64_t)step;
    s->inside--;
    return over;
}

static const int64_t two_three[] = {2, 3};
static const rg_batch_part parts[] = {{RG_F32, {two_three, 2}}, {RG_I64, {NULL, 0}}};

static void check_batch(const rg_tensor *t, uint64_t step) {
    float x[6];
    int64_t y;
    CHECK_EQ(rg_read(t[0], x, sizeof x), RG_OK);
    CHECK_EQ(rg_read(t[1], &y, sizeof y), RG_OK);
    for (int i = 0; i < 6; i++) CHECK(x[i] == (float)step + (float)i / 8);
    CHECK_EQ(y, -(int64_t)step);
    CHECK_EQ(rg_rank(t[0]), 2);
    CHECK_EQ(rg_dim(t[0], 1), 3);
    CHECK_EQ(rg_rank(t[1]), 0);
}

static void check_error(rg_ctx *c, rg_status code, const char *words) {
    if (rg_status_of(c) != code || !strstr(rg_error(c), words))
        FAIL("error %d \"%s\"\nexpected %d \"..%s\"", rg_status_of(c), rg_error(c), code, words);
    CHECK_EQ(rg_clear_error(c), RG_OK);
}

TEST(loader_gives_every_batch_in_order) {
    rg_ctx *c = rg_open(NULL);
    for (uint32_t ahead = 0; ahead < 5; ahead++) {
        struct source s = {.batches = 40, .result = 1};
        rg_loader *l = rg_loader_new(c, parts, 2, fill, &s, .ahead = ahead, .first = 3);
        CHECK(l != NULL);
        rg_tensor t[2];
        bool end = true;
        for (uint64_t step = 3; step < 40; step++) {
            RG_SCOPE(c);
            CHECK_EQ(rg_loader_next(l, t, &end), RG_OK);
            CHECK(!end);
            check_batch(t, step);
        }
        CHECK(!rg_is_alive(t[0])); /* it belonged to the scope */
        for (int i = 0; i < 3; i++) {
            CHECK_EQ(rg_loader_next(l, t, &end), RG_OK);
            CHECK(end && !t[0].id && !t[1].id);
        }
        CHECK_EQ(s.calls, 38); /* 3..39, and the one that said the end */
        CHECK_EQ(s.at_once, 0);
        rg_loader_free(l);
    }
    CHECK_EQ(rg_close(c), RG_OK);
}

TEST(loader_keeps_to_its_slots) {
    rg_ctx *c = rg_open("REF");
    struct source s = {.batches = 100, .result = 1};
    rg_loader *l = rg_loader_new(c, parts, 2, fill, &s, .ahead = 3);
    for (int i = 0; i < 2000 && s.calls < 3; i++) usleep(1000);
    usleep(20000); /* time for one too many */
    CHECK_EQ(s.calls, 3);
    rg_tensor t[2], old[2];
    bool end;
    CHECK_EQ(rg_loader_next(l, old, &end), RG_OK);
    for (uint64_t step = 1; step < 9; step++) { /* its memory is written again meanwhile */
        CHECK_EQ(rg_loader_next(l, t, &end), RG_OK);
        check_batch(t, step);
    }
    check_batch(old, 0);
    rg_loader_free(l);
    check_batch(t, 8); /* tensors stay */
    CHECK_EQ(rg_close(c), RG_OK);
}

TEST(loader_reports_what_fill_returns) {
    rg_ctx *c = rg_open("REF");
    struct source s = {.batches = 2, .result = -7};
    rg_loader *l = rg_loader_new(c, parts, 2, fill, &s);
    rg_tensor t[2];
    bool end;
    for (uint64_t step = 0; step < 2; step++) {
        CHECK_EQ(rg_loader_next(l, t, &end), RG_OK);
        check_batch(t, step);
    }
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(rg_loader_next(l, t, &end), RG_EIO);
        CHECK(!end);
        CHECK_EQ(rg_loader_next(l, t, &end), RG_EIO); /* the error stays */
        check_error(c, RG_EIO, "rg_loader_next: fill failed at step 2: it returned -7");
    }
    rg_loader_free(l);
    struct source none = {.result = 1};
    l = rg_loader_new(c, parts, 2, fill, &none);
    CHECK_EQ(rg_loader_next(l, t, NULL), RG_EINVAL);
    check_error(c, RG_EINVAL, "the data ended before step 0");
    CHECK_EQ(rg_loader_next(l, NULL, &end), RG_EINVAL);
    check_error(c, RG_EINVAL, "the array for the tensors is NULL");
    CHECK_EQ(rg_loader_next(NULL, t, &end), RG_EINVAL);
    rg_loader_free(NULL);
    CHECK_EQ(rg_close(c), RG_OK);
}

TEST(loader_new_errors) {
    rg_ctx *c = rg_open("REF");
    struct source s = {0};
    static const int64_t minus[] = {4, -1}, huge[] = {INT64_MAX, 4};
    CHECK(!rg_loader_new(c, parts, 2, NULL, &s));
    check_error(c, RG_EINVAL, "fill is NULL");
    CHECK(!rg_loader_new(c, parts, 0, fill, &s));
    check_error(c, RG_EINVAL, "a batch has one part at least");
    CHECK(!rg_loader_new(c, NULL, 2, fill, &s));
    check_error(c, RG_EINVAL, "a batch has one part at least");
    CHECK(!rg_loader_new(c, parts, 65, fill, &s));
    check_error(c, RG_ELIMIT, "65 parts; a batch has at most 64");
    CHECK(!rg_loader_new(c, parts, 2, fill, &s, .ahead = 5000));
    check_error(c, RG_ELIMIT, "5000 batches ahead");
    CHECK(!rg_loader_new(c, (&(rg_batch_part){RG_F32, {minus, 2}}), 1, fill, &s));
    check_error(c, RG_EINVAL, "axis 1 of part 1 has size -1");
    CHECK(!rg_loader_new(c, (&(rg_batch_part){RG_F32, {huge, 2}}), 1, fill, &s));
    check_error(c, RG_ELIMIT, "part 1 has more than 2^62 bytes");
    CHECK(!rg_loader_new(c, (&(rg_batch_part){RG_F32, {NULL, 2}}), 1, fill, &s));
    check_error(c, RG_EINVAL, "the shape of part 1 is NULL");
    CHECK(!rg_loader_new(c, (&(rg_batch_part){RG_F32, {minus, 17}}), 1, fill, &s));
    check_error(c, RG_ELIMIT, "17 axes");
    CHECK(!rg_loader_new(c, (&(rg_batch_part){(rg_dtype)99, {NULL, 0}}), 1, fill, &s));
    check_error(c, RG_EINVAL, "no dtype number 99");
    CHECK_EQ(s.calls, 0);
    CHECK_EQ(rg_close(c), RG_OK);
}

static void *let_go(void *arg) {
    struct source *s = arg;
    usleep(50000);
    s->wait = false;
    return NULL;
}

/* In the middle of fill, before the first batch, with all slots full, after the end; by rg_loader_free and by rg_close. */
TEST(loader_freed_at_any_time) {
    rg_close(rg_open("REF"));
    int64_t live = mem_live();
    for (int cooperative = 0; cooperative < 2; cooperative++)
        for (unsigned usec = 0; usec < 3000; usec += 300) {
            rg_ctx *c = rg_open("REF");
            struct source s = {.batches = 7, .result = 1, .usec = usec};
            rg_loader *l = rg_loader_new(c, parts, 2, fill, &s),
                      *other = rg_loader_new(c, parts, 2, fill, &s);
            rg_loader_free(other);
            usleep(usec * 2);
            if (cooperative) rg_loader_free(l);
            CHECK_EQ(rg_close(c), RG_OK);
            CHECK_EQ(s.inside, 0); /* fill has returned */
        }
    rg_ctx *c = rg_open("REF");
    struct source s = {.batches = 7, .result = 1, .wait = true};
    rg_loader_new(c, parts, 2, fill, &s);
    while (!s.inside) usleep(1000);
    pthread_t t;
    CHECK_EQ(pthread_create(&t, NULL, let_go, &s), 0);
    CHECK_EQ(rg_close(c), RG_OK); /* waits for fill */
    CHECK_EQ(s.inside, 0);
    pthread_join(t, NULL);
    CHECK_EQ(mem_live(), live);
}

/* A batch that could not be taken in is there at the next call. */
TEST(loader_out_of_memory_loses_nothing) {
    rg_ctx *c = rg_open("REF");
    struct source s = {.batches = 20, .result = 1};
    rg_loader *l = rg_loader_new(c, parts, 2, fill, &s);
    for (int i = 0; i < 2000 && s.calls < 2; i++) usleep(1000);
    int failed = 0;
    for (int64_t step = 0; step < 20; step++) {
        RG_SCOPE(c);
        rg_tensor t[2];
        bool end;
        mem_fail_at(step % 4 + 1);
        while (rg_loader_next(l, t, &end)) {
            mem_fail_at(-1);
            CHECK_EQ(rg_status_of(c), RG_ENOMEM);
            CHECK_EQ(rg_clear_error(c), RG_OK);
            failed++;
        }
        mem_fail_at(-1);
        check_batch(t, (uint64_t)step);
    }
    CHECK(failed > 0);
    for (int64_t n = 1; n < 6; n++) {
        mem_fail_at(n);
        rg_loader *other = rg_loader_new(c, parts, 2, fill, &s);
        mem_fail_at(-1);
        if (!other) CHECK_EQ(rg_status_of(c), RG_ENOMEM);
        CHECK_EQ(rg_clear_error(c), RG_OK);
        rg_loader_free(other);
    }
    CHECK_EQ(rg_close(c), RG_OK);
}

/* 20 ms to prepare, 30 ms to compute: the time is that of computing. bench/loader.c measures it. */
TEST(loader_hides_the_time_of_fill) {
    rg_ctx *c = rg_open("REF");
    struct source s = {.batches = 100, .result = 1, .usec = 20000};
    rg_loader *l = rg_loader_new(c, parts, 2, fill, &s);
    uint64_t t0 = os_now_ns();
    int n = 0;
    for (bool end = false;; n++) {
        RG_SCOPE(c);
        rg_tensor t[2];
        CHECK_EQ(rg_loader_next(l, t, &end), RG_OK);
        if (end) break;
        check_batch(t, (uint64_t)n);
        usleep(30000);
    }
    CHECK_EQ(n, 100);
    CHECK_EQ(s.calls, 101);
    TEST_INFO("100 steps of 30 ms with batches of 20 ms: %.2f s, in turn it would be 5.00",
              (double)(os_now_ns() - t0) * 1e-9);
    CHECK_EQ(rg_close(c), RG_OK);
}
