/* Tests of block programs (src/codegen/block.c): products cut into tiles of threads, in the interpreter, which runs
 * every thread and finds races, against plain loops written here; exact, because the numbers are small integers. That the
 * interpreter does find a missing barrier, and a thread that does not come to one. */
#include "test.h"

#include "codegen/codegen.h"
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

static void compile(void *p) {
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
    struct lower_opts o = {.opts = x->opts, .keep_math = true, .vec_bytes = 16};
    lower(&x->ir, &x->prog.kernel.p[0], &o, &x->lin);
}

static int small(uint64_t i) { return (int)(i * 2654435761u >> 13 & 7) - 3; }

/* Runs it whole and compares every element. */
static void check_product(struct product *x) {
    arena_init(&x->arena, &x->err);
    if (err_guard(&x->err, compile, x)) FAIL("%s", x->err.msg);
    enum dtype dt = dt_parse(x->dt, strlen(x->dt));
    size_t na = (size_t)(x->m * x->k), nb = (size_t)(x->n * x->k), no = (size_t)(x->m * x->n),
           bytes = dtype_info[dt].bytes;
    char *a = arena_alloc(&x->arena, na * bytes), *b = arena_alloc(&x->arena, nb * bytes);
    float *out = arena_array(&x->arena, float, no);
    for (size_t i = 0; i < na; i++) ref_write(dt, a + i * bytes, (union ref_val){.f = small(i)});
    for (size_t i = 0; i < nb; i++) ref_write(dt, b + i * bytes, (union ref_val){.f = small(i + 12345)});
    struct ref_buf bufs[3] = {{.p = a, .bytes = na * bytes, .name = "a"},
                              {.p = b, .bytes = nb * bytes, .name = "b"},
                              {.p = out, .bytes = no * 4, .name = "out"}};
    if (ref_linear(&x->err, &x->lin, bufs, 3, NULL, 0, x->lin.grid)) FAIL("%s\n%s", x->opts, x->err.msg);
    for (int64_t i = 0; i < x->m; i++)
        for (int64_t j = 0; j < x->n; j++) {
            int sum = 0;
            for (int64_t k = 0; k < x->k; k++)
                sum += small((uint64_t)(x->ta ? k * x->m + i : i * x->k + k)) *
                       small((uint64_t)(x->tb ? j * x->k + k : k * x->n + j) + 12345);
            if (out[i * x->n + j] != (float)sum)
                FAIL("%s\nelement %lld, %lld is %g, not %d", x->opts, (long long)i, (long long)j,
                     out[i * x->n + j], sum);
        }
    arena_free(&x->arena);
}

static const char simt[] =
    "TILE(m,16,m1) TILE(m1,8,m2) TILE(m2,4,m3) TILE(m3,2,m4) TILE(n,32,n1) TILE(n1,16,n2) TILE(n2,8,n3) "
    "TILE(n3,4,n4) TILE(k,8,k1) LANE(m1) LANE(n1) LANE(m3) LANE(n3) ORDER(m1,n1,m3,n3) REG(m2) REG(m4) "
    "REG(n2) VEC(n4) UNROLL(k1) STAGE(a,k,k1,m1+m2+m3+m4) STAGE(b,k,k1,n1+n2+n3+n4)";

TEST(block_products) {
    static const int64_t size[][3] = {{32, 64, 24}, {16, 32, 16}, {31, 45, 13}, {17, 33, 9}, {64, 32, 40}};
    static const char *const fill[] = {"", " TILE(a.k1,4,av) VEC(av) TILE(b.n1,4,bv) VEC(bv)",
                                       " TILE(a.m1,4,av) VEC(av) TILE(b.k1,2,bv) VEC(bv)"};
    for (size_t i = 0; i < RG_COUNT(size); i++)
        for (int t = 0; t < 4; t++)
            for (size_t f = 0; f < RG_COUNT(fill); f++) {
                char opts[1024];
                snprintf(opts, sizeof opts, "%s%s", simt, fill[f]);
                struct product x = {.m = size[i][0],
                                    .n = size[i][1],
                                    .k = size[i][2],
                                    .ta = t & 1,
                                    .tb = t >> 1,
                                    .dt = "f32",
                                    .opts = opts};
                check_product(&x);
            }
}

