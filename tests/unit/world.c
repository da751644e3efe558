/* world.c: collectives between contexts of one process (the local backend), one thread a rank: values of every kind on 1 to 8 ranks,
 * order, gradients, jits, groups, messages; random programs against the same program computed by one rank; errors that name the
 * rank that is to blame. Processes: tests/cli/world.sh. */
#include "test.h"
#include "world/internal.h"

#include <pthread.h>
#include <ridge.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { RANKS = 8 };

struct ranks;
typedef void rank_fn(struct ranks *, rg_ctx *, rg_world *, int rank);
struct ranks {
    const char *device, *backend; /* NULL: CPU, local */
    char name[64];
    int size;
    double timeout;
    rank_fn *fn;
    bool fails;             /* errors are expected, and kept in .. */
    char error[RANKS][800]; /* .. this */
    uint64_t seed;
    double value[RANKS]; /* for fn */
};
struct one {
    struct ranks *r;
    int rank;
};

static void *run_rank(void *arg) {
    struct one *o = arg;
    struct ranks *r = o->r;
    rg_ctx *c = rg_open(r->device);
    rg_world *w = rg_world_open(c, r->backend ? r->backend : "local", r->name, o->rank, r->size, r->timeout);
    if (w) r->fn(r, c, w, o->rank);
    snprintf(r->error[o->rank], sizeof r->error[0], "%s", rg_error(c));
    rg_close(c);
    return NULL;
}

