/* Tests of MMA instructions on CPUs (rows MMA_CPU of ir/mma.def; codegen/gpu/mma.c, tune/choose/gemm/cpu_mma.c, ref/mma.c).
 * GEMMs of random shapes, layouts and types are scheduled for each row, whatever this machine has, and interpreted: integers equal
 * the plain program's, floats are within the bound of docs/semantics.md. Where this machine has the instruction, compiled kernels
 * equal the interpreter bit by bit, on numbers of all magnitudes too: the interpreter knows how the instruction rounds. */
#include "../../cli/cli.h"
#include "engine/engine.h"
#include "irtest.h"
#include "ref/ref.h"
#include "tune/search/search.h"
#include "tune/tune.h"

#include <math.h>
#include <stdlib.h>

struct gemm_case {
    struct err err;
    struct arena arena;
    struct ir ir;
    struct str text;
    struct program prog;
    struct io io;
    const char *features, *opts;
    int vec_bytes;
    double terms; /* of a sum */
    bool whole;   /* tiles of a */
    struct linear plain, fast;
};

static void write_gemm(struct gemm_case *t, const struct mma_info *i, struct rnd *r) {
    int64_t m = rnd_range(r, i->size[MMA_M], 45), n = rnd_range(r, i->size[MMA_N], 70),
            k = rnd_range(r, 16, 90);
    bool ta = rnd_below(r, 2), tb = rnd_below(r, 2);
    if (!rnd_below(r, 4)) k = rnd_range(r, 300, 700), m = i->size[MMA_M], n = RG_MAX(n, 24);
    m = RG_MAX(m, (1 << 15) / (n * k) + 1);
    bool tiles = *i->map[MMA_B] == '['; /* AMX */
    if (tiles) k = RG_MAX(k, 2 * i->size[MMA_K]);
    if (tiles && t->whole) /* a may be read in place */
        m = 128, n = rnd_range(r, 130, 190), k = rnd_range(r, 1, 4) * i->size[MMA_K], ta = false;
    if (tiles && !t->whole && !rnd_below(r, 3)) { /* few columns, or rows, of a padded tile */
        int64_t few = rnd_range(r, 3, 15), many = rnd_range(r, 43, 90);
        bool columns = rnd_below(r, 2);
        many = RG_MAX(many, (1 << 15) / (few * k) + 1);
        n = columns ? few : many, m = columns ? many : few;
    }
    t->terms = (double)k;
    bool wide = i->in == DT_I16; /* of bytes */
    const char *acc = dtype_info[i->acc].name, *a = wide ? "i8" : dtype_info[i->in].name,
               *b = wide ? "u8" : dtype_info[i->in_b].name;
    str_printf(&t->text, "kernel gemm\na = (PARAM<%s>[0 a] %lld)\nb = (PARAM<%s>[1 b] %lld)\n", a,
               (long long)(m * k), b, (long long)(k * n));
    str_printf(&t->text, "out = (PARAM<%s>[2 out] %lld)\n", acc, (long long)(m * n));
    str_printf(&t->text,
               "m = (RANGE[m GRID 0] %lld)\nn = (RANGE[n GRID 1] %lld)\nk = (RANGE[k REDUCE 2] %lld)\n",
               (long long)m, (long long)n, (long long)k);
    str_printf(&t->text, "x = (LOAD (INDEX a (ADD (MUL %s %lld) %s)))\n", ta ? "k" : "m",
               (long long)(ta ? m : k), ta ? "m" : "k");
    str_printf(&t->text, "y = (LOAD (INDEX b (ADD (MUL %s %lld) %s)))\n", tb ? "n" : "k",
               (long long)(tb ? k : n), tb ? "k" : "n");
    str_printf(&t->text, "sum = (REDUCE[ADD] (MUL (CAST<%s> x) (CAST<%s> y)) k)\n", acc, acc);
    str_printf(&t->text, "(SINK (STORE (INDEX out (ADD (MUL m %lld) n)) sum))\n", (long long)n);
}

