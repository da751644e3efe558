/* products.c: matrix products of bfloat16 on the CUDA device beside cuBLAS. Without arguments: a table of sizes, by the public
 * functions, ours and cuBLAS in turns on random numbers. Else it times lists of opts. ARGS: [-r] and files of lines `kernel.uop|opts` (`#` begins a
 * comment; no opts: those of the heuristic; `cublas M N K NT`: NVIDIA's product of the same buffers, a, b, out).
 * Buffers hold small integers, so that sums are exact and every list of one kernel must give the same sum of its output,
 * which is printed; with -r random numbers, which cost the multiprocessors more power and therefore time, and the greatest
 * difference to what the first list gave.
 * Two times: sustained, after the same calls kept the GPU busy for a while, and a burst after a pause, which a GPU that is
 * limited by power runs at a higher clock. Calls are a list with one wait at its end. */
#include "codegen/codegen.h"
#include "cublas.h"
#include "device/device.h"
#include "engine/engine.h"
#include "ref/ref.h"

#include <math.h>
#include <ridge.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SLOTS = 64 };

/* Of the last kernel file: its buffers stay for the next list. */
static struct {
    char path[512];
    void *buf[SLOTS];
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
    if (!*j->opts) j->opts = opts_heuristic_gpu(&j->ir, &p.kernel.p[0], 90);
    const char *opts = j->peer ? "" : j->opts;
    lower(&j->ir, &p.kernel.p[0], &(struct lower_opts){.opts = opts, .vec_bytes = 16, .narrow = true},
          &j->lin);
}

/* ---- buffers -------------------------------------------------------------------------------------------------- */

static void release(struct engine *en) {
    for (int i = 0; i < SLOTS; i++)
        if (held.buf[i]) engine_free(en, held.buf[i], held.bytes[i]);
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
    held.buf[s] = engine_alloc(j->en, &j->err, held.bytes[s]);
    for (size_t k = 0; k < part; k++) ref_write(dt, host + k * size, element(dt, k + 7919 * s));
    for (size_t at = 0; at < n && held.buf[s]; at += part) /* one part again and again: as random as any */
        engine_copy(j->en, &j->err, COPY_IN, (char *)held.buf[s] + at * size, host,
                    RG_MIN(part, n - at) * size);
    free(host);
}

/* Buffers by slot, from the PARAMs of the kernel; the written one is told. */
static void buffers(struct job *j) {
    if (!strcmp(held.path, j->path)) return;
    release(j->en);
    snprintf(held.path, sizeof held.path, "%s", j->path);
    uop_vec topo = {0};
    uop_topo(&j->arena, j->lin.u, j->lin.n, &topo);
    for (uint32_t i = 0; i < topo.n; i++) {
        const uop *n = topo.p[i];
        const uop *to = n->op == OP_STORE     ? n->src[0]->src[0]
                        : n->op == OP_BOX_OUT ? n->src[1]->src[0]
                                              : NULL;
        if (to && to->op == OP_PARAM) held.out = to->arg.param.slot;
        if (n->op == OP_PARAM && !held.buf[n->arg.param.slot]) fill(j, n);
    }
}

/* ---- time ------------------------------------------------------------------------------------------------------- */

static void run(struct job *j, int calls) {
    char probe[4];
    if (j->peer) {
        for (int i = 0; i < calls; i++) cublas_run();
        cublas.wait();
        return;
    }
    struct engine_list *l = engine_list_new(j->en, &j->err);
    for (int i = 0; i < calls; i++) engine_list_add(l, &j->err, j->k, held.buf, NULL);
    engine_list_run(l, &j->err);
    engine_copy(j->en, &j->err, COPY_OUT, probe, held.buf[held.out], 4);
    engine_list_free(l);
}

static double seconds(struct job *j, int calls) {
    uint64_t t0 = os_now_ns();
    run(j, calls);
    return (double)(os_now_ns() - t0) * 1e-9 / calls;
}

static void measure(struct job *j, double *sustained, double *burst) {
    enum { ROUNDS = 3 };
    double t = seconds(j, 3);
    int few = (int)RG_MIN(RG_MAX(0.004 / t, 2), 400), many = (int)RG_MIN(RG_MAX(0.06 / t, 2), 4000);
    *sustained = *burst = 1e9;
    for (int r = 0; r < ROUNDS && !j->err.code; r++) {
        nanosleep(&(struct timespec){0, 60000000}, NULL);
        *burst = RG_MIN(*burst, seconds(j, few));
    }
    for (int r = 0; r < ROUNDS + 1 && !j->err.code; r++) { /* the first brings the GPU to its limits */
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
    engine_copy(j->en, &j->err, COPY_OUT, host, held.buf[held.out], held.bytes[held.out]);
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
            cublas.m = m, cublas.n = n, cublas.k = k, cublas.types = nt, cublas.t = CUBLAS_BF16,
            cublas.a = (uintptr_t)held.buf[0], cublas.b = (uintptr_t)held.buf[1],
            cublas.c = (uintptr_t)held.buf[held.out];
        measure(j, &sustained, &burst);
        judge(j, words, sizeof words);
        if (j->err.code) printf("%s: %.300s\n", path, j->err.msg);
        printf("%9.1f us %7.1f TFLOP/s  burst %9.1f us %7.1f TFLOP/s %6.0f GB/s  %s  shared %lld  %.2f s to "
               "compile  %s\n  %s\n",
               sustained * 1e6, lin->est.flops / sustained * 1e-12, burst * 1e6,
               lin->est.flops / burst * 1e-12, lin->est.bytes / sustained * 1e-9, words,
               (long long)lin->shared, ready, path, j->opts);
    }
    fflush(stdout);
    arena_free(&j->arena);
    free(j);
}

