/* golden.c: every kernel of tests/golden/small against outside values, against itself under random opts,
 * and against the machine code that a C compiler makes of it.
 *
 *   1. The plain program (no opts), interpreted, on the inputs of tests/values/NAME.txt gives the outputs
 *      there, which NumPy computed.
 *   2. The file's opts and many random legal lists give the plain program's values, interpreted. Where a
 *      kernel only adds, multiplies and compares, it runs on small integers and every bit must agree;
 *      else within a bound from the dtype and the length of the longest reduction.
 *   3. The same with math functions decomposed (what a renderer sees), and through the C compiler: the file's
 *      opts, none, and a batch of random lists, with red zones around every buffer.
 * The large kernels in tests/golden are lowered only; running them is the benchmark's work.
 * A failure prints the command that repeats it. GOLDEN_SEEDS sets how many random lists are tried;
 * `make fuzz` tries thousands. */
#include "../../cli/fill.c" /* the data of a .uop file: the same bytes as `ridge opt` uses */
#include "tune/tune.h"
#include "cuda.h"
#include "opencl.h"
#include "tune/search/search.h"

#include <dirent.h>
#include <float.h>
#include <stdlib.h>

#define SMALL "tests/golden/small/"
enum { CC_LISTS = 12, MAX_KERNELS = 4 };
#define REF_LIMIT 2e8

/* every file of the folder */
/* clang-format off */
#define KERNELS(X)                                                                                 \
    X(softmax) X(log_softmax) X(layernorm) X(layernorm_bwd) X(matmul) X(matmul_bias_gelu)          \
    X(conv5x5) X(adam) X(transpose_add) X(two_outputs) X(sum_split) X(column_sum) X(argmax)        \
    X(cumsum) X(gather) X(scatter_add) X(pad_conv) X(half_matmul) X(bf16_scale) X(int_mix)         \
    X(slice_var) X(stats_f64)
/* clang-format on */

/* ---- one lowering of a file -------------------------------------------------------------------------- */

enum choice {
    PLAIN,
    AS_FILE,
    RANDOM,
    GPU,
    GPU_RANDOM
}; /* GPU: its heuristic; random, and loops shared by blocks */
struct lowered {
    struct err err;
    struct arena arena;
    struct ir ir;
    struct lowered *home; /* whose ir and arena this uses: itself, or another of the same file */
    const char *path;
    enum choice choice;
    uint64_t seed;
    bool keep_math;
    struct program prog;
    struct io io;
    struct linear lin[MAX_KERNELS];
    const char *opts[MAX_KERNELS];
};

static void parse_file(struct lowered *l) {
    char *text;
    size_t n;
    ir_init(&l->ir, &l->arena);
    int code = os_read_file(&l->err, &l->arena, l->path, 1 << 20, &text, &n);
    if (code) err_throw(&l->err, code, "%s", l->path);
    ir_parse(&l->ir, text, n, l->path, &l->prog);
    io_bind(&l->ir, &l->prog, l->path, &l->io);
    RG_CHECK(&l->err, l->prog.kernel.n <= MAX_KERNELS);
}

/* Random opts, and COOP for every axis that may have it. */
static const char *random_shared(struct ir *ir, const struct kernel *k, uint64_t seed) {
    const char *list = seed % 4 == 1 ? opts_random(ir, k, seed) : "";
    uop_vec topo = {0};
    uop_topo(ir->arena, &k->sink, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++) {
        const uop *r = topo.p[i];
        if (r->op != OP_RANGE) continue;
        const char *more =
            arena_printf(ir->arena, "%s%sCOOP(%s)", list, *list ? " " : "", ir_name(ir, r->arg.range.cls));
        if (opts_legal(ir, k, more, NULL, NULL)) list = more;
    }
    return list;
}

