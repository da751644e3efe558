/* pool_random.c: gradients of pooling at random sizes, strides, dilations and paddings, in one to three dimensions, against loops.
 *
 * x holds few numbers, so that windows have several maxima; what flows back holds small integers, so that sums are exact. On REF, the
 * CPU and a simulated GPU, whose shapes are large enough for threads that have several neighbours each.
 * Code: src/tensor/pool.c, src/tensor/grad_movement.c, write_gather in src/tune/choose/gpu_heuristic.c */
#include "simgpu.h"
#include "test.h"

#include "base/base.h"

#include <ridge.h>
#include <stdlib.h>

enum { DIMS = 3 };

struct pool_draw {
    int m;
    bool mean;
    int64_t planes, n[DIMS], k[DIMS], stride[DIMS], dil[DIMS], pad[DIMS], out[DIMS];
};

static int64_t below(uint64_t *s, int64_t n) { return (int64_t)(hash_u64((*s)++) % (uint64_t)n); }

/* `least`: elements of x at least. */
static struct pool_draw draw(uint64_t seed, int64_t least) {
    struct pool_draw d = {
        .m = 1 + (int)(hash_u64(seed) % DIMS), .mean = hash_u64(seed + 7) % 3 == 0, .planes = 1};
    uint64_t s = seed * 1000;
    int64_t plane = 1, most = d.m == 1 ? 60 : d.m == 2 ? 24 : 9;
    for (int i = 0; i < DIMS; i++) d.n[i] = d.k[i] = d.stride[i] = d.dil[i] = d.out[i] = 1;
    for (int i = DIMS - d.m; i < DIMS; i++) {
        d.k[i] = 1 + below(&s, 4), d.stride[i] = 1 + below(&s, 3), d.dil[i] = d.mean ? 1 : 1 + below(&s, 2);
        int64_t reach = (d.k[i] - 1) * d.dil[i] + 1;
        d.pad[i] = below(&s, reach / 2 + 1), d.n[i] = reach + below(&s, most);
        d.out[i] = (d.n[i] + 2 * d.pad[i] - reach) / d.stride[i] + 1;
        plane *= d.n[i];
    }
    d.planes = 2 + least / plane;
    return d;
}

/* Element k of window o along axis i, or -1: padding. */
static int64_t element(const struct pool_draw *d, int i, int64_t o, int64_t k) {
    int64_t at = o * d->stride[i] - d->pad[i] + k * d->dil[i];
    return at >= 0 && at < d->n[i] ? at : -1;
}

/* The window at o: what flows back goes to its first maximum, or to all. */
static void spread(const struct pool_draw *d, const int64_t *o, const float *x, float dy, float *dx) {
    int64_t at = -1, k[DIMS], e[DIMS];
    int inside = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (k[0] = 0; k[0] < d->k[0]; k[0]++)
            for (k[1] = 0; k[1] < d->k[1]; k[1]++)
                for (k[2] = 0; k[2] < d->k[2]; k[2]++) {
                    for (int i = 0; i < DIMS; i++) e[i] = element(d, i, o[i], k[i]);
                    if (e[0] < 0 || e[1] < 0 || e[2] < 0) continue;
                    int64_t flat = (e[0] * d->n[1] + e[1]) * d->n[2] + e[2];
                    if (pass && d->mean) dx[flat] += dy / (float)inside;
                    if (!pass) inside++;
                    if (!pass && (at < 0 || x[flat] > x[at])) at = flat;
                }
        if (pass && !d->mean) dx[at] += dy;
    }
}

static void by_loops(const struct pool_draw *d, const float *x, const float *dy, float *dx) {
    int64_t plane = d->n[0] * d->n[1] * d->n[2], o[DIMS];
    memset(dx, 0, (size_t)(d->planes * plane) * sizeof *dx);
    for (int64_t p = 0; p < d->planes; p++)
        for (o[0] = 0; o[0] < d->out[0]; o[0]++)
            for (o[1] = 0; o[1] < d->out[1]; o[1]++)
                for (o[2] = 0; o[2] < d->out[2]; o[2]++) spread(d, o, x + p * plane, *dy++, dx + p * plane);
}

