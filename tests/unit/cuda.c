/* Tests of src/device/cuda, the GPU's machine model and its opts: what is said where there is no GPU, which loops blocks
 * share. With a GPU: cuda_gpu.c. Values: golden.c, render.c, schedule.c, values_ops.c and
 * tests/semantics, the tests called cuda_gpu_* and semantics_CUDA_*. */
#include "cuda.h"
#include "model/model.h"

#include <ridge.h>
#include <stdlib.h>

static struct err err;
static struct arena arena;

/* ---- without a GPU ---------------------------------------------------------------------------------------- */

TEST(cuda_by_name) {
    struct err e = {0};
    CHECK(device_find(&e, "cuda") == &device_cuda[0] && device_find(&e, "CUDA:0") == &device_cuda[0]);
    CHECK(device_find(&e, "Cuda:3") == &device_cuda[3] && device_cuda[3].unit == 3);
    CHECK_STR(device_cuda[7].name, "CUDA:7");
    CHECK(!device_find(&e, "CUDA:8") && e.code == RG_EINVAL && strstr(e.msg, "CUDA:1 .. CUDA:7"));
}

/* A context on a device that is not there says why, and the process goes on. */
TEST(cuda_without_a_driver) {
    rg_ctx *c = rg_open("CUDA:7");
    if (!rg_status_of(c)) SKIP("this machine has eight GPUs");
    CHECK_EQ(rg_status_of(c), RG_EDEVICE);
    const char *why = rg_error(c);
    if (!strstr(why, "no NVIDIA driver") && !strstr(why, "no GPU") && !strstr(why, "there is no CUDA:7") &&
        !strstr(why, "does not start"))
        FAIL("%s", why);
    rg_close(c);
    c = rg_open("CPU");
    float x = 0;
    CHECK(!rg_read(rg_add(rg_full(c, RG_F32, 1, RG_SHAPE(1)), 2), &x, sizeof x) && x == 3);
    rg_close(c);
}

TEST(cuda_without_nvrtc) {
    arena_init(&arena, &err);
    setenv("RIDGE_NVRTC", "/nowhere/libnvrtc.so", 1);
    env_reload();
    CHECK(!nvrtc_version(&err, &arena) && err.code == RG_ECOMPILE);
    CHECK_STR(err.msg, "RIDGE_NVRTC names no compiler of NVIDIA's: /nowhere/libnvrtc.so cannot be loaded");
    err_clear(&err);
    unsetenv("RIDGE_NVRTC");
    env_reload();
    const char *v = nvrtc_version(&err, &arena); /* a failure is not kept */
    if (!v && !strstr(err.msg, "set RIDGE_NVRTC")) FAIL("%s", err.msg);
    if (v) CHECK(strstr(v, "NVRTC 1"));
    arena_free(&arena);
}

/* The kernels of every function; of every `every`-th pair of a function and a type that it takes. */
static void compile_calls(size_t every) {
    static const char *const name[] = {"sort",        "argsort",     "topk",         "topk_index",
                                       "scatter_max", "scatter_min", "scatter_prod", "scatter_sum",
                                       "scan_add",    "scan_mul",    "scan_max",     "scan_min"};
    static const char *const type[] = {"bool", "u8",  "i8",  "u16",  "i16", "u32", "i32",
                                       "u64",  "i64", "f16", "bf16", "f32", "f64"};
    arena_init(&arena, &err);
    cuda_need_nvrtc(&arena);
    struct cuda_texts t = {.arena = &arena};
    for (size_t i = 0; i < RG_COUNT(name); i++)
        for (size_t k = i % every; k < RG_COUNT(type); k += every) {
            if (k && !strncmp(name[i], "scan_", 5))
                cuda_add_calls(
                    &t, &(struct dev_call){name[i], (const char *const[]){type[k], type[k]}, 2, 1, NULL});
            if (!strncmp(name[i], "scan_", 5)) continue;
            const char *types[4] = {type[k], type[k], "i64", type[k]};
            struct dev_call c = {.name = name[i], .type = types, .nbuf = i < 4 ? 2 : i < 7 ? 4 : 3};
            cuda_add_calls(&t, &c);
        }
    for (int wide = every > 1; wide < 2; wide++) {
        const char *to = wide ? "i64" : "i32";
        cuda_add_calls(&t, &(struct dev_call){"winner", (const char *const[]){to, "i64"}, 2, 1, NULL});
        cuda_add_calls(&t, &(struct dev_call){
                               "scan_lse", (const char *const[]){wide ? "f64" : "f16", wide ? "f64" : "f32"},
                               2, 1, NULL});
        cuda_add_calls(&t, &(struct dev_call){"nonzero", (const char *const[]){to, "bool"}, 2, 1, NULL});
    }
    t.whole = t.text.n;
    TEST_COUNT(cuda_compile_texts(&t), "kernels of functions compiled by NVRTC");
    arena_free(&arena);
}
TEST_SLOW(cuda_compile_calls, 300) { compile_calls(13); }
TEST_MANUAL(cuda_compile_calls_all, 1200) { compile_calls(1); }

TEST(cuda_compile_error_has_words) {
    arena_init(&arena, &err);
    cuda_need_nvrtc(&arena);
    const char *text = "extern \"C\" __global__ void k(float *p) { *p = nonsense; }";
    struct dev_object o;
    CHECK_EQ(nvrtc_compile(&err, &arena, "sm_90", &text, 1, &o), RG_ECOMPILE);
    CHECK(strstr(err.msg, "nonsense") && strstr(err.msg, "unit.cu") && strstr(err.msg, "sm_90"));
    text = "extern \"C\" __global__ void k(float *p) { *p = 1; }";
    err_clear(&err);
    CHECK(!nvrtc_compile(&err, &arena, "compute_80", &text, 1, &o));
    CHECK(strstr(o.data, ".visible .entry k(")); /* PTX */
    arena_free(&arena);
}

