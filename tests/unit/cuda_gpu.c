/* Tests of src/device/cuda that need a GPU (`make test-gpu`): copies, memory, faults, processes that die, the loader, search.
 * Values of ops are tested in values_ops.c, golden.c, render.c, gpu_threads.c, schedule.c and tests/semantics, by the tests called
 * cuda_gpu_* and semantics_CUDA_*. */
#include "cuda.h"
#include "engine/internal.h"

#include <ridge.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static struct err err;

TEST_MANUAL(cuda_gpu_copies, 60) {
    struct engine *en = cuda_engine();
    static const size_t sizes[] = {1, 4095, 4 << 20, (4 << 20) + 1, (16 << 20) - 3, (40 << 20) + 12345};
    for (size_t k = 0; k < RG_COUNT(sizes); k++) {
        size_t n = sizes[k];
        uint8_t *x = malloc(n), *y = calloc(n, 1);
        for (size_t i = 0; i < n; i++) x[i] = (uint8_t)(i * 2654435761u >> 13);
        void *a = engine_alloc(en, &err, n), *b = engine_alloc(en, &err, n);
        CHECK(a && b && (uintptr_t)a % 64 == 0);
        if (engine_copy(en, &err, COPY_IN, a, x, n) || engine_copy(en, &err, COPY_WITHIN, b, a, n) ||
            engine_copy(en, &err, COPY_OUT, y, b, n))
            FAIL("%s", err.msg);
        CHECK(!memcmp(x, y, n));
        engine_free(en, a, n), engine_free(en, b, n);
        free(x), free(y);
    }
    engine_close(en);
}

/* More than there is: an error with words, and all goes on. */
TEST_ALONE(cuda_gpu_out_of_memory, 60) {
    struct engine *en = cuda_engine();
    CHECK(!engine_alloc(en, &err, (size_t)1 << 45) && err.code == RG_ENOMEM && strstr(err.msg, "CUDA"));
    err_clear(&err);
    size_t n = (size_t)4 << 30, got = 0;
    void *p[200];
    while (got < RG_COUNT(p) && (p[got] = engine_alloc(en, &err, n))) got++;
    CHECK(got > 0 && got < RG_COUNT(p) && err.code == RG_ENOMEM);
    for (size_t i = 0; i < got; i++) engine_free(en, p[i], n);
    err_clear(&err);
    void *q = engine_alloc(en, &err, n); /* what was kept is given back or used again */
    CHECK(q);
    engine_free(en, q, n);
    TEST_INFO("%zu blocks of 4 GiB until the GPU was full", got);
    engine_close(en);
}

/* ---- kernels that fail ------------------------------------------------------------------------------------------ */

static const struct ekernel *text_kernel(struct engine *en, const char *name, const char *body, int block,
                                         int64_t shared) {
    char text[600];
    const struct ekernel *k;
    snprintf(text, sizeof text, "extern \"C\" __global__ void %s(f32 *b0, u64 n, char *s, u64 d) { %s }\n",
             name, body);
    struct etext t = {
        .name = name, .text = text, .grid = 1, .nbuf = 1, .block = (uint32_t)block, .shared = shared};
    if (engine_compile_text(en, &err, &t, 1, &k)) FAIL("%s", err.msg);
    return k;
}

static void check_cpu(void) {
    float x = 0;
    rg_ctx *c = rg_open("CPU");
    if (rg_read(rg_add(rg_full(c, RG_F32, 1, RG_SHAPE(1)), 2), &x, sizeof x)) FAIL("%s", rg_error(c));
    CHECK(x == 3);
    rg_close(c);
}

