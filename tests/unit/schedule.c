/* Tests of src/schedule: what plans compute (random programs against the oracle, through the interpreter), and what
 * plans look like (kernels, reads, writes of programs whose best plan is known). */
#include "cuda.h"
#include "irtest.h"
#include "opencl.h"
#include "planned.h"
#include "simgpu.h"

#include <stdlib.h>

struct one {
    struct err err;
    struct arena arena;
    struct ir ir;
    uint64_t seed;
    struct graph_gen gen;
    struct sched_opts opts;
    enum opts_from from;
    struct planned_run run;
    struct str why;
    uint64_t excluded, compared;
    bool ok;
};

static void one_run(void *arg) {
    struct one *o = arg;
    ir_init(&o->ir, &o->arena);
    str_init(&o->why, &o->arena);
    o->run = (struct planned_run){
        .arena = &o->arena, .ir = &o->ir, .opts = &o->opts, .from = o->from, .seed = o->seed};
    o->run.graph = graph_random(&o->ir, &o->arena, o->seed, &o->gen);
    o->run.data = graph_fill(&o->arena, &o->ir, o->run.graph, o->seed, o->gen.exact);
    planned_plan(&o->run);
    planned_memory(&o->run);
    planned_interpret(&o->run);
    o->ok = planned_check(&o->run, &o->why, &o->excluded, &o->compared);
}

/* Was nearly everything compared? Of few programs one may leave out much. */
static bool few_left_out(uint32_t n, uint64_t excluded, uint64_t compared) {
    return n < 1000 || excluded * 100 <= compared;
}

/* Programs with seeds [first, first + n), two of three exact where floats are asked for: decisions that lie within the
 * error bound leave elements out, and those shall be few. False and a message at the first that is wrong. */
static bool many(uint64_t first, uint32_t n, struct graph_gen gen, struct sched_opts opts,
                 enum opts_from from) {
    uint64_t excluded = 0, compared = 0;
    for (uint64_t seed = first; seed < first + n; seed++) {
        struct one o = {.seed = seed, .gen = gen, .opts = opts, .from = from};
        arena_init(&o.arena, &o.err);
        if (!o.opts.model) o.opts.model = planned_model();
        o.gen.exact = gen.exact || seed % 3;
        int code = err_guard(&o.err, one_run, &o);
        if (code || !o.ok) {
            struct str text;
            struct err was = o.err;
            err_clear(&o.err);
            str_init(&text, &o.arena);
            if (o.run.graph) ir_print(&text, &o.ir, o.run.graph);
            fprintf(stderr, "program %llu, seed %llu: %s%s\n%s\n", (unsigned long long)(seed - first + 1),
                    (unsigned long long)seed, code ? was.msg : "", o.ok ? "" : o.why.p, text.p);
            arena_free(&o.arena);
            return false;
        }
        excluded += o.excluded, compared += o.compared;
        arena_free(&o.arena);
    }
    TEST_INFO("%u programs, %llu elements compared, %llu left out", n, (unsigned long long)compared,
              (unsigned long long)excluded);
    return few_left_out(n, excluded, compared);
}

static uint64_t first_seed(void) { return getenv("SEED") ? strtoull(getenv("SEED"), NULL, 10) : 1; }
/* 7,000 in all; sanitizers make each ten times as slow. */
static uint32_t count(uint32_t n) {
#if defined RIDGE_DEBUG_BUILD || defined __SANITIZE_THREAD__
    n = n / 15 + 1;
#endif
    return getenv("SEEDS") ? (uint32_t)atoi(getenv("SEEDS")) : n;
}

TEST(schedule_random_exact) {
    CHECK(many(first_seed(), count(1000), (struct graph_gen){.exact = true}, (struct sched_opts){0},
               OPTS_NONE));
}

TEST_SLOW(schedule_random_dtypes_assigns_vars, 400) {
    struct graph_gen gen = {.exact = true, .all_dtypes = true, .assigns = true, .vars = true};
    CHECK(many(first_seed() + 10000, count(1200), gen, (struct sched_opts){0}, OPTS_NONE));
}

TEST(schedule_random_floats) {
    CHECK(many(first_seed() + 20000, count(1000), (struct graph_gen){.vars = true}, (struct sched_opts){0},
               OPTS_NONE));
}

TEST_SLOW(schedule_random_opts, 300) {
    struct graph_gen gen = {.assigns = true, .vars = true};
    CHECK(many(first_seed() + 30000, count(700), gen, (struct sched_opts){0}, OPTS_RANDOM));
}

TEST_SLOW(schedule_random_heuristic, 400) {
    struct graph_gen gen = {.exact = true, .all_dtypes = true, .assigns = true};
    CHECK(many(first_seed() + 40000, count(800), gen, (struct sched_opts){0}, OPTS_HEURISTIC));
}

/* Planned and lowered as for a GPU, but interpreted. */
static const struct model *gpu_model(void) {
    static struct model m;
    model_guess_gpu(&m, &(struct model_gpu){.name = "NVIDIA H200", .memory_rate = 4917});
    return &m;
}
TEST(schedule_random_gpu) {
    struct sched_opts opts = {.model = gpu_model(), .gpu = true};
    struct graph_gen gen = {.exact = true, .all_dtypes = true, .assigns = true, .vars = true};
    CHECK(many(first_seed() + 70000, count(500), gen, opts, OPTS_GPU));
}

