/* index.c: what parts and index functions cost, counted on the kernels that would run, and misuse that a file of values cannot
 * express. The values are in tests/values/index.txt. */
#include "base/base.h"
#include "simgpu.h"
#include "test.h"

#include <math.h>
#include <ridge.h>
#include <stdlib.h>

static rg_plan_stats planned(rg_tensor x) {
    rg_plan_stats s = {0};
    if (rg_schedule_stats(RG_TENSORS(x), &s)) FAIL("%s", rg_error(rg_ctx_of(x)));
    return s;
}

static rg_tensor filled(rg_ctx *c, rg_dtype dt, rg_ints shape) {
    return rg_contiguous(rg_full(c, dt, 1, shape));
}

/* A formula is the product that it says: as many kernels and operations as rg_matmul. */
TEST(index_einsum_costs_what_matmul_costs) {
    rg_ctx *c = rg_open("NULL");
    rg_tensor a = filled(c, RG_F32, RG_SHAPE(8, 64, 96)), b = filled(c, RG_F32, RG_SHAPE(8, 96, 32));
    rg_realize_all(RG_TENSORS(a, b));
    rg_plan_stats m = planned(rg_matmul(a, b)), e = planned(rg_einsum("bij,bjk->bik", RG_TENSORS(a, b)));
    CHECK_EQ(e.kernels, 1);
    CHECK_EQ(e.kernels, m.kernels);
    CHECK(e.ops == m.ops && e.bytes == m.bytes);
    CHECK(e.ops == 2.0 * 8 * 64 * 96 * 32);
    rg_tensor d = filled(c, RG_F32, RG_SHAPE(8, 32, 64));
    rg_realize(d);
    /* left to right: (64x96 . 96x32) . 32x64, never the product of all three at once */
    rg_plan_stats t = planned(rg_einsum("bij,bjk,bkl->bil", RG_TENSORS(a, b, d)));
    CHECK_EQ(t.kernels, 2);
    CHECK(t.ops == 2.0 * 8 * 64 * 96 * 32 + 2.0 * 8 * 64 * 32 * 64);
    /* what only one operand has is summed before the product */
    rg_tensor x = filled(c, RG_F32, RG_SHAPE(64, 96, 16)), y = filled(c, RG_F32, RG_SHAPE(96, 32));
    rg_realize_all(RG_TENSORS(x, y));
    rg_plan_stats s = planned(rg_einsum("ijx,jk->ik", RG_TENSORS(x, y)));
    CHECK(s.ops <= 64 * 96 * 16 + 2.0 * 64 * 96 * 32);
    CHECK_EQ(rg_close(c), RG_OK);
}

TEST(index_one_hot_reads_only_the_index) {
    rg_ctx *c = rg_open("NULL");
    rg_tensor i = filled(c, RG_I32, RG_SHAPE(1000));
    rg_realize(i);
    rg_plan_stats s = planned(rg_one_hot(i, 50));
    CHECK_EQ(s.kernels, 1);
    CHECK_EQ(s.reads, 1);
    CHECK_EQ(s.writes, 1);
    CHECK(s.bytes == 1000 * 4 + 1000 * 50 * 8);
    CHECK_EQ(rg_close(c), RG_OK);
}

/* Rows of a table: one kernel. The gradient: zeros, and one addition for each number that flows back. */
TEST(index_embedding_backward_adds_rows) {
    enum { V = 5000, D = 64, N = 300 };
    rg_ctx *c = rg_open("NULL");
    rg_tensor i = filled(c, RG_I64, RG_SHAPE(N)), w = filled(c, RG_F32, RG_SHAPE(V, D)),
              seed = filled(c, RG_F32, RG_SHAPE(N, D));
    rg_realize_all(RG_TENSORS(i, w, seed));
    rg_tensor y = rg_embedding(i, w), g;
    rg_plan_stats f = planned(y);
    CHECK_EQ(f.kernels, 1);
    CHECK(f.bytes <= N * 8 + 2 * N * D * 4);
    rg_grad(y, RG_TENSORS(w), &g, .seed = seed);
    rg_plan_stats b = planned(g);
    CHECK(b.kernels <= 2);
    CHECK(b.ops >= N * D && b.ops <= 2.0 * (N * D + V * D));
    CHECK(b.bytes <= 4.0 * V * D + 3 * 4.0 * N * D + 8.0 * N);
    TEST_INFO("embedding %dx%d of %d: forward %g kernels %g bytes, backward %g kernels %g ops %g bytes", V, D,
              N, (double)f.kernels, f.bytes, (double)b.kernels, b.ops, b.bytes);
    CHECK_EQ(rg_close(c), RG_OK);
}

