/* Semantics: assignment. A handle denotes the value at its creation; rg_assign moves one handle on. */
#include "sem.h"

CASE(assign_replaces) {
    rg_tensor a = V(1, 2, 3);
    rg_assign(a, V(4, 5, 6));
    IS(a, 4, 5, 6);
}
CASE(assign_to_itself_plus_one) {
    rg_tensor a = V(1, 2, 3);
    rg_assign(a, rg_add(a, 1));
    IS(a, 2, 3, 4);
}
CASE(assign_twice_before_reading) {
    rg_tensor a = V(1, 2);
    rg_assign(a, rg_mul(a, 10));
    rg_assign(a, rg_add(a, 1));
    IS(a, 11, 21);
}
CASE(assign_twice_with_a_read_between) {
    rg_tensor a = V(1, 2);
    rg_assign(a, rg_mul(a, 10));
    IS(a, 10, 20);
    rg_assign(a, rg_add(a, 1));
    IS(a, 11, 21);
}
CASE(assign_a_hundred_times) {
    rg_tensor a = V(0, 1);
    for (int i = 0; i < 100; i++) {
        RG_SCOPE(c);
        rg_assign(a, rg_add(a, 1));
    }
    IS(a, 100, 101);
}
CASE(assign_number) {
    rg_tensor a = V(1, 2, 3);
    rg_assign(a, 7);
    IS(a, 7, 7, 7);
}
CASE(assign_broadcasts) {
    rg_tensor a = M(2, 3, 0, 0, 0, 0, 0, 0);
    rg_assign(a, V(1, 2, 3));
    IS(a, 1, 2, 3, 1, 2, 3);
}
CASE(assign_converts_integers_to_floats) {
    rg_tensor a = V(0.5, 0.5);
    rg_assign(a, VI(1, 2));
    CHECK_EQ(rg_dtype_of(a), RG_F32);
    IS(a, 1, 2);
}
CASE(assign_float_to_integers_is_an_error) {
    rg_tensor a = VI(1, 2);
    CHECK_EQ(rg_assign(a, V(0.5, 1.5)), RG_EINVAL);
    FAILS(RG_EINVAL, "rg_assign|i32|f32|rg_cast");
    CHECK_EQ(rg_assign(a, 0.5), RG_EINVAL);
    FAILS(RG_EINVAL, "cannot take a float");
    IS(a, 1, 2);
}
CASE(assign_wrong_shape_is_an_error) {
    rg_tensor a = V(1, 2, 3);
    rg_assign(a, V(1, 2));
    FAILS(RG_EINVAL, "assign.c|rg_assign|(2)|(3)");
    IS(a, 1, 2, 3);
}
CASE(assign_does_not_widen_the_target) {
    rg_tensor a = V(1, 2);
    rg_assign(a, M(2, 2, 1, 2, 3, 4));
    FAILS(RG_EINVAL, "(2, 2)");
}
CASE(assign_to_lazy_value) {
    rg_tensor a = rg_add(V(1, 2), 1);
    rg_assign(a, rg_mul(a, 2));
    IS(a, 4, 6);
}
CASE(assign_to_zeros) {
    rg_tensor a = rg_zeros(c, RG_F32, RG_SHAPE(3));
    rg_assign(a, rg_add(a, V(1, 2, 3)));
    IS(a, 1, 2, 3);
}
CASE(assign_to_one_zeros_leaves_another) {
    rg_tensor a = rg_zeros(c, RG_F32, RG_SHAPE(2)), b = rg_zeros(c, RG_F32, RG_SHAPE(2));
    rg_assign(a, 5);
    IS(b, 0, 0);
    IS(a, 5, 5);
}
CASE(assign_to_scalar) {
    rg_tensor a = rg_number(c, RG_F32, 3);
    rg_assign(a, rg_add(a, 4));
    IS(a, 7);
}
CASE(assign_to_empty) {
    rg_tensor a = rg_zeros(c, RG_F32, RG_SHAPE(0));
    rg_assign(a, 1);
    CHECK_EQ(rg_size(a), 0);
    CHECK_EQ(rg_read(a, NULL, 0), 0);
}

