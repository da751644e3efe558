/* Tests of src/schedule/repack.c: which products get padded copies of their operands, and that what comes out is what the
 * oracle says, by the interpreter of block programs. */
#include "codegen/codegen.h"
#include "planned.h"
#include "test.h"

#include <ridge.h>

#include <stdlib.h>
#include <string.h>

/* A GPU whose memory costs nothing: small products are repacked too. */
static const struct model *eager_model(void) {
    static struct model m;
    model_guess_gpu(&m, &(struct model_gpu){.name = "NVIDIA H200", .memory_rate = 4917});
    m.theory[MODEL_LAUNCH] = 0, m.theory[MODEL_DRAM_COPY] = 1e12;
    return &m;
}
static const struct model *gpu_model(void) {
    static struct model m;
    model_guess_gpu(&m, &(struct model_gpu){.name = "NVIDIA H200", .memory_rate = 4917});
    return &m;
}

struct job {
    const char *text;
    struct sched_opts opts;
    bool run, pieces; /* pieces: tiles must be filled by them */
    struct err err;
    struct arena arena;
    struct ir ir;
    struct planned_run r;
    struct str why;
    uint32_t calls; /* of the plan */
    bool wide;      /* results go by 16 bytes */
    bool ok;
};

/* Every copy into a tile has 16 bytes or is a box of whole rows, and there are some. */
static bool by_pieces(const struct planned_run *r) {
    bool any = false;
    for (uint32_t p = 0; p < r->sched.prog.n; p++)
        for (uint32_t i = 0; i < r->lin[p].n; i++) {
            const uop *n = r->lin[p].u[i];
            any |= n->op == OP_TMA_LOAD; /* whole rows */
            if (n->op != OP_CP_ASYNC) continue;
            const uop *to = n->src[0];
            if (to->lanes * dtype_info[to->src[0]->dt].bytes != 16 ||
                !uop_divides(n->src[1]->src[1], to->lanes))
                return false;
            any = true;
        }
    return any;
}

/* Results are stored by 16 bytes, and what the kernel keeps in shared memory is there on an H200. */
static bool stores_pieces(const struct planned_run *r) {
    const struct linear *lin = &r->lin[r->sched.call.p[r->sched.call.n - 1].prog];
    for (uint32_t i = 0; i < lin->n; i++) {
        const uop *n = lin->u[i];
        if (n->op == OP_STORE && access_buf(n)->op == OP_PARAM && n->src[0]->lanes == 8 &&
            uop_divides(access_offset(n), 8))
            return lin->shared <= 232448;
    }
    return false;
}

static void plan_job(void *arg) {
    struct job *j = arg;
    struct program p = {0};
    ir_init(&j->ir, &j->arena);
    str_init(&j->why, &j->arena);
    ir_parse(&j->ir, j->text, strlen(j->text), "test", &p);
    j->r = (struct planned_run){.arena = &j->arena,
                                .ir = &j->ir,
                                .opts = &j->opts,
                                .graph = p.kernel.p[0].sink,
                                .from = OPTS_GPU,
                                .exact = !strstr(j->text, "SIGMOID")};
    j->ok = true;
    if (j->run) j->r.data = graph_fill(&j->arena, &j->ir, j->r.graph, 1, true);
    planned_plan(&j->r);
    j->wide = stores_pieces(&j->r);
    if (j->pieces && !by_pieces(&j->r)) err_throw(&j->err, RG_EINTERNAL, "tiles are not filled by 16 bytes");
    if (!j->run) return;
    planned_memory(&j->r);
    planned_interpret(&j->r);
    j->ok = planned_check(&j->r, &j->why, NULL, NULL);
}

/* How many copies of operands there are: nothing else is stored on the way. */
static uint32_t copies_of(struct job *j) {
    arena_init(&j->arena, &j->err);
    if (!j->opts.capability) j->opts.capability = 90;
    j->opts.gpu = true;
    if (err_guard(&j->err, plan_job, j)) FAIL("%s\n%s", j->text, j->err.msg);
    if (!j->ok) FAIL("%s\n%s", j->text, j->why.p);
    uint32_t n = 0;
    for (uint32_t i = 0; i < j->r.sched.buf.n; i++) n += j->r.sched.buf.p[i].kind == BUF_TEMP;
    j->calls = j->r.sched.call.n;
    CHECK(j->calls <= 1 + n);
    arena_free(&j->arena);
    return n;
}

