/* Semantics: axes of size 0 and 1, values that are another tensor's memory, sources smaller than their target. */
#include "sem.h"

#define I64(...) \
    rg_from(c, RG_I64, (int64_t[]){__VA_ARGS__}, RG_SHAPE(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)))
#define IM(rows, cols, ...) rg_from(c, RG_I64, (int64_t[]){__VA_ARGS__}, RG_SHAPE(rows, cols))

/* ---- a window of one element is the tensor itself ---------------------------------------------------------- */

CASE(pool_of_one_of_a_realized_tensor) {
    rg_tensor x = rg_from(c, RG_F32, (float[]){1, 2, 3, 4, 5, 6}, RG_SHAPE(1, 2, 3));
    rg_tensor a = rg_max_pool1d(x, RG_SHAPE(3)), y = rg_max_pool1d(a, RG_SHAPE(1));
    rg_realize(a);
    IS(rg_max_pool1d(a, RG_SHAPE(1)), 3, 6);
    IS(y, 3, 6);
    IS(rg_max_pool1d(x, RG_SHAPE(1)), 1, 2, 3, 4, 5, 6);
}
CASE(pool_of_one_of_what_is_assigned) {
    rg_tensor x = rg_from(c, RG_F32, (float[]){1, 2, 3, 4, 5, 6}, RG_SHAPE(1, 2, 3));
    rg_assign(x, rg_add(x, 10));
    rg_tensor y = rg_max_pool1d(x, RG_SHAPE(1));
    IS(y, 11, 12, 13, 14, 15, 16);
    rg_assign(x, rg_add(x, 10));
    IS(rg_max_pool1d(x, RG_SHAPE(1)), 21, 22, 23, 24, 25, 26);
    IS(y, 11, 12, 13, 14, 15, 16);
    IS(x, 21, 22, 23, 24, 25, 26);
}
CASE(pools_of_one_beside_their_tensor) {
    rg_tensor x = rg_from(c, RG_F32, (float[]){1, 2, 3, 4, 5, 6}, RG_SHAPE(1, 2, 3));
    rg_assign(x, rg_add(x, 10));
    rg_tensor y = rg_max_pool1d(x, RG_SHAPE(1)), z = rg_max_pool1d(y, RG_SHAPE(1));
    CHECK_EQ(rg_realize_all(RG_TENSORS(z, x, y)), 0);
    rg_assign(x, 0);
    IS(x, 0, 0, 0, 0, 0, 0);
    IS(y, 11, 12, 13, 14, 15, 16);
    IS(z, 11, 12, 13, 14, 15, 16);
}
CASE(pool_of_one_has_a_gradient) {
    rg_tensor x = rg_from(c, RG_F32, (float[]){1, 2, 3, 4}, RG_SHAPE(1, 2, 2)), g;
    rg_tensor y = rg_max_pool1d(rg_max_pool1d(x, RG_SHAPE(2)), RG_SHAPE(1));
    CHECK_EQ(rg_grad(rg_sum(rg_square(y)), RG_TENSORS(x), &g), 0);
    IS(g, 0, 4, 0, 8);
}

/* ---- adding to an axis of size 1 ------------------------------------------------------------------------------ */

