/* Tests of transposition in registers (codegen/lower/coalesce.c, render/c.c: columns, quads, mixed columns,
 * shuffles).
 * Kernels that pack rows across memory, or store vectors across rows, are scheduled for vectors of 16, 32 and 64 bytes and compiled for
 * this machine, whatever it has: results equal the interpreter's of the plain program within the bound of docs/semantics.md, and for
 * wide vectors the text has the shuffles instead of one load or store per element. */
#include "../../cli/cli.h"
#include "engine/engine.h"
#include "irtest.h"
#include "ref/ref.h"
#include "render/render.h"
#include "tune/search/search.h"

#include <math.h>
#include <stdlib.h>

struct packed_case {
    struct err err;
    struct arena arena;
    struct ir ir;
    struct str text;
    struct program prog;
    struct io io;
    const char *opts, *c;
    int vec_bytes;
    double terms;
    struct linear plain, fast;
};

static void lower_packed(void *arg) {
    struct packed_case *t = arg;
    struct str c;
    ir_init(&t->ir, &t->arena);
    ir_parse(&t->ir, t->text.p, t->text.n, "packed", &t->prog);
    io_bind(&t->ir, &t->prog, "packed", &t->io);
    const struct kernel *k = &t->prog.kernel.p[0];
    struct lower_opts o = {.opts = "", .target = {.vec_bytes = t->vec_bytes}};
    lower(&t->ir, k, &o, &t->plain);
    o.opts = t->opts;
    lower(&t->ir, k, &o, &t->fast);
    str_init(&c, &t->arena);
    render_c(&c, &t->ir, &t->fast);
    t->c = c.p;
}

static struct packed_case *open_packed(int vec_bytes, const char *text, const char *opts, double terms) {
    struct packed_case *t = calloc(1, sizeof *t);
    arena_init(&t->arena, &t->err);
    str_init(&t->text, &t->arena);
    str_add(&t->text, text);
    t->vec_bytes = vec_bytes, t->terms = terms, t->opts = arena_strdup(&t->arena, opts, strlen(opts));
    if (err_guard(&t->err, lower_packed, t)) FAIL("%s\n%s\nopts %s", t->err.msg, text, opts);
    return t;
}

/* A packed GEMM with register tiles of `rows` by one vector. tb: b is K-major, too. */
static struct packed_case *open_gemm_with(int vec_bytes, int rows, int64_t k, bool tb, const char *more) {
    char text[1024], opts[512];
    int64_t m = 5 * rows + 1, n = 3 * vec_bytes / 4 + 2;
    snprintf(text, sizeof text,
             "kernel gemm\na = (PARAM<f32>[0 a] %lld)\nb = (PARAM<f32>[1 b] %lld)\nout = (PARAM<f32>[2 out] "
             "%lld)\n"
             "m = (RANGE[m GRID 0] %lld)\nn = (RANGE[n GRID 1] %lld)\nk = (RANGE[k REDUCE 2] %lld)\n"
             "s = (REDUCE[ADD] (MUL (LOAD (INDEX a (ADD (MUL m %lld) k))) (LOAD (INDEX b (ADD (MUL %s %lld) "
             "%s)))) k)\n"
             "(SINK (STORE (INDEX out (ADD (MUL m %lld) n)) s))\n",
             (long long)(m * k), (long long)(k * n), (long long)(m * n), (long long)m, (long long)n,
             (long long)k, (long long)k, tb ? "n" : "k", (long long)(tb ? k : n), tb ? "k" : "n",
             (long long)n);
    snprintf(opts, sizeof opts,
             "TILE(m,%d,m_r) UNROLL(m_r) TILE(n,%d,n_v) VEC(n_v) TILE(m,2,m_t) TILE(n,2,n_t) TILE(k,4,k_u) "
             "UNROLL(k_u) ORDER(n_t,m_t,k) STAGE(a,n,m_t,k,k_u,m_r) STAGE(b,n,n_t,k,k_u,n_v) %s(a.m_r) "
             "UNROLL(a.k_u) VEC(b.n_v) UNROLL(b.k_u)%s",
             rows, vec_bytes / 4, rows & (rows - 1) ? "UNROLL" : "VEC", more);
    return open_packed(vec_bytes, text, opts, (double)k);
}