/* The mean of what arrives at a row, as of the neighbours in a graph: rows are added as rows, and counted once for all columns. */
TEST(index_scatter_mean_of_rows) {
    enum { V = 500, D = 64, N = 3000 };
    rg_ctx *c = rg_open("NULL");
    rg_tensor i = filled(c, RG_I64, RG_SHAPE(N, 1)), x = filled(c, RG_F32, RG_SHAPE(N, D)),
              to = filled(c, RG_F32, RG_SHAPE(V, D));
    rg_realize_all(RG_TENSORS(i, x, to));
    rg_tensor wide = rg_expand(i, RG_SHAPE(N, D));
    rg_plan_stats s =
        planned(rg_scatter_reduce(to, 0, wide, x, .how = RG_COMBINE_MEAN, .exclude_self = true));
    CHECK(s.bytes <= 4.0 * N * D + 7 * 4.0 * V * D); /* without an index for each element */
    CHECK(s.ops < 4.0 * N * D);                      /* not N * D counts beside the sums */
    CHECK_EQ(rg_close(c), RG_OK);
}

/* The same of the greatest and least, which no longer transpose rows nor store an index for each element. */
TEST(index_scatter_extremes_of_rows) {
    enum { V = 5000, D = 64, N = 30000 };
    rg_ctx *c = rg_open("NULL");
    rg_tensor i = filled(c, RG_I64, RG_SHAPE(N, 1)), x = filled(c, RG_F32, RG_SHAPE(N, D)),
              to = filled(c, RG_F32, RG_SHAPE(V, D));
    rg_realize_all(RG_TENSORS(i, x, to));
    rg_tensor wide = rg_expand(i, RG_SHAPE(N, D));
    rg_plan_stats s = planned(rg_scatter_reduce(to, 0, wide, x, .how = RG_COMBINE_MAX));
    CHECK_EQ(s.kernels, 1);
    CHECK(s.bytes <= 4.0 * N * D + 8.0 * N + 8.0 * V * D);
    CHECK_EQ(rg_close(c), RG_OK);
}

static uint64_t scatter_draws = 20261120;
static int64_t drawn(int64_t n) {
    scatter_draws = scatter_draws * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((scatter_draws >> 33) % (uint64_t)n);
}

static rg_tensor whole_numbers(rg_ctx *c, rg_dtype dt, int64_t *d, uint32_t n) {
    int64_t size = 1;
    for (uint32_t i = 0; i < n; i++) size *= d[i];
    float *v = malloc((size_t)size * sizeof *v + 1);
    for (int64_t i = 0; i < size; i++) v[i] = (float)drawn(19) - 9;
    rg_tensor x = rg_from(c, RG_F32, v, RG_LIST(d, n));
    free(v);
    return rg_cast(x, dt);
}

