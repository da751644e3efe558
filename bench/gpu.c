/* gpu.c: programs that move memory, and products, on the CUDA device: time, and the share of what a plain doubling of
 * 64 M numbers moves in the same run. Wall time of many calls with one wait at the end, the best of several rounds;
 * where a call takes less than the host needs to ask for it, the host is what is measured. Prints nothing but a reason
 * where there is no GPU. ARGS: a part of a name, to run only those. */
#include <ridge.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

struct data {
    rg_ctx *c;
    rg_tensor x, y, z, m, n, w, b, h, g, one; /* 64 M; 8192 x 8192; 8192; 2048 x 2048 in f32 and bf16; 1 */
};
typedef int row_fn(struct data *, rg_tensor *out); /* how many results */

static int twice(struct data *d, rg_tensor *out) { return out[0] = rg_mul(d->x, 2), 1; }
static int pointwise(struct data *d, rg_tensor *out) {
    return out[0] = rg_mul(rg_relu(rg_add(rg_mul(d->x, d->y), d->z)), 2), 1;
}
static int two_outputs(struct data *d, rg_tensor *out) {
    rg_tensor s = rg_add(d->x, d->y);
    out[0] = rg_add(s, d->z), out[1] = rg_mul(s, d->z);
    return 2;
}
static int coscos(struct data *d, rg_tensor *out) { return out[0] = rg_cos(rg_cos(d->x)), 1; }
static int sum_all(struct data *d, rg_tensor *out) { return out[0] = rg_sum(d->x), 1; }
static int sum_rows(struct data *d, rg_tensor *out) { return out[0] = rg_sum(d->m, RG_AXES(1)), 1; }
static int sum_columns(struct data *d, rg_tensor *out) { return out[0] = rg_sum(d->m, RG_AXES(0)), 1; }
static int softmax(struct data *d, rg_tensor *out) { return out[0] = rg_softmax(d->m, -1), 1; }
static int layernorm(struct data *d, rg_tensor *out) { return out[0] = rg_layernorm(d->m, d->w, d->b), 1; }
static int transpose_add(struct data *d, rg_tensor *out) {
    return out[0] = rg_add(rg_transpose(d->m, 0, 1), d->n), 1;
}
static int product(struct data *d, rg_tensor *out) { return out[0] = rg_matmul(d->h, d->h), 1; }
static int product_bf16(struct data *d, rg_tensor *out) { return out[0] = rg_matmul(d->g, d->g), 1; }

/*   name, function, bytes moved at least (MB), operations (G) */
static const struct row {
    const char *name;
    row_fn *fn;
    double mb, gop;
} rows[] = {
    {"x*2, 64 M f32", twice, 536.9, 0},
    {"relu(x*y+z)*2, 64 M f32", pointwise, 1073.7, 0},
    {"two outputs of three inputs, 64 M", two_outputs, 1342.2, 0},
    {"cos(cos(x)), 64 M f32", coscos, 536.9, 0},
    {"sum of 64 M f32", sum_all, 268.4, 0},
    {"row sums 8192 x 8192", sum_rows, 268.4, 0},
    {"column sums 8192 x 8192", sum_columns, 268.4, 0},
    {"softmax 8192 x 8192", softmax, 536.9, 0},
    {"layernorm 8192 x 8192", layernorm, 536.9, 0},
    {"transpose + add 8192 x 8192", transpose_add, 805.3, 0},
    {"product 2048^3 f32", product, 50.3, 17.18},
    {"product 2048^3 bf16", product_bf16, 25.2, 17.18},
};

static double measure(struct data *d, row_fn *fn, uint64_t *kernels) {
    enum { CALLS = 20, ROUNDS = 5 };
    double best = 1e9;
    rg_usage before, after;
    rg_stats(d->c, &before);
    for (int r = -1; r < ROUNDS; r++) {
        double t0 = now();
        for (int i = 0; i < (r < 0 ? 1 : CALLS); i++) {
            RG_SCOPE(d->c);
            rg_tensor out[2];
            int n = fn(d, out);
            if (rg_realize_all((rg_tensors){out, (size_t)n})) return 0;
        }
        float probe;
        if (rg_read(d->one, &probe, sizeof probe)) return 0; /* waits for all before it */
        double t = (now() - t0) / CALLS;
        if (r < 0) rg_stats(d->c, &after), *kernels = after.kernels - before.kernels;
        if (r >= 0 && t < best) best = t;
    }
    return best;
}

/* Many small kernels that wait for each other, replayed. */
static rg_status chain(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)user;
    out[0] = in[0];
    for (int i = 0; i < 1000; i++) out[0] = rg_contiguous(rg_sub(out[0], 1));
    return RG_OK;
}

static void tiny(rg_ctx *c) {
    rg_tensor x = rg_contiguous(rg_ones(c, RG_F32, RG_SHAPE(1))), y;
    rg_jit *j = rg_jit_new(c, chain, NULL, 1);
    float v;
    double best = 1e9;
    for (int r = 0; r < 8; r++) {
        double t0 = now();
        if (rg_jit_call(j, RG_TENSORS(x), &y) || rg_read(y, &v, sizeof v)) return;
        double t = now() - t0;
        if (r > 2 && t < best) best = t;
    }
    printf("%-36s %10.2f us each\n", "1000 dependent tiny kernels", best * 1e3);
}

int main(int argc, char **argv) {
    rg_ctx *c = rg_open("CUDA");
    if (rg_status_of(c)) return printf("skipped: %s\n", rg_error(c)), 0;
    int64_t big = 64 << 20, side = 8192;
    struct data d = {.c = c,
                     .x = rg_randn(c, RG_F32, RG_SHAPE(big)),
                     .y = rg_randn(c, RG_F32, RG_SHAPE(big)),
                     .z = rg_randn(c, RG_F32, RG_SHAPE(big)),
                     .m = rg_randn(c, RG_F32, RG_SHAPE(side, side)),
                     .n = rg_randn(c, RG_F32, RG_SHAPE(side, side)),
                     .w = rg_randn(c, RG_F32, RG_SHAPE(side)),
                     .b = rg_randn(c, RG_F32, RG_SHAPE(side)),
                     .h = rg_randn(c, RG_F32, RG_SHAPE(2048, 2048)),
                     .one = rg_randn(c, RG_F32, RG_SHAPE(1))};
    d.g = rg_cast(d.h, RG_BF16);
    rg_realize_all(RG_TENSORS(d.x, d.y, d.z, d.m, d.n, d.w, d.b, d.h, d.g, d.one));
    double copy = 0;
    printf("%-36s %10s %9s %9s %8s %s\n", "program", "us", "GB/s", "of x*2", "GFLOP/s", "kernels");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t kernels = 0;
        if (i && argc > 1 && !strstr(rows[i].name, argv[1])) continue;
        double t = measure(&d, rows[i].fn, &kernels), rate = rows[i].mb * 1e6 / t;
        if (rg_status_of(c)) return fprintf(stderr, "%s: %s\n", rows[i].name, rg_error(c)), 1;
        if (!i) copy = rate;
        printf("%-36s %10.1f %9.0f %8.0f%% %8.0f %llu\n", rows[i].name, t * 1e6, rate / 1e9,
               100 * rate / copy, rows[i].gop / t, (unsigned long long)kernels);
    }
    tiny(c);
    return rg_close(c);
}
