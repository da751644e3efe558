/* Corners where compilers of tensors go wrong: NaN, infinities, signed zeros, 16-bit floats, empty tensors, integers at their ends. Each
 * test names its corner and asserts what IEEE 754 says and PyTorch does (2.x, on a CPU, in the same dtype; the numbers here are its
 * answers, and where there are none the words of docs/semantics.md). Each runs on the oracle and compiled, with the
 * whole expression in one graph, so that a rule or a fused kernel has its chance to be wrong. */
#include <ridge.h>
#include <test.h>

#include <stdio.h>

static const char *const devices[] = {"REF", "CPU"};

static rg_tensor f32(rg_ctx *c, const float *v, int64_t n) { return rg_from(c, RG_F32, v, RG_LIST(&n, 1)); }
#define F(...) \
    f32(c, (const float[]){__VA_ARGS__}, (int64_t)(sizeof((const float[]){__VA_ARGS__}) / sizeof(float)))
#define H(...) rg_cast(F(__VA_ARGS__), RG_F16)
static rg_tensor i32(rg_ctx *c, const int32_t *v, int64_t n) { return rg_from(c, RG_I32, v, RG_LIST(&n, 1)); }
#define I(...)                             \
    i32(c, (const int32_t[]){__VA_ARGS__}, \
        (int64_t)(sizeof((const int32_t[]){__VA_ARGS__}) / sizeof(int32_t)))

/* The same numbers, NaN for NaN, and zeros with the same sign; any dtype, as doubles. */
static void same(rg_ctx *c, const char *what, rg_tensor x, const double *want, int64_t n) {
    double got[64];
    if (rg_size(x) != n) FAIL("%s: %lld elements, expected %lld", what, (long long)rg_size(x), (long long)n);
    if (rg_read(rg_cast(x, RG_F64), got, sizeof got)) FAIL("%s: %s", what, rg_error(c));
    for (int64_t i = 0; i < n; i++) {
        bool ok = isnan(want[i]) ? isnan(got[i]) : got[i] == want[i] && signbit(got[i]) == signbit(want[i]);
        if (!ok)
            FAIL("%s on %s: [%lld] is %g, expected %g", what, rg_device(c), (long long)i, got[i], want[i]);
    }
}
#define SAME(x, ...)                                \
    same(c, #x, (x), (const double[]){__VA_ARGS__}, \
         (int64_t)(sizeof((const double[]){__VA_ARGS__}) / sizeof(double)))

/* TEST(corner_NAME) with a body that runs on each device. */
#define CORNER(name)                                                    \
    static void corner_##name(rg_ctx *c);                               \
    TEST(corner_##name) {                                               \
        for (size_t d = 0; d < sizeof devices / sizeof *devices; d++) { \
            rg_ctx *c = rg_open(devices[d]);                            \
            corner_##name(c);                                           \
            if (rg_close(c)) FAIL("%s: an error is left", devices[d]);  \
        }                                                               \
    }                                                                   \
    static void corner_##name(rg_ctx *c)

/* ---- NaN ------------------------------------------------------------------------------------------------- */

/* x/x is not 1, x-x and 0*x are not 0: not where x is 0, infinite or NaN. */
CORNER(x_over_x_is_not_folded) {
    rg_tensor x = F(0, 1, INFINITY, NAN, -2);
    SAME(rg_div(x, x), NAN, 1, NAN, NAN, 1);
    SAME(rg_sub(x, x), 0, 0, NAN, NAN, 0);
    SAME(rg_mul(x, 0), 0, 0, NAN, NAN, -0.0);
    SAME(rg_mul(x, rg_recip(x)), NAN, 1, NAN, NAN, 1);
    SAME(rg_pow(x, 0), 1, 1, 1, 1, 1);
}

