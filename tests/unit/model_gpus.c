/* Tests of the table of GPUs (src/model/gpus.def) and of the decisions that follow it: GEMM, convolution, attention, reduction and
 * softmax get opt lists for each of several rows and are lowered under its limits. No GPU is needed.
 *
 *   grids         persistent blocks follow the SM count; a split-K GEMM has no fewer blocks than SMs
 *   limits        shared memory of a block, registers x threads within the row's
 *   instructions  wgmma, TMA and warp specialization on compute capability 9.0 alone; mma.sync on others from 8.0 on
 *   thresholds    a kernel just large enough for a row is treated as such, one just below is not: fixed numbers of blocks, threads or
 *                 FMAs would fail on all rows but those with 132 SMs */
#include "irtest.h"
#include "planned.h"
#include "tune/tune.h"

#include <math.h>
#include <stdlib.h>

static const char *const names[] = {"A100-SXM4-80GB", "H100 PCIe", "RTX 4090", "L4", "H200", "B200"};

static const char gemm[] =
    "kernel gemm\na = (PARAM<bf16>[0 a] 16777216)\nb = (PARAM<bf16>[1 b] 16777216)\nout = (PARAM<bf16>[2 "
    "out] "
    "16777216)\n"
    "m = (RANGE[m GRID 0] 4096)\nn = (RANGE[n GRID 1] 4096)\nk = (RANGE[k REDUCE 2] 4096)\n"
    "x = (CAST<f32> (LOAD (INDEX a (ADD (MUL m 4096) k))))\ny = (CAST<f32> (LOAD (INDEX b (ADD (MUL n 4096) "
    "k))))\n"
    "(SINK (STORE (INDEX out (ADD (MUL m 4096) n)) (CAST<bf16> (REDUCE[ADD] (MUL x y) k))))\n";
static const char conv[] =
    "kernel conv\nimg = (PARAM<f32>[0 img] 12845056)\nw = (PARAM<f32>[1 w] 36864)\nout = (PARAM<f32>[2 out] "
    "11943936)\n"
    "b = (RANGE[b GRID 0] 64)\no = (RANGE[o GRID 1] 64)\ny = (RANGE[y GRID 2] 54)\nx = (RANGE[x GRID 3] 54)\n"
    "i = (RANGE[i REDUCE 4] 64)\np = (RANGE[p REDUCE 5] 3)\nq = (RANGE[q REDUCE 6] 3)\n"
    "at = (ADD (MUL (ADD (MUL (ADD (MUL b 64) i) 56) (ADD y p)) 56) (ADD x q))\n"
    "u = (LOAD (INDEX w (ADD (MUL (ADD (MUL o 64) i) 9) (ADD (MUL p 3) q))))\n"
    "(SINK (STORE (INDEX out (ADD (MUL (ADD (MUL (ADD (MUL b 64) o) 54) y) 54) x)) "
    "(REDUCE[ADD] (MUL (LOAD (INDEX img at)) u) i p q)))\n";
