/* The public API: opening, closing, misuse and its words, threads. What values mean is in tests/semantics. */
#include <ridge.h>
#include <test.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static rg_ctx *open_ref(void) {
    rg_ctx *c = rg_open("REF");
    if (rg_status_of(c)) FAIL("%s", rg_error(c));
    return c;
}

/* ---- contexts ------------------------------------------------------------------------------------------- */

TEST(api_context_unknown_device) {
    rg_ctx *c = rg_open("TOASTER");
    CHECK(c != NULL);
    CHECK_EQ(rg_status_of(c), RG_EINVAL);
    CHECK(strstr(rg_error(c), "rg_open: no device is called \"TOASTER\"; there are CPU"));
    CHECK_STR(rg_device(c), "none");
    rg_tensor a = rg_zeros(c, RG_F32, RG_SHAPE(2));
    float x[2];
    CHECK_EQ(rg_read(rg_add(a, 1), x, sizeof x), RG_EINVAL);
    RG_SCOPE(c);
    CHECK_EQ(rg_clear_error(c), RG_EINVAL); /* there is nothing to go on with */
    CHECK(strstr(rg_error(c), "TOASTER"));
    rg_usage u;
    CHECK_EQ(rg_stats(c, &u), RG_EINVAL);
    CHECK_EQ(u.handles, 0);
    CHECK_EQ(rg_close(c), RG_EINVAL);
}

TEST(api_context_device_from_the_environment) {
    setenv("DEVICE", "ref", 1);
    rg_ctx *c = rg_open(NULL);
    CHECK_STR(rg_device(c), "REF");
    CHECK_EQ(rg_close(c), 0);
}

TEST(api_context_many) {
    rg_ctx *c[256];
    for (int i = 0; i < 255; i++) {
        c[i] = rg_open("NULL");
        CHECK_EQ(rg_status_of(c[i]), 0);
    }
    c[255] = rg_open("NULL");
    CHECK_EQ(rg_status_of(c[255]), RG_ELIMIT);
    CHECK_STR(rg_error(c[255]), "rg_open: 255 contexts are open; close one with rg_close");
    CHECK_EQ(rg_zeros(c[255], RG_F32, RG_SHAPE(1)).id, 0);
    CHECK_EQ(rg_close(c[255]), RG_ELIMIT);
    CHECK_EQ(rg_close(c[100]), 0);
    c[100] = rg_open("NULL");
    CHECK_EQ(rg_status_of(c[100]), 0);
    for (int i = 0; i < 255; i++) CHECK_EQ(rg_close(c[i]), 0);
}

TEST(api_context_handles_do_not_outlive_it) {
    rg_ctx *c = open_ref();
    rg_tensor a = rg_ones(c, RG_F32, RG_SHAPE(2));
    CHECK_EQ(rg_close(c), 0);
    rg_ctx *d = open_ref(); /* takes the place of the first */
    rg_tensor b = rg_ones(d, RG_F32, RG_SHAPE(2));
    CHECK(!rg_is_alive(a));
    rg_add(b, a);
    CHECK_EQ(rg_status_of(d), RG_EINVAL);
    CHECK_EQ(rg_close(d), RG_EINVAL);
    CHECK_EQ(rg_close(NULL), 0);
}

TEST(api_context_null) {
    CHECK_EQ(rg_zeros(NULL, RG_F32, RG_SHAPE(1)).id, 0);
    CHECK_EQ(rg_status_of(NULL), RG_EINVAL);
    CHECK_STR(rg_error(NULL), "the context is NULL");
    CHECK_EQ(rg_clear_error(NULL), RG_EINVAL);
    CHECK_EQ(rg_wait(NULL), RG_EINVAL);
    CHECK_EQ(rg_zero_grad(NULL), RG_EINVAL);
    rg_end(rg_begin(NULL));
    CHECK(isnan(rg_item(RG_NONE)));
    CHECK_EQ(rg_rank(RG_NONE), -1);
    CHECK(rg_ctx_of(RG_NONE) == NULL);
}