/* Kernels of which we know what is in them. */
static const char known_code[] =
    "struct alignas(16) four { float v[4]; };\n"
    "extern \"C\" __global__ void wide(const four *__restrict__ a, four *b) { b[threadIdx.x] = "
    "a[threadIdx.x]; }\n"
    "extern \"C\" __global__ void narrow(const float *__restrict__ a, float *b) { b[threadIdx.x] = "
    "a[threadIdx.x + 1]; }\n"
    "extern \"C\" __global__ void shares(float *b) { __shared__ float s[96]; s[threadIdx.x] = "
    "b[threadIdx.x]; "
    "__syncthreads(); b[threadIdx.x] = s[95 - threadIdx.x]; }\n"
    "extern \"C\" __global__ void stacks(float *b, const int *i) { float x[64]; for (int k = 0; k < 64; k++) "
    "x[k] = "
    "b[k * 7]; for (int k = 0; k < 64; k++) x[i[k] & 63] += 1; b[0] = x[i[65] & 63]; }\n"
    "extern \"C\" __global__ void copies(const four *a, float *b) { __shared__ four s[32]; unsigned p = "
    "(unsigned)__cvta_generic_to_shared(&s[threadIdx.x]); asm volatile(\"cp.async.cg.shared.global [%0], "
    "[%1], 16; "
    "cp.async.wait_all;\" :: \"r\"(p), \"l\"(a + threadIdx.x)); b[threadIdx.x] = s[threadIdx.x].v[0]; }\n"
    "extern \"C\" __global__ void multiplies(float *c, const unsigned *a) { float x[4] = {0, 0, 0, 0}; asm "
    "volatile("
    "\"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
    "{%0,%1,%2,%3};\" : "
    "\"+f\"(x[0]), \"+f\"(x[1]), \"+f\"(x[2]), \"+f\"(x[3]) : \"r\"(a[0]), \"r\"(a[1]), \"r\"(a[2]), "
    "\"r\"(a[3]), "
    "\"r\"(a[4]), \"r\"(a[5])); c[threadIdx.x] = x[0] + x[1] + x[2] + x[3]; }\n";

static const struct cubin_kernel *code_of(const cubin_vec *v, const char *name) {
    for (uint32_t i = 0; i < v->n; i++)
        if (!strcmp(v->p[i].name, name)) return &v->p[i];
    FAIL("there is no kernel %s", name);
    return NULL;
}

TEST(cuda_compile_cubin_counts) {
    arena_init(&arena, &err);
    cuda_need_nvrtc(&arena);
    static const char *const arch[] = {"sm_80", "sm_90a"};
    for (size_t i = 0; i < RG_COUNT(arch); i++) {
        const char *text = known_code;
        struct dev_object o;
        cubin_vec v = {0};
        if (nvrtc_compile(&err, &arena, arch[i], &text, 1, &o)) FAIL("%s", err.msg);
        if (cubin_read(&err, &arena, o.data, o.n, &v)) FAIL("%s", err.msg);
        CHECK_EQ(v.n, 6);
        const struct cubin_kernel *k = code_of(&v, "wide");
        CHECK(k->loads == 1 && k->wide_loads == 1 && k->stores == 1 && k->wide_stores == 1 && !k->stack &&
              !k->shared);
        CHECK(k->registers >= 8 && k->registers < 24 && k->instructions >= 8);
        k = code_of(&v, "narrow");
        CHECK(k->loads == 1 && !k->wide_loads && k->stores == 1 && !k->wide_stores && !k->spills);
        CHECK_EQ(code_of(&v, "shares")->shared,
                 96 * 4 + (i ? 1024 : 0)); /* Hopper keeps a kilobyte for itself */
        CHECK(code_of(&v, "stacks")->stack >= 256 && code_of(&v, "stacks")->spills > 0);
        CHECK_EQ(code_of(&v, "copies")->copies, 1);
        CHECK(code_of(&v, "multiplies")->matrix == 1 && !code_of(&v, "copies")->matrix);
        struct str line;
        str_init(&line, &arena);
        cubin_print(&line, code_of(&v, "wide"));
        CHECK(strstr(line.p, "wide: ") && strstr(line.p, "1 of 1 loads and 1 of 1 stores of 16 bytes"));
    }
    arena_free(&arena);
}

/* Bytes that are none, that end early, that are not what they were: an error or an answer, never a crash. */
TEST(cuda_compile_cubin_damaged) {
    arena_init(&arena, &err);
    cuda_need_nvrtc(&arena);
    const char *text = known_code;
    struct dev_object o;
    cubin_vec v = {0};
    CHECK_EQ(cubin_read(&err, &arena, "no", 2, &v), RG_EPARSE);
    CHECK(strstr(err.msg, "too short"));
    err_clear(&err);
    if (nvrtc_compile(&err, &arena, "sm_90a", &text, 1, &o)) FAIL("%s", err.msg);
    uint64_t rng = 7, refused = 0;
    for (int round = 0; round < 4000; round++) {
        rng = hash_u64(rng + 1);
        size_t n = round % 4 ? o.n : rng % o.n;
        char *copy = malloc(n + 1); /* of its size: a sanitizer sees what is read beyond */
        memcpy(copy, o.data, n);
        for (int flips = round % 4 ? 1 + round % 7 : 0; flips && n; flips--) {
            rng = hash_u64(rng + 1);
            copy[round % 2 ? rng % n : rng % RG_MIN(n, 64)] = (char)(rng >> 40);
        }
        struct arena_mark mark = arena_mark(&arena);
        refused += cubin_read(&err, &arena, copy, n, &v) != 0;
        err_clear(&err);
        arena_release(&arena, mark);
        v = (cubin_vec){0};
        free(copy);
    }
    CHECK(refused > 1000);
    arena_free(&arena);
}

TEST(cuda_model) {
    struct model m, again;
    struct str s;
    arena_init(&arena, &err);
    model_guess_gpu(&m, &(struct model_gpu){.name = "NVIDIA H200", .memory_rate = 4917});
    CHECK_STR(m.name, "NVIDIA-H200");
    CHECK_NEAR(model_value(&m, MODEL_DRAM_READ), 4524, 1);
    CHECK_NEAR(132 * 1.98 * model_value(&m, MODEL_FLOPS_F32), 66908, 1); /* GFLOP/s */
    str_init(&s, &arena);
    model_print(&s, &m); /* it is a model like any other: whole, and read back the same */
    CHECK(!model_parse(&err, &again, "test", s.p, s.n));
    CHECK(model_hash(&m) == model_hash(&again));
    model_guess_gpu(&m, &(struct model_gpu){.name = ""});
    s.n = 0;
    model_print(&s, &m);
    CHECK(!model_parse(&err, &again, "test", s.p, s.n));
    arena_free(&arena);
}

