/* Tests of opts_heuristic: its lists are legal, keep every value, and have the properties that make kernels fast.
 *
 *   1. Random kernels of each class (shapes, types, layouts, paddings drawn anew) give the values of the plain program in
 *      the interpreter: bit by bit where only exact ops are used, else within the bound of the types.
 *   2. The golden kernels, small ones by value, large ones lowered.
 *   3. Facts about the programs: vector loads only, products per load, accumulators, what is evaluated once.
 *   4. The cost of choosing: how many lists were tried.
 *   5. Grids that fill the threads.
 * The data is that of `ridge opt` (cli/fill.c, which tests/unit/golden.c brings into the test program).
 * HEUR_SEEDS sets how many kernels of each class are drawn. Speed is bench/golden's business. */
#include "../../cli/cli.h"
#include "codegen/sched.h"
#include "tune/tune.h"
#include "irtest.h"
#include "ref/ref.h"

#include <dirent.h>
#include <stdlib.h>

/* ---- one kernel, plain and under a list ---------------------------------------------------------------- */

enum { MAX_KERNELS = 4 };
struct trial {
    struct err err;
    struct arena arena;
    struct ir ir;
    const char *text, *path;
    int vec_bytes, threads;
    bool keep_math;
    struct program prog;
    struct io io;
    const char *opts[MAX_KERNELS];
    struct linear plain[MAX_KERNELS], fast[MAX_KERNELS];
    uint64_t tried; /* lists, most for one kernel */
};

static void lower_both(void *arg) {
    struct trial *t = arg;
    ir_init(&t->ir, &t->arena);
    ir_parse(&t->ir, t->text, strlen(t->text), t->path, &t->prog);
    io_bind(&t->ir, &t->prog, t->path, &t->io);
    RG_CHECK(&t->err, t->prog.kernel.n <= MAX_KERNELS);
    for (uint32_t i = 0; i < t->prog.kernel.n; i++) {
        const struct kernel *k = &t->prog.kernel.p[i];
        uint64_t before = opts_tried();
        t->opts[i] = opts_heuristic(&t->ir, k, t->vec_bytes, t->threads);
        t->tried = RG_MAX(t->tried, opts_tried() - before);
        struct lower_opts o = {.opts = "", .target = {.vec_bytes = t->vec_bytes, .keep_math = t->keep_math}};
        lower(&t->ir, k, &o, &t->plain[i]);
        o.opts = t->opts[i];
        lower(&t->ir, k, &o, &t->fast[i]);
        t->plain[i].nbuf = t->fast[i].nbuf = RG_MAX(t->fast[i].nbuf, t->io.kernel[i].nbuf);
    }
}

static void trial_open(struct trial *t, const char *text, const char *path) {
    arena_init(&t->arena, &t->err);
    t->text = text, t->path = path;
    if (err_guard(&t->err, lower_both, t))
        FAIL("%s\n%s\nopts %s", t->err.msg, text, t->opts[0] ? t->opts[0] : "?");
}

static void interpret(struct trial *t, const struct linear *lin, struct io_mem *m) {
    for (uint32_t i = 0; i < t->prog.kernel.n; i++) {
        const struct io_kernel *ik = &t->io.kernel[i];
        struct ref_buf *b = calloc(ik->nbuf + 1, sizeof *b);
        for (uint32_t k = 0; k < ik->nbuf; k++)
            if (ik->buf[k] != UINT32_MAX)
                b[k] = (struct ref_buf){m->p[ik->buf[k]], io_bytes(&t->io.buf[ik->buf[k]]),
                                        t->io.buf[ik->buf[k]].name, NULL, NULL};
        if (ref_linear(&t->err, &lin[i], b, ik->nbuf, ik->var, 0, lin[i].grid))
            FAIL("%s\n%s\nopts %s", t->err.msg, t->text, t->opts[i]);
        free(b);
    }
}

static double number_at(const struct io_buf *b, const void *p, int64_t i) {
    return ref_number(b->dt, ref_read(b->dt, (const char *)p + (size_t)i * dtype_info[b->dt].bytes));
}

/* Both programs on the same data. Returns how many values were compared. */
static int64_t same_values(struct trial *t, bool exact) {
    struct io_mem want, got;
    io_alloc(&t->ir, &t->io, &want);
    io_alloc(&t->ir, &t->io, &got);
    io_fill(&t->io, &want, exact);
    io_copy(&got, &want);
    interpret(t, t->plain, &want);
    interpret(t, t->fast, &got);
    double tol = 0;
    int64_t n = 0;
    for (uint32_t i = 0; i < t->prog.kernel.n; i++)
        tol = RG_MAX(tol, io_tolerance(&t->arena, t->prog.kernel.p[i].sink));
    for (uint32_t i = 0; i < t->io.nbuf; i++) {
        const struct io_buf *b = &t->io.buf[i];
        double bound = exact ? 0 : io_tolerance_of(tol, b->dt), scale = io_scale(b, want.p[i], NULL);
        for (int64_t k = 0; k < b->n; k++, n += b->output) {
            double x = number_at(b, got.p[i], k), y = number_at(b, want.p[i], k);
            if (x == y || (isnan(x) && isnan(y)) || fabs(x - y) <= bound * (scale + fabs(y))) continue;
            FAIL("%s[%lld] is %.9g, expected %.9g\n%s\nopts %s", b->name, (long long)k, x, y, t->text,
                 t->opts[0]);
        }
    }
    const char *torn = io_red_zone(&t->io, &got);
    if (torn) FAIL("memory beside %s was overwritten\n%s\nopts %s", torn, t->text, t->opts[0]);
    io_free(&want);
    io_free(&got);
    return n;
}

/* ---- 1: random kernels of each class --------------------------------------------------------------------- */

static const char *pick(struct rnd *r, const char *const *list, uint32_t n) { return list[rnd_below(r, n)]; }
#define PICK(r, ...) \
    pick(r, (const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))
#define ANY_TYPE "f32", "f32", "f32", "f64", "f16", "bf16", "i32", "i64", "i16", "u8", "i8"

/* Small, odd, just at and just beside a multiple of the vector length. Axes of one value are no axes: the planner
 * leaves them out. */
static int64_t size(struct rnd *r, int64_t most) {
    int64_t n = rnd_below(r, 4) ? rnd_range(r, 2, most)
                                : rnd_range(r, 1, RG_MAX(most / 8, 1)) * 8 + rnd_range(r, -1, 1);
    return RG_MIN(RG_MAX(n, 2), most);
}

static void param(struct str *s, const char *name, int slot, const char *dt, int64_t n) {
    str_printf(s, "%s = (PARAM<%s>[%d %s] %lld)\n", name, dt, slot, name, (long long)n);
}

static void range(struct str *s, const char *var, const char *cls, const char *kind, int pos, int id,
                  int64_t n) {
    str_printf(s, "%s = (RANGE[%s %s %d %d] %lld)\n", var, cls, kind, pos, id, (long long)n);
}

static bool gen_pointwise(struct str *s, struct rnd *r) {
    const char *dt = PICK(r, ANY_TYPE);
    int64_t n = size(r, 700);
    bool two = rnd_below(r, 2), loop = rnd_below(r, 4) == 0;
    param(s, "a", 0, dt, n), param(s, "b", 1, dt, n), param(s, "c", 2, dt, n);
    if (two) param(s, "d", 3, dt, n);
    range(s, "i", "i", loop ? "LOOP" : "GRID", 1, 0, n);
    str_add(s, "x = (ADD (LOAD (INDEX a i)) (LOAD (INDEX b i)))\n(SINK (STORE (INDEX c i) (MAX x (LOAD "
               "(INDEX a i))))");
    if (two) str_add(s, " (STORE (INDEX d i) (MUL x x))");
    str_add(s, ")\n");
    return true;
}

static bool gen_broadcast(struct str *s, struct rnd *r) {
    const char *dt = PICK(r, ANY_TYPE);
    int64_t p = size(r, 9), q = size(r, 24), n = size(r, 80);
    param(s, "x", 0, dt, p * q * n), param(s, "row", 1, dt, n), param(s, "col", 2, dt, q),
        param(s, "one", 3, dt, 1);
    param(s, "o", 4, dt, p * q * n);
    range(s, "i", "i", "GRID", 0, 0, p), range(s, "j", "j", "GRID", 1, 0, q);
    range(s, "k", "k", rnd_below(r, 2) ? "GRID" : "LOOP", 2, 0, n);
    str_printf(s, "e = (ADD (MUL (ADD (MUL i %lld) j) %lld) k)\n", (long long)q, (long long)n);
    str_add(s, "(SINK (STORE (INDEX o e) (MUL (ADD (LOAD (INDEX x e)) (LOAD (INDEX row k))) (SUB (LOAD "
               "(INDEX col j)) "
               "(LOAD (INDEX one 0))))))\n");
    return true;
}

static bool gen_transpose(struct str *s, struct rnd *r) {
    const char *dt = PICK(r, ANY_TYPE);
    int64_t p = size(r, 4), m = size(r, 70), n = size(r, 70);
    bool add = rnd_below(r, 2);
    param(s, "a", 0, dt, p * m * n), param(s, "b", 1, dt, p * m * n), param(s, "o", 2, dt, p * m * n);
    range(s, "g", "g", "GRID", 0, 0, p), range(s, "j", "j", "GRID", 1, 0, n),
        range(s, "i", "i", "GRID", 2, 0, m);
    str_printf(s, "g0 = (MUL g %lld)\nx = (LOAD (INDEX a (ADD g0 (ADD (MUL i %lld) j))))\n",
               (long long)(m * n), (long long)n);
    str_printf(s, "e = (ADD g0 (ADD (MUL j %lld) i))\n(SINK (STORE (INDEX o e) %s))\n", (long long)m,
               add ? "(ADD x (LOAD (INDEX b e)))" : "(ADD x (LOAD (INDEX b 0)))");
    return true;
}

