/* outside.c: random programs over every public function with what PyTorch computes for them, on REF and on the CPU.
 *
 * The programs and values are in outside_sample.h, written by tests/outside/run.py --sample; `make test-outside` runs fresh ones
 * beside PyTorch itself (docs/testing.md). A value may be off by what stands beside it, which comes from roundings of the
 * reference. */
#include "base/base.h"
#include "ridge.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>

static rg_ctx *here; /* of the running program, for its jit */
static int at, values;

/* What was asked for in this call and not compared yet. */
enum { MOST = 16, ROOM = 2048 };
static struct pending {
    double got[ROOM];
    const double *want, *off;
    int64_t n;
} queue[MOST];
static int queued;

static void shape_is(rg_tensor x, rg_dtype dt, rg_ints shape) {
    int64_t d[16];
    int64_t rank = rg_shape_of(x, d, 16);
    if (rank < 0) FAIL("program %d: %s", at, rg_error(here));
    if (rg_dtype_of(x) != dt) FAIL("program %d: dtype %d, expected %d", at, rg_dtype_of(x), dt);
    bool same = rank == (int64_t)shape.n;
    for (int64_t i = 0; same && i < rank; i++) same = d[i] == shape.d[i];
    if (!same) FAIL("program %d: rank %lld, or a size, is not as expected", at, (long long)rank);
}

static void see(rg_tensor x, rg_dtype dt, rg_ints shape, const double *want, const double *off) {
    shape_is(x, dt, shape);
    if (queued == MOST || rg_size(x) > ROOM) FAIL("program %d: too many results", at);
    struct pending *q = &queue[queued++];
    q->want = want, q->off = off, q->n = rg_size(x);
    rg_tensor f = rg_cast(x, RG_F64);
    rg_read_async(f, q->got, sizeof q->got);
}

static void seen(rg_ctx *c) {
    if (rg_wait(c)) FAIL("program %d: %s", at, rg_error(c));
    for (struct pending *q = queue; q < queue + queued; q++)
        for (int64_t i = 0; i < q->n; i++, values++) {
            double off = q->off ? q->off[i] : 0, g = q->got[i], w = q->want[i];
            if (g != w && !(isnan(g) && isnan(w)) && !(fabs(g - w) <= off))
                FAIL("program %d: element %lld of result %d is %.17g, expected %.17g within %g", at,
                     (long long)i, (int)(q - queue), g, w, off);
        }
    queued = 0;
}

#pragma GCC diagnostic ignored "-Wunused-variable" /* what a program computes and does not read */
#include "outside_sample.h"

/* Every step-th program from the first on. */
static void run_sample(const char *device, int first, int step) {
    int n = (int)(sizeof sample / sizeof *sample), run = 0;
    here = rg_open(device);
    for (at = first; at < n; at += step, run++) {
        RG_SCOPE(here);
        rg_seed(here, 0);
        sample[at](here);
        if (rg_status_of(here)) FAIL("program %d: %s", at, rg_error(here));
    }
    CHECK(run > 0 && values > run);
    CHECK_EQ(rg_close(here), 0);
    TEST_COUNT(run, "programs with values of PyTorch");
}

/* REF takes 0.3 ms for a program, the CPU with its compiler 40: it runs a third of them. */
TEST(outside_REF) { run_sample("REF", 0, 1); }
TEST_SLOW(outside_CPU_0, 300) { run_sample("CPU", 0, 12); }
TEST_SLOW(outside_CPU_1, 300) { run_sample("CPU", 3, 12); }
TEST_SLOW(outside_CPU_2, 300) { run_sample("CPU", 6, 12); }
TEST_SLOW(outside_CPU_3, 300) { run_sample("CPU", 9, 12); }

/* ---- what such programs found ----------------------------------------------------------------------------------- */

/* A power of integers is a chain of squarings. Of a changing scalar it is no member of a region but a number, which the plan
 * spelled out again at each use: 2^64 nodes. */