/* ---- the table ---------------------------------------------------------------------------------------------------- */

enum form { NN, NT, FINISH, FORMS }; /* b as it is; transposed; that, and gelu(.. + bias) + c */
static const char *const form_name[] = {"A B", "A B^T", "gelu(A B^T + bias) + C"};

struct product {
    enum form form;
    rg_tensor bias, more;
};

static rg_status call(void *user, const rg_tensor *in, rg_tensor *out) {
    struct product *p = user;
    out[0] = rg_matmul(in[0], p->form == NN ? in[1] : rg_transpose(in[1], 0, 1));
    if (p->form == FINISH) out[0] = rg_add(rg_gelu(rg_add(out[0], p->bias)), p->more);
    return RG_OK;
}

struct row {
    rg_jit *j;
    rg_tensor in[2], out, probe;
};

/* Seconds of a call, of so many with one wait; ours, or the peer's. */
static double calls(struct row *r, int n, bool peer) {
    float x;
    if (peer ? cublas.wait() : (int)rg_read(r->probe, &x, sizeof x)) return 0;
    uint64_t t0 = os_now_ns();
    for (int i = 0; i < n; i++)
        if (peer ? cublas_run() : (int)rg_jit_call(r->j, (rg_tensors){r->in, 2}, &r->out)) return 0;
    if (peer ? cublas.wait() : (int)rg_read(r->probe, &x, sizeof x)) return 0;
    return (double)(os_now_ns() - t0) * 1e-9 / n;
}

/* After a pause, and after the same has kept the GPU busy; the best of rounds in turns. */
static void both(struct row *r, bool peers, double best[2][2]) {
    enum { ROUNDS = 3 };
    for (int k = 0; k < 4; k++) best[k / 2][k % 2] = 1e9;
    for (int i = 0; i < ROUNDS; i++)
        for (int peer = 0; peer <= peers; peer++) {
            double t = calls(r, 2, peer);
            if (t <= 0) return;
            int few = (int)RG_MIN(RG_MAX(0.004 / t, 2), 400), many = (int)RG_MIN(RG_MAX(0.05 / t, 2), 4000);
            nanosleep(&(struct timespec){0, 60000000}, NULL);
            best[peer][0] = RG_MIN(best[peer][0], calls(r, few, peer));
            calls(r, many, peer);
            best[peer][1] = RG_MIN(best[peer][1], calls(r, many, peer));
        }
}

/* peer: sustained and burst of cuBLAS, measured here, or those of the row before. */
static int row(rg_ctx *c, int m, int n, int k, enum form form, bool peers, double peer[2]) {
    RG_SCOPE(c);
    double t[2][2], ops = 2.0 * m * n * k * 1e-12;
    struct product p = {form, rg_randn(c, RG_BF16, RG_SHAPE(n)), rg_randn(c, RG_BF16, RG_SHAPE(m, n))};
    rg_tensor b = form == NN ? rg_randn(c, RG_BF16, RG_SHAPE(k, n)) : rg_randn(c, RG_BF16, RG_SHAPE(n, k));
    struct row r = {.in = {rg_randn(c, RG_BF16, RG_SHAPE(m, k)), b},
                    .probe = rg_zeros(c, RG_F32, RG_SHAPE(1))};
    rg_realize_all(RG_TENSORS(p.bias, p.more, r.in[0], r.in[1], r.probe));
    r.j = rg_jit_new(c, call, &p, 1);
    cublas.types = form != NN;
    both(&r, peers && form != FINISH, t);
    rg_jit_free(r.j);
    if (rg_status_of(c)) return fprintf(stderr, "%s\n", rg_error(c)), 1;
    if (form != FINISH) peer[0] = t[1][1], peer[1] = t[1][0];
    printf("%6d x %6d x %6d  %-24s %9.1f us %7.1f TFLOP/s  burst %7.1f", m, n, k, form_name[form],
           t[0][1] * 1e6, ops / t[0][1], ops / t[0][0]);
    if (peers)
        printf("   cuBLAS A B%s %7.1f  burst %7.1f   ratio %.2f  %.2f", form == NN ? "  " : "^T",
               ops / peer[0], ops / peer[1], peer[0] / t[0][1], peer[1] / t[0][0]);
    printf("\n");
    return fflush(stdout), 0;
}

static int table(void) {
    static const int size[][3] = {{1024, 1024, 1024},   {2048, 2048, 2048},  {4096, 4096, 4096},
                                  {8192, 8192, 8192},   {4096, 11008, 4096}, {8192, 8192, 512},
                                  {512, 512, 65536},    {16384, 2304, 768},  {16384, 768, 768},
                                  {16384, 3072, 768},   {16384, 768, 3072},  {16384, 50304, 768},
                                  {16384, 16384, 16384}};
    rg_ctx *c = rg_open("CUDA");
    if (rg_status_of(c)) return printf("skipped: %s\n", rg_error(c)), 0;
    bool peers = cublas_open();
    for (size_t i = 0; i < RG_COUNT(size); i++) {
        const int *x = size[i];
        double peer[2] = {0, 0};
        bool there = peers && cublas_begin(CUBLAS_BF16, x[0], x[1], x[2], 0, 0); /* for A B and A B^T alike */
        for (int f = 0; f < FORMS; f++)
            if (row(c, x[0], x[1], x[2], (enum form)f, there, peer)) return 1;
        if (there) cublas_end();
    }
    return rg_close(c);
}

int main(int argc, char **argv) {
    struct err e = {0};
    if (argc == 1) return table();
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