/* ---- which loops are shared --------------------------------------------------------------------------------- */

struct lowering {
    const char *text, *opts; /* NULL: the heuristic's */
    struct ir ir;
    struct linear lin;
    struct str cuda;
    struct render_shape shape;
};

static void lower_text(void *arg) {
    struct lowering *l = arg;
    struct program p = {0};
    ir_init(&l->ir, &arena);
    ir_parse(&l->ir, l->text, strlen(l->text), "test", &p);
    if (!l->opts) l->opts = opts_heuristic_gpu(&l->ir, &p.kernel.p[0], GPU_OF_CC(80));
    lower(&l->ir, &p.kernel.p[0],
          &(struct lower_opts){.opts = l->opts, .target = {.kind = TARGET_GPU, .native_exp = true}}, &l->lin);
    str_init(&l->cuda, &arena);
    render_cuda(&l->cuda, &l->ir, &l->lin, false, &l->shape);
}

static struct lowering *lowered(const char *text, const char *opts) {
    struct lowering *l = arena_new(&arena, struct lowering); /* its nodes know where it is */
    l->text = text, l->opts = opts;
    if (err_guard(&err, lower_text, l)) FAIL("%s", err.msg);
    return l;
}

/* The squares of several tensors: vectors along the axes that the others have would be two along those of b4. */
static const char side_by_side[] = "kernel norms\n"
                                   "b0 = (PARAM<f32>[0 b0] 96)\n"
                                   "b1 = (PARAM<f32>[1 b1] 96)\n"
                                   "b2 = (PARAM<f32>[2 b2] 1)\n"
                                   "b3 = (PARAM<f32>[3 b3] 1)\n"
                                   "b4 = (PARAM<f32>[4 b4] 73728)\n"
                                   "b5 = (PARAM<f32>[5 b5] 1)\n"
                                   "b6 = (PARAM<f32>[6 b6] 64)\n"
                                   "i0 = (RANGE[i0 LOOP 0] 96)\n"
                                   "i01 = (RANGE[i0 REDUCE 0 1] 96)\n"
                                   "k3 = (RANGE[k3 REDUCE 3] 9)\n"
                                   "k2 = (RANGE[k2 REDUCE 2] 128)\n"
                                   "k1 = (RANGE[k1 REDUCE 1] 64)\n"
                                   "a = (LOAD (INDEX b1 i0))\n"
                                   "c = (LOAD (INDEX b1 i01))\n"
                                   "x = (LOAD (INDEX b4 (ADD (MUL k3 8192) (ADD k2 (MUL k1 128)))))\n"
                                   "s = (REDUCE[ADD] (MUL x x) k1 k2 k3)\n"
                                   "v = (REDUCE[ADD] (LOAD (INDEX b6 k1)) k1)\n"
                                   "(SINK (STORE (INDEX b0 i0) (MUL a a)) (STORE (INDEX b2 0) (REDUCE[ADD] "
                                   "(MUL c c) i01)) (STORE (INDEX b3 0) s) (STORE (INDEX b5 0) v))\n";

static const char row_sum[] =
    "kernel rows\n"
    "x = (PARAM<f32>[0 x] 8388608)\nout = (PARAM<f32>[1 out] 1024)\n"
    "i = (RANGE[i GRID 0] 1024)\nk = (RANGE[k REDUCE 1] 8192)\n"
    "(SINK (STORE (INDEX out i) (REDUCE[ADD] (LOAD (INDEX x (ADD (MUL i 8192) k))) k)))\n";

TEST(cuda_shares_sums_side_by_side) {
    arena_init(&arena, &err);
    const char *opts = lowered(side_by_side, NULL)->opts;
    if (!strstr(opts, "COOP(k1)") || !strstr(opts, "COOP(k2)")) FAIL("opts: %s", opts);
    arena_free(&arena);
}

TEST(cuda_shares_loops_of_rows) {
    arena_init(&arena, &err);
    struct lowering *l = lowered(row_sum, NULL);
    CHECK_STR(l->opts, "TILE(k,4,k_v) VEC(k_v) COOP(k)");
    CHECK_EQ(l->shape.block, 512);
    CHECK(strstr(l->cuda.p, "= threadIdx.x + ") && strstr(l->cuda.p, "shfl_xor<f32>") &&
          strstr(l->cuda.p, "if (threadIdx.x == 0)"));
    l = lowered(row_sum, "");
    CHECK_EQ(l->shape.block, 0);
    arena_free(&arena);
}

static int count_of(const char *text, const char *what) {
    int n = 0;
    for (const char *p = text; (p = strstr(p, what)); p += strlen(what)) n++;
    return n;
}

/* A scan along rows: what threads add is scanned by shuffles, then over warps, and stored 16 bytes at a time. */
static const char *scan_of(const char *type, const char *op, int rows, int n) {
    return arena_printf(&arena,
                        "kernel scan\nx = (PARAM<%s>[0 x] %d)\nout = (PARAM<%s>[1 out] %d)\n"
                        "r = (RANGE[r GRID 0] %d)\nk = (RANGE[k LOOP 1] %d)\nat = (ADD (MUL r %d) k)\n"
                        "(SINK (STORE (INDEX out at) (SCAN[%s] (LOAD (INDEX x at)) k)))\n",
                        type, rows * n, type, rows * n, rows, n, n, op);
}

TEST(cuda_shares_scans) {
    arena_init(&arena, &err);
    struct lowering *l = lowered(scan_of("f32", "ADD", 1024, 8192), NULL);
    CHECK_STR(l->opts, "TILE(k,8,k_u) UNROLL(k_u) COOP(k)");
    CHECK(l->shape.block >= 128);
    CHECK_EQ(count_of(l->cuda.p, "shfl_up<f64>"), 2);
    CHECK_EQ(count_of(l->cuda.p, "*(piece<f32, 4> *)(b1"), 2);
    CHECK_EQ(count_of(l->cuda.p, "__syncthreads();"), 1); /* one per round */
    l = lowered(scan_of("f32", "MAX", 1024, 3939), NULL); /* rows of any length: 16 bytes, one by one */
    CHECK_STR(l->opts, "TILE(k,4,k_u) UNROLL(k_u) COOP(k)");
    l = lowered(scan_of("i64", "MAX", 1024, 8191), NULL);
    CHECK_STR(l->opts, "COOP(k)");
    CHECK(l->shape.block > 32 && strstr(l->cuda.p, "shfl_up<i64>") && strstr(l->cuda.p, "if (live"));
    l = lowered(scan_of("f32", "MUL", 4096, 64), NULL); /* several rows a warp */
    CHECK(l->shape.per_block > 1 && strstr(l->cuda.p, ", mask)") && !strstr(l->cuda.p, "__syncthreads"));
    arena_free(&arena);
}