/* A sum along columns needs more threads than it has columns, and on a CPU whole rows: two kernels; along rows: one. */
struct split_case {
    struct one *o;
    const char *text;
};
static void plan_text(void *arg) {
    struct split_case *c = arg;
    struct program p = {0};
    ir_init(&c->o->ir, &c->o->arena);
    ir_parse(&c->o->ir, c->text, strlen(c->text), "test", &p);
    c->o->run = (struct planned_run){
        .arena = &c->o->arena, .ir = &c->o->ir, .opts = &c->o->opts, .graph = p.kernel.p[0].sink};
    planned_plan(&c->o->run);
}
TEST(schedule_gpu_splits_columns) {
    static const char *const text[] = {"kernel g\n(GRAPH (REDUCE_AXES[ADD] (BUFFER<f32>[0] 8192 512) 0))\n",
                                       "kernel g\n(GRAPH (REDUCE_AXES[ADD] (BUFFER<f32>[0] 512 8192) 1))\n"};
    for (int i = 0; i < 4; i++) {
        struct one o = {.opts = {.model = gpu_model(), .gpu = i < 2}};
        arena_init(&o.arena, &o.err);
        if (err_guard(&o.err, plan_text, &(struct split_case){&o, text[i % 2]})) FAIL("%s", o.err.msg);
        CHECK_EQ(o.run.sched.call.n, i % 2 == 0 ? 2 : 1);
        arena_free(&o.arena);
    }
}

/* Split-K: GEMMs with fewer blocks than fill a GPU and a long K get partial sums, which a second kernel reduces; not those
 * of many rows or columns or of short sums. M x N x K, the second factor [N][K] or [K][N]. */
TEST(schedule_gpu_splits_products) {
    static const struct {
        int64_t m, n, k;
        bool transposed;
        int64_t parts; /* 1: one kernel */
    } job[] = {
        {16, 4096, 14336, true, 4},                                 /* 64 strips of 64 columns */
        {1, 4096, 14336, true, 4},     {16, 14336, 4096, false, 1}, /* 1792 of 8 rows */
        {16, 4096, 4096, false, 1},    {16, 512, 1024, false, 1},   /* parts of 512 are not worth it */
        {512, 512, 65536, false, 16},  {1024, 1024, 8192, false, 1},
        {4096, 4096, 4096, true, 1},   {64, 4096, 4096, false, 4},
        {64, 4096, 14336, true, 4}, /* memory limits it: no more parts */
        {64, 8192, 8192, false, 1},    {64, 14336, 4096, false, 1},
        {64, 64, 1 << 20, false, 128}, /* one tile: every SM has a part */
        {64, 64, 1000003, false, 85},  /* and what is left of an odd K is added to their sum */
    };
    for (size_t i = 0; i < RG_COUNT(job); i++) {
        long long m = job[i].m, n = job[i].n, k = job[i].k;
        struct one o = {.opts = {.model = gpu_model(), .gpu = true}};
        char w[128], text[512], first[64];
        snprintf(w, sizeof w,
                 job[i].transposed ? "(PERMUTE (BUFFER<bf16>[1] 1 %lld %lld) 0 2 1)"
                                   : "(BUFFER<bf16>[1] 1 %lld %lld)",
                 job[i].transposed ? k : n, job[i].transposed ? n : k);
        snprintf(text, sizeof text,
                 "kernel g\n(GRAPH (REDUCE_AXES[ADD] (MUL (EXPAND (CAST<f32> (BUFFER<bf16>[0] %lld 1 %lld)) "
                 "%lld %lld %lld) "
                 "(EXPAND (CAST<f32> %s) %lld %lld %lld)) 2))\n",
                 m, k, m, n, k, w, m, n, k);
        arena_init(&o.arena, &o.err);
        if (err_guard(&o.err, plan_text, &(struct split_case){&o, text})) FAIL("%s", o.err.msg);
        CHECK_EQ(o.run.sched.call.n, job[i].parts > 1 ? 2u : 1u);
        snprintf(first, sizeof first, "r_%lld_", (long long)job[i].parts); /* grid of the first kernel */
        if (job[i].parts > 1)
            CHECK(!strncmp(o.run.sched.prog.p[o.run.sched.call.p[0].prog].kernel.name, first, strlen(first)));
        arena_free(&o.arena);
    }
}

/* What a product reads is no result beside its own: MMA instructions store what they sum. */
TEST(schedule_gpu_stores_nothing_beside_products) {
    static const char text[] =
        "kernel g\nx = (BUFFER<bf16>[0] 4096 4096)\n"
        "(GRAPH (REDUCE_AXES[ADD] (MUL (EXPAND (RESHAPE (CAST<f32> x) 4096 1 4096) 4096 4096 4096) "
        "(EXPAND (CAST<f32> (BUFFER<bf16>[1] 1 4096 4096)) 4096 4096 4096)) 2) (CAST<u8> (LT (CAST<f32> x) "
        "0.0)))\n";
    struct one o = {.opts = {.model = gpu_model(), .gpu = true}};
    arena_init(&o.arena, &o.err);
    if (err_guard(&o.err, plan_text, &(struct split_case){&o, text})) FAIL("%s", o.err.msg);
    CHECK_EQ(o.run.sched.call.n, 2u);
    arena_free(&o.arena);
}

/* So is K of operands that are copied: the weights of a pointwise convolution, summed over images and positions. */
TEST(schedule_gpu_splits_repacked_products) {
    static const char text[] =
        "kernel g\n(GRAPH (REDUCE_AXES[ADD] (MUL (EXPAND (CAST<f32> (BUFFER<bf16>[0] 64 256 1 196)) 64 256 "
        "1024 196) "
        "(EXPAND (CAST<f32> (BUFFER<bf16>[1] 64 1 1024 196)) 64 256 1024 196)) 0 3))\n";
    struct one o = {.opts = {.model = gpu_model(), .gpu = true, .capability = 90}};
    bool split = false;
    arena_init(&o.arena, &o.err);
    if (err_guard(&o.err, plan_text, &(struct split_case){&o, text})) FAIL("%s", o.err.msg);
    for (uint32_t i = 0; i < o.run.sched.prog.n; i++)
        split |= !strncmp(o.run.sched.prog.p[i].kernel.name, "r_7_256_1024_", 13);
    CHECK(split);
    CHECK_EQ(o.run.sched.call.n, 4u); /* two copies, seven partial sums, their sum */
    arena_free(&o.arena);
}

/* The gradient of a convolution's weights is summed in blocks of images, then of rows, filled up with zeros, never of columns: each with
 * the taps outermost and the channels innermost, and put in order by the kernel that adds them up; the sum of a convolution itself,
 * with as small images, is one. */