static void lower_file(void *arg) {
    struct lowered *l = arg;
    if (l->home == l) parse_file(l);
    struct ir *ir = &l->home->ir;
    l->prog = l->home->prog;
    l->io = l->home->io;
    for (int i = 0; i < MAX_KERNELS; i++) l->opts[i] = "";
    for (uint32_t i = 0; i < l->prog.kernel.n; i++) {
        const struct kernel *k = &l->prog.kernel.p[i];
        if (l->choice == AS_FILE) l->opts[i] = k->opts;
        if (l->choice == RANDOM) l->opts[i] = opts_random(ir, k, l->seed);
        if (l->choice == GPU) l->opts[i] = opts_heuristic_gpu(ir, k, GPU_OF_CC(80));
        if (l->choice == GPU_RANDOM) l->opts[i] = random_shared(ir, k, l->seed);
        struct lower_opts how = {.opts = l->opts[i], .target = {.keep_math = l->keep_math}};
        how.target.vec_bytes = os_cpu()->vec_bytes;
        bool gpu = l->choice == GPU || l->choice == GPU_RANDOM || l->seed % 2; /* right on a CPU too */
        if (gpu) how.target.kind = TARGET_GPU;
        lower(ir, k, &how, &l->lin[i]);
        l->lin[i].nbuf = RG_MAX(l->lin[i].nbuf, l->io.kernel[i].nbuf);
    }
}

/* The words a failure ends with: how to see it again. */
static const char *repeat(const struct lowered *l) {
    static char words[2000];
    int n = snprintf(words, sizeof words, "\n  repeat: ridge opt %s --check", l->path);
    if (l->choice == PLAIN) snprintf(words + n, sizeof words - (size_t)n, " --noopt");
    if (l->choice == RANDOM)
        n +=
            snprintf(words + n, sizeof words - (size_t)n, " --random-opts %llu", (unsigned long long)l->seed);
    for (uint32_t i = 0; l->choice == RANDOM && i < l->prog.kernel.n && n < 1000; i++)
        n += snprintf(words + n, sizeof words - (size_t)n, "\n  opts of %s: %.400s", l->prog.kernel.p[i].name,
                      l->opts[i]);
    return words;
}

static struct lowered *make_beside(struct lowered *home, const char *path, enum choice choice, uint64_t seed,
                                   bool keep_math) {
    struct lowered *l = calloc(1, sizeof *l);
    *l = (struct lowered){.path = path, .choice = choice, .seed = seed, .keep_math = keep_math};
    l->home = home ? home : l;
    arena_init(&l->arena, &l->err);
    if (err_guard(&l->home->err, lower_file, l)) FAIL("%s%s", l->home->err.msg, repeat(l));
    return l;
}

static struct lowered *make(const char *path, enum choice choice, uint64_t seed, bool keep_math) {
    return make_beside(NULL, path, choice, seed, keep_math);
}

static void drop(struct lowered *l) {
    arena_free(&l->arena);
    free(l);
}

static void interpret(struct lowered *l, struct io_mem *m) {
    for (uint32_t i = 0; i < l->prog.kernel.n; i++) {
        const struct io_kernel *ik = &l->io.kernel[i];
        struct ref_buf *b = calloc(ik->nbuf + 1, sizeof *b);
        for (uint32_t k = 0; k < ik->nbuf; k++)
            if (ik->buf[k] != UINT32_MAX)
                b[k] = (struct ref_buf){m->p[ik->buf[k]], io_bytes(&l->io.buf[ik->buf[k]]),
                                        l->io.buf[ik->buf[k]].name, NULL, NULL};
        if (ref_linear(&l->err, &l->lin[i], b, ik->nbuf, ik->var, 0, l->lin[i].grid))
            FAIL("%s%s", l->err.msg, repeat(l));
        free(b);
    }
}

static double cost(const struct lowered *l) {
    double c = 0;
    for (uint32_t i = 0; i < l->prog.kernel.n; i++) c += ref_cost(&l->lin[i]);
    return c;
}

/* ---- comparing ---------------------------------------------------------------------------------------- */

/* Bits must agree on small integers: only ops that have no rounding there. */
static bool is_exact(const struct lowered *l) {
    for (uint32_t i = 0; i < l->prog.kernel.n; i++) {
        uop_vec all = {0};
        uop_topo((struct arena *)&l->arena, &l->prog.kernel.p[i].sink, 1, &all);
        for (uint32_t j = 0; j < all.n; j++) {
            const uop *u = all.p[j];
            if (!dt_is_float((enum dtype)u->dt)) continue;
            if (u->op == OP_VAR || (u->op == OP_CONST && u->arg.f != rint(u->arg.f))) return false;
            if (op_is_pure((enum op)u->op) && u->op != OP_ADD && u->op != OP_SUB && u->op != OP_MUL &&
                u->op != OP_NEG && u->op != OP_MAX && u->op != OP_MIN && u->op != OP_WHERE &&
                u->op != OP_FMA && u->op != OP_CAST)
                return false;
        }
    }
    return true;
}

