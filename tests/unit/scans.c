/* scans.c: running sums, products and extremes of random shapes, and reductions in blocks, on the CPU, on the simulated GPU and as
 * OpenCL; how they are planned and rendered for a GPU. Values are those of a loop on the host in double.
 * Code: src/schedule/split.c, src/schedule/split_scan.c, src/render/gpu_scan.c, src/codegen/opts/block_sums.c */
#include "opencl.h"
#include "simgpu.h"

#include <math.h>
#include <ridge.h>
#include <stdlib.h>
#include <test.h>

enum scan { SUM, PROD, MAX, MIN, SCANS };
static const char *const name_of[SCANS] = {"cumsum", "cumprod", "cummax", "cummin"};

static uint64_t state = 88172645463325252u;
static uint64_t bits(void) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state;
}

static rg_tensor scan_of(enum scan s, rg_tensor x, int64_t axis) {
    return s == SUM    ? rg_cumsum(x, axis)
           : s == PROD ? rg_cumprod(x, axis)
           : s == MAX  ? rg_cummax(x, axis)
                       : rg_cummin(x, axis);
}

static double step_of(enum scan s, double a, double x) {
    return s == SUM ? a + x : s == PROD ? a * x : s == MAX ? fmax(a, x) : fmin(a, x);
}

/* Checks one scan along axis 1 of (outer, n, inner); integers are exact, floats within 1e-6 of the magnitudes. */
static void check(rg_ctx *c, enum scan s, rg_dtype dt, int64_t outer, int64_t n, int64_t inner) {
    RG_SCOPE(c);
    int64_t all = outer * n * inner;
    double *x = malloc((size_t)all * 8), *y = malloc((size_t)all * 8);
    for (int64_t i = 0; i < all; i++) {
        double v = (double)(int64_t)(bits() % 2001) - (s == PROD ? 1000 : 900); /* products stay near 1 */
        x[i] = dt == RG_I32 ? v : s == PROD ? (double)(float)(1 + v * 1e-6) : (double)(float)(v * 1e-3);
    }
    rg_tensor t = rg_cast(rg_from(c, RG_F64, x, RG_SHAPE(outer, n, inner)), dt);
    rg_realize(t);
    t = rg_cast(scan_of(s, t, 1), RG_F64);
    if (rg_read(t, y, (size_t)all * 8)) FAIL("%s", rg_error(c));
    for (int64_t r = 0; r < outer * inner; r++) {
        double a = 0, size = 0;
        for (int64_t i = 0; i < n; i++) {
            int64_t at = (r / inner * n + i) * inner + r % inner;
            a = i ? step_of(s, a, x[at]) : x[at];
            size = s == SUM ? size + fabs(x[at]) : fabs(a);
            double most = dt == RG_I32 || s == MAX || s == MIN ? 0
                          : s == PROD                          ? 2e-7 * (double)(n + 8)
                                                               : 1e-6;
            if (!(fabs(y[at] - a) <= most * size))
                FAIL("%s of %s (%lld, %lld, %lld) at %lld: %.9g, expected %.9g", name_of[s],
                     rg_dtype_name(dt), (long long)outer, (long long)n, (long long)inner, (long long)at,
                     y[at], a);
        }
    }
    free(x), free(y);
}

/* Rows, one row, columns, few and many; lengths that are prime, powers of two, one more or less; most elements in all. */
static void draw(rg_ctx *c, int64_t most) {
    int64_t n = 2 + (int64_t)(bits() % (uint64_t)(bits() % 2 ? most : 700)), left = most / n + 1;
    if (bits() % 3 == 0) n = ((int64_t)1 << (bits() % 15)) + (int64_t)(bits() % 3);
    int64_t outer = 1 + (int64_t)(bits() % (uint64_t)left), inner = bits() % 2 ? 1 : 1 + left / outer;
    enum scan s = (enum scan)(bits() % SCANS);
    rg_dtype dt = s == PROD || bits() % 3 ? RG_F32 : RG_I32;
    check(c, s, dt, RG_MAX(outer, 1), RG_MAX(n, 1), inner);
}

TEST(scans_random_cpu) {
    rg_ctx *c = rg_open("CPU");
    for (int i = 0; i < 5; i++) draw(c, 200000);
    check(c, SUM, RG_F32, 1, 300007, 1);
    check(c, MAX, RG_I32, 2, 70001, 3);
    CHECK(!rg_close(c));
}

