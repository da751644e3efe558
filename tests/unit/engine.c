/* Tests of src/engine and src/device/cpu: compile errors, sharing, lists, splitting, the object loader, memory. */
#include "prog.h"
#include "engine/internal.h"
#include "event/event.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static struct err err;
static struct arena arena;
static struct engine *en;

static void setup(void) {
    arena_init(&arena, &err);
    setenv("RIDGE_CACHE", "0", 1);
    unsetenv("RIDGE_CC");
    env_reload();
    if (!os_find_program(&arena, "clang") && !os_find_program(&arena, "gcc") &&
        !os_find_program(&arena, "cc"))
        SKIP("no C compiler");
    en = engine_open(&err, NULL);
    CHECK(en);
}

static const struct ekernel *text(const char *name, const char *body, int64_t grid, uint32_t nbuf) {
    const char *s = arena_printf(
        &arena, "void %s(void *const *buf, const i64 *var, u32 t0, u32 t1, void *scratch) {\n%s\n}\n", name,
        body);
    const struct ekernel *k;
    struct etext t = {.name = name, .text = s, .grid = grid, .nbuf = nbuf, .nvar = 1};
    return engine_compile_text(en, &err, &t, 1, &k) ? NULL : k;
}

TEST(engine_runs_a_list) {
    setup();
    const struct ekernel *inc =
        text("inc", "for (u32 t = t0; t < t1; t++) ((f32 *)buf[0])[t] += (f32)var[0];", 100, 1);
    if (!inc) FAIL("%s", err.msg);
    float *x = engine_alloc(en, &err, 400);
    memset(x, 0, 400); /* it may have been anyone's */
    struct engine_list *l = engine_list_new(en, &err);
    for (int64_t i = 0; i < 10; i++) CHECK(!engine_list_add(l, &err, inc, (void *[]){x}, &i));
    CHECK_EQ(engine_list_count(l), 10);
    for (int i = 0; i < 3; i++) CHECK(!engine_list_run(l, &err));
    for (int i = 0; i < 100; i++) CHECK_EQ(x[i], 135);
    *engine_list_vars(l, 9) = 1000; /* a parameter changes between runs */
    CHECK(!engine_list_run(l, &err));
    CHECK_EQ(x[99], 135 + 36 + 1000);
    CHECK(!engine_list_vars(l, 10) && !engine_list_bufs(l, 10));
    engine_list_free(l);
    engine_free(en, x, 400);
    engine_close(en);
}

TEST(engine_every_command_leaves_an_event) {
    setup();
    const struct ekernel *k = text("noted", "", 1, 0);
    struct engine_list *l = engine_list_new(en, &err);
    for (int i = 0; i < 5; i++) CHECK(!engine_list_add(l, &err, k, NULL, (int64_t[]){0}));
    event_reset();
    CHECK(!engine_list_run(l, &err));
    struct event_list ev;
    event_snapshot(&arena, &ev);
    int seen = 0;
    for (size_t i = 0; i < ev.n; i++)
        seen += ev.p[i].kind == EVENT_KERNEL && !strcmp(event_name_text(ev.p[i].name), "noted");
    CHECK_EQ(seen, 5);
    CHECK(engine_list_ns(l, 4) < 1000000000);
    engine_list_free(l);
    engine_close(en);
}

