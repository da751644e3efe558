/* store_rules.c: a sum that is compared with itself is computed once.
 *
 * x == max(x) must hold somewhere in every row, whatever sums x is made of and however they are vectorized: argmax and the gradient
 * of max rely on it. Random rows through random functions that sum, on the CPU and a simulated GPU. A product that is a result is
 * stored, also between the factors and the sum of a contraction.
 * Code: src/schedule/store_rules.c */
#include "simgpu.h"
#include "test.h"

#include "base/base.h"

#include <math.h>
#include <ridge.h>

static int64_t below(uint64_t *s, int64_t n) { return (int64_t)(hash_u64((*s)++) % (uint64_t)n); }

/* (rows, columns) of sums, of one of the kinds that programs compare. */
static rg_tensor sums(rg_ctx *c, uint64_t *s, int64_t rows, int64_t columns) {
    int64_t depth = 2 + below(s, 30);
    rg_tensor x = rg_randn(c, RG_F32, RG_SHAPE(rows, columns));
    if (below(s, 2)) rg_realize(x);
    switch (below(s, 7)) {
    case 0: return rg_softmax(x, 1);
    case 1: return rg_log_softmax(x, 1);
    case 2: return rg_sub(x, rg_mean(x, .axes = RG_SHAPE(1), .keep = true));
    case 3: return rg_div(x, rg_norm(x, 2, .axes = RG_SHAPE(1), .keep = true));
    case 4: return rg_sum(rg_exp(rg_randn(c, RG_F32, RG_SHAPE(rows, columns, depth))), .axes = RG_SHAPE(2));
    case 5: return rg_prod(rg_randn(c, RG_F32, RG_SHAPE(rows, depth, columns)), .axes = RG_SHAPE(1));
    default: return rg_matmul(x, rg_randn(c, RG_F32, RG_SHAPE(columns, columns)));
    }
}

/* Rows in which some element is the maximum, in which the one at argmax is, and the sum of the gradient of their maxima. */
static void check(const char *device, uint64_t seed) {
    uint64_t s = seed * 1000;
    rg_ctx *c = rg_open(device);
    int64_t rows = 1 + below(&s, 9), columns = 1 + below(&s, 40);
    rg_seed(c, seed);
    rg_tensor x = sums(c, &s, rows, columns), greatest = rg_max(x, .axes = RG_SHAPE(1), .keep = true), dx;
    if (below(&s, 2)) x = rg_tanh(x), greatest = rg_max(x, .axes = RG_SHAPE(1), .keep = true);
    rg_grad(rg_sum(greatest), RG_TENSORS(x), &dx);
    rg_tensor some = rg_any(rg_eq(x, greatest), .axes = RG_SHAPE(1));
    rg_tensor at = rg_gather(x, 1, rg_argmax(x, .axes = RG_SHAPE(1), .keep = true));
    rg_tensor count[] = {rg_sum(rg_cast(some, RG_F32)), rg_sum(rg_cast(rg_eq(at, greatest), RG_F32)),
                         rg_sum(dx)};
    if (below(&s, 2)) rg_realize_all(RG_TENSORS(x, count[0], count[1], count[2]));
    for (int i = 0; i < 3; i++) {
        double got = rg_item(count[i]);
        if (rg_status_of(c)) FAIL("%s, seed %llu: %s", device, (unsigned long long)seed, rg_error(c));
        if (fabs(got - (double)rows) > 1e-3)
            FAIL("%s, seed %llu: %s of %g of %lld rows of %lld", device, (unsigned long long)seed,
                 ((const char *[]){"a maximum", "the element at argmax", "a gradient"})[i], got,
                 (long long)rows, (long long)columns);
    }
    rg_close(c);
}

TEST(store_rules_a_sum_equals_its_maximum) {
    for (uint64_t i = 0; i < 16; i++) check("CPU", 100 + i);
}

TEST(store_rules_a_sum_equals_its_maximum_on_a_gpu) {
    simgpu_add();
    for (uint64_t i = 0; i < 40; i++) check("SIM90S", 200 + i);
}

/* The product of a contraction, rounded or widened, is a result beside its sum. */
static void check_product_is_result(const char *device, rg_dtype of, rg_dtype as) {
    enum { M = 5, N = 12, K = 8 };
    double got[M * N * K], sum[M * N];
    rg_ctx *c = rg_open(device);
    rg_tensor a = rg_reshape(rg_arange(c, of, 0, M * K, 1), RG_SHAPE(M, 1, K)),
              b = rg_reshape(rg_arange(c, of, 0, N * K, 1), RG_SHAPE(1, N, K));
    rg_realize_all(RG_TENSORS(a, b));
    rg_tensor p = rg_cast(rg_mul(rg_expand(a, RG_SHAPE(M, N, K)), rg_expand(b, RG_SHAPE(M, N, K))), as);
    rg_tensor total = rg_sum(rg_cast(p, of), .axes = RG_SHAPE(2));
    rg_realize_all(RG_TENSORS(total, p));
    if (rg_read(rg_cast(p, RG_F64), got, sizeof got) || rg_read(rg_cast(total, RG_F64), sum, sizeof sum))
        FAIL("%s: %s", device, rg_error(c));
    for (int m = 0; m < M; m++)
        for (int n = 0; n < N; n++) {
            double want = 0;
            for (int k = 0; k < K; k++) {
                double one = got[(m * N + n) * K + k], exact = (m * K + k) * (n * K + k);
                CHECK(fabs(one - exact) <= (as == RG_BF16 ? exact / 128 : 0));
                want += one;
            }
            CHECK_EQ((int64_t)sum[m * N + n], (int64_t)want);
        }
    rg_close(c);
}

TEST(store_rules_a_product_that_is_a_result) {
    static const rg_dtype type[][2] = {
        {RG_I32, RG_I64}, {RG_F32, RG_F64}, {RG_F32, RG_BF16}, {RG_I64, RG_I32}};
    simgpu_add();
    for (size_t i = 0; i < RG_COUNT(type); i++) {
        check_product_is_result("REF", type[i][0], type[i][1]);
        check_product_is_result("CPU", type[i][0], type[i][1]);
        check_product_is_result("SIM90S", type[i][0], type[i][1]);
    }
}
