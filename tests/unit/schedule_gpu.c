/* What the planner does for a GPU alone: 16-bit operands of GEMMs are stored as 16 bits, what is reduced after a GEMM is stored in its
 * smallest form, and scatter-adds are made of integers. Planned as for an H200 and interpreted. */
#include "planned.h"
#include "test.h"

#include <stdlib.h>

struct gpu_case {
    struct err err;
    struct arena arena;
    struct ir ir;
    const char *text;
    const struct model *cpu; /* planned for this machine instead */
    struct sched_opts opts;
    struct planned_run run;
    struct str why;
    bool values, ok; /* values: run it, and ask the oracle */
};

static void case_run(void *arg) {
    struct gpu_case *c = arg;
    struct program p;
    ir_init(&c->ir, &c->arena);
    str_init(&c->why, &c->arena);
    ir_parse(&c->ir, c->text, strlen(c->text), "case.uop", &p);
    c->opts = (struct sched_opts){.model = c->cpu ? c->cpu : planned_h200(), .gpu = !c->cpu};
    c->run =
        (struct planned_run){.arena = &c->arena, .ir = &c->ir, .opts = &c->opts, .from = OPTS_GPU, .seed = 7};
    c->run.graph = p.kernel.p[0].sink;
    if (c->values) c->run.data = graph_fill(&c->arena, &c->ir, c->run.graph, 7, true);
    planned_plan(&c->run);
    if (!c->values) return;
    planned_memory(&c->run);
    planned_interpret(&c->run);
    c->ok = planned_check(&c->run, &c->why, NULL, NULL);
}

static void plan(struct gpu_case *c) {
    arena_init(&c->arena, &c->err);
    if (err_guard(&c->err, case_run, c)) FAIL("%s\n%s", c->err.msg, c->text);
    if (c->values && !c->ok) FAIL("%s\n%s", c->why.p, c->text);
}

/* Buffers of this type with as many elements or more, over all calls. */
static uint32_t buffers(const struct gpu_case *c, enum dtype dt, int64_t least) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->run.sched.call.n; i++) {
        const uop *sink = c->run.sched.prog.p[c->run.sched.call.p[i].prog].kernel.sink;
        uop_vec topo = {0};
        uop_topo((struct arena *)&c->arena, &sink, 1, &topo);
        for (uint32_t k = 0; k < topo.n; k++)
            n += topo.p[k]->op == OP_PARAM && (enum dtype)topo.p[k]->dt == dt &&
                 topo.p[k]->src[0]->hi >= least;
    }
    return n;
}

/* Column sums over several short axes are in as many parts as those of a matrix: the gradient of a bias, channels last. */
TEST(schedule_gpu_splits_columns_of_images) {
    struct gpu_case c = {
        .text = "kernel g\n(GRAPH (REDUCE_AXES[ADD] (CAST<f32> (BUFFER<bf16>[0] 8 16 24 64)) 0 1 2))\n",
        .values = true};
    plan(&c);
    CHECK_EQ(c.run.sched.call.n, 2);
    CHECK_EQ(buffers(&c, DT_F32, 64 * 132), 2);
    arena_free(&c.arena);
}

/* A concatenation stores no product element by element: no tile has results of which some are sums and some are loaded. */
TEST(schedule_gpu_stores_products_that_are_concatenated) {
    struct gpu_case c = {
        .text =
            "kernel g\na = (EXPAND (RESHAPE (CAST<f32> (BUFFER<bf16>[0] 512 256)) 512 1 256) 512 64 256)\n"
            "b = (EXPAND (RESHAPE (CAST<f32> (BUFFER<bf16>[1] 64 256)) 1 64 256) 512 64 256)\n"
            "y = (CAST<bf16> (RESHAPE (REDUCE_AXES[ADD] (MUL a b) 2) 512 64))\n"
            "(GRAPH (ADD (PAD (MAX y 0.0) -0.0 0 0 0 0 351 0) (PAD (BUFFER<bf16>[2] 512 351) -0.0 0 0 0 64 0 "
            "0)))\n"};
    plan(&c);
    CHECK_EQ(c.run.sched.call.n, 2);
    arena_free(&c.arena);
}

#define SIZE "4096 4096"
#define HALF(x) "(CAST<f32> (CAST<bf16> " x "))"
#define PRODUCT(a, b)                                     \
    "(RESHAPE (REDUCE_AXES[ADD] (MUL (EXPAND (RESHAPE " a \
    " 4096 1 4096) 4096 4096 4096) (EXPAND (RESHAPE " b " 1 4096 4096) 4096 4096 4096)) 2) " SIZE ")"

