/* Tests of attention in one pass (src/codegen/stream.c) and as block programs with chained matrix instructions: the kernel
 * that the planner writes, under lists of opts, in the interpreter, which runs every thread, against plain loops here. */
#include <math.h>

#include "codegen/codegen.h"
#include "irtest.h"
#include "ref/ref.h"
#include "rules/rules.h"

struct att {
    int64_t heads, group, t, s, d; /* query heads for each head of k and v: group */
    bool causal, mask;
    const char *dt, *opts;
    /* the rest is made here */
    struct err err;
    struct arena arena;
    struct ir ir;
    struct program prog;
    struct linear lin;
};

/* Buffers: 0 out, 1 q, 2 k, 3 v, 4 lse, 5 mask. */
static void write_forward(struct att *x, struct str *s) {
    bool half = strcmp(x->dt, "f32") != 0;
    const char *up = half ? "(CAST<f32> " : "", *end = half ? ")" : "";
    long long h = x->heads * x->group, t = x->t, k = x->s, d = x->d, first = x->s > x->t ? x->s - x->t : 0;
    str_printf(s, "kernel att\ni0 = (RANGE[i0 GRID 0] %lld)\ni1 = (RANGE[i1 GRID 1] %lld)\n", h, t);
    str_printf(s, "i2 = (RANGE[i2 LOOP 2] %lld)\nk3 = (RANGE[k3 REDUCE 4] %lld)\n", d, d);
    for (int i = 0; i < 4; i++)
        str_printf(s, "k4%s = (RANGE[k4 REDUCE 3 %d] %lld)\n", (const char *[]){"", "1", "2", "3"}[i], i, k);
    str_printf(s, "k5 = (RANGE[k5 REDUCE 5] %lld)\nb0 = (PARAM<%s>[0 b0] %lld)\n", k, x->dt, h * t * d);
    str_printf(s, "b1 = (PARAM<%s>[1 b1] %lld)\nb4 = (PARAM<f32>[4 b4] %lld)\n", x->dt, h * t * d, h * t);
    str_printf(s, "b2 = (PARAM<%s>[2 b2] %lld)\nb3 = (PARAM<%s>[3 b3] %lld)\n", x->dt,
               (long long)x->heads * k * d, x->dt, (long long)x->heads * k * d);
    str_printf(s, "head = (MUL (IDIV i0 %lld) %lld)\nrow = (ADD i1 (MUL i0 %lld))\n", (long long)x->group,
               k * d, t);
    str_printf(s, "q = %s(LOAD (INDEX b1 (ADD k3 (MUL row %lld))))%s\n", up, d, end);
    str_printf(s, "k = %s(LOAD (INDEX b2 (ADD k3 (ADD head (MUL k4 %lld)))))%s\n", up, d, end);
    str_printf(s, "x = (MUL (REDUCE[ADD] (MUL q k) k3) 0.25)\n");
    if (x->mask) {
        str_printf(s, "b5 = (PARAM<f32>[5 b5] %lld)\n", t * k);
        str_printf(s, "xm = (ADD x (LOAD (INDEX b5 (ADD k4 (MUL i1 %lld)))))\n", k);
    }
    const char *score = x->mask ? "xm" : "x";
    if (x->causal)
        str_printf(s, "sc = (WHERE (LT k4 (ADD i1 %lld)) %s -inf)\n", first + 1, score);
    else
        str_printf(s, "sc = (MUL %s 1.0)\n", score);
    str_printf(s, "keep0 = (STAGE[keep0 SCRATCH] sc k4)\nm = (REDUCE[MAX] (LOAD (INDEX keep0 k41)) k41)\n"
                  "m0 = (WHERE (EQ m -inf) 0.0 m)\ne = (EXP2 (SUB (LOAD (INDEX keep0 k42)) m0))\n");
    if (x->causal)
        str_printf(s, "w = (WHERE (LT k42 (ADD i1 %lld)) e 0.0)\n", first + 1);
    else
        str_printf(s, "w = (MUL e 1.0)\n");
    str_printf(s,
               "keep1 = (STAGE[keep1 SCRATCH] w k42)\nl = (REDUCE[ADD] (LOAD (INDEX keep1 k43)) k43)\n"
               "l1 = (WHERE (EQ l 0.0) 1.0 l)\np = %s%s%s%s(LOAD (INDEX keep1 k5))%s%s\n",
               up, half ? "(CAST<" : "", half ? x->dt : "", half ? "> " : "", end, end);
    str_printf(s, "v = %s(LOAD (INDEX b3 (ADD i2 (ADD head (MUL k5 %lld)))))%s\n", up, d, end);
    str_printf(
        s, "o = (FDIV (REDUCE[ADD] (MUL p v) k5) l1)\n(SINK (STORE (INDEX b0 (ADD i2 (MUL row %lld))) ", d);
    if (half) str_printf(s, "(CAST<%s> o)", x->dt);
    str_printf(s, "%s) (STORE (INDEX b4 row) (ADD m0 (LOG2 l1))))\n", half ? "" : "o");
}

