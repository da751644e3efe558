/* Tests of attention in one pass (src/codegen/opts/stream.c) and as block programs with chained MMA instructions: the kernel
 * that the planner writes, under lists of opts, in the interpreter, which runs every thread, against plain loops here. */
#include <math.h>

#include "tune/tune.h"
#include "cuda.h"
#include "irtest.h"
#include "ref/ref.h"
#include "rules/rules.h"

struct att {
    int64_t heads, group, t, s, d; /* query heads for each head of k and v: group */
    bool causal, mask, rendered;   /* as CUDA text, not in the interpreter */
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
    struct lower_opts o = {.opts = x->opts, .target = {.kind = TARGET_GPU, .keep_math = !x->rendered}};
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
    double *x; /* what it was filled with */
};

static struct tensor filled(struct att *x, const char *type, int64_t n, uint64_t seed, double scale) {
    struct tensor t = {.dt = dt_parse(type, strlen(type)), .n = (size_t)n};
    size_t bytes = dtype_info[t.dt].bytes;
    t.p = arena_alloc(&x->arena, t.n * bytes);
    t.x = arena_array(&x->arena, double, t.n);
    for (size_t i = 0; i < t.n; i++) {
        ref_write(t.dt, t.p + i * bytes, (union ref_val){.f = ref_round(t.dt, draw(&seed) * scale)});
        t.x[i] = ref_read(t.dt, t.p + i * bytes).f;
    }
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
        for (int64_t j = 0; j < d; j++) w[k] += b[1].x[row * d + j] * b[2].x[(head + k) * d + j];
        w[k] = w[k] * 0.25 + (x->mask ? b[5].x[i * x->s + k] : 0);
        m = fmax(m, w[k]);
    }
    for (int64_t k = 0; k < end; k++) l += w[k] = exp2(w[k] - m);
    for (int64_t j = 0; j < d; j++) o[j] = size[j] = 0;
    for (int64_t k = 0; k < end; k++)
        for (int64_t j = 0; j < d; j++) {
            double y = w[k] / l * b[3].x[(head + k) * d + j];
            o[j] += y, size[j] += fabs(y);
        }
    return m + log2(l);
}

/* What is wrong with the compiled kernel, run by the interpreter on numbers, in the arena; NULL: nothing. */
static const char *wrong(struct att *x) {
    int64_t h = x->heads * x->group, q = h * x->t, kv = x->heads * x->s * x->d;
    double eps = strcmp(x->dt, "f32") ? strcmp(x->dt, "f16") ? 0x1p-8 : 0x1p-11 : 0x1p-20;
    struct tensor b[6] = {filled(x, x->dt, q * x->d, 1, 0), filled(x, x->dt, q * x->d, 2, 2),
                          filled(x, x->dt, kv, 3, 2),       filled(x, x->dt, kv, 4, 1),
                          filled(x, "f32", q, 5, 0),        filled(x, "f32", x->t * x->s, 6, 3)};
    struct ref_buf bufs[6];
    for (int i = 0; i < 6; i++)
        bufs[i] = (struct ref_buf){.p = b[i].p, .bytes = b[i].n * dtype_info[b[i].dt].bytes, .name = "b"};
    if (ref_linear(&x->err, &x->lin, bufs, x->mask ? 6 : 5, NULL, 0, x->lin.grid)) return x->err.msg;
    double *o = arena_array(&x->arena, double, 2 * x->d), *size = o + x->d;
    for (int64_t i = 0; i < q; i++) {
        double lse = expected(x, b, i / x->t, i % x->t, o, size), got = at(&b[4], i);
        if (!(fabs(got - lse) <= 1e-4))
            return arena_printf(&x->arena, "lse of row %lld is %g, not %g", (long long)i, got, lse);
        for (int64_t j = 0; j < x->d; j++) {
            got = at(&b[0], i * x->d + j);
            if (!(fabs(got - o[j]) <= eps * (size[j] + fabs(o[j])) + 1e-5))
                return arena_printf(&x->arena, "T %lld, S %lld, row %lld, column %lld is %g, not %g",
                                    (long long)x->t, (long long)x->s, (long long)i, (long long)j, got, o[j]);
        }
    }
    return NULL;
}

static void check(struct att *x) {
    arena_init(&x->arena, &x->err);
    if (err_guard(&x->err, compile, x))
        FAIL("T %lld, S %lld, D %lld: %s\n%s", (long long)x->t, (long long)x->s, (long long)x->d, x->opts,
             x->err.msg);
    const char *why = wrong(x);
    if (why) FAIL("%s\n%s", x->opts, why);
    arena_free(&x->arena);
}

/* One pass over the keys instead of rows: blocks of any size, in loops and unrolled. */
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

/* A block of query rows by one or two warpgroups: both products by MMA instructions, the weights of the second one
 * straight from the registers of the first. */
static const char *group_opts(struct arena *a, const char *dt, int64_t t, int d, int rows, int keys,
                              int stages) {
    const char *h = strcmp(dt, "f16") ? "BF16" : "F16";
    const char *m =
        rows == 64 ? "TILE(i1,64,m)" : arena_printf(a, "TILE(i1,%d,m0) TILE(m0,64,m) THREAD(m0)", rows);
    return arena_printf(
        a,
        "PADTO(i1,%d) %s STREAM(k4,%d,kn,k5) TC(m,kn,k3,W%s_%d) TC(m,i2,kn,WR%s_%d) "
        "STAGE(b1,%s,%sm,k3) TILE(b1.k3,8,qv) VEC(qv) STAGE(b2,k4,kn,k3) TILE(b2.k3,8,kv) VEC(kv) "
        "STAGE(b3,k4,kn,i2) TILE(b3.i2,8,vv) VEC(vv) PIPE(b2,k4,%d) PIPE(b3,k4,%d)",
        rows, m, keys, h, keys, h, d, t > rows ? "i1" : "i0", rows == 64 ? "" : "m0+", stages, stages);
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

/* Warp-specialized: GEMMs of neighbouring iterations overlap, warpgroups ping-pong, blocks are persistent. */
TEST_SLOW(attention_warp_specialized, 300) {
    static const int64_t size[][2] = {{128, 256}, {300, 384}, {130, 128}, {384, 384}};
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
            if (x.s <= keys) continue;
            x.opts = arena_printf(&arena, "%s WARP_SPECIALIZE(1)%s",
                                  group_opts(&arena, x.dt, x.t, d, rows, keys, 2 + n % 2),
                                  i & 1 ? " PERSISTENT(2)" : "");
            check(&x);
        }
    arena_free(&arena);
}

