/* inner_loops.c: what compilers make of the inner loops of register-tiled kernels. For each instruction set the kernels are
 * lowered with the heuristic's list, rendered, and compiled to assembly with the library's flags by every compiler that is
 * here for that architecture (gcc, a cross gcc, clang --target). In the innermost loops that hold the FMAs:
 *
 *   - every FMA has whole vectors of the row's width,
 *   - no vector goes to or comes from the stack: all accumulators stay in registers,
 *   - no vector is taken apart, and few are copied from register to register.
 *
 * The compiler's assembly is what the assembler gets, so that no disassembler is needed. */
#include "device/cpu/internal.h"
#include "irtest.h"
#include "render/render.h"
#include "test.h"
#include "tune/tune.h"

#include <ctype.h>
#include <stdlib.h>

struct loop_count {
    int fma, whole, stack, split, copied;
};

static const struct loop_isa {
    const char *name, *arch;
    const char *gcc;          /* a cross compiler */
    const char *fma, *whole;  /* mnemonic; what an FMA of whole vectors mentions */
    const char *stack, *part; /* a stack slot; mnemonics that take vectors apart, separated by blanks */
} loop_isas[] = {
    {"neon", "aarch64", "aarch64-linux-gnu-gcc", "fmla", ".4s", "[sp", "ins ext"},
    {"avx2", "x86_64", "x86_64-linux-gnu-gcc", "vfmadd", "%ymm", "(%rsp)", "vextractf128 vinsertf128"},
    {"avx512", "x86_64", "x86_64-linux-gnu-gcc", "vfmadd", "%zmm", "(%rsp)",
     "vextractf32x8 vextractf64x4 vextractf32x4 vinsertf32x8 vinsertf64x4"},
};

/* ---- assembly ------------------------------------------------------------------------------------------ */

struct asm_line {
    const char *s;
    int n;
};

static bool begins(struct asm_line l, const char *word) {
    int k = (int)strlen(word);
    return l.n >= k && !strncmp(l.s, word, (size_t)k);
}

static bool mentions_text(struct asm_line l, const char *word) {
    for (int i = 0; i + (int)strlen(word) <= l.n; i++)
        if (!strncmp(l.s + i, word, strlen(word))) return true;
    return false;
}

/* Lines without leading blanks; NULL at the end. */
static bool next_line(const char **at, struct asm_line *l) {
    if (!**at) return false;
    size_t n = strcspn(*at, "\n");
    const char *s = *at;
    *at += n + ((*at)[n] == '\n');
    while (n && isspace((unsigned char)*s)) s++, n--;
    *l = (struct asm_line){s, (int)n};
    return true;
}

/* The line of the label that a backward jump goes to; -1: no jump, or forward. */
static int jumps_to(const struct asm_line *l, int at) {
    int i = l[at].n;
    bool jump = l[at].n && (l[at].s[0] == 'j' || l[at].s[0] == 'b' || l[at].s[0] == 'c' || l[at].s[0] == 't');
    while (i > 0 && !isspace((unsigned char)l[at].s[i - 1])) i--;
    if (!jump || i == 0 || l[at].s[i] != '.') return -1;
    int n = l[at].n - i;
    for (int k = at; k-- > 0;)
        if (l[k].n > n && l[k].s[n] == ':' && !strncmp(l[k].s, l[at].s + i, (size_t)n)) return k;
    return -1;
}

static bool is_part(const struct loop_isa *isa, struct asm_line l) {
    char word[32];
    snprintf(word, sizeof word, "%.*s", (int)RG_MIN(strcspn(l.s, " \t\n"), sizeof word - 1), l.s);
    return *word && strstr(isa->part, word) != NULL && strlen(word) > 2;
}

static bool is_vector_stack(const struct loop_isa *isa, struct asm_line l) {
    if (!mentions_text(l, isa->stack)) return false;
    return !strcmp(isa->arch, "x86_64") ? l.s[0] == 'v' : mentions_text(l, "\tq") || mentions_text(l, " q");
}

