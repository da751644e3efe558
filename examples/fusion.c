/* fusion.c: how many kernels a program becomes, and what they read and write.
 *
 * A table of small programs with what the planner makes of them: kernels, buffers read and written by all of them, bytes
 * moved, bytes of temporaries. The numbers come from the library (rg_schedule_stats counts on the kernels it would
 * run); beside them stands what they ought to be. Nothing is computed: the device is NULL. Plans depend on the
 * machine model; the expected numbers are those of a small server core (RIDGE_MODEL=tests/machine.txt).
 *
 *     build/examples/fusion          the table; exit status 1 if something differs from what is expected
 *     build/examples/fusion --json   the rows as JSON
 *     DEBUG=3 build/examples/fusion  with the planner's reasons */
#include <ridge.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define N (1 << 20) /* elements of the elementwise rows */
#define BIG (1 << 24)
#define PARTS 1024 /* that a long sum is split into */
#define ROWS 1024
#define COLS 1024
#define F32 4.0

static rg_ctx *ctx;

/* A tensor with memory of its own, as if it had been computed before. Each has another value: equal ones would be one. */
static rg_tensor input(rg_ints shape) {
    static int number;
    rg_tensor x = rg_contiguous(rg_full(ctx, RG_F32, ++number, shape));
    rg_realize(x);
    return x;
}
static rg_tensor vector(int64_t n) { return input(RG_SHAPE(n)); }
static rg_tensor matrix(int64_t rows, int64_t cols) { return input(RG_SHAPE(rows, cols)); }

/* ---- the programs: each fills out[] with what is asked for and returns how many ------------------------------- */

static int cos_cos(rg_tensor *out) { return out[0] = rg_cos(rg_cos(vector(N))), 1; }

static int two_sums(rg_tensor *out) {
    rg_tensor a = vector(N), b = vector(N), c = vector(N), d = vector(N);
    out[0] = rg_add(rg_add(a, b), c);
    out[1] = rg_add(rg_add(a, b), d);
    return 2;
}

static int dot(rg_tensor *out) { return out[0] = rg_dot(vector(1024), vector(1024)), 1; }
static int softmax(rg_tensor *out) { return out[0] = rg_softmax(matrix(ROWS, COLS), -1), 1; }
static int log_softmax(rg_tensor *out) { return out[0] = rg_log_softmax(matrix(ROWS, COLS), -1), 1; }

static int layernorm(rg_tensor *out) {
    return out[0] = rg_layernorm(matrix(ROWS, COLS), vector(COLS), vector(COLS)), 1;
}
static int rmsnorm(rg_tensor *out) { return out[0] = rg_rmsnorm(matrix(ROWS, COLS), vector(COLS)), 1; }

static int layernorm_gelu(rg_tensor *out) {
    return out[0] = rg_gelu(rg_layernorm(matrix(ROWS, COLS), vector(COLS), vector(COLS))), 1;
}

static int mean_var_rows(rg_tensor *out) {
    rg_tensor x = matrix(ROWS, COLS);
    out[0] = rg_mean(x, RG_AXES(-1));
    out[1] = rg_var(x, RG_AXES(-1));
    return 2;
}

static int matmul_bias_relu(rg_tensor *out) {
    return out[0] = rg_relu(rg_add(rg_matmul(matrix(256, 256), matrix(256, 256)), vector(256))), 1;
}

static int sum_big(rg_tensor *out) { return out[0] = rg_sum(vector(BIG)), 1; }

static int mean_var_big(rg_tensor *out) {
    rg_tensor x = vector(BIG);
    out[0] = rg_mean(x);
    out[1] = rg_var(x);
    return 2;
}

/* Twelve parameters of several sizes, as a small network has. What changes from step to step is a scalar, not a number in
 * a kernel. All memory first: a realize would run the stores that are queued. */
static int adam(rg_tensor *out) {
    static const int64_t size[12] = {256 * 784, 256, 256 * 256, 256, 256 * 256, 256,
                                     128 * 256, 128, 64 * 128,  64,  640,       10};
    rg_tensor in[12][4];
    rg_tensor rate = rg_scalar(ctx, RG_F32, 1e-3), c1 = rg_scalar(ctx, RG_F32, 0.1),
              c2 = rg_scalar(ctx, RG_F32, 0.001);
    for (int i = 0; i < 12; i++)
        for (int k = 0; k < 4; k++) in[i][k] = vector(size[i]);
    for (int i = 0; i < 12; i++) {
        RG_SCOPE(
            ctx); /* frees what is in between; a value that is kept would be computed before its inputs change */
        rg_tensor p = in[i][0], g = in[i][1], m = in[i][2], v = in[i][3];
        rg_tensor m1 = rg_add(rg_mul(m, 0.9), rg_mul(g, 0.1));
        rg_tensor v1 = rg_add(rg_mul(v, 0.999), rg_mul(rg_square(g), 0.001));
        rg_tensor step = rg_div(rg_div(m1, c1), rg_add(rg_sqrt(rg_div(v1, c2)), 1e-8));
        rg_assign(p, rg_sub(p, rg_mul(rate, step)));
        rg_assign(m, m1);
        rg_assign(v, v1);
        out[i] = p;
    }
    return 12;
}

static int transpose_add(rg_tensor *out) {
    return out[0] = rg_add(rg_transpose(matrix(ROWS, COLS), 0, 1), matrix(ROWS, COLS)), 1;
}

/* ---- the table -------------------------------------------------------------------------------------------------- */