/* ---- who keeps the old value ------------------------------------------------------------------------------ */

CASE(assign_leaves_a_copy_of_the_handle_on_the_new_value) { /* a C copy is the same handle */
    rg_tensor a = V(1, 2), same = a;
    rg_assign(a, V(3, 4));
    IS(same, 3, 4);
}
CASE(assign_result_computed_before_keeps_the_old_value) {
    rg_tensor a = V(1, 2), y = rg_mul(a, 10);
    rg_assign(a, V(3, 4));
    IS(y, 10, 20);
    IS(a, 3, 4);
}
CASE(assign_result_read_after_the_new_value) {
    rg_tensor a = V(1, 2), y = rg_mul(a, 10);
    rg_assign(a, V(3, 4));
    IS(a, 3, 4);
    IS(y, 10, 20);
}
CASE(assign_result_computed_after_sees_the_new_value) {
    rg_tensor a = V(1, 2);
    rg_assign(a, V(3, 4));
    IS(rg_mul(a, 10), 30, 40);
}
CASE(assign_results_of_three_versions) {
    rg_tensor a = V(1, 2), x = rg_add(a, 0.5);
    rg_assign(a, rg_mul(a, 2));
    rg_tensor y = rg_add(a, 0.5);
    rg_assign(a, rg_mul(a, 2));
    rg_tensor z = rg_add(a, 0.5);
    IS(z, 4.5, 8.5);
    IS(x, 1.5, 2.5);
    IS(y, 2.5, 4.5);
    IS(a, 4, 8);
}
CASE(assign_equal_expressions_of_two_versions_differ) {
    rg_tensor a = V(1, 2), x = rg_neg(a);
    IS(x, -1, -2);
    rg_assign(a, V(5, 6));
    rg_tensor y = rg_neg(a);
    IS(y, -5, -6);
    IS(x, -1, -2);
}
CASE(assign_realized_twin_keeps_its_value) { /* two handles of one node, realized once */
    rg_tensor a = V(1, 2), x = rg_add(a, 1), y = rg_add(a, 1);
    IS(x, 2, 3);
    rg_assign(x, 0);
    IS(x, 0, 0);
    IS(y, 2, 3);
}
CASE(assign_to_both_twins) {
    rg_tensor a = V(1, 2), x = rg_add(a, 1), y = rg_add(a, 1);
    IS(x, 2, 3);
    rg_assign(x, rg_mul(x, 10));
    rg_assign(y, rg_mul(y, 100));
    IS(y, 200, 300);
    IS(x, 20, 30);
}
CASE(
    assign_rebuilt_expression_is_not_the_old_storage) { /* x+1 was realized, then its memory was assigned to */
    rg_tensor a = V(1, 2), x = rg_add(a, 1);
    IS(x, 2, 3);
    rg_assign(x, V(8, 9));
    IS(x, 8, 9);
    IS(rg_add(a, 1), 2, 3);
}
CASE(assign_value_keeps_reading_the_source_as_it_was) {
    rg_tensor a = V(1, 2), b = V(3, 4);
    rg_assign(a, b);
    rg_assign(b, 0);
    IS(a, 3, 4);
    IS(b, 0, 0);
}
CASE(assign_swap) {
    rg_tensor a = V(1, 2), b = V(3, 4), t = rg_add(a, 0);
    rg_assign(a, b);
    rg_assign(b, t);
    IS(a, 3, 4);
    IS(b, 1, 2);
}
CASE(
    assign_swap_of_the_buffers_themselves) { /* no arithmetic anywhere: the old versions themselves are wanted */
    rg_tensor a = V(1, 2), b = V(3, 4), old = rg_reshape(a, RG_SHAPE(2));
    rg_assign(a, b);
    rg_assign(b, old);
    IS(b, 1, 2);
    IS(a, 3, 4);
}
CASE(assign_rotate_three) {
    rg_tensor x = V(1), y = V(2), z = V(3), t = rg_mul(x, 1);
    for (int i = 0; i < 4; i++) {
        RG_SCOPE(c);
        rg_tensor first = rg_reshape(x, RG_SHAPE(1));
        rg_assign(x, y);
        rg_assign(y, z);
        rg_assign(z, first);
    }
    IS(x, 2);
    IS(y, 3);
    IS(z, 1);
    IS(t, 1);
}
CASE(assign_diamond) {
    rg_tensor a = V(1, 2), l = rg_add(a, 1), r = rg_mul(a, 2);
    rg_assign(a, rg_add(l, r));
    IS(a, 4, 7);
    IS(rg_add(l, r), 4, 7);
    IS(l, 2, 3);
}
CASE(assign_chain_through_two_buffers) {
    rg_tensor a = V(1, 1), b = V(2, 2);
    rg_assign(a, rg_add(a, b));
    rg_assign(b, rg_add(a, b));
    rg_assign(a, rg_add(a, b));
    IS(a, 8, 8);
    IS(b, 5, 5);
}
CASE(assign_reduction_of_itself) {
    rg_tensor a = V(1, 2, 3, 4);
    rg_assign(a, rg_div(a, rg_sum(a)));
    IS(a, 0.1, 0.2, 0.3, 0.4);
}
CASE(assign_reversed_itself) {
    rg_tensor a = V(1, 2, 3, 4, 5);
    rg_assign(a, rg_flip(a, RG_AXES(0)));
    IS(a, 5, 4, 3, 2, 1);
}
CASE(assign_transposed_itself) {
    rg_tensor a = M(2, 2, 1, 2, 3, 4);
    rg_assign(a, rg_transpose(a, 0, 1));
    IS(a, 1, 3, 2, 4);
}
CASE(assign_matmul_of_itself) {
    rg_tensor a = M(2, 2, 1, 1, 0, 1);
    for (int i = 0; i < 3; i++) rg_assign(a, rg_matmul(a, a));
    IS(a, 1, 8, 0, 1);
}
CASE(assign_unseen_is_not_run) {
    rg_tensor a = V(1, 2), y = rg_add(a, 1);
    rg_assign(a, 0);
    rg_free(a);
    IS(y, 2, 3);
    CHECK_EQ(sem_usage(c).buffers, 1); /* y's; a's is gone */
}
CASE(assign_unseen_newest_version_but_seen_older_one) {
    rg_tensor a = V(1, 2);
    rg_assign(a, rg_add(a, 1));
    rg_tensor y = rg_mul(a, 10);
    rg_assign(a, 0);
    rg_free(a);
    IS(y, 20, 30);
}
CASE(assign_keeps_the_address) { /* ten steps of a pair need two buffers, not twenty */
    rg_tensor a = V(1, 2), b = V(3, 4);
    for (int i = 0; i < 10; i++) {
        RG_SCOPE(c);
        rg_assign(a, rg_add(a, b));
        rg_assign(b, rg_sub(a, b));
        rg_realize_all(RG_TENSORS(a, b));
        CHECK_EQ(sem_usage(c).buffers, 2);
    }
}

