/* sem.h: the table of semantics. A row is one CASE: a few lines against the public header, and what must come out.
 * Every row runs on every device of the list below, each time in a child process with a context of its own; on a GPU
 * contexts of the driver cost seconds, so that rows share one there.
 *
 *     CASE(swap) {
 *         rg_tensor a = V(1, 2), b = V(3, 4), t = a;
 *         ...
 *         IS(a, 3, 4);
 *     }
 *
 * A row ends with no error in its context (rows about errors clear them) and without a leak; sem_run sees to that. */
#ifndef RIDGE_SEM_H
#define RIDGE_SEM_H

#include <ridge.h>
#include <test.h>

#define SEM_DEVICES(X, id) X(REF, id) X(CPU, id)
/* Where there is a GPU (`make test-gpu`) all rows, several in a process: sem.c, semantics_CUDA_*. PoCL is slow: some rows in `make test` (sem.c: opencl_semantics), all with `ridge-test -a semantics_OPENCL`. */
#define SEM_OPENCL_TEST_(id)                                                              \
    static struct sem_row row_##id = {.name = #id, .fn = case_##id};                      \
    __attribute__((constructor)) static void row_##id##_add(void) { sem_add(&row_##id); } \
    TEST_MANUAL(semantics_OPENCL_##id, 300) { sem_run("OPENCL", case_##id); }
struct sem_row {
    const char *name;
    void (*fn)(rg_ctx *);
    struct sem_row *next;
};
void sem_add(struct sem_row *);

#define SEM_TEST_(device, id) \
    TEST(semantics_##device##_##id) { sem_run(#device, case_##id); }
#define CASE(id)                      \
    static void case_##id(rg_ctx *c); \
    SEM_DEVICES(SEM_TEST_, id)        \
    SEM_OPENCL_TEST_(id)              \
    static void case_##id(__attribute__((unused)) rg_ctx *c)

void sem_run(const char *device, void (*fn)(rg_ctx *));

/* A vector of f32, an i32 one. */
#define V(...) \
    rg_from(c, RG_F32, (float[]){__VA_ARGS__}, RG_SHAPE(sizeof((float[]){__VA_ARGS__}) / sizeof(float)))
#define VI(...) rg_from(c, RG_I32, (int[]){__VA_ARGS__}, RG_SHAPE(sizeof((int[]){__VA_ARGS__}) / sizeof(int)))
/* A matrix of f32. */
#define M(rows, cols, ...) rg_from(c, RG_F32, (float[]){__VA_ARGS__}, RG_SHAPE(rows, cols))

/* Reads t and compares all of its elements, floats within 1e-5 of their size. */
#define IS(t, ...)                                                 \
    sem_is(__FILE__, __LINE__, (t), (const double[]){__VA_ARGS__}, \
           sizeof((const double[]){__VA_ARGS__}) / sizeof(double))
void sem_is(const char *file, int line, rg_tensor t, const double *want, size_t n);
/* The context has an error with this code whose text contains all of the words (separated by |); clears it. */
#define FAILS(code, words) sem_fails(__FILE__, __LINE__, c, (code), (words))
void sem_fails(const char *file, int line, rg_ctx *c, int code, const char *words);
rg_usage sem_usage(rg_ctx *c);

#endif
