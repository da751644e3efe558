/* world_nccl.c: the NCCL backend. Two and three ranks on a library that stands in for NCCL (tests/fake/nccl.c): every kind of collective,
 * errors; a context on the stand-in for the driver, whose tensors do not pass through the host. On a machine with a GPU and NCCL:
 * one rank in a jit, with CUDA graphs; several ranks on the one GPU where NCCL allows that. */
#include "cuda.h"
#include "fake/cuda.h"
#include "world/internal.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RANKS = 3, N = 12 };

static struct fake_nccl *stand_in(void) {
    char path[BESIDE_PATH];
    void *lib = beside("/fake/libnccl.so.2", path);
    setenv("RIDGE_NCCL", path, 1);
    env_reload();
    struct fake_nccl *f = os_dlsym(lib, "fake_nccl");
    CHECK(f);
    return f;
}

static int some_stream(void *user, struct err *e, void **out) {
    *out = user;
    return e->code;
}

/* ---- worlds ---------------------------------------------------------------------------------------------------- */

struct nccl_rank {
    int rank, size;
    bool differs; /* the last rank calls something else */
    struct err e;
};

static float element(int rank, int i) { return (float)(rank * 100 + i); }

static void collective(struct world *w, struct err *e, enum collective_kind kind, int nout, float *out) {
    float in[N];
    for (int i = 0; i < N; i++) in[i] = element((int)world_rank(w), i);
    struct world_call c = {{kind, COLLECTIVE_SUM, DT_F32, 0, kind == COLLECTIVE_BROADCAST ? 1 : 0},
                           in,
                           out,
                           kind == COLLECTIVE_BARRIER ? 1 : N,
                           nout};
    world_run(w, e, &c);
}

static void all_kinds(struct world *w, struct err *e) {
    int size = (int)world_size(w), rank = (int)world_rank(w), part = N / size;
    float out[N * RANKS], all = (float)(100 * size * (size - 1) / 2);
    collective(w, e, COLLECTIVE_ALL_REDUCE, N, out);
    for (int i = 0; i < N; i++) CHECK(out[i] == all + (float)(size * i));
    collective(w, e, COLLECTIVE_REDUCE_SCATTER, part, out);
    for (int i = 0; i < part; i++) CHECK(out[i] == all + (float)(size * (rank * part + i)));
    collective(w, e, COLLECTIVE_ALL_GATHER, N * size, out);
    for (int i = 0; i < N * size; i++) CHECK(out[i] == element(i / N, i % N));
    collective(w, e, COLLECTIVE_BROADCAST, N, out);
    for (int i = 0; i < N; i++) CHECK(out[i] == element(1, i));
    collective(w, e, COLLECTIVE_ALL_TO_ALL, N, out);
    for (int i = 0; i < N; i++) CHECK(out[i] == element(i / part, rank * part + i % part));
    collective(w, e, COLLECTIVE_BARRIER, 1, out);
}

static void *run_rank(void *arg) {
    struct nccl_rank *r = arg;
    struct world *w;
    char name[40]; /* another run of the tests has a world of its own */
    snprintf(name, sizeof name, "test-nccl-%d", (int)getpid());
    struct world_opts o = {.backend = "nccl",
                           .name = name,
                           .rank = r->rank,
                           .size = r->size,
                           .seconds = 60,
                           .stream = some_stream,
                           .stream_user = r};
    if (world_open(&r->e, &o, &w)) return NULL;
    CHECK(world_on_device(w));
    if (r->differs) {
        float out[N];
        collective(w, &r->e, r->rank == r->size - 1 ? COLLECTIVE_BROADCAST : COLLECTIVE_ALL_REDUCE, N, out);
    } else {
        all_kinds(w, &r->e);
    }
    world_close(w);
    return NULL;
}

static void run_size(int size, bool differs, struct nccl_rank *r) {
    pthread_t t[RANKS];
    for (int i = 0; i < size; i++)
        r[i] = (struct nccl_rank){.rank = i, .size = size, .differs = differs},
        pthread_create(&t[i], NULL, run_rank, &r[i]);
    for (int i = 0; i < size; i++) pthread_join(t[i], NULL);
}