static double tolerance(struct lowered *l) {
    double tol = 0;
    for (uint32_t i = 0; i < l->prog.kernel.n; i++)
        tol = RG_MAX(tol, io_tolerance(&l->arena, l->prog.kernel.p[i].sink));
    return tol;
}

static double number_at(const struct io_buf *b, const void *p, int64_t i) {
    return ref_number(b->dt, ref_read(b->dt, (const char *)p + (size_t)i * dtype_info[b->dt].bytes));
}

static bool near(double got, double want, double tol, double scale) {
    return got == want || (isnan(got) && isnan(want)) || fabs(got - want) <= tol * (scale + fabs(want));
}

/* tol 0: bit for bit. Returns how many elements were compared. */
static int64_t compare(const struct lowered *l, const struct io_mem *got, const struct io_mem *want,
                       double tol, const char *what) {
    int64_t n = 0;
    for (uint32_t i = 0; i < l->io.nbuf; i++) {
        const struct io_buf *b = &l->io.buf[i];
        size_t size = dtype_info[b->dt].bytes;
        bool flt = dt_is_float(b->dt) && tol > 0;
        double bound = io_tolerance_of(tol, b->dt), scale = io_scale(b, want->p[i], NULL);
        for (int64_t k = 0; b->output && k < b->n; k++, n++) {
            const char *p = (char *)got->p[i] + (size_t)k * size, *q = (char *)want->p[i] + (size_t)k * size;
            double x = number_at(b, got->p[i], k), y = number_at(b, want->p[i], k);
            bool zeros = x == 0 && y == 0; /* a sum of nothing may be 0 or -0 */
            if (flt ? !near(x, y, bound, scale) : memcmp(p, q, size) && !zeros)
                FAIL("%s: %s[%lld] is %.9g, expected %.9g (tolerance %.2g)%s", what, b->name, (long long)k, x,
                     y, bound, repeat(l));
        }
        if (!b->output && memcmp(got->p[i], want->p[i], io_bytes(b)))
            FAIL("%s: input %s was changed%s", what, b->name, repeat(l));
    }
    const char *torn = io_red_zone(&l->io, got);
    if (torn) FAIL("%s: memory beside buffer %s was overwritten%s", what, torn, repeat(l));
    return n;
}

/* ---- 1: outside values ---------------------------------------------------------------------------------- */

static uint32_t buf_named(const struct lowered *l, const char *path, const char *name, const char *dtype,
                          long n) {
    for (uint32_t i = 0; i < l->io.nbuf; i++) {
        const struct io_buf *b = &l->io.buf[i];
        if (strcmp(b->name, name)) continue;
        if (b->n != n || strcmp(dtype_info[b->dt].name, dtype))
            FAIL("%s: %s is %s[%ld] there and %s[%lld] in the kernel", path, name, dtype, n,
                 dtype_info[b->dt].name, (long long)b->n);
        return i;
    }
    FAIL("%s: the kernel has no buffer %s", path, name);
}

static void take_values(const struct io_buf *b, void *p, const double *x) {
    for (int64_t k = 0; k < b->n; k++) {
        union ref_val v = {.i = (int64_t)x[k]};
        if (dt_is_float(b->dt)) v.f = ref_round(b->dt, x[k]);
        ref_write(b->dt, (char *)p + (size_t)k * dtype_info[b->dt].bytes, v);
    }
}

static void check_values(struct lowered *l, const struct io_buf *b, const void *p, const double *x,
                         double tol) {
    double sum = 0;
    for (int64_t k = 0; k < b->n; k++) sum += x[k] * x[k];
    for (int64_t k = 0; k < b->n; k++)
        if (!near(number_at(b, p, k), x[k], io_tolerance_of(tol, b->dt), sqrt(sum / (double)b->n)))
            FAIL("outside value: %s[%lld] is %.9g, expected %.12g%s", b->name, (long long)k,
                 number_at(b, p, k), x[k], repeat(l));
}

