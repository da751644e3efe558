/* world_same.c: what must not change a bit of the result: what a clock says when buckets are sized, the alignment of results, and how many
 * processes the ranks are in
 * (rg_world_opts.contexts; with processes: tests/cli/world.sh). */
#include "nn/nn.h"
#include "test.h"
#include "world/internal.h"

#include <pthread.h>
#include <ridge.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { RANKS = 2 };

struct same_rank {
    int rank;
    int64_t bucket; /* or the core */
    uint32_t spins;
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

enum { MANY = 2400007, AROUND = 8 }; /* more than three steps */

static float term(int rank, int i) { return 1 / (float)(1 + (i * 7 + rank * 3) % 1000); }

static void check_sum(struct err *e, const float *out, int n) {
    for (int i = 0; i < n && !e->code; i++)
        if (out[i] != term(0, i) + term(1, i))
            err_set(e, RG_EINVAL, "element %d of %d is %a", i, n, (double)out[i]);
    for (int i = 1; i < 4 && !e->code; i++)
        if (out[-i] != -1 || out[n + i - 1] != -1)
            err_set(e, RG_EINVAL, "elements around %d are stored to", n);
}

/* Results that begin at any element, of any size, and in place: whatever stores are used, and in however many steps, each is a single addition. */
static void sum_of_size(struct world *w, struct err *e, int rank, float *in, float *out, int n, int shift) {
    for (int i = 0; i < MANY + AROUND; i++) in[i] = out[i] = -1;
    in += 4;
    float *to = shift ? out + shift : in;
    for (int i = 0; i < n; i++) in[i] = term(rank, i);
    struct world_call c = {{.kind = COLLECTIVE_ALL_REDUCE, .dt = DT_F32}, in, to, n, n};
    if (!world_run(w, e, &c)) check_sum(e, to, n);
}

static void *sum_large(void *arg) {
    static const int size[] = {MANY, MANY - 1, 2359296, 2359296 - 65536, 2359296 + 16, 200000, 16385};
    struct same_rank *r = arg;
    struct err e = {0};
    struct world *w;
    struct world_opts o = {.backend = "local", .name = r->name, .rank = r->rank, .size = RANKS};
    float *in = malloc((MANY + AROUND) * sizeof *in), *out = malloc((MANY + AROUND) * sizeof *out);
    if (!world_open(&e, &o, &w)) {
        for (size_t k = 0; k < RG_COUNT(size); k++)
            for (int shift = 0; shift < (k ? 2 : 4) && !e.code; shift++)
                sum_of_size(w, &e, r->rank, in, out, size[k], shift ? 2 + shift : 0);
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

/* ---- waiting ---------------------------------------------------------------------------------------------------------- */

/* As mpirun binds them: each rank to one core. */
static void *bound(void *arg) {
    struct same_rank *r = arg;
    struct err e = {0};
    struct world *w;
    struct world_opts o = {.backend = "local", .name = r->name, .rank = r->rank, .size = RANKS};
    os_pin((int)r->bucket);
    if (!world_open(&e, &o, &w)) {
        r->spins = ((struct segment *)w->state)->spins;
        world_close(w);
    }
    snprintf(r->error, sizeof r->error, "%s", e.code ? e.msg : "");
    return NULL;
}

TEST(world_same_core_or_not) {
    static struct same_rank r[RANKS];
    if (os_cores() < RANKS) return;
    os_pin(-1); /* the first call comes alone */
    for (int apart = 0; apart < 2; apart++) {
        r[1].bucket = apart;
        both(r, bound);
        for (int i = 0; i < RANKS; i++) CHECK_EQ(r[i].spins > 0, apart);
    }
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