static bool is_copy(const struct loop_isa *isa, struct asm_line l) {
    bool x86 = !strcmp(isa->arch, "x86_64");
    return x86 ? begins(l, "vmova") && !mentions_text(l, "(") : begins(l, "mov") && mentions_text(l, ".16b");
}

static void count_lines(const struct loop_isa *isa, const struct asm_line *l, int from, int to,
                        struct loop_count *c) {
    struct loop_count here = {0};
    for (int i = from; i < to; i++) {
        bool fma = begins(l[i], isa->fma);
        here.fma += fma;
        here.whole += fma && mentions_text(l[i], isa->whole);
        here.stack += is_vector_stack(isa, l[i]);
        here.split += is_part(isa, l[i]);
        here.copied += is_copy(isa, l[i]);
    }
    if (here.fma > c->fma) *c = here;
}

/* The innermost loop with the most FMAs. */
static struct loop_count count_inner(const struct loop_isa *isa, const char *text) {
    enum { LINES = 40000 };
    struct asm_line *l = calloc(LINES, sizeof *l);
    struct loop_count c = {0};
    int n = 0, last = -1; /* last: the end of the latest loop */
    while (n < LINES && next_line(&text, &l[n])) n++;
    for (int i = 0; i < n; i++) {
        int to = jumps_to(l, i);
        if (to < 0) continue;
        if (to > last) count_lines(isa, l, to, i, &c);
        last = i;
    }
    free(l);
    return c;
}

/* ---- compiling ----------------------------------------------------------------------------------------- */

struct loop_run {
    struct err err;
    struct arena arena;
    struct ir ir;
    struct program prog;
    const char *path;
    const char *kernel; /* instead of a file's */
    const struct isa *isa;
    const char *text; /* the translation unit */
    const char *list; /* of opts */
};

static void render_file(void *arg) {
    struct loop_run *r = arg;
    char *text = (char *)r->kernel;
    size_t n = text ? strlen(text) : 0;
    ir_init(&r->ir, &r->arena);
    if (!text && os_read_file(&r->err, &r->arena, r->path, 1 << 20, &text, &n))
        err_throw(&r->err, r->err.code, "%s", r->path);
    ir_parse(&r->ir, text, n, r->path, &r->prog);
    struct linear lin;
    struct str body, unit;
    r->list = opts_heuristic(&r->ir, &r->prog.kernel.p[0], r->isa->bytes, 1);
    struct lower_opts how = {.opts = r->list, .target = {.vec_bytes = r->isa->bytes}};
    lower(&r->ir, &r->prog.kernel.p[0], &how, &lin);
    str_init(&body, &r->arena), str_init(&unit, &r->arena);
    render_c(&body, &r->ir, &lin);
    render_c_preamble_for(&unit, (const char *const[]){body.p}, 1);
    str_add(&unit, body.p);
    r->text = unit.p;
}

/* Assembly of the unit; NULL: this compiler does not know the instruction set. */
static char *assemble(struct loop_run *r, const char *cc, const char *target) {
    const char *argv[CC_MAX_FLAGS + 8] = {cc};
    char *out = NULL;
    struct os_work dir;
    size_t n;
    int k = 1;
    if (target) argv[k++] = target;
    k += cc_flags(&r->arena, r->isa->arch, r->isa->cc, argv + k);
    if (os_work_begin(&r->err, &r->arena, &dir)) FAIL("%s", r->err.msg);
    const char *source = arena_printf(&r->arena, "%s/unit.c", dir.path),
               *object = arena_printf(&r->arena, "%s/unit.s", dir.path);
    if (os_write_file(&r->err, source, r->text, strlen(r->text), 0644)) FAIL("%s", r->err.msg);
    argv[k++] = "-S", argv[k++] = source, argv[k++] = "-o", argv[k++] = object, argv[k] = NULL;
    struct os_proc p = {.argv = argv, .limit_s = 60};
    if (os_run_many(&r->err, &r->arena, &p, 1)) FAIL("%s", r->err.msg);
    if (!p.status && os_read_file(&r->err, &r->arena, object, 64 << 20, &out, &n)) FAIL("%s", r->err.msg);
    os_work_end(&dir);
    return out;
}

