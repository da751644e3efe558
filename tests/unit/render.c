/* Tests of src/render/c*.c: every pure op on every type against op_eval, scalar and in 3, 4 and 8 lanes, on
 * edge values, with each compiler that is installed; all pairs of casts; memory, predicates, control; the text. */
#include "cuda.h"
#include "opencl.h"
#include "prog.h"
#include "ref/ref.h"
#include "render/render.h"
#include "tune/tune.h"

#include <stdlib.h>

#define MAX_N 1024

static struct err err;
static struct arena arena;
static struct ir ir;

static void setup(void) {
    arena_init(&arena, &err);
    ir_init(&ir, &arena);
}

static const enum dtype all_types[] = {DT_BOOL, DT_I8,  DT_I16, DT_I32, DT_I64,  DT_U8, DT_U16,
                                       DT_U32,  DT_U64, DT_F16, DT_F32, DT_BF16, DT_F64};
static const unsigned all_lanes[] = {1, 3, 4, 8};

/* ---- values ----------------------------------------------------------------------------------------- */

static const double edge_f[] = {0.0,   -0.0,  1.0,     -1.0,    0.5,      1.5,      2.5,     -2.5,   3.7,
                                -0.3,  1e10,  -1e10,   3e9,     -3e9,     0x1p31,   -0x1p31, 0x1p63, 1e19,
                                -1e19, 255.4, -128.9,  65504.0, 65520.0,  1e-7,     -6e-8,   1e-40,  3e38,
                                -3e38, 127.5, 32767.5, NAN,     INFINITY, -INFINITY};
static const int64_t edge_i[] = {
    0,  1,    -1,   2,         3,         -3,        7,         8,    16,   31,    32,     63,
    64, 100,  -100, INT64_MIN, INT64_MAX, INT32_MIN, INT32_MAX, 0x7f, 0x80, -0x81, 0xffff, 0x123456789abcdef,
    -2, 12345};

static union val edge(enum dtype dt, int i) {
    union val v;
    if (dt_is_float(dt))
        v.f = dt_round(dt, edge_f[(unsigned)i % RG_COUNT(edge_f)]);
    else
        v.i = dt_wrap(dt, edge_i[(unsigned)i % RG_COUNT(edge_i)]);
    return v;
}

static void put(enum dtype dt, void *buf, int at, union val v) {
    ref_write(dt, (char *)buf + at * dtype_info[dt].bytes, (union ref_val){.i = v.i});
}

static union val get(enum dtype dt, const void *buf, int at) {
    return (union val){.i = ref_read(dt, (const char *)buf + at * dtype_info[dt].bytes).i};
}

static bool same(enum dtype dt, union val a, union val b, double ulps) {
    if (!dt_is_float(dt)) return a.i == b.i;
    if (isnan(a.f) || isnan(b.f)) return isnan(a.f) && isnan(b.f);
    if (a.f == b.f) return signbit(a.f) == signbit(b.f);
    int e;
    frexp(b.f, &e);
    int digits = dt == DT_F64 ? 53 : dt == DT_F32 ? 24 : dt == DT_F16 ? 11 : 8;
    return ulps > 0 && fabs(a.f - b.f) <= ulps * ldexp(1, e - digits);
}

static const char *show(enum dtype dt, union val v) {
    static char text[4][64];
    static int k;
    char *s = text[k++ & 3];
    if (dt_is_float(dt))
        snprintf(s, 64, "%.17g (%a)", v.f, v.f);
    else
        snprintf(s, 64, "%lld", (long long)v.i);
    return s;
}

/* ---- every op --------------------------------------------------------------------------------------- */

static const enum op float_ops[] = {OP_NEG,   OP_ABS,   OP_RECIP, OP_SQRT, OP_RSQRT, OP_FLOOR, OP_CEIL,
                                    OP_TRUNC, OP_ROUND, OP_MUL,   OP_FDIV, OP_ADD,   OP_SUB,   OP_MAX,
                                    OP_MIN,   OP_LT,    OP_LE,    OP_EQ,   OP_NE,    OP_WHERE, OP_FMA};
static const enum op int_ops[] = {OP_NEG, OP_ABS, OP_NOT, OP_MUL, OP_IDIV, OP_MOD,   OP_ADD,
                                  OP_SUB, OP_MAX, OP_MIN, OP_AND, OP_OR,   OP_XOR,   OP_SHL,
                                  OP_SHR, OP_LT,  OP_LE,  OP_EQ,  OP_NE,   OP_WHERE, OP_FMA};
static const enum op bool_ops[] = {OP_NOT, OP_MUL, OP_ADD, OP_MAX, OP_MIN, OP_AND,  OP_OR,
                                   OP_XOR, OP_LT,  OP_LE,  OP_EQ,  OP_NE,  OP_WHERE};

static unsigned ops_of(enum dtype dt, const enum op **out) {
    if (dt == DT_BOOL) return *out = bool_ops, RG_COUNT(bool_ops);
    if (dt_is_float(dt)) return *out = float_ops, RG_COUNT(float_ops);
    return *out = int_ops, RG_COUNT(int_ops);
}

struct optest {
    struct prog p;
    enum dtype dt;
    unsigned lanes;
    int n; /* elements, a multiple of lanes */
};

