/* world_same.c: what must not change a bit of the result: what a clock says when buckets are sized, the alignment of results, and how many
 * processes the ranks are in
 * (rg_world_opts.contexts; with processes: tests/cli/world.sh). */
#include "nn/nn.h"
#include "test.h"
#include "world/world.h"

#include <pthread.h>
#include <ridge.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { RANKS = 2 };

struct same_rank {
    int rank;
    int64_t bucket;
    char name[64], error[400];
};

static void both(struct same_rank *r, void *(*fn)(void *)) {
    static int number;
    pthread_t t[RANKS];
    number++;
    for (int i = 0; i < RANKS; i++) {
        r[i].rank = i;
        snprintf(r[i].name, sizeof r[i].name, "same-%d-%d", (int)getpid(), number);
        pthread_create(&t[i], NULL, fn, &r[i]);
    }
    for (int i = 0; i < RANKS; i++) pthread_join(t[i], NULL);
    for (int i = 0; i < RANKS; i++)
        if (*r[i].error) FAIL("rank %d: %s", i, r[i].error);
}

/* ---- buckets -------------------------------------------------------------------------------------------------------- */

static void *chosen(void *arg) {
    struct same_rank *r = arg;
    rg_ctx *c = rg_open("REF");
    rg_world *w = rg_world_open(
        c, (rg_world_opts){.backend = "local", .name = r->name, .rank = r->rank, .size = RANKS});
    rg_module *net = rg_nn_linear(c, 500, 500, (rg_layer_opts){0});
    rg_nn_data_parallel(net, w, (rg_parallel_opts){0});
    r->bucket = net->parallel.bucket;
    snprintf(r->error, sizeof r->error, "%s", rg_error(c));
    rg_close(c);
    return NULL;
}

/* Another size is another plan: where ranks share memory no clock has a say in it. Of a megabyte at 4 GB/s and 20 us. */
TEST(world_same_buckets) {
    static struct same_rank r[RANKS];
    both(r, chosen);
    CHECK_EQ(r[0].bucket, 1 << 18);
    CHECK_EQ(r[1].bucket, 1 << 18);
    setenv("RIDGE_WORLD_LINK", "0.5,1000", 1);
    env_reload();
    both(r, chosen);
    CHECK_EQ(r[0].bucket, 1 << 19); /* sqrt(1e6 * 0.5e9 * 1e-3) is 0.71e6 */
}

/* ---- sums of two ranks ---------------------------------------------------------------------------------------------- */

enum { MANY = 2400007 }; /* more than three steps */

static float term(int rank, int i) { return 1 / (float)(1 + (i * 7 + rank * 3) % 1000); }

/* Results that begin at any element: whatever stores are used, and in however many steps, each is a single addition. */
static void *sum_large(void *arg) {
    struct same_rank *r = arg;
    struct err e = {0};
    struct world *w;
    struct world_opts o = {.backend = "local", .name = r->name, .rank = r->rank, .size = RANKS};
    float *in = malloc((MANY + 8) * sizeof *in), *out = malloc((MANY + 8) * sizeof *out);
    for (int i = 0; i < MANY; i++) in[i + 1] = term(r->rank, i);
    if (!world_open(&e, &o, &w)) {
        for (int shift = 0; shift < 4 && !e.code; shift++) {
            struct world_call c = {
                {.kind = COLLECTIVE_ALL_REDUCE, .dt = DT_F32}, in + 1, out + shift, MANY, MANY};
            world_run(w, &e, &c);
            for (int i = 0; i < MANY && !e.code; i++)
                if (out[i + shift] != term(0, i) + term(1, i))
                    err_set(&e, RG_EINVAL, "element %d is %a", i, (double)out[i + shift]);
        }
        world_close(w);
    }
    snprintf(r->error, sizeof r->error, "%s", e.code ? e.msg : "");
    free(in), free(out);
    return NULL;
}

TEST(world_same_large_sums) {
    static struct same_rank r[RANKS];
    both(r, sum_large);
}

/* ---- several ranks in a process ------------------------------------------------------------------------------------- */

static void *numbered(void *arg) {
    struct same_rank *r = arg;
    rg_ctx *c = rg_open("REF");
    rg_world *w = rg_world_open(
        c, (rg_world_opts){.backend = "shm", .name = r->name, .contexts = RANKS, .context = r->rank});
    CHECK_EQ(rg_world_rank(w), r->rank);
    CHECK_EQ(rg_world_local_rank(w), r->rank);
    CHECK_EQ(rg_world_size(w), RANKS);
    CHECK_EQ(rg_item(rg_all_reduce(rg_number(c, RG_F32, r->rank + 1), w, RG_COMBINE_SUM)), 3);
    snprintf(r->error, sizeof r->error, "%s", rg_error(c));
    rg_close(c);
    return NULL;
}

TEST(world_same_contexts) {
    static struct same_rank r[RANKS];
    both(r, numbered);
    static const struct {
        rg_world_opts o;
        const char *text;
    } wrong[] = {
        {{.contexts = 2, .context = 2}, ".context 2 of 2: contexts are 0 to 1"},
        {{.context = 1}, ".context 1 of 0: contexts are 0 to 0"},
        {{.rank = 1, .size = 2, .contexts = 2}, ".rank and .size say all of it"},
        {{.backend = "mpi", .contexts = 2}, "2 ranks in a process: the mpi backend has one"},
    };
    for (size_t i = 0; i < RG_COUNT(wrong); i++) {
        rg_ctx *c = rg_open("REF");
        if (rg_world_open(c, wrong[i].o) || !strstr(rg_error(c), wrong[i].text))
            FAIL("case %zu: %s", i, rg_error(c));
        rg_close(c);
    }
}
