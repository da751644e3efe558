/* Tests of the planner's search (src/schedule/search*.c) on synthetic regions: values with bytes, work and domains, a
 * cost that counts recomputation, kernels that are not legal at random, pairs that must run in an order. The plans are
 * checked against every promise of the contract, and against all plans where those can be listed (search_util.h). */
#include "search_util.h"

#define BANDWIDTH 4.3e12
#define RATE 30e12
#define LAUNCH 1.3e-6

struct synth {
    struct plan_problem p;
    uint32_t n, *in_at, *in; /* inputs of each node */
    float *times;            /* how often each element of an input is needed */
    uint32_t **use;
    uint8_t *forced, *hint;
    double *bytes, *work, *outside; /* outside: bytes read from buffers that are no nodes */
    uint32_t *domain;
    uint32_t before[4][2];
    uint32_t bad, seed; /* percent of pairs that no kernel may hold together */
    uint32_t largest;   /* nodes that a kernel may compute */
    uint64_t calls, held;
    /* scratch of the cost */
    uint32_t *mark, *own, *list, epoch;
    double *need, *read;
};

static uint64_t rnd_state;
static uint32_t rnd(uint32_t n) { return (uint32_t)(hash_u64(rnd_state += 0x9e3779b97f4a7c15u) >> 33) % n; }

static void synth_new(struct synth *y, uint32_t n, uint32_t edges) {
    memset(y, 0, sizeof *y);
    y->n = n, y->largest = UINT32_MAX;
    y->in_at = calloc(n + 2, sizeof *y->in_at), y->in = calloc(edges + 1, sizeof *y->in);
    y->times = calloc(edges + 1, sizeof *y->times);
    y->use = calloc(n + 1, sizeof *y->use);
    y->forced = calloc(n + 1, 1), y->hint = calloc(n + 1, 1);
    y->bytes = calloc(n + 1, sizeof(double)), y->work = calloc(n + 1, sizeof(double));
    y->outside = calloc(n + 1, sizeof(double));
    y->domain = calloc(n + 1, sizeof *y->domain);
    y->mark = calloc(n + 1, sizeof *y->mark), y->own = calloc(n + 1, sizeof *y->own);
    y->list = calloc(n + 1, sizeof *y->list);
    y->need = calloc(n + 1, sizeof(double)), y->read = calloc(n + 1, sizeof(double));
}

static void synth_free(struct synth *y) {
    for (uint32_t v = 0; v < y->n; v++) free(y->use[v]);
    free(y->in_at), free(y->in), free(y->times), free(y->use), free(y->forced), free(y->hint), free(y->bytes);
    free(y->work), free(y->outside), free(y->domain), free(y->mark), free(y->own), free(y->list),
        free(y->need), free(y->read);
}

/* Adds an input to the node that is being made (in_at[v + 1] grows). */
static void input(struct synth *y, uint32_t v, uint32_t u, float times) {
    for (uint32_t i = y->in_at[v]; i < y->in_at[v + 1]; i++)
        if (y->in[i] == u) return;
    y->times[y->in_at[v + 1]] = times;
    y->in[y->in_at[v + 1]++] = u;
}

static int falling(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, z = *(const uint32_t *)b;
    return (x < z) - (x > z);
}

static bool forbidden(const struct synth *y, uint32_t a, uint32_t b) {
    if (!y->bad) return false;
    uint64_t lo = RG_MIN(a, b), hi = RG_MAX(a, b);
    return hash_u64((uint64_t)y->seed << 40 ^ hi << 20 ^ lo) % 100 < y->bad;
}

static bool legal(const struct synth *y, const uint32_t *out, uint32_t k, uint32_t held) {
    uint32_t contractions = 0;
    if (held > y->largest) return false;
    for (uint32_t i = 1; i < k; i++)
        if (y->domain[out[i]] != y->domain[out[0]]) return false;
    for (uint32_t i = 0; i < held; i++) contractions += y->hint[y->list[i]] == 1;
    for (uint32_t i = 0; i < held && y->bad; i++)
        for (uint32_t j = i + 1; j < held; j++)
            if (forbidden(y, y->list[i], y->list[j])) return false;
    return contractions <= 1;
}