/* exp(x), rounded to bf16, by a bf16 matrix in memory: the GEMM reads two bf16 operands; neither is stored as fp32. */
TEST(schedule_gpu_products_read_16_bits) {
    struct gpu_case c = {.text = "kernel g\n(GRAPH " PRODUCT(HALF("(EXP (BUFFER<f32>[0] " SIZE "))"),
                                                             "(CAST<f32> (BUFFER<bf16>[1] " SIZE "))") ")\n"};
    plan(&c);
    CHECK_EQ(c.run.sched.call.n, 2);
    CHECK_EQ(buffers(&c, DT_F32, 4096 * 4096), 2);  /* what is given, and the result */
    CHECK_EQ(buffers(&c, DT_BF16, 4096 * 4096), 3); /* written; read, with the other factor */
    arena_free(&c.arena);
}

/* The same on a CPU, where it has MMA instructions for bf16; else packing or a kernel before it widens to fp32. */
TEST(schedule_cpu_products_read_bf16) {
    struct model m;
    for (int has = 0; has < 2; has++) {
        model_guess(&m);
        m.theory[MODEL_MATRIX_BF16] = m.theory[MODEL_FLOPS_F32] * (has ? 4 : 1),
        m.measured[MODEL_MATRIX_BF16] = 0;
        struct gpu_case c = {.cpu = &m,
                             .text =
                                 "kernel g\n(GRAPH " PRODUCT(HALF("(EXP (BUFFER<f32>[0] " SIZE "))"),
                                                             "(CAST<f32> (BUFFER<bf16>[1] " SIZE "))") ")\n"};
        plan(&c);
        if (has) CHECK_EQ(buffers(&c, DT_BF16, 4096 * 4096), 3); /* written; read, with the other factor */
        if (!has) CHECK(buffers(&c, DT_F32, 4096 * 4096) > 2);
        arena_free(&c.arena);
    }
}

/* A tensor by a number is no product of matrices: the number has no axes to look at. */
TEST(schedule_gpu_sums_of_scaled_values) {
    struct gpu_case c = {
        .values = true,
        .text = "kernel g\n(GRAPH (REDUCE_AXES[ADD] (MUL (BUFFER<f32>[0] 4096 64) 0.5) 0) (REDUCE_AXES[ADD] "
                "(MUL (CAST<f32> (BUFFER<bf16>[1] 262144)) 0.25) 0))\n"};
    plan(&c);
    CHECK(c.run.sched.call.n >= 2);
    arena_free(&c.arena);
}

/* A product is rounded to bf16, and its rows are reduced twice: what is stored between is the bf16, once. */
TEST(schedule_gpu_stores_16_bits_before_reducing) {
#define LOGITS \
    HALF(PRODUCT("(CAST<f32> (BUFFER<bf16>[0] " SIZE "))", "(CAST<f32> (BUFFER<bf16>[1] " SIZE "))"))
    struct gpu_case c = {.text = "kernel g\n(GRAPH (REDUCE_AXES[MAX] " LOGITS
                                 " 1) (REDUCE_AXES[ADD] (EXP (MUL " LOGITS " 0.5)) 1))\n"};
    plan(&c);
    CHECK_EQ(c.run.sched.call.n, 2);
    CHECK_EQ(buffers(&c, DT_F32, 4096 * 4096), 0);
    CHECK_EQ(buffers(&c, DT_BF16, 4096 * 4096), 4); /* two factors, written, read */
    arena_free(&c.arena);
}

/* Layers of a token that is decoded: x + W norm(x). A GEMV with its norm and residual each; no layer sums those before it again. */
#define TOKEN "1 512"
#define NORM(x) \
    HALF("(MUL " x " (EXPAND (RSQRT (ADD (REDUCE_AXES[ADD] (MUL " x " " x ") 1) 1.0)) " TOKEN "))")
#define GEMV(w, x)                                                                       \
    "(RESHAPE (REDUCE_AXES[ADD] (MUL (EXPAND " x " 512 512) (CAST<f32> (BUFFER<bf16>[" w \
    "] 512 512))) 1) " TOKEN ")"