static struct packed_case *open_gemm(int vec_bytes, int rows, int64_t k, bool tb) {
    return open_gemm_with(vec_bytes, rows, k, tb, "");
}

/* out[c][p] = sum over k of a[p][k] b[k][c], with vectors along c. */
static struct packed_case *open_stores(int vec_bytes, int positions) {
    char text[1024], opts[256];
    int lanes = vec_bytes / 4;
    snprintf(
        text, sizeof text,
        "kernel stores\na = (PARAM<f32>[0 a] %d)\nb = (PARAM<f32>[1 b] %d)\nout = (PARAM<f32>[2 out] %d)\n"
        "c = (RANGE[c GRID 0] 32)\np = (RANGE[p GRID 1] %d)\nk = (RANGE[k REDUCE 2] 20)\n"
        "s = (REDUCE[ADD] (MUL (LOAD (INDEX a (ADD (MUL p 20) k))) (LOAD (INDEX b (ADD (MUL k 32) c)))) k)\n"
        "(SINK (STORE (INDEX out (ADD (MUL c %d) p)) s))\n",
        20 * positions, 20 * 32, 32 * positions, positions, positions);
    snprintf(opts, sizeof opts, "TILE(c,%d,c_v) VEC(c_v) UNROLL(p)", lanes);
    return open_packed(vec_bytes, text, opts, 20);
}

/* out[i] = a[stride * i + first] + b[i / repeat]: elements that share vectors with others. */
static struct packed_case *open_strided(int vec_bytes, int stride, int first, int repeat, int64_t n) {
    char text[1024], opts[256];
    snprintf(text, sizeof text,
             "kernel strided\na = (PARAM<f32>[0 a] %lld)\nb = (PARAM<f32>[1 b] %lld)\n"
             "out = (PARAM<f32>[2 out] %lld)\ni = (RANGE[i GRID 0] %lld)\n"
             "(SINK (STORE (INDEX out i) (ADD (LOAD (INDEX a (ADD (MUL i %d) %d))) (LOAD (INDEX b (IDIV i "
             "%d))))))\n",
             (long long)(stride * (n - 1) + first + 1), (long long)((n - 1) / repeat + 1), (long long)n,
             (long long)n, stride, first, repeat);
    snprintf(opts, sizeof opts, "TILE(i,%d,i_v) VEC(i_v) TILE(i,2,i_u) UNROLL(i_u)", vec_bytes / 4);
    return open_packed(vec_bytes, text, opts, 2);
}

static void run_packed(struct engine *en, struct packed_case *t, const struct ekernel *code) {
    struct io_mem want, got;
    struct ref_buf b[3];
    void *p[3];
    io_alloc(&t->ir, &t->io, &want);
    io_alloc(&t->ir, &t->io, &got);
    io_fill(&t->io, &want, false);
    io_copy(&got, &want);
    for (uint32_t k = 0; k < 3; k++) {
        const struct io_buf *io = &t->io.buf[t->io.kernel[0].buf[k]];
        p[k] = got.p[t->io.kernel[0].buf[k]];
        b[k] = (struct ref_buf){want.p[t->io.kernel[0].buf[k]], io_bytes(io), io->name, NULL, NULL};
    }
    if (ref_linear(&t->err, &t->plain, b, 3, t->io.kernel[0].var, 0, t->plain.grid)) FAIL("%s", t->err.msg);
    struct engine_list *list = engine_list_new(en, &t->err);
    if (!list || engine_list_add(list, &t->err, code, p, t->io.kernel[0].var) ||
        engine_list_run(list, &t->err))
        FAIL("%s\n%s", t->err.msg, t->text.p);
    engine_list_free(list);
    const struct io_buf *out = &t->io.buf[t->io.kernel[0].buf[2]];
    const float *x = got.p[t->io.kernel[0].buf[2]], *y = want.p[t->io.kernel[0].buf[2]];
    double bound = 2 * 0x1p-22 * log2(t->terms) * t->terms;
    if (out->dt != DT_F32 && memcmp(x, y, (size_t)io_bytes(out)))
        FAIL("vectors of %d bytes: other bits\n%s", t->vec_bytes, t->text.p);
    for (int64_t i = 0; i < out->n && out->dt == DT_F32; i++)
        if (!(fabs((double)x[i] - (double)y[i]) <= bound))
            FAIL("vectors of %d bytes: out[%lld] is %a, expected %a\n%s", t->vec_bytes, (long long)i,
                 (double)x[i], (double)y[i], t->text.p);
    io_free(&want);
    io_free(&got);
}