static void run_text(void *arg) {
    struct split_case *c = arg;
    struct one *o = c->o;
    plan_text(arg);
    str_init(&o->why, &o->arena);
    o->run.from = o->opts.gpu ? OPTS_GPU : OPTS_NONE;
    o->run.data = graph_fill(&o->arena, &o->ir, o->run.graph, 1, true);
    planned_memory(&o->run);
    planned_interpret(&o->run);
    o->ok = planned_check(&o->run, &o->why, &o->excluded, &o->compared);
}
TEST(schedule_gpu_splits_taps) {
    static const char weights[] =
        "kernel g\n(GRAPH (REDUCE_AXES[ADD] (MUL (EXPAND (BUFFER<f32>[0] 64 1 12 3 2 8 8) 64 16 12 3 2 8 8) "
        "(EXPAND (BUFFER<f32>[1] 64 16 1 1 1 8 8) 64 16 12 3 2 8 8)) 0 5 6))\n";
    static const char positions[] =
        "kernel g\n(GRAPH (REDUCE_AXES[ADD] (MUL (EXPAND (BUFFER<f32>[0] 64 1 6 6 64 3 3) 64 64 6 6 64 3 3) "
        "(EXPAND (BUFFER<f32>[1] 1 64 1 1 64 3 3) 64 64 6 6 64 3 3)) 4 5 6))\n";
    static const char rows[] = "kernel g\n(GRAPH (REDUCE_AXES[ADD] (MUL (EXPAND (BUFFER<f32>[0] 5 1 12 3 2 "
                               "29 31) 5 16 12 3 2 29 31) "
                               "(EXPAND (BUFFER<f32>[1] 5 16 1 1 1 29 31) 5 16 12 3 2 29 31)) 0 5 6))\n";
    struct one o = {.opts = {.model = gpu_model(), .gpu = true}};
    for (int i = 0; i < 2; i++) {
        arena_init(&o.arena, &o.err);
        if (err_guard(&o.err, run_text, &(struct split_case){&o, i ? rows : weights})) FAIL("%s", o.err.msg);
        CHECK_EQ(o.run.sched.call.n, 2);
        CHECK_STR(o.run.sched.prog.p[o.run.sched.call.p[0].prog].kernel.name,
                  i ? "r_5_10_6_16_12_3_31" : "r_64_6_16_12_64");
        if (!o.ok) FAIL("%s", o.why.p);
        CHECK_EQ(o.compared, (i + 1) * 16 * 12 * 3 * 2);
        arena_free(&o.arena);
    }
    arena_init(&o.arena, &o.err);
    if (err_guard(&o.err, plan_text, &(struct split_case){&o, positions})) FAIL("%s", o.err.msg);
    CHECK_EQ(o.run.sched.call.n, 1);
    arena_free(&o.arena);
}

/* GEMMs of 8-bit integers on a CPU that multiplies them by MMA instructions: one kernel, which reads bytes; cast to i32 or summed as
 * they are, where sums wrap. Factors that are read fewer than four times stay as they are too. */
TEST(schedule_cpu_products_of_bytes) {
    struct model m = *planned_model();
    m.theory[MODEL_MATRIX_I8] = 256;
    struct rnd r = {first_seed()};
    for (int i = 0; i < 40; i++) {
        const char *dt = i & 1 ? "i8" : "u8";
        long long rows = rnd_range(&r, 1, 40), columns = rnd_range(&r, 1, 40), k = rnd_range(&r, 2, 300);
        bool wide = i & 2 && RG_MIN(rows, columns) >= CONTRACTION_REUSE;
        char text[512], a[64], b[64];
        snprintf(a, sizeof a, "(BUFFER<%s>[0] %lld 1 %lld)", dt, rows, k);
        snprintf(b, sizeof b, "(BUFFER<%s>[1] 1 %lld %lld)", dt, columns, k);
        snprintf(text, sizeof text,
                 "kernel g\n(GRAPH (REDUCE_AXES[ADD] (MUL (EXPAND %s%s%s %lld %lld %lld) "
                 "(EXPAND %s%s%s %lld %lld %lld)) 2))\n",
                 wide ? "(CAST<i32> " : "", a, wide ? ")" : "", rows, columns, k, wide ? "(CAST<i32> " : "",
                 b, wide ? ")" : "", rows, columns, k);
        struct one o = {.opts = {.model = &m}, .seed = (uint64_t)i};
        arena_init(&o.arena, &o.err);
        if (err_guard(&o.err, run_text, &(struct split_case){&o, text})) FAIL("%s: %s", text, o.err.msg);
        if (!o.ok) FAIL("%s: %s", text, o.why.p);
        CHECK_EQ(o.run.sched.call.n, 1u);
        arena_free(&o.arena);
    }
}

/* A matrix of bytes by few rows is widened, and scaled, in the kernel that multiplies; by many rows it is stored as bf16. */
TEST(schedule_gpu_unpacks_bytes) {
    static const struct {
        const char *rows;
        bool scaled;
        uint32_t calls;
    } job[] = {{"16", false, 1}, {"16", true, 1}, {"512", false, 2}, {"512", true, 2}};
    for (size_t i = 0; i < RG_COUNT(job); i++) {
        struct one o = {.opts = {.model = gpu_model(), .gpu = true}};
        char text[1024];
        snprintf(
            text, sizeof text,
            "kernel g\nw = (CAST<bf16> (BUFFER<i8>[1] 1 8192 2048))\n"
            "s = (MUL w (EXPAND (BUFFER<bf16>[2] 1 8192 1) 1 8192 2048))\n"
            "(GRAPH (REDUCE_AXES[ADD] (MUL (EXPAND (CAST<f32> (BUFFER<bf16>[0] %s 1 2048)) %s 8192 2048) "
            "(EXPAND (CAST<f32> %s) %s 8192 2048)) 2))\n",
            job[i].rows, job[i].rows, job[i].scaled ? "s" : "w", job[i].rows);
        arena_init(&o.arena, &o.err);
        if (err_guard(&o.err, plan_text, &(struct split_case){&o, text})) FAIL("%s", o.err.msg);
        if (o.run.sched.call.n != job[i].calls) FAIL("%u calls of %s", o.run.sched.call.n, text);
        arena_free(&o.arena);
    }
}

