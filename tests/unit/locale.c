/* locale.c: host programs with a decimal comma (decimal_comma.h): numbers in files, in generated code and in messages keep their point, and
 * the host keeps its locale. That no other code prints or reads floats is tools/depcheck's. Tests of text_* in src/base/str.c. */
#include "decimal_comma.h"

#include "model/model.h"
#include <ridge.h>

#include <stdio.h>

TEST(locale_numbers_keep_their_point) {
    struct err e = {0};
    struct arena a;
    struct str s;
    char b[40], *end;
    decimal_comma();
    snprintf(b, sizeof b, "%g", 1.5);
    CHECK_STR(b, "1,5"); /* what the host's own text has */
    arena_init(&a, &e);
    str_init(&s, &a);
    str_printf(&s, "%.2f %s", -0.25, "x");
    CHECK_STR(s.p, "-0.25 x");
    CHECK_STR(arena_printf(&a, "%g", 1e-7 * 1.5), "1.5e-07");
    CHECK_EQ(text_printf(b, sizeof b, "%g", 2.5), 3);
    CHECK_STR(b, "2.5");
    err_set(&e, RG_EINVAL, "%g", 3.5);
    CHECK_STR(e.msg, "3.5");
    CHECK(text_double("4.75x", &end) == 4.75 && *end == 'x');
    CHECK(text_double("4,75", &end) == 4 && *end == ',');
    CHECK_STR(localeconv()->decimal_point, ",");
    arena_free(&a);
}

/* The machine file, which every program reads, was refused. */
TEST(locale_machine_file_is_read) {
    static const char text[] = "tests/machine.txt";
    struct err e = {0};
    struct arena a;
    struct model point, comma;
    char *p;
    size_t n;
    arena_init(&a, &e);
    if (os_read_file(&e, &a, text, 1 << 20, &p, &n)) FAIL("%s", e.msg);
    CHECK_EQ(model_parse(&e, &point, text, p, n), 0);
    decimal_comma();
    if (model_parse(&e, &comma, text, p, n)) FAIL("%s", e.msg);
    CHECK(model_value(&comma, MODEL_CLOCK) == 2.6);
    CHECK(!memcmp(point.theory, comma.theory, sizeof point.theory));
    arena_free(&a);
}

/* Kernels with constants, compiled anew, planned by that machine. */
TEST(locale_kernels_are_compiled) {
    float y[3];
    decimal_comma();
    setenv("RIDGE_CACHE", "0", 1);
    setenv("RIDGE_MODEL", "tests/machine.txt", 1);
    env_reload();
    rg_ctx *c = rg_open("CPU");
    rg_tensor x = rg_from(c, RG_F32, (float[]){1, 2, 3}, RG_SHAPE(3));
    if (rg_read(rg_add(rg_mul(x, 0.625), 1.0625), y, sizeof y)) FAIL("%s", rg_error(c));
    CHECK(y[0] == 1.6875f && y[1] == 2.3125f && y[2] == 2.9375f);
    CHECK_STR(localeconv()->decimal_point, ",");
    CHECK_EQ(rg_close(c), 0);
}