/* a (m, k) by b: (n, k) or (k, n), in the words of rg_matmul. */
static const char *product_text(char *to, size_t n, const char *dt, int m, int nn, int k, bool nt) {
    bool half = strcmp(dt, "f32") != 0;
    const char *up = half ? "(CAST<f32> " : "", *end = half ? ")" : "";
    char down[32] = "";
    if (half && strncmp(dt, "f8", 2)) snprintf(down, sizeof down, "(CAST<%s> ", dt);
    snprintf(to, n,
             "kernel g\na = (EXPAND (RESHAPE %s(BUFFER<%s>[0] %d %d)%s %d 1 %d) %d %d %d)\n"
             "b = (EXPAND (RESHAPE %s%s(BUFFER<%s>[1] %d %d)%s%s 1 %d %d) %d %d %d)\n"
             "(GRAPH %s(RESHAPE (REDUCE_AXES[ADD] (MUL a b) 2) %d %d)%s)\n",
             up, dt, m, k, end, m, k, m, nn, k, nt ? "" : "(PERMUTE ", up, dt, nt ? nn : k, nt ? k : nn, end,
             nt ? "" : " 1 0)", nn, k, m, nn, k, down, m, nn, *down ? ")" : "");
    return to;
}

/* Odd rows are copied where the product is large enough to gain by it; rows that fit never are. */
TEST(repack_chooses) {
    static const struct {
        const char *dt;
        int m, n, k;
        bool nt;
        uint32_t copies;
    } row[] = {
        {"bf16", 4095, 4095, 4095, true, 2}, /* rows of the result are stored as they are */
        {"bf16", 4095, 4095, 4095, false, 2}, {"bf16", 4097, 4097, 4097, true, 2},
        {"bf16", 1793, 1793, 1793, false, 2}, {"f16", 4095, 4095, 4095, true, 2},
        {"f32", 4095, 4095, 4095, false, 2},  {"bf16", 4096, 4096, 4096, true, 0},
        {"bf16", 4096, 4096, 4096, false, 0}, {"bf16", 4096, 4095, 4096, false, 1},
        {"bf16", 4095, 4096, 4096, true, 0},  {"bf16", 4095, 4095, 4096, true, 0},
        {"bf16", 4096, 4096, 4095, true, 2},  {"bf16", 65, 65, 193, true, 0},
        {"bf16", 4095, 33, 4095, true, 0},
    };
    char text[1024];
    for (size_t i = 0; i < RG_COUNT(row); i++) {
        product_text(text, sizeof text, row[i].dt, row[i].m, row[i].n, row[i].k, row[i].nt);
        struct job j = {.text = text, .opts = {.model = gpu_model()}};
        uint32_t copies = copies_of(&j);
        if (copies != row[i].copies) FAIL("%u copies, not %u, of\n%s", copies, row[i].copies, text);
        struct job cl = {.text = text, .opts = {.model = gpu_model(), .capability = 70}};
        CHECK_EQ(copies_of(&cl), 0); /* no block programs there */
    }
}

static void plan_copies(void *arg) {
    struct job *j = arg;
    plan_job(j);
    for (uint32_t p = 0; p < j->r.sched.prog.n; p++)
        for (uint32_t i = 0; i < j->r.lin[p].n; i++) {
            const uop *n = j->r.lin[p].u[i];
            if (n->op == OP_MOD && n->src[1]->arg.i > 1 << 20)
                err_throw(&j->err, RG_EINTERNAL, "a remainder of the whole matrix");
        }
}

/* Few rows, or few results, by long odd rows, which are bound by what passes through registers: copied, with whole parts of
 * K, by position, so that vectors fit. */
TEST(repack_long_rows) {
    static const struct {
        int m, n, k;
        uint32_t kernels;
    } row[] = {{94, 384589, 347, 3}, {94, 347, 384589, 4}};
    char text[1024];
    for (size_t i = 0; i < RG_COUNT(row); i++) {
        product_text(text, sizeof text, "bf16", row[i].m, row[i].n, row[i].k, false);
        struct job j = {.text = text, .opts = {.model = gpu_model(), .gpu = true, .capability = 90}};
        arena_init(&j.arena, &j.err);
        if (err_guard(&j.err, plan_copies, &j)) FAIL("%s\n%s", text, j.err.msg);
        CHECK_EQ(j.r.sched.call.n, row[i].kernels);
        bool rows = false; /* of 385,024 */
        for (uint32_t b = 0; b < j.r.sched.buf.n; b++) rows |= j.r.sched.buf.p[b].elements == 385024ll * 384;
        CHECK(rows);
        arena_free(&j.arena);
    }
}