/* Padding in front and behind, flips, shifted slices: predicates and negative strides. */
static bool gen_padded(struct str *s, struct rnd *r) {
    const char *dt = PICK(r, ANY_TYPE);
    int64_t q = size(r, 7), n = size(r, 60), before = rnd_range(r, 0, 5), after = rnd_range(r, 0, 5),
            all = before + n + after;
    bool flip = rnd_below(r, 3) == 0;
    param(s, "x", 0, dt, q * n), param(s, "o", 1, dt, q * all);
    range(s, "i", "i", "GRID", 0, 0, q), range(s, "k", "k", "GRID", 1, 0, all);
    str_printf(s, "at = (SUB k %lld)\nin = (AND (LE 0 at) (LT at %lld))\n", (long long)before, (long long)n);
    str_printf(s, "xi = (LOAD (INDEX x (WHERE in (ADD (MUL i %lld) %s) (INVALID<idx>))))\n", (long long)n,
               flip ? arena_printf(s->arena, "(SUB %lld at)", (long long)(n - 1)) : "at");
    str_printf(s, "(SINK (STORE (INDEX o (ADD (MUL i %lld) k)) (WHERE in xi 1:%s)))\n", (long long)all, dt);
    return true;
}

/* What reshapes and permutations of a flat axis leave: remainders and quotients. */
static bool gen_reshaped(struct str *s, struct rnd *r) {
    const char *dt = PICK(r, ANY_TYPE);
    int64_t p = size(r, 12), n = size(r, 40);
    param(s, "x", 0, dt, p * n), param(s, "row", 1, dt, n), param(s, "o", 2, dt, p * n);
    range(s, "i", "i", "GRID", 0, 0, p * n);
    str_printf(s, "q = (IDIV i %lld)\nm = (MOD i %lld)\n", (long long)n, (long long)n);
    str_printf(
        s, "(SINK (STORE (INDEX o i) (ADD (LOAD (INDEX x (ADD (MUL m %lld) q))) (LOAD (INDEX row m)))))\n",
        (long long)p);
    return true;
}

static bool gen_softmax(struct str *s, struct rnd *r) {
    const char *dt = PICK(r, "f32", "f32", "f64");
    int64_t p = size(r, 12), n = size(r, 90);
    bool log = rnd_below(r, 3) == 0;
    param(s, "x", 0, dt, p * n), param(s, "o", 1, dt, p * n);
    range(s, "r", "r", "GRID", 0, 0, p);
    range(s, "k0", "k", "REDUCE", 1, 0, n), range(s, "k1", "k", "REDUCE", 1, 1, n),
        range(s, "k2", "k", "LOOP", 1, 2, n);
    for (int i = 0; i < 3; i++)
        str_printf(s, "x%d = (LOAD (INDEX x (ADD (MUL r %lld) k%d)))\n", i, (long long)n, i);
    str_add(s, "m = (REDUCE[MAX] x0 k0)\nt = (REDUCE[ADD] (EXP (SUB x1 m)) k1)\n");
    str_printf(s, "(SINK (STORE (INDEX o (ADD (MUL r %lld) k2)) %s))\n", (long long)n,
               log ? "(SUB (SUB x2 m) (LOG t))" : "(MUL (EXP (SUB x2 m)) (RECIP t))");
    return false;
}

static bool gen_layernorm(struct str *s, struct rnd *r) {
    int64_t p = size(r, 10), n = size(r, 90);
    bool keep = rnd_below(r, 2);
    param(s, "x", 0, "f32", p * n), param(s, "g", 1, "f32", n), param(s, "o", 2, "f32", p * n);
    if (keep) param(s, "mean", 3, "f32", p);
    range(s, "r", "r", "GRID", 0, 0, p);
    range(s, "k0", "k", "REDUCE", 1, 0, n), range(s, "k1", "k", "REDUCE", 1, 1, n),
        range(s, "k2", "k", "LOOP", 1, 2, n);
    str_printf(s, "mu = (FDIV (REDUCE[ADD] (LOAD (INDEX x (ADD (MUL r %lld) k0))) k0) %lld.0)\n",
               (long long)n, (long long)n);
    for (int i = 1; i < 3; i++)
        str_printf(s, "d%d = (SUB (LOAD (INDEX x (ADD (MUL r %lld) k%d))) mu)\n", i, (long long)n, i);
    str_printf(s, "rs = (RECIP (SQRT (ADD (FDIV (REDUCE[ADD] (MUL d1 d1) k1) %lld.0) 0.01)))\n",
               (long long)n);
    str_printf(s, "(SINK (STORE (INDEX o (ADD (MUL r %lld) k2)) (MUL (MUL d2 rs) (LOAD (INDEX g k2))))%s)\n",
               (long long)n, keep ? " (STORE (INDEX mean r) mu)" : "");
    return false;
}

/* Sums over any subset of three axes. */
static bool gen_reduce(struct str *s, struct rnd *r) {
    const char *dt = PICK(r, "f32", "f32", "f64", "i32", "i64", "u8", "i8"),
               *op = PICK(r, "ADD", "MAX", "MIN");
    int64_t n[3] = {size(r, 12), size(r, 20), size(r, 60)}, out = 1;
    uint32_t bound = 1 + rnd_below(r, 7);
    struct str at;
    str_init(&at, s->arena);
    str_add(&at, "0");
    for (int i = 0; i < 3; i++)
        if (!(bound >> i & 1)) out *= n[i];
    param(s, "x", 0, dt, n[0] * n[1] * n[2]), param(s, "o", 1, dt, out);
    int pos = 0;
    for (int red = 0; red < 2; red++)
        for (int i = 0; i < 3; i++) {
            const char *const name[] = {"p", "q", "k"};
            if ((int)(bound >> i & 1) != red) continue;
            range(s, name[i], name[i], red ? "REDUCE" : "GRID", pos++, 0, n[i]);
            if (!red) at.p = arena_printf(s->arena, "(ADD (MUL %s %lld) %s)", at.p, (long long)n[i], name[i]);
        }
    str_printf(s, "x0 = (LOAD (INDEX x (ADD (MUL (ADD (MUL p %lld) q) %lld) k)))\n", (long long)n[1],
               (long long)n[2]);
    str_printf(s, "(SINK (STORE (INDEX o %s) (REDUCE[%s] x0%s%s%s)))\n", at.p, op, bound & 1 ? " p" : "",
               bound & 2 ? " q" : "", bound & 4 ? " k" : "");
    return true;
}

/* Sums of columns long enough to be walked in blocks. */
static bool gen_columns(struct str *s, struct rnd *r) {
    int64_t p = size(r, 4), n = 8 * size(r, 12), c = rnd_below(r, 2) ? 32 * size(r, 6) : size(r, 190);
    bool two = rnd_below(r, 2);
    param(s, "x", 0, "f32", p * n * c), param(s, "o", 1, "f32", c), param(s, "q", 2, "f32", c);
    range(s, "c", "c", "GRID", 0, 0, c), range(s, "g", "g", "REDUCE", 1, 0, p),
        range(s, "r", "r", "REDUCE", 2, 0, n);
    str_printf(s, "x0 = (LOAD (INDEX x (ADD (MUL (ADD (MUL g %lld) r) %lld) c)))\n", (long long)n,
               (long long)c);
    str_printf(s, "(SINK (STORE (INDEX o c) (REDUCE[ADD] x0 g r)) (STORE (INDEX q c) %s))\n",
               two ? "(REDUCE[ADD] (MUL x0 x0) g r)" : "1.0");
    return true;
}

/* Products with either side transposed, in batches, of two parts of one buffer (queries and keys), sums in f32. */
static bool gen_matmul(struct str *s, struct rnd *r) {
    const char *dt = PICK(r, "f32", "f32", "f32", "f64", "i32", "f16");
    bool large = rnd_below(r, 6) == 0, ta = rnd_below(r, 2), tb = rnd_below(r, 2), bias = rnd_below(r, 2),
         half = !strcmp(dt, "f16"), same = rnd_below(r, 4) == 0;
    int64_t g = large ? 2 : size(r, 4), m = large ? rnd_range(r, 60, 90) : size(r, 40);
    int64_t n = large ? rnd_range(r, 60, 90) : size(r, 40), k = large ? rnd_range(r, 60, 90) : size(r, 40);
    param(s, "a", 0, dt, g * (m * k + (same ? k * n : 0))), param(s, "o", 1, dt, g * m * n),
        param(s, "c", 2, dt, n);
    if (!same) param(s, "b", 3, dt, g * k * n);
    range(s, "z", "z", "GRID", 0, 0, g), range(s, "m", "m", "GRID", 1, 0, m),
        range(s, "n", "n", "GRID", 2, 0, n);
    range(s, "k", "k", "REDUCE", 3, 0, k);
    str_printf(s, "a0 = (LOAD (INDEX a (ADD (MUL z %lld) (ADD (MUL %s %lld) %s))))\n", (long long)(m * k),
               ta ? "k" : "m", (long long)(ta ? m : k), ta ? "m" : "k");
    str_printf(s, "b0 = (LOAD (INDEX %s (ADD (ADD (MUL z %lld) %lld) (ADD (MUL %s %lld) %s))))\n",
               same ? "a" : "b", (long long)(k * n), (long long)(same ? g * m * k : 0), tb ? "n" : "k",
               (long long)(tb ? k : n), tb ? "k" : "n");
    str_printf(s, "sum = (REDUCE[ADD] (MUL %s) k)\n", half ? "(CAST<f32> a0) (CAST<f32> b0)" : "a0 b0");
    str_printf(s, "y = %s\n", half ? "(CAST<f16> sum)" : "(ADD sum 0)");
    str_printf(s, "(SINK (STORE (INDEX o (ADD (MUL z %lld) (ADD (MUL m %lld) n))) %s))\n", (long long)(m * n),
               (long long)n, bias ? "(MAX y (LOAD (INDEX c n)))" : "(ADD y (LOAD (INDEX c 0)))");
    return !half;
}

static bool gen_matvec(struct str *s, struct rnd *r) {
    int64_t m = size(r, 90), k = size(r, 90);
    bool column = rnd_below(r, 2);
    param(s, "w", 0, "f32", m * k), param(s, "x", 1, "f32", k), param(s, "o", 2, "f32", m);
    range(s, "m", "m", "GRID", 0, 0, m), range(s, "k", "k", "REDUCE", 1, 0, k);
    str_printf(s, "w0 = (LOAD (INDEX w (ADD (MUL %s %lld) %s)))\n", column ? "k" : "m",
               (long long)(column ? m : k), column ? "m" : "k");
    str_add(s, "(SINK (STORE (INDEX o m) (REDUCE[ADD] (MUL w0 (LOAD (INDEX x k))) k)))\n");
    return true;
}