/* A padded 3 x 3 convolution of any number of channels: its terms are one axis, K. */
static void write_conv(struct gemm_case *t, const struct mma_info *i, struct rnd *r) {
    long long images = rnd_range(r, 1, 2), out = rnd_range(r, 9, 40), in = rnd_range(r, 3, 9),
              h = rnd_below(r, 3) ? rnd_range(r, 2, 3) : 16, w = rnd_range(r, 24, 40), k = in * 9;
    if (out * w * k < 1 << 15) out = (1 << 15) / (w * k) + 1;
    t->terms = (double)k;
    str_printf(&t->text, "kernel conv\nf = (PARAM<%s>[0 f] %lld)\nx = (PARAM<%s>[1 x] %lld)\n",
               dtype_info[i->in].name, out * k, dtype_info[i->in_b].name, images * in * h * w);
    str_printf(&t->text,
               "o = (PARAM<%s>[2 o] %lld)\nb = (RANGE[b GRID 0] %lld)\nc = (RANGE[c GRID 1] %lld)\n",
               dtype_info[i->acc].name, images * out * h * w, images, out);
    str_printf(
        &t->text,
        "i = (RANGE[i GRID 2] %lld)\nj = (RANGE[j GRID 3] %lld)\nk = (RANGE[k REDUCE 4] %lld)\n"
        "s = (RANGE[s REDUCE 5] 3)\nt = (RANGE[t REDUCE 6] 3)\n"
        "p = (AND (AND (LT 0 (ADD i s)) (LT (ADD i s) %lld)) (AND (LT 0 (ADD j t)) (LT (ADD j t) %lld)))\n",
        h, w, in, h + 1, w + 1);
    str_printf(&t->text,
               "a = (ADD (ADD (ADD j t) (MUL (ADD i s) %lld)) (ADD (ADD (MUL k %lld) (MUL b %lld)) %lld))\n"
               "y = (WHERE p (CAST<%s> (LOAD (INDEX x (WHERE p a (INVALID<idx>))))) 0.0)\n",
               w, h * w, in * h * w, -w - 1, dtype_info[i->acc].name);
    str_printf(&t->text,
               "g = (CAST<%s> (LOAD (INDEX f (ADD (ADD t (MUL s 3)) (ADD (MUL k 9) (MUL c %lld))))))\n"
               "sum = (REDUCE[ADD] (MUL y g) k s t)\n"
               "(SINK (STORE (INDEX o (ADD (ADD j (MUL i %lld)) (ADD (MUL c %lld) (MUL b %lld)))) sum))\n",
               dtype_info[i->acc].name, k, w, h * w, out * h * w);
}

/* The gradient of a convolution's filters: sums along rows, of images, rows and taps of a window. */
static void write_gradient(struct gemm_case *t, const struct mma_info *i, struct rnd *r) {
    long long images = rnd_range(r, 1, 2), out = rnd_range(r, 16, 22), in = rnd_range(r, 33, 36), h = 2,
              w = rnd_range(r, 32, 45), taps = rnd_range(r, 2, 3), x = w + taps - 1;
    t->terms = (double)(images * h * w);
    str_printf(&t->text, "kernel gradient\ng = (PARAM<%s>[0 g] %lld)\nx = (PARAM<%s>[1 x] %lld)\n",
               dtype_info[i->in].name, images * out * h * w, dtype_info[i->in_b].name, images * in * h * x);
    str_printf(&t->text,
               "o = (PARAM<%s>[2 o] %lld)\nc = (RANGE[c GRID 0] %lld)\nd = (RANGE[d GRID 1] %lld)\n"
               "t = (RANGE[t GRID 2] %lld)\n",
               dtype_info[i->acc].name, out * in * taps, out, in, taps);
    str_printf(&t->text,
               "b = (RANGE[b REDUCE 3] %lld)\ni = (RANGE[i REDUCE 4] %lld)\nj = (RANGE[j REDUCE 5] %lld)\n"
               "y = (CAST<%s> (LOAD (INDEX g (ADD (ADD j (MUL i %lld)) (ADD (MUL c %lld) (MUL b %lld))))))\n",
               images, h, w, dtype_info[i->acc].name, w, h * w, out * h * w);
    str_printf(
        &t->text,
        "z = (CAST<%s> (LOAD (INDEX x (ADD (ADD (ADD j t) (MUL i %lld)) (ADD (MUL d %lld) (MUL b %lld))))))\n"
        "sum = (REDUCE[ADD] (MUL y z) b i j)\n"
        "(SINK (STORE (INDEX o (ADD t (ADD (MUL d %lld) (MUL c %lld)))) sum))\n",
        dtype_info[i->acc].name, x, h * x, in * h * x, taps, in * taps);
}