/* Broadcast along the axes behind the axis, or stored for each element: the same, with gradients. */
static void check_extremes_of_rows(const char *device) {
    static const rg_dtype dt[] = {RG_F32, RG_F16, RG_I32, RG_F64, RG_U8};
    rg_ctx *c = rg_open(device);
    int64_t n = 1 + drawn(3), axis = drawn(n), d[4], from[4], one[4];
    n += axis + 1 == n;
    for (int64_t i = 0; i < n; i++) d[i] = from[i] = 1 + drawn(7), one[i] = i > axis ? 1 : d[i];
    d[axis] = 1 + drawn(12), from[axis] = one[axis] = 1 + drawn(40);
    rg_dtype t = dt[drawn(5)];
    rg_tensor x = whole_numbers(c, t, d, (uint32_t)n), src = whole_numbers(c, t, from, (uint32_t)n);
    rg_tensor index = rg_cast(whole_numbers(c, RG_F32, one, (uint32_t)n), RG_I64);
    rg_realize_all(RG_TENSORS(x, src, index));
    index = rg_mod(rg_add(index, 9), d[axis]);
    rg_tensor wide = rg_expand(index, RG_LIST(from, n)), copy = rg_contiguous(wide), r[2], g[2][2];
    rg_combine how = drawn(2) ? RG_COMBINE_MAX : RG_COMBINE_MIN;
    bool drop = drawn(2);
    for (int k = 0; k < 2; k++) {
        r[k] = rg_scatter_reduce(x, axis, k ? copy : wide, src, .how = how, .exclude_self = drop);
        rg_tensor w = rg_cast(rg_arange(c, RG_F32, 1, (double)rg_size(r[k]) + 1, 1), t);
        g[k][0] = g[k][1] = r[k];
        if (t == RG_F32 || t == RG_F64)
            rg_grad(rg_sum(rg_mul(rg_reshape(r[k], RG_SHAPE(-1)), w)), RG_TENSORS(x, src), g[k]);
    }
    bool same = true, b;
    const rg_tensor pair[3][2] = {{r[0], r[1]}, {g[0][0], g[1][0]}, {g[0][1], g[1][1]}};
    for (int k = 0; k < 3; k++) {
        rg_tensor off = rg_abs(rg_sub(rg_cast(pair[k][0], RG_F64), rg_cast(pair[k][1], RG_F64)));
        if (rg_read(rg_lt(rg_max(off), 1e-3), &b, sizeof b)) FAIL("%s: %s", device, rg_error(c));
        same &= b;
    }
    if (!same)
        FAIL("%s: scatter along axis %lld of %lld: other values", device, (long long)axis, (long long)n);
    CHECK_EQ(rg_close(c), RG_OK);
}

TEST(index_scatter_extremes_of_rows_are_the_same) {
    simgpu_add();
    for (int i = 0; i < 60; i++) check_extremes_of_rows("REF");
    for (int i = 0; i < 4; i++) check_extremes_of_rows("CPU");
    for (int i = 0; i < 8; i++) check_extremes_of_rows("SIM90");
}

/* Writing of stored values is one function of the device, of a number a kernel more; reading by a mask is one. */
TEST(index_scatter_counts) {
    rg_ctx *c = rg_open("NULL");
    rg_tensor x = filled(c, RG_F32, RG_SHAPE(8, 100)), i = filled(c, RG_I64, RG_SHAPE(8, 60)),
              s = filled(c, RG_F32, RG_SHAPE(8, 60)), m = filled(c, RG_BOOL, RG_SHAPE(8, 100));
    rg_realize_all(RG_TENSORS(x, i, s, m));
    CHECK_EQ(planned(rg_scatter(x, 1, i, s)).kernels, 1);
    CHECK_EQ(planned(rg_scatter(x, 1, i, 2)).kernels, 2);
    CHECK_EQ(planned(rg_scatter_reduce(x, 1, i, s, .how = RG_COMBINE_MAX)).kernels, 1);
    CHECK_EQ(planned(rg_masked_select(x, m, 50)).kernels, 1);
    CHECK_EQ(planned(rg_nonzero(m, 50)).kernels, 2);
    CHECK_EQ(planned(rg_nonzero(rg_flatten(m, 0, -1), 50)).kernels, 1);
    CHECK_EQ(rg_close(c), RG_OK);
}

/* 16-bit floats are summed in f32: a bf16 that ones are added to one by one ends at 256. */
TEST(index_scatter_adds_in_f32) {
    static const rg_dtype types[] = {RG_BF16, RG_F16};
    for (int i = 0; i < 2; i++) {
        rg_ctx *c = rg_open("CPU");
        rg_tensor zero = rg_zeros(c, types[i], RG_SHAPE(3)), one = filled(c, types[i], RG_SHAPE(3072));
        rg_tensor at = rg_mod(rg_arange(c, RG_I64, 0, 3072, 1), 3);
        float got[3];
        CHECK_EQ(rg_read(rg_cast(rg_scatter_add(zero, 0, at, one), RG_F32), got, sizeof got), RG_OK);
        for (int k = 0; k < 3; k++) CHECK_NEAR(got[k], 1024, 0);
        CHECK_EQ(rg_close(c), RG_OK);
    }
}

/* A scan of 16-bit floats runs in f32 and stores what it is asked for: two bytes read, two written. */
TEST(index_scans_of_16_bits_store_16) {
    rg_ctx *c = rg_open("NULL");
    rg_tensor x = filled(c, RG_BF16, RG_SHAPE(100, 64));
    rg_realize(x);
    CHECK_EQ((int64_t)planned(rg_cumsum(x, 0)).bytes, 100 * 64 * 4);
    CHECK_EQ(rg_close(c), RG_OK);
}

