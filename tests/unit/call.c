/* call.c: functions of the device: what they cost in a plan, and that the fast ways of sorting and scattering of the CPU and
 * of a GPU do what the oracle does, for rows of every length class and every dtype. Values from outside are in
 * tests/values/index.txt. */
#include "cuda.h"
#include "base/base.h"
#include "device/cpu/internal.h"
#include "ref/ref.h"
#include "schedule/internal.h"
#include "test.h"
#include "irtest.h"

#include <math.h>
#include <ridge.h>
#include <stdlib.h>

static rg_plan_stats planned(rg_tensor x) {
    rg_plan_stats s = {0};
    if (rg_schedule_stats(RG_TENSORS(x), &s)) FAIL("%s", rg_error(rg_ctx_of(x)));
    return s;
}

static rg_tensor stored(rg_ctx *c, rg_dtype dt, rg_ints shape) {
    rg_tensor x = rg_contiguous(rg_full(c, dt, 1, shape));
    rg_realize(x);
    return x;
}

TEST(call_is_one_launch) {
    rg_ctx *c = rg_open("NULL");
    rg_tensor x = stored(c, RG_F32, RG_SHAPE(64, 1024));
    rg_plan_stats s = planned(rg_sort(x, -1)), a = planned(rg_argsort(x, 1)), t = planned(rg_topk(x, 8, 1)),
                  i = planned(rg_topk_index(x, 8, 1));
    rg_tensor y = stored(c, RG_F32, RG_SHAPE(64, 1024, 1, 1)); /* nothing moves past axes of one element */
    CHECK_EQ(planned(rg_sort(y, 1)).kernels, 1);
    CHECK_EQ(planned(rg_topk(y, 8, 1)).kernels, 1);
    CHECK_EQ(s.kernels, 1);
    CHECK_EQ(s.reads, 1);
    CHECK_EQ(s.writes, 1);
    CHECK(s.bytes == 64 * 1024 * 4 * 2);
    CHECK(s.ops == 64 * 1024 * 10);
    CHECK_EQ(a.kernels, 1);
    CHECK(a.bytes == 64 * 1024 * (4 + 8));
    CHECK_EQ(t.kernels, 1);
    CHECK(t.bytes == 64 * 1024 * 4 + 64 * 8 * 4);
    CHECK_EQ(i.kernels, 1);
    CHECK(s.predicted > 0 && s.predicted < 1);
    CHECK_EQ(rg_close(c), RG_OK);
}

/* What it reads is stored before it, what reads it comes after; another axis is moved to the end and back. */
TEST(call_stands_between_kernels) {
    rg_ctx *c = rg_open("NULL");
    rg_tensor x = stored(c, RG_F32, RG_SHAPE(64, 128)), g;
    CHECK_EQ(planned(rg_add(rg_sort(rg_exp(rg_mul(x, 2)), -1), 1)).kernels, 3);
    CHECK_EQ(planned(rg_sort(x, 0)).kernels, 2);         /* the result is a view of the sorted rows */
    CHECK_EQ(planned(rg_sum(rg_sort(x, 0))).kernels, 2); /* columns as they lie */
    CHECK_EQ(planned(rg_sort(rg_reshape(x, RG_SHAPE(32, 256)), 1)).kernels, 1);
    CHECK_EQ(planned(rg_sort(rg_sort(x, -1), -1, .descending = true)).kernels, 2);
    CHECK_EQ(planned(rg_sort(rg_expand(rg_narrow(x, 0, 0, 1), RG_SHAPE(64, 128)), -1)).kernels, 2);
    CHECK_EQ(planned(rg_sort(rg_zeros(c, RG_F32, RG_SHAPE(4, 8)), -1)).kernels, 2);
    CHECK_EQ(planned(rg_matmul(rg_sort(x, -1), rg_transpose(x, 0, 1))).kernels, 2);
    /* backward: the indices, zeros, and one addition for each element; the values are not sorted for it */
    CHECK_EQ(rg_grad(rg_sort(x, -1), RG_TENSORS(x), &g, .seed = stored(c, RG_F32, RG_SHAPE(64, 128))), RG_OK);
    CHECK_EQ(planned(g).kernels, 3);
    CHECK_EQ(rg_close(c), RG_OK);
}

/* Sorted values beside their indices are gathered by them: the same bits as those sorted alone, NaN and zeros too. */
TEST(call_values_beside_indices) {
    rg_ctx *c = rg_open("CPU");
    struct rnd r = {11};
    for (int i = 0; i < 12; i++) {
        RG_SCOPE(c);
        int64_t rows = 1 + rnd_below(&r, 40), n = 9 + rnd_below(&r, 200), axis = rnd_below(&r, 2),
                k = 1 + n / 5;
        rg_dtype dt = (rg_dtype[]){RG_F32, RG_F16, RG_I8, RG_F64}[i % 4];
        bool down = rnd_below(&r, 2), few = rnd_below(&r, 3) == 0;
        float *v = malloc((size_t)(rows * n) * 4);
        for (int64_t j = 0; j < rows * n; j++) {
            v[j] = (float)(int)rnd_below(&r, 90) - 45;
            if (dt != RG_I8 && rnd_below(&r, 20) == 0) v[j] = rnd_below(&r, 2) ? -0.0f : NAN;
        }
        rg_tensor x = rg_cast(rg_from(c, RG_F32, v, axis ? RG_SHAPE(rows, n) : RG_SHAPE(n, rows)), dt);
        rg_realize(x);
        double *y[2] = {malloc((size_t)(rows * n) * 8), malloc((size_t)(rows * n) * 8)};
        for (int both = 0; both < 2; both++) {
            rg_tensor s = few ? rg_topk(x, k, axis, .smallest = !down) : rg_sort(x, axis, .descending = down);
            rg_tensor at =
                few ? rg_topk_index(x, k, axis, .smallest = !down) : rg_argsort(x, axis, .descending = down);
            if (both) CHECK_EQ(rg_realize_all(RG_TENSORS(s, at)), RG_OK);
            size_t bytes = (size_t)(rows * (few ? k : n)) * 8;
            if (rg_read(rg_cast(s, RG_F64), y[both], bytes)) FAIL("%s", rg_error(c));
        }
        CHECK(!memcmp(y[0], y[1], (size_t)(rows * (few ? k : n)) * 8));
        free(v), free(y[0]), free(y[1]);
    }
    CHECK(!rg_close(c));
}

