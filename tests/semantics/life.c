/* Semantics: how long a tensor lives, what an error does, what realising means. */
#include "sem.h"

#include <stdio.h>

CASE(scope_frees) {
    rg_tensor a = V(1, 2);
    uint64_t before = sem_usage(c).handles;
    {
        RG_SCOPE(c);
        rg_tensor b = rg_add(a, 1);
        IS(b, 2, 3);
        CHECK(sem_usage(c).handles > before);
    }
    CHECK_EQ(sem_usage(c).handles, before);
    CHECK_EQ(sem_usage(c).buffers, 1);
}
static void leave_early(rg_ctx *c, rg_tensor a) {
    RG_SCOPE(c);
    for (int i = 0; i < 3; i++) {
        RG_SCOPE(c);
        rg_add(a, i);
        if (i == 1) return;
    }
}
CASE(scope_ends_with_return_and_break) {
    rg_tensor a = V(1, 2);
    leave_early(c, a);
    for (;;) {
        RG_SCOPE(c);
        rg_add(a, 7);
        break;
    }
    CHECK_EQ(sem_usage(c).handles, 1);
}
CASE(scope_keep_moves_to_the_parent) {
    rg_tensor a = V(1, 2), kept;
    {
        RG_SCOPE(c);
        {
            RG_SCOPE(c);
            kept = rg_keep(rg_add(a, 1));
        }
        IS(kept, 2, 3);
    }
    CHECK(!rg_is_alive(kept));
    CHECK(rg_is_alive(a));
}
CASE(scope_keep_twice_reaches_the_root) {
    rg_tensor kept;
    {
        RG_SCOPE(c);
        {
            RG_SCOPE(c);
            kept = rg_keep(rg_keep(rg_add(V(1, 2), 1)));
        }
    }
    IS(kept, 2, 3); /* what it was made from is gone, the value is not */
}
CASE(scope_stale_handle_is_an_error) {
    rg_tensor b;
    {
        RG_SCOPE(c);
        b = rg_add(V(1, 2), 1);
    }
    float x[2];
    CHECK_EQ(rg_read(b, x, sizeof x), RG_EINVAL);
    FAILS(RG_EINVAL, "rg_read|stale|rg_keep");
}
CASE(scope_handle_of_a_used_slot_is_stale_too) {
    rg_tensor b;
    {
        RG_SCOPE(c);
        b = V(1, 2);
    }
    rg_tensor d = V(3, 4); /* takes the slot */
    rg_add(b, 1);
    FAILS(RG_EINVAL, "stale");
    IS(d, 3, 4);
}
CASE(explicit_scope_end_closes_forgotten_ones) {
    rg_scope outer = rg_begin(c), inner = rg_begin(c);
    rg_tensor a = V(1);
    rg_end(outer);
    rg_end(inner); /* closed already: nothing happens */
    CHECK(!rg_is_alive(a));
    rg_tensor b = V(1);
    rg_end(outer);
    CHECK(rg_is_alive(b));
}
CASE(free_early) {
    rg_tensor a = V(1, 2), b = rg_add(a, 1);
    rg_free(a);
    rg_free(a);
    CHECK(!rg_is_alive(a));
    IS(b, 2, 3); /* b needs a's value, not its handle */
}
CASE(free_inside_a_scope) {
    {
        RG_SCOPE(c);
        rg_tensor a = V(1, 2);
        rg_free(a);
        rg_tensor b = V(3, 4);
        IS(b, 3, 4);
    }
    CHECK_EQ(sem_usage(c).handles, 0);
}
CASE(free_none_is_fine) {
    rg_free(RG_NONE);
    CHECK_EQ(sem_usage(c).handles, 0);
}
CASE(memory_returns_when_nothing_needs_it) {
    {
        RG_SCOPE(c);
        rg_realize(rg_add(V(1, 2, 3, 4), 1));
        CHECK(sem_usage(c).bytes > 0);
    }
    CHECK_EQ(sem_usage(c).bytes, 0);
    CHECK_EQ(sem_usage(c).buffers, 0);
}

/* ---- errors --------------------------------------------------------------------------------------------- */