/* b0, b1, b2 in; one output buffer for each op, from slot 3 on; the condition of WHERE is b0 < b1 or b0. */
static void build_ops(struct optest *t, enum dtype dt, unsigned lanes) {
    const enum op *ops;
    unsigned nops = ops_of(dt, &ops);
    struct prog *p = &t->p;
    *t = (struct optest){.dt = dt, .lanes = lanes, .n = MAX_N / (int)lanes * (int)lanes};
    prog_init(p, &ir, arena_printf(&arena, "ops_%s_%u", dtype_info[dt].name, lanes));
    const uop *g = range(p, DT_I64, t->n / (int)lanes, AX_GRID);
    const uop *i = op2(p, OP_MUL, g, uop_int(&ir, DT_I64, lanes));
    const uop *x[3];
    for (uint32_t k = 0; k < 3; k++) x[k] = load(p, param(p, dt, k, t->n), i, lanes);
    const uop *less = dt == DT_BOOL ? x[0] : op2(p, OP_LT, x[0], x[1]);
    for (uint32_t k = 0; k < nops; k++) {
        const uop *v = ops[k] == OP_WHERE
                           ? push(p, uop3(&ir, OP_WHERE, less, x[1], x[2]))
                           : push(p, uop_mk(&ir, ops[k], x, op_info[ops[k]].min_src, ARG_NONE));
        store(p, param(p, (enum dtype)v->dt, 3 + k, t->n), i, v, lanes);
    }
    finish(p);
}

static void *buffers[40];

static void fill_inputs(enum dtype dt) {
    int m = (int)(dt_is_float(dt) ? RG_COUNT(edge_f) : RG_COUNT(edge_i));
    for (int i = 0; i < MAX_N; i++) {
        put(dt, buffers[0], i, edge(dt, i % m));
        put(dt, buffers[1], i, edge(dt, i / m));
        put(dt, buffers[2], i, edge(dt, (i * 7 + 3) % m));
    }
}

static int64_t check_ops(const struct optest *t) {
    const enum op *ops;
    unsigned nops = ops_of(t->dt, &ops);
    int64_t done = 0;
    for (unsigned k = 0; k < nops; k++) {
        enum op op = ops[k];
        enum dtype rt = op_info[op].dt == OPD_BOOL ? DT_BOOL : t->dt;
        for (int i = 0; i < t->n; i++) {
            union val s[3], want, got = get(rt, buffers[3 + k], i);
            for (int j = 0; j < 3; j++) s[j] = get(t->dt, buffers[j], i);
            if (op == OP_WHERE) {
                bool c = t->dt == DT_BOOL     ? s[0].i
                         : dt_is_float(t->dt) ? s[0].f < s[1].f
                         : t->dt == DT_U64    ? (uint64_t)s[0].i < (uint64_t)s[1].i
                                              : s[0].i < s[1].i;
                want = c ? s[1] : s[2];
            } else if (!op_eval(op, rt, t->dt, s, &want)) {
                continue;
            }
            if (!same(rt, got, want, op == OP_RSQRT ? 1 : 0))
                FAIL("%s of %s, %u lanes: (%s, %s, %s) gives %s, expected %s", op_info[op].name,
                     dtype_info[t->dt].name, t->lanes, show(t->dt, s[0]), show(t->dt, s[1]),
                     show(t->dt, s[2]), show(rt, got), show(rt, want));
            done++;
        }
    }
    return done;
}

static bool is_far(const char *cc) { return !strcmp(cc, "cuda") || !strcmp(cc, "opencl"); }

static struct engine *open_engine(const char *cc) {
    struct engine *e = !strcmp(cc, "cuda")     ? cuda_engine()
                       : !strcmp(cc, "opencl") ? opencl_engine()
                                               : engine_open(&err, NULL);
    CHECK(e);
    return e;
}

/* Runs all of it, on the host or on a device with memory of its own. */
static void run_once(struct engine *e, const char *cc, const struct ekernel *k, void *const *buf,
                     const size_t *bytes, const int64_t *var, void *scratch) {
    if (is_far(cc))
        cuda_run(e, k, buf, bytes, var);
    else
        k->fn(buf, var, 0, k->grid, scratch);
}

static void need_compiler(const char *cc) {
    setenv("RIDGE_CACHE", "0", 1);
    env_reload();
    if (is_far(cc)) return;
    if (!os_find_program(&arena, cc)) SKIP("%s is not installed", cc);
    setenv("RIDGE_CC", cc, 1);
    env_reload();
}

/* PoCL takes its time for each kernel: every type as scalars, and pieces of some. */
static bool skipped(const char *cc, enum dtype dt, unsigned lanes) {
    if (strcmp(cc, "opencl")) return false;
    return lanes != 1 && (lanes != 4 || (dt != DT_F32 && dt != DT_F16 && dt != DT_U8));
}