/* Elements where a mask is true, packed from memory, of views too; fewer, as many and more than there is room for. */
TEST(call_packs_what_a_mask_selects) {
    static const rg_dtype type[] = {RG_I8, RG_BF16, RG_F32, RG_I64, RG_BOOL};
    rg_ctx *c = rg_open("CPU");
    struct rnd r = {17};
    for (int i = 0; i < 25; i++) {
        RG_SCOPE(c);
        int64_t n = 1 + rnd_below(&r, i % 2 ? 300 : 60000), step = 1 + rnd_below(&r, 4) / 3, found = 0;
        rg_dtype dt = type[i % RG_COUNT(type)];
        uint32_t share = 1 + rnd_below(&r, 99);
        float *v = malloc((size_t)(n * step) * 4), *want = malloc((size_t)(n + 80) * 4),
              *y = malloc((size_t)(n + 80) * 4);
        bool *m = malloc((size_t)n);
        for (int64_t j = 0; j < n * step; j++) v[j] = (float)rnd_below(&r, dt == RG_BOOL ? 2 : 100);
        for (int64_t j = 0; j < n; j++)
            if ((m[j] = rnd_below(&r, 100) < share)) want[found++] = v[j * step];
        int64_t room = RG_MAX(1, rnd_below(&r, 2) ? found : found - 30 + (int64_t)rnd_below(&r, 100));
        for (int64_t j = found; j < room; j++) want[j] = 0;
        rg_tensor x = rg_cast(rg_from(c, RG_F32, v, RG_SHAPE(n * step)), dt),
                  mask = rg_from(c, RG_BOOL, m, RG_SHAPE(n));
        rg_realize_all(RG_TENSORS(x, mask));
        if (step > 1) x = rg_reshape(rg_narrow(rg_reshape(x, RG_SHAPE(n, step)), 1, 0, 1), RG_SHAPE(n));
        rg_tensor s = rg_masked_select(x, mask, room);
        if (n > 1) CHECK_EQ(planned(s).kernels, step);
        if (rg_read(rg_cast(s, RG_F32), y, (size_t)room * 4)) FAIL("%s", rg_error(c));
        for (int64_t j = 0; j < room; j++)
            if (y[j] != want[j])
                FAIL("%s, %lld of %lld at %lld: %g, expected %g", rg_dtype_name(dt), (long long)room,
                     (long long)n, (long long)j, (double)y[j], (double)want[j]);
        free(v), free(want), free(y), free(m);
    }
    CHECK(!rg_close(c));
}

/* Written in one call, the last of equal indices stays, also where the index's rows are shorter than x's. */
TEST(call_writes_at_an_index) {
    static const rg_dtype type[] = {RG_I8, RG_BF16, RG_F32, RG_I64, RG_BOOL};
    rg_ctx *c = rg_open("CPU");
    struct rnd r = {19};
    for (int i = 0; i < 40; i++) {
        RG_SCOPE(c);
        int64_t rows = 1 + rnd_below(&r, 9), n = 1 + rnd_below(&r, i % 2 ? 9 : 900),
                size = 1 + rnd_below(&r, 700);
        rg_dtype dt = type[i % RG_COUNT(type)];
        float *x = malloc((size_t)(rows * size) * 4), *v = malloc((size_t)(rows * n) * 4),
              *y = malloc((size_t)(rows * size) * 4);
        int64_t *index = malloc((size_t)(rows * n) * 8);
        uint32_t most = dt == RG_BOOL ? 2 : 100;
        for (int64_t j = 0; j < rows * size; j++) x[j] = (float)rnd_below(&r, most);
        for (int64_t j = 0; j < rows * n; j++)
            v[j] = (float)rnd_below(&r, most), index[j] = rnd_below(&r, (uint32_t)size);
        rg_tensor to = rg_cast(rg_from(c, RG_F32, x, RG_SHAPE(rows, size)), dt),
                  from = rg_cast(rg_from(c, RG_F32, v, RG_SHAPE(rows, n)), dt),
                  at = rg_from(c, RG_I64, index, RG_SHAPE(rows, n));
        rg_realize_all(RG_TENSORS(to, from, at));
        rg_tensor written = rg_scatter(to, 1, at, from);
        CHECK_EQ(planned(written).kernels, 1);
        for (int64_t j = 0; j < rows * n; j++) x[j / n * size + index[j]] = v[j];
        if (rg_read(rg_cast(written, RG_F32), y, (size_t)(rows * size) * 4)) FAIL("%s", rg_error(c));
        for (int64_t j = 0; j < rows * size; j++) CHECK_EQ(y[j], x[j]);
        free(x), free(v), free(y), free(index);
    }
    CHECK(!rg_close(c));
}

TEST(call_of_nothing_is_no_launch) {
    rg_ctx *c = rg_open("CPU");
    rg_tensor x = stored(c, RG_F32, RG_SHAPE(5, 4)), none = rg_topk(x, 0, 1);
    CHECK_EQ(planned(none).kernels, 0);
    CHECK_EQ(rg_dim(none, 1), 0);
    CHECK_EQ(rg_read(none, NULL, 0), RG_OK);
    CHECK_EQ(rg_read(rg_sort(rg_zeros(c, RG_F32, RG_SHAPE(0, 3)), 1), NULL, 0), RG_OK);
    CHECK_EQ(rg_close(c), RG_OK);
}

/* A buffer that is assigned in the same program is sorted as it was before. */
TEST(call_reads_the_version_it_was_given) {
    rg_ctx *c = rg_open("CPU");
    float v[4] = {3, 1, 2, 0}, got[4], now[4];
    rg_tensor x = rg_from(c, RG_F32, v, RG_SHAPE(4)), s = rg_sort(x, 0);
    rg_assign(x, rg_add(x, s));
    CHECK_EQ(rg_read_async(s, got, sizeof got), RG_OK);
    CHECK_EQ(rg_read_async(x, now, sizeof now), RG_OK);
    CHECK_EQ(rg_wait(c), RG_OK);
    for (int i = 0; i < 4; i++) CHECK(got[i] == (float)i && now[i] == v[i] + (float)i);
    rg_tensor y = rg_sort(x, 0), z = rg_contiguous(rg_zeros_like(x));
    rg_realize(z);
    rg_assign(z, y);
    CHECK_EQ(rg_read(z, got, sizeof got), RG_OK);
    CHECK(got[0] == 2 && got[1] == 3 && got[2] == 3 && got[3] == 4);
    CHECK_EQ(rg_close(c), RG_OK);
}