/* A sum under a predicate, and one whose terms are: threads share the loop. */
TEST(cuda_shares_predicated_sums) {
    arena_init(&arena, &err);
    struct lowering *l =
        lowered("kernel predicated\nx = (PARAM<f32>[0 x] 8388608)\nm = (PARAM<f32>[1 m] 1024)\nout = "
                "(PARAM<f32>[2 out] 1024)\n"
                "i = (RANGE[i GRID 0] 1024)\nk = (RANGE[k REDUCE 1] 8192)\nat = (ADD (MUL i 8192) k)\n"
                "d = (SUB (LOAD (INDEX x at)) (LOAD (INDEX m i)))\n"
                "(SINK (STORE (INDEX out i) (REDUCE[ADD] (WHERE (LT at 8388000) (MUL d d) 0.0) k)))\n",
                "COOP(k)");
    if (!l->shape.block) FAIL("%s", l->cuda.p);
    arena_free(&arena);
}

/* exp(x - max) / sum of it, along rows of a length. */
static const char *softmax_of(int rows, int n) {
    return arena_printf(&arena,
                        "kernel soft\nx = (PARAM<f32>[0 x] %d)\nout = (PARAM<f32>[1 out] %d)\n"
                        "r = (RANGE[r GRID 0] %d)\na = (RANGE[k REDUCE 1 0] %d)\nb = (RANGE[k REDUCE 1 1] "
                        "%d)\nc = (RANGE[k LOOP 1 2] %d)\n"
                        "m = (REDUCE[MAX] (LOAD (INDEX x (ADD (MUL r %d) a))) a)\n"
                        "s = (REDUCE[ADD] (EXP (SUB (LOAD (INDEX x (ADD (MUL r %d) b))) m)) b)\n"
                        "(SINK (STORE (INDEX out (ADD (MUL r %d) c)) (FDIV (EXP (SUB (LOAD (INDEX x (ADD "
                        "(MUL r %d) c))) m)) s)))\n",
                        rows * n, rows * n, rows, n, n, n, n, n, n, n);
}

/* The sum of few partial sums, then all images of a channel: threads share the long loop, not the short sum alone. */
TEST(cuda_shares_the_longer_loop) {
    arena_init(&arena, &err);
    struct lowering *l =
        lowered("kernel norm\nx = (PARAM<bf16>[0 x] 12845056)\ny = (PARAM<bf16>[1 y] 12845056)\nz = "
                "(PARAM<bf16>[2 z] "
                "12845056)\np = (PARAM<f32>[3 p] 65536)\nout = (PARAM<bf16>[4 out] 12845056)\n"
                "c = (RANGE[c GRID 0] 1024)\nk = (RANGE[k REDUCE 2] 64)\ni = (RANGE[i LOOP 1] 12544)\n"
                "s = (REDUCE[ADD] (LOAD (INDEX p (ADD c (MUL k 1024)))) k)\n"
                "at = (ADD (MOD i 196) (ADD (MUL c 196) (MUL (IDIV i 196) 200704)))\n"
                "v = (ADD (CAST<f32> (LOAD (INDEX x at))) (MUL (CAST<f32> (LOAD (INDEX y at))) (CAST<f32> "
                "(LOAD (INDEX z "
                "at)))))\n"
                "(SINK (STORE (INDEX out (ADD i (MUL c 12544))) (CAST<bf16> (SUB v s))))\n",
                NULL);
    if (!strstr(l->opts, "COOP(i)")) FAIL("%s", l->opts);
    CHECK(l->shape.block >= 256);
    arena_free(&arena);
}

/* What a pass over a row leaves for the next is in registers: memory is read once, and exp evaluated once. */
TEST(cuda_keeps_rows_in_registers) {
    arena_init(&arena, &err);
    struct lowering *l = lowered(softmax_of(8192, 8192), NULL);
    CHECK_STR(l->opts, "RESIDENT(k,loads) TILE(k,4,k_v) VEC(k_v) COOP(k)");
    CHECK_EQ(l->shape.block, 512);
    CHECK_EQ(l->shape.scratch, 0);
    CHECK_EQ(count_of(l->cuda.p, "*(const piece<f32, 4> *)(b0"), 1);
    CHECK_EQ(count_of(l->cuda.p, "= exp_f32("), 4); /* once for each of four lanes */
    CHECK(strstr(l->cuda.p, "f32 L0[16] = {0};") && strstr(l->cuda.p, "f32 L1[16] = {0};"));
    CHECK_EQ(count_of(l->cuda.p, "__syncthreads();"), 2); /* one for each reduction */
    CHECK(strstr(l->cuda.p, "__launch_bounds__(512)"));
    /* as many values for each thread, if the number allows it; no shared memory within one warp */
    l = lowered(softmax_of(2048, 768), NULL);
    CHECK_EQ(l->shape.block, 256);
    CHECK_EQ(l->shape.per_block, 8);
    CHECK(!strstr(l->cuda.p, "__syncthreads") &&
          strstr(l->cuda.p, "blockIdx.x * 8 + threadIdx.x / 32; if (t < n)"));
    l = lowered(softmax_of(64, 768), NULL); /* few rows: a warp of a block of its own for each */
    CHECK(l->shape.block == 32 && l->shape.per_block == 1 && !strstr(l->cuda.p, "member"));
    l = lowered(softmax_of(8192, 36), NULL); /* nine pieces of 16 bytes */
    CHECK_EQ(l->shape.per_block, 32);
    CHECK_EQ(lowered(softmax_of(512, 36), NULL)->shape.per_block, 4);
    CHECK(strstr(l->cuda.p, "for (int o = 4; o; o >>= 1)") && strstr(l->cuda.p, "0xffu << "));
    CHECK_EQ(lowered(softmax_of(64, 6144), NULL)->shape.block, 384);
    CHECK_EQ(lowered(softmax_of(64, 5120), NULL)->shape.block, 320);
    CHECK_EQ(lowered(softmax_of(4096, 16384), NULL)->shape.block, 512);
    arena_free(&arena);
}