/* Each worker must have its own scratch, and each iteration must run once. */
TEST(engine_splits_the_grid) {
    setup();
    const char *body = "i64 *s = scratch; i32 *out = buf[0];\n"
                       "for (u32 t = t0; t < t1; t++) {\n"
                       "  for (int i = 0; i < 500; i++) s[i] = t;\n"
                       "  __asm__ volatile(\"\" ::: \"memory\");\n"
                       "  i64 sum = 0; for (int i = 0; i < 500; i++) sum += s[i];\n"
                       "  out[t] += sum == (i64)t * 500 ? 1 : -1000000;\n}";
    const char *s = arena_printf(
        &arena, "void split(void *const *buf, const i64 *var, u32 t0, u32 t1, void *scratch) {%s}", body);
    struct etext t = {.name = "split", .text = s, .grid = 20000, .nbuf = 1, .scratch = 4000};
    const struct ekernel *k;
    if (engine_compile_text(en, &err, &t, 1, &k)) FAIL("%s", err.msg);
    int32_t *x = engine_alloc(en, &err, 80000);
    struct engine_list *l = engine_list_new(en, &err);
    CHECK(!engine_list_add(l, &err, k, (void *[]){x}, NULL));
    for (int i = 0; i < 20; i++) CHECK(!engine_list_run(l, &err));
    for (int i = 0; i < 20000; i++) CHECK_EQ(x[i], 20);
    engine_list_free(l);
    engine_free(en, x, 80000);
    engine_close(en);
}

TEST(engine_chunk_policy) {
    struct estimate none = {0}, small = {.flops_issued = 1000, .bytes_issued = 4000},
                    large = {.flops_issued = 1e9, .bytes_issued = 1e7},
                    middle = {.flops_issued = 40.0 * 5000};
    CHECK_EQ(engine_chunk(1000, &small, false, 8), 1000);
    CHECK_EQ(engine_chunk(1000, &large, false, 1), 1000);
    CHECK_EQ(engine_chunk(1000, &large, true, 8), 1000);
    CHECK_EQ(engine_chunk(1000, &large, false, 2), 125);
    CHECK_EQ(engine_chunk(1000, &middle, false, 2), 200); /* five pieces of a microsecond */
    CHECK_EQ(engine_chunk(1000, &none, false, 2), 125);   /* nothing known: cut */
    CHECK_EQ(engine_chunk(3, &large, false, 8), 1);
    CHECK_EQ(engine_chunk(0, &large, false, 8), 0);
    CHECK_EQ(engine_chunk(UINT32_MAX, &large, false, 2), 536870912);
}

TEST(engine_shares_code) {
    setup();
    const struct ekernel *a = text("same", "", 5, 0), *b = text("same", "", 5, 0),
                         *c = text("same", "", 9, 0);
    CHECK(a && a == b && a != c && a->fn == c->fn && c->grid == 9);
    CHECK_EQ(engine_stats(en).compiled, 1);
    CHECK_EQ(engine_stats(en).memory_hits, 2);
    /* two texts with one name in one batch */
    const char *head =
        "void twin(void *const *buf, const i64 *var, u32 t0, u32 t1, void *scratch) { *(i32 *)buf[0] =";
    struct etext t[3] = {
        {.name = "twin", .text = arena_printf(&arena, "%s 1; }", head), .grid = 1, .nbuf = 1},
        {.name = "twin", .text = arena_printf(&arena, "%s 2; }", head), .grid = 1, .nbuf = 1}};
    t[2] = t[0];
    const struct ekernel *k[3];
    int x, y;
    if (engine_compile_text(en, &err, t, 3, k)) FAIL("%s", err.msg);
    k[0]->fn((void *[]){&x}, NULL, 0, 1, NULL);
    k[1]->fn((void *[]){&y}, NULL, 0, 1, NULL);
    CHECK(x == 1 && y == 2 && k[2] == k[0]);
    CHECK(text("for", "for (u32 t = t0; t < t1; t++);", 1, 0) && text("u32", "u32 x = (u32)t0;", 1, 0));
    engine_close(en);
}

TEST(engine_explains_compile_errors) {
    setup();
    CHECK(!text("broken", "this is not C;", 1, 0));
    CHECK_EQ(err.code, RG_ECOMPILE);
    char *kept = strstr(err.msg, "kept in ");
    CHECK(kept && strstr(err.msg, "error"));
    char path[256] = "";
    sscanf(kept, "kept in %255[^:]", path);
    CHECK(os_exists(path)); /* the source is there to be looked at */
    *strrchr(path, '/') = 0;
    os_remove_tree(path);
    err_clear(&err);
    CHECK(text("fine", "", 1, 0)); /* the engine still works */
    CHECK(!text("no-name", "", 1, 0) && err.code == RG_EINVAL);
    err_clear(&err);
    CHECK(!text("many", "", (int64_t)1 << 40, 0) && err.code == RG_ELIMIT);
    engine_close(en);
}