/* kernel: its text, path its name; NULL: it is read from the file. some: a copy and a stack slot for every fourth FMA
 * are tolerated. */
static int check_with(const struct loop_isa *isa, const char *path, const char *kernel, const char *cc,
                      const char *target, bool some) {
    static struct loop_run r;
    r = (struct loop_run){.path = path, .kernel = kernel, .isa = isa_find(isa->name)};
    arena_init(&r.arena, &r.err);
    if (err_guard(&r.err, render_file, &r)) FAIL("%s: %s", path, r.err.msg);
    const char *text = assemble(&r, cc, target);
    if (text) {
        struct loop_count c = count_inner(isa, text);
        const char *how = arena_printf(&r.arena,
                                       "%s for %s by %s: %d FMAs, %d of whole vectors, %d vectors on the "
                                       "stack, %d taken apart, %d copied",
                                       path, isa->name, cc, c.fma, c.whole, c.stack, c.split, c.copied);
        if (c.fma < 16 || c.whole != c.fma || c.stack > c.fma * some / 4 || c.split ||
            c.copied > c.fma / 16 + c.fma * some / 4)
            FAIL("%s\n%s", how, r.list);
        TEST_INFO("%s", how);
    }
    arena_free(&r.arena);
    return text != NULL;
}

static int check_some(const struct loop_isa *isa, const char *path, const char *kernel, bool some) {
    struct err err = {0};
    struct arena a;
    arena_init(&a, &err);
    bool host = !strcmp(os_cpu()->arch, isa->arch);
    const char *gcc = os_find_program(&a, host ? "gcc" : isa->gcc), *clang = os_find_program(&a, "clang");
    const char *target = arena_printf(&a, "--target=%s-linux-gnu", isa->arch);
    int done = 0;
    if (gcc) done += check_with(isa, path, kernel, gcc, NULL, some);
    if (clang) done += check_with(isa, path, kernel, clang, target, some);
    arena_free(&a);
    return done;
}

static int check_kernel(const struct loop_isa *isa, const char *path, const char *kernel) {
    return check_some(isa, path, kernel, false);
}

static void check_isa(const struct loop_isa *isa) {
    int done = check_kernel(isa, "tests/golden/matmul_2048.uop", NULL);
    if (!done) SKIP("no compiler for %s: neither gcc nor %s nor clang with that target", isa->arch, isa->gcc);
    CHECK_EQ(check_kernel(isa, "tests/golden/conv5x5.uop", NULL), done);
}

TEST(inner_loops_neon) { check_isa(&loop_isas[0]); }
TEST(inner_loops_avx2) { check_isa(&loop_isas[1]); }
TEST(inner_loops_avx512) { check_isa(&loop_isas[2]); }

/* Columns that fill more than half of a vector are one masked vector, in a tile of at most half of the registers. */
TEST(inner_loops_of_few_columns) {
    static const char kernel[] =
        "kernel few\na = (PARAM<f32>[0 a] 401408)\nb = (PARAM<f32>[1 b] 7840)\no = (PARAM<f32>[2 o] 5120)\n"
        "m = (RANGE[m GRID 0] 512)\nn = (RANGE[n GRID 1] 10)\nk = (RANGE[k REDUCE 2] 784)\n"
        "s = (REDUCE[ADD] (MUL (LOAD (INDEX a (ADD (MUL m 784) k))) (LOAD (INDEX b (ADD (MUL k 10) n)))) k)\n"
        "(SINK (STORE (INDEX o (ADD (MUL m 10) n)) s))\n";
    const struct loop_isa *isa = &loop_isas[2];
    if (!check_kernel(isa, "512 x 10 x 784", kernel)) SKIP("no compiler for %s", isa->arch);
}

/* A tile of more positions than vectors of channels, whose windows share nothing: each position is loaded when its FMAs come, not
 * all of them for the first vector. */
