/* blocks.c: times lists of opts of a kernel on the CUDA device. ARGS: [-r] and files of lines `kernel.uop|opts` (`#` begins a
 * comment; no opts: those of the heuristic; `cublas M N K NT`: NVIDIA's product of the same buffers of
 * one type, a, b, out; of floats by TF32).
 * Buffers hold small integers, so that sums are exact and every list of one kernel must give the same sum of its output,
 * which is printed, with the best time of several rounds of calls with one wait. Buffers are there so often, and used in turns, that
 * what a call reads does not come from the caches.
 * With -r they hold random numbers, which cost the SMs more power and therefore time; printed is the greatest
 * difference to what the first list gave, and two times of calls on the same buffers: sustained, after the same calls kept the GPU
 * busy for a while, and a burst after a pause, which a GPU that is limited by power runs at a higher clock. */
#include "tune/tune.h"
#include "cublas.h"
#include "device/device.h"
#include "engine/engine.h"
#include "ref/ref.h"
#include "usage.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SLOTS = 64, TURNS = 32, LARGE = 1 << 20, BEYOND_CACHES = 192 << 20 /* bytes */ };

/* Of the last kernel file: its buffers stay for the next list. */
static struct {
    char path[512];
    void *buf[TURNS][SLOTS]; /* what is small is there once */
    int turns;
    size_t bytes[SLOTS];
    enum dtype type[SLOTS];
    uint32_t out;
    char *first; /* what the first list gave */
} held;
static bool with_random;

struct job {
    struct engine *en;
    struct err err;
    struct arena arena;
    struct ir ir;
    struct linear lin;
    const char *path, *opts;
    const struct ekernel *k;
    bool peer;
};

static char *slurp(struct arena *a, const char *path, size_t *n) {
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    char *p = arena_alloc(a, 1 << 20);
    *n = fread(p, 1, (1 << 20) - 1, f);
    fclose(f);
    return p;
}

static void compile(void *arg) {
    struct job *j = arg;
    size_t n = 0;
    struct program p = {0};
    char *text = slurp(&j->arena, j->path, &n);
    if (!text) err_throw(&j->err, RG_EIO, "cannot read %s", j->path);
    ir_init(&j->ir, &j->arena);
    ir_parse(&j->ir, text, n, j->path, &p);
    if (!*j->opts) j->opts = opts_heuristic_gpu(&j->ir, &p.kernel.p[0], GPU_OF_CC(90));
    const char *opts = j->peer ? "" : j->opts;
    struct lower_opts o = {.opts = opts, .target = {.kind = TARGET_GPU, .native_exp = true}};
    lower(&j->ir, &p.kernel.p[0], &o, &j->lin);
}

/* ---- buffers -------------------------------------------------------------------------------------------------- */

static void release(struct engine *en) {
    for (int i = 0; i < SLOTS; i++)
        for (int t = 0; t < held.turns; t++)
            if (held.buf[t][i] && (!t || held.buf[t][i] != held.buf[0][i]))
                engine_free(en, held.buf[t][i], held.bytes[i]);
    free(held.first);
    memset(&held, 0, sizeof held);
}

/* About normal, mean 0: the sum of four bytes. */
static union ref_val element(enum dtype dt, uint64_t i) {
    uint64_t h = hash_u64(i + 1);
    double r = ((double)(h & 255) + (double)(h >> 8 & 255) + (double)(h >> 16 & 255) +
                (double)(h >> 24 & 255) - 510) /
               148;
    if (!with_random) r = (int)(i * 2654435761u >> 17 & 3) - 1;
    return dt_is_float(dt) ? (union ref_val){.f = r} : (union ref_val){.i = (int64_t)(h >> 32 & 3)};
}