/* ---- views ------------------------------------------------------------------------------------------------- */

CASE(view_before_keeps_the_old_value) {
    rg_tensor a = M(2, 2, 1, 2, 3, 4), v = rg_transpose(a, 0, 1);
    rg_assign(a, 0);
    IS(a, 0, 0, 0, 0);
    IS(v, 1, 3, 2, 4);
}
CASE(view_after_sees_the_new_value) {
    rg_tensor a = M(2, 2, 1, 2, 3, 4);
    rg_assign(a, M(2, 2, 5, 6, 7, 8));
    IS(rg_transpose(a, 0, 1), 5, 7, 6, 8);
}
CASE(view_row_before_keeps_the_old_value) {
    rg_tensor a = M(2, 2, 1, 2, 3, 4), row = rg_select(a, 0, 1);
    rg_assign(a, rg_mul(a, 10));
    IS(row, 3, 4);
    IS(a, 10, 20, 30, 40);
    IS(row, 3, 4);
}
CASE(view_broadcast_before_keeps_the_old_value) {
    rg_tensor a = V(1, 2), w = rg_expand(a, RG_SHAPE(1000000, 2));
    rg_assign(a, 0);
    IS(a, 0, 0);
    CHECK(sem_usage(c).bytes < 1000); /* what it shows was copied, not all that it shows */
    IS(rg_select(w, 0, 777), 1, 2);
}
CASE(view_of_lazy_value_before) {
    rg_tensor a = V(1, 2, 3, 4), v = rg_reshape(rg_add(a, 1), RG_SHAPE(2, 2));
    rg_assign(a, 0);
    IS(a, 0, 0, 0, 0);
    IS(v, 2, 3, 4, 5);
}
CASE(view_cannot_be_assigned) {
    rg_tensor a = M(2, 2, 1, 2, 3, 4), v = rg_reshape(a, RG_SHAPE(4));
    CHECK_EQ(rg_assign(v, 0), RG_EINVAL);
    FAILS(RG_EINVAL, "rg_assign: the target is a view, made by rg_reshape at |assign.c|rg_contiguous");
    IS(a, 1, 2, 3, 4);
}
CASE(view_broadcast_cannot_be_assigned) {
    rg_tensor w = rg_expand(V(1, 2), RG_SHAPE(3, 2));
    rg_assign_slice(w, 0, RG_SLICES(RG_TO(1)));
    FAILS(RG_EINVAL, "rg_assign_slice|view|rg_expand");
}
CASE(view_copy_can_be_assigned) {
    rg_tensor a = M(2, 2, 1, 2, 3, 4), v = rg_contiguous(rg_reshape(a, RG_SHAPE(4)));
    rg_assign(v, rg_add(v, 1));
    IS(v, 2, 3, 4, 5);
    IS(a, 1, 2, 3, 4);
}

