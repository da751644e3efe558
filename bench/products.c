/* products.c: matrix products on the CUDA device beside cuBLAS, of bfloat16 or another type: a table of sizes and one of forms,
 * by the public functions, all in turns on random numbers.
 *
 *     bench/products                all sizes: A B, A B^T, gelu(A B^T + bias) + C, and A (B * scale)^T with B of 8-bit integers
 *     bench/products 4096x4096x512  only these sizes (M x N x K, of the table or not)
 *     bench/products 32x1024x1024x512     a batch: 32 of them
 *     bench/products -p             A B and A B^T alone
 *     bench/products -f scale       only forms with this in their names
 *     bench/products -t f16         of this type: bf16, f16, tf32 (floats, by their first digits), f8e4m3 (into bfloat16)
 *     bench/products --beam N       also with kernels that search found (BEAM=N), as a line of its own
 *
 * The peer of every row is cuBLAS's product alone, of a batch its strided batch. What is more than a plain product is held to
 * ours too ("of plain"): the form without what was added, and of a batch one product of all its rows by one b, which has as
 * many tiles of results, with sums as long, so that what is left is what a batch costs.
 *
 * Two times: sustained, all in turns without pauses, each after the same calls kept the GPU busy for a while, and a burst
 * after a pause, which a GPU that is limited by power runs at a higher clock. Calls are many with one wait at their end,
 * times the median of three rounds. Lists of opts: bench/blocks; convolutions: bench/conv. */
#include "base/base.h"
#include "cublas.h"
#include "usage.h"

#include <ridge.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct form {
    const char *name;
    bool nt;     /* b is transposed */
    bool finish; /* gelu(.. + bias) + c */
    bool scaled; /* b is of 8-bit integers, with a scale for each row */
} forms[] = {{"A B", false, false, false},
             {"A B^T", true, false, false},
             {"gelu(A B^T + bias) + C", true, true, false},
             {"A (B_i8 * scale)^T", true, false, true}};
enum { NT = 1 };

/* So many products, 1: not a batch. */
struct size {
    int batch, m, n, k;
};

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
    const struct form *form;
    rg_tensor bias, more, scale;
};

static rg_status call(void *user, const rg_tensor *in, rg_tensor *out) {
    struct product *p = user;
    rg_tensor b = in[1];
    if (p->form->scaled) b = rg_mul(rg_cast(b, type->in), p->scale);
    out[0] = rg_cast(rg_matmul(in[0], p->form->nt ? rg_transpose(b, -1, -2) : b), type->out);
    if (p->form->finish) out[0] = rg_add(rg_gelu(rg_add(out[0], p->bias)), p->more);
    return RG_OK;
}

/* Searched: in a context of its own, since what a search in one finds the other must not know. */
enum who { OURS, SEARCHED, PLAIN, PEER, WHO };

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

/* Seconds of a call, averaged over n calls with one wait; 0: it failed. */
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

static double searching; /* seconds, in all */

static void print(struct size s, const char *what, struct times t, struct times plain, struct times peer,
                  const struct form *form, const char *note) {
    double ops = 2e-12 * s.batch * s.m * s.n * s.k;
    char batch[32] = "";
    if (s.batch > 1) snprintf(batch, sizeof batch, "%d times ", s.batch);
    printf("%6d x %6d x %6d  %s%-*s %9.1f us %7.1f TFLOP/s  burst %7.1f", s.m, s.n, s.k, batch,
           24 - (int)strlen(batch), what, t.sustained * 1e6, ops / t.sustained, ops / t.burst);
    if (peer.burst > 0)
        printf("   cuBLAS A B%s %7.1f  burst %7.1f   ratio %.2f  %.2f", form->nt ? "^T" : "  ",
               ops / peer.sustained, ops / peer.burst, peer.sustained / t.sustained, peer.burst / t.burst);
    if (plain.burst > 0)
        printf("   of plain %.2f  %.2f", plain.sustained / t.sustained, plain.burst / t.burst);
    printf("%s\n", note);
}

static rg_tensor numbers(rg_ctx *c, rg_dtype dt, int batch, int rows, int columns) {
    rg_ints shape = batch > 1 ? RG_SHAPE(batch, rows, columns) : RG_SHAPE(rows, columns);
    return dt == RG_I8 ? rg_randint(c, dt, -127, 128, shape) : rg_cast(rg_randn(c, RG_F32, shape), dt);
}

static void begin(rg_ctx *c, struct size s, const struct form *f, struct row *r) {
    rg_dtype of_b = f->scaled ? RG_I8 : type->in;
    *r = (struct row){
        .p = {f, numbers(c, type->out, 1, 1, f->finish ? s.n : 1),
              f->finish ? numbers(c, type->out, s.batch, s.m, s.n) : numbers(c, type->out, 1, 1, 1),
              numbers(c, type->in, 1, f->scaled ? s.n : 1, 1)},
        .in = {numbers(c, type->in, s.batch, s.m, s.k),
               f->nt ? numbers(c, of_b, s.batch, s.n, s.k) : numbers(c, of_b, s.batch, s.k, s.n)},
        .probe = rg_zeros(c, RG_F32, RG_SHAPE(1))};
    rg_realize_all(RG_TENSORS(r->p.bias, r->p.more, r->p.scale, r->in[0], r->in[1], r->probe));
    r->j = rg_jit_new(c, call, &r->p, 1);
}

/* The product that a row is held to; false: it is plain itself. */
static bool plain_of(const struct size *s, const struct form *f, struct size *size,
                     const struct form **form) {
    *size = (struct size){1, s->batch * s->m, s->n, s->k};
    *form = f->finish || f->scaled ? &forms[NT] : f;
    return s->batch > 1 || *form != f;
}