TEST(outside_power_of_a_scalar) {
    static const char *const compiler[] = {
        "gcc", "clang"}; /* each that there is; gcc unfolded the chain once more */
    struct err err = {0};
    struct arena a;
    arena_init(&a, &err);
    for (size_t i = 0; i < RG_COUNT(compiler); i++) {
        if (!os_find_program(&a, compiler[i])) continue;
        setenv("RIDGE_CC", compiler[i], 1);
        env_reload();
        rg_ctx *c = rg_open("CPU");
        uint64_t r;
        rg_tensor y = rg_from(c, RG_U64, (uint64_t[]){3}, RG_SHAPE());
        if (rg_read(rg_pow(rg_scalar(c, RG_U64, 8), y), &r, sizeof r)) FAIL("%s", rg_error(c));
        CHECK_EQ(r, 512);
        CHECK_EQ(rg_close(c), 0);
    }
    arena_free(&a);
}

/* A scatter with an empty index is its operand, which may be overwritten by an assignment in the same plan: it was copied after. */
TEST(outside_empty_scatter_before_an_assignment) {
    static const char *const device[] = {"REF", "CPU"};
    for (int i = 0; i < 2; i++) {
        rg_ctx *c = rg_open(device[i]);
        rg_tensor x = rg_from(c, RG_F32, (float[]){1}, RG_SHAPE(1));
        rg_tensor src = rg_from(c, RG_F32, (float[]){0}, RG_SHAPE(0));
        rg_tensor index = rg_from(c, RG_I64, (int64_t[]){0}, RG_SHAPE(0));
        rg_tensor y = rg_scatter_add(x, 0, index, src);
        rg_assign(x, -2.0);
        CHECK_EQ(rg_item(y), 1);
        CHECK_EQ(rg_item(x), -2);
        CHECK_EQ(rg_close(c), 0);
    }
}

/* Planted bugs (tests/mutants/outside-*.mut) that the sample may miss: where one element decides. Values of PyTorch. */
static void gives(rg_ctx *c, const char *what, rg_tensor x, int n, const double *want) {
    double got[8] = {0};
    if (rg_size(x) != n || rg_read(rg_cast(x, RG_F64), got, sizeof got)) FAIL("%s: %s", what, rg_error(c));
    for (int i = 0; i < n; i++)
        if (!(fabs(got[i] - want[i]) <= 1e-6))
            FAIL("%s: element %d is %g, expected %g", what, i, got[i], want[i]);
}

TEST(outside_corners_that_one_element_decides) {
    rg_ctx *c = rg_open("REF");
    rg_tensor x = rg_from(c, RG_F32, (float[]){-5, 1, 2}, RG_SHAPE(3));
    gives(c, "norm", rg_norm(x, INFINITY), 1, (double[]){5});
    rg_tensor first = rg_from(c, RG_I64, (int64_t[]){1}, RG_SHAPE(1, 1)); /* of the first column alone */
    rg_tensor four = rg_from(c, RG_F32, (float[]){1, 2, 3, 4}, RG_SHAPE(2, 2));
    gives(c, "scatter", rg_scatter(four, 0, first, rg_full(c, RG_F32, 9, RG_SHAPE(1, 1))), 4,
          (double[]){1, 2, 9, 4});
    rg_tensor wide = rg_from(c, RG_F32, (float[]){1, 2, 3, 4, 9, 5}, RG_SHAPE(1, 1, 2, 3));
    gives(c, "pool", rg_max_pool2d_index(wide, .size = RG_INTS(2, 3)), 1, (double[]){4});
    rg_tensor two = rg_from(c, RG_F32, (float[]){7, 8}, RG_SHAPE(1, 1, 2));
    gives(c, "pool with .ceil",
          rg_max_pool1d(two, .size = RG_INTS(2), .stride = RG_INTS(3), .padding = RG_INTS(1), .ceil = true),
          1, (double[]){7});
    rg_tensor share = rg_from(c, RG_F32, (float[]){0.25f, 0.25f, 0.5f, 1, 0, 0}, RG_SHAPE(2, 3));
    gives(c, "cross entropy", rg_cross_entropy(rg_zeros(c, RG_F32, RG_SHAPE(2, 3)), share), 1,
          (double[]){1.0986122886681098});
    rg_tensor from = rg_from(c, RG_F32, (float[]){10, 20}, RG_SHAPE(2));
    rg_assign_slice(x, from, RG_SLICES(RG_STEP(2, 0, -1)));
    gives(c, "assignment", x, 3, (double[]){-5, 20, 10});
    rg_tensor p = rg_param(rg_from(c, RG_F32, (float[]){1, 2, 3}, RG_SHAPE(3)));
    rg_backward(rg_sum(rg_mul(rg_flip(p, RG_AXES(0)), x)));
    gives(c, "gradient of flip", rg_param_grad(p), 3, (double[]){10, 20, -5});
    CHECK_EQ(rg_close(c), 0);
}