/* The header's codes and the library's are one list. */
TEST(api_context_status_codes) {
    CHECK_STR(rg_status_text(RG_OK), "no error");
    CHECK_STR(rg_status_text(RG_EINVAL), "invalid argument");
    CHECK_STR(rg_status_text(RG_EPARSE), "the text does not parse");
    CHECK_STR(rg_status_text(RG_EVERIFY), "the kernel is not legal");
    CHECK_STR(rg_status_text(RG_EOPT), "the opt is not legal for this kernel");
    CHECK_STR(rg_status_text(RG_ENOMEM), "out of memory");
    CHECK_STR(rg_status_text(RG_EIO), "a file could not be read or written");
    CHECK_STR(rg_status_text(RG_ECOMPILE), "the C compiler failed or is missing");
    CHECK_STR(rg_status_text(RG_EDEVICE), "the device failed");
    CHECK_STR(rg_status_text(RG_ELIMIT), "a limit was passed");
    CHECK_STR(rg_status_text(RG_EUNSUPPORTED), "not supported on this device");
    CHECK_STR(rg_status_text(RG_EINTERNAL), "a bug in ridge");
    CHECK_STR(rg_version(), RG_VERSION);
}

/* A header of another minor version: an older one is served, a newer one is told so by the context's error. */
TEST(api_context_header_version) {
    char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", RG_VERSION_MAJOR, RG_VERSION_MINOR, RG_VERSION_PATCH);
    CHECK_STR(text, RG_VERSION);
    const int fits[] = {RG_VERSION_NUMBER, RG_VERSION_NUMBER - 100, RG_VERSION_NUMBER + 1};
    for (size_t i = 0; i < sizeof fits / sizeof *fits; i++)
        CHECK_EQ(rg_close(rg_open_for("REF", fits[i])), 0);
    CHECK_EQ(rg_close((rg_open)("REF")), 0); /* as programs of 0.3 call it */
    const int newer[] = {RG_VERSION_NUMBER + 100, RG_VERSION_NUMBER + 10000};
    for (size_t i = 0; i < sizeof newer / sizeof *newer; i++) {
        rg_ctx *c = rg_open_for("REF", newer[i]);
        CHECK(strstr(rg_error(c), "rg_open: the program was compiled with ridge.h "));
        CHECK(strstr(rg_error(c), "which is older: compile the program again"));
        CHECK_EQ(rg_item(rg_add(rg_ones(c, RG_F32, RG_SHAPE()), 1)) == 2, false);
        CHECK_EQ(rg_close(c), RG_EINVAL);
    }
}

TEST(api_context_null_device_reads_zeros) {
    rg_ctx *c = rg_open("NULL");
    float x[2] = {5, 5};
    CHECK_EQ(rg_read(rg_add(rg_ones(c, RG_F32, RG_SHAPE(2)), 1), x, sizeof x), 0);
    CHECK(x[0] == 0 && x[1] == 0);
    CHECK_EQ(rg_close(c), 0);
}

/* ---- misuse: the words are part of the interface -------------------------------------------------------------- */

static void expect(rg_ctx *c, int line, int code, const char *text) {
    char want[600];
    snprintf(want, sizeof want, "%s:%d: %s", __FILE__, line, text);
    if ((int)rg_status_of(c) != code || strcmp(rg_error(c), want) != 0)
        test_fail(__FILE__, line, "status %d, message\n  %s\nexpected %d,\n  %s", rg_status_of(c),
                  rg_error(c), code, want);
    CHECK_EQ(rg_clear_error(c), 0);
}
/* A statement of its own: compilers differ in what __LINE__ is inside the arguments of a macro over several lines. */
static int called_at;
#define CALL(call) (called_at = __LINE__, (void)(call))
#define EXPECT(code, text) expect(c, called_at, code, text)