static void compile(void *p) {
    struct att *x = p;
    struct str s;
    ir_init(&x->ir, &x->arena);
    str_init(&s, &x->arena);
    write_forward(x, &s);
    ir_parse(&x->ir, s.p, s.n, "attention.uop", &x->prog);
    struct lower_opts o = {.opts = x->opts, .keep_math = true, .vec_bytes = 16, .narrow = true};
    lower(&x->ir, &x->prog.kernel.p[0], &o, &x->lin);
}

static double draw(uint64_t *seed) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(*seed >> 40) / (1 << 23) - 1;
}

struct tensor {
    char *p;
    enum dtype dt;
    size_t n;
};

static struct tensor filled(struct att *x, const char *type, int64_t n, uint64_t seed, double scale) {
    struct tensor t = {.dt = dt_parse(type, strlen(type)), .n = (size_t)n};
    size_t bytes = dtype_info[t.dt].bytes;
    t.p = arena_alloc(&x->arena, t.n * bytes);
    for (size_t i = 0; i < t.n; i++)
        ref_write(t.dt, t.p + i * bytes, (union ref_val){.f = draw(&seed) * scale});
    return t;
}

static double at(const struct tensor *t, int64_t i) {
    return ref_read(t->dt, t->p + (size_t)i * dtype_info[t->dt].bytes).f;
}

/* The row of head h and query i, in double; size[j]: the sum of |weight * v|, which roundings are measured by. */
static double expected(struct att *x, const struct tensor *b, int64_t h, int64_t i, double *o, double *size) {
    int64_t d = x->d, row = h * x->t + i, head = h / x->group * x->s, first = x->s > x->t ? x->s - x->t : 0;
    int64_t end = x->causal && first + i + 1 < x->s ? first + i + 1 : x->s;
    double *w = arena_array(&x->arena, double, end), m = -INFINITY, l = 0;
    for (int64_t k = 0; k < end; k++) {
        w[k] = 0;
        for (int64_t j = 0; j < d; j++) w[k] += at(&b[1], row * d + j) * at(&b[2], (head + k) * d + j);
        w[k] = w[k] * 0.25 + (x->mask ? at(&b[5], i * x->s + k) : 0);
        m = fmax(m, w[k]);
    }
    for (int64_t k = 0; k < end; k++) l += w[k] = exp2(w[k] - m);
    for (int64_t j = 0; j < d; j++) {
        o[j] = size[j] = 0;
        for (int64_t k = 0; k < end; k++) {
            double y = w[k] / l * at(&b[3], (head + k) * d + j);
            o[j] += y, size[j] += fabs(y);
        }
    }
    return m + log2(l);
}

static void check(struct att *x) {
    arena_init(&x->arena, &x->err);
    if (err_guard(&x->err, compile, x))
        FAIL("T %lld, S %lld, D %lld: %s\n%s", (long long)x->t, (long long)x->s, (long long)x->d, x->opts,
             x->err.msg);
    int64_t h = x->heads * x->group, q = h * x->t, kv = x->heads * x->s * x->d;
    double eps = strcmp(x->dt, "f32") ? strcmp(x->dt, "f16") ? 0x1p-8 : 0x1p-11 : 0x1p-20;
    struct tensor b[6] = {filled(x, x->dt, q * x->d, 1, 0), filled(x, x->dt, q * x->d, 2, 2),
                          filled(x, x->dt, kv, 3, 2),       filled(x, x->dt, kv, 4, 1),
                          filled(x, "f32", q, 5, 0),        filled(x, "f32", x->t * x->s, 6, 3)};
    struct ref_buf bufs[6];
    for (int i = 0; i < 6; i++)
        bufs[i] = (struct ref_buf){.p = b[i].p, .bytes = b[i].n * dtype_info[b[i].dt].bytes, .name = "b"};
    if (ref_linear(&x->err, &x->lin, bufs, x->mask ? 6 : 5, NULL, 0, x->lin.grid))
        FAIL("%s\n%s", x->opts, x->err.msg);
    double *o = arena_array(&x->arena, double, 2 * x->d), *size = o + x->d;
    for (int64_t i = 0; i < q; i++) {
        double lse = expected(x, b, i / x->t, i % x->t, o, size), got = at(&b[4], i);
        if (!(fabs(got - lse) <= 1e-4))
            FAIL("%s\nlse of row %lld is %g, not %g", x->opts, (long long)i, got, lse);
        for (int64_t j = 0; j < x->d; j++) {
            got = at(&b[0], i * x->d + j);
            if (!(fabs(got - o[j]) <= eps * (size[j] + fabs(o[j])) + 1e-5))
                FAIL("%s\nT %lld, S %lld, row %lld, column %lld is %g, not %g", x->opts, (long long)x->t,
                     (long long)x->s, (long long)i, (long long)j, got, o[j]);
        }
    }
    arena_free(&x->arena);
}