/* One tile per block: a transposition. Its threads are 8 x 8, the last tiles are cut off. */
TEST(block_transpose) {
    static const char text[] =
        "kernel turn\nx = (PARAM<f32>[0 x] 2340)\nout = (PARAM<f32>[1 out] 2340)\n"
        "i = (RANGE[i GRID 0] 52)\nj = (RANGE[j GRID 1] 45)\n"
        "(SINK (STORE (INDEX out (ADD (MUL i 45) j)) (LOAD (INDEX x (ADD (MUL j 52) i)))))\n";
    struct product x = {.opts = "TILE(i,16,i1) TILE(i1,2,i2) TILE(j,16,j1) TILE(j1,2,j2) LANE(i1) LANE(j1) "
                                "UNROLL(i2) UNROLL(j2) STAGE(x,j,j1+j2,i1+i2)"};
    float in[2340], out[2340];
    arena_init(&x.arena, &x.err);
    ir_init(&x.ir, &x.arena);
    ir_parse(&x.ir, text, sizeof text - 1, "turn.uop", &x.prog);
    struct lower_opts o = {.opts = x.opts, .vec_bytes = 16};
    lower(&x.ir, &x.prog.kernel.p[0], &o, &x.lin);
    for (int i = 0; i < 2340; i++) in[i] = (float)i;
    struct ref_buf bufs[2] = {{.p = in, .bytes = sizeof in}, {.p = out, .bytes = sizeof out}};
    if (ref_linear(&x.err, &x.lin, bufs, 2, NULL, 0, x.lin.grid)) FAIL("%s", x.err.msg);
    for (int i = 0; i < 52; i++)
        for (int j = 0; j < 45; j++) CHECK(out[i * 45 + j] == (float)(j * 52 + i));
    CHECK_EQ(x.lin.threads, 64);
    CHECK_EQ(x.lin.shared, (16 * 20 * 4 + 127) / 128 * 128); /* rows of 16 padded to 20 */
    arena_free(&x.arena);
}

/* Without any one of its barriers the program is refused. */
TEST(block_missing_barriers_are_found) {
    struct product x = {.m = 32, .n = 32, .k = 24, .dt = "f32", .opts = simt};
    float a[32 * 24] = {0}, b[32 * 24] = {0}, out[32 * 32];
    struct ref_buf bufs[3] = {
        {.p = a, .bytes = sizeof a}, {.p = b, .bytes = sizeof b}, {.p = out, .bytes = sizeof out}};
    arena_init(&x.arena, &x.err);
    if (err_guard(&x.err, compile, &x)) FAIL("%s", x.err.msg);
    uint32_t found = 0;
    for (uint32_t i = 0; i < x.lin.n; i++) {
        if (x.lin.u[i]->op != OP_BARRIER) continue;
        struct linear less = x.lin;
        less.u = arena_array(&x.arena, const uop *, x.lin.n);
        less.n = 0;
        for (uint32_t k = 0; k < x.lin.n; k++)
            if (k != i) less.u[less.n++] = x.lin.u[k];
        CHECK_EQ(ref_linear(&x.err, &less, bufs, 3, NULL, 0, 1), RG_EVERIFY);
        CHECK(strstr(x.err.msg, "no barrier is between"));
        err_clear(&x.err);
        found++;
    }
    CHECK_EQ(found, 2);
    arena_free(&x.arena);
}

TEST(block_opts_say_why) {
    static const struct {
        const char *opts, *says;
    } bad[] = {
        {"LANE(k)", "does not come from the grid"},
        {"TILE(m,8,i) REG(i) LANE(i)", "already written out"},
        {"LANE(m) LANE(n)", "a block would have 2304 threads"},
        {"TILE(m,8,i) LANE(i) STAGE(a,k,i)", "depends on axis"},
    };
    for (size_t i = 0; i < RG_COUNT(bad); i++) {
        struct product x = {.m = 48, .n = 48, .k = 32, .dt = "f32", .opts = bad[i].opts};
        arena_init(&x.arena, &x.err);
        int code = err_guard(&x.err, compile, &x);
        if (i + 1 < RG_COUNT(bad) && (code != RG_EOPT || !strstr(x.err.msg, bad[i].says)))
            FAIL("%s: %s", bad[i].opts, x.err.msg);
        arena_free(&x.arena);
    }
}