/* Rows shorter than a warp: a thread each, loaded once and stored in vectors as wide as their alignment allows. */
TEST(cuda_short_rows_in_registers) {
    arena_init(&arena, &err);
    struct lowering *l = lowered(softmax_of(1000000, 10), NULL);
    CHECK_STR(l->opts, "UNROLL(k)");
    CHECK_EQ(count_of(l->cuda.p, "= *(const piece<f32, 2> *)(b0"), 4);
    CHECK_EQ(count_of(l->cuda.p, "= b0["), 2); /* no load of an element is repeated */
    CHECK_EQ(count_of(l->cuda.p, "*(piece<f32, 2> *)(b1"), 5);
    l = lowered(softmax_of(1000000, 8), NULL);
    CHECK_EQ(count_of(l->cuda.p, "*(piece<f32, 4> *)(b1"), 2);
    l = lowered(softmax_of(1000000, 7), NULL); /* no row but the first is aligned */
    CHECK(!strstr(l->cuda.p, "*(piece<f32, ") && count_of(l->cuda.p, "b1[") == 7);
    arena_free(&arena);
}

/* A row that is too long for registers is read again; one of an odd length is kept, and the last turn is asked about. */
TEST(cuda_rows_of_any_length) {
    arena_init(&arena, &err);
    struct lowering *l = lowered(softmax_of(4, 50000), NULL);
    CHECK_STR(l->opts, "TILE(k,4,k_v) VEC(k_v) COOP(k)");
    CHECK_EQ(count_of(l->cuda.p, "*(const piece<f32, 4> *)(b0"), 3);
    l = lowered(softmax_of(64, 7001), NULL);
    CHECK_STR(l->opts, "RESIDENT(k,loads) COOP(k)");
    CHECK(strstr(l->cuda.p, " < 7001) {") && strstr(l->cuda.p, "f32 L0["));
    arena_free(&arena);
}

/* What the heuristic writes for rows and for streams, as machine code: 16 bytes at once, nothing on the stack. */
TEST(cuda_compile_wide_loads) {
    arena_init(&arena, &err);
    cuda_need_nvrtc(&arena);
    struct lowering *l = lowered(softmax_of(8192, 8192), NULL), *sum = lowered(row_sum, NULL);
    struct str s;
    str_init(&s, &arena);
    render_cuda_preamble(&s);
    str_add(&s, l->cuda.p), str_add(&s, sum->cuda.p);
    const char *text = s.p;
    struct dev_object o;
    cubin_vec v = {0};
    if (nvrtc_compile(&err, &arena, "sm_90a", &text, 1, &o)) FAIL("%s", err.msg);
    if (cubin_read(&err, &arena, o.data, o.n, &v)) FAIL("%s", err.msg);
    const struct cubin_kernel *k = code_of(&v, "soft");
    CHECK(k->loads == 4 && k->wide_loads == 4 && k->stores == 4 &&
          k->wide_stores == 4);             /* 16 numbers of each thread */
    CHECK(!k->stack && k->registers <= 64); /* so that two blocks of 512 fit */
    k = code_of(&v, "rows");
    CHECK(k->loads == 4 && k->wide_loads == 4 && k->stores == 1 && !k->stack);
    arena_free(&arena);
}

/* Multiply-adds after the last load from memory, in machine code. */
static uint32_t fmas_after_loads(const struct dev_object *o) {
    enum { FFMA = 0x023, LDG = 0x181 };
    uint32_t n = 0;
    for (size_t at = 0; at + 16 <= o->n; at += 16) {
        uint64_t word;
        memcpy(&word, (const char *)o->data + at, sizeof word);
        n = (word & 0x1ff) == LDG ? 0 : n + ((word & 0x1ff) == FFMA);
    }
    return n;
}

/* A tile that is turned on its way goes through registers: what the next step needs is asked for before the 512 FMAs of a
 * thread for this one, and not where the compiler would have it, next to where it is stored. */
TEST(cuda_compile_asks_ahead) {
    arena_init(&arena, &err);
    cuda_need_nvrtc(&arena);
    for (int stages = 2; stages <= 4; stages++) {
        struct lowering *l = lowered(
            "kernel mm\na = (PARAM<f32>[0 a] 4194304)\nb = (PARAM<f32>[1 b] 4194304)\no = (PARAM<f32>[2 o] "
            "262144)\nm = (RANGE[m GRID 0 0] 512)\nn = (RANGE[n GRID 1 0] 512)\nk = (RANGE[k REDUCE 2 0] "
            "8192)\n"
            "x = (LOAD (INDEX a (ADD (MUL m 8192) k)))\ny = (LOAD (INDEX b (ADD (MUL k 512) n)))\n"
            "(SINK (STORE (INDEX o (ADD (MUL m 512) n)) (REDUCE[ADD] (MUL x y) k)))\n",
            arena_printf(
                &arena,
                "TILE(m,16,m_t) TILE(m_t,4,m_t_t) TILE(n,64,n_t) TILE(n_t,32,n_t_t) "
                "TILE(n_t_t,4,n_t_t_t) TILE(k,32,k_t) THREAD(m_t) REG(m_t_t) THREAD(n_t) THREAD(n_t_t) "
                "VEC(n_t_t_t) UNROLL(k_t) ORDER(n_t,m_t,n_t_t) STAGE(a,k,k_t,m_t+m_t_t) "
                "TILE(a.k_t,4,a_v) VEC(a_v) STAGE(b,k,k_t,n_t+n_t_t+n_t_t_t) TILE(b.n_t,4,b_v) "
                "VEC(b_v) PIPE(a,k,%d) PIPE(b,k,%d)",
                stages, stages));
        const char *loop = strstr(l->cuda.p, "for ("), *asked = loop ? strstr(loop, "= load_now(") : NULL;
        CHECK(asked && strstr(asked, "pin_loads();") &&
              strstr(asked, "pin_loads();") < strstr(asked, "fma_f32"));
        CHECK_EQ(count_of(l->cuda.p, "= load_now("), 2); /* of the loop, not of what is before it */
        struct str s;
        str_init(&s, &arena);
        render_cuda_preamble(&s);
        str_add(&s, l->cuda.p);
        const char *text = s.p;
        struct dev_object o;
        if (nvrtc_compile(&err, &arena, "sm_90a", &text, 1, &o)) FAIL("%s", err.msg);
        CHECK_EQ(fmas_after_loads(&o), 512);
    }
    arena_free(&arena);
}