TEST(inner_loops_of_strided_windows) {
    struct err err = {0};
    struct arena a;
    struct rnd r = {20261120};
    arena_init(&a, &err);
    for (int i = 0; i < 3; i++) {
        long long in = rnd_range(&r, 60, 100), out = 32 * rnd_range(&r, 2, 4),
                  wide = 3 * rnd_range(&r, 200, 500), rows = wide / 3 - 21;
        const char *kernel = arena_printf(
            &a,
            "kernel conv\no = (PARAM<f32>[0 o] %lld)\nx = (PARAM<f32>[1 x] %lld)\nf = (PARAM<f32>[2 f] "
            "%lld)\n"
            "n = (RANGE[n GRID 0] 4)\nc = (RANGE[c GRID 1] %lld)\np = (RANGE[p GRID 2] %lld)\n"
            "k = (RANGE[k REDUCE 3] %lld)\ns = (RANGE[s REDUCE 4] 2)\nt = (RANGE[t REDUCE 5] 3)\n"
            "a = (ADD (MUL n %lld) (ADD (MUL k %lld) (ADD (MUL p 3) (ADD (MUL s 63) t))))\n"
            "b = (ADD (MUL c %lld) (ADD (MUL k 6) (ADD (MUL s 3) t)))\n"
            "(SINK (STORE (INDEX o (ADD (MUL n %lld) (ADD (MUL c %lld) p))) (REDUCE[ADD] (MUL (LOAD (INDEX x "
            "a)) "
            "(LOAD (INDEX f b))) k s t)))\n",
            4 * out * rows, 4 * in * wide, out * in * 6, out, rows, in, in * wide, wide, in * 6, out * rows,
            rows);
        if (!check_some(&loop_isas[2], "windows that share nothing", kernel, true))
            SKIP("no compiler for %s", loop_isas[2].arch);
    }
    arena_free(&a);
}

/* Positions of a row share what their taps load: compilers keep it for all taps that are unrolled, so that few positions
 * are one tile, or most accumulators are on the stack. Of random widths, strides and filters. */
TEST(inner_loops_of_taps) {
    struct err err = {0};
    struct arena a;
    struct rnd r = {29};
    arena_init(&a, &err);
    for (int i = 0; i < 6; i++) {
        long long step = rnd_range(&r, 1, 2), w = step * rnd_range(&r, 6 / step, 30 / step), taps = 3,
                  in = rnd_range(&r, 8, 40), out = 16 * rnd_range(&r, 2, 8), wide = w * step, pad = taps / 2;
        const char *kernel = arena_printf(
            &a,
            "kernel conv\no = (PARAM<f32>[0 o] %lld)\nx = (PARAM<f32>[1 x] %lld)\nf = (PARAM<f32>[2 f] "
            "%lld)\n"
            "n = (RANGE[n GRID 0] 4)\nc = (RANGE[c GRID 1] %lld)\ni = (RANGE[i GRID 2] %lld)\n"
            "j = (RANGE[j GRID 3] %lld)\nk = (RANGE[k REDUCE 4] %lld)\ns = (RANGE[s REDUCE 5] %lld)\n"
            "t = (RANGE[t REDUCE 6] %lld)\ny = (SUB (ADD (MUL i %lld) s) %lld)\n"
            "z = (SUB (ADD (MUL j %lld) t) %lld)\n"
            "p = (AND (AND (LE 0 y) (LT y %lld)) (AND (LE 0 z) (LT z %lld)))\n"
            "a = (ADD (ADD z (MUL y %lld)) (ADD (MUL k %lld) (MUL n %lld)))\n"
            "l = (WHERE p (LOAD (INDEX x (WHERE p a (INVALID<idx>)))) 0.0)\n"
            "r = (REDUCE[ADD] (MUL l (LOAD (INDEX f (ADD (ADD t (MUL s %lld)) (ADD (MUL k %lld) (MUL c "
            "%lld)))))) k "
            "s t)\n"
            "(SINK (STORE (INDEX o (ADD (ADD j (MUL i %lld)) (ADD (MUL c %lld) (MUL n %lld)))) r))\n",
            4 * out * w * w, 4 * in * wide * wide, out * in * taps * taps, out, w, w, in, taps, taps, step,
            pad, step, pad, wide, wide, wide, wide * wide, in * wide * wide, taps, taps * taps,
            in * taps * taps, w, w * w, out * w * w);
        const char *name = arena_printf(&a, "conv %lld channels, %lld positions, stride %lld, %lld filters",
                                        in, w, step, out);
        if (!check_some(&loop_isas[2], name, kernel, true)) SKIP("no compiler for %s", loop_isas[2].arch);
    }
    arena_free(&a);
}