/* On a CPU sums down the columns of more than a core's caches hold are cut into blocks of whole rows, however the matrix is named and
 * however few its columns are; what is only large because it was expanded is not. A vector times a matrix stores no products. */
TEST(schedule_cpu_splits_long_columns) {
    static const struct {
        const char *text;
        uint32_t calls;
    } job[] = {
        {"kernel g\n(GRAPH (REDUCE_AXES[ADD] (BUFFER<f32>[0] 4096 4096) 0))\n", 2},
        {"kernel g\n(GRAPH (REDUCE_AXES[ADD] (PERMUTE (BUFFER<f32>[0] 4096 4096) 1 0) 1))\n", 2},
        {"kernel g\n(GRAPH (REDUCE_AXES[ADD] (BUFFER<f32>[0] 4096 4096) 1))\n", 1},
        {"kernel g\n(GRAPH (REDUCE_AXES[ADD] (BUFFER<f32>[0] 512 4096) 0))\n", 2},
        {"kernel g\n(GRAPH (REDUCE_AXES[ADD] (BUFFER<f32>[0] 512 1024) 0))\n", 1},
        {"kernel g\n(GRAPH (REDUCE_AXES[ADD] (BUFFER<f32>[0] 1000000 16) 0))\n", 2},
        {"kernel g\n(GRAPH (REDUCE_AXES[MAX] (BUFFER<f32>[0] 333333 33) 0))\n", 2},
        {"kernel g\n(GRAPH (REDUCE_AXES[ADD] (MUL (EXPAND (BUFFER<f32>[0] 1000000 1) 1000000 16) "
         "(BUFFER<f32>[1] 1000000 "
         "16)) 0))\n",
         2},
        {"kernel g\n(GRAPH (REDUCE_AXES[ADD] (MUL (EXPAND (BUFFER<f32>[0] 512 1 512) 512 512 512) (EXPAND "
         "(BUFFER<f32>[1] 1 512 512) 512 512 512)) 2))\n",
         1},
    };
    for (size_t i = 0; i < RG_COUNT(job); i++) {
        struct one o = {.opts = {.model = planned_model()}};
        arena_init(&o.arena, &o.err);
        if (err_guard(&o.err, plan_text, &(struct split_case){&o, job[i].text})) FAIL("%s", o.err.msg);
        if (o.run.sched.call.n != job[i].calls) FAIL("%u calls of %s", o.run.sched.call.n, job[i].text);
        arena_free(&o.arena);
    }
}

static bool divides_indices(const char *text) {
    struct one o = {.opts = {.model = planned_model()}};
    uop_vec topo = {0};
    bool found = false;
    arena_init(&o.arena, &o.err);
    if (err_guard(&o.err, plan_text, &(struct split_case){&o, text})) FAIL("%s", o.err.msg);
    const uop *sink = o.run.sched.prog.p[o.run.sched.call.p[0].prog].kernel.sink;
    uop_topo(&o.arena, &sink, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++) found |= topo.p[i]->op == OP_IDIV || topo.p[i]->op == OP_MOD;
    arena_free(&o.arena);
    return found;
}

/* A sum over all of a tensor in blocks: contiguous memory is one axis, whatever its sizes; a permuted operand keeps the axes. */
TEST(schedule_cpu_full_sums_divide_no_index) {
    CHECK(!divides_indices("kernel g\n(GRAPH (REDUCE_AXES[ADD] (BUFFER<f32>[0] 3181 994) 0 1))\n"));
    CHECK(!divides_indices("kernel g\n(GRAPH (REDUCE_AXES[ADD] (MUL (BUFFER<f32>[0] 4096 65 25) (PERMUTE "
                           "(BUFFER<f32>[1] 25 65 4096) "
                           "2 1 0)) 0 1 2))\n"));
    /* blocks of the whole, which no axis ends, of what is computed of the elements: not stored before */
    struct one o = {.opts = {.model = planned_model()}};
    const char *cast = "kernel g\n(GRAPH (REDUCE_AXES[ADD] (CAST<f32> (BUFFER<f16>[0] 282 2477 2)) 0 1 2))\n";
    CHECK(!divides_indices(cast));
    arena_init(&o.arena, &o.err);
    if (err_guard(&o.err, plan_text, &(struct split_case){&o, cast})) FAIL("%s", o.err.msg);
    CHECK_EQ(o.run.sched.call.n, 2);
    arena_free(&o.arena);
}

/* What repeats is two axes, the period and how often. */
TEST(schedule_periods_are_axes) {
    CHECK(
        !divides_indices("kernel g\n(GRAPH (NEG (RESHAPE (EXPAND (BUFFER<f32>[0] 1 1000) 3 1000) 3000)))\n"));
    CHECK(!divides_indices("kernel g\n(GRAPH (ADD (RESHAPE (EXPAND (BUFFER<f32>[0] 1 1000) 3 1000) 3000) "
                           "(BUFFER<f32>[1] 3000)))\n"));
    /* three heads multiply by the same matrix */
    CHECK(!divides_indices(
        "kernel g\n(GRAPH (REDUCE_AXES[ADD] (MUL (EXPAND (BUFFER<f32>[0] 15 9 1 16) 15 9 72 16) "
        "(EXPAND (RESHAPE (EXPAND (BUFFER<f32>[1] 5 1 1 72 16) 5 3 1 72 16) 15 1 72 16) "
        "15 9 72 16)) 3))\n"));
}

/* Rotary positions of a product with a vector: each part of a head needs the products of both, so a kernel stores both parts in one
 * iteration: two sums and no predicate, in one loop. Interpreted against the oracle. Too few heads stay whole: they fill no machine. */
static void rotate_heads(void *arg) {
    struct split_case *c = arg;
    struct one *o = c->o;
    plan_text(arg);
    o->run.data = graph_fill(&o->arena, &o->ir, o->run.graph, 1, true);
    planned_memory(&o->run);
    planned_interpret(&o->run);
    o->ok = planned_check(&o->run, &o->why, &o->excluded, &o->compared);
}

