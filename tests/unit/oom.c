/* oom.c: out of memory at every single allocation of a compile. Each time there must be an error that says
 * so, no crash, no leak (the address sanitizer looks), and the next compile must work as if nothing was. */
#include "codegen/codegen.h"
#include "ref/ref.h"
#include "render/render.h"
#include "test.h"

#include <dirent.h>
#include <stdlib.h>

struct compile {
    struct err err;
    struct arena arena;
    struct ir ir;
    const char *text;
    size_t n;
    struct str c; /* the rendered text */
    struct linear lin;
};

/* Everything `ridge opt FILE --emit c` does. */
static void compile_all(void *arg) {
    struct compile *c = arg;
    struct program prog;
    ir_init(&c->ir, &c->arena);
    ir_parse(&c->ir, c->text, c->n, "test.uop", &prog);
    str_init(&c->c, &c->arena);
    render_c_preamble(&c->c);
    for (uint32_t i = 0; i < prog.kernel.n; i++) {
        verify_kernel(&c->ir, &prog.kernel.p[i]);
        lower(&c->ir, &prog.kernel.p[i], &(struct lower_opts){.opts = NULL}, &c->lin);
        render_c(&c->c, &c->ir, &c->lin);
        struct str s;
        str_init(&s, &c->arena);
        ir_print_kernel(&s, &c->ir, &prog.kernel.p[i]);
        linear_print(&s, &c->ir, &c->lin);
    }
}

static int compile(struct compile *c, const char *text, size_t n) {
    memset(c, 0, sizeof *c);
    c->text = text, c->n = n;
    arena_init(&c->arena, &c->err);
    return err_guard(&c->err, compile_all, c);
}

static char *read_text(const char *path, size_t *n) {
    struct err e = {0};
    struct arena a;
    char *text;
    arena_init(&a, &e);
    if (os_read_file(&e, &a, path, 1 << 20, &text, n)) FAIL("%s", e.msg);
    char *copy = malloc(*n + 1);
    memcpy(copy, text, *n + 1);
    arena_free(&a);
    return copy;
}

/* Returns how many allocations were made to fail. */
static int sweep(const char *path) {
    struct compile c;
    size_t n;
    char *text = read_text(path, &n);
    if (compile(&c, text, n)) FAIL("%s", c.err.msg);
    arena_free(&c.arena);
    uint64_t before = mem_count();
    if (compile(&c, text, n))
        FAIL("%s", c.err.msg); /* again: what is allocated once per process is there now */
    uint64_t total = mem_count() - before;
    char *whole = strdup(c.c.p);
    arena_free(&c.arena);
    CHECK(total > 0);
    uint64_t step = total / 2000 + 1;
    int failures = 0;
    for (uint64_t at = 1; at <= total; at += step, failures++) {
        mem_fail_at((int64_t)at);
        int code = compile(&c, text, n);
        mem_fail_at(-1);
        if (code != RG_ENOMEM || !strstr(c.err.msg, "memory"))
            FAIL("allocation %llu of %llu fails: status %d, '%s'", (unsigned long long)at,
                 (unsigned long long)total, code, c.err.msg);
        arena_free(&c.arena);
    }
    if (compile(&c, text, n)) FAIL("after all failures: %s", c.err.msg);
    CHECK_STR(c.c.p, whole);
    arena_free(&c.arena);
    free(whole);
    free(text);
    return failures;
}

/* Arenas take memory in large blocks, so one small kernel meets few allocations; all kernels together meet many. */
static int sweep_folder(const char *folder) {
    DIR *d = opendir(folder);
    CHECK(d != NULL);
    int failures = 0;
    for (struct dirent *f; (f = readdir(d));) {
        size_t n = strlen(f->d_name);
        char path[400];
        if (n < 5 || strcmp(f->d_name + n - 4, ".uop")) continue;
        snprintf(path, sizeof path, "%s/%s", folder, f->d_name);
        failures += sweep(path);
    }
    closedir(d);
    return failures;
}

TEST_SLOW(oom_compile_small_kernels, 900) {
    int failures = sweep_folder("tests/golden/small");
    CHECK(failures > 16);
    TEST_COUNT(failures, "allocations made to fail");
}

TEST_SLOW(oom_compile_large_kernels, 900) {
    int failures = sweep_folder("tests/golden");
    CHECK(failures > 30);
    TEST_COUNT(failures, "allocations made to fail");
}

/* The interpreter owns its memory too. */
TEST_SLOW(oom_interpreter, 600) {
    struct compile c;
    size_t n;
    char *text = read_text("tests/golden/small/column_sum.uop", &n);
    if (compile(&c, text, n)) FAIL("%s", c.err.msg);
    static float x[198], out[22];
    for (int i = 0; i < 198; i++) x[i] = 1;
    struct ref_buf bufs[2] = {{x, sizeof x, "x", NULL, NULL}, {out, sizeof out, "out", NULL, NULL}};
    int64_t at = 1;
    for (int code = RG_ENOMEM; code; at++) {
        struct err e = {0};
        mem_fail_at(at);
        code = ref_linear(&e, &c.lin, bufs, 2, NULL, 0, c.lin.grid);
        mem_fail_at(-1);
        if (code && code != RG_ENOMEM) FAIL("allocation %lld fails: %s", (long long)at, e.msg);
        CHECK(at < 100000);
    }
    CHECK(at > 2);
    for (int i = 0; i < 22; i++) CHECK_NEAR(out[i], 9, 0);
    arena_free(&c.arena);
    free(text);
}
