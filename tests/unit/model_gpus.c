/* Tests of the table of GPUs (src/model/gpus.def) and of the decisions that follow it: GEMM, convolution, attention, reduction and
 * softmax get opt lists for each of several rows and are lowered under its limits. No GPU is needed.
 *
 *   grids         persistent blocks follow the SM count; a split-K GEMM has no fewer blocks than SMs
 *   limits        shared memory of a block, registers x threads within the row's
 *   instructions  wgmma, TMA and warp specialization on compute capability 9.0 alone; mma.sync on others from 8.0 on */
#include "irtest.h"
#include "planned.h"
#include "tune/tune.h"

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