TEST(schedule_parts_that_share_sums_are_stored_together) {
    static const int heads[] = {8, 1};
    for (int i = 0; i < 4; i++) {
        struct one o = {
            .opts = {.mode = PLAN_FUSE_ALL, .model = i < 2 ? gpu_model() : planned_model(), .gpu = i < 2}};
        uop_vec topo = {0};
        uint32_t sums = 0, less = 0, loops = 0;
        int h = heads[i % 2];
        char text[1200], y[300];
        snprintf(
            y, sizeof y,
            "(RESHAPE (REDUCE_AXES[ADD] (MUL (BUFFER<f32>[0] %d 256) (EXPAND (BUFFER<f32>[1] 1 256) %d 256)) "
            "1) %d 64)",
            64 * h, 64 * h, h);
        snprintf(text, sizeof text,
                 "kernel g\ny = %s\na = (SHRINK y 0 %d 1 0 32 1)\nb = (SHRINK y 0 %d 1 32 32 1)\n"
                 "c = (EXPAND (BUFFER<f32>[2] 1 32) %d 32)\ns = (EXPAND (BUFFER<f32>[3] 1 32) %d 32)\n"
                 "(GRAPH (ADD (PAD (SUB (MUL a c) (MUL b s)) -0.0 0 0 0 0 32 0) "
                 "(PAD (ADD (MUL b c) (MUL a s)) -0.0 0 0 0 32 0 0)))\n",
                 y, h, h, h, h);
        arena_init(&o.arena, &o.err);
        str_init(&o.why, &o.arena);
        if (err_guard(&o.err, rotate_heads, &(struct split_case){&o, text})) FAIL("%s", o.err.msg);
        if (!o.ok) FAIL("%s", o.why.p);
        CHECK_EQ(o.run.sched.call.n, 1);
        const uop *sink = o.run.sched.prog.p[o.run.sched.call.p[0].prog].kernel.sink;
        uop_topo(&o.arena, &sink, 1, &topo);
        for (uint32_t k = 0; k < topo.n; k++) {
            sums += topo.p[k]->op == OP_REDUCE, less += topo.p[k]->op == OP_LT;
            loops += topo.p[k]->op == OP_RANGE && topo.p[k]->arg.range.kind == AX_REDUCE;
        }
        bool apart = h > 1;
        if (apart ? sums != 2 || less || loops != 1 || sink->nsrc != 2 : sink->nsrc != 1)
            FAIL("%d heads: %u stores, %u sums in %u loops, %u comparisons", h, sink->nsrc, sums, loops,
                 less);
        arena_free(&o.arena);
    }
}

/* A GEMM with few results and a long K is a batch of GEMMs and a sum on a CPU too, by its sizes alone; one with results for many
 * threads, or with a K of some thousand terms, stays one kernel. */
TEST(schedule_cpu_splits_k) {
    static const struct {
        int64_t m, n, k;
        uint32_t calls;
    } job[] = {{16, 64, 131072, 2}, {64, 64, 65536, 2},  {128, 128, 8192, 2}, {10, 100, 100000, 2},
               {64, 64, 4096, 1},   {512, 512, 4096, 1}, {256, 256, 65536, 1}};
    for (size_t i = 0; i < RG_COUNT(job); i++) {
        long long m = job[i].m, n = job[i].n, k = job[i].k;
        char text[400];
        struct one o = {.opts = {.model = planned_model()}};
        snprintf(text, sizeof text,
                 "kernel g\n(GRAPH (REDUCE_AXES[ADD] (MUL (EXPAND (BUFFER<f32>[0] %lld 1 %lld) %lld %lld "
                 "%lld) (EXPAND "
                 "(BUFFER<f32>[1] 1 %lld %lld) %lld %lld %lld)) 2))\n",
                 m, k, m, n, k, n, k, m, n, k);
        arena_init(&o.arena, &o.err);
        if (err_guard(&o.err, plan_text, &(struct split_case){&o, text})) FAIL("%s", o.err.msg);
        if (o.run.sched.call.n != job[i].calls) FAIL("%u calls of %s", o.run.sched.call.n, text);
        arena_free(&o.arena);
    }
}

/* So is one whose K is several axes, every third row of images: images, rows and what divides a row are parts. */
TEST(schedule_cpu_splits_k_of_axes) {
    struct rnd r = {20261120};
    int split = 0;
    for (int i = 0; i < 4; i++) {
        int n = (int)rnd_range(&r, 1, 3), c = (int)rnd_range(&r, 8, 14), h = 4 * (int)rnd_range(&r, 18, 24),
            w = 8 * (int)rnd_range(&r, 14, 20), rows = i % 2 ? 3 * h : h;
        char text[600];
        struct one o = {.opts = {.model = planned_model()}};
        snprintf(text, sizeof text,
                 "kernel g\n(GRAPH (REDUCE_AXES[ADD] (MUL (EXPAND (RESHAPE (BUFFER<f32>[0] %d %d %d %d) %d "
                 "%d 1 %d "
                 "%d) %d %d %d %d %d) (EXPAND (RESHAPE (SHRINK (BUFFER<f32>[1] %d %d %d %d) 0 %d 1 0 %d 1 0 "
                 "%d %d 0 "
                 "%d 1) %d 1 %d %d %d) %d %d %d %d %d)) 0 3 4))\n",
                 n, c, h, w, n, c, h, w, n, c, 2 * c, h, w, n, 2 * c, rows, w, n, 2 * c, h, rows / h, w, n,
                 2 * c, h, w, n, c, 2 * c, h, w);
        arena_init(&o.arena, &o.err);
        if (err_guard(&o.err, run_text, &(struct split_case){&o, text})) FAIL("%s\n%s", text, o.err.msg);
        if (!o.ok) FAIL("%s\n%s", text, o.why.p);
        bool long_k = n * c * 2 * c * h * w >= 1 << 23;
        if (o.run.sched.call.n != (long_k ? 2 : 1)) FAIL("%u calls of %s", o.run.sched.call.n, text);
        split += long_k;
        arena_free(&o.arena);
    }
    CHECK(split > 0 && split < 4);
}