/* Copies of one size are made by one kernel, others by two. */
TEST(repack_copies_together) {
    static const struct {
        int m, n, k;
        uint32_t copies, calls;
    } row[] = {{1793, 1793, 1793, 2, 2}, {4095, 4095, 4095, 2, 2}, {1793, 2049, 1793, 2, 3}};
    char text[1024];
    for (size_t i = 0; i < RG_COUNT(row) * 2; i++) {
        product_text(text, sizeof text, "bf16", row[i / 2].m, row[i / 2].n, row[i / 2].k, i % 2);
        struct job j = {.text = text, .opts = {.model = gpu_model()}};
        CHECK_EQ(copies_of(&j), row[i / 2].copies);
        CHECK_EQ(j.calls, row[i / 2].calls);
        CHECK(j.wide);
    }
}

/* The same elements come out, whatever the sizes: in the interpreter, which runs every thread. Halves by MMA instructions,
 * all tiles filled by pieces. */
TEST_SLOW(repack_products, 300) {
    static const char *const dt[] = {"bf16", "f16", "f32"};
    static const int size[][3] = {{385, 391, 195}, {511, 321, 201}};
    char text[1024];
    for (size_t i = 0; i < RG_COUNT(dt) * 2; i++) {
        const int *s = size[(i + i / 2) % 2];
        product_text(text, sizeof text, dt[i / 2 % 3], s[0], s[1], s[2], i % 2);
        struct job j = {.text = text, .opts = {.model = eager_model()}, .run = true, .pieces = i / 2 % 3 < 2};
        CHECK_EQ(copies_of(&j), 2);
    }
}

/* What is made of an odd result is stored by the product itself, but for what another tensor of its size goes into: then the
 * padded sum is stored, and a kernel of its own reads both by pieces. */
TEST_SLOW(repack_finish, 300) {
    static const struct {
        const char *text;
        uint32_t copies;
    } row[] = {
        {"(GRAPH (MAX (ADD s (EXPAND (RESHAPE (BUFFER<bf16>[2] 391) 1 391) 385 391)) 0.0:bf16))\n", 2},
        {"(GRAPH (MUL s (SIGMOID s)))\n", 2},
        {"(GRAPH (ADD s (BUFFER<bf16>[2] 385 391)))\n", 3},
        {"(GRAPH (ADD (PERMUTE s 1 0) (NEG (BUFFER<bf16>[2] 391 385))))\n", 3},
        {"(GRAPH s (NEG s))\n", 2},
    };
    for (size_t i = 0; i < RG_COUNT(row); i++) {
        char text[1024], product[1024];
        product_text(product, sizeof product, "bf16", 385, 391, 195, i % 2);
        char *end = strstr(product, "(GRAPH ");
        CHECK(end);
        snprintf(text, sizeof text, "%.*ss = %.*s\n%s", (int)(end - product), product,
                 (int)strlen(end + 7) - 2, end + 7, row[i].text);
        struct job j = {.text = text, .opts = {.model = eager_model()}, .run = true, .pieces = true};
        uint32_t copies = copies_of(&j);
        if (copies != row[i].copies) FAIL("%u copies, not %u, of\n%s", copies, row[i].copies, text);
    }
}