/* Wherever it stands, alone or in a long axis that is cut into pieces and vectors. */
CORNER(max_and_min_of_nan) {
    for (int at = 0; at < 3; at++) {
        float v[3] = {1, 2, 3};
        v[at] = NAN;
        rg_tensor x = f32(c, v, 3);
        SAME(rg_max(x), NAN);
        SAME(rg_min(x), NAN);
        SAME(rg_prod(x), NAN);
    }
    for (int at = 0; at < 1000; at += 333) {
        float v[1000];
        for (int i = 0; i < 1000; i++) v[i] = (float)(i % 7) - (float)(i == at ? NAN : 0);
        SAME(rg_max(f32(c, v, 1000)), NAN);
        SAME(rg_min(f32(c, v, 1000)), NAN);
    }
    SAME(rg_max(F(-INFINITY, -INFINITY)), -INFINITY);
    SAME(rg_cummax(F(1, NAN, 3), 0), 1, NAN, NAN);
    SAME(rg_cummin(F(1, NAN, 0), 0), 1, NAN, NAN);
}

CORNER(maximum_and_minimum_of_nan) {
    rg_tensor x = F(NAN, 1, NAN, 2), y = F(1, NAN, NAN, 3);
    SAME(rg_maximum(x, y), NAN, NAN, NAN, 3);
    SAME(rg_minimum(x, y), NAN, NAN, NAN, 2);
    SAME(rg_maximum(x, 0), NAN, 1, NAN, 2);
    SAME(rg_minimum(0, x), NAN, 0, NAN, 0);
}

CORNER(activations_of_nan) {
    rg_tensor x = F(NAN, -1, 2), g;
    SAME(rg_relu(x), NAN, 0, 2);
    SAME(rg_relu6(x), NAN, 0, 2);
    SAME(rg_clamp(x, 0, 1), NAN, 0, 1);
    SAME(rg_hardtanh(x, -1, 1), NAN, -1, 1);
    SAME(rg_leaky_relu(x, 0.5), NAN, -0.5, 2);
    SAME(rg_elu(F(NAN, 1), 1), NAN, 1);
    SAME(rg_hardsigmoid(F(NAN, 3)), NAN, 1);
    rg_grad(rg_sum(rg_relu(x)), RG_TENSORS(x), &g);
    SAME(g, 1, 0, 1); /* what is not at or below 0 passes it on, as in PyTorch */
}

/* NumPy's; PyTorch says 0. */
CORNER(sign_of_nan_stays) {
    SAME(rg_sign(F(NAN, 0, 5, -INFINITY)), NAN, 0, 1, -1);
    SAME(rg_abs(F(-0.0f, NAN, -1)), 0, NAN, 1);
}

CORNER(argmax_of_nan_is_its_index) {
    rg_tensor x = F(1, NAN, 3, NAN);
    SAME(rg_argmax(x), 1);
    SAME(rg_argmin(x), 1);
    SAME(rg_argmax(F(2, 5, 5, 1)), 1);
    SAME(rg_argmax(F(-INFINITY, -INFINITY)), 0);
    SAME(rg_argmin(F(INFINITY, INFINITY)), 0);
}

CORNER(comparisons_of_nan) {
    rg_tensor x = F(NAN, 1);
    SAME(rg_eq(x, x), 0, 1);
    SAME(rg_ne(x, x), 1, 0);
    SAME(rg_lt(x, 2), 0, 1);
    SAME(rg_ge(x, 1), 0, 1);
    SAME(rg_logical_not(rg_lt(x, 2)), 1, 0); /* which is not x >= 2 */
    SAME(rg_any(F(NAN)), 1);
    SAME(rg_all(F(NAN)), 1);
    SAME(rg_any(F(-0.f, 0, -0.f)), 0);
    SAME(rg_all(F(NAN, -0.f, 1)), 0);
    SAME(rg_all(F(NAN, -INFINITY, 1e-40f)), 1);
    SAME(rg_any(H(-0.f, 6e-8f)), 1);
    SAME(rg_any(H(-0.f, 0)), 0);
    SAME(rg_any(rg_cast(F(-0.f, 0), RG_BF16)), 0);
    SAME(rg_any(rg_cast(F(-0.f, 0), RG_F64)), 0);
    SAME(rg_all(rg_cast(F(-1, 2, NAN), RG_F64)), 1);
    SAME(rg_any(I(0, INT32_MIN)), 1);
    SAME(rg_all(I(-1, INT32_MIN, 7)), 1);
    SAME(rg_all(I(-1, 0, 7)), 0);
    SAME(rg_any(rg_shl(rg_cast(I(0, 1), RG_I64), 40)), 1);
    SAME(rg_all(rg_cast(I(-1, 3), RG_I8)), 1);
    SAME(rg_any(rg_cast(I(0, 256), RG_U8)), 0);
    SAME(rg_cast(F(NAN, 0, -0.0f), RG_BOOL), 1, 0, 0);
    SAME(rg_where(rg_isnan(x), 7, x), 7, 1);
}