static void compiler_gone(const char *cc, const char *says) {
    err_clear(&err);
    setenv("RIDGE_CC", cc, 1);
    setenv("PATH", "/nonexistent", 1);
    env_reload();
    struct engine *e2 = engine_open(&err, NULL);
    CHECK(e2);
    const struct ekernel *k;
    struct etext t = {.name = "k",
                      .text = "void k(void *const *buf, const i64 *var, u32 t0, u32 t1, void *scratch) {}",
                      .grid = 1};
    CHECK_EQ(engine_compile_text(e2, &err, &t, 1, &k), RG_ECOMPILE);
    CHECK(strstr(err.msg, says));
    engine_close(e2);
}

/* What comes of a compiler that does this when it is asked for more than its version. */
static void compiler_is(const char *does, const char *says) {
    char *top;
    unsetenv("TMPDIR");
    CHECK(!os_temp_dir(&err, &arena, &top));
    const char *cc = arena_printf(&arena, "%s/cc", top);
    const char *body =
        arena_printf(&arena, "#!/bin/sh\ncase \"$1\" in --version) echo fake 1;; *) %s;; esac\n", does);
    CHECK(!os_write_file(&err, cc, body, strlen(body), 0700));
    setenv("RIDGE_CC", cc, 1);
    setenv("TMPDIR", top, 1);
    env_reload();
    CHECK(!text("k", "", 1, 0));
    CHECK_EQ(err.code, RG_ECOMPILE);
    if (!strstr(err.msg, says) || !strstr(err.msg, cc)) FAIL("%s", err.msg);
    err_clear(&err);
    os_remove_tree(top);
}

TEST(engine_with_a_bad_compiler) {
    setup();
    setenv("RIDGE_CC_TIMEOUT", "1", 1);
    compiler_is("sleep 1000", "was killed: it was not done after 1 seconds with generated code, kept in ");
    setenv("RIDGE_CC_TIMEOUT", "0", 1);
    compiler_is("exit 0", "wrote no object; is it a C compiler? RIDGE_CC sets another");
    compiler_is("echo no licence; exit 7", "failed with status 7 on generated code, kept in ");
    compiler_is("kill -9 $$", "was killed with status 137 on generated code");
    engine_close(en);
}

/* A compiler called `name` in `dir`: notes each unit in log, does as `before` says, then what the real one does. */
static void wrap_compiler(const char *dir, const char *name, const char *before, const char *real) {
    const char *cc = arena_printf(&arena, "%s/%s", dir, name);
    const char *body = arena_printf(&arena,
                                    "#!/bin/sh\ncase \"$*\" in *--version*) echo fake 1; exit;; esac\n"
                                    "echo \"$*\" >> %s/log\n%s\nexec %s \"$@\"\n",
                                    dir, before, real);
    CHECK(!os_write_file(&err, cc, body, strlen(body), 0700));
    setenv("RIDGE_CC", cc, 1);
    setenv("RIDGE_CACHE", "0", 1);
    env_reload();
}

/* clang 14 crashes on some kernels where the CPU has AVX512-FP16; those are compiled without. */
TEST(engine_with_a_compiler_that_crashes) {
    setup();
    if (!strstr(os_cpu()->flags, "-mavx512fp16")) SKIP("the CPU has no AVX512-FP16");
    char *top;
    CHECK(!os_temp_dir(&err, &arena, &top));
    wrap_compiler(top, "cc", "case \"$*\" in *-mavx512fp16*) echo in backend: Cannot select; exit 70;; esac",
                  os_find_cc(&arena));
    int x = 0;
    const struct ekernel *k = text("crashes", "*(i32 *)buf[0] = 7;", 1, 1);
    if (!k) FAIL("%s", err.msg);
    k->fn((void *[]){&x}, NULL, 0, 1, NULL);
    CHECK_EQ(x, 7);
    CHECK(!text("broken", "this is not C;", 1, 0));
    CHECK(strstr(err.msg, "Cannot select")); /* the first error, not that of the second try */
    os_remove_tree(top);
    engine_close(en);
}