/* A kernel that faults: the device is lost and says so, also to a new context; the process lives on. */
static void lose(const char *body, const char *name) {
    struct engine *en = cuda_engine();
    const struct ekernel *k = text_kernel(en, "wild", body, 0, 0);
    struct engine_list *l = engine_list_new(en, &err);
    float x;
    void *a = engine_alloc(en, &err, 4);
    CHECK(a);
    CHECK(!engine_list_add(l, &err, k, &a, NULL) && !engine_list_run(l, &err));
    CHECK_EQ(engine_copy(en, &err, COPY_OUT, &x, a, 4), RG_EDEVICE);
    if (!strstr(err.msg, "was lost") || !strstr(err.msg, name)) FAIL("%s", err.msg);
    err_clear(&err);
    CHECK_EQ(engine_list_run(l, &err), RG_EDEVICE);
    CHECK(strstr(err.msg, "was lost earlier"));
    err_clear(&err);
    CHECK(!engine_alloc(en, &err, 4096 * 10) && err.code == RG_EDEVICE &&
          strstr(err.msg, "was lost earlier"));
    err_clear(&err);
    engine_list_free(l);
    engine_close(en);
    rg_ctx *c = rg_open("CUDA");
    if (rg_status_of(c) && !strstr(rg_error(c), "was lost") && !strstr(rg_error(c), name))
        FAIL("%s", rg_error(c));
    rg_close(c);
    check_cpu();
}

TEST_MANUAL(cuda_gpu_lost_by_an_address, 60) {
    lose("((f32 *)0x10)[threadIdx.x] = 1;", "CUDA_ERROR_ILLEGAL_ADDRESS");
}
TEST_MANUAL(cuda_gpu_lost_by_alignment, 60) {
    lose("*(f32 *)((char *)b0 + 1) = 1;", "CUDA_ERROR_MISALIGNED_ADDRESS");
}
TEST_MANUAL(cuda_gpu_lost_by_a_trap, 60) { lose("asm volatile(\"trap;\");", "CUDA_ERROR_LAUNCH_FAILED"); }

/* As much shared memory as there is, and one byte more. */
TEST_MANUAL(cuda_gpu_shared_memory, 60) {
    struct engine *en = cuda_engine();
    struct dev_info info;
    CHECK(!en->ops->info(en->dev, &err, &info) && info.shared_most >= 48 << 10);
    void *a = engine_alloc(en, &err, 4);
    for (int more = 0; more < 2; more++) {
        const struct ekernel *k = text_kernel(
            en, more ? "large" : "fits",
            "extern __shared__ char tiles[]; *(f32 *)tiles = 7; __syncthreads(); *b0 = *(f32 *)tiles;", 32,
            (int64_t)info.shared_most + more);
        struct engine_list *l = engine_list_new(en, &err);
        float x = 0;
        CHECK(!engine_list_add(l, &err, k, &a, NULL));
        if (!more && (engine_list_run(l, &err) || engine_copy(en, &err, COPY_OUT, &x, a, 4)))
            FAIL("%s", err.msg);
        CHECK(more || x == 7);
        if (more) {
            CHECK_EQ(engine_list_run(l, &err), RG_ELIMIT);
            CHECK(strstr(err.msg, "a kernel whose blocks share") && strstr(err.msg, "smaller tiles"));
            err_clear(&err);
        }
        engine_list_free(l);
    }
    engine_close(en);
}

/* ---- a process that is killed --------------------------------------------------------------------------------------- */

enum { HELD = 32 }; /* GiB */

/* Takes memory, starts a kernel of half a minute, says so, and waits for its end. */
static _Noreturn void long_process(int out) {
    struct engine *en = cuda_engine();
    const struct ekernel *k = text_kernel(
        en, "endless",
        "u64 a, b; asm volatile(\"mov.u64 %0, %globaltimer;\" : \"=l\"(a)); do asm volatile(\"mov.u64 %0, "
        "%globaltimer;\" : \"=l\"(b)); while (b - a < 30000000000ull); b0[threadIdx.x] = 1;",
        256, 0);
    struct engine_list *l = engine_list_new(en, &err);
    void *a = NULL;
    for (int i = 0; i < HELD; i++)
        if (!(a = engine_alloc(en, &err, (size_t)1 << 30))) FAIL("%s", err.msg);
    if (engine_list_add(l, &err, k, &a, NULL) || engine_list_run(l, &err) || write(out, "x", 1) != 1)
        FAIL("%s", err.msg);
    float x;
    engine_copy(en, &err, COPY_OUT, &x, a, 4);
    FAIL("the process survived");
}