CASE(embedding_of_one_row_counts_every_use) {
    rg_tensor w = M(1, 2, 1, 2), g;
    CHECK_EQ(rg_grad(rg_sum(rg_square(rg_embedding(I64(0, 0, 0, 0), w))), RG_TENSORS(w), &g), 0);
    IS(g, 8, 16);
    CHECK_EQ(rg_grad(rg_sum(rg_embedding(I64(0, 0, 0, 0, 0), w)), RG_TENSORS(w), &g), 0);
    IS(g, 5, 5);
    rg_tensor i = I64(0, 0, 0, 0, 0, 0), s = M(6, 2, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12);
    CHECK_EQ(rg_grad(rg_sum(rg_mul(rg_embedding(i, w), s)), RG_TENSORS(w), &g), 0);
    IS(g, 36, 42);
}
CASE(take_of_one_index_counts_every_use) {
    rg_tensor x = M(2, 1, 3, 5), g;
    CHECK_EQ(rg_grad(rg_sum(rg_square(rg_take(x, 1, I64(0, 0, 0)))), RG_TENSORS(x), &g), 0);
    IS(g, 18, 30);
    CHECK_EQ(rg_grad(rg_sum(rg_take(x, 1, IM(2, 2, 0, 0, 0, 0))), RG_TENSORS(x), &g), 0);
    IS(g, 4, 4);
}
CASE(gather_of_one_index_counts_every_use) {
    rg_tensor x = M(1, 3, 1, 2, 3), g, i = rg_zeros(c, RG_I64, RG_SHAPE(4, 2));
    CHECK_EQ(rg_grad(rg_sum(rg_square(rg_gather(x, 0, i))), RG_TENSORS(x), &g), 0);
    IS(g, 8, 16, 0);
    CHECK_EQ(rg_grad(rg_sum(rg_gather(x, 0, i)), RG_TENSORS(x), &g), 0);
    IS(g, 4, 4, 0);
}
/* Every number of the index is the same, and the compiler may know it. */
CASE(gather_at_one_number_counts_every_use) {
    rg_tensor x = M(3, 2, 1, 2, 3, 4, 5, 6), g, i = rg_full(c, RG_I64, 1, RG_SHAPE(4, 2));
    CHECK_EQ(rg_grad(rg_sum(rg_gather(x, 0, i)), RG_TENSORS(x), &g), 0);
    IS(g, 0, 0, 4, 4, 0, 0);
    i = rg_expand(IM(1, 2, 2, 0), RG_SHAPE(5, 2));
    CHECK_EQ(rg_grad(rg_sum(rg_square(rg_gather(x, 0, i))), RG_TENSORS(x), &g), 0);
    IS(g, 0, 20, 0, 0, 50, 0);
    rg_tensor s = M(5, 2, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
    IS(rg_scatter_add(x, 0, i, s), 1, 32, 3, 4, 30, 6);
}
CASE(scatter_add_to_an_axis_of_one) {
    const rg_dtype dt[] = {RG_I8, RG_I32, RG_I64, RG_F16, RG_F32, RG_F64};
    for (size_t n = 0; n < sizeof dt / sizeof *dt; n++) {
        rg_tensor x = rg_cast(VI(10), dt[n]), s = rg_cast(VI(1, 2, 3, 4), dt[n]);
        IS(rg_cast(rg_scatter_add(x, 0, I64(0, 0, 0, 0), s), RG_F32), 20);
        rg_tensor y = rg_reshape(rg_cast(VI(2, -4, 4, -3, 2, -1, -5, 5), dt[n]), RG_SHAPE(1, 2, 4));
        rg_tensor i = rg_zeros(c, RG_I64, RG_SHAPE(2, 1, 3));
        rg_tensor r = rg_reshape(rg_cast(VI(0, 0, 4, -3, 5, -4), dt[n]), RG_SHAPE(2, 1, 3));
        IS(rg_cast(rg_scatter_add(y, 0, i, r), RG_F32), -1, 1, 4, -3, 2, -1, -5, 5);
    }
}
/* Parts of the index that are the same along the axis: a vector's last lanes all meet one element. */
CASE(scatter_add_by_a_stacked_index) {
    rg_tensor a = I64(0, 2), b = I64(1, 1), d = I64(2, 2), x = M(2, 3, 1, 2, 3, 4, 5, 6);
    rg_tensor s = M(2, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100);
    IS(rg_scatter_add(x, 1, rg_stack(RG_TENSORS(a, b, d), 1), s), 11, 22, 33, 4, 75, 146);
    IS(rg_scatter_add(x, 1, rg_stack(RG_TENSORS(a, b, d, d, b), 1), s), 11, 72, 73, 4, 175, 236);
    IS(rg_scatter_reduce(x, 1, rg_stack(RG_TENSORS(a, b, d), 1), s, .how = RG_COMBINE_MAX), 10, 20, 30, 4, 70,
       80);
    rg_tensor y = M(2, 3, 1, 2, 3, 4, 5, 6), g;
    CHECK_EQ(rg_grad(rg_sum(rg_square(rg_gather(y, 1, rg_stack(RG_TENSORS(d, b, d), 1)))), RG_TENSORS(y), &g),
             0);
    IS(g, 0, 4, 12, 0, 10, 24);
}
CASE(scatter_reduce_to_an_axis_of_one) {
    rg_tensor x = V(4), i = I64(0, 0, 0), s = V(1, 2, 6);
    IS(rg_scatter_reduce(x, 0, i, s, .how = RG_COMBINE_SUM), 13);
    IS(rg_scatter_reduce(x, 0, i, s, .how = RG_COMBINE_MEAN), 3.25);
    IS(rg_scatter_reduce(x, 0, i, s, .how = RG_COMBINE_PROD), 48);
    IS(rg_scatter_reduce(x, 0, i, s, .how = RG_COMBINE_MAX), 6);
    IS(rg_scatter_reduce(x, 0, i, s, .how = RG_COMBINE_MIN), 1);
    IS(rg_scatter_reduce(x, 0, i, s, .how = RG_COMBINE_MEAN, .exclude_self = true), 3);
    IS(rg_scatter(x, 0, i, s), 6);
}

/* ---- sources smaller than the target ----------------------------------------------------------------------------- */

CASE(scatter_reduce_beside_the_source_keeps_x) {
    rg_tensor x = M(2, 3, 10, 20, 30, 40, 50, 60), i = IM(1, 4, 0, 1, 2, 0), s = M(1, 4, 1, 2, 3, 4);
    IS(rg_scatter_reduce(x, 1, i, s, .how = RG_COMBINE_SUM), 15, 22, 33, 40, 50, 60);
    IS(rg_scatter_reduce(x, 1, i, s, .how = RG_COMBINE_MEAN), 5, 11, 16.5, 40, 50, 60);
    IS(rg_scatter_reduce(x, 1, i, s, .how = RG_COMBINE_PROD), 40, 40, 90, 40, 50, 60);
    IS(rg_scatter_reduce(x, 1, i, s, .how = RG_COMBINE_MAX), 10, 20, 30, 40, 50, 60);
    IS(rg_scatter_reduce(x, 1, i, s, .how = RG_COMBINE_MIN), 1, 2, 3, 40, 50, 60);
    IS(rg_scatter(x, 1, i, s), 4, 2, 3, 40, 50, 60);
}
CASE(scatter_reduce_reads_no_more_than_the_index) {
    rg_tensor x = M(2, 2, 10, 20, 30, 40), i = IM(2, 1, 1, 0);
    rg_tensor s = M(3, 3, 1, 2, 3, 4, 5, 6, 7, 8, 9);
    IS(rg_scatter_reduce(x, 1, i, s, .how = RG_COMBINE_SUM), 10, 21, 34, 40);
    IS(rg_scatter_reduce(x, 1, i, s, .how = RG_COMBINE_MAX), 10, 20, 30, 40);
    IS(rg_scatter_reduce(x, 1, i, s, .how = RG_COMBINE_MIN), 10, 1, 4, 40);
    IS(rg_scatter_reduce(x, 0, rg_transpose(i, 0, 1), s, .how = RG_COMBINE_MIN), 10, 2, 1, 40);
}

/* ---- nothing ------------------------------------------------------------------------------------------------------- */

CASE(pad_of_nothing_along_two_axes) {
    rg_tensor none = rg_zeros(c, RG_F32, RG_SHAPE(2, 0)), from = rg_from(c, RG_F32, NULL, RG_SHAPE(2, 0));
    IS(rg_pad(from, RG_INTS(1, 0, 1, 1), 2), 2, 2, 2, 2, 2, 2);
    IS(rg_pad(none, RG_INTS(0, 0, 1, 0), 3), 3, 3);
    IS(rg_pad(rg_exp(from), RG_INTS(0, 1, 0, 1), 4), 4, 4, 4);
    IS(rg_sum(rg_pad(rg_reshape(from, RG_SHAPE(0, 3, 0)), RG_INTS(1, 0, 1, 0, 0, 2), 1)), 8);
}
CASE(cat_with_nothing) {
    rg_tensor none = rg_from(c, RG_F32, NULL, RG_SHAPE(0, 2)), x = M(1, 2, 1, 2);
    IS(rg_cat(RG_TENSORS(none, x, none), 0), 1, 2);
    CHECK_EQ(rg_size(rg_cat(RG_TENSORS(none, none), 0)), 0);
    for (rg_dtype dt = RG_F8E4M3; dt <= RG_F8E5M2; dt++) {
        rg_tensor y = rg_cat(RG_TENSORS(rg_cast(x, dt), rg_cast(none, dt), rg_cast(x, dt)), 0);
        IS(rg_cast(y, RG_F32), 1, 2, 1, 2);
    }
}

/* ---- results that are constants ------------------------------------------------------------------------------------ */

CASE(constant_result_beside_a_gradient) { /* the 0 of the unused one is the 0 of the pooling's weights */
    float ones[294], one = 1;
    for (int i = 0; i < 294; i++) ones[i] = 1;
    rg_tensor x = rg_from(c, RG_F32, ones, RG_SHAPE(3, 2, 7, 7)),
              unused = rg_from(c, RG_F32, &one, RG_SHAPE());
    rg_tensor y = rg_adaptive_avg_pool2d(x, 2, 3), g[2];
    rg_tensor loss = rg_smooth_l1_loss(y, y, .reduction = RG_SUM),
              seed = rg_from(c, RG_F32, &one, RG_SHAPE());
    CHECK_EQ(rg_grad(loss, RG_TENSORS(unused, x), g, .seed = seed, .unused_ok = true), 0);
    float got[3][294];
    rg_read_async(g[0], got[0], sizeof got[0]);
    rg_read_async(g[1], got[1], sizeof got[1]);
    rg_read_async(loss, got[2], sizeof got[2]);
    CHECK_EQ(rg_wait(c), 0);
    CHECK_EQ(got[0][0], 0);
    for (int i = 0; i < 294; i++) CHECK_EQ(got[1][i], 0);
    CHECK_EQ(got[2][0], 0);
}
CASE(constant_results_beside_their_readers) {
    rg_tensor x = M(2, 3, 1, 2, 3, 4, 5, 6);
    rg_tensor two = rg_full(c, RG_F32, 2, RG_SHAPE(2, 3)), i = rg_arange(c, RG_F32, 0, 3, 1);
    rg_tensor y = rg_sum(rg_mul(x, two)), z = rg_sum(rg_mul(x, i)), s = rg_contiguous(i);
    rg_tensor w = rg_sum(rg_mul(x, rg_where(rg_lt(s, 2), rg_recip(rg_add(rg_exp(rg_mul(s, 0)), s)), s)));
    CHECK_EQ(rg_realize_all(RG_TENSORS(two, y, i, z, two, s, w)), 0);
    IS(two, 2, 2, 2, 2, 2, 2);
    IS(i, 0, 1, 2);
    IS(s, 0, 1, 2);
    IS(y, 42);
    IS(z, 25);
    IS(w, 26.5);
    rg_assign(two, rg_add(two, 1));
    IS(two, 3, 3, 3, 3, 3, 3);
    IS(y, 42);
}