/* One to three rows are split into blocks that fill the lanes of vectors. */
TEST(scans_few_rows_cpu) {
    rg_ctx *c = rg_open("CPU");
    for (int i = 0; i < 8; i++) {
        int64_t outer = 1 + (int64_t)(bits() % 3), n = 1300 + (int64_t)(bits() % 12000);
        if (i == 0) outer = 1, n = 4096;
        if (i == 1) outer = 1, n = 4099;
        check(c, (enum scan)(i % SCANS), i % 2 ? RG_F32 : i % SCANS == PROD ? RG_F32 : RG_I32, outer, n, 1);
    }
    rg_close(c);
}

/* The greatest and least so far of every type, and sums of integers: along the lanes of vectors, in any order. Floats are
 * sometimes infinite; NaN stays. */
static void check_lanes(rg_ctx *c, enum scan s, rg_dtype dt, int64_t outer, int64_t n) {
    RG_SCOPE(c);
    bool real = dt == RG_F16 || dt == RG_BF16 || dt == RG_F32 || dt == RG_F64;
    double *x = malloc((size_t)(outer * n) * 8), *y = malloc((size_t)(outer * n) * 8);
    uint64_t nan = bits() % 2 ? 0 : 1 + bits() % (uint64_t)(2 * n), sign = bits() % 2;
    for (int64_t i = 0; i < outer * n; i++) {
        double rise = 100.0 * (double)(i % n) / (double)n; /* until the end of the row */
        x[i] = floor((double)(bits() % 101) * 0.5 + (s == MIN ? 100 - rise : rise)) - (dt == RG_U8 ? 0 : 60);
        if (real && bits() % 64 == 0) x[i] = bits() % 2 ? -0.0 : s == MIN ? INFINITY : -INFINITY;
        if (real && nan && bits() % nan == 0) x[i] = sign ? -NAN : NAN;
    }
    rg_tensor t = rg_cast(rg_from(c, RG_F64, x, RG_SHAPE(outer, n)), dt);
    rg_realize(t);
    t = rg_cast(scan_of(s, t, 1), RG_F64);
    if (rg_read(t, y, (size_t)(outer * n) * 8)) FAIL("%s", rg_error(c));
    for (int64_t i = 0; i < outer * n; i++) {
        double a = i % n ? y[i - 1] : x[i],
               v = i % n ? (isnan(a) || isnan(x[i]) ? NAN : step_of(s, a, x[i])) : a;
        if (isnan(v) ? !isnan(y[i]) : v != y[i])
            FAIL("%s of %s (%lld, %lld) at %lld: %.9g, expected %.9g", name_of[s], rg_dtype_name(dt),
                 (long long)outer, (long long)n, (long long)i, y[i], v);
    }
    free(x), free(y);
}

TEST(scans_along_lanes_cpu) {
    static const rg_dtype type[] = {RG_F16, RG_BF16, RG_I8, RG_U8, RG_I16, RG_I32, RG_I64, RG_F32, RG_F64};
    rg_ctx *c = rg_open("CPU");
    for (size_t i = 0; i < 3 * RG_COUNT(type); i++) {
        rg_dtype dt = type[i % RG_COUNT(type)];
        bool whole = dt == RG_I8 || dt == RG_I16 || dt == RG_I32 || dt == RG_I64;
        int64_t n = 2 + (int64_t)(bits() % (bits() % 2 ? 300 : 90000)), outer = 1 + (int64_t)(bits() % 4);
        if (bits() % 4 == 0) n = (int64_t)16 << (bits() % 13);
        if (n < 100) outer *= 37;
        check_lanes(c, whole && bits() % 3 == 0 ? SUM : bits() % 2 ? MAX : MIN, dt, outer, n);
    }
    CHECK(!rg_close(c));
}