CASE(error_is_sticky_and_the_first_one) {
    rg_tensor a = V(1, 2, 3), bad = rg_add(a, V(1, 2));
    CHECK(rg_status_of(c) == RG_EINVAL);
    char first[2000];
    snprintf(first, sizeof first, "%s", rg_error(c));
    rg_tensor worse = rg_matmul(bad, bad);
    float x[3];
    CHECK_EQ(rg_read(worse, x, sizeof x), RG_EINVAL);
    CHECK_STR(rg_error(c), first);
    FAILS(RG_EINVAL, "life.c|rg_add|(3)|(2)");
}
CASE(error_stops_work_until_it_is_cleared) {
    rg_tensor a = V(1, 2, 3);
    rg_add(a, V(1, 2));
    rg_tensor later = rg_add(a, 1); /* would be fine, but is not made */
    CHECK(!rg_is_alive(later));
    FAILS(RG_EINVAL, "rg_add");
    IS(rg_add(a, 1), 2, 3, 4);
}
CASE(error_poison_stays_poison) {
    rg_tensor bad = rg_add(V(1, 2, 3), V(1, 2));
    FAILS(RG_EINVAL, "rg_add");
    rg_neg(bad);
    FAILS(RG_EINVAL, "rg_neg|result of a call that failed");
}
CASE(error_names_the_call_site) {
    int line = __LINE__ + 1;
    rg_matmul(M(2, 3, 1, 2, 3, 4, 5, 6), M(2, 3, 1, 2, 3, 4, 5, 6));
    char where[64];
    snprintf(where, sizeof where, "life.c:%d: rg_matmul: |(2, 3)", line);
    FAILS(RG_EINVAL, where);
}
CASE(error_in_queue_leaves_values) {
    rg_tensor a = V(1, 2);
    rg_assign(a, rg_add(a, 1));
    rg_reshape(a, RG_SHAPE(3));
    FAILS(RG_EINVAL, "rg_reshape");
    IS(a, 2, 3); /* the queue survived */
}
CASE(error_foreign_handle) {
    rg_ctx *d = rg_open("REF");
    rg_tensor x = rg_from(d, RG_F32, (float[]){1, 2}, RG_SHAPE(2));
    rg_add(V(1, 2), x);
    FAILS(RG_EINVAL, "rg_add|tensor 2|another context|rg_copy_to");
    CHECK_EQ(rg_close(d), 0);
    rg_add(V(1, 2), x);
    FAILS(RG_EINVAL, "closed");
}
CASE(error_none_operand) {
    rg_add(V(1, 2), RG_NONE);
    FAILS(RG_EINVAL, "tensor 2 is RG_NONE");
    CHECK_EQ(rg_realize(RG_NONE), RG_EINVAL); /* no context knows of it */
    CHECK_EQ(rg_status_of(c), 0);
}

/* ---- computing ------------------------------------------------------------------------------------------- */