static size_t memory_free(struct engine *en) {
    struct dev_info info;
    if (en->ops->info(en->dev, &err, &info)) FAIL("%s", err.msg);
    return info.memory_free;
}

static void sum_here(void) {
    float x = 0;
    rg_ctx *c = rg_open("CUDA");
    if (rg_read(rg_sum(rg_full(c, RG_F32, 0.5, RG_SHAPE(100000))), &x, sizeof x)) FAIL("%s", rg_error(c));
    CHECK(x == 50000);
    rg_close(c);
}

/* Beside it another process computes; when it is killed its memory comes back, and the other computes on. */
TEST_ALONE(cuda_gpu_killed_process, 100) {
    int ends[2];
    char x;
    CHECK(!pipe(ends));
    fflush(NULL);
    pid_t child = fork(); /* before this process has a context: they cannot be shared */
    CHECK(child >= 0);
    if (!child) long_process(ends[1]);
    close(ends[1]);
    struct engine *en = cuda_engine();
    if (read(ends[0], &x, 1) != 1) {
        int status;
        waitpid(child, &status, 0);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 77) SKIP("no GPU");
        FAIL("the other process failed");
    }
    size_t held = memory_free(en);
    uint64_t t0 = os_now_ns();
    sum_here();
    uint64_t t1 = os_now_ns();
    CHECK(!kill(child, SIGKILL) && waitpid(child, NULL, 0) == child);
    while (memory_free(en) < held + ((size_t)HELD << 30) && os_now_ns() - t1 < 20000000000ull) usleep(20000);
    uint64_t t2 = os_now_ns();
    CHECK(memory_free(en) >= held + ((size_t)HELD << 30));
    sum_here();
    engine_close(en);
    TEST_INFO("a sum beside a process in a long kernel took %.2f s; %d GiB came back %.2f s after its end",
              (double)(t1 - t0) / 1e9, HELD, (double)(t2 - t1) / 1e9);
}

/* ---- the whole ------------------------------------------------------------------------------------------------------- */

/* Kernels that a search found compute what the CPU's do, and are used from then on. */
TEST_MANUAL(cuda_gpu_search, 130) {
    enum { ROWS = 512, COLS = 1024 };
    static float want[ROWS * COLS], got[ROWS * COLS];
    setenv("BEAM", "4", 1), setenv("RIDGE_CACHE", "0", 1);
    env_reload();
    for (int dev = 0; dev < 2; dev++) {
        rg_ctx *c = dev ? cuda_open() : rg_open("CPU");
        rg_tensor x = rg_div(rg_cast(rg_arange(c, RG_I32, 0, ROWS * COLS, 1), RG_F32), ROWS * COLS);
        rg_tensor m = rg_contiguous(rg_mul(rg_sin(rg_mul(rg_reshape(x, RG_SHAPE(ROWS, COLS)), 300)), 0.1));
        for (int run = 0; run < 3; run++) {
            RG_SCOPE(c);
            if (rg_read(rg_softmax(rg_matmul(m, rg_transpose(m, 0, 1)), -1), dev ? got : want,
                        ROWS * ROWS * sizeof *got))
                FAIL("%s", rg_error(c));
        }
        rg_close(c);
    }
    for (int i = 0; i < ROWS * ROWS; i++) CHECK_NEAR(got[i], want[i], 1e-4 * fabs(want[i]) + 1e-9);
}

/* Batches that are copied while the ones before them are worked on: each step sees its own, and all of it. */
enum { BATCH = 8 << 20 };
static int fill_batch(void *user, uint64_t number, void *const *buf) {
    float *x = buf[0];
    (void)user;
    for (int i = 0; i < BATCH; i++) x[i] = (float)number;
    return number >= 40;
}
static rg_status least_and_most(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)user;
    out[0] = rg_min(in[0]), out[1] = rg_max(in[0]);
    return RG_OK;
}