/* Blocks of a CPU divide odd lengths, too: nothing is padded, and no kernel copies the result, nor that of maxima of a prime number. */
TEST(scans_blocks_of_odd_lengths_cpu) {
    static const int64_t n[] = {257 * 509, 1031 * 263, 3 * 41 * 1009};
    rg_ctx *c = rg_open("CPU");
    for (size_t i = 0; i < RG_COUNT(n); i++) {
        RG_SCOPE(c);
        rg_plan_stats s = {0};
        rg_tensor x = rg_contiguous(rg_full(c, RG_F32, (double)i, RG_SHAPE(n[i])));
        rg_realize(x);
        CHECK_EQ(rg_schedule_stats(RG_TENSORS(rg_cumsum(x, 0)), &s), RG_OK);
        CHECK_EQ(s.kernels, 3);
        check(c, (enum scan)(i % SCANS), i ? RG_F32 : RG_I32, 1, n[i], 1);
    }
    RG_SCOPE(c);
    rg_plan_stats s = {0};
    rg_tensor x = rg_contiguous(rg_full(c, RG_F32, 1, RG_SHAPE(1000003))); /* padded; stored without it */
    rg_realize(x);
    CHECK_EQ(rg_schedule_stats(RG_TENSORS(rg_cummax(x, 0)), &s), RG_OK);
    CHECK_EQ(s.kernels, 3);
    check_lanes(c, MAX, RG_F32, 1, 300007);
    CHECK(!rg_close(c));
}

/* logcumsumexp along axis 1 of (outer, n, inner) and its gradient: a sum that decays as the maximum grows. Values are far apart, some
 * of them -inf; each row begins with its own. */
static void check_exp(rg_ctx *c, int64_t outer, int64_t n, int64_t inner, double spread) {
    RG_SCOPE(c);
    int64_t all = outer * n * inner;
    float *x = malloc((size_t)all * 4), *y = malloc((size_t)all * 4), *g = malloc((size_t)all * 4);
    for (int64_t i = 0; i < all; i++) {
        double rise = spread * (double)(i / inner % n) / (double)n; /* maxima along the whole row */
        x[i] = bits() % 50 ? (float)(spread * (double)(bits() % 2001) * 1e-3 + rise) : -INFINITY;
        g[i] = (float)(bits() % 2001) * 1e-3f - 1;
        if (i / inner % n == 0) x[i] = -1;
    }
    rg_tensor in = rg_param(rg_from(c, RG_F32, x, RG_SHAPE(outer, n, inner))), back;
    rg_tensor seed = rg_from(c, RG_F32, g, RG_SHAPE(outer, n, inner)), out = rg_logcumsumexp(in, 1);
    rg_grad(out, RG_TENSORS(in), &back, .seed = seed);
    if (rg_read(out, y, (size_t)all * 4)) FAIL("%s", rg_error(c));
    double *want = malloc((size_t)n * 8);
    float *dx = malloc((size_t)all * 4);
    if (rg_read(back, dx, (size_t)all * 4)) FAIL("%s", rg_error(c));
    for (int64_t r = 0; r < outer * inner; r++) {
        int64_t first = r / inner * n * inner + r % inner;
        double m = -INFINITY, s = 0, later = 0;
        for (int64_t i = 0; i < n; i++) {
            double v = x[first + i * inner], top = fmax(m, v);
            s = s * exp(m - top) + exp(v - top), m = top, want[i] = m + log(s);
            if (!(fabs(y[first + i * inner] - want[i]) <= 2e-6 * (1 + fabs(want[i]))))
                FAIL("(%lld, %lld, %lld) at %lld of row %lld: %.9g, expected %.9g", (long long)outer,
                     (long long)n, (long long)inner, (long long)i, (long long)r, (double)y[first + i * inner],
                     want[i]);
        }
        for (int64_t i = n; i-- > 0;) { /* later: the sum of g e^(want here - want) */
            double size = (double)n, v = x[first + i * inner];
            later = (i + 1 < n ? later * exp(want[i] - want[i + 1]) : 0) + g[first + i * inner];
            double to = later * exp(v - want[i]), off = fabs(dx[first + i * inner] - to);
            if (!(off <= 1e-5 * (1 + sqrt(size) * exp(v - want[i]))))
                FAIL("gradient of (%lld, %lld, %lld) at %lld of row %lld: %.9g, expected %.9g",
                     (long long)outer, (long long)n, (long long)inner, (long long)i, (long long)r,
                     (double)dx[first + i * inner], to);
        }
    }
    free(x), free(y), free(g), free(dx), free(want);
}