struct numbers {
    long kernels, reads, writes;
    double bytes, scratch;
};
struct row {
    const char *name;
    int (*program)(rg_tensor *out);
    bool single; /* with one output per kernel: RIDGE_MULTI=0 */
    struct numbers want;
};

#define ADAM_ELEMENTS (256.0 * 784 + 256 + 65536 + 256 + 65536 + 256 + 32768 + 128 + 8192 + 64 + 640 + 10)

static const struct row rows[] = {
    {"cos(cos(x))", cos_cos, false, {1, 1, 1, 2 * F32 *N, 0}},
    {"a+b+c, a+b+d", two_sums, false, {1, 4, 2, 6 * F32 *N, 0}},
    {"a+b+c, a+b+d, one output each", two_sums, true, {2, 6, 2, 8 * F32 *N, 0}},
    {"dot", dot, false, {1, 2, 1, F32 * 2049, 0}},
    {"softmax", softmax, false, {1, 1, 1, 2 * F32 *N, 0}},
    {"log_softmax", log_softmax, false, {1, 1, 1, 2 * F32 *N, 0}},
    {"layernorm", layernorm, false, {1, 3, 1, 2 * F32 *(N + COLS), 0}},
    {"rmsnorm", rmsnorm, false, {1, 2, 1, 2 * F32 *N + F32 *COLS, 0}},
    {"layernorm + gelu", layernorm_gelu, false, {1, 3, 1, 2 * F32 *(N + COLS), 0}},
    {"mean + var of rows", mean_var_rows, false, {1, 1, 2, F32 *(N + 2 * ROWS), 0}},
    {"matmul + bias + relu", matmul_bias_relu, false, {1, 3, 1, F32 *(3 * 65536 + 256), 0}},
    {"sum of 16M", sum_big, false, {2, 2, 2, F32 *(BIG + 2 * PARTS + 1), F32 *PARTS}},
    {"mean + var of 16M", mean_var_big, false, {2, 5, 6, F32 *(BIG + 8 * PARTS + 2), F32 *(4 * PARTS)}},
    {"adam, 12 tensors", adam, false, {1, 48, 36, 7 * F32 *ADAM_ELEMENTS, 0}},
    {"transpose + add", transpose_add, false, {1, 2, 1, 3 * F32 *N, 0}},
};
#define NROWS (sizeof rows / sizeof rows[0])

static int count(const struct row *r, struct numbers *got) {
    rg_tensor out[16];
    rg_plan_stats s;
    ctx = rg_open("NULL");
    int n = r->program(out), bad = rg_schedule_stats(RG_ARRAY(out, (size_t)n), &s) != 0;
    if (bad) fprintf(stderr, "%s: %s\n", r->name, rg_error(ctx));
    *got = (struct numbers){(long)s.kernels, (long)s.reads, (long)s.writes, s.bytes, (double)s.scratch};
    rg_close(ctx);
    return bad;
}

/* Settings are read once per process, so a row with another setting gets a process of its own. */
static int count_apart(const struct row *r, struct numbers *got) {
    int pipe_fd[2], status;
    if (pipe(pipe_fd)) return 1;
    pid_t child = fork();
    if (child == 0) {
        setenv("RIDGE_MULTI", "0", 1);
        int bad = count(r, got);
        bad |= write(pipe_fd[1], got, sizeof *got) != (ssize_t)sizeof *got;
        _exit(bad);
    }
    close(pipe_fd[1]);
    bool whole = child > 0 && read(pipe_fd[0], got, sizeof *got) == (ssize_t)sizeof *got;
    close(pipe_fd[0]);
    return child < 0 || waitpid(child, &status, 0) < 0 || status || !whole;
}

static bool same(const struct numbers *a, const struct numbers *b) {
    return a->kernels == b->kernels && a->reads == b->reads && a->writes == b->writes &&
           a->bytes == b->bytes && a->scratch == b->scratch;
}

static void print_text(const char *name, const struct numbers *n, const char *tail) {
    printf("%-31s %7ld %6ld %7ld %12.0f %9.0f%s\n", name, n->kernels, n->reads, n->writes, n->bytes,
           n->scratch, tail);
}

static void print_json(size_t i, const struct numbers *n) {
    printf("%s{\"name\": \"%s\", \"kernels\": %ld, \"reads\": %ld, \"writes\": %ld, \"bytes\": %.0f, "
           "\"scratch\": %.0f}%s\n",
           i ? " " : "[", rows[i].name, n->kernels, n->reads, n->writes, n->bytes, n->scratch,
           i + 1 < NROWS ? "," : "]");
}

int main(int argc, char **argv) {
    bool json = argc == 2 && !strcmp(argv[1], "--json");
    struct numbers got[NROWS];
    int bad = 0;
    if (argc > 1 && !json) return fprintf(stderr, "usage: fusion [--json]\n"), 2;
    for (size_t i = 0; i < NROWS; i++) /* first, while this process has not read its settings */
        if (rows[i].single) bad |= count_apart(&rows[i], &got[i]);
    for (size_t i = 0; i < NROWS; i++)
        if (!rows[i].single) bad |= count(&rows[i], &got[i]);
    if (!json) printf("%-31s kernels  reads  writes        bytes   scratch\n", "");
    for (size_t i = 0; i < NROWS; i++) {
        bool ok = same(&got[i], &rows[i].want);
        if (json)
            print_json(i, &got[i]);
        else
            print_text(rows[i].name, &got[i], "");
        if (!ok && !json) print_text("  expected", &rows[i].want, "  <- differs");
        bad |= !ok;
    }
    return bad;
}
