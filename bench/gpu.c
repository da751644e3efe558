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
    rg_tensor k, v1, v16, u1, u16;            /* 14336 x 4096, rows of 4096 and of 14336, all bf16 */
};
enum { INPUTS = 5 };
typedef void row_fn(struct data *, rg_tensor *out);

static void twice(struct data *d, rg_tensor *out) { out[0] = rg_mul(d->x, 2); }
static void pointwise(struct data *d, rg_tensor *out) {
    out[0] = rg_mul(rg_relu(rg_add(rg_mul(d->x, d->y), d->z)), 2);
}
static void two_outputs(struct data *d, rg_tensor *out) {
    rg_tensor s = rg_add(d->x, d->y);
    out[0] = rg_add(s, d->z), out[1] = rg_mul(s, d->z);
}
static void coscos(struct data *d, rg_tensor *out) { out[0] = rg_cos(rg_cos(d->x)); }
static void sum_all(struct data *d, rg_tensor *out) { out[0] = rg_sum(d->x); }
static void sum_rows(struct data *d, rg_tensor *out) { out[0] = rg_sum(d->m, RG_AXES(1)); }
static void sum_columns(struct data *d, rg_tensor *out) { out[0] = rg_sum(d->m, RG_AXES(0)); }
static void softmax(struct data *d, rg_tensor *out) { out[0] = rg_softmax(d->m, -1); }
static void layernorm(struct data *d, rg_tensor *out) { out[0] = rg_layernorm(d->m, d->w, d->b); }
static void transpose_add(struct data *d, rg_tensor *out) { out[0] = rg_add(rg_transpose(d->m, 0, 1), d->n); }
static void product(struct data *d, rg_tensor *out) { out[0] = rg_matmul(d->h, d->h); }
static void product_bf16(struct data *d, rg_tensor *out) { out[0] = rg_matmul(d->g, d->g); }

static void softmax_bf16(struct data *d, rg_tensor *out) {
    out[0] = rg_softmax(rg_reshape(d->k, RG_SHAPE(7168, 8192)), -1);
}
static void log_softmax(struct data *d, rg_tensor *out) { out[0] = rg_log_softmax(d->m, -1); }
static void softmax_768(struct data *d, rg_tensor *out) {
    out[0] = rg_softmax(rg_reshape(rg_slice(d->x, RG_SLICES(RG_TO(87040 * 768))), RG_SHAPE(87040, 768)), -1);
}
/* One row and sixteen by a matrix of 117 MB, as it is and transposed. */
static void vector_nt(struct data *d, rg_tensor *out) { out[0] = rg_matmul(d->v1, rg_transpose(d->k, 0, 1)); }
static void rows16_nt(struct data *d, rg_tensor *out) {
    out[0] = rg_matmul(d->v16, rg_transpose(d->k, 0, 1));
}
static void vector_nn(struct data *d, rg_tensor *out) { out[0] = rg_matmul(d->u1, d->k); }
static void rows16_nn(struct data *d, rg_tensor *out) { out[0] = rg_matmul(d->u16, d->k); }

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
    {"softmax 7168 x 8192 bf16", softmax_bf16, 234.9, 0},
    {"log_softmax 8192 x 8192", log_softmax, 536.9, 0},
    {"softmax 87040 x 768", softmax_768, 534.8, 0},
    {"1 x 4096 by (14336 x 4096)^T bf16", vector_nt, 117.5, 0.117},
    {"16 x 4096 by (14336 x 4096)^T bf16", rows16_nt, 118.0, 1.88},
    {"1 x 14336 by 14336 x 4096 bf16", vector_nn, 117.5, 0.117},
    {"16 x 14336 by 14336 x 4096 bf16", rows16_nn, 118.0, 1.88},
    {"transpose + add 8192 x 8192", transpose_add, 805.3, 0},
    {"product 2048^3 f32", product, 50.3, 17.18},
    {"product 2048^3 bf16", product_bf16, 25.2, 17.18},
};

struct job {
    struct data *d;
    row_fn *fn;
};

static rg_status call(void *user, const rg_tensor *in, rg_tensor *out) {
    struct job *j = user;
    j->d->x = in[0], j->d->m = in[1], j->d->h = in[2], j->d->g = in[3], j->d->k = in[4];
    j->fn(j->d, out);
    return RG_OK;
}