/* How often the compiler was asked; *padded: how often for branches inside of 32 bytes. */
static int times_compiled(const char *dir, int *padded) {
    char *log;
    size_t n;
    int times = 0;
    CHECK(!os_read_file(&err, &arena, arena_printf(&arena, "%s/log", dir), 1 << 20, &log, &n));
    *padded = 0;
    for (char *l = strtok(log, "\n"); l; l = strtok(NULL, "\n"))
        times++, *padded += strstr(l, "within-32B") != NULL;
    return times;
}

/* Where branches across 32 bytes of code are slow, gcc and clang are told so, each by its own flag, at the first try. */
TEST(engine_keeps_branches_inside_of_lines) {
    setup();
    if (!os_cpu()->jcc_erratum) SKIP("the CPU has no JCC erratum");
    static const char *const name[] = {"gcc", "clang"};
    int x = 0, padded, tried = 0;
    for (size_t i = 0; i < RG_COUNT(name); i++) {
        char *top;
        const char *real = os_find_program(&arena, name[i]);
        if (!real) continue;
        CHECK(!os_temp_dir(&err, &arena, &top));
        wrap_compiler(top, name[i], "", real);
        const struct ekernel *k = text(arena_printf(&arena, "with_%s", name[i]), "*(i32 *)buf[0] = 7;", 1, 1);
        if (!k) FAIL("%s", err.msg);
        k->fn((void *[]){&x}, NULL, 0, 1, NULL);
        CHECK_EQ(x, 7);
        CHECK_EQ(times_compiled(top, &padded), 1);
        CHECK_EQ(padded, 1);
        os_remove_tree(top);
        tried++;
    }
    if (!tried) SKIP("neither gcc nor clang is here");
    engine_close(en);
}

/* An assembler before binutils 2.34: the flag is left out, and not tried again. */
TEST(engine_with_an_assembler_without_the_flag) {
    setup();
    if (!os_cpu()->jcc_erratum) SKIP("the CPU has no JCC erratum");
    char *top;
    int padded;
    CHECK(!os_temp_dir(&err, &arena, &top));
    wrap_compiler(top, "cc", "case \"$*\" in *within-32B*) echo as: unrecognized option; exit 1;; esac",
                  os_find_cc(&arena));
    if (!text("old_assembler", "*(i32 *)buf[0] = 7;", 1, 1)) FAIL("%s", err.msg);
    CHECK_EQ(times_compiled(top, &padded), 3); /* both spellings, and none */
    if (!text("old_assembler_again", "*(i32 *)buf[0] = 8;", 1, 1)) FAIL("%s", err.msg);
    CHECK_EQ(times_compiled(top, &padded), 4);
    CHECK_EQ(padded, 2);
    os_remove_tree(top);
    engine_close(en);
}

/* A wrapper called cc around clang refuses gcc's spelling: clang's is tried then, and first from there on. */
TEST(engine_with_a_wrapper_around_clang) {
    setup();
    const char *clang = os_find_program(&arena, "clang");
    if (!os_cpu()->jcc_erratum) SKIP("the CPU has no JCC erratum");
    if (!clang) SKIP("clang is not here");
    char *top;
    int padded;
    CHECK(!os_temp_dir(&err, &arena, &top));
    wrap_compiler(top, "cc", "", clang);
    if (!text("wrapped", "*(i32 *)buf[0] = 7;", 1, 1)) FAIL("%s", err.msg);
    CHECK_EQ(times_compiled(top, &padded), 2);
    if (!text("wrapped_again", "*(i32 *)buf[0] = 8;", 1, 1)) FAIL("%s", err.msg);
    CHECK_EQ(times_compiled(top, &padded), 3);
    CHECK_EQ(padded, 3);
    os_remove_tree(top);
    engine_close(en);
}