static void run_ranks(struct ranks *r) {
    static int number;
    pthread_t t[RANKS];
    struct one o[RANKS];
    snprintf(r->name, sizeof r->name, "test-%d-%d", (int)getpid(), number++);
    if (!r->device) r->device = "CPU";
    if (!r->timeout) r->timeout = 60;
    for (int i = 0; i < r->size; i++) o[i] = (struct one){r, i}, pthread_create(&t[i], NULL, run_rank, &o[i]);
    for (int i = 0; i < r->size; i++) pthread_join(t[i], NULL);
    for (int i = 0; i < r->size && !r->fails; i++)
        if (*r->error[i]) FAIL("rank %d: %s", i, r->error[i]);
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

/* Element i of rank r: small integers, so that every order of summing gives the same. */
static float at(int r, int i) { return (float)((r * 7 + i * 3) % 11 - 4); }

static rg_tensor data(rg_ctx *c, int rank, int n) {
    float *v = malloc((size_t)n * sizeof *v);
    for (int i = 0; i < n; i++) v[i] = at(rank, i);
    rg_tensor t = rg_from(c, RG_F32, v, RG_SHAPE(n));
    free(v);
    return t;
}

static void check_values(rg_tensor t, int n, float (*want)(int size, int rank, int i), int size, int rank) {
    float *v = malloc((size_t)n * sizeof *v);
    CHECK_EQ(rg_size(t), n);
    if (!rg_read(t, v, (size_t)n * sizeof *v))
        for (int i = 0; i < n; i++)
            if (v[i] != want(size, rank, i))
                FAIL("rank %d of %d, element %d: %g, expected %g", rank, size, i, v[i], want(size, rank, i));
    free(v);
}

static int part_of; /* elements that a rank has */
static float want_sum(int size, int rank, int i) {
    float s = 0;
    (void)rank;
    for (int r = 0; r < size; r++) s += at(r, i);
    return s;
}
static float want_max(int size, int rank, int i) {
    float s = at(0, i);
    (void)rank;
    for (int r = 1; r < size; r++) s = at(r, i) > s ? at(r, i) : s;
    return s;
}
static float want_part(int size, int rank, int i) {
    return want_sum(size, rank, rank * (part_of / size) + i);
}
static float want_all(int size, int rank, int i) {
    return (void)size, (void)rank, at(i / part_of, i % part_of);
}
static float want_swap(int size, int rank, int i) {
    int m = part_of / size;
    return at(i / m, rank * m + i % m);
}
static float want_last(int size, int rank, int i) { return (void)rank, at(size - 1, i); }

static void all_kinds(struct ranks *r, rg_ctx *c, rg_world *w, int rank) {
    int n = part_of, size = r->size;
    RG_SCOPE(c);
    rg_tensor x = data(c, rank, n);
    CHECK_EQ(rg_world_rank(w), rank);
    CHECK_EQ(rg_world_size(w), size);
    CHECK_EQ(rg_world_local_rank(w), rank);
    CHECK(!strcmp(rg_world_backend(w), "local"));
    rg_tensor sum = rg_all_reduce(x, w, RG_COMBINE_SUM), most = rg_all_reduce(x, w, RG_COMBINE_MAX),
              part = rg_reduce_scatter(x, w, RG_COMBINE_SUM), all = rg_all_gather(x, w),
              swap = rg_all_to_all(x, w), last = rg_broadcast(x, w, size - 1);
    /* Each rank asks in another order: the exchanges happen in the order of the calls. */
    for (int i = 0; i < 6; i++) {
        int k = (i + rank) % 6;
        if (k == 0) check_values(sum, n, want_sum, size, rank);
        if (k == 1) check_values(most, n, want_max, size, rank);
        if (k == 2) check_values(part, n / size, want_part, size, rank);
        if (k == 3) check_values(all, n * size, want_all, size, rank);
        if (k == 4) check_values(swap, n, want_swap, size, rank);
        if (k == 5) check_values(last, n, want_last, size, rank);
    }
    check_values(rg_all_reduce(x, w, RG_COMBINE_SUM), n, want_sum, size,
                 rank); /* again is another exchange */
    rg_barrier(w);
}

TEST(world_values) {
    for (int size = 1; size <= RANKS; size += size < 4 ? 1 : 4) {
        part_of = 840; /* 1 to 8 divide it */
        run_ranks(&(struct ranks){.size = size, .fn = all_kinds});
    }
    part_of = 3 * 840 * 100; /* several slots */
    run_ranks(&(struct ranks){.size = 3, .fn = all_kinds});
    part_of = 84;
    run_ranks(&(struct ranks){.size = 2, .fn = all_kinds, .device = "REF"});
}

static void dtypes(struct ranks *r, rg_ctx *c, rg_world *w, int rank) {
    (void)rank;
    for (int dt = 0; dt < RG_F8E4M3; dt++) {
        RG_SCOPE(c);
        rg_combine how = dt == RG_BOOL ? RG_COMBINE_MAX : RG_COMBINE_SUM;
        rg_tensor one = rg_cast(rg_ones(c, RG_I32, RG_SHAPE(5)), (rg_dtype)dt);
        double got = rg_item(rg_sum(rg_cast(rg_all_reduce(one, w, how), RG_F64)));
        if (got != (dt == RG_BOOL ? 5 : 5 * r->size)) FAIL("%s: %g", rg_dtype_name((rg_dtype)dt), got);
    }
}

TEST(world_dtypes) { run_ranks(&(struct ranks){.size = 3, .fn = dtypes}); }

/* More ranks than one host has, as MPI may have them. */
TEST(world_reduces_many_sources) {
    enum { SOURCES = 1000, N = 700 };
    float *x = malloc(sizeof *x * N), out[N];
    const void *in[SOURCES];
    for (int i = 0; i < N; i++) x[i] = (float)(i % 50);
    for (int i = 0; i < SOURCES; i++) in[i] = x;
    for (int sources = 1; sources <= SOURCES; sources = sources * 3 + 1) {
        reduce_tree(DT_F32, COLLECTIVE_SUM, out, in, (uint32_t)sources, N);
        for (int i = 0; i < N; i++)
            if (out[i] != (float)(sources * (i % 50))) FAIL("%d sources, element %d: %g", sources, i, out[i]);
    }
    free(x);
}

/* ---- gradients, jits, groups, messages ------------------------------------------------------------------------------ */

/* loss of rank r = sum over i of y[i] * (r + 1), y the collective of x = (rank + 1): d x = sum over ranks of (r + 1). */
static void gradients(struct ranks *r, rg_ctx *c, rg_world *w, int rank) {
    RG_SCOPE(c);
    double ranks = r->size, all = ranks * (ranks + 1) / 2;
    /* a parameter: the exchanges of all have run when the second gradient is asked for */
    rg_tensor x = rg_param(rg_full(c, RG_F32, rank + 1, RG_SHAPE(12))), g[1];
    rg_tensor y[] = {rg_all_reduce(x, w, RG_COMBINE_SUM),
                     rg_all_reduce(x, w, RG_COMBINE_MEAN),
                     rg_all_gather(x, w),
                     rg_reduce_scatter(x, w, RG_COMBINE_SUM),
                     rg_all_to_all(x, w),
                     rg_broadcast(x, w, 1),
                     rg_all_reduce(x, w, RG_COMBINE_MAX)};
    for (int i = 0; i < 7; i++) {
        rg_grad(rg_sum(rg_mul(y[i], rank + 1)), RG_TENSORS(x), g);
        double want = 12 * all;
        if (i == 1 || i == 3 || i == 4) want = 12 * all / ranks; /* each element from one rank, or the mean */
        if (i == 5) want = rank == 1 ? 12 * all : 0;
        if (i == 6) want = rank == r->size - 1 ? 12 * all : 0; /* only the greatest */
        double got = rg_item(rg_sum(g[0]));
        if (fabs(got - want) > 1e-3)
            FAIL("rank %d, collective %d: gradient %g, expected %g", rank, i, got, want);
    }
}

TEST(world_gradients) { run_ranks(&(struct ranks){.size = 3, .fn = gradients}); }

struct jitted {
    rg_world *w;
    rg_tensor state;
};
static rg_status add_ranks(void *user, const rg_tensor *in, rg_tensor *out) {
    struct jitted *j = user;
    rg_assign(j->state, rg_add(j->state, rg_all_reduce(in[0], j->w, RG_COMBINE_SUM)));
    out[0] = rg_all_reduce(rg_mul(in[0], 2), j->w, RG_COMBINE_MAX);
    return RG_OK;
}
static void jits(struct ranks *r, rg_ctx *c, rg_world *w, int rank) {
    struct jitted u = {w, rg_contiguous(rg_zeros(c, RG_F32, RG_SHAPE(4)))};
    rg_realize(u.state);
    rg_jit *j = rg_jit_new(c, add_ranks, &u, 1);
    double sum = 0;
    for (int i = 0; i < 6; i++) {
        RG_SCOPE(c);
        rg_tensor out, in = rg_contiguous(rg_full(c, RG_F32, rank + i, RG_SHAPE(4)));
        rg_realize(in);
        if (rg_jit_call(j, RG_TENSORS(in), &out)) return;
        for (int k = 0; k < r->size; k++) sum += 4 * (k + i);
        CHECK(rg_item(rg_sum(out)) == 8 * (r->size - 1 + i));
        CHECK(rg_item(rg_sum(u.state)) == sum);
    }
}

TEST(world_jit) { run_ranks(&(struct ranks){.size = 2, .fn = jits}); }

static void groups(struct ranks *r, rg_ctx *c, rg_world *w, int rank) {
    rg_world *even = rg_world_group(w, RG_AXES(2, 0)), *odd = rg_world_group(w, RG_AXES(1, 3));
    rg_world *mine = rank % 2 ? odd : even;
    (void)r;
    CHECK((rank % 2 ? even : odd) == NULL);
    CHECK(mine != NULL);
    CHECK_EQ(rg_world_rank(mine), rank % 2 ? rank / 2 : rank == 0);
    rg_tensor all = rg_all_gather(rg_full(c, RG_I32, rank, RG_SHAPE(1)), mine);
    int v[2];
    rg_read(all, v, sizeof v);
    CHECK_EQ(v[0], rank % 2 ? 1 : 2);
    CHECK_EQ(v[1], rank % 2 ? 3 : 0);
}

TEST(world_groups) { run_ranks(&(struct ranks){.size = 4, .fn = groups}); }

static void messages(struct ranks *r, rg_ctx *c, rg_world *w, int rank) {
    for (int n = 1; n < 300000; n = n * 17 + 3) {
        RG_SCOPE(c);
        rg_tensor x = data(c, rank, n);
        int next = (rank + 1) % r->size, before = (rank + r->size - 1) % r->size;
        if (rank % 2 == 0) rg_send(x, w, next);
        rg_tensor got = rg_recv(x, w, before);
        rg_realize(got);
        if (rank % 2) rg_send(x, w, next);
        float *v = malloc((size_t)n * sizeof *v);
        if (!rg_read(got, v, (size_t)n * sizeof *v))
            for (int i = 0; i < n; i++) CHECK(v[i] == at(before, i));
        free(v);
    }
}

TEST(world_messages) { run_ranks(&(struct ranks){.size = 4, .fn = messages}); }

/* ---- data parallel --------------------------------------------------------------------------------------------------- */

static rg_module *small_network(rg_ctx *c) {
    rg_module *m = rg_nn_sequential(c, RG_MODULES(rg_nn_linear(c, 6, 8), rg_nn_batchnorm(c, 8),
                                                  rg_nn_function(c, "tanh", rg_tanh), rg_nn_linear(c, 8, 1)));
    rg_nn_add(m, "idle", rg_nn_linear(c, 2, 2)); /* not used: stays as it is */
    return m;
}

/* Three steps of two accumulated batches; ranks begin with different weights and get rank 0's. */
static void train_small(struct ranks *r, rg_ctx *c, rg_world *w, int rank) {
    int share = 24 / (w ? r->size : 1);
    rg_seed(c, (uint64_t)(w ? rank : 0) + 5);
    rg_module *m = rg_nn_module(c, NULL, NULL), *net = small_network(c);
    rg_nn_add(m, "net", net);
    if (w) rg_nn_data_parallel(m, w, .bucket_mb = 1e-4, .wire = (rg_dtype)r->seed);
    rg_optim *o = rg_sgd(rg_nn_params(m), .lr = 0.1, .momentum = 0.5);
    rg_seed(c, 77);
    for (int i = 0; i < 6; i++) {
        RG_SCOPE(c);
        rg_tensor x = rg_narrow(rg_randn(c, RG_F32, RG_SHAPE(24, 6)), 0, rank * share, share);
        rg_tensor y = x;
        for (int k = 0; k < 4; k++) {
            char path[16];
            snprintf(path, sizeof path, "net.%d", k);
            y = rg_nn_forward(rg_nn_child(m, path), y);
        }
        rg_backward(rg_mean(rg_square(rg_sub(y, rg_sum(x, RG_AXES(1), .keep = true)))));
        if (i % 2 == 0) continue;
        if (w) rg_nn_reduce_grads(m);
        rg_optim_step(o);
    }
    rg_tensor sum = rg_number(c, RG_F32, 0);
    for (size_t i = 0; i < rg_nn_entries(m); i++) {
        rg_tensor e = rg_cast(rg_nn_entry(m, i, NULL), RG_F32);
        sum = rg_add(sum, rg_sum(rg_mul(e, rg_cos(rg_add(e, (double)i)))));
    }
    r->value[rank] = rg_item(sum);
}

TEST(world_data_parallel) {
    struct ranks one = {.size = 1};
    rg_ctx *c = rg_open("REF");
    train_small(&one, c, NULL, 0);
    CHECK(!rg_status_of(c));
    rg_close(c);
    for (int size = 1; size <= 4; size *= 2)
        for (int wire = 0; wire < 2; wire++) {
            struct ranks r = {.size = size,
                              .fn = train_small,
                              .device = size == 2 && !wire ? "CPU" : "REF", /* which compiles nothing */
                              .seed = wire ? RG_BF16 : 0};
            run_ranks(&r);
            for (int i = 0; i < size; i++) {
                CHECK(r.value[i] == r.value[0]); /* all ranks have the same weights, bit for bit */
                double off = fabs(r.value[i] - one.value[0]) / fabs(one.value[0]);
                if (off > (wire ? 2e-2 : 1e-5))
                    FAIL("%d ranks: %.9g, alone %.9g", size, r.value[i], one.value[0]);
            }
        }
}

/* ---- uneven batches ------------------------------------------------------------------------------------------------- */

/* 7 rows, then 10, then 2: shares differ, and with more than two ranks some have no rows of the last one. With a batch norm each
 * rank has a row. */
static void train_shares(struct ranks *r, rg_ctx *c, rg_world *w, int rank, bool norm) {
    const int batch[] = {7, 10, norm ? 5 : 2};
    rg_seed(c, 5);
    rg_module *bend = rg_nn_function(c, "tanh", rg_tanh), *first_layer = rg_nn_linear(c, 6, 8),
              *last = rg_nn_linear(c, 8, 1);
    rg_module *net = norm ? rg_nn_sequential(c, RG_MODULES(first_layer, rg_nn_batchnorm(c, 8), bend, last))
                          : rg_nn_sequential(c, RG_MODULES(first_layer, bend, last));
    rg_nn_cast(net, RG_F64);
    if (w) rg_nn_data_parallel(net, w);
    rg_optim *o = rg_sgd(rg_nn_params(net), .lr = 0.1, .momentum = 0.5);
    rg_seed(c, 77);
    for (size_t i = 0; i < RG_COUNT(batch); i++) {
        RG_SCOPE(c);
        int64_t first, mine = rg_world_share(w, batch[i], &first);
        rg_tensor x = rg_narrow(rg_randn(c, RG_F64, RG_SHAPE(batch[i], 6)), 0, first, mine);
        rg_tensor loss =
            rg_mean(rg_square(rg_sub(rg_nn_forward(net, x), rg_sum(x, RG_AXES(1), .keep = true))));
        if (mine) rg_backward(rg_mul(loss, (double)mine * (double)rg_world_size(w) / batch[i]));
        if (w) rg_nn_reduce_grads(net);
        rg_optim_step(o);
    }
    rg_tensor sum = rg_number(c, RG_F64, 0);
    for (size_t i = 0; i < rg_nn_entries(net); i++)
        sum = rg_add(sum, rg_sum(rg_cos(rg_cast(rg_nn_entry(net, i, NULL), RG_F64))));
    r->value[rank] = rg_item(sum);
}
static void train_uneven(struct ranks *r, rg_ctx *c, rg_world *w, int rank) {
    train_shares(r, c, w, rank, false);
}
static void train_uneven_norm(struct ranks *r, rg_ctx *c, rg_world *w, int rank) {
    train_shares(r, c, w, rank, true);
}

static void check_uneven(rank_fn *fn) {
    struct ranks one = {.size = 1};
    rg_ctx *c = rg_open("REF");
    fn(&one, c, NULL, 0);
    CHECK(!rg_status_of(c));
    rg_close(c);
    for (int size = 2; size <= 4; size++) {
        struct ranks r = {.size = size, .fn = fn, .device = "REF"};
        run_ranks(&r);
        for (int i = 0; i < size; i++)
            if (fabs(r.value[i] - one.value[0]) > 1e-12 * fabs(one.value[0]))
                FAIL("rank %d of %d: %.17g, alone %.17g", i, size, r.value[i], one.value[0]);
    }
}

TEST(world_uneven_batches) {
    int64_t first = 9;
    CHECK_EQ(rg_world_share(NULL, 7, &first), 7);
    CHECK_EQ(first, 0);
    check_uneven(train_uneven);
}
TEST(world_uneven_batchnorm) { check_uneven(train_uneven_norm); }

/* ---- random programs -------------------------------------------------------------------------------------------------- */

static uint64_t draw(uint64_t *s, uint64_t n) {
    *s = *s * 6364136223846793005u + 1442695040888963407u;
    return (*s >> 33) % n;
}

/* The value that rank r has is v[r]: on a rank of a world, only v[rank] is there, and collectives are those of the world; in the
 * sequential evaluation all are there, and a collective is written with sums and slices. */
enum { VALUES = 12, WIDTH = 24 };
struct world_program {
    rg_ctx *c;
    rg_world *w; /* NULL: sequential */
    int size, rank;
    rg_tensor v[VALUES][RANKS];
};

static rg_tensor tree(const rg_tensor *x, int n, bool most) {
    rg_tensor t[RANKS];
    for (int i = 0; i < n; i++) t[i] = x[i];
    for (int s = 1; s < n; s *= 2)
        for (int i = 0; i + s < n; i += 2 * s)
            t[i] = most ? rg_maximum(t[i], t[i + s]) : rg_add(t[i], t[i + s]);
    return t[0];
}

static rg_tensor by_world(struct world_program *p, int kind, rg_tensor x, int peer) {
    switch (kind) {
    case 0: return rg_all_reduce(x, p->w, RG_COMBINE_SUM);
    case 1: return rg_all_reduce(x, p->w, RG_COMBINE_MAX);
    case 2: return rg_slice(rg_all_gather(x, p->w), RG_SLICES(RG_RANGE(peer * WIDTH, (peer + 1) * WIDTH)));
    case 3: return rg_broadcast(x, p->w, peer);
    case 4: return rg_repeat(rg_reduce_scatter(x, p->w, RG_COMBINE_SUM), RG_SHAPE(p->size));
    default: return rg_all_to_all(x, p->w);
    }
}

static rg_tensor in_sequence(struct world_program *p, int kind, const rg_tensor *x, int peer, int rank) {
    int m = WIDTH / p->size;
    rg_tensor part[RANKS];
    switch (kind) {
    case 0: return tree(x, p->size, false);
    case 1: return tree(x, p->size, true);
    case 2:
    case 3: return x[peer];
    case 4:
        return rg_repeat(rg_slice(tree(x, p->size, false), RG_SLICES(RG_RANGE(rank * m, (rank + 1) * m))),
                         RG_SHAPE(p->size));
    default:
        for (int r = 0; r < p->size; r++)
            part[r] = rg_slice(x[r], RG_SLICES(RG_RANGE(rank * m, (rank + 1) * m)));
        return rg_cat(RG_ARRAY(part, (size_t)p->size), 0);
    }
}

static void build(struct world_program *p, uint64_t seed) {
    uint64_t s = seed;
    for (int i = 0; i < VALUES; i++) {
        int what = i < 2 ? 0 : 1 + (int)draw(&s, 4), a = (int)draw(&s, (uint64_t)(i ? i : 1)),
            b = (int)draw(&s, (uint64_t)(i ? i : 1)), kind = (int)draw(&s, 6),
            peer = (int)draw(&s, (uint64_t)p->size);
        for (int r = 0; r < p->size; r++) {
            if (p->w && r != p->rank) continue;
            rg_tensor *v = &p->v[i][r];
            if (what == 0)
                *v = rg_add(rg_mul(rg_arange(p->c, RG_F32, 0, WIDTH, 1), 0.37 * (i + 1)), r * 1.25);
            if (what == 1) *v = rg_sub(p->v[a][r], rg_mul(p->v[b][r], 0.5));
            if (what == 2) *v = rg_mul(rg_tanh(p->v[a][r]), p->v[b][r]);
            if (what >= 3)
                *v = p->w ? by_world(p, kind, p->v[a][r], peer) : in_sequence(p, kind, p->v[a], peer, r);
        }
    }
}

static void random_rank(struct ranks *r, rg_ctx *c, rg_world *w, int rank) {
    struct world_program p = {.c = c, .w = w, .size = r->size, .rank = rank}, *q = calloc(1, sizeof *q);
    float got[WIDTH], want[WIDTH];
    RG_SCOPE(c);
    *q = (struct world_program){.c = c, .size = r->size};
    build(&p, r->seed);
    build(q, r->seed);
    uint64_t s = r->seed + (uint64_t)rank; /* ranks ask for different values, in different orders */
    for (int k = 0; k < 3; k++) {
        int i = k == 2 ? VALUES - 1 : (int)draw(&s, VALUES);
        if (rg_read(p.v[i][rank], got, sizeof got) || rg_read(q->v[i][rank], want, sizeof want)) break;
        for (int j = 0; j < WIDTH; j++)
            if (fabs(got[j] - want[j]) > 1e-4 * (1 + fabs(want[j])))
                FAIL("seed %llu, rank %d of %d, value %d, element %d: %g, expected %g",
                     (unsigned long long)r->seed, rank, r->size, i, j, got[j], want[j]);
    }
    free(q);
}

/* On memory of one process, or on what processes of one host share. */
static void random_programs(int count, uint64_t seed) {
    static const int sizes[] = {1, 2, 3, 4, 6, 8};
    for (int i = 0; i < count; i++)
        run_ranks(&(struct ranks){.size = sizes[i % 6],
                                  .fn = random_rank,
                                  .seed = seed + (uint64_t)i,
                                  .backend = i % 4 == 3 ? "shm" : "local",
                                  .device = i % 6 == (i / 6 + 1) % 6 ? "CPU" : "REF"});
    TEST_COUNT(count, "random programs with collectives");
}

TEST(world_random) { random_programs(12, 1); }
/* PROGRAMS and SEED in the environment: how many, and which. */
TEST_MANUAL(world_random_many, 3600) {
    const char *n = getenv("PROGRAMS"), *seed = getenv("SEED");
    random_programs(n ? atoi(n) : 5000, seed ? (uint64_t)atoll(seed) : 1000);
}

/* ---- faults ------------------------------------------------------------------------------------------------------------- */

static void check_all_say(const struct ranks *r, const char *words) {
    for (int i = 0; i < r->size; i++)
        if (!strstr(r->error[i], words))
            FAIL("rank %d says \"%s\"; expected \"%s\" in it", i, r->error[i], words);
}

static void other_size(struct ranks *r, rg_ctx *c, rg_world *w, int rank) {
    (void)r;
    rg_realize(rg_all_reduce(rg_ones(c, RG_F32, RG_SHAPE(rank == 2 ? 5 : 4)), w, RG_COMBINE_SUM));
}
static void other_order(struct ranks *r, rg_ctx *c, rg_world *w, int rank) {
    (void)r;
    rg_tensor x = rg_ones(c, RG_F32, RG_SHAPE(4));
    if (rank == 1) rg_barrier(w);
    rg_realize(rg_all_reduce(x, w, RG_COMBINE_SUM));
}
static void other_dtype(struct ranks *r, rg_ctx *c, rg_world *w, int rank) {
    (void)r;
    rg_realize(rg_all_reduce(rg_ones(c, rank == 1 ? RG_F64 : RG_F32, RG_SHAPE(4)), w, RG_COMBINE_SUM));
}

TEST(world_fault_mismatch) {
    struct ranks r = {.size = 3, .fn = other_size, .fails = true};
    run_ranks(&r);
    check_all_say(&r, "rank 0 calls all_reduce of f32[4] (sum), rank 2 calls all_reduce of f32[5] (sum)");
    r = (struct ranks){.size = 2, .fn = other_order, .fails = true};
    run_ranks(&r);
    check_all_say(&r, "rank 0 calls all_reduce of f32[4] (sum), rank 1 calls barrier");
    r = (struct ranks){.size = 2, .fn = other_dtype, .fails = true};
    run_ranks(&r);
    check_all_say(&r, "rank 1 calls all_reduce of f64[4]");
}

static void leaves(struct ranks *r, rg_ctx *c, rg_world *w, int rank) {
    (void)r;
    if (rank == 1) {
        rg_world_free(w);
        return;
    }
    rg_barrier(w);
    rg_clear_error(c);
    rg_barrier(w); /* of no use any more */
}

TEST(world_fault_left) {
    struct ranks r = {.size = 3, .fn = leaves, .fails = true};
    run_ranks(&r);
    CHECK(!*r.error[1]);
    CHECK(strstr(r.error[0], "rank 1 closed its world before collective 1") != NULL);
    CHECK(strstr(r.error[2], "rank 1 closed its world before collective 1") != NULL);
}

/* The late rank comes only after the others have given up: no clock decides. */
static pthread_mutex_t door = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t opened = PTHREAD_COND_INITIALIZER;
static int gave_up;

static void late(struct ranks *r, rg_ctx *c, rg_world *w, int rank) {
    (void)c;
    pthread_mutex_lock(&door);
    while (rank == 1 && gave_up < r->size - 1) pthread_cond_wait(&opened, &door);
    pthread_mutex_unlock(&door);
    rg_barrier(w);
    pthread_mutex_lock(&door);
    gave_up++;
    pthread_cond_broadcast(&opened);
    pthread_mutex_unlock(&door);
}

TEST(world_fault_late) {
    struct ranks r = {.size = 3, .fn = late, .fails = true, .timeout = 0.3};
    run_ranks(&r);
    if (!strstr(r.error[0], "did not open") && !strstr(r.error[0], "collective 0"))
        check_all_say(&r,
                      "rank 1 did not come to collective 1 within 0.3 s: it has called no collective yet");
}

static void misuse(struct ranks *r, rg_ctx *c, rg_world *w, int rank) {
    (void)r, (void)rank;
    rg_tensor x = rg_ones(c, RG_F32, RG_SHAPE(5));
    rg_broadcast(x, w, 7);
    CHECK(strstr(rg_error(c), "there is no rank 7; the world has ranks 0 to 1") != NULL);
    rg_clear_error(c);
    rg_reduce_scatter(x, w, RG_COMBINE_SUM);
    CHECK(strstr(rg_error(c), "the first axis has 5 elements, which 2 ranks cannot share equally") != NULL);
    rg_clear_error(c);
    rg_all_reduce(x, NULL, RG_COMBINE_SUM);
    CHECK(strstr(rg_error(c), "the world is NULL") != NULL);
    rg_clear_error(c);
}

/* A rank that is killed while it writes down why the world failed: the others do not wait for it for ever. */
TEST(world_fault_without_words) {
    struct world w = {.size = 2, .limit_ns = 1000000000};
    struct segment s = {.head = calloc(1, sizeof *s.head), .size = 2, .threads = true, .w = &w};
    struct err e = {0};
    atomic_store(&s.head->failed, 1);
    CHECK_EQ(sync_all(&s, &e), RG_EDEVICE);
    CHECK(strstr(e.msg, "ended before it could say why"));
    free(s.head);
}

TEST(world_misuse) {
    run_ranks(&(struct ranks){.size = 2, .fn = misuse});
    rg_ctx *c = rg_open("CPU");
    CHECK(rg_world_open(c, "smoke") == NULL);
    CHECK(strstr(rg_error(c), "there is no backend \"smoke\"") != NULL);
    rg_close(c);
    c = rg_open("CPU");
    CHECK(rg_world_open(c, "local", "x", 3, 2) == NULL);
    CHECK(strstr(rg_error(c), "rank 3 of 2: ranks are 0 to 1") != NULL);
    rg_close(c);
    c = rg_open("CPU");
    setenv("OMPI_COMM_WORLD_RANK", "2", 1), setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
    CHECK(rg_world_open(c) == NULL);
    CHECK(strstr(rg_error(c), "OMPI_COMM_WORLD_RANK is 2 and OMPI_COMM_WORLD_SIZE is 2: ranks are 0 to 1") !=
          NULL);
    rg_close(c);
}
