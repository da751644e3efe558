/* world_overlap.c: collectives that run beside kernels (src/engine/overlap.c): the same values as in sequence, on a thread of the engine's;
 * errors come back to the list that began them. */
#include "base/base.h"

#include <ridge.h> /* before headers that switch its call sites off */

#include "api/internal.h"
#include "engine/internal.h"
#include "test.h"
#include "world/world.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { RANKS = 2, N = 3000, ROUNDS = 4 };

struct overlap_rank {
    int rank, size_of_last;
    char name[48], error[600];
    bool began; /* a collective ran beside the list */
    double value[2];
};

/* Sums over ranks whose inputs come one after the other, each with work that does not need the sum before it; in the end all are used,
 * and memory of a sum is overwritten by the next round. */
static double mixture(rg_ctx *c, rg_world *w, int rank, int last) {
    rg_tensor total = rg_zeros(c, RG_F32, RG_SHAPE(N));
    for (int i = 0; i < ROUNDS; i++) {
        rg_tensor x = rg_full(c, RG_F32, rank + i, RG_SHAPE(i + 1 < ROUNDS ? N : last));
        rg_tensor sum = rg_all_reduce(rg_contiguous(x), w, RG_COMBINE_SUM);
        rg_tensor beside = rg_contiguous(rg_cumsum(rg_full(c, RG_F32, i + 1, RG_SHAPE(N)), 0));
        total = rg_contiguous(rg_add(total, rg_add(rg_sum(sum), beside)));
    }
    return rg_item(rg_sum(total));
}

static void *overlap_rank(void *arg) {
    struct overlap_rank *r = arg;
    rg_ctx *c = rg_open("CPU");
    rg_world *w = rg_world_open(c, "local", r->name, r->rank, RANKS, 60);
    for (int k = 0; k < 2 && w && !rg_status_of(c); k++) {
        RG_SCOPE(c);
        r->value[k] = mixture(c, w, r->rank, k ? r->size_of_last : N);
    }
    r->began = c->engine->overlap != NULL;
    snprintf(r->error, sizeof r->error, "%s", rg_error(c));
    rg_close(c);
    return NULL;
}

static void run(struct overlap_rank r[RANKS], bool beside, bool differs) {
    static int number;
    pthread_t t[RANKS];
    setenv("RIDGE_OVERLAP", beside ? "1" : "0", 1);
    env_reload();
    for (int i = 0; i < RANKS; i++) {
        r[i] = (struct overlap_rank){.rank = i, .size_of_last = differs && i ? N - 1 : N};
        snprintf(r[i].name, sizeof r[i].name, "overlap-%d-%d", (int)getpid(), number);
        pthread_create(&t[i], NULL, overlap_rank, &r[i]);
    }
    number++;
    for (int i = 0; i < RANKS; i++) pthread_join(t[i], NULL);
}

/* Per element: the sums of all rounds, and (i + 1) * (k + 1) of round i for element k. */
static double expected(void) {
    double sums = 0, beside = 0;
    for (int i = 0; i < ROUNDS; i++) {
        sums += (double)N * (2 * i + 1);
        beside += (i + 1) * (double)N * (N + 1) / 2;
    }
    return N * sums + beside;
}

TEST(world_overlap_values) {
    struct overlap_rank r[RANKS];
    for (int beside = 0; beside < 2; beside++) {
        run(r, beside, false);
        for (int i = 0; i < RANKS; i++) {
            if (*r[i].error) FAIL("rank %d: %s", i, r[i].error);
            CHECK_EQ(r[i].began, beside);
            for (int k = 0; k < 2; k++)
                if (fabs(r[i].value[k] - expected()) > 1e-5 * expected())
                    FAIL("rank %d: %.9g, expected %.9g", i, r[i].value[k], expected());
        }
    }
}

TEST(world_overlap_errors) {
    struct overlap_rank r[RANKS];
    run(r, true, true);
    for (int i = 0; i < RANKS; i++) {
        CHECK(r[i].began);
        if (!strstr(r[i].error,
                    "rank 0 calls all_reduce of f32[3000] (sum), rank 1 calls all_reduce of f32[2999]"))
            FAIL("rank %d: %s", i, r[i].error);
    }
}

/* What a collective takes over a link: an all-reduce sends and receives all but its own share, twice. */
TEST(world_link_seconds) {
    CHECK(world_link_seconds(COLLECTIVE_ALL_REDUCE, 1e9, 2, 1, 0.5) == 1.5);
    CHECK(world_link_seconds(COLLECTIVE_ALL_REDUCE, 1e9, 4, 1, 0) == 1.5);
    CHECK(world_link_seconds(COLLECTIVE_ALL_GATHER, 4e9, 4, 3, 0) == 1);
    CHECK(world_link_seconds(COLLECTIVE_BARRIER, 0, 4, 1, 0.25) == 0.25);
    CHECK(world_link_seconds(COLLECTIVE_ALL_REDUCE, 1e9, 1, 1, 0.25) == 0);
}