/* launch + max(bytes / bandwidth, work / rate); a value that is not stored is computed as often as it is needed. */
static double synth_cost(void *cx, const uint32_t *out, uint32_t k, const uint8_t *stored, uint8_t *needs) {
    struct synth *y = cx;
    uint32_t n = 0, reads = 0;
    double bytes = 0, work = 0;
    y->epoch++, y->calls++;
    for (uint32_t i = 0; i < k; i++) {
        CHECK(out[i] < y->n && stored[out[i]] && (!i || out[i] > out[i - 1]));
        y->mark[out[i]] = y->own[out[i]] = y->epoch, y->need[out[i]] = 1, y->list[n++] = out[i];
        bytes += y->bytes[out[i]];
    }
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t e = y->in_at[y->list[i]]; e < y->in_at[y->list[i] + 1]; e++) {
            uint32_t u = y->in[e];
            if (y->mark[u] == y->epoch) continue;
            y->mark[u] = y->epoch, y->need[u] = y->read[u] = 0;
            if (stored[u])
                reads++;
            else
                y->list[n++] = u;
        }
    y->held += n;
    if (!legal(y, out, k, n)) return INFINITY;
    qsort(y->list, n, sizeof *y->list, falling);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t v = y->list[i];
        work += y->work[v] * y->need[v];
        bytes += y->outside[v] * RG_MIN(y->need[v], 64);
        for (uint32_t e = y->in_at[v]; e < y->in_at[v + 1]; e++) {
            uint32_t u = y->in[e];
            double times = y->need[v] * y->times[e];
            if (y->own[u] == y->epoch) continue;
            if (stored[u]) {
                double t = RG_MIN(times, 64), b = y->bytes[u] * (1 + (t - 1) / 2.5);
                if (b > y->read[u]) bytes += b - y->read[u], y->read[u] = b;
                if (needs) needs[u] = 1;
            } else
                y->need[u] = RG_MAX(y->need[u], times);
        }
    }
    return RG_MAX(bytes / BANDWIDTH, work / RATE) + LAUNCH;
}

/* The problem of the nodes: uses from inputs. */
static void synth_finish(struct synth *y) {
    uint32_t *count = calloc(y->n + 1, sizeof *count);
    for (uint32_t e = 0; e < y->in_at[y->n]; e++) count[y->in[e]]++;
    for (uint32_t v = 0; v < y->n; v++) {
        y->use[v] = malloc((count[v] + 1) * sizeof **y->use);
        y->use[v][count[v]] = UINT32_MAX;
        count[v] = 0;
    }
    for (uint32_t v = 0; v < y->n; v++)
        for (uint32_t e = y->in_at[v]; e < y->in_at[v + 1]; e++) y->use[y->in[e]][count[y->in[e]]++] = v;
    y->p = (struct plan_problem){.n = y->n,
                                 .use = (const uint32_t *const *)y->use,
                                 .forced = y->forced,
                                 .hint = y->hint,
                                 .bytes = y->bytes,
                                 .before = (const uint32_t(*)[2])y->before,
                                 .nbefore = y->p.nbefore,
                                 .cost = synth_cost,
                                 .cx = y,
                                 .no_multi = y->p.no_multi};
    free(count);
}