TEST(call_plans_are_found_again) {
    rg_ctx *c = rg_open("CPU");
    rg_usage u;
    float v[3] = {3, 1, 2}, got[3];
    for (int i = 0; i < 3; i++) {
        RG_SCOPE(c);
        v[0] += 1;
        rg_tensor x = rg_from(c, RG_F32, v, RG_SHAPE(3));
        CHECK_EQ(rg_read(i == 2 ? rg_sort(x, 0, .descending = true) : rg_sort(x, 0), got, sizeof got), RG_OK);
        CHECK(got[i == 2 ? 0 : 2] == v[0]);
    }
    rg_stats(c, &u);
    CHECK_EQ(u.cached, 1); /* the second; another direction is another plan */
    CHECK_EQ(rg_close(c), RG_OK);
}

/* ---- a device beside the oracle ---------------------------------------------------------------------------------- */

enum { MOST = 70000 };

/* Random bits: every kind of number there is; few different ones, so that ties are common; or few that differ in their leading
 * digits. */
enum kind { RANDOM, TIES, RUNS };
static void fill(uint8_t *p, size_t n, size_t size, enum kind kind, bool is_bool, uint64_t *seed) {
    for (size_t i = 0; i < n * size; i++) {
        *seed = *seed * 6364136223846793005u + 1442695040888963407u;
        uint8_t r = (uint8_t)(*seed >> 56);
        bool last = i % size == size - 1, low = kind == RUNS && i % size < size / 4;
        p[i] = is_bool ? r & 1 : kind == RANDOM || low ? r : last ? r & 0x83 : 0;
    }
}

/* One NaN for all: the oracle goes through doubles, which may make another of a signalling one. */
static void one_nan(uint8_t *p, size_t n, rg_dtype dt) {
    uint64_t inf = dt == RG_F16    ? 0x7c00
                   : dt == RG_BF16 ? 0x7f80
                   : dt == RG_F32  ? 0x7f800000
                                   : (uint64_t)0x7ff << 52;
    size_t size = rg_dtype_size(dt);
    uint64_t sign = (uint64_t)1 << (8 * size - 1), quiet = inf | (inf & -inf) >> 1;
    for (size_t i = 0; i < n && dt >= RG_F16; i++) {
        uint64_t x = 0;
        memcpy(&x, p + i * size, size);
        if ((x & ~sign) > inf) memcpy(p + i * size, &quiet, size);
    }
}

static rg_tensor sorted(rg_tensor x, int64_t axis, int what) {
    int64_t n = rg_dim(x, axis);
    switch (what) {
    case 0: return rg_sort(x, axis);
    case 1: return rg_sort(x, axis, .descending = true);
    case 2: return rg_argsort(x, axis);
    case 3: return rg_argsort(x, axis, .descending = true);
    case 4: return rg_topk(x, (n + 9) / 10, axis);
    case 5: return rg_topk_index(x, (n + 2) / 3, axis, .smallest = true);
    case 6: return rg_topk(x, RG_MIN(n, 2), axis, .smallest = true);
    default: return rg_topk_index(x, RG_MIN(n, 3), axis);
    }
}

static void sorted_by(rg_ctx *c, rg_dtype dt, const void *data, int64_t rows, int64_t n, int what, void *got,
                      size_t bytes) {
    RG_SCOPE(c);
    rg_tensor y = sorted(rg_from(c, dt, data, RG_SHAPE(rows, n)), 1, what);
    if (rg_read(y, got, bytes)) FAIL("%s", rg_error(c));
}

static bool is_indices(int what) { return what == 2 || what == 3 || what == 5 || what == 7; }

/* How many numbers of a row it gives. */
static int64_t results(int what, int64_t n) {
    return what < 4 ? n : what == 4 ? (n + 9) / 10 : what == 5 ? (n + 2) / 3 : RG_MIN(n, what == 6 ? 2 : 3);
}

static size_t bytes_of(int what, rg_dtype dt, int64_t rows, int64_t n) {
    return (size_t)(rows * results(what, n)) * (is_indices(what) ? 8 : rg_dtype_size(dt));
}

struct sort_buffers {
    uint8_t *data;
    void *got, *want;
    int64_t *order[2]; /* of the oracle: ascending, descending */
    uint64_t seed, rows;
    rg_ctx *c, *ref;
};

static struct sort_buffers sort_buffers(const char *device, size_t n, uint64_t seed) {
    return (struct sort_buffers){.data = malloc(n * 8),
                                 .got = malloc(n * 8),
                                 .want = malloc(n * 8),
                                 .order = {malloc(n * 8), malloc(n * 8)},
                                 .seed = seed,
                                 .c = strcmp(device, "CUDA") ? rg_open(device) : cuda_open(),
                                 .ref = rg_open("REF")};
}

static void free_sorted(struct sort_buffers *b) {
    TEST_INFO("%llu rows sorted alike", (unsigned long long)b->rows);
    free(b->data), free(b->got), free(b->want), free(b->order[0]), free(b->order[1]);
    rg_close(b->c), rg_close(b->ref);
}

/* What a function must give, by the orders that the oracle found. */
static void expect_sorted(struct sort_buffers *b, int what, rg_dtype dt, int64_t rows, int64_t n) {
    int64_t k = results(what, n);
    const int64_t *order = b->order[what == 1 || what == 3 || what == 4 || what == 7];
    size_t size = rg_dtype_size(dt);
    for (int64_t i = 0; i < rows * k; i++) {
        int64_t at = order[i / k * n + i % k];
        if (is_indices(what))
            ((int64_t *)b->want)[i] = at;
        else
            memcpy((char *)b->want + (size_t)i * size, b->data + (size_t)(i / k * n + at) * size, size);
    }
}