TEST(api_misuse_messages) {
    rg_ctx *c = open_ref();
    rg_tensor a = rg_ones(c, RG_F32, RG_SHAPE(2, 3)), v = rg_ones(c, RG_F32, RG_SHAPE(3)), none = RG_NONE;
    CALL(rg_from(c, RG_F32, NULL, RG_SHAPE(2)));
    EXPECT(RG_EINVAL, "rg_from: the data is NULL; 8 bytes are expected");
    CALL(rg_from(c, RG_F32, "", RG_SHAPE(2, -1)));
    EXPECT(RG_EINVAL, "rg_from: axis 1 has size -1; sizes are 0 or more");
    CALL(rg_from(c, (rg_dtype)77, "", RG_SHAPE(2)));
    EXPECT(RG_EINVAL, "rg_from: there is no dtype number 77; use RG_F32, RG_I64 ..");
    CALL(rg_from(c, RG_F64, "", RG_SHAPE((int64_t)1 << 40, (int64_t)1 << 22)));
    EXPECT(RG_ELIMIT, "rg_from: a tensor of more than 2^63 bytes cannot be stored");
    CALL(rg_from(c, RG_F32, "", ((rg_ints){NULL, 3})));
    EXPECT(RG_EINVAL, "rg_from: the list of sizes is NULL");
    CALL(rg_from(c, RG_F32, "", ((rg_ints){(int64_t[40]){0}, 40})));
    EXPECT(RG_ELIMIT, "rg_from: 40 sizes; a tensor has at most 16 axes");
    CALL(rg_read(a, NULL, 24));
    EXPECT(RG_EINVAL, "rg_read: the destination is NULL");
    CALL(rg_read(a, &c, 8));
    EXPECT(RG_EINVAL, "rg_read: the destination has 8 bytes; f32 (2, 3) needs 24");
    CALL(rg_add(a, none));
    EXPECT(RG_EINVAL, "rg_add: tensor 2 is RG_NONE; a tensor is needed here");
    CALL(rg_dim(a, 2));
    EXPECT(RG_EINVAL, "rg_dim: axis 2 of a tensor of 2 axes");
    CALL(rg_narrow(v, 0, 2, 2));
    EXPECT(RG_EINVAL, "rg_narrow: 2 elements from 2 on do not lie inside axis 0, which has 3");
    CALL(rg_select(v, 1, 0));
    EXPECT(RG_EINVAL, "rg_select: axis 1 of a tensor of 1 axes");
    CALL(rg_pad(v, RG_INTS(1), 0));
    EXPECT(RG_EINVAL, "rg_pad: padding is given as pairs, before and after each axis; found 1 numbers");
    CALL(rg_argmax(a, RG_AXES(0, 1)));
    EXPECT(RG_EINVAL, "rg_argmax: one axis or none; found 2");
    CALL(rg_item(a));
    EXPECT(RG_EINVAL, "rg_item: a tensor of one element is needed; this one has 6");
    CALL(rg_slice(v, RG_SLICES(RG_WHOLE, RG_WHOLE)));
    EXPECT(RG_EINVAL, "rg_slice: 2 ranges for a tensor of 1 axes");
    CALL(rg_slice(v, RG_SLICES(RG_WINDOW(a, 1))));
    EXPECT(RG_EINVAL, "rg_slice: the start of range 1 is not an rg_index");
    CHECK_EQ(rg_cat(RG_ARRAY(NULL, 2), 0).id, 0); /* no context to tell */
    CHECK_EQ(rg_close(c), 0);
}

/* Errors of the front end arrive with source line and function before them. */
TEST(api_misuse_front_end) {
    rg_ctx *c = open_ref();
    rg_tensor a = rg_ones(c, RG_F32, RG_SHAPE(2, 3));
    struct {
        rg_tensor t;
        const char *fn, *word;
    } row[] = {
        {rg_reshape(a, RG_SHAPE(4)), "rg_reshape: ", "(4)"},
    };
    CHECK(!rg_is_alive(row[0].t));
    CHECK(strstr(rg_error(c), row[0].fn) && strstr(rg_error(c), row[0].word) &&
          strstr(rg_error(c), "(2, 3)"));
    CHECK_EQ(rg_clear_error(c), 0);
    rg_matmul(a, a);
    CHECK(strstr(rg_error(c), "rg_matmul: ") && strstr(rg_error(c), "(2, 3)"));
    CHECK_EQ(rg_clear_error(c), 0);
    rg_bitwise_and(a, a);
    CHECK(strstr(rg_error(c), "rg_bitwise_and: ") && strstr(rg_error(c), "f32"));
    CHECK_EQ(rg_clear_error(c), 0);
    rg_max(rg_zeros(c, RG_F32, RG_SHAPE(0)));
    CHECK_EQ(rg_status_of(c), RG_EINVAL);
    CHECK(strstr(rg_error(c), "rg_max: "));
    CHECK_EQ(rg_clear_error(c), 0);
    CHECK_EQ(rg_close(c), 0);
}

TEST(api_misuse_stale_names_the_maker) {
    rg_ctx *c = open_ref();
    rg_tensor a;
    int line = 0;
    {
        RG_SCOPE(c);
        a = rg_exp(rg_ones(c, RG_F32, RG_SHAPE(2))), line = __LINE__;
    }
    char text[400];
    snprintf(text, sizeof text,
             "rg_neg: tensor 1 is stale: it was freed or its scope ended (it was made by rg_exp at %s:%d); "
             "rg_keep "
             "lets a tensor outlive its scope",
             __FILE__, line);
    CALL(rg_neg(a));
    EXPECT(RG_EINVAL, text);
    CHECK_EQ(rg_close(c), 0);
}