static void draw_exp(rg_ctx *c, int64_t most) {
    int64_t n = 2 + (int64_t)(bits() % (uint64_t)(bits() % 2 ? most : 100)), left = most / n + 1;
    int64_t outer = 1 + (int64_t)(bits() % (uint64_t)left), inner = bits() % 2 ? 1 : 1 + left / outer;
    check_exp(c, outer, n, inner, bits() % 2 ? 3 : 300);
}

TEST(scans_of_exponentials_cpu) {
    rg_ctx *c = rg_open("CPU");
    for (int i = 0; i < 2; i++) draw_exp(c, 20000);
    check_exp(c, 1, 70003, 1, 30); /* blocks, padded */
    check_exp(c, 1, 4096, 1, 300);
    check_exp(c, 1, 90, 600, 3); /* columns */
    CHECK(!rg_close(c));
}

/* The running maximum, the sum, the logarithm. */
TEST(scans_of_exponentials_have_few_kernels_cpu) {
    rg_ctx *c = rg_open("CPU");
    RG_SCOPE(c);
    rg_plan_stats s = {0};
    rg_tensor x = rg_contiguous(rg_full(c, RG_F32, 1, RG_SHAPE(700, 5000)));
    rg_realize(x);
    CHECK_EQ(rg_schedule_stats(RG_TENSORS(rg_logcumsumexp(x, 0)), &s), RG_OK);
    CHECK(s.kernels <= 3);
    CHECK_EQ(rg_schedule_stats(RG_TENSORS(rg_logcumsumexp(x, 1)), &s), RG_OK);
    CHECK(s.kernels <= 3);
}

TEST(scans_of_exponentials_simgpu) {
    simgpu_add();
    rg_ctx *c = rg_open("SIM90");
    for (int i = 0; i < 3; i++) draw_exp(c, 1500);
    check_exp(c, 1, 40000, 1, 30);
    CHECK(!rg_close(c));
}

/* The gradient of cumprod along axis 1 of (outer, n, inner), zeros among the factors, against the sum over all later products. */
static void check_prod_grad(rg_ctx *c, int64_t outer, int64_t n, int64_t inner) {
    RG_SCOPE(c);
    int64_t all = outer * n * inner;
    float *x = malloc((size_t)all * 4), *w = malloc((size_t)all * 4), *y = malloc((size_t)all * 4);
    for (int64_t i = 0; i < all; i++)
        x[i] = bits() % 7 ? 1 + (float)(bits() % 2001) * 1e-4f - 0.1f : 0,
        w[i] = (float)(bits() % 2001) * 1e-3f - 1;
    rg_tensor t = rg_from(c, RG_F32, x, RG_SHAPE(outer, n, inner)), d;
    rg_grad(rg_cumprod(t, 1), RG_TENSORS(t), &d, .seed = rg_from(c, RG_F32, w, RG_SHAPE(outer, n, inner)));
    if (rg_read(d, y, (size_t)all * 4)) FAIL("%s", rg_error(c));
    for (int64_t r = 0; r < outer * inner; r++) {
        int64_t at = r / inner * n * inner + r % inner;
        double before = 1;
        for (int64_t i = 0; i < n; before *= x[at + i++ * inner]) {
            double sum = 0, size = 0, p = before;
            for (int64_t k = i; k < n && p != 0; p *= ++k < n ? (double)x[at + k * inner] : 0)
                sum += w[at + k * inner] * p, size += fabs(w[at + k * inner] * p);
            if (!(fabs(y[at + i * inner] - sum) <= 1e-5 * size))
                FAIL("(%lld, %lld, %lld) at %lld: %.9g, expected %.9g", (long long)outer, (long long)n,
                     (long long)inner, (long long)i, y[at + i * inner], sum);
        }
    }
    free(x), free(w), free(y);
}

static void check_prod_grads(rg_ctx *c, int rounds, uint64_t room) {
    for (int i = 0; i < rounds; i++) {
        int64_t n = 1 + (int64_t)(bits() % (i % 2 ? room : 40)), left = 1 + (int64_t)room / n;
        int64_t outer = 1 + (int64_t)(bits() % (uint64_t)left);
        check_prod_grad(c, outer, n, bits() % 2 ? 1 : 1 + left / outer);
    }
    CHECK(!rg_close(c));
}
TEST(scans_gradient_of_products_cpu) { check_prod_grads(rg_open("CPU"), 6, 5000); }
TEST(scans_gradient_of_products_simgpu) {
    simgpu_add();
    check_prod_grads(rg_open("SIM90"), 4, 1500);
}