/* ---- infinities ------------------------------------------------------------------------------------------- */

CORNER(logsumexp_of_minus_infinity) {
    rg_tensor x = F(-INFINITY, -INFINITY);
    SAME(rg_logsumexp(x), -INFINITY);
    SAME(rg_logcumsumexp(F(-INFINITY, -INFINITY, 2), 0), -INFINITY, -INFINITY, 2);
    SAME(rg_logsumexp(F(INFINITY, 1)), INFINITY);
    SAME(rg_logaddexp(F(-INFINITY, INFINITY, INFINITY), F(-INFINITY, INFINITY, -INFINITY)), -INFINITY,
         INFINITY, INFINITY);
    SAME(rg_softmax(x, 0), NAN, NAN); /* 0/0: nothing to choose from */
    SAME(rg_softmax(F(-INFINITY, 0), 0), 0, 1);
    SAME(rg_logsumexp(rg_zeros(c, RG_F32, RG_SHAPE(0))), -INFINITY);
}

CORNER(powers_and_logarithms_at_zero) {
    SAME(rg_pow(F(0, 0, -8, NAN, 1, 2), F(0, -1, 1.f / 3, 0, NAN, NAN)), 1, INFINITY, NAN, 1, 1, NAN);
    SAME(rg_log(F(0, -0.0f, -1)), -INFINITY, -INFINITY, NAN);
    SAME(rg_sqrt(F(-0.0f, -1)), -0.0, NAN);
    SAME(rg_sin(F(INFINITY, -INFINITY)), NAN, NAN);
    SAME(rg_cast(rg_mul(rg_sin(F(1e10f, 1e38f)), 1e6), RG_I32), -487506,
         989164); /* the argument is not rounded to nothing */
    SAME(rg_exp(F(-INFINITY, INFINITY, 89, -104)), 0, INFINITY, INFINITY, 0);
}

CORNER(signed_zeros) {
    rg_tensor z = F(-0.0f, 0.0f);
    SAME(rg_add(z, 0.0), 0, 0);
    SAME(rg_mul(z, 1), -0.0, 0);
    SAME(rg_sub(z, 0.0), -0.0, 0);
    SAME(rg_sub(0.0, z), 0, 0);
    SAME(rg_neg(z), 0, -0.0);
    SAME(rg_mul(z, -1), 0, -0.0);
    SAME(rg_recip(z), -INFINITY, INFINITY);
    SAME(rg_cat(RG_TENSORS(z, F(NAN)), 0), -0.0, 0, NAN); /* not made by adding zeros */
    SAME(rg_round(F(-0.5f, 0.5f, 1.5f, 2.5f)), -0.0, 0, 2, 2);
}

/* ---- 16-bit floats ---------------------------------------------------------------------------------------- */

/* The digits that a half has not are gone, also if nothing is stored in between. */
CORNER(cast_to_half_is_not_elided) {
    SAME(rg_cast(H(3.0029297f, 1.f / 3), RG_F32), 3.00390625, 0.333251953125);
    SAME(rg_cast(rg_cast(F(3.0029297f), RG_BF16), RG_F32), 3);
    SAME(rg_cast(H(70000), RG_F32), INFINITY);
    SAME(H(2049), 2048);
    SAME(rg_cast(rg_cast(F(16777217.f, 0.1f), RG_I32), RG_F32), 16777216, 0);
}