TEST(world_nccl_stand_in) {
    struct fake_nccl *f = stand_in();
    struct nccl_rank r[RANKS];
    for (int size = 2; size <= RANKS; size++) {
        run_size(size, false, r);
        for (int i = 0; i < size; i++)
            if (r[i].e.code) FAIL("rank %d: %s", i, r[i].e.msg);
    }
    CHECK_EQ(f->calls, 5 * (2 + 3)); /* a barrier is none */
    CHECK_EQ(f->comms, 0);
}

TEST(world_nccl_mismatch) {
    struct fake_nccl *f = stand_in();
    struct nccl_rank r[RANKS];
    run_size(2, true, r);
    for (int i = 0; i < 2; i++)
        if (!strstr(r[i].e.msg,
                    "rank 0 calls all_reduce of f32[12] (sum), rank 1 calls broadcast of f32[12]"))
            FAIL("rank %d: %s", i, r[i].e.msg);
    CHECK_EQ(f->calls, 0); /* nothing hangs on a GPU */
    CHECK_EQ(f->comms, 0);
}

/* ---- contexts ----------------------------------------------------------------------------------------------------- */

TEST(world_nccl_context) {
    struct fake_nccl *n = stand_in();
    struct fake *f = fake();
    rg_ctx *c = fake_open(f);
    rg_world *w = rg_world_open(c, "nccl", "one", 0, 1);
    float x[4] = {1, 2, 3, 4}, y[4] = {0};
    rg_tensor t = rg_from(c, RG_F32, x, RG_SHAPE(4));
    rg_realize(t);
    if (rg_read(rg_all_reduce(t, w, RG_COMBINE_SUM), y, sizeof y)) FAIL("%s", rg_error(c));
    for (int i = 0; i < 4; i++) CHECK(y[i] == x[i]);
    CHECK_EQ(n->calls, 1);
    n->fail = 1;
    rg_realize(rg_all_reduce(t, w, RG_COMBINE_SUM));
    CHECK(
        strstr(rg_error(c), "NCCL 2.31.0 failed in all_reduce of f32[4] (sum): invalid usage: told to fail"));
    rg_close(c);
    CHECK_EQ(n->comms, 0);
    check_empty(f);
}

TEST(world_nccl_missing) {
    rg_ctx *c = rg_open("CPU");
    CHECK(!rg_world_open(c, "nccl"));
    CHECK(strstr(rg_error(c), "this context is on another device"));
    rg_close(c);
    struct err e = {0};
    struct world *w;
    struct world_opts o = {
        .backend = "nccl", .name = "none", .size = 1, .seconds = 1, .stream = some_stream, .stream_user = &e};
    setenv("RIDGE_NCCL", "/nowhere/libnccl.so.2", 1);
    env_reload();
    CHECK(world_open(&e, &o, &w));
    CHECK(strstr(e.msg, "cannot load /nowhere/libnccl.so.2"));
}

/* ---- a GPU ---------------------------------------------------------------------------------------------------------- */

struct gpu_step {
    rg_world *w;
    rg_tensor state;
};
static rg_status gpu_step(void *user, const rg_tensor *in, rg_tensor *out) {
    struct gpu_step *s = user;
    rg_tensor sum = rg_all_reduce(rg_mul(in[0], 2), s->w, RG_COMBINE_SUM);
    rg_assign(s->state, rg_add(s->state, sum));
    out[0] = rg_sum(rg_all_gather(rg_sqrt(s->state), s->w));
    return RG_OK;
}

/* The same steps with and without NCCL: on one rank a sum changes nothing. */
static void gpu_rank(rg_ctx *c, rg_world *w, int size) {
    struct gpu_step s = {w, rg_contiguous(rg_ones(c, RG_F32, RG_SHAPE(1000)))};
    rg_realize(s.state);
    rg_jit *j = rg_jit_new(c, gpu_step, &s, 1);
    double state = 1;
    for (int i = 0; i < 5; i++) {
        RG_SCOPE(c);
        rg_tensor out, in = rg_contiguous(rg_full(c, RG_F32, i + 1, RG_SHAPE(1000)));
        rg_realize(in);
        if (rg_jit_call(j, RG_TENSORS(in), &out)) FAIL("%s", rg_error(c));
        state += 2.0 * size * (i + 1);
        double want = 1000.0 * size * sqrt(state), got = rg_item(out);
        if (fabs(got - want) > 1e-4 * want) FAIL("step %d: %g, expected %g", i, got, want);
    }
}