/* Rows of floats that become narrower: two halves are rounded at once, smaller floats one by one. */
TEST(cuda_compile_narrower_stores) {
    static const char *const to[] = {"bf16", "f16", "f8e4m3", "f8e5m2"};
    arena_init(&arena, &err);
    cuda_need_nvrtc(&arena);
    for (size_t i = 0; i < RG_COUNT(to); i++) {
        struct lowering *l = lowered(
            arena_printf(&arena,
                         "kernel narrow\nx = (PARAM<f32>[0 x] 1048576)\nout = (PARAM<%s>[1 out] 1048576)\n"
                         "i = (RANGE[i GRID 0] 1048576)\n"
                         "(SINK (STORE (INDEX out i) (CAST<%s> (LOAD (INDEX x i)))))\n",
                         to[i], to[i]),
            NULL);
        struct str s;
        struct dev_object o;
        str_init(&s, &arena);
        render_cuda_preamble(&s);
        str_addn(&s, l->cuda.p, l->cuda.n);
        const char *text = s.p;
        if (nvrtc_compile(&err, &arena, "sm_90a", &text, 1, &o)) FAIL("%s: %s", to[i], err.msg);
        CHECK(i < 2 || !strstr(l->cuda.p, "pair_"));
    }
    arena_free(&arena);
}

/* An affine norm of images of odd length: vectors at the ends of a row have a predicate per lane, for what they load
 * and for what they store. `channels` is the divisor of the row's number. */
static const char *unaligned_affine(const char *dt, int rows, int channels, int length) {
    return arena_printf(
        &arena,
        "kernel affine_%s_%d_%d_%d\nb0 = (PARAM<%s>[0 b0] %d)\ni2 = (RANGE[i2 GRID 2] %d)\n"
        "i0 = (RANGE[i0 GRID 0] %d)\ni1 = (RANGE[i1 GRID 1] %d)\n"
        "at = (ADD i2 (ADD (MUL i0 %d) (MUL i1 %d)))\nb1 = (PARAM<%s>[1 b1] %d)\nb2 = (PARAM<%s>[2 b2] %d)\n"
        "b3 = (PARAM<f32>[3 b3] %d)\nrow = (ADD i1 (MUL i0 %d))\nb4 = (PARAM<%s>[4 b4] %d)\nb5 = "
        "(PARAM<f32>[5 b5] %d)\n"
        "x = (MUL (RSQRT (ADD (FDIV (LOAD (INDEX b3 row)) %d.0) 1e-05)) "
        "(SUB (CAST<f32> (LOAD (INDEX b4 at))) (FDIV (LOAD (INDEX b5 row)) %d.0)))\n"
        "(SINK (STORE (INDEX b0 at) (CAST<%s> (ADD (CAST<f32> (LOAD (INDEX b1 i1))) "
        "(MUL (CAST<f32> (LOAD (INDEX b2 i1))) x)))))\n",
        dt, rows, channels, length, dt, rows * channels * length, length, rows, channels, channels * length,
        length, dt, channels, dt, channels, rows * channels, channels, dt, rows * channels * length,
        rows * channels, length, length, dt);
}

/* A thread has seven predicate registers: predicates of eight and sixteen lanes are bits of a mask. */
TEST(cuda_compile_predicates_of_lanes) {
    arena_init(&arena, &err);
    cuda_need_nvrtc(&arena);
    struct str s;
    struct dev_object o;
    str_init(&s, &arena);
    render_cuda_preamble(&s);
    uint64_t seed = 7;
    for (int i = 0; i < 12; i++) {
        static const char *const type[] = {"bf16", "f16", "i8", "f32"};
        bool first = i == 0;
        int rows = first ? 31 : 2 + (int)(hash_u64(seed++) % 40),
            channels = first ? 2 : 2 + (int)(hash_u64(seed++) % 5),
            length = first ? 65535 : 2049 + 2 * (int)(hash_u64(seed++) % 30000);
        const char *dt = type[first ? 0 : hash_u64(seed++) % 3];
        struct lowering *l = lowered(unaligned_affine(dt, rows, channels, length), NULL);
        str_addn(&s, l->cuda.p, l->cuda.n);
    }
    CHECK(strstr(s.p, "= lane_mask("));
    const char *text = s.p;
    if (nvrtc_compile(&err, &arena, "sm_90a", &text, 1, &o)) FAIL("%s", err.msg);
    arena_free(&arena);
}

/* Not every scratch memory is a row of its threads: where one value of the loop reads what another wrote, nothing is shared. */
TEST(cuda_shares_no_rows_across_threads) {
    arena_init(&arena, &err);
    struct lowering *l =
        lowered("kernel back\nx = (PARAM<f32>[0 x] 65536)\nout = (PARAM<f32>[1 out] 65536)\n"
                "r = (RANGE[r GRID 0] 64)\na = (RANGE[k LOOP 1 0] 1024)\nc = (RANGE[k LOOP 1 1] 1024)\n"
                "s = (STAGE[s SCRATCH] (EXP (LOAD (INDEX x (ADD (MUL r 1024) a)))) a)\n"
                "(SINK (STORE (INDEX out (ADD (MUL r 1024) c)) (LOAD (INDEX s (SUB 1023 c)))))\n",
                "COOP(k)");
    CHECK_EQ(l->shape.block, 0);
    arena_free(&arena);
}

/* One row by a matrix whose rows are summed along, and one whose columns are; the gradient of a convolution's weights. */
static const char by_rows[] =
    "kernel a\nx = (PARAM<bf16>[0 x] 4096)\nw = (PARAM<bf16>[1 w] 58720256)\nout = (PARAM<bf16>[2 out] "
    "14336)\n"
    "n = (RANGE[n GRID 0] 14336)\nk = (RANGE[k REDUCE 1] 4096)\n"
    "(SINK (STORE (INDEX out n) (CAST<bf16> (REDUCE[ADD] (MUL (CAST<f32> (LOAD (INDEX x k))) "
    "(CAST<f32> (LOAD (INDEX w (ADD (MUL n 4096) k))))) k))))\n";