/* It is as long as x, not x times the axis. */
TEST(scans_gradient_of_products_is_linear) {
    const char *const device[] = {"CPU", "SIM90"};
    simgpu_add();
    for (int i = 0; i < 2; i++) {
        rg_ctx *c = rg_open(device[i]);
        rg_tensor x = rg_contiguous(rg_full(c, RG_F32, 1, RG_SHAPE(4, 3000, 32))), d;
        rg_realize(x);
        rg_grad(rg_sum(rg_cumprod(x, 1)), RG_TENSORS(x), &d);
        rg_plan_stats s = {0};
        CHECK_EQ(rg_schedule_stats(RG_TENSORS(d), &s), RG_OK);
        CHECK(s.scratch <= 4 * rg_bytes(x));
        CHECK(!rg_close(c));
    }
}

TEST(scans_random_simgpu) {
    simgpu_add();
    rg_ctx *c = rg_open("SIM90");
    for (int i = 0; i < 6; i++) draw(c, 3000);
    check(c, SUM, RG_F32, 1, 70003, 1);
    check(c, SUM, RG_I32, 1, 3000, 23);
    CHECK(!rg_close(c));
}

static unsigned launches(rg_ctx *c, int64_t outer, int64_t n, int64_t inner) {
    RG_SCOPE(c);
    rg_tensor x = rg_contiguous(rg_rand(c, RG_F32, RG_SHAPE(outer, n, inner)));
    rg_realize(x);
    unsigned before = simgpu_count.launches;
    rg_realize(rg_cummax(x, 1));
    return simgpu_count.launches - before;
}

/* A block of threads has a row of up to 8,192 elements; a longer one is a builtin kernel (scan_call.c); results of blocks down columns
 * are not split again if few are left. */
TEST(scans_in_few_kernels_simgpu) {
    simgpu_add();
    rg_ctx *c = rg_open("SIM90");
    CHECK_EQ(launches(c, 5, 7000, 1), 1);
    CHECK_EQ(launches(c, 3, 16384, 1), 0); /* calls are not counted */
    CHECK_EQ(launches(c, 1, 3840, 30), 3);
    check(c, MAX, RG_F32, 1, 3833, 30);
    CHECK(!rg_close(c));
}

/* Long rows of every type are one call, with the casts around them. */
TEST(scans_by_call_simgpu) {
    static const rg_dtype type[] = {RG_F16, RG_BF16, RG_I8, RG_U8, RG_I16, RG_I32, RG_I64, RG_F32, RG_F64};
    simgpu_add();
    rg_ctx *c = rg_open("SIM90");
    for (size_t i = 0; i < 2 * RG_COUNT(type); i++) {
        rg_dtype dt = type[i % RG_COUNT(type)];
        bool whole = dt == RG_I8 || dt == RG_I16 || dt == RG_I32 || dt == RG_I64;
        int64_t n = 33000 + (int64_t)(bits() % 9000), outer = 1 + (int64_t)(bits() % 2);
        check_lanes(c, whole && i % 2 ? SUM : bits() % 2 ? MAX : MIN, dt, outer, n);
    }
    RG_SCOPE(c);
    rg_tensor x = rg_contiguous(rg_cast(rg_rand(c, RG_F32, RG_SHAPE(2, 40000)), RG_BF16));
    rg_realize(x);
    unsigned before = simgpu_count.launches;
    rg_realize(rg_cumsum(x, 1)), rg_realize(rg_logcumsumexp(x, 1)), rg_realize(rg_logcumsumexp(x, 0));
    CHECK_EQ(simgpu_count.launches - before,
             2); /* columns are copied there and back; calls are not counted */
    CHECK(!rg_close(c));
}

