/* products.c: matrix products on the CUDA device beside cuBLAS, of bfloat16 or another type: a table of sizes, by the public functions, ours and
 * cuBLAS in turns on random numbers.
 *
 *     bench/products               all sizes: A B, A B^T, and gelu(A B^T + bias) + C
 *     bench/products 4096x4096x512 only these sizes (M x N x K, of the table or not)
 *     bench/products -p            without the third, whose peer is cuBLAS's product alone
 *     bench/products -t f16        of this type: bf16, f16, tf32 (floats, by their first digits), f8e4m3 (into bfloat16)
 *     bench/products --beam N      also with kernels that search found (BEAM=N), as a line of its own
 *
 * Two times: sustained, all in turns without pauses, each after the same calls kept the GPU busy for a while, and a burst
 * after a pause, which a GPU that is limited by power runs at a higher clock. Calls are many with one wait at their end,
 * times the median of three rounds. Lists of opts: bench/blocks. */
#include "base/base.h"
#include "cublas.h"

#include <ridge.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum form { NN, NT, FINISH, FORMS }; /* b as it is; transposed; that, and gelu(.. + bias) + c */
static const char *const form_name[] = {"A B", "A B^T", "gelu(A B^T + bias) + C"};

static const struct type {
    const char *name;
    rg_dtype in, out;
    enum cublas_type peer;
} types[] = {{"bf16", RG_BF16, RG_BF16, CUBLAS_BF16},
             {"f16", RG_F16, RG_F16, CUBLAS_F16},
             {"tf32", RG_F32, RG_F32, CUBLAS_F32},
             {"f8e4m3", RG_F8E4M3, RG_BF16, CUBLAS_F8E4M3}};
static const struct type *type = types;

struct product {
    enum form form;
    rg_tensor bias, more;
};

static rg_status call(void *user, const rg_tensor *in, rg_tensor *out) {
    struct product *p = user;
    out[0] = rg_cast(rg_matmul(in[0], p->form == NN ? in[1] : rg_transpose(in[1], 0, 1)), type->out);
    if (p->form == FINISH) out[0] = rg_add(rg_gelu(rg_add(out[0], p->bias)), p->more);
    return RG_OK;
}

enum who { OURS, SEARCHED, PEER, WHO };

/* One for each context: what a search in one finds the other must not know. */
struct row {
    rg_jit *j;
    struct product p;
    rg_tensor in[2], out, probe;
};

/* While it is on, programs that are new are searched. */
static void set_beam(int n) {
    char text[16];
    snprintf(text, sizeof text, "%d", n);
    setenv("RIDGE_BEAM", text, 1);
    env_reload();
}

/* r: NULL is cuBLAS. */
static int wait_for(struct row *r) {
    float x;
    return r ? (int)rg_read(r->probe, &x, sizeof x) : cublas.wait();
}

/* Seconds of a call, of so many with one wait; 0: it failed. */
static double calls(struct row *r, int n) {
    if (wait_for(r)) return 0;
    uint64_t t0 = os_now_ns();
    for (int i = 0; i < n; i++)
        if (r ? (int)rg_jit_call(r->j, (rg_tensors){r->in, 2}, &r->out) : cublas_run()) return 0;
    if (wait_for(r)) return 0;
    return (double)(os_now_ns() - t0) * 1e-9 / n;
}

struct times {
    double burst, sustained; /* seconds; 0: not measured */
};