static rg_tensor numbers(rg_ctx *c, int n, const float *v) { return rg_from(c, RG_F32, v, RG_SHAPE(n)); }

/* Gradients of x and src through what the elements of src at index 0 make of x. */
static void scattered(rg_ctx *c, const char *what, rg_combine how, float x, int n, const float *src,
                      const double *want) {
    rg_tensor in = numbers(c, 1, &x), from = numbers(c, n, src), index = rg_zeros(c, RG_I64, RG_SHAPE(n)),
              d[2];
    rg_grad(rg_sum(rg_scatter_reduce(in, 0, index, from, .how = how)), RG_TENSORS(in, from), d);
    gives(c, what, d[0], 1, want);
    gives(c, what, d[1], n, want + 1);
}

TEST(outside_corners_of_ties_zeros_and_nan) {
    rg_ctx *c = rg_open("REF");
    scattered(c, "maximum of equals", RG_COMBINE_MAX, 2, 2, (float[]){2, 1}, (double[]){0.5, 0.5, 0});
    scattered(c, "product of two zeros", RG_COMBINE_PROD, 3, 3, (float[]){0, 0, 2}, (double[]){0, 0, 0, 0});
    scattered(c, "product of one zero", RG_COMBINE_PROD, 3, 2, (float[]){0, 2}, (double[]){0, 6, 0});
    rg_tensor odd = numbers(c, 4, (float[]){1, NAN, 3, NAN});
    gives(c, "argmax", rg_argmax(odd), 1, (double[]){1});
    gives(c, "argmin", rg_argmin(odd), 1, (double[]){1});
    /* the sum has nine digits: rounded to bf16 before it is divided, the mean would be 0.83203125 */
    rg_tensor three = rg_cast(numbers(c, 3, (float[]){1.5f, 1, 0.0078125f}), RG_BF16);
    gives(c, "mean of bf16", rg_mean(three), 1, (double[]){0.8359375});
    rg_tensor z = rg_from(c, RG_F32, (float[]){1, 2, 3, 4, 5, 6, 7, 8}, RG_SHAPE(2, 2, 2)), d;
    rg_tensor x = rg_from(c, RG_F32, (float[]){1, 1}, RG_SHAPE(1, 2, 1));
    rg_grad(rg_sum(rg_mul(x, rg_max(z, RG_AXES(2), .keep = true))), RG_TENSORS(x), &d);
    gives(c, "sum of maxima", d, 2, (double[]){8, 12});
    CHECK_EQ(rg_close(c), 0);
}

/* Near 0 the second derivatives are x and -x: they keep their digits. */
TEST(outside_corners_second_gradients_of_arcs) {
    rg_ctx *c = rg_open("REF");
    const double v = -0.0016329825, want = 1000 * v / pow(1 - v * v, 1.5);
    rg_tensor x = numbers(c, 1, (float[]){(float)v}), one = numbers(c, 1, (float[]){1}), d, dd;
    rg_tensor arc[] = {rg_asin(x), rg_acos(x)};
    for (int i = 0; i < 2; i++) {
        rg_grad(rg_mul(arc[i], 1000), RG_TENSORS(x), &d, .seed = one);
        rg_grad(d, RG_TENSORS(x), &dd, .seed = one);
        gives(c, i ? "acos" : "asin", dd, 1, (double[]){i ? -want : want});
    }
    CHECK_EQ(rg_close(c), 0);
}
