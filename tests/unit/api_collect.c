/* api_collect.c: when memory is freed, and that a value is computed again once no handle reaches it. Counts of kernels and
 * bytes, by rg_stats and rg_memory_of. */
#include <ridge.h>
#include <test.h>

enum { MB = 1 << 20 };

static uint64_t kernels(rg_ctx *c) {
    rg_usage u;
    CHECK_EQ(rg_stats(c, &u), 0);
    return u.kernels;
}
static rg_memory memory(rg_ctx *c) {
    rg_memory m;
    CHECK_EQ(rg_memory_of(c, &m), 0);
    return m;
}
static rg_tensor data(rg_ctx *c, int64_t n) {
    rg_tensor x = rg_contiguous(rg_sin(rg_arange(c, RG_F32, 0, (double)n, 1)));
    rg_realize(x);
    return x;
}

static void of_a_parameter(rg_ctx *c, rg_tensor w);

/* Three rounds in a row run three times the kernels of the first. (rg_stats collects: it is not asked in between.) */
static void same_each_time(void (*round)(rg_ctx *, rg_tensor)) {
    rg_ctx *c = rg_open("CPU");
    rg_tensor x = round == of_a_parameter ? rg_param(data(c, 100)) : data(c, 100);
    rg_realize(x);
    uint64_t before = kernels(c);
    round(c, x);
    uint64_t one = kernels(c) - before;
    for (int i = 0; i < 3; i++) round(c, x);
    CHECK(one > 0);
    CHECK_EQ(kernels(c) - before, 4 * one);
    CHECK_EQ(rg_close(c), 0);
}

static void in_a_scope(rg_ctx *c, rg_tensor x) {
    RG_SCOPE(c);
    rg_tensor y = rg_exp(x);
    rg_realize(y);
}
TEST(collect_a_scope_that_ended_is_computed_again) { same_each_time(in_a_scope); }

static void freed(rg_ctx *c, rg_tensor x) {
    (void)c;
    rg_tensor y = rg_exp(x), z = rg_reshape(y, RG_SHAPE(10, 10));
    rg_realize(z);
    rg_free(y), rg_free(z);
}
TEST(collect_what_was_freed_is_computed_again) { same_each_time(freed); }

static void without_a_name(rg_ctx *c, rg_tensor x) {
    (void)c;
    CHECK(rg_item(rg_sum(rg_exp(x))) > 0);
}
TEST(collect_an_argument_without_a_name_is_computed_again) { same_each_time(without_a_name); }

static void two_steps(rg_ctx *c, rg_tensor x) {
    RG_SCOPE(c);
    rg_tensor y = rg_exp(x);
    rg_realize(y);
    rg_realize(rg_softmax(y, 0));
}
TEST(collect_values_of_values_are_computed_again) { same_each_time(two_steps); }

static void of_a_parameter(rg_ctx *c, rg_tensor w) {
    RG_SCOPE(c);
    rg_tensor y = rg_exp(rg_mul(w, 2)); /* keeps its history: it leads to a parameter */
    rg_realize(y);
    rg_backward(rg_sum(y));
    rg_realize(rg_param_grad(w));
    rg_zero_grad(c);
}
TEST(collect_values_that_lead_to_a_parameter_are_computed_again) { same_each_time(of_a_parameter); }

static rg_status no_inputs(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)in;
    out[0] = rg_exp(*(rg_tensor *)user);
    return RG_OK;
}
/* The recording finds nothing of the first call's: replays follow the tensor that they read. */
TEST(collect_a_jit_without_inputs_records_its_work) {
    rg_ctx *c = rg_open("CPU");
    rg_tensor w = rg_from(c, RG_F32, ((float[]){0, 0}), RG_SHAPE(2)), y;
    rg_jit *j = rg_jit_new(c, no_inputs, &w, 1);
    for (int i = 0; i < 3; i++) CHECK_EQ(rg_jit_call(j, (rg_tensors){0}, &y), 0);
    CHECK_EQ(rg_assign(w, -1000), 0);
    CHECK_EQ(rg_jit_call(j, (rg_tensors){0}, &y), 0);
    CHECK_EQ(rg_item(rg_sum(y)), 0);
    CHECK_EQ(rg_close(c), 0);
}

/* ---- living handles share --------------------------------------------------------------------------------- */