/* One pass over the keys instead of rows: blocks of any size, in loops and written out. */
TEST(stream_is_attention) {
    static const char *const opts[] = {"", "TILE(i1,16,m) STREAM(k4,32,kn,k5) ORDER(k4,kn,i2)",
                                       "STREAM(k4,16,kn,k5) ORDER(k4,i2,kn)",
                                       "TILE(i1,8,m) STREAM(k4,16,kn,k5) ORDER(k4,kn,i2) UNROLL(kn)"};
    static const int64_t size[][2] = {{40, 40}, {33, 33}, {20, 70}, {70, 33}};
    for (size_t o = 0; o < RG_COUNT(opts); o++)
        for (size_t i = 0; i < RG_COUNT(size); i++)
            for (int n = 0; n < 4; n++) {
                struct att x = {.heads = 2,
                                .group = 1 + n / 2,
                                .t = size[i][0],
                                .s = size[i][1],
                                .d = 12,
                                .causal = n & 1,
                                .mask = n == 2,
                                .dt = n == 3 ? "bf16" : "f32",
                                .opts = opts[o]};
                check(&x);
            }
}

/* A block of query rows by one or two groups of warps: both products by matrix instructions, the weights of the second one
 * straight from the registers of the first. */
static const char *group_opts(struct arena *a, const char *dt, int64_t t, int d, int rows, int keys,
                              int places) {
    const char *h = strcmp(dt, "f16") ? "BF16" : "F16";
    const char *m = rows == 64 ? "TILE(i1,64,m)" : "TILE(i1,128,m0) TILE(m0,64,m) LANE(m0)";
    return arena_printf(
        a,
        "PADTO(i1,%d) %s STREAM(k4,%d,kn,k5) TC(m,kn,k3,W%s_%d) TC(m,i2,kn,WR%s_%d) "
        "STAGE(b1,%s,%sm,k3) TILE(b1.k3,8,qv) VEC(qv) STAGE(b2,k4,kn,k3) TILE(b2.k3,8,kv) VEC(kv) "
        "STAGE(b3,k4,kn,i2) TILE(b3.i2,8,vv) VEC(vv) PIPE(b2,k4,%d) PIPE(b3,k4,%d)",
        rows, m, keys, h, keys, h, d, t > rows ? "i1" : "i0", rows == 64 ? "" : "m0+", places, places);
}

TEST_SLOW(attention_of_groups, 300) {
    static const int64_t size[][2] = {{128, 256}, {130, 200}, {70, 300}, {300, 140}};
    struct err err = {0};
    struct arena arena;
    arena_init(&arena, &err);
    for (size_t i = 0; i < RG_COUNT(size); i++)
        for (int n = 0; n < 4; n++) {
            int keys = n & 1 ? 128 : 64, d = n < 2 ? 64 : 128, rows = (n + (int)i) & 1 ? 128 : 64;
            struct att x = {.heads = 1,
                            .group = 1 + n % 2,
                            .t = size[i][0],
                            .s = size[i][1],
                            .d = d,
                            .causal = n != 0,
                            .mask = n == 2,
                            .dt = n == 3 ? "f16" : "bf16"};
            x.opts = group_opts(&arena, x.dt, x.t, d, rows, keys, 2 + n % 2);
            check(&x);
        }
    arena_free(&arena);
}

TEST(stream_says_why) {
    static const struct {
        const char *opts, *why;
    } bad[] = {{"STREAM(k4,64,kn,k5)", "one block"},
               {"STREAM(k4,16,kn)", "is not read at the place"},
               {"STREAM(i1,16,kn)", "not one of passes over a row"},
               {"STREAM(k4,16,kn,k3)", "not one of passes over a row"}};
    for (size_t i = 0; i < RG_COUNT(bad); i++) {
        struct att x = {.heads = 1, .group = 1, .t = 40, .s = 40, .d = 12, .dt = "f32", .opts = bad[i].opts};
        arena_init(&x.arena, &x.err);
        CHECK(err_guard(&x.err, compile, &x) == RG_EOPT);
        if (!strstr(x.err.msg, bad[i].why)) FAIL("%s: %s", bad[i].opts, x.err.msg);
        arena_free(&x.arena);
    }
}