/* Kernels that are compiled together share a unit, one for each compiler that may run. */
TEST(engine_compilers_at_once) {
    static const uint64_t units[] = {1, 2, 3};
    setup();
    setenv("RIDGE_CACHE", "0", 1);
    for (size_t i = 0; i < RG_COUNT(units); i++) {
        setenv("RIDGE_CC_JOBS", (const char *[]){"1", "2", "9"}[i], 1);
        env_reload();
        uint64_t was = engine_stats(en).units;
        struct etext t[3];
        const struct ekernel *k[3];
        for (int n = 0; n < 3; n++)
            t[n] =
                (struct etext){.name = "of_a_unit",
                               .text = arena_printf(&arena,
                                                    "void of_a_unit(void *const *buf, const i64 *var, u32 "
                                                    "t0, u32 t1, void *scratch) { *(i32 *)buf[0] = %d; }\n",
                                                    (int)(10 * i) + n),
                               .grid = 1,
                               .nbuf = 1};
        if (engine_compile_text(en, &err, t, 3, k)) FAIL("%s", err.msg);
        CHECK_EQ(engine_stats(en).units - was, units[i]);
    }
    engine_close(en);
}

TEST(engine_without_compiler) {
    setup();
    compiler_gone("", "no C compiler found on PATH; install clang (apt-get install clang) or set RIDGE_CC");
    compiler_gone("no-such-compiler", "RIDGE_CC=no-such-compiler");
    engine_close(en);
}

/* ---- adding to memory ------------------------------------------------------------------------------- */

/* grid of 8: out[where*by + g*c + add .. add + lanes) += 1 */
static bool adds_alone(int64_t by, int64_t c, int64_t add, unsigned lanes, int64_t second) {
    struct ir ir;
    struct prog p;
    ir_init(&ir, &arena);
    prog_init(&p, &ir, "adds");
    const uop *out = param(&p, DT_F32, 0, 4096), *idx = param(&p, DT_I64, 1, 64),
              *one = uop_flt(&ir, DT_F32, 1);
    const uop *g = range(&p, DT_I64, 8, AX_GRID), *r = range(&p, DT_I64, 64, AX_LOOP);
    const uop *row = op2(&p, OP_MUL, load(&p, idx, r, 1), uop_int(&ir, DT_I64, by));
    const uop *at0 = op2(&p, OP_ADD, op2(&p, OP_ADD, row, op2(&p, OP_MUL, g, uop_int(&ir, DT_I64, c))),
                         uop_int(&ir, DT_I64, add));
    opn(&p, OP_STORE_ADD, DT_VOID, 1, at(&p, out, at0, lanes), one, NULL, ARG_NONE);
    const uop *at1 = op2(&p, OP_ADD, at0, uop_int(&ir, DT_I64, second));
    opn(&p, OP_STORE_ADD, DT_VOID, 1, at(&p, out, at1, lanes), one, NULL, ARG_NONE);
    return !linear_is_serial(finish(&p));
}

TEST(engine_serial_proof) {
    arena_init(&arena, &err);
    CHECK(adds_alone(64, 8, 0, 4, 4));  /* 8 x 8 columns, rows of 64 */
    CHECK(adds_alone(128, 8, 3, 4, 4)); /* longer rows, shifted columns */
    CHECK(!adds_alone(64, 8, 0, 4, 5)); /* the second store reaches into the neighbour's */
    CHECK(!adds_alone(32, 8, 0, 4, 4)); /* rows are shorter than what all iterations cover */
    CHECK(!adds_alone(64, 4, 0, 4, 4));
    CHECK(!adds_alone(1, 0, 0, 1, 0)); /* any iteration, any element */
}

/* ---- the loader ------------------------------------------------------------------------------------- */

static struct device *dev;

static struct dev_object object_of(const char *source) {
    struct dev_object o;
    CHECK(!device_cpu.open(&err, &device_cpu, &dev));
    if (device_cpu.compile(dev, &err, &arena, &source, 1, &o)) FAIL("%s", err.msg);
    return o;
}