/* Rows that share a set of L1 are packed a line at a time, in the order of use: the loop reads one stream of a, not one per row. */
TEST(inner_loops_read_packed_rows) {
    static struct loop_run r;
    r = (struct loop_run){.path = "tests/golden/matmul_2048.uop", .isa = isa_find("avx512")};
    arena_init(&r.arena, &r.err);
    if (err_guard(&r.err, render_file, &r)) FAIL("%s", r.err.msg);
    if (!strstr(r.list, "k_u,m_r)") || !strstr(r.list, "UNROLL(a.w)")) FAIL("%s", r.list);
    arena_free(&r.arena);
}

/* Loops of a kernel whose rows end in a tail of known width, by a compiler; -1: not here. */
static int loops_of_tail(const char *cc) {
    enum { LINES = 40000 };
    static struct loop_run r;
    static struct asm_line l[LINES];
    int n = 0, loops = 0;
    r = (struct loop_run){.path = "tail", .isa = isa_find("neon")};
    r.kernel =
        "kernel tail\na = (PARAM<f32>[0 a] 7000)\nb = (PARAM<f32>[1 b] 63)\no = (PARAM<f32>[2 o] 9000)\n"
        "m = (RANGE[m GRID 0] 1000)\nn = (RANGE[n GRID 1] 9)\nk = (RANGE[k REDUCE 2] 7)\n"
        "s = (REDUCE[ADD] (MUL (LOAD (INDEX a (ADD (MUL m 7) k))) (LOAD (INDEX b (ADD (MUL k 9) n)))) k)\n"
        "(SINK (STORE (INDEX o (ADD (MUL m 9) n)) s))\n";
    arena_init(&r.arena, &r.err);
    if (err_guard(&r.err, render_file, &r)) FAIL("%s", r.err.msg);
    const char *program = os_find_program(&r.arena, cc), *text = program ? assemble(&r, program, NULL) : NULL;
    bool here = text != NULL;
    while (here && n < LINES && next_line(&text, &l[n])) n++;
    for (int i = 0; i < n; i++) loops += jumps_to(l, i) >= 0;
    arena_free(&r.arena);
    return here ? loops : -1;
}

/* The lanes that a tail stores are known: no loop over lanes asks for them. */
TEST(inner_loops_have_no_loops_over_lanes) {
    if (strcmp(os_cpu()->arch, "aarch64")) SKIP("tails are masked by instructions on %s", os_cpu()->arch);
    CHECK(loops_of_tail("gcc") <= 3);
    CHECK(loops_of_tail("clang") <= 3);
}

TEST(inner_loops_are_counted) {
    static const char text[] =
        "f:\n.L2:\n\tvfmadd231ps %zmm1, %zmm2, %zmm3\n.L3:\n\tvfmadd231ps (%rax), %zmm2, %zmm3\n"
        "\tvmovaps\t%zmm4, %zmm5\n\tvmovaps\t(%rax), %zmm5\n"
        "\tvfmadd231ps %ymm1, %ymm2, %ymm3\n\tvmovaps\t%zmm4, -120(%rsp)\n\tmovq -8(%rsp), %rax\n"
        "\tvextractf32x8\t$1, %zmm0, %ymm0\n\tjne\t.L3\n\tvmovaps 8(%rsp), %zmm1\n\tjne\t.L2\n\tret\n";
    struct loop_count c = count_inner(&loop_isas[2], text);
    CHECK_EQ(c.fma, 2); /* the outer loop is not looked at */
    CHECK_EQ(c.whole, 1);
    CHECK_EQ(c.stack, 1);
    CHECK_EQ(c.split, 1);
    CHECK_EQ(c.copied, 1);
}