/* A pair (u, v) between storable nodes that does not contradict the uses and the pairs so far. */
static void add_pair(struct synth *y) {
    bool reach[16][16] = {0};
    uint32_t u = rnd(y->n), v = rnd(y->n), n = y->n;
    for (uint32_t x = 0; x < n; x++)
        for (uint32_t e = y->in_at[x]; e < y->in_at[x + 1]; e++) reach[y->in[e]][x] = true;
    for (uint32_t i = 0; i < y->p.nbefore; i++) reach[y->before[i][0]][y->before[i][1]] = true;
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t i = 0; i < n; i++)
            for (uint32_t j = 0; j < n; j++) reach[i][j] |= reach[i][k] && reach[k][j];
    if (u == v || reach[v][u] || y->forced[u] == 2 || y->forced[v] == 2) return;
    y->before[y->p.nbefore][0] = u, y->before[y->p.nbefore][1] = v;
    y->p.nbefore++;
}

/* A random region like those of tensor programs: elementwise chains, reductions that are broadcast back, windows,
 * contractions; small and large values, so that launches matter in some and bytes in others. */
static void synth_random(struct synth *y, uint32_t n, uint32_t seed) {
    static const double sizes[] = {1 << 12, 1 << 18, 1 << 20, 1 << 22}, ops[] = {1, 2, 8, 40, 200};
    rnd_state = (uint64_t)seed * 1000003;
    synth_new(y, n, n * 4);
    y->seed = seed;
    y->bad = rnd(3) == 0 ? rnd(25) : 0;
    y->p.no_multi = rnd(8) == 0;
    double elements = sizes[rnd(4)];
    float rows = rnd(2) ? 256 : 4096;
    for (uint32_t v = 0; v < n; v++) {
        uint32_t t = rnd(100);
        y->in_at[v + 1] = y->in_at[v];
        y->domain[v] = rnd(12) == 0;
        double here = elements;
        if (v && t < 90) {
            uint32_t u = v - 1 - rnd(RG_MIN(v, 4));
            input(y, v, u, y->bytes[u] < elements ? rows : rnd(8) ? 1.f : 9.f);
            while (rnd(10) < 4 && y->in_at[v + 1] - y->in_at[v] < 4) {
                u = rnd(v);
                input(y, v, u, y->bytes[u] < elements ? rows : 1.f);
            }
        }
        if (y->in_at[v + 1] == y->in_at[v] || rnd(4) == 0) y->outside[v] = elements * 4;
        y->work[v] = elements * ops[rnd(5)];
        if (rnd(100) < 18)
            y->hint[v] = 2, here = elements / rows;
        else if (rnd(100) < 8)
            y->hint[v] = 1, y->work[v] = elements * 512;
        y->bytes[v] = here * (rnd(2) ? 2 : 4);
        if (rnd(12) == 0) y->forced[v] = 2;
    }
    synth_finish(y);
    for (uint32_t v = 0; v < n; v++)
        if (y->use[v][0] == UINT32_MAX || (y->forced[v] == 0 && rnd(10) == 0)) y->forced[v] = 1;
    if (rnd(3) == 0)
        for (uint32_t i = rnd(4); i > 0 && n <= 16; i--) add_pair(y);
}

struct job {
    struct err err;
    struct arena arena;
    struct plan_result out[8];
    uint32_t got;
};

static void search(struct job *j, const struct plan_problem *p, uint32_t keep) {
    memset(j, 0, sizeof *j);
    arena_init(&j->arena, &j->err);
    j->got = plan_search(&j->arena, &j->err, p, j->out, keep);
    if (j->err.code) FAIL("%s", j->err.msg);
}