/* ALIGN: stores by 16 bytes whatever the length of a row, and nothing else is stored. */
struct rows {
    const char *opts;
    struct err err;
    struct arena arena;
    struct ir ir;
    struct linear lin;
};
static void lower_rows(void *arg) {
    static const char text[] =
        "kernel rows\nout = (PARAM<bf16>[0 out] 4757)\nx = (PARAM<bf16>[1 x] 5112)\n"
        "i = (RANGE[i GRID 0] 71)\nj = (RANGE[j GRID 1] 67)\n"
        "(SINK (STORE (INDEX out (ADD (MUL i 67) j)) (LOAD (INDEX x (ADD (MUL i 72) j)))))\n";
    struct rows *r = arg;
    struct program p = {0};
    ir_init(&r->ir, &r->arena);
    ir_parse(&r->ir, text, sizeof text - 1, "rows.uop", &p);
    lower(&r->ir, &p.kernel.p[0],
          &(struct lower_opts){.opts = r->opts, .target = {.kind = TARGET_GPU, .keep_math = true}}, &r->lin);
}
TEST(repack_aligned_rows) {
    struct rows r = {.opts = "ALIGN(j,8) TILE(j,8,v) VEC(v)"};
    static uint16_t x[5112], out[4757];
    uint32_t stores = 0;
    arena_init(&r.arena, &r.err);
    if (err_guard(&r.err, lower_rows, &r)) FAIL("%s", r.err.msg);
    for (uint32_t i = 0; i < r.lin.n; i++) {
        const uop *n = r.lin.u[i];
        if (n->op != OP_STORE) continue;
        CHECK(n->src[0]->lanes == 8 && uop_divides(access_offset(n), 8));
        stores++;
    }
    CHECK_EQ(stores, 1);
    for (int i = 0; i < 5112; i++) x[i] = (uint16_t)i;
    struct ref_buf bufs[2] = {{.p = out, .bytes = sizeof out}, {.p = x, .bytes = sizeof x}};
    if (ref_linear(&r.err, &r.lin, bufs, 2, NULL, 0, r.lin.grid)) FAIL("%s", r.err.msg);
    for (int i = 0; i < 4757; i++) CHECK_EQ(out[i], i / 67 * 72 + i % 67);
    arena_free(&r.arena);
    static const char *const bad[][2] = {{"ALIGN(i,8)", "does not lie one by one"},
                                         {"ALIGN(j,1)", "2 .. 64"},
                                         {"VEC(j) ALIGN(j,8)", ""},
                                         {"TILE(j,4,v) VEC(v) ALIGN(v,8)", "another use"}};
    for (size_t i = 0; i < RG_COUNT(bad); i++) {
        struct rows b = {.opts = bad[i][0]};
        arena_init(&b.arena, &b.err);
        CHECK_EQ(err_guard(&b.err, lower_rows, &b), RG_EOPT);
        if (!strstr(b.err.msg, bad[i][1])) FAIL("%s: %s", bad[i][0], b.err.msg);
        arena_free(&b.arena);
    }
}

/* Factors of 8 bits: rows along the sum alone. */
TEST_SLOW(repack_bytes, 300) {
    char text[1024];
    for (int i = 0; i < 4; i++) {
        product_text(text, sizeof text, i / 2 ? "f8e5m2" : "f8e4m3", 385, 391, 195, i % 2);
        struct job j = {.text = text, .opts = {.model = eager_model()}, .run = true, .pieces = true};
        CHECK_EQ(copies_of(&j), 2);
    }
    product_text(text, sizeof text, "f8e4m3", 384, 400, 256, true);
    struct job j = {.text = text, .opts = {.model = eager_model()}, .run = true, .pieces = true};
    CHECK_EQ(copies_of(&j), 0);
}

/* A row that is found by what is read along it has no beginning that ALIGN could move. */
static void lower_scattered(void *arg) {
    static const char text[] =
        "kernel rows\nout = (PARAM<f32>[0 out] 1056)\nx = (PARAM<i32>[1 x] 33)\n"
        "j = (RANGE[j GRID 0] 33)\n"
        "(SINK (STORE_ADD (INDEX out (ADD (MUL (CAST<idx> (MOD (LOAD (INDEX x j)) 32)) 33) j)) 1.0))\n";
    struct rows *r = arg;
    struct program p = {0};
    ir_init(&r->ir, &r->arena);
    ir_parse(&r->ir, text, sizeof text - 1, "rows.uop", &p);
    lower(&r->ir, &p.kernel.p[0],
          &(struct lower_opts){.opts = r->opts, .target = {.vec_bytes = 16, .keep_math = true}}, &r->lin);
}
TEST(repack_align_scattered_rows) {
    struct rows r = {.opts = "ALIGN(j,8)"};
    arena_init(&r.arena, &r.err);
    CHECK_EQ(err_guard(&r.err, lower_scattered, &r), RG_EOPT);
    CHECK(strstr(r.err.msg, "does not lie one by one"));
    arena_free(&r.arena);
}

/* Floats by TF32 instructions: rows along the sum alone, so that an operand that lies across is turned on the way. */
TEST_SLOW(repack_tf32, 300) {
    static const struct {
        int m, n, k;
        bool nt;
        uint32_t copies;
    } row[] = {{385, 391, 195, false, 2},
               {385, 391, 195, true, 2},
               {384, 392, 192, false, 1},
               {384, 392, 192, true, 0}};
    char text[1024];
    setenv("RIDGE_TF32", "1", 1);
    env_reload();
    for (size_t i = 0; i < RG_COUNT(row); i++) {
        product_text(text, sizeof text, "f32", row[i].m, row[i].n, row[i].k, row[i].nt);
        struct job j = {.text = text, .opts = {.model = eager_model()}, .run = true, .pieces = true};
        CHECK_EQ(copies_of(&j), row[i].copies);
    }
}