/* Convolutions with steps and zeros around; `grad`: the gradient of the weights, a sum over images and pixels. */
/* A convolution, or one of its gradients, as the planner writes them. kind 0: the convolution, perhaps padded; 1: the
 * gradient of the filters; 2: that of the image, windows flipped, with predicates at the halo. NCHW, in groups. */
struct conv_sizes {
    int64_t b, g, ci, co, kh, kw, oh, ow, step, pad;
};

static void write_conv(struct str *s, int kind, const struct conv_sizes *z) {
    int64_t pad = kind == 2 ? 0 : z->pad;
    int64_t h = (z->oh - 1) * z->step + z->kh - 2 * pad, w = (z->ow - 1) * z->step + z->kw - 2 * pad;
    if (h < 1 || w < 1) h += 2 * pad, w += 2 * pad, pad = 0;
    int64_t image = z->b * z->g * z->ci * h * w, filter = z->g * z->co * z->ci * z->kh * z->kw,
            y = z->b * z->g * z->co * z->oh * z->ow;
    param(s, kind == 2 ? "o" : "x", 0, "f32", image), param(s, kind == 1 ? "o" : "w", 1, "f32", filter),
        param(s, kind ? "y" : "o", 2, "f32", y);
    static const struct {
        const char *name;
        uint8_t pos[3]; /* by kind; from 10 on summed over */
    } axis[] = {{"b", {0, 10, 0}},  {"g", {1, 0, 1}},   {"co", {2, 1, 10}},  {"ci", {10, 2, 2}},
                {"oh", {3, 11, 3}}, {"ow", {4, 12, 4}}, {"kh", {11, 3, 11}}, {"kw", {12, 4, 12}}};
    const int64_t len[] = {z->b,  z->g, z->co, z->ci, kind == 2 ? h : z->oh, kind == 2 ? w : z->ow,
                           z->kh, z->kw};
    struct str sum;
    str_init(&sum, s->arena);
    for (size_t i = 0; i < RG_COUNT(axis); i++) {
        bool red = axis[i].pos[kind] >= 10;
        if (len[i] == 1) {
            str_printf(s, "%s = 0:idx\n", axis[i].name);
            continue;
        }
        range(s, axis[i].name, axis[i].name, red ? "REDUCE" : "GRID", axis[i].pos[kind], 0, len[i]);
        if (red) str_printf(&sum, " %s", axis[i].name);
    }
    str_printf(s, "wi = (ADD (MUL (ADD (MUL (ADD (MUL (ADD (MUL g %lld) co) %lld) ci) %lld) kh) %lld) kw)\n",
               (long long)z->co, (long long)z->ci, (long long)z->kh, (long long)z->kw);
    const char *iy = kind == 2 ? "oh" : "iy", *ix = kind == 2 ? "ow" : "ix", *ty = kind == 2 ? "ty" : "oh",
               *tx = kind == 2 ? "tx" : "ow", *pred = NULL;
    if (kind == 2) {
        str_printf(s,
                   "ty = (SUB oh kh)\ntx = (SUB ow kw)\n"
                   "in = (AND (AND (LE 0 ty) (LT ty %lld)) (AND (LE 0 tx) (LT tx %lld)))\n",
                   (long long)z->oh, (long long)z->ow);
        pred = "in";
    } else {
        str_printf(s, "iy = (SUB (ADD (MUL oh %lld) kh) %lld)\nix = (SUB (ADD (MUL ow %lld) kw) %lld)\n",
                   (long long)z->step, (long long)pad, (long long)z->step, (long long)pad);
        str_printf(s, "in = (AND (AND (LE 0 iy) (LT iy %lld)) (AND (LE 0 ix) (LT ix %lld)))\n", (long long)h,
                   (long long)w);
        pred = pad ? "in" : NULL;
    }
    str_printf(s, "xi = (ADD (MUL (ADD (MUL (ADD (MUL (ADD (MUL b %lld) g) %lld) ci) %lld) %s) %lld) %s)\n",
               (long long)z->g, (long long)z->ci, (long long)h, iy, (long long)w, ix);
    str_printf(s, "yi = (ADD (MUL (ADD (MUL (ADD (MUL (ADD (MUL b %lld) g) %lld) co) %lld) %s) %lld) %s)\n",
               (long long)z->g, (long long)z->co, (long long)z->oh, ty, (long long)z->ow, tx);
    const char *from = kind == 2 ? "y" : "x", *at = kind == 2 ? "yi" : "xi";
    if (pred)
        str_printf(s, "i0 = (WHERE in (LOAD (INDEX %s (WHERE in %s (INVALID<idx>)))) 0.0)\n", from, at);
    else
        str_printf(s, "i0 = (LOAD (INDEX %s %s))\n", from, at);
    str_printf(s, "(SINK (STORE (INDEX o %s) (REDUCE[ADD] (MUL i0 (LOAD (INDEX %s)))%s)))\n",
               kind == 0   ? "yi"
               : kind == 1 ? "wi"
                           : "xi",
               kind == 1 ? "y yi" : "w wi", sum.p);
}

static bool gen_conv(struct str *s, struct rnd *r) {
    bool large = rnd_below(r, 4) == 0;
    int kind = (int)rnd_below(r, 3);
    struct conv_sizes z = {
        .b = size(r, 3), .g = rnd_below(r, 4) ? 1 : 2, .step = kind == 2 ? 1 : rnd_range(r, 1, 2)};
    z.ci = large ? rnd_range(r, 8, 17) : rnd_range(r, 1, 4), z.co = large ? rnd_range(r, 16, 33) : size(r, 9);
    z.kh = size(r, 3), z.kw = size(r, 5), z.oh = size(r, 5), z.ow = size(r, large ? 14 : 26);
    z.pad = rnd_below(r, 2) && z.kw > 1 && z.kh > 1 ? 1 : 0;
    if (kind == 1 && z.ci == 1 && z.kh * z.kw < 4) z.ci = 2;
    write_conv(s, kind, &z);
    return true;
}

static bool gen_argmax(struct str *s, struct rnd *r) {
    int64_t p = size(r, 12), n = size(r, 70);
    bool column = rnd_below(r, 3) == 0;
    param(s, "x", 0, "f32", p * n), param(s, "o", 1, "i32", p);
    range(s, "r", "r", "GRID", 0, 0, p), range(s, "k0", "k", "REDUCE", 1, 0, n),
        range(s, "k1", "k", "REDUCE", 1, 1, n);
    for (int i = 0; i < 2; i++)
        if (column)
            str_printf(s, "x%d = (LOAD (INDEX x (ADD (MUL k%d %lld) r)))\n", i, i, (long long)p);
        else
            str_printf(s, "x%d = (LOAD (INDEX x (ADD (MUL r %lld) k%d)))\n", i, (long long)n, i);
    str_add(s, "m = (REDUCE[MAX] x0 k0)\n(SINK (STORE (INDEX o r) (REDUCE[MIN] (WHERE (OR (EQ x1 m) (NE x1 "
               "x1)) (CAST<i32> k1) "
               "2147483647) k1)))\n");
    return true;
}

static bool gen_scan(struct str *s, struct rnd *r) {
    const char *dt = PICK(r, "f32", "i32", "f64"), *op = PICK(r, "ADD", "MAX");
    int64_t p = size(r, 12), n = size(r, 50);
    bool column = rnd_below(r, 3) == 0;
    param(s, "x", 0, dt, p * n), param(s, "o", 1, dt, p * n);
    range(s, "r", "r", "GRID", 0, 0, p), range(s, "k", "k", "SCAN", 1, 0, n);
    str_printf(s, "e = (ADD (MUL %s %lld) %s)\n", column ? "k" : "r", (long long)(column ? p : n),
               column ? "r" : "k");
    str_printf(s, "(SINK (STORE (INDEX o e) (SCAN[%s] (LOAD (INDEX x e)) k)))\n", op);
    return true;
}

static bool gen_gather(struct str *s, struct rnd *r) {
    const char *dt = PICK(r, ANY_TYPE);
    int64_t rows = size(r, 20), n = size(r, 30), c = size(r, 70);
    param(s, "table", 0, dt, rows * c), param(s, "idx", 1, rnd_below(r, 2) ? "i32" : "i64", n),
        param(s, "o", 2, dt, n * c);
    range(s, "i", "i", "GRID", 0, 0, n), range(s, "c", "c", "GRID", 1, 0, c);
    str_printf(s, "at = (MIN (MAX (CAST<idx> (LOAD (INDEX idx i))) 0) %lld)\n", (long long)(rows - 1));
    str_printf(s,
               "(SINK (STORE (INDEX o (ADD (MUL i %lld) c)) (LOAD (INDEX table (ADD (MUL at %lld) c)))))\n",
               (long long)c, (long long)c);
    str_add(s, "data idx = randint 0 20\n");
    return true;
}

static bool gen_scatter(struct str *s, struct rnd *r) {
    int64_t rows = size(r, 9), n = size(r, 30), c = size(r, 40);
    param(s, "x", 0, "f32", n * c), param(s, "idx", 1, "i32", n), param(s, "o", 2, "f32", rows * c);
    range(s, "c", "c", "GRID", 0, 0, c), range(s, "i", "i", "LOOP", 1, 0, n);
    str_printf(s, "at = (MIN (MAX (CAST<idx> (LOAD (INDEX idx i))) 0) %lld)\n", (long long)(rows - 1));
    str_printf(s,
               "(SINK (STORE_ADD (INDEX o (ADD (MUL at %lld) c)) (LOAD (INDEX x (ADD (MUL i %lld) c)))))\n",
               (long long)c, (long long)c);
    return true;
}