static void run_all_ops(const char *cc) {
    setup();
    need_compiler(cc);
    struct engine *e = open_engine(cc);
    size_t bytes[RG_COUNT(buffers)];
    enum { N = RG_COUNT(all_types) * RG_COUNT(all_lanes) };
    static struct optest t[N];
    const struct linear *lin[N];
    const struct ekernel *k[N];
    int64_t done = 0;
    int n = 0;
    for (int i = 0; i < N; i++) {
        enum dtype dt = all_types[i / RG_COUNT(all_lanes)];
        unsigned lanes = all_lanes[i % RG_COUNT(all_lanes)];
        if (skipped(cc, dt, lanes)) continue;
        build_ops(&t[n], dt, lanes);
        lin[n] = &t[n].p.lin, n++;
    }
    if (engine_compile(e, &err, lin, (uint32_t)n, k)) FAIL("%s", err.msg);
    for (unsigned i = 0; i < RG_COUNT(buffers); i++) buffers[i] = mem_alloc(MAX_N * 8), bytes[i] = MAX_N * 8;
    for (int i = 0; i < n; i++) {
        fill_inputs(t[i].dt);
        run_once(e, cc, k[i], buffers, bytes, NULL, NULL);
        done += check_ops(&t[i]);
    }
    engine_close(e);
    test_info("%lld op results by %s match op_eval", (long long)done, cc);
}

TEST(render_ops_clang) { run_all_ops("clang"); }
TEST(render_ops_gcc) { run_all_ops("gcc"); }
TEST_MANUAL(cuda_gpu_ops, 100) { run_all_ops("cuda"); }
TEST_SLOW(opencl_ops, 600) { run_all_ops("opencl"); }

/* ---- every cast ------------------------------------------------------------------------------------- */

static void build_casts(struct optest *t, enum dtype dt, unsigned lanes) {
    struct prog *p = &t->p;
    *t = (struct optest){.dt = dt, .lanes = lanes, .n = 48};
    prog_init(p, &ir, arena_printf(&arena, "cast_%s_%u", dtype_info[dt].name, lanes));
    const uop *g = range(p, DT_I64, t->n / (int)lanes, AX_GRID);
    const uop *i = op2(p, OP_MUL, g, uop_int(&ir, DT_I64, lanes));
    const uop *x = load(p, param(p, dt, 0, t->n), i, lanes);
    for (uint32_t k = 0; k < RG_COUNT(all_types); k++) {
        enum dtype to = all_types[k];
        const uop *v = to == dt ? x : opn(p, OP_CAST, to, lanes, x, NULL, NULL, ARG_NONE);
        store(p, param(p, to, 1 + k, t->n), i, v, lanes);
        if (dtype_info[to].bytes != dtype_info[dt].bytes || to == dt || to == DT_BOOL || dt == DT_BOOL)
            continue;
        v = opn(p, OP_BITCAST, to, lanes, x, NULL, NULL, ARG_NONE);
        store(p, param(p, to, 1 + RG_COUNT(all_types) + k, t->n), i, v, lanes);
    }
    finish(p);
}

static void check_casts(const struct optest *t) {
    for (unsigned k = 0; k < RG_COUNT(all_types); k++)
        for (int i = 0; i < t->n; i++) {
            enum dtype to = all_types[k];
            union ref_val s[3] = {{.i = get(t->dt, buffers[0], i).i}}, want;
            ref_eval(OP_CAST, to, t->dt, s, &want);
            union val got = get(to, buffers[1 + k], i);
            if (!same(to, got, (union val){.i = want.i}, 0))
                FAIL("CAST of %s to %s, %u lanes: %s gives %s, expected %s", dtype_info[t->dt].name,
                     dtype_info[to].name, t->lanes, show(t->dt, (union val){.i = s[0].i}), show(to, got),
                     show(to, (union val){.i = want.i}));
            if (dtype_info[to].bytes != dtype_info[t->dt].bytes || to == t->dt || to == DT_BOOL ||
                t->dt == DT_BOOL)
                continue;
            size_t b = dtype_info[to].bytes;
            if (memcmp((char *)buffers[1 + RG_COUNT(all_types) + k] + (size_t)i * b,
                       (char *)buffers[0] + (size_t)i * b, b))
                FAIL("BITCAST of %s to %s changes bits", dtype_info[t->dt].name, dtype_info[to].name);
        }
}

static void run_all_casts(const char *cc) {
    setup();
    need_compiler(cc);
    struct engine *e = open_engine(cc);
    size_t bytes[RG_COUNT(buffers)];
    static const unsigned lanes[] = {1, 3, 4, 16};
    enum { N = RG_COUNT(all_types) * RG_COUNT(lanes) };
    static struct optest t[N];
    const struct linear *lin[N];
    const struct ekernel *k[N];
    int n = 0;
    for (int i = 0; i < N; i++) {
        enum dtype dt = all_types[i / RG_COUNT(lanes)];
        if (skipped(cc, dt, lanes[i % RG_COUNT(lanes)])) continue;
        build_casts(&t[n], dt, lanes[i % RG_COUNT(lanes)]);
        lin[n] = &t[n].p.lin, n++;
    }
    if (engine_compile(e, &err, lin, (uint32_t)n, k)) FAIL("%s", err.msg);
    for (unsigned i = 0; i < RG_COUNT(buffers); i++) buffers[i] = mem_alloc(MAX_N * 8), bytes[i] = MAX_N * 8;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < t[i].n; j++) put(t[i].dt, buffers[0], j, edge(t[i].dt, j));
        run_once(e, cc, k[i], buffers, bytes, NULL, NULL);
        check_casts(&t[i]);
    }
    engine_close(e);
}

TEST(render_casts_clang) { run_all_casts("clang"); }
TEST(render_casts_gcc) { run_all_casts("gcc"); }
TEST_MANUAL(cuda_gpu_casts, 100) { run_all_casts("cuda"); }
TEST_SLOW(opencl_casts, 600) { run_all_casts("opencl"); }