/* c: ours, and one that searches, or NULL. peers: cuBLAS is there. */
static int row(rg_ctx *c[2], struct size s, const struct form *form, int beam, bool peers) {
    struct times t[WHO];
    struct row r[WHO] = {0};
    struct size plain_size;
    const struct form *plain;
    rg_scope scope[2];
    double took = 0;
    char note[64];
    bool nt_alone = type->peer == CUBLAS_F8E4M3; /* cuBLAS has no other */
    bool there[WHO] = {true, c[1] != NULL, plain_of(&s, form, &plain_size, &plain),
                       peers && (form->nt || !nt_alone)};
    cublas.types = form->nt;
    for (int i = 0; i < 2 && c[i]; i++) scope[i] = rg_begin(c[i]);
    for (int i = 0; i < PEER; i++) {
        if (!there[i]) continue;
        begin(c[i == SEARCHED], i == PLAIN ? plain_size : s, i == PLAIN ? plain : form, &r[i]);
        set_beam(i == SEARCHED ? beam : 0);
        uint64_t t0 = os_now_ns();
        for (int k = 0; k < 2; k++) calls(&r[i], 1);
        if (i == SEARCHED) took = (double)(os_now_ns() - t0) * 1e-9;
        set_beam(0);
    }
    measure(r, there, t);
    for (int i = 0; i < PEER; i++)
        if (there[i]) rg_jit_free(r[i].j);
    for (int i = 0; i < 2 && c[i]; i++) {
        rg_end(scope[i]);
        if (rg_status_of(c[i])) return fprintf(stderr, "%s\n", rg_error(c[i])), 1;
    }
    print(s, form->name, t[OURS], t[PLAIN], t[PEER], form, "");
    if (c[1]) {
        searching += took;
        snprintf(note, sizeof note, "   of ours %.2f  %.2f, found in %.1f s",
                 t[OURS].sustained / t[SEARCHED].sustained, t[OURS].burst / t[SEARCHED].burst, took);
        print(s, "  searched", t[SEARCHED], t[PLAIN], t[PEER], form, note);
    }
    return fflush(stdout), 0;
}

/* only: forms with it in their names. */
static int rows(rg_ctx *c[2], struct size s, bool plain, const char *only, int beam, bool peers) {
    bool there = peers && cublas_begin(type->peer, s.m, s.n, s.k, 0, s.batch); /* for all forms alike */
    for (size_t f = 0; f < (plain ? NT + 1 : RG_COUNT(forms)); f++) {
        if (!strstr(forms[f].name, only)) continue;
        if (forms[f].scaled && type->in == RG_F8E4M3) continue; /* which has not the digits for them */
        if (row(c, s, &forms[f], beam, there)) return 1;
    }
    if (there) cublas_end();
    return 0;
}

/* 4096x4096x512, or 32x1024x1024x512. */
static bool size_of(const char *text, struct size *s) {
    int v[4] = {0}, end = 0, n = sscanf(text, "%dx%dx%d%nx%d%n", &v[0], &v[1], &v[2], &end, &v[3], &end);
    *s = n == 4 ? (struct size){v[0], v[1], v[2], v[3]} : (struct size){1, v[0], v[1], v[2]};
    return n >= 3 && !text[end] && s->batch > 0 && s->m > 0 && s->n > 0 && s->k > 0;
}

static const struct type *type_of(const char *name) {
    for (size_t i = 0; i < RG_COUNT(types); i++)
        if (!strcmp(types[i].name, name)) return &types[i];
    fprintf(stderr, "%s: types are bf16, f16, tf32, f8e4m3\n", name);
    exit(1);
}

int main(int argc, char **argv) {
    if (bench_help(argc, argv, "[-p] [-f FORM] [-t TYPE] [--beam N] MxNxK ..")) return 0;
    static const struct size table[] = {
        {1, 1024, 1024, 1024},  {1, 2048, 2048, 2048},  {1, 4096, 4096, 4096},    {1, 8192, 8192, 8192},
        {1, 4096, 11008, 4096}, {1, 8192, 8192, 512},   {1, 512, 512, 65536},     {1, 1024, 1024, 8192},
        {1, 64, 4096, 4096},    {1, 16384, 2304, 768},  {1, 16384, 768, 768},     {1, 16384, 3072, 768},
        {1, 16384, 768, 3072},  {1, 16384, 50304, 768}, {1, 16384, 16384, 16384}, {32, 1024, 1024, 1024},
        {8, 2048, 2048, 2048}};
    struct size own[64], s;
    size_t n = 0;
    int beam = 0;
    bool plain = false;
    const char *only = "";
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--beam") && i + 1 < argc)
            beam = atoi(argv[++i]);
        else if (!strcmp(argv[i], "-t") && i + 1 < argc)
            type = type_of(argv[++i]);
        else if (!strcmp(argv[i], "-f") && i + 1 < argc)
            only = argv[++i];
        else if (!strcmp(argv[i], "-p"))
            plain = true;
        else if (n < RG_COUNT(own) && size_of(argv[i], &s))
            own[n++] = s;
        else
            return fprintf(stderr,
                           "%s: sizes are written 4096x4096x512, batches 32x1024x1024x512; options are -p, "
                           "-f FORM, -t TYPE, --beam N\n",
                           argv[i]),
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
        if (rows(c, n ? own[i] : table[i], plain, only, beam, peers)) return 1;
    if (c[1]) printf("searching took %.1f s\n", searching), rg_close(c[1]);
    return rg_close(c[0]);
}
