/* world_overlap.c: collectives that run beside kernels (src/engine/overlap.c): the same values as in sequence, on a thread of the engine's;
 * errors come back to the list that began them. */
#include "base/base.h"

#include <ridge.h> /* before headers that switch its call sites off */

#include "api/internal.h"
#include "engine/internal.h"
#include "planned.h"
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

/* ---- plans ---------------------------------------------------------------------------------------------------------- */

enum { CHAIN_MOST = 10, EXCHANGES_MOST = CHAIN_MOST };

struct chain_plan {
    struct err err;
    struct arena arena;
    struct ir ir;
    struct sched_opts opts;
    struct schedule sched;
    uint64_t seed;
};

static uint64_t draw(uint64_t *seed, uint64_t n) { return (*seed = hash_u64(*seed + 1)) % n; }

/* A chain of values, each of which needs all of the one before; sums over ranks of some of them, in an order of their own, and what becomes of
 * the sums. */
static void plan_chain(void *arg) {
    struct chain_plan *p = arg;
    struct str t;
    struct program program = {0};
    uint64_t seed = p->seed;
    unsigned steps = 3 + (unsigned)draw(&seed, CHAIN_MOST - 2), size = 1 + (unsigned)draw(&seed, 5000);
    int64_t code = collective_pack((struct collective){.kind = COLLECTIVE_ALL_REDUCE, .dt = DT_F32});
    char *value[CHAIN_MOST + 1], *sum = NULL;
    ir_init(&p->ir, &p->arena);
    value[0] = arena_printf(&p->arena, "(BUFFER<f32>[0] %u)", size);
    str_init(&t, &p->arena);
    str_add(&t, "kernel g\n(GRAPH");
    for (unsigned i = 1; i <= steps; i++) {
        const char *v = value[i - 1];
        value[i] = arena_printf(
            &p->arena, "(CONTIGUOUS (SUB (SQRT %s) (EXPAND (RESHAPE (REDUCE_AXES[MAX] %s 0) 1) %u)))", v, v,
            size);
        if (draw(&seed, 3) == 0) continue;
        char *in = arena_printf(&p->arena, "(CONTIGUOUS (NEG %s))", value[i]);
        sum = arena_printf(&p->arena, "(CALL<f32>[collective] %s %s %lld %u)", in, sum ? sum : in,
                           (long long)code, size);
        str_printf(&t, " (SQRT %s)", sum);
    }
    str_printf(&t, " %s)\n", value[steps]);
    ir_parse(&p->ir, t.p, t.n, "test", &program);
    schedule(&p->arena, &p->ir, program.kernel.p[0].sink, &p->opts, &p->sched);
}

static bool is_exchange(const struct schedule *s, uint32_t i) {
    const struct sched_builtin *b = s->prog.p[s->call.p[i].prog].builtin;
    return b && !strcmp(b->name, "collective");
}

/* The call from `from` on that uses the buffer first, kernels only; the number of calls: none does. */
static uint32_t next_use(const struct schedule *s, uint32_t from, uint32_t buf) {
    for (uint32_t i = from; i < s->call.n; i++)
        for (uint32_t k = 0; k < s->prog.p[s->call.p[i].prog].nbuf && !is_exchange(s, i); k++)
            if (s->call.p[i].buf[k] == buf) return i;
    return s->call.n;
}

/* No kernel that runs before the result of exchange i is used touches memory of its input or result. */
static bool has_memory(const struct schedule *s, uint32_t i) {
    for (uint32_t j = i + 1, end = next_use(s, i + 1, s->call.p[i].buf[0]); j < end; j++)
        for (uint32_t k = 0; k < s->prog.p[s->call.p[j].prog].nbuf && !is_exchange(s, j); k++)
            for (int m = 0; m < 2; m++) {
                const struct sched_buf *a = &s->buf.p[s->call.p[i].buf[m]],
                                       *b = &s->buf.p[s->call.p[j].buf[k]];
                if (a == b || a->kind != BUF_TEMP || b->kind != BUF_TEMP) continue;
                if (a->offset < b->offset + 4 * b->elements && b->offset < a->offset + 4 * a->elements)
                    return false;
            }
    return true;
}

/* An exchange comes directly after the kernel that stores its input, or after the exchange before it; and its memory stays its own. */
TEST(world_overlap_plans) {
    uint32_t exchanges = 0;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct chain_plan p = {.seed = seed, .opts = {.model = planned_model(), .no_multi = true}};
        arena_init(&p.arena, &p.err);
        if (err_guard(&p.err, plan_chain, &p)) FAIL("seed %d: %s", (int)seed, p.err.msg);
        const struct schedule *s = &p.sched;
        for (uint32_t i = 1; i < s->call.n; i++) {
            if (!is_exchange(s, i)) continue;
            exchanges++;
            if (!is_exchange(s, i - 1) && s->call.p[i - 1].buf[0] != s->call.p[i].buf[1])
                FAIL("seed %d: call %u, a collective, could have begun earlier", (int)seed, i);
            if (!has_memory(s, i))
                FAIL("seed %d: memory of call %u, a collective, is used again too early", (int)seed, i);
        }
        arena_free(&p.arena);
    }
    CHECK(exchanges > 100);
}