static const char by_columns[] =
    "kernel b\nx = (PARAM<bf16>[0 x] 4096)\nw = (PARAM<bf16>[1 w] 58720256)\nout = (PARAM<bf16>[2 out] "
    "14336)\n"
    "n = (RANGE[n GRID 0] 14336)\nk = (RANGE[k REDUCE 1] 4096)\n"
    "(SINK (STORE (INDEX out n) (CAST<bf16> (REDUCE[ADD] (MUL (CAST<f32> (LOAD (INDEX x k))) "
    "(CAST<f32> (LOAD (INDEX w (ADD (MUL k 14336) n))))) k))))\n";
static const char of_weights[] =
    "kernel c\nx = (PARAM<f32>[1 x] 9437184)\nd = (PARAM<f32>[2 d] 6553600)\nout = (PARAM<f32>[0 out] "
    "25600)\n"
    "o = (RANGE[o GRID 0] 32)\ni = (RANGE[i GRID 1] 32)\np = (RANGE[p GRID 2] 5)\nq = (RANGE[q GRID 3] 5)\n"
    "b = (RANGE[b REDUCE 4] 512)\ny = (RANGE[y REDUCE 5] 20)\nz = (RANGE[z REDUCE 6] 20)\n"
    "(SINK (STORE (INDEX out (ADD (MUL (ADD (MUL o 32) i) 25) (ADD (MUL p 5) q))) (REDUCE[ADD] (MUL "
    "(LOAD (INDEX x (ADD (MUL (ADD (MUL b 32) i) 576) (ADD (MUL (ADD y p) 24) (ADD z q))))) "
    "(LOAD (INDEX d (ADD (MUL (ADD (MUL b 32) o) 400) (ADD (MUL y 20) z))))) b y z)))\n";

/* Both tiles of a matrix times itself go through the pipeline: nothing is prefetched besides. */
static const char of_itself[] =
    "kernel p\na = (PARAM<f32>[1 a] 1048576)\nout = (PARAM<f32>[0 out] 1048576)\n"
    "m = (RANGE[m GRID 0] 1024)\nn = (RANGE[n GRID 1] 1024)\nk = (RANGE[k REDUCE 2] 1024)\n"
    "(SINK (STORE (INDEX out (ADD n (MUL m 1024))) (REDUCE[ADD] (MUL (LOAD (INDEX a (ADD k (MUL m 1024)))) "
    "(LOAD (INDEX a (ADD n (MUL k 1024))))) k)))\n";

TEST(cuda_product_of_itself) {
    arena_init(&arena, &err);
    struct lowering *l = lowered(of_itself, NULL);
    CHECK(strstr(l->opts, "STAGE(a#0,k") && strstr(l->opts, "STAGE(a#1,k") && strstr(l->opts, "PIPE(a,k"));
    const char *body = strstr(l->cuda.p, "__global__");
    CHECK(body && count_of(body, "cp_async_16(") > 0 && count_of(body, "prefetch_l1(") == 0);
    arena_free(&arena);
}

TEST(cuda_few_results) {
    arena_init(&arena, &err);
    struct lowering *l = lowered(by_rows, NULL);
    CHECK_STR(l->opts, "TILE(n,2,n_r) REG(n_r) TILE(k,8,k_v) VEC(k_v) COOP(k)");
    CHECK(l->shape.block > 0 && count_of(l->cuda.p, "*(const piece<u32, 4> *)(b1") == 2 &&
          count_of(l->cuda.p, "*(const piece<u32, 4> *)(b0") == 1); /* what is loaded of x serves two rows */
    l = lowered(by_columns, NULL);
    CHECK_STR(
        l->opts,
        "TILE(n,64,n_c) TILE(n_c,8,n_d) TILE(k,256,k_w) TILE(k_w,8,k_u) UNROLL(k_u) THREAD(k_w) THREAD(n_c) "
        "ORDER(k_w,n_c) VEC(n_d)"); /* lines of 128 bytes, 32 rows at a time */
    CHECK(l->lin.threads == 256 && count_of(l->cuda.p, "*(const piece<u32, 4> *)(b1") == 8);
    l = lowered(of_weights, NULL);
    CHECK_STR(l->opts,
              "JOIN(y,z,y_j) JOIN(b,y_j,b_j) TILE(o,4,o_r) REG(o_r) REG(q) TILE(b_j,4,b_j_v) UNROLL(b_j_v) "
              "COOP(b_j)");
    CHECK(l->shape.block > 0);
    CHECK_EQ(count_of(l->cuda.p, "fma_f32("), 4 * 5 * 4);
    arena_free(&arena);
}

/* At the edge of an image neighbouring threads differ: there is one body, with its question, and not two. */
TEST(cuda_peels_nothing_that_differs) {
    static const char edge[] =
        "kernel edge\nx = (PARAM<f32>[0 x] 4096)\nout = (PARAM<f32>[1 out] 4096)\n"
        "i = (RANGE[i GRID 0] 64)\nj = (RANGE[j GRID 1] 64)\nk = (RANGE[k REDUCE 2] 5)\n"
        "g = (AND (LE k j) (LT j (ADD k 60)))\n"
        "(SINK (STORE (INDEX out (ADD (MUL i 64) j)) (REDUCE[ADD] (WHERE g (LOAD (INDEX x (WHERE g (ADD (MUL "
        "i 64) "
        "(SUB j k)) (INVALID<idx>)))) 0.0) k)))\n";
    arena_init(&arena, &err);
    struct lowering *l = lowered(edge, "TILE(j,4,v) VEC(v)");
    CHECK(!strstr(l->cuda.p, "} else {"));
    struct linear lin;
    struct kernel k = {.name = "edge", .opts = ""};
    struct program p = {0};
    ir_parse(&l->ir, edge, strlen(edge), "test", &p);
    k = p.kernel.p[0];
    lower(&l->ir, &k, &(struct lower_opts){.opts = "TILE(j,4,v) VEC(v)", .target = {.vec_bytes = 16}}, &lin);
    int two = 0;
    for (uint32_t i = 0; i < lin.n; i++) two += lin.u[i]->op == OP_ELSE;
    CHECK(two > 0); /* on a CPU there are two bodies */
    arena_free(&arena);
}