CORNER(sixty_thousand_twice_in_half) {
    rg_tensor h = H(60000);
    SAME(rg_add(h, h), INFINITY);
    SAME(rg_sub(rg_cast(rg_add(h, h), RG_F32), 60000), INFINITY);
    SAME(rg_div(rg_mul(H(300), H(300)), H(300)), INFINITY);
    SAME(rg_sub(rg_add(H(1), H(0.0004883f)), H(1)), 0);
    SAME(rg_sum(H(60000, 60000, -60000)), 60000); /* a sum is rounded once */
    SAME(rg_mean(H(60000, 60000)), 60000);
}

/* ---- integers --------------------------------------------------------------------------------------------- */

/* Saturated, and NaN is 0, on every device (C and PyTorch: undefined). */
CORNER(floats_to_unsigned_bytes) {
    rg_tensor x = F(300, -1, NAN, INFINITY, -INFINITY, 254.9f, -0.9f);
    SAME(rg_cast(x, RG_U8), 255, 0, 0, 255, 0, 254, 0);
    SAME(rg_cast(x, RG_I8), 127, -1, 0, 127, -128, 127, 0);
    SAME(rg_cast(F(3e9f, -3e9f, NAN), RG_I32), 2147483647, -2147483648.0, 0);
    SAME(rg_cast(rg_cast(F(300, -1), RG_I32), RG_U8), 44, 255); /* of integers the low bits stay */
}

CORNER(integers_wrap) {
    SAME(rg_abs(I(INT32_MIN)), INT32_MIN);
    SAME(rg_neg(I(INT32_MIN)), INT32_MIN);
    SAME(rg_add(I(INT32_MAX), 1), INT32_MIN);
    SAME(rg_add(rg_cast(I(200), RG_U8), rg_cast(I(100), RG_U8)), 44);
    SAME(rg_prod(rg_cast(I(100, 2), RG_I8)), 200); /* in I64 */
    SAME(rg_sum(rg_cast(I(200, 100), RG_U8)), 300);
    SAME(rg_min(I(INT32_MIN, 5)), INT32_MIN);
    SAME(rg_max(I(INT32_MIN, INT32_MIN)), INT32_MIN);
    SAME(rg_add(rg_cast(I(200), RG_U8), rg_cast(I(-100), RG_I8)), 100); /* in I16 */
    SAME(rg_add(rg_cast(I(1, 1), RG_BOOL), rg_cast(I(1, 0), RG_BOOL)), 1, 1);
}

CORNER(integers_divided_by_zero) {
    rg_tensor x = I(7, -7, 0, INT32_MIN), z = I(0, 0, 0, -1);
    SAME(rg_floordiv(x, z), 0, 0, 0, INT32_MIN);
    SAME(rg_mod(x, z), 0, 0, 0, 0);
    SAME(rg_floordiv(x, x), 1, 1, 0, 1); /* 0 // 0 is not 1 */
    SAME(rg_mod(x, x), 0, 0, 0, 0);
    SAME(rg_floordiv(I(-7, 7), 2), -4, 3);
    SAME(rg_mod(I(-7, 7), -2), -1, -1);
    SAME(rg_fmod(I(-7, 7), -2), -1, 1);
    SAME(rg_div(I(1, -1, 0), 0), INFINITY, -INFINITY, NAN);
    SAME(rg_shl(I(1, 1), I(31, 32)), INT32_MIN, 0);
    SAME(rg_shr(I(-8, -8, 8), I(1, 40, 40)), -4, -1, 0);
}