static const char attention[] =
    "kernel att\ni0 = (RANGE[i0 GRID 0] 48)\ni1 = (RANGE[i1 GRID 1] 1024)\ni2 = (RANGE[i2 LOOP 2] 64)\n"
    "k3 = (RANGE[k3 REDUCE 4] 64)\nk4 = (RANGE[k4 REDUCE 3 0] 1024)\nk41 = (RANGE[k4 REDUCE 3 1] 1024)\n"
    "k42 = (RANGE[k4 REDUCE 3 2] 1024)\nk43 = (RANGE[k4 REDUCE 3 3] 1024)\nk5 = (RANGE[k5 REDUCE 5] 1024)\n"
    "b0 = (PARAM<bf16>[0 b0] 3145728)\nb1 = (PARAM<bf16>[1 b1] 3145728)\nb2 = (PARAM<bf16>[2 b2] 3145728)\n"
    "b3 = (PARAM<bf16>[3 b3] 3145728)\nrow = (ADD i1 (MUL i0 1024))\nhead = (MUL i0 65536)\n"
    "q = (CAST<f32> (LOAD (INDEX b1 (ADD k3 (MUL row 64)))))\n"
    "k = (CAST<f32> (LOAD (INDEX b2 (ADD k3 (ADD head (MUL k4 64))))))\n"
    "sc = (MUL (REDUCE[ADD] (MUL q k) k3) 0.25)\nkeep0 = (STAGE[keep0 SCRATCH] sc k4)\n"
    "m = (REDUCE[MAX] (LOAD (INDEX keep0 k41)) k41)\ne = (EXP2 (SUB (LOAD (INDEX keep0 k42)) m))\n"
    "keep1 = (STAGE[keep1 SCRATCH] e k42)\nl = (REDUCE[ADD] (LOAD (INDEX keep1 k43)) k43)\n"
    "p = (CAST<f32> (CAST<bf16> (LOAD (INDEX keep1 k5))))\n"
    "v = (CAST<f32> (LOAD (INDEX b3 (ADD i2 (ADD head (MUL k5 64))))))\n"
    "(SINK (STORE (INDEX b0 (ADD i2 (MUL row 64))) (CAST<bf16> (FDIV (REDUCE[ADD] (MUL p v) k5) l))))\n";
static const char reduction[] =
    "kernel rows\nx = (PARAM<f32>[0 x] 4194304)\no = (PARAM<f32>[1 o] 1024)\n"
    "r = (RANGE[r GRID 0 0] 1024)\nk = (RANGE[k REDUCE 1 0] 4096)\n"
    "(SINK (STORE (INDEX o r) (REDUCE[ADD] (LOAD (INDEX x (ADD (MUL r 4096) k))) k)))\n";
static const char softmax[] =
    "kernel softmax\nx = (PARAM<f32>[0 x] 16777216)\nout = (PARAM<f32>[1 out] 16777216)\n"
    "r = (RANGE[r GRID 0] 4096)\nk0 = (RANGE[k REDUCE 1 0] 4096)\nk1 = (RANGE[k REDUCE 1 1] 4096)\n"
    "k2 = (RANGE[k LOOP 1 2] 4096)\nm = (REDUCE[MAX] (LOAD (INDEX x (ADD (MUL r 4096) k0))) k0)\n"
    "s = (REDUCE[ADD] (EXP (SUB (LOAD (INDEX x (ADD (MUL r 4096) k1))) m)) k1)\n"
    "e = (EXP (SUB (LOAD (INDEX x (ADD (MUL r 4096) k2))) m))\n"
    "(SINK (STORE (INDEX out (ADD (MUL r 4096) k2)) (MUL e (RECIP s))))\n";

struct lowered {
    struct ir_test t;
    const char *opts;
    struct linear lin;
};

static void lower_for(struct lowered *x, const struct gpu_spec *g, const char *text) {
    struct program *p;
    ir_test_open(&x->t);
    p = arena_new(&x->t.arena, struct program);
    ir_parse(&x->t.ir, text, strlen(text), "text", p);
    x->opts = opts_heuristic_gpu(&x->t.ir, &p->kernel.p[0], g);
    struct lower_opts o = {.opts = x->opts, .target = {.kind = TARGET_GPU, .native_exp = true, .gpu = g}};
    lower(&x->t.ir, &p->kernel.p[0], &o, &x->lin);
}

static bool has_op(const struct linear *l, enum op op) {
    for (uint32_t i = 0; i < l->n; i++)
        if (l->u[i]->op == op) return true;
    return false;
}

static bool has_wgmma(const struct linear *l) {
    for (uint32_t i = 0; i < l->n; i++)
        if (l->u[i]->op == OP_MMA && mma_is_wgmma((enum mma)l->u[i]->arg.mma.instr)) return true;
    return false;
}

static int64_t persistent_blocks(const char *opts) {
    const char *at = strstr(opts, "PERSISTENT(");
    return at ? strtoll(at + strlen("PERSISTENT("), NULL, 10) : 0;
}