/* Rows of one element are sorted. */
TEST(index_sort_of_one_is_free) {
    rg_ctx *c = rg_open("NULL");
    rg_tensor x = filled(c, RG_F16, RG_SHAPE(7, 1, 65));
    rg_realize(x);
    CHECK_EQ(planned(rg_sort(x, 1)).kernels, 0);
    CHECK_EQ(planned(rg_argsort(x, 1)).kernels, 0);
    CHECK_EQ(rg_close(c), RG_OK);
}

/* A mean of few neighbours reads these, not the whole axis. */
TEST(index_adaptive_pooling_is_linear) {
    rg_ctx *c = rg_open("NULL");
    rg_tensor x = filled(c, RG_F32, RG_SHAPE(2, 8, 200, 200));
    rg_realize(x);
    double n = 2 * 8 * 65 * (200 + 65), ops = planned(rg_adaptive_avg_pool2d(x, 65, 65)).ops;
    if (ops > 60 * n) FAIL("%g operations for %g sums of up to 5 elements", ops, n);
    CHECK_EQ(rg_close(c), RG_OK);
}

/* The axis that shrinks is pooled first, whichever it is: the other one works on what is left. */
TEST(index_adaptive_pooling_shrinks_first) {
    static const int64_t sizes[][4] = {
        {39, 33, 66, 11}, {24, 15, 65, 4}, {292, 257, 701, 150}, {50, 90, 70, 20}};
    rg_ctx *c = rg_open("NULL");
    for (size_t i = 0; i < RG_COUNT(sizes); i++) {
        const int64_t *s = sizes[i];
        rg_tensor x = filled(c, RG_F32, RG_SHAPE(2, 8, s[0], s[1]));
        rg_realize(x);
        double terms = (double)s[1] / (double)s[3] + 2, grown = (double)s[0] / (double)s[2] + 2;
        double n = 16 * ((double)(s[0] * s[3]) * terms + (double)(s[2] * s[3]) * grown);
        double ops = planned(rg_adaptive_avg_pool2d(x, s[2], s[3])).ops;
        if (ops > 2.4 * n)
            FAIL("%g operations for %g terms, of %lld x %lld", ops, n, (long long)s[0], (long long)s[1]);
    }
    CHECK_EQ(rg_close(c), RG_OK);
}

/* Many elements for few indices, on all threads: the last one, each time. */
TEST(index_scatter_takes_the_last) {
    enum { ROWS = 64, N = 500, PLACES = 7 };
    static int64_t index[ROWS][N];
    static float src[ROWS][N], want[ROWS][PLACES], got[ROWS][PLACES];
    for (int r = 0; r < ROWS; r++)
        for (int j = 0; j < N; j++) {
            index[r][j] = (j * 31 + r * 7) % PLACES;
            src[r][j] = (float)(r * N + j);
            want[r][index[r][j]] = src[r][j];
        }
    rg_ctx *c = rg_open("CPU");
    for (int k = 0; k < 5; k++) {
        RG_SCOPE(c);
        rg_tensor x = rg_full(c, RG_F32, k, RG_SHAPE(ROWS, PLACES));
        rg_tensor y = rg_scatter(x, 1, rg_from(c, RG_I64, index, RG_SHAPE(ROWS, N)),
                                 rg_from(c, RG_F32, src, RG_SHAPE(ROWS, N)));
        CHECK_EQ(rg_read(y, got, sizeof got), RG_OK);
        CHECK(!memcmp(got, want, sizeof got));
    }
    CHECK_EQ(rg_close(c), RG_OK);
}