/* Copied, not summed: -0.0, infinities and a value that three windows share keep their bits. */
CORNER(max_unpool_copies) {
    float v[6] = {-0.0f, -INFINITY, 0.1f, 0.1f, 0.1f, NAN};
    rg_tensor x = rg_from(c, RG_F32, v, RG_SHAPE(1, 1, 2, 3));
    rg_tensor at = rg_from(c, RG_I64, (int64_t[]){0, 2, 3, 3, 3, 5}, RG_SHAPE(1, 1, 2, 3)), g;
    rg_tensor y = rg_max_unpool2d(x, at, 2, 3);
    rg_grad(y, RG_TENSORS(x), &g, .seed = rg_reshape(F(1, 2, 3, 4, 5, 6), RG_SHAPE(1, 1, 2, 3)));
    SAME(y, -0.0, 0, -INFINITY, 0.1f, 0, NAN);
    SAME(g, 1, 3, 4, 4, 4, 6);
}

/* fmod has the sign of x, mod that of y, as C's and Python's: where nothing remains too. */
CORNER(remainders_of_zero_have_a_sign) {
    rg_tensor x = F(-1, 1, -1, 1, -0.0f, 0, -6, 6), y = F(1, 1, -1, -1, 1, -1, 0.5f, -0.25f), g[2];
    SAME(rg_fmod(x, y), -0.0, 0, -0.0, 0, -0.0, 0, -0.0, 0);
    SAME(rg_mod(x, y), 0, 0, -0.0, -0.0, 0, -0.0, 0, -0.0);
    SAME(rg_fmod(rg_cast(x, RG_F64), y), -0.0, 0, -0.0, 0, -0.0, 0, -0.0, 0);
    SAME(rg_mod(rg_cast(x, RG_BF16), y), 0, 0, -0.0, -0.0, 0, -0.0, 0, -0.0);
    SAME(rg_fmod(F(-3, 3, -1, 1, 1), F(INFINITY, -INFINITY, 0, -0.0f, NAN)), -3, 3, NAN, NAN, NAN);
    SAME(rg_mod(F(-3, 3, -1, 1, INFINITY), F(INFINITY, -INFINITY, 0, -0.0f, 2)), INFINITY, -INFINITY, NAN,
         NAN, NAN);
    rg_tensor r = rg_fmod(x, y);
    rg_grad(rg_sum(r), RG_TENSORS(x, y), g);
    SAME(g[0], 1, 1, 1, 1, 1, 1, 1, 1);
    SAME(g[1], 1, -1, -1, 1, 0, 0, 12, 24);
}

/* C's fmod is exact; the quotient has up to 64 bits here, and a float 24 (53). */
CORNER(remainders_of_large_quotients) {
    enum { N = 64 };
    float x[N], y[N];
    double xd[N], yd[N], want[N], want_d[N];
    uint64_t r = 42;
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < 2; k++) {
            r = r * 6364136223846793005u + 1442695040888963407u;
            double v = (double)(r >> 11) * 0x1p-53 + 0.5;
            if (k)
                xd[i] = ldexp(i % 2 ? v : -v, i + (i % 4 < 2 ? 0 : 30));
            else
                yd[i] = i % 3 ? v : -v;
        }
        x[i] = (float)ldexp(xd[i], i % 4 < 2 ? 0 : -30), y[i] = (float)yd[i];
        want[i] = (double)fmodf(x[i], y[i]), want_d[i] = fmod(xd[i], yd[i]);
    }
    int64_t n = N;
    same(c, "fmod of f32", rg_fmod(f32(c, x, N), f32(c, y, N)), want, N);
    rg_tensor a = rg_from(c, RG_F64, xd, RG_LIST(&n, 1)), b = rg_from(c, RG_F64, yd, RG_LIST(&n, 1));
    same(c, "fmod of f64", rg_fmod(a, b), want_d, N);
    SAME(rg_floordiv(F(1, -1, 3e38f, INFINITY), F(1e-45f, 1e-45f, -0.5f, 2)), INFINITY, -INFINITY, -INFINITY,
         NAN);
    SAME(rg_floordiv(F(-0.0f, 0, -0.0f, 1, -1, 1), F(8, 8, -8, 8, 8, INFINITY)), -0.0, 0, 0, 0, -1, 0);
    rg_tensor u = rg_from(c, RG_U64, (uint64_t[]){5, 7}, RG_SHAPE(2)); /* beside a signed one: f32 */
    SAME(rg_fmod(I(1185056210, 2147483647), u), 1, 2);
}