TEST(engine_loader_relocates) {
    setup();
    struct dev_object o = object_of(
        "typedef float v4 __attribute__((vector_size(16))); typedef double d2 "
        "__attribute__((vector_size(16)));\n"
        "static const int table[8] = {3, 1, 4, 1, 5, 9, 2, 6};\n"
        "static const char *const words[2] = {\"first\", \"second\"};\n"
        "void *memset(void *, int, unsigned long);\n"
        "__attribute__((noinline)) static int twice(int x) { __asm__ volatile(\"\"); return 2 * x; }\n"
        "void k(void *const *buf, const long *var, unsigned t0, unsigned t1, void *scratch) {\n"
        "  int *o = buf[0]; v4 f = {1.5f, 2.25f, -3, 1e9f}; d2 d = {0.1, 0.2};\n"
        "  o[0] = twice(table[var[0]]); o[1] = words[var[0] & 1][0];\n"
        "  *(v4 *)(o + 4) = f * (float)var[0]; *(d2 *)(o + 8) = d; memset(o + 12, 7, var[0] * 4); }\n");
    struct module *m;
    if (device_cpu.load(dev, &err, o.data, o.n, &m)) FAIL("%s", err.msg);
    _Alignas(16) int out[20] = {0};
    dev_fn *k = device_cpu.symbol(m, "k");
    CHECK(k && !device_cpu.symbol(m, "none"));
    k((void *[]){out}, (int64_t[]){5}, 0, 1, NULL);
    float f[4];
    double d[2];
    memcpy(f, out + 4, 16);
    memcpy(d, out + 8, 16);
    CHECK(out[0] == 18 && out[1] == 's' && f[0] == 7.5f && f[3] == 5e9f && d[1] == 0.2 &&
          out[16] == 0x07070707 && !out[17]);
    device_cpu.unload(m);
    device_cpu.close(dev);
    engine_close(en);
}

/* Every prefix and many bit flips: an error or a module, never a crash. */
TEST(engine_loader_survives_damage) {
    setup();
    struct dev_object o = object_of("static const int t[4] = {1, 2, 3, 4}; extern int putchar(int);\n"
                                    "void k(void *const *b, const long *v, unsigned t0, unsigned t1, void "
                                    "*s) { *(int *)b[0] = t[*v & 3]; putchar(*v); }");
    struct module *m;
    int refused = 0;
    for (size_t n = 0; n < o.n; n += 7) {
        err_clear(&err);
        if (device_cpu.load(dev, &err, o.data, n, &m))
            refused++;
        else
            device_cpu.unload(m);
    }
    CHECK(refused > (int)(o.n / 14));
    unsigned char *copy = mem_alloc(o.n);
    for (size_t i = 0; i < o.n * 8; i += 5) {
        err_clear(&err);
        memcpy(copy, o.data, o.n);
        copy[i / 8] ^= (unsigned char)(1 << i % 8);
        if (!device_cpu.load(dev, &err, copy, o.n, &m)) {
            device_cpu.symbol(m, "k");
            device_cpu.unload(m);
        }
    }
    mem_free(copy);
    device_cpu.close(dev);
    engine_close(en);
}

/* ---- memory ----------------------------------------------------------------------------------------- */

/* A CPU that counts its memory and has not much of it. */
static struct {
    int64_t blocks, bytes, most;
    int allocs;
} small;

static void *small_alloc(struct device *d, size_t n) {
    small.allocs++;
    if (small.bytes + (int64_t)n > small.most) return NULL;
    void *p = device_cpu.alloc(d, n);
    if (p) small.blocks++, small.bytes += (int64_t)n;
    return p;
}

static void small_free(struct device *d, void *p, size_t n) {
    device_cpu.free(d, p, n);
    small.blocks--, small.bytes -= (int64_t)n;
}