TEST(collect_two_living_handles_of_one_expression_run_once) {
    rg_ctx *c = rg_open("CPU");
    rg_tensor x = data(c, 100), a = rg_exp(x), b = rg_exp(x);
    rg_realize(a);
    uint64_t n = kernels(c);
    rg_realize(b);
    rg_tensor d = rg_exp(x); /* made while a and b live */
    rg_free(a), rg_free(b);
    rg_realize(d);
    rg_tensor e = rg_exp(x); /* d lives */
    rg_realize(e);
    CHECK_EQ(kernels(c), n);
    rg_free(d), rg_free(e);
    rg_tensor f = rg_exp(x);
    rg_realize(f);
    CHECK_EQ(kernels(c), n + 1);
    CHECK_EQ(rg_close(c), 0);
}

/* What was computed from a value keeps it, also without its handle. */
TEST(collect_a_result_keeps_what_it_needs) {
    rg_ctx *c = rg_open("CPU");
    rg_tensor x = data(c, 100), y = rg_exp(x);
    rg_realize(y);
    rg_tensor z = rg_add(y, 1), w = rg_param(data(c, 100)), h = rg_exp(w);
    rg_realize(h);
    rg_tensor g = rg_add(h, 1);
    uint64_t n = kernels(c);
    rg_free(y), rg_free(h);
    rg_realize(z);
    rg_realize(g);
    CHECK_EQ(kernels(c), n + 2);
    CHECK_EQ(rg_close(c), 0);
}

/* ---- memory that was freed is free where one looks ---------------------------------------------------------- */

TEST(collect_rg_free_shows_in_rg_memory_of) {
    rg_ctx *c = rg_open("CPU");
    rg_tensor x = data(c, MB), y = rg_exp(x);
    rg_realize(y);
    uint64_t both = memory(c).bytes;
    rg_free(y);
    CHECK_EQ(memory(c).bytes, both - 4 * MB);
    rg_free(x);
    CHECK_EQ(memory(c).bytes, both - 8 * MB);
    CHECK(memory(c).cached >= 8 * MB);
    CHECK_EQ(rg_close(c), 0);
}

TEST(collect_empties_the_allocators_cache) {
    rg_ctx *c = rg_open("CPU");
    rg_tensor x = data(c, MB);
    uint64_t bytes = memory(c).bytes;
    for (int i = 0; i < 5; i++) {
        RG_SCOPE(c);
        rg_realize(rg_exp(rg_mul(x, i)));
    }
    CHECK(memory(c).cached > 0);
    CHECK_EQ(rg_collect(c), 0);
    CHECK_EQ(memory(c).cached, 0);
    CHECK_EQ(memory(c).bytes, bytes);
    CHECK(rg_item(rg_sum(x)) != 0);
    rg_free(x);
    CHECK_EQ(rg_collect(c), 0);
    rg_usage u;
    CHECK_EQ(rg_stats(c, &u), 0);
    CHECK_EQ(u.bytes, 0);
    CHECK_EQ(u.nodes, 0);
    CHECK(u.nodes_held < 10);
    CHECK_EQ(rg_collect(NULL), RG_EINVAL);
    CHECK_EQ(rg_close(c), 0);
}

/* A plan begins with the memory of what is gone: a loop over large values needs one at a time. */
TEST(collect_before_planning_keeps_the_peak_low) {
    rg_ctx *c = rg_open("CPU");
    rg_tensor x = data(c, MB);
    rg_realize(rg_exp(x));
    CHECK_EQ(rg_memory_reset_peak(c), 0);
    uint64_t base = memory(c).held;
    for (int i = 0; i < 4; i++) {
        RG_SCOPE(c);
        rg_tensor y = rg_exp(rg_mul(x, i));
        rg_realize(y);
    }
    CHECK(memory(c).peak <= base + 5 * MB);
    CHECK_EQ(rg_close(c), 0);
}

/* While a jit is replayed the same holds. */
static rg_status twice(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)user;
    out[0] = rg_mul(in[0], 2);
    return RG_OK;
}
TEST(collect_between_replays) {
    rg_ctx *c = rg_open("CPU");
    rg_jit *j = rg_jit_new(c, twice, NULL, 1);
    rg_tensor y;
    for (int i = 0; i < 6; i++) {
        RG_SCOPE(c);
        rg_tensor x = rg_contiguous(rg_full(c, RG_F32, i, RG_SHAPE(4)));
        rg_realize(x);
        CHECK_EQ(rg_jit_call(j, RG_TENSORS(x), &y), 0);
        CHECK_EQ(rg_collect(c), 0);
        CHECK_EQ(rg_item(rg_sum(y)), 8 * i);
    }
    CHECK_EQ(rg_close(c), 0);
}