/* u64 elements without a detour through doubles. */
static void same_u64(rg_ctx *c, const char *what, rg_tensor x, const uint64_t *want, int64_t n) {
    uint64_t got[16];
    CHECK_EQ(rg_dtype_of(x), RG_U64);
    CHECK_EQ(rg_size(x), n);
    if (rg_read(x, got, sizeof got)) FAIL("%s: %s", what, rg_error(c));
    for (int64_t i = 0; i < n; i++)
        if (got[i] != want[i])
            FAIL("%s on %s: [%lld] is %llu, expected %llu", what, rg_device(c), (long long)i,
                 (unsigned long long)got[i], (unsigned long long)want[i]);
}
#define SAME_U64(x, ...)                                  \
    same_u64(c, #x, (x), (const uint64_t[]){__VA_ARGS__}, \
             (int64_t)(sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t)))

/* The reference of tests/outside holds integers in int64: what u64 does from 2^63 on is checked here, against C. */
CORNER(u64_from_2_to_the_63_on) {
    const uint64_t top = UINT64_MAX, mid = 1ull << 63, p = top, q = mid, r = top - 4, s = 7;
    const uint64_t k = 3, l = mid + 1, m = mid, n = top;
    rg_tensor x = rg_from(c, RG_U64, (uint64_t[]){p, q, r, s}, RG_SHAPE(4));
    rg_tensor y = rg_from(c, RG_U64, (uint64_t[]){k, l, m, n}, RG_SHAPE(4));
    SAME_U64(rg_add(x, y), p + k, q + l, r + m, s + n);
    SAME_U64(rg_sub(x, y), p - k, q - l, r - m, s - n);
    SAME_U64(rg_mul(x, y), p * k, q * l, r * m, s * n);
    SAME_U64(rg_floordiv(x, y), p / k, q / l, r / m, s / n);
    SAME_U64(rg_mod(x, y), p % k, q % l, r % m, s % n);
    SAME_U64(rg_fmod(x, y), p % k, q % l, r % m, s % n);
    SAME_U64(rg_floordiv(x, 10), p / 10, q / 10, r / 10, s / 10);
    SAME_U64(rg_mod(x, 7), p % 7, q % 7, r % 7, s % 7);
    SAME_U64(rg_shr(x, 1), p >> 1, q >> 1, r >> 1, s >> 1);
    SAME_U64(rg_maximum(x, y), p, l, r, n);
    SAME_U64(rg_minimum(x, y), k, q, m, s);
    SAME_U64(rg_clamp(x, 10, rg_from(c, RG_U64, &r, RG_SHAPE())), r, q, r, 10);
    SAME_U64(rg_max(x), p);
    SAME_U64(rg_min(x), s);
    SAME_U64(rg_sum(x), p + q + r + s);
    SAME_U64(rg_prod(x), p * q * r * s);
    SAME_U64(rg_cummax(rg_flip(x, RG_SHAPE(0)), 0), s, r, r, p);
    SAME_U64(rg_sort(x, 0), s, q, r, p);
    SAME_U64(rg_topk(x, 2, 0), p, r);
    SAME(rg_argmax(x), 0);
    SAME(rg_argmin(x), 3);
    SAME(rg_lt(x, y), 0, 1, 0, 1);
    SAME(rg_ge(x, rg_from(c, RG_U64, &r, RG_SHAPE())), 1, 0, 1, 0);
    SAME(rg_cast(x, RG_F32), 0x1p64, 0x1p63, 0x1p64, 7);
    SAME(rg_cast(x, RG_F64), 0x1p64, 0x1p63, 0x1p64, 7);
    SAME(rg_cast(x, RG_F16), INFINITY, INFINITY, INFINITY, 7);
    SAME(rg_div(x, 2), 0x1p63, 0x1p62, 0x1p63, 3.5);
    SAME_U64(rg_cast(rg_cast(F(0x1p63f, 0x1.8p63f), RG_F64), RG_U64), mid, mid + (mid >> 1));
    SAME_U64(rg_cast(F(0x1p63f, 0x1.8p63f), RG_U64), mid, mid + (mid >> 1));
    rg_tensor below = rg_bitcast(rg_from(c, RG_I64, (int64_t[]){-5}, RG_SHAPE()), RG_U64);
    SAME(rg_sub(below, rg_sum(F(12, 0.75f))), 0x1p64);
    SAME(rg_mean(x), 0x1p62 * 2.5);
}