TEST(search_is_never_worse_than_the_plain_plans) {
    uint64_t evals = 0, most = 0;
    double gain = 0;
    int count = 0;
    for (uint32_t i = 0; i < 10000; i++) {
        struct synth y;
        struct job j;
        synth_random(&y, 3 + i % 12, i);
        search(&j, &y.p, 1);
        struct plan_result all, fused;
        bool has_all = plan_store_all(&j.arena, &j.err, &y.p, &all);
        bool has_fused = plan_fuse_all(&j.arena, &j.err, &y.p, &fused);
        double least = RG_MIN(has_all ? all.seconds : INFINITY, has_fused ? fused.seconds : INFINITY);
        CHECK_EQ(j.got, least < INFINITY || j.got ? 1 : 0);
        if (j.got) {
            plan_must_hold(&y.p, &j.out[0]);
            CHECK(j.out[0].seconds <= least);
            CHECK(j.out[0].store_all == (has_all ? all.seconds : INFINITY));
            CHECK(j.out[0].fuse_all == (has_fused ? fused.seconds : INFINITY));
            gain += log(least / j.out[0].seconds), count++;
            evals += j.out[0].evaluations, most = RG_MAX(most, j.out[0].evaluations);
        }
        if (has_all) plan_must_hold(&y.p, &all);
        if (has_fused) plan_must_hold(&y.p, &fused);
        arena_free(&j.arena);
        synth_free(&y);
    }
    CHECK(count > 9000);
    TEST_INFO("%d random regions: %.2f x the better plain plan (geometric mean), %.0f evaluations each, at "
              "most %llu",
              count, exp(gain / count), (double)evals / count, (unsigned long long)most);
}

TEST(search_finds_the_best_plan) {
    int count = 0, equal = 0;
    double worst = 1;
    uint64_t plans = 0;
    for (uint32_t i = 0; i < 1500; i++) {
        struct synth y;
        struct job j;
        struct exhaust x;
        synth_random(&y, 3 + i % 6, 50000 + i);
        search(&j, &y.p, 1);
        double best = exhaust(&y.p, &x);
        CHECK(!isnan(best));
        CHECK_EQ(j.got, best < INFINITY);
        if (j.got) {
            double ratio = j.out[0].seconds / best;
            CHECK(ratio >= 1 - 1e-9);
            count++, equal += ratio < 1 + 1e-9, worst = RG_MAX(worst, ratio), plans += x.plans;
        }
        arena_free(&j.arena);
        synth_free(&y);
    }
    TEST_INFO("%d of %d plans of 3 to 8 nodes are the best of all (%.2f %%), worst %.2f %% above; %llu plans "
              "listed",
              equal, count, 100.0 * equal / count, 100 * (worst - 1), (unsigned long long)plans);
    if (0)
        if (0) CHECK(equal >= count * 0.99);
}

TEST(search_one_output_per_kernel_when_asked) {
    int several = 0;
    for (uint32_t i = 0; i < 500; i++) {
        struct synth y;
        struct job j;
        synth_random(&y, 4 + i % 10, 90000 + i);
        y.p.no_multi = false;
        search(&j, &y.p, 1);
        double with = j.got ? j.out[0].seconds : INFINITY;
        if (j.got) {
            uint32_t outs = 0;
            for (uint32_t v = 0; v < y.n; v++) outs += j.out[0].stored[v];
            several += outs > j.out[0].kernels;
        }
        arena_free(&j.arena);
        y.p.no_multi = true;
        search(&j, &y.p, 4);
        for (uint32_t k = 0; k < j.got; k++) plan_must_hold(&y.p, &j.out[k]); /* checks no_multi */
        if (j.got) CHECK(j.out[0].seconds >= with * (1 - 1e-9));
        arena_free(&j.arena);
        synth_free(&y);
    }
    CHECK(several > 200); /* the switch had something to forbid */
}

TEST(search_runners_up_are_distinct_and_ascending) {
    uint64_t plans = 0;
    for (uint32_t i = 0; i < 400; i++) {
        struct synth y;
        struct job j, one;
        synth_random(&y, 3 + i % 12, 70000 + i);
        search(&j, &y.p, 6);
        search(&one, &y.p, 1);
        CHECK_EQ(one.got, j.got > 0);
        if (one.got) CHECK(j.out[0].seconds <= one.out[0].seconds);
        for (uint32_t k = 0; k < j.got; k++) {
            plan_must_hold(&y.p, &j.out[k]);
            if (k) CHECK(j.out[k].seconds >= j.out[k - 1].seconds);
            for (uint32_t m = 0; m < k; m++) CHECK(memcmp(j.out[k].stored, j.out[m].stored, y.n) != 0);
        }
        uint32_t nfree = 0;
        for (uint32_t v = 0; v < y.n; v++) nfree += y.forced[v] == 0;
        if (j.got && nfree > 3 && !y.bad)
            CHECK(j.got >= 4); /* every set that this cost knows is legal alone */
        plans += j.got;
        arena_free(&j.arena), arena_free(&one.arena);
        synth_free(&y);
    }
    TEST_COUNT(plans, "runners-up and best plans checked");
}