/* Four warpgroups with blocks of 64 keys: a causal mask leaves the first of them three blocks less than the last, and more
 * keys than queries move all of them. One tile follows the other, or each begins on its own. */
TEST_SLOW(attention_of_groups_that_end_apart, 300) {
    struct err err = {0};
    struct arena arena;
    arena_init(&arena, &err);
    for (int i = 0; i < 3; i++) {
        struct att x = {.heads = 1 + i % 2,
                        .group = 1,
                        .t = 512,
                        .s = i == 2 ? 640 : 512,
                        .d = 64,
                        .causal = true,
                        .dt = "bf16"};
        const char *list = group_opts(&arena, x.dt, x.t, 64, 256, 64, 2 + i);
        x.opts =
            arena_printf(&arena, "%s%s WARP_SPECIALIZE(1) PERSISTENT(1)", list, i ? " PIPE(b1,i1,2)" : "");
        check(&x);
    }
    arena_free(&arena);
}

/* Lists that search may try in place of the heuristic's, of which it times some on the GPU: what is not refused gives the same
 * numbers, and no thread in it waits for ever. */
TEST_SLOW(attention_of_lists_around, 300) {
    enum { LISTS = 16 };
    uint32_t n = 0;
    for (int causal = 0; causal < 2; causal++) {
        struct att base = {.heads = 1, .group = 1, .t = 384, .s = 384, .d = 64, .dt = "bf16", .opts = ""};
        opts_vec lists;
        base.causal = causal;
        arena_init(&base.arena, &base.err);
        if (err_guard(&base.err, compile, &base)) FAIL("%s", base.err.msg);
        struct kernel *k = &base.prog.kernel.p[0];
        const char *own = opts_heuristic_gpu(&base.ir, k, GPU_OF_CC(90));
        CHECK(strstr(own, "WARP_SPECIALIZE(") && strstr(own, causal ? "TILE(i1,256," : "TILE(i1,128,"));
        opts_space(&base.ir, k, own, 16, 0, GPU_OF_CC(90), 1, LISTS, &lists);
        for (uint32_t i = 0; i < lists.n; i++) {
            struct att x = {.heads = 1, .group = 1, .t = 384, .s = 384, .d = 64, .dt = "bf16"};
            x.causal = causal, x.opts = lists.p[i];
            arena_init(&x.arena, &x.err);
            const char *why = err_guard(&x.err, compile, &x) ? NULL : wrong(&x);
            if (why) FAIL("%s\n%s", x.opts, why);
            n += !x.err.code;
            arena_free(&x.arena);
        }
        arena_free(&base.arena);
    }
    CHECK(n > LISTS);
    TEST_COUNT((int)n, "lists around those of attention");
}

/* Without any one statement of the protocol the program is refused, or waits without an end, which is told. One group of
 * warps: with two their order is for speed alone. */
static void lose_one(bool flat) {
    static const enum op op[] = {OP_MBAR_INIT, OP_MBAR_ARRIVE, OP_MBAR_WAIT, OP_WGMMA_WAIT, OP_TMA_LOAD};
    struct att x = {.heads = 2, .group = 1, .t = 128, .s = 384, .d = 64, .causal = true, .dt = "bf16"};
    uint32_t found = 0, missed = 0;
    arena_init(&x.arena, &x.err);
    x.opts = arena_printf(&x.arena, "%s WARP_SPECIALIZE(1) PERSISTENT(1)%s",
                          group_opts(&x.arena, x.dt, x.t, 64, 64, 64, 2), flat ? " PIPE(b1,i0,2)" : "");
    if (err_guard(&x.err, compile, &x)) FAIL("%s", x.err.msg);
    int64_t q = x.heads * x.t, kv = x.heads * x.s * x.d;
    struct tensor b[5] = {filled(&x, "bf16", q * x.d, 1, 0), filled(&x, "bf16", q * x.d, 2, 2),
                          filled(&x, "bf16", kv, 3, 2), filled(&x, "bf16", kv, 4, 1),
                          filled(&x, "f32", q, 5, 0)};
    struct ref_buf bufs[5];
    for (int i = 0; i < 5; i++)
        bufs[i] = (struct ref_buf){.p = b[i].p, .bytes = b[i].n * dtype_info[b[i].dt].bytes, .name = "b"};
    for (uint32_t i = 0; i <= x.lin.n; i++) { /* the last time: all of it */
        bool one = i == x.lin.n;
        for (size_t k = 0; k < RG_COUNT(op) && !one; k++) one = x.lin.u[i]->op == op[k];
        if (!one) continue;
        struct linear less = linear_without(&x.arena, &x.lin, i);
        int code = ref_linear(&x.err, &less, bufs, 5, NULL, 0, less.grid);
        found++;
        if (i < x.lin.n && code != RG_EVERIFY) {
            missed++;
            TEST_INFO("entry %u, %s %lld: not missed", i, op_info[x.lin.u[i]->op].name,
                      (long long)x.lin.u[i]->arg.i);
        }
        if (i == x.lin.n && code) FAIL("%s", x.err.msg);
        err_clear(&x.err);
    }
    CHECK(found > 20);
    CHECK(missed <= flat); /* the first of two stages of q is free before it is needed, if loops are long */
    arena_free(&x.arena);
}

TEST_SLOW(attention_protocol, 300) {
    lose_one(false);
    lose_one(true);
}

/* Where a tile of a MMA instruction begins is counted in pieces of 16 bytes without a sign. So nothing that counts down may be
 * divided alone: of two tiles of keys the last one lies at one minus the block's stage. */