/* Bindings call plain functions: the same errors, without a source line. */
TEST(api_misuse_without_a_source_line) {
    rg_ctx *c = open_ref();
    rg_tensor (*add)(rg_value, rg_value) = rg_add;
    add(rg_ones(c, RG_F32, RG_SHAPE(2)), RG_NONE);
    CHECK_STR(rg_error(c), "rg_add: tensor 2 is RG_NONE; a tensor is needed here");
    CHECK_EQ(rg_close(c), RG_EINVAL);
}

TEST(api_misuse_random_handles) {
    rg_ctx *c = open_ref();
    uint64_t x = 88172645463325252u;
    for (int i = 0; i < 20000; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        rg_tensor t = {i % 3 ? x : (x & 0xffffffff) | (uint64_t)1 << 56};
        if (i % 2) t.id &= ~((uint64_t)0xfffffff0);
        rg_free(t);
        CHECK(!rg_is_alive(t));
        rg_neg(t);
        CHECK_EQ(rg_rank(t), -1);
        rg_end((rg_scope){x});
        if (rg_status_of(c)) CHECK_EQ(rg_clear_error(c), 0);
    }
    CHECK_EQ(rg_close(c), 0);
}

/* ---- numbers and dtypes at the edge ----------------------------------------------------------------------------- */

TEST(api_edge_numbers_take_the_tensors_dtype) {
    rg_ctx *c = open_ref();
    rg_tensor i8 = rg_ones(c, RG_I8, RG_SHAPE(2)), h = rg_ones(c, RG_F16, RG_SHAPE(2)),
              b = rg_ones(c, RG_BOOL, RG_SHAPE(2));
    CHECK_EQ(rg_dtype_of(rg_add(i8, 1)), RG_I8);
    CHECK_EQ(rg_dtype_of(rg_add(i8, 1.5)), RG_F32);
    CHECK_EQ(rg_dtype_of(rg_mul(h, 2.5)), RG_F16);
    CHECK_EQ(rg_dtype_of(rg_sub(1.0, h)), RG_F16);
    CHECK_EQ(rg_dtype_of(rg_add(b, 1)), RG_I64);
    CHECK_EQ(rg_dtype_of(rg_where(b, 1.0, 0.0)), RG_F32);
    CHECK_EQ(rg_dtype_of(rg_where(b, h, 0.0)), RG_F16);
    CHECK_EQ(rg_dtype_of(rg_clamp(i8, 0, 5)), RG_I8);
    CHECK_EQ(rg_item(rg_sum(rg_where(b, (int64_t)1 << 60, 0))), (int64_t)1 << 61);
    CHECK_EQ(rg_close(c), 0);
}

TEST(api_edge_more_than_2_31_elements) {
    rg_ctx *c = open_ref();
    rg_tensor big = rg_expand(rg_ones(c, RG_I8, RG_SHAPE(1)), RG_SHAPE((int64_t)1 << 33));
    CHECK_EQ(rg_size(big), (int64_t)1 << 33);
    CHECK_EQ(rg_bytes(big), (int64_t)1 << 33);
    CHECK_EQ(rg_realize(big), 0); /* a view takes no memory */
    float x;
    rg_tensor one = rg_slice(big, RG_SLICES(RG_FROM(-1)));
    CHECK_EQ(rg_item(one), 1);
    CHECK_EQ(rg_read(big, &x, sizeof x), RG_EINVAL);
    CHECK_EQ(rg_clear_error(c), 0);
    CHECK_EQ(rg_close(c), 0);
}

TEST(api_edge_scalars_and_empties) {
    rg_ctx *c = open_ref();
    rg_tensor s = rg_from(c, RG_F32, (float[]){3}, RG_SHAPE()), e = rg_from(c, RG_F32, NULL, RG_SHAPE(3, 0));
    CHECK_EQ(rg_rank(s), 0);
    CHECK_EQ(rg_size(s), 1);
    CHECK_EQ(rg_size(e), 0);
    int64_t d[1] = {7};
    CHECK_EQ(rg_shape_of(e, d, 1), 2);
    CHECK_EQ(d[0], 3);
    CHECK_EQ(rg_item(rg_add(s, rg_sum(e))), 3);
    CHECK_EQ(rg_size(rg_cat(RG_TENSORS(e, e), 0)), 0);
    CHECK_EQ(rg_close(c), 0);
}