/* ---- parts --------------------------------------------------------------------------------------------------- */

CASE(slice_assign) {
    rg_tensor a = V(0, 1, 2, 3, 4);
    rg_assign_slice(a, V(9, 8), RG_SLICES(RG_RANGE(1, 3)));
    IS(a, 0, 9, 8, 3, 4);
}
CASE(slice_assign_number) {
    rg_tensor a = V(0, 1, 2, 3, 4);
    rg_assign_slice(a, 7, RG_SLICES(RG_FROM(-2)));
    IS(a, 0, 1, 2, 7, 7);
}
CASE(slice_shift_right) { /* a[1:] = a[:-1] */
    rg_tensor a = V(0, 1, 2, 3, 4);
    rg_assign_slice(a, rg_slice(a, RG_SLICES(RG_TO(-1))), RG_SLICES(RG_FROM(1)));
    IS(a, 0, 0, 1, 2, 3);
}
CASE(slice_shift_left) {
    rg_tensor a = V(0, 1, 2, 3, 4);
    rg_assign_slice(a, rg_slice(a, RG_SLICES(RG_FROM(1))), RG_SLICES(RG_TO(-1)));
    IS(a, 1, 2, 3, 4, 4);
}
CASE(slice_shift_twice_before_reading) {
    rg_tensor a = V(0, 1, 2, 3, 4);
    for (int i = 0; i < 2; i++) rg_assign_slice(a, rg_slice(a, RG_SLICES(RG_TO(-1))), RG_SLICES(RG_FROM(1)));
    IS(a, 0, 0, 0, 1, 2);
}
CASE(slice_every_second) {
    rg_tensor a = V(0, 1, 2, 3, 4);
    rg_assign_slice(a, V(7, 8, 9), RG_SLICES(RG_STEP(0, RG_END, 2)));
    IS(a, 7, 1, 8, 3, 9);
}
CASE(slice_backwards) { /* a[::-1] = 1, 2, 3 */
    rg_tensor a = V(0, 0, 0);
    rg_assign_slice(a, V(1, 2, 3), RG_SLICES(RG_STEP(RG_END, RG_END, -1)));
    IS(a, 3, 2, 1);
}
CASE(slice_block_of_a_matrix) {
    rg_tensor a = rg_contiguous(rg_zeros(c, RG_F32, RG_SHAPE(3, 3)));
    rg_assign_slice(a, M(2, 2, 1, 2, 3, 4), RG_SLICES(RG_FROM(1), RG_TO(2)));
    IS(a, 0, 0, 0, 1, 2, 0, 3, 4, 0);
}
CASE(slice_row_by_row) {
    rg_tensor a = rg_zeros(c, RG_F32, RG_SHAPE(3, 2));
    for (int i = 0; i < 3; i++) rg_assign_slice(a, i + 1, RG_SLICES(RG_RANGE(i, i + 1)));
    IS(a, 1, 1, 2, 2, 3, 3);
}
CASE(slice_of_lazy_value) {
    rg_tensor a = rg_add(V(1, 2, 3), 10);
    rg_assign_slice(a, 0, RG_SLICES(RG_TO(1)));
    IS(a, 0, 12, 13);
}
CASE(slice_empty_changes_nothing) {
    rg_tensor a = V(1, 2, 3);
    rg_assign_slice(a, 9, RG_SLICES(RG_RANGE(2, 2)));
    IS(a, 1, 2, 3);
}
CASE(slice_whole_is_assign) {
    rg_tensor a = V(1, 2, 3);
    rg_assign_slice(a, V(4, 5, 6), RG_SLICES(RG_WHOLE));
    IS(a, 4, 5, 6);
}
CASE(slice_out_of_range_is_cut) { /* as in Python */
    rg_tensor a = V(1, 2, 3);
    rg_assign_slice(a, 0, RG_SLICES(RG_RANGE(1, 100)));
    IS(a, 1, 0, 0);
}
CASE(slice_too_many_axes_is_an_error) {
    rg_tensor a = V(1, 2, 3);
    rg_assign_slice(a, 0, RG_SLICES(RG_WHOLE, RG_WHOLE));
    FAILS(RG_EINVAL, "2 ranges|1 axes");
}
CASE(slice_wrong_value_is_an_error) {
    rg_tensor a = V(1, 2, 3);
    rg_assign_slice(a, V(1, 2, 3), RG_SLICES(RG_TO(2)));
    FAILS(RG_EINVAL, "(3)|(2)");
    IS(a, 1, 2, 3);
}
CASE(slice_old_reader) {
    rg_tensor a = V(1, 2, 3), s = rg_sum(a);
    rg_assign_slice(a, 0, RG_SLICES(RG_FROM(1)));
    IS(a, 1, 0, 0);
    IS(s, 6);
}
CASE(slice_at_index) { /* a cache that is filled row by row, with one program */
    rg_tensor a = rg_zeros(c, RG_F32, RG_SHAPE(4)), i = rg_index(c, 0, 3, 0);
    for (int t = 0; t < 4; t++) {
        RG_SCOPE(c);
        rg_set_scalar(i, t);
        rg_assign_slice(a, rg_full(c, RG_F32, t + 1, RG_SHAPE(1)), RG_SLICES(RG_WINDOW(i, 1)));
        rg_realize(a);
    }
    IS(a, 1, 2, 3, 4);
}
CASE(slice_two_indices_before_reading) {
    rg_tensor a = rg_zeros(c, RG_F32, RG_SHAPE(4)), i = rg_index(c, 0, 3, 1);
    rg_assign_slice(a, 5, RG_SLICES(RG_WINDOW(i, 1)));
    rg_set_scalar(i, 3);
    rg_assign_slice(a, 6, RG_SLICES(RG_WINDOW(i, 1)));
    IS(a, 0, 5, 0, 6);
}
