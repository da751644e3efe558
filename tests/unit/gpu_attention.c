/* Tests of attention in one pass (src/codegen/opts/stream.c) and as block programs with chained MMA instructions: the kernel
 * that the planner writes, under lists of opts, in the interpreter, which runs every thread, against plain loops here.
 * Gradients: gpu_attention_grad.c. */
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
        ref_write(t.dt, t.p + i * bytes, (union ref_val){.f = ref_round(t.dt, draw_unit(&seed) * scale)});
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

/* Case n of queries and keys `size`: blocks of 64 and 128 rows, heads of 64 and 128, causal, masked, grouped, of either type. */
static struct att group_case(struct arena *a, const int64_t size[2], int i, int n, int *keys) {
    struct att x = {.heads = 1,
                    .group = 1 + n % 2,
                    .t = size[0],
                    .s = size[1],
                    .d = n < 2 ? 64 : 128,
                    .causal = n != 0,
                    .mask = n == 2,
                    .dt = n == 3 ? "f16" : "bf16"};
    *keys = n & 1 ? 128 : 64;
    x.opts = group_opts(a, x.dt, x.t, (int)x.d, (n + i) & 1 ? 128 : 64, *keys, 2 + n % 2);
    return x;
}

TEST_SLOW(attention_of_groups, 300) {
    static const int64_t size[][2] = {{128, 256}, {130, 200}, {70, 300}, {300, 140}};
    struct err err = {0};
    struct arena arena;
    arena_init(&arena, &err);
    for (size_t i = 0; i < RG_COUNT(size); i++)
        for (int n = 0; n < 4; n++) {
            int keys;
            struct att x = group_case(&arena, size[i], (int)i, n, &keys);
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
            int keys;
            struct att x = group_case(&arena, size[i], (int)i, n, &keys);
            if (x.s <= keys) continue;
            x.opts = arena_printf(&arena, "%s WARP_SPECIALIZE(1)%s", x.opts, i & 1 ? " PERSISTENT(2)" : "");
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
    enum { LISTS = 8 };
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

/* Decoding: four stages, or all tiles of a row and one more, where the blocks that have them are still resident together, two else;
 * sums are right. */
TEST(attention_stages_of_few_queries) {
    static const struct {
        int64_t heads, keys;
        const char *pipe;
    } want[] = {{264, 1024, "PIPE(b2,k4,4)"}, {396, 1024, "PIPE(b2,k4,4)"}, {512, 2048, "PIPE(b2,k4,2)"},
                {64, 256, "PIPE(b2,k4,4)"},   {64, 128, "PIPE(b2,k4,3)"},   {1024, 128, "PIPE(b2,k4,2)"}};
    char list[2048];
    for (size_t i = 0; i < RG_COUNT(want); i++) {
        struct att x = {
            .heads = want[i].heads, .group = 1, .t = 4, .s = want[i].keys, .d = 64, .dt = "bf16", .opts = ""};
        arena_init(&x.arena, &x.err);
        if (err_guard(&x.err, compile, &x)) FAIL("%s", x.err.msg);
        snprintf(list, sizeof list, "%s", opts_heuristic_gpu(&x.ir, &x.prog.kernel.p[0], GPU_OF_CC(90)));
        if (!strstr(list, want[i].pipe)) FAIL("%lld heads: %s", (long long)x.heads, list);
        arena_free(&x.arena);
        struct att y = {.heads = 2, .group = 1, .t = 3, .s = 328, .d = 64, .dt = "bf16", .opts = list};
        if (want[i].keys == 128) y.s = 128;
        if (i % 4 == 0) check(&y);
    }
}

/* A causal mask of at most a tile of keys leaves a loop without a second iteration: nothing is pipelined. */
TEST(attention_of_one_causal_tile) {
    const int64_t sizes[] = {64, 29};
    char list[2048];
    for (size_t i = 0; i < RG_COUNT(sizes); i++) {
        struct att x = {.heads = 2,
                        .group = 1,
                        .t = sizes[i],
                        .s = sizes[i],
                        .d = 64,
                        .causal = true,
                        .dt = "bf16",
                        .opts = ""};
        arena_init(&x.arena, &x.err);
        if (err_guard(&x.err, compile, &x)) FAIL("%s", x.err.msg);
        snprintf(list, sizeof list, "%s", opts_heuristic_gpu(&x.ir, &x.prog.kernel.p[0], GPU_OF_CC(90)));
        CHECK(strstr(list, "TC(") && !strstr(list, "PIPE("));
        arena_free(&x.arena);
        struct att y = {.heads = 2,
                        .group = 1,
                        .t = sizes[i],
                        .s = sizes[i],
                        .d = 64,
                        .causal = true,
                        .dt = "bf16",
                        .opts = list};
        check(&y);
    }
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
        cuda_compile_whole(&arena, &x.ir, &x.lin, 8);
        arena_free(&x.arena);
    }
    arena_free(&arena);
}