TEST(api_edge_deep_graphs) { /* a chain of 50,000 operations, never computed in between */
    rg_ctx *c = open_ref();
    rg_tensor x = rg_from(c, RG_F64, (double[]){1}, RG_SHAPE(1));
    for (int i = 0; i < 50000; i++) {
        rg_tensor y = rg_add(x, 1);
        rg_free(x);
        x = y;
    }
    CHECK_EQ(rg_item(x), 50001);
    CHECK_EQ(rg_close(c), 0);
}

/* ---- temporaries ---------------------------------------------------------------------------------------------------- */

TEST(api_temporaries_of_an_expression_are_freed) {
    rg_ctx *c = open_ref();
    rg_tensor a = rg_ones(c, RG_F32, RG_SHAPE(2)), w = rg_param(a);
    rg_usage u;
    rg_tensor y = rg_sum(rg_square(rg_sub(rg_mul(a, 2), rg_relu(rg_neg(a)))), .keep = true);
    CHECK_EQ(rg_stats(c, &u), 0);
    CHECK_EQ(u.handles, 3);
    CHECK_EQ(rg_item(rg_sum(rg_add(rg_keep(y), rg_keep(a)))), 18);
    CHECK_EQ(rg_stats(c, &u), 0);
    CHECK_EQ(u.handles, 3); /* kept ones have names */
    CHECK_EQ(rg_item(rg_sum(rg_clamp(rg_add(w, 5), rg_number(c, RG_F32, 0), rg_number(c, RG_F32, 1)))), 2);
    rg_assign(w, rg_mul(rg_add(w, w), 2));
    CHECK_EQ(rg_stats(c, &u), 0);
    CHECK_EQ(u.handles, 3);
    CHECK(rg_is_alive(rg_param(rg_ones(c, RG_F32, RG_SHAPE(1)))));
    CHECK_EQ(rg_close(c), 0);
}

/* A handle with a name lives on, however the argument that mentions it is spelled. */
TEST(api_temporaries_are_calls_and_nothing_else) {
    rg_ctx *c = open_ref();
    rg_tensor a = rg_full(c, RG_F32, 2, RG_SHAPE(3)), b = rg_full(c, RG_F32, -5, RG_SHAPE(3));
    rg_tensor x = rg_neg(rg_rank(a) == 1 ? a : rg_abs(b));
    rg_tensor y = rg_add(rg_dim(a, 0) > 2 ? (rg_free(x), a) : rg_abs(b), 1);
    CHECK(!rg_is_alive(x));
    CHECK(rg_is_alive(a) && rg_is_alive(b));
    CHECK(rg_item(rg_sum(y)) == 9);
    CHECK(rg_item(rg_sum(a)) == 6);
    CHECK_EQ(rg_close(c), 0);
}

/* Lists from arrays go through every macro in one piece. */
TEST(api_lists_from_arrays) {
    rg_ctx *c = open_ref();
    int64_t shape[] = {2, 3}, axes[] = {1};
    rg_range part[] = {RG_FROM(1), RG_TO(2)};
    rg_tensor x = rg_full(c, RG_F32, 2, RG_LIST(shape, 2)), g[1];
    float v[2];
    CHECK_EQ(rg_read(rg_sum(x, RG_LIST(axes, 1)), v, sizeof v), 0);
    CHECK(v[0] == 6 && v[1] == 6);
    CHECK_EQ(rg_grad(rg_sum(rg_square(rg_slice(x, RG_PARTS(part, 2)))), RG_ARRAY(&x, 1), g), 0);
    CHECK(rg_item(rg_sum(g[0])) == 8);
    CHECK_EQ(rg_close(c), 0);
}