CASE(lazy_nothing_runs_until_asked) {
    rg_tensor a = V(1, 2), b = rg_exp(rg_add(a, 1));
    CHECK_EQ(sem_usage(c).realizes, 0);
    rg_realize(b);
    CHECK_EQ(sem_usage(c).realizes, 1);
}
CASE(lazy_reading_twice_runs_once) {
    rg_tensor b = rg_add(V(1, 2), 1);
    IS(b, 2, 3);
    IS(b, 2, 3);
    CHECK_EQ(sem_usage(c).realizes, 1);
}
CASE(realize_cuts_history) {
    rg_tensor x = V(1, 1);
    for (int i = 0; i < 50; i++) {
        RG_SCOPE(c);
        rg_tensor y = rg_keep(rg_add(rg_mul(x, 0.5), 1));
        rg_realize(y);
        rg_free(x);
        x = y;
    }
    rg_usage u = sem_usage(c);
    CHECK_EQ(u.buffers, 1);
    CHECK(u.nodes < 10);
    IS(x, 2, 2);
}
CASE(realize_serves_every_holder) { /* y and z are made of x; x is computed once */
    rg_tensor x = rg_exp(V(0, 0)), y = rg_add(x, 1), z = rg_add(x, 2);
    rg_realize(x);
    IS(y, 2, 2);
    IS(z, 3, 3);
    IS(x, 1, 1);
}
CASE(realize_all_is_one_plan) {
    rg_tensor a = V(1, 2), x = rg_add(a, 1), y = rg_mul(a, 2);
    CHECK_EQ(rg_realize_all(RG_TENSORS(x, y)), 0);
    CHECK_EQ(sem_usage(c).realizes, 1);
    IS(x, 2, 3);
    IS(y, 2, 4);
    CHECK_EQ(sem_usage(c).realizes, 1);
}
CASE(realize_nothing) {
    CHECK_EQ(rg_realize_all(RG_ARRAY(NULL, 0)), 0);
    rg_tensor a = V(1, 2);
    CHECK_EQ(rg_realize(a), 0);
    CHECK_EQ(sem_usage(c).realizes, 0);
}
CASE(realize_of_a_broadcast_keeps_it_small) {
    rg_tensor w = rg_expand(rg_add(V(1, 2), 1), RG_SHAPE(100000, 2));
    CHECK_EQ(rg_realize(w), 0);
    CHECK(sem_usage(c).bytes < 1000);
    IS(rg_select(w, 0, 9), 2, 3);
}
CASE(read_needs_room) {
    float x[2] = {7, 7};
    CHECK_EQ(rg_read(V(1, 2, 3), x, sizeof x), RG_EINVAL);
    CHECK_EQ(x[0], 7);
    FAILS(RG_EINVAL, "rg_read|8 bytes|f32 (3)|12");
}
CASE(read_more_room_is_fine) {
    float x[4] = {0, 0, 0, 9};
    CHECK_EQ(rg_read(V(1, 2, 3), x, sizeof x), 0);
    CHECK_EQ(x[2], 3);
    CHECK_EQ(x[3], 9);
}
CASE(read_views) {
    rg_tensor a = M(2, 3, 1, 2, 3, 4, 5, 6);
    IS(rg_transpose(a, 0, 1), 1, 4, 2, 5, 3, 6);
    IS(rg_flip(a, RG_AXES(1)), 3, 2, 1, 6, 5, 4);
    IS(rg_slice(a, RG_SLICES(RG_FROM(1), RG_STEP(0, RG_END, 2))), 4, 6);
    IS(rg_select(a, -1, 0), 1, 4);
    IS(rg_narrow(a, 1, 1, 2), 2, 3, 5, 6);
}
CASE(read_constants) {
    IS(rg_full(c, RG_I32, 5, RG_SHAPE(3)), 5, 5, 5);
    IS(rg_number(c, RG_F64, 0.1), 0.1);
    IS(rg_arange(c, RG_I64, 0, 5, 2), 0, 2, 4);
}
CASE(read_empty) {
    rg_tensor e = rg_zeros(c, RG_F32, RG_SHAPE(0, 3));
    CHECK_EQ(rg_bytes(e), 0);
    CHECK_EQ(rg_read(e, NULL, 0), 0);
    CHECK_EQ(rg_read(rg_add(e, 1), NULL, 0), 0);
    IS(rg_sum(e), 0);
    IS(rg_sum(e, RG_AXES(0)), 0, 0, 0);
}
CASE(item) {
    CHECK_NEAR(rg_item(rg_sum(V(1, 2, 3))), 6, 0);
    CHECK_NEAR(rg_item(rg_cast(rg_number(c, RG_F32, 1.5), RG_BF16)), 1.5, 0);
    CHECK_EQ(rg_item(rg_integer(c, RG_I64, (int64_t)1 << 40)), (int64_t)1 << 40);
    CHECK(isnan(rg_item(V(1, 2))));
    FAILS(RG_EINVAL, "rg_item|one element|2");
}
CASE(async_reads_share_a_plan) {
    rg_tensor a = V(1, 2), x = rg_add(a, 1), y = rg_mul(a, 3);
    float p[2] = {0}, q[2] = {0};
    rg_read_async(x, p, sizeof p);
    rg_read_async(y, q, sizeof q);
    CHECK_EQ(p[0], 0);
    CHECK_EQ(rg_wait(c), 0);
    CHECK_EQ(sem_usage(c).realizes, 1);
    CHECK(p[0] == 2 && p[1] == 3 && q[0] == 3 && q[1] == 6);
}
CASE(async_read_has_the_value_of_its_call) {
    rg_tensor a = V(1, 2);
    float p[2] = {0};
    rg_read_async(a, p, sizeof p);
    rg_assign(a, 0);
    rg_free(a);
    CHECK_EQ(rg_wait(c), 0);
    CHECK(p[0] == 1 && p[1] == 2);
}
CASE(async_read_outlives_its_scope) {
    float p[2] = {0};
    {
        RG_SCOPE(c);
        rg_read_async(rg_add(V(1, 2), 1), p, sizeof p);
    }
    CHECK_EQ(rg_wait(c), 0);
    CHECK(p[0] == 2 && p[1] == 3);
}
CASE(copy_to_another_context) {
    rg_ctx *d = rg_open("REF");
    rg_tensor x = rg_copy_to(d, rg_add(V(1, 2), 1));
    CHECK(rg_ctx_of(x) == d);
    IS(rg_mul(x, 2), 4, 6);
    IS(rg_copy_to(c, rg_reshape(x, RG_SHAPE(1, 2))), 2, 3);
    CHECK_EQ(rg_close(d), 0);
}