/* Every op and cast on every type compiles. */
TEST_SLOW(cuda_compile_ops_and_casts, 600) {
    setup();
    cuda_need_nvrtc(&arena);
    struct cuda_texts texts = {.arena = &arena};
    for (unsigned i = 0; i < RG_COUNT(all_types); i++)
        for (unsigned lanes = 1; lanes <= 4; lanes += 3) {
            struct optest t;
            build_ops(&t, all_types[i], lanes);
            cuda_render(&texts, &t.p.lin, false);
            build_casts(&t, all_types[i], lanes);
            cuda_render(&texts, &t.p.lin, false);
        }
    TEST_COUNT(cuda_compile_texts(&texts), "kernels of ops and casts compiled by NVRTC");
}

/* The branch for machines without our own primitives: the same compiler, told to forget what it is for. */
static void run_portable(void (*run)(const char *)) {
    struct arena own; /* run() begins another */
    arena_init(&own, &err);
    char *dir;
    CHECK(!os_temp_dir(&err, &own, &dir));
    const char *cc = os_find_program(&own, "clang") ? "clang" : "gcc";
    const char *script = arena_printf(&own, "#!/bin/sh\nexec %s \"$@\" -U__aarch64__ -U__AVX2__\n", cc);
    const char *path = arena_printf(&own, "%s/portable", dir);
    CHECK(!os_write_file(&err, path, script, strlen(script), 0700));
    run(path);
    os_remove_tree(dir);
    arena_free(&own);
}

TEST(render_ops_portable) { run_portable(run_all_ops); }
TEST(render_casts_portable) { run_portable(run_all_casts); }

/* ---- machines that are not here ------------------------------------------------------------------------- */

/* clang for x86: -c SOURCE with these flags. */
static void compile_x86(const struct str *text, const char *name, const char *flags) {
    char *dir, *out;
    int status;
    CHECK(!os_temp_dir(&err, &arena, &dir));
    const char *src = arena_printf(&arena, "%s/%s", dir, name);
    CHECK(!os_write_file(&err, src, text->p, text->n, 0600));
    const char *cmd =
        arena_printf(&arena, "clang -target x86_64-linux-gnu %s -w -c %s -o %s/x.o", flags, src, dir);
    const char *argv[] = {"/bin/sh", "-c", cmd, NULL};
    CHECK(!os_run(&err, &arena, argv, &status, &out));
    if (status && strstr(out, "unable to create target")) SKIP("clang has no x86 target here");
    if (status && strstr(out, "unknown argument")) SKIP("this clang does not know all of %s", flags);
    if (status) FAIL("%s: %s", flags, out);
    os_remove_tree(dir);
}

/* What cannot run here must compile at least. */
TEST(render_x86_compiles) {
    static const char *const isa[] = {"sse2", "avx2", "avx512"};
    setup();
    if (!os_find_program(&arena, "clang")) SKIP("clang is not installed");
    struct str s;
    str_init(&s, &arena);
    render_c_preamble(&s);
    for (unsigned i = 0; i < RG_COUNT(all_types); i++)
        for (unsigned l = 0; l < RG_COUNT(all_lanes); l++) {
            struct optest t;
            build_ops(&t, all_types[i], all_lanes[l]);
            render_c(&s, &ir, &t.p.lin);
        }
    for (unsigned i = 0; i < RG_COUNT(isa); i++)
        compile_x86(&s, "x.c", arena_printf(&arena, "%s -O1 -fPIC", isa_find(isa[i])->cc));
}

/* A tail: loads and stores of vectors under a mask. */
static void build_masked(struct optest *t, enum dtype dt, unsigned lanes) {
    struct prog *p = &t->p;
    prog_init(p, &ir, arena_printf(&arena, "masked_%s_%u", dtype_info[dt].name, lanes));
    const uop *i = op2(p, OP_MUL, range(p, DT_I32, 8, AX_GRID), uop_int(&ir, DT_I32, lanes));
    const uop *each = op2(p, OP_ADD, i, uop_new(&ir, OP_LANES, DT_I32, lanes, NULL, 0, ARG_NONE));
    const uop *live = op2(p, OP_LT, each, uop_int(&ir, DT_I32, 8 * lanes - 1));
    const uop *zero = dt_is_float(dt) ? uop_flt(&ir, dt, 0) : uop_int(&ir, dt, 0);
    const uop *v = push(p, uop_new(&ir, OP_PRED_LOAD, dt, lanes,
                                   (const uop *[]){at(p, param(p, dt, 1, 8 * lanes), i, lanes), zero, live},
                                   3, ARG_NONE));
    push(p, uop_new(&ir, OP_STORE, DT_VOID, 1,
                    (const uop *[]){at(p, param(p, dt, 0, 8 * lanes), i, lanes), v, live}, 3, ARG_NONE));
    finish(p);
}

struct golden_text {
    struct str *s;
    const char *path;
    int vec_bytes;
};

