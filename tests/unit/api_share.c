/* Memory that others see too (src/api/share.c): addresses out, borrowed memory in, and the small functions that bindings need. */
#include "base/base.h"

#include <ridge.h>
#include <test.h>

#include <string.h>

static int released;
static void release(void *user) { released += *(int *)user; }

static rg_tensor row(rg_ctx *c, const float *v) { return rg_from(c, RG_F32, v, RG_SHAPE(4)); }

TEST(share_expose_gives_the_memory_itself) {
    rg_ctx *c = rg_open("CPU");
    const float *p, *q, *r;
    rg_tensor x = rg_mul(row(c, (float[]){1, 2, 3, 4}), 2);
    rg_tensor a = rg_expose(x, (const void **)&p);
    rg_tensor b = rg_expose(rg_reshape(x, RG_SHAPE(2, 2)), (const void **)&q);
    CHECK_EQ(rg_status_of(c), 0);
    CHECK(p == q); /* another shape has the same bytes */
    CHECK_NEAR(p[3], 8, 0);
    rg_assign(x, rg_add(x, 1)); /* goes elsewhere: the handles need the old value */
    rg_tensor n = rg_expose(x, (const void **)&r);
    CHECK_EQ(rg_status_of(c), 0);
    CHECK(r != p);
    CHECK_NEAR(p[3], 8, 0);
    CHECK_NEAR(r[3], 9, 0);
    rg_free(a), rg_free(b), rg_free(n);
    CHECK_EQ(rg_close(c), 0);
}

/* A parameter's memory and an output of a jit are written again: what is given out is a copy. */
static rg_status twice(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)user;
    out[0] = rg_mul(in[0], 2);
    return RG_OK;
}

TEST(share_expose_copies_what_is_written_again) {
    rg_ctx *c = rg_open("CPU");
    const float *p, *q;
    rg_tensor w = rg_param(row(c, (float[]){1, 2, 3, 4})), out;
    rg_tensor a = rg_expose(w, (const void **)&p);
    rg_assign(w, rg_sub(w, 1));
    CHECK_EQ(rg_realize(w), 0);
    CHECK_NEAR(p[0], 1, 0);
    rg_jit *j = rg_jit_new(c, twice, NULL, RG_AS_FILLED);
    for (int i = 0; i < 5; i++) {
        rg_tensor x = row(c, (float[]){(float)i, 0, 0, 0}), many[256];
        CHECK_EQ(rg_jit_call(j, RG_TENSORS(x), many), 0);
        out = many[0];
        rg_tensor b = rg_expose(out, (const void **)&q);
        rg_tensor y = row(c, (float[]){100, 0, 0, 0});
        CHECK_EQ(rg_jit_call(j, RG_TENSORS(y), many), 0);
        CHECK_NEAR(q[0], 2 * i, 0);
        rg_free(b);
    }
    rg_jit_stats s;
    CHECK_EQ(rg_jit_info(j, &s), 0);
    CHECK(s.replays >= 8);
    rg_free(a);
    CHECK_EQ(rg_close(c), 0);
}

TEST(share_borrow_reads_in_place_and_is_given_back) {
    rg_ctx *c = rg_open("CPU");
    float mine[4] = {1, 2, 3, 4}, sum;
    const float *p;
    int one = 1;
    released = 0;
    rg_tensor x = rg_borrow(c, RG_F32, mine, RG_SHAPE(4), release, &one);
    rg_tensor a = rg_expose(x, (const void **)&p);
    CHECK(p == mine);
    rg_tensor y = rg_sum(x);
    CHECK_EQ(rg_read(y, &sum, sizeof sum), 0);
    CHECK_NEAR(sum, 10, 0);
    rg_assign(x, rg_mul(x, 3)); /* never into memory of others */
    CHECK_EQ(rg_realize(x), 0);
    CHECK_NEAR(mine[3], 4, 0);
    CHECK_EQ(released, 0);
    rg_free(x), rg_free(a), rg_free(y);
    CHECK_EQ(rg_collect(c), 0);
    CHECK_EQ(released, 1);
    x = rg_borrow(c, RG_F32, mine, RG_SHAPE(2, 2), release, &one);
    CHECK_EQ(rg_status_of(c), 0);
    CHECK_EQ(rg_close(c), 0);
    CHECK_EQ(released, 2);
}

TEST(share_borrow_refuses_with_words) {
    rg_ctx *c = rg_open("CPU");
    char mine[20];
    rg_borrow(c, RG_F32, mine + 1 + (size_t)(-(uintptr_t)mine % 4), RG_SHAPE(2), NULL, NULL);
    CHECK(strstr(rg_error(c), "no multiple of 4") != NULL);
    rg_clear_error(c);
    rg_borrow(c, RG_F32, NULL, RG_SHAPE(2), NULL, NULL);
    CHECK(strstr(rg_error(c), "the data is NULL; 8 bytes") != NULL);
    rg_clear_error(c);
    rg_tensor none = rg_borrow(c, RG_F32, NULL, RG_SHAPE(0), NULL, NULL);
    CHECK_EQ(rg_size(none), 0);
    CHECK_EQ(rg_close(c), 0);
}

TEST(share_gradients_are_seen_and_set) {
    rg_ctx *c = rg_open("CPU");
    float g[4];
    rg_tensor w = rg_param(row(c, (float[]){1, 2, 3, 4}));
    CHECK(!rg_has_grad(w));
    CHECK_EQ(rg_backward(rg_sum(rg_square(w))), 0);
    CHECK(rg_has_grad(w));
    CHECK_EQ(rg_set_grad(w, row(c, (float[]){5, 6, 7, 8})), 0);
    CHECK_EQ(rg_read(rg_param_grad(w), g, sizeof g), 0);
    CHECK_NEAR(g[3], 8, 0);
    CHECK_EQ(rg_set_grad(w, RG_NONE), 0);
    CHECK(!rg_has_grad(w));
    CHECK_EQ(rg_close(c), 0);
}

TEST(share_errors_name_the_module) {
    rg_ctx *c = rg_open("CPU");
    CHECK(rg_in_module(c, "h.0.mlp") == NULL);
    rg_reshape(row(c, (float[]){1, 2, 3, 4}), RG_SHAPE(3));
    CHECK(strstr(rg_error(c), "(in h.0.mlp)") != NULL);
    CHECK_STR(rg_in_module(c, NULL), "h.0.mlp");
    CHECK_EQ(rg_close(c), RG_EINVAL);
}