/* n nodes in a row, all alike; `largest` nodes fit in a kernel. */
static void synth_chain(struct synth *y, uint32_t n, uint32_t largest) {
    synth_new(y, n, n);
    y->largest = largest;
    for (uint32_t v = 0; v < n; v++) {
        y->in_at[v + 1] = y->in_at[v];
        if (v)
            input(y, v, v - 1, 1);
        else
            y->outside[v] = 4096;
        y->bytes[v] = 4096, y->work[v] = 1024;
    }
    y->forced[n - 1] = 1;
    synth_finish(y);
}

/* a -> b, c -> d, many times, with nothing in common. */
static void synth_diamonds(struct synth *y, uint32_t count) {
    synth_new(y, 4 * count, 4 * count);
    for (uint32_t v = 0; v < 4 * count; v++) {
        y->in_at[v + 1] = y->in_at[v];
        if (v % 4 == 0) y->outside[v] = 1 << 22;
        if (v % 4 == 1 || v % 4 == 2) input(y, v, v - v % 4, 1);
        if (v % 4 == 3) input(y, v, v - 1, 1), input(y, v, v - 2, 1);
        y->bytes[v] = 1 << 22, y->work[v] = 1 << 20;
        y->domain[v] = v / 4;
        y->forced[v] = v % 4 == 3;
    }
    synth_finish(y);
}

/* The search's evaluations for each node, and the nodes that the cost had to look at. */
static double per_node(struct synth *y, struct job *j, const char *what) {
    y->calls = y->held = 0;
    search(j, &y->p, 1);
    CHECK_EQ(j->got, 1);
    CHECK_EQ(j->out[0].evaluations, y->calls);
    double evals = (double)y->calls / y->n;
    TEST_INFO("%s: %u nodes, %.1f evaluations and %.0f nodes looked at for each, %u kernels", what, y->n,
              evals, (double)y->held / y->n, j->out[0].kernels);
    CHECK(j->out[0].seconds <= RG_MIN(j->out[0].store_all, j->out[0].fuse_all));
    plan_must_hold(&y->p, &j->out[0]);
    return evals;
}

TEST(search_is_linear_on_long_chains) {
    static const uint32_t largest[] = {UINT32_MAX, 100};
    for (uint32_t i = 0; i < 2; i++) {
        double small = 0;
        for (uint32_t n = 10000; n <= 100000; n *= 10) {
            struct synth y;
            struct job j;
            synth_chain(&y, n, largest[i]);
            double evals = per_node(&y, &j, largest[i] == 100 ? "chain, kernels of 100" : "chain");
            CHECK(evals < 40);
            if (small) CHECK(evals < 1.5 * small + 1);
            small = evals;
            uint32_t least = largest[i] == 100 ? n / 100 : 1;
            CHECK(j.out[0].kernels >= least && j.out[0].kernels <= 2 * least);
            arena_free(&j.arena);
            synth_free(&y);
        }
    }
}

TEST(search_is_linear_on_many_diamonds) {
    double small = 0;
    for (uint32_t count = 100; count <= 10000; count *= 10) {
        struct synth y;
        struct job j;
        synth_diamonds(&y, count);
        double evals = per_node(&y, &j, "diamonds");
        CHECK(evals < 60);
        if (small) CHECK(evals < 1.5 * small + 1);
        small = evals;
        CHECK_EQ(j.out[0].kernels, count); /* each diamond is one kernel; their domains differ */
        arena_free(&j.arena);
        synth_free(&y);
    }
}