static void render_golden(void *arg) {
    struct golden_text *g = arg;
    struct program prog = {0};
    struct linear lin;
    char *text;
    size_t n;
    if (os_read_file(&err, &arena, g->path, 1 << 20, &text, &n)) err_throw(&err, err.code, "%s", g->path);
    ir_parse(&ir, text, n, g->path, &prog);
    for (uint32_t i = 0; i < prog.kernel.n; i++) {
        struct lower_opts how = {.opts = opts_heuristic(&ir, &prog.kernel.p[i], g->vec_bytes, 1),
                                 .target = {.vec_bytes = g->vec_bytes}};
        lower(&ir, &prog.kernel.p[i], &how, &lin);
        render_opencl_cpu(g->s, &ir, &lin);
    }
}

/* Kernels of an OpenCL device that is an x86 CPU, by clang, which PoCL is made of. */
static void opencl_compiles_for(unsigned turn, const char *isa, const char *more) {
    static const char *const golden[] = {"conv5x5",           "small/argmax",   "small/cumsum",
                                         "small/half_matmul", "small/pad_conv", "small/softmax",
                                         "small/stats_f64"};
    static const char rest[] = /* macros that these kernels do not use */
        "__kernel void rest(__global char *p) {\n"
        "  void *const m = (void *)(u64)p;\n"
        "  *(u32x16 *)m = ROL(*(u32x16 *)m, 7);\n"
        "  *(u8x32 *)m = ZIP16(u8x32, *(u8x16 *)m, *(u8x16 *)m);\n"
        "#ifdef __AVX512BF16__\n"
        "  AMX_BEGIN mma_TDPBF16PS((f32x16 *)m, (bf16 *)m, (bf16 *)m, 1, 1); AMX_END\n"
        "  *(f32x16 *)m = mma_VDPBF16PS(*(f32x16 *)m, (bf16 *)m, *(bf16x32 *)m);\n"
        "#endif\n}\n";
    static const unsigned lanes[] = {1, 3, 4, 8, 16};
    const struct isa *row = isa_find(isa);
    struct str s;
    setup();
    if (!os_find_program(&arena, "clang")) SKIP("clang is not installed");
    str_init(&s, &arena);
    render_opencl_cpu_preamble(&s, NULL, 0);
    for (unsigned i = 0; i < RG_COUNT(all_types); i++)
        for (unsigned l = (i + turn) % 2; l < RG_COUNT(lanes);
             l += 2) { /* the others: with the next row of tests */
            struct optest t;
            build_ops(&t, all_types[i], lanes[l]);
            render_opencl_cpu(&s, &ir, &t.p.lin);
            build_casts(&t, all_types[i], lanes[l]);
            render_opencl_cpu(&s, &ir, &t.p.lin);
            if (lanes[l] < 4 || dtype_info[all_types[i]].bytes < 4) continue;
            build_masked(&t, all_types[i], lanes[l]);
            render_opencl_cpu(&s, &ir, &t.p.lin);
        }
    for (unsigned i = 0; i < RG_COUNT(golden); i++) {
        struct golden_text g = {&s, arena_printf(&arena, "tests/golden/%s.uop", golden[i]), row->bytes};
        if (err_guard(&err, render_golden, &g)) FAIL("%s: %s", g.path, err.msg);
    }
    str_add(&s, rest);
    compile_x86(
        &s, "x.cl",
        arena_printf(&arena, "%s %s -cl-std=CL1.2 -Xclang -finclude-default-header -O0", row->cc, more));
}

TEST(opencl_cpu_compiles_for_sse2) { opencl_compiles_for(0, "sse2", ""); }
TEST(opencl_cpu_compiles_for_avx2) { opencl_compiles_for(1, "avx2", ""); }
TEST(opencl_cpu_compiles_for_avx512) { opencl_compiles_for(2, "avx512", ""); }
TEST(opencl_cpu_compiles_for_amx) {
    opencl_compiles_for(3, "avx512",
                        "-mavx512bf16 -mavx512fp16 -mavx512vnni -mamx-tile -mamx-bf16 -mamx-int8");
}

/* ---- whole programs against the interpreter --------------------------------------------------------- */

static struct engine *en;
static const char *which;

/* Runs the program compiled and interpreted on equal buffers and compares all bytes. */
static void against_ref(struct prog *p, const size_t *bytes, const int64_t *var) {
    const struct linear *lin = finish(p);
    const struct ekernel *k;
    if (engine_compile(en, &err, &lin, 1, &k)) FAIL("%s", err.msg);
    void *buf[8];
    struct ref_buf ref[8];
    for (uint32_t i = 0; i < lin->nbuf; i++) {
        char *x = mem_alloc(bytes[i]), *y = mem_alloc(bytes[i]);
        for (size_t b = 0; b < bytes[i]; b++) x[b] = y[b] = (char)(i ? (b * 37 + i * 11) % 64 : 0);
        buf[i] = x;
        ref[i] = (struct ref_buf){.p = y, .bytes = bytes[i]};
    }
    void *scratch = os_pages((size_t)lin->scratch + 1);
    run_once(en, which, k, buf, bytes, var, scratch);
    if (ref_linear(&err, lin, ref, lin->nbuf, var, 0, lin->grid)) FAIL("%s: %s", lin->name, err.msg);
    for (uint32_t i = 0; i < lin->nbuf; i++)
        for (size_t b = 0; b < bytes[i]; b++)
            if (((char *)buf[i])[b] != ((char *)ref[i].p)[b])
                FAIL("%s: byte %zu of buffer %u is %d, expected %d\n%s", lin->name, b, i, ((char *)buf[i])[b],
                     ((char *)ref[i].p)[b], k->source);
    for (uint32_t i = 0; i < lin->nbuf; i++) mem_free(buf[i]), mem_free(ref[i].p);
    os_pages_free(scratch, (size_t)lin->scratch + 1);
}