static void rows_alike(struct sort_buffers *b, rg_dtype dt, int64_t rows, int64_t n, enum kind kind) {
    fill(b->data, (size_t)(rows * n), rg_dtype_size(dt), kind, dt == RG_BOOL, &b->seed);
    one_nan(b->data, (size_t)(rows * n), dt);
    for (int d = 0; d < 2; d++)
        sorted_by(b->ref, dt, b->data, rows, n, 2 + d, b->order[d], bytes_of(2 + d, dt, rows, n));
    for (int what = 0; what < 8; what++) {
        size_t bytes = bytes_of(what, dt, rows, n);
        sorted_by(b->c, dt, b->data, rows, n, what, b->got, bytes);
        expect_sorted(b, what, dt, rows, n);
        if (memcmp(b->got, b->want, bytes))
            FAIL("%s, %lld rows of %lld, function %d%s differ", rg_dtype_name(dt), (long long)rows,
                 (long long)n, what, kind ? " with ties" : "");
        b->rows += (uint64_t)rows;
    }
}

/* Of all dtypes those from..to-1. */
static void sorts_alike(const char *device, int from, int to) {
    static const int64_t size[] = {1, 2, 16, 17, 40, 41, 255, 4095, 4096, 5000, MOST};
    struct sort_buffers b = sort_buffers(device, MOST, 7 + (uint64_t)from);
    for (int t = from; t < to; t++)
        for (size_t k = 0; k < RG_COUNT(size); k++)
            for (enum kind kind = RANDOM; kind <= RUNS; kind++)
                rows_alike(&b, (rg_dtype)t, size[k] <= 255 ? 7 : size[k] <= 5000 ? 2 : 1, size[k], kind);
    free_sorted(&b);
}

/* Rows in SIMD lanes: lengths around powers of two and any other, fewer rows than lanes, one more, some batches. */
TEST_SLOW(call_sorts_rows_side_by_side, 300) {
    struct sort_buffers b = sort_buffers("CPU", (size_t)150 * 1100, 11);
    for (int t = 0; t <= RG_F64; t++)
        for (int i = 0; i < 9; i++) {
            uint64_t r = b.seed >> 20;
            int64_t n = i < 5 ? 2 + (int64_t)(r % 40) : ((int64_t)16 << (i - 5) * 2) + (int64_t)(r % 7) - 3;
            int64_t rows = 2 + (int64_t)((r >> 8) % (n > 300 ? 20 : 148));
            rows_alike(&b, (rg_dtype)t, rows, n, (enum kind)((r >> 16) % 3));
        }
    free_sorted(&b);
}

/* Columns side by side, and the same as a transposed tensor's rows: around what fills lanes and what a network takes. */
static void columns_alike(struct sort_buffers *b, rg_dtype dt, int64_t outer, int64_t n, int64_t width,
                          int what, bool transposed) {
    size_t all = (size_t)(outer * n * width), bytes = bytes_of(what, dt, outer * width, n);
    for (int d = 0; d < 2; d++) {
        rg_ctx *c = d ? b->ref : b->c;
        RG_SCOPE(c);
        rg_tensor x = rg_from(c, dt, b->data, RG_SHAPE(outer, n, width));
        rg_tensor y = transposed ? sorted(rg_transpose(x, 1, 2), 2, what) : sorted(x, 1, what);
        if (rg_read(y, d ? b->want : b->got, bytes)) FAIL("%s", rg_error(c));
    }
    b->rows += all / (size_t)n;
    if (memcmp(b->got, b->want, bytes))
        FAIL("%s, %lld x %lld x %lld, function %d%s differ", rg_dtype_name(dt), (long long)outer,
             (long long)n, (long long)width, what, transposed ? " of a transposed tensor" : "");
}

TEST_SLOW(call_sorts_columns_as_the_oracle, 300) {
    static const int64_t width[] = {8, 13, 16, 31, 64, 65, 100, 257, 300, 1030};
    struct sort_buffers b = sort_buffers("CPU", 300000, 41);
    for (int t = 0; t <= RG_F64; t++)
        for (int i = 0; i < 10; i++) {
            rg_dtype dt = (rg_dtype)t;
            uint64_t r = b.seed >> 20;
            int64_t n = 9 + (int64_t)(r % (i % 3 ? 60 : 520)), w = width[(r >> 12) % RG_COUNT(width)];
            int64_t outer = 1 + (int64_t)(r >> 20) % 3;
            while (outer * n * w > 300000) w /= 2;
            size_t all = (size_t)(outer * n * w);
            fill(b.data, all, rg_dtype_size(dt), (enum kind)((r >> 28) % 3), dt == RG_BOOL, &b.seed);
            one_nan(b.data, all, dt);
            columns_alike(&b, dt, outer, n, w, i % 8, (r >> 32) % 2);
        }
    free_sorted(&b);
}

/* Along an axis that the memory has before axes of one element: rows as they lie. */
TEST(call_sorts_rows_before_axes_of_one) {
    rg_ctx *c = rg_open("CPU");
    static float got[2][5000];
    for (int i = 0; i < 2; i++) {
        int64_t n = 4999 + i;
        rg_tensor x = rg_contiguous(rg_rand(c, RG_F32, RG_SHAPE(n, 1, 1)));
        rg_realize(x);
        rg_tensor y = rg_transpose(x, 0, 2), z = rg_reshape(x, RG_SHAPE(n));
        for (int k = 0; k < 2; k++) {
            rg_tensor a = k ? rg_sort(y, 2) : rg_topk(y, 7, 2), b = k ? rg_sort(z, 0) : rg_topk(z, 7, 0);
            if (rg_read(a, got[0], (size_t)rg_bytes(a)) || rg_read(b, got[1], (size_t)rg_bytes(b)))
                FAIL("%s", rg_error(c));
            CHECK(!memcmp(got[0], got[1], (size_t)rg_bytes(a)));
        }
    }
    CHECK_EQ(rg_close(c), RG_OK);
}

