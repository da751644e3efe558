/* Tests of the gradients of attention as block programs with chained MMA instructions: dQ, dK and dV under lists of opts and the
 * heuristic's own, in the interpreter, which runs every thread, against plain loops here. */
#include <math.h>

#include "tune/tune.h"
#include "cuda.h"
#include "irtest.h"
#include "ref/ref.h"
#include "rules/rules.h"

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
                          (union ref_val){.f = out ? 99 : draw_unit(&seed) + (f32 ? 5 : 0)});
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
    enum { LISTS = 16 };
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

TEST_SLOW(cuda_compile_attention_grad, 300) {
    struct err err = {0};
    struct arena arena;
    arena_init(&arena, &err);
    cuda_need_nvrtc(&arena);
    for (int i = 0; i < 4; i++) {
        struct both x = {
            .write = i & 1 ? write_dkv : write_dq, .t = 512, .d = i & 2 ? 128 : 64, .causal = true};
        arena_init(&x.arena, &x.err);
        if (err_guard(&x.err, lower_both, &x)) FAIL("%s", x.err.msg);
        cuda_compile_whole(&arena, &x.ir, &x.block, 12);
        arena_free(&x.arena);
    }
    arena_free(&arena);
}