static void setup_engine(const char *cc) {
    setup();
    need_compiler(cc);
    en = open_engine(cc);
    which = cc;
}

#define INT(v) uop_int(&ir, DT_I64, (v))

/* Loads and stores past the ends, predicated by a scalar, a vector, and a vector with a vector index. */
static void preds(void) {
    for (unsigned lanes = 1; lanes <= 8; lanes++)
        for (int kind = 0; kind < 3; kind++) {
            struct prog p;
            prog_init(&p, &ir, arena_printf(&arena, "pred_%u_%d", lanes, kind));
            const uop *in = param(&p, DT_I32, 1, 40), *out = param(&p, DT_I32, 0, 40);
            const uop *i =
                op2(&p, OP_MUL, range(&p, DT_I64, (40 + (int)lanes - 1) / (int)lanes, AX_GRID), INT(lanes));
            const uop *each = i, *limit = i;
            if (lanes > 1)
                each = op2(&p, OP_ADD, i, uop_new(&ir, OP_LANES, DT_I64, lanes, NULL, 0, ARG_NONE));
            limit = kind == 0 ? op2(&p, OP_ADD, i, INT(lanes - 1)) : each;
            const uop *ok = op2(&p, OP_LT, limit, INT(37)), *where = kind == 2 ? each : i;
            const uop *src[3] = {at(&p, in, where, lanes), uop_int(&ir, DT_I32, -5), ok};
            const uop *v = push(&p, uop_new(&ir, OP_PRED_LOAD, DT_I32, lanes, src, 3, ARG_NONE));
            v = op2(&p, OP_ADD, v, uop_int(&ir, DT_I32, 7));
            const uop *dst[3] = {at(&p, out, where, lanes), v, op2(&p, OP_LT, limit, INT(39))};
            push(&p, uop_new(&ir, OP_STORE, DT_VOID, 1, dst, 3, ARG_NONE));
            against_ref(&p, (size_t[]){160, 160}, NULL);
        }
}

/* Lanes of one vector in any order, as compilers turn into shuffles: the sixth and seventh of eight doubles where the third and fourth
 * were (gcc 12 and 13), and what else is drawn. */
static void permutations(enum dtype dt, unsigned wide, unsigned lanes) {
    enum { PERMS = 24 };
    static const unsigned crossing[4] = {0, 0, 6, 6};
    struct prog p;
    uint64_t state = 88172645463325252u + (uint64_t)dt * 64 + lanes;
    prog_init(&p, &ir, arena_printf(&arena, "permute_%s_%u_%u", dtype_info[dt].name, wide, lanes));
    const uop *out = param(&p, dt, 0, PERMS * lanes), *in = param(&p, dt, 1, wide);
    const uop *v = load(&p, in, INT(0), wide);
    for (unsigned i = 0; i < PERMS; i++) {
        const uop *lane[16];
        for (unsigned k = 0; k < lanes; k++) {
            state ^= state << 13, state ^= state >> 7, state ^= state << 17;
            unsigned from = (state >> 33) % wide;
            if (i == 0) from = k < 4 ? crossing[k] : k;
            if (i == 1) from = k == 2 || k == 3 ? k + 4 : k;
            lane[k] = opn(&p, OP_EXTRACT, dt, 1, v, NULL, NULL, ARG_INT(from));
        }
        const uop *built = push(&p, uop_new(&ir, OP_BUILD, dt, lanes, lane, lanes, ARG_NONE));
        store(&p, out, INT((int64_t)i * lanes), built, lanes);
    }
    size_t bytes = dtype_info[dt].bytes;
    against_ref(&p, (size_t[]){PERMS * lanes * bytes, wide * bytes}, NULL);
}

/* Two lanes, and several iterations, add to the same elements. */
static void adding(enum dtype dt) {
    struct prog p;
    prog_init(&p, &ir, arena_printf(&arena, "adding_%s", dtype_info[dt].name));
    const uop *out = param(&p, dt, 0, 16), *in = param(&p, dt, 1, 16), *idx = param(&p, DT_I32, 2, 16);
    const uop *i = op2(&p, OP_MUL, range(&p, DT_I64, 4, AX_LOOP), INT(4));
    const uop *three = op2(&p, OP_AND, load(&p, idx, i, 4), uop_int(&ir, DT_I32, 3));
    const uop *v = load(&p, in, i, 4);
    opn(&p, OP_STORE_ADD, DT_VOID, 1, at(&p, out, three, 4), v, NULL, ARG_NONE);
    opn(&p, OP_STORE_ADD, DT_VOID, 1, at(&p, out, i, 4), v, NULL, ARG_NONE);
    opn(&p, OP_STORE_ADD, DT_VOID, 1, at(&p, out, i, 4), v, op2(&p, OP_LT, three, uop_int(&ir, DT_I32, 2)),
        ARG_NONE);
    size_t n = 16u * dtype_info[dt].bytes;
    against_ref(&p, (size_t[]){n, n, 64}, NULL);
}