static rg_ctx *gpu_open(rg_world **w, int rank, int size) {
    rg_ctx *c = cuda_open();
    *w = rg_world_open(c, "nccl", size > 1 ? "gpus" : "gpu", rank, size); /* tests run side by side */
    if (!*w && strstr(rg_error(c), "is not found")) SKIP("%s", rg_error(c));
    return c;
}

TEST(cuda_gpu_world_nccl) {
    rg_world *w;
    rg_ctx *c = gpu_open(&w, 0, 1);
    if (!w) FAIL("%s", rg_error(c));
    gpu_rank(c, w, 1);
    rg_close(c);
}

static void expect(rg_tensor x, const float *want, int n) {
    float got[4 * N];
    if (rg_read(x, got, sizeof *got * (size_t)n)) FAIL("%s", rg_error(rg_ctx_of(x)));
    for (int i = 0; i < n; i++)
        if (got[i] != want[i]) FAIL("element %d is %g, expected %g", i, got[i], want[i]);
}

/* Every collective of the public functions, on rows that say whose they are. */
static void gpu_collectives(rg_ctx *c, rg_world *w, int rank, int size) {
    float x[N], want[4 * N];
    int part = N / size;
    for (int i = 0; i < N; i++) x[i] = element(rank, i);
    rg_tensor t = rg_from(c, RG_F32, x, RG_SHAPE(N));
    for (int i = 0; i < N; i++) want[i] = (float)(100 * size * (size - 1) / 2 + size * i);
    expect(rg_all_reduce(t, w, RG_COMBINE_SUM), want, N);
    expect(rg_reduce_scatter(t, w, RG_COMBINE_SUM), want + rank * part, part);
    for (int i = 0; i < N; i++) want[i] = element(size - 1, i);
    expect(rg_all_reduce(t, w, RG_COMBINE_MAX), want, N);
    expect(rg_broadcast(t, w, size - 1), want, N);
    for (int i = 0; i < N * size; i++) want[i] = element(i / N, i % N);
    expect(rg_all_gather(t, w), want, N * size);
    for (int i = 0; i < N; i++) want[i] = element(i / part, rank * part + i % part);
    expect(rg_all_to_all(t, w), want, N);
}

/* Before 2.30 a rank is told "Duplicate GPU", or that its peer, told so first, has closed the connection. */
static bool nccl_too_old(const char *error) {
    int major, minor;
    const char *v = strstr(error, "NCCL ");
    return v && sscanf(v, "NCCL %d.%d", &major, &minor) == 2 && major * 100 + minor < 230;
}

static void gpu_one_of(int rank, int size) {
    rg_world *w;
    rg_ctx *c = gpu_open(&w, rank, size);
    if (!w && nccl_too_old(rg_error(c))) SKIP("%s", rg_error(c));
    if (!w) FAIL("%s", rg_error(c));
    gpu_collectives(c, w, rank, size);
    gpu_rank(c, w, size);
    rg_close(c);
    _exit(0);
}

/* Several processes on the one GPU: NCCL 2.30 and later allow it when told to. */
TEST(cuda_gpu_world_nccl_ranks) {
    setenv("NCCL_MULTI_RANK_GPU_ENABLE", "1", 1);
    for (int size = 2; size <= 4; size += 2) {
        int status = 0, worst = 0;
        for (int rank = 0; rank < size; rank++)
            if (!fork()) gpu_one_of(rank, size);
        for (int rank = 0; rank < size; rank++)
            if (wait(&status) < 0 || status) /* a failure counts more than a skip */
                worst = worst == 1 || !WIFEXITED(status) ? 1 : RG_MAX(WEXITSTATUS(status), 1);
        if (worst) _exit(worst); /* a rank has said why */
    }
}
