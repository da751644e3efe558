/* blas.c: the products of the bench with OpenBLAS: `blas LIBRARY`, the library loaded by its path.
 *
 * NumPy's wheels bring one (64-bit sizes, names with a prefix); a system's plain libopenblas.so works too. With a dimension of 1
 * both sgemm and sgemv are tried, and the faster counts. Speaks the protocol of serve.h. */
#include "serve.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>

enum { ROW_MAJOR = 101, PLAIN = 111, TRANSPOSED = 112 };

/* The same functions with 32- and 64-bit sizes; int arguments pass as they are in both. */
typedef void gemm32(int, int, int, int, int, int, float, const float *, int, const float *, int, float,
                    float *, int);
typedef void gemm64(int, int, int, int64_t, int64_t, int64_t, float, const float *, int64_t, const float *,
                    int64_t, float, float *, int64_t);
typedef void gemv32(int, int, int, int, float, const float *, int, const float *, int, float, float *, int);
typedef void gemv64(int, int, int64_t, int64_t, float, const float *, int64_t, const float *, int64_t, float,
                    float *, int64_t);

struct blas {
    bool wide, by_vector; /* sizes of 64 bits; sgemv */
    void *gemm, *gemv;
    int64_t m, n, k;
    float *a, *b, *c;
};

static void run_gemm(struct blas *s) {
    int64_t m = s->m, n = s->n, k = s->k;
    if (s->wide)
        ((gemm64 *)s->gemm)(ROW_MAJOR, PLAIN, PLAIN, m, n, k, 1, s->a, k, s->b, n, 0, s->c, n);
    else
        ((gemm32 *)s->gemm)(ROW_MAJOR, PLAIN, PLAIN, (int)m, (int)n, (int)k, 1, s->a, (int)k, s->b, (int)n, 0,
                            s->c, (int)n);
}

/* A column: a x b. A row: the matrix is b, transposed. */
static void run_gemv(struct blas *s) {
    bool row = s->m == 1;
    int64_t rows = row ? s->k : s->m, columns = row ? s->n : s->k;
    const float *matrix = row ? s->b : s->a, *vector = row ? s->a : s->b;
    int how = row ? TRANSPOSED : PLAIN;
    if (s->wide)
        ((gemv64 *)s->gemv)(ROW_MAJOR, how, rows, columns, 1, matrix, columns, vector, 1, 0, s->c, 1);
    else
        ((gemv32 *)s->gemv)(ROW_MAJOR, how, (int)rows, (int)columns, 1, matrix, (int)columns, vector, 1, 0,
                            s->c, 1);
}

static void run(void *user) {
    struct blas *s = user;
    if (s->by_vector)
        run_gemv(s);
    else
        run_gemm(s);
}

static double time_of(struct blas *s) {
    double best = 1e9;
    for (int i = 0; i < 5; i++) {
        double t0 = serve_now();
        run(s);
        double t = serve_now() - t0;
        best = t < best ? t : best;
    }
    return best;
}

static float *numbers(int64_t n) {
    float *x = malloc((size_t)n * sizeof *x + 64);
    for (int64_t i = 0; x && i < n; i++) x[i] = (float)(i * 7919 % 1000) * 0.002f - 1;
    return x;
}

static const char *open_row(void *user, const char *row) {
    struct blas *s = user;
    long long m, n, k;
    int got = sscanf(row, "sgemm %lldx%lldx%lld", &m, &n, &k);
    if (got == 1) n = k = m;
    if (got != 1 && got != 3) return "only products";
    free(s->a), free(s->b), free(s->c);
    s->m = m, s->n = n, s->k = k;
    s->a = numbers(m * k), s->b = numbers(k * n), s->c = numbers(m * n);
    if (!s->a || !s->b || !s->c) return "out of memory";
    s->by_vector = false;
    double product = time_of(s);
    if (m != 1 && n != 1) return NULL;
    s->by_vector = true;
    s->by_vector = time_of(s) < product;
    return NULL;
}

int main(int argc, char **argv) {
    static const char *const prefix[] = {"scipy_cblas_", "cblas_", "scipy_cblas_", "cblas_"},
                             *const suffix[] = {"64_", "64_", "", ""};
    void *lib = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
    if (!lib)
        return fprintf(stderr, "usage: blas LIBRARY%s%s\n", argc == 2 ? ": " : "",
                       argc == 2 ? dlerror() : ""),
               2;
    struct blas s = {0};
    for (int i = 0; i < 4 && !s.gemm; i++) {
        char name[64];
        snprintf(name, sizeof name, "%ssgemm%s", prefix[i], suffix[i]);
        s.gemm = dlsym(lib, name), s.wide = i < 2;
        snprintf(name, sizeof name, "%ssgemv%s", prefix[i], suffix[i]);
        s.gemv = dlsym(lib, name);
    }
    if (!s.gemm || !s.gemv)
        return fprintf(stderr, "blas: %s has no cblas_sgemm and cblas_sgemv\n", argv[1]), 1;
    return serve(&s, open_row, run);
}