/* Reads the blocks of one kind ("in": into memory; "out": compares). Returns how many numbers they hold. */
static int64_t values_blocks(struct lowered *l, const char *path, struct io_mem *m, const char *want,
                             double tol) {
    FILE *f = fopen(path, "r");
    char kind[8], name[64], dtype[8];
    long n;
    int64_t done = 0;
    if (!f) FAIL("%s is missing; tests/values/make.py writes it", path);
    while (fscanf(f, "%7s %63s %7s %ld", kind, name, dtype, &n) == 4) {
        uint32_t at = buf_named(l, path, name, dtype, n);
        double *x = calloc((size_t)n, sizeof *x);
        for (long k = 0; k < n; k++)
            if (fscanf(f, "%lf", &x[k]) != 1) FAIL("%s: %s ends after %ld of %ld numbers", path, name, k, n);
        if (!strcmp(kind, want)) {
            done += n;
            if (!strcmp(kind, "in"))
                take_values(&l->io.buf[at], m->p[at], x);
            else
                check_values(l, &l->io.buf[at], m->p[at], x, tol);
        }
        free(x);
    }
    fclose(f);
    return done;
}

static struct io_mem memory(struct lowered *l, bool exact) {
    struct io_mem m;
    io_alloc(&l->home->ir, &l->io, &m);
    io_fill(&l->io, &m, exact);
    return m;
}

static int64_t outside(const char *name, struct lowered *plain) {
    char path[200];
    snprintf(path, sizeof path, "tests/values/%s.txt", name);
    struct io_mem m = memory(plain, false);
    values_blocks(plain, path, &m, "in", 0);
    interpret(plain, &m);
    int64_t n = values_blocks(plain, path, &m, "out", tolerance(plain));
    if (!n) FAIL("%s holds no outputs", path);
    io_free(&m);
    return n;
}

/* ---- 2: random opts, interpreted -------------------------------------------------------------------------- */

struct expected { /* what the plain program makes of both fills; [1] is exact */
    struct io_mem in[2], out[2];
    bool exact;
    double tol;
};

static struct expected expect(struct lowered *plain) {
    struct expected e = {.exact = is_exact(plain), .tol = tolerance(plain)};
    for (int k = 0; k < 2; k++) {
        e.in[k] = memory(plain, k);
        e.out[k] = memory(plain, k);
        interpret(plain, &e.out[k]);
    }
    return e;
}

static int64_t same_interpreted(const char *path, const struct expected *e, enum choice choice, uint64_t seed,
                                bool keep_math) {
    struct lowered *l = make(path, choice, seed, keep_math);
    int64_t n = 0;
    bool exact = e->exact && seed % 4; /* every fourth list on numbers that do round */
    if (cost(l) > REF_LIMIT) FAIL("an opt list made the interpreter's work %.2g%s", cost(l), repeat(l));
    struct io_mem m = memory(l, exact);
    interpret(l, &m);
    n = compare(l, &m, &e->out[exact],
                exact       ? 0
                : keep_math ? e->tol
                            : 4 * e->tol,
                keep_math ? "interpreted" : "interpreted, math decomposed");
    io_free(&m);
    drop(l);
    return n;
}

/* ---- 3: through the C compiler ----------------------------------------------------------------------------- */

static void run_compiled(struct engine *en, struct lowered *l, const struct ekernel *const *code,
                         struct io_mem *m) {
    struct engine_list *list = engine_list_new(en, &l->err);
    if (!list) FAIL("%s", l->err.msg);
    for (uint32_t i = 0; i < l->prog.kernel.n; i++) {
        const struct io_kernel *ik = &l->io.kernel[i];
        void **p = calloc(RG_MAX(ik->nbuf, code[i]->nbuf) + 1, sizeof *p);
        for (uint32_t k = 0; k < ik->nbuf; k++)
            if (ik->buf[k] != UINT32_MAX) p[k] = m->p[ik->buf[k]];
        if (engine_list_add(list, &l->err, code[i], p, ik->var)) FAIL("%s%s", l->err.msg, repeat(l));
        free(p);
    }
    if (engine_list_run(list, &l->err)) FAIL("%s%s", l->err.msg, repeat(l));
    engine_list_free(list);
}