/* Running sums and maxima of a view of (3, n, ones ..), read into y. */
static void scan_view(rg_ctx *c, int kind, int ones, int64_t n, const int32_t *x, int64_t *y, int32_t *z) {
    RG_SCOPE(c);
    rg_tensor t = rg_from(c, RG_I32, x, RG_SHAPE(3, 2 * n)), v;
    switch (kind) {
    case 0: v = rg_flip(rg_narrow(t, 1, 0, n), RG_AXES(1)); break;
    case 1: v = rg_slice(t, RG_SLICES(RG_WHOLE, RG_STEP(0, RG_END, 2))); break;
    case 2: v = rg_narrow(t, 1, n / 2, n); break;
    case 3: v = rg_reshape(rg_transpose(rg_reshape(t, RG_SHAPE(6, n)), 0, 1), RG_SHAPE(6, n)); break;
    case 4: v = rg_expand(rg_narrow(rg_narrow(t, 0, 1, 1), 1, 5, n), RG_SHAPE(3, n)); break;
    default: v = rg_roll(rg_narrow(t, 1, 0, n), RG_AXES(7), RG_AXES(1)); break;
    }
    for (int i = 0; i < ones; i++) v = rg_unsqueeze(v, -1);
    rg_tensor sum = rg_cumsum(v, 1), most = rg_cummax(v, 1);
    if (rg_realize_all(RG_TENSORS(sum, most)) || rg_read(sum, y, (size_t)rg_bytes(sum)) ||
        rg_read(most, z, (size_t)rg_bytes(most)))
        FAIL("%s", rg_error(c));
}

/* A builtin kernel reads rows of memory: a view is stored first, also if axes of one element follow the scanned one. */
TEST(scans_by_call_of_views_simgpu) {
    enum { MOST = 9000 };
    int32_t *x = calloc(6 * MOST, 4), *z[2];
    int64_t *y[2];
    for (int k = 0; k < 2; k++) y[k] = calloc(6 * MOST, 8), z[k] = calloc(6 * MOST, 4);
    for (int i = 0; i < 6 * MOST; i++) x[i] = (int32_t)(bits() % 2001) - 1000;
    simgpu_add();
    rg_ctx *c[2] = {rg_open("SIM90"), rg_open("CPU")};
    for (int i = 0; i < 18; i++) {
        int64_t n = 8500 + (int64_t)(bits() % 200), rows = i % 6 == 3 ? 6 : 3;
        for (int k = 0; k < 2; k++) scan_view(c[k], i % 6, i / 6, n, x, y[k], z[k]);
        if (memcmp(y[0], y[1], (size_t)(rows * n) * 8) || memcmp(z[0], z[1], (size_t)(rows * n) * 4))
            FAIL("view %d with %d axes of one element, n %lld", i % 6, i / 6, (long long)n);
    }
    for (int k = 0; k < 2; k++) free(y[k]), free(z[k]), rg_close(c[k]);
    free(x);
}

/* logcumsumexp of a type along an axis, alone and with a gradient in one program, which reads what the call would have hidden. */
static void check_log_scan(rg_ctx *c, rg_dtype dt, int64_t outer, int64_t n, int64_t inner, bool grad) {
    RG_SCOPE(c);
    int64_t all = outer * n * inner;
    double *x = malloc((size_t)all * 8), *y = malloc((size_t)all * 8), most = dt == RG_F32 ? 3e-6 : 1e-2;
    for (int64_t i = 0; i < all; i++)
        x[i] = bits() % 20 ? (double)(bits() % 2001) * 1e-2 - 10 : bits() % 2 ? -INFINITY : -300;
    rg_tensor t = rg_cast(rg_from(c, RG_F64, x, RG_SHAPE(outer, n, inner)), dt), back = {0};
    rg_realize(t);
    if (rg_read(rg_cast(t, RG_F64), x, (size_t)all * 8)) FAIL("%s", rg_error(c));
    rg_tensor in = rg_param(t), out = rg_logcumsumexp(in, 1);
    if (grad) rg_grad(rg_sum(out), RG_TENSORS(in), &back);
    if (grad) rg_realize_all(RG_TENSORS(out, back));
    if (rg_read(rg_cast(out, RG_F64), y, (size_t)all * 8)) FAIL("%s", rg_error(c));
    for (int64_t r = 0; r < outer * inner; r++) {
        double a = -INFINITY;
        for (int64_t i = 0; i < n; i++) {
            int64_t at = (r / inner * n + i) * inner + r % inner;
            double m = fmax(a, x[at]);
            a = a == x[at] ? a + log(2) : m + log(exp(a - m) + exp(x[at] - m));
            if (y[at] != a && !(fabs(y[at] - a) <= most * (1 + fabs(a))))
                FAIL("%s (%lld, %lld, %lld) at %lld: %.9g, expected %.9g", rg_dtype_name(dt),
                     (long long)outer, (long long)n, (long long)inner, (long long)at, y[at], a);
        }
    }
    free(x), free(y);
}