/* One call, and no copy: of a middle axis, the first axis, a transposed tensor's last one. */
TEST(call_sorts_columns_in_place) {
    rg_ctx *c = rg_open("CPU");
    rg_tensor x = rg_contiguous(rg_rand(c, RG_F32, RG_SHAPE(5, 40, 96)));
    rg_realize(x);
    CHECK_EQ(planned(rg_contiguous(rg_sort(x, 1))).kernels, 1);
    CHECK_EQ(planned(rg_contiguous(rg_argsort(x, 1, .descending = true))).kernels, 1);
    CHECK_EQ(planned(rg_contiguous(rg_topk_index(x, 7, 1))).kernels, 1);
    CHECK_EQ(planned(rg_contiguous(rg_sort(rg_transpose(x, 1, 2), 1))).kernels,
             2); /* rows as they lie, and a copy */
    CHECK_EQ(rg_close(c), RG_OK);
}

/* The first few by candidates: any number of them, rows in one piece and in several, NaN with and without a sign. */
TEST_SLOW(call_finds_few_as_the_oracle, 300) {
    uint64_t seed = 23;
    for (int i = 0; i < 170; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        uint64_t r = seed >> 8 ^ seed >> 40;
        rg_dtype dt = (rg_dtype)(r % (RG_F64 + 1));
        int64_t n = 41 + (int64_t)((r >> 8) % (i % 4 ? 900 : 60000)),
                rows = n > 5000 ? 1 : 1 + (int64_t)(r >> 40) % 5;
        int64_t k = 1 + (int64_t)((r >> 20) % (i % 3 ? 60 : (uint64_t)n)),
                some = RG_MIN(k, i % 5 ? n / 4 : n);
        uint8_t *data = malloc((size_t)(rows * n) * 8);
        int64_t *got[2] = {malloc((size_t)(rows * some) * 8), malloc((size_t)(rows * some) * 8)};
        fill(data, (size_t)(rows * n), rg_dtype_size(dt), (enum kind)((r >> 50) % 3), dt == RG_BOOL, &seed);
        for (int down = 0; down < 2; down++) {
            for (int d = 0; d < 2; d++) {
                rg_ctx *c = rg_open(d ? "REF" : "CPU");
                rg_tensor x = rg_from(c, dt, data, RG_SHAPE(rows, n));
                if (rg_read(rg_topk_index(x, some, 1, .smallest = !down), got[d], (size_t)(rows * some) * 8))
                    FAIL("%s", rg_error(c));
                rg_close(c);
            }
            if (memcmp(got[0], got[1], (size_t)(rows * some) * 8))
                FAIL("%s, %lld of %lld differ (%d)", rg_dtype_name(dt), (long long)some, (long long)n, down);
        }
        free(data), free(got[0]), free(got[1]);
    }
}

/* Rows that are alone: in SIMD vectors from one vector on, by counting where elements are narrow. */
TEST_SLOW(call_sorts_rows_alone, 300) {
    struct sort_buffers b = sort_buffers("CPU", 160000, 29);
    for (int t = 0; t <= RG_F64; t++)
        for (int i = 0; i < 8; i++) {
            uint64_t r = b.seed >> 20;
            int64_t n = i < 3   ? 9 + (int64_t)(r % 500)
                        : i < 7 ? 300 + (int64_t)(r % 9000)
                                : 65536 + (int64_t)(r % 90000);
            if (i == 7 && rg_dtype_size((rg_dtype)t) != 2) continue;
            rows_alike(&b, (rg_dtype)t, 1, n, (enum kind)((r >> 16) % 3));
        }
    free_sorted(&b);
}

static uint64_t next_word(uint64_t *seed, uint64_t mask) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (*seed >> 17 ^ *seed >> 41) & mask;
}

/* Words in vectors: every short length, words that are equal or the greatest, rows in order. */
TEST(call_sorts_words_in_vectors) {
    static const uint64_t mask[] = {UINT64_MAX, 0xff, 3, 1, 0};
    uint32_t narrow[2][1500];
    uint64_t wide[2][1500], seed = 31;
    if (!cpu_has_sort_vectors()) return;
    for (uint32_t i = 0; i < 3000; i++) {
        uint32_t n = i < 600 ? i : (uint32_t)next_word(&seed, 0xffff) % 1500, order = i % 4;
        for (uint32_t k = 0; k < n; k++) {
            uint64_t w = order == 3 ? k : next_word(&seed, mask[i % RG_COUNT(mask)]) * 0x100000001u;
            wide[0][k] = order == 2 ? ~w : w, narrow[0][k] = (uint32_t)wide[0][k];
        }
        uint64_t sum[2] = {0};
        for (uint32_t k = 0; k < n; k++) sum[0] += narrow[0][k] * 31u, sum[1] += wide[0][k] * 31u;
        CHECK(cpu_sort_words32(narrow[0], narrow[1], n) && cpu_sort_words64(wide[0], wide[1], n));
        for (uint32_t k = 0; k < n; k++) sum[0] -= narrow[0][k] * 31u, sum[1] -= wide[0][k] * 31u;
        CHECK(!sum[0] && !sum[1]);
        for (uint32_t k = 1; k < n; k++)
            CHECK(narrow[0][k - 1] <= narrow[0][k] && wide[0][k - 1] <= wide[0][k]);
    }
}

/* ---- words that defy the pivots of sort_vectors.c ----------------------------------------------------------------- */

enum { DEFIANT = 9000 };

/* Numbers whose sampled ones are always among the least that are left, so that a partition takes few off: made by the partitions
 * themselves, which keep the order of the others. `lanes` of a vector. */
static void defiant(uint32_t *word, uint32_t n, uint32_t lanes) {
    uint32_t left[DEFIANT], many = n, next = 1;
    for (uint32_t i = 0; i < n; i++) left[i] = i, word[i] = 0;
    while (many > 16 * lanes) {
        uint32_t samples = many < 64 * lanes ? lanes : 4 * lanes, sample[64], rest = 0;
        for (uint32_t i = 0; i < samples; i++) {
            uint32_t at = left[(uint64_t)many * (2 * i + 1) / (2 * samples)], k = i;
            if (!word[at]) word[at] = next++;
            for (; k && sample[k - 1] > word[at]; k--) sample[k] = sample[k - 1];
            sample[k] = word[at];
        }
        for (uint32_t i = 0; i < many; i++)
            if (!word[left[i]] || word[left[i]] >= sample[samples / 2]) left[rest++] = left[i];
        many = rest;
    }
    for (uint32_t i = 0; i < n; i++)
        if (!word[i]) word[i] = next++;
}