/* Views with odd steps, a batch, several axes on a side, what is computed on the way in: one copy each, nothing more. */
TEST_SLOW(repack_views, 300) {
    static const struct {
        const char *text;
        uint32_t copies;
    } row[] = {
        /* every second column of a */
        {"kernel g\na = (EXPAND (RESHAPE (CAST<f32> (SHRINK (BUFFER<bf16>[0] 65 400) 0 65 1 1 195 2)) 65 1 "
         "195) 65 72 195)\n"
         "b = (EXPAND (RESHAPE (CAST<f32> (BUFFER<bf16>[1] 72 195)) 1 72 195) 65 72 195)\n"
         "(GRAPH (RESHAPE (REDUCE_AXES[ADD] (MUL a b) 2) 65 72))\n",
         2},
        /* a batch whose matrices begin anywhere; the sum of two axes that are apart in b */
        {"kernel g\na = (EXPAND (RESHAPE (CAST<f32> (BUFFER<bf16>[0] 3 65 15 13)) 3 65 1 15 13) 3 65 66 15 "
         "13)\n"
         "b = (EXPAND (RESHAPE (PERMUTE (CAST<f32> (BUFFER<bf16>[1] 3 13 66 15)) 0 2 3 1) 3 1 66 15 13) 3 65 "
         "66 15 13)\n"
         "(GRAPH (RESHAPE (REDUCE_AXES[ADD] (MUL a b) 3 4) 3 65 66))\n",
         2},
        /* an operand that is computed: into its padded rows at once */
        {"kernel g\nx = (BUFFER<bf16>[0] 65 195)\na = (EXPAND (RESHAPE (CAST<f32> (CAST<bf16> (EXP2 (MAX "
         "(CAST<f32> x) 0.0:f32)))) 65 1 195) 65 72 195)\n"
         "b = (EXPAND (RESHAPE (CAST<f32> (BUFFER<bf16>[1] 72 195)) 1 72 195) 65 72 195)\n"
         "(GRAPH (RESHAPE (REDUCE_AXES[ADD] (MUL a b) 2) 65 72))\n",
         2},
    };
    for (size_t i = 0; i < RG_COUNT(row); i++) {
        struct job j = {.text = row[i].text, .opts = {.model = eager_model()}, .run = true};
        uint32_t copies = copies_of(&j);
        if (copies != row[i].copies) FAIL("%u copies, not %u, of\n%s", copies, row[i].copies, row[i].text);
    }
}

/* On a GPU, by the public functions: every element against plain loops. */
static void check_on_gpu(rg_ctx *c, rg_dtype dt, int m, int n, int k, bool nt) {
    static float a[1800 * 600], b[1800 * 600], out[1800 * 1100];
    for (int i = 0; i < m * k; i++) a[i] = (float)((int)((uint64_t)i * 2654435761u >> 13 & 3) - 1);
    for (int i = 0; i < n * k; i++) b[i] = (float)((int)((uint64_t)i * 2246822519u >> 11 & 3) - 1);
    rg_tensor x = rg_cast(rg_from(c, RG_F32, a, RG_SHAPE(m, k)), dt),
              y = rg_cast(rg_from(c, RG_F32, b, RG_SHAPE(nt ? n : k, nt ? k : n)), dt);
    rg_realize_all(RG_TENSORS(x, y));
    rg_tensor r = rg_cast(rg_matmul(x, nt ? rg_transpose(y, 0, 1) : y), RG_F32);
    if (rg_read(r, out, (size_t)m * (size_t)n * 4)) FAIL("%s", rg_error(c));
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            int sum = 0;
            for (int l = 0; l < k; l++) sum += (int)a[i * k + l] * (int)b[nt ? j * k + l : l * n + j];
            if (dt == RG_BF16 && (sum > 256 || sum < -256)) continue; /* rounded */
            if (out[i * n + j] != (float)sum) FAIL("%d, %d is %g, not %d", i, j, out[i * n + j], sum);
        }
}

TEST_MANUAL(cuda_gpu_repack, 120) {
    rg_ctx *c = rg_open("CUDA");
    if (rg_status_of(c)) NO_CUDA(rg_error(c));
    static const rg_dtype dt[] = {RG_BF16, RG_F16, RG_F32, RG_F8E4M3, RG_F8E5M2};
    for (int i = 0; i < 10; i++) {
        RG_SCOPE(c);
        check_on_gpu(c, dt[i / 2], 1793, 1031, 519, i % 2);
    }
    CHECK_EQ(rg_close(c), 0);
}