TEST(scans_of_logarithms_simgpu) {
    static const rg_dtype type[] = {RG_F16, RG_BF16, RG_F32, RG_F64};
    simgpu_add();
    rg_ctx *c = rg_open("SIM90");
    for (int i = 0; i < 12; i++) {
        int64_t n = 2 + (int64_t)(bits() % (i % 3 ? 50 : 3000)),
                inner = bits() % 2 ? 1 : 1 + (int64_t)(bits() % 5);
        check_log_scan(c, type[i % 4], 1 + (int64_t)(bits() % 7), n, inner, i > 8);
    }
    CHECK(!rg_close(c));
}

/* The text of a GPU's block scans, run by PoCL: through local memory, with threads that have no iteration. */
TEST(opencl_scans) {
    opencl_settle();
    rg_ctx *c = rg_open("OPENCL");
    if (rg_status_of(c)) NO_OPENCL(rg_error(c));
    check(c, SUM, RG_F32, 3, 5000, 1);
    check(c, MAX, RG_I32, 40, 129, 1);
    check(c, SUM, RG_I32, 1, 70003, 1);
    CHECK(!rg_close(c));
}

/* On a GPU, where there is one: warps and blocks of every size. */
TEST(cuda_gpu_scans) {
    rg_ctx *c = rg_open("CUDA");
    if (rg_status_of(c)) NO_CUDA(rg_error(c));
    for (int i = 0; i < 40; i++) draw(c, i % 4 ? 20000 : 2000000);
    check(c, SUM, RG_F32, 1, (1 << 24) + 3, 1);
    check(c, MIN, RG_F32, 1000, 4096, 1);
    CHECK(!rg_close(c));
}

/* Reductions whose lengths have no divisor near the wanted blocks: equal blocks, and the rest beside their results. */
static void check_split(rg_ctx *c, int64_t rows, int64_t n) {
    RG_SCOPE(c);
    int64_t all = rows * n;
    float *x = malloc((size_t)all * 4), *sum = malloc((size_t)n * 4), *top = malloc((size_t)n * 4), var;
    int64_t *at = malloc((size_t)n * 8);
    double mean = 0, spread = 0;
    for (int64_t i = 0; i < all; i++) x[i] = (float)(bits() % 100003) * 1e-3f + 1000, mean += x[i];
    mean /= (double)all;
    for (int64_t i = 0; i < all; i++) spread += (x[i] - mean) * (x[i] - mean);
    rg_tensor t = rg_from(c, RG_F32, x, RG_SHAPE(rows, n));
    rg_realize(t);
    rg_read(rg_sum(t, .axes = RG_AXES(0)), sum, (size_t)n * 4);
    rg_read(rg_max(t, .axes = RG_AXES(0)), top, (size_t)n * 4);
    rg_read(rg_argmax(t, .axes = RG_AXES(0)), at, (size_t)n * 8);
    if (rg_read(rg_var(t), &var, 4)) FAIL("%s", rg_error(c));
    CHECK_NEAR(var, spread / (double)(all - 1), 1e-5 * spread / (double)all);
    for (int64_t k = 0; k < n; k++) {
        double s = 0;
        int64_t best = 0;
        for (int64_t i = 0; i < rows; i++) {
            s += x[i * n + k];
            if (x[i * n + k] > x[best * n + k]) best = i;
        }
        CHECK_NEAR(sum[k], s, 2e-6 * s);
        CHECK(top[k] == x[best * n + k] && at[k] == best);
    }
    free(x), free(sum), free(top), free(at);
}

TEST(scans_split_without_divisors_cpu) {
    rg_ctx *c = rg_open("CPU");
    check_split(c, 10007, 17);
    check_split(c, 150001, 1);
    CHECK(!rg_close(c));
}

TEST(scans_split_without_divisors_simgpu) {
    simgpu_add();
    rg_ctx *c = rg_open("SIM90");
    check_split(c, 10007, 17);
    CHECK(!rg_close(c));
}