static bool gen_tasks(struct str *s, struct rnd *r) {
    int64_t block = rnd_range(r, 4, 40), n0 = size(r, 60), n1 = size(r, 60);
    int64_t tasks = (n0 + block - 1) / block + (n1 + block - 1) / block;
    param(s, "tbl", 0, "i64", tasks * 3);
    range(s, "t", "t", "GRID", 0, 0, tasks);
    str_add(s, "w = (MIN (MAX (CAST<idx> (LOAD (INDEX tbl (MUL t 3)))) 0) 1)\n"
               "at = (MAX (CAST<idx> (LOAD (INDEX tbl (ADD (MUL t 3) 1)))) 0)\n");
    str_printf(s, "len = (MIN (MAX (CAST<idx> (LOAD (INDEX tbl (ADD (MUL t 3) 2)))) 0) %lld)\n",
               (long long)block);
    str_add(
        s,
        "i = (RANGE[i LOOP 1] len)\np = (PARAMS<f32>[1 p] w 0)\ng = (PARAMS<f32>[3 g] w 0)\ne = (ADD at i)\n"
        "(SINK (STORE (INDEX p e) (SUB (LOAD (INDEX p e)) (MUL (LOAD (INDEX g e)) 2.0))))\n");
    str_printf(s, "data tbl = tasks %lld %lld %lld\n", (long long)block, (long long)n0, (long long)n1);
    str_printf(s, "data p = params %lld %lld\ndata g = params %lld %lld\n", (long long)n0, (long long)n1,
               (long long)n0, (long long)n1);
    return true;
}

static bool gen_onehot(struct str *s, struct rnd *r) {
    int64_t p = size(r, 12), n = size(r, 30);
    param(s, "label", 0, "i64", p), param(s, "o", 1, "f32", p * n);
    range(s, "r", "r", "GRID", 0, 0, p), range(s, "k", "k", "GRID", 1, 0, n);
    str_printf(s,
               "(SINK (STORE (INDEX o (ADD (MUL r %lld) k)) (WHERE (EQ (LOAD (INDEX label r)) (CAST<i64> k)) "
               "1.0 0.0)))\n",
               (long long)n);
    return true;
}

static uint64_t seeds(void) {
    const char *s = getenv("HEUR_SEEDS");
#ifdef RIDGE_DEBUG_BUILD
    return s ? strtoull(s, NULL, 10) : 20;
#else
    return s ? strtoull(s, NULL, 10) : 120;
#endif
}

static void many(bool (*gen)(struct str *, struct rnd *), const char *name) {
    int64_t values = 0, some = 0;
    uint64_t most = 0;
    for (uint64_t seed = 0; seed < seeds(); seed++) {
        static const int width[] = {16, 16, 32, 64};
        struct trial *t = calloc(1, sizeof *t);
        struct rnd r = {hash_bytes(name, strlen(name), seed)};
        struct str s;
        arena_init(&t->arena, &t->err);
        struct arena text = {.err = &t->err};
        arena_init(&text, &t->err);
        str_init(&s, &text);
        str_printf(&s, "kernel %s\n", name);
        bool exact = gen(&s, &r);
        t->vec_bytes = width[seed % RG_COUNT(width)];
        t->threads = 1 + (int)(seed % 3);
        t->keep_math = seed % 4 != 1;
        trial_open(t, s.p, name);
        values += same_values(t, exact);
        most = RG_MAX(most, t->tried);
        some += t->opts[0][0] != 0;
        arena_free(&t->arena);
        arena_free(&text);
        free(t);
    }
    CHECK(values > 0);
    CHECK(most <= 8);
    TEST_INFO("%s: %lld values of %llu kernels, %lld with opts, at most %llu lists tried", name,
              (long long)values, (unsigned long long)seeds(), (long long)some, (unsigned long long)most);
    CHECK(some * 2 > (int64_t)seeds()); /* a class that is recognised gets opts, but for single elements */
}

/* clang-format off */
#define CLASSES(X)                                                                                   \
    X(pointwise) X(broadcast) X(transpose) X(padded) X(reshaped) X(softmax) X(layernorm) X(reduce)   \
    X(columns) X(matmul) X(matvec) X(conv) X(argmax) X(scan) X(gather) X(scatter) X(tasks) X(onehot)
