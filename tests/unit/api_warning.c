/* api_warning.c: warnings reach the program without DEBUG, and what errors and warnings say is fit for a terminal. */
#include "base/base.h"

#include <ridge.h>
#include <test.h>

#include <stdlib.h>

static struct heard {
    char last[2000];
    int n;
} heard;

static void listen(void *user, const char *text) {
    struct heard *h = user;
    snprintf(h->last, sizeof h->last, "%s", text);
    h->n++;
}

static rg_status takes_data(void *user, const rg_tensor *in, rg_tensor *out) {
    rg_tensor t = rg_from(user, RG_F32, ((float[]){1, 2}), RG_SHAPE(2));
    out[0] = rg_add(in[0], t);
    return RG_OK;
}

TEST(api_warning_reaches_the_program) {
    unsetenv("DEBUG");
    env_reload();
    rg_ctx *c = rg_open("REF");
    rg_jit *j = rg_jit_new(c, takes_data, c, 1);
    rg_tensor x = rg_from(c, RG_F32, ((float[]){3, 4}), RG_SHAPE(2)), y;
    heard = (struct heard){0};
    rg_on_warning(listen, &heard);
    CHECK_EQ(rg_jit_call(j, RG_TENSORS(x), &y), 0);
    CHECK_EQ(heard.n, 0); /* only the recording copies once and for all */
    CHECK_EQ(rg_jit_call(j, RG_TENSORS(x), &y), 0);
    CHECK_EQ(heard.n, 1);
    CHECK(strstr(heard.last, "api_warning.c:") && strstr(heard.last, "rg_from while a jit is recorded"));
    CHECK_EQ(rg_jit_call(j, RG_TENSORS(x), &y), 0);
    CHECK_EQ(heard.n, 1);
    rg_on_warning(NULL, NULL);
    rg_jit *k = rg_jit_new(c, takes_data, c, 1);
    for (int i = 0; i < 2; i++) CHECK_EQ(rg_jit_call(k, RG_TENSORS(x), &y), 0);
    CHECK_EQ(heard.n, 1);
    CHECK_EQ(rg_close(c), 0);
}

TEST(api_warning_of_a_graph_that_grows) {
    unsetenv("DEBUG");
    env_reload();
    heard = (struct heard){0};
    rg_on_warning(listen, &heard);
    rg_ctx *c = rg_open("REF");
    rg_tensor x = rg_from(c, RG_F32, ((float[]){1}), RG_SHAPE(1)), sum = rg_neg(x);
    for (int i = 0; i < 12000; i++) {
        rg_tensor next = rg_add(sum, i + 0.5);
        rg_free(sum);
        sum = next;
    }
    for (int i = 0; i < 3; i++) rg_realize(rg_add(x, i));
    CHECK_EQ(heard.n, 1); /* once */
    CHECK(strstr(heard.last, "rg_realize it now and then"));
    rg_on_warning(NULL, NULL);
    CHECK_EQ(rg_close(c), 0);
}

/* Numbers that could be scalars, and starts that could be indices; sizes could be neither. */
TEST(api_warning_of_numbers_that_change) {
    unsetenv("DEBUG");
    env_reload();
    rg_ctx *c = rg_open("NULL");
    rg_tensor x = rg_from(c, RG_F32, (float[100]){0}, RG_SHAPE(100));
    heard = (struct heard){0};
    rg_on_warning(listen, &heard);
    for (int i = 0; i < 20; i++) {
        rg_realize(rg_neg(rg_from(c, RG_F32, (float[99]){0}, RG_SHAPE(3 + i))));
        rg_realize(rg_neg(rg_slice(x, RG_SLICES(RG_TO(9 + i)))));
        rg_realize(rg_exp(rg_expand(rg_full(c, RG_F32, 2, RG_SHAPE(1)), RG_SHAPE(5 + i))));
    }
    CHECK_EQ(heard.n, 0);
    for (int i = 0; i < 20; i++) rg_realize(rg_add(x, 0.5 + i));
    CHECK_EQ(heard.n, 1);
    CHECK(strstr(heard.last, "because a number in it changes (now "));
    for (int i = 0; i < 20; i++) rg_realize(rg_exp(rg_slice(x, RG_SLICES(RG_RANGE(30 + i, 61 + i)))));
    CHECK_EQ(heard.n, 2);
    rg_on_warning(NULL, NULL);
    CHECK_EQ(rg_close(c), 0);
}

TEST(api_warning_of_a_cache_that_cannot_be_used) {
    unsetenv("DEBUG");
    setenv("RIDGE_CACHE_DIR", "/dev/null/a\x1b[31mred", 1);
    env_reload();
    heard = (struct heard){0};
    rg_on_warning(listen, &heard);
    rg_ctx *c = rg_open("CPU");
    CHECK_EQ(heard.n, 1);
    CHECK(strstr(heard.last, "/dev/null/a\\x1b[31mred") && !strchr(heard.last, 0x1b));
    rg_on_warning(NULL, NULL);
    CHECK_EQ(rg_close(c), 0);
}

TEST(api_errors_hold_no_control_characters) {
    rg_ctx *c = rg_open("REF");
    static const struct {
        const char *path, *want;
    } file[] = {{"/nowhere/\x1b[2J\x07.npy", "/nowhere/\\x1b[2J\\x07.npy"},
                {"/nowhere/\xc2\x9b"
                 "31m.npy",
                 "/nowhere/\\xc2\\x9b31m.npy"},
                {"/nowhere/\x7f\r.npy", "/nowhere/\\x7f\\x0d.npy"},
                {"/nowhere/\xc3\xa9\xe2\x82\xac.npy", "/nowhere/\xc3\xa9\xe2\x82\xac.npy"}};
    for (size_t i = 0; i < RG_COUNT(file); i++) {
        CHECK(!rg_file_open(c, file[i].path));
        if (!strstr(rg_error(c), file[i].want)) FAIL("no %s in: %s", file[i].want, rg_error(c));
        for (const char *p = rg_error(c); *p; p++) CHECK((unsigned char)*p >= 0x20 && *p != 0x7f);
        CHECK_EQ(rg_clear_error(c), 0);
    }
    CHECK_EQ(rg_close(c), 0);
    c = rg_open("a\x1b[0m");
    CHECK(rg_status_of(c) && !strchr(rg_error(c), 0x1b));
    rg_close(c);
}

TEST(err_messages_are_escaped_within_their_room) {
    struct err e = {0};
    char longer[2000];
    memset(longer, 0x1b, sizeof longer - 1), longer[sizeof longer - 1] = 0;
    err_set(&e, RG_EINVAL, "%s", longer);
    CHECK(!strchr(e.msg, 0x1b) && strlen(e.msg) > 400);
    err_prefix(&e, "%s: ", "a\x1b");
    CHECK(!strncmp(e.msg, "a\\x1b: \\x1b", 11));
    err_clear(&e);
    err_set(&e, RG_EINVAL, "%s", "a\tb\nc\\x1b"); /* lines, tabs and what is spelled already stay */
    CHECK(!strcmp(e.msg, "a\tb\nc\\x1b"));
    err_clear(&e);
    err_set(&e, RG_EINVAL, "%s", "\xff \xc3\xa9 \xe2\x82\xac \xed\xa0\x80 \xc3"); /* UTF-8 stays */
    CHECK_STR(e.msg, "\\xff \xc3\xa9 \xe2\x82\xac \\xed\\xa0\\x80 \\xc3");
}