/* Index arithmetic has 32 bits where everything fits, and 64 where it does not. */
TEST(cuda_narrow_indices) {
    arena_init(&arena, &err);
    struct lowering *l = lowered(softmax_of(64, 8192), NULL);
    CHECK(!strstr(l->cuda.p, "const i64 ") && strstr(l->cuda.p, "const i32 r0 = (i32)t;"));
    l = lowered("kernel far\nx = (PARAM<f32>[0 x] 3000000000)\nout = (PARAM<f32>[1 out] 1500000)\n"
                "i = (RANGE[i GRID 0] 1500000)\n(SINK (STORE (INDEX out i) (LOAD (INDEX x (MUL i 2000)))))\n",
                "");
    CHECK(strstr(l->cuda.p, "(i64)") && strstr(l->cuda.p, "2000l"));
    arena_free(&arena);
}

/* The greatest of negative numbers: what NVIDIA's assembler gets wrong unless it is told otherwise (c_op.c). */
static const char max_neg[] =
    "kernel most\n"
    "x = (PARAM<i32>[0 x] 12)\nout = (PARAM<i32>[1 out] 1)\nk = (RANGE[k REDUCE 0] 12)\n"
    "(SINK (STORE (INDEX out 0) (REDUCE[MAX] (NEG (LOAD (INDEX x k))) k)))\n";

TEST(cuda_negates_with_care) {
    arena_init(&arena, &err);
    struct lowering *l = lowered(max_neg, "");
    CHECK(strstr(l->cuda.p, "neg_int(") && !strstr(l->cuda.p, ")-(u32)"));
    arena_free(&arena);
}

/* A difference that is clamped: the assembler gets that wrong where it writes out the loops around it (gpu.c). */
static const char clamped[] = "kernel clamped\n"
                              "x = (PARAM<i32>[0 x] 4)\nout = (PARAM<i32>[1 out] 26)\n"
                              "i1 = (RANGE[i1 LOOP 1] 2)\ni0 = (RANGE[i0 LOOP 0] 13)\n"
                              "at = (MIN (MAX (ADD (MUL i1 -1) (IDIV i0 3)) 0) 3)\n"
                              "(SINK (STORE (INDEX out (ADD i1 (MUL i0 2))) (LOAD (INDEX x at))))\n";

TEST(cuda_subtracts_counters) {
    arena_init(&arena, &err);
    struct lowering *l = lowered(clamped, "");
    if (strstr(l->cuda.p, "neg_int(") || !strstr(l->cuda.p, "#pragma unroll 1")) FAIL("%s", l->cuda.p);
    arena_free(&arena);
}

TEST_MANUAL(cuda_gpu_subtracts_counters, 60) {
    struct engine *en = cuda_engine();
    arena_init(&arena, &err);
    const struct linear *lin = &lowered(clamped, "")->lin;
    const struct ekernel *k;
    if (engine_compile(en, &err, &lin, 1, &k)) FAIL("%s", err.msg);
    int32_t x[4] = {10, 11, 12, 13}, out[26] = {0};
    cuda_run(en, k, (void *[]){x, out}, (size_t[]){sizeof x, sizeof out}, NULL);
    for (int i = 0; i < 26; i++) CHECK_EQ(out[i], x[RG_MIN(RG_MAX(i / 2 / 3 - i % 2, 0), 3)]);
    engine_close(en);
}

TEST_MANUAL(cuda_gpu_negates_with_care, 60) {
    struct engine *en = cuda_engine();
    arena_init(&arena, &err);
    struct lowering *l = lowered(max_neg, "");
    const struct linear *lin = &l->lin;
    const struct ekernel *k;
    if (engine_compile(en, &err, &lin, 1, &k)) FAIL("%s", err.msg);
    for (int at = 0; at < 12; at++) {
        int32_t x[12], out = 0;
        for (int i = 0; i < 12; i++) x[i] = i == at ? 3 : 5 + i;
        cuda_run(en, k, (void *[]){x, &out}, (size_t[]){sizeof x, sizeof out}, NULL);
        CHECK_EQ(out, -3);
    }
    engine_close(en);
}

/* The first byte of each word of a vector: see signed_bytes() in render/c_op.c. */
static const char bytes[] =
    "kernel bytes\n"
    "x = (PARAM<i8>[0 x] 64)\ny = (PARAM<i8>[1 y] 64)\nout = (PARAM<f32>[2 out] 64)\n"
    "i = (RANGE[i0 GRID 0] 64)\n"
    "(SINK (STORE (INDEX out i) (CAST<f32> (SUB (LOAD (INDEX x i)) (LOAD (INDEX y i))))))\n";
static const char bytes_opts[] = "TILE(i0,16,i0_v) VEC(i0_v)";

TEST(cuda_signs_of_bytes) {
    arena_init(&arena, &err);
    struct lowering *l = lowered(bytes, bytes_opts);
    int n = 0;
    for (const char *at = l->cuda.p; (at = strstr(at, "= sign_i8((i8)((u32)")); at++) n++;
    if (n != 16 || !strstr(l->cuda.p, "piece<i8, 16>")) FAIL("%d\n%s", n, l->cuda.p);
    arena_free(&arena);
}

TEST_MANUAL(cuda_gpu_signs_of_bytes, 60) {
    struct engine *en = cuda_engine();
    arena_init(&arena, &err);
    const struct linear *lin = &lowered(bytes, bytes_opts)->lin;
    const struct ekernel *k;
    if (engine_compile(en, &err, &lin, 1, &k)) FAIL("%s", err.msg);
    int8_t x[64], y[64];
    float out[64] = {0};
    for (int i = 0; i < 64; i++) x[i] = (int8_t)(i * 37), y[i] = (int8_t)(i * 91 + 5);
    cuda_run(en, k, (void *[]){x, y, out}, (size_t[]){sizeof x, sizeof y, sizeof out}, NULL);
    for (int i = 0; i < 64; i++) CHECK_EQ((int)out[i], (int8_t)(x[i] - y[i]));
    engine_close(en);
}