/* What every kernel keeps to on this GPU. */
static void check_limits(const struct gpu_spec *g, const struct lowered *x) {
    struct gpu_work w;
    CHECK(x->lin.shared <= g->smem_block);
    CHECK(x->lin.threads <= (uint32_t)g->threads_block);
    gpu_work_of((struct arena *)&x->t.arena, &x->lin, x->lin.threads, 1, &w);
    int resident = predict_gpu_resident(&w, g);
    CHECK(resident >= 1 && resident <= g->blocks_sm);
    CHECK(resident == 1 || (int64_t)resident * x->lin.shared <= g->smem_sm);
    CHECK(x->lin.threads * 24 <= (uint32_t)g->regs_sm); /* some registers for every thread */
    bool hopper = g->cc == 90;
    CHECK(hopper || !has_wgmma(&x->lin));
    CHECK(hopper || (!has_op(&x->lin, OP_TMA_LOAD) && !has_op(&x->lin, OP_MBAR_INIT)));
    int64_t blocks = persistent_blocks(x->opts);
    CHECK(hopper || !blocks);
    CHECK(!blocks || (blocks <= g->sms && blocks > g->sms * 7 / 8));
}

TEST_SLOW(gpu_rows_decide, 120) {
    static const char *const text[] = {gemm, conv, attention, reduction, softmax};
    int64_t seen = 0;
    for (size_t i = 0; i < RG_COUNT(names); i++) {
        const struct gpu_spec *g = gpu_spec_find(names[i]);
        CHECK(g && !strcmp(g->name, names[i]));
        for (size_t k = 0; k < RG_COUNT(text); k++) {
            struct lowered x;
            lower_for(&x, g, text[k]);
            check_limits(g, &x);
            if (text[k] == gemm) {
                CHECK(has_op(&x.lin, OP_MMA) && has_wgmma(&x.lin) == (g->cc == 90));
                if (g->cc == 90) CHECK_EQ(persistent_blocks(x.opts), g->sms);
            }
            if (text[k] == attention && g->cc == 90)
                CHECK(has_wgmma(&x.lin) && persistent_blocks(x.opts) > 0);
            seen++;
            ir_test_close(&x.t);
        }
    }
    CHECK_EQ(seen, 30);
}

/* What the constants of gpu_cost were fitted to: an H200, and every GPU with its number of SMs. */
TEST(gpu_figures_of_132_sms) {
    static const char *const same[] = {"H200", "H100"};
    for (size_t i = 0; i < RG_COUNT(same); i++) {
        const struct gpu_spec *g = gpu_spec_find(same[i]);
        CHECK_EQ(g->sms, 132);
        CHECK_NEAR(gpu_whole(g, gpu_cost.threads_columns), 1 << 17, 0);
        CHECK_NEAR(gpu_whole(g, gpu_cost.blocks_coop), 2048, 0);
        CHECK_NEAR(gpu_whole(g, gpu_cost.blocks_skinny), 256, 0);
        CHECK_NEAR(gpu_whole(g, gpu_cost.blocks_gemm), 32, 0);
        CHECK_NEAR(gpu_whole(g, gpu_cost.blocks_cluster4), 64, 0);
        CHECK_NEAR(gpu_whole(g, gpu_cost.conv_fmas), 4e7, 0);
        CHECK_NEAR(gpu_whole(g, gpu_cost.coop_outputs), 1 << 20, 0);
        CHECK_NEAR(gpu_whole(g, gpu_cost.wgrad_accumulators * g->regs_sm), 3 << 20, 0);
        CHECK_NEAR(gpu_power_flops(g), 2e14, 1);
        CHECK_NEAR(gpu_l2_scale(g), 1, 0);
        CHECK_NEAR(gpu_launch_ns(g), 2000, 0);
    }
}