/* clang-format on */
#define X(name) \
    TEST(heuristic_keeps_values_##name) { many(gen_##name, #name); }
CLASSES(X)
#undef X

/* Threads decide how outputs are distributed, never the order of a sum (docs/internals/ir.md, rounding). */
static int64_t same_bits(struct trial *one, struct trial *many_threads) {
    struct io_mem x, y;
    int64_t n = 0;
    io_alloc(&one->ir, &one->io, &x);
    io_alloc(&many_threads->ir, &many_threads->io, &y);
    io_fill(&one->io, &x, false);
    io_fill(&many_threads->io, &y, false);
    interpret(one, one->fast, &x);
    interpret(many_threads, many_threads->fast, &y);
    for (uint32_t i = 0; i < one->io.nbuf; n += one->io.buf[i].n, i++)
        if (memcmp(x.p[i], y.p[i], io_bytes(&one->io.buf[i])))
            FAIL("%s differs between one and many threads\n%s\nopts %s\nopts %s", one->io.buf[i].name,
                 one->text, one->opts[0], many_threads->opts[0]);
    io_free(&x);
    io_free(&y);
    return n;
}

TEST(heuristic_threads_do_not_change_rounding) {
    static bool (*const gen[])(struct str *, struct rnd *) = {
        gen_matmul, gen_columns, gen_reduce, gen_softmax, gen_layernorm, gen_conv, gen_matvec};
    int64_t values = 0, other = 0;
    for (uint64_t seed = 0; seed < seeds() / 4 * RG_COUNT(gen); seed++) {
        struct trial *t[2];
        struct err e = {0};
        struct arena text;
        struct str s;
        struct rnd r = {hash_u64(seed)};
        arena_init(&text, &e);
        str_init(&s, &text);
        str_add(&s, "kernel threads\n");
        gen[seed % RG_COUNT(gen)](&s, &r);
        for (int i = 0; i < 2; i++) {
            t[i] = calloc(1, sizeof *t[i]);
            t[i]->vec_bytes = 16, t[i]->threads = i ? 11 : 1, t[i]->keep_math = true;
            trial_open(t[i], s.p, "threads");
        }
        other += strcmp(t[0]->opts[0], t[1]->opts[0]) != 0;
        values += same_bits(t[0], t[1]);
        for (int i = 0; i < 2; i++) arena_free(&t[i]->arena), free(t[i]);
        arena_free(&text);
    }
    CHECK(other > 0);
    TEST_INFO("%lld values, %lld kernels with other lists for 11 threads", (long long)values,
              (long long)other);
}

/* ---- 2: the golden kernels -------------------------------------------------------------------------------- */

static char *read_text(struct arena *a, struct err *e, const char *path) {
    char *text;
    size_t n;
    if (os_read_file(e, a, path, 1 << 20, &text, &n)) FAIL("%s", e->msg);
    return text;
}

static int each_file(const char *folder, void (*fn)(struct trial *, const char *path)) {
    DIR *d = opendir(folder);
    int n = 0;
    CHECK(d != NULL);
    for (struct dirent *f; (f = readdir(d));) {
        size_t len = strlen(f->d_name);
        char path[400];
        if (len < 5 || strcmp(f->d_name + len - 4, ".uop")) continue;
        snprintf(path, sizeof path, "%s/%s", folder, f->d_name);
        struct trial *t = calloc(1, sizeof *t);
        t->vec_bytes = 16, t->threads = 2;
        arena_init(&t->arena, &t->err);
        fn(t, path);
        arena_free(&t->arena);
        free(t);
        n++;
    }
    closedir(d);
    return n;
}

static int64_t golden_values;
static void check_small(struct trial *t, const char *path) {
    struct err e = {0};
    struct arena a;
    arena_init(&a, &e);
    t->keep_math = true;
    trial_open(t, read_text(&a, &e, path), path);
    golden_values += same_values(t, false);
    arena_free(&a);
}

TEST(heuristic_keeps_values_of_small_golden_kernels) {
    int n = each_file("tests/golden/small", check_small);
    CHECK(n > 20);
    TEST_INFO("%d files, %lld values", n, (long long)golden_values);
}

static bool has_scan(struct trial *t, const struct kernel *k) {
    uop_vec topo = {0};
    uop_topo(&t->arena, &k->sink, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++)
        if (topo.p[i]->op == OP_SCAN) return true;
    return false;
}

/* The large ones have the sizes for which the hand-written lists were tuned: the first list must do. A blocked running sum makes two
 * additions for each element (block_sums.c). */
static void check_large(struct trial *t, const char *path) {
    struct err e = {0};
    struct arena a;
    arena_init(&a, &e);
    trial_open(t, read_text(&a, &e, path), path);
    for (uint32_t i = 0; i < t->prog.kernel.n; i++) {
        if (!t->opts[i][0]) FAIL("%s: no opts for %s", path, t->prog.kernel.p[i].name);
        CHECK_NEAR(t->fast[i].est.flops, t->plain[i].est.flops, 0);
        double most = has_scan(t, &t->prog.kernel.p[i]) ? 2.25 : 1.5;
        if (t->fast[i].est.flops_issued > most * RG_MAX(t->plain[i].est.flops_issued, 1))
            FAIL("%s: %s issues %.3g operations, the plain program %.3g", path, t->prog.kernel.p[i].name,
                 t->fast[i].est.flops_issued, t->plain[i].est.flops_issued);
    }
    if (t->tried > 1) FAIL("%s: %llu lists tried", path, (unsigned long long)t->tried);
    arena_free(&a);
}

TEST(heuristic_large_golden_kernels_at_first_try) { CHECK(each_file("tests/golden", check_large) > 10); }

/* ---- kernels of several megabytes: streams, prefetches, transposed tiles --------------------------------------- */

static void large(const char *text, bool exact, const char *has) {
    struct trial *t = calloc(1, sizeof *t);
    t->vec_bytes = 16, t->threads = 2, t->keep_math = true;
    trial_open(t, text, "large");
    if (!strstr(t->opts[0], has)) FAIL("expected %s in %s", has, t->opts[0]);
    CHECK(same_values(t, exact) > 0);
    arena_free(&t->arena);
    free(t);
}

TEST(heuristic_large_sum_in_streams) {
    large("kernel s\nx = (PARAM<f32>[0 x] 2097152)\no = (PARAM<f32>[1 o] 32)\nb = (RANGE[b GRID 0] 32)\n"
          "k = (RANGE[k REDUCE 1] 65536)\n(SINK (STORE (INDEX o b) (REDUCE[ADD] (LOAD (INDEX x (ADD (MUL b "
          "65536) k))) k)))\n",
          true, "REG(k)");
}

/* Four runs of neighbouring rows at a time, not four rows. */
TEST(heuristic_large_rows_in_runs) {
    large("kernel s\nx = (PARAM<f32>[0 x] 2097152)\ny = (PARAM<f32>[1 y] 2048)\no = (PARAM<f32>[2 o] 1024)\n"
          "b = (RANGE[b GRID 0] 1024)\nk = (RANGE[k REDUCE 1] 2048)\n(SINK (STORE (INDEX o b) (REDUCE[ADD] "
          "(MUL "
          "(LOAD (INDEX x (ADD (MUL b 2048) k))) (LOAD (INDEX y k))) k)))\n",
          true, "TILE(b,16,b_l) TILE(b,4,b_s) UNROLL(b_s)");
}

TEST(heuristic_large_columns_in_runs) {
    large("kernel s\nx = (PARAM<f32>[0 x] 2097152)\no = (PARAM<f32>[1 o] 8192)\nb = (RANGE[b GRID 0] 8)\n"
          "c = (RANGE[c GRID 1] 1024)\nk = (RANGE[k REDUCE 2] 256)\n(SINK (STORE (INDEX o (ADD (MUL b 1024) "
          "c)) "
          "(REDUCE[ADD] (LOAD (INDEX x (ADD (ADD (MUL b 262144) (MUL k 1024)) c))) k)))\n",
          true, "TILE(k,64,k_l) UNROLL(k)");
}

static void columns(long long blocks, long long cols, long long rows, const char *has) {
    char text[512];
    snprintf(
        text, sizeof text,
        "kernel s\nx = (PARAM<f32>[0 x] %lld)\no = (PARAM<f32>[1 o] %lld)\nb = (RANGE[b GRID 0] %lld)\n"
        "c = (RANGE[c GRID 1] %lld)\nk = (RANGE[k REDUCE 2] %lld)\n(SINK (STORE (INDEX o (ADD (MUL b %lld) "
        "c)) (REDUCE[ADD] (LOAD (INDEX x (ADD (ADD (MUL b %lld) (MUL k %lld)) c))) k)))\n",
        blocks * cols * rows, blocks * cols, blocks, cols, rows, cols, cols * rows, cols);
    large(text, true, has);
}

/* Columns of any number are walked row by row, and few of them stay in registers: never a cache line or a page per row. */
TEST(heuristic_large_columns_of_odd_sizes) {
    columns(16, 1001, 131, "UNROLL(k_u) ORDER(k,c)");
    columns(2, 4099, 257, "ORDER(k,c_l)");
    columns(1, 30001, 70, "ORDER(k,c_l)");
    columns(64, 33, 1000, "VEC(c_v) UNROLL(c)");
    columns(32, 16, 4097, "VEC(c_v) UNROLL(c) TILE(k,4,k_u) UNROLL(k_u)");
}

/* A channel of many images: rows of several images at a time. */
TEST(heuristic_large_short_rows_far_apart) {
    large("kernel s\nx = (PARAM<f32>[0 x] 1024000)\no = (PARAM<f32>[1 o] 16)\nc = (RANGE[c GRID 0] 16)\n"
          "n = (RANGE[n REDUCE 1] 160)\nk = (RANGE[k REDUCE 2] 400)\n(SINK (STORE (INDEX o c) (REDUCE[ADD] "
          "(LOAD "
          "(INDEX x (ADD (ADD (MUL n 6400) (MUL c 400)) k))) n k)))\n",
          true, "TILE(n,8,n_s) UNROLL(n_s)");
}

/* What lies under four neighbours of a pooled tensor is two elements; lanes are made of vectors that hold all of a row. */
TEST(heuristic_large_pooled_rows) {
    large("kernel s\nx = (PARAM<f32>[0 x] 65536)\ny = (PARAM<f32>[1 y] 16384)\no = (PARAM<f32>[2 o] 65536)\n"
          "n = (RANGE[n GRID 0] 256)\nh = (RANGE[h GRID 1] 16)\nw = (RANGE[w GRID 2] 16)\n"
          "e = (ADD (MUL n 256) (ADD (MUL h 16) w))\n(SINK (STORE (INDEX o e) (MUL (LOAD (INDEX x e)) (LOAD "
          "(INDEX y "
          "(ADD (MUL n 64) (ADD (MUL (IDIV h 2) 8) (IDIV w 2))))))))\n",
          true, "VEC(w_v) UNROLL(w) TILE(h,2,h_p) UNROLL(h_p)");
}

TEST(heuristic_large_transposition_in_tiles) {
    large(
        "kernel t\na = (PARAM<f32>[0 a] 1228800)\no = (PARAM<f32>[1 o] 1228800)\nj = (RANGE[j GRID 0] 960)\n"
        "i = (RANGE[i GRID 1] 1280)\n(SINK (STORE (INDEX o (ADD (MUL j 1280) i)) (LOAD (INDEX a (ADD (MUL i "
        "960) j)))))\n",
        true, "STAGE(a");
}

TEST(heuristic_large_rows_are_prefetched) {
    large(
        "kernel l\nx = (PARAM<f32>[0 x] 2097152)\no = (PARAM<f32>[1 o] 2097152)\nr = (RANGE[r GRID 0] 512)\n"
        "k0 = (RANGE[k REDUCE 1 0] 4096)\nk1 = (RANGE[k LOOP 1 1] 4096)\n"
        "m = (REDUCE[MAX] (LOAD (INDEX x (ADD (MUL r 4096) k0))) k0)\ne = (ADD (MUL r 4096) k1)\n"
        "(SINK (STORE (INDEX o e) (SUB (LOAD (INDEX x e)) m)))\n",
        true, "PIPE(x,r,1");
}

TEST(heuristic_large_gather_is_prefetched) {
    large("kernel g\ntable = (PARAM<f32>[0 table] 262144)\nidx = (PARAM<i32>[1 idx] 4096)\no = (PARAM<f32>[2 "
          "o] 524288)\n"
          "i = (RANGE[i GRID 0] 4096)\nc = (RANGE[c GRID 1] 128)\n"
          "at = (MIN (MAX (CAST<idx> (LOAD (INDEX idx i))) 0) 2047)\n"
          "(SINK (STORE (INDEX o (ADD (MUL i 128) c)) (LOAD (INDEX table (ADD (MUL at 128) c)))))\ndata idx "
          "= randint 0 2048\n",
          true, "PIPE(table");
}

/* The gradient with respect to the image of a convolution with stride two: positions are split into quotient and remainder.
 * Of a padded one the remainder shifts the positions, too. */
static void stepped(int offset, int size, const char *has) {
    char text[4096];
    snprintf(
        text, sizeof text,
        "kernel d\no = (PARAM<f32>[0 o] %d)\nw = (PARAM<f32>[1 w] 288)\ny = (PARAM<f32>[2 y] 1024)\n"
        "i0 = (RANGE[i0 GRID 0] 16)\ni1 = (RANGE[i1 GRID 1] 8)\ni2 = (RANGE[i2 GRID 2] %d)\ni3 = (RANGE[i3 "
        "GRID 3] %d)\n"
        "k4 = (RANGE[k4 REDUCE 4] 4)\nk5 = (RANGE[k5 REDUCE 5] 2)\nk6 = (RANGE[k6 REDUCE 6] 2)\n"
        "h = (ADD i2 %d)\nv = (ADD i3 %d)\nq = (IDIV h 2)\nr = (IDIV v 2)\n"
        "in = (AND (AND (AND (LT q (ADD k5 4)) (LT k5 (ADD q 1))) (LT k6 (ADD r 1))) (LT r (ADD k6 4)))\n"
        "at = (ADD (MUL q 4) (ADD r (ADD (MUL k6 -1) (ADD (MUL k5 -4) (ADD (MUL i0 64) (MUL k4 16))))))\n"
        "taps = (AND (LT (ADD (MUL k6 2) (MOD v 2)) 3) (LT (ADD (MUL k5 2) (MOD h 2)) 3))\n"
        "tap = (ADD (MOD v 2) (ADD (MUL (MOD h 2) 3) (ADD (MUL k6 2) (ADD (MUL k5 6) (ADD (MUL k4 72) (MUL "
        "i1 9))))))\n"
        "p = (MUL (WHERE in (LOAD (INDEX y (WHERE in at (INVALID<idx>)))) 0.0) (WHERE taps (LOAD (INDEX w "
        "(WHERE taps tap "
        "(INVALID<idx>)))) 0.0))\n"
        "(SINK (STORE (INDEX o (ADD i3 (ADD (MUL i2 %d) (ADD (MUL i0 %d) (MUL i1 %d))))) (REDUCE[ADD] p k4 "
        "k5 k6)))\n",
        16 * 8 * size * size, size, size, offset, offset, size, 8 * size * size, size * size);
    large(text, true, has);
}

TEST(heuristic_large_gradient_of_a_stepped_convolution) {
    stepped(0, 9, "STAGE(y,i0,k4,i2+k5,i3+k6)");
    stepped(1, 8, "STAGE(y,i0,k4,i2+i2_p+k5,i3+i3_p+k6)");
}

/* The layers of a small network, in a batch of four: which form each takes, and that it keeps the values. */
TEST(heuristic_convolutions) {
    static const struct {
        int kind;
        struct conv_sizes z;
        const char *has;
        int vec_bytes;
    } job[] = {
        {0, {2, 1, 4, 8, 5, 5, 20, 20, 1, 0}, "VEC(ow_v)", 16},        /* long rows: in place */
        {0, {4, 1, 8, 16, 3, 3, 7, 7, 1, 0}, "VEC(co_v)", 16},         /* short rows: vectors of channels */
        {0, {4, 1, 4, 8, 3, 3, 12, 12, 1, 1}, ",ci,oh+kh,ow+kw)", 16}, /* padded: copied with its halo */
        {0, {4, 2, 4, 8, 3, 3, 6, 6, 1, 1}, "oh+kh,ow+kw)", 16},
        {2, {2, 1, 4, 8, 5, 5, 20, 20, 1, 0}, ",co,oh+kh,ow+kw)", 16},
        {2, {4, 1, 8, 8, 3, 3, 7, 7, 1, 0}, "VEC(ci_v)", 16},
        {1, {4, 1, 8, 16, 3, 3, 6, 6, 1, 0}, "oh+kh,ow+kw,ci", 16}, /* channels last */
        {1, {2, 1, 4, 32, 2, 2, 20, 20, 1, 0}, "oh+kh,ow+ow_u+kw,ci", 16},
        {1, {4, 1, 8, 16, 3, 3, 8, 8, 2, 0}, "oh+kh,ow+kw,ci", 16},
        {1,
         {16, 1, 1, 16, 3, 3, 20, 20, 1, 0},
         "ORDER(b,",
         16}, /* one channel: dots, some images at a time */
        {1, {4, 2, 8, 8, 3, 3, 6, 6, 1, 0}, "oh+kh,ow+kw,ci", 16},
        {0,
         {4, 1, 4, 32, 3, 3, 15, 15, 2, 1},
         "VEC(co_v)",
         64}, /* strided and padded: vectors of channels .. */
        {0, {4, 1, 4, 32, 3, 3, 15, 15, 2, 1}, "UNROLL(x.ow)", 64}, /* .. rows copied at once .. */
        {0, {4, 1, 4, 32, 3, 3, 15, 15, 2, 1}, "UNROLL(w.kw) UNROLL(w.kh)", 64}, /* .. filters transposed */
        {0, {4, 1, 4, 16, 3, 3, 15, 15, 2, 1}, "VEC(co_v)", 32},
    };
    for (size_t i = 0; i < RG_COUNT(job); i++) {
        struct trial *t = calloc(1, sizeof *t);
        struct str s;
        struct arena text;
        arena_init(&text, &t->err);
        str_init(&s, &text);
        str_add(&s, "kernel conv\n");
        write_conv(&s, job[i].kind, &job[i].z);
        t->vec_bytes = job[i].vec_bytes, t->threads = 1 + (int)i % 3, t->keep_math = true;
        trial_open(t, s.p, "conv");
        if (!strstr(t->opts[0], job[i].has)) FAIL("expected %s in %s\n%s", job[i].has, t->opts[0], s.p);
        CHECK(same_values(t, true) > 0);
        arena_free(&t->arena);
        arena_free(&text);
        free(t);
    }
}

/* ---- 3: facts about the programs -------------------------------------------------------------------------------- */

struct facts {
    uint32_t wide_loads, single_loads, wide_stores, single_stores, fma, exps, hreds,
        sums; /* in the innermost loops */
    uint32_t loops;
};

/* Counts the body of each innermost loop; of a condition, the first side (the main body). */
static struct facts facts_of(const struct linear *l) {
    struct facts f = {0};
    uint32_t depth = 0, most = 0, skip = 0;
    for (uint32_t i = 0; i < l->n; i++) { /* how deep the deepest loop is */
        if (l->u[i]->op == OP_RANGE) most = RG_MAX(most, ++depth);
        if (l->u[i]->op == OP_END && l->u[i]->src[0]->op == OP_RANGE) depth--;
    }
    for (uint32_t i = 0; i < l->n; i++) {
        const uop *n = l->u[i];
        if (n->op == OP_RANGE) depth++, f.loops += depth == most;
        if (n->op == OP_ELSE) skip++;
        if (n->op == OP_END && n->src[0]->op == OP_RANGE) depth--;
        if (n->op == OP_END && n->src[0]->op == OP_IF && skip) skip--;
        f.hreds += n->op == OP_VEC_REDUCE && !skip;
        f.exps += n->op == OP_EXP && !skip;
        if (depth < most || skip) continue;
        bool load = n->op == OP_LOAD || n->op == OP_PRED_LOAD, store = n->op == OP_STORE;
        f.wide_loads += load && n->lanes > 1, f.single_loads += load && n->lanes == 1;
        f.wide_stores += store && n->src[0]->lanes > 1, f.single_stores += store && n->src[0]->lanes == 1;
        f.fma += n->op == OP_FMA && n->lanes > 1;
        f.sums += n->op == OP_SET;
    }
    return f;
}

static struct facts facts_for(const char *path, int threads) {
    struct trial *t = calloc(1, sizeof *t);
    struct err e = {0};
    struct arena a;
    arena_init(&a, &e);
    t->vec_bytes = 16, t->threads = threads, t->keep_math = true;
    trial_open(t, read_text(&a, &e, path), path);
    struct facts f = facts_of(&t->fast[0]);
    arena_free(&t->arena);
    arena_free(&a);
    free(t);
    return f;
}

TEST(heuristic_matmul_uses_each_load_often) {
    static const char *const path[] = {"tests/golden/matmul_2048.uop", "tests/golden/matmul_256.uop",
                                       "tests/golden/conv5x5.uop"};
    for (size_t i = 0; i < RG_COUNT(path); i++) {
        struct facts f = facts_for(path[i], 2);
        CHECK(f.fma >= 80);
        CHECK_EQ(f.single_loads, 0);
        CHECK(f.fma >= 3 * f.wide_loads); /* 8 x 12: 24 products for 5 vectors */
    }
}

TEST(heuristic_pointwise_touches_memory_in_vectors) {
    static const char *const path[] = {"tests/golden/two_outputs.uop", "tests/golden/scatter_add.uop",
                                       "tests/golden/gather.uop"};
    for (size_t i = 0; i < RG_COUNT(path); i++) {
        struct facts f = facts_for(path[i], 2);
        CHECK(f.wide_stores >= 4);
        CHECK_EQ(f.single_stores, 0);
        CHECK(f.single_loads <= 2); /* the row that a gather reads, and the one it asks for */
    }
}

TEST(heuristic_rows_have_independent_sums) {
    struct facts f = facts_for("tests/golden/layernorm.uop", 2);
    CHECK(f.sums >= 16); /* two reductions, eight accumulators each */
    CHECK_EQ(f.single_loads, 0);
    CHECK_EQ(f.hreds, 2);
    f = facts_for("tests/golden/softmax.uop", 2);
    CHECK_EQ(f.exps, 8); /* evaluated in one pass, kept for the other */
    CHECK_EQ(f.single_loads, 0);
}

/* A group norm reduces its rows as one axis, and scales by channel: both passes are vectorized. */
TEST(heuristic_other_passes_are_vectorized) {
    static const char text[] =
        "kernel groups\n"
        "x = (PARAM<f32>[0 x] 8640)\nw = (PARAM<f32>[1 w] 12)\nout = (PARAM<f32>[2 out] 8640)\n"
        "r = (RANGE[r GRID 0] 20)\nk = (RANGE[k REDUCE 1] 432)\nc = (RANGE[c LOOP 2] 12)\ni = (RANGE[i LOOP "
        "3] 36)\n"
        "s = (REDUCE[ADD] (LOAD (INDEX x (ADD (MUL r 432) k))) k)\n"
        "at = (ADD (MUL r 432) (ADD (MUL c 36) i))\n"
        "(SINK (STORE (INDEX out at) (MUL (SUB (LOAD (INDEX x at)) s) (LOAD (INDEX w c)))))\n";
    struct trial *t = calloc(1, sizeof *t);
    t->vec_bytes = 16, t->threads = 2, t->keep_math = true;
    trial_open(t, text, "groups");
    if (!strstr(t->opts[0], "VEC(k_v)") || !strstr(t->opts[0], "VEC(i_v)")) FAIL("opts %s", t->opts[0]);
    CHECK(same_values(t, false) > 0);
    arena_free(&t->arena);
    free(t);
}

/* The taps of a pooling window are unrolled. */
TEST(heuristic_taps_are_unrolled) {
    static const char text[] =
        "kernel pool\n"
        "x = (PARAM<f32>[0 x] 8192)\nout = (PARAM<f32>[1 out] 2048)\n"
        "r = (RANGE[r GRID 0] 32)\ni = (RANGE[i GRID 1] 64)\nk = (RANGE[k REDUCE 2] 2)\nj = (RANGE[j REDUCE "
        "3] 2)\n"
        "at = (ADD (ADD (MUL r 256) (MUL k 128)) (ADD (MUL i 2) j))\n"
        "(SINK (STORE (INDEX out (ADD (MUL r 64) i)) (REDUCE[MAX] (LOAD (INDEX x at)) k j)))\n";
    struct trial *t = calloc(1, sizeof *t);
    t->vec_bytes = 16, t->threads = 2, t->keep_math = true;
    trial_open(t, text, "pool");
    if (!strstr(t->opts[0], "UNROLL(k)") || !strstr(t->opts[0], "UNROLL(j)")) FAIL("opts %s", t->opts[0]);
    CHECK(same_values(t, true) > 0);
    arena_free(&t->arena);
    free(t);
}

TEST(heuristic_columns_join_no_lanes) {
    struct facts f = facts_for("tests/golden/small/column_sum.uop", 1);
    CHECK_EQ(f.hreds, 0);
    CHECK_EQ(f.single_loads, 0);
    CHECK(f.wide_loads > 0);
}

/* Lanes follow the element: sixteen bytes of it. */
TEST(heuristic_lanes_fill_a_register) {
    static const struct {
        const char *dt;
        uint8_t lanes;
    } row[] = {{"f32", 4}, {"f64", 2}, {"f16", 8}, {"bf16", 8},
               {"i8", 16}, {"u8", 16}, {"i64", 2}, {"i16", 8}};
    for (size_t i = 0; i < RG_COUNT(row); i++) {
        struct trial *t = calloc(1, sizeof *t);
        char text[400];
        snprintf(
            text, sizeof text,
            "kernel p\na = (PARAM<%s>[0 a] 4096)\no = (PARAM<%s>[1 o] 4096)\ni = (RANGE[i GRID 0] 4096)\n"
            "(SINK (STORE (INDEX o i) (MAX (LOAD (INDEX a i)) 1:%s)))\n",
            row[i].dt, row[i].dt, row[i].dt);
        t->vec_bytes = 16, t->threads = 2, t->keep_math = true;
        trial_open(t, text, "lanes");
        bool found = false;
        for (uint32_t k = 0; k < t->fast[0].n; k++)
            found |= t->fast[0].u[k]->op == OP_LOAD && t->fast[0].u[k]->lanes == row[i].lanes;
        if (!found) FAIL("%s: no load of %d lanes under %s", row[i].dt, row[i].lanes, t->opts[0]);
        arena_free(&t->arena);
        free(t);
    }
}

/* ---- 4: what it must not depend on -------------------------------------------------------------------------------- */

/* Names of axes and buffers that clash with what the heuristic would call its own, or cannot stand in an opt. */
TEST(heuristic_survives_names) {
    static const char *const text[] = {
        "kernel n\na = (PARAM<f32>[0 i] 4096)\no = (PARAM<f32>[1 i_v] 4096)\ni = (RANGE[i GRID 0] 64)\n"
        "j = (RANGE[i_v GRID 1] 64)\n(SINK (STORE (INDEX o (ADD (MUL i 64) j)) (LOAD (INDEX a (ADD (MUL j "
        "64) i)))))\n",
        "kernel n\na = (PARAM<f32>[0 \"w (1, 2)\"] 8192)\nb = (PARAM<f32>[1 b] 8192)\no = (PARAM<f32>[2 o] "
        "4096)\n"
        "i = (RANGE[\"m\" GRID 0] 64)\nj = (RANGE[m_r GRID 1] 64)\nk = (RANGE[m_v REDUCE 2] 128)\n"
        "(SINK (STORE (INDEX o (ADD (MUL i 64) j)) (REDUCE[ADD] (MUL (LOAD (INDEX a (ADD (MUL i 128) k))) "
        "(LOAD (INDEX b (ADD "
        "(MUL j 128) k)))) k)))\n"};
    for (size_t i = 0; i < RG_COUNT(text); i++) {
        struct trial *t = calloc(1, sizeof *t);
        t->vec_bytes = 16, t->threads = 2, t->keep_math = true;
        trial_open(t, text[i], "names");
        CHECK(t->opts[0][0] != 0);
        CHECK(same_values(t, true) > 0);
        arena_free(&t->arena);
        free(t);
    }
}

/* Nothing is left in the arena but the text, and a second call gives the same one. */
TEST(heuristic_leaves_only_its_list) {
    struct trial *t = calloc(1, sizeof *t);
    struct err e = {0};
    struct arena a;
    arena_init(&a, &e);
    t->vec_bytes = 16, t->threads = 2;
    trial_open(t, read_text(&a, &e, "tests/golden/matmul_2048.uop"), "matmul");
    size_t before = t->arena.used;
    uint32_t nodes = t->ir.n;
    const char *again = opts_heuristic(&t->ir, &t->prog.kernel.p[0], 16, 2);
    CHECK_STR(again, t->opts[0]);
    CHECK(t->arena.used - before < 2048);
    CHECK_EQ(t->ir.n, nodes);
    CHECK(strcmp(again, opts_heuristic(&t->ir, &t->prog.kernel.p[0], 16, 16)) !=
          0); /* more threads, more tiles */
    arena_free(&t->arena);
    arena_free(&a);
    free(t);
}

/* ---- 5: grids that fill the threads --------------------------------------------------------------------------- */

/* A kernel's grid under the heuristic's list, and what it should be at least. */
struct grid_case {
    struct err err;
    struct arena arena;
    struct ir ir;
    const char *text, *path;
    int vec_bytes, threads;
    int kernels, full;
};

static void count_grid(void *cx, struct sched *s, const uop *sink) {
    double *grid = cx;
    (void)sink;
    *grid = 1;
    for (uint32_t i = 0; i < s->axis.n; i++)
        if (axis_is_grid(&s->axis.p[i])) *grid *= (double)s->axis.p[i].most;
}

/* The most tasks that make sense: none shorter than 20 us of one core (30 flops and 20 bytes per ns), and none with fewer results
 * than two register tiles of 24 accumulators. */
static double most_tasks(const struct grid_case *c, const struct kernel *k, double results) {
    struct estimate e = {0};
    estimate_asked((struct ir *)&c->ir, k->sink, &e);
    double ns = RG_MAX(e.flops / 30, e.bytes / 20) + e.special, tiles = 2 * 24.0 * c->vec_bytes / 4;
    return RG_MAX(floor(RG_MIN(ns / 20000, results / tiles)), 1);
}

static void check_grid(void *arg) {
    struct grid_case *c = arg;
    struct program prog;
    ir_init(&c->ir, &c->arena);
    ir_parse(&c->ir, c->text, strlen(c->text), c->path, &prog);
    for (uint32_t i = 0; i < prog.kernel.n; i++) {
        const struct kernel *k = &prog.kernel.p[i];
        double grid = 0, results = 0;
        const char *opts = opts_heuristic(&c->ir, k, c->vec_bytes, c->threads);
        CHECK(opts_axes(&c->ir, k, "", count_grid, &results));
        CHECK(opts_axes(&c->ir, k, opts, count_grid, &grid));
        /* two tasks for each thread; fewer only if two fifths of the threads are busy */
        double most = most_tasks(c, k, results), used = RG_MIN(c->threads, most),
               least = RG_MIN(2 * used, most);
        c->kernels++, c->full += grid >= least || c->threads == 1;
        if (grid < least && c->threads > 1 && grid < 0.4 * used * ceil(grid / used))
            FAIL("%s, %s, %d threads, vectors of %d bytes: %.0f grid iterations for %.0f threads, at least "
                 "%.0f expected\n%s",
                 c->path, k->name, c->threads, c->vec_bytes, grid, used, least, opts);
    }
}

/* For every number of threads and length of vectors. */
static int grids_checked, grids_full;
static void check_grids(const char *text, const char *path) {
    static const int threads[] = {1, 2, 8, 16, 64}, bytes[] = {16, 32, 64};
    for (size_t t = 0; t < RG_COUNT(threads); t++)
        for (size_t b = 0; b < RG_COUNT(bytes); b++) {
            struct grid_case c = {.text = text, .path = path, .vec_bytes = bytes[b], .threads = threads[t]};
            arena_init(&c.arena, &c.err);
            if (err_guard(&c.err, check_grid, &c)) FAIL("%s: %s", path, c.err.msg);
            grids_checked += c.kernels, grids_full += c.full;
            arena_free(&c.arena);
        }
}

static void check_golden_grids(struct trial *t, const char *path) {
    struct err e = {0};
    struct arena a;
    (void)t;
    arena_init(&a, &e);
    check_grids(read_text(&a, &e, path), path);
    arena_free(&a);
}

TEST(heuristic_grids_of_golden_kernels_fill_the_threads) {
    CHECK(each_file("tests/golden", check_golden_grids) > 10);
    TEST_INFO("%d lists, %d with two tasks a thread", grids_checked, grids_full);
    CHECK(grids_full >= 0.98 * grids_checked);
}

static int64_t any_of(struct rnd *r, const int64_t *list, uint32_t n) { return list[rnd_below(r, n)]; }
#define ANY_OF(r, ...) \
    any_of(r, (const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

static void grid_gemm(struct str *s, struct rnd *r) {
    int64_t m = ANY_OF(r, 1, 5, 16, 64, 100, 128, 256, 512, 1000, 2048),
            n = ANY_OF(r, 10, 48, 64, 127, 256, 768, 1000, 3072),
            k = ANY_OF(r, 27, 64, 100, 256, 768, 1024, 3072), g = ANY_OF(r, 1, 1, 1, 4, 12);
    bool ta = rnd_below(r, 4) == 0, tb = rnd_below(r, 2);
    param(s, "a", 0, "f32", g * m * k), param(s, "b", 1, "f32", g * k * n),
        param(s, "o", 2, "f32", g * m * n);
    const char *z = "0:idx", *i = "0:idx";
    if (g > 1) range(s, z = "z", "z", "GRID", 0, 0, g);
    if (m > 1) range(s, i = "m", "m", "GRID", 1, 0, m);
    range(s, "n", "n", "GRID", 2, 0, n), range(s, "k", "k", "REDUCE", 3, 0, k);
    str_printf(s, "a0 = (LOAD (INDEX a (ADD (MUL %s %lld) (ADD (MUL %s %lld) %s))))\n", z, (long long)(m * k),
               ta ? "k" : i, (long long)(ta ? m : k), ta ? i : "k");
    str_printf(s, "b0 = (LOAD (INDEX b (ADD (MUL %s %lld) (ADD (MUL %s %lld) %s))))\n", z, (long long)(k * n),
               tb ? "n" : "k", (long long)(tb ? k : n), tb ? "k" : "n");
    str_printf(
        s, "(SINK (STORE (INDEX o (ADD (MUL %s %lld) (ADD (MUL %s %lld) n))) (REDUCE[ADD] (MUL a0 b0) k)))\n",
        z, (long long)(m * n), i, (long long)n);
}

static void grid_conv(struct str *s, struct rnd *r) {
    struct conv_sizes z = {.b = ANY_OF(r, 1, 2, 8, 64, 512),
                           .g = 1,
                           .ci = ANY_OF(r, 1, 3, 32, 64, 128),
                           .co = ANY_OF(r, 16, 32, 64, 128, 256),
                           .kh = ANY_OF(r, 1, 3, 3, 5, 7)};
    int kind = (int)rnd_below(r, 3);
    if (z.kh == 1 && z.ci == 1) z.ci = 24;
    z.kw = z.kh, z.oh = z.ow = ANY_OF(r, 7, 8, 14, 20, 28, 56, 112), z.pad = z.kh / 2 * rnd_below(r, 2);
    z.step = kind == 2 || z.kh == 1 ? 1 : rnd_range(r, 1, 2);
    write_conv(s, kind, &z);
}

/* Row sums, column sums and softmax. */
static void grid_reduce(struct str *s, struct rnd *r) {
    int64_t p = ANY_OF(r, 64, 100, 512, 1000, 4096, 30000), n = ANY_OF(r, 32, 100, 768, 1024, 4096);
    uint32_t kind = rnd_below(r, 3);
    param(s, "x", 0, "f32", p * n), param(s, "o", 1, "f32", kind == 2 ? p * n : p);
    range(s, "r", "r", "GRID", 0, 0, p), range(s, "k", "k", "REDUCE", 1, 0, n);
    if (kind == 2) {
        range(s, "k1", "k", "REDUCE", 1, 1, n), range(s, "k2", "k", "LOOP", 1, 2, n);
        for (int i = 0; i < 3; i++)
            str_printf(s, "x%d = (LOAD (INDEX x (ADD (MUL r %lld) %s)))\n", i, (long long)n,
                       (const char *[]){"k", "k1", "k2"}[i]);
        str_printf(s,
                   "m = (REDUCE[MAX] x0 k)\nl = (REDUCE[ADD] (EXP2 (SUB x1 m)) k1)\n"
                   "(SINK (STORE (INDEX o (ADD (MUL r %lld) k2)) (FDIV (EXP2 (SUB x2 m)) l)))\n",
                   (long long)n);
        return;
    }
    str_printf(s, "(SINK (STORE (INDEX o r) (REDUCE[ADD] (LOAD (INDEX x (ADD (MUL %s %lld) %s))) k)))\n",
               kind ? "k" : "r", (long long)(kind ? p : n), kind ? "r" : "k");
}

/* As the planner writes it: a row of scores in scratch, its maximum and sum, and the product with v. */
static void grid_attention(struct str *s, struct rnd *r) {
    long long h = ANY_OF(r, 1, 4, 12, 96), t = ANY_OF(r, 64, 100, 256, 1024), d = ANY_OF(r, 32, 64, 128);
    str_printf(s,
               "i0 = (RANGE[i0 GRID 0] %lld)\ni1 = (RANGE[i1 GRID 1] %lld)\ni2 = (RANGE[i2 LOOP 2] %lld)\n",
               h, t, d);
    str_printf(s, "k3 = (RANGE[k3 REDUCE 4] %lld)\nk5 = (RANGE[k5 REDUCE 5] %lld)\n", d, t);
    for (int i = 0; i < 4; i++) str_printf(s, "k4%c = (RANGE[k4 REDUCE 3 %d] %lld)\n", 'a' + i, i, t);
    for (int i = 0; i < 4; i++) str_printf(s, "b%d = (PARAM<f32>[%d b%d] %lld)\n", i, i, i, h * t * d);
    str_printf(s, "head = (MUL i0 %lld)\nrow = (ADD i1 (MUL i0 %lld))\n", t * d, t);
    str_printf(s,
               "q = (LOAD (INDEX b1 (ADD k3 (MUL row %lld))))\nk = (LOAD (INDEX b2 (ADD k3 (ADD head (MUL "
               "k4a %lld)))))\n",
               d, d);
    str_printf(s,
               "x = (MUL (REDUCE[ADD] (MUL q k) k3) 0.25)\nkeep0 = (STAGE[keep0 SCRATCH] x k4a)\n"
               "m = (REDUCE[MAX] (LOAD (INDEX keep0 k4b)) k4b)\ne = (EXP2 (SUB (LOAD (INDEX keep0 k4c)) m))\n"
               "keep1 = (STAGE[keep1 SCRATCH] e k4c)\nl = (REDUCE[ADD] (LOAD (INDEX keep1 k4d)) k4d)\n");
    str_printf(s,
               "v = (LOAD (INDEX b3 (ADD i2 (ADD head (MUL k5 %lld)))))\n"
               "(SINK (STORE (INDEX b0 (ADD i2 (MUL row %lld))) (FDIV (REDUCE[ADD] (MUL (LOAD (INDEX keep1 "
               "k5)) v) k5) l)))\n",
               d, d);
}

TEST(heuristic_grids_of_random_kernels_fill_the_threads) {
    static void (*const gen[])(struct str *, struct rnd *) = {grid_gemm, grid_conv, grid_reduce,
                                                              grid_attention};
    for (uint64_t seed = 0; seed < (uint64_t)seeds(); seed++) {
        struct err e = {0};
        struct arena a;
        struct str s;
        struct rnd r = {hash_u64(seed)};
        arena_init(&a, &e);
        str_init(&s, &a);
        str_add(&s, "kernel grid\n");
        gen[seed % RG_COUNT(gen)](&s, &r);
        check_grids(s.p, s.p);
        arena_free(&a);
    }
    TEST_INFO("%d lists, %d with two tasks a thread", grids_checked, grids_full);
    CHECK(grids_full >= 0.95 * grids_checked);
}

/* Padding to register tiles and idle threads, together: results / (results of the busiest thread * threads). */
static double balance_of(const char *opts, int64_t m, int64_t n, int threads) {
    int64_t part[4] = {1, 1, 1, 1};
    static const char *const axis[] = {"TILE(m,", "TILE(n,"};
    for (int i = 0; i < 2; i++) {
        const char *tile = strstr(opts, axis[i]), *panel = tile ? strstr(tile + 1, axis[i]) : NULL;
        if (!tile) return 0;
        part[i] = atoll(tile + 7), part[2 + i] = panel ? atoll(panel + 7) : 1;
    }
    double rows = (double)(part[0] * part[2]), cols = (double)(part[1] * part[3]);
    double grid = ceil((double)m / rows) * ceil((double)n / cols);
    return (double)m * (double)n / (ceil(grid / threads) * threads * rows * cols);
}

TEST(heuristic_gemm_tiles_and_grids_balance) {
    double sum = 0;
    int n = seeds();
    for (uint64_t seed = 0; seed < (uint64_t)n; seed++) {
        struct err e = {0};
        struct arena a;
        struct ir ir;
        struct str s;
        struct program prog;
        struct rnd r = {hash_u64(seed + 77)};
        int64_t rows = 256 + rnd_below(&r, 1500), cols = 32 * (8 + rnd_below(&r, 60));
        int threads = (int)ANY_OF(&r, 4, 8, 16, 32);
        int64_t depth = ANY_OF(&r, 512, 768, 1024); /* rows 4096 bytes apart are not transposed */
        arena_init(&a, &e), str_init(&s, &a), ir_init(&ir, &a);
        str_add(&s, "kernel gemm\n");
        param(&s, "a", 0, "f32", rows * depth), param(&s, "b", 1, "f32", depth * cols),
            param(&s, "o", 2, "f32", rows * cols);
        range(&s, "m", "m", "GRID", 0, 0, rows), range(&s, "n", "n", "GRID", 1, 0, cols);
        range(&s, "k", "k", "REDUCE", 2, 0, depth);
        str_printf(&s,
                   "(SINK (STORE (INDEX o (ADD (MUL m %lld) n)) (REDUCE[ADD] (MUL (LOAD (INDEX a (ADD (MUL m "
                   "%lld) k))) (LOAD (INDEX b (ADD (MUL k %lld) n)))) k)))\n",
                   (long long)cols, (long long)depth, (long long)cols);
        ir_parse(&ir, s.p, s.n, "gemm", &prog);
        const char *opts = opts_heuristic(&ir, &prog.kernel.p[0], 64, threads);
        double share = balance_of(opts, rows, cols, threads);
        if (!strstr(opts, depth % 1024 ? ",k_u,m_r)" : ",m_r,k_k,k_u)"))
            FAIL("%lld terms: rows of a are packed the other way\n%s", (long long)depth, opts);
        if (share < 0.7)
            FAIL("%lld x %lld, %d threads: %.2f\n%s", (long long)rows, (long long)cols, threads, share, opts);
        sum += share;
        arena_free(&a);
    }
    TEST_INFO("%d products: %.3f of the threads' time are results", n, sum / n);
    CHECK(sum / n > 0.96);
}

/* Lists for many threads that have other grids than those for one: the same values as the plain program, and the same bits. */
static int64_t finer_values, finer_lists;
static void check_finer(const char *text, int vec_bytes) {
    struct trial *t[2];
    for (int i = 0; i < 2; i++) {
        t[i] = calloc(1, sizeof *t[i]);
        t[i]->vec_bytes = vec_bytes, t[i]->threads = i ? 64 : 1, t[i]->keep_math = true;
        trial_open(t[i], text, "finer");
    }
    finer_lists += strcmp(t[0]->opts[0], t[1]->opts[0]) != 0;
    finer_values += same_values(t[1], false) + same_bits(t[0], t[1]);
    for (int i = 0; i < 2; i++) arena_free(&t[i]->arena), free(t[i]);
}

TEST(heuristic_finer_grids_keep_values) {
    static const struct {
        int kind;
        struct conv_sizes z;
    } conv[] = {
        {0, {.b = 2, .g = 1, .ci = 8, .co = 16, .kh = 5, .kw = 5, .oh = 12, .ow = 16, .step = 1, .pad = 0}},
        {1, {.b = 4, .g = 1, .ci = 16, .co = 32, .kh = 3, .kw = 3, .oh = 8, .ow = 8, .step = 1, .pad = 0}},
        {1, {.b = 4, .g = 1, .ci = 8, .co = 32, .kh = 5, .kw = 5, .oh = 8, .ow = 8, .step = 1, .pad = 2}},
        {2, {.b = 2, .g = 1, .ci = 16, .co = 16, .kh = 5, .kw = 5, .oh = 8, .ow = 12, .step = 1, .pad = 0}},
    };
    for (size_t i = 0; i < RG_COUNT(conv); i++) {
        struct err e = {0};
        struct arena a;
        struct str s;
        arena_init(&a, &e);
        str_init(&s, &a);
        str_add(&s, "kernel finer\n");
        write_conv(&s, conv[i].kind, &conv[i].z);
        check_finer(s.p, i == 1 ? 64 : 16);
        arena_free(&a);
    }
    check_finer(
        "kernel g\na = (PARAM<f32>[0 a] 12288)\nb = (PARAM<f32>[1 b] 12288)\no = (PARAM<f32>[2 o] 9216)\n"
        "m = (RANGE[m GRID 0] 96)\nn = (RANGE[n GRID 1] 96)\nk = (RANGE[k REDUCE 2] 128)\n"
        "(SINK (STORE (INDEX o (ADD (MUL m 96) n)) (REDUCE[ADD] (MUL (LOAD (INDEX a (ADD (MUL m 128) k))) "
        "(LOAD (INDEX b "
        "(ADD (MUL k 96) n)))) k)))\n",
        16);
    check_finer("kernel s\nx = (PARAM<f32>[0 x] 524288)\nidx = (PARAM<i32>[1 idx] 4096)\npart = "
                "(PARAM<f32>[2 part] 65536)\n"
                "c = (RANGE[c GRID 0] 128)\ni = (RANGE[i LOOP 1] 4096)\nat = (MIN (MAX (CAST<idx> (LOAD "
                "(INDEX idx i))) 0) 511)\n"
                "(SINK (STORE_ADD (INDEX part (ADD (MUL at 128) c)) (LOAD (INDEX x (ADD (MUL i 128) c)))))\n"
                "data idx = randint 0 512\n",
                16);
    TEST_INFO("%lld values, %lld of %zu lists are others for 64 threads", (long long)finer_values,
              (long long)finer_lists, RG_COUNT(conv) + 2);
    CHECK_EQ(finer_lists, RG_COUNT(conv) + 2);
}