static void fill(struct job *j, const uop *param) {
    uint32_t s = param->arg.param.slot;
    enum dtype dt = (enum dtype)param->dt;
    size_t size = dtype_info[dt].bytes, n = (size_t)param->src[0]->hi, part = RG_MIN(n, (size_t)1 << 22);
    held.type[s] = dt, held.bytes[s] = n * size;
    char *host = malloc(part * size);
    for (size_t k = 0; k < part; k++) ref_write(dt, host + k * size, element(dt, k + 7919 * s));
    for (int t = 0; t < held.turns; t++) {
        bool own = !t || held.bytes[s] >= LARGE;
        held.buf[t][s] = own ? engine_alloc(j->en, &j->err, held.bytes[s]) : held.buf[0][s];
        for (size_t at = 0; own && at < n && held.buf[t][s]; at += part) /* as random as any */
            engine_copy(j->en, &j->err, COPY_IN, (char *)held.buf[t][s] + at * size, host,
                        RG_MIN(part, n - at) * size);
    }
    free(host);
}

/* Buffers by slot, from the PARAMs of the kernel; the written one is told. */
static void buffers(struct job *j) {
    if (!strcmp(held.path, j->path)) return;
    release(j->en);
    snprintf(held.path, sizeof held.path, "%s", j->path);
    uop_vec topo = {0};
    size_t large = 1;
    uop_topo(&j->arena, j->lin.u, j->lin.n, &topo);
    for (uint32_t i = 0; i < topo.n; i++) {
        size_t n =
            topo.p[i]->op == OP_PARAM ? (size_t)topo.p[i]->src[0]->hi * dtype_info[topo.p[i]->dt].bytes : 0;
        if (n >= LARGE) large += n;
    }
    held.turns = with_random ? 1 : (int)RG_MIN(RG_MAX(BEYOND_CACHES / large, 2), TURNS);
    for (uint32_t i = 0; i < topo.n; i++) {
        const uop *n = topo.p[i];
        const uop *to = n->op == OP_STORE       ? n->src[0]->src[0]
                        : n->op == OP_TMA_STORE ? n->src[1]->src[0]
                                                : NULL;
        if (to && to->op == OP_PARAM) held.out = to->arg.param.slot;
        if (n->op == OP_PARAM && !held.buf[0][n->arg.param.slot]) fill(j, n);
    }
}

/* ---- time ------------------------------------------------------------------------------------------------------- */

/* Seconds of a call, averaged over n calls with one wait. */
static double seconds(struct job *j, int calls) {
    char probe[4];
    struct engine_list *l = j->peer ? NULL : engine_list_new(j->en, &j->err);
    for (int i = 0; i < calls && l; i++) engine_list_add(l, &j->err, j->k, held.buf[i % held.turns], NULL);
    engine_copy(j->en, &j->err, COPY_OUT, probe, held.buf[0][held.out], 4);
    uint64_t t0 = os_now_ns();
    for (int i = 0; i < calls && !l; i++) cublas_run();
    if (l) engine_list_run(l, &j->err);
    if (j->peer)
        cublas.wait();
    else
        engine_copy(j->en, &j->err, COPY_OUT, probe, held.buf[0][held.out], 4);
    double t = (double)(os_now_ns() - t0) * 1e-9 / calls;
    if (l) engine_list_free(l);
    return t;
}

static void measure(struct job *j, double *sustained, double *burst) {
    enum { ROUNDS = 3 };
    double t = seconds(j, 3);
    int few = (int)RG_MIN(RG_MAX(0.004 / t, 2), 400), many = (int)RG_MIN(RG_MAX(0.06 / t, 2), 4000);
    *sustained = *burst = 1e9;
    for (int r = 0; r < ROUNDS && !j->err.code; r++) {
        if (with_random) nanosleep(&(struct timespec){0, 60000000}, NULL);
        *burst = RG_MIN(*burst, seconds(j, few));
    }
    for (int r = 0; with_random && r < ROUNDS + 1 && !j->err.code; r++) { /* the first heats it */
        t = seconds(j, many);
        if (r > 1) *sustained = RG_MIN(*sustained, t);
    }
}

/* ---- results ---------------------------------------------------------------------------------------------------- */

static double at(const char *p, size_t i) {
    enum dtype dt = held.type[held.out];
    return ref_number(dt, ref_read(dt, p + i * dtype_info[dt].bytes));
}