/* L2 of a row that has a source, and of one that has none. */
TEST(gpu_l2_rates_are_the_rows) {
    struct model h200, a100, v100, l4;
    model_of_gpu(&h200, gpu_spec_find("H200")), model_of_gpu(&a100, gpu_spec_find("A100"));
    model_of_gpu(&v100, gpu_spec_find("V100")), model_of_gpu(&l4, gpu_spec_find("NVIDIA L4"));
    CHECK_NEAR(model_value(&h200, MODEL_L3_RATE), 40 * 1.98, 0.1);
    CHECK_NEAR(model_value(&a100, MODEL_L3_RATE), 5120 / 108.0 * 1.41, 0.1);
    CHECK_NEAR(model_value(&v100, MODEL_L3_RATE), 2048 / 80.0 * 1.53, 0.1);
    CHECK_NEAR(model_value(&l4, MODEL_L3_RATE), 40 * 2.04, 0.1);
    struct gpu_work w = {
        .blocks = 528, .threads = 256, .registers = 64, .steps = 1, .ahead = 1, .mma_peak = 1, .fill = 1e6};
    struct gpu_spec slow = *gpu_spec_find("H200");
    double fast = predict_gpu(&w, &slow, &h200);
    slow.l2_sm = 20;
    CHECK(predict_gpu(&w, &slow, &h200) > 1.8 * fast);
}

/* What was fitted on 132 SMs, for this row. */
static int64_t scaled(const struct gpu_spec *g, double on_132) { return llround(g->sms * on_132 / 132); }

static const char *opts_for(struct ir_test *t, const struct gpu_spec *g, const char *text) {
    struct program *p = arena_new(&t->arena, struct program);
    ir_parse(&t->ir, text, strlen(text), "text", p);
    return opts_heuristic_gpu(&t->ir, &p->kernel.p[0], g);
}

/* `rows` by `columns`, K-major, 4096 terms; float32 is negated, so that rows are not staged as they lie. */
static const char *skinny(struct ir_test *t, const char *type, int64_t rows, int64_t columns) {
    bool f32 = !strcmp(type, "f32");
    const char *up = f32 ? "(NEG " : "(CAST<f32> ", *end = f32 ? "" : ")", *down = f32 ? "" : "(CAST<bf16> ";
    return arena_printf(
        &t->arena,
        "kernel mm\na = (PARAM<%s>[0 a] %lld)\nb = (PARAM<%s>[1 b] %lld)\no = (PARAM<%s>[2 o] %lld)\n"
        "m = (RANGE[m GRID 0] %lld)\nn = (RANGE[n GRID 1] %lld)\nk = (RANGE[k REDUCE 2] 4096)\n"
        "x = %s(LOAD (INDEX a (ADD (MUL m 4096) k))))\ny = %s(LOAD (INDEX b (ADD (MUL n 4096) k)))%s\n"
        "(SINK (STORE (INDEX o (ADD (MUL m %lld) n)) %s(REDUCE[ADD] (MUL x y) k)%s))\n",
        type, (long long)rows * 4096, type, (long long)columns * 4096, type, (long long)(rows * columns),
        (long long)rows, (long long)columns, up, f32 ? "" : up, end, (long long)columns, down, end);
}

/* 16 rows by bf16: four MMA instructions along n as soon as that leaves blocks enough. Two rows of f32: a register tile of 2 x 4 as
 * soon as that leaves cooperative blocks enough, of fewer columns below. */
TEST(gpu_rows_decide_skinny_gemms) {
    for (size_t i = 0; i < RG_COUNT(names); i++) {
        struct ir_test t;
        const struct gpu_spec *g = gpu_spec_find(names[i]);
        int64_t blocks = scaled(g, 256), coop = scaled(g, 2048);
        ir_test_open(&t);
        CHECK(strstr(opts_for(&t, g, skinny(&t, "bf16", 16, blocks * 32)), " TILE(n,32,"));
        CHECK(strstr(opts_for(&t, g, skinny(&t, "bf16", 16, blocks * 32 - 8)), " TILE(n,16,"));
        const char *full = opts_for(&t, g, skinny(&t, "f32", 2, coop * 4));
        const char *less = opts_for(&t, g, skinny(&t, "f32", 2, coop * 4 - 4));
        if (!strstr(full, "TILE(n,4,") || !strstr(full, "REG(m)")) FAIL("%s: %s", names[i], full);
        if (strstr(less, "TILE(n,4,") || !strstr(less, "REG(m)")) FAIL("%s: %s", names[i], less);
        ir_test_close(&t);
    }
}