/* ---- scalars that change ------------------------------------------------------------------------------------ */

CASE(scalar_changes) {
    rg_tensor s = rg_scalar(c, RG_F32, 2), a = V(1, 2);
    IS(rg_mul(a, s), 2, 4);
    CHECK_EQ(rg_set_scalar(s, 5), 0);
    IS(rg_mul(a, s), 5, 10);
}
CASE(scalar_old_expression_keeps_the_old_number) {
    rg_tensor s = rg_scalar(c, RG_F32, 2), a = V(1, 2), y = rg_mul(a, s);
    rg_set_scalar(s, 5);
    rg_tensor z = rg_mul(a, s);
    IS(rg_add(y, z), 7, 14);
    IS(y, 2, 4);
}
CASE(scalar_of_every_dtype) {
    IS(rg_scalar(c, RG_I32, -3), -3);
    IS(rg_scalar(c, RG_U8, 200), 200);
    IS(rg_scalar(c, RG_F64, 0.1), 0.1);
    IS(rg_cast(rg_scalar(c, RG_F16, 0.5), RG_F32), 0.5);
    IS(rg_scalar(c, RG_BOOL, 1), 1);
}
CASE(scalar_same_program) { /* a number that changes needs no new plan */
    rg_tensor s = rg_scalar(c, RG_F32, 1), a = V(1, 2);
    for (int i = 0; i < 5; i++) {
        RG_SCOPE(c);
        rg_set_scalar(s, i);
        IS(rg_add(rg_mul(a, s), 1), i + 1, 2 * i + 1);
    }
    if (!strcmp(rg_device(c), "CPU")) CHECK(sem_usage(c).cached >= 3);
}
CASE(scalar_set_after_it_was_read) {
    const rg_dtype dt[] = {RG_F32, RG_F64, RG_F16, RG_I32, RG_I64, RG_BOOL};
    for (size_t i = 0; i < sizeof dt / sizeof *dt; i++) {
        rg_tensor s = rg_scalar(c, dt[i], 1), y;
        CHECK_EQ(rg_item(s), 1);
        y = rg_add(rg_cast(s, RG_F32), 2);
        CHECK_EQ(rg_set_scalar(s, 0), 0);
        CHECK_EQ(rg_item(s), 0);
        IS(y, 3);
        CHECK_EQ(rg_realize(s), 0);
        CHECK_EQ(rg_set_scalar(s, 1), 0);
        IS(rg_cast(s, RG_F32), 1);
    }
    rg_tensor i = rg_index(c, 0, 9, 4);
    CHECK_EQ(rg_item(i), 4);
    CHECK_EQ(rg_set_scalar(i, 9), 0);
    CHECK_EQ(rg_item(i), 9);
}
CASE(scalar_misuse) {
    rg_set_scalar(V(1, 2), 3);
    FAILS(RG_EINVAL, "rg_set_scalar|rg_assign");
    rg_tensor s = rg_scalar(c, RG_I32, 2), i = rg_index(c, 0, 3, 1);
    rg_set_scalar(s, 0.5);
    FAILS(RG_EINVAL, "0.5 is not an integer");
    rg_set_scalar(i, 4);
    FAILS(RG_EINVAL, "4|bounds|0 to 3");
    rg_assign(s, 1);
    FAILS(RG_EINVAL, "rg_set_scalar");
    IS(rg_add(s, i), 3);
}
CASE(index_window) {
    rg_tensor a = V(0, 1, 2, 3, 4), i = rg_index(c, 0, 3, 0);
    IS(rg_slice(a, RG_SLICES(RG_WINDOW(i, 2))), 0, 1);
    rg_set_scalar(i, 3);
    IS(rg_slice(a, RG_SLICES(RG_WINDOW(i, 2))), 3, 4);
    IS(rg_mul(i, 10), 30);
}
CASE(index_window_after_reading_the_index) {
    rg_tensor a = V(0, 1, 2, 3, 4), i = rg_index(c, 0, 3, 2);
    IS(i, 2);
    IS(rg_slice(a, RG_SLICES(RG_WINDOW(i, 2))), 2, 3);
}
CASE(index_bounds_must_fit) {
    rg_slice(V(0, 1, 2), RG_SLICES(RG_WINDOW(rg_index(c, 0, 2, 0), 2)));
    FAILS(RG_EINVAL, "rg_slice");
    rg_index(c, 3, 2, 3);
    FAILS(RG_EINVAL, "rg_index|least <= greatest");
}