static rg_tensor pool(const struct pool_draw *d, rg_tensor x) {
    int first = DIMS - d->m;
    rg_ints k = RG_LIST(d->k + first, (size_t)d->m), s = RG_LIST(d->stride + first, (size_t)d->m),
            dil = RG_LIST(d->dil + first, (size_t)d->m), pad = RG_LIST(d->pad + first, (size_t)d->m);
    if (d->m == 1)
        return d->mean ? rg_avg_pool1d(x, k, .stride = s, .padding = pad, .exclude_padding = true)
                       : rg_max_pool1d(x, k, .stride = s, .padding = pad, .dilation = dil);
    if (d->m == 2)
        return d->mean ? rg_avg_pool2d(x, k, .stride = s, .padding = pad, .exclude_padding = true)
                       : rg_max_pool2d(x, k, .stride = s, .padding = pad, .dilation = dil);
    return d->mean ? rg_avg_pool3d(x, k, .stride = s, .padding = pad, .exclude_padding = true)
                   : rg_max_pool3d(x, k, .stride = s, .padding = pad, .dilation = dil);
}

static rg_tensor tensor(rg_ctx *c, const struct pool_draw *d, const int64_t *size, const float *p) {
    int64_t shape[2 + DIMS] = {1, d->planes};
    for (int i = 0; i < d->m; i++) shape[2 + i] = size[DIMS - d->m + i];
    return rg_from(c, RG_F32, p, RG_LIST(shape, (size_t)(2 + d->m)));
}

static void check(const char *device, uint64_t seed, int64_t least) {
    struct pool_draw d = draw(seed, least);
    int64_t n = d.planes * d.n[0] * d.n[1] * d.n[2], no = d.planes * d.out[0] * d.out[1] * d.out[2];
    float *x = malloc((size_t)(3 * n + no) * sizeof *x), *want = x + n, *got = want + n, *dy = got + n;
    rg_ctx *c = rg_open(device);
    for (int64_t i = 0; i < n; i++) x[i] = (float)(hash_u64((uint64_t)i + seed) % 7);
    for (int64_t i = 0; i < no; i++) dy[i] = 1 + (float)(hash_u64((uint64_t)i * 3 + seed) % 9);
    by_loops(&d, x, dy, want);
    rg_tensor tx = tensor(c, &d, d.n, x), tdy = tensor(c, &d, d.out, dy), g;
    rg_grad(pool(&d, tx), RG_TENSORS(tx), &g, .seed = tdy);
    if (rg_read(g, got, (size_t)n * sizeof *got))
        FAIL("seed %llu: %s", (unsigned long long)seed, rg_error(c));
    for (int64_t i = 0; i < n; i++)
        if (!(fabs((double)got[i] - want[i]) <= (d.mean ? 1e-5 * (1 + want[i]) : 0)))
            FAIL("%s, seed %llu (%d axes, %s): element %lld is %g, expected %g", device,
                 (unsigned long long)seed, d.m, d.mean ? "mean" : "max", (long long)i, got[i], want[i]);
    rg_close(c);
    free(x);
}

TEST(pool_random_gradients) {
    for (uint64_t i = 0; i < 60; i++) check("REF", 100 + i, 1);
    for (uint64_t i = 0; i < 3; i++) check("CPU", 200 + i, 1);
}

TEST(pool_random_gradients_of_a_gpu) {
    simgpu_add();
    for (uint64_t i = 0; i < 8; i++) check("SIM90S", 300 + i, 4096 * 8);
    TEST_INFO("%u launches, %.0fM evaluations", simgpu_count.launches, simgpu_count.total / 1e6);
}