/* Accumulators in nested loops, both sides of an IF, scratch memory, VEC_REDUCE in odd lane counts, a VAR. */
static void control(unsigned lanes, enum op combine) {
    struct prog p;
    prog_init(&p, &ir, arena_printf(&arena, "control_%u_%s", lanes, op_info[combine].name));
    const uop *out = param(&p, DT_F32, 0, 64), *in = param(&p, DT_U8, 1, 512);
    const uop *n = INT((int64_t)lanes * 4), *bounds[2] = {INT(1), INT(4)};
    const uop *local = uop_new(&ir, OP_LOCAL, DT_F32, 1, &n, 1,
                               (union arg){.mem = {.name = ir_sym(&ir, "tmp", 3), .space = SPACE_SCRATCH}});
    const uop *times = uop_new(&ir, OP_VAR, DT_I64, 1, bounds, 2, (union arg){.param = {1, 0}});
    p.lin.local = &local, p.lin.nlocal = 1, p.lin.scratch = lanes * 16, p.lin.nvar = 2;
    const uop *g = range(&p, DT_I64, 7, AX_GRID), *sum = acc(&p, DT_F32, lanes, 0),
              *best = acc(&p, DT_F32, 1, 1);
    set(&p, sum, uop_flt(&ir, DT_F32, 0));
    union arg ra = {.range = {.kind = AX_REDUCE, .pos = 1}};
    const uop *r = push(&p, uop_new(&ir, OP_RANGE, DT_I64, 1, &times, 1, ra));
    vec_push(&arena, &p.open, r);
    const uop *i = op2(&p, OP_MUL, op2(&p, OP_ADD, op2(&p, OP_MUL, g, INT(4)), r), INT(lanes));
    const uop *x = push(&p, uop_cast(&ir, load(&p, in, i, lanes), DT_F32));
    set(&p, sum, op2(&p, OP_ADD, sum, x));
    store(&p, local, op2(&p, OP_MUL, r, INT(lanes)), op2(&p, OP_MUL, sum, sum), lanes);
    end(&p);
    const uop *total = opn(&p, OP_VEC_REDUCE, DT_F32, 1, sum, NULL, NULL, ARG_INT(combine));
    const uop *cond = push(&p, opn(&p, OP_IF, DT_VOID, 1, op2(&p, OP_LT, g, INT(3)), NULL, NULL, ARG_NONE));
    p.u.n--; /* opn pushed it already */
    vec_push(&arena, &p.open, cond);
    set(&p, best, total);
    opn(&p, OP_ELSE, DT_VOID, 1, cond, NULL, NULL, ARG_NONE);
    set(&p, best, opn(&p, OP_NEG, DT_F32, 1, total, NULL, NULL, ARG_NONE));
    end(&p);
    store(&p, out, g, best, 1);
    const uop *last = load(&p, local, INT(0), lanes);
    store(&p, out, op2(&p, OP_ADD, g, INT(8)),
          opn(&p, OP_EXTRACT, DT_F32, 1, last, NULL, NULL, ARG_INT(lanes - 1)), 1);
    against_ref(&p, (size_t[]){256, 512}, (int64_t[]){0, 3});
}

/* Floor division and modulus where bounds are known: shifts, unsigned division, and both signs. */
static void division(enum dtype dt, int64_t by, int64_t from, unsigned lanes) {
    struct prog p;
    prog_init(&p, &ir,
              arena_printf(&arena, "division_%s_%lld_%lld_%u", dtype_info[dt].name,
                           (long long)(by < 0 ? 1000 - by : by), (long long)(from < 0 ? 1 : 0), lanes));
    const uop *q = param(&p, dt, 0, 120), *m = param(&p, dt, 1, 120);
    const uop *i = op2(&p, OP_MUL, range(&p, DT_I64, 120 / (int)lanes, AX_GRID), INT(lanes)), *each = i;
    if (lanes > 1) each = op2(&p, OP_ADD, i, uop_new(&ir, OP_LANES, DT_I64, lanes, NULL, 0, ARG_NONE));
    const uop *x = op2(&p, OP_ADD, each, INT(from));
    x = x->dt == dt ? x : push(&p, uop_cast(&ir, x, dt));
    store(&p, q, i, op2(&p, OP_IDIV, x, uop_int(&ir, dt, by)), lanes);
    store(&p, m, i, op2(&p, OP_MOD, x, uop_int(&ir, dt, by)), lanes);
    size_t n = 120u * dtype_info[dt].bytes;
    against_ref(&p, (size_t[]){n, n}, NULL);
}

/* A value is read when its entry stands in the list, not where it is used. */
static void order(void) {
    struct prog p;
    prog_init(&p, &ir, "order");
    const uop *b = param(&p, DT_I32, 0, 8), *a = acc(&p, DT_I32, 1, 0), *one = uop_int(&ir, DT_I32, 1);
    set(&p, a, one);
    const uop *before = op2(&p, OP_ADD, a, one), *old = load(&p, b, INT(0), 1);
    set(&p, a, uop_int(&ir, DT_I32, 40));
    store(&p, b, INT(0), uop_int(&ir, DT_I32, 9), 1);
    store(&p, b, INT(1), before, 1);
    store(&p, b, INT(2), old, 1);
    push(&p, before); /* again: reads 40 now */
    store(&p, b, INT(3), before, 1);
    push(&p, old);
    store(&p, b, INT(4), old, 1);
    against_ref(&p, (size_t[]){32}, NULL);
}