static void run_all(struct packed_case **t, uint32_t n) {
    struct err err = {0};
    struct engine *en = search_engine_open(&err, NULL);
    const struct linear *lin[8];
    const struct ekernel *code[8];
    if (!en) FAIL("%s", err.msg);
    for (uint32_t i = 0; i < n; i++) lin[i] = &t[i]->fast;
    if (engine_compile(en, &err, lin, n, code)) FAIL("%s", err.msg);
    for (uint32_t i = 0; i < n; i++) {
        run_packed(en, t[i], code[i]);
        arena_free(&t[i]->arena);
        free(t[i]);
    }
    engine_close(en);
}

static void expect_text(const struct packed_case *t, const char *what) {
    if (!strstr(t->c, what))
        FAIL("vectors of %d bytes: no %s in\n%s\nopts %s", t->vec_bytes, what, t->c, t->opts);
}

static void expect_no_text(const struct packed_case *t, const char *what) {
    if (strstr(t->c, what))
        FAIL("vectors of %d bytes: %s in\n%s\nopts %s", t->vec_bytes, what, t->c, t->opts);
}

TEST(transposition_packs_rows_by_columns) {
    struct packed_case *t[] = {open_gemm(16, 4, 64, true), open_gemm(32, 8, 65, true),
                               open_gemm(64, 8, 64, false), open_gemm(64, 16, 33, true)};
    for (int i = 0; i < 4; i++) expect_text(t[i], "COLUMN");
    run_all(t, 4);
}

TEST(transposition_of_rows_that_are_no_power_of_two) {
    struct packed_case *t[] = {open_gemm(64, 14, 64, false), open_gemm(64, 13, 67, false)};
    for (int i = 0; i < 2; i++) expect_text(t[i], "MIX(f32x16, COLUMN16_");
    run_all(t, 2);
}

/* A line of each row at once: its sixteen columns. */
TEST(transposition_of_lines_of_rows_that_are_no_power_of_two) {
    static const char line[] = " TILE(a.k,4,a.w) UNROLL(a.w)";
    struct packed_case *t[] = {
        open_gemm_with(64, 14, 128, false, line), open_gemm_with(64, 13, 64, true, line),
        open_gemm_with(64, 10, 80, false, line), open_gemm_with(64, 15, 96, false, line)};
    for (int i = 0; i < 4; i++) expect_text(t[i], "MIX(f32x16, COLUMN16_OF16(");
    run_all(t, 4);
}

/* Every second to fourth element, pairs and fours of the same one; the last vector ends with the last element. */
TEST(strided_elements_share_vectors) {
    struct packed_case *t[] = {open_strided(16, 2, 0, 2, 64),  open_strided(16, 3, 1, 4, 61),
                               open_strided(32, 2, 1, 2, 96),  open_strided(32, 4, 0, 4, 85),
                               open_strided(64, 2, 0, 2, 160), open_strided(64, 3, 2, 4, 129),
                               open_strided(64, 4, 3, 2, 128), open_strided(64, 2, 5, 4, 97)};
    for (int i = 0; i < 8; i++) expect_text(t[i], "MIX(");
    run_all(t, 8);
}

TEST(transposition_stores_rows_by_quads) {
    struct packed_case *t[] = {open_stores(16, 8), open_stores(32, 7), open_stores(64, 14),
                               open_stores(64, 16)};
    for (int i = 2; i < 4; i++) expect_text(t[i], "QUAD(");
    run_all(t, 4);
}