/* Replays, with one set of inputs and another in turns: a call on the same inputs would find its value computed. */
static double measure(struct data *d, rg_tensor in[2][INPUTS], row_fn *fn, uint64_t *kernels) {
    enum { CALLS = 20, ROUNDS = 5 };
    double best = 1e9;
    float probe;
    rg_tensor out[2];
    struct job job = {d, fn};
    rg_jit *j = rg_jit_new(d->c, call, &job, fn == two_outputs ? 2 : 1);
    for (int i = 0; i < 3; i++)
        if (rg_jit_call(j, (rg_tensors){in[i % 2], INPUTS}, out)) return 0;
    rg_jit_stats st = {0};
    rg_jit_info(j, &st);
    *kernels = st.kernels;
    for (int r = 0; r < ROUNDS; r++) {
        rg_read(d->one, &probe, sizeof probe); /* waits for all before it */
        double t0 = now();
        for (int i = 0; i < CALLS; i++) rg_jit_call(j, (rg_tensors){in[i % 2], INPUTS}, out);
        if (rg_read(d->one, &probe, sizeof probe)) return 0;
        double t = (now() - t0) / CALLS;
        best = t < best ? t : best;
    }
    rg_jit_free(j);
    return best;
}

/* Many small kernels that wait for each other, replayed. */
static rg_status chain(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)user;
    out[0] = in[0];
    for (int i = 0; i < 1000; i++) out[0] = rg_contiguous(rg_sub(out[0], 1));
    return RG_OK;
}

static void tiny(void) {
    setenv("RIDGE_MULTI", "0", 1); /* one output per kernel: as many kernels as values */
    rg_ctx *c = rg_open("CUDA");
    rg_tensor in[2] = {rg_ones(c, RG_F32, RG_SHAPE(1)), rg_zeros(c, RG_F32, RG_SHAPE(1))}, y;
    rg_realize_all((rg_tensors){in, 2});
    rg_jit *j = rg_jit_new(c, chain, NULL, 1);
    float v;
    double best = 1e9;
    for (int r = 0; r < 8; r++) {
        double t0 = now();
        if (rg_jit_call(j, (rg_tensors){&in[r % 2], 1}, &y) || rg_read(y, &v, sizeof v)) return;
        double t = now() - t0;
        if (r > 2 && t < best) best = t;
    }
    rg_jit_stats st = {0};
    rg_jit_info(j, &st);
    printf("%-36s %10.2f us each, replayed\n", "dependent tiny kernels", best * 1e6 / (double)st.kernels);
    rg_close(c);
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
    d.k = rg_randn(c, RG_BF16, RG_SHAPE(14336, 4096));
    d.v1 = rg_randn(c, RG_BF16, RG_SHAPE(1, 4096)), d.v16 = rg_randn(c, RG_BF16, RG_SHAPE(16, 4096));
    d.u1 = rg_randn(c, RG_BF16, RG_SHAPE(1, 14336)), d.u16 = rg_randn(c, RG_BF16, RG_SHAPE(16, 14336));
    rg_realize_all(RG_TENSORS(d.x, d.y, d.z, d.m, d.n, d.w, d.b, d.h, d.g, d.one));
    rg_realize_all(RG_TENSORS(d.k, d.v1, d.v16, d.u1, d.u16));
    rg_tensor h2 = rg_add(d.h, 1),
              in[2][INPUTS] = {{d.x, d.m, d.h, d.g, d.k},
                               {rg_neg(d.x), rg_neg(d.m), h2, rg_cast(h2, RG_BF16), rg_neg(d.k)}};
    rg_realize_all((rg_tensors){in[1], INPUTS});
    double copy = 0;
    printf("%-36s %10s %9s %9s %8s %s\n", "program", "us", "GB/s", "of x*2", "GFLOP/s", "kernels");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t kernels = 0;
        if (i && argc > 1 && !strstr(rows[i].name, argv[1])) continue;
        double t = measure(&d, in, rows[i].fn, &kernels), rate = rows[i].mb * 1e6 / t;
        if (rg_status_of(c)) return fprintf(stderr, "%s: %s\n", rows[i].name, rg_error(c)), 1;
        if (!i) copy = rate;
        printf("%-36s %10.1f %9.0f %8.0f%% %8.0f %llu\n", rows[i].name, t * 1e6, rate / 1e9,
               100 * rate / copy, rows[i].gop / t, (unsigned long long)kernels);
    }
    rg_close(c);
    tiny();
    return 0;
}