TEST(index_parts_are_views) {
    rg_ctx *c = rg_open("NULL");
    rg_tensor x = filled(c, RG_F32, RG_SHAPE(6, 7)), part[3];
    rg_realize(x);
    CHECK_EQ(rg_split(x, 1, RG_SHAPE(2, 4, 1), part), RG_OK);
    CHECK_EQ(rg_dim(part[1], 1), 4);
    CHECK_EQ(rg_chunk(x, 1, 3, part), RG_OK);
    CHECK_EQ(rg_dim(part[2], 1), 1);
    CHECK_EQ(rg_assign(part[0], rg_zeros_like(part[0])), RG_EINVAL); /* a view */
    rg_clear_error(c);
    CHECK_EQ(rg_split(x, 1, RG_SHAPE(2, 9), part), RG_EINVAL);
    CHECK(strstr(rg_error(c), "part 1 has size 9"));
    CHECK(!rg_is_alive(part[0]) && !rg_is_alive(part[1]));
    rg_clear_error(c);
    CHECK_EQ(rg_split(x, 0, RG_SHAPE(6), NULL), RG_EINVAL);
    rg_clear_error(c);
    CHECK_EQ(rg_chunk(x, 0, -3, part), RG_EINVAL);
    rg_clear_error(c);
    CHECK_EQ(rg_meshgrid(RG_TENSORS(x), part), RG_EINVAL);
    rg_clear_error(c);
    rg_einsum("i\xff\nj->i\xc3\xa9", RG_TENSORS(x)); /* what is not UTF-8 or ends a line is spelled out */
    if (!strstr(rg_error(c), "\"i\\xff\\x0aj->i\xc3\xa9\": unexpected '\\xff' at 1;"))
        FAIL("%s", rg_error(c));
    rg_clear_error(c);
    rg_einsum("ij\nk", RG_TENSORS(x));
    if (!strstr(rg_error(c), "\"ij\\x0ak\"") || strchr(rg_error(c), '\n')) FAIL("%s", rg_error(c));
    rg_clear_error(c);
    rg_einsum(NULL, RG_TENSORS(x));
    CHECK_EQ(rg_status_of(c), RG_EINVAL);
    CHECK_EQ(rg_close(c), RG_EINVAL);
}

/* A vector on a diagonal, of random sizes: selected by column, without a division; the gradient is a slice, no sum over the matrix. */
TEST(index_diag_selects_and_its_gradient_slices) {
    static float v[90], m[130 * 130], back[90];
    rg_ctx *c = rg_open("CPU");
    for (uint64_t i = 0; i < RG_COUNT(v); i++) v[i] = (float)(i + 1);
    for (uint64_t seed = 1; seed <= 20; seed++) {
        RG_SCOPE(c);
        int64_t n = 1 + (int64_t)(hash_u64(seed) % RG_COUNT(v)), k = (int64_t)(hash_u64(~seed) % 81) - 40;
        int64_t side = n + (k < 0 ? -k : k);
        rg_tensor x = rg_from(c, RG_F32, v, RG_SHAPE(n)), y = rg_diag(x, k), g;
        if (rg_read(y, m, (size_t)(side * side) * 4)) FAIL("%s", rg_error(c));
        for (int64_t i = 0; i < side * side; i++) {
            int64_t row = i / side, col = i % side;
            float want = col == row + k ? v[k < 0 ? col : row] : 0;
            if (m[i] != want)
                FAIL("%d on diagonal %d: %g at (%d, %d)", (int)n, (int)k, (double)m[i], (int)row, (int)col);
        }
        rg_tensor weight = rg_from(c, RG_F32, m, RG_SHAPE(side, side));
        rg_grad(rg_diag(x, k), RG_TENSORS(x), &g, .seed = weight);
        CHECK(planned(g).ops <= 4.0 * (double)n);
        if (rg_read(g, back, (size_t)n * 4)) FAIL("%s", rg_error(c));
        CHECK(!memcmp(back, v, (size_t)n * 4));
    }
    CHECK_EQ(rg_close(c), RG_OK);
}

/* Scatters of random shapes on the simulated GPU against the oracle: few elements to few targets, which look at all of them
 * (scatter_dense.c), and more, in builtin kernels. */
static uint64_t random_state = 20261118;
static int64_t draw(int64_t n) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((random_state >> 33) % (uint64_t)n);
}

struct scatter_draw {
    int how; /* 0: write; 1: add; 2..: rg_scatter_reduce */
    bool exclude;
    rg_dtype dt;
    int64_t x[3], at[3], axis, *index;
    double *value, *other;
};

static int64_t size_of(const int64_t *d) { return d[0] * d[1] * d[2]; }

