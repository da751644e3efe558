/* gemm_test.h: products of matrices of small integers, written as kernels, under a list of opts: run by the interpreter or on a
 * GPU and compared with plain loops. For tests of block programs. */
#ifndef RIDGE_TEST_PRODUCT_H
#define RIDGE_TEST_PRODUCT_H

#include "tune/tune.h"
#include "cuda.h"
#include "engine/internal.h"
#include "ref/ref.h"
#include "rules/rules.h"

struct product {
    int64_t m, n, k;
    bool ta, tb; /* a is [k][m], b is [n][k] */
    const char *dt;
    const char *of; /* of b; NULL: as of a */
    const char *opts;
    bool plus; /* out = a b + c */
    bool half; /* out is bf16 */
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
    str_printf(&s, "kernel product\na = (PARAM<%s>[0 a] %lld)\nb = (PARAM<%s>[1 b] %lld)\n", x->dt,
               (long long)(x->m * x->k), x->of ? x->of : x->dt, (long long)(x->n * x->k));
    str_printf(&s, "out = (PARAM<%s>[2 out] %lld)\nm = (RANGE[m GRID 0] %lld)\nn = (RANGE[n GRID 1] %lld)\n",
               x->half ? "bf16" : "f32", (long long)(x->m * x->n), (long long)x->m, (long long)x->n);
    str_printf(&s, "k = (RANGE[k REDUCE 2] %lld)\n", (long long)x->k);
    bool plain = !strcmp(x->dt, "f32") && !x->of;
    const char *up = plain ? "" : "(CAST<f32> ", *end = plain ? "" : ")";
    str_printf(&s, "x = %s(LOAD (INDEX a (ADD (MUL %s %lld) %s)))%s\n", up, x->ta ? "k" : "m",
               (long long)(x->ta ? x->m : x->k), x->ta ? "m" : "k", end);
    str_printf(&s, "y = %s(LOAD (INDEX b (ADD (MUL %s %lld) %s)))%s\n", up, x->tb ? "n" : "k",
               (long long)(x->tb ? x->k : x->n), x->tb ? "k" : "n", end);
    str_printf(&s, "at = (ADD (MUL m %lld) n)\nsum = (REDUCE[ADD] (MUL x y) k)\n", (long long)x->n);
    if (x->plus) str_printf(&s, "c = (PARAM<f32>[3 c] %lld)\n", (long long)(x->m * x->n));
    str_printf(&s, "(SINK (STORE (INDEX out at) %s%s%s))\n", x->half ? "(CAST<bf16> " : "",
               x->plus ? "(ADD sum (LOAD (INDEX c at)))" : "sum", x->half ? ")" : "");
    ir_parse(&x->ir, s.p, s.n, "product.uop", &x->prog);
    struct lower_opts o = {.opts = x->opts, .target = {.kind = TARGET_GPU, .keep_math = true}};
    lower(&x->ir, &x->prog.kernel.p[0], &o, &x->lin);
}

static inline int product_small(uint64_t i) { return (int)(i * 2654435761u >> 13 & 7) - 3; }

static inline char *product_numbers(struct arena *a, enum dtype dt, size_t n, uint64_t first) {
    size_t bytes = dtype_info[dt].bytes;
    char *p = arena_alloc(a, n * bytes);
    for (size_t i = 0; i < n; i++) {
        int v = product_small(i + first);
        ref_write(dt, p + i * bytes, dt_is_float(dt) ? (union ref_val){.f = v} : (union ref_val){.i = v});
    }
    return p;
}

/* Runs it whole, in the interpreter or on a GPU, and compares every element. */
static inline void product_check(struct product *x, struct engine *en) {
    arena_init(&x->arena, &x->err);
    if (err_guard(&x->err, product_compile, x)) FAIL("%s", x->err.msg);
    const char *of = x->of ? x->of : x->dt;
    enum dtype da = dt_parse(x->dt, strlen(x->dt)), db = dt_parse(of, strlen(of));
    size_t na = (size_t)(x->m * x->k), nb = (size_t)(x->n * x->k), no = (size_t)(x->m * x->n);
    enum dtype dout = x->half ? DT_BF16 : DT_F32;
    size_t each = dtype_info[dout].bytes;
    char *out = arena_alloc(&x->arena, no * each);
    char *a = product_numbers(&x->arena, da, na, 0), *b = product_numbers(&x->arena, db, nb, 12345),
         *c = product_numbers(&x->arena, DT_F32, no, 777);
    na *= dtype_info[da].bytes, nb *= dtype_info[db].bytes;
    struct ref_buf bufs[4] = {{.p = a, .bytes = na, .name = "a"},
                              {.p = b, .bytes = nb, .name = "b"},
                              {.p = out, .bytes = no * each, .name = "out"},
                              {.p = c, .bytes = no * 4, .name = "c"}};
    if (en) {
        const struct linear *lin = &x->lin;
        const struct ekernel *k;
        if (engine_compile(en, &x->err, &lin, 1, &k)) FAIL("%s\n%s", x->opts, x->err.msg);
        cuda_run(en, k, (void *[]){a, b, out, c}, (size_t[]){na, nb, no * each, no * 4}, NULL);
    } else if (ref_linear(&x->err, &x->lin, bufs, x->plus ? 4 : 3, NULL, 0, x->lin.grid)) {
        FAIL("%s\n%s", x->opts, x->err.msg);
    }
    int *pa = arena_array(&x->arena, int, x->m * x->k), *pb = arena_array(&x->arena, int, x->n * x->k);
    for (int64_t i = 0; i < x->m * x->k; i++) pa[i] = product_small((uint64_t)i);
    for (int64_t i = 0; i < x->n * x->k; i++) pb[i] = product_small((uint64_t)i + 12345);
    for (int64_t i = 0; i < x->m; i++)
        for (int64_t j = 0; j < x->n; j++) {
            int sum = x->plus ? product_small((uint64_t)(i * x->n + j) + 777) : 0;
            for (int64_t k = 0; k < x->k; k++)
                sum += pa[x->ta ? k * x->m + i : i * x->k + k] * pb[x->tb ? j * x->k + k : k * x->n + j];
            double got = ref_number(dout, ref_read(dout, out + (size_t)(i * x->n + j) * each));
            if (got != dt_round(dout, sum))
                FAIL("%s\nelement %lld, %lld is %g, not %d", x->opts, (long long)i, (long long)j, got, sum);
        }
    arena_free(&x->arena);
}

#endif