/* A convolution with FMAs enough, and one with an image less. */
TEST(gpu_rows_decide_small_convolutions) {
    static const char text[] =
        "kernel conv\nimg = (PARAM<f32>[0 img] %lld)\nw = (PARAM<f32>[1 w] 2304)\nout = (PARAM<f32>[2 out] "
        "%lld)\n"
        "b = (RANGE[b GRID 0] %lld)\no = (RANGE[o GRID 1] 32)\ny = (RANGE[y GRID 2] 12)\nx = (RANGE[x GRID "
        "3] 12)\n"
        "i = (RANGE[i REDUCE 4] 8)\np = (RANGE[p REDUCE 5] 3)\nq = (RANGE[q REDUCE 6] 3)\n"
        "at = (ADD (MUL (ADD (MUL (ADD (MUL b 8) i) 14) (ADD y p)) 14) (ADD x q))\n"
        "u = (LOAD (INDEX w (ADD (MUL (ADD (MUL o 8) i) 9) (ADD (MUL p 3) q))))\n"
        "(SINK (STORE (INDEX out (ADD (MUL (ADD (MUL (ADD (MUL b 32) o) 12) y) 12) x)) "
        "(REDUCE[ADD] (MUL (LOAD (INDEX img at)) u) i p q)))\n";
    const double fmas = 32 * 12 * 12 * 8 * 9; /* of an image */
    for (size_t i = 0; i < RG_COUNT(names); i++) {
        struct ir_test t;
        const struct gpu_spec *g = gpu_spec_find(names[i]);
        long long enough = (long long)((double)scaled(g, 4e7) / fmas) + 1;
        ir_test_open(&t);
        for (long long b = enough - 1; b <= enough; b++) {
            const char *opts = opts_for(&t, g, arena_printf(&t.arena, text, b * 8 * 196, b * 32 * 144, b));
            bool direct = strstr(opts, "STAGE(img,") && !strstr(opts, "JOIN("); /* else an implicit GEMM */
            if (direct != (b == enough)) FAIL("%s, %lld images: %s", names[i], b, opts);
        }
        ir_test_close(&t);
    }
}

/* Split-K clusters of four are tried while their blocks are co-resident: 64 on 132 SMs. */
TEST(gpu_rows_decide_clusters) {
    for (int sms = 66; sms <= 132; sms += 66) {
        struct ir_test t;
        struct gpu_spec g = *gpu_spec_find("H200");
        struct program p = {0};
        gpu_lists configs;
        uint32_t found = 0;
        g.sms = sms;
        ir_test_open(&t);
        const char *text = skinny(&t, "bf16", 2048, 256); /* 16 tiles of 128 x 256 */
        ir_parse(&t.ir, text, strlen(text), "text", &p);
        opts_configs_gpu(&t.ir, &p.kernel.p[0], &g, planned_h200(), NULL, 2000, 0, &configs);
        for (uint32_t i = 0; i < configs.n; i++)
            found += !strncmp(configs.p[i].config, "wgmma 128x256x", 14) &&
                     strstr(configs.p[i].config, "cluster 4");
        CHECK_EQ(found > 0, sms == 132);
        ir_test_close(&t);
    }
}

/* Legality counts the registers of the GPU that is compiled for. */
TEST(gpu_rows_decide_legality) {
    struct ir_test t;
    struct program p = {0};
    const struct gpu_spec *h200 = gpu_spec_default();
    struct gpu_spec small = *h200;
    struct str why;
    small.regs_sm /= 4;
    ir_test_open(&t);
    str_init(&why, &t.arena);
    ir_parse(&t.ir, gemm, strlen(gemm), "text", &p);
    const char *opts = opts_heuristic_gpu(&t.ir, &p.kernel.p[0], h200);
    CHECK(strstr(opts, "WARP_SPECIALIZE("));
    CHECK(opts_legal(&t.ir, &p.kernel.p[0], opts, h200, NULL));
    CHECK(!opts_legal(&t.ir, &p.kernel.p[0], opts, &small, &why));
    CHECK(strstr(why.p, "registers"));
    ir_test_close(&t);
}