static struct device_ops small_ops(int64_t most) {
    struct device_ops ops = device_cpu;
    memset(&small, 0, sizeof small);
    small.most = most;
    ops.alloc = small_alloc, ops.free = small_free;
    return ops;
}

TEST(engine_memory_is_used_again) {
    setup();
    engine_close(en);
    struct device_ops ops = small_ops((int64_t)1 << 40);
    en = engine_open(&err, &ops);
    char *a = engine_alloc(en, &err, 100000), *b = engine_alloc(en, &err, 100000);
    CHECK(a && b && a != b && ((uintptr_t)a & 63) == 0);
    memset(a, 1, 100000);
    engine_free(en, a, 100000);
    engine_free(en, b, 100000);
    CHECK_EQ(en->memory.in_use, 0);
    int before = small.allocs;
    CHECK(engine_alloc(en, &err, 99000) == b); /* the same class, the most recent first */
    CHECK(engine_alloc(en, &err, 100000) == a);
    CHECK_EQ(small.allocs, before);
    char *other = engine_alloc(en, &err, 200000), *none = engine_alloc(en, &err, 0);
    CHECK(other && none && small.allocs == before + 2);
    CHECK_EQ(en->memory.in_use, 99000 + 100000 + 200000);
    engine_free(en, none, 0);
    engine_free(en, other, 200000);
    engine_free(en, a, 100000);
    engine_free(en, b, 99000);
    engine_close(en);
    CHECK_EQ(small.blocks, 0);
    CHECK_EQ(small.bytes, 0); /* each freed with the size it was made with */
}

/* Sizes of all magnitudes: a block holds what was asked for and at most a quarter more. */
TEST(engine_memory_classes) {
    setup();
    engine_close(en);
    struct device_ops ops = small_ops((int64_t)1 << 40);
    en = engine_open(&err, &ops);
    for (size_t n = 1; n < (size_t)1 << 30; n += n / 7 + 1) {
        int64_t before = small.bytes;
        void *p = engine_alloc(en, &err, n);
        int64_t got = small.bytes - before;
        double most = n > (size_t)16 << 20 ? 1.032 : 1.25; /* of a gigabyte a quarter is too much */
        CHECK(p && got >= (int64_t)n && (got <= 4096 || (double)got <= most * (double)n + 1));
        engine_free(en, p, n);
        memory_trim(en);
        CHECK_EQ(small.bytes, 0);
    }
    CHECK(!engine_alloc(en, &err, SIZE_MAX) && err.code == RG_ENOMEM);
    engine_close(en);
}

/* Several small blocks share one of the device; it goes back when all of them are free. */
TEST(engine_memory_small_blocks_share_pages) {
    setup();
    engine_close(en);
    struct device_ops ops = small_ops((int64_t)1 << 40);
    en = engine_open(&err, &ops);
    enum { N = 1000 };
    char *p[N];
    size_t bytes = 0;
    for (int i = 0; i < N; i++) {
        size_t n = (size_t)(1 + i * 37 % 2048);
        CHECK((p[i] = engine_alloc(en, &err, n)));
        CHECK_EQ((uintptr_t)p[i] & 63, 0);
        memset(p[i], i & 0xff, n);
        bytes += n;
    }
    CHECK_EQ(en->memory.in_use, bytes);
    CHECK(small.bytes < 2 * (int64_t)bytes + 6 * 4096 + N * 64); /* powers of two from 64 on */
    for (int i = 0; i < N; i++)                                  /* none overlaps another */
        for (int b = 0; b < 1 + i * 37 % 2048; b++) CHECK_EQ((unsigned char)p[i][b], i & 0xff);
    for (int i = 0; i < N; i += 2) engine_free(en, p[i], (size_t)(1 + i * 37 % 2048));
    memory_trim(en);
    for (int i = 1; i < N; i += 2) CHECK_EQ((unsigned char)p[i][0], i & 0xff);
    int before = small.allocs;
    for (int i = 0; i < N; i += 2) CHECK((p[i] = engine_alloc(en, &err, (size_t)(1 + i * 37 % 2048))));
    CHECK(small.allocs - before < N / 4); /* most fit into pages that were left */
    for (int i = 0; i < N; i++) engine_free(en, p[i], (size_t)(1 + i * 37 % 2048));
    CHECK_EQ(en->memory.in_use, 0);
    memory_trim(en);
    CHECK_EQ(small.bytes, 0);
    engine_close(en);
}