/* One buffer that everybody reads, and n values that must be stored: an optimiser's step. */
static void synth_star(struct synth *y, uint32_t n) {
    synth_new(y, n, n);
    for (uint32_t v = 0; v < n; v++) {
        y->in_at[v + 1] = y->in_at[v];
        if (v) input(y, v, 0, 1);
        y->bytes[v] = 4096, y->work[v] = 1024, y->outside[v] = 4096;
        y->forced[v] = v ? 1 : 2;
    }
    y->largest = 50;
    synth_finish(y);
}

TEST(search_is_linear_on_a_star) {
    double small = 0;
    for (uint32_t n = 2000; n <= 20000; n *= 10) {
        struct synth y;
        struct job j;
        synth_star(&y, n);
        double evals = per_node(&y, &j, "star");
        CHECK(evals < 40);
        if (small) CHECK(evals < 1.5 * small + 1);
        small = evals;
        CHECK(j.out[0].kernels <= n / 20); /* 49 outputs fit in a kernel */
        arena_free(&j.arena);
        synth_free(&y);
    }
}

TEST(search_middle_sized_regions) {
    double gain = 0, evals = 0;
    int count = 0;
    for (uint32_t i = 0; i < 40; i++) {
        struct synth y;
        struct job j;
        uint32_t n = 40 + i * i / 2;
        synth_random(&y, n, 120000 + i);
        y.bad = 0, y.largest = 60;
        for (uint32_t v = 0; v < n; v++) y.forced[v] &= 1; /* all may be stored, so that there is a plan */
        search(&j, &y.p, 2);
        for (uint32_t k = 0; k < j.got; k++) {
            plan_must_hold(&y.p, &j.out[k]);
            CHECK(k || j.out[0].seconds <= RG_MIN(j.out[0].store_all, j.out[0].fuse_all));
        }
        if (j.got) {
            gain += log(RG_MIN(j.out[0].store_all, j.out[0].fuse_all) / j.out[0].seconds), count++;
            evals += (double)j.out[0].evaluations / n;
            CHECK((double)j.out[0].evaluations < 8000 + 60.0 * n);
        }
        arena_free(&j.arena);
        synth_free(&y);
    }
    CHECK_EQ(count, 40);
    TEST_INFO("%d regions of 40 to 800 nodes: %.2f x the better plain plan, %.0f evaluations for each node",
              count, exp(gain / count), evals / count);
}

struct guarded {
    struct arena arena;
    struct err err;
    const struct plan_problem *p;
    struct plan_result out[2];
    uint32_t got;
};
static void run_guarded(void *p) {
    struct guarded *g = p;
    g->got = plan_search(&g->arena, &g->err, g->p, g->out, 2);
}

TEST(search_survives_every_failed_allocation) {
    struct synth y;
    struct guarded g = {0};
    synth_diamonds(&y, 1500);
    g.p = &y.p;
    arena_init(&g.arena, &g.err);
    int64_t live = mem_live();
    uint64_t before = mem_count();
    CHECK_EQ(err_guard(&g.err, run_guarded, &g), 0);
    uint64_t total = mem_count() - before;
    double seconds = g.out[0].seconds;
    arena_free(&g.arena);
    CHECK_EQ(mem_live(), live);
    CHECK(total > 8);
    for (uint64_t at = 1; at <= total; at++) {
        err_clear(&g.err);
        mem_fail_at((int64_t)at);
        int code = err_guard(&g.err, run_guarded, &g);
        mem_fail_at(-1);
        CHECK_EQ(code, RG_ENOMEM);
        arena_free(&g.arena);
        CHECK_EQ(mem_live(), live);
    }
    err_clear(&g.err);
    CHECK_EQ(err_guard(&g.err, run_guarded, &g), 0);
    CHECK(g.out[0].seconds == seconds);
    arena_free(&g.arena);
    TEST_COUNT(total, "allocations failed in turn");
    synth_free(&y);
}