/* A random list whose program a C compiler has done in seconds: unrolled without end, one took gcc 13 five minutes. */
static struct lowered *make_compilable(struct lowered *home, const char *path, uint64_t seed) {
    enum { LARGEST = 3000 }; /* entries of its kernels */
    for (;; seed += CC_LISTS + 2) {
        struct lowered *l = make_beside(home, path, RANDOM, seed, false);
        uint32_t n = 0;
        for (uint32_t k = 0; k < l->prog.kernel.n; k++) n += l->lin[k].n;
        if (n <= LARGEST) return l;
        drop(l);
    }
}

/* All lists of one file in one call of the compiler. */
static int64_t through_cc(const char *path, const struct expected *e) {
    struct err err = {0};
    struct engine *en = search_engine_open(&err, NULL);
    if (!en) FAIL("%s", err.msg);
    struct lowered *l[CC_LISTS + 2];
    const struct linear *lin[(CC_LISTS + 2) * MAX_KERNELS];
    const struct ekernel *code[(CC_LISTS + 2) * MAX_KERNELS];
    int64_t n = 0;
    uint32_t total = 0;
    for (int i = 0; i < CC_LISTS + 2; i++) {
        l[i] = i > 1 ? make_compilable(l[0], path, (uint64_t)i)
                     : make_beside(i ? l[0] : NULL, path, i ? AS_FILE : PLAIN, (uint64_t)i, false);
        for (uint32_t k = 0; k < l[i]->prog.kernel.n; k++) lin[total++] = &l[i]->lin[k];
    }
    if (engine_compile(en, &err, lin, total, code)) FAIL("%s: %s", path, err.msg);
    for (int i = 0; i < CC_LISTS + 2; i++) {
        for (int exact = 0; exact < 2; exact++) {
            struct io_mem m = memory(l[i], exact);
            run_compiled(en, l[i], code + (uint32_t)i * l[i]->prog.kernel.n, &m);
            n += compare(l[i], &m, &e->out[exact], exact && e->exact ? 0 : 4 * e->tol, "compiled");
            io_free(&m);
        }
    }
    for (int i = CC_LISTS + 1; i >= 0; i--) drop(l[i]);
    engine_close(en);
    return n;
}

/* ---- the tests --------------------------------------------------------------------------------------------- */

static uint64_t seeds(void) {
    const char *s = getenv("GOLDEN_SEEDS");
#ifdef RIDGE_DEBUG_BUILD
    return s ? strtoull(s, NULL, 10) : 30;
#else
    return s ? strtoull(s, NULL, 10) : 200;
#endif
}

static void golden(const char *name) {
    char path[200];
    snprintf(path, sizeof path, SMALL "%s.uop", name);
    struct lowered *plain = make(path, PLAIN, 0, true);
    if (cost(plain) > REF_LIMIT) SKIP("%s would take %.2g evaluations", path, cost(plain));
    int64_t values = outside(name, plain);
    struct expected e = expect(plain);
    int64_t same =
        same_interpreted(path, &e, AS_FILE, 1, true) + same_interpreted(path, &e, AS_FILE, 4, false);
    for (uint64_t seed = 0; seed < seeds(); seed++) {
        same += same_interpreted(path, &e, RANDOM, seed, true);
        if (seed % 10 == 0) same += same_interpreted(path, &e, RANDOM, seed, false);
    }
    int64_t compiled = through_cc(path, &e);
    TEST_INFO("%lld outside values, %lld values under %llu random opt lists (%s), %lld through cc",
              (long long)values, (long long)same, (unsigned long long)seeds(), e.exact ? "exact" : "bounded",
              (long long)compiled);
    for (int k = 0; k < 2; k++) io_free(&e.in[k]), io_free(&e.out[k]);
    drop(plain);
}