/* out[r][k] = a[r][k] + b[r] - the greatest a of the row; rows of n elements `gap` apart, vectors across them, tiles of three. */
static struct packed_case *open_rows(int vec_bytes, const char *type, int n, int gap, int rows) {
    char text[1024], opts[256];
    int all = rows * (n + gap), lanes = RG_MIN(vec_bytes / 2, 16);
    bool words = !strcmp(type, "f32");
    snprintf(
        text, sizeof text,
        "kernel rows\na = (PARAM<%s>[0 a] %d)\nb = (PARAM<f32>[1 b] %d)\nout = (PARAM<%s>[2 out] %d)\n"
        "r = (RANGE[r GRID 0] %d)\nk0 = (RANGE[k REDUCE 1 0] %d)\nk1 = (RANGE[k LOOP 1 1] %d)\n"
        "row = (MUL r %d)\nx0 = %s(LOAD (INDEX a (ADD row k0)))%s\nx1 = %s(LOAD (INDEX a (ADD row k1)))%s\n"
        "v = (SUB (ADD x1 (LOAD (INDEX b r))) (REDUCE[MAX] x0 k0))\n"
        "(SINK (STORE (INDEX out (ADD row k1)) %s%s%s))\n",
        type, all, rows, type, all, rows, n, n, n + gap, words ? "" : "(CAST<f32> ", words ? "" : ")",
        words ? "" : "(CAST<f32> ", words ? "" : ")", words ? "" : "(CAST<", words ? "" : type,
        words ? "v" : "> v)");
    snprintf(opts, sizeof opts, "TILE(r,%d,r_v) VEC(r_v) UNROLL(k) TILE(r,3,r_l)", lanes);
    return open_packed(vec_bytes, text, opts, 2);
}

/* Short rows, whatever their length: vectors of 64 bytes load and store whole ones, or parts that overlap; also where the grid's last
 * tile is not full. */
TEST(transposition_of_short_rows) {
    static const char *const types[] = {"f32", "bf16", "f16", "f32"};
    uint32_t seed = 23;
    for (int round = 0; round < 4; round++) {
        struct packed_case *t[8];
        for (int i = 0; i < 8; i++) {
            seed = seed * 1664525u + 1013904223u;
            int n = 2 + (int)(seed >> 8) % 16, gap = i % 2 ? 1 + (int)(seed >> 16) % 3 : 0;
            bool whole = round < 3;
            t[i] = open_rows(round == 2 ? 16 << i % 2 : 64, types[i / 2], n, gap, whole ? 112 : 117);
            if (t[i]->vec_bytes == 64 && whole && (!gap || n >= 4)) expect_no_text(t[i], ")[0] = ");
        }
        run_all(t, 8);
    }
}

/* out[i][j] = a[j][i] + b[i][j] with vectors along j, which no vector divides: the last iteration knows its lanes. */
static struct packed_case *open_ragged(int vec_bytes, const char *type, int lanes, int rows, int columns) {
    char text[1024], opts[256];
    int n = rows * columns, pitch = rows + 5;
    snprintf(
        text, sizeof text,
        "kernel ragged\na = (PARAM<%s>[0 a] %d)\nb = (PARAM<f32>[1 b] %d)\nout = (PARAM<f32>[2 out] %d)\n"
        "i = (RANGE[i GRID 0] %d)\nj = (RANGE[j GRID 1] %d)\nat = (ADD j (MUL i %d))\n"
        "x = (LOAD (INDEX a (ADD i (MUL j %d))))\n"
        "(SINK (STORE (INDEX out at) (ADD %s (LOAD (INDEX b at)))))\n",
        type, pitch * columns, n, n, rows, columns, columns, pitch,
        strcmp(type, "bool") ? "(CAST<f32> x)" : "(WHERE x 1.0 0.0)");
    snprintf(opts, sizeof opts, "TILE(j,%d,j_v) VEC(j_v) UNROLL(i) LOOP(j)", lanes);
    return open_packed(vec_bytes, text, opts, 2);
}