/* A realized value is read where it is, in any shape: no kernel runs. (A mean is a number in another shape.) */
TEST(api_reading_another_shape_copies_nothing) {
    rg_ctx *c = rg_open("CPU");
    float data[6] = {1, 2, 3, 4, 5, 6}, v[6];
    rg_tensor x = rg_from(c, RG_F32, data, RG_SHAPE(2, 3)), mean = rg_mean(x), y = rg_mul(x, 2);
    rg_tensor flat = rg_reshape(y, RG_SHAPE(6)), transposed = rg_transpose(y, 0, 1);
    rg_usage before, after;
    CHECK_EQ(rg_realize_all(RG_TENSORS(mean, y)), 0);
    CHECK_EQ(rg_stats(c, &before), 0);
    CHECK(rg_item(mean) == 3.5);
    CHECK_EQ(rg_read(flat, v, sizeof v), 0);
    for (int i = 0; i < 6; i++) CHECK(v[i] == 2 * data[i]);
    CHECK_EQ(rg_stats(c, &after), 0);
    CHECK_EQ(after.realizes, before.realizes);
    CHECK_EQ(rg_read(transposed, v, sizeof v), 0); /* another order is work */
    CHECK(v[0] == 2 && v[1] == 8 && v[2] == 4);
    CHECK_EQ(rg_close(c), 0);
}

/* ---- threads ------------------------------------------------------------------------------------------------------------ */

enum { TENSORS = 20000 };
static rg_tensor shared[TENSORS];
static _Atomic int made;

static void *free_them(void *arg) {
    for (int i = (int)(intptr_t)arg; i < TENSORS; i += 2) {
        while (made <= i) sched_yield();
        rg_free(shared[i]);
        rg_free(shared[i]); /* twice is fine */
    }
    return NULL;
}

TEST(api_threads_free_from_others) {
    rg_ctx *c = open_ref();
    pthread_t t[2];
    rg_tensor one = rg_ones(c, RG_F32, RG_SHAPE(4));
    for (intptr_t i = 0; i < 2; i++) CHECK_EQ(pthread_create(&t[i], NULL, free_them, (void *)i), 0);
    for (int i = 0; i < TENSORS; i++) {
        shared[i] = rg_add(one, i);
        made = i + 1;
        if (i % 1000 == 0) CHECK_EQ(rg_item(rg_sum(one)), 4);
    }
    for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
    rg_usage u;
    CHECK_EQ(rg_stats(c, &u), 0);
    CHECK_EQ(u.handles, 1);
    CHECK_EQ(rg_close(c), 0);
}

static void *own_context(void *arg) {
    double *out = arg;
    rg_ctx *c = rg_open("REF");
    rg_tensor x = rg_from(c, RG_F64, (double[]){1, 1, 1}, RG_SHAPE(3));
    for (int i = 0; i < 50; i++) {
        RG_SCOPE(c);
        rg_assign(x, rg_add(x, 1));
        *out = rg_item(rg_sum(x));
    }
    if (rg_close(c)) *out = -1;
    return NULL;
}

TEST(api_threads_contexts_are_independent) {
    pthread_t t[4];
    double out[4];
    for (int i = 0; i < 4; i++) CHECK_EQ(pthread_create(&t[i], NULL, own_context, &out[i]), 0);
    for (int i = 0; i < 4; i++) {
        pthread_join(t[i], NULL);
        CHECK_NEAR(out[i], 153, 0);
    }
}

/* Sums of columns, and a vector times a matrix, that are cut into blocks of rows: small integers, so the sums are exact. */
TEST(api_long_columns) {
    enum { ROWS = 4096, COLS = 2048 };
    rg_ctx *c = rg_open("CPU");
    float *x = malloc(sizeof *x * ROWS * COLS), *got = malloc(sizeof *got * COLS), v[ROWS];
    for (int r = 0; r < ROWS; r++) {
        v[r] = (float)(r % 5 - 2);
        for (int k = 0; k < COLS; k++) x[r * COLS + k] = (float)((r * 7 + k * 3) % 11 - 5);
    }
    rg_tensor m = rg_from(c, RG_F32, x, RG_SHAPE(ROWS, COLS)), row = rg_from(c, RG_F32, v, RG_SHAPE(1, ROWS));
    for (int product = 0; product < 2; product++) {
        rg_tensor t = product ? rg_matmul(row, m) : rg_sum(m, RG_AXES(0));
        CHECK_EQ(rg_read(t, got, sizeof *got * COLS), 0);
        for (int k = 0; k < COLS; k++) {
            double want = 0;
            for (int r = 0; r < ROWS; r++) want += (product ? v[r] : 1) * x[r * COLS + k];
            if (got[k] != want) FAIL("column %d: %g, not %g", k, got[k], want);
        }
    }
    free(x), free(got);
    rg_close(c);
}
