/* product.h: products of matrices of small integers, written as kernels, under a list of opts: run by the interpreter or on a
 * GPU and compared with plain loops. For tests of block programs. */
#ifndef RIDGE_TEST_PRODUCT_H
#define RIDGE_TEST_PRODUCT_H

#include "codegen/codegen.h"
#include "cuda.h"
#include "engine/internal.h"
#include "ref/ref.h"
#include "rules/rules.h"

struct product {
    int64_t m, n, k;
    bool ta, tb; /* a is [k][m], b is [n][k] */
    const char *dt;
    const char *opts;
    /* result */
    struct err err;
    struct arena arena;
    struct ir ir;
    struct linear lin;
    struct program prog;
};

static inline void product_compile(void *p) {
    struct product *x = p;
    struct str s;
    ir_init(&x->ir, &x->arena);
    str_init(&s, &x->arena);
    bool half = strcmp(x->dt, "f32") != 0;
    const char *up = half ? "(CAST<f32> " : "", *end = half ? ")" : "";
    str_printf(&s, "kernel product\na = (PARAM<%s>[0 a] %lld)\nb = (PARAM<%s>[1 b] %lld)\n", x->dt,
               (long long)(x->m * x->k), x->dt, (long long)(x->n * x->k));
    str_printf(&s, "out = (PARAM<f32>[2 out] %lld)\nm = (RANGE[m GRID 0] %lld)\nn = (RANGE[n GRID 1] %lld)\n",
               (long long)(x->m * x->n), (long long)x->m, (long long)x->n);
    str_printf(&s, "k = (RANGE[k REDUCE 2] %lld)\n", (long long)x->k);
    str_printf(&s, "x = %s(LOAD (INDEX a (ADD (MUL %s %lld) %s)))%s\n", up, x->ta ? "k" : "m",
               (long long)(x->ta ? x->m : x->k), x->ta ? "m" : "k", end);
    str_printf(&s, "y = %s(LOAD (INDEX b (ADD (MUL %s %lld) %s)))%s\n", up, x->tb ? "n" : "k",
               (long long)(x->tb ? x->k : x->n), x->tb ? "k" : "n", end);
    str_printf(&s, "(SINK (STORE (INDEX out (ADD (MUL m %lld) n)) (REDUCE[ADD] (MUL x y) k)))\n",
               (long long)x->n);
    ir_parse(&x->ir, s.p, s.n, "product.uop", &x->prog);
    struct lower_opts o = {.opts = x->opts, .keep_math = true, .vec_bytes = 16, .narrow = true};
    lower(&x->ir, &x->prog.kernel.p[0], &o, &x->lin);
}

static inline int product_small(uint64_t i) { return (int)(i * 2654435761u >> 13 & 7) - 3; }

/* Runs it whole, in the interpreter or on a GPU, and compares every element. */
static inline void product_check(struct product *x, struct engine *en) {
    arena_init(&x->arena, &x->err);
    if (err_guard(&x->err, product_compile, x)) FAIL("%s", x->err.msg);
    enum dtype dt = dt_parse(x->dt, strlen(x->dt));
    size_t na = (size_t)(x->m * x->k), nb = (size_t)(x->n * x->k), no = (size_t)(x->m * x->n),
           bytes = dtype_info[dt].bytes;
    char *a = arena_alloc(&x->arena, na * bytes), *b = arena_alloc(&x->arena, nb * bytes);
    float *out = arena_array(&x->arena, float, no);
    for (size_t i = 0; i < na; i++) ref_write(dt, a + i * bytes, (union ref_val){.f = product_small(i)});
    for (size_t i = 0; i < nb; i++)
        ref_write(dt, b + i * bytes, (union ref_val){.f = product_small(i + 12345)});
    struct ref_buf bufs[3] = {{.p = a, .bytes = na * bytes, .name = "a"},
                              {.p = b, .bytes = nb * bytes, .name = "b"},
                              {.p = out, .bytes = no * 4, .name = "out"}};
    if (en) {
        const struct linear *lin = &x->lin;
        const struct ekernel *k;
        if (engine_compile(en, &x->err, &lin, 1, &k)) FAIL("%s\n%s", x->opts, x->err.msg);
        cuda_run(en, k, (void *[]){a, b, out}, (size_t[]){na * bytes, nb * bytes, no * 4}, NULL);
    } else if (ref_linear(&x->err, &x->lin, bufs, 3, NULL, 0, x->lin.grid)) {
        FAIL("%s\n%s", x->opts, x->err.msg);
    }
    for (int64_t i = 0; i < x->m; i++)
        for (int64_t j = 0; j < x->n; j++) {
            int sum = 0;
            for (int64_t k = 0; k < x->k; k++)
                sum += product_small((uint64_t)(x->ta ? k * x->m + i : i * x->k + k)) *
                       product_small((uint64_t)(x->tb ? j * x->k + k : k * x->n + j) + 12345);
            if (out[i * x->n + j] != (float)sum)
                FAIL("%s\nelement %lld, %lld is %g, not %d", x->opts, (long long)i, (long long)j,
                     out[i * x->n + j], sum);
        }
    arena_free(&x->arena);
}

#endif