TEST(transposition_of_ragged_rows) {
    static const char *const types[] = {"bool", "u8", "i16", "f16", "bf16", "f32", "i8", "bool"};
    uint32_t seed = 7;
    for (int round = 0; round < 6; round++) {
        struct packed_case *t[8];
        for (int i = 0; i < 8; i++) {
            seed = seed * 1664525u + 1013904223u;
            int lanes = round % 2 ? 16 : 8, rows = 2 + (int)(seed >> 8) % 18,
                tail = 1 + (int)(seed >> 16) % (lanes - 1);
            int vectors = 1 + (int)(seed >> 24) % 3;
            t[i] = open_ragged(round < 2   ? 16
                               : round < 4 ? 32
                                           : 64,
                               types[i], lanes, rows, vectors * lanes + tail);
            if (rows >= 8 && rows < 16 && (!strcmp(types[i], "bool") || !strcmp(types[i], "u8")))
                expect_text(t[i], "COLUMN");
        }
        run_all(t, 8);
    }
}

/* out[i][j] = b[i][j] + the sum of a padded, strided window: at both ends of a row lanes are known to be inside or not. */
static struct packed_case *open_window(int vec_bytes, const char *type, int lanes, int taps, int stride,
                                       int pad, int wide) {
    char text[1536], opts[256];
    int n = (wide + 2 * pad - taps) / stride + 1, rows = 5;
    bool words = !strcmp(type, "f32");
    snprintf(
        text, sizeof text,
        "kernel window\na = (PARAM<%s>[0 a] %d)\nb = (PARAM<f32>[1 b] %d)\nout = (PARAM<f32>[2 out] %d)\n"
        "i = (RANGE[i GRID 0] %d)\nj = (RANGE[j GRID 1] %d)\nk = (RANGE[k REDUCE 2] %d)\n"
        "x = (ADD k (MUL j %d))\nin = (AND (LT %d x) (LT x %d))\n"
        "at = (WHERE in (ADD (ADD x (MUL i %d)) -%d) (INVALID<idx>))\n"
        "v = (WHERE in %s(LOAD (INDEX a at))%s 0.0)\nto = (ADD j (MUL i %d))\n"
        "(SINK (STORE (INDEX out to) (ADD (REDUCE[ADD] v k) (LOAD (INDEX b to)))))\n",
        type, rows * wide, rows * n, rows * n, rows, n, taps, stride, pad - 1, wide + pad, wide, pad,
        words ? "" : "(CAST<f32> ", words ? "" : ")", n);
    snprintf(opts, sizeof opts, "TILE(j,%d,j_v) VEC(j_v) UNROLL(k) LOOP(j)", lanes);
    return open_packed(vec_bytes, text, opts, taps + 1);
}

TEST(transposition_of_padded_windows) {
    static const char *const types[] = {"f32", "f16", "bf16", "u8"};
    uint32_t seed = 11;
    for (int round = 0; round < 6; round++) {
        struct packed_case *t[8];
        for (int i = 0; i < 8; i++) {
            seed = seed * 1664525u + 1013904223u;
            int lanes = 4 << round % 3, stride = 1 + (int)(seed >> 8) % 4, taps = 2 + (int)(seed >> 12) % 4;
            int wide = taps + stride * lanes + (int)(seed >> 16) % (stride * lanes * 5);
            t[i] = open_window(16 << round % 3, types[i % 4], lanes, taps, stride,
                               1 + (int)(seed >> 28) % (taps - 1), wide);
            if (strstr(t[i]->c, "GATHER")) FAIL("a gather in\n%s\n%s", t[i]->text.p, t[i]->c);
        }
        run_all(t, 8);
    }
}