/* Products one after the other, of rows of k elements: what pads k are those of the next row. */
static void write_batch(struct gemm_case *t, const struct mma_info *i, struct rnd *r) {
    long long batch = rnd_range(r, 2, 3), m = rnd_range(r, 33, 40), n = rnd_range(r, 33, 40),
              k = rnd_range(r, 33, 50), rows = RG_MAX(m, n) + 1;
    t->terms = (double)k;
    str_printf(&t->text, "kernel batch\na = (PARAM<%s>[0 a] %lld)\nb = (PARAM<%s>[1 b] %lld)\n",
               dtype_info[i->in].name, batch * rows * k, dtype_info[i->in_b].name, batch * rows * k);
    str_printf(&t->text,
               "out = (PARAM<%s>[2 out] %lld)\nh = (RANGE[h GRID 0] %lld)\nm = (RANGE[m GRID 1] %lld)\n"
               "n = (RANGE[n GRID 2] %lld)\nk = (RANGE[k REDUCE 3] %lld)\n",
               dtype_info[i->acc].name, batch * m * n, batch, m, n, k);
    str_printf(&t->text,
               "x = (CAST<%s> (LOAD (INDEX a (ADD k (ADD (MUL m %lld) (MUL h %lld))))))\n"
               "y = (CAST<%s> (LOAD (INDEX b (ADD k (ADD (MUL n %lld) (MUL h %lld))))))\n"
               "sum = (REDUCE[ADD] (MUL x y) k)\n"
               "(SINK (STORE (INDEX out (ADD n (ADD (MUL m %lld) (MUL h %lld)))) sum))\n",
               dtype_info[i->acc].name, k, rows * k, dtype_info[i->acc].name, k, rows * k, n, m * n);
}

typedef void write_fn(struct gemm_case *, const struct mma_info *, struct rnd *);

static void lower_case(void *arg) {
    struct gemm_case *t = arg;
    ir_init(&t->ir, &t->arena);
    ir_parse(&t->ir, t->text.p, t->text.n, "gemm", &t->prog);
    io_bind(&t->ir, &t->prog, "gemm", &t->io);
    const struct kernel *k = &t->prog.kernel.p[0];
    t->opts = opts_heuristic_for(&t->ir, k, t->vec_bytes, t->features, 2);
    struct lower_opts o = {.opts = "", .target = {.vec_bytes = t->vec_bytes}};
    lower(&t->ir, k, &o, &t->plain);
    o.opts = t->opts;
    lower(&t->ir, k, &o, &t->fast);
}

static struct gemm_case *open_kind(enum mma instr, uint64_t seed, write_fn *write) {
    struct gemm_case *t = calloc(1, sizeof *t);
    struct rnd r = {.s = seed};
    t->whole = seed % 3 == 0;
    arena_init(&t->arena, &t->err);
    str_init(&t->text, &t->arena);
    t->features = mma_info[instr].feature;
    t->vec_bytes = t->features[0] == '-' ? 64 : 16;
    write(t, &mma_info[instr], &r);
    if (err_guard(&t->err, lower_case, t))
        FAIL("%s\n%s\nopts %s", t->err.msg, t->text.p, t->opts ? t->opts : "?");
    if (!strstr(t->opts, mma_info[instr].name))
        FAIL("no %s in %s\n%s", mma_info[instr].name, t->opts, t->text.p);
    return t;
}

static struct gemm_case *open_case(enum mma instr, uint64_t seed) {
    return open_kind(instr, seed, write_gemm);
}

static void close_case(struct gemm_case *t) {
    arena_free(&t->arena);
    free(t);
}

static void interpret_case(struct gemm_case *t, const struct linear *lin, struct io_mem *m) {
    struct ref_buf b[3];
    for (uint32_t k = 0; k < 3; k++) {
        const struct io_buf *io = &t->io.buf[t->io.kernel[0].buf[k]];
        b[k] = (struct ref_buf){m->p[t->io.kernel[0].buf[k]], io_bytes(io), io->name, NULL, NULL};
    }
    if (ref_linear(&t->err, lin, b, 3, t->io.kernel[0].var, 0, lin->grid))
        FAIL("%s\n%s\nopts %s", t->err.msg, t->text.p, t->opts);
}

/* Floats of all magnitudes, zeros, infinities, NaNs and subnormals among them. */
static void wild(struct gemm_case *t, struct io_mem *m, uint64_t seed) {
    struct rnd r = {.s = seed};
    for (uint32_t k = 0; k < 2; k++) {
        const struct io_buf *b = &t->io.buf[t->io.kernel[0].buf[k]];
        uint16_t *p = m->p[t->io.kernel[0].buf[k]];
        for (int64_t i = 0; i < b->n && b->dt == DT_BF16; i++)
            if (!rnd_below(&r, 3))
                p[i] = (uint16_t)(rnd_below(&r, 64)
                                      ? (rnd_below(&r, 1 << 16) & 0x807f) | rnd_range(&r, 60, 190) << 7
                                      : rnd_below(&r, 1 << 16));
    }
}