TEST_MANUAL(cuda_gpu_loader, 60) {
    rg_ctx *c = cuda_open();
    int64_t n = BATCH;
    rg_loader *l = rg_loader_new(c, (&(rg_batch_part){RG_F32, {&n, 1}}), 1, fill_batch, NULL);
    rg_jit *j = rg_jit_new(c, least_and_most, NULL, 2);
    float seen[40][2];
    for (int i = 0; i < 40; i++) {
        RG_SCOPE(c);
        rg_tensor x, y[2];
        if (rg_loader_next(l, &x, NULL) || rg_jit_call(j, RG_TENSORS(x), y)) FAIL("%s", rg_error(c));
        for (int k = 0; k < 2; k++)
            if (rg_read(y[k], &seen[i][k], sizeof(float))) FAIL("%s", rg_error(c));
    }
    for (int i = 0; i < 40; i++) CHECK(seen[i][0] == (float)i && seen[i][1] == (float)i);
    rg_close(c);
}

/* Kernels that are started before the ones that they wait for are done: rows by a matrix that moves their elements on by one, the sum
 * in parts which a second kernel adds, again and again with one input and another. What came too early would be the other's. */
enum { MOVED = 4096 };
static rg_status move_on(void *user, const rg_tensor *in, rg_tensor *out) {
    out[0] = rg_matmul(in[0], *(rg_tensor *)user);
    return RG_OK;
}

static uint16_t small_bf16(int n) { /* of a number below 256 */
    float f = (float)n;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return (uint16_t)(bits >> 16);
}

TEST_MANUAL(cuda_gpu_early_kernels, 60) {
    enum { MOST = 64 * MOVED };
    static const int rows[] = {16, 64};
    static uint16_t w[MOVED][MOVED], x[2][MOST], y[MOST];
    for (int i = 0; i < MOVED; i++) w[i][(i + 1) % MOVED] = small_bf16(1);
    for (int i = 0; i < MOST; i++)
        for (int k = 0; k < 2; k++) x[k][i] = small_bf16(i / MOVED * 31 % 100 + i % MOVED * (7 + k) % 97);
    for (size_t r = 0; r < RG_COUNT(rows); r++) {
        rg_ctx *c = cuda_open();
        rg_tensor p = rg_from(c, RG_BF16, w, RG_SHAPE(MOVED, MOVED)), in[2], out;
        for (int i = 0; i < 2; i++) in[i] = rg_from(c, RG_BF16, x[i], RG_SHAPE(rows[r], MOVED));
        rg_jit *j = rg_jit_new(c, move_on, &p, 1);
        for (int i = 0; i < 400; i++) {
            const uint16_t *from = x[i * 5 / 3 % 2];
            if (rg_jit_call(j, (rg_tensors){&in[i * 5 / 3 % 2], 1}, &out)) FAIL("%s", rg_error(c));
            if (i % 7) continue;
            if (rg_read(out, y, (size_t)rows[r] * MOVED * sizeof *y)) FAIL("%s", rg_error(c));
            for (int k = 0; k < rows[r] * MOVED; k++)
                if (y[k / MOVED * MOVED + (k + 1) % MOVED] != from[k])
                    FAIL("%d rows, call %d: element %d", rows[r], i, k);
        }
        rg_close(c);
    }
}

/* Sums that many threads add to are whole; the same row sums in every run. */
TEST_MANUAL(cuda_gpu_rows_repeat, 60) {
    rg_ctx *c = cuda_open();
    enum { ROWS = 300, COLS = 7001 };
    rg_tensor x = rg_rand(c, RG_F32, RG_SHAPE(ROWS, COLS));
    float first[ROWS], again[ROWS];
    for (int run = 0; run < 5; run++) {
        RG_SCOPE(c);
        if (rg_read(rg_sum(rg_mul(x, x), RG_AXES(1)), run ? again : first, sizeof first))
            FAIL("%s", rg_error(c));
        if (run) CHECK(!memcmp(first, again, sizeof first));
    }
    rg_close(c);
}