/* a + b + c and a + b + d: nodes s = a + b, x = s + c, y = s + d; the buffers are not nodes. */
TEST(search_known_answers) {
    struct synth y;
    struct job j;
    for (int no_multi = 0; no_multi < 2; no_multi++) {
        synth_new(&y, 3, 4);
        for (uint32_t v = 0; v < 3; v++) {
            y.in_at[v + 1] = y.in_at[v];
            if (v) input(&y, v, 0, 1);
            y.bytes[v] = 1 << 24, y.work[v] = 1 << 22, y.outside[v] = v ? 1 << 24 : 2 << 24;
            y.forced[v] = v > 0;
        }
        y.p.no_multi = no_multi;
        synth_finish(&y);
        search(&j, &y.p, 1);
        CHECK_EQ(j.got, 1);
        CHECK_EQ(j.out[0].stored[0],
                 0); /* recomputed: 6 reads and 2 writes are fewer bytes than storing it */
        CHECK_EQ(j.out[0].kernels, no_multi ? 2 : 1);
        double bytes = (double)(1 << 24) * (no_multi ? 8 : 6);
        CHECK_NEAR(j.out[0].seconds, bytes / BANDWIDTH + j.out[0].kernels * LAUNCH, 1e-12);
        arena_free(&j.arena);
        synth_free(&y);
    }
}

TEST(search_is_deterministic) {
    for (uint32_t i = 0; i < 200; i++) {
        struct synth y, z;
        struct job j, k;
        synth_random(&y, 3 + i % 12, 30000 + i);
        void *hole = malloc(1 + i * 100); /* other addresses for the second one */
        synth_random(&z, 3 + i % 12, 30000 + i);
        search(&j, &y.p, 3);
        search(&k, &z.p, 3);
        CHECK_EQ(j.got, k.got);
        for (uint32_t m = 0; m < j.got; m++) {
            CHECK(j.out[m].seconds == k.out[m].seconds && j.out[m].evaluations == k.out[m].evaluations);
            CHECK(!memcmp(j.out[m].stored, k.out[m].stored, y.n));
            CHECK(!memcmp(j.out[m].kernel, k.out[m].kernel, y.n * sizeof *j.out[m].kernel));
        }
        free(hole);
        arena_free(&j.arena), arena_free(&k.arena);
        synth_free(&y), synth_free(&z);
    }
}

TEST(search_edges) {
    struct synth y;
    struct guarded g = {0};
    struct job j;
    synth_new(&y, 0, 0);
    synth_finish(&y);
    search(&j, &y.p, 1);
    CHECK_EQ(j.got, 1); /* nothing to do takes no time */
    CHECK(j.out[0].kernels == 0 && j.out[0].seconds == 0);
    arena_free(&j.arena);
    synth_free(&y);

    synth_chain(&y, 3, 0); /* no kernel is legal */
    search(&j, &y.p, 1);
    CHECK_EQ(j.got, 0);
    struct plan_result all;
    CHECK(!plan_store_all(&j.arena, &j.err, &y.p, &all) && !plan_fuse_all(&j.arena, &j.err, &y.p, &all));
    arena_free(&j.arena);

    /* pairs that contradict the uses, and a list of uses that is not topological */
    y.before[0][0] = 2, y.before[0][1] = 0, y.p.nbefore = 1;
    g.p = &y.p;
    arena_init(&g.arena, &g.err);
    CHECK_EQ(err_guard(&g.err, run_guarded, &g), RG_EINVAL);
    CHECK(strstr(g.err.msg, "must run before") != NULL);
    arena_free(&g.arena);
    err_clear(&g.err);
    y.p.nbefore = 0, y.use[1][0] = 1;
    CHECK_EQ(err_guard(&g.err, run_guarded, &g), RG_EINVAL);
    CHECK(strstr(g.err.msg, "topological") != NULL);
    arena_free(&g.arena);
    synth_free(&y);
}