/* ---- empty and broadcast ----------------------------------------------------------------------------------- */

CORNER(empty_tensors) {
    rg_tensor none = rg_zeros(c, RG_F32, RG_SHAPE(0)), rows = rg_zeros(c, RG_F32, RG_SHAPE(2, 0));
    SAME(rg_sum(none), 0);
    SAME(rg_prod(none), 1);
    SAME(rg_mean(none), NAN);
    SAME(rg_all(none), 1);
    SAME(rg_any(none), 0);
    SAME(rg_sum(rows, RG_AXES(1)), 0, 0);
    CHECK_EQ(rg_size(rg_add(rows, rg_ones(c, RG_F32, RG_SHAPE(2, 1)))), 0);
    CHECK_EQ(rg_size(rg_softmax(rows, 1)), 0);
    SAME(rg_sum(rg_matmul(rows, rg_zeros(c, RG_F32, RG_SHAPE(0, 3)))), 0);
    SAME(rg_var(F(1)), NAN);
    SAME(rg_std(F(5, 5)), 0);
    CHECK_EQ(rg_realize(rg_max(none)), RG_EINVAL);
    CHECK_EQ(rg_clear_error(c), 0);
}

/* Padding is a value like others: e^0 is 1, and the maximum of negative numbers and padding is 0. */
CORNER(padding_does_not_pass_functions) {
    SAME(rg_floor(rg_exp(rg_pad(F(1, 2), RG_SHAPE(1, 1), 0))), 1, 2, 7, 1);
    SAME(rg_max(rg_pad(F(-1, -2), RG_SHAPE(0, 1), 0)), 0);
    SAME(rg_prod(rg_pad(F(3, 2), RG_SHAPE(0, 1), 0)), 0);
    SAME(rg_sum(rg_div(1.0, rg_pad(F(1), RG_SHAPE(0, 1), 0))), INFINITY);
    SAME(rg_sum(rg_pad(F(INFINITY), RG_SHAPE(1, 1), 0)), INFINITY);
}

/* A choice hides what it does not take, in the gradient too where the formula is kept away from it. */
CORNER(where_hides_nan) {
    rg_tensor x = F(0, 4), g;
    SAME(rg_where(rg_eq(x, 0), 0, rg_div(x, x)), 0, 1);
    rg_tensor safe = rg_where(rg_eq(x, 0), 1, x);
    rg_grad(rg_sum(rg_where(rg_eq(x, 0), 0, rg_sqrt(safe))), RG_TENSORS(x), &g);
    SAME(g, 0, 0.25);
    SAME(rg_mul(rg_cast(rg_gt(F(NAN, 1), 0), RG_F32), F(2, 3)), 0, 3);
}
/* tinygrad: [1, 1, 3], a value is lost. */
CORNER(sort_of_nan) {
    SAME(rg_sort(F(1, NAN, 3), 0), 1, 3, NAN);
    SAME(rg_argsort(F(NAN, 2, -INFINITY, NAN, INFINITY), 0), 2, 1, 4, 0, 3);
    SAME(rg_topk(F(1, NAN, 3, 2), 2, 0), NAN, 3);
}