TEST(attention_tiles_start_at_positive_offsets) {
    struct att x = {
        .heads = 1, .group = 1, .t = 256, .s = 256, .d = 128, .causal = true, .rendered = true, .dt = "bf16"};
    struct render_shape shape;
    struct str text;
    int tiles = 0;
    arena_init(&x.arena, &x.err);
    x.opts =
        arena_printf(&x.arena, "%s WARP_SPECIALIZE(1)", group_opts(&x.arena, x.dt, x.t, 128, 128, 128, 2));
    if (err_guard(&x.err, compile, &x)) FAIL("%s", x.err.msg);
    str_init(&text, &x.arena);
    render_cuda(&text, &x.ir, &x.lin, true, &shape);
    for (const char *p = text.p; (p = strstr(p, "\"l\"(smem_desc(P"));) {
        p += strcspn(p, "+");
        if (strncmp(p, "+ (u32)(v", 9)) continue; /* a number, or the loop's own count */
        tiles++;
        size_t name = strspn(p += strlen("+ (u32)("), "v0123456789");
        const char *def = strstr(text.p, arena_printf(&x.arena, "const i32 %.*s = ", (int)name, p));
        if (!def) FAIL("%.40s is not found", p);
        const char *negative = strstr(def, "(-");
        if (negative && negative < strchr(def, '\n')) FAIL("%.30s divides %.40s", p, def);
    }
    CHECK(tiles > 0);
    arena_free(&x.arena);
}

/* A pipeline of twice the memory that a block may have: it is lowered all the same, with its true size. */
TEST(attention_with_too_many_stages) {
    struct att x = {.heads = 1, .group = 1, .t = 512, .s = 2048, .d = 128, .causal = true, .dt = "bf16"};
    arena_init(&x.arena, &x.err);
    x.opts = arena_printf(&x.arena, "%s WARP_SPECIALIZE(1) PERSISTENT(2)",
                          group_opts(&x.arena, x.dt, x.t, 128, 128, 128, 8));
    if (err_guard(&x.err, compile, &x)) FAIL("%s", x.err.msg);
    CHECK(x.lin.shared >= 8 * 2 * 128 * 128 * 2 && x.lin.shared < 600 << 10);
    arena_free(&x.arena);
}