TEST(schedule_random_modes) {
    struct graph_gen gen = {.exact = true, .assigns = true};
    CHECK(
        many(first_seed() + 50000, count(120), gen, (struct sched_opts){.mode = PLAN_STORE_ALL}, OPTS_NONE));
    CHECK(many(first_seed() + 50000, count(120), gen, (struct sched_opts){.mode = PLAN_FUSE_ALL}, OPTS_NONE));
    CHECK(many(first_seed() + 50000, count(120), gen, (struct sched_opts){.no_multi = true}, OPTS_NONE));
    CHECK(many(first_seed() + 50000, count(120), gen, (struct sched_opts){.rank = 3}, OPTS_NONE));
}

/* Regions cut into blocks of a few units, wherever the cuts fall: values, in-place stores and kept rows are right. */
TEST(schedule_random_blocks) {
    struct graph_gen gen = {.exact = true, .assigns = true};
    for (uint32_t block = 1; block <= 4; block++)
        CHECK(many(first_seed() + 60000 + block, count(150), gen, (struct sched_opts){.block = block},
                   OPTS_NONE));
    CHECK(
        many(first_seed() + 61000, count(100), gen, (struct sched_opts){.block = 3, .gpu = true}, OPTS_GPU));
}

/* Calls are moved and copies made again wherever that lowers the peak of memory, however little. */
TEST(schedule_random_peaks) {
    struct graph_gen gen = {.exact = true, .all_dtypes = true, .assigns = true, .vars = true};
    for (int mode = 0; mode < 2; mode++)
        CHECK(many(first_seed() + 65000, count(500), gen,
                   (struct sched_opts){.lean = true, .mode = mode ? PLAN_STORE_ALL : PLAN_COST}, OPTS_NONE));
    struct sched_opts gpu = {.model = gpu_model(), .gpu = true, .lean = true, .mode = PLAN_STORE_ALL};
    CHECK(many(first_seed() + 66000, count(200), gen, gpu, OPTS_GPU));
}

/* ---- through the C compiler: many programs in one batch -------------------------------------------------- */

enum { BATCH_OF = 100 };

static void plan_run(void *arg) {
    struct one *o = arg;
    ir_init(&o->ir, &o->arena);
    str_init(&o->why, &o->arena);
    o->run = (struct planned_run){
        .arena = &o->arena, .ir = &o->ir, .opts = &o->opts, .from = o->from, .seed = o->seed, .for_cc = true};
    o->run.graph = graph_random(&o->ir, &o->arena, o->seed, &o->gen);
    o->run.data = graph_fill(&o->arena, &o->ir, o->run.graph, o->seed, o->gen.exact);
    planned_plan(&o->run);
    planned_memory(&o->run);
}

static void run_calls(struct engine *en, struct one *o, void **mem, const struct ekernel **code) {
    struct err err = {0};
    struct engine_list *list = engine_list_new(en, &err);
    for (uint32_t i = 0; list && i < o->run.sched.call.n && !err.code; i++) {
        const struct sched_call *c = &o->run.sched.call.p[i];
        const struct sched_prog *p = &o->run.sched.prog.p[c->prog];
        void **buf = arena_array(&o->arena, void *, p->nbuf + 1);
        int64_t *var = arena_array(&o->arena, int64_t, p->nvar + 1);
        for (uint32_t k = 0; k < p->nbuf; k++)
            buf[k] = (char *)mem[c->buf[k]] + (c->slice ? c->slice[k].offset : 0);
        for (uint32_t k = 0; k < p->nvar; k++) var[k] = o->run.data.var[c->var[k]];
        engine_list_add(list, &err, code[c->prog], buf, var);
    }
    if (!err.code) engine_list_run(list, &err);
    engine_list_free(list);
    if (err.code) FAIL("seed %llu: %s", (unsigned long long)o->seed, err.msg);
}

/* The same on a device with memory of its own: everything is copied there and back. Temporaries lie in one block, as the
 * engine has them. */
static void run_calls_far(struct engine *en, struct one *o, const struct ekernel **code) {
    const struct schedule *s = &o->run.sched;
    struct err err = {0};
    size_t temp_bytes = (size_t)s->temp_bytes + 64, *bytes = arena_array(&o->arena, size_t, s->buf.n + 1);
    char *temp = engine_alloc(en, &err, temp_bytes);
    void **far = arena_array(&o->arena, void *, s->buf.n + 1);
    for (uint32_t i = 0; i < s->buf.n; i++) {
        const struct sched_buf *b = &s->buf.p[i];
        bytes[i] = (size_t)b->elements * dtype_info[b->dt].bytes;
        far[i] = b->kind == BUF_TEMP ? temp + b->offset : engine_alloc(en, &err, bytes[i] + 1);
        if (b->kind != BUF_TEMP) engine_copy(en, &err, COPY_IN, far[i], o->run.mem[i], bytes[i]);
    }
    if (!err.code) run_calls(en, o, far, code);
    for (uint32_t i = 0; i < s->buf.n && !err.code; i++)
        if (s->buf.p[i].kind != BUF_TEMP) engine_copy(en, &err, COPY_OUT, o->run.mem[i], far[i], bytes[i]);
    for (uint32_t i = 0; i < o->run.graph->nsrc && !err.code; i++)
        engine_copy(en, &err, COPY_OUT, o->run.mem[s->result[i]], far[s->result[i]], bytes[s->result[i]]);
    if (err.code) FAIL("seed %llu: %s", (unsigned long long)o->seed, err.msg);
    for (uint32_t i = 0; i < s->buf.n; i++)
        if (s->buf.p[i].kind != BUF_TEMP) engine_free(en, far[i], bytes[i] + 1);
    engine_free(en, temp, temp_bytes);
}

static void check_run(void *arg) {
    struct one *o = arg;
    o->ok = planned_check(&o->run, &o->why, &o->excluded, &o->compared);
}

