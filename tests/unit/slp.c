/* Tests of superword-level parallelism (codegen/lower/slp.c): epilogues of dot products whose lanes run along the reduction.
 * The program is interpreted and compared with values computed here in double; functions of scalars are counted: none is left. */
#include "codegen/codegen.h"
#include "irtest.h"
#include "ref/ref.h"

#include <math.h>
#include <stdlib.h>

struct slp_case {
    struct err err;
    struct arena arena;
    struct ir ir;
    const char *text, *opts;
    int vec_bytes;
    struct program prog;
    struct linear plain, fast;
};

static void lower_slp(void *arg) {
    struct slp_case *t = arg;
    struct lower_opts o = {.opts = "", .target = {.vec_bytes = t->vec_bytes, .keep_math = true}};
    ir_init(&t->ir, &t->arena);
    ir_parse(&t->ir, t->text, strlen(t->text), "slp", &t->prog);
    lower(&t->ir, &t->prog.kernel.p[0], &o, &t->plain);
    o.opts = t->opts;
    lower(&t->ir, &t->prog.kernel.p[0], &o, &t->fast);
}

/* Rows of k values times columns, and f of the results: m x n of them, tiles of 3 x 6, vectors along k. */
static struct slp_case *open_slp(const char *f, int vec_bytes, int64_t m, int64_t n, int64_t k) {
    static char text[1024];
    struct slp_case *t = calloc(1, sizeof *t);
    arena_init(&t->arena, &t->err);
    snprintf(text, sizeof text,
             "kernel dots\na = (PARAM<f32>[0 a] %lld)\nb = (PARAM<f32>[1 b] %lld)\nout = (PARAM<f32>[2 out] "
             "%lld)\ni = (RANGE[m GRID 0] %lld)\nj = (RANGE[n LOOP 1] %lld)\nk = (RANGE[k REDUCE 2] %lld)\n"
             "s = (REDUCE[ADD] (MUL (LOAD (INDEX a (ADD (MUL i %lld) k))) (LOAD (INDEX b (ADD (MUL j %lld) "
             "k)))) k)\n(SINK (STORE (INDEX out (ADD (MUL i %lld) j)) %s))\n",
             (long long)(m * k), (long long)(n * k), (long long)(m * n), (long long)m, (long long)n,
             (long long)k, (long long)k, (long long)k, (long long)n, f);
    t->text = text, t->vec_bytes = vec_bytes;
    t->opts = "TILE(m,3,mr) UNROLL(mr) TILE(n,6,nr) UNROLL(nr) TILE(k,4,kv) VEC(kv)";
    if (err_guard(&t->err, lower_slp, t)) FAIL("%s\n%s", t->err.msg, text);
    return t;
}

static void close_slp(struct slp_case *t) {
    arena_free(&t->arena);
    free(t);
}

/* Functions of the program whose results have one lane. */
static int scalar_functions(const struct linear *lin) {
    int n = 0;
    for (uint32_t i = 0; i < lin->n; i++) n += op_is_fn((enum op)lin->u[i]->op) && lin->u[i]->lanes == 1;
    return n;
}

static void run_slp(struct slp_case *t, const struct linear *lin, int64_t m, int64_t n, int64_t k,
                    float *out) {
    float *a = calloc((size_t)(m * k), 4), *b = calloc((size_t)(n * k), 4);
    for (int64_t i = 0; i < m * k; i++) a[i] = (float)sin((double)i * 0.7);
    for (int64_t i = 0; i < n * k; i++) b[i] = (float)cos((double)i * 0.3);
    struct ref_buf buf[3] = {{.p = (void *)a, .bytes = (size_t)(m * k) * 4},
                             {.p = (void *)b, .bytes = (size_t)(n * k) * 4},
                             {.p = (void *)out, .bytes = (size_t)(m * n) * 4}};
    if (ref_linear(&t->err, lin, buf, 3, NULL, 0, lin->grid)) FAIL("%s", t->err.msg);
    free(a), free(b);
}

static void check_slp(const char *f, double (*want)(double), int vec_bytes) {
    enum { M = 7, N = 20, K = 15 };
    struct slp_case *t = open_slp(f, vec_bytes, M, N, K);
    float out[M * N];
    CHECK(scalar_functions(&t->plain) > 0);
    CHECK_EQ(scalar_functions(&t->fast), 0);
    run_slp(t, &t->fast, M, N, K, out);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            double s = 0;
            for (int k = 0; k < K; k++)
                s += (double)(float)sin((i * K + k) * 0.7) * (double)(float)cos((j * K + k) * 0.3);
            double w = want(s);
            if (!(fabs(out[i * N + j] - w) <= 2e-5 * (1 + fabs(w))))
                FAIL("%s of vectors of %d bytes: (%d,%d) is %g, expected %g", f, vec_bytes, i, j,
                     out[i * N + j], w);
        }
    close_slp(t);
}

static double softplus(double x) { return log1p(exp(x)); }
static double square_of_exp(double x) { return exp(x) * exp(x) * 0.5; }

static double sum_of_products(double x) { return exp(x) * sin(x) + cos(x) * exp(-x); }

TEST(slp_functions_of_dot_products_are_vectors) {
    for (int bytes = 16; bytes <= 64; bytes *= 2) {
        check_slp("(EXP s)", exp, bytes);
        check_slp("(LOG (ADD (EXP s) 1.0))", softplus, bytes);
        check_slp("(MUL 0.5 (MUL (EXP s) (EXP s)))", square_of_exp, bytes);
        /* commutative operands stand in another order in each lane */
        check_slp("(ADD (MUL (EXP s) (SIN s)) (MUL (COS s) (EXP (NEG s))))", sum_of_products, bytes);
    }
}

/* What costs less than collecting its lanes stays as it is. */
TEST(slp_only_where_it_pays) {
    struct slp_case *t = open_slp("(MAX s 0.0)", 16, 7, 20, 15);
    int built = 0;
    for (uint32_t i = 0; i < t->fast.n; i++) built += t->fast.u[i]->op == OP_MAX && t->fast.u[i]->lanes > 1;
    CHECK_EQ(built, 0);
    close_slp(t);
}