/* The pivots are found to be bad, and the digits sort the row. */
TEST(call_sorts_words_that_defy_pivots) {
    static uint32_t word[DEFIANT], narrow[2][DEFIANT];
    static uint64_t wide[2][DEFIANT];
    for (uint32_t lanes = 8; lanes <= 16; lanes *= 2) {
        defiant(word, DEFIANT, lanes);
        for (uint32_t i = 0; i < DEFIANT; i++) narrow[0][i] = word[i], wide[0][i] = word[i];
        if (cpu_has_sort_vectors())
            CHECK(!(lanes == 16 ? cpu_sort_words32(narrow[0], narrow[1], DEFIANT)
                                : cpu_sort_words64(wide[0], wide[1], DEFIANT)));
        rg_ctx *c = rg_open("CPU");
        rg_tensor x = rg_from(c, RG_U32, word, RG_SHAPE(DEFIANT)), y = rg_cast(x, RG_U64);
        static int64_t at[DEFIANT];
        CHECK_EQ(rg_read(rg_sort(x, 0), narrow[1], sizeof narrow[1]), RG_OK);
        CHECK_EQ(rg_read(rg_sort(y, 0), wide[1], sizeof wide[1]), RG_OK);
        CHECK_EQ(rg_read(rg_argsort(x, 0), at, sizeof at), RG_OK);
        for (uint32_t i = 0; i < DEFIANT; i++)
            CHECK(narrow[1][i] == i + 1 && wide[1][i] == i + 1 && word[at[i]] == i + 1);
        CHECK_EQ(rg_close(c), RG_OK);
    }
}

TEST_SLOW(call_sorts_as_the_oracle, 300) { sorts_alike("CPU", 0, RG_F64 + 1); }

/* ---- scatter-adds in order -------------------------------------------------------------------------------------- */

struct sums {
    struct arena arena;
    struct err err;
    struct ir ir;
    const char *text;
    const uop *graph, *other;
    struct ref_buf buf[3];
    struct ref_tensor want, got;
};

/* The scatter-add of the text, and what the planner makes of it: the oracle is asked for both. */
static void both_sums(void *arg) {
    struct sums *s = arg;
    struct program p;
    struct shapes sh;
    ir_init(&s->ir, &s->arena);
    ir_parse(&s->ir, s->text, strlen(s->text), "t.uop", &p);
    s->graph = p.kernel.p[0].sink;
    shapes_init(&sh, &s->ir, &s->arena);
    const uop *n = s->graph->src[0];
    struct ordered_sum o = ordered_sum(&s->ir, &sh, n->src, n->arg.i);
    CHECK(o.call->op == OP_CALL && call_of(&s->ir, o.call) == CALL_scatter_sum);
    CHECK(shape_of(&sh, o.result) == shape_of(&sh, n));
    s->other = uop_mk(&s->ir, OP_GRAPH, &o.result, 1, ARG_NONE);
}

/* Whole rows, rows in a batch, elements of rows and of columns, fewer rows than results; to zeros and to numbers. */
TEST(call_sums_as_a_scatter) {
    static const char *const index[] = {"", "(EXPAND (RESHAPE (BUFFER<i32>[1] 6) 6 1) 6 4)",
                                        "(BUFFER<i64>[1] 6 4)",
                                        "(CAST<i64> (EXPAND (BUFFER<i32>[1] 6 1) 6 4))"};
    uint32_t n = 0;
    for (int i = 1; i < 4; i++)
        for (int zero = 0; zero < 2; zero++)
            for (int axis = 0; axis < 2; axis++) {
                struct sums s = {0};
                char text[400];
                int64_t rows = axis ? 7 : 5, columns = axis ? 5 : 4;
                arena_init(&s.arena, &s.err);
                snprintf(
                    text, sizeof text,
                    zero ? "kernel k\n(GRAPH (SCATTER[%d] (EXPAND (RESHAPE 0.0 1 1) %d %d) %s "
                           "(BUFFER<f32>[2] 6 4)))\n"
                         : "kernel k\n(GRAPH (SCATTER[%d] (BUFFER<f32>[0] %d %d) %s (BUFFER<f32>[2] 6 4)))\n",
                    axis, (int)rows, (int)columns, index[i]);
                s.text = text;
                float x[35], add[24];
                int64_t wide[24];
                int32_t narrow[24];
                for (int k = 0; k < 35; k++) x[k] = (float)(k % 7);
                for (int k = 0; k < 24; k++)
                    add[k] = (float)(k * k), wide[k] = narrow[k] = (k * 5 + k / 6) % 5;
                s.buf[0] = (struct ref_buf){.p = x, .bytes = (size_t)(rows * columns) * 4};
                s.buf[1] = i == 2 ? (struct ref_buf){.p = wide, .bytes = sizeof wide}
                                  : (struct ref_buf){.p = narrow, .bytes = 24};
                s.buf[2] = (struct ref_buf){.p = add, .bytes = sizeof add};
                if (err_guard(&s.err, both_sums, &s)) FAIL("%s\n%s", s.err.msg, text);
                if (ref_graph(&s.err, &s.arena, &s.ir, s.graph, s.buf, 3, NULL, false, 0, &s.want) ||
                    ref_graph(&s.err, &s.arena, &s.ir, s.other, s.buf, 3, NULL, false, 0, &s.got))
                    FAIL("%s\n%s", s.err.msg, text);
                if (memcmp(s.want.data, s.got.data, (size_t)(rows * columns) * 4))
                    FAIL("another sum of\n%s", text);
                arena_free(&s.arena);
                n++;
            }
    CHECK_EQ(n, 12);
}

/* ---- on a GPU --------------------------------------------------------------------------------------------------------- */

/* One context stays open, so that the driver keeps its own. */
static rg_ctx *gpu(void) {
    rg_ctx *c = cuda_open();
    return c;
}