static void scatter_on(const struct scatter_draw *s, const char *device, double *out) {
    rg_ctx *c = rg_open(device);
    rg_tensor x = rg_cast(rg_from(c, RG_F64, s->value, RG_SHAPE(s->x[0], s->x[1], s->x[2])), s->dt),
              y = rg_cast(rg_from(c, RG_F64, s->other, RG_SHAPE(s->at[0], s->at[1], s->at[2])), s->dt),
              at = rg_from(c, RG_I64, s->index, RG_SHAPE(s->at[0], s->at[1], s->at[2])), r;
    rg_realize_all(RG_TENSORS(x, y, at));
    static const rg_combine by[] = {RG_COMBINE_PROD, RG_COMBINE_MAX, RG_COMBINE_MIN, RG_COMBINE_SUM};
    if (s->how == 0)
        r = rg_scatter(x, s->axis, at, y);
    else if (s->how == 1)
        r = rg_scatter_add(x, s->axis, at, y);
    else
        r = rg_scatter_reduce(x, s->axis, at, y, .how = by[s->how - 2], .exclude_self = s->exclude);
    if (rg_read(rg_cast(r, RG_F64), out, (size_t)size_of(s->x) * 8)) FAIL("%s", rg_error(c));
    rg_close(c);
}

TEST(index_scatters_simgpu) {
    static const rg_dtype type[] = {RG_F32, RG_I32, RG_BF16, RG_F32, RG_U8, RG_F64};
    simgpu_add();
    for (int i = 0; i < 40; i++) {
        struct scatter_draw s = {
            .how = i % 6, .exclude = draw(2), .dt = type[draw(RG_COUNT(type))], .axis = draw(3)};
        for (int k = 0; k < 3; k++) s.x[k] = 1 + draw(6), s.at[k] = 1 + draw(s.x[k]);
        s.x[s.axis] = 1 + draw(40), s.at[s.axis] = 1 + draw(i % 4 ? 30 : 300);
        if (s.how == 2 && s.dt == RG_U8) s.dt = RG_I32;
        size_t n = (size_t)size_of(s.x), m = (size_t)size_of(s.at);
        s.value = malloc(n * 8), s.other = malloc(m * 8), s.index = malloc(m * 8);
        double *want = malloc(n * 8), *got = malloc(n * 8);
        for (size_t k = 0; k < n; k++) s.value[k] = (double)(1 + draw(7));
        for (size_t k = 0; k < m; k++) s.other[k] = s.how == 2 ? (double)(draw(9) ? 1 : 2) : (double)draw(9);
        for (size_t k = 0; k < m; k++) s.index[k] = draw(s.x[s.axis]);
        scatter_on(&s, "REF", want), scatter_on(&s, "SIM90", got);
        for (size_t k = 0; k < n; k++)
            if (!(fabs(got[k] - want[k]) <= 1e-2 * (s.dt == RG_BF16) * fabs(want[k])))
                FAIL("%d: how %d of %s, (%lld, %lld, %lld) along %lld, index (%lld, %lld, %lld), at %zu: "
                     "%.9g, expected %.9g",
                     i, s.how, rg_dtype_name(s.dt), (long long)s.x[0], (long long)s.x[1], (long long)s.x[2],
                     (long long)s.axis, (long long)s.at[0], (long long)s.at[1], (long long)s.at[2], k, got[k],
                     want[k]);
        free(s.value), free(s.other), free(s.index), free(want), free(got);
    }
}

/* Few elements are one kernel, without copies to another order of axes. */
TEST(index_scatters_of_few_are_one_kernel_simgpu) {
    simgpu_add();
    rg_ctx *c = rg_open("SIM90");
    RG_SCOPE(c);
    rg_tensor at = rg_contiguous(rg_arange(c, RG_I64, 0, 12, 1)), x = filled(c, RG_F32, RG_SHAPE(50, 12)),
              y = filled(c, RG_F32, RG_SHAPE(30, 12)), i = rg_contiguous(rg_expand(at, RG_SHAPE(30, 12)));
    rg_realize_all(RG_TENSORS(x, y, i));
    CHECK_EQ(planned(rg_scatter_add(x, 0, i, y)).kernels, 1);
    CHECK_EQ(planned(rg_scatter(x, 0, i, y)).kernels, 1);
    CHECK_EQ(planned(rg_scatter_reduce(x, 0, i, y, .how = RG_COMBINE_MAX)).kernels, 1);
    CHECK(!rg_close(c));
}