TEST(engine_memory_small_blocks_that_fail) {
    setup();
    engine_close(en);
    struct device_ops ops = small_ops(8192);
    en = engine_open(&err, &ops);
    void *p[200] = {0}, *large;
    int n = 0;
    while (n < 200 && (p[n] = engine_alloc(en, &err, 64))) n++;
    CHECK_EQ(n, 128);
    CHECK_EQ(err.code, RG_ENOMEM);
    err_clear(&err);
    for (int i = 0; i < n; i++) engine_free(en, p[i], 64);
    CHECK((large = engine_alloc(en, &err, 8192))); /* both slabs went back */
    engine_free(en, large, 8192);
    engine_close(en);
    CHECK_EQ(small.blocks, 0);
}

TEST(engine_memory_that_is_kept_goes_back_when_needed) {
    setup();
    engine_close(en);
    struct device_ops ops = small_ops(8 << 20);
    en = engine_open(&err, &ops);
    void *p[6];
    for (int i = 0; i < 6; i++) CHECK((p[i] = engine_alloc(en, &err, 1 << 20)));
    for (int i = 0; i < 6; i++) engine_free(en, p[i], 1 << 20);
    CHECK_EQ(en->memory.kept, 6 << 20);
    void *large = engine_alloc(en, &err, 5 << 20);
    CHECK(large && en->memory.kept == 0 && small.blocks == 1);
    CHECK(!engine_alloc(en, &err, 4 << 20) && err.code == RG_ENOMEM && strstr(err.msg, "4194304 bytes"));
    err_clear(&err);
    engine_free(en, large, 5 << 20);
    CHECK((large = engine_alloc(en, &err, 8 << 20)));
    engine_free(en, large, 8 << 20);
    engine_close(en);
    CHECK_EQ(small.blocks, 0);
}

/* What is kept is bounded by what was needed at once. */
TEST(engine_memory_kept_is_bounded) {
    setup();
    engine_close(en);
    struct device_ops ops = small_ops((int64_t)1 << 40);
    en = engine_open(&err, &ops);
    for (size_t n = 1 << 20; n <= (size_t)128 << 20; n += 1 << 20) { /* always another size, one at a time */
        void *p = engine_alloc(en, &err, n);
        CHECK(p);
        engine_free(en, p, n);
        CHECK(en->memory.kept >= n && en->memory.kept <= RG_MAX(en->memory.peak, (size_t)64 << 20));
        int before = small.allocs;
        CHECK(engine_alloc(en, &err, n) == p &&
              small.allocs == before); /* also when others had to make room */
        engine_free(en, p, n);
    }
    engine_close(en);
    CHECK_EQ(small.blocks, 0);
}

TEST(engine_out_of_memory_is_an_error) {
    setup();
    engine_close(en);
    for (int64_t n = 0; n < 60; n++) {
        struct err e = {0};
        mem_fail_at(n);
        struct engine *x = engine_open(&e, NULL);
        const struct ekernel *k = NULL;
        struct etext t = {.name = "k",
                          .text =
                              "void k(void *const *buf, const i64 *var, u32 t0, u32 t1, void *scratch) {}",
                          .grid = 1};
        struct engine_list *l = NULL;
        if (x && !engine_compile_text(x, &e, &t, 1, &k) && (l = engine_list_new(x, &e)) &&
            !engine_list_add(l, &e, k, NULL, NULL))
            CHECK(!engine_list_run(l, &e));
        engine_list_free(l);
        engine_close(x);
        mem_fail_at(-1);
        CHECK(e.code == 0 || e.code == RG_ENOMEM);
        if (!e.code && n > 5) break;
    }
}