static double case_value(const struct gemm_case *t, const struct io_mem *m, int64_t i) {
    const struct io_buf *b = &t->io.buf[t->io.kernel[0].buf[2]];
    const char *p = m->p[t->io.kernel[0].buf[2]];
    return ref_number(b->dt, ref_read(b->dt, p + (size_t)i * dtype_info[b->dt].bytes));
}

/* tol 0: bit by bit, but for the sign and payload of NaNs. */
static void compare_case(const struct gemm_case *t, const struct io_mem *got, const struct io_mem *want,
                         double tol, const char *what) {
    const struct io_buf *b = &t->io.buf[t->io.kernel[0].buf[2]];
    for (int64_t i = 0; i < b->n; i++) {
        double x = case_value(t, got, i), y = case_value(t, want, i);
        if (isnan(x) && isnan(y)) continue;
        if (tol ? fabs(x - y) <= tol : !memcmp(&x, &y, sizeof x)) continue;
        FAIL("%s: out[%lld] is %a, expected %a\n%s\nopts %s", what, (long long)i, x, y, t->text.p, t->opts);
    }
}

/* docs/semantics.md, for each of two sums of factors in -1 .. 1. */
static double bound_of(const struct gemm_case *t) { return 2 * 0x1p-22 * log2(t->terms) * t->terms; }

/* Interprets the plain and the fast program, and compares. */
static void check_case(struct gemm_case *t, double tol) {
    struct io_mem want, got;
    io_alloc(&t->ir, &t->io, &want);
    io_alloc(&t->ir, &t->io, &got);
    io_fill(&t->io, &want, false);
    io_copy(&got, &want);
    interpret_case(t, &t->plain, &want);
    interpret_case(t, &t->fast, &got);
    compare_case(t, &got, &want, tol, "interpreted");
    io_free(&want);
    io_free(&got);
    close_case(t);
}

/* Rows of 16-bit elements across k are transposed in registers, not stored lane by lane. */
TEST(cpu_mma_tiles_of_a_are_transposed_in_registers) {
    int across = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct gemm_case *t = open_case(MMA_TDPBF16PS, seed);
        if (strstr(t->text.p, "(INDEX a (ADD (MUL k")) {
            across++;
            if (!strstr(t->opts, "UNROLL(a.k")) FAIL("%s\nopts %s", t->text.p, t->opts);
        }
        close_case(t);
    }
    CHECK(across > 2);
}

TEST(cpu_mma_interpreted) {
    for (int i = 0; i < MMA_COUNT; i++)
        for (uint64_t seed = 1; mma_is_cpu((enum mma)i) && seed <= 4; seed++) {
            struct gemm_case *t = open_case((enum mma)i, seed * 977 + (uint64_t)i);
            check_case(t, mma_info[i].sum == MMA_EXACT ? 0 : bound_of(t));
        }
}

TEST(cpu_mma_windows_interpreted) {
    int loops = 0;
    for (int i = 0; i < MMA_COUNT; i++)
        for (uint64_t seed = 1; mma_is_cpu((enum mma)i) && mma_info[i].in == DT_BF16 && seed <= 8; seed++) {
            struct gemm_case *t = open_kind((enum mma)i, seed * 313 + (uint64_t)i, write_conv);
            if (!strstr(t->opts, "JOIN(k,s,")) FAIL("terms are not joined: %s", t->opts);
            loops += strstr(t->opts, " STAGE(x,i_t,") != NULL; /* filters are packed once for these rows */
            check_case(t, bound_of(t));
        }
    CHECK(loops > 1);
}

TEST(cpu_mma_weight_gradients_interpreted) {
    for (int i = 0; i < MMA_COUNT; i++)
        for (uint64_t seed = 1; mma_is_cpu((enum mma)i) && mma_info[i].in == DT_BF16 && seed <= 3; seed++) {
            struct gemm_case *t = open_kind((enum mma)i, seed * 419 + (uint64_t)i, write_gradient);
            check_case(t, bound_of(t));
        }
}