#define LAYER(w, x) HALF("(ADD " x " " GEMV(w, NORM(x)) ")")
TEST(schedule_gpu_residuals_of_gemv) {
    struct gpu_case c = {.values = true,
                         .text = "kernel g\n(GRAPH " LAYER(
                             "3", LAYER("2", LAYER("1", "(CAST<f32> (BUFFER<bf16>[0] " TOKEN "))"))) ")\n"};
    plan(&c);
    CHECK_EQ(c.run.sched.call.n, 3);
    for (uint32_t i = 0; i < c.run.sched.call.n; i++)
        CHECK(c.run.sched.prog.p[c.run.sched.call.p[i].prog].nbuf <= 4);
    arena_free(&c.arena);
}

static uint64_t state;
static uint32_t rnd(uint32_t n) { return (uint32_t)(hash_u64(state += 0x9e3779b97f4a7c15u) >> 33) % n; }

/* W f(x), V f(x) of vectors of any length, f a norm, a norm with a mean, a softmax: every block computes f(x) anew where that is
 * predicted to take less than a launch, and values are right in any case. */
TEST(schedule_gpu_norms_before_gemv) {
    static const char *const norm[] = {
        "(MUL x (EXPAND (RSQRT (ADD (REDUCE_AXES[ADD] (MUL x x) 1) 1.0)) 1 %d))",
        "(MUL (SUB x m) (EXPAND (RSQRT (ADD (REDUCE_AXES[ADD] (MUL (SUB x m) (SUB x m)) 1) 1.0)) 1 %d))",
        "(MUL (EXP (SUB x e)) (EXPAND (RECIP (REDUCE_AXES[ADD] (EXP (SUB x e)) 1)) 1 %d))"};
    uint32_t joined = 0, count = getenv("SEEDS") ? (uint32_t)atoi(getenv("SEEDS")) : 12;
    for (uint32_t seed = 0; seed < count; seed++) {
        state = seed + (getenv("SEED") ? strtoull(getenv("SEED"), NULL, 10) : 1) * 1000;
        int kind = (int)rnd(3), k = 64 + (int)rnd(3) * 64 + (rnd(3) ? 0 : (int)rnd(40)),
            n = (1 << 18) / k + 1 + (int)rnd(40);
        bool half = rnd(2), two = rnd(2), residual = rnd(2);
        char f[200], x[1600], text[4000];
        snprintf(f, sizeof f, norm[kind], k);
        snprintf(
            x, sizeof x,
            "x = (CAST<f32> (BUFFER<%s>[0] 1 %d))\nm = (EXPAND (MUL (REDUCE_AXES[ADD] x 1) 0.015625) 1 %d)\n"
            "e = (EXPAND (REDUCE_AXES[MAX] x 1) 1 %d)\nf = %s\n",
            half ? "bf16" : "f32", k, k, k, f);
        const char *rounded = half ? "(CAST<f32> (CAST<bf16> f))" : "f", *type = half ? "bf16" : "f32";
        snprintf(text, sizeof text,
                 "kernel g\n%sv = (EXPAND (RESHAPE %s 1 %d) %d %d)\n"
                 "a = (REDUCE_AXES[ADD] (MUL v (CAST<f32> (BUFFER<%s>[1] %d %d))) 1)\n"
                 "b = (REDUCE_AXES[ADD] (MUL v (CAST<f32> (BUFFER<%s>[2] %d %d))) 1)\n"
                 "r = (BUFFER<f32>[3] %d 1)\n(GRAPH (ADD %s %s))\n",
                 x, rounded, k, n, k, type, n, k, type, n, k, n, two ? "(MUL a b)" : "a",
                 residual ? "r" : "1.0");
        struct gpu_case c = {.values = true, .text = text};
        plan(&c);
        joined += c.run.sched.call.n == 1;
        arena_free(&c.arena);
    }
    TEST_INFO("%u of %u programs are one kernel", joined, count);
    CHECK(joined >= count / 2);
}

/* Rotary positions of heads of a product with a norm: one kernel, whose blocks compute the norm, and each row of the matrix is read
 * once. */