/* far: planned, lowered and run as for a GPU, and smaller programs: its compiler is slow. */
static void cc_batch(struct engine *en, bool far, uint64_t first, uint32_t programs, uint64_t *excluded,
                     uint64_t *compared, uint64_t *kernels) {
    struct one *o = calloc(BATCH_OF, sizeof *o);
    const struct linear *lin[BATCH_OF * 64] = {NULL};
    const struct ekernel *code[BATCH_OF * 64];
    uint32_t n = 0;
    struct err err = {0};
    for (uint32_t i = 0; i < programs; i++) {
        o[i] = (struct one){.seed = first + i,
                            .opts = {.model = far ? gpu_model() : planned_model(), .gpu = far},
                            .from = far          ? OPTS_GPU
                                    : i % 4 == 0 ? OPTS_RANDOM
                                                 : OPTS_HEURISTIC};
        o[i].gen = (struct graph_gen){
            .exact = i % 3, .all_dtypes = i % 3, .assigns = i % 2, .vars = i % 2, .max_ops = far ? 5 : 12};
        arena_init(&o[i].arena, &o[i].err);
        if (err_guard(&o[i].err, plan_run, &o[i]))
            FAIL("seed %llu: %s", (unsigned long long)o[i].seed, o[i].err.msg);
        for (uint32_t k = 0; k < o[i].run.sched.prog.n && n < RG_COUNT(lin); k++) lin[n++] = &o[i].run.lin[k];
    }
    if (engine_compile(en, &err, lin, n, code)) FAIL("%s", err.msg);
    uint32_t at = 0;
    for (uint32_t i = 0; i < programs; at += o[i++].run.sched.prog.n) {
        if (far)
            run_calls_far(en, &o[i], code + at);
        else
            run_calls(en, &o[i], o[i].run.mem, code + at);
        if (err_guard(&o[i].err, check_run, &o[i]) || !o[i].ok)
            FAIL("seed %llu: %s%s", (unsigned long long)o[i].seed, o[i].err.msg,
                 o[i].why.p ? o[i].why.p : "");
        *excluded += o[i].excluded, *compared += o[i].compared;
    }
    *kernels += n;
    for (uint32_t i = 0; i < programs; i++) arena_free(&o[i].arena);
    free(o);
}

static void through_compiler(struct engine *en, bool far, uint64_t first, uint32_t n) {
    uint64_t excluded = 0, compared = 0, kernels = 0;
    for (uint32_t i = 0; i < n; i += BATCH_OF)
        cc_batch(en, far, first + i, RG_MIN(n - i, (uint32_t)BATCH_OF), &excluded, &compared, &kernels);
    engine_close(en);
    TEST_INFO("%u programs through the compiler: %llu kernels, %llu elements compared, %llu left out", n,
              (unsigned long long)kernels, (unsigned long long)compared, (unsigned long long)excluded);
    CHECK(few_left_out(n, excluded, compared));
}

TEST_SLOW(schedule_random_through_cc, 900) {
    struct err err = {0};
    struct engine *en = engine_open(&err, NULL);
    if (!en) FAIL("%s", err.msg);
    through_compiler(en, false, first_seed() + 60000, count(100)); /* tests/outside runs thousands */
}
TEST_MANUAL(fuzz_schedule_through_cc, 3600) {
    struct err err = {0};
    struct engine *en = engine_open(&err, NULL);
    if (!en) FAIL("%s", err.msg);
    through_compiler(en, false, first_seed() + 60300, count(4000));
}

/* In two parts, for two cores. */
static void opencl_part(uint64_t first, uint32_t n) {
    opencl_hurry();
    through_compiler(opencl_engine(), true, first, n);
}
TEST_SLOW(opencl_random_0, 900) { opencl_part(first_seed() + 80000, count(50)); }
TEST_SLOW(opencl_random_1, 900) { opencl_part(first_seed() + 80100, count(50)); }
TEST_MANUAL(fuzz_opencl_random, 3600) { opencl_part(first_seed() + 80200, count(1000)); }

/* Scatter-adds of floats in a fixed order, as functions of the device or densely: every program has a plan. */
static void plan_ordered(void *arg) {
    struct one *o = arg;
    ir_init(&o->ir, &o->arena);
    o->run.graph = graph_random(&o->ir, &o->arena, o->seed, &o->gen);
    schedule(&o->arena, &o->ir, o->run.graph, &o->opts, &o->run.sched);
}
TEST(schedule_random_ordered) {
    uint64_t sums = 0, adds = 0, scatters = 0, n = count(800);
    for (uint64_t i = 0; i < n; i++) {
        struct one o = {
            .seed = first_seed() + 90000 + i,
            .opts = {.model = gpu_model(), .gpu = true, .ordered = true},
            .gen = {.exact = i % 2, .all_dtypes = i % 3, .assigns = i % 2, .vars = i % 2, .max_ops = 12}};
        arena_init(&o.arena, &o.err);
        if (err_guard(&o.err, plan_ordered, &o)) FAIL("seed %llu: %s", (unsigned long long)o.seed, o.err.msg);
        for (uint32_t k = 0; k < o.run.sched.prog.n; k++) {
            const struct sched_prog *p = &o.run.sched.prog.p[k];
            sums += p->builtin && !strcmp(p->builtin->name, "scatter_sum");
            const uop *st = p->builtin ? NULL : p->kernel.sink->src[0];
            adds += st && st->op == OP_STORE_ADD && dt_is_float((enum dtype)st->src[1]->dt);
        }
        uop_vec topo = {0};
        uop_topo(&o.arena, &o.run.graph, 1, &topo);
        for (uint32_t k = 0; k < topo.n; k++)
            scatters += topo.p[k]->op == OP_SCATTER && dt_is_float((enum dtype)topo.p[k]->dt);
        arena_free(&o.arena);
    }
    TEST_INFO("%llu programs planned, %llu scatter-adds, %llu of them by a function of the device",
              (unsigned long long)n, (unsigned long long)scatters, (unsigned long long)sums);
    CHECK_EQ(adds, 0);
    CHECK(scatters * 100 > n);
}

/* ---- on a GPU ----------------------------------------------------------------------------------------------- */