/* Sums of long columns, which a block reads side by side: split as long as there are too few of them for all SMs. */
static uint32_t kernels_of_column_sums(const struct gpu_spec *g, int64_t columns) {
    struct ir_test t;
    ir_test_open(&t);
    struct program p = {0};
    struct schedule s;
    struct sched_opts o = {.model = planned_h200(), .gpu = true, .spec = g, .capability = g->cc};
    const char *text = arena_printf(
        &t.arena, "kernel g\n(GRAPH (REDUCE_AXES[ADD] (BUFFER<f32>[0] 65536 %lld) 0))\n", (long long)columns);
    ir_parse(&t.ir, text, strlen(text), "text", &p);
    memset(&s, 0, sizeof s);
    schedule(&t.arena, &t.ir, p.kernel.p[0].sink, &o, &s);
    uint32_t n = s.call.n;
    ir_test_close(&t);
    return n;
}

TEST(gpu_rows_decide_column_sums) {
    for (size_t i = 0; i < RG_COUNT(names); i++) {
        const struct gpu_spec *g = gpu_spec_find(names[i]);
        CHECK_EQ(kernels_of_column_sums(g, 64 * g->sms), 1);
        CHECK_EQ(kernels_of_column_sums(g, 16 * g->sms), 2);
        CHECK_EQ(kernels_of_column_sums(g, g->sms), 2);
    }
}

/* Double precision is the row's where it is less than the architecture's: H20 has Hopper's SMs, and 1 TFLOP/s. */
TEST(gpu_f64_rates_are_the_rows) {
    static const struct {
        const char *name;
        double tflops;
    } of[] = {{"H20", 1}, {"H800", 1}, {"H200", 33.5}, {"A100-SXM4-80GB", 9.75}, {"B300", 1.25}};
    for (size_t i = 0; i < RG_COUNT(of); i++) {
        struct model m;
        model_of_gpu(&m, gpu_spec_find(of[i].name));
        double got = model_value(&m, MODEL_FLOPS_F64) * model_value(&m, MODEL_CLOCK) *
                     model_value(&m, MODEL_CORES) / 1e3;
        CHECK_NEAR(got, of[i].tflops, 0.25 * of[i].tflops); /* rates are whole operations per cycle */
    }
}

TEST(gpu_rows_by_architecture) {
    const struct gpu_spec *a100 = gpu_spec_find("A100"), *l4 = gpu_spec_find("NVIDIA L4"),
                          *h200 = gpu_spec_default();
    CHECK_EQ(a100->smem_block, 163 << 10);
    CHECK_EQ(l4->smem_block, 99 << 10);
    CHECK_EQ(h200->smem_block, 227 << 10);
    CHECK_EQ(l4->max_threads_sm, 1536);
    CHECK_NEAR(gpu_mma_per_cycle(h200), 4096, 0);
    CHECK_NEAR(gpu_mma_per_cycle(a100), 2048, 0);
    CHECK_NEAR(gpu_mma_per_cycle(gpu_spec_find("RTX 4090")), 512, 0);
    for (size_t i = 0; gpu_spec_at(i); i++) {
        const struct gpu_spec *g = gpu_spec_at(i);
        CHECK(g->smem_block <= g->smem_sm && g->ghz > 1 && g->ghz < 3 && g->l2 >= 4 << 20 && g->regs_sm);
    }
}

TEST(gpu_driver_overrides_its_row) {
    struct gpu_spec s =
        gpu_spec_of(&(struct model_gpu){.name = "NVIDIA H200", .units = 66, .shared = 100000});
    CHECK_EQ(s.sms, 66); /* half of the GPU: MIG */
    CHECK_EQ(s.smem_block, 100000);
    CHECK_EQ(s.regs_sm, gpu_spec_default()->regs_sm);
    s = gpu_spec_of(
        &(struct model_gpu){.name = "NVIDIA Unheard Of", .units = 20, .cc = 89, .memory_rate = 300});
    CHECK_EQ(s.smem_block, 99 << 10); /* of its architecture */
    CHECK_EQ(s.sms, 20);
    CHECK_NEAR(s.bw, 300, 0);
}