TEST(schedule_gpu_norm_before_rotation) {
    for (int h = 16; h <= 48; h += 32) {
        char text[1600];
        snprintf(
            text, sizeof text,
            "kernel g\nx = (CAST<f32> (BUFFER<bf16>[1] 1 256))\n"
            "f = (MUL x (EXPAND (RSQRT (ADD (REDUCE_AXES[ADD] (MUL x x) 1) 1.0)) 1 256))\n"
            "w = (CAST<f32> (BUFFER<bf16>[0] %d 256))\n"
            "y = (RESHAPE (REDUCE_AXES[ADD] (MUL w (EXPAND (CAST<f32> (CAST<bf16> f)) %d 256)) 1) %d 64)\n"
            "a = (SHRINK y 0 %d 1 0 32 1)\nb = (SHRINK y 0 %d 1 32 32 1)\n"
            "c = (EXPAND (BUFFER<f32>[2] 1 32) %d 32)\ns = (EXPAND (BUFFER<f32>[3] 1 32) %d 32)\n"
            "(GRAPH (ADD (PAD (SUB (MUL a c) (MUL b s)) -0.0 0 0 0 0 32 0) "
            "(PAD (ADD (MUL b c) (MUL a s)) -0.0 0 0 0 32 0 0)))\n",
            64 * h, 64 * h, h, h, h, h, h);
        struct gpu_case c = {.values = true, .text = text};
        uint32_t sums = 0;
        uop_vec topo = {0};
        plan(&c);
        CHECK_EQ(c.run.sched.call.n, 1);
        const uop *sink = c.run.sched.prog.p[0].kernel.sink;
        uop_topo(&c.arena, &sink, 1, &topo);
        for (uint32_t i = 0; i < topo.n; i++) sums += topo.p[i]->op == OP_REDUCE;
        CHECK_EQ(sums, 3); /* of the norm, of two rows */
        CHECK_EQ(sink->nsrc, 2);
        arena_free(&c.arena);
    }
}

/* Loops inside of the grid, of this many values, over all kernels. */
static uint32_t loops_of(const struct gpu_case *c, int64_t size) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->run.sched.prog.n; i++) {
        const uop *sink = c->run.sched.prog.p[i].kernel.sink;
        uop_vec topo = {0};
        uop_topo((struct arena *)&c->arena, &sink, 1, &topo);
        for (uint32_t k = 0; k < topo.n; k++)
            n += topo.p[k]->op == OP_RANGE && topo.p[k]->arg.range.kind == AX_LOOP &&
                 topo.p[k]->src[0]->hi == size;
    }
    return n;
}

/* The gradient of a gather: 4096 rows added to 64, so each gets about 64. Sums of 64-bit integers, whatever the order: each row is an
 * iteration of the grid. f64 has no such sums; a device that adds floats in order has only those here whose elements meet once. */
TEST(schedule_gpu_scatter_is_of_integers) {
    static const char *const type[] = {"f32", "bf16", "f16", "f64", "i32", "i8", "u16"};
    for (size_t i = 0; i < RG_COUNT(type); i++) {
        char text[400];
        snprintf(text, sizeof text,
                 "kernel g\n(GRAPH (SCATTER<%s>[0] (EXPAND (RESHAPE 0:%s 1 1) 64 16) (EXPAND "
                 "(RESHAPE (MOD (BUFFER<i32>[0] 4096) 64:i32) 4096 1) 4096 16) (BUFFER<%s>[1] 4096 16)))\n",
                 type[i], type[i], type[i]);
        struct gpu_case c = {.text = text, .values = true};
        plan(&c);
        CHECK_EQ(buffers(&c, DT_I64, 64 * 16) > 0, i < 3);
        CHECK_EQ(buffers(&c, DT_I32, 64 * 16) > 1, i >= 4); /* the index is one */
        CHECK_EQ(loops_of(&c, 4096), i == 3);
        arena_free(&c.arena);
    }
}

/* A few rows of a transposed matrix are columns of memory: two blocks of them would wait, so that they are in parts. */
TEST(schedule_gpu_few_columns_are_split) {
    static const char *const order[] = {"(BUFFER<f32>[0] 71 28201)",
                                        "(PERMUTE (BUFFER<f32>[0] 28201 71) 1 0)"};
    for (size_t i = 0; i < RG_COUNT(order); i++) {
        char text[200];
        snprintf(text, sizeof text, "kernel g\n(GRAPH (REDUCE_AXES[MAX] %s 1))\n", order[i]);
        struct gpu_case c = {.text = text};
        plan(&c);
        CHECK_EQ(c.run.sched.call.n, i + 1);
        arena_free(&c.arena);
    }
}

/* The indices of the first of a long row, with and without their values: each chunk of the row is read by one call. */
TEST(schedule_gpu_chunks_of_topk_are_read_once) {
    static const char *const text[] = {
        "kernel g\n(GRAPH (CALL<i64>[topk_index] (BUFFER<f32>[0] 2 200000) 1 7))\n",
        "kernel g\n(GRAPH (CALL<f32>[topk] (BUFFER<f32>[0] 2 200000) 1 7) (CALL<i64>[topk_index] "
        "(BUFFER<f32>[0] 2 200000) "
        "1 7))\n"};
    for (size_t i = 0; i < RG_COUNT(text); i++) {
        struct gpu_case c = {.text = text[i]};
        uint32_t calls = 0;
        plan(&c);
        for (uint32_t k = 0; k < c.run.sched.call.n; k++)
            calls += c.run.sched.prog.p[c.run.sched.call.p[k].prog].builtin != NULL;
        CHECK_EQ(calls, 2); /* of the chunks, of what they found */
        arena_free(&c.arena);
    }
}