#define X(name) \
    TEST_SLOW(golden_##name, 900) { golden(#name); }
KERNELS(X)
#undef X

static const char *const known[] = {
#define X(name) #name,
    KERNELS(X)
#undef X
};

/* ---- 4: on a GPU, or at least by its compiler ------------------------------------------------------------- */

enum { GPU_LISTS = 16 };

static enum choice gpu_choice(int i) {
    return i == 0 ? PLAIN : i == 1 ? AS_FILE : i == 2 ? GPU : i % 2 ? GPU_RANDOM : RANDOM;
}

static void run_far(struct engine *en, struct lowered *l, const struct ekernel *const *code,
                    struct io_mem *m) {
    for (uint32_t i = 0; i < l->prog.kernel.n; i++) {
        const struct io_kernel *ik = &l->io.kernel[i];
        uint32_t n = RG_MAX(ik->nbuf, code[i]->nbuf);
        void **p = calloc(n + 1, sizeof *p);
        size_t *bytes = calloc(n + 1, sizeof *bytes);
        for (uint32_t k = 0; k < ik->nbuf; k++)
            if (ik->buf[k] != UINT32_MAX)
                p[k] = m->p[ik->buf[k]], bytes[k] = io_bytes(&l->io.buf[ik->buf[k]]);
        cuda_run(en, code[i], p, bytes, ik->var);
        free(p), free(bytes);
    }
}

struct far_count {
    int64_t values;
    uint32_t kernels, blocks; /* blocks: kernels that threads run together */
};

static void golden_on_gpu(struct engine *en, const char *name, int lists, struct far_count *sum) {
    char path[200];
    struct err err = {0};
    snprintf(path, sizeof path, SMALL "%s.uop", name);
    struct lowered *plain = make(path, PLAIN, 0, true), *l[GPU_LISTS];
    struct expected e = expect(plain);
    const struct linear *lin[GPU_LISTS * MAX_KERNELS];
    const struct ekernel *code[GPU_LISTS * MAX_KERNELS];
    uint32_t total = 0;
    for (int i = 0; i < lists; i++) {
        l[i] = make_beside(i ? l[0] : NULL, path, gpu_choice(i), (uint64_t)i, false);
        for (uint32_t k = 0; k < l[i]->prog.kernel.n; k++) lin[total++] = &l[i]->lin[k];
    }
    if (engine_compile(en, &err, lin, total, code)) FAIL("%s: %s", path, err.msg);
    for (uint32_t i = 0; i < total; i++) sum->blocks += code[i]->block > 0;
    for (int i = 0; i < lists; i++)
        for (int exact = 0; exact < 2; exact++) {
            struct io_mem m = memory(l[i], exact);
            run_far(en, l[i], code + (uint32_t)i * l[i]->prog.kernel.n, &m);
            sum->values += compare(l[i], &m, &e.out[exact], exact && e.exact ? 0 : 4 * e.tol, "on the GPU");
            io_free(&m);
        }
    sum->kernels += total;
}

static void tell_far(const struct far_count *n, const char *where) {
    TEST_INFO("%lld values %s, %u kernels, %u of them by blocks", (long long)n->values, where, n->kernels,
              n->blocks);
}

#define X(name)                                  \
    TEST_MANUAL(cuda_gpu_golden_##name, 120) {   \
        struct engine *en = cuda_engine();       \
        struct far_count n = {0};                \
        golden_on_gpu(en, #name, GPU_LISTS, &n); \
        tell_far(&n, "on the GPU");              \
        engine_close(en);                        \
    }
KERNELS(X)
#undef X

/* Plain, as they stand in the file, as the heuristic has them; under random lists: opencl_random. */
TEST_SLOW(opencl_golden, 900) {
    struct engine *en = opencl_engine();
    struct far_count n = {0};
    for (size_t f = 0; f < RG_COUNT(known); f++) golden_on_gpu(en, known[f], 3, &n);
    tell_far(&n, "by OpenCL");
    engine_close(en);
}

/* The small kernels with many lists, the large ones as a GPU would run them. */
TEST_SLOW(cuda_compile_golden, 900) {
    struct err err = {0};
    struct arena arena;
    arena_init(&arena, &err);
    cuda_need_nvrtc(&arena);
    struct cuda_texts t = {.arena = &arena};
    static const char *const large[] = {
        "softmax", "layernorm",   "layernorm_bwd", "matmul_2048",   "matmul_bias_gelu", "conv5x5", "adam",
        "gather",  "scatter_add", "sum_split",     "transpose_add", "two_outputs",      "cumsum",  "argmax"};
    for (size_t f = 0; f < RG_COUNT(large); f++) {
        char path[200];
        snprintf(path, sizeof path, "tests/golden/%s.uop", large[f]);
        struct lowered *l = make(path, GPU, 0, false);
        for (uint32_t k = 0; k < l->prog.kernel.n; k++) cuda_render(&t, &l->lin[k], false);
        drop(l);
    }
    t.whole = t.text.n; /* what we choose for them fits into registers */
    for (size_t f = 0; f < RG_COUNT(known); f++) {
        char path[200];
        snprintf(path, sizeof path, SMALL "%s.uop", known[f]);
        for (int i = f % 2; i < 5; i += 2) { /* GPU and PLAIN, or AS_FILE and GPU_RANDOM */
            struct lowered *l = make(path, gpu_choice(i), (uint64_t)i, false);
            for (uint32_t k = 0; k < l->prog.kernel.n; k++) cuda_render(&t, &l->lin[k], i % 2);
            drop(l);
        }
    }
    TEST_INFO(
        "%u golden kernels compiled by NVRTC, %u texts run by blocks, %u under random opts use the stack",
        cuda_compile_texts(&t), t.blocks, t.spilled);
    arena_free(&arena);
}

/* A new file in the folder must get its row above. */
TEST(golden_every_small_file_has_a_test) {
    DIR *d = opendir(SMALL);
    CHECK(d != NULL);
    size_t found = 0;
    for (struct dirent *f; (f = readdir(d));) {
        size_t n = strlen(f->d_name), i = 0;
        if (n < 5 || strcmp(f->d_name + n - 4, ".uop")) continue;
        while (i < RG_COUNT(known) && (strlen(known[i]) != n - 4 || strncmp(known[i], f->d_name, n - 4))) i++;
        if (i == RG_COUNT(known)) FAIL(SMALL "%s has no row in KERNELS of tests/unit/golden.c", f->d_name);
        found++;
    }
    closedir(d);
    CHECK_EQ(found, RG_COUNT(known));
}

/* The large kernels: they lower under no opts and their own, into programs that ask for the same work. */
TEST_SLOW(golden_large_kernels_lower, 600) {
    DIR *d = opendir("tests/golden");
    CHECK(d != NULL);
    int kernels = 0;
    for (struct dirent *f; (f = readdir(d));) {
        size_t n = strlen(f->d_name);
        char path[400];
        if (n < 5 || strcmp(f->d_name + n - 4, ".uop")) continue;
        snprintf(path, sizeof path, "tests/golden/%s", f->d_name);
        struct lowered *plain = make(path, PLAIN, 0, true), *opt = make(path, AS_FILE, 0, false);
        for (uint32_t i = 0; i < plain->prog.kernel.n; i++, kernels++) {
            CHECK(plain->lin[i].n > 0 && opt->lin[i].n > 0);
            CHECK_NEAR(opt->lin[i].est.flops, plain->lin[i].est.flops, 0);
            CHECK_NEAR(opt->lin[i].est.bytes, plain->lin[i].est.bytes, 0);
        }
        drop(plain);
        drop(opt);
    }
    closedir(d);
    TEST_COUNT(kernels, "large kernels lowered");
    CHECK(kernels > 0);
}

/* `make fuzz`: thousands of lists for every kernel, interpreted only. */
TEST_MANUAL(fuzz_golden_opts, 7200) {
    int64_t n = 0;
    for (size_t i = 0; i < RG_COUNT(known); i++) {
        char path[200];
        snprintf(path, sizeof path, SMALL "%s.uop", known[i]);
        struct lowered *plain = make(path, PLAIN, 0, true);
        struct expected e = expect(plain);
        for (uint64_t seed = 0; seed < 5000; seed++) n += same_interpreted(path, &e, RANDOM, seed, true);
        for (int k = 0; k < 2; k++) io_free(&e.in[k]), io_free(&e.out[k]);
        drop(plain);
    }
    TEST_COUNT(n, "values under 5000 random opt lists for each kernel");
}