static void judge(struct job *j, char *out, size_t room) {
    size_t n = held.bytes[held.out] / dtype_info[held.type[held.out]].bytes;
    char *host = malloc(held.bytes[held.out]);
    double sum = 0, most = 0, scale = 0;
    engine_copy(j->en, &j->err, COPY_OUT, host, held.buf[0][held.out], held.bytes[held.out]);
    for (size_t i = 0; i < n; i += with_random ? 97 : 1) {
        double x = at(host, i), y = held.first ? at(held.first, i) : x;
        sum += x * (double)(i % 101 + 1), scale = fmax(scale, fabs(y));
        if (!(fabs(x - y) <= most)) most = fabs(x - y);
    }
    if (with_random)
        snprintf(out, room, "off by %.2g of %.3g", most, scale);
    else
        snprintf(out, room, "sum %.0f", sum);
    if (held.first)
        free(host);
    else
        held.first = host;
}

static enum cublas_type peer_type(enum dtype dt) {
    return dt == DT_F32 ? CUBLAS_F32 : dt == DT_F16 ? CUBLAS_F16 : CUBLAS_BF16;
}

static void one(struct engine *en, const char *path, const char *opts) {
    struct job *j = calloc(1, sizeof *j);
    const struct linear *lin = &j->lin;
    char words[64] = "";
    int m = 0, n = 0, k = 0, nt = 0;
    j->en = en, j->path = path, j->opts = opts;
    j->peer = sscanf(opts, "cublas %d %d %d %d", &m, &n, &k, &nt) == 4;
    arena_init(&j->arena, &j->err);
    uint64_t t0 = os_now_ns();
    if (err_guard(&j->err, compile, j) || (!j->peer && engine_compile(en, &j->err, &lin, 1, &j->k))) {
        printf("%s: %.300s\n  %s\n", path, j->err.msg, j->opts);
    } else {
        double ready = (double)(os_now_ns() - t0) * 1e-9, sustained, burst;
        buffers(j);
        if (j->peer)
            cublas.m = m, cublas.n = n, cublas.k = k, cublas.types = nt, cublas.t = peer_type(held.type[0]),
            cublas.tf32 = held.type[0] == DT_F32, cublas.a = (uintptr_t)held.buf[0][0],
            cublas.b = (uintptr_t)held.buf[0][1], cublas.c = (uintptr_t)held.buf[0][held.out];
        measure(j, &sustained, &burst);
        judge(j, words, sizeof words);
        if (j->err.code) printf("%s: %.300s\n", path, j->err.msg);
        double t = with_random ? sustained : burst;
        printf("%9.1f us %8.1f TFLOP/s %7.0f GB/s", t * 1e6, lin->est.flops / t * 1e-12,
               lin->est.bytes / t * 1e-9);
        if (with_random)
            printf("  burst %9.1f us %8.1f TFLOP/s", burst * 1e6, lin->est.flops / burst * 1e-12);
        printf("  %s  shared %lld  %.2f s to compile  %s\n  %s\n", words, (long long)lin->shared, ready, path,
               j->opts);
    }
    fflush(stdout);
    arena_free(&j->arena);
    free(j);
}

int main(int argc, char **argv) {
    if (bench_help(argc, argv, "[-r] FILE ..")) return 0;
    struct err e = {0};
    struct engine *en = engine_open(&e, &device_cuda[0]);
    if (!en) return printf("skipped: %s\n", e.msg), 0;
    char probe[4];
    void *p = engine_alloc(en, &e, 4);
    engine_copy(en, &e, COPY_OUT, probe, p, 4);
    bool peers = cublas_open();
    for (int i = 1; i < argc; i++) {
        static char line[8192];
        if (!strcmp(argv[i], "-r")) {
            with_random = true;
            continue;
        }
        FILE *f = fopen(argv[i], "r");
        if (!f) return fprintf(stderr, "cannot read %s\n", argv[i]), 1;
        while (fgets(line, sizeof line, f)) {
            line[strcspn(line, "\n")] = 0;
            char *bar = strchr(line, '|');
            if (*line == '#' || !*line) continue;
            if (bar) *bar = 0;
            if (!bar || strncmp(bar + 1, "cublas ", 7) || peers) one(en, line, bar ? bar + 1 : "");
        }
        fclose(f);
    }
    release(en);
    engine_free(en, p, 4);
    engine_close(en);
    return 0;
}