static int by_time(const void *x, const void *y) {
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

enum { ROUNDS = 3 };
static double median(double t[ROUNDS]) { return qsort(t, ROUNDS, sizeof *t, by_time), t[ROUNDS / 2]; }

/* Who in turns. Bursts after a pause each; then all without a pause, each for a while before it is timed, so that clock and
 * power are what they are in the long run, and the same for all. Medians. */
static void measure(struct row *r, const bool there[WHO], struct times t[WHO]) {
    double one[WHO] = {0}, burst[WHO][ROUNDS] = {{0}}, sustained[WHO][ROUNDS] = {{0}};
    memset(t, 0, WHO * sizeof *t);
    for (int i = 0; i < ROUNDS; i++)
        for (int who = 0; who < WHO; who++) {
            struct row *x = who == PEER ? NULL : &r[who];
            if (there[who] && !i && calls(x, 3) > 0) one[who] = calls(x, 3); /* the first may load kernels */
            if (!(one[who] > 0)) continue;
            nanosleep(&(struct timespec){0, 30000000}, NULL);
            burst[who][i] = calls(x, (int)RG_MIN(RG_MAX(0.004 / one[who], 2), 400));
        }
    for (int i = 0; i < ROUNDS; i++)
        for (int who = 0; who < WHO; who++) {
            struct row *x = who == PEER ? NULL : &r[who];
            if (!(one[who] > 0)) continue;
            int many = (int)RG_MIN(RG_MAX(0.03 / one[who], 2), 4000);
            for (int warm = !i && !who ? 4 : 1; warm > 0; warm--) calls(x, many);
            sustained[who][i] = calls(x, many);
        }
    for (int who = 0; who < WHO; who++)
        if (one[who] > 0) t[who] = (struct times){median(burst[who]), median(sustained[who])};
}

struct size {
    int m, n, k;
};

static double searching; /* seconds, in all */

static void print(struct size s, const char *what, struct times t, struct times peer, enum form form,
                  const char *note) {
    double ops = 2.0 * s.m * s.n * s.k * 1e-12;
    printf("%6d x %6d x %6d  %-24s %9.1f us %7.1f TFLOP/s  burst %7.1f", s.m, s.n, s.k, what,
           t.sustained * 1e6, ops / t.sustained, ops / t.burst);
    if (peer.burst > 0)
        printf("   cuBLAS A B%s %7.1f  burst %7.1f   ratio %.2f  %.2f", form == NN ? "  " : "^T",
               ops / peer.sustained, ops / peer.burst, peer.sustained / t.sustained, peer.burst / t.burst);
    printf("%s\n", note);
}

static rg_tensor numbers(rg_ctx *c, rg_dtype dt, int rows, int columns) {
    return rg_cast(rg_randn(c, RG_F32, RG_SHAPE(rows, columns)), dt);
}

static void begin(rg_ctx *c, struct size s, enum form form, struct row *r) {
    bool finish = form == FINISH;
    *r = (struct row){.p = {form, numbers(c, type->out, 1, finish ? s.n : 1),
                            numbers(c, type->out, finish ? s.m : 1, finish ? s.n : 1)},
                      .in = {numbers(c, type->in, s.m, s.k),
                             form == NN ? numbers(c, type->in, s.k, s.n) : numbers(c, type->in, s.n, s.k)},
                      .probe = rg_zeros(c, RG_F32, RG_SHAPE(1))};
    rg_realize_all(RG_TENSORS(r->p.bias, r->p.more, r->in[0], r->in[1], r->probe));
    r->j = rg_jit_new(c, call, &r->p, 1);
}

/* c: ours, and one that searches, or NULL. peer: of cuBLAS, measured here, or that of the row before. */
static int row(rg_ctx *c[2], struct size s, enum form form, int beam, bool peers, struct times *peer) {
    struct times t[WHO];
    struct row r[2] = {0};
    rg_scope scope[2];
    double took = 0;
    char note[64];
    bool nt_alone = type->peer == CUBLAS_F8E4M3; /* cuBLAS has no other */
    bool there[WHO] = {true, c[1] != NULL, peers && form != FINISH && (form == NT || !nt_alone)};
    cublas.types = form != NN;
    for (int i = 0; i < 2 && c[i]; i++) {
        scope[i] = rg_begin(c[i]);
        begin(c[i], s, form, &r[i]);
        set_beam(i ? beam : 0);
        uint64_t t0 = os_now_ns();
        for (int k = 0; k < 2; k++) calls(&r[i], 1);
        took = (double)(os_now_ns() - t0) * 1e-9;
        set_beam(0);
    }
    measure(r, there, t);
    for (int i = 0; i < 2 && c[i]; i++) {
        rg_jit_free(r[i].j);
        rg_end(scope[i]);
        if (rg_status_of(c[i])) return fprintf(stderr, "%s\n", rg_error(c[i])), 1;
    }
    if (form != FINISH) *peer = t[PEER];
    print(s, form_name[form], t[OURS], *peer, form, "");
    if (c[1]) {
        searching += took;
        snprintf(note, sizeof note, "   of ours %.2f  %.2f, found in %.1f s",
                 t[OURS].sustained / t[SEARCHED].sustained, t[OURS].burst / t[SEARCHED].burst, took);
        print(s, "  searched", t[SEARCHED], *peer, form, note);
    }
    return fflush(stdout), 0;
}

static int rows(rg_ctx *c[2], struct size s, bool plain, int beam, bool peers) {
    struct times peer = {0};
    bool there = peers && cublas_begin(type->peer, s.m, s.n, s.k, 0, 0); /* for A B and A B^T alike */
    for (int f = 0; f < (plain ? FINISH : FORMS); f++)
        if (row(c, s, (enum form)f, beam, there, &peer)) return 1;
    if (there) cublas_end();
    return 0;
}

static const struct type *type_of(const char *name) {
    for (size_t i = 0; i < RG_COUNT(types); i++)
        if (!strcmp(types[i].name, name)) return &types[i];
    fprintf(stderr, "%s: types are bf16, f16, tf32, f8e4m3\n", name);
    exit(1);
}

int main(int argc, char **argv) {
    static const struct size table[] = {{1024, 1024, 1024}, {2048, 2048, 2048},  {4096, 4096, 4096},
                                        {8192, 8192, 8192}, {4096, 11008, 4096}, {8192, 8192, 512},
                                        {512, 512, 65536},  {1024, 1024, 8192},  {64, 4096, 4096},
                                        {16384, 2304, 768}, {16384, 768, 768},   {16384, 3072, 768},
                                        {16384, 768, 3072}, {16384, 50304, 768}, {16384, 16384, 16384}};
    struct size own[64], s;
    size_t n = 0;
    int beam = 0;
    bool plain = false;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--beam") && i + 1 < argc)
            beam = atoi(argv[++i]);
        else if (!strcmp(argv[i], "-t") && i + 1 < argc)
            type = type_of(argv[++i]);
        else if (!strcmp(argv[i], "-p"))
            plain = true;
        else if (n < RG_COUNT(own) && sscanf(argv[i], "%dx%dx%d", &s.m, &s.n, &s.k) == 3)
            own[n++] = s;
        else
            return fprintf(stderr, "%s: sizes are written 4096x4096x512; -p, -t TYPE, --beam N\n", argv[i]),
                   1;
    }
    cublas.tf32 = type->in == RG_F32; /* both may round */
    cublas.fast = getenv("RIDGE_F8_FAST") && atoi(getenv("RIDGE_F8_FAST"));
    if (cublas.tf32) setenv("RIDGE_TF32", "1", 1);
    setenv("RIDGE_CACHE", "0", 0); /* what an earlier search found is not ours */
    set_beam(0);
    rg_ctx *c[2] = {rg_open("CUDA"), beam > 0 ? rg_open("CUDA") : NULL};
    if (rg_status_of(c[0])) return printf("skipped: %s\n", rg_error(c[0])), 0;
    bool peers = cublas_open();
    for (size_t i = 0; i < (n ? n : RG_COUNT(table)); i++)
        if (rows(c, n ? own[i] : table[i], plain, beam, peers)) return 1;
    if (c[1]) printf("searching took %.1f s\n", searching), rg_close(c[1]);
    return rg_close(c[0]);
}