static void gpu_sorts(int part, int parts) {
    rg_ctx *c = gpu();
    sorts_alike("CUDA", (RG_F64 + 1) * part / parts, (RG_F64 + 1) * (part + 1) / parts);
    rg_close(c);
}
TEST_MANUAL(cuda_gpu_call_sorts_0, 100) { gpu_sorts(0, 4); }
TEST_MANUAL(cuda_gpu_call_sorts_1, 100) { gpu_sorts(1, 4); }
TEST_MANUAL(cuda_gpu_call_sorts_2, 100) { gpu_sorts(2, 4); }
TEST_MANUAL(cuda_gpu_call_sorts_3, 100) { gpu_sorts(3, 4); }

/* Rows that are cut into many parts, and many rows; the CPU was held to the oracle above. */
TEST_MANUAL(cuda_gpu_call_sorts_much, 100) {
    static const int64_t shape[][2] = {{1, 5000001}, {3, 700000}, {600, 9001}, {50000, 33}, {7000, 600}};
    rg_ctx *c = gpu(), *cpu = rg_open("CPU");
    size_t most = (size_t)600 * 9001 * 8;
    uint8_t *data = malloc(most);
    void *got[2] = {malloc(most), malloc(most)};
    uint64_t seed = 99, n = 0;
    for (size_t k = 0; k < RG_COUNT(shape); k++)
        for (int t = RG_I32; t <= RG_F64; t++) {
            if (t != RG_I32 && t != RG_I64 && t != RG_F32 && t != RG_BF16) continue;
            int64_t rows = shape[k][0], len = shape[k][1];
            fill(data, (size_t)(rows * len), rg_dtype_size((rg_dtype)t), k % 2, false, &seed);
            one_nan(data, (size_t)(rows * len), (rg_dtype)t);
            for (int what = 1; what < 5; what++) {
                size_t bytes = bytes_of(what, (rg_dtype)t, rows, len);
                sorted_by(c, (rg_dtype)t, data, rows, len, what, got[0], bytes);
                sorted_by(cpu, (rg_dtype)t, data, rows, len, what, got[1], bytes);
                if (memcmp(got[0], got[1], bytes))
                    FAIL("%s, %lld rows of %lld, function %d differ", rg_dtype_name((rg_dtype)t),
                         (long long)rows, (long long)len, what);
                n += (uint64_t)(rows * len);
            }
        }
    TEST_INFO("%llu elements sorted as the CPU does", (unsigned long long)n);
    free(data), free(got[0]), free(got[1]);
    rg_close(c), rg_close(cpu);
}

/* Masks of these lengths, with few and with no true elements; room for less than there are, and for more. */
static void nonzero_alike(rg_ctx *c, const int64_t *length, size_t count) {
    size_t most = (size_t)length[count - 1];
    uint8_t *mask = malloc(most);
    int64_t *got = malloc((most + 500) * sizeof *got), done = 0;
    for (size_t k = 0; k < count; k++)
        for (int share = 0; share <= 100; share += 25) {
            int64_t n = length[k], size = share % 2 ? n / 3 + 1 : n + 500, at = 0;
            for (int64_t i = 0; i < n; i++) mask[i] = hash_u64((uint64_t)i) % 100 < (uint64_t)share;
            RG_SCOPE(c);
            rg_tensor m = rg_from(c, RG_BOOL, mask, RG_SHAPE(n));
            if (rg_read(rg_nonzero(m, size), got, (size_t)size * sizeof *got)) FAIL("%s", rg_error(c));
            for (int64_t i = 0; i < size; i++) {
                while (at < n && !mask[at]) at++;
                int64_t want = at < n ? at++ : -1;
                if (got[i] != want)
                    FAIL("%lld of %lld, %d %% true: result %lld is %lld, expected %lld", (long long)size,
                         (long long)n, share, (long long)i, (long long)got[i], (long long)want);
            }
            done += n;
        }
    TEST_INFO("%lld elements of masks", (long long)done);
    free(mask), free(got);
    rg_close(c);
}

TEST(call_nonzero_of_long_masks) { /* by eight from 16384 on */
    static const int64_t length[] = {1, 7, 1000, 16383, 16384, 16385, 16391, 70001};
    nonzero_alike(rg_open("CPU"), length, RG_COUNT(length));
}

TEST_MANUAL(cuda_gpu_call_nonzero, 100) {
    static const int64_t length[] = {1, 1000, 4096, 4097, 300001, 20000000};
    nonzero_alike(gpu(), length, RG_COUNT(length));
}

/* Several elements scattered to one index, in the order of the row: the oracle's values, and those of a product within rounding. */
TEST_MANUAL(cuda_gpu_call_scatters, 100) {
    enum { ROWS = 3, N = 6000, SIZE = 700 };
    static float x[ROWS * SIZE], src[ROWS * N], got[2][ROWS * SIZE];
    static int64_t index[ROWS * N], last[2][ROWS * SIZE];
    rg_ctx *keep = gpu();
    uint64_t seed = 5;
    fill((uint8_t *)x, RG_COUNT(x), 4, true, false, &seed),
        fill((uint8_t *)src, RG_COUNT(src), 4, true, false, &seed);
    for (size_t i = 0; i < RG_COUNT(src); i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        index[i] = (int64_t)(seed >> 40) % (i % 3 ? SIZE : 9);
        src[i] = (float)(1 + 1e-3 * (double)(seed >> 32 & 255));
    }
    for (size_t i = 0; i < RG_COUNT(x); i++) x[i] = (float)(i % 5) + 0.5f;
    src[17] = NAN, src[N + 5] = -INFINITY;
    static const rg_combine how[] = {RG_COMBINE_MAX, RG_COMBINE_MIN, RG_COMBINE_PROD};
    for (size_t k = 0; k < RG_COUNT(how); k++)
        for (int forget = 0; forget < 2; forget++) {
            for (int d = 0; d < 2; d++) {
                rg_ctx *c = rg_open(d ? "REF" : "CUDA");
                rg_tensor a = rg_from(c, RG_F32, x, RG_SHAPE(ROWS, SIZE)),
                          i = rg_from(c, RG_I64, index, RG_SHAPE(ROWS, N)),
                          s = rg_from(c, RG_F32, src, RG_SHAPE(ROWS, N));
                if (rg_read(rg_scatter_reduce(a, 1, i, s, how[k], .exclude_self = forget), got[d],
                            sizeof got[d]) ||
                    rg_read(rg_scatter(rg_zeros(c, RG_I64, RG_SHAPE(ROWS, SIZE)), 1, i, i), last[d],
                            sizeof last[d]))
                    FAIL("%s", rg_error(c));
                rg_close(c);
            }
            double tol = how[k] == RG_COMBINE_PROD ? 1e-4 : 0; /* the oracle multiplies in double */
            for (size_t i = 0; i < RG_COUNT(got[0]); i++)
                CHECK_NEAR(got[0][i], got[1][i], tol * fabs(got[1][i]));
            CHECK(!memcmp(last[0], last[1], sizeof last[0]));
        }
    rg_close(keep);
}