/* A row is cut into chunks that divide it, where there are such; what they find is selected from by one block. */
TEST(schedule_gpu_topk_of_long_rows) {
    static const struct {
        int64_t n, k;
        uint32_t kernels;
    } want[] = {{1 << 24, 7, 2}, {709079, 127, 3}, {331957, 31, 3}};
    for (size_t i = 0; i < RG_COUNT(want); i++) {
        char text[200];
        snprintf(text, sizeof text, "kernel g\n(GRAPH (CALL<f32>[topk] (BUFFER<f32>[0] %lld) 1 %lld))\n",
                 (long long)want[i].n, (long long)want[i].k);
        struct gpu_case c = {.text = text};
        plan(&c);
        CHECK_EQ(c.run.sched.call.n, want[i].kernels);
        arena_free(&c.arena);
    }
}

/* Sums of products that keep few threads busy: what a thread has summed before a second kernel starts is one kernel. */
TEST(schedule_gpu_short_sums_are_whole) {
    static const int terms[] = {80, 200};
    for (size_t i = 0; i < RG_COUNT(terms); i++) {
        char text[400];
        snprintf(text, sizeof text,
                 "kernel g\n(GRAPH (REDUCE_AXES[ADD] (MUL (EXPAND (RESHAPE (BUFFER<f64>[0] 8 16 %d) 8 16 1 "
                 "%d) 8 16 "
                 "16 %d) (EXPAND (RESHAPE (BUFFER<f64>[1] 8 16 %d) 8 1 16 %d) 8 16 16 %d)) 3))\n",
                 terms[i], terms[i], terms[i], terms[i], terms[i], terms[i]);
        struct gpu_case c = {.text = text};
        plan(&c);
        CHECK_EQ(c.run.sched.call.n, i + 1);
        arena_free(&c.arena);
    }
}

/* A product of two tensors, rounded, is a result and is summed down its columns, in parts: it is computed once, and the sum reads it. */
TEST(schedule_gpu_partial_sums_read_what_is_stored) {
#define ROUNDED "(CAST<bf16> (MUL (BUFFER<f32>[0] 16384 4096) (EXP (BUFFER<f32>[1] 16384 4096))))"
    struct gpu_case c = {.text =
                             "kernel g\n(GRAPH " ROUNDED " (REDUCE_AXES[ADD] (CAST<f32> " ROUNDED ") 0))\n"};
    plan(&c);
    CHECK_EQ(buffers(&c, DT_F32, 16384 * 4096), 2);
    arena_free(&c.arena);
}

/* A batch norm that writes its channels one after the other: 64 images of 14 x 14 are one loop for the threads of a block. */
TEST(schedule_gpu_loops_with_a_period_stay_whole) {
    struct gpu_case c = {
        .text = "kernel g\n(GRAPH (SUB (RESHAPE (PERMUTE (BUFFER<f32>[0] 64 1024 14 14) 1 0 2 3) 1024 12544) "
                "(EXPAND (RESHAPE (REDUCE_AXES[ADD] (BUFFER<f32>[1] 64 1024) 0) 1024 1) 1024 12544)))\n"};
    plan(&c);
    CHECK_EQ(loops_of(&c, 12544), 1);
    CHECK_EQ(loops_of(&c, 196) + loops_of(&c, 14), 0);
    arena_free(&c.arena);
}

/* ones @ w, of the gradient of a sum: a row, stored, then expanded by a kernel whose neighbours write neighbours. */
TEST(schedule_gpu_rows_alike_are_multiplied_once) {
    struct gpu_case c = {.text = "kernel g\nw = (RESHAPE (BUFFER<f32>[0] 64 32) 1 64 32)\n"
                                 "one = (EXPAND (RESHAPE 1.0 1 1 1) 65536 64 32)\n"
                                 "(GRAPH (REDUCE_AXES[ADD] (MUL one (EXPAND w 65536 64 32)) 1))\n"};
    plan(&c);
    CHECK_EQ(c.run.sched.call.n, 2);
    CHECK_EQ(loops_of(&c, 65536), 0);
    CHECK(c.run.sched.seconds < 10e-6);
    arena_free(&c.arena);
}