struct gpu_call {
    struct one *o;
    struct engine *en;
};

/* As the engine does it: planned with the GPU's model, every buffer on the device. */
static void realize_far(void *arg) {
    struct gpu_call *g = arg;
    struct one *o = g->o;
    struct err e = {0};
    ir_init(&o->ir, &o->arena);
    str_init(&o->why, &o->arena);
    const uop *graph = o->run.graph = graph_random(&o->ir, &o->arena, o->seed, &o->gen);
    o->run.arena = &o->arena, o->run.ir = &o->ir;
    o->run.data = graph_fill(&o->arena, &o->ir, graph, o->seed, o->gen.exact);
    struct graph_data *d = &o->run.data;
    struct shapes sh;
    shapes_init(&sh, &o->ir, &o->arena);
    void **buf = arena_array(&o->arena, void *, d->nbuf + 1),
         **result = arena_array(&o->arena, void *, graph->nsrc + 1);
    size_t *bytes = arena_array(&o->arena, size_t, graph->nsrc + 1);
    for (uint32_t i = 0; i < d->nbuf; i++) {
        buf[i] = engine_alloc(g->en, &e, d->bufs[i].bytes + 1);
        if (!buf[i] || engine_copy(g->en, &e, COPY_IN, buf[i], d->bufs[i].p, d->bufs[i].bytes))
            FAIL("%s", e.msg);
    }
    o->run.result = arena_array(&o->arena, void *, graph->nsrc + 1);
    for (uint32_t i = 0; i < graph->nsrc; i++) {
        bytes[i] = (size_t)shape_size(shape_of(&sh, graph->src[i])) * dtype_info[graph->src[i]->dt].bytes;
        result[i] = engine_alloc(g->en, &e, bytes[i] + 1);
        o->run.result[i] = arena_alloc(&o->arena, bytes[i] + 1);
    }
    struct realize r = {.ir = &o->ir, .graph = graph, .buf = buf, .result = result, .var = d->var};
    int code = engine_realize(g->en, &e, &r, NULL);
    for (uint32_t i = 0; i < graph->nsrc && !code; i++) {
        const uop *x = graph->src[i], *b = x;
        while (b->op == OP_ASSIGN) b = b->src[0];
        void *from = x->op == OP_BUFFER || x->op == OP_ASSIGN ? buf[b->arg.i] : result[i];
        code = engine_copy(g->en, &e, COPY_OUT, o->run.result[i], from, bytes[i]);
    }
    for (uint32_t i = 0; i < d->nbuf; i++) engine_free(g->en, buf[i], d->bufs[i].bytes + 1);
    for (uint32_t i = 0; i < graph->nsrc; i++) engine_free(g->en, result[i], bytes[i] + 1);
    if (code) err_throw(&o->err, code, "%s", e.msg);
    o->ok = planned_check(&o->run, &o->why, &o->excluded, &o->compared);
}

/* Parts, so that several processes share the work; SEED and SEEDS choose others. */
static void gpu_part(struct engine *en, uint64_t programs, uint32_t part, uint32_t parts) {
    uint64_t excluded = 0, compared = 0, failed = 0, all = count(programs);
    uint64_t from = all * part / parts, n = all * (part + 1) / parts - from;
    for (uint64_t i = 0; i < n; i++) {
        struct one o = {.seed = first_seed() + 70000 + from + i};
        uint64_t kind = o.seed; /* so that a seed alone tells the program */
        o.gen = (struct graph_gen){
            .exact = kind % 3, .all_dtypes = kind % 3, .assigns = kind % 2, .vars = kind % 2, .max_ops = 12};
        arena_init(&o.arena, &o.err);
        int code = err_guard(&o.err, realize_far, &(struct gpu_call){&o, en});
        if (code || !o.ok) {
            failed++;
            fprintf(stderr, "seed %llu: %s%s\n", (unsigned long long)o.seed, code ? o.err.msg : "",
                    o.why.p ? o.why.p : "");
            if (failed > 5) break;
        }
        excluded += o.excluded, compared += o.compared;
        arena_free(&o.arena);
    }
    engine_close(en);
    TEST_INFO("%llu random programs on the GPU, %llu elements compared, %llu left out", (unsigned long long)n,
              (unsigned long long)compared, (unsigned long long)excluded);
    CHECK_EQ(failed, 0);
}

/* A process compiles one program after the other; 16 of them use the cores better than threads of one would. What is
 * compiled here is seldom asked for again: it is not kept. */
static void cuda_part(uint32_t part) {
    setenv("RIDGE_CACHE", "0", 1), setenv("RIDGE_THREADS", "1", 1);
    env_reload();
    gpu_part(cuda_engine(), 5000, part, 16);
}
#define TEST_PART(k) \
    TEST_MANUAL(cuda_gpu_random_##k, 140) { cuda_part(k); }
/* clang-format off */
TEST_PART(0) TEST_PART(1) TEST_PART(2) TEST_PART(3) TEST_PART(4) TEST_PART(5) TEST_PART(6) TEST_PART(7)
TEST_PART(8) TEST_PART(9) TEST_PART(10) TEST_PART(11) TEST_PART(12) TEST_PART(13) TEST_PART(14) TEST_PART(15)
/* clang-format on */
#undef TEST_PART

/* The whole way, by the engine; SEEDS=500 takes minutes on PoCL. */
TEST_MANUAL(opencl_random_realized, 1800) { gpu_part(opencl_engine(), 200, 0, 1); }

/* The same on the simulated GPU, which checks each access of each kernel. */
static void simgpu_part(const char *device, uint64_t programs) {
    struct err e = {0};
    simgpu_add();
    struct engine *en = search_engine_open(&e, device_find(&e, device));
    if (!en) FAIL("%s", e.msg);
    gpu_part(en, programs, 0, 1);
}
TEST_SLOW(simgpu_random, 300) { simgpu_part("SIM90", 400); }
TEST_SLOW(simgpu_random_few_sms, 300) { simgpu_part("SIM80S", 200); }
TEST_MANUAL(simgpu_more_random, 3600) { simgpu_part("SIM90S", 3000); }