static void pick_buffer(void) {
    struct prog p;
    prog_init(&p, &ir, "pick");
    const uop *out = param(&p, DT_F32, 0, 12), *g = range(&p, DT_I64, 3, AX_GRID), *src[2] = {g, INT(4)};
    const uop *in = push(&p, uop_new(&ir, OP_PARAMS, DT_F32, 1, src, 2, (union arg){.param = {1, 0}}));
    p.lin.nbuf = 4;
    store(&p, out, op2(&p, OP_MUL, g, INT(4)), load(&p, in, INT(0), 4), 4);
    against_ref(&p, (size_t[]){48, 16, 16, 16}, NULL);
}

/* Vectors whose lanes are interleaved, 2 and 4 ways, of every width: some are one shuffle (ZIP16, ZIP32), the others are not. */
static void interleaving(enum dtype dt) {
    struct prog p;
    prog_init(&p, &ir, arena_printf(&arena, "interleaving_%s", dtype_info[dt].name));
    const uop *out = param(&p, dt, 0, 512), *in = param(&p, dt, 1, 128), *src[64];
    int64_t at = 0;
    for (unsigned ways = 2; ways <= 4; ways *= 2)
        for (unsigned lanes = 8; lanes <= 64; at += lanes, lanes *= 2) {
            for (unsigned i = 0; i < lanes; i++) {
                const uop *v = load(&p, in, INT(i % ways * (lanes / ways)), lanes / ways);
                src[i] = push(&p, uop_new(&ir, OP_EXTRACT, dt, 1, &v, 1, (union arg){.i = i / ways}));
            }
            store(&p, out, INT(at), push(&p, uop_new(&ir, OP_BUILD, dt, lanes, src, lanes, ARG_NONE)), lanes);
        }
    against_ref(&p, (size_t[]){512u * dtype_info[dt].bytes, 128u * dtype_info[dt].bytes}, NULL);
}

static void all_programs(const char *cc) {
    static const enum op combine[] = {OP_ADD, OP_MUL, OP_MAX, OP_MIN};
    setup_engine(cc);
    preds();
    adding(DT_I32), adding(DT_F32), adding(DT_F16), adding(DT_U8);
    for (unsigned l = 0; l < 4; l++) control((unsigned[]){2, 3, 8, 12}[l], combine[l]);
    for (unsigned l = 1; l <= 4; l += 3) {
        division(DT_I64, 8, -60, l), division(DT_I32, 7, -60, l), division(DT_I32, 12, 0, l);
        division(DT_I16, -5, -60, l), division(DT_U8, 3, 0, l), division(DT_I64, 0, -1, l);
    }
    order();
    pick_buffer();
    bool wide = strcmp(cc, "cuda") && strcmp(cc, "opencl"); /* those have vectors of 16 bytes */
    for (unsigned l = 4; wide && l <= 8; l += 4) {
        permutations(DT_F64, 8, l), permutations(DT_I64, 8, l);
        permutations(DT_F32, 16, l), permutations(DT_I16, 16, l);
    }
    for (int i = 0; wide && i < 4; i++) interleaving((enum dtype[]){DT_U8, DT_BF16, DT_F16, DT_I32}[i]);
    engine_close(en);
}

TEST(render_programs_clang) { all_programs("clang"); }
TEST(render_programs_gcc) { all_programs("gcc"); }
TEST_MANUAL(cuda_gpu_programs, 100) { all_programs("cuda"); }
TEST_SLOW(opencl_programs, 600) {
    opencl_hurry();
    all_programs("opencl");
}

/* ---- the text --------------------------------------------------------------------------------------- */

static const char *text_of(int noise) {
    struct ir one;
    ir_init(&one, &arena);
    for (int i = 0; i < noise; i++) uop_int(&one, DT_I32, i * 3 + 1);
    ir = one;
    struct optest t;
    build_ops(&t, DT_F32, 4);
    struct str s;
    str_init(&s, &arena);
    render_c(&s, &ir, &t.p.lin);
    return s.p;
}

TEST(render_text_does_not_depend_on_ids) {
    setup();
    CHECK_STR(text_of(100), text_of(0));
}

static void render_exp(void *arg) {
    struct prog p;
    prog_init(&p, &ir, "bad");
    const uop *b = param(&p, DT_F32, 0, 1);
    store(&p, b, INT(0), opn(&p, OP_EXP, DT_F32, 1, load(&p, b, INT(0), 1), NULL, NULL, ARG_NONE), 1);
    render_c(arg, &ir, finish(&p));
}

static void render_wide(void *arg) {
    struct prog p;
    prog_init(&p, &ir, "bad");
    const uop *b = param(&p, DT_F32, 0, 200);
    store(&p, b, INT(0), load(&p, b, INT(0), 128), 128);
    render_c(arg, &ir, finish(&p));
}

TEST(render_says_what_it_cannot) {
    struct str s;
    setup();
    str_init(&s, &arena);
    CHECK_EQ(err_guard(&err, render_exp, &s), RG_EUNSUPPORTED);
    CHECK(strstr(err.msg, "EXP") && strstr(err.msg, "kernel bad"));
    err_clear(&err);
    CHECK_EQ(err_guard(&err, render_wide, &s), RG_ELIMIT);
}