/* Rows of few indices, many of them: each result looks through its row. 17 are sorted. */
static void check_short_rows(int64_t rows, int64_t len, int64_t size) {
    int64_t count = rows * size, given = rows * len, *index = malloc((size_t)given * sizeof *index);
    float *x = malloc((size_t)count * 4), *src = malloc((size_t)given * 4), *got[2][4];
    for (int64_t i = 0; i < given; i++) index[i] = i * 7919 % 101 % size, src[i] = (float)sin((double)i);
    for (int64_t i = 0; i < count; i++) x[i] = (float)cos((double)i);
    for (int d = 0; d < 2; d++) {
        rg_ctx *c = rg_open(d ? "REF" : "CUDA");
        rg_tensor at = rg_from(c, RG_I64, index, RG_SHAPE(rows, len)),
                  s = rg_from(c, RG_F32, src, RG_SHAPE(rows, len)),
                  t = rg_from(c, RG_F32, x, RG_SHAPE(rows, size));
        rg_tensor y[4] = {rg_scatter_add(t, 1, at, s), rg_scatter_reduce(t, 1, at, s, RG_COMBINE_MAX),
                          rg_scatter_reduce(t, 1, at, s, RG_COMBINE_MIN, .exclude_self = true),
                          rg_scatter_reduce(t, 1, at, s, RG_COMBINE_PROD)};
        for (int k = 0; k < 4; k++) {
            got[d][k] = malloc((size_t)count * sizeof(float));
            if (rg_read(y[k], got[d][k], (size_t)count * sizeof(float))) FAIL("%s", rg_error(c));
        }
        rg_close(c);
    }
    for (int k = 0; k < 4; k++) {
        for (int64_t i = 0; i < count; i++)
            CHECK_NEAR(got[0][k][i], got[1][k][i], k % 3 ? 0 : 1e-5 * (1 + fabs(got[1][k][i])));
        free(got[0][k]), free(got[1][k]);
    }
    free(index), free(x), free(src);
}

TEST_MANUAL(cuda_gpu_call_short_rows, 100) {
    static const int64_t len[] = {1, 4, 16, 17}, size[] = {1, 5, 300};
    rg_close(gpu());
    for (size_t i = 0; i < RG_COUNT(len); i++)
        for (size_t k = 0; k < RG_COUNT(size); k++) check_short_rows(200, len[i], size[k]);
}

/* Sums of floats that many elements come to: the same bits in every run, and the oracle's within rounding; an embedding's
 * gradient, an index of its own for each element, and halves. */
/* Few results of long segments: a block each, in the same order in every run. */
TEST_MANUAL(cuda_gpu_call_histogram, 100) {
    enum { N = 300000, SIZE = 10 };
    rg_ctx *c = gpu();
    float *x = malloc(N * sizeof *x), first[SIZE], again[SIZE];
    int64_t *at = malloc(N * sizeof *at);
    double want[SIZE] = {0};
    for (int i = 0; i < N; i++) {
        at[i] = (int64_t)i * 7919 % 101 % SIZE, x[i] = (float)(i % 1000) * 1e-3f;
        want[at[i]] += x[i];
    }
    for (int run = 0; run < 3; run++) {
        rg_tensor y = rg_scatter_add(rg_zeros(c, RG_F32, RG_SHAPE(SIZE)), 0,
                                     rg_from(c, RG_I64, at, RG_SHAPE(N)), rg_from(c, RG_F32, x, RG_SHAPE(N)));
        if (rg_read(y, run ? again : first, sizeof first)) FAIL("%s", rg_error(c));
        for (int i = 0; i < SIZE && !run; i++) CHECK_NEAR(first[i], want[i], 1e-6 * want[i]);
        if (run) CHECK(!memcmp(first, again, sizeof first));
    }
    free(x), free(at);
    rg_close(c);
}

TEST_MANUAL(cuda_gpu_call_sums, 100) {
    enum { N = 20000, SIZE = 300, W = 36 };
    rg_ctx *c = gpu();
    float *want = malloc(SIZE * W * sizeof *want), *first = malloc(SIZE * W * sizeof *first),
          *again = malloc(SIZE * W * sizeof *again);
    for (int kind = 0; kind < 3; kind++)
        for (int run = 0; run < 7; run++) {
            rg_ctx *d = run ? c : rg_open("REF");
            rg_seed(d, 11);
            rg_tensor at = rg_randint(d, RG_I64, 0, SIZE, RG_SHAPE(N, kind == 1 ? W : 1)),
                      src = rg_randn(d, RG_F32, RG_SHAPE(N, W));
            rg_tensor x = rg_randn(d, RG_F32, RG_SHAPE(SIZE, W));
            rg_realize_all(RG_TENSORS(at, src, x));
            if (kind == 0) x = rg_zeros(d, RG_F32, RG_SHAPE(SIZE, W));
            if (kind == 2) src = rg_cast(src, RG_BF16), x = rg_cast(x, RG_BF16);
            rg_tensor y = rg_cast(rg_scatter_add(x, 0, rg_expand(at, RG_SHAPE(N, W)), src), RG_F32);
            if (rg_read(y, !run ? want : run == 1 ? first : again, SIZE * W * sizeof *want))
                FAIL("%s", rg_error(d));
            if (run == 1)
                for (int i = 0; i < SIZE * W; i++) CHECK_NEAR(first[i], want[i], kind == 2 ? 2 : 1e-3);
            if (run > 1) CHECK(!memcmp(first, again, SIZE * W * sizeof *first));
            if (!run) rg_close(d);
        }
    free(want), free(first), free(again);
    rg_close(c);
}