TEST(cpu_mma_batches_interpreted) {
    for (int i = 0; i < MMA_COUNT; i++)
        for (uint64_t seed = 1; mma_is_cpu((enum mma)i) && mma_info[i].in == DT_BF16 && seed <= 3; seed++) {
            struct gemm_case *t = open_kind((enum mma)i, seed * 521 + (uint64_t)i, write_batch);
            check_case(t, bound_of(t));
        }
}

/* An MMA of AMX whose sum begins with it zeroes its tiles in registers: it neither reads accumulators nor needs them set. */
TEST(cpu_mma_tiles_begin_at_zero) {
    int tiles = 0;
    for (int i = 0; i < MMA_COUNT; i++) {
        if (!mma_is_cpu((enum mma)i) || !mma_has_tiles((enum mma)i)) continue;
        struct gemm_case *t = open_case((enum mma)i, 977 + (uint64_t)i);
        for (uint32_t k = 0; k < t->fast.n; k++) {
            const uop *n = t->fast.u[k];
            if (n->op == OP_MMA) CHECK(n->arg.mma.zero_init), tiles++;
            if (n->op == OP_SET && k + 1 < t->fast.n && t->fast.u[k + 1]->op == OP_MMA)
                FAIL("accumulators are set before an MMA\nopts %s", t->opts);
        }
        close_case(t);
    }
    CHECK(tiles > 0);
}

/* Whole tiles of an `a` along k are read where they are, and by no other instruction. */
TEST(cpu_mma_tiles_in_place) {
    int tiles = 0;
    for (int i = 0; i < MMA_COUNT; i++) {
        if (!mma_is_cpu((enum mma)i) || !mma_has_tiles((enum mma)i)) continue;
        struct gemm_case *t = open_case((enum mma)i, 978);
        CHECK(!strstr(t->opts, "STAGE(a,") && strstr(t->opts, "STAGE(b,"));
        for (uint32_t k = 0; k < t->fast.n; k++)
            if (t->fast.u[k]->op == OP_MMA) CHECK(t->fast.u[k]->arg.mma.rows[MMA_B]), tiles++;
        close_case(t);
    }
    CHECK(tiles > 0);
}

static bool machine_has(const char *flag) {
    const char *p = strstr(os_cpu()->flags, flag);
    return p && (!p[strlen(flag)] || strchr(" +", p[strlen(flag)]));
}

/* Compiled and interpreted, on tame and wild numbers. */
static void run_both(struct engine *en, struct gemm_case *t, const struct ekernel *code, uint64_t seed) {
    struct io_mem want, got;
    io_alloc(&t->ir, &t->io, &want);
    io_alloc(&t->ir, &t->io, &got);
    io_fill(&t->io, &want, false);
    if (seed % 2) wild(t, &want, seed);
    io_copy(&got, &want);
    interpret_case(t, &t->fast, &want);
    struct engine_list *list = engine_list_new(en, &t->err);
    void *p[3];
    for (uint32_t k = 0; k < 3; k++) p[k] = got.p[t->io.kernel[0].buf[k]];
    if (!list || engine_list_add(list, &t->err, code, p, t->io.kernel[0].var) ||
        engine_list_run(list, &t->err))
        FAIL("%s\n%s\nopts %s", t->err.msg, t->text.p, t->opts);
    engine_list_free(list);
    compare_case(t, &got, &want, 0, "compiled");
    io_free(&want);
    io_free(&got);
}

TEST(cpu_mma_compiled_rounds_as_interpreted) {
    enum { CASES = 6 };
    struct err err = {0};
    struct engine *en = search_engine_open(&err, NULL);
    if (!en) FAIL("%s", err.msg);
    int ran = 0;
    for (int i = 0; i < MMA_COUNT; i++) {
        if (!mma_is_cpu((enum mma)i) || !machine_has(mma_info[i].feature)) continue;
        struct gemm_case *t[CASES];
        const struct linear *lin[CASES];
        const struct ekernel *code[CASES];
        for (uint64_t k = 0; k < CASES; k++) t[k] = open_case((enum mma)i, 31 * k + 5), lin[k] = &t[k]->fast;
        if (engine_compile(en, &err, lin, CASES, code)) FAIL("%s", err.msg);
        for (uint64_t k = 0; k < CASES; k++) run_both(en, t[k], code[k], k);
        for (uint64_t k = CASES; k-- > 0;) close_case(t[k]);
        ran++;
    }
    engine_close(en);
    if (!ran) SKIP("this machine has no MMA instructions");
}