TEST(stream_says_why) {
    static const struct {
        const char *opts, *why;
    } bad[] = {{"STREAM(k4,64,kn,k5)", "one block"},
               {"STREAM(k4,16,kn)", "is not read at the current position"},
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

/* ---- gradients, and what the heuristic writes ------------------------------------------------------------------- */

/* dQ, of heads x T queries and as many keys. Buffers: 0 dQ, 1 D, 2 dO, 3 v, 4 k, 5 q, 6 lse. */
static void write_dq(struct str *s, int64_t h, int64_t t, int64_t d, bool causal) {
    long long n = h * t * d, r = h * t, T = t, D = d;
    str_printf(s, "kernel dq\ni0 = (RANGE[i0 GRID 0] %lld)\ni1 = (RANGE[i1 GRID 1] %lld)\n", (long long)h, T);
    str_printf(s, "i2 = (RANGE[i2 LOOP 2] %lld)\nk4 = (RANGE[k4 REDUCE 3] %lld)\n", D, T);
    str_printf(s, "k3 = (RANGE[k3 REDUCE 4] %lld)\nk5 = (RANGE[k5 REDUCE 5] %lld)\n", D, T);
    for (int i = 0; i < 7; i++)
        str_printf(s, "b%d = (PARAM<%s>[%d b%d] %lld)\n", i, i == 1 || i == 6 ? "f32" : "bf16", i, i,
                   i == 1 || i == 6 ? r : n);
    str_printf(s, "head = (MUL i0 %lld)\nrow = (ADD i1 (MUL i0 %lld))\n", T * D, T);
    str_printf(s, "g = (LT k4 (ADD i1 %lld))\nat = (ADD k3 (MUL row %lld))\n", causal ? 1 : T, D);
    str_printf(s, "key = (ADD k3 (ADD head (MUL k4 %lld)))\n", D);
    str_printf(
        s, "dp = (REDUCE[ADD] (MUL (CAST<f32> (LOAD (INDEX b2 at))) (CAST<f32> (LOAD (INDEX b3 key)))) k3)\n"
           "sc = (REDUCE[ADD] (MUL (CAST<f32> (LOAD (INDEX b5 at))) (CAST<f32> (LOAD (INDEX b4 key)))) k3)\n"
           "p = (WHERE g (EXP2 (SUB (WHERE g (MUL sc 0.25) -inf) (LOAD (INDEX b6 row)))) 0.0)\n"
           "ds = (WHERE g (MUL (ADD (LOAD (INDEX b1 row)) dp) p) 0.0)\n"
           "keep0 = (STAGE[keep0 SCRATCH] (MUL ds 0.125) k4)\n");
    str_printf(
        s,
        "o = (REDUCE[ADD] (MUL (CAST<f32> (CAST<bf16> (LOAD (INDEX keep0 k5)))) (CAST<f32> (LOAD (INDEX b4 "
        "(ADD i2 (ADD head (MUL k5 %lld))))))) k5)\n"
        "(SINK (STORE (INDEX b0 (ADD i2 (MUL row %lld))) (CAST<bf16> o)))\n",
        D, D);
}

/* dK and dV. Buffers: 0 dK, 1 q, 2 k, 3 lse, 4 D, 5 dO, 6 v, 7 dV. */
static void write_dkv(struct str *s, int64_t h, int64_t t, int64_t d, bool causal) {
    long long n = h * t * d, r = h * t, T = t, D = d;
    str_printf(s, "kernel dkv\ni0 = (RANGE[i0 GRID 0] %lld)\ni1 = (RANGE[i1 GRID 1] %lld)\n", (long long)h,
               T);
    str_printf(s, "i2 = (RANGE[i2 LOOP 2] %lld)\nk4 = (RANGE[k4 REDUCE 3] %lld)\n", D, T);
    str_printf(s, "k41 = (RANGE[k4 REDUCE 3 1] %lld)\nk3 = (RANGE[k3 REDUCE 4] %lld)\n", T, D);
    str_printf(s, "k5 = (RANGE[k5 REDUCE 5] %lld)\nk6 = (RANGE[k6 REDUCE 6] %lld)\n", D, T);
    for (int i = 0; i < 8; i++)
        str_printf(s, "b%d = (PARAM<%s>[%d b%d] %lld)\n", i, i == 3 || i == 4 ? "f32" : "bf16", i, i,
                   i == 3 || i == 4 ? r : n);
    str_printf(s, "head = (MUL i0 %lld)\nrows = (MUL i0 %lld)\nmine = (ADD head (MUL i1 %lld))\n", T * D, T,
               D);
    str_printf(s, "g = (LT i1 (ADD k4 %lld))\ng1 = (LT i1 (ADD k41 %lld))\n", causal ? 1 : T, causal ? 1 : T);
    str_printf(s,
               "sc = (REDUCE[ADD] (MUL (CAST<f32> (LOAD (INDEX b2 (ADD k3 mine)))) (CAST<f32> (LOAD (INDEX "
               "b1 (ADD k3 "
               "(ADD head (MUL k4 %lld))))))) k3)\n",
               D);
    str_printf(s,
               "keep0 = (STAGE[keep0 SCRATCH] (WHERE g (EXP2 (SUB (WHERE g (MUL sc 0.25) -inf) (LOAD (INDEX "
               "b3 (ADD k4 "
               "rows))))) 0.0) k4)\n"
               "dp = (REDUCE[ADD] (MUL (CAST<f32> (LOAD (INDEX b5 (ADD k5 (ADD head (MUL k41 %lld)))))) "
               "(CAST<f32> (LOAD "
               "(INDEX b6 (ADD k5 mine))))) k5)\n",
               D);
    str_printf(s,
               "keep1 = (STAGE[keep1 SCRATCH] (MUL (WHERE g1 (MUL (LOAD (INDEX keep0 k41)) (ADD (LOAD (INDEX "
               "b4 (ADD k41 "
               "rows))) dp)) 0.0) 0.125) k41)\nfrom = (ADD i2 (ADD head (MUL k6 %lld)))\n",
               D);
    str_printf(
        s,
        "dk = (REDUCE[ADD] (MUL (CAST<f32> (CAST<bf16> (LOAD (INDEX keep1 k6)))) (CAST<f32> (LOAD (INDEX b1 "
        "from)))) k6)\n"
        "dv = (REDUCE[ADD] (MUL (CAST<f32> (CAST<bf16> (LOAD (INDEX keep0 k6)))) (CAST<f32> (LOAD (INDEX b5 "
        "from)))) k6)\n"
        "(SINK (STORE (INDEX b0 (ADD i2 mine)) (CAST<bf16> dk)) (STORE (INDEX b7 (ADD i2 mine)) (CAST<bf16> "
        "dv)))\n");
}

/* Which buffer of a program is what; -1: none. */
static const struct parts {
    int q, k, v, back, mean, lse, dq, dk, dv; /* back: dO; mean: D */
} parts_of_dq = {5, 4, 3, 2, 1, 6, 0, -1, -1}, parts_of_dkv = {1, 2, 6, 5, 4, 3, -1, 0, 7};

static double *numbers(struct arena *a, const struct ref_buf *b, enum dtype dt) {
    size_t n = b->bytes / dtype_info[dt].bytes;
    double *x = arena_array(a, double, n);
    for (size_t i = 0; i < n; i++) x[i] = ref_read(dt, (char *)b->p + i * dtype_info[dt].bytes).f;
    return x;
}

static double bf16(double x) { return ref_round(DT_BF16, ref_round(DT_F32, x)); }

static void add_row(double *to, const double *row, double by, int64_t d) {
    for (int64_t i = 0; i < d; i++) to[i] += by * row[i];
}

static void put_numbers(const struct ref_buf *b, const double *x) {
    for (size_t i = 0; i < b->bytes / 2; i++)
        ref_write(DT_BF16, (char *)b->p + 2 * i, (union ref_val){.f = bf16(x[i])});
}

/* What the programs above say, by plain loops in double; what they keep is rounded to bf16. */
static void expect_gradients(struct arena *a, const struct parts *p, struct ref_buf *b, int64_t h, int64_t t,
                             int64_t d, bool causal) {
    double *q = numbers(a, &b[p->q], DT_BF16), *k = numbers(a, &b[p->k], DT_BF16),
           *v = numbers(a, &b[p->v], DT_BF16), *back = numbers(a, &b[p->back], DT_BF16),
           *mean = numbers(a, &b[p->mean], DT_F32), *lse = numbers(a, &b[p->lse], DT_F32);
    size_t n = (size_t)(h * t * d);
    double *dq = arena_array(a, double, n), *dk = arena_array(a, double, n), *dv = arena_array(a, double, n);
    for (int64_t at = 0; at < h * t * t; at++) {
        int64_t i = at / t, j = i / t * t + at % t, key = at % t, query = i % t; /* rows of all heads */
        double score = 0, dp = 0;
        if (causal && key > query) continue;
        for (int64_t c = 0; c < d; c++) score += q[i * d + c] * k[j * d + c];
        for (int64_t c = 0; c < d; c++) dp += back[i * d + c] * v[j * d + c];
        double w = exp2(score * 0.25 - lse[i]), ds = bf16((mean[i] + dp) * w * 0.125);
        add_row(dq + i * d, k + j * d, ds, d);
        add_row(dk + j * d, q + i * d, ds, d);
        add_row(dv + j * d, back + i * d, bf16(w), d);
    }
    if (p->dq >= 0) put_numbers(&b[p->dq], dq);
    if (p->dk >= 0) put_numbers(&b[p->dk], dk), put_numbers(&b[p->dv], dv);
}

struct both {
    void (*write)(struct str *, int64_t h, int64_t t, int64_t d, bool causal);
    int64_t t, d;
    bool causal;
    const char *opts; /* NULL: the heuristic's */
    int64_t heads;    /* 0: one */
    struct err err;
    struct arena arena;
    struct ir ir;
    struct program prog;
    struct linear block;
};

static void lower_both(void *p) {
    struct both *x = p;
    struct str s;
    ir_init(&x->ir, &x->arena);
    str_init(&s, &x->arena);
    x->write(&s, x->heads ? x->heads : 1, x->t, x->d, x->causal);
    ir_parse(&x->ir, s.p, s.n, "gradient.uop", &x->prog);
    const struct kernel *k = &x->prog.kernel.p[0];
    struct lower_opts o = {.target = {.kind = TARGET_GPU, .keep_math = true}};
    o.opts = x->opts ? x->opts : opts_heuristic_gpu(&x->ir, k, GPU_OF_CC(90));
    lower(&x->ir, k, &o, &x->block);
}

static void lower_and_verify(void *p) {
    struct both *x = p;
    lower_both(p);
    verify_linear(&x->ir, x->block.u, x->block.n);
}

/* Inputs of both; results apart. */
static void fill_buffers(struct both *x, int outputs, struct ref_buf *a, struct ref_buf *b, uint32_t *n) {
    uop_vec topo = {0};
    uop_topo(&x->arena, &x->prog.kernel.p[0].sink, 1, &topo);
    *n = 0;
    for (uint32_t i = 0; i < topo.n; i++) {
        const uop *u = topo.p[i];
        if (u->op != OP_PARAM) continue;
        uint32_t slot = u->arg.param.slot;
        size_t count = (size_t)u->src[0]->arg.i, bytes = dtype_info[u->dt].bytes;
        uint64_t seed = slot + 1;
        bool out = outputs >> slot & 1, f32 = u->dt == DT_F32;
        for (int k = 0; k < 2; k++) {
            char *p = k && !out ? a[slot].p : arena_alloc(&x->arena, count * bytes);
            for (size_t j = 0; j < count && !(k && !out); j++)
                ref_write((enum dtype)u->dt, p + j * bytes,
                          (union ref_val){.f = out ? 99 : draw(&seed) + (f32 ? 5 : 0)});
            (k ? b : a)[slot] = (struct ref_buf){.p = p, .bytes = count * bytes, .name = "b"};
        }
        *n = RG_MAX(*n, slot + 1);
    }
}

static void check_both(struct both *x, int outputs) {
    struct ref_buf a[8], b[8];
    uint32_t n;
    arena_init(&x->arena, &x->err);
    if (err_guard(&x->err, lower_both, x))
        FAIL("T %lld, D %lld: %s", (long long)x->t, (long long)x->d, x->err.msg);
    CHECK(x->block.threads >= 128 && x->block.shared);
    fill_buffers(x, outputs, a, b, &n);
    expect_gradients(&x->arena, x->write == write_dq ? &parts_of_dq : &parts_of_dkv, a, RG_MAX(x->heads, 1),
                     x->t, x->d, x->causal);
    if (ref_linear(&x->err, &x->block, b, n, NULL, 0, x->block.grid)) FAIL("%s", x->err.msg);
    for (uint32_t k = 0; k < n; k++) {
        if (!(outputs >> k & 1)) continue;
        double most = 0;
        for (size_t j = 0; j < a[k].bytes / 2; j++)
            most = fmax(most, fabs(ref_read(DT_BF16, (char *)a[k].p + 2 * j).f));
        CHECK(most > 0 && most < 50);
        for (size_t j = 0; j < a[k].bytes / 2; j++) {
            double want = ref_read(DT_BF16, (char *)a[k].p + 2 * j).f,
                   got = ref_read(DT_BF16, (char *)b[k].p + 2 * j).f;
            if (!(fabs(got - want) <= 0x1p-7 * fabs(want) + 0x1p-10 * most))
                FAIL("T %lld, D %lld, causal %d: number %zu of buffer %u is %g, not %g", (long long)x->t,
                     (long long)x->d, x->causal, j, k, got, want);
        }
    }
    arena_free(&x->arena);
}

/* dQ of q, k and v that lie side by side in one buffer, as one product for all three stores them: the product of q and k
 * first, or that of dO and v. */
static void write_packed_dq(struct str *s, int64_t t, int64_t d, bool scores_first) {
    long long T = t, D = d;
    str_printf(s, "kernel dq\ni1 = (RANGE[i1 GRID 1] %lld)\ni2 = (RANGE[i2 LOOP 2] %lld)\n", T, D);
    str_printf(s, "k4 = (RANGE[k4 REDUCE 3] %lld)\nk3 = (RANGE[k3 REDUCE 4] %lld)\n", T, D);
    str_printf(s, "k5 = (RANGE[k5 REDUCE 5] %lld)\nb0 = (PARAM<bf16>[0 b0] %lld)\n", T, T * D);
    str_printf(s, "b1 = (PARAM<bf16>[1 b1] %lld)\nb2 = (PARAM<bf16>[2 b2] %lld)\n", 3 * T * D, T * D);
    str_printf(s, "b3 = (PARAM<f32>[3 b3] %lld)\nb4 = (PARAM<f32>[4 b4] %lld)\n", T, T);
    str_printf(s, "at = (ADD k3 (MUL i1 %lld))\nkey = (ADD k3 (MUL k4 %lld))\n", 3 * D, 3 * D);
    str_printf(s,
               "sc = (REDUCE[ADD] (MUL (CAST<f32> (LOAD (INDEX b1 at))) (CAST<f32> (LOAD (INDEX b1 (ADD key "
               "%lld))))) k3)\n",
               D);
    str_printf(s,
               "dp = (REDUCE[ADD] (MUL (CAST<f32> (LOAD (INDEX b1 (ADD key %lld)))) (CAST<f32> (LOAD (INDEX "
               "b2 (ADD k3 (MUL i1 %lld)))))) k3)\n",
               2 * D, D);
    str_printf(s,
               "p = (EXP2 (SUB (MUL sc 0.25) (LOAD (INDEX b3 i1))))\nds = (ADD (LOAD (INDEX b4 i1)) dp)\n");
    str_printf(s, "keep0 = (STAGE[keep0 SCRATCH] (MUL %s 0.125) k4)\n",
               scores_first ? "(MUL p ds)" : "(MUL ds p)");
    str_printf(s,
               "o = (REDUCE[ADD] (MUL (CAST<f32> (CAST<bf16> (LOAD (INDEX keep0 k5)))) (CAST<f32> (LOAD "
               "(INDEX b1 (ADD (ADD (MUL k5 %lld) i2) %lld))))) k5)\n",
               3 * D, D);
    str_printf(s, "(SINK (STORE (INDEX b0 (ADD i2 (MUL i1 %lld))) (CAST<bf16> o)))\n", D);
}

/* dQ of grouped queries without a mask: heads and queries are one axis, of which keys take the quotient. */
static void write_grouped_dq(struct str *s, int64_t t, int64_t d) {
    long long T = t, D = d, N = 4 * t;
    str_printf(s, "kernel dq\ni1 = (RANGE[i1 GRID 1] %lld)\ni2 = (RANGE[i2 LOOP 2] %lld)\n", N, D);
    str_printf(s, "k4 = (RANGE[k4 REDUCE 3] %lld)\nk3 = (RANGE[k3 REDUCE 4] %lld)\n", T, D);
    str_printf(s, "k5 = (RANGE[k5 REDUCE 5] %lld)\nb0 = (PARAM<bf16>[0 b0] %lld)\n", T, N * D);
    str_printf(s, "b1 = (PARAM<bf16>[1 b1] %lld)\nb2 = (PARAM<bf16>[2 b2] %lld)\n", 2 * T * D, N * D);
    str_printf(s, "b3 = (PARAM<f32>[3 b3] %lld)\nb4 = (PARAM<f32>[4 b4] %lld)\n", N, N);
    str_printf(s, "b5 = (PARAM<bf16>[5 b5] %lld)\nb6 = (PARAM<bf16>[6 b6] %lld)\n", 2 * T * D, N * D);
    str_printf(s, "head = (MUL (IDIV i1 %lld) %lld)\nat = (ADD k3 (MUL i1 %lld))\n", 2 * T, T * D, D);
    str_printf(s, "key = (ADD head (ADD k3 (MUL k4 %lld)))\n", D);
    for (int i = 0; i < 2; i++)
        str_printf(
            s,
            "%s = (REDUCE[ADD] (MUL (CAST<f32> (LOAD (INDEX b%d key))) (CAST<f32> (LOAD (INDEX b%d at)))) "
            "k3)\n",
            i ? "dp" : "sc", i ? 5 : 1, i ? 6 : 2);
    str_printf(s, "p = (EXP2 (SUB (MUL sc 0.25) (LOAD (INDEX b3 i1))))\nds = (ADD (LOAD (INDEX b4 i1)) dp)\n"
                  "keep0 = (STAGE[keep0 SCRATCH] (MUL (MUL p ds) 0.125) k4)\n");
    str_printf(
        s,
        "o = (REDUCE[ADD] (MUL (CAST<f32> (LOAD (INDEX b1 (ADD head (ADD i2 (MUL k5 %lld)))))) (CAST<f32> "
        "(CAST<bf16> (LOAD (INDEX keep0 k5))))) k5)\n",
        D);
    str_printf(s, "(SINK (STORE (INDEX b0 (ADD i2 (MUL i1 %lld))) (CAST<bf16> o)))\n", D);
}

/* The heuristic's block program for a text, which has to hold these words, against the plain loops. */
static void check_chosen(const char *text, const char *const *words, size_t nwords) {
    struct both x = {0};
    struct linear plain;
    struct ref_buf a[8], b[8];
    uint32_t n;
    arena_init(&x.arena, &x.err);
    ir_init(&x.ir, &x.arena);
    ir_parse(&x.ir, text, strlen(text), "chosen.uop", &x.prog);
    const struct kernel *k = &x.prog.kernel.p[0];
    struct lower_opts o = {.opts = "", .target = {.kind = TARGET_GPU, .keep_math = true}};
    lower(&x.ir, k, &o, &plain);
    o.opts = opts_heuristic_gpu(&x.ir, k, GPU_OF_CC(90));
    const char *at = o.opts;
    for (size_t i = 0; i < nwords; i++)
        if (!(at = strstr(at, words[i]))) FAIL("%s is not in %s", words[i], o.opts);
    if (strstr(at + 1, " STAGE(b1")) FAIL("%s", o.opts);
    lower(&x.ir, k, &o, &x.block);
    fill_buffers(&x, 1, a, b, &n);
    if (ref_linear(&x.err, &plain, a, n, NULL, 0, plain.grid)) FAIL("%s", x.err.msg);
    if (ref_linear(&x.err, &x.block, b, n, NULL, 0, x.block.grid)) FAIL("%s", x.err.msg);
    for (size_t j = 0; j < a[0].bytes / 2; j++) {
        double want = ref_read(DT_BF16, (char *)a[0].p + 2 * j).f,
               got = ref_read(DT_BF16, (char *)b[0].p + 2 * j).f;
        if (!(fabs(got - want) <= 0x1p-6 * fabs(want) + 0x1p-8))
            FAIL("number %zu is %g, not %g", j, got, want);
    }
    arena_free(&x.arena);
}

/* A block program, whichever product comes first: k is staged once, with v, and equals the plain loops. Heads of 80 are padded
 * to 128: what is read there belongs to the next operand, and there is nothing to predicate. */
TEST(attention_gradient_of_packed_heads) {
    static const int64_t size[][2] = {{136, 64}, {136, 64}, {128, 80}};
    static const char *const words[] = {"STREAM(", " STAGE(b1#1,k4,k4_n,k3+i2)"};
    for (size_t i = 0; i < RG_COUNT(size); i++) {
        struct err err = {0};
        struct arena arena;
        struct str s;
        arena_init(&arena, &err);
        str_init(&s, &arena);
        write_packed_dq(&s, size[i][0], size[i][1], i > 0);
        check_chosen(s.p, words, RG_COUNT(words));
        arena_free(&arena);
    }
}

TEST(attention_gradient_of_groups_without_mask) {
    static const char *const words[] = {"TILE(i1,192,i1_d) GRID(i1_d)", "STREAM(", " STAGE(b1,"};
    struct err err = {0};
    struct arena arena;
    struct str s;
    arena_init(&arena, &err);
    str_init(&s, &arena);
    write_grouped_dq(&s, 96, 64);
    check_chosen(s.p, words, RG_COUNT(words));
    arena_free(&arena);
}

/* Both gradients as the heuristic's block programs against plain loops: whole tiles, odd lengths, less than a tile. */
TEST_SLOW(attention_gradients_of_groups, 600) {
    static const int64_t size[][3] = {{192, 64, 1}, {130, 64, 0}, {100, 128, 1}, {140, 128, 0}};
    for (size_t i = 0; i < RG_COUNT(size); i++) {
        struct both q = {.write = write_dq, .t = size[i][0], .d = size[i][1], .causal = size[i][2]};
        check_both(&q, 1);
        struct both k = {.write = write_dkv, .t = size[i][0], .d = size[i][1], .causal = size[i][2]};
        check_both(&k, 1 | 1 << 7);
    }
}

/* Lists that search may try in place of the heuristic's: those that are programs wait for all that they read, and no thread writes
 * what another reads. Their numbers search compares itself. */
TEST_SLOW(attention_gradients_of_lists_around, 300) {
    enum { LISTS = 40 };
    uint32_t tried = 0;
    for (int w = 0; w < 2; w++) {
        struct both base = {.write = w ? write_dkv : write_dq, .t = 192, .d = 64, .causal = true};
        opts_vec lists;
        arena_init(&base.arena, &base.err);
        if (err_guard(&base.err, lower_both, &base)) FAIL("%s", base.err.msg);
        const struct kernel *k = &base.prog.kernel.p[0];
        opts_space(&base.ir, k, opts_heuristic_gpu(&base.ir, k, GPU_OF_CC(90)), 16, 0, GPU_OF_CC(90), 1,
                   LISTS, &lists);
        for (uint32_t i = 0; i < lists.n; i++) {
            struct both x = {.write = base.write, .t = 192, .d = 64, .causal = true, .opts = lists.p[i]};
            struct ref_buf a[8], b[8];
            uint32_t n;
            arena_init(&x.arena, &x.err);
            if (!err_guard(&x.err, lower_and_verify, &x)) {
                fill_buffers(&x, w ? 1 | 1 << 7 : 1, a, b, &n);
                if (ref_linear(&x.err, &x.block, b, n, NULL, 0, x.block.grid))
                    FAIL("%s\n%s", x.opts, x.err.msg);
                tried++;
            }
            arena_free(&x.arena);
        }
        arena_free(&base.arena);
    }
    CHECK(tried > LISTS);
    TEST_COUNT((int)tried, "lists around those of attention's gradients");
}

static const char *dkv_opts(struct arena *a, int d, int stages, const char *rest) {
    return arena_printf(
        a,
        "TILE(i1,128,g) TILE(g,64,m) THREAD(g) STREAM(k4,64,n,k6) TC(m,n,k3,WBF16_64) TC(m,n,k5,WBF16_64) "
        "TC(m,i2,n,WRBF16_%d) STAGE(b2,i1,g+m,k3) TILE(b2.k3,8,v2) VEC(v2) "
        "STAGE(b6,i1,g+m,k5) TILE(b6.k5,8,v6) VEC(v6) STAGE(b1,k4,n,k3+i2) TILE(b1.k3,8,v1) VEC(v1) "
        "STAGE(b5,k4,n,k5+i2) TILE(b5.k5,8,v5) VEC(v5) STAGE(b3,k4,n) TILE(b3.n,4,v3) VEC(v3) "
        "STAGE(b4,k4,n) TILE(b4.n,4,v4) VEC(v4) PIPE(b1,k4,%d) PIPE(b5,k4,%d) PIPE(b3,k4,%d) PIPE(b4,k4,%d) "
        "%s",
        d, stages, stages, stages, stages, rest);
}

/* The same warp-specialized: dQ with GEMMs of neighbouring tiles that overlap, dK and dV with GEMMs in sequence. Blocks
 * that walk over tiles of different length, and one for each tile. */
TEST_SLOW(attention_gradients_warp_specialized, 600) {
    struct err err = {0};
    struct arena arena;
    arena_init(&arena, &err);
    for (int i = 0; i < 4; i++) {
        const char *r = i & 1 ? "WARP_SPECIALIZE(1)" : "WARP_SPECIALIZE(1) PERSISTENT(2)";
        int d = i & 2 ? 128 : 64;
        int heads = i & 1 ? 1 : 2; /* several tiles for persistent blocks */
        struct both q = {.write = write_dq, .t = 256, .d = d, .causal = !(i & 1), .heads = heads};
        q.opts = arena_printf(
            &arena,
            "TILE(i1,128,g) TILE(g,64,m) THREAD(g) STREAM(k4,64,n,k5) TC(m,n,k3,WBF16_64) "
            "TC(m,i2,n,WRBF16_%d) "
            "STAGE(b2,i1,g+m,k3) TILE(b2.k3,8,v2) VEC(v2) STAGE(b5,i1,g+m,k3) TILE(b5.k3,8,v5) VEC(v5) "
            "STAGE(b3,k4,n,k3) TILE(b3.k3,8,v3) VEC(v3) STAGE(b4,k4,n,k3+i2) TILE(b4.k3,8,v4) VEC(v4) "
            "PIPE(b3,k4,3) PIPE(b4,k4,3) %s",
            d, r);
        check_both(&q, 1);
        struct both k = {.write = write_dkv, .t = 256, .d = d, .causal = !(i & 1), .heads = heads};
        k.opts = dkv_opts(&arena, d, 2, r);
        check_both(&k, 1 | 1 << 7);
    }
    arena_free(&arena);
}

/* The products of a block of keys, in the order in which they are begun, and what is waited for between them. */
static void text_of_products(const struct linear *l, struct str *s) {
    for (uint32_t i = 0; i < l->n; i++) {
        const uop *u = l->u[i];
        if (u->op == OP_WGMMA_FENCE) str_add(s, "b");
        if (u->op == OP_WGMMA_WAIT) str_printf(s, "%lld", (long long)u->arg.i);
        if (u->op == OP_EXP2) str_add(s, "e");
    }
}

/* dK and dV: S and dP are issued together, exponentials of S under dP, dV under dS; with a stage more in
 * the pipeline dV and dK are carried into the next iteration. Missing waits are found. */
TEST_SLOW(gradient_products_overlap, 120) {
    struct both x = {.write = write_dkv, .t = 256, .d = 64};
    struct ref_buf a[8], b[8];
    uint32_t n, found = 0;
    struct str s;
    arena_init(&x.arena, &x.err);
    x.opts = dkv_opts(&x.arena, 64, 3, "");
    if (err_guard(&x.err, lower_both, &x)) FAIL("%s", x.err.msg);
    str_init(&s, &x.arena);
    text_of_products(&x.block, &s);
    const char *order = s.p + strspn(s.p, "0"), *then = order + 3 + strspn(order + 3, "e");
    if (strncmp(order, "bb1e", 4) || strcmp(then, "b1b0")) FAIL("%s", s.p);
    fill_buffers(&x, 1 | 1 << 7, a, b, &n);
    for (uint32_t i = 0; i < x.block.n; i++) {
        const uop *u = x.block.u[i];
        if (u->op != OP_WGMMA_WAIT || u->arg.i != 1) continue;
        struct linear less = x.block;
        const uop **list = arena_array(&x.arena, const uop *, less.n);
        memcpy(list, less.u, less.n * sizeof *list);
        list[i] = uop_mk(&x.ir, OP_WGMMA_WAIT, NULL, 0, ARG_INT(2));
        less.u = list, found++;
        CHECK(ref_linear(&x.err, &less, b, n, NULL, 0, less.grid));
        if (!strstr(x.err.msg, "wgmma that was not waited for")) FAIL("%s", x.err.msg);
        x.err = (struct err){0};
    }
    CHECK(found == 2);
    arena_free(&x.arena);
}

/* In registers, all of it: nothing is spilled, and MMA instructions go on while the program does. */
static void compile_cuda(struct arena *arena, struct ir *ir, const struct linear *lin, uint32_t matrix) {
    struct err err = {0};
    struct render_shape shape;
    struct dev_object o;
    struct str s;
    cubin_vec v = {0};
    str_init(&s, arena);
    render_cuda_preamble(&s);
    render_cuda(&s, ir, lin, false, &shape);
    const char *text = s.p;
    if (nvrtc_compile(&err, arena, "sm_90a", &text, 1, &o)) FAIL("%s", err.msg);
    if (cubin_read(&err, arena, o.data, o.n, &v)) FAIL("%s", err.msg);
    CHECK(v.n == 1 && v.p[0].matrix >= matrix && !v.p[0].stack && !v.p[0].spills);
    if (o.log && (strstr(o.log, "serialized") || strstr(o.log, "setmaxnreg") || strstr(o.log, "injected")))
        FAIL("%s", o.log);
}

static void lower_forward(void *p) {
    struct att *x = p;
    struct str s;
    ir_init(&x->ir, &x->arena);
    str_init(&s, &x->arena);
    write_forward(x, &s);
    ir_parse(&x->ir, s.p, s.n, "attention.uop", &x->prog);
    const struct kernel *k = &x->prog.kernel.p[0];
    x->opts = opts_heuristic_gpu(&x->ir, k, GPU_OF_CC(90));
    struct lower_opts o = {.opts = x->opts, .target = {.kind = TARGET_GPU, .native_exp = true}};
    lower(&x->ir, k, &o, &x->lin);
}

/* 16-byte chunks of a row of results are swizzled by one XOR, and rows eight apart differ by a constant: adding it to
 * an offset before the XOR must give the same one. Every offset of the text is computed both ways, for each row. */
TEST(results_in_panels_share_their_exchange) {
    struct att x = {.heads = 3, .group = 1, .t = 512, .s = 512, .d = 64, .causal = true, .dt = "bf16"};
    struct render_shape shape;
    struct str s;
    int seen = 0;
    arena_init(&x.arena, &x.err);
    if (err_guard(&x.err, lower_forward, &x)) FAIL("%s", x.err.msg);
    str_init(&s, &x.arena);
    render_cuda(&s, &x.ir, &x.lin, false, &shape);
    for (const char *at = s.p; (at = strstr(at, "(swizzle<2>(")); at++) {
        const char *minus = strstr(at, " - ");
        int less, column, rows;
        CHECK(minus && sscanf(minus, " - %d) ^ %d) + %d", &less, &column, &rows) == 3);
        for (int row = 0; row < 64; row++)
            for (int k = 0; k < 8; k++) {
                int from = row * 64 + k,
                    to = from + less; /* element of a panel whose rows are 64 16-bit floats */
                CHECK_EQ(to ^ (to / 64 % 8 * 8), (from ^ (from / 64 % 8 * 8) ^ column) + rows);
            }
        seen++;
    }
    CHECK_EQ(seen, 15); /* 8 pieces of each of two rows; the first stands where it stands */
    arena_free(&x.arena);
}

TEST_SLOW(cuda_compile_attention, 300) {
    struct err err = {0};
    struct arena arena;
    arena_init(&arena, &err);
    cuda_need_nvrtc(&arena);
    for (int i = 0; i < 4; i++) {
        struct both x = {
            .write = i & 1 ? write_dkv : write_dq, .t = 512, .d = i & 2 ? 128 : 64, .causal = true};
        arena_init(&x.arena, &x.err);
        if (err_guard(&x.err, lower_both, &x)) FAIL("%s", x.err.msg);
        compile_cuda(&arena, &x.ir, &x.block, 12);
        arena_free(&x.arena);
    }
    for (int i = 0; i < 4; i++) { /* 500 keys are no whole tiles: no boxes */
        struct att x = {.heads = 3,
                        .group = 1 + (i & 1),
                        .t = 512,
                        .s = i == 3 ? 500 : 512,
                        .d = i & 2 ? 128 : 64,
                        .causal = i != 2,
                        .dt = "bf16"};
        arena_init(&x.arena, &x.err);
        if (err_guard(&x.err, lower_forward, &x)) FAIL("%s", x.err.msg);
        if ((strstr(x.opts, "WARP_SPECIALIZE") != NULL) != (i != 3)) FAIL("%s", x.opts);
        compile_cuda(&arena, &x.ir, &x.lin, 8);
        arena_free(&x.arena);
    }
    arena_free(&arena);
}