/* A padded convolution whose image is copied with its halo, a row at once: vectors between the zeros. */
static struct packed_case *open_halo(int vec_bytes, int wide) {
    char text[1536];
    int w = wide - 2;
    snprintf(
        text, sizeof text,
        "kernel halo\nx = (PARAM<f32>[0 x] %d)\nf = (PARAM<f32>[1 f] 144)\nout = (PARAM<f32>[2 out] %d)\n"
        "n = (RANGE[n GRID 0] 3)\nc = (RANGE[c GRID 1] 16)\ni = (RANGE[i GRID 2] 4)\nj = (RANGE[j GRID 3] "
        "%d)\n"
        "p = (RANGE[p REDUCE 4] 3)\nq = (RANGE[q REDUCE 5] 3)\ny = (ADD i p)\nz = (ADD j q)\n"
        "in = (AND (AND (LT 0 y) (LT y 5)) (AND (LT 0 z) (LT z %d)))\n"
        "at = (ADD (ADD z (MUL y %d)) (ADD (MUL n %d) -%d))\n"
        "v = (WHERE in (LOAD (INDEX x (WHERE in at (INVALID<idx>)))) 0.0)\n"
        "s = (REDUCE[ADD] (MUL v (LOAD (INDEX f (ADD q (ADD (MUL p 3) (MUL c 9)))))) p q)\n"
        "(SINK (STORE (INDEX out (ADD j (ADD (MUL i %d) (ADD (MUL c %d) (MUL n %d))))) s))\n",
        12 * w, 192 * w, w, w + 1, w, 4 * w, w + 1, w, 4 * w, 64 * w);
    return open_packed(vec_bytes, text,
                       "LOOP(i) LOOP(j) LOOP(c) STAGE(x,n,i+p,j+q) UNROLL(x.j) UNROLL(q) UNROLL(p)", 9);
}

/* Rows of a padded GEMM that are copied, each by two unrolled axes: one vector. */
TEST(transposition_copies_rows_by_unrolled_axes) {
    static const char text[] =
        "kernel gemm\na = (PARAM<f32>[0 a] 5248)\nb = (PARAM<f32>[1 b] 4096)\nout = (PARAM<f32>[2 out] "
        "2624)\n"
        "m = (RANGE[m GRID 0] 41)\nn = (RANGE[n GRID 1] 64)\nk = (RANGE[k REDUCE 2] 128)\n"
        "x = (MUL (LOAD (INDEX a (ADD (MUL m 128) k))) (LOAD (INDEX b (MOD (ADD (MUL k 64) n) 4096))))\n"
        "(SINK (STORE (INDEX out (ADD (MUL m 64) n)) (REDUCE[ADD] x k)))\n";
    struct packed_case *t[] = {open_packed(
        64, text,
        "TILE(m,7,m_r) UNROLL(m_r) TILE(m,3,m_t) TILE(k,4,k_u) UNROLL(k_u) TILE(n,16,n_v) VEC(n_v) "
        "LOOP(n) ORDER(n,m_t,k) STAGE(a,m,m_t,m_r,k,k_u) UNROLL(a.k_u) TILE(a.k,4,a.w) UNROLL(a.w)",
        128)};
    expect_text(t[0], "= *(const f32x16m *)(b0 +");
    run_all(t, 1);
}

TEST(transposition_copies_rows_with_their_halo) {
    struct packed_case *t[] = {open_halo(64, 58), open_halo(64, 18), open_halo(32, 27), open_halo(16, 12)};
    for (int i = 0; i < 2; i++) expect_text(t[i], "= *(const f32x16m *)(b0 +");
    expect_text(t[2], "= *(const f32x8m *)(b0 +");
    run_all(t, 4);
}

/* Two to four bytes of each row, vectors across rows: stores of 16 bytes and more, shuffled from as many values. */
TEST(transposition_of_few_bytes) {
    struct packed_case *t[3];
    for (int n = 2; n <= 4; n++) {
        char text[512];
        snprintf(
            text, sizeof text,
            "kernel bytes\nout = (PARAM<i8>[0 out] %d)\na = (PARAM<i8>[1 a] 256)\nb = (PARAM<i8>[2 b] %d)\n"
            "i = (RANGE[i GRID 0] 256)\nj = (RANGE[j GRID 1] %d)\n"
            "(SINK (STORE (INDEX out (ADD j (MUL i %d))) (ADD (LOAD (INDEX a i)) (LOAD (INDEX b j)))))\n",
            256 * n, n, n, n);
        t[n - 2] = open_packed(64, text, "TILE(i,16,i_v) VEC(i_v) UNROLL(j)", 0);
        expect_no_text(t[n - 2], ")[0] = ");
    }
    run_all(t, 3);
}
